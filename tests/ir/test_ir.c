/* test_ir.c - qnnrt_ir.h: reading, checking, editing

   Graphs in this file are written with ' instead of ". Shapes of all operators are compared with
   what PyTorch computes, as tests/ir/record_ir.py recorded it. With QNNRT_SAMPLES, files of others
   are read, too. */
#include "qnnrt_ir_passes.h"
#include "counted.h"
#include "test.h"
#include <math.h>
#include "ir_graph.h"

static qnnrt_error err;
static const qnnrt_ir_finding *list;
static size_t count;

/* Read a graph that is written with ' instead of ". Return NULL after an error. */
static qnnrt_ir *graph_with(const char *text, const qnnrt_ir_desc *desc)
{
    return ir_graph_unchecked(text, desc, &err);
}

static qnnrt_ir *graph(const char *text)
{
    return graph_with(text, NULL);
}

/* Check a graph, set list and count. */
static qnnrt_result check(qnnrt_ir *ir)
{
    TEST_JUNK(err);
    return qnnrt_ir_check(ir, &list, &count, &err);
}

/* True if a finding has both texts. */
static int found(const char *a, const char *b)
{
    size_t i;
    for (i = 0; i < count; ++i)
        if (strstr(list[i].text, a) != NULL && strstr(list[i].text, b) != NULL) return 1;
    for (i = 0; i < count; ++i) printf("    finding: %s\n", list[i].text);
    return 0;
}

/* ---- pieces of graphs ---- */

#define X F("x", "2, 3")
#define Y F("y", "2, 3")
#define RELU "{'name': 'y', 'op_type': 'aten.relu.default', 'inputs': [" X "], 'outputs': [" Y "]}"
/* A graph of input x and output y. */
#define XY_GRAPH(weights, nodes) \
    "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [" weights "], 'nodes': [" nodes "]}"

TEST(ir_reads_a_graph)
{
    qnnrt_ir *ir = graph("{'model_name': 'm', 'pytorch_version': '2.15', 'other': [1, {}], "
                         "'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [],\n 'nodes': [\n" RELU "]}");
    const qnnrt_ir_node *node;
    CHECK(ir != NULL);
    CHECK_EQ(err.code, QNNRT_OK);
    CHECK_STR(ir->name, "m");
    CHECK_STR(ir->version, "2.15");
    CHECK_EQ(ir->node_count, 1);
    CHECK_EQ(ir->input_count, 1);
    CHECK_EQ(ir->output_count, 1);
    CHECK_EQ(ir->value_count, 2);
    node = ir->nodes[0];
    CHECK(strcmp(node->op, "relu.default") == 0 && strcmp(node->name, "y") == 0);
    CHECK(node->info == qnnrt_ir_op_find("relu.default") && node->info != NULL);
    CHECK(node->inputs[0] == ir->inputs[0] && node->outputs[0] == ir->outputs[0]);
    CHECK_EQ(node->line, 3);
    CHECK(node->attr_count == 0 && strcmp(node->source, "") == 0 && strcmp(node->mapping, "") == 0);
    CHECK_EQ(ir->inputs[0]->origin, QNNRT_IR_INPUT);
    CHECK_EQ(ir->inputs[0]->users, 1);
    CHECK_EQ(ir->inputs[0]->dtype, QNNRT_DTYPE_F32);
    CHECK_EQ(ir->inputs[0]->rank, 2);
    CHECK_EQ(ir->inputs[0]->dims[1], 3);
    CHECK_EQ(ir->inputs[0]->count, 6);
    CHECK(ir->outputs[0]->node == node && ir->outputs[0]->is_output == 1 && ir->outputs[0]->users == 1);
    CHECK_EQ(check(ir), QNNRT_OK);
    CHECK_EQ(count, 0);
    CHECK_EQ(err.code, QNNRT_OK);
    qnnrt_ir_free(ir);
}

TEST(ir_reads_both_habits_of_weight_names)
{
    static const char *const texts[] = {
        "{'graph_inputs': [" X "], 'graph_outputs': [" F("y", "2, 4") "], "
        "'weights': [" F("fc.weight", "4, 3") "], 'weight_name_mapping': {'p_fc_weight': 'fc.weight'}, 'nodes': "
        "[{'name': 'y', 'op_type': 'aten.linear.default', 'inputs': [" X ", " F("p_fc_weight", "4, 3") "], "
        "'outputs': [" F("y", "2, 4") "], 'attrs': {}}]}",
        "{'nodes': [{'name': 'y', 'op_type': 'aten.linear.default', 'inputs': [" X ", " F("p_fc_weight", "4, 3")
        "], 'outputs': [" F("y", "2, 4") "], 'attrs': null}], "
        "'weights': [" F("p_fc_weight", "4, 3") "], 'weight_name_mapping': {'p_fc_weight': 'fc.weight'}, "
        "'graph_inputs': [" X "], 'graph_outputs': [" F("y", "2, 4") "]}",
    };
    size_t i;
    for (i = 0; i < 2; ++i) {
        qnnrt_ir *ir = graph(texts[i]);
        const qnnrt_ir_value *w;
        CHECK(ir != NULL);
        CHECK_EQ(check(ir), QNNRT_OK);
        CHECK_EQ(ir->value_count, 3);
        w = ir->nodes[0]->inputs[1];
        CHECK_EQ(w->origin, QNNRT_IR_WEIGHT);
        CHECK(strcmp(w->name, "p_fc_weight") == 0 && strcmp(w->key, "fc.weight") == 0);
        CHECK(w->data == NULL && w->users == 1);
        qnnrt_ir_free(ir);
    }
}

TEST(ir_reads_constants_of_every_dtype)
{
    /* name, dtype, data, bytes of an element, expected elements */
    static const struct { const char *dtype, *data; size_t bytes, elements; double sum; } c[] = {
        { "float32", "[[1.5, 2], [3, -4.25]]", 4, 4, 2.25 },    { "float64", "[0.1]", 8, 1, 0.1 },
        { "float16", "[1, 65504, 6.103515625e-05]", 2, 3, 0 }, { "bfloat16", "[1, 2]", 2, 2, 0 },
        { "int64", "[9223372036854775807, -1]", 8, 2, 0 },     { "int32", "[-5, 5]", 4, 2, 0 },
        { "int16", "[-5]", 2, 1, 0 },                          { "int8", "[-128]", 1, 1, 0 },
        { "uint8", "[255]", 1, 1, 0 },                         { "bool", "[true, false, true]", 1, 3, 0 },
        { "float32", "2.5", 4, 1, 2.5 },                       { "bool", "true", 1, 1, 0 },
        { "float32", "[]", 4, 0, 0 },                          { "int64", "[[], []]", 8, 0, 0 },
    };
    size_t i, k;
    for (i = 0; i < sizeof(c) / sizeof(c[0]); ++i) {
        char text[1024];
        const qnnrt_ir_value *v;
        qnnrt_ir *ir;
        double sum = 0;
        snprintf(text, sizeof text, "{'graph_inputs': [], 'graph_outputs': [{'name': 'c_m', 'shape': %s, 'dtype': "
                 "'%s'}], 'weights': [], 'nodes': [], 'weight_name_mapping': {'c_m': 'm'}, 'constants': {'m': "
                 "{'data': %s, 'dtype': '%s'}}}", i == 0 ? "[2, 2]" : c[i].data[0] != '[' ? "[]" : c[i].data[1] ==
                 '[' ? "[2, 0]" : c[i].elements == 0 ? "[0]" : c[i].elements == 1 ? "[1]" : c[i].elements == 2 ?
                 "[2]" : "[3]", c[i].dtype, c[i].data, c[i].dtype);
        ir = graph(text);
        CHECK(ir != NULL);
        CHECK_EQ(check(ir), QNNRT_OK);
        v = ir->outputs[0];
        CHECK_EQ(v->origin, QNNRT_IR_CONSTANT);
        CHECK(v->data != NULL && (uintptr_t)v->data % 16 == 0);
        CHECK(strcmp(v->key, "m") == 0);
        CHECK_EQ(v->count, c[i].elements);
        CHECK_EQ(qnnrt_ir_dtype_bytes(v->dtype), c[i].bytes);
        for (k = 0; k < v->count; ++k) {
            float f;
            double d;
            if (v->dtype == QNNRT_DTYPE_F32) { memcpy(&f, (const char *)v->data + 4 * k, 4); sum += (double)f; }
            if (v->dtype == QNNRT_DTYPE_F64) { memcpy(&d, (const char *)v->data + 8 * k, 8); sum += d; }
        }
        CHECK(sum >= c[i].sum && sum <= c[i].sum);
        if (i == 2) CHECK(memcmp(v->data, "\x00\x3C\xFF\x7B\x00\x04", 6) == 0);
        if (i == 3) CHECK(memcmp(v->data, "\x80\x3F\x00\x40", 4) == 0);
        if (i == 4) CHECK(((const int64_t *)v->data)[0] == INT64_MAX && ((const int64_t *)v->data)[1] == -1);
        if (i == 5) CHECK(((const int32_t *)v->data)[0] == -5);
        if (i == 6) CHECK(((const int16_t *)v->data)[0] == -5);
        if (i == 8) CHECK(((const uint8_t *)v->data)[0] == 255);
        if (i == 9) CHECK(memcmp(v->data, "\1\0\1", 3) == 0);
        qnnrt_ir_free(ir);
    }
}

TEST(ir_reads_the_data_files)
{
    static const struct { const char *name; size_t nodes; } files[] = {
        { "tiny_cnn", 12 }, { "tiny_prefill", 168 }, { "tiny_decode", 162 }, { "torch_cnn", 14 }, { "torch_llama", 39 },
    };
    size_t i, k;
    for (i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        qnnrt_ir *ir = ir_file(files[i].name, &err);
        CHECK(ir != NULL);
        CHECK_EQ(check(ir), QNNRT_OK);
        CHECK_EQ(ir->node_count, files[i].nodes);
        CHECK_EQ(qnnrt_ir_tidy(ir, &err), QNNRT_OK);
        CHECK_EQ(check(ir), QNNRT_OK);
        /* What an arena gives is aligned to 16 bytes. */
        for (k = 0; k < ir->node_count; ++k) CHECK_EQ((uintptr_t)ir->nodes[k] % 16, 0);
        for (k = 0; k < ir->value_count; ++k) CHECK_EQ((uintptr_t)ir->values[k] % 16, 0);
        qnnrt_ir_free(ir);
    }
}

TEST(ir_reads_a_genuine_file_without_a_finding)
{
    static const struct { const char *name; size_t nodes, values, inputs, outputs; } files[] = {
        { "qwen2_prefill_ir", 2144, 2404, 4, 57 }, { "SimpleMLP", 3, 8, 1, 1 }, { "MaskedLinear", 2, 6, 1, 1 },
    };
    size_t i, bytes;
    if (test_getenv("QNNRT_SAMPLES") == NULL) SKIP("QNNRT_SAMPLES is not set");
    for (i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        char path[1200];
        const qnnrt_ir_desc desc = ir_plain_rope();
        void *text;
        qnnrt_ir *ir = NULL;
        snprintf(path, sizeof path, "%.1000s/ir/%s.json", test_getenv("QNNRT_SAMPLES"), files[i].name);
        text = test_read_file(path, &bytes);
        CHECK(text != NULL);
        CHECK_EQ(qnnrt_ir_read((const char *)text, bytes, &desc, &ir, &err), QNNRT_OK);
        free(text);
        CHECK_EQ(check(ir), QNNRT_OK);
        CHECK_EQ(count, 0);
        CHECK_EQ(ir->node_count, files[i].nodes);
        CHECK_EQ(ir->value_count, files[i].values);
        CHECK_EQ(ir->input_count, files[i].inputs);
        CHECK_EQ(ir->output_count, files[i].outputs);
        qnnrt_ir_free(ir);
    }
}

