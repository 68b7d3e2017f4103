/* test_engine_openvino.c - the engine "openvino" on tests/fake/fake_openvino.c, which fails on demand

   The genuine library is in tests/session/engine_openvino.c. */
#include "../../tools/engines/qnnrt_openvino.h"
#include "counted.h"
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#ifndef TEST_FAKE_FOLDER
#define TEST_FAKE_FOLDER "build/fake/"
#endif
#define FAKE TEST_FAKE_FOLDER "openvino/libopenvino_c.so.9990"

static qnnrt_error err;
static const qnnrt_engine *engine;
static char logged[4096];

static void log_line(void *user, qnnrt_log_level level, const char *part, uint64_t code, const char *text)
{
    const size_t used = strlen(logged);
    (void)user; (void)level; (void)part; (void)code;
    snprintf(logged + used, sizeof logged - used, "%s\n", text);
}

static void *plain_alloc(void *user, size_t bytes) { (void)user; return malloc(bytes); }
static void plain_free(void *user, void *data) { (void)user; free(data); }

/* ---- the fake ---------------------------------------------------------------------------------- */

static void *of_fake(const char *name)
{
    void *library = dlopen(FAKE, RTLD_NOW | RTLD_LOCAL);
    void *found = library != NULL ? dlsym(library, name) : NULL;
    if (found == NULL) {
        printf("no %s in %s\n", name, FAKE);
        exit(1);
    }
    return found;
}

static void control(const char *command)
{
    void *found = of_fake("ov_fake_control");
    void (*call)(const char *) = NULL;
    memcpy((void *)&call, (const void *)&found, sizeof call);
    call(command);
    TEST_JUNK(err);
    logged[0] = '\0';
    engine = qnnrt_engine_openvino();
}

static const char *report(void)
{
    static char text[4096];
    void *found = of_fake("ov_fake_report");
    void (*call)(char *, size_t) = NULL;
    memcpy((void *)&call, (const void *)&found, sizeof call);
    call(text, sizeof text);
    return text;
}

static int none_left(void)
{
    const int good = strstr(report(), "live=0") != NULL;
    if (!good) printf("left: %s\n", report());
    return good;
}

/* ---- the life of a model ----------------------------------------------------------------------- */

typedef struct life {
    qnnrt_engine_open    open;
    qnnrt_engine_library facts;
    qnnrt_engine_load    load;
    qnnrt_engine_model   model;
    void *library, *object, *binding;
    float in[8], out[8];
    int   stop;
    char  path[1100], folder[1100];
} life;

static void life_begin(life *l)
{
    memset(l, 0, sizeof *l);
    l->open.hooks.alloc = plain_alloc;
    l->open.hooks.free = plain_free;
    l->open.hooks.log = log_line;
    l->open.library_path = FAKE;
    snprintf(l->folder, sizeof l->folder, "%.1000s", test_tmpdir());
    snprintf(l->path, sizeof l->path, "%.1000s/model.xml", l->folder);
    test_write_file(l->path, "a model", 7);
    l->load.hooks = l->open.hooks;
    l->load.path = l->path;
    l->load.kind = QNNRT_MODEL_OPENVINO;
    l->load.device = "cpu";
    l->load.threads = 1;
    l->load.optimize_level = -1;
}

static qnnrt_result life_open(life *l) { return engine->open(&l->open, &l->library, &l->facts, &err); }
static qnnrt_result life_load(life *l) { return engine->load(l->library, &l->load, &l->object, &l->model, &err); }

static qnnrt_value value_of(void *data, size_t bytes, qnnrt_dtype dtype, int64_t rows, int64_t columns)
{
    qnnrt_value value;
    memset(&value, 0, sizeof value);
    value.dtype = dtype;
    value.rank = 2;
    value.dims[0] = rows;
    value.dims[1] = columns;
    value.data = data;
    value.bytes = bytes;
    return value;
}

static qnnrt_result life_bind(life *l)
{
    const qnnrt_value x = value_of(l->in, 24, QNNRT_DTYPE_F32, 2, 3), y = value_of(l->out, 24, QNNRT_DTYPE_F32, 2, 3);
    qnnrt_result result = engine->binding_create(l->object, &l->binding, &err);
    int i;
    for (i = 0; i < 8; ++i) l->in[i] = (float)i;
    if (result == QNNRT_OK) result = engine->set(l->binding, 0, 0, &x, &err);
    if (result == QNNRT_OK) result = engine->set(l->binding, 1, 0, &y, &err);
    return result;
}

static void life_end(life *l)
{
    if (l->binding != NULL) engine->binding_destroy(l->binding);
    if (l->object != NULL) engine->unload(l->object);
    if (l->library != NULL) engine->close(l->library);
    l->binding = l->object = l->library = NULL;
}

