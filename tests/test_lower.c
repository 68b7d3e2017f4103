/* test_lower.c - qnnrt_lower.h: every recorded operator, lowered and run on libQnnRef.so

   The expected values are PyTorch's (tests/record_ir.py). */
#include "lower_case.h"
#include "ref.h"
#include "test.h"

TEST(lower_computes_what_pytorch_computes)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    qnnrt_ir *ir = NULL;
    qnnrt_error err;
    size_t bytes, i, good = 0;
    int whole;
    void *text = test_read_file("tests/data/ir/ops.json", &bytes);
    CHECK(text != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_REF_LIB;
    CHECK_EQ(qnnrt_ir_read((const char *)text, bytes, NULL, &ir, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, &err), QNNRT_OK);
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        int half = 0;
        size_t k;
        if (strstr(node->op, "_.") != NULL || node->input_count == 0) continue;
        for (k = 0; k < node->input_count; ++k)
            half |= node->inputs[k] != NULL && (node->inputs[k]->dtype == QNNRT_DTYPE_F16 || node->inputs[k]->dtype == QNNRT_DTYPE_BF16);
        for (k = 0; k < node->output_count; ++k)
            half |= node->outputs[k]->dtype == QNNRT_DTYPE_F16 || node->outputs[k]->dtype == QNNRT_DTYPE_BF16 || node->outputs[k]->count == 0;
        for (whole = 0; whole < 2; ++whole) {
            lower_case result;
            lower_run_case(backend, ir, i, whole, &result);
            if (result.outcome == LOWER_GOOD && !(result.error <= (half ? 1e-2 : 1e-5)))
                printf("    %s (%s): error %g\n", node->name, node->op, result.error);
            CHECK(result.outcome != LOWER_GOOD || result.error <= (half ? 1e-2 : 1e-5));
            good += result.outcome == LOWER_GOOD;
        }
    }
    printf("    %lu cases are right\n", (unsigned long)good);
    CHECK(good >= 1220);
    qnnrt_ir_free(ir);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    free(text);
}

/* ---- the operators of the issue ---- */

/* True if a rule lowers an operator, or a pass takes it away before. */
static int lowers(const char *op)
{
    static const char *const passes[] = { "detach_.default", "_assert_tensor_metadata.default", "getitem", "rope" };
    const qnnrt_lower_rule *rule;
    char name[100];
    const char *dot = strchr(op, '.');
    size_t i;
    for (i = 0; i < sizeof(passes) / sizeof(passes[0]); ++i) if (strcmp(passes[i], op) == 0) return 1;
    snprintf(name, sizeof name, "%s", op);
    if (dot != NULL && dot > op && dot[-1] == '_' && (dot - op < 2 || dot[-2] != '_'))   /* "relu_": qnnrt_ir_pass_inplace() */
        snprintf(name, sizeof name, "%.*s%s", (int)(dot - op) - 1, op, dot);
    for (i = 0; (rule = qnnrt_lower_rule_get(i)) != NULL; ++i) {
        const size_t length = strlen(rule->op);
        if (strcmp(rule->op, name) == 0) return 1;
        if (rule->op[length - 1] == '*' && strncmp(rule->op, name, length - 1) == 0) return 1;
    }
    return 0;
}

TEST(lower_has_a_rule_for_each_operator_of_the_contract)
{
    static const char *const ops[] = {
        /* the 41 of the contract */
        "conv2d.default", "relu.default", "relu_.default", "batch_norm.default", "max_pool2d.default",
        "adaptive_avg_pool2d.default", "linear.default", "matmul.default", "addmm.default", "t.default", "add.Tensor", "add_.Tensor",
        "mul.Tensor", "div.Tensor", "silu.default", "neg.default", "rsqrt.default", "cos.default", "sin.default",
        "pow.Tensor_Scalar", "embedding.default", "transpose.int", "cat.default", "slice.Tensor", "expand.default",
        "index_copy.default", "softmax.int", "mean.dim", "full.default", "reshape.default", "view.default", "flatten.using_ints",
        "contiguous.default", "unsqueeze.default", "alias.default", "detach_.default", "to.dtype", "dropout.default", "getitem",
        "_assert_tensor_metadata.default", "rope",
        /* what 62 public architectures need besides */
        "scaled_dot_product_attention.default", "tanh.default", "avg_pool2d.default", "chunk.default", "hardtanh_.default",
        "hardsigmoid.default", "hardswish.default", "hardswish_.default", "upsample_nearest2d.vec", "upsample_bilinear2d.vec",
        "gelu.default", "layer_norm.default", "permute.default", "select.int", "unbind.int", "sigmoid.default", "conv1d.default",
        "sub.Tensor", "group_norm.default", "to.dtype_layout", "silu_.default", "split.Tensor", "split_with_sizes.default",
        "type_as.default", "pad.default", "roll.default", "reshape_as.default", "clamp_min.default", "expand_as.default",
        "linalg_vector_norm.default", "__and__.Tensor", "index.Tensor", "to.device", "where.ScalarOther",
    };
    size_t i;
    for (i = 0; i < sizeof(ops) / sizeof(ops[0]); ++i) {
        if (!lowers(ops[i])) printf("    no rule for %s\n", ops[i]);
        CHECK(lowers(ops[i]));
    }
    CHECK(!lowers("conv9d.default"));
}

