/* test_engine_qnn.c - qnnrt_qnn.h, the engine for sessions, on libQnnRef.so: folders, graphs, values, and what goes wrong

   The engine's table is called as a session calls it; the last tests go through a session. Expected values are computed
   here, or by qnnrt.h without the engine. */
#include "engines/qnnrt_qnn.h"
#include "qnnrt_builder.h"
#include "ref.h"
#include "life.h"
#include "engine_graph.h"
#include "backend.h"

static qnnrt_error err;

/* ---- the engine ------------------------------------------------------------------------------ */

enum { OPTIONS = 8 };

/* An opened library and a loaded model. */
typedef struct loaded {
    void                *lib, *model;
    qnnrt_engine_library facts;
    qnnrt_engine_model   info;
    qnnrt_engine_load    load;
    qnnrt_session_option options[OPTIONS];
    size_t               count;
} loaded;

static const qnnrt_engine *engine(void) { return qnnrt_engine_qnn(); }

static void option(loaded *t, const char *key, const char *value)
{
    t->options[t->count].engine = "qnn";
    t->options[t->count].key = key;
    t->options[t->count++].value = value;
}

/* Begin with the reference as the cpu. */
static void begin(loaded *t, const char *path, qnnrt_model_kind kind)
{
    memset(t, 0, sizeof(*t));
    life_begin("");
    t->load.hooks = life_hooks();
    t->load.path = path;
    t->load.kind = kind;
    t->load.device = "cpu";
    t->load.threads = 1;
    t->load.optimize_level = -1;
}

static qnnrt_result open_library(loaded *t, const char *path)
{
    qnnrt_engine_open open;
    memset(&open, 0, sizeof(open));
    TEST_JUNK(err);
    open.hooks = t->load.hooks;
    open.library_path = path;
    open.options = t->options;
    open.option_count = t->count;
    return engine()->open(&open, &t->lib, &t->facts, &err);
}

static qnnrt_result load(loaded *t)
{
    qnnrt_result result = QNNRT_OK;
    if (t->lib == NULL) result = open_library(t, TEST_REF_LIB);
    if (result != QNNRT_OK) return result;
    t->load.options = t->options;
    t->load.option_count = t->count;
    TEST_JUNK(err);
    return engine()->load(t->lib, &t->load, &t->model, &t->info, &err);
}

static void unload(loaded *t)
{
    engine()->unload(t->model);
    engine()->close(t->lib);
    t->model = t->lib = NULL;
}

/* Load, expect a failure with this code and text, and unload. */
static int refused(loaded *t, qnnrt_result code, const char *text)
{
    const qnnrt_result result = load(t);
    const int good = result == code && t->model == NULL && err.code == code && strstr(err.text, text) != NULL &&
                     life_text_clean(err.text);
    if (!good) printf("    %s: %s\n    expected %s\n", qnnrt_result_name(result), result != QNNRT_OK ? err.text : "", text);
    unload(t);
    return good && life_left() == NULL;
}

static qnnrt_value value_of(const qnnrt_session_tensor *fact, void *data, size_t bytes)
{
    qnnrt_value value;
    uint32_t i;
    memset(&value, 0, sizeof(value));
    value.dtype = fact->dtype;
    value.rank = fact->rank;
    for (i = 0; i < fact->rank; ++i) value.dims[i] = fact->dims[i];
    value.data = data;
    value.bytes = bytes;
    return value;
}

static qnnrt_result place(void *binding, int output, size_t index, const qnnrt_session_tensor *facts, void *data, size_t bytes)
{
    const qnnrt_value value = value_of(&facts[index], data, bytes);
    return engine()->set(binding, output, index, &value, &err);
}

static int is(const qnnrt_session_tensor *fact, const char *name, qnnrt_dtype dtype, int64_t first, int64_t second)
{
    const int good = strcmp(fact->name, name) == 0 && fact->dtype == dtype && fact->rank == 2 && fact->dims[0] == first &&
                     fact->dims[1] == second;
    if (!good) printf("    \"%s\" 0x%x rank %u [%ld,%ld]\n", fact->name, (unsigned)fact->dtype, (unsigned)fact->rank,
                      (long)fact->dims[0], (long)fact->dims[1]);
    return good;
}

/* ---- models ---------------------------------------------------------------------------------- */

static qnnrt_backend *backend_open(void)
{
    qnnrt_backend *backend = NULL;
    if (test_ref_backend(&backend, &err) != QNNRT_OK) abort();
    return backend;
}

/* Save the contexts of a model in a folder, and end. */
static const char *save(qnnrt *model, qnnrt_backend *backend)
{
    const char *folder = test_tmpdir();
    size_t i;
    for (i = 0; i < qnnrt_get_info(model)->context_count; ++i) {
        char name[40];
        snprintf(name, sizeof(name), "forward_%u.bin", (unsigned)i);
        if (qnnrt_save(model, i, path_of(folder, name), &err) != QNNRT_OK) { printf("%s\n", err.text); abort(); }
    }
    if (qnnrt_close(model) != QNNRT_OK || qnnrt_backend_close(backend) != QNNRT_OK) abort();
    return folder;
}

static const char *life_folder(void)
{
    qnnrt_backend *backend = backend_open();
    qnnrt *model = NULL;
    size_t i;
    for (i = 0; i < LIFE_WIDTH * LIFE_WIDTH; ++i) life_weights[i] = (float)(i % 7) / 4.0f - 0.75f;
    for (i = 0; i < LIFE_WIDTH; ++i) life_bias[i] = (float)i / 8.0f;
    if (life_build(backend, &model, &err) != QNNRT_OK) { printf("%s\n", err.text); abort(); }
    return save(model, backend);
}

static qnnrt_tensor add(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind, qnnrt_dtype dtype, uint32_t rows,
                        uint32_t columns, int dynamic, float scale, int32_t offset)
{
    qnnrt_tensor_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.name = name;
    desc.kind = kind;
    desc.dtype = dtype;
    desc.rank = 2;
    desc.dims[0] = rows;
    desc.dims[1] = columns;
    desc.dynamic[0] = (uint8_t)dynamic;
    if (scale > 0) {
        desc.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
        desc.quant.scale = scale;
        desc.quant.offset = offset;
    }
    return qnnrt_builder_tensor(b, &desc);
}

static void node(qnnrt_builder *b, const char *type, const qnnrt_tensor *inputs, size_t count, qnnrt_tensor output)
{
    qnnrt_node_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.type = type;
    desc.inputs = inputs;
    desc.input_count = count;
    desc.outputs = &output;
    desc.output_count = 1;
    qnnrt_builder_node(b, &desc);
}

