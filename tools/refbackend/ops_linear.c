/* ops_linear.c - MatMul, FullyConnected, and the matrix product that convolutions use too */
#include "ref_linear.h"

#include <string.h>
#ifdef REF_AVX2
#include <immintrin.h>
#endif

/* ---- the product ----------------------------------------------------------------------------- */

/* Loops over LANES have a constant length, their sums do not depend on one another, and each is a
   function of its own with restrict: compilers make vectors of them at -O2, without reordering a
   sum. STEP products at a time cost one load and one store of the sums. BLOCK sums are added up on
   their own, which keeps the error of long sums small: 3e-7 of the largest output in float32, one
   step of 65536 off in 0.3 % of the outputs of 16-bit activations and 8-bit weights, at 64 to 4096
   terms. */
enum { LANES = 16, STEP = 4, BLOCK = 256, FOUR = 4, EIGHT = 8 };

size_t ref_product_scratch(size_t rows)
{
    return (rows + STEP) * LANES * sizeof(float);
}

size_t ref_product_chunk(size_t count, size_t rows)
{
    const size_t most = 65536 / rows < 8 ? 8 : 65536 / rows > 256 ? 256 : 65536 / rows;
    return count < most ? count : most;
}

/* Codes less their zero point, or the floats themselves: rows of columns elements that lie step
   apart in storage and LANES apart in values (one row: any number of columns). DECODE(decode_s8,
   int8_t) defines decode_s8() for values of int8_t. */
#define DECODE(name, type)                                                                         \
    static void name##_lanes(const type *restrict quant, float offset, float *restrict values)     \
    {                                                                                              \
        for (int lane = 0; lane < LANES; ++lane)                                                   \
            values[lane] = (float)quant[lane] + offset;                                            \
    }                                                                                              \
                                                                                                   \
    static void name(const void *data, uint64_t step, size_t rows, size_t columns, float offset,   \
                     float *values)                                                                \
    {                                                                                              \
        const type *quant = (const type *)data;                                                    \
        for (size_t r = 0; r < rows; ++r, quant += step, values += LANES) {                        \
            size_t c = 0;                                                                          \
            for (; c + LANES <= columns; c += LANES)                                               \
                name##_lanes(quant + c, offset, values + c);                                       \
            for (; c < columns; ++c)                                                               \
                values[c] = (float)quant[c] + offset;                                              \
        }                                                                                          \
    }
DECODE(decode_s8, int8_t)
DECODE(decode_u8, uint8_t)
DECODE(decode_s16, int16_t)
DECODE(decode_u16, uint16_t)
DECODE(decode_f32, float)

static void decode(const ref_tensor *tensor, uint64_t first, uint64_t step, size_t rows,
                   size_t columns, float *values)
{
    const ref_quant *q = &tensor->quant;
    /* All offsets along an axis are equal: ref_check_weight() refuses others. */
    const float offset =
        q->form != REF_QUANT_NONE && q->offsets != NULL ? (float)q->offsets[0] : 0.0f;
    const void *from = (const char *)tensor->data + first * ref_type_bytes(tensor->dtype);
    switch (tensor->dtype) {
    case REF_S8Q:  decode_s8(from, step, rows, columns, offset, values);  break;
    case REF_U8Q:  decode_u8(from, step, rows, columns, offset, values);  break;
    case REF_S16Q: decode_s16(from, step, rows, columns, offset, values); break;
    case REF_U16Q: decode_u16(from, step, rows, columns, offset, values); break;
    case REF_F32:  decode_f32(from, step, rows, columns, offset, values); break;
    case REF_F16:
        for (size_t r = 0; r < rows; ++r)
            ref_f16_load((const uint16_t *)from + r * step, columns, values + r * LANES);
        break;
    default:
        for (size_t r = 0; r < rows; ++r)
            ref_load(tensor, first + r * step, columns, values + r * LANES);
        break;
    }
}

