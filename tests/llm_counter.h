/* llm_counter.h - a language model that tells what it was shown

   Its logits are counts. For a token at position p that looks at some others and at itself:

       logits[v]          how many of them are token v
       logits[WORDS + v]  the sum of the positions of those
       logits[2 WORDS]    the sum of all their positions
       logits[2 WORDS + 1]  the sum of the squares of all their positions

   Keys of layer 0 are positions, those of layer 1 their squares; values of layer 0 are [token == v], of
   layer 1 that times the position. All numbers are whole and small, so every cell, column and row that
   is not what it should be shows, exactly. Built on libQnnRef.so, in float32, in memory. */
#ifndef LLM_COUNTER_H
#define LLM_COUNTER_H

#include <string.h>
#include "qnnrt.h"

enum { COUNTER_WORDS = 6, COUNTER_VOCABULARY = 2 * COUNTER_WORDS + 2 };

typedef struct counter_graph {
    uint32_t ar, context;
    int      per_head;          /* 1: ranks and order of ExecuTorch, [1, cells, dim] */
    int      whole;             /* 1: whole caches come out */
} counter_graph;

static qnnrt_builder *counter_b;

static qnnrt_tensor counter_tensor(qnnrt_tensor_kind kind, const char *name, qnnrt_dtype dtype,
                                   uint32_t rank, uint32_t d0, uint32_t d1, uint32_t d2, uint32_t d3)
{
    qnnrt_tensor_desc t;
    memset(&t, 0, sizeof t);
    t.name = name;
    t.kind = kind;
    t.dtype = dtype;
    t.rank = rank;
    t.dims[0] = d0;
    t.dims[1] = d1;
    t.dims[2] = d2;
    t.dims[3] = d3;
    return qnnrt_builder_tensor(counter_b, &t);
}

static qnnrt_tensor counter_constant(const char *name, uint32_t rows, uint32_t columns, const float *data)
{
    qnnrt_tensor_desc t;
    memset(&t, 0, sizeof t);
    t.name = name;
    t.kind = QNNRT_TENSOR_STATIC;
    t.dtype = QNNRT_DTYPE_F32;
    t.rank = columns > 0 ? 2 : 1;
    t.dims[0] = rows;
    t.dims[1] = columns;
    t.data = data;
    t.bytes = (size_t)rows * (columns > 0 ? columns : 1) * sizeof(float);
    return qnnrt_builder_tensor(counter_b, &t);
}

static void counter_node(const char *type, qnnrt_tensor out, qnnrt_tensor a, qnnrt_tensor b,
                         const char *p0, qnnrt_dtype t0, double v0, const char *p1, qnnrt_dtype t1, double v1)
{
    qnnrt_node_desc n;
    qnnrt_param_desc params[2];
    qnnrt_tensor in[2];
    memset(&n, 0, sizeof n);
    memset(params, 0, sizeof params);
    in[0] = a;
    in[1] = b;
    params[0].name = p0;
    params[0].dtype = t0;
    params[0].value = v0;
    params[1].name = p1;
    params[1].dtype = t1;
    params[1].value = v1;
    n.type = type;
    n.inputs = in;
    n.input_count = b != QNNRT_NO_TENSOR ? 2 : 1;
    n.outputs = &out;
    n.output_count = 1;
    n.params = params;
    n.param_count = p1 != NULL ? 2 : p0 != NULL ? 1 : 0;
    qnnrt_builder_node(counter_b, &n);
}

#define COUNTER_NO NULL, QNNRT_DTYPE_F32, 0
#define COUNTER_INNER QNNRT_TENSOR_INNER

