/* test_program_misuse.c - qnnrt_compile.h in wrong hands: wrong arguments, order and graphs, failing allocations */
#include "qnnrt_compile.h"
#include "counted.h"
#include "ref.h"
#include "test.h"
#include "backend.h"

static qnnrt_error err;
static qnnrt_backend *opened[2];

static qnnrt_hooks counting;

/* Read a graph: nodes are separated by ';', each "output op input[ input]", all of shape [2,3]. A graph with hooks counts. */
static qnnrt_ir *misuse_graph(const char *nodes, const char *outputs, const qnnrt_hooks *hooks)
{
    static const char value[] = "{\"name\":\"%s\",\"shape\":[2,3],\"dtype\":\"float32\"}";
    char text[8000], list[1000], name[100], op[100], in[2][100];
    qnnrt_ir_desc desc;
    qnnrt_ir *ir = NULL;
    size_t used;
    int taken, count, k;
    char *at;
    memset(&desc, 0, sizeof(desc));
    if (hooks != NULL) desc.hooks = *hooks;
    used = (size_t)snprintf(text, sizeof text, "{\"model_name\":\"m\",\"graph_inputs\":[");
    used += (size_t)snprintf(text + used, sizeof text - used, value, "x");
    used += (size_t)snprintf(text + used, sizeof text - used, "],\"graph_outputs\":[");
    snprintf(list, sizeof list, "%s", outputs);
    for (at = strtok(list, " "); at != NULL; at = strtok(NULL, " ")) {
        used += (size_t)snprintf(text + used, sizeof text - used, value, at);
        used += (size_t)snprintf(text + used, sizeof text - used, ",");
    }
    used -= text[used - 1] == ',';
    used += (size_t)snprintf(text + used, sizeof text - used, "],\"weights\":[],\"weight_name_mapping\":{},\"constants\":{},\"nodes\":[");
    while ((count = sscanf(nodes, "%99[^ ;] %99[^ ;] %99[^ ;]%n %99[^ ;]%n", name, op, in[0], &taken, in[1], &taken)) >= 3) {
        used += (size_t)snprintf(text + used, sizeof text - used, "{\"name\":\"%s\",\"op_type\":\"aten.%s\",\"inputs\":[", name, op);
        for (k = 0; k < count - 2; ++k) {
            if (k > 0) used += (size_t)snprintf(text + used, sizeof text - used, ",");
            used += (size_t)snprintf(text + used, sizeof text - used, value, in[k]);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "],\"outputs\":[");
        used += (size_t)snprintf(text + used, sizeof text - used, value, name);
        nodes += taken;
        while (*nodes == ' ' || *nodes == ';') ++nodes;
        used += (size_t)snprintf(text + used, sizeof text - used, "],\"attrs\":{}}%s", *nodes != '\0' ? "," : "");
    }
    snprintf(text + used, sizeof text - used, "]}");
    if (qnnrt_ir_read(text, strlen(text), &desc, &ir, &err) == QNNRT_OK &&
        qnnrt_ir_check(ir, NULL, NULL, &err) == QNNRT_OK) return ir;
    qnnrt_ir_free(ir);
    return NULL;
}

typedef struct bench {
    qnnrt_compile_backend backends[3];
    qnnrt_compile_pin     pins[8];
    qnnrt_compile_desc    desc;
} bench;

/* Describe a program for two libraries and the host. pins: node and role in turns, then NULL. */
static void describe(bench *b, const char *const *pins)
{
    static const char *const roles[] = { "npu", "cpu", "host" };
    size_t i;
    memset(b, 0, sizeof(*b));
    for (i = 0; i < 3; ++i) {
        qnnrt_backend_desc desc;
        desc = test_ref_desc();
        if (i < 2 && opened[i] == NULL) CHECK_EQ(qnnrt_backend_open(&desc, &opened[i], &err), QNNRT_OK);
        b->backends[i].role = roles[i];
        b->backends[i].backend = i < 2 ? opened[i] : NULL;
    }
    for (i = 0; pins != NULL && pins[2 * i] != NULL; ++i) {
        b->pins[i].node = pins[2 * i];
        b->pins[i].role = pins[2 * i + 1];
        b->desc.pin_count += 1;
    }
    b->desc.backends = b->backends;
    b->desc.backend_count = 3;
    b->desc.pins = b->pins;
}

/* A graph whose steps are on all three backends. */
static const char three[] = "a relu.default x;b neg.default a;c add.Tensor a b;d tanh.default c;e mul.Tensor d a";
static const char *const three_pins[] = { "a", "npu", "b", "cpu", "c", "host", "d", "npu", "e", "cpu", NULL };

