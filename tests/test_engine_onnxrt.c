/* test_engine_onnxrt.c - ONNX Runtime as an engine: a fake library that counts its handles, and the genuine one

   The genuine library is build/engines/onnxruntime-1.31.1; its models are written here, field by field. */
#define _GNU_SOURCE
#include "../tools/engines/qnnrt_onnxruntime.h"
#include "fake/fake_ort.h"
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static qnnrt_error err;

/* ---- the fake --------------------------------------------------------------------------------- */

static fake_ort *fake;
static void (*fake_reset)(void);

/* Load the fake and let it work. */
static int begin(void)
{
    static void *library;
    fake_ort *(*control)(void);
    void *found;
    if (library == NULL) library = dlopen(TEST_FAKE_ORT, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 0;
    found = dlsym(library, "fake_ort_control");
    memcpy((void *)&control, (const void *)&found, sizeof control);
    found = dlsym(library, "fake_ort_reset");
    memcpy((void *)&fake_reset, (const void *)&found, sizeof fake_reset);
    fake = control();
    fake_reset();
    memset(&err, 0xFF, sizeof err);
    return 1;
}

/* Return 1 if no handle is alive and none was used wrong. */
static int clean(void)
{
    int i;
    for (i = 0; i < FAKE_KINDS; ++i)
        if (fake->live[i] != 0) printf("  %ld handles of kind %d are alive\n", fake->live[i], i);
    for (i = 0; i < FAKE_KINDS; ++i)
        if (fake->live[i] != 0) return 0;
    return fake->wrong == 0;
}

static char logged[4096];

static void take_line(void *user, qnnrt_log_level level, const char *part, uint64_t code, const char *text)
{
    (void)user;
    (void)code;
    snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%d %s: %s\n", (int)level, part, text);
}

/* What a test asks for. */
typedef struct asked {
    const char *library, *path, *device;
    qnnrt_session_option options[8];
    size_t option_count;
    qnnrt_session_shape shapes[4];
    size_t shape_count;
    qnnrt_engine_load load;
    qnnrt_hooks hooks;
    int trt;
} asked;

static asked ask(const char *path, const char *device)
{
    asked a;
    memset(&a, 0, sizeof a);
    a.library = TEST_FAKE_ORT;
    a.path = path;
    a.device = device;
    a.load.threads = 1;
    a.load.optimize_level = -1;
    a.hooks.log = take_line;
    logged[0] = '\0';
    return a;
}

static void option(asked *a, const char *key, const char *value)
{
    a->options[a->option_count].key = key;
    a->options[a->option_count++].value = value;
}

typedef struct opened {
    const qnnrt_engine *engine;
    void *library, *model, *binding;
    qnnrt_engine_library facts;
    qnnrt_engine_model model_facts;
} opened;

static void shut(opened *o)
{
    if (o->binding != NULL) o->engine->binding_destroy(o->binding);
    if (o->model != NULL) o->engine->unload(o->model);
    if (o->library != NULL) o->engine->close(o->library);
    memset(o, 0, sizeof *o);
}

/* Open, load and bind. What did not work is NULL. */
static qnnrt_result start(const asked *a, opened *o)
{
    qnnrt_engine_open open;
    qnnrt_engine_load load = a->load;
    qnnrt_result result;
    memset(o, 0, sizeof *o);
    memset(&open, 0, sizeof open);
    o->engine = a->trt ? qnnrt_engine_onnxruntime_trt() : qnnrt_engine_onnxruntime();
    open.hooks = a->hooks;
    open.library_path = a->library;
    open.options = a->options;
    open.option_count = a->option_count;
    result = o->engine->open(&open, &o->library, &o->facts, &err);
    if (result != QNNRT_OK) return result;
    load.hooks = a->hooks;
    load.path = a->path;
    load.kind = QNNRT_MODEL_ONNX;
    load.device = a->device;
    load.options = a->options;
    load.option_count = a->option_count;
    load.shapes = a->shapes;
    load.shape_count = a->shape_count;
    result = o->engine->load(o->library, &load, &o->model, &o->model_facts, &err);
    if (result != QNNRT_OK) return result;
    return o->engine->binding_create(o->model, &o->binding, &err);
}

static qnnrt_value value(qnnrt_dtype dtype, uint32_t rank, int64_t a, int64_t b, void *data)
{
    qnnrt_value v;
    memset(&v, 0, sizeof v);
    v.dtype = dtype;
    v.rank = rank;
    v.dims[0] = a;
    v.dims[1] = b;
    v.data = data;
    qnnrt_session_bytes(dtype, rank, v.dims, &v.bytes);
    return v;
}

/* ---- versions and tables ---------------------------------------------------------------------- */

TEST(onnxrt_version_text_is_parsed_strictly_before_a_slot_is_read)
{
    static const char *const hostile[] = {
        "", "1", "1.", "1.31", "1.31.", "1.31.x", "1.31.1;", "01.31.1", "1.031.1", "1.1000.0", "1.99999999999999999999.1",
        "-1.31.1", " 1.31.1", "1.31.1 ", "1.31.1\n", "v1.31.1", "1.31.1-\x1b[2J", "1.-31.1", "1.3\xc3\xa4.1", "%s%n.1.1",
        "1.31.1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    };
    size_t i;
    CHECK(begin());
    for (i = 0; i < sizeof hostile / sizeof *hostile; ++i) {
        asked a = ask("m.onnx", "cpu");
        opened o;
        fake_reset();
        fake->version = hostile[i];
        CHECK_EQ(start(&a, &o), QNNRT_E_VERSION);
        CHECK_STR(err.text, "expected three numbers such as 1.31.0");
        CHECK(strchr(err.text, '\x1b') == NULL && o.library == NULL && fake->calls == 0);
        CHECK(clean());
    }
}

TEST(onnxrt_versions_of_1_14_and_newer_are_taken)
{
    static const struct { const char *version; qnnrt_result result; const char *text; } cases[] = {
        { "1.13.1", QNNRT_E_VERSION, "is ONNX Runtime 1.13.1, expected 1.14 or newer" },
        { "0.5.0", QNNRT_E_VERSION, "is ONNX Runtime 0.5.0, expected 1.14" },
        { "2.0.0", QNNRT_E_VERSION, "is ONNX Runtime 2.0.0, expected 1.14 or newer, below 2.0" },
        { "1.14.0", QNNRT_OK, "" }, { "1.16.3", QNNRT_OK, "" }, { "1.17.3", QNNRT_OK, "" }, { "1.21.1", QNNRT_OK, "" },
        { "1.24.4", QNNRT_OK, "" }, { "1.31.1-dev+cu12", QNNRT_OK, "" },
        { "1.32.0", QNNRT_OK, "2 onnxrt: ONNX Runtime 1.32.0 is newer than 1.31" },
        { "1.999.0", QNNRT_OK, "newer than 1.31" }
    };
    size_t i;
    CHECK(begin());
    for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
        asked a = ask("m.onnx", "cpu");
        opened o;
        fake_reset();
        fake->version = cases[i].version;
        CHECK_EQ(start(&a, &o), cases[i].result);
        CHECK_STR(cases[i].result == QNNRT_OK ? logged : err.text, cases[i].text);
        if (cases[i].result == QNNRT_OK) CHECK(strcmp(o.facts.version, cases[i].version) == 0);
        shut(&o);
        CHECK(clean());
    }
}

TEST(onnxrt_library_without_functions_is_refused)
{
    static const struct { size_t field; qnnrt_result result; const char *text; } cases[] = {
        { offsetof(fake_ort, no_base), QNNRT_E_LIBRARY, "OrtGetApiBase returns no functions" },
        { offsetof(fake_ort, no_get_api), QNNRT_E_LIBRARY, "OrtGetApiBase returns no functions" },
        { offsetof(fake_ort, no_version), QNNRT_E_LIBRARY, "OrtGetApiBase returns no functions" },
        { offsetof(fake_ort, no_table), QNNRT_E_VERSION, "has no table for API 31" }
    };
    static const int slots[] = { 1, 2, 4, 7, 92, 133, 140, 170, 216, 266, 304, 407 };
    opened o;
    size_t i;
    asked a = ask("m.onnx", "cpu");
    CHECK(begin());
    for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
        fake_reset();
        *(int *)(void *)((char *)fake + cases[i].field) = 1;
        CHECK_EQ(start(&a, &o), cases[i].result);
        CHECK_STR(err.text, cases[i].text);
        CHECK(clean());
    }
    for (i = 0; i < sizeof slots / sizeof *slots; ++i) {
        char text[40];
        fake_reset();
        fake->null_slot = slots[i];
        snprintf(text, sizeof text, "(slot %d)", slots[i]);
        CHECK_EQ(start(&a, &o), QNNRT_E_LIBRARY);
        CHECK_STR(err.text, text);
        CHECK(clean());
    }
    /* A slot that the version does not have yet may be anything. */
    fake_reset();
    fake->version = "1.14.0";
    fake->null_slot = 4;
    CHECK_EQ(start(&a, &o), QNNRT_E_LIBRARY);
    a.library = TEST_FAKE_LIB;
    CHECK_EQ(start(&a, &o), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "is not ONNX Runtime: it has no OrtGetApiBase");
    a.library = "build/no/such/libonnxruntime.so";
    CHECK_EQ(start(&a, &o), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "cannot open the library build/no/such/libonnxruntime.so");
    a.library = "libnothing-at-all.so";
    CHECK_EQ(start(&a, &o), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "cannot find the library libnothing-at-all.so. Tried:\n  there is no /");
}

