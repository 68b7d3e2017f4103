/* test_quant.c - rooms >>dtype, >>float, >>encoding and >>quant through their statics.

   The references here share no code and no method with the header: values are compared as
   integers times powers of two, quotients are found bit by bit, and a float result is right when
   the exact value lies between the midpoints to its neighbours.                             */
#define QNNRT_IMPLEMENTATION
#include "../../qnnrt.h"
#include "test.h"
#include <fenv.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/* ---- references ---------------------------------------------------------------------------- */

static uint32_t rng_state = 0x12345678u;

static uint32_t rng(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 17;
    rng_state ^= rng_state << 5;
    return rng_state;
}

static float as_float(uint32_t b) { float f; memcpy(&f, &b, 4); return f; }
static uint32_t as_bits(float f) { uint32_t b; memcpy(&b, &f, 4); return b; }

/* Compare a * 2^ea with b * 2^eb: -1, 0 or 1. */
static int ref_cmp(uint64_t a, int ea, uint64_t b, int eb)
{
    if (a == 0 || b == 0)
        return (a != 0) - (b != 0);
    const int la = __builtin_clzll(a), lb = __builtin_clzll(b);
    a <<= la;
    b <<= lb;
    ea -= la;
    eb -= lb;
    if (ea != eb)
        return ea < eb ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void ref_split(uint32_t bits, uint64_t *mant, int *exp)
{
    const int field = (int)((bits >> 23) & 255u);
    *mant = (bits & 0x7FFFFFu) | (field != 0 ? 0x800000u : 0u);
    *exp  = (field != 0 ? field : 1) - 150;
}

/* Compute round_half_even(x / scale) - offset, clamped, by a search for floor(2 |x| / scale). */
static int64_t ref_code(uint32_t x, uint32_t scale, int32_t offset, int64_t min, int64_t max)
{
    uint64_t mx, ms, twice = 0;
    int ex, es;
    int64_t q;

    if ((x & 0x7FFFFFFFu) > 0x7F800000u) {
        q = -(int64_t)offset;
        return q < min ? min : q > max ? max : q;
    }
    if ((x & 0x7FFFFFFFu) == 0x7F800000u)
        return (x >> 31) ? min : max;
    ref_split(x & 0x7FFFFFFFu, &mx, &ex);
    ref_split(scale, &ms, &es);
    for (int bit = 36; bit >= 0; --bit) {           /* twice * ms stays below 2^62 */
        const uint64_t with = twice | (uint64_t)1 << bit;
        if (ref_cmp(with * ms, es, mx, ex + 1) <= 0)
            twice = with;
    }
    q = (int64_t)(twice / 2);
    if (twice % 2 == 1 && (q % 2 == 1 || ref_cmp(twice * ms, es, mx, ex + 1) != 0))
        ++q;
    if (x >> 31)
        q = -q;
    q -= offset;
    return q < min ? min : q > max ? max : q;
}

/* Return 1 when the float is the one nearest to +-mant * 2^exp, ties to even, and zero is +0. */
static int ref_nearest(uint32_t bits, int negative, uint64_t mant, int exp)
{
    uint64_t m;
    int e, c;
    const uint32_t size = bits & 0x7FFFFFFFu;
    if (mant == 0)
        return bits == 0;
    if ((bits >> 31) != (negative ? 1u : 0u))
        return 0;
    if (size > 0x7F800000u)
        return 0;
    if (size != 0x7F800000u) {              /* not above the midpoint to the next float */
        ref_split(size, &m, &e);
        c = ref_cmp(mant, exp, 2 * m + 1, e - 1);
        if (c > 0 || (c == 0 && (size & 1u)))
            return 0;
    }
    if (size != 0) {                        /* not below the midpoint to the previous one */
        ref_split(size - 1, &m, &e);
        c = ref_cmp(mant, exp, 2 * m + 1, e - 1);
        if (c < 0 || (c == 0 && (size & 1u)))
            return 0;
    }
    return 1;
}

static int ref_real(uint32_t bits, int64_t code, int32_t offset, uint32_t scale)
{
    const int64_t steps = code + offset;
    uint64_t ms;
    int es;
    ref_split(scale, &ms, &es);
    return ref_nearest(bits, steps < 0, (uint64_t)(steps < 0 ? -steps : steps) * ms, es);
}

static qnnrt_quant per_tensor(float scale, int32_t offset)
{
    qnnrt_quant q;
    memset(&q, 0, sizeof(q));
    q.encoding = QNNRT_ENCODING_PER_TENSOR;
    q.scale = scale;
    q.offset = offset;
    return q;
}

/* The functions under test, with a tensor of these facts; quant NULL: no encoding. */
static qnnrt_tensor_info as_tensor(qnnrt_dtype dtype, const qnnrt_quant *quant, const uint32_t *dims, uint32_t rank)
{
    qnnrt_tensor_info tensor;
    memset(&tensor, 0, sizeof(tensor));
    tensor.dtype = dtype;
    tensor.dims = dims;
    tensor.rank = rank;
    if (quant != NULL)
        tensor.quant = *quant;
    return tensor;
}

static qnnrt_result write_f32(void *dst, qnnrt_dtype dtype, const qnnrt_quant *quant, const uint32_t *dims, uint32_t rank,
                              size_t begin, const float *src, size_t count)
{
    const qnnrt_tensor_info tensor = as_tensor(dtype, quant, dims, rank);
    return qnnrt__quant_values(&tensor, dst, begin, QNNRT_DTYPE_F32, (void *)(uintptr_t)src, count, 1);
}

static qnnrt_result read_f32(const void *src, qnnrt_dtype dtype, const qnnrt_quant *quant, const uint32_t *dims,
                             uint32_t rank, size_t begin, float *dst, size_t count)
{
    const qnnrt_tensor_info tensor = as_tensor(dtype, quant, dims, rank);
    return qnnrt__quant_values(&tensor, (void *)(uintptr_t)src, begin, QNNRT_DTYPE_F32, dst, count, 0);
}

static qnnrt_result write_i32(void *dst, qnnrt_dtype dtype, const qnnrt_quant *quant, const uint32_t *dims, uint32_t rank,
                              size_t begin, const int32_t *src, size_t count)
{
    const qnnrt_tensor_info tensor = as_tensor(dtype, quant, dims, rank);
    return qnnrt__quant_values(&tensor, dst, begin, QNNRT_DTYPE_I32, (void *)(uintptr_t)src, count, 1);
}

static qnnrt_result read_i32(const void *src, qnnrt_dtype dtype, const qnnrt_quant *quant, const uint32_t *dims,
                             uint32_t rank, size_t begin, int32_t *dst, size_t count)
{
    const qnnrt_tensor_info tensor = as_tensor(dtype, quant, dims, rank);
    return qnnrt__quant_values(&tensor, (void *)(uintptr_t)src, begin, QNNRT_DTYPE_I32, dst, count, 0);
}

static qnnrt_result fill_zero(void *dst, qnnrt_dtype dtype, const qnnrt_quant *quant, const uint32_t *dims, uint32_t rank)
{
    const qnnrt_tensor_info tensor = as_tensor(dtype, quant, dims, rank);
    return qnnrt__quant_fill_zero(&tensor, dst);
}

static const char *check_encoding(qnnrt_dtype dtype, const qnnrt_quant *quant, const uint32_t *dims, uint32_t rank)
{
    const qnnrt_tensor_info tensor = as_tensor(dtype, quant, dims, rank);
    return qnnrt__encoding_check(&tensor);
}

static const char *warn_encoding(qnnrt_dtype dtype, const qnnrt_quant *quant)
{
    const qnnrt_tensor_info tensor = as_tensor(dtype, quant, NULL, 0);
    return qnnrt__encoding_warn(&tensor);
}

typedef struct fixed_type {
    qnnrt_dtype dtype;
    uint32_t bits;
    int64_t min, max;
} fixed_type;

static const fixed_type fixed_types[] = {
    { QNNRT_DTYPE_U8Q,   8,      0,   255 }, { QNNRT_DTYPE_S8Q,   8,   -128,   127 },
    { QNNRT_DTYPE_U16Q, 16,      0, 65535 }, { QNNRT_DTYPE_S16Q, 16, -32768, 32767 },
    { QNNRT_DTYPE_U4Q,   4,      0,    15 }, { QNNRT_DTYPE_S4Q,   4,     -8,     7 },
    { QNNRT_DTYPE_U2Q,   2,      0,     3 }, { QNNRT_DTYPE_S2Q,   2,     -2,     1 },
    { QNNRT_DTYPE_U32Q, 32, 0, 4294967295LL },
    { QNNRT_DTYPE_S32Q, 32, -2147483647LL - 1, 2147483647LL }
};
#define FIXED_TYPES (sizeof(fixed_types) / sizeof(fixed_types[0]))

static const uint32_t scales[] = {
    0x3F800000u, 0x3DCCCCCDu, 0x3C008081u, 0x37800080u, 0x3F7FFFFFu, 0x00200001u, 0x00800000u,
    0x73000001u, 0x41200000u
};
#define SCALES (sizeof(scales) / sizeof(scales[0]))

static int64_t raw_code(const unsigned char *p, const fixed_type *t, size_t i)
{
    if (t->bits == 8)
        return t->min < 0 ? (int64_t)(int8_t)p[i] : p[i];
    if (t->bits == 16) {
        const int v = p[2 * i] | p[2 * i + 1] << 8;
        return t->min < 0 && v > 32767 ? v - 65536 : v;
    }
    if (t->bits == 32) {
        const int64_t v = (int64_t)p[4 * i] | (int64_t)p[4 * i + 1] << 8 |
                          (int64_t)p[4 * i + 2] << 16 | (int64_t)p[4 * i + 3] << 24;
        return t->min < 0 && v > 2147483647 ? v - 4294967296LL : v;
    } else {
        const int v = p[i * t->bits / 8] >> (i * t->bits % 8) & ((1 << t->bits) - 1);
        return v > t->max ? v - (1 << t->bits) : v;
    }
}

/* ---- dtype --------------------------------------------------------------------------------- */

TEST(quant_every_type_has_its_name_and_width)
{
    static const struct { unsigned code; unsigned bits; const char *name; } all[] = {
        { 0x002, 2, "int2" }, { 0x004, 4, "int4" }, { 0x008, 8, "int8" }, { 0x016, 16, "int16" },
        { 0x032, 32, "int32" }, { 0x064, 64, "int64" }, { 0x102, 2, "uint2" },
        { 0x104, 4, "uint4" }, { 0x108, 8, "uint8" }, { 0x116, 16, "uint16" },
        { 0x132, 32, "uint32" }, { 0x164, 64, "uint64" }, { 0x204, 4, "float4" },
        { 0x208, 8, "float8" }, { 0x216, 16, "float16" }, { 0x226, 16, "bfloat16" },
        { 0x232, 32, "float32" }, { 0x264, 64, "float64" }, { 0x302, 2, "sfixed2" },
        { 0x304, 4, "sfixed4" }, { 0x308, 8, "sfixed8" }, { 0x316, 16, "sfixed16" },
        { 0x332, 32, "sfixed32" }, { 0x402, 2, "ufixed2" }, { 0x404, 4, "ufixed4" },
        { 0x408, 8, "ufixed8" }, { 0x416, 16, "ufixed16" }, { 0x432, 32, "ufixed32" },
        { 0x508, 8, "bool8" }, { 0x608, 0, "string" }, { 0x7FFFFFFF, 0, "undefined" }
    };
    CHECK_EQ(sizeof(all) / sizeof(all[0]), 31);
    CHECK_EQ(sizeof(qnnrt__dtype_table) / sizeof(qnnrt__dtype_table[0]), 31);
    for (size_t i = 0; i < 31; ++i) {
        const qnnrt__dtype_info *info = qnnrt__dtype_find((qnnrt_dtype)all[i].code);
        CHECK(info != NULL);
        if (info == NULL)
            continue;
        CHECK_EQ(info->bits, all[i].bits);
        CHECK(strcmp(info->name, all[i].name) == 0);
        CHECK_EQ(qnnrt__dtype_is_fixed(info->dtype),
                 (all[i].code >> 8) == 3 || (all[i].code >> 8) == 4);
    }
    CHECK(qnnrt__dtype_find((qnnrt_dtype)0x999) == NULL);
    CHECK_STR(qnnrt_dtype_name((qnnrt_dtype)0x999), "unknown");
}

TEST(quant_bytes_are_checked_and_packed)
{
    uint64_t n = 7, bytes = 7;
    uint32_t d[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_F32, NULL, 0, &n, &bytes), QNNRT_OK);
    CHECK_EQ(n, 1);
    CHECK_EQ(bytes, 4);
    for (uint32_t k = 1; k < 70; ++k) {
        d[0] = k;
        CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_U4Q, d, 1, &n, &bytes), QNNRT_OK);
        CHECK_EQ(bytes, (k * 4 + 7) / 8);
        CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_I2, d, 1, &n, &bytes), QNNRT_OK);
        CHECK_EQ(bytes, (k * 2 + 7) / 8);
        CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_BF16, d, 1, &n, &bytes), QNNRT_OK);
        CHECK_EQ(bytes, k * 2);
        CHECK_EQ(n, k);
    }
    d[1] = 0;
    CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_F32, d, 2, &n, &bytes), QNNRT_E_ARG);
    CHECK_EQ(n, 0);
    CHECK_EQ(bytes, 0);
    d[0] = d[1] = d[2] = 0xFFFFFFFFu;
    CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_I2, d, 3, &n, &bytes), QNNRT_E_LIMIT);
    d[7] = 0;       /* a 0 is reported, whatever the dimensions before it are */
    CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_I2, d, 8, &n, &bytes), QNNRT_E_ARG);
    CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_I64, d, 2, &n, &bytes), QNNRT_E_LIMIT);
    CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_I8, NULL, 1, &n, &bytes), QNNRT_E_ARG);
    d[0] = 0x80000000u;
    CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_I8, d, 1, &n, &bytes),
             sizeof(size_t) > 4 ? QNNRT_OK : QNNRT_E_LIMIT);
    d[1] = 0x80000000u;
    d[2] = 2;       /* 2^63 fits in 64 bits, but not in half the address space */
    CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_I8, d, 3, &n, &bytes), QNNRT_E_LIMIT);
    d[0] = 0x7FFFFFFFu;
    CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_I8, d, 1, &n, &bytes), QNNRT_OK);
    CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_STRING, d, 1, &n, &bytes), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(qnnrt__dtype_bytes(QNNRT_DTYPE_UNDEFINED, d, 1, &n, &bytes), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(qnnrt__dtype_bytes((qnnrt_dtype)0x1234, d, 1, &n, &bytes), QNNRT_E_UNSUPPORTED);
}

