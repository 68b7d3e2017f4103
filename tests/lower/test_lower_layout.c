/* test_lower_layout.c - qnnrt_lower.h: random programs, in every order of axes

   A random graph permutes, reshapes, joins, cuts, reduces and computes. Lowered and run on libQnnRef.so, in one
   context or several, it gives what qnnrt_ir_run() gives, which knows no layouts. LAYOUT_PROGRAMS=N in the
   environment tries another number of programs. */
#include "qnnrt_lower.h"
#include "ref.h"
#include "random_run.h"
#include "backend.h"

static qnnrt_error err;

/* Lower a graph and run it. Return the largest difference from what the evaluator computed. */
static double lowered(qnnrt_backend *backend, const random_run *r, uint32_t contexts, int watch)
{
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_result result;
    double worst = HUGE_VAL;
    memset(&desc, 0, sizeof(desc));
    desc.contexts = contexts;
    desc.watch = watch;
    result = qnnrt_lower_create(&desc, &lower, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_graph(lower, r->ir, "random", &err);
    if (result == QNNRT_OK) result = qnnrt_builder_create(backend, NULL, &builder, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_emit(lower, builder, &err);
    if (result == QNNRT_OK) result = qnnrt_builder_finish(builder, &model, &err);
    if (result == QNNRT_OK) result = qnnrt_prepare(model, NULL, &run, &err);
    if (result == QNNRT_OK) worst = random_run_differs(r, run);
    else printf("    %s\n", err.text);
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    qnnrt_lower_free(lower);
    return worst;
}

TEST(lower_layout_random_programs_are_right)
{
    const char *wanted = getenv("LAYOUT_PROGRAMS");
    const unsigned long programs = wanted != NULL ? strtoul(wanted, NULL, 10) : 1000;
    qnnrt_backend *backend = NULL;
    random_run *r = (random_run *)malloc(sizeof(*r));
    unsigned long i, ran = 0;
    if (r == NULL) abort();
    CHECK_EQ(test_ref_backend(&backend, &err), QNNRT_OK);
    for (i = 0; i < programs; ++i) {
        size_t k;
        uint32_t way;
        if (!random_run_make(r, (uint32_t)i)) continue;
        for (way = 0; way < 3; ++way) {
            double d;
            if (way > 0 && i % 4 != 0) continue;
            for (k = 0; k < r->ir->value_count; ++k) r->ir->values[k]->note = NULL;
            d = lowered(backend, r, way == 1 ? 3 : 1, way == 2);
            if (!(d <= 1e-5)) printf("    program %lu, way %u: %g\n%s\n", i, (unsigned)way, d, r->p.text);
            CHECK(d <= 1e-5);
            ++ran;
        }
        random_run_end(r);
    }
    CHECK(ran >= programs);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    free(r);
}

TEST_MAIN("lower_layout")
{
    RUN(lower_layout_random_programs_are_right);
}
