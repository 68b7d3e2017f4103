/* bench_exec.c - how much longer qnnrt_exec() takes than the vendor's graphExecute()

       bench_exec EMPTY_LIBRARY [RELEASES DATA_FOLDER]

   EMPTY_LIBRARY is the shared object of empty_qnn.c; RELEASES is build/qnn, for libQnnCpu.so of 2.47
   and libQnnHtp.so of 2.51. All ways call the same graph with the same memory in one process, in
   alternating rounds; one round is the time of many calls divided by their number.

   Times are printed and never judged: they depend on the machine. "Noise" is the difference between
   two measurements of equal code in the same run. The exit status is 1 when an exec allocates. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_convert.h"
#include "converted.h"
#include "qnn_raw.h"
#include "bench.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ROUNDS = 8001, MOST_TENSORS = 64 };

static long allocations;
static int  failed;

static void *count_alloc(void *user, size_t bytes) { (void)user; ++allocations; return malloc(bytes); }
static void count_free(void *user, void *data) { (void)user; free(data); }

/* malloc, calloc and realloc are counted too, for every caller. */
#if defined(__GLIBC__)
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
static long libc_allocations;
void *malloc(size_t bytes) { ++libc_allocations; return __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { ++libc_allocations; return __libc_calloc(count, bytes); }
void *realloc(void *data, size_t bytes) { ++libc_allocations; return __libc_realloc(data, bytes); }
#else
static long libc_allocations;
#endif

static void stop(const char *what, const char *why)
{
    printf("bench: %s: %s\n", what, why);
    exit(1);
}

static qnnrt *open_memory(const char *backend, const char *system_path, const void *data, size_t bytes)
{
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt_file file;
    qnnrt *model;
    memset(&desc, 0, sizeof desc);
    memset(&file, 0, sizeof file);
    file.data = data;
    file.bytes = bytes;
    desc.files = &file;
    desc.file_count = 1;
    desc.backend_desc.path = backend;
    desc.system_path = system_path;
    desc.backend_desc.hooks.alloc = count_alloc;
    desc.backend_desc.hooks.free = count_free;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) stop(backend, err.text);
    return model;
}

/* Find the provider's table as a program without qnnrt does. */
static const raw_slot *raw_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
    raw_get_providers get;
    const raw_provider **list;
    uint32_t count = 0;
    if (library == NULL) stop(path, dlerror());
    symbol = dlsym(library, "QnnInterface_getProviders");
    if (symbol == NULL) stop(path, "no QnnInterface_getProviders");
    memcpy(&get, &symbol, sizeof get);
    if (get(&list, &count) != 0 || count == 0) stop(path, "no provider");
    return list[0]->slots;
}

#define CALL(slots, index, type) ((type)(slots)[index])

/* One graph, five ways in turn:
       OWN    the vendor's function with a context, graph and tensors of its own, as in a program
              without qnnrt
       SAME   the vendor's function with the graph and tensors of the run
       AGAIN  the same once more: the difference between equal code, the noise
       THIN   the same through a function that only calls it: the cost of any function in between.
              After a vendor call that sleeps and wakes threads that is 10 to 25 ns, because its
              code is cold
       OURS   qnnrt_exec() */
enum { OWN, SAME, AGAIN, THIN, OURS, WAYS };

typedef struct raw_side {
    raw_graph_execute execute;
    raw_handle        backend, context, graph, log;
    raw_tensor        inputs[MOST_TENSORS], outputs[MOST_TENSORS];
    uint32_t          input_count, output_count;
} raw_side;

