/* Run an exported language model in the simplest way, and compare it with a simple computation.

       llm_plain FOLDER LIBRARY GOLDEN MODEL THETA AGREE TOLERANCE [LOGITS.raw]

   FOLDER is what examples/llm/export.c made, by either naming. GOLDEN is
   tests/golden/llm_tokens.txt, MODEL the part of it to compare with. Every graph is run alone:
   values between shards are copied here, caches are kept as float32 by position and written whole
   before each call. So the test relies only on the graphs and the layout that a name stands for:
   not on wiring, roles by shape or arithmetic on strides.

   After each prompt the golden tokens follow, whatever the best token is, so that all steps can be
   compared. At least AGREE per cent of the best tokens must be the golden ones, and the logits of
   these within TOLERANCE. LOGITS.raw gets all logits of all steps, as float32. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qnnrt.h"

enum { SHARDS = 16, TENSORS = 256, UNITS = 512, STEPS = 64, TOKENS = 1024 };

/* The meaning of a tensor. A cache has the keys or values of heads first .. first + count - 1,
   where heads are counted through all layers. */
typedef enum part { IDS, POSITIONS, MASK, COSINE, SINE, HIDDEN, KEYS, VALUES, LOGITS } part;

typedef struct tensor {
    part                     is;
    uint32_t                 first, count;
    const qnnrt_slot *slot;
    const qnnrt_tensor_info *info;
} tensor;

typedef struct graph {                  /* the same graph of every shard */
    uint32_t   tokens, shards;          /* tokens per call, 0: graph is absent */
    qnnrt_run *runs[SHARDS];
    tensor     in[SHARDS][TENSORS], out[SHARDS][TENSORS];
    uint32_t   in_count[SHARDS], out_count[SHARDS];
} graph;

static struct {
    uint32_t context, head_dim, units, vocabulary;
    double   theta;
    float   *caches[2][UNITS];          /* keys, values: [context][head_dim] */
    float   *values;                    /* values of one tensor, while they are moved */
    uint64_t value_count;
} state;

static void stop(const char *text, const char *what)
{
    fprintf(stderr, "llm_plain: %s%s\n", text, what);
    exit(1);
}

static float *reals(uint64_t count)
{
    float *data = count < 1u << 28 ? (float *)calloc((size_t)count + 1, sizeof *data) : NULL;
    if (data == NULL) stop("out of memory", "");
    return data;
}

/* ---- names ---- */

/* Return the number after `stem` in an ExecuTorch name: "<stem>_0" is the first, "<stem>_7_0" is
   7. */
static uint32_t numbered(const char *name, const char *stem)
{
    unsigned number;
    const char *rest = name + strlen(stem);
    if (strcmp(rest, "_0") == 0) return 0;
    if (sscanf(rest, "_%u_0", &number) != 1) stop("a number is expected in ", name);
    return number;
}

static int begins(const char *name, const char *stem)
{
    return strncmp(name, stem, strlen(stem)) == 0;
}

static part hub_part(const char *name, uint32_t heads, tensor *t)
{
    unsigned layer;
    char kind[8], side[8];
    t->count = heads;
    if (sscanf(name, "past_%5[a-z]_%u_%3[a-z]", kind, &layer, side) == 3) {
        t->first = layer * heads;
        return strcmp(kind, "key") == 0 ? KEYS : VALUES;
    }
    return strcmp(name, "input_ids") == 0        ? IDS
         : strcmp(name, "attention_mask") == 0   ? MASK
         : strcmp(name, "position_ids_cos") == 0 ? COSINE
         : strcmp(name, "position_ids_sin") == 0 ? SINE
         : strcmp(name, "logits") == 0           ? LOGITS
                                                 : HIDDEN;
}

