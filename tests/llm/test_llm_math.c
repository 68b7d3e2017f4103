/* qnnrt_llm.h: its own sine, cosine, exponential and logarithm compared with libm, and the tables
   of cos and sin that rotate queries and keys by positions. */
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_llm.h"
#include <math.h>
#include "test.h"
#include "counted.h"

static const double pi = 3.14159265358979323846;

/* ---- mathematics ----------------------------------------------------------------------------- */

static double far(double a, double b) { return fabs(a - b); }

TEST(sine_and_cosine_are_exact_to_a_billionth)
{
    double worst = 0, step;
    for (double x = 0; x < 8; x += 1.0 / 4096) {
        worst = fmax(worst, far(qnnrt_llm__math_sin(x), sin(x)));
        worst = fmax(worst, far(qnnrt_llm__math_cos(x), cos(x)));
        CHECK(qnnrt_llm__math_sin(-x) == -qnnrt_llm__math_sin(x));
        CHECK(qnnrt_llm__math_cos(-x) == qnnrt_llm__math_cos(x));
    }
    CHECK(worst < 1e-15);
    for (double x = 1, s = 0; x <= 1e7; x *= 1.00003, ++s) {
        worst = fmax(worst, far(qnnrt_llm__math_sin(x), sin(x)));
        worst = fmax(worst, far(qnnrt_llm__math_cos(x), cos(x)));
        worst = fmax(worst, far(qnnrt_llm__math_sin(-x), sin(-x)));
        worst = fmax(worst, far(qnnrt_llm__math_cos(-x), cos(-x)));
    }
    CHECK(worst < 1e-14);
    /* Whole numbers, and the worst places: next to the multiples of pi / 4. */
    for (double x = 0; x <= 1e7; x += 997) {
        worst = fmax(worst, far(qnnrt_llm__math_sin(x), sin(x)));
        step = floor(x / (pi / 4)) * (pi / 4);
        worst = fmax(worst, far(qnnrt_llm__math_sin(step), sin(step)));
        worst = fmax(worst, far(qnnrt_llm__math_cos(step), cos(step)));
        step = nextafter(step, 1e9);
        worst = fmax(worst, far(qnnrt_llm__math_sin(step), sin(step)));
        worst = fmax(worst, far(qnnrt_llm__math_cos(step), cos(step)));
    }
    CHECK(worst < 1e-14);
    CHECK(qnnrt_llm__math_sin(0) == 0 && qnnrt_llm__math_cos(0) == 1);
}

TEST(exponential_and_logarithm_are_those_of_libm)
{
    double worst = 0;
    for (double x = -700; x <= 700; x += 0.0137)
        worst = fmax(worst, far(qnnrt_llm__math_exp(x) / exp(x), 1));
    CHECK(worst < 2e-15);
    CHECK(qnnrt_llm__math_exp(0) == 1);
    CHECK(qnnrt_llm__math_exp(1e300) == qnnrt_llm__math_exp(700));
    CHECK(qnnrt_llm__math_exp(-1e300) == qnnrt_llm__math_exp(-700));
    worst = 0;
    for (double x = 1e-300; x < 1e300; x *= 1.07)
        worst = fmax(worst, far(qnnrt_llm__math_log(x), log(x)) / fmax(fabs(log(x)), 1));
    for (double x = 0.5; x < 2; x += 0.0001)
        worst = fmax(worst, far(qnnrt_llm__math_log(x), log(x)));
    CHECK(worst < 1e-15);
    CHECK(qnnrt_llm__math_log(1) == 0);
}

/* Combine every bit of many values in one number, the same for all compilers, with and without
   fused multiply-add. */