/* Everything once. *written receives 1 if the output is right. */
static qnnrt_result life_whole(life *l, int *written)
{
    static qnnrt_session_shape shape;
    const qnnrt_value none = value_of(NULL, 0, QNNRT_DTYPE_F32, 0, 0);
    qnnrt_value y, x = value_of(l->in, 24, QNNRT_DTYPE_F32, 2, 3);
    qnnrt_dispatch rows[4];
    qnnrt_result result;
    memset(&shape, 0, sizeof shape);
    shape.name = "x";
    shape.rank = 2;
    shape.dims[0] = 2;
    shape.dims[1] = 3;
    l->load.shapes = &shape;
    l->load.shape_count = 1;
    l->load.timed = 1;
    l->load.save = l->folder;
    l->load.precision = QNNRT_PRECISION_FP32;
    *written = 0;
    result = life_open(l);
    if (result == QNNRT_OK) result = life_load(l);
    if (result == QNNRT_OK) result = life_bind(l);
    if (result == QNNRT_OK) result = engine->run(l->binding, &err);
    if (result == QNNRT_OK) result = engine->run(l->binding, &err);
    if (result == QNNRT_OK) result = engine->get(l->binding, 0, &y, &err);
    if (result == QNNRT_OK) {
        *written = y.data == l->out && y.bytes == 24 && l->out[5] == 6;
        (void)engine->steps(l->binding, rows, 4);
        result = engine->set(l->binding, 1, 0, &none, &err);
    }
    if (result == QNNRT_OK) result = engine->set(l->binding, 0, 0, &none, &err);
    if (result == QNNRT_OK) result = engine->set(l->binding, 0, 0, &x, &err);
    if (result == QNNRT_OK) result = engine->run(l->binding, &err);
    if (result == QNNRT_OK) result = engine->get(l->binding, 0, &y, &err);
    if (result == QNNRT_OK && (y.data == l->out || ((const float *)y.data)[5] != 6)) *written = 0;
    return result;
}

/* ---- the library ------------------------------------------------------------------------------- */

TEST(a_whole_life_leaves_no_handle)
{
    life l;
    int written;
    control("");
    life_begin(&l);
    CHECK_EQ(life_whole(&l, &written), QNNRT_OK);
    CHECK(written);
    CHECK_STR(l.facts.version, "2026.4.1");
    CHECK_STR(l.facts.build, "2026.4.1-1-fake; cpu Fake CPU");
    CHECK_STR(l.facts.path, "openvino/libopenvino_c.so.9990");
    CHECK_EQ(l.facts.device_count, 1);
    CHECK_STR(l.facts.devices[0], "cpu");
    CHECK_EQ(l.model.saved_count, 1);
    CHECK_STR(l.model.saved[0], "openvino.blob");
    CHECK(strcmp(l.model.inputs[0].name, "x") == 0 && strcmp(l.model.outputs[0].name, "y") == 0);
    CHECK_EQ(l.model.inputs[0].dtype, QNNRT_DTYPE_F32);
    CHECK_EQ(l.model.inputs[0].dims[1], 3);
    life_end(&l);
    CHECK(none_left());
    CHECK_STR(report(), "CPU.INFERENCE_PRECISION_HINT=f32 CPU.PERFORMANCE_HINT=LATENCY CPU.INFERENCE_NUM_THREADS=1 CPU.PERF_COUNT=YES for:CPU");
}

/* Return the number of calls that a whole life makes. */
static int calls_of_life(void)
{
    life l;
    int written;
    control("");
    life_begin(&l);
    (void)life_whole(&l, &written);
    life_end(&l);
    return atoi(strstr(report(), "calls=") + 6);
}

TEST(each_failing_call_is_named_and_leaves_no_handle)
{
    const int most = calls_of_life();
    int n, failed = 0;
    CHECK(most > 40);
    for (n = 1; n <= most; ++n) {
        char command[32];
        life l;
        int written;
        qnnrt_result result;
        snprintf(command, sizeof command, "fail=%d", n);
        control(command);
        life_begin(&l);
        result = life_whole(&l, &written);
        if (result != QNNRT_OK) {
            ++failed;
            CHECK_EQ(result, err.code);
            CHECK_STR(err.text, "openvino: ");
            CHECK(strlen(err.text) > 20);
        } else CHECK(written);
        life_end(&l);
        CHECK(none_left());
    }
    /* A few may fail: names of ports and of devices, strings, saving, profiles. */
    CHECK(failed > most - 14);
}

TEST(each_failing_allocation_leaves_no_handle)
{
    int n, failed = 0;
    for (n = 0; n < 40; ++n) {
        life l;
        int written;
        qnnrt_result result;
        control("");
        life_begin(&l);
        l.open.hooks.alloc = l.load.hooks.alloc = counted_alloc;
        l.open.hooks.free = l.load.hooks.free = counted_free;
        allocations = live = 0;
        fail_at = n;
        result = life_whole(&l, &written);
        if (result == QNNRT_OK) CHECK(written);
        else {
            CHECK_EQ(result, QNNRT_E_MEMORY);
            CHECK_STR(err.text, "requested");
            ++failed;
        }
        life_end(&l);
        CHECK_EQ(live, 0);
        CHECK(none_left());
        if (result == QNNRT_OK) break;
    }
    CHECK(failed > 6 && failed < 40);
    fail_at = -1;
}

