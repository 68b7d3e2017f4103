/* Build a language model in C: read its weights, quantize them, describe its graphs, and save them.

       05_make_model MODEL_DIR OUT_DIR [BACKEND_LIBRARY]

   MODEL_DIR holds config.json and model.safetensors of a Llama with Hugging Face's names, such as
   tests/data/llm/model. OUT_DIR, which must exist, gets four contexts, as exporters cut what is too
   large for one:

       forward_0.bin   tokens -> hidden_0            the table of embeddings
       forward_1.bin   hidden_0 -> hidden_2          layers 0 and 1, with their keys and values
       forward_2.bin   hidden_2 -> hidden_4          layers 2 and 3
       forward_3.bin   hidden_4 -> logits            the head

   Each has two graphs over the same weights: prefill_forward takes 32 tokens of a prompt at once,
   kv_forward one more. Keys and values of earlier tokens are inputs, those of the new ones outputs;
   06_generate.c moves them. Activations are 16-bit codes, weights 8-bit with a scale for each
   output, keys and values 8-bit: what phones are fast at.

   Without BACKEND_LIBRARY it is made for libQnnRef.so, the reference backend, which needs nothing
   of Qualcomm's; for libQnnHtp.so the same lines make it for the NPU. Link with -lm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_COMPOSE
#include "qnnrt.h"

#include "05_make_model_ranges.h"
#include "safetensors.h"

enum { LAYERS = 4, SHARDS = 4, PREFILL = 32, MOST_WIDTH = 4096 };

/* What the mask adds to a score that must not count: exp(-50) is nothing. */
#define MASKED (-50.0f)

typedef struct config {
    uint32_t layers, width, heads, kv_heads, head_dim, inner, vocabulary, context;
    double   epsilon;
} config;

typedef struct shape { uint32_t rank, dims[4]; } shape;

/* A tensor of the graph, with what its readers have to know. */
typedef struct value {
    qnnrt_tensor id;
    qnnrt_quant  quant;
    shape        is;
} value;

typedef struct maker {
    qnnrt_builder     *builder;
    config             is;
    const safetensors *weights;
    uint32_t           tokens;          /* that the graph takes per call */
    int                layer;           /* being built */
} maker;

static void stop(const char *text)
{
    fprintf(stderr, "05_make_model: %s\n", text);
    exit(1);
}

/* ---- codes: real = (code + offset) * scale ---- */

static qnnrt_quant encoding(float scale, int32_t offset)
{
    qnnrt_quant quant = {0};
    quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    quant.scale = scale;
    quant.offset = offset;
    return quant;
}

/* Sixteen bits over a range that contains 0, with a code for exactly 0. */
static qnnrt_quant over(const float range[2])
{
    float scale = (range[1] - range[0]) / 65535;
    return encoding(scale, (int32_t)lroundf(range[0] / scale));
}

/* Sixteen bits for what comes out of Softmax and Sigmoid. */
static qnnrt_quant zero_to_one(void)
{
    return encoding(1.0f / 65535, 0);
}

/* Eight bits for keys or values: as far down as up, so that 128 is 0. */
static qnnrt_quant cell(const float range[2])
{
    return encoding(fmaxf(-range[0], range[1]) / 127, -128);
}

/* ---- tensors ---- */

static shape shape4(uint32_t d0, uint32_t d1, uint32_t d2, uint32_t d3)
{
    const shape is = { 4, { d0, d1, d2, d3 } };
    return is;
}

static shape shape3(uint32_t d0, uint32_t d1, uint32_t d2)
{
    const shape is = { 3, { d0, d1, d2, 0 } };
    return is;
}

static shape shape2(uint32_t d0, uint32_t d1)
{
    const shape is = { 2, { d0, d1, 0, 0 } };
    return is;
}

static shape shape1(uint32_t d0)
{
    const shape is = { 1, { d0, 0, 0, 0 } };
    return is;
}

static value add(maker *m, qnnrt_tensor_kind kind, const char *name, qnnrt_dtype dtype,
                 qnnrt_quant quant, shape is, const void *data, size_t bytes)
{
    qnnrt_tensor_desc desc = {0};
    value v;
    desc.name = name;
    desc.kind = kind;
    desc.dtype = dtype;
    desc.rank = is.rank;
    memcpy(desc.dims, is.dims, sizeof is.dims);
    desc.quant = quant;
    desc.data = data;                       /* of a constant: copied */
    desc.bytes = bytes;
    v.id = qnnrt_builder_tensor(m->builder, &desc);
    v.quant = quant;
    v.is = is;
    return v;
}