/* ---- fixed point --------------------------------------------------------------------------- */

static unsigned char store[65536 * 4 + 64];
static float real[65536 + 64];
static int32_t whole[65536 + 64];

TEST(quant_every_code_dequantizes_exactly_and_returns)
{
    for (size_t k = 0; k < 8; ++k) {
        const fixed_type *t = &fixed_types[k];
        const uint32_t n = (uint32_t)(t->max - t->min + 1);
        for (size_t s = 0; s < SCALES; ++s) {
            const int32_t offsets[3] = { 0, (int32_t)-t->min - (int32_t)(n / 2), -37 };
            for (size_t o = 0; o < 3; ++o) {
                const qnnrt_quant q = per_tensor(as_float(scales[s]), offsets[o]);
                for (uint32_t i = 0; i < n; ++i)
                    whole[i] = (int32_t)(t->min + i);
                CHECK_EQ(write_i32(store, t->dtype, &q, &n, 1, 0, whole, n), QNNRT_OK);
                CHECK_EQ(read_f32(store, t->dtype, &q, &n, 1, 0, real, n), QNNRT_OK);
                for (uint32_t i = 0; i < n; ++i) {
                    CHECK_EQ(raw_code(store, t, i), t->min + i);
                    CHECK(ref_real(as_bits(real[i]), t->min + i, offsets[o], scales[s]));
                }
                memset(store, 0x5A, sizeof(store));
                CHECK_EQ(write_f32(store, t->dtype, &q, &n, 1, 0, real, n), QNNRT_OK);
                CHECK_EQ(read_i32(store, t->dtype, &q, &n, 1, 0, whole, n), QNNRT_OK);
                for (uint32_t i = 0; i < n; ++i)
                    CHECK_EQ(whole[i], t->min + i);
            }
        }
    }
}

/* Return a difficult value: a tie or a neighbour of it, one near or past either end, a special one,
   or any. */
