/* A CNN and a transformer block as one context binary, restored by a new process, and compared.

       04_cnn_transformer HTP_LIBRARY SYSTEM_LIBRARY REFERENCE_LIBRARY FOLDER

   Graphs: cnn; prefill, for 8 tokens; decode, for one more after their keys and values. They are made
   for both backends, then for HTP with weights that graphs share. Then the program starts itself again
   to open the files, run everything, and compare with the reference. Link with -lm. */
#define _POSIX_C_SOURCE 200112L                 /* for execl() */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define QNNRT_IMPLEMENTATION
#define QNNRT_COMPOSE
#include "qnnrt.h"

enum { IN = QNNRT_TENSOR_INPUT, OUT = QNNRT_TENSOR_OUTPUT, INNER = QNNRT_TENSOR_INNER, W = 64, T = 8 };
static qnnrt_builder *b;
static qnnrt_error err;
static float noise[8 * W * W];

/* Lists that know their end, and two forms of a node's parameters. */
#define DIMS(...) ((const uint32_t[]){ __VA_ARGS__, 0 })
#define FROM(...) ((const qnnrt_tensor[]){ __VA_ARGS__, -1 })
#define WITH(...) ((const qnnrt_param_desc[]){ __VA_ARGS__, { .name = NULL } })
#define NUMBER(key, type, n) { .name = key, .dtype = QNNRT_DTYPE_##type, .value = n }
#define LIST(key, d0, d1, ...) { .name = key, .dtype = QNNRT_DTYPE_U32, .rank = d1 > 1 ? 2 : 1, \
                                 .dims = { d0, d1 }, .data = (const uint32_t[]){ __VA_ARGS__ } }

static void must(qnnrt_result result)
{
    if (result != QNNRT_OK) { fprintf(stderr, "04_cnn_transformer: %s\n", err.text); exit(1); }
}

static qnnrt_tensor tensor(int kind, const char *name, const uint32_t *dims)
{
    qnnrt_tensor_desc t = { .name = name, .kind = (qnnrt_tensor_kind)kind, .dtype = QNNRT_DTYPE_F32 };
    size_t bytes = sizeof(float);
    for (; dims[t.rank] != 0; ++t.rank) bytes *= t.dims[t.rank] = dims[t.rank];
    if (kind == QNNRT_TENSOR_STATIC) { t.data = noise + 32 * (name[1] - 'a'); t.bytes = bytes; }
    return qnnrt_builder_tensor(b, &t);
}

static qnnrt_tensor weight(const char *name, const uint32_t *dims) { return tensor(QNNRT_TENSOR_STATIC, name, dims); }

static qnnrt_tensor node(const char *type, const qnnrt_tensor *from, const qnnrt_param_desc *with,
                         int kind, const char *name, const uint32_t *dims)
{
    qnnrt_tensor out = tensor(kind, name, dims);
    qnnrt_node_desc n = { .type = type, .inputs = from, .outputs = &out, .output_count = 1, .params = with };
    while (from[n.input_count] >= 0) ++n.input_count;
    while (with != NULL && with[n.param_count].name != NULL) ++n.param_count;
    qnnrt_builder_node(b, &n);
    return out;
}

/* One context of the three graphs, saved. */
static void build(const char *library, const char *path, int share)
{
    const qnnrt_backend_desc desc = { .path = library };
    const qnnrt_context_desc context = { .weight_sharing = share };
    const uint32_t tokens[2] = { T, 1 };
    qnnrt_backend *backend;
    qnnrt *model;
    int g;
    must(qnnrt_backend_open(&desc, &backend, &err));
    must(qnnrt_builder_create(backend, NULL, &b, &err));
    qnnrt_builder_context(b, &context);
    qnnrt_builder_graph(b, &(qnnrt_graph_desc){ .name = "cnn" });
    {
        qnnrt_tensor x = tensor(IN, "x", DIMS(1, 8, 8, 3));
        x = node("Conv2d", FROM(x, weight("wf", DIMS(3, 3, 3, 16)), weight("wb", DIMS(16))),
                 WITH(LIST("stride", 2, 1, 1, 1), LIST("pad_amount", 2, 2, 1, 1, 1, 1)), INNER, "c", DIMS(1, 8, 8, 16));
        x = node("Relu", FROM(x), NULL, INNER, "r", DIMS(1, 8, 8, 16));
        x = node("FullyConnected", FROM(x, weight("wc", DIMS(10, 1024))), NULL, INNER, "d", DIMS(1, 10));
        node("Softmax", FROM(x), NULL, OUT, "y", DIMS(1, 10));
    }
    for (g = 0; g < 2; ++g) {                   /* x + attention(norm(x)), then x + perceptron(x) */
        const uint32_t t = tokens[g], all = g == 0 ? T : T + 1, *rows = DIMS(t, W);
        qnnrt_tensor x, n, q, k, v, s;
        qnnrt_builder_graph(b, &(qnnrt_graph_desc){ .name = g == 0 ? "prefill" : "decode" });
        x = tensor(IN, "x", rows);
        n = node("LayerNorm", FROM(x, weight("wg", DIMS(W)), weight("wb", DIMS(W))),
                 WITH(NUMBER("epsilon", F32, 1e-5), LIST("axes", 1, 1, 1)), INNER, "n", rows);
        q = node("FullyConnected", FROM(n, weight("wq", DIMS(W, W))), NULL, INNER, "q", rows);
        k = node("FullyConnected", FROM(n, weight("wk", DIMS(W, W))), NULL, OUT, "keys", rows);
        v = node("FullyConnected", FROM(n, weight("wv", DIMS(W, W))), NULL, OUT, "values", rows);
        if (g == 1) {
            const qnnrt_param_desc *axis = WITH(NUMBER("axis", U32, 0));
            k = node("Concat", FROM(tensor(IN, "past_keys", DIMS(T, W)), k), axis, INNER, "ks", DIMS(all, W));
            v = node("Concat", FROM(tensor(IN, "past_values", DIMS(T, W)), v), axis, INNER, "vs", DIMS(all, W));
        }
        s = node("MatMul", FROM(q, k), WITH(NUMBER("transpose_in1", BOOL8, 1)), INNER, "s", DIMS(t, all));
        s = node("Softmax", FROM(s), NULL, INNER, "a", DIMS(t, all));
        v = node("MatMul", FROM(s, v), NULL, INNER, "m", rows);
        x = node("ElementWiseAdd", FROM(x, v), NULL, INNER, "h", rows);
        n = node("FullyConnected", FROM(x, weight("wu", DIMS(4 * W, W))), NULL, INNER, "u", DIMS(t, 4 * W));
        n = node("Relu", FROM(n), NULL, INNER, "w", DIMS(t, 4 * W));
        n = node("FullyConnected", FROM(n, weight("wd", DIMS(W, 4 * W))), NULL, INNER, "d", rows);
        node("ElementWiseAdd", FROM(x, n), NULL, OUT, "y", rows);
    }
    must(qnnrt_builder_finish(b, &model, &err));
    must(qnnrt_save(model, 0, path, &err));
    qnnrt_close(model);
    qnnrt_backend_close(backend);
}
