/* test_dynamic.c - what may change between two executes: dims up to a bound, optional tensors, and
   the data of updateable ones; on libQnnRef.so, and on the fake as HTP and as the CPU library */
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "qnnrt_device.h"
#include "qnnrt_profile.h"
#include "ref.h"
#include "life.h"
#include "backend.h"

static qnnrt_error err;

/* Prepare a run whose dims may change. */
static qnnrt_result prepares(qnnrt *model, const char *name, qnnrt_run **run, qnnrt_error *error)
{
    const qnnrt_result result = qnnrt_prepare(model, name, run, error);
    return result == QNNRT_OK ? qnnrt_run_dynamic(*run) : result;
}
static float weights[32], bias[4], values[64];
static qnnrt_backend *backend;

/* ---- a model --------------------------------------------------------------------------------- */

/* y[n,4] = relu(x[n,8] * w + b): n at most 4, b optional, w updateable; in one context, or cut in
   two after the product. */
enum { ROWS = 4, IN = 8, OUT = 4 };

static void fill_data(void)
{
    int i;
    for (i = 0; i < 32; ++i) weights[i] = (float)(i % 7) - 3.0f;
    for (i = 0; i < 4; ++i) bias[i] = (float)i * 0.5f - 0.75f;
}

/* Return an element of y when x[row][k] is row + k / 8. */
static float expected(int row, int column, int with_bias, float scale)
{
    float sum = with_bias ? bias[column] : 0.0f;
    int k;
    for (k = 0; k < IN; ++k)
        sum += ((float)row + (float)k / 8.0f) * weights[column * IN + k] * scale;
    return sum > 0.0f ? sum : 0.0f;
}

static qnnrt_tensor add(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind, uint32_t rows,
                        uint32_t columns, int dynamic)
{
    qnnrt_tensor_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.name = name;
    desc.kind = kind;
    desc.dtype = QNNRT_DTYPE_F32;
    desc.rank = rows == 0 ? 1 : 2;
    desc.dims[0] = rows == 0 ? columns : rows;
    desc.dims[1] = columns;
    desc.dynamic[0] = (uint8_t)dynamic;
    if (kind == QNNRT_TENSOR_UPDATEABLE || kind == QNNRT_TENSOR_STATIC) {
        desc.data = weights;
        desc.bytes = sizeof(weights);
    }
    return qnnrt_builder_tensor(b, &desc);
}

static void add_node(qnnrt_builder *b, const char *type, const qnnrt_tensor *inputs, size_t count,
                     qnnrt_tensor output)
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

static void open_backend(void)
{
    qnnrt_backend_desc desc;
    desc = test_ref_desc();
    desc.hooks = life_hooks();
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) printf("%s\n", err.text);
}

static qnnrt *build(int shards)
{
    qnnrt_builder *b;
    qnnrt_graph_desc graph;
    qnnrt_tensor in[3], middle, y;
    qnnrt *model = NULL;
    memset(&graph, 0, sizeof(graph));
    graph.name = "main";
    if (qnnrt_builder_create(backend, NULL, &b, &err) != QNNRT_OK) return NULL;
    qnnrt_builder_graph(b, &graph);
    in[0] = add(b, "x", QNNRT_TENSOR_INPUT, ROWS, IN, 1);
    in[1] = add(b, "w", QNNRT_TENSOR_UPDATEABLE, OUT, IN, 0);
    in[2] = add(b, "b", QNNRT_TENSOR_OPTIONAL_INPUT, 0, OUT, 0);
    middle = add(b, "h", shards == 1 ? QNNRT_TENSOR_INNER : QNNRT_TENSOR_OUTPUT, ROWS, OUT, 1);
    add_node(b, "FullyConnected", in, 3, middle);
    if (shards == 2) {
        qnnrt_builder_context(b, NULL);
        qnnrt_builder_graph(b, &graph);
        middle = add(b, "h", QNNRT_TENSOR_INPUT, ROWS, OUT, 1);
    }
    y = add(b, "y", QNNRT_TENSOR_OUTPUT, ROWS, OUT, 1);
    add_node(b, "Relu", &middle, 1, y);
    if (qnnrt_builder_finish(b, &model, &err) != QNNRT_OK) printf("%s\n", TEST_TOLD(err));
    return model;
}

/* Save the contexts of a built model and open them. */
static qnnrt *reopen(qnnrt *built)
{
    qnnrt_file files[2];
    qnnrt_desc desc;
    qnnrt *model = NULL;
    size_t i, count = qnnrt_get_info(built)->context_count, bytes;
    void *data[2] = { NULL, NULL };
    memset(files, 0, sizeof(files));
    memset(&desc, 0, sizeof(desc));
    for (i = 0; i < count; ++i) {
        if (qnnrt_save_memory(built, i, NULL, 0, &bytes, &err) != QNNRT_OK) return NULL;
        data[i] = malloc(bytes);
        if (qnnrt_save_memory(built, i, data[i], bytes, &bytes, &err) != QNNRT_OK) return NULL;
        files[i].data = data[i];
        files[i].bytes = bytes;
    }
    desc.files = files;
    desc.file_count = count;
    desc.backend = backend;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) printf("%s\n", TEST_TOLD(err));
    for (i = 0; i < count; ++i) free(data[i]);
    return model;
}

/* Open or build the model: 0 built, 1 opened, 2 built in two shards, 3 opened in two shards. */
static qnnrt *model_of(int how)
{
    qnnrt *built = build(how < 2 ? 1 : 2), *opened;
    if (how % 2 == 0 || built == NULL) return built;
    opened = reopen(built);
    if (qnnrt_close(built) != QNNRT_OK) printf("the built model is still in use\n");
    return opened;
}

