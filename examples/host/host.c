/* What an inference engine needs, from an engine's side: this one has its own tokenizer, its own
   sampler and batches as llama.cpp has them, and leaves the model to qnnrt_llm.h.

       host FOLDER [BACKEND_LIBRARY [DRAFT_FOLDER]]

   FOLDER holds a language model whose tokens are bytes: tests/data/llm/w8a16_one for libQnnHtp.so
   of 2.51, or what examples/llm/export.c makes. DRAFT_FOLDER is a second one, to draft for it.
   In the order of this file: tokenizer, sampler, batches, and then five uses of them: perplexity,
   one text going on, several texts in one batch, speculative decoding, saving and rewinding. What
   must be true of each is checked; the status is 1 when something is not.

   Without BACKEND_LIBRARY graphs run on libQnnRef.so, the reference backend. Link with -lm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt.h"
#include "tools/qnnrt_llm.h"

enum { BATCH = 128, TEXTS = 3, PROMPTED = 64, ALONE = 48, TOGETHER = 16, DRAFTS = 6, TOP_K = 40 };

static int broken;                              /* promises, for the status */

static void stop(const char *text) { fprintf(stderr, "host: %s\n", text); exit(1); }

static void promise(int kept, const char *what)
{
    printf("  %s: %s\n", kept ? "yes" : "NO", what);
    if (!kept) ++broken;
}

/* ---- the engine's own tokenizer: a token is a byte ------------------------------------------- */

typedef struct tokenizer {
    uint32_t vocabulary;
    int    (*encode)(const char *text, int32_t *tokens, int room);      /* how many */
    void   (*print)(const int32_t *tokens, int count);
} tokenizer;

static int encode_bytes(const char *text, int32_t *tokens, int room)
{
    int n;
    for (n = 0; n < room && text[n] != '\0'; ++n) tokens[n] = (unsigned char)text[n];
    return n;
}

static void print_bytes(const int32_t *tokens, int count)
{
    int i;
    for (i = 0; i < count; ++i) putchar(tokens[i] >= ' ' && tokens[i] < 127 ? tokens[i] : '?');
}

static const tokenizer bytes = { 256, encode_bytes, print_bytes };

/* ---- its own sampler, on numbers: temperature and top-k -------------------------------------- */

typedef struct sampler { float temperature; int top_k; uint64_t state; } sampler;   /* {0}: greedy */

static int32_t sample(sampler *s, const float *logits)
{
    int32_t best[TOP_K];
    double weight[TOP_K], sum = 0.0, draw;
    int k = s->temperature > 0.0f ? s->top_k : 1, n = 0, at;
    uint32_t i;
    for (i = 0; i < bytes.vocabulary; ++i) {    /* the k largest, descending, by insertion */
        if (n == k && logits[i] <= logits[best[n - 1]]) continue;
        for (at = n < k ? n++ : n - 1; at > 0 && logits[i] > logits[best[at - 1]]; --at)
            best[at] = best[at - 1];
        best[at] = (int32_t)i;
    }
    if (k == 1) return best[0];
    for (at = 0; at < n; ++at)
        sum += weight[at] = exp((logits[best[at]] - logits[best[0]]) / s->temperature);
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    draw = (double)(s->state >> 11) / 9007199254740992.0 * sum;
    for (at = 0; at + 1 < n && draw >= weight[at]; ++at) draw -= weight[at];
    return best[at];
}

/* ---- a model with its cache, and batches for it ---------------------------------------------- */

typedef struct context {
    qnnrt                *model;
    qnnrt_llm            *llm;
    const qnnrt_llm_info *info;
    qnnrt_llm_cache      *cache;
    float                *logits;               /* [BATCH][vocabulary] of the last batch, */
    int                   row[BATCH];           /* where token i wanted them in row[i], else -1 */
} context;

typedef struct batch {                          /* as an engine has it */
    int32_t count, token[BATCH], pos[BATCH];
    int32_t seq_count[BATCH], seq_id[BATCH][TEXTS];
    int8_t  logits[BATCH];                      /* 1: wanted of what follows this token */
} batch;

static void must(const context *c, qnnrt_result result)
{
    if (result != QNNRT_OK) stop(qnnrt_llm_error(c->cache)->text);
}

static void add(batch *b, int32_t token, int32_t pos, int seq, int wanted)
{
    if (b->count == BATCH) stop("a batch is full");
    b->token[b->count] = token;
    b->pos[b->count] = pos;
    b->seq_count[b->count] = 1;
    b->seq_id[b->count][0] = seq;
    b->logits[b->count++] = (int8_t)wanted;
}