TEST(ir_refuses_what_is_no_graph)
{
    static const struct { const char *text; qnnrt_result code; const char *a, *b; } c[] = {
        { "", QNNRT_E_FORMAT, "not JSON", "line 1, byte 0" },
        { "{'nodes': [\n\n  oops", QNNRT_E_FORMAT, "not JSON", "line 3, byte 15" },
        { "[1, 2]", QNNRT_E_FORMAT, "not an exported graph", "not an object" },
        { "{}", QNNRT_E_FORMAT, "not an exported graph", "\"nodes\" is missing" },
        { "{'nodes': []}", QNNRT_E_FORMAT, "not an exported graph", "\"graph_inputs\" is missing" },
        { "{'nodes': {}}", QNNRT_E_FORMAT, "\"nodes\" is not a list", "line 1" },
        { "{'nodes': [1]}", QNNRT_E_FORMAT, "\"nodes[]\" is not an object", "line 1" },
        { "{'nodes': [], 'nodes': []}", QNNRT_E_FORMAT, "\"nodes\" occurs twice", "byte 15" },
        { "{'weight_name_mapping': 1}", QNNRT_E_FORMAT, "\"weight_name_mapping\" is not an object", "" },
        { "{'weight_name_mapping': {'a': 1}}", QNNRT_E_FORMAT, "\"a\" is not a string", "" },
        { "{'nodes': [{'name': 'a', 'attrs': 1}]}", QNNRT_E_FORMAT, "\"attrs\" is not an object", "" },
        { "{'nodes': [{'inputs': 1}]}", QNNRT_E_FORMAT, "\"inputs\" is not a list", "" },
        { "{'constants': {'a': []}}", QNNRT_E_FORMAT, "\"constants{}\" is not an object", "" },
        { XY_GRAPH("", RELU) " x", QNNRT_E_FORMAT, "not JSON", "text after the document" },
    };
    qnnrt_ir_desc desc;
    size_t i;
    for (i = 0; i < sizeof(c) / sizeof(c[0]); ++i) {
        CHECK(graph(c[i].text) == NULL);
        CHECK_EQ(err.code, c[i].code);
        CHECK_STR(err.text, c[i].a);
        CHECK_STR(err.text, c[i].b);
    }
    CHECK(graph("{'nodes': []}") == NULL && strlen(err.hint) > 0);
    memset(&desc, 0, sizeof(desc));
    desc.text_bytes = 100;
    CHECK(graph_with(XY_GRAPH("", RELU), &desc) == NULL);
    CHECK_EQ(err.code, QNNRT_E_LIMIT);
    CHECK_STR(err.text, "text_bytes");
    memset(&desc, 0, sizeof(desc));
    desc.nodes = 1;
    CHECK(graph_with(XY_GRAPH("", RELU ", " RELU), &desc) == NULL);
    CHECK_EQ(err.code, QNNRT_E_LIMIT);
    CHECK_STR(err.text, "more than 1 nodes");
    memset(&desc, 0, sizeof(desc));
    desc.memory_bytes = 70000;
    CHECK(graph_with("{'constants': {'c': {'dtype': 'float64', 'data': [0, 1, 2, 3, 4, 5, 6, 7, 8]}}, 'x': ["
                     "1, 1, 1, 1]}", &desc) == NULL);
    CHECK_EQ(err.code, QNNRT_E_FORMAT);
    desc.memory_bytes = 100;
    CHECK(graph_with(XY_GRAPH("", RELU), &desc) == NULL);
    CHECK_EQ(err.code, QNNRT_E_MEMORY);
    CHECK_EQ(qnnrt_ir_read(NULL, 0, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_check(NULL, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_tidy(NULL, &err), QNNRT_E_ARG);
    qnnrt_ir_free(NULL);
}

/* A node y = op(x) with other tensors. */
#define XY_NODE(op, in, out) "{'name': 'y', 'op_type': '" op "', 'inputs': [" in "], 'outputs': [" out "]}"
#define NAMED(name, op, in, out) \
    "{'name': '" name "', 'op_type': '" op "', 'inputs': [" in "], 'outputs': [" out "]}"
#define OF(name, producer, index) "{'name': '" name "', 'shape': [2, 3], 'dtype': 'float32', " \
    "'producer_node': '" producer "', 'producer_output_idx': " index "}"
#define SHAPED(shape) "{'name': 'x', 'shape': " shape ", 'dtype': 'float32'}"
#define TYPED(dtype) "{'name': 'x', 'shape': [2, 3], 'dtype': '" dtype "'}"
#define INPUT(x) "{'graph_inputs': [" x "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "]}"

TEST(ir_finds_every_fault)
{
    static const struct { const char *text; qnnrt_result code; const char *a, *b; } c[] = {
        /* names */
        { XY_GRAPH("", RELU ", " RELU), QNNRT_E_FORMAT, "node \"y\"", "has a node of the same name" },
        { XY_GRAPH("", RELU ", " NAMED("z", "aten.relu.default", X, Y)), QNNRT_E_FORMAT, "node \"z\"",
          "\"y\" has the name of another value" },
        { XY_GRAPH("", NAMED("z", "aten.relu.default", X, X) ", " RELU), QNNRT_E_FORMAT, "node \"z\"",
          "\"x\" has the name of another value" },
        { "{'graph_inputs': [" X ", " X "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "]}",
          QNNRT_E_FORMAT, "graph input \"x\"", "twice" },
        { XY_GRAPH(F("w", "2") ", " F("w", "3"), RELU), QNNRT_E_FORMAT, "weight \"w\"", "twice" },
        { XY_GRAPH("", "{'op_type': 'aten.relu.default', 'inputs': [" X "], 'outputs': [" Y "]}"), QNNRT_E_FORMAT,
          "no name", "" },
        { XY_GRAPH("", "{'name': 'y', 'inputs': [" X "], 'outputs': [" Y "]}"), QNNRT_E_FORMAT, "node \"y\"",
          "op_type is missing" },
        { XY_GRAPH("", XY_NODE("aten.relu.default", F("z", "2, 3"), Y)), QNNRT_E_FORMAT, "node \"y\"",
          "reads \"z\", which is neither" },
        { XY_GRAPH("", XY_NODE("aten.relu.default", OF("x", "nobody", "0"), Y)), QNNRT_E_FORMAT, "node \"y\"",
          "node \"nobody\", which does not exist" },
        { XY_GRAPH("", NAMED("a", "aten.relu.default", X, F("a", "2, 3")) ", "
                XY_NODE("aten.relu.default", OF("a", "a", "1"), Y)), QNNRT_E_FORMAT, "node \"y\"",
          "reads output 1 of \"a\", which has 1" },
        { XY_GRAPH("", NAMED("a", "aten.relu.default", X, F("a", "2, 3")) ", "
                XY_NODE("aten.relu.default", OF("b", "a", "0"), Y)), QNNRT_E_FORMAT, "reads \"b\" as output 0",
          "which is \"a\"" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" F("q", "1") "], 'weights': [], 'nodes': [" RELU "]}",
          QNNRT_E_FORMAT, "graph output \"q\" is neither", "" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [], 'weights': [], 'nodes': [" RELU "]}", QNNRT_E_FORMAT,
          "no outputs", "" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "], "
          "'weight_name_mapping': {'p': 'a', 'p': 'b'}}", QNNRT_E_FORMAT, "\"p\" has two names", "\"b\"" },
        /* order */
        { XY_GRAPH("", XY_NODE("aten.relu.default", OF("z", "z", "0"), Y) ", "
                NAMED("z", "aten.relu.default", X, F("z", "2, 3"))), QNNRT_E_FORMAT,
          "node \"y\"", "node \"z\" computes later" },
        { XY_GRAPH("", XY_NODE("aten.relu.default", OF("y", "y", "0"), Y)), QNNRT_E_FORMAT, "is on a cycle", "node \"y\"" },
        /* tensors */
        { XY_GRAPH("", XY_NODE("aten.relu.default", "1", Y)), QNNRT_E_FORMAT, "not an object", "node \"y\"" },
        { INPUT("{'shape': [2, 3], 'dtype': 'float32'}, " X), QNNRT_E_FORMAT, "graph input \"?\"", "its name is missing" },
        { INPUT("{'name': 'x', 'dtype': 'float32'}"), QNNRT_E_FORMAT, "graph input \"x\"", "its shape is missing" },
        { INPUT("{'name': 'x', 'shape': [2, 3]}"), QNNRT_E_FORMAT, "graph input \"x\"", "its dtype is missing" },
        { INPUT("{'name': 'x', 'shape': [2, 3], 'dtype': 5}"), QNNRT_E_FORMAT, "\"x\"", "dtype is not a string" },
        { INPUT(TYPED("complex64")), QNNRT_E_UNSUPPORTED, "graph input \"x\"", "\"complex64\"" },
        { INPUT(TYPED("float8_e4m3fn")), QNNRT_E_UNSUPPORTED, "graph input \"x\"", "\"float8_e4m3fn\"" },
        { INPUT(SHAPED("['s0', 3]")), QNNRT_E_UNSUPPORTED, "graph input \"x\"", "static shapes" },
        { INPUT(SHAPED("[-1, 3]")), QNNRT_E_UNSUPPORTED, "graph input \"x\"", "negative" },
        { INPUT(SHAPED("[2.5, 3]")), QNNRT_E_UNSUPPORTED, "graph input \"x\"", "not a whole number" },
        { INPUT(SHAPED("[[2], 3]")), QNNRT_E_UNSUPPORTED, "graph input \"x\"", "static shapes" },
        { INPUT(SHAPED("null")), QNNRT_E_FORMAT, "graph input \"x\"", "shape is not a list" },
        { INPUT(SHAPED("[1,1,1,1,1,1,1,1,1]")), QNNRT_E_LIMIT, "graph input \"x\"", "8 dimensions" },
        { INPUT(SHAPED("[9223372036854775807]")), QNNRT_E_LIMIT, "graph input \"x\"", "2^48" },
        { INPUT(SHAPED("[18446744073709551615]")), QNNRT_E_UNSUPPORTED, "graph input \"x\"", "" },
        { INPUT(SHAPED("[281474976710656, 281474976710656]")), QNNRT_E_LIMIT, "graph input \"x\"", "2^48 elements" },
        { XY_GRAPH("", XY_NODE("aten.relu.default", SHAPED("[3, 2]"), Y)), QNNRT_E_MISMATCH, "node \"y\"",
          "stated as [3, 2] float32, but it is [2, 3] float32" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" F("y", "6") "], 'weights': [], 'nodes': [" RELU "]}",
          QNNRT_E_MISMATCH, "graph output \"y\" is stated as [6]", "it is [2, 3]" },
        /* constants */
        { "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "], "
          "'constants': {'c': {'data': [[1], [2, 3]], 'dtype': 'float32'}}}", QNNRT_E_FORMAT, "constant \"c\"",
          "not an array" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "], "
          "'constants': {'c': {'data': [1, [2]], 'dtype': 'float32'}}}", QNNRT_E_FORMAT, "constant \"c\"", "not an array" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "], "
          "'constants': {'c': {'data': ['a'], 'dtype': 'float32'}}}", QNNRT_E_FORMAT, "constant \"c\"", "not an array" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "], "
          "'constants': {'c': {'data': [0.5], 'dtype': 'int64'}}}", QNNRT_E_MISMATCH, "constant \"c\"", "fractions" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "], "
          "'constants': {'c': {'data': [300], 'dtype': 'uint8'}}}", QNNRT_E_MISMATCH, "constant \"c\"", "does not fit" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "], "
          "'constants': {'c': {'dtype': 'uint8'}}}", QNNRT_E_FORMAT, "constant \"c\"", "data is missing" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "], "
          "'constants': {'c': {'data': [1]}}}", QNNRT_E_FORMAT, "constant \"c\"", "dtype is missing" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [" F("c", "2") "], 'nodes': [" RELU "], "
          "'constants': {'c': {'data': [1], 'dtype': 'float32'}}}", QNNRT_E_MISMATCH, "constant \"c\"", "[2]" },
        /* operators */
        { XY_GRAPH("", XY_NODE("aten.nonsense.default", X, Y)), QNNRT_E_UNSUPPORTED, "node \"y\" (nonsense.default)",
          "unknown" },
        { XY_GRAPH("", XY_NODE("aten.relu.default", X ", " X, Y)), QNNRT_E_ARG, "node \"y\" (relu.default)", "reads 2 tensors, expected 1" },
        { XY_GRAPH("", XY_NODE("aten.relu.default", X, F("y", "3, 2"))), QNNRT_E_MISMATCH,
          "output \"y\" is [3, 2] float32, expected [2, 3] float32", "inputs [2, 3] float32" },
        { XY_GRAPH("", XY_NODE("aten.relu.default", X, "{'name': 'y', 'shape': [2, 3], 'dtype': 'int64'}")), QNNRT_E_MISMATCH,
          "output \"y\" is [2, 3] int64, expected [2, 3] float32", "" },
        { XY_GRAPH("", XY_NODE("aten.relu.default", X, Y ", " F("y2", "2, 3"))), QNNRT_E_MISMATCH, "2 outputs", "expected 1" },
        { XY_GRAPH("", XY_NODE("aten.add.Tensor", X, Y)), QNNRT_E_ARG, "node \"y\"", "second operand is missing" },
        { XY_GRAPH("", XY_NODE("aten.transpose.int", X, Y)), QNNRT_E_ARG, "node \"y\"", "dim0 is missing" },
        { XY_GRAPH("", "{'name': 'y', 'op_type': 'aten.transpose.int', 'inputs': [" X "], 'outputs': [" Y "], 'attrs': "
                "{'dim0': 'a', 'dim1': 0}}"), QNNRT_E_ARG, "node \"y\"", "dim0 is not of type int" },
        { XY_GRAPH("", "{'name': 'y', 'op_type': 'aten.transpose.int', 'inputs': [" X "], 'outputs': [" Y "], 'attrs': "
                "{'dim0': 5, 'dim1': 0}}"), QNNRT_E_ARG, "dim0 is 5", "expected -2 to 1" },
        { XY_GRAPH("", "{'name': 'y', 'op_type': 'aten.relu.default', 'inputs': [" X "], 'outputs': [" Y "], 'attrs': "
                "{'slope': 1, 'device': 'meta', 'layout': null}}"), QNNRT_E_UNSUPPORTED, "\"slope\"", "this operator has no argument" },
        { XY_GRAPH("", "{'name': 'y', 'op_type': 'aten.full.default', 'inputs': [], 'outputs': [" Y "], 'attrs': {'size': "
                "[1000000000, 1000000000], 'fill_value': 1}}"), QNNRT_E_ARG, "size is negative or too large", "" },
        { XY_GRAPH("", "{'name': 'y', 'op_type': 'aten.repeat.default', 'inputs': [" X "], 'outputs': [" Y "], 'attrs': "
                "{'repeats': [9223372036854775807, 9223372036854775807]}}"), QNNRT_E_LIMIT, "too many elements", "" },
        { XY_GRAPH("", "{'name': 'y', 'op_type': 'aten.to.dtype', 'inputs': [" X "], 'outputs': [" Y "], 'attrs': "
                "{'dtype': 'torch.complex128'}}"), QNNRT_E_UNSUPPORTED, "torch.complex128", "" },
    };
    size_t i;
    for (i = 0; i < sizeof(c) / sizeof(c[0]); ++i) {
        qnnrt_ir *ir = graph(c[i].text);
        if (ir == NULL) printf("    %s\n", err.text);
        CHECK(ir != NULL);
        CHECK_EQ(check(ir), c[i].code);
        CHECK(found(c[i].a, c[i].b));
        CHECK(count > 0 && list[0].code == c[i].code && err.code == c[i].code);
        CHECK_STR(err.text, list[0].text);
        qnnrt_ir_free(ir);
    }
}