/* Multiply values by block-wise scales: rows of a panel, or the column of a dot product. */
static void scale_blocks(const ref_matrix *m, size_t column, size_t columns, float *values)
{
    const ref_quant *q = &m->tensor->quant;
    const size_t along = m->tensor->dims[q->block_axis], blocks = along / q->block;
    const float *scales = q->scales + (m->channel + column) * blocks;
    float now[LANES] = { 0.0f };
    if (m->row_step == 1) {
        for (size_t r = 0; r < m->rows; r += q->block)
            for (size_t i = 0; i < q->block; ++i)
                values[r + i] *= scales[r % along / q->block];
        return;
    }
    for (size_t r = 0; r < m->rows; ++r, values += LANES) {
        for (size_t lane = 0; r % q->block == 0 && lane < columns; ++lane)
            now[lane] = scales[lane * blocks + r % along / q->block];
        for (size_t lane = 0; lane < LANES; ++lane)
            values[lane] *= now[lane];
    }
}

static float column_scale(const ref_matrix *m, size_t column)
{
    const ref_quant *q = &m->tensor->quant;
    if (!ref_is_quantized(m->tensor->dtype) || q->form == REF_QUANT_BLOCKS)
        return 1.0f;
    return q->scales[q->form == REF_QUANT_PER_AXIS ? m->channel + column : 0];
}

static void add_product(float *restrict sums, const float *restrict x, const float *restrict w)
{
    const float x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
    for (int lane = 0; lane < LANES; ++lane)
        sums[lane] += (x0 * w[lane] + x1 * w[LANES + lane]) +
                      (x2 * w[2 * LANES + lane] + x3 * w[3 * LANES + lane]);
}

/* Compute sums = one row of x times a panel of rows times LANES. */
static void product_panel(const float *x, const float *panel, size_t rows, float *sums)
{
    memset(sums, 0, LANES * sizeof *sums);
    for (size_t begin = 0; begin < rows; begin += BLOCK) {
        const size_t end = rows - begin < BLOCK ? rows : begin + BLOCK;
        float block[LANES] = { 0.0f };
        size_t r = begin;
        for (; r + STEP <= end; r += STEP)
            add_product(block, x + r, panel + r * LANES);
        for (; r < end; ++r)
            for (size_t lane = 0; lane < LANES; ++lane)
                block[lane] += x[r] * panel[r * LANES + lane];
        for (size_t lane = 0; lane < LANES; ++lane)
            sums[lane] += block[lane];
    }
}

static void add_lanes(float *restrict sums, const float *restrict x, const float *restrict w)
{
    for (int lane = 0; lane < LANES; ++lane)
        sums[lane] += (x[lane] * w[lane] + x[LANES + lane] * w[LANES + lane]) +
                      (x[2 * LANES + lane] * w[2 * LANES + lane] +
                       x[3 * LANES + lane] * w[3 * LANES + lane]);
}

static void add_few_lanes(float *restrict sums, const float *restrict x, const float *restrict w)
{
    for (int lane = 0; lane < LANES; ++lane)
        sums[lane] += x[lane] * w[lane];
}

static float product_dot(const float *x, const float *w, size_t rows)
{
    float lanes[LANES] = { 0.0f }, sum = 0.0f;
    size_t r = 0;
    for (; r + STEP * LANES <= rows; r += STEP * LANES)
        add_lanes(lanes, x + r, w + r);
    for (; r + LANES <= rows; r += LANES)
        add_few_lanes(lanes, x + r, w + r);
    for (; r < rows; ++r)
        lanes[r % LANES] += x[r] * w[r];
    for (size_t lane = 0; lane < LANES; ++lane)
        sum += lanes[lane];
    return sum;
}

#ifdef REF_AVX2
#define REF_WIDE_INLINE REF_AVX2 __attribute__((always_inline)) static inline

/* Load 8 floats, or 8 halves as floats, from element `at` on. */
REF_WIDE_INLINE __m256 load_eight(const void *from, size_t at, int half)
{
    return half ? _mm256_cvtph_ps(_mm_loadu_si128((const void *)((const uint16_t *)from + at)))
                : _mm256_loadu_ps((const float *)from + at);
}