/* The cache of earlier tokens and the new rows, one behind the other. */
static qnnrt_tensor counter_cache(const counter_graph *g, int layer, int value, qnnrt_tensor fresh)
{
    const uint32_t cells = g->context - g->ar, dim = value ? COUNTER_WORDS : 1, cl = g->context;
    const uint32_t rank = g->per_head ? 3 : 4, axis = g->per_head ? (value ? 1 : 2) : (value ? 2 : 3);
    char name[64];
    qnnrt_tensor in, all;
    const qnnrt_tensor_kind kind = g->whole ? QNNRT_TENSOR_OUTPUT : COUNTER_INNER;
    snprintf(name, sizeof name, "past_%s_%d_in", value ? "value" : "key", layer);
    if (g->per_head)
        in = value ? counter_tensor(QNNRT_TENSOR_INPUT, name, QNNRT_DTYPE_F32, 3, 1, cells, dim, 0)
                   : counter_tensor(QNNRT_TENSOR_INPUT, name, QNNRT_DTYPE_F32, 3, 1, dim, cells, 0);
    else
        in = value ? counter_tensor(QNNRT_TENSOR_INPUT, name, QNNRT_DTYPE_F32, 4, 1, 1, cells, dim)
                   : counter_tensor(QNNRT_TENSOR_INPUT, name, QNNRT_DTYPE_F32, 4, 1, 1, dim, cells);
    snprintf(name, sizeof name, g->whole ? "past_%s_%d_out" : "%s_%d_all", value ? "value" : "key", layer);
    if (g->per_head)
        all = value ? counter_tensor(kind, name, QNNRT_DTYPE_F32, rank, 1, cl, dim, 0)
                    : counter_tensor(kind, name, QNNRT_DTYPE_F32, rank, 1, dim, cl, 0);
    else
        all = value ? counter_tensor(kind, name, QNNRT_DTYPE_F32, rank, 1, 1, cl, dim)
                    : counter_tensor(kind, name, QNNRT_DTYPE_F32, rank, 1, 1, dim, cl);
    counter_node("Concat", all, in, fresh, "axis", QNNRT_DTYPE_U32, axis, COUNTER_NO);
    return all;
}

static qnnrt_tensor counter_new(const counter_graph *g, int layer, int value)
{
    const uint32_t dim = value ? COUNTER_WORDS : 1, ar = g->ar;
    const qnnrt_tensor_kind kind = g->whole ? COUNTER_INNER : QNNRT_TENSOR_OUTPUT;
    char name[64];
    snprintf(name, sizeof name, g->whole ? "%s_%d_new" : "past_%s_%d_out", value ? "value" : "key", layer);
    if (g->per_head)
        return value ? counter_tensor(kind, name, QNNRT_DTYPE_F32, 3, 1, ar, dim, 0)
                     : counter_tensor(kind, name, QNNRT_DTYPE_F32, 3, 1, dim, ar, 0);
    return value ? counter_tensor(kind, name, QNNRT_DTYPE_F32, 4, 1, 1, ar, dim)
                 : counter_tensor(kind, name, QNNRT_DTYPE_F32, 4, 1, 1, dim, ar);
}