TEST(onnxrt_newest_library_of_a_folder_is_taken)
{
    char folder[] = "/tmp/qnnrt-ort-XXXXXX", path[200], real[4096];
    static const char *const names[] = { "libonnxruntime.so.1.9.0", "libonnxruntime.so.1.31.1", "libonnxruntime.so.1.4.2",
                                         "libonnxruntime.so.1.31.1.bak", "libonnxruntime.so.x" };
    asked a;
    opened o;
    size_t i;
    CHECK(begin());
    CHECK(mkdtemp(folder) != NULL);
    CHECK(realpath(TEST_FAKE_ORT, real) != NULL);
    for (i = 0; i < sizeof names / sizeof *names; ++i) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        CHECK(symlink(i == 1 ? real : "/nowhere", path) == 0);
    }
    a = ask("m.onnx", "cpu");
    a.library = folder;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    shut(&o);
    for (i = 0; i < sizeof names / sizeof *names; ++i) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    CHECK_EQ(start(&a, &o), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "there is no /tmp/qnnrt-ort-");
    rmdir(folder);
    CHECK(clean());
}

/* ---- models ----------------------------------------------------------------------------------- */

TEST(onnxrt_facts_inputs_outputs_and_runs)
{
    float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, w[4] = { 10, 20, 30, 40 }, y[8];
    asked a = ask("m.onnx", "cpu");
    qnnrt_value v;
    opened o;
    int i;
    CHECK(begin());
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(fake->journal, "threads=1\nlevel=99\nsession m.onnx\n");
    CHECK_STR(logged, "2 onnxrt: a line of the ?[31mfake\n");
    CHECK_EQ(o.model_facts.input_count, 2);
    CHECK_EQ(o.model_facts.output_count, 2);
    CHECK(strcmp(o.model_facts.inputs[0].name, "x") == 0 && o.model_facts.inputs[0].dims[0] == -1);
    CHECK(strcmp(o.model_facts.inputs[0].dim_names[0], "batch") == 0 && strcmp(o.model_facts.inputs[0].dim_names[1], "") == 0);
    CHECK(!o.model_facts.inputs[0].optional && o.model_facts.inputs[1].optional);
    CHECK_EQ(o.model_facts.outputs[1].dtype, QNNRT_DTYPE_STRING);
    CHECK(o.engine->get(o.binding, 0, &v, &err) == QNNRT_E_STATE);
    v = value(QNNRT_DTYPE_F32, 2, 2, 4, x);
    CHECK_EQ(o.engine->set(o.binding, 0, 0, &v, &err), QNNRT_OK);
    for (i = 0; i < 3; ++i) {
        x[0] = (float)i;                 /* memory of the caller is read by each run */
        CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
        CHECK_EQ(o.engine->get(o.binding, 0, &v, &err), QNNRT_OK);
        CHECK(v.rank == 2 && v.dims[0] == 2 && v.bytes == sizeof x && memcmp(v.data, x, sizeof x) == 0);
        CHECK_EQ(o.engine->get(o.binding, 1, &v, &err), QNNRT_OK);
        CHECK(v.bytes == 8 * sizeof(char *) && strcmp(((const char *const *)v.data)[7], "8") == 0);
    }
    /* Other rows: the memory of the last run is not kept. */
    v = value(QNNRT_DTYPE_F32, 2, 1, 4, x);
    CHECK_EQ(o.engine->set(o.binding, 0, 0, &v, &err), QNNRT_OK);
    v = value(QNNRT_DTYPE_F32, 1, 4, 0, w);
    CHECK_EQ(o.engine->set(o.binding, 0, 1, &v, &err), QNNRT_OK);
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
    CHECK_EQ(o.engine->get(o.binding, 0, &v, &err), QNNRT_OK);
    CHECK(v.bytes == sizeof w && ((const float *)v.data)[3] == x[3] + 40);
    /* The optional one is taken back; the output goes into memory of the caller, and back. */
    v = value(QNNRT_DTYPE_F32, 1, 4, 0, NULL);
    CHECK_EQ(o.engine->set(o.binding, 0, 1, &v, &err), QNNRT_OK);
    v = value(QNNRT_DTYPE_F32, 2, 1, 4, y);
    CHECK_EQ(o.engine->set(o.binding, 1, 0, &v, &err), QNNRT_OK);
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
    CHECK(memcmp(y, x, sizeof w) == 0);
    CHECK_EQ(o.engine->get(o.binding, 0, &v, &err), QNNRT_OK);
    CHECK(v.data == y && v.rank == 2 && strcmp(v.name, "y") == 0);
    v.data = NULL;
    CHECK_EQ(o.engine->set(o.binding, 1, 0, &v, &err), QNNRT_OK);
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
    CHECK_EQ(o.engine->get(o.binding, 0, &v, &err), QNNRT_OK);
    CHECK(v.data != y && memcmp(v.data, x, sizeof w) == 0);
    shut(&o);
    CHECK(clean());
}

