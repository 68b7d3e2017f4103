/* bench_session.c - how much longer a bound run of a session takes than the engine's own call

       bench_session FOLDER REF_LIBRARY [ONNXRUNTIME_LIBRARY]

   Models of one Relu are written into FOLDER. Each engine runs the same graph in the caller's memory, in one process and
   in alternating rounds: through qnnrt_binding_run(), and through its own call: an empty function for an empty engine,
   qnnrt_exec() for ours on libQnnRef.so, RunWithBinding() for ONNX Runtime. Runs that set their values anew
   (qnnrt_session_run) stand beside them. "Noise" is the difference between two measurements of equal code.

   Times are printed and never judged: they depend on the machine. The exit status is 1 when a bound run of ours
   allocates, or a result is wrong. */
#include "qnnrt_session.h"
#include "qnnrt_builder.h"
#include "qnnrt_onnxruntime.h"
#include "qnnrt_qnn.h"
#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROUNDS = 1001, WIDTH = 4 };

static qnnrt_error err;
static long allocations;
static float x[WIDTH] = { -1, 2, -3, 4 }, y[WIDTH];

static void *count_alloc(void *user, size_t bytes) { (void)user; ++allocations; return malloc(bytes); }
static void count_free(void *user, void *data) { (void)user; free(data); }

static void stop(const char *what, const char *why)
{
    printf("bench-session: %s: %s\n", what, why);
    exit(1);
}

/* ---- an engine that does nothing --------------------------------------------------------------- */

static const char *const empty_devices[] = { "cpu" };
static qnnrt_session_tensor empty_input, empty_output;

static qnnrt_result empty_open(const qnnrt_engine_open *desc, void **library, qnnrt_engine_library *out, qnnrt_error *e)
{
    (void)desc; (void)e;
    *library = &empty_input;
    out->version = "1";
    out->devices = empty_devices;
    out->device_count = 1;
    return QNNRT_OK;
}

static qnnrt_result empty_load(void *library, const qnnrt_engine_load *load, void **model, qnnrt_engine_model *out, qnnrt_error *e)
{
    (void)load; (void)e;
    *model = library;
    empty_input.name = "x";
    empty_output.name = "y";
    empty_input.dtype = empty_output.dtype = QNNRT_DTYPE_F32;
    empty_input.rank = empty_output.rank = 2;
    empty_input.dims[0] = empty_output.dims[0] = 1;
    empty_input.dims[1] = empty_output.dims[1] = WIDTH;
    out->inputs = &empty_input;
    out->outputs = &empty_output;
    out->input_count = out->output_count = 1;
    return QNNRT_OK;
}

static void empty_end(void *object) { (void)object; }
static qnnrt_result empty_bind(void *model, void **binding, qnnrt_error *e) { (void)e; *binding = model; return QNNRT_OK; }
static qnnrt_result empty_set(void *binding, int output, size_t index, const qnnrt_value *value, qnnrt_error *e)
{
    (void)binding; (void)output; (void)index; (void)value; (void)e;
    return QNNRT_OK;
}
static volatile int last;
static qnnrt_result empty_run(void *binding, qnnrt_error *e) { (void)binding; (void)e; last = 1; return QNNRT_OK; }
static qnnrt_result empty_get(void *binding, size_t output, qnnrt_value *value, qnnrt_error *e)
{
    (void)binding; (void)output; (void)e;
    value->data = y;
    return QNNRT_OK;
}
static const qnnrt_engine empty_engine = {
    QNNRT_ENGINE_VERSION, QNNRT_MODEL_ONNX, "empty", "does nothing", empty_open, empty_end, empty_load, empty_end,
    empty_bind, empty_end, empty_set, empty_run, empty_get, NULL, NULL
};

/* ---- models ------------------------------------------------------------------------------------ */

static const char *in(const char *folder, const char *name)
{
    static char paths[2][4200];
    static int next;
    snprintf(paths[next ^= 1], sizeof(paths[0]), "%s/%s", folder, name);
    return paths[next];
}

/* Relu of float32[1,4], as ONNX. */
static void write_onnx(const char *path)
{
    static const unsigned char model[] =
        "\x08\x08\x3a\x33\x0a\x0c\x0a\x01x\x12\x01y\x22\x04Relu\x12\x01g"
        "\x5a\x0f\x0a\x01x\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x04"
        "\x62\x0f\x0a\x01y\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x04\x42\x02\x10\x0d";
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(model, 1, sizeof(model) - 1, file) != sizeof(model) - 1 || fclose(file) != 0) stop(path, "cannot write");
}

