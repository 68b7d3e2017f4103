/* test_llm.c - tools/qnnrt_llm.h as a whole, on libQnnRef.so: sessions, steps, sequences, states

   The model is that of llm_counter.h: its output shows which cells it read, at which positions. The
   list of tokens below gives the expected cells; it does not use cells, columns or strides. */
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_llm.h"
#include "qnnrt_builder.h"
#include "qnnrt_device.h"
#include "llm_counter.h"
#include "test.h"
#include "backend.h"
#include "counted.h"
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KINDS = 2, CACHES = 2, TEXTS = 3, MOST = 64 };

/* ---- the list of tokens ---- */

typedef struct seen { int32_t token, position; uint64_t sequences; } seen;
typedef struct list { seen items[MOST]; size_t count; } list;

static int32_t window;                      /* number of tokens that each token sees, 0: all */
static int32_t highest = 1000;              /* position at which a new text starts: what caches can hold exactly */

static int sees(const seen *from, const seen *to)
{
    return to->position <= from->position && (window == 0 || to->position > from->position - window);
}

static int32_t last_of(const list *l, uint64_t sequences)
{
    int32_t last = -1;
    size_t i;
    for (i = 0; i < l->count; ++i)
        if ((l->items[i].sequences & sequences) != 0 && l->items[i].position > last) last = l->items[i].position;
    return last;
}

static void count_in(const seen *s, float *logits)
{
    const float position = (float)s->position;
    logits[s->token] += 1;
    logits[COUNTER_WORDS + s->token] += position;
    logits[2 * COUNTER_WORDS + s->token] += position;
    logits[3 * COUNTER_WORDS] += position;
    logits[3 * COUNTER_WORDS + 1] += position * position;
    logits[3 * COUNTER_WORDS + 2] += position * position;
}

/* Return the output expected for token `i` of a batch. */
static void expect(const list *past, const seen *batch, const int32_t *parents, size_t i, float *logits)
{
    size_t j;
    int32_t p;
    memset(logits, 0, COUNTER_VOCABULARY * sizeof *logits);
    for (j = 0; j < past->count; ++j)
        if ((past->items[j].sequences & batch[i].sequences) != 0 && sees(&batch[i], &past->items[j]))
            count_in(&past->items[j], logits);
    if (parents != NULL) {
        for (p = parents[i]; p >= 0; p = parents[p]) if (sees(&batch[i], &batch[p])) count_in(&batch[p], logits);
    } else {
        for (j = 0; j < i; ++j)
            if ((batch[j].sequences & batch[i].sequences) != 0 && sees(&batch[i], &batch[j]))
                count_in(&batch[j], logits);
    }
    count_in(&batch[i], logits);
}

static void drop(list *l, uint64_t bits, int32_t begin, int32_t end)
{
    size_t i, kept = 0;
    for (i = 0; i < l->count; ++i) {
        if (l->items[i].position >= begin && (end < 0 || l->items[i].position < end)) l->items[i].sequences &= ~bits;
        if (l->items[i].sequences != 0) l->items[kept++] = l->items[i];
    }
    l->count = kept;
}

/* ---- the model under test ---- */

#define TEST_SAY(text) do { printf("%s\n", text); { const int it_works = 0; CHECK(it_works); } } while (0)

typedef struct setup {
    qnnrt_backend     *backend;
    qnnrt             *model;
    qnnrt_llm         *llm;
    /* One for each way of keeping cells: smart mask, shift pointer. */
    qnnrt_llm_session *sessions[KINDS];
} setup;

/* Kind of memory of the sessions that begin_with() makes. */
static qnnrt_mem_kind memory;

/* Hooks of the backend that begin_with() opens; often NULL. */
static qnnrt_hooks backend_hooks;

/* Number of calls of progress after which it ends a decode, -1: never. */
static int ends = -1;
static unsigned ended[2];                   /* decodes that were ended, and that were faster */

/* A clock that only executes move: by the price of the graph. */
static int by_cost, unclocked;
static uint64_t moment, price[9], steps_by_ar[9];

static uint64_t clock_of(void *user) { (void)user; return moment; }

static int progress(void *user, const qnnrt_llm_progress *at)
{
    if (at->ar <= 8) {
        moment += price[at->ar];
        ++steps_by_ar[at->ar];
    }
    if (user != &ends || at->cache == NULL || at->done >= at->count || at->step != 0 || at->steps != 1) return 1;
    return ends >= 0 && ends-- == 0;
}

static void begin_with(setup *s, const counter_graph *graphs, size_t count)
{
    qnnrt_backend_desc backend;
    qnnrt_llm_session_desc desc;
    qnnrt_mem_desc mem;
    qnnrt_llm_desc llm;
    qnnrt_llm_role_desc role;
    qnnrt_error err;
    int k;
    memset(s, 0, sizeof *s);
    backend = test_ref_desc();
    memset(&desc, 0, sizeof desc);
    backend.hooks = backend_hooks;
    if (qnnrt_backend_open(&backend, &s->backend, &err) != QNNRT_OK) TEST_SAY(err.text);
    s->model = counter_make(s->backend, graphs, count, &err);
    if (s->model == NULL) TEST_SAY(err.text);
    memset(&llm, 0, sizeof llm);
    if (window > 0) {
        memset(&role, 0, sizeof role);
        role.tensor = "attention_mask";
        role.role = QNNRT_LLM_ROLE_WINDOW_MASK;
        llm.roles = &role;
        llm.role_count = 1;
        llm.window = (uint32_t)window;
    }
    if (qnnrt_llm_open(s->model, &llm, &s->llm, &err) != QNNRT_OK) TEST_SAY(err.text);
    desc.caches = CACHES;
    desc.positions = 4096;
    desc.mem_kind = memory;
    qnnrt_device_memory("memfd", &mem);
    desc.mem_provider = mem.provider;
    desc.progress = progress;
    desc.progress_user = &ends;
    desc.by_cost = by_cost;
    if (by_cost && !unclocked) desc.clock_ns = clock_of;
    for (k = 0; k < KINDS; ++k) {
        desc.kv = k == 0 ? QNNRT_LLM_SMART_MASK : QNNRT_LLM_SHIFT_POINTER;
        if (qnnrt_llm_session_create(&s->llm, 1, &desc, &s->sessions[k], &err) != QNNRT_OK) TEST_SAY(err.text);
    }
}

static void finish(setup *s)
{
    int k;
    for (k = 0; k < KINDS; ++k) qnnrt_llm_session_destroy(s->sessions[k]);
    CHECK_EQ(qnnrt_llm_close(s->llm), QNNRT_OK);
    CHECK_EQ(qnnrt_close(s->model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(s->backend), QNNRT_OK);
}

static void same_logits(const float *got, const float *expected, size_t row)
{
    int v;
    for (v = 0; v < COUNTER_VOCABULARY; ++v)
        if (got[v] != expected[v]) {
            printf("row %u, logit %d: %g instead of %g\n", (unsigned)row, v, (double)got[v], (double)expected[v]);
            CHECK(got[v] == expected[v]);
        }
}

/* ---- random operations ---- */

static uint32_t random_state;
static uint32_t dice(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

typedef struct batch_of {
    size_t   count;
    seen     items[MOST];
    int32_t  tokens[MOST], parents[MOST];
    uint64_t sequences[MOST];
    /* tree: 1 for a tree of drafts; mix: 1 for tokens that belong to several texts. */
    int      tree, mix;
} batch_of;

/* True if, for a token of several texts, all of them hold the same cells before it. */
static int holds_mix(const seen *items, size_t count, uint64_t sequences)
{
    size_t i;
    for (i = 0; i < count; ++i) {
        const uint64_t common = items[i].sequences & sequences;
        if (common != 0 && common != sequences) return 1;
    }
    return 0;
}

/* Add count tokens of one text, of any, or of a tree; default positions. */
static void make_batch(batch_of *b, const list *past, size_t count, int tree, int mixed)
{
    const uint64_t one = (uint64_t)1 << dice(TEXTS);
    size_t i, j;
    b->count = count;
    b->tree = tree;
    b->mix = 0;
    for (i = 0; i < count; ++i) {
        int32_t before;
        b->tokens[i] = b->items[i].token = (int32_t)dice(COUNTER_WORDS);
        b->sequences[i] = !mixed ? one : dice(4) == 0 ? 1 + dice((1u << TEXTS) - 1) : (uint64_t)1 << dice(TEXTS);
        b->items[i].sequences = b->sequences[i];
        b->parents[i] = i == 0 ? -1 : (int32_t)dice((uint32_t)i + 1) - 1;
        before = last_of(past, b->sequences[i]);
        if (tree && b->parents[i] >= 0) before = b->items[b->parents[i]].position;
        for (j = 0; !tree && j < i; ++j)
            if ((b->items[j].sequences & b->sequences[i]) != 0 && b->items[j].position > before) before = b->items[j].position;
        b->items[i].position = before + 1;
        b->mix |= holds_mix(past->items, past->count, b->sequences[i]) || holds_mix(b->items, i, b->sequences[i]);
    }
}

static void same_cache(const qnnrt_llm_cache *cache, const list *l)
{
    int s;
    CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, l->count);
    for (s = 0; s < TEXTS + 1; ++s) {
        int32_t first = -1;
        size_t i;
        for (i = 0; i < l->count; ++i)
            if ((l->items[i].sequences >> s & 1) != 0 && (first < 0 || l->items[i].position < first)) first = l->items[i].position;
        CHECK_EQ(qnnrt_llm_sequence_first(cache, s), first);
        CHECK_EQ(qnnrt_llm_sequence_last(cache, s), last_of(l, (uint64_t)1 << s));
    }
}

/* Return 1 if no later token of a batch is of a sequence of token i. */
static int last_of_a_sequence(const batch_of *b, size_t i)
{
    uint64_t later = 0;
    size_t k;
    for (k = i + 1; k < b->count; ++k) later |= b->sequences[k];
    return (b->sequences[i] & ~later) != 0;
}

static unsigned late[2];                    /* tokens whose logits were not there after the call, and those that were */

/* Read logits after a decode that had no buffer for them: of tokens that were asked for, in whatever chunk. */
static void reads(qnnrt_llm_cache *cache, const list *past, const batch_of *b, const unsigned char *wanted)
{
    float logits[COUNTER_VOCABULARY], expected[COUNTER_VOCABULARY];
    const uint32_t ar = cache->part->llm->info.ar;
    size_t i;
    for (i = b->count; i-- > 0;) {
        const int is_there = i >= cache->session->stepped_first ||
                             (wanted != NULL ? wanted[i] != 0 : b->count <= ar || last_of_a_sequence(b, i));
        CHECK_EQ(qnnrt_llm_logits(cache, i, logits), is_there ? QNNRT_OK : QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_argmax(cache, i) >= 0, is_there);
        if (i < cache->session->stepped_first) ++late[is_there];
        if (!is_there) continue;
        expect(past, b->items, NULL, i, expected);
        TRY(same_logits(logits, expected, i));
    }
    CHECK_EQ(qnnrt_llm_argmax(cache, b->count), -1);
}

static void decodes(qnnrt_llm_cache *cache, const list *past, const batch_of *b)
{
    static float logits[MOST * COUNTER_VOCABULARY], expected[COUNTER_VOCABULARY];
    const uint32_t way = dice(3);
    unsigned char wanted[MOST];
    qnnrt_result result = QNNRT_E_STATE;
    qnnrt_llm_batch batch;
    size_t i;
    memset(&batch, 0, sizeof batch);
    memset(wanted, 1, sizeof wanted);
    batch.tokens = b->tokens;
    batch.count = b->count;
    batch.sequences = b->sequences;
    if (way == 0) batch.logits = logits;
    if (way <= 1) batch.wanted = wanted;
    for (i = 0; way == 1 && i < b->count; ++i) wanted[i] = dice(2) == 0;
    if (b->mix) {
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
        CHECK_STR(qnnrt_llm_error(cache)->text, "different texts");
        return;
    }
    /* Sometimes end it before one of its chunks: then nothing has happened. */
    if (dice(4) == 0) {
        ends = (int)dice(3);
        result = qnnrt_llm_decode(cache, &batch);
        ++ended[result == QNNRT_OK];
        ends = -1;
        if (result != QNNRT_OK) {
            CHECK_EQ(result, QNNRT_E_CANCELLED);
            CHECK_STR(qnnrt_llm_error(cache)->text, "ended it before step 0");
            CHECK(qnnrt_llm_stored_logits(cache, b->count - 1) == NULL);
            CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_STATE);
            TRY(same_cache(cache, past));
        }
    }
    if (result != QNNRT_OK && qnnrt_llm_decode(cache, &batch) != QNNRT_OK) TEST_SAY(qnnrt_llm_error(cache)->text);
    if (way > 0) {
        TRY(reads(cache, past, b, batch.wanted));
        return;
    }
    for (i = 0; i < b->count; ++i) {
        expect(past, b->items, NULL, i, expected);
        TRY(same_logits(logits + i * COUNTER_VOCABULARY, expected, i));
    }
}

