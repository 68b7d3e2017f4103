/* check.h - what must be true of the engine, shown and checked on any model: host --check

   Each "yes" is a promise that was kept, each "NO" one that was broken. Texts are compared token by
   token with those that were written alone. Where a backend rounds differently in graphs for one
   token and for many, as HTP does, a step with other texts can tip a choice: there they are counted
   only.

   Needs: engine.h     Knows nothing of: lines, standard input */
#ifndef HOST_CHECK_H
#define HOST_CHECK_H

#include <math.h>

#include "engine.h"

enum { LONG = 48, SHORT = 12, FOUR = 4, TEXT = 96 };    /* tokens to write; texts; most tokens */

typedef struct answer { int32_t token[TEXT]; size_t count; } answer;

typedef struct check {
    engine *e;
    int     broken;                         /* 1: a promise was */
    int     rounds;                         /* 1: logits depend on the graph that is used */
    answer  greedy, alone[FOUR];            /* written alone */
} check;

static const char check_prompt[] = "And the LORD said unto ";
static const char *const check_prompts[FOUR] = { "In the beginning ", "And the LORD ",
                                                 "The king ", "And it came " };

static void promise(check *c, int kept, const char *what)
{
    printf("  %s: %s\n", kept ? "yes" : "NO", what);
    c->broken |= !kept;
}

/* Return the options of text i: two are greedy, two are drawn. */
static options check_options(size_t i)
{
    options wants = {0};
    wants.write = SHORT;
    if (i % 2 == 1) {
        wants.how.temperature = 0.8f;
        wants.how.top_k = 40;
        wants.how.seed = i;
    }
    return wants;
}

static request *check_ask(check *c, const char *name, const char *prompt, const options *wants)
{
    request *r;
    qnnrt_error err;
    if (engine_ask(c->e, name, wants, prompt, strlen(prompt), &r, &err) != QNNRT_OK) {
        printf("%s: %s\n", name, err.text);
        c->broken = 1;
    }
    return r;
}

/* Ask for the four texts, with so many drafts. */
static void check_four(check *c, request **r, size_t drafts)
{
    static const char *const names[FOUR] = { "a", "b", "c", "d" };
    for (size_t i = 0; i < FOUR; ++i) {
        options wants = check_options(i);
        wants.drafts = drafts;
        r[i] = check_ask(c, names[i], check_prompts[i], &wants);
    }
}

/* Take the text of a request that has ended, and forget the request. */
static void check_take(check *c, request *r, answer *to)
{
    memset(to, 0, sizeof(*to));
    if (r == NULL)
        return;
    if (r->error.code != QNNRT_OK) {
        printf("%s: %s\n", r->name, r->error.text);
        c->broken = 1;
    }
    to->count = r->count < TEXT ? r->count : TEXT;
    memcpy(to->token, r->token, to->count * sizeof(int32_t));
    engine_drop(c->e, r);
}

/* Return 1 if text a is b, or the beginning of b. */
static int begins(const answer *a, const answer *b)
{
    return a->count > 0 && a->count <= b->count &&
           memcmp(a->token, b->token, a->count * sizeof(int32_t)) == 0;
}

/* Take the four texts. They are promised to be those that were written alone. */
static void check_same(check *c, request **r, const char *what)
{
    int alike = 0;
    for (size_t i = 0; i < FOUR; ++i) {
        answer t;
        check_take(c, r[i], &t);
        alike += t.count == c->alone[i].count && begins(&t, &c->alone[i]);
    }
    if (c->rounds)
        printf("  %d of %d: %s\n", alike, FOUR, what);
    else
        promise(c, alike == FOUR, what);
}

static void check_run(check *c)
{
    while (engine_step(c->e)) {}
}

static void check_show(const char *label, const answer *t)
{
    printf("%s: ", label);
    for (size_t i = 0; i < t->count; ++i) {
        const char byte = decode(t->token[i]);
        putchar(byte < ' ' || byte > '~' ? '?' : byte);
    }
    putchar('\n');
}

/* ---- one text: its perplexity, and its continuation ------------------------------------------ */

/* Print exp of the mean of -log p(token | tokens before it), from the logits of one batch. It takes
   a sequence that no slot has. */
