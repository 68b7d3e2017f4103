/* test_mixed.c - pipelines over several backends, with host steps, conversions and constants

   Two backends: libQnnRef.so, and a copy of it under another name, which is another library with
   another log. Each has one context with the graphs

       twice   x -> y = relu(x) + relu(x)          x, y [2, 4] float32
       square  x -> y = x * x

   The names of tensors are the same, so each pipeline gives its edges. */
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "qnnrt_convert.h"
#include "swap.h"
#include "qnnrt_profile.h"
#include "ref.h"
#include "life.h"
#include "bind.h"
#include "converted.h"
#include "tensors.h"

#include <math.h>
#include <sys/wait.h>

enum { COUNT = 8 };

static qnnrt_error err;
static char copy_path[1200];
static qnnrt_backend *backends[2];
static qnnrt *models[2];

#define SAYS(words) CHECK_STR(TEST_TOLD(err), words)

/* ---- the two models -------------------------------------------------------------------------- */

static int copy_library(void)
{
    char bytes[65536];
    size_t got;
    FILE *from = fopen(TEST_REF_LIB, "rb"), *to;
    snprintf(copy_path, sizeof(copy_path), "%s/libOther.so", test_tmpdir());
    to = fopen(copy_path, "wb");
    if (from == NULL || to == NULL) return 0;
    while ((got = fread(bytes, 1, sizeof(bytes), from)) > 0) fwrite(bytes, 1, got, to);
    fclose(from);
    return fclose(to) == 0;
}

static void graphs(qnnrt_builder *b)
{
    qnnrt_graph_desc desc;
    qnnrt_tensor x, m, y;
    memset(&desc, 0, sizeof(desc));
    desc.name = "twice";
    qnnrt_builder_graph(b, &desc);
    x = life_tensor(b, "x", QNNRT_TENSOR_INPUT, 2, 4, NULL);
    m = life_tensor(b, "m", QNNRT_TENSOR_INNER, 2, 4, NULL);
    y = life_tensor(b, "y", QNNRT_TENSOR_OUTPUT, 2, 4, NULL);
    life_node(b, "relu", "Relu", x, QNNRT_NO_TENSOR, m, NULL);
    life_node(b, "add", "ElementWiseAdd", m, m, y, NULL);
    desc.name = "square";
    qnnrt_builder_graph(b, &desc);
    x = life_tensor(b, "x", QNNRT_TENSOR_INPUT, 2, 4, NULL);
    y = life_tensor(b, "y", QNNRT_TENSOR_OUTPUT, 2, 4, NULL);
    life_node(b, "multiply", "ElementWiseMultiply", x, x, y, NULL);
}

/* Open both backends, each with its hooks, and build a model on each. */
static int open_with(const qnnrt_hooks *first, const qnnrt_hooks *second)
{
    int i;
    for (i = 0; i < 2; ++i) {
        qnnrt_backend_desc desc;
        qnnrt_context_desc context;
        qnnrt_builder *b;
        memset(&desc, 0, sizeof(desc));
        memset(&context, 0, sizeof(context));
        desc.path = i == 0 ? TEST_REF_LIB : copy_path;
        desc.hooks = i == 0 ? *first : *second;
        context.name = i == 0 ? "first" : "second";
        if (qnnrt_backend_open(&desc, &backends[i], &err) != QNNRT_OK ||
            qnnrt_builder_create(backends[i], NULL, &b, &err) != QNNRT_OK) break;
        qnnrt_builder_context(b, &context);
        graphs(b);
        if (qnnrt_builder_finish(b, &models[i], &err) != QNNRT_OK) break;
    }
    if (i < 2) printf("%s\n", err.text);
    return i == 2;
}

static int open_both(void)
{
    qnnrt_hooks hooks;
    memset(&hooks, 0, sizeof(hooks));
    return open_with(&hooks, &hooks);
}

static void close_both(void)
{
    int i;
    for (i = 1; i >= 0; --i) {
        CHECK_EQ(qnnrt_close(models[i]), QNNRT_OK);
        CHECK_EQ(qnnrt_backend_close(backends[i]), QNNRT_OK);
    }
}

TEST(there_is_a_second_library) { ref_begin(""); CHECK(copy_library()); }

/* ---- host steps ------------------------------------------------------------------------------ */

static const uint32_t shape[2] = { 2, 4 };

typedef struct counted {          /* what a host step was called with */
    int calls, locked;
    qnnrt_result result;
    const char *text, *hint;
    const void *input;
    void *output;
} counted;

/* z = y + 1 */
static qnnrt_result plus_one(void *user, const qnnrt_graph_info *step, const void *const *inputs,
                             void *const *outputs, qnnrt_error *why)
{
    counted *c = (counted *)user;
    const float *y = (const float *)inputs[0];
    float *z = (float *)outputs[0];
    size_t i;
    if (c != NULL) {
        ++c->calls;
        c->locked |= life_watch.locked;
        c->input = y;
        c->output = z;
        if (c->text != NULL) snprintf(why->text, sizeof(why->text), "%s", c->text);
        if (c->hint != NULL) snprintf(why->hint, sizeof(why->hint), "%s", c->hint);
        if (c->result != QNNRT_OK) return c->result;
    }
    for (i = 0; i < step->outputs[0].count; ++i) z[i] = y[i] + 1;
    return QNNRT_OK;
}

/* One pipeline: its description, and the arrays that it points to. */
typedef struct program {
    qnnrt_pipeline_desc desc;
    qnnrt_step_desc     steps[6];
    qnnrt_edge_desc     edges[8];
    qnnrt_conversion    wishes[8];
    qnnrt_use_desc      uses[2];
    qnnrt_host_step     host;
    qnnrt_tensor_info   in, out;
    qnnrt_hooks         hooks;
    qnnrt_conversions  *conversions;
    qnnrt_pipeline     *pipeline;
    qnnrt_plan         *plan;
    qnnrt_mem          *mem;
    qnnrt_run          *run;
} program;

static void program_begin(program *p)
{
    memset(p, 0, sizeof(*p));
    p->desc.name = "program";
    p->desc.steps = p->steps;
    p->desc.edges = p->edges;
    p->desc.uses = p->uses;
    p->in = test_tensor("y", QNNRT_DTYPE_F32, 2, shape);
    p->out = test_tensor("z", QNNRT_DTYPE_F32, 2, shape);
    p->host.name = "plus_one";
    p->host.inputs = &p->in;
    p->host.outputs = &p->out;
    p->host.input_count = p->host.output_count = 1;
    p->host.exec = plus_one;
}

static void graph_step(program *p, int backend, const char *name)
{
    qnnrt_step_desc *step = &p->steps[p->desc.step_count++];
    step->model = models[backend];
    step->graph = name;
}

static void host_step(program *p) { p->steps[p->desc.step_count++].host = &p->host; }

static qnnrt_conversion *edge(program *p, size_t from_step, const char *from, size_t to_step,
                              const char *to)
{
    qnnrt_conversion *wish = &p->wishes[p->desc.edge_count];
    qnnrt_edge_desc *e = &p->edges[p->desc.edge_count++];
    e->from_step = from_step;
    e->from = from;
    e->to_step = to_step;
    e->to = to;
    return wish;
}

