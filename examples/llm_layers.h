/* llm_layers.h - describe the graphs of a Llama, layer by layer, with the builder of qnnrt.h

       llm_read_config("model", &maker.is);                    // model/config.json
       llm_read_ranges("model/ranges.json", &maker.is, &ranges);
       llm_read_weights("model", &weights);                    // model/model.safetensors, or shards
       maker.weights = &weights;  maker.ranges = &ranges;  maker.builder = ...;
       for each context and graph:
           maker.tokens = 32;
           llm_part(&maker, &part);                            // fills the present graph

   Weights have Hugging Face's names. With ranges (tests/llm/make_ranges.py measures them) activations
   have 16 bits; weights have 8 bits and a scale for each output; keys and values have 8 bits. NPUs
   of phones run these types fast. Without ranges everything is float32.

   A part of the model is a run of its layers, with the table of embeddings before it, or the head
   after it, or both. Keys and values of earlier tokens are inputs, those of the new tokens are
   outputs. Tensors have the names of one of two families of exports, see llm_names.

   This header is for programs that end at the first error. Before including it they define
       static void stop(const char *text);
   which prints the text and does not return. Link with -lm. */
#ifndef LLM_LAYERS_H
#define LLM_LAYERS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qnnrt.h"
#include "qnnrt_json.h"
#include "tools/qnnrt_weights.h"

/* Limits: a larger model is an error. */
enum { LLM_LAYERS = 128, LLM_WIDTH = 4096, LLM_HEADS = 64, LLM_TEXT = 1 << 20 };

/* The mask adds this to a score that must not count; exp(-50) is near 0. */
#define LLM_MASKED (-50.0f)

typedef enum llm_names {
    LLM_HUB,            /* input_ids, attention_mask, position_ids_cos, past_key_0_in: one cache
                           tensor for each layer; the caller writes cosines and sines */
    LLM_HUB_SHORT,      /* the same, with hidden_<i> for the tensors between parts */
    LLM_EXECUTORCH      /* input_0_tokens_0, input_1_input_pos_0, input_2_args_128_0: one cache
                           tensor for each head; the first part computes cosines and sines */
} llm_names;

typedef struct llm_config {
    uint32_t layers, width, heads, kv_heads, head_dim, inner, vocabulary, context;
    double   epsilon, theta;
    int      tied;                      /* 1: the head uses the table of embeddings */
} llm_config;

/* The weights of a model in float32. */
typedef struct llm_weights {
    qnnrt_weights *file;
    float        **values;              /* of each weight, NULL until it is first used */
} llm_weights;

/* Names in ranges.json: activations of each layer, and of the model, that have their own range. */
#define LLM_LAYER_RANGES(X)                                                                       \
    X(NORM_1) X(Q) X(K) X(V) X(Q_ROTATED) X(K_ROTATED) X(SCORES) X(CONTEXT) X(ATTENTION) X(MIDDLE) \
    X(NORM_2) X(GATE) X(UP) X(SILU) X(PRODUCT) X(MLP) X(OUT)
#define LLM_MODEL_RANGES(X) X(EMBEDDING) X(NORM) X(LOGITS)
#define LLM_RANGE_ENUM(name) RANGE_##name,
#define LLM_RANGE_NAME(name) #name,
enum { LLM_LAYER_RANGES(LLM_RANGE_ENUM) LAYER_RANGES };
enum { LLM_MODEL_RANGES(LLM_RANGE_ENUM) MODEL_RANGES };

typedef struct llm_ranges {             /* { lowest, highest } as real numbers */
    float layer[LLM_LAYERS][LAYER_RANGES][2], model[MODEL_RANGES][2];
} llm_ranges;

typedef struct llm_cut {                /* a part of the model */
    uint32_t first, end;                /* layers first .. end - 1; may be none */
    int      embedding, head;
} llm_cut;

typedef struct shape { uint32_t rank, dims[4]; } shape;

/* A tensor of the graph, with its encoding and shape. */
typedef struct value {
    qnnrt_tensor id;
    qnnrt_quant  quant;
    shape        is;
} value;

enum { KEYS, VALUES };

typedef struct llm_maker {
    qnnrt_builder     *builder;
    llm_config         is;
    llm_weights       *weights;
    const llm_ranges  *ranges;          /* NULL: float32 */
    llm_names          names;
    uint32_t           tokens;          /* per call of the graph */
    /* state of the graph being built */
    uint32_t           layer;
    value              ids, positions, hidden, mask, cosine, sine;
    value              caches[2][LLM_LAYERS];       /* of earlier tokens, per layer */
    value              heads[2][LLM_LAYERS][LLM_HEADS];     /* the same, per head */
    unsigned           inputs;          /* count of inputs so far */
} llm_maker;

/* ---- codes: real = (code + offset) * scale ---- */

/* Return an encoding, or none for a float32 model. */
static qnnrt_quant encoding(const llm_maker *m, float scale, int32_t offset)
{
    qnnrt_quant quant = {0};
    if (m->ranges == NULL)
        return quant;
    quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    quant.scale = scale;
    quant.offset = offset;
    return quant;
}

/* Return a 16-bit encoding of a range that contains 0; one code stands for exactly 0. */
static qnnrt_quant between(const llm_maker *m, float low, float high)
{
    float scale = (high - low) / 65535;
    return encoding(m, scale, (int32_t)lroundf(low / scale));
}

/* Return the 16-bit encoding of an activation of a layer. */
static qnnrt_quant over_layer(const llm_maker *m, uint32_t layer, int range)
{
    const float *ends = m->ranges != NULL ? m->ranges->layer[layer][range] : NULL;
    return ends != NULL ? between(m, ends[0], ends[1]) : encoding(m, 0, 0);
}

/* Return the 16-bit encoding of an activation of the present layer. */
static qnnrt_quant over(const llm_maker *m, int range)
{
    return over_layer(m, m->layer, range);
}

/* Return the 16-bit encoding of an activation of the model. */
static qnnrt_quant over_model(const llm_maker *m, int range)
{
    const float *ends = m->ranges != NULL ? m->ranges->model[range] : NULL;
    return ends != NULL ? between(m, ends[0], ends[1]) : encoding(m, 0, 0);
}