/* Evaluate a batch, check the output, and accept the tokens of rows [count]. */
static void evaluates(qnnrt_llm_cache *cache, const list *past, const batch_of *b, const uint32_t *rows, size_t count)
{
    float expected[COUNTER_VOCABULARY], logits[COUNTER_VOCABULARY];
    qnnrt_llm_batch batch;
    size_t i;
    memset(&batch, 0, sizeof batch);
    batch.tokens = b->tokens;
    batch.count = b->count;
    batch.sequences = b->sequences;
    batch.parents = b->tree ? b->parents : NULL;
    if (qnnrt_llm_eval(cache, &batch) != QNNRT_OK) TEST_SAY(qnnrt_llm_error(cache)->text);
    for (i = 0; i < b->count; ++i) {
        expect(past, b->items, b->tree ? b->parents : NULL, i, expected);
        CHECK_EQ(qnnrt_llm_logits(cache, i, logits), QNNRT_OK);
        TRY(same_logits(logits, expected, i));
    }
    if (qnnrt_llm_accept(cache, rows, count) != QNNRT_OK) TEST_SAY(qnnrt_llm_error(cache)->text);
    CHECK_EQ(qnnrt_llm_accept(cache, rows, count), QNNRT_E_STATE);
}

/* Check each cell: the last token of each text sees all of that text. */
static void looked_at(qnnrt_llm_cache *cache, const list *l, uint32_t most)
{
    batch_of b;
    if (l->count >= most) return;
    make_batch(&b, l, 1, 0, 0);
    TRY(evaluates(cache, l, &b, NULL, 0));
}

static unsigned restored[2];                /* texts that did not fit, and those that did */
static unsigned closed;                     /* compactions of caches with holes */

static void random_life(setup *s, uint32_t seed, int operations)
{
    static unsigned char state[1u << 20], one[KINDS][1u << 18];
    static list lists[CACHES];
    const qnnrt_llm_info *info = qnnrt_llm_get_info(s->llm);
    int n, k;
    random_state = seed;
    memset(lists, 0, sizeof lists);
    for (k = 0; k < KINDS * CACHES; ++k) qnnrt_llm_clear(qnnrt_llm_cache_get(s->sessions[k / CACHES], 0, (size_t)k % CACHES));
    for (n = 0; n < operations; ++n) {
        const size_t which = dice(CACHES), other = 1 - which;
        const uint32_t roll = dice(16), what = last_of(&lists[which], UINT64_MAX) > highest - 14 ? 10 : roll, from = dice(TEXTS), to = dice(TEXTS);
        const int32_t start = (int32_t)dice(20) - 2, stop = dice(3) == 0 ? -1 : start + (int32_t)dice(12);
        const int32_t begin = what != roll ? 0 : start, end = what != roll ? -1 : stop;
        list *l = &lists[which], before = *l;
        const uint32_t room = info->cells - (uint32_t)l->count;
        uint32_t rows[MOST];
        size_t count = 0, i, bytes = 0, sizes[KINDS];
        /* Move one text to another number, in the same cache or another one. */
        const int single = what == 13 && dice(3) > 0;
        const list *of = single && dice(2) == 0 ? &lists[other] : l;
        int fits = 1;
        batch_of b;
        memset(&b, 0, sizeof b);
        if (what < 6 && room > 0) {
            make_batch(&b, l, 1 + dice(room < 20 ? room : 20), 0, dice(3) == 0);
            for (i = 0; i < b.count && !b.mix; ++i) l->items[l->count++] = b.items[i];
        } else if (what < 9 && room > 0) {
            uint32_t most = room < info->ar ? room : info->ar;
            /* The largest graph must fit after the existing cells. */
            const qnnrt_llm_graph_info *largest = &info->graphs[info->graph_count - 1];
            if (l->count > largest->context - largest->ar) most = 1;
            make_batch(&b, l, 1 + dice(most), what != 6, 0);
            for (i = 0; i < b.count; ++i)
                if (dice(2) == 0) { rows[count++] = (uint32_t)i; l->items[l->count++] = b.items[i]; }
        } else if (what == 9) drop(l, (uint64_t)1 << from, begin < 0 ? 0 : begin, end);
        else if (what == 10) drop(l, UINT64_MAX, begin < 0 ? 0 : begin, end);
        else if (what == 11) {
            for (i = 0; i < l->count; ++i)
                if ((l->items[i].sequences >> from & 1) != 0 && l->items[i].position >= begin && (end < 0 || l->items[i].position < end))
                    l->items[i].sequences |= (uint64_t)1 << to;
        } else if (what == 12) {
            for (i = 0; i < l->count; ++i) l->items[i].sequences &= (uint64_t)1 << from;
            drop(l, 0, 0, -1);
        } else if (what == 14) *l = lists[other];
        else if (what == 15 && dice(6) == 0) l->count = 0;
        else if (single) {
            list then = *l, now = *of;
            drop(&then, (uint64_t)1 << to, 0, -1);
            drop(&now, ~((uint64_t)1 << from), 0, -1);
            fits = then.count + now.count <= info->cells;
            for (i = 0; fits && i < now.count; ++i) {
                now.items[i].sequences = (uint64_t)1 << to;
                then.items[then.count++] = now.items[i];
            }
            if (fits) *l = then;
            for (k = 0; k < KINDS; ++k) {
                qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s->sessions[k], 0, of == l ? which : other);
                sizes[k] = qnnrt_llm_sequence_state_bytes(cache, (int)from);
                CHECK(sizes[k] <= sizeof one[k]);
                CHECK_EQ(qnnrt_llm_sequence_state_save(cache, (int)from, one[k], sizes[k], &bytes), QNNRT_OK);
                CHECK_EQ(bytes, sizes[k]);
            }
        }
        for (k = 0; k < KINDS; ++k) {
            qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s->sessions[k], 0, which);
            if (what < 6 && room > 0) TRY(decodes(cache, &before, &b));
            else if (what < 9 && room > 0) TRY(evaluates(cache, &before, &b, rows, count));
            else if (what == 9) CHECK_EQ(qnnrt_llm_sequence_remove(cache, (int)from, begin, end), QNNRT_OK);
            else if (what == 10) CHECK_EQ(qnnrt_llm_sequence_remove(cache, -1, begin, end), QNNRT_OK);
            else if (what == 11) CHECK_EQ(qnnrt_llm_sequence_copy(cache, (int)from, (int)to, begin, end), QNNRT_OK);
            else if (what == 12) CHECK_EQ(qnnrt_llm_sequence_keep(cache, (int)from), QNNRT_OK);
            else if (single) {
                CHECK_EQ(qnnrt_llm_sequence_state_restore(cache, (int)to, one[1 - k], sizes[1 - k]), fits ? QNNRT_OK : QNNRT_E_LIMIT);
                ++restored[fits];
            } else if (what == 13) {
                /* A state can also be loaded by a session that keeps cells in the other way. */
                CHECK_EQ(qnnrt_llm_state_save(cache, state, sizeof state, &bytes), QNNRT_OK);
                CHECK_EQ(qnnrt_llm_state_restore(qnnrt_llm_cache_get(s->sessions[1 - k], 0, which), state, bytes), QNNRT_OK);
                CHECK_EQ(qnnrt_llm_state_restore(cache, state, bytes), QNNRT_OK);
            } else if (what == 14) CHECK_EQ(qnnrt_llm_cache_copy(cache, qnnrt_llm_cache_get(s->sessions[k], 0, other)), QNNRT_OK);
            else if (what == 15 && l->count == 0) qnnrt_llm_clear(cache);
            else if (what == 15) {
                const uint32_t was = qnnrt_llm_cache_get_info(cache).end, fell = qnnrt_llm_defragment(cache);
                CHECK_EQ(fell, was - (uint32_t)l->count);
                CHECK_EQ(qnnrt_llm_cache_get_info(cache).end, l->count);
                closed += fell > 0;
            }
            TRY(same_cache(cache, l));
        }
        random_state ^= (uint32_t)n;
        for (k = 0; k < KINDS; ++k) {
            const uint32_t kept = random_state;
            TRY(looked_at(qnnrt_llm_cache_get(s->sessions[k], 0, which), l, info->cells));
            if (k + 1 < KINDS) random_state = kept;
        }
    }
}