static qnnrt_result program_make(program *p)
{
    return converted_make(&p->desc, p->wishes, &p->hooks, &p->conversions, &p->pipeline, &err);
}

static void program_unmake(program *p)
{
    CHECK_EQ(qnnrt_pipeline_destroy(p->pipeline), QNNRT_OK);
    qnnrt_conversions_free(p->conversions);
}

/* Make it executable. */
static qnnrt_result program_prepare(program *p, int guard)
{
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan;
    qnnrt_mem_desc mem;
    qnnrt_result result = program_make(p);
    memset(&entry, 0, sizeof(entry));
    memset(&plan, 0, sizeof(plan));
    memset(&mem, 0, sizeof(mem));
    entry.pipeline = p->pipeline;
    plan.entries = &entry;
    plan.entry_count = 1;
    plan.guard = guard;
    if (result == QNNRT_OK) result = qnnrt_plan_create(&plan, &p->plan, &err);
    if (result == QNNRT_OK) result = qnnrt_mem_create(p->plan, &mem, &p->mem, &err);
    if (result == QNNRT_OK) result = qnnrt_run_create(p->mem, 0, &p->run, &err);
    if (result != QNNRT_OK) printf("%s\n", err.text);
    return result;
}

static void program_end(program *p)
{
    qnnrt_run_destroy(p->run);
    CHECK_EQ(qnnrt_mem_destroy(p->mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(p->plan), QNNRT_OK);
    program_unmake(p);
}

static const float input[COUNT] = { -1, 0, 1, 2, 3, 4.5f, -6, 100 };

static qnnrt_result run_values(program *p, const float *x, float *y)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(p->pipeline);
    char last[32];
    qnnrt_result result = qnnrt_write_f32(p->run, qnnrt_run_slot(p->run, "0/x"), 0, x, COUNT);
    snprintf(last, sizeof(last), "%u/y", (unsigned)info->step_count - 1);
    if (result == QNNRT_OK) result = qnnrt_exec(p->run);
    if (result == QNNRT_OK)
        result = qnnrt_read_f32(p->run, qnnrt_run_slot(p->run, last), 0, y, COUNT);
    if (result != QNNRT_OK) err = *qnnrt_run_error(p->run);
    return result;
}

static float twice(float x) { return x > 0 ? 2 * x : 0; }

/* twice on one backend -> plus_one here -> square on the other backend */
static void three(program *p)
{
    program_begin(p);
    graph_step(p, 0, "twice");
    host_step(p);
    graph_step(p, 1, "square");
    edge(p, 0, "y", 1, "y");
    edge(p, 1, "z", 2, "x");
}

TEST(a_pipeline_runs_on_two_backends_and_the_host)
{
    program p;
    counted c;
    const qnnrt_pipeline_info *info;
    float y[COUNT];
    char text[512];
    int i;
    CHECK(open_both());
    three(&p);
    memset(&c, 0, sizeof(c));
    p.host.user = &c;
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    info = qnnrt_pipeline_get_info(p.pipeline);
    CHECK_EQ(info->step_count, 3);
    CHECK_EQ(info->edge_count, 2);
    CHECK_EQ(info->steps[0].kind, QNNRT_STEP_GRAPH);
    CHECK_EQ(info->steps[1].kind, QNNRT_STEP_HOST);
    CHECK(info->steps[0].backend == backends[0] && info->steps[2].backend == backends[1]);
    CHECK(info->steps[1].backend == NULL && info->steps[1].model == NULL);
    CHECK_STR(qnnrt_step_text(&info->steps[0], text, sizeof(text)), "graph \"twice\" of first on ");
    CHECK_STR(qnnrt_step_text(&info->steps[1], text, sizeof(text)), "host \"plus_one\"");
    CHECK_EQ(info->steps[1].graph->inputs[0].bytes, COUNT * sizeof(float));
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
        CHECK(y[0] == 1);
        CHECK(y[5] == 100);
        CHECK(y[7] == 201.0f * 201.0f);
    }
    /* Both ends of an edge are one slot: nothing is copied. */
    CHECK_EQ(c.calls, 2);
    CHECK(c.input == qnnrt_data(p.run, "0/y", NULL) && c.output == qnnrt_data(p.run, "z", NULL));
    CHECK(qnnrt_run_slot(p.run, "z") == qnnrt_run_slot(p.run, "2/x"));
    program_end(&p);
    close_both();
}

TEST(the_text_of_a_step_is_clean_and_fits)
{
    static char name[400];
    program p;
    char text[512], small[24];
    size_t i;
    CHECK(open_both());
    three(&p);
    for (i = 0; i + 3 < sizeof(name); i += 3) memcpy(name + i, "\xE2\x82\xAC", 3);
    memcpy(name, "\x1b[2", 3);
    p.host.name = name;
    CHECK_EQ(program_make(&p), QNNRT_OK);
    qnnrt_step_text(&qnnrt_pipeline_get_info(p.pipeline)->steps[1], text, sizeof(text));
    CHECK_STR(text, "host \"?[2\xE2\x82\xAC");
    CHECK(life_text_clean(text));
    for (i = 1; i <= sizeof(small); ++i) {
        memset(small, 'x', sizeof(small));
        qnnrt_step_text(&qnnrt_pipeline_get_info(p.pipeline)->steps[1], small, i);
        CHECK(strlen(small) < i && life_text_clean(small));
    }
    CHECK(qnnrt_step_text(NULL, text, sizeof(text))[0] == '\0');
    CHECK(qnnrt_step_text(NULL, NULL, 0)[0] == '\0');
    program_unmake(&p);
    close_both();
}

TEST(a_step_that_is_not_a_graph_can_be_first_or_last)
{
    program p;
    float y[COUNT];
    CHECK(open_both());
    program_begin(&p);
    host_step(&p);
    graph_step(&p, 1, "square");
    edge(&p, 0, "z", 1, "x");
    p.desc.edges_only = 1;
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(p.run, qnnrt_run_slot(p.run, "0/y"), 0, input, COUNT), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(p.run, qnnrt_run_slot(p.run, "1/y"), 0, y, COUNT), QNNRT_OK);
    CHECK(y[4] == 16);
    program_end(&p);
    program_begin(&p);
    graph_step(&p, 1, "square");
    host_step(&p);
    edge(&p, 0, "y", 1, "y");
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(p.run, qnnrt_run_slot(p.run, "x"), 0, input, COUNT), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(p.run, qnnrt_run_slot(p.run, "z"), 0, y, COUNT), QNNRT_OK);
    CHECK(y[4] == 10);
    program_end(&p);
    close_both();
}

