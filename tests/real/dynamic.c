/* dynamic.c - dims per call, optional tensors and updates on Qualcomm's genuine libraries: the CPU
   library computes with fewer rows, and everything else is refused by name */
#include "real.h"
#include "qnnrt_builder.h"
#include "qnnrt_device.h"
#include <math.h>

static qnnrt_error err;

/* Prepare a run whose dims may change. */
static qnnrt_result prepares(qnnrt *model, const char *name, qnnrt_run **run, qnnrt_error *error)
{
    const qnnrt_result result = qnnrt_prepare(model, name, run, error);
    return result == QNNRT_OK ? qnnrt_run_dynamic(*run) : result;
}
static float values[64];

static qnnrt_backend *open_library(const char *name)
{
    char path[1024];
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    memset(&desc, 0, sizeof(desc));
    desc.path = real_library(path, name);
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) printf("%s\n", err.text);
    return backend;
}

/* True if the CPU library exists: only 2.47 has it. */
static int has_cpu(void)
{
    char path[1024];
    return real_exists(real_library(path, "libQnnCpu.so"));
}

static qnnrt_builder *begin(qnnrt_backend *backend)
{
    qnnrt_graph_desc graph;
    qnnrt_builder *b = NULL;
    memset(&graph, 0, sizeof(graph));
    graph.name = "main";
    if (qnnrt_builder_create(backend, NULL, &b, &err) == QNNRT_OK) qnnrt_builder_graph(b, &graph);
    return b;
}

/* Add a float32 tensor; rank 4 adds two dims of 1 in front. */
static qnnrt_tensor add(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind, uint32_t rank,
                        uint32_t rows, uint32_t columns, int dynamic)
{
    static const float ones[64] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    qnnrt_tensor_desc t;
    memset(&t, 0, sizeof(t));
    t.name = name;
    t.kind = kind;
    t.dtype = QNNRT_DTYPE_F32;
    t.rank = rank;
    t.dims[0] = rank == 2 ? rows : 1;
    t.dims[1] = rank == 2 ? columns : 1;
    t.dims[2] = rows;
    t.dims[3] = columns;
    if (rank == 1) t.dims[0] = columns;
    t.dynamic[0] = (uint8_t)dynamic;
    if (kind == QNNRT_TENSOR_STATIC || kind == QNNRT_TENSOR_UPDATEABLE) {
        t.data = ones;
        t.bytes = (size_t)rows * columns * 4;
    }
    return qnnrt_builder_tensor(b, &t);
}

static void add_node(qnnrt_builder *b, const char *type, const qnnrt_tensor *inputs, size_t count,
                     qnnrt_tensor output, const qnnrt_param_desc *params, size_t param_count)
{
    qnnrt_node_desc node;
    memset(&node, 0, sizeof(node));
    node.type = type;
    node.inputs = inputs;
    node.input_count = count;
    node.outputs = &output;
    node.output_count = 1;
    node.params = params;
    node.param_count = param_count;
    qnnrt_builder_node(b, &node);
}

/* Save the context of a built model and open it. */
static qnnrt *reopen(qnnrt_backend *backend, qnnrt *built)
{
    char system[1024], path[1024];
    qnnrt_desc desc;
    qnnrt_file file;
    qnnrt *model = NULL;
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    snprintf(path, sizeof(path), "%.900s/dynamic.bin", test_tmpdir());
    if (qnnrt_save(built, 0, path, &err) != QNNRT_OK) return NULL;
    file.path = path;
    desc.backend = backend;
    desc.system_path = real_library(system, "libQnnSystem.so");
    desc.files = &file;
    desc.file_count = 1;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    return model;
}

static qnnrt_result set_rows(qnnrt_run *run, const char *name, uint32_t rows)
{
    uint32_t dims[2] = { 0, 4 };
    dims[0] = rows;
    return qnnrt_set_dims(run, qnnrt_run_slot(run, name), dims, 2);
}

/* Execute y = sigmoid(a + c) with n rows. */
static void run_rows(qnnrt_run *run, uint32_t n)
{
    uint32_t i;
    size_t bytes;
    CHECK_EQ(set_rows(run, "a", n), QNNRT_OK);
    CHECK_EQ(set_rows(run, "c", n), QNNRT_OK);
    CHECK_EQ(set_rows(run, "h", n), QNNRT_OK);
    CHECK_EQ(set_rows(run, "y", n), QNNRT_OK);
    for (i = 0; i < n * 4; ++i) values[i] = (float)i * 0.1f - 1.0f;
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "a"), 0, values, n * 4), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "c"), 0, values, n * 4), QNNRT_OK);
    if (qnnrt_exec(run) != QNNRT_OK) printf("%s\n", qnnrt_run_error(run)->text);
    CHECK_EQ(qnnrt_run_error(run)->code, QNNRT_OK);
    CHECK_EQ(qnnrt_get_dims(run, qnnrt_run_slot(run, "y"), NULL)[0], n);
    CHECK(qnnrt_data(run, "y", &bytes) != NULL && bytes == n * 16);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, values, n * 4), QNNRT_OK);
    for (i = 0; i < n * 4; ++i) {
        const double sum = 2.0 * ((double)i * 0.1 - 1.0);
        CHECK(fabs((double)values[i] - 1.0 / (1.0 + exp(-sum))) < 1e-5);
    }
}

