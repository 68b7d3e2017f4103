/* test_ref_ops.c - operators of libQnnRef.so (tools/refbackend/): common code, and the families
   ops_binary, ops_unary, ops_activation, ops_shape, ops_index and ops_cast; the others are in
   test_ref_ops_b.c. Expected values are computed here the slow way, in double, from explicit
   indices. */
#include "ref_ops.h"

#include <float.h>
#include <stdio.h>

static const uint32_t reals[] = { REF_F32, REF_F16, REF_U8Q, REF_S8Q, REF_U16Q, REF_S16Q };
static const uint32_t every[] = { REF_F32,  REF_F16,  REF_U8Q, REF_S8Q, REF_U16Q, REF_S16Q,
                                  REF_S32Q, REF_U32Q, REF_I8,  REF_I16, REF_I32,  REF_I64,
                                  REF_U8,   REF_U16,  REF_U32, REF_U64, REF_BOOL };
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- helpers --------------------------------------------------------------------------------- */

/* Fill with any bytes, with an encoding where the type needs one. */
static void fill_bytes(ref_tensor *t, float scale, int32_t offset)
{
    if (ref_is_quantized(t->dtype))
        ops_encode(t, REF_QUANT_PER_TENSOR, 1, scale, offset);
    for (uint64_t i = 0; i < t->count * ref_type_bytes(t->dtype); ++i)
        ((uint8_t *)t->data)[i] = (uint8_t)(t->dtype == REF_BOOL ? ops_pick(2) : ops_pick(256));
}

/* Fill with multiples of 1/8 that every type holds, so that nothing is rounded before the
   operator works. */
static void fill_eighths(ref_tensor *t)
{
    if (ref_is_quantized(t->dtype)) {
        double least, most;
        ops_code_range(t->dtype, &least, &most);
        ops_encode(t, REF_QUANT_PER_TENSOR, 1, 0.125f, -(int32_t)((least + most + 1.0) / 2.0) + 3);
    }
    ops_fill(t, t->dtype == REF_U8 ? 0.0 : -16.0, 16.0);
    for (uint64_t i = 0; i < t->count; ++i) {
        const float value = (float)floor(ops_uniform(-128.0, 128.0)) / 8.0f;
        if (t->dtype == REF_F32) ((float *)t->data)[i] = value;
        if (t->dtype == REF_F16) ((uint16_t *)t->data)[i] = ref_f32_to_f16(value);
    }
}

static void no_zeros(ref_tensor *t)
{
    for (uint64_t i = 0; i < t->count; ++i) {
        if (ops_real(t, i) != 0.0) continue;
        if (t->dtype == REF_F32) ((float *)t->data)[i] = 1.0f;
        else if (t->dtype == REF_F16) ((uint16_t *)t->data)[i] = 0x3C00;
        else ((uint8_t *)t->data)[i * ref_type_bytes(t->dtype)] ^= 1;
    }
}

static int same_element(const ref_tensor *a, uint64_t i, const ref_tensor *b, uint64_t j)
{
    const size_t bytes = ref_type_bytes(a->dtype);
    return memcmp((const char *)a->data + i * bytes, (const char *)b->data + j * bytes, bytes) == 0;
}

/* Return the place of output element i in an input that is broadcast to it. */
static uint64_t broadcast_place(const ref_tensor *out, const ref_tensor *in, uint64_t i)
{
    uint64_t place = 0, step = 1;
    for (uint32_t d = 0; d < in->rank; ++d) {
        const uint32_t from_end = in->rank - 1 - d, out_axis = out->rank - 1 - d;
        const uint64_t at = i % out->dims[out_axis];
        i /= out->dims[out_axis];
        place += (in->dims[from_end] == 1 ? 0 : at) * step;
        step *= in->dims[from_end];
    }
    return place;
}

/* Set an encoding where one is needed; for check(), which reads no data. */
static void with_range(ref_tensor *t)
{
    if (ref_is_quantized(t->dtype)) ops_encode_range(t, -1, 1);
}

/* Check that check() succeeds and run() fails. */
static void run_refused(const char *words)
{
    ref_why why;
    memset(&why, 0, sizeof why);
    CHECK(ref_op_check(&ops.node, &why));
    CHECK(!ops.node.op->run(
        &ops.node, ops_alloc(ops.node.op->scratch != NULL ? ops.node.op->scratch(&ops.node) : 0),
        &why));
    CHECK_STR(why.text, words);
}

/* ---- what all operators share ---------------------------------------------------------------- */

TEST(half_of_every_code_is_read)
{
    for (uint32_t half = 0; half < 65536; ++half) {
        const double expected = ops_half((uint16_t)half);
        const float found = ref_f16_to_f32((uint16_t)half);
        CHECK(isnan(expected) ? isnan(found) : (double)found == expected);
        CHECK((signbit(found) != 0) == (half >= 0x8000));
    }
}

TEST(half_is_rounded_once_ties_to_even)
{
    for (uint32_t half = 0; half < 0x7BFF; ++half) {
        const float low = ref_f16_to_f32((uint16_t)half),
                    high = ref_f16_to_f32((uint16_t)(half + 1));
        const float middle = low + (high - low) / 2.0f;
        CHECK_EQ(ref_f32_to_f16(low), half);
        CHECK_EQ(ref_f32_to_f16(-low), half | 0x8000u);
        CHECK_EQ(ref_f32_to_f16(middle), half % 2 == 0 ? half : half + 1);
        CHECK_EQ(ref_f32_to_f16(nextafterf(middle, 0.0f)), half);
        CHECK_EQ(ref_f32_to_f16(nextafterf(middle, 1e9f)), half + 1);
    }
    CHECK_EQ(ref_f32_to_f16(65519.996f), 0x7BFF);
    CHECK_EQ(ref_f32_to_f16(65520.0f), 0x7C00);
    CHECK_EQ(ref_f32_to_f16(-FLT_MAX), 0xFC00);
    CHECK_EQ(ref_f32_to_f16((float)INFINITY), 0x7C00);
    CHECK(isnan(ref_f16_to_f32(ref_f32_to_f16((float)NAN))));
    CHECK_EQ(ref_f32_to_f16(FLT_MIN), 0);
}

TEST(values_of_every_encoding_are_read)
{
    static const uint32_t types[] = { REF_U8Q, REF_S8Q, REF_U16Q, REF_S16Q, REF_S32Q, REF_U32Q };
    for (size_t d = 0; d < COUNT(types); ++d) {
        for (int form = 0; form < 6; ++form) {
            ref_tensor *t;
            float values[120];
            ops_begin("Reshape");
            t = ops_tensor(types[d], "3,4,10");
            fill_bytes(t, 0.25f, -7);
            if (form == 1 || form == 2 || form == 3)
                ops_encode_channels(t, (uint32_t)form - 1, 1.0);
            if (form == 4) ops_encode_blocks(t, 0, 2, 5, 1.0);
            if (form == 5) ops_encode_blocks(t, 2, 1, 2, 1.0);
            for (uint32_t first = 0; first < 120; first += 7) {
                const uint32_t count = 1 + ops_pick(120 - first);
                ref_load(t, first, count, values);
                for (uint32_t i = 0; i < count; ++i) {
                    const double expected = ops_real(t, first + i);
                    CHECK(fabs((double)values[i] - expected) <= fabs(expected) * 1.2e-7);
                }
            }
            /* Codes of up to 16 bits survive the way to numbers and back. */
            if (ref_type_bytes(types[d]) < 4) {
                uint8_t before[240];
                memcpy(before, t->data, (size_t)t->count * ref_type_bytes(types[d]));
                ref_load(t, 0, 120, values);
                memset(t->data, 0x5A, (size_t)t->count * ref_type_bytes(types[d]));
                ref_store(t, 0, 50, values);
                ref_store(t, 50, 70, values + 50);
                CHECK(memcmp(before, t->data, (size_t)t->count * ref_type_bytes(types[d])) == 0);
            }
        }
    }
    ops_end();
}

TEST(quantized_values_are_rounded_to_nearest_and_saturated)
{
    static const float values[] = { 0.5f,
                                    -0.5f,
                                    1.5f,
                                    2.5f,
                                    0.49999997f,
                                    -0.49999997f,
                                    1e30f,
                                    -1e30f,
                                    (float)INFINITY,
                                    -(float)INFINITY,
                                    (float)NAN };
    static const double rounded[] = { 1, -1, 2, 3, 0, 0, 1e30, -1e30, 1e30, -1e30, 0 };
    static const uint32_t types[] = { REF_U8Q, REF_S8Q, REF_U16Q, REF_S16Q, REF_S32Q, REF_U32Q,
                                      REF_U8,  REF_I32, REF_U32,  REF_I8,   REF_I16,  REF_U16 };
    for (size_t d = 0; d < COUNT(types); ++d) {
        double least, most;
        ref_tensor *t;
        const int is_signed = types[d] == REF_I8 || types[d] == REF_I16 || types[d] == REF_I32 ||
                              types[d] == REF_S8Q || types[d] == REF_S16Q || types[d] == REF_S32Q;
        const int bits = (int)ref_type_bytes(types[d]) * 8;
        const int32_t offset = ref_is_quantized(types[d]) ? -9 : 0;
        least = is_signed ? -ldexp(1.0, bits - 1) : 0.0;
        most = ldexp(1.0, bits - is_signed) - 1.0;
        ops_begin("Reshape");
        t = ops_tensor(types[d], "11");
        if (offset != 0) ops_encode(t, REF_QUANT_PER_TENSOR, 1, 1.0f, offset);
        ref_store(t, 0, COUNT(values), values);
        for (uint64_t i = 0; i < COUNT(values); ++i) {
            const double code = rounded[i] - (double)offset;
            CHECK(ops_code(t, i) == (code < least ? least : code > most ? most : code));
        }
    }
    ops_end();
}

TEST(every_operator_is_found_by_name)
{
    size_t count = 0;
    for (const ref_op *op; (op = ref_op_get(count)) != NULL; ++count) {
        CHECK(ref_op_find(op->type) == op);
        CHECK(op->check != NULL && op->run != NULL && op->in_least > 0 && op->out_least > 0);
    }
    CHECK(count > 90);
    CHECK(ref_op_find("NoSuchOperator") == NULL);
}

TEST(types_have_names_and_sizes)
{
    static const size_t bytes[COUNT(every)] = { 4, 2, 1, 1, 2, 2, 4, 4, 1, 2, 4, 8, 1, 2, 4, 8, 1 };
    for (size_t i = 0; i < COUNT(every); ++i)
        CHECK_EQ(ref_type_bytes(every[i]), bytes[i]);
    CHECK_STR(ref_type_name(REF_S16Q), "SFIXED_POINT_16");
    CHECK_EQ(ref_type_bytes(0x999), 0);
    CHECK_EQ(ref_type_bit(0x999), 0);
}

TEST(encodings_are_compared_in_every_part)
{
    ref_tensor *a, *b;
    ops_begin("Reshape");
    a = ops_tensor(REF_S8Q, "2,4,6");
    b = ops_tensor(REF_S8Q, "2,4,6");
    ops_encode(a, REF_QUANT_PER_TENSOR, 1, 0.5f, 3);
    ops_encode(b, REF_QUANT_PER_TENSOR, 1, 0.5f, 3);
    CHECK(ref_same_encoding(a, b));
    ops_encode(b, REF_QUANT_PER_TENSOR, 1, 0.5f, 4);
    CHECK(!ref_same_encoding(a, b));
    ops_encode(b, REF_QUANT_PER_TENSOR, 1, 0.75f, 3);
    CHECK(!ref_same_encoding(a, b));
    ops_encode(b, REF_QUANT_PER_TENSOR, 1, 0.5f, 3);
    b->dtype = REF_U8Q;
    CHECK(!ref_same_encoding(a, b));
    a->dtype = b->dtype = REF_F32;
    b->quant.form = REF_QUANT_NONE;
    CHECK(ref_same_encoding(a, b));

    a->dtype = b->dtype = REF_S8Q;
    ops_encode_channels(a, 1, 1.0);
    b->quant = a->quant;
    CHECK(ref_same_encoding(a, b));
    b->quant.axis = 2;
    CHECK(!ref_same_encoding(a, b));
    ops_encode(a, REF_QUANT_PER_AXIS, 4, 0.5f, 0);
    a->quant.axis = 1;
    b->quant = a->quant;
    b->quant.count = 3;
    CHECK(!ref_same_encoding(a, b));
    b->quant = a->quant;
    b->quant.offsets = NULL;
    CHECK(ref_same_encoding(a, b));
    ops_encode_blocks(a, 0, 2, 3, 1.0);
    b->quant = a->quant;
    CHECK(ref_same_encoding(a, b));
    b->quant.block_axis = 1;
    CHECK(!ref_same_encoding(a, b));
    b->quant.block_axis = 2;
    b->quant.block = 6;
    CHECK(!ref_same_encoding(a, b));
    ops_end();
}

static void add_begin(uint32_t dtype)
{
    ops_begin("ElementWiseAdd");
    with_range(ops_in(dtype, "2,3"));
    with_range(ops_in(dtype, "2,3"));
    with_range(ops_out(dtype, "2,3"));
}

TEST(shared_checks_name_what_is_wrong)
{
    ref_tensor *a = &ops.tensors[0], *p;
    add_begin(REF_F32); ops.node.in_count = 1; TRY(ops_refused("1 inputs, ElementWiseAdd has 2"));
    add_begin(REF_F32); ops.in[1] = NULL;
        TRY(ops_refused("input 1 is absent, but ElementWiseAdd needs it"));
    add_begin(REF_F32); ops.node.out_count = 0; TRY(ops_refused("0 outputs, ElementWiseAdd has 1"));
    add_begin(REF_F32); a->dtype = 0x264; TRY(ops_refused("input 0 \"t0\" has data type 0x264"));
    add_begin(REF_F32); a->rank = 0; TRY(ops_refused("input 0 \"t0\" has rank 0, expected 1 to 8"));
    add_begin(REF_F32); a->rank = 9; TRY(ops_refused("has rank 9"));
    add_begin(REF_F32); a->dims[1] = 0; TRY(ops_refused("has 0 in dimension 1"));
    add_begin(REF_F32); a->count = 7;
        TRY(ops_refused("declares 7 elements, its dimensions give 6"));
    add_begin(REF_F32); a->dims[0] = a->dims[1] = 0xFFFFFFFFu;
        TRY(ops_refused(sizeof(size_t) == 8 ? "has more than 140737488355328 bytes" : "has more than 134217727 bytes"));
    add_begin(REF_F32); a->fixed = 1; a->data = NULL; TRY(ops_refused("is static and has no data"));
    add_begin(REF_U8Q); a->quant.form = REF_QUANT_NONE;
        TRY(ops_refused("UFIXED_POINT_8 and has no encoding"));
    add_begin(REF_U8Q); ops_encode(a, REF_QUANT_PER_TENSOR, 1, 0.0f, 0);
        TRY(ops_refused("has scale 0 at index 0"));
    add_begin(REF_U8Q); ops_encode(a, REF_QUANT_PER_TENSOR, 1, (float)NAN, 0);
        TRY(ops_refused("has scale"));
    add_begin(REF_U8Q); ops_encode(a, REF_QUANT_PER_TENSOR, 1, (float)INFINITY, 0);
        TRY(ops_refused("has scale inf"));
    add_begin(REF_U8Q); ops_encode(a, REF_QUANT_PER_TENSOR, 1, 1.0f, 1 << 25);
        TRY(ops_refused("has offset 33554432"));
    add_begin(REF_U8Q); ops_encode(a, REF_QUANT_PER_TENSOR, 2, 1.0f, 0);
        TRY(ops_refused("has 2 scales, expected 1"));
    add_begin(REF_U8Q); ops_encode_channels(a, 1, 1.0); a->quant.count = 2;
        TRY(ops_refused("has 2 scales, expected 3"));
    add_begin(REF_U8Q); ops_encode_channels(a, 1, 1.0); a->quant.axis = 2;
        TRY(ops_refused("has scales along axis 2"));
    add_begin(REF_S8Q); ops_encode_blocks(a, 0, 1, 3, 1.0); a->quant.block = 2;
        TRY(ops_refused("blocks of 2"));
    add_begin(REF_S8Q); ops_encode_blocks(a, 0, 1, 3, 1.0); a->quant.block_axis = 0;
        TRY(ops_refused("has blocks along axis 0"));
    add_begin(REF_F32); ops_scalar("depth", REF_U32, 1);
        TRY(ops_refused("ElementWiseAdd has no parameter \"depth\"; it has none"));
    add_begin(REF_U64);
        TRY(ops_refused("input 0 \"t0\" is UINT_64, ElementWiseAdd takes FLOAT_32, FLOAT_16"));

    ops_begin("Transpose"); ops_in(REF_F32, "2,3"); ops_out(REF_F32, "3,2");
        TRY(ops_refused("parameter \"perm\" is missing, Transpose needs it as a static tensor of"
                        " UINT_32"));
    ops_scalar("perm", REF_U32, 1);
        TRY(ops_refused("parameter \"perm\" is a scalar, Transpose expects a tensor"));
    ops.node.param_count = 0; p = ops_numbers("perm", REF_I32, "1,0"); p->dtype = REF_I32;
        TRY(ops_refused("parameter \"perm\" is INT_32, Transpose expects UINT_32"));
    p->dtype = REF_U32; p->fixed = 0; TRY(ops_refused("parameter \"perm\" is not a static tensor"));
    p->fixed = 1; ops_numbers("perm", REF_U32, "1,0");
        TRY(ops_refused("parameter \"perm\" is given twice"));
    ops_begin("Concat"); ops_in(REF_F32, "2"); ops_out(REF_F32, "2");
    ops_numbers("axis", REF_U32, "0");
        TRY(ops_refused("parameter \"axis\" is a tensor, Concat expects a scalar"));
    ops_end();
}

