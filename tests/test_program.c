/* test_program.c - qnnrt_program.h: random programs over two libraries and the host, and what goes wrong

   A random graph with random pins is divided, compiled for libQnnRef.so in two roles, wired and run. It gives what
   qnnrt_ir_run() gives, which knows no backends. PROGRAMS=N in the environment tries another number. */
#define QNNRT_COMPOSE
#include "qnnrt_program.h"
#include "ref.h"
#include "test.h"
#include <math.h>
#include "random_program.h"

static qnnrt_error err;

/* Compute a step of the host with the evaluator. */
static qnnrt_result compute(void *user, const qnnrt_graph_info *step, const void *const *inputs, void *const *outputs,
                            qnnrt_error *why)
{
    (void)step;
    return qnnrt_ir_run((qnnrt_ir *)user, NULL, inputs, outputs, why);
}

/* Make the pipeline of a graph of a program: its description names contexts of the folder, not of models. */
static qnnrt_result wire(const qnnrt_program_info *info, const qnnrt_program_graph *graph, qnnrt_pipeline **out)
{
    qnnrt_pipeline_desc desc = *graph->pipeline;
    qnnrt_step_desc *steps = (qnnrt_step_desc *)calloc(desc.step_count, sizeof(*steps));
    qnnrt_host_step *hosts = (qnnrt_host_step *)calloc(desc.step_count, sizeof(*hosts));
    qnnrt_result result;
    size_t i;
    if (steps == NULL || hosts == NULL) abort();
    for (i = 0; i < desc.step_count; ++i) {
        steps[i] = desc.steps[i];
        if (steps[i].host != NULL) {
            hosts[i] = *steps[i].host;
            hosts[i].exec = compute;
            hosts[i].user = (void *)(uintptr_t)graph->steps[i].ir;
            steps[i].host = &hosts[i];
        } else {
            steps[i].model = info->contexts[desc.steps[i].context].model;
            steps[i].context = info->contexts[desc.steps[i].context].number;
        }
    }
    desc.steps = steps;
    result = qnnrt_pipeline_make(&desc, out, &err);
    free(steps);
    free(hosts);
    return result;
}

