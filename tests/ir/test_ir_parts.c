/* test_ir_parts.c - qnnrt_ir.h: graphs of some nodes of another one, copies, graphs that are made and written

   A graph that is cut into parts, each computed alone, gives the same bytes as the whole one; so does a graph that was
   written and read again. Graphs in this file are
   written with ' instead of ". */
#include "qnnrt_ir_passes.h"
#include "qnnrt_json.h"
#include "counted.h"
#include "test.h"
#include <math.h>
#include "random_program.h"
#include "ir_graph.h"
#include "sink.h"

static qnnrt_error err;

static qnnrt_ir *graph_with(const char *text, const qnnrt_ir_desc *desc)
{
    return ir_graph(text, desc, &err);
}

static qnnrt_ir *graph(const char *text)
{
    return graph_with(text, NULL);
}

/* ---- numbers ---- */

static uint32_t seed = 16;

static uint32_t number(uint32_t most)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % most;
}

/* Make elements of a value: floats between -1 and 1, integers 0 to 3. */
static void *made(const qnnrt_ir_value *v)
{
    const size_t size = qnnrt_ir_dtype_bytes(v->dtype);
    unsigned char *data = (unsigned char *)calloc((size_t)v->count + 1, size);
    size_t i;
    if (data == NULL) abort();
    for (i = 0; i < v->count; ++i) {
        const float f = (float)((double)number(1u << 16) / 32768.0 - 1);
        const double d = (double)f;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        bits >>= 16;
        switch (v->dtype) {
        case QNNRT_DTYPE_F32: memcpy(data + i * 4, &f, 4); break;
        case QNNRT_DTYPE_F64: memcpy(data + i * 8, &d, 8); break;
        case QNNRT_DTYPE_BF16: memcpy(data + i * 2, &bits, 2); break;
        case QNNRT_DTYPE_F16: data[i * 2 + 1] = (unsigned char)(0x30 | (number(2) << 7) | number(12)); break;
        default: data[i * size] = (unsigned char)number(v->dtype == QNNRT_DTYPE_BOOL8 ? 2 : 4); break;
        }
    }
    return data;
}

/* Give all weights made-up elements. */
static void fill_weights(qnnrt_ir *ir)
{
    size_t i;
    for (i = 0; i < ir->value_count; ++i)
        if (ir->values[i]->origin == QNNRT_IR_WEIGHT) ir->values[i]->data = made(ir->values[i]);
}

static void free_weights(qnnrt_ir *ir)
{
    size_t i;
    for (i = 0; i < ir->value_count; ++i) {
        if (ir->values[i]->origin != QNNRT_IR_WEIGHT) continue;
        free((void *)(uintptr_t)ir->values[i]->data);
        ir->values[i]->data = NULL;
    }
}

/* ---- runs ---- */

/* The elements of all values of a graph, NULL: not computed. */
typedef struct pool { void **data; size_t count; } pool;

static pool pool_of(const qnnrt_ir *ir)
{
    pool p;
    p.count = ir->value_count;
    p.data = (void **)calloc(p.count + 1, sizeof(*p.data));
    if (p.data == NULL) abort();
    return p;
}

static void pool_free(pool *p)
{
    size_t i;
    for (i = 0; i < p->count; ++i) free(p->data[i]);
    free(p->data);
}

static size_t bytes_of(const qnnrt_ir_value *v)
{
    return (size_t)v->count * qnnrt_ir_dtype_bytes(v->dtype);
}

static const qnnrt_ir_value *named(const qnnrt_ir *ir, const char *name)
{
    size_t i;
    for (i = 0; i < ir->value_count; ++i) if (strcmp(ir->values[i]->name, name) == 0) return ir->values[i];
    printf("    no value \"%s\"\n", name);
    return NULL;
}

/* Compute a part; inputs and outputs are the values of the whole graph with the same names. */
static int run_part(const qnnrt_ir *whole, qnnrt_ir *part, pool *p)
{
    const void *in[64];
    void *out[64];
    size_t i;
    if (part->input_count > 64 || part->output_count > 64) abort();
    for (i = 0; i < part->input_count; ++i) {
        const qnnrt_ir_value *v = named(whole, part->inputs[i]->name);
        if (v == NULL) return 0;
        in[i] = p->data[v->number] != NULL ? p->data[v->number] : v->data;
        if (in[i] == NULL) { printf("    \"%s\" is not computed yet\n", v->name); return 0; }
    }
    for (i = 0; i < part->output_count; ++i) {
        const qnnrt_ir_value *v = named(whole, part->outputs[i]->name);
        if (v == NULL || v->dtype != part->outputs[i]->dtype || v->count != part->outputs[i]->count) return 0;
        if (p->data[v->number] == NULL) p->data[v->number] = calloc(bytes_of(v) + 1, 1);
        out[i] = p->data[v->number];
    }
    TEST_JUNK(err);
    if (qnnrt_ir_run(part, NULL, in, out, &err) == QNNRT_OK) return 1;
    printf("    %s\n", err.text);
    return 0;
}

/* True if a node that is taken reads a value. */
static int taken_reads(const qnnrt_ir *ir, const qnnrt_ir_value *v, const int *group, int which)
{
    size_t i, k;
    for (i = 0; i < ir->node_count; ++i)
        for (k = 0; k < ir->nodes[i]->input_count && group[i] == which; ++k)
            if (ir->nodes[i]->inputs[k] == v) return 1;
    return 0;
}

/* Cut a graph into runs of nodes, compute one after the other, and compare with the whole. */
static int cut_and_compare(qnnrt_ir *ir, uint32_t longest, size_t *parts)
{
    pool whole = pool_of(ir), cut = pool_of(ir);
    const void *in[64];
    void *out[64];
    int *group = (int *)calloc(ir->node_count + 1, sizeof(*group)), which = 0, good = 1;
    const qnnrt_ir_node **nodes = (const qnnrt_ir_node **)calloc(ir->node_count + 1, sizeof(*nodes));
    const qnnrt_ir_value **values = (const qnnrt_ir_value **)calloc(ir->value_count + 1, sizeof(*values));
    size_t i, k, at;
    uint32_t left = 0;
    if (group == NULL || nodes == NULL || values == NULL || ir->input_count > 64 || ir->output_count > 64) abort();
    for (i = 0; i < ir->input_count; ++i) {
        const size_t number = ir->inputs[i]->number;
        whole.data[number] = made(ir->inputs[i]);
        cut.data[number] = calloc(bytes_of(ir->inputs[i]) + 1, 1);
        memcpy(cut.data[number], whole.data[number], bytes_of(ir->inputs[i]));
        in[i] = whole.data[number];
    }
    for (i = 0; i < ir->output_count; ++i) {
        const size_t number = ir->outputs[i]->number;
        if (ir->outputs[i]->origin == QNNRT_IR_NODE && whole.data[number] == NULL)
            whole.data[number] = calloc(bytes_of(ir->outputs[i]) + 1, 1);
        out[i] = ir->outputs[i]->origin == QNNRT_IR_NODE ? whole.data[number] : NULL;
    }
    if (qnnrt_ir_run(ir, NULL, in, out, &err) != QNNRT_OK) { printf("    %s\n", err.text); good = 0; }
    for (i = 0; i < ir->node_count; ++i) {
        if (left == 0) { left = 1 + number(longest); ++which; }
        group[i] = which;
        --left;
    }
    for (at = 0; good && at < ir->node_count; at += k) {
        qnnrt_ir *part = NULL;
        size_t count = 0, n;
        for (k = 0; at + k < ir->node_count && group[at + k] == group[at]; ++k) nodes[k] = ir->nodes[at + k];
        for (n = 0; n < k; ++n) {                            /* what others read */
            size_t o;
            for (o = 0; o < nodes[n]->output_count; ++o) {
                const qnnrt_ir_value *v = nodes[n]->outputs[o];
                int later, used = v->is_output > 0;
                for (later = group[at] + 1; later <= which && !used; ++later) used = taken_reads(ir, v, group, later);
                if (used) values[count++] = v;
            }
        }
        /* The order in which nodes are given does not matter. */
        for (n = 0; n + 1 < k; ++n) {
            const size_t other = n + number((uint32_t)(k - n));
            const qnnrt_ir_node *was = nodes[n];
            nodes[n] = nodes[other];
            nodes[other] = was;
        }
        TEST_JUNK(err);
        good = qnnrt_ir_extract(ir, nodes, k, NULL, 0, values, count, "part", &part, &err) == QNNRT_OK &&
               qnnrt_ir_check(part, NULL, NULL, &err) == QNNRT_OK && part->node_count == k && run_part(ir, part, &cut);
        if (!good) printf("    part of node %lu, \"%s\": %s\n", (unsigned long)at, ir->nodes[at]->name, err.text);
        for (n = 0; good && n < k; ++n) good = part->nodes[n]->number == ir->nodes[at + n]->number;
        qnnrt_ir_free(part);
        ++*parts;
    }
    for (i = 0; i < ir->output_count && good; ++i) {
        const qnnrt_ir_value *v = ir->outputs[i];
        if (v->origin != QNNRT_IR_NODE) continue;
        good = cut.data[v->number] != NULL && memcmp(whole.data[v->number], cut.data[v->number], bytes_of(v)) == 0;
        if (!good) printf("    output \"%s\" differs\n", v->name);
    }
    pool_free(&whole);
    pool_free(&cut);
    free(group);
    free((void *)nodes);
    free((void *)values);
    return good;
}