TEST(onnxrt_strings_are_read_by_each_run)
{
    const char *texts[4] = { "a", "", "\xc3\xa4", "long enough for memory of its own" };
    asked a = ask("m.onnx", "cpu");
    qnnrt_value v;
    opened o;
    CHECK(begin());
    fake->strings = 1;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    memset(&v, 0, sizeof v);
    v = value(QNNRT_DTYPE_STRING, 2, 1, 4, NULL);
    memcpy((void *)&v.data, &(const char **){ texts }, sizeof v.data);
    CHECK_EQ(o.engine->set(o.binding, 0, 0, &v, &err), QNNRT_OK);
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
    texts[0] = "other";
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
    CHECK_EQ(o.engine->get(o.binding, 0, &v, &err), QNNRT_OK);
    CHECK(strcmp(((const char *const *)v.data)[0], "other") == 0 && strcmp(((const char *const *)v.data)[1], "") == 0);
    CHECK(strcmp(((const char *const *)v.data)[2], texts[2]) == 0 && strcmp(((const char *const *)v.data)[3], texts[3]) == 0);
    CHECK_EQ(o.engine->set(o.binding, 1, 0, &v, &err), QNNRT_E_UNSUPPORTED);
    fake->bad_offsets = 1;
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
    CHECK_EQ(o.engine->get(o.binding, 0, &v, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "lie outside of its memory");
    fake->bad_offsets = 0;
    texts[2] = NULL;
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "string 2 of input \"x\" is NULL");
    shut(&o);
    CHECK(clean());
}