static void counter_add(const counter_graph *g)
{
    static const float one = 1;
    float words[COUNTER_WORDS * COUNTER_WORDS];
    const uint32_t ar = g->ar, cl = g->context;
    const qnnrt_dtype f32 = QNNRT_DTYPE_F32;
    qnnrt_graph_desc desc;
    qnnrt_tensor ids, positions, mask, hot, k[2], v[2], t, p, p2, seen, part[4], logits;
    char name[64];
    int i;
    memset(&desc, 0, sizeof desc);
    snprintf(name, sizeof name, "%s_ar%u_cl%u", ar > 1 ? "prompt" : "token", (unsigned)ar, (unsigned)cl);
    desc.name = name;
    qnnrt_builder_graph(counter_b, &desc);
    memset(words, 0, sizeof words);
    for (i = 0; i < COUNTER_WORDS; ++i) words[i * COUNTER_WORDS + i] = 1;
    ids = counter_tensor(QNNRT_TENSOR_INPUT, "input_ids", QNNRT_DTYPE_I32, 2, 1, ar, 0, 0);
    positions = counter_tensor(QNNRT_TENSOR_INPUT, "position_ids", QNNRT_DTYPE_I32, 2, 1, ar, 0, 0);
    mask = counter_tensor(QNNRT_TENSOR_INPUT, "attention_mask", f32, 4, 1, 1, ar, cl);

    /* values: [token == v], and that times the position */
    hot = counter_tensor(COUNTER_INNER, "hot", f32, 3, 1, ar, COUNTER_WORDS, 0);
    counter_node("Gather", hot, counter_constant("words", COUNTER_WORDS, COUNTER_WORDS, words), ids, "axis",
                 QNNRT_DTYPE_I32, 0, COUNTER_NO);
    v[0] = counter_new(g, 0, 1);
    counter_node("Reshape", v[0], hot, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
    t = counter_tensor(COUNTER_INNER, "position", f32, 2, 1, ar, 0, 0);
    counter_node("Cast", t, positions, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
    p = g->per_head ? counter_tensor(COUNTER_INNER, "position_rows", f32, 3, 1, ar, 1, 0)
                    : counter_tensor(COUNTER_INNER, "position_rows", f32, 4, 1, 1, ar, 1);
    counter_node("Reshape", p, t, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
    v[1] = counter_new(g, 1, 1);
    counter_node("ElementWiseMultiply", v[1], v[0], p, COUNTER_NO, COUNTER_NO);

    /* keys: the position and its square */
    k[0] = counter_new(g, 0, 0);
    counter_node("Reshape", k[0], t, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
    p2 = counter_new(g, 1, 0);
    k[1] = p2;
    counter_node("ElementWiseMultiply", k[1], k[0], k[0], COUNTER_NO, COUNTER_NO);

    /* the mask says 0 or less: 1 or 0 */
    t = counter_tensor(COUNTER_INNER, "mask_up", f32, 4, 1, 1, ar, cl);
    counter_node("ElementWiseAdd", t, mask, counter_constant("one", 1, 0, &one), COUNTER_NO, COUNTER_NO);
    seen = counter_tensor(COUNTER_INNER, "seen", f32, 4, 1, 1, ar, cl);
    counter_node("ReluMinMax", seen, t, QNNRT_NO_TENSOR, "min_value", f32, 0, "max_value", f32, 1);
    if (g->per_head) {
        t = counter_tensor(COUNTER_INNER, "seen_rows", f32, 3, 1, ar, cl, 0);
        counter_node("Reshape", t, seen, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
        seen = t;
    }
    for (i = 0; i < 4; ++i) {
        const uint32_t dim = i < 2 ? COUNTER_WORDS : 1;
        qnnrt_tensor all = i < 2 ? counter_cache(g, i, 1, v[i]) : counter_cache(g, i - 2, 0, k[i - 2]);
        snprintf(name, sizeof name, "part_%d", i);
        part[i] = g->per_head ? counter_tensor(COUNTER_INNER, name, f32, 3, 1, ar, dim, 0)
                              : counter_tensor(COUNTER_INNER, name, f32, 4, 1, 1, ar, dim);
        if (i < 2) counter_node("MatMul", part[i], seen, all, COUNTER_NO, COUNTER_NO);
        else counter_node("MatMul", part[i], seen, all, "transpose_in1", QNNRT_DTYPE_BOOL8, 1, COUNTER_NO);
    }
    logits = g->per_head ? counter_tensor(QNNRT_TENSOR_OUTPUT, "logits", f32, 3, 1, ar, COUNTER_VOCABULARY, 0)
                         : counter_tensor(QNNRT_TENSOR_OUTPUT, "logits", f32, 4, 1, 1, ar, COUNTER_VOCABULARY);
    {
        qnnrt_node_desc n;
        qnnrt_param_desc axis;
        memset(&n, 0, sizeof n);
        memset(&axis, 0, sizeof axis);
        axis.name = "axis";
        axis.dtype = QNNRT_DTYPE_U32;
        axis.value = g->per_head ? 2 : 3;
        n.type = "Concat";
        n.inputs = part;
        n.input_count = 4;
        n.outputs = &logits;
        n.output_count = 1;
        n.params = &axis;
        n.param_count = 1;
        qnnrt_builder_node(counter_b, &n);
    }
}

/* A model of these graphs; NULL with the reason in err. */
static qnnrt *counter_make(qnnrt_backend *backend, const counter_graph *graphs, size_t count, qnnrt_error *err)
{
    qnnrt *model = NULL;
    size_t i;
    if (qnnrt_builder_create(backend, NULL, &counter_b, err) != QNNRT_OK) return NULL;
    for (i = 0; i < count; ++i) counter_add(&graphs[i]);
    if (qnnrt_builder_finish(counter_b, &model, err) != QNNRT_OK) return NULL;
    return model;
}

#endif
