/* llm_counter.h - a language model whose output shows what it read

   Its logits are sums over the tokens that a token attends to, including itself. W is
   COUNTER_WORDS:

       [0 .. W)         how many of them are token v                    values of layer 0, head 0
       [W .. 2W)        the sum of the positions of those               values of layer 0, head 1
       [2W .. 3W)       the same                                        values of layer 1, one head
       3W, 3W + 1       the sum of all positions, and of their squares  keys of layer 0, two dims
       3W + 2           the sum of their squares                        keys of layer 1, one dim

   With counter_rope 1 or 2 the graphs take cos and sin from the host, with so many columns, and these
   follow: cos, then sin, of the token's own position.

   All numbers except cos and sin are whole and small, so every wrong cell, column and row is
   visible in the result. Built on libQnnRef.so, in float32, in memory. */
#ifndef LLM_COUNTER_H
#define LLM_COUNTER_H

#include <stdio.h>
#include <string.h>
#include "qnnrt.h"

enum { COUNTER_WORDS = 6, COUNTER_VOCABULARY = 3 * COUNTER_WORDS + 3 };

typedef struct counter_graph {
    uint32_t ar, context;
    int      flat;              /* 1: caches of rank 3, [heads, cells, dim] */
    int      whole;             /* 1: whole caches are outputs */
    int      straight;          /* 1: keys are stored like values, [heads, cells, dim] */
    /* Type of caches: F32, F16, or U8Q, U16Q with codes equal to the numbers. */
    qnnrt_dtype dtype;
} counter_graph;

static qnnrt_builder *counter_b;
static float counter_one = 1;   /* value of a weight, which tells models apart */
static uint32_t counter_rope;   /* columns of cos and sin, 0: they are not inputs */

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

static void counter_join(qnnrt_tensor out, qnnrt_tensor a, qnnrt_tensor b, uint32_t axis)
{
    counter_node("Concat", out, a, b, "axis", QNNRT_DTYPE_U32, axis, COUNTER_NO);
}

/* Make a tensor [1, heads, rows, columns], or without the 1. */
static qnnrt_tensor counter_4(const counter_graph *g, qnnrt_tensor_kind kind, const char *name, uint32_t heads,
                              uint32_t rows, uint32_t columns)
{
    if (g->flat) return counter_tensor(kind, name, QNNRT_DTYPE_F32, 3, heads, rows, columns, 0);
    return counter_tensor(kind, name, QNNRT_DTYPE_F32, 4, 1, heads, rows, columns);
}

/* Add a tensor of caches, in their type. */
static qnnrt_tensor counter_kept(const counter_graph *g, qnnrt_tensor_kind kind, const char *name, uint32_t heads,
                                 uint32_t rows, uint32_t columns)
{
    qnnrt_tensor_desc t;
    memset(&t, 0, sizeof t);
    t.name = name;
    t.kind = kind;
    t.dtype = g->dtype;
    t.rank = g->flat ? 3 : 4;
    t.dims[0] = 1;
    t.dims[t.rank - 3] = heads;
    t.dims[t.rank - 2] = rows;
    t.dims[t.rank - 1] = columns;
    if (g->dtype != QNNRT_DTYPE_F32 && g->dtype != QNNRT_DTYPE_F16) {
        t.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
        t.quant.scale = 1;
    }
    return qnnrt_builder_tensor(counter_b, &t);
}

/* Convert from float32 to the type of caches, or back. */
static void counter_turn(const counter_graph *g, qnnrt_tensor out, qnnrt_tensor in, int back)
{
    counter_node(g->dtype == QNNRT_DTYPE_F16 ? "Cast" : back ? "Dequantize" : "Quantize", out, in, QNNRT_NO_TENSOR,
                 COUNTER_NO, COUNTER_NO);
}

/* Add rows of new tokens in float32, and in the type of the output. */
static qnnrt_tensor counter_new(const counter_graph *g, int layer, int value, uint32_t heads, uint32_t dim)
{
    const int rows = value || g->straight, plain = g->dtype == QNNRT_DTYPE_F32 && !g->whole;
    char name[64];
    snprintf(name, sizeof name, plain ? "past_%s_%d_out" : "%s_%d_new", value ? "value" : "key", layer);
    return counter_4(g, plain ? QNNRT_TENSOR_OUTPUT : COUNTER_INNER, name, heads, rows ? g->ar : dim, rows ? dim : g->ar);
}

