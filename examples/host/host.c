/* An inference engine on qnnrt_llm.h: it has its own tokenizer, its own sampler, and batches like
   those of llama.cpp; qnnrt_llm.h runs the model.

       host FOLDER [BACKEND_LIBRARY [DRAFT_FOLDER]]

   FOLDER holds a language model whose tokens are bytes: tests/data/llm/w8a16_one for libQnnHtp.so
   of 2.51, or what examples/llm/export.c makes. DRAFT_FOLDER is a second one, to draft for it.
   After tokenizer, sampler and batches come five uses: perplexity, a text that is continued,
   several texts in one batch, speculative decoding, saving and rewinding. The program checks what
   must be true of each; the exit status is 1 when a check fails.

   Without BACKEND_LIBRARY the graphs run on libQnnRef.so, the reference backend. Link with -lm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt.h"
#include "tools/qnnrt_llm.h"

enum {
    MOST = 96,                                  /* most tokens of a text or of a batch          */
    TEXTS = 3,                                  /* texts in one batch                           */
    ALONE = 48, TOGETHER = 16,                  /* tokens to write, in one text and in several  */
    DRAFTS = 6,                                 /* most tokens that are drafted                 */
    TOP_K = 40                                  /* tokens that a sampler chooses from           */
};

static int broken;                              /* 1: a check has failed                        */

static void stop(const char *why) { fprintf(stderr, "host: %s\n", why); exit(1); }

static void stop_error(const qnnrt_error *err)
{
    fprintf(stderr, "host: %s\n", err->text);
    if (err->hint[0] != '\0') fprintf(stderr, "hint: %s\n", err->hint);
    exit(1);
}

static void promise(int kept, const char *what)
{
    printf("  %s: %s\n", kept ? "yes" : "NO", what);
    if (!kept) broken = 1;
}

/* ---- the engine's own tokenizer: a token is a byte ------------------------------------------- */

typedef struct text { int count; int32_t token[MOST]; } text;

typedef struct tokenizer {
    uint32_t vocabulary;
    void   (*encode)(text *to, const char *from);
    char   (*decode)(int32_t token);
} tokenizer;

static void byte_encode(text *to, const char *from)
{
    for (to->count = 0; to->count < MOST && from[to->count] != '\0'; ++to->count)
        to->token[to->count] = (unsigned char)from[to->count];
}

static char byte_decode(int32_t token) { return (char)(token < ' ' || token > '~' ? '?' : token); }

static const tokenizer tokens = { 256, byte_encode, byte_decode };

static void show(const char *label, const text *t, int begin)
{
    printf("%s: ", label);
    while (begin < t->count) putchar(tokens.decode(t->token[begin++]));
    putchar('\n');
}

static int same(const text *a, const text *b, int count)
{
    return memcmp(a->token, b->token, (size_t)count * sizeof a->token[0]) == 0;
}

/* ---- the engine's own sampler: temperature and top-k ----------------------------------------- */

typedef struct sampler { float temperature; int top_k; uint64_t state; } sampler;

static int32_t sample(sampler *s, const float *logits)         /* NULL: greedy */
{
    int32_t best[TOP_K];
    double weight[TOP_K], sum = 0.0;
    int k = s != NULL ? s->top_k : 1, n = 0, at;
    uint32_t i;
    for (i = 0; i < tokens.vocabulary; ++i) {   /* the k largest, descending */
        if (n == k && logits[i] <= logits[best[n - 1]]) continue;
        for (at = n < k ? n++ : n - 1; at > 0 && logits[i] > logits[best[at - 1]]; --at)
            best[at] = best[at - 1];
        best[at] = (int32_t)i;
    }
    if (s == NULL) return best[0];              /* of equals the lowest */
    for (at = 0; at < n; ++at)
        sum += weight[at] = exp((logits[best[at]] - logits[best[0]]) / s->temperature);
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    sum *= (double)(s->state >> 11) / 9007199254740992.0;
    for (at = 0; at + 1 < n && sum >= weight[at]; ++at) sum -= weight[at];
    return best[at];
}

/* ---- a model with its cache, and batches for it ---------------------------------------------- */

typedef struct context {
    qnnrt           *model;
    qnnrt_llm       *llm;
    qnnrt_llm_cache *cache;
    float           *logits;                    /* [MOST][vocabulary] of the last batch */
    const float     *row[MOST];                 /* logits after its token i; NULL: not wanted   */
} context;