static void random_lives(const counter_graph *graphs, size_t count, uint32_t seeds, int operations)
{
    setup s;
    uint32_t seed;
    TRY(begin_with(&s, graphs, count));
    for (seed = 1; seed <= seeds; ++seed) {
        random_life(&s, seed, operations);
        if (test_state.state != TEST_RUNNING) { printf("seed %u\n", (unsigned)seed); return; }
    }
    TRY(finish(&s));
}

TEST(random_lives_of_a_cache_with_three_graphs)
{
    static const counter_graph graphs[3] = { { 8, 24, 0, 0, 0, QNNRT_DTYPE_F32 }, { 3, 24, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 24, 0, 0, 0, QNNRT_DTYPE_F32 } };
    TRY(random_lives(graphs, 3, 40, 60));
}

TEST(random_lives_of_a_cache_with_caches_of_rank_three)
{
    static const counter_graph graphs[2] = { { 8, 24, 1, 0, 0, QNNRT_DTYPE_F32 }, { 1, 24, 1, 0, 0, QNNRT_DTYPE_F32 } };
    TRY(random_lives(graphs, 2, 40, 60));
}

TEST(random_lives_moved_texts_ended_decodes_and_defragmented)
{
    printf("  caches defragmented: %u\n", closed);
    CHECK(closed > 20);
    printf("  decodes ended: %u, done before: %u\n", ended[0], ended[1]);
    CHECK(ended[0] > 100 && ended[1] > 10);
    printf("  texts restored: %u, without room: %u\n", restored[1], restored[0]);
    CHECK(restored[1] > 100 && restored[0] > 10);
    printf("  tokens of earlier chunks with logits: %u, without: %u\n", late[1], late[0]);
    CHECK(late[1] > 100 && late[0] > 100);
}

TEST(random_lives_with_whole_caches_out)
{
    static const counter_graph graphs[2] = { { 8, 24, 0, 1, 0, QNNRT_DTYPE_F32 }, { 1, 24, 0, 1, 0, QNNRT_DTYPE_F32 } };
    TRY(random_lives(graphs, 2, 40, 60));
}

TEST(random_lives_with_contexts_of_several_lengths)
{
    static const counter_graph graphs[3] = { { 4, 12, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 16, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 40, 0, 0, 0, QNNRT_DTYPE_F32 } };
    static const counter_graph pairs[6] = { { 4, 12, 0, 0, 0, QNNRT_DTYPE_F32 }, { 4, 22, 0, 0, 0, QNNRT_DTYPE_F32 }, { 4, 44, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 12, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 22, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 44, 0, 0, 0, QNNRT_DTYPE_F32 } };
    TRY(random_lives(graphs, 3, 40, 60));
    TRY(random_lives(pairs, 6, 40, 60));
}


TEST(random_lives_with_a_sliding_window)
{
    static const counter_graph graphs[2] = { { 8, 24, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 24, 0, 0, 0, QNNRT_DTYPE_F32 } };
    window = 5;
    random_lives(graphs, 2, 40, 60);
    window = 0;
}

TEST(random_lives_with_keys_stored_like_values)
{
    static const counter_graph graphs[2] = { { 8, 24, 0, 0, 1, QNNRT_DTYPE_F32 }, { 1, 24, 0, 0, 1, QNNRT_DTYPE_F32 } };
    static const counter_graph whole[2] = { { 8, 24, 1, 1, 1, QNNRT_DTYPE_F32 }, { 1, 24, 1, 1, 1, QNNRT_DTYPE_F32 } };
    TRY(random_lives(graphs, 2, 30, 60));
    TRY(random_lives(whole, 2, 30, 60));
}

TEST(random_lives_with_caches_in_other_types)
{
    static const struct { qnnrt_dtype dtype; int32_t highest; } kinds[3] =
        { { QNNRT_DTYPE_F16, 45 }, { QNNRT_DTYPE_U16Q, 250 }, { QNNRT_DTYPE_U8Q, 15 } };
    int i, flat;
    for (i = 0; i < 3; ++i)
        for (flat = 0; flat < 2; ++flat) {
            counter_graph graphs[2] = { { 4, 14, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 14, 0, 0, 0, QNNRT_DTYPE_F32 } };
            graphs[0].dtype = graphs[1].dtype = kinds[i].dtype;
            graphs[0].flat = graphs[1].flat = flat;
            graphs[0].whole = graphs[1].whole = flat;
            highest = kinds[i].highest;
            random_lives(graphs, 2, 20, 60);
            highest = 1000;
            if (test_state.state != TEST_RUNNING) { printf("cache of %s\n", qnnrt_dtype_name(kinds[i].dtype)); return; }
        }
}

/* ---- what goes wrong ---- */

static const counter_graph pair[2] = { { 8, 24, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 24, 0, 0, 0, QNNRT_DTYPE_F32 } };

static qnnrt_result gives(qnnrt_llm_cache *cache, const int32_t *tokens, size_t count)
{
    const qnnrt_llm_batch batch = llm_batch(tokens, count);
    return qnnrt_llm_decode(cache, &batch);
}

/* The nth execute of a batch in several chunks fails: the cache is unchanged and stays usable. */
TEST(failed_step_changes_nothing)
{
    setup s;
    int k, n;
    TRY(begin_with(&s, pair, 2));
    for (k = 0; k < KINDS; ++k)
        for (n = 1; n <= 3; ++n) {
            qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
            list l;
            batch_of b;
            char rule[64];
            l.count = 0;
            random_state = (uint32_t)(n * 7 + k);
            qnnrt_llm_clear(cache);
            make_batch(&b, &l, 3, 0, 0);
            TRY(decodes(cache, &l, &b));
            memcpy(l.items, b.items, sizeof b.items);
            l.count = 3;
            make_batch(&b, &l, 18, 0, 0);               /* three chunks, of 8, 8 and 2 tokens */
            snprintf(rule, sizeof rule, "fail=graphExecute:%d:0x1770", n);
            CHECK(faults(rule));
            CHECK_EQ(gives(cache, b.tokens, b.count), QNNRT_E_BACKEND);
            CHECK_STR(qnnrt_llm_error(cache)->text, "0x1770");
            CHECK(faults(""));
            CHECK(qnnrt_llm_stored_logits(cache, 0) == NULL && qnnrt_llm_argmax(cache, 0) == -1);
            CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_STATE);
            TRY(same_cache(cache, &l));
            TRY(looked_at(cache, &l, 23));
            TRY(decodes(cache, &l, &b));
        }
    TRY(finish(&s));
}

