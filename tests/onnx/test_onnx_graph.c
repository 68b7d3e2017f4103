/* test_onnx_graph.c - qnnrt_onnx_graph.h: models become graphs that compute the same, or are refused with sentences

   The operators are tested by `make suite-onnx`; here are sizes, names, functions, branches, budgets and refusals. */
#include "qnnrt_onnx_graph.h"
#include "onnx_bytes.h"
#include "test.h"

static onnx_bytes m;                 /* the model that a test writes */
static qnnrt_onnx *onnx;
static qnnrt_ir *ir;
static qnnrt_error err;

static void done(void)
{
    qnnrt_ir_free(ir);
    qnnrt_onnx_free(onnx);
    ir = NULL;
    onnx = NULL;
}

/* Read m and convert it. */
static qnnrt_result convert(const qnnrt_onnx_graph_desc *desc)
{
    done();
    memset(&err, 0xFF, sizeof err);
    if (qnnrt_onnx_read(m.data, m.bytes, NULL, &onnx, &err) != QNNRT_OK) return QNNRT_E_FORMAT;
    return qnnrt_onnx_to_ir(onnx, desc, &ir, &err);
}

/* Run the graph, which has one input and one output of floats. */
static void run(const float *x, float *y)
{
    const void *in[1];
    void *out[1];
    in[0] = x;
    out[0] = y;
    CHECK_EQ(qnnrt_ir_run(ir, NULL, in, out, &err), QNNRT_OK);
}

static void node(const char *op, const char *inputs, const char *outputs)
{
    const size_t at = put_begin(&m, 1);
    put_words(&m, 1, inputs);
    put_words(&m, 2, outputs);
    put_text(&m, 4, op);
    put_end(&m, at);
}

static void node_int(const char *op, const char *inputs, const char *outputs, const char *name, int64_t value)
{
    const size_t at = put_begin(&m, 1);
    size_t attr;
    put_words(&m, 1, inputs);
    put_words(&m, 2, outputs);
    put_text(&m, 4, op);
    attr = put_begin(&m, 5);
    put_text(&m, 1, name);
    put_int(&m, 3, value);
    put_int(&m, 20, 2);
    put_end(&m, attr);
    put_end(&m, at);
}

static void int64s(const char *name, const char *dims, const int64_t *values, size_t count)
{
    const size_t at = put_tensor(&m, 5, name, 7, dims);
    put_bytes(&m, 9, values, count * 8);
    put_end(&m, at);
}

/* y = relu(x) of a named dimension. */
static void named(void)
{
    const size_t graph = put_model(&m);
    put_value(&m, 11, "x", 1, "batch 2");
    put_value(&m, 12, "y", 1, "batch 2");
    node("Relu", "x", "y");
    put_end(&m, graph);
}

TEST(onnx_graph_has_the_names_and_sizes_that_are_given)
{
    const qnnrt_onnx_dim_is dim = { "batch", 3 };
    const int64_t shape[] = { 2, 2 };
    const qnnrt_onnx_shape_is is = { "x", 2, shape };
    qnnrt_onnx_graph_desc desc;
    const float x[] = { -1, 2, -3, 4, 5, -6 };
    float y[6];
    memset(&desc, 0, sizeof desc);
    named();
    CHECK_EQ(convert(NULL), QNNRT_E_ARG);
    CHECK_STR(err.text, "dimension 0 is \"batch\", whose size is not known");
    desc.dims = &dim;
    desc.dim_count = 1;
    CHECK_EQ(convert(&desc), QNNRT_OK);
    CHECK(strcmp(ir->inputs[0]->name, "x") == 0 && strcmp(ir->outputs[0]->name, "y") == 0);
    CHECK_EQ(ir->outputs[0]->dims[0], 3);
    run(x, y);
    CHECK(y[0] == 0 && y[1] == 2 && y[5] == 0);
    desc.shapes = &is;
    desc.shape_count = 1;
    CHECK_EQ(convert(&desc), QNNRT_OK);
    CHECK_EQ(ir->outputs[0]->dims[0], 2);
    done();
}