/* Set rules for faults, and count calls from 0. */
static int faults_of(const char *rules)
{
    char command[200], why[200];
    snprintf(command, sizeof(command), "faults %s", rules);
    return ref.control(command, why, sizeof(why)) >= 0;
}

static void close_all(qnnrt *model)
{
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    NOTHING_LEFT();
}

static qnnrt_result set_rows(qnnrt_run *run, const char *name, uint32_t rows, uint32_t columns)
{
    uint32_t dims[2];
    dims[0] = rows;
    dims[1] = columns;
    return qnnrt_set_dims(run, qnnrt_run_slot(run, name), dims, 2);
}

/* Execute n rows, and compare all of y. */
static void run_rows(qnnrt_run *run, uint32_t n, int with_bias, float scale)
{
    const qnnrt_slot *x = qnnrt_run_slot(run, "x"), *y = qnnrt_run_slot(run, "y");
    const uint32_t *dims;
    uint32_t rank, i;
    size_t bytes;
    CHECK_EQ(set_rows(run, "x", n, IN), QNNRT_OK);
    for (i = 0; i < n * IN; ++i) values[i] = (float)(i / IN) + (float)(i % IN) / 8.0f;
    CHECK_EQ(qnnrt_write_f32(run, x, 0, values, n * IN), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, x, 0, values, n * IN + 1), QNNRT_E_MISMATCH);
    CHECK(qnnrt_data_slot(run, x, &bytes) != NULL);
    CHECK_EQ(bytes, n * IN * 4);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    dims = qnnrt_get_dims(run, y, &rank);
    CHECK(dims != NULL && rank == 2 && dims[0] == n && dims[1] == OUT);
    CHECK(qnnrt_data(run, "y", &bytes) != NULL);
    CHECK_EQ(bytes, n * OUT * 4);
    CHECK_EQ(qnnrt_read_f32(run, y, 0, values, n * OUT + 1), QNNRT_E_MISMATCH);
    CHECK_EQ(qnnrt_read_f32(run, y, 0, values, n * OUT), QNNRT_OK);
    for (i = 0; i < n * OUT; ++i) {
        const float right = expected((int)(i / OUT), (int)(i % OUT), with_bias, scale);
        CHECK(values[i] - right < 1e-4f && right - values[i] < 1e-4f);
    }
}

/* ---- dims ------------------------------------------------------------------------------------ */

TEST(dims_are_set_per_call_and_those_of_outputs_read)
{
    static const uint32_t rows[] = { 4, 1, 3, 2, 4 };
    qnnrt_run *run;
    qnnrt *model;
    char text[256];
    size_t i;
    int how;
    for (how = 0; how < 4; ++how) {
        const qnnrt_graph_info *graph;
        life_begin("");
        open_backend();
        model = model_of(how);
        CHECK(model != NULL);
        graph = qnnrt_get_info(model)->contexts[0].graphs;
        CHECK(graph->unsupported == NULL && graph->input_count == 2);
        CHECK(graph->inputs[0].dynamic_dims != NULL && graph->inputs[0].dynamic_dims[0] == 1);
        CHECK(graph->inputs[0].dynamic_dims[1] == 0 && graph->inputs[1].optional);
        CHECK_EQ(graph->updateable_count, 1);
        CHECK_STR(qnnrt_tensor_text(&graph->inputs[0], text, sizeof(text)), "float32[<=4,8]");
        CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_bind(run, "b", bias, sizeof(bias)), QNNRT_OK);
        for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
            TRY(run_rows(run, rows[i], 1, 1.0f));
        /* NULL: the bound again. */
        CHECK_EQ(qnnrt_set_dims(run, qnnrt_run_slot(run, "x"), NULL, 0), QNNRT_OK);
        CHECK_EQ(qnnrt_get_dims(run, qnnrt_run_slot(run, "x"), NULL)[0], ROWS);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ(qnnrt_get_dims(run, qnnrt_run_slot(run, "y"), NULL)[0], ROWS);
        qnnrt_run_destroy(run);
        TRY(close_all(model));
    }
}