/* Lists of sequences become sets of bits; the rest is handed on as it is. qnnrt_llm_decode takes
   any length and keeps all of it, qnnrt_llm_eval keeps nothing until qnnrt_llm_accept. */
static void compute(context *c, const batch *b,
                    qnnrt_result (*call)(qnnrt_llm_cache *, const qnnrt_llm_batch *))
{
    uint64_t sequences[BATCH] = {0};
    unsigned char wanted[BATCH];
    qnnrt_llm_batch to = {0};
    int i, j, rows = 0;
    for (i = 0; i < b->count; ++i) {
        for (j = 0; j < b->seq_count[i]; ++j) sequences[i] |= (uint64_t)1 << b->seq_id[i][j];
        wanted[i] = b->logits[i] != 0;
        c->row[i] = wanted[i] ? rows++ : -1;
    }
    to.tokens = b->token;
    to.count = (size_t)b->count;
    to.positions = b->pos;
    to.sequences = sequences;
    to.wanted = wanted;
    to.logits = c->logits;
    must(c, call(c->cache, &to));
}

static const float *logits_of(const context *c, int i)
{
    return c->logits + (size_t)c->row[i] * c->info->vocabulary;
}

/* How many tokens can be computed at once now: a graph that takes more remembers less. */
static int room(const context *c)
{
    const uint32_t used = qnnrt_llm_cache_get_info(c->cache).used;
    uint32_t most = 0;
    size_t g;
    for (g = 0; g < c->info->graph_count; ++g)
        if (c->info->graphs[g].context - c->info->graphs[g].ar >= used)
            most = c->info->graphs[g].ar;       /* ascending */
    return (int)most;
}

/* ---- one text: how well it is foreseen, how it goes on --------------------------------------- */

/* exp of the mean of -log p(token | those before it): one batch, the logits of all its rows. */
static double perplexity(context *c, const char *text)
{
    batch b = {0};
    int32_t tokens[BATCH];
    int n = bytes.encode(text, tokens, BATCH), i;
    double nats = 0.0;
    qnnrt_llm_clear(c->cache);
    for (i = 0; i < n; ++i) add(&b, tokens[i], i, 0, 1);
    compute(c, &b, qnnrt_llm_decode);
    for (i = 0; i + 1 < n; ++i) {
        const float *logits = logits_of(c, i);
        double sum = 0.0;
        uint32_t v;
        for (v = 0; v < bytes.vocabulary; ++v) sum += exp((double)logits[v] - logits[tokens[i + 1]]);
        nats += log(sum);
    }
    return exp(nats / (n - 1));
}

/* From `have` tokens to `total`. Only what the cache does not hold yet is computed: all of a
   prompt, one token in a step after that, nothing twice after a rewind. */
static void go_on(context *c, int seq, int32_t *text, int have, int total, sampler *s)
{
    for (; have < total; ++have) {
        batch b = {0};
        int i;
        for (i = qnnrt_llm_sequence_last(c->cache, seq) + 1; i < have; ++i)
            add(&b, text[i], i, seq, i + 1 == have);
        compute(c, &b, qnnrt_llm_decode);
        text[have] = sample(s, logits_of(c, b.count - 1));
    }
}

/* ---- several texts at one time --------------------------------------------------------------- */

/* A prompt that is stored once and goes on in three ways, a token of each in every batch. */
static void several(context *c, const int32_t *plain, int prompted)
{
    int32_t text[TEXTS][BATCH];
    sampler samplers[TEXTS] = { {0.0f, 0, 0}, {0.8f, TOP_K, 1}, {0.8f, TOP_K, 2} };
    batch b = {0};
    int i, t, end = prompted + TOGETHER;
    uint32_t used;
    qnnrt_llm_clear(c->cache);
    for (t = 0; t < TEXTS; ++t) memcpy(text[t], plain, (size_t)prompted * sizeof plain[0]);
    for (i = 0; i < prompted; ++i) add(&b, plain[i], i, 0, i + 1 == prompted);
    compute(c, &b, qnnrt_llm_decode);
    for (t = 0; t < TEXTS; ++t) {
        text[t][prompted] = sample(&samplers[t], logits_of(c, prompted - 1));
        if (t > 0) must(c, qnnrt_llm_sequence_copy(c->cache, 0, t, -1, -1));
    }
    for (i = prompted; i + 1 < end; ++i) {
        b.count = 0;
        for (t = 0; t < TEXTS; ++t) add(&b, text[t][i], i, t, 1);
        compute(c, &b, qnnrt_llm_decode);
        for (t = 0; t < TEXTS; ++t) text[t][i + 1] = sample(&samplers[t], logits_of(c, t));
    }
    for (t = 0; t < TEXTS; ++t) {
        printf("  sequence %d: ", t);
        bytes.print(text[t] + prompted, TOGETHER);
        printf("\n");
    }
    promise(memcmp(text[0], plain, (size_t)end * sizeof plain[0]) == 0,
            "the greedy one is what it is alone");
    used = qnnrt_llm_cache_get_info(c->cache).used;
    promise(used == (uint32_t)(prompted + TEXTS * (TOGETHER - 1)), "the prompt is stored once");

    /* One is given up, then one is chosen and goes on alone. */
    must(c, qnnrt_llm_sequence_remove(c->cache, 2, -1, -1));
    must(c, qnnrt_llm_sequence_keep(c->cache, 1));
    used = qnnrt_llm_cache_get_info(c->cache).used;
    promise(used == (uint32_t)(end - 1) && qnnrt_llm_sequence_last(c->cache, 0) == -1,
            "what only the others had is free");
    go_on(c, 1, text[1], end, end + TOGETHER, &samplers[1]);
    printf("  sequence 1 alone: ");
    bytes.print(text[1] + prompted, 2 * TOGETHER);
    printf("\n");
}