static part executorch_part(const char *name, tensor *t)
{
    static const char keys[] = "output_aten_permute_copy_default",
                      values[] = "output_aten_view_copy_default",
                      angles[] = "output_quantized_decomposed_dequantize_per_tensor_tensor";
    unsigned input, number;
    char node[64];
    t->count = 1;
    if (begins(name, keys)) {
        t->first = numbered(name, keys);
        return KEYS;
    }
    if (begins(name, values)) {
        t->first = numbered(name, values);
        return VALUES;
    }
    if (begins(name, angles)) return numbered(name, angles) == 0 ? COSINE : SINE;
    if (begins(name, "output_aten_add_tensor")) return HIDDEN;
    if (strcmp(name, "output_aten_squeeze_copy_dims_0") == 0) return LOGITS;
    if (sscanf(name, "input_%u_args_%u_0", &input, &number) == 2) {
        t->first = number % state.units;
        return number < state.units ? KEYS : VALUES;
    }
    if (sscanf(name, "input_%u_%63s", &input, node) != 2) stop("unknown: ", name);
    if (strcmp(node, "tokens_0") == 0) return IDS;
    if (strcmp(node, "input_pos_0") == 0) return POSITIONS;
    if (strcmp(node, "atten_mask_0") == 0) return MASK;
    if (strcmp(node, "aten_view_copy_default_0") == 0) return COSINE;
    if (strcmp(node, "aten_view_copy_default_1_0") == 0) return SINE;
    if (strstr(node, "fallback") == NULL) stop("unknown: ", name);
    return HIDDEN;
}

/* ---- graphs ---- */

static void find_tensors(const qnnrt_pipeline_info *pipeline, int outputs, tensor *to,
                         uint32_t *count)
{
    const qnnrt_role role = outputs ? QNNRT_ROLE_OUTPUT : QNNRT_ROLE_INPUT;
    size_t i;
    for (i = 0; i < pipeline->slot_count; ++i) {
        const qnnrt_tensor_info *info = pipeline->slots[i].tensor;
        tensor *t = &to[*count];
        if (pipeline->slots[i].role != role) continue;
        if (*count == TENSORS) stop("too many tensors: ", info->name);
        t->info = info;
        t->slot = &pipeline->slots[i];
        t->is = begins(info->name, "input_") && strcmp(info->name, "input_ids") != 0
                    ? executorch_part(info->name, t)
                : begins(info->name, "output_") ? executorch_part(info->name, t)
                                                : hub_part(info->name, info->dims[0], t);
        if ((t->is == KEYS || t->is == VALUES) && t->first + t->count > UNITS)
            stop("too many heads: ", info->name);
        if (info->count > state.value_count) state.value_count = info->count;
        ++*count;
    }
}

static void prepare(graph *g, qnnrt *model, int decode)
{
    const char *const stems[2][2] = { { "prompt_", "prefill_forward" },
                                      { "token_", "kv_forward" } };
    qnnrt_error err;
    size_t contexts, i, k;
    const qnnrt_context_info *context = qnnrt_get_info(model)->contexts;
    contexts = qnnrt_get_info(model)->context_count;
    char name[160];
    if (contexts > SHARDS) stop("too many shards", "");
    for (i = 0; i < contexts; ++i)
        for (k = 0; k < context[i].graph_count; ++k) {
            const char *is = context[i].graphs[k].name;
            const uint32_t s = (uint32_t)i;
            uint32_t t;
            const qnnrt_pipeline_info *pipeline;
            if (!begins(is, stems[decode][0]) && !begins(is, stems[decode][1])) continue;
            snprintf(name, sizeof name, "%u/%s", (unsigned)i, is);
            if (qnnrt_prepare(model, name, &g->runs[s], &err) != QNNRT_OK) stop(err.text, "");
            pipeline = qnnrt_pipeline_get_info(qnnrt_run_pipeline(g->runs[s]));
            find_tensors(pipeline, 0, g->in[s], &g->in_count[s]);
            find_tensors(pipeline, 1, g->out[s], &g->out_count[s]);
            g->shards = s + 1;
            for (t = 0; t < g->in_count[s]; ++t)
                if (g->in[s][t].is == IDS) g->tokens = g->in[s][t].info->dims[1];
        }
}