static void raw_begin(raw_side *raw, const char *what, const char *path, qnnrt_run *run, const char *graph,
                      const void *data, size_t bytes)
{
    const raw_slot *slots = raw_open(path);
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    size_t s;
    memset(raw, 0, sizeof *raw);
    raw->execute = CALL(slots, RAW_GRAPH_EXECUTE, raw_graph_execute);
    if (CALL(slots, RAW_BACKEND_CREATE, raw_backend_create)(NULL, NULL, &raw->backend) != 0) stop(what, "backendCreate");
    if (CALL(slots, RAW_CONTEXT_FROM_BINARY, raw_context_from_binary)(raw->backend, NULL, NULL, data, bytes, &raw->context, NULL) != 0)
        stop(what, "contextCreateFromBinary");
    if (CALL(slots, RAW_GRAPH_RETRIEVE, raw_graph_retrieve)(raw->context, graph, &raw->graph) != 0) stop(what, "graphRetrieve");
    for (s = 0; s < info->slot_count; ++s) {
        int is_input = info->slots[s].role == QNNRT_ROLE_INPUT;
        raw_tensor *t = is_input ? &raw->inputs[raw->input_count++] : &raw->outputs[raw->output_count++];
        t->version = 1;
        t->v.id = info->slots[s].tensor->id;
        t->v.name = info->slots[s].tensor->name;
        t->v.type = is_input ? RAW_INPUT : RAW_OUTPUT;
        t->v.dtype = (uint32_t)info->slots[s].tensor->dtype;
        t->v.quant.defined = t->v.quant.encoding = RAW_UNDEFINED;
        t->v.rank = info->slots[s].tensor->rank;
        t->v.dims = info->slots[s].tensor->dims;
        t->v.data = qnnrt_data_slot(run, &info->slots[s], NULL);
        t->v.data_size = (uint32_t)info->slots[s].tensor->bytes;
    }
}

static void raw_end(raw_side *raw, const char *path)
{
    const raw_slot *slots = raw_open(path);
    CALL(slots, RAW_CONTEXT_FREE, raw_context_free)(raw->context, NULL);
    CALL(slots, RAW_BACKEND_FREE, raw_free)(raw->backend);
}

/* Each way has its own function, so that the code of one does not warm up that of another; `last`
   keeps the compiler from merging equal functions. */
static volatile int last;

#if defined(__clang__)
#define NOT_INLINED __attribute__((noinline))
#elif defined(__GNUC__)
#define NOT_INLINED __attribute__((noinline, noclone))
#else
#define NOT_INLINED
#endif

static NOT_INLINED int thin(const qnnrt_run *run)
{
    const qnnrt__step *step = run->steps;
    return (int)step->execute(step->graph, step->inputs, step->input_count, step->outputs, step->output_count, NULL, NULL);
}

#define ROUND(name, way, call)                                                                     \
    static double name(const raw_side *raw, qnnrt_run *run, int calls, int *bad)                    \
    {                                                                                               \
        const qnnrt__step *step = run->steps;                                                       \
        const double begin = now_ns();                                                              \
        int c, wrong = 0;                                                                           \
        for (c = 0; c < calls; ++c) wrong |= (call) != 0;                                           \
        *bad |= wrong;                                                                              \
        last = (way);                                                                               \
        (void)raw;                                                                                  \
        (void)step;                                                                                 \
        return (now_ns() - begin) / calls;                                                          \
    }
ROUND(round_own, OWN, raw->execute(raw->graph, raw->inputs, raw->input_count, (raw_tensor *)(uintptr_t)raw->outputs,
                                   raw->output_count, NULL, NULL))
ROUND(round_same, SAME, step->execute(step->graph, step->inputs, step->input_count, step->outputs, step->output_count, NULL, NULL))
ROUND(round_again, AGAIN, step->execute(step->graph, step->inputs, step->input_count, step->outputs, step->output_count, NULL, NULL))
ROUND(round_thin, THIN, thin(run))
ROUND(round_ours, OURS, qnnrt_exec(run))

typedef double (*round_function)(const raw_side *raw, qnnrt_run *run, int calls, int *bad);
static round_function const rounds_of[WAYS] = { round_own, round_same, round_again, round_thin, round_ours };

