/* test_ir.c - qnnrt_ir.h: reading, checking, editing

   Graphs in this file are written with ' instead of ". Shapes of all operators are compared with
   an oracle in test_ir_shapes.c. With QNNRT_SAMPLES, files of others are read, too. */
#include "qnnrt_ir.h"
#include "test.h"

static qnnrt_error err;
static const qnnrt_ir_finding *list;
static size_t count;

/* Read a graph that is written with ' instead of ". Return NULL after an error. */
static qnnrt_ir *graph_with(const char *text, const qnnrt_ir_desc *desc)
{
    const size_t bytes = strlen(text);
    char *json = (char *)malloc(bytes + 1);
    qnnrt_ir *ir = NULL;
    size_t i;
    if (json == NULL) abort();
    for (i = 0; i <= bytes; ++i) json[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    memset(&err, 0xFF, sizeof(err));
    if (qnnrt_ir_read(json, bytes, desc, &ir, &err) != QNNRT_OK) ir = NULL;
    free(json);
    return ir;
}

static qnnrt_ir *graph(const char *text)
{
    return graph_with(text, NULL);
}

/* Check a graph, set list and count. */
static qnnrt_result check(qnnrt_ir *ir)
{
    memset(&err, 0xFF, sizeof(err));
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

#define X "{'name': 'x', 'shape': [2, 3], 'dtype': 'float32'}"
#define Y "{'name': 'y', 'shape': [2, 3], 'dtype': 'float32'}"
#define RELU "{'name': 'y', 'op_type': 'aten.relu.default', 'inputs': [" X "], 'outputs': [" Y "]}"
/* A graph of input x and output y. */
#define GRAPH(weights, nodes) \
    "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [" weights "], 'nodes': [" nodes "]}"
#define TENSOR(name, shape) "{'name': '" name "', 'shape': [" shape "], 'dtype': 'float32'}"

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
    CHECK(node->attr_count == 0 && strcmp(node->source, "") == 0 && strcmp(node->fate, "") == 0);
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
        "{'graph_inputs': [" X "], 'graph_outputs': [" TENSOR("y", "2, 4") "], "
        "'weights': [" TENSOR("fc.weight", "4, 3") "], 'weight_name_mapping': {'p_fc_weight': 'fc.weight'}, 'nodes': "
        "[{'name': 'y', 'op_type': 'aten.linear.default', 'inputs': [" X ", " TENSOR("p_fc_weight", "4, 3") "], "
        "'outputs': [" TENSOR("y", "2, 4") "], 'attrs': {}}]}",
        "{'nodes': [{'name': 'y', 'op_type': 'aten.linear.default', 'inputs': [" X ", " TENSOR("p_fc_weight", "4, 3")
        "], 'outputs': [" TENSOR("y", "2, 4") "], 'attrs': null}], "
        "'weights': [" TENSOR("p_fc_weight", "4, 3") "], 'weight_name_mapping': {'p_fc_weight': 'fc.weight'}, "
        "'graph_inputs': [" X "], 'graph_outputs': [" TENSOR("y", "2, 4") "]}",
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
            memcpy(&f, v->data, 4);
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
    size_t i, bytes;
    for (i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        char path[200];
        void *text;
        qnnrt_ir *ir = NULL;
        snprintf(path, sizeof path, "tests/data/ir/%s.json", files[i].name);
        text = test_read_file(path, &bytes);
        CHECK(text != NULL);
        CHECK_EQ(qnnrt_ir_read((const char *)text, bytes, NULL, &ir, &err), QNNRT_OK);
        free(text);
        CHECK_EQ(check(ir), QNNRT_OK);
        CHECK_EQ(ir->node_count, files[i].nodes);
        CHECK_EQ(qnnrt_ir_tidy(ir, &err), QNNRT_OK);
        CHECK_EQ(check(ir), QNNRT_OK);
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
        void *text;
        qnnrt_ir *ir = NULL;
        snprintf(path, sizeof path, "%.1000s/ir/%s.json", test_getenv("QNNRT_SAMPLES"), files[i].name);
        text = test_read_file(path, &bytes);
        CHECK(text != NULL);
        CHECK_EQ(qnnrt_ir_read((const char *)text, bytes, NULL, &ir, &err), QNNRT_OK);
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
        { GRAPH("", RELU) " x", QNNRT_E_FORMAT, "not JSON", "text after the document" },
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
    CHECK(graph_with(GRAPH("", RELU), &desc) == NULL);
    CHECK_EQ(err.code, QNNRT_E_LIMIT);
    CHECK_STR(err.text, "text_bytes");
    memset(&desc, 0, sizeof(desc));
    desc.nodes = 1;
    CHECK(graph_with(GRAPH("", RELU ", " RELU), &desc) == NULL);
    CHECK_EQ(err.code, QNNRT_E_LIMIT);
    CHECK_STR(err.text, "more than 1 nodes");
    memset(&desc, 0, sizeof(desc));
    desc.memory_bytes = 70000;
    CHECK(graph_with("{'constants': {'c': {'dtype': 'float64', 'data': [0, 1, 2, 3, 4, 5, 6, 7, 8]}}, 'x': ["
                     "1, 1, 1, 1]}", &desc) == NULL);
    CHECK_EQ(err.code, QNNRT_E_FORMAT);
    desc.memory_bytes = 1000;
    CHECK(graph_with(GRAPH("", RELU), &desc) == NULL);
    CHECK_EQ(err.code, QNNRT_E_MEMORY);
    CHECK_EQ(qnnrt_ir_read(NULL, 0, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_check(NULL, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_ir_tidy(NULL, &err), QNNRT_E_ARG);
    qnnrt_ir_free(NULL);
}

/* A node y = op(x) with other tensors. */
#define NODE(op, in, out) "{'name': 'y', 'op_type': '" op "', 'inputs': [" in "], 'outputs': [" out "]}"
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
        { GRAPH("", RELU ", " RELU), QNNRT_E_FORMAT, "node \"y\"", "has a node of the same name" },
        { GRAPH("", RELU ", " NAMED("z", "aten.relu.default", X, Y)), QNNRT_E_FORMAT, "node \"z\"",
          "\"y\" has the name of another value" },
        { GRAPH("", NAMED("z", "aten.relu.default", X, X) ", " RELU), QNNRT_E_FORMAT, "node \"z\"",
          "\"x\" has the name of another value" },
        { "{'graph_inputs': [" X ", " X "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "]}",
          QNNRT_E_FORMAT, "graph input \"x\"", "twice" },
        { GRAPH(TENSOR("w", "2") ", " TENSOR("w", "3"), RELU), QNNRT_E_FORMAT, "weight \"w\"", "twice" },
        { GRAPH("", "{'op_type': 'aten.relu.default', 'inputs': [" X "], 'outputs': [" Y "]}"), QNNRT_E_FORMAT,
          "no name", "" },
        { GRAPH("", "{'name': 'y', 'inputs': [" X "], 'outputs': [" Y "]}"), QNNRT_E_FORMAT, "node \"y\"",
          "op_type is missing" },
        { GRAPH("", NODE("aten.relu.default", TENSOR("z", "2, 3"), Y)), QNNRT_E_FORMAT, "node \"y\"",
          "reads \"z\", which is neither" },
        { GRAPH("", NODE("aten.relu.default", OF("x", "nobody", "0"), Y)), QNNRT_E_FORMAT, "node \"y\"",
          "node \"nobody\", which does not exist" },
        { GRAPH("", NAMED("a", "aten.relu.default", X, TENSOR("a", "2, 3")) ", "
                NODE("aten.relu.default", OF("a", "a", "1"), Y)), QNNRT_E_FORMAT, "node \"y\"",
          "reads output 1 of \"a\", which has 1" },
        { GRAPH("", NAMED("a", "aten.relu.default", X, TENSOR("a", "2, 3")) ", "
                NODE("aten.relu.default", OF("b", "a", "0"), Y)), QNNRT_E_FORMAT, "reads \"b\" as output 0",
          "which is \"a\"" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" TENSOR("q", "1") "], 'weights': [], 'nodes': [" RELU "]}",
          QNNRT_E_FORMAT, "graph output \"q\" is neither", "" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [], 'weights': [], 'nodes': [" RELU "]}", QNNRT_E_FORMAT,
          "no outputs", "" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [], 'nodes': [" RELU "], "
          "'weight_name_mapping': {'p': 'a', 'p': 'b'}}", QNNRT_E_FORMAT, "\"p\" has two names", "\"b\"" },
        /* order */
        { GRAPH("", NODE("aten.relu.default", OF("z", "z", "0"), Y) ", "
                NAMED("z", "aten.relu.default", X, TENSOR("z", "2, 3"))), QNNRT_E_FORMAT,
          "node \"y\"", "node \"z\" computes later" },
        { GRAPH("", NODE("aten.relu.default", OF("y", "y", "0"), Y)), QNNRT_E_FORMAT, "is on a cycle", "node \"y\"" },
        /* tensors */
        { GRAPH("", NODE("aten.relu.default", "1", Y)), QNNRT_E_FORMAT, "not an object", "node \"y\"" },
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
        { GRAPH("", NODE("aten.relu.default", SHAPED("[3, 2]"), Y)), QNNRT_E_MISMATCH, "node \"y\"",
          "stated as [3, 2] float32, but it is [2, 3] float32" },
        { "{'graph_inputs': [" X "], 'graph_outputs': [" TENSOR("y", "6") "], 'weights': [], 'nodes': [" RELU "]}",
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
        { "{'graph_inputs': [" X "], 'graph_outputs': [" Y "], 'weights': [" TENSOR("c", "2") "], 'nodes': [" RELU "], "
          "'constants': {'c': {'data': [1], 'dtype': 'float32'}}}", QNNRT_E_MISMATCH, "constant \"c\"", "[2]" },
        /* operators */
        { GRAPH("", NODE("aten.nonsense.default", X, Y)), QNNRT_E_UNSUPPORTED, "node \"y\" (nonsense.default)",
          "unknown" },
        { GRAPH("", NODE("aten.relu.default", X ", " X, Y)), QNNRT_E_ARG, "node \"y\" (relu.default)", "2 inputs" },
        { GRAPH("", NODE("aten.relu.default", X, TENSOR("y", "3, 2"))), QNNRT_E_MISMATCH,
          "output \"y\" is [3, 2] float32, expected [2, 3] float32", "inputs [2, 3] float32" },
        { GRAPH("", NODE("aten.relu.default", X, "{'name': 'y', 'shape': [2, 3], 'dtype': 'int64'}")), QNNRT_E_MISMATCH,
          "output \"y\" is [2, 3] int64, expected [2, 3] float32", "" },
        { GRAPH("", NODE("aten.relu.default", X, Y ", " TENSOR("y2", "2, 3"))), QNNRT_E_MISMATCH, "2 outputs", "expected 1" },
        { GRAPH("", NODE("aten.add.Tensor", X, Y)), QNNRT_E_ARG, "node \"y\"", "second operand is missing" },
        { GRAPH("", NODE("aten.transpose.int", X, Y)), QNNRT_E_ARG, "node \"y\"", "dim0 is missing" },
        { GRAPH("", "{'name': 'y', 'op_type': 'aten.transpose.int', 'inputs': [" X "], 'outputs': [" Y "], 'attrs': "
                "{'dim0': 'a', 'dim1': 0}}"), QNNRT_E_ARG, "node \"y\"", "dim0 is not of type int" },
        { GRAPH("", "{'name': 'y', 'op_type': 'aten.transpose.int', 'inputs': [" X "], 'outputs': [" Y "], 'attrs': "
                "{'dim0': 5, 'dim1': 0}}"), QNNRT_E_ARG, "dim0 is 5", "expected -2 to 1" },
        { GRAPH("", "{'name': 'y', 'op_type': 'aten.relu.default', 'inputs': [" X "], 'outputs': [" Y "], 'attrs': "
                "{'slope': 1, 'device': 'meta', 'layout': null}}"), QNNRT_E_UNSUPPORTED, "\"slope\"", "unknown" },
        { GRAPH("", "{'name': 'y', 'op_type': 'aten.full.default', 'inputs': [], 'outputs': [" Y "], 'attrs': {'size': "
                "[1000000000, 1000000000], 'fill_value': 1}}"), QNNRT_E_ARG, "size is negative or too large", "" },
        { GRAPH("", "{'name': 'y', 'op_type': 'aten.repeat.default', 'inputs': [" X "], 'outputs': [" Y "], 'attrs': "
                "{'repeats': [9223372036854775807, 9223372036854775807]}}"), QNNRT_E_LIMIT, "too many elements", "" },
        { GRAPH("", "{'name': 'y', 'op_type': 'aten.to.dtype', 'inputs': [" X "], 'outputs': [" Y "], 'attrs': "
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
        "'nodes': [\n" NAMED("a", "aten.foo.default", X, TENSOR("a", "2, 3")) ",\n"
        NAMED("b", "aten.bar.default", X, TENSOR("b", "2, 3")) ",\n" NAMED("c", "aten.foo.default", X, TENSOR("c", "2, 3"))
        ",\n" NAMED("d", "aten.relu.default", TENSOR("b", "2, 3"), TENSOR("d", "1")) ",\n" RELU "]}";
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

TEST_MAIN("ir")
{
    RUN(ir_refuses_what_is_no_graph);
    RUN(ir_finds_every_fault);
    RUN(ir_finds_all_faults_of_a_graph_at_once);
    RUN(ir_reads_a_graph);
    RUN(ir_reads_both_habits_of_weight_names);
    RUN(ir_reads_constants_of_every_dtype);
    RUN(ir_reads_the_data_files);
    RUN(ir_reads_a_genuine_file_without_a_finding);
}