TEST(every_bit_is_the_same_everywhere)
{
    uint64_t hash = 14695981039346656037u;
    for (int i = 1; i < 20000; ++i) {
        const double x = (double)i * 499.0 / 7.0;
        double values[4];
        unsigned char bytes[sizeof values];
        values[0] = qnnrt_llm__math_sin(x);
        values[1] = qnnrt_llm__math_cos(x);
        values[2] = qnnrt_llm__math_exp(-(double)i / 999.0);
        values[3] = qnnrt_llm__math_log(x);
        memcpy(bytes, values, sizeof bytes);
        for (size_t k = 0; k < sizeof bytes; ++k) hash = (hash ^ bytes[k]) * 1099511628211u;
    }
    CHECK_EQ(hash, 0x5ff4cecbc6ec5ee6);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static qnnrt_error err;
static const qnnrt_hooks none;

static qnnrt_tensor_info tensor_of(qnnrt_dtype dtype, uint32_t *dims, uint32_t ar, uint32_t width)
{
    qnnrt_tensor_info info;
    memset(&info, 0, sizeof info);
    dims[0] = 1;
    dims[1] = ar;
    dims[2] = width;
    info.name = "cos";
    info.dtype = dtype;
    info.rank = 3;
    info.dims = dims;
    info.count = (uint64_t)ar * width;
    info.bytes = info.count * (dtype == QNNRT_DTYPE_F32 ? 4 : dtype == QNNRT_DTYPE_U8Q ? 1 : 2);
    if (dtype == QNNRT_DTYPE_U16Q || dtype == QNNRT_DTYPE_U8Q) {
        info.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
        info.quant.scale = dtype == QNNRT_DTYPE_U16Q ? 2.0f / 65535.0f : 2.0f / 255.0f;
        info.quant.offset = dtype == QNNRT_DTYPE_U16Q ? -32768 : -128;
    }
    return info;
}

/* Compute a frequency by the formulas of papers and other engines. */
static double frequency(const qnnrt_llm_rope *rope, double i, double n)
{
    const double f = 1.0 / pow(rope->theta != 0 ? rope->theta : 10000.0, i / n);
    const double wave = 2 * pi / f, context = rope->original_context;
    double smooth;
    if (rope->scaling == QNNRT_LLM_ROPE_PLAIN) return f;
    if (rope->scaling == QNNRT_LLM_ROPE_LINEAR) return f / rope->factor;
    if (wave < context / rope->high_frequency) return f;
    if (wave > context / rope->low_frequency) return f / rope->factor;
    smooth = (context / wave - rope->low_frequency) / (rope->high_frequency - rope->low_frequency);
    return (1 - smooth) * f / rope->factor + smooth * f;
}

static void compare_table(const qnnrt_llm_rope *rope, uint32_t width, uint32_t angles,
                          uint32_t positions)
{
    uint32_t dims[3];
    qnnrt_tensor_info info = tensor_of(QNNRT_DTYPE_F32, dims, 7, width);
    double worst = 0;
    for (int sine = 0; sine < 2; ++sine) {
        void *table = NULL;
        const float *values;
        CHECK_EQ(qnnrt_llm__rope_table(&none, rope, &info, width, angles, sine, positions, &table,
                                       &err), QNNRT_OK);
        values = (const float *)table;
        for (uint32_t p = 0; p < positions; p += 1 + p / 50) {
            for (uint32_t i = 0; i < width; ++i) {
                const double angle = p * frequency(rope, i % angles, angles);
                worst = fmax(worst, far(values[(size_t)p * width + i],
                                        sine ? sin(angle) : cos(angle)));
            }
        }
        free(table);
    }
    if (worst >= 6.1e-8) printf("%g\n", worst);
    CHECK(worst < 6.1e-8);   /* half the last bit of a float below 1, plus the error of pow() */
}

TEST(plain_tables_are_those_of_libm)
{
    static const double thetas[] = { 0, 10000, 500000, 1000000, 1 };
    for (size_t t = 0; t < sizeof thetas / sizeof *thetas; ++t) {
        qnnrt_llm_rope rope = { 0 };
        rope.theta = thetas[t];
        TRY(compare_table(&rope, 32, 32, 4097));
        TRY(compare_table(&rope, 128, 64, 300));
    }
    {
        qnnrt_llm_rope rope = { 0 };
        TRY(compare_table(&rope, 2, 2, 1000000));
        /* A row is larger than a piece of the computation. */
        TRY(compare_table(&rope, 5000, 5000, 3));
        TRY(compare_table(&rope, 1, 1, 1));
        TRY(compare_table(&rope, 6, 3, 7));
    }
}

TEST(scaled_tables_are_those_of_the_formula)
{
    qnnrt_llm_rope rope = { 0 };
    rope.theta = 500000;
    rope.scaling = QNNRT_LLM_ROPE_LINEAR;
    rope.factor = 4;
    TRY(compare_table(&rope, 64, 32, 3000));
    rope.factor = 0.25;
    TRY(compare_table(&rope, 64, 32, 3000));
    rope.scaling = QNNRT_LLM_ROPE_LLAMA3;
    rope.factor = 8;
    rope.low_frequency = 1;
    rope.high_frequency = 4;
    rope.original_context = 8192;
    TRY(compare_table(&rope, 64, 64, 20000));
    rope.factor = 32;
    TRY(compare_table(&rope, 32, 32, 9000));
    rope.low_frequency = 0.5;
    rope.high_frequency = 17;
    rope.original_context = 100;
    TRY(compare_table(&rope, 32, 32, 3000));
}

TEST(llama3_leaves_short_waves_and_divides_long_ones)
{
    qnnrt_llm_rope rope = { 0 };      /* the defaults are 8, 1, 4 and 8192 */
    qnnrt_llm_rope resolved;
    double plain, between = 0;
    rope.theta = 500000;
    rope.scaling = QNNRT_LLM_ROPE_LLAMA3;
    resolved = rope;
    CHECK_EQ(qnnrt_llm__rope_resolve(&resolved, "test", QNNRT_E_ARG, &err), QNNRT_OK);
    CHECK(resolved.factor == 8 && resolved.low_frequency == 1 && resolved.high_frequency == 4);
    CHECK_EQ(resolved.original_context, 8192);
    for (uint32_t i = 0; i < 64; ++i) {
        const double f = qnnrt_llm__rope_frequency(&resolved, i, 64);
        plain = pow(500000, -(double)i / 64);
        if (2 * pi / plain < 2048) CHECK(fabs(f / plain - 1) < 1e-14);
        else if (2 * pi / plain > 8192) CHECK(fabs(f * 8 / plain - 1) < 1e-14);
        else {
            CHECK(f < plain && f > plain / 8);
            ++between;
        }
    }
    CHECK(between > 3);
}

TEST(quantized_values_are_the_nearest)
{
    uint32_t dims[3];
    qnnrt_llm_rope rope = { 0 };
    for (int wide = 0; wide < 2; ++wide) {
        qnnrt_tensor_info info = tensor_of(wide ? QNNRT_DTYPE_U16Q : QNNRT_DTYPE_U8Q, dims, 1, 16);
        const double top = wide ? 65535 : 255, zero = wide ? 32768 : 128;
        for (int sine = 0; sine < 2; ++sine) {
            void *table = NULL;
            CHECK_EQ(qnnrt_llm__rope_table(&none, &rope, &info, 16, 16, sine, 5000, &table, &err),
                     QNNRT_OK);
            for (uint32_t p = 0; p < 5000; ++p) {
                for (uint32_t i = 0; i < 16; ++i) {
                    const size_t at = (size_t)p * 16 + i;
                    const double angle = p / pow(10000, i / 16.0);
                    double want = (sine ? sin(angle) : cos(angle)) / info.quant.scale + zero;
                    const double got = wide ? ((const uint16_t *)table)[at]
                                            : ((const uint8_t *)table)[at];
                    want = fmin(fmax(want, 0), top);
                    /* 0.002: sines are rounded to floats before. */
                    CHECK(fabs(got - want) <= 0.5 + 0.002);
                }
            }
            free(table);
        }
    }
}

TEST(half_tables_are_rounded_to_nearest)
{
    uint32_t dims[3];
    qnnrt_tensor_info info = tensor_of(QNNRT_DTYPE_F16, dims, 1, 8), one;
    qnnrt_llm_rope rope = { 0 };
    void *table = NULL;
    float value;
    CHECK_EQ(qnnrt_llm__rope_table(&none, &rope, &info, 8, 4, 1, 64, &table, &err), QNNRT_OK);
    one = info;
    one.rank = 0;
    one.count = 1;
    one.bytes = 2;
    for (uint32_t p = 0; p < 64; ++p) {
        for (uint32_t i = 0; i < 8; ++i) {
            CHECK_EQ(qnnrt_decode_f32(&one, (const uint16_t *)table + p * 8 + i, &value), QNNRT_OK);
            CHECK(fabs(value - sin(p / pow(10000, (i % 4) / 4.0))) < 2.45e-4);
        }
    }
    free(table);
}

static qnnrt_result refuse(const qnnrt_llm_rope *rope, const qnnrt_tensor_info *info, uint32_t width,
                           uint32_t angles, uint32_t positions)
{
    void *table = &err;
    qnnrt_result result;
    TEST_JUNK(err);
    result = qnnrt_llm__rope_table(&none, rope, info, width, angles, 0, positions, &table, &err);
    if (table != NULL) return QNNRT_OK;
    return result;
}

TEST(what_cannot_be_is_refused_by_name)
{
    uint32_t dims[3];
    qnnrt_tensor_info info = tensor_of(QNNRT_DTYPE_F32, dims, 4, 16), odd = info;
    const qnnrt_llm_rope plain = { 0 };
    qnnrt_llm_rope rope = plain;

    CHECK_EQ(refuse(&plain, &info, 16, 5, 8), QNNRT_E_ARG);
    CHECK_STR(err.text, "16 values in a row, expected 5 or 10 for 5 angles (8 positions)");
    CHECK_STR(err.text, "tensor \"cos\"");
    CHECK_EQ(refuse(&plain, &info, 16, 0, 8), QNNRT_E_ARG);
    CHECK_EQ(refuse(&plain, &info, 16, 16, 0), QNNRT_E_ARG);
    CHECK_EQ(refuse(&plain, &info, 0, 0x80000000u, 1), QNNRT_E_ARG);   /* twice that is 0 in 32 bits */

    rope.theta = -1;
    CHECK_EQ(refuse(&rope, &info, 16, 16, 8), QNNRT_E_ARG);
    CHECK_STR(err.text, "rope.theta is -1");
    rope.theta = NAN;
    CHECK_EQ(refuse(&rope, &info, 16, 16, 8), QNNRT_E_ARG);
    CHECK_STR(err.text, "rope.theta");
    rope.theta = 0.5;
    CHECK_EQ(refuse(&rope, &info, 16, 16, 8), QNNRT_E_ARG);
    rope.theta = INFINITY;
    CHECK_EQ(refuse(&rope, &info, 16, 16, 8), QNNRT_E_ARG);
    rope = plain;
    rope.scaling = QNNRT_LLM_ROPE_LINEAR;
    rope.factor = -2;
    CHECK_EQ(refuse(&rope, &info, 16, 16, 8), QNNRT_E_ARG);
    CHECK_STR(err.text, "rope.factor is -2");
    rope.factor = NAN;
    CHECK_EQ(refuse(&rope, &info, 16, 16, 8), QNNRT_E_ARG);
    rope.scaling = QNNRT_LLM_ROPE_LLAMA3;
    rope.factor = 8;
    rope.low_frequency = 4;
    rope.high_frequency = 4;
    CHECK_EQ(refuse(&rope, &info, 16, 16, 8), QNNRT_E_ARG);
    CHECK_STR(err.text, "rope.low_frequency is 4 and rope.high_frequency is 4");
    rope.low_frequency = -1;
    CHECK_EQ(refuse(&rope, &info, 16, 16, 8), QNNRT_E_ARG);
    rope = plain;
    rope.scaling = (qnnrt_llm_rope_scaling)3;
    CHECK_EQ(refuse(&rope, &info, 16, 16, 8), QNNRT_E_ARG);
    CHECK_STR(err.text, "rope.scaling is 3");

    rope = plain;
    rope.scaling = QNNRT_LLM_ROPE_LINEAR;
    rope.factor = 1e-4;
    CHECK_EQ(refuse(&rope, &info, 16, 16, 100000), QNNRT_E_LIMIT);
    CHECK_STR(err.text, "position 99999");

    odd.dtype = QNNRT_DTYPE_F8;
    odd.bytes = odd.count;
    CHECK_EQ(refuse(&plain, &odd, 16, 16, 8), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "float8");
    odd = info;
    odd.dtype = QNNRT_DTYPE_U4Q;
    odd.bytes = odd.count / 2;
    CHECK_EQ(refuse(&plain, &odd, 16, 16, 8), QNNRT_E_UNSUPPORTED);
    odd = tensor_of(QNNRT_DTYPE_U16Q, dims, 4, 16);
    odd.quant.encoding = QNNRT_ENCODING_PER_AXIS;
    CHECK_EQ(refuse(&plain, &odd, 16, 16, 8), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "ufixed16");
}

TEST(no_memory_is_an_answer_and_leaks_nothing)
{
    uint32_t dims[3];
    const qnnrt_tensor_info info = tensor_of(QNNRT_DTYPE_U16Q, dims, 1, 16);
    const qnnrt_llm_rope plain = { 0 };
    qnnrt_hooks hooks = none;
    void *table;
    hooks.alloc = counted_alloc;
    hooks.free = counted_free;
    for (fail_at = 0; fail_at < 3; ++fail_at) {
        allocations = 0;
        CHECK_EQ(qnnrt_llm__rope_table(&hooks, &plain, &info, 16, 16, 0, 50, &table, &err),
                 QNNRT_E_MEMORY);
        CHECK(table == NULL);
        CHECK_EQ(live, 0);
    }
    allocations = 0;
    CHECK_EQ(qnnrt_llm__rope_table(&hooks, &plain, &info, 16, 16, 0, 50, &table, &err), QNNRT_OK);
    CHECK_EQ(live, 1);
    counted_free(NULL, table);
    /* The table would have 2^32 rows of 2^32 values. */
    fail_at = -1;
    CHECK_EQ(qnnrt_llm__rope_table(&hooks, &plain, &info, 0xFFFFFFFEu, 0x7FFFFFFFu, 0, 0xFFFFFFFFu,
                                   &table, &err), QNNRT_E_MEMORY);
    CHECK_EQ(live, 0);
}

TEST_MAIN("llm_math")
{
    RUN(sine_and_cosine_are_exact_to_a_billionth);
    RUN(exponential_and_logarithm_are_those_of_libm);
    RUN(every_bit_is_the_same_everywhere);
    RUN(plain_tables_are_those_of_libm);
    RUN(scaled_tables_are_those_of_the_formula);
    RUN(llama3_leaves_short_waves_and_divides_long_ones);
    RUN(quantized_values_are_the_nearest);
    RUN(half_tables_are_rounded_to_nearest);
    RUN(what_cannot_be_is_refused_by_name);
    RUN(no_memory_is_an_answer_and_leaks_nothing);
}
