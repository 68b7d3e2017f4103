/* test_convert.c - tools/qnnrt_convert.h, some of it through its statics

   Expected elements come from oracle_convert.py, which computes with fractions; what it does not print is
   compared with conversions one element at a time, or with a loop that needs no arithmetic. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#include "../../qnnrt.h"
#include "qnnrt_convert.h"
#include "test.h"
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIMS = 8, MOST_SCALES = 256, MOST_BYTES = 65536 * 8 };

/* A tensor with room for its facts. */
typedef struct side {
    qnnrt_tensor_info info;
    uint32_t dims[MOST_DIMS];
    float    scales[MOST_SCALES];
    int32_t  offsets[MOST_SCALES];
} side;

/* Elements, at a place that is not aligned, between bytes that nothing may change. */
static unsigned char source_room[MOST_BYTES + 64], result_room[MOST_BYTES + 64], wanted[MOST_BYTES + 64];

static void make_side(side *s, const char *name, qnnrt_dtype dtype, uint32_t rank, const uint32_t *dims)
{
    memset(s, 0, sizeof *s);
    s->info.name = name;
    s->info.dtype = dtype;
    s->info.rank = rank;
    s->info.dims = s->dims;
    memcpy(s->dims, dims, rank * sizeof(uint32_t));
}

static void set_scale(side *s, float scale, int32_t offset)
{
    s->info.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    s->info.quant.scale = scale;
    s->info.quant.offset = offset;
}

static qnnrt_dtype dtype_of(const char *name)
{
    size_t i;
    for (i = 0; i < sizeof(qnnrt__dtype_table) / sizeof(qnnrt__dtype_table[0]); ++i)
        if (strcmp(qnnrt__dtype_table[i].name, name) == 0) return qnnrt__dtype_table[i].dtype;
    return QNNRT_DTYPE_UNDEFINED;
}

static uint32_t bits_of(qnnrt_dtype dtype) { return qnnrt__dtype_find(dtype)->bits; }

/* Store an element of any width; bits beyond the last element of a byte stay. */
static void put(unsigned char *data, uint32_t bits, size_t i, uint64_t element)
{
    if (bits >= 8) {
        memcpy(data + i * (bits / 8), &element, bits / 8);
    } else {
        const unsigned shift = (unsigned)(i * bits % 8), mask = ((1u << bits) - 1u) << shift;
        data[i * bits / 8] = (unsigned char)((data[i * bits / 8] & ~mask) | ((unsigned)element << shift & mask));
    }
}

/* Read "dtype encoding ..." of a line of the oracle. */
static int read_side(FILE *file, side *s, uint32_t rank, const uint32_t *dims)
{
    char name[32];
    unsigned kind, bits, count = 1, i;
    long long axis = 0, offset;
    if (fscanf(file, "%31s %u", name, &kind) != 2) return 0;
    make_side(s, "x", dtype_of(name), rank, dims);
    if (kind == 0) return 1;
    if (kind == 2 && fscanf(file, "%lld %u", &axis, &count) != 2) return 0;
    for (i = 0; i < count && i < MOST_SCALES; ++i) {
        if (fscanf(file, "%x %lld", &bits, &offset) != 2) return 0;
        memcpy(&s->scales[i], &bits, 4);
        s->offsets[i] = (int32_t)offset;
    }
    set_scale(s, s->scales[0], s->offsets[0]);
    if (kind == 2) {
        s->info.quant.encoding = QNNRT_ENCODING_PER_AXIS;
        s->info.quant.axis = (int32_t)axis;
        s->info.quant.count = count;
        s->info.quant.scales = s->scales;
        s->info.quant.offsets = s->offsets;
    }
    return 1;
}

