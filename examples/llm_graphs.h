/* llm_graphs.h - a Llama as context binaries, part by part, of 16 and 8 bits

       llm_open("model", "model/ranges.json", &model);         // NULL: float32
       part.graph.context = 128;   part.tokens[0] = 32;   ...
       saved = llm_build(&model, backend, &part);              // to run, or to save
       llm_close(&model);

   The graphs come from tools/qnnrt_llm_graph.h, which reads config.json, and tools/qnnrt_lower.h
   makes QNN operators of them. With ranges (tests/llm/make_ranges.py measures them) activations
   have 16 bits; weights have 8 bits and a scale for each output; keys and values have 8 bits. NPUs
   of phones run these types fast.

   This header is for programs that end at the first error. Before including it they define
       static void stop(const char *text);
       static void stop_error(const qnnrt_error *err);
   which print and do not return. Link with -lm. */
#ifndef LLM_GRAPHS_H
#define LLM_GRAPHS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qnnrt.h"
#include "qnnrt_json.h"
#include "tools/qnnrt_builder.h"
#include "tools/qnnrt_llm_graph.h"
#include "tools/qnnrt_lower.h"
#include "tools/qnnrt_weights.h"

/* Limits: a larger model is an error. */
enum { LLM_LAYERS = 128, LLM_HEADS = 64, LLM_TEXT = 1 << 20, LLM_GRAPHS = 2 };

/* The mask adds this to a score that must not count; exp(-50) is near 0. */
#define LLM_MASKED (-50.0)

/* Names in ranges.json: activations of each layer, then of the model, that have their own range. */
#define LLM_RANGES(X)                                                                             \
    X(NORM_1) X(Q) X(K) X(V) X(Q_ROTATED) X(K_ROTATED) X(SCORES) X(CONTEXT) X(ATTENTION) X(MIDDLE) \
    X(NORM_2) X(GATE) X(UP) X(SILU) X(PRODUCT) X(MLP) X(OUT) X(EMBEDDING) X(NORM) X(LOGITS)
#define LLM_RANGE_ENUM(name) RANGE_##name,
#define LLM_RANGE_NAME(name) #name,
enum { LLM_RANGES(LLM_RANGE_ENUM) RANGES };

typedef float llm_ranges[RANGES][2];    /* { lowest, highest } as real numbers */

typedef struct llm_model {
    qnnrt_llm_graph is;
    qnnrt_weights  *weights;
    llm_ranges     *ranges;             /* of each layer, and at [layers] of the model;
                                           NULL: float32 */
} llm_model;

/* A context: a part of the model, with the graph of each number of tokens. */
typedef struct llm_part {
    qnnrt_llm_graph_desc graph;         /* which part; .tokens is not used */
    uint32_t             tokens[LLM_GRAPHS];     /* per call of the graphs; 0: no such graph */
    char                 names[LLM_GRAPHS][96];  /* of the graphs */
    /* Changes a graph before it is lowered. Returns NULL, or the graph to take in its place
       (default NULL: the graph stays as it is). */
    qnnrt_ir          *(*edit)(const llm_model *m, const struct llm_part *part, qnnrt_ir *ir);
} llm_part;

/* Allocate zeroed memory. */
static void *room(size_t count, size_t size)
{
    void *data = calloc(count, size);
    if (data == NULL)
        stop("out of memory");
    return data;
}

/* ---- encodings: real = (stored + offset) * scale ---- */

typedef struct llm_encodings {
    qnnrt_lower_encoding *items;        /* [one for each tensor and value of all graphs] */
    size_t                count;
} llm_encodings;

/* Give a tensor of a graph 16 bits for a range. */
static qnnrt_lower_encoding *encode(llm_encodings *to, const qnnrt_lower_graph_info *graph,
                                    const char *name, double low, double high)
{
    qnnrt_lower_encoding *item = &to->items[to->count++];
    item->graph = graph->name;
    item->name = name;
    item->low = low;
    item->high = high;
    return item;
}

/* The operators of a layer that compute something, in their order, and the ranges of their results;
   then the last norm and the head. Others only move values, or have a range of their own. */