static void measure(const char *what, const char *path, qnnrt *model, const char *graph, const void *data, size_t bytes, int calls,
                    int rounds)
{
    static double ns[WAYS][MOST_ROUNDS], over[3][MOST_ROUNDS];
    static raw_side raw;
    qnnrt_run *run;
    qnnrt_error err;
    long hook, libc[WAYS] = { 0 };
    unsigned seed = 1;
    int r, k, bad = 0;
    if (qnnrt_prepare(model, graph, &run, &err) != QNNRT_OK) stop(what, err.text);
    if (run->steps_end - run->steps != 1) stop(what, "more than one step");
    raw_begin(&raw, what, path, run, graph, data, bytes);
    hook = allocations;
    for (r = -3; r < rounds; ++r) {          /* the first rounds warm up */
        int order[WAYS];
        /* The way that ran before has an effect, so use every order equally often. */
        for (k = 0; k < WAYS; ++k) {
            int other;
            seed = seed * 1664525u + 1013904223u;
            other = (int)((seed >> 16) % (unsigned)(k + 1));
            order[k] = order[other];
            order[other] = k;
        }
        for (k = 0; k < WAYS; ++k) {
            const int way = order[k];
            const long before = libc_allocations;
            const double took = rounds_of[way](&raw, run, calls, &bad);
            libc[way] += libc_allocations - before;
            if (r >= 0) ns[way][r] = took;
        }
    }
    if (bad) stop(what, "an execute failed");
    hook = allocations - hook;
    for (r = 0; r < rounds; ++r) {           /* compare times that were measured next to each other */
        over[0][r] = ns[OURS][r] - ns[SAME][r];
        over[1][r] = ns[OURS][r] - ns[THIN][r];
        over[2][r] = ns[AGAIN][r] - ns[SAME][r];
    }
    for (k = 0; k < WAYS; ++k) qsort(ns[k], (size_t)rounds, sizeof ns[k][0], by_value);
    for (k = 0; k < 3; ++k) qsort(over[k], (size_t)rounds, sizeof over[k][0], by_value);
    printf("%-28s", what);
    for (k = 0; k < WAYS; ++k) if (k != AGAIN) printf(" %8.1f %8.1f", ns[k][0], ns[k][rounds / 2]);
    printf("  %+6.1f %+6.1f %+6.1f  %6.3f %6.3f %5ld\n", over[0][rounds / 2], over[1][rounds / 2], over[2][rounds / 2],
           ns[OURS][0] / ns[SAME][0], ns[OURS][rounds / 2] / ns[SAME][rounds / 2], hook);
    /* The vendor's own calls may allocate, and not every call does so equally often. */
    if (libc[SAME] != 0)
        printf("  malloc calls, of the library and its threads too: raw %ld, qnnrt_exec %ld\n", libc[SAME], libc[OURS]);
    if (hook != 0 || (libc[SAME] == 0 && libc[OURS] != 0)) {
        printf("  FAILED: %ld allocations through the hook, %ld of malloc\n", hook, libc[OURS]);
        failed = 1;
    }
    raw_end(&raw, path);
    qnnrt_run_destroy(run);
}

/* ---- pipelines of several backends, of the empty library ------------------------------------- */

/* A host step that does nothing, as a caller's function: not inlined, called through a pointer. */
static NOT_INLINED qnnrt_result host_exec(void *user, const qnnrt_graph_info *step, const void *const *inputs, void *const *outputs,
                                          qnnrt_error *err)
{
    (void)user; (void)step; (void)inputs; (void)outputs; (void)err;
    last = 0;
    return QNNRT_OK;
}

enum { PIPE_STEPS = 3 };

typedef struct pipe_run {
    qnnrt_conversions *conversions;
    qnnrt_pipeline *pipe;
    qnnrt_plan     *plan;
    qnnrt_mem      *mem;
    qnnrt_run      *run;
} pipe_run;

/* Make a run of the graph "small" once for each model; a host step before the last one if `host`, between two
   conversions from uint8 to int32 and back if `convert`. */
