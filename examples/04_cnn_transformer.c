/* A small CNN and a transformer block in one context binary, which another process restores.

       04_cnn_transformer HTP_LIBRARY REFERENCE_LIBRARY HTP.bin SHARED.bin REF.bin [run]

   Without "run" it builds cnn, prefill (8 tokens) and decode (one more, after their keys and
   values); SHARED.bin has one copy of the weights. With "run" it compares the results of the two
   libraries; on x86-64, SHARED.bin is refused. Link with -lm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#include "tools/qnnrt_builder.h"
#include "graph_text.h"

enum { W = 64, T = 8 };                              /* width and tokens */
static float noise[8 * W * W];                       /* all weights and inputs are parts of it */
static graph_text g = { .weights = noise };
static qnnrt_error err;
static const uint32_t ones[4] = { 1, 1, 1, 1 };
#define LIST(m, n) .dtype = QNNRT_DTYPE_U32, .rank = n > 1 ? 2 : 1, .dims = { m, n }, .data = ones
static const qnnrt_param_desc conv[] = {
    { .name = "stride", LIST(2, 1) }, { .name = "pad_amount", LIST(2, 2) }, { .name = NULL } };
static const qnnrt_param_desc norm[] = {
    { .name = "epsilon", .dtype = QNNRT_DTYPE_F32, .value = 1e-5 },
    { .name = "axes", LIST(1, 1) }, { .name = NULL } };
static const qnnrt_param_desc rows[] = {
    { .name = "axis", .dtype = QNNRT_DTYPE_U32, .value = 0 }, { .name = NULL } };
static const qnnrt_param_desc turned[] = {
    { .name = "transpose_in1", .dtype = QNNRT_DTYPE_BOOL8, .value = 1 }, { .name = NULL } };

static void must(qnnrt_result result)
{
    if (result == QNNRT_OK) return;
    printf("%s\n%s\n", err.text, err.hint);
    exit(1);
}

/* Describe attention, then a perceptron, each added to its input. */
static void block(int decode)
{
    graph_begin(&g, decode ? "decode" : "prefill", decode ? 1 : T);
    graph_node(&g, "LayerNorm", "norm 0 64", "in 0 64,w_gain 64,w_bias 64", norm);
    graph_node(&g, "FullyConnected", "out_k 0 64", "norm,w_key 64 64", NULL);
    graph_node(&g, "FullyConnected", "out_v 0 64", "norm,w_value 64 64", NULL);
    graph_node(&g, "FullyConnected", "q 0 64", "norm,w_query 64 64", NULL);
    if (decode) graph_node(&g, "Concat", "k 9 64", "in_k 8 64,out_k", rows);
    if (decode) graph_node(&g, "Concat", "v 9 64", "in_v 8 64,out_v", rows);
    graph_node(&g, "MatMul", decode ? "sums 1 9" : "sums 8 8", decode ? "q,k" : "q,out_k", turned);
    graph_node(&g, "Softmax", decode ? "share 1 9" : "share 8 8", "sums", NULL);
    graph_node(&g, "MatMul", "mixed 0 64", decode ? "share,v" : "share,out_v", NULL);
    graph_node(&g, "ElementWiseAdd", "middle 0 64", "in,mixed", NULL);
    graph_node(&g, "FullyConnected", "up 0 128", "middle,w_up 128 64", NULL);
    graph_node(&g, "Relu", "relu 0 128", "up", NULL);
    graph_node(&g, "FullyConnected", "down 0 64", "relu,w_down 64 128", NULL);
    graph_node(&g, "ElementWiseAdd", "out 0 64", "middle,down", NULL);
}

static void build(const char *library, const char *path, int share)
{
    qnnrt_backend *backend;
    qnnrt *model;
    must(qnnrt_backend_open(&(qnnrt_backend_desc){ .path = library }, &backend, &err));
    must(qnnrt_builder_create(backend, NULL, &g.builder, &err));
    qnnrt_builder_context(g.builder, &(qnnrt_context_desc){ .weight_sharing = share });
    graph_begin(&g, "cnn", 1);
    graph_node(&g, "Conv2d", "conv 1 8 8 16", "in 1 8 8 3,w_filter 3 3 3 16", conv);
    graph_node(&g, "Relu", "relu 1 8 8 16", "conv", NULL);
    graph_node(&g, "FullyConnected", "out 1 10", "relu,w_dense 10 1024", NULL);
    block(0);
    block(1);
    must(qnnrt_builder_finish(g.builder, &model, &err));
    must(qnnrt_save(model, 0, path, &err));
    qnnrt_close(model);
    qnnrt_backend_close(backend);
}

/* Look into a file, then open it and run its graphs. What stays open ends with the process. */
static void run(const char *library, const char *system, const char *path, float *out)
{
    static const char *const graphs[] = { "cnn", "prefill", "decode" };
    const qnnrt_file file = { .path = path };
    qnnrt_desc desc = { .files = &file, .file_count = 1, .inspect = 1, .system_path = system,
                        .backend_desc.path = library };
    qnnrt *model;
    qnnrt_run *r[3];
    must(qnnrt_open(NULL, &desc, &model, &err));
    printf("%s: %lu bytes, of which graphs share %lu\n", path,
           (unsigned long)qnnrt_get_info(model)->contexts->file_bytes,
           (unsigned long)qnnrt_get_info(model)->contexts->graphs[1].shared_weights_bytes);
    desc.inspect = 0;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) printf("refused: %s\n", err.text);
    for (int i = 0; model != NULL && i < 3; ++i, out += T * W) {
        must(qnnrt_prepare(model, graphs[i], &r[i], &err));
        qnnrt_bind(r[i], "in", noise, sizeof noise);
        qnnrt_bind(r[i], "out", out, T * W * sizeof *out);
        if (i == 2) qnnrt_bind(r[i], "in_k", qnnrt_data(r[1], "out_k", NULL), T * W * sizeof *out);
        if (i == 2) qnnrt_bind(r[i], "in_v", qnnrt_data(r[1], "out_v", NULL), T * W * sizeof *out);
        if (qnnrt_exec(r[i]) != QNNRT_OK) must((err = *qnnrt_run_error(r[i])).code);
    }
}

int main(int argc, char **argv)
{
    static float found[3 * T * W], wanted[3 * T * W];
    float worst = 0;
    if (argc < 6) {
        puts("usage: 04_cnn_transformer HTP_LIB REFERENCE_LIB HTP.bin SHARED.bin REF.bin [run]");
        return 2;
    }
    for (int i = 0; i < 8 * W * W; ++i) noise[i] = 0.2f * sinf((float)i * (float)i);
    for (int i = 3; argc == 6 && i < 6; ++i) build(argv[i == 5 ? 2 : 1], argv[i], i == 4);
    if (argc == 6) return 0;
    run(argv[1], NULL, argv[3], found);                   /* NULL: libQnnSystem.so beside it */
    run(argv[2], argv[2], argv[5], wanted);
    for (int i = 0; i < 3 * T * W; ++i) worst = fmaxf(worst, fabsf(wanted[i] - found[i]));
    printf("largest difference: %.4f, where values are about 1\n", (double)worst);
    run(argv[1], NULL, argv[4], found);
    return worst > 0.01f;
}