static uint32_t hard_value(const fixed_type *t, uint32_t scale, int32_t offset)
{
    static const uint32_t special[] = {
        0x00000000u, 0x80000000u, 0x00000001u, 0x80000001u, 0x007FFFFFu, 0x807FFFFFu, 0x00800000u,
        0x7F7FFFFFu, 0xFF7FFFFFu, 0x7F800000u, 0xFF800000u, 0x7FC00000u, 0xFFC12345u, 0x7F800001u,
        0x3F000000u, 0xBF000000u, 0x3EFFFFFFu, 0x3F000001u, 0x3FC00000u, 0x40200000u, 0xC0200000u
    };
    const uint64_t span = (uint64_t)(t->max - t->min) + 3;
    const int64_t q = t->min - 1 + (int64_t)(((uint64_t)rng() << 16 ^ rng()) % span);
    const double real_at = (double)(q + offset) * (double)as_float(scale);
    const double half = 0.5 * (double)as_float(scale);
    const uint32_t turn = rng() % 8;
    if (turn == 0)
        return special[rng() % (sizeof(special) / sizeof(special[0]))];
    if (turn == 1)
        return rng();
    if (turn == 2 && !(real_at > FLT_MAX || real_at < -FLT_MAX))
        return as_bits((float)real_at);
    if (turn == 3)      /* a value at a tie, exact where the scale has few bits */
        return as_bits(as_float(scale) * ((float)(rng() % 512) + 0.5f));
    if (real_at + half > FLT_MAX || real_at + half < -FLT_MAX)
        return 0x7F7FFFFFu;
    return as_bits((float)(real_at + half)) + rng() % 3 - 1;
}

static void check_against_reference(uint32_t rounds)
{
    uint32_t x[71];
    for (uint32_t r = 0; r < rounds; ++r) {
        const fixed_type *t = &fixed_types[rng() % FIXED_TYPES];
        const uint32_t wide = 0x00200001u + rng() % (0x7F800000u - 0x00200001u);
        const uint32_t scale = rng() % 3 ? 0x34000000u + rng() % 0x0E000000u
                             : rng() % 2 ? scales[rng() % SCALES] : wide;
        const int64_t within = (int64_t)(rng() % (uint64_t)(t->max - t->min));
        const int32_t near_zero = (int32_t)(-t->min - within > INT32_MAX ? 0 : -t->min - within);
        const int32_t far_off = (int32_t)(rng() % 0x7FFFFFFFu) - 0x40000000;
        const int32_t offset = rng() % 4 ? near_zero : rng() % 2 ? far_off * 2 : far_off >> 7;
        const uint32_t n = 71;
        const qnnrt_quant q = per_tensor(as_float(scale), offset);
        for (uint32_t i = 0; i < n; ++i)
            x[i] = hard_value(t, scale, offset);
        memcpy(real, x, sizeof(x));
        CHECK_EQ(write_f32(store, t->dtype, &q, &n, 1, 0, real, n), QNNRT_OK);
        CHECK_EQ(read_f32(store, t->dtype, &q, &n, 1, 0, real, n), QNNRT_OK);
        for (uint32_t i = 0; i < n; ++i) {
            const int64_t code = raw_code(store, t, i);
            CHECK_EQ(code, ref_code(x[i], scale, offset, t->min, t->max));
            CHECK(ref_real(as_bits(real[i]), code, offset, scale));
        }
    }
}

TEST(quant_values_equal_exact_arithmetic)
{
    check_against_reference(20000);
}

TEST(quant_exact_ties_go_to_even)
{
    /* Every odd multiple of scale / 2 that a float holds, for scales with short mantissas. */
    static const float short_scales[] = { 1.0f, 0.5f, 3.0f, 0.75f, 5.0f / 1024, 127.0f / 65536 };
    for (size_t s = 0; s < 6; ++s) {
        const fixed_type *t = &fixed_types[2];
        const uint32_t n = 65535;
        const qnnrt_quant q = per_tensor(short_scales[s], -32768);
        uint32_t ties = 0;
        for (uint32_t i = 0; i < n; ++i)
            real[i] = ((float)i - 32767.5f) * short_scales[s];
        CHECK_EQ(write_f32(store, t->dtype, &q, &n, 1, 0, real, n), QNNRT_OK);
        for (uint32_t i = 0; i < n; ++i) {
            const int64_t up = (int64_t)i + 1;
            CHECK_EQ(raw_code(store, t, i),
                     ref_code(as_bits(real[i]), as_bits(short_scales[s]), -32768, 0, 65535));
            if ((double)real[i] == ((double)i - 32767.5) * (double)short_scales[s]) {
                ++ties;
                CHECK_EQ(raw_code(store, t, i), up % 2 == 0 ? up : up - 1);
            }
        }
        CHECK(ties > 60000);
    }
}

TEST(quant_special_values_are_as_documented)
{
    const uint32_t in[6] = { 0x7FC00000u, 0x7F800000u, 0xFF800000u, 0x80000000u, 0x00000001u,
                             0xFFFFFFFFu };
    const uint32_t n = 6;
    qnnrt_quant q = per_tensor(0.1f, -100);
    memcpy(real, in, sizeof(in));
    CHECK_EQ(write_f32(store, QNNRT_DTYPE_U8Q, &q, &n, 1, 0, real, n), QNNRT_OK);
    CHECK_EQ(store[0], 100);
    CHECK_EQ(store[1], 255);
    CHECK_EQ(store[2], 0);
    CHECK_EQ(store[3], 100);
    CHECK_EQ(store[4], 100);
    CHECK_EQ(store[5], 100);
    q.offset = 100;             /* the code of real zero would be negative */
    CHECK_EQ(write_f32(store, QNNRT_DTYPE_U8Q, &q, &n, 1, 0, real, n), QNNRT_OK);
    CHECK_EQ(store[0], 0);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_U8Q, &q, &n, 1, 0, real, n), QNNRT_OK);
    q.offset = -1;
    store[0] = 1;
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_U8Q, &q, &n, 1, 0, real, n), QNNRT_OK);
    CHECK_EQ(as_bits(real[0]), 0);
}

TEST(quant_every_length_and_misalignment_works)
{
    static const qnnrt_dtype types[] = {
        QNNRT_DTYPE_U8Q, QNNRT_DTYPE_S8Q, QNNRT_DTYPE_U16Q, QNNRT_DTYPE_S16Q, QNNRT_DTYPE_S32Q,
        QNNRT_DTYPE_F16, QNNRT_DTYPE_BF16, QNNRT_DTYPE_F32, QNNRT_DTYPE_F64, QNNRT_DTYPE_I32,
        QNNRT_DTYPE_U64, QNNRT_DTYPE_BOOL8
    };
    const qnnrt_quant q = per_tensor(0.0625f, -8);
    static unsigned char a[1024], b[1024], c[1024], expect[1024];
    float src[80], back[80];
    for (uint32_t i = 0; i < 80; ++i)
        src[i] = (float)(i % 2) + 0.0f;
    for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); ++k) {
        const size_t size = qnnrt__dtype_find(types[k])->bits / 8;
        const uint32_t dim = 80;
        CHECK_EQ(write_f32(expect, types[k], &q, &dim, 1, 0, src, 80), QNNRT_OK);
        for (uint32_t n = 0; n <= 70; ++n) {
            for (uint32_t mis = 0; mis < 16; ++mis) {
                /* Only the memory is misaligned; the pointer is formed without a typed access. */
                float *from = (float *)(void *)(b + mis), *to = (float *)(void *)(c + 15 - mis);
                memset(a, 0xA5, sizeof(a));
                memset(c, 0xA5, sizeof(c));
                memcpy(b + mis, src + 3, 4 * n);
                CHECK_EQ(write_f32(a + mis, types[k], &q, &dim, 1, 3, from, n),
                         QNNRT_OK);
                CHECK(memcmp(a + mis + 3 * size, expect + 3 * size, n * size) == 0);
                CHECK_EQ(a[mis + 3 * size + n * size], 0xA5);
                CHECK_EQ(a[mis + 3 * size - 1], 0xA5);
                CHECK_EQ(read_f32(a + mis, types[k], &q, &dim, 1, 3, to, n), QNNRT_OK);
                memcpy(back, c + 15 - mis, 4 * n);
                for (uint32_t i = 0; i < n; ++i)
                    CHECK_EQ(as_bits(back[i]), as_bits(src[i + 3]));
                CHECK_EQ(c[15 - mis + 4 * n], 0xA5);
            }
        }
    }
}

