/* measure.c - how far two tensors are from each other

   ROOMS     >>numbers >>measure >>limits */
#include "run/measure/measure.h"
#include "run/io/io.h"

#include <float.h>
#include <math.h>
#include <signal.h>

/* =====================================================================================
   NUMBERS                                                                       >>numbers
   The elements of a tensor as stored integers, and as real numbers.
   ===================================================================================== */

/* Return the bytes of an integer type of whole bytes, quantized or not; 0 for other types. */
static size_t integer_bytes(qnnrt_dtype dtype)
{
    return value_is_float(dtype) ? 0 : value_size(dtype);
}

int64_t integer_at(qnnrt_dtype dtype, const void *data, uint64_t index)
{
    const unsigned kind = (unsigned)dtype >> 8;
    const int is_signed = kind == 0 || kind == 3;
    const size_t bytes = integer_bytes(dtype);
    uint64_t raw = 0;
    memcpy(&raw, (const char *)data + index * bytes, bytes);     /* little-endian, as all of it */
    if (bytes == 8) return is_signed || raw <= INT64_MAX ? (int64_t)raw : INT64_MAX;
    const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    return is_signed ? (int64_t)(raw ^ sign) - (int64_t)sign : (int64_t)raw;
}

/* Return how many elements lie between two neighbours of an axis. */
static uint64_t axis_stride(const qnnrt_tensor_info *tensor)
{
    uint64_t stride = 1;
    for (uint32_t d = (uint32_t)tensor->quant.axis + 1; d < tensor->rank; ++d)
        stride *= tensor->dims[d];
    return stride;
}

int numbers_of(const qnnrt_tensor_info *tensor, const void *data, uint64_t count, double *out)
{
    const qnnrt_quant *quant = &tensor->quant;
    const int encoded = quant->encoding == QNNRT_ENCODING_PER_TENSOR ||
                        quant->encoding == QNNRT_ENCODING_PER_AXIS;
    if (value_is_float(tensor->dtype)) return value_get(tensor->dtype, data, out, count);
    if (quant->bitwidth != 0 || integer_bytes(tensor->dtype) == 0) {
        OWNED float *values = cli_alloc((size_t)tensor->count, sizeof(*values));
        const int good = count <= tensor->count &&
                         qnnrt_decode_f32(tensor, data, values) == QNNRT_OK;
        for (uint64_t i = 0; i < count && good; ++i) out[i] = (double)values[i];
        return good;
    }
    const uint64_t stride = quant->encoding == QNNRT_ENCODING_PER_AXIS ? axis_stride(tensor) : 1;
    for (uint64_t i = 0; i < count; ++i) {
        double scale = 1, offset = 0;
        if (quant->encoding == QNNRT_ENCODING_PER_TENSOR) {
            scale = (double)quant->scale;
            offset = quant->offset;
        } else if (encoded) {
            const uint64_t at = i / stride % quant->count;
            scale = (double)quant->scales[at];
            offset = quant->offsets != NULL ? quant->offsets[at] : 0;
        }
        out[i] = ((double)integer_at(tensor->dtype, data, i) + offset) * scale;
    }
    return 1;
}

int same_encoding(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    return a->dtype == b->dtype && integer_bytes(a->dtype) != 0 &&
           a->quant.encoding != QNNRT_ENCODING_NONE && qnnrt_quant_equal(&a->quant, &b->quant);
}

/* =====================================================================================
   MEASURE                                                                       >>measure
   Statistics of the differences of two lists of numbers; the first one is the reference. Pairs of
   equal infinities, and of NaN and NaN, are equal and count nowhere else. A pair in which one is
   not finite otherwise is wild: it is beyond every tolerance, and in no sum.
   ===================================================================================== */

/* A sum that keeps what its additions round off (Neumaier's). */
typedef struct measure_sum { double sum, rest; } measure_sum;

static void measure_add(measure_sum *s, double x)
{
    const double sum = s->sum + x;
    s->rest += fabs(s->sum) >= fabs(x) ? (s->sum - sum) + x : (x - sum) + s->sum;
    s->sum = sum;
}

static double measure_total(const measure_sum *s) { return s->sum + s->rest; }