/* ---- graphs of a few nodes ---- */

#define T(name, shape) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"float32\"}"
#define NODE(name, op, in, out, attrs)                                                                                           \
    "{\"name\":\"" name "\",\"op_type\":\"aten." op "\",\"inputs\":[" in "],\"outputs\":[" out "],\"attrs\":{" attrs "}}"
#define GRAPH(in, out, nodes)                                                                                                    \
    "{\"graph_inputs\":[" in "],\"graph_outputs\":[" out "],\"weights\":[],\"weight_name_mapping\":{},\"nodes\":[" nodes "]}"

/* Lower a graph. The caller frees both. Return NULL after an error. */
static qnnrt_lower *lower_text(const char *text, qnnrt_dtype compute, qnnrt_ir **ir)
{
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    desc.compute = compute;
    if (qnnrt_ir_read(text, strlen(text), NULL, ir, &err) != QNNRT_OK || qnnrt_ir_check(*ir, NULL, NULL, &err) != QNNRT_OK ||
        qnnrt_lower_create(&desc, &lower, &err) != QNNRT_OK || qnnrt_lower_passes(lower, *ir, &err) != QNNRT_OK ||
        qnnrt_lower_graph(lower, *ir, "g", &err) != QNNRT_OK) {
        printf("    %s\n", err.text);
        return NULL;
    }
    return lower;
}

static size_t count_ops(qnnrt_lower *lower, const char *type)
{
    const qnnrt_lower_graph_info *graph = &qnnrt_lower_get_info(lower)->graphs[0];
    size_t i, count = 0;
    for (i = 0; i < graph->op_count; ++i) count += graph->ops[i].used && strcmp(graph->ops[i].type, type) == 0;
    return count;
}

/* Queries, keys and values of attention: what a permutation moved to the front is sliced there. */
TEST(lower_transposes_once_before_slices_of_the_first_axis)
{
    static const char text[] = GRAPH(T("x", "[1,4,18]"), T("q", "[1,2,4,3]") "," T("k", "[1,2,4,3]") "," T("v", "[1,2,4,3]"),
        NODE("r", "reshape.default", T("x", "[1,4,18]"), T("r", "[1,4,3,2,3]"), "\"shape\":[1,4,3,2,3]") ","
        NODE("p", "permute.default", T("r", "[1,4,3,2,3]"), T("p", "[3,1,2,4,3]"), "\"dims\":[2,0,3,1,4]") ","
        NODE("u", "unbind.int", T("p", "[3,1,2,4,3]"), T("q", "[1,2,4,3]") "," T("k", "[1,2,4,3]") "," T("v", "[1,2,4,3]"), ""));
    qnnrt_ir *ir = NULL;
    qnnrt_lower *lower = lower_text(text, QNNRT_DTYPE_F32, &ir);
    CHECK(lower != NULL);
    CHECK_EQ(count_ops(lower, "Transpose"), 1);
    CHECK_EQ(count_ops(lower, "StridedSlice"), 3);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
}

/* float16 ends at 6e-8: an epsilon below it must not become 0. */
TEST(lower_keeps_an_epsilon_in_float16)
{
    static const char text[] = GRAPH(T("x", "[2]"), T("y", "[2]"),
        NODE("e", "add.Scalar", T("x", "[2]"), T("e", "[2]"), "\"other\":1e-12") ","
        NODE("y", "rsqrt.default", T("e", "[2]"), T("y", "[2]"), ""));
    const float x[2] = { 0, 4 };
    float y[2] = { 0, 0 };
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_ir *ir = NULL;
    qnnrt_lower *lower = lower_text(text, QNNRT_DTYPE_F16, &ir);
    qnnrt_error err;
    CHECK(lower != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_REF_LIB;
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_emit(lower, builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_finish(builder, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, 2), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, 2), QNNRT_OK);
    CHECK(y[0] > 1000 && y[0] < 65504);
    CHECK(fabs(y[1] - 0.5) < 1e-3);
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST_MAIN("lower")
{
    RUN(lower_transposes_once_before_slices_of_the_first_axis);
    RUN(lower_keeps_an_epsilon_in_float16);
    RUN(lower_has_a_rule_for_each_operator_of_the_contract);
    RUN(lower_computes_what_pytorch_computes);
}