static uint32_t seed = 0x2468ACE1u;
static uint32_t rng(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

/* Make a converter of qnnrt_convert.h, free it again if `out` is NULL, and return the result. */
static qnnrt_result create(const side *from, const side *to, qnnrt_convert how, qnnrt_converter **out, qnnrt_error *err)
{
    qnnrt_converter *converter;
    const qnnrt_conversion wish = { how, 0 };
    const qnnrt_result result = qnnrt_convert_create(&from->info, &to->info, &wish, NULL, &converter, err);
    if (result != QNNRT_OK && converter != NULL) return QNNRT_E_STATE;
    if (out == NULL) qnnrt_convert_free(converter);
    else *out = converter;
    return result;
}

/* Convert by qnnrt_convert.h. Return the number lost, or UINT64_MAX if the elements are not those of `bytes` at `expected`
   and their neighbours as they were. */
static uint64_t convert_by_step(const side *from, const side *to, qnnrt_convert how, const unsigned char *expected, size_t bytes,
                                size_t at, qnnrt_error *err)
{
    static unsigned char room[MOST_BYTES + 64];
    const void *in = source_room + 1;
    void *out = room + at;
    qnnrt_converter *converter;
    qnnrt_converter_info info;
    const qnnrt_host_step *step;
    size_t i;
    if (create(from, to, how, &converter, err) != QNNRT_OK) return UINT64_MAX;
    step = qnnrt_convert_step(converter);
    memset(room, 0xA5, sizeof room);
    if (bytes > 0) room[at + bytes - 1] = 0;
    i = step->exec(step->user, NULL, &in, &out, err) == QNNRT_OK;
    info = qnnrt_convert_get_info(converter);
    qnnrt_convert_free(converter);
    if (!i || info.lost != info.lost_ever) return UINT64_MAX;
    for (i = 0; i < bytes; ++i)
        if (room[at + i] != expected[i]) {
            snprintf(err->text, sizeof err->text, "by a step, %s to %s: byte %d of %d is %02x, expected %02x",
                     qnnrt_dtype_name(from->info.dtype), qnnrt_dtype_name(to->info.dtype), (int)i, (int)bytes, room[at + i],
                     expected[i]);
            return UINT64_MAX;
        }
    for (i = 0; i < at; ++i) if (room[i] != 0xA5) return UINT64_MAX - 1;
    for (i = 0; i < 16; ++i) if (room[at + bytes + i] != 0xA5) return UINT64_MAX - 1;
    return info.lost;
}

/* Convert `count` elements at odd addresses and compare with `wanted`. Return the number lost, or UINT64_MAX. */
static uint64_t convert(const side *from, const side *to, qnnrt_convert how, size_t count, qnnrt_error *err)
{
    return convert_by_step(from, to, how, wanted, (count * bits_of(to->info.dtype) + 7) / 8, 1 + rng() % 32, err);
}

/* Convert all tensors of the oracle in the mode of the floating-point unit that is set. */
static void check_oracle(int every)
{
    const char *path = getenv("QNNRT_ORACLE");
    static side from, to;
    qnnrt_error err;
    unsigned how, rank;
    uint32_t dims[MOST_DIMS], turned[MOST_DIMS];
    unsigned long long lost, element;
    size_t lines = 0, count, i;
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    if (file == NULL) return;
    memset(&err, 0, sizeof err);
    while (fscanf(file, "%u %u", &how, &rank) == 2 && rank <= MOST_DIMS) {
        for (i = 0; i < rank; ++i) CHECK_EQ(fscanf(file, "%u", &dims[i]), 1);
        memcpy(turned, dims, sizeof turned);
        if (how == QNNRT_CONVERT_TO_NHWC) {
            memmove(turned + 1, turned + 2, (rank - 2) * sizeof(uint32_t));
            turned[rank - 1] = dims[1];
        } else if (how == QNNRT_CONVERT_TO_NCHW) {
            memmove(turned + 2, turned + 1, (rank - 2) * sizeof(uint32_t));
            turned[1] = dims[rank - 1];
        }
        CHECK(read_side(file, &from, rank, dims));
        CHECK(read_side(file, &to, rank, turned));
        CHECK_EQ(fscanf(file, "%llu %zu", &lost, &count), 2);
        CHECK(count <= 65536);
        memset(wanted, 0, sizeof wanted);
        for (i = 0; i < count; ++i) {
            CHECK_EQ(fscanf(file, "%llx", &element), 1);
            put(source_room + 1, bits_of(from.info.dtype), i, element);
        }
        for (i = 0; i < count; ++i) {
            CHECK_EQ(fscanf(file, "%llx", &element), 1);
            put(wanted, bits_of(to.info.dtype), i, element);
        }
        ++lines;
        if (every > 1 && rng() % (unsigned)every != 0) continue;
        element = convert(&from, &to, (qnnrt_convert)how, count, &err);
        if (element == UINT64_MAX) printf("%s\n", err.text);
        CHECK_EQ(element, lost);
    }
    fclose(file);
    CHECK(lines > 1000);
}

TEST(convert_agrees_with_exact_fractions)
{
    if (getenv("QNNRT_ORACLE") == NULL) SKIP("QNNRT_ORACLE does not name the table");
    TRY(check_oracle(1));
}

/* Vector code of any kind is not used when the unit rounds in another direction. */
TEST(convert_rounding_mode_changes_nothing)
{
    static const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    size_t i;
    if (getenv("QNNRT_ORACLE") == NULL) SKIP("QNNRT_ORACLE does not name the table");
    for (i = 0; i < 3; ++i) {
        if (fesetround(modes[i]) != 0) continue;
        check_oracle(3);
        fesetround(FE_TONEAREST);
        if (test_state.state == TEST_FAILED) return;
    }
}

/* 8-bit codes of values that come closer and closer to the middle between two codes. */
TEST(convert_8_bits_agree_with_exact_values_near_ties)
{
    enum { N = 16 };
    static side to, floats;
    static qnnrt_error err;
    const uint32_t count = N;
    size_t block, i;
    for (block = 0; block < 40000; ++block) {
        const uint32_t bits = 0x3A000000u + rng() % 0x08000000u;
        float scale, values[N];
        unsigned char codes[N];
        qnnrt__form form;
        const char *why;
        uint64_t lost = 0;
        memcpy(&scale, &bits, 4);
        make_side(&to, "x", QNNRT_DTYPE_U8Q, 1, &count);
        make_side(&floats, "f", QNNRT_DTYPE_F32, 1, &count);
        set_scale(&to, scale, -(int32_t)(rng() % 256));
        CHECK_EQ(qnnrt__quant_open(&to.info, 0, &form, &why), QNNRT_OK);
        CHECK_EQ(qnnrt__quant_scale(&form, 0, N), N);
        for (i = 0; i < N; ++i) {
            const double step = 1.0 / (double)(1u << (rng() % 24)), code = (double)(rng() % 255) + form.offset;
            uint32_t x;
            values[i] = (float)((code + 0.5 + (rng() % 2 ? step : -step) / 2) * (double)scale);
            memcpy(&x, &values[i], 4);
            const qnnrt__value value = qnnrt__value_of_float(x, QNNRT_DTYPE_F32);
            codes[i] = (unsigned char)qnnrt__value_element(&value, &form, &lost);
        }
        memcpy(source_room + 1, values, sizeof values);
        CHECK_EQ(convert_by_step(&floats, &to, QNNRT_CONVERT_VALUES, codes, sizeof codes, 3, &err), lost);
        to.info.count = to.info.bytes = N;
        CHECK_EQ(qnnrt_encode_f32(&to.info, values, wanted), QNNRT_OK);      /* the core stores the same */
        CHECK_EQ(memcmp(wanted, codes, sizeof codes), 0);
    }
}

/* 16-bit codes: values in the middle between two codes, below and above it, and out
   of range, for codes of all 16 bits and of fewer. */
TEST(convert_16_bits_agree_with_exact_values_at_ties)
{
    enum { N = 37 };
    static side to, floats;
    static qnnrt_error err;
    const uint32_t count = N;
    size_t block, i;
    for (block = 0; block < 20000; ++block) {
        const int is_signed = (int)(rng() % 2);
        const float scale = (float)(rng() % 256 | 1) / (float)(1u << (rng() % 24));
        float values[N];
        uint16_t codes[N], code;
        uint64_t lost, wanted_lost = 0;
        qnnrt__form form;
        const char *why;
        make_side(&to, "x", is_signed ? QNNRT_DTYPE_S16Q : QNNRT_DTYPE_U16Q, 1, &count);
        set_scale(&to, scale, is_signed ? 0 : -(int32_t)(rng() % 65536));
        if (block % 4 == 3) to.info.quant.bitwidth = 12;
        CHECK_EQ(qnnrt__quant_open(&to.info, 0, &form, &why), QNNRT_OK);
        CHECK_EQ(qnnrt__quant_scale(&form, 0, N), N);
        for (i = 0; i < N; ++i) {
            const double at = (double)(form.min + form.offset) - 3 + (double)(rng() % (uint32_t)(form.max - form.min + 6));
            const double off = rng() % 2 ? 0 : (rng() % 2 ? 1.0 : -1.0) / (double)(1u << (rng() % 24));
            values[i] = (float)((at + 0.5 + off) * (double)scale);
        }
        memcpy(source_room + 1, values, sizeof values);
        make_side(&floats, "f", QNNRT_DTYPE_F32, 1, &count);
        to.info.count = N;
        to.info.bytes = sizeof codes;
        CHECK_EQ(qnnrt_encode_f32(&to.info, values, codes), QNNRT_OK);
        lost = convert_by_step(&floats, &to, QNNRT_CONVERT_VALUES, (const unsigned char *)codes, sizeof codes, 3, &err);
        for (i = 0; i < N; ++i) {
            uint32_t x;
            memcpy(&x, &values[i], 4);
            const qnnrt__value value = qnnrt__value_of_float(x, QNNRT_DTYPE_F32);
            code = (uint16_t)qnnrt__value_element(&value, &form, &wanted_lost);
            CHECK_EQ(codes[i], code);
        }
        CHECK_EQ(lost, wanted_lost);
    }
}

/* Check the result of a conversion that cannot be, and what its text names. */
#define REFUSED(from, to, how, result, needle)                                                     \
    do {                                                                                           \
        TEST_JUNK(err);                                                                            \
        CHECK_EQ(create(&(from), &(to), how, NULL, &err), result);                                 \
        CHECK_EQ(err.code, result);                                                                \
        CHECK_STR(err.text, needle);                                                               \
    } while (0)

TEST(convert_refuses_by_name)
{
    static const uint32_t dims[4] = { 1, 3, 4, 5 }, other[4] = { 1, 3, 5, 4 }, nhwc[4] = { 1, 4, 5, 3 };
    static const uint8_t dynamic[4] = { 0, 0, 1, 0 };
    static side a, b;
    qnnrt_error err;
    memset(&err, 0, sizeof err);
    make_side(&a, "hidden", QNNRT_DTYPE_F16, 4, dims);
    make_side(&b, "x", QNNRT_DTYPE_F32, 4, other);
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_MISMATCH, "\"hidden\" (float16[1,3,4,5])");
    CHECK_STR(err.text, "\"x\" (float32[1,3,5,4])");
    REFUSED(a, b, QNNRT_CONVERT_TO_NHWC, QNNRT_E_MISMATCH, "NCHW and NHWC");
    REFUSED(a, b, QNNRT_CONVERT_TO_NCHW, QNNRT_E_MISMATCH, "NHWC and NCHW");
    b.info.rank = 3;
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_MISMATCH, "float32[1,3,5]");
    REFUSED(a, b, QNNRT_CONVERT_TO_NHWC, QNNRT_E_MISMATCH, "float32[1,3,5]");
    a.info.rank = b.info.rank = 2;
    REFUSED(a, b, QNNRT_CONVERT_TO_NHWC, QNNRT_E_MISMATCH, "float32[1,3]");

    make_side(&a, "hidden", QNNRT_DTYPE_F16, 4, dims);      /* nothing to convert */
    make_side(&b, "x", QNNRT_DTYPE_F32, 4, dims);
    REFUSED(a, b, QNNRT_CONVERT_NONE, QNNRT_E_ARG, "\"hidden\"");
    b.info.dtype = QNNRT_DTYPE_F16;
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_ARG, "nothing to convert");
    CHECK_STR(err.hint, "Wire");
    make_side(&b, "x", QNNRT_DTYPE_F16, 4, nhwc);
    CHECK_EQ(create(&a, &b, QNNRT_CONVERT_TO_NHWC, NULL, &err), QNNRT_OK);
    CHECK_EQ(create(&b, &a, QNNRT_CONVERT_TO_NCHW, NULL, &err), QNNRT_OK);

    make_side(&b, "x", QNNRT_DTYPE_F8, 4, dims);            /* what has no values */
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_UNSUPPORTED, "float8");
    b.info.dtype = QNNRT_DTYPE_F4;
    REFUSED(b, a, QNNRT_CONVERT_VALUES, QNNRT_E_UNSUPPORTED, "float4");
    b.info.dtype = QNNRT_DTYPE_STRING;
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_UNSUPPORTED, "string");
    b.info.dtype = QNNRT_DTYPE_U8Q;
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_UNSUPPORTED, "encoding");
    b.info.quant.encoding = QNNRT_ENCODING_OTHER;
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_UNSUPPORTED, "encoding");
    set_scale(&b, 0.0f, 0);
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_ARG, "\"x\": scale");
    set_scale(&b, 0.5f, 0);
    CHECK_EQ(create(&a, &b, QNNRT_CONVERT_VALUES, NULL, &err), QNNRT_OK);
    b.info.vendor_format = 1;
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_UNSUPPORTED, "format 0x1");
    b.info.vendor_format = 0;
    b.info.dynamic_dims = dynamic;
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_UNSUPPORTED, "<=4");
    b.info.dynamic_dims = NULL;
    b.info.dims = NULL;
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_ARG, "dimensions");
    make_side(&b, "x", QNNRT_DTYPE_I4, 4, nhwc);
    REFUSED(a, b, QNNRT_CONVERT_TO_NHWC, QNNRT_E_UNSUPPORTED, "int4");
    a.dims[2] = b.dims[2] = 0;
    a.dims[3] = b.dims[3] = 3;
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_MISMATCH, "int4");
    make_side(&a, "a", QNNRT_DTYPE_F32, 4, dims);
    make_side(&b, "b", QNNRT_DTYPE_F16, 4, dims);
    a.dims[2] = b.dims[2] = 0;
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_ARG, "dimension");
    a.dims[0] = a.dims[1] = a.dims[2] = a.dims[3] = b.dims[0] = b.dims[1] = b.dims[2] = b.dims[3] = 0xFFFFFFFFu;
    REFUSED(a, b, QNNRT_CONVERT_VALUES, QNNRT_E_ARG, "too many");
    CHECK_EQ(create(&a, &b, QNNRT_CONVERT_VALUES, NULL, NULL), QNNRT_E_ARG);
}