TEST(onnx_graph_binds_inputs_and_folds_shapes)
{
    const int64_t minus[] = { -1 }, axes[] = { 1 }, wrong[1] = { 3 };
    qnnrt_onnx_bind bind = { "axes", axes, sizeof axes };
    qnnrt_onnx_graph_desc desc;
    const float x[] = { 1, 2, 3, 4, 5, 6 };
    float y[2];
    size_t graph;
    memset(&desc, 0, sizeof desc);
    graph = put_model(&m);
    put_value(&m, 11, "x", 1, "2 3");
    put_value(&m, 11, "axes", 7, "1");
    put_value(&m, 12, "y", 1, "2");
    int64s("minus", "1", minus, 1);
    node("Shape", "x", "s");
    node("Reshape", "x minus", "flat");
    node("Reshape", "flat s", "r");
    node_int("ReduceSum", "r axes", "y", "keepdims", 0);
    put_end(&m, graph);
    CHECK_EQ(convert(NULL), QNNRT_E_ARG);
    CHECK_STR(err.text, "axes is the input \"axes\", which must be known: bind it (--bind axes=VALUE)");
    desc.binds = &bind;
    desc.bind_count = 1;
    CHECK_EQ(convert(&desc), QNNRT_OK);
    CHECK_EQ(ir->input_count, 1);
    run(x, y);
    CHECK(y[0] == 6 && y[1] == 15);
    bind.bytes = 4;
    CHECK_EQ(convert(&desc), QNNRT_E_MISMATCH);
    bind.bytes = 8;
    bind.data = wrong;
    CHECK_EQ(convert(&desc), QNNRT_E_ARG);
    CHECK_STR(err.text, "axis 3 of a tensor of 2 dimensions");
    bind.input = "z";
    CHECK_EQ(convert(&desc), QNNRT_E_ARG);
    CHECK_STR(err.text, "the model has no input \"z\"");
    done();
}

/* A branch reads outer names and may hide them; its condition is known. */
TEST(onnx_graph_takes_the_branch_of_an_if)
{
    const float x[] = { -1, 2 };
    float y[2];
    size_t graph, at, attr, branch;
    int i;
    const int64_t yes[] = { 1 };
    graph = put_model(&m);
    put_value(&m, 11, "x", 1, "2");
    put_value(&m, 12, "y", 1, "2");
    int64s("one", "1", yes, 1);
    node("Equal", "one one", "c");
    at = put_begin(&m, 1);
    put_words(&m, 1, "c");
    put_words(&m, 2, "y");
    put_text(&m, 4, "If");
    for (i = 0; i < 2; ++i) {
        attr = put_begin(&m, 5);
        put_text(&m, 1, i == 0 ? "then_branch" : "else_branch");
        branch = put_begin(&m, 6);
        put_text(&m, 2, "b");
        node(i == 0 ? "Neg" : "Relu", "x", "x2");
        put_value(&m, 12, "x2", 1, "2");
        put_end(&m, branch);
        put_int(&m, 20, 5);
        put_end(&m, attr);
    }
    put_end(&m, at);
    put_end(&m, graph);
    CHECK_EQ(convert(NULL), QNNRT_OK);
    run(x, y);
    CHECK(y[0] == 1 && y[1] == -2);
    done();
}

TEST(onnx_graph_lists_all_that_it_does_not_know)
{
    size_t graph = put_model(&m);
    put_value(&m, 11, "x", 1, "2");
    put_value(&m, 12, "y", 1, "2");
    put_value(&m, 12, "z", 1, "2");
    node("Frobnicate", "x", "f");
    node("Relu", "f", "y");
    node_int("Abs", "x", "z", "odd", 1);
    put_end(&m, graph);
    CHECK_EQ(convert(NULL), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "node \"f\" (Frobnicate): the operator is not known");
    CHECK_STR(err.text, "node \"z\" (Abs): attribute \"odd\" is not known");
    CHECK(strstr(err.text, "Relu") == NULL && ir == NULL);
    m.bytes = 0;
    put_int(&m, 1, 8);
    put_opset(&m, 8, "", 99);
    graph = put_begin(&m, 7);
    put_text(&m, 2, "graph");
    put_end(&m, graph);
    CHECK_EQ(convert(NULL), QNNRT_E_VERSION);
    CHECK_STR(err.text, "opset 99 is newer than 28");
    done();
}

/* A small file may not ask for much memory. */
TEST(onnx_graph_computes_within_a_budget)
{
    const int64_t dims[] = { 1 << 15, 1 << 15 };
    const size_t graph = put_model(&m);
    put_value(&m, 12, "y", 1, NULL);
    int64s("dims", "2", dims, 2);
    node("ConstantOfShape", "dims", "y");
    put_end(&m, graph);
    CHECK_EQ(convert(NULL), QNNRT_E_LIMIT);
    CHECK_STR(err.text, "(ConstantOfShape)");
    done();
}

TEST(onnx_graph_says_what_is_wrong_with_arguments)
{
    CHECK_EQ(qnnrt_onnx_to_ir(NULL, NULL, &ir, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "NULL");
    named();
    CHECK_EQ(convert(NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_onnx_to_ir(onnx, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_onnx_to_ir(onnx, NULL, &ir, NULL), QNNRT_E_ARG);
    done();
}

TEST_MAIN("onnx_graph")
{
    RUN(onnx_graph_has_the_names_and_sizes_that_are_given);
    RUN(onnx_graph_binds_inputs_and_folds_shapes);
    RUN(onnx_graph_takes_the_branch_of_an_if);
    RUN(onnx_graph_lists_all_that_it_does_not_know);
    RUN(onnx_graph_computes_within_a_budget);
    RUN(onnx_graph_says_what_is_wrong_with_arguments);
}