TEST(ir_finds_all_faults_of_a_graph_at_once)
{
    qnnrt_ir_desc desc;
    qnnrt_ir *ir;
    const char *text =
        "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [],\n"
        "'nodes': [\n" NAMED("a", "aten.foo.default", X, F("a", "2, 3")) ",\n"
        NAMED("b", "aten.bar.default", X, F("b", "2, 3")) ",\n" NAMED("c", "aten.foo.default", X, F("c", "2, 3"))
        ",\n" NAMED("d", "aten.relu.default", F("b", "2, 3"), F("d", "1")) ",\n" RELU "]}";
    ir = graph(text);
    CHECK(ir != NULL);
    CHECK_EQ(check(ir), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(count, 3);
    CHECK(found("\"a\" (foo.default)", "nodes with it: 2"));
    CHECK(found("\"b\" (bar.default)", "nodes with it: 1"));
    CHECK(found("line 6: node \"d\"", "expected [2, 3]"));
    CHECK_EQ(list[2].line, 6);
    CHECK(list[2].node == ir->nodes[3] && list[2].byte > 0);
    CHECK_STR(err.text, "foo.default");
    CHECK_STR(err.text, "bar.default");
    CHECK_STR(err.text, "line 6");
    CHECK_EQ(check(ir), QNNRT_E_UNSUPPORTED);       /* findings do not add up */
    CHECK_EQ(count, 3);
    qnnrt_ir_free(ir);
    memset(&desc, 0, sizeof(desc));
    desc.findings = 1;
    ir = graph_with(text, &desc);
    CHECK(ir != NULL);
    CHECK_EQ(check(ir), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(count, 1);
    CHECK_STR(err.text, "and 2 more findings");
    qnnrt_ir_free(ir);
}

/* ---- what PyTorch computes (tests/ir/record_ir.py) ---- */

/* Call a test for each file. */
#define RECORDED(function)                                                          \
    do {                                                                            \
        size_t file_;                                                               \
        for (file_ = 0; ir_recorded(file_) != NULL; ++file_)                        \
            TRY(function(ir_file(ir_recorded(file_), &err)));                       \
    } while (0)

static void infers(qnnrt_ir *ir)
{
    size_t i;
    CHECK(ir != NULL);
    if (check(ir) != QNNRT_OK) printf("%s\n", err.text);
    CHECK_EQ(count, 0);
    for (i = 0; i < ir->node_count; ++i) CHECK(ir->nodes[i]->at == i);
    qnnrt_ir_free(ir);
}

TEST(ir_infers_what_pytorch_computes)
{
    RECORDED(infers);
}

TEST(ir_knows_what_pytorch_computes_for_every_operator)
{
    static const char *const ours[] = { "getitem", "rope", "empty.memory_format", "empty_like.default" };
    qnnrt_ir *files[16];
    const qnnrt_ir_op *op;
    size_t i, k, file, missing = 0;
    for (file = 0; ir_recorded(file) != NULL; ++file) {
        CHECK(file < 16);
        files[file] = ir_file(ir_recorded(file), &err);
        CHECK(files[file] != NULL);
    }
    for (i = 0; (op = qnnrt_ir_op_get(i)) != NULL; ++i) {
        int known = strncmp(op->name, "q.", 2) == 0;
        CHECK(qnnrt_ir_op_find(op->name) == op);            /* none occurs twice */
        for (file = 0; ir_recorded(file) != NULL; ++file)
            for (k = 0; k < files[file]->node_count && !known; ++k) known = files[file]->nodes[k]->info == op;
        if (known) continue;
        for (k = 0; k < 4 && strcmp(ours[k], op->name) != 0; ++k) {}
        if (k < 4) continue;
        printf("    no case of %s\n", op->name);
        ++missing;
    }
    CHECK_EQ(missing, 0);
    CHECK(i > 200 && qnnrt_ir_op_find("nonsense") == NULL && qnnrt_ir_op_find(NULL) == NULL);
    /* Other spellings: of operators that overwrite their input by a rule. */
    CHECK(qnnrt_ir_op_find("relu_.default") == qnnrt_ir_op_find("relu.default") && qnnrt_ir_op_find("neg_.default") == qnnrt_ir_op_find("neg.default"));
    CHECK(qnnrt_ir_op_find("pow_.Scalar") == qnnrt_ir_op_find("pow.Tensor_Scalar") && qnnrt_ir_op_find("nonsense_.default") == NULL &&
          qnnrt_ir_op_find("_.default") == NULL);
    CHECK(qnnrt_ir_op_find("_unsafe_view.default") == qnnrt_ir_op_find("view.default"));
    CHECK(qnnrt_ir_op_find("concat.default") == qnnrt_ir_op_find("cat.default"));
    for (file = 0; ir_recorded(file) != NULL; ++file) qnnrt_ir_free(files[file]);
}

static void finds_wrong_shapes(qnnrt_ir *ir)
{
    size_t i, k;
    CHECK(ir != NULL);
    for (i = 0; i < ir->node_count; ++i) {
        qnnrt_ir_node *node = ir->nodes[i];
        for (k = 0; k < node->output_count; ++k) {
            qnnrt_ir_value *y = node->outputs[k], was = *y;
            if (y->rank > 0) ++y->dims[y->rank - 1];
            else y->dims[y->rank++] = 1;
            CHECK_EQ(check(ir), QNNRT_E_MISMATCH);
            CHECK(count == 1 && list[0].node == node);
            *y = was;
            y->dtype = y->dtype == QNNRT_DTYPE_I16 ? QNNRT_DTYPE_F64 : QNNRT_DTYPE_I16;
            CHECK_EQ(check(ir), QNNRT_E_MISMATCH);
            CHECK(count == 1 && list[0].node == node);
            *y = was;
        }
    }
    CHECK_EQ(check(ir), QNNRT_OK);
    qnnrt_ir_free(ir);
}

TEST(ir_finds_every_wrong_shape_and_dtype)
{
    RECORDED(finds_wrong_shapes);
}

/* ---- arguments ---- */

TEST(ir_arguments_have_the_defaults_of_aten)
{
    qnnrt_ir *ir = graph("{'graph_inputs': [" F("x", "1, 4, 8, 8") ", " F("w", "4, 4, 3, 3") "], 'graph_outputs': ["
                         F("y", "1, 4, 6, 6") "], 'weights': [], 'nodes': [{'name': 'y', 'op_type': "
                         "'aten.conv2d.default', 'inputs': [" F("x", "1, 4, 8, 8") ", " F("w", "4, 4, 3, 3")
                         "], 'outputs': [" F("y", "1, 4, 6, 6") "], 'attrs': {'stride': [1, 1], 'dilation': null, "
                         "'f': 2.5, 'big': 9223372036854775807, 'huge': 1e300, 'inf': -Infinity, 'nan': NaN, 'yes': true, "
                         "'text': 'torch.bfloat16', 'long': [1,2,3,4,5,6,7,8,9], 'floats': [1, 2.5], 'nested': [[1], [2]], "
                         "'object': {'a': [1]}, 'N': 'N', 'none': 'None'}}]}");
    const qnnrt_ir_node *node;
    int64_t out[8];
    CHECK(ir != NULL);
    node = ir->nodes[0];
    CHECK_EQ(qnnrt_ir_int(node, "groups", 7), 1);           /* of the table */
    CHECK_EQ(qnnrt_ir_int(node, "unknown", 7), 7);
    CHECK_EQ(qnnrt_ir_int(node, "big", 0), INT64_MAX);
    CHECK_EQ(qnnrt_ir_int(node, "f", 0), 2);
    CHECK_EQ(qnnrt_ir_int(node, "huge", 0), INT64_MAX);
    CHECK_EQ(qnnrt_ir_int(node, "yes", 0), 1);
    CHECK_EQ(qnnrt_ir_int(node, "none", 5), 5);
    CHECK(qnnrt_ir_float(node, "f", 0) > 2.4 && qnnrt_ir_float(node, "f", 0) < 2.6);
    CHECK(qnnrt_ir_float(node, "inf", 0) < -1e308);
    CHECK(!(qnnrt_ir_float(node, "nan", 0) < 1) && !(qnnrt_ir_float(node, "nan", 0) > 0));
    CHECK_EQ(qnnrt_ir_attr_find(node, "inf")->kind, QNNRT_IR_FLOAT);
    CHECK_EQ(qnnrt_ir_attr_find(node, "nan")->kind, QNNRT_IR_FLOAT);
    CHECK_EQ(qnnrt_ir_attr_find(node, "N")->kind, QNNRT_IR_TEXT);
    CHECK_EQ(qnnrt_ir_attr_find(node, "dilation")->kind, QNNRT_IR_NULL);
    CHECK_EQ(qnnrt_ir_attr_find(node, "nested")->kind, QNNRT_IR_OTHER);
    CHECK_EQ(qnnrt_ir_attr_find(node, "object")->kind, QNNRT_IR_OTHER);
    CHECK_EQ(qnnrt_ir_attr_find(node, "floats")->kind, QNNRT_IR_FLOATS);
    CHECK_EQ(qnnrt_ir_attr_find(node, "floats")->count, 2);
    CHECK(qnnrt_ir_attr_find(node, "groups") == NULL);
    CHECK_EQ(qnnrt_ir_ints(node, "stride", out), 2);
    CHECK_EQ(qnnrt_ir_ints(node, "padding", out), 1);
    CHECK_EQ(out[0], 0);
    CHECK_EQ(qnnrt_ir_ints(node, "long", out), 9);
    CHECK_EQ(out[7], 8);
    CHECK_EQ(qnnrt_ir_ints(node, "text", out), 0);
    CHECK(qnnrt_ir_each(node, "padding", 2, out) && out[0] == 0 && out[1] == 0);
    CHECK(qnnrt_ir_each(node, "dilation", 2, out) && out[0] == 1 && out[1] == 1);
    CHECK(!qnnrt_ir_each(node, "stride", 3, out) && !qnnrt_ir_each(node, "unknown", 1, out));
    CHECK_EQ(qnnrt_ir_dtype(node, "text", QNNRT_DTYPE_F32), QNNRT_DTYPE_BF16);
    CHECK_EQ(qnnrt_ir_dtype(node, "N", QNNRT_DTYPE_F32), QNNRT_DTYPE_UNDEFINED);
    CHECK_EQ(qnnrt_ir_dtype(node, "f", QNNRT_DTYPE_F32), QNNRT_DTYPE_UNDEFINED);
    CHECK_EQ(qnnrt_ir_dtype(node, "unknown", QNNRT_DTYPE_F32), QNNRT_DTYPE_F32);
    CHECK(strcmp(qnnrt_ir_dtype_name(QNNRT_DTYPE_BF16), "bfloat16") == 0);
    CHECK(strcmp(qnnrt_ir_dtype_name(QNNRT_DTYPE_U32), "?") == 0);
    CHECK_EQ(qnnrt_ir_dtype_from("int8"), QNNRT_DTYPE_I8);
    CHECK_EQ(qnnrt_ir_dtype_from(NULL), QNNRT_DTYPE_UNDEFINED);
    CHECK_EQ(qnnrt_ir_dtype_bytes(QNNRT_DTYPE_U32), 0);
    CHECK(qnnrt_ir_input(node, 1) == ir->inputs[1] && qnnrt_ir_input(node, 2) == NULL);
    qnnrt_ir_free(ir);
}

TEST(ir_puts_absent_inputs_where_they_belong)
{
    qnnrt_ir *ir = ir_file("ops", &err);
    size_t i, gaps = 0, norms = 0;
    CHECK(ir != NULL);
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        if (strcmp(node->op, "index.Tensor") == 0 && node->inputs[1] == NULL && node->inputs[2] != NULL) ++gaps;
        if (strcmp(node->op, "batch_norm.default") != 0) continue;
        CHECK_EQ(node->input_count, 5);
        CHECK(node->inputs[3] != NULL && node->inputs[4] != NULL);
        norms += node->inputs[1] == NULL && node->inputs[2] == NULL;
    }
    CHECK_EQ(gaps, 3);
    CHECK_EQ(norms, 1);
    qnnrt_ir_free(ir);
}

/* ---- editing ---- */

/* x -> a -> b -> y, and b2 = relu(b) that nothing reads */
#define CHAIN XY_GRAPH("", NAMED("a", "aten.relu.default", X, F("a", "2, 3")) ", " \
    NAMED("b", "aten.neg.default", F("a", "2, 3"), F("b", "2, 3")) ", " \
    NAMED("b2", "aten.relu.default", F("b", "2, 3"), F("b2", "2, 3")) ", " \
    NAMED("b3", "aten.relu.default", F("b2", "2, 3"), F("b3", "2, 3")) ", " \
    XY_NODE("aten.abs.default", F("b", "2, 3"), Y))