/* ---- extract ---- */

TEST(ir_parts_compute_what_the_whole_computes)
{
    static const char *const files[] = { "tiny_cnn", "tiny_prefill", "tiny_decode", "torch_cnn", "torch_llama" };
    size_t i, parts = 0;
    int again;
    for (i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        qnnrt_ir *ir = ir_file(files[i], &err);
        CHECK(ir != NULL);
        CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
        fill_weights(ir);
        CHECK_EQ(qnnrt_ir_pass_inplace(ir, &err), QNNRT_OK);
        for (again = 0; again < 4; ++again) CHECK(cut_and_compare(ir, again < 2 ? 3 : 40, &parts));
        CHECK_EQ(qnnrt_ir_pass_noops(ir, &err), QNNRT_OK);
        for (again = 0; again < 4; ++again) CHECK(cut_and_compare(ir, again < 2 ? 3 : 40, &parts));
        free_weights(ir);
        qnnrt_ir_free(ir);
    }
    CHECK(parts > 500);
}

#define SMALL GRAPH(F("x", "2, 3") ", " F("z", "3"), F("out", "2, 3"), F("fc.weight", "3, 3"), \
    NODE("h", "linear.default", F("x", "2, 3") ", " F("p_fc_weight", "3, 3"), F("h", "2, 3"), "") ", \n" \
    "{'name': 'r', 'op_type': 'aten.relu.default', 'inputs': [" F("h", "2, 3") "], 'outputs': [" F("r", "2, 3") "], " \
    "'source': 'model.py:7'}, " \
    NODE("s", "add.Tensor", F("r", "2, 3") ", " F("c_k", "3"), F("s", "2, 3"), "'alpha': 2") ", " \
    NODE("out", "mul.Tensor", F("s", "2, 3") ", " F("z", "3"), F("out", "2, 3"), "")) \
    ", 'weight_name_mapping': {'p_fc_weight': 'fc.weight', 'c_k': 'k'}, " \
    "'constants': {'k': {'data': [1, 2, 3], 'dtype': 'float32'}}, 'model_name': 'm', 'pytorch_version': '2.15'}"

TEST(ir_extract_keeps_names_arguments_and_numbers)
{
    qnnrt_ir *ir = graph(SMALL), *part = NULL;
    const qnnrt_ir_node *nodes[3];
    const qnnrt_ir_value *outputs[1], *w;
    qnnrt_ir_value *v;
    qnnrt_ir_node *added;
    CHECK(ir != NULL);
    nodes[0] = ir->nodes[2];                                    /* s, h, r */
    nodes[1] = ir->nodes[0];
    nodes[2] = ir->nodes[1];
    outputs[0] = named(ir, "s");
    TEST_JUNK(err);
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 3, NULL, 0, outputs, 1, NULL, &part, &err), QNNRT_OK);
    CHECK_EQ(err.code, QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(part, NULL, NULL, &err), QNNRT_OK);
    CHECK(strcmp(part->name, "m") == 0 && strcmp(part->version, "2.15") == 0);
    CHECK(part->node_count == 3 && part->input_count == 1 && part->output_count == 1 && part->value_count == 6);
    CHECK(part->inputs[0]->origin == QNNRT_IR_INPUT && strcmp(part->inputs[0]->name, "x") == 0);
    CHECK(part->outputs[0] == part->nodes[2]->outputs[0] && part->outputs[0]->is_output == 1);
    CHECK_STR(part->nodes[0]->name, "h");
    CHECK_STR(part->nodes[1]->source, "model.py:7");
    CHECK_EQ(part->nodes[1]->line, 2);
    CHECK_EQ(part->nodes[2]->number, 2);
    CHECK(part->nodes[2]->attr_count == 1 && qnnrt_ir_int(part->nodes[2], "alpha", 0) == 2);
    CHECK(part->nodes[2]->attrs != ir->nodes[2]->attrs);
    w = named(part, "p_fc_weight");
    CHECK(w->origin == QNNRT_IR_WEIGHT && strcmp(w->key, "fc.weight") == 0 && w->users == 1);
    w = named(part, "c_k");
    CHECK(w->origin == QNNRT_IR_CONSTANT && w->data == named(ir, "c_k")->data && strcmp(w->key, "k") == 0);

    /* It can be changed like any other graph, and the whole one stays. */
    v = qnnrt_ir_add_value(part, "s", QNNRT_DTYPE_F32, 2, part->outputs[0]->dims);
    CHECK(v != NULL && strcmp(v->name, "s_1") == 0);
    added = qnnrt_ir_add_node(part, NULL, "neg.default", part->outputs, 1, &v, 1);
    CHECK(added != NULL && added->number >= 4);
    CHECK_EQ(qnnrt_ir_set_int(part, part->nodes[2], "alpha", 5), 1);
    CHECK_EQ(qnnrt_ir_check(part, NULL, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_int(ir->nodes[2], "alpha", 0), 2);
    CHECK_EQ(ir->node_count, 4);
    qnnrt_ir_free(part);
    CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
    qnnrt_ir_free(ir);
}

TEST(ir_extract_takes_inputs_in_the_given_order)
{
    /* A weight, a constant and the result of another node may be inputs; what is missing follows. */
    qnnrt_ir *ir = graph(SMALL), *part = NULL;
    const qnnrt_ir_node *nodes[3];
    const qnnrt_ir_value *inputs[4], *outputs[1];
    CHECK(ir != NULL);
    nodes[0] = ir->nodes[0];
    nodes[1] = ir->nodes[2];
    nodes[2] = ir->nodes[3];
    inputs[0] = named(ir, "c_k");
    inputs[1] = named(ir, "r");
    inputs[2] = named(ir, "p_fc_weight");
    outputs[0] = named(ir, "out");
    nodes[2] = NULL;
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 3, inputs, 3, outputs, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "node 2 is no node of the graph");
    nodes[2] = ir->nodes[3];
    inputs[3] = NULL;
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 3, inputs, 4, outputs, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "input 3 is no value of the graph");
    inputs[3] = outputs[0];
    outputs[0] = NULL;
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 3, inputs, 3, outputs, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "output 0 is no value of the graph");
    CHECK(part == NULL);
    outputs[0] = inputs[3];
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 3, inputs, 3, outputs, 1, "step 1", &part, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(part, NULL, NULL, &err), QNNRT_OK);
    CHECK_STR(part->name, "step 1");
    CHECK_EQ(part->input_count, 5);
    CHECK(strcmp(part->inputs[0]->name, "c_k") == 0 && part->inputs[0]->origin == QNNRT_IR_INPUT);
    CHECK(part->inputs[0]->key == NULL && part->inputs[0]->data == NULL);
    CHECK_STR(part->inputs[1]->name, "r");
    CHECK_STR(part->inputs[2]->name, "p_fc_weight");
    CHECK_STR(part->inputs[3]->name, "x");
    CHECK_STR(part->inputs[4]->name, "z");
    CHECK(part->nodes[0]->inputs[1] == part->inputs[2] && part->nodes[1]->inputs[1] == part->inputs[0]);
    qnnrt_ir_free(part);

    inputs[3] = inputs[1];
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 3, inputs, 4, outputs, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK(part == NULL && strcmp(err.text, "input \"r\" occurs twice") == 0);
    inputs[1] = named(ir, "s");
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 3, inputs, 3, outputs, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "input \"s\" is computed inside, by node \"s\"");
    nodes[1] = nodes[0];
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 3, NULL, 0, outputs, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "node \"h\" (linear.default) occurs twice");
    qnnrt_ir_kill(ir, ir->nodes[3], "");
    CHECK_EQ(qnnrt_ir_extract(ir, nodes + 2, 1, NULL, 0, outputs, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "node \"out\" (mul.Tensor) is dead");
    CHECK_EQ(qnnrt_ir_extract(NULL, nodes, 1, NULL, 0, outputs, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_extract(ir, NULL, 1, NULL, 0, outputs, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 1, NULL, 1, outputs, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 1, NULL, 0, NULL, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 1, NULL, 0, outputs, 1, NULL, NULL, &err), QNNRT_E_ARG);
    qnnrt_ir_free(ir);
}

/* A part may fold as much as its graph has left. */
TEST(ir_extract_keeps_what_folding_has_left)
{
    static const struct { uint64_t bytes, operations; const char *why; } rows[] = {
        { 23, 0, "takes 24 bytes: 23 are left" }, { 0, 95, "takes 96 operations: 95 are left" },
    };
    size_t i;
    for (i = 0; i < 2; ++i) {
        qnnrt_ir_desc desc;
        qnnrt_ir *ir, *part = NULL;
        const qnnrt_ir_node *node;
        const qnnrt_ir_value *output;
        memset(&desc, 0, sizeof(desc));
        desc.fold_bytes = rows[i].bytes;
        desc.fold_operations = rows[i].operations;
        ir = graph_with(GRAPH("", F("y", "6"), "", NODE("y", "ones.default", "", F("y", "6"), "'size': [6]")) "}", &desc);
        CHECK(ir != NULL);
        node = ir->nodes[0];
        output = ir->outputs[0];
        CHECK_EQ(qnnrt_ir_extract(ir, &node, 1, NULL, 0, &output, 1, NULL, &part, &err), QNNRT_OK);
        qnnrt_ir_free(ir);
        CHECK_EQ(qnnrt_ir_fold(part, 0, NULL, &err), QNNRT_E_LIMIT);
        CHECK_STR(err.text, rows[i].why);
        qnnrt_ir_free(part);
    }
}

TEST(ir_extract_gives_every_kind_of_output)
{
    /* outputs: an input, a weight, a constant, a result, the same result again, one of another node */
    qnnrt_ir *ir = graph(SMALL), *part = NULL;
    const qnnrt_ir_node *nodes[1];
    const qnnrt_ir_value *outputs[6];
    static const char *const names[6] = { "z", "p_fc_weight", "c_k", "r", "r", "s" };
    float h[6] = { -1, 2, -3, 4, -5, 6 }, s[6] = { 9, 8, 7, 6, 5, 4 }, z[3] = { 1, 2, 3 }, w[9], got[6][9];
    const void *in[3];
    void *out[6];
    size_t i;
    CHECK(ir != NULL);
    for (i = 0; i < 9; ++i) w[i] = (float)i;
    ((qnnrt_ir_value *)(uintptr_t)named(ir, "p_fc_weight"))->data = w;
    nodes[0] = ir->nodes[1];
    for (i = 0; i < 6; ++i) outputs[i] = named(ir, names[i]);
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 1, NULL, 0, outputs, 6, NULL, &part, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(part, NULL, NULL, &err), QNNRT_OK);
    CHECK(part->input_count == 3 && strcmp(part->inputs[0]->name, "h") == 0 && strcmp(part->inputs[1]->name, "z") == 0 &&
          strcmp(part->inputs[2]->name, "s") == 0);
    for (i = 0; i < 6; ++i) CHECK_STR(part->outputs[i]->name, names[i]);
    CHECK_EQ(part->outputs[3]->is_output, 2);
    in[0] = h;
    in[1] = z;
    in[2] = s;
    for (i = 0; i < 6; ++i) out[i] = got[i];
    CHECK_EQ(qnnrt_ir_run(part, NULL, in, out, &err), QNNRT_OK);
    CHECK(memcmp(got[0], z, sizeof(z)) == 0 && memcmp(got[1], w, sizeof(w)) == 0 && memcmp(got[5], s, sizeof(s)) == 0);
    CHECK(got[2][2] >= 3 && got[2][2] <= 3 && got[3][0] >= 0 && got[3][0] <= 0 && got[4][5] >= 6 && got[4][5] <= 6);
    qnnrt_ir_free(part);
    /* No node at all. */
    CHECK_EQ(qnnrt_ir_extract(ir, NULL, 0, NULL, 0, outputs, 3, NULL, &part, &err), QNNRT_OK);
    CHECK(part->node_count == 0 && part->input_count == 1 && part->output_count == 3);
    CHECK_EQ(qnnrt_ir_check(part, NULL, NULL, &err), QNNRT_OK);
    qnnrt_ir_free(part);
    qnnrt_ir_free(ir);
}

