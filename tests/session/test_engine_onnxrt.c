/* test_engine_onnxrt.c - ONNX Runtime as an engine: a fake library that counts its handles, and the genuine one

   The genuine library is build/engines/onnxruntime-1.31.1; its models are written here, field by field. */
#define _GNU_SOURCE
#include "../../tools/engines/qnnrt_onnxruntime.h"
#include "../fake/fake_ort.h"
#include "onnx_model.h"
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifndef WITH_ASAN
#define WITH_ASAN 0
#endif

#define GENUINE TEST_ENGINES "/onnxruntime-1.31.1"
#define QNN TEST_QNN "/2.51/onnxruntime_qnn"

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
    TEST_JUNK(err);
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
    CHECK_STR(err.text, "cannot open the library libnothing-at-all.so. Tried:\n  there is no /");
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
    CHECK_STR(err.text, "requested 123456789012 bytes: ");
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
    CHECK_EQ(start(&a, &o), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "option \"nonsense\" is unknown to the provider QNN");
    a.options[a.option_count - 1].key = "backend_type";
    a.options[a.option_count - 1].value = "nonsense";
    shut(&o);
    CHECK_EQ(start(&a, &o), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "cannot use the provider QNN: the fake does not take nonsense");
    shut(&o);
    a.options[a.option_count - 1].value = "absent";
    CHECK_EQ(start(&a, &o), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "cannot use the provider QNN: QNN execution provider is not supported in this build");
    CHECK_EQ(err.code, QNNRT_E_UNSUPPORTED);
    CHECK_EQ(err.vendor_code, 2);
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
    opened o, other;
    CHECK(begin());
    option(&a, "provider_library", "libonnxruntime_providers_qnn.so");
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    /* A second session uses what the first one registered, and does not take it away. */
    CHECK_EQ(start(&a, &other), QNNRT_OK);
    shut(&other);
    CHECK_STR(o.facts.build, "; plug-in Qualcomm 2.7.0");
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
    a.load.threads = 2147483648u;
    CHECK_EQ(start(&a, &o), QNNRT_E_LIMIT);
    CHECK_STR(err.text, "threads is 2147483648, and ONNX Runtime takes at most 2147483647");
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
        TEST_JUNK(err);
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
        TEST_JUNK(err);
        result = everything(&a);
        CHECK_EQ(heap.live, 0);
        CHECK(clean());
        if (heap.count < n) break;
        CHECK_EQ(result, QNNRT_E_MEMORY);
        CHECK_STR(err.text, "out of memory");
    }
    CHECK(n > 8 && n < 400);
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

/* ---- the genuine library ---------------------------------------------------------------------- */

static char folder[] = "/tmp/qnnrt-ort-XXXXXX", path[256];

