/* heap.h - an allocator that fails on request, the fake with its ledger, and a task run on both

   A task uses the library from open to close, with heap_alloc and heap_free and &heap as its hooks,
   and returns the result of the first call that failed. exhaust() lets allocation 1, 2, 3 ... fail
   (once, and with `on` again from there on) until it passes. Each failure must give QNNRT_E_MEMORY,
   without a leak or a double free. Memory is full of 0xA5 and aligned to 16 only; a write past a
   block is found when the block is freed. exhaust_apart() does the same for a task that takes long:
   each allocation fails in a child process of its own, which is made when the task has come so far.
   Include qnnrt.h and test.h first. */
#ifndef HEAP_H
#define HEAP_H

#include <dlfcn.h>
#include <sys/wait.h>

/* ---- the allocator --------------------------------------------------------------------------- */

enum { BLOCKS = 4096, TAIL = 16 };

static struct {
    struct { unsigned char *base, *data; size_t bytes; } out[BLOCKS];
    size_t   live;
    uint64_t count, fail_at;              /* allocations so far; the one that fails, 0: no failure */
    int      on;                          /* 1: all later ones fail, too                       */
    int      apart, child;                /* 1: each fails in a child; this is one             */
    uint64_t failed, wrong;
} heap;

/* Make a child in which the allocation of now fails; in the parent wait until it has ended well. */
static void heap_apart(void)
{
    int status = 0;
    pid_t pid;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        heap.apart = 0;
        heap.child = 1;
        heap.wrong = 0;
        heap.fail_at = heap.count;
    } else if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        ++heap.wrong;
        printf("allocation %u: the process in which it fails ended with status 0x%x\n", (unsigned)heap.count, (unsigned)status);
    }
}

static void *heap_alloc(void *user, size_t bytes)
{
    size_t i = 0;
    unsigned char *base;
    if (user != &heap || bytes == 0) ++heap.wrong;
    ++heap.count;
    if (heap.apart) heap_apart();
    if (heap.fail_at != 0 && (heap.count == heap.fail_at || (heap.on && heap.count > heap.fail_at))) {
        ++heap.failed;
        return NULL;
    }
    while (i < BLOCKS && heap.out[i].base != NULL) ++i;
    base = i < BLOCKS ? (unsigned char *)malloc(bytes + 64 + TAIL) : NULL;
    if (base == NULL) abort();
    heap.out[i].base = base;
    heap.out[i].data = base + (48 - (uintptr_t)base % 32) % 32;        /* 16 modulo 32 */
    heap.out[i].bytes = bytes;
    memset(heap.out[i].data, 0xA5, bytes + TAIL);
    ++heap.live;
    return heap.out[i].data;
}

static void heap_free(void *user, void *data)
{
    size_t i = 0, k;
    if (user != &heap || data == NULL) ++heap.wrong;
    while (i < BLOCKS && (heap.out[i].base == NULL || heap.out[i].data != data)) ++i;
    /* The block is unknown, or was freed before. */
    if (i == BLOCKS) { ++heap.wrong; return; }
    for (k = 0; k < TAIL; ++k) if (heap.out[i].data[heap.out[i].bytes + k] != 0xA5) ++heap.wrong;
    memset(heap.out[i].data, 0xDD, heap.out[i].bytes);
    free(heap.out[i].base);
    heap.out[i].base = NULL;
    --heap.live;
}

/* ---- the fake -------------------------------------------------------------------------------- */

static void (*fake_stats)(uint64_t *);
static void (*fake_reset)(void);

static void fake_symbol(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) abort();
    memcpy(function, &symbol, sizeof(symbol));
}

static void fake_begin(const char *knobs)
{
    if (fake_stats == NULL) {
        void *library = dlopen(TEST_FAKE_LIB, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) { printf("%s\n", dlerror()); abort(); }
        fake_symbol(library, "fake_qnn_stats", &fake_stats);
        fake_symbol(library, "fake_qnn_reset", &fake_reset);
    }
    setenv("QNNFAKE", knobs, 1);
    fake_reset();
}

static uint64_t fake_live(void)
{
    uint64_t stats[16];
    fake_stats(stats);
    return stats[0] + stats[1] + stats[2] + stats[3] + stats[4] + stats[7] + stats[10];
}

/* ---- running a task --------------------------------------------------------------------------- */

typedef qnnrt_result (*task)(qnnrt_error *err);
static int without_text;

/* Run the task once; return 1 when it ends as it must. */
static int heap_survives(const char *what, task body, const char *knobs)
{
    qnnrt_error err;
    qnnrt_result result;
    uint64_t before;
    memset(&err, 0xFF, sizeof(err));
    fake_begin(knobs);
    before = fake_live();
    result = body(without_text ? NULL : &err);
    if (heap.wrong == 0 && heap.live == 0 && fake_live() == before && result == (heap.failed > 0 ? QNNRT_E_MEMORY : QNNRT_OK) &&
        (result == QNNRT_OK || without_text || (err.code == result && err.text[0] != '\0' && memchr(err.text, 0, sizeof(err.text)) != NULL)))
        return 1;
    err.text[sizeof(err.text) - 1] = '\0';
    printf("%s, allocation %u%s: %s, %u blocks lost, %u wrong uses, %d handles lost: %s\n", what, (unsigned)heap.fail_at, heap.on ? " and on" : "",
           qnnrt_result_name(result), (unsigned)heap.live, (unsigned)heap.wrong, (int)(fake_live() - before),
           without_text ? "-" : err.text);
    return 0;
}

/* Let allocation 1, 2, 3 ... fail; return how many it takes until the task passes, 0 on an
   error. */
static uint64_t exhaust(const char *what, task body, int on, const char *knobs)
{
    uint64_t at;
    for (at = 1; at < 100000; ++at) {
        memset(&heap, 0, sizeof(heap));
        heap.fail_at = at;
        heap.on = on;
        if (!heap_survives(what, body, knobs)) return 0;
        if (heap.failed == 0) return at;
    }
    return 0;
}

static inline uint64_t exhaust_apart(const char *what, task body, int on, const char *knobs)
{
    int good;
    memset(&heap, 0, sizeof(heap));
    heap.apart = 1;
    heap.on = on;
    good = heap_survives(what, body, knobs);
    if (heap.child) {
        fflush(stdout);
        _exit(!good || heap.failed == 0);
    }
    return good ? heap.count + 1 : 0;
}

#endif