#define SPLIT GRAPH(F("x", "6"), F("a", "2") ", " F("b", "6"), "", \
    NODE("sp", "split.Tensor", F("x", "6"), F("sp_0", "2") ", " F("sp_1", "2") ", " F("sp_2", "2"), "'split_size': 2") \
    ", {'name': 'a', 'op_type': '<built-in function getitem>', 'inputs': [" F("sp_0", "2") ", " F("sp_1", "2") ", " \
    F("sp_2", "2") "], 'outputs': [" F("a", "2") "], 'attrs': {'index': 2}}, " \
    NODE("b", "clamp.default", F("x", "6"), F("b", "6"), "'max': 0.5")) "}"

/* Nodes and values of another graph, which may be larger. */
TEST(ir_extract_refuses_parts_of_another_graph)
{
    qnnrt_ir *ir = graph(SMALL), *other = graph(SMALL), *part = NULL;
    const qnnrt_ir_node *node;
    const qnnrt_ir_value *given;
    CHECK(ir != NULL && other != NULL);
    node = other->nodes[0];
    given = other->inputs[0];
    CHECK_EQ(qnnrt_ir_extract(ir, &node, 1, NULL, 0, NULL, 0, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_extract(ir, NULL, 0, &given, 1, NULL, 0, NULL, &part, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_extract(ir, NULL, 0, NULL, 0, &given, 1, NULL, &part, &err), QNNRT_E_ARG);
    CHECK(part == NULL);
    qnnrt_ir_free(ir);
    qnnrt_ir_free(other);
}

TEST(ir_extract_keeps_outputs_that_nothing_reads)
{
    qnnrt_ir *ir = graph(SPLIT), *part = NULL;
    const qnnrt_ir_node *nodes[2];
    const qnnrt_ir_value *outputs[1];
    const float x[6] = { 1, 2, 3, 4, 5, 6 };
    float a[2];
    const void *in[3];
    void *out[1];
    CHECK(ir != NULL);
    nodes[0] = ir->nodes[0];
    nodes[1] = ir->nodes[1];
    outputs[0] = named(ir, "a");
    in[0] = x;
    out[0] = a;
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 2, NULL, 0, outputs, 1, NULL, &part, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(part, NULL, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_run(part, NULL, in, out, &err), QNNRT_OK);
    CHECK(a[0] >= 5 && a[0] <= 5 && a[1] >= 6 && a[1] <= 6);
    qnnrt_ir_free(part);
    outputs[0] = named(ir, "sp_1");                             /* one of three, without getitem */
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 1, NULL, 0, outputs, 1, NULL, &part, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(part, NULL, NULL, &err), QNNRT_OK);
    CHECK(part->nodes[0]->output_count == 3 && part->outputs[0] == part->nodes[0]->outputs[1]);
    CHECK(part->nodes[0]->outputs[0]->users == 0);
    CHECK_EQ(qnnrt_ir_run(part, NULL, in, out, &err), QNNRT_OK);
    CHECK(a[0] >= 3 && a[0] <= 3);
    qnnrt_ir_free(part);
    outputs[0] = named(ir, "a");                                /* getitem alone reads all of them */
    CHECK_EQ(qnnrt_ir_extract(ir, nodes + 1, 1, NULL, 0, outputs, 1, NULL, &part, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(part, NULL, NULL, &err), QNNRT_OK);
    CHECK_EQ(part->input_count, 3);
    qnnrt_ir_free(part);
    qnnrt_ir_free(ir);
}

TEST(ir_extract_keeps_absent_inputs)
{
    qnnrt_ir *ir = graph(GRAPH(F("x", "4, 5") ", " V("i", "int64", "3"), F("y", "4, 3"), "",
        "{'name': 'y', 'op_type': 'aten.index.Tensor', 'inputs': [" F("x", "4, 5") ", " V("i", "int64", "3")
        "], 'outputs': [" F("y", "4, 3") "], 'attrs': {'_tensor_list_none_masks': [true, false], "
        "'_tensor_list_sizes': [2]}}") "}"), *part = NULL;
    const qnnrt_ir_node *nodes[1];
    const qnnrt_ir_value *outputs[1];
    CHECK(ir != NULL);
    nodes[0] = ir->nodes[0];
    outputs[0] = ir->outputs[0];
    CHECK(nodes[0]->input_count == 3 && nodes[0]->inputs[1] == NULL);
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 1, NULL, 0, outputs, 1, NULL, &part, &err), QNNRT_OK);
    CHECK(part->nodes[0]->input_count == 3 && part->nodes[0]->inputs[1] == NULL && part->input_count == 2);
    CHECK_EQ(qnnrt_ir_check(part, NULL, NULL, &err), QNNRT_OK);
    qnnrt_ir_free(part);
    qnnrt_ir_free(ir);
}

TEST(ir_extract_refuses_nodes_that_overwrite)
{
    qnnrt_ir *ir = graph(GRAPH(F("x", "2"), F("y", "2"), "",
        NODE("a", "neg.default", F("x", "2"), F("a", "2"), "") ", "
        NODE("y", "relu_.default", F("a", "2"), F("y", "2"), "")) "}"), *part = NULL;
    const qnnrt_ir_node *nodes[1];
    const qnnrt_ir_value *outputs[1];
    CHECK(ir != NULL);
    nodes[0] = ir->nodes[1];
    outputs[0] = ir->outputs[0];
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 1, NULL, 0, outputs, 1, NULL, &part, &err), QNNRT_E_UNSUPPORTED);
    CHECK(part == NULL && strcmp(err.text, "node \"y\" (relu_.default) overwrites its input") == 0 &&
          strstr(err.hint, "qnnrt_ir_pass_inplace") != NULL);
    CHECK_EQ(qnnrt_ir_pass_inplace(ir, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_extract(ir, nodes, 1, NULL, 0, outputs, 1, NULL, &part, &err), QNNRT_OK);
    qnnrt_ir_free(part);
    qnnrt_ir_free(ir);
}

TEST(ir_extract_survives_every_failing_allocation)
{
    qnnrt_ir_desc desc;
    qnnrt_ir *ir, *part = NULL;
    const qnnrt_ir_node *nodes[2];
    const qnnrt_ir_value *outputs[1];
    qnnrt_result result = QNNRT_E_MEMORY;
    long failed = 0, before;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    desc.memory_bytes = 500000;
    fail_at = -1;
    ir = graph_with(SMALL, &desc);
    CHECK(ir != NULL);
    nodes[0] = ir->nodes[2];
    nodes[1] = ir->nodes[3];
    outputs[0] = ir->outputs[0];
    before = live;
    for (fail_at = 0; result != QNNRT_OK; ++fail_at) {
        allocations = 0;
        TEST_JUNK(err);
        result = qnnrt_ir_extract(ir, nodes, 2, NULL, 0, outputs, 1, NULL, &part, &err);
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && err.code == result && part == NULL && live == before));
        failed += result != QNNRT_OK;
    }
    fail_at = -1;
    CHECK(failed >= 2);
    qnnrt_ir_free(part);
    CHECK_EQ(live, before);
    qnnrt_ir_free(ir);
    CHECK_EQ(live, 0);
}