static void check_perplexity(check *c, const char *of)
{
    qnnrt_llm_cache *const cache = c->e->target.cache;
    const size_t count = strlen(of);
    float *logits = (float *)calloc(count * VOCABULARY, sizeof(*logits));
    unsigned char wanted[TEXT];
    int32_t token[TEXT];
    qnnrt_llm_batch all = {0};
    double nats = 0.0;
    size_t i, v;
    memset(wanted, 1, sizeof(wanted));
    encode(token, of, count);
    all.tokens = token;
    all.count = count;
    all.sequence = MOST_SLOTS;
    all.wanted = wanted;
    all.logits = logits;
    if (logits == NULL || qnnrt_llm_decode(cache, &all) != QNNRT_OK) {
        printf("perplexity: %s\n", logits == NULL ? "no memory" : qnnrt_llm_error(cache)->text);
        c->broken = 1;
        free(logits);
        return;
    }
    for (i = 0; i + 1 < count; ++i) {
        const float *row = logits + i * VOCABULARY;
        double sum = 0.0;
        for (v = 0; v < VOCABULARY; ++v)
            sum += exp((double)row[v] - row[token[i + 1]]);
        nats += log(sum);
    }
    printf("perplexity of %lu bytes: %.4f\n", (unsigned long)count,
           exp(nats / (double)(count - 1)));
    qnnrt_llm_sequence_remove(cache, MOST_SLOTS, -1, -1);
    free(logits);
}

/* Find out whether the logits of a token depend on the graph: computed with the tokens before it,
   or alone after them. The order of float additions may differ, which makes 1e-5. */
static void check_rounding(check *c, const char *of)
{
    qnnrt_llm_cache *const cache = c->e->target.cache;
    const size_t count = strlen(of);
    float logits[2][VOCABULARY], most = 0.0f;
    int32_t token[TEXT];
    qnnrt_llm_batch all = {0}, one = {0};
    encode(token, of, count);
    all.tokens = token;
    all.count = count;
    all.logits = logits[0];
    one.tokens = token + count - 1;
    one.count = 1;
    one.logits = logits[1];
    all.sequence = one.sequence = MOST_SLOTS;
    if (qnnrt_llm_decode(cache, &all) != QNNRT_OK ||
        qnnrt_llm_sequence_remove(cache, MOST_SLOTS, (int32_t)count - 1, -1) != QNNRT_OK ||
        qnnrt_llm_decode(cache, &one) != QNNRT_OK) {
        printf("rounding: %s\n", qnnrt_llm_error(cache)->text);
        c->broken = 1;
        return;
    }
    for (size_t i = 0; i < VOCABULARY; ++i)
        most = fmaxf(most, fabsf(logits[0][i] - logits[1][i]));
    c->rounds = !(most < 1e-3f);
    if (c->rounds)
        printf("this backend rounds differently in graphs for one token and for many: by %g\n",
               (double)most);
    qnnrt_llm_sequence_remove(cache, MOST_SLOTS, -1, -1);
}

/* Write all texts alone. */
static void check_alone(check *c)
{
    options wants = {0};
    request *r;
    size_t i;
    wants.write = LONG;
    r = check_ask(c, "greedy", check_prompt, &wants);
    check_run(c);
    check_take(c, r, &c->greedy);
    check_show("greedy", &c->greedy);
    for (i = 0; i < FOUR; ++i) {
        wants = check_options(i);
        engine_forget(c->e);
        r = check_ask(c, "alone", check_prompts[i], &wants);
        check_run(c);
        check_take(c, r, &c->alone[i]);
    }
}

/* ---- several texts: continuous batching ------------------------------------------------------ */

/* Let requests join while others write: none of these may miss a step. */
static void check_joining(check *c)
{
    const size_t slots = c->e->slot_count;
    size_t i, before[FOUR], steps = 0, late = 0, together = 0;
    request *r[FOUR] = { NULL, NULL, NULL, NULL };
    int worked = 1;
    engine_forget(c->e);
    printf("%d texts in %lu slots\n", FOUR, (unsigned long)slots);
    for (; worked || steps < 2 * FOUR; ++steps) {
        size_t writing = 0;
        if (steps % 2 == 0 && steps < 2 * FOUR) {   /* one more every second step */
            const options wants = check_options(steps / 2);
            r[steps / 2] = check_ask(c, check_prompts[steps / 2] + 4, check_prompts[steps / 2],
                                     &wants);
        }
        for (i = 0; i < FOUR; ++i)
            before[i] = r[i] != NULL && r[i]->phase == RUNNING && r[i]->count > r[i]->prompt
                            ? r[i]->count : 0;
        worked = engine_step(c->e);
        for (i = 0; i < FOUR; ++i) {
            writing += before[i] != 0;
            late += before[i] != 0 && r[i]->count != before[i] + 1;
        }
        together = writing > together ? writing : together;
    }
    promise(c, late == 0 && (together > 1 || slots == 1),
            "those that are written never wait for prompts that are read");
    check_same(c, r, "each is what it is alone");
}

