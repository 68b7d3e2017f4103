/* bench_llm_shapes.c - the host's time for a token of a large model

       bench_llm_shapes LIBQNNREF

   The graphs of llm_shapes.h on libQnnRef.so, set to compute nothing (null=graphExecute), so that
   only the work around the executes of a step remains. The program measures on both shapes, each
   beside a bare loop in the same rounds, in changing order:

       rows     storing one token's keys and values in the cache, over a loop of the same stores to
                the same places
       rest     everything else of a step except the executes and argmax
       argmax   over a plain scan for the largest code

   and the host's time for a prompt and for the token after it, without a comparison. Times depend
   on the machine and are not judged. The exit status is 1 when a step allocates memory, or argmax
   is wrong. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_llm.h"
#include "qnnrt_builder.h"

#include "llm_shapes.h"

#include <time.h>

enum { MOST_ROUNDS = 401 };

static int  failed;
static long allocations, libc_allocations;

static void *count_alloc(void *user, size_t bytes)
{
    (void)user;
    ++allocations;
    return malloc(bytes);
}
static void count_free(void *user, void *data) { (void)user; free(data); }

/* malloc, calloc and realloc are counted too, for every caller. */
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

enum { EVAL, NONE, ACCEPT, BARE, DECODE, ARGMAX, SCAN, WIDE_SCAN, FIGURES };

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

/* ---- the bare loops -------------------------------------------------------------------------- */

/* Sources and destinations of one token's keys and values, as in a loop written for this model. The
   memory is that of the cache, so only the code is compared. */
typedef struct bare {
    unsigned char      **to;              /* [tensors] address of cell 0 */
    const unsigned char **from;           /* [tensors] */
    size_t               key_tensors, value_tensors;      /* keys come first */
    size_t               heads, head_dim, stride;         /* heads: in one tensor */
} bare;

static void *room(size_t bytes)
{
    void *data = malloc(bytes);
    if (data == NULL) stop("bare loop", "no memory");
    memset(data, 0x5A, bytes);
    return data;
}

/* Fill it after a step of the decode graph, with the stride and the outputs of that graph. */
static void bare_make(bare *b, const shape *is, const qnnrt_llm_cache *cache)
{
    const qnnrt_llm__store *store = &cache->store;
    const qnnrt_llm__run *run = cache->session->stepped_run;
    size_t pass, k, n = 0;
    b->heads = is->executorch ? 1 : is->heads;
    b->head_dim = is->head_dim;
    b->stride = is->context - 1;
    b->key_tensors = b->value_tensors = is->executorch ? is->layers * is->heads : is->layers;
    b->to = (unsigned char **)room(store->kv_count * sizeof *b->to);
    b->from = (const unsigned char **)room(store->kv_count * sizeof *b->from);
    for (pass = 0; pass < 2; ++pass)
        for (k = 0; k < store->kv_count; ++k) {
            if ((store->kv[k].role == QNNRT_LLM_ROLE_VALUE_IN) != (pass == 1)) continue;
            b->to[n] = store->data + (size_t)store->ranges[k];
            b->from[n++] = run->fresh[k].from;
        }
    if (n != b->key_tensors + b->value_tensors || store->stride != b->stride || store->lead != 0)
        stop(is->name, "the cache is not laid out as the bare loop expects");
}

static void bare_free(bare *b)
{
    free(b->to);
    free((void *)(uintptr_t)b->from);
}

static void bare_rows(const bare *b, size_t past)
{
    const size_t rows = b->heads * b->head_dim, d = b->head_dim, stride = b->stride;
    size_t t, i, h;
    for (t = 0; t < b->key_tensors; ++t) {
        unsigned char *keys = b->to[t] + past;
        const unsigned char *fresh = b->from[t];
        for (i = 0; i < rows; ++i) keys[i * stride] = fresh[i];
    }
    for (; t < b->key_tensors + b->value_tensors; ++t)
        for (h = 0; h < b->heads; ++h)
            memcpy(b->to[t] + (h * stride + past) * d, b->from[t] + h * d, d);
}

