/* test_llm_engine.c - what inference engines ask of qnnrt_llm.h, on a language model in shards

   The model of tests/data/llm on libQnnRef.so, in one to four shards, as w8a16 with keys and values of
   8 bits or as float32, with the names of the two families of exports: one cache tensor per layer and
   cos and sin from the host, or one per head and angles from positions. Results are compared bit by
   bit with those of a cache to which nothing happened. */
#include "host_llm.h"
#include "counted.h"
#include "backend.h"

#define MODEL "tests/data/llm/model"

enum { PREFILL = 8, MOST = 64, KINDS = 2 };

static qnnrt_error err;
static const qnnrt_llm_kv kinds[KINDS] = { QNNRT_LLM_SMART_MASK, QNNRT_LLM_SHIFT_POINTER };

#define SAY(text) do { printf("%s\n", text); { const int it_works = 0; CHECK(it_works); } } while (0)

/* ---- models ------------------------------------------------------------------------------------ */

typedef struct engine {
    qnnrt_backend *backend;
    host_llm       h;
} engine;

static qnnrt_llm_desc opening;              /* of engines */

typedef enum llm_names { LLM_HUB, LLM_EXECUTORCH } llm_names;

/* Build the model in shards, each a context with a graph for PREFILL tokens and one for one token. */
static void engine_begin(engine *e, uint32_t shards, int floats, llm_names names)
{
    qnnrt_backend_desc desc;
    desc = test_ref_desc();
    memset(e, 0, sizeof *e);
    if (qnnrt_backend_open(&desc, &e->backend, &err) != QNNRT_OK) stop(err.text);
    host_llm_read(&e->h, MODEL);
    if (floats) {
        free(e->h.is.ranges);
        e->h.is.ranges = NULL;
    }
    host_llm_build(&e->h, e->backend, shards, PREFILL, 0, names == LLM_EXECUTORCH);
    if (qnnrt_llm_open(e->h.model, &opening, &e->h.llm, &err) != QNNRT_OK) stop(err.text);
}

static void engine_end(engine *e)
{
    host_llm_close(&e->h);
    CHECK_EQ(qnnrt_backend_close(e->backend), QNNRT_OK);
}

static qnnrt_llm_session *session_of(engine *e, qnnrt_llm_session_desc *desc)
{
    qnnrt_llm_session *session = NULL;
    if (qnnrt_llm_session_create(&e->h.llm, 1, desc, &session, &err) != QNNRT_OK) printf("%s\n", err.text);
    return session;
}

/* ---- texts ------------------------------------------------------------------------------------- */

/* Decode a text as a sequence, and write the logits of its last token. */
static qnnrt_result say(qnnrt_llm_cache *cache, uint32_t sequence, const char *text, float *logits)
{
    int32_t tokens[MOST];
    qnnrt_llm_batch batch;
    memset(&batch, 0, sizeof batch);
    for (; text[batch.count] != '\0'; ++batch.count) tokens[batch.count] = (unsigned char)text[batch.count];
    batch.tokens = tokens;
    batch.sequence = sequence;
    batch.logits = logits;
    return qnnrt_llm_decode(cache, &batch);
}

static unsigned char states[2][1u << 18];

static size_t state_of(qnnrt_llm_cache *cache, int which)
{
    size_t bytes = 0;
    if (qnnrt_llm_state_save(cache, states[which], sizeof states[0], &bytes) != QNNRT_OK) printf("%s\n", qnnrt_llm_error(cache)->text);
    return bytes;
}

/* ---- a decode that ends early ------------------------------------------------------------------ */

typedef struct stopper {
    int      calls, ends;                   /* calls so far; the call that ends it, -1: none */
    uint32_t chunk, steps;                  /* tokens of a chunk and steps of a pipeline, expected */
    size_t   count;
    const qnnrt_llm_cache *cache;
    int      wrong;
} stopper;