/* Add to 8 lanes what add_lanes() adds to them. */
REF_WIDE_INLINE __m256 add_eight(__m256 sum, const float *x, const void *w, size_t at, int half)
{
    const __m256 a = _mm256_mul_ps(_mm256_loadu_ps(x), load_eight(w, at, half)),
                 b = _mm256_mul_ps(_mm256_loadu_ps(x + LANES), load_eight(w, at + LANES, half)),
                 c = _mm256_mul_ps(_mm256_loadu_ps(x + 2 * LANES),
                                   load_eight(w, at + 2 * LANES, half)),
                 d = _mm256_mul_ps(_mm256_loadu_ps(x + 3 * LANES),
                                   load_eight(w, at + 3 * LANES, half));
    return _mm256_add_ps(sum, _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
}

REF_WIDE_INLINE __m256 add_eight_few(__m256 sum, const float *x, const void *w, size_t at, int half)
{
    return _mm256_add_ps(sum, _mm256_mul_ps(_mm256_loadu_ps(x), load_eight(w, at, half)));
}

REF_WIDE_INLINE float element(const void *from, size_t at, int half)
{
    return half ? ref_f16_to_f32(((const uint16_t *)from)[at]) : ((const float *)from)[at];
}

/* The LANES of product_dot() of one column. Columns are read one after the other, as they lie in
   memory: four at a time save loads of x, but memory gives them at little more than half the
   speed. */
REF_WIDE_INLINE void one_column(const float *x, const void *w, size_t first, size_t rows, int half,
                                float *lanes)
{
    __m256 low = _mm256_setzero_ps(), high = low;
    size_t r = 0;
    for (; r + STEP * LANES <= rows; r += STEP * LANES) {
        low = add_eight(low, x + r, w, first + r, half);
        high = add_eight(high, x + r + 8, w, first + r + 8, half);
    }
    for (; r + LANES <= rows; r += LANES) {
        low = add_eight_few(low, x + r, w, first + r, half);
        high = add_eight_few(high, x + r + 8, w, first + r + 8, half);
    }
    _mm256_storeu_ps(lanes, low);
    _mm256_storeu_ps(lanes + 8, high);
    for (; r < rows; ++r)
        lanes[r % LANES] += x[r] * element(w, first + r, half);
}

/* Four lanes of columns k (in the lower half) and k + FOUR. */
REF_WIDE_INLINE __m256 lanes_of_two(const float *lanes, size_t k)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(lanes + k * LANES)),
                                _mm_loadu_ps(lanes + (k + FOUR) * LANES), 1);
}

/* Add the LANES of EIGHT columns, each column in the order of product_dot(). */
REF_WIDE_INLINE void add_up(const float *lanes, float *out)
{
    __m256 sum = _mm256_setzero_ps();
    for (size_t lane = 0; lane < LANES; lane += 4) {
        const __m256 a = lanes_of_two(lanes + lane, 0), b = lanes_of_two(lanes + lane, 1),
                     c = lanes_of_two(lanes + lane, 2), d = lanes_of_two(lanes + lane, 3),
                     ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d),
                     ab_high = _mm256_unpackhi_ps(a, b), cd_high = _mm256_unpackhi_ps(c, d);
        sum = _mm256_add_ps(sum, _mm256_shuffle_ps(ab, cd, 0x44));
        sum = _mm256_add_ps(sum, _mm256_shuffle_ps(ab, cd, 0xEE));
        sum = _mm256_add_ps(sum, _mm256_shuffle_ps(ab_high, cd_high, 0x44));
        sum = _mm256_add_ps(sum, _mm256_shuffle_ps(ab_high, cd_high, 0xEE));
    }
    _mm256_storeu_ps(out, sum);
}

/* product_dot() of EIGHT columns: the same operations in the same order. */
REF_WIDE_INLINE void eight_columns(const float *x, const void *w, size_t step, size_t rows,
                                   int half, float *out)
{
    float lanes[EIGHT][LANES];
    for (size_t k = 0; k < EIGHT; ++k)
        one_column(x, w, k * step, rows, half, lanes[k]);
    add_up(lanes[0], out);
}

REF_AVX2 static void eight_of_floats(const float *x, const float *w, size_t step, size_t rows,
                                     float *out)
{
    eight_columns(x, w, step, rows, 0, out);
}