TEST(onnxrt_what_is_not_a_tensor_is_refused_by_name)
{
    static const struct { int kind, element; size_t rank; const char *text; } cases[] = {
        { 2, 1, 2, "input \"x\" is a sequence, expected a tensor" }, { 3, 1, 2, "input \"x\" is a map" },
        { 5, 1, 2, "is a sparse tensor" }, { 6, 1, 2, "is an optional" }, { 99, 1, 2, "is of an unknown kind" },
        { -1, 1, 2, "is of an unknown kind" }, { 1, 14, 2, "of type complex64 (14)" }, { 1, 17, 2, "float8e4m3fn" },
        { 1, 77, 2, "of type unknown (77)" }, { 1, 0, 2, "of type undefined (0)" }, { 1, 1, 17, "more than 16 dimensions" },
        { 1, 1, (size_t)-1, "more than 16 dimensions" }
    };
    asked a = ask("m.onnx", "cpu");
    opened o;
    size_t i;
    CHECK(begin());
    for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
        fake_reset();
        fake->kind = cases[i].kind;
        fake->element = cases[i].element;
        fake->rank = cases[i].rank;
        CHECK_EQ(start(&a, &o), QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, cases[i].text);
        CHECK(o.model == NULL);
        shut(&o);
        CHECK(clean());
    }
    fake_reset();
    fake->inputs = 1u << 30;
    CHECK_EQ(start(&a, &o), QNNRT_E_LIMIT);
    shut(&o);
    fake_reset();
    fake->no_shape = 1;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK(o.model_facts.outputs[0].any_rank && !o.model_facts.inputs[0].any_rank);
    shut(&o);
    fake->outputs_missing = 1;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    {
        float x[4] = { 0 };
        qnnrt_value v = value(QNNRT_DTYPE_F32, 2, 1, 4, x);
        CHECK_EQ(o.engine->set(o.binding, 0, 0, &v, &err), QNNRT_OK);
        CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
        CHECK_EQ(o.engine->get(o.binding, 1, &v, &err), QNNRT_E_BACKEND);
        CHECK_STR(err.text, "returned 1 outputs, expected 2");
    }
    shut(&o);
    CHECK(clean());
}