static qnnrt_backend *backend_open(const char *library)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend;
    memset(&desc, 0, sizeof(desc));
    desc.path = library;
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) stop(library, err.text);
    return backend;
}

/* Relu of float32[1,4], as a context binary. */
static void write_context(const char *path, const char *library)
{
    static const char *const names[2] = { "x", "y" };
    qnnrt_backend *backend = backend_open(library);
    qnnrt_graph_desc graph;
    qnnrt_node_desc node;
    qnnrt_builder *b;
    qnnrt_tensor tensors[2];
    qnnrt *model;
    int i;
    memset(&graph, 0, sizeof(graph));
    memset(&node, 0, sizeof(node));
    graph.name = "main";
    if (qnnrt_builder_create(backend, NULL, &b, &err) != QNNRT_OK) stop(path, err.text);
    qnnrt_builder_graph(b, &graph);
    for (i = 0; i < 2; ++i) {
        qnnrt_tensor_desc desc;
        memset(&desc, 0, sizeof(desc));
        desc.name = names[i];
        desc.kind = i == 0 ? QNNRT_TENSOR_INPUT : QNNRT_TENSOR_OUTPUT;
        desc.dtype = QNNRT_DTYPE_F32;
        desc.rank = 2;
        desc.dims[0] = 1;
        desc.dims[1] = WIDTH;
        tensors[i] = qnnrt_builder_tensor(b, &desc);
    }
    node.type = "Relu";
    node.inputs = &tensors[0];
    node.outputs = &tensors[1];
    node.input_count = node.output_count = 1;
    qnnrt_builder_node(b, &node);
    if (qnnrt_builder_finish(b, &model, &err) != QNNRT_OK || qnnrt_save(model, 0, path, &err) != QNNRT_OK) stop(path, err.text);
    qnnrt_close(model);
    qnnrt_backend_close(backend);
}

/* ---- rounds ------------------------------------------------------------------------------------ */

/* A direct call: 0 is success. */
typedef struct direct { int (*call)(const struct direct *direct); const void *a, *b; } direct;

static int direct_empty(const direct *d)
{
    qnnrt_result (*volatile const run)(void *, qnnrt_error *) = empty_run;
    (void)d;
    return (int)run(NULL, &err);
}

static int direct_exec(const direct *d) { return (int)qnnrt_exec((qnnrt_run *)(uintptr_t)d->a); }

typedef void *(*run_with_binding)(const void *session, const void *options, const void *binding);
static run_with_binding ort_run;
static int direct_ort(const direct *d) { return ort_run(d->a, NULL, d->b) != NULL; }

enum { DIRECT, AGAIN, BOUND, VALUES, WAYS };

static double round_of(int way, const direct *d, qnnrt_binding *binding, qnnrt_session *session, int calls)
{
    double begin;
    int c, bad = 0;
    if (way == VALUES) {
        qnnrt_value input, output;
        memset(&input, 0, sizeof(input));
        memset(&output, 0, sizeof(output));
        input.dtype = QNNRT_DTYPE_F32;
        input.rank = qnnrt_session_get_info(session)->inputs[0].rank;
        memcpy(input.dims, qnnrt_session_get_info(session)->inputs[0].dims, sizeof(input.dims));
        input.data = x;
        input.bytes = sizeof(x);
        begin = now_ns();
        for (c = 0; c < calls; ++c) {
            output.data = y;
            output.bytes = sizeof(y);
            bad |= qnnrt_session_run(session, &input, 1, &output, 1) != QNNRT_OK;
        }
    } else if (way == BOUND) {
        begin = now_ns();
        for (c = 0; c < calls; ++c) bad |= qnnrt_binding_run(binding) != QNNRT_OK;
    } else {
        begin = now_ns();
        for (c = 0; c < calls; ++c) bad |= d->call(d) != 0;
    }
    if (bad) stop("a run failed", qnnrt_session_error(session)->text);
    return (now_ns() - begin) / calls;
}

