/* Continue two sequences by speculative decoding: a small draft model proposes tokens, and the
   target model checks them in one call. The caches use shift-pointers: new keys and values are stored
   after the old ones, and the cache tensors are bound further along in the buffer. Only the new
   rows are copied. Both models share one backend, one plan and one arena.

       02_prefill_decode TARGET_DIR DRAFT_DIR [BACKEND_LIBRARY [SYSTEM_LIBRARY]]

   The models have the tensor names of Qualcomm's hub, and each token is a byte. Use
   build/data/llm/w8a16_one as the target and build/data/llm/w8a16_four (the same model in four
   shards) as the draft; both are made for libQnnHtp.so of release 2.51. Link with -lm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"

enum { LAYERS = 4, PROPOSED = 4, GENERATE = 64, SEQUENCES = 2 };

/* One graph as a run, with the slots that each step uses, found once. */
typedef struct graph {
    qnnrt_run *run;
    const qnnrt_slot *tokens, *mask, *cosine, *sine, *logits;
    const qnnrt_slot *key_in[LAYERS], *value_in[LAYERS], *key_out[LAYERS], *value_out[LAYERS];
    uint32_t   ar;                  /* tokens per call */
    uint32_t   cells;               /* of the cache that it reads: context length - ar */
    uint32_t   vocabulary;
} graph;

/* The cache of one sequence in one model: [layer][key, value] ranges in a buffer of the plan. The
   graph sees a window of `cells` cells that ends at the newest one; `moved` counts the cells by
   which the window has moved. */
typedef struct cache {
    qnnrt_mem *mem;
    uint64_t   offset;              /* of the buffer within mem */
    unsigned char *data;            /* of the buffer */
    uint64_t   range;               /* bytes of one key or value range */
    uint32_t   heads, head_dim, moved;
    int        zero;                /* the code of real zero */
} cache;

static void stop(const char *text)
{
    fprintf(stderr, "02_prefill_decode: %s\n", text);
    exit(1);
}

static void fail(const qnnrt_error *err)
{
    fprintf(stderr, "02_prefill_decode: %s\n", err->text);
    if (err->cause != NULL)
        fprintf(stderr, "likely cause: %s\n", err->cause);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
    exit(1);
}

static void must(const graph *g, qnnrt_result result)
{
    if (result != QNNRT_OK)
        fail(qnnrt_run_error(g->run));
}

static const qnnrt_slot *find(const qnnrt_pipeline *p, qnnrt_role role, const char *format,
                              int layer)
{
    qnnrt_error err;
    const qnnrt_slot *slot;
    char name[64];
    snprintf(name, sizeof name, format, layer);
    if (qnnrt_slot_find(p, name, role, &slot, &err) != QNNRT_OK)
        fail(&err);
    return slot;
}

static void describe(graph *g, const qnnrt_pipeline *p)
{
    const qnnrt_tensor_info *mask, *logits;
    g->tokens = find(p, QNNRT_ROLE_INPUT, "input_ids", 0);
    g->mask = find(p, QNNRT_ROLE_INPUT, "attention_mask", 0);
    g->cosine = find(p, QNNRT_ROLE_INPUT, "position_ids_cos", 0);
    g->sine = find(p, QNNRT_ROLE_INPUT, "position_ids_sin", 0);
    g->logits = find(p, QNNRT_ROLE_OUTPUT, "logits", 0);
    for (int l = 0; l < LAYERS; ++l) {
        g->key_in[l] = find(p, QNNRT_ROLE_INPUT, "past_key_%d_in", l);
        g->value_in[l] = find(p, QNNRT_ROLE_INPUT, "past_value_%d_in", l);
        g->key_out[l] = find(p, QNNRT_ROLE_OUTPUT, "past_key_%d_out", l);
        g->value_out[l] = find(p, QNNRT_ROLE_OUTPUT, "past_value_%d_out", l);
    }
    mask = g->mask->tensor;                                     /* [1, 1, ar, context length] */
    logits = g->logits->tensor;                                 /* [1, ar, vocabulary] */
    g->ar = mask->dims[mask->rank - 2];
    g->cells = mask->dims[mask->rank - 1] - g->ar;
    g->vocabulary = logits->dims[logits->rank - 1];
}

/* ---- one call of a graph ---- */

/* Bind the cache tensors at the present position of the window. For each token, keys
   [heads, 1, head_dim, cells] move by one element, and values [heads, 1, cells, head_dim] by one
   row. The cell that the window leaves becomes the newest cell of the row before it. */
