/* qnnrt_llm.h on pipelines with steps of several kinds: the table of embeddings on the host

   The model of tests/data/llm, on libQnnRef.so. Its logits must be those of the same model with the table in the
   graphs, bit by bit: the look-up copies, and rounds where it converts. */
#include "host_llm.h"
#include "backend.h"

#define MODEL "tests/data/llm/model"

static qnnrt_error err;

static qnnrt_backend *reference(void)
{
    qnnrt_backend *backend = NULL;
    if (test_ref_backend(&backend, &err) != QNNRT_OK) stop(err.text);
    return backend;
}

static const char prompt[] = "And the LORD said unto Moses, Spe";       /* 33 bytes: both graphs */

enum { STEPS = 4 };

typedef struct logits { float rows[STEPS][256]; } logits;

/* Decode a prompt of two chunks, then its best tokens; keep the logits of each step. */
static void steps_of(const host_llm *h, qnnrt_llm_kv kv, logits *out, qnnrt_llm_session_info *info)
{
    qnnrt_llm_session *session;
    qnnrt_llm_session_desc desc;
    qnnrt_llm_cache *cache;
    qnnrt_llm_batch batch;
    int32_t tokens[64], next;
    size_t i;
    memset(&desc, 0, sizeof desc);
    memset(&batch, 0, sizeof batch);
    desc.kv = kv;
    if (qnnrt_llm_session_create(&h->llm, 1, &desc, &session, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(session != NULL);
    cache = qnnrt_llm_cache_get(session, 0, 0);
    for (i = 0; prompt[i] != '\0'; ++i) tokens[i] = (unsigned char)prompt[i];
    batch.tokens = tokens;
    batch.count = i;
    for (i = 0; i < STEPS; ++i) {
        batch.logits = out->rows[i];
        if (qnnrt_llm_decode(cache, &batch) != QNNRT_OK) printf("%s\n", qnnrt_llm_error(cache)->text);
        CHECK_EQ(qnnrt_llm_error(cache)->code, QNNRT_OK);
        next = qnnrt_llm_argmax(cache, batch.count - 1);
        batch.tokens = &next;
        batch.count = 1;
    }
    *info = qnnrt_llm_session_get_info(session);
    qnnrt_llm_session_destroy(session);
}

TEST(a_table_on_the_host_gives_the_logits_of_one_in_the_graphs)
{
    static const host_llm_kind kinds[] = { HOST_LLM_IN_GRAPH, HOST_LLM_CODES, HOST_LLM_FLOATS, HOST_LLM_HALF };
    static const qnnrt_llm_kv kvs[] = { QNNRT_LLM_SMART_MASK, QNNRT_LLM_SHIFT_POINTER };
    static logits expected, got;
    static host_llm h;
    qnnrt_backend *backend = reference();
    qnnrt_llm_session_info info;
    size_t k, v;
    for (k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
        host_llm_make(&h, backend, MODEL, kinds[k]);
        CHECK_EQ(qnnrt_llm_get_info(h.llm)->graph_count, HOST_LLM_GRAPHS);
        CHECK_EQ(qnnrt_llm_get_info(h.llm)->ar, HOST_LLM_PREFILL);
        CHECK_EQ(qnnrt_llm_get_info(h.llm)->vocabulary, 256);
        for (v = 0; v < (kinds[k] == HOST_LLM_IN_GRAPH ? 1 : 2); ++v) {
            TRY(steps_of(&h, kvs[v], kinds[k] == HOST_LLM_IN_GRAPH ? &expected : &got, &info));
            CHECK_EQ(info.steps, STEPS + 1);
            CHECK_EQ(info.executes, STEPS + 1);     /* host steps and conversions are not counted */
            if (kinds[k] == HOST_LLM_CODES || kinds[k] == HOST_LLM_FLOATS)
                CHECK(memcmp(&got, &expected, sizeof got) == 0);
        }
        host_llm_close(&h);
    }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* Open the model again so that sessions look rows up, and compare it with the look-up as a step. */
TEST(sessions_that_look_rows_up_give_the_same_logits)
{
    static const host_llm_kind kinds[] = { HOST_LLM_CODES, HOST_LLM_FLOATS, HOST_LLM_HALF };
    static logits expected, got;
    static host_llm h;
    static float row[2 * 128];
    static const int32_t tokens[3] = { 'A', -1, 'd' };
    qnnrt_backend *backend = reference();
    qnnrt_llm_session_info info;
    qnnrt_llm_session *session;
    qnnrt_llm_cache *cache;
    qnnrt_llm_batch batch;
    qnnrt_llm_desc desc;
    qnnrt_llm *before;
    uint64_t fingerprint;
    size_t k;
    for (k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
        host_llm_make(&h, backend, MODEL, kinds[k]);
        CHECK(qnnrt_llm_get_info(h.llm)->embeddings == NULL);
        TRY(steps_of(&h, QNNRT_LLM_SMART_MASK, &expected, &info));
        memset(&desc, 0, sizeof desc);
        desc.made = (const qnnrt_pipeline *const *)h.made;
        desc.made_count = HOST_LLM_GRAPHS;
        desc.embeddings = 1;
        before = h.llm;
        CHECK_EQ(qnnrt_llm_open(h.model, &desc, &h.llm, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_get_info(h.llm)->width, 128);
        CHECK_EQ(qnnrt_llm_get_info(h.llm)->embeddings->dtype, QNNRT_DTYPE_U16Q);
        TRY(steps_of(&h, QNNRT_LLM_SHIFT_POINTER, &got, &info));
        CHECK(memcmp(&got, &expected, sizeof got) == 0);
        /* A row of the table that is given as an embedding is the token. */
        CHECK_EQ(qnnrt_llm_session_create(&h.llm, 1, NULL, &session, &err), QNNRT_OK);
        cache = qnnrt_llm_cache_get(session, 0, 0);
        memset(&batch, 0, sizeof batch);
        memcpy(row + 128, h.table + 'n' * 128, 128 * sizeof *row);
        batch.tokens = tokens;
        batch.count = 2;
        batch.embeddings = row;
        batch.logits = got.rows[0];
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        qnnrt_llm_session_destroy(session);
        CHECK_EQ(qnnrt_llm_session_create(&before, 1, NULL, &session, &err), QNNRT_OK);
        cache = qnnrt_llm_cache_get(session, 0, 0);
        batch.embeddings = NULL;
        batch.tokens = (const int32_t[2]){ 'A', 'n' };
        batch.logits = got.rows[1];
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_OK);
        if (kinds[k] != HOST_LLM_HALF) CHECK(memcmp(got.rows[0], got.rows[1], sizeof got.rows[0]) == 0);
        batch.embeddings = row;
        CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
        CHECK_STR(qnnrt_llm_error(cache)->hint, "desc.embeddings");
        qnnrt_llm_session_destroy(session);
        /* States belong to a table here, too. */
        fingerprint = qnnrt_llm_get_info(h.llm)->fingerprint;
        CHECK_EQ(qnnrt_llm_close(before), QNNRT_OK);
        if (kinds[k] == HOST_LLM_HALF) {
            memset(h.half, 0, 64);
            CHECK_EQ(qnnrt_llm_open(h.model, &desc, &before, &err), QNNRT_OK);
            CHECK(qnnrt_llm_get_info(before)->fingerprint != fingerprint);
            CHECK_EQ(qnnrt_llm_close(before), QNNRT_OK);
        }
        host_llm_close(&h);
    }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST(a_token_outside_the_table_is_an_error_that_changes_nothing)
{
    static host_llm h;
    qnnrt_backend *backend = reference();
    qnnrt_llm_session *session;
    qnnrt_llm_cache *cache;
    qnnrt_llm_batch batch;
    int32_t tokens[2] = { 'A', 'z' };
    char before[9], after[9];
    host_llm_rows = 'z';
    host_llm_make(&h, backend, MODEL, HOST_LLM_CODES);
    host_llm_rows = 0;
    CHECK_EQ(qnnrt_llm_session_create(&h.llm, 1, NULL, &session, &err), QNNRT_OK);
    cache = qnnrt_llm_cache_get(session, 0, 0);
    CHECK_EQ(host_llm_write(cache, "And the LORD said unto ", before, 8), QNNRT_OK);
    CHECK(strcmp(before, "him, Wha") == 0);
    qnnrt_llm_clear(cache);
    memset(&batch, 0, sizeof batch);
    batch.tokens = tokens;
    batch.count = 2;
    CHECK_EQ(qnnrt_llm_decode(cache, &batch), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(cache)->text, "\"embedding\"");
    CHECK_STR(qnnrt_llm_error(cache)->text, "\"input_ids\"[1] is 122");
    CHECK_STR(qnnrt_llm_error(cache)->text, "0 to 121");
    CHECK_EQ(qnnrt_llm_cache_get_info(cache).used, 0);
    CHECK_EQ(host_llm_write(cache, "And the LORD said unto ", after, 8), QNNRT_OK);
    CHECK(strcmp(before, after) == 0);
    qnnrt_llm_session_destroy(session);
    host_llm_close(&h);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* ---- descriptions, and what is refused --------------------------------------------------------- */

static void collect(void *user, const char *text)
{
    char *all = (char *)user;
    snprintf(all + strlen(all), 32768 - strlen(all), "%s\n", text);
}

TEST(steps_edges_and_constants_are_described)
{
    static char text[32768];
    static host_llm h;
    qnnrt_backend *backend = reference();
    host_llm_make(&h, backend, MODEL, HOST_LLM_FLOATS);
    text[0] = '\0';
    qnnrt_llm_describe(h.llm, collect, text);
    CHECK_STR(text, "graph \"decode\": 1 tokens per call, context 128\n");
    CHECK_STR(text, "step 0: host \"embedding\"\n");
    CHECK_STR(text, "step 1: convert ");
    CHECK_STR(text, "step 2: context 0, graph \"decode\"\n");
    CHECK_STR(text, "input_ids  ");
    CHECK_STR(text, "  tokens  ");
    CHECK_STR(text, "  constant  ");
    CHECK_STR(text, "  edge  ");
    CHECK_STR(text, "  logits  ");
    host_llm_close(&h);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* A saved state belongs to a table, too. */
TEST(another_table_is_another_model)
{
    static host_llm h;
    qnnrt_backend *backend = reference();
    uint64_t fingerprint;
    qnnrt_llm *other;
    qnnrt_llm_desc desc;
    memset(&desc, 0, sizeof desc);
    host_llm_make(&h, backend, MODEL, HOST_LLM_HALF);
    fingerprint = qnnrt_llm_get_info(h.llm)->fingerprint;
    desc.made = (const qnnrt_pipeline *const *)h.made;
    desc.made_count = HOST_LLM_GRAPHS;
    CHECK_EQ(qnnrt_llm_open(h.model, &desc, &other, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_get_info(other)->fingerprint, fingerprint);
    CHECK_EQ(qnnrt_llm_close(other), QNNRT_OK);
    memset(h.half, 0, 64);
    CHECK_EQ(qnnrt_llm_open(h.model, &desc, &other, &err), QNNRT_OK);
    CHECK(qnnrt_llm_get_info(other)->fingerprint != fingerprint);
    CHECK_EQ(qnnrt_llm_close(other), QNNRT_OK);
    host_llm_close(&h);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST(pipelines_of_the_caller_are_checked)
{
    static host_llm h, other;
    static const char *const names[] = { "prefill", "decode" };
    qnnrt_backend *backend = reference();
    const qnnrt_pipeline *made[2];
    qnnrt_llm_desc desc;
    qnnrt_llm *llm;
    static const int32_t token = 1;
    qnnrt_llm_batch batch;
    qnnrt_llm_session *session;
    host_llm_make(&h, backend, MODEL, HOST_LLM_CODES);
    host_llm_make(&other, backend, MODEL, HOST_LLM_CODES);
    memset(&desc, 0, sizeof desc);
    desc.made_count = 2;
    CHECK_EQ(qnnrt_llm_open(h.model, &desc, &llm, &err), QNNRT_E_ARG);
    desc.made = made;
    made[0] = h.made[0];
    made[1] = NULL;
    CHECK_EQ(qnnrt_llm_open(h.model, &desc, &llm, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "desc.made[1]");
    made[1] = other.made[1];
    CHECK_EQ(qnnrt_llm_open(h.model, &desc, &llm, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"decode\"");
    CHECK_STR(err.text, "step 1");
    made[1] = h.made[0];
    CHECK_EQ(qnnrt_llm_open(h.model, &desc, &llm, &err), QNNRT_E_MISMATCH);     /* equal tokens per call */
    made[1] = h.made[1];
    desc.pipelines = names;
    desc.pipeline_count = 2;
    CHECK_EQ(qnnrt_llm_open(h.model, &desc, &llm, &err), QNNRT_E_ARG);
    /* The graphs alone take embeddings, and nothing looks tokens up. */
    desc.made_count = 0;
    CHECK_EQ(qnnrt_llm_open(h.model, &desc, &llm, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_session_create(&llm, 1, NULL, &session, &err), QNNRT_OK);
    memset(&batch, 0, sizeof batch);
    batch.tokens = &token;
    batch.count = 1;
    CHECK_EQ(qnnrt_llm_decode(qnnrt_llm_cache_get(session, 0, 0), &batch), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(qnnrt_llm_cache_get(session, 0, 0))->text, "there is no table");
    qnnrt_llm_session_destroy(session);
    CHECK_EQ(qnnrt_llm_close(llm), QNNRT_OK);
    host_llm_close(&other);
    host_llm_close(&h);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* Two shards that both count layers from 0: their caches have one name, and must be kept apart. */
TEST(caches_of_one_name_must_be_apart)
{
    static const char *const kinds[] = { "past_key", "past_value" };
    static host_llm h;
    static char names[16][64];
    qnnrt_backend *backend = reference();
    qnnrt_llm_role_desc roles[16];
    qnnrt_use_desc apart[8];
    qnnrt_step_desc steps[2];
    qnnrt_conversion wish;
    qnnrt_edge_desc edge;
    qnnrt_pipeline_desc desc;
    qnnrt_pipeline *pipeline;
    qnnrt_llm_desc llm_desc;
    qnnrt_llm *llm;
    qnnrt_builder *builder;
    llm_made built[2];
    llm_part part;
    size_t k, l, n = 0, a = 0;
    int turn;
    host_llm_read(&h, MODEL);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
    for (turn = 0; turn < 2; ++turn) {          /* layers 0 and 1, and once more, with the head */
        memset(&part, 0, sizeof part);
        if (turn == 1) h.is.is.layers = 2;
        part.graph.parts = turn == 0 ? 2 : 1;
        part.graph.embedded = turn == 1;
        part.tokens[0] = 1;
        strcpy(part.names[0], turn == 0 ? "lower" : "upper");
        llm_add(&h.is, backend, &part, builder, &built[turn]);
    }
    if (qnnrt_builder_finish(builder, &h.model, &err) != QNNRT_OK) printf("%s\n", err.text);
    llm_free(&built[0]);
    llm_free(&built[1]);
    CHECK(h.model != NULL);
    memset(steps, 0, sizeof steps);
    memset(&edge, 0, sizeof edge);
    memset(&desc, 0, sizeof desc);
    memset(&llm_desc, 0, sizeof llm_desc);
    memset(roles, 0, sizeof roles);
    for (k = 0; k < 2; ++k)
        for (l = 0; l < 2; ++l)
            for (turn = 0; turn < 2; ++turn, ++n) {
                snprintf(names[n], sizeof names[n], "1/%s_%d_%s", kinds[k], (int)l, turn == 0 ? "in" : "out");
                roles[n].tensor = names[n];
                roles[n].role = k == 0 ? (turn == 0 ? QNNRT_LLM_ROLE_KEY_IN : QNNRT_LLM_ROLE_KEY_OUT)
                                       : turn == 0 ? QNNRT_LLM_ROLE_VALUE_IN : QNNRT_LLM_ROLE_VALUE_OUT;
                roles[n].layer = (uint32_t)l + 2;
                if (turn == 0) {
                    memset(&apart[a], 0, 2 * sizeof apart[a]);
                    apart[a].apart = apart[a + 1].apart = 1;
                    apart[a].tensor = apart[a + 1].tensor = names[n] + 2;
                    apart[a + 1].step = 1;
                    a += 2;
                }
            }
    steps[0].model = steps[1].model = h.model;
    steps[0].graph = "lower";
    steps[1].context = 1;
    steps[1].graph = "upper";
    edge.from = "_model_layers_1_Add_1_Add_output_0";
    edge.to = "_model_embed_tokens_Gather_output_0";
    edge.to_step = 1;
    memset(&wish, 0, sizeof wish);
    wish.how = QNNRT_CONVERT_VALUES;
    desc.steps = steps;
    desc.step_count = 2;
    desc.edges = &edge;
    desc.edge_count = 1;
    desc.edges_only = 1;
    desc.uses = apart;
    llm_desc.made = (const qnnrt_pipeline *const *)&pipeline;
    llm_desc.made_count = 1;
    llm_desc.roles = roles;
    llm_desc.role_count = n;
    CHECK_EQ(converted_make(&desc, &wish, NULL, &h.conversions[0], &pipeline, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_open(h.model, &llm_desc, &llm, &err), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "_0_in\" of step 0");
    CHECK_STR(err.text, "_0_in\" of step 2");
    CHECK_STR(err.text, "of layer 2");
    CHECK_STR(err.hint, "apart");
    CHECK_EQ(qnnrt_pipeline_destroy(pipeline), QNNRT_OK);
    qnnrt_conversions_free(h.conversions[0]);
    desc.use_count = a;
    CHECK_EQ(converted_make(&desc, &wish, NULL, &h.conversions[0], &pipeline, &err), QNNRT_OK);
    if (qnnrt_llm_open(h.model, &llm_desc, &h.llm, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(h.llm != NULL);
    CHECK_EQ(qnnrt_llm_get_info(h.llm)->layers, 4);
    h.made[0] = pipeline;
    host_llm_close(&h);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST_MAIN("llm_mixed")
{
    RUN(sessions_that_look_rows_up_give_the_same_logits);
    RUN(steps_edges_and_constants_are_described);
    RUN(another_table_is_another_model);
    RUN(pipelines_of_the_caller_are_checked);
    RUN(caches_of_one_name_must_be_apart);
    RUN(a_token_outside_the_table_is_an_error_that_changes_nothing);
    RUN(a_table_on_the_host_gives_the_logits_of_one_in_the_graphs);
}
