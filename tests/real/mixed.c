/* mixed.c - one program over two of Qualcomm's libraries: HTP in half precision, and the CPU for an operator that
   HTP refuses

       real_mixed RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   With QNNRT_MIXED_FOLDER=folder it leaves the program there, and a language model in its folder llm, and ends;
   tests/cli/test_mixed_tool.sh looks at both.
   The HTP library is that of RELEASE_FOLDER, the CPU library that of release 2.47, the only one that has it.

       first    HTP   h = relu(W1 x)                float16
       middle   CPU   p = softmax over axis 0 of h  float32; HTP has softmax over the last axis alone
       last     HTP   y = W2 (p * h)                float16

   Results are compared with plain loops in double. */
#include "real.h"
#include "qnnrt_builder.h"
#include "qnnrt_profile.h"
#include "qnnrt_manifest.h"
#include "host_llm.h"

static qnnrt_error err;

enum { ROWS = 8, IN = 16, MIDDLE = 32, OUT = 8 };

/* ---- the program in double -------------------------------------------------------------------- */

static double w1[MIDDLE * IN], w2[OUT * MIDDLE], x[ROWS * IN], expected[ROWS * OUT];

/* Return numbers from -1 to 1 that float16 represents exactly. */
static double draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return ((double)(*seed >> 24) - 127.5) / 128;
}

static void product(const double *in, const double *w, size_t in_count, size_t out_count, double *out)
{
    size_t r, o, i;
    for (r = 0; r < ROWS; ++r)
        for (o = 0; o < out_count; ++o) {
            out[r * out_count + o] = 0;
            for (i = 0; i < in_count; ++i) out[r * out_count + o] += in[r * in_count + i] * w[o * in_count + i];
        }
}

/* Softmax of each column. */
static void softmax_columns(const double *in, double *out)
{
    size_t r, c;
    for (c = 0; c < MIDDLE; ++c) {
        double sum = 0;
        for (r = 0; r < ROWS; ++r) sum += exp(in[r * MIDDLE + c]);
        for (r = 0; r < ROWS; ++r) out[r * MIDDLE + c] = exp(in[r * MIDDLE + c]) / sum;
    }
}

static void compute_expected(void)
{
    double h[ROWS * MIDDLE], p[ROWS * MIDDLE];
    uint32_t seed = 1;
    size_t i;
    for (i = 0; i < MIDDLE * IN; ++i) w1[i] = draw(&seed) / 2;    /* softmax multiplies errors of h */
    for (i = 0; i < OUT * MIDDLE; ++i) w2[i] = draw(&seed);
    for (i = 0; i < ROWS * IN; ++i) x[i] = draw(&seed);
    product(x, w1, IN, MIDDLE, h);
    for (i = 0; i < ROWS * MIDDLE; ++i)
        if (h[i] < 0) h[i] = 0;
    softmax_columns(h, p);
    for (i = 0; i < ROWS * MIDDLE; ++i) p[i] *= h[i];
    product(p, w2, MIDDLE, OUT, expected);
}

/* Return the largest error of y, relative to the largest expected value. */
static double error_of(const float *y)
{
    double worst = 0, largest = 0;
    size_t i;
    for (i = 0; i < ROWS * OUT; ++i) {
        if (fabs(expected[i]) > largest) largest = fabs(expected[i]);
        if (!(fabs(expected[i] - (double)y[i]) <= worst)) worst = fabs(expected[i] - (double)y[i]);
    }
    printf("  largest error: %.1e of the largest value, %.2f\n", worst / largest, largest);
    return worst / largest;
}

/* ---- contexts --------------------------------------------------------------------------------- */

/* Open the language model of a program. desc: NULL, or what else is wanted. */
static qnnrt_result programs_llm(const qnnrt_manifest *program, const qnnrt_llm_desc *desc, qnnrt_llm **out,
                                 qnnrt_error *why)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(program);
    qnnrt_llm_desc with;
    memset(&with, 0, sizeof(with));
    if (desc != NULL) with = *desc;
    if (with.folder == NULL) with.folder = info->folder;
    with.made = info->pipelines;
    with.made_count = info->pipeline_count;
    with.models = info->models;
    with.model_count = info->model_count;
    return qnnrt_llm_open(NULL, &with, out, why);
}

static const char *htp_library(char path[1024]) { return real_library(path, "libQnnHtp.so"); }
static const char *cpu_library(char path[1024]) { return real_sibling(path, "2.47", "libQnnCpu.so"); }

/* Locks and log of the backends that are open, one for each. */
static struct uses {
    int         locked;         /* now */
    long        locks;          /* ever */
    int         misused;        /* 1: locked twice, or unlocked while another library was locked */
} uses[2];

static void lock(void *user)
{
    struct uses *u = (struct uses *)user;
    if (uses[0].locked || uses[1].locked) u->misused = 1;
    u->locked = 1;
    u->locks++;
}

static void unlock(void *user)
{
    struct uses *u = (struct uses *)user;
    if (!u->locked) u->misused = 1;
    u->locked = 0;
}

static int balanced(void)
{
    return !uses[0].locked && !uses[1].locked && !uses[0].misused && !uses[1].misused;
}

static qnnrt_backend *open_library(const char *path)
{
    struct uses *u = strstr(path, "Htp") != NULL ? &uses[0] : &uses[1];
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    memset(&desc, 0, sizeof desc);
    memset(u, 0, sizeof *u);
    desc.path = path;
    desc.hooks.lock = lock;
    desc.hooks.unlock = unlock;
    desc.hooks.lock_user = u;
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) printf("%s\n", err.text);
    return backend;
}

static qnnrt_tensor tensor(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind, qnnrt_dtype dtype, uint32_t d0,
                           uint32_t d1)
{
    qnnrt_tensor_desc t;
    memset(&t, 0, sizeof t);
    t.name = name;
    t.kind = kind;
    t.dtype = dtype;
    t.rank = 2;
    t.dims[0] = d0;
    t.dims[1] = d1;
    return qnnrt_builder_tensor(b, &t);
}

