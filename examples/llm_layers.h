/* llm_layers.h - describe the graphs of a Llama, layer by layer, to a builder of qnnrt.h

       llm_read_config("model", &maker.is);                    // model/config.json
       llm_read_ranges("model/ranges.json", &maker.is, &ranges);
       llm_read_weights("model", &weights);                    // model/model.safetensors
       maker.weights = &weights;  maker.ranges = &ranges;  maker.builder = ...;
       for each context and graph:
           maker.tokens = 32;
           llm_part(&maker, &part);                            // fills the graph that was begun

   Weights have Hugging Face's names. With ranges, what tests/make_ranges.py measured, activations
   are 16-bit codes, weights 8-bit with a scale for each output, keys and values 8-bit: what phones
   are fast at. Without them everything is float32.

   A part of the model is any run of its layers, with the table of embeddings before it or the head
   behind it. Keys and values of earlier tokens are inputs, those of the new tokens outputs. Tensors
   have the names of one of two families of exports, see llm_names.

   For programs that end at the first error: before this header they define
       static void stop(const char *text);
   which prints the text and does not return. Link with -lm. */
#ifndef LLM_LAYERS_H
#define LLM_LAYERS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qnnrt.h"
#include "safetensors.h"

/* Limits: more is refused. */
enum { LLM_LAYERS = 128, LLM_WIDTH = 4096, LLM_HEADS = 64, LLM_TEXT = 1 << 20 };

/* What the mask adds to a score that must not count: exp(-50) is nothing. */
#define LLM_MASKED (-50.0f)

typedef enum llm_names {
    LLM_HUB,            /* input_ids, attention_mask, position_ids_cos, past_key_0_in: a cache of a
                           layer is one tensor, and the caller has the angles of the positions */
    LLM_HUB_SHORT,      /* the same, with hidden_<i> for what goes from part to part */
    LLM_EXECUTORCH      /* input_0_tokens_0, input_1_input_pos_0, input_2_args_128_0: a cache of
                           each head is one tensor, and the first part makes the angles for all */
} llm_names;

typedef struct llm_config {
    uint32_t layers, width, heads, kv_heads, head_dim, inner, vocabulary, context;
    double   epsilon, theta;
    int      tied;                      /* the head is the table of embeddings */
} llm_config;

/* Activations with a range of their own, of each layer and of the model: names in ranges.json. */
#define LLM_LAYER_RANGES(X)                                                                       \
    X(NORM_1) X(Q) X(K) X(V) X(Q_ROTATED) X(K_ROTATED) X(SCORES) X(CONTEXT) X(ATTENTION) X(MIDDLE) \
    X(NORM_2) X(GATE) X(UP) X(SILU) X(PRODUCT) X(MLP) X(OUT)
#define LLM_MODEL_RANGES(X) X(EMBEDDING) X(NORM) X(LOGITS)
#define LLM_RANGE_ENUM(name) RANGE_##name,
#define LLM_RANGE_NAME(name) #name,
enum { LLM_LAYER_RANGES(LLM_RANGE_ENUM) LAYER_RANGES };
enum { LLM_MODEL_RANGES(LLM_RANGE_ENUM) MODEL_RANGES };

typedef struct llm_ranges {             /* { lowest, highest }, real numbers */
    float layer[LLM_LAYERS][LAYER_RANGES][2], model[MODEL_RANGES][2];
} llm_ranges;

typedef struct llm_cut {                /* a part of the model */
    uint32_t first, end;                /* layers from first to before end; may be none */
    int      embedding, head;
} llm_cut;

typedef struct shape { uint32_t rank, dims[4]; } shape;

/* A tensor of the graph, with what its readers have to know. */
typedef struct value {
    qnnrt_tensor id;
    qnnrt_quant  quant;
    shape        is;
} value;

enum { KEYS, VALUES };

