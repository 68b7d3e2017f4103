/* engine.h - requests, slots and steps: continuous batching on one cache

   A request is a prompt and how to continue it. It waits in the order of arrival until a slot is
   free, and cells for all that it may write. A slot is a sequence of the cache. Each step gives the
   model one batch: the last token of every text that is being written, then as much of the prompts
   as fits into a chunk, so that writers never wait for readers, then drafts, where room is left.

       slot 0   writes    .t........   t: the token that it has drawn last
       slot 1   writes    ..t.......
       slot 2   reads     ...pppppp.   p: a piece of its prompt
       slot 3   writes    t.........d  d: a draft, a guess of its next tokens

   A slot keeps its text when its request has ended. A new request takes over, by copies of
   sequences that cost no cells, the longest beginning of its prompt that any slot holds; or else
   restores it from disk. Kept texts make room, the oldest first, when cells are needed.

   A request reserves cells for all that it may write. One that needs more than the context has its
   share, and loses the older half of its text when that is full, if the model's keys can be moved
   (engine_desc.shift); else it is refused.

   Nothing here prints, waits or ends the program. engine_step() computes one batch; then the caller
   looks what has become of its requests.

   ROOMS (search for the tag)
       >>request >>engine >>cells >>begin >>shift >>plan >>draft >>take >>step
   Needs: model.h, store.h     Knows nothing of: lines, standard input */
#ifndef HOST_ENGINE_H
#define HOST_ENGINE_H

#include <time.h>

#include "model.h"
#include "store.h"

enum { MOST_SLOTS = 16, MOST_DRAFTS = 8, MOST_STOPS = 4, STOP_BYTES = 32, NAME_BYTES = 32 };

/* ---- a request >>request --------------------------------------------------------------------- */

typedef enum phase { WAITING, RUNNING, ENDED } phase;

typedef struct options {
    size_t write;                           /* most tokens to write (default 0: 16) */
    size_t drafts;                          /* most drafts in a step (default 0: none) */
    size_t keep;                            /* first tokens that stay when the text is shifted */
    int    save;                            /* 1: store the text on disk when it has ended */
    qnnrt_llm_sampler_desc how;             /* (default {0}: greedy) */
    char   stops[MOST_STOPS][STOP_BYTES];   /* words that end the answer, which goes without them */
    size_t stop_count;
} options;

typedef struct request {
    struct request *next;                   /* the one that came after it */
    char        name[NAME_BYTES];
    options     wants;
    qnnrt_llm_sampler *sampler;
    int32_t    *token;                      /* [prompt + write] the prompt, then the answer */
    size_t      prompt, count;              /* tokens of the prompt, and so far */
    size_t      given;                      /* of these, the model was given so many */
    size_t      cells;                      /* that are reserved for it */
    phase       phase;
    int         cancelled;
    const char *reason;                     /* of its end: "length", "stop", "eos", "cancelled",
                                               "error" */
    qnnrt_error error;
    size_t      slot;                       /* while it runs */
    size_t      ready;                      /* bytes of the answer: no stop word can take them */
    size_t      shown;                      /* the caller's marks: bytes that were printed, */
    int         told;                       /* and that it began */
    size_t      memory, disk;               /* tokens of the prompt that came from there */
    size_t      computed, drafted, accepted, steps, shifts;
    size_t      piece, last;                /* in this step: tokens of it, the index of the last */
    size_t      guesses, guess;             /* drafts, and the index of the first */
    int32_t     draft[MOST_DRAFTS];
} request;

typedef struct slot {
    request *running;                       /* NULL: the slot is free */
    int32_t *known;                         /* [cells] the tokens that its sequence holds */
    size_t   count;
    size_t   usable;                        /* of these, for others: after a shift the rest follows
                                               tokens that are gone */
    uint64_t used;                          /* number of the last step */
} slot;