/* Return the bits of a number that float16 represents exactly, with an exponent of -14 to 15. */
static uint16_t half(double real)
{
    int exponent;
    double m = frexp(fabs(real), &exponent);       /* 0.5 <= m < 1 */
    if (real == 0) return 0;
    return (uint16_t)((real < 0 ? 0x8000 : 0) | ((exponent + 14) << 10) | ((int)(m * 2048) & 0x3FF));
}

static qnnrt_tensor half_weights(qnnrt_builder *b, const char *name, const double *w, uint32_t d0, uint32_t d1)
{
    uint16_t bits[MIDDLE * IN];
    qnnrt_tensor_desc t;
    size_t i;
    for (i = 0; i < d0 * d1; ++i) bits[i] = half(w[i]);
    memset(&t, 0, sizeof t);
    t.name = name;
    t.kind = QNNRT_TENSOR_STATIC;
    t.dtype = QNNRT_DTYPE_F16;
    t.rank = 2;
    t.dims[0] = d0;
    t.dims[1] = d1;
    t.data = bits;
    t.bytes = d0 * d1 * sizeof *bits;
    return qnnrt_builder_tensor(b, &t);
}

static void add_node(qnnrt_builder *b, const char *type, qnnrt_tensor in, qnnrt_tensor in2, qnnrt_tensor out,
                     const qnnrt_param_desc *param)
{
    qnnrt_tensor inputs[2];
    qnnrt_node_desc desc;
    memset(&desc, 0, sizeof desc);
    inputs[0] = in;
    inputs[1] = in2;
    desc.type = type;
    desc.inputs = inputs;
    desc.input_count = in2 == QNNRT_NO_TENSOR ? 1 : 2;
    desc.outputs = &out;
    desc.output_count = 1;
    desc.params = param;
    desc.param_count = param != NULL;
    qnnrt_builder_node(b, &desc);
}

static void graph(qnnrt_builder *b, const char *name)
{
    qnnrt_graph_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = name;
    qnnrt_builder_graph(b, &desc);
}

static void describe_first(qnnrt_builder *b)
{
    const qnnrt_dtype f16 = QNNRT_DTYPE_F16;
    const qnnrt_tensor in = tensor(b, "x", QNNRT_TENSOR_INPUT, f16, ROWS, IN);
    const qnnrt_tensor sum = tensor(b, "sum", QNNRT_TENSOR_INNER, f16, ROWS, MIDDLE);
    const qnnrt_tensor out = tensor(b, "h", QNNRT_TENSOR_OUTPUT, f16, ROWS, MIDDLE);
    add_node(b, "FullyConnected", in, half_weights(b, "w1", w1, MIDDLE, IN), sum, NULL);
    add_node(b, "Relu", sum, QNNRT_NO_TENSOR, out, NULL);
}

/* The first graph with float32 at its borders. */
static void describe_float(qnnrt_builder *b)
{
    float values[MIDDLE * IN];
    qnnrt_tensor_desc w;
    qnnrt_tensor in, sum, out;
    size_t i;
    for (i = 0; i < MIDDLE * IN; ++i) values[i] = (float)w1[i];
    memset(&w, 0, sizeof w);
    w.name = "w1";
    w.kind = QNNRT_TENSOR_STATIC;
    w.dtype = QNNRT_DTYPE_F32;
    w.rank = 2;
    w.dims[0] = MIDDLE;
    w.dims[1] = IN;
    w.data = values;
    w.bytes = sizeof values;
    in = tensor(b, "x", QNNRT_TENSOR_INPUT, QNNRT_DTYPE_F32, ROWS, IN);
    sum = tensor(b, "sum", QNNRT_TENSOR_INNER, QNNRT_DTYPE_F32, ROWS, MIDDLE);
    out = tensor(b, "h32", QNNRT_TENSOR_OUTPUT, QNNRT_DTYPE_F32, ROWS, MIDDLE);
    add_node(b, "FullyConnected", in, qnnrt_builder_tensor(b, &w), sum, NULL);
    add_node(b, "Relu", sum, QNNRT_NO_TENSOR, out, NULL);
}

static void describe_softmax(qnnrt_builder *b, qnnrt_dtype dtype)
{
    const qnnrt_tensor in = tensor(b, "h32", QNNRT_TENSOR_INPUT, dtype, ROWS, MIDDLE);
    const qnnrt_tensor out = tensor(b, "p32", QNNRT_TENSOR_OUTPUT, dtype, ROWS, MIDDLE);
    qnnrt_param_desc axis;
    memset(&axis, 0, sizeof axis);
    axis.name = "axis";
    axis.dtype = QNNRT_DTYPE_U32;
    axis.value = 0;
    add_node(b, "Softmax", in, QNNRT_NO_TENSOR, out, &axis);
}

static void describe_middle(qnnrt_builder *b) { describe_softmax(b, QNNRT_DTYPE_F32); }

/* The CPU library builds a graph with an input that no node reads, and refuses to execute it. */
static void describe_spare(qnnrt_builder *b)
{
    describe_middle(b);
    tensor(b, "spare", QNNRT_TENSOR_INPUT, QNNRT_DTYPE_F32, 1, 1);
}

static void describe_last(qnnrt_builder *b)
{
    const qnnrt_dtype f16 = QNNRT_DTYPE_F16;
    const qnnrt_tensor p = tensor(b, "p", QNNRT_TENSOR_INPUT, f16, ROWS, MIDDLE);
    const qnnrt_tensor h = tensor(b, "h", QNNRT_TENSOR_INPUT, f16, ROWS, MIDDLE);
    const qnnrt_tensor both = tensor(b, "both", QNNRT_TENSOR_INNER, f16, ROWS, MIDDLE);
    const qnnrt_tensor out = tensor(b, "y", QNNRT_TENSOR_OUTPUT, f16, ROWS, OUT);
    add_node(b, "ElementWiseMultiply", p, h, both, NULL);
    add_node(b, "FullyConnected", both, half_weights(b, "w2", w2, OUT, MIDDLE), out, NULL);
}