static const char *built(qnnrt_builder *b, qnnrt_backend *backend)
{
    qnnrt *model = NULL;
    if (qnnrt_builder_finish(b, &model, &err) != QNNRT_OK) { printf("%s\n", err.text); abort(); }
    return save(model, backend);
}

/* y = relu(x), codes of 8 bits: 0.5 * (code - 10). */
static const char *codes_folder(void)
{
    qnnrt_backend *backend = backend_open();
    qnnrt_graph_desc graph;
    qnnrt_builder *b;
    qnnrt_tensor x;
    memset(&graph, 0, sizeof(graph));
    graph.name = "main";
    if (qnnrt_builder_create(backend, NULL, &b, &err) != QNNRT_OK) abort();
    qnnrt_builder_graph(b, &graph);
    x = add(b, "x", QNNRT_TENSOR_INPUT, QNNRT_DTYPE_U8Q, 2, 4, 0, 0.5f, -10);
    node(b, "Relu", &x, 1, add(b, "y", QNNRT_TENSOR_OUTPUT, QNNRT_DTYPE_U8Q, 2, 4, 0, 0.5f, -10));
    return built(b, backend);
}

/* y = relu(x + b): rows of x are at most 4, b may be left out. */
static const char *moving_folder(void)
{
    qnnrt_backend *backend = backend_open();
    qnnrt_graph_desc graph;
    qnnrt_builder *b;
    qnnrt_tensor x;
    memset(&graph, 0, sizeof(graph));
    graph.name = "main";
    if (qnnrt_builder_create(backend, NULL, &b, &err) != QNNRT_OK) abort();
    qnnrt_builder_graph(b, &graph);
    x = add(b, "x", QNNRT_TENSOR_INPUT, QNNRT_DTYPE_F32, 4, 3, 1, 0, 0);
    node(b, "Relu", &x, 1, add(b, "y", QNNRT_TENSOR_OUTPUT, QNNRT_DTYPE_F32, 4, 3, 1, 0, 0));
    return built(b, backend);
}

/* ---- libraries ------------------------------------------------------------------------------- */

TEST(engine_lists_what_it_can_open)
{
    loaded t;
    begin(&t, "", QNNRT_MODEL_FOLDER);
    CHECK_EQ(engine()->version, QNNRT_ENGINE_VERSION);
    CHECK_EQ(engine()->kinds, QNNRT_MODEL_FOLDER | QNNRT_MODEL_GRAPH);
    CHECK_EQ(open_library(&t, TEST_REF_LIB), QNNRT_OK);
    CHECK(t.facts.device_count == 1 && strcmp(t.facts.devices[0], "cpu") == 0);
    CHECK(strcmp(t.facts.path, TEST_REF_LIB) == 0 && strcmp(t.facts.version, qnnrt_version()) == 0);
    CHECK_STR(t.facts.build, "cpu: REF_QNNRT v");
    unload(&t);
    option(&t, "npu_path", TEST_REF_LIB);
    option(&t, "cpu_path", TEST_REF_LIB);
    option(&t, "log_level", "debug");
    option(&t, "soc_model", "57");
    CHECK_EQ(open_library(&t, NULL), QNNRT_OK);
    CHECK(t.facts.device_count == 2 && strcmp(t.facts.devices[0], "npu") == 0 && strcmp(t.facts.devices[1], "cpu") == 0);
    unload(&t);
    CHECK_EQ(open_library(&t, TEST_REF_LIB), QNNRT_E_ARG);
    CHECK_STR(err.text, "name two libraries for one device");
    CHECK(t.lib == NULL && t.facts.device_count == 0);
    NOTHING_LEFT();
}

TEST(engine_refuses_other_libraries_and_options)
{
    static const struct { const char *path, *key, *value; qnnrt_result code; const char *text; } bad[] = {
        { "/nowhere/libQnnRef.so", "log_level", "info", QNNRT_E_LIBRARY, "/nowhere/libQnnRef.so" },
        { NULL, "npu_path", "/nowhere/a.so", QNNRT_E_LIBRARY, "/nowhere/a.so" },
        { NULL, "cpu_path", "tests/harness/test.h", QNNRT_E_LIBRARY, "tests/harness/test.h" },
        { TEST_REF_LIB, "libary_path", "x", QNNRT_E_NOT_FOUND,
          "there is no option \"libary_path\"; there are: library_path, npu_path, cpu_path, system_path, log_level" },
        { TEST_REF_LIB, "x\n\033[2J", "x", QNNRT_E_NOT_FOUND, "there is no option \"x ?[2J\"; there are:" },
        { TEST_REF_LIB, "log_level", "loud", QNNRT_E_ARG,
          "option \"log_level\" is \"loud\", expected one of default, error, warn, info, verbose, debug" },
        { TEST_REF_LIB, "soc_model", "4294967296", QNNRT_E_ARG, "option \"soc_model\" is a whole number up to 4294967295" },
        { TEST_REF_LIB, "soc_model", "-1", QNNRT_E_ARG, "not \"-1\"" },
        { TEST_REF_LIB, "soc_model", "", QNNRT_E_ARG, "not \"\"" },
        { TEST_REF_LIB, "soc_model", "99999999999999999999999", QNNRT_E_ARG, "whole number" },
    };
    size_t i;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        loaded t;
        begin(&t, "", QNNRT_MODEL_FOLDER);
        option(&t, bad[i].key, bad[i].value);
        CHECK_EQ(open_library(&t, bad[i].path), bad[i].code);
        CHECK_STR(err.text, bad[i].text);
        CHECK(t.lib == NULL && err.code == bad[i].code);
        NOTHING_LEFT();
    }
}

/* ---- folders --------------------------------------------------------------------------------- */

