/* test_program.c - qnnrt_compile.h: random programs over two libraries and the host, and what goes wrong

   A random graph with random pins is divided, compiled for libQnnRef.so in two roles, wired and run. It gives what
   qnnrt_ir_run() gives, which knows no backends. PROGRAMS=N in the environment tries another number. */
#include "qnnrt_compile.h"
#include "ref.h"
#include "converted.h"
#include "random_run.h"
#include "backend.h"

static qnnrt_error err;

/* Compute a step of the host with the evaluator. */
static qnnrt_result compute(void *user, const qnnrt_graph_info *step, const void *const *inputs, void *const *outputs,
                            qnnrt_error *why)
{
    (void)step;
    return qnnrt_ir_run((qnnrt_ir *)user, NULL, inputs, outputs, why);
}

/* Compute a step that is a function: its part reads the tensors by their names. */
static qnnrt_result compute_function(void *user, const qnnrt_graph_info *step, const void *const *inputs, void *const *outputs,
                                     qnnrt_error *why)
{
    qnnrt_ir *ir = (qnnrt_ir *)user;
    const qnnrt_ir_node *node = ir->nodes[0];
    const void *in[16];
    size_t i, k, at = 0;
    for (i = 0; i < node->input_count; ++i) {        /* in their order, each once */
        if (node->inputs[i] == NULL) continue;
        for (k = 0; k < at && strcmp(step->inputs[k].name, node->inputs[i]->name) != 0; ++k) {}
        if (k == at && (at == step->input_count || strcmp(step->inputs[at++].name, node->inputs[i]->name) != 0))
            return QNNRT_E_MISMATCH;
    }
    for (i = at; i < step->input_count; ++i)
        if (strncmp(step->inputs[i].name, "attr.", 5) != 0) return QNNRT_E_MISMATCH;
    for (i = 0; i < ir->input_count && i < 16; ++i)
        for (k = 0; k < at; ++k)
            if (strcmp(step->inputs[k].name, ir->inputs[i]->name) == 0) in[i] = inputs[k];
    return strcmp(step->name, node->op) == 0 ? qnnrt_ir_run(ir, NULL, in, outputs, why) : QNNRT_E_MISMATCH;
}

/* Make the pipeline of a graph of a program: its description names contexts of the folder, not of models. */
static qnnrt_result wire(const qnnrt_compile_info *info, const qnnrt_compile_graph *graph, qnnrt_conversions **conversions,
                         qnnrt_pipeline **out)
{
    qnnrt_pipeline_desc desc = *graph->pipeline;
    qnnrt_step_desc *steps = (qnnrt_step_desc *)calloc(desc.step_count, sizeof(*steps));
    qnnrt_host_step *hosts = (qnnrt_host_step *)calloc(desc.step_count, sizeof(*hosts));
    qnnrt_result result;
    size_t i, k;
    if (steps == NULL || hosts == NULL) abort();
    for (i = k = 0; i < desc.step_count; ++i) {
        steps[i] = desc.steps[i];
        if (steps[i].host != NULL) {
            hosts[i] = *steps[i].host;
            while (graph->steps[k].context != SIZE_MAX) ++k;
            hosts[i].exec = graph->steps[k].function != NULL ? compute_function : compute;
            hosts[i].user = (void *)(uintptr_t)graph->steps[k++].ir;
            steps[i].host = &hosts[i];
        } else {
            steps[i].model = info->contexts[desc.steps[i].context].model;
            steps[i].context = info->contexts[desc.steps[i].context].number;
        }
    }
    desc.steps = steps;
    result = converted_make(&desc, graph->conversions, NULL, conversions, out, &err);
    free(steps);
    free(hosts);
    return result;
}

/* A pipeline with all that it needs to run. */
typedef struct prepared { qnnrt_plan *plan; qnnrt_mem *mem; qnnrt_run *run; } prepared;

