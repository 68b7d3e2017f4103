/* test_llm_model.c - qnnrt_llm.h with the model of tests/data/llm/model on libQnnRef.so, made from its config.json:
   last hidden states, embeddings in place of tokens, several contexts, adapters

   Expected values are those of a plain float64 Llama in numpy: tests/golden/llm_hidden.txt, written by
   tests/llm/reference_llm.py --hidden. */
#include "qnnrt_llm_graph.h"
#include "qnnrt_device.h"
#include "qnnrt_llm.h"
#include "qnnrt_builder.h"
#include "qnnrt_lower.h"
#include "qnnrt_weights.h"
#include "test.h"
#include "counted.h"
#include "backend.h"

enum { WIDTH = 128, WORDS = 256, TOKENS = 100, SHAPES = 8, NEXT = 10 };

#define FOLDER "tests/data/llm/model"

/* ---- the golden file ---- */

typedef struct text_case {
    char    kind[32];
    int32_t tokens[TOKENS];
    size_t  count;
    float   last[WIDTH], mean[WIDTH];
    int32_t next[NEXT];
    size_t  next_count;
} text_case;

static text_case cases[16];
static size_t case_count;

static size_t numbers(const char *at, double *out, size_t most)
{
    size_t count = 0;
    char *end;
    for (;; at = end) {
        const double n = strtod(at, &end);
        if (end == at || count == most) return count;
        out[count++] = n;
    }
}

static void read_cases(void)
{
    static char line[65536];
    static double values[TOKENS + WIDTH];
    FILE *file = fopen("tests/golden/llm_hidden.txt", "r");
    size_t i, count;
    CHECK(file != NULL);
    case_count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        text_case *c = &cases[case_count - (case_count > 0)];
        char *space = strchr(line, ' ');
        if (line[0] == '#' || space == NULL) continue;
        *space++ = '\0';
        count = numbers(space, values, TOKENS + WIDTH);
        if (strcmp(line, "last") == 0 || strcmp(line, "mean") == 0) {
            CHECK_EQ(count, WIDTH);
            for (i = 0; i < WIDTH; ++i) (line[0] == 'l' ? c->last : c->mean)[i] = (float)values[i];
        } else if (strcmp(line, "tokens") == 0) {
            for (i = 0; i < count; ++i) c->next[i] = (int32_t)values[i];
            c->next_count = count;
        } else {
            CHECK(case_count < sizeof cases / sizeof cases[0]);
            c = &cases[case_count++];
            snprintf(c->kind, sizeof c->kind, "%.31s", line);
            c->count = count;
            for (i = 0; i < count; ++i) c->tokens[i] = (int32_t)values[i];
        }
    }
    fclose(file);
    CHECK_EQ(case_count, 9);
}

/* Check floats within a share of the largest. */
static void near_all(const float *got, const float *expected, double tolerance)
{
    double most = 0, worst = 0;
    size_t i;
    for (i = 0; i < WIDTH; ++i) {
        const double d = (double)got[i] - (double)expected[i];
        if ((double)expected[i] > most) most = (double)expected[i];
        if (!(d <= worst && -d <= worst)) worst = d < 0 ? -d : d;
    }
    if (!(worst <= tolerance * most)) printf("    off by %g of %g\n", worst, most);
    CHECK(worst <= tolerance * most);
}

/* ---- the model ---- */

typedef struct made {
    qnnrt_backend *backend;
    qnnrt_weights *weights;
    qnnrt         *model;
    qnnrt_llm     *llm;
    qnnrt_llm_session *session;
    qnnrt_llm_cache   *cache;
    const qnnrt_llm_info *info;
} made;

typedef struct shape { uint32_t tokens, context; } shape;

static qnnrt_error err;

static int is_adapter(void *user, const char *name)
{
    (void)user;
    return strstr(name, ".lora_") != NULL;
}