static pipe_run make_pipe(qnnrt *const *models, int host, int convert)
{
    static const uint32_t one[1] = { 1 };
    qnnrt_step_desc steps[PIPE_STEPS + 1];
    qnnrt_edge_desc edges[PIPE_STEPS + 1];
    qnnrt_conversion wishes[PIPE_STEPS + 1];
    qnnrt_tensor_info x, y;
    qnnrt_host_step work;
    qnnrt_pipeline_desc desc;
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan;
    qnnrt_error err;
    pipe_run made;
    size_t n = 0, i;
    memset(steps, 0, sizeof steps);
    memset(edges, 0, sizeof edges);
    memset(wishes, 0, sizeof wishes);
    memset(&x, 0, sizeof x);
    memset(&work, 0, sizeof work);
    memset(&desc, 0, sizeof desc);
    memset(&entry, 0, sizeof entry);
    memset(&plan, 0, sizeof plan);
    x.name = "i00";
    x.dtype = convert ? QNNRT_DTYPE_I32 : QNNRT_DTYPE_U8;
    x.rank = 1;
    x.dims = one;
    y = x;
    y.name = "o00";
    work.name = "empty";
    work.inputs = &x;
    work.outputs = &y;
    work.input_count = work.output_count = 1;
    work.exec = host_exec;
    for (i = 0; i < PIPE_STEPS; ++i) {
        if (host && i == PIPE_STEPS - 1) steps[n++].host = &work;
        steps[n].model = models[i];
        steps[n++].graph = "small";
    }
    for (i = 0; i + 1 < n; ++i) {
        edges[i].from_step = i;
        edges[i].from = "o00";
        edges[i].to_step = i + 1;
        edges[i].to = "i00";
        wishes[i].how = convert && i + 3 >= n ? QNNRT_CONVERT_VALUES : QNNRT_CONVERT_NONE;
    }
    desc.name = "pipe";
    desc.steps = steps;
    desc.step_count = n;
    desc.edges = edges;
    desc.edge_count = n - 1;
    desc.edges_only = 1;
    if (converted_make(&desc, wishes, NULL, &made.conversions, &made.pipe, &err) != QNNRT_OK) stop("pipeline", err.text);
    entry.pipeline = made.pipe;
    plan.entries = &entry;
    plan.entry_count = 1;
    if (qnnrt_plan_create(&plan, &made.plan, &err) != QNNRT_OK || qnnrt_mem_create(made.plan, NULL, &made.mem, &err) != QNNRT_OK ||
        qnnrt_run_create(made.mem, 0, &made.run, &err) != QNNRT_OK) stop("pipeline", err.text);
    return made;
}

static void end_pipe(pipe_run made)
{
    qnnrt_run_destroy(made.run);
    qnnrt_mem_destroy(made.mem);
    qnnrt_plan_destroy(made.plan);
    qnnrt_pipeline_destroy(made.pipe);
    qnnrt_conversions_free(made.conversions);
}

/* Call the graphs of a run, without qnnrt. */
static NOT_INLINED double round_graphs(const qnnrt_run *run, int calls, int *bad)
{
    const double begin = now_ns();
    int c, wrong = 0;
    for (c = 0; c < calls; ++c) {
        const qnnrt__step *step;
        for (step = run->steps; step < run->steps_end; ++step)
            wrong |= step->execute(step->graph, step->inputs, step->input_count, step->outputs, step->output_count, NULL, NULL) != 0;
    }
    *bad |= wrong;
    return (now_ns() - begin) / calls;
}

static NOT_INLINED double round_exec(qnnrt_run *run, int calls, int *bad)
{
    const double begin = now_ns();
    int c, wrong = 0;
    for (c = 0; c < calls; ++c) wrong |= qnnrt_exec(run) != QNNRT_OK;
    *bad |= wrong;
    return (now_ns() - begin) / calls;
}

/* Call the host step's function as a program without qnnrt would. */
static NOT_INLINED double round_host(int calls, int *bad)
{
    qnnrt_result (*volatile function)(void *, const qnnrt_graph_info *, const void *const *, void *const *, qnnrt_error *) = host_exec;
    const void *inputs[1] = { NULL };
    void *outputs[1] = { NULL };
    const double begin = now_ns();
    int c, wrong = 0;
    for (c = 0; c < calls; ++c) wrong |= function(NULL, NULL, inputs, outputs, NULL) != QNNRT_OK;
    *bad |= wrong;
    return (now_ns() - begin) / calls;
}