/* Write a context binary with one graph. */
static void save(qnnrt_backend *backend, const char *folder, const char *name, void (*describe)(qnnrt_builder *))
{
    qnnrt_builder *b;
    qnnrt *built;
    char path[1024], file[64];
    REAL_OK(qnnrt_builder_create(backend, NULL, &b, &err), &err);
    graph(b, name);
    describe(b);
    REAL_OK(qnnrt_builder_finish(b, &built, &err), &err);
    snprintf(file, sizeof file, "%s.bin", name);
    REAL_OK(qnnrt_save(built, 0, real_join(path, folder, file), &err), &err);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
}

/* Open one file on a backend. */
static qnnrt *open_file(qnnrt_backend *backend, const char *folder, const char *name)
{
    char path[1024], file[64];
    qnnrt_desc desc;
    qnnrt_file one;
    qnnrt *model = NULL;
    memset(&desc, 0, sizeof desc);
    memset(&one, 0, sizeof one);
    snprintf(file, sizeof file, "%s.bin", name);
    one.path = real_join(path, folder, file);
    desc.backend = backend;
    desc.files = &one;
    desc.file_count = 1;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    return model;
}

/* ---- both libraries --------------------------------------------------------------------------- */

static const char *left;        /* folder that begin() fills, instead of one that is removed */

typedef struct libraries {
    qnnrt_backend *htp, *cpu;
    qnnrt         *first, *middle, *last;
    char           folder[1024];
} libraries;

/* Open both libraries, and make, save and load the three contexts. */
static void begin(libraries *l, const char *cpu)
{
    char path[1024];
    const char *folder = l->folder;
    memset(l, 0, sizeof *l);
    snprintf(l->folder, sizeof l->folder, "%s", left != NULL ? left : test_tmpdir());
    compute_expected();
    l->htp = open_library(htp_library(path));
    l->cpu = open_library(cpu);
    CHECK(l->htp != NULL && l->cpu != NULL);
    TRY(save(l->htp, folder, "first", describe_first));
    TRY(save(l->cpu, folder, "middle", describe_middle));
    TRY(save(l->htp, folder, "last", describe_last));
    l->first = open_file(l->htp, folder, "first");
    l->middle = open_file(l->cpu, folder, "middle");
    l->last = open_file(l->htp, folder, "last");
    CHECK(l->first != NULL && l->middle != NULL && l->last != NULL);
}

static void end(libraries *l)
{
    CHECK_EQ(qnnrt_close(l->first), QNNRT_OK);
    CHECK_EQ(qnnrt_close(l->middle), QNNRT_OK);
    CHECK_EQ(qnnrt_close(l->last), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(l->htp), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(l->cpu), QNNRT_OK);
}

/* ---- tests ------------------------------------------------------------------------------------- */

TEST(the_htp_refuses_softmax_over_the_first_axis)
{
    char path[1024];
    qnnrt_backend *htp = open_library(htp_library(path));
    qnnrt_builder *b;
    qnnrt *built;
    CHECK(htp != NULL);
    REAL_OK(qnnrt_builder_create(htp, NULL, &b, &err), &err);
    graph(b, "middle");
    describe_softmax(b, QNNRT_DTYPE_F16);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "Softmax");
    CHECK_EQ(qnnrt_backend_close(htp), QNNRT_OK);
}

/* Copy the values of a slot to another run, through float32. */
static void carry(qnnrt_run *from, const char *output, qnnrt_run *to, const char *input)
{
    float values[ROWS * MIDDLE];
    CHECK_EQ(qnnrt_read_f32(from, qnnrt_run_slot(from, output), 0, values, ROWS * MIDDLE), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(to, qnnrt_run_slot(to, input), 0, values, ROWS * MIDDLE), QNNRT_OK);
}

/* The contexts of both libraries live in one process. The caller carries the values: what pipelines are measured
   against. */
static void run_side_by_side(const char *cpu)
{
    libraries l;
    qnnrt_run *first, *middle, *last;
    float values[ROWS * IN], y[ROWS * OUT];
    size_t i;
    TRY(begin(&l, cpu));
    REAL_OK(qnnrt_prepare(l.first, NULL, &first, &err), &err);
    REAL_OK(qnnrt_prepare(l.middle, NULL, &middle, &err), &err);
    REAL_OK(qnnrt_prepare(l.last, NULL, &last, &err), &err);
    for (i = 0; i < ROWS * IN; ++i) values[i] = (float)x[i];
    CHECK_EQ(qnnrt_write_f32(first, qnnrt_run_slot(first, "x"), 0, values, ROWS * IN), QNNRT_OK);
    REAL_OK(qnnrt_exec(first), qnnrt_run_error(first));
    TRY(carry(first, "h", middle, "h32"));
    REAL_OK(qnnrt_exec(middle), qnnrt_run_error(middle));
    TRY(carry(middle, "p32", last, "p"));
    TRY(carry(first, "h", last, "h"));
    REAL_OK(qnnrt_exec(last), qnnrt_run_error(last));
    CHECK_EQ(qnnrt_read_f32(last, qnnrt_run_slot(last, "y"), 0, y, ROWS * OUT), QNNRT_OK);
    CHECK(error_of(y) < 1e-3);
    qnnrt_run_destroy(first);
    qnnrt_run_destroy(middle);
    qnnrt_run_destroy(last);
    TRY(end(&l));
}

TEST(contexts_of_both_libraries_run_side_by_side)
{
    char path[1024];
    TRY(run_side_by_side(cpu_library(path)));
}

TEST(the_htp_and_the_reference_backend_run_side_by_side) { TRY(run_side_by_side(TEST_REF_LIB)); }

/* ---- pipelines --------------------------------------------------------------------------------- */

/* Describe a pipeline of `first`, a step in the middle, and `last`. Its borders are converted; h goes from the first
   graph to the last one as it is. */
typedef struct borders {
    qnnrt_step_desc     steps[3];
    qnnrt_edge_desc     edges[3];
    qnnrt_conversion    wishes[3];
    qnnrt_pipeline_desc desc;
} borders;