static int progress(void *user, const qnnrt_llm_progress *at)
{
    stopper *s = (stopper *)user;
    const uint32_t call = (uint32_t)s->calls++;
    s->wrong |= at->cache != s->cache || at->count != s->count || at->steps != s->steps || at->step != call % s->steps ||
                at->done != (size_t)(call / s->steps) * s->chunk;
    return s->calls - 1 == s->ends;
}

/* A prompt of three chunks in four shards, and a token in one chunk: ended before each shard of each
   chunk, the cache has the same bytes as before, and going on gives the same logits as if nothing
   had happened. */
TEST(a_decode_ends_before_any_shard_and_changes_nothing)
{
    static const char before[] = "In the beginning", more[] = "And the LORD said u", other[] = "The king ";
    static float expected[3][256], got[256];
    static engine e;
    uint32_t shards;
    int k, turn, n;
    for (shards = 1; shards <= 4; shards += 3)
        for (turn = 0; turn < 2; ++turn) {
            const llm_names names = turn == 0 ? LLM_HUB : LLM_EXECUTORCH;
            engine_begin(&e, shards, 0, names);
            for (k = 0; k < KINDS; ++k) {
                qnnrt_llm_session_desc desc;
                qnnrt_llm_session *session;
                qnnrt_llm_cache *cache;
                qnnrt_llm_batch batch;
                size_t bytes, which;
                int32_t token;
                stopper s;
                memset(&desc, 0, sizeof desc);
                memset(&s, 0, sizeof s);
                memset(&batch, 0, sizeof batch);
                desc.kv = kinds[k];
                session = session_of(&e, &desc);
                CHECK(session != NULL);
                cache = qnnrt_llm_cache_get(session, 0, 0);
                CHECK_EQ(say(cache, 0, before, NULL), QNNRT_OK);
                CHECK_EQ(say(cache, 1, other, NULL), QNNRT_OK);
                CHECK_EQ(say(cache, 0, more, expected[0]), QNNRT_OK);
                CHECK_EQ(say(cache, 0, "n", expected[1]), QNNRT_OK);
                CHECK_EQ(say(cache, 1, "of", expected[2]), QNNRT_OK);
                qnnrt_llm_session_destroy(session);

                desc.progress = progress;
                desc.progress_user = &s;
                session = session_of(&e, &desc);
                CHECK(session != NULL);
                cache = qnnrt_llm_cache_get(session, 0, 0);
                s.cache = cache;
                s.steps = shards;
                for (which = 0; which < 4; ++which) {
                    static const char *const texts[4] = { before, other, more, "n" };
                    const uint32_t sequence = which == 1;
                    int chunks;
                    s.count = strlen(texts[which]);
                    s.chunk = s.count > 1 ? PREFILL : 1;
                    chunks = (int)((s.count + s.chunk - 1) / s.chunk);
                    bytes = state_of(cache, 0);
                    for (n = 0; n < chunks * (int)shards; ++n) {
                        s.calls = 0;
                        s.ends = n;
                        CHECK_EQ(say(cache, sequence, texts[which], got), QNNRT_E_CANCELLED);
                        CHECK_EQ(s.calls, n + 1);
                        CHECK_STR(qnnrt_llm_error(cache)->text, "ended it before step");
                        CHECK_EQ(state_of(cache, 1), bytes);
                        CHECK(memcmp(states[0], states[1], bytes) == 0);
                        CHECK(qnnrt_llm_stored_logits(cache, s.count - 1) == NULL);
                        CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_STATE);
                    }
                    /* An eval ends in the same way, and can be repeated. */
                    token = 1;
                    batch.tokens = &token;
                    batch.count = s.count = s.chunk = 1;
                    s.ends = (int)shards - 1;
                    s.calls = 0;
                    CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_E_CANCELLED);
                    CHECK_EQ(s.calls, (int)shards);
                    CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_STATE);
                    s.count = strlen(texts[which]);
                    s.chunk = s.count > 1 ? PREFILL : 1;
                    s.calls = 0;
                    s.ends = -1;
                    CHECK_EQ(say(cache, sequence, texts[which], got), QNNRT_OK);
                    CHECK_EQ(s.calls, chunks * (int)shards);
                    if (which >= 2) CHECK(memcmp(got, expected[which - 2], sizeof got) == 0);
                }
                s.calls = 0;
                s.count = 2;
                s.chunk = PREFILL;
                CHECK_EQ(say(cache, 1, "of", got), QNNRT_OK);
                CHECK(memcmp(got, expected[2], sizeof got) == 0);
                CHECK(!s.wrong);
                qnnrt_llm_session_destroy(session);
            }
            engine_end(&e);
        }
}