TEST(ir_edits_keep_users_and_order)
{
    qnnrt_ir *ir = graph(CHAIN);
    qnnrt_ir_node *a, *b, *y, *made;
    qnnrt_ir_value *value, *two[2], *constant;
    qnnrt_ir_attr attr;
    static const int64_t dims[2] = { 2, 3 }, list3[3] = { 1, 2, 3 };
    static const float data[6] = { 1, 2, 3, 4, 5, 6 };
    int64_t out[8];
    void *room;
    qnnrt_dtype dtype;
    uint32_t rank;
    CHECK(ir != NULL);
    CHECK_EQ(check(ir), QNNRT_OK);
    CHECK_EQ(ir->nodes[1]->outputs[0]->users, 2);
    CHECK_EQ(qnnrt_ir_tidy(ir, &err), QNNRT_OK);
    CHECK_EQ(ir->node_count, 3);
    CHECK_EQ(ir->removed_count, 2);
    CHECK(strcmp(ir->removed[0]->name, "b3") == 0 || strcmp(ir->removed[0]->name, "b2") == 0);
    CHECK_STR(ir->removed[0]->mapping, "unused");
    a = ir->nodes[0];
    b = ir->nodes[1];
    y = ir->nodes[2];
    CHECK(a->at == 0 && b->at == 1 && y->at == 2);
    CHECK_EQ(b->outputs[0]->users, 1);
    /* Replace neg by mul with a constant, placed before y. */
    value = qnnrt_ir_add_value(ir, "b", QNNRT_DTYPE_F32, 2, dims);
    CHECK(value != NULL && strcmp(value->name, "b_1") == 0 && value->count == 6);
    constant = qnnrt_ir_add_constant(ir, "k", QNNRT_DTYPE_F32, 2, dims, data, NULL);
    CHECK(constant != NULL && constant->origin == QNNRT_IR_CONSTANT && memcmp(constant->data, data, 24) == 0);
    CHECK(qnnrt_ir_add_constant(ir, "k", QNNRT_DTYPE_F32, 2, dims, NULL, &room) != NULL && room != NULL);
    CHECK(qnnrt_ir_add_value(ir, "b", QNNRT_DTYPE_F32, 9, dims) == NULL);
    two[0] = a->outputs[0];
    two[1] = constant;
    made = qnnrt_ir_add_node(ir, y, "mul.Tensor", two, 2, &value, 1);
    CHECK(made != NULL && made->at == 2 && y->at == 3 && ir->nodes[3] == y && value->node == made);
    CHECK(strcmp(made->name, "b_1") == 0 && made->line == 0 && made->number == 5);
    CHECK(a->outputs[0]->users == 2 && constant->users == 1);
    qnnrt_ir_replace(ir, b->outputs[0], value);
    CHECK(y->inputs[0] == value && value->users == 1 && b->outputs[0]->users == 0);
    qnnrt_ir_kill(ir, b, "became mul");
    CHECK(b->dead && a->outputs[0]->users == 1);
    qnnrt_ir_kill(ir, b, NULL);
    CHECK_EQ(a->outputs[0]->users, 1);
    CHECK_EQ(check(ir), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_tidy(ir, &err), QNNRT_OK);
    CHECK(ir->node_count == 3 && ir->nodes[1] == made && ir->removed_count == 3);
    CHECK(strcmp(ir->removed[2]->mapping, "became mul") == 0 && ir->removed[2]->at == 2);
    CHECK_EQ(check(ir), QNNRT_OK);
    /* A graph output is replaced, too. */
    qnnrt_ir_replace(ir, y->outputs[0], value);
    CHECK(ir->outputs[0] == value && value->is_output == 1 && value->users == 2 && y->outputs[0]->users == 0);
    CHECK_EQ(qnnrt_ir_tidy(ir, &err), QNNRT_OK);
    CHECK(ir->node_count == 2 && value->users == 1);
    /* Arguments. */
    CHECK(qnnrt_ir_set_int(ir, made, "i", 5) && qnnrt_ir_int(made, "i", 0) == 5);
    CHECK(qnnrt_ir_set_int(ir, made, "i", 6) && qnnrt_ir_int(made, "i", 0) == 6 && made->attr_count == 1);
    CHECK(qnnrt_ir_set_float(ir, made, "f", 0.5) && qnnrt_ir_float(made, "f", 0) > 0.4);
    CHECK(qnnrt_ir_set_ints(ir, made, "l", list3, 3) && qnnrt_ir_ints(made, "l", out) == 3 && out[2] == 3);
    memset(&attr, 0, sizeof(attr));
    attr.name = "t";
    attr.kind = QNNRT_IR_TEXT;
    attr.text = qnnrt_ir_text(ir, "torch.int8");
    CHECK(qnnrt_ir_set(ir, made, &attr) && qnnrt_ir_dtype(made, "t", QNNRT_DTYPE_F32) == QNNRT_DTYPE_I8);
    CHECK(check(ir) == QNNRT_E_UNSUPPORTED && count == 4);      /* mul has none of them */
    CHECK(qnnrt_ir_set_op(ir, made, "foo.bar") && made->info == NULL && check(ir) == QNNRT_E_UNSUPPORTED);
    CHECK(qnnrt_ir_set_op(ir, made, "add.Tensor") && made->info != NULL);
    CHECK(qnnrt_ir_set_input(ir, made, 1, a->outputs[0]) && constant->users == 0 && a->outputs[0]->users == 2);
    CHECK(qnnrt_ir_set_input(ir, made, 2, constant) && made->input_count == 3 && constant->users == 1);
    CHECK(!qnnrt_ir_set_input(ir, made, 4, constant));
    /* Dims that were written by hand are counted before a rule reads them. */
    value = a->inputs[0];
    value->dims[0] = value->dims[1] = (int64_t)1 << 40;
    CHECK_EQ(qnnrt_ir_infer(a, 0, &dtype, &rank, out, &err), QNNRT_E_LIMIT);
    CHECK_STR(err.text, "input 0 has too many elements");
    qnnrt_ir_free(ir);
}

TEST(ir_tidy_orders_nodes_and_refuses_cycles)
{
    qnnrt_ir *ir = graph(XY_GRAPH("", XY_NODE("aten.relu.default", F("z", "2, 3"), Y)));
    CHECK(ir != NULL && check(ir) == QNNRT_E_FORMAT);
    qnnrt_ir_free(ir);
    ir = graph(XY_GRAPH("", XY_NODE("aten.relu.default", OF("z", "z", "0"), Y) ", " NAMED("z", "aten.relu.default", X,
               F("z", "2, 3"))));
    CHECK(ir != NULL && check(ir) == QNNRT_E_FORMAT);
    CHECK_EQ(qnnrt_ir_tidy(ir, &err), QNNRT_OK);
    CHECK(strcmp(ir->nodes[0]->name, "z") == 0 && strcmp(ir->nodes[1]->name, "y") == 0);
    CHECK_EQ(check(ir), QNNRT_OK);
    qnnrt_ir_free(ir);
    ir = graph(CHAIN);
    CHECK(ir != NULL);
    CHECK(qnnrt_ir_set_input(ir, ir->nodes[0], 0, ir->nodes[1]->outputs[0]));
    CHECK(check(ir) == QNNRT_E_FORMAT && found("is on a cycle", "") && found("\"a\"", "computes later"));
    CHECK_EQ(qnnrt_ir_tidy(ir, &err), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "is on a cycle");
    qnnrt_ir_free(ir);
}

TEST(ir_infers_for_passes)
{
    qnnrt_ir *ir = graph(CHAIN);
    qnnrt_dtype dtype;
    uint32_t rank;
    int64_t dims[8];
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_infer(ir->nodes[0], 0, &dtype, &rank, dims, &err), QNNRT_OK);
    CHECK(dtype == QNNRT_DTYPE_F32 && rank == 2 && dims[0] == 2 && dims[1] == 3 && dims[2] == 0);
    CHECK_EQ(qnnrt_ir_infer(ir->nodes[0], 1, &dtype, &rank, dims, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"a\" (relu.default)");
    CHECK_EQ(qnnrt_ir_infer(ir->nodes[0], 0, NULL, &rank, dims, &err), QNNRT_E_ARG);
    CHECK(qnnrt_ir_set_op(ir, ir->nodes[0], "linear.default"));
    CHECK_EQ(qnnrt_ir_infer(ir->nodes[0], 0, &dtype, &rank, dims, &err), QNNRT_E_ARG);
    CHECK(qnnrt_ir_set_op(ir, ir->nodes[0], "q.rms_norm"));
    CHECK_EQ(qnnrt_ir_infer(ir->nodes[0], 0, &dtype, &rank, dims, &err), QNNRT_OK);
    qnnrt_ir_free(ir);
}

/* ---- memory ---- */

TEST(ir_survives_every_failing_allocation)
{
    size_t bytes;
    char *text = (char *)test_read_file("tests/data/ir/torch_llama.json", &bytes);
    qnnrt_ir_desc desc;
    long failed = 0;
    int done = 0;
    CHECK(text != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    desc.fold_bytes = desc.fold_operations = (uint64_t)1 << 40;
    for (fail_at = 0; !done; ++fail_at) {
        qnnrt_ir *ir = NULL;
        qnnrt_result result;
        allocations = 0;
        TEST_JUNK(err);
        result = qnnrt_ir_read(text, bytes, &desc, &ir, &err);
        if (result == QNNRT_OK) result = qnnrt_ir_check(ir, NULL, NULL, &err);
        if (result == QNNRT_OK) result = qnnrt_ir_tidy(ir, &err);
        if (result == QNNRT_OK) result = qnnrt_ir_fold(ir, 0, NULL, &err);
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && err.code == result));
        done = result == QNNRT_OK;
        failed += !done;
        qnnrt_ir_free(ir);
        CHECK_EQ(live, 0);
    }
    CHECK(failed > 3);
    free(text);
}

/* ---- evaluation ---- */

/* Return an element as a double. */
static double element(const qnnrt_ir_value *v, const void *data, size_t k)
{
    const unsigned char *at = (const unsigned char *)data + k * qnnrt_ir_dtype_bytes(v->dtype);
    float f32;
    double f64;
    int64_t i64;
    int32_t i32;
    int16_t i16;
    uint32_t bits;
    switch (v->dtype) {
    case QNNRT_DTYPE_F32: memcpy(&f32, at, 4); return (double)f32;
    case QNNRT_DTYPE_F64: memcpy(&f64, at, 8); return f64;
    case QNNRT_DTYPE_I64: memcpy(&i64, at, 8); return (double)i64;
    case QNNRT_DTYPE_I32: memcpy(&i32, at, 4); return (double)i32;
    case QNNRT_DTYPE_I16: memcpy(&i16, at, 2); return (double)i16;
    case QNNRT_DTYPE_I8: return (double)(signed char)at[0];
    case QNNRT_DTYPE_BF16:
        bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 24;
        memcpy(&f32, &bits, 4);
        return (double)f32;
    case QNNRT_DTYPE_F16:
        bits = (uint32_t)at[0] | (uint32_t)at[1] << 8;
        f64 = (bits >> 10 & 31) == 0 ? ldexp((double)(bits & 1023), -24) :
              (bits >> 10 & 31) == 31 ? (bits & 1023 ? NAN : HUGE_VAL) :
              ldexp((double)(1024 + (bits & 1023)), (int)(bits >> 10 & 31) - 25);
        return bits >> 15 ? -f64 : f64;
    default: return (double)at[0];
    }
}

/* True if two elements are equal but for the rounding of their dtype. */
static int near(const qnnrt_ir_value *v, double a, double b)
{
    const double part = v->dtype == QNNRT_DTYPE_BF16 ? 0.008 : v->dtype == QNNRT_DTYPE_F16 ? 0.001 :
                        v->dtype == QNNRT_DTYPE_F32 ? 2e-6 : v->dtype == QNNRT_DTYPE_F64 ? 1e-12 : 0;
    if (a != a || b != b) return a != a && b != b;
    if (a >= HUGE_VAL || a <= -HUGE_VAL || b >= HUGE_VAL || b <= -HUGE_VAL) return a >= b && a <= b;
    return fabs(a - b) <= part * (1 + fabs(b));
}

static const qnnrt_ir_value *value_of(const qnnrt_ir *ir, const char *name)
{
    size_t i;
    for (i = 0; i < ir->value_count; ++i) if (strcmp(ir->values[i]->name, name) == 0) return ir->values[i];
    return NULL;
}

static void evaluates(qnnrt_ir *ir)
{
    size_t i, k, n, compared = 0, wrong = 0;
    CHECK(ir != NULL);
    CHECK_EQ(check(ir), QNNRT_OK);
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        const void *in[64];
        void *out[64];
        CHECK(node->input_count <= 64 && node->output_count <= 64);
        for (k = 0; k < node->input_count; ++k) in[k] = node->inputs[k] != NULL ? node->inputs[k]->data : NULL;
        for (k = 0; k < node->output_count; ++k) {
            const qnnrt_ir_value *y = node->outputs[k];
            out[k] = malloc((size_t)(y->count + 1) * qnnrt_ir_dtype_bytes(y->dtype));
            CHECK(out[k] != NULL);
        }
        if (qnnrt_ir_is(node, "einsum.default")) {       /* of several nodes, see ir_run_splits_einsum */
            CHECK_EQ(qnnrt_ir_eval_ask(node, &err), QNNRT_E_UNSUPPORTED);
            for (k = 0; k < node->output_count; ++k) free(out[k]);
            continue;
        }
        CHECK_EQ(qnnrt_ir_eval_ask(node, &err), QNNRT_OK);
        if (qnnrt_ir_eval_node(NULL, node, in, out, &err) != QNNRT_OK) {
            printf("    %s\n", err.text);
            ++wrong;
            continue;
        }
        for (k = 0; k < node->output_count; ++k) {
            const qnnrt_ir_value *y = node->outputs[k], *expected;
            char name[80];
            snprintf(name, sizeof name, "expected/%s", y->name);
            expected = value_of(ir, name);
            CHECK(expected != NULL || y->count == 0);
            for (n = 0; n < y->count; ++n) {
                const double a = element(y, out[k], n), b = element(y, expected->data, n);
                ++compared;
                if (near(y, a, b)) continue;
                printf("    line %lu: %s %s: element %lu is %.9g, expected %.9g\n", (unsigned long)node->line, y->name,
                       node->op, (unsigned long)n, a, b);
                ++wrong;
                break;
            }
            free(out[k]);
        }
    }
    CHECK_EQ(wrong, 0);
    CHECK(compared > 100);
    qnnrt_ir_free(ir);
}