static void measure_pipes(const char *path)
{
    enum { ROUNDS = 401, CALLS = 20000, RAW_ONE = 0, ONE, RAW_THREE, THREE, HOST_ONE, HOST_THREE, CONVERTED, CALLED, COUNT };
    static const char *const names[COUNT] = {
        "3 graphs, raw", "3 graphs, 1 backend", "3 graphs of 3 backends, raw", "3 graphs, 3 backends", "and a host step, 1 backend",
        "and a host step, 3 backends", "and 2 conversions, 3 backends", "host function alone"
    };
    static double ns[COUNT][ROUNDS], over[4][ROUNDS];
    static const unsigned char nothing[64];
    qnnrt *one[PIPE_STEPS], *three[PIPE_STEPS];
    pipe_run runs[COUNT];
    long hook, libc;
    int i, r, k, bad = 0;
    for (i = 0; i < PIPE_STEPS; ++i) three[i] = open_memory(path, path, nothing, sizeof nothing);
    for (i = 0; i < PIPE_STEPS; ++i) one[i] = three[0];
    runs[ONE] = runs[RAW_ONE] = make_pipe(one, 0, 0);
    runs[THREE] = runs[RAW_THREE] = make_pipe(three, 0, 0);
    runs[HOST_ONE] = make_pipe(one, 1, 0);
    runs[HOST_THREE] = make_pipe(three, 1, 0);
    runs[CONVERTED] = make_pipe(three, 1, 1);
    hook = allocations;
    libc = libc_allocations;
    for (r = -3; r < ROUNDS; ++r)
        for (k = 0; k < COUNT; ++k) {
            const int way = (k * 3 + r + 3) % COUNT;
            const double took = way == CALLED ? round_host(CALLS, &bad)
                              : way == RAW_ONE || way == RAW_THREE ? round_graphs(runs[way].run, CALLS, &bad)
                              : round_exec(runs[way].run, CALLS, &bad);
            if (r >= 0) ns[way][r] = took;
        }
    hook = allocations - hook;
    libc = libc_allocations - libc;
    if (bad) stop("pipelines", "an execute failed");
    for (r = 0; r < ROUNDS; ++r) {
        over[0][r] = (ns[ONE][r] - ns[RAW_ONE][r]) / PIPE_STEPS;
        over[1][r] = (ns[THREE][r] - ns[RAW_THREE][r]) / PIPE_STEPS;
        over[2][r] = ns[HOST_ONE][r] - ns[ONE][r] - ns[CALLED][r];
        over[3][r] = ns[HOST_THREE][r] - ns[THREE][r] - ns[CALLED][r];
    }
    printf("\n%-34s %8s %8s\n", "ns per exec, empty functions", "min", "median");
    for (k = 0; k < COUNT; ++k) {
        qsort(ns[k], ROUNDS, sizeof ns[k][0], by_value);
        printf("%-34s %8.1f %8.1f\n", names[k], ns[k][0], ns[k][ROUNDS / 2]);
    }
    for (k = 0; k < 4; ++k) qsort(over[k], ROUNDS, sizeof over[k][0], by_value);
    printf("over raw, per step (paired medians): 1 backend %+.2f, 3 backends %+.2f; host step over its function: 1 backend %+.2f, "
           "3 backends %+.2f\n", over[0][ROUNDS / 2], over[1][ROUNDS / 2], over[2][ROUNDS / 2], over[3][ROUNDS / 2]);
    if (hook != 0 || libc != 0) {
        printf("  FAILED: %ld allocations through the hook, %ld of malloc\n", hook, libc);
        failed = 1;
    }
    end_pipe(runs[ONE]);
    end_pipe(runs[THREE]);
    end_pipe(runs[HOST_ONE]);
    end_pipe(runs[HOST_THREE]);
    end_pipe(runs[CONVERTED]);
    for (i = 0; i < PIPE_STEPS; ++i) qnnrt_close(three[i]);
}