/* ---- write ---- */

static qnnrt_result write_graph(const qnnrt_ir *ir, sink *s)
{
    qnnrt_json_writer w;
    qnnrt_result result;
    memset(s, 0, sizeof(*s));
    qnnrt_json_write_begin(&w, sink_write, s, 1);
    TEST_JUNK(err);
    result = qnnrt_ir_write(ir, &w, &err);
    if (!qnnrt_json_write_end(&w) && result == QNNRT_OK) abort();
    return result;
}

/* Write a graph, read it, and check what was read. Return NULL after an error. */
static qnnrt_ir *again(const qnnrt_ir *ir)
{
    qnnrt_ir *read = NULL;
    sink s;
    if (write_graph(ir, &s) == QNNRT_OK && qnnrt_ir_read(s.text, s.used, NULL, &read, &err) == QNNRT_OK &&
        qnnrt_ir_check(read, NULL, NULL, &err) != QNNRT_OK) {
        qnnrt_ir_free(read);
        read = NULL;
    }
    if (read == NULL) printf("    %s\n", err.text);
    free(s.text);
    return read;
}

static int same_value(const qnnrt_ir_value *a, const qnnrt_ir_value *b)
{
    if (a == NULL || b == NULL) return a == b;
    return strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->rank == b->rank && a->count == b->count &&
           memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims)) == 0 && a->origin == b->origin && a->users == b->users &&
           a->is_output == b->is_output && a->index == b->index && a->ranged == b->ranged && a->low == b->low && a->high == b->high && (a->key == NULL) == (b->key == NULL) &&
           (a->key == NULL || strcmp(a->key, b->key) == 0) &&
           (a->origin != QNNRT_IR_CONSTANT || a->count == 0 || memcmp(a->data, b->data, bytes_of(a)) == 0);
}

static int same_attr(const qnnrt_ir_attr *a, const qnnrt_ir_attr *b)
{
    return strcmp(a->name, b->name) == 0 && a->kind == b->kind && a->i == b->i && memcmp(&a->f, &b->f, sizeof(a->f)) == 0 &&
           strcmp(a->text, b->text) == 0 && a->count == b->count && (a->ints == NULL) == (b->ints == NULL) &&
           (a->floats == NULL || memcmp(a->floats, b->floats, a->count * sizeof(double)) == 0) &&
           (a->ints == NULL || memcmp(a->ints, b->ints, a->count * sizeof(int64_t)) == 0);
}

/* True if two graphs are equal in all that is written, names of nodes excepted if `renamed`. */
static int same_graph(const qnnrt_ir *a, const qnnrt_ir *b, int renamed)
{
    size_t i, k, m;
    if (strcmp(a->name, b->name) != 0 || strcmp(a->version, b->version) != 0 || a->input_count != b->input_count ||
        a->output_count != b->output_count || a->node_count != b->node_count) return 0;
    for (i = 0; i < a->input_count; ++i) if (!same_value(a->inputs[i], b->inputs[i])) return 0;
    for (i = 0; i < a->output_count; ++i) if (!same_value(a->outputs[i], b->outputs[i])) return 0;
    for (i = 0; i < a->node_count; ++i) {
        const qnnrt_ir_node *x = a->nodes[i], *y = b->nodes[i];
        if ((!renamed && strcmp(x->name, y->name) != 0) || strcmp(x->op, y->op) != 0 || strcmp(x->source, y->source) != 0 ||
            x->input_count != y->input_count || x->output_count != y->output_count) {
            printf("    node \"%s\" differs\n", x->name);
            return 0;
        }
        for (k = 0; k < x->input_count; ++k) if (!same_value(x->inputs[k], y->inputs[k])) return 0;
        for (k = 0; k < x->output_count; ++k) if (!same_value(x->outputs[k], y->outputs[k])) return 0;
        for (k = m = 0; k < x->attr_count; ++k) {
            if (x->attrs[k].kind == QNNRT_IR_OTHER) continue;
            while (m < y->attr_count && y->attrs[m].kind == QNNRT_IR_OTHER) ++m;
            if (m >= y->attr_count || !same_attr(&x->attrs[k], &y->attrs[m++])) {
                printf("    node \"%s\": argument \"%s\" differs\n", x->name, x->attrs[k].name);
                return 0;
            }
        }
        while (m < y->attr_count && y->attrs[m].kind == QNNRT_IR_OTHER) ++m;
        if (m != y->attr_count) return 0;
    }
    return 1;
}

/* Run two graphs with the same inputs and weights. True if all outputs have the same bytes. */
static int same_results(qnnrt_ir *a, qnnrt_ir *b)
{
    qnnrt_ir *both[2];
    void *in[64], *out[2][64];
    size_t i, k, n;
    int good = 1;
    both[0] = a;
    both[1] = b;
    for (i = 0; i < a->input_count; ++i) in[i] = made(a->inputs[i]);
    for (i = 0; i < b->value_count; ++i) {
        qnnrt_ir_value *v = b->values[i];
        if (v->origin == QNNRT_IR_WEIGHT) v->data = named(a, v->name)->data;
    }
    for (k = 0; k < 2; ++k) {
        for (i = 0; i < both[k]->output_count; ++i) {
            out[k][i] = calloc(bytes_of(both[k]->outputs[i]) + 1, 1);
            if (out[k][i] == NULL) abort();
        }
        if (qnnrt_ir_run(both[k], NULL, (const void *const *)in, out[k], &err) != QNNRT_OK) {
            printf("    %s\n", err.text);
            good = 0;
        }
    }
    for (n = 0; n < a->output_count; ++n) {
        if (good && memcmp(out[0][n], out[1][n], bytes_of(a->outputs[n])) != 0) good = 0;
        free(out[0][n]);
        free(out[1][n]);
    }
    for (i = 0; i < a->input_count; ++i) free(in[i]);
    return good;
}

/* True if two graphs are written as the same text. */
static int same_text(const qnnrt_ir *a, const qnnrt_ir *b)
{
    sink x, y;
    const int good = write_graph(a, &x) == QNNRT_OK && write_graph(b, &y) == QNNRT_OK && x.used == y.used &&
                     memcmp(x.text, y.text, x.used) == 0;
    free(x.text);
    free(y.text);
    return good;
}

/* True if what is written and read again, and a copy, are the same graph. */
static int round_trip(qnnrt_ir *ir, int renamed, int runs)
{
    qnnrt_ir *read = again(ir), *copy = NULL;
    int good = read != NULL && same_graph(ir, read, renamed);
    if (good && runs) good = same_results(ir, read);
    TEST_JUNK(err);
    good = good && qnnrt_ir_copy(ir, NULL, &copy, &err) == QNNRT_OK && same_graph(ir, copy, 0) && same_text(ir, copy);
    if (good && qnnrt_ir_check(copy, NULL, NULL, &err) != QNNRT_OK) good = 0;
    if (good && runs) good = same_results(ir, copy);
    qnnrt_ir_free(copy);
    qnnrt_ir_free(read);
    return good;
}

TEST(ir_write_gives_back_the_data_files)
{
    static const char *const files[] = { "tiny_cnn", "tiny_prefill", "tiny_decode", "torch_cnn", "torch_llama", "ops", "../exported/blocks/graph" };
    static qnnrt_result (*const passes[])(qnnrt_ir *, qnnrt_error *) = {
        qnnrt_ir_pass_inplace, qnnrt_ir_pass_noops, qnnrt_ir_pass_native, qnnrt_ir_pass_rms_norm, qnnrt_ir_pass_layer_norm,
        qnnrt_ir_pass_silu, qnnrt_ir_pass_linear, qnnrt_ir_pass_attention, qnnrt_ir_pass_gqa, qnnrt_ir_pass_gelu,
        qnnrt_ir_pass_matmul_transpose, qnnrt_ir_pass_bn_fold,
    };
    size_t i, k;
    for (i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        const int run = i < 5;                                  /* the last one has hundreds of outputs */
        qnnrt_ir *ir = ir_file(files[i], &err);
        CHECK(ir != NULL);
        fill_weights(ir);
        CHECK(round_trip(ir, 0, run));
        for (k = 0; k < sizeof(passes) / sizeof(passes[0]); ++k) {
            CHECK_EQ(passes[k](ir, &err), QNNRT_OK);
            CHECK(round_trip(ir, 1, run && k % 4 == 3));
        }
        CHECK_EQ(qnnrt_ir_fold(ir, 0, NULL, &err), QNNRT_OK);
        CHECK(round_trip(ir, 1, run));
        free_weights(ir);
        qnnrt_ir_free(ir);
    }
}