TEST(ir_evaluates_what_pytorch_computes)
{
    RECORDED(evaluates);
}

/* ---- folding ---- */

#define I64(name, shape) "{'name': '" name "', 'shape': [" shape "], 'dtype': 'int64'}"
#define NODE_WITH(name, op, in, out, attrs) \
    "{'name': '" name "', 'op_type': '" op "', 'inputs': [" in "], 'outputs': [" out "], 'attrs': {" attrs "}}"

TEST(ir_folds_what_depends_on_constants_alone)
{
    /* y = x + cumsum(arange(3)) * c, and w + w of a weight, and an index out of range */
    qnnrt_ir *ir = graph(
        "{'graph_inputs': [" X "], 'graph_outputs': [" Y ", " F("z", "3") ", " I64("bad", "1") ", " I64("sum", "3") "], "
        "'weights': [" F("w", "3") "], 'constants': {'c': {'data': [2, 3, 4], 'dtype': 'int64'}, 'one': {'data': [9], "
        "'dtype': 'int64'}}, 'nodes': ["
        NODE_WITH("r", "aten.arange.default", "", I64("r", "3"), "'end': 3") ", "
        NODE_WITH("sum", "aten.cumsum.default", I64("r", "3"), I64("sum", "3"), "'dim': 0") ", "
        NODE_WITH("m", "aten.mul.Tensor", I64("sum", "3") ", " I64("c", "3"), I64("m", "3"), "") ", "
        NODE_WITH("z", "aten.add.Tensor", F("w", "3") ", " F("w", "3"), F("z", "3"), "") ", "
        NODE_WITH("bad", "aten.index_select.default", I64("c", "3") ", " I64("one", "1"), I64("bad", "1"), "'dim': 0") ", "
        NODE_WITH("y", "aten.add.Tensor", X ", " I64("m", "3"), Y, "") "]}");
    const qnnrt_ir_value *m, *sum;
    size_t folded = 9;
    CHECK(ir != NULL);
    CHECK_EQ(check(ir), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_fold(ir, 8, &folded, &err), QNNRT_OK);        /* all are larger */
    CHECK(folded == 0 && ir->node_count == 6);
    CHECK_EQ(qnnrt_ir_fold(ir, 0, &folded, &err), QNNRT_OK);
    CHECK_EQ(folded, 3);
    CHECK_EQ(ir->node_count, 3);
    CHECK_EQ(ir->removed_count, 3);
    CHECK(strcmp(ir->removed[0]->name, "r") == 0 && strcmp(ir->removed[0]->mapping, "folded") == 0);
    CHECK_EQ(check(ir), QNNRT_OK);
    m = ir->nodes[2]->inputs[1];
    sum = ir->outputs[3];
    CHECK(m->origin == QNNRT_IR_CONSTANT && m->node == NULL && m->users == 1);
    CHECK(((const int64_t *)m->data)[0] == 0 && ((const int64_t *)m->data)[1] == 3 && ((const int64_t *)m->data)[2] == 12);
    CHECK(sum->origin == QNNRT_IR_CONSTANT && sum->is_output == 1 && ((const int64_t *)sum->data)[2] == 3);
    CHECK_EQ(qnnrt_ir_fold(ir, 0, &folded, &err), QNNRT_OK);
    CHECK(folded == 0 && ir->node_count == 3);
    CHECK_EQ(qnnrt_ir_fold(NULL, 0, NULL, &err), QNNRT_E_ARG);
    qnnrt_ir_free(ir);
}

/* Fold a graph whose limits are so large. Return how many nodes were folded, or -1 for the error of
   a limit. */
static int folds(const char *text, uint64_t bytes, uint64_t operations)
{
    qnnrt_ir_desc desc;
    qnnrt_ir *ir;
    qnnrt_result result;
    size_t folded = 99;
    memset(&desc, 0, sizeof(desc));
    desc.fold_bytes = bytes;
    desc.fold_operations = operations;
    ir = graph_with(text, &desc);
    if (ir == NULL || check(ir) != QNNRT_OK) return -2;
    result = qnnrt_ir_fold(ir, UINT64_MAX, &folded, &err);
    qnnrt_ir_free(ir);
    return result == QNNRT_OK ? (int)folded : result == QNNRT_E_LIMIT ? -1 : -3;
}

TEST(ir_folding_has_a_budget)
{
    /* Each node costs much by its arguments alone; the text is small. */
#define BUDGET(y, nodes) "{'graph_inputs': [" X "], 'graph_outputs': [" y "], 'weights': [], 'constants': {}, 'nodes': [" nodes "]}"
#define ONES(name, size) NODE_WITH(name, "aten.ones.default", "", F(name, size), "'size': [" size "]")
    static const char *const large[] = {
        BUDGET(F("m", "4096, 4096"), ONES("a", "4096, 1024") ", " NODE_WITH("m", "aten.linear.default", F("a", "4096, 1024") ", "
            F("a", "4096, 1024"), F("m", "4096, 4096"), "")),
        BUDGET(F("m", "2048, 2048"), ONES("a", "2048, 2048") ", " NODE_WITH("m", "aten.mm.default", F("a", "2048, 2048") ", "
            F("a", "2048, 2048"), F("m", "2048, 2048"), "")),
        BUDGET(F("m", "1, 1, 2048, 2048"), ONES("a", "1, 1, 2112, 2112") ", " ONES("k", "1, 1, 65, 65") ", "
            NODE_WITH("m", "aten.conv2d.default", F("a", "1, 1, 2112, 2112") ", " F("k", "1, 1, 65, 65"), F("m", "1, 1, 2048, 2048"), "")),
        BUDGET(F("m", "1, 1, 2112, 2112"), ONES("a", "1, 1, 2048, 2048") ", " ONES("k", "1, 1, 65, 65") ", "
            NODE_WITH("m", "aten.conv_transpose2d.input", F("a", "1, 1, 2048, 2048") ", " F("k", "1, 1, 65, 65"),
                F("m", "1, 1, 2112, 2112"), "")),
        BUDGET(F("m", "1, 16384, 64"), ONES("a", "1, 16384, 64") ", " NODE_WITH("m", "aten.scaled_dot_product_attention.default",
            F("a", "1, 16384, 64") ", " F("a", "1, 16384, 64") ", " F("a", "1, 16384, 64"), F("m", "1, 16384, 64"), "")),
        BUDGET(F("m", "1, 1, 1985, 1985"), ONES("a", "1, 1, 2048, 2048") ", " NODE_WITH("m", "aten.avg_pool2d.default",
            F("a", "1, 1, 2048, 2048"), F("m", "1, 1, 1985, 1985"), "'kernel_size': [64, 64], 'stride': [1, 1]")),
        BUDGET(F("m", "1, 1, 262144"), ONES("a", "1, 1048576, 1") ", " NODE_WITH("m", "aten.adaptive_avg_pool2d.default",
            F("a", "1, 1048576, 1"), F("m", "1, 1, 262144"), "'output_size': [1, 262144]")),
    };
    char text[8192], name[16], chain[1024];
    size_t i, used;
    for (i = 0; i < sizeof(large) / sizeof(*large); ++i) {
        CHECK_EQ(folds(large[i], 0, 0), -1);
        CHECK_STR(err.text, "node \"m\" (");
        CHECK_STR(err.text, "are left of qnnrt_ir_desc.fold_operations");
        CHECK_STR(err.hint, "Export the model with this as a weight or an input.");
    }
    /* 64 MiB each: the budget of bytes is that of the whole graph. */
    used = (size_t)snprintf(text, sizeof text, "%s", "{'graph_inputs': [" X "], 'graph_outputs': [" F("n2", "16777216") "], 'weights': [],"
        " 'constants': {}, 'nodes': [" ONES("n0", "16777216"));
    for (i = 1; i < 3; ++i) {
        snprintf(name, sizeof name, "n%d", (int)i - 1);
        snprintf(chain, sizeof chain, ", {'name': 'n%d', 'op_type': 'aten.neg.default', 'inputs': [{'name': '%s', 'shape': [16777216],"
            " 'dtype': 'float32'}], 'outputs': [{'name': 'n%d', 'shape': [16777216], 'dtype': 'float32'}]}", (int)i, name, (int)i);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", chain);
    }
    snprintf(text + used, sizeof text - used, "]}");
    CHECK_EQ(folds(text, UINT64_C(130) << 20, 0), -1);
    CHECK(strcmp(err.text, "node \"n2\" (neg.default): it is constant, and folding it takes 67108864 bytes: 2097152 are left of "
        "qnnrt_ir_desc.fold_bytes") == 0);
    /* 6 elements are made, then 12 are read or written: 16 operations each. */
    CHECK_EQ(folds(BUDGET(Y, ONES("a", "2, 3") ", " NODE_WITH("y", "aten.neg.default", F("a", "2, 3"), Y, "")), 48, 288), 2);
    CHECK_EQ(folds(BUDGET(Y, ONES("a", "2, 3") ", " NODE_WITH("y", "aten.neg.default", F("a", "2, 3"), Y, "")), 48, 287), -1);
    CHECK(strcmp(err.text, "node \"y\" (neg.default): it is constant, and folding it takes 192 operations: 191 are left of "
        "qnnrt_ir_desc.fold_operations") == 0);
    CHECK_EQ(folds(BUDGET(Y, ONES("a", "2, 3") ", " NODE_WITH("y", "aten.neg.default", F("a", "2, 3"), Y, "")), 47, 288), -1);
    /* 24 bytes are made, then 12, and 40 for each of three sums. */
    CHECK_EQ(folds(BUDGET(F("y", "3"), ONES("a", "2, 3") ", " NODE_WITH("y", "aten.sum.dim_IntList", F("a", "2, 3"), F("y", "3"),
        "'dim': [0]")), 156, 0), 2);
    CHECK_EQ(folds(BUDGET(F("y", "3"), ONES("a", "2, 3") ", " NODE_WITH("y", "aten.sum.dim_IntList", F("a", "2, 3"), F("y", "3"),
        "'dim': [0]")), 155, 0), -1);
    CHECK_STR(err.text, "takes 132 bytes: 131 are left");
    /* What is left by default. */
    CHECK_EQ(folds(BUDGET(F("a", "268435457"), ONES("a", "268435457")), 0, 0), -1);
    CHECK_STR(err.text, "takes 1073741828 bytes: 1073741824 are left");
    CHECK_EQ(folds(BUDGET(V("a", "bool", "536870913"), NODE_WITH("a", "aten.ones.default", "", V("a", "bool", "536870913"),
        "'size': [536870913], 'dtype': 'bool'")), 0, 0), -1);
    CHECK_STR(err.text, "takes 8589934608 operations: 8589934592 are left");
}

/* What a node takes: 16 for each element of its inputs and outputs; and for products of batch * rows * columns * depth
   about batch * depth * ((rows + 3) * (columns + 7) + 16 * rows * (columns / 256 + 1) + 16 * columns * (rows / 128 + 1)). */