/* ---- the state of one sequence ----------------------------------------------------------------- */

/* Four texts in one cache. One is saved, its cells go to another text, and it comes back later under
   another number, in the same cache and in a cache of the other kind: all texts go on bit-equal to
   texts to which nothing happened. w8a16 sums codes: the order of cells does not count. */
TEST(a_text_leaves_and_comes_back_beside_others_that_go_on)
{
    static const char *const texts[4] = { "In the beginning ", "And the LORD said ", "And it came to pass", "The king " };
    static const char *const ends[4] = { "God cr", "unto M", ", that", "of Isr" };
    static float expected[4][2][256], got[256];
    static unsigned char one[1u << 16];
    static engine e;
    qnnrt_llm_session_desc desc;
    qnnrt_llm_session *sessions[KINDS], *session;
    qnnrt_llm_cache *cache, *caches[KINDS];
    size_t bytes, i;
    int k, turn;
    for (turn = 0; turn < 2; ++turn) {
        engine_begin(&e, 2, 0, turn == 0 ? LLM_HUB : LLM_EXECUTORCH);
        memset(&desc, 0, sizeof desc);
        for (i = 0; i < 4; ++i) {
            session = session_of(&e, &desc);
            CHECK(session != NULL);
            cache = qnnrt_llm_cache_get(session, 0, 0);
            CHECK_EQ(say(cache, 0, texts[i], expected[i][0]), QNNRT_OK);
            CHECK_EQ(say(cache, 0, ends[i], expected[i][1]), QNNRT_OK);
            qnnrt_llm_session_destroy(session);
        }
        for (k = 0; k < KINDS; ++k) {
            desc.kv = kinds[k];
            sessions[k] = session_of(&e, &desc);
            CHECK(sessions[k] != NULL);
            caches[k] = qnnrt_llm_cache_get(sessions[k], 0, 0);
            for (i = 0; i < 4; ++i) CHECK_EQ(say(caches[k], (uint32_t)i, texts[i], got), QNNRT_OK);
        }
        for (k = 0; k < KINDS; ++k) {
            cache = caches[k];
            bytes = qnnrt_llm_sequence_state_bytes(cache, 1);
            CHECK(bytes <= sizeof one && bytes < qnnrt_llm_state_bytes(cache));
            CHECK_EQ(qnnrt_llm_sequence_state_save(cache, 1, one, sizeof one, &bytes), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_sequence_remove(cache, 1, -1, -1), QNNRT_OK);
            CHECK_EQ(say(cache, 0, ends[0], got), QNNRT_OK);              /* takes its cells */
            CHECK(memcmp(got, expected[0][1], sizeof got) == 0);
            CHECK_EQ(qnnrt_llm_sequence_state_restore(cache, 9, one, bytes), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_sequence_state_restore(caches[1 - k], 20 + k, one, bytes), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_sequence_last(cache, 9), (int32_t)strlen(texts[1]) - 1);
            CHECK_EQ(say(cache, 2, ends[2], got), QNNRT_OK);
            CHECK(memcmp(got, expected[2][1], sizeof got) == 0);
            CHECK_EQ(say(cache, 9, ends[1], got), QNNRT_OK);
            CHECK(memcmp(got, expected[1][1], sizeof got) == 0);
            CHECK_EQ(say(caches[1 - k], 20 + (uint32_t)k, ends[1], got), QNNRT_OK);
            CHECK(memcmp(got, expected[1][1], sizeof got) == 0);
            CHECK_EQ(say(cache, 3, ends[3], got), QNNRT_OK);
            CHECK(memcmp(got, expected[3][1], sizeof got) == 0);
            if (k == 0) CHECK_EQ(qnnrt_llm_sequence_remove(caches[1], 20, -1, -1), QNNRT_OK);
        }
        for (k = 0; k < KINDS; ++k) qnnrt_llm_session_destroy(sessions[k]);
        engine_end(&e);
    }
}