TEST(program_refuses_wrong_arguments)
{
    bench b;
    qnnrt_compile *p = NULL;
    qnnrt_ir *ir = misuse_graph(three, "e", NULL), *other = misuse_graph(three, "e", NULL);
    char data[8];
    CHECK(ir != NULL && other != NULL);
    describe(&b, NULL);
    CHECK_EQ(qnnrt_compile_create(&b.desc, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_create(NULL, &p, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_create(NULL, &p, NULL), QNNRT_E_ARG);
    b.desc.backend_count = 0;
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_E_ARG);
    describe(&b, NULL);
    b.desc.hooks.alloc = counted_alloc;
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_E_ARG);
    describe(&b, NULL);
    b.backends[1].role = "npu";
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_E_ARG);
    b.backends[1].role = NULL;
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_E_ARG);
    describe(&b, NULL);
    b.backends[0].backend = NULL;
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_E_ARG);
    describe(&b, NULL);
    b.desc.pin_count = 1;
    b.desc.pins = NULL;
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_E_ARG);
    b.desc.pins = b.pins;
    b.pins[0].role = "npu";
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_E_ARG);
    b.pins[0].role = NULL;
    b.pins[0].node = "a";
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_E_ARG);
    b.pins[0].node = "a\033[2J\nb";
    b.pins[0].role = "n\xFFp";
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "node \"a?[2J b\" names \"n?p\"");
    CHECK(p == NULL);
    CHECK_EQ(qnnrt_compile_plan(NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_build(NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_load(NULL, 0, data, &err), QNNRT_E_ARG);
    CHECK(qnnrt_compile_get_info(NULL) == NULL);
    qnnrt_compile_free(NULL);
    describe(&b, NULL);
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_plan(p, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_build(p, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_load(p, 0, data, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_get_info(p)->graph_count, 0);
    CHECK_EQ(qnnrt_compile_add(p, NULL, NULL, "m", &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_add(p, ir, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_add(p, ir, NULL, "", &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_add(p, ir, NULL, "m", &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_add(p, other, NULL, "m", &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_add(p, ir, NULL, "again", &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "graph \"again\" was added as \"m\"");
    qnnrt_compile_free(p);
    qnnrt_ir_free(ir);
    qnnrt_ir_free(other);
}

/* Roles and names of any length: two that differ in their last character are two. */
TEST(program_keeps_long_names_whole)
{
    enum { LENGTH = 5000 };
    static char roles[2][LENGTH + 1];
    const char *pins[] = { "a", roles[1], "b", roles[0], NULL };
    qnnrt_compile *p = NULL;
    qnnrt_ir *ir = misuse_graph(three, "e", NULL);
    const qnnrt_compile_info *info;
    bench b;
    CHECK(ir != NULL);
    memset(roles, 'r', sizeof(roles));
    roles[0][LENGTH] = roles[1][LENGTH] = '\0';
    roles[1][LENGTH - 1] = 's';
    describe(&b, pins);
    b.backends[0].role = roles[0];
    b.backends[1].role = roles[1];
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_add(p, ir, NULL, roles[0], &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_plan(p, &err), QNNRT_OK);
    info = qnnrt_compile_get_info(p);
    CHECK_EQ(info->graph_count, 1);
    CHECK_EQ(strlen(info->graphs[0].name), LENGTH);
    CHECK(info->graphs[0].step_count >= 2 && info->graphs[0].steps[0].backend == 1);
    qnnrt_compile_free(p);
    qnnrt_ir_free(ir);
}

/* Build two graphs, the first one in several steps: no two steps have one name. */
static void named_apart(const char *name, const char *other_name, const char *nodes, const char *output, const char *first)
{
    bench b;
    qnnrt_compile *p = NULL;
    qnnrt_ir *ir = misuse_graph(three, "e", NULL), *other = misuse_graph(nodes, output, NULL);
    const qnnrt_compile_graph *graphs;
    size_t i, k;
    int good = 1;
    CHECK(ir != NULL && other != NULL);
    describe(&b, three_pins);
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_add(p, ir, NULL, name, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_add(p, other, NULL, other_name, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_build(p, &err), QNNRT_OK);
    graphs = qnnrt_compile_get_info(p)->graphs;
    CHECK(graphs[0].step_count > 2);
    for (i = 0; i < graphs[0].step_count; ++i)
        for (k = 0; k < graphs[1].step_count; ++k)
            good = good && strcmp(graphs[0].steps[i].name, graphs[1].steps[k].name) != 0;
    if (first != NULL) CHECK_STR(graphs[0].steps[0].name, first);
    qnnrt_compile_free(p);
    qnnrt_ir_free(ir);
    qnnrt_ir_free(other);
    CHECK(good);
}

TEST(program_names_no_two_steps_alike)
{
    char names[2][1001];
    size_t i;
    named_apart("m", "n", "z relu.default x", "z", "m.0");
    named_apart("m", "m.0", "z relu.default x", "z", "m.0_1");
    for (i = 0; i < 2; ++i) {
        memset(names[i], 'r', 1000);
        names[i][1000] = '\0';
    }
    names[1][999] = 's';
    named_apart(names[0], names[1], three, "e", NULL);
}

/* What was made is gone with the next call that makes anew: no pointer to a closed model stays. */
TEST(program_forgets_what_it_released)
{
    bench b;
    qnnrt_compile *p = NULL;
    qnnrt_ir *ir = misuse_graph(three, "e", NULL);
    const qnnrt_compile_info *info;
    int again;
    CHECK(ir != NULL);
    describe(&b, three_pins);
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_add(p, ir, NULL, "m", &err), QNNRT_OK);
    CHECK(qnnrt_compile_get_info(p)->graphs[0].pipeline == NULL);
    for (again = 0; again < 2; ++again) {
        CHECK_EQ(qnnrt_compile_build(p, &err), QNNRT_OK);
        info = qnnrt_compile_get_info(p);
        CHECK(info->context_count >= 3 && info->graphs[0].step_count >= 4);
        CHECK(info->graphs[0].pipeline != NULL);
        CHECK_EQ(qnnrt_compile_plan(p, &err), QNNRT_OK);
        info = qnnrt_compile_get_info(p);
        CHECK_EQ(info->context_count, 0);
        CHECK_EQ(info->constant_count, 0);
        CHECK(info->graphs[0].pipeline == NULL);
        CHECK(info->graphs[0].step_count >= 4);
    }
    qnnrt_compile_free(p);
    qnnrt_ir_free(ir);
}

/* A step alone has all its tensors; a step of the host, and one that does not exist, cannot be watched. */
TEST(program_watches_steps_of_libraries)
{
    bench b;
    qnnrt_compile *p = NULL;
    qnnrt_compile_watched watched;
    qnnrt_ir *ir = misuse_graph(three, "e", NULL);
    const qnnrt_compile_graph *graph;
    size_t i, seen = 0;
    CHECK(ir != NULL);
    describe(&b, three_pins);
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_add(p, ir, NULL, "m", &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_watch(p, 0, 0, 2, NULL, &watched, &err), QNNRT_E_ARG);     /* no plan */
    CHECK_EQ(qnnrt_compile_plan(p, &err), QNNRT_OK);
    graph = &qnnrt_compile_get_info(p)->graphs[0];
    CHECK_EQ(qnnrt_compile_watch(NULL, 0, 0, 2, NULL, &watched, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_watch(p, 1, 0, 2, NULL, &watched, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_watch(p, 0, graph->step_count, 2, NULL, &watched, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_compile_watch(p, 0, 0, 2, NULL, NULL, &err), QNNRT_E_ARG);
    for (i = 0; i < graph->step_count; ++i) {
        const int host = b.backends[graph->steps[i].backend].backend == NULL;
        memset(&watched, 0xFF, sizeof(watched));
        CHECK_EQ(qnnrt_compile_watch(p, 0, i, 2, NULL, &watched, &err), host ? QNNRT_E_ARG : QNNRT_OK);
        if (!host) {
            const qnnrt_graph_info *built = qnnrt_get_info(watched.model)->contexts[0].graphs;
            CHECK(built != NULL && built->output_count >= watched.ir->node_count);
            ++seen;
        } else {
            CHECK(watched.model == NULL && watched.ir == NULL && watched.lower == NULL);
        }
        qnnrt_compile_unwatch(&watched);
        qnnrt_compile_unwatch(&watched);
    }
    CHECK(seen >= 3);
    qnnrt_compile_unwatch(NULL);
    qnnrt_compile_free(p);
    qnnrt_ir_free(ir);
}

/* Check that the pipeline of the only graph has each name of its outputs once: an output of a step that no edge hides, or
   a name. Return how many outputs it has. */
static size_t outputs_of(qnnrt_compile *p)
{
    const qnnrt_compile_graph *g = &qnnrt_compile_get_info(p)->graphs[0];
    const qnnrt_pipeline_desc *pipeline = g->pipeline;
    size_t i, k, found = 0;
    for (i = 0; i < g->ir->output_count; ++i) {
        const qnnrt_ir_node *node = g->ir->outputs[i]->node;
        found += node != NULL;
    }
    for (i = 0; i < pipeline->use_count; ++i)
        for (k = 0; k < i && pipeline->uses[i].name != NULL; ++k)
            if (pipeline->uses[k].name != NULL && strcmp(pipeline->uses[i].name, pipeline->uses[k].name) == 0) {
                printf("    the name \"%s\" occurs twice\n", pipeline->uses[i].name);
                return 0;
            }
    return found;
}

/* An output that is an input, and a graph without nodes: a node copies it. */
TEST(program_copies_outputs_that_no_node_makes)
{
    static const char *const nodes[] = { three, "" }, *const outputs[] = { "e x", "x" };
    size_t i;
    for (i = 0; i < 2; ++i) {
        bench b;
        qnnrt_compile *p = NULL;
        qnnrt_ir *ir = misuse_graph(nodes[i], outputs[i], NULL);
        CHECK(ir != NULL);
        describe(&b, i == 0 ? three_pins : NULL);
        CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_compile_add(p, ir, NULL, "m", &err), QNNRT_OK);
        CHECK_EQ(qnnrt_compile_build(p, &err), QNNRT_OK);
        CHECK_EQ(outputs_of(p), 2 - i);
        CHECK_STR(ir->outputs[1 - i]->name, i == 0 ? "x.1" : "x.0");
        qnnrt_compile_free(p);
        qnnrt_ir_free(ir);
    }
}

/* A value that is several outputs has several names, whoever makes it, also where another step reads it. */
TEST(program_gives_a_value_away_twice)
{
    bench b;
    qnnrt_compile *p = NULL;
    qnnrt_ir *ir = misuse_graph(three, "e c c b b a e a", NULL);
    CHECK(ir != NULL);
    describe(&b, three_pins);
    CHECK_EQ(qnnrt_compile_create(&b.desc, &p, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_add(p, ir, NULL, "m", &err), QNNRT_OK);
    CHECK_EQ(qnnrt_compile_build(p, &err), QNNRT_OK);
    CHECK_EQ(outputs_of(p), 8);
    qnnrt_compile_free(p);
    qnnrt_ir_free(ir);
}

/* Let allocation `at` fail, in everything between reading a graph and its pipeline. */
static qnnrt_result compile_all(long at)
{
    bench b;
    qnnrt_compile *p = NULL;
    qnnrt_ir *ir;
    qnnrt_result result;
    describe(&b, three_pins);
    b.desc.hooks = counting;
    fail_at = -1;
    allocations = live = 0;
    ir = misuse_graph(three, "e c c", &counting);
    if (ir == NULL) return QNNRT_E_FORMAT;
    allocations = 0;
    fail_at = at;
    result = qnnrt_compile_create(&b.desc, &p, &err);
    if (result == QNNRT_OK) result = qnnrt_compile_add(p, ir, NULL, "m", &err);
    if (result == QNNRT_OK) result = qnnrt_compile_build(p, &err);
    if (result != QNNRT_OK && p != NULL) {
        const qnnrt_compile_info *info = qnnrt_compile_get_info(p);
        if (info->context_count != 0) result = QNNRT_E_STATE;
    }
    qnnrt_compile_free(p);
    qnnrt_ir_free(ir);
    return result;
}

TEST(program_survives_every_failing_allocation)
{
    long at;
    int done = 0;
    for (at = 0; !done && at < 5000; ++at) {
        const qnnrt_result result = compile_all(at);
        done = allocations <= at;
        if (result != (done ? QNNRT_OK : QNNRT_E_MEMORY) || live != 0)
            printf("    allocation %ld: %s, %ld live: %s\n", at, qnnrt_result_name(result), live, err.text);
        CHECK_EQ(result, done ? QNNRT_OK : QNNRT_E_MEMORY);
        CHECK_EQ(live, 0);
    }
    CHECK(done && at > 50);
    printf("    %ld allocations\n", at - 1);
    fail_at = -1;
}

TEST_MAIN("program_misuse")
{
    fail_at = -1;
    counting.alloc = counted_alloc;
    counting.free = counted_free;
    RUN(program_refuses_wrong_arguments);
    RUN(program_keeps_long_names_whole);
    RUN(program_names_no_two_steps_alike);
    RUN(program_forgets_what_it_released);
    RUN(program_watches_steps_of_libraries);
    RUN(program_copies_outputs_that_no_node_makes);
    RUN(program_gives_a_value_away_twice);
    RUN(program_survives_every_failing_allocation);
    qnnrt_backend_close(opened[0]);
    qnnrt_backend_close(opened[1]);
}