static int prepare(prepared *t, qnnrt_pipeline *pipeline)
{
    qnnrt_plan_desc plan_desc;
    qnnrt_entry_desc entry;
    memset(t, 0, sizeof(*t));
    memset(&plan_desc, 0, sizeof(plan_desc));
    memset(&entry, 0, sizeof(entry));
    entry.pipeline = pipeline;
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    if (qnnrt_plan_create(&plan_desc, &t->plan, &err) == QNNRT_OK && qnnrt_mem_create(t->plan, NULL, &t->mem, &err) == QNNRT_OK &&
        qnnrt_run_create(t->mem, 0, &t->run, &err) == QNNRT_OK) return 1;
    printf("    %s\n", err.text);
    return 0;
}

static void release(prepared *t)
{
    qnnrt_run_destroy(t->run);
    qnnrt_mem_destroy(t->mem);
    qnnrt_plan_destroy(t->plan);
}

/* Run a pipeline; return the largest relative difference from what the evaluator computed. */
static double differ(qnnrt_pipeline *pipeline, const random_run *r)
{
    prepared t;
    const double worst = prepare(&t, pipeline) ? random_run_differs(r, t.run) : HUGE_VAL;
    release(&t);
    return worst;
}

typedef struct bench { qnnrt_compile_backend backends[3]; } bench;