static value input(maker *m, const char *name, qnnrt_dtype dtype, qnnrt_quant quant, shape is)
{
    return add(m, QNNRT_TENSOR_INPUT, name, dtype, quant, is, NULL, 0);
}

static value output(maker *m, const char *name, qnnrt_dtype dtype, qnnrt_quant quant, shape is)
{
    return add(m, QNNRT_TENSOR_OUTPUT, name, dtype, quant, is, NULL, 0);
}

/* What lies between two nodes of a layer: 16-bit codes, named after the layer. */
static value inner(maker *m, const char *name, qnnrt_quant quant, shape is)
{
    char full[64];
    snprintf(full, sizeof full, "layer_%d_%s", m->layer, name);
    return add(m, QNNRT_TENSOR_INNER, full, QNNRT_DTYPE_U16Q, quant, is, NULL, 0);
}

static value constant(maker *m, const char *name, qnnrt_dtype dtype, qnnrt_quant quant, shape is,
                      const void *data, size_t bytes)
{
    return add(m, QNNRT_TENSOR_STATIC, name, dtype, quant, is, data, bytes);
}

/* The numbers of a file that may hold anything: of this shape, and none of them NaN or infinite. */
static const float *weights_of(const maker *m, const char *name, shape is)
{
    uint64_t dims[4], count = 1, i;
    char error[SAFETENSORS_ERROR];
    const float *values;
    uint32_t d;
    for (d = 0; d < is.rank; ++d) count *= dims[d] = is.dims[d];
    values = safetensors_find(m->weights, name, is.rank, dims, error);
    if (values == NULL) stop(error);
    snprintf(error, sizeof error, "tensor \"%s\" has values that are not finite", name);
    for (i = 0; i < count; ++i) if (!isfinite(values[i])) stop(error);
    return values;
}

static void *room(size_t count, size_t size)
{
    void *data = calloc(count, size);
    if (data == NULL) stop("out of memory");
    return data;
}

/* Weights of the file as 16-bit codes. */
static value constant_u16(maker *m, const char *name, qnnrt_quant quant, shape is)
{
    size_t count = (size_t)is.dims[0] * (is.rank == 2 ? is.dims[1] : 1), i;
    const float *real = weights_of(m, name, is);
    uint16_t *codes = (uint16_t *)room(count, sizeof *codes);
    value v;
    for (i = 0; i < count; ++i) {
        float code = roundf(real[i] / quant.scale) - (float)quant.offset;
        codes[i] = (uint16_t)fminf(fmaxf(code, 0), 65535);
    }
    v = constant(m, name, QNNRT_DTYPE_U16Q, quant, is, codes, count * sizeof *codes);
    free(codes);
    return v;
}

/* ---- operators ---- */

static value apply(maker *m, const char *type, value out, const value *in, size_t in_count,
                   const qnnrt_param_desc *params, size_t param_count)
{
    qnnrt_node_desc node = {0};
    qnnrt_tensor inputs[3];
    size_t i;
    for (i = 0; i < in_count; ++i) inputs[i] = in[i].id;
    node.type = type;
    node.inputs = inputs;
    node.input_count = in_count;
    node.outputs = &out.id;
    node.output_count = 1;
    node.params = params;
    node.param_count = param_count;
    qnnrt_builder_node(m->builder, &node);
    return out;
}

static value combine(maker *m, const char *type, value out, value a, value b)
{
    const value in[2] = { a, b };
    return apply(m, type, out, in, 2, NULL, 0);
}

static qnnrt_param_desc number(const char *name, qnnrt_dtype dtype, double n)
{
    qnnrt_param_desc param = {0};
    param.name = name;
    param.dtype = dtype;
    param.value = n;
    return param;
}

static qnnrt_param_desc list(const char *name, qnnrt_dtype dtype, shape is, const void *data)
{
    qnnrt_param_desc param = {0};
    param.name = name;
    param.dtype = dtype;
    param.rank = is.rank;
    memcpy(param.dims, is.dims, sizeof is.dims);
    param.data = data;
    return param;
}

/* Reshape and Transpose move codes: what comes out has the encoding of what goes in. */
static value reshape(maker *m, value out, value x)
{
    return apply(m, "Reshape", out, &x, 1, NULL, 0);
}