TEST(the_failure_of_a_host_step_arrives)
{
    program p;
    counted c;
    float y[COUNT];
    CHECK(open_both());
    three(&p);
    memset(&c, 0, sizeof(c));
    p.host.user = &c;
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    c.result = QNNRT_E_LIMIT;
    c.text = "the table has 3 rows";
    c.hint = "Give a row that it has.";
    CHECK_EQ(run_values(&p, input, y), QNNRT_E_LIMIT);
    SAYS("pipeline \"program\": step 1 (host \"plus_one\") failed: the table has 3 rows");
    SAYS("Give a row that it has.");
    CHECK_EQ(err.code, QNNRT_E_LIMIT);
    c.text = c.hint = NULL;
    CHECK_EQ(run_values(&p, input, y), QNNRT_E_LIMIT);
    SAYS("returned -13 without a text");
    CHECK(err.hint[0] == '\0');
    c.result = (qnnrt_result)77;
    CHECK_EQ(run_values(&p, input, y), QNNRT_E_BACKEND);
    SAYS("returned 77");
    c.result = QNNRT_OK;
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    CHECK(y[7] == 201.0f * 201.0f);
    program_end(&p);
    close_both();
}

/* Succeed and leave an error behind, then fail without one. */
static qnnrt_result leaves_an_error(void *user, const qnnrt_graph_info *step,
                                    const void *const *inputs, void *const *outputs,
                                    qnnrt_error *why)
{
    int *calls = (int *)user;
    (void)step; (void)inputs; (void)outputs;
    if (++*calls > 1) return QNNRT_E_IO;
    why->code = QNNRT_E_LIMIT;
    why->vendor_code = 77;
    snprintf(why->text, sizeof(why->text), "tried in vain");
    snprintf(why->hint, sizeof(why->hint), "Try something else.");
    return QNNRT_OK;
}

TEST(a_host_step_does_not_show_the_error_of_an_earlier_call)
{
    program p;
    int calls = 0;
    float y[COUNT];
    CHECK(open_both());
    three(&p);
    p.host.exec = leaves_an_error;
    p.host.user = &calls;
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    CHECK_EQ(run_values(&p, input, y), QNNRT_E_IO);
    SAYS("\"plus_one\"");
    CHECK(strstr(err.text, "in vain") == NULL && strstr(err.hint, "something") == NULL);
    CHECK_EQ(err.vendor_code, 0);
    program_end(&p);
    close_both();
}

