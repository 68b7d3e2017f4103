/* test_llm.c - tools/qnnrt_llm.h as a whole, on libQnnRef.so: sessions, steps, sequences, states

   The model is that of llm_counter.h: it tells which cells it was shown, at which positions. What it
   should have been shown is told by the list of tokens below, which knows no cell, column or stride. */
#define QNNRT_COMPOSE
#define QNNRT_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_llm.h"
#include "llm_counter.h"
#include "test.h"

#ifndef TEST_REF_LIB
#define TEST_REF_LIB "build/libQnnRef.so"
#endif

enum { KINDS = 2, CACHES = 2, TEXTS = 3, MOST = 64 };

/* ---- the list of tokens ---- */

typedef struct seen { int32_t token, position; uint64_t sequences; } seen;
typedef struct list { seen items[MOST]; size_t count; } list;

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

/* What token `i` of a batch should say. */
static void expect(const list *past, const seen *batch, const int32_t *parents, size_t i, float *logits)
{
    size_t j;
    int32_t p;
    memset(logits, 0, COUNTER_VOCABULARY * sizeof *logits);
    for (j = 0; j < past->count; ++j)
        if ((past->items[j].sequences & batch[i].sequences) != 0 && past->items[j].position <= batch[i].position)
            count_in(&past->items[j], logits);
    if (parents != NULL) {
        for (p = parents[i]; p >= 0; p = parents[p]) count_in(&batch[p], logits);
    } else {
        for (j = 0; j < i; ++j)
            if ((batch[j].sequences & batch[i].sequences) != 0 && batch[j].position <= batch[i].position)
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

#define TEST_SAY(text) do { printf("%s\n", text); CHECK(!"it should have worked"); } while (0)

typedef struct setup {
    qnnrt_backend     *backend;
    qnnrt             *model;
    qnnrt_llm         *llm;
    qnnrt_llm_session *sessions[KINDS];     /* smart mask, shift pointer */
} setup;

static void begin_with(setup *s, const counter_graph *graphs, size_t count)
{
    qnnrt_backend_desc backend;
    qnnrt_llm_session_desc desc;
    qnnrt_error err;
    int k;
    memset(s, 0, sizeof *s);
    memset(&backend, 0, sizeof backend);
    memset(&desc, 0, sizeof desc);
    backend.path = TEST_REF_LIB;
    if (qnnrt_backend_open(&backend, &s->backend, &err) != QNNRT_OK) TEST_SAY(err.text);
    s->model = counter_make(s->backend, graphs, count, &err);
    if (s->model == NULL) TEST_SAY(err.text);
    if (qnnrt_llm_open(s->model, NULL, &s->llm, &err) != QNNRT_OK) TEST_SAY(err.text);
    desc.caches = CACHES;
    desc.positions = 4096;
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
    int      tree, mix;                     /* mix: a token belongs to texts that differ */
} batch_of;

/* A token of several texts: do all of them hold all that one of them holds? */
static int holds_mix(const seen *items, size_t count, uint64_t sequences)
{
    size_t i;
    for (i = 0; i < count; ++i) {
        const uint64_t common = items[i].sequences & sequences;
        if (common != 0 && common != sequences) return 1;
    }
    return 0;
}

/* count tokens of one text, of any, or a tree; positions as they should be by default. */
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

static void decodes(qnnrt_llm_cache *cache, const list *past, const batch_of *b)
{
    static float logits[MOST * COUNTER_VOCABULARY], expected[COUNTER_VOCABULARY];
    unsigned char wanted[MOST];
    qnnrt_llm_batch batch;
    size_t i;
    memset(&batch, 0, sizeof batch);
    memset(wanted, 1, sizeof wanted);
    batch.tokens = b->tokens;
    batch.count = b->count;
    batch.sequences = b->sequences;
    batch.wanted = wanted;
    batch.logits = logits;
    if (b->mix) {
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
        CHECK_STR(qnnrt_llm_error(cache)->text, "different texts");
        return;
    }
    if (qnnrt_llm_decode(cache, &batch) != QNNRT_OK) TEST_SAY(qnnrt_llm_error(cache)->text);
    for (i = 0; i < b->count; ++i) {
        expect(past, b->items, NULL, i, expected);
        TRY(same_logits(logits + i * COUNTER_VOCABULARY, expected, i));
    }
}

/* rows [count]: those accepted afterwards. */
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

/* Every cell answers for itself: a last token of each text sees all of it. */
static void looked_at(qnnrt_llm_cache *cache, const list *l, uint32_t most)
{
    batch_of b;
    if (l->count >= most) return;
    make_batch(&b, l, 1, 0, 0);
    TRY(evaluates(cache, l, &b, NULL, 0));
}

static void random_life(setup *s, uint32_t seed, int operations)
{
    static unsigned char state[1u << 20];
    static list lists[CACHES];
    const qnnrt_llm_info *info = qnnrt_llm_get_info(s->llm);
    int n, k;
    random_state = seed;
    memset(lists, 0, sizeof lists);
    for (k = 0; k < KINDS * CACHES; ++k) qnnrt_llm_clear(qnnrt_llm_cache_get(s->sessions[k / CACHES], 0, (size_t)k % CACHES));
    for (n = 0; n < operations; ++n) {
        const size_t which = dice(CACHES), other = 1 - which;
        const uint32_t what = dice(16), from = dice(TEXTS), to = dice(TEXTS);
        const int32_t begin = (int32_t)dice(20) - 2, end = dice(3) == 0 ? -1 : begin + (int32_t)dice(12);
        list *l = &lists[which], before = *l;
        const uint32_t room = info->cells - (uint32_t)l->count;
        uint32_t rows[MOST];
        size_t count = 0, i, bytes = 0;
        batch_of b;
        memset(&b, 0, sizeof b);
        if (what < 6 && room > 0) {
            make_batch(&b, l, 1 + dice(room < 20 ? room : 20), 0, dice(3) == 0);
            for (i = 0; i < b.count && !b.mix; ++i) l->items[l->count++] = b.items[i];
        } else if (what < 9 && room > 0) {
            uint32_t most = room < info->ar ? room : info->ar;
            /* The largest graph has to fit behind what is there. */
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
        for (k = 0; k < KINDS; ++k) {
            qnnrt_llm_cache *cache = qnnrt_llm_cache_get(s->sessions[k], 0, which);
            if (what < 6 && room > 0) TRY(decodes(cache, &before, &b));
            else if (what < 9 && room > 0) TRY(evaluates(cache, &before, &b, rows, count));
            else if (what == 9) CHECK_EQ(qnnrt_llm_sequence_remove(cache, (int)from, begin, end), QNNRT_OK);
            else if (what == 10) CHECK_EQ(qnnrt_llm_sequence_remove(cache, -1, begin, end), QNNRT_OK);
            else if (what == 11) CHECK_EQ(qnnrt_llm_sequence_copy(cache, (int)from, (int)to, begin, end), QNNRT_OK);
            else if (what == 12) CHECK_EQ(qnnrt_llm_sequence_keep(cache, (int)from), QNNRT_OK);
            else if (what == 13) {
                /* A state goes to the other way of keeping cells too. */
                CHECK_EQ(qnnrt_llm_state_save(cache, state, sizeof state, &bytes), QNNRT_OK);
                CHECK_EQ(qnnrt_llm_state_restore(qnnrt_llm_cache_get(s->sessions[1 - k], 0, which), state, bytes), QNNRT_OK);
                CHECK_EQ(qnnrt_llm_state_restore(cache, state, bytes), QNNRT_OK);
            } else if (what == 14) CHECK_EQ(qnnrt_llm_cache_copy(cache, qnnrt_llm_cache_get(s->sessions[k], 0, other)), QNNRT_OK);
            else if (what == 15 && l->count == 0) qnnrt_llm_clear(cache);
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
    static const counter_graph graphs[3] = { { 8, 24, 0, 0 }, { 3, 24, 0, 0 }, { 1, 24, 0, 0 } };
    TRY(random_lives(graphs, 3, 40, 60));
}

TEST(random_lives_of_a_cache_with_caches_of_rank_three)
{
    static const counter_graph graphs[2] = { { 8, 24, 1, 0 }, { 1, 24, 1, 0 } };
    TRY(random_lives(graphs, 2, 40, 60));
}

TEST(random_lives_with_whole_caches_out)
{
    static const counter_graph graphs[2] = { { 8, 24, 0, 1 }, { 1, 24, 0, 1 } };
    TRY(random_lives(graphs, 2, 40, 60));
}

TEST(random_lives_with_contexts_of_several_lengths)
{
    static const counter_graph graphs[3] = { { 4, 12, 0, 0 }, { 1, 16, 0, 0 }, { 1, 40, 0, 0 } };
    TRY(random_lives(graphs, 3, 40, 60));
}

TEST_MAIN("test_llm")
{
    RUN(random_lives_of_a_cache_with_three_graphs);
    RUN(random_lives_of_a_cache_with_caches_of_rank_three);
    RUN(random_lives_with_whole_caches_out);
    RUN(random_lives_with_contexts_of_several_lengths);
}