/* ---- holes ------------------------------------------------------------------------------------- */

static double apart(const float *a, const float *b)
{
    double most = 0;
    int i;
    for (i = 0; i < 256; ++i) if (fabs((double)a[i] - b[i]) > most) most = fabs((double)a[i] - b[i]);
    return most;
}

/* Two texts grow by turns, and one ends. A cache that is defragmented gives the very bits of one that
   never had a hole: cells keep their order. Beside a cache with the holes left, sums of float32 are
   in another order, codes of w8a16 may be the next ones. */
TEST(a_defragmented_cache_is_one_that_never_had_holes)
{
    static const char *const words[6] = { "In the", " beginning", " God created", " the", " heaven and", " the earth" };
    static const llm_names names[2] = { LLM_HUB, LLM_EXECUTORCH };
    static engine e;
    static float open[256], closed[256], dense[256];
    int floats, which, k, i;
    for (floats = 0; floats < 2; ++floats)
        for (which = 0; which < 2; ++which) {
            engine_begin(&e, 1, floats, names[which]);
            for (k = 0; k < KINDS; ++k) {
                qnnrt_llm_session_desc desc;
                qnnrt_llm_session *session;
                qnnrt_llm_cache *caches[3];
                qnnrt_llm_batch batch;
                const int32_t token = 'a';
                size_t bytes;
                memset(&desc, 0, sizeof desc);
                memset(&batch, 0, sizeof batch);
                desc.kv = kinds[k];
                desc.caches = 3;
                session = session_of(&e, &desc);
                CHECK(session != NULL);
                for (i = 0; i < 3; ++i) caches[i] = qnnrt_llm_cache_get(session, 0, (size_t)i);
                for (i = 0; i < 6; ++i) {
                    CHECK_EQ(say(caches[0], 0, words[i], NULL), QNNRT_OK);
                    CHECK_EQ(say(caches[0], 1, i % 2 != 0 ? "ab" : "xyz ", NULL), QNNRT_OK);
                }
                CHECK_EQ(qnnrt_llm_sequence_remove(caches[0], 1, -1, -1), QNNRT_OK);
                bytes = state_of(caches[0], 0);
                CHECK_EQ(qnnrt_llm_cache_copy(caches[1], caches[0]), QNNRT_OK);
                CHECK_EQ(qnnrt_llm_state_restore(caches[2], states[0], bytes), QNNRT_OK);
                CHECK(qnnrt_llm_cache_get_info(caches[1]).end > qnnrt_llm_cache_get_info(caches[1]).used);
                /* Cells that moved are not those of the last eval. */
                batch.tokens = &token;
                batch.count = 1;
                CHECK_EQ(qnnrt_llm_eval(caches[1], &batch), QNNRT_OK);
                CHECK_EQ(qnnrt_llm_defragment(caches[1]), 16);
                CHECK_EQ(qnnrt_llm_accept(caches[1], NULL, 1), QNNRT_E_STATE);
                CHECK_EQ(qnnrt_llm_defragment(caches[1]), 0);
                CHECK_EQ(qnnrt_llm_cache_get_info(caches[1]).end, qnnrt_llm_cache_get_info(caches[1]).used);
                CHECK_EQ(state_of(caches[1], 1), bytes);
                CHECK(memcmp(states[0], states[1], bytes) == 0);
                CHECK_EQ(say(caches[0], 0, ". And the e", open), QNNRT_OK);
                CHECK_EQ(say(caches[1], 0, ". And the e", closed), QNNRT_OK);
                CHECK_EQ(say(caches[2], 0, ". And the e", dense), QNNRT_OK);
                CHECK(memcmp(closed, dense, sizeof dense) == 0);
                if (k == 0) printf("  %s, holes left open: logits differ by %.2g\n", floats ? "float32" : "w8a16", apart(open, dense));
                CHECK(apart(open, dense) < (floats ? 1e-5 : 0.01));
                CHECK_EQ(say(caches[1], 0, "a", closed), QNNRT_OK);
                CHECK_EQ(say(caches[2], 0, "a", dense), QNNRT_OK);
                CHECK(memcmp(closed, dense, sizeof dense) == 0);
                qnnrt_llm_session_destroy(session);
            }
            engine_end(&e);
        }
}