/* Make the graphs, each shape of tokens and context in each shard, without a model of llm. */
static void make_graphs(made *m, const shape *shapes, size_t count, const qnnrt_llm_graph_desc *how)
{
    static qnnrt_llm_graph decoder;
    qnnrt_backend_desc backend;
    qnnrt_lower_desc lowering;
    qnnrt_lower *lower = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt_ir *ir[SHAPES * 4];
    const uint32_t parts = how->parts > 0 ? how->parts : 1;
    size_t bytes, i, k = 0;
    uint32_t part;
    char *text = (char *)test_read_file(FOLDER "/config.json", &bytes);
    memset(m, 0, sizeof *m);
    memset(&backend, 0, sizeof backend);
    memset(&lowering, 0, sizeof lowering);
    CHECK(text != NULL && count * parts <= SHAPES * 4);
    CHECK_EQ(qnnrt_llm_graph_read(text, bytes, &decoder, &err), QNNRT_OK);
    free(text);
    backend.path = TEST_REF_LIB;
    CHECK_EQ(qnnrt_backend_open(&backend, &m->backend, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_weights_open(FOLDER, NULL, &m->weights, &err), QNNRT_OK);
    lowering.target = qnnrt_lower_target_of(qnnrt_backend_get_info(m->backend));
    lowering.updateable = is_adapter;
    CHECK_EQ(qnnrt_lower_create(&lowering, &lower, &err), QNNRT_OK);
    for (part = 0; part < parts; ++part)
        for (i = 0; i < count; ++i, ++k) {
            qnnrt_llm_graph_desc desc = *how;
            char name[64];
            desc.tokens = shapes[i].tokens;
            desc.context = shapes[i].context;
            desc.part = part;
            desc.parts = parts;
            snprintf(name, sizeof name, "ar%u_cl%u_%u_of_%u", (unsigned)desc.tokens, (unsigned)desc.context,
                     (unsigned)part + 1, (unsigned)parts);
            CHECK_EQ(qnnrt_llm_graph_create(&decoder, &desc, &ir[k], &err), QNNRT_OK);
            CHECK_EQ(qnnrt_ir_check(ir[k], NULL, NULL, &err), QNNRT_OK);
            CHECK_EQ(qnnrt_lower_weights(lower, ir[k], m->weights, &err), QNNRT_OK);
            CHECK_EQ(qnnrt_lower_passes(lower, ir[k], &err), QNNRT_OK);
            CHECK_EQ(qnnrt_lower_place(lower, part, &err), QNNRT_OK);
            CHECK_EQ(qnnrt_lower_graph(lower, ir[k], name, &err), QNNRT_OK);
        }
    CHECK_EQ(qnnrt_builder_create(m->backend, NULL, &builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_emit(lower, builder, &err), QNNRT_OK);
    if (qnnrt_builder_finish(builder, &m->model, &err) != QNNRT_OK) CHECK_STR(err.text, "no error");
    qnnrt_lower_free(lower);
    while (k > 0) qnnrt_ir_free(ir[--k]);
}

static int no_updates;                     /* 1: without qnnrt_device.h */

/* Open the language model and a session of it. */
static void make_session(made *m, const qnnrt_llm_desc *more, const qnnrt_llm_session_desc *how)
{
    qnnrt_llm_desc desc;
    memset(&desc, 0, sizeof desc);
    if (more != NULL) desc = *more;
    desc.folder = "";
    desc.update = no_updates ? NULL : qnnrt_update;
    if (qnnrt_llm_open(m->model, &desc, &m->llm, &err) != QNNRT_OK) CHECK_STR(err.text, "no error");
    m->info = qnnrt_llm_get_info(m->llm);
    if (qnnrt_llm_session_create(&m->llm, 1, how, &m->session, &err) != QNNRT_OK) CHECK_STR(err.text, "no error");
    m->cache = qnnrt_llm_cache_get(m->session, 0, 0);
}

static void make(made *m, const shape *shapes, size_t count, const qnnrt_llm_graph_desc *how)
{
    TRY(make_graphs(m, shapes, count, how));
    TRY(make_session(m, NULL, NULL));
}

static void unmake(made *m)
{
    qnnrt_llm_session_destroy(m->session);
    CHECK_EQ(qnnrt_llm_close(m->llm), QNNRT_OK);
    CHECK_EQ(qnnrt_close(m->model), QNNRT_OK);
    qnnrt_weights_close(m->weights);
    CHECK_EQ(qnnrt_backend_close(m->backend), QNNRT_OK);
}

static const shape both[2] = { { 32, 128 }, { 1, 128 } };

static unsigned char all[TOKENS];

static qnnrt_llm_batch batch_of(const text_case *c, float *hidden, int every)
{
    qnnrt_llm_batch batch;
    memset(&batch, 0, sizeof batch);
    memset(all, 1, sizeof all);
    batch.tokens = c->tokens;
    batch.count = c->count;
    batch.hidden = hidden;
    if (every) batch.wanted = all;
    return batch;
}

/* ---- hidden states ---- */

static void pools(const made *m, const qnnrt_llm_batch *batch, const text_case *c)
{
    float values[WIDTH], unit[WIDTH];
    qnnrt_llm_pool_desc how;
    double square = 0, dot = 0;
    size_t i;
    memset(&how, 0, sizeof how);
    CHECK_EQ(qnnrt_llm_pool(m->llm, batch, NULL, values, &err), QNNRT_OK);
    TRY(near_all(values, c->mean, 1e-5));
    how.normalize = 1;
    CHECK_EQ(qnnrt_llm_pool(m->llm, batch, &how, unit, &err), QNNRT_OK);
    for (i = 0; i < WIDTH; ++i) {
        square += (double)unit[i] * (double)unit[i];
        dot += (double)unit[i] * (double)values[i];
    }
    CHECK(square > 1 - 1e-6 && square < 1 + 1e-6 && dot > 0);
    for (i = 0; i < WIDTH; ++i) unit[i] = (float)((double)unit[i] * dot);
    TRY(near_all(unit, values, 1e-6));
    how.normalize = 0;
    how.pooling = QNNRT_LLM_POOL_LAST;
    CHECK_EQ(qnnrt_llm_pool(m->llm, batch, &how, values, &err), QNNRT_OK);
    TRY(near_all(values, c->last, 1e-5));
}

TEST(hidden_states_are_those_of_numpy)
{
    static const qnnrt_llm_graph_outputs outputs[2] = { QNNRT_LLM_GRAPH_BOTH, QNNRT_LLM_GRAPH_HIDDEN };
    static float hidden[TOKENS * WIDTH];
    float row[WIDTH];
    qnnrt_llm_graph_desc how;
    made m;
    size_t i, k, t;
    TRY(read_cases());
    for (k = 0; k < 2; ++k) {
        memset(&how, 0, sizeof how);
        how.outputs = outputs[k];
        how.parts = k == 0 ? 1 : 3;
        TRY(make(&m, both, 2, &how));
        CHECK_EQ(m.info->width, WIDTH);
        CHECK(m.info->hidden != NULL && m.info->hidden->dtype == QNNRT_DTYPE_F32 && m.info->embeddings == NULL);
        CHECK_EQ(m.info->vocabulary, k == 0 ? WORDS : 0);
        CHECK_EQ(m.info->logits != NULL, k == 0);
        for (i = 0; i < 4; ++i) {
            const text_case *c = &cases[i];
            qnnrt_llm_batch batch = batch_of(c, hidden, 1);
            if (k == 1 && c->count > 64) continue;
            qnnrt_llm_clear(m.cache);
            CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_OK);
            TRY(near_all(hidden + (c->count - 1) * WIDTH, c->last, 1e-5));
            TRY(pools(&m, &batch, c));
            /* The last chunk's rows are those of the batch. */
            CHECK_EQ(qnnrt_llm_hidden(m.cache, c->count - 1, row), QNNRT_OK);
            CHECK(memcmp(row, hidden + (c->count - 1) * WIDTH, sizeof row) == 0);
            if (c->count > 32) CHECK_EQ(qnnrt_llm_hidden(m.cache, 0, row), QNNRT_E_ARG);
            if (k == 0) CHECK_EQ(qnnrt_llm_argmax(m.cache, c->count - 1), c->next[0]);
            else {
                CHECK_EQ(qnnrt_llm_argmax(m.cache, c->count - 1), -1);
                CHECK_STR(qnnrt_llm_error(m.cache)->text, "no output of logits");
                CHECK_EQ(qnnrt_llm_logits(m.cache, c->count - 1, row), QNNRT_E_UNSUPPORTED);
                CHECK(qnnrt_llm_stored_logits(m.cache, c->count - 1) == NULL);
            }
            /* The last token alone, without .wanted. */
            batch.wanted = NULL;
            qnnrt_llm_clear(m.cache);
            CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_OK);
            CHECK(memcmp(row, hidden, sizeof row) == 0);
            /* All tokens without .hidden: read afterwards, of whatever chunk. */
            batch = batch_of(c, NULL, 1);
            qnnrt_llm_clear(m.cache);
            CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_OK);
            CHECK_EQ(qnnrt_llm_argmax(m.cache, 0) >= 0, k == 0);
            for (t = 0; t < c->count; ++t) CHECK_EQ(qnnrt_llm_hidden(m.cache, t, hidden + t * WIDTH), QNNRT_OK);
            batch.hidden = hidden;
            TRY(pools(&m, &batch, c));
            /* An eval keeps nothing and gives the same. */
            if (c->count > 32) continue;
            batch.wanted = all;
            qnnrt_llm_clear(m.cache);
            CHECK_EQ(qnnrt_llm_eval(m.cache, &batch), QNNRT_OK);
            TRY(pools(&m, &batch, c));
            CHECK_EQ(qnnrt_llm_cache_get_info(m.cache).used, 0);
        }
        TRY(unmake(&m));
    }
}