REF_AVX2 static void eight_of_halves(const float *x, const uint16_t *w, size_t step, size_t rows,
                                     float *out)
{
    eight_columns(x, w, step, rows, 1, out);
}

/* Compute the first columns of a matrix of floats or halves whose columns are contiguous, and
   return how many: a multiple of EIGHT. Halves that several rows of x meet are converted once. */
static size_t product_columns(const float *x, size_t count, const ref_matrix *m, float *out,
                              size_t out_step, float *values)
{
    const int half = m->tensor->dtype == REF_F16;
    const size_t columns = m->columns / EIGHT * EIGHT;
    for (size_t c = 0; c < columns; c += EIGHT) {
        const uint64_t first = m->first + c * m->column_step;
        const float *floats = half ? values : (const float *)m->tensor->data + first;
        const uint16_t *halves = half ? (const uint16_t *)m->tensor->data + first : NULL;
        const size_t step = half ? m->rows : m->column_step;
        if (half && count == 1) {
            eight_of_halves(x, halves, m->column_step, m->rows, out + c);
            continue;
        }
        for (size_t k = 0; half && k < EIGHT; ++k)
            ref_f16_load(halves + k * m->column_step, m->rows, values + k * m->rows);
        for (size_t i = 0; i < count; ++i)
            eight_of_floats(x + i * m->rows, floats, step, m->rows, out + i * out_step + c);
    }
    return columns;
}
#endif

void ref_product(const float *x, size_t count, const ref_matrix *m, float *out, size_t out_step,
                 void *scratch)
{
    float *values = (float *)scratch;
    if (m->row_step == 1) {
        size_t c = 0;
#ifdef REF_AVX2
        if (ref_wide && m->tensor->quant.form == REF_QUANT_NONE &&
            (m->tensor->dtype == REF_F32 || m->tensor->dtype == REF_F16))
            c = product_columns(x, count, m, out, out_step, values);
#endif
        for (; c < m->columns; ++c) {
            const float scale = column_scale(m, c);
            const float *column = values;
            if (m->tensor->dtype == REF_F32)
                column = (const float *)m->tensor->data + m->first + c * m->column_step;
            else
                decode(m->tensor, m->first + c * m->column_step, 0, 1, m->rows, values);
            if (m->tensor->quant.form == REF_QUANT_BLOCKS)
                scale_blocks(m, c, 1, values);
            for (size_t i = 0; i < count; ++i)
                out[i * out_step + c] = product_dot(x + i * m->rows, column, m->rows) * scale;
        }
        return;
    }
    /* Some lanes of the last panel may keep old values; their sums are not used. */
    for (size_t c = 0; c < m->columns; c += LANES) {
        const size_t columns = m->columns - c < LANES ? m->columns - c : LANES;
        float sums[LANES], scales[LANES];
        for (size_t lane = 0; lane < columns; ++lane)
            scales[lane] = column_scale(m, c + lane);
        decode(m->tensor, m->first + c, m->row_step, m->rows, columns, values);
        if (m->tensor->quant.form == REF_QUANT_BLOCKS)
            scale_blocks(m, c, columns, values);
        for (size_t i = 0; i < count; ++i) {
            product_panel(x + i * m->rows, values, m->rows, sums);
            for (size_t lane = 0; lane < columns; ++lane)
                out[i * out_step + c + lane] = sums[lane] * scales[lane];
        }
    }
}

/* ---- checks of weights and biases ------------------------------------------------------------ */

static int bits_of(uint32_t dtype)
{
    return (int)ref_type_bytes(dtype) * 8;
}

/* Return the zero point at which quantized values are symmetric. */
static int32_t symmetric_offset(uint32_t dtype)
{
    return dtype == REF_U8Q ? -128 : dtype == REF_U16Q ? -32768 : 0;
}