static value transpose(maker *m, const char *name, value x, const uint32_t order[4])
{
    const qnnrt_param_desc param = list("perm", QNNRT_DTYPE_U32, shape1(4), order);
    const uint32_t *d = x.is.dims;
    shape turned = shape4(d[order[0]], d[order[1]], d[order[2]], d[order[3]]);
    return apply(m, "Transpose", inner(m, name, x.quant, turned), &x, 1, &param, 1);
}

static value concat(maker *m, value out, value a, value b, uint32_t axis)
{
    const value in[2] = { a, b };
    const qnnrt_param_desc param = number("axis", QNNRT_DTYPE_U32, axis);
    return apply(m, "Concat", out, in, 2, &param, 1);
}

/* x [1, tokens, width]: each row divided by the root of its mean square, times a weight for each
   column. Release 2.47 takes no less than all three inputs, so there is a bias of zeros. */
static value norm(maker *m, value out, value x, const char *weight)
{
    static const uint8_t zeros[MOST_WIDTH];
    const uint32_t last = 2;
    const shape is = shape1(m->is.width);
    const float *gamma = weights_of(m, weight, is);
    qnnrt_param_desc params[2];
    float most = 0;
    char bias[112];
    uint32_t i;
    value in[3];
    for (i = 0; i < m->is.width; ++i) most = fmaxf(most, fabsf(gamma[i]));
    snprintf(bias, sizeof bias, "%s_bias", weight);
    in[0] = x;
    in[1] = constant_u16(m, weight, encoding(most / 32767, -32768), is);
    in[2] = constant(m, bias, QNNRT_DTYPE_U8Q, encoding(1, 0), is, zeros, m->is.width);
    params[0] = number("epsilon", QNNRT_DTYPE_F32, m->is.epsilon);
    params[1] = list("axes", QNNRT_DTYPE_U32, shape1(1), &last);
    return apply(m, "RmsNorm", out, in, 3, params, 2);
}

/* out [tokens, rows] = x [.., columns] times a matrix that is stored a row for each output, as the
   file has it: in 8 bits, with a scale for each row. A factor on the result goes into the scales
   and costs nothing. */
static value linear(maker *m, value out, value x, const char *weight, float factor)
{
    uint32_t rows = out.is.dims[1], columns = x.is.dims[x.is.rank - 1], r, c;
    const float *real = weights_of(m, weight, shape2(rows, columns));
    float *scales = (float *)room(rows, sizeof *scales);
    int8_t *codes = (int8_t *)room((size_t)rows * columns, 1), *code = codes;
    qnnrt_quant quant = {0};
    value in[2];

    for (r = 0; r < rows; ++r, real += columns, code += columns) {
        float most = 1e-9f;
        for (c = 0; c < columns; ++c) most = fmaxf(most, fabsf(real[c]));
        for (c = 0; c < columns; ++c) code[c] = (int8_t)roundf(real[c] / most * 127);
        scales[r] = most / 127 * factor;
    }
    quant.encoding = QNNRT_ENCODING_PER_AXIS;
    quant.axis = 0;
    quant.count = rows;
    quant.scales = scales;
    in[0] = x;
    in[1] = constant(m, weight, QNNRT_DTYPE_S8Q, quant, shape2(rows, columns), codes,
                     (size_t)rows * columns);
    free(codes);
    free(scales);
    return apply(m, "FullyConnected", out, in, 2, NULL, 0);
}

/* ---- a decoder layer ---- */

static value layer_linear(maker *m, value out, value x, const char *part, float factor)
{
    char weight[96];
    snprintf(weight, sizeof weight, "model.layers.%d.%s.weight", m->layer, part);
    return linear(m, out, x, weight, factor);
}

static value layer_norm(maker *m, value out, value x, const char *part)
{
    char weight[96];
    snprintf(weight, sizeof weight, "model.layers.%d.%s.weight", m->layer, part);
    return norm(m, out, x, weight);
}

/* x [1, tokens, width] -> [1, heads, tokens, head_dim] */
static value project(maker *m, const char *name, value x, const char *part, uint32_t heads,
                     qnnrt_quant quant, float factor)
{
    static const uint32_t order[4] = { 0, 2, 1, 3 };
    uint32_t t = m->tokens, d = m->is.head_dim;
    char flat[32], rows[32];
    value v;
    snprintf(flat, sizeof flat, "%s_flat", name);
    snprintf(rows, sizeof rows, "%s_rows", name);
    v = layer_linear(m, inner(m, flat, quant, shape2(t, heads * d)), x, part, factor);
    v = reshape(m, inner(m, rows, quant, shape4(1, t, heads, d)), v);
    return transpose(m, name, v, order);
}