TEST(onnxrt_errors_have_the_librarys_text_and_code)
{
    asked a = ask("damaged.onnx", "cpu");
    opened o;
    CHECK(begin());
    CHECK_EQ(start(&a, &o), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "cannot load \"damaged.onnx\": Protobuf parsing failed.");
    CHECK_EQ(err.vendor_code, 7);
    shut(&o);
    a.path = "huge.onnx";
    CHECK_EQ(start(&a, &o), QNNRT_E_MEMORY);
    CHECK_STR(err.text, "requested 123456789012 bytes, ");
    shut(&o);
    CHECK(clean());
}

/* ---- devices and options ---------------------------------------------------------------------- */

TEST(onnxrt_provider_qnn_that_is_compiled_in)
{
    asked a = ask("m.onnx", "npu");
    opened o;
    CHECK(begin());
    fake->version = "1.20.1";
    option(&a, "htp_performance_mode", "burst");
    a.load.precision = QNNRT_PRECISION_FP16;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(fake->journal, "provider QNN\n  backend_path=libQnnHtp.so\n  enable_htp_fp16_precision=1\n"
                             "  htp_performance_mode=burst\nentry session.disable_cpu_ep_fallback=1\n");
    CHECK(o.model_facts.fallback == NULL);
    shut(&o);
    /* Before 1.24 nobody says what falls back. */
    a.load.allow_fallback = 1;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(o.model_facts.fallback, "unknown: ONNX Runtime 1.20.1 does not say");
    shut(&o);
    a.load.allow_fallback = 0;
    option(&a, "nonsense", "1");
    CHECK_EQ(start(&a, &o), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "cannot use the provider QNN: unknown provider option nonsense");
    shut(&o);
    fake->version = "1.15.1";
    a.option_count = 0;
    CHECK_EQ(start(&a, &o), QNNRT_E_VERSION);
    CHECK_STR(err.text, "1.15.1 falls back to the CPU silently");
    shut(&o);
    CHECK(clean());
}

TEST(onnxrt_provider_qnn_as_a_plug_in)
{
    asked a = ask("m.onnx", "npu");
    opened o;
    CHECK(begin());
    option(&a, "provider_library", "libonnxruntime_providers_qnn.so");
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(o.facts.build, "QNNExecutionProvider 2.7.0");
    CHECK_STR(fake->journal, "provider plug-in\n  backend_type=htp\n  offload_graph_io_quantization=0\n");
    CHECK_EQ(fake->live[FAKE_PLUGIN], 1);
    shut(&o);
    CHECK(clean());
    /* The CPU's nodes: refused, or reported. */
    fake->cpu_nodes = 3;
    CHECK_EQ(start(&a, &o), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "assigned to the default CPU EP");
    shut(&o);
    a.load.allow_fallback = 1;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(o.model_facts.fallback, "3 of 7 nodes run on the CPU: Softmax, Add");
    CHECK(strstr(o.model_facts.fallback, "Add, Add") == NULL);
    shut(&o);
    CHECK(clean());
    fake->plugin_devices = 0;
    CHECK_EQ(start(&a, &o), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "it offers no device on this machine");
    CHECK(clean());
    a.options[0].value = "missing.so";
    CHECK_EQ(start(&a, &o), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "cannot register the plug-in missing.so: missing.so: cannot open");
    CHECK(clean());
    fake->version = "1.20.1";
    CHECK_EQ(start(&a, &o), QNNRT_E_VERSION);
    CHECK_STR(err.text, "takes no plug-in (missing.so); that needs 1.22");
    CHECK(clean());
}