TEST(hostile_versions_are_refused)
{
    static const char *const wrong[] = {
        "null", "", "2026", "2026.4", "2026.4.", "x2026.4.1", "2026.4.1x", "+2026.4.1", "20260.4.1", "1999.4.1", "2026.444.1", "2026.4.1111",
        "-2026.4.1", "2026..1", "99999999999999999999.4.1", "\x01\xFF\x80", "%s%n%s.4.1", "2026.4.1.2"
    };
    char command[200];
    life l;
    size_t i;
    for (i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        snprintf(command, sizeof command, "version=%s", wrong[i]);
        control(command);
        life_begin(&l);
        CHECK_EQ(life_open(&l), i == 0 ? QNNRT_E_LIBRARY : QNNRT_E_VERSION);
        CHECK_EQ(err.code, i == 0 ? QNNRT_E_LIBRARY : QNNRT_E_VERSION);
        CHECK_STR(err.text, "version");
        CHECK(l.library == NULL);
        /* Nothing else was called. */
        CHECK_STR(report(), "calls=1 live=0");
    }
}

TEST(old_versions_are_refused_with_both_numbers)
{
    life l;
    control("version=2024.2.9-17-old");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_E_VERSION);
    CHECK_STR(err.text, "2024.2.9");
    CHECK_STR(err.text, "2024.3");
    CHECK_STR(report(), "calls=1 live=0");
}

TEST(new_versions_are_accepted_with_a_line)
{
    life l;
    control("version=2027.0.0");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_STR(logged, "2027.0.0 is newer than 2026.4");
    life_end(&l);
    control("version=2024.3.0");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK(logged[0] == '\0');
    life_end(&l);
}

TEST(both_numberings_of_types_work_and_others_are_refused)
{
    life l;
    int written;
    control("old=1 version=2024.6.0-1");
    life_begin(&l);
    CHECK_EQ(life_whole(&l, &written), QNNRT_OK);
    CHECK(written);
    CHECK_EQ(l.model.inputs[0].dtype, QNNRT_DTYPE_F32);
    life_end(&l);
    CHECK(none_left());
    control("old=2");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_E_VERSION);
    CHECK_STR(err.text, "number 4 has 3 bytes");
    CHECK(none_left());
}

/* Write a copy of the fake in which one symbol has another name. Return 0 if it has no such one. */
static int without(const char *symbol, const char *path)
{
    size_t bytes, i, length = strlen(symbol) + 1;
    unsigned char *data = (unsigned char *)test_read_file(FAKE, &bytes);
    int found = 0;
    for (i = 1; data != NULL && i + length <= bytes; ++i)
        if (data[i - 1] == '\0' && memcmp(data + i, symbol, length) == 0) {
            data[i] = 'X';
            found = 1;
        }
    if (data == NULL || !test_write_file(path, data, bytes)) found = 0;
    free(data);
    return found;
}

TEST(missing_symbols_are_named_or_not_needed)
{
    static const struct { const char *name; int required; } symbols[] = {
        { "ov_get_openvino_version", 1 }, { "ov_version_free", 1 }, { "ov_core_create", 1 }, { "ov_core_free", 1 },
        { "ov_core_create_with_config", 0 }, { "ov_core_get_available_devices", 1 }, { "ov_available_devices_free", 1 },
        { "ov_core_get_property", 1 }, { "ov_core_set_property", 1 }, { "ov_core_read_model", 1 }, { "ov_model_free", 1 },
        { "ov_model_inputs_size", 1 }, { "ov_model_const_input_by_index", 1 }, { "ov_model_reshape_by_port_indexes", 1 },
        { "ov_core_compile_model", 1 }, { "ov_core_import_model", 0 }, { "ov_compiled_model_export_model", 0 },
        { "ov_compiled_model_free", 1 }, { "ov_compiled_model_inputs_size", 1 }, { "ov_compiled_model_outputs_size", 1 },
        { "ov_compiled_model_input_by_index", 1 }, { "ov_compiled_model_output_by_index", 1 },
        { "ov_compiled_model_create_infer_request", 1 }, { "ov_port_get_any_name", 1 }, { "ov_port_get_element_type", 1 },
        { "ov_port_get_partial_shape", 1 }, { "ov_output_const_port_free", 1 }, { "ov_partial_shape_free", 1 }, { "ov_free", 1 },
        { "ov_tensor_create", 1 }, { "ov_tensor_create_from_host_ptr", 1 }, { "ov_tensor_create_from_string_array", 0 },
        { "ov_tensor_set_string_data", 0 }, { "ov_tensor_get_byte_size", 1 }, { "ov_tensor_get_element_type", 1 },
        { "ov_tensor_get_shape", 1 }, { "ov_tensor_data", 1 }, { "ov_tensor_free", 1 }, { "ov_shape_free", 1 },
        { "ov_infer_request_set_input_tensor_by_index", 1 }, { "ov_infer_request_set_output_tensor_by_index", 1 },
        { "ov_infer_request_get_output_tensor_by_index", 1 }, { "ov_infer_request_infer", 1 },
        { "ov_infer_request_start_async", 1 }, { "ov_infer_request_wait", 1 }, { "ov_infer_request_wait_for", 1 },
        { "ov_infer_request_cancel", 1 }, { "ov_infer_request_free", 1 }, { "ov_infer_request_get_profiling_info", 0 },
        { "ov_profiling_info_list_free", 0 }, { "ov_get_last_err_msg", 0 }, { "ov_get_error_info", 0 }
    };
    char path[1200];
    size_t i;
    control("");
    for (i = 0; i < sizeof symbols / sizeof symbols[0]; ++i) {
        life l;
        int written;
        qnnrt_result result;
        life_begin(&l);
        snprintf(path, sizeof path, "%.1000s/libopenvino_c.so.1", l.folder);
        CHECK(without(symbols[i].name, path));
        l.open.library_path = path;
        result = life_whole(&l, &written);
        if (symbols[i].required) {
            CHECK_EQ(result, QNNRT_E_LIBRARY);
            CHECK_STR(err.text, symbols[i].name);
            CHECK(l.library == NULL);
        } else CHECK(result == QNNRT_OK && written);
        life_end(&l);
    }
}