typedef struct batch {                          /* in the form of engines */
    int     count;
    int32_t token[MOST], pos[MOST], seq_count[MOST], seq_id[MOST][TEXTS];
    unsigned char logits[MOST];                 /* 1: the logits after this token are wanted */
} batch;

static void must(const context *c, qnnrt_result result)
{
    if (result != QNNRT_OK) stop_error(qnnrt_llm_error(c->cache));
}

static void add(batch *b, int32_t token, int pos, int seq, int wanted)
{
    if (b->count == MOST) stop("a batch is full");
    b->token[b->count] = token;
    b->pos[b->count] = pos;
    b->seq_id[b->count][0] = seq;
    b->seq_count[b->count] = 1;
    b->logits[b->count++] = (unsigned char)wanted;
}

/* Compute a batch. Lists of sequences become sets of bits; the rest has the same form. `call` is
   qnnrt_llm_decode, which takes any length and keeps all tokens, or qnnrt_llm_eval, which keeps
   none before qnnrt_llm_accept. */
static void compute(context *c, const batch *b,
                    qnnrt_result (*call)(qnnrt_llm_cache *, const qnnrt_llm_batch *))
{
    uint64_t sequences[MOST] = {0};
    const qnnrt_llm_batch to = { .tokens = b->token, .count = (size_t)b->count,
                                 .sequences = sequences, .positions = b->pos,
                                 .wanted = b->logits, .logits = c->logits };
    const float *row = c->logits;
    int i, j;
    for (i = 0; i < b->count; ++i) {
        for (j = 0; j < b->seq_count[i]; ++j) sequences[i] |= (uint64_t)1 << b->seq_id[i][j];
        c->row[i] = b->logits[i] ? row : NULL;
        if (b->logits[i]) row += tokens.vocabulary;
    }
    must(c, call(c->cache, &to));
}

/* ---- one text: its perplexity, and its continuation ------------------------------------------ */

/* Return exp of the mean of -log p(token | tokens before it), from the logits of one batch. */
static double perplexity(context *c, const text *t)
{
    batch b = {0};
    double nats = 0.0, sum;
    uint32_t v;
    int i;
    qnnrt_llm_clear(c->cache);
    for (i = 0; i < t->count; ++i) add(&b, t->token[i], i, 0, 1);
    compute(c, &b, qnnrt_llm_decode);
    for (i = 0; i + 1 < t->count; ++i) {
        for (sum = 0.0, v = 0; v < tokens.vocabulary; ++v)
            sum += exp((double)c->row[i][v] - c->row[i][t->token[i + 1]]);
        nats += log(sum);
    }
    return exp(nats / (t->count - 1));
}

/* Continue a text until it has `total` tokens. Tokens that the cache holds are not computed again:
   first comes the whole prompt, then one token at a time, and after a rewind what was removed. */
static void go_on(context *c, int seq, text *t, int total, sampler *s)
{
    for (; t->count < total; ++t->count) {
        batch b = {0};
        int i;
        for (i = qnnrt_llm_sequence_last(c->cache, seq) + 1; i < t->count; ++i)
            add(&b, t->token[i], i, seq, i + 1 == t->count);
        compute(c, &b, qnnrt_llm_decode);
        t->token[t->count] = sample(s, c->row[b.count - 1]);
    }
}

/* ---- several texts in one batch -------------------------------------------------------------- */