static void place(qnnrt_binding *binding, const qnnrt_session_info *info, int output, float *data)
{
    const qnnrt_session_tensor *t = output ? &info->outputs[0] : &info->inputs[0];
    qnnrt_value value;
    memset(&value, 0, sizeof(value));
    value.dtype = t->dtype;
    value.rank = t->rank;
    memcpy(value.dims, t->dims, sizeof(value.dims));
    value.data = data;
    value.bytes = sizeof(x);
    if ((output ? qnnrt_binding_output(binding, &value) : qnnrt_binding_input(binding, &value)) != QNNRT_OK)
        stop("cannot place", info->text);
}

static void measure(const char *what, const char *path, const qnnrt_engine *engine, const char *library, const direct *d, int calls,
                    int rounds)
{
    static double ns[WAYS][ROUNDS], over[3][ROUNDS];
    const qnnrt_engine *list[2] = { engine, NULL };
    qnnrt_session_option option;
    qnnrt_session_desc desc;
    qnnrt_session *session;
    qnnrt_binding *binding;
    long before, hook = 0;
    unsigned seed = 1;
    int r, k;
    memset(&desc, 0, sizeof(desc));
    memset(&option, 0, sizeof(option));
    option.key = "library_path";
    option.value = library;
    desc.engines = list;
    desc.device = "cpu";
    desc.options = &option;
    desc.option_count = library != NULL;
    desc.hooks.alloc = count_alloc;
    desc.hooks.free = count_free;
    if (qnnrt_session_create(path, &desc, &session, &err) != QNNRT_OK) stop(what, err.text);
    if (qnnrt_binding_create(session, &binding, &err) != QNNRT_OK) stop(what, err.text);
    place(binding, qnnrt_session_get_info(session), 0, x);
    place(binding, qnnrt_session_get_info(session), 1, y);
    for (r = -3; r < rounds; ++r) {              /* the first rounds warm up */
        int order[WAYS];
        for (k = 0; k < WAYS; ++k) {
            int other;
            seed = seed * 1664525u + 1013904223u;
            other = (int)((seed >> 16) % (unsigned)(k + 1));
            order[k] = order[other];
            order[other] = k;
        }
        for (k = 0; k < WAYS; ++k) {
            double took;
            before = allocations;
            took = round_of(order[k], d, binding, session, calls);
            if (r >= 0) ns[order[k]][r] = took;
            if (r >= 0 && order[k] == BOUND) hook += allocations - before;
        }
    }
    memset(y, 0, sizeof(y));
    if (qnnrt_binding_run(binding) != QNNRT_OK || (engine != &empty_engine && (y[0] < 0 || y[0] > 0 || y[3] < 4 || y[3] > 4)))
        stop(what, "the result of a bound run is wrong");
    for (r = 0; r < rounds; ++r) {               /* compare times that were measured next to each other */
        over[0][r] = ns[BOUND][r] - ns[DIRECT][r];
        over[1][r] = ns[VALUES][r] - ns[DIRECT][r];
        over[2][r] = ns[AGAIN][r] - ns[DIRECT][r];
    }
    for (k = 0; k < WAYS; ++k) qsort(ns[k], (size_t)rounds, sizeof ns[k][0], by_value);
    for (k = 0; k < 3; ++k) qsort(over[k], (size_t)rounds, sizeof over[k][0], by_value);
    printf("%-22s", what);
    for (k = 0; k < WAYS; ++k)
        if (k != AGAIN) printf(" %8.1f %8.1f", ns[k][0], ns[k][rounds / 2]);
    printf("   %+7.1f %+7.1f %+7.1f\n", over[0][rounds / 2], over[1][rounds / 2], over[2][rounds / 2]);
    if (hook != 0) stop(what, "bound runs allocate through the hook");
    qnnrt_binding_destroy(binding);
    if (qnnrt_session_destroy(session) != QNNRT_OK) stop(what, "still in use");
}

/* ---- direct calls ------------------------------------------------------------------------------ */