/* Return the number of heads of all keys, before the numbers in names are known. */
static uint32_t count_units(const qnnrt *model)
{
    size_t contexts, i, k;
    const qnnrt_context_info *context = qnnrt_get_info(model)->contexts;
    contexts = qnnrt_get_info(model)->context_count;
    uint32_t args = 0, hub = 0;
    for (i = 0; i < contexts; ++i)
        for (k = 0; k < context[i].graphs[0].input_count; ++k) {
            const qnnrt_tensor_info *info = &context[i].graphs[0].inputs[k];
            if (strstr(info->name, "_args_") != NULL) ++args;
            if (begins(info->name, "past_key_")) hub += info->dims[0];
        }
    return hub > 0 ? hub : args / 2;
}

/* ---- a call ---- */

static void must(qnnrt_run *run, qnnrt_result result)
{
    if (result != QNNRT_OK) stop(qnnrt_run_error(run)->text, "");
}

/* Move keys [heads, head_dim, cells] or values [heads, cells, head_dim] of a tensor: position
   `from` + p of the cache is its cell p. */
static void move_cache(qnnrt_run *run, const tensor *t, uint32_t from, uint32_t count, int store)
{
    const uint32_t d = state.head_dim, cells = (uint32_t)(t->info->count / t->count / d);
    float *const *heads = &state.caches[t->is == KEYS ? 0 : 1][t->first];
    uint32_t h, p, i;
    if (store) must(run, qnnrt_read_f32(run, t->slot, 0, state.values, t->info->count));
    else memset(state.values, 0, (size_t)t->info->count * sizeof(float));
    for (h = 0; h < t->count; ++h)
        for (p = 0; p < count; ++p)
            for (i = 0; i < d; ++i) {
                float *kept = &heads[h][(from + p) * d + i];
                float *here = &state.values[t->is == KEYS ? (h * d + i) * cells + p
                                                          : (h * cells + p) * d + i];
                if (store) *kept = *here; else *here = *kept;
            }
    if (!store) must(run, qnnrt_write_f32(run, t->slot, 0, state.values, t->info->count));
}

static const tensor *tensor_of(const graph *g, uint32_t shard, part is)
{
    uint32_t i;
    for (i = 0; i < g->out_count[shard]; ++i)
        if (g->out[shard][i].is == is) return &g->out[shard][i];
    stop("a shard lacks an output that a later one needs", "");
    return NULL;
}

static void fill(const graph *g, uint32_t shard, const tensor *t, const int32_t *ids,
                 uint32_t count, uint32_t past)
{
    qnnrt_run *run = g->runs[shard];
    const uint32_t n = g->tokens, half = state.head_dim / 2, cells = state.context - n;
    int32_t whole[TOKENS] = {0};
    uint32_t i, k;
    switch (t->is) {
    case IDS:
        memcpy(whole, ids, count * sizeof *ids);
        must(run, qnnrt_write_i32(run, t->slot, 0, whole, n));
        return;
    case POSITIONS:
        for (i = 0; i < n; ++i) whole[i] = (int32_t)(past + i < state.context ? past + i : 0);
        must(run, qnnrt_write_i32(run, t->slot, 0, whole, n));
        return;
    case MASK:                              /* too low for 16 bits: clamped to the lowest code, which masks */
        for (i = 0; i < n; ++i)
            for (k = 0; k < state.context; ++k)
                state.values[i * state.context + k] =
                    k < past || (k >= cells && k - cells <= i) ? 0 : -10000.0f;
        break;
    case COSINE: case SINE:
        if (shard > 0 && t->info->rank == 2) break;
        for (i = 0; i < n; ++i)
            for (k = 0; k < half; ++k) {
                double angle = (past + i) * pow(state.theta, -(double)k / half);
                state.values[i * half + k] = (float)(t->is == COSINE ? cos(angle) : sin(angle));
            }
        break;
    case KEYS: case VALUES:
        move_cache(run, t, 0, past, 0);
        return;
    default:
        break;
    }
    if (t->is == HIDDEN || (shard > 0 && t->info->rank == 2)) {
        const uint32_t from = t->is == HIDDEN ? shard - 1 : 0;
        const tensor *source = tensor_of(g, from, t->is);
        uint64_t bytes, room;
        const void *data = qnnrt_data_slot(g->runs[from], source->slot, &bytes);
        void *to = qnnrt_data_slot(run, t->slot, &room);
        if (bytes != room || source->info->dtype != t->info->dtype ||
            memcmp(&source->info->quant.scale, &t->info->quant.scale, sizeof(float)) != 0 ||
            source->info->quant.offset != t->info->quant.offset)
            stop("both sides of a cut differ: ", t->info->name);
        memcpy(to, data, (size_t)bytes);
        return;
    }
    must(run, qnnrt_write_f32(run, t->slot, 0, state.values, t->info->count));
}