/* Run a pipeline; return the largest relative difference from the expected outputs. */
static double differ(qnnrt_pipeline *pipeline, const qnnrt_ir *ir, const float *const *inputs, float *const *expected)
{
    qnnrt_plan_desc plan_desc;
    qnnrt_entry_desc entry;
    qnnrt_plan *plan = NULL;
    qnnrt_mem *mem = NULL;
    qnnrt_run *run = NULL;
    qnnrt_result result;
    double worst = 0;
    size_t i, k;
    memset(&plan_desc, 0, sizeof(plan_desc));
    memset(&entry, 0, sizeof(entry));
    entry.pipeline = pipeline;
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    result = qnnrt_plan_create(&plan_desc, &plan, &err);
    if (result == QNNRT_OK) result = qnnrt_mem_create(plan, NULL, &mem, &err);
    if (result == QNNRT_OK) result = qnnrt_run_create(mem, 0, &run, &err);
    for (i = 0; i < ir->input_count && result == QNNRT_OK; ++i) {
        const qnnrt_slot slot = qnnrt_run_slot(run, ir->inputs[i]->name);
        if (slot == QNNRT_NO_SLOT) continue;                    /* nothing reads it */
        result = qnnrt_write_f32(run, slot, 0, inputs[i], (size_t)ir->inputs[i]->count);
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
    qnnrt_mem_destroy(mem);
    qnnrt_plan_destroy(plan);
    if (result == QNNRT_OK) return worst;
    printf("    %s\n", err.text);
    return HUGE_VAL;
}

typedef struct bench { qnnrt_program_backend backends[3]; } bench;

static void open_backends(bench *b)
{
    static const char *const roles[] = { "npu", "cpu", "host" };
    size_t i;
    memset(b, 0, sizeof(*b));
    for (i = 0; i < 3; ++i) {
        qnnrt_backend_desc desc;
        memset(&desc, 0, sizeof(desc));
        desc.path = TEST_REF_LIB;
        b->backends[i].role = roles[i];
        if (i < 2) CHECK_EQ(qnnrt_backend_open(&desc, &b->backends[i].backend, &err), QNNRT_OK);
    }
}

static void close_backends(bench *b)
{
    CHECK_EQ(qnnrt_backend_close(b->backends[0].backend), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(b->backends[1].backend), QNNRT_OK);
}

/* Divide a graph with random pins, compile and run it. Return the largest difference. */
static double divided(const bench *b, program *p, qnnrt_ir *ir, size_t *steps, const float *const *inputs,
                      float *const *expected)
{
    qnnrt_program_desc desc;
    qnnrt_program_pin *pins = (qnnrt_program_pin *)calloc(ir->node_count, sizeof(*pins));
    qnnrt_program *prog = NULL;
    qnnrt_pipeline *pipeline = NULL;
    qnnrt_result result;
    double worst = HUGE_VAL;
    size_t i;
    if (pins == NULL) abort();
    memset(&desc, 0, sizeof(desc));
    desc.backends = b->backends;
    desc.backend_count = 3;
    result = qnnrt_program_create(&desc, &prog, &err);
    if (result == QNNRT_OK) result = qnnrt_program_add(prog, ir, NULL, "random", &err);
    qnnrt_program_free(prog);                    /* the passes ran: pins name the nodes that are left */
    prog = NULL;
    for (i = 0; i < ir->value_count; ++i) ir->values[i]->note = NULL;
    for (i = 0; i < ir->node_count && result == QNNRT_OK; ++i) {
        if (draw(p, 3) == 0) continue;
        pins[desc.pin_count].node = ir->nodes[i]->name;
        pins[desc.pin_count++].role = b->backends[i == 0 ? draw(p, 2) : draw(p, 3)].role;
    }
    desc.pins = pins;
    if (result == QNNRT_OK) result = qnnrt_program_create(&desc, &prog, &err);
    if (result == QNNRT_OK) result = qnnrt_program_add(prog, ir, NULL, "random", &err);
    if (result == QNNRT_OK) result = qnnrt_program_build(prog, &err);
    if (result == QNNRT_E_UNSUPPORTED && strstr(err.text, "the host would compute all nodes") != NULL) worst = -1;
    if (result == QNNRT_OK) {
        const qnnrt_program_info *info = qnnrt_program_get_info(prog);
        *steps += info->graphs[0].step_count;
        result = wire(info, &info->graphs[0], &pipeline);
        if (result == QNNRT_OK) worst = differ(pipeline, ir, inputs, expected);
        qnnrt_pipeline_destroy(pipeline);
    }
    if (result != QNNRT_OK && worst > 0) printf("    %s\n", err.text);
    qnnrt_program_free(prog);
    free(pins);
    return worst;
}

TEST(program_random_programs_are_right)
{
    const char *wanted = getenv("PROGRAMS");
    const unsigned long programs = wanted != NULL ? strtoul(wanted, NULL, 10) : 300;
    bench b;
    program *p = (program *)malloc(sizeof(*p));
    unsigned long i, ran = 0;
    size_t steps = 0;
    if (p == NULL) abort();
    open_backends(&b);
    for (i = 0; i < programs; ++i) {
        float *inputs[2], *outputs[3] = { NULL, NULL, NULL };
        qnnrt_ir *ir = NULL;
        size_t k, n;
        double d;
        write_program(p, (uint32_t)i);
        if (p->count < 3) continue;
        CHECK_EQ(qnnrt_ir_read(p->text, p->used, NULL, &ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
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
        for (k = 0; k < ir->value_count; ++k) ir->values[k]->note = NULL;
        d = divided(&b, p, ir, &steps, (const float *const *)inputs, outputs);
        if (!(d <= 1e-5)) printf("    program %lu: %g\n%s\n", i, d, p->text);
        CHECK(d <= 1e-5);
        ran += d >= 0;
        for (k = 0; k < 2; ++k) free(inputs[k]);
        for (k = 0; k < 3; ++k) free(outputs[k]);
        qnnrt_ir_free(ir);
    }
    printf("    %lu of %lu programs ran, in %.1f steps\n", ran, programs, (double)steps / (double)(ran > 0 ? ran : 1));
    CHECK(ran * 10 >= programs * 7);
    CHECK(2 * steps > 3 * ran);
    close_backends(&b);
    free(p);
}

TEST_MAIN("program")
{
    RUN(program_random_programs_are_right);
}