TEST(quant_every_axis_uses_its_own_scale)
{
    static const qnnrt_dtype types[] = { QNNRT_DTYPE_U8Q, QNNRT_DTYPE_S16Q, QNNRT_DTYPE_U4Q,
                                         QNNRT_DTYPE_S32Q };
    static const fixed_type *const forms[] = { &fixed_types[0], &fixed_types[3], &fixed_types[4],
                                               &fixed_types[9] };
    const uint32_t dims[4] = { 3, 5, 2, 7 };
    const uint32_t inner[4] = { 70, 14, 7, 1 };
    const uint32_t total = 210;
    float s[7];
    int32_t o[7];
    for (int32_t i = 0; i < 7; ++i) {
        s[i] = 0.013f * (float)(i + 1);
        o[i] = -3 * i;
    }
    for (size_t k = 0; k < 4; ++k) {
        for (int axis = 0; axis < 4; ++axis) {
            for (int with = 0; with < 2; ++with) {
                uint32_t x[210];
                qnnrt_quant q;
                memset(&q, 0, sizeof(q));
                q.encoding = QNNRT_ENCODING_PER_AXIS;
                q.axis = axis;
                q.count = dims[axis];
                q.scales = s;
                q.offsets = with ? o : NULL;
                for (uint32_t i = 0; i < total; ++i)
                    x[i] = as_bits((float)(int32_t)(rng() % 4001) * 0.001f - 0.5f);
                memcpy(real, x, sizeof(x));
                memset(store, 0, sizeof(store));
                /* Convert in two parts, cut anywhere. */
                {
                    const uint32_t cut = rng() % total;
                    CHECK_EQ(write_f32(store, types[k], &q, dims, 4, cut, real + cut,
                                       total - cut), QNNRT_OK);
                    CHECK_EQ(write_f32(store, types[k], &q, dims, 4, 0, real, cut),
                             QNNRT_OK);
                    CHECK_EQ(read_f32(store, types[k], &q, dims, 4, cut, real + cut,
                                      total - cut), QNNRT_OK);
                    CHECK_EQ(read_f32(store, types[k], &q, dims, 4, 0, real, cut),
                             QNNRT_OK);
                }
                for (uint32_t i = 0; i < total; ++i) {
                    const uint32_t at = i / inner[axis] % dims[axis];
                    const int32_t off = with ? o[at] : 0;
                    const int64_t code = raw_code(store, forms[k], i);
                    CHECK_EQ(code, ref_code(x[i], as_bits(s[at]), off,
                                            forms[k]->min, forms[k]->max));
                    CHECK(ref_real(as_bits(real[i]), code, off, as_bits(s[at])));
                }
                memset(store, 0x77, 1024);
                CHECK_EQ(fill_zero(store, types[k], &q, dims, 4), QNNRT_OK);
                for (uint32_t i = 0; i < total; ++i) {
                    const int64_t z = with ? -(int64_t)o[i / inner[axis] % dims[axis]] : 0;
                    CHECK_EQ(raw_code(store, forms[k], i), z > forms[k]->max ? forms[k]->max : z);
                }
                CHECK_EQ(store[total * forms[k]->bits / 8], 0x77);
            }
        }
    }
}

TEST(quant_packed_neighbours_keep_their_value)
{
    static const qnnrt_dtype ints[4] = { QNNRT_DTYPE_U4, QNNRT_DTYPE_I4, QNNRT_DTYPE_U2,
                                         QNNRT_DTYPE_I2 };
    const uint32_t dim = 41;
    const qnnrt_quant q = per_tensor(0.5f, -1);
    store[0] = 0xE4;
    store[1] = 0x1B;
    CHECK_EQ(read_i32(store, QNNRT_DTYPE_U4, NULL, &dim, 1, 0, whole, 4), QNNRT_OK);
    CHECK(whole[0] == 4 && whole[1] == 14 && whole[2] == 11 && whole[3] == 1);
    CHECK_EQ(read_i32(store, QNNRT_DTYPE_I4, NULL, &dim, 1, 0, whole, 4), QNNRT_OK);
    CHECK(whole[0] == 4 && whole[1] == -2 && whole[2] == -5 && whole[3] == 1);
    CHECK_EQ(read_i32(store, QNNRT_DTYPE_U2, NULL, &dim, 1, 0, whole, 5), QNNRT_OK);
    CHECK(whole[0] == 0 && whole[1] == 1 && whole[2] == 2 && whole[3] == 3 && whole[4] == 3);
    for (size_t k = 0; k < 4; ++k) {
        const fixed_type *t = &fixed_types[4 + k];
        for (uint32_t begin = 0; begin <= dim; ++begin) {
            for (uint32_t n = 0; n + begin <= dim; ++n) {
                const int as_int = (int)(rng() % 2);
                int64_t before[41];
                for (size_t i = 0; i < 32; ++i)
                    store[i] = (unsigned char)rng();
                for (uint32_t i = 0; i < dim; ++i)
                    before[i] = raw_code(store, t, i);
                for (uint32_t i = 0; i < n; ++i) {
                    whole[i] = (int32_t)(rng() % 40) - 20;
                    real[i] = (float)whole[i] * 0.5f;
                }
                if (as_int)
                    CHECK_EQ(write_i32(store, ints[k], NULL, &dim, 1, begin, whole, n),
                             QNNRT_OK);
                else
                    CHECK_EQ(write_f32(store, t->dtype, &q, &dim, 1, begin, real, n),
                             QNNRT_OK);
                for (uint32_t i = 0; i < dim; ++i) {
                    int64_t want = before[i];
                    if (i >= begin && i < begin + n) {
                        want = whole[i - begin] + (as_int ? 0 : 1);
                        want = want < t->min ? t->min : want > t->max ? t->max : want;
                    }
                    CHECK_EQ(raw_code(store, t, i), want);
                }
            }
        }
    }
}

TEST(quant_bitwidth_narrows_the_range)
{
    const uint32_t n = 6;
    qnnrt_quant q = per_tensor(1.0f, 0);
    const float in[6] = { -100.0f, -8.0f, -1.0f, 0.0f, 7.0f, 100.0f };
    q.bitwidth = 4;
    memcpy(real, in, sizeof(in));
    CHECK_EQ(write_f32(store, QNNRT_DTYPE_S8Q, &q, &n, 1, 0, real, n), QNNRT_OK);
    CHECK(store[0] == 0xF8 && store[1] == 0xF8 && store[2] == 0xFF);
    CHECK(store[4] == 7 && store[5] == 7);
    store[1] = 0x08;            /* padded with zeros instead of the sign */
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_S8Q, &q, &n, 1, 0, real, n), QNNRT_OK);
    CHECK(real[0] == -8.0f && real[1] == -8.0f && real[2] == -1.0f && real[5] == 7.0f);
    CHECK_EQ(read_i32(store, QNNRT_DTYPE_S8Q, &q, &n, 1, 0, whole, n), QNNRT_OK);
    CHECK(whole[0] == -8 && whole[1] == -8 && whole[2] == -1 && whole[5] == 7);
    whole[0] = 99;
    CHECK_EQ(write_i32(store, QNNRT_DTYPE_U16Q, &q, &n, 1, 0, whole, n), QNNRT_OK);
    CHECK_EQ(raw_code(store, &fixed_types[2], 0), 15);
    CHECK_EQ(raw_code(store, &fixed_types[2], 1), 0);
    q.offset = -99;
    CHECK_EQ(fill_zero(store, QNNRT_DTYPE_S8Q, &q, &n, 1), QNNRT_OK);
    CHECK(store[0] == 7 && store[5] == 7);
    q.bitwidth = 32;
    CHECK(check_encoding(QNNRT_DTYPE_S32Q, &q, &n, 1) == NULL);
    q.bitwidth = 33;
    CHECK_STR(check_encoding(QNNRT_DTYPE_S32Q, &q, &n, 1), "bitwidth");
    CHECK_EQ(read_i32(store, QNNRT_DTYPE_S32Q, &q, &n, 1, 0, whole, n), QNNRT_E_ARG);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_S32Q, &q, &n, 1, 0, real, n), QNNRT_E_ARG);
}

/* ---- floats -------------------------------------------------------------------------------- */

/* Return |half| in units of 2^-24, for finite ones. */
static uint64_t ref_half(uint32_t h)
{
    const uint32_t field = (h >> 10) & 31u, mant = h & 1023u;
    return field == 0 ? mant : (uint64_t)(mant | 1024u) << (field - 1u);
}