static int check_weight_type(const ref_tensor *x, const ref_tensor *w, ref_why *why)
{
    const uint32_t small = REF_T_S8Q | REF_T_U8Q, bit = ref_type_bit(w->dtype);
    uint32_t allowed;
    const char *names;
    if (x->dtype == REF_F32) {
        allowed = REF_T_F32;
        names = "FLOAT_32";
    } else if (x->dtype == REF_F16) {
        allowed = REF_T_F16 | small;
        names = "FLOAT_16, or static SFIXED_POINT_8 or UFIXED_POINT_8";
    } else if (bits_of(x->dtype) == 8) {
        allowed = small;
        names = "SFIXED_POINT_8 or UFIXED_POINT_8";
    } else {
        allowed = small | REF_T_S16Q | REF_T_U16Q;
        names = "SFIXED_POINT_8, UFIXED_POINT_8, SFIXED_POINT_16 or UFIXED_POINT_16";
    }
    if ((bit & allowed) == 0 || (x->dtype == REF_F16 && bit != REF_T_F16 && !w->fixed))
        return ref_refuse(why, "input 1 \"%s\" is %s%s, with %s as input 0 it must be %s", w->name,
                          w->fixed ? "static " : "", ref_type_name(w->dtype),
                          ref_type_name(x->dtype), names);
    return 1;
}

int ref_check_weight(const ref_tensor *x, const ref_tensor *w, uint32_t axis, uint32_t sum_axis,
                     ref_why *why)
{
    const ref_quant *q = &w->quant;
    const int32_t symmetric = symmetric_offset(w->dtype);
    if (!check_weight_type(x, w, why))
        return 0;
    if (!ref_is_quantized(w->dtype))
        return 1;
    if (q->form != REF_QUANT_PER_TENSOR) {
        if (!w->fixed)
            return ref_refuse(why, "input 1 \"%s\" has one scale per channel, which only a static"
                              " tensor can have", w->name);
        if (q->axis != axis)
            return ref_refuse(why, "input 1 \"%s\" has its scales along axis %u, expected axis %u,"
                              " the outputs", w->name, (unsigned)q->axis, (unsigned)axis);
    }
    if (q->form == REF_QUANT_BLOCKS && (sum_axis == axis || w->dtype != REF_S8Q))
        return ref_refuse(why, "input 1 \"%s\" has block-wise scales, which need SFIXED_POINT_8 and"
                          " an operator that sums over channels", w->name);
    if (q->form == REF_QUANT_BLOCKS && q->block_axis != sum_axis)
        return ref_refuse(why, "input 1 \"%s\" has its blocks along axis %u, expected axis %u",
                          w->name, (unsigned)q->block_axis, (unsigned)sum_axis);
    /* Genuine libraries accept every zero point, but compute right numbers with these only. */
    if (q->form == REF_QUANT_PER_TENSOR && w->dtype == REF_U8Q)
        return 1;
    for (uint32_t i = 0; i < q->count; ++i) {
        const int32_t offset = q->offsets != NULL ? q->offsets[i] : 0;
        if (offset != symmetric)
            return ref_refuse(why, "input 1 \"%s\" has offset %ld at channel %u, expected %ld:"
                              " weights of %s are symmetric", w->name, (long)offset, (unsigned)i,
                              (long)symmetric, ref_type_name(w->dtype));
    }
    return 1;
}

int ref_check_bias(const ref_tensor *x, const ref_tensor *w, const ref_tensor *bias,
                   uint32_t channels, ref_why *why)
{
    const ref_quant *q;
    if (bias == NULL)
        return 1;
    q = &bias->quant;
    if (!ref_expect_shape(bias, "input 2", 1, &channels, why))
        return 0;
    if (!ref_is_quantized(x->dtype))
        return ref_expect_type(bias, "input 2", x->dtype, why);
    if (bias->dtype != REF_S32Q && bias->dtype != REF_U8Q)
        return ref_refuse(why, "input 2 \"%s\" is %s, expected SFIXED_POINT_32 or UFIXED_POINT_8"
                          " because input 0 is %s", bias->name, ref_type_name(bias->dtype),
                          ref_type_name(x->dtype));
    if (w->quant.form == REF_QUANT_PER_AXIS && q->form != REF_QUANT_PER_AXIS)
        return ref_refuse(why, "input 2 \"%s\" has one scale, but the weight \"%s\" one per"
                          " channel: give the bias scales along axis 0, scale of input times scale"
                          " of weight", bias->name, w->name);
    for (uint32_t i = 0; bias->dtype == REF_S32Q && q->offsets != NULL && i < q->count; ++i)
        if (q->offsets[i] != 0)
            return ref_refuse(why, "input 2 \"%s\" has offset %ld, expected 0: a bias of"
                              " SFIXED_POINT_32 is symmetric", bias->name, (long)q->offsets[i]);
    return 1;
}