/* What the engine is made of, and what it has done. */
typedef struct engine {
    model    target, draft;                 /* draft.cache is NULL without a draft model */
    qnnrt_llm_session *session;
    store    texts;
    slot     slots[MOST_SLOTS];
    size_t   slot_count, chunk;
    request *first;                         /* all requests, in the order of arrival */
    batch    batch, guess;                  /* of the target and of the draft model */
    qnnrt_llm_sampler *greedy;              /* of the draft model */
    size_t   reserved;                      /* cells, for the running requests */
    uint64_t steps, tokens;                 /* of the target */
    int    (*stop)(void *user);             /* called before each graph: not 0 drops this step */
    void    *stop_user;
    void   (*complain)(const qnnrt_error *);   /* about files of texts, which nothing else needs */
} engine;

static void request_end(engine *e, request *r, const char *reason)
{
    slot *s = &e->slots[r->slot];
    qnnrt_error err;
    if (r->phase == RUNNING) {
        s->running = NULL;
        s->used = e->steps;
        e->reserved -= r->cells;
        if (e->draft.cache != NULL)
            qnnrt_llm_sequence_remove(e->draft.cache, (int)r->slot, -1, -1);
        if (r->wants.save && e->texts.folder != NULL && r->error.code == QNNRT_OK &&
            s->usable == s->count &&
            store_save(&e->texts, e->target.cache, r->slot, s->known, s->count, &err) != QNNRT_OK)
            e->complain(&err);
    }
    r->phase = ENDED;
    r->reason = reason;
}

static void request_fail(engine *e, request *r, const qnnrt_error *why)
{
    r->error = *why;
    request_end(e, r, "error");
}

static void request_free(request *r)
{
    if (r == NULL)
        return;
    qnnrt_llm_sampler_destroy(r->sampler);
    free(r->token);
    free(r);
}

/* Return a request by its name, or NULL. */
static request *engine_find(const engine *e, const char *name)
{
    request *r = e->first;
    while (r != NULL && strcmp(r->name, name) != 0)
        r = r->next;
    return r;
}

/* Add a request to the queue.
   Returns  QNNRT_OK; QNNRT_E_ARG (its name is in use, there is no prompt, or an option);
            QNNRT_E_LIMIT (the whole context is too small for it); QNNRT_E_MEMORY */
static qnnrt_result engine_ask(engine *e, const char *name, const options *wants,
                               const char *prompt, size_t bytes, request **out, qnnrt_error *err)
{
    const size_t write = wants->write != 0 ? wants->write : 16, cells = e->target.info->cells;
    const int fits = bytes <= cells && write - 1 <= cells - bytes;   /* the last token needs none */
    const size_t share = cells / e->slot_count;
    request **last = &e->first, *r;
    qnnrt_result result;
    size_t needed;
    if (out != NULL)
        *out = NULL;
    if (engine_find(e, name) != NULL)
        return refuse(err, QNNRT_E_ARG, "the name %s is in use", name);
    if (bytes == 0)
        return refuse(err, QNNRT_E_ARG, "there is no prompt");
    if (bytes > cells || (!fits && !qnnrt_llm_can_shift(e->target.cache)))
        return refuse(err, QNNRT_E_LIMIT, "%lu tokens and %lu to write, but the model remembers"
                      " %lu", (unsigned long)bytes, (unsigned long)write, (unsigned long)cells);
    needed = fits ? bytes + write - 1 : bytes > share ? bytes : share;
    if (!fits && wants->keep > 0 && wants->keep >= needed / 2)
        return refuse(err, QNNRT_E_ARG, "%lu tokens to keep, expected below %lu",
                      (unsigned long)wants->keep, (unsigned long)needed / 2);
    r = (request *)calloc(1, sizeof(*r));
    if (r != NULL)
        r->token = (int32_t *)calloc(bytes + write, sizeof(*r->token));
    if (r == NULL || r->token == NULL) {
        request_free(r);
        return refuse(err, QNNRT_E_MEMORY, "out of memory for a request");
    }
    result = qnnrt_llm_sampler_create(e->target.info->logits, &wants->how, &r->sampler, err);
    if (result != QNNRT_OK) {
        request_free(r);
        return result;
    }
    snprintf(r->name, sizeof(r->name), "%s", name);
    r->wants = *wants;
    r->wants.write = write;
    r->prompt = r->count = bytes;
    r->cells = needed;
    encode(r->token, prompt, bytes);
    while (*last != NULL)
        last = &(*last)->next;
    *last = r;
    if (out != NULL)
        *out = r;
    return QNNRT_OK;
}