/* Ask for several answers to one prompt at once. */
static void check_sharing(check *c)
{
    engine *const e = c->e;
    const size_t prompt = strlen(check_prompt);
    static const char *const names[3] = { "x", "y", "z" };
    const uint64_t tokens = e->tokens;
    request *r[3] = { NULL, NULL, NULL };
    uint32_t used;
    answer t;
    size_t i;
    int right = 1;
    engine_forget(e);
    for (i = 0; i < 3; ++i) {
        const options wants = check_options(i % 2);
        r[i] = check_ask(c, names[i], check_prompt, &wants);
    }
    check_run(c);
    used = qnnrt_llm_cache_get_info(e->target.cache).used;
    printf("3 answers to one prompt of %lu tokens\n", (unsigned long)prompt);
    promise(c, e->tokens - tokens == prompt + 2 + 3 * (SHORT - 1),
            "it is computed once; only its last token is computed for each");
    promise(c, e->slot_count < 3 || used == prompt - 1 + 3 * SHORT, "it is stored once");
    for (i = 0; i < 3; ++i) {
        check_take(c, r[i], &t);
        right &= i == 1 || begins(&t, &c->greedy);
    }
    promise(c, right, "the greedy ones are what they are alone");
}

/* ---- the same prompt again: from memory, from disk, and after a rewind ----------------------- */

static void check_again(check *c)
{
    engine *const e = c->e;
    const size_t prompt = strlen(check_prompt);
    options wants = {0};
    uint64_t tokens;
    request *r;
    answer t;
    engine_forget(e);
    wants.write = SHORT;
    r = check_ask(c, "first", check_prompt, &wants);
    check_run(c);
    check_take(c, r, &t);
    tokens = e->tokens;
    r = check_ask(c, "again", check_prompt, &wants);
    check_run(c);
    printf("the same prompt again\n");
    promise(c, r != NULL && r->memory == prompt - 1 && e->tokens - tokens == 1 + SHORT - 1,
            "only its last token and the answer are computed");
    check_take(c, r, &t);
    promise(c, begins(&t, &c->greedy), "the answer is the same");
    r = check_ask(c, "other", "And the king said ", &wants);
    check_run(c);
    promise(c, r != NULL && r->memory == strlen("And the "),
            "of another prompt, what both begin with is known");
    check_take(c, r, &t);
    r = check_ask(c, "back", check_prompt, &wants);
    check_run(c);
    check_take(c, r, &t);
    promise(c, begins(&t, &c->greedy), "rewound, it is written again");
}

/* Return a copy of the state of one sequence, or of all for -1. */
static unsigned char *check_state(check *c, int sequence, size_t *bytes)
{
    qnnrt_llm_cache *const cache = c->e->target.cache;
    unsigned char *state;
    *bytes = sequence < 0 ? qnnrt_llm_state_bytes(cache)
                          : qnnrt_llm_sequence_state_bytes(cache, sequence);
    state = (unsigned char *)malloc(*bytes);
    if (state != NULL && (sequence < 0
                              ? qnnrt_llm_state_save(cache, state, *bytes, NULL)
                              : qnnrt_llm_sequence_state_save(cache, sequence, state, *bytes,
                                                              NULL)) == QNNRT_OK)
        return state;
    printf("state: %s\n", state == NULL ? "no memory" : qnnrt_llm_error(cache)->text);
    c->broken = 1;
    free(state);
    return NULL;
}

static int check_equal(const unsigned char *a, size_t a_bytes, const unsigned char *b,
                       size_t b_bytes)
{
    return a != NULL && b != NULL && a_bytes == b_bytes && memcmp(a, b, a_bytes) == 0;
}

