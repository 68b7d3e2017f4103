/* llm_engine.c - what inference engines ask of tools/qnnrt_llm.h, on Qualcomm's genuine library

       real_llm_engine RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   One text saved and restored beside others, decodes that end early, graphs by cost, holes that are
   closed, and shifts of a context, on w8a16_one and w8a16_four. Results are compared with those of a
   cache to which nothing happened. The files are of release 2.51; an older library refuses them. */
#include "real.h"
#include "qnnrt_llm.h"
#include <math.h>

enum { WORDS = 256, MOST = 128, STATE = 1 << 18 };

typedef struct setup {
    qnnrt             *model;
    qnnrt_llm         *llm;
    qnnrt_llm_session *session;
    qnnrt_llm_cache   *cache[2];
} setup;

static unsigned char states[2][STATE];

static void begin(setup *s, const char *name, const qnnrt_llm_session_desc *how)
{
    char folder[1024], part[64], backend[1024], system[1024];
    qnnrt_error err;
    qnnrt_desc desc;
    qnnrt_llm_desc llm;
    memset(s, 0, sizeof *s);
    memset(&desc, 0, sizeof desc);
    memset(&llm, 0, sizeof llm);
    snprintf(part, sizeof part, "llm/%s", name);
    real_join(folder, test_arg(1), part);
    desc.backend_desc.path = real_library(backend, "libQnnHtp.so");
    desc.system_path = real_library(system, "libQnnSystem.so");
    REAL_OK(qnnrt_open(folder, &desc, &s->model, &err), &err);
    llm.rope.theta = 10000;
    llm.rope.pairs = QNNRT_LLM_ROPE_HALF;
    REAL_OK(qnnrt_llm_open(s->model, &llm, &s->llm, &err), &err);
    REAL_OK(qnnrt_llm_session_create(&s->llm, 1, how, &s->session, &err), &err);
    s->cache[0] = qnnrt_llm_cache_get(s->session, 0, 0);
    s->cache[1] = qnnrt_llm_cache_get(s->session, 0, 1);
}

static void end(setup *s)
{
    qnnrt_llm_session_destroy(s->session);
    CHECK_EQ(qnnrt_llm_close(s->llm), QNNRT_OK);
    CHECK_EQ(qnnrt_close(s->model), QNNRT_OK);
}

/* Decode a text as a sequence, from position `first` on (-1: the next), and write the logits of its
   last token. */
static qnnrt_result say_at(qnnrt_llm_cache *cache, uint32_t sequence, int32_t first, const char *text, float *logits)
{
    int32_t tokens[MOST], positions[MOST];
    qnnrt_llm_batch batch;
    memset(&batch, 0, sizeof batch);
    for (; text[batch.count] != '\0'; ++batch.count) {
        tokens[batch.count] = (unsigned char)text[batch.count];
        positions[batch.count] = first + (int32_t)batch.count;
    }
    batch.tokens = tokens;
    batch.sequence = sequence;
    batch.positions = first < 0 ? NULL : positions;
    batch.logits = logits;
    return qnnrt_llm_decode(cache, &batch);
}

static qnnrt_result say(qnnrt_llm_cache *cache, uint32_t sequence, const char *text, float *logits)
{
    return say_at(cache, sequence, -1, text, logits);
}

static size_t state_of(qnnrt_llm_cache *cache, int which)
{
    size_t bytes = 0;
    if (qnnrt_llm_state_save(cache, states[which], STATE, &bytes) != QNNRT_OK) printf("%s\n", qnnrt_llm_error(cache)->text);
    return bytes;
}

static double apart(const float *a, const float *b)
{
    double most = 0;
    int i;
    for (i = 0; i < WORDS; ++i) if (fabs((double)a[i] - b[i]) > most) most = fabs((double)a[i] - b[i]);
    return most;
}

static int best(const float *logits)
{
    int i, most = 0;
    for (i = 1; i < WORDS; ++i) if (logits[i] > logits[most]) most = i;
    return most;
}

/* ---- one text leaves and comes back ------------------------------------------------------------ */