static void describe(borders *b, const libraries *l)
{
    memset(b, 0, sizeof *b);
    b->steps[0].model = l->first;
    b->steps[0].graph = "first";
    b->steps[1].model = l->middle;
    b->steps[1].graph = "middle";
    b->steps[2].model = l->last;
    b->steps[2].graph = "last";
    b->edges[0].from = "h";
    b->edges[0].to_step = 1;
    b->edges[0].to = "h32";
    b->wishes[0].how = QNNRT_CONVERT_VALUES;
    b->edges[1].from_step = 1;
    b->edges[1].from = "p32";
    b->edges[1].to_step = 2;
    b->edges[1].to = "p";
    b->wishes[1].how = QNNRT_CONVERT_VALUES;
    b->edges[2].from = b->edges[2].to = "h";
    b->edges[2].to_step = 2;
    b->desc.name = "mixed";
    b->desc.steps = b->steps;
    b->desc.step_count = 3;
    b->desc.edges = b->edges;
    b->desc.edge_count = 3;
    b->desc.edges_only = 1;
}

typedef struct running {
    qnnrt_conversions *conversions;
    qnnrt_pipeline *pipeline;
    qnnrt_plan     *plan;
    qnnrt_mem      *mem;
    qnnrt_run      *run;
} running;

static void start(running *r, const borders *b)
{
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan;
    memset(r, 0, sizeof *r);
    memset(&entry, 0, sizeof entry);
    memset(&plan, 0, sizeof plan);
    REAL_OK(converted_make(&b->desc, b->wishes, NULL, &r->conversions, &r->pipeline, &err), &err);
    entry.pipeline = r->pipeline;
    plan.entries = &entry;
    plan.entry_count = 1;
    REAL_OK(qnnrt_plan_create(&plan, &r->plan, &err), &err);
    REAL_OK(qnnrt_mem_create(r->plan, NULL, &r->mem, &err), &err);
    REAL_OK(qnnrt_run_create(r->mem, 0, &r->run, &err), &err);
}

static void stop_running(running *r)
{
    qnnrt_run_destroy(r->run);
    CHECK_EQ(qnnrt_mem_destroy(r->mem), QNNRT_OK);
    qnnrt_plan_destroy(r->plan);
    CHECK_EQ(qnnrt_pipeline_destroy(r->pipeline), QNNRT_OK);
    qnnrt_conversions_free(r->conversions);
}

/* Execute with x, with another x, and with the first one again; compare the first and the last result. */
static void computes(qnnrt_run *run)
{
    float values[ROWS * IN], zeros[ROWS * IN], y[ROWS * OUT];
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    size_t i;
    int turn;
    memset(zeros, 0, sizeof zeros);
    for (i = 0; i < ROWS * IN; ++i) values[i] = (float)x[i];
    for (turn = 0; turn < 3; ++turn) {
        CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, turn == 1 ? zeros : values, ROWS * IN), QNNRT_OK);
        REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
        CHECK(balanced());
        CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, ROWS * OUT), QNNRT_OK);
        if (turn == 1)
            for (i = 0; i < ROWS * OUT; ++i) CHECK(y[i] == 0);      /* relu(0) * p */
        else
            CHECK(error_of(y) < 1e-3);
    }
    for (i = 1; i < 5; i += 2) {
        CHECK(qnnrt_convert_of(&info->steps[i]) != NULL);
        CHECK_EQ(qnnrt_convert_get_info(qnnrt_convert_of(&info->steps[i])).lost_ever, 0);
    }
}

/* Check the steps: first, conversion, middle, conversion, last. */
static void has_steps(const running *r, const libraries *l, qnnrt_step_kind middle)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(r->pipeline);
    static const char *const texts[] = { "graph \"first\"", "float16 -> float32, 1,024 bytes", "\"middle\"",
                                         "float32 -> float16, 512 bytes", "graph \"last\"" };
    char text[512];
    const qnnrt_slot *from, *to;
    size_t i;
    CHECK_EQ(info->step_count, 5);
    for (i = 0; i < 5; ++i) {
        printf("  step %d: %s\n", (int)i, qnnrt_step_text(&info->steps[i], text, sizeof text));
        CHECK_STR(text, texts[i]);
        CHECK_EQ(info->steps[i].kind, i == 2 ? middle : i % 2 == 1 ? QNNRT_STEP_DERIVED : QNNRT_STEP_GRAPH);
        CHECK(info->steps[i].backend ==
              (i % 4 == 0 ? l->htp : i == 2 && middle == QNNRT_STEP_GRAPH ? l->cpu : NULL));
    }
    /* Equal ends of an edge are one memory. */
    CHECK_EQ(qnnrt_slot_find(r->pipeline, "0/h", QNNRT_ROLE_EDGE, &from, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_slot_find(r->pipeline, "4/h", QNNRT_ROLE_EDGE, &to, &err), QNNRT_OK);
    CHECK(from == to && from->first == 0 && from->last == 4);
    CHECK_EQ(qnnrt_slot_find(r->pipeline, "1/h", QNNRT_ROLE_EDGE, &to, &err), QNNRT_OK);
    CHECK(from == to);
}

/* Check that each step has events, and those of a conversion its own. */
static void is_profiled(qnnrt_run *run)
{
    const qnnrt_profile_event *events;
    size_t count, i;
    int seen[5] = { 0, 0, 0, 0, 0 };
    REAL_OK(qnnrt_run_profile(run, QNNRT_PROFILE_BASIC), qnnrt_run_error(run));
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    REAL_OK(qnnrt_run_events(run, &events, &count), qnnrt_run_error(run));
    for (i = 0; i < count; ++i) {
        CHECK(events[i].step < 5);
        seen[events[i].step]++;
        if (events[i].step % 2 == 1) CHECK_STR(events[i].name, "convert time");
    }
    printf("  events of each step: %d %d %d %d %d\n", seen[0], seen[1], seen[2], seen[3], seen[4]);
    for (i = 0; i < 5; ++i) CHECK(i % 2 == 1 ? seen[i] == 1 : seen[i] > 0);
    CHECK(balanced());
    REAL_OK(qnnrt_run_profile(run, QNNRT_PROFILE_OFF), qnnrt_run_error(run));
}

