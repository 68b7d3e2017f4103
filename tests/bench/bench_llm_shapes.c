/* bench_llm_shapes.c - what a token costs on the host when the model is a large one

       bench_llm_shapes LIBQNNREF

   The graphs of llm_shapes.h on libQnnRef.so, told to compute nothing (null=graphExecute), so that
   of a step only the work around its executes remains. Measured on both shapes, each beside a bare
   loop in the same rounds, in changing order:

       rows     storing one token's keys and values in the cache, over a loop of the same stores to
                the same places
       rest     everything else of a step but the executes and argmax
       argmax   over a plain scan for the largest code

   Ends with status 1 when one is over its bar below, or when a step allocates memory. */
#define QNNRT_COMPOSE
#define QNNRT_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_llm.h"

#include "llm_shapes.h"

#include <time.h>

enum { MOST_ROUNDS = 401 };

static const double BAR_ROWS = 1.1, BAR_REST_US = 10.0, BAR_ARGMAX = 1.2;

static int  failed;
static long allocations, libc_allocations;

static void *count_alloc(void *user, size_t bytes)
{
    (void)user;
    ++allocations;
    return malloc(bytes);
}
static void count_free(void *user, void *data) { (void)user; free(data); }

/* malloc and its kin are counted too, whoever calls them. */
#if defined(__GLIBC__)
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
void *malloc(size_t bytes) { ++libc_allocations; return __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { ++libc_allocations; return __libc_calloc(count, bytes); }
void *realloc(void *data, size_t bytes) { ++libc_allocations; return __libc_realloc(data, bytes); }
#endif

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t clock_ns(void *user) { (void)user; return now_ns(); }

static double us_since(uint64_t begin) { return (double)(now_ns() - begin) / 1e3; }

static void stop(const char *what, const char *why)
{
    printf("bench-llm: %s: %s\n", what, why);
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- figures of many rounds ------------------------------------------------------------------ */

enum { EVAL, ACCEPT, BARE, OVER, DECODE, SWITCH, ARGMAX, SCAN, WIDE_SCAN, FIGURES };

static double figures[FIGURES][MOST_ROUNDS];
static size_t rounds;

static double middle(int figure)
{
    qsort(figures[figure], rounds, sizeof(double), by_value);
    return figures[figure][rounds / 2];
}

static double least(int figure)
{
    qsort(figures[figure], rounds, sizeof(double), by_value);
    return figures[figure][0];
}

static void must(qnnrt_result result, const char *what, const qnnrt_llm_cache *cache)
{
    if (result != QNNRT_OK) stop(what, qnnrt_llm_error(cache)->text);
}

static void bar(const char *what, double value, double limit)
{
    if (value <= limit) return;
    printf("  FAILED: %s: %.3f, the bar is %.1f\n", what, value, limit);
    failed = 1;
}

/* ---- the bare loops -------------------------------------------------------------------------- */

/* Memory of a cache of this shape, a tensor per layer or per head, and one token's new rows. */
typedef struct bare {
    unsigned char **key_in, **value_in, **key_out, **value_out;    /* [tensors] */
    size_t          tensors, heads, head_dim, stride;              /* heads: of one tensor */
} bare;

static void *room(size_t bytes)
{
    void *data = malloc(bytes);
    if (data == NULL) stop("bare loop", "no memory");
    memset(data, 0x5A, bytes);
    return data;
}

static void bare_make(bare *b, const shape *is)
{
    size_t i;
    b->tensors = is->executorch ? is->layers * is->heads : is->layers;
    b->heads = is->executorch ? 1 : is->heads;
    b->head_dim = is->head_dim;
    b->stride = is->context - 1;
    b->key_in = (unsigned char **)room(4 * b->tensors * sizeof *b->key_in);
    b->value_in = b->key_in + b->tensors;
    b->key_out = b->value_in + b->tensors;
    b->value_out = b->key_out + b->tensors;
    for (i = 0; i < 2 * b->tensors; ++i) {
        b->key_in[i] = (unsigned char *)room(b->heads * b->head_dim * b->stride);
        b->key_out[i] = (unsigned char *)room(b->heads * b->head_dim);
    }
}

static void bare_free(bare *b)
{
    size_t i;
    for (i = 0; i < 4 * b->tensors; ++i) free(b->key_in[i]);
    free(b->key_in);
}

static void bare_rows(const bare *b, size_t past)
{
    const size_t rows = b->heads * b->head_dim, d = b->head_dim, stride = b->stride;
    size_t t, i, h;
    for (t = 0; t < b->tensors; ++t) {
        unsigned char *keys = b->key_in[t] + past;
        const unsigned char *fresh = b->key_out[t];
        for (i = 0; i < rows; ++i) keys[i * stride] = fresh[i];
        for (h = 0; h < b->heads; ++h)
            memcpy(b->value_in[t] + (h * stride + past) * d, b->value_out[t] + h * d, d);
    }
}

static uint16_t scan(const uint16_t *codes, size_t count)
{
    uint16_t most = 0;
    size_t i;
    for (i = 0; i < count; ++i) if (codes[i] > most) most = codes[i];
    return most;
}

/* The same loop as -O3 makes it, eight codes at a time where the compiler knows how. */
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3")))
#endif
static uint16_t wide_scan(const uint16_t *codes, size_t count)
{
    uint16_t most = 0;
    size_t i;
    for (i = 0; i < count; ++i) most = codes[i] > most ? codes[i] : most;
    return most;
}

/* ---- one shape ------------------------------------------------------------------------------- */

static volatile uint16_t sink;

static void round_of_argmax(qnnrt_llm_cache *cache, size_t vocabulary, unsigned seed, size_t r)
{
    /* The codes are ours to change: what a model would have computed. */
    uint16_t *codes = (uint16_t *)(uintptr_t)qnnrt_llm_codes(cache, 0);
    size_t i, k, best = 0;
    int32_t got = -1;
    if (codes == NULL) stop("qnnrt_llm_codes", "gives none");
    for (i = 0; i < vocabulary; ++i) {
        seed = seed * 1664525u + 1013904223u;
        codes[i] = (uint16_t)(seed >> 16);
    }
    for (k = 0; k < 3; ++k) {
        const size_t which = (k + r) % 3;
        const uint64_t begin = now_ns();
        if (which == 0) got = qnnrt_llm_argmax(cache, 0);
        else sink = which == 1 ? scan(codes, vocabulary) : wide_scan(codes, vocabulary);
        figures[which == 0 ? ARGMAX : which == 1 ? SCAN : WIDE_SCAN][r] = us_since(begin);
    }
    for (i = 1; i < vocabulary; ++i) if (codes[i] > codes[best]) best = i;
    if ((size_t)got != best) stop("qnnrt_llm_argmax", "is wrong");
}

static void measure(const shape *is, qnnrt_backend *backend, size_t wanted)
{
    const size_t vocabulary = is->vocabulary, start = is->context / 2;
    qnnrt_llm_session_desc session_desc = {0};
    qnnrt_llm_desc llm_desc = {0};
    qnnrt_llm_session_info facts, before;
    qnnrt_llm_session *session;
    qnnrt_llm_batch prompt = {0}, token = {0};
    qnnrt_llm_cache *cache;
    qnnrt_llm *llm;
    qnnrt *model;
    qnnrt_error err;
    int32_t *tokens = (int32_t *)room(start * sizeof *tokens), one = 1;
    size_t past, r, i;
    long hook, libc;
    uint64_t begin;
    double else_us;
    bare b;

    printf("\n%s\n", is->name);
    if (shape_make(is, backend, &model, &err) != QNNRT_OK) stop(is->name, err.text);
    llm_desc.hooks.alloc = count_alloc;
    llm_desc.hooks.free = count_free;
    session_desc.clock_ns = clock_ns;
    if (qnnrt_llm_open(model, &llm_desc, &llm, &err) != QNNRT_OK ||
        qnnrt_llm_session_create(&llm, 1, &session_desc, &session, &err) != QNNRT_OK) stop(is->name, err.text);
    cache = qnnrt_llm_cache_get(session, 0, 0);
    facts = qnnrt_llm_session_get_info(session);
    printf("  memory: arena %.2f MiB, of which one cache %.2f; a buffer for every tensor %.2f MiB, %.2f times as much\n",
           (double)facts.arena_bytes / 1048576, (double)facts.cache_bytes / 1048576, (double)facts.naive_bytes / 1048576,
           (double)facts.naive_bytes / (double)facts.arena_bytes);
    bare_make(&b, is);

    for (i = 0; i < start; ++i) tokens[i] = (int32_t)(i % vocabulary);
    prompt.tokens = tokens;
    prompt.count = start;
    token.tokens = &one;
    token.count = 1;
    begin = now_ns();
    must(qnnrt_llm_decode(cache, &prompt), "prompt", cache);
    printf("  a prompt of %u tokens: %.1f us a token", (unsigned)start, us_since(begin) / (double)start);
    begin = now_ns();
    must(qnnrt_llm_decode(cache, &token), "first token", cache);
    printf("; the first token behind it, with the cells moved to another stride: %.1f us\n", us_since(begin));

    hook = allocations;
    libc = libc_allocations;
    rounds = wanted;
    for (past = start + 1, r = 0; r < rounds; ++r) {
        const int bare_first = (int)(r * 7 / 3 % 2);
        double took;
        if (past + 2 > is->context - 1) {
            must(qnnrt_llm_sequence_remove(cache, 0, (int32_t)start, -1), "remove", cache);
            past = start;
        }
        before = qnnrt_llm_session_get_info(session);
        begin = now_ns();
        must(qnnrt_llm_eval(cache, &token), "eval", cache);
        took = us_since(begin);
        facts = qnnrt_llm_session_get_info(session);
        figures[EVAL][r] = took - (double)(facts.exec_ns - before.exec_ns) / 1e3;
        if (bare_first) { begin = now_ns(); bare_rows(&b, past); figures[BARE][r] = us_since(begin); }
        begin = now_ns();
        must(qnnrt_llm_accept(cache, NULL, 1), "accept", cache);
        figures[ACCEPT][r] = us_since(begin);
        if (!bare_first) { begin = now_ns(); bare_rows(&b, past); figures[BARE][r] = us_since(begin); }
        figures[OVER][r] = figures[ACCEPT][r] - figures[BARE][r];
        before = facts;
        begin = now_ns();
        must(qnnrt_llm_decode(cache, &token), "decode", cache);
        took = us_since(begin);
        facts = qnnrt_llm_session_get_info(session);
        figures[DECODE][r] = took - (double)(facts.exec_ns - before.exec_ns) / 1e3;
        past += 2;
        round_of_argmax(cache, vocabulary, (unsigned)r * 2654435761u, r);
    }
    hook = allocations - hook;
    libc = libc_allocations - libc;

    else_us = middle(EVAL) + (middle(OVER) > 0 ? middle(OVER) : 0);
    printf("  us, %u rounds            min   median\n", (unsigned)rounds);
    printf("  step without executes %8.2f %8.2f\n", least(DECODE), middle(DECODE));
    printf("    before and behind   %8.2f %8.2f\n", least(EVAL), middle(EVAL));
    printf("    keep                %8.2f %8.2f   %.3f of the bare loop (min %.3f)\n", least(ACCEPT), middle(ACCEPT),
           middle(ACCEPT) / middle(BARE), least(ACCEPT) / least(BARE));
    printf("    bare loop           %8.2f %8.2f\n", least(BARE), middle(BARE));
    printf("    all but the rows             %8.2f\n", else_us);
    printf("  argmax                %8.2f %8.2f   %.3f of the scan (min %.3f), %.3f of the scan by -O3 (min %.3f)\n",
           least(ARGMAX), middle(ARGMAX), middle(ARGMAX) / middle(SCAN), least(ARGMAX) / least(SCAN),
           middle(ARGMAX) / middle(WIDE_SCAN), least(ARGMAX) / least(WIDE_SCAN));
    printf("    plain scan          %8.2f %8.2f\n", least(SCAN), middle(SCAN));
    printf("    plain scan by -O3   %8.2f %8.2f\n", least(WIDE_SCAN), middle(WIDE_SCAN));
    printf("  allocations in %u steps: %ld through the hook, %ld of malloc\n", (unsigned)(2 * rounds), hook, libc);
    bar("keys and values over the bare loop", middle(ACCEPT) / middle(BARE), BAR_ROWS);
    bar("us for everything else", else_us, BAR_REST_US);
    bar("argmax over the plain scan", middle(ARGMAX) / middle(SCAN), BAR_ARGMAX);
    bar("allocations", (double)(hook + libc), 0);

    bare_free(&b);
    free(tokens);
    qnnrt_llm_session_destroy(session);
    qnnrt_llm_close(llm);
    qnnrt_close(model);
}

int main(int argc, char **argv)
{
    qnnrt_backend_desc desc = {0};
    qnnrt_backend *backend;
    qnnrt_error err;
    if (argc != 2) { printf("usage: bench_llm_shapes LIBQNNREF\n"); return 2; }
    setenv("QNNREF_FAULTS", "null=graphExecute", 1);
    desc.path = argv[1];
    desc.hooks.alloc = count_alloc;
    desc.hooks.free = count_free;
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) stop(argv[1], err.text);
    measure(&shapes[0], backend, MOST_ROUNDS);
    measure(&shapes[1], backend, MOST_ROUNDS / 4);
    qnnrt_backend_close(backend);
    if (failed) printf("bench-llm: FAILED\n");
    return failed;
}