TEST(texts_of_several_sequences_are_pooled_apart)
{
    static float hidden[TOKENS * WIDTH];
    static int32_t tokens[TOKENS];
    static uint64_t sequences[TOKENS];
    qnnrt_llm_graph_desc how;
    qnnrt_llm_batch batch;
    qnnrt_llm_pool_desc pool;
    float values[WIDTH];
    made m;
    size_t i, a = 0, b = 0;
    TRY(read_cases());
    memset(&how, 0, sizeof how);
    how.outputs = QNNRT_LLM_GRAPH_HIDDEN;
    TRY(make(&m, both, 2, &how));
    memset(&batch, 0, sizeof batch);
    /* Their tokens take turns: two of the long text, then one of the short one. */
    for (i = 0; a < cases[2].count || b < cases[1].count; ++i) {
        const int first = (i % 3 != 2 && a < cases[2].count) || b == cases[1].count;
        tokens[i] = first ? cases[2].tokens[a++] : cases[1].tokens[b++];
        sequences[i] = (uint64_t)1 << (first ? 3 : 9);
    }
    batch.tokens = tokens;
    batch.sequences = sequences;
    batch.count = i;
    batch.wanted = all;
    memset(all, 1, sizeof all);
    batch.hidden = hidden;
    CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_OK);
    memset(&pool, 0, sizeof pool);
    pool.sequence = 3;
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, &pool, values, &err), QNNRT_OK);
    TRY(near_all(values, cases[2].mean, 1e-5));
    pool.sequence = 9;
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, &pool, values, &err), QNNRT_OK);
    TRY(near_all(values, cases[1].mean, 1e-5));
    pool.pooling = QNNRT_LLM_POOL_LAST;
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, &pool, values, &err), QNNRT_OK);
    TRY(near_all(values, cases[1].last, 1e-5));
    pool.sequence = 0;
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, &pool, values, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "no token of the batch is of sequence 0");
    TRY(unmake(&m));
}

TEST(what_was_not_computed_is_not_pooled)
{
    static float hidden[TOKENS * WIDTH];
    qnnrt_llm_graph_desc how;
    qnnrt_llm_pool_desc pool;
    qnnrt_llm_batch batch;
    float values[WIDTH];
    int32_t token = -1;
    made m;
    TRY(read_cases());
    memset(&how, 0, sizeof how);
    memset(&pool, 0, sizeof pool);
    how.outputs = QNNRT_LLM_GRAPH_HIDDEN;
    TRY(make(&m, both, 2, &how));
    batch = batch_of(&cases[1], hidden, 1);
    all[3] = 0;
    CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, &pool, values, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "token 3 of the batch is pooled, but was not wanted");
    CHECK_STR(err.hint, "batch.wanted");
    pool.pooling = QNNRT_LLM_POOL_LAST;
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, &pool, values, &err), QNNRT_OK);
    TRY(near_all(values, cases[1].last, 1e-5));
    batch.wanted = NULL;
    pool.pooling = QNNRT_LLM_POOL_MEAN;
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, &pool, values, &err), QNNRT_E_ARG);
    pool.pooling = (qnnrt_llm_pooling)2;
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, &pool, values, &err), QNNRT_E_ARG);
    pool.pooling = QNNRT_LLM_POOL_LAST;
    pool.sequence = 64;
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, &pool, values, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_pool(NULL, &batch, NULL, values, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_pool(m.llm, NULL, NULL, values, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, NULL, NULL, &err), QNNRT_E_ARG);
    batch.hidden = NULL;
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, NULL, values, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_hidden(m.cache, 6, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_hidden(NULL, 0, values), QNNRT_E_ARG);
    /* Results and inputs that the graphs do not have. */
    batch.logits = values;
    CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(m.cache)->text, "the graphs have no logits");
    batch.logits = NULL;
    batch.embeddings = hidden;
    CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(m.cache)->text, "the graphs take tokens");
    batch.embeddings = NULL;
    batch.tokens = &token;
    batch.count = 1;
    CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(m.cache)->text, "token -1");
    CHECK_EQ(qnnrt_llm_cache_get_info(m.cache).used, 7);
    TRY(unmake(&m));
    how.outputs = QNNRT_LLM_GRAPH_LOGITS;
    TRY(make(&m, both, 2, &how));
    batch = batch_of(&cases[1], hidden, 1);
    CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_E_ARG);
    CHECK_STR(qnnrt_llm_error(m.cache)->text, "no output of the last hidden state");
    CHECK_STR(qnnrt_llm_error(m.cache)->hint, "--outputs both");
    batch.hidden = NULL;
    CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_hidden(m.cache, 6, values), QNNRT_E_UNSUPPORTED);
    batch.hidden = hidden;
    CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, NULL, values, &err), QNNRT_E_UNSUPPORTED);
    TRY(unmake(&m));
}

/* ---- embeddings in place of tokens ---- */

/* Return the table of the checkpoint as numbers. */
static const float *table_of(const made *m, qnnrt_tensor_info *info)
{
    static const uint32_t dims[2] = { WORDS, WIDTH };
    const qnnrt_weight *weight = qnnrt_weights_find(m->weights, "model.embed_tokens.weight");
    memset(info, 0, sizeof *info);
    info->name = "table";
    info->dtype = QNNRT_DTYPE_F32;
    info->rank = 2;
    info->dims = dims;
    info->count = WORDS * WIDTH;
    info->bytes = info->count * sizeof(float);
    return weight != NULL && weight->dtype == QNNRT_DTYPE_F32 ? (const float *)weight->data : NULL;
}

TEST(rows_of_embeddings_stand_for_tokens)
{
    static float hidden[TOKENS * WIDTH], rows[TOKENS * WIDTH];
    int32_t tokens[TOKENS];
    qnnrt_tensor_info table_info;
    qnnrt_llm_graph_desc how;
    qnnrt_llm_desc desc;
    qnnrt_llm_batch batch;
    const float *table;
    made m;
    size_t i, k, c;
    int with_table;
    TRY(read_cases());
    memset(&how, 0, sizeof how);
    how.outputs = QNNRT_LLM_GRAPH_BOTH;
    how.embedded = 1;
    how.parts = 2;
    for (with_table = 0; with_table < 2; ++with_table) {
        TRY(make_graphs(&m, both, 2, &how));
        memset(&desc, 0, sizeof desc);
        table = table_of(&m, &table_info);
        CHECK(table != NULL);
        desc.table = with_table ? &table_info : NULL;
        desc.table_data = with_table ? table : NULL;
        TRY(make_session(&m, &desc, NULL));
        CHECK(m.info->embeddings != NULL);
        CHECK_EQ(m.info->width, WIDTH);
        for (k = 2; k < 5; ++k) {
            const text_case *t = &cases[k];
            const int mixed = strcmp(t->kind, "mixed") == 0;
            CHECK_EQ(mixed, k == 4);
            /* All rows, of which some are of no token. */
            for (i = 0; i < t->count; ++i)
                for (c = 0; c < WIDTH; ++c) {
                    const int32_t token = t->tokens[i];
                    rows[i * WIDTH + c] = token < WORDS ? table[token * WIDTH + (int32_t)c]
                        : (float)(((double)table[(60 + token - WORDS) * WIDTH + (int32_t)c] +
                                   (double)table[(110 - token + WORDS) * WIDTH + (int32_t)c]) / 2);
                }
            batch = batch_of(t, hidden, 1);
            batch.tokens = NULL;
            batch.embeddings = rows;
            qnnrt_llm_clear(m.cache);
            CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_OK);
            TRY(pools(&m, &batch, t));
            CHECK_EQ(qnnrt_llm_argmax(m.cache, t->count - 1), t->next[0]);
            /* Tokens, except for rows of no token: NaN elsewhere shows that nothing reads those. */
            for (i = 0; i < t->count; ++i) {
                tokens[i] = t->tokens[i] < WORDS ? t->tokens[i] : -1;
                if (tokens[i] >= 0) memset(&rows[i * WIDTH], 0xFF, WIDTH * sizeof *rows);
            }
            batch.tokens = tokens;
            qnnrt_llm_clear(m.cache);
            if (!with_table) {
                CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_E_ARG);
                CHECK_STR(qnnrt_llm_error(m.cache)->text, "expected -1 to -1");
                batch.embeddings = NULL;
                CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_E_ARG);
                CHECK_STR(qnnrt_llm_error(m.cache)->text, "there is no table");
                CHECK_STR(qnnrt_llm_error(m.cache)->hint, "desc.table");
                continue;
            }
            CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_OK);
            TRY(pools(&m, &batch, t));
            tokens[1] = WORDS;
            CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_E_ARG);
            CHECK_STR(qnnrt_llm_error(m.cache)->text, "token 256 at place 1 of the batch, expected -1 to 255");
            if (mixed) continue;
            tokens[1] = t->tokens[1];
            batch.embeddings = NULL;            /* tokens alone */
            qnnrt_llm_clear(m.cache);
            CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_OK);
            TRY(pools(&m, &batch, t));
            tokens[1] = -1;
            CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_E_ARG);
        }
        TRY(unmake(&m));
    }
}

