/* compose.c - graphs built on Qualcomm's genuine libraries: run, saved, opened again, and compared with plain C */
#include "real.h"
#include "qnnrt_builder.h"
#include "qnnrt_device.h"
#include "qnnrt_profile.h"
#include <math.h>

static qnnrt_error err;

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

/* Return numbers from -1 to 1, the same ones everywhere. */
static float number(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(int32_t)*seed / 2147483648.0f;
}

/* ---- y = relu(W x), W [OUT, IN] ---------------------------------------------------------------------- */

enum { IN = 64, OUT = 32, MOST = 4 };

static float weights[OUT * IN], lent[OUT * IN];

static void make_weights(void)
{
    uint32_t seed = 1;
    size_t i;
    for (i = 0; i < OUT * IN; ++i) weights[i] = number(&seed);
}

static void reference(const float *x, size_t rows, const float *w, int relu, float *y)
{
    size_t r, o, i;
    for (r = 0; r < rows; ++r)
        for (o = 0; o < OUT; ++o) {
            double sum = 0;
            for (i = 0; i < IN; ++i) sum += (double)x[r * IN + i] * (double)w[o * IN + i];
            y[r * OUT + o] = relu && sum < 0 ? 0 : (float)sum;
        }
}

static qnnrt_tensor_desc tensor_desc(const char *name, qnnrt_tensor_kind kind, uint32_t d0,
                                     uint32_t d1)
{
    qnnrt_tensor_desc t;
    memset(&t, 0, sizeof(t));
    t.name = name;
    t.kind = kind;
    t.dtype = QNNRT_DTYPE_F32;
    t.rank = 2;
    t.dims[0] = d0;
    t.dims[1] = d1;
    return t;
}

static void add_node(qnnrt_builder *b, const char *type, qnnrt_tensor in, qnnrt_tensor in2,
                     qnnrt_tensor out)
{
    qnnrt_tensor inputs[2];
    qnnrt_node_desc node;
    memset(&node, 0, sizeof(node));
    inputs[0] = in;
    inputs[1] = in2;
    node.type = type;
    node.inputs = inputs;
    node.input_count = 2;
    node.outputs = &out;
    node.output_count = 1;
    qnnrt_builder_node(b, &node);
}

static void add_layer(qnnrt_builder *b, const char *graph, uint32_t rows, const char *in,
                      const char *out)
{
    qnnrt_graph_desc desc;
    qnnrt_tensor_desc t;
    qnnrt_tensor x, w, h, y;
    memset(&desc, 0, sizeof(desc));
    desc.name = graph;
    qnnrt_builder_graph(b, &desc);
    t = tensor_desc(out, QNNRT_TENSOR_OUTPUT, rows, OUT);
    y = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("h", QNNRT_TENSOR_INNER, rows, OUT);
    h = qnnrt_builder_tensor(b, &t);
    /* This node is added before the one that writes its input. */
    add_node(b, "Relu", h, QNNRT_NO_TENSOR, y);
    t = tensor_desc(in, QNNRT_TENSOR_INPUT, rows, IN);
    x = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("w", QNNRT_TENSOR_STATIC, OUT, IN);
    memcpy(lent, weights, sizeof(lent));
    t.data = lent;
    t.bytes = sizeof(lent);
    t.borrow = 1;
    w = qnnrt_builder_tensor(b, &t);
    add_node(b, "FullyConnected", x, w, h);
}

/* Run a pipeline and return the largest error of its output, relative to the largest value. */
static double error_of(qnnrt *model, const char *name, uint32_t rows)
{
    float x[MOST * IN], y[MOST * OUT], expected[MOST * OUT];
    uint32_t seed = 7;
    double worst = 0, largest = 1e-9;
    qnnrt_run *run;
    size_t i;
    for (i = 0; i < rows * IN; ++i) x[i] = number(&seed);
    if (qnnrt_prepare(model, name, &run, &err) != QNNRT_OK) { printf("%s\n", err.text); return 1e9; }
    if (qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, rows * IN) != QNNRT_OK || qnnrt_exec(run) != QNNRT_OK ||
        qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, rows * OUT) != QNNRT_OK) { printf("%s\n", qnnrt_run_error(run)->text); return 1e9; }
    qnnrt_run_destroy(run);
    reference(x, rows, weights, 1, expected);
    for (i = 0; i < rows * OUT; ++i) {
        if (fabs((double)expected[i]) > largest) largest = fabs((double)expected[i]);
        if (!(fabs((double)expected[i] - (double)y[i]) <= worst)) worst = fabs((double)expected[i] - (double)y[i]);
    }
    return worst / largest;
}

static qnnrt *open_file(qnnrt_backend *backend, const char *path)
{
    char system[1024];
    qnnrt_desc desc;
    qnnrt_file file;
    qnnrt *model = NULL;
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    file.path = path;
    desc.backend = backend;
    desc.inspect = backend == NULL;
    desc.system_path = real_library(system, "libQnnSystem.so");
    desc.files = &file;
    desc.file_count = 1;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) model = NULL;
    return model;
}