static void check_half_midpoints(void)
{
    /* Between consecutive halves: the midpoint and the floats on both sides of it. */
    const uint32_t n = 6;
    for (uint32_t h = 0; h < 0x7C00u; ++h) {
        const uint64_t mid = ref_half(h) + (h == 0x7BFFu ? (uint64_t)65536 << 24 : ref_half(h + 1));
        const float m = (float)(int64_t)mid * (1.0f / 33554432.0f);       /* 12 bits, exact */
        const uint32_t b = as_bits(m), even = h % 2 == 0 ? h : h + 1;
        const uint32_t in[6] = { b - 1, b, b + 1, (b - 1) | 0x80000000u, b | 0x80000000u,
                                 (b + 1) | 0x80000000u };
        uint16_t out[6];
        memcpy(real, in, sizeof(in));
        CHECK_EQ(write_f32(store, QNNRT_DTYPE_F16, NULL, &n, 1, 0, real, n), QNNRT_OK);
        memcpy(out, store, sizeof(out));
        CHECK_EQ(out[0], h);
        CHECK_EQ(out[1], even);
        CHECK_EQ(out[2], h + 1);
        CHECK_EQ(out[3], h | 0x8000u);
        CHECK_EQ(out[4], even | 0x8000u);
        CHECK_EQ(out[5], (h + 1) | 0x8000u);
    }
}

/* As large as the widest type needs, because a compiler that inlines deeply warns about paths that
   are never taken. */
static uint16_t halves[65536 * 4];

TEST(quant_every_half_converts_both_ways)
{
    const uint32_t n = 65536;
    for (uint32_t h = 0; h < n; ++h)
        halves[h] = (uint16_t)h;
    CHECK_EQ(read_f32(halves, QNNRT_DTYPE_F16, NULL, &n, 1, 0, real, n), QNNRT_OK);
    for (uint32_t h = 0; h < n; ++h) {
        const uint32_t b = as_bits(real[h]);
        CHECK_EQ(b >> 31, h >> 15);
        if ((h & 0x7FFFu) > 0x7C00u) {
            CHECK((b & 0x7FC00000u) == 0x7FC00000u);
        } else if ((h & 0x7FFFu) == 0x7C00u) {
            CHECK_EQ(b & 0x7FFFFFFFu, 0x7F800000u);
        } else {
            uint64_t m;
            int e;
            ref_split(b & 0x7FFFFFFFu, &m, &e);
            CHECK_EQ(ref_cmp(m, e, ref_half(h & 0x7FFFu), -24), 0);
        }
    }
    CHECK_EQ(write_f32(halves, QNNRT_DTYPE_F16, NULL, &n, 1, 0, real, n), QNNRT_OK);
    for (uint32_t h = 0; h < n; ++h)
        CHECK_EQ(halves[h], (h & 0x7FFFu) > 0x7C00u ? h | 0x0200u : h);
    check_half_midpoints();
}

TEST(quant_half_extremes_are_ieee)
{
    static const struct { uint32_t f; uint16_t h, bf; } c[] = {
        { 0x7F7FFFFFu, 0x7C00, 0x7F80 }, { 0xFF7FFFFFu, 0xFC00, 0xFF80 },
        { 0x477FEFFFu, 0x7BFF, 0x4780 }, { 0x477FF000u, 0x7C00, 0x4780 },
        { 0x00000001u, 0x0000, 0x0000 }, { 0x80000001u, 0x8000, 0x8000 },
        { 0x7F800001u, 0x7E00, 0x7FC0 }, { 0xFFFFFFFFu, 0xFFFF, 0xFFFF },
        { 0x7F800000u, 0x7C00, 0x7F80 }, { 0x33000000u, 0x0000, 0x3300 },
        { 0x33000001u, 0x0001, 0x3300 }, { 0x3F808000u, 0x3C04, 0x3F80 },
        { 0x3F818000u, 0x3C0C, 0x3F82 }, { 0x00008000u, 0x0000, 0x0000 },
        { 0x00018000u, 0x0000, 0x0002 }, { 0x00008001u, 0x0000, 0x0001 }
    };
    const uint32_t n = 1;
    for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); ++i) {
        uint16_t h = 0, bf = 0;
        memcpy(real, &c[i].f, 4);
        CHECK_EQ(write_f32(store, QNNRT_DTYPE_F16, NULL, &n, 1, 0, real, 1), QNNRT_OK);
        memcpy(&h, store, sizeof(h));
        CHECK_EQ(write_f32(store, QNNRT_DTYPE_BF16, NULL, &n, 1, 0, real, 1),
                 QNNRT_OK);
        memcpy(&bf, store, sizeof(bf));
        CHECK_EQ(h, c[i].h);
        CHECK_EQ(bf, c[i].bf);
    }
}

TEST(quant_every_bfloat_returns_and_rounds_to_even)
{
    const uint32_t n = 65536, one = 1;
    for (uint32_t h = 0; h < n; ++h)
        halves[h] = (uint16_t)h;
    CHECK_EQ(read_f32(halves, QNNRT_DTYPE_BF16, NULL, &n, 1, 0, real, n), QNNRT_OK);
    for (uint32_t h = 0; h < n; ++h)
        CHECK_EQ(as_bits(real[h]), (h & 0x7FFFu) > 0x7F80u ? (h | 0x40u) << 16 : h << 16);
    CHECK_EQ(write_f32(halves, QNNRT_DTYPE_BF16, NULL, &n, 1, 0, real, n), QNNRT_OK);
    for (uint32_t h = 0; h < n; ++h)
        CHECK_EQ(halves[h], (h & 0x7FFFu) > 0x7F80u ? h | 0x40u : h);
    for (uint32_t h = 0; h < 0x7F80u; ++h) {
        const uint32_t in[3] = { h << 16 | 0x7FFFu, h << 16 | 0x8000u, h << 16 | 0x8001u };
        const uint32_t want[3] = { h, h + h % 2, h + 1 };
        for (int i = 0; i < 3; ++i) {
            uint16_t out;
            memcpy(real, &in[i], 4);
            CHECK_EQ(write_f32(store, QNNRT_DTYPE_BF16, NULL, &one, 1, 0, real, 1),
                     QNNRT_OK);
            memcpy(&out, store, sizeof(out));
            CHECK_EQ(out, want[i]);
        }
    }
}

static void check_doubles(uint32_t rounds)
{
    const uint32_t n = 1;
    for (uint32_t r = 0; r < rounds; ++r) {
        uint32_t b = rng();
        uint64_t d = 0;
        float f = as_float(b), back;
        CHECK_EQ(write_f32(&d, QNNRT_DTYPE_F64, NULL, &n, 1, 0, &f, 1), QNNRT_OK);
        CHECK_EQ(read_f32(&d, QNNRT_DTYPE_F64, NULL, &n, 1, 0, &back, 1), QNNRT_OK);
        CHECK_EQ(as_bits(back), (b & 0x7FFFFFFFu) > 0x7F800000u ? b | 0x00400000u : b);
        /* Any double near the range of float, denormal results and ties among them. */
        d = ((uint64_t)rng() << 32 | rng()) & 0x800FFFFFFFFFFFFFu;
        if (rng() % 2)
            d &= ~(uint64_t)0x1FFFFFFF;
        if (rng() % 2)
            d |= 0x10000000u;
        d |= (uint64_t)(1023 - 152 + rng() % 285) << 52;
        CHECK_EQ(read_f32(&d, QNNRT_DTYPE_F64, NULL, &n, 1, 0, &back, 1), QNNRT_OK);
        {
            const uint64_t m = (d & 0xFFFFFFFFFFFFFu) | 0x10000000000000u;
            const int e = (int)(d >> 52 & 2047) - 1075;
            CHECK(ref_nearest(as_bits(back), (int)(d >> 63), m, e));
        }
    }
}

TEST(quant_doubles_round_to_the_nearest_float)
{
    static const struct { uint64_t d; uint32_t f; } c[] = {
        { 0x0000000000000000u, 0x00000000u }, { 0x8000000000000000u, 0x80000000u },
        { 0x8000000000000001u, 0x80000000u }, { 0x7FF0000000000000u, 0x7F800000u },
        { 0xFFF0000000000000u, 0xFF800000u }, { 0x7FF0000000000001u, 0x7FC00000u },
        { 0xFFF8000000000000u, 0xFFC00000u }, { 0x7FEFFFFFFFFFFFFFu, 0x7F800000u },
        { 0x47EFFFFFEFFFFFFFu, 0x7F7FFFFFu }, { 0x47EFFFFFF0000000u, 0x7F800000u },
        { 0x3690000000000000u, 0x00000000u }, { 0x3690000000000001u, 0x00000001u }
    };
    const uint32_t n = 1;
    for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); ++i) {
        float f;
        CHECK_EQ(read_f32(&c[i].d, QNNRT_DTYPE_F64, NULL, &n, 1, 0, &f, 1), QNNRT_OK);
        CHECK_EQ(as_bits(f), c[i].f);
    }
    check_doubles(200000);
}