TEST(a_table_that_does_not_fit_is_refused)
{
    static const uint32_t wrong[2] = { WORDS, WIDTH - 1 };
    qnnrt_tensor_info table_info;
    qnnrt_llm_graph_desc how;
    qnnrt_llm_desc desc;
    made m;
    memset(&how, 0, sizeof how);
    memset(&desc, 0, sizeof desc);
    how.embedded = 1;
    TRY(make_graphs(&m, both, 2, &how));
    desc.folder = "";
    desc.table_data = table_of(&m, &table_info);
    table_info.dims = wrong;
    desc.table = &table_info;
    CHECK_EQ(qnnrt_llm_open(m.model, &desc, &m.llm, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_session_create(&m.llm, 1, NULL, &m.session, &err), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "rows of the table float32[256,127] do not fit");
    TRY(unmake(&m));
}

/* ---- several contexts ---- */

/* A graph and how often it must have run. */
typedef struct ran { uint32_t ar, context; unsigned times; } ran;

static void ran_so(const made *m, const ran *expected, size_t count)
{
    size_t g;
    CHECK_EQ(m->info->graph_count, count);
    for (g = 0; g < count; ++g) {
        CHECK_EQ(m->info->graphs[g].ar, expected[g].ar);
        CHECK_EQ(m->info->graphs[g].context, expected[g].context);
        CHECK_EQ(qnnrt_llm_session_runs(m->session, 0, g), expected[g].times);
    }
}

/* Decode tokens on two models, and compare the logits of the last one. */
static void same_step(made *m, const int32_t *tokens, size_t count, uint32_t sequence)
{
    static float logits[2][WORDS];
    qnnrt_llm_batch batch;
    float worst = 0;
    size_t i, best = 0;
    int k;
    memset(&batch, 0, sizeof batch);
    batch.tokens = tokens;
    batch.count = count;
    batch.sequence = sequence;
    for (k = 0; k < 2; ++k) {
        batch.logits = logits[k];
        if (qnnrt_llm_decode(m[k].cache, &batch) != QNNRT_OK) CHECK_STR(qnnrt_llm_error(m[k].cache)->text, "no error");
    }
    /* Sums over 48 and over 128 columns, of which 80 are 0, differ by their order. */
    for (i = 0; i < WORDS; ++i) {
        const float d = logits[0][i] - logits[1][i];
        if (!(d <= worst && -d <= worst)) worst = d < 0 ? -d : d;
        if (logits[0][i] > logits[0][best]) best = i;
    }
    CHECK_EQ(qnnrt_llm_argmax(m[1].cache, count - 1), (int32_t)best);
    if (!(worst <= 1e-4f)) printf("    off by %g\n", (double)worst);
    CHECK(worst <= 1e-4f);
}

TEST(short_texts_run_in_short_contexts)
{
    static const shape several[] = { { 1, 64 }, { 32, 128 }, { 32, 48 }, { 1, 128 }, { 32, 64 }, { 1, 48 } };
    static const qnnrt_llm_kv kinds[2] = { QNNRT_LLM_SMART_MASK, QNNRT_LLM_SHIFT_POINTER };
    static unsigned char state[2][1 << 20];
    const int32_t *text;
    qnnrt_llm_session_desc session;
    qnnrt_llm_graph_desc how;
    made m[2];
    size_t i, bytes;
    int kind;
    TRY(read_cases());
    text = cases[3].tokens;
    for (kind = 0; kind < 2; ++kind) {
        memset(&how, 0, sizeof how);
        memset(&session, 0, sizeof session);
        session.kv = kinds[kind];
        how.parts = kind == 0 ? 1 : 2;
        TRY(make_graphs(&m[0], both, 2, &how));
        TRY(make_session(&m[0], NULL, &session));
        TRY(make_graphs(&m[1], several, 6, &how));
        TRY(make_session(&m[1], NULL, &session));
        CHECK_EQ(m[1].info->context, 128);
        CHECK_EQ(m[1].info->cells, 127);
        CHECK_EQ(m[1].info->ar, 32);
        /* 40 tokens in two chunks, then one by one up to 80 cells. */
        TRY(same_step(m, text, 40, 0));
        for (i = 40; i < 80; ++i) TRY(same_step(m, &text[i], 1, 0));
        TRY(ran_so(&m[1], (const ran[]){ { 1, 48, 8 }, { 1, 64, 16 }, { 1, 128, 16 }, { 32, 48, 1 }, { 32, 64, 1 },
                                         { 32, 128, 0 } }, 6));
        TRY(ran_so(&m[0], (const ran[]){ { 1, 128, 40 }, { 32, 128, 2 } }, 2));
        CHECK_EQ(qnnrt_llm_session_runs(m[0].session, 1, 0), 0);
        CHECK_EQ(qnnrt_llm_session_runs(m[0].session, 0, 2), 0);
        CHECK_EQ(qnnrt_llm_session_runs(NULL, 0, 0), 0);
        /* Back to 30 tokens: the short ones again. Then a second text beside it. */
        for (i = 0; i < 2; ++i) CHECK_EQ(qnnrt_llm_sequence_remove(m[i].cache, 0, 30, -1), QNNRT_OK);
        TRY(same_step(m, &text[30], 1, 0));
        TRY(same_step(m, &text[50], 20, 5));
        TRY(same_step(m, &text[31], 1, 0));
        TRY(ran_so(&m[1], (const ran[]){ { 1, 48, 9 }, { 1, 64, 17 }, { 1, 128, 16 }, { 32, 48, 1 }, { 32, 64, 2 },
                                         { 32, 128, 0 } }, 6));
        /* Without the first text its cells are holes: they are filled so that the second one fits. */
        for (i = 0; i < 2; ++i) CHECK_EQ(qnnrt_llm_sequence_remove(m[i].cache, 0, -1, -1), QNNRT_OK);
        TRY(same_step(m, &text[70], 1, 5));
        CHECK_EQ(qnnrt_llm_session_runs(m[1].session, 0, 0), 10);
        CHECK_EQ(qnnrt_llm_cache_get_info(m[1].cache).end, 21);
        /* A state goes from a long stride into a fresh session, whatever runs next. */
        TRY(same_step(m, &text[71], 26, 5));
        for (i = 0; i < 26; ++i) TRY(same_step(m, &text[40 + i], 1, 5));
        bytes = qnnrt_llm_state_bytes(m[1].cache);
        CHECK(bytes > 0 && bytes <= sizeof state[1]);
        for (i = 0; i < 2; ++i) {
            CHECK_EQ(qnnrt_llm_state_save(m[i].cache, state[i], sizeof state[i], NULL), QNNRT_OK);
            qnnrt_llm_session_destroy(m[i].session);
            CHECK_EQ(qnnrt_llm_session_create(&m[i].llm, 1, &session, &m[i].session, &err), QNNRT_OK);
            m[i].cache = qnnrt_llm_cache_get(m[i].session, 0, 0);
            CHECK_EQ(qnnrt_llm_state_restore(m[i].cache, state[i], bytes), QNNRT_OK);
        }
        TRY(same_step(m, &text[0], 1, 5));
        CHECK_EQ(qnnrt_llm_session_runs(m[1].session, 0, 2), 1);     /* 74 cells are too many for the others */
        for (i = 0; i < 2; ++i) CHECK_EQ(qnnrt_llm_sequence_remove(m[i].cache, 5, 20, -1), QNNRT_OK);
        TRY(same_step(m, &text[0], 9, 5));
        CHECK_EQ(qnnrt_llm_session_runs(m[1].session, 0, 4), 1);     /* 32 tokens after 20 cells: 64 */
        for (i = 0; i < 2; ++i) TRY(unmake(&m[i]));
    }
}

/* ---- adapters ---- */

enum { LAYERS = 4, TARGETS = 7, RANK = 4 };

/* The adapters of tests/llm/reference_llm.py, as PEFT would store them. */
typedef struct adapter_numbers {
    char             names[LAYERS * TARGETS * 2][128];
    qnnrt_llm_matrix parts[LAYERS * TARGETS * 2];
    float            values[LAYERS * TARGETS * 2][384 * RANK];
    size_t           count;
    double           scale;
} adapter_numbers;

static void adapter_make(adapter_numbers *a, int every)
{
    static const char *const all_targets[TARGETS] = { "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                                      "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj" };
    static const char *const two[2] = { "self_attn.q_proj", "self_attn.v_proj" };
    static const uint32_t rows[TARGETS] = { 128, 64, 64, 128, 384, 384, 128 };
    static const uint32_t columns[TARGETS] = { 128, 128, 128, 128, 128, 128, 384 };
    const char *const *targets = every ? all_targets : two;
    const uint32_t rank = every ? 3 : 4, count = every ? TARGETS : 2;
    const float size = every ? 160.0f : 100.0f;
    uint32_t layer, t, side, i, k;
    memset(a, 0, sizeof *a);
    a->scale = every ? 1.0 : 2.0;               /* alpha / rank: 3 / 3 and 8 / 4 */
    for (layer = 0; layer < LAYERS; ++layer)
        for (t = 0; t < count; ++t)
            for (side = 0; side < 2; ++side, ++a->count) {
                qnnrt_llm_matrix *m = &a->parts[a->count];
                const uint32_t at = every ? t : t * 2;          /* q and v */
                float *values = a->values[a->count];
                snprintf(a->names[a->count], sizeof a->names[0], "base_model.model.model.layers.%u.%s.lora_%c.weight",
                         (unsigned)layer, targets[t], "AB"[side]);
                m->name = a->names[a->count];
                m->dtype = QNNRT_DTYPE_F32;
                m->rows = side == 0 ? rank : rows[at];
                m->columns = side == 0 ? columns[at] : rank;
                m->data = values;
                for (i = 0; i < m->rows; ++i)
                    for (k = 0; k < m->columns; ++k)
                        values[i * m->columns + k] = side == 0
                            ? (float)((int)((i * 37 + k * 101 + layer * 17 + t * 5) % 61) - 30) / size
                            : (float)((int)((i * 29 + k * 53 + layer * 13 + t * 7) % 59) - 29) / size;
            }
}

static qnnrt_result adapter_create(const made *m, const adapter_numbers *a, qnnrt_llm_adapter **out)
{
    qnnrt_llm_adapter_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.parts = a->parts;
    desc.part_count = a->count;
    desc.scale = a->scale;
    return qnnrt_llm_adapter_create(m->llm, &desc, out, &err);
}

/* Check a text and its answer against numpy's. */
static void text_is(made *m, const text_case *c)
{
    static float hidden[TOKENS * WIDTH];
    qnnrt_llm_batch batch = batch_of(c, hidden, 1);
    int32_t token;
    size_t i;
    qnnrt_llm_clear(m->cache);
    if (qnnrt_llm_decode(m->cache, &batch) != QNNRT_OK) CHECK_STR(qnnrt_llm_error(m->cache)->text, "no error");
    TRY(pools(m, &batch, c));
    CHECK_EQ(qnnrt_llm_argmax(m->cache, c->count - 1), c->next[0]);
    for (i = 0; i + 1 < c->next_count; ++i) {
        token = c->next[i];
        memset(&batch, 0, sizeof batch);
        batch.tokens = &token;
        batch.count = 1;
        CHECK_EQ(qnnrt_llm_decode(m->cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_argmax(m->cache, 0), c->next[i + 1]);
    }
}

static const shape four[4] = { { 32, 128 }, { 1, 128 }, { 32, 64 }, { 1, 64 } };

TEST(adapters_compute_what_merged_weights_do)
{
    static adapter_numbers a[2];
    qnnrt_llm_adapter *adapters[2];
    qnnrt_llm_graph_desc how;
    made m;
    int parts, i;
    TRY(read_cases());
    adapter_make(&a[0], 0);
    adapter_make(&a[1], 1);
    for (parts = 1; parts < 3; ++parts) {
        memset(&how, 0, sizeof how);
        how.outputs = QNNRT_LLM_GRAPH_BOTH;
        how.parts = (uint32_t)parts;
        how.lora_rank = RANK;
        TRY(make(&m, four, 4, &how));
        CHECK_EQ(m.info->adapter_tensors, LAYERS * TARGETS * 2);
        CHECK_EQ(m.info->adapter_rank, RANK);
        CHECK(qnnrt_llm_adapter_applied(m.llm) == NULL);
        TRY(text_is(&m, &cases[1]));
        for (i = 0; i < 2; ++i) CHECK_EQ(adapter_create(&m, &a[i], &adapters[i]), QNNRT_OK);
        TRY(text_is(&m, &cases[1]));            /* made, not applied */
        for (i = 0; i < 5; ++i) {               /* two, all, two, none, all: nothing of the former one stays */
            const int which = i == 3 ? -1 : i % 4 == 0 && i > 0 ? 1 : i % 2;
            CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, which < 0 ? NULL : adapters[which], &err), QNNRT_OK);
            CHECK(qnnrt_llm_adapter_applied(m.llm) == (which < 0 ? NULL : adapters[which]));
            TRY(text_is(&m, &cases[which < 0 ? 1 : 5 + 2 * which]));
            TRY(text_is(&m, &cases[which < 0 ? 2 : 6 + 2 * which]));
        }
        CHECK_EQ(qnnrt_llm_adapter_destroy(adapters[1]), QNNRT_E_BUSY);
        CHECK_EQ(qnnrt_llm_adapter_destroy(adapters[0]), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_close(m.llm), QNNRT_E_BUSY);
        CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, NULL, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, NULL, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_adapter_destroy(adapters[1]), QNNRT_OK);
        TRY(text_is(&m, &cases[1]));
        TRY(unmake(&m));
    }
}