/* ---- ops_binary ------------------------------------------------------------------------------ */

static double d_floor_mod(double a, double b) { return a - floor(a / b) * b; }

/* Compute operation n of ElementWiseBinary. */
static double binary_expected(uint32_t n, double a, double b)
{
    switch (n) {
    case 0:  return a + b;
    case 1:  return a != 0.0 && b != 0.0;
    case 2:  return a / b;
    case 3:  return a == b;
    case 4:  return floor(a / b);
    case 5:  return fmod(a, b);
    case 6:  return a > b;
    case 7:  return a >= b;
    case 8:  return a < b;
    case 9:  return a <= b;
    case 10: return a > b ? a : b;
    case 11: return a < b ? a : b;
    case 12: return d_floor_mod(a, b);
    case 13: return a * b;
    case 14: return a != b;
    case 15: return a != 0.0 || b != 0.0;
    case 16: return pow(a, b);
    case 17: return (a - b) * (a - b);
    case 18: return a - b;
    default: return (a != 0.0) != (b != 0.0);
    }
}

static const char *const binary_names[20] = {
    "ElementWiseAdd",       "ElementWiseAnd",          "ElementWiseDivide",
    "ElementWiseEqual",     "ElementWiseFloorDiv",     "ElementWiseFmod",
    "ElementWiseGreater",   "ElementWiseGreaterEqual", "ElementWiseLess",
    "ElementWiseLessEqual", "ElementWiseMaximum",      "ElementWiseMinimum",
    "ElementWiseMod",       "ElementWiseMultiply",     "ElementWiseNotEqual",
    "ElementWiseOr",        "ElementWisePower",        "ElementWiseSquaredDifference",
    "ElementWiseSubtract",  "ElementWiseXor"
};

static const struct { const char *a, *b, *out;
} shapes[] = { { "4,5,6", "4,5,6", "4,5,6" },
               { "1500", "1500", "1500" },
               { "3,1030", "1", "3,1030" },
               { "1", "2,700", "2,700" },
               { "6,7", "7", "6,7" },
               { "7", "6,7", "6,7" },
               { "3,1,4", "1,5,1", "3,5,4" },
               { "2,3,4,5", "3,1,5", "2,3,4,5" },
               { "2,1100,3", "2,1,3", "2,1100,3" },
               { "1,1,1,1,1,1,1,1", "1", "1,1,1,1,1,1,1,1" },
               { "2,1,2,1,2,1,2,1", "1,2,1,2,1,2,1,2", "2,2,2,2,2,2,2,2" } };

static int gives_bool(uint32_t n)
{
    return n == 1 || n == 3 || (n >= 6 && n <= 9) || n == 14 || n == 15 || n == 19;
}

/* Test the separate operator and ElementWiseBinary in turn. */
static void binary_begin(uint32_t n, size_t turn)
{
    if (turn % 2 == 0) {
        ops_begin(binary_names[n]);
    } else {
        ops_begin("ElementWiseBinary");
        ops_scalar("operation", REF_U32, n);
    }
}

TEST(binary_operators_of_reals_broadcast)
{
    for (uint32_t n = 0; n < 20; ++n) {
        if (n == 1 || n == 12 || n == 15 || n == 19) continue;
        for (size_t t = 0; t < COUNT(reals); ++t) {
            for (size_t s = 0; s < COUNT(shapes); ++s) {
                ref_tensor *a, *b, *y;
                double *expected;
                binary_begin(n, s + t);
                a = ops_in(reals[t], shapes[s].a);
                b = ops_in(reals[t], shapes[s].b);
                y = ops_out(gives_bool(n) ? REF_BOOL : reals[t], shapes[s].out);
                if (n == 16) {
                    ops_random(a, 0.25, 3.0);
                    ops_random(b, 0.0, 3.0);
                } else {
                    fill_eighths(a);
                    fill_eighths(b);
                }
                if (n == 2 || n == 4 || n == 5) no_zeros(b);
                expected = ops_doubles(y);
                for (uint64_t i = 0; i < y->count; ++i)
                    expected[i] = binary_expected(n, ops_real(a, broadcast_place(y, a, i)),
                                                  ops_real(b, broadcast_place(y, b, i)));
                TRY(ops_run(expected));
            }
        }
    }
    ops_end();
}

TEST(binary_operators_of_integers_are_exact)
{
    static const uint32_t types[] = { REF_I32, REF_U32, REF_BOOL };
    for (uint32_t n = 0; n < 20; ++n) {
        for (size_t t = 0; t < COUNT(types); ++t) {
            const int logic = n == 1 || n == 15 || n == 19, equality = n == 3 || n == 14;
            if (n == 16 || (types[t] == REF_BOOL ? !logic && !equality : logic)) continue;
            for (size_t s = 0; s < COUNT(shapes); ++s) {
                ref_tensor *a, *b, *y;
                double *expected;
                binary_begin(n, s);
                a = ops_in(types[t], shapes[s].a);
                b = ops_in(types[t], shapes[s].b);
                y = ops_out(gives_bool(n) ? REF_BOOL : types[t], shapes[s].out);
                fill_bytes(a, 1, 0);
                fill_bytes(b, 1, 0);
                if (types[t] != REF_BOOL) {
                    ((int32_t *)a->data)[0] = INT32_MIN;
                    for (uint64_t i = 0; i < b->count; i += 2)
                        ((int32_t *)b->data)[i] = ((int32_t *)b->data)[i] % 9;
                    no_zeros(b);
                    ((int32_t *)b->data)[0] = -1;
                }
                expected = ops_doubles(y);
                for (uint64_t i = 0; i < y->count; ++i) {
                    const double p = ops_real(a, broadcast_place(y, a, i)),
                                 q = ops_real(b, broadcast_place(y, b, i));
                    expected[i] = binary_expected(n, p, q);
                    if (n == 2) expected[i] = trunc(p / q);
                    /* Numbers above 2^53 are compared as integers. */
                    if (n == 13)
                        expected[i] = (double)((uint32_t)(int64_t)p * (uint32_t)(int64_t)q);
                    if (n == 17) expected[i] = (double)((uint32_t)((int64_t)p - (int64_t)q) *
                                                        (uint32_t)((int64_t)p - (int64_t)q));
                    if (!gives_bool(n))
                        expected[i] = types[t] == REF_I32 ?
                                          (double)(int32_t)(uint32_t)(int64_t)expected[i] :
                                          (double)(uint32_t)(int64_t)expected[i];
                }
                TRY(ops_run(expected));
            }
        }
    }
    ops_end();
}

TEST(maximum_and_minimum_keep_nan)
{
    for (uint32_t n = 10; n <= 11; ++n) {
        ref_tensor *a, *b, *y;
        ops_begin(binary_names[n]);
        a = ops_in(REF_F32, "3"); b = ops_in(REF_F32, "3"); y = ops_out(REF_F32, "3");
        ((float *)a->data)[0] = (float)NAN;
        ((float *)b->data)[1] = (float)NAN;
        TRY(ops_run_node());
        CHECK(isnan(ops_real(y, 0)) && isnan(ops_real(y, 1)) && ops_real(y, 2) == 0.0);
    }
    ops_end();
}

TEST(integer_division_by_zero_is_an_error_of_run)
{
    static const char *const types[] = { "ElementWiseDivide", "ElementWiseFloorDiv",
                                         "ElementWiseMod", "ElementWiseFmod" };
    for (size_t i = 0; i < COUNT(types); ++i) {
        ref_tensor *b;
        ops_begin(types[i]);
        ops_in(REF_I32, "2,1200"); b = ops_in(REF_I32, "1200"); ops_out(REF_I32, "2,1200");
        memset(b->data, 1, (size_t)b->count * 4);
        ((int32_t *)b->data)[1100] = 0;
        TRY(run_refused("input 1 \"t1\" is 0 where element 1100 of the output is divided by it"));
    }
    ops_end();
}

TEST(select_takes_one_of_two)
{
    static const uint32_t types[] = { REF_F32,  REF_F16, REF_U8Q, REF_S8Q, REF_U16Q,
                                      REF_S16Q, REF_I32, REF_U32, REF_BOOL };
    static const struct { const char *c, *a, *b, *out;
    } cases[] = { { "3,4", "3,4", "3,4", "3,4" },
                  { "1,1,4", "2,3,4", "2,3,4", "2,3,4" },
                  { "5,1", "1", "1,700", "5,700" },
                  { "1", "1500", "1500", "1500" },
                  { "2,3", "3", "2,1", "2,3" } };
    for (size_t t = 0; t < COUNT(types); ++t) {
        for (size_t s = 0; s < COUNT(cases); ++s) {
            ref_tensor *c, *a, *b, *y;
            double *expected;
            ops_begin("ElementWiseSelect");
            c = ops_in(REF_BOOL, cases[s].c);
            a = ops_in(types[t], cases[s].a);
            b = ops_in(types[t], cases[s].b);
            y = ops_out(types[t], cases[s].out);
            fill_bytes(c, 1, 0);
            fill_eighths(a);
            fill_eighths(b);
            if (ref_is_quantized(types[t])) ops_encode(b, REF_QUANT_PER_TENSOR, 1, 0.25f, 5);
            if (types[t] == REF_I32) ((int32_t *)a->data)[0] = 0x1234567F;
            expected = ops_doubles(y);
            for (uint64_t i = 0; i < y->count; ++i)
                expected[i] = ops_real(c, broadcast_place(y, c, i)) != 0.0 ?
                                  ops_real(a, broadcast_place(y, a, i)) :
                                  ops_real(b, broadcast_place(y, b, i));
            TRY(ops_run(expected));
        }
    }
    ops_end();
}

static void two_begin(const char *type, uint32_t a, const char *a_shape, uint32_t b,
                      const char *b_shape, uint32_t y, const char *y_shape)
{
    ops_begin(type);
    with_range(ops_in(a, a_shape));
    with_range(ops_in(b, b_shape));
    with_range(ops_out(y, y_shape));
}

TEST(binary_refusals_say_why)
{
    two_begin("ElementWiseAdd", REF_F32, "2,3", REF_F32, "2,4", REF_F32, "2,3");
        TRY(ops_refused("input 1 \"t1\" is [2, 4]: its dimension 1 does not match the 3 of the"
                        " inputs before it"));
    two_begin("ElementWiseAdd", REF_F32, "2,3", REF_F32, "3", REF_F32, "3");
        TRY(ops_refused("output 0 \"t2\" is [3], expected [2, 3]"));
    two_begin("ElementWiseAdd", REF_U8Q, "2,3", REF_U16Q, "3", REF_U8Q, "2,3");
        TRY(ops_refused("input 1 \"t1\" is UFIXED_POINT_16, expected UFIXED_POINT_8"));
    two_begin("ElementWiseAdd", REF_F32, "3", REF_F32, "3", REF_F16, "3");
        TRY(ops_refused("output 0 \"t2\" is FLOAT_16, expected FLOAT_32"));
    two_begin("ElementWiseLess", REF_F32, "3", REF_F32, "3", REF_F32, "3");
        TRY(ops_refused("output 0 \"t2\" is FLOAT_32, expected BOOL_8"));
    two_begin("ElementWiseMod", REF_F32, "3", REF_F32, "3", REF_F32, "3");
        TRY(ops_refused("input 0 \"t0\" is FLOAT_32, ElementWiseMod takes INT_32, UINT_32"));
    two_begin("ElementWisePower", REF_I32, "3", REF_I32, "3", REF_I32, "3");
        TRY(ops_refused("input 0 \"t0\" is INT_32, ElementWisePower takes FLOAT_32"));
    two_begin("ElementWiseBinary", REF_F32, "3", REF_F32, "3", REF_F32, "3");
    ops_scalar("operation", REF_U32, 20);
        TRY(ops_refused("parameter \"operation\" is 20, expected 0 to 19"));
    two_begin("ElementWiseBinary", REF_BOOL, "3", REF_BOOL, "3", REF_BOOL, "3");
    ops_scalar("operation", REF_U32, 0);
        TRY(ops_refused("input 0 \"t0\" is BOOL_8, which operation 0 (ElementWiseAdd)"));

    two_begin("ElementWiseSelect", REF_BOOL, "3", REF_I8, "3", REF_F32, "3");
    ops_in(REF_I8, "3");
        TRY(ops_refused("input 1 \"t1\" is INT_8, which ElementWiseSelect does not take"));
    two_begin("ElementWiseSelect", REF_BOOL, "3", REF_F32, "3", REF_F32, "3");
    ops_in(REF_F16, "3");
        TRY(ops_refused("input 2 \"t3\" is FLOAT_16, expected FLOAT_32"));
    two_begin("ElementWiseSelect", REF_BOOL, "3", REF_F32, "3", REF_F32, "3");
    ops_in(REF_F32, "2");
        TRY(ops_refused("input 2 \"t3\" is [2]: its dimension 0 does not match the 3"));
    two_begin("ElementWiseSelect", REF_F32, "3", REF_F32, "3", REF_F32, "3");
    ops_in(REF_F32, "3");
        TRY(ops_refused("input 0 \"t0\" is FLOAT_32, ElementWiseSelect takes BOOL_8"));
    ops_end();
}

/* ---- ops_unary, ops_activation --------------------------------------------------------------- */

/* Halves round to even; nearbyint() uses the process's mode, which is the same. */
static double d_sign(double x)       { return (x > 0.0) - (x < 0.0); }
static double d_neg(double x)        { return -x; }
static double d_rsqrt(double x)      { return 1.0 / sqrt(x); }
static double d_reciprocal(double x) { return 1.0 / x; }