static void several(context *c, const text *prompt, const text *plain)
{
    static const char *const labels[TEXTS] = { "  seed 1", "  seed 2", "  greedy" };
    sampler seeds[2] = { {0.8f, TOP_K, 1}, {0.8f, TOP_K, 2} };
    sampler *samplers[TEXTS] = { &seeds[0], &seeds[1], NULL };
    text t[TEXTS];
    batch b = {0};
    const int have = prompt->count, end = have + TOGETHER;
    int i, s;
    qnnrt_llm_clear(c->cache);
    for (i = 0; i < have; ++i) {                /* in sequences 0 and 1; 2 becomes a copy */
        add(&b, prompt->token[i], i, 0, i + 1 == have);
        b.seq_id[i][b.seq_count[i]++] = 1;
    }
    compute(c, &b, qnnrt_llm_decode);
    must(c, qnnrt_llm_sequence_copy(c->cache, 0, 2, -1, -1));
    for (s = 0; s < TEXTS; ++s) {
        t[s] = *prompt;
        t[s].token[t[s].count++] = sample(samplers[s], c->row[have - 1]);
    }
    for (i = have; i + 1 < end; ++i) {          /* a token of each in every step */
        for (b.count = s = 0; s < TEXTS; ++s) add(&b, t[s].token[i], i, s, 1);
        compute(c, &b, qnnrt_llm_decode);
        for (s = 0; s < TEXTS; ++s)
            t[s].token[t[s].count++] = sample(samplers[s], c->row[s]);
    }
    printf("%d texts in one batch\n", TEXTS);
    for (s = 0; s < TEXTS; ++s) show(labels[s], &t[s], have);
    promise(same(&t[2], plain, end), "the greedy one is what it is alone");
    promise(qnnrt_llm_cache_get_info(c->cache).used == (uint32_t)(end - 1 + 2 * (TOGETHER - 1)),
            "the prompt is stored once");
    must(c, qnnrt_llm_sequence_remove(c->cache, 0, -1, -1));    /* drop one text */
    must(c, qnnrt_llm_sequence_keep(c->cache, 1));              /* keep only one  */
    go_on(c, 1, &t[1], end + TOGETHER, samplers[1]);
    show("  seed 2 alone", &t[1], have);
    promise(qnnrt_llm_cache_get_info(c->cache).used == (uint32_t)(end + TOGETHER - 1),
            "what only the others had is free");
}

/* ---- speculative decoding -------------------------------------------------------------------- */

/* Append up to `most` drafts: the tokens that followed the longest equal ending earlier in the
   text, or, with `draft`, the tokens that this model chooses after it has removed its rejected
   drafts. */
static void propose(context *draft, text *t, int most)
{
    int at, n, from = 0, longest = 1;
    if (draft != NULL) {
        must(draft, qnnrt_llm_sequence_remove(draft->cache, 0, t->count - 1, -1));
        go_on(draft, 0, t, t->count + most, NULL);
        return;
    }
    for (at = 1; at < t->count; ++at) {
        for (n = 0; n < at && t->token[at - 1 - n] == t->token[t->count - 1 - n];) ++n;
        if (n > longest) { longest = n; from = at; }
    }
    for (n = 0; from > 0 && n < most; ++n) t->token[t->count++] = t->token[from + n];
}

/* Write a text with drafts. They are computed in one batch, after the last token. Drafts that the
   target chooses too are kept; the next token is the target's own choice. */
static void speculate(context *c, context *draft, const text *prompt, const text *plain)
{
    text t = *prompt;
    int steps = 0, drafted = 0, accepted = 0, have, most, good, i;
    qnnrt_llm_clear(c->cache);
    go_on(c, 0, &t, t.count + 1, NULL);
    for (; t.count < plain->count; ++steps) {
        batch b = {0};
        have = t.count;
        most = (int)qnnrt_llm_cache_get_info(c->cache).at_once - 1;
        if (most > DRAFTS) most = DRAFTS;
        if (most > plain->count - have - 1) most = plain->count - have - 1;
        propose(draft, &t, most);
        for (i = have - 1; i < t.count; ++i) add(&b, t.token[i], i, 0, 1);
        compute(c, &b, qnnrt_llm_eval);
        for (good = 0; good + 1 < b.count; ++good)
            if (sample(NULL, c->row[good]) != t.token[have + good]) break;
        must(c, qnnrt_llm_accept(c->cache, NULL, (size_t)good + 1));
        t.token[have + good] = sample(NULL, c->row[good]);
        t.count = have + good + 1;
        drafted += b.count - 1;
        accepted += good;
    }
    printf("speculative decoding, drafts %s: %d of %d accepted, %d tokens in %d steps\n",
           draft != NULL ? "of a model" : "looked up", accepted, drafted, ALONE - 1, steps);
    promise(same(&t, plain, plain->count), "the text is the greedy one");
}

/* ---- saving, rewinding ----------------------------------------------------------------------- */

