/* bench_ir.c - how fast qnnrt_ir_run() computes

       bench_ir [MODEL.json ...]

   Computes layers beside plain loops with sums in double, which are what the evaluator would be without blocks; then
   each graph, with made-up weights and inputs, and the operators that take longest. Other arguments are ignored. */
#define _POSIX_C_SOURCE 200809L
#define QNNRT_IMPLEMENTATION
#define QNNRT_IR_IMPLEMENTATION
#define QNNRT_IR_PASSES_IMPLEMENTATION
#include "qnnrt_ir_passes.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Return the next of a row of made-up numbers between -1 and 1. */
static float made_up(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)((double)(*seed >> 8) / 8388608.0 - 1);
}

static void *get(size_t bytes)
{
    void *data = calloc(bytes + 16, 1);
    if (data == NULL) abort();
    return data;
}

/* Fill a float32 tensor, so that sums stay near 1. Integers are 0. */
static void fill(const qnnrt_ir_value *value, float *data)
{
    const double inner = value->rank > 1 && value->dims[0] > 0 ? (double)value->count / (double)value->dims[0] : 1;
    const double scale = value->rank > 1 ? 1 / sqrt(inner) : 1;
    uint32_t seed = (uint32_t)value->number * 77 + 1;
    uint64_t i;
    if (value->dtype != QNNRT_DTYPE_F32) { memset(data, 0, (size_t)value->count * qnnrt_ir_dtype_bytes(value->dtype)); return; }
    for (i = 0; i < value->count; ++i) data[i] = made_up(&seed) * (float)scale;
    for (i = 0; i < value->count && value->key != NULL && strstr(value->key, "var") != NULL; ++i) data[i] = 1;
}

static qnnrt_result load(void *user, const qnnrt_ir_value *weight, void *data, qnnrt_error *err)
{
    (void)user;
    (void)err;
    fill(weight, (float *)data);
    return QNNRT_OK;
}

/* ---- operators of a graph ---- */

typedef struct { const char *op; double seconds; size_t nodes; } spent;
static spent ops[400];
static double last;

static qnnrt_result watch(void *user, const qnnrt_ir_node *node, size_t output, const void *data, qnnrt_error *err)
{
    spent *op = ops;
    const double t = now();
    (void)user;
    (void)data;
    (void)err;
    while (op->op != NULL && strcmp(op->op, node->op) != 0) ++op;
    op->op = node->op;
    op->seconds += t - last;
    op->nodes += output == 0;
    last = t;
    return QNNRT_OK;
}

static int slower(const void *a, const void *b)
{
    const double d = ((const spent *)b)->seconds - ((const spent *)a)->seconds;
    return d > 0 ? 1 : d < 0 ? -1 : 0;
}

/* Run a graph. Return its seconds; outputs receives the first output. */
static double run(qnnrt_ir *ir, void **output)
{
    const void **in = (const void **)get(ir->input_count * sizeof(*in));
    void **out = (void **)get(ir->output_count * sizeof(*out));
    qnnrt_ir_run_desc desc;
    qnnrt_error err;
    double begin;
    size_t i;
    memset(&desc, 0, sizeof(desc));
    memset(ops, 0, sizeof(ops));
    desc.load = load;
    desc.watch = watch;
    for (i = 0; i < ir->input_count; ++i) {
        float *data = (float *)get((size_t)ir->inputs[i]->count * 8);
        fill(ir->inputs[i], data);
        in[i] = data;
    }
    *output = out[0] = get((size_t)ir->outputs[0]->count * 8);
    begin = last = now();
    if (qnnrt_ir_run(ir, &desc, in, out, &err) != QNNRT_OK) printf("    %s\n", err.text);
    begin = now() - begin;
    for (i = 0; i < ir->input_count; ++i) free((void *)(uintptr_t)in[i]);
    free(in);
    free(out);
    return begin;
}

static int model(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = (char *)get((size_t)64 << 20);
    const size_t bytes = file != NULL ? fread(text, 1, (size_t)64 << 20, file) : 0;
    qnnrt_ir *ir = NULL;
    qnnrt_error err;
    void *output;
    size_t i;
    if (file != NULL) fclose(file);
    if (qnnrt_ir_read(text, bytes, NULL, &ir, &err) != QNNRT_OK || qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK) {
        printf("%s: %s\n", path, err.text);
        free(text);
        qnnrt_ir_free(ir);
        return 1;
    }
    printf("%-58s %8.0f ms:", path, 1e3 * run(ir, &output));
    qsort(ops, sizeof(ops) / sizeof(ops[0]), sizeof(ops[0]), slower);
    for (i = 0; i < 4 && ops[i].op != NULL; ++i) printf("  %s %.0f", ops[i].op, 1e3 * ops[i].seconds);
    printf("\n");
    free(text);
    free(output);
    qnnrt_ir_free(ir);
    return 0;
}

