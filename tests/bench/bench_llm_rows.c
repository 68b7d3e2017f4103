/* bench_llm_rows.c - rows_put of qnnrt_llm.h beside bare loops of the same stores

   New keys and values of one step go into the caches of all layers, in the shapes of two public
   exports. Bare loops do the same with everything known in advance: without structs and ranges, and
   with element and stride as constants of the compiler. The two take turns, and the order changes
   with each round, on cells that continue like those of a text. The program prints the ratio of the
   minima and the median of the ratios within one round. Times depend on the machine and are not
   judged. The exit status is 1 when the bytes in memory are not the same. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_llm.h"

#include <time.h>

enum { ROUNDS = 301, AR = 32 };

static void stop(const char *text)
{
    printf("bench_llm_rows: %s\n", text);
    exit(1);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* ---- bare loops: one for each shape ------------------------------------------------------------ */

/* Keys of all heads of a layer are one run of rows, in one tensor or in several. */
#define BARE_KEYS(name, type, stride) \
    static void name(void *to, const void *from, size_t rows, size_t count) \
    { \
        type *cell = (type *)to; \
        const type *row = (const type *)from; \
        size_t i; \
        if (count == 1) for (i = 0; i < rows; ++i) cell[i * (stride)] = row[i]; \
        else for (i = 0; i < rows; ++i) memcpy(cell + i * (stride), row + i * AR, AR * sizeof(type)); \
    }
BARE_KEYS(keys_1b, uint8_t, 511)
BARE_KEYS(keys_1b_prefill, uint8_t, 480)
BARE_KEYS(keys_1b_u16, uint16_t, 511)
BARE_KEYS(keys_7b, uint8_t, 4095)
BARE_KEYS(keys_7b_prefill, uint8_t, 4064)
BARE_KEYS(keys_7b_u16, uint16_t, 4095)

#define BARE_VALUES(name, dim, stride) \
    static void name(void *to, const void *from, size_t heads, size_t count) \
    { \
        uint8_t *cell = (uint8_t *)to; \
        const uint8_t *row = (const uint8_t *)from; \
        size_t i; \
        if (count == 1) \
            for (i = 0; i < heads; ++i) memcpy(cell + i * (stride) * (dim), row + i * (dim), (dim)); \
        else \
            for (i = 0; i < heads; ++i) \
                memcpy(cell + i * (stride) * (dim), row + i * AR * (dim), AR * (dim)); \
    }
BARE_VALUES(values_1b, 64, 511)
BARE_VALUES(values_7b, 128, 4095)
BARE_VALUES(values_7b_prefill, 128, 4064)

typedef struct shape {
    const char *name;
    uint32_t    tensors, outer, inner, element, stride, count;
    void      (*bare)(void *to, const void *from, size_t rows, size_t count);
} shape;

static const shape shapes[] = {
    { "1B keys   u8  [64, 511] x 128  AR 1",   128,   64,   1, 1,  511,  1, keys_1b },
    { "1B keys   u8  [512, 511] x 16  AR 1",    16,  512,   1, 1,  511,  1, keys_1b },
    { "1B keys   u16 [512, 511] x 16  AR 1",    16,  512,   1, 2,  511,  1, keys_1b_u16 },
    { "1B values u8  [511, 64] x 128  AR 1",   128,    1,  64, 1,  511,  1, values_1b },
    { "1B values u8  [8, 511, 64] x 16 AR 1",   16,    8,  64, 1,  511,  1, values_1b },
    { "1B keys   u8  [64, 480] x 128  AR 32",  128,   64,   1, 1,  480, AR, keys_1b_prefill },
    { "7B keys   u8  [4096, 4095] x 32 AR 1",   32, 4096,   1, 1, 4095,  1, keys_7b },
    { "7B keys   u16 [4096, 4095] x 32 AR 1",   32, 4096,   1, 2, 4095,  1, keys_7b_u16 },
    { "7B values u8  [32, 4095, 128] x 32 AR 1", 32,  32, 128, 1, 4095,  1, values_7b },
    { "7B keys   u8  [4096, 4064] x 32 AR 32",  32, 4096,   1, 1, 4064, AR, keys_7b_prefill },
    { "7B values u8  [32, 4064, 128] x 32 AR 32", 32, 32, 128, 1, 4064, AR, values_7b_prefill }
};