/* Keys and values belong to the adapter that computed them. */
TEST(texts_belong_to_their_adapter)
{
    static adapter_numbers a[2];
    static unsigned char state[1 << 20];
    static float logits[2][WORDS];
    qnnrt_llm_adapter *adapters[3];
    qnnrt_llm_session_desc two_caches;
    qnnrt_llm_cache *other;
    qnnrt_llm_graph_desc how;
    qnnrt_llm_batch batch;
    size_t bytes;
    int32_t token = 'a';
    made m;
    int i;
    TRY(read_cases());
    memset(&how, 0, sizeof how);
    memset(&two_caches, 0, sizeof two_caches);
    two_caches.caches = 2;
    how.outputs = QNNRT_LLM_GRAPH_BOTH;
    how.lora_rank = RANK;
    TRY(make_graphs(&m, both, 2, &how));
    TRY(make_session(&m, NULL, &two_caches));
    other = qnnrt_llm_cache_get(m.session, 0, 1);
    for (i = 0; i < 2; ++i) {
        adapter_make(&a[i], i);
        CHECK_EQ(adapter_create(&m, &a[i], &adapters[i]), QNNRT_OK);
    }
    CHECK_EQ(adapter_create(&m, &a[0], &adapters[2]), QNNRT_OK);         /* the same numbers again */
    batch = batch_of(&cases[1], NULL, 0);
    CHECK_EQ(qnnrt_llm_decode(other, &batch), QNNRT_OK);                 /* without any */
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, adapters[0], &err), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_OK);
    batch.tokens = &token;
    batch.count = 1;
    CHECK_EQ(qnnrt_llm_decode(other, &batch), QNNRT_E_STATE);
    CHECK_STR(qnnrt_llm_error(other)->text, "7 tokens that were computed with no adapter");
    CHECK_STR(qnnrt_llm_error(other)->hint, "qnnrt_llm_adapter_mix()");
    CHECK_EQ(qnnrt_llm_eval(other, &batch), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_llm_cache_get_info(other).used, 7);
    /* The adapter is known by its numbers, not by its address. */
    batch.logits = logits[0];
    CHECK_EQ(qnnrt_llm_eval(m.cache, &batch), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, adapters[2], &err), QNNRT_OK);
    batch.logits = logits[1];
    CHECK_EQ(qnnrt_llm_eval(m.cache, &batch), QNNRT_OK);
    CHECK(memcmp(logits[0], logits[1], sizeof logits[0]) == 0);
    /* States, too. */
    bytes = qnnrt_llm_state_bytes(m.cache);
    CHECK_EQ(qnnrt_llm_state_save(m.cache, state, sizeof state, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, adapters[1], &err), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_eval(m.cache, &batch), QNNRT_E_STATE);
    CHECK_STR(qnnrt_llm_error(m.cache)->text, "with another adapter");
    qnnrt_llm_clear(other);
    CHECK_EQ(qnnrt_llm_state_restore(other, state, bytes), QNNRT_E_MISMATCH);
    CHECK_STR(qnnrt_llm_error(other)->text, "of another model or adapter");
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, adapters[0], &err), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_state_restore(other, state, bytes), QNNRT_OK);
    batch.logits = logits[1];
    CHECK_EQ(qnnrt_llm_eval(other, &batch), QNNRT_OK);
    CHECK(memcmp(logits[0], logits[1], sizeof logits[0]) == 0);
    /* A copy keeps the adapter of its text; a mix is accepted. */
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_cache_copy(other, m.cache), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_eval(other, &batch), QNNRT_E_STATE);
    qnnrt_llm_adapter_mix(other);
    CHECK_EQ(qnnrt_llm_eval(other, &batch), QNNRT_OK);
    CHECK(memcmp(logits[0], logits[1], sizeof logits[0]) != 0);
    qnnrt_llm_adapter_mix(NULL);
    /* One text beside others must be of their adapter. */
    CHECK_EQ(qnnrt_llm_sequence_state_save(m.cache, 0, state, sizeof state, &bytes), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_sequence_state_restore(other, 3, state, bytes), QNNRT_E_MISMATCH);
    CHECK_EQ(qnnrt_llm_sequence_state_restore(m.cache, 3, state, bytes), QNNRT_OK);
    for (i = 0; i < 3; ++i) CHECK_EQ(qnnrt_llm_adapter_destroy(adapters[i]), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_adapter_destroy(NULL), QNNRT_OK);
    TRY(unmake(&m));
}