static void open_backends(bench *b)
{
    static const char *const roles[] = { "npu", "cpu", "host" };
    size_t i;
    memset(b, 0, sizeof(*b));
    for (i = 0; i < 3; ++i) {
        qnnrt_backend_desc desc;
        desc = test_ref_desc();
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
    qnnrt_compile_desc desc;
    qnnrt_compile_pin *pins = (qnnrt_compile_pin *)calloc(ir->node_count, sizeof(*pins));
    qnnrt_compile *prog = NULL;
    qnnrt_pipeline *pipeline = NULL;
    qnnrt_conversions *conversions = NULL;
    qnnrt_result result;
    double worst = HUGE_VAL;
    size_t i;
    const int alone = draw(&r->p, 8) == 0;       /* the host has all nodes */
    const char *function;
    if (pins == NULL) abort();
    memset(&desc, 0, sizeof(desc));
    desc.backends = b->backends + (alone ? 2 : 0);
    desc.backend_count = alone ? 1 : 3;
    result = qnnrt_compile_create(&desc, &prog, &err);
    if (result == QNNRT_OK) result = qnnrt_compile_add(prog, ir, NULL, "random", &err);
    qnnrt_compile_free(prog);                    /* the passes ran: pins name the nodes that are left */
    prog = NULL;
    for (i = 0; i < ir->value_count; ++i) ir->values[i]->note = NULL;
    for (i = 0; i < ir->node_count && result == QNNRT_OK; ++i) {
        if (alone || draw(&r->p, 3) == 0) continue;
        pins[desc.pin_count].node = ir->nodes[i]->name;
        pins[desc.pin_count++].role = b->backends[draw(&r->p, 3)].role;
    }
    function = ir->node_count > 0 ? ir->nodes[draw(&r->p, (uint32_t)ir->node_count)]->op : "";
    if (draw(&r->p, 2) == 0) {                       /* as if it were unknown */
        desc.functions = &function;
        desc.function_count = 1;
    }
    desc.pins = pins;
    if (result == QNNRT_OK) result = qnnrt_compile_create(&desc, &prog, &err);
    if (result == QNNRT_OK) result = qnnrt_compile_add(prog, ir, NULL, "random", &err);
    if (result == QNNRT_OK) result = qnnrt_compile_build(prog, &err);
    if (result == QNNRT_OK) {
        const qnnrt_compile_info *info = qnnrt_compile_get_info(prog);
        *steps += info->graphs[0].step_count;
        result = wire(info, &info->graphs[0], &conversions, &pipeline);
        if (result == QNNRT_OK) worst = differ(pipeline, r);
        qnnrt_pipeline_destroy(pipeline);
        qnnrt_conversions_free(conversions);
    }
    if (result != QNNRT_OK && worst > 0) printf("    %s\n", err.text);
    qnnrt_compile_free(prog);
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

static uint32_t keep_all(void *user, const qnnrt_ir_value *weight, const char *type, uint32_t bits)
{
    (void)user; (void)weight; (void)type; (void)bits;
    return 0;
}

/* Two steps read one weight: the library's has 8 bits, the host's is as it was. */
TEST(program_quantized_weights_are_for_backends_that_take_them)
{
    enum { ROWS = 24, WIDTH = 32 };
    static const char text[] = "{\"model_name\":\"m\",\"graph_inputs\":[{\"name\":\"x\",\"shape\":[2,32],\"dtype\":\"float32\"}],"
        "\"graph_outputs\":[{\"name\":\"a\",\"shape\":[2,24],\"dtype\":\"float32\"},{\"name\":\"b\",\"shape\":[2,24],\"dtype\":\"float32\"}],"
        "\"weights\":[{\"name\":\"w\",\"shape\":[24,32],\"dtype\":\"float32\"}],\"weight_name_mapping\":{\"p_w\":\"w\"},\"nodes\":["
        "{\"name\":\"a\",\"op_type\":\"aten.linear.default\",\"inputs\":[{\"name\":\"x\",\"shape\":[2,32],\"dtype\":\"float32\"},"
        "{\"name\":\"p_w\",\"shape\":[24,32],\"dtype\":\"float32\"}],\"outputs\":[{\"name\":\"a\",\"shape\":[2,24],\"dtype\":\"float32\"}]},"
        "{\"name\":\"n\",\"op_type\":\"aten.neg.default\",\"inputs\":[{\"name\":\"x\",\"shape\":[2,32],\"dtype\":\"float32\"}],"
        "\"outputs\":[{\"name\":\"n\",\"shape\":[2,32],\"dtype\":\"float32\"}]},"
        "{\"name\":\"b\",\"op_type\":\"aten.linear.default\",\"inputs\":[{\"name\":\"n\",\"shape\":[2,32],\"dtype\":\"float32\"},"
        "{\"name\":\"p_w\",\"shape\":[24,32],\"dtype\":\"float32\"}],\"outputs\":[{\"name\":\"b\",\"shape\":[2,24],\"dtype\":\"float32\"}]}]}";
    static const qnnrt_compile_pin pins[] = { { "a", "npu", 0 }, { "n", "host", 0 }, { "b", "host", 0 } };
    float w[ROWS * WIDTH], x[2 * WIDTH], outputs[2][2 * ROWS];
    const void *inputs[] = { x };
    void *places[] = { outputs[0], outputs[1] };
    int form;                                    /* float16; float32; float32, emulated; float16, kept; no part on the host */
    for (form = 0; form < 5; ++form) {
        qnnrt_compile_desc desc;
        qnnrt_compile *prog = NULL;
        qnnrt_pipeline *pipeline = NULL;
        qnnrt_conversions *conversions = NULL;
        double each[2] = { -1, -1 };
        qnnrt_ir *ir = NULL;
        uint32_t state = 7;
        bench b;
        size_t i;
        for (i = 0; i < ROWS * WIDTH; ++i) w[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f - 0.5f;
        for (i = 0; i < 2 * WIDTH; ++i) x[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f - 0.5f;
        open_backends(&b);
        CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
        for (i = 0; i < ir->value_count; ++i) if (ir->values[i]->origin == QNNRT_IR_WEIGHT) ir->values[i]->data = w;
        CHECK_EQ(qnnrt_ir_run(ir, NULL, inputs, places, &err), QNNRT_OK);
        for (i = 0; i < ir->value_count; ++i) ir->values[i]->note = NULL;
        memset(&desc, 0, sizeof(desc));
        desc.backends = b.backends;
        desc.backend_count = 3;
        desc.pins = pins;
        desc.pin_count = form == 4 ? 0 : 3;
        desc.lower.weight_bits = 8;
        desc.lower.native_io = form != 0;
        desc.lower.compute = form == 0 || form >= 3 ? QNNRT_DTYPE_F16 : QNNRT_DTYPE_F32;
        desc.lower.weight_emulate = form == 2;
        desc.lower.weight_bits_of = form == 3 ? keep_all : NULL;
        CHECK_EQ(qnnrt_compile_create(&desc, &prog, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_compile_add(prog, ir, NULL, "m", &err), QNNRT_OK);
        CHECK(qnnrt_compile_get_info(prog)->weight_only == NULL);
        if (form == 1) {
            CHECK_EQ(qnnrt_compile_build(prog, &err), QNNRT_E_UNSUPPORTED);
            CHECK_STR(err.text, "no weight can have 8 bits: on \"npu\" \"p_w\" of FullyConnected stays in floating point");
            CHECK(qnnrt_compile_get_info(prog)->weight_only == NULL && qnnrt_compile_get_info(prog)->context_count == 0);
        } else {
            const qnnrt_compile_info *info;
            const qnnrt_compile_weight_only *weight_only;
            prepared t;
            CHECK_EQ(qnnrt_compile_build(prog, &err), QNNRT_OK);
            info = qnnrt_compile_get_info(prog);
            weight_only = info->weight_only;
            if (form == 4) {                     /* one type for all inputs and outputs: the host's, else that of the backends */
                CHECK_EQ(wire(info, &info->graphs[0], &conversions, &pipeline), QNNRT_OK);
                CHECK(prepare(&t, pipeline));
                CHECK_EQ(qnnrt_run_slot(t.run, "x")->tensor->dtype, QNNRT_DTYPE_F16);
                CHECK_EQ(qnnrt_run_slot(t.run, "b")->tensor->dtype, QNNRT_DTYPE_F16);
                release(&t);
                qnnrt_pipeline_destroy(pipeline);
                qnnrt_conversions_free(conversions);
                qnnrt_compile_free(prog);
                qnnrt_ir_free(ir);
                close_backends(&b);
                continue;
            }
            CHECK(weight_only != NULL && weight_only[0].count == 1 && weight_only[1].count == 0 && weight_only[2].count == 1);
            CHECK(weight_only[0].list[0].bits == (form == 3 ? 0 : 8) && weight_only[0].list[0].emulated == (form == 2));
            CHECK_EQ(weight_only[0].list[0].kept, form == 3);
            CHECK(weight_only[2].list[0].bits == 0 && weight_only[2].list[0].bytes == sizeof(w));
            CHECK_STR(weight_only[2].list[0].why, form == 3 ? "it is kept" : "the host computes with floats");
            CHECK_EQ(wire(info, &info->graphs[0], &conversions, &pipeline), QNNRT_OK);
            CHECK(prepare(&t, pipeline));
            CHECK_EQ(qnnrt_run_slot(t.run, "a")->tensor->dtype, QNNRT_DTYPE_F32);
            CHECK_EQ(qnnrt_write_f32(t.run, qnnrt_run_slot(t.run, "x"), 0, x, 2 * WIDTH), QNNRT_OK);
            CHECK_EQ(qnnrt_exec(t.run), QNNRT_OK);
            for (i = 0; i < 2; ++i) {
                float data[2 * ROWS];
                size_t k;
                CHECK_EQ(qnnrt_read_f32(t.run, qnnrt_run_slot(t.run, i == 0 ? "a" : "b"), 0, data, 2 * ROWS), QNNRT_OK);
                for (k = 0; k < 2 * ROWS; ++k) if (!(fabs((double)data[k] - (double)outputs[i][k]) <= each[i])) each[i] = fabs((double)data[k] - (double)outputs[i][k]);
            }
            release(&t);
            CHECK(each[0] > (form == 3 ? 0 : 1e-3) && each[0] < (form == 3 ? 1e-3 : 1e-2));
            CHECK(each[1] >= 0 && each[1] < 1e-6);
            qnnrt_pipeline_destroy(pipeline);
            qnnrt_conversions_free(conversions);
        }
        qnnrt_compile_free(prog);
        qnnrt_ir_free(ir);
        close_backends(&b);
    }
}

#define V(name) "{\"name\":\"" name "\",\"shape\":[2,4],\"dtype\":\"float32\"}"
#define W(name) "{\"name\":\"" name "\",\"shape\":[4,4],\"dtype\":\"float32\"}"
#define NODE(name, op, inputs) "{\"name\":\"" name "\",\"op_type\":\"aten." op "\",\"inputs\":[" inputs "],\"outputs\":[" V(name) "]}"
#define GRAPH(output, weights, nodes) "{\"model_name\":\"m\",\"graph_inputs\":[" V("x") "],\"graph_outputs\":[" V(output) "]," \
    "\"weights\":[" weights "],\"weight_name_mapping\":{\"p_w\":\"w\",\"p_u\":\"u\"},\"nodes\":[" nodes "]}"

/* Steps of two graphs share a context where they read the same weights, not where they have the same number. */
TEST(program_steps_with_the_same_weights_share_a_context)
{
    static const char *const texts[] = {
        GRAPH("c", W("w") "," W("u"), NODE("a", "linear.default", V("x") "," W("p_w")) "," NODE("b", "neg.default", V("a")) ","
              NODE("c", "linear.default", V("b") "," W("p_u"))),
        GRAPH("e", W("u"), NODE("d", "neg.default", V("x")) "," NODE("e", "linear.default", V("d") "," W("p_u"))),
    };
    static const qnnrt_compile_pin pins[] = { { "a", "npu", 0 }, { "b", "host", 0 }, { "c", "npu", 0 }, { "d", "host", 0 },
                                             { "e", "npu", 0 } };
    static const float w[16] = { 1, 2, 3 }, u[16] = { 4, 5, 6 };
    qnnrt_compile_desc desc;
    qnnrt_compile *prog = NULL;
    const qnnrt_compile_info *info;
    qnnrt_ir *graphs[2];
    bench b;
    size_t i, k;
    open_backends(&b);
    memset(&desc, 0, sizeof(desc));
    desc.backends = b.backends;
    desc.backend_count = 3;
    desc.pins = pins;
    desc.pin_count = 5;
    CHECK_EQ(qnnrt_compile_create(&desc, &prog, &err), QNNRT_OK);
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(qnnrt_ir_read(texts[i], strlen(texts[i]), NULL, &graphs[i], &err), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_check(graphs[i], NULL, NULL, &err), QNNRT_OK);
        for (k = 0; k < graphs[i]->value_count; ++k)
            if (graphs[i]->values[k]->origin == QNNRT_IR_WEIGHT)
                graphs[i]->values[k]->data = strcmp(graphs[i]->values[k]->name, "p_w") == 0 ? w : u;
        CHECK_EQ(qnnrt_compile_add(prog, graphs[i], NULL, i == 0 ? "first" : "second", &err), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_compile_build(prog, &err), QNNRT_OK);
    info = qnnrt_compile_get_info(prog);
    CHECK(info->context_count == 2 && info->graphs[0].step_count == 3 && info->graphs[1].step_count == 2);
    CHECK_EQ(info->graphs[1].steps[1].context, info->graphs[0].steps[2].context);
    CHECK(info->graphs[0].steps[0].context != info->graphs[0].steps[2].context);
    qnnrt_compile_free(prog);
    qnnrt_ir_free(graphs[0]);
    qnnrt_ir_free(graphs[1]);
    close_backends(&b);
}

/* With shards each backend has as many contexts as its share of the weights; what crosses them is wired, also what an
   output and a later step read. With whole, the pipeline of one backend is wired by names. */
TEST(program_shards_give_what_one_context_gives)
{
    static const char text[] = "{\"model_name\":\"m\",\"graph_inputs\":[" V("x") "],\"graph_outputs\":[" V("b") "," V("h") "],"
        "\"weights\":[" W("w") "," W("u") "," W("v") "," W("z") "],\"weight_name_mapping\":{\"p_w\":\"w\",\"p_u\":\"u\","
        "\"p_v\":\"v\",\"p_z\":\"z\"},\"nodes\":[" NODE("a", "linear.default", V("x") "," W("p_w")) ","
        NODE("b", "relu.default", V("a")) "," NODE("c", "linear.default", V("b") "," W("p_u")) ","
        NODE("d", "neg.default", V("c")) "," NODE("e", "linear.default", V("d") "," W("p_v")) ","
        NODE("f", "add.Tensor", V("e") "," V("b")) "," NODE("g", "linear.default", V("f") "," W("p_z")) ","
        NODE("h", "add.Tensor", V("g") "," V("c")) "]}";
    static const qnnrt_compile_pin pins[] = { { "d", "host", 0 }, { "a", "npu", 0 }, { "c", "npu", 0 }, { "e", "npu", 0 }, { "g", "npu", 0 } };
    static const size_t wanted[2][4] = { { 2, 2, 4, 4 }, { 1, 2, 3, 4 } };       /* contexts for 1 to 4 shards */
    float w[4][16], x[8], outputs[2][8];
    const void *inputs[] = { x };
    void *places[] = { outputs[0], outputs[1] };
    uint32_t shards, state = 5;
    size_t i, k;
    int whole;
    for (i = 0; i < 64; ++i) w[i / 16][i % 16] = (float)((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f - 0.5f;
    for (i = 0; i < 8; ++i) x[i] = (float)i - 3.5f;
    for (whole = 0; whole < 2; ++whole)
        for (shards = 1; shards <= 4; ++shards) {
            qnnrt_compile_desc desc;
            qnnrt_compile *prog = NULL;
            qnnrt_pipeline *pipeline = NULL;
            qnnrt_conversions *conversions = NULL;
            const qnnrt_compile_info *info;
            qnnrt_ir *ir = NULL;
            prepared t;
            bench b;
            open_backends(&b);
            CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
            CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
            for (i = k = 0; i < ir->value_count; ++i)
                if (ir->values[i]->origin == QNNRT_IR_WEIGHT) ir->values[i]->data = w[k++];
            CHECK_EQ(k, 4);
            CHECK_EQ(qnnrt_ir_run(ir, NULL, inputs, places, &err), QNNRT_OK);
            for (i = 0; i < ir->value_count; ++i) ir->values[i]->note = NULL;
            memset(&desc, 0, sizeof(desc));
            desc.backends = b.backends;
            desc.backend_count = whole ? 1 : 3;
            desc.pins = pins;
            desc.pin_count = whole ? 0 : 5;
            desc.whole = whole;
            desc.lower.contexts = shards;
            CHECK_EQ(qnnrt_compile_create(&desc, &prog, &err), QNNRT_OK);
            CHECK_EQ(qnnrt_compile_add(prog, ir, NULL, "m", &err), QNNRT_OK);
            CHECK_EQ(qnnrt_compile_lower(prog, &err), QNNRT_OK);
            info = qnnrt_compile_get_info(prog);
            CHECK(info->graphs[0].steps[0].lower != NULL);
            CHECK_EQ(info->context_count, 0);
            CHECK_EQ(qnnrt_lower_get_info(info->graphs[0].steps[0].lower)->graphs[0].used_ops > 0, 1);
            CHECK_EQ(qnnrt_compile_build(prog, &err), QNNRT_OK);
            info = qnnrt_compile_get_info(prog);
            CHECK_EQ(info->context_count, wanted[whole][shards - 1]);
            CHECK_EQ(info->graphs[0].step_count, whole ? 1 : 3);
            CHECK_EQ(info->graphs[0].pipeline->step_count, info->context_count + !whole);
            CHECK_EQ(info->graphs[0].pipeline->edge_count == 0, whole);
            CHECK_EQ(wire(info, &info->graphs[0], &conversions, &pipeline), QNNRT_OK);
            CHECK(prepare(&t, pipeline));
            CHECK_EQ(qnnrt_write_f32(t.run, qnnrt_run_slot(t.run, "x"), 0, x, 8), QNNRT_OK);
            CHECK_EQ(qnnrt_exec(t.run), QNNRT_OK);
            for (i = 0; i < 2; ++i) {
                float data[8];
                CHECK_EQ(qnnrt_read_f32(t.run, qnnrt_run_slot(t.run, i == 0 ? "b" : "h"), 0, data, 8), QNNRT_OK);
                for (k = 0; k < 8; ++k) CHECK(fabs((double)data[k] - (double)outputs[i][k]) < 1e-5);
            }
            release(&t);
            qnnrt_pipeline_destroy(pipeline);
            qnnrt_conversions_free(conversions);
            if (whole) CHECK_EQ(qnnrt_compile_build(prog, &err), QNNRT_E_ARG);       /* once */
            else CHECK_EQ(qnnrt_compile_build(prog, &err), QNNRT_OK);
            qnnrt_compile_free(prog);
            qnnrt_ir_free(ir);
            close_backends(&b);
        }
}

/* A name that forges a line, in what desc.told hears of a node that moves: it promises one line. */
#define FORGED "n\\u001b[31m\\u000aFORGED"

typedef struct heard { size_t count; char text[2400]; } heard;

static void hear(void *user, const char *text)
{
    heard *h = (heard *)user;
    if (h->count++ == 0) snprintf(h->text, sizeof h->text, "%s", text);
}

TEST(program_tells_one_line_of_a_node_that_moves)
{
    static const char text[] = GRAPH("y", "", NODE(FORGED, "neg.default", V("x")) "," NODE("y", "abs.default", V(FORGED)));
    qnnrt_compile_desc desc;
    qnnrt_compile *prog = NULL;
    qnnrt_ir *ir = NULL;
    heard h = { 0, "" };
    bench b;
    open_backends(&b);
    CHECK(faults("fail=graphFinalize:0x1770"));
    memset(&desc, 0, sizeof(desc));
    desc.backends = b.backends;
    desc.backend_count = 3;
    desc.told = hear;
    desc.told_user = &h;
    CHECK_EQ(qnnrt_compile_create(&desc, &prog, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_add(prog, ir, NULL, "graph", &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_build(prog, &err), QNNRT_OK);          /* the host is left */
    CHECK_EQ(qnnrt_compile_get_info(prog)->context_count, 0);
    CHECK(faults(""));
    CHECK(h.count > 0);
    CHECK_STR(h.text, "moves away from");
    CHECK(strpbrk(h.text, "\033\n") == NULL);
    qnnrt_compile_free(prog);
    qnnrt_ir_free(ir);
    close_backends(&b);
}

/* Of products only: sizes by hand. */
TEST(program_macs_of_nodes)
{
    static const struct { const char *op, *x, *w, *y, *attrs; double macs; } rows[] = {
        { "linear.default", "2,3", "5,3", "2,5", "", 30 },
        { "matmul.default", "2,4,3", "3,5", "2,4,5", "", 120 },
        { "conv2d.default", "1,4,5,5", "6,2,3,3", "1,6,3,3", "\"groups\":2", 54 * 18 },
        { "conv_transpose2d.input", "1,4,2,2", "4,3,2,2", "1,3,3,3", "", 16 * 12 },
        { "convolution.default", "1,4,2,2", "4,3,2,2", "1,3,3,3", "\"stride\":[1,1],\"padding\":[0,0],\"dilation\":[1,1],"
          "\"transposed\":true,\"output_padding\":[0,0],\"groups\":1", 16 * 12 },
        { "mul.Tensor", "2,3", "2,3", "2,3", "", 0 },
    };
    size_t i;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        char text[1500];
        qnnrt_ir *ir = NULL;
        snprintf(text, sizeof text, "{\"graph_inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[%s]},{\"name\":\"w\",\"dtype\":"
                 "\"float32\",\"shape\":[%s]}],\"graph_outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[%s]}],\"weights\":[],"
                 "\"nodes\":[{\"name\":\"y\",\"op_type\":\"aten.%s\",\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[%s]},"
                 "{\"name\":\"w\",\"dtype\":\"float32\",\"shape\":[%s]}],\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":"
                 "[%s]}],\"attrs\":{%s}}]}", rows[i].x, rows[i].w, rows[i].y, rows[i].op, rows[i].x, rows[i].w, rows[i].y, rows[i].attrs);
        CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
        CHECK((long)qnnrt_compile_macs(ir->nodes[0]) == (long)rows[i].macs);
        qnnrt_ir_free(ir);
    }
}

TEST_MAIN("program")
{
    RUN(program_macs_of_nodes);
    RUN(program_shards_give_what_one_context_gives);
    RUN(program_steps_with_the_same_weights_share_a_context);
    RUN(program_quantized_weights_are_for_backends_that_take_them);
    RUN(program_tells_one_line_of_a_node_that_moves);
    RUN(program_random_programs_are_right);
}