TEST(other_libraries_are_refused_by_name)
{
    life l;
    control("");
    life_begin(&l);
    l.open.library_path = "/nowhere/libopenvino_c.so.2641";
    CHECK_EQ(life_open(&l), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "/nowhere/libopenvino_c.so.2641");
    CHECK_STR(err.hint, "library_path");
    l.open.library_path = l.path;                        /* not a library */
    CHECK_EQ(life_open(&l), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "model.xml");
    l.open.library_path = l.folder;                      /* a folder without one */
    CHECK_EQ(life_open(&l), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "there is no ");
    CHECK_STR(err.text, "/libopenvino_c.so.*");
    l.open.library_path = "libnosuchthing.so.7";
    CHECK_EQ(life_open(&l), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "libnosuchthing.so.7");
    l.open.library_path = "libm.so.6";                   /* of the system, and not OpenVINO */
    CHECK_EQ(life_open(&l), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "ov_get_openvino_version");
}

TEST(the_newest_library_of_a_folder_is_used)
{
    static const char *const names[] = { "libopenvino_c.so", "libopenvino_c.so.2460", "libopenvino_c.so.2641", "libopenvino_c.so.999",
                                         "libopenvino_c.so.2641.1", "libopenvino_c.so.9999.bak", "libopenvino_c.so.x", "libopenvino_c.so." };
    life l;
    char path[1200];
    size_t i, bytes;
    void *data;
    control("");
    life_begin(&l);
    data = test_read_file(FAKE, &bytes);
    for (i = 0; i < sizeof names / sizeof names[0]; ++i) {
        snprintf(path, sizeof path, "%.1000s/%s", l.folder, names[i]);
        CHECK(test_write_file(path, data, bytes));
    }
    free(data);
    l.open.library_path = l.folder;
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_STR(l.facts.path, "/libopenvino_c.so.2641.1");
    engine->close(l.library);
    /* One that cannot be opened, and then the next one. */
    snprintf(path, sizeof path, "%.1000s/libopenvino_c.so.2700", l.folder);
    CHECK(test_write_file(path, "damaged", 7));
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK(strcmp(strrchr(l.facts.path, '/'), "/libopenvino_c.so.2641.1") == 0);
    life_end(&l);
}

/* ---- devices and properties -------------------------------------------------------------------- */

TEST(devices_have_our_names)
{
    static const char *const expected[] = { "cpu", "gpu", "gpu:1", "npu" };
    life l;
    size_t i;
    control("devices=CPU,GPU.0,GPU.1,NPU,null,weird,../CPU,GPU.x,AVERYLONGNAMEOFADEVICETHATNOBODYHAS");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(l.facts.device_count, 4);
    for (i = 0; i < 4; ++i) CHECK(strcmp(l.facts.devices[i], expected[i]) == 0);
    CHECK_STR(logged, "\"../CPU\" is left out");
    l.load.device = "gpu:1";
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_STR(report(), "for:GPU.1");
    CHECK(strstr(report(), "INFERENCE_NUM_THREADS") == NULL);
    engine->unload(l.object);
    l.object = NULL;
    l.load.device = "dsp";
    CHECK_EQ(life_load(&l), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "dsp");
    life_end(&l);
    CHECK(none_left());
    control("devices=-");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "no device");
    CHECK(none_left());
}