/* Without qnnrt_device.h. */
TEST(dims_that_nothing_sets_are_refused)
{
    static const char *const calls[] = { "dynamic", "set", "omit" };
    size_t i;
    for (i = 0; i < sizeof(calls) / sizeof(calls[0]); ++i) {
        qnnrt_run *run;
        qnnrt *model;
        life_begin("");
        open_backend();
        model = model_of(0);
        CHECK(model != NULL);
        CHECK_EQ(qnnrt_prepare(model, "main", &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_bind(run, "b", bias, sizeof(bias)), QNNRT_OK);
        CHECK_EQ(qnnrt_get_dims(run, qnnrt_run_slot(run, "x"), NULL)[0], ROWS);
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
        CHECK_STR(qnnrt_run_error(run)->text, "is float32[<=4,");
        CHECK_STR(qnnrt_run_error(run)->text, "and its dims may change");
        CHECK_STR(qnnrt_run_error(run)->hint, "qnnrt_run_dynamic() or qnnrt_set_dims() of qnnrt_device.h");
        if (i == 0) CHECK_EQ(qnnrt_run_dynamic(run), QNNRT_OK);
        if (i == 1) CHECK_EQ(qnnrt_set_dims(run, qnnrt_run_slot(run, "x"), NULL, 0), QNNRT_OK);
        if (i == 2) CHECK_EQ(qnnrt_omit(run, qnnrt_run_slot(run, "b")), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ(qnnrt_run_dynamic(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        TRY(close_all(model));
    }
    CHECK_EQ(qnnrt_run_dynamic(NULL), QNNRT_E_ARG);
}

/* The memory of a plan holds the bound, and outputs may be limited to less. */
TEST(the_bound_is_planned_and_outputs_may_be_limited)
{
    static float x[ROWS * IN], y[ROWS * OUT];
    qnnrt_run *run;
    qnnrt *model;
    life_begin("");
    open_backend();
    model = model_of(3);
    CHECK(model != NULL);
    CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
    CHECK_EQ(set_rows(run, "x", 1, IN), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "x", x, sizeof(x) - 1), QNNRT_E_MISMATCH);
    CHECK_EQ(qnnrt_bind(run, "x", x, sizeof(x)), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "y", y, sizeof(y)), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "b", bias, sizeof(bias)), QNNRT_OK);
    TRY(run_rows(run, 3, 1, 1.0f));
    CHECK(y[0] == expected(0, 0, 1, 1.0f));
    qnnrt_run_destroy(run);
    TRY(close_all(model));
}

/* Memory is registered with fixed dims, so dynamic tensors are not. */
TEST(shared_memory_takes_fewer_rows)
{
    const qnnrt_transfer_info *list;
    const qnnrt_pipeline *pipeline;
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan_desc;
    qnnrt_mem_desc mem_desc;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    qnnrt *model;
    size_t count, i;
    memset(&entry, 0, sizeof(entry));
    memset(&plan_desc, 0, sizeof(plan_desc));
    memset(&mem_desc, 0, sizeof(mem_desc));
    life_begin("");
    open_backend();
    model = model_of(3);
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_pipeline_find(model, "main", &pipeline, &err), QNNRT_OK);
    entry.pipeline = pipeline;
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    CHECK(qnnrt_device_memory("memfd", &mem_desc));
    CHECK_EQ(qnnrt_plan_create(&plan_desc, &plan, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_create(plan, &mem_desc, &mem, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_run_create(mem, 0, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "b"), 0, bias, 4), QNNRT_OK);
    TRY(run_rows(run, 3, 1, 1.0f));
    CHECK_EQ(qnnrt_omit(run, qnnrt_run_slot(run, "b")), QNNRT_OK);
    TRY(run_rows(run, 1, 0, 1.0f));
    CHECK_EQ(qnnrt_bind(run, "b", NULL, 0), QNNRT_OK);
    TRY(run_rows(run, 4, 1, 1.0f));
    CHECK_EQ(qnnrt_run_transfers(run, &list, &count), QNNRT_OK);
    for (i = 0; i < count; ++i) {
        const int dynamic = list[i].slot->tensor->dynamic_dims != NULL;
        CHECK_EQ(list[i].registered, !dynamic);
        CHECK_STR(list[i].reason, dynamic ? "its dimensions may change" : "");
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    TRY(close_all(model));
}

TEST(dims_that_do_not_fit_are_refused_by_name)
{
    static const struct { uint32_t rank, dims[3]; const char *words; } cases[] = {
        { 2, { 5, 8, 0 }, "[5,8]" }, { 2, { 0, 8, 0 }, "[0,8]" }, { 2, { 4, 7, 0 }, "[4,7]" },
        { 2, { 4, 9, 0 }, "[4,9]" }, { 1, { 4, 0, 0 }, "[4]" }, { 3, { 4, 8, 1 }, "[4,8,1]" },
        { 0, { 0, 0, 0 }, "[]" }, { 2, { 0xFFFFFFFFu, 0xFFFFFFFFu, 0 }, "[4294967295,4294967295]" }
    };
    const qnnrt_slot *x, *b;
    qnnrt_run *run, *other;
    qnnrt *model;
    uint32_t dims[2] = { 4, 1 };
    size_t i;
    life_begin("");
    open_backend();
    model = model_of(1);
    CHECK(model != NULL);
    CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
    x = qnnrt_run_slot(run, "x");
    CHECK_EQ(qnnrt_bind(run, "b", bias, sizeof(bias)), QNNRT_OK);
    TRY(run_rows(run, 2, 1, 1.0f));
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        CHECK_EQ(qnnrt_set_dims(run, x, cases[i].dims, cases[i].rank), QNNRT_E_MISMATCH);
        CHECK_STR(qnnrt_run_error(run)->text, "\"x\" is float32[<=4,8]");
        CHECK_STR(qnnrt_run_error(run)->text, cases[i].words);
        CHECK(qnnrt_run_error(run)->hint[0] != '\0');
        CHECK_EQ(qnnrt_get_dims(run, x, NULL)[0], 2);
    }
    TRY(run_rows(run, 3, 1, 1.0f));
    /* Fixed dims can be set to what they are. */
    b = qnnrt_run_slot(run, "b");
    CHECK_EQ(qnnrt_set_dims(run, b, dims, 1), QNNRT_OK);
    CHECK_EQ(qnnrt_set_dims(run, b, dims + 1, 1), QNNRT_E_MISMATCH);
    CHECK_STR(qnnrt_run_error(run)->text, "\"b\" is float32[4], but the dims to set are [1]");
    CHECK_EQ(qnnrt_set_dims(run, b, NULL, 0), QNNRT_OK);
    CHECK_EQ(qnnrt_get_dims(run, b, NULL)[0], 4);
    CHECK_EQ(qnnrt_set_dims(run, NULL, dims, 1), QNNRT_E_NOT_FOUND);
    CHECK_EQ(qnnrt_set_dims(run, qnnrt_run_slot(run, "none"), dims, 1), QNNRT_E_NOT_FOUND);
    CHECK_STR(qnnrt_run_error(run)->text, "\"none\"");
    CHECK_EQ(qnnrt_set_dims(NULL, x, dims, 1), QNNRT_E_ARG);
    CHECK(qnnrt_get_dims(NULL, x, NULL) == NULL);
    CHECK_EQ(prepares(model, "main", &other, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_set_dims(run, x + 100, dims, 1), QNNRT_E_ARG);
    CHECK(qnnrt_get_dims(run, x + 100, NULL) == NULL);
    qnnrt_run_destroy(other);
    qnnrt_run_destroy(run);
    TRY(close_all(model));
}

/* An output that would be larger than what was set fails, and the next exec succeeds. */
TEST(an_output_larger_than_its_room_is_refused)
{
    qnnrt_run *run;
    qnnrt *model;
    int how;
    for (how = 1; how < 4; how += 2) {
        life_begin("");
        open_backend();
        model = model_of(how);
        CHECK(model != NULL);
        CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_bind(run, "b", bias, sizeof(bias)), QNNRT_OK);
        CHECK_EQ(set_rows(run, "y", 2, OUT), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
        CHECK_EQ(qnnrt_run_error(run)->vendor_code, 6036);
        CHECK_STR(qnnrt_run_error(run)->text, "QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE");
        CHECK_STR(qnnrt_run_error(run)->text, "output \"y\" becomes [4, 4], 64 bytes");
        TRY(run_rows(run, 2, 1, 1.0f));
        CHECK_EQ(qnnrt_set_dims(run, qnnrt_run_slot(run, "y"), NULL, 0), QNNRT_OK);
        TRY(run_rows(run, 4, 1, 1.0f));
        qnnrt_run_destroy(run);
        TRY(close_all(model));
    }
}

TEST(profiles_and_locks_see_dynamic_runs_too)
{
    const qnnrt_profile_event *events;
    size_t count;
    qnnrt_run *run;
    qnnrt *model;
    life_begin("");
    open_backend();
    model = model_of(3);
    CHECK(model != NULL);
    CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_omit(run, qnnrt_run_slot(run, "b")), QNNRT_OK);
    CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    TRY(run_rows(run, 3, 0, 1.0f));
    CHECK_EQ(qnnrt_run_events(run, &events, &count), QNNRT_OK);
    CHECK(count > 2 && events[count - 1].step == 1);
    CHECK(faults_of("fail=graphExecute:2:0x1770"));
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
    CHECK_EQ(qnnrt_run_events(run, &events, &count), QNNRT_E_STATE);
    CHECK(faults_of(""));
    CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_OFF), QNNRT_OK);
    TRY(run_rows(run, 1, 0, 1.0f));
    qnnrt_run_destroy(run);
    TRY(close_all(model));
}

