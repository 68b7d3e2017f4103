/* bench_convert.c - how fast conversions between tensors are

   Each conversion is timed beside XNNPACK's (where the Makefile found libxnnpack-dev), beside a bare loop that neither
   rounds exactly nor counts, and beside a memcpy of as many bytes as are read and written together. All four run in turn
   in one process. "In cache" is 4,096 elements, "out of cache" more than the last cache holds.

   Ratios are the time of the other divided by ours, from the minima and from the medians: 1.00 is as fast, more is faster
   than it. Times are printed and never judged. XNNPACK computes x * (1 / scale) in float, which is wrong near the middle
   between two codes, and does not count what it saturates. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_convert.h"
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef BENCH_XNNPACK
#include <xnnpack.h>
#endif

enum { OURS, PEER, BARE, COPY, WAYS, MOST_ROUNDS = 301 };

static void stop(const char *what)
{
    printf("bench: %s\n", what);
    exit(1);
}

/* ---- the conversions ------------------------------------------------------------------------ */

typedef struct row {
    const char *name;
    qnnrt_dtype from, to;
    int quantizes;              /* `to` has the encoding, else `from` if it is quantized */
} row;

static const row rows[] = {
    { "float32 -> float16", QNNRT_DTYPE_F32, QNNRT_DTYPE_F16, 0 },
    { "float16 -> float32", QNNRT_DTYPE_F16, QNNRT_DTYPE_F32, 0 },
    { "float32 -> bfloat16", QNNRT_DTYPE_F32, QNNRT_DTYPE_BF16, 0 },
    { "bfloat16 -> float32", QNNRT_DTYPE_BF16, QNNRT_DTYPE_F32, 0 },
    { "float32 -> ufixed8", QNNRT_DTYPE_F32, QNNRT_DTYPE_U8Q, 1 },
    { "ufixed8 -> float32", QNNRT_DTYPE_U8Q, QNNRT_DTYPE_F32, 0 },
    { "float32 -> ufixed16", QNNRT_DTYPE_F32, QNNRT_DTYPE_U16Q, 1 },
    { "ufixed16 -> float32", QNNRT_DTYPE_U16Q, QNNRT_DTYPE_F32, 0 },
    { "float16 -> ufixed16", QNNRT_DTYPE_F16, QNNRT_DTYPE_U16Q, 1 },
    { "ufixed16 -> float16", QNNRT_DTYPE_U16Q, QNNRT_DTYPE_F16, 0 },
    { "ufixed8 -> ufixed16", QNNRT_DTYPE_U8Q, QNNRT_DTYPE_U16Q, 0 },
    { "ufixed16 -> ufixed8", QNNRT_DTYPE_U16Q, QNNRT_DTYPE_U8Q, 0 },
    { "int64 -> int32", QNNRT_DTYPE_I64, QNNRT_DTYPE_I32, 0 },
    { "int32 -> int64", QNNRT_DTYPE_I32, QNNRT_DTYPE_I64, 0 }
};

static const float scale = 0.0235f;
static float inverse;
static int32_t zero;

/* The loop that anyone would write first, without checks. */
static void bare(const row *r, const void *from, void *to, size_t n)
{
    size_t i;
    if (r->from == QNNRT_DTYPE_F32 && r->to == QNNRT_DTYPE_U8Q) {
        const float *x = (const float *)from;
        uint8_t *y = (uint8_t *)to;
        for (i = 0; i < n; ++i) {
            float t = x[i] * inverse;
            t = t < (float)-zero ? (float)-zero : t;
            t = t > (float)(255 - zero) ? (float)(255 - zero) : t;
            y[i] = (uint8_t)((int32_t)(t + (t < 0 ? -0.5f : 0.5f)) + zero);
        }
    } else if (r->from == QNNRT_DTYPE_F32 && r->to == QNNRT_DTYPE_U16Q) {
        const float *x = (const float *)from;
        uint16_t *y = (uint16_t *)to;
        for (i = 0; i < n; ++i) {
            float t = x[i] * inverse;
            t = t < (float)-zero ? (float)-zero : t;
            t = t > (float)(65535 - zero) ? (float)(65535 - zero) : t;
            y[i] = (uint16_t)((int32_t)(t + (t < 0 ? -0.5f : 0.5f)) + zero);
        }
    } else if (r->from == QNNRT_DTYPE_U8Q && r->to == QNNRT_DTYPE_F32) {
        const uint8_t *x = (const uint8_t *)from;
        float *y = (float *)to;
        for (i = 0; i < n; ++i) y[i] = (float)(x[i] - zero) * scale;
    } else if (r->from == QNNRT_DTYPE_U16Q && r->to == QNNRT_DTYPE_F32) {
        const uint16_t *x = (const uint16_t *)from;
        float *y = (float *)to;
        for (i = 0; i < n; ++i) y[i] = (float)(x[i] - zero) * scale;
    } else if (r->from == QNNRT_DTYPE_BF16) {
        const uint16_t *x = (const uint16_t *)from;
        uint32_t *y = (uint32_t *)to;
        for (i = 0; i < n; ++i) y[i] = (uint32_t)x[i] << 16;
    } else if (r->to == QNNRT_DTYPE_BF16) {
        const uint32_t *x = (const uint32_t *)from;
        uint16_t *y = (uint16_t *)to;
        for (i = 0; i < n; ++i) y[i] = (uint16_t)((x[i] + 0x7FFFu + ((x[i] >> 16) & 1u)) >> 16);
    } else if (r->from == QNNRT_DTYPE_I64) {
        const int64_t *x = (const int64_t *)from;
        int32_t *y = (int32_t *)to;
        for (i = 0; i < n; ++i) y[i] = (int32_t)x[i];
    } else if (r->from == QNNRT_DTYPE_I32) {
        const int32_t *x = (const int32_t *)from;
        int64_t *y = (int64_t *)to;
        for (i = 0; i < n; ++i) y[i] = x[i];
    } else if (r->from == QNNRT_DTYPE_U8Q && r->to == QNNRT_DTYPE_U16Q) {
        const uint8_t *x = (const uint8_t *)from;
        uint16_t *y = (uint16_t *)to;
        for (i = 0; i < n; ++i) y[i] = (uint16_t)(x[i] * 3);
    } else {
        to = NULL;
    }
}