TEST(ir_folding_counts_operations)
{
    /* elements: of the inputs, whose shapes are named; cost: of the node, rounded up */
    static const struct { const char *op, *attrs, *inputs[3], *outputs; unsigned elements, cost; } rows[] = {
        { "linear.default", "", { "2, 3, 4", "5, 4" }, F("m", "2, 3, 5"), 44, 2343 },           /* 1 * 6 * 5 * 4 */
        { "linear.default", "", { "2, 3, 4", "4" }, F("m", "2, 3"), 28, 1285 },                 /* 1 * 6 * 1 * 4 */
        { "linear.default", "", { "65, 2", "600, 2" }, F("m", "65, 600"), 1330, 763737 },       /* 1 * 65 * 600 * 2 */
        { "linear.default", "", { "3, 4", "0, 4" }, F("m", "3, 0"), 12, 276 },                  /* 1 * 0 * 0 * 4 */
        { "matmul.default", "", { "2, 3, 4", "4, 5" }, F("m", "2, 3, 5"), 44, 2807 },           /* 2 * 3 * 5 * 4 */
        { "matmul.default", "'transpose_b': true", { "2, 3, 4", "5, 4" }, F("m", "2, 3, 5"), 44, 2807 },
        { "matmul.default", "", { "4", "4, 5" }, F("m", "5"), 24, 1044 },                        /* 1 * 1 * 5 * 4 */
        { "mv.default", "", { "3, 4", "4" }, F("m", "3"), 16, 755 },                            /* 1 * 3 * 1 * 4 */
        { "addmm.default", "", { "5", "3, 4", "4, 5" }, F("m", "3, 5"), 37, 1644 },             /* 1 * 3 * 5 * 4 */
        { "baddbmm.default", "", { "5", "2, 3, 4", "2, 4, 5" }, F("m", "2, 3, 5"), 69, 3207 },  /* 2 * 3 * 5 * 4 */
        { "conv1d.default", "'groups': 2", { "3, 4, 6", "6, 2, 3" }, F("m", "3, 6, 4"), 108, 9369 },    /* 6 * 4 * 3 * 6 */
        { "conv1d.default", "", { "4, 6", "6, 4, 3" }, F("m", "6, 4"), 96, 5082 },              /* 1 * 4 * 6 * 12 */
        { "convolution.default", "'stride': [1], 'padding': [0], 'dilation': [1], 'transposed': false, 'output_padding': [0], 'groups': 2",
          { "3, 4, 6", "6, 2, 3" }, F("m", "3, 6, 4"), 108, 9369 },
        /* each element of the input meets 24 of the kernel, 16 each */
        { "convolution.default", "'stride': [1, 1], 'padding': [0, 0], 'dilation': [1, 1], 'transposed': true, 'output_padding': [0, 0], "
          "'groups': 1", { "1, 2, 5, 3", "2, 4, 3, 2" }, F("m", "1, 4, 7, 4"), 78, 14560 },
        { "conv_transpose2d.input", "", { "1, 2, 5, 3", "2, 4, 3, 2" }, F("m", "1, 4, 7, 4"), 78, 14560 },
        /* 2 * 3 * 5 * 4 and 2 * 3 * 7 * 5, and 32 for each score */
        { "scaled_dot_product_attention.default", "", { "2, 3, 4", "2, 5, 4", "2, 5, 7" }, F("m", "2, 3, 7"), 134, 7878 },
        /* windows: 16 for each element of them */
        { "avg_pool1d.default", "'kernel_size': [3], 'stride': [1]", { "2, 3, 8" }, F("m", "2, 3, 6"), 48, 3072 },
        { "avg_pool2d.default", "'kernel_size': [3, 2], 'stride': [1, 1]", { "2, 5, 6" }, F("m", "2, 3, 5"), 60, 4320 },
        { "adaptive_avg_pool1d.default", "'output_size': [3]", { "2, 9" }, F("m", "2, 3"), 18, 864 },   /* 9 / 3 + 2 */
        { "adaptive_avg_pool2d.default", "'output_size': [3, 4]", { "2, 9, 8" }, F("m", "2, 3, 4"), 144, 10368 },
        { "topk.default", "'k': 3", { "4, 6" }, F("m_0", "4, 3") ", " I64("m_1", "4, 3"), 24, 13056 },
        { "sort.default", "", { "4, 6" }, F("m_0", "4, 6") ", " I64("m_1", "4, 6"), 24, 13440 },
        { "argsort.default", "", { "4, 6" }, I64("m", "4, 6"), 24, 13056 },
        { "index.Tensor", "", { "3, 4, 2", "2" }, F("m", "2, 4, 2"), 26, 8352 },                /* 64 for each of 40, 3 times */
    };
    size_t i, k;
    for (i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
        const unsigned budget = 16 * rows[i].elements + rows[i].cost;
        char text[4096], nodes[2048] = "", inputs[512] = "";
        for (k = 0; k < 3 && rows[i].inputs[k] != NULL; ++k) {
            const char *dtype = k == 1 && strcmp(rows[i].op, "index.Tensor") == 0 ? "int64" : "float32";
            const char *shape = rows[i].inputs[k];
            char value[100];
            snprintf(value, sizeof value, "{'name': 'i%u', 'shape': [%s], 'dtype': '%s'}", (unsigned)k, shape, dtype);
            snprintf(inputs + strlen(inputs), sizeof(inputs) - strlen(inputs), "%s%s", k > 0 ? ", " : "", value);
            snprintf(nodes + strlen(nodes), sizeof(nodes) - strlen(nodes), NODE_WITH("i%u", "aten.ones.default", "", "%s",
                "'size': [%s], 'dtype': '%s'") ", ", (unsigned)k, value, shape, dtype);
        }
        snprintf(text, sizeof text, BUDGET("%s", "%s" NODE_WITH("m", "aten.%s", "%s", "%s", "%s")), rows[i].outputs, nodes,
            rows[i].op, inputs, rows[i].outputs, rows[i].attrs);
        if (folds(text, 0, budget) != (int)k + 1 || folds(text, 0, budget - 1) != -1) printf("    row %u: %s\n", (unsigned)i, err.text);
        CHECK_EQ(folds(text, 0, budget), (int)k + 1);
        CHECK_EQ(folds(text, 0, budget - 1), -1);
    }
}

TEST(ir_folds_weights_that_have_data)
{
    /* bias = table[index] + 1, twice as wide = cat(bias, bias), both = wide + w, y = x + bias */
    static const float table[4] = { 5, 6, 7, 8 };
    char mapped[sizeof(table) + 1];
    qnnrt_ir *ir = NULL;
    const qnnrt_ir_value *bias;
    size_t folded = 9, k;
    int step;
    memcpy(mapped + 1, table, sizeof(table));                       /* as in a file: not aligned */
    for (step = 0; step < 4; ++step) {
        ir = graph("{'graph_inputs': [" F("x", "3") "], 'graph_outputs': [" F("y", "3") ", " F("both", "6") "], "
            "'weights': [" F("t", "4") ", " F("w", "6") "], 'constants': {'i': {'data': [3, 0, 2], 'dtype': 'int64'}}, 'nodes': ["
            NODE_WITH("row", "aten.index_select.default", F("t", "4") ", " I64("i", "3"), F("row", "3"), "'dim': 0") ", "
            NODE_WITH("bias", "aten.add.Tensor", F("row", "3"), F("bias", "3"), "'other': 1") ", "
            NODE_WITH("wide", "aten.cat.default", F("bias", "3") ", " F("bias", "3"), F("wide", "6"), "") ", "
            NODE_WITH("both", "aten.add.Tensor", F("wide", "6") ", " F("w", "6"), F("both", "6"), "") ", "
            NODE_WITH("y", "aten.add.Tensor", F("x", "3") ", " F("bias", "3"), F("y", "3"), "") "]}");
        CHECK(ir != NULL);
        CHECK_EQ(check(ir), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_fold_weights(ir, 0, 0, &folded, &err), QNNRT_OK);
        CHECK_EQ(folded, 0);                                        /* no weight has data */
        for (k = 0; k < ir->value_count; ++k)
            if (strcmp(ir->values[k]->name, "t") == 0) ir->values[k]->data = mapped + 1;
        CHECK_EQ(qnnrt_ir_fold(ir, 0, &folded, &err), QNNRT_OK);
        CHECK_EQ(folded, 0);
        /* row and bias have 12 bytes, wide 24 */
        CHECK_EQ(qnnrt_ir_fold_weights(ir, step == 0 ? 24 : step == 1 ? 23 : step == 2 ? 11 : 0, step == 3 ? 23 : 48, &folded, &err), QNNRT_OK);
        CHECK_EQ(folded, step == 0 ? 3 : step == 1 ? 2 : step == 2 ? 0 : 1);
        CHECK_EQ(check(ir), QNNRT_OK);
        bias = value_of(ir, "bias");
        CHECK_EQ(bias->origin, step < 2 ? QNNRT_IR_CONSTANT : QNNRT_IR_NODE);
        if (step < 2) CHECK(((const float *)bias->data)[0] >= 9 && ((const float *)bias->data)[1] <= 6);
        CHECK_EQ(value_of(ir, "t")->users, step == 2);
        CHECK_EQ(value_of(ir, "w")->users, 1);
        qnnrt_ir_free(ir);
    }
    CHECK_EQ(qnnrt_ir_fold_weights(NULL, 0, 0, NULL, &err), QNNRT_E_ARG);
}

TEST(ir_folds_normalized_weights_of_any_size)
{
    static const float v[6] = { 3, 4, 0, 0, 5, 12 }, g[2] = { 10, 26 };
    static const char text[] = "{'graph_inputs': [" X "], 'graph_outputs': [" Y ", " F("n", "2, 1") "], "
        "'weights': [" F("v", "2, 3") ", " F("g", "2, 1") "], 'constants': {}, 'nodes': ["
        NODE_WITH("w", "aten._weight_norm.default", F("v", "2, 3") ", " F("g", "2, 1"), F("w", "2, 3"), "") ", "
        NODE_WITH("n", "aten.neg.default", F("g", "2, 1"), F("n", "2, 1"), "") ", "
        NODE_WITH("y", "aten.add.Tensor", X ", " F("w", "2, 3"), Y, "") "]}";
    int step;
    for (step = 0; step < 2; ++step) {
        qnnrt_ir_desc desc;
        qnnrt_ir *ir;
        size_t folded = 0, k;
        memset(&desc, 0, sizeof(desc));
        desc.fold_operations = step == 0 ? 0 : 16 * 14 - 1;          /* the norm takes 14 elements */
        ir = graph_with(text, &desc);
        CHECK(ir != NULL);
        CHECK_EQ(check(ir), QNNRT_OK);
        for (k = 0; k < ir->value_count; ++k) {
            if (strcmp(ir->values[k]->name, "v") == 0) ir->values[k]->data = v;
            if (strcmp(ir->values[k]->name, "g") == 0) ir->values[k]->data = g;
        }
        /* The limits of further constants are for n alone; what is beyond those of the graph stays a node. */
        CHECK_EQ(qnnrt_ir_fold_weights(ir, 8, 8, &folded, &err), QNNRT_OK);
        CHECK_EQ(err.code, QNNRT_OK);
        CHECK_EQ(folded, 2 - (size_t)step);
        CHECK_EQ(ir->node_count, 1 + (size_t)step);
        if (step == 0) CHECK(((const float *)value_of(ir, "w")->data)[1] >= 8 && ((const float *)value_of(ir, "w")->data)[5] >= 24);
        qnnrt_ir_free(ir);
    }
}

/* The length is of all elements with the same place of dim; of all, if dim is -1. */
TEST(ir_normalizes_weights_along_any_dimension)
{
    static const float v[12] = { 3, 4, 1, -2, 5, 12, 7, 1, -1, 2, 8, 6 }, g[3] = { 10, 26, 3 };
    static const struct { const char *shape, *dim; int size, inner; } rows[] = {
        { "2, 1, 1", "0", 2, 6 }, { "1, 3, 1", "1", 3, 2 }, { "1, 1, 2", "2", 2, 1 }, { "1", "-1", 1, 12 },
    };
    size_t i;
    int k, n;
    for (i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
        const int size = rows[i].size, inner = rows[i].inner;
        const void *in[2] = { v, g };
        float got[12];
        void *out[1] = { got };
        char text[2000];
        qnnrt_ir *ir;
        snprintf(text, sizeof text, GRAPH(F("v", "2, 3, 2") ", " F("g", "%s"), F("y", "2, 3, 2"), "",
                 NODE("y", "_weight_norm.default", F("v", "2, 3, 2") ", " F("g", "%s"), F("y", "2, 3, 2"), "'dim': %s")) "}",
                 rows[i].shape, rows[i].shape, rows[i].dim);
        ir = graph(text);
        CHECK(ir != NULL);
        CHECK_EQ(check(ir), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_eval_node(NULL, ir->nodes[0], in, out, &err), QNNRT_OK);
        for (k = 0; k < 12; ++k) {
            double squares = 0;
            for (n = 0; n < 12; ++n) if (n / inner % size == k / inner % size) squares += (double)v[n] * (double)v[n];
            CHECK(fabs((double)got[k] - (double)v[k] * (double)g[k / inner % size] / sqrt(squares)) < 1e-5);
        }
        qnnrt_ir_free(ir);
    }
}

TEST(ir_folds_the_recorded_graph_to_nothing)
{
    qnnrt_ir *ir = ir_file("ops", &err);
    size_t folded = 0;
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_fold(ir, 0, &folded, &err), QNNRT_OK);
    CHECK(folded > 600 && ir->node_count == 1);                     /* _assert_tensor_metadata */
    CHECK_EQ(check(ir), QNNRT_OK);
    qnnrt_ir_free(ir);
}