/* ---- several dynamic dims, other operators --------------------------------------------------- */

static qnnrt_tensor shape(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind, uint32_t d0,
                          uint32_t d1, int dynamic0, int dynamic1)
{
    qnnrt_tensor_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.name = name;
    desc.kind = kind;
    desc.dtype = QNNRT_DTYPE_F32;
    desc.rank = 2;
    desc.dims[0] = d0;
    desc.dims[1] = d1;
    desc.dynamic[0] = (uint8_t)dynamic0;
    desc.dynamic[1] = (uint8_t)dynamic1;
    return qnnrt_builder_tensor(b, &desc);
}

static void add_axis_node(qnnrt_builder *b, const char *type, const char *param, double value,
                          const qnnrt_tensor *inputs, size_t count, qnnrt_tensor output)
{
    static const uint32_t turned[2] = { 1, 0 };
    qnnrt_node_desc desc;
    qnnrt_param_desc axis;
    memset(&desc, 0, sizeof(desc));
    memset(&axis, 0, sizeof(axis));
    axis.name = param;
    axis.dtype = QNNRT_DTYPE_U32;
    axis.value = value;
    if (strcmp(param, "perm") == 0) {
        axis.data = turned;
        axis.rank = 1;
        axis.dims[0] = 2;
    }
    desc.type = type;
    desc.inputs = inputs;
    desc.input_count = count;
    desc.outputs = &output;
    desc.output_count = 1;
    desc.params = &axis;
    desc.param_count = 1;
    qnnrt_builder_node(b, &desc);
}

/* a[m,3], c[n,3]: t[3,n] = transposed c, p[m,n] = a * t, s = softmax(p), q[m + n,3] = a above c,
   r[3m + 3n,1] = q reshaped. */