TEST(batches_that_cannot_be_are_refused)
{
    setup s;
    qnnrt_llm_cache *cache;
    qnnrt_llm_batch batch;
    int32_t tokens[40], parents[40], positions[2] = { 5, 5 };
    uint64_t sequences[2] = { 1, 0 };
    float logits[COUNTER_VOCABULARY];
    uint32_t rows[2] = { 1, 0 };
    list l;
    TRY(begin_with(&s, pair, 2));
    cache = qnnrt_llm_cache_get(s.sessions[0], 0, 0);
    memset(tokens, 0, sizeof tokens);
    memset(parents, 0xFF, sizeof parents);
    memset(&batch, 0, sizeof batch);
    l.count = 0;
    CHECK(qnnrt_llm_cache_get(s.sessions[0], 1, 0) == NULL && qnnrt_llm_cache_get(s.sessions[0], 0, CACHES) == NULL);
    CHECK_EQ(qnnrt_llm_decode(cache, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_decode(NULL, &batch), QNNRT_E_ARG);
    CHECK_EQ(gives(cache, tokens, 0), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(cache)->text, "no tokens");
    CHECK_EQ(gives(cache, tokens, 24), QNNRT_E_LIMIT);
    CHECK_STR(qnnrt_llm_error(cache)->text, "the batch has 24 tokens, and the context has 23 cells");
    CHECK_STR(qnnrt_llm_error(cache)->hint, "Pass at most 23 tokens, or take a model with a longer context.");
    CHECK_EQ(gives(cache, tokens, 1), QNNRT_OK);
    CHECK_EQ(gives(cache, tokens, 23), QNNRT_E_LIMIT);
    CHECK_STR(qnnrt_llm_error(cache)->text, "the context is full: 1 of 23 cells are in use, the batch has 23 tokens");
    qnnrt_llm_clear(cache);
    tokens[1] = COUNTER_VOCABULARY;
    CHECK_EQ(gives(cache, tokens, 2), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(cache)->text, "token 21 at place 1 of the batch, expected 0 to 20");
    tokens[1] = -1;
    CHECK_EQ(gives(cache, tokens, 2), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(cache)->text, "token -1 at place 1");
    tokens[1] = 0;
    batch.tokens = tokens;
    batch.count = 2;
    batch.sequence = QNNRT_LLM_SEQUENCES;
    CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(cache)->text, "sequence 64, expected 0 to 63");
    batch.sequence = 0;
    batch.sequences = sequences;
    CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(cache)->text, "token 1 of the batch has no sequence");
    batch.sequences = NULL;
    batch.positions = positions;
    CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(cache)->text, "position 5 of token 1");
    positions[1] = 4096;
    CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_LIMIT);
    CHECK_STR(qnnrt_llm_error(cache)->text, "below 4096");
    positions[0] = -2;
    CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
    batch.positions = NULL;
    batch.parents = parents;
    parents[1] = 1;
    CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(cache)->text, "token 1 of the batch has parent 1,");
    parents[1] = -2;
    CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
    batch.count = 9;
    CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_LIMIT);
    CHECK_STR(qnnrt_llm_error(cache)->text, "at most 8");
    batch.parents = NULL;
    CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_LIMIT);
    CHECK_STR(qnnrt_llm_error(cache)->text, "9 tokens at once, expected at most 8");
    CHECK_EQ(qnnrt_llm_logits(cache, 0, logits), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_llm_accept(cache, NULL, 0), QNNRT_E_STATE);
    batch.count = 2;
    CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_logits(cache, 2, logits), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_logits(cache, 0, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_accept(cache, NULL, 3), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_accept(cache, rows, 2), QNNRT_E_ARG);
    rows[0] = 2;
    CHECK_EQ(qnnrt_llm_accept(cache, rows, 1), QNNRT_E_ARG);
    /* A result computed for another state of the cache is not accepted. */
    CHECK_EQ(qnnrt_llm_sequence_remove(cache, 9, 0, -1), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_STATE);
    TRY(same_cache(cache, &l));
    CHECK_EQ(qnnrt_llm_sequence_remove(cache, 64, 0, -1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_sequence_remove(cache, -2, 0, -1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_sequence_copy(cache, -1, 0, 0, -1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_sequence_keep(cache, -1), QNNRT_E_ARG);
    /* Keys are rotated by their positions: shifting is refused, unless there is nothing to
       shift. */
    CHECK_EQ(gives(cache, tokens, 4), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, 4, -1, 1), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, 0, -1, 0), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, 2, -1, -2), QNNRT_E_UNSUPPORTED);
    CHECK_STR(qnnrt_llm_error(cache)->text, "RoPE");
    CHECK_EQ(qnnrt_llm_close(s.llm), QNNRT_E_BUSY);
    TRY(finish(&s));
}

/* A batch whose second chunk is refused leaves nothing of the first: no cells, no logits,
   nothing to accept. */
TEST(second_chunk_that_is_refused)
{
    static const int32_t tokens[12] = { 0 }, positions[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 10, 11 };
    setup s;
    int k;
    TRY(begin_with(&s, pair, 2));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch;
        memset(&batch, 0, sizeof batch);
        batch.tokens = tokens;
        batch.positions = positions;
        batch.count = 12;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
        CHECK_STR(qnnrt_llm_error(cache)->text, "position 3 of token 9 of the batch, expected above 8");
        CHECK(qnnrt_llm_stored_logits(cache, 0) == NULL && qnnrt_llm_argmax(cache, 7) == -1);
        CHECK_EQ(qnnrt_llm_error(cache)->code, QNNRT_E_STATE);
        CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_STATE);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 0);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).end, 0);
        CHECK_EQ(qnnrt_llm_sequence_last(cache, 0), -1);
        /* The call does not affect what another cache computed. */
        batch.positions = NULL;
        batch.count = 2;
        CHECK_EQ(qnnrt_llm_eval(qnnrt_llm_cache_get(s.sessions[k], 0, 1), &batch), QNNRT_OK);
        batch.count = 0;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
        CHECK(qnnrt_llm_stored_logits(qnnrt_llm_cache_get(s.sessions[k], 0, 1), 1) != NULL);
    }
    TRY(finish(&s));
}

/* The last token of a full context can be computed but not kept. */
TEST(full_context_computes_one_more)
{
    setup s;
    int k;
    int32_t tokens[24];
    TRY(begin_with(&s, pair, 2));
    memset(tokens, 0, sizeof tokens);
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch;
        float logits[COUNTER_VOCABULARY];
        memset(&batch, 0, sizeof batch);
        CHECK_EQ(gives(cache, tokens, 23), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).at_once, 1);
        CHECK_EQ(gives(cache, tokens, 1), QNNRT_E_LIMIT);
        batch.tokens = tokens;
        batch.count = 1;
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_logits(cache, 0, logits), QNNRT_OK);
        CHECK(logits[0] == 24);
        CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_LIMIT);
        CHECK_STR(qnnrt_llm_error(cache)->text, "23 of 23 cells");
    }
    TRY(finish(&s));
}

TEST(models_with_one_graph_work)
{
    int which;
    for (which = 0; which < 2; ++which) {
        setup s;
        qnnrt_llm_cache *cache;
        int32_t tokens[23];
        float logits[COUNTER_VOCABULARY];
        const size_t most = which == 0 ? 16 : 23;
        size_t i;
        memset(tokens, 0, sizeof tokens);
        TRY(begin_with(&s, &pair[which], 1));
        cache = qnnrt_llm_cache_get(s.sessions[0], 0, 0);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).cells, most);
        CHECK_EQ(gives(cache, tokens, most - 5), QNNRT_OK);
        for (i = most - 5; i < most; ++i) CHECK_EQ(gives(cache, tokens, 1), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_logits(cache, 0, logits), QNNRT_OK);
        CHECK(logits[0] == (float)most);
        CHECK_EQ(gives(cache, tokens, 1), QNNRT_E_LIMIT);
        TRY(finish(&s));
    }
}

/* Two models of one backend over one plan: a step of one invalidates the other's logits. */
TEST(two_models_share_a_session)
{
    static const counter_graph other[1] = { { 4, 16, 1, 0, 0, QNNRT_DTYPE_F32 } };
    setup s;
    qnnrt_llm_session *session;
    qnnrt_llm *models[2];
    qnnrt_llm_cache *caches[2];
    qnnrt_llm_batch batch;
    qnnrt *second;
    qnnrt_error err;
    int32_t tokens[4] = { 1, 2, 3, 1 };
    float logits[COUNTER_VOCABULARY];
    int i;
    TRY(begin_with(&s, pair, 2));
    second = counter_make(s.backend, other, 1, &err);
    CHECK(second != NULL);
    models[0] = s.llm;
    CHECK_EQ(qnnrt_llm_open(second, NULL, &models[1], &err), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_session_create(models, 2, NULL, &session, &err), QNNRT_OK);
    for (i = 0; i < 2; ++i) caches[i] = qnnrt_llm_cache_get(session, (size_t)i, 0);
    batch = llm_batch(tokens, 4);
    CHECK_EQ(qnnrt_llm_eval(caches[0], &batch), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_eval(caches[1], &batch), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_logits(caches[0], 3, logits), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_llm_accept(caches[0], NULL, 4), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_llm_accept(caches[1], NULL, 4), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_logits(caches[1], 3, logits), QNNRT_OK);
    CHECK(logits[1] == 2 && logits[2] == 1 && logits[3] == 1);
    for (i = 0; i < 6; ++i) {
        CHECK_EQ(gives(caches[i % 2], &tokens[i % 4], 1), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_logits(caches[i % 2], 0, logits), QNNRT_OK);
        CHECK(logits[3 * COUNTER_WORDS] == (float)(i % 2 == 0 ? (i / 2) * (i / 2 + 1) / 2 : (4 + i / 2) * (5 + i / 2) / 2));
    }
    CHECK_EQ(qnnrt_llm_cache_copy(caches[0], caches[1]), QNNRT_E_ARG);
    qnnrt_llm_session_destroy(session);
    CHECK_EQ(qnnrt_llm_close(models[1]), QNNRT_OK);
    CHECK_EQ(qnnrt_close(second), QNNRT_OK);
    TRY(finish(&s));
}

/* ---- threads ---- */

enum { THREADS = 4 };

static pthread_mutex_t backend_mutex = PTHREAD_MUTEX_INITIALIZER;
static void backend_lock(void *user) { (void)user; pthread_mutex_lock(&backend_mutex); }
static void backend_unlock(void *user) { (void)user; pthread_mutex_unlock(&backend_mutex); }

/* Make and destroy sessions of a model that other threads also use; return NULL, or what went
   wrong. */
static void *sessions_come_and_go(void *user)
{
    static const int32_t tokens[3] = { 1, 2, 3 };
    qnnrt_llm *llm = (qnnrt_llm *)user;
    int i;
    for (i = 0; i < 400; ++i) {
        qnnrt_llm_session *session;
        float logits[COUNTER_VOCABULARY];
        qnnrt_llm_cache *cache;
        if (qnnrt_llm_session_create(&llm, 1, NULL, &session, NULL) != QNNRT_OK) return user;
        cache = qnnrt_llm_cache_get(session, 0, 0);
        if (i % 100 == 0 && (gives(cache, tokens, 3) != QNNRT_OK || qnnrt_llm_logits(cache, 2, logits) != QNNRT_OK ||
                             logits[2] != 1)) return user;
        if (qnnrt_llm_close(llm) != QNNRT_E_BUSY || qnnrt_llm_is_eos(llm, 1)) return user;
        qnnrt_llm_session_destroy(session);
    }
    return NULL;
}

TEST(sessions_of_one_model_in_several_threads)
{
    pthread_t threads[THREADS];
    void *wrong[THREADS];
    setup s;
    int i;
    backend_hooks.lock = backend_lock;
    backend_hooks.unlock = backend_unlock;
    begin_with(&s, pair, 2);
    memset(&backend_hooks, 0, sizeof backend_hooks);
    CHECK(s.sessions[KINDS - 1] != NULL);
    for (i = 0; i < THREADS; ++i) CHECK_EQ(pthread_create(&threads[i], NULL, sessions_come_and_go, s.llm), 0);
    for (i = 0; i < THREADS; ++i) pthread_join(threads[i], &wrong[i]);
    for (i = 0; i < THREADS; ++i) CHECK(wrong[i] == NULL);
    /* The model can be closed, because sessions of ended threads are not counted. */
    TRY(finish(&s));
}