TEST(onnxrt_providers_cuda_and_tensorrt)
{
    asked a = ask("m.onnx", "cuda:3");
    opened o;
    CHECK(begin());
    option(&a, "gpu_mem_limit", "100");
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(fake->journal, "provider CUDA\n  device_id=3\n  arena_extend_strategy=kSameAsRequested\n"
                             "  cudnn_conv_algo_search=EXHAUSTIVE\n  gpu_mem_limit=100\nentry session.disable_cpu");
    shut(&o);
    fake_reset();
    a.trt = 1;
    a.device = "cuda:0";
    a.load.precision = QNNRT_PRECISION_FP16;
    a.load.workspace_bytes = 1 << 30;
    a.load.save = "/nonexistent/folder";
    option(&a, "trt_builder_optimization_level", "3");
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(fake->journal, "provider TensorRT\n  device_id=0\n  trt_fp16_enable=1\n  trt_int8_enable=0\n"
                             "  trt_max_workspace_size=1073741824\n  trt_engine_cache_enable=1\n"
                             "  trt_engine_cache_path=/nonexistent/folder\n  trt_builder_optimization_level=3\n"
                             "provider CUDA\n  device_id=0\n");
    CHECK(strstr(strstr(fake->journal, "provider CUDA"), "trt_") == NULL);
    shut(&o);
    a.trt = 0;
    CHECK_EQ(start(&a, &o), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "has no precision \"fp16\"");
    shut(&o);
    a.load.precision = QNNRT_PRECISION_DEFAULT;
    a.device = "cuda:x";
    CHECK_EQ(start(&a, &o), QNNRT_E_ARG);
    shut(&o);
    CHECK(clean());
}

TEST(onnxrt_options_that_have_no_effect_are_refused_by_name)
{
    static const struct { const char *key; qnnrt_result result; const char *text; } cases[] = {
        { "session.intra_op.allow_spinning", QNNRT_OK, "" }, { "ep.context_embed_mode", QNNRT_OK, "" },
        { "ep.qnnexecutionprovider.backend_type", QNNRT_OK, "" },
        { "session.no_such_key", QNNRT_E_UNSUPPORTED, "option \"session.no_such_key\" is unknown to ONNX Runtime 1.31.1" },
        { "ep.nothing", QNNRT_E_UNSUPPORTED, "option \"ep.nothing\" is unknown" },
        { "session.disable_cpu_ep_fallback", QNNRT_E_UNSUPPORTED, "is decided by allow_fallback" },
        { "backend_path", QNNRT_E_UNSUPPORTED, "option \"backend_path\" is for a provider" }
    };
    qnnrt_session_pair pair = { "MatMul", "npu" };
    opened o;
    size_t i;
    asked a;
    CHECK(begin());
    for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
        a = ask("m.onnx", "cpu");
        option(&a, cases[i].key, "0");
        CHECK_EQ(start(&a, &o), cases[i].result);
        if (cases[i].result != QNNRT_OK) CHECK_STR(err.text, cases[i].text);
        shut(&o);
    }
    fake->version = "1.40.0";
    a = ask("m.onnx", "cpu");
    option(&a, "session.no_such_key", "0");
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(logged, "option \"session.no_such_key\" is unknown up to ONNX Runtime 1.32");
    shut(&o);
    a = ask("m.onnx", "cpu");
    a.load.run_ms = 5;
    CHECK_EQ(start(&a, &o), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "execution_timeout_ms");
    shut(&o);
    a.load.compile_ms = 5;
    CHECK_EQ(start(&a, &o), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "compile_timeout_ms");
    shut(&o);
    a = ask("m.onnx", "cpu");
    a.load.preferences = &pair;
    a.load.preference_count = 1;
    CHECK_EQ(start(&a, &o), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "preferences (\"MatMul\")");
    shut(&o);
    a = ask("m.onnx", "cpu");
    a.load.precision = QNNRT_PRECISION_INT8;
    CHECK_EQ(start(&a, &o), QNNRT_E_UNSUPPORTED);
    shut(&o);
    a = ask("m.onnx", "cpu");
    a.load.optimize_level = 1;
    a.load.threads = 3;
    fake_reset();
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(fake->journal, "threads=3\nlevel=1\n");
    shut(&o);
    CHECK(clean());
}