/* An update that fails in the middle leaves the former adapter. If nothing can be updated any more, steps fail until
   it can. */
TEST(a_failed_change_leaves_the_former_adapter)
{
    static adapter_numbers a[2];
    static const char *const rules[3] = { "fail=tensorUpdateGraphTensors:1:0x1770", "fail=tensorUpdateGraphTensors:2:0x1770",
                                          "fail=tensorUpdateGraphTensors:60:0x1770" };
    qnnrt_llm_adapter *adapters[2];
    qnnrt_llm_graph_desc how;
    qnnrt_llm_desc desc;
    qnnrt_llm_batch batch;
    long n, before;
    made m;
    int i;
    TRY(read_cases());
    memset(&how, 0, sizeof how);
    memset(&desc, 0, sizeof desc);
    how.outputs = QNNRT_LLM_GRAPH_BOTH;
    how.lora_rank = RANK;
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    fail_at = -1;
    live = 0;
    TRY(make_graphs(&m, both, 2, &how));
    TRY(make_session(&m, &desc, NULL));
    for (i = 0; i < 2; ++i) {
        adapter_make(&a[i], i);
        CHECK_EQ(adapter_create(&m, &a[i], &adapters[i]), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, adapters[0], &err), QNNRT_OK);
    for (i = 0; i < 3; ++i) {
        CHECK(faults(rules[i]));
        CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, i == 1 ? NULL : adapters[1], &err), QNNRT_E_BACKEND);
        CHECK_STR(err.text, ".lora_");
        CHECK(faults(""));
        CHECK(qnnrt_llm_adapter_applied(m.llm) == adapters[0]);
        TRY(text_is(&m, &cases[5]));
    }
    CHECK(faults("fail=tensorUpdateGraphTensors:0x1770"));
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, adapters[1], &err), QNNRT_E_BACKEND);
    batch = batch_of(&cases[1], NULL, 0);
    qnnrt_llm_clear(m.cache);
    CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_E_STATE);
    CHECK_STR(qnnrt_llm_error(m.cache)->text, "the graphs with different adapters");
    CHECK(faults(""));
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, NULL, &err), QNNRT_OK);
    TRY(text_is(&m, &cases[1]));
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, adapters[0], &err), QNNRT_OK);
    /* Every allocation fails. */
    CHECK_EQ(qnnrt_llm_adapter_destroy(adapters[1]), QNNRT_OK);
    before = live;
    for (n = 0, i = -1; i != QNNRT_OK; ++n) {
        allocations = 0;
        fail_at = n;
        i = (int)adapter_create(&m, &a[1], &adapters[1]);
        CHECK(i == QNNRT_OK || i == QNNRT_E_MEMORY);
        CHECK(i == QNNRT_OK || live == before);
    }
    CHECK(n > 50);
    for (n = 0, i = -1; i != QNNRT_OK; ++n) {
        allocations = 0;
        fail_at = n;
        i = (int)qnnrt_llm_adapter_apply(m.llm, adapters[1], &err);
        CHECK(i == QNNRT_OK || (i == QNNRT_E_MEMORY && qnnrt_llm_adapter_applied(m.llm) == adapters[0]));
    }
    CHECK_EQ(n, 3);
    fail_at = -1;
    TRY(text_is(&m, &cases[7]));
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, NULL, &err), QNNRT_OK);
    for (i = 0; i < 2; ++i) CHECK_EQ(qnnrt_llm_adapter_destroy(adapters[i]), QNNRT_OK);
    TRY(unmake(&m));
    CHECK_EQ(live, 0);
}