static void one_pipeline(const char *cpu)
{
    libraries l;
    running r;
    borders b;
    long htp, middle;
    TRY(begin(&l, cpu));
    describe(&b, &l);
    TRY(start(&r, &b));
    TRY(has_steps(&r, &l, QNNRT_STEP_GRAPH));
    htp = uses[0].locks;
    middle = uses[1].locks;
    TRY(computes(r.run));
    CHECK_EQ(uses[0].locks - htp, 2 * 3);       /* two graphs, three times */
    CHECK_EQ(uses[1].locks - middle, 3);
    TRY(is_profiled(r.run));
    TRY(stop_running(&r));
    TRY(end(&l));
    CHECK(balanced());
}

TEST(htp_cpu_and_htp_are_one_pipeline)
{
    char path[1024];
    TRY(one_pipeline(cpu_library(path)));
}

TEST(htp_the_reference_backend_and_htp_are_one_pipeline) { TRY(one_pipeline(TEST_REF_LIB)); }

/* Softmax of each column, as a host step. `user` counts its calls; a negative count makes it fail. */
static qnnrt_result host_softmax(void *user, const qnnrt_graph_info *step, const void *const *inputs,
                                 void *const *outputs, qnnrt_error *error)
{
    double in[ROWS * MIDDLE], out[ROWS * MIDDLE];
    int *calls = (int *)user;
    size_t i;
    if (*calls < 0) {
        snprintf(error->text, sizeof error->text, "no luck with %s", step->inputs[0].name);
        return QNNRT_E_UNSUPPORTED;
    }
    *calls += balanced();                       /* no library is locked meanwhile */
    for (i = 0; i < ROWS * MIDDLE; ++i) in[i] = (double)((const float *)inputs[0])[i];
    softmax_columns(in, out);
    for (i = 0; i < ROWS * MIDDLE; ++i) ((float *)outputs[0])[i] = (float)out[i];
    return QNNRT_OK;
}

TEST(htp_a_host_step_and_htp_are_one_pipeline)
{
    static const uint32_t dims[2] = { ROWS, MIDDLE };
    char path[1024];
    qnnrt_tensor_info in, out;
    qnnrt_host_step host;
    libraries l;
    running r;
    borders b;
    int calls = 0;
    memset(&in, 0, sizeof in);
    memset(&host, 0, sizeof host);
    in.name = "h32";
    in.dtype = QNNRT_DTYPE_F32;
    in.rank = 2;
    in.dims = dims;
    out = in;
    out.name = "p32";
    host.name = "middle";
    host.inputs = &in;
    host.outputs = &out;
    host.input_count = host.output_count = 1;
    host.exec = host_softmax;
    host.user = &calls;
    TRY(begin(&l, cpu_library(path)));
    describe(&b, &l);
    memset(&b.steps[1], 0, sizeof b.steps[1]);
    b.steps[1].host = &host;
    TRY(start(&r, &b));
    TRY(has_steps(&r, &l, QNNRT_STEP_HOST));
    TRY(computes(r.run));
    TRY(is_profiled(r.run));
    CHECK_EQ(calls, 4);
    calls = -1;
    CHECK_EQ(qnnrt_exec(r.run), QNNRT_E_UNSUPPORTED);
    CHECK_STR(qnnrt_run_error(r.run)->text, "\"middle\"");
    CHECK_STR(qnnrt_run_error(r.run)->text, "no luck with h32");
    CHECK(balanced());
    calls = 0;
    TRY(computes(r.run));
    TRY(stop_running(&r));
    TRY(end(&l));
}

/* Where both ends of a border are equal, rules wire it, and the CPU reads what HTP wrote, where it wrote it. */
TEST(equal_tensors_of_two_libraries_are_one_memory)
{
    char path[1024];
    libraries l;
    running r;
    borders b;
    const qnnrt_pipeline_info *info;
    const float *h, *p;
    float values[ROWS * IN];
    double in[ROWS * MIDDLE], out[ROWS * MIDDLE], worst = 0;
    size_t i;
    TRY(begin(&l, cpu_library(path)));
    CHECK_EQ(qnnrt_close(l.first), QNNRT_OK);
    TRY(save(l.htp, l.folder, "float", describe_float));
    l.first = open_file(l.htp, l.folder, "float");
    CHECK(l.first != NULL);
    memset(&b, 0, sizeof b);
    b.steps[0].model = l.first;
    b.steps[0].graph = "float";
    b.steps[1].model = l.middle;
    b.steps[1].graph = "middle";
    b.desc.steps = b.steps;
    b.desc.step_count = 2;
    TRY(start(&r, &b));
    info = qnnrt_pipeline_get_info(r.pipeline);
    CHECK_EQ(info->step_count, 2);
    CHECK_EQ(info->edge_count, 1);
    CHECK_EQ(info->slot_count, 3);
    for (i = 0; i < ROWS * IN; ++i) values[i] = (float)x[i];
    CHECK_EQ(qnnrt_write_f32(r.run, qnnrt_run_slot(r.run, "x"), 0, values, ROWS * IN), QNNRT_OK);
    REAL_OK(qnnrt_exec(r.run), qnnrt_run_error(r.run));
    h = (const float *)qnnrt_data(r.run, "0/h32", NULL);
    p = (const float *)qnnrt_data(r.run, "p32", NULL);
    CHECK(h != NULL && p != NULL);
    CHECK(h == (const float *)qnnrt_data(r.run, "1/h32", NULL));
    for (i = 0; i < ROWS * MIDDLE; ++i) in[i] = (double)h[i];
    softmax_columns(in, out);
    for (i = 0; i < ROWS * MIDDLE; ++i) worst = fmax(worst, fabs(out[i] - (double)p[i]));
    printf("  the CPU's softmax of what HTP wrote: off by %.1e\n", worst);
    CHECK(worst < 1e-6);
    TRY(stop_running(&r));
    TRY(end(&l));
}