TEST(a_wrong_host_step_is_refused)
{
    static const uint32_t zero[2] = { 2, 0 };
    const float scales[2] = { 1, 2 };
    program p;
    qnnrt_tensor_info two[2];
    CHECK(open_both());
#define REFUSED(change, expected, words) \
    do { three(&p); change; CHECK_EQ(program_make(&p), expected); CHECK(p.pipeline == NULL); \
         CHECK_EQ(err.code, expected); \
         SAYS(words); CHECK_EQ(qnnrt_pipeline_make(&p.desc, &p.pipeline, NULL), expected); } while (0)
    REFUSED(p.host.name = NULL, QNNRT_E_ARG, "no name");
    REFUSED(p.host.name = "", QNNRT_E_ARG, "no name");
    REFUSED(p.host.exec = NULL, QNNRT_E_ARG, "exec");
    REFUSED(p.host.input_count = p.host.output_count = 0, QNNRT_E_ARG, "no tensors");
    REFUSED(p.host.inputs = NULL, QNNRT_E_ARG, "1 inputs");
    REFUSED(p.in.name = NULL, QNNRT_E_ARG, "input 0");
    REFUSED(p.in.dims = NULL, QNNRT_E_ARG, "\"y\"");
    REFUSED(p.in.dims = zero, QNNRT_E_ARG, "dimension of 0");
    REFUSED(p.in.rank = 100, QNNRT_E_LIMIT, "rank 100");
    REFUSED(p.in.dtype = (qnnrt_dtype)0x9999, QNNRT_E_UNSUPPORTED, "\"y\"");
    REFUSED(p.in.dtype = QNNRT_DTYPE_U8Q; p.in.quant.encoding = QNNRT_ENCODING_PER_AXIS;
            p.in.quant.axis = 0; p.in.quant.count = 3; p.in.quant.scales = scales,
            QNNRT_E_ARG, "3 scales");
    REFUSED(two[0] = two[1] = p.in; p.host.inputs = two; p.host.input_count = 2, QNNRT_E_ARG,
            "have the same name");
    REFUSED(p.out.dtype = QNNRT_DTYPE_F16, QNNRT_E_MISMATCH, "\"z\"");
    REFUSED(p.edges[0].from = "nothing", QNNRT_E_NOT_FOUND, "\"nothing\"");
    REFUSED(p.desc.step_count = 1; p.steps[0] = p.steps[1]; p.steps[0].host = NULL;
            p.desc.edge_count = 0, QNNRT_E_ARG, "step 0");
    REFUSED(p.steps[0].model = NULL, QNNRT_E_ARG, "step 0");
    REFUSED(p.edges[1].from_step = 2; p.edges[1].to_step = 1, QNNRT_E_ARG, "edge 1");
    close_both();
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* twice -> float16 -> a host step that copies -> float32 -> square */
static qnnrt_result copy_halves(void *user, const qnnrt_graph_info *step,
                                const void *const *inputs, void *const *outputs, qnnrt_error *why)
{
    (void)user; (void)why;
    memcpy(outputs[0], inputs[0], (size_t)step->inputs[0].bytes);
    return QNNRT_OK;
}

static void halves(program *p)
{
    three(p);
    p->in.dtype = p->out.dtype = QNNRT_DTYPE_F16;
    p->host.name = "copy";
    p->host.exec = copy_halves;
    p->wishes[0].how = p->wishes[1].how = QNNRT_CONVERT_VALUES;
}

TEST(conversions_are_steps)
{
    program p;
    const qnnrt_pipeline_info *info;
    const qnnrt_converter *list[2];
    size_t i;
    float y[COUNT], big[COUNT];
    char text[512];
    CHECK(open_both());
    halves(&p);
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    info = qnnrt_pipeline_get_info(p.pipeline);
    CHECK_EQ(info->step_count, 5);
    CHECK_EQ(info->edge_count, 4);
    CHECK(converted_is(&info->steps[1]));
    CHECK(converted_is(&info->steps[3]));
    CHECK_STR(qnnrt_step_text(&info->steps[1], text, sizeof(text)),
              "convert y: float32 -> float16, 16 bytes");
    CHECK_STR(qnnrt_step_text(&info->steps[3], text, sizeof(text)),
              "convert z: float16 -> float32, 32 bytes");
    for (i = 0; i < info->edge_count; ++i) CHECK_STR(info->edges[i].reason, "given, converted");
    /* A name means the tensor of a graph or host step, before that of a conversion. */
    CHECK(qnnrt_run_slot(p.run, "z") == info->edges[2].slot);
    CHECK_STR(info->edges[2].slot->address, "z");
    CHECK(qnnrt_run_slot(p.run, "1/y") == info->edges[1].slot);
    CHECK_STR(info->edges[1].slot->address, "1/y");
    for (i = 0; i < info->slot_count; ++i) {
        const qnnrt_slot *slot;
        CHECK_EQ(qnnrt_slot_find(p.pipeline, info->slots[i].address, info->slots[i].role, &slot, &err), QNNRT_OK);
        CHECK(slot == &info->slots[i]);
    }
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    for (i = 0; i < COUNT; ++i) CHECK(y[i] == twice(input[i]) * twice(input[i]));
    for (i = 0; i < 2; ++i) list[i] = qnnrt_convert_of(&info->steps[1 + 2 * i]);
    CHECK(qnnrt_convert_of(&info->steps[0]) == NULL);
    CHECK(qnnrt_convert_of(&info->steps[2]) == NULL);
    CHECK(qnnrt_convert_of(NULL) == NULL);
    for (i = 0; i < 3; ++i) CHECK_EQ(qnnrt_conversions_step(p.conversions, i), 2 * i);
    CHECK_EQ(qnnrt_convert_get_info(list[0]).how, QNNRT_CONVERT_VALUES);
    CHECK_EQ(qnnrt_convert_get_info(list[0]).exact, 0);
    CHECK_EQ(qnnrt_convert_get_info(list[0]).lost + qnnrt_convert_get_info(list[0]).lost_ever, 0);
    for (i = 0; i < COUNT; ++i) big[i] = i < 3 ? 1e9f : 1;
    CHECK_EQ(run_values(&p, big, y), QNNRT_OK);
    CHECK_EQ(run_values(&p, big, y), QNNRT_OK);
    CHECK(y[0] == 65504.0f * 65504.0f);
    CHECK_EQ(qnnrt_convert_get_info(list[0]).lost, 3);
    CHECK_EQ(qnnrt_convert_get_info(list[0]).lost_ever, 6);
    CHECK_EQ(qnnrt_convert_get_info(list[1]).lost_ever, 0);
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    CHECK_EQ(qnnrt_convert_get_info(list[0]).lost, 0);
    CHECK_EQ(qnnrt_convert_get_info(list[0]).lost_ever, 6);
    CHECK_EQ(qnnrt_convert_get_info(NULL).lost_ever, 0);
    CHECK_EQ(qnnrt_conversions_create(&p.desc, p.wishes, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK(qnnrt_conversions_desc(NULL) == NULL);
    CHECK_EQ(qnnrt_conversions_step(NULL, 7), 7);
    qnnrt_conversions_free(NULL);
    program_end(&p);
    close_both();
}

TEST(an_exact_conversion_fails_where_a_value_does_not_fit)
{
    program p;
    float y[COUNT], big[COUNT] = { 1, 2, 3, 4, 5, 6, 1e9f, 2e9f };
    CHECK(open_both());
    halves(&p);
    p.wishes[0].exact = 1;
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    CHECK_EQ(run_values(&p, big, y), QNNRT_E_MISMATCH);
    SAYS("step 1 (convert y: float32 -> float16, 16 bytes) failed: ");
    SAYS("values do not fit: 2 of 8");
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    program_end(&p);
    close_both();
}

TEST(an_edge_that_does_not_ask_is_not_converted)
{
    program p;
    CHECK(open_both());
    halves(&p);
    p.wishes[0].how = QNNRT_CONVERT_NONE;
    CHECK_EQ(program_make(&p), QNNRT_E_MISMATCH);
    SAYS("edge 0");
    SAYS("float32[2,4]");
    SAYS("float16[2,4]");
    CHECK_STR(err.hint, "qnnrt_convert.h");
    halves(&p);                          /* nor by its name */
    p.desc.edge_count = 1;
    p.edges[0] = p.edges[1];
    CHECK_EQ(program_make(&p), QNNRT_E_MISMATCH);
    CHECK_STR(err.hint, "qnnrt_convert.h");
    halves(&p);
    p.wishes[0].how = (qnnrt_convert)9;
    CHECK_EQ(program_make(&p), QNNRT_E_ARG);
    SAYS("edge 0: ");
    SAYS("is not a qnnrt_convert");
    three(&p);
    p.wishes[1].exact = 1;
    CHECK_EQ(program_make(&p), QNNRT_E_ARG);
    SAYS("edge 1: ");
    SAYS("nothing to convert");
    three(&p);
    p.edges[1].to_step = 1;
    CHECK_EQ(program_make(&p), QNNRT_E_ARG);
    SAYS("from step 1 to step 1 of 3");
    close_both();
}

TEST(one_tensor_is_converted_once_for_each_destination)
{
    program p;
    qnnrt_host_step other;
    const qnnrt_pipeline_info *info;
    size_t i, conversions = 0;
    float y[COUNT];
    CHECK(open_both());
    /* twice feeds three host steps: two as float16, one as uint8; square reads it as it is. */
    halves(&p);
    other = p.host;
    qnnrt_tensor_info bytes = test_tensor("q", QNNRT_DTYPE_U8Q, 2, shape);
    bytes.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    bytes.quant.scale = 1;
    other.name = "bytes";
    other.inputs = &bytes;
    bytes.name = "y";
    qnnrt_tensor_info codes = bytes;
    codes.name = "codes";
    other.outputs = &codes;
    p.desc.step_count = 1;
    host_step(&p);
    host_step(&p);
    p.steps[p.desc.step_count++].host = &other;
    graph_step(&p, 1, "square");
    p.desc.edge_count = 0;
    edge(&p, 0, "y", 2, "y")->how = QNNRT_CONVERT_VALUES;      /* the later reader first */
    edge(&p, 0, "y", 1, "y")->how = QNNRT_CONVERT_VALUES;
    edge(&p, 0, "y", 3, "y")->how = QNNRT_CONVERT_VALUES;
    edge(&p, 0, "y", 4, "x");
    p.desc.edges_only = 1;
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    info = qnnrt_pipeline_get_info(p.pipeline);
    for (i = 0; i < info->step_count; ++i) conversions += converted_is(&info->steps[i]);
    CHECK_EQ(conversions, 2);
    CHECK_EQ(info->step_count, 7);
    CHECK(converted_is(&info->steps[1]));
    CHECK(converted_is(&info->steps[4]));
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    for (i = 0; i < COUNT; ++i) CHECK(y[i] == twice(input[i]) * twice(input[i]));
    program_end(&p);
    /* Two edges that are not equally exact do not share one. */
    p.wishes[1].exact = 1;
    CHECK_EQ(program_make(&p), QNNRT_OK);
    CHECK_EQ(qnnrt_pipeline_get_info(p.pipeline)->step_count, 8);
    program_unmake(&p);
    close_both();
}

/* ---- constants ------------------------------------------------------------------------------- */

TEST(a_constant_is_read_where_it_lies)
{
    static const float value[COUNT] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    program p;
    const qnnrt_plan_info *plan;
    float y[COUNT], other[COUNT] = { 9, 9, 9, 9, 9, 9, 9, 9 };
    const qnnrt_slot *slot;
    size_t i;
    CHECK(open_both());
    program_begin(&p);
    graph_step(&p, 0, "square");
    p.uses[0].tensor = "x";
    p.uses[0].constant = value;
    p.uses[0].constant_bytes = sizeof(value);
    p.desc.use_count = 1;
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    slot = qnnrt_run_slot(p.run, "x");
    CHECK_EQ(slot->role, QNNRT_ROLE_CONSTANT);
    CHECK_STR(qnnrt_role_name(slot->role), "constant");
    CHECK(slot->constant == (const void *)value && qnnrt_data_slot(p.run, slot, NULL) == (const void *)value);
    plan = qnnrt_plan_get_info(p.plan);
    for (i = 0; i < plan->block_count; ++i) CHECK(plan->blocks[i].slot != slot);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(p.run, qnnrt_run_slot(p.run, "y"), 0, y, COUNT), QNNRT_OK);
    CHECK(y[7] == 64);
    CHECK_EQ(qnnrt_write_f32(p.run, slot, 0, other, 1), QNNRT_E_STATE);
    CHECK_STR(qnnrt_run_error(p.run)->text, "constant \"x\" cannot be written");
    CHECK_EQ(qnnrt_read_f32(p.run, slot, 0, y, COUNT), QNNRT_OK);
    CHECK(y[7] == 8);
    CHECK_EQ(bind_slot(p.run, slot, other, sizeof(other)), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(p.run, slot, 0, value, 1), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(p.run, qnnrt_run_slot(p.run, "y"), 0, y, COUNT), QNNRT_OK);
    CHECK(y[7] == 81);
    CHECK_EQ(bind_slot(p.run, slot, NULL, 0), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(p.run, qnnrt_run_slot(p.run, "y"), 0, y, COUNT), QNNRT_OK);
    CHECK(y[7] == 64);
    qnnrt_mem_clear(p.mem);
    CHECK(value[7] == 8);
    program_end(&p);
    close_both();
}

TEST(a_wrong_constant_is_refused)
{
    static const float value[COUNT] = { 0 };
    program p;
    qnnrt_place_desc place;
    qnnrt_buffer_desc buffer;
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan;
    qnnrt_plan *made = NULL;
    CHECK(open_both());
#define WITH(change, code, words) \
    do { three(&p); p.desc.use_count = 1; p.uses[0].tensor = "x"; \
         p.uses[0].constant = value; p.uses[0].constant_bytes = sizeof(value); change; \
         CHECK_EQ(program_make(&p), code); SAYS(words); } while (0)
    WITH(p.uses[0].constant_bytes = 31, QNNRT_E_MISMATCH, "needs 32 bytes, the constant has 31");
    WITH(p.uses[0].constant = NULL, QNNRT_E_ARG, "constant");
    WITH(p.uses[0].tensor = NULL, QNNRT_E_ARG, "use 0");
    WITH(p.uses[0].step = 3, QNNRT_E_ARG, "use 0");
    WITH(p.uses[0].tensor = "z", QNNRT_E_NOT_FOUND, "\"z\"");
    WITH(p.uses[0].step = 2, QNNRT_E_ARG, "already has an edge");
    WITH(p.uses[1] = p.uses[0]; p.desc.use_count = 2, QNNRT_E_ARG,
         "already has a constant");
    WITH(p.desc.uses = NULL, QNNRT_E_ARG, "uses");
    three(&p);
    p.desc.use_count = 1;
    p.uses[0].tensor = "x";
    p.uses[0].constant = value;
    p.uses[0].constant_bytes = sizeof(value);
    CHECK_EQ(program_make(&p), QNNRT_OK);
    memset(&place, 0, sizeof(place));
    memset(&buffer, 0, sizeof(buffer));
    memset(&entry, 0, sizeof(entry));
    memset(&plan, 0, sizeof(plan));
    CHECK_EQ(qnnrt_slot_find(p.pipeline, "x", QNNRT_ROLE_CONSTANT, &place.slot, &err), QNNRT_OK);
    buffer.name = "b";
    buffer.bytes = 64;
    entry.pipeline = p.pipeline;
    plan.entries = &entry;
    plan.places = &place;
    plan.buffers = &buffer;
    plan.entry_count = plan.place_count = plan.buffer_count = 1;
    CHECK_EQ(qnnrt_plan_create(&plan, &made, &err), QNNRT_E_ARG);
    SAYS("is a constant");
    program_unmake(&p);
    close_both();
}

/* ---- hooks, profiles, errors ----------------------------------------------------------------- */

static void *other_alloc(void *user, size_t bytes) { (void)user; return malloc(bytes); }
static void other_free(void *user, void *data) { (void)user; free(data); }
static int others_held, others_taken, both_held;
static void other_lock(void *user)
{
    (void)user;
    ++others_taken;
    both_held |= others_held++ > 0 || life_watch.locked;
}
static void other_unlock(void *user) { (void)user; --others_held; }

TEST(backends_of_one_pipeline_have_one_allocator_and_all_locks_or_none)
{
    qnnrt_hooks plain, other;
    program p;
    memset(&plain, 0, sizeof(plain));
    other = plain;
    other.alloc = other_alloc;
    other.free = other_free;
    CHECK(open_with(&plain, &other));
    three(&p);
    CHECK_EQ(program_make(&p), QNNRT_E_MISMATCH);
    SAYS("different hooks: two allocators");
    SAYS("step 2 (second, graph \"square\")");
    close_both();
    other = plain;
    other.lock = other_lock;
    other.unlock = other_unlock;
    CHECK(open_with(&plain, &other));
    three(&p);
    CHECK_EQ(program_make(&p), QNNRT_E_MISMATCH);
    SAYS("one has a lock, the other has none");
    close_both();
}

TEST(each_step_takes_the_lock_of_its_backend)
{
    qnnrt_hooks first, second;
    program p;
    counted c;
    float y[COUNT];
    int taken;
    life_begin("");
    first = life_hooks();
    second = first;
    second.lock = other_lock;
    second.unlock = other_unlock;
    memset(&c, 0, sizeof(c));
    CHECK(open_with(&first, &second));
    three(&p);
    p.host.user = &c;
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    taken = others_taken;
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    CHECK_EQ(others_taken, taken + 1);
    CHECK_EQ(c.locked, 0);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    c.result = QNNRT_E_IO;
    CHECK_EQ(run_values(&p, input, y), QNNRT_E_IO);
    program_end(&p);
    /* On one backend, too, a host step is called without the lock. */
    program_begin(&p);
    p.host.user = &c;
    c.result = QNNRT_OK;
    graph_step(&p, 0, "twice");
    host_step(&p);
    edge(&p, 0, "y", 1, "y");
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(c.locked, 0);
    program_end(&p);
    close_both();
    CHECK_EQ(others_held, 0);
    CHECK_EQ(both_held, 0);
    CHECK(!life_watch.locked && !life_watch.lock_misused);
    CHECK_EQ(life_watch.blocks, 0);
}

TEST(steps_of_all_kinds_are_profiled)
{
    program p;
    const qnnrt_profile_event *events;
    size_t count, i, seen[5] = { 0, 0, 0, 0, 0 };
    float y[COUNT];
    CHECK(open_both());
    halves(&p);
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(p.run, &events, &count), QNNRT_OK);
    for (i = 0; i < count; ++i) {
        CHECK(events[i].step < 5);
        seen[events[i].step] += 1;
        if (events[i].step == 2) CHECK_STR(events[i].name, "host time");
        if (events[i].step == 1) CHECK_STR(events[i].name, "convert time");
        if (events[i].step == 1) CHECK_STR(events[i].unit_name, "us");
        CHECK(events[i].value >= 0);
    }
    for (i = 0; i < 5; ++i) CHECK(seen[i] > 0);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_OFF), QNNRT_OK);
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    program_end(&p);
    close_both();
}