TEST(precisions_are_hints_or_refused)
{
    life l;
    control("devices=CPU,GPU");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    l.load.precision = QNNRT_PRECISION_FP16;
    CHECK_EQ(life_load(&l), QNNRT_E_UNSUPPORTED);        /* "XFP16 FP16X" is not FP16 */
    CHECK_STR(err.text, "fp16");
    CHECK_STR(err.text, "FP16X");
    l.load.precision = QNNRT_PRECISION_INT8;
    CHECK_EQ(life_load(&l), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "quantized models");
    l.load.precision = QNNRT_PRECISION_FP16;
    l.load.device = "gpu";
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_STR(report(), "GPU.INFERENCE_PRECISION_HINT=f16");
    life_end(&l);
    CHECK(none_left());
}

TEST(options_are_properties)
{
    static const qnnrt_session_option options[] = {
        { "openvino", "library_path", FAKE }, { NULL, "plugins_xml", "plugins.xml" }, { "onnxrt", "FOO", "1" },
        { "openvino", "NUM_STREAMS", "2" }, { NULL, "EXECUTION_MODE_HINT", "ACCURACY" }
    };
    qnnrt_session_option option = { NULL, "FOO", "1" };
    life l;
    control("");
    life_begin(&l);
    l.open.library_path = NULL;
    l.open.options = l.load.options = options;
    l.open.option_count = l.load.option_count = 5;
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_STR(report(), " xml:plugins.xml CPU.INFERENCE_NUM_THREADS=1 CPU.NUM_STREAMS=2 CPU.EXECUTION_MODE_HINT=ACCURACY for:CPU");
    engine->unload(l.object);
    l.object = NULL;
    l.load.options = &option;
    l.load.option_count = 1;
    CHECK_EQ(life_load(&l), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "FOO = \"1\" of CPU");
    CHECK_STR(err.text, "Unsupported property FOO");
    CHECK_EQ((int64_t)err.vendor_code, -1);
    option.key = "NUM_STREAMS";
    option.value = "wrong";
    CHECK_EQ(life_load(&l), QNNRT_E_ARG);
    CHECK_STR(err.text, "Wrong value");
    life_end(&l);
    CHECK(none_left());
}

TEST(the_cpu_helps_only_where_it_may)
{
    life l;
    control("devices=CPU,NPU refuse=NPU");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    l.load.device = "npu";
    CHECK_EQ(life_load(&l), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "for NPU: this device cannot do it");
    CHECK(strstr(report(), "for:") == NULL);
    l.load.allow_fallback = 1;
    l.load.save = l.folder;
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_STR(report(), "for:HETERO:NPU,CPU");
    CHECK_STR(l.model.fallback, "npu does not run the whole model");
    CHECK_STR(l.model.fallback, "this device cannot do it");
    CHECK_STR(logged, "parts of it run on the cpu");
    CHECK_STR(l.model.saved[0], "openvino-hetero.blob");
    engine->unload(l.object);
    l.object = NULL;
    l.load.save = NULL;
    l.load.cached = l.folder;
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_STR(l.model.fallback, "run on the cpu");
    life_end(&l);
    control("devices=CPU,NPU refuse=all");
    life_begin(&l);
    l.load.device = "npu";
    l.load.allow_fallback = 1;
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "in parts, for HETERO:NPU,CPU");
    life_end(&l);
    CHECK(none_left());
}

/* ---- models ------------------------------------------------------------------------------------ */

TEST(keys_without_effect_are_refused)
{
    static const qnnrt_session_pair pair = { "Conv", "npu" };
    life l;
    control("");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    l.load.optimize_level = 2;
    CHECK_EQ(life_load(&l), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "optimize_level");
    l.load.optimize_level = -1;
    l.load.compile_ms = 5;
    CHECK_EQ(life_load(&l), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "compile_timeout_ms");
    l.load.compile_ms = 0;
    l.load.preferences = &pair;
    l.load.preference_count = 1;
    CHECK_EQ(life_load(&l), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "preferences");
    CHECK_STR(err.text, "Conv");
    life_end(&l);
}

TEST(damaged_models_have_their_own_codes)
{
    static const struct { const char *text; qnnrt_result result; } files[] = {
        { "damaged", QNNRT_E_FORMAT }, { "strange", QNNRT_E_UNSUPPORTED }, { "toolarge", QNNRT_E_MEMORY }
    };
    life l;
    size_t i;
    control("");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    for (i = 0; i < 3; ++i) {
        CHECK(test_write_file(l.path, files[i].text, strlen(files[i].text)));
        CHECK_EQ(life_load(&l), files[i].result);
        CHECK_EQ(err.code, files[i].result);
        CHECK_STR(err.text, "model.xml");
    }
    l.load.path = "/nowhere/model.xml";
    CHECK_EQ(life_load(&l), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "/nowhere/model.xml");
    life_end(&l);
    CHECK(none_left());
}