/* The layout alone works for types whose values are not known. */
TEST(convert_moves_what_it_does_not_know)
{
    static const uint32_t nchw[4] = { 2, 3, 5, 7 }, nhwc[4] = { 2, 5, 7, 3 };
    static const qnnrt_dtype types[] = { QNNRT_DTYPE_F8, QNNRT_DTYPE_U16Q };
    static side a, b;
    qnnrt_error err;
    size_t t, n, c, p;
    memset(&err, 0, sizeof err);
    for (t = 0; t < 2; ++t) {
        const size_t bytes = bits_of(types[t]) / 8;
        make_side(&a, "a", types[t], 4, nchw);
        make_side(&b, "b", types[t], 4, nhwc);
        for (n = 0; n < 210 * bytes; ++n) source_room[1 + n] = (unsigned char)rng();
        for (n = 0; n < 2; ++n)
            for (c = 0; c < 3; ++c)
                for (p = 0; p < 35; ++p)
                    memcpy(wanted + (n * 105 + p * 3 + c) * bytes, source_room + 1 + (n * 105 + c * 35 + p) * bytes, bytes);
        CHECK_EQ(convert(&a, &b, QNNRT_CONVERT_TO_NHWC, 210, &err), 0);
        memcpy(result_room, wanted, 210 * bytes);
        memcpy(wanted, source_room + 1, 210 * bytes);
        memcpy(source_room + 1, result_room, 210 * bytes);
        CHECK_EQ(convert(&b, &a, QNNRT_CONVERT_TO_NCHW, 210, &err), 0);
    }
}