static void run_life(loaded *t, const char *pipeline, uint32_t rows)
{
    float x[LIFE_ROWS * LIFE_WIDTH], y[LIFE_ROWS * LIFE_WIDTH];
    double wanted[LIFE_ROWS * LIFE_WIDTH];
    void *bindings[2];
    qnnrt_value value;
    size_t i, k;
    option(t, "pipeline", pipeline);
    CHECK_EQ(load(t), QNNRT_OK);
    CHECK(t->info.input_count == 1 && t->info.output_count == 1 && t->info.fallback == NULL && t->info.saved_count == 0);
    CHECK(is(&t->info.inputs[0], "x", QNNRT_DTYPE_F32, rows, LIFE_WIDTH));
    CHECK(is(&t->info.outputs[0], "y", QNNRT_DTYPE_F32, rows, LIFE_WIDTH));
    CHECK(!t->info.inputs[0].optional && t->info.inputs[0].quant == NULL);
    for (i = 0; i < 2; ++i) CHECK_EQ(engine()->binding_create(t->model, &bindings[i], &err), QNNRT_OK);
    for (i = 0; i < rows * LIFE_WIDTH; ++i) x[i] = (float)(i % 5) / 4.0f;
    life_expected(x, rows, wanted);
    memset(y, 0xFF, sizeof(y));
    /* One binding writes into our memory, the other one into its own. */
    CHECK_EQ(place(bindings[0], 0, 0, t->info.inputs, x, rows * LIFE_WIDTH * 4), QNNRT_OK);
    CHECK_EQ(place(bindings[0], 1, 0, t->info.outputs, y, rows * LIFE_WIDTH * 4), QNNRT_OK);
    CHECK_EQ(place(bindings[1], 0, 0, t->info.inputs, x, rows * LIFE_WIDTH * 4), QNNRT_OK);
    for (i = 0; i < 2; ++i) {
        memset(&err, 0xAA, sizeof(err));
        CHECK_EQ(engine()->run(bindings[i], &err), QNNRT_OK);
        CHECK_EQ(err.text[0], (char)0xAA);
        CHECK_EQ(engine()->get(bindings[i], 0, &value, &err), QNNRT_OK);
        CHECK(value.rank == 2 && value.dims[0] == rows && value.dtype == QNNRT_DTYPE_F32 && value.bytes == rows * LIFE_WIDTH * 4);
        CHECK_EQ(value.data == y, i == 0);
        for (k = 0; k < rows * LIFE_WIDTH; ++k) CHECK(fabs(((const float *)value.data)[k] - wanted[k]) < 1e-6);
    }
    /* Memory is read in place. */
    for (k = 0; k < rows * LIFE_WIDTH; ++k) x[k] = (float)(k % 3);
    life_expected(x, rows, wanted);
    CHECK_EQ(engine()->run(bindings[0], &err), QNNRT_OK);
    for (k = 0; k < rows * LIFE_WIDTH; ++k) CHECK(fabs(y[k] - wanted[k]) < 1e-6);
    for (i = 0; i < 2; ++i) engine()->binding_destroy(bindings[i]);
    unload(t);
    NOTHING_LEFT();
}

TEST(engine_runs_each_pipeline_of_a_folder)
{
    const char *folder = life_folder();
    loaded t;
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    TRY(run_life(&t, "prefill", LIFE_ROWS));
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    option(&t, "residency", "one");
    option(&t, "memory", "shared");
    option(&t, "metadata", "system");
    TRY(run_life(&t, "kv", 1));
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    CHECK(refused(&t, QNNRT_E_NOT_FOUND, "prefill"));
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    option(&t, "pipeline", "none");
    CHECK(refused(&t, QNNRT_E_NOT_FOUND, "none"));
    CHECK_STR(err.hint, "option pipeline");
}

TEST(engine_shows_quantized_values_as_floats_or_as_they_are)
{
    static const float from[8] = { -5, -0.5f, 0, 0.5f, 1, 20, 122.5f, 1000 }, to[8] = { 0, 0, 0, 0.5f, 1, 20, 122.5f, 122.5f };
    static const uint8_t codes[8] = { 0, 9, 10, 11, 12, 50, 255, 255 }, out[8] = { 10, 10, 10, 11, 12, 50, 255, 255 };
    const char *folder = codes_folder();
    int native;
    for (native = 0; native < 2; ++native) {
        loaded t;
        float y[8];
        uint8_t bytes[8];
        void *b;
        qnnrt_value value;
        const size_t size = native ? 8 : 32;
        begin(&t, native ? folder : path_of(folder, "forward_0.bin"), QNNRT_MODEL_FOLDER);
        t.load.native_io = native;
        CHECK_EQ(load(&t), QNNRT_OK);
        CHECK(is(&t.info.inputs[0], "x", native ? QNNRT_DTYPE_U8 : QNNRT_DTYPE_F32, 2, 4));
        CHECK(is(&t.info.outputs[0], "y", native ? QNNRT_DTYPE_U8 : QNNRT_DTYPE_F32, 2, 4));
        CHECK((t.info.outputs[0].quant != NULL) == native);
        if (native) CHECK(t.info.outputs[0].quant->scale > 0.49f && t.info.outputs[0].quant->offset == -10);
        CHECK_EQ(engine()->binding_create(t.model, &b, &err), QNNRT_OK);
        CHECK_EQ(place(b, 0, 0, t.info.inputs, native ? (void *)(uintptr_t)codes : (void *)(uintptr_t)from, size), QNNRT_OK);
        CHECK_EQ(engine()->run(b, &err), QNNRT_OK);
        CHECK_EQ(engine()->get(b, 0, &value, &err), QNNRT_OK);
        CHECK(value.bytes == size && memcmp(value.data, native ? (const void *)out : (const void *)to, size) == 0);
        CHECK_EQ(place(b, 1, 0, t.info.outputs, native ? (void *)bytes : (void *)y, size), QNNRT_OK);
        CHECK_EQ(engine()->run(b, &err), QNNRT_OK);
        CHECK(native ? memcmp(bytes, out, 8) == 0 : memcmp(y, to, 32) == 0);
        /* Taken back: memory of the engine again. */
        CHECK_EQ(place(b, 1, 0, t.info.outputs, NULL, 0), QNNRT_OK);
        memset(native ? (void *)bytes : (void *)y, 0, size);
        CHECK_EQ(engine()->run(b, &err), QNNRT_OK);
        CHECK(native ? bytes[7] == 0 : y[7] == 0.0f);
        CHECK_EQ(engine()->get(b, 0, &value, &err), QNNRT_OK);
        CHECK(memcmp(value.data, native ? (const void *)out : (const void *)to, size) == 0);
        engine()->binding_destroy(b);
        unload(&t);
        NOTHING_LEFT();
    }
}