TEST(shapes_name_inputs)
{
    qnnrt_session_shape shape;
    life l;
    control("");
    life_begin(&l);
    memset(&shape, 0, sizeof shape);
    shape.name = "z";
    shape.rank = 2;
    l.load.shapes = &shape;
    l.load.shape_count = 1;
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "\"z\", but the inputs are \"x\"");
    shape.name = "batch";
    shape.rank = 0;
    shape.dims[0] = 4;
    CHECK_EQ(life_load(&l), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "\"batch\" = 4");
    shape.name = "x";
    shape.rank = 3;
    CHECK_EQ(life_load(&l), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "Check of shapes failed");
    shape.rank = 2;
    shape.dims[0] = -1;
    shape.dims[1] = 5;
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_EQ(l.model.inputs[0].dims[0], -1);
    CHECK_EQ(l.model.inputs[0].dims[1], 5);
    life_end(&l);
    CHECK(none_left());
}

TEST(hostile_facts_are_refused)
{
    static const struct { const char *knobs; qnnrt_result result; const char *text; } cases[] = {
        { "rank=17", QNNRT_E_LIMIT, "17 dimensions" }, { "type=99", QNNRT_E_UNSUPPORTED, "element type 99" },
        { "type=11", QNNRT_E_UNSUPPORTED, "element type 11" }, { "ports=-1", QNNRT_E_BACKEND, "count inputs" },
        { "ports=65537", QNNRT_E_BACKEND, "count inputs" }
    };
    life l;
    size_t i;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        control(cases[i].knobs);
        life_begin(&l);
        CHECK_EQ(life_open(&l), QNNRT_OK);
        CHECK_EQ(life_load(&l), cases[i].result);
        CHECK_STR(err.text, cases[i].text);
        life_end(&l);
        CHECK(none_left());
    }
    control("names=0");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK(strcmp(l.model.inputs[0].name, "input_0") == 0 && strcmp(l.model.outputs[0].name, "output_0") == 0);
    life_end(&l);
    control("rank=any");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK(l.model.inputs[0].any_rank && l.model.outputs[0].any_rank && l.model.inputs[0].rank == 0);
    life_end(&l);
    CHECK(none_left());
}

TEST(compiled_models_come_back_and_damaged_ones_fail)
{
    life l;
    char path[1200];
    int written;
    control("");
    life_begin(&l);
    CHECK_EQ(life_whole(&l, &written), QNNRT_OK);        /* saves */
    engine->binding_destroy(l.binding);
    engine->unload(l.object);
    l.binding = l.object = NULL;
    l.load.save = NULL;
    l.load.cached = l.folder;
    l.load.path = "/nowhere/model.xml";                  /* is not read */
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_EQ(l.model.saved_count, 0);
    CHECK_EQ(life_bind(&l), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_OK);
    CHECK(l.out[3] == 4);
    engine->binding_destroy(l.binding);
    engine->unload(l.object);
    l.binding = l.object = NULL;
    snprintf(path, sizeof path, "%.1000s/openvino.blob", l.folder);
    CHECK(test_write_file(path, "FAKEBLO", 7));
    CHECK_EQ(life_load(&l), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "openvino.blob");
    CHECK(test_write_file(path, "", 0));
    CHECK_EQ(life_load(&l), QNNRT_E_IO);
    CHECK(unlink(path) == 0);
    CHECK_EQ(life_load(&l), QNNRT_E_NOT_FOUND);
    CHECK(mkdir(path, 0777) == 0);
    CHECK_EQ(life_load(&l), QNNRT_E_IO);
    life_end(&l);
    CHECK(none_left());
}

/* ---- runs -------------------------------------------------------------------------------------- */

TEST(missing_inputs_and_early_gets_are_named)
{
    life l;
    qnnrt_value value;
    control("");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_EQ(engine->binding_create(l.object, &l.binding, &err), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_E_STATE);
    CHECK_STR(err.text, "1 inputs");
    CHECK_EQ(engine->get(l.binding, 0, &value, &err), QNNRT_E_STATE);
    CHECK_STR(err.text, "\"y\"");
    life_end(&l);
    CHECK(none_left());
}

TEST(outputs_written_elsewhere_are_copied)
{
    life l;
    qnnrt_value value, y;
    control("elsewhere=1");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_EQ(life_bind(&l), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_OK);
    CHECK(l.out[0] == 1 && l.out[5] == 6 && l.out[6] == 0);
    CHECK_EQ(engine->get(l.binding, 0, &value, &err), QNNRT_OK);
    CHECK(value.data == l.out && value.bytes == 24 && value.rank == 2 && value.dims[1] == 3);
    y = value_of(l.out, 16, QNNRT_DTYPE_F32, 2, 2);      /* too small */
    CHECK_EQ(engine->set(l.binding, 1, 0, &y, &err), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "\"y\" has 24 bytes, and its room 16");
    life_end(&l);
    CHECK(none_left());
    control("");                                         /* the library itself refuses */
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_EQ(life_bind(&l), QNNRT_OK);
    CHECK_EQ(engine->set(l.binding, 1, 0, &y, &err), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_E_MISMATCH);
    y = value_of(l.out, 32, QNNRT_DTYPE_F32, 2, 4);      /* more room than needed: other dimensions */
    CHECK_EQ(engine->set(l.binding, 1, 0, &y, &err), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "dimension 1 of output \"y\" is 3, and placed as 4");
    CHECK_EQ(engine->get(l.binding, 0, &value, &err), QNNRT_E_STATE);
    life_end(&l);
    control("got=9");                                    /* another type than announced */
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_EQ(life_bind(&l), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "element type 9");
    life_end(&l);
    CHECK(none_left());
}