/* Add the bias, which is in values, to rows of out. */
static void add_bias(const float *bias, size_t columns, float *out, size_t rows)
{
    for (size_t i = 0; i < rows; ++i)
        for (size_t c = 0; c < columns; ++c)
            out[i * columns + c] += bias[c];
}

/* ---- MatMul ---------------------------------------------------------------------------------- */

/* Rows of a (m) times columns of b (n), sums of k, and where each lies in its tensor. */
typedef struct matmul_form {
    uint32_t m, n, k, transpose_a, transpose_b;
} matmul_form;

static matmul_form matmul_read(const ref_node *node)
{
    const ref_tensor *a = node->in[0], *b = node->in[1];
    matmul_form f;
    f.transpose_a = ref_param_value(node, "transpose_in0", 0.0) != 0.0;
    f.transpose_b = ref_param_value(node, "transpose_in1", 0.0) != 0.0;
    f.m = a->dims[a->rank - 2 + f.transpose_a];
    f.k = a->dims[a->rank - 1 - f.transpose_a];
    f.n = b->dims[b->rank - 1 - f.transpose_b];
    return f;
}

static int matmul_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *a = node->in[0], *b = node->in[1];
    const ref_tensor *bias = node->in_count > 2 ? node->in[2] : NULL;
    char a_text[REF_SHAPE_TEXT], b_text[REF_SHAPE_TEXT];
    uint32_t dims[REF_RANK] = { 0 }, rank;
    matmul_form f;

    if (a->rank < 2 || b->rank < 2)
        return ref_refuse(why, "inputs \"%s\" %s and \"%s\" %s: each needs a rank of at least 2",
                          a->name, ref_shape_text(a, a_text), b->name, ref_shape_text(b, b_text));
    f = matmul_read(node);
    if (b->dims[b->rank - 2 + f.transpose_b] != f.k)
        return ref_refuse(why, "inputs \"%s\" %s%s and \"%s\" %s%s: sums run over %u and %u"
                          " elements, expected the same number", a->name, ref_shape_text(a, a_text),
                          f.transpose_a ? " transposed" : "", b->name, ref_shape_text(b, b_text),
                          f.transpose_b ? " transposed" : "", (unsigned)f.k,
                          (unsigned)b->dims[b->rank - 2 + f.transpose_b]);
    rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 2; i < rank; ++i) {
        const uint32_t p = i < a->rank ? a->dims[a->rank - 1 - i] : 1;
        const uint32_t q = i < b->rank ? b->dims[b->rank - 1 - i] : 1;
        if (p != q && p != 1 && q != 1)
            return ref_refuse(why,
                              "inputs \"%s\" %s and \"%s\" %s: %u and %u matrices do not broadcast",
                              a->name, ref_shape_text(a, a_text), b->name,
                              ref_shape_text(b, b_text), (unsigned)p, (unsigned)q);
        dims[rank - 1 - i] = p > q ? p : q;
    }
    dims[rank - 2] = f.m;
    dims[rank - 1] = f.n;
    if (!ref_expect_shape(node->out[0], "output", rank, dims, why) ||
        !ref_expect_type(node->out[0], "output", a->dtype, why))
        return 0;

    /* The second operand may be an activation: its 8-bit values may have any zero point. */
    if (!b->fixed || b->quant.form <= REF_QUANT_PER_TENSOR) {
        const ref_quant *q = &b->quant;
        if (!check_weight_type(a, b, why))
            return 0;
        if (q->form > REF_QUANT_PER_TENSOR)
            return ref_refuse(why, "input 1 \"%s\" has one scale per channel, which only a static"
                              " tensor can have", b->name);
        if (ref_is_quantized(b->dtype) && bits_of(b->dtype) == 16 &&
            (q->offsets != NULL ? q->offsets[0] : 0) != symmetric_offset(b->dtype))
            return ref_refuse(why, "input 1 \"%s\" has offset %ld, expected %ld: 16-bit values of a"
                              " second operand are symmetric", b->name,
                              (long)(q->offsets != NULL ? q->offsets[0] : 0),
                              (long)symmetric_offset(b->dtype));
    } else {
        if (b->quant.form == REF_QUANT_PER_AXIS && a->dtype != REF_F16)
            return ref_refuse(why, "input 1 \"%s\" has one scale per channel, which MatMul takes"
                              " only with FLOAT_16 as input 0 (the NPU library crashes): use"
                              " FullyConnected or Conv2d", b->name);
        if (!ref_check_weight(a, b, b->rank - 1 - f.transpose_b, b->rank - 2 + f.transpose_b, why))
            return 0;
    }
    if (bias != NULL && ref_is_quantized(a->dtype) && !b->fixed)
        return ref_refuse(why, "input 2 \"%s\": with input 0 of %s, a bias needs a static input 1"
                          " (libraries compute it wrong): add it with ElementWiseAdd", bias->name,
                          ref_type_name(a->dtype));
    return ref_check_bias(a, b, bias, f.n, why);
}