/* Make a context binary of libQnnCpu.so with one Relu of one float. */
static void *make_relu(const char *path, size_t *bytes)
{
    static const uint32_t dims[2] = { 1, 1 };
    const raw_slot *slots = raw_open(path);
    raw_handle backend = NULL, context = NULL, graph = NULL;
    raw_tensor io[2];
    raw_op op;
    uint64_t size = 0, written = 0;
    void *data;
    int i;
    memset(io, 0, sizeof io);
    memset(&op, 0, sizeof op);
    for (i = 0; i < 2; ++i) {
        io[i].version = 1;
        io[i].v.name = i == 0 ? "x" : "y";
        io[i].v.type = i == 0 ? RAW_INPUT : RAW_OUTPUT;
        io[i].v.dtype = RAW_F32;
        io[i].v.quant.defined = io[i].v.quant.encoding = RAW_UNDEFINED;
        io[i].v.rank = 2;
        io[i].v.dims = dims;
    }
    if (CALL(slots, RAW_BACKEND_CREATE, raw_backend_create)(NULL, NULL, &backend) != 0 ||
        CALL(slots, RAW_CONTEXT_CREATE, raw_context_create)(backend, NULL, NULL, &context) != 0 ||
        CALL(slots, RAW_GRAPH_CREATE, raw_graph_create)(context, "relu", NULL, &graph) != 0 ||
        CALL(slots, RAW_GRAPH_TENSOR, raw_graph_tensor)(graph, &io[0]) != 0 ||
        CALL(slots, RAW_GRAPH_TENSOR, raw_graph_tensor)(graph, &io[1]) != 0) stop(path, "no graph");
    op.version = 1;
    op.v.name = "relu_0";
    op.v.package = "qti.aisw";
    op.v.type = "Relu";
    op.v.input_count = op.v.output_count = 1;
    op.v.inputs = &io[0];
    op.v.outputs = &io[1];
    if (CALL(slots, RAW_GRAPH_ADD_NODE, raw_graph_add_node)(graph, op) != 0) stop(path, "graphAddNode");
    if (CALL(slots, RAW_GRAPH_FINALIZE, raw_graph_finalize)(graph, NULL, NULL) != 0) stop(path, "graphFinalize");
    if (CALL(slots, RAW_CONTEXT_BINARY_SIZE, raw_context_binary_size)(context, &size) != 0 || size == 0) stop(path, "size");
    data = malloc((size_t)size);
    if (data == NULL || CALL(slots, RAW_CONTEXT_BINARY, raw_context_binary)(context, data, size, &written) != 0)
        stop(path, "contextGetBinary");
    CALL(slots, RAW_CONTEXT_FREE, raw_context_free)(context, NULL);
    CALL(slots, RAW_BACKEND_FREE, raw_free)(backend);
    *bytes = (size_t)written;
    return data;
}

/* Check that the model computes the same as the vendor. */
static void check_relu(qnnrt *model)
{
    static const float values[3] = { -2.5f, 0.0f, 3.25f };
    qnnrt_error err;
    qnnrt_run *run;
    int i;
    if (qnnrt_prepare(model, "relu", &run, &err) != QNNRT_OK) stop("relu", err.text);
    for (i = 0; i < 3; ++i) {
        float got = -1.0f, want = values[i] > 0.0f ? values[i] : 0.0f;
        if (qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, &values[i], 1) != QNNRT_OK || qnnrt_exec(run) != QNNRT_OK ||
            qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, &got, 1) != QNNRT_OK) stop("relu", qnnrt_run_error(run)->text);
        if (got < want || got > want) stop("relu", "a wrong value");
    }
    qnnrt_run_destroy(run);
}