TEST(onnxrt_shapes_fix_dimensions_by_name)
{
    asked a = ask("m.onnx", "cpu");
    opened o;
    CHECK(begin());
    a.shape_count = 1;
    a.shapes[0].name = "batch";
    a.shapes[0].dims[0] = 5;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(fake->journal, "dimension batch=5\n");
    CHECK_EQ(o.model_facts.inputs[0].dims[0], 5);
    shut(&o);
    a.shapes[0].name = "x";
    a.shapes[0].rank = 2;
    a.shapes[0].dims[0] = 7;
    a.shapes[0].dims[1] = 4;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_EQ(o.model_facts.inputs[0].dims[0], 7);
    shut(&o);
    a.shapes[1].name = "batch";
    a.shapes[1].dims[0] = 8;
    a.shape_count = 2;
    CHECK_EQ(start(&a, &o), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "dimension \"batch\" gets 7 and 8 from two shapes");
    shut(&o);
    a.shape_count = 1;
    a.shapes[0].dims[1] = 9;
    CHECK_EQ(start(&a, &o), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "has 9 in dimension 1, expected 4");
    shut(&o);
    a.shapes[0].rank = 3;
    CHECK_EQ(start(&a, &o), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "has 3 dimensions, expected 2");
    shut(&o);
    a.shapes[0].name = "z";
    CHECK_EQ(start(&a, &o), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "it has \"x\", \"w\"");
    shut(&o);
    a.shapes[0].rank = 0;
    CHECK_EQ(start(&a, &o), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "the named ones are \"batch\"");
    shut(&o);
    CHECK(clean());
}

TEST(onnxrt_contexts_are_written_and_read)
{
    char folder[] = "/tmp/qnnrt-ort-XXXXXX", path[200];
    asked a = ask("m.onnx", "npu");
    opened o;
    CHECK(begin());
    CHECK(mkdtemp(folder) != NULL);
    a.load.save = folder;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(fake->journal, "entry ep.context_enable=1\nentry ep.context_file_path=/tmp/qnnrt-ort-");
    CHECK_EQ(o.model_facts.saved_count, 1);
    CHECK(strcmp(o.model_facts.saved[0], "model_ctx.onnx") == 0);
    shut(&o);
    a.load.save = NULL;
    a.load.cached = folder;
    fake_reset();
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    snprintf(path, sizeof path, "session %s/model_ctx.onnx\n", folder);
    CHECK_STR(fake->journal, path);
    CHECK_EQ(o.model_facts.saved_count, 0);
    shut(&o);
    snprintf(path, sizeof path, "%s/model_ctx.onnx", folder);
    unlink(path);
    rmdir(folder);
    CHECK(clean());
}

/* ---- failures --------------------------------------------------------------------------------- */

/* Do all that there is; return the first failure. */
static qnnrt_result everything(asked *a)
{
    float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, y[8];
    qnnrt_value v;
    opened o;
    qnnrt_result result = start(a, &o);
    v = value(QNNRT_DTYPE_F32, 2, 2, 4, x);
    if (result == QNNRT_OK) result = o.engine->set(o.binding, 0, 0, &v, &err);
    v = value(QNNRT_DTYPE_F32, 1, 4, 0, x);
    if (result == QNNRT_OK) result = o.engine->set(o.binding, 0, 1, &v, &err);
    v.data = NULL;
    if (result == QNNRT_OK) result = o.engine->set(o.binding, 0, 1, &v, &err);
    v = value(QNNRT_DTYPE_F32, 2, 2, 4, y);
    if (result == QNNRT_OK) result = o.engine->set(o.binding, 1, 0, &v, &err);
    if (result == QNNRT_OK) result = o.engine->run(o.binding, &err);
    if (result == QNNRT_OK && memcmp(x, y, sizeof y) != 0) result = QNNRT_E_MISMATCH;
    if (result == QNNRT_OK) result = o.engine->get(o.binding, 1, &v, &err);
    v.data = NULL;
    if (result == QNNRT_OK) result = o.engine->set(o.binding, 1, 0, &v, &err);
    if (result == QNNRT_OK) result = o.engine->run(o.binding, &err);
    if (result == QNNRT_OK) result = o.engine->get(o.binding, 0, &v, &err);
    if (result == QNNRT_OK && memcmp(x, v.data, sizeof y) != 0) result = QNNRT_E_MISMATCH;
    shut(&o);
    return result;
}

static asked everything_asked(void)
{
    asked a = ask("m.onnx", "npu");
    option(&a, "provider_library", "libonnxruntime_providers_qnn.so");
    option(&a, "session.enable_mem_pattern", "0");
    a.load.allow_fallback = 1;
    a.shape_count = 1;
    a.shapes[0].name = "batch";
    a.shapes[0].dims[0] = 2;
    return a;
}