/* ---- logits ---- */

/* Every way to read logits gives the same: stored, as numbers, of wanted rows, and the best of
   them. */
TEST(logits_by_every_way)
{
    static const int32_t tokens[12] = { 1, 2, 3, 4, 5, 0, 1, 1, 1, 2, 2, 4 };
    static const unsigned char wanted[12] = { 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1 };
    static float logits[12 * COUNTER_VOCABULARY], codes[12 * COUNTER_VOCABULARY], row[COUNTER_VOCABULARY];
    setup s;
    int k;
    TRY(begin_with(&s, pair, 2));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch = llm_batch(tokens, 12);
        size_t i, given = 0;
        memset(codes, 0, sizeof codes);
        batch.wanted = wanted;
        batch.logits = logits;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        qnnrt_llm_clear(cache);
        batch.logits = NULL;
        batch.stored = codes;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        CHECK(memcmp(logits, codes, 4 * COUNTER_VOCABULARY * sizeof *logits) == 0);
        CHECK(codes[4 * COUNTER_VOCABULARY] == 0);
        /* Of two chunks of 8 and 4 tokens, only the second still has logits. */
        for (i = 0; i < 12; ++i) {
            const float *at = (const float *)qnnrt_llm_stored_logits(cache, i);
            CHECK_EQ(at != NULL, i >= 8);
            if (i < 8) {
                CHECK_EQ(qnnrt_llm_error(cache)->code, QNNRT_E_ARG);
                CHECK_STR(qnnrt_llm_error(cache)->text, "8 to 11");
                CHECK_EQ(qnnrt_llm_argmax(cache, i), -1);
                CHECK_EQ(qnnrt_llm_logits(cache, i, row), QNNRT_E_ARG);
            } else {
                uint32_t v, best = 0;
                CHECK_EQ(qnnrt_llm_logits(cache, i, row), QNNRT_OK);
                CHECK(memcmp(row, at, sizeof row) == 0);
                for (v = 1; v < COUNTER_VOCABULARY; ++v) if (row[v] > row[best]) best = v;
                CHECK_EQ(qnnrt_llm_argmax(cache, i), best);
            }
            if (wanted[i] != 0 && at != NULL)
                CHECK(memcmp(logits + given * COUNTER_VOCABULARY, at, sizeof row) == 0);
            given += wanted[i] != 0;
        }
        CHECK(qnnrt_llm_stored_logits(cache, 12) == NULL);
        /* Without `wanted`, the last row has logits. An eval gives them too. */
        qnnrt_llm_clear(cache);
        batch.wanted = NULL;
        batch.logits = row;
        batch.count = 3;
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        CHECK(memcmp(row, codes, sizeof row) == 0 && memcmp(row, qnnrt_llm_stored_logits(cache, 2), sizeof row) == 0);
        CHECK_EQ(qnnrt_llm_eval(cache, NULL), QNNRT_E_ARG);
        /* A text may hold the same token twice, and a batch may hold the token that ends a text. */
        CHECK(!qnnrt_llm_is_eos(s.llm, tokens[0]));
    }
    TRY(finish(&s));
}

/* A graph for many tokens reads fewer cells: after those it can no longer run. */
TEST(graphs_that_read_fewer_cells_drop_out)
{
    static const counter_graph graphs[2] = { { 8, 12, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 40, 0, 0, 0, QNNRT_DTYPE_F32 } };
    static const int32_t tokens[39] = { 0 }, parents[3] = { -1, 0, 0 };
    static unsigned char state[1u << 16];
    setup s;
    int k;
    TRY(begin_with(&s, graphs, 2));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch;
        float logits[COUNTER_VOCABULARY];
        memset(&batch, 0, sizeof batch);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).at_once, 8);
        CHECK_EQ(gives(cache, tokens, 4), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).at_once, 8);
        CHECK_EQ(gives(cache, tokens, 1), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).at_once, 1);
        batch.tokens = tokens;
        batch.count = 3;
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_LIMIT);
        CHECK_STR(qnnrt_llm_error(cache)->text, "3 tokens");
        CHECK_STR(qnnrt_llm_error(cache)->hint, "qnnrt_llm_decode()");
        batch.parents = parents;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_LIMIT);
        CHECK_STR(qnnrt_llm_error(cache)->text, "3 tokens");
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 5);
        /* Token by token, the whole text fits; the large graph runs again after cells are
           removed. */
        CHECK_EQ(gives(cache, tokens, 34), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_logits(cache, 33, logits), QNNRT_OK);
        CHECK(logits[0] == 39);
        CHECK_EQ(qnnrt_llm_state_save(cache, state, sizeof state, NULL), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_sequence_remove(cache, 0, 2, 38), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_logits(cache, 2, logits), QNNRT_OK);
        CHECK(logits[0] == 5 && logits[COUNTER_WORDS] == 0 + 1 + 38 + 39 + 40);
        CHECK_EQ(qnnrt_llm_sequence_remove(cache, 0, 3, -1), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cache_copy(cache, NULL), QNNRT_E_ARG);
    }
    TRY(finish(&s));
}

/* Holes are closed before a step only where this helps: with a shift pointer, new cells are then
   computed in place. */
TEST(caches_are_defragmented_where_that_helps)
{
    static const int32_t tokens[16] = { 0 }, parents[8] = { -1, 0, 1, 1, 0, -1, 5, 6 };
    setup s;
    int k;
    TRY(begin_with(&s, pair, 2));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        qnnrt_llm_batch batch = llm_batch(tokens, 8);
        float logits[COUNTER_VOCABULARY];
        CHECK_EQ(gives(cache, tokens, 16), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_sequence_remove(cache, 0, 3, 5), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).end, 16);
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).end, k == 0 ? 16 : 14);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 14);
        CHECK_EQ(qnnrt_llm_logits(cache, 7, logits), QNNRT_OK);
        CHECK(logits[0] == 22);
        /* While there is room after the end, cells stay where they are. */
        qnnrt_llm_clear(cache);
        CHECK_EQ(gives(cache, tokens, 15), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_sequence_remove(cache, 0, 3, 5), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).end, 15);
        /* A new token takes the lowest hole, or the end, where it is computed. */
        CHECK_EQ(gives(cache, tokens, 1), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).end, k == 0 ? 15 : 16);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 14);
        /* Rows that a step does not need hold token 0 at position 0, whatever was in them
           before. */
        {
            const qnnrt_llm__run *run = &cache->part->runs[1];
            const int32_t ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
            uint32_t i;
            CHECK(run->graph->ar == 8 && run->number_count == 2 && run->numbers[0].to != NULL);
            batch.tokens = ones;
            CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
            CHECK(run->numbers[0].to[7] == 1 && run->numbers[1].to[7] == 23);
            batch.count = 3;
            CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
            for (i = 0; i < 8; ++i) {
                CHECK_EQ(run->numbers[0].to[i], i < 3 ? 1 : 0);
                CHECK_EQ(run->numbers[1].to[i], i < 3 ? 16 + (int)i : 0);
            }
            batch.tokens = tokens;
            batch.count = 8;
        }
        /* Accept as many drafts as the largest graph takes. */
        qnnrt_llm_clear(cache);
        batch.parents = parents;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_logits(cache, 3, logits), QNNRT_OK);
        CHECK(logits[0] == 3);
    }
    TRY(finish(&s));
}

/* Each chunk takes the smallest graph for the remaining tokens; a call that succeeds does not
   change the last error. */
TEST(each_chunk_takes_the_smallest_graph)
{
    static const counter_graph graphs[3] = { { 8, 24, 0, 0, 0, QNNRT_DTYPE_F32 }, { 3, 24, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 24, 0, 0, 0, QNNRT_DTYPE_F32 } };
    static const struct { size_t count; uint32_t ar, steps; } cases[6] = { { 1, 1, 1 }, { 2, 3, 1 }, { 3, 3, 1 }, { 4, 8, 1 }, { 9, 1, 2 }, { 11, 3, 2 } };
    static const int32_t tokens[16] = { 0 };
    setup s;
    int k;
    size_t i;
    TRY(begin_with(&s, graphs, 3));
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
        CHECK_EQ(gives(cache, tokens, 0), QNNRT_E_ARG);
        for (i = 0; i < 6; ++i) {
            const uint64_t before = qnnrt_llm_session_get_info(s.sessions[k]).steps;
            qnnrt_llm_clear(cache);
            CHECK_EQ(gives(cache, tokens, cases[i].count), QNNRT_OK);
            CHECK_EQ(s.sessions[k]->stepped_run->graph->ar, cases[i].ar);
            CHECK_EQ(qnnrt_llm_session_get_info(s.sessions[k]).steps - before, cases[i].steps);
            CHECK_EQ(qnnrt_llm_error(cache)->code, QNNRT_E_ARG);
            CHECK_STR(qnnrt_llm_error(cache)->text, "no tokens");
        }
    }
    TRY(finish(&s));
}

/* ---- graphs by cost ---- */

static const counter_graph three[3] = { { 8, 24, 0, 0, 0, QNNRT_DTYPE_F32 }, { 3, 24, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 24, 0, 0, 0, QNNRT_DTYPE_F32 } };

/* Decode `count` tokens of so many texts; return the number of steps of each graph as digits: 8s
   times 100, 3s times 10, 1s. */
static unsigned steps_for(qnnrt_llm_cache *cache, size_t count)
{
    static float logits[16 * COUNTER_VOCABULARY];
    int32_t tokens[16];
    uint64_t sequences[16];
    unsigned char wanted[16];
    qnnrt_llm_batch batch;
    size_t i;
    memset(&batch, 0, sizeof batch);
    memset(steps_by_ar, 0, sizeof steps_by_ar);
    memset(tokens, 0, sizeof tokens);
    memset(wanted, 1, sizeof wanted);
    for (i = 0; i < 16; ++i) sequences[i] = (uint64_t)1 << i;
    batch.tokens = tokens;
    batch.sequences = sequences;
    batch.wanted = wanted;
    batch.logits = logits;
    batch.count = count;
    qnnrt_llm_clear(cache);
    if (qnnrt_llm_decode(cache, &batch) != QNNRT_OK) return 9999;
    for (i = 0; i < count; ++i) if (logits[i * COUNTER_VOCABULARY] != 1) return 9998;
    return (unsigned)(steps_by_ar[8] * 100 + steps_by_ar[3] * 10 + steps_by_ar[1]);
}

