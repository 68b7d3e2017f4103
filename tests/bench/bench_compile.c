/* bench_compile.c - what it costs to compile a graph in ATen operators, without the library's work

       bench_compile GRAPH.json WEIGHTS LIBRARY ...

   Reads, checks, rewrites, lowers and asks about a graph, several times for each library, and prints the least and the
   middle time of each step, allocations and memory. What the library spends is what passes between the hooks lock and
   unlock of the backend, which enclose each of its calls. Times are those of the thread, except for the library's part.
   Nothing is built: weights are not read. */
#define _POSIX_C_SOURCE 200809L
#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#define QNNRT_WEIGHTS_IMPLEMENTATION
#define QNNRT_IR_IMPLEMENTATION
#define QNNRT_IR_PASSES_IMPLEMENTATION
#define QNNRT_LOWER_IMPLEMENTATION
#include "qnnrt_lower.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 9, READ = 0, CHECK, WEIGHTS, PASSES, LOWER, ASK, VENDOR, STEPS };

static const char *const steps[STEPS] = {
    "read", "check", "find weights", "fold and passes", "lower", "ask, without the library", "the library's part"
};

static double at(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static double now(void) { return at(CLOCK_THREAD_CPUTIME_ID); }

static unsigned long long allocations, live, most;

/* The size stands before the block. */
static void *count_alloc(void *user, size_t bytes)
{
    unsigned char *block = (unsigned char *)malloc(bytes + 64);
    (void)user;
    if (block == NULL) return NULL;
    memcpy(block, &bytes, sizeof bytes);
    ++allocations;
    live += bytes;
    if (live > most) most = live;
    return block + 64;
}

static void count_free(void *user, void *data)
{
    size_t bytes;
    (void)user;
    memcpy(&bytes, (unsigned char *)data - 64, sizeof bytes);
    live -= bytes;
    free((unsigned char *)data - 64);
}

/* What the library spends: of this thread, and until it returns. */
static double vendor, vendor_wall, locked, locked_wall;

static void lock(void *user)
{
    (void)user;
    locked_wall = at(CLOCK_MONOTONIC);
    locked = now();
}

static void unlock(void *user)
{
    (void)user;
    vendor += now() - locked;
    vendor_wall += at(CLOCK_MONOTONIC) - locked_wall;
}

/* The least time of each pass. */
enum { PASSES_MOST = 64 };
static struct { const char *name; double least; } passes[PASSES_MOST];
static size_t pass_count;
static double pass_begin;

static void passed(void *user, const char *pass, const qnnrt_ir *ir)
{
    const double end = now();
    (void)user;
    (void)ir;
    if (pass_count == PASSES_MOST) return;
    if (passes[pass_count].name == NULL || end - pass_begin < passes[pass_count].least)
        passes[pass_count].least = end - pass_begin;
    passes[pass_count++].name = pass;
    pass_begin = now();
}

static int by_value(const void *a, const void *b)
{
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static int failed(const qnnrt_error *err)
{
    fprintf(stderr, "bench_compile: %s\n", err->text);
    return 0;
}

/* Return the number after a name in /proc/self/status, in MiB. */
static double status(const char *name)
{
    char line[256];
    double found = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) found = (double)strtoul(line + strlen(name), NULL, 10) / 1024;
    if (file != NULL) fclose(file);
    return found;
}

/* Compile once up to the last question. Return 0 after printing an error. */
static int once(const char *text, size_t bytes, const qnnrt_weights *weights, qnnrt_backend *backend, double times[STEPS],
                size_t counts[3])
{
    qnnrt_ir_desc read = {0};
    qnnrt_lower_desc desc = {0};
    qnnrt_ir *ir = NULL;
    qnnrt_lower *lower = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt_error err;
    int good = 1;
    double t;
    read.hooks.alloc = desc.hooks.alloc = count_alloc;
    read.hooks.free = desc.hooks.free = count_free;
    desc.target = qnnrt_lower_target_of(qnnrt_backend_get_info(backend));
    desc.build_id = qnnrt_backend_get_info(backend)->build_id;
    desc.rope_base = 1e6;
    read.plain_rope = 1;
    desc.passed = passed;
    t = now();
    if (qnnrt_ir_read(text, bytes, &read, &ir, &err) != QNNRT_OK) return failed(&err);
    times[READ] = now() - t;
    counts[0] = ir->node_count;
    t = now();
    if (qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK) good = failed(&err);
    times[CHECK] = now() - t;
    if (good && qnnrt_lower_create(&desc, &lower, &err) != QNNRT_OK) good = failed(&err);
    t = now();
    if (good && qnnrt_lower_weights(lower, ir, weights, &err) != QNNRT_OK) good = failed(&err);
    times[WEIGHTS] = now() - t;
    pass_count = 0;
    t = pass_begin = now();
    if (good && qnnrt_lower_passes(lower, ir, &err) != QNNRT_OK) good = failed(&err);
    times[PASSES] = now() - t;
    counts[1] = ir->node_count;
    t = now();
    if (good && qnnrt_lower_graph(lower, ir, "graph", &err) != QNNRT_OK) good = failed(&err);
    times[LOWER] = now() - t;
    if (good) counts[2] = qnnrt_lower_get_info(lower)->graphs[0].used_ops;
    if (good && qnnrt_builder_create(backend, NULL, &builder, &err) != QNNRT_OK) good = failed(&err);
    vendor = vendor_wall = 0;
    t = now();
    if (good && qnnrt_lower_emit(lower, builder, &err) != QNNRT_OK) good = failed(&err);
    times[ASK] = now() - t - vendor;
    times[VENDOR] = vendor_wall;
    qnnrt_builder_destroy(builder);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
    return good;
}

static int bench(const char *text, size_t bytes, const qnnrt_weights *weights, const char *library)
{
    double times[STEPS][RUNS], one[STEPS], least = 0, middle = 0;
    size_t counts[3] = { 0, 0, 0 };
    qnnrt_backend_desc desc = {0};
    qnnrt_backend *backend;
    qnnrt_error err;
    int i, k, good = 1;
    desc.path = library;
    desc.hooks.alloc = count_alloc;
    desc.hooks.free = count_free;
    desc.hooks.lock = lock;
    desc.hooks.unlock = unlock;
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) return failed(&err);
    memset(passes, 0, sizeof passes);
    for (i = -1; i < RUNS && good; ++i) {        /* the first one warms up */
        allocations = 0;
        most = live;
        good = once(text, bytes, weights, backend, one, counts);
        for (k = 0; k < STEPS && i >= 0; ++k) times[k][i] = one[k];
    }
    if (good) {
        printf("%s\n  %lu nodes as read, %lu after the passes, %lu operators\n", library, (unsigned long)counts[0],
               (unsigned long)counts[1], (unsigned long)counts[2]);
        for (k = 0; k < STEPS; ++k) {
            qsort(times[k], RUNS, sizeof(double), by_value);
            if (k < VENDOR) {
                least += times[k][0];
                middle += times[k][RUNS / 2];
            } else {
                printf("  %-26s %8.2f ms, least %8.2f ms\n", "sum", middle, least);
            }
            printf("  %-26s %8.2f ms, least %8.2f ms\n", steps[k], times[k][RUNS / 2], times[k][0]);
        }
        printf("  passes, least:");
        for (k = 0; k < (int)pass_count; ++k) printf("%s %s %.2f", k > 0 ? "," : "", passes[k].name, passes[k].least);
        printf("\n  %llu allocations, at most %.1f MiB at a time; the process had at most %.0f MiB\n", allocations,
               (double)most / 1048576, status("VmHWM:"));
    }
    qnnrt_backend_close(backend);
    return good;
}

int main(int argc, char **argv)
{
    qnnrt_weights *weights = NULL;
    qnnrt_error err;
    uint64_t bytes = 0;
    char *text;
    int i, good = 1;
    if (argc < 4) {
        fputs("usage: bench_compile GRAPH.json WEIGHTS LIBRARY ...\n", stderr);
        return 2;
    }
    if (qnnrt_file_read(argv[1], NULL, 0, &bytes, &err) != QNNRT_OK) return !failed(&err);
    text = (char *)malloc((size_t)bytes + 1);
    if (text == NULL || qnnrt_file_read(argv[1], text, (size_t)bytes, &bytes, &err) != QNNRT_OK ||
        qnnrt_weights_open(argv[2], NULL, &weights, &err) != QNNRT_OK)
        return !failed(&err);
    for (i = 3; i < argc; ++i) good &= bench(text, (size_t)bytes, weights, argv[i]);
    qnnrt_weights_close(weights);
    free(text);
    return !good;
}