/* ---- shifts ------------------------------------------------------------------------------------ */

static const char long_text[] = "And God said, Let there be light: and t";

/* Decode a text whose tokens are at positions from `first` on. */
static qnnrt_result say_at(qnnrt_llm_cache *cache, const char *text, int32_t first, float *logits)
{
    int32_t tokens[MOST], positions[MOST];
    qnnrt_llm_batch batch;
    memset(&batch, 0, sizeof batch);
    for (; text[batch.count] != '\0'; ++batch.count) {
        tokens[batch.count] = (unsigned char)text[batch.count];
        positions[batch.count] = first + (int32_t)batch.count;
    }
    batch.tokens = tokens;
    batch.positions = positions;
    batch.logits = logits;
    return qnnrt_llm_decode(cache, &batch);
}

/* Return how far the keys and values of two states of n cells are apart, in codes or as numbers;
   -1 if their positions are not the same. The first `some` tensors count, 0: all. */
static double states_apart(size_t bytes, size_t n, int floats, size_t some)
{
    const size_t t = states[0][36], head = 40 + 12 * t, keys = head + 12 * n;
    size_t at = keys, end = bytes - 8, k;
    double most = 0;
    if (memcmp(states[0] + head, states[1] + head, 12 * n) != 0) return -1;
    if (some > 0)
        for (end = keys, k = 0; k < some; ++k)
            end += n * states[0][40 + 12 * k] * states[0][44 + 12 * k] * states[0][48 + 12 * k];
    while (at < end) {
        float x = states[0][at], y = states[1][at];
        if (floats) {
            memcpy(&x, states[0] + at, 4);
            memcpy(&y, states[1] + at, 4);
        }
        if (fabs((double)x - y) > most) most = fabs((double)x - y);
        at += floats ? 4 : 1;
    }
    return most;
}

static void rope_known(double theta, qnnrt_llm_rope_pairs pairs)
{
    memset(&opening, 0, sizeof opening);
    opening.rope.theta = theta;
    opening.rope.pairs = pairs;
}

/* The graphs are the oracle: a text that was computed at positions 0 ... and shifted, at once or in
   steps, has the keys of the same text computed at the later positions, and continues like it. */