/* Two contexts, so that an edge is dynamic too. */
TEST(the_cpu_computes_with_fewer_rows)
{
    static const uint32_t rows[] = { 3, 8, 5, 1, 8 };
    qnnrt_backend *backend;
    qnnrt_builder *b;
    qnnrt_tensor in[2], h, y;
    qnnrt_run *run;
    qnnrt *model;
    size_t i;
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnCpu.so");
    CHECK(backend != NULL);
    b = begin(backend);
    in[0] = add(b, "a", QNNRT_TENSOR_INPUT, 2, 8, 4, 1);
    in[1] = add(b, "c", QNNRT_TENSOR_INPUT, 2, 8, 4, 1);
    h = add(b, "h", QNNRT_TENSOR_OUTPUT, 2, 8, 4, 1);
    add_node(b, "ElementWiseAdd", in, 2, h, NULL, 0);
    qnnrt_builder_context(b, NULL);
    {
        qnnrt_graph_desc graph;
        memset(&graph, 0, sizeof(graph));
        graph.name = "main";
        qnnrt_builder_graph(b, &graph);
    }
    h = add(b, "h", QNNRT_TENSOR_INPUT, 2, 8, 4, 1);
    y = add(b, "y", QNNRT_TENSOR_OUTPUT, 2, 8, 4, 1);
    add_node(b, "Sigmoid", &h, 1, y, NULL, 0);
    if (qnnrt_builder_finish(b, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(model != NULL);
    CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
    /* The library would write beyond its memory. */
    CHECK_EQ(set_rows(run, "a", 3), QNNRT_OK);
    CHECK_EQ(set_rows(run, "c", 3), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
    CHECK_STR(qnnrt_run_error(run)->text, "\"h\"");
    qnnrt_run_destroy(run);
    CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) TRY(run_rows(run, rows[i]));
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* The file of this library has the dims of the last execute, so saving executes with the bound. */
TEST(a_file_of_the_cpu_has_the_bound)
{
    qnnrt_backend *backend;
    qnnrt_builder *b;
    qnnrt_tensor x, y;
    qnnrt_run *run;
    qnnrt *built, *model;
    const qnnrt_tensor_info *info;
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnCpu.so");
    CHECK(backend != NULL);
    b = begin(backend);
    x = add(b, "x", QNNRT_TENSOR_INPUT, 2, 8, 4, 1);
    y = add(b, "y", QNNRT_TENSOR_OUTPUT, 2, 8, 4, 1);
    add_node(b, "Softmax", &x, 1, y, NULL, 0);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    CHECK_EQ(prepares(built, "main", &run, &err), QNNRT_OK);
    CHECK_EQ(set_rows(run, "x", 2), QNNRT_OK);
    CHECK_EQ(set_rows(run, "y", 2), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    model = reopen(backend, built);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(model != NULL);
    info = qnnrt_get_info(model)->contexts[0].graphs[0].inputs;
    CHECK(info->dynamic_dims != NULL && info->dynamic_dims[0] && !info->dynamic_dims[1]);
    CHECK(info->dims[0] == 8 && info->dims[1] == 4);
    CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
    CHECK_EQ(set_rows(run, "x", 5), QNNRT_OK);
    CHECK_EQ(set_rows(run, "y", 5), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, values, 20), QNNRT_OK);
    CHECK(fabs((double)values[19] - 0.25) < 1e-6);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* y = x * w + b with an optional b. */
static qnnrt_builder *with_bias(qnnrt_backend *backend)
{
    qnnrt_builder *b = begin(backend);
    qnnrt_tensor in[3], y;
    in[0] = add(b, "x", QNNRT_TENSOR_INPUT, 2, 1, 4, 0);
    in[1] = add(b, "w", QNNRT_TENSOR_STATIC, 2, 3, 4, 0);
    in[2] = add(b, "b", QNNRT_TENSOR_OPTIONAL_INPUT, 1, 1, 3, 0);
    y = add(b, "y", QNNRT_TENSOR_OUTPUT, 2, 1, 3, 0);
    add_node(b, "FullyConnected", in, 3, y, NULL, 0);
    return b;
}

TEST(the_cpu_runs_without_its_optional_input_only)
{
    static const float x[4] = { 1, 2, 3, 4 };
    qnnrt_backend *backend;
    qnnrt_run *run;
    qnnrt *built, *model;
    int i;
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnCpu.so");
    CHECK(backend != NULL);
    CHECK_EQ(qnnrt_builder_finish(with_bias(backend), &built, &err), QNNRT_OK);
    CHECK_EQ(prepares(built, "main", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, 4), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
    CHECK_EQ(qnnrt_run_error(run)->vendor_code & 0xFFFF, 0x1774);
    CHECK_STR(qnnrt_run_error(run)->hint, "qnnrt_omit()");
    CHECK_EQ(qnnrt_omit(run, qnnrt_run_slot(run, "b")), QNNRT_OK);
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, values, 3), QNNRT_OK);
        CHECK(fabs((double)values[0] - 10) < 1e-5 && fabs((double)values[2] - 10) < 1e-5);
    }
    qnnrt_run_destroy(run);
    model = reopen(backend, built);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_get_info(model)->contexts[0].graphs[0].input_count, 1);    /* without "b" */
    CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* y = x * w, a 1x1 convolution with updateable weights: HTP supports few operators with these. */
static qnnrt_builder *with_update(qnnrt_backend *backend)
{
    static const uint32_t one[4] = { 1, 1, 1, 1 }, zero[4] = { 0, 0, 0, 0 };
    qnnrt_builder *b = begin(backend);
    qnnrt_param_desc params[2];
    qnnrt_tensor in[2], y;
    memset(params, 0, sizeof(params));
    params[0].name = "stride";
    params[0].data = one;
    params[0].rank = 1;
    params[1].name = "pad_amount";
    params[1].data = zero;
    params[1].rank = 2;
    params[0].dtype = params[1].dtype = QNNRT_DTYPE_U32;
    params[0].dims[0] = params[1].dims[0] = params[1].dims[1] = 2;
    in[0] = add(b, "x", QNNRT_TENSOR_INPUT, 4, 1, 4, 0);
    in[1] = add(b, "w", QNNRT_TENSOR_UPDATEABLE, 4, 4, 3, 0);
    y = add(b, "y", QNNRT_TENSOR_OUTPUT, 4, 1, 3, 0);
    add_node(b, "Conv2d", in, 2, y, params, 2);
    return b;
}

TEST(the_cpu_refuses_updateable_tensors)
{
    qnnrt_backend *backend;
    qnnrt *model;
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnCpu.so");
    CHECK(backend != NULL);
    CHECK_EQ(qnnrt_builder_finish(with_update(backend), &model, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "\"w\"");
    CHECK_EQ(err.vendor_code & 0xFFFF, 0x1b5c);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST(the_htp_refuses_all_three_by_name)
{
    static const float other[12] = { 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5 };
    qnnrt_backend *backend;
    qnnrt_builder *b;
    qnnrt_tensor x, y;
    qnnrt_run *run;
    qnnrt *model;
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnHtp.so");
    CHECK(backend != NULL);
    b = begin(backend);
    x = add(b, "x", QNNRT_TENSOR_INPUT, 2, 8, 4, 1);
    y = add(b, "y", QNNRT_TENSOR_OUTPUT, 2, 8, 4, 1);
    add_node(b, "Relu", &x, 1, y, NULL, 0);
    CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "the library refuses tensor \"x\"");
    CHECK_EQ(err.vendor_code & 0xFFFF, 0x3e8);
    CHECK_EQ(qnnrt_builder_finish(with_bias(backend), &model, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "\"b\"");
    /* It accepts updateable tensors and updates, does not use them, and does not list them. */
    if (qnnrt_builder_finish(with_update(backend), &model, &err) == QNNRT_OK) {
        CHECK_EQ(qnnrt_update(model, 0, "main", "w", other, sizeof(other), &err),
                 QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, "\"w\": HTP accepts new data for a tensor and does not use it");
        CHECK_EQ(prepares(model, "main", &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    } else {
        CHECK_STR(err.text, "\"w\"");
    }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST_MAIN_ARGS("dynamic", 2, "RELEASE DATA")
{
    if (has_cpu()) RUN(the_cpu_computes_with_fewer_rows);
    if (has_cpu()) RUN(a_file_of_the_cpu_has_the_bound);
    if (has_cpu()) RUN(the_cpu_runs_without_its_optional_input_only);
    if (has_cpu()) RUN(the_cpu_refuses_updateable_tensors);
    RUN(the_htp_refuses_all_three_by_name);
}