static void bind_cache(const graph *g, const cache *c)
{
    for (int l = 0; l < LAYERS; ++l) {
        uint64_t keys = c->offset + (uint64_t)l * 2 * c->range;
        uint64_t values = keys + c->range;
        must(g, qnnrt_bind_at(g->run, g->key_in[l], c->mem, keys + c->moved));
        must(g, qnnrt_bind_at(g->run, g->value_in[l], c->mem,
                              values + (uint64_t)c->moved * c->head_dim));
    }
}

/* Write the mask: each new token attends to the last `past` cells of the window, to the new tokens
   before it and to itself. The values are real numbers (0 attends, -50 does not), so the type and
   scale of the mask do not matter here. */
static void fill_mask(const graph *g, uint32_t past)
{
    uint32_t width = g->cells + g->ar;
    float *values = (float *)malloc(sizeof(float) * width);
    if (values == NULL)
        stop("out of memory");
    for (uint32_t row = 0; row < g->ar; ++row) {
        for (uint32_t column = 0; column < width; ++column) {
            int attends = column < g->cells ? column >= g->cells - past
                                            : column - g->cells <= row;
            values[column] = attends ? 0.0f : -50.0f;
        }
        must(g, qnnrt_write_f32(g->run, g->mask, (uint64_t)row * width, values, width));
    }
    free(values);
}

/* Write cosine and sine of the angles of the new tokens' positions. */
static void fill_positions(const graph *g, uint32_t past)
{
    enum { HALF = 16 };             /* head_dim / 2 */
    for (uint32_t row = 0; row < g->ar; ++row) {
        float cosine[HALF], sine[HALF];
        for (uint32_t i = 0; i < HALF; ++i) {
            double angle = (past + row) * pow(10000.0, -(double)i / HALF);
            cosine[i] = (float)cos(angle);
            sine[i] = (float)sin(angle);
        }
        must(g, qnnrt_write_f32(g->run, g->cosine, (uint64_t)row * HALF, cosine, HALF));
        must(g, qnnrt_write_f32(g->run, g->sine, (uint64_t)row * HALF, sine, HALF));
    }
}

/* Run `count` tokens (at most g->ar) that follow `past` others. */
static void step(const graph *g, const cache *c, const int32_t *tokens, uint32_t count,
                 uint32_t past)
{
    if (count > g->ar || past > g->cells)
        stop("the text is longer than the context");
    must(g, qnnrt_write_i32(g->run, g->tokens, 0, tokens, count));
    fill_mask(g, past);
    fill_positions(g, past);
    bind_cache(g, c);
    must(g, qnnrt_exec(g->run));
}

/* Keep the first `count` rows that the last call computed: move the window and store the rows at
   its end. */
static void keep(const graph *g, cache *c, uint32_t cells, uint32_t count)
{
    const size_t dim = c->head_dim;
    c->moved += count;
    for (int l = 0; l < LAYERS; ++l) {
        const unsigned char *keys =
            (const unsigned char *)qnnrt_data_slot(g->run, g->key_out[l], NULL);
        const unsigned char *values =
            (const unsigned char *)qnnrt_data_slot(g->run, g->value_out[l], NULL);
        unsigned char *layer = c->data + (size_t)((uint64_t)l * 2 * c->range);
        unsigned char *to_keys = layer + c->moved + cells - count;
        unsigned char *to_values = layer + (size_t)c->range + (c->moved + cells - count) * dim;
        for (size_t i = 0; i < c->heads * dim; ++i)
            memcpy(to_keys + i * cells, keys + i * g->ar, count);
        for (size_t h = 0; h < c->heads; ++h)
            memcpy(to_values + h * cells * dim, values + h * g->ar * dim, count * dim);
    }
}

/* Return the most probable token after row `row` of the last call. */
static int32_t best(const graph *g, uint32_t row)
{
    const uint16_t *codes = (const uint16_t *)qnnrt_data_slot(g->run, g->logits, NULL);
    uint32_t at = 0;
    codes += (size_t)row * g->vocabulary;
    /* The codes are in the same order as the numbers. */
    for (uint32_t i = 1; i < g->vocabulary; ++i)
        if (codes[i] > codes[at])
            at = i;
    return (int32_t)at;
}

/* ---- the plan: four graphs, four caches, one arena ---- */

enum { TARGET, DRAFT_PROMPT, DRAFT_TOKEN, GRAPHS };
enum { TARGET_CACHE, DRAFT_CACHE, CACHES };

typedef struct engine {
    qnnrt_plan *plan;
    qnnrt_mem  *mem;
    graph       graphs[GRAPHS];
    cache       caches[SEQUENCES][CACHES];
} engine;