static uint16_t scan(const uint16_t *codes, size_t count)
{
    uint16_t most = 0;
    size_t i;
    for (i = 0; i < count; ++i) if (codes[i] > most) most = codes[i];
    return most;
}

/* The same loop compiled with -O3: eight codes at a time where the compiler can. */
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
    /* Write random codes in place of those that a model computes. */
    uint16_t *codes = (uint16_t *)(uintptr_t)qnnrt_llm_stored_logits(cache, 0);
    size_t i, k, best = 0;
    int32_t got = -1;
    if (codes == NULL) stop("qnnrt_llm_stored_logits", "gives none");
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

/* The host's time is all time except that in qnnrt_exec(). */
typedef struct moment { uint64_t ns, exec_ns; } moment;

static moment host_now(const qnnrt_llm_session *session)
{
    moment m;
    m.exec_ns = qnnrt_llm_session_get_info(session).exec_ns;
    m.ns = now_ns();
    return m;
}

static double host_us_since(const qnnrt_llm_session *session, moment m)
{
    const uint64_t ns = now_ns() - m.ns;
    return (double)(ns - (qnnrt_llm_session_get_info(session).exec_ns - m.exec_ns)) / 1e3;
}

/* Each round: a step whose result is dropped; a step in two halves, whose rows the bare loop
   stores too, once to load the memory into the processor's caches, then in changing order; a whole
   step; argmax. */
static void measure_rounds(const shape *is, qnnrt_llm_session *session, qnnrt_llm_cache *cache,
                           const bare *b, uint32_t start)
{
    const int32_t one = 1;
    qnnrt_llm_batch token = {0};
    uint32_t past = start;
    uint64_t begin;
    moment m;
    size_t r, k;
    token.tokens = &one;
    token.count = 1;
    for (r = 0; r < rounds; ++r) {
        if (past + 2 > is->context - 1) {
            must(qnnrt_llm_sequence_remove(cache, 0, (int32_t)start, -1), "remove", cache);
            past = start;
        }
        must(qnnrt_llm_eval(cache, &token), "eval", cache);
        begin = now_ns();
        must(qnnrt_llm_accept(cache, NULL, 0), "accept none", cache);
        figures[NONE][r] = us_since(begin);
        m = host_now(session);
        must(qnnrt_llm_eval(cache, &token), "eval", cache);
        figures[EVAL][r] = host_us_since(session, m);
        bare_rows(b, past);
        for (k = 0; k < 2; ++k) {
            const int ours = (k + r) % 2 == 0;
            begin = now_ns();
            if (ours) must(qnnrt_llm_accept(cache, NULL, 1), "accept", cache);
            else bare_rows(b, past);
            figures[ours ? ACCEPT : BARE][r] = us_since(begin);
        }
        m = host_now(session);
        must(qnnrt_llm_decode(cache, &token), "decode", cache);
        figures[DECODE][r] = host_us_since(session, m);
        past += 2;
        round_of_argmax(cache, is->vocabulary, (unsigned)r * 2654435761u, r);
    }
}

static void print_memory(const qnnrt_llm *llm, const qnnrt_llm_session *session)
{
    const qnnrt_llm_session_info facts = qnnrt_llm_session_get_info(session);
    const qnnrt_llm_info *info = qnnrt_llm_get_info(llm);
    uint64_t each = 0;
    size_t g, t;
    for (g = 0; g < info->graph_count; ++g)
        for (t = 0; t < info->graphs[g].tensor_count; ++t)
            each += info->graphs[g].tensors[t].tensor->bytes;
    printf("  MiB: arena %.2f, of which one cache %.2f; a buffer for each tensor of each graph"
           " %.2f, %.2f times as much\n", (double)facts.arena_bytes / 1048576,
           (double)facts.cache_bytes / 1048576, (double)each / 1048576,
           (double)each / (double)facts.arena_bytes);
}