TEST(engine_follows_dims_that_change)
{
    const char *folder = moving_folder();
    float x[12], y[12];
    qnnrt_session_shape shape;
    qnnrt_value value;
    loaded t;
    void *b;
    int rows, i;
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    CHECK_EQ(load(&t), QNNRT_OK);
    CHECK(is(&t.info.inputs[0], "x", QNNRT_DTYPE_F32, -1, 3) && is(&t.info.outputs[0], "y", QNNRT_DTYPE_F32, -1, 3));
    CHECK_EQ(engine()->binding_create(t.model, &b, &err), QNNRT_OK);
    for (rows = 4; rows >= 1; --rows) {
        for (i = 0; i < 12; ++i) { x[i] = (float)(i - rows); y[i] = -9; }
        value = value_of(&t.info.inputs[0], x, (size_t)rows * 12);
        value.dims[0] = rows;
        CHECK_EQ(engine()->set(b, 0, 0, &value, &err), QNNRT_OK);
        value = value_of(&t.info.outputs[0], rows % 2 == 0 ? y : NULL, (size_t)rows * 12);
        value.dims[0] = rows;
        CHECK_EQ(engine()->set(b, 1, 0, &value, &err), QNNRT_OK);
        CHECK_EQ(engine()->run(b, &err), QNNRT_OK);
        CHECK_EQ(engine()->get(b, 0, &value, &err), QNNRT_OK);
        CHECK(value.dims[0] == rows && value.dims[1] == 3 && value.bytes == (size_t)rows * 12);
        CHECK_EQ(value.data == y, rows % 2 == 0);
        for (i = 0; i < rows * 3; ++i) CHECK(((const float *)value.data)[i] == (x[i] > 0 ? x[i] : 0.0f));
        for (; i < 12 && rows % 2 == 0; ++i) CHECK(y[i] == -9.0f);
    }
    /* What cannot be placed leaves the dimensions of what was. */
    value = value_of(&t.info.inputs[0], x, 24);
    value.dims[0] = 2;
    CHECK_EQ(engine()->set(b, 0, 0, &value, &err), QNNRT_OK);
    value.dims[0] = 4;
    CHECK(engine()->set(b, 0, 0, &value, &err) != QNNRT_OK);
    value = value_of(&t.info.outputs[0], NULL, 0);
    CHECK_EQ(engine()->set(b, 1, 0, &value, &err), QNNRT_OK);
    CHECK_EQ(engine()->run(b, &err), QNNRT_OK);
    CHECK_EQ(engine()->get(b, 0, &value, &err), QNNRT_OK);
    CHECK(value.dims[0] == 2 && value.bytes == 24);
    value = value_of(&t.info.inputs[0], x, 60);
    value.dims[0] = 5;
    CHECK_EQ(engine()->set(b, 0, 0, &value, &err), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "\"x\": dimension 0 is 5; the model takes 1 to 4");
    engine()->binding_destroy(b);
    unload(&t);
    NOTHING_LEFT();
    memset(&shape, 0, sizeof(shape));
    shape.name = "x";
    shape.rank = 2;
    shape.dims[0] = 2;
    shape.dims[1] = 3;
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    t.load.shapes = &shape;
    t.load.shape_count = 1;
    CHECK_EQ(load(&t), QNNRT_OK);
    CHECK(is(&t.info.inputs[0], "x", QNNRT_DTYPE_F32, 2, 3));
    CHECK_EQ(engine()->binding_create(t.model, &b, &err), QNNRT_OK);
    CHECK_EQ(place(b, 0, 0, t.info.inputs, x, 24), QNNRT_OK);
    CHECK_EQ(engine()->run(b, &err), QNNRT_OK);
    CHECK_EQ(engine()->get(b, 0, &value, &err), QNNRT_OK);
    CHECK(value.dims[0] == 2 && value.bytes == 24);
    engine()->binding_destroy(b);
    unload(&t);
    shape.dims[0] = 5;
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    t.load.shapes = &shape;
    t.load.shape_count = 1;
    CHECK(refused(&t, QNNRT_E_MISMATCH, "input \"x\" cannot be [5,3], and the model has [<=4,3]"));
    shape.name = "batch";
    shape.rank = 0;
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    t.load.shapes = &shape;
    t.load.shape_count = 1;
    CHECK(refused(&t, QNNRT_E_NOT_FOUND, "there is no dimension \"batch\" to give a shape to; inputs are: x"));
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Run the loaded graph; the outputs go to y. */
static void run_graph(loaded *t, const int32_t *ids, float y[2][IDS * WIDTH])
{
    float bias[IDS * WIDTH];
    void *b;
    int i, k;
    CHECK(t->info.input_count == 2 && t->info.output_count == 2);
    CHECK(is(&t->info.inputs[0], "bias", QNNRT_DTYPE_F32, IDS, WIDTH));
    CHECK(strcmp(t->info.inputs[1].name, "ids") == 0 && t->info.inputs[1].dtype == QNNRT_DTYPE_I32 && t->info.inputs[1].rank == 1);
    CHECK(is(&t->info.outputs[0], "neg", QNNRT_DTYPE_F32, IDS, WIDTH) && is(&t->info.outputs[1], "sum", QNNRT_DTYPE_F32, IDS, WIDTH));
    for (i = 0; i < IDS * WIDTH; ++i) bias[i] = (float)i / 16.0f;
    CHECK_EQ(engine()->binding_create(t->model, &b, &err), QNNRT_OK);
    CHECK_EQ(place(b, 0, 0, t->info.inputs, bias, sizeof(bias)), QNNRT_OK);
    CHECK_EQ(place(b, 0, 1, t->info.inputs, (void *)(uintptr_t)ids, IDS * 4), QNNRT_OK);
    for (i = 0; i < 2; ++i) CHECK_EQ(place(b, 1, (size_t)i, t->info.outputs, y[i], sizeof(y[i])), QNNRT_OK);
    CHECK_EQ(engine()->run(b, &err), QNNRT_OK);
    for (i = 0; i < IDS; ++i)
        for (k = 0; k < WIDTH; ++k) {
            const float wanted = graph_expected(ids, bias, i, k);
            CHECK(fabsf(y[1][i * WIDTH + k] - wanted) < 2e-3f && fabsf(y[0][i * WIDTH + k] + wanted) < 2e-3f);
        }
    engine()->binding_destroy(b);
}

static int saved(const loaded *t, const char *name)
{
    size_t i;
    for (i = 0; i < t->info.saved_count; ++i) if (strcmp(t->info.saved[i], name) == 0) return 1;
    return 0;
}

/* Compile with and without files, and open the files: each gives the same bytes. */
static void compile_three_times(const qnnrt_session_pair *preferences, size_t count, const char *fallback, int precision)
{
    static const int32_t ids[IDS] = { 4, 0, 2 };
    const char *path = graph_file(), *folder = test_tmpdir();
    float y[3][2][IDS * WIDTH];
    int i;
    for (i = 0; i < 3; ++i) {
        loaded t;
        begin(&t, path, QNNRT_MODEL_GRAPH);
        t.load.preferences = preferences;
        t.load.preference_count = count;
        t.load.allow_fallback = fallback != NULL;
        t.load.precision = (qnnrt_precision)precision;
        t.load.save = i == 1 ? folder : NULL;
        t.load.cached = i == 2 ? folder : NULL;
        if (load(&t) != QNNRT_OK) printf("    %s\n", err.text);
        CHECK(t.model != NULL);
        TRY(run_graph(&t, ids, y[i]));
        CHECK_EQ(t.info.fallback != NULL, fallback != NULL);
        if (fallback != NULL) CHECK_STR(t.info.fallback, fallback);
        CHECK_EQ(t.info.saved_count > 0, i == 1);
        CHECK_EQ(t.info.warning_count, count == 6);
        if (count == 6) CHECK_STR(t.info.warnings[0], "preferences: the graph has no operator \"aten.Conv\"");
        if (i == 1) {
            CHECK(saved(&t, "qnnrt.json") && saved(&t, "cpu_0.bin"));
            CHECK_EQ(saved(&t, "host.json"), fallback != NULL);
            CHECK_EQ(saved(&t, "fallback.txt"), fallback != NULL);
        }
        unload(&t);
        NOTHING_LEFT();
        CHECK(memcmp(y[0], y[i], sizeof(y[0])) == 0);
    }
}

TEST(engine_compiles_graphs_and_opens_what_it_saved)
{
    static const qnnrt_session_pair neg = { "neg", "host" }, both[] = { { "aten.embedding.default", "host" }, { "neg.default", "cpu" } };
    /* More names for one node than there are nodes: those after them count, too. */
    static const qnnrt_session_pair many[] = { { "embedding", "host" }, { "embedding.default", "host" }, { "aten.embedding", "host" },
                                               { "aten.embedding.default", "host" }, { "neg", "host" }, { "aten.Conv", "host" } };
    TRY(compile_three_times(many, 6, "2 of 4 nodes: ", QNNRT_PRECISION_DEFAULT));
    TRY(compile_three_times(many, 5, "2 of 4 nodes: ", QNNRT_PRECISION_DEFAULT));
    TRY(compile_three_times(NULL, 0, NULL, QNNRT_PRECISION_DEFAULT));
    TRY(compile_three_times(NULL, 0, NULL, QNNRT_PRECISION_FP16));
    TRY(compile_three_times(&neg, 1, "1 of 4 nodes: \"neg\" (neg.default) on host: ", QNNRT_PRECISION_DEFAULT));
    TRY(compile_three_times(both, 2, "1 of 4 nodes: \"rows\" (embedding.default) on host: ", QNNRT_PRECISION_DEFAULT));
}

/* The same library in two roles: what the preference gives to the cpu is not on the npu. */
TEST(engine_compiles_graphs_for_two_libraries)
{
    static const qnnrt_session_pair to_cpu = { "linear", "cpu" };
    static const int32_t ids[IDS] = { 1, 1, 3 };
    const char *path = graph_file(), *folder = test_tmpdir();
    float y[2][IDS * WIDTH];
    int i;
    for (i = 0; i < 4; ++i) {
        loaded t;
        qnnrt_dispatch rows[4];
        void *b;
        size_t count;
        begin(&t, path, QNNRT_MODEL_GRAPH);
        option(&t, "npu_path", TEST_REF_LIB);
        option(&t, "cpu_path", TEST_REF_LIB);
        CHECK_EQ(open_library(&t, NULL), QNNRT_OK);
        t.load.device = "npu";
        t.load.preferences = &to_cpu;
        t.load.preference_count = i < 2;
        t.load.allow_fallback = i < 3;
        t.load.timed = i == 1;
        t.load.save = i == 0 ? folder : NULL;
        t.load.cached = i == 1 ? folder : NULL;
        t.load.kind = i < 2 ? QNNRT_MODEL_GRAPH : QNNRT_MODEL_FOLDER;
        t.load.path = i < 2 ? path : folder;
        if (i == 3) {
            CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "of 3 steps do not run on the npu: "));
            CHECK_STR(err.hint, "allow_fallback");
            continue;
        }
        CHECK_EQ(load(&t), QNNRT_OK);
        CHECK(t.info.fallback != NULL);
        CHECK_STR(t.info.fallback, i < 2 ? "1 of 4 nodes: \"product\" (linear.default) on cpu: " : "1 of 3 steps: \"");
        if (i < 2) TRY(run_graph(&t, ids, y));
        CHECK_EQ(engine()->binding_create(t.model, &b, &err), QNNRT_OK);
        CHECK_EQ(engine()->steps(b, NULL, 0), 3);
        count = engine()->steps(b, rows, 2);
        CHECK(count == 3 && strcmp(rows[0].device, "npu") == 0 && strcmp(rows[1].device, "cpu") == 0 && rows[1].step == 1);
        CHECK(rows[1].dtype == QNNRT_DTYPE_F32 && rows[1].rank == 2 && rows[1].dims[0] == IDS && rows[1].dims[1] == WIDTH);
        if (i == 1) {
            float bias[IDS * WIDTH] = { 0 };
            size_t k;
            CHECK_EQ(place(b, 0, 0, t.info.inputs, bias, sizeof(bias)), QNNRT_OK);
            CHECK_EQ(place(b, 0, 1, t.info.inputs, (void *)(uintptr_t)ids, sizeof(ids)), QNNRT_OK);
            CHECK_EQ(engine()->run(b, &err), QNNRT_OK);
            CHECK_EQ(engine()->steps(b, rows, 4), 3);
            for (k = 0; k < 3; ++k) CHECK(rows[k].us >= 0);
        } else CHECK(rows[0].us < 0);
        engine()->binding_destroy(b);
        unload(&t);
        NOTHING_LEFT();
    }
    {
        loaded t;
        begin(&t, folder, QNNRT_MODEL_FOLDER);
        CHECK(refused(&t, QNNRT_E_LIBRARY, "has a file for \"npu\", which has no library"));
        CHECK_STR(err.hint, "npu_path");
        begin(&t, folder, QNNRT_MODEL_FOLDER);
        option(&t, "npu_path", TEST_REF_LIB);
        option(&t, "cpu_path", TEST_REF_LIB);
        CHECK_EQ(open_library(&t, NULL), QNNRT_OK);
        CHECK(refused(&t, QNNRT_E_MISMATCH, "2 of 3 steps were not compiled for \"cpu\""));
    }
}