static const struct llm_step {
    const char *type;
    int         times, range, how;
} llm_steps[] = {
#define UNSCALED   1                    /* queries are divided by a root later, in attention */
#define WITH_MASK  2
    { "RmsNorm", 1, RANGE_NORM_1, 0 },
    { "FullyConnected", 1, RANGE_Q, UNSCALED },
    { "ElementWiseMultiply", 4, RANGE_Q, UNSCALED },
    { "ElementWiseSubtract", 1, RANGE_Q_ROTATED, UNSCALED },
    { "ElementWiseAdd", 1, RANGE_Q_ROTATED, UNSCALED },
    { "FullyConnected", 1, RANGE_K, 0 },
    { "ElementWiseMultiply", 4, RANGE_K, 0 },
    { "ElementWiseSubtract", 1, RANGE_K_ROTATED, 0 },
    { "ElementWiseAdd", 1, RANGE_K_ROTATED, 0 },
    { "FullyConnected", 1, RANGE_V, 0 },
    { "ElementWiseMultiply", 1, RANGE_Q_ROTATED, 0 },
    { "MatMul", 1, RANGE_SCORES, 0 },
    { "ElementWiseAdd", 1, RANGE_SCORES, WITH_MASK },
    { "MatMul", 1, RANGE_CONTEXT, 0 },
    { "FullyConnected", 1, RANGE_ATTENTION, 0 },
    { "ElementWiseAdd", 1, RANGE_MIDDLE, 0 },
    { "RmsNorm", 1, RANGE_NORM_2, 0 },
    { "FullyConnected", 1, RANGE_GATE, 0 },
    { "FullyConnected", 1, RANGE_UP, 0 },
    { "ElementWiseMultiply", 1, RANGE_SILU, 0 },
    { "ElementWiseMultiply", 1, RANGE_PRODUCT, 0 },
    { "FullyConnected", 1, RANGE_MLP, 0 },
    { "ElementWiseAdd", 1, RANGE_OUT, 0 },
    { "RmsNorm", 1, RANGE_NORM, 0 },
    { "FullyConnected", 1, RANGE_LOGITS, 0 },
};

enum { LLM_STEPS = sizeof llm_steps / sizeof llm_steps[0], LAYER_STEPS = LLM_STEPS - 2 };

/* Where a graph is read. */
typedef struct llm_place {
    uint32_t layer;
    int      step, times;               /* times that the step was met so far */
} llm_place;

/* Give the result of the next operator its encoding. */
static void encode_step(const llm_model *m, llm_place *at, llm_encodings *to,
                        const qnnrt_lower_graph_info *graph, const qnnrt_lower_op *op)
{
    const struct llm_step *step = &llm_steps[at->step];
    const float *ends;
    double factor;
    if (at->step == LLM_STEPS || strcmp(step->type, op->type) != 0)
        stop("the graph does not have the operators of a plain Llama");
    ends = m->ranges[at->layer][step->range];
    factor = step->how == UNSCALED ? sqrt(m->is.head_dim) : 1;
    encode(to, graph, graph->tensors[op->outputs[0]].name,
           (double)ends[0] * factor + (step->how == WITH_MASK ? LLM_MASKED : 0),
           (double)ends[1] * factor);
    if (++at->times < step->times)
        return;
    at->times = 0;
    if (++at->step == LAYER_STEPS && ++at->layer < m->is.layers)
        at->step = 0;
}

/* Give inputs and outputs of a graph their encodings, unless operators decide about them. The first
   outputs are keys and values of each layer, in a tensor each or in one for each head. */
static void encode_ends(const llm_model *m, llm_encodings *to, const qnnrt_lower_graph_info *graph,
                        uint32_t first, uint32_t end)
{
    const qnnrt_ir *ir = graph->ir;
    const size_t caches = 2 * (size_t)(end - first);
    const size_t each = ir->output_count > caches * m->is.kv_heads ? m->is.kv_heads : 1;
    const float *ends = first == 0 ? m->ranges[m->is.layers][RANGE_EMBEDDING]
                                   : m->ranges[first - 1][RANGE_OUT];
    size_t i;
    if (ir->inputs[0]->dtype == QNNRT_DTYPE_F32)
        encode(to, graph, ir->inputs[0]->name, (double)ends[0], (double)ends[1]);
    for (i = 0; i < ir->value_count; ++i) {
        const char *name = ir->values[i]->name;
        if (strcmp(name, "attention_mask") == 0)
            encode(to, graph, name, LLM_MASKED, 0);
        if (strncmp(name, "position_ids_", 13) == 0) {          /* cosines and sines */
            qnnrt_lower_encoding *item = encode(to, graph, name, 0, 0);
            item->scale = 1.0f / 32768;
            item->offset = -32768;
        }
    }
    for (i = 0; i < caches * each; ++i) {       /* symmetric; 128 stands for 0 */
        qnnrt_lower_encoding *item = encode(to, graph, ir->outputs[i]->name, 0, 0);
        ends = m->ranges[first + i / (2 * each)][i / each % 2 == 0 ? RANGE_K_ROTATED : RANGE_V];
        item->bits = 8;
        item->scale = fmaxf(-ends[0], ends[1]) / 127;
        item->offset = -128;
        item->apart = 1;
    }
}