static void leaves(const char *name, qnnrt_llm_kv kv)
{
    static const char *const texts[3] = { "In the beginning ", "And the LORD said ", "The king " };
    static const char *const ends[3] = { "God cr", "unto M", "of Isr" };
    static float expected[3][WORDS], got[WORDS];
    qnnrt_llm_session_desc how;
    size_t bytes;
    setup s;
    int i;
    memset(&how, 0, sizeof how);
    how.caches = 2;
    how.kv = kv;
    TRY(begin(&s, name, &how));
    for (i = 0; i < 3; ++i) {
        qnnrt_llm_clear(s.cache[0]);
        CHECK_EQ(say(s.cache[0], 0, texts[i], NULL), QNNRT_OK);
        CHECK_EQ(say(s.cache[0], 0, ends[i], expected[i]), QNNRT_OK);
    }
    qnnrt_llm_clear(s.cache[0]);
    for (i = 0; i < 3; ++i) CHECK_EQ(say(s.cache[0], (uint32_t)i, texts[i], NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_state_save(s.cache[0], 1, states[0], STATE, &bytes), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_remove(s.cache[0], 1, -1, -1), QNNRT_OK);
    CHECK_EQ(say(s.cache[0], 0, ends[0], got), QNNRT_OK);
    CHECK(memcmp(got, expected[0], sizeof got) == 0);
    CHECK_EQ(qnnrt_llm_sequence_state_restore(s.cache[0], 9, states[0], bytes), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_state_restore(s.cache[1], 63, states[0], bytes), QNNRT_OK);
    CHECK_EQ(say(s.cache[0], 2, ends[2], got), QNNRT_OK);
    CHECK(memcmp(got, expected[2], sizeof got) == 0);
    CHECK_EQ(say(s.cache[0], 9, ends[1], got), QNNRT_OK);
    CHECK(memcmp(got, expected[1], sizeof got) == 0);
    CHECK_EQ(say(s.cache[1], 63, ends[1], got), QNNRT_OK);
    CHECK(memcmp(got, expected[1], sizeof got) == 0);
    /* Damaged and short states leave the cache as it is. */
    bytes = state_of(s.cache[1], 0);
    states[0][bytes / 2] ^= 1;
    CHECK_EQ(qnnrt_llm_sequence_state_restore(s.cache[1], 63, states[0], bytes), QNNRT_E_FORMAT);
    CHECK_EQ(qnnrt_llm_state_restore(s.cache[1], states[0], bytes - 1), QNNRT_E_FORMAT);
    states[0][bytes / 2] ^= 1;
    CHECK_EQ(state_of(s.cache[1], 1), bytes);
    CHECK(memcmp(states[0], states[1], bytes) == 0);
    TRY(end(&s));
}

TEST(a_text_leaves_and_comes_back)
{
    TRY(leaves("w8a16_one", QNNRT_LLM_SMART_MASK));
    TRY(leaves("w8a16_one", QNNRT_LLM_SHIFT_POINTER));
    TRY(leaves("w8a16_four", QNNRT_LLM_SMART_MASK));
}

/* ---- a decode that ends early ------------------------------------------------------------------ */

static int calls, ends_at;

static int progress(void *user, const qnnrt_llm_progress *at)
{
    (void)user;
    (void)at;
    return calls++ == ends_at;
}

static void aborts(const char *name, int shards)
{
    static const char before[] = "In the beginning ";
    static const char more[] = "God created the heaven and the earth. And ";   /* two chunks of 32 */
    static float expected[2][WORDS], got[WORDS];
    qnnrt_llm_session_desc how;
    size_t bytes;
    setup s;
    int n;
    memset(&how, 0, sizeof how);
    how.progress = progress;
    ends_at = -1;
    TRY(begin(&s, name, &how));
    CHECK_EQ(say(s.cache[0], 0, before, NULL), QNNRT_OK);
    CHECK_EQ(say(s.cache[0], 0, more, expected[0]), QNNRT_OK);
    CHECK_EQ(say(s.cache[0], 0, "G", expected[1]), QNNRT_OK);
    qnnrt_llm_clear(s.cache[0]);
    CHECK_EQ(say(s.cache[0], 0, before, NULL), QNNRT_OK);
    bytes = state_of(s.cache[0], 0);
    for (n = 0; n < 2 * shards; ++n) {
        calls = 0;
        ends_at = n;
        CHECK_EQ(say(s.cache[0], 0, more, got), QNNRT_E_CANCELLED);
        CHECK_EQ(calls, n + 1);
        CHECK_EQ(state_of(s.cache[0], 1), bytes);
        CHECK(memcmp(states[0], states[1], bytes) == 0);
    }
    ends_at = -1;
    CHECK_EQ(say(s.cache[0], 0, more, got), QNNRT_OK);
    CHECK(memcmp(got, expected[0], sizeof got) == 0);
    ends_at = calls = 0;
    CHECK_EQ(say(s.cache[0], 0, "G", got), QNNRT_E_CANCELLED);
    ends_at = -1;
    CHECK_EQ(say(s.cache[0], 0, "G", got), QNNRT_OK);
    CHECK(memcmp(got, expected[1], sizeof got) == 0);
    TRY(end(&s));
}

TEST(a_decode_ends_early_and_changes_nothing)
{
    TRY(aborts("w8a16_one", 1));
    TRY(aborts("w8a16_four", 4));
}

/* ---- graphs by cost ---------------------------------------------------------------------------- */

static uint64_t count_ns(void *user) { return ++*(uint64_t *)user; }

TEST(graphs_run_by_cost)
{
    static float expected[WORDS], got[WORDS];
    qnnrt_llm_session_desc how;
    const qnnrt_llm_info *info;
    uint64_t clock = 0, runs[2];
    size_t g, small = 0, large = 0;
    setup s;
    memset(&how, 0, sizeof how);
    how.clock_ns = count_ns;
    how.clock_user = &clock;
    how.by_cost = 1;
    TRY(begin(&s, "w8a16_one", &how));
    info = qnnrt_llm_get_info(s.llm);
    CHECK_EQ(info->graph_count, 2);
    for (g = 0; g < 2; ++g) if (info->graphs[g].ar == 1) small = g; else large = g;
    CHECK_EQ(say(s.cache[0], 0, "In the beginning ", NULL), QNNRT_OK);
    CHECK_EQ(say(s.cache[0], 0, "G", NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_remove(s.cache[0], 0, 17, -1), QNNRT_OK);
    CHECK(qnnrt_llm_cost_get(s.session, 0, small) > 0 && qnnrt_llm_cost_get(s.session, 0, large) > 0);
    CHECK_EQ(qnnrt_llm_cost_set(s.session, 0, small, 100), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_cost_set(s.session, 0, large, 150), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_cost_set(s.session, 0, 2, 150), QNNRT_E_ARG);
    for (g = 0; g < 2; ++g) runs[g] = qnnrt_llm_session_runs(s.session, 0, g);
    CHECK_EQ(say(s.cache[0], 0, "God", expected), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_session_runs(s.session, 0, large), runs[large] + 1);
    CHECK_EQ(qnnrt_llm_session_runs(s.session, 0, small), runs[small]);
    CHECK_EQ(qnnrt_llm_sequence_remove(s.cache[0], 0, 17, -1), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_cost_set(s.session, 0, large, 301), QNNRT_OK);
    CHECK_EQ(say(s.cache[0], 0, "God", got), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_session_runs(s.session, 0, large), runs[large] + 1);
    CHECK_EQ(qnnrt_llm_session_runs(s.session, 0, small), runs[small] + 3);
    printf("  3 tokens in one step and in three: logits differ by %.2g\n", apart(got, expected));
    CHECK(best(got) == best(expected) && apart(got, expected) < 0.5);
    TRY(end(&s));
}

/* ---- holes ------------------------------------------------------------------------------------- */

static void closes(const char *name, qnnrt_llm_kv kv)
{
    static const char *const words[4] = { "In the", " beginning", " God created", " the heaven" };
    static float closed[WORDS], dense[WORDS], open[WORDS];
    qnnrt_llm_session_desc how;
    size_t bytes;
    setup s;
    int i;
    memset(&how, 0, sizeof how);
    how.caches = 2;
    how.kv = kv;
    TRY(begin(&s, name, &how));
    for (i = 0; i < 4; ++i) {
        CHECK_EQ(say(s.cache[0], 0, words[i], NULL), QNNRT_OK);
        CHECK_EQ(say(s.cache[0], 1, "xyz ", NULL), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_llm_sequence_remove(s.cache[0], 1, -1, -1), QNNRT_OK);
    bytes = state_of(s.cache[0], 0);
    CHECK_EQ(say(s.cache[0], 0, " and", open), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_state_restore(s.cache[1], states[0], bytes), QNNRT_OK);
    CHECK_EQ(say(s.cache[1], 0, " and", dense), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_remove(s.cache[0], 0, 39, -1), QNNRT_OK);
    CHECK(qnnrt_llm_defragment(s.cache[0]) > 0);
    CHECK_EQ(qnnrt_llm_cache_get_info(s.cache[0]).end, qnnrt_llm_cache_get_info(s.cache[0]).used);
    CHECK_EQ(say(s.cache[0], 0, " and", closed), QNNRT_OK);
    CHECK(memcmp(closed, dense, sizeof dense) == 0);
    printf("  %s, holes left open: logits differ by %.2g\n", name, apart(open, dense));
    CHECK(apart(open, dense) < 0.5);
    TRY(end(&s));
}

TEST(a_defragmented_cache_is_one_that_never_had_holes)
{
    TRY(closes("w8a16_one", QNNRT_LLM_SMART_MASK));
    TRY(closes("w8a16_four", QNNRT_LLM_SHIFT_POINTER));
}

/* ---- shifts ------------------------------------------------------------------------------------ */

/* Compare the keys of layer 0 in two states of n cells: *most is the largest difference in codes, *more
   counts those above 1. -1 if the cells are not the same. */
static int keys_apart(size_t n, int *most, int *more)
{
    const unsigned char *of = states[0] + 40;
    const size_t cells = 40 + 12 * (size_t)states[0][36], end = cells + 12 * n + n * of[0] * of[4] * of[8];
    size_t at;
    *most = *more = 0;
    if (memcmp(states[0] + cells, states[1] + cells, 12 * n) != 0) return -1;
    for (at = cells + 12 * n; at < end; ++at) {
        const int off = abs((int)states[0][at] - (int)states[1][at]);
        if (off > *most) *most = off;
        *more += off > 1;
    }
    return (int)(end - cells - 12 * n);
}

static void shifts(const char *name, qnnrt_llm_kv kv)
{
    static const char text[] = "And God said, Let there be light: and t";
    static float got[WORDS], expected[WORDS];
    qnnrt_llm_session_desc how;
    size_t bytes;
    setup s;
    int keys, most, more, i;
    memset(&how, 0, sizeof how);
    how.caches = 2;
    how.kv = kv;
    how.k_shift = 1;
    TRY(begin(&s, name, &how));
    CHECK_EQ(qnnrt_llm_can_shift(s.cache[0]), 1);
    CHECK_EQ(say(s.cache[0], 0, text, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_shift(s.cache[0], 0, -1, -1, 37), QNNRT_OK);
    CHECK_EQ(say_at(s.cache[1], 0, 37, text, NULL), QNNRT_OK);
    bytes = state_of(s.cache[0], 0);
    CHECK_EQ(state_of(s.cache[1], 1), bytes);
    keys = keys_apart(strlen(text), &most, &more);
    CHECK_EQ(say(s.cache[0], 0, "here wa", got), QNNRT_OK);
    CHECK_EQ(say(s.cache[1], 0, "here wa", expected), QNNRT_OK);
    printf("  %s shifted by 37: %d of %d keys of layer 0 differ by more than 1 code, at most by %d; logits by %.2g\n",
           name, more, keys, most, apart(got, expected));
    /* The graph's own ranges clip the keys of one token at its first position: no shift brings back
       what was never stored. */
    CHECK(keys == 39 * 64 && more <= 2 && most <= 8);
    CHECK(best(got) == best(expected) && apart(got, expected) < 0.6);
    /* As llama-server does it, until the text is longer than the context. */
    CHECK_EQ(qnnrt_llm_sequence_shift(s.cache[0], 0, -1, -1, -37), QNNRT_OK);
    for (i = 0; i < 12; ++i) {
        CHECK_EQ(say(s.cache[0], 0, " and there was light", got), QNNRT_OK);
        if (qnnrt_llm_sequence_last(s.cache[0], 0) < 70) continue;
        CHECK_EQ(qnnrt_llm_sequence_remove(s.cache[0], 0, 4, 34), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_sequence_shift(s.cache[0], 0, 34, -1, -30), QNNRT_OK);
    }
    TRY(end(&s));
}

TEST(a_shifted_text_has_the_keys_of_its_new_positions)
{
    TRY(shifts("w8a16_one", QNNRT_LLM_SMART_MASK));
    TRY(shifts("w8a16_four", QNNRT_LLM_SHIFT_POINTER));
}

/* ---- adapters ---------------------------------------------------------------------------------- */

TEST(a_model_without_room_for_adapters_says_so)
{
    static const float a[4] = { 1, 2, 3, 4 };
    const qnnrt_llm_matrix part = { "layers.0.mlp.up_proj.lora_A.weight", QNNRT_DTYPE_F32, 1, 4, a };
    const qnnrt_llm_adapter_desc desc = { &part, 1, 0 };
    qnnrt_llm_adapter *adapter = (qnnrt_llm_adapter *)1;
    qnnrt_error err;
    setup s;
    TRY(begin(&s, "w8a16_one", NULL));
    CHECK_EQ(qnnrt_llm_adapter_create(s.llm, &desc, &adapter, &err), QNNRT_E_UNSUPPORTED);
    CHECK(adapter == NULL);
    printf("  %s\n", err.text);
    CHECK_STR(err.text, "adapter");
    TRY(end(&s));
}

TEST_MAIN_ARGS("real_llm_engine", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    if (real_no_device() || real_library_release() < 2051) {
        printf("the files are of release 2.51, for a machine with an NPU or its emulator\n");
        return;
    }
    RUN(a_text_leaves_and_comes_back);
    RUN(a_decode_ends_early_and_changes_nothing);
    RUN(graphs_run_by_cost);
    RUN(a_defragmented_cache_is_one_that_never_had_holes);
    RUN(a_shifted_text_has_the_keys_of_its_new_positions);
    RUN(a_model_without_room_for_adapters_says_so);
}