/* In ElementWiseUnary's order; NOT has its own test. exact: the step at a whole number must
   match exactly. */
static const struct {
    const char *type;
    double (*f)(double);
    double low, high;
    int exact;
} unary[16] = {
    { "ElementWiseAbs", fabs, -3, 3, 0 },       { "ElementWiseAsin", asin, -0.9, 0.9, 0 },
    { "ElementWiseAtan", atan, -9, 9, 0 },      { "ElementWiseCeil", ceil, 0, 0, 1 },
    { "ElementWiseCos", cos, -9, 9, 0 },        { "ElementWiseExp", exp, -4, 3, 0 },
    { "ElementWiseFloor", floor, 0, 0, 1 },     { "ElementWiseLog", log, 0.01, 9, 0 },
    { "ElementWiseNeg", d_neg, -3, 5, 0 },      { "ElementWiseNot", NULL, 0, 0, 0 },
    { NULL, d_reciprocal, 0.1, 4, 0 },          { "ElementWiseRound", nearbyint, 0, 0, 1 },
    { "ElementWiseRsqrt", d_rsqrt, 0.1, 4, 0 }, { "ElementWiseSign", d_sign, 0, 0, 1 },
    { "ElementWiseSin", sin, -9, 9, 0 },        { "ElementWiseSquareRoot", sqrt, 0, 9, 0 }
};

TEST(unary_operators_of_reals)
{
    for (uint32_t n = 0; n < 16; ++n) {
        for (size_t t = 0; t < COUNT(reals); ++t) {
            for (int separate = 0; separate < 2; ++separate) {
                ref_tensor *x, *y;
                double *expected;
                if (unary[n].f == NULL || (separate && unary[n].type == NULL)) continue;
                ops_begin(separate ? unary[n].type : "ElementWiseUnary");
                if (!separate) ops_scalar("operation", REF_U32, n);
                x = ops_in(reals[t], separate ? "2,3,500" : "7");
                y = ops_out(reals[t], separate ? "2,3,500" : "7");
                if (unary[n].exact) fill_eighths(x);
                else ops_random(x, unary[n].low, unary[n].high);
                if (unary[n].low > 0.0) no_zeros(x);
                expected = ops_doubles(y);
                for (uint64_t i = 0; i < y->count; ++i)
                    expected[i] = unary[n].f(ops_real(x, i));
                TRY(ops_run(expected));
            }
        }
    }
    ops_end();
}

TEST(unary_operators_of_integers_and_bools)
{
    static const int32_t values[6] = { 0, 1, -1, 77, INT32_MAX, INT32_MIN };
    static const int32_t expected[3][6] = { { 0, 1, 1, 77, INT32_MAX, INT32_MIN },
                                            { 0, -1, 1, -77, -INT32_MAX, INT32_MIN },
                                            { 0, 1, -1, 1, 1, -1 } };
    static const char *const types[3] = { "ElementWiseAbs", "ElementWiseNeg", "ElementWiseSign" };
    ref_tensor *x, *y;
    for (int n = 0; n < 3; ++n) {
        ops_begin(types[n]);
        x = ops_in(REF_I32, "6"); y = ops_out(REF_I32, "6");
        memcpy(x->data, values, sizeof values);
        TRY(ops_run_node());
        CHECK(memcmp(y->data, expected[n], sizeof values) == 0);
    }
    ops_begin("ElementWiseNot");
    x = ops_in(REF_BOOL, "3"); y = ops_out(REF_BOOL, "3");
    memcpy(x->data, "\0\1\7", 3);
    TRY(ops_run_node());
    CHECK(memcmp(y->data, "\1\0\0", 3) == 0);
    ops_end();
}

TEST(functions_at_the_edges_of_their_domain)
{
    static const struct { const char *type; float x, y;
    } cases[] = { { "ElementWiseLog", 0.0f, -(float)INFINITY },
                  { "ElementWiseLog", -1.0f, (float)NAN },
                  { "ElementWiseRsqrt", 0.0f, (float)INFINITY },
                  { "ElementWiseSquareRoot", -1.0f, (float)NAN },
                  { "ElementWiseRound", (float)INFINITY, (float)INFINITY },
                  { "ElementWiseRound", 8388609.0f, 8388609.0f },
                  { "ElementWiseRound", 0.49999997f, 0.0f },
                  { "ElementWiseRound", -2.5f, -2.0f },
                  { "ElementWiseRound", 3.5f, 4.0f },
                  { "ElementWiseSign", (float)NAN, 0.0f },
                  { "Sigmoid", -200.0f, 0.0f },
                  { "Sigmoid", 200.0f, 1.0f },
                  { "Tanh", -200.0f, -1.0f },
                  { "Gelu", -20.0f, 0.0f },
                  { "Relu", (float)NAN, (float)NAN },
                  { "ElementWiseExp", 100.0f, (float)INFINITY } };
    for (size_t i = 0; i < COUNT(cases); ++i) {
        ref_tensor *x, *y;
        double found;
        ops_begin(cases[i].type);
        x = ops_in(REF_F32, "1"); y = ops_out(REF_F32, "1");
        ((float *)x->data)[0] = cases[i].x;
        TRY(ops_run_node());
        found = ops_real(y, 0);
        CHECK(isnan(cases[i].y)
                  ? isnan(found)
                  : found == (double)cases[i].y || fabs(found - (double)cases[i].y) < 1e-30);
    }
    ops_end();
}

static double d_clip(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}
static double d_relu(double x)         { return x > 0.0 ? x : 0.0; }
static double d_relu1(double x)        { return d_clip(x, -1, 1); }
static double d_relu6(double x)        { return d_clip(x, 0, 6); }
static double d_min_max(double x)      { return d_clip(x, -0.5, 2.5); }
static double d_sigmoid(double x)      { return 1.0 / (1.0 + exp(-x)); }
static double d_gelu(double x)         { return 0.5 * x * (1.0 + erf(x / sqrt(2.0))); }
static double d_hard_swish(double x)   { return x * d_clip(x + 3.0, 0, 6) / 6.0; }
static double d_elu(double x)          { return x > 0.0 ? x : exp(x) - 1.0; }
static double d_elu_half(double x)     { return x > 0.0 ? x : 0.5 * (exp(x) - 1.0); }
static double d_hard_sigmoid(double x) { return d_clip(0.2 * x + 0.5, 0, 1); }
static double d_hard_sixth(double x)   { return d_clip(x / 6.0 + 0.25, 0, 1); }
static double d_softplus(double x)     { return log(1.0 + exp(x)); }
static double d_softplus2(double x)    { return 2.0 * x > 3.0 ? x : log(1.0 + exp(2.0 * x)) / 2.0; }

static const struct {
    const char *type;
    double (*f)(double);
    int operation;
    const char *names[3];
    double values[3];
} activations[] = {
    { "Relu", d_relu, -1, { NULL }, { 0 } },
    { "Relu1", d_relu1, -1, { NULL }, { 0 } },
    { "Relu6", d_relu6, -1, { NULL }, { 0 } },
    { "ReluMinMax", d_min_max, -1, { "min_value", "max_value" }, { -0.5, 2.5 } },
    { "Sigmoid", d_sigmoid, -1, { NULL }, { 0 } },
    { "Tanh", tanh, -1, { NULL }, { 0 } },
    { "Gelu", d_gelu, -1, { NULL }, { 0 } },
    { "HardSwish", d_hard_swish, -1, { NULL }, { 0 } },
    { "Elu", d_elu, -1, { NULL }, { 0 } },
    { "Elu", d_elu_half, -1, { "alpha" }, { 0.5 } },
    { "ElementWiseNeuron", d_elu, 0, { NULL }, { 0 } },
    { "ElementWiseNeuron", d_elu_half, 0, { "alpha" }, { 0.5 } },
    { "ElementWiseNeuron", d_gelu, 1, { NULL }, { 0 } },
    { "ElementWiseNeuron", d_hard_sigmoid, 2, { NULL }, { 0 } },
    { "ElementWiseNeuron", d_hard_sixth, 2, { "alpha", "beta" }, { 1.0 / 6.0, 0.25 } },
    { "ElementWiseNeuron", d_hard_swish, 3, { NULL }, { 0 } },
    { "ElementWiseNeuron", d_relu, 4, { NULL }, { 0 } },
    { "ElementWiseNeuron", d_min_max, 5, { "min_value", "max_value" }, { -0.5, 2.5 } },
    { "ElementWiseNeuron", d_sigmoid, 6, { NULL }, { 0 } },
    { "ElementWiseNeuron", d_softplus, 7, { NULL }, { 0 } },
    { "ElementWiseNeuron", d_softplus2, 7, { "beta", "threshold" }, { 2.0, 3.0 } },
    { "ElementWiseNeuron", tanh, 8, { NULL }, { 0 } }
};

TEST(activations_of_every_type)
{
    for (size_t n = 0; n < COUNT(activations); ++n) {
        for (size_t t = 0; t < COUNT(reals); ++t) {
            ref_tensor *x, *y;
            double *expected;
            ops_begin(activations[n].type);
            if (activations[n].operation >= 0)
                ops_scalar("operation", REF_U32, activations[n].operation);
            for (size_t p = 0; p < 3 && activations[n].names[p] != NULL; ++p)
                ops_scalar(activations[n].names[p], REF_F32, activations[n].values[p]);
            x = ops_in(reals[t], "3,2,201"); y = ops_out(reals[t], "3,2,201");
            ops_random(x, -7, 8);
            expected = ops_doubles(y);
            for (uint64_t i = 0; i < y->count; ++i)
                expected[i] = activations[n].f(ops_real(x, i));
            TRY(ops_run(expected));
        }
    }
    ops_end();
}

TEST(prelu_has_a_slope_per_channel_or_one)
{
    static const char *const slopes[] = { "1", "5", "1,1,5", "1,1" };
    for (size_t s = 0; s < COUNT(slopes); ++s) {
        for (size_t t = 0; t < COUNT(reals); ++t) {
            ref_tensor *x, *alpha, *y;
            double *expected;
            ops_begin("Prelu");
            x = ops_in(reals[t], "4,70,5");
            /* alpha has its own type when x has a fixed-point type. */
            alpha =
                ops_in(ref_is_quantized(reals[t]) && s % 2 == 1 ? REF_S8Q : reals[t], slopes[s]);
            y = ops_out(reals[t], "4,70,5");
            ops_random(x, -2, 2);
            ops_random(alpha, -0.5, 1);
            expected = ops_doubles(y);
            for (uint64_t i = 0; i < y->count; ++i)
                expected[i] = ops_real(x, i) > 0.0 ?
                                  ops_real(x, i) :
                                  ops_real(x, i) * ops_real(alpha, i % alpha->count);
            TRY(ops_run(expected));
        }
    }
    ops_end();
}

static void one_begin(const char *type, uint32_t x, const char *x_shape, uint32_t y,
                      const char *y_shape)
{
    ops_begin(type);
    with_range(ops_in(x, x_shape));
    with_range(ops_out(y, y_shape));
}

TEST(unary_and_activation_refusals_say_why)
{
    one_begin("ElementWiseExp", REF_F32, "2,3", REF_F32, "6");
        TRY(ops_refused("output 0 \"t1\" is [6], expected [2, 3]"));
    one_begin("ElementWiseExp", REF_U8Q, "2,3", REF_F32, "2,3");
        TRY(ops_refused("output 0 \"t1\" is FLOAT_32, expected UFIXED_POINT_8"));
    one_begin("ElementWiseExp", REF_I32, "2", REF_I32, "2");
        TRY(ops_refused("input 0 \"t0\" is INT_32, ElementWiseExp takes FLOAT_32"));
    one_begin("ElementWiseUnary", REF_F32, "2", REF_F32, "2"); ops_scalar("operation", REF_U32, 16);
        TRY(ops_refused("parameter \"operation\" is 16, expected 0 to 15"));
    one_begin("ElementWiseUnary", REF_I32, "2", REF_I32, "2"); ops_scalar("operation", REF_U32, 6);
        TRY(ops_refused("input 0 \"t0\" is INT_32, which operation 6 (ElementWiseFloor) does not"
                        " take"));
    one_begin("ElementWiseUnary", REF_F32, "2", REF_F32, "2");
        TRY(ops_refused("parameter \"operation\" is missing"));

    one_begin("Relu", REF_I32, "2", REF_I32, "2");
        TRY(ops_refused("input 0 \"t0\" is INT_32, Relu takes"));
    one_begin("Relu", REF_F32, "2", REF_F32, "3");
        TRY(ops_refused("output 0 \"t1\" is [3], expected [2]"));
    one_begin("ReluMinMax", REF_F32, "2", REF_F32, "2"); ops_scalar("min_value", REF_F32, 2);
    ops_scalar("max_value", REF_F32, 1);
        TRY(ops_refused("\"min_value\" 2 is above \"max_value\" 1"));
    one_begin("ReluMinMax", REF_F32, "2", REF_F32, "2"); ops_scalar("min_value", REF_F32, 2);
        TRY(ops_refused("parameter \"max_value\" is missing"));
    one_begin("ElementWiseNeuron", REF_F32, "2", REF_F32, "2"); ops_scalar("operation", REF_U32, 9);
        TRY(ops_refused("parameter \"operation\" is 9, expected 0 to 8"));
    one_begin("ElementWiseNeuron", REF_F32, "2", REF_F32, "2"); ops_scalar("operation", REF_U32, 5);
        TRY(ops_refused("operation 5 (RELU_MIN_MAX) needs both"));
    one_begin("ElementWiseNeuron", REF_F32, "2", REF_F32, "2");
    ops_scalar("operation", REF_U32, 7); ops_scalar("beta", REF_F32, 0);
        TRY(ops_refused("parameter \"beta\" is 0, operation 7 (SOFTPLUS)"));
    two_begin("Prelu", REF_F32, "2,3", REF_F32, "2", REF_F32, "2,3");
        TRY(ops_refused("input 1 \"t1\" is [2], expected [1] or the last dimension"));
    two_begin("Prelu", REF_F32, "2,3", REF_F16, "3", REF_F32, "2,3");
        TRY(ops_refused("input 1 \"t1\" is FLOAT_16, expected FLOAT_32"));
    two_begin("Prelu", REF_U8Q, "2,3", REF_F32, "3", REF_U8Q, "2,3");
        TRY(ops_refused("input 1 \"t1\" is FLOAT_32, expected an 8- or 16-bit fixed-point type"));
    ops_end();
}

/* ---- ops_shape ------------------------------------------------------------------------------- */

/* Make a table of rows and columns as a parameter. */
static void numbers2(const char *name, uint32_t dtype, uint32_t columns, const char *numbers)
{
    ref_tensor *t = ops_numbers(name, dtype, numbers);
    t->rank = 2;
    t->dims[0] = (uint32_t)t->count / columns;
    t->dims[1] = columns;
}

static void u32(const char *name, const char *numbers) { ops_numbers(name, REF_U32, numbers); }
static void value(const char *name, uint32_t v)        { ops_scalar(name, REF_U32, v); }