TEST(ir_write_gives_back_genuine_files)
{
    static const char *const files[] = { "qwen2_prefill_ir", "SimpleMLP", "MaskedLinear" };
    const char *samples = test_getenv("QNNRT_SAMPLES");
    size_t i, bytes;
    if (samples == NULL) SKIP("QNNRT_SAMPLES is not set");
    for (i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        char path[600];
        const qnnrt_ir_desc desc = ir_plain_rope();
        void *text;
        qnnrt_ir *ir = NULL;
        snprintf(path, sizeof path, "%s/ir/%s.json", samples, files[i]);
        text = test_read_file(path, &bytes);
        CHECK(text != NULL);
        CHECK_EQ(qnnrt_ir_read((const char *)text, bytes, &desc, &ir, &err), QNNRT_OK);
        free(text);
        CHECK(round_trip(ir, 0, 0));
        CHECK_EQ(qnnrt_ir_pass_noops(ir, &err), QNNRT_OK);
        CHECK(round_trip(ir, 1, 0));
        qnnrt_ir_free(ir);
    }
}

TEST(ir_write_and_extract_random_programs)
{
    program *p = (program *)malloc(sizeof(*p));
    uint32_t i;
    size_t parts = 0;
    if (p == NULL) abort();
    for (i = 0; i < 400; ++i) {
        qnnrt_ir *ir = NULL, *read;
        write_program(p, i);
        if (p->count < 3) continue;
        CHECK_EQ(qnnrt_ir_read(p->text, p->used, NULL, &ir, &err), QNNRT_OK);
        CHECK(round_trip(ir, 0, 1));
        read = again(ir);
        CHECK(read != NULL && cut_and_compare(read, 4, &parts));
        qnnrt_ir_free(read);
        qnnrt_ir_free(ir);
    }
    CHECK(parts > 700);
    free(p);
}

TEST(ir_write_keeps_every_bit_of_constants)
{
    /* dtype, elements, their bits: NaNs with payloads and signs, infinities, -0, denormals, the largest and the smallest */
    static const struct { qnnrt_dtype dtype; size_t count; uint64_t bits[12]; } c[] = {
        { QNNRT_DTYPE_F32, 9, { 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0x80000000, 1, 0x7F7FFFFF, 0x3DCCCCCD } },
        { QNNRT_DTYPE_F32, 8, { 0x80000000, 0, 1, 0x80000001, 0x7F7FFFFF, 0xFF7FFFFF, 0x00800000, 0x3DCCCCCD } },
        { QNNRT_DTYPE_F64, 5, { UINT64_C(0x7FF0000000000000), UINT64_C(0xFFF8000000000123), UINT64_C(0x8000000000000000), 1,
                                UINT64_C(0x7FEFFFFFFFFFFFFF) } },
        { QNNRT_DTYPE_F64, 5, { UINT64_C(0x8000000000000000), 1, UINT64_C(0x7FEFFFFFFFFFFFFF), UINT64_C(0x3FB999999999999A),
                                UINT64_C(0x000FFFFFFFFFFFFF) } },
        { QNNRT_DTYPE_F16, 7, { 0x7C00, 0xFC00, 0x7E01, 0xFE00, 0x8000, 1, 0x7BFF } },
        { QNNRT_DTYPE_F16, 6, { 0x8000, 1, 0x83FF, 0x0400, 0x7BFF, 0x2E66 } },
        { QNNRT_DTYPE_BF16, 6, { 0x7F80, 0xFF80, 0x7FC1, 0xFFC0, 0x8000, 1 } },
        { QNNRT_DTYPE_BF16, 6, { 0x8000, 1, 0x7F7F, 0xFF7F, 0x3DCC, 0x0080 } },
        { QNNRT_DTYPE_I64, 5, { UINT64_C(0x8000000000000000), UINT64_C(0x7FFFFFFFFFFFFFFF), UINT64_C(0xFFFFFFFFFFFFFFFF), 0,
                                UINT64_C(0x0020000000000001) } },
        { QNNRT_DTYPE_I32, 3, { 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF } }, { QNNRT_DTYPE_I16, 2, { 0x8000, 0x7FFF } },
        { QNNRT_DTYPE_I8, 3, { 0x80, 0x7F, 0xFF } }, { QNNRT_DTYPE_U8, 2, { 0, 0xFF } }, { QNNRT_DTYPE_BOOL8, 3, { 1, 0, 1 } },
        { QNNRT_DTYPE_F32, 0, { 0 } }, { QNNRT_DTYPE_I64, 0, { 0 } },
    };
    const int64_t none[3] = { 3, 0, 2 };
    const int64_t cube[3] = { 2, 1, 2 };
    qnnrt_ir *ir = graph(GRAPH("", "", "", "") "}"), *read;
    size_t i, k;
    uint32_t all = 0;
    CHECK(ir == NULL);                                          /* it needs outputs */
    ir = graph(GRAPH(F("x", "2"), F("x", "2"), "", "") ", 'model_name': 'constants'}");
    CHECK(ir != NULL);
    for (i = 0; i < sizeof(c) / sizeof(c[0]); ++i) {
        const int64_t dims[1] = { (int64_t)c[i].count };
        const size_t size = qnnrt_ir_dtype_bytes(c[i].dtype);
        qnnrt_ir_value *v, *y;
        void *room;
        const uint32_t rank = c[i].count == 0 ? 3 : 1;
        v = qnnrt_ir_add_constant(ir, "c", c[i].dtype, rank, rank == 3 ? none : dims, NULL, &room);
        CHECK(v != NULL);
        for (k = 0; k < c[i].count; ++k) memcpy((char *)room + k * size, &c[i].bits[k], size);
        y = qnnrt_ir_add_value(ir, "y", c[i].dtype, rank, v->dims);
        CHECK(y != NULL && qnnrt_ir_add_node(ir, NULL, "clone.default", &v, 1, &y, 1) != NULL);
        ++all;
    }
    {
        /* A cube of lists, and a scalar. */
        static const float four[4] = { 1, 2, 3, 4 };
        qnnrt_ir_value *v = qnnrt_ir_add_constant(ir, "c", QNNRT_DTYPE_F32, 3, cube, four, NULL);
        qnnrt_ir_value *y = qnnrt_ir_add_value(ir, "y", QNNRT_DTYPE_F32, 3, cube);
        CHECK(v != NULL && y != NULL && qnnrt_ir_add_node(ir, NULL, "clone.default", &v, 1, &y, 1) != NULL);
        v = qnnrt_ir_add_constant(ir, "c", QNNRT_DTYPE_F32, 0, NULL, four + 3, NULL);
        y = qnnrt_ir_add_value(ir, "y", QNNRT_DTYPE_F32, 0, NULL);
        CHECK(v != NULL && y != NULL && qnnrt_ir_add_node(ir, NULL, "clone.default", &v, 1, &y, 1) != NULL);
    }
    CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
    CHECK_EQ(ir->node_count, all + 2);
    read = again(ir);
    CHECK(read != NULL && same_graph(ir, read, 0));
    for (i = 0; i < all; ++i) {
        const qnnrt_ir_value *v = read->nodes[i]->inputs[0];
        const size_t size = qnnrt_ir_dtype_bytes(v->dtype);
        CHECK(v->count == c[i].count && v->rank == (c[i].count == 0 ? 3u : 1u) && (uintptr_t)v->data % 16 == 0);
        for (k = 0; k < c[i].count; ++k) CHECK(memcmp((const char *)v->data + k * size, &c[i].bits[k], size) == 0);
    }
    qnnrt_ir_free(read);
    qnnrt_ir_free(ir);
}

TEST(ir_write_keeps_every_kind_of_argument)
{
    qnnrt_ir *ir = graph(GRAPH(F("x", "2"), F("y", "2"), "", NODE("y", "neg.default", F("x", "2"), F("y", "2"),
        "'_null': null, '_i': -9223372036854775808, '_j': 9223372036854775807, '_f': 1.0, '_g': -0.0, '_h': 5e-324, "
        "'_inf': -Infinity, '_nan': NaN, '_big': 1e30, '_more': 18446744073709551616, '_t': true, '_b': false, "
        "'_text': 'torch.float32', '_odd': 'a\\\"\\\\\\u0001\\u202e\\n\\u00e4', '_l': [1, -2], '_e': [], '_lb': [true, false], "
        "'_lf': [1, 2.5], '_li': [Infinity, 0.5], '_other': {'float': 3}, '_nested': [[1], [2]], '_o2': {'a': {'b': [1]}}"))
        "}"), *read;
    const qnnrt_ir_node *node;
    CHECK(ir != NULL);
    CHECK_EQ(ir->nodes[0]->attr_count, 22);
    CHECK(round_trip(ir, 0, 1));
    read = again(ir);
    CHECK(read != NULL && read->nodes[0]->attr_count == 19);
    node = read->nodes[0];
    CHECK(qnnrt_ir_attr_find(node, "_nan")->kind == QNNRT_IR_FLOAT && isnan(qnnrt_ir_attr_find(node, "_nan")->f));
    CHECK(qnnrt_ir_attr_find(node, "_inf")->f <= -HUGE_VAL && qnnrt_ir_attr_find(node, "_li")->floats[0] >= HUGE_VAL);
    CHECK(qnnrt_ir_attr_find(node, "_li")->count == 2 && qnnrt_ir_attr_find(node, "_li")->kind == QNNRT_IR_FLOATS);
    CHECK_EQ(qnnrt_ir_attr_find(node, "_f")->kind, QNNRT_IR_FLOAT);
    CHECK(qnnrt_ir_attr_find(node, "_j")->i == INT64_MAX && qnnrt_ir_attr_find(node, "_i")->i == INT64_MIN);
    qnnrt_ir_free(read);
    qnnrt_ir_free(ir);
}

