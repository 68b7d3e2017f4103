/* llm_text.c - tools/qnnrt_llm.h on Qualcomm's genuine library: the texts of expected.json, and agreement
   with a float model on forced tokens

       real_llm_text RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   tests/golden/llm_argmax.txt has, for each text of expected.json, the most probable byte after
   every byte of it, by the float model (numpy, see tests/llm/reference_llm.py). The files are of
   release 2.51; an older library refuses them. */
#include "real.h"
#include "qnnrt_llm.h"

enum { CASES = 3, MOST = 128 };

typedef struct setup {
    qnnrt             *model;
    qnnrt_llm         *llm;
    qnnrt_llm_session *session;
    qnnrt_llm_cache   *cache;
    char               folder[1024];
} setup;

static void begin(setup *s, const char *name, qnnrt_llm_kv kv)
{
    char part[64], backend[1024], system[1024];
    qnnrt_error err;
    qnnrt_desc desc;
    qnnrt_llm_desc llm;
    qnnrt_llm_session_desc session;
    memset(s, 0, sizeof *s);
    memset(&desc, 0, sizeof desc);
    memset(&llm, 0, sizeof llm);
    memset(&session, 0, sizeof session);
    snprintf(part, sizeof part, "llm/%s", name);
    real_join(s->folder, test_arg(1), part);
    desc.backend_desc.path = real_library(backend, "libQnnHtp.so");
    desc.system_path = real_library(system, "libQnnSystem.so");
    session.kv = kv;
    REAL_OK(qnnrt_open(s->folder, &desc, &s->model, &err), &err);
    llm.folder = s->folder;
    REAL_OK(qnnrt_llm_open(s->model, &llm, &s->llm, &err), &err);
    REAL_OK(qnnrt_llm_session_create(&s->llm, 1, &session, &s->session, &err), &err);
    s->cache = qnnrt_llm_cache_get(s->session, 0, 0);
    CHECK(s->cache != NULL);
}

static void end(setup *s)
{
    qnnrt_llm_session_destroy(s->session);
    CHECK_EQ(qnnrt_llm_close(s->llm), QNNRT_OK);
    CHECK_EQ(qnnrt_close(s->model), QNNRT_OK);
}

/* Return a string of expected.json, which has no escapes: the `number`th after this key. */
static void expected(const char *key, int number, char *out)
{
    char path[1024], *json, *at, *stop;
    json = (char *)test_read_file(real_join(path, test_arg(1), "llm/expected.json"), NULL);
    CHECK(json != NULL);
    for (at = json; number >= 0; --number) {
        at = strstr(at, key);
        CHECK(at != NULL);
        at += strlen(key);
    }
    stop = strchr(at, '"');
    CHECK(stop != NULL && stop - at < MOST);
    memcpy(out, at, (size_t)(stop - at));
    out[stop - at] = '\0';
    free(json);
}

static size_t bytes_of(const char *text, int32_t *tokens)
{
    size_t i;
    for (i = 0; text[i] != '\0'; ++i) tokens[i] = (unsigned char)text[i];
    return i;
}

static void writes(setup *s, int number)
{
    char prompt[MOST], text[MOST], got[MOST];
    int32_t tokens[MOST], next;
    qnnrt_llm_batch batch;
    size_t i, length;
    TRY(expected("\"prompt\": \"", number, prompt));
    TRY(expected("\"text\": \"", number, text));
    length = strlen(text);
    qnnrt_llm_clear(s->cache);
    memset(&batch, 0, sizeof batch);
    batch.tokens = tokens;
    batch.count = bytes_of(prompt, tokens);
    for (i = 0; i < length; ++i) {
        REAL_OK(qnnrt_llm_decode(s->cache, &batch), qnnrt_llm_error(s->cache));
        next = qnnrt_llm_argmax(s->cache, batch.count - 1);
        CHECK(next >= 0 && next < 256);
        got[i] = (char)next;
        batch.tokens = &next;
        batch.count = 1;
    }
    got[i] = '\0';
    printf("  \"%s\" -> \"%s\"\n", prompt, got);
    CHECK(strcmp(got, text) == 0);
}

static void writes_all(const char *folder, qnnrt_llm_kv kv, int cases)
{
    setup s;
    int i;
    TRY(begin(&s, folder, kv));
    for (i = 0; i < cases; ++i) TRY(writes(&s, i));
    TRY(end(&s));
}