/* Print milliseconds of qnnrt_open and qnnrt_prepare, measured TIMES times on one open backend. */
static void measure_open(const char *releases, const char *data_folder, const char *part)
{
    enum { TIMES = 15 };
    static double metadata[TIMES], create[TIMES], open_[TIMES], prepare[TIMES];
    char folder[1024], path[1024];
    qnnrt_backend_desc backend_desc;
    qnnrt_backend *backend;
    qnnrt_error err;
    int i;
    snprintf(folder, sizeof folder, "%s/%s", data_folder, part);
    snprintf(path, sizeof path, "%s/2.51/onnxruntime_qnn/libQnnHtp.so", releases);
    if (access(path, R_OK) != 0) { printf("%-34s without %s\n", part, path); return; }
    memset(&backend_desc, 0, sizeof backend_desc);
    backend_desc.path = path;
    if (qnnrt_backend_open(&backend_desc, &backend, &err) != QNNRT_OK) stop(path, err.text);
    for (i = 0; i < TIMES; ++i) {
        const qnnrt_context_info *contexts;
        qnnrt_desc desc;
        qnnrt *model;
        qnnrt_run *run;
        double begin = now_ns(), middle;
        size_t count, c;
        memset(&desc, 0, sizeof desc);
        desc.backend = backend;
        if (qnnrt_open(folder, &desc, &model, &err) != QNNRT_OK) stop(folder, err.text);
        middle = now_ns();
        if (qnnrt_prepare(model, qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[0])->name, &run, &err) != QNNRT_OK)
            stop(folder, err.text);
        prepare[i] = (now_ns() - middle) / 1e6;
        open_[i] = (middle - begin) / 1e6;
        metadata[i] = create[i] = 0.0;
        contexts = qnnrt_get_info(model)->contexts;
        count = qnnrt_get_info(model)->context_count;
        for (c = 0; c < count; ++c) {
            metadata[i] += (double)contexts[c].metadata_ns / 1e6;
            create[i] += (double)contexts[c].create_ns / 1e6;
        }
        qnnrt_run_destroy(run);
        qnnrt_close(model);
    }
    qsort(metadata, TIMES, sizeof(double), by_value);
    qsort(create, TIMES, sizeof(double), by_value);
    qsort(open_, TIMES, sizeof(double), by_value);
    qsort(prepare, TIMES, sizeof(double), by_value);
    printf("%-34s open %.2f (min %.2f): metadata %.3f, vendor's create %.2f, the rest of it %.3f; prepare %.3f (min %.3f)\n",
           part, open_[TIMES / 2], open_[0], metadata[TIMES / 2], create[TIMES / 2],
           open_[TIMES / 2] - metadata[TIMES / 2] - create[TIMES / 2], prepare[TIMES / 2], prepare[0]);
    printf("%-34s library opened in %.1f ms\n", "", (double)qnnrt_backend_get_info(backend)->open_ns / 1e6);
    qnnrt_backend_close(backend);
}

int main(int argc, char **argv)
{
    static const unsigned char nothing[64];
    qnnrt *model;
    if (argc != 2 && argc != 4) { printf("usage: %s EMPTY_LIBRARY [RELEASES DATA_FOLDER]\n", argv[0]); return 2; }

    printf("%-28s %17s %17s %17s %17s  %20s\n", "", "raw, own tensors", "raw, the same", "thinnest function", "qnnrt_exec",
           "paired medians, over");
    printf("%-28s %8s %8s %8s %8s %8s %8s %8s %8s  %6s %6s %6s  %13s %5s\n", "ns per call", "min", "median", "min", "median", "min",
           "median", "min", "median", "raw", "thin", "(noise)", "of raw", "alloc");
    model = open_memory(argv[1], argv[1], nothing, sizeof nothing);
    measure("empty function, 1 in, 1 out", argv[1], model, "small", nothing, sizeof nothing, 100000, 201);
    measure("empty function, 40 in, 40 out", argv[1], model, "wide", nothing, sizeof nothing, 100000, 201);
    qnnrt_close(model);

    measure_pipes(argv[1]);
    printf("\n");

    if (argc == 4) {
        char cpu[1024], system_path[1024];
        snprintf(cpu, sizeof cpu, "%s/2.47/onnxruntime_qnn/libQnnCpu.so", argv[2]);
        snprintf(system_path, sizeof system_path, "%s/2.47/onnxruntime_qnn/libQnnSystem.so", argv[2]);
        if (access(cpu, R_OK) == 0) {
            size_t bytes;
            void *data = make_relu(cpu, &bytes);
            model = open_memory(cpu, system_path, data, bytes);
            check_relu(model);
            measure("libQnnCpu.so 2.47, Relu 1x1", cpu, model, "relu", data, bytes, 20, 8001);
            qnnrt_close(model);
            free(data);
        } else {
            printf("%-34s without %s\n", "libQnnCpu.so", cpu);
        }
        printf("\nms, medians of 15 on libQnnHtp.so 2.51 (x86-64 emulator)\n");
        measure_open(argv[2], argv[3], "ctx/qairt2.51/mlp_u8");
        measure_open(argv[2], argv[3], "llm/w8a16_four");
    }
    if (failed) printf("bench: FAILED\n");
    return failed;
}