TEST(engine_quantizes_weights)
{
    loaded t;
    static const int32_t ids[IDS] = { 4, 3, 2 };
    float y[2][IDS * WIDTH], exact[2][IDS * WIDTH], bias[IDS * WIDTH] = { 0 };
    void *b;
    const char *path = graph_file();
    begin(&t, path, QNNRT_MODEL_GRAPH);
    t.load.precision = QNNRT_PRECISION_FP32;
    CHECK_EQ(load(&t), QNNRT_OK);
    TRY(run_graph(&t, ids, exact));
    unload(&t);
    begin(&t, path, QNNRT_MODEL_GRAPH);
    t.load.precision = QNNRT_PRECISION_INT8;
    CHECK_EQ(load(&t), QNNRT_OK);
    CHECK_EQ(engine()->binding_create(t.model, &b, &err), QNNRT_OK);
    CHECK_EQ(place(b, 0, 0, t.info.inputs, bias, sizeof(bias)), QNNRT_OK);
    CHECK_EQ(place(b, 0, 1, t.info.inputs, (void *)(uintptr_t)ids, sizeof(ids)), QNNRT_OK);
    CHECK_EQ(place(b, 1, 1, t.info.outputs, y[1], sizeof(y[1])), QNNRT_OK);
    CHECK_EQ(engine()->run(b, &err), QNNRT_OK);
    CHECK(fabsf(y[1][0] - graph_expected(ids, bias, 0, 0)) < 0.05f);
    engine()->binding_destroy(b);
    unload(&t);
    NOTHING_LEFT();
}