TEST(dims_are_found_through_operators_of_all_kinds)
{
    static const uint32_t sizes[][2] = { { 4, 5 }, { 1, 1 }, { 3, 2 }, { 2, 5 }, { 4, 1 } };
    qnnrt_builder *b;
    qnnrt_graph_desc graph;
    qnnrt_tensor in[2], t, p, s, q, r;
    qnnrt *built, *model;
    qnnrt_run *run;
    size_t i;
    memset(&graph, 0, sizeof(graph));
    graph.name = "main";
    life_begin("");
    open_backend();
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
    qnnrt_builder_graph(b, &graph);
    in[0] = shape(b, "a", QNNRT_TENSOR_INPUT, 4, 3, 1, 0);
    in[1] = shape(b, "c", QNNRT_TENSOR_INPUT, 5, 3, 1, 0);
    t = shape(b, "t", QNNRT_TENSOR_INNER, 3, 5, 0, 1);
    p = shape(b, "p", QNNRT_TENSOR_INNER, 4, 5, 1, 1);
    s = shape(b, "s", QNNRT_TENSOR_OUTPUT, 4, 5, 1, 1);
    q = shape(b, "q", QNNRT_TENSOR_OUTPUT, 9, 3, 1, 0);
    r = shape(b, "r", QNNRT_TENSOR_OUTPUT, 27, 1, 1, 0);
    add_axis_node(b, "Transpose", "perm", 0, &in[1], 1, t);
    add_axis_node(b, "Concat", "axis", 0, in, 2, q);
    add_node(b, "Reshape", &q, 1, r);
    in[1] = t;
    add_node(b, "MatMul", in, 2, p);
    add_axis_node(b, "Softmax", "axis", 1, &p, 1, s);
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", TEST_TOLD(err));
    CHECK(built != NULL);
    model = reopen(built);
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        const uint32_t m = sizes[i][0], n = sizes[i][1], *dims;
        uint32_t k, row;
        CHECK_EQ(set_rows(run, "a", m, 3), QNNRT_OK);
        CHECK_EQ(set_rows(run, "c", n, 3), QNNRT_OK);
        for (k = 0; k < 15; ++k) values[k] = (float)k * 0.25f;
        CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "a"), 0, values, m * 3), QNNRT_OK);
        CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "c"), 0, values, n * 3), QNNRT_OK);
        if (qnnrt_exec(run) != QNNRT_OK) printf("%s\n", qnnrt_run_error(run)->text);
        dims = qnnrt_get_dims(run, qnnrt_run_slot(run, "s"), NULL);
        CHECK(dims[0] == m && dims[1] == n);
        CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "s"), 0, values, m * n), QNNRT_OK);
        for (row = 0; row < m; ++row) {
            float sum = 0.0f;
            for (k = 0; k < n; ++k) sum += values[row * n + k];
            CHECK(sum > 0.999f && sum < 1.001f);
        }
        dims = qnnrt_get_dims(run, qnnrt_run_slot(run, "q"), NULL);
        CHECK(dims[0] == m + n && dims[1] == 3);
        dims = qnnrt_get_dims(run, qnnrt_run_slot(run, "r"), NULL);
        CHECK(dims[0] == 3 * (m + n) && dims[1] == 1);
        CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "q"), m * 3, values, 1), QNNRT_OK);
        CHECK(values[0] == 0.0f);
    }
    qnnrt_run_destroy(run);
    TRY(close_all(model));
}

/* ---- optional tensors ------------------------------------------------------------------------ */

TEST(optional_inputs_are_left_out_and_taken_in_again)
{
    const qnnrt_slot *b;
    qnnrt_run *run;
    qnnrt *model;
    int how;
    for (how = 0; how < 4; ++how) {
        life_begin("");
        open_backend();
        model = model_of(how);
        CHECK(model != NULL);
        CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
        b = qnnrt_run_slot(run, "b");
        CHECK_EQ(qnnrt_bind_input(run, b, bias, sizeof(bias)), QNNRT_OK);
        TRY(run_rows(run, 4, 1, 1.0f));
        CHECK_EQ(qnnrt_omit(run, b), QNNRT_OK);
        TRY(run_rows(run, 2, 0, 1.0f));
        CHECK_EQ(qnnrt_omit(run, b), QNNRT_OK);
        TRY(run_rows(run, 4, 0, 1.0f));
        CHECK_EQ(qnnrt_bind_input(run, b, bias, sizeof(bias)), QNNRT_OK);
        TRY(run_rows(run, 3, 1, 1.0f));
        CHECK_EQ(qnnrt_omit(run, qnnrt_run_slot(run, "x")), QNNRT_E_ARG);
        CHECK_STR(qnnrt_run_error(run)->text, "input \"x\" is required");
        CHECK_EQ(qnnrt_omit(run, qnnrt_run_slot(run, "y")), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_omit(run, qnnrt_run_slot(run, "none")), QNNRT_E_NOT_FOUND);
        CHECK_EQ(qnnrt_omit(run, b + 100), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_omit(NULL, b), QNNRT_E_ARG);
        if (how >= 2) {
            CHECK_EQ(qnnrt_omit(run, qnnrt_run_slot(run, "h")), QNNRT_E_ARG);
            CHECK_STR(qnnrt_run_error(run)->text, "edge \"h\" is required");
        }
        TRY(run_rows(run, 1, 1, 1.0f));
        qnnrt_run_destroy(run);
        TRY(close_all(model));
    }
}

/* Dynamic tensors are not registered, because a registration has dims; an optional one is, and can
   be left out all the same. */