/* True for a pair that counts as equal without a difference: both NaN, or equal. */
static int measure_equal(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static size_t measure_bin(double difference, double largest)
{
    static const double below[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};
    size_t bin = 0;
    if (difference == 0) return 0;
    while (bin < 7 && !(difference < below[bin] * largest)) ++bin;
    return bin + 1;
}

/* Powers of two that bring numbers near 1, so that sums of squares neither overflow nor vanish. */
typedef struct measure_scale {
    int values, differences;
} measure_scale;

static int measure_exponent(double largest)
{
    int exponent = 0;
    if (isinf(largest)) return DBL_MAX_EXP + 1;  /* the difference of two finite numbers */
    if (largest > 0) frexp(largest, &exponent);
    return exponent;
}

/* Return the difference of two finite numbers, times a power of two. */
static double measure_difference(double a, double b, int exponent)
{
    const double d = fabs(a - b);
    return isinf(d) ? fabs(ldexp(a, -exponent) - ldexp(b, -exponent)) : ldexp(d, -exponent);
}

/* Find the largest values and differences. */
static measure_scale measure_largest(measure *m, const double *a, const double *b)
{
    double both = 0, most = 0;
    for (uint64_t i = 0; i < m->count; ++i) {
        if (isfinite(a[i]) && fabs(a[i]) > m->largest) m->largest = fabs(a[i]);
        if (isfinite(b[i]) && fabs(b[i]) > both) both = fabs(b[i]);
        if (isfinite(a[i]) && isfinite(b[i]) && fabs(a[i] - b[i]) > most) most = fabs(a[i] - b[i]);
    }
    const measure_scale scale = {measure_exponent(m->largest > both ? m->largest : both),
                                 measure_exponent(most)};
    return scale;
}

void measure_numbers(measure *m, const double *a, const double *b, uint64_t count)
{
    measure_sum sum = {0, 0}, squares = {0, 0}, aa = {0, 0}, bb = {0, 0}, ab = {0, 0};
    uint64_t finite = 0;
    double most = 0;
    memset(m, 0, sizeof(*m));
    m->count = count;
    m->worst = m->first_bad = UINT64_MAX;
    const measure_scale scale = measure_largest(m, a, b);
    for (uint64_t i = 0; i < count; ++i) {
        const int equal = measure_equal(a[i], b[i]);
        m->unequal += !equal;
        m->nans += isnan(a[i]) && isnan(b[i]);
        if (!isfinite(a[i]) || !isfinite(b[i])) {
            m->wild += !equal;
            ++m->bins[equal ? 0 : MEASURE_BINS - 1];
            continue;
        }
        const double x = ldexp(a[i], -scale.values), y = ldexp(b[i], -scale.values),
                     d = measure_difference(a[i], b[i], scale.differences);
        ++finite;
        if (d > most) {
            most = d;
            m->worst = i;
        }
        measure_add(&sum, d);
        measure_add(&squares, d * d);
        measure_add(&aa, x * x);
        measure_add(&bb, y * y);
        measure_add(&ab, x * y);
        ++m->bins[measure_bin(d, ldexp(m->largest, -scale.differences))];
    }
    const double noise = measure_total(&squares), signal = measure_total(&aa),
                 other = measure_total(&bb), n = finite > 0 ? (double)finite : 1;
    m->max_abs = ldexp(most, scale.differences);
    m->mean_abs = ldexp(measure_total(&sum) / n, scale.differences);
    m->rmse = ldexp(sqrt(noise / n), scale.differences);
    m->cosine = signal > 0 && other > 0
                    ? measure_total(&ab) / (sqrt(signal) * sqrt(other))
                    : !(signal > 0) && !(other > 0);
    m->sqnr_db = !(noise > 0) ? INFINITY : !(signal > 0) ? -INFINITY
                 : 10 * log10(signal / noise) +
                   20 * log10(2) * (scale.values - scale.differences);
}

void measure_quantized(measure *m, const qnnrt_tensor_info *tensor, const void *a, const void *b)
{
    measure_sum sum = {0, 0};
    m->quantized = 1;
    for (uint64_t i = 0; i < m->count; ++i) {
        const int64_t x = integer_at(tensor->dtype, a, i), y = integer_at(tensor->dtype, b, i);
        const uint64_t d = x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
        if (d > m->quantized_max) m->quantized_max = d;
        measure_add(&sum, (double)d);
    }
    m->quantized_mean = m->count > 0 ? measure_total(&sum) / (double)m->count : 0;
}

/* =====================================================================================
   LIMITS                                                                         >>limits
   --tolerance [TENSOR=]T[:abs|:quantized]: what a difference may be.
   ===================================================================================== */

int limit_read(const char *text, limit *out)
{
    static const char *const kinds[] = {"", ":abs", ":quantized", ":codes"};
    const char *equals = strrchr(text, '='), *number = equals != NULL ? equals + 1 : text;
    const size_t length = strcspn(number, ":");
    size_t kind = 0;
    memset(out, 0, sizeof(*out));
    while (kind < 4 && strcmp(number + length, kinds[kind]) != 0) ++kind;
    OWNED char *digits = cli_text("%.*s", (int)length, number);
    const int good = kind < 4 && equals != text && cli_real(digits, &out->value) &&
                     out->value >= 0 && isfinite(out->value);
    out->kind = kind < 3 ? (limit_kind)kind : LIMIT_QUANTIZED;   /* ":codes" is its old name */
    if (good && equals != NULL) out->tensor = cli_text("%.*s", (int)(equals - text), text);
    return good;
}

/* Return the largest difference of real numbers that a limit allows; steps are times the scale. */
static double limit_of(const limit *l, const measure *m)
{
    return l->kind == LIMIT_RELATIVE ? l->value * m->largest : l->value;
}

void limit_apply(const limit *l, measure *m, const double *a, const double *b,
                 const qnnrt_tensor_info *tensor, const void *a_data, const void *b_data)
{
    const double most = limit_of(l, m);
    for (uint64_t i = 0; i < m->count; ++i) {
        double d = fabs(a[i] - b[i]);
        if (measure_equal(a[i], b[i])) d = 0;
        else if (l->kind == LIMIT_QUANTIZED)
            d = fabs((double)integer_at(tensor->dtype, a_data, i) -
                     (double)integer_at(tensor->dtype, b_data, i));
        if (d <= most) continue;                 /* NaN is beyond every limit */
        m->first_bad = i;
        return;
    }
}