/* Join the cache of earlier tokens and the new rows, in this order, in float32. */
static qnnrt_tensor counter_cache(const counter_graph *g, int layer, int value, uint32_t heads, uint32_t dim,
                                  qnnrt_tensor fresh)
{
    const int rows = value || g->straight;
    const uint32_t cells = g->context - g->ar, cl = g->context, axis = (rows ? 2u : 3u) - (g->flat ? 1u : 0u);
    const char *what = value ? "value" : "key";
    char name[64];
    qnnrt_tensor in, all, turned;
    if (g->dtype != QNNRT_DTYPE_F32) {
        snprintf(name, sizeof name, g->whole ? "%s_%d_kept" : "past_%s_%d_out", what, layer);
        turned = counter_kept(g, g->whole ? COUNTER_INNER : QNNRT_TENSOR_OUTPUT, name, heads, rows ? g->ar : dim,
                              rows ? dim : g->ar);
        counter_turn(g, turned, fresh, 0);
        fresh = turned;
    }
    snprintf(name, sizeof name, "past_%s_%d_in", what, layer);
    in = counter_kept(g, QNNRT_TENSOR_INPUT, name, heads, rows ? cells : dim, rows ? dim : cells);
    snprintf(name, sizeof name, g->whole ? "past_%s_%d_out" : "%s_%d_all", what, layer);
    all = counter_kept(g, g->whole ? QNNRT_TENSOR_OUTPUT : COUNTER_INNER, name, heads, rows ? cl : dim, rows ? dim : cl);
    counter_join(all, in, fresh, axis);
    if (g->dtype == QNNRT_DTYPE_F32) return all;
    snprintf(name, sizeof name, "%s_%d_real", what, layer);
    turned = counter_4(g, COUNTER_INNER, name, heads, rows ? cl : dim, rows ? dim : cl);
    counter_turn(g, turned, all, 1);
    return turned;
}