TEST(one_context_writes_the_text_of_genie)   { TRY(writes_all("w8a16_one", QNNRT_LLM_SMART_MASK, CASES)); }
TEST(four_shards_write_the_text_of_genie)    { TRY(writes_all("w8a16_four", QNNRT_LLM_SMART_MASK, CASES)); }
TEST(one_context_writes_it_with_a_moving_window) { TRY(writes_all("w8a16_one", QNNRT_LLM_SHIFT_POINTER, 1)); }
TEST(four_shards_write_it_with_a_moving_window)  { TRY(writes_all("w8a16_four", QNNRT_LLM_SHIFT_POINTER, 1)); }

/* ---- forced tokens -------------------------------------------------------------------------------- */

/* Force every byte of the three texts; compare the predicted next byte with the float model. */
static void agrees(const char *folder, qnnrt_llm_kv kv, double least)
{
    static float logits[MOST * 256];
    unsigned char wanted[MOST];
    char path[1024], prompt[MOST], text[2 * MOST], *golden, *at;
    int32_t tokens[2 * MOST];
    setup s;
    int number, rows = 0, same = 0;
    golden = at = (char *)test_read_file("tests/golden/llm_argmax.txt", NULL);
    CHECK(golden != NULL);
    TRY(begin(&s, folder, kv));
    memset(wanted, 1, sizeof wanted);
    for (number = 0; number < CASES; ++number) {
        qnnrt_llm_batch batch;
        size_t i;
        TRY(expected("\"prompt\": \"", number, prompt));
        TRY(expected("\"text\": \"", number, text + MOST));
        snprintf(text, MOST, "%.60s%.64s", prompt, text + MOST);
        qnnrt_llm_clear(s.cache);
        memset(&batch, 0, sizeof batch);
        batch.tokens = tokens;
        batch.count = bytes_of(text, tokens);
        batch.wanted = wanted;
        batch.logits = logits;
        REAL_OK(qnnrt_llm_decode(s.cache, &batch), qnnrt_llm_error(s.cache));
        for (i = 0; i < batch.count; ++i, ++rows) {
            const float *row = logits + i * 256;
            long most = strtol(at, &at, 10);
            int best = 0, v;
            for (v = 1; v < 256; ++v) if (row[v] > row[best]) best = v;
            same += best == most;
        }
    }
    printf("  %s: %d of %d rows have the largest logit where the float model has it (%.1f %%)\n", folder,
           same, rows, 100.0 * same / rows);
    CHECK(rows == 248 && same >= least * rows);
    free(golden);
    TRY(end(&s));
}

TEST(half_precision_agrees_with_the_float_model) { TRY(agrees("f32io_one", QNNRT_LLM_SMART_MASK, 0.99)); }
TEST(quantized_agrees_with_the_float_model)           { TRY(agrees("w8a16_one", QNNRT_LLM_SMART_MASK, 0.97)); }
TEST(quantized_shards_agree_with_the_float_model) { TRY(agrees("w8a16_four", QNNRT_LLM_SHIFT_POINTER, 0.97)); }

/* Shard 0 of another model: the text would be fluent but wrong. */
TEST(mixed_shards_are_refused_at_the_cut)
{
    char path[1024], backend[1024], system[1024];
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;
    qnnrt_llm *llm;
    memset(&desc, 0, sizeof desc);
    desc.backend_desc.path = real_library(backend, "libQnnHtp.so");
    desc.system_path = real_library(system, "libQnnSystem.so");
    REAL_OK(qnnrt_open(real_join(path, test_arg(1), "llm/bad_mixed_shards"), &desc, &model, &err), &err);
    TEST_JUNK(err);
    CHECK(qnnrt_llm_open(model, NULL, &llm, &err) == QNNRT_E_MISMATCH && llm == NULL);
    printf("  %s\n", err.text);
    CHECK(strstr(err.text, "_model_embed_tokens_Gather_output_0") != NULL);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

TEST_MAIN_ARGS("real_llm_text", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    if (real_no_device() || real_library_release() < 2051) {
        printf("the files are of release 2.51, for a machine with an NPU or its emulator\n");
        return;
    }
    RUN(one_context_writes_the_text_of_genie);
    RUN(four_shards_write_the_text_of_genie);
    RUN(one_context_writes_it_with_a_moving_window);
    RUN(four_shards_write_it_with_a_moving_window);
    RUN(half_precision_agrees_with_the_float_model);
    RUN(quantized_agrees_with_the_float_model);
    RUN(quantized_shards_agree_with_the_float_model);
    RUN(mixed_shards_are_refused_at_the_cut);
}