static void measure(const shape *s)
{
    static double bare_us[ROUNDS], ours_us[ROUNDS], ratio[ROUNDS];
    qnnrt_hooks hooks;
    qnnrt_llm__kv *kv;
    const uint32_t out_cells = s->count;
    const size_t piece = (size_t)s->inner * s->element, out_bytes = s->outer * out_cells * piece;
    unsigned char *out, *at;
    qnnrt_llm__store store;
    uint64_t bytes = 0;
    uint32_t k, cell = 0;
    size_t i;
    int round, turn;
    memset(&hooks, 0, sizeof(hooks));
    memset(&store, 0, sizeof(store));
    kv = (qnnrt_llm__kv *)qnnrt_hooks_alloc(&hooks, s->tensors, sizeof(*kv));
    store.kv = kv;
    store.kv_count = s->tensors;
    store.stride = s->stride;
    store.ranges = (uint64_t *)qnnrt_hooks_alloc(&hooks, s->tensors, sizeof(*store.ranges));
    out = (unsigned char *)qnnrt_hooks_alloc(&hooks, s->tensors, out_bytes);
    if (kv == NULL || store.ranges == NULL || out == NULL) stop("out of memory");
    for (k = 0; k < s->tensors; ++k) {
        kv[k].outer = s->outer;
        kv[k].inner = s->inner;
        kv[k].element = s->element;
        store.ranges[k] = bytes;
        bytes += (qnnrt_llm__rows_bytes(&kv[k], s->stride, s->count, 0) + 63) / 64 * 64;
    }
    store.data = (unsigned char *)malloc((size_t)bytes);
    if (store.data == NULL) { printf("%-43s left out: no memory for it\n", s->name); goto done; }
    memset(store.data, 1, (size_t)bytes);
    for (i = 0; i < s->tensors * out_bytes; ++i) out[i] = (unsigned char)(i * 31 >> 3);
    for (round = -2; round < ROUNDS; ++round) {
        for (turn = 0; turn < 2; ++turn) {
            double begin = now_us();
            const int ours = (turn + round) & 1;
            if (cell + s->count > s->stride) cell = 0;
            if (ours)
                for (k = 0; k < s->tensors; ++k)
                    qnnrt_llm__rows_put(&store, k, out + k * out_bytes, out_cells, 0, cell, s->count);
            else
                for (k = 0; k < s->tensors; ++k)
                    s->bare(store.data + store.ranges[k] + cell * piece, out + k * out_bytes, s->outer,
                            s->count);
            if (round >= 0) (ours ? ours_us : bare_us)[round] = now_us() - begin;
            /* Check that both wrote the right bytes. */
            for (k = 0; k < s->tensors; k += s->tensors - 1)
                for (i = 0; i < s->outer; i += s->outer > 1 ? s->outer - 1 : 1) {
                    at = store.data + store.ranges[k] + (i * s->stride + cell) * piece;
                    if (memcmp(at, out + k * out_bytes + i * out_cells * piece, s->count * piece) != 0)
                        stop("not the same bytes");
                }
            cell += s->count;
        }
        if (round >= 0) ratio[round] = ours_us[round] / bare_us[round];
    }
    qsort(bare_us, ROUNDS, sizeof(*bare_us), by_size);
    qsort(ours_us, ROUNDS, sizeof(*ours_us), by_size);
    qsort(ratio, ROUNDS, sizeof(*ratio), by_size);
    printf("%-43s %9.1f %9.1f   %9.1f %9.1f   %5.2f %5.2f\n", s->name, bare_us[0],
           bare_us[ROUNDS / 2], ours_us[0], ours_us[ROUNDS / 2], ours_us[0] / bare_us[0],
           ratio[ROUNDS / 2]);
    fflush(stdout);
done:
    free(store.data);
    qnnrt_hooks_free(&hooks, store.ranges);
    qnnrt_hooks_free(&hooks, out);
    qnnrt_hooks_free(&hooks, kv);
}

/* ---- from one stride to another and back, with half of the cells in use -------------------------- */

static void bare_arrange(unsigned char *data, size_t rows, size_t from, size_t to, size_t bytes)
{
    size_t i;
    if (to < from) for (i = 1; i < rows; ++i) memmove(data + i * to, data + i * from, bytes);
    else for (i = rows; i-- > 1;) memmove(data + i * to, data + i * from, bytes);
}

static void measure_arrange(const char *name, uint32_t tensors, uint32_t rows, uint32_t cells, uint32_t ar)
{
    enum { TURNS = 41 };
    static double us[2][TURNS];
    qnnrt_llm__kv kv[128];
    uint64_t ranges[128];
    qnnrt_llm__store store;
    const uint32_t prompt = cells + 1 - ar, end = cells / 2;
    const size_t each = ((size_t)rows * cells + 63) / 64 * 64;
    uint32_t k;
    int turn, ours;
    memset(kv, 0, sizeof(kv));
    memset(&store, 0, sizeof(store));
    for (k = 0; k < tensors; ++k) {
        kv[k].outer = rows;
        kv[k].inner = kv[k].element = 1;
        ranges[k] = k * each;
    }
    store.kv = kv;
    store.kv_count = tensors;
    store.ranges = ranges;
    store.stride = prompt;
    store.data = (unsigned char *)malloc(tensors * each);
    if (store.data == NULL) { printf("%-43s left out: no memory for it\n", name); return; }
    memset(store.data, 1, tensors * each);
    for (turn = -1; turn < TURNS; ++turn)
        for (ours = 0; ours < 2; ++ours) {
            const double begin = now_us();
            if (ours) {
                qnnrt_llm__rows_arrange(&store, cells, end);
                qnnrt_llm__rows_arrange(&store, prompt, end);
            } else {
                for (k = 0; k < tensors; ++k) bare_arrange(store.data + ranges[k], rows, prompt, cells, end);
                for (k = 0; k < tensors; ++k) bare_arrange(store.data + ranges[k], rows, cells, prompt, end);
            }
            if (turn >= 0) us[ours][turn] = now_us() - begin;
        }
    qsort(us[0], TURNS, sizeof(double), by_size);
    qsort(us[1], TURNS, sizeof(double), by_size);
    printf("%-43s %9.1f %9.1f   %9.1f %9.1f   %5.2f %5.2f\n", name, us[0][0], us[0][TURNS / 2], us[1][0],
           us[1][TURNS / 2], us[1][0] / us[0][0], us[1][TURNS / 2] / us[0][TURNS / 2]);
    free(store.data);
}

int main(void)
{
    size_t i;
    printf("New keys and values into all layers, us of one step; %d rounds in turn\n", ROUNDS);
    printf("%-43s %9s %9s   %9s %9s   %5s %5s\n", "", "bare min", "median", "ours min", "median",
           "min", "pairs");
    for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) measure(&shapes[i]);
    measure_arrange("1B keys   480 <-> 511, 255 in use", 128, 64, 511, AR);
    measure_arrange("7B keys   4064 <-> 4095, 2047 in use", 32, 4096, 4095, AR);
    return 0;
}