/* Scratch: rows of a, rows of the output, the bias, elements of a apart, decoded weights. */
static size_t matmul_scratch(const ref_node *node)
{
    const matmul_form f = matmul_read(node);
    const size_t chunk = ref_product_chunk(f.m, f.k);
    return (chunk * ((size_t)f.k + f.n + 1) + f.n) * sizeof(float) + ref_product_scratch(f.k);
}

static int matmul_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *a = node->in[0], *b = node->in[1], *out = node->out[0];
    const ref_tensor *bias = node->in_count > 2 ? node->in[2] : NULL;
    const matmul_form f = matmul_read(node);
    const size_t chunk = ref_product_chunk(f.m, f.k);
    float *x = (float *)scratch, *rows = x + chunk * f.k, *bias_values = rows + chunk * f.n;
    float *apart = bias_values + f.n, *decoded = apart + chunk;
    const uint64_t a_size = (uint64_t)f.m * f.k, b_size = (uint64_t)f.k * f.n,
        out_size = (uint64_t)f.m * f.n;
    const uint64_t matrices = out->count / out_size;
    ref_matrix matrix = { b, 0, f.n, 1, f.k, f.n, 0 };
    (void)why;

    if (f.transpose_b) {
        matrix.row_step = 1;
        matrix.column_step = f.k;
    }
    if (bias != NULL)
        ref_load(bias, 0, f.n, bias_values);
    for (uint64_t o = 0; o < matrices; ++o) {
        uint64_t rest = o, a_at = 0, b_at = 0, a_step = a_size, b_step = b_size;
        for (uint32_t i = 2; i < out->rank; ++i) {
            const uint32_t dim = out->dims[out->rank - 1 - i];
            const uint32_t p = i < a->rank ? a->dims[a->rank - 1 - i] : 1;
            const uint32_t q = i < b->rank ? b->dims[b->rank - 1 - i] : 1;
            a_at += p > 1 ? rest % dim * a_step : 0;
            b_at += q > 1 ? rest % dim * b_step : 0;
            a_step *= p;
            b_step *= q;
            rest /= dim;
        }
        matrix.first = b_at;
        for (size_t m = 0; m < f.m; m += chunk) {
            const size_t count = f.m - m < chunk ? f.m - m : chunk;
            if (!f.transpose_a) {
                ref_load(a, a_at + m * f.k, (uint64_t)count * f.k, x);
            } else {
                for (size_t k = 0; k < f.k; ++k) {
                    ref_load(a, a_at + k * f.m + m, count, apart);
                    for (size_t i = 0; i < count; ++i)
                        x[i * f.k + k] = apart[i];
                }
            }
            ref_product(x, count, &matrix, rows, f.n, decoded);
            if (bias != NULL)
                add_bias(bias_values, f.n, rows, count);
            ref_store(out, o * out_size + m * f.n, (uint64_t)count * f.n, rows);
        }
    }
    return 1;
}

/* ---- FullyConnected -------------------------------------------------------------------------- */