/* Run `count` tokens after `past` others; return the logits of the last one. */
static void step(const graph *g, const int32_t *ids, uint32_t count, uint32_t past, float *logits)
{
    uint32_t s, i;
    if (past > state.context - g->tokens) stop("a prompt is longer than the context", "");
    for (s = 0; s < g->shards; ++s) {
        for (i = 0; i < g->in_count[s]; ++i) fill(g, s, &g->in[s][i], ids, count, past);
        must(g->runs[s], qnnrt_exec(g->runs[s]));
    }
    for (s = 0; s < g->shards; ++s)
        for (i = 0; i < g->out_count[s]; ++i) {
            const tensor *t = &g->out[s][i];
            if (t->is == KEYS || t->is == VALUES) move_cache(g->runs[s], t, past, count, 1);
            if (t->is == LOGITS)
                must(g->runs[s], qnnrt_read_f32(g->runs[s], t->slot,
                                                     (uint64_t)(count - 1) * state.vocabulary,
                                                     logits, state.vocabulary));
        }
}

/* ---- the golden file ---- */

/* Read the numbers after a word at the beginning of the line; return their count, or 0. */
static uint32_t numbers(const char *line, const char *word, double *to, uint32_t most)
{
    uint32_t count = 0;
    char *end;
    if (!begins(line, word)) return 0;
    line += strlen(word);
    while (count < most) {
        const double n = strtod(line, &end);
        if (end == line) break;
        to[count++] = n;
        line = end;
    }
    return count;
}