TEST(engine_checks_indices_before_it_runs)
{
    static const int32_t bad[][IDS] = { { 0, 5, 0 }, { 0, 0, -1 } };
    int32_t ids[IDS] = { 0, 1, 2 };
    float bias[IDS * WIDTH] = { 0 };
    loaded t;
    void *b;
    begin(&t, graph_file(), QNNRT_MODEL_GRAPH);
    CHECK_EQ(load(&t), QNNRT_OK);
    CHECK_EQ(engine()->binding_create(t.model, &b, &err), QNNRT_OK);
    CHECK_EQ(place(b, 0, 0, t.info.inputs, bias, sizeof(bias)), QNNRT_OK);
    CHECK_EQ(place(b, 0, 1, t.info.inputs, ids, sizeof(ids)), QNNRT_OK);
    CHECK_EQ(engine()->run(b, &err), QNNRT_OK);
    memcpy(ids, bad[0], sizeof(ids));
    CHECK_EQ(engine()->run(b, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "input \"ids\": element 1 is 5; the model takes 0 to 4");
    memcpy(ids, bad[1], sizeof(ids));
    CHECK_EQ(engine()->run(b, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "element 2 is -1");
    engine()->binding_destroy(b);
    unload(&t);
    NOTHING_LEFT();
}

TEST(engine_finds_weights)
{
    const char *folder = test_tmpdir();
    loaded t;
    write_text(folder, "other.json", graph_text);
    begin(&t, path_of(folder, "other.json"), QNNRT_MODEL_GRAPH);
    CHECK(refused(&t, QNNRT_E_NOT_FOUND, "the graph reads weights, and none are beside"));
    CHECK_STR(err.hint, "option weights");
    begin(&t, path_of(folder, "other.json"), QNNRT_MODEL_GRAPH);
    option(&t, "weights", "/nowhere/w.safetensors");
    CHECK(refused(&t, QNNRT_E_NOT_FOUND, "/nowhere/w.safetensors"));
    write_weights(folder, "only.safetensors", 0);
    begin(&t, path_of(folder, "other.json"), QNNRT_MODEL_GRAPH);
    CHECK_EQ(load(&t), QNNRT_OK);
    unload(&t);
    write_weights(folder, "other.safetensors", 1);
    begin(&t, path_of(folder, "other.json"), QNNRT_MODEL_GRAPH);
    CHECK(refused(&t, QNNRT_E_NOT_FOUND, "matrix"));
    begin(&t, path_of(folder, "other.json"), QNNRT_MODEL_GRAPH);
    option(&t, "weights", path_of(folder, "only.safetensors"));
    CHECK_EQ(load(&t), QNNRT_OK);
    unload(&t);
    NOTHING_LEFT();
}

/* ---- what is refused ------------------------------------------------------------------------- */

TEST(engine_refuses_what_has_no_effect)
{
    static const qnnrt_session_pair neg = { "neg", "host" }, two[] = { { "neg", "host" }, { "neg.default", "cpu" } };
    const char *folder = codes_folder(), *path = graph_file();
    int i;
    for (i = 0; i < 16; ++i) {
        loaded t;
        begin(&t, i < 7 ? folder : path, i < 7 ? QNNRT_MODEL_FOLDER : QNNRT_MODEL_GRAPH);
        if (i == 0) { t.load.precision = QNNRT_PRECISION_FP16; CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "precision has no effect on a folder")); }
        if (i == 1) { t.load.optimize_level = 3; CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "optimize_level has no effect")); }
        if (i == 2) { t.load.preferences = &neg; t.load.preference_count = 1; CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "preferences has no effect")); }
        if (i == 3) { t.load.compile_ms = 1; CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "compile_timeout_ms has no effect")); }
        if (i == 4) { t.load.run_ms = 1; CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "execution_timeout_ms")); }
        if (i == 5) { option(&t, "weights", "x"); CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "option \"weights\" is for graphs")); }
        if (i == 6) { option(&t, "residency", "some"); CHECK(refused(&t, QNNRT_E_ARG, "option \"residency\" is \"some\", expected one of all, one, budget")); }
        if (i == 7) { option(&t, "pipeline", "x"); CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "option \"pipeline\" is for compiled folders")); }
        if (i == 8) { t.load.run_ms = 1; CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "execution_timeout_ms")); }
        if (i == 9) { t.load.optimize_level = 2; CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "optimize_level 2: the npu has 1 to 3, and the cpu none")); }
        if (i == 10) { t.load.preferences = &neg; t.load.preference_count = 1; CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "preferences: \"neg\" is given to \"host\"; here are: \"cpu\"")); }
        if (i == 11) { option(&t, "vtcm_mib", "8"); CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "option \"vtcm_mib\" is for HTP")); }
        if (i == 12) { option(&t, "rope_base", "0"); CHECK(refused(&t, QNNRT_E_ARG, "option \"rope_base\" is a positive number, not \"0\"")); }
        if (i == 13) { option(&t, "power", "fast"); CHECK(refused(&t, QNNRT_E_ARG, "option \"power\" is one of burst")); }
        if (i == 15) {
            t.load.preferences = two;
            t.load.preference_count = 2;
            t.load.allow_fallback = 1;
            CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "preferences: \"neg.default\" gives node \"neg\" (neg.default) to \"cpu\", another one"));
        }
        if (i == 14) { t.load.device = "npu"; CHECK(refused(&t, QNNRT_E_NOT_FOUND, "there is no device \"npu\"")); }
    }
}