TEST(ir_write_escapes_hostile_names)
{
    qnnrt_ir *ir = graph(
        "{'graph_inputs': [{'name': 'x\\\", \\\"y\\\\', 'shape': [2], 'dtype': 'float32'}], 'model_name': '\\u001b[31m', "
        "'graph_outputs': [{'name': '}]}\\u202e\\ud83d\\ude00', 'shape': [2], 'dtype': 'float32'}], 'weights': "
        "[{'name': 'w/../\\n', 'shape': [2], 'dtype': 'float32'}], 'weight_name_mapping': {'p\\u0000q': 'w/../\\n'}, "
        "'nodes': [{'name': '\\u0007', 'op_type': 'aten.add.Tensor', 'inputs': [{'name': 'x\\\", \\\"y\\\\', 'shape': [2], "
        "'dtype': 'float32'}, {'name': 'p\\u0000q', 'shape': [2], 'dtype': 'float32'}], 'outputs': [{'name': "
        "'}]}\\u202e\\ud83d\\ude00', 'shape': [2], 'dtype': 'float32'}], 'attrs': {}, 'source': '\\u2028</script>'}]}");
    sink s;
    size_t i;
    CHECK(ir != NULL);
    fill_weights(ir);
    CHECK(round_trip(ir, 0, 1));
    CHECK_EQ(write_graph(ir, &s), QNNRT_OK);
    for (i = 0; i < s.used; ++i) CHECK((unsigned char)s.text[i] >= 32 || s.text[i] == '\n');
    free(s.text);
    free_weights(ir);
    qnnrt_ir_free(ir);
}

TEST(ir_write_keeps_absent_inputs)
{
    /* index.Tensor as exporters write it, batch_norm without weights, a norm with a bias alone that an edit made */
    qnnrt_ir *ir = graph(GRAPH(F("x", "4, 5, 3, 2") ", " V("i", "int64", "3") ", " F("b", "2"),
        F("y", "4, 3, 3, 2") ", " F("n", "4, 5, 3, 2") ", " F("l", "4, 5, 3, 2"),
        F("m", "5") ", " F("v", "5"),
        "{'name': 'y', 'op_type': 'aten.index.Tensor', 'inputs': [" F("x", "4, 5, 3, 2") ", " V("i", "int64", "3")
        "], 'outputs': [" F("y", "4, 3, 3, 2") "], 'attrs': {'_tensor_list_none_masks': [true, false], "
        "'_tensor_list_sizes': [2]}}, "
        NODE("n", "batch_norm.default", F("x", "4, 5, 3, 2") ", " F("m", "5") ", " F("v", "5"), F("n", "4, 5, 3, 2"),
             "'training': false, 'momentum': 0.1, 'eps': 1e-05") ", "
        NODE("l", "layer_norm.default", F("x", "4, 5, 3, 2"), F("l", "4, 5, 3, 2"), "'normalized_shape': [2]")) "}");
    CHECK(ir != NULL);
    fill_weights(ir);
    CHECK(ir->nodes[1]->input_count == 5 && ir->nodes[1]->inputs[1] == NULL && ir->nodes[1]->inputs[3] != NULL);
    CHECK(qnnrt_ir_set_input(ir, ir->nodes[2], 1, NULL) && qnnrt_ir_set_input(ir, ir->nodes[2], 2, ir->inputs[2]));
    CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
    CHECK(round_trip(ir, 0, 0));
    free_weights(ir);
    qnnrt_ir_free(ir);
}

TEST(ir_write_makes_names_unique)
{
    /* Two nodes of one name, three constants of one key, one of them shared, and the key of a weight. */
    static const float one[2] = { 1, 2 }, two[2] = { 3, 4 };
    const int64_t dims[1] = { 2 };
    qnnrt_ir *ir = graph(GRAPH(F("x", "2"), F("y", "2"), F("k", "2"), NODE("y", "add.Tensor", F("x", "2") ", " F("p_k", "2"),
        F("y", "2"), "")) ", 'weight_name_mapping': {'p_k': 'k'}}"), *read;
    qnnrt_ir_value *c[3], *v, *out;
    size_t i;
    sink s;
    const char *name;
    CHECK(ir != NULL);
    v = ir->outputs[0];
    for (i = 0; i < 3; ++i) {
        qnnrt_ir_value *in[2];
        c[i] = qnnrt_ir_add_constant(ir, "c", QNNRT_DTYPE_F32, 1, dims, i < 2 ? one : two, NULL);
        CHECK(c[i] != NULL);
        c[i]->key = "k";
        if (i == 1) c[i]->data = c[0]->data;
        out = qnnrt_ir_add_value(ir, "s", QNNRT_DTYPE_F32, 1, dims);
        in[0] = v;
        in[1] = c[i];
        CHECK(out != NULL && qnnrt_ir_add_node(ir, NULL, "add.Tensor", in, 2, &out, 1) != NULL);
        ir->nodes[ir->node_count - 1]->name = "y";
        v = out;
    }
    qnnrt_ir_replace(ir, ir->outputs[0], v);
    CHECK(qnnrt_ir_set_input(ir, ir->nodes[1], 0, ir->nodes[0]->outputs[0]));
    CHECK_EQ(qnnrt_ir_tidy(ir, &err), QNNRT_OK);
    fill_weights(ir);
    read = again(ir);
    CHECK(read != NULL && read->node_count == 4);
    CHECK_STR(read->nodes[0]->name, "y");
    CHECK_STR(read->nodes[1]->name, "y_1");
    CHECK_STR(read->nodes[3]->name, "y_3");
    CHECK(strcmp(read->nodes[0]->inputs[1]->key, "k") == 0 && strcmp(read->nodes[1]->inputs[1]->key, "k_1") == 0 &&
          strcmp(read->nodes[2]->inputs[1]->key, "k_2") == 0 && strcmp(read->nodes[3]->inputs[1]->key, "k_3") == 0);
    CHECK(same_results(ir, read));
    qnnrt_ir_free(read);
    /* Two values of one name, and a constant without data. */
    c[0]->name = c[1]->name;
    CHECK_EQ(write_graph(ir, &s), QNNRT_E_ARG);
    CHECK_STR(err.text, "two values are named \"c_1\"");
    free(s.text);
    /* A name does not control the terminal that the error is shown on. */
    name = c[1]->name;
    c[0]->name = c[1]->name = "c\033[2J\nforged";
    CHECK_EQ(write_graph(ir, &s), QNNRT_E_ARG);
    CHECK_STR(err.text, "two values are named \"c?[2J forged\"");
    free(s.text);
    c[1]->name = name;
    c[0]->name = "c";
    c[2]->data = NULL;
    CHECK_EQ(write_graph(ir, &s), QNNRT_E_ARG);
    CHECK_STR(err.text, "constant \"c_2\" has no data");
    free(s.text);
    free_weights(ir);
    qnnrt_ir_free(ir);
}

TEST(ir_write_shares_constants)
{
    qnnrt_ir *ir = graph(GRAPH(F("x", "2"), F("y", "2"), "",
        NODE("a", "add.Tensor", F("x", "2") ", " F("c_1", "2"), F("a", "2"), "") ", "
        NODE("y", "add.Tensor", F("a", "2") ", " F("c_2", "2"), F("y", "2"), ""))
        ", 'weight_name_mapping': {'c_1': 'k', 'c_2': 'k'}, 'constants': {'k': {'data': [1, 2], 'dtype': 'float32'}}}");
    CHECK(ir != NULL && ir->nodes[0]->inputs[1] != ir->nodes[1]->inputs[1]);
    CHECK(round_trip(ir, 0, 1));
    qnnrt_ir_free(ir);
}

TEST(ir_hex_is_checked)
{
    static const struct { const char *constant, *why; } bad[] = {
        { "{'dtype': 'float32', 'shape': [2], 'hex': '0000803f'}", "its hex digits do not fit its shape" },
        { "{'dtype': 'float32', 'shape': [2], 'hex': '0000803f0000803'}", "its hex digits do not fit its shape" },
        { "{'dtype': 'float32', 'shape': [2], 'hex': '0000803f0000803fa'}", "its hex digits do not fit its shape" },
        { "{'dtype': 'float32', 'shape': [2], 'hex': '0000803F0000803f'}", "its hex digits have another character" },
        { "{'dtype': 'float32', 'shape': [2], 'hex': '0000803f0000\\u0030 '}", "its hex digits do not fit its shape" },
        { "{'dtype': 'float32', 'shape': [-2], 'hex': ''}", "a dimension is negative" },
        { "{'dtype': 'float32', 'shape': 2, 'hex': ''}", "its shape is not a list" },
        { "{'dtype': 'float32', 'shape': [281474976710656, 281474976710656], 'hex': ''}", "its hex digits do not fit its shape" },
        { "{'dtype': 'float33', 'shape': [2], 'hex': '0000803f0000803f'}", "is not supported" },
        { "{'shape': [2], 'hex': '0000803f0000803f'}", "its dtype is missing" },
        { "{'dtype': 'float32', 'shape': [2], 'hex': 5}", "its data is missing" },
    };
    size_t i;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        char text[1000];
        qnnrt_ir *ir;
        snprintf(text, sizeof text, GRAPH(F("x", "2"), F("c_k", "2"), "", "")
                 ", 'weight_name_mapping': {'c_k': 'k'}, 'constants': {'k': %s}}", bad[i].constant);
        ir = graph(text);
        CHECK(ir == NULL);
        CHECK_STR(err.text, bad[i].why);
    }
}