static void save_and_rewind(context *c, const text *prompt, const text *plain)
{
    text t = *prompt;
    FILE *file = tmpfile();
    size_t size;
    char *state;

    qnnrt_llm_clear(c->cache);
    go_on(c, 0, &t, t.count + ALONE / 2, NULL);
    size = qnnrt_llm_state_bytes(c->cache);
    state = (char *)malloc(size);
    if (state == NULL || file == NULL) stop("no memory or no file for a state");
    must(c, qnnrt_llm_state_save(c->cache, state, size, &size));
    if (fwrite(state, 1, size, file) != size) stop("cannot write the state");
    printf("state of %d tokens: %lu bytes\n", t.count - 1, (unsigned long)size);

    qnnrt_llm_clear(c->cache);
    memset(state, 0, size);
    rewind(file);
    must(c, qnnrt_llm_state_restore(c->cache, state, fread(state, 1, size, file)));
    promise(qnnrt_llm_sequence_last(c->cache, 0) == t.count - 2, "restored, all of it is back");
    go_on(c, 0, &t, plain->count, NULL);
    promise(same(&t, plain, plain->count), "the text goes on as it did");

    must(c, qnnrt_llm_sequence_remove(c->cache, 0, prompt->count / 2, -1));
    t = *prompt;
    go_on(c, 0, &t, plain->count, NULL);
    promise(same(&t, plain, plain->count), "rewound, it is written again");
    fclose(file);
    free(state);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void open_model(context *c, const char *folder, qnnrt_desc *desc)
{
    static const qnnrt_host_function look_up = { "embedding", qnnrt_llm_embedding, NULL };
    qnnrt_error err;
    desc->host_functions = &look_up;            /* for models with their embeddings on the host */
    desc->host_function_count = 1;
    if (qnnrt_open(folder, desc, &c->model, &err) != QNNRT_OK ||
        qnnrt_llm_open(c->model, NULL, &c->llm, &err) != QNNRT_OK) stop_error(&err);
    if (qnnrt_llm_get_info(c->llm)->vocabulary != tokens.vocabulary)
        stop("this engine's tokens are bytes, but the model's tokens are not");
    if (qnnrt_llm_get_info(c->llm)->cells < MOST) stop("the model remembers too few tokens");
    c->logits = (float *)malloc(MOST * tokens.vocabulary * sizeof(float));
    if (c->logits == NULL) stop("no memory for logits");
}

static void close_model(context *c)             /* does nothing for zeros */
{
    qnnrt_llm_close(c->llm);
    qnnrt_close(c->model);
    free(c->logits);
}

int main(int argc, char **argv)
{
    static context contexts[2];                 /* the target, and the model that drafts for it */
    context *c = &contexts[0], *draft = argc > 3 ? &contexts[1] : NULL;
    qnnrt_desc desc = { .backend_desc.path = argc > 2 ? argv[2] : "libQnnRef.so" }, shared = {0};
    qnnrt_llm *models[2];
    qnnrt_llm_session *session;
    qnnrt_error err;
    text prompt, plain;

    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: host FOLDER [BACKEND_LIBRARY [DRAFT_FOLDER]]\n");
        return 2;
    }
    if (argc == 2) printf("no backend was named: using libQnnRef.so, the reference backend\n");
    open_model(c, argv[1], &desc);
    shared.backend = qnnrt_get_info(c->model)->backend;
    if (draft != NULL) open_model(draft, argv[3], &shared);
    models[0] = c->llm;
    models[1] = contexts[1].llm;
    if (qnnrt_llm_session_create(models, draft != NULL ? 2 : 1, NULL, &session, &err) != QNNRT_OK)
        stop_error(&err);                       /* the graphs of both share one memory */
    c->cache = qnnrt_llm_cache_get(session, 0, 0);
    if (draft != NULL) draft->cache = qnnrt_llm_cache_get(session, 1, 0);

    tokens.encode(&prompt, "The voice of him that crieth in the wilderness, "
                           "Prepare ye the way of the LORD, make straight");
    printf("perplexity of %d bytes: %.4f\n", prompt.count, perplexity(c, &prompt));
    tokens.encode(&prompt, "And the LORD said unto ");
    plain = prompt;
    qnnrt_llm_clear(c->cache);
    go_on(c, 0, &plain, prompt.count + ALONE, NULL);
    show("greedy", &plain, 0);
    several(c, &prompt, &plain);
    speculate(c, NULL, &prompt, &plain);
    if (draft != NULL) speculate(c, draft, &prompt, &plain);
    save_and_rewind(c, &prompt, &plain);

    qnnrt_llm_session_destroy(session);
    close_model(&contexts[1]);
    close_model(c);                             /* the first has the backend, so it is the last */
    return broken;
}