TEST(engine_warns_of_settings_without_effect)
{
    int i;
    for (i = 0; i < 4; ++i) {
        loaded t;
        begin(&t, codes_folder(), QNNRT_MODEL_FOLDER);
        t.load.threads = i % 2 ? 2 : 1;
        t.load.workspace_bytes = i / 2 ? 1 << 20 : QNNRT_SESSION_WORKSPACE;
        CHECK_EQ(load(&t), QNNRT_OK);
        CHECK_EQ(t.info.warning_count, (i % 2) + (i / 2));
        if (i % 2) CHECK_STR(t.info.warnings[0], "threads has no effect");
        if (i / 2) CHECK_STR(t.info.warnings[i % 2], "workspace_bytes has no effect");
        unload(&t);
        NOTHING_LEFT();
    }
}

TEST(engine_refuses_what_is_damaged)
{
    const char *folder = test_tmpdir(), *codes = codes_folder(), *path = graph_file();
    size_t bytes = 0;
    char *data = (char *)test_read_file(path_of(codes, "forward_0.bin"), &bytes);
    loaded t;
    CHECK(data != NULL);
    begin(&t, "/nowhere/model", QNNRT_MODEL_FOLDER);
    CHECK(refused(&t, QNNRT_E_NOT_FOUND, "/nowhere/model"));
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    CHECK(refused(&t, QNNRT_E_NOT_FOUND, folder));
    test_write_file(path_of(folder, "forward_0.bin"), data, bytes / 2);
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    CHECK(refused(&t, QNNRT_E_FORMAT, "forward_0.bin"));
    test_write_file(path_of(folder, "forward_0.bin"), data, bytes);
    write_text(folder, "qnnrt.json", "{\"program\": {\"version\": 1, \"contexts\": [{\"backend\": \"dsp\"}]}}");
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "has a file for the backend \"dsp\"; this engine has"));
    write_text(folder, "qnnrt.json", "{\"program\": {\"contexts\": [{\"backend\": 3");
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    CHECK(refused(&t, QNNRT_E_FORMAT, "qnnrt.json"));
    unlink(path_of(folder, "qnnrt.json"));
    write_text(folder, "host.json", "{}");
    begin(&t, folder, QNNRT_MODEL_FOLDER);
    CHECK(refused(&t, QNNRT_E_FORMAT, "host.json"));
    unlink(path_of(folder, "host.json"));
    begin(&t, "tests/data/ctx/qairt2.51/mlp_u8", QNNRT_MODEL_FOLDER);
    CHECK(refused(&t, QNNRT_E_FORMAT, "of another backend"));
    begin(&t, folder, QNNRT_MODEL_GRAPH);
    CHECK(refused(&t, QNNRT_E_IO, folder));
    begin(&t, path_of(folder, "none.json"), QNNRT_MODEL_GRAPH);
    CHECK(refused(&t, QNNRT_E_NOT_FOUND, "none.json"));
    write_text(folder, "a.json", "{\"nodes\": [");
    begin(&t, path_of(folder, "a.json"), QNNRT_MODEL_GRAPH);
    CHECK(refused(&t, QNNRT_E_FORMAT, "cannot read \""));
    write_text(folder, "a.json", "{\"graph_inputs\":[" F("x", "2") "],\"graph_outputs\":[" F("y", "2") "],\"weights\":[],\"nodes\":["
               "{\"name\":\"y\",\"op_type\":\"aten.wonder.default\",\"inputs\":[" F("x", "2") "],\"outputs\":[" F("y", "2") "]}]}");
    begin(&t, path_of(folder, "a.json"), QNNRT_MODEL_GRAPH);
    CHECK(refused(&t, QNNRT_E_UNSUPPORTED, "wonder.default"));
    /* Files of a cache that are not what they were. */
    begin(&t, path, QNNRT_MODEL_GRAPH);
    t.load.cached = test_tmpdir();
    CHECK(refused(&t, QNNRT_E_NOT_FOUND, t.load.cached));
    begin(&t, path, QNNRT_MODEL_GRAPH);
    t.load.cached = codes;
    CHECK(refused(&t, QNNRT_E_NOT_FOUND, "\"model\""));
    free(data);
}

TEST(engine_ends_a_compilation_that_takes_too_long)
{
    loaded t;
    const char *path = graph_file();
    begin(&t, path, QNNRT_MODEL_GRAPH);
    t.load.compile_ms = 600000;
    CHECK_EQ(load(&t), QNNRT_OK);
    unload(&t);
    begin(&t, path, QNNRT_MODEL_GRAPH);
    life_begin("delay=graphAddNode:20ms");
    t.load.compile_ms = 1;
    CHECK(refused(&t, QNNRT_E_CANCELLED, "took longer than compile_timeout_ms, 1 ms"));
    ref_begin("");
}

/* What the library says when a run fails arrives, and the next run is right. */
TEST(engine_gives_the_error_of_a_run)
{
    static const float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    loaded t;
    void *b;
    qnnrt_value value;
    begin(&t, codes_folder(), QNNRT_MODEL_FOLDER);
    CHECK_EQ(load(&t), QNNRT_OK);
    CHECK_EQ(engine()->binding_create(t.model, &b, &err), QNNRT_OK);
    CHECK_EQ(place(b, 0, 0, t.info.inputs, (void *)(uintptr_t)x, sizeof(x)), QNNRT_OK);
    ref.control("faults fail=graphExecute:1", NULL, 0);
    CHECK_EQ(engine()->run(b, &err), QNNRT_E_BACKEND);
    CHECK(err.code == QNNRT_E_BACKEND && err.vendor_code != 0);
    CHECK_STR(err.text, "main");
    ref.control("faults ", NULL, 0);
    CHECK_EQ(engine()->run(b, &err), QNNRT_OK);
    CHECK_EQ(engine()->get(b, 0, &value, &err), QNNRT_OK);
    CHECK(memcmp(value.data, x, sizeof(x)) == 0);
    engine()->binding_destroy(b);
    unload(&t);
    NOTHING_LEFT();
}

/* ---- memory ---------------------------------------------------------------------------------- */

static struct { uint64_t count, fail_at; int64_t live; } short_of;

static void *short_alloc(void *user, size_t bytes)
{
    (void)user;
    if (++short_of.count == short_of.fail_at) return NULL;
    ++short_of.live;
    return malloc(bytes);
}

static void short_free(void *user, void *data)
{
    (void)user;
    --short_of.live;
    free(data);
}

/* Open, load, bind, run, close. */
static qnnrt_result whole(loaded *t)
{
    void *b = NULL;
    qnnrt_result result = load(t);
    if (result == QNNRT_OK) result = engine()->binding_create(t->model, &b, &err);
    if (result == QNNRT_OK) result = engine()->run(b, &err);
    engine()->binding_destroy(b);
    unload(t);
    return result;
}