/* End a request before the next step. What the slot holds of its text stays there. */
static void engine_cancel(request *r)
{
    r->cancelled = 1;
}

/* Forget a request that has ended. */
static void engine_drop(engine *e, request *r)
{
    request **at = &e->first;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    request_free(r);
}

/* ---- begin and end >>engine ------------------------------------------------------------------ */

static int engine_progress(void *user, const qnnrt_llm_progress *at)
{
    const engine *e = (const engine *)user;
    (void)at;
    return e->stop != NULL && e->stop(e->stop_user);
}

static void engine_close(engine *e)         /* does nothing for zeros */
{
    size_t i;
    while (e->first != NULL)
        engine_drop(e, e->first);
    for (i = 0; i < MOST_SLOTS; ++i)
        free(e->slots[i].known);
    batch_free(&e->batch);
    batch_free(&e->guess);
    qnnrt_llm_sampler_destroy(e->greedy);
    store_close(&e->texts);
    qnnrt_llm_session_destroy(e->session);
    model_close(&e->draft);
    model_close(&e->target);                /* the first has the backend, so it is the last */
    memset(e, 0, sizeof(*e));
}

/* Allocate what the steps need: they allocate nothing. */
static qnnrt_result engine_make(engine *e, qnnrt_error *err)
{
    const size_t cells = e->target.info->cells, drafts = MOST_SLOTS * (size_t)MOST_DRAFTS;
    size_t i;
    int made = batch_make(&e->batch, &e->target, cells + drafts, MOST_SLOTS + drafts);
    if (e->draft.program != NULL)
        made = made && batch_make(&e->guess, &e->draft, cells + drafts, MOST_SLOTS);
    for (i = 0; i < e->slot_count; ++i) {
        e->slots[i].known = (int32_t *)calloc(cells, sizeof(int32_t));
        made = made && e->slots[i].known != NULL;
    }
    if (!made)
        return refuse(err, QNNRT_E_MEMORY, "out of memory for %lu slots",
                      (unsigned long)e->slot_count);
    if (e->draft.program == NULL)
        return QNNRT_OK;
    return qnnrt_llm_sampler_create(e->draft.info->logits, NULL, &e->greedy, err);
}