TEST(graphs_are_chosen_by_what_they_cost)
{
    setup s;
    int k;
    by_cost = 1;
    begin_with(&s, pair, 2);
    by_cost = 0;
    if (test_state.state != TEST_RUNNING) return;
    for (k = 0; k < KINDS; ++k) {
        qnnrt_llm_session *session = s.sessions[k];
        qnnrt_llm_cache *cache = qnnrt_llm_cache_get(session, 0, 0);
        qnnrt_llm_batch batch;
        static const int32_t tokens[3] = { 0, 1, 2 }, parents[3] = { -1, 0, 0 };
        price[1] = 62;
        price[8] = 246;
        CHECK_EQ(qnnrt_llm_cost_get(session, 0, 0), 0);
        CHECK_EQ(qnnrt_llm_cost_get(session, 0, 1), 0);
        CHECK_EQ(steps_for(cache, 3), 100);             /* unknown: as without costs */
        CHECK_EQ(qnnrt_llm_cost_get(session, 0, 1), 246);
        CHECK_EQ(steps_for(cache, 4), 4);               /* the other one runs once, and proves to be cheaper */
        CHECK_EQ(qnnrt_llm_cost_get(session, 0, 0), 62);
        CHECK_EQ(steps_for(cache, 1), 1);
        CHECK_EQ(steps_for(cache, 2), 2);
        CHECK_EQ(steps_for(cache, 3), 3);               /* 186 against 246 */
        CHECK_EQ(steps_for(cache, 4), 100);             /* 248 against 246 */
        CHECK_EQ(steps_for(cache, 11), 103);
        CHECK_EQ(steps_for(cache, 12), 200);
        price[8] = 180;                                 /* the shortest time counts */
        CHECK_EQ(steps_for(cache, 8), 100);
        CHECK_EQ(qnnrt_llm_cost_get(session, 0, 1), 180);
        price[8] = 999;
        CHECK_EQ(steps_for(cache, 3), 100);
        CHECK_EQ(qnnrt_llm_cost_get(session, 0, 1), 180);
        /* What the caller sets stays, until he sets 0. */
        CHECK_EQ(qnnrt_llm_cost_set(session, 0, 0, 10), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cost_set(session, 0, 1, UINT64_MAX), QNNRT_OK);
        CHECK_EQ(steps_for(cache, 12), 12);
        CHECK_EQ(qnnrt_llm_cost_set(session, 0, 0, UINT64_MAX), QNNRT_OK);
        CHECK(steps_for(cache, 12) < 9000);             /* both too high to add: any will do */
        CHECK_EQ(qnnrt_llm_cost_get(session, 0, 0), UINT64_MAX);
        CHECK_EQ(qnnrt_llm_cost_set(session, 0, 0, 0), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_cost_get(session, 0, 0), 0);
        CHECK_EQ(steps_for(cache, 2), 2);
        CHECK_EQ(qnnrt_llm_cost_get(session, 0, 0), 62);
        /* An eval and a tree are one step, whatever it costs. */
        CHECK_EQ(qnnrt_llm_cost_set(session, 0, 0, 1), QNNRT_OK);
        batch = llm_batch(tokens, 3);
        memset(steps_by_ar, 0, sizeof steps_by_ar);
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        batch.parents = parents;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        CHECK_EQ(steps_by_ar[8], 2);
        CHECK_EQ(steps_by_ar[1], 0);
        CHECK_EQ(qnnrt_llm_cost_set(session, 0, 2, 5), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_cost_set(session, 1, 0, 5), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_cost_set(NULL, 0, 0, 5), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_cost_get(session, 0, 2), 0);
        CHECK_EQ(qnnrt_llm_cost_get(session, 1, 0), 0);
        CHECK_EQ(qnnrt_llm_cost_get(NULL, 0, 0), 0);
    }
    TRY(finish(&s));
}

/* Without a clock nothing is measured, and unless all costs are set, nothing changes. */
TEST(costs_without_a_clock_are_the_callers)
{
    setup s;
    qnnrt_llm_session *session;
    qnnrt_llm_cache *cache;
    by_cost = unclocked = 1;
    begin_with(&s, pair, 2);
    by_cost = unclocked = 0;
    if (test_state.state != TEST_RUNNING) return;
    session = s.sessions[0];
    cache = qnnrt_llm_cache_get(session, 0, 0);
    CHECK_EQ(steps_for(cache, 3), 100);
    CHECK_EQ(qnnrt_llm_cost_get(session, 0, 1), 0);
    CHECK_EQ(qnnrt_llm_cost_set(session, 0, 1, 100), QNNRT_OK);
    CHECK_EQ(steps_for(cache, 3), 100);
    CHECK_EQ(qnnrt_llm_cost_set(session, 0, 0, 10), QNNRT_OK);
    CHECK_EQ(steps_for(cache, 3), 3);
    /* Another session measures on its own, and without by_cost it changes nothing. */
    CHECK_EQ(qnnrt_llm_cost_get(s.sessions[1], 0, 0), 0);
    TRY(finish(&s));
    TRY(begin_with(&s, pair, 2));
    CHECK_EQ(qnnrt_llm_cost_set(s.sessions[0], 0, 0, 1), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_cost_set(s.sessions[0], 0, 1, 1000), QNNRT_OK);
    CHECK_EQ(steps_for(qnnrt_llm_cache_get(s.sessions[0], 0, 0), 3), 100);
    TRY(finish(&s));
}

/* What n tokens cost at least, by trying every first graph; and by the rule without costs. */
static uint64_t cheapest_of(const uint32_t *ars, size_t count, int n)
{
    uint64_t table[32];
    int i;
    size_t g;
    table[0] = 0;
    for (i = 1; i <= n; ++i) {
        table[i] = UINT64_MAX;
        for (g = 0; g < count; ++g) {
            const uint64_t sum = price[ars[g]] + table[i > (int)ars[g] ? i - (int)ars[g] : 0];
            if (sum < table[i]) table[i] = sum;
        }
    }
    return table[n];
}

static uint64_t default_of(const uint32_t *ars, size_t count, int n)
{
    uint64_t sum = 0;
    while (n > 0) {
        size_t g = 0;
        while (g + 1 < count && (int)ars[g] < n) ++g;
        sum += price[ars[g]];
        n -= (int)ars[g];
    }
    return sum;
}

/* Random prices: never more than without costs or with any graph alone; of two graphs, one of them
   for single tokens, it is the cheapest way. */
TEST(costs_of_random_graphs_are_low)
{
    static const uint32_t ars[2][3] = { { 1, 8, 0 }, { 1, 3, 8 } };
    setup s;
    int which, round, n;
    unsigned same = 0, all = 0;
    random_state = 5;
    for (which = 0; which < 2; ++which) {
        const size_t count = which == 0 ? 2 : 3;
        by_cost = 1;
        begin_with(&s, which == 0 ? pair : three, count);
        by_cost = 0;
        if (test_state.state != TEST_RUNNING) return;
        for (round = 0; round < 40; ++round) {
            qnnrt_llm_session *session = s.sessions[round % 2];
            size_t g;
            for (g = 0; g < count; ++g) {
                price[ars[which][g]] = 1 + dice(100) * (g + 1);
                CHECK_EQ(qnnrt_llm_cost_set(session, 0, g, price[ars[which][g]]), QNNRT_OK);
            }
            for (n = 1; n <= 16; ++n) {
                const uint64_t before = moment, best = cheapest_of(ars[which], count, n);
                uint64_t spent;
                CHECK(steps_for(qnnrt_llm_cache_get(session, 0, 0), (size_t)n) < 9000);
                spent = moment - before;
                CHECK(spent >= best && spent <= default_of(ars[which], count, n));
                if (which == 0) CHECK_EQ(spent, best);
                for (g = 0; g < count; ++g) CHECK(spent <= (uint64_t)((n + (int)ars[which][g] - 1) / (int)ars[which][g]) * price[ars[which][g]]);
                same += which == 1 && spent == best;
                all += which == 1;
            }
        }
        TRY(finish(&s));
    }
    printf("  three graphs: %u of %u batches took the cheapest way\n", same, all);
    CHECK(same * 10 > all * 9);
}

TEST(random_lives_with_graphs_by_cost)
{
    setup s;
    uint32_t seed, g;
    by_cost = 1;
    begin_with(&s, three, 3);
    by_cost = 0;
    if (test_state.state != TEST_RUNNING) return;
    for (seed = 1; seed <= 30; ++seed) {
        random_state = seed;
        price[1] = 1 + dice(20);
        price[3] = 1 + dice(40);
        price[8] = 1 + dice(80);
        for (g = 0; g < 6; ++g) CHECK_EQ(qnnrt_llm_cost_set(s.sessions[g / 3], 0, g % 3, 0), QNNRT_OK);
        random_life(&s, seed, 60);
        if (test_state.state != TEST_RUNNING) { printf("seed %u\n", (unsigned)seed); return; }
    }
    TRY(finish(&s));
}

/* ---- cos and sin from the host ---- */

enum { TURNED = 20 };                       /* tokens in a batch: three chunks of the prompt's graph */

/* Check that rows of logits end with cos and sin of their positions, each angle once or twice. */
static void turned(const float *logits, const int32_t *positions, size_t count)
{
    const size_t width = COUNTER_VOCABULARY + 2 * counter_rope;
    size_t i;
    uint32_t k;
    for (i = 0; i < count; ++i)
        for (k = 0; k < counter_rope; ++k) {
            const float *row = logits + i * width + COUNTER_VOCABULARY;
            CHECK(row[k] == (float)cos((double)positions[i]));
            CHECK(row[counter_rope + k] == (float)sin((double)positions[i]));
        }
}