static int has_bare(const row *r)
{
    return (r->from != QNNRT_DTYPE_F16 && r->to != QNNRT_DTYPE_F16) && !(r->from == QNNRT_DTYPE_U16Q && r->to == QNNRT_DTYPE_U8Q);
}

#ifdef BENCH_XNNPACK
/* Make XNNPACK's operator; NULL where it has none. */
static xnn_operator_t make_peer(const row *r, const void *from, void *to, size_t n)
{
    xnn_operator_t op = NULL;
    if (r->from == QNNRT_DTYPE_F32 && r->to == QNNRT_DTYPE_F16) {
        if (xnn_create_convert_nc_f32_f16(1, 1, 1, 0, &op) != xnn_status_success ||
            xnn_setup_convert_nc_f32_f16(op, n, (const float *)from, to, NULL) != xnn_status_success) stop(r->name);
    } else if (r->from == QNNRT_DTYPE_F16 && r->to == QNNRT_DTYPE_F32) {
        if (xnn_create_convert_nc_f16_f32(1, 1, 1, 0, &op) != xnn_status_success ||
            xnn_setup_convert_nc_f16_f32(op, n, from, (float *)to, NULL) != xnn_status_success) stop(r->name);
    } else if (r->from == QNNRT_DTYPE_F32 && r->to == QNNRT_DTYPE_U8Q) {
        if (xnn_create_convert_nc_f32_qu8(1, 1, 1, scale, (uint8_t)zero, 0, 255, 0, &op) != xnn_status_success ||
            xnn_setup_convert_nc_f32_qu8(op, n, (const float *)from, (uint8_t *)to, NULL) != xnn_status_success) stop(r->name);
    } else if (r->from == QNNRT_DTYPE_U8Q && r->to == QNNRT_DTYPE_F32) {
        if (xnn_create_convert_nc_qu8_f32(1, 1, 1, scale, (uint8_t)zero, 0, &op) != xnn_status_success ||
            xnn_setup_convert_nc_qu8_f32(op, n, (const uint8_t *)from, (float *)to, NULL) != xnn_status_success) stop(r->name);
    }
    return op;
}
#endif

/* ---- one row -------------------------------------------------------------------------------- */

static void set_up(const row *r, qnnrt_tensor_info *tensor, const char *name, qnnrt_dtype dtype, uint32_t *dims)
{
    memset(tensor, 0, sizeof *tensor);
    tensor->name = name;
    tensor->dtype = dtype;
    tensor->rank = 1;
    tensor->dims = dims;
    if (qnnrt__dtype_is_fixed(dtype)) {
        tensor->quant.encoding = QNNRT_ENCODING_PER_TENSOR;
        tensor->quant.scale = scale;
        tensor->quant.offset = -zero;
        /* Between two encodings of the same range. */
        if (qnnrt__dtype_is_fixed(r->from) && qnnrt__dtype_is_fixed(r->to) && dtype == QNNRT_DTYPE_U16Q) {
            tensor->quant.scale = scale / 257.0f;
            tensor->quant.offset = -zero * 257;
        }
    }
}

static void fill(const row *r, unsigned char *data, size_t n)
{
    uint32_t seed = 1;
    size_t i;
    for (i = 0; i < n; ++i) {
        seed = seed * 1664525u + 1013904223u;
        if (r->from == QNNRT_DTYPE_F32) {
            /* Within the range of the codes. */
            const float x = ((float)(seed >> 8) / 16777216.0f * 240.0f + 8.0f - (float)zero) * scale;
            memcpy(data + 4 * i, &x, 4);
        } else if (r->from == QNNRT_DTYPE_I64) {
            const int64_t x = (int32_t)seed;
            memcpy(data + 8 * i, &x, 8);
        } else if (r->from == QNNRT_DTYPE_I32) {
            memcpy(data + 4 * i, &seed, 4);
        } else if (r->from == QNNRT_DTYPE_U8Q) {
            data[i] = (unsigned char)(seed >> 24);
        } else {                /* halves from 2^-14 to 1 */
            const uint16_t x = (uint16_t)(0x0400u + (seed >> 16) % 0x3800u);
            memcpy(data + 2 * i, &x, 2);
        }
    }
}