static uint64_t engine_clock(void *user)
{
    struct timespec now;
    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

typedef struct engine_desc {
    const char *folder, *library;
    const char *draft;                      /* folder of a model that drafts, or NULL */
    size_t slots;                           /* texts at the same time, 1 to MOST_SLOTS */
    size_t chunk;                           /* tokens of a step while prompts are read (0: as many
                                               as the model takes per call, but at least 8) */
    int    shift;                           /* 1: turn the stored keys of a text that is shifted,
                                               where the model allows it */
    int    by_cost;                         /* 1: measure graphs, and run the cheapest ones */
    void (*complain)(const qnnrt_error *);
} engine_desc;

/* Open the models, in one session. On failure nothing stays open. */
static qnnrt_result engine_open(engine *e, const engine_desc *how, qnnrt_error *err)
{
    qnnrt_llm_session_desc desc = {0};
    qnnrt_manifest_open_desc opening = {0}, shared = {0};
    qnnrt_llm *models[2];
    qnnrt_result result;
    memset(e, 0, sizeof(*e));
    e->slot_count = how->slots;
    e->complain = how->complain;
    opening.model.backend_desc.path = how->library;
    result = model_open(&e->target, how->folder, &opening, err);
    if (result != QNNRT_OK)
        return result;
    e->chunk = how->chunk != 0 ? how->chunk : e->target.info->ar < 8 ? 8 : e->target.info->ar;
    if (how->draft != NULL) {
        shared.model.backend = qnnrt_manifest_get_info(e->target.program)->backend;
        result = model_open(&e->draft, how->draft, &shared, err);
        if (result == QNNRT_OK && e->draft.info->cells < e->target.info->cells)
            result = refuse(err, QNNRT_E_MISMATCH, "%s remembers %u tokens, expected at least %u,"
                            " as %s", how->draft, (unsigned)e->draft.info->cells,
                            (unsigned)e->target.info->cells, how->folder);
    }
    desc.progress = engine_progress;
    desc.progress_user = e;
    desc.k_shift = how->shift;
    desc.by_cost = how->by_cost;
    desc.clock_ns = how->by_cost ? engine_clock : NULL;
    models[0] = e->target.llm;              /* the graphs of both share one memory */
    models[1] = e->draft.llm;
    if (result == QNNRT_OK)
        result = qnnrt_llm_session_create(models, how->draft != NULL ? 2 : 1, &desc, &e->session,
                                          err);
    if (result == QNNRT_OK) {
        e->target.cache = qnnrt_llm_cache_get(e->session, 0, 0);
        e->draft.cache = qnnrt_llm_cache_get(e->session, 1, 0);
        result = engine_make(e, err);
    }
    if (result != QNNRT_OK)
        engine_close(e);
    return result;
}

/* ---- the cells of the cache >>cells ---------------------------------------------------------- */

/* Cut the text of a slot. */
static void slot_cut(engine *e, size_t at, size_t count)
{
    qnnrt_llm_sequence_remove(e->target.cache, (int)at, (int32_t)count, -1);
    e->slots[at].count = count;
    if (e->slots[at].usable > count)
        e->slots[at].usable = count;
}

/* Add a token to what a slot is known to hold. */
static void slot_add(slot *s, int32_t token)
{
    s->usable += s->usable == s->count;
    s->known[s->count++] = token;
}

/* Set the text of a slot: the first tokens of a prompt. */
static void slot_set(engine *e, size_t at, const int32_t *token, size_t count)
{
    slot *s = &e->slots[at];
    memcpy(s->known, token, count * sizeof(*token));
    s->count = s->usable = count;
}

/* Forget all kept texts. */
static void engine_forget(engine *e)
{
    for (size_t i = 0; i < e->slot_count; ++i)
        if (e->slots[i].running == NULL)
            slot_cut(e, i, 0);
}

/* Forget kept texts, the oldest first, until so many cells are free. Requests have reserved what
   they need, so that there are always enough. */
static void engine_room(engine *e, size_t cells)
{
    for (;;) {
        const qnnrt_llm_cache_info has = qnnrt_llm_cache_get_info(e->target.cache);
        size_t i, oldest = e->slot_count;
        if (has.cells - has.used >= cells)
            return;
        for (i = 0; i < e->slot_count; ++i)
            if (e->slots[i].running == NULL && e->slots[i].count > 0 &&
                (oldest == e->slot_count || e->slots[i].used < e->slots[oldest].used))
                oldest = i;
        if (oldest == e->slot_count)
            return;
        slot_cut(e, oldest, 0);
    }
}

/* ---- a request gets a slot >>begin ----------------------------------------------------------- */

/* Return the slot whose text has the most in common with the prompt; *n receives how much. The last
   token of a prompt is always computed: its logits predict the answer. */
static size_t begin_find(const engine *e, const request *r, size_t *n)
{
    size_t i, best = 0;
    *n = 0;
    for (i = 0; i < e->slot_count; ++i) {
        const size_t c = common(e->slots[i].known, e->slots[i].usable, r->token, r->prompt - 1);
        if (c > *n) {
            *n = c;
            best = i;
        }
    }
    return best;
}

/* Return 1 if a running request is still to read at least half of this prompt: then waiting for it
   is cheaper than reading the same once more. */
static int begin_later(const engine *e, const request *r, size_t known)
{
    const request *other;
    for (other = e->first; other != r; other = other->next) {
        const size_t n = other->phase != RUNNING
                             ? 0 : common(other->token, other->prompt, r->token, r->prompt - 1);
        if (n > known && n > other->given && 2 * n >= r->prompt)
            return 1;
    }
    return 0;
}

/* Choose a free slot: one whose whole text the prompt continues, else the one that was used the
   longest time ago. Return slot_count if none is free. */
static size_t begin_slot(const engine *e, size_t from, size_t n)
{
    size_t i, at = e->slot_count;
    if (n > 0 && e->slots[from].running == NULL && e->slots[from].count == n)
        return from;
    for (i = 0; i < e->slot_count; ++i)
        if (e->slots[i].running == NULL &&
            (at == e->slot_count || e->slots[i].used < e->slots[at].used))
            at = i;
    return at;
}

/* Restore the beginning of a prompt from disk, if the disk has more than n tokens of it. Return 0
   if not. A file that turns out to be bad is reported and forgotten. */
static int begin_disk(engine *e, request *r, size_t at, size_t n)
{
    size_t which = 0;
    const size_t found = store_find(&e->texts, r->token, r->prompt - 1, &which);
    const stored *const text = &e->texts.texts[which];
    qnnrt_llm_cache_info has;
    qnnrt_error why;
    if (found <= n)
        return 0;
    slot_cut(e, at, 0);
    engine_room(e, text->count);
    has = qnnrt_llm_cache_get_info(e->target.cache);
    if (has.cells - has.used < text->count)
        return 0;                           /* running texts use them */
    if (store_restore(&e->texts, which, e->target.cache, at, &why) != QNNRT_OK) {
        e->complain(&why);
        store_forget(&e->texts, which);
        return 0;
    }
    slot_set(e, at, text->token, text->count);
    slot_cut(e, at, found);
    r->disk = found;
    return 1;
}

/* Take over the beginning of a prompt from the slot that has most of it. */
static void begin_memory(engine *e, request *r, size_t at)
{
    size_t n;
    const size_t from = begin_find(e, r, &n);
    if (from != at || n == 0) {
        slot_cut(e, at, 0);
        if (n > 0)
            qnnrt_llm_sequence_copy(e->target.cache, (int)from, (int)at, 0, (int32_t)n);
        slot_set(e, at, r->token, n);
    }
    slot_cut(e, at, n);
    r->memory = n;
}

/* Give a waiting request a slot, with what is known of its prompt. Return 0 if it has to wait. */
static int request_begin(engine *e, request *r)
{
    size_t n, at;
    const size_t from = begin_find(e, r, &n);
    if (e->reserved + r->cells > e->target.info->cells || begin_later(e, r, n))
        return 0;
    at = begin_slot(e, from, n);
    if (at == e->slot_count)
        return 0;
    if (!begin_disk(e, r, at, n))
        begin_memory(e, r, at);
    e->slots[at].running = r;
    e->reserved += r->cells;
    r->given = e->slots[at].count;
    r->slot = at;
    r->phase = RUNNING;
    return 1;
}

/* ---- a text outgrows the context >>shift ----------------------------------------------------- */

/* Give a sequence cells of its own: a shift moves the positions of cells, and would move those of
   the other sequences that have them. */
static qnnrt_result shift_own(engine *e, size_t at, qnnrt_error *err)
{
    qnnrt_llm_cache *const cache = e->target.cache;
    size_t bytes = qnnrt_llm_sequence_state_bytes(cache, (int)at);
    void *state = malloc(bytes);
    qnnrt_result result;
    if (state == NULL)
        return refuse(err, QNNRT_E_MEMORY, "out of memory for a state of %lu bytes",
                      (unsigned long)bytes);
    engine_room(e, e->slots[at].count);
    result = qnnrt_llm_sequence_state_save(cache, (int)at, state, bytes, &bytes);
    if (result == QNNRT_OK)
        result = qnnrt_llm_sequence_state_restore(cache, (int)at, state, bytes);
    if (result != QNNRT_OK)
        *err = *qnnrt_llm_error(cache);
    free(state);
    return result;
}

/* Make room in a text: the older half of it goes, except for its first tokens that are kept, and
   the rest moves to the place of what is gone. */
static qnnrt_result shift(engine *e, request *r, qnnrt_error *err)
{
    qnnrt_llm_cache *const cache = e->target.cache;
    slot *const s = &e->slots[r->slot];
    const size_t keep = r->wants.keep, gone = (s->count - keep + 1) / 2;
    qnnrt_result result = QNNRT_OK;
    size_t i, shared = 0;
    for (i = 0; i < e->slot_count; ++i)
        if (i != r->slot)
            shared += common(e->slots[i].known, e->slots[i].count, s->known, s->count);
    if (shared > 0)
        result = shift_own(e, r->slot, err);
    if (result != QNNRT_OK)
        return result;
    qnnrt_llm_sequence_remove(cache, (int)r->slot, (int32_t)keep, (int32_t)(keep + gone));
    result = qnnrt_llm_sequence_shift(cache, (int)r->slot, (int32_t)(keep + gone), -1,
                                      -(int32_t)gone);
    if (result != QNNRT_OK) {
        *err = *qnnrt_llm_error(cache);
        return result;
    }
    memmove(s->known + keep, s->known + keep + gone, (s->count - keep - gone) * sizeof(*s->known));
    s->count -= gone;
    if (s->usable > keep)
        s->usable = keep;
    if (e->draft.cache != NULL)             /* it reads the text anew */
        qnnrt_llm_sequence_remove(e->draft.cache, (int)r->slot, -1, -1);
    ++r->shifts;
    return QNNRT_OK;
}

/* Shift the texts that are full. */
static void shift_full(engine *e)
{
    qnnrt_error err;
    request *r;
    for (r = e->first; r != NULL; r = r->next)
        if (r->phase == RUNNING && e->slots[r->slot].count == r->cells &&
            shift(e, r, &err) != QNNRT_OK) {
            slot_cut(e, r->slot, 0);
            request_fail(e, r, &err);
        }
}

/* ---- what a step computes >>plan ------------------------------------------------------------- */

/* Return the next running request from r on, or NULL. */
static request *running(request *r)
{
    while (r != NULL && r->phase != RUNNING)
        r = r->next;
    return r;
}

static void plan_piece(engine *e, request *r, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        r->last = batch_add(&e->batch, r->token[r->given + i], e->slots[r->slot].count + i, r->slot,
                            r->given + i + 1 == r->count);
    r->piece = count;
}

/* Fill the batch: a token of each text that is written, then pieces of prompts in the order of
   arrival. At least one token of a prompt is read in each step. */
static void plan(engine *e)
{
    size_t left;
    request *r;
    batch_clear(&e->batch);
    for (r = running(e->first); r != NULL; r = running(r->next)) {
        r->piece = r->guesses = 0;
        if (r->count - r->given == 1)
            plan_piece(e, r, 1);
    }
    left = e->chunk > e->batch.count ? e->chunk - e->batch.count : 1;
    for (r = running(e->first); r != NULL; r = running(r->next)) {
        const size_t rest = r->count - r->given, count = rest < left ? rest : left;
        if (r->piece > 0 || count == 0)
            continue;
        plan_piece(e, r, count);
        left -= count;
    }
}

/* ---- drafts >>draft -------------------------------------------------------------------------- */

/* Return how many drafts a request may have in this step, in which one call takes `room` more. */
static size_t draft_most(const engine *e, const request *r, size_t room)
{
    const size_t wanted = r->wants.drafts < MOST_DRAFTS ? r->wants.drafts : MOST_DRAFTS;
    const size_t left = r->prompt + r->wants.write - r->count - 1;
    const size_t cells = r->cells - e->slots[r->slot].count - r->piece;
    size_t most = wanted < room ? wanted : room;
    if (r->given + r->piece != r->count)
        return 0;                           /* it still reads */
    most = most < left ? most : left;
    return most < cells ? most : cells;
}

/* Take as drafts the tokens that followed the longest equal ending earlier in the text. */
static void draft_lookup(request *r)
{
    size_t at, n, from = 0, longest = 1;
    for (at = 1; at < r->count; ++at) {
        for (n = 0; n < at && r->token[at - 1 - n] == r->token[r->count - 1 - n]; ++n) {}
        if (n > longest) {
            longest = n;
            from = at;
        }
    }
    for (n = 0; from > 0 && n < r->guesses && from + n < r->count; ++n)
        r->draft[n] = r->token[from + n];
    r->guesses = n;
}

/* Let the draft model choose them, for all texts in common batches: first it reads what it does not
   know of a text, after it has removed its rejected drafts; then one token of each. */
static qnnrt_result draft_model(engine *e)
{
    qnnrt_llm_cache *const cache = e->draft.cache;
    batch *const b = &e->guess;
    qnnrt_result result;
    size_t round, i;
    request *r;
    for (round = 0;; ++round) {
        batch_clear(b);
        for (r = running(e->first); r != NULL; r = running(r->next)) {
            const slot *s = &e->slots[r->slot];
            const size_t end = s->count + r->piece;
            if (r->guesses <= round)
                continue;
            if (round == 0)
                qnnrt_llm_sequence_remove(cache, (int)r->slot, (int32_t)s->count, -1);
            for (i = (size_t)(qnnrt_llm_sequence_last(cache, (int)r->slot) + 1); i < end; ++i)
                r->guess = batch_add(b, i < s->count ? s->known[i]
                                                     : r->token[r->given + i - s->count],
                                     i, r->slot, i + 1 == end);
            if (round > 0)
                r->guess = batch_add(b, r->draft[round - 1], end + round - 1, r->slot, 1);
        }
        if (b->count == 0)
            return QNNRT_OK;
        result = batch_compute(b, cache, qnnrt_llm_decode);
        if (result != QNNRT_OK)
            return result;
        for (r = running(e->first); r != NULL; r = running(r->next))
            if (r->guesses > round)
                r->draft[round] = qnnrt_llm_sample(e->greedy, batch_codes(b, r->guess));
    }
}

/* Find drafts for the requests that want them, and add them to the batch. */
static qnnrt_result draft(engine *e)
{
    const size_t at_once = qnnrt_llm_cache_get_info(e->target.cache).at_once;
    size_t room = at_once > e->batch.count ? at_once - e->batch.count : 0, i;
    qnnrt_result result = QNNRT_OK;
    request *r;
    for (r = running(e->first); r != NULL; r = running(r->next)) {
        r->guesses = draft_most(e, r, room);
        room -= r->guesses;
        if (e->draft.cache == NULL && r->guesses > 0)
            draft_lookup(r);
    }
    if (e->draft.cache != NULL)
        result = draft_model(e);
    for (r = running(e->first); r != NULL; r = running(r->next)) {
        r->guess = e->batch.count;
        for (i = 0; i < r->guesses; ++i)
            batch_add(&e->batch, r->draft[i], e->slots[r->slot].count + r->piece + i, r->slot, 1);
    }
    return result;
}

/* ---- what a step gives >>take ---------------------------------------------------------------- */

/* Return 1 if the last n bytes of the answer are the first n of a word. */
static int answer_ends(const request *r, const char *word, size_t n)
{
    if (n > r->count - r->prompt)
        return 0;
    for (size_t i = 0; i < n; ++i)
        if (decode(r->token[r->count - n + i]) != word[i])
            return 0;
    return 1;
}

/* Return why the answer ends with its last token, or NULL. Bytes that a stop word may begin with
   are not ready. */
static const char *answer_reason(const engine *e, request *r)
{
    const size_t bytes = r->count - r->prompt;
    size_t i, n, held = 0;
    if (qnnrt_llm_is_eos(e->target.llm, r->token[r->count - 1])) {
        r->ready = bytes - 1;
        return "eos";
    }
    for (i = 0; i < r->wants.stop_count; ++i) {
        const char *word = r->wants.stops[i];
        const size_t length = strlen(word);
        if (answer_ends(r, word, length)) {
            r->ready = bytes - length;
            return "stop";
        }
        for (n = length - 1; n > held; --n)
            if (answer_ends(r, word, n))
                held = n;
    }
    r->ready = bytes - held;
    if (bytes < r->wants.write)
        return NULL;
    r->ready = bytes;
    return "length";
}

/* Draw the tokens that follow a text. Drafts that are drawn too are kept, and each gives one token
   more: so the text is the one that would be written without them. */
static void take_tokens(engine *e, request *r)
{
    slot *const s = &e->slots[r->slot];
    size_t k;
    for (k = 0;; ++k) {
        const size_t at = k == 0 ? r->last : r->guess + k - 1;
        const int32_t token = qnnrt_llm_sample(r->sampler, batch_codes(&e->batch, at));
        if (token < 0) {
            refuse(&r->error, QNNRT_E_BACKEND, "no logits are numbers");
            r->reason = "error";
            return;
        }
        qnnrt_llm_sampler_accept(r->sampler, token);
        r->token[r->count++] = token;
        r->reason = answer_reason(e, r);
        if (r->reason != NULL || k == r->guesses || r->draft[k] != token)
            return;
        e->batch.keep[r->guess + k] = 1;
        slot_add(s, token);
        ++r->given;
        ++r->accepted;
    }
}

/* Take the results of a batch; `first` is the index of its first draft. */
static qnnrt_result take(engine *e, size_t first)
{
    batch *const b = &e->batch;
    qnnrt_result result = QNNRT_OK;
    request *r;
    size_t i, count = 0;
    for (i = 0; i < b->count; ++i)
        b->keep[i] = i < first;
    for (r = running(e->first); r != NULL; r = running(r->next)) {
        slot *const s = &e->slots[r->slot];
        if (r->piece == 0)
            continue;
        for (i = 0; i < r->piece; ++i)
            slot_add(s, r->token[r->given++]);
        r->computed += r->piece;
        r->drafted += r->guesses;
        ++r->steps;
        if (r->given == r->count)
            take_tokens(e, r);
    }
    for (i = 0; i < b->count; ++i)
        if (b->keep[i])
            b->rows_kept[count++] = (uint32_t)i;
    if (first < b->count)
        result = qnnrt_llm_accept(e->target.cache, b->rows_kept, count);
    return result;
}

/* ---- one step >>step ------------------------------------------------------------------------- */

/* End all requests of a step that has failed. The cache is as it was before. */
static void step_fail(engine *e, const qnnrt_error *why)
{
    request *r, *next;
    for (r = running(e->first); r != NULL; r = next) {
        next = running(r->next);
        if (r->piece == 0)
            continue;
        slot_cut(e, r->slot, (size_t)(qnnrt_llm_sequence_last(e->target.cache, (int)r->slot) + 1));
        request_fail(e, r, why);
    }
}

/* End what was cancelled, and begin requests as long as there is room: the first part of a step. */
static void engine_admit(engine *e)
{
    request *r;
    for (r = e->first; r != NULL; r = r->next)
        if (r->cancelled && r->phase != ENDED)
            request_end(e, r, "cancelled");
    for (r = e->first; r != NULL; r = r->next)
        if (r->phase == WAITING && !request_begin(e, r))
            return;
}

/* Compute one batch for all requests. Return 0 if there is nothing to do, else 1. A step that
   engine.stop ends has no effect: the next one computes the same again, without the requests that
   were cancelled. */
static int engine_step(engine *e)
{
    qnnrt_result result;
    request *r, *next;
    size_t first;
    engine_admit(e);
    shift_full(e);
    plan(e);
    first = e->batch.count;
    if (first == 0) {
        qnnrt_llm_defragment(e->target.cache);  /* there is time to close the holes */
        return 0;
    }
    engine_room(e, first);
    result = draft(e);
    if (result != QNNRT_OK) {
        if (result != QNNRT_E_CANCELLED)
            step_fail(e, qnnrt_llm_error(e->draft.cache));
        return 1;
    }
    engine_room(e, e->batch.count);
    result = batch_compute(&e->batch, e->target.cache,
                           first < e->batch.count ? qnnrt_llm_eval : qnnrt_llm_decode);
    if (result == QNNRT_E_CANCELLED)
        return 1;
    if (result == QNNRT_OK) {
        ++e->steps;
        e->tokens += e->batch.count;
        result = take(e, first);
    }
    if (result != QNNRT_OK) {
        step_fail(e, qnnrt_llm_error(e->target.cache));
        return 1;
    }
    for (r = running(e->first); r != NULL; r = next) {
        next = running(r->next);
        if (r->reason != NULL)
            request_end(e, r, r->reason);
    }
    return 1;
}

#endif