/* The error is that of the step's own library: its name, its code and its lines. */
TEST(a_step_that_fails_names_its_library)
{
    char path[1024];
    libraries l;
    running r;
    borders b;
    TRY(begin(&l, cpu_library(path)));
    CHECK_EQ(qnnrt_close(l.middle), QNNRT_OK);
    TRY(save(l.cpu, l.folder, "spare", describe_spare));
    l.middle = open_file(l.cpu, l.folder, "spare");
    CHECK(l.middle != NULL);
    describe(&b, &l);
    b.steps[1].graph = "spare";
    TRY(start(&r, &b));
    CHECK_EQ(qnnrt_exec(r.run), QNNRT_E_BACKEND);
    printf("  %s\n", qnnrt_run_error(r.run)->text);
    CHECK_STR(qnnrt_run_error(r.run)->text, "\"spare\"");
    CHECK_STR(qnnrt_run_error(r.run)->text, "libQnnCpu.so");
    CHECK_STR(qnnrt_run_error(r.run)->text, "[QNN_CPU]");
    CHECK(balanced());
    TRY(stop_running(&r));
    TRY(end(&l));
}

TEST(a_border_that_was_not_asked_to_convert_is_refused)
{
    char path[1024];
    libraries l;
    borders b;
    qnnrt_conversions *conversions;
    qnnrt_pipeline *pipeline;
    TRY(begin(&l, cpu_library(path)));
    describe(&b, &l);
    b.wishes[0].how = QNNRT_CONVERT_NONE;
    CHECK_EQ(converted_make(&b.desc, b.wishes, NULL, &conversions, &pipeline, &err), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "\"h\"");
    CHECK_STR(err.text, "\"h32\"");
    CHECK_STR(err.text, "float16");
    CHECK_STR(err.text, "float32");
    CHECK_STR(err.hint, "convert");
    TRY(end(&l));
}

/* ---- a folder with a program -------------------------------------------------------------------- */

#define MIDDLE_FILE  " { \"file\": \"middle.bin\", \"backend\": \"cpu\" },"
#define MIDDLE_GRAPH "{ \"context\": 1, \"graph\": \"middle\" }"
#define MIDDLE_HOST                                                                                   \
    "{ \"host\": \"softmax\","                                                                         \
    " \"inputs\": [{ \"name\": \"h32\", \"dtype\": \"float32\", \"dims\": [8, 32] }],"                \
    " \"outputs\": [{ \"name\": \"p32\", \"dtype\": \"float32\", \"dims\": [8, 32] }] }"

/* Write a program of the files of a folder, with a graph or a host step in the middle. */
static void write_program(const char *folder, int host)
{
    char path[1024];
    FILE *file = fopen(real_join(path, folder, "qnnrt.json"), "w");
    CHECK(file != NULL);
    fprintf(file,
            "{ \"program\": { \"version\": 1, \"backends\": [\"npu\"%s],\n"
            "  \"contexts\": [{ \"file\": \"first.bin\", \"backend\": \"npu\" },%s\n"
            "               { \"file\": \"last.bin\", \"backend\": \"npu\" }],\n"
            "  \"pipelines\": [{ \"name\": \"mixed\",\n"
            "    \"steps\": [{ \"context\": 0, \"graph\": \"first\" },\n      %s,\n"
            "              { \"context\": %d, \"graph\": \"last\" }],\n"
            "    \"edges\": [{ \"from\": [0, \"h\"], \"to\": [1, \"h32\"], \"convert\": \"values\" },\n"
            "              { \"from\": [1, \"p32\"], \"to\": [2, \"p\"], \"convert\": \"values\" },\n"
            "              { \"from\": [0, \"h\"], \"to\": [2, \"h\"] }],\n"
            "    \"edges_only\": true,\n"
            "    \"names\": { \"image\": { \"step\": 0, \"input\": \"x\" },"
            " \"scores\": { \"step\": 2, \"output\": \"y\" } } }] } }\n",
            host ? "" : ", \"cpu\"", host ? "" : MIDDLE_FILE, host ? MIDDLE_HOST : MIDDLE_GRAPH, host ? 1 : 2);
    CHECK_EQ(fclose(file), 0);
}

/* Open the folder once, prepare once, and compute. */
static void one_folder(const char *folder, qnnrt_manifest_open_desc *desc)
{
    float values[ROWS * IN], y[ROWS * OUT];
    qnnrt_manifest *model;
    qnnrt_run *run;
    size_t i;
    REAL_OK(qnnrt_manifest_open(folder, desc, &model, &err), &err);
    CHECK_EQ(qnnrt_manifest_get_info(model)->pipeline_count, 1);
    REAL_OK(qnnrt_manifest_prepare(model, NULL, NULL, &run, &err), &err);
    TRY(computes(run));
    for (i = 0; i < ROWS * IN; ++i) values[i] = (float)x[i];
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "image"), 0, values, ROWS * IN), QNNRT_OK);
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "scores"), 0, y, ROWS * OUT), QNNRT_OK);
    CHECK(error_of(y) < 1e-3);
    TRY(is_profiled(run));
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
}

/* The roles of the program are served by libraries that are open, or by names of libraries. */
static void folder_of(const char *cpu, int named)
{
    char path[1024];
    libraries l;
    qnnrt_manifest_open_desc desc;
    qnnrt_manifest_role roles[2];
    memset(&desc, 0, sizeof desc);
    memset(roles, 0, sizeof roles);
    TRY(begin(&l, cpu));
    TRY(write_program(l.folder, 0));
    roles[0].role = "npu";
    roles[1].role = "cpu";
    if (named) {
        roles[0].desc.path = htp_library(path);
        roles[1].desc.path = cpu;
    } else {
        roles[0].backend = l.htp;
        roles[1].backend = l.cpu;
    }
    desc.backends = roles;
    desc.backend_count = 2;
    TRY(one_folder(l.folder, &desc));
    TRY(end(&l));
}

TEST(a_folder_is_one_program_on_htp_and_cpu)
{
    char path[1024];
    TRY(folder_of(cpu_library(path), 0));
    TRY(folder_of(cpu_library(path), 1));
}

TEST(a_folder_is_one_program_on_htp_and_the_reference_backend) { TRY(folder_of(TEST_REF_LIB, 1)); }

TEST(a_folder_is_one_program_on_htp_and_this_cpu)
{
    char path[1024];
    qnnrt_host_step function;
    qnnrt_manifest_open_desc desc;
    libraries l;
    int calls = 0;
    memset(&desc, 0, sizeof desc);
    memset(&function, 0, sizeof function);
    TRY(begin(&l, cpu_library(path)));
    TRY(write_program(l.folder, 1));
    function.name = "softmax";
    function.exec = host_softmax;
    function.user = &calls;
    desc.model.backend = l.htp;
    desc.host_functions = &function;
    desc.host_function_count = 1;
    TRY(one_folder(l.folder, &desc));
    CHECK_EQ(calls, 5);
    TRY(end(&l));
}

