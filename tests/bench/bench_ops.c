/* bench_ops.c - operators on libQnnRef.so beside other backends, in float32, on one core

       bench_ops LIBRARY [LIBRARY ...]

   Every library runs the same graphs, built through compose, with the same weights and inputs, in alternating
   rounds of one process. Prints one line per graph and library: name, label, fastest and median time in
   microseconds, largest difference from the first library's result over its largest value. tests/bench-ops.py
   makes a table of it, with ONNX Runtime's CPU provider as another column. */
#define QNNRT_COMPOSE
#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIBRARIES = 4, ROUNDS = 101, MOST = 1 << 20 };

static float scratch[MOST];

static void stop(const char *what, const char *why)
{
    printf("bench_ops: %s: %s\n", what, why);
    exit(1);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The same numbers for everyone: element i of the tensor with this name, small enough that nothing grows. */
static const float *fill(const char *name, size_t count)
{
    uint32_t seed = 2166136261u;
    for (; *name != '\0'; ++name)
        seed = (seed ^ (uint32_t)(unsigned char)*name) * 16777619u;
    for (size_t i = 0; i < count && i < MOST; ++i) {
        seed = seed * 1664525u + 1013904223u;
        scratch[i] = ((float)(seed >> 8) / 8388608.0f - 1.0f) * 0.25f;
    }
    return scratch;
}

/* ---- graphs ----------------------------------------------------------------------------------- */

static qnnrt_tensor tensor(qnnrt_builder *b, qnnrt_tensor_kind kind, const char *name, uint32_t rank, uint32_t d0,
                           uint32_t d1, uint32_t d2, uint32_t d3)
{
    qnnrt_tensor_desc t = {0};
    size_t count = 1;
    t.name = name;
    t.kind = kind;
    t.dtype = QNNRT_DTYPE_F32;
    t.rank = rank;
    t.dims[0] = d0;
    t.dims[1] = d1;
    t.dims[2] = d2;
    t.dims[3] = d3;
    for (uint32_t i = 0; i < rank; ++i)
        count *= t.dims[i];
    if (kind == QNNRT_TENSOR_STATIC) {
        t.data = fill(name, count);
        t.bytes = count * sizeof(float);
    }
    return qnnrt_builder_tensor(b, &t);
}

static void node(qnnrt_builder *b, const char *type, qnnrt_tensor out, qnnrt_tensor in0, qnnrt_tensor in1,
                 qnnrt_tensor in2, const qnnrt_param_desc *params, size_t param_count)
{
    const qnnrt_tensor in[3] = { in0, in1, in2 };
    qnnrt_node_desc n = {0};
    n.type = type;
    n.inputs = in;
    n.input_count = in2 != QNNRT_NO_TENSOR ? 3 : in1 != QNNRT_NO_TENSOR ? 2 : 1;
    n.outputs = &out;
    n.output_count = 1;
    n.params = params;
    n.param_count = param_count;
    qnnrt_builder_node(b, &n);
}

static qnnrt_param_desc numbers(const char *name, const uint32_t *data, uint32_t rank, uint32_t d0, uint32_t d1)
{
    qnnrt_param_desc p = {0};
    p.name = name;
    p.dtype = QNNRT_DTYPE_U32;
    p.data = data;
    p.rank = rank;
    p.dims[0] = d0;
    p.dims[1] = d1;
    return p;
}

static qnnrt_param_desc scalar(const char *name, qnnrt_dtype dtype, double value)
{
    qnnrt_param_desc p = {0};
    p.name = name;
    p.dtype = dtype;
    p.value = value;
    return p;
}

static void build_matmul(qnnrt_builder *b)
{
    const qnnrt_tensor x = tensor(b, QNNRT_TENSOR_INPUT, "x", 2, 256, 256, 0, 0);
    const qnnrt_tensor w = tensor(b, QNNRT_TENSOR_STATIC, "w", 2, 256, 256, 0, 0);
    node(b, "MatMul", tensor(b, QNNRT_TENSOR_OUTPUT, "y", 2, 256, 256, 0, 0), x, w, QNNRT_NO_TENSOR, NULL, 0);
}

static void build_conv(qnnrt_builder *b)
{
    static const uint32_t one[2] = { 1, 1 }, pad[4] = { 1, 1, 1, 1 };
    qnnrt_param_desc params[2];
    const qnnrt_tensor x = tensor(b, QNNRT_TENSOR_INPUT, "x", 4, 1, 28, 28, 64);
    const qnnrt_tensor w = tensor(b, QNNRT_TENSOR_STATIC, "w", 4, 3, 3, 64, 64);
    const qnnrt_tensor bias = tensor(b, QNNRT_TENSOR_STATIC, "bias", 1, 64, 0, 0, 0);
    params[0] = numbers("stride", one, 1, 2, 0);
    params[1] = numbers("pad_amount", pad, 2, 2, 2);
    node(b, "Conv2d", tensor(b, QNNRT_TENSOR_OUTPUT, "y", 4, 1, 28, 28, 64), x, w, bias, params, 2);
}

/* One token through a layer of 128 values, 4 heads, 128 positions of cache, 384 values inside. */
enum { DIM = 128, HEADS = 4, HEAD = DIM / HEADS, POSITIONS = 128, INSIDE = 384 };

static qnnrt_tensor inner(qnnrt_builder *b, const char *name, uint32_t width)
{
    return tensor(b, QNNRT_TENSOR_INNER, name, 2, 1, width, 0, 0);
}

static qnnrt_tensor norm(qnnrt_builder *b, qnnrt_tensor x, const char *gamma, const char *beta, const char *name)
{
    static const uint32_t axis = 1;
    qnnrt_param_desc params[2];
    const qnnrt_tensor y = inner(b, name, DIM);
    params[0] = numbers("axes", &axis, 1, 1, 0);
    params[1] = scalar("epsilon", QNNRT_DTYPE_F32, 1e-5);
    node(b, "RmsNorm", y, x, tensor(b, QNNRT_TENSOR_STATIC, gamma, 1, DIM, 0, 0, 0),
         tensor(b, QNNRT_TENSOR_STATIC, beta, 1, DIM, 0, 0, 0), params, 2);
    return y;
}

static qnnrt_tensor linear(qnnrt_builder *b, qnnrt_tensor x, const char *weight, uint32_t inputs, uint32_t outputs,
                           const char *name)
{
    const qnnrt_tensor y = inner(b, name, outputs);
    node(b, "FullyConnected", y, x, tensor(b, QNNRT_TENSOR_STATIC, weight, 2, outputs, inputs, 0, 0),
         QNNRT_NO_TENSOR, NULL, 0);
    return y;
}

static void build_decoder(qnnrt_builder *b)
{
    const qnnrt_param_desc transpose = scalar("transpose_in1", QNNRT_DTYPE_BOOL8, 1);
    const qnnrt_tensor x = tensor(b, QNNRT_TENSOR_INPUT, "x", 2, 1, DIM, 0, 0);
    const qnnrt_tensor keys = tensor(b, QNNRT_TENSOR_INPUT, "keys", 4, 1, HEADS, POSITIONS, HEAD);
    const qnnrt_tensor values = tensor(b, QNNRT_TENSOR_INPUT, "values", 4, 1, HEADS, POSITIONS, HEAD);
    const qnnrt_tensor y = tensor(b, QNNRT_TENSOR_OUTPUT, "y", 2, 1, DIM, 0, 0);
    const qnnrt_tensor new_keys = tensor(b, QNNRT_TENSOR_OUTPUT, "new_keys", 2, 1, DIM, 0, 0);
    const qnnrt_tensor new_values = tensor(b, QNNRT_TENSOR_OUTPUT, "new_values", 2, 1, DIM, 0, 0);
    const qnnrt_tensor queries = tensor(b, QNNRT_TENSOR_INNER, "queries", 4, 1, HEADS, 1, HEAD);
    const qnnrt_tensor scores = tensor(b, QNNRT_TENSOR_INNER, "scores", 4, 1, HEADS, 1, POSITIONS);
    const qnnrt_tensor shares = tensor(b, QNNRT_TENSOR_INNER, "shares", 4, 1, HEADS, 1, POSITIONS);
    const qnnrt_tensor mixed = tensor(b, QNNRT_TENSOR_INNER, "mixed", 4, 1, HEADS, 1, HEAD);
    const qnnrt_tensor flat = inner(b, "flat", DIM), middle = inner(b, "middle", DIM);
    const qnnrt_tensor sigmoid = inner(b, "sigmoid", INSIDE), swish = inner(b, "swish", INSIDE);
    const qnnrt_tensor gated = inner(b, "gated", INSIDE);
    qnnrt_tensor normed = norm(b, x, "gamma1", "beta1", "normed1"), gate;

    node(b, "Reshape", queries, linear(b, normed, "wq", DIM, DIM, "q"), 0, 0, NULL, 0);
    node(b, "FullyConnected", new_keys, normed, tensor(b, QNNRT_TENSOR_STATIC, "wk", 2, DIM, DIM, 0, 0), 0, NULL, 0);
    node(b, "FullyConnected", new_values, normed, tensor(b, QNNRT_TENSOR_STATIC, "wv", 2, DIM, DIM, 0, 0), 0, NULL, 0);
    node(b, "MatMul", scores, queries, keys, 0, &transpose, 1);
    node(b, "Softmax", shares, scores, 0, 0, NULL, 0);
    node(b, "MatMul", mixed, shares, values, 0, NULL, 0);
    node(b, "Reshape", flat, mixed, 0, 0, NULL, 0);
    node(b, "ElementWiseAdd", middle, x, linear(b, flat, "wo", DIM, DIM, "o"), 0, NULL, 0);
    normed = norm(b, middle, "gamma2", "beta2", "normed2");
    gate = linear(b, normed, "wg", DIM, INSIDE, "gate");
    node(b, "Sigmoid", sigmoid, gate, 0, 0, NULL, 0);
    node(b, "ElementWiseMultiply", swish, gate, sigmoid, 0, NULL, 0);
    node(b, "ElementWiseMultiply", gated, swish, linear(b, normed, "wu", DIM, INSIDE, "up"), 0, NULL, 0);
    node(b, "ElementWiseAdd", y, middle, linear(b, gated, "wd", INSIDE, DIM, "down"), 0, NULL, 0);
}

static const struct {
    const char *name;
    void      (*build)(qnnrt_builder *);
    const char *inputs[3];
    size_t      counts[3], out;
} graphs[] = {
    { "matmul", build_matmul, { "x", NULL, NULL }, { 256 * 256, 0, 0 }, 256 * 256 },
    { "conv2d", build_conv, { "x", NULL, NULL }, { 28 * 28 * 64, 0, 0 }, 28 * 28 * 64 },
    { "decoder", build_decoder, { "x", "keys", "values" },
      { DIM, HEADS * POSITIONS * HEAD, HEADS * POSITIONS * HEAD }, DIM }
};
enum { GRAPHS = sizeof graphs / sizeof graphs[0] };

/* ---- measuring -------------------------------------------------------------------------------- */

static qnnrt_run *ready(qnnrt_backend *backend, size_t g, qnnrt **model)
{
    qnnrt_error err = {0};
    qnnrt_graph_desc desc = {0};
    qnnrt_builder *b = NULL;
    qnnrt_run *run = NULL;
    desc.name = graphs[g].name;
    if (qnnrt_builder_create(backend, NULL, &b, &err) != QNNRT_OK) stop(graphs[g].name, err.text);
    qnnrt_builder_graph(b, &desc);
    graphs[g].build(b);
    if (qnnrt_builder_finish(b, model, &err) != QNNRT_OK ||
        qnnrt_prepare(*model, graphs[g].name, &run, &err) != QNNRT_OK)
        stop(graphs[g].name, err.text);
    for (int i = 0; i < 3 && graphs[g].inputs[i] != NULL; ++i)
        if (qnnrt_write_f32(run, graphs[g].inputs[i], fill(graphs[g].inputs[i], graphs[g].counts[i]),
                            graphs[g].counts[i]) != QNNRT_OK)
            stop(graphs[g].name, qnnrt_run_error(run)->text);
    return run;
}

static void measure(size_t g, int libraries, qnnrt_backend **backends, char **labels)
{
    static float first[MOST];
    static double times[LIBRARIES][ROUNDS];
    qnnrt *models[LIBRARIES];
    qnnrt_run *runs[LIBRARIES];
    float largest = 0.0f;

    for (int l = 0; l < libraries; ++l)
        runs[l] = ready(backends[l], g, &models[l]);
    for (int round = 0; round < ROUNDS; ++round)
        for (int l = 0; l < libraries; ++l) {
            const double begin = now_us();
            if (qnnrt_exec(runs[l]) != QNNRT_OK) stop(labels[l], qnnrt_run_error(runs[l])->text);
            times[l][round] = now_us() - begin;
        }
    for (int l = 0; l < libraries; ++l) {
        float worst = 0.0f;
        if (qnnrt_read_f32(runs[l], "y", l == 0 ? first : scratch, graphs[g].out) != QNNRT_OK)
            stop(labels[l], qnnrt_run_error(runs[l])->text);
        for (size_t i = 0; i < graphs[g].out; ++i) {
            if (l == 0) largest = fabsf(first[i]) > largest ? fabsf(first[i]) : largest;
            else worst = fabsf(first[i] - scratch[i]) > worst ? fabsf(first[i] - scratch[i]) : worst;
        }
        qsort(times[l], ROUNDS, sizeof times[l][0], by_value);
        printf("%s\t%s\t%.1f\t%.1f\t%.1e\n", graphs[g].name, labels[l], times[l][0], times[l][ROUNDS / 2],
               (double)(worst / largest));
        qnnrt_run_destroy(runs[l]);
        qnnrt_close(models[l]);
    }
}

int main(int argc, char **argv)
{
    qnnrt_backend *backends[LIBRARIES];
    qnnrt_error err = {0};
    if (argc < 2 || argc > 1 + LIBRARIES) {
        printf("usage: bench_ops LIBRARY [LIBRARY ...]\n");
        return 2;
    }
    for (int l = 0; l + 1 < argc; ++l) {
        qnnrt_backend_desc desc = {0};
        desc.path = argv[l + 1];
        if (qnnrt_backend_open(&desc, &backends[l], &err) != QNNRT_OK) stop(argv[l + 1], err.text);
    }
    for (size_t g = 0; g < GRAPHS; ++g)
        measure(g, argc - 1, backends, argv + 1);
    for (int l = 0; l + 1 < argc; ++l)
        qnnrt_backend_close(backends[l]);
    return 0;
}