TEST(outputs_that_are_not_written_are_copied)
{
    life l;
    qnnrt_value value, y;
    int i;
    control("unwritten=1");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_EQ(life_bind(&l), QNNRT_OK);
    for (i = 0; i < 3; ++i) {
        l.in[0] = (float)i;
        CHECK_EQ(engine->run(l.binding, &err), QNNRT_OK);
        CHECK(l.out[0] == (float)i + 1 && l.out[5] == 6 && l.out[6] == 0);
        CHECK_EQ(engine->get(l.binding, 0, &value, &err), QNNRT_OK);
        CHECK(value.data == l.out && value.bytes == 24);
    }
    CHECK_STR(logged, "does not write output \"y\"");
    /* Inputs in the same memory are not overwritten by a pattern. */
    y = value_of(l.in, 24, QNNRT_DTYPE_F32, 2, 3);
    CHECK_EQ(engine->set(l.binding, 1, 0, &y, &err), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_OK);
    CHECK(l.in[5] == 5);
    life_end(&l);
    CHECK(none_left());
}

TEST(weights_that_are_a_pipe_are_refused)
{
    char path[1200];
    life l;
    control("");
    life_begin(&l);
    snprintf(path, sizeof path, "%s/model.bin", l.folder);
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_E_FORMAT);
    CHECK_STR(strstr(err.text, "model.bin") != NULL ? strstr(err.text, "model.bin") : err.text, "model.bin\", which has the weights, is not a file");
    CHECK_EQ(unlink(path), 0);
    life_end(&l);
    CHECK(none_left());
}

TEST(strings_go_in_and_out)
{
    const char *in[4] = { "a", "", "a string that does not fit into itself", "d" }, *out[4];
    qnnrt_value x, y, value;
    life l;
    control("type=23");
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_EQ(l.model.inputs[0].dtype, QNNRT_DTYPE_STRING);
    CHECK_EQ(engine->binding_create(l.object, &l.binding, &err), QNNRT_OK);
    x = value_of((void *)in, sizeof in, QNNRT_DTYPE_STRING, 2, 2);
    CHECK_EQ(engine->set(l.binding, 0, 0, &x, &err), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_OK);
    CHECK_EQ(engine->get(l.binding, 0, &value, &err), QNNRT_OK);
    CHECK(value.dtype == QNNRT_DTYPE_STRING && value.bytes == sizeof in);
    CHECK(strcmp(((const char *const *)value.data)[2], in[2]) == 0);
    in[3] = NULL;
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "openvino: string 3 of input \"");
    CHECK_EQ(engine->get(l.binding, 0, &value, &err), QNNRT_E_STATE);
    CHECK_EQ(engine->set(l.binding, 0, 0, &x, &err), QNNRT_E_ARG);
    in[3] = "changed after it was placed";
    y = value_of((void *)out, sizeof out, QNNRT_DTYPE_STRING, 2, 2);
    CHECK_EQ(engine->set(l.binding, 1, 0, &y, &err), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_OK);
    CHECK(strcmp(out[0], "a") == 0 && strcmp(out[1], "") == 0 && strcmp(out[3], in[3]) == 0);
    y.bytes = sizeof(const char *);
    CHECK_EQ(engine->set(l.binding, 1, 0, &y, &err), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_E_MISMATCH);
    life_end(&l);
    CHECK(none_left());
    control("type=23 layout=1");                         /* strings that cannot be read */
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "strings");
    life_end(&l);
    CHECK(none_left());
}

TEST(a_run_that_takes_too_long_is_ended)
{
    life l;
    control("slow=1");
    life_begin(&l);
    l.load.run_ms = 5;
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_EQ(life_bind(&l), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_E_CANCELLED);
    CHECK_STR(err.text, "execution_timeout_ms, 5");
    life_end(&l);
    CHECK(none_left());
}

static void *cancel_later(void *user)
{
    life *l = (life *)user;
    int i;
    for (i = 0; i < 100000000 && __atomic_load_n(&l->stop, __ATOMIC_SEQ_CST) == 0; ++i) {
        engine->cancel(l->object);
        sched_yield();
    }
    return NULL;
}