static void counter_add(const counter_graph *g)
{
    float words[COUNTER_WORDS * COUNTER_WORDS];
    const uint32_t ar = g->ar, cl = g->context, w = COUNTER_WORDS;
    const qnnrt_dtype f32 = QNNRT_DTYPE_F32;
    qnnrt_graph_desc desc;
    qnnrt_tensor ids, positions, mask, hot, p, by, squares, seen, twice, t, k[2], v[2], part[4], turn[2], logits;
    char name[64];
    uint32_t i;
    memset(&desc, 0, sizeof desc);
    snprintf(name, sizeof name, "%s_ar%u_cl%u", ar > 1 ? "prompt" : "token", (unsigned)ar, (unsigned)cl);
    desc.name = name;
    qnnrt_builder_graph(counter_b, &desc);
    memset(words, 0, sizeof words);
    for (i = 0; i < w; ++i) words[i * w + i] = 1;
    ids = counter_tensor(QNNRT_TENSOR_INPUT, "input_ids", QNNRT_DTYPE_I32, 2, 1, ar, 0, 0);
    positions = counter_tensor(QNNRT_TENSOR_INPUT, "position_ids", QNNRT_DTYPE_I32, 2, 1, ar, 0, 0);
    mask = counter_tensor(QNNRT_TENSOR_INPUT, "attention_mask", f32, 4, 1, 1, ar, cl);

    /* values: [token == v], and that times the position */
    t = counter_tensor(COUNTER_INNER, "hot_flat", f32, 3, 1, ar, w, 0);
    counter_node("Gather", t, counter_constant("words", w, w, words), ids, "axis", QNNRT_DTYPE_I32, 0, COUNTER_NO);
    hot = counter_4(g, COUNTER_INNER, "hot", 1, ar, w);
    counter_node("Reshape", hot, t, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
    t = counter_tensor(COUNTER_INNER, "position", f32, 2, 1, ar, 0, 0);
    counter_node("Cast", t, positions, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
    p = counter_4(g, COUNTER_INNER, "position_rows", 1, ar, 1);
    counter_node("Reshape", p, t, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
    by = counter_new(g, 1, 1, 1, w);
    v[1] = by;
    counter_node("ElementWiseMultiply", by, hot, p, COUNTER_NO, COUNTER_NO);
    v[0] = counter_new(g, 0, 1, 2, w);
    counter_join(v[0], hot, by, g->flat ? 0 : 1);

    /* keys: the position and its square; its square */
    if (!g->straight) {
        p = counter_4(g, COUNTER_INNER, "position_columns", 1, 1, ar);
        counter_node("Reshape", p, t, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
    }
    squares = counter_new(g, 1, 0, 1, 1);
    k[1] = squares;
    counter_node("ElementWiseMultiply", squares, p, p, COUNTER_NO, COUNTER_NO);
    k[0] = counter_new(g, 0, 0, 1, 2);
    counter_join(k[0], p, squares, (g->straight ? 3u : 2u) - (g->flat ? 1u : 0u));

    /* the mask is 0 or less: 1 or 0 */
    t = counter_tensor(COUNTER_INNER, "mask_up", f32, 4, 1, 1, ar, cl);
    counter_node("ElementWiseAdd", t, mask, counter_constant("one", 1, 0, &counter_one), COUNTER_NO, COUNTER_NO);
    p = counter_tensor(COUNTER_INNER, "mask_clipped", f32, 4, 1, 1, ar, cl);
    counter_node("ReluMinMax", p, t, QNNRT_NO_TENSOR, "min_value", f32, 0, "max_value", f32, 1);
    seen = counter_4(g, COUNTER_INNER, "seen", 1, ar, cl);
    counter_node("Reshape", seen, p, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
    twice = counter_4(g, COUNTER_INNER, "seen_twice", 2, ar, cl);
    counter_join(twice, seen, seen, g->flat ? 0 : 1);

    /* sums, a row for each token */
    t = counter_4(g, COUNTER_INNER, "sums_of_heads", 2, ar, w);
    counter_node("MatMul", t, twice, counter_cache(g, 0, 1, 2, w, v[0]), COUNTER_NO, COUNTER_NO);
    {
        static const uint32_t order[2][4] = { { 0, 2, 1, 3 }, { 1, 0, 2, 0 } };
        qnnrt_node_desc n;
        qnnrt_param_desc perm;
        qnnrt_tensor out = g->flat ? counter_tensor(COUNTER_INNER, "sums_turned", f32, 3, ar, 2, w, 0)
                                   : counter_tensor(COUNTER_INNER, "sums_turned", f32, 4, 1, ar, 2, w);
        memset(&n, 0, sizeof n);
        memset(&perm, 0, sizeof perm);
        perm.name = "perm";
        perm.dtype = QNNRT_DTYPE_U32;
        perm.rank = 1;
        perm.dims[0] = g->flat ? 3 : 4;
        perm.data = order[g->flat];
        n.type = "Transpose";
        n.inputs = &t;
        n.input_count = 1;
        n.outputs = &out;
        n.output_count = 1;
        n.params = &perm;
        n.param_count = 1;
        qnnrt_builder_node(counter_b, &n);
        part[0] = counter_4(g, COUNTER_INNER, "part_0", 1, ar, 2 * w);
        counter_node("Reshape", part[0], out, QNNRT_NO_TENSOR, COUNTER_NO, COUNTER_NO);
    }
    part[1] = counter_4(g, COUNTER_INNER, "part_1", 1, ar, w);
    counter_node("MatMul", part[1], seen, counter_cache(g, 1, 1, 1, w, v[1]), COUNTER_NO, COUNTER_NO);
    part[2] = counter_4(g, COUNTER_INNER, "part_2", 1, ar, 2);
    counter_node("MatMul", part[2], seen, counter_cache(g, 0, 0, 1, 2, k[0]), "transpose_in1", QNNRT_DTYPE_BOOL8,
                 !g->straight, COUNTER_NO);
    part[3] = counter_4(g, COUNTER_INNER, "part_3", 1, ar, 1);
    counter_node("MatMul", part[3], seen, counter_cache(g, 1, 0, 1, 1, k[1]), "transpose_in1", QNNRT_DTYPE_BOOL8,
                 !g->straight, COUNTER_NO);
    p = counter_4(g, COUNTER_INNER, "parts_01", 1, ar, 3 * w);
    counter_join(p, part[0], part[1], g->flat ? 2 : 3);
    t = counter_4(g, COUNTER_INNER, "parts_23", 1, ar, 3);
    counter_join(t, part[2], part[3], g->flat ? 2 : 3);
    if (counter_rope > 0) {
        turn[0] = counter_4(g, QNNRT_TENSOR_INPUT, "position_ids_cos", 1, ar, counter_rope);
        turn[1] = counter_4(g, QNNRT_TENSOR_INPUT, "position_ids_sin", 1, ar, counter_rope);
        for (i = 0; i < 2; ++i) {
            qnnrt_tensor joined = counter_4(g, COUNTER_INNER, i == 0 ? "parts_23_cos" : "parts_23_cos_sin", 1, ar,
                                            3 + (i + 1) * counter_rope);
            counter_join(joined, t, turn[i], g->flat ? 2 : 3);
            t = joined;
        }
    }
    logits = counter_4(g, QNNRT_TENSOR_OUTPUT, "logits", 1, ar,
                       COUNTER_VOCABULARY + 2 * counter_rope);
    counter_join(logits, p, t, g->flat ? 2 : 3);
}

/* Open a model of these graphs; return NULL with the reason in err. */
static qnnrt *counter_make(qnnrt_backend *backend, const counter_graph *graphs, size_t count, qnnrt_error *err)
{
    qnnrt *model = NULL;
    size_t i;
    if (qnnrt_builder_create(backend, NULL, &counter_b, err) != QNNRT_OK) return NULL;
    for (i = 0; i < count; ++i) counter_add(&graphs[i]);
    if (qnnrt_builder_finish(counter_b, &model, err) != QNNRT_OK) return NULL;
    return model;
}

/* A batch of these tokens, of sequence 0, at its next positions. */
static inline qnnrt_llm_batch llm_batch(const int32_t *tokens, size_t count)
{
    qnnrt_llm_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.tokens = tokens;
    batch.count = count;
    return batch;
}

#endif