TEST(cos_and_sin_of_every_position_come_from_the_host)
{
    static const int32_t far[3] = { 4000, 4001, 4095 }, up[TURNED] = { 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                                                      18, 19, 20, 21, 22 };
    static float logits[TURNED * (COUNTER_VOCABULARY + 4)];
    int32_t tokens[TURNED];
    unsigned char wanted[TURNED];
    int k, flat;
    memset(tokens, 0, sizeof tokens);
    memset(wanted, 1, sizeof wanted);
    for (flat = 0; flat < 2; ++flat) {
        setup s;
        counter_graph graphs[3] = { { 8, 28, 0, 0, 0, QNNRT_DTYPE_F32 }, { 3, 28, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 28, 0, 0, 0, QNNRT_DTYPE_F32 } };
        graphs[0].flat = graphs[1].flat = graphs[2].flat = flat;
        counter_rope = flat == 0 ? 1 : 2;
        TRY(begin_with(&s, graphs, 3));
        CHECK(qnnrt_llm_get_info(s.llm)->rope.theta == 10000 && qnnrt_llm_get_info(s.llm)->key_dim == 2);
        for (k = 0; k < KINDS; ++k) {
            qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s.sessions[k], 0, 0);
            qnnrt_llm_batch batch = llm_batch(tokens, 3);
            batch.wanted = wanted;
            batch.logits = logits;
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
            batch.count = TURNED;
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
            TRY(turned(logits, up, TURNED));
            /* Go back to position 3, then to the maximum position: the last row of the tables. */
            CHECK_EQ(qnnrt_llm_sequence_remove(cache, 0, 3, -1), QNNRT_OK);
            batch.count = 1;
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
            TRY(turned(logits, up, 1));
            batch.count = 3;
            batch.positions = far;
            CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
            TRY(turned(logits, far, 3));
            batch.count = 1;
            batch.positions = far + 2;
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
            TRY(turned(logits, far + 2, 1));
            batch.positions = NULL;
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_LIMIT);
        }
        counter_rope = 0;
        TRY(finish(&s));
    }
}

/* ---- memory ---- */

/* Count from here, and let allocation number `nth` fail, -1: none. */
static void count_from(long nth)
{
    allocations = live = 0;
    fail_at = nth;
}

/* Open a model with hooks that count, and fail once. */
static qnnrt_result hooked(qnnrt *model, qnnrt_llm_kv kv, qnnrt_llm **llm, qnnrt_llm_session **session)
{
    qnnrt_llm_desc desc;
    qnnrt_llm_session_desc session_desc;
    qnnrt_error err;
    qnnrt_result result;
    memset(&desc, 0, sizeof desc);
    memset(&session_desc, 0, sizeof session_desc);
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    session_desc.kv = kv;
    *session = NULL;
    result = qnnrt_llm_open(model, &desc, llm, &err);
    if (result == QNNRT_OK) result = qnnrt_llm_session_create(llm, 1, &session_desc, session, &err);
    if (result == QNNRT_E_MEMORY && strstr(err.text, "memory") == NULL) result = QNNRT_E_STATE;
    return result;
}

/* Read logits of an earlier chunk as if each number of a row had a scale, and as if each token had one. */
static void late_with_scales(qnnrt_llm_cache *cache, size_t row)
{
    const qnnrt_slot *slot = cache->session->stepped_run->graph->logits;
    float scales[COUNTER_VOCABULARY], values[COUNTER_VOCABULARY];
    int32_t codes[COUNTER_VOCABULARY];
    qnnrt_tensor_info *info, real;
    qnnrt_result result, refused;
    int i, wrong = 0, told, untold;
    memcpy(&info, &slot->tensor, sizeof info);
    real = *info;
    for (i = 0; i < COUNTER_VOCABULARY; ++i) scales[i] = i % 2 == 0 ? 0.5f : 4;
    info->dtype = QNNRT_DTYPE_S32Q;
    info->quant.encoding = QNNRT_ENCODING_PER_AXIS;
    info->quant.scales = scales;
    info->quant.count = COUNTER_VOCABULARY;
    info->quant.axis = (int32_t)info->rank - 1;
    result = qnnrt_llm_logits(cache, row, values);
    untold = strstr(qnnrt_llm_error(cache)->text, "cannot convert") == NULL;
    memcpy(codes, qnnrt_llm_stored_logits(cache, row), sizeof codes);
    for (i = 0; i < COUNTER_VOCABULARY; ++i) wrong += values[i] != (float)codes[i] * scales[i];
    info->quant.scales = NULL;
    told = qnnrt_llm_logits(cache, row, values) != QNNRT_OK &&
           strcmp(qnnrt_llm_error(cache)->text, "cannot convert sfixed32 to float32") == 0;
    info->quant.axis = 0;
    refused = qnnrt_llm_logits(cache, row, values);
    *info = real;
    CHECK_EQ(result, QNNRT_OK);
    CHECK_EQ(wrong, 0);
    CHECK(told && untold);
    CHECK_EQ(refused, QNNRT_E_UNSUPPORTED);
    CHECK_STR(qnnrt_llm_error(cache)->text, "has a scale for each token");
}

TEST(decoding_allocates_only_for_late_logits)
{
    setup s;
    qnnrt_llm *llm;
    qnnrt_llm_session *session;
    qnnrt_llm_cache *cache;
    static float logits[8 * COUNTER_VOCABULARY];
    int32_t tokens[8] = { 0, 1, 2, 3, 4, 5, 0, 1 };
    static const int32_t many[20] = { 0 };
    static const unsigned char wanted[24] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1 };
    static const unsigned char more[20] = { 0, 0, 0, 1, 1, 1, 1, 1, 1 }, one[20] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
    long before;
    int k, i;
    TRY(begin_with(&s, pair, 2));
    for (k = 0; k < KINDS; ++k) {
        count_from(-1);
        CHECK_EQ(hooked(s.model, k == 0 ? QNNRT_LLM_SMART_MASK : QNNRT_LLM_SHIFT_POINTER, &llm, &session), QNNRT_OK);
        cache = qnnrt_llm_cache_get(session, 0, 0);
        before = allocations;
        CHECK(before > 0);
        for (i = 0; i < 20; ++i) {
            CHECK_EQ(gives(cache, tokens, 8), QNNRT_OK);
            CHECK_EQ(gives(cache, tokens, 1), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_logits(cache, 0, logits), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_sequence_remove(cache, 0, 2, 7), QNNRT_OK);
            CHECK_EQ(gives(cache, tokens, 3), QNNRT_OK);
            qnnrt_llm_clear(cache);
        }
        CHECK_EQ(gives(cache, many, 20), QNNRT_OK);         /* three chunks, nothing asked for */
        for (i = 0; i < 2; ++i) {                           /* the caller has room for what he asks */
            qnnrt_llm_batch batch = llm_batch(many, 20);
            qnnrt_llm_clear(cache);
            batch.wanted = wanted;
            if (i == 0) batch.logits = logits;
            else batch.stored = logits;
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        }
        CHECK_EQ(allocations, before);
        /* But where logits of earlier chunks are asked for, the first time and when there are more. */
        for (i = 0; i < 4; ++i) {
            qnnrt_llm_batch batch = llm_batch(many, 20);
            qnnrt_llm_clear(cache);
            batch.wanted = wanted + (i == 3 ? 0 : 4);       /* tokens 5 to 8, then 9 to 12 */
            if (i == 0) fail_at = allocations + 1;
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), i == 0 ? QNNRT_E_MEMORY : QNNRT_OK);
            CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, i == 0 ? 0 : 20);
            CHECK_EQ(qnnrt_llm_argmax(cache, i == 3 ? 9 : 5) >= 0, i != 0);
            CHECK_EQ(allocations, before + (i == 0 ? 2 : 4));
        }
        /* No room for more leaves none for fewer, and they get it anew. */
        for (i = 0; i < 3; ++i) {
            qnnrt_llm_batch batch = llm_batch(many, 20);
            qnnrt_llm_clear(cache);
            batch.wanted = i == 0 ? more : one;
            if (i == 0) fail_at = allocations + 1;
            CHECK_EQ(qnnrt_llm_decode(cache, &batch), i == 0 ? QNNRT_E_MEMORY : QNNRT_OK);
            CHECK_EQ(qnnrt_llm_argmax(cache, 10) >= 0, i != 0);
            CHECK_EQ(allocations, before + (i == 0 ? 6 : 8));
        }
        TRY(late_with_scales(cache, 10));
        qnnrt_llm_session_destroy(session);
        CHECK_EQ(qnnrt_llm_close(llm), QNNRT_OK);
        CHECK_EQ(live, 0);
    }
    TRY(finish(&s));
}

/* Ask libQnnRef.so for its living objects, or for a counter. */
static const char *asked(const char *command)
{
    static char answer[1 << 16];
    typedef int (*control)(const char *command, char *answer, size_t bytes);
    void *library = dlopen(TEST_REF_LIB, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "QnnRef_control") : NULL;
    control call;
    answer[0] = '\0';
    memcpy(&call, &symbol, sizeof call);
    if (call != NULL) call(command, answer, sizeof answer);
    return answer;
}

static size_t alive(void)
{
    const char *at = asked("ledger");
    size_t count = 0;
    while ((at = strstr(at, "memory ")) != NULL) { ++count; ++at; }
    return count;
}

static unsigned long long copies(void)
{
    const char *at = strstr(asked("counters"), "copies ");
    return at != NULL ? strtoull(at + strlen("copies "), NULL, 10) : 0;
}

