/* llm_shapes.h - graphs with the tensors of large language models and almost no work between them

   For bench_llm_shapes.c. The inputs and outputs are those of public exports: names, types, dims,
   how shards are cut. The output of keys and values is a piece of the input cache, hidden states
   are rows of a small table, logits are one number plus a row of codes. A runtime does the same
   work around such a graph as around the model. */
#ifndef LLM_SHAPES_H
#define LLM_SHAPES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape {
    const char *name;
    uint32_t    layers, heads, head_dim, context, prefill, shards, vocabulary, width;
    /* 1: a cache tensor per head, and ExecuTorch's names; 0: one per layer, and the names of
       Qualcomm's hub. */
    int         executorch;
} shape;

static const shape shapes[] = {
    { "1B: 16 layers, 8 KV heads of 64, context 512, AR 32 and 1, 8 shards, a tensor per head",
      16, 8, 64, 512, 32, 8, 128256, 2048, 1 },
    { "7B: 32 layers, 32 KV heads of 128, context 4096, AR 128 and 1, 4 shards, a tensor per layer",
      32, 32, 128, 4096, 128, 4, 152064, 4096, 0 }
};

enum { SHAPE_TABLE_ROWS = 4 };

typedef struct shape_maker {
    const shape      *is;
    qnnrt_builder    *builder;
    uint32_t          ar, shard;
    unsigned          numbers;       /* how many names were numbered in this graph so far */
    qnnrt_tensor      positions;     /* input of ExecuTorch's first shard */
    uint16_t         *words;         /* codes that static tensors use */
} shape_maker;

static qnnrt_quant shape_code(float scale, int32_t offset)
{
    qnnrt_quant quant = {0};
    quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    quant.scale = scale;
    quant.offset = offset;
    return quant;
}

/* Add a tensor of up to four dims; a 0 ends them. Integers have no encoding. */
static qnnrt_tensor shape_tensor(const shape_maker *m, qnnrt_tensor_kind kind, const char *name,
                                 qnnrt_dtype dtype, const uint32_t dims[4])
{
    qnnrt_tensor_desc desc = {0};
    size_t count = 1;
    desc.name = name;
    desc.kind = kind;
    desc.dtype = dtype;
    if (dtype == QNNRT_DTYPE_U8Q) desc.quant = shape_code(1.0f / 16, -128);
    if (dtype == QNNRT_DTYPE_U16Q) desc.quant = shape_code(1.0f / 4096, -32768);
    for (; desc.rank < 4 && dims[desc.rank] != 0; ++desc.rank)
        count *= desc.dims[desc.rank] = dims[desc.rank];
    if (kind == QNNRT_TENSOR_STATIC) {
        desc.data = m->words;
        desc.bytes = count * sizeof *m->words;
        desc.borrow = 1;
    }
    return qnnrt_builder_tensor(m->builder, &desc);
}

static void shape_node(const shape_maker *m, const char *type, const qnnrt_tensor *in,
                       size_t in_count, qnnrt_tensor out, const qnnrt_param_desc *param)
{
    qnnrt_node_desc node = {0};
    node.type = type;
    node.inputs = in;
    node.input_count = in_count;
    node.outputs = &out;
    node.output_count = 1;
    node.params = param;
    node.param_count = param != NULL ? 1 : 0;
    qnnrt_builder_node(m->builder, &node);
}

/* Add a slice: the first dims[axis] columns or rows of the input. */
static void shape_slice(const shape_maker *m, qnnrt_tensor in, qnnrt_tensor out,
                        const uint32_t dims[4])
{
    qnnrt_param_desc param = {0};
    int32_t ranges[4][3];
    uint32_t rank, d;
    for (rank = 0; rank < 4 && dims[rank] != 0; ++rank) { }
    for (d = 0; d < rank; ++d) {
        ranges[d][0] = 0;
        ranges[d][1] = (int32_t)dims[d];
        ranges[d][2] = 1;
    }
    param.name = "ranges";
    param.dtype = QNNRT_DTYPE_I32;
    param.rank = 2;
    param.dims[0] = rank;
    param.dims[1] = 3;
    param.data = ranges;
    shape_node(m, "StridedSlice", &in, 1, out, &param);
}

/* Add a look-up: one row of a table for each number of the input. */
static void shape_rows(const shape_maker *m, const char *table, uint32_t rows, uint32_t width,
                       qnnrt_tensor numbers, qnnrt_tensor out)
{
    const uint32_t dims[4] = { rows, width };
    qnnrt_tensor in[2];
    qnnrt_param_desc param = {0};
    in[0] = shape_tensor(m, QNNRT_TENSOR_STATIC, table, QNNRT_DTYPE_U16Q, dims);
    in[1] = numbers;
    param.name = "axis";
    param.dtype = QNNRT_DTYPE_I32;
    shape_node(m, "Gather", in, 2, out, &param);
}