static void set_nothing(void)     { }
static void set_axis0(void)       { value("axis", 0); }
static void set_axis2(void)       { value("axis", 2); }
static void set_axes02(void)      { u32("axes", "0,2"); }
static void set_axes20(void)      { u32("axes", "2,0"); }
static void set_perm201(void)     { u32("perm", "2,0,1"); }
static void set_perm102(void)     { u32("perm", "1,0,2"); }
static void set_perm_all(void)    { u32("perm", "7,6,5,4,3,2,1,0"); }
static void set_perm_none(void)   { u32("perm", "0,1"); }
static void set_tile(void)        { u32("multiples", "2,1,3"); }
static void set_tile_rows(void)   { u32("multiples", "1,4,1"); }
static void set_blocks(void)      { u32("block_size", "2,3"); }
static void set_blocks_crd(void)  { u32("block_size", "2,3"); value("mode", 1); }
static void set_groups(void)      { value("num_groups", 3); }
static void set_groups1(void)     { value("num_groups", 2); value("axis", 1); }
static void set_slice(void)       { numbers2("ranges", REF_I32, 3, "1,4,1,0,5,2,6,1,-2"); }
static void set_slice_negative(void) { numbers2("ranges", REF_I32, 3, "-3,-1,1,-1,-6,-3,0,7,1"); }
static void set_slice_masks(void)
{
    numbers2("ranges", REF_I32, 3, "3,1,1,2,2,-1,1,7,1");
    value("begin_mask", 3);
    value("end_mask", 7);
}
static void set_slice_shrink(void)
{
    numbers2("ranges", REF_I32, 3, "2,0,1,1,4,1,-1,0,1");
    value("shrink_axes", 5);
}
static void set_slice_new(void)
{
    numbers2("ranges", REF_I32, 3, "0,0,0,1,3,1,4,5,1,0,0,0,0,7,3");
    value("new_axes_mask", 9);
    value("shrink_axes", 4);
}

/* Return the input element that becomes the output's element at o. */
static uint64_t in_order(const uint64_t *o, uint64_t flat)  { (void)o; return flat; }
static uint64_t from_201(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return (o[1] * 5 + o[2]) * 6 + o[0];
}
static uint64_t from_102(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return (o[1] * 5 + o[0]) * 6 + o[2];
}
static uint64_t from_all(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return ((((((o[7] * 2 + o[6]) * 2 + o[5]) * 1 + o[4]) * 3 + o[3]) * 2 + o[2]) * 1 + o[1]) * 2 +
           o[0];
}
static uint64_t from_tile(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return (o[0] % 2 * 3 + o[1]) * 4 + o[2] % 4;
}
static uint64_t from_rows(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return (o[0] * 3 + o[1] % 3) * 4 + o[2];
}
/* Depth [2, 2, 3, 24] with 2 x 3 blocks of 4 channels, wide [2, 4, 9, 4]. */
static uint64_t deep(uint64_t n, uint64_t h, uint64_t w, uint64_t c)
{
    return ((n * 2 + h) * 3 + w) * 24 + c;
}
static uint64_t wide(uint64_t n, uint64_t h, uint64_t w, uint64_t c)
{
    return ((n * 4 + h) * 9 + w) * 4 + c;
}
static uint64_t from_deep(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return deep(o[0], o[1] / 2, o[2] / 3, (o[1] % 2 * 3 + o[2] % 3) * 4 + o[3]);
}
static uint64_t from_deep_crd(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return deep(o[0], o[1] / 2, o[2] / 3, o[3] * 6 + o[1] % 2 * 3 + o[2] % 3);
}
static uint64_t from_wide(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return wide(o[0], o[1] * 2 + o[3] / 4 / 3, o[2] * 3 + o[3] / 4 % 3, o[3] % 4);
}
static uint64_t from_wide_crd(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return wide(o[0], o[1] * 2 + o[3] % 6 / 3, o[2] * 3 + o[3] % 3, o[3] / 6);
}
static uint64_t from_groups(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return (o[0] * 4 + o[1]) * 6 + o[2] % 3 * 2 + o[2] / 3;
}
static uint64_t from_groups1(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return (o[0] * 4 + o[1] % 2 * 2 + o[1] / 2) * 6 + o[2];
}
/* Slices of [4, 5, 7]. */
static uint64_t whole(uint64_t a, uint64_t b, uint64_t c)         { return (a * 5 + b) * 7 + c; }
static uint64_t from_slice(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return whole(1 + o[0], 2 * o[1], 6 - 2 * o[2]);
}
static uint64_t from_negative(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return whole(1 + o[0], 4 - 3 * o[1], o[2]);
}
static uint64_t from_masks(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return whole(o[0], 4 - o[1], 1 + o[2]);
}
static uint64_t from_shrink(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return whole(2, 1 + o[0], 6);
}
static uint64_t from_new(const uint64_t *o, uint64_t flat)
{
    (void)flat;
    return whole(1 + o[1], 4, 3 * o[3]);
}

static const struct {
    const char *type, *in, *out;
    void (*set)(void);
    uint64_t (*from)(const uint64_t *o, uint64_t flat);
} moves[] = {
    { "Reshape", "2,3,4", "6,1,4", set_nothing, in_order },
    { "ExpandDims", "2,3", "2,3,1", set_axis2, in_order },
    { "ExpandDims", "2,3", "1,2,1,3", set_axes20, in_order },
    { "Squeeze", "1,2,1,3,1", "2,3", set_nothing, in_order },
    { "Squeeze", "1,2,1,3,1", "2,3,1", set_axes02, in_order },
    { "Transpose", "4,5,6", "6,4,5", set_perm201, from_201 },
    { "Transpose", "4,5,6", "5,4,6", set_perm102, from_102 },
    { "Transpose", "2,2,2,1,3,2,1,2", "2,1,2,3,1,2,2,2", set_perm_all, from_all },
    { "Transpose", "1,7", "1,7", set_perm_none, in_order },
    { "Tile", "2,3,4", "4,3,12", set_tile, from_tile },
    { "Tile", "2,3,4", "2,12,4", set_tile_rows, from_rows },
    { "DepthToSpace", "2,2,3,24", "2,4,9,4", set_blocks, from_deep },
    { "DepthToSpace", "2,2,3,24", "2,4,9,4", set_blocks_crd, from_deep_crd },
    { "SpaceToDepth", "2,4,9,4", "2,2,3,24", set_blocks, from_wide },
    { "SpaceToDepth", "2,4,9,4", "2,2,3,24", set_blocks_crd, from_wide_crd },
    { "ChannelShuffle", "2,4,6", "2,4,6", set_groups, from_groups },
    { "ChannelShuffle", "2,4,6", "2,4,6", set_groups1, from_groups1 },
    { "StridedSlice", "4,5,7", "3,3,3", set_slice, from_slice },
    { "StridedSlice", "4,5,7", "2,2,7", set_slice_negative, from_negative },
    { "StridedSlice", "4,5,7", "4,5,6", set_slice_masks, from_masks },
    { "StridedSlice", "4,5,7", "3", set_slice_shrink, from_shrink },
    { "StridedSlice", "4,5,7", "1,2,1,3", set_slice_new, from_new }
};

static uint64_t moved_from(const ref_tensor *y, uint64_t i,
                           uint64_t (*from)(const uint64_t *o, uint64_t flat))
{
    uint64_t o[REF_RANK], rest = i;
    for (uint32_t d = y->rank; d-- > 0; rest /= y->dims[d])
        o[d] = rest % y->dims[d];
    return from(o, i);
}

TEST(elements_move_in_every_type)
{
    for (size_t m = 0; m < COUNT(moves); ++m) {
        for (size_t t = 0; t < COUNT(every); ++t) {
            ref_tensor *x, *y;
            ops_begin(moves[m].type);
            moves[m].set();
            x = ops_in(every[t], moves[m].in);
            y = ops_out(every[t], moves[m].out);
            fill_bytes(x, 0.5f, -3);
            fill_bytes(y, 0.5f, -3);
            TRY(ops_run_node());
            for (uint64_t i = 0; i < y->count; ++i) {
                const int same = same_element(y, i, x, moved_from(y, i, moves[m].from));
                if (!same)
                    printf("%s, case %u, element %u\n", moves[m].type, (unsigned)m, (unsigned)i);
                CHECK(same);
            }
        }
    }
    ops_end();
}

static int requantizes(const char *type) { return strcmp(type, "StridedSlice") == 0; }

TEST(plain_copies_demand_one_encoding_and_slices_requantize)
{
    for (size_t m = 0; m < COUNT(moves); ++m) {
        for (size_t t = 2; t < COUNT(reals); ++t) {
            ref_tensor *x, *y;
            double *expected;
            ops_begin(moves[m].type);
            moves[m].set();
            x = ops_in(reals[t], moves[m].in);
            y = ops_out(reals[t], moves[m].out);
            fill_bytes(x, 0.5f, -3);
            ops_encode(y, REF_QUANT_PER_TENSOR, 1, 0.75f, -20);
            if (!requantizes(moves[m].type)) {
                TRY(ops_refused("has a different encoding than input 0"));
            } else {
                expected = ops_doubles(y);
                for (uint64_t i = 0; i < y->count; ++i)
                    expected[i] = ops_real(x, moved_from(y, i, moves[m].from));
                TRY(ops_run(expected));
            }
        }
    }
    ops_end();
}

/* Parts of [3, 12, 4] along axis 1 begin at 0, 2, 7. */
static const char *const part_shapes[3] = { "3,2,4", "3,5,4", "3,5,4" };
static const uint64_t part_begin[3] = { 0, 2, 7 }, part_size[3] = { 2, 5, 5 };

TEST(concat_and_split_are_each_others_reverse)
{
    for (size_t t = 0; t < COUNT(every); ++t) {
        for (int differ = 0; differ < 2; ++differ) {
            ref_tensor *all, *parts[3];
            if (differ && (ref_type_bit(every[t]) & REF_T_QUANT) == 0) continue;
            for (int split = 0; split < 2; ++split) {
                ops_begin(split ? "Split" : "Concat");
                value("axis", 1);
                if (split) u32("split_index", "2,7");
                for (size_t k = 0; k < 3; ++k) {
                    parts[k] = split ? ops_out(every[t], part_shapes[k]) :
                                       ops_in(every[t], part_shapes[k]);
                    fill_bytes(parts[k], differ ? 0.5f + (float)k / 8.0f : 0.5f,
                               differ ? (int32_t)k - 9 : 4);
                }
                all = split ? ops_in(every[t], "3,12,4") : ops_out(every[t], "3,12,4");
                fill_bytes(all, 0.5f, 4);
                TRY(ops_run_node());
                for (uint64_t i = 0; i < all->count; ++i) {
                    const uint64_t along = i / 4 % 12, k = along < 2 ? 0 : along < 7 ? 1 : 2;
                    const uint64_t j = (i / 48 * part_size[k] + along - part_begin[k]) * 4 + i % 4;
                    const ref_tensor *to = split ? parts[k] : all, *from = split ? all : parts[k];
                    const uint64_t to_i = split ? j : i, from_i = split ? i : j;
                    if (differ) {
                        double least, most,
                            code = ops_real(from, from_i) / (double)to->quant.scales[0];
                        ops_code_range(to->dtype, &least, &most);
                        code = (code < 0.0 ? -floor(0.5 - code) : floor(code + 0.5)) -
                               (double)to->quant.offsets[0];
                        CHECK(fabs(ops_code(to, to_i) - (code < least ? least :
                                                         code > most  ? most :
                                                                        code)) <= 1.0);
                    } else {
                        CHECK(same_element(to, to_i, from, from_i));
                    }
                }
            }
        }
    }
    ops_end();
}

TEST(pack_and_unpack_are_each_others_reverse)
{
    static const char *const shapes_of[3] = { "3,2,5", "2,3,5", "2,5,3" };
    for (size_t t = 0; t < COUNT(every); ++t) {
        for (uint32_t axis = 0; axis < 3; ++axis) {
            for (int unpack = 0; unpack < 2; ++unpack) {
                ref_tensor *all, *parts[3];
                ops_begin(unpack ? "UnPack" : "Pack");
                value("axis", axis);
                for (size_t k = 0; k < 3; ++k) {
                    parts[k] = unpack ? ops_out(every[t], "2,5") : ops_in(every[t], "2,5");
                    fill_bytes(parts[k], 0.5f, 4);
                }
                all =
                    unpack ? ops_in(every[t], shapes_of[axis]) : ops_out(every[t], shapes_of[axis]);
                fill_bytes(all, 0.5f, 4);
                TRY(ops_run_node());
                for (uint64_t k = 0; k < 3; ++k)
                    for (uint64_t i = 0; i < 10; ++i) {
                        const uint64_t r = i / 5, c = i % 5;
                        CHECK(same_element(parts[k], i, all,
                                           axis == 0 ? k * 10 + i :
                                           axis == 1 ? (r * 3 + k) * 5 + c :
                                                       i * 3 + k));
                    }
            }
        }
    }
    ops_end();
}

/* Return the source of place i of a dimension of n, with `before` places in front; -1: the
   constant. */
static int padded_from(uint32_t scheme, int i, int before, int n)
{
    i -= before;
    while (scheme != 0 && (i < 0 || i >= n)) {
        if (scheme == 1) i = i < 0 ? -i - 1 : 2 * n - i - 1;
        if (scheme == 2) i = i < 0 ? -i : 2 * n - i - 2;
        if (scheme == 3) i = i < 0 ? 0 : n - 1;
    }
    return i < 0 || i >= n ? -1 : i;
}

TEST(pad_has_four_schemes)
{
    for (uint32_t scheme = 0; scheme < 4; ++scheme) {
        for (size_t t = 0; t < COUNT(every); ++t) {
            for (int differ = 0; differ < 2; ++differ) {
                const int real = (ref_type_bit(every[t]) & REF_T_REAL) != 0;
                const double constant = every[t] == REF_BOOL ? 1.0 :
                                        every[t] == REF_I32  ? -2147483647.0 :
                                                               3.0;
                ref_tensor *x, *y;
                if (differ && (ref_type_bit(every[t]) & REF_T_QUANT) == 0) continue;
                if (scheme == 0 && (every[t] == REF_S32Q || every[t] == REF_U32Q)) continue;
                ops_begin("Pad");
                value("scheme", scheme);
                numbers2("pad_amount", REF_U32, 2, "0,1,2,0,1,3");
                if (scheme == 0)
                    ops_scalar("pad_constant_value", real ? REF_F32 : every[t], constant);
                x = ops_in(every[t], "2,3,4"); y = ops_out(every[t], "3,5,8");
                fill_bytes(x, 0.5f, -3);
                fill_bytes(y, differ ? 0.75f : 0.5f, differ ? -5 : -3);
                TRY(ops_run_node());
                for (uint32_t i = 0; i < y->count; ++i) {
                    const int a = padded_from(scheme, (int)(i / 40), 0, 2),
                              b = padded_from(scheme, (int)(i / 8 % 5), 2, 3);
                    const int c = padded_from(scheme, (int)(i % 8), 1, 4);
                    if (a < 0 || b < 0 || c < 0) {
                        const double found =
                            every[t] == REF_I64 ? (double)((int64_t *)y->data)[i] :
                            every[t] == REF_U64 ? (double)((uint64_t *)y->data)[i] :
                                                  ops_real(y, i);
                        CHECK(found == constant);
                    } else if (!differ) {
                        CHECK(same_element(y, i, x, (uint64_t)((a * 3 + b) * 4 + c)));
                    } else {
                        double least, most,
                            expected = ops_real(x, (uint64_t)((a * 3 + b) * 4 + c)) / 0.75;
                        ops_code_range(every[t], &least, &most);
                        expected =
                            (expected < 0.0 ? -floor(0.5 - expected) : floor(expected + 0.5)) + 5.0;
                        expected = expected < least ? least : expected > most ? most : expected;
                        CHECK(fabs(ops_code(y, i) - expected) <= 1.0);
                    }
                }
            }
        }
    }
    ops_end();
}

static void shape_begin(const char *type, const char *in, const char *out)
{
    ops_begin(type);
    ops_in(REF_F32, in);
    ops_out(REF_F32, out);
}