/* Leave the folder to other programs: the three contexts, qnnrt.json, x as float32 and y as it must be. */
TEST(the_folder_is_left)
{
    char path[1024];
    float values[ROWS * IN], y[ROWS * OUT];
    libraries l;
    FILE *file;
    size_t i;
    TRY(begin(&l, cpu_library(path)));
    TRY(write_program(l.folder, 0));
    for (i = 0; i < ROWS * IN; ++i) values[i] = (float)x[i];
    for (i = 0; i < ROWS * OUT; ++i) y[i] = (float)expected[i];
    file = fopen(real_join(path, l.folder, "x.raw"), "wb");
    CHECK(file != NULL && fwrite(values, sizeof values, 1, file) == 1);
    CHECK_EQ(fclose(file), 0);
    file = fopen(real_join(path, l.folder, "y.raw"), "wb");
    CHECK(file != NULL && fwrite(y, sizeof y, 1, file) == 1);
    CHECK_EQ(fclose(file), 0);
    TRY(end(&l));
}

/* ---- a language model with its table of embeddings on the host ---------------------------------- */

static const char *const prompts[] = { "And the LORD said unto ", "In the beginning ", "Blessed are the " };
static const char *const texts[] = {
    "him, What is the son of Abraham, and the son of Abimelech the so",
    "of the LORD of hosts, and the son of Assyria were also with the ",
    "people of the LORD, and the son of Assyria was a son of Asaph, a"
};

/* Check that the model continues a prompt of expected.json with the first bytes of its text. */
static void writes(qnnrt_llm_cache *cache, size_t which, size_t length)
{
    char text[65];
    REAL_OK(host_llm_write(cache, prompts[which], text, length), qnnrt_llm_error(cache));
    printf("  \"%s\" -> \"%s\"\n", prompts[which], text);
    CHECK(strlen(text) == length && strncmp(text, texts[which], length) == 0);
}

/* Layers and head are those of w8a16_four, which Qualcomm's tools made; the host step replaces its first shard. */
static void table_on_the_host(host_llm_kind kind, size_t cases)
{
    static host_llm h;
    char path[1024], shards[1024];
    qnnrt_backend *htp = open_library(htp_library(path));
    qnnrt_llm_session *session;
    size_t i;
    CHECK(htp != NULL);
    host_llm_shards(&h, htp, real_join(path, test_arg(1), "llm/model"),
                    real_join(shards, test_arg(1), "llm/w8a16_four"), kind);
    REAL_OK(qnnrt_llm_session_create(&h.llm, 1, NULL, &session, &err), &err);
    for (i = 0; i < cases; ++i) TRY(writes(qnnrt_llm_cache_get(session, 0, 0), i, i > 0 ? 20 : cases > 1 ? 64 : 32));
    qnnrt_llm_session_destroy(session);
    host_llm_close(&h);
    CHECK_EQ(qnnrt_backend_close(htp), QNNRT_OK);
}

TEST(a_table_of_embeddings_on_the_host_gives_the_texts) { TRY(table_on_the_host(HOST_LLM_CODES, 3)); }
TEST(a_converted_row_of_the_table_gives_the_text)       { TRY(table_on_the_host(HOST_LLM_FLOATS, 1)); }

/* ---- a language model on three sides: the table on the host, layers on HTP, the head on the CPU ----- */

#define LLM_HIDDEN "_model_layers_3_Add_1_Add_output_0"

/* Write the head as head.bin, in float32. */
static void save_head(qnnrt_backend *cpu, const char *folder)
{
    llm_model is;
    llm_part part;
    qnnrt *built;
    char path[1024];
    llm_open(real_join(path, test_arg(1), "llm/model"), NULL, &is);
    memset(&part, 0, sizeof part);
    part.graph.ends_apart = 1;
    part.graph.part = 2;
    part.graph.parts = 3;
    part.tokens[0] = HOST_LLM_PREFILL;
    part.tokens[1] = 1;
    strcpy(part.names[0], "prompt_head");
    strcpy(part.names[1], "token_head");
    built = llm_build(&is, cpu, &part);
    REAL_OK(qnnrt_save(built, 0, real_join(path, folder, "head.bin"), &err), &err);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    llm_close(&is);
}

static void copy(const char *from, const char *folder, const char *name)
{
    char path[1024];
    size_t bytes;
    void *data = test_read_file(real_join(path, from, name), &bytes);
    FILE *file = fopen(real_join(path, folder, name), "wb");
    CHECK(data != NULL && file != NULL && fwrite(data, bytes, 1, file) == 1);
    CHECK_EQ(fclose(file), 0);
    free(data);
}

/* Write the table of model.safetensors as table.bin. */
static void save_table(const char *folder)
{
    llm_model is;
    float *table;
    char path[1024];
    FILE *file;
    llm_open(real_join(path, test_arg(1), "llm/model"), NULL, &is);
    table = llm_table(&is);
    file = fopen(real_join(path, folder, "table.bin"), "wb");
    CHECK(file != NULL);
    CHECK(fwrite(table, 4 * (size_t)is.is.vocabulary * is.is.width, 1, file) == 1);
    CHECK_EQ(fclose(file), 0);
    free(table);
    llm_close(&is);
}