/* Give the activations of a graph their encodings. */
static void encode_graph(const llm_model *m, llm_encodings *to, const qnnrt_lower_graph_info *graph,
                         uint32_t first)
{
    const float *rows = m->ranges[m->is.layers][RANGE_EMBEDDING];
    llm_place at = { first, first < m->is.layers ? 0 : LAYER_STEPS, 0 };
    for (size_t i = 0; i < graph->op_count; ++i) {
        const qnnrt_lower_op *op = &graph->ops[i];
        if (op->node == NULL || !op->used)
            continue;
        if (strcmp(op->type, "RmsNorm") == 0 || strcmp(op->type, "FullyConnected") == 0 ||
            strcmp(op->type, "MatMul") == 0 || strncmp(op->type, "ElementWise", 11) == 0)
            encode_step(m, &at, to, graph, op);
        else if (strcmp(op->type, "Gather") == 0 &&
                 op->node->inputs[0]->origin == QNNRT_IR_WEIGHT)
            encode(to, graph, graph->tensors[op->outputs[0]].name, (double)rows[0],
                   (double)rows[1]);
    }
    encode_ends(m, to, graph, first, at.layer);
}

/* ---- a part ---- */

/* Return the first layer of a part, by the name of the hidden state that it begins with. */
static uint32_t first_layer(const qnnrt_ir *ir)
{
    unsigned layer;
    return sscanf(ir->inputs[0]->name, "_model_layers_%u_", &layer) == 1 ? layer + 1 : 0;
}

/* Make a graph, and lower it. Return its first layer. irs: [2], receives what is to be freed */
static uint32_t lower_graph(const llm_model *m, const llm_part *part, int g, qnnrt_lower *lower,
                            qnnrt_ir **irs)
{
    qnnrt_llm_graph_desc desc = part->graph;
    uint32_t first;
    qnnrt_ir *ir;
    qnnrt_error err;
    desc.tokens = part->tokens[g];
    if (qnnrt_llm_graph_create(&m->is, &desc, &irs[0], &err) != QNNRT_OK)
        stop_error(&err);
    first = first_layer(irs[0]);
    if (part->edit != NULL)
        irs[1] = part->edit(m, part, irs[0]);
    ir = irs[1] != NULL ? irs[1] : irs[0];
    if (qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK ||
        qnnrt_lower_weights(lower, ir, m->weights, &err) != QNNRT_OK)
        stop_error(&err);
    for (size_t i = 0; i < ir->value_count; ++i)
        if (ir->values[i]->origin == QNNRT_IR_WEIGHT && ir->values[i]->users > 0 &&
            qnnrt_lower_check_weight(qnnrt_lower_weight_of(ir->values[i]), &err) != QNNRT_OK)
            stop_error(&err);
    if (qnnrt_lower_passes(lower, ir, &err) != QNNRT_OK ||
        qnnrt_lower_graph(lower, ir, part->names[g], &err) != QNNRT_OK)
        stop_error(&err);
    return first;
}

/* Quantize activations. Return the encodings, which have to live as long as `lower`. */
static qnnrt_lower_encoding *quantize(const llm_model *m, qnnrt_backend *backend,
                                      qnnrt_lower *lower, uint32_t first)
{
    const qnnrt_lower_info *info = qnnrt_lower_get_info(lower);
    llm_encodings made = { NULL, 0 };
    qnnrt_builder *scratch = NULL;
    qnnrt_error err;
    size_t i, most = 0;
    for (i = 0; i < info->graph_count; ++i)
        most += info->graphs[i].tensor_count + info->graphs[i].ir->value_count;
    made.items = (qnnrt_lower_encoding *)room(most, sizeof *made.items);
    for (i = 0; i < info->graph_count; ++i)
        encode_graph(m, &made, &info->graphs[i], first);
    if (qnnrt_lower_encode(lower, made.items, made.count, &err) != QNNRT_OK ||
        qnnrt_builder_create(backend, NULL, &scratch, &err) != QNNRT_OK ||
        qnnrt_lower_quantize(lower, scratch, &err) != QNNRT_OK)
        stop_error(&err);
    qnnrt_builder_destroy(scratch);
    return made.items;
}