/* Return the path of a file in a folder of this program's own. */
static const char *in_folder(const char *name)
{
    static int made;
    if (!made && mkdtemp(folder) == NULL) return "/nonexistent";
    made = 1;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int have(const char *name)
{
    struct stat facts;
    return stat(name, &facts) == 0;
}

static asked ask_genuine(const char *model, const char *device)
{
    asked a = ask(model, device);
    a.library = GENUINE;
    return a;
}

static const float weights[12] = { 1, -2, 3, 4, 5, -6, 7, 8, 9, -1, 0, 2 };

/* Write y = x times w, relu: [batch, 4] to [batch, 3]. */
static int write_mlp(const char *name, int fixed)
{
    static onnx m;
    memset(&m, 0, sizeof m);
    if (fixed) onnx_input(&m, "x", 1, 2, (intptr_t)2, (intptr_t)4);
    else onnx_input(&m, "x", 1, 2, (intptr_t)"batch", (intptr_t)4);
    onnx_floats(&m, "w", weights, 4, 3);
    onnx_node(&m, "MatMul", "x w", "h");
    onnx_node(&m, "Relu", "h", "y");
    if (fixed) onnx_output(&m, "y", 1, 2, (intptr_t)2, (intptr_t)3);
    else onnx_output(&m, "y", 1, 2, (intptr_t)"batch", (intptr_t)3);
    return onnx_write(&m, in_folder(name), 17);
}

/* Compute it. */
static void mlp(const float *x, int rows, float *y)
{
    int r, c, k;
    for (r = 0; r < rows; ++r)
        for (c = 0; c < 3; ++c) {
            float sum = 0;
            for (k = 0; k < 4; ++k) sum += x[4 * r + k] * weights[3 * k + c];
            y[3 * r + c] = sum > 0 ? sum : 0;
        }
}

TEST(genuine_library_runs_bound_memory_and_its_own)
{
    float x[12] = { 1, 2, 3, 4, 5, 6, 7, 8, -1, 0, 1, -4 }, y[9], wanted[9];
    asked a;
    qnnrt_value v;
    opened o;
    int rows, i;
    if (!have(GENUINE)) SKIP("no " GENUINE ": say make engine-libs");
    CHECK(write_mlp("mlp.onnx", 0));
    a = ask_genuine(path, "cpu");
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK(strcmp(o.facts.version, "1.31.1") == 0);
    CHECK_STR(o.facts.path, "libonnxruntime.so.1.31.1");
    CHECK_STR(o.facts.build, "ORT Build Info");
    CHECK(o.model_facts.input_count == 1 && o.model_facts.output_count == 1);
    CHECK(o.model_facts.inputs[0].dims[0] == -1 && strcmp(o.model_facts.inputs[0].dim_names[0], "batch") == 0);
    for (rows = 1; rows <= 3; ++rows) {
        mlp(x, rows, wanted);
        v = value(QNNRT_DTYPE_F32, 2, rows, 4, x);
        CHECK_EQ(o.engine->set(o.binding, 0, 0, &v, &err), QNNRT_OK);
        v = value(QNNRT_DTYPE_F32, 2, rows, 3, y);
        CHECK_EQ(o.engine->set(o.binding, 1, 0, &v, &err), QNNRT_OK);
        for (i = 0; i < 2; ++i) {
            memset(y, 0xFF, sizeof y);
            CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
            CHECK(memcmp(y, wanted, (size_t)rows * 12) == 0);
        }
        v.data = NULL;
        CHECK_EQ(o.engine->set(o.binding, 1, 0, &v, &err), QNNRT_OK);
        CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
        CHECK_EQ(o.engine->get(o.binding, 0, &v, &err), QNNRT_OK);
        CHECK(v.dims[0] == rows && v.bytes == (size_t)rows * 12 && memcmp(v.data, wanted, v.bytes) == 0);
    }
    /* An output whose shape is wrong: ONNX Runtime says so. */
    v = value(QNNRT_DTYPE_F32, 2, 1, 3, y);
    CHECK_EQ(o.engine->set(o.binding, 1, 0, &v, &err), QNNRT_OK);
    CHECK(o.engine->run(o.binding, &err) != QNNRT_OK);
    CHECK_STR(err.text, "shape");
    shut(&o);
    a.shape_count = 1;
    a.shapes[0].name = "batch";
    a.shapes[0].dims[0] = 3;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK(o.model_facts.inputs[0].dims[0] == 3 && o.model_facts.outputs[0].dims[0] == 3);
    shut(&o);
}

TEST(genuine_library_takes_each_type)
{
    static const struct { int element; qnnrt_dtype dtype; size_t size; } types[] = {
        { 1, QNNRT_DTYPE_F32, 4 }, { 2, QNNRT_DTYPE_U8, 1 }, { 3, QNNRT_DTYPE_I8, 1 }, { 4, QNNRT_DTYPE_U16, 2 },
        { 5, QNNRT_DTYPE_I16, 2 }, { 6, QNNRT_DTYPE_I32, 4 }, { 7, QNNRT_DTYPE_I64, 8 }, { 9, QNNRT_DTYPE_BOOL8, 1 },
        { 10, QNNRT_DTYPE_F16, 2 }, { 11, QNNRT_DTYPE_F64, 8 }, { 12, QNNRT_DTYPE_U32, 4 }, { 13, QNNRT_DTYPE_U64, 8 },
        { 16, QNNRT_DTYPE_BF16, 2 }, { 8, QNNRT_DTYPE_STRING, sizeof(char *) }
    };
    static const char *const texts[6] = { "one", "", "\xc3\xa4", "two", "long enough for memory of its own", "6" };
    static onnx m;
    unsigned char data[48];
    qnnrt_value v;
    opened o;
    size_t i, k;
    if (!have(GENUINE)) SKIP("no " GENUINE ": say make engine-libs");
    for (i = 0; i < sizeof types / sizeof *types; ++i) {
        const int text = types[i].dtype == QNNRT_DTYPE_STRING;
        asked a;
        memset(&m, 0, sizeof m);
        onnx_input(&m, "x", types[i].element, 2, (intptr_t)2, (intptr_t)3);
        onnx_node(&m, "Identity", "x", "y");
        onnx_output(&m, "y", types[i].element, 2, (intptr_t)2, (intptr_t)3);
        CHECK(onnx_write(&m, in_folder("type.onnx"), 17));
        a = ask_genuine(path, "cpu");
        CHECK_EQ(start(&a, &o), QNNRT_OK);
        CHECK_EQ(o.model_facts.inputs[0].dtype, types[i].dtype);
        for (k = 0; k < sizeof data; ++k) data[k] = (unsigned char)(types[i].element == 9 ? k & 1 : k + 1);
        v = value(types[i].dtype, 2, 2, 3, data);
        if (text) memcpy((void *)&v.data, &(const char *const *){ texts }, sizeof v.data);
        CHECK_EQ(v.bytes, 6 * types[i].size);
        CHECK_EQ(o.engine->set(o.binding, 0, 0, &v, &err), QNNRT_OK);
        CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
        CHECK_EQ(o.engine->get(o.binding, 0, &v, &err), QNNRT_OK);
        CHECK(v.dtype == types[i].dtype && v.bytes == 6 * types[i].size);
        for (k = 0; text && k < 6; ++k) CHECK(strcmp(((const char *const *)v.data)[k], texts[k]) == 0);
        if (!text) CHECK(memcmp(v.data, data, v.bytes) == 0);
        shut(&o);
    }
}

TEST(genuine_library_refuses_sequences_and_damaged_models)
{
    static onnx m;
    unsigned char *bytes;
    size_t size, cut;
    FILE *file;
    asked a;
    opened o;
    if (!have(GENUINE)) SKIP("no " GENUINE ": say make engine-libs");
    CHECK(write_mlp("whole.onnx", 0));
    bytes = (unsigned char *)test_read_file(path, &size);
    CHECK(bytes != NULL);
    for (cut = 0; cut < size; cut += 7) {
        file = fopen(in_folder("cut.onnx"), "wb");
        fwrite(bytes, 1, cut, file);
        fclose(file);
        a = ask_genuine(path, "cpu");
        CHECK(start(&a, &o) != QNNRT_OK);
        CHECK(o.model == NULL);
        CHECK_STR(err.text, "cannot load \"/tmp/qnnrt-ort-");
        shut(&o);
    }
    free(bytes);
    a = ask_genuine(in_folder("none.onnx"), "cpu");
    CHECK_EQ(start(&a, &o), QNNRT_E_NOT_FOUND);
    shut(&o);
    memset(&m, 0, sizeof m);
    onnx_input(&m, "x", 1, 1, (intptr_t)2);
    onnx_node(&m, "SequenceConstruct", "x x", "list");
    {
        /* name "list", type: sequence of tensors of float */
        static const unsigned char info[] = { 10, 4, 'l', 'i', 's', 't', 18, 6, 34, 4, 10, 2, 10, 0 };
        onnx_part part;
        part.bytes = 0;
        onnx_put(&part, info, sizeof info);
        part.data[sizeof info - 1] = 0;
        onnx_add(&m, 12, &part);
    }
    CHECK(onnx_write(&m, in_folder("sequence.onnx"), 17));
    a = ask_genuine(path, "cpu");
    CHECK(start(&a, &o) != QNNRT_OK);
    shut(&o);
}

TEST(genuine_library_takes_initializers_as_optional_inputs)
{
    static onnx m;
    float x[3] = { 1, 2, 3 }, b[3] = { 10, 20, 30 }, other[3] = { 1, 1, 1 };
    asked a;
    qnnrt_value v;
    opened o;
    int64_t dims[1] = { 3 };
    if (!have(GENUINE)) SKIP("no " GENUINE ": say make engine-libs");
    memset(&m, 0, sizeof m);
    onnx_input(&m, "x", 1, 1, (intptr_t)3);
    onnx_input(&m, "b", 1, 1, (intptr_t)3);
    onnx_raw(&m, "b", 1, b, sizeof b, 1, dims);
    onnx_node(&m, "Add", "x b", "y");
    onnx_output(&m, "y", 1, 1, (intptr_t)3);
    CHECK(onnx_write(&m, in_folder("optional.onnx"), 17));
    a = ask_genuine(path, "cpu");
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_EQ(o.model_facts.input_count, 2);
    CHECK(!o.model_facts.inputs[0].optional && o.model_facts.inputs[1].optional);
    v = value(QNNRT_DTYPE_F32, 1, 3, 0, x);
    CHECK_EQ(o.engine->set(o.binding, 0, 0, &v, &err), QNNRT_OK);
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
    CHECK_EQ(o.engine->get(o.binding, 0, &v, &err), QNNRT_OK);
    CHECK(((const float *)v.data)[2] == 33);
    v = value(QNNRT_DTYPE_F32, 1, 3, 0, other);
    CHECK_EQ(o.engine->set(o.binding, 0, 1, &v, &err), QNNRT_OK);
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
    CHECK_EQ(o.engine->get(o.binding, 0, &v, &err), QNNRT_OK);
    CHECK(((const float *)v.data)[2] == 4);
    v.data = NULL;
    CHECK_EQ(o.engine->set(o.binding, 0, 1, &v, &err), QNNRT_OK);
    CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
    CHECK_EQ(o.engine->get(o.binding, 0, &v, &err), QNNRT_OK);
    CHECK(((const float *)v.data)[2] == 33);
    shut(&o);
}

TEST(genuine_library_has_no_such_provider)
{
    static const struct { const char *device; int trt; const char *text; } cases[] = {
        { "npu", 0, "cannot use the provider QNN: QNN execution provider is not supported in this build" },
        { "cuda:0", 0, "cannot use the provider CUDA: CUDA execution provider is not enabled in this build" },
        { "cuda:0", 1, "cannot use the provider TensorRT: TensorRT execution provider is not enabled in this build" }
    };
    asked a;
    opened o;
    size_t i;
    if (!have(GENUINE)) SKIP("no " GENUINE ": say make engine-libs");
    CHECK(write_mlp("mlp.onnx", 0));
    for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
        a = ask_genuine(path, cases[i].device);
        a.trt = cases[i].trt;
        CHECK_EQ(start(&a, &o), QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, cases[i].text);
        shut(&o);
    }
}