typedef struct llm_maker {
    qnnrt_builder     *builder;
    llm_config         is;
    const safetensors *weights;
    const llm_ranges  *ranges;          /* NULL: float32 */
    llm_names          names;
    uint32_t           tokens;          /* that the graph takes per call */
    /* of the graph being built */
    uint32_t           layer;
    value              ids, positions, hidden, mask, cosine, sine;
    value              caches[2][LLM_LAYERS];       /* of earlier tokens, per layer; */
    value              heads[2][LLM_LAYERS][LLM_HEADS];     /* or per head */
    unsigned           inputs;          /* so far */
} llm_maker;

/* ---- codes: real = (code + offset) * scale ---- */

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

/* Sixteen bits over a range that contains 0, with a code for exactly 0. */
static qnnrt_quant between(const llm_maker *m, float low, float high)
{
    float scale = (high - low) / 65535;
    return encoding(m, scale, (int32_t)lroundf(low / scale));
}

/* The same for an activation of a layer, of this layer, and of the model. */
static qnnrt_quant over_layer(const llm_maker *m, uint32_t layer, int range)
{
    const float *ends = m->ranges != NULL ? m->ranges->layer[layer][range] : NULL;
    return ends != NULL ? between(m, ends[0], ends[1]) : encoding(m, 0, 0);
}

static qnnrt_quant over(const llm_maker *m, int range)
{
    return over_layer(m, m->layer, range);
}

static qnnrt_quant over_model(const llm_maker *m, int range)
{
    const float *ends = m->ranges != NULL ? m->ranges->model[range] : NULL;
    return ends != NULL ? between(m, ends[0], ends[1]) : encoding(m, 0, 0);
}

/* What goes into layer `layer`, with one encoding on both sides of a cut. */
static qnnrt_quant over_hidden(const llm_maker *m, uint32_t layer)
{
    return layer == 0 ? over_model(m, RANGE_EMBEDDING) : over_layer(m, layer - 1, RANGE_OUT);
}

/* Scores that the mask was added to. */
static qnnrt_quant over_masked(const llm_maker *m)
{
    const float *ends = m->ranges != NULL ? m->ranges->layer[m->layer][RANGE_SCORES] : NULL;
    return ends != NULL ? between(m, ends[0] + LLM_MASKED, ends[1]) : encoding(m, 0, 0);
}

/* Sixteen bits for what comes out of Softmax and Sigmoid, and for cosines and sines. */
static qnnrt_quant zero_to_one(const llm_maker *m)
{
    return encoding(m, 1.0f / 65535, 0);
}

static qnnrt_quant angle(const llm_maker *m)
{
    return encoding(m, 1.0f / 32768, -32768);
}

/* Eight bits for keys or values: as far down as up, so that 128 is 0. */
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
    desc.data = data;                       /* of a constant: copied */
    desc.bytes = bytes;
    v.id = qnnrt_builder_tensor(m->builder, &desc);
    v.quant = quant;
    v.is = is;
    return v;
}

/* What activations are made of, and what caches are. */
static qnnrt_dtype plain(const llm_maker *m)
{
    return m->ranges != NULL ? QNNRT_DTYPE_U16Q : QNNRT_DTYPE_F32;
}

static qnnrt_dtype kept(const llm_maker *m)
{
    return m->ranges != NULL ? QNNRT_DTYPE_U8Q : QNNRT_DTYPE_F32;
}

static value output(llm_maker *m, const char *name, qnnrt_dtype dtype, qnnrt_quant quant, shape is)
{
    return add(m, QNNRT_TENSOR_OUTPUT, name, dtype, quant, is, NULL, 0);
}

/* What lies between two nodes, named after the layer. */
static value inner_of(llm_maker *m, const char *name, qnnrt_dtype dtype, qnnrt_quant quant,
                      shape is)
{
    char full[128];
    snprintf(full, sizeof full, "layer_%u_%s", (unsigned)m->layer, name);
    return add(m, QNNRT_TENSOR_INNER, full, dtype, quant, is, NULL, 0);
}

static value inner(llm_maker *m, const char *name, qnnrt_quant quant, shape is)
{
    return inner_of(m, name, plain(m), quant, is);
}