/* weight is [outputs, K]: a matrix of K rows that is read along its columns. */
static int fully_connected_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *w = node->in[1];
    const ref_tensor *bias = node->in_count > 2 ? node->in[2] : NULL;
    char x_text[REF_SHAPE_TEXT], w_text[REF_SHAPE_TEXT];
    uint32_t dims[REF_RANK], rank = 2;

    if (w->rank != 2)
        return ref_refuse(why, "input 1 \"%s\" is %s, expected rank 2: [outputs, inputs]", w->name,
                          ref_shape_text(w, w_text));
    if (ref_param_value(node, "keep_dims", 0.0) != 0.0) {
        if (x->dims[x->rank - 1] != w->dims[1])
            return ref_refuse(why, "input 0 \"%s\" is %s, with keep_dims its last dimension must be"
                              " %u as in input 1 \"%s\" %s", x->name, ref_shape_text(x, x_text),
                              (unsigned)w->dims[1], w->name, ref_shape_text(w, w_text));
        rank = x->rank;
        memcpy(dims, x->dims, sizeof dims);
    } else {
        if (x->count % w->dims[1] != 0 || x->count / w->dims[1] > UINT32_MAX)
            return ref_refuse(why, "input 0 \"%s\" %s has %llu elements, which do not make rows of"
                              " the %u of input 1 \"%s\" %s", x->name, ref_shape_text(x, x_text),
                              (unsigned long long)x->count, (unsigned)w->dims[1], w->name,
                              ref_shape_text(w, w_text));
        dims[0] = (uint32_t)(x->count / w->dims[1]);
    }
    dims[rank - 1] = w->dims[0];
    return ref_expect_shape(node->out[0], "output", rank, dims, why) &&
           ref_expect_type(node->out[0], "output", x->dtype, why) &&
           ref_check_weight(x, w, 0, 1, why) &&
           ref_check_bias(x, w, bias, w->dims[0], why);
}

/* Scratch: rows of x, rows of the output, the bias, decoded weights. */
static size_t fully_connected_scratch(const ref_node *node)
{
    const ref_tensor *x = node->in[0], *w = node->in[1];
    const size_t k = w->dims[1], n = w->dims[0], chunk = ref_product_chunk(x->count / k, k);
    return (chunk * (k + n) + n) * sizeof(float) + ref_product_scratch(k);
}

static int fully_connected_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *w = node->in[1];
    const ref_tensor *bias = node->in_count > 2 ? node->in[2] : NULL;
    const size_t k = w->dims[1], n = w->dims[0], rows = x->count / k,
        chunk = ref_product_chunk(rows, k);
    float *values = (float *)scratch, *sums = values + chunk * k, *bias_values = sums + chunk * n;
    const ref_matrix matrix = { w, 0, 1, k, k, n, 0 };
    (void)why;

    if (bias != NULL)
        ref_load(bias, 0, n, bias_values);
    for (size_t row = 0; row < rows; row += chunk) {
        const size_t count = rows - row < chunk ? rows - row : chunk;
        ref_load(x, row * k, (uint64_t)count * k, values);
        ref_product(values, count, &matrix, sums, n, bias_values + n);
        if (bias != NULL)
            add_bias(bias_values, n, sums, count);
        ref_store(node->out[0], row * n, (uint64_t)count * n, sums);
    }
    return 1;
}

/* ---- table ----------------------------------------------------------------------------------- */

static const ref_param_spec matmul_params[] = {
    { "transpose_in0", REF_BOOL, 0 }, { "transpose_in1", REF_BOOL, 0 }, { NULL, 0, 0 }
};
static const ref_param_spec fully_connected_params[] = {
    { "keep_dims", REF_BOOL, 0 }, { NULL, 0, 0 }
};

const ref_op ref_ops_linear[] = {
    { "MatMul", REF_T_REAL, 2, 3, 1, 1, matmul_params, matmul_check, matmul_scratch, matmul_run },
    { "FullyConnected", REF_T_REAL, 2, 3, 1, 1, fully_connected_params, fully_connected_check,
      fully_connected_scratch, fully_connected_run },
    { NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
};