TEST(quant_float32_is_copied_bit_for_bit)
{
    const uint32_t n = 4, in[4] = { 0x7F800001u, 0xFFFFFFFFu, 0x80000000u, 0x00000001u };
    uint32_t out[4];
    memcpy(real, in, sizeof(in));
    CHECK_EQ(write_f32(store, QNNRT_DTYPE_F32, NULL, &n, 1, 0, real, 4), QNNRT_OK);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_F32, NULL, &n, 1, 0, real, 4), QNNRT_OK);
    memcpy(out, real, sizeof(out));
    CHECK(memcmp(in, out, sizeof(in)) == 0);
}

/* ---- integers ------------------------------------------------------------------------------ */

static void check_integers(uint32_t rounds)
{
    static const struct { qnnrt_dtype dtype; uint32_t bits; int sign; } types[] = {
        { QNNRT_DTYPE_I2, 2, 1 }, { QNNRT_DTYPE_I4, 4, 1 }, { QNNRT_DTYPE_I8, 8, 1 },
        { QNNRT_DTYPE_I16, 16, 1 }, { QNNRT_DTYPE_I32, 32, 1 }, { QNNRT_DTYPE_I64, 64, 1 },
        { QNNRT_DTYPE_U2, 2, 0 }, { QNNRT_DTYPE_U4, 4, 0 }, { QNNRT_DTYPE_U8, 8, 0 },
        { QNNRT_DTYPE_U16, 16, 0 }, { QNNRT_DTYPE_U32, 32, 0 }, { QNNRT_DTYPE_U64, 64, 0 }
    };
    const uint32_t n = 1;
    for (uint32_t r = 0; r < rounds; ++r) {
        const size_t k = rng() % 12;
        const uint32_t bits = types[k].bits;
        const uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
        uint64_t raw = ((uint64_t)rng() << 32 | rng()) >> (rng() % 40) & mask, got = 0, size, most;
        int negative = types[k].sign && (raw >> (bits - 1)) != 0;
        uint32_t b;
        float f;

        /* A read gives the nearest float. */
        CHECK_EQ(read_f32(&raw, types[k].dtype, NULL, &n, 1, 0, &f, 1), QNNRT_OK);
        size = negative ? (~raw & mask) + 1 : raw;
        CHECK(ref_nearest(as_bits(f), negative, size, 0));

        /* A write rounds halves to even, and clamps; the reference works without 128-bit
           numbers. */
        b = rng() % 8 == 0 ? rng() : (rng() & 0x807FFFFFu) | (0x3E800000u + (rng() % 70u << 23));
        if (rng() % 4 == 0)
            b &= 0xFFFF0000u;
        memcpy(&f, &b, 4);
        CHECK_EQ(write_f32(&got, types[k].dtype, NULL, &n, 1, 0, &f, 1), QNNRT_OK);
        negative = (int)(b >> 31);
        most = negative ? (types[k].sign ? (uint64_t)1 << (bits - 1) : 0)
                        : (types[k].sign ? mask >> 1 : mask);
        if ((b & 0x7FFFFFFFu) > 0x7F800000u) {
            size = 0;
        } else {
            uint64_t m, twice = 0;
            int e;
            ref_split(b & 0x7FFFFFFFu, &m, &e);
            if (ref_cmp(m, e, 1, 62) >= 0) {        /* the float is a whole number */
                size = ref_cmp(m, e, 1, 64) >= 0 ? UINT64_MAX : m << e;
            } else {
                for (int bit = 63; bit >= 0; --bit)
                    if (ref_cmp(twice | (uint64_t)1 << bit, -1, m, e) <= 0)
                        twice |= (uint64_t)1 << bit;
                size = twice / 2;
                if (twice % 2 && (size % 2 || ref_cmp(twice, -1, m, e) != 0))
                    ++size;
            }
        }
        size = size > most ? most : size;
        CHECK_EQ(got & mask, (negative ? 0 - size : size) & mask);
    }
}

TEST(quant_integers_round_and_saturate)
{
    check_integers(300000);
}

TEST(quant_i32_access_clamps_and_keeps_values)
{
    const uint32_t n = 4;
    const int32_t in[4] = { INT32_MIN, -1, 300, INT32_MAX };
    static const struct { qnnrt_dtype dtype; int32_t want[4]; } c[] = {
        { QNNRT_DTYPE_I8,    { -128, -1, 127, 127 } },
        { QNNRT_DTYPE_U8,    { 0, 0, 255, 255 } },
        { QNNRT_DTYPE_I16,   { -32768, -1, 300, 32767 } },
        { QNNRT_DTYPE_U16,   { 0, 0, 300, 65535 } },
        { QNNRT_DTYPE_I32,   { INT32_MIN, -1, 300, INT32_MAX } },
        { QNNRT_DTYPE_U32,   { 0, 0, 300, INT32_MAX } },
        { QNNRT_DTYPE_I64,   { INT32_MIN, -1, 300, INT32_MAX } },
        { QNNRT_DTYPE_U64,   { 0, 0, 300, INT32_MAX } },
        { QNNRT_DTYPE_S32Q,  { INT32_MIN, -1, 300, INT32_MAX } },
        { QNNRT_DTYPE_U4Q,   { 0, 0, 15, 15 } },
        { QNNRT_DTYPE_BOOL8, { 1, 1, 1, 1 } }
    };
    const uint64_t big[2] = { UINT64_MAX, (uint64_t)1 << 63 };
    for (size_t k = 0; k < sizeof(c) / sizeof(c[0]); ++k) {
        CHECK_EQ(write_i32(store, c[k].dtype, NULL, &n, 1, 0, in, 4), QNNRT_OK);
        CHECK_EQ(read_i32(store, c[k].dtype, NULL, &n, 1, 0, whole, 4), QNNRT_OK);
        for (int i = 0; i < 4; ++i)
            CHECK_EQ(whole[i], c[k].want[i]);
    }
    CHECK_EQ(read_i32(big, QNNRT_DTYPE_U64, NULL, &n, 1, 0, whole, 2), QNNRT_OK);
    CHECK(whole[0] == INT32_MAX && whole[1] == INT32_MAX);
    CHECK_EQ(read_i32(big, QNNRT_DTYPE_I64, NULL, &n, 1, 0, whole, 2), QNNRT_OK);
    CHECK(whole[0] == -1 && whole[1] == INT32_MIN);
    CHECK_EQ(read_i32(store, QNNRT_DTYPE_F32, NULL, &n, 1, 0, whole, 4),
             QNNRT_E_UNSUPPORTED);
    CHECK_EQ(write_i32(store, QNNRT_DTYPE_F16, NULL, &n, 1, 0, in, 4),
             QNNRT_E_UNSUPPORTED);
    CHECK_EQ(write_i32(store, QNNRT_DTYPE_F8, NULL, &n, 1, 0, in, 4),
             QNNRT_E_UNSUPPORTED);
}

TEST(quant_bool_is_zero_or_not)
{
    const uint32_t n = 6, in[6] = { 0, 0x80000000u, 1, 0x7FC00000u, 0x3F800000u, 0xFF800000u };
    memcpy(real, in, sizeof(in));
    CHECK_EQ(write_f32(store, QNNRT_DTYPE_BOOL8, NULL, &n, 1, 0, real, n), QNNRT_OK);
    CHECK(store[0] == 0 && store[1] == 0 && store[2] == 1);
    CHECK(store[3] == 1 && store[4] == 1 && store[5] == 1);
    store[5] = 0xFE;
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_BOOL8, NULL, &n, 1, 0, real, n), QNNRT_OK);
    CHECK(real[0] == 0.0f && real[2] == 1.0f && real[5] == 1.0f);
    CHECK_EQ(read_i32(store, QNNRT_DTYPE_BOOL8, NULL, &n, 1, 0, whole, n), QNNRT_OK);
    CHECK(whole[0] == 0 && whole[5] == 1);
}

/* ---- surroundings -------------------------------------------------------------------------- */

TEST(quant_rounding_mode_changes_nothing)
{
    static const int modes[] = {
#ifdef FE_UPWARD
        FE_UPWARD,
#endif
#ifdef FE_DOWNWARD
        FE_DOWNWARD,
#endif
#ifdef FE_TOWARDZERO
        FE_TOWARDZERO,
#endif
        FE_TONEAREST
    };
    const int before = fegetround();
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); ++i) {
        if (fesetround(modes[i]) != 0)
            continue;
        check_against_reference(1500);
        check_half_midpoints();
        check_doubles(3000);
        check_integers(20000);
    }
    fesetround(before);
}