/* Build two graphs in a context, run, save, open and run them. */
static void builds(const char *library, double most)
{
    qnnrt_backend *backend = open_library(library);
    qnnrt_builder *b;
    qnnrt *built, *opened;
    char path[1024];
    size_t bytes, again;
    void *binary;
    CHECK(backend != NULL);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
    add_layer(b, "one", 1, "x", "y");
    add_layer(b, "four", 4, "x", "y");
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(built != NULL);
    memset(lent, 0, sizeof(lent));                /* the library has copied the weights */
    CHECK_EQ(qnnrt_get_info(built)->contexts->graph_count, 2);
    CHECK(error_of(built, "one", 1) < most);
    CHECK(error_of(built, "four", 4) < most);
    snprintf(path, sizeof(path), "%.900s/two.bin", test_tmpdir());
    CHECK_EQ(qnnrt_save(built, 0, path, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_save_memory(built, 0, NULL, 0, &bytes, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_save_memory(built, 0, NULL, 0, &again, &err), QNNRT_OK);
    CHECK_EQ(bytes, again);
    binary = malloc(bytes + 4096);  /* more room than needed: libraries fill all of it */
    CHECK_EQ(qnnrt_save_memory(built, 0, binary, bytes + 4096, &again, &err), QNNRT_OK);
    free(binary);
    CHECK_EQ(bytes, again);
    opened = open_file(backend, path);
    if (opened == NULL) printf("%s\n", err.text);
    CHECK(opened != NULL);
    CHECK_EQ(qnnrt_get_info(opened)->contexts->soc_model, qnnrt_get_info(built)->contexts->soc_model);
    CHECK(error_of(opened, "one", 1) < most);
    CHECK(error_of(opened, "four", 4) < most);
    CHECK(error_of(built, "one", 1) < most);      /* the built model still works */
    CHECK_EQ(qnnrt_save(opened, 0, path, &err), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(qnnrt_close(opened), QNNRT_OK);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST(the_htp_builds_runs_and_restores)
{
    if (real_no_device()) SKIP("the library runs nothing here");
    TRY(builds("libQnnHtp.so", 5e-3));            /* float32 on a chip is computed in half precision */
}

/* True if the CPU library exists: only 2.47 has it. */
static int has_cpu(void)
{
    char path[1024];
    return real_exists(real_library(path, "libQnnCpu.so"));
}

TEST(the_cpu_builds_runs_and_restores)
{
    if (real_no_device()) SKIP("the library runs nothing here");
    TRY(builds("libQnnCpu.so", 1e-5));
}

#define WRONG_NODE "model/layer.3 \"fc\""

/* Add a graph "wrong": HTP validates weights with a scale per block beside 16-bit activations, and has no kernel for
   them. */
static void add_wrong(qnnrt_builder *b)
{
    static const float scales[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    static const signed char codes[4 * 32] = { 0 };
    qnnrt_graph_desc graph;
    qnnrt_tensor_desc t;
    qnnrt_blocks blocks;
    qnnrt_tensor ends[2], h, y;
    qnnrt_node_desc node;
    memset(&graph, 0, sizeof(graph));
    memset(&node, 0, sizeof(node));
    memset(&blocks, 0, sizeof(blocks));
    graph.name = "wrong";
    qnnrt_builder_graph(b, &graph);
    t = tensor_desc("x", QNNRT_TENSOR_INPUT, 1, 32);
    t.dtype = QNNRT_DTYPE_U16Q;
    t.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    t.quant.scale = 0.25f;
    t.quant.offset = -32768;
    ends[0] = qnnrt_builder_tensor(b, &t);
    t.name = "h";
    t.kind = QNNRT_TENSOR_INNER;
    t.dims[1] = 4;
    h = qnnrt_builder_tensor(b, &t);
    t.name = "y";
    t.kind = QNNRT_TENSOR_OUTPUT;
    y = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("w", QNNRT_TENSOR_STATIC, 4, 32);
    t.dtype = QNNRT_DTYPE_S8Q;
    t.data = codes;
    t.bytes = sizeof(codes);
    blocks.form = QNNRT_BLOCK_PLAIN;
    blocks.block_axis = 1;
    blocks.block = 16;
    blocks.scales = scales;
    t.blocks = &blocks;
    ends[1] = qnnrt_builder_tensor(b, &t);
    node.name = WRONG_NODE;
    node.type = "FullyConnected";
    node.inputs = ends;
    node.input_count = 2;
    node.outputs = &h;
    node.output_count = 1;
    qnnrt_builder_node(b, &node);
    add_node(b, "Relu", h, QNNRT_NO_TENSOR, y);
}

TEST(the_log_names_a_node_that_has_no_kernel)
{
    qnnrt_backend *backend;
    qnnrt_builder *b;
    qnnrt *built;
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnHtp.so");
    CHECK(backend != NULL);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
    add_layer(b, "right", 1, "x", "y");
    add_wrong(b);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_BACKEND);
    if (qnnrt_builder_failed_node(b) == NULL) printf("%s\n", err.text);
    CHECK(qnnrt_builder_failed_node(b) != NULL && qnnrt_builder_failed_graph(b) != NULL);
    CHECK(strcmp(qnnrt_builder_failed_node(b), WRONG_NODE) == 0);
    CHECK(strcmp(qnnrt_builder_failed_graph(b), "wrong") == 0);
    CHECK_STR(err.text, "(FullyConnected)");
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* ---- graphs of one context ------------------------------------------------------------------------------- */

/* Add y = relu(W x). */
static void add_rows(qnnrt_builder *b, const char *graph, uint32_t rows)
{
    qnnrt_graph_desc desc;
    qnnrt_tensor_desc t;
    qnnrt_tensor x, w, h, y;
    memset(&desc, 0, sizeof(desc));
    desc.name = graph;
    qnnrt_builder_graph(b, &desc);
    t = tensor_desc("x", QNNRT_TENSOR_INPUT, rows, IN);
    x = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("w", QNNRT_TENSOR_STATIC, OUT, IN);
    t.data = weights;
    t.bytes = sizeof(weights);
    w = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("h", QNNRT_TENSOR_INNER, rows, OUT);
    t.name = NULL;
    h = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("y", QNNRT_TENSOR_OUTPUT, rows, OUT);
    y = qnnrt_builder_tensor(b, &t);
    add_node(b, "FullyConnected", x, w, h);
    add_node(b, "Relu", h, QNNRT_NO_TENSOR, y);
}

/* Build four graphs of one context and run them, save it, open and run all. */
static void four_graphs(const char *library, double most)
{
    static const char *const names[4] = { "one", "two", "three", "four" };
    qnnrt_backend *backend = open_library(library);
    qnnrt_builder *b;
    qnnrt *built, *opened;
    char path[1024];
    uint32_t k;
    CHECK(backend != NULL);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
    for (k = 0; k < 4; ++k) add_rows(b, names[k], k + 1);
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(built != NULL);
    for (k = 0; k < 4; ++k) CHECK(error_of(built, names[k], k + 1) < most);
    CHECK_EQ(qnnrt_get_info(built)->contexts->graph_count, 4);
    snprintf(path, sizeof(path), "%.900s/four.bin", test_tmpdir());
    CHECK_EQ(qnnrt_save(built, 0, path, &err), QNNRT_OK);
    opened = open_file(backend, path);
    if (opened == NULL) printf("%s\n", err.text);
    CHECK(opened != NULL);
    for (k = 0; k < 4; ++k) CHECK(error_of(opened, names[k], k + 1) < most);
    CHECK_EQ(qnnrt_close(opened), QNNRT_OK);
    /* A graph that fails after validation: the model of before still runs, and another one is built. */
    if (strstr(library, "Htp") != NULL) {
        qnnrt *none;
        CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
        add_wrong(b);
        CHECK_EQ(qnnrt_builder_finish(b, &none, &err), QNNRT_E_BACKEND);
        CHECK(none == NULL);
        for (k = 0; k < 4; ++k) CHECK(error_of(built, names[k], k + 1) < most);
        CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
        add_rows(b, "five", 4);
        CHECK_EQ(qnnrt_builder_finish(b, &opened, &err), QNNRT_OK);
        CHECK(error_of(opened, "five", 4) < most);
        CHECK_EQ(qnnrt_close(opened), QNNRT_OK);
        CHECK_EQ(qnnrt_save(built, 0, path, &err), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST(the_htp_builds_four_graphs)
{
    if (real_no_device()) SKIP("the library runs nothing here");
    TRY(four_graphs("libQnnHtp.so", 5e-3));
}

TEST(the_cpu_builds_four_graphs)
{
    if (real_no_device()) SKIP("the library runs nothing here");
    TRY(four_graphs("libQnnCpu.so", 1e-5));
}

/* ---- weights that finish loads ------------------------------------------------------------------------ */

static float turn[OUT * OUT];                /* 2 at (o, o + 1): turns the rows of the first layer */
static int loads;

static qnnrt_result load(void *user, void *data, size_t bytes, qnnrt_error *error)
{
    (void)error;
    ++loads;
    memcpy(data, user, bytes);
    return QNNRT_OK;
}

/* Build y = turn relu(W x). Both weights pass through the same buffer, which is free when finish returns. */
static void loads_weights(const char *library, double most)
{
    qnnrt_backend *backend = open_library(library);
    qnnrt_graph_desc graph;
    qnnrt_tensor_desc t;
    qnnrt_tensor ends[2], h[2], table[2], y, rows;
    qnnrt_node_desc node;
    qnnrt_param_desc axis;
    qnnrt_builder *b;
    qnnrt *built;
    qnnrt_run *run;
    float x[IN], got[OUT], expected[OUT];
    uint32_t seed = 7;
    double worst = 0, largest = 1e-9;
    size_t i;
    CHECK(backend != NULL);
    memset(&graph, 0, sizeof(graph));
    memset(&node, 0, sizeof(node));
    memset(&axis, 0, sizeof(axis));
    memset(turn, 0, sizeof(turn));
    for (i = 0; i < OUT; ++i) turn[i * OUT + (i + 1) % OUT] = 2;
    for (i = 0; i < IN; ++i) x[i] = number(&seed);
    loads = 0;
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
    graph.name = "g";
    qnnrt_builder_graph(b, &graph);
    t = tensor_desc("x", QNNRT_TENSOR_INPUT, 1, IN);
    ends[0] = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("h", QNNRT_TENSOR_INNER, 1, OUT);
    h[0] = qnnrt_builder_tensor(b, &t);
    t.name = "relu";
    h[1] = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("y", QNNRT_TENSOR_OUTPUT, 1, OUT);
    y = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("w", QNNRT_TENSOR_STATIC, OUT, IN);
    t.load = load;
    t.load_user = weights;
    ends[1] = qnnrt_builder_tensor(b, &t);
    node.type = "FullyConnected";
    node.inputs = ends;
    node.input_count = 2;
    node.outputs = &h[0];
    node.output_count = 1;
    CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_OK);
    qnnrt_builder_node(b, &node);
    add_node(b, "Relu", h[0], QNNRT_NO_TENSOR, h[1]);
    t = tensor_desc("turn", QNNRT_TENSOR_STATIC, OUT, OUT);
    t.load = load;
    t.load_user = turn;
    ends[1] = table[0] = qnnrt_builder_tensor(b, &t);
    ends[0] = h[1];
    node.outputs = &y;
    CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_OK);
    qnnrt_builder_node(b, &node);
    t = tensor_desc("indices", QNNRT_TENSOR_STATIC, 1, 3);     /* never read, so it has no valid ones */
    t.dtype = QNNRT_DTYPE_I32;
    t.load = load;
    t.load_user = weights;
    table[1] = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("rows", QNNRT_TENSOR_INNER, 1, 3);
    t.rank = 3;
    t.dims[2] = OUT;
    rows = qnnrt_builder_tensor(b, &t);
    axis.name = "axis";
    axis.dtype = QNNRT_DTYPE_I32;
    node.type = "Gather";
    node.inputs = table;
    node.outputs = &rows;
    node.params = &axis;
    node.param_count = 1;
    if (qnnrt_builder_supports(b, &node, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK_EQ(err.code, QNNRT_OK);
    CHECK_EQ(loads, 0);
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(built != NULL);
    CHECK_EQ(loads, 3);
    CHECK_EQ(qnnrt_prepare(built, "g", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, IN), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, got, OUT), QNNRT_OK);
    reference(x, 1, weights, 1, expected);
    for (i = 0; i < OUT; ++i) {
        const double right = 2 * (double)expected[(i + 1) % OUT], off = fabs(right - (double)got[i]);
        if (right > largest) largest = right;
        if (!(off <= worst)) worst = off;
    }
    CHECK(worst / largest < most);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST(loaded_weights_are_copied)
{
    if (real_no_device()) SKIP("the library runs nothing here");
    TRY(loads_weights("libQnnHtp.so", 5e-3));
    if (has_cpu()) TRY(loads_weights("libQnnCpu.so", 1e-5));
}

/* Check that finalizing gives one event of type 300 for each graph. */
static void finalizing_is_profiled(const char *library, const char *name)
{
    qnnrt_backend *backend = open_library(library);
    const qnnrt_profile_event *events;
    qnnrt_builder_desc desc;
    qnnrt_builder *b;
    qnnrt *built;
    qnnrt_profile *finalizing;
    size_t count, i, totals = 0;
    CHECK(backend != NULL);
    memset(&desc, 0, sizeof(desc));
    CHECK_EQ(qnnrt_profile_create((qnnrt_profile_level)4, NULL, &finalizing, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "0 to 3");
    CHECK_EQ(qnnrt_profile_create(QNNRT_PROFILE_DETAILED, NULL, &finalizing, &err), QNNRT_OK);
    desc.context_hooks = qnnrt_profile_hook(finalizing);
    CHECK_EQ(qnnrt_builder_create(backend, &desc, &b, &err), QNNRT_OK);
    add_layer(b, "first", 1, "x", "y");
    qnnrt_builder_context(b, NULL);
    add_layer(b, "second", 1, "x", "z");
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(built != NULL);
    qnnrt_profile_events(finalizing, &events, &count);
    for (i = 0; i < count; ++i)
        if (events[i].type == 300) {
            CHECK_STR(events[i].name, name);
            CHECK_EQ(events[i].step, totals);
            CHECK(events[i].value > 0);
            ++totals;
        }
    CHECK_EQ(totals, 2);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    qnnrt_profile_destroy(finalizing);
}

TEST(finalizing_is_measured)
{
    if (real_no_device()) SKIP("the library runs nothing here");
    TRY(finalizing_is_profiled("libQnnHtp.so", "QNN (finalize) time"));
    if (has_cpu()) TRY(finalizing_is_profiled("libQnnCpu.so", "GRAPH_FINALIZE"));
}

TEST(two_contexts_are_shards)
{
    qnnrt_backend *backend;
    qnnrt_builder *b;
    qnnrt *built;
    qnnrt_graph_desc graph;
    qnnrt_tensor_desc t;
    qnnrt_tensor in, out;
    qnnrt_run *run;
    float x[IN], y[OUT], expected[OUT];
    uint32_t seed = 3;
    size_t i;
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnHtp.so");
    CHECK(backend != NULL);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
    add_layer(b, "decode_1_of_2", 1, "x", "hidden");
    qnnrt_builder_context(b, NULL);
    memset(&graph, 0, sizeof(graph));
    graph.name = "decode_2_of_2";
    qnnrt_builder_graph(b, &graph);
    t = tensor_desc("hidden", QNNRT_TENSOR_INPUT, 1, OUT);
    in = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("y", QNNRT_TENSOR_OUTPUT, 1, OUT);
    out = qnnrt_builder_tensor(b, &t);
    add_node(b, "ElementWiseAdd", in, in, out);
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(built != NULL);
    for (i = 0; i < IN; ++i) x[i] = number(&seed);
    CHECK_EQ(qnnrt_prepare(built, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_pipeline_get_info(qnnrt_run_pipeline(run))->edge_count, 1);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, IN), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, OUT), QNNRT_OK);
    reference(x, 1, weights, 1, expected);
    for (i = 0; i < OUT; ++i) CHECK(fabs((double)y[i] - 2 * (double)expected[i]) < 0.05);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* Shared weights give a smaller file, whose metadata can be read. The emulator crashes on it, so qnnrt.h
   refuses it. */
TEST(shared_weights_are_smaller_and_not_loaded_here)
{
    static float large[512 * 512];
    qnnrt_backend *backend;
    char path[2][1024];
    size_t bytes[2], g, i;
    qnnrt *model;
    int share;
    if (real_no_device()) SKIP("the library runs nothing here");
    for (i = 0; i < 512 * 512; ++i) large[i] = (float)(i % 101) / 101.0f - 0.5f;
    backend = open_library("libQnnHtp.so");
    CHECK(backend != NULL);
    for (share = 0; share < 2; ++share) {
        qnnrt_context_desc context;
        qnnrt_builder *b;
        qnnrt *built;
        memset(&context, 0, sizeof(context));
        context.weight_sharing = share;
        CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
        qnnrt_builder_context(b, &context);
        for (g = 0; g < 2; ++g) {
            qnnrt_graph_desc graph;
            qnnrt_tensor_desc t;
            qnnrt_tensor x, w, y;
            memset(&graph, 0, sizeof(graph));
            graph.name = g == 0 ? "one" : "many";
            qnnrt_builder_graph(b, &graph);
            t = tensor_desc("x", QNNRT_TENSOR_INPUT, g == 0 ? 1 : 32, 512);
            x = qnnrt_builder_tensor(b, &t);
            t = tensor_desc("y", QNNRT_TENSOR_OUTPUT, g == 0 ? 1 : 32, 512);
            y = qnnrt_builder_tensor(b, &t);
            t = tensor_desc("w", QNNRT_TENSOR_STATIC, 512, 512);
            t.data = large;
            t.bytes = sizeof(large);
            t.borrow = 1;
            w = qnnrt_builder_tensor(b, &t);
            add_node(b, "FullyConnected", x, w, y);
        }
        if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
        CHECK(built != NULL);
        snprintf(path[share], sizeof(path[0]), "%.900s/%s.bin", test_tmpdir(),
                 share ? "shared" : "plain");
        CHECK_EQ(qnnrt_save(built, 0, path[share], &err), QNNRT_OK);
        CHECK_EQ(qnnrt_save_memory(built, 0, NULL, 0, &bytes[share], &err), QNNRT_OK);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    }
    CHECK(bytes[1] < bytes[0] * 3 / 4);
    model = open_file(NULL, path[1]);             /* its metadata can be read */
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_get_info(model)->contexts->graph_count, 2);
    CHECK(qnnrt_get_info(model)->contexts->graphs[0].shared_weights_bytes > 0);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
#if defined(__x86_64__)
    CHECK(open_file(backend, path[1]) == NULL);
    CHECK_EQ(err.code, QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "shares its weights");
#endif
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* ---- weights in every encoding, against plain C over the same codes ------------------------------------- */

/* SIGNED: PLAIN with negative scales and zeros */
enum coding { PER_TENSOR, NARROW, PER_AXIS, NARROW_AXIS, EXPANSION, PLAIN, SIGNED, CODINGS };

static void encodes(qnnrt_backend *backend, enum coding coding, qnnrt_dtype activation)
{
    enum { BLOCK = 32, BLOCKS = IN / BLOCK };
    static const char *const names[] = { "per tensor", "4 bits", "per axis", "4 bits per axis", "expansion", "blocks",
                                         "blocks of any sign" };
    const int small = coding == NARROW || coding == NARROW_AXIS || coding >= EXPANSION;
    signed char codes[OUT * IN];
    float real[OUT * IN], scales[OUT * BLOCKS], x[2 * IN], y[2 * OUT], expected[2 * OUT];
    uint8_t multipliers[OUT * BLOCKS];
    qnnrt_builder *b;
    qnnrt *built = NULL;
    qnnrt_run *run;
    qnnrt_graph_desc graph;
    qnnrt_tensor_desc t;
    qnnrt_tensor in, w, out;
    qnnrt_blocks blocks;
    uint32_t seed = 5;
    double worst = 0;
    size_t o, i;
    memset(&graph, 0, sizeof(graph));
    memset(&blocks, 0, sizeof(blocks));
    for (i = 0; i < OUT * BLOCKS; ++i) {
        scales[i] = 0.01f * (float)(1 + i % 5);
        if (coding == SIGNED) scales[i] *= i % 4 == 1 ? 0.0f : i % 3 == 0 ? -1.0f : 1.0f;
        multipliers[i] = (uint8_t)(1 + i % 15);
    }
    for (o = 0; o < OUT; ++o)
        for (i = 0; i < IN; ++i) {
            const float value = number(&seed);
            float scale = coding == PER_AXIS || coding == NARROW_AXIS ? scales[o] : scales[1];
            if (coding == EXPANSION) scale = scales[o] * (float)multipliers[o * BLOCKS + i / BLOCK];
            if (coding == PLAIN || coding == SIGNED) scale = scales[o * BLOCKS + i / BLOCK];
            codes[o * IN + i] = (signed char)(value * (small ? 7.4f : 120.0f));
            real[o * IN + i] = (float)codes[o * IN + i] * scale;
        }
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
    graph.name = "g";
    qnnrt_builder_graph(b, &graph);
    t = tensor_desc("x", QNNRT_TENSOR_INPUT, 2, IN);
    t.dtype = activation;
    if (activation != QNNRT_DTYPE_F16) {
        t.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
        t.quant.scale = 2.0f / 65536;
        t.quant.offset = -32768;
    }
    in = qnnrt_builder_tensor(b, &t);
    t.name = "y";
    t.kind = QNNRT_TENSOR_OUTPUT;
    t.dims[1] = OUT;
    t.quant.scale = 256.0f / 65536;
    out = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("w", QNNRT_TENSOR_STATIC, OUT, IN);
    t.dtype = QNNRT_DTYPE_S8Q;
    t.data = codes;
    t.bytes = sizeof(codes);
    if (coding >= EXPANSION) {
        blocks.form = coding == EXPANSION ? QNNRT_BLOCK_EXPANSION : QNNRT_BLOCK_PLAIN;
        blocks.block_axis = 1;
        blocks.block = BLOCK;
        blocks.scales = scales;
        blocks.multipliers = coding == EXPANSION ? multipliers : NULL;
        t.blocks = &blocks;
    } else {
        t.quant.encoding = coding == PER_AXIS || coding == NARROW_AXIS ? QNNRT_ENCODING_PER_AXIS : QNNRT_ENCODING_PER_TENSOR;
        t.quant.bitwidth = small ? 4 : 0;
        t.quant.scale = scales[1];
        t.quant.count = OUT;
        t.quant.scales = scales;
    }
    w = qnnrt_builder_tensor(b, &t);
    add_node(b, "FullyConnected", in, w, out);
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s: %s\n", names[coding], err.text);
    CHECK(built != NULL);
    for (i = 0; i < 2 * IN; ++i) x[i] = number(&seed);
    CHECK_EQ(qnnrt_prepare(built, "g", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, 2 * IN), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, 2 * OUT), QNNRT_OK);
    reference(x, 2, real, 0, expected);
    for (i = 0; i < 2 * OUT; ++i) {
        const double off = fabs((double)y[i] - (double)expected[i]);
        if (!(off <= worst)) worst = off;
    }
    if (worst > 0.05) printf("%s: off by %g\n", names[coding], worst);
    CHECK(worst <= 0.05);                         /* values go up to about 10 */
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
}

TEST(weights_mean_what_their_encoding_says)
{
    qnnrt_backend *backend;
    int coding;
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnHtp.so");
    CHECK(backend != NULL);
    for (coding = 0; coding < CODINGS; ++coding)
        TRY(encodes(backend, (enum coding)coding,
                    coding >= PLAIN ? QNNRT_DTYPE_F16 : QNNRT_DTYPE_U16Q));
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* ---- which operators are supported ----------------------------------------------------------------------- */

static qnnrt_result asks(const char *library, const char *type, qnnrt_dtype dtype)
{
    qnnrt_backend *backend = open_library(library);
    qnnrt_builder *b = NULL;
    qnnrt_graph_desc graph;
    qnnrt_tensor_desc t = tensor_desc("a", QNNRT_TENSOR_INPUT, 4, 4);
    qnnrt_node_desc node;
    qnnrt_tensor in[2], out;
    qnnrt_result result;
    if (backend == NULL || qnnrt_builder_create(backend, NULL, &b,
                                                &err) != QNNRT_OK) return QNNRT_E_STATE;
    memset(&graph, 0, sizeof(graph));
    memset(&node, 0, sizeof(node));
    graph.name = "g";
    qnnrt_builder_graph(b, &graph);
    t.dtype = dtype;
    t.quant.encoding = dtype == QNNRT_DTYPE_U16Q ? QNNRT_ENCODING_PER_TENSOR : QNNRT_ENCODING_NONE;
    t.quant.scale = 1;
    t.quant.offset = -32768;
    in[0] = qnnrt_builder_tensor(b, &t);
    t.name = "b";
    in[1] = qnnrt_builder_tensor(b, &t);
    t.name = "c";
    t.kind = QNNRT_TENSOR_OUTPUT;
    out = qnnrt_builder_tensor(b, &t);
    node.type = type;
    node.inputs = in;
    node.input_count = 2;
    node.outputs = &out;
    node.output_count = 1;
    result = qnnrt_builder_supports(b, &node, &err);
    qnnrt_builder_destroy(b);
    if (qnnrt_backend_close(backend) != QNNRT_OK) return QNNRT_E_BUSY;
    return result;
}

TEST(supports_tells_what_the_library_says)
{
    char path[1024];
    if (real_no_device()) SKIP("the library runs nothing here");
    CHECK_EQ(asks("libQnnHtp.so", "MatMul", QNNRT_DTYPE_F16), QNNRT_OK);
    /* Supported because the builder names a chip. */
    CHECK_EQ(asks("libQnnHtp.so", "MatMul", QNNRT_DTYPE_U16Q), QNNRT_OK);
    CHECK_EQ(asks("libQnnHtp.so", "NoSuchOperator", QNNRT_DTYPE_F16), QNNRT_E_UNSUPPORTED);
    CHECK(err.vendor_code != 0);
    CHECK_STR(err.text, "NoSuchOperator");
    CHECK_STR(err.text, "\"a\" float16[4,4]");
    if (!real_exists(real_library(path, "libQnnCpu.so"))) return;
    CHECK_EQ(asks("libQnnCpu.so", "MatMul", QNNRT_DTYPE_F32), QNNRT_OK);
    CHECK_EQ(asks("libQnnCpu.so", "MatMul", QNNRT_DTYPE_F16), QNNRT_E_UNSUPPORTED);
    /* Refused by qnnrt, because the library crashes when it is asked. */
    CHECK_EQ(asks("libQnnCpu.so", "Argmax", QNNRT_DTYPE_F16), QNNRT_E_UNSUPPORTED);
}

/* Why qnnrt_lower.h refuses activations as codes for libQnnCpu.so: x -> Quantize -> Dequantize gives x once, and
   zeros from the second execution on. If this test fails, the library has been repaired. */
TEST(the_cpu_computes_quantized_only_once)
{
    static const char *const types[2] = { "Quantize", "Dequantize" };
    const float in[4] = { 1, 2, -3, 1.5f };
    float out[4];
    int wrong[3], i, k;
    qnnrt_backend *backend;
    qnnrt_builder *b;
    qnnrt *built;
    qnnrt_run *run;
    qnnrt_graph_desc graph;
    qnnrt_tensor tensors[3];
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnCpu.so");
    CHECK(backend != NULL);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
    memset(&graph, 0, sizeof(graph));
    graph.name = "codes";
    qnnrt_builder_graph(b, &graph);
    for (i = 0; i < 3; ++i) {
        static const char *const names[3] = { "x", "q", "y" };
        static const qnnrt_tensor_kind kinds[3] = { QNNRT_TENSOR_INPUT, QNNRT_TENSOR_INNER, QNNRT_TENSOR_OUTPUT };
        qnnrt_tensor_desc t = tensor_desc(names[i], kinds[i], 1, 4);
        if (i == 1) {
            t.dtype = QNNRT_DTYPE_U8Q;
            t.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
            t.quant.scale = 0.03125f;
            t.quant.offset = -128;
        }
        tensors[i] = qnnrt_builder_tensor(b, &t);
    }
    for (i = 0; i < 2; ++i) {
        qnnrt_node_desc node;
        memset(&node, 0, sizeof(node));
        node.type = types[i];
        node.inputs = &tensors[i];
        node.input_count = 1;
        node.outputs = &tensors[i + 1];
        node.output_count = 1;
        qnnrt_builder_node(b, &node);
    }
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(built != NULL);
    CHECK_EQ(qnnrt_prepare(built, "codes", &run, &err), QNNRT_OK);
    for (i = 0; i < 3; ++i) {
        CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, in, 4), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, out, 4), QNNRT_OK);
        for (wrong[i] = 0, k = 0; k < 4; ++k) wrong[i] += fabs((double)(out[k] - in[k])) > 0.032;
    }
    CHECK_EQ(wrong[0], 0);
    CHECK(wrong[1] > 0 && wrong[2] > 0);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* tests/fake/op_package.c, which is made for the CPU library: y = 3 x + 1. */
TEST(an_op_package_of_the_cpu_computes)
{
    qnnrt_backend *backend;
    qnnrt_builder *b;
    qnnrt *built, *opened;
    char path[1100];
    int i;
    qnnrt_run *run;
    qnnrt_graph_desc graph;
    qnnrt_tensor_desc t;
    qnnrt_node_desc node;
    qnnrt_param_desc slope;
    qnnrt_tensor x, y;
    const float in[4] = { 1, 2, 3, 4 };
    float out[4];
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnCpu.so");
    CHECK(backend != NULL);
    CHECK_EQ(qnnrt_backend_register_ops(backend, TEST_OP_PACKAGE, "NoProvider", NULL, &err), QNNRT_E_BACKEND);
    CHECK_EQ(err.vendor_code & 0xFFFF, 0xfa6);
    if (qnnrt_backend_register_ops(backend, TEST_OP_PACKAGE, "LineOfProvider", NULL, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK_EQ(err.code, QNNRT_OK);
    CHECK_EQ(qnnrt_backend_register_ops(backend, TEST_OP_PACKAGE, "LineOfProvider", NULL, &err), QNNRT_E_BACKEND);
    CHECK_EQ(err.vendor_code & 0xFFFF, 0xfa7);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_OK);
    memset(&graph, 0, sizeof(graph));
    graph.name = "line";
    qnnrt_builder_graph(b, &graph);
    t = tensor_desc("x", QNNRT_TENSOR_INPUT, 1, 4);
    x = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("y", QNNRT_TENSOR_OUTPUT, 1, 4);
    y = qnnrt_builder_tensor(b, &t);
    memset(&slope, 0, sizeof(slope));
    slope.name = "slope";
    slope.dtype = QNNRT_DTYPE_F32;
    slope.value = 3;
    memset(&node, 0, sizeof(node));
    node.package = "qnnrt.test";
    node.type = "LineOf";
    node.inputs = &x;
    node.input_count = 1;
    node.outputs = &y;
    node.output_count = 1;
    /* The parameter is missing. */
    CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_E_UNSUPPORTED);
    node.params = &slope;
    node.param_count = 1;
    CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_OK);
    qnnrt_builder_node(b, &node);
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(built != NULL);
    CHECK_EQ(qnnrt_prepare(built, "line", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, in, 4), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, out, 4), QNNRT_OK);
    CHECK(fabs((double)out[0] - 4) < 1e-6 && fabs((double)out[3] - 13) < 1e-6);
    qnnrt_run_destroy(run);
    snprintf(path, sizeof(path), "%.900s/line.bin", test_tmpdir());
    CHECK_EQ(qnnrt_save(built, 0, path, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    /* The saved graph runs on this backend, also after it was created again. */
    opened = open_file(backend, path);
    if (opened == NULL) printf("%s\n", err.text);
    CHECK(opened != NULL);
    CHECK_EQ(qnnrt_prepare(opened, "line", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, in, 4), QNNRT_OK);
    for (i = 0; i < 2; ++i) {
        if (i == 1 && qnnrt_model_recover(opened, &err) != QNNRT_OK) printf("%s\n", err.text);
        CHECK_EQ(err.code, QNNRT_OK);
        if (qnnrt_exec(run) != QNNRT_OK) printf("%s\n", qnnrt_run_error(run)->text);
        CHECK_EQ(qnnrt_run_error(run)->code, QNNRT_OK);
        CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, out, 4), QNNRT_OK);
        CHECK(fabs((double)out[0] - 4) < 1e-6 && fabs((double)out[3] - 13) < 1e-6);
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(opened), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST(an_op_package_that_is_not_there_is_named)
{
    qnnrt_backend *backend;
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnHtp.so");
    CHECK(backend != NULL);
    CHECK_EQ(qnnrt_backend_register_ops(backend, "/no/such/libPackage.so", "Provider", NULL, &err),
             QNNRT_E_BACKEND);
    CHECK_EQ(err.vendor_code & 0xFFFF, 0xfa5);
    CHECK_STR(err.text, "/no/such/libPackage.so");
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* ---- containers ---------------------------------------------------------------------------------------------- */

/* Fill all inputs with bytes that are valid for each type, run, and return a hash of the
   outputs. */
static uint64_t outputs_of(qnnrt *model, const char *name)
{
    const qnnrt_pipeline_info *info;
    qnnrt_run *run;
    uint64_t hash = 0xcbf29ce484222325u;
    size_t s, k, bytes;
    if (qnnrt_prepare(model, name, &run, &err) != QNNRT_OK) { printf("%s\n", err.text); return 0; }
    info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    for (s = 0; s < info->slot_count; ++s) {
        unsigned char *data = (unsigned char *)qnnrt_data_slot(run, &info->slots[s], &bytes);
        /* From the name, because the order may differ. */
        uint32_t seed = (uint32_t)strlen(info->slots[s].address);
        if (info->slots[s].role != QNNRT_ROLE_INPUT) continue;
        if (info->slots[s].tensor->dtype == QNNRT_DTYPE_I32) for (k = 0; k < bytes; ++k) data[k] = k % 4 == 0 ? (unsigned char)(65 + k) : 0;
        else for (k = 0; k < bytes; ++k) { seed = seed * 1664525u + 1013904223u; data[k] = (unsigned char)(seed >> 24); }
    }
    if (qnnrt_exec(run) != QNNRT_OK) { printf("%s\n", qnnrt_run_error(run)->text); hash = 0; }
    for (s = 0; s < info->slot_count && hash != 0; ++s) {
        const unsigned char *data = (const unsigned char *)qnnrt_data_slot(run, &info->slots[s], &bytes);
        if (info->slots[s].role != QNNRT_ROLE_OUTPUT) continue;
        for (k = 0; k < bytes; ++k) hash = (hash ^ data[k]) * 0x100000001b3u;
    }
    qnnrt_run_destroy(run);
    return hash;
}

TEST(containers_of_the_language_model_compose)
{
    static const char *const graphs[2] = { "prompt_ar32_cl128_1_of_1", "token_ar1_cl128_1_of_1" };
    static const char *const files[2] = { "llm/dlc/w8a16_ar32.dlc", "llm/dlc/w8a16_ar1.dlc" };
    qnnrt_backend *backend;
    qnnrt_builder *b;
    qnnrt_builder_desc desc;
    qnnrt *built = NULL, *known;
    char system[1024], path[1024], made[1024];
    size_t i, sizes[2];
    int release;
    if (real_no_device()) SKIP("the library runs nothing here");
    backend = open_library("libQnnHtp.so");
    CHECK(backend != NULL);
    release = real_release(qnnrt_backend_get_info(backend)->build_id);
    memset(&desc, 0, sizeof(desc));
    desc.system_path = real_library(system, "libQnnSystem.so");
    CHECK_EQ(qnnrt_builder_create(backend, &desc, &b, &err), QNNRT_OK);
    for (i = 0; i < 2; ++i) {
        qnnrt_graph_desc graph;
        memset(&graph, 0, sizeof(graph));
        graph.name = graphs[i];
        graph.fp16 = 1;
        graph.optimization_level = 3;
        qnnrt_builder_dlc(b, real_join(path, test_arg(1), files[i]), &graph);
    }
    if (release < 2049) {                         /* its RmsNorm needs a beta, which these graphs do not have */
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_BACKEND);
        CHECK_STR(err.text, "cannot finalize graph \"prompt_ar32_cl128_1_of_1\"");
        CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
        return;
    }
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(built != NULL);
    CHECK_STR(qnnrt_get_info(built)->contexts->graphs[1].name, graphs[1]);
    snprintf(made, sizeof(made), "%.900s/llm.bin", test_tmpdir());
    CHECK_EQ(qnnrt_save(built, 0, made, &err), QNNRT_OK);
    if (release >= 2051) {
        real_join(path, test_arg(1), "llm/w8a16_one/forward_0.bin");
        known = open_file(backend, path);
        CHECK(known != NULL);
        for (i = 0; i < 2; ++i) {
            const uint64_t one = outputs_of(built, graphs[i]);
            CHECK(one != 0 && one == outputs_of(known, graphs[i]));
        }
        CHECK_EQ(qnnrt_close(known), QNNRT_OK);
        /* The file was made by this release: both are equal, byte for byte. */
        if (release == 2051) {
            void *mine = test_read_file(made, &sizes[0]), *theirs = test_read_file(path, &sizes[1]);
            const int same = sizes[0] == sizes[1] && memcmp(mine, theirs, sizes[0]) == 0;
            free(mine);
            free(theirs);
            CHECK(same);
        }
    }
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST_MAIN_ARGS("compose", 2, "RELEASE DATA")
{
    make_weights();
    /* The first test, because a few bytes of the file depend on what the process did before. */
    RUN(containers_of_the_language_model_compose);
    RUN(the_htp_builds_runs_and_restores);
    if (has_cpu()) RUN(the_cpu_builds_runs_and_restores);
    RUN(loaded_weights_are_copied);
    RUN(the_log_names_a_node_that_has_no_kernel);
    RUN(the_htp_builds_four_graphs);
    if (has_cpu()) RUN(the_cpu_builds_four_graphs);
    RUN(finalizing_is_measured);
    RUN(two_contexts_are_shards);
    RUN(shared_weights_are_smaller_and_not_loaded_here);
    RUN(weights_mean_what_their_encoding_says);
    RUN(supports_tells_what_the_library_says);
    if (has_cpu()) RUN(an_op_package_of_the_cpu_computes);
    if (has_cpu()) RUN(the_cpu_computes_quantized_only_once);
    RUN(an_op_package_that_is_not_there_is_named);
}