TEST(a_shifted_text_has_the_keys_of_its_new_positions)
{
    static const int32_t once[2] = { 37, 0 }, steps[7] = { 5, 60, -41, 1, -1, 13, 0 };
    static const llm_names names[2] = { LLM_HUB, LLM_EXECUTORCH };
    static engine e;
    static float got[256], expected[256];
    const size_t n = strlen(long_text);
    int floats, which, k, way, i;
    for (floats = 0; floats < 2; ++floats)
        for (which = 0; which < 2; ++which) {
            rope_known(which == 0 ? 0 : 10000, QNNRT_LLM_ROPE_HALF);
            engine_begin(&e, 2, floats, names[which]);
            for (k = 0; k < KINDS; ++k)
                for (way = 0; way < 2; ++way) {
                    const int32_t *by = way == 0 ? once : steps;
                    qnnrt_llm_session_desc desc;
                    qnnrt_llm_session *session;
                    qnnrt_llm_cache *caches[2];
                    size_t bytes;
                    double keys, first, logits;
                    memset(&desc, 0, sizeof desc);
                    desc.kv = kinds[k];
                    desc.caches = 2;
                    desc.k_shift = 1;
                    session = session_of(&e, &desc);
                    CHECK(session != NULL);
                    for (i = 0; i < 2; ++i) caches[i] = qnnrt_llm_cache_get(session, 0, (size_t)i);
                    CHECK_EQ(qnnrt_llm_can_shift(caches[0]), 1);
                    CHECK_EQ(say(caches[0], 0, long_text, NULL), QNNRT_OK);
                    for (i = 0; by[i] != 0; ++i) CHECK_EQ(qnnrt_llm_sequence_shift(caches[0], 0, -1, -1, by[i]), QNNRT_OK);
                    CHECK_EQ(qnnrt_llm_sequence_first(caches[0], 0), 37);
                    CHECK_EQ(qnnrt_llm_sequence_last(caches[0], 0), 37 + (int32_t)n - 1);
                    CHECK_EQ(say_at(caches[1], long_text, 37, NULL), QNNRT_OK);
                    bytes = state_of(caches[0], 0);
                    CHECK_EQ(state_of(caches[1], 1), bytes);
                    keys = states_apart(bytes, n, floats, 0);
                    first = states_apart(bytes, n, floats, names[which] == LLM_HUB ? 1 : 2);
                    CHECK_EQ(say(caches[0], 0, "here wa", got), QNNRT_OK);
                    CHECK_EQ(say(caches[1], 0, "here wa", expected), QNNRT_OK);
                    logits = apart(got, expected);
                    if (k == 0)
                        printf("  %s, %s, %s: keys of layer 0 differ by %.2g%s, of all by %.2g, logits by %.2g\n",
                               floats ? "float32" : "w8a16", which == 0 ? "cos and sin" : "positions",
                               way == 0 ? "one shift" : "six shifts", first, floats ? "" : " codes", keys, logits);
                    CHECK(first >= 0 && first <= (floats ? 2e-5 : way == 0 ? 1 : 4));
                    CHECK(keys <= (floats ? 1e-4 : way == 0 ? 3 : 5));
                    CHECK(logits <= (floats ? 1e-4 : way == 0 ? 0.3 : 0.6));
                    qnnrt_llm_session_destroy(session);
                }
            engine_end(&e);
        }
    memset(&opening, 0, sizeof opening);
}

/* As llama-server does it: the beginning stays, a part goes, the rest moves down. The keys of layer
   0, which know only their token and position, are those of the shorter text. */
