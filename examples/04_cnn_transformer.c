/* A small CNN and a transformer block in one context binary, restored by another process and compared.

       04_cnn_transformer HTP_LIBRARY REFERENCE_LIBRARY HTP.bin SHARED.bin REF.bin [run]

   First without "run": builds cnn, prefill (8 tokens), decode (one more, after their keys and values); SHARED.bin has
   one copy of the weights. Then with "run": compares; x86-64 refuses SHARED.bin, as it must. Link with -lm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define QNNRT_IMPLEMENTATION
#define QNNRT_COMPOSE
#include "qnnrt.h"

enum { W = 64, T = 8 };                         /* width and tokens */
static float noise[8 * W * W];                  /* all weights are pieces of it, and all inputs */
static qnnrt_builder *b;
static qnnrt_error err;

#define DIMS(...) (const uint32_t[]){ __VA_ARGS__, 0 }
#define FROM(...) (const qnnrt_tensor[]){ __VA_ARGS__, -1 }
#define WITH(...) (const qnnrt_param_desc[]){ __VA_ARGS__, { .name = NULL } }
#define LINEAR(name, rows, outputs, x, weight, inputs) \
    node("FullyConnected", name, DIMS(rows, outputs), FROM(x, tensor(weight, DIMS(outputs, inputs))), NULL)
#define NUMBER(key, type, n) { .name = key, .dtype = QNNRT_DTYPE_##type, .value = n }
#define LIST(key, rows, columns, ...) { .name = key, .dtype = QNNRT_DTYPE_U32, .rank = columns > 1 ? 2 : 1, \
                                        .dims = { rows, columns }, .data = (const uint32_t[]){ __VA_ARGS__ } }
static void must(qnnrt_result result) { if (result != QNNRT_OK) { puts(err.text); puts(err.hint); exit(1); } }

/* The name says what it is: in..., out..., w_... (a weight), or something between nodes. */
static qnnrt_tensor tensor(const char *name, const uint32_t *dims)
{
    qnnrt_tensor_desc t = { .name = name, .dtype = QNNRT_DTYPE_F32, .bytes = name[0] == 'w' ? sizeof(float) : 0 };
    for (; dims[t.rank] != 0; ++t.rank) t.bytes *= t.dims[t.rank] = dims[t.rank];
    t.kind = name[0] == 'i' ? QNNRT_TENSOR_INPUT : name[0] == 'o' ? QNNRT_TENSOR_OUTPUT : QNNRT_TENSOR_INNER;
    if (name[0] == 'w') { t.kind = QNNRT_TENSOR_STATIC; t.data = noise + 32 * (name[2] - 'a'); }
    return qnnrt_builder_tensor(b, &t);
}

static qnnrt_tensor node(const char *type, const char *name, const uint32_t *dims, const qnnrt_tensor *from,
                         const qnnrt_param_desc *with)
{
    const qnnrt_tensor out = tensor(name, dims);
    qnnrt_node_desc n = { .type = type, .inputs = from, .outputs = &out, .output_count = 1, .params = with };
    while (from[n.input_count] >= 0) ++n.input_count;
    while (with != NULL && with[n.param_count].name != NULL) ++n.param_count;
    qnnrt_builder_node(b, &n);
    return out;
}