static void print_figures(long hook, long libc)
{
    const double rest = middle(EVAL) + middle(NONE);
    printf("  us, %4u rounds           min   median\n", (unsigned)rounds);
    printf("  a step, no executes  %8.2f %8.2f\n", least(DECODE), middle(DECODE));
    printf("    storing rows       %8.2f %8.2f   %.3f of the bare loop, minima %.3f\n",
           least(ACCEPT), middle(ACCEPT), middle(ACCEPT) / middle(BARE),
           least(ACCEPT) / least(BARE));
    printf("      bare loop        %8.2f %8.2f\n", least(BARE), middle(BARE));
    printf("    the rest           %8.2f %8.2f\n", least(EVAL) + least(NONE), rest);
    printf("  argmax               %8.2f %8.2f   %.3f of the scan, minima %.3f; of the one that -O3"
           " makes %.3f, minima %.3f\n", least(ARGMAX), middle(ARGMAX),
           middle(ARGMAX) / middle(SCAN), least(ARGMAX) / least(SCAN),
           middle(ARGMAX) / middle(WIDE_SCAN), least(ARGMAX) / least(WIDE_SCAN));
    printf("    plain scan         %8.2f %8.2f\n", least(SCAN), middle(SCAN));
    printf("    plain scan, -O3    %8.2f %8.2f\n", least(WIDE_SCAN), middle(WIDE_SCAN));
    printf("  allocations: %ld through the hook, %ld of malloc\n", hook, libc);
    if (hook + libc != 0) {
        printf("  FAILED: a step allocates memory\n");
        failed = 1;
    }
}

static void measure(const shape *is, qnnrt_backend *backend, size_t wanted)
{
    const uint32_t start = is->context / 2;
    qnnrt_llm_session_desc session_desc = {0};
    qnnrt_llm_desc llm_desc = {0};
    qnnrt_llm_session *session;
    qnnrt_llm_batch batch = {0};
    qnnrt_llm_cache *cache;
    qnnrt_llm *llm;
    qnnrt *model;
    qnnrt_error err;
    int32_t *tokens = (int32_t *)room(start * sizeof *tokens);
    long hook, libc;
    double open_us, prompt_us;
    uint32_t i;
    moment m;
    bare b;

    printf("\n%s\n", is->name);
    if (shape_make(is, backend, &model, &err) != QNNRT_OK) stop(is->name, err.text);
    llm_desc.hooks.alloc = count_alloc;
    llm_desc.hooks.free = count_free;
    session_desc.clock_ns = clock_ns;
    m.ns = now_ns();
    if (qnnrt_llm_open(model, &llm_desc, &llm, &err) != QNNRT_OK) stop(is->name, err.text);
    open_us = us_since(m.ns);
    m.ns = now_ns();
    if (qnnrt_llm_session_create(&llm, 1, &session_desc, &session, &err) != QNNRT_OK)
        stop(is->name, err.text);
    printf("  ms: qnnrt_llm_open() %.2f, qnnrt_llm_session_create() %.2f\n", open_us / 1e3,
           us_since(m.ns) / 1e3);
    cache = qnnrt_llm_cache_get(session, 0, 0);
    print_memory(llm, session);

    for (i = 0; i < start; ++i) tokens[i] = (int32_t)(i % is->vocabulary);
    batch.tokens = tokens;
    batch.count = start - 1;
    m = host_now(session);
    must(qnnrt_llm_decode(cache, &batch), "prompt", cache);
    prompt_us = host_us_since(session, m);
    printf("  us on the host: a prompt of %u tokens %.1f, %.2f each", (unsigned)start - 1, prompt_us,
           prompt_us / (start - 1));
    batch.count = 1;
    m = host_now(session);
    must(qnnrt_llm_decode(cache, &batch), "first token", cache);
    printf("; the first token after it, which moves the cells to another stride, %.1f\n",
           host_us_since(session, m));

    bare_make(&b, is, cache);
    rounds = wanted;
    hook = allocations;
    libc = libc_allocations;
    measure_rounds(is, session, cache, &b, start);
    print_figures(allocations - hook, libc_allocations - libc);

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