TEST(a_context_shift_keeps_the_beginning_and_goes_on)
{
    static engine e;
    static char shorter[MOST];
    const size_t n = strlen(long_text);
    int floats, k;
    for (floats = 0; floats < 2; ++floats) {
        rope_known(0, QNNRT_LLM_ROPE_HALF);
        engine_begin(&e, 1, floats, LLM_HUB);
        for (k = 0; k < KINDS; ++k) {
            qnnrt_llm_session_desc desc;
            qnnrt_llm_session *session;
            qnnrt_llm_cache *caches[2];
            float logits[256];
            size_t bytes;
            memset(&desc, 0, sizeof desc);
            desc.kv = kinds[k];
            desc.caches = 2;
            desc.k_shift = 1;
            session = session_of(&e, &desc);
            CHECK(session != NULL);
            caches[0] = qnnrt_llm_cache_get(session, 0, 0);
            caches[1] = qnnrt_llm_cache_get(session, 0, 1);
            CHECK_EQ(say(caches[0], 0, long_text, NULL), QNNRT_OK);
            CHECK_EQ(say(caches[0], 1, "In the ", NULL), QNNRT_OK);          /* is left alone */
            CHECK_EQ(qnnrt_llm_sequence_state_save(caches[0], 1, states[1], sizeof states[1], &bytes), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_sequence_remove(caches[0], 0, 4, 14), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_sequence_shift(caches[0], 0, 14, -1, -10), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_sequence_last(caches[0], 0), (int32_t)n - 11);
            CHECK_EQ(qnnrt_llm_sequence_state_save(caches[0], 1, states[0], sizeof states[0], &bytes), QNNRT_OK);
            CHECK(memcmp(states[0], states[1], bytes) == 0);
            snprintf(shorter, sizeof shorter, "%.4s%s", long_text, long_text + 14);
            CHECK_EQ(say(caches[1], 0, shorter, NULL), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_sequence_state_save(caches[0], 0, states[0], sizeof states[0], &bytes), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_sequence_state_save(caches[1], 0, states[1], sizeof states[1], &bytes), QNNRT_OK);
            CHECK(states_apart(bytes, n - 10, floats, 1) <= (floats ? 2e-5 : 1));
            CHECK(states_apart(bytes, n - 10, floats, 0) > (floats ? 2e-5 : 1));   /* other layers know the text */
            CHECK_EQ(say(caches[0], 0, "here wa", logits), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_sequence_last(caches[0], 0), (int32_t)n - 4);
            /* Cells below 0 are free; the others are turned. */
            CHECK_EQ(qnnrt_llm_sequence_shift(caches[0], 0, -1, -1, -30), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_sequence_first(caches[0], 0), 0);
            CHECK_EQ(qnnrt_llm_cache_get_info(caches[0]).used, n - 10 + 7 - 30 + 7);
            qnnrt_llm_session_destroy(session);
        }
        engine_end(&e);
    }
    memset(&opening, 0, sizeof opening);
}

TEST(a_shift_is_refused_by_name)
{
    static const struct { int turn; llm_names names; double theta; qnnrt_llm_rope_pairs pairs; const char *text, *hint; } rows[] = {
        { 0, LLM_HUB, 0, QNNRT_LLM_ROPE_HALF, "as uint8 quantized", "k_shift" },
        { 1, LLM_HUB, 0, QNNRT_LLM_ROPE_UNKNOWN, "and which of their values RoPE pairs is unknown", "\"interleaved\"" },
        { 1, LLM_EXECUTORCH, 10000, QNNRT_LLM_ROPE_UNKNOWN, "and which of their values RoPE pairs is unknown", "\"half\"" },
        { 1, LLM_EXECUTORCH, 0, QNNRT_LLM_ROPE_HALF, "and the angles of RoPE are computed in the graphs, and unknown", "\"rope\"" }
    };
    static engine e;
    size_t i;
    for (i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        qnnrt_llm_session_desc desc;
        qnnrt_llm_session *session;
        qnnrt_llm_cache *cache;
        size_t bytes;
        rope_known(rows[i].theta, rows[i].pairs);
        engine_begin(&e, 1, 0, rows[i].names);
        memset(&desc, 0, sizeof desc);
        desc.k_shift = rows[i].turn;
        session = session_of(&e, &desc);
        CHECK(session != NULL);
        cache = qnnrt_llm_cache_get(session, 0, 0);
        CHECK_EQ(say(cache, 0, "In the", NULL), QNNRT_OK);
        bytes = state_of(cache, 0);
        CHECK_EQ(qnnrt_llm_can_shift(cache), 0);
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, 2, -1, -2), QNNRT_E_UNSUPPORTED);
        if (i > 0) CHECK_STR(qnnrt_llm_error(cache)->text, rows[i].text);
        CHECK_STR(qnnrt_llm_error(cache)->text, "RoPE");
        CHECK_STR(qnnrt_llm_error(cache)->hint, rows[i].hint);
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, 6, -1, 7), QNNRT_OK);          /* no cell would change */
        CHECK_EQ(state_of(cache, 1), bytes);
        CHECK(memcmp(states[0], states[1], bytes) == 0);
        qnnrt_llm_session_destroy(session);
        engine_end(&e);
    }
    /* Where it can shift, positions have limits. */
    rope_known(0, QNNRT_LLM_ROPE_HALF);
    engine_begin(&e, 1, 0, LLM_HUB);
    {
        qnnrt_llm_session_desc desc;
        qnnrt_llm_session *session;
        qnnrt_llm_cache *cache;
        qnnrt_llm_batch batch;
        const int32_t token = 'a';
        size_t bytes;
        memset(&desc, 0, sizeof desc);
        memset(&batch, 0, sizeof batch);
        desc.k_shift = 1;
        session = session_of(&e, &desc);
        CHECK(session != NULL);
        cache = qnnrt_llm_cache_get(session, 0, 0);
        CHECK_EQ(say(cache, 0, "In the", NULL), QNNRT_OK);
        bytes = state_of(cache, 0);
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, -1, -1, 123), QNNRT_E_ARG);
        CHECK_STR(qnnrt_llm_error(cache)->text, "at or above 128");
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, -1, -1, INT32_MAX), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 64, -1, -1, 1), QNNRT_E_ARG);
        CHECK_EQ(state_of(cache, 1), bytes);
        CHECK(memcmp(states[0], states[1], bytes) == 0);
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, -1, -1, 122), QNNRT_OK);
        batch.tokens = &token;
        batch.count = 1;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_LIMIT);
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, -1, -1, -1), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_eval(cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, -1, -1, INT32_MIN), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_accept(cache, NULL, 1), QNNRT_E_STATE);
        CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 0);
        CHECK_EQ(qnnrt_llm_can_shift(NULL), 0);
        qnnrt_llm_session_destroy(session);
    }
    engine_end(&e);
    memset(&opening, 0, sizeof opening);
}