static void build(const char *library, const char *path, int share)
{
    qnnrt_backend *backend;
    qnnrt *model;
    qnnrt_tensor x, n, k, v;
    must(qnnrt_backend_open(&(qnnrt_backend_desc){ .path = library }, &backend, &err));
    must(qnnrt_builder_create(backend, NULL, &b, &err));
    qnnrt_builder_context(b, &(qnnrt_context_desc){ .weight_sharing = share });
    qnnrt_builder_graph(b, &(qnnrt_graph_desc){ .name = "cnn" });
    x = node("Conv2d", "conv", DIMS(1, 8, 8, 16), FROM(tensor("in", DIMS(1, 8, 8, 3)), tensor("w_filter", DIMS(3, 3, 3, 16))),
             WITH(LIST("stride", 2, 1, 1, 1), LIST("pad_amount", 2, 2, 1, 1, 1, 1)));
    LINEAR("out", 1, 10, node("Relu", "relu", DIMS(1, 8, 8, 16), FROM(x), NULL), "w_dense", 1024);
    for (uint32_t decode = 0; decode < 2; ++decode) {                 /* attention, then a perceptron, each added */
        const uint32_t t = decode ? 1 : T, all = decode ? T + 1 : T, *rows = DIMS(t, W);
        qnnrt_builder_graph(b, &(qnnrt_graph_desc){ .name = decode ? "decode" : "prefill" });
        x = tensor("in", rows);
        n = node("LayerNorm", "norm", rows, FROM(x, tensor("w_gain", DIMS(W)), tensor("w_bias", DIMS(W))),
                 WITH(NUMBER("epsilon", F32, 1e-5), LIST("axes", 1, 1, 1)));
        k = LINEAR("out_k", t, W, n, "w_key", W);
        v = LINEAR("out_v", t, W, n, "w_value", W);
        n = LINEAR("q", t, W, n, "w_query", W);
        if (decode) k = node("Concat", "k", DIMS(all, W), FROM(tensor("in_k", DIMS(T, W)), k), WITH(NUMBER("axis", U32, 0)));
        if (decode) v = node("Concat", "v", DIMS(all, W), FROM(tensor("in_v", DIMS(T, W)), v), WITH(NUMBER("axis", U32, 0)));
        n = node("MatMul", "scores", DIMS(t, all), FROM(n, k), WITH(NUMBER("transpose_in1", BOOL8, 1)));
        n = node("Softmax", "share", DIMS(t, all), FROM(n), NULL);
        x = node("ElementWiseAdd", "middle", rows, FROM(x, node("MatMul", "mixed", rows, FROM(n, v), NULL)), NULL);
        n = node("Relu", "relu", DIMS(t, 2 * W), FROM(LINEAR("up", t, 2 * W, x, "w_up", W)), NULL);
        node("ElementWiseAdd", "out", rows, FROM(x, LINEAR("down", t, W, n, "w_down", 2 * W)), NULL);
    }
    must(qnnrt_builder_finish(b, &model, &err));
    must(qnnrt_save(model, 0, path, &err));
    qnnrt_close(model);
    qnnrt_backend_close(backend);
}

/* Look into a file, then open it and run its graphs. What is open is freed by the end of the process. */
static void run(const char *library, const char *system, const char *path, float *out)
{
    const qnnrt_file file = { .path = path };
    qnnrt_desc desc = { .files = &file, .file_count = 1, .backend_desc.path = library, .system_path = system, .inspect = 1 };
    qnnrt *model;
    qnnrt_run *r[3];
    must(qnnrt_open(NULL, &desc, &model, &err));
    printf("%s: %lu bytes, of which graphs share %lu\n", path, (unsigned long)qnnrt_get_info(model)->contexts->file_bytes,
           (unsigned long)qnnrt_get_info(model)->contexts->graphs[1].shared_weights_bytes);
    desc.inspect = 0;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) { printf("refused: %s\n", err.text); return; }
    for (int g = 0; g < 3; ++g, out += T * W) {
        must(qnnrt_prepare(model, g == 0 ? "cnn" : g == 1 ? "prefill" : "decode", &r[g], &err));
        qnnrt_bind(r[g], "in", noise, sizeof noise);
        qnnrt_bind(r[g], "out", out, T * W * sizeof *out);
        if (g == 2) qnnrt_bind(r[g], "in_k", qnnrt_data(r[1], "out_k", NULL), T * W * sizeof *out);
        if (g == 2) qnnrt_bind(r[g], "in_v", qnnrt_data(r[1], "out_v", NULL), T * W * sizeof *out);
        if (qnnrt_exec(r[g]) != QNNRT_OK) must((err = *qnnrt_run_error(r[g])).code);
    }
}

int main(int argc, char **argv)
{
    static float found[3 * T * W], wanted[3 * T * W];
    float worst = 0;
    if (argc < 6) { puts("usage: 04_cnn_transformer HTP_LIB REFERENCE_LIB HTP.bin SHARED.bin REF.bin [run]"); return 2; }
    for (int i = 0; i < 8 * W * W; ++i) noise[i] = 0.2f * sinf((float)i * (float)i);
    if (argc == 6) { build(argv[1], argv[3], 0); build(argv[1], argv[4], 1); build(argv[2], argv[5], 0); return 0; }
    run(argv[1], NULL, argv[3], found);                               /* NULL: libQnnSystem.so beside it */
    run(argv[2], argv[2], argv[5], wanted);
    for (int i = 0; i < 3 * T * W; ++i) worst = fmaxf(worst, fabsf(wanted[i] - found[i]));
    printf("largest difference: %.4f, where values are about 1\n", (double)worst);
    run(argv[1], NULL, argv[4], found);
    return worst > 0.01f;
}