TEST(quant_flush_to_zero_changes_nothing)
{
#if defined(__SSE2__)
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040u);
    check_against_reference(1500);
    check_half_midpoints();
    check_doubles(3000);
    check_integers(20000);
    _mm_setcsr(before);
#elif defined(__aarch64__)
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | ((uint64_t)1 << 24)));
    check_against_reference(1500);
    check_half_midpoints();
    check_doubles(3000);
    check_integers(20000);
    __asm__ volatile("msr fpcr, %0" : : "r"(before));
#else
    SKIP("no flush-to-zero on this machine");
#endif
}

TEST(quant_zero_fill_writes_real_zero)
{
    for (size_t k = 0; k < FIXED_TYPES; ++k) {
        const fixed_type *t = &fixed_types[k];
        static const int32_t offsets[] = { 0, -3, 5, -100000, 100000, INT32_MAX, INT32_MIN };
        for (size_t o = 0; o < 7; ++o) {
            for (uint32_t n = 1; n < 40; ++n) {
                const qnnrt_quant q = per_tensor(0.5f, offsets[o]);
                const size_t bytes = (n * t->bits + 7) / 8;
                int64_t z = -(int64_t)offsets[o];
                z = z < t->min ? t->min : z > t->max ? t->max : z;
                memset(store, 0xEE, 256);
                CHECK_EQ(fill_zero(store, t->dtype, &q, &n, 1), QNNRT_OK);
                for (uint32_t i = 0; i < n; ++i)
                    CHECK_EQ(raw_code(store, t, i), z);
                CHECK_EQ(store[bytes], 0xEE);
                if (t->bits < 8 && n * t->bits % 8 != 0)
                    CHECK_EQ(store[bytes - 1] >> (n * t->bits % 8), 0);
            }
        }
    }
    {
        const uint32_t n = 9;
        qnnrt_quant q = per_tensor(1.0f, -7);
        memset(store, 0xEE, 256);
        CHECK_EQ(fill_zero(store, QNNRT_DTYPE_F16, &q, &n, 1), QNNRT_OK);
        CHECK(store[0] == 0 && store[17] == 0 && store[18] == 0xEE);
        CHECK_EQ(fill_zero(store, QNNRT_DTYPE_U8Q, NULL, &n, 1), QNNRT_OK);
        CHECK_EQ(store[0], 0);
        q.encoding = QNNRT_ENCODING_OTHER;
        CHECK_EQ(fill_zero(store, QNNRT_DTYPE_U8Q, &q, &n, 1), QNNRT_E_UNSUPPORTED);
        CHECK_EQ(fill_zero(store, QNNRT_DTYPE_STRING, &q, &n, 1), QNNRT_E_UNSUPPORTED);
        CHECK_EQ(fill_zero(NULL, QNNRT_DTYPE_U8Q, NULL, &n, 1), QNNRT_E_ARG);
    }
}

TEST(quant_access_outside_the_shape_is_refused)
{
    const uint32_t dims[2] = { 3, 4 };
    const qnnrt_quant q = per_tensor(1.0f, 0);
    qnnrt_quant other = q;
    other.encoding = QNNRT_ENCODING_OTHER;
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_U8Q, &q, dims, 2, 0, real, 12), QNNRT_OK);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_U8Q, &q, dims, 2, 12, real, 0), QNNRT_OK);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_U8Q, &q, dims, 2, 1, real, 12), QNNRT_E_ARG);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_U8Q, &q, dims, 2, 13, real, 0), QNNRT_E_ARG);
    CHECK_EQ(write_f32(store, QNNRT_DTYPE_U8Q, &q, dims, 2, SIZE_MAX, real, 2),
             QNNRT_E_ARG);
    CHECK_EQ(write_f32(store, QNNRT_DTYPE_U8Q, &q, dims, 2, 2, real, SIZE_MAX),
             QNNRT_E_ARG);
    CHECK_EQ(write_i32(store, QNNRT_DTYPE_I32, &q, dims, 2, 11, whole, 2),
             QNNRT_E_ARG);
    CHECK_EQ(read_i32(store, QNNRT_DTYPE_I32, &q, dims, 2, 0, NULL, 2), QNNRT_E_ARG);
    CHECK_EQ(read_i32(store, QNNRT_DTYPE_I32, &q, dims, 2, 0, NULL, 0), QNNRT_OK);
    CHECK_EQ(write_i32(NULL, QNNRT_DTYPE_I32, &q, dims, 2, 0, whole, 2), QNNRT_E_ARG);
    CHECK_EQ(write_i32(store, QNNRT_DTYPE_I32, &q, dims, 2, 0, NULL, 2), QNNRT_E_ARG);
    CHECK_EQ(read_f32(NULL, QNNRT_DTYPE_U8Q, &q, dims, 2, 0, real, 2), QNNRT_E_ARG);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_U8Q, &q, dims, 2, 0, NULL, 2), QNNRT_E_ARG);
    CHECK_EQ(write_f32(NULL, QNNRT_DTYPE_U8Q, &q, dims, 2, 0, real, 2), QNNRT_E_ARG);
    CHECK_EQ(read_i32(NULL, QNNRT_DTYPE_I32, &q, dims, 2, 0, whole, 2), QNNRT_E_ARG);
    CHECK_EQ(write_f32(store, QNNRT_DTYPE_F32, &q, dims, 2, 0, NULL, 2), QNNRT_E_ARG);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_F32, NULL, NULL, 0, 0, real, 1), QNNRT_OK);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_U8Q, &other, dims, 2, 0, real, 1),
             QNNRT_E_UNSUPPORTED);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_U8Q, NULL, dims, 2, 0, real, 1),
             QNNRT_E_UNSUPPORTED);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_F4, NULL, dims, 2, 0, real, 1),
             QNNRT_E_UNSUPPORTED);
    CHECK_EQ(write_f32(store, QNNRT_DTYPE_F8, NULL, dims, 2, 0, real, 1),
             QNNRT_E_UNSUPPORTED);
    CHECK_EQ(read_f32(store, QNNRT_DTYPE_STRING, NULL, dims, 2, 0, real, 1),
             QNNRT_E_UNSUPPORTED);
    CHECK_EQ(read_i32(store, QNNRT_DTYPE_U8Q, &other, dims, 2, 0, whole, 1), QNNRT_OK);
}

TEST(quant_check_names_what_is_wrong)
{
    static const uint32_t bad[] = { 0, 0x80000000u, 0xBF800000u, 0x7F800000u, 0xFF800000u,
                                    0x7FC00000u, 1, 0x00200000u };
    const uint32_t dims[2] = { 2, 3 };
    const float s[3] = { 1.0f, 0.5f, 0.25f };
    float broken[3] = { 1.0f, 0.0f, 1.0f };
    qnnrt_quant q = per_tensor(1.0f, 0), a;
    CHECK(check_encoding(QNNRT_DTYPE_U8Q, &q, dims, 2) == NULL);
    CHECK(check_encoding(QNNRT_DTYPE_U8Q, NULL, dims, 2) == NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        q.scale = as_float(bad[i]);
        CHECK_STR(check_encoding(QNNRT_DTYPE_U8Q, &q, dims, 2), "scale");
        CHECK(check_encoding(QNNRT_DTYPE_F32, &q, dims, 2) == NULL);
        CHECK_EQ(write_f32(store, QNNRT_DTYPE_U8Q, &q, dims, 2, 0, real, 1),
                 QNNRT_E_ARG);
        CHECK_EQ(fill_zero(store, QNNRT_DTYPE_U8Q, &q, dims, 2), QNNRT_E_ARG);
    }
    q.scale = as_float(0x00200001u);
    CHECK(check_encoding(QNNRT_DTYPE_U8Q, &q, dims, 2) == NULL);
    q.scale = FLT_MAX;
    CHECK(check_encoding(QNNRT_DTYPE_U8Q, &q, dims, 2) == NULL);

    memset(&a, 0, sizeof(a));
    a.encoding = QNNRT_ENCODING_PER_AXIS;
    a.axis = 1;
    a.count = 3;
    a.scales = s;
    CHECK(check_encoding(QNNRT_DTYPE_S8Q, &a, dims, 2) == NULL);
    a.axis = 2;
    CHECK_STR(check_encoding(QNNRT_DTYPE_S8Q, &a, dims, 2), "axis is outside");
    a.axis = -1;
    CHECK_STR(check_encoding(QNNRT_DTYPE_S8Q, &a, dims, 2), "axis is outside");
    a.axis = 0;
    CHECK_STR(check_encoding(QNNRT_DTYPE_S8Q, &a, dims, 2), "number of scales");
    a.axis = 1;
    a.scales = NULL;
    CHECK_STR(check_encoding(QNNRT_DTYPE_S8Q, &a, dims, 2), "missing");
    a.scales = broken;
    CHECK_STR(check_encoding(QNNRT_DTYPE_S8Q, &a, dims, 2), "a scale of the axis");
    CHECK_STR(check_encoding((qnnrt_dtype)0x77, &a, dims, 2), "unknown data type");
    CHECK_STR(check_encoding(QNNRT_DTYPE_S8Q, &a, NULL, 2), "axis is outside");
    a.encoding = (qnnrt_encoding)99;
    CHECK_STR(check_encoding(QNNRT_DTYPE_S8Q, &a, dims, 2), "unknown encoding");
    a.encoding = QNNRT_ENCODING_OTHER;
    CHECK(check_encoding(QNNRT_DTYPE_S8Q, &a, dims, 2) == NULL);
    CHECK(warn_encoding((qnnrt_dtype)0x77, &a) == NULL);
}