TEST(ir_evaluation_refuses_what_it_cannot_compute)
{
    static const int64_t c[3] = { 2, 3, 4 }, one[1] = { -4 };
    const void *in[2];
    int64_t result = 5;
    void *out[1];
    qnnrt_ir *ir = graph("{'graph_inputs': [" I64("c", "3") ", " I64("one", "1") "], 'graph_outputs': [" I64("y", "1") "], "
                         "'weights': [], 'nodes': [" NODE_WITH("y", "aten.index_select.default", I64("c", "3") ", "
                         I64("one", "1"), I64("y", "1"), "'dim': 0") "]}");
    CHECK(ir != NULL && check(ir) == QNNRT_OK);
    in[0] = c;
    in[1] = one;
    out[0] = &result;
    CHECK_EQ(qnnrt_ir_eval_node(NULL, ir->nodes[0], in, out, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "\"y\" (index_select.default)");
    CHECK_STR(err.text, "out of range");
    in[1] = NULL;
    CHECK_EQ(qnnrt_ir_eval_node(NULL, ir->nodes[0], in, out, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "input 1 has no data");
    in[1] = c;
    CHECK_EQ(qnnrt_ir_eval_node(NULL, NULL, in, out, &err), QNNRT_E_ARG);
    CHECK(qnnrt_ir_set_op(ir, ir->nodes[0], "add.Tensor"));         /* has another shape */
    CHECK_EQ(qnnrt_ir_eval_node(NULL, ir->nodes[0], in, out, &err), QNNRT_E_MISMATCH);
    CHECK_EQ(result, 5);
    qnnrt_ir_free(ir);
}

/* What is asked about is refused for the same reason as what is computed, and needs neither data nor memory. */
TEST(ir_evaluation_is_asked_without_data)
{
    static const struct { const char *inputs, *outputs, *op, *attrs, *why; } rows[] = {
        { F("x", "4"), F("y", "4"), "dropout.default", "'p': 0.5, 'train': true", "dropout in training is random" },
        { F("x", "4"), F("y", "4"), "dropout.default", "'p': 0.5, 'train': false", NULL },
        { F("x", "4"), F("y", "12"), "pad.default", "'pad': [4, 4], 'mode': 'reflect'", "pad is larger than the input" },
        { F("x", "4"), F("y", "10"), "pad.default", "'pad': [3, 3], 'mode': 'reflect'", NULL },
        { F("x", "4"), F("y", "13"), "pad.default", "'pad': [4, 5], 'mode': 'circular'", "pad is larger than the input" },
        { F("x", "4"), F("y", "14"), "pad.default", "'pad': [5, 5], 'mode': 'replicate'", NULL },
        { F("q", "1, 2, 4") ", " F("k", "1, 2, 4") ", " F("v", "1, 2, 4"), F("y", "1, 2, 4"), "scaled_dot_product_attention.default",
          "'dropout_p': 0.1", "dropout is random" },
        { F("x", "1, 4, 2") ", " F("a", "4") ", " F("b", "4") ", " F("c", "4") ", " F("d", "4"), F("y", "1, 4, 2"),
          "instance_norm.default", "'use_input_stats': false, 'momentum': 0.1, 'eps': 1e-5, 'cudnn_enabled': false",
          "running statistics are not evaluated" },
        { F("x", "1, 4, 2") ", " F("a", "4") ", " F("b", "4") ", " F("c", "4") ", " F("d", "4"), F("y", "1, 4, 2"),
          "batch_norm.default", "'training': true, 'momentum': 0.1, 'eps': 1e-5, 'cudnn_enabled': false",
          "statistics of the batch are not evaluated" },
        /* 4 TiB for each matrix: it would not be computed in time */
        { F("x", "1048576, 1048576") ", " F("w", "1048576, 1048576"), F("y", "1048576, 1048576"), "matmul.default", "", NULL },
    };
    static const double zeros[64] = { 0 };
    size_t i, k;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        const void *in[5] = { zeros, zeros, zeros, zeros, zeros };
        void *out[1] = { NULL };
        char text[4000];
        qnnrt_result asked;
        qnnrt_ir *ir;
        snprintf(text, sizeof text, "{'graph_inputs': [%s], 'graph_outputs': [%s], 'weights': [], 'nodes': [{'name': 'y', 'op_type': "
                 "'aten.%s', 'inputs': [%s], 'outputs': [%s], 'attrs': {%s}}]}", rows[i].inputs, rows[i].outputs, rows[i].op,
                 rows[i].inputs, rows[i].outputs, rows[i].attrs);
        ir = graph(text);
        if (ir == NULL || check(ir) != QNNRT_OK) printf("    row %lu: %s\n", (unsigned long)i, err.text);
        CHECK(ir != NULL && count == 0);
        asked = qnnrt_ir_eval_ask(ir->nodes[0], &err);
        if (asked != (rows[i].why != NULL ? QNNRT_E_UNSUPPORTED : QNNRT_OK)) printf("    row %lu: %s\n", (unsigned long)i, err.text);
        CHECK_EQ(asked, rows[i].why != NULL ? QNNRT_E_UNSUPPORTED : QNNRT_OK);
        if (rows[i].why != NULL) CHECK_STR(err.text, rows[i].why);
        for (k = 0; k < ir->value_count && ir->values[k]->count <= 64; ++k) {}
        if (k == ir->value_count) CHECK_EQ(qnnrt_ir_eval_node(NULL, ir->nodes[0], in, out, &err), asked);
        qnnrt_ir_free(ir);
    }
    CHECK_EQ(qnnrt_ir_eval_ask(NULL, &err), QNNRT_E_ARG);
}

/* Each shape rule covers every input, and decides about those without elements. */
TEST(ir_checks_every_input)
{
    static const struct { const char *inputs, *output, *op, *attrs, *why; } rows[] = {
        { F("x", "2, 3") ", " F("w", "3"), F("y", "2, 3"), "copy.default", "", NULL },
        { F("x", "2, 3") ", " F("w", "4"), F("y", "2, 3"), "copy.default", "", "[2, 3] and [4] do not broadcast" },
        { F("x", "2, 3") ", " F("w", "2, 2, 3"), F("y", "2, 3"), "copy_.default", "", "[2, 2, 3] does not broadcast to [2, 3]" },
        { V("x", "int64", "2, 3"), V("y", "int64", "2, 3"), "sigmoid_.default", "", "the result is float32 and overwrites int64" },
        { F("x", "3") ", " F("w", "2, 3"), F("y", "2, 3"), "add_.Tensor", "", "larger than the operand that it overwrites" },
        { F("x", "2, 3"), F("y", "3, 2"), "_unsafe_view.default", "'size': [3, 2]", NULL },
        { F("x", "2, 3"), F("y", "2, 3"), "concat.default", "", NULL },
        { F("x", "2, 3") ", " F("w", "2, 4"), F("y", "2, 3"), "copy.default", "", "[2, 3] and [2, 4] do not broadcast" },
        { F("x", "2, 2, 1") ", " F("w", "2, 2, 3"), F("y", "2, 2, 1"), "copy.default", "", "[2, 2, 3] does not broadcast to [2, 2, 1]" },
        { F("x", "2, 3") ", " F("w", "1, 3"), F("y", "2, 3"), "copy.default", "", NULL },
        { F("x", "2, 1") ", " F("w", "1"), F("y", "2, 1"), "layer_norm.default", "'normalized_shape': [1, 1, 1, 1, 1, 1, 1, 1, 1]",
          "[1, 1, 1, 1, 1, 1, 1, 1], the input [2, 1]" },
        { F("x", "2, 3") ", " V("m", "bool", "3") ", " F("w", "2"), F("y", "2, 3"), "masked_fill.Tensor", "", "do not broadcast" },
        { F("x", "3") ", " F("a", "4, 2, 5") ", " F("b", "4, 5, 3"), F("y", "4, 2, 3"), "baddbmm.default", "", NULL },
        { F("x", "3") ", " F("a", "4, 2, 5") ", " F("b", "1, 5, 3"), F("y", "4, 2, 3"), "baddbmm.default", "", "the batches are 4 and 1" },
        { F("x", "1, 2, 3"), F("y", "1, 2, 6"), "upsample_nearest2d.default", "'output_size': [6]",
          "input 0 has 3 dimensions, expected 4 to 4" },
        { F("x", "4"), F("y", "4"), "tril.default", "", "input 0 has 1 dimensions, expected 2 to 8" },
        { F("x", "1, 4, 2") ", " F("w", "4, 1, 1"), F("y", "1, 3, 2"), "conv_transpose1d.default", "'groups': 3", "groups is 3" },
        { F("x", "1, 2, 0, 3"), F("y", "1, 2, 4, 6"), "upsample_nearest2d.vec", "'output_size': [4, 6], 'scale_factors': null",
          "input 0 is empty" },
        { F("x", "1, 2, 0, 3"), F("y", "1, 2, 1, 1"), "adaptive_avg_pool2d.default", "'output_size': [1, 1]", "input 0 is empty" },
        { F("x", "0, 3") ", " V("i", "int64", "2"), F("y", "2, 3"), "embedding.default", "", "input 0 is empty" },
        { F("x", "0, 3") ", " V("i", "int64", "2"), F("y", "2, 3"), "index_select.default", "'dim': 0", "input 0 is empty" },
        { F("x", "0, 3") ", " V("i", "int64", "2"), F("y", "2, 3"), "index.Tensor", "", "input 0 is empty" },
        { F("x", "4"), F("y", "4"), "pad.default", "'pad': [9223372036854775807, -9223372036854775808]", "pad removes more than there is" },
        { F("x", "1, 4"), F("y", "1, 4"), "max_pool1d.default", "'kernel_size': 3, 'padding': 9223372036854775807",
          "the result has too many elements" },
        { F("x", "2, 0"), F("y", "2"), "amax.default", "'dim': [1]", "input 0 is empty" },
        { F("x", "0, 3") ", " V("i", "int64", "0"), F("y", "0, 3"), "embedding.default", "", NULL },
        { F("x", "2, 0") ", " F("w", "2, 3"), F("y", "2, 3"), "cat.default", "'dim': 1", NULL },
        /* sums of nothing are 0, means are NaN */
        { F("x", "2, 0") ", " F("w", "3, 0"), F("y", "2, 3"), "linear.default", "", NULL },
        { F("x", "2, 0") ", " F("w", "0, 3"), F("y", "2, 3"), "matmul.default", "", NULL },
        { F("x", "2, 0"), F("y", "2"), "sum.dim_IntList", "'dim': [1]", NULL },
        { F("x", "2, 0"), F("y", "2"), "mean.dim", "'dim': [1]", NULL },
        { F("x", "2, 0"), F("y", "2"), "var.dim", "'dim': [1]", NULL },
        { F("x", "2, 0"), V("y", "bool", "2"), "any.dim", "'dim': 1", NULL },
        { F("x", "2, 2") ", " F("w", "2") ", " F("b", "1"), F("y", "2"), "linear.default", "", NULL },
        { F("x", "2, 2") ", " F("w", "2") ", " F("b", ""), F("y", "2"), "linear.default", "", NULL },
        { F("x", "2, 2") ", " F("w", "2") ", " F("b", "2"), F("y", "2"), "linear.default", "", "input 2 is [2], expected [1]" },
        { F("x", "2, 2") ", " F("w", "2") ", " F("b", "0"), F("y", "2"), "linear.default", "", "input 2 is [0], expected [1]" },
        { F("x", "3") ", " F("a", "2, 0") ", " F("b", "0, 3"), F("y", "2, 3"), "addmm.default", "", NULL },
        { F("q", "1, 2, 4") ", " F("k", "1, 0, 4") ", " F("v", "1, 0, 3") ", " F("m", "2, 0"), F("y", "1, 2, 3"),
          "scaled_dot_product_attention.default", "", NULL },
        { F("q", "1, 2, 0") ", " F("k", "1, 2, 0") ", " F("v", "1, 2, 3"), F("y", "1, 2, 3"),
          "scaled_dot_product_attention.default", "", "input 0 is empty" },
        { F("x", "0"), F("y", "3"), "pad.default", "'pad': [1, 2]", NULL },
        { F("x", "3") ", " F("p", "0"), F("y", "2"), "diff.default", "", NULL },
        { F("x", "2, 3") ", " V("i", "int64", "0") ", " F("w", "0, 3"), F("y", "2, 3"), "index_copy.default", "'dim': 0", NULL },
        { F("x", "2, 3") ", " V("i", "int64", "0, 3") ", " F("w", "0, 3"), F("y", "2, 3"), "scatter.src", "'dim': 0", NULL },
        { F("x", "2, 3") ", " V("m", "bool", "3") ", " F("w", "0"), F("y", "2, 3"), "masked_scatter.default", "", NULL },
        { F("x", "2, 3") ", " V("i", "int64", "0") ", " F("w", "0, 3"), F("y", "2, 3"), "index_put.default", "", NULL },
        { F("x", "2, 3") ", " F("w", "0, 3"), F("y", "2, 3"), "slice_scatter.default", "'dim': 0, 'start': 1, 'end': 1", NULL },
        { F("x", "2, 3") ", " F("w", "0"), F("y", "2, 3"), "type_as.default", "", NULL },
        { F("x", "0"), F("y", "2, 3"), "new_zeros.default", "'size': [2, 3]", NULL },
        /* one length for each place of dim */
        { F("v", "2, 3") ", " F("g", "2, 1"), F("y", "2, 3"), "_weight_norm.default", "", NULL },
        { F("v", "2, 3") ", " F("g", "1, 3"), F("y", "2, 3"), "_weight_norm.default", "'dim': 1", NULL },
        { F("v", "2, 3") ", " F("g", "1, 1"), F("y", "2, 3"), "_weight_norm.default", "'dim': -1", NULL },
        { F("v", "2, 3") ", " F("g", ""), F("y", "2, 3"), "_weight_norm.default", "'dim': -1", NULL },
        { F("v", "2, 3") ", " F("g", "1, 1"), F("y", "2, 3"), "_weight_norm.default", "", "input 1 is [1, 1], expected one length" },
        { F("v", "2, 3") ", " F("g", "3, 1"), F("y", "2, 3"), "_weight_norm.default", "", "input 1 is [3, 1], expected one length" },
        { F("v", "2, 3") ", " F("g", "2, 3"), F("y", "2, 3"), "_weight_norm.default", "", "input 1 is [2, 3], expected one length" },
        { F("v", "2, 3") ", " F("g", "2"), F("y", "2, 3"), "_weight_norm.default", "", "input 1 is [2], expected one length" },
        { F("v", "2, 3") ", " F("g", "2, 1"), F("y", "2, 3"), "_weight_norm.default", "'dim': -1", "input 1 is [2, 1], expected one length" },
        { F("v", "2, 3") ", " F("g", "1, 1, 1"), F("y", "2, 3"), "_weight_norm.default", "'dim': -1", "input 1 is [1, 1, 1], expected" },
        { F("v", "2, 3") ", " V("g", "float16", "2, 1"), F("y", "2, 3"), "_weight_norm.default", "", "of the weight's dtype" },
        { F("v", "2, 3") ", " F("g", "2, 1"), F("y", "2, 3"), "_weight_norm.default", "'dim': 2", "dim" },
        { V("v", "int64", "2, 3") ", " V("g", "int64", "2, 1"), V("y", "int64", "2, 3"), "_weight_norm.default", "", "float" },
        /* numbers of each dimension are cut to a range */
        { F("x", "1, 4, 4"), F("y", "1, 4, 4"), "max_pool2d.default", "'kernel_size': [3, 3], 'padding': [0, 9223372036854775807]",
          "the result has too many elements" },
        { F("x", "1, 2, 2") ", " F("w", "2, 1, 1"), F("y", "1, 2, 2"), "conv_transpose1d.default", "'groups': 0", "groups is 0" },
        { F("x", "1, 2, 2") ", " F("w", "2, 1, 1"), F("y", "1, 1, 2"), "conv_transpose1d.default", "'groups': 1", NULL },
        { F("x", "1, 2, 2") ", " F("w", "2, 1, 1"), F("y", "1, 2, 2"), "conv_transpose1d.default", "'groups': 2", NULL },
        { F("x", "4"), F("y", "0"), "pad.default", "'pad': [-1, -3]", NULL },
        { F("x", "4"), F("y", "6"), "pad.default", "'pad': [-1, 3]", NULL },
        { F("x", "4"), F("y", "6"), "pad.default", "'pad': [3, -1]", NULL },
        { F("x", "4"), F("y", "4"), "pad.default", "'pad': [-5, 5]", "pad removes more than there is" },
        { F("x", "4"), F("y", "4"), "pad.default", "'pad': [5, -5]", "pad removes more than there is" },
    };
    static const float zeros[64] = { 0 };
    size_t i, k;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        const void *in[4] = { zeros, zeros, zeros, zeros };
        float data[64];
        void *out[1];
        char text[2000];
        qnnrt_ir *ir;
        snprintf(text, sizeof text, GRAPH("%s", "%s", "", NODE("y", "%s", "%s", "%s", "%s")) "}", rows[i].inputs,
                 rows[i].output, rows[i].op, rows[i].inputs, rows[i].output, rows[i].attrs);
        ir = graph(text);
        CHECK(ir != NULL);
        if ((check(ir) != QNNRT_OK) != (rows[i].why != NULL)) printf("    row %lu\n", (unsigned long)i);
        CHECK_EQ(count, rows[i].why != NULL);
        if (rows[i].why != NULL) CHECK_STR(list[0].text, rows[i].why);
        memset(data, 0xA5, sizeof(data));
        out[0] = data;
        CHECK_EQ(qnnrt_ir_eval_node(NULL, ir->nodes[0], in, out, &err), rows[i].why != NULL ? list[0].code : QNNRT_OK);
        for (k = 0; rows[i].why == NULL && k < ir->outputs[0]->count; ++k)
            CHECK(strstr("mean.dim var.dim _weight_norm.default", rows[i].op) != NULL ? data[k] != data[k] :
                  ir->outputs[0]->dtype == QNNRT_DTYPE_BOOL8 ? ((const char *)data)[k] == 0 : data[k] >= 0 && data[k] <= 0);
        qnnrt_ir_free(ir);
    }
}