static int64_t allocations_left = -1;      /* -1: no limit */
static void *scarce_alloc(void *user, size_t bytes)
{
    (void)user;
    if (allocations_left == 0) return NULL;
    if (allocations_left > 0) --allocations_left;
    return life_alloc(NULL, bytes);
}

/* Each allocation fails, until all succeed: a pipeline of two host steps, with no model and no backend. */
TEST(host_steps_alone_are_a_pipeline)
{
    static const float value[COUNT] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const qnnrt_profile_event *events;
    qnnrt_hooks hooks;
    qnnrt_prepare_desc shared;
    qnnrt_result result = QNNRT_E_MEMORY;
    int64_t n;
    size_t count;
    life_begin("");
    memset(&hooks, 0, sizeof(hooks));
    memset(&shared, 0, sizeof(shared));
    shared.mem.kind = QNNRT_MEM_SHARED;
    hooks.alloc = scarce_alloc;
    hooks.free = life_free;
    hooks.lock = life_lock;
    hooks.unlock = life_unlock;
    for (n = 0; result != QNNRT_OK && n < 1000; ++n) {
        program p;
        program_begin(&p);
        host_step(&p);
        host_step(&p);
        edge(&p, 0, "z", 1, "y");
        p.desc.name = NULL;
        p.desc.edges_only = 1;
        p.desc.hooks = &hooks;
        allocations_left = n;
        result = qnnrt_pipeline_make(&p.desc, &p.pipeline, &err);
        if (result == QNNRT_OK) {
            CHECK_STR(qnnrt_pipeline_get_info(p.pipeline)->name, "plus_one");
            result = qnnrt_pipeline_prepare(p.pipeline, &shared, &p.run, &err);
        }
        if (result == QNNRT_OK) result = qnnrt_write_f32(p.run, qnnrt_run_slot(p.run, "0/y"), 0, value, COUNT);
        if (result == QNNRT_OK) result = qnnrt_exec(p.run);
        if (result == QNNRT_OK) {
            const float *z = (const float *)qnnrt_data(p.run, "1/z", NULL);
            CHECK(z != NULL && z[0] == 3 && z[7] == 10);
            CHECK_EQ(qnnrt_pipeline_destroy(p.pipeline), QNNRT_E_BUSY);
            result = qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC);
        }
        if (result == QNNRT_OK) result = qnnrt_exec(p.run);
        if (result == QNNRT_OK) result = qnnrt_run_events(p.run, &events, &count);
        if (result == QNNRT_OK) {
            CHECK(count == 2);
            CHECK_EQ(qnnrt_run_profile_log(p.run, "log"), QNNRT_E_UNSUPPORTED);
            CHECK_EQ(qnnrt_exec_steps(p.run, 0, 1), QNNRT_OK);
        }
        allocations_left = -1;
        if (result != QNNRT_OK) CHECK_EQ(result, QNNRT_E_MEMORY);
        qnnrt_run_destroy(p.run);
        CHECK_EQ(qnnrt_pipeline_destroy(p.pipeline), QNNRT_OK);
        CHECK_EQ(life_watch.blocks, 0);
    }
    CHECK_EQ(result, QNNRT_OK);
    CHECK(n > 10);
    CHECK(!life_watch.locked && !life_watch.lock_misused);
    hooks.free = NULL;
    {
        program p;
        program_begin(&p);
        host_step(&p);
        p.desc.hooks = &hooks;
        CHECK_EQ(qnnrt_pipeline_make(&p.desc, &p.pipeline, &err), QNNRT_E_ARG);
        SAYS("alloc and free");
    }
}