int main(int argc, char **argv)
{
    static graph graphs[2];                 /* prefill, decode */
    static char line[8192], wanted[64];
    static double prompt[TOKENS], tokens[STEPS], reals_of[STEPS];
    qnnrt_desc desc = {0};
    qnnrt_error err;
    qnnrt *model;
    FILE *golden, *save = NULL;
    float *logits, worst = 0;
    uint32_t length = 0, steps = 0, all = 0, good = 0, prompts = 0, i, k, d;
    int mine = 0, fine;

    if (argc != 8 && argc != 9) {
        fprintf(stderr, "usage: llm_plain FOLDER LIBRARY GOLDEN MODEL THETA AGREE TOLERANCE "
                "[LOGITS.raw]\n");
        return 2;
    }
    desc.backend_desc.path = argv[2];
    if ((golden = fopen(argv[3], "r")) == NULL) stop("cannot open ", argv[3]);
    snprintf(wanted, sizeof wanted, "model %s\n", argv[4]);
    state.theta = strtod(argv[5], NULL);
    if (argc == 9 && (save = fopen(argv[8], "wb")) == NULL) stop("cannot make ", argv[8]);
    if (qnnrt_open(argv[1], &desc, &model, &err) != QNNRT_OK) stop(err.text, "");

    state.units = count_units(model);
    for (i = 0; i < 2; ++i) prepare(&graphs[i], model, (int)i);
    if (graphs[0].tokens == 0 && graphs[1].tokens == 0) stop("no graph that takes tokens", "");
    /* A model with one graph uses it for prompts and for single tokens. */
    if (graphs[0].tokens == 0) graphs[0] = graphs[1];
    if (graphs[1].tokens == 0) graphs[1] = graphs[0];
    for (d = 0; d < graphs[0].in_count[0]; ++d) {
        const tensor *t = &graphs[0].in[0][d];
        if (t->is == MASK) state.context = t->info->dims[t->info->rank - 1];
        if (t->is == KEYS) state.head_dim = t->info->dims[t->info->rank - 2];
    }
    state.vocabulary = tensor_of(&graphs[0], graphs[0].shards - 1, LOGITS)->info->dims[2];
    if (state.context == 0 || state.head_dim == 0 || graphs[0].tokens > TOKENS)
        stop("the first shard has no mask or no keys", "");
    state.values = reals(state.value_count);
    logits = reals(state.vocabulary);
    for (i = 0; i < state.units; ++i)
        for (k = 0; k < 2; ++k)
            state.caches[k][i] = reals((uint64_t)state.context * state.head_dim);

    while (fgets(line, sizeof line, golden) != NULL) {
        uint32_t n, past = 0, count;
        int32_t ids[TOKENS];
        if (begins(line, "model ")) mine = strcmp(line, wanted) == 0;
        if (!mine) continue;
        if ((n = numbers(line, "prompt ", prompt, TOKENS)) > 0) length = n;
        if ((n = numbers(line, "tokens ", tokens, STEPS)) > 0) steps = n;
        if (numbers(line, "logits ", reals_of, STEPS) != steps || steps == 0) continue;
        ++prompts;
        for (i = 0; i < length; ++i) ids[i] = (int32_t)prompt[i];
        for (; past < length; past += count) {
            count = length - past < graphs[0].tokens ? length - past : graphs[0].tokens;
            step(&graphs[0], ids + past, count, past, logits);
        }
        for (i = 0; i < steps; ++i) {
            const uint32_t expected = (uint32_t)tokens[i];
            uint32_t best = 0;
            float off;
            if (expected >= state.vocabulary) stop("a token that the model does not have", "");
            if (i > 0) step(&graphs[1], ids, 1, past++, logits);
            for (k = 1; k < state.vocabulary; ++k) if (logits[k] > logits[best]) best = k;
            off = fabsf(logits[expected] - (float)reals_of[i]);
            worst = fmaxf(worst, isnan(off) ? INFINITY : off);
            good += best == expected;
            ++all;
            ids[0] = (int32_t)expected;
            if (save != NULL) fwrite(logits, sizeof(float), state.vocabulary, save);
        }
        steps = 0;
    }
    fclose(golden);
    if (save != NULL && fclose(save) != 0) stop("cannot write ", argv[8]);
    fine = all > 0 && good * 100.0 >= all * strtod(argv[6], NULL) && worst <= strtod(argv[7], NULL);
    printf("%s: %u of %u tokens after %u prompts, logits within %.5f: %s\n", argv[1],
           (unsigned)good, (unsigned)all, (unsigned)prompts, (double)worst,
           fine ? "OK" : "FAILED");
    for (i = 0; i < 2; ++i)
        for (k = 0; k < graphs[i].shards; ++k)
            if (i == 0 || graphs[1].runs[k] != graphs[0].runs[k])
                qnnrt_run_destroy(graphs[i].runs[k]);
    for (i = 0; i < state.units; ++i) for (k = 0; k < 2; ++k) free(state.caches[k][i]);
    free(state.values);
    free(logits);
    qnnrt_close(model);
    return fine ? 0 : 1;
}