static void measure_qnn(const char *folder, const char *library)
{
    qnnrt_desc desc;
    qnnrt *model;
    qnnrt_run *run;
    direct d;
    memset(&desc, 0, sizeof(desc));
    desc.backend_desc.path = library;
    desc.system_path = library;
    mkdir(in(folder, "relu"), 0777);
    write_context(in(folder, "relu/forward_0.bin"), library);
    if (qnnrt_open(in(folder, "relu"), &desc, &model, &err) != QNNRT_OK) stop("qnn", err.text);
    if (qnnrt_prepare(model, NULL, &run, &err) != QNNRT_OK) stop("qnn", err.text);
    if (qnnrt_bind(run, "x", x, sizeof(x)) != QNNRT_OK || qnnrt_bind(run, "y", y, sizeof(y)) != QNNRT_OK)
        stop("qnn", qnnrt_run_error(run)->text);
    d.call = direct_exec;
    d.a = run;
    d.b = NULL;
    measure("qnn, libQnnRef.so", in(folder, "relu"), qnnrt_engine_qnn(), library, &d, 500, 301);
    qnnrt_run_destroy(run);
    qnnrt_close(model);
}

/* The functions of ONNX Runtime's table, by their places in it. */
typedef void (*ort_slot)(void);
#define ORT(number, type) ((type)slots[number])

static void ort_good(void *status, const char *what)
{
    if (status != NULL) stop("ONNX Runtime", what);
}

static void measure_ort(const char *folder, const char *library)
{
    typedef const struct { const void *(*get)(uint32_t version); const char *(*text)(void); } *base;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), *symbol = handle != NULL ? dlsym(handle, "OrtGetApiBase") : NULL;
    base (*get_base)(void);
    const ort_slot *slots;
    void *env, *options, *session, *binding, *memory, *values[2];
    const int64_t dims[1] = { WIDTH };
    direct d;
    if (symbol == NULL) stop(library, "no OrtGetApiBase");
    memcpy(&get_base, &symbol, sizeof(get_base));
    slots = (const ort_slot *)get_base()->get(14);
    if (slots == NULL) stop(library, "no API 14");
    write_onnx(in(folder, "relu.onnx"));
    ort_good(ORT(3, void *(*)(int, const char *, void **))(3, "bench", &env), "CreateEnv");
    ort_good(ORT(10, void *(*)(void **))(&options), "CreateSessionOptions");
    ort_good(ORT(24, void *(*)(void *, int))(options, 1), "SetIntraOpNumThreads");
    ort_good(ORT(7, void *(*)(void *, const char *, void *, void **))(env, in(folder, "relu.onnx"), options, &session), "CreateSession");
    ort_good(ORT(69, void *(*)(int, int, void **))(0, 0, &memory), "CreateCpuMemoryInfo");
    ort_good(ORT(49, void *(*)(void *, void *, size_t, const int64_t *, size_t, int, void **))(memory, x, sizeof(x), dims, 1, 1, &values[0]), "CreateTensor");
    ort_good(ORT(49, void *(*)(void *, void *, size_t, const int64_t *, size_t, int, void **))(memory, y, sizeof(y), dims, 1, 1, &values[1]), "CreateTensor");
    ort_good(ORT(134, void *(*)(void *, void **))(session, &binding), "CreateIoBinding");
    ort_good(ORT(136, void *(*)(void *, const char *, void *))(binding, "x", values[0]), "BindInput");
    ort_good(ORT(137, void *(*)(void *, const char *, void *))(binding, "y", values[1]), "BindOutput");
    ort_run = ORT(133, run_with_binding);
    d.call = direct_ort;
    d.a = session;
    d.b = binding;
    measure("onnxrt, CPU", in(folder, "relu.onnx"), qnnrt_engine_onnxruntime(), library, &d, 200, 301);
    ORT(135, void (*)(void *))(binding);
    ORT(96, void (*)(void *))(values[0]);
    ORT(96, void (*)(void *))(values[1]);
    ORT(94, void (*)(void *))(memory);
    ORT(95, void (*)(void *))(session);
    ORT(100, void (*)(void *))(options);
    ORT(92, void (*)(void *))(env);
}

int main(int argc, char **argv)
{
    direct d;
    if (argc < 3) stop("usage", "bench_session FOLDER REF_LIBRARY [ONNXRUNTIME_LIBRARY]");
    printf("ns per run, least and median    its own call      bound run         session_run        bound   values   noise\n");
    d.call = direct_empty;
    d.a = d.b = NULL;
    write_onnx(in(argv[1], "relu.onnx"));
    measure("an empty engine", in(argv[1], "relu.onnx"), &empty_engine, NULL, &d, 2000, ROUNDS);
    measure_qnn(argv[1], argv[2]);
    if (argc > 3) measure_ort(argv[1], argv[3]);
    else printf("onnxrt, CPU            not measured: no library was given\n");
    return 0;
}