/* What a builder reads until it is finished. */
typedef struct llm_made {
    qnnrt_lower          *lower;
    qnnrt_ir             *irs[LLM_GRAPHS][2];
    qnnrt_lower_encoding *encodings;
} llm_made;

/* Add the context of a part to a builder. llm_free() frees `made` when that is finished. */
static void llm_add(const llm_model *m, qnnrt_backend *backend, const llm_part *part,
                    qnnrt_builder *builder, llm_made *made)
{
    const qnnrt_backend_info *info = qnnrt_backend_get_info(backend);
    qnnrt_lower_desc desc;
    qnnrt_error err;
    uint32_t first = 0;
    memset(made, 0, sizeof *made);
    memset(&desc, 0, sizeof desc);
    desc.target = qnnrt_lower_target_of(info);
    desc.build_id = info->build_id;
    if (m->ranges != NULL) {
        desc.act_bits = 16;
        desc.native_io = 1;
    }
    if (qnnrt_lower_create(&desc, &made->lower, &err) != QNNRT_OK)
        stop_error(&err);
    for (int g = 0; g < LLM_GRAPHS; ++g)
        if (part->tokens[g] != 0)
            first = lower_graph(m, part, g, made->lower, made->irs[g]);
    if (m->ranges != NULL)
        made->encodings = quantize(m, backend, made->lower, first);
    if (qnnrt_lower_emit(made->lower, builder, &err) != QNNRT_OK)
        stop_error(&err);
}

static void llm_free(llm_made *made)
{
    qnnrt_lower_free(made->lower);
    for (int g = 0; g < LLM_GRAPHS; ++g) {
        qnnrt_ir_free(made->irs[g][1]);         /* before the graph that it was made from */
        qnnrt_ir_free(made->irs[g][0]);
    }
    free(made->encodings);
}

/* Build the context of a part. */
static inline qnnrt *llm_build(const llm_model *m, qnnrt_backend *backend, const llm_part *part)
{
    qnnrt_builder *builder;
    llm_made made;
    qnnrt *model;
    qnnrt_error err;
    if (qnnrt_builder_create(backend, NULL, &builder, &err) != QNNRT_OK)
        stop_error(&err);
    llm_add(m, backend, part, builder, &made);
    if (qnnrt_builder_finish(builder, &model, &err) != QNNRT_OK)
        stop_error(&err);
    llm_free(&made);
    return model;
}

/* ---- files ---- */

/* Read a text of less than LLM_TEXT bytes; the caller frees it. */
static char *read_text(const char *path, size_t *bytes)
{
    char *text = (char *)room(LLM_TEXT, 1), error[640];
    uint64_t size;
    qnnrt_error err;
    if (qnnrt_file_read(path, text, LLM_TEXT, &size, &err) != QNNRT_OK)
        stop_error(&err);
    snprintf(error, sizeof error, "%s is longer than %d bytes", path, LLM_TEXT);
    if (size > LLM_TEXT)
        stop(error);
    *bytes = (size_t)size;
    return text;
}

/* Read the present member: a name, with [lowest, highest] around 0. i, end: which names */
static int read_range(qnnrt_json_reader *r, llm_ranges ranges, int i, int end)
{
    static const char *const names[] = { LLM_RANGES(LLM_RANGE_NAME) };
    double ends[2] = { 0, 0 };
    int n = 0;
    while (i < end && !qnnrt_json_is(&r->key, names[i]))
        ++i;
    if (i == end || qnnrt_json_value(r) != QNNRT_JSON_ARRAY)
        return 0;
    while (qnnrt_json_more(r))
        if (n == 2 || qnnrt_json_value(r) != QNNRT_JSON_NUMBER ||
            !qnnrt_json_f64(&r->value, &ends[n++]))
            return 0;
    ranges[i][0] = (float)ends[0];
    ranges[i][1] = (float)ends[1];
    return n == 2 && ends[0] <= 0 && ends[1] >= 0 && ends[1] - ends[0] > 1e-6 &&
           ends[1] - ends[0] < 1e9;
}

