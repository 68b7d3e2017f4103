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

TEST_MAIN("lower")
{
    RUN(lower_computes_what_pytorch_computes);
}