TEST(quant_warn_names_what_is_odd)
{
    const int32_t offsets[3] = { 0, -128, 1 };
    qnnrt_quant q = per_tensor(1.0f, -128), a;
    CHECK(warn_encoding(QNNRT_DTYPE_U8Q, &q) == NULL);
    CHECK_STR(warn_encoding(QNNRT_DTYPE_F32, &q), "has none");
    CHECK(warn_encoding(QNNRT_DTYPE_F32, NULL) == NULL);
    CHECK_STR(warn_encoding(QNNRT_DTYPE_U8Q, NULL), "without an encoding");
    CHECK_STR(warn_encoding(QNNRT_DTYPE_S8Q, &q), "saturates");
    q.offset = 127;
    CHECK(warn_encoding(QNNRT_DTYPE_S8Q, &q) == NULL);
    q.bitwidth = 4;
    CHECK_STR(warn_encoding(QNNRT_DTYPE_S8Q, &q), "saturates");
    q.encoding = QNNRT_ENCODING_OTHER;
    CHECK_STR(warn_encoding(QNNRT_DTYPE_S8Q, &q), "not converted");
    memset(&a, 0, sizeof(a));
    a.encoding = QNNRT_ENCODING_PER_AXIS;
    a.count = 3;
    CHECK(warn_encoding(QNNRT_DTYPE_U8Q, &a) == NULL);
    a.offsets = offsets;
    CHECK_STR(warn_encoding(QNNRT_DTYPE_U8Q, &a), "saturates");
}

/* Codes of 8 and 16 bits are floats from 2^23 on while the offset is near 0: at the ends of that, and beyond. A zero has no
   sign, whatever the unit rounds to. */
TEST(quant_offsets_of_any_size_read_exactly)
{
    static const int32_t offsets[] = { 4194303, 4194304, 4194305, 8388607, 8388608, 16711680, 16777216, 16777217, 2147483647 };
    static const uint32_t sizes[] = { 0x3F800000u, 0x3C23D70Au, 0x00800001u, 0x71FFFFFFu };
    enum { N = 67 };
    const uint32_t n = N;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); ++i)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s)
            for (int is_signed = 0; is_signed < 2; ++is_signed)
                for (int less = 0; less < 2; ++less) {
                    const int32_t offset = less ? -offsets[i] : offsets[i];
                    const qnnrt_quant q = per_tensor(as_float(sizes[s]), offset);
                    const qnnrt_tensor_info tensor = as_tensor(is_signed ? QNNRT_DTYPE_S16Q : QNNRT_DTYPE_U16Q, &q, &n, 1);
                    uint16_t codes[N];
                    float values[N];
                    for (size_t k = 0; k < N; ++k) codes[k] = (uint16_t)(k * 993u + (k % 3 == 0 ? 0u : 65535u));
                    codes[1] = is_signed ? 0x8000u : 0u;
                    codes[2] = is_signed ? 0x7FFFu : 0xFFFFu;
                    CHECK_EQ(qnnrt__quant_values(&tensor, (void *)(uintptr_t)codes, 0, QNNRT_DTYPE_F32, values, N, 0), QNNRT_OK);
                    for (size_t k = 0; k < N; ++k) {
                        const double code = is_signed ? (double)(int16_t)codes[k] : (double)codes[k];
                        const float exact = (float)((code + offset) * (double)as_float(sizes[s]));
                        CHECK_EQ(memcmp(&values[k], &exact, 4), 0);
                    }
                }
#ifdef FE_DOWNWARD
    const int before = fegetround();
    const qnnrt_quant q = per_tensor(0.5f, -32768);
    const qnnrt_dtype types[] = { QNNRT_DTYPE_U16Q, QNNRT_DTYPE_U16, QNNRT_DTYPE_I16, QNNRT_DTYPE_U8, QNNRT_DTYPE_I8 };
    if (fesetround(FE_DOWNWARD) != 0) return;
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); ++t) {
        const qnnrt_tensor_info tensor = as_tensor(types[t], &q, &n, 1);
        uint16_t codes[N] = { 0 };
        float values[N];
        for (size_t k = 0; k < N && t == 0; ++k) codes[k] = 32768;
        memset(values, 0xFF, sizeof values);
        CHECK_EQ(qnnrt__quant_values(&tensor, (void *)(uintptr_t)codes, 0, QNNRT_DTYPE_F32, values, N, 0), QNNRT_OK);
        for (size_t k = 0; k < N; ++k) {
            uint32_t bits;
            memcpy(&bits, &values[k], 4);
            CHECK_EQ(bits, 0);
        }
    }
    fesetround(before);
#endif
}

/* Lines of oracle_quant.py: type, scale bits, offset, x bits, code. */
TEST(quant_agrees_with_exact_fractions)
{
    const char *path = getenv("QNNRT_ORACLE");
    FILE *file;
    char name[32];
    unsigned scale, x;
    long long code, wide;
    size_t lines = 0;
    if (path == NULL)
        SKIP("QNNRT_ORACLE does not name the table");
    file = fopen(path, "r");
    CHECK(file != NULL);
    if (file == NULL)
        return;
    while (fscanf(file, "%31s %x %lld %x %lld", name, &scale, &wide, &x, &code) == 5) {
        const int32_t offset = (int32_t)wide;
        CHECK_EQ(offset, wide);
        for (size_t k = 0; k < FIXED_TYPES; ++k) {
            const fixed_type *t = &fixed_types[k];
            const uint32_t n = 3;
            if (strcmp(qnnrt_dtype_name(t->dtype), name) == 0) {
                const qnnrt_quant q = per_tensor(as_float(scale), offset);
                memcpy(real, &x, 4);
                CHECK_EQ(write_f32(store, t->dtype, &q, &n, 1, 1, real, 1), QNNRT_OK);
                CHECK_EQ(raw_code(store, t, 1), code);
                ++lines;
            }
        }
    }
    fclose(file);
    CHECK(lines > 1000);
}

TEST_MAIN("quant")
{
    RUN(quant_every_type_has_its_name_and_width);
    RUN(quant_bytes_are_checked_and_packed);
    RUN(quant_every_code_dequantizes_exactly_and_returns);
    RUN(quant_values_equal_exact_arithmetic);
    RUN(quant_exact_ties_go_to_even);
    RUN(quant_special_values_are_as_documented);
    RUN(quant_every_length_and_misalignment_works);
    RUN(quant_every_axis_uses_its_own_scale);
    RUN(quant_packed_neighbours_keep_their_value);
    RUN(quant_bitwidth_narrows_the_range);
    RUN(quant_every_half_converts_both_ways);
    RUN(quant_half_extremes_are_ieee);
    RUN(quant_every_bfloat_returns_and_rounds_to_even);
    RUN(quant_doubles_round_to_the_nearest_float);
    RUN(quant_float32_is_copied_bit_for_bit);
    RUN(quant_integers_round_and_saturate);
    RUN(quant_i32_access_clamps_and_keeps_values);
    RUN(quant_bool_is_zero_or_not);
    RUN(quant_offsets_of_any_size_read_exactly);
    RUN(quant_rounding_mode_changes_nothing);
    RUN(quant_flush_to_zero_changes_nothing);
    RUN(quant_zero_fill_writes_real_zero);
    RUN(quant_access_outside_the_shape_is_refused);
    RUN(quant_check_names_what_is_wrong);
    RUN(quant_warn_names_what_is_odd);
    RUN(quant_agrees_with_exact_fractions);
}