TEST(another_thread_cancels_a_run)
{
    static const char *const knobs[] = { "slow=1", "slow=2" };
    int i;
    for (i = 0; i < 2; ++i) {
        life l;
        pthread_t thread;
        qnnrt_result result;
        control(knobs[i]);
        life_begin(&l);
        CHECK_EQ(life_open(&l), QNNRT_OK);
        CHECK_EQ(life_load(&l), QNNRT_OK);
        CHECK_EQ(life_bind(&l), QNNRT_OK);
        CHECK(pthread_create(&thread, NULL, cancel_later, &l) == 0);
        result = engine->run(l.binding, &err);
        __atomic_store_n(&l.stop, 1, __ATOMIC_SEQ_CST);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK_EQ(result, QNNRT_E_CANCELLED);
        CHECK_STR(err.text, "cancelled");
        life_end(&l);
        CHECK(none_left());
    }
}

TEST(steps_are_nodes_that_ran)
{
    life l;
    qnnrt_dispatch rows[4];
    int written;
    control("");
    life_begin(&l);
    CHECK_EQ(life_whole(&l, &written), QNNRT_OK);        /* timed */
    CHECK_EQ(engine->steps(l.binding, rows, 0), 1);
    CHECK_EQ(engine->steps(l.binding, rows, 4), 1);
    CHECK(strcmp(rows[0].name, "add") == 0 && rows[0].us > 19.5 && rows[0].us < 20.5);
    CHECK_EQ(rows[0].dtype, QNNRT_DTYPE_F32);
    CHECK_STR(rows[0].device, "cpu");
    life_end(&l);
    life_begin(&l);
    CHECK_EQ(life_open(&l), QNNRT_OK);
    CHECK_EQ(life_load(&l), QNNRT_OK);
    CHECK_EQ(life_bind(&l), QNNRT_OK);
    CHECK_EQ(engine->run(l.binding, &err), QNNRT_OK);
    CHECK_EQ(engine->steps(l.binding, rows, 4), 1);
    CHECK(rows[0].us < 0 && rows[0].rank == 2);
    life_end(&l);
    CHECK(none_left());
}

TEST(a_session_runs_it)
{
    const qnnrt_engine *engines[2] = { qnnrt_engine_openvino(), NULL };
    const qnnrt_session_option option = { "openvino", "library_path", FAKE };
    qnnrt_session_desc desc;
    qnnrt_session *session;
    qnnrt_value x, y;
    life l;
    control("");
    life_begin(&l);
    memset(&desc, 0, sizeof desc);
    memset(&y, 0, sizeof y);
    desc.engines = engines;
    desc.engine = "openvino";
    desc.device = "cpu";
    desc.options = &option;
    desc.option_count = 1;
    CHECK_EQ(qnnrt_session_create(l.path, &desc, &session, &err), QNNRT_OK);
    CHECK_STR(qnnrt_session_get_info(session)->text, "engine=openvino device=cpu");
    l.in[2] = 41;
    x = value_of(l.in, 24, QNNRT_DTYPE_F32, 2, 3);
    CHECK_EQ(qnnrt_session_run(session, &x, 1, &y, 1), QNNRT_OK);
    CHECK(y.rank == 2 && y.bytes == 24 && ((const float *)y.data)[2] == 42);
    CHECK_EQ(qnnrt_session_destroy(session), QNNRT_OK);
    CHECK(none_left());
}

TEST_MAIN("engine_openvino")
{
    RUN(a_whole_life_leaves_no_handle);
    RUN(each_failing_call_is_named_and_leaves_no_handle);
    RUN(each_failing_allocation_leaves_no_handle);
    RUN(hostile_versions_are_refused);
    RUN(old_versions_are_refused_with_both_numbers);
    RUN(new_versions_are_accepted_with_a_line);
    RUN(both_numberings_of_types_work_and_others_are_refused);
    RUN(missing_symbols_are_named_or_not_needed);
    RUN(other_libraries_are_refused_by_name);
    RUN(the_newest_library_of_a_folder_is_used);
    RUN(devices_have_our_names);
    RUN(precisions_are_hints_or_refused);
    RUN(options_are_properties);
    RUN(the_cpu_helps_only_where_it_may);
    RUN(keys_without_effect_are_refused);
    RUN(damaged_models_have_their_own_codes);
    RUN(shapes_name_inputs);
    RUN(hostile_facts_are_refused);
    RUN(compiled_models_come_back_and_damaged_ones_fail);
    RUN(missing_inputs_and_early_gets_are_named);
    RUN(outputs_written_elsewhere_are_copied);
    RUN(outputs_that_are_not_written_are_copied);
    RUN(weights_that_are_a_pipe_are_refused);
    RUN(strings_go_in_and_out);
    RUN(a_run_that_takes_too_long_is_ended);
    RUN(another_thread_cancels_a_run);
    RUN(steps_are_nodes_that_ran);
    RUN(a_session_runs_it);
}