/* Let every allocation fail, of a compilation each `stride`-th: there a question to the library may go unanswered. */
static void exhaust(const char *path, qnnrt_model_kind kind, uint64_t stride, const char *saves)
{
    static const qnnrt_session_pair neg = { "neg", "host" };
    uint64_t at, failed = 0;
    for (at = 1; short_of.fail_at == 0 || short_of.count >= short_of.fail_at; at += stride) {
        qnnrt_result result;
        loaded t;
        begin(&t, path, kind);
        t.load.hooks.alloc = short_alloc;
        t.load.hooks.free = short_free;
        t.load.save = saves;
        t.load.preferences = &neg;
        t.load.preference_count = kind == QNNRT_MODEL_GRAPH;
        t.load.allow_fallback = kind == QNNRT_MODEL_GRAPH;
        memset(&short_of, 0, sizeof(short_of));
        short_of.fail_at = at;
        result = whole(&t);
        if (result != QNNRT_OK && result != QNNRT_E_MEMORY) printf("    allocation %lu: %s\n", (unsigned long)at, err.text);
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && err.code == result && err.text[0] != '\0'));
        CHECK(result == QNNRT_E_MEMORY || kind == QNNRT_MODEL_GRAPH || short_of.count < at);
        failed += result == QNNRT_E_MEMORY;
        CHECK_EQ(short_of.live, 0);
        NOTHING_LEFT();
    }
    printf("    %lu allocations\n", (unsigned long)at);
    CHECK(failed * stride * 10 > at * 8);
    memset(&short_of, 0, sizeof(short_of));
}

TEST(engine_survives_failing_allocations)
{
    TRY(exhaust(codes_folder(), QNNRT_MODEL_FOLDER, 1, NULL));
    TRY(exhaust(graph_file(), QNNRT_MODEL_GRAPH, 1, NULL));
    TRY(exhaust(graph_file(), QNNRT_MODEL_GRAPH, 3, test_tmpdir()));
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* Run the graph in a session with a cache; y receives the outputs. Return what the cache did, or the error. */
static const char *session_once(const char *path, const char *cache, float y[2][IDS * WIDTH])
{
    static char told[300];
    static int32_t ids[IDS] = { 4, 0, 2 };
    const qnnrt_engine *engines[2];
    qnnrt_session_option where;
    qnnrt_session_desc desc;
    qnnrt_session *session = NULL;
    qnnrt_value in[2], out[2];
    float bias[IDS * WIDTH] = { 0.25f };
    int i;
    engines[0] = engine();
    engines[1] = NULL;
    memset(&desc, 0, sizeof(desc));
    memset(&where, 0, sizeof(where));
    memset(in, 0, sizeof(in));
    memset(out, 0, sizeof(out));
    where.key = "library_path";
    where.value = TEST_REF_LIB;
    desc.engines = engines;
    desc.options = &where;
    desc.option_count = 1;
    desc.cache_dir = cache;
    desc.hooks = life_hooks();
    if (qnnrt_session_create(path, &desc, &session, &err) != QNNRT_OK) return err.text;
    snprintf(told, sizeof(told), "%s%s", qnnrt_session_get_info(session)->cache,
             qnnrt_session_get_info(session)->warning_count > 0 ? ", warned" : "");
    in[0].dtype = QNNRT_DTYPE_F32;
    in[0].rank = 2;
    in[0].dims[0] = IDS;
    in[0].dims[1] = WIDTH;
    in[0].data = bias;
    in[0].bytes = sizeof(bias);
    in[1].dtype = QNNRT_DTYPE_I32;
    in[1].rank = 1;
    in[1].dims[0] = IDS;
    in[1].data = ids;
    in[1].bytes = sizeof(ids);
    for (i = 0; i < 2; ++i) { out[i].data = y[i]; out[i].bytes = sizeof(y[i]); }
    if (qnnrt_session_run(session, in, 2, out, 2) != QNNRT_OK) snprintf(told, sizeof(told), "%.299s", qnnrt_session_error(session)->text);
    else if (fabsf(y[1][5] - graph_expected(ids, bias, 1, 1)) > 1e-5f) snprintf(told, sizeof(told), "another value");
    if (qnnrt_session_destroy(session) != QNNRT_OK) return "busy";
    return told;
}

TEST(session_keeps_compiled_graphs)
{
    const char *path = graph_file(), *cache = test_tmpdir(), *entry = NULL;
    float first[2][IDS * WIDTH], second[2][IDS * WIDTH];
    struct dirent *item;
    size_t bytes = 0;
    char *data;
    DIR *dir;
    life_begin("");
    CHECK_STR(session_once(path, NULL, first), "off");
    CHECK_STR(session_once(path, cache, second), "stored");
    CHECK(memcmp(first, second, sizeof(first)) == 0);
    memset(second, 0, sizeof(second));
    CHECK_STR(session_once(path, cache, second), "hit");
    CHECK(memcmp(first, second, sizeof(first)) == 0);
    /* Damaged: it is compiled again. */
    dir = opendir(cache);
    CHECK(dir != NULL);
    while ((item = readdir(dir)) != NULL) if (strstr(item->d_name, ".qnnrt") != NULL) entry = path_of(cache, item->d_name);
    closedir(dir);
    CHECK(entry != NULL);
    data = (char *)test_read_file(entry, &bytes);
    CHECK(data != NULL && bytes > 100);
    data[bytes / 2] ^= 1;
    test_write_file(entry, data, bytes);
    free(data);
    memset(second, 0, sizeof(second));
    CHECK_STR(session_once(path, cache, second), "stored");
    CHECK(memcmp(first, second, sizeof(first)) == 0);
    NOTHING_LEFT();
}

TEST_MAIN("engine_qnn")
{
    RUN(engine_lists_what_it_can_open);
    RUN(engine_refuses_other_libraries_and_options);
    RUN(engine_runs_each_pipeline_of_a_folder);
    RUN(engine_shows_quantized_values_as_floats_or_as_they_are);
    RUN(engine_follows_dims_that_change);
    RUN(engine_compiles_graphs_and_opens_what_it_saved);
    RUN(engine_compiles_graphs_for_two_libraries);
    RUN(engine_quantizes_weights);
    RUN(engine_checks_indices_before_it_runs);
    RUN(engine_finds_weights);
    RUN(engine_refuses_what_has_no_effect);
    RUN(engine_warns_of_settings_without_effect);
    RUN(engine_refuses_what_is_damaged);
    RUN(engine_ends_a_compilation_that_takes_too_long);
    RUN(engine_gives_the_error_of_a_run);
    RUN(engine_survives_failing_allocations);
    RUN(session_keeps_compiled_graphs);
}