TEST(shape_refusals_say_why)
{
    shape_begin("Reshape", "2,3", "7");
        TRY(ops_refused("is [7], 7 elements; input 0 \"t0\" is [2, 3], 6 elements"));
    one_begin("Reshape", REF_I32, "2", REF_U32, "2");
        TRY(ops_refused("\"t1\" is UINT_32, expected INT_32"));
    one_begin("Reshape", REF_S8Q, "2", REF_S8Q, "2"); ops_encode_channels(&ops.tensors[0], 0, 1.0);
        TRY(ops_refused("input 0 \"t0\" has one scale per channel or block"));
    shape_begin("ExpandDims", "2,3", "2,1,3");
        TRY(ops_refused("expected one of the parameters \"axis\" and \"axes\", found none"));
    set_axis0(); TRY(ops_refused("output 0 \"t1\" is [2, 1, 3], expected [1, 2, 3]"));
    set_axes02(); TRY(ops_refused("found both"));
    shape_begin("ExpandDims", "2,3", "2,1,3"); value("axis", 3);
        TRY(ops_refused("parameter \"axis\" is 3, expected 0 to 2"));
    shape_begin("ExpandDims", "2,3", "2,1,3"); set_axes02();
        TRY(ops_refused("has rank 3, expected the 2 of input 0 and 2 axes"));
    shape_begin("ExpandDims", "2,3", "2,3"); set_axis0();
        TRY(ops_refused("has rank 2, expected 3, one more"));
    shape_begin("Squeeze", "1,3", "3"); u32("axes", "1");
        TRY(ops_refused("\"axes\" has 1, but that dimension of input 0 \"t0\" is 3"));
    shape_begin("Squeeze", "1,3", "3"); u32("axes", "2");
        TRY(ops_refused("\"axes\" has 2 at index 0, expected 0 to 1"));
    shape_begin("Squeeze", "1,3", "3"); u32("axes", "0,0");
        TRY(ops_refused("\"axes\" has 0 twice"));
    shape_begin("Squeeze", "1,3", "3"); numbers2("axes", REF_U32, 1, "0");
        TRY(ops_refused("\"axes\" has rank 2, expected 1"));
    shape_begin("Squeeze", "1,1", "1");
        TRY(ops_refused("every dimension of input 0 \"t0\" would go"));
    shape_begin("Squeeze", "1,3", "1,3");
        TRY(ops_refused("output 0 \"t1\" is [1, 3], expected [3]"));
    shape_begin("Transpose", "2,3", "3,2"); u32("perm", "1,1");
        TRY(ops_refused("\"perm\" has 1 at index 1, expected each of 0 to 1 once"));
    shape_begin("Transpose", "2,3", "3,2"); u32("perm", "2,0");
        TRY(ops_refused("\"perm\" has 2 at index 0"));
    shape_begin("Transpose", "2,3", "3,2"); u32("perm", "0");
        TRY(ops_refused("perm \"t2\" is [1], expected [2]"));
    shape_begin("Transpose", "2,3", "2,3"); u32("perm", "1,0");
        TRY(ops_refused("is [2, 3], expected [3, 2]"));

    shape_begin("Concat", "2,3", "2,7"); ops_in(REF_F32, "2,3"); value("axis", 1);
        TRY(ops_refused("is [2, 7], expected [2, 6]"));
    shape_begin("Concat", "2,3", "2,6"); ops_in(REF_F32, "3,3"); value("axis", 1);
        TRY(ops_refused("input \"t2\" is [3, 3], expected [2, 3]"));
    shape_begin("Concat", "2,3", "2,6"); ops_in(REF_F16, "2,3"); value("axis", 1);
        TRY(ops_refused("input \"t2\" is FLOAT_16, expected FLOAT_32"));
    shape_begin("Concat", "2,3", "2,6"); ops_in(REF_F32, "2"); value("axis", 1);
        TRY(ops_refused("input \"t2\" is [2], expected [2, 3]"));
    shape_begin("Concat", "2,3", "2,6"); ops_in_absent(); value("axis", 1);
        TRY(ops_refused("input 1 is absent, but Concat needs it"));
    shape_begin("Concat", "2,3", "2,3"); value("axis", 2);
        TRY(ops_refused("parameter \"axis\" is 2, expected 0 to 1"));
    shape_begin("Concat", "2,3", "2,3"); TRY(ops_refused("parameter \"axis\" is missing"));
    shape_begin("Split", "6", "2"); value("axis", 0); u32("split_index", "2");
        TRY(ops_refused("1 output, Split has at least 2"));
    shape_begin("Split", "6", "2"); ops_out(REF_F32, "4"); value("axis", 0);
    u32("split_index", "0");
        TRY(ops_refused("\"split_index\" has 0 at index 0"));
    shape_begin("Split", "6", "6"); ops_out(REF_F32, "4"); value("axis", 0);
    u32("split_index", "6");
        TRY(ops_refused("\"split_index\" has 6 at index 0"));
    shape_begin("Split", "6", "2"); ops_out(REF_F32, "4"); value("axis", 0);
    u32("split_index", "7");
        TRY(ops_refused("\"split_index\" has 7 at index 0"));
    shape_begin("Split", "6", "2"); ops_out(REF_F32, "4"); value("axis", 0);
    u32("split_index", "3");
        TRY(ops_refused("output \"t1\" is [2], expected [3]"));
    shape_begin("Split", "6", "2"); ops_out(REF_F32, "4"); value("axis", 0);
    u32("split_index", "2,3");
        TRY(ops_refused("split_index \"t3\" is [2], expected [1]"));
    shape_begin("Pack", "2,3", "2,2,3"); value("axis", 0);
        TRY(ops_refused("is [2, 2, 3], expected [1, 2, 3]"));
    shape_begin("Pack", "2,3", "2,2,3"); ops_in(REF_F32, "3,2"); value("axis", 0);
        TRY(ops_refused("input \"t2\" is [3, 2], expected [2, 3]"));
    shape_begin("Pack", "2,3", "1,2,3"); value("axis", 3);
        TRY(ops_refused("parameter \"axis\" is 3, expected 0 to 2"));
    shape_begin("Pack", "1,1,1,1,1,1,1,2", "2"); value("axis", 0);
        TRY(ops_refused("has rank 8, expected at most 7"));
    shape_begin("UnPack", "2,3", "3"); value("axis", 0);
        TRY(ops_refused("input 0 \"t0\" is [2, 3], expected [1, 3]"));
    one_begin("UnPack", REF_U8Q, "1,3", REF_U8Q, "3"); ops_encode_range(&ops.tensors[1], -2, 2);
    value("axis", 0);
        TRY(ops_refused("output \"t1\" has a different encoding than input 0 \"t0\""));

    shape_begin("StridedSlice", "4,5", "4,5"); numbers2("ranges", REF_I32, 3, "0,4,1");
        TRY(ops_refused("ranges \"t2\" is [1, 3], expected [2, 3]"));
    shape_begin("StridedSlice", "4", "4"); numbers2("ranges", REF_I32, 3, "0,5,1");
        TRY(ops_refused("row 0 of \"ranges\" ends at 5, expected -4 to 4"));
    shape_begin("StridedSlice", "4", "4"); numbers2("ranges", REF_I32, 3, "4,5,1");
        TRY(ops_refused("row 0 of \"ranges\" begins at 4, expected -4 to 3"));
    shape_begin("StridedSlice", "4", "4"); numbers2("ranges", REF_I32, 3, "0,4,0");
        TRY(ops_refused("row 0 of \"ranges\" has stride 0"));
    shape_begin("StridedSlice", "4", "4"); numbers2("ranges", REF_I32, 3, "2,1,1");
        TRY(ops_refused("row 0 of \"ranges\" (2 to 1 by 1) has no element"));
    shape_begin("StridedSlice", "4", "4"); numbers2("ranges", REF_I32, 3, "0,3,1");
        TRY(ops_refused("is [4], expected [3]"));
    shape_begin("StridedSlice", "4", "4"); numbers2("ranges", REF_I32, 3, "0,3,1");
    value("shrink_axes", 1);
        TRY(ops_refused("\"shrink_axes\" drops every axis"));
    shape_begin("StridedSlice", "4", "4"); numbers2("ranges", REF_I32, 3, "0,3,2");
    value("shrink_axes", 1);
        TRY(ops_refused("has stride 2, expected 1"));
    shape_begin("StridedSlice", "4", "4"); numbers2("ranges", REF_I32, 3, "0,3,1");
    value("end_mask", 2);
        TRY(ops_refused("\"end_mask\" is 2, \"ranges\" has only 1 rows"));
    shape_begin("StridedSlice", "4", "1,4"); numbers2("ranges", REF_I32, 3, "0,0,0,0,4,1");
    value("new_axes_mask", 1); value("shrink_axes", 1);
        TRY(ops_refused("row 0 of \"ranges\" is in \"new_axes_mask\" and in \"shrink_axes\""));
    shape_begin("StridedSlice", "4", "1,4"); numbers2("ranges", REF_I32, 3, "0,0,0,0,4,1");
    value("new_axes_mask", 0xFFFFFFFFu);
        TRY(ops_refused("ranges \"t2\" is [2, 3], expected [33, 3]"));
    shape_begin("StridedSlice", "1,1,1,1,1,1,1,4", "4"); value("new_axes_mask", 1);
    numbers2("ranges", REF_I32, 3, "0,1,1,0,1,1,0,1,1,0,1,1,0,1,1,0,1,1,0,1,1,0,1,1,0,4,1");
        TRY(ops_refused("the output would have more than 8 dimensions"));
    shape_begin("Tile", "2,3", "2,6"); u32("multiples", "1,3");
        TRY(ops_refused("is [2, 6], expected [2, 9]"));
    shape_begin("Tile", "2,3", "2,6"); u32("multiples", "0,2");
        TRY(ops_refused("\"multiples\" has 0 at index 0"));
    shape_begin("Tile", "2,3", "2,6"); u32("multiples", "1,-1");
        TRY(ops_refused("makes a dimension of 12884901885"));

    shape_begin("Pad", "3", "4"); value("scheme", 4); numbers2("pad_amount", REF_U32, 2, "1,0");
        TRY(ops_refused("\"scheme\" is 4, expected 0 to 3"));
    shape_begin("Pad", "3", "4"); value("scheme", 0); numbers2("pad_amount", REF_U32, 1, "1,0");
        TRY(ops_refused("pad_amount \"t2\" is [2, 1], expected [1, 2]"));
    shape_begin("Pad", "3", "7"); value("scheme", 1); numbers2("pad_amount", REF_U32, 2, "4,0");
        TRY(ops_refused("4 and 0 for axis 0, which mirrors at most 3"));
    shape_begin("Pad", "3", "6"); value("scheme", 2); numbers2("pad_amount", REF_U32, 2, "0,3");
        TRY(ops_refused("which mirrors at most 2"));
    shape_begin("Pad", "3", "4"); value("scheme", 0); numbers2("pad_amount", REF_U32, 2, "1,1");
        TRY(ops_refused("is [4], expected [5]"));
    shape_begin("Pad", "3", "4"); value("scheme", 0); numbers2("pad_amount", REF_U32, 2, "-1,1");
        TRY(ops_refused("makes axis 0 longer than a dimension holds"));
    shape_begin("Pad", "3", "4"); value("scheme", 0); numbers2("pad_amount", REF_U32, 2, "1,0");
    value("pad_constant_value", 1);
        TRY(ops_refused("\"pad_constant_value\" is UINT_32, expected FLOAT_32"));

    shape_begin("DepthToSpace", "1,2,2,24", "1,4,6,3"); set_blocks();
        TRY(ops_refused("\"t0\" [1, 2, 2, 24] and \"t1\" [1, 4, 6, 3] do not belong together"));
    shape_begin("DepthToSpace", "1,2,2,24", "1,4,6,4"); u32("block_size", "0,2");
        TRY(ops_refused("\"block_size\" is [0, 2]"));
    shape_begin("DepthToSpace", "1,2,2,24", "1,4,6,4"); set_blocks(); value("mode", 2);
        TRY(ops_refused("\"mode\" is 2, expected 0 (DCR) or 1 (CRD)"));
    shape_begin("SpaceToDepth", "1,4,6,4", "2,2,24"); set_blocks();
        TRY(ops_refused("do not belong together"));
    shape_begin("ChannelShuffle", "2,6", "2,6"); value("num_groups", 4);
        TRY(ops_refused("\"num_groups\" is 4, expected a divisor of the 6 of axis 1"));
    shape_begin("ChannelShuffle", "2,6", "2,6"); value("num_groups", 0);
        TRY(ops_refused("\"num_groups\" is 0"));
    shape_begin("ChannelShuffle", "2,6", "2,6"); value("num_groups", 2); value("axis", 2);
        TRY(ops_refused("\"axis\" is 2, expected 0 to 1"));
    ops_end();
}

/* ---- ops_index ------------------------------------------------------------------------------- */

static ref_tensor *index_in(uint32_t dtype, const char *shape, const char *numbers)
{
    ref_tensor *t = ops_in(dtype, shape);
    char *end;
    for (uint64_t i = 0; i < t->count; ++i, numbers = end + 1)
        ((int32_t *)t->data)[i] = (int32_t)strtol(numbers, &end, 10);
    return t;
}

static int64_t index_of(const ref_tensor *t, uint64_t i) { return (int64_t)ops_code(t, i); }

TEST(gather_takes_slices_of_every_type)
{
    for (size_t t = 0; t < COUNT(every); ++t) {
        for (uint32_t axis = 0; axis < 3; ++axis) {
            static const char *const outs[3] = { "2,3,4,5", "3,2,3,5", "3,4,2,3" };
            static const uint64_t before[3] = { 1, 3, 12 }, after[3] = { 20, 5, 1 },
                                  dim[3] = { 3, 4, 5 };
            ref_tensor *x, *index, *y;
            ops_begin("Gather");
            ops_scalar("axis", REF_I32, axis);
            x = ops_in(every[t], "3,4,5");
            index = index_in(t % 2 == 0 ? REF_I32 : REF_U32, "2,3", "2,0,1,1,2,2");
            index->fixed = t % 3 == 0;
            y = ops_out(every[t], outs[axis]);
            fill_bytes(x, 0.5f, 3);
            fill_bytes(y, 0.5f, 3);
            TRY(ops_run_node());
            for (uint64_t b = 0; b < before[axis]; ++b)
                for (uint64_t i = 0; i < 6; ++i)
                    for (uint64_t a = 0; a < after[axis]; ++a)
                        CHECK(same_element(
                            y, (b * 6 + i) * after[axis] + a, x,
                            (b * dim[axis] + (uint64_t)index_of(index, i)) * after[axis] + a));
        }
    }
    ops_end();
}

TEST(gather_elements_takes_single_elements)
{
    for (size_t t = 0; t < COUNT(every); ++t) {
        ref_tensor *x, *index, *y;
        ops_begin("GatherElements");
        value("axis", 1);
        x = ops_in(every[t], "3,4,2");
        /* Shorter along axis 0, longer along axis 1. */
        index = index_in(REF_I32, "2,5,2", "0,1,2,3,3,2,1,0,0,0,3,3,1,2,0,1,2,2,1,1");
        y = ops_out(every[t], "2,5,2");
        fill_bytes(x, 0.5f, 3);
        fill_bytes(y, 0.5f, 3);
        TRY(ops_run_node());
        for (uint64_t i = 0; i < 20; ++i)
            CHECK(same_element(y, i, x, (i / 10 * 4 + (uint64_t)index_of(index, i)) * 2 + i % 2));
    }
    ops_end();
}