/* ---- speculative decoding -------------------------------------------------------------------- */

/* Behind `have` tokens, write up to `most` that followed the longest equal ending before. */
static int draft_by_lookup(int32_t *text, int have, int most)
{
    int begin, from = 0, longest = 0, same, n;
    for (begin = 1; begin < have; ++begin) {
        for (same = 0; same < begin && text[begin - 1 - same] == text[have - 1 - same];) ++same;
        if (same >= longest) { longest = same; from = begin; }
    }
    if (longest < 2) return 0;
    for (n = 0; n < most; ++n) text[have + n] = text[from + n];
    return n;
}

/* The same by another model, which first forgets what it drafted in vain. */
static int draft_by_model(context *draft, int32_t *text, int have, int most)
{
    sampler greedy = {0};
    must(draft, qnnrt_llm_sequence_remove(draft->cache, 0, have - 1, -1));
    go_on(draft, 0, text, have, have + most, &greedy);
    return most;
}

/* All drafts are computed at once behind the last token; those that the target would have chosen
   are kept, and behind them comes a token of its own. */
static void speculate(context *c, context *draft, const int32_t *plain, int prompted)
{
    int32_t text[BATCH + DRAFTS];
    sampler greedy = {0};
    int have = prompted, total = prompted + ALONE, steps = 0, drafted = 0, accepted = 0;
    qnnrt_llm_clear(c->cache);
    memcpy(text, plain, (size_t)have * sizeof text[0]);
    go_on(c, 0, text, have, have + 1, &greedy);
    for (++have; have < total; ++steps) {
        batch b = {0};
        int most = total - have - 1, n, good, i;
        if (most > DRAFTS) most = DRAFTS;
        if (most > room(c) - 1) most = room(c) - 1;
        n = draft != NULL ? draft_by_model(draft, text, have, most)
                          : draft_by_lookup(text, have, most);
        for (i = 0; i <= n; ++i) add(&b, text[have - 1 + i], have - 1 + i, 0, 1);
        compute(c, &b, qnnrt_llm_eval);
        for (good = 0; good < n; ++good)
            if (sample(&greedy, logits_of(c, good)) != text[have + good]) break;
        must(c, qnnrt_llm_accept(c->cache, NULL, (size_t)good + 1));
        text[have + good] = sample(&greedy, logits_of(c, good));
        have += good + 1;
        drafted += n;
        accepted += good;
    }
    printf("  %d of %d drafts accepted, %d tokens in %d steps\n", accepted, drafted, ALONE - 1, steps);
    promise(memcmp(text, plain, (size_t)total * sizeof text[0]) == 0, "the text is the plain one");
}

/* ---- saving, rewinding ----------------------------------------------------------------------- */