/* The position of a token turns the two halves of a row against each other, by as many angles as
   they are long: (u, v) -> (u cos - v sin, v cos + u sin) */
static value rotate(maker *m, const char *name, value x, value cosine, value sine,
                    qnnrt_quant quant)
{
    uint32_t heads = x.is.dims[1], t = x.is.dims[2], half = x.is.dims[3] / 2, i;
    shape is = shape4(1, heads, t, half);
    value halves[2], turned[2];
    char part[32];
    for (i = 0; i < 2; ++i) {
        const int32_t begin = (int32_t)(i * half), end = begin + (int32_t)half;
        const int32_t ranges[4][3] = { { 0, 1, 1 }, { 0, (int32_t)heads, 1 }, { 0, (int32_t)t, 1 },
                                       { begin, end, 1 } };
        const qnnrt_param_desc param = list("ranges", QNNRT_DTYPE_I32, shape2(4, 3), ranges);
        snprintf(part, sizeof part, "%s_half_%u", name, (unsigned)i);
        halves[i] = apply(m, "StridedSlice", inner(m, part, x.quant, is), &x, 1, &param, 1);
    }
    for (i = 0; i < 2; ++i) {
        value straight, crossed;
        snprintf(part, sizeof part, "%s_cos_%u", name, (unsigned)i);
        straight = combine(m, "ElementWiseMultiply", inner(m, part, x.quant, is), halves[i],
                           cosine);
        snprintf(part, sizeof part, "%s_sin_%u", name, (unsigned)i);
        crossed = combine(m, "ElementWiseMultiply", inner(m, part, x.quant, is), halves[1 - i],
                          sine);
        snprintf(part, sizeof part, "%s_turned_%u", name, (unsigned)i);
        turned[i] = combine(m, i == 0 ? "ElementWiseSubtract" : "ElementWiseAdd",
                            inner(m, part, quant, is), straight, crossed);
    }
    snprintf(part, sizeof part, "%s_turned", name);
    return concat(m, inner(m, part, quant, x.is), turned[0], turned[1], 3);
}

/* New keys or values leave the graph, and stand behind those of earlier tokens, in 8 bits. */
static value remember(maker *m, const char *what, value fresh, const float range[2], uint32_t axis)
{
    const qnnrt_quant quant = cell(range);
    shape past = fresh.is, all = fresh.is;
    char name[64];
    value before, now;
    past.dims[axis] = m->is.context - m->tokens;
    all.dims[axis] = m->is.context;
    snprintf(name, sizeof name, "past_%s_%d_in", what, m->layer);
    before = input(m, name, QNNRT_DTYPE_U8Q, quant, past);
    snprintf(name, sizeof name, "past_%s_%d_out", what, m->layer);
    now = output(m, name, QNNRT_DTYPE_U8Q, quant, fresh.is);
    apply(m, "Convert", now, &fresh, 1, NULL, 0);
    snprintf(name, sizeof name, "layer_%d_%ss", m->layer, what);
    return concat(m, add(m, QNNRT_TENSOR_INNER, name, QNNRT_DTYPE_U8Q, quant, all, NULL, 0),
                  before, now, axis);
}

/* What each token takes from those before it and from itself. Several heads of queries share one
   head of keys and values: for MatMul they are rows of one matrix. */