/* Plan one arena for all graphs and caches, and create the runs. */
static void prepare(engine *e, qnnrt *target, qnnrt *draft)
{
    static const char *const names[GRAPHS] = {
        "prompt_ar32_cl128", "prompt_ar32_cl128", "token_ar1_cl128"
    };
    qnnrt_entry_desc entries[GRAPHS];
    qnnrt_buffer_desc buffers[SEQUENCES * CACHES];
    qnnrt_place_desc places[GRAPHS * LAYERS * 2];
    qnnrt_plan_desc desc = {0};
    qnnrt_error err;
    size_t at = 0;

    memset(entries, 0, sizeof entries);
    memset(buffers, 0, sizeof buffers);
    memset(places, 0, sizeof places);
    for (int g = 0; g < GRAPHS; ++g) {
        if (qnnrt_pipeline_find(g == TARGET ? target : draft, names[g], &entries[g].pipeline,
                                &err) != QNNRT_OK)
            fail(&err);
        entries[g].group = 1;       /* they never run at the same time: one scratch for all */
        describe(&e->graphs[g], entries[g].pipeline);
    }
    for (int s = 0; s < SEQUENCES; ++s)
        for (int k = 0; k < CACHES; ++k) {
            const graph *g_k = &e->graphs[k == TARGET_CACHE ? TARGET : DRAFT_TOKEN];
            /* [heads, 1, head_dim, cells] of bytes */
            const qnnrt_tensor_info *key = g_k->key_in[0]->tensor;
            cache *c = &e->caches[s][k];
            c->heads = key->dims[0];
            c->head_dim = key->dims[2];
            c->zero = -(int)key->quant.offset;
            /* with room for the window to move */
            c->range = key->bytes + (uint64_t)(g_k->cells + 1) * c->head_dim;
            buffers[s * CACHES + k].name = k == TARGET_CACHE ? "target cache" : "draft cache";
            buffers[s * CACHES + k].bytes = c->range * 2 * LAYERS;
        }
    /* Place the cache tensors in the caches, at the beginning; each step binds them anew. */
    for (int g = 0; g < GRAPHS; ++g)
        for (int l = 0; l < LAYERS; ++l)
            for (int k = 0; k < 2; ++k, ++at) {
                places[at].entry = (size_t)g;
                places[at].slot = k == 0 ? e->graphs[g].key_in[l] : e->graphs[g].value_in[l];
                places[at].buffer = g == TARGET ? TARGET_CACHE : DRAFT_CACHE;
            }
    desc.entries = entries;
    desc.entry_count = GRAPHS;
    desc.buffers = buffers;
    desc.buffer_count = SEQUENCES * CACHES;
    desc.places = places;
    desc.place_count = at;
    if (qnnrt_plan_create(&desc, &e->plan, &err) != QNNRT_OK)
        fail(&err);
    if (qnnrt_mem_create(e->plan, NULL, &e->mem, &err) != QNNRT_OK)
        fail(&err);
    for (int g = 0; g < GRAPHS; ++g)
        if (qnnrt_run_create(e->mem, (size_t)g, &e->graphs[g].run, &err) != QNNRT_OK)
            fail(&err);
    for (int s = 0; s < SEQUENCES; ++s)
        for (int k = 0; k < CACHES; ++k) {
            cache *c = &e->caches[s][k];
            c->mem = e->mem;
            c->data = (unsigned char *)qnnrt_mem_get_info(e->mem)->buffers[s * CACHES + k].data;
            c->offset = qnnrt_mem_get_info(e->mem)->buffers[s * CACHES + k].offset;
            /* A masked cell still counts with the weight exp(-50), so it must not hold a huge
               number. */
            memset(c->data, c->zero, (size_t)c->range * 2 * LAYERS);
        }
    fprintf(stderr, "one arena of %llu bytes (one block each would take %llu)\n",
            (unsigned long long)qnnrt_plan_get_info(e->plan)->peak,
            (unsigned long long)qnnrt_plan_get_info(e->plan)->naive);
}

/* ---- a sequence ---- */

typedef struct sequence {
    int32_t  tokens[128];
    uint32_t count;         /* of known tokens; the last one is not in the caches yet */
    uint32_t start;         /* index of the first token after the prompt */
    uint32_t accepted, proposed;
} sequence;