/* Write "output_<node>_0", "output_<node>_1_0", ...: ExecuTorch's names of nodes of one kind. */
static const char *shape_node_name(char text[96], const char *node, uint32_t number)
{
    if (number == 0) snprintf(text, 96, "output_%s_0", node);
    else snprintf(text, 96, "output_%s_%u_0", node, (unsigned)number);
    return text;
}

/* Add the cache of a layer, or of one head of it: input and output. */
static void shape_cache(shape_maker *m, uint32_t layer, uint32_t head, int values)
{
    const shape *is = m->is;
    const uint32_t cells = is->context - m->ar;
    const uint32_t number = is->executorch ? layer * is->heads + head : layer;
    const char *what = values ? "value" : "key";
    const char *node = values ? "aten_view_copy_default" : "aten_permute_copy_default";
    uint32_t in_dims[4] = { 1 }, out_dims[4];
    char in_name[96], out_name[96];
    qnnrt_tensor in, out;
    uint32_t at = 1;
    if (!is->executorch) {
        in_dims[0] = is->heads;
        in_dims[at++] = 1;
    }
    in_dims[at] = values ? cells : is->head_dim;
    in_dims[at + 1] = values ? is->head_dim : cells;
    memcpy(out_dims, in_dims, sizeof out_dims);
    out_dims[values ? at : at + 1] = m->ar;
    if (is->executorch) {
        snprintf(in_name, sizeof in_name, "input_%u_args_%u_0", m->numbers++,
                 (unsigned)(number + (values ? is->layers * is->heads : 0)));
        shape_node_name(out_name, node, number);
    } else {
        snprintf(in_name, sizeof in_name, "past_%s_%u_in", what, (unsigned)number);
        snprintf(out_name, sizeof out_name, "past_%s_%u_out", what, (unsigned)number);
    }
    in = shape_tensor(m, QNNRT_TENSOR_INPUT, in_name, QNNRT_DTYPE_U8Q, in_dims);
    out = shape_tensor(m, QNNRT_TENSOR_OUTPUT, out_name, QNNRT_DTYPE_U8Q, out_dims);
    shape_slice(m, in, out, out_dims);
}

static void shape_mask(shape_maker *m)
{
    const uint32_t hub[4] = { 1, 1, m->ar, m->is->context };
    const uint32_t executorch[4] = { 1, m->ar, m->is->context };
    char name[96] = "attention_mask";
    if (m->is->executorch) snprintf(name, sizeof name, "input_%u_atten_mask_0", m->numbers++);
    shape_tensor(m, QNNRT_TENSOR_INPUT, name, QNNRT_DTYPE_U16Q,
                 m->is->executorch ? executorch : hub);
}

/* Add cos and sin: outputs of ExecuTorch's first shard, inputs of all other shards. */
static void shape_rope(shape_maker *m)
{
    const shape *is = m->is;
    const uint32_t half = is->head_dim / 2;
    const uint32_t hub[4] = { 1, 1, m->ar, half }, executorch[4] = { m->ar, half };
    uint32_t sine;
    for (sine = 0; sine < 2; ++sine) {
        char name[96];
        qnnrt_tensor out;
        if (!is->executorch) {
            snprintf(name, sizeof name, "position_ids_%s", sine ? "sin" : "cos");
            shape_tensor(m, QNNRT_TENSOR_INPUT, name, QNNRT_DTYPE_U16Q, hub);
        } else if (m->shard > 0) {
            snprintf(name, sizeof name, "input_%u_aten_view_copy_default_%s", m->numbers++,
                     sine ? "1_0" : "0");
            shape_tensor(m, QNNRT_TENSOR_INPUT, name, QNNRT_DTYPE_U16Q, executorch);
        } else {
            shape_node_name(name, "quantized_decomposed_dequantize_per_tensor_tensor", sine);
            out = shape_tensor(m, QNNRT_TENSOR_OUTPUT, name, QNNRT_DTYPE_U16Q, executorch);
            shape_rows(m, sine ? "sines" : "cosines", is->context, half, m->positions, out);
        }
    }
}

/* Add a layer's caches, values before keys as both exporters list them. Inputs that all layers of a
   shard share are added where ExecuTorch uses them first. */
static void shape_layer(shape_maker *m, uint32_t layer, int first)
{
    const uint32_t heads = m->is->executorch ? m->is->heads : 1;
    uint32_t head;
    for (head = 0; head < heads; ++head) shape_cache(m, layer, head, 1);
    if (first) shape_rope(m);
    for (head = 0; head < heads; ++head) shape_cache(m, layer, head, 0);
    if (first) shape_mask(m);
}