static value constant(llm_maker *m, const char *name, qnnrt_dtype dtype, qnnrt_quant quant,
                      shape is, const void *data, size_t bytes)
{
    return add(m, QNNRT_TENSOR_STATIC, name, dtype, quant, is, data, bytes);
}

static size_t count_of(shape is)
{
    size_t count = 1;
    for (uint32_t d = 0; d < is.rank; ++d)
        count *= is.dims[d];
    return count;
}

/* The numbers of a file that may hold anything: of this shape, and none of them NaN or infinite. */
static const float *weights_of(const llm_maker *m, const char *name, shape is)
{
    uint64_t dims[4];
    char error[SAFETENSORS_ERROR];
    const float *values;
    size_t i, count = count_of(is);
    for (uint32_t d = 0; d < is.rank; ++d)
        dims[d] = is.dims[d];
    values = safetensors_find(m->weights, name, is.rank, dims, error);
    if (values == NULL)
        stop(error);
    snprintf(error, sizeof error, "tensor \"%s\" has values that are not finite", name);
    for (i = 0; i < count; ++i)
        if (!isfinite(values[i]))
            stop(error);
    return values;
}

static void *room(size_t count, size_t size)
{
    void *data = calloc(count, size);
    if (data == NULL)
        stop("out of memory");
    return data;
}

/* Numbers of ours or of the file: as they are, or as 16-bit codes, rounded as qnnrt_write_f32()
   does it. */
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

static value combine(llm_maker *m, const char *type, value out, value a, value b)
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

/* Reshape, Transpose and StridedSlice move codes: what comes out has the encoding of what goes
   in. */
static value reshape(llm_maker *m, value out, value x)
{
    return apply(m, "Reshape", out, &x, 1, NULL, 0);
}

static shape turned(shape is, const uint32_t order[4])
{
    return shape4(is.dims[order[0]], is.dims[order[1]], is.dims[order[2]], is.dims[order[3]]);
}

static value transpose(llm_maker *m, value out, value x, const uint32_t order[4])
{
    const qnnrt_param_desc param = list("perm", QNNRT_DTYPE_U32, shape1(4), order);
    return apply(m, "Transpose", out, &x, 1, &param, 1);
}

/* Of one axis the part that is as long as that of out. */
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

/* x [1, tokens, width]: each row divided by the root of its mean square, times a weight for each
   column. Release 2.47 takes no less than all three inputs, so there is a bias of zeros. */
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

/* A matrix that is stored a row for each output, as the file has it: in 8 bits, with a scale for
   each row. A factor on the result goes into the scales and costs nothing. */
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