TEST(gather_nd_takes_elements_slices_and_batches)
{
    static const struct {
        const char *index, *numbers, *out;
        int batch;
        uint64_t from[8];
    } cases[] = { { "2,3", "1,2,1,0,0,1", "2", -1, { 11, 1 } },
                  { "2,2", "1,2,0,1", "2,2", 0, { 10, 11, 2, 3 } },
                  { "1,1", "1", "1,3,2", 0, { 6, 7, 8, 9, 10, 11 } },
                  { "3", "1,0,1", "1", 0, { 7 } },
                  { "2,2,1", "2,0,1,1", "2,2,2", 1, { 4, 5, 0, 1, 8, 9, 8, 9 } },
                  { "2,3,1", "1,0,1,0,0,1", "2,3", 2, { 1, 2, 5, 6, 8, 11 } } };
    for (size_t n = 0; n < COUNT(cases); ++n) {
        for (size_t t = 0; t < COUNT(every); ++t) {
            ref_tensor *x, *y;
            ops_begin("GatherNd");
            if (cases[n].batch >= 0) ops_scalar("batch_dims", REF_U32, cases[n].batch);
            x = ops_in(every[t], "2,3,2");
            index_in(REF_U32, cases[n].index, cases[n].numbers);
            y = ops_out(every[t], cases[n].out);
            fill_bytes(x, 0.5f, 3);
            fill_bytes(y, 0.5f, 3);
            TRY(ops_run_node());
            for (uint64_t i = 0; i < y->count; ++i)
                CHECK(same_element(y, i, x, cases[n].from[i]));
        }
    }
    ops_end();
}

static double reduced(uint32_t reduction, double a, double b)
{
    return reduction == 0 ? b : reduction == 1 ? a + b : reduction == 2 ? a * b : a > b ? a : b;
}

TEST(scatter_nd_sets_adds_and_multiplies)
{
    static const uint32_t types[] = { REF_F32,  REF_F16, REF_U8Q, REF_S8Q, REF_U16Q,
                                      REF_S16Q, REF_I32, REF_U32, REF_BOOL };
    static const struct {
        const char *index, *numbers, *updates;
        uint64_t piece;
        uint64_t to[6];
    } cases[] = { { "2,1", "3,1", "2,6", 6, { 18, 6 } },
                  { "3,2", "3,1,1,5,0,0", "3", 1, { 19, 11, 0 } },
                  { "1,2,1", "1,1", "1,2,6", 6, { 6, 6 } }, /* the same index twice */
                  { "2", "2,3", "1", 1, { 15 } } };
    for (size_t n = 0; n < COUNT(cases); ++n) {
        for (size_t t = 0; t < COUNT(types); ++t) {
            for (uint32_t reduction = 0; reduction < 3; ++reduction) {
                ref_tensor *x, *updates, *y;
                double *expected;
                if (reduction > 0 && (types[t] == REF_U32 || types[t] == REF_BOOL)) continue;
                ops_begin("ScatterNd");
                if (reduction > 0 || n > 0) value("reduction", reduction);
                x = ops_in(types[t], "4,6");
                index_in(REF_I32, cases[n].index, cases[n].numbers);
                updates = ops_in(types[t], cases[n].updates);
                y = ops_out(types[t], "4,6");
                fill_eighths(x);
                fill_eighths(updates);
                expected = ops_doubles(y);
                for (uint64_t i = 0; i < y->count; ++i)
                    expected[i] = ops_real(x, i);
                for (uint64_t u = 0; u < updates->count; ++u) {
                    double *to = &expected[cases[n].to[u / cases[n].piece] + u % cases[n].piece];
                    *to = reduced(reduction, *to, ops_real(updates, u));
                }
                TRY(ops_run(expected));
            }
        }
    }
    ops_end();
}

TEST(scatter_elements_has_four_reductions)
{
    static const uint32_t types[] = { REF_F32,  REF_F16,  REF_U8Q, REF_S8Q,
                                      REF_U16Q, REF_S16Q, REF_I32, REF_U8 };
    for (size_t t = 0; t < COUNT(types); ++t) {
        for (uint32_t reduction = 0; reduction < 4; ++reduction) {
            for (uint32_t axis = 0; axis < 2; ++axis) {
                ref_tensor *x, *index, *updates, *y;
                double *expected;
                if (reduction > 0 && types[t] == REF_U8) continue;
                ops_begin("ScatterElements");
                if (axis > 0 || reduction == 0) value("axis", axis);
                if (reduction > 0) value("reduction", reduction);
                x = ops_in(types[t], "3,4");
                index = index_in(REF_U32, "2,3", "0,2,1,1,2,0");
                updates = ops_in(types[t], "2,3");
                y = ops_out(types[t], "3,4");
                fill_eighths(x);
                fill_eighths(updates);
                if (types[t] == REF_I32) ((int32_t *)updates->data)[0] = -1000;
                expected = ops_doubles(y);
                for (uint64_t i = 0; i < y->count; ++i)
                    expected[i] = ops_real(x, i);
                for (uint64_t u = 0; u < 6; ++u) {
                    const uint64_t at = (uint64_t)index_of(index, u);
                    double *to = &expected[axis == 0 ? at * 4 + u % 3 : u / 3 * 4 + at];
                    *to = reduced(reduction, *to, ops_real(updates, u));
                }
                TRY(ops_run(expected));
            }
        }
    }
    ops_end();
}

TEST(a_quantized_sum_is_rounded_once)
{
    /* 0.4 + 0.4 + 0.4 of codes of 1: rounded after each addition, the sum stays 0. */
    ref_tensor *x, *updates, *y;
    ops_begin("ScatterNd");
    value("reduction", 1);
    x = ops_in(REF_U8Q, "1");
    index_in(REF_I32, "3,1", "0,0,0");
    updates = ops_in(REF_U8Q, "3");
    y = ops_out(REF_U8Q, "1");
    ops_encode(x, REF_QUANT_PER_TENSOR, 1, 0.4f, 0);
    ops_encode(updates, REF_QUANT_PER_TENSOR, 1, 0.4f, 0);
    ops_encode(y, REF_QUANT_PER_TENSOR, 1, 1.0f, 0);
    memset(updates->data, 1, 3);
    TRY(ops_run_node());
    CHECK_EQ(*(uint8_t *)y->data, 1);
    ops_end();
}

TEST(one_hot_of_every_type)
{
    static const uint32_t types[] = { REF_F32,  REF_F16, REF_U8Q, REF_S8Q, REF_U16Q,
                                      REF_S16Q, REF_I32, REF_U32, REF_BOOL };
    static const char *const outs[3] = { "4,2,3", "2,4,3", "2,3,4" };
    for (size_t t = 0; t < COUNT(types); ++t) {
        for (uint32_t axis = 0; axis < 3; ++axis) {
            for (int given = 0; given < 2; ++given) {
                const int real = (ref_type_bit(types[t]) & REF_T_REAL) != 0;
                const double on = !given               ? 1.0 :
                                  types[t] == REF_BOOL ? 0.0 :
                                                         5.0,
                             off = !given ? 0.0 : 1.0;
                ref_tensor *index, *y;
                double *expected;
                ops_begin("OneHot");
                value("depth", 4);
                value("axis", axis);
                if (given) ops_scalar("on_value", real ? REF_F32 : types[t], on);
                if (given) ops_scalar("off_value", real ? REF_F32 : types[t], off);
                /* The indices 4 and -1 are not classes. */
                index = index_in(REF_I32, "2,3", "0,3,4,2,-1,2");
                y = ops_out(types[t], outs[axis]);
                if (ref_is_quantized(types[t])) ops_encode(y, REF_QUANT_PER_TENSOR, 1, 0.5f, -2);
                expected = ops_doubles(y);
                for (uint64_t i = 0; i < 24; ++i) {
                    const uint64_t from = axis == 0 ? i % 6 :
                                          axis == 1 ? i / 12 * 3 + i % 3 :
                                                      i / 4;
                    const uint64_t class = axis == 0 ? i / 6 : axis == 1 ? i / 3 % 4 : i % 4;
                    expected[i] = index_of(index, from) == (int64_t)class ? on : off;
                }
                TRY(ops_run(expected));
            }
        }
    }
    ops_end();
}

TEST(non_zero_lists_places_then_minus_ones)
{
    static const uint32_t types[] = { REF_F32,  REF_F16, REF_U8Q, REF_S8Q, REF_U16Q,
                                      REF_S16Q, REF_I32, REF_U32, REF_BOOL };
    for (size_t t = 0; t < COUNT(types); ++t) {
        static const int32_t expected[12] = { 0, 1, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1 };
        const float values[6] = { 0, 1, 0, types[t] == REF_U32 ? 2.0f : -2.0f, 0, 0 };
        ref_tensor *x, *y;
        ops_begin("NonZero");
        x = ops_in(types[t], "2,3");
        y = ops_out(t % 2 == 0 ? REF_I32 : REF_U32, "6,2");
        if (ref_is_quantized(types[t])) ops_encode(x, REF_QUANT_PER_TENSOR, 1, 0.5f, -4);
        ref_store(x, 0, 6, values);
        TRY(ops_run_node());
        CHECK(memcmp(y->data, expected, sizeof expected) == 0);
    }
    ops_end();
}

static void index_begin(const char *type, const char *in, const char *shape, const char *numbers,
                        const char *out)
{
    ops_begin(type);
    ops_in(REF_F32, in);
    index_in(REF_I32, shape, numbers);
    ops_out(REF_F32, out);
}

TEST(indices_out_of_range_stop_run_or_check)
{
    static const struct {
        const char *type, *words, *shape, *numbers, *out;
        int updates;
    } cases[] = {
        { "Gather", "input 1 \"t1\" has 4 at element 2, expected 0 to 3", "3", "0,3,4", "3,3", 0 },
        { "Gather", "input 1 \"t1\" has -1 at element 0, expected 0 to 3", "3", "-1,3,4", "3,3",
          0 },
        { "GatherElements", "has 4 at element 5, expected 0 to 3", "2,3", "0,0,0,0,0,4", "2,3", 0 },
        { "GatherNd", "has 3 at element 3, expected 0 to 2", "2,2", "3,2,0,3", "2", 0 },
        { "ScatterNd", "has -2 at element 1, expected 0 to 3", "2,1", "0,-2", "4,3", 1 },
        { "ScatterElements", "has 9 at element 1, expected 0 to 3", "1,2", "0,9", "4,3", 2 }
    };
    for (size_t n = 0; n < COUNT(cases); ++n) {
        index_begin(cases[n].type, "4,3", cases[n].shape, cases[n].numbers, cases[n].out);
        if (strcmp(cases[n].type, "Gather") == 0) ops_scalar("axis", REF_I32, 0);
        if (strcmp(cases[n].type, "GatherElements") == 0) value("axis", 0);
        if (cases[n].updates == 1) ops_in(REF_F32, "2,3");
        if (cases[n].updates == 2) ops_in(REF_F32, "1,2");
        TRY(run_refused(cases[n].words));
        ops.tensors[1].fixed = 1;
        TRY(ops_refused(cases[n].words));
    }
    ops_end();
}

TEST(index_refusals_say_why)
{
    index_begin("Gather", "4,3", "2", "0,0", "2,3"); ops_scalar("axis", REF_I32, -1);
        TRY(ops_refused("\"axis\" is -1, expected 0 to 1"));
    index_begin("Gather", "4,3", "2", "0,0", "2,3"); value("axis", 0);
        TRY(ops_refused("\"axis\" is UINT_32, Gather expects INT_32"));
    index_begin("Gather", "4,3", "2", "0,0", "2,3"); ops_scalar("axis", REF_I32, 1);
        TRY(ops_refused("is [2, 3], expected [4, 2]"));
    index_begin("Gather", "4,3", "2", "0,0", "2,3"); ops_scalar("axis", REF_I32, 0);
    ops.tensors[1].dtype = REF_F32;
        TRY(ops_refused("input 1 \"t1\" is FLOAT_32, expected INT_32 or UINT_32"));
    index_begin("Gather", "1,1,1,1,1", "1,1,1,1,1", "0", "2,3"); ops_scalar("axis", REF_I32, 0);
        TRY(ops_refused("would have rank 9"));
    index_begin("Gather", "4,3", "2", "0,0", "2,3"); ops_scalar("axis", REF_I32, 0);
    ops.tensors[2].dtype = REF_F16;
        TRY(ops_refused("output 0 \"t2\" is FLOAT_16, expected FLOAT_32"));
    ops_begin("Gather"); ops_scalar("axis", REF_I32, 0); ops_random(ops_in(REF_U8Q, "4"), -1, 1);
    index_in(REF_I32, "1", "0");
    ops_random(ops_out(REF_U8Q, "1"), -2, 1);
        TRY(ops_refused("output 0 \"t2\" has a different encoding than input 0 \"t0\""));
    index_begin("GatherElements", "4,3", "2", "0,0", "2"); value("axis", 0);
        TRY(ops_refused("input 1 \"t1\" is [2], expected the rank of input 0"));
    index_begin("GatherElements", "4,3", "1,4", "0,0,0,0", "1,4"); value("axis", 0);
        TRY(ops_refused("no larger dimension"));
    index_begin("GatherElements", "4,3", "1,2", "0,0", "1,3"); value("axis", 0);
        TRY(ops_refused("is [1, 3], expected [1, 2]"));
    index_begin("GatherNd", "4,3", "1,3", "0,0,0", "1");
        TRY(ops_refused("has 3 indices per row after 0 batch dimensions"));
    index_begin("GatherNd", "4,3", "3,1", "0,0,0", "3"); value("batch_dims", 1);
        TRY(ops_refused("batch dimension 0 is 4 in input 0 \"t0\" and 3 in input 1"));
    index_begin("GatherNd", "4,3", "3,1", "0,0,0", "3"); value("batch_dims", 7);
        TRY(ops_refused("after 7 batch dimensions"));
    index_begin("GatherNd", "4,3", "3,1", "0,0,0", "3");
        TRY(ops_refused("is [3], expected [3, 3]"));
    index_begin("ScatterNd", "4,3", "1,1", "0", "4,3"); ops_in(REF_F32, "3");
        TRY(ops_refused("input 2 \"t3\" is [3], expected [1, 3]"));
    index_begin("ScatterNd", "4,3", "1,1", "0", "4,2"); ops_in(REF_F32, "1,3");
        TRY(ops_refused("is [4, 2], expected [4, 3]"));
    index_begin("ScatterNd", "4,3", "1,1", "0", "4,3"); ops_in(REF_F32, "1,3");
    value("reduction", 3);
        TRY(ops_refused("\"reduction\" is 3, expected 0 to 2"));
    index_begin("ScatterNd", "4,3", "1,1", "0", "4,3"); ops_in(REF_F32, "1,3");
    value("reduction", 1); ops.tensors[0].dtype = REF_U32;
        TRY(ops_refused("is UINT_32, which cannot be reduced"));
    ops_begin("ScatterNd"); ops_random(ops_in(REF_U8Q, "4"), -1, 1);
    index_in(REF_I32, "1,1", "0"); ops_random(ops_in(REF_U8Q, "1"), -2, 2);
    ops_random(ops_out(REF_U8Q, "4"), -2, 1);
        TRY(ops_refused("input 2 \"t2\" has a different encoding than input 0 \"t0\""));
    index_begin("ScatterElements", "4,3", "1,2", "0,0", "4,3"); ops_in(REF_F32, "2,1");
        TRY(ops_refused("input 2 \"t3\" is [2, 1], expected [1, 2]"));
    index_begin("ScatterElements", "4,3", "1,2", "0,0", "4,3"); ops_in(REF_F32, "1,2");
    value("reduction", 4);
        TRY(ops_refused("\"reduction\" is 4, expected 0 to 3"));
    index_begin("ScatterElements", "4,3", "1,2", "0,0", "4,3"); ops_in(REF_F32, "1,2");
    value("axis", 2);
        TRY(ops_refused("\"axis\" is 2, expected 0 to 1"));

    ops_begin("OneHot"); index_in(REF_I32, "2", "0,1"); ops_out(REF_F32, "2,3");
    value("depth", 4); value("axis", 1);
        TRY(ops_refused("is [2, 3], expected [2, 4]"));
    ops_begin("OneHot"); index_in(REF_I32, "2", "0,1"); ops_out(REF_F32, "2,3");
    value("depth", 0); value("axis", 1);
        TRY(ops_refused("\"depth\" is 0"));
    ops_begin("OneHot"); index_in(REF_I32, "2", "0,1"); ops_out(REF_F32, "2,3");
    value("depth", 3); value("axis", 2);
        TRY(ops_refused("\"axis\" is 2, expected 0 to 1"));
    ops_begin("OneHot"); index_in(REF_I32, "2", "0,1"); ops_out(REF_I64, "2,3");
    value("depth", 3); value("axis", 1);
        TRY(ops_refused("is INT_64, which OneHot does not make"));
    ops_begin("OneHot"); index_in(REF_I32, "2", "0,1"); ops_out(REF_F32, "2,3");
    value("depth", 3); value("axis", 1); value("off_value", 0);
        TRY(ops_refused("\"off_value\" is UINT_32, expected FLOAT_32 because output 0"));
    one_begin("NonZero", REF_F32, "2,3", REF_I32, "2,2");
        TRY(ops_refused("is [2, 2], expected [6, 2]"));
    one_begin("NonZero", REF_F32, "2,3", REF_I64, "6,2");
        TRY(ops_refused("is INT_64, expected INT_32 or UINT_32"));
    ops_end();
}