TEST(genuine_plug_in_runs_on_the_npu_and_keeps_contexts)
{
    float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, y[6], wanted[6];
    char saved[256], file[300];
    asked a;
    qnnrt_value v;
    opened o;
    int pass, i;
    size_t k;
    if (!have(GENUINE) || !have(QNN "/libonnxruntime_providers_qnn.so"))
        SKIP("no " GENUINE ", or no plug-in in " QNN ": say make engine-libs qnn-libs");
    CHECK(write_mlp("mlp.onnx", 1));
    a = ask_genuine("", "npu");
    snprintf(saved, sizeof saved, "%s/saved", folder);
    CHECK(mkdir(saved, 0700) == 0);
    mlp(x, 2, wanted);
    option(&a, "provider_library", QNN "/libonnxruntime_providers_qnn.so");
    for (pass = 0; pass < 3; ++pass) {
        /* Compile and save; load what was saved; load it as a model of the caller. */
        char model[300];
        snprintf(model, sizeof model, "%s%s", pass == 2 ? saved : folder, pass == 2 ? "/model_ctx.onnx" : "/mlp.onnx");
        a.path = model;
        a.load.save = pass == 0 ? saved : NULL;
        a.load.cached = pass == 1 ? saved : NULL;
        CHECK_EQ(start(&a, &o), QNNRT_OK);
        CHECK_STR(o.facts.build, "; plug-in Qualcomm 0.1.0 ");
        CHECK(o.model_facts.fallback == NULL);
        CHECK_EQ(o.model_facts.saved_count, pass == 0 ? 2 : 0);
        if (pass == 1) unlink(in_folder("mlp.onnx"));
        v = value(QNNRT_DTYPE_F32, 2, 2, 4, x);
        CHECK_EQ(o.engine->set(o.binding, 0, 0, &v, &err), QNNRT_OK);
        v = value(QNNRT_DTYPE_F32, 2, 2, 3, y);
        CHECK_EQ(o.engine->set(o.binding, 1, 0, &v, &err), QNNRT_OK);
        CHECK_EQ(o.engine->run(o.binding, &err), QNNRT_OK);
        /* It computes in float16; these numbers are exact in it. */
        for (i = 0; i < 6; ++i) CHECK(y[i] == wanted[i]);
        shut(&o);
    }
    {
        static const char *const names[] = { "model_ctx.onnx", "model_ctx_qnn.bin" };
        for (k = 0; k < 2; ++k) {
            snprintf(file, sizeof file, "%s/%s", saved, names[k]);
            CHECK(unlink(file) == 0);
        }
        rmdir(saved);
    }
    CHECK(write_mlp("mlp.onnx", 0));
    a.path = path;
    a.load.cached = NULL;
    CHECK_EQ(start(&a, &o), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "fallback to CPU EP has been explicitly disabled");
    shut(&o);
    a.load.allow_fallback = 1;
    CHECK_EQ(start(&a, &o), QNNRT_OK);
    CHECK_STR(o.model_facts.fallback, "2 of 2 nodes run on the CPU: MatMul, Relu");
    shut(&o);
    a.load.allow_fallback = 0;
    option(&a, "backend_path", "/nowhere/libQnnHtp.so");
    CHECK_EQ(start(&a, &o), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "it logged before: QNN SetupBackend failed Unable to load backend, error:  /nowhere/libQnnHtp.so");
    shut(&o);
}

static void clean_folder(void)
{
    static const char *const names[] = { "mlp.onnx", "type.onnx", "whole.onnx", "cut.onnx", "sequence.onnx", "optional.onnx" };
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; ++i) unlink(in_folder(names[i]));
    rmdir(folder);
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
    /* AddressSanitizer of clang stops at the first exception of a C++ library that is loaded late, and takes dlopen's
       place, so that the plug-in does not find the library beside it. */
    if (!WITH_ASAN) {
        RUN(genuine_library_runs_bound_memory_and_its_own);
        RUN(genuine_library_takes_each_type);
        RUN(genuine_library_refuses_sequences_and_damaged_models);
        RUN(genuine_library_takes_initializers_as_optional_inputs);
        RUN(genuine_library_has_no_such_provider);
        RUN(genuine_plug_in_runs_on_the_npu_and_keeps_contexts);
    }
    clean_folder();
}