/* libQnnRef.so as HTP: qnnrt_update() refuses it by name. The model goes on without the adapter. */
TEST(libraries_without_updates_are_named)
{
    static adapter_numbers a;
    qnnrt_llm_adapter *adapter;
    qnnrt_llm_graph_desc how;
    qnnrt_llm_batch batch;
    made m;
    TRY(read_cases());
    memset(&how, 0, sizeof how);
    how.lora_rank = RANK;
    CHECK(faults("id=6"));
    TRY(make(&m, both, 2, &how));
    adapter_make(&a, 0);
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, adapter, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "cannot update");
    CHECK_STR(err.text, "lora_A.weight");
    CHECK(qnnrt_llm_adapter_applied(m.llm) == NULL);
    batch = batch_of(&cases[1], NULL, 0);
    CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_argmax(m.cache, 6), cases[1].next[0]);
    CHECK_EQ(qnnrt_llm_adapter_destroy(adapter), QNNRT_OK);
    TRY(unmake(&m));
    CHECK(faults(""));
}

TEST(adapters_that_do_not_fit_are_refused_by_name)
{
    static adapter_numbers a;
    qnnrt_llm_adapter *adapter = NULL;
    qnnrt_llm_adapter_desc desc;
    qnnrt_llm_graph_desc how;
    qnnrt_llm_matrix *m0 = &a.parts[0];
    char long_name[4096];
    made m;
    memset(&how, 0, sizeof how);
    how.lora_rank = RANK;
    how.lora = "v_proj,q_proj";
    TRY(make(&m, both, 2, &how));
    CHECK_EQ(m.info->adapter_tensors, LAYERS * 2 * 2);
    adapter_make(&a, 1);
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_NOT_FOUND);
    CHECK(adapter == NULL);
    CHECK_STR(err.text, "no room for \"base_model.model.model.layers.0.self_attn.k_proj.lora_A.weight\"");
    CHECK_STR(err.hint, "--lora");
    adapter_make(&a, 0);
    m0->rows = RANK + 1;
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "is [5, 128], and the graphs have room for [4, 128]");
    CHECK_STR(err.hint, "higher --lora RANK");
    m0->rows = 0;
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_MISMATCH);
    m0->rows = RANK;
    m0->columns = 127;
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_MISMATCH);
    m0->columns = 128;
    a.parts[1].rows = 127;
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_MISMATCH);
    a.parts[1].rows = 128;
    m0->dtype = QNNRT_DTYPE_I32;
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "expected float32, float16 or bfloat16");
    m0->dtype = QNNRT_DTYPE_F32;
    a.count = 1;
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "lora_A.weight\", but no \"model.layers.0.self_attn.q_proj.lora_B.weight\"");
    a.count = 3;
    a.parts[2] = a.parts[0];
    a.parts[2].name = "other.model.layers.0.self_attn.q_proj.lora_A.weight";
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "two matrices are for \"model.layers.0.self_attn.q_proj.lora_A.weight\"");
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    a.parts[2].name = long_name;
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_NOT_FOUND);
    a.parts[2].name = "lora_A.weight";
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_NOT_FOUND);
    a.parts[2].name = NULL;
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_ARG);
    a.count = 0;
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_ARG);
    a.count = 2;
    a.scale = 1e31;
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_ARG);
    memset(&desc, 0, sizeof desc);
    CHECK_EQ(qnnrt_llm_adapter_create(NULL, &desc, &adapter, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_adapter_create(m.llm, NULL, &adapter, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_adapter_create(m.llm, &desc, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_adapter_apply(NULL, NULL, &err), QNNRT_E_ARG);
    TRY(unmake(&m));
    memset(&how, 0, sizeof how);
    TRY(make(&m, both, 2, &how));
    adapter_make(&a, 0);
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "no room for adapters");
    CHECK_STR(err.hint, "--lora RANK");
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, NULL, &err), QNNRT_OK);
    TRY(unmake(&m));
    /* Without the device header. */
    how.lora_rank = RANK;
    no_updates = 1;
    TRY(make(&m, both, 2, &how));
    no_updates = 0;
    CHECK_EQ(adapter_create(&m, &a, &adapter), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "qnnrt_llm_desc.update is NULL");
    CHECK_STR(err.hint, "qnnrt_device.h");
    CHECK_EQ(qnnrt_llm_adapter_apply(m.llm, NULL, &err), QNNRT_OK);
    TRY(unmake(&m));
}

/* ---- encoders ---- */

enum { ENCODER_N = 8, ENCODER_WIDTH = 4, ENCODER_WORDS = 16 };

static qnnrt_tensor encoder_tensor(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind, qnnrt_dtype dtype, uint32_t rank,
                                   uint32_t d0, uint32_t d1, uint32_t d2, const void *data)
{
    qnnrt_tensor_desc t;
    memset(&t, 0, sizeof t);
    t.name = name;
    t.kind = kind;
    t.dtype = dtype;
    t.rank = rank;
    t.dims[0] = d0;
    t.dims[1] = d1;
    t.dims[2] = d2;
    t.data = data;
    if (data != NULL) t.bytes = (size_t)d0 * d1 * 4;
    return qnnrt_builder_tensor(b, &t);
}

static void encoder_node(qnnrt_builder *b, const char *type, qnnrt_tensor out, qnnrt_tensor x, qnnrt_tensor y, const char *axis)
{
    qnnrt_node_desc n;
    qnnrt_param_desc param;
    qnnrt_tensor in[2];
    memset(&n, 0, sizeof n);
    memset(&param, 0, sizeof param);
    in[0] = x;
    in[1] = y;
    param.name = axis;
    param.dtype = QNNRT_DTYPE_I32;
    n.type = type;
    n.inputs = in;
    n.input_count = y != QNNRT_NO_TENSOR ? 2 : 1;
    n.outputs = &out;
    n.output_count = 1;
    n.params = &param;
    n.param_count = axis != NULL;
    qnnrt_builder_node(b, &n);
}

/* Its hidden states: the row of a token, plus the sum of the rows of all tokens that its mask keeps, plus that of its
   type. mask: the type of attention_mask */
