/* test_ir_parts.c - qnnrt_ir.h: graphs of some nodes of another one

   A graph that is cut into parts, each computed alone, gives the same bytes as the whole one. Graphs in this file are
   written with ' instead of ". */
#include "qnnrt_ir.h"
#include "counted.h"
#include "test.h"
#include <math.h>

static qnnrt_error err;

static qnnrt_ir *graph_with(const char *text, const qnnrt_ir_desc *desc)
{
    const size_t bytes = strlen(text);
    char *json = (char *)malloc(bytes + 1);
    qnnrt_ir *ir = NULL;
    size_t i;
    if (json == NULL) abort();
    for (i = 0; i <= bytes; ++i) json[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    memset(&err, 0xFF, sizeof(err));
    if (qnnrt_ir_read(json, bytes, desc, &ir, &err) == QNNRT_OK && qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK) {
        qnnrt_ir_free(ir);
        ir = NULL;
    }
    if (ir == NULL) printf("    %s\n", err.text);
    free(json);
    return ir;
}

static qnnrt_ir *graph(const char *text)
{
    return graph_with(text, NULL);
}

#define V(name, dtype, shape) "{'name': '" name "', 'shape': [" shape "], 'dtype': '" dtype "'}"
#define F(name, shape) V(name, "float32", shape)
#define NODE(name, op, in, out, attrs) \
    "{'name': '" name "', 'op_type': 'aten." op "', 'inputs': [" in "], 'outputs': [" out "], 'attrs': {" attrs "}}"
#define GRAPH(inputs, outputs, weights, nodes) \
    "{'graph_inputs': [" inputs "], 'graph_outputs': [" outputs "], 'weights': [" weights "], 'nodes': [" nodes "]"

/* ---- numbers ---- */

static uint32_t seed = 16;

static uint32_t draw(uint32_t most)
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
        const float f = (float)((double)draw(1u << 16) / 32768.0 - 1);
        const double d = (double)f;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        bits >>= 16;
        switch (v->dtype) {
        case QNNRT_DTYPE_F32: memcpy(data + i * 4, &f, 4); break;
        case QNNRT_DTYPE_F64: memcpy(data + i * 8, &d, 8); break;
        case QNNRT_DTYPE_BF16: memcpy(data + i * 2, &bits, 2); break;
        case QNNRT_DTYPE_F16: data[i * 2 + 1] = (unsigned char)(0x30 | (draw(2) << 7) | draw(12)); break;
        default: data[i * size] = (unsigned char)draw(v->dtype == QNNRT_DTYPE_BOOL8 ? 2 : 4); break;
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
    memset(&err, 0xFF, sizeof(err));
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
        if (left == 0) { left = 1 + draw(longest); ++which; }
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
            const size_t other = n + draw((uint32_t)(k - n));
            const qnnrt_ir_node *was = nodes[n];
            nodes[n] = nodes[other];
            nodes[other] = was;
        }
        memset(&err, 0xFF, sizeof(err));
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
    size_t i, bytes, parts = 0;
    int again;
    for (i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        char path[200];
        void *text;
        qnnrt_ir *ir = NULL;
        snprintf(path, sizeof path, "tests/data/ir/%s.json", files[i]);
        text = test_read_file(path, &bytes);
        CHECK(text != NULL);
        CHECK_EQ(qnnrt_ir_read((const char *)text, bytes, NULL, &ir, &err), QNNRT_OK);
        free(text);
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
    qnnrt_ir_value *value;
    qnnrt_ir_node *added;
    CHECK(ir != NULL);
    nodes[0] = ir->nodes[2];                                    /* s, h, r */
    nodes[1] = ir->nodes[0];
    nodes[2] = ir->nodes[1];
    outputs[0] = named(ir, "s");
    memset(&err, 0xFF, sizeof(err));
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
    value = qnnrt_ir_add_value(part, "s", QNNRT_DTYPE_F32, 2, part->outputs[0]->dims);
    CHECK(value != NULL && strcmp(value->name, "s_1") == 0);
    added = qnnrt_ir_add_node(part, NULL, "neg.default", part->outputs, 1, &value, 1);
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
        memset(&err, 0xFF, sizeof(err));
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

TEST_MAIN("ir_parts")
{
    RUN(ir_parts_compute_what_the_whole_computes);
    RUN(ir_extract_keeps_names_arguments_and_numbers);
    RUN(ir_extract_takes_inputs_in_the_given_order);
    RUN(ir_extract_gives_every_kind_of_output);
    RUN(ir_extract_keeps_outputs_that_nothing_reads);
    RUN(ir_extract_keeps_absent_inputs);
    RUN(ir_extract_refuses_nodes_that_overwrite);
    RUN(ir_extract_survives_every_failing_allocation);
}