TEST(convert_a_scalar)
{
    static const uint32_t none[1] = { 0 };
    static side a, b;
    qnnrt_error err;
    const float x = 1e30f;
    memset(&err, 0, sizeof err);
    make_side(&a, "a", QNNRT_DTYPE_F32, 0, none);
    make_side(&b, "b", QNNRT_DTYPE_F16, 0, none);
    memcpy(source_room + 1, &x, 4);
    memcpy(wanted, "\xFF\x7B", 2);
    CHECK_EQ(convert(&a, &b, QNNRT_CONVERT_VALUES, 1, &err), 1);
}

/* Allocators that fail leave nothing behind; an exact converter refuses what it loses, by name, and counts. */
static int allocations_left, allocations;

static void *few_alloc(void *user, size_t bytes)
{
    (void)user;
    if (allocations_left-- <= 0) return NULL;
    ++allocations;
    return malloc(bytes);
}

static void few_free(void *user, void *data)
{
    (void)user;
    --allocations;
    free(data);
}

/* Convert by the step. */
static qnnrt_result convert_data(const qnnrt_converter *converter, const void *from, void *to, qnnrt_error *err)
{
    const qnnrt_host_step *step = qnnrt_convert_step(converter);
    return step->exec(step->user, NULL, &from, &to, err);
}