static qnnrt_result convert_data(const qnnrt_converter *convert, const void *from, void *to, qnnrt_error *err)
{
    const qnnrt_host_step *step = qnnrt_convert_step(convert);
    return step->exec(step->user, NULL, &from, &to, err);
}

static void measure(const row *r, size_t n, int calls, int rounds)
{
    static double ns[WAYS][MOST_ROUNDS];
    const size_t from_bytes = n * (qnnrt__dtype_find(r->from)->bits / 8), to_bytes = n * (qnnrt__dtype_find(r->to)->bits / 8);
    const size_t both = (from_bytes + to_bytes) / 2;
    unsigned char *from = (unsigned char *)malloc(from_bytes + both), *to = (unsigned char *)malloc(to_bytes + both);
    uint32_t dims = (uint32_t)n;
    qnnrt_tensor_info a, b;
    const qnnrt_conversion wish = { QNNRT_CONVERT_VALUES, 0 };
    qnnrt_converter *convert;
    qnnrt_error err;
    uint64_t lost = 0;
    int round, way, c, has_peer = 0;
#ifdef BENCH_XNNPACK
    xnn_operator_t op;
#endif
    if (from == NULL || to == NULL) stop("out of memory");
    zero = r->from == QNNRT_DTYPE_U16Q || r->to == QNNRT_DTYPE_U16Q ? (qnnrt__dtype_is_fixed(r->from) && qnnrt__dtype_is_fixed(r->to) ? 119 : 30000) : 119;
    set_up(r, &a, "a", r->from, &dims);
    set_up(r, &b, "b", r->to, &dims);
    memset(from, 0, from_bytes + both);
    memset(to, 0, to_bytes + both);
    fill(r, from, n);
    if (qnnrt_convert_create(&a, &b, &wish, NULL, &convert, &err) != QNNRT_OK) stop(err.text);
#ifdef BENCH_XNNPACK
    op = make_peer(r, from, to, n);
    has_peer = op != NULL;
#endif
    for (round = -2; round < rounds; ++round)
        for (way = 0; way < WAYS; ++way) {
            const int turn = (way + round + 2) % WAYS;
            const double begin = now_ns();
            for (c = 0; c < calls; ++c) {
                if (turn == OURS && convert_data(convert, from, to, &err) != QNNRT_OK) stop(err.text);
                if (turn == BARE && has_bare(r)) bare(r, from, to, n);
                if (turn == COPY) memcpy(to, from, both);
#ifdef BENCH_XNNPACK
                if (turn == PEER && has_peer && xnn_run_operator(op, NULL) != xnn_status_success) stop(r->name);
#endif
            }
            if (round >= 0) ns[turn][round] = (now_ns() - begin) / calls;
        }
    lost = qnnrt_convert_get_info(convert).lost_ever;
    qnnrt_convert_free(convert);
    for (way = 0; way < WAYS; ++way) qsort(ns[way], (size_t)rounds, sizeof ns[way][0], by_value);
    printf("%-22s %8.3f %8.3f", r->name, ns[OURS][0] / (double)n, ns[OURS][rounds / 2] / (double)n);
    for (way = PEER; way < WAYS; ++way) {
        if ((way == PEER && !has_peer) || (way == BARE && !has_bare(r))) printf("  %6s %6s", "-", "-");
        else printf("  %6.2f %6.2f", ns[way][0] / ns[OURS][0], ns[way][rounds / 2] / ns[OURS][rounds / 2]);
    }
    printf("   %6.2f%s\n", (double)(from_bytes + to_bytes) / ns[OURS][rounds / 2], lost != 0 ? "   values lost" : "");
#ifdef BENCH_XNNPACK
    if (op != NULL) xnn_delete_operator(op);
#endif
    free(from);
    free(to);
}

static void measure_all(const char *title, size_t n, int calls, int rounds)
{
    size_t i;
    printf("\n%-22s %17s  %13s  %13s  %13s   %s\n", title, "ns per element", "of XNNPACK", "of a bare loop", "of memcpy", "GB/s");
    printf("%-22s %8s %8s  %6s %6s  %6s %6s  %6s %6s   %6s\n", "", "min", "median", "min", "median", "min", "median", "min", "median",
           "median");
    for (i = 0; i < sizeof rows / sizeof rows[0]; ++i) measure(&rows[i], n, calls, rounds);
}

int main(void)
{
    inverse = 1.0f / scale;
#ifdef BENCH_XNNPACK
    if (xnn_initialize(NULL) != xnn_status_success) stop("xnn_initialize");
#else
    printf("without XNNPACK: install libxnnpack-dev and libpthreadpool-dev\n");
#endif
    measure_all("in cache", 4096, 200, 101);
    measure_all("out of cache", (size_t)16 << 20, 1, 15);
    return 0;
}