TEST(onnxrt_every_call_that_fails_is_reported_and_nothing_leaks)
{
    asked a = everything_asked();
    size_t n, reported = 0;
    CHECK(begin());
    for (n = 1; n < 400; ++n) {
        qnnrt_result result;
        fake_reset();
        fake->cpu_nodes = 1;
        fake->fail_at = n;
        fake->fail_code = 6;
        memset(&err, 0xFF, sizeof err);
        result = everything(&a);
        if (fake->calls < n) break;
        if (result != QNNRT_OK) {
            CHECK(err.code == result && err.text[0] != '\0');
            if (strstr(err.text, "the fake was told to fail") != NULL) ++reported;
        }
        CHECK(clean());
    }
    CHECK(n > 60 && n < 400 && reported > 40);
    fake_reset();
    CHECK_EQ(everything(&a), QNNRT_OK);
}

static struct { size_t count, fail_at, live; } heap;
static void *heap_alloc(void *user, size_t bytes)
{
    (void)user;
    if (++heap.count == heap.fail_at) return NULL;
    ++heap.live;
    return malloc(bytes);
}
static void heap_free(void *user, void *data)
{
    (void)user;
    --heap.live;
    free(data);
}

TEST(onnxrt_every_allocation_that_fails_is_reported_and_nothing_leaks)
{
    asked a = everything_asked();
    size_t n;
    CHECK(begin());
    a.hooks.alloc = heap_alloc;
    a.hooks.free = heap_free;
    for (n = 1; n < 400; ++n) {
        qnnrt_result result;
        fake_reset();
        fake->cpu_nodes = 1;
        heap.count = 0;
        heap.fail_at = n;
        memset(&err, 0xFF, sizeof err);
        result = everything(&a);
        CHECK_EQ(heap.live, 0);
        CHECK(clean());
        if (heap.count < n) break;
        CHECK_EQ(result, QNNRT_E_MEMORY);
        CHECK_STR(err.text, "out of memory");
    }
    CHECK(n > 20 && n < 400);
    heap.fail_at = 0;
    CHECK_EQ(everything(&a), QNNRT_OK);
}

static void *cancel_run(void *user)
{
    const opened *o = (const opened *)user;
    while (__atomic_load_n(&fake->running, __ATOMIC_SEQ_CST) == 0) usleep(100);
    o->engine->cancel(o->model);
    return NULL;
}

TEST(onnxrt_run_is_cancelled_from_another_thread)
{
    float x[4] = { 1, 2, 3, 4 };
    asked a = ask("m.onnx", "cpu");
    pthread_t thread;
    qnnrt_value v;
    opened o;
    CHECK(begin());
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    v = value(QNNRT_DTYPE_F32, 2, 1, 4, x);
    CHECK_EQ(o.engine->set(o.binding, 0, 0, &v, &err), QNNRT_OK);
    fake->slow = 1;
    CHECK(pthread_create(&thread, NULL, cancel_run, &o) == 0);
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_E_CANCELLED);
    CHECK_STR(err.text, "terminate flag");
    CHECK_EQ(err.code, QNNRT_E_CANCELLED);
    pthread_join(thread, NULL);
    fake->slow = 0;
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
    o.engine->cancel(o.model);           /* no run is going on: the next one is not ended */
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
    shut(&o);
    CHECK(clean());
}

TEST_MAIN("engine_onnxrt")
{
    RUN(onnxrt_version_text_is_parsed_strictly_before_a_slot_is_read);
    RUN(onnxrt_versions_of_1_14_and_newer_are_taken);
    RUN(onnxrt_library_without_functions_is_refused);
    RUN(onnxrt_newest_library_of_a_folder_is_taken);
    RUN(onnxrt_facts_inputs_outputs_and_runs);
    RUN(onnxrt_strings_are_read_by_each_run);
    RUN(onnxrt_what_is_not_a_tensor_is_refused_by_name);
    RUN(onnxrt_errors_have_the_librarys_text_and_code);
    RUN(onnxrt_provider_qnn_that_is_compiled_in);
    RUN(onnxrt_provider_qnn_as_a_plug_in);
    RUN(onnxrt_providers_cuda_and_tensorrt);
    RUN(onnxrt_options_that_have_no_effect_are_refused_by_name);
    RUN(onnxrt_shapes_fix_dimensions_by_name);
    RUN(onnxrt_contexts_are_written_and_read);
    RUN(onnxrt_every_call_that_fails_is_reported_and_nothing_leaks);
    RUN(onnxrt_every_allocation_that_fails_is_reported_and_nothing_leaks);
    RUN(onnxrt_run_is_cancelled_from_another_thread);
}
