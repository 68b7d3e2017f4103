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

TEST_MAIN("lower")
{
    RUN(lower_has_a_rule_for_each_operator_of_the_contract);
    RUN(lower_computes_what_pytorch_computes);
}