/* Random lives as above; the tensors of all steps are then in memory that is registered. */
TEST(random_lives_in_shared_memory)
{
    static const counter_graph graphs[2] = { { 8, 24, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, 24, 0, 0, 0, QNNRT_DTYPE_F32 } };
    const unsigned long long before = copies();
    qnnrt_llm_session_info info[KINDS];
    size_t count;
    uint32_t seed;
    setup s;
    int k;
    memory = QNNRT_MEM_PROVIDER;
    begin_with(&s, graphs, 2);
    memory = QNNRT_MEM_HEAP;
    if (test_state.state != TEST_RUNNING) return;
    for (seed = 1; seed <= 3; ++seed) TRY(random_life(&s, seed, 150));
    for (k = 0; k < KINDS; ++k) {
        info[k] = qnnrt_llm_session_get_info(s.sessions[k]);
        CHECK_EQ(info[k].mem_kind, QNNRT_MEM_PROVIDER);
        CHECK(strcmp(info[k].mem_name, "memfd") == 0);
        CHECK_EQ(strcmp(info[k].mem_reason, ""), 0);
        printf("  %s: %u of %u tensors registered\n", k == 0 ? "smart mask" : "shift pointer",
               (unsigned)info[k].registered, (unsigned)info[k].tensors);
    }
    printf("  %u registrations, %llu tensors were copied\n", (unsigned)alive(), copies() - before);
    CHECK_EQ(info[0].registered, info[0].tensors);
    /* Half of them do not move; how many of the others are registered depends on the last texts. */
    CHECK(info[1].registered >= info[1].tensors / 2);
    CHECK_EQ(copies(), before);
    count = alive();
    CHECK(count > info[0].tensors + info[1].tensors / 2);
    qnnrt_llm_session_destroy(s.sessions[0]);
    CHECK(alive() > 0 && alive() < count);
    s.sessions[0] = NULL;
    qnnrt_llm_session_destroy(s.sessions[1]);
    s.sessions[1] = NULL;
    CHECK_EQ(alive(), 0);
    TRY(finish(&s));
}

TEST(every_allocation_may_fail)
{
    setup s;
    qnnrt_llm *llm;
    qnnrt_llm_session *session;
    unsigned n, done = 0;
    TRY(begin_with(&s, pair, 2));
    for (n = 1; !done; ++n) {
        qnnrt_result result;
        CHECK(n < 10000);
        count_from((long)n - 1);
        result = hooked(s.model, QNNRT_LLM_SMART_MASK, &llm, &session);
        done = result == QNNRT_OK;
        if (!done) CHECK_EQ(result, QNNRT_E_MEMORY);
        CHECK(done || session == NULL);
        qnnrt_llm_session_destroy(session);
        CHECK_EQ(qnnrt_llm_close(llm), QNNRT_OK);
        CHECK_EQ(live, 0);
    }
    printf("  %u allocations failed in turn\n", n - 2);
    TRY(finish(&s));
}

/* ---- states ---- */

/* The same graphs with other weights: only the content of the file differs. */
TEST(state_of_a_model_with_other_weights_is_refused)
{
    static unsigned char state[1u << 16];
    qnnrt_backend *backend;
    qnnrt_error err;
    char folder[128], path[256];
    int which;
    size_t bytes = 0;
    CHECK_EQ(test_ref_backend(&backend, &err), QNNRT_OK);
    for (which = 0; which < 2; ++which) {
        qnnrt *built, *model;
        qnnrt_llm *llm;
        qnnrt_llm_session *session;
        qnnrt_llm_cache *cache;
        qnnrt_desc desc;
        int32_t tokens[5] = { 1, 2, 3, 4, 5 };
        memset(&desc, 0, sizeof desc);
        desc.backend = backend;
        counter_one = which == 0 ? 1.0f : 1.5f;
        built = counter_make(backend, pair, 2, &err);
        counter_one = 1.0f;
        CHECK(built != NULL);
        snprintf(folder, sizeof folder, "/tmp/qnnrt-llm-%ld", (long)getpid());
        mkdir(folder, 0700);
        snprintf(path, sizeof path, "%s/model.bin", folder);
        CHECK_EQ(qnnrt_save(built, 0, path, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_open(model, NULL, &llm, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_session_create(&llm, 1, NULL, &session, &err), QNNRT_OK);
        cache = qnnrt_llm_cache_get(session, 0, 0);
        CHECK_EQ(gives(cache, tokens, 5), QNNRT_OK);
        if (which == 0) {
            CHECK_EQ(qnnrt_llm_state_save(cache, state, 8, &bytes), QNNRT_E_ARG);
            CHECK_EQ(qnnrt_llm_state_save(cache, state, sizeof state, &bytes), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_state_restore(cache, state, bytes), QNNRT_OK);
        } else {
            CHECK_EQ(qnnrt_llm_state_restore(cache, state, bytes), QNNRT_E_MISMATCH);
            CHECK_STR(qnnrt_llm_error(cache)->text, "model");
            CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 5);
        }
        qnnrt_llm_session_destroy(session);
        CHECK_EQ(qnnrt_llm_close(llm), QNNRT_OK);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        unlink(path);
        rmdir(folder);
    }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* ---- masks of other types ---- */

TEST(masks_say_no_in_their_own_values)
{
    static const uint32_t dims[1] = { 4 };
    static const struct {
        qnnrt_dtype dtype; uint64_t bytes; float scale; int32_t offset; float masked;
        qnnrt_result result; uint32_t attend, no;
    } rows[] = {
        { QNNRT_DTYPE_U16Q, 2, 0.0007629511f, -65535, 0, QNNRT_OK, 65535, 0 },
        { QNNRT_DTYPE_U8Q, 1, 0.2f, -255, 0, QNNRT_OK, 255, 0 },
        { QNNRT_DTYPE_U8Q, 1, 0.2f, -255, -20, QNNRT_OK, 255, 155 },
        { QNNRT_DTYPE_U8Q, 1, 0.2f, 0, 0, QNNRT_E_MISMATCH, 0, 0 },
        { QNNRT_DTYPE_S8Q, 1, 0.5f, -127, 0, QNNRT_OK, 127, 0x80 },
        { QNNRT_DTYPE_F32, 4, 0, 0, 0, QNNRT_OK, 0, 0xC61C4000u },
        { QNNRT_DTYPE_F32, 4, 0, 0, -5, QNNRT_OK, 0, 0xC0A00000u },
        { QNNRT_DTYPE_BF16, 2, 0, 0, -2, QNNRT_OK, 0, 0xC000 },
        { QNNRT_DTYPE_I8, 1, 0, 0, 0, QNNRT_OK, 1, 0 },
        { QNNRT_DTYPE_I16, 2, 0, 0, 0, QNNRT_OK, 1, 0 },
        { QNNRT_DTYPE_U16, 2, 0, 0, 0, QNNRT_OK, 1, 0 },
        { QNNRT_DTYPE_U32, 4, 0, 0, 0, QNNRT_OK, 1, 0 },
        { QNNRT_DTYPE_U8Q, 1, 0, 0, 0, QNNRT_E_UNSUPPORTED, 0, 0 },
        { QNNRT_DTYPE_U8Q, 1, -1.0f, 0, 0, QNNRT_E_ARG, 0, 0 },
        { QNNRT_DTYPE_F16, 2, 0, 0, 0, QNNRT_OK, 0, 0xF0E2 },
        { QNNRT_DTYPE_BOOL8, 1, 0, 0, 0, QNNRT_OK, 1, 0 },
        { QNNRT_DTYPE_I64, 8, 0, 0, 0, QNNRT_E_UNSUPPORTED, 0, 0 },
        { QNNRT_DTYPE_F64, 8, 0, 0, 0, QNNRT_E_UNSUPPORTED, 0, 0 }
    };
    size_t i;
    for (i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        qnnrt_tensor_info t;
        qnnrt_llm__mask_values codes;
        qnnrt_error err;
        memset(&t, 0, sizeof t);
        t.name = "mask";
        t.dtype = rows[i].dtype;
        t.rank = 1;
        t.dims = dims;
        t.count = 4;
        t.bytes = 4 * rows[i].bytes;
        t.quant.encoding = rows[i].scale != 0 ? QNNRT_ENCODING_PER_TENSOR : QNNRT_ENCODING_NONE;
        t.quant.scale = rows[i].scale;
        t.quant.offset = rows[i].offset;
        CHECK_EQ(qnnrt_llm__mask_values_of(&t, rows[i].masked, &codes, &err), rows[i].result);
        if (rows[i].result != QNNRT_OK) { CHECK_STR(err.text, "\"mask\""); continue; }
        CHECK_EQ(codes.attend, rows[i].attend);
        CHECK_EQ(codes.masked, rows[i].no);
    }
}

TEST_MAIN("test_llm")
{
    RUN(random_lives_of_a_cache_with_three_graphs);
    RUN(random_lives_of_a_cache_with_caches_of_rank_three);
    RUN(random_lives_moved_texts_ended_decodes_and_defragmented);
    RUN(random_lives_with_whole_caches_out);
    RUN(random_lives_with_contexts_of_several_lengths);
    RUN(random_lives_with_a_sliding_window);
    RUN(random_lives_with_keys_stored_like_values);
    RUN(random_lives_with_caches_in_other_types);
    RUN(failed_step_changes_nothing);
    RUN(batches_that_cannot_be_are_refused);
    RUN(second_chunk_that_is_refused);
    RUN(full_context_computes_one_more);
    RUN(models_with_one_graph_work);
    RUN(two_models_share_a_session);
    RUN(sessions_of_one_model_in_several_threads);
    RUN(logits_by_every_way);
    RUN(graphs_that_read_fewer_cells_drop_out);
    RUN(each_chunk_takes_the_smallest_graph);
    RUN(graphs_are_chosen_by_what_they_cost);
    RUN(costs_without_a_clock_are_the_callers);
    RUN(costs_of_random_graphs_are_low);
    RUN(random_lives_with_graphs_by_cost);
    RUN(caches_are_defragmented_where_that_helps);
    RUN(cos_and_sin_of_every_position_come_from_the_host);
    RUN(decoding_allocates_only_for_late_logits);
    RUN(random_lives_in_shared_memory);
    RUN(every_allocation_may_fail);
    RUN(state_of_a_model_with_other_weights_is_refused);
    RUN(masks_say_no_in_their_own_values);
}