/* Save a text beside others, forget everything, and find it on disk. `folder` is empty. */
static void check_disk(check *c, const char *folder)
{
    engine *const e = c->e;
    const size_t prompt = strlen(check_prompt);
    const store kept = e->texts;
    unsigned char *before, *after;
    size_t before_bytes, after_bytes;
    options wants = {0};
    qnnrt_error err;
    uint64_t tokens;
    request *r;
    answer t;
    size_t at;
    if (store_open(&e->texts, folder, &e->target, e->complain, &err) != QNNRT_OK) {
        printf("%s\n", err.text);
        c->broken = 1;
        e->texts = kept;
        return;
    }
    engine_forget(e);
    wants.write = SHORT;
    wants.save = 1;
    r = check_ask(c, "saved", check_prompt, &wants);
    wants.save = 0;
    check_run(c);
    at = r != NULL ? r->slot : 0;
    check_take(c, r, &t);
    before = check_state(c, (int)at, &before_bytes);
    printf("a text on disk: %lu tokens in %lu bytes\n", (unsigned long)(t.count - 1),
           (unsigned long)before_bytes);
    engine_forget(e);
    store_close(&e->texts);                         /* as another process would find it */
    if (store_open(&e->texts, folder, &e->target, e->complain, &err) == QNNRT_OK &&
        e->texts.count == 1 && store_restore(&e->texts, 0, e->target.cache, at, &err) != QNNRT_OK)
        e->complain(&err);
    after = check_state(c, (int)at, &after_bytes);
    promise(c, check_equal(before, before_bytes, after, after_bytes),
            "restored, it is what it was, bit for bit");
    slot_cut(e, at, 0);
    tokens = e->tokens;
    wants.write = 2 * SHORT;
    r = check_ask(c, "restored", check_prompt, &wants);
    check_run(c);
    promise(c, r != NULL && r->disk == prompt - 1 && e->tokens - tokens == 1 + 2 * SHORT - 1,
            "only the last token of its prompt and the answer are computed");
    check_take(c, r, &t);
    promise(c, begins(&t, &c->greedy), "the text goes on as it did");
    free(before);
    free(after);
    for (size_t i = 0; i < e->texts.count; ++i) {
        char *path = store_path(&e->texts, e->texts.texts[i].file);
        if (path != NULL)
            unlink(path);
        free(path);
    }
    store_close(&e->texts);
    e->texts = kept;
}

/* ---- speculative decoding -------------------------------------------------------------------- */

/* Write a text with drafts, and then four at once. */
static void check_drafts(check *c, const char *of)
{
    options wants = {0};
    request *r, *all[FOUR];
    answer t;
    engine_forget(c->e);
    wants.write = LONG;
    wants.drafts = 6;
    r = check_ask(c, "drafted", check_prompt, &wants);
    check_run(c);
    if (r != NULL)
        printf("speculative decoding, drafts %s: %lu of %lu accepted, %d tokens in %lu steps\n", of,
               (unsigned long)r->accepted, (unsigned long)r->drafted, LONG,
               (unsigned long)r->steps);
    check_take(c, r, &t);
    promise(c, t.count == c->greedy.count && begins(&t, &c->greedy), "the text is the greedy one");
    check_four(c, all, 3);
    check_run(c);
    check_same(c, all, "each of four texts with drafts is what it is without");
}

/* ---- a step is dropped, a request is cancelled, a request is refused ------------------------- */

/* Called before each graph: end the step at the call that is counted down to. */
static int check_stop(void *user)
{
    int *calls = (int *)user;
    return *calls >= 0 && (*calls)-- == 0;
}

/* Drop every second step: in turn before its first graph, its second, and so on. */
static void check_dropping(check *c)
{
    engine *const e = c->e;
    unsigned char *before, *after;
    size_t before_bytes, after_bytes, dropped = 0, turn = 0;
    request *r[FOUR];
    uint64_t steps;
    int calls = -1, worked = 1, right = 1;
    engine_forget(e);
    e->stop = check_stop;
    e->stop_user = &calls;
    check_four(c, r, 0);
    while (worked) {
        engine_admit(e);                            /* what a step does first is not undone */
        before = check_state(c, -1, &before_bytes);
        steps = e->steps;
        calls = (int)turn;
        worked = engine_step(e);
        turn = e->steps == steps ? turn + 1 : 0;    /* it had less graphs */
        if (worked && e->steps == steps) {
            ++dropped;
            after = check_state(c, -1, &after_bytes);
            right &= check_equal(before, before_bytes, after, after_bytes);
            free(after);
        }
        free(before);
        calls = -1;
        worked = engine_step(e);
    }
    e->stop = NULL;
    printf("%lu steps dropped\n", (unsigned long)dropped);
    promise(c, right && dropped > 0, "the state is as before, bit for bit");
    check_same(c, r, "each text is what it is without");
}

