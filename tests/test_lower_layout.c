/* test_lower_layout.c - qnnrt_lower.h: random programs, in every order of axes

   A random graph permutes, reshapes, joins, cuts, reduces and computes. Lowered and run on libQnnRef.so, in one
   context or several, it gives what qnnrt_ir_run() gives, which knows no layouts. LAYOUT_PROGRAMS=N in the
   environment tries another number of programs. */
#define QNNRT_COMPOSE
#include "qnnrt_lower.h"
#include "ref.h"
#include "test.h"
#include <math.h>
#include "random_program.h"

static qnnrt_error err;

/* Lower a graph and run it; compare with expected outputs. Return the largest difference. */
static double lowered(qnnrt_backend *backend, const qnnrt_ir *ir, uint32_t contexts, int watch,
                      const float *const *inputs, float *const *expected)
{
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_result result;
    double worst = 0;
    size_t i, k;
    memset(&desc, 0, sizeof(desc));
    desc.contexts = contexts;
    desc.watch = watch;
    result = qnnrt_lower_create(&desc, &lower, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_graph(lower, ir, "random", &err);
    if (result == QNNRT_OK) result = qnnrt_builder_create(backend, NULL, &builder, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_emit(lower, builder, &err);
    if (result == QNNRT_OK) result = qnnrt_builder_finish(builder, &model, &err);
    if (result == QNNRT_OK) result = qnnrt_prepare(model, NULL, &run, &err);
    for (i = 0; i < ir->input_count && result == QNNRT_OK; ++i) {
        const qnnrt_lower_graph_info *info = &qnnrt_lower_get_info(lower)->graphs[0];
        if (info->inputs[i] == 0) continue;                     /* nothing reads it */
        result = qnnrt_write_f32(run, qnnrt_run_slot(run, ir->inputs[i]->name), 0, inputs[i], (size_t)ir->inputs[i]->count);
        if (result != QNNRT_OK) err = *qnnrt_run_error(run);
    }
    if (result == QNNRT_OK && (result = qnnrt_exec(run)) != QNNRT_OK) err = *qnnrt_run_error(run);
    for (i = 0; i < ir->output_count && result == QNNRT_OK; ++i) {
        const size_t count = (size_t)ir->outputs[i]->count;
        float *data = (float *)malloc(count * sizeof(float));
        double most = 1e-3;
        if (data == NULL) abort();
        result = qnnrt_read_f32(run, qnnrt_run_slot(run, ir->outputs[i]->name), 0, data, count);
        if (result != QNNRT_OK) err = *qnnrt_run_error(run);
        for (k = 0; k < count; ++k) if (fabs((double)expected[i][k]) > most) most = fabs((double)expected[i][k]);
        for (k = 0; k < count && result == QNNRT_OK; ++k) {
            const double d = fabs((double)data[k] - (double)expected[i][k]) / most;
            if (!(d <= worst)) worst = isnan(d) ? HUGE_VAL : d;
        }
        free(data);
    }
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    qnnrt_lower_free(lower);
    if (result != QNNRT_OK) {
        printf("    %s\n", err.text);
        return HUGE_VAL;
    }
    return worst;
}

TEST(lower_layout_random_programs_are_right)
{
    const char *wanted = getenv("LAYOUT_PROGRAMS");
    const unsigned long programs = wanted != NULL ? strtoul(wanted, NULL, 10) : 1000;
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    program *p = (program *)malloc(sizeof(*p));
    unsigned long i, ran = 0;
    if (p == NULL) abort();
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_REF_LIB;
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, &err), QNNRT_OK);
    for (i = 0; i < programs; ++i) {
        float *inputs[2], *outputs[3] = { NULL, NULL, NULL };
        qnnrt_ir *ir = NULL;
        size_t k, n;
        uint32_t way;
        write_program(p, (uint32_t)i);
        if (p->count < 3) continue;
        if (qnnrt_ir_read(p->text, p->used, NULL, &ir, &err) != QNNRT_OK || qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK) {
            printf("    program %lu: %s\n%s\n", i, err.text, p->text);
            CHECK(0);
        }
        for (k = 0; k < 2; ++k) {
            const size_t count = (size_t)ir->inputs[k]->count;
            inputs[k] = (float *)malloc(count * sizeof(float));
            if (inputs[k] == NULL) abort();
            for (n = 0; n < count; ++n) inputs[k][n] = (float)draw(p, 2001) / 1000 - 1;
        }
        for (k = 0; k < ir->output_count; ++k) {
            outputs[k] = (float *)malloc((size_t)ir->outputs[k]->count * sizeof(float));
            if (outputs[k] == NULL) abort();
        }
        CHECK_EQ(qnnrt_ir_run(ir, NULL, (const void *const *)inputs, (void *const *)outputs, &err), QNNRT_OK);
        for (way = 0; way < 3; ++way) {
            double d;
            if (way > 0 && i % 4 != 0) continue;
            for (k = 0; k < ir->value_count; ++k) ir->values[k]->note = NULL;
            d = lowered(backend, ir, way == 1 ? 3 : 1, way == 2, (const float *const *)inputs, outputs);
            if (!(d <= 1e-5)) printf("    program %lu, way %u: %g\n%s\n", i, (unsigned)way, d, p->text);
            CHECK(d <= 1e-5);
            ++ran;
        }
        for (k = 0; k < 2; ++k) free(inputs[k]);
        for (k = 0; k < 3; ++k) free(outputs[k]);
        qnnrt_ir_free(ir);
    }
    CHECK(ran >= programs);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    free(p);
}

TEST_MAIN("lower_layout")
{
    RUN(lower_layout_random_programs_are_right);
}