/* Each allocation of such a session fails in turn; a shift allocates nothing. */
TEST(allocations_of_a_session_that_turns_keys)
{
    static engine e;
    qnnrt_llm_session_desc desc;
    qnnrt_llm_session *session = NULL;
    qnnrt_llm_cache *cache;
    long n, before;
    rope_known(0, QNNRT_LLM_ROPE_HALF);
    opening.hooks.alloc = counted_alloc;
    opening.hooks.free = counted_free;
    fail_at = -1;
    engine_begin(&e, 1, 0, LLM_HUB);
    memset(&desc, 0, sizeof desc);
    desc.k_shift = 1;
    before = live;
    for (n = 0; session == NULL; ++n) {
        CHECK(n < 1000);
        allocations = 0;
        fail_at = n;
        if (qnnrt_llm_session_create(&e.h.llm, 1, &desc, &session, &err) == QNNRT_OK) continue;
        CHECK_EQ(err.code, QNNRT_E_MEMORY);
        CHECK_EQ(live, before);
    }
    printf("  %ld allocations failed in turn\n", n - 1);
    CHECK(n > 10);
    fail_at = -1;
    cache = qnnrt_llm_cache_get(session, 0, 0);
    CHECK_EQ(say(cache, 0, long_text, NULL), QNNRT_OK);
    allocations = 0;
    CHECK_EQ(qnnrt_llm_sequence_shift(cache, 0, -1, -1, 3), QNNRT_OK);
    (void)qnnrt_llm_defragment(cache);
    CHECK_EQ(allocations, 0);
    qnnrt_llm_session_destroy(session);
    CHECK_EQ(live, before);
    engine_end(&e);
    memset(&opening, 0, sizeof opening);
}

TEST_MAIN("llm_engine")
{
    RUN(a_decode_ends_before_any_shard_and_changes_nothing);
    RUN(a_text_leaves_and_comes_back_beside_others_that_go_on);
    RUN(a_defragmented_cache_is_one_that_never_had_holes);
    RUN(a_shifted_text_has_the_keys_of_its_new_positions);
    RUN(a_context_shift_keeps_the_beginning_and_goes_on);
    RUN(a_shift_is_refused_by_name);
    RUN(allocations_of_a_session_that_turns_keys);
}