/* ---- ops_cast -------------------------------------------------------------------------------- */

static const uint32_t plain[] = { REF_F32, REF_F16, REF_I8,  REF_I16, REF_I32, REF_I64,
                                  REF_U8,  REF_U16, REF_U32, REF_U64, REF_BOOL };

static int signed_bits(uint32_t dtype)
{
    return dtype == REF_I8 || dtype == REF_I16 || dtype == REF_I32 || dtype == REF_I64
               ? (int)ref_type_bytes(dtype) * 8 - 1 : 0;
}

/* Read an integer of any type: its low 64 bits, and whether it is below 0. */
static uint64_t bits_of(const ref_tensor *t, uint64_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)t->data + i * ref_type_bytes(t->dtype), ref_type_bytes(t->dtype));
    if (signed_bits(t->dtype) > 0 && signed_bits(t->dtype) < 63 &&
        (bits >> signed_bits(t->dtype) & 1) != 0)
        bits |= ~(uint64_t)0 << signed_bits(t->dtype);
    return t->dtype == REF_BOOL ? bits != 0 : bits;
}

TEST(cast_goes_between_all_plain_types)
{
    static const float floats[16] = { 0.0f,    -0.4f,   1.6f,   -1.6f,  127.9f,   128.0f,
                                      -128.9f, -129.0f, 255.5f, 256.0f, 65504.0f, -40000.0f,
                                      3e9f,    -3e9f,   1e20f,  -1e20f };
    for (size_t a = 0; a < COUNT(plain); ++a) {
        for (size_t b = 0; b < COUNT(plain); ++b) {
            ref_tensor *x, *y;
            ops_begin("Cast");
            x = ops_in(plain[a], "17"); y = ops_out(plain[b], "17");
            fill_bytes(x, 1, 0);
            if (a < 2) {
                for (uint64_t i = 0; i < 16; ++i) {
                    if (a == 0) ((float *)x->data)[i] = floats[i];
                    else ((uint16_t *)x->data)[i] = ref_f32_to_f16(floats[i]);
                }
                if (a == 0) ((float *)x->data)[16] = (float)NAN;
                else ((uint16_t *)x->data)[16] = 0x7E00;
            }
            TRY(ops_run_node());
            for (uint64_t i = 0; i < 17; ++i) {
                if (a < 2 && b < 2) {
                    const float value = (float)ops_real(x, i);
                    const float expected = b == 0 ? value : ref_f16_to_f32(ref_f32_to_f16(value));
                    CHECK(isnan(value) ? isnan(ops_real(y, i)) : (float)ops_real(y, i) == expected);
                } else if (a < 2 && plain[b] == REF_BOOL) {
                    CHECK_EQ(((uint8_t *)y->data)[i], i != 0);
                } else if (a < 2) {
                    const int bits = (int)ref_type_bytes(plain[b]) * 8, low = signed_bits(plain[b]);
                    const double most = ldexp(1.0, low > 0 ? low : bits),
                                 least = low > 0 ? -most : 0.0;
                    const double value = trunc(ops_real(x, i));
                    const uint64_t mask = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
                    const uint64_t expected = isnan(value)  ? 0 :
                                              value >= most ? (low > 0 ? mask >> 1 : mask) :
                                              value < least ? (low > 0 ? (uint64_t)1 << low : 0) :
                                              value < 0.0   ? (uint64_t)0 - (uint64_t)-value :
                                                              (uint64_t)value;
                    CHECK_EQ(bits_of(y, i) & mask, expected & mask);
                } else if (b < 2) {
                    const uint64_t bits = bits_of(x, i);
                    const int negative = signed_bits(plain[a]) > 0 && bits >> 63 != 0;
                    const float value = negative ? -(float)(0 - bits) : (float)bits;
                    CHECK(b == 0 ? ((float *)y->data)[i] == value :
                                   ((uint16_t *)y->data)[i] == ref_f32_to_f16(value));
                } else if (plain[b] == REF_BOOL) {
                    CHECK_EQ(((uint8_t *)y->data)[i], bits_of(x, i) != 0);
                } else {
                    const int bits = (int)ref_type_bytes(plain[b]) * 8;
                    const uint64_t mask = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
                    CHECK_EQ(bits_of(y, i) & mask, bits_of(x, i) & mask);
                }
            }
        }
    }
    ops_end();
}

TEST(quantize_dequantize_and_convert)
{
    static const uint32_t types[] = { REF_F32,  REF_F16,  REF_U8Q, REF_S8Q,
                                      REF_U16Q, REF_S16Q, REF_S32Q };
    for (size_t a = 0; a < COUNT(types); ++a) {
        for (size_t b = 0; b < COUNT(types); ++b) {
            const char *type = a < 2 && b < 2                ? NULL :
                               a < 2 && types[b] != REF_S32Q ? "Quantize" :
                               b < 2                         ? "Dequantize" :
                                                               NULL;
            for (int convert = 0; convert < 2; ++convert) {
                ref_tensor *x, *y;
                double *expected;
                if ((a < 2 && b < 2) || (!convert && type == NULL)) continue;
                ops_begin(convert ? "Convert" : type);
                x = ops_in(types[a], "3,701"); y = ops_out(types[b], "3,701");
                if (types[a] == REF_S32Q) {
                    ops_encode(x, REF_QUANT_PER_TENSOR, 1, 0.001f, 0);
                    ops_fill(x, -3, 3);
                } else {
                    ops_random(x, -3, 2);
                }
                if (types[b] == REF_S32Q) ops_encode(y, REF_QUANT_PER_TENSOR, 1, 0.001f, 17);
                if (convert) ops_scalar("dynamic_input_data", REF_BOOL, 0);
                expected = ops_doubles(y);
                for (uint64_t i = 0; i < y->count; ++i)
                    expected[i] = ops_real(x, i);
                TRY(ops_run(expected));
            }
        }
    }
    ops_end();
}

TEST(dequantize_of_channels_uses_each_scale)
{
    ref_tensor *x, *y;
    double *expected;
    ops_begin("Dequantize");
    x = ops_in(REF_S8Q, "6,5"); y = ops_out(REF_F32, "6,5");
    ops_encode_channels(x, 1, 2.0);
    ops_fill(x, 0, 0);
    expected = ops_doubles(y);
    for (uint64_t i = 0; i < y->count; ++i)
        expected[i] = ops_code(x, i) * (double)x->quant.scales[i % 5];
    TRY(ops_run(expected));
    ops_end();
}

TEST(cast_refusals_say_why)
{
    one_begin("Cast", REF_U8Q, "2", REF_F32, "2");
        TRY(ops_refused("input 0 \"t0\" is UFIXED_POINT_8, which libraries cast differently: use"
                        " Dequantize"));
    one_begin("Cast", REF_F32, "2", REF_S16Q, "2");
        TRY(ops_refused("output 0 \"t1\" is SFIXED_POINT_16, which libraries cast differently: use"
                        " Quantize"));
    one_begin("Cast", REF_F32, "2", REF_I32, "3"); TRY(ops_refused("is [3], expected [2]"));
    one_begin("Quantize", REF_I32, "2", REF_U8Q, "2");
        TRY(ops_refused("input 0 \"t0\" is INT_32, Quantize takes FLOAT_32, FLOAT_16"));
    one_begin("Quantize", REF_F32, "2", REF_S32Q, "2");
        TRY(ops_refused("is SFIXED_POINT_32, expected an 8- or 16-bit fixed-point type"));
    one_begin("Quantize", REF_F32, "2", REF_U8Q, "1,2");
        TRY(ops_refused("is [1, 2], expected [2]"));
    one_begin("Dequantize", REF_I32, "2", REF_F32, "2");
        TRY(ops_refused("is INT_32, expected a fixed-point type"));
    one_begin("Dequantize", REF_U8Q, "2", REF_I32, "2");
        TRY(ops_refused("is INT_32, expected FLOAT_32 or FLOAT_16"));
    one_begin("Convert", REF_F32, "2", REF_F16, "2"); TRY(ops_refused("between floats, use Cast"));
    one_begin("Convert", REF_I32, "2", REF_U8Q, "2");
        TRY(ops_refused("input 0 \"t0\" is INT_32, expected a fixed-point or float type"));
    one_begin("Convert", REF_U8Q, "2", REF_I32, "2");
        TRY(ops_refused("output 0 \"t1\" is INT_32, expected a fixed-point or float type"));
    one_begin("Convert", REF_U8Q, "2", REF_U8Q, "2");
    ops_scalar("dynamic_output_data", REF_BOOL, 1);
        TRY(ops_refused("\"dynamic_output_data\" is true"));
    ops_end();
}

/* ---- any node, any data ---------------------------------------------------------------------- */

static void random_encoding(ref_tensor *t)
{
    static const float scales[] = { 0.5f, 1e-30f, 3e38f, 0.001f };
    const uint32_t axis = ops_pick(t->rank), other = (axis + 1) % t->rank;
    memset(&t->quant, 0, sizeof t->quant);
    if (!ref_is_quantized(t->dtype)) return;
    if (ops_pick(8) == 0 && t->dims[axis] < 100) {
        ops_encode_channels(t, axis, 1.0);
    } else if (ops_pick(8) == 0 && other != axis && t->dims[axis] < 100 && t->dims[other] < 100) {
        ops_encode_blocks(t, axis, other, t->dims[other], 1.0);
    } else {
        ops_encode(t, REF_QUANT_PER_TENSOR, 1, scales[ops_pick(12) < 9 ? 0 : ops_pick(4)],
                   ops_pick(8) == 0 ? (int32_t)ops_pick(1 << 24) - (1 << 23) : 0);
    }
}

/* Allocate memory for dtype and dims, with small numbers or any bytes. Nothing for huge tensors:
   those are checked and never run. */
static void random_data(ref_tensor *t)
{
    const int small = ops_pick(2) == 0;
    size_t bytes;
    t->count = 1;
    for (uint32_t i = 0; i < t->rank; ++i)
        t->count *= t->dims[i];
    bytes = (size_t)t->count * ref_type_bytes(t->dtype);
    t->data = NULL;
    if (t->count > 100000) return;
    t->data = ops_alloc(bytes);
    for (size_t i = 0; i < bytes; ++i)
        if (!small || i % ref_type_bytes(t->dtype) == 0)
            ((uint8_t *)t->data)[i] = (uint8_t)ops_pick(small ? 3 : 256);
}

static ref_tensor *random_tensor(uint32_t dtype, const ref_tensor *like)
{
    ref_tensor *t = ops_tensor(dtype, "1");
    if (like != NULL) {
        t->rank = like->rank;
        memcpy(t->dims, like->dims, sizeof t->dims);
    } else {
        static const uint32_t ranks[] = { 1, 2, 3, 4, 4, 4, 5, 8 };
        t->rank = ranks[ops_pick(COUNT(ranks))];
        for (uint32_t i = 0; i < t->rank; ++i)
            t->dims[i] = 1 + ops_pick(4);
    }
    if (ops_pick(60) == 0) t->dims[ops_pick(t->rank)] = 0x40000000u + ops_pick(0x40000000u);
    random_encoding(t);
    random_data(t);
    t->fixed = t->data != NULL && ops_pick(3) == 0;
    return t;
}

static void random_params(const ref_op *op, uint32_t rank)
{
    for (const ref_param_spec *spec = op->params; spec != NULL && spec->name != NULL; ++spec) {
        if ((spec->flags & REF_REQUIRED) == 0 && ops_pick(2) == 0) continue;
        if ((spec->flags & REF_TENSOR) != 0) {
            const uint32_t columns = ops_pick(2) == 0 ? 0 : 2 + ops_pick(2),
                           rows = ops_pick(4) == 0 ? 1 + ops_pick(3) : rank;
            char numbers[200] = "";
            size_t used = 0;
            for (uint32_t i = 0; i < rows * (columns > 0 ? columns : 1); ++i)
                used += (size_t)snprintf(
                    numbers + used, sizeof numbers - used, "%s%d", i > 0 ? "," : "",
                    ops_pick(40) == 0 ? INT32_MAX : (int)ops_pick(4) - (spec->dtype == REF_I32));
            if (columns > 0) numbers2(spec->name, spec->dtype, columns, numbers);
            else ops_numbers(spec->name, spec->dtype, numbers);
            ops.tensors[ops.tensor_count - 1].dtype = spec->dtype;
        } else {
            const double number = ops_pick(30) == 0 ? 4294967295.0 : (double)ops_pick(4);
            ops_scalar(spec->name, spec->dtype != 0 ? spec->dtype : REF_F32,
                       spec->dtype == REF_I32 && number > 4 ? -1 : number);
        }
    }
}

/* Give the tensor the value that the reason reports as expected. Return 0 if the reason has no such
   value. */
static int follow(const char *text)
{
    const char *name = strstr(text, "\"t"), *expected = strstr(text, "expected ");
    ref_tensor *t;
    char *end;
    uint32_t index;
    if (name == NULL || expected == NULL) return 0;
    index = (uint32_t)strtoul(name + 2, &end, 10);
    if (*end != '"' || index >= ops.tensor_count) return 0;
    t = &ops.tensors[index];
    expected += strlen("expected ");
    if (*expected == '[') {
        uint32_t rank = 0, dims[REF_RANK];
        const char *at = expected;
        do {
            const unsigned long dim = strtoul(at + 1, &end, 10);
            if (rank == REF_RANK || end == at + 1 || dim == 0) return 0;
            dims[rank++] = (uint32_t)dim;
            at = end;
        } while (*at == ',');
        if (*at != ']') return 0;
        t->rank = rank;
        memcpy(t->dims, dims, rank * sizeof dims[0]);
    } else {
        size_t d = 0;
        while (d < COUNT(every) &&
               strncmp(expected, ref_type_name(every[d]), strlen(ref_type_name(every[d]))) != 0)
            ++d;
        if (d == COUNT(every)) return 0;
        t->dtype = every[d];
    }
    random_encoding(t);
    random_data(t);
    if (t->data == NULL) t->fixed = 0;
    return 1;
}