/* Run the prompt through both models, and choose the first new token. */
static void prefill(engine *e, int s, sequence *q, const char *prompt)
{
    const graph *draft = &e->graphs[DRAFT_PROMPT], *target = &e->graphs[TARGET];
    uint32_t n;
    for (n = 0; prompt[n] != '\0'; ++n)
        q->tokens[n] = (unsigned char)prompt[n];
    /* The draft's prompt graph reads an empty cache; its rows are stored in the layout that the
       token graph reads. */
    step(draft, &e->caches[s][DRAFT_CACHE], q->tokens, n, 0);
    keep(draft, &e->caches[s][DRAFT_CACHE], e->graphs[DRAFT_TOKEN].cells, n);
    step(target, &e->caches[s][TARGET_CACHE], q->tokens, n, 0);
    q->tokens[n] = best(target, n - 1);
    keep(target, &e->caches[s][TARGET_CACHE], target->cells, n);
    q->start = n;
    q->count = n + 1;
}

/* Let the draft propose tokens, compute all of them by one call of the target, and keep those that
   the target would have chosen itself. */
static void advance(engine *e, int s, sequence *q)
{
    const graph *draft = &e->graphs[DRAFT_TOKEN], *target = &e->graphs[TARGET];
    cache *small = &e->caches[s][DRAFT_CACHE], *large = &e->caches[s][TARGET_CACHE];
    uint32_t past = q->count - 1, good = 0;
    int32_t chunk[PROPOSED + 1];
    chunk[0] = q->tokens[past];
    for (uint32_t i = 0; i < PROPOSED; ++i) {
        step(draft, small, &chunk[i], 1, past + i);
        chunk[i + 1] = best(draft, 0);
        keep(draft, small, draft->cells, 1);
    }
    step(target, large, chunk, PROPOSED + 1, past);
    while (good < PROPOSED && best(target, good) == chunk[good + 1])
        ++good;
    for (uint32_t i = 0; i <= good; ++i)
        q->tokens[q->count++] = best(target, i);
    keep(target, large, target->cells, good + 1);
    /* The draft's cache holds chunk[0 .. PROPOSED - 1]: step back over the refused tokens, or add
       the last one. */
    if (good < PROPOSED) {
        small->moved -= PROPOSED - 1 - good;
    } else {
        step(draft, small, &chunk[PROPOSED], 1, past + PROPOSED);
        keep(draft, small, draft->cells, 1);
    }
    q->accepted += good;
    q->proposed += PROPOSED;
}

int main(int argc, char **argv)
{
    static const char *const prompts[SEQUENCES] = {
        "And the LORD said unto ", "In the beginning "
    };
    static sequence sequences[SEQUENCES];
    static engine e;
    qnnrt_backend *backend;
    qnnrt_backend_desc backend_desc = {0};
    qnnrt_desc desc = {0};
    qnnrt *target, *draft;
    qnnrt_error err;
    int s, busy = 1;

    if (argc < 3) {
        fprintf(stderr, "usage: 02_prefill_decode TARGET_DIR DRAFT_DIR "
                "[BACKEND_LIBRARY [SYSTEM_LIBRARY]]\n");
        return 2;
    }
    backend_desc.path = argc > 3 ? argv[3] : NULL;
    desc.system_path = argc > 4 ? argv[4] : NULL;
    if (qnnrt_backend_open(&backend_desc, &backend, &err) != QNNRT_OK)
        fail(&err);
    desc.backend = backend;
    if (qnnrt_open(argv[1], &desc, &target, &err) != QNNRT_OK)
        fail(&err);
    if (qnnrt_open(argv[2], &desc, &draft, &err) != QNNRT_OK)
        fail(&err);
    prepare(&e, target, draft);

    for (s = 0; s < SEQUENCES; ++s)
        prefill(&e, s, &sequences[s], prompts[s]);
    while (busy)
        for (s = 0, busy = 0; s < SEQUENCES; ++s)
            if (sequences[s].count < sequences[s].start + GENERATE) {
                advance(&e, s, &sequences[s]);
                busy = 1;
            }
    for (s = 0; s < SEQUENCES; ++s) {
        printf("%s|", prompts[s]);
        for (uint32_t i = sequences[s].start; i < sequences[s].start + GENERATE; ++i)
            putchar(sequences[s].tokens[i]);
        printf("\n");
        fprintf(stderr, "  %u of %u proposals accepted\n", (unsigned)sequences[s].accepted,
                (unsigned)sequences[s].proposed);
    }

    for (int g = 0; g < GRAPHS; ++g)
        qnnrt_run_destroy(e.graphs[g].run);
    qnnrt_mem_destroy(e.mem);
    qnnrt_plan_destroy(e.plan);
    qnnrt_close(draft);
    qnnrt_close(target);
    qnnrt_backend_close(backend);
    return 0;
}