/* Both borders are converted: float32 rows of the table to codes, codes of the last layer to float32. */
static void write_llm_program(const char *folder)
{
    static const char *const names[] = { "prompt", "token" };
    char path[1024];
    FILE *file = fopen(real_join(path, folder, "qnnrt.json"), "w");
    int g;
    CHECK(file != NULL);
    fprintf(file, "{ \"program\": { \"version\": 1, \"backends\": [\"npu\", \"cpu\"],\n"
                  "  \"contexts\": [{ \"file\": \"forward_1.bin\", \"backend\": \"npu\" },\n"
                  "               { \"file\": \"forward_2.bin\", \"backend\": \"npu\" },\n"
                  "               { \"file\": \"head.bin\", \"backend\": \"cpu\" }],\n"
                  "  \"constants\": [{ \"name\": \"table\", \"file\": \"table.bin\", \"dtype\": \"float32\","
                  " \"dims\": [256, 128] }],\n  \"pipelines\": [");
    for (g = 0; g < HOST_LLM_GRAPHS; ++g) {
        const int tokens = g == 0 ? HOST_LLM_PREFILL : 1;
        const char *suffix = g == 0 ? "ar32_cl128" : "ar1_cl128";
        fprintf(file, "%s{ \"name\": \"%s\",\n    \"steps\": [{ \"host\": \"embedding\","
                      " \"inputs\": [{ \"name\": \"input_ids\", \"dtype\": \"int32\", \"dims\": [1, %d] },"
                      " { \"name\": \"table\", \"dtype\": \"float32\", \"dims\": [256, 128] }],"
                      " \"outputs\": [{ \"name\": \"row\", \"dtype\": \"float32\", \"dims\": [1, %d, 128] }] },\n",
                g > 0 ? ",\n   " : "", names[g], tokens, tokens);
        fprintf(file, "      { \"context\": 0, \"graph\": \"%s_%s_2_of_4\" }, { \"context\": 1, \"graph\":"
                      " \"%s_%s_3_of_4\" }, { \"context\": 2, \"graph\": \"%s_head\" }],\n",
                names[g], suffix, names[g], suffix, names[g]);
        fprintf(file, "    \"edges\": [{ \"from\": [0, \"row\"], \"to\": [1, \"_model_embed_tokens_Gather_output_0\"],"
                      " \"convert\": \"values\" },\n      { \"from\": [2, \"" LLM_HIDDEN "\"], \"to\": [3, \"" LLM_HIDDEN
                      "\"], \"convert\": \"values\" }],\n"
                      "    \"constants\": [{ \"step\": 0, \"input\": \"table\", \"constant\": \"table\" }] }");
    }
    fprintf(file, "] },\n  \"llm\": { \"rope\": { \"theta\": 10000 } } }\n");
    CHECK_EQ(fclose(file), 0);
}

/* Make the folder, open it once, and let the model write. */
static void three_sides(const char *cpu_path)
{
    const qnnrt_host_step look_up = { .name = "embedding", .exec = qnnrt_llm_embedding };
    char path[1024], folder[1024];
    qnnrt_backend *htp = open_library(htp_library(path)), *cpu = open_library(cpu_path);
    qnnrt_manifest_role roles[2];
    qnnrt_llm_session *session;
    qnnrt_llm *llm;
    qnnrt_manifest_open_desc desc;
    qnnrt_manifest *model;
    CHECK(htp != NULL && cpu != NULL);
    snprintf(folder, sizeof folder, "%.1000s%s", left != NULL ? left : test_tmpdir(), left != NULL ? "/llm" : "");
    real_join(path, test_arg(1), "llm/w8a16_four");
    TRY(copy(path, folder, "forward_1.bin"));
    TRY(copy(path, folder, "forward_2.bin"));
    TRY(save_head(cpu, folder));
    TRY(save_table(folder));
    TRY(write_llm_program(folder));
    memset(&desc, 0, sizeof desc);
    memset(roles, 0, sizeof roles);
    roles[0].role = "npu";
    roles[0].backend = htp;
    roles[1].role = "cpu";
    roles[1].backend = cpu;
    desc.backends = roles;
    desc.backend_count = 2;
    desc.host_functions = &look_up;
    desc.host_function_count = 1;
    REAL_OK(qnnrt_manifest_open(folder, &desc, &model, &err), &err);
    REAL_OK(programs_llm(model, NULL, &llm, &err), &err);
    REAL_OK(qnnrt_llm_session_create(&llm, 1, NULL, &session, &err), &err);
    TRY(writes(qnnrt_llm_cache_get(session, 0, 0), 0, 32));
    qnnrt_llm_session_destroy(session);
    CHECK_EQ(qnnrt_llm_close(llm), QNNRT_OK);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    CHECK(balanced());
    CHECK_EQ(qnnrt_backend_close(htp), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(cpu), QNNRT_OK);
}

TEST(the_table_on_the_host_and_the_head_on_the_cpu_give_the_text)
{
    char path[1024];
    TRY(three_sides(cpu_library(path)));
}

TEST(the_head_on_the_reference_backend_gives_the_text) { TRY(three_sides(TEST_REF_LIB)); }

TEST_MAIN_ARGS("real_mixed", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    char path[1024];
    if (real_no_device() || !real_exists(cpu_library(path))) {
        printf("this needs an NPU or its emulator, and libQnnCpu.so of release 2.47\n");
        return;
    }
    left = test_getenv("QNNRT_MIXED_FOLDER");
    if (left != NULL) {
        RUN(the_folder_is_left);
        RUN(the_table_on_the_host_and_the_head_on_the_cpu_give_the_text);
        return;
    }
    if (real_library_release() >= 2051) {       /* in a child, before the first library opens here */
        RUN(a_table_of_embeddings_on_the_host_gives_the_texts);
        RUN(a_converted_row_of_the_table_gives_the_text);
        RUN(the_table_on_the_host_and_the_head_on_the_cpu_give_the_text);
        RUN(the_head_on_the_reference_backend_gives_the_text);
    }
    RUN(the_htp_refuses_softmax_over_the_first_axis);
    RUN(contexts_of_both_libraries_run_side_by_side);
    RUN(the_htp_and_the_reference_backend_run_side_by_side);
    RUN(htp_cpu_and_htp_are_one_pipeline);
    RUN(htp_the_reference_backend_and_htp_are_one_pipeline);
    RUN(htp_a_host_step_and_htp_are_one_pipeline);
    RUN(equal_tensors_of_two_libraries_are_one_memory);
    RUN(a_step_that_fails_names_its_library);
    RUN(a_border_that_was_not_asked_to_convert_is_refused);
    RUN(a_folder_is_one_program_on_htp_and_cpu);
    RUN(a_folder_is_one_program_on_htp_and_the_reference_backend);
    RUN(a_folder_is_one_program_on_htp_and_this_cpu);
}