/* Integers that no double has. */
TEST(ir_computes_integers_to_the_last_bit)
{
#define ODD ((int64_t)9007199254740993)
    static const int64_t x[3] = { ODD, -ODD, 4 };
    static const struct { const char *op, *attrs; int64_t expected[3]; } rows[] = {
        { "flip.default", "'dims': [0]", { 4, -ODD, ODD } },
        { "clone.default", "", { ODD, -ODD, 4 } },
        { "neg.default", "", { -ODD, ODD, -4 } },
        { "add.Tensor", "'other': 2", { ODD + 2, 2 - ODD, 6 } },
        { "cumsum.default", "'dim': 0", { ODD, 0, 4 } },
    };
    size_t i;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        const void *in[1] = { x };
        int64_t got[3];
        void *out[1] = { got };
        char text[2000];
        qnnrt_ir *ir;
        snprintf(text, sizeof text, GRAPH(I64("x", "3"), I64("y", "3"), "", NODE("y", "%s", I64("x", "3"), I64("y", "3"), "%s")) "}",
                 rows[i].op, rows[i].attrs);
        ir = graph(text);
        CHECK(ir != NULL);
        CHECK_EQ(check(ir), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_eval_node(NULL, ir->nodes[0], in, out, &err), QNNRT_OK);
        if (memcmp(got, rows[i].expected, sizeof(got)) != 0) printf("    %s\n", rows[i].op);
        CHECK(memcmp(got, rows[i].expected, sizeof(got)) == 0);
        qnnrt_ir_free(ir);
    }
#undef ODD
}

#define KEEPS(states) "{'states': [" states "], 'graph_inputs': [" V("x", "float32", "2") ", " V("s", "float32", "2") ", " V("w", "float32", "3") "], " \
    "'graph_outputs': [" V("y", "float32", "2") ", " V("t", "float32", "2") "], 'weights': [], 'nodes': [" \
    "{'name': 'y', 'op_type': 'aten.neg.default', 'inputs': [" V("x", "float32", "2") "], 'outputs': [" V("y", "float32", "2") "], 'attrs': {}}, " \
    "{'name': 't', 'op_type': 'aten.add.Tensor', 'inputs': [" V("x", "float32", "2") ", " V("s", "float32", "2") "], 'outputs': [" V("t", "float32", "2") "], 'attrs': {}}]}"

TEST(ir_reads_states)
{
    static const struct { const char *text, *needle; } wrong[] = {
        { KEEPS("{'input': 's', 'output': 't'}"), "a state has no name" },
        { KEEPS("{'name': 'a', 'input': 'none', 'output': 't'}"), "state \"a\": its \"input\" is not one of the graph" },
        { KEEPS("{'name': 'a', 'input': 's', 'output': 's'}"), "state \"a\": its \"output\" is not one of the graph" },
        { KEEPS("{'name': 'a', 'input': 's'}"), "\"output\" is not" },
        { KEEPS("{'name': 'a', 'input': 's', 'output': 't'}, {'name': 'b', 'input': 's', 'output': 'y'}"), "state \"b\" has the name, the input or the output of another" },
        { KEEPS("{'name': 'a', 'input': 's', 'output': 't'}, {'name': 'a', 'input': 'x', 'output': 'y'}"), "of another one" },
        { KEEPS("{'name': 'a', 'input': 'w', 'output': 't'}"), "state \"a\" is [3] float32, but its next value is [2] float32" },
    };
    qnnrt_ir *ir = graph(KEEPS("{'more': [1], 'name': 'a.b', 'output': 't', 'input': 's'}")), *copy = NULL;
    size_t i;
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_copy(ir, NULL, &copy, &err), QNNRT_OK);
    qnnrt_ir_free(ir);
    CHECK_EQ(copy->state_count, 1);
    CHECK_STR(copy->states[0].name, "a.b");
    CHECK_EQ(copy->states[0].input, 1);
    CHECK_EQ(copy->states[0].output, 1);
    qnnrt_ir_free(copy);
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        ir = graph(wrong[i].text);
        CHECK(ir != NULL);
        CHECK(qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK);
        CHECK_STR(err.text, wrong[i].needle);
        qnnrt_ir_free(ir);
    }
    CHECK(graph("{'states': {}}") == NULL);
    CHECK_STR(err.text, "\"states\" is not a list");
    CHECK(graph("{'states': [3]}") == NULL);
    CHECK_STR(err.text, "\"states\" is not an object");
    CHECK(graph("{'states': [{'name': 3}]}") == NULL);
    CHECK_STR(err.text, "\"name\" is not a string");
}

#define RANGED(more) "{'format': 'qnnrt.graph', 'version': 1, 'ranges': {" more "}, 'graph_inputs': [" I64("p", "1, 3") ", " \
    F("x", "2, 3") "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "]}"

TEST(ir_reads_what_qnnrt_export_states)
{
    static const struct { const char *text, *why; } bad[] = {
        { RANGED("'q': [0, 1]"), "range of \"q\": it is no input of the graph" },
        { RANGED("'y': [0, 1]"), "range of \"y\": it is no input of the graph" },
        { RANGED("'x': [0, 1]"), "range of \"x\": the input has no integers" },
        { RANGED("'p': [2, 1]"), "range of \"p\": expected the lowest and the highest integer" },
        { RANGED("'p': [0, 1.5]"), "the lowest and the highest integer" },
        { RANGED("'p': [0, 1e300]"), "the lowest and the highest integer" },
        { RANGED("'p': [0, 18446744073709551616]"), "the lowest and the highest integer" },
        { RANGED("'p': [0]"), "the lowest and the highest integer" },
        { RANGED("'p': [0, 1, 2]"), "the lowest and the highest integer" },
        { RANGED("'p': [[0, 1], {'a': 2}]"), "the lowest and the highest integer" },
    };
    qnnrt_ir *ir = graph(RANGED("'p': [-3, 9223372036854775807]")), *copy;
    size_t i;
    CHECK(ir != NULL);
    CHECK_EQ(check(ir), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_copy(ir, NULL, &copy, &err), QNNRT_OK);
    CHECK(copy->inputs[0]->ranged && copy->inputs[0]->low == -3 && copy->inputs[0]->high == INT64_MAX);
    CHECK(!copy->inputs[1]->ranged);
    qnnrt_ir_free(copy);
    qnnrt_ir_free(ir);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        ir = graph(bad[i].text);
        CHECK(ir != NULL);
        CHECK_EQ(check(ir), QNNRT_E_FORMAT);
        CHECK(found(bad[i].why, ""));
        qnnrt_ir_free(ir);
    }
    CHECK(graph("{'format': 'qnnrt.graph', 'version': 2}") == NULL);
    CHECK_EQ(err.code, QNNRT_E_VERSION);
    CHECK_STR(err.text, "a graph of version 2, known is 1");
    CHECK_STR(err.hint, "Use the release of qnnrt that exported the model.");
    CHECK(graph("{'format': 'onnx'}") == NULL);
    CHECK_STR(err.text, "not an exported graph: its format is \"onnx\"");
    CHECK(graph("{'ranges': [1]}") == NULL);
    CHECK_STR(err.text, "\"ranges\" is not an object");
    CHECK(graph("{'ranges': {'p': 1}}") == NULL);
    CHECK_STR(err.text, "\"ranges\" is not a list");
}

TEST(ir_reads_rope_in_both_orders)
{
    static const char *const orders[] = { F("f", "2") ", " I64("p", "1, 3"), I64("p", "1, 3") ", " F("f", "2") };
    static const float freq[2] = { 1, 0.5f };
    static const int64_t positions[3] = { 0, 1, 2 };
    size_t i;
    for (i = 0; i < 2; ++i) {
        char text[2000];
        const qnnrt_ir_desc desc = ir_plain_rope();
        const void *in[2];
        float cosine[12], sine[12];
        void *out[2];
        qnnrt_ir *ir;
        snprintf(text, sizeof text, "{'graph_inputs': [" F("f", "2") ", " I64("p", "1, 3") "], 'graph_outputs': ["
                 F("y", "1, 3, 4") "], 'weights': [], 'nodes': [{'name': 'w', 'op_type': 'wrap_with_set_grad_enabled', "
                 "'inputs': [%s], 'outputs': [" F("w_0", "1, 3, 4") ", " F("w_1", "1, 3, 4") "]}, "
                 NODE_WITH("y", "<built-in function getitem>", OF("w_0", "w", "0") ", " OF("w_1", "w", "1"),
                           F("y", "1, 3, 4"), "'index': 1") "]}", orders[i]);
        while (strstr(text, "'shape': [2, 3]") != NULL) memcpy(strstr(text, "'shape': [2, 3]"), "'shape':[1,3,4]", 15);
        ir = graph(text);                                    /* nobody says what the block computes */
        CHECK(ir != NULL);
        CHECK_EQ(check(ir), QNNRT_E_UNSUPPORTED);
        CHECK(found("node \"w\"", "the file does not have what this block under torch.no_grad() computes"));
        CHECK_STR(list[0].hint, "qnnrt.export()");
        CHECK_STR(err.hint, "qnnrt.export()");
        qnnrt_ir_free(ir);
        ir = graph_with(text, &desc);
        CHECK(ir != NULL);
        CHECK_EQ(check(ir), QNNRT_OK);
        CHECK(strcmp(ir->nodes[0]->op, "rope") == 0 && strcmp(ir->nodes[1]->op, "getitem") == 0);
        CHECK(strcmp(ir->nodes[0]->inputs[0]->name, "f") == 0);
        in[0] = freq;
        in[1] = positions;
        out[0] = cosine;
        out[1] = sine;
        CHECK_EQ(qnnrt_ir_eval_node(NULL, ir->nodes[0], in, out, &err), QNNRT_OK);
        CHECK(fabs((double)cosine[5] - cos(0.5)) < 1e-6 && fabs((double)sine[10] - sin(2)) < 1e-6);
        CHECK(fabs((double)cosine[7] - cos(0.5)) < 1e-6);
        qnnrt_ir_free(ir);
    }
}

TEST_MAIN("ir")
{
    RUN(ir_evaluation_is_asked_without_data);
    RUN(ir_checks_every_input);
    RUN(ir_computes_integers_to_the_last_bit);
    RUN(ir_reads_what_qnnrt_export_states);
    RUN(ir_reads_rope_in_both_orders);
    RUN(ir_folds_what_depends_on_constants_alone);
    RUN(ir_folding_has_a_budget);
    RUN(ir_folding_counts_operations);
    RUN(ir_folds_weights_that_have_data);
    RUN(ir_folds_normalized_weights_of_any_size);
    RUN(ir_normalizes_weights_along_any_dimension);
    RUN(ir_folds_the_recorded_graph_to_nothing);
    RUN(ir_evaluation_refuses_what_it_cannot_compute);
    RUN(ir_evaluates_what_pytorch_computes);
    RUN(ir_infers_what_pytorch_computes);
    RUN(ir_knows_what_pytorch_computes_for_every_operator);
    RUN(ir_finds_every_wrong_shape_and_dtype);
    RUN(ir_arguments_have_the_defaults_of_aten);
    RUN(ir_puts_absent_inputs_where_they_belong);
    RUN(ir_edits_keep_users_and_order);
    RUN(ir_tidy_orders_nodes_and_refuses_cycles);
    RUN(ir_infers_for_passes);
    RUN(ir_survives_every_failing_allocation);
    RUN(ir_refuses_what_is_no_graph);
    RUN(ir_finds_every_fault);
    RUN(ir_finds_all_faults_of_a_graph_at_once);
    RUN(ir_reads_a_graph);
    RUN(ir_reads_both_habits_of_weight_names);
    RUN(ir_reads_constants_of_every_dtype);
    RUN(ir_reads_the_data_files);
    RUN(ir_reads_states);
    RUN(ir_reads_a_genuine_file_without_a_finding);
}