TEST(convert_exact_steps_fail_by_name)
{
    static const uint32_t dims[2] = { 2, 3 };
    const float values[6] = { 1, 70000, -2, -1e30f, 0.5f, 3 };
    static side a, b;
    uint16_t halves[6];
    qnnrt_converter *converter;
    qnnrt_conversion wish = { QNNRT_CONVERT_VALUES, 0 };
    qnnrt_hooks hooks;
    qnnrt_error err;
    memset(&hooks, 0, sizeof hooks);
    memset(&err, 0, sizeof err);
    make_side(&a, "hidden", QNNRT_DTYPE_F32, 2, dims);
    make_side(&b, "x", QNNRT_DTYPE_F16, 2, dims);
    hooks.alloc = few_alloc;
    hooks.free = few_free;
    for (int n = 0; n < 2; ++n) {
        allocations_left = n;
        CHECK_EQ(qnnrt_convert_create(&a.info, &b.info, &wish, &hooks, &converter, &err), QNNRT_E_MEMORY);
        CHECK(converter == NULL);
        CHECK_EQ(allocations, 0);
    }
    for (wish.exact = 0; wish.exact < 2; ++wish.exact) {
        allocations_left = 100;
        CHECK_EQ(qnnrt_convert_create(&a.info, &b.info, &wish, &hooks, &converter, &err), QNNRT_OK);
        CHECK_STR(qnnrt_convert_step(converter)->name, "convert hidden");
        CHECK_EQ(convert_data(converter, values, halves, &err), wish.exact ? QNNRT_E_MISMATCH : QNNRT_OK);
        if (wish.exact) CHECK_STR(err.text, "\"hidden\" (float32[2,3]) cannot be converted to \"x\" (float16[2,3])");
        if (wish.exact) CHECK_STR(err.text, ": 2 of 6");
        CHECK_EQ(halves[1], 0x7BFF);
        CHECK_EQ(halves[3], 0xFBFF);
        CHECK_EQ(halves[5], 0x4200);
        CHECK_EQ(qnnrt_convert_get_info(converter).lost, 2);
        (void)convert_data(converter, values, halves, NULL);
        CHECK_EQ(qnnrt_convert_get_info(converter).lost, 2);
        CHECK_EQ(qnnrt_convert_get_info(converter).lost_ever, 4);
        qnnrt_convert_free(converter);
        CHECK_EQ(allocations, 0);
    }
    CHECK_EQ(qnnrt_convert_create(NULL, &b.info, &wish, &hooks, &converter, &err), QNNRT_E_ARG);
    CHECK(converter == NULL);
    qnnrt_convert_free(NULL);
}

TEST_MAIN("convert")
{
    RUN(convert_agrees_with_exact_fractions);
    RUN(convert_rounding_mode_changes_nothing);
    RUN(convert_8_bits_agree_with_exact_values_near_ties);
    RUN(convert_16_bits_agree_with_exact_values_at_ties);
    RUN(convert_refuses_by_name);
    RUN(convert_moves_what_it_does_not_know);
    RUN(convert_a_scalar);
    RUN(convert_exact_steps_fail_by_name);
}