/* Read the range of each activation of the model. Return 0 if one is missing or wrong. */
static int read_ranges(qnnrt_json_reader *r, uint32_t layers, llm_ranges *ranges)
{
    uint32_t layer = 0;
    int i, fine = qnnrt_json_value(r) == QNNRT_JSON_OBJECT;
    while (fine && qnnrt_json_more(r)) {
        if (!qnnrt_json_is(&r->key, "layers")) {
            fine = read_range(r, ranges[layers], RANGE_EMBEDDING, RANGES);
            continue;
        }
        fine = qnnrt_json_value(r) == QNNRT_JSON_ARRAY;
        while (fine && qnnrt_json_more(r)) {
            fine = layer < layers && qnnrt_json_value(r) == QNNRT_JSON_OBJECT;
            while (fine && qnnrt_json_more(r))
                fine = read_range(r, ranges[layer], 0, RANGE_EMBEDDING);
            ++layer;
        }
    }
    for (layer = 0; layer <= layers; ++layer)   /* a range that is missing is empty */
        for (i = layer < layers ? 0 : RANGE_EMBEDDING;
             i < (layer < layers ? RANGE_EMBEDDING : RANGES); ++i)
            fine = fine && ranges[layer][i][0] < ranges[layer][i][1];
    return fine;
}

/* Read a file of ranges; the caller frees them. */
static llm_ranges *open_ranges(const char *path, uint32_t layers)
{
    llm_ranges *ranges = (llm_ranges *)room((size_t)layers + 1, sizeof *ranges);
    char *text, error[640];
    qnnrt_json_reader r;
    size_t bytes;
    int fine;
    text = read_text(path, &bytes);
    qnnrt_json_begin(&r, text, bytes, NULL);
    fine = read_ranges(&r, layers, ranges);
    snprintf(error, sizeof error, "%s: expected a range that contains 0 for each activation of %u "
             "layers, as tests/llm/make_ranges.py writes it", path, (unsigned)layers);
    if (!fine && r.error == NULL)
        stop(error);
    if (!qnnrt_json_end(&r)) {
        snprintf(error, sizeof error, "%s, byte %lu: %s", path, (unsigned long)r.error_at,
                 r.error != NULL ? r.error : "unexpected value");
        stop(error);
    }
    free(text);
    return ranges;
}

/* Read config.json, the weights, and with a path the ranges of a folder. */
static void llm_open(const char *folder, const char *ranges, llm_model *m)
{
    const qnnrt_llm_graph *is = &m->is;
    const qnnrt_weights_info *info;
    char path[512], *text;
    size_t bytes, i;
    qnnrt_error err;
    memset(m, 0, sizeof *m);
    snprintf(path, sizeof path, "%s/config.json", folder);
    text = read_text(path, &bytes);
    if (qnnrt_llm_graph_read(text, bytes, &m->is, &err) != QNNRT_OK)
        stop_error(&err);
    free(text);
    if (strcmp(is->architecture, "LlamaForCausalLM") != 0 || is->scaling != QNNRT_LLM_GRAPH_PLAIN ||
        is->rotary != is->head_dim || is->qkv_bias || is->o_bias || is->mlp_bias)
        stop("config.json: expected a Llama without biases and scaled positions");
    if (is->layers > LLM_LAYERS || is->kv_heads > LLM_HEADS || is->positions > 1 << 14)
        stop("config.json: expected at most 128 layers, 64 heads and 16384 positions");
    if (ranges != NULL)
        m->ranges = open_ranges(ranges, is->layers);
    if (qnnrt_weights_open(folder, NULL, &m->weights, &err) != QNNRT_OK)
        stop_error(&err);
    info = qnnrt_weights_get_info(m->weights);
    for (i = 0; i < info->count; ++i) {
        const char *dot = strrchr(info->weights[i].name, '.');
        if (dot != NULL && strcmp(dot, ".bias") == 0)
            stop("the file has biases, which config.json does not say");
    }
}

/* Return the table of embeddings, [vocabulary, width]; the caller frees it. */
static inline float *llm_table(const llm_model *m)
{
    const size_t count = (size_t)m->is.vocabulary * m->is.width;
    const qnnrt_weight *weight = qnnrt_weights_find(m->weights, qnnrt_llm_graph_table(&m->is));
    float *table = (float *)room(count, sizeof *table);
    qnnrt_error err;
    if (weight == NULL || weight->count != count)
        stop("the table of embeddings is missing, or has another shape than config.json says");
    if (qnnrt_weights_convert(weight, QNNRT_DTYPE_F32, table, count * sizeof *table, NULL, &err) !=
        QNNRT_OK)
        stop_error(&err);
    return table;
}

static void llm_close(llm_model *m)
{
    free(m->ranges);
    qnnrt_weights_close(m->weights);
}

#endif