TEST(ir_write_survives_every_failing_allocation)
{
    qnnrt_ir_desc desc;
    qnnrt_json_writer w;
    qnnrt_ir *ir;
    qnnrt_result result = QNNRT_E_MEMORY;
    long failed = 0, before;
    sink s;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    fail_at = -1;
    ir = graph_with(GRAPH(F("x", "2"), F("y", "2"), "", NODE("y", "masked_fill.Scalar", F("x", "2") ", " V("c_k", "bool", "2"),
        F("y", "2"), "'value': -Infinity")) ", 'weight_name_mapping': {'c_k': 'k'}, 'constants': {'k': {'data': [true, "
        "false], 'dtype': 'bool'}}}", &desc);
    CHECK(ir != NULL);
    before = live;
    for (fail_at = 0; result != QNNRT_OK; ++fail_at) {
        allocations = 0;
        result = write_graph(ir, &s);
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && err.code == result));
        CHECK_EQ(live, before);
        failed += result != QNNRT_OK;
        free(s.text);
    }
    fail_at = -1;
    CHECK(failed >= 2);
    /* A sink that takes nothing, and arguments that are missing. */
    memset(&s, 0, sizeof(s));
    s.most = 1;
    qnnrt_json_write_begin(&w, sink_write, &s, 0);
    result = qnnrt_ir_write(ir, &w, &err);
    CHECK(result == QNNRT_OK || result == QNNRT_E_IO);          /* small texts wait in the writer */
    CHECK_EQ(qnnrt_json_write_end(&w), 0);
    result = qnnrt_ir_write(ir, &w, &err);
    CHECK(result == QNNRT_E_IO && strstr(err.text, "the graph could not be written: ") != NULL);
    CHECK_EQ(qnnrt_ir_write(NULL, &w, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_write(ir, NULL, &err), QNNRT_E_ARG);
    qnnrt_ir_free(ir);
    CHECK_EQ(live, 0);
}

/* ---- copies ---- */

/* A weight, two constants that share their data, an argument of each kind, a node that overwrites. */
#define COPIED GRAPH(F("x", "2"), F("y", "2") ", " F("x", "2"), F("k.w", "2"), \
    NODE("a", "add.Tensor", F("x", "2") ", " F("c_1", "2"), F("a", "2"), "'alpha': 2.5") ", " \
    NODE("b", "mul.Tensor", F("a", "2") ", " F("p_w", "2"), F("b", "2"), "'t': 'a text', 'n': [1, 2], 'f': [0.5], 'o': true") ", " \
    NODE("r", "relu_.default", F("b", "2"), F("r", "2"), "") ", " \
    NODE("y", "add.Tensor", F("r", "2") ", " F("c_2", "2"), F("y", "2"), "")) \
    ", 'weight_name_mapping': {'c_1': 'k', 'c_2': 'k', 'p_w': 'k.w'}, 'model_name': 'copied', 'pytorch_version': '2', " \
    "'constants': {'k': {'data': [1, 2], 'dtype': 'float32'}}}"

TEST(ir_copy_needs_nothing_of_the_graph)
{
    static const float data[2] = { 3, -4 };
    qnnrt_ir *ir = ir_graph_unchecked(COPIED, NULL, &err), *copy = NULL;
    sink before, after;
    size_t i;
    CHECK(ir != NULL);
    ir->values[0]->note = ir;
    for (i = 0; i < ir->value_count; ++i) if (ir->values[i]->origin == QNNRT_IR_WEIGHT) ir->values[i]->data = data;
    CHECK_EQ(write_graph(ir, &before), QNNRT_OK);
    TEST_JUNK(err);
    CHECK_EQ(qnnrt_ir_copy(ir, NULL, &copy, &err), QNNRT_OK);
    CHECK_EQ(err.code, QNNRT_OK);
    CHECK(same_graph(ir, copy, 0) && copy->value_count == ir->value_count);
    CHECK_STR(copy->version, "2");
    CHECK_EQ(copy->inputs[0]->users, 2);
    for (i = 0; i < ir->value_count; ++i) {
        const qnnrt_ir_value *from = ir->values[i], *to = copy->values[i];
        CHECK(from != to && from->name != to->name && to->number == i && to->note == NULL);
        CHECK_STR(from->name, to->name);
        CHECK_EQ(from->data == to->data, from->origin != QNNRT_IR_CONSTANT);     /* a weight's is borrowed */
        CHECK(to->data == NULL || (uintptr_t)to->data % 16 == 0 || from->origin == QNNRT_IR_WEIGHT);
    }
    CHECK(copy->nodes[0]->inputs[1]->data == copy->nodes[3]->inputs[1]->data);
    for (i = 0; i < ir->node_count; ++i) {
        CHECK(copy->nodes[i]->number == ir->nodes[i]->number && copy->nodes[i]->line == ir->nodes[i]->line && copy->nodes[i]->at == i);
        CHECK(copy->nodes[i]->outputs[0]->node == copy->nodes[i] && copy->nodes[i]->attrs != ir->nodes[i]->attrs);
    }
    /* Passes change one of the two; a node that is added to the copy has a number and a name of its own. */
    CHECK_EQ(qnnrt_ir_pass_inplace(ir, &err), QNNRT_OK);
    qnnrt_ir_kill(ir, ir->nodes[3], "gone");
    CHECK_EQ(write_graph(copy, &after), QNNRT_OK);
    CHECK(after.used == before.used && memcmp(after.text, before.text, before.used) == 0);
    free(after.text);
    qnnrt_ir_free(ir);
    CHECK_EQ(write_graph(copy, &after), QNNRT_OK);
    CHECK(after.used == before.used && memcmp(after.text, before.text, before.used) == 0);
    {
        qnnrt_ir_value *y = qnnrt_ir_add_value(copy, "y", QNNRT_DTYPE_F32, 1, copy->outputs[0]->dims);
        CHECK(y != NULL && strcmp(y->name, "y_1") == 0);
        CHECK(qnnrt_ir_add_node(copy, NULL, "relu.default", &copy->outputs[0], 1, &y, 1) != NULL);
        CHECK(copy->nodes[4]->number == 4 && copy->outputs[0]->users == 2);
        CHECK(qnnrt_ir_add_input(copy, "x", QNNRT_DTYPE_F32, 0, NULL) != NULL && copy->input_count == 2);
        CHECK(qnnrt_ir_add_output(copy, y) && copy->output_count == 3 && y->users == 1 && y->is_output == 1);
    }
    free(before.text);
    free(after.text);
    qnnrt_ir_free(copy);
}

TEST(ir_copy_leaves_out_what_is_dead)
{
    qnnrt_ir *ir = graph(SMALL), *copy = NULL;
    size_t i, values = 0;
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_pass_noops(ir, &err), QNNRT_OK);
    qnnrt_ir_replace(ir, ir->nodes[1]->outputs[0], ir->nodes[0]->outputs[0]);
    qnnrt_ir_kill(ir, ir->nodes[1], "killed, and not tidied");
    for (i = 0; i < ir->value_count; ++i)
        values += ir->values[i]->origin != QNNRT_IR_NODE || qnnrt_ir_producer(ir->values[i]) != NULL;
    CHECK(values < ir->value_count);
    CHECK_EQ(qnnrt_ir_copy(ir, NULL, &copy, &err), QNNRT_OK);
    CHECK(copy->node_count + 1 == ir->node_count && copy->removed_count == 0 && copy->value_count == values);
    CHECK(same_text(ir, copy));
    for (i = 0; i < copy->node_count; ++i) CHECK(copy->nodes[i]->mapping[0] == '\0' && !copy->nodes[i]->dead);
    qnnrt_ir_free(copy);
    /* What is wrong with a graph is wrong with its copy. */
    qnnrt_ir_kill(ir, ir->nodes[2], NULL);
    CHECK_EQ(qnnrt_ir_copy(ir, NULL, &copy, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(copy, NULL, NULL, &err), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "reads \"s\", which no node computes");
    CHECK_EQ(copy->input_count, ir->input_count);
    qnnrt_ir_free(copy);
    qnnrt_ir_free(ir);
}

TEST(ir_copy_takes_operators_and_limits)
{
    static const char *const names[1] = { "my.line" };
    const char *text = GRAPH(F("x", "2"), F("y", "2"), "", NODE("y", "my.line", F("x", "2"), F("y", "2"), "'a': {}")) "}";
    const int64_t many = 100000;
    qnnrt_ir_desc desc, plain;
    qnnrt_ir *ir, *copy = NULL;
    memset(&desc, 0, sizeof(desc));
    memset(&plain, 0, sizeof(plain));
    desc.custom = names;
    desc.custom_count = 1;
    ir = graph_with(text, &desc);
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_copy(ir, NULL, &copy, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(copy, NULL, NULL, &err), QNNRT_OK);
    CHECK_EQ(copy->nodes[0]->attrs[0].kind, QNNRT_IR_OTHER);
    qnnrt_ir_free(ir);
    ir = copy;
    CHECK_EQ(qnnrt_ir_copy(ir, &plain, &copy, &err), QNNRT_OK);     /* without operators of the caller */
    CHECK_EQ(qnnrt_ir_check(copy, NULL, NULL, &err), QNNRT_E_UNSUPPORTED);
    qnnrt_ir_free(copy);
    plain.memory_bytes = 70000;
    CHECK_EQ(qnnrt_ir_copy(ir, &plain, &copy, &err), QNNRT_OK);
    CHECK(qnnrt_ir_add_constant(copy, "c", QNNRT_DTYPE_U8, 1, &many, NULL, NULL) == NULL);
    qnnrt_ir_free(copy);
    /* What was wrong in a file stays known: such a graph has no copy. */
    TEST_JUNK(err);
    plain.custom_count = 1;
    CHECK_EQ(qnnrt_ir_copy(ir, &plain, &copy, &err), QNNRT_E_ARG);
    CHECK(copy == NULL && strstr(err.text, "custom its list") != NULL);
    CHECK_EQ(qnnrt_ir_copy(NULL, NULL, &copy, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "ir is NULL");
    CHECK_EQ(qnnrt_ir_copy(ir, NULL, NULL, &err), QNNRT_E_ARG);
    qnnrt_ir_free(ir);
    ir = ir_graph_unchecked(GRAPH(F("x", "2"), F("z", "2"), "", NODE("y", "relu.default", F("x", "2"), F("y", "2"), "")) "}", NULL, &err);
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_copy(ir, NULL, &copy, &err), QNNRT_E_ARG);
    CHECK(copy == NULL && strstr(err.text, "findings") != NULL);
    qnnrt_ir_free(ir);
}