static void check_cancelling(check *c)
{
    engine *const e = c->e;
    options wants = {0};
    request *r[FOUR];
    size_t i;
    engine_forget(e);
    check_four(c, r, 0);
    for (i = 0; i < 5; ++i)
        engine_step(e);
    engine_cancel(r[2]);
    check_run(c);
    printf("one of four cancelled\n");
    promise(c, strcmp(r[2]->reason, "cancelled") == 0 && r[2]->count < c->alone[2].count,
            "it has ended early");
    engine_drop(e, r[2]);
    wants = check_options(2);
    r[2] = check_ask(c, "c2", check_prompts[2], &wants);
    check_run(c);
    check_same(c, r, "each of the others is what it is alone; so is it, asked again");
}

/* ---- the context is full --------------------------------------------------------------------- */

/* Write a text that is longer than the context, beside four others. */
static void check_shifting(check *c)
{
    const size_t cells = c->e->target.info->cells;
    options wants = {0};
    request *r, *all[FOUR];
    qnnrt_error err;
    answer t;
    engine_forget(c->e);
    wants.write = cells;
    wants.keep = 4;
    if (!qnnrt_llm_can_shift(c->e->target.cache)) {
        promise(c, code_of(engine_ask(c->e, "long", &wants, check_prompt, strlen(check_prompt),
                                      NULL, &err)) == 1,
                "a text that will not fit is refused: code 1");
        return;
    }
    r = check_ask(c, "long", check_prompt, &wants);
    check_four(c, all, 0);
    check_run(c);
    if (r == NULL)
        return;
    printf("  %lu tokens written in %lu cells, %lu shifts\n", (unsigned long)(r->count - r->prompt),
           (unsigned long)r->cells, (unsigned long)r->shifts);
    promise(c, r->error.code == QNNRT_OK && r->count - r->prompt == cells && r->shifts > 0,
            "a text that will not fit is shifted and goes on");
    r->count = r->cells + 1;                    /* up to the first shift */
    check_take(c, r, &t);
    t.count = t.count < c->greedy.count ? t.count : c->greedy.count;
    promise(c, begins(&t, &c->greedy), "before its first shift it is what it is alone");
    check_same(c, all, "each text beside it is what it is alone");
}

static void check_limits(check *c)
{
    const size_t bytes = c->e->target.info->cells + 1;
    char *prompt = (char *)malloc(bytes);
    const options wants = {0};
    qnnrt_error err;
    printf("the context is full\n");
    check_shifting(c);
    if (prompt != NULL)
        memset(prompt, 'x', bytes);
    promise(c, prompt != NULL && code_of(engine_ask(c->e, "long", &wants, prompt, bytes, NULL,
                                                    &err)) == 1,
            "a prompt that will not fit is refused: code 1");
    promise(c, code_of(engine_ask(c->e, "none", &wants, "", 0, NULL, &err)) == -1,
            "no prompt is refused: code -1");
    free(prompt);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Check everything. Return 0 if all promises were kept, else 1. */
static int check_all(engine *e)
{
    char folder[] = "/tmp/server-check-XXXXXX";
    check c = { e, 0, 0, { {0}, 0 }, { { {0}, 0 } } };
    if (e->target.info->cells < TEXT) {
        fprintf(stderr, "server: the model remembers %u tokens, expected at least %d to check\n",
                (unsigned)e->target.info->cells, TEXT);
        return 1;
    }
    if (mkdtemp(folder) == NULL) {
        fprintf(stderr, "server: cannot make the folder %s\n", folder);
        return 1;
    }
    check_perplexity(&c, "The voice of him that crieth in the wilderness, "
                         "Prepare ye the way of the LORD, make straight");
    check_rounding(&c, check_prompt);
    check_alone(&c);
    check_joining(&c);
    check_sharing(&c);
    check_again(&c);
    check_disk(&c, folder);
    if (e->draft.cache != NULL) {
        qnnrt_llm_cache *const cache = e->draft.cache;
        check_drafts(&c, "of a model");
        e->draft.cache = NULL;
        check_drafts(&c, "looked up");
        e->draft.cache = cache;
    } else {
        check_drafts(&c, "looked up");
    }
    check_dropping(&c);
    check_cancelling(&c);
    check_limits(&c);
    rmdir(folder);
    return c.broken;
}

#endif