static void save_and_rewind(context *c, const int32_t *plain, int prompted)
{
    int32_t text[BATCH];
    sampler greedy = {0};
    int have = prompted + ALONE / 2, total = prompted + ALONE;
    size_t size, read;
    char *state;
    FILE *file = tmpfile();

    qnnrt_llm_clear(c->cache);
    memcpy(text, plain, sizeof text);
    go_on(c, 0, text, prompted, have, &greedy);
    size = qnnrt_llm_state_bytes(c->cache);
    state = (char *)malloc(size);
    if (file == NULL || state == NULL) stop("there is no file or no memory for the state");
    must(c, qnnrt_llm_state_save(c->cache, state, size, &size));
    if (fwrite(state, 1, size, file) != size) stop("the state is not written");

    qnnrt_llm_clear(c->cache);
    memset(state, 0, size);
    rewind(file);
    read = fread(state, 1, size, file);
    must(c, qnnrt_llm_state_restore(c->cache, state, read));
    go_on(c, 0, text, have, total, &greedy);
    printf("  %lu bytes for %d tokens\n", (unsigned long)size, have - 1);
    promise(memcmp(text, plain, (size_t)total * sizeof text[0]) == 0, "restored, it goes on as before");

    must(c, qnnrt_llm_sequence_remove(c->cache, 0, prompted / 2, -1));
    memset(text + prompted, 0, (size_t)(total - prompted) * sizeof text[0]);
    go_on(c, 0, text, prompted, total, &greedy);
    promise(memcmp(text, plain, (size_t)total * sizeof text[0]) == 0, "rewound, it says the same again");
    fclose(file);
    free(state);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void open_model(context *c, const char *folder, const qnnrt_desc *desc)
{
    qnnrt_llm_desc llm = {0};
    qnnrt_error err;
    llm.folder = folder;
    if (qnnrt_open(folder, desc, &c->model, &err) != QNNRT_OK ||
        qnnrt_llm_open(c->model, &llm, &c->llm, &err) != QNNRT_OK) stop(err.text);
    c->info = qnnrt_llm_get_info(c->llm);
    if (c->info->vocabulary != bytes.vocabulary) stop("the model's tokens are not bytes");
    if (c->info->cells < BATCH - 1) stop("the model's context is shorter than 128 tokens");
    c->logits = (float *)malloc(BATCH * sizeof(float) * c->info->vocabulary);
    if (c->logits == NULL) stop("there is no memory for logits");
}

int main(int argc, char **argv)
{
    static context contexts[2];                 /* the target, and who drafts for it */
    context *c = &contexts[0], *draft = argc > 3 ? &contexts[1] : NULL;
    const int models = draft != NULL ? 2 : 1;
    int32_t plain[BATCH] = {0};
    sampler greedy = {0};
    qnnrt_llm *llms[2];
    qnnrt_llm_session *session;
    qnnrt_llm_session_info info;
    qnnrt_desc desc = {0}, shared = {0};
    qnnrt_error err;
    int prompted, i;

    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: host FOLDER [BACKEND_LIBRARY [DRAFT_FOLDER]]\n");
        return 2;
    }
    desc.backend_path = argc > 2 ? argv[2] : "libQnnRef.so";
    if (argc == 2) printf("no backend was named: libQnnRef.so it is, the reference backend\n");
    open_model(c, argv[1], &desc);
    shared.backend = qnnrt_get_backend(c->model);
    if (draft != NULL) open_model(draft, argv[3], &shared);

    for (i = 0; i < models; ++i) llms[i] = contexts[i].llm;
    if (qnnrt_llm_session_create(llms, (size_t)models, NULL, &session, &err) != QNNRT_OK)
        stop(err.text);
    for (i = 0; i < models; ++i) contexts[i].cache = qnnrt_llm_cache_get(session, (size_t)i, 0);

    printf("perplexity %.4f\n", perplexity(c, "The voice of him that crieth in the wilderness, "
                                              "Prepare ye the way of the LORD, make straight"));
    prompted = bytes.encode("And the LORD said unto ", plain, PROMPTED);
    qnnrt_llm_clear(c->cache);
    go_on(c, 0, plain, prompted, prompted + ALONE, &greedy);
    printf("greedy: ");
    bytes.print(plain, prompted + ALONE);
    printf("\nseveral sequences\n");
    several(c, plain, prompted);
    printf("speculative decoding, drafts looked up in the text\n");
    speculate(c, NULL, plain, prompted);
    if (draft != NULL) {
        printf("speculative decoding, drafts of another model\n");
        speculate(c, draft, plain, prompted);
    }
    printf("state\n");
    save_and_rewind(c, plain, prompted);

    info = qnnrt_llm_session_get_info(session);
    printf("%lu steps in an arena of %lu bytes (%lu in a buffer for each tensor)\n",
           (unsigned long)info.steps, (unsigned long)info.arena_bytes,
           (unsigned long)info.naive_bytes);
    qnnrt_llm_session_destroy(session);
    for (i = models; i-- > 0;) {                /* the first owns the backend */
        qnnrt_llm_close(contexts[i].llm);
        qnnrt_close(contexts[i].model);
        free(contexts[i].logits);
    }
    return broken != 0;
}