static value attention(maker *m, value x, value mask, value cosine, value sine)
{
    static const uint32_t columns[4] = { 1, 0, 3, 2 }, rows[4] = { 1, 0, 2, 3 },
                          tokens_first[4] = { 0, 2, 1, 3 };
    const float (*range)[2] = layer_ranges[m->layer];
    const float masked[2] = { range[RANGE_SCORES][0] + MASKED, range[RANGE_SCORES][1] };
    const qnnrt_quant scored = over(range[RANGE_SCORES]), mixed = over(range[RANGE_CONTEXT]);
    uint32_t t = m->tokens, all = m->is.context, kv = m->is.kv_heads, d = m->is.head_dim;
    uint32_t heads = m->is.heads, group = heads / kv;
    shape by_group = shape4(kv, 1, group * t, all), by_head = shape4(kv, group, t, all);
    value q, k, v, w;

    q = project(m, "q", x, "self_attn.q_proj", heads, over(range[RANGE_Q]), 1 / sqrtf((float)d));
    k = project(m, "k", x, "self_attn.k_proj", kv, over(range[RANGE_K]), 1);
    v = project(m, "v", x, "self_attn.v_proj", kv, over(range[RANGE_V]), 1);
    q = rotate(m, "q", q, cosine, sine, over(range[RANGE_Q_ROTATED]));
    k = rotate(m, "k", k, cosine, sine, over(range[RANGE_K_ROTATED]));
    k = transpose(m, "k_kept", k, columns);                        /* [kv, 1, d, t] */
    k = remember(m, "key", k, range[RANGE_K_ROTATED], 3);             /* [kv, 1, d, all] */
    v = transpose(m, "v_kept", v, rows);                              /* [kv, 1, t, d] */
    v = remember(m, "value", v, range[RANGE_V], 2);                   /* [kv, 1, all, d] */

    q = reshape(m, inner(m, "q_group", q.quant, shape4(kv, 1, group * t, d)), q);
    w = combine(m, "MatMul", inner(m, "scores_group", scored, by_group), q, k);
    w = reshape(m, inner(m, "scores", scored, by_head), w);
    w = combine(m, "ElementWiseAdd", inner(m, "scores_masked", over(masked), by_head), w, mask);
    w = apply(m, "Softmax", inner(m, "weights", zero_to_one(), by_head), &w, 1, NULL, 0);
    w = reshape(m, inner(m, "weights_group", w.quant, by_group), w);
    v = combine(m, "MatMul", inner(m, "mixed_group", mixed, shape4(kv, 1, group * t, d)), w, v);

    v = reshape(m, inner(m, "mixed_heads", mixed, shape4(1, heads, t, d)), v);
    v = transpose(m, "mixed_tokens", v, tokens_first);
    v = reshape(m, inner(m, "mixed", mixed, shape2(t, heads * d)), v);
    v = layer_linear(m, inner(m, "attention_flat", over(range[RANGE_ATTENTION]),
                              shape2(t, m->is.width)), v, "self_attn.o_proj", 1);
    return reshape(m, inner(m, "attention", v.quant, shape3(1, t, m->is.width)), v);
}

/* The gated perceptron: down(silu(gate(x)) * up(x)) */
static value perceptron(maker *m, value x)
{
    const float (*range)[2] = layer_ranges[m->layer];
    uint32_t t = m->tokens;
    shape wide = shape2(t, m->is.inner);
    value gate, up, v;
    gate = layer_linear(m, inner(m, "gate", over(range[RANGE_GATE]), wide), x, "mlp.gate_proj", 1);
    up = layer_linear(m, inner(m, "up", over(range[RANGE_UP]), wide), x, "mlp.up_proj", 1);
    v = apply(m, "Sigmoid", inner(m, "sigmoid", zero_to_one(), wide), &gate, 1, NULL, 0);
    v = combine(m, "ElementWiseMultiply", inner(m, "silu", over(range[RANGE_SILU]), wide), v, gate);
    v = combine(m, "ElementWiseMultiply", inner(m, "product", over(range[RANGE_PRODUCT]), wide), v,
                up);
    v = layer_linear(m, inner(m, "mlp_flat", over(range[RANGE_MLP]), shape2(t, m->is.width)), v,
                     "mlp.down_proj", 1);
    return reshape(m, inner(m, "mlp", v.quant, shape3(1, t, m->is.width)), v);
}

static value layer(maker *m, value x, value mask, value cosine, value sine, qnnrt_tensor_kind kind)
{
    const float (*range)[2] = layer_ranges[m->layer];
    const shape is = x.is;
    char name[32];
    value v;
    v = layer_norm(m, inner(m, "norm_1", over(range[RANGE_NORM_1]), is), x, "input_layernorm");
    v = attention(m, v, mask, cosine, sine);
    x = combine(m, "ElementWiseAdd", inner(m, "middle", over(range[RANGE_MIDDLE]), is), x, v);
    v = layer_norm(m, inner(m, "norm_2", over(range[RANGE_NORM_2]), is), x,
                   "post_attention_layernorm");
    v = perceptron(m, v);
    snprintf(name, sizeof name, "hidden_%d", m->layer + 1);
    return combine(m, "ElementWiseAdd",
                   add(m, kind, name, QNNRT_DTYPE_U16Q, over(range[RANGE_OUT]), is, NULL, 0), x, v);
}