/* Return the encoding of the input of layer `layer`; it is the same on both sides of a cut. */
static qnnrt_quant over_hidden(const llm_maker *m, uint32_t layer)
{
    return layer == 0 ? over_model(m, RANGE_EMBEDDING) : over_layer(m, layer - 1, RANGE_OUT);
}

/* Return the encoding of scores after the mask was added. */
static qnnrt_quant over_masked(const llm_maker *m)
{
    const float *ends = m->ranges != NULL ? m->ranges->layer[m->layer][RANGE_SCORES] : NULL;
    return ends != NULL ? between(m, ends[0] + LLM_MASKED, ends[1]) : encoding(m, 0, 0);
}

/* Return the 16-bit encoding of outputs of Softmax and Sigmoid. */
static qnnrt_quant zero_to_one(const llm_maker *m)
{
    return encoding(m, 1.0f / 65535, 0);
}

/* Return the 16-bit encoding of cosines and sines. */
static qnnrt_quant angle(const llm_maker *m)
{
    return encoding(m, 1.0f / 32768, -32768);
}

/* Return the 8-bit encoding of keys or values; it is symmetric, and code 128 stands for 0. */
static qnnrt_quant cell(const llm_maker *m, int range)
{
    const float *ends = m->ranges != NULL ? m->ranges->layer[m->layer][range] : NULL;
    return encoding(m, ends != NULL ? fmaxf(-ends[0], ends[1]) / 127 : 0, -128);
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

/* Add a tensor to the graph. */
static value add(llm_maker *m, qnnrt_tensor_kind kind, const char *name, qnnrt_dtype dtype,
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
    desc.data = data;                       /* NULL except for a constant; copied */
    desc.bytes = bytes;
    v.id = qnnrt_builder_tensor(m->builder, &desc);
    v.quant = quant;
    v.is = is;
    return v;
}

/* Return the dtype of activations. */
static qnnrt_dtype plain(const llm_maker *m)
{
    return m->ranges != NULL ? QNNRT_DTYPE_U16Q : QNNRT_DTYPE_F32;
}

/* Return the dtype of caches. */
static qnnrt_dtype kept(const llm_maker *m)
{
    return m->ranges != NULL ? QNNRT_DTYPE_U8Q : QNNRT_DTYPE_F32;
}

/* Add an output of the graph. */
static value output(llm_maker *m, const char *name, qnnrt_dtype dtype, qnnrt_quant quant, shape is)
{
    return add(m, QNNRT_TENSOR_OUTPUT, name, dtype, quant, is, NULL, 0);
}

/* Add a tensor between two nodes; its name begins with the number of the layer. */
static value inner_of(llm_maker *m, const char *name, qnnrt_dtype dtype, qnnrt_quant quant,
                      shape is)
{
    char full[128];
    snprintf(full, sizeof full, "layer_%u_%s", (unsigned)m->layer, name);
    return add(m, QNNRT_TENSOR_INNER, full, dtype, quant, is, NULL, 0);
}

/* Add an activation between two nodes. */
static value inner(llm_maker *m, const char *name, qnnrt_quant quant, shape is)
{
    return inner_of(m, name, plain(m), quant, is);
}

/* Add a constant. */
static value constant(llm_maker *m, const char *name, qnnrt_dtype dtype, qnnrt_quant quant,
                      shape is, const void *data, size_t bytes)
{
    return add(m, QNNRT_TENSOR_STATIC, name, dtype, quant, is, data, bytes);
}

/* Return the number of elements of a shape. */
static size_t count_of(shape is)
{
    size_t count = 1;
    for (uint32_t d = 0; d < is.rank; ++d)
        count *= is.dims[d];
    return count;
}

/* Allocate zeroed memory. */
static void *room(size_t count, size_t size)
{
    void *data = calloc(count, size);
    if (data == NULL)
        stop("out of memory");
    return data;
}

/* Return the weights of this name and shape as float32; stop if one of them is NaN or infinite. */
static const float *weights_of(const llm_maker *m, const char *name, shape is)
{
    const qnnrt_weight *weight = qnnrt_weights_find(m->weights->file, name);
    size_t i, count = count_of(is);
    uint32_t d = 0;
    qnnrt_error err;
    char text[512];
    float **values;
    snprintf(text, sizeof text, "there is no weight \"%s\"", name);
    if (weight == NULL)
        stop(text);
    while (d < is.rank && weight->rank == is.rank && weight->dims[d] == is.dims[d])
        ++d;
    snprintf(text, sizeof text, "weight \"%s\" has another shape than config.json says", name);
    if (d < is.rank || weight->rank != is.rank)
        stop(text);
    values = &m->weights->values[weight - qnnrt_weights_get_info(m->weights->file)->weights];
    if (*values != NULL)
        return *values;
    *values = (float *)room(count, sizeof **values);
    if (qnnrt_weights_convert(weight, QNNRT_DTYPE_F32, *values, count * sizeof **values, NULL,
                              &err) != QNNRT_OK)
        stop(err.text);
    snprintf(text, sizeof text, "weight \"%s\" has values that are not finite", name);
    for (i = 0; i < count; ++i)
        if (!isfinite((*values)[i]))
            stop(text);
    return *values;
}

/* Add a constant of real numbers, as float32 or as 16-bit codes; round like qnnrt_write_f32(). */
static value table(llm_maker *m, const char *name, qnnrt_quant quant, shape is, const float *real)
{
    size_t count = count_of(is), i;
    uint16_t *codes;
    value v;
    if (m->ranges == NULL)
        return constant(m, name, QNNRT_DTYPE_F32, quant, is, real, count * sizeof *real);
    codes = (uint16_t *)room(count, sizeof *codes);
    for (i = 0; i < count; ++i) {
        float code = rintf(real[i] / quant.scale) - (float)quant.offset;
        codes[i] = (uint16_t)fminf(fmaxf(code, 0), 65535);
    }
    v = constant(m, name, QNNRT_DTYPE_U16Q, quant, is, codes, count * sizeof *codes);
    free(codes);
    return v;
}

/* ---- operators ---- */

/* Add a node and return its output. */
static value apply(llm_maker *m, const char *type, value out, const value *in, size_t in_count,
                   const qnnrt_param_desc *params, size_t param_count)
{
    qnnrt_node_desc node = {0};
    qnnrt_tensor inputs[LLM_HEADS];
    for (size_t i = 0; i < in_count; ++i)
        inputs[i] = in[i].id;
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

/* Add a node with two inputs. */
static value combine(llm_maker *m, const char *type, value out, value a, value b)
{
    const value in[2] = { a, b };
    return apply(m, type, out, in, 2, NULL, 0);
}

/* Return a scalar parameter. */
static qnnrt_param_desc number(const char *name, qnnrt_dtype dtype, double n)
{
    qnnrt_param_desc param = {0};
    param.name = name;
    param.dtype = dtype;
    param.value = n;
    return param;
}

/* Return a parameter with several values. */
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

/* Reshape, Transpose and StridedSlice only move codes, so input and output must have the same
   encoding. */
static value reshape(llm_maker *m, value out, value x)
{
    return apply(m, "Reshape", out, &x, 1, NULL, 0);
}

/* Return the shape after a Transpose. */
static shape turned(shape is, const uint32_t order[4])
{
    return shape4(is.dims[order[0]], is.dims[order[1]], is.dims[order[2]], is.dims[order[3]]);
}

static value transpose(llm_maker *m, value out, value x, const uint32_t order[4])
{
    const qnnrt_param_desc param = list("perm", QNNRT_DTYPE_U32, shape1(4), order);
    return apply(m, "Transpose", out, &x, 1, &param, 1);
}

/* Copy a part of one axis, from begin, as long as this axis of out. */
static value slice(llm_maker *m, value out, value x, uint32_t axis, uint32_t begin)
{
    int32_t ranges[4][3];
    qnnrt_param_desc param = list("ranges", QNNRT_DTYPE_I32, shape2(x.is.rank, 3), ranges);
    for (uint32_t d = 0; d < x.is.rank; ++d) {
        ranges[d][0] = d == axis ? (int32_t)begin : 0;
        ranges[d][1] = ranges[d][0] + (int32_t)out.is.dims[d];
        ranges[d][2] = 1;
    }
    return apply(m, "StridedSlice", out, &x, 1, &param, 1);
}

static value concat(llm_maker *m, value out, const value *in, size_t count, uint32_t axis)
{
    const qnnrt_param_desc param = number("axis", QNNRT_DTYPE_U32, axis);
    return apply(m, "Concat", out, in, count, &param, 1);
}

static value gather(llm_maker *m, value out, value rows, value at)
{
    const qnnrt_param_desc param = number("axis", QNNRT_DTYPE_I32, 0);
    const value in[2] = { rows, at };
    return apply(m, "Gather", out, in, 2, &param, 1);
}

/* Normalize x [1, tokens, width]: divide each row by the root of its mean square, and multiply each
   column by a weight. Release 2.47 requires all three inputs, so the bias is a tensor of zeros. */
static value norm(llm_maker *m, value out, value x, const char *weight)
{
    static const float zeros[LLM_WIDTH];
    const uint32_t last = 2;
    const shape is = shape1(m->is.width);
    const float *gamma = weights_of(m, weight, is);
    qnnrt_param_desc params[2];
    float most = 1e-9f;
    char bias[112];
    value in[3];
    for (uint32_t i = 0; i < m->is.width; ++i)
        most = fmaxf(most, fabsf(gamma[i]));
    snprintf(bias, sizeof bias, "%s_bias", weight);
    in[0] = x;
    in[1] = table(m, weight, encoding(m, most / 32767, -32768), is, gamma);
    in[2] = constant(m, bias, kept(m), encoding(m, 1, 0), is, zeros,
                     m->is.width * (m->ranges != NULL ? sizeof(uint8_t) : sizeof(float)));
    params[0] = number("epsilon", QNNRT_DTYPE_F32, m->is.epsilon);
    params[1] = list("axes", QNNRT_DTYPE_U32, shape1(1), &last);
    return apply(m, "RmsNorm", out, in, 3, params, 2);
}

/* Add a matrix with 8-bit codes and a scale for each row. Each row belongs to one output, as in the
   file. A factor on the result is multiplied into the scales, at no cost. */
static value matrix_u8(llm_maker *m, const char *name, shape is, const float *real, float factor)
{
    uint32_t rows = is.dims[0], columns = is.dims[1];
    float *scales = (float *)room(rows, sizeof *scales);
    int8_t *codes = (int8_t *)room((size_t)rows * columns, 1), *code = codes;
    qnnrt_quant quant = {0};
    value v;
    for (uint32_t r = 0; r < rows; ++r, real += columns, code += columns) {
        float most = 1e-9f;
        for (uint32_t c = 0; c < columns; ++c)
            most = fmaxf(most, fabsf(real[c]));
        for (uint32_t c = 0; c < columns; ++c)
            code[c] = (int8_t)roundf(real[c] / most * 127);
        scales[r] = most / 127 * factor;
    }
    quant.encoding = QNNRT_ENCODING_PER_AXIS;
    quant.axis = 0;
    quant.count = rows;
    quant.scales = scales;
    v = constant(m, name, QNNRT_DTYPE_S8Q, quant, is, codes, (size_t)rows * columns);
    free(codes);
    free(scales);
    return v;
}

/* Add the same matrix as float32. */
static value matrix_f32(llm_maker *m, const char *name, shape is, const float *real, float factor)
{
    size_t count = count_of(is), i;
    float *scaled = (float *)room(count, sizeof *scaled);
    value v;
    for (i = 0; i < count; ++i)
        scaled[i] = real[i] * factor;
    v = table(m, name, encoding(m, 0, 0), is, scaled);
    free(scaled);
    return v;
}

/* Compute out [tokens, rows]: x [.., columns] times factor times the matrix `weight` of the
   file. */
static value linear(llm_maker *m, value out, value x, const char *weight, float factor)
{
    const shape is = shape2(out.is.dims[1], x.is.dims[x.is.rank - 1]);
    const float *real = weights_of(m, weight, is);
    /* If the head is tied, the graph may already hold the table of embeddings under its name. */
    const char *name = strcmp(weight, "model.embed_tokens.weight") == 0 ? "lm_head.weight" : weight;
    const value in[2] = { x, m->ranges != NULL ? matrix_u8(m, name, is, real, factor)
                                               : matrix_f32(m, name, is, real, factor) };
    return apply(m, "FullyConnected", out, in, 2, NULL, 0);
}

/* ---- a decoder layer ---- */

static value layer_linear(llm_maker *m, value out, value x, const char *part, float factor)
{
    char weight[96];
    snprintf(weight, sizeof weight, "model.layers.%u.%s.weight", (unsigned)m->layer, part);
    return linear(m, out, x, weight, factor);
}

static value layer_norm(llm_maker *m, value out, value x, const char *part)
{
    char weight[96];
    snprintf(weight, sizeof weight, "model.layers.%u.%s.weight", (unsigned)m->layer, part);
    return norm(m, out, x, weight);
}

/* Project x [1, tokens, width] to [1, heads, tokens, head_dim]. */
static value project(llm_maker *m, const char *name, value x, const char *part, uint32_t heads,
                     int range, float factor)
{
    static const uint32_t order[4] = { 0, 2, 1, 3 };
    const qnnrt_quant quant = over(m, range);
    uint32_t t = m->tokens, d = m->is.head_dim;
    char flat[32], rows[32];
    value v;
    snprintf(flat, sizeof flat, "%s_flat", name);
    snprintf(rows, sizeof rows, "%s_rows", name);
    v = layer_linear(m, inner(m, flat, quant, shape2(t, heads * d)), x, part, factor);
    v = reshape(m, inner(m, rows, quant, shape4(1, t, heads, d)), v);
    return transpose(m, inner(m, name, quant, turned(v.is, order)), v, order);
}

/* Rotate each row by the angles of its token's position. Element i of the first half and element i
   of the second half make a pair: (u, v) -> (u cos - v sin, v cos + u sin). */
static value rotate(llm_maker *m, const char *name, value x, qnnrt_quant quant)
{
    uint32_t half = x.is.dims[3] / 2;
    shape is = shape4(1, x.is.dims[1], x.is.dims[2], half);
    value halves[2], both[2];
    char part[32];
    for (uint32_t i = 0; i < 2; ++i) {
        snprintf(part, sizeof part, "%s_half_%u", name, (unsigned)i);
        halves[i] = slice(m, inner(m, part, x.quant, is), x, 3, i * half);
    }
    for (uint32_t i = 0; i < 2; ++i) {
        value straight, crossed;
        snprintf(part, sizeof part, "%s_cos_%u", name, (unsigned)i);
        straight = combine(m, "ElementWiseMultiply", inner(m, part, x.quant, is), halves[i],
                           m->cosine);
        snprintf(part, sizeof part, "%s_sin_%u", name, (unsigned)i);
        crossed = combine(m, "ElementWiseMultiply", inner(m, part, x.quant, is), halves[1 - i],
                          m->sine);
        snprintf(part, sizeof part, "%s_turned_%u", name, (unsigned)i);
        both[i] = combine(m, i == 0 ? "ElementWiseSubtract" : "ElementWiseAdd",
                          inner(m, part, quant, is), straight, crossed);
    }
    snprintf(part, sizeof part, "%s_turned", name);
    return concat(m, inner(m, part, quant, x.is), both, 2, 3);
}

/* Return the n-th name of a family: "<stem>_0", "<stem>_1_0", "<stem>_2_0", ... */
static const char *numbered(char name[96], const char *stem, uint32_t n)
{
    if (n == 0)
        snprintf(name, 96, "%s_0", stem);
    else
        snprintf(name, 96, "%s_%u_0", stem, (unsigned)n);
    return name;
}

/* Return the keys or values of earlier tokens as one tensor. */
static value earlier(llm_maker *m, const char *word, int which, shape is)
{
    const uint32_t kv = m->is.kv_heads;
    const value *heads = m->heads[which][m->layer];
    char name[32];
    value v;
    if (m->names != LLM_EXECUTORCH)
        return m->caches[which][m->layer];
    v = heads[0];
    snprintf(name, sizeof name, "%s_heads_past", word);
    if (kv > 1)
        v = concat(m, inner_of(m, name, kept(m), v.quant, shape3(kv, is.dims[2], is.dims[3])),
                   heads, kv, 0);
    snprintf(name, sizeof name, "%s_past", word);
    return reshape(m, inner_of(m, name, kept(m), v.quant, is), v);
}

/* Output the new keys or values as one tensor for each head. */
static void deliver_heads(llm_maker *m, const char *word, int which, value now)
{
    static const char *const stems[2] = { "output_aten_permute_copy_default",
                                          "output_aten_view_copy_default" };
    const uint32_t kv = m->is.kv_heads, rows = now.is.dims[2], columns = now.is.dims[3];
    char name[96];
    snprintf(name, sizeof name, "%s_heads_now", word);
    now = reshape(m, inner_of(m, name, kept(m), now.quant, shape3(kv, rows, columns)), now);
    for (uint32_t h = 0; h < kv; ++h) {
        numbered(name, stems[which], m->layer * kv + h);
        slice(m, output(m, name, kept(m), now.quant, shape3(1, rows, columns)), now, 0, h);
    }
}

/* Output the new keys or values x [1, heads, tokens, head_dim], and return them appended to those
   of earlier tokens. Keys have a column for each token, values a row. */
static value remember(llm_maker *m, int which, value x)
{
    static const uint32_t orders[2][4] = { { 1, 0, 3, 2 }, { 1, 0, 2, 3 } };
    const char *word = which == KEYS ? "key" : "value";
    const uint32_t axis = which == KEYS ? 3 : 2, *order = orders[which];
    const qnnrt_quant quant = cell(m, which == KEYS ? RANGE_K_ROTATED : RANGE_V);
    const shape is = turned(x.is, order);
    shape past = is, all = is;
    value both[2], now;
    char name[64];

    past.dims[axis] = m->is.context - m->tokens;
    all.dims[axis] = m->is.context;
    both[0] = earlier(m, word, which, past);
    if (m->ranges != NULL) {
        snprintf(name, sizeof name, "%s_kept", word);
        x = transpose(m, inner(m, name, x.quant, is), x, order);
    }
    if (m->names == LLM_EXECUTORCH) {
        snprintf(name, sizeof name, "%s_now", word);
        now = inner_of(m, name, kept(m), quant, is);
    } else {
        snprintf(name, sizeof name, "past_%s_%u_out", word, (unsigned)m->layer);
        now = output(m, name, kept(m), quant, is);
    }
    both[1] = m->ranges != NULL ? apply(m, "Convert", now, &x, 1, NULL, 0)
                                : transpose(m, now, x, order);
    if (m->names == LLM_EXECUTORCH)
        deliver_heads(m, word, which, now);
    snprintf(name, sizeof name, "%ss", word);
    return concat(m, inner_of(m, name, kept(m), quant, all), both, 2, axis);
}

/* Compute attention: each token reads the tokens before it and itself. Several heads of queries
   share one head of keys and values; for MatMul they are rows of one matrix. */
static value attention(llm_maker *m, value x)
{
    static const uint32_t tokens_first[4] = { 0, 2, 1, 3 };
    const qnnrt_quant scored = over(m, RANGE_SCORES), mixed = over(m, RANGE_CONTEXT);
    uint32_t t = m->tokens, all = m->is.context, kv = m->is.kv_heads, d = m->is.head_dim;
    uint32_t heads = m->is.heads, group = heads / kv;
    shape by_group = shape4(kv, 1, group * t, all), by_head = shape4(kv, group, t, all);
    value q, k, v, w;

    q = project(m, "q", x, "self_attn.q_proj", heads, RANGE_Q, 1 / sqrtf((float)d));
    k = project(m, "k", x, "self_attn.k_proj", kv, RANGE_K, 1);
    v = project(m, "v", x, "self_attn.v_proj", kv, RANGE_V, 1);
    q = rotate(m, "q", q, over(m, RANGE_Q_ROTATED));
    k = rotate(m, "k", k, over(m, RANGE_K_ROTATED));
    v = remember(m, VALUES, v);                                       /* [kv, 1, all, d] */
    k = remember(m, KEYS, k);                                         /* [kv, 1, d, all] */

    q = reshape(m, inner(m, "q_group", q.quant, shape4(kv, 1, group * t, d)), q);
    w = combine(m, "MatMul", inner(m, "scores_group", scored, by_group), q, k);
    w = reshape(m, inner(m, "scores", scored, by_head), w);
    w = combine(m, "ElementWiseAdd", inner(m, "scores_masked", over_masked(m), by_head), w,
                m->mask);
    w = apply(m, "Softmax", inner(m, "weights", zero_to_one(m), by_head), &w, 1, NULL, 0);
    w = reshape(m, inner(m, "weights_group", w.quant, by_group), w);
    v = combine(m, "MatMul", inner(m, "mixed_group", mixed, shape4(kv, 1, group * t, d)), w, v);

    v = reshape(m, inner(m, "mixed_heads", mixed, shape4(1, heads, t, d)), v);
    v = transpose(m, inner(m, "mixed_tokens", mixed, turned(v.is, tokens_first)), v, tokens_first);
    v = reshape(m, inner(m, "mixed", mixed, shape2(t, heads * d)), v);
    v = layer_linear(m, inner(m, "attention_flat", over(m, RANGE_ATTENTION),
                              shape2(t, m->is.width)), v, "self_attn.o_proj", 1);
    return reshape(m, inner(m, "attention", v.quant, shape3(1, t, m->is.width)), v);
}

/* Compute the gated perceptron: down(silu(gate(x)) * up(x)). */
static value perceptron(llm_maker *m, value x)
{
    uint32_t t = m->tokens;
    shape wide = shape2(t, m->is.inner);
    value gate, up, v;
    gate = layer_linear(m, inner(m, "gate", over(m, RANGE_GATE), wide), x, "mlp.gate_proj", 1);
    up = layer_linear(m, inner(m, "up", over(m, RANGE_UP), wide), x, "mlp.up_proj", 1);
    v = apply(m, "Sigmoid", inner(m, "sigmoid", zero_to_one(m), wide), &gate, 1, NULL, 0);
    v = combine(m, "ElementWiseMultiply", inner(m, "silu", over(m, RANGE_SILU), wide), v, gate);
    v = combine(m, "ElementWiseMultiply", inner(m, "product", over(m, RANGE_PRODUCT), wide), v,
                up);
    v = layer_linear(m, inner(m, "mlp_flat", over(m, RANGE_MLP), shape2(t, m->is.width)), v,
                     "mlp.down_proj", 1);
    return reshape(m, inner(m, "mlp", v.quant, shape3(1, t, m->is.width)), v);
}

/* Return the name of the output of layer `end` - 1, or of the embeddings if end is 0. */
static const char *hidden_name(const llm_maker *m, char name[96], uint32_t end)
{
    if (m->names == LLM_HUB_SHORT)
        snprintf(name, 96, "hidden_%u", (unsigned)end);
    else if (m->names == LLM_EXECUTORCH)            /* the second of two additions per layer */
        numbered(name, "output_aten_add_tensor", end == 0 ? 0 : 2 * end - 1);
    else if (end == 0)
        snprintf(name, 96, "_model_embed_tokens_Gather_output_0");
    else
        snprintf(name, 96, "_model_layers_%u_Add_1_Add_output_0", (unsigned)end - 1);
    return name;
}

/* Describe a decoder layer; if it leaves the graph, its result is an output. */
static value layer(llm_maker *m, value x, int leaves)
{
    const shape is = x.is;
    char name[96];
    value v;
    v = layer_norm(m, inner(m, "norm_1", over(m, RANGE_NORM_1), is), x, "input_layernorm");
    v = attention(m, v);
    x = combine(m, "ElementWiseAdd", inner(m, "middle", over(m, RANGE_MIDDLE), is), x, v);
    v = layer_norm(m, inner(m, "norm_2", over(m, RANGE_NORM_2), is), x,
                   "post_attention_layernorm");
    v = perceptron(m, v);
    return combine(m, "ElementWiseAdd",
                   add(m, leaves ? QNNRT_TENSOR_OUTPUT : QNNRT_TENSOR_INNER,
                       hidden_name(m, name, m->layer + 1), plain(m), over(m, RANGE_OUT), is, NULL,
                       0), x, v);
}

/* ---- before and after the layers ---- */

/* Read one row of the table of embeddings for each token. */
static value embedding(llm_maker *m, int leaves)
{
    static const char weight[] = "model.embed_tokens.weight";
    const qnnrt_quant quant = over_model(m, RANGE_EMBEDDING);
    const shape is = shape2(m->is.vocabulary, m->is.width);
    char name[96];
    value out = add(m, leaves ? QNNRT_TENSOR_OUTPUT : QNNRT_TENSOR_INNER, hidden_name(m, name, 0),
                    plain(m), quant, shape3(1, m->tokens, m->is.width), NULL, 0);
    return gather(m, out, table(m, weight, quant, is, weights_of(m, weight, is)), m->ids);
}

/* Describe the last norm and the head, and output the logits. */
static void head(llm_maker *m, value x)
{
    const qnnrt_quant quant = over_model(m, RANGE_LOGITS);
    const uint32_t t = m->tokens, vocabulary = m->is.vocabulary;
    m->layer = m->is.layers;
    x = norm(m, inner(m, "norm", over_model(m, RANGE_NORM), x.is), x, "model.norm.weight");
    x = linear(m, inner(m, "logits", quant, shape2(t, vocabulary)), x,
               m->is.tied ? "model.embed_tokens.weight" : "lm_head.weight", 1);
    reshape(m, output(m, m->names == LLM_EXECUTORCH ? "output_aten_squeeze_copy_dims_0" : "logits",
                      plain(m), quant, shape3(1, t, vocabulary)), x);
}

/* Read cosines or sines of the tokens' positions from a table of all positions. */
static value angles(llm_maker *m, const char *name, double (*function)(double))
{
    const uint32_t half = m->is.head_dim / 2, all = m->is.context;
    float *real = (float *)room((size_t)all * half, sizeof *real);
    value rows;
    char part[32];
    for (uint32_t row = 0; row < all; ++row)
        for (uint32_t i = 0; i < half; ++i)
            real[(size_t)row * half + i] =
                (float)function(row * pow(m->is.theta, -(double)i / half));
    snprintf(part, sizeof part, "freqs_%s", name);
    rows = table(m, part, angle(m), shape2(all, half), real);
    free(real);
    snprintf(part, sizeof part, "%s_rows", name);
    return gather(m, inner(m, part, angle(m), shape3(1, m->tokens, half)), rows, m->positions);
}

/* ---- inputs, in the order of the exports ---- */

static value input(llm_maker *m, const char *name, qnnrt_dtype dtype, qnnrt_quant quant, shape is)
{
    return add(m, QNNRT_TENSOR_INPUT, name, dtype, quant, is, NULL, 0);
}

static qnnrt_quant mask_encoding(const llm_maker *m)
{
    return encoding(m, -LLM_MASKED / 65535, -65535);
}

static void hub_inputs(llm_maker *m, const llm_cut *cut)
{
    static const char *const words[2] = { "key", "value" };
    const uint32_t t = m->tokens, kv = m->is.kv_heads, d = m->is.head_dim;
    const uint32_t cells = m->is.context - t;
    const qnnrt_quant none = {0};
    char name[96];
    if (cut->embedding)
        m->ids = input(m, "input_ids", QNNRT_DTYPE_I32, none, shape2(1, t));
    else
        m->hidden = input(m, hidden_name(m, name, cut->first), plain(m),
                           over_hidden(m, cut->first), shape3(1, t, m->is.width));
    if (cut->first == cut->end)
        return;
    m->mask = input(m, "attention_mask", plain(m), mask_encoding(m),
                    shape4(1, 1, t, m->is.context));
    m->cosine = input(m, "position_ids_cos", plain(m), angle(m), shape4(1, 1, t, d / 2));
    m->sine = input(m, "position_ids_sin", plain(m), angle(m), shape4(1, 1, t, d / 2));
    for (m->layer = cut->first; m->layer < cut->end; ++m->layer)
        for (int which = VALUES; which >= KEYS; --which) {
            snprintf(name, sizeof name, "past_%s_%u_in", words[which], (unsigned)m->layer);
            m->caches[which][m->layer] =
                input(m, name, kept(m), cell(m, which == KEYS ? RANGE_K_ROTATED : RANGE_V),
                      which == KEYS ? shape4(kv, 1, d, cells) : shape4(kv, 1, cells, d));
        }
}

/* Add the input input_<i>_<node>_0, where i counts the inputs. */
static value counted(llm_maker *m, const char *node, qnnrt_dtype dtype, qnnrt_quant quant, shape is)
{
    char name[96];
    snprintf(name, sizeof name, "input_%u_%s_0", m->inputs++, node);
    return input(m, name, dtype, quant, is);
}

/* Add inputs for the keys or values of one layer. args_<j> counts the keys of all layers and heads
   first, then the values. */
static void head_inputs(llm_maker *m, int which)
{
    const uint32_t kv = m->is.kv_heads, d = m->is.head_dim, cells = m->is.context - m->tokens;
    const uint32_t first = (which == VALUES ? m->is.layers * kv : 0) + m->layer * kv;
    char node[32];
    for (uint32_t h = 0; h < kv; ++h) {
        snprintf(node, sizeof node, "args_%u", (unsigned)(first + h));
        m->heads[which][m->layer][h] =
            counted(m, node, kept(m), cell(m, which == KEYS ? RANGE_K_ROTATED : RANGE_V),
                    which == KEYS ? shape3(1, d, cells) : shape3(1, cells, d));
    }
}

static void executorch_inputs(llm_maker *m, const llm_cut *cut)
{
    const uint32_t t = m->tokens, half = m->is.head_dim / 2;
    const qnnrt_quant none = {0};
    if (cut->embedding) {
        m->ids = counted(m, "tokens", QNNRT_DTYPE_I32, none, shape2(1, t));
        m->positions = counted(m, "input_pos", QNNRT_DTYPE_I32, none, shape2(1, t));
    } else {
        m->hidden = counted(m, "llama_fallback_default", plain(m), over_hidden(m, cut->first),
                            shape3(1, t, m->is.width));
    }
    for (m->layer = cut->first; m->layer < cut->end; ++m->layer) {
        head_inputs(m, VALUES);
        if (m->layer == cut->first && !cut->embedding) {
            m->cosine = counted(m, "aten_view_copy_default", plain(m), angle(m), shape2(t, half));
            m->sine = counted(m, "aten_view_copy_default_1", plain(m), angle(m), shape2(t, half));
        }
        head_inputs(m, KEYS);
        if (m->layer == cut->first)
            m->mask = counted(m, "atten_mask", plain(m), mask_encoding(m),
                              shape3(1, t, m->is.context));
    }
}

/* ---- a part of the model ---- */

/* Describe a part in the present graph, for calls of m->tokens tokens. */
static void llm_part(llm_maker *m, const llm_cut *cut)
{
    const uint32_t t = m->tokens, half = m->is.head_dim / 2;
    value x, given[2];
    m->layer = cut->first;
    m->inputs = 0;
    if (m->names == LLM_EXECUTORCH)
        executorch_inputs(m, cut);
    else
        hub_inputs(m, cut);

    m->layer = cut->first;
    if (m->names == LLM_EXECUTORCH) {               /* ranks that attention needs */
        const shape row = shape4(1, 1, t, half);
        given[0] = cut->embedding ? angles(m, "cos", cos) : m->cosine;
        given[1] = cut->embedding ? angles(m, "sin", sin) : m->sine;
        m->cosine = reshape(m, inner(m, "cos", angle(m), row), given[0]);
        m->sine = reshape(m, inner(m, "sin", angle(m), row), given[1]);
        m->mask = reshape(m, inner(m, "mask", m->mask.quant, shape4(1, 1, t, m->is.context)),
                          m->mask);
    }
    x = cut->embedding ? embedding(m, cut->first == cut->end && !cut->head) : m->hidden;
    for (m->layer = cut->first; m->layer < cut->end; ++m->layer)
        x = layer(m, x, m->layer + 1 == cut->end && !cut->head);
    if (cut->head)
        head(m, x);
    else if (cut->embedding && m->names == LLM_EXECUTORCH) {
        static const char *const stem =
            "output_quantized_decomposed_dequantize_per_tensor_tensor";
        char name[96];
        for (uint32_t i = 0; i < 2; ++i)
            reshape(m, output(m, numbered(name, stem, i), plain(m), angle(m), shape2(t, half)),
                    given[i]);
    }
}

/* ---- files ---- */

/* Read a whole text of less than LLM_TEXT bytes; the caller frees it. */
static char *read_text(const char *path, size_t *bytes)
{
    char *text = (char *)room(LLM_TEXT, 1), error[640];
    FILE *file = fopen(path, "rb");
    snprintf(error, sizeof error, "%s cannot be opened", path);
    if (file == NULL)
        stop(error);
    *bytes = fread(text, 1, LLM_TEXT, file);
    snprintf(error, sizeof error, "%s cannot be read, or is longer than %d bytes", path, LLM_TEXT);
    if (ferror(file) || *bytes == LLM_TEXT)
        stop(error);
    fclose(file);
    return text;
}

/* Stop if the text was not read to its end without an error; free it. */
static void end_text(const char *path, qnnrt_json_reader *r, char *text)
{
    char error[640];
    if (!qnnrt_json_end(r)) {
        snprintf(error, sizeof error, "%s, byte %lu: %s", path, (unsigned long)r->error_at,
                 r->error != NULL ? r->error : "unexpected value");
        stop(error);
    }
    free(text);
}

/* Read config.json of a folder; stop if this header cannot describe the model. */
static void llm_read_config(const char *folder, llm_config *is)
{
    const struct { const char *key; uint32_t *at, most; } keys[] = {
        { "num_hidden_layers", &is->layers, LLM_LAYERS }, { "hidden_size", &is->width, LLM_WIDTH },
        { "num_attention_heads", &is->heads, LLM_HEADS },
        { "num_key_value_heads", &is->kv_heads, LLM_HEADS },
        { "head_dim", &is->head_dim, 256 },
        { "intermediate_size", &is->inner, 16384 },
        { "vocab_size", &is->vocabulary, 1u << 18 },
        { "max_position_embeddings", &is->context, 1u << 14 },
    };
    enum { KEYS_OF_CONFIG = sizeof keys / sizeof keys[0] };
    char path[512], error[640], *text;
    qnnrt_json_reader r;
    int known = 1;
    size_t bytes, i;

    memset(is, 0, sizeof *is);
    is->theta = 10000;
    snprintf(path, sizeof path, "%s/config.json", folder);
    text = read_text(path, &bytes);
    qnnrt_json_begin(&r, text, bytes, NULL);
    if (qnnrt_json_value(&r) == QNNRT_JSON_OBJECT)
        while (qnnrt_json_more(&r)) {
            for (i = 0; i < KEYS_OF_CONFIG && !qnnrt_json_is(&r.key, keys[i].key); ++i) {}
            if (i < KEYS_OF_CONFIG) {
                uint64_t n;
                if (qnnrt_json_value_u64(&r, &n) && n <= keys[i].most)
                    *keys[i].at = (uint32_t)n;
            } else if (qnnrt_json_is(&r.key, "rms_norm_eps")) {
                if (qnnrt_json_value(&r) == QNNRT_JSON_NUMBER)
                    qnnrt_json_f64(&r.value, &is->epsilon);
            } else if (qnnrt_json_is(&r.key, "rope_theta")) {
                if (qnnrt_json_value(&r) != QNNRT_JSON_NUMBER ||
                    !qnnrt_json_f64(&r.value, &is->theta))
                    is->theta = 0;
            } else if (qnnrt_json_is(&r.key, "tie_word_embeddings")) {
                is->tied = qnnrt_json_value(&r) == QNNRT_JSON_TRUE;
            } else if (qnnrt_json_is(&r.key, "rope_scaling")) {
                if (qnnrt_json_value(&r) != QNNRT_JSON_NULL)
                    known = 0;
            } else if (qnnrt_json_is(&r.key, "model_type")) {
                if (qnnrt_json_value(&r) != QNNRT_JSON_STRING ||
                    !qnnrt_json_is(&r.value, "llama"))
                    known = 0;
            }
            qnnrt_json_skip(&r);
        }
    end_text(path, &r, text);
    if (is->kv_heads == 0)
        is->kv_heads = is->heads;
    if (is->head_dim == 0 && is->heads != 0)
        is->head_dim = is->width / is->heads;
    for (i = 0; i < KEYS_OF_CONFIG; ++i) {
        snprintf(error, sizeof error, "%s: \"%s\" must be a number from 1 to %u", path, keys[i].key,
                 (unsigned)keys[i].most);
        if (*keys[i].at == 0)
            stop(error);
    }
    if (!known)
        stop("config.json: expected \"model_type\" \"llama\", and no \"rope_scaling\"");
    if (is->heads % is->kv_heads != 0 || is->head_dim % 2 != 0 || !(is->theta >= 1) ||
        !(is->epsilon > 0))
        stop("config.json: expected num_attention_heads to be a multiple of num_key_value_heads, "
             "an even head_dim, rope_theta 1 or more, and rms_norm_eps above 0");
}

/* Read the present member: one of `count` names, with [lowest, highest] around 0. */
static int read_pair(qnnrt_json_reader *r, const char *const *names, size_t count,
                     float (*pairs)[2])
{
    double ends[2] = { 0, 0 };
    size_t i;
    int n = 0;
    for (i = 0; i < count && !qnnrt_json_is(&r->key, names[i]); ++i) {}
    if (i == count || qnnrt_json_value(r) != QNNRT_JSON_ARRAY)
        return 0;
    while (qnnrt_json_more(r))
        if (n == 2 || qnnrt_json_value(r) != QNNRT_JSON_NUMBER ||
            !qnnrt_json_f64(&r->value, &ends[n++]))
            return 0;
    pairs[i][0] = (float)ends[0];
    pairs[i][1] = (float)ends[1];
    return n == 2 && ends[0] <= 0 && ends[1] >= 0 && ends[1] - ends[0] > 1e-6 &&
           ends[1] - ends[0] < 1e9;
}

/* Open the safetensors of a folder; the caller frees them. */
static void llm_read_weights(const char *folder, llm_weights *weights)
{
    const qnnrt_weights_info *info;
    char text[sizeof(qnnrt_error)];
    qnnrt_error err;
    if (qnnrt_weights_open(folder, NULL, &weights->file, &err) != QNNRT_OK) {
        snprintf(text, sizeof text, "%s%s%s", err.text, err.hint[0] != '\0' ? "\nhint: " : "",
                 err.hint);
        stop(text);
    }
    info = qnnrt_weights_get_info(weights->file);
    weights->values = (float **)room(info->count + 1, sizeof *weights->values);
    for (size_t i = 0; i < info->count; ++i) {
        const char *dot = strrchr(info->weights[i].name, '.');
        if (dot != NULL && strcmp(dot, ".bias") == 0)
            stop("the file has biases, which this program does not support");
    }
}

static void llm_free_weights(llm_weights *weights)
{
    for (size_t i = 0; i < qnnrt_weights_get_info(weights->file)->count; ++i)
        free(weights->values[i]);
    free(weights->values);
    qnnrt_weights_close(weights->file);
}

/* Read the range of each activation of the model. */
static void llm_read_ranges(const char *path, const llm_config *is, llm_ranges *ranges)
{
    static const char *const of_layer[] = { LLM_LAYER_RANGES(LLM_RANGE_NAME) };
    static const char *const of_model[] = { LLM_MODEL_RANGES(LLM_RANGE_NAME) };
    char error[640], *text;
    qnnrt_json_reader r;
    uint32_t layers = 0;
    size_t bytes;
    int fine;

    memset(ranges, 0, sizeof *ranges);
    text = read_text(path, &bytes);
    qnnrt_json_begin(&r, text, bytes, NULL);
    fine = qnnrt_json_value(&r) == QNNRT_JSON_OBJECT;
    while (fine && qnnrt_json_more(&r)) {
        if (!qnnrt_json_is(&r.key, "layers")) {
            fine = read_pair(&r, of_model, MODEL_RANGES, ranges->model);
            continue;
        }
        fine = qnnrt_json_value(&r) == QNNRT_JSON_ARRAY;
        while (fine && qnnrt_json_more(&r)) {
            fine = layers < is->layers && qnnrt_json_value(&r) == QNNRT_JSON_OBJECT;
            while (fine && qnnrt_json_more(&r))
                fine = read_pair(&r, of_layer, LAYER_RANGES, ranges->layer[layers]);
            ++layers;
        }
    }
    /* A range that is missing in the file is empty. */
    for (size_t i = 0; fine && i < MODEL_RANGES; ++i)
        fine = ranges->model[i][0] < ranges->model[i][1];
    for (size_t i = 0; fine && i < (size_t)is->layers * LAYER_RANGES; ++i)
        fine = ranges->layer[i / LAYER_RANGES][i % LAYER_RANGES][0] <
               ranges->layer[i / LAYER_RANGES][i % LAYER_RANGES][1];
    snprintf(error, sizeof error, "%s: expected a range that contains 0 for each activation of %u "
             "layers, as tests/llm/make_ranges.py writes it", path,
             (unsigned)is->layers);
    if (!fine && r.error == NULL)
        stop(error);
    end_text(path, &r, text);
}

#endif