TEST(shared_memory_registers_what_has_fixed_dims)
{
    qnnrt_entry_desc entry;
    qnnrt_plan_desc desc;
    qnnrt_mem_desc shared;
    int how;
    memset(&entry, 0, sizeof(entry));
    memset(&desc, 0, sizeof(desc));
    memset(&shared, 0, sizeof(shared));
    desc.entries = &entry;
    desc.entry_count = 1;
    CHECK(qnnrt_device_memory("memfd", &shared));
    for (how = 0; how < 4; ++how) {
        const qnnrt_transfer_info *list;
        size_t count, i;
        qnnrt_plan *plan;
        qnnrt_mem *mem;
        qnnrt_run *run;
        qnnrt *model;
        life_begin("");
        open_backend();
        model = model_of(how);
        CHECK(model != NULL);
        CHECK_EQ(qnnrt_pipeline_find(model, "main", &entry.pipeline, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_plan_create(&desc, &plan, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_mem_create(plan, &shared, &mem, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_run_create(mem, 0, &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_run_transfers(run, &list, &count), QNNRT_OK);
        CHECK_EQ(count, how < 2 ? 3 : 5);
        for (i = 0; i < count; ++i) {
            CHECK_EQ(list[i].registered, strcmp(list[i].slot->tensor->name, "b") == 0);
            if (!list[i].registered) CHECK_STR(list[i].reason, "dimensions may change");
        }
        CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "b"), 0, bias, OUT), QNNRT_OK);
        TRY(run_rows(run, 3, 1, 1.0f));
        CHECK_EQ(qnnrt_omit(run, qnnrt_run_slot(run, "b")), QNNRT_OK);
        TRY(run_rows(run, 4, 0, 1.0f));
        CHECK_EQ(qnnrt_bind(run, "b", NULL, 0), QNNRT_OK);
        TRY(run_rows(run, 2, 1, 1.0f));
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
        CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
        TRY(close_all(model));
    }
}

/* A slot without memory of the plan must be bound, or left out. */
TEST(what_is_left_out_needs_no_memory)
{
    const qnnrt_pipeline *pipeline;
    qnnrt_entry_desc entry;
    qnnrt_place_desc place;
    qnnrt_plan_desc desc;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    const qnnrt_slot *b;
    qnnrt *model;
    int i;
    memset(&entry, 0, sizeof(entry));
    memset(&place, 0, sizeof(place));
    memset(&desc, 0, sizeof(desc));
    life_begin("");
    open_backend();
    model = model_of(1);
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_pipeline_find(model, "main", &pipeline, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_slot_find(pipeline, "b", QNNRT_ROLE_INPUT, &b, &err), QNNRT_OK);
    entry.pipeline = pipeline;
    place.slot = b;
    place.caller_io = 1;
    desc.entries = &entry;
    desc.entry_count = 1;
    desc.places = &place;
    desc.place_count = 1;
    CHECK_EQ(qnnrt_plan_create(&desc, &plan, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_create(plan, NULL, &mem, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_run_create(mem, 0, &run, &err), QNNRT_OK);
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
        CHECK_STR(qnnrt_run_error(run)->text, "\"b\"");
        CHECK_EQ(qnnrt_omit(run, b), QNNRT_OK);
        TRY(run_rows(run, 2, 0, 1.0f));
        CHECK_EQ(qnnrt_bind_input(run, b, bias, sizeof(bias)), QNNRT_OK);
        TRY(run_rows(run, 2, 1, 1.0f));
        CHECK_EQ(qnnrt_omit(run, b), QNNRT_OK);
        TRY(run_rows(run, 3, 0, 1.0f));
        CHECK_EQ(qnnrt_bind_input(run, b, NULL, 0), QNNRT_OK);
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    TRY(close_all(model));
}

/* ---- updates --------------------------------------------------------------------------------- */

TEST(updateable_data_is_replaced_between_calls)
{
    static float other[32];
    qnnrt_run *run;
    qnnrt *model;
    int how, i;
    for (how = 0; how < 4; ++how) {
        life_begin("");
        open_backend();
        model = model_of(how);
        CHECK(model != NULL);
        CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_bind(run, "b", bias, sizeof(bias)), QNNRT_OK);
        TRY(run_rows(run, 4, 1, 1.0f));
        for (i = 0; i < 32; ++i) other[i] = weights[i] * -2.0f;
        CHECK_EQ(qnnrt_update(model, 0, "main", "w", other, sizeof(other), &err), QNNRT_OK);
        for (i = 0; i < 32; ++i) other[i] = 99.0f;
        TRY(run_rows(run, 3, 1, -2.0f));
        CHECK_EQ(qnnrt_update(model, 0, "main", "w", weights, sizeof(weights), &err), QNNRT_OK);
        TRY(run_rows(run, 3, 1, 1.0f));
        qnnrt_run_destroy(run);
        TRY(close_all(model));
    }
}

TEST(updates_that_are_not_possible_are_refused_by_name)
{
    qnnrt_run *run;
    qnnrt *model;
    life_begin("");
    open_backend();
    model = model_of(3);
    CHECK(model != NULL);
    CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "b", bias, sizeof(bias)), QNNRT_OK);
    CHECK_EQ(qnnrt_update(model, 0, "main", "w", weights, 127, &err), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "\"w\" needs 128 bytes, the data has 127");
    CHECK_EQ(qnnrt_update(model, 0, "main", "x", weights, 128, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"x\" is an input and not updateable");
    CHECK_EQ(qnnrt_update(model, 0, "main", "h", weights, 64, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"h\" is an output and not updateable");
    CHECK_EQ(qnnrt_update(model, 0, "main", "v", weights, 128, &err), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "no updateable tensor \"v\"; it lists \"w\"");
    CHECK_EQ(qnnrt_update(model, 1, "main", "w", weights, 128, &err), QNNRT_E_NOT_FOUND);
    CHECK_EQ(qnnrt_update(model, 0, "other", "w", weights, 128, &err), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "no graph \"other\"");
    CHECK_EQ(qnnrt_update(model, 2, "main", "w", weights, 128, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "context 2 does not exist");
    CHECK_EQ(qnnrt_update(NULL, 0, "main", "w", weights, 128, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_update(model, 0, NULL, "w", weights, 128, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_update(model, 0, "main", NULL, weights, 128, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_update(model, 0, "main", "w", NULL, 128, NULL), QNNRT_E_ARG);
    /* The vendor refuses: the old data holds, and a second attempt succeeds. */
    CHECK(faults_of("fail=tensorUpdateGraphTensors:1:0x1b5f"));
    CHECK_EQ(qnnrt_update(model, 0, "main", "w", weights, 128, &err), QNNRT_E_BACKEND);
    CHECK_EQ(err.vendor_code, 7007);
    CHECK_STR(err.text, "QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE");
    TRY(run_rows(run, 2, 1, 1.0f));
    CHECK_EQ(qnnrt_update(model, 0, "main", "w", weights, 128, &err), QNNRT_OK);
    CHECK(faults_of(""));
    TRY(run_rows(run, 2, 1, 1.0f));
    qnnrt_run_destroy(run);
    TRY(close_all(model));
}

/* ---- wiring ---------------------------------------------------------------------------------- */

/* The bound alone does not make two ends fit. */
TEST(a_dynamic_output_does_not_feed_a_fixed_input)
{
    qnnrt_builder *b;
    qnnrt_graph_desc graph;
    qnnrt_tensor x, h, y;
    qnnrt *model;
    qnnrt_run *run;
    memset(&graph, 0, sizeof(graph));
    graph.name = "main";
    life_begin("");
    open_backend();
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
    qnnrt_builder_graph(b, &graph);
    x = add(b, "x", QNNRT_TENSOR_INPUT, 4, 4, 1);
    h = add(b, "h", QNNRT_TENSOR_OUTPUT, 4, 4, 1);
    add_node(b, "Relu", &x, 1, h);
    qnnrt_builder_context(b, NULL);
    qnnrt_builder_graph(b, &graph);
    h = add(b, "h", QNNRT_TENSOR_INPUT, 4, 4, 0);
    y = add(b, "y", QNNRT_TENSOR_OUTPUT, 4, 4, 0);
    add_node(b, "Relu", &h, 1, y);
    CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_OK);
    CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "float32[<=4,4]");
    CHECK_STR(err.text, "float32[4,4]");
    TRY(close_all(model));
}

TEST(data_and_dynamic_dims_do_not_go_together)
{
    qnnrt_builder *b;
    qnnrt_graph_desc graph;
    qnnrt *model;
    memset(&graph, 0, sizeof(graph));
    graph.name = "main";
    life_begin("");
    open_backend();
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
    qnnrt_builder_graph(b, &graph);
    add(b, "w", QNNRT_TENSOR_UPDATEABLE, OUT, IN, 1);
    CHECK_STR(qnnrt_builder_error(b)->text, "tensor \"w\" has data, so its dimension 0");
    CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    NOTHING_LEFT();
}

/* ---- other backends: the fake ---------------------------------------------------------------- */

/* Open a text as a context of the fake, with these knobs. */
static qnnrt *open_fake_as(const char *knobs, const char *text, qnnrt_residency residency)
{
    qnnrt_file file;
    qnnrt_desc desc;
    qnnrt *model;
    memset(&file, 0, sizeof(file));
    memset(&desc, 0, sizeof(desc));
    setenv("QNNFAKE", knobs, 1);
    file.data = text;
    file.bytes = strlen(text);
    desc.files = &file;
    desc.file_count = 1;
    desc.backend_desc.path = TEST_FAKE_LIB;
    desc.residency = residency;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) printf("%s\n", TEST_TOLD(err));
    return model;
}

static qnnrt *open_fake(const char *knobs, const char *text)
{
    return open_fake_as(knobs, text, QNNRT_RESIDENT_ALL);
}

#define HEAD "FAKEQNN 1\n# at least 64 bytes, at least 64 bytes, at least 64 bytes\n"
#define CPU_TEXT HEAD "backend 3\ngraph g\nin x 1 0232 2 4 8 - dyn=1,0\n" \
                 "in o 2 0232 1 1 - type=11\nout y 3 0232 2 4 2 - dyn=1,0\n" \
                 "out z 4 0232 2 4 2 - dyn=1,0\n" \
                 "upd w 5 0232 1 4 - type=6\nupd e 6 0316 1 4 s 1 0 type=9\n"

/* The CPU library does not find dims, and takes no optional tensors. */
TEST(on_the_cpu_library_the_caller_sets_the_dims_of_outputs)
{
    qnnrt_run *run;
    qnnrt *model = open_fake("id=3,tensor=2,noverify=1,fail=graphExecute:0x1774:2", CPU_TEXT);
    CHECK(model != NULL);
    CHECK(qnnrt_get_info(model)->contexts[0].graphs[0].unsupported == NULL);
    CHECK_EQ(prepares(model, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);                 /* full dims need no help */
    CHECK_EQ(set_rows(run, "x", 3, 8), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
    CHECK_STR(qnnrt_run_error(run)->text, "input \"x\" has fewer elements than its bound");
    CHECK_STR(qnnrt_run_error(run)->text, "dims of output \"y\" are not set");
    CHECK_EQ(set_rows(run, "y", 3, 2), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
    CHECK_STR(qnnrt_run_error(run)->text, "dims of output \"z\" are not set");
    CHECK_EQ(set_rows(run, "z", 3, 2), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);          /* on demand, as with an optional tensor */
    CHECK_STR(qnnrt_run_error(run)->text, "0x1774");
    CHECK_STR(qnnrt_run_error(run)->hint, "qnnrt_omit()");
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_get_dims(run, qnnrt_run_slot(run, "y"), NULL)[0], 3);
    CHECK_EQ(qnnrt_update(model, 0, "g", "w", weights, 16, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "\"w\": the backend has no updates");
    CHECK_EQ(qnnrt_update(model, 0, "g", "e", weights, 8, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "\"e\" has no data of its own");
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

/* That library takes memory for the dims of the first execute: it is made with the bound. */
TEST(on_the_cpu_library_the_first_execute_has_the_bound)
{
    qnnrt_run *run;
    qnnrt *model = open_fake("id=3,tensor=2,noverify=1,fail=graphExecute:0x1770:2", CPU_TEXT);
    CHECK(model != NULL);
    CHECK_EQ(prepares(model, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(set_rows(run, "x", 3, 8), QNNRT_OK);
    CHECK_EQ(set_rows(run, "y", 2, 2), QNNRT_OK);
    CHECK_EQ(set_rows(run, "z", 3, 2), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);          /* the second of two executes */
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_get_dims(run, qnnrt_run_slot(run, "x"), NULL)[0], 3);
    CHECK_EQ(qnnrt_get_dims(run, qnnrt_run_slot(run, "y"), NULL)[0], 2);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

/* The graph of a context that was created again was never executed. */
TEST(on_the_cpu_library_the_first_execute_after_a_load_has_it_too)
{
    qnnrt_run *run;
    qnnrt *model = open_fake_as("id=3,tensor=2,noverify=1,fail=graphExecute:0x1770:4", CPU_TEXT,
                                QNNRT_RESIDENT_CALLER);
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_context_load(model, 0, &err), QNNRT_OK);
    CHECK_EQ(prepares(model, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(set_rows(run, "x", 3, 8), QNNRT_OK);
    CHECK_EQ(set_rows(run, "y", 2, 2), QNNRT_OK);
    CHECK_EQ(set_rows(run, "z", 3, 2), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);                 /* two executes of the library */
    CHECK_EQ(qnnrt_context_unload(model, 0, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_context_load(model, 0, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);          /* the fourth */
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

TEST(on_htp_all_three_are_refused_by_name)
{
    static const char *const texts[][2] = {
        { HEAD "graph g\nin x 1 0232 2 4 8 - dyn=1,0\nout y 3 0232 1 2 -\n",
          "\"x\" has dynamic dimensions" },
        { HEAD "graph g\nin x 1 0232 1 2 - type=11\nout y 3 0232 1 2 -\n", "\"x\" is optional" },
        { HEAD "graph g\nin x 1 0232 1 2 -\nout y 3 0232 1 2 - type=12\n", "\"y\" is optional" }
    };
    qnnrt_run *run;
    qnnrt *model;
    size_t i;
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        model = open_fake("tensor=2", texts[i][0]);
        CHECK(model != NULL);
        CHECK_STR(qnnrt_get_info(model)->contexts[0].graphs[0].unsupported, texts[i][1]);
        CHECK_STR(qnnrt_get_info(model)->contexts[0].graphs[0].unsupported, "HTP");
        CHECK_EQ(prepares(model, NULL, &run, &err), QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, texts[i][1]);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    }
    model = open_fake("", HEAD "graph g\nin x 1 0232 1 2 -\nout y 3 0232 1 2 -\n"
                          "upd w 5 0232 1 4 -\n");
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_update(model, 0, "g", "w", weights, 15, &err), QNNRT_E_MISMATCH);
    CHECK_EQ(qnnrt_update(model, 0, "g", "w", weights, 16, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "cannot update \"w\": HTP");
    CHECK_EQ(prepares(model, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(set_rows(run, "x", 1, 1), QNNRT_E_MISMATCH);
    CHECK_EQ(qnnrt_omit(run, qnnrt_run_slot(run, "x")), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(run)->text, "input \"x\" is required");
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

/* A library in disorder writes dims past the bound, or 0. */
TEST(dims_that_a_library_writes_are_checked)
{
    static const char text[] = HEAD "backend 77\ngraph g\nin x 1 0232 2 4 8 - dyn=1,0\n"
                               "out y 3 0232 2 4 2 - dyn=1,0\n";
    static const struct { const char *knobs; uint32_t limit; qnnrt_result result; } cases[] = {
        { "id=77,tensor=2,noverify=1,told=4", 0, QNNRT_OK },
        { "id=77,tensor=2,noverify=1,told=1", 0, QNNRT_OK },
        { "id=77,tensor=2,noverify=1,told=5", 0, QNNRT_E_BACKEND },
        { "id=77,tensor=2,noverify=1,told=4294967295", 0, QNNRT_E_BACKEND },
        { "id=77,tensor=2,noverify=1,told=3", 2, QNNRT_E_BACKEND }
    };
    size_t i, bytes;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        qnnrt_run *run;
        qnnrt *model = open_fake(cases[i].knobs, text);
        CHECK(model != NULL);
        CHECK_EQ(prepares(model, NULL, &run, &err), QNNRT_OK);
        if (cases[i].limit != 0) CHECK_EQ(set_rows(run, "y", cases[i].limit, 2), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), cases[i].result);
        if (cases[i].result != QNNRT_OK) {
            CHECK_STR(qnnrt_run_error(run)->text, "output \"y\" is float32[<=4,2]");
            CHECK(qnnrt_data(run, "y", &bytes) != NULL && bytes <= 32);
        }
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    }
}

TEST_MAIN("dynamic")
{
    fill_data();
    RUN(dims_are_set_per_call_and_those_of_outputs_read);
    RUN(dims_that_nothing_sets_are_refused);
    RUN(the_bound_is_planned_and_outputs_may_be_limited);
    RUN(shared_memory_takes_fewer_rows);
    RUN(dims_that_do_not_fit_are_refused_by_name);
    RUN(an_output_larger_than_its_room_is_refused);
    RUN(profiles_and_locks_see_dynamic_runs_too);
    RUN(dims_are_found_through_operators_of_all_kinds);
    RUN(optional_inputs_are_left_out_and_taken_in_again);
    RUN(shared_memory_registers_what_has_fixed_dims);
    RUN(what_is_left_out_needs_no_memory);
    RUN(updateable_data_is_replaced_between_calls);
    RUN(updates_that_are_not_possible_are_refused_by_name);
    RUN(a_dynamic_output_does_not_feed_a_fixed_input);
    RUN(data_and_dynamic_dims_do_not_go_together);
    RUN(on_the_cpu_library_the_caller_sets_the_dims_of_outputs);
    RUN(on_the_cpu_library_the_first_execute_has_the_bound);
    RUN(on_the_cpu_library_the_first_execute_after_a_load_has_it_too);
    RUN(on_htp_all_three_are_refused_by_name);
    RUN(dims_that_a_library_writes_are_checked);
}