/* ---- the four shards ---- */

/* A row of the table for each token. */
static void embedding_shard(maker *m)
{
    const qnnrt_quant quant = over(model_ranges[RANGE_EMBEDDING]), none = {0};
    const qnnrt_param_desc param = number("axis", QNNRT_DTYPE_I32, 0);
    const uint32_t t = m->tokens, width = m->is.width;
    value in[2], out;
    in[0] = constant_u16(m, "model.embed_tokens.weight", quant, shape2(m->is.vocabulary, width));
    in[1] = input(m, "input_ids", QNNRT_DTYPE_I32, none, shape2(1, t));
    out = output(m, "hidden_0", QNNRT_DTYPE_U16Q, quant, shape3(1, t, width));
    apply(m, "Gather", out, in, 2, &param, 1);
}

/* Layers first to last. What is called hidden_<i> has one encoding, on both sides of a cut. */
static void layers_shard(maker *m, int first, int last)
{
    const qnnrt_quant angle = encoding(1.0f / 32768, -32768);
    const float *range = first == 0 ? model_ranges[RANGE_EMBEDDING]
                                    : layer_ranges[first - 1][RANGE_OUT];
    const uint32_t t = m->tokens, half = m->is.head_dim / 2;
    const shape angles = shape4(1, 1, t, half);
    value x, mask, cosine, sine;
    char name[32];
    snprintf(name, sizeof name, "hidden_%d", first);
    x = input(m, name, QNNRT_DTYPE_U16Q, over(range), shape3(1, t, m->is.width));
    mask = input(m, "attention_mask", QNNRT_DTYPE_U16Q, encoding(-MASKED / 65535, -65535),
                 shape4(1, 1, t, m->is.context));
    cosine = input(m, "position_ids_cos", QNNRT_DTYPE_U16Q, angle, angles);
    sine = input(m, "position_ids_sin", QNNRT_DTYPE_U16Q, angle, angles);
    for (m->layer = first; m->layer <= last; ++m->layer)
        x = layer(m, x, mask, cosine, sine,
                  m->layer == last ? QNNRT_TENSOR_OUTPUT : QNNRT_TENSOR_INNER);
}

static void head_shard(maker *m)
{
    const qnnrt_quant quant = over(model_ranges[RANGE_LOGITS]);
    const uint32_t t = m->tokens, width = m->is.width, vocabulary = m->is.vocabulary;
    const shape is = shape3(1, t, width);
    value x;
    m->layer = LAYERS;
    x = input(m, "hidden_4", QNNRT_DTYPE_U16Q, over(layer_ranges[LAYERS - 1][RANGE_OUT]), is);
    x = norm(m, inner(m, "norm", over(model_ranges[RANGE_NORM]), is), x, "model.norm.weight");
    x = linear(m, inner(m, "logits", quant, shape2(t, vocabulary)), x, "lm_head.weight", 1);
    reshape(m, output(m, "logits", QNNRT_DTYPE_U16Q, quant, shape3(1, t, vocabulary)), x);
}

static void build(maker *m)
{
    static const char *const files[SHARDS] = { "forward_0", "forward_1", "forward_2", "forward_3" };
    int shard, g;
    for (shard = 0; shard < SHARDS; ++shard) {
        /* .weight_sharing would store the weights once for both graphs of an HTP context; devices
           load that, the x86-64 emulator does not. libQnnRef.so stores equal ones once anyway. */
        qnnrt_context_desc context = {0};
        context.name = files[shard];
        qnnrt_builder_context(m->builder, &context);
        for (g = 0; g < 2; ++g) {
            qnnrt_graph_desc graph = {0};
            graph.name = g == 0 ? "prefill_forward" : "kv_forward";
            qnnrt_builder_graph(m->builder, &graph);
            m->tokens = g == 0 ? PREFILL : 1;
            switch (shard) {
            case 0:  embedding_shard(m);    break;
            case 1:  layers_shard(m, 0, 1); break;
            case 2:  layers_shard(m, 2, 3); break;
            default: head_shard(m);         break;
            }
        }
    }
}

/* ---- files ---- */