/* out [tokens, rows] = x [.., columns] times such a matrix, `weight` of the file, times factor. */
static value linear(llm_maker *m, value out, value x, const char *weight, float factor)
{
    const shape is = shape2(out.is.dims[1], x.is.dims[x.is.rank - 1]);
    const float *real = weights_of(m, weight, is);
    /* A tied head: the table of embeddings may be in the graph already, as it is. */
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

/* x [1, tokens, width] -> [1, heads, tokens, head_dim] */
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

/* The position of a token turns the two halves of a row against each other, by as many angles as
   they are long: (u, v) -> (u cos - v sin, v cos + u sin) */
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

/* Names of a family have numbers that count from 1, behind a first one without:
   "<stem>_0", "<stem>_1_0", "<stem>_2_0", ... */
static const char *numbered(char name[96], const char *stem, uint32_t n)
{
    if (n == 0)
        snprintf(name, 96, "%s_0", stem);
    else
        snprintf(name, 96, "%s_%u_0", stem, (unsigned)n);
    return name;
}

/* Keys or values of earlier tokens as one tensor. */
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

/* The new ones, which leave the graph as a tensor of each head. */
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

/* New keys or values x [1, heads, tokens, head_dim] leave the graph, and stand behind those of
   earlier tokens. Keys are stored a column for each token, values a row. */
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

/* What each token takes from those before it and from itself. Several heads of queries share one
   head of keys and values: for MatMul they are rows of one matrix. */
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

/* The gated perceptron: down(silu(gate(x)) * up(x)) */
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

/* What comes out of layer `end` - 1, or of the table of embeddings, and goes to another part. */
static const char *hidden_name(const llm_maker *m, char name[96], uint32_t end)
{
    if (m->names == LLM_HUB_SHORT)
        snprintf(name, 96, "hidden_%u", (unsigned)end);
    else if (m->names == LLM_EXECUTORCH)            /* of two additions in each layer the last */
        numbered(name, "output_aten_add_tensor", end == 0 ? 0 : 2 * end - 1);
    else if (end == 0)
        snprintf(name, 96, "_model_embed_tokens_Gather_output_0");
    else
        snprintf(name, 96, "_model_layers_%u_Add_1_Add_output_0", (unsigned)end - 1);
    return name;
}

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

/* ---- before and behind the layers ---- */

/* A row of the table for each token. */
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

/* Cosine or sine of the tokens' positions, rows of a table of all positions. */
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

/* ---- inputs, in the order in which exports have them ---- */

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

/* input_<i>_<node>_0, where i counts the inputs. */
static value counted(llm_maker *m, const char *node, qnnrt_dtype dtype, qnnrt_quant quant, shape is)
{
    char name[96];
    snprintf(name, sizeof name, "input_%u_%s_0", m->inputs++, node);
    return input(m, name, dtype, quant, is);
}

/* Of all keys and values of the whole model, args_<j> are first the keys and then the values, by
   layer and head. */
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

/* Describe the part in the graph that was begun, for calls of m->tokens tokens. */
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
    if (m->names == LLM_EXECUTORCH) {               /* ranks as attention wants them */
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

/* A whole text of at most LLM_TEXT bytes, to be freed. */
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

static void end_text(const char *path, qnnrt_json_reader *r, char *text)
{
    char error[640];
    if (!qnnrt_json_end(r)) {
        snprintf(error, sizeof error, "%s, byte %lu: %s", path, (unsigned long)r->error_at,
                 r->error != NULL ? r->error : "not what was expected");
        stop(error);
    }
    free(text);
}

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
        stop("config.json: only \"llama\" is known here, without \"rope_scaling\"");
    if (is->heads % is->kv_heads != 0 || is->head_dim % 2 != 0 || !(is->theta >= 1) ||
        !(is->epsilon > 0))
        stop("config.json: there must be queries in equal groups, an even head_dim, a rope_theta "
             "of at least 1, and a rms_norm_eps above 0");
}

/* The member that the reader is at: one of `count` names, and [lowest, highest] around 0. */
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

/* model.safetensors of the folder, to be freed. */
static void llm_read_weights(const char *folder, safetensors *weights)
{
    char path[512], error[SAFETENSORS_ERROR];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (!safetensors_read(path, weights, error))
        stop(error);
    for (size_t i = 0; i < weights->count; ++i) {
        const char *dot = strrchr(weights->tensors[i].name, '.');
        if (dot != NULL && strcmp(dot, ".bias") == 0)
            stop("model.safetensors has biases: they are not known here");
    }
}

/* What make_ranges.py found for each activation of the model. */
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
    /* A range that nothing was read for is empty. */
    for (size_t i = 0; fine && i < MODEL_RANGES; ++i)
        fine = ranges->model[i][0] < ranges->model[i][1];
    for (size_t i = 0; fine && i < (size_t)is->layers * LAYER_RANGES; ++i)
        fine = ranges->layer[i / LAYER_RANGES][i % LAYER_RANGES][0] <
               ranges->layer[i / LAYER_RANGES][i % LAYER_RANGES][1];
    snprintf(error, sizeof error, "%s: there must be a range, from 0 or below to 0 or above, for "
             "each activation of %u layers, as tests/make_ranges.py writes it", path,
             (unsigned)is->layers);
    if (!fine && r.error == NULL)
        stop(error);
    end_text(path, &r, text);
}

#endif