/* Add the ends of a shard: tokens to hidden, hidden to hidden, or hidden to logits. */
static void shape_ends(shape_maker *m, qnnrt_tensor hidden)
{
    const shape *is = m->is;
    const uint32_t hidden_dims[4] = { 1, m->ar, is->width }, piece[4] = { 1, m->ar, 1 };
    const uint32_t row[4] = { 1, 1, is->vocabulary }, logits_dims[4] = { 1, m->ar, is->vocabulary };
    const uint32_t last = is->layers / is->shards * (m->shard + 1) - 1;
    qnnrt_tensor out, in[2];
    char name[96];
    if (m->shard + 1 == is->shards) {
        out = shape_tensor(m, QNNRT_TENSOR_OUTPUT,
                           is->executorch ? "output_aten_squeeze_copy_dims_0" : "logits",
                           QNNRT_DTYPE_U16Q, logits_dims);
        in[0] = shape_tensor(m, QNNRT_TENSOR_INNER, "piece", QNNRT_DTYPE_U16Q, piece);
        in[1] = shape_tensor(m, QNNRT_TENSOR_STATIC, "row", QNNRT_DTYPE_U16Q, row);
        shape_slice(m, hidden, in[0], piece);
        shape_node(m, "ElementWiseAdd", in, 2, out, NULL);
        return;
    }
    if (is->executorch) shape_node_name(name, "aten_add_tensor", last);
    else snprintf(name, sizeof name, "_model_layers_%u_Add_1_Add_output_0", (unsigned)last);
    out = shape_tensor(m, QNNRT_TENSOR_OUTPUT, name, QNNRT_DTYPE_U16Q, hidden_dims);
    if (m->shard == 0) shape_rows(m, "table", SHAPE_TABLE_ROWS, is->width, hidden, out);
    else shape_node(m, "Relu", &hidden, 1, out, NULL);
}

static void shape_graph(shape_maker *m)
{
    const shape *is = m->is;
    const uint32_t each = is->layers / is->shards, first = each * m->shard;
    const uint32_t tokens_dims[4] = { 1, m->ar }, positions_dims[4] = { m->ar };
    const uint32_t hidden_dims[4] = { 1, m->ar, is->width };
    qnnrt_graph_desc graph = {0};
    qnnrt_tensor begin;
    char name[96];
    uint32_t layer;
    m->numbers = 0;
    if (is->executorch)
        snprintf(name, sizeof name, "%s", m->ar == 1 ? "kv_forward" : "prefill_forward");
    else
        snprintf(name, sizeof name, "%s_ar%u_cl%u_%u_of_%u", m->ar == 1 ? "token" : "prompt",
                 (unsigned)m->ar, (unsigned)is->context, (unsigned)m->shard + 1,
                 (unsigned)is->shards);
    graph.name = name;
    qnnrt_builder_graph(m->builder, &graph);
    if (m->shard == 0) {
        if (is->executorch) snprintf(name, sizeof name, "input_%u_tokens_0", m->numbers++);
        else snprintf(name, sizeof name, "input_ids");
        begin = shape_tensor(m, QNNRT_TENSOR_INPUT, name, QNNRT_DTYPE_I32, tokens_dims);
        if (is->executorch) {
            snprintf(name, sizeof name, "input_%u_input_pos_0", m->numbers++);
            m->positions = shape_tensor(m, QNNRT_TENSOR_INPUT, name, QNNRT_DTYPE_I32,
                                        positions_dims);
        }
    } else {
        if (is->executorch)
            snprintf(name, sizeof name, "input_%u_llama_fallback_default_0", m->numbers++);
        else
            snprintf(name, sizeof name, "_model_layers_%u_Add_1_Add_output_0", (unsigned)first - 1);
        begin = shape_tensor(m, QNNRT_TENSOR_INPUT, name, QNNRT_DTYPE_U16Q, hidden_dims);
    }
    for (layer = first; layer < first + each; ++layer) shape_layer(m, layer, layer == first);
    shape_ends(m, begin);
}

/* Compose the model on a backend. Return QNNRT_OK and *out, or the builder's error. */
static qnnrt_result shape_make(const shape *is, qnnrt_backend *backend, qnnrt **out,
                               qnnrt_error *err)
{
    const size_t rows = (size_t)is->context * (is->head_dim / 2);
    const size_t table = (size_t)SHAPE_TABLE_ROWS * is->width;
    size_t words = is->vocabulary, i;
    shape_maker m = {0};
    qnnrt_result result;
    if (words < rows) words = rows;
    if (words < table) words = table;
    m.is = is;
    m.words = (uint16_t *)malloc(words * sizeof *m.words);
    if (m.words == NULL) abort();
    for (i = 0; i < words; ++i) m.words[i] = (uint16_t)(32768 + i % 4096);
    result = qnnrt_builder_create(backend, NULL, &m.builder, err);
    for (m.shard = 0; result == QNNRT_OK && m.shard < is->shards; ++m.shard) {
        qnnrt_context_desc context = {0};
        char name[32];
        snprintf(name, sizeof name, "forward_%u.bin", (unsigned)m.shard);
        context.name = name;
        qnnrt_builder_context(m.builder, &context);
        m.ar = is->prefill;
        shape_graph(&m);
        m.ar = 1;
        shape_graph(&m);
    }
    if (result == QNNRT_OK) result = qnnrt_builder_finish(m.builder, out, err);
    free(m.words);
    return result;
}

#endif /* LLM_SHAPES_H */