/* Two backends take turns, and one backend alone: the same run executes its steps in two parts, is left
   after the first part, and then gives the same values. */
TEST(steps_execute_in_parts_and_can_end_after_one)
{
    int which, n;
    CHECK(open_both());
    for (which = 0; which < 2; ++which) {
        float expected[COUNT], y[COUNT];
        program p;
        int steps = 5, s;
        if (which == 0) halves(&p);
        else {
            steps = 2;
            program_begin(&p);
            graph_step(&p, 0, "twice");
            host_step(&p);
            edge(&p, 0, "y", 1, "y");
        }
        CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
        CHECK_EQ(run_values(&p, input, expected), QNNRT_OK);
        for (n = 1; n < steps; ++n) {
            char last[32];
            snprintf(last, sizeof(last), "%d/y", steps - 1);
            CHECK_EQ(qnnrt_write_f32(p.run, qnnrt_run_slot(p.run, "0/x"), 0, input, COUNT), QNNRT_OK);
            memset(qnnrt_data(p.run, last, NULL), 0, 4);
            CHECK_EQ(qnnrt_exec_steps(p.run, 0, (size_t)n), QNNRT_OK);
            CHECK_EQ(qnnrt_exec_steps(p.run, (size_t)n, (size_t)(steps - n)), QNNRT_OK);
            CHECK_EQ(qnnrt_read_f32(p.run, qnnrt_run_slot(p.run, last), 0, y, COUNT), QNNRT_OK);
            CHECK(memcmp(y, expected, sizeof(y)) == 0);
            CHECK_EQ(qnnrt_exec_steps(p.run, 0, (size_t)n), QNNRT_OK);        /* and no further */
            CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
            CHECK(memcmp(y, expected, sizeof(y)) == 0);
        }
        for (s = 0; s < steps; ++s) CHECK_EQ(qnnrt_exec_steps(p.run, (size_t)s, 1), QNNRT_OK);
        CHECK_EQ(qnnrt_exec_steps(p.run, 0, 0), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_exec_steps(p.run, 1, SIZE_MAX), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_exec_steps(p.run, (size_t)steps, 1), QNNRT_E_ARG);
        CHECK_STR(qnnrt_run_error(p.run)->text, which == 0 ? "1 steps from step 5 on, but it has 5" : "it has 2");
        program_end(&p);
    }
    CHECK_EQ(qnnrt_exec_steps(NULL, 0, 1), QNNRT_E_ARG);
    close_both();
}

TEST(a_failing_step_names_its_backend_and_shows_its_log)
{
    program p;
    float y[COUNT];
    CHECK(open_both());
    three(&p);
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    life_begin("fail=graphExecute:1:6001");           /* of libQnnRef.so only: the first step */
    CHECK_EQ(run_values(&p, input, y), QNNRT_E_BACKEND);
    SAYS("step 0 (first, graph \"twice\")");
    SAYS("libQnnRef.so");
    CHECK_EQ(err.vendor_code & 0xFFFF, 6001);
    life_begin("");
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    program_end(&p);
    close_both();
}