static void read_config(const char *folder, config *is)
{
    const struct { const char *key; uint32_t *at, most; } keys[] = {
        { "num_hidden_layers", &is->layers, LAYERS },  { "hidden_size", &is->width, MOST_WIDTH },
        { "num_attention_heads", &is->heads, 64 },     { "num_key_value_heads", &is->kv_heads, 64 },
        { "head_dim", &is->head_dim, 256 },            { "intermediate_size", &is->inner, 16384 },
        { "vocab_size", &is->vocabulary, 1u << 18 },
        { "max_position_embeddings", &is->context, 1u << 14 },
    };
    enum { KEYS = sizeof keys / sizeof keys[0] };
    char path[512], text[8192], error[640];
    qnnrt_json_reader r;
    size_t bytes, i;
    FILE *file;

    memset(is, 0, sizeof *is);
    snprintf(path, sizeof path, "%s/config.json", folder);
    snprintf(error, sizeof error, "%s cannot be opened", path);
    if ((file = fopen(path, "rb")) == NULL) stop(error);
    bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    qnnrt_json_begin(&r, text, bytes, NULL);
    if (qnnrt_json_value(&r) == QNNRT_JSON_OBJECT)
        while (qnnrt_json_more(&r)) {
            for (i = 0; i < KEYS && !qnnrt_json_is(&r.key, keys[i].key); ++i) {}
            if (i < KEYS) {
                uint64_t n;
                if (qnnrt_json_value_u64(&r, &n) && n <= keys[i].most) *keys[i].at = (uint32_t)n;
            } else if (qnnrt_json_is(&r.key, "rms_norm_eps")) {
                if (qnnrt_json_value(&r) == QNNRT_JSON_NUMBER)
                    qnnrt_json_f64(&r.value, &is->epsilon);
            }
            qnnrt_json_skip(&r);
        }
    if (!qnnrt_json_end(&r)) {
        snprintf(error, sizeof error, "%s, byte %lu: %s", path, (unsigned long)r.error_at,
                 r.error != NULL ? r.error : "not an object");
        stop(error);
    }
    for (i = 0; i < KEYS; ++i) {
        snprintf(error, sizeof error, "%s: \"%s\" must be a number from 1 to %u", path, keys[i].key,
                 (unsigned)keys[i].most);
        if (*keys[i].at == 0) stop(error);
    }
    if (is->layers != LAYERS || is->heads % is->kv_heads != 0 || is->head_dim % 2 != 0 ||
        is->context <= PREFILL)
        stop("config.json: this program makes models of 4 layers, with queries in equal groups, an "
             "even head_dim, and a context of more than 32 tokens");
}

int main(int argc, char **argv)
{
    qnnrt_backend_desc backend_desc = {0};
    qnnrt_backend *backend;
    qnnrt *model;
    qnnrt_error err;
    safetensors weights;
    maker m = {0};
    char path[512], error[SAFETENSORS_ERROR];
    int i;

    if (argc < 3) {
        fprintf(stderr, "usage: 05_make_model MODEL_DIR OUT_DIR [BACKEND_LIBRARY]\n");
        return 2;
    }
    read_config(argv[1], &m.is);
    snprintf(path, sizeof path, "%s/model.safetensors", argv[1]);
    if (!safetensors_read(path, &weights, error)) stop(error);
    m.weights = &weights;

    backend_desc.path = argc > 3 ? argv[3] : "libQnnRef.so";
    if (argc <= 3) {
        printf("no backend was named: libQnnRef.so it is, the reference backend, on this CPU\n");
        fflush(stdout);                 /* before an error, into a pipe too */
    }
    if (qnnrt_backend_open(&backend_desc, &backend, &err) != QNNRT_OK) stop(err.text);
    if (qnnrt_builder_create(backend, NULL, &m.builder, &err) != QNNRT_OK) stop(err.text);
    build(&m);
    if (qnnrt_builder_finish(m.builder, &model, &err) != QNNRT_OK) stop(err.text);
    printf("built with %s\n", qnnrt_backend_get_info(backend)->path);
    for (i = 0; i < SHARDS; ++i) {
        snprintf(path, sizeof path, "%s/forward_%d.bin", argv[2], i);
        if (qnnrt_save(model, (size_t)i, path, &err) != QNNRT_OK) stop(err.text);
        printf("saved %s\n", path);
    }
    qnnrt_close(model);
    qnnrt_backend_close(backend);
    safetensors_free(&weights);
    return 0;
}