/* ---- layers beside plain loops ---- */

#define T(name, shape) "{\"name\": \"" name "\", \"shape\": [" shape "], \"dtype\": \"float32\"}"
#define LAYER(op, x, w, y, attrs) "{\"graph_inputs\": [" T("x", x) ", " T("w", w) "], \"graph_outputs\": [" T("y", y) \
    "], \"weights\": [], \"nodes\": [{\"name\": \"y\", \"op_type\": \"aten." op "\", \"inputs\": [" T("x", x) ", " T("w", w) \
    "], \"outputs\": [" T("y", y) "], \"attrs\": {" attrs "}}]}"

static void plain_linear(const float *x, const float *w, float *y)
{
    int i, j, k;
    for (i = 0; i < 197; ++i)
        for (j = 0; j < 768; ++j) {
            double sum = 0;
            for (k = 0; k < 192; ++k) sum += (double)x[i * 192 + k] * (double)w[j * 192 + k];
            y[i * 768 + j] = (float)sum;
        }
}

static void plain_conv(const float *x, const float *w, float *y)
{
    int o, i, j, c, a, b;
    for (o = 0; o < 64; ++o)
        for (i = 0; i < 56; ++i)
            for (j = 0; j < 56; ++j) {
                double sum = 0;
                for (c = 0; c < 64; ++c)
                    for (a = 0; a < 3; ++a)
                        for (b = 0; b < 3; ++b) {
                            const int row = i + a - 1, column = j + b - 1;
                            if (row < 0 || row > 55 || column < 0 || column > 55) continue;
                            sum += (double)x[(c * 56 + row) * 56 + column] * (double)w[((o * 64 + c) * 3 + a) * 3 + b];
                        }
                y[(o * 56 + i) * 56 + j] = (float)sum;
            }
}

static void layer(const char *name, const char *text, double macs, void (*plain)(const float *, const float *, float *))
{
    qnnrt_ir *ir = NULL;
    qnnrt_error err;
    float *x, *w, *y;
    void *output = NULL;
    double ours = 1e9, loops = 1e9, most = 0, t;
    uint64_t i;
    int round;
    if (qnnrt_ir_read(text, strlen(text), NULL, &ir, &err) != QNNRT_OK) { printf("%s\n", err.text); return; }
    x = (float *)get((size_t)ir->inputs[0]->count * 4);
    w = (float *)get((size_t)ir->inputs[1]->count * 4);
    y = (float *)get((size_t)ir->outputs[0]->count * 4);
    fill(ir->inputs[0], x);
    fill(ir->inputs[1], w);
    for (round = 0; round < 3; ++round) {
        free(output);
        t = run(ir, &output);
        if (t < ours) ours = t;
        t = now();
        plain(x, w, y);
        t = now() - t;
        if (t < loops) loops = t;
    }
    for (i = 0; i < ir->outputs[0]->count; ++i) {
        const double d = fabs((double)((const float *)output)[i] - (double)y[i]);
        if (d > most) most = d;
    }
    printf("%-30s %8.1f ms %6.2f GMAC/s    plain loops %8.1f ms    ratio %.3f    largest difference %.2g\n", name, 1e3 * ours,
           1e-9 * macs / ours, 1e3 * loops, ours / loops, most);
    free(x);
    free(w);
    free(y);
    free(output);
    qnnrt_ir_free(ir);
}

int main(int argc, char **argv)
{
    int i, status = 0;
    printf("qnnrt_ir_run(), one core, CPU time, best of 3\n");
    layer("linear 197 x 192 x 768", LAYER("linear.default", "197, 192", "768, 192", "197, 768", ""), 197. * 192 * 768, plain_linear);
    layer("conv2d 64 of 3 x 3, 56 x 56", LAYER("conv2d.default", "1, 64, 56, 56", "64, 64, 3, 3", "1, 64, 56, 56", "\"padding\": [1, 1]"),
          64. * 64 * 9 * 56 * 56, plain_conv);
    for (i = 1; i < argc; ++i) {
        const size_t bytes = strlen(argv[i]);
        if (bytes > 5 && strcmp(argv[i] + bytes - 5, ".json") == 0) status |= model(argv[i]);
    }
    return status;
}