TEST(what_check_accepts_is_safe_to_run)
{
    ref_why why;
    const ref_op *op;
    ops_seed = 20261121u;
    for (size_t o = 0; (op = ref_op_get(o)) != NULL; ++o) {
        unsigned accepted = 0;
        for (int turn = 0; turn < TEST_CASES(1500) || (accepted == 0 && turn < 1500); ++turn) {
            const uint32_t dtype = every[ops_pick(COUNT(every))];
            const uint32_t ins = op->in_least + ops_pick((op->in_most == 255 ? 3u : op->in_most) -
                                                         op->in_least + 1u);
            const uint32_t outs =
                op->out_least +
                ops_pick((op->out_most == 255 ? 3u : op->out_most) - op->out_least + 1u);
            int ok;
            ops_begin(op->type);
            for (uint32_t i = 0; i < ins; ++i)
                ops.in[ops.node.in_count++] =
                    random_tensor(ops_pick(6) == 0 ? every[ops_pick(COUNT(every))] : dtype,
                                  i > 0 && ops_pick(2) == 0 ? &ops.tensors[0] : NULL);
            for (uint32_t i = 0; i < outs; ++i)
                ops.out[ops.node.out_count++] =
                    random_tensor(dtype, ops_pick(2) == 0 ? &ops.tensors[0] : NULL);
            random_params(op, ops.tensors[0].rank);
            ok = ref_op_check(&ops.node, &why);
            for (int i = 0; i < 8 && !ok && follow(why.text); ++i)
                ok = ref_op_check(&ops.node, &why);
            if (!ok) {
                CHECK(why.text[0] != '\0');
                continue;
            }
            for (uint32_t i = 0; i < ops.node.in_count + ops.node.out_count; ++i)
                ok = ok && ops.tensors[i].data != NULL;
            if (op->scratch != NULL) (void)op->scratch(&ops.node);
            if (!ok) continue;
            ++accepted;
            why.text[0] = '\0';
            ok = op->run(&ops.node, ops_alloc(op->scratch != NULL ? op->scratch(&ops.node) : 0),
                         &why);
            CHECK(ok || why.text[0] != '\0');
        }
        /* Windows over images rarely fit by chance; test_ref_ops_b.c makes them on purpose. */
        CHECK(accepted > 0 || strstr(op->type, "2d") != NULL);
    }
    ops_end();
}

/* Make count numbers for a parameter, each in [least, least + range). */
static void aimed_numbers(const char *name, uint32_t columns, uint32_t count, uint32_t least, uint32_t range)
{
    char numbers[64] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < count; ++i)
        used += (size_t)snprintf(numbers + used, sizeof numbers - used, "%s%u", i > 0 ? "," : "",
                                 (unsigned)(least + ops_pick(range)));
    if (columns > 0) numbers2(name, REF_U32, columns, numbers);
    else ops_numbers(name, REF_U32, numbers);
}

/* Set one of the encodings that weights of this kind have: per tensor, per channel or in blocks. */
static void aimed_weight(uint32_t dtype, const char *shape, uint32_t axis, uint32_t sum_axis)
{
    ref_tensor *w = ops_in(dtype, shape);
    const uint32_t block = 1 + ops_pick(3), form = ops_pick(3);
    w->fixed = 1;
    if (ref_is_quantized(dtype)) {
        if (form == 0 && dtype == REF_S8Q && w->dims[sum_axis] % block == 0)
            ops_encode_blocks(w, axis, sum_axis, block, 1.0);
        else if (form == 1) ops_encode_channels(w, axis, 1.0);
        else
            ops_encode(w, REF_QUANT_PER_TENSOR, 1, 0.01f, dtype == REF_U8Q ? -128 : dtype == REF_U16Q ? -32768 : 0);
    }
    ops_fill(w, -1.0, 1.0);
}

static void aimed_bias(uint32_t dtype, uint32_t channels)
{
    char shape[16];
    const int channel_scales = ref_is_quantized(dtype) && ops.tensors[1].quant.form == REF_QUANT_PER_AXIS;
    ref_tensor *bias;
    snprintf(shape, sizeof shape, "%u", (unsigned)channels);
    bias = ops_in(ref_is_quantized(dtype) ? REF_S32Q : dtype, shape);
    if (channel_scales) ops_encode_channels(bias, 0, 4.0);
    else if (ref_is_quantized(dtype)) ops_encode(bias, REF_QUANT_PER_TENSOR, 1, 0.001f, 0);
    ops_fill(bias, -1.0, 1.0);
}

static uint32_t weight_type(uint32_t dtype)
{
    static const uint32_t types[] = { REF_S8Q, REF_U8Q, REF_S16Q, REF_U16Q };
    if (dtype == REF_F32 || (dtype == REF_F16 && ops_pick(2) == 0)) return dtype;
    return types[ops_pick(ref_type_bytes(dtype) == 2 && dtype != REF_F16 ? 4 : 2)];
}

/* Windows over images, products and norms, of sizes that fit more often than by chance. The
   output gets what check() expects of it. */
static void aimed_node(const char *type, uint32_t dtype)
{
    const int transposed = strcmp(type, "TransposeConv2d") == 0;
    const uint32_t height = 1 + ops_pick(7), width = 1 + ops_pick(7);
    const uint32_t group = strcmp(type, "DepthWiseConv2d") != 0 ? 1 + ops_pick(3) : 1;
    const uint32_t in = group * (1 + ops_pick(6)), times = 1 + ops_pick(20);
    const uint32_t kernel_y = 1 + ops_pick(4), kernel_x = 1 + ops_pick(4);
    char shape[64];
    ops_begin(type);
    if (strstr(type, "2d") != NULL || strstr(type, "Resize") != NULL) {
        snprintf(shape, sizeof shape, "%u,%u,%u,%u", 1 + (unsigned)ops_pick(2), (unsigned)height, (unsigned)width,
                 (unsigned)in);
        ops_random(ops_in(dtype, shape), -2.0, 3.0);
    }
    if (strstr(type, "Conv2d") != NULL) {
        const int deep = strcmp(type, "DepthWiseConv2d") == 0;
        snprintf(shape, sizeof shape, "%u,%u,%u,%u", (unsigned)kernel_y, (unsigned)kernel_x,
                 (unsigned)(deep ? 1 : in / group), (unsigned)(deep ? in * (1 + times % 3) : group * times));
        aimed_weight(weight_type(dtype), shape, 3, 2);
        if (ops_pick(2) == 0) aimed_bias(dtype, ops.tensors[1].dims[3]);
        aimed_numbers("stride", 0, 2, 1, 3);
        aimed_numbers("pad_amount", 2, 4, 0, 3);
        if (!transposed && ops_pick(2) == 0) aimed_numbers("dilation", 0, 2, 1, 3);
        if (transposed && ops_pick(2) == 0) aimed_numbers("output_padding", 0, 2, 0, 2);
        if (!deep && (group > 1 || ops_pick(2) == 0)) ops_scalar("group", REF_U32, group);
    } else if (strncmp(type, "Pool", 4) == 0) {
        aimed_numbers("filter_size", 0, 2, 1, 4);
        aimed_numbers("stride", 0, 2, 1, 4);
        aimed_numbers("pad_amount", 2, 4, 0, 3);
        if (ops_pick(2) == 0) ops_scalar("rounding_mode", REF_U32, ops_pick(2));
        if (strcmp(type, "PoolAvg2d") == 0 && ops_pick(2) == 0) ops_scalar("count_pad_for_edges", REF_BOOL, 1);
    } else if (strcmp(type, "MatMul") == 0) {
        static const char *const batches[] = { "", "1,", "2,", "3,1,", "1,2,", "3,2," };
        const int down_a = ops_pick(2) == 0, down_b = ops_pick(2) == 0;
        const uint32_t m = 1 + ops_pick(300), k = 1 + ops_pick(40), n = times;
        snprintf(shape, sizeof shape, "%s%u,%u", batches[ops_pick(6)], (unsigned)(down_a ? k : m),
                 (unsigned)(down_a ? m : k));
        ops_random(ops_in(dtype, shape), -2.0, 3.0);
        snprintf(shape, sizeof shape, "%s%u,%u", batches[ops_pick(6)], (unsigned)(down_b ? n : k),
                 (unsigned)(down_b ? k : n));
        aimed_weight(weight_type(dtype), shape, 0, 1);
        /* Batches come before the axes of blocks and channels. */
        if (ops.tensors[1].quant.form >= REF_QUANT_PER_AXIS) {
            ref_tensor *b = &ops.tensors[1];
            const uint32_t sums = b->rank - 2 + (uint32_t)down_b, outs = b->rank - 1 - (uint32_t)down_b;
            if (b->dtype == REF_S8Q && ops_pick(2) == 0) ops_encode_blocks(b, outs, sums, b->dims[sums], 1.0);
            else ops_encode_channels(b, outs, 1.0);
        }
        if (ops_pick(2) == 0) aimed_bias(dtype, n);
        ops_scalar("transpose_in0", REF_BOOL, down_a);
        ops_scalar("transpose_in1", REF_BOOL, down_b);
    } else if (strcmp(type, "FullyConnected") == 0) {
        const uint32_t k = 1 + ops_pick(40);
        snprintf(shape, sizeof shape, "%u,%u", 1 + (unsigned)ops_pick(300), (unsigned)k);
        ops_random(ops_in(dtype, shape), -2.0, 3.0);
        snprintf(shape, sizeof shape, "%u,%u", (unsigned)times, (unsigned)k);
        aimed_weight(weight_type(dtype), shape, 0, 1);
        if (ops_pick(2) == 0) aimed_bias(dtype, times);
    } else if (strstr(type, "Resize") == NULL) {                       /* norms and reductions */
        static const char *const dims_of_each[] = { "5", "3,7", "2,5,3", "2,3,4,5", "2,1,3,2,4" };
        ref_tensor *x = ops_in(dtype, dims_of_each[ops_pick(5)]);
        const uint32_t rank = x->rank;
        char axes[32] = "";
        size_t used = 0;
        ops_random(x, -2.0, 3.0);
        for (uint32_t i = 0, bits = 1 + ops_pick((1u << rank) - 1); i < rank; ++i)
            if ((bits >> i & 1u) != 0)
                used += (size_t)snprintf(axes + used, sizeof axes - used, "%s%u", used > 0 ? "," : "", (unsigned)i);
        while (ops.node.in_count < ops.node.op->in_least || (ops.node.in_count < ops.node.op->in_most && ops_pick(2) == 0))
            ops_random(ops_in(dtype, "1"), -1.0, 1.0);
        for (const ref_param_spec *spec = ops.node.op->params; spec != NULL && spec->name != NULL; ++spec) {
            if ((spec->flags & REF_REQUIRED) == 0 && ops_pick(2) == 0) continue;
            if ((spec->flags & REF_TENSOR) != 0) ops_numbers(spec->name, REF_U32, axes);
            else
                ops_scalar(spec->name, spec->dtype != 0 ? spec->dtype : REF_F32,
                           strcmp(spec->name, "epsilon") == 0 ? 1e-5 : (double)ops_pick(spec->dtype == REF_BOOL ? 2 : 4));
        }
    }
    for (uint32_t i = 0; i < ops.node.op->out_least; ++i) {
        snprintf(shape, sizeof shape, "1,%u,%u,%u", (unsigned)height, (unsigned)width, (unsigned)in);
        if (strstr(type, "Resize") != NULL)
            snprintf(shape, sizeof shape, "%u,%u,%u,%u", (unsigned)ops.tensors[0].dims[0], 1 + (unsigned)ops_pick(12),
                     1 + (unsigned)ops_pick(12), (unsigned)in);
        ops_random(ops_out(dtype, shape), -3.0, 3.0);
    }
}

TEST(windows_products_and_norms_that_fit_are_safe_to_run)
{
    static const char *const types[] = { "Conv2d", "DepthWiseConv2d", "TransposeConv2d", "PoolMax2d", "PoolAvg2d",
        "ResizeBilinear", "ResizeNearestNeighbor", "MatMul", "FullyConnected", "RmsNorm", "LayerNorm", "Batchnorm",
        "InstanceNorm", "GroupNorm", "L2Norm", "Softmax", "LogSoftmax", "ReduceMean", "ReduceSum", "ReduceMax",
        "ReduceMin", "ReduceProd", "ReduceSumSquare", "Argmax", "Argmin", "TopK", "CumulativeSum" };
    enum { TURNS = 400 };
    ops_seed = 77u;
    for (size_t n = 0; n < COUNT(types); ++n) {
        int accepted = 0;
        for (int turn = 0; turn < TURNS; ++turn) {
            ref_why why;
            int ok;
            aimed_node(types[n], reals[ops_pick(COUNT(reals))]);
            ok = ref_op_check(&ops.node, &why);
            for (int i = 0; i < 8 && !ok && follow(why.text); ++i)
                ok = ref_op_check(&ops.node, &why);
            if (!ok) continue;
            for (uint32_t i = 0; i < ops.tensor_count; ++i)
                ok = ok && ops.tensors[i].data != NULL;
            if (!ok) continue;
            ++accepted;
            why.text[0] = '\0';
            ok = ops.node.op->run(&ops.node, ops_alloc(ops.node.op->scratch != NULL ? ops.node.op->scratch(&ops.node) : 0),
                                  &why);
            CHECK(ok || why.text[0] != '\0');
        }
        CHECK(accepted * 8 > TURNS);
    }
    ops_end();
}

TEST_MAIN("test_ref_ops")
{
    RUN(half_of_every_code_is_read);
    RUN(half_is_rounded_once_ties_to_even);
    RUN(values_of_every_encoding_are_read);
    RUN(quantized_values_are_rounded_to_nearest_and_saturated);
    RUN(every_operator_is_found_by_name);
    RUN(types_have_names_and_sizes);
    RUN(encodings_are_compared_in_every_part);
    RUN(shared_checks_name_what_is_wrong);
    RUN(binary_operators_of_reals_broadcast);
    RUN(binary_operators_of_integers_are_exact);
    RUN(maximum_and_minimum_keep_nan);
    RUN(integer_division_by_zero_is_an_error_of_run);
    RUN(select_takes_one_of_two);
    RUN(binary_refusals_say_why);
    RUN(unary_operators_of_reals);
    RUN(unary_operators_of_integers_and_bools);
    RUN(functions_at_the_edges_of_their_domain);
    RUN(activations_of_every_type);
    RUN(prelu_has_a_slope_per_channel_or_one);
    RUN(unary_and_activation_refusals_say_why);
    RUN(elements_move_in_every_type);
    RUN(plain_copies_demand_one_encoding_and_slices_requantize);
    RUN(concat_and_split_are_each_others_reverse);
    RUN(pack_and_unpack_are_each_others_reverse);
    RUN(pad_has_four_schemes);
    RUN(shape_refusals_say_why);
    RUN(gather_takes_slices_of_every_type);
    RUN(gather_elements_takes_single_elements);
    RUN(gather_nd_takes_elements_slices_and_batches);
    RUN(scatter_nd_sets_adds_and_multiplies);
    RUN(scatter_elements_has_four_reductions);
    RUN(a_quantized_sum_is_rounded_once);
    RUN(one_hot_of_every_type);
    RUN(non_zero_lists_places_then_minus_ones);
    RUN(indices_out_of_range_stop_run_or_check);
    RUN(index_refusals_say_why);
    RUN(cast_goes_between_all_plain_types);
    RUN(quantize_dequantize_and_convert);
    RUN(dequantize_of_channels_uses_each_scale);
    RUN(cast_refusals_say_why);
    RUN(what_check_accepts_is_safe_to_run);
    RUN(windows_products_and_norms_that_fit_are_safe_to_run);
}