TEST(ir_copy_survives_every_failing_allocation)
{
    qnnrt_ir_desc desc;
    const int64_t large = 200000;
    qnnrt_ir *ir, *copy = NULL;
    qnnrt_result result = QNNRT_E_MEMORY;
    long failed = 0, before;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    desc.memory_bytes = 500000;
    fail_at = -1;
    ir = ir_graph_unchecked(COPIED, &desc, &err);
    CHECK(ir != NULL);
    before = live;
    for (fail_at = 0; result != QNNRT_OK; ++fail_at) {
        allocations = 0;
        TEST_JUNK(err);
        result = qnnrt_ir_copy(ir, NULL, &copy, &err);
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && err.code == result && copy == NULL && live == before));
        failed += result != QNNRT_OK;
    }
    fail_at = -1;
    CHECK(failed >= 2 && same_text(ir, copy));
    qnnrt_ir_free(copy);
    CHECK(qnnrt_ir_add_constant(ir, "large", QNNRT_DTYPE_U8, 1, &large, NULL, NULL) != NULL);
    before = live;
    desc.memory_bytes = 150000;
    CHECK_EQ(qnnrt_ir_copy(ir, &desc, &copy, &err), QNNRT_E_LIMIT);
    CHECK_EQ(live, before);
    qnnrt_ir_free(ir);
    CHECK_EQ(live, 0);
}

/* ---- graphs that are made ---- */

/* Make y = x * w + c with the calls for it. Return 0 when out of memory. */
static int make_graph(qnnrt_ir *ir)
{
    static const float two[2] = { 1, 2 };
    static const int64_t dims[1] = { 2 };
    qnnrt_ir_value *in[2], *out;
    qnnrt_ir_node *node;
    in[0] = qnnrt_ir_add_input(ir, "x", QNNRT_DTYPE_F32, 1, dims);
    in[1] = qnnrt_ir_add_weight(ir, "p_w", "w", QNNRT_DTYPE_F32, 1, dims);
    out = qnnrt_ir_add_value(ir, "a", QNNRT_DTYPE_F32, 1, dims);
    if (in[0] == NULL || in[1] == NULL || out == NULL || qnnrt_ir_add_node(ir, NULL, "mul.Tensor", in, 2, &out, 1) == NULL) return 0;
    in[0] = out;
    in[1] = qnnrt_ir_add_constant(ir, "c", QNNRT_DTYPE_F32, 1, dims, two, NULL);
    out = qnnrt_ir_add_value(ir, "y", QNNRT_DTYPE_F32, 1, dims);
    if (in[1] == NULL || out == NULL) return 0;
    node = qnnrt_ir_add_node(ir, NULL, "add.Tensor", in, 2, &out, 1);
    return node != NULL && qnnrt_ir_set_float(ir, node, "alpha", 0.5) && qnnrt_ir_add_output(ir, out);
}

TEST(ir_create_makes_what_is_read)
{
    qnnrt_ir *ir = NULL, *read, *same = graph(GRAPH(F("x", "2"), F("y", "2"), F("w", "2"),
        NODE("a", "mul.Tensor", F("x", "2") ", " F("p_w", "2"), F("a", "2"), "") ", "
        NODE("y", "add.Tensor", F("a", "2") ", " F("c", "2"), F("y", "2"), "'alpha': 0.5"))
        ", 'model_name': 'made', 'weight_name_mapping': {'p_w': 'w'}, 'constants': {'c': {'data': [1, 2], 'dtype': 'float32'}}}");
    size_t i;
    TEST_JUNK(err);
    CHECK_EQ(qnnrt_ir_create("made", NULL, &ir, &err), QNNRT_OK);
    CHECK(err.code == QNNRT_OK && ir->input_count == 0 && ir->output_count == 0 && ir->node_count == 0);
    CHECK(make_graph(ir));
    CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
    CHECK(same != NULL && same_graph(ir, same, 0) && same_text(ir, same) && round_trip(ir, 0, 0));
    CHECK_EQ(qnnrt_ir_tidy(ir, &err), QNNRT_OK);
    CHECK(same_graph(ir, same, 0));
    qnnrt_ir_free(same);
    /* Lists of any length; names that are taken get numbers. */
    for (i = 0; i < 100; ++i) {
        const int64_t dims[1] = { (int64_t)i };
        CHECK(qnnrt_ir_add_input(ir, "x", QNNRT_DTYPE_F32, 1, dims) != NULL);
        CHECK(qnnrt_ir_add_output(ir, ir->inputs[i + 1]));
    }
    CHECK(ir->input_count == 101 && ir->output_count == 101 && ir->inputs[100]->dims[0] == 99);
    CHECK(ir->outputs[50] == ir->inputs[50] && ir->inputs[50]->users == 1 && ir->outputs[0]->node == ir->nodes[1]);
    CHECK_STR(ir->inputs[100]->name, "x_100");
    CHECK(qnnrt_ir_add_output(ir, ir->inputs[50]) && ir->inputs[50]->is_output == 2);
    CHECK(qnnrt_ir_add_weight(ir, "p_w", "w", QNNRT_DTYPE_F32, 9, NULL) == NULL);
    read = again(ir);
    CHECK(read != NULL && same_graph(ir, read, 0));
    qnnrt_ir_free(read);
    qnnrt_ir_free(ir);
    CHECK_EQ(qnnrt_ir_create(NULL, NULL, &ir, &err), QNNRT_E_ARG);
    CHECK(ir == NULL && strstr(err.text, "name is NULL") != NULL);
    CHECK_EQ(qnnrt_ir_create("", NULL, NULL, &err), QNNRT_E_ARG);
}

TEST(ir_create_survives_every_failing_allocation)
{
    qnnrt_ir_desc desc;
    qnnrt_ir *ir;
    long failed = 0;
    int done = 0;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = counted_alloc;
    CHECK_EQ(qnnrt_ir_create("", &desc, NULL, &err), QNNRT_E_ARG);
    desc.hooks.free = counted_free;
    for (fail_at = 0; !done; ++fail_at) {
        qnnrt_result result;
        allocations = 0;
        TEST_JUNK(err);
        result = qnnrt_ir_create("made", &desc, &ir, &err);
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && err.code == result && ir == NULL));
        done = result == QNNRT_OK && make_graph(ir);
        failed += !done;
        qnnrt_ir_free(ir);
        CHECK_EQ(live, 0);
    }
    fail_at = -1;
    CHECK(failed >= 1);
    desc.memory_bytes = 200;
    CHECK_EQ(qnnrt_ir_create("made", &desc, &ir, &err), QNNRT_E_MEMORY);
}

TEST_MAIN("ir_parts")
{
    RUN(ir_parts_compute_what_the_whole_computes);
    RUN(ir_extract_keeps_names_arguments_and_numbers);
    RUN(ir_extract_takes_inputs_in_the_given_order);
    RUN(ir_extract_keeps_what_folding_has_left);
    RUN(ir_extract_gives_every_kind_of_output);
    RUN(ir_extract_refuses_parts_of_another_graph);
    RUN(ir_extract_keeps_outputs_that_nothing_reads);
    RUN(ir_extract_keeps_absent_inputs);
    RUN(ir_extract_refuses_nodes_that_overwrite);
    RUN(ir_extract_survives_every_failing_allocation);
    RUN(ir_write_gives_back_the_data_files);
    RUN(ir_write_gives_back_genuine_files);
    RUN(ir_write_and_extract_random_programs);
    RUN(ir_write_keeps_every_bit_of_constants);
    RUN(ir_write_keeps_every_kind_of_argument);
    RUN(ir_write_escapes_hostile_names);
    RUN(ir_write_keeps_absent_inputs);
    RUN(ir_write_makes_names_unique);
    RUN(ir_write_shares_constants);
    RUN(ir_hex_is_checked);
    RUN(ir_write_survives_every_failing_allocation);
    RUN(ir_copy_needs_nothing_of_the_graph);
    RUN(ir_copy_leaves_out_what_is_dead);
    RUN(ir_copy_takes_operators_and_limits);
    RUN(ir_copy_survives_every_failing_allocation);
    RUN(ir_create_makes_what_is_read);
    RUN(ir_create_survives_every_failing_allocation);
}