/* ---- memory, residency, recovery ------------------------------------------------------------- */

TEST(shared_memory_is_registered_for_the_steps_of_its_backend)
{
    program p;
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan;
    qnnrt_mem_desc mem;
    const qnnrt_transfer_info *list;
    size_t count, i, registered = 0;
    float y[COUNT];
    CHECK(open_both());
    halves(&p);
    CHECK_EQ(program_make(&p), QNNRT_OK);
    memset(&entry, 0, sizeof(entry));
    memset(&plan, 0, sizeof(plan));
    memset(&mem, 0, sizeof(mem));
    entry.pipeline = p.pipeline;
    plan.entries = &entry;
    plan.entry_count = 1;
    CHECK(qnnrt_device_memory("memfd", &mem));
    CHECK_EQ(qnnrt_plan_create(&plan, &p.plan, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_create(p.plan, &mem, &p.mem, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_run_create(p.mem, 0, &p.run, &err), QNNRT_OK);
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    for (i = 0; i < COUNT; ++i) CHECK(y[i] == twice(input[i]) * twice(input[i]));
    CHECK_EQ(qnnrt_run_transfers(p.run, &list, &count), QNNRT_OK);
    CHECK_EQ(count, 10);
    for (i = 0; i < count; ++i) {
        registered += (size_t)list[i].registered;
        if (list[i].step == 0) CHECK_EQ(list[i].registered, 1);
        else if (list[i].step == 4) CHECK_STR(list[i].reason, "another backend");
        else CHECK_STR(list[i].reason, "without a backend");
        CHECK(list[i].registered || list[i].reason[0] != '\0');
    }
    CHECK_EQ(registered, 2);
    program_end(&p);
    close_both();
}

/* Save the context of each model, and open it with a residency. */
static int open_saved(qnnrt_residency residency, qnnrt **out)
{
    char path[2][1200];
    int i;
    if (!open_both()) return 0;
    for (i = 0; i < 2; ++i) {
        snprintf(path[i], sizeof(path[i]), "%s/saved_%d.bin", test_tmpdir(), i);
        if (qnnrt_save(models[i], 0, path[i], &err) != QNNRT_OK) return 0;
    }
    close_both();
    for (i = 0; i < 2; ++i) {
        qnnrt_desc desc;
        qnnrt_file file;
        memset(&desc, 0, sizeof(desc));
        memset(&file, 0, sizeof(file));
        file.path = path[i];
        desc.files = &file;
        desc.file_count = 1;
        desc.backend_desc.path = i == 0 ? TEST_REF_LIB : copy_path;
        desc.residency = residency;
        desc.inspect = residency == QNNRT_RESIDENT_CALLER;
        if (desc.inspect) desc.residency = QNNRT_RESIDENT_ALL;
        if (swap_open(NULL, &desc, &out[i], &err) != QNNRT_OK) return 0;
        models[i] = out[i];
    }
    return 1;
}

TEST(contexts_of_a_mixed_pipeline_come_and_go)
{
    program p;
    qnnrt *opened[2];
    float y[COUNT];
    int i;
    CHECK(open_saved(SWAP_ONE, opened));
    halves(&p);
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    for (i = 0; i < 3; ++i) {
        CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
        CHECK(y[5] == 81);
    }
    CHECK_EQ(qnnrt_get_info(opened[0])->contexts[0].creates, 1);
    CHECK_EQ(qnnrt_model_recover(opened[1], &err), QNNRT_OK);
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    CHECK(y[5] == 81);
    CHECK_EQ(qnnrt_get_info(opened[0])->contexts[0].creates, 1);
    CHECK_EQ(qnnrt_get_info(opened[1])->contexts[0].creates, 2);
    program_end(&p);
    CHECK_EQ(qnnrt_close(opened[1]), QNNRT_OK);
    CHECK_EQ(qnnrt_close(opened[0]), QNNRT_OK);
}

TEST(a_restart_of_one_backend_leaves_the_other_alone)
{
    program p;
    qnnrt *opened[2];
    float y[COUNT];
    CHECK(open_saved(QNNRT_RESIDENT_ALL, opened));
    halves(&p);
    CHECK_EQ(program_prepare(&p, 0), QNNRT_OK);
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    ref_begin("restart=graphExecute:1");
    CHECK_EQ(run_values(&p, input, y), QNNRT_E_BACKEND);
    CHECK_EQ(run_values(&p, input, y), QNNRT_E_BACKEND);
    CHECK_EQ(qnnrt_model_recover(opened[0], &err), QNNRT_OK);
    CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
    CHECK(y[5] == 81);
    CHECK_EQ(qnnrt_get_info(opened[0])->contexts[0].creates, 2);
    CHECK_EQ(qnnrt_get_info(opened[1])->contexts[0].creates, 1);
    ref_begin("");
    program_end(&p);
    CHECK_EQ(qnnrt_close(opened[1]), QNNRT_OK);
    CHECK_EQ(qnnrt_close(opened[0]), QNNRT_OK);
}

TEST(a_mixed_pipeline_can_be_looked_at_without_backends)
{
    program p;
    qnnrt *opened[2];
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan;
    char text[512];
    CHECK(open_saved(QNNRT_RESIDENT_CALLER, opened));
    halves(&p);
    CHECK_EQ(program_make(&p), QNNRT_OK);
    CHECK_EQ(qnnrt_pipeline_get_info(p.pipeline)->step_count, 5);
    CHECK(qnnrt_pipeline_get_info(p.pipeline)->steps[0].backend == NULL);
    CHECK_STR(qnnrt_step_text(&qnnrt_pipeline_get_info(p.pipeline)->steps[0], text, sizeof(text)),
              "graph \"twice\" of ");
    memset(&entry, 0, sizeof(entry));
    memset(&plan, 0, sizeof(plan));
    entry.pipeline = p.pipeline;
    plan.entries = &entry;
    plan.entry_count = 1;
    CHECK_EQ(qnnrt_plan_create(&plan, &p.plan, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_create(p.plan, NULL, &p.mem, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_run_create(p.mem, 0, &p.run, &err), QNNRT_E_STATE);
    SAYS("desc.inspect");
    program_end(&p);
    CHECK_EQ(qnnrt_close(opened[1]), QNNRT_OK);
    CHECK_EQ(qnnrt_close(opened[0]), QNNRT_OK);
}

TEST(every_allocation_of_a_mixed_pipeline_may_fail)
{
    static const float value[COUNT] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    qnnrt_hooks hooks;
    program p;
    int64_t n, before;
    qnnrt_result result = QNNRT_E_MEMORY;
    life_begin("");
    memset(&hooks, 0, sizeof(hooks));
    hooks.alloc = scarce_alloc;
    hooks.free = life_free;
    CHECK(open_with(&hooks, &hooks));
    before = life_watch.blocks;
    for (n = 0; result != QNNRT_OK && n < 1000; ++n) {
        qnnrt_entry_desc entry;
        qnnrt_plan_desc plan;
        memset(&entry, 0, sizeof(entry));
        memset(&plan, 0, sizeof(plan));
        halves(&p);
        p.hooks = hooks;
        p.desc.use_count = 1;
        p.uses[0].tensor = "x";
        p.uses[0].constant = value;
        p.uses[0].constant_bytes = sizeof(value);
        allocations_left = n;
        result = program_make(&p);
        entry.pipeline = p.pipeline;
        plan.entries = &entry;
        plan.entry_count = 1;
        if (result == QNNRT_OK) result = qnnrt_plan_create(&plan, &p.plan, &err);
        if (result == QNNRT_OK) result = qnnrt_mem_create(p.plan, NULL, &p.mem, &err);
        if (result == QNNRT_OK) result = qnnrt_run_create(p.mem, 0, &p.run, &err);
        if (result == QNNRT_OK) result = qnnrt_exec(p.run);
        if (result == QNNRT_OK) {
            result = qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC);
            CHECK(result == QNNRT_OK || result == QNNRT_E_MEMORY);
            if (result == QNNRT_OK) result = qnnrt_exec(p.run);
        }
        allocations_left = -1;
        if (result != QNNRT_OK) CHECK_EQ(result, QNNRT_E_MEMORY);
        program_end(&p);
        CHECK_EQ(life_watch.blocks, before);
    }
    CHECK_EQ(result, QNNRT_OK);
    CHECK(n > 10);
    close_both();
    CHECK_EQ(life_watch.blocks, 0);
}

static qnnrt_result one_too_many(void *user, const qnnrt_graph_info *step,
                                 const void *const *inputs, void *const *outputs, qnnrt_error *why)
{
    (void)inputs; (void)why;
    memset(outputs[0], 0, (size_t)step->outputs[0].bytes + (user != NULL));
    return QNNRT_OK;
}

static int runs_in_a_child(int too_many)
{
    pid_t child;
    int status = 0;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        program p;
        float y[COUNT];
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(1);      /* ASan prints a long report */
        if (!open_both()) _exit(1);
        three(&p);
        p.host.exec = one_too_many;
        p.host.user = too_many ? &p : NULL;
        if (program_prepare(&p, 1) != QNNRT_OK) _exit(1);
        _exit(run_values(&p, input, y) == QNNRT_OK ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

TEST(a_host_step_that_writes_past_its_output_meets_the_guard_page)
{
    CHECK(runs_in_a_child(0));
    CHECK(!runs_in_a_child(1));
}

/* A conversion of tools/qnnrt_convert.h is a host step: both of its ends, also where they have one name, are wired by edges. */
TEST(converters_are_steps_of_the_caller)
{
    static const int exact[2] = { 0, 1 };
    const qnnrt_tensor_info f32 = test_tensor("y", QNNRT_DTYPE_F32, 2, shape), f16 = test_tensor("y", QNNRT_DTYPE_F16, 2, shape);
    const qnnrt_tensor_info z = test_tensor("z", QNNRT_DTYPE_F16, 2, shape), x = test_tensor("x", QNNRT_DTYPE_F32, 2, shape);
    float big[COUNT], y[COUNT];
    memcpy(big, input, sizeof(big));
    big[4] = big[7] = 60000;                    /* twice that is no float16 */
    CHECK(open_both());
    for (int n = 0; n < 2; ++n) {
        qnnrt_converter *narrow, *wide;
        const qnnrt_conversion wish = { QNNRT_CONVERT_VALUES, exact[n] };
        program p;
        CHECK_EQ(qnnrt_convert_create(&f32, &f16, &wish, NULL, &narrow, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_convert_create(&z, &x, &wish, NULL, &wide, &err), QNNRT_OK);
        program_begin(&p);
        graph_step(&p, 0, "twice");
        p.steps[p.desc.step_count++].host = qnnrt_convert_step(narrow);
        p.in = f16;
        p.out = z;
        p.host.exec = copy_halves;
        host_step(&p);
        p.steps[p.desc.step_count++].host = qnnrt_convert_step(wide);
        graph_step(&p, 1, "square");
        edge(&p, 0, "y", 1, "y");
        edge(&p, 1, "y", 2, "y");
        edge(&p, 2, "z", 3, "z");
        edge(&p, 3, "x", 4, "x");
        CHECK_EQ(program_prepare(&p, 1), QNNRT_OK);
        CHECK_STR(qnnrt_pipeline_get_info(p.pipeline)->steps[1].graph->name, "convert y");
        CHECK_EQ(run_values(&p, input, y), QNNRT_OK);
        CHECK(y[7] == 200.0f * 200.0f);
        CHECK_EQ(qnnrt_convert_get_info(narrow).lost, 0);
        if (exact[n]) {
            CHECK_EQ(run_values(&p, big, y), QNNRT_E_MISMATCH);
            CHECK_STR(qnnrt_run_error(p.run)->text, "convert y");
            CHECK_STR(qnnrt_run_error(p.run)->text, "values do not fit: 2 of 8");
        } else {
            CHECK_EQ(run_values(&p, big, y), QNNRT_OK);
            CHECK(y[7] == 65504.0f * 65504.0f);
        }
        CHECK_EQ(qnnrt_convert_get_info(narrow).lost, 2);
        CHECK_EQ(qnnrt_convert_get_info(wide).lost_ever, 0);
        program_end(&p);
        qnnrt_convert_free(narrow);
        qnnrt_convert_free(wide);
    }
    close_both();
}

TEST_MAIN("mixed")
{
    RUN(there_is_a_second_library);
    RUN(a_pipeline_runs_on_two_backends_and_the_host);
    RUN(the_text_of_a_step_is_clean_and_fits);
    RUN(a_step_that_is_not_a_graph_can_be_first_or_last);
    RUN(the_failure_of_a_host_step_arrives);
    RUN(a_host_step_does_not_show_the_error_of_an_earlier_call);
    RUN(a_wrong_host_step_is_refused);
    RUN(conversions_are_steps);
    RUN(converters_are_steps_of_the_caller);
    RUN(an_exact_conversion_fails_where_a_value_does_not_fit);
    RUN(an_edge_that_does_not_ask_is_not_converted);
    RUN(one_tensor_is_converted_once_for_each_destination);
    RUN(a_constant_is_read_where_it_lies);
    RUN(a_wrong_constant_is_refused);
    RUN(backends_of_one_pipeline_have_one_allocator_and_all_locks_or_none);
    RUN(each_step_takes_the_lock_of_its_backend);
    RUN(steps_of_all_kinds_are_profiled);
    RUN(host_steps_alone_are_a_pipeline);
    RUN(steps_execute_in_parts_and_can_end_after_one);
    RUN(a_failing_step_names_its_backend_and_shows_its_log);
    RUN(shared_memory_is_registered_for_the_steps_of_its_backend);
    RUN(contexts_of_a_mixed_pipeline_come_and_go);
    RUN(a_restart_of_one_backend_leaves_the_other_alone);
    RUN(a_mixed_pipeline_can_be_looked_at_without_backends);
    RUN(every_allocation_of_a_mixed_pipeline_may_fail);
    RUN(a_host_step_that_writes_past_its_output_meets_the_guard_page);
}
