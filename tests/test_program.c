/* test_program.c - qnnrt_program.h: random programs over two libraries and the host, and what goes wrong

   A random graph with random pins is divided, compiled for libQnnRef.so in two roles, wired and run. It gives what
   qnnrt_ir_run() gives, which knows no backends. PROGRAMS=N in the environment tries another number. */
#define QNNRT_COMPOSE
#include "qnnrt_program.h"
#include "ref.h"
#include "random_run.h"

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

/* Run a pipeline; return the largest relative difference from what the evaluator computed. */
static double differ(qnnrt_pipeline *pipeline, const random_run *r)
{
    qnnrt_plan_desc plan_desc;
    qnnrt_entry_desc entry;
    qnnrt_plan *plan = NULL;
    qnnrt_mem *mem = NULL;
    qnnrt_run *run = NULL;
    qnnrt_result result;
    double worst = HUGE_VAL;
    memset(&plan_desc, 0, sizeof(plan_desc));
    memset(&entry, 0, sizeof(entry));
    entry.pipeline = pipeline;
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    result = qnnrt_plan_create(&plan_desc, &plan, &err);
    if (result == QNNRT_OK) result = qnnrt_mem_create(plan, NULL, &mem, &err);
    if (result == QNNRT_OK) result = qnnrt_run_create(mem, 0, &run, &err);
    if (result == QNNRT_OK) worst = random_run_differs(r, run);
    else printf("    %s\n", err.text);
    qnnrt_run_destroy(run);
    qnnrt_mem_destroy(mem);
    qnnrt_plan_destroy(plan);
    return worst;
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
static double divided(const bench *b, random_run *r, size_t *steps)
{
    qnnrt_ir *ir = r->ir;
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
        if (draw(&r->p, 3) == 0) continue;
        pins[desc.pin_count].node = ir->nodes[i]->name;
        pins[desc.pin_count++].role = b->backends[i == 0 ? draw(&r->p, 2) : draw(&r->p, 3)].role;
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
        if (result == QNNRT_OK) worst = differ(pipeline, r);
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
    random_run *r = (random_run *)malloc(sizeof(*r));
    unsigned long i, ran = 0;
    size_t steps = 0;
    if (r == NULL) abort();
    open_backends(&b);
    for (i = 0; i < programs; ++i) {
        double d;
        if (!random_run_make(r, (uint32_t)i)) continue;
        d = divided(&b, r, &steps);
        if (!(d <= 1e-5)) printf("    program %lu: %g\n%s\n", i, d, r->p.text);
        CHECK(d <= 1e-5);
        ran += d >= 0;
        random_run_end(r);
    }
    printf("    %lu of %lu programs ran, in %.1f steps\n", ran, programs, (double)steps / (double)(ran > 0 ? ran : 1));
    CHECK(ran * 10 >= programs * 7);
    CHECK(2 * steps > 3 * ran);
    close_backends(&b);
    free(r);
}

TEST_MAIN("program")
{
    RUN(program_random_programs_are_right);
}