static void encoder_make(made *m, qnnrt_dtype mask, const float *table)
{
    static const float types[2 * ENCODER_WIDTH] = { 0, 0, 0, 0, 1000, 1000, 1000, 1000 };
    const qnnrt_dtype f32 = QNNRT_DTYPE_F32, i32 = QNNRT_DTYPE_I32;
    const uint32_t n = ENCODER_N, w = ENCODER_WIDTH;
    qnnrt_backend_desc backend;
    qnnrt_graph_desc g;
    qnnrt_builder *b;
    qnnrt_tensor ids, keep, type, rows, kind, row, sum, both_rows, out;
    memset(m, 0, sizeof *m);
    backend = test_ref_desc();
    memset(&g, 0, sizeof g);
    CHECK_EQ(qnnrt_backend_open(&backend, &m->backend, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(m->backend, NULL, &b, &err), QNNRT_OK);
    g.name = "encoder";
    qnnrt_builder_graph(b, &g);
    ids = encoder_tensor(b, "input_ids", QNNRT_TENSOR_INPUT, i32, 2, 1, n, 0, NULL);
    keep = encoder_tensor(b, "attention_mask", QNNRT_TENSOR_INPUT, mask, 2, 1, n, 0, NULL);
    type = encoder_tensor(b, "token_type_ids", QNNRT_TENSOR_INPUT, i32, 2, 1, n, 0, NULL);
    rows = encoder_tensor(b, "rows", QNNRT_TENSOR_INNER, f32, 3, 1, n, w, NULL);
    kind = encoder_tensor(b, "kind", QNNRT_TENSOR_INNER, f32, 3, 1, n, w, NULL);
    sum = encoder_tensor(b, "sum", QNNRT_TENSOR_INNER, f32, 3, 1, 1, w, NULL);
    both_rows = encoder_tensor(b, "both", QNNRT_TENSOR_INNER, f32, 3, 1, n, w, NULL);
    out = encoder_tensor(b, "last_hidden_state", QNNRT_TENSOR_OUTPUT, f32, 3, 1, n, w, NULL);
    encoder_node(b, "Gather", rows, encoder_tensor(b, "table", QNNRT_TENSOR_STATIC, f32, 2, ENCODER_WORDS, w, 0, table), ids, "axis");
    encoder_node(b, "Gather", kind, encoder_tensor(b, "types", QNNRT_TENSOR_STATIC, f32, 2, 2, w, 0, types), type, "axis");
    if (mask != f32) {
        row = encoder_tensor(b, "cast", QNNRT_TENSOR_INNER, f32, 2, 1, n, 0, NULL);
        encoder_node(b, "Cast", row, keep, QNNRT_NO_TENSOR, NULL);
        keep = row;
    }
    row = encoder_tensor(b, "row", QNNRT_TENSOR_INNER, f32, 3, 1, 1, n, NULL);
    encoder_node(b, "Reshape", row, keep, QNNRT_NO_TENSOR, NULL);
    encoder_node(b, "MatMul", sum, row, rows, NULL);
    encoder_node(b, "ElementWiseAdd", both_rows, rows, kind, NULL);
    encoder_node(b, "ElementWiseAdd", out, both_rows, sum, NULL);
    if (qnnrt_builder_finish(b, &m->model, &err) != QNNRT_OK) CHECK_STR(err.text, "no error");
    TRY(make_session(m, NULL, NULL));
}

TEST(encoders_see_a_whole_text_and_no_padding)
{
    static const qnnrt_dtype masks[2] = { QNNRT_DTYPE_I32, QNNRT_DTYPE_F32 };
    static float table[ENCODER_WORDS * ENCODER_WIDTH], hidden[ENCODER_N * ENCODER_WIDTH];
    int32_t tokens[ENCODER_N] = { 3, 1, 4, 1, 5, 9, 2, 6 };
    uint64_t sequences[2] = { 1, 2 };
    float sum[ENCODER_WIDTH], mean[ENCODER_WIDTH];
    qnnrt_llm_batch batch;
    size_t i, c, count;
    made m;
    int k;
    for (i = 0; i < ENCODER_WORDS * ENCODER_WIDTH; ++i) table[i] = (float)(i * i % 37);
    memset(all, 1, sizeof all);
    for (k = 0; k < 2; ++k) {
        TRY(encoder_make(&m, masks[k], table));
        CHECK_EQ(m.info->ar, ENCODER_N);
        CHECK_EQ(m.info->context, ENCODER_N);
        CHECK_EQ(m.info->cells, 0);
        CHECK_EQ(m.info->width, ENCODER_WIDTH);
        CHECK_EQ(m.info->graphs[0].tensors[1].role, QNNRT_LLM_ROLE_PADDING);
        CHECK_STR(m.info->graphs[0].tensors[1].reason, "one number for each token");
        CHECK_EQ(m.info->graphs[0].tensors[2].role, QNNRT_LLM_ROLE_TOKEN_TYPES);
        for (count = ENCODER_N; count > 0; --count) {
            memset(&batch, 0, sizeof batch);
            batch.tokens = tokens;
            batch.count = count;
            batch.wanted = all;
            batch.hidden = hidden;
            if (qnnrt_llm_eval(m.cache, &batch) != QNNRT_OK) CHECK_STR(qnnrt_llm_error(m.cache)->text, "no error");
            for (c = 0; c < ENCODER_WIDTH; ++c)
                for (sum[c] = 0, i = 0; i < count; ++i) sum[c] += table[tokens[i] * ENCODER_WIDTH + (int32_t)c];
            for (i = 0; i < count; ++i)
                for (c = 0; c < ENCODER_WIDTH; ++c)
                    CHECK(hidden[i * ENCODER_WIDTH + c] == table[tokens[i] * ENCODER_WIDTH + (int32_t)c] + sum[c]);
            CHECK_EQ(qnnrt_llm_pool(m.llm, &batch, NULL, mean, &err), QNNRT_OK);
            for (c = 0; c < ENCODER_WIDTH; ++c)
                CHECK(mean[c] == (float)((double)sum[c] * (double)(count + 1) / (double)count));
        }
        /* One text at a time, and nothing is kept. */
        batch.count = 2;
        batch.sequences = sequences;
        CHECK_EQ(qnnrt_llm_eval(m.cache, &batch), QNNRT_E_ARG);
        CHECK_STR(qnnrt_llm_error(m.cache)->text, "an encoder takes one text");
        sequences[1] = 1;
        CHECK_EQ(qnnrt_llm_eval(m.cache, &batch), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_decode(m.cache, &batch), QNNRT_E_LIMIT);
        CHECK_STR(qnnrt_llm_error(m.cache)->hint, "qnnrt_llm_eval()");
        TRY(unmake(&m));
        sequences[1] = 2;
    }
}

TEST_MAIN("llm_model")
{
    RUN(encoders_see_a_whole_text_and_no_padding);
    RUN(adapters_compute_what_merged_weights_do);
    RUN(texts_belong_to_their_adapter);
    RUN(a_failed_change_leaves_the_former_adapter);
    RUN(libraries_without_updates_are_named);
    RUN(adapters_that_do_not_fit_are_refused_by_name);
    RUN(short_texts_run_in_short_contexts);
    RUN(hidden_states_are_those_of_numpy);
    RUN(texts_of_several_sequences_are_pooled_apart);
    RUN(what_was_not_computed_is_not_pooled);
    RUN(rows_of_embeddings_stand_for_tokens);
    RUN(a_table_that_does_not_fit_is_refused);
}
