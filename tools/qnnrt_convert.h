/* qnnrt_convert.h - v0.5.0 - tensors of another type, encoding or layout, as host steps

   In one C or C++ file, after qnnrt.h:         Everywhere else:
       #define QNNRT_CONVERT_IMPLEMENTATION         #include "qnnrt.h"
       #include "qnnrt_convert.h"                   #include "qnnrt_convert.h"

       qnnrt_conversion wishes[2] = { { QNNRT_CONVERT_VALUES, 0 } };     // edges[0]: f16 -> f32
       qnnrt_conversions *conversions;
       if (qnnrt_conversions_create(&desc, wishes, NULL, &conversions, &err) != QNNRT_OK ||
           qnnrt_pipeline_make(qnnrt_conversions_desc(conversions), &pipeline, &err) != QNNRT_OK)
           puts(err.text);
       ...
       qnnrt_pipeline_destroy(pipeline);
       qnnrt_conversions_free(conversions);

   Uses     Public names of qnnrt.h, and libc.
   Trust    The caller is trusted. Tensors are checked, whatever file they come from.
   Memory   One allocator hook; an exec allocates nothing.
   Threads  The header creates none. One converter may run on several threads at once; its counts
            are then those of the exec that ended last.
   Globals  Constant tables only. The header prints nothing and never aborts.

   WORDS
       converter   converts one tensor, `from`, to another one, `to`
       conversion  a step of a pipeline that is a converter's
       lost        a value that `to` cannot hold: it is saturated, and counted

   BUILD OPTIONS, to define before the header is first included
       QNNRT_CONVERT_API   replaces the storage and export prefix of all functions
                           (default: QNNRT_API)
       The options of qnnrt.h work here too: QNNRT_STATIC, QNNRT_API

   MANUAL

   Steps
       Outputs and inputs that do not fit are wired with a conversion between them, which is asked
       for: nothing else is converted. qnnrt_conversions_create() puts each before its first
       reader, so the numbers of later steps grow. In code that wires its steps itself,
       qnnrt_convert_create() makes one converter and qnnrt_convert_step() its step.
       qnnrt_convert_of() finds the converter of a step, and qnnrt_convert_get_info() what it lost.

   Exact
       The result is the value nearest to the exact one, ties to even, in every rounding mode and
       with -ffast-math. Fast loops do what is certain, and the rest is computed on integers.

   ROOMS (search for the tag)
       >>walk >>layout >>make >>insert
*/
#ifndef QNNRT_CONVERT_H
#define QNNRT_CONVERT_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_convert.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_CONVERT_API
#define QNNRT_CONVERT_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What happens to a value on its way from one tensor to another of another dtype, encoding or
   layout. Each element becomes the nearest value that the other tensor has, ties to even; what is
   out of range becomes the end of the range (of float16: +-65504, for infinities too). */
typedef enum qnnrt_convert {
    QNNRT_CONVERT_NONE = 0,
    QNNRT_CONVERT_VALUES,      /* the dimensions are equal */
    QNNRT_CONVERT_TO_NHWC,     /* dimension 1 becomes the last one: [N, C, H, W] to [N, H, W, C] */
    QNNRT_CONVERT_TO_NCHW      /* the last dimension becomes dimension 1 */
} qnnrt_convert;

typedef struct qnnrt_converter qnnrt_converter;

typedef struct qnnrt_conversion {       /* what an edge or a converter is asked for */
    qnnrt_convert how;
    int           exact;    /* 1: an exec fails if a value is lost (default 0: it is counted) */
} qnnrt_conversion;

typedef struct qnnrt_converter_info {
    qnnrt_convert how;
    int           exact;
    uint64_t lost;          /* values of the last exec that did not fit: beyond the range of `to`,
                               or NaN where it has none */
    uint64_t lost_ever;     /* the same, of all execs */
} qnnrt_converter_info;

/* Make a converter.

   from, to   two tensors with the same dimensions; with TO_NHWC, to->dims are those of `from` with
              dimension 1 as the last one, with TO_NCHW the reverse. name, dtype, rank, dims, quant,
              vendor_format and dynamic_dims are read; all is copied
   wish       how is not NONE
   hooks      alloc and free are used; NULL: malloc and free
   out        receives the converter, NULL on failure

   Returns    QNNRT_OK
              QNNRT_E_ARG          a tensor is inconsistent; or there is nothing to convert: `how`
                                   is NONE, or VALUES of two tensors with equal facts. That is a
                                   mistake: an edge between them costs nothing, this is a copy
              QNNRT_E_MISMATCH     the dimensions do not fit
              QNNRT_E_UNSUPPORTED  a 4- or 8-bit float or a quantized type without an encoding whose
                                   values are needed; strings, encodings of the vendor, dynamic
                                   dimensions; another layout of elements below 8 bits
              QNNRT_E_MEMORY
   Frees      qnnrt_convert_free() */
QNNRT_CONVERT_API qnnrt_result qnnrt_convert_create(const qnnrt_tensor_info *from,
                                                    const qnnrt_tensor_info *to,
                                                    const qnnrt_conversion *wish,
                                                    const qnnrt_hooks *hooks,
                                                    qnnrt_converter **out, qnnrt_error *err);

/* Return the step for qnnrt_step_desc.host, "convert " and the name of `from`. Its input and output
   have the names of the two tensors ("from" and "to" for those without). It lives as long as the
   converter, which must outlive the pipelines that it is a step of.

   Without a pipeline, call step->exec(step->user, NULL, &from, &to, &err): `from` and `to` are as
   large as their tensors, of any alignment, and do not overlap. It returns QNNRT_E_MISMATCH with
   wish->exact, if a value is lost. */
QNNRT_CONVERT_API const qnnrt_host_step *qnnrt_convert_step(const qnnrt_converter *converter);

QNNRT_CONVERT_API qnnrt_converter_info qnnrt_convert_get_info(const qnnrt_converter *converter);
QNNRT_CONVERT_API void qnnrt_convert_free(qnnrt_converter *converter);      /* may be NULL */

/* Return the converter of a step of a pipeline, or NULL: it is no conversion. */
QNNRT_CONVERT_API qnnrt_converter *qnnrt_convert_of(const qnnrt_step_info *step);

typedef struct qnnrt_conversions qnnrt_conversions;

/* Describe a pipeline with the conversions of its edges as steps. Edges that convert an output in
   the same way share one.

   desc     borrowed until qnnrt_pipeline_make() has read qnnrt_conversions_desc()
   wishes   [desc->edge_count] what each edge asks for; NULL: nothing
   hooks    alloc and free are used; NULL: malloc and free
   out      receives the conversions, NULL on failure

   Returns  QNNRT_OK; as qnnrt_convert_create(), the text names the edge; QNNRT_E_LIMIT (more than
            16,384 conversions); QNNRT_E_MEMORY. What does not exist is left as it is, and
            qnnrt_pipeline_make() says so
   Frees    qnnrt_conversions_free(), after the pipelines of it are destroyed */
QNNRT_CONVERT_API qnnrt_result qnnrt_conversions_create(const qnnrt_pipeline_desc *desc,
                                                        const qnnrt_conversion *wishes,
                                                        const qnnrt_hooks *hooks,
                                                        qnnrt_conversions **out,
                                                        qnnrt_error *err);

/* Return the description with the conversions, for qnnrt_pipeline_make(). */
QNNRT_CONVERT_API const qnnrt_pipeline_desc *
qnnrt_conversions_desc(const qnnrt_conversions *conversions);

/* Return the number that a step of `desc` has in the pipeline. */
QNNRT_CONVERT_API size_t qnnrt_conversions_step(const qnnrt_conversions *conversions, size_t step);
QNNRT_CONVERT_API void qnnrt_conversions_free(qnnrt_conversions *conversions);  /* may be NULL */

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_CONVERT_H, end of the declarations */

#ifdef QNNRT_CONVERT_IMPLEMENTATION
#ifndef QNNRT_CONVERT__IMPL_ONCE
#define QNNRT_CONVERT__IMPL_ONCE

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   WALK                                                                            >>walk
   Converts elements in their order, by the fastest way that is exact for both tensors.
   Needs: nothing     Knows nothing of: pipelines
   ===================================================================================== */

/* A function of loops over elements; gcc makes vector code at -O2 too, as clang does. */
#if defined(__GNUC__) && !defined(__clang__)
#define QNNRT_CONVERT__LOOP                                                                        \
    __attribute__((optimize("tree-vectorize", "vect-cost-model=dynamic")))
#else
#define QNNRT_CONVERT__LOOP
#endif
/* Called for each step of a search; tests count it. */
#ifndef QNNRT_CONVERT__STEP
#define QNNRT_CONVERT__STEP() ((void)0)
#endif

static size_t qnnrt_convert__least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* qnnrt_values_convert() is exact for any two tensors, and fast from and to float32. What goes
   through float32 without a change goes in two of these calls. 8- and 16-bit values of one scale,
   which may have more bits than a float, become such values or 16-bit floats as follows.

   The number that becomes the element of `to` is q * ratio: for integers the quotient of real value
   and scale, so that `to` is taken to have the scale 1; for 16-bit floats the real value, which is
   exact in double arithmetic. It is cut to the bits of a float, with the last one set if anything
   was cut off (rounding to odd), so that a second rounding goes where one rounding would: below
   2^22 there are at least two bits after the point. The quotient is off by less than 2^-20,
   whatever the unit rounds to, so an integer is certain to be the code if the quotient is closer to
   it than 0.5 - 2^-20. A chunk with others is converted by the exact function. */

enum {
    QNNRT_CONVERT__CHUNK  = 512,            /* elements that are floats between two steps */
    QNNRT_CONVERT__OFFSET = 1 << 21         /* the largest |offset| of a ratio */
};

typedef enum qnnrt_convert__way {
    QNNRT_CONVERT__MOVE,        /* elements stay as they are       */
    QNNRT_CONVERT__EXACT,       /* one call                        */
    QNNRT_CONVERT__FLOATS,      /* through float32                 */
    QNNRT_CONVERT__RATIO        /* integers by their ratio         */
} qnnrt_convert__way;

struct qnnrt_converter {
    qnnrt_arena          arena;
    /* Both tensors in the order in which values are converted, NCHW for a change of layout. */
    qnnrt_tensor_info    from, to;
    qnnrt_tensor_info    floats;                    /* float32 in the same order */
    qnnrt_tensor_info    units;                     /* RATIO: `to`, with the scale 1 if any */
    qnnrt_convert__way   way;
    double               scale, inverse;            /* RATIO */
    qnnrt_convert        how;
    size_t               from_bits, to_bits, total;
    size_t               batch, channels, points;
    int                  exact;
    qnnrt_tensor_info    ends[2];                   /* of the step */
    qnnrt_host_step      step;
    size_t               lost, lost_ever;
};

/* Write floats from integers of a type; unsigned ones have the bits of code ^ sign. Return how many
   are too close to the middle between two integers. */
#define QNNRT_CONVERT__RATIOS(name, type)                                                          \
    QNNRT_CONVERT__LOOP static uint32_t name(                                                      \
        const qnnrt_converter *c, const unsigned char *__restrict src, float *__restrict dst,      \
        size_t n)                                                                                  \
    {                                                                                              \
        size_t i;                                                                                  \
        /* With the top bit flipped a signed code is unsigned, and larger by that bit. */          \
        const uint32_t sign = c->from.dtype < QNNRT_DTYPE_U2Q ? 1u << (8 * sizeof(type) - 1) : 0;  \
        const int32_t offset = (int32_t)((uint32_t)c->from.quant.offset - sign);                   \
        const double scale = c->scale, inverse = c->inverse;                                       \
        uint32_t unsure = 0;                                                                       \
        for (i = 0; i < n; ++i) {                                                                  \
            type code;                                                                             \
            double x, r;                                                                           \
            uint64_t sum, b;                                                                       \
            float distance;                                                                        \
            uint32_t rest;                                                                         \
            memcpy(&code, src + i * sizeof(code), sizeof(code));                                   \
            x = (double)((int32_t)(code ^ sign) + offset) * scale * inverse;                       \
            r = x + 6755399441055744.0;                     /* 1.5 * 2^52: leaves integers */      \
            memcpy(&sum, &r, sizeof(sum));                                                         \
            distance = (float)(x - (double)(int32_t)(uint32_t)sum);                                \
            memcpy(&rest, &distance, sizeof(rest));                                                \
            unsure += (uint32_t)((rest & 0x7FFFFFFFu) > 0x3EFFFFE0u);       /* 0.5 - 2^-20 */      \
            memcpy(&b, &x, sizeof(b));                                                             \
            b = (b & ~(uint64_t)0x1FFFFFFF) | (((b & 0x1FFFFFFF) + 0x1FFFFFFF) & 0x20000000);      \
            memcpy(&x, &b, sizeof(x));                                                             \
            dst[i] = (float)x;                                                                     \
        }                                                                                          \
        return unsure;                                                                             \
    }
QNNRT_CONVERT__RATIOS(qnnrt_convert__ratios_8, uint8_t)
QNNRT_CONVERT__RATIOS(qnnrt_convert__ratios_16, uint16_t)
#undef QNNRT_CONVERT__RATIOS

static int qnnrt_convert__is_half(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_F16 || dtype == QNNRT_DTYPE_BF16;
}

/* Return 1 if a tensor has 8 or 16 bits and one scale that a ratio takes: 2^-126 to 2^100. */
static int qnnrt_convert__has_ratio(const qnnrt_tensor_info *tensor, size_t bits)
{
    const qnnrt_quant *quant = &tensor->quant;
    return tensor->dtype >= QNNRT_DTYPE_S2Q && tensor->dtype <= QNNRT_DTYPE_U32Q &&
           (bits == 8 || bits == 16) && quant->encoding == QNNRT_ENCODING_PER_TENSOR &&
           quant->offset >= -QNNRT_CONVERT__OFFSET && quant->offset <= QNNRT_CONVERT__OFFSET &&
           quant->scale >= 1.17549435e-38f && quant->scale < 1.2676506e30f;
}

/* Choose the way between two tensors that need one. */
static void qnnrt_convert__choose(qnnrt_converter *c)
{
    const qnnrt_dtype from = c->from.dtype, to = c->to.dtype;
    const int whole = c->from.quant.bitwidth == 0 || c->from.quant.bitwidth == c->from_bits;
    const int fixed = qnnrt_convert__has_ratio(&c->to, c->to_bits);
    c->way = QNNRT_CONVERT__EXACT;
    if (from == QNNRT_DTYPE_F32 || to == QNNRT_DTYPE_F32) return;
    if (qnnrt_convert__is_half(from) || (from < QNNRT_DTYPE_F4 && c->from_bits <= 16))
        c->way = QNNRT_CONVERT__FLOATS;
    if (!qnnrt_convert__has_ratio(&c->from, c->from_bits) || !whole ||
        (!fixed && !qnnrt_convert__is_half(to)))
        return;
    c->way = QNNRT_CONVERT__RATIO;
    c->scale = (double)c->from.quant.scale;
    c->inverse = fixed ? 1.0 / (double)c->to.quant.scale : 1.0;
    c->units = c->to;
    c->units.quant.scale = 1.0f;
}

/* Convert the elements [begin, begin + n) at src and dst. Return how many do not fit. Both tensors
   were checked, so no call fails. */
static uint64_t qnnrt_convert__walk(const qnnrt_converter *c, size_t begin,
                                    const unsigned char *src, unsigned char *dst, size_t n)
{
    const qnnrt_tensor_info *from = &c->from, *to = &c->to;
    float floats[QNNRT_CONVERT__CHUNK];
    uint64_t lost = 0, some = 0;
    size_t done, part;
    if (c->way == QNNRT_CONVERT__MOVE) {
        memcpy(dst, src, n * (c->from_bits / 8u));
        return 0;
    }
    if (c->way == QNNRT_CONVERT__EXACT) {
        (void)qnnrt_values_convert(from, src, to, dst, begin, n, &lost, NULL);
        return lost;
    }
    for (done = 0; done < n; done += part, lost += some) {
        /* Chunks begin with a byte of elements below 8 bits, as begin does. */
        const unsigned char *in = src + done * c->from_bits / 8u;
        unsigned char *out = dst + done * c->to_bits / 8u;
        uint32_t unsure = 0;
        part = qnnrt_convert__least(n - done, QNNRT_CONVERT__CHUNK);
        if (c->way == QNNRT_CONVERT__FLOATS)
            (void)qnnrt_values_convert(from, in, &c->floats, floats, begin + done, part, &some,
                                       NULL);
        else if (c->from_bits == 8)
            unsure = qnnrt_convert__ratios_8(c, in, floats, part);
        else
            unsure = qnnrt_convert__ratios_16(c, in, floats, part);
        if (unsure > 0 && !qnnrt_convert__is_half(to->dtype))
            (void)qnnrt_values_convert(from, in, to, out, begin + done, part, &some, NULL);
        else
            (void)qnnrt_values_convert(&c->floats, floats,
                                       c->way == QNNRT_CONVERT__RATIO ? &c->units : to, out,
                                       begin + done, part, &some, NULL);
    }
    return lost;
}

/* =====================================================================================
   LAYOUT                                                                        >>layout
   Converts all elements of a tensor, and moves the channels, NCHW (dimension 1) or NHWC (the last
   one), through a tile on the stack.
   Needs: >>walk     Knows nothing of: pipelines
   ===================================================================================== */

enum {
    QNNRT_CONVERT__CHANNELS = 16,       /* of a tile ...              */
    QNNRT_CONVERT__POINTS   = 128       /* ... and elements of each   */
};

/* Copy `rows` rows of n elements, src_step apart, to as many columns of rows that are dst_step
   apart; all in elements of `bytes`. */
static void qnnrt_convert__turn(const unsigned char *src, size_t src_step, unsigned char *dst,
                                size_t dst_step, size_t rows, size_t n, size_t bytes)
{
    size_t i, row;
#define QNNRT_CONVERT__TURN(size)                                                                  \
    for (i = 0; i < n; ++i)                                                                        \
        for (row = 0; row < rows; ++row)                                                           \
            memcpy(dst + (i * dst_step + row) * (size), src + (row * src_step + i) * (size), size)
    switch (bytes) {
    case 1:  QNNRT_CONVERT__TURN(1); break;
    case 2:  QNNRT_CONVERT__TURN(2); break;
    case 4:  QNNRT_CONVERT__TURN(4); break;
    default: QNNRT_CONVERT__TURN(8); break;
    }
#undef QNNRT_CONVERT__TURN
}

/* Convert the channels [c, c + channels) at the points [p, p + points) of a batch entry whose first
   element is `base`. Values are converted along the points. */
static uint64_t qnnrt_convert__tile(const qnnrt_converter *converter, const unsigned char *src,
                                    unsigned char *dst, size_t base, size_t c, size_t channels,
                                    size_t p, size_t points)
{
    unsigned char tile[QNNRT_CONVERT__CHANNELS * QNNRT_CONVERT__POINTS * 8];
    const size_t from_bytes = converter->from_bits / 8u, to_bytes = converter->to_bits / 8u;
    const size_t nhwc = base + p * converter->channels + c;
    const int to_nhwc = converter->how == QNNRT_CONVERT_TO_NHWC;
    uint64_t lost = 0;
    size_t i;

    if (!to_nhwc)
        qnnrt_convert__turn(src + nhwc * from_bytes, converter->channels, tile,
                            QNNRT_CONVERT__POINTS, points, channels, from_bytes);
    for (i = 0; i < channels; ++i) {
        const size_t nchw = base + (c + i) * converter->points + p;
        unsigned char *row = tile + i * QNNRT_CONVERT__POINTS * (to_nhwc ? to_bytes : from_bytes);
        lost += to_nhwc
            ? qnnrt_convert__walk(converter, nchw, src + nchw * from_bytes, row, points)
            : qnnrt_convert__walk(converter, nchw, row, dst + nchw * to_bytes, points);
    }
    if (to_nhwc)
        qnnrt_convert__turn(tile, QNNRT_CONVERT__POINTS, dst + nhwc * to_bytes,
                            converter->channels, channels, points, to_bytes);
    return lost;
}

/* Convert all elements. Return how many do not fit. */
static uint64_t qnnrt_convert__run(const qnnrt_converter *converter, const void *from, void *to)
{
    const unsigned char *src = (const unsigned char *)from;
    unsigned char *dst = (unsigned char *)to;
    const size_t channels = converter->channels, points = converter->points;
    uint64_t lost = 0;
    size_t n, p, p_n, c, c_n;

    if (converter->how == QNNRT_CONVERT_VALUES) {
        /* Clear the spare bits of a packed type. */
        if (converter->to_bits < 8) dst[(converter->total * converter->to_bits - 1) / 8u] = 0;
        return qnnrt_convert__walk(converter, 0, src, dst, converter->total);
    }
    for (n = 0; n < converter->batch; ++n)
        for (p = 0; p < points; p += p_n) {
            p_n = qnnrt_convert__least(points - p, QNNRT_CONVERT__POINTS);
            for (c = 0; c < channels; c += c_n) {
                c_n = qnnrt_convert__least(channels - c, QNNRT_CONVERT__CHANNELS);
                lost += qnnrt_convert__tile(converter, src, dst, n * channels * points, c, c_n, p,
                                            p_n);
            }
        }
    return lost;
}

/* =====================================================================================
   MAKE                                                                            >>make
   Checks two tensors and makes the converter.
   Needs: >>walk >>layout     Knows nothing of: files
   ===================================================================================== */

static int qnnrt_convert__make_equal(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof(uint32_t)) == 0);
}

/* Return 1 if `nhwc` has the dimensions of `nchw` with dimension 1 as the last one. */
static int qnnrt_convert__make_turned(const qnnrt_tensor_info *nchw, const qnnrt_tensor_info *nhwc)
{
    const uint32_t rank = nchw->rank;
    if (rank != nhwc->rank || rank < 3 || nchw->dims[0] != nhwc->dims[0] ||
        nchw->dims[1] != nhwc->dims[rank - 1])
        return 0;
    return memcmp(nchw->dims + 2, nhwc->dims + 1, (rank - 2) * sizeof(uint32_t)) == 0;
}

/* Fill an error with both tensors, each with its facts. */
static qnnrt_result qnnrt_convert__make_fail(qnnrt_error *err, qnnrt_result code,
                                             const qnnrt_tensor_info *from,
                                             const qnnrt_tensor_info *to, const char *why)
{
    char one[512], other[512];
    return qnnrt_error_set(err, code, "\"%.200s\" (%s) cannot be converted to \"%.200s\" (%s): %s",
                           from->name, qnnrt_tensor_text(from, one, sizeof(one)),
                           to->name, qnnrt_tensor_text(to, other, sizeof(other)), why);
}

/* Return why a tensor takes no part in a conversion, or NULL. */
static const char *qnnrt_convert__make_refuses(const qnnrt_tensor_info *tensor, uint32_t bits,
                                               int turns)
{
    if (tensor->vendor_format != 0) return "the order of its elements is known to the vendor only";
    if (tensor->dynamic_dims != NULL) return "its dimensions may change";
    if (bits == 0) return "its type has no fixed size";
    if (turns && bits < 8) return "elements below 8 bits stay where they are";
    return tensor->quant.encoding == QNNRT_ENCODING_OTHER ? "its encoding is the vendor's own"
                                                          : NULL;
}

/* Describe an NHWC tensor in the order NCHW of the other one. */
static void qnnrt_convert__make_order(qnnrt_tensor_info *nhwc, const qnnrt_tensor_info *nchw)
{
    const int32_t axis = nhwc->quant.axis, last = (int32_t)nhwc->rank - 1;
    nhwc->dims = nchw->dims;
    nhwc->quant.axis = axis == 0 ? 0 : axis == last ? 1 : axis + 1;
}

/* Count the elements, and check the encodings of values that do not stay as they are. */
static qnnrt_result qnnrt_convert__make_ready(qnnrt_converter *c, int moves, qnnrt_error *err)
{
    const uint64_t most = SIZE_MAX / 2u / 8u;
    uint64_t total = 1, lost;
    qnnrt_result result;
    qnnrt_error why;
    uint32_t i;
    for (i = 0; i < c->from.rank && total != 0; ++i)
        total = c->from.dims[i] != 0 && total > most / c->from.dims[i] ? 0
              : total * c->from.dims[i];
    if (total == 0)
        return qnnrt_convert__make_fail(err, QNNRT_E_ARG, &c->ends[0], &c->ends[1],
                                        "a dimension is 0, or they have too many elements");
    c->total = (size_t)total;
    c->floats.dtype = QNNRT_DTYPE_F32;
    c->floats.rank = c->from.rank;
    c->floats.dims = c->from.dims;
    if (moves) return QNNRT_OK;
    qnnrt_convert__choose(c);
    result = qnnrt_values_convert(&c->from, NULL, &c->to, NULL, 0, 0, &lost, &why);
    return result == QNNRT_OK ? result
         : qnnrt_convert__make_fail(err, result, &c->ends[0], &c->ends[1], why.text);
}

/* Check both tensors, and resolve the conversion. */
static qnnrt_result qnnrt_convert__make_resolve(qnnrt_converter *c, qnnrt_error *err)
{
    const qnnrt_tensor_info *from = &c->ends[0], *to = &c->ends[1];
    const int nhwc = c->how == QNNRT_CONVERT_TO_NHWC;
    const int turns = nhwc || c->how == QNNRT_CONVERT_TO_NCHW;
    const int fixed = from->dtype >= QNNRT_DTYPE_S2Q && from->dtype <= QNNRT_DTYPE_U32Q;
    qnnrt_result result;
    const char *why;
    int moves;

    if ((from->rank > 0 && from->dims == NULL) || (to->rank > 0 && to->dims == NULL))
        return qnnrt_error_set(err, QNNRT_E_ARG, "\"%.200s\" or \"%.200s\": no dimensions",
                               from->name, to->name);
    if (turns ? !qnnrt_convert__make_turned(nhwc ? from : to, nhwc ? to : from)
              : !qnnrt_convert__make_equal(from, to))
        return qnnrt_convert__make_fail(err, QNNRT_E_MISMATCH, from, to,
                                        !turns ? "the dimensions differ" : nhwc
                                        ? "the dimensions are not those of NCHW and NHWC"
                                        : "the dimensions are not those of NHWC and NCHW");
    c->from = *from;
    c->to   = *to;
    c->from_bits = qnnrt_dtype_bits(from->dtype);
    c->to_bits   = qnnrt_dtype_bits(to->dtype);
    if (turns) qnnrt_convert__make_order(nhwc ? &c->to : &c->from, nhwc ? from : to);
    moves = from->dtype == to->dtype &&
            (!fixed || qnnrt_quant_equal(&c->from.quant, &c->to.quant));
    if (!turns && (c->how != QNNRT_CONVERT_VALUES || moves)) {
        qnnrt_convert__make_fail(err, QNNRT_E_ARG, from, to,
                                 (unsigned)c->how > (unsigned)QNNRT_CONVERT_TO_NCHW
                                     ? "`how` is not a qnnrt_convert"
                                     : "there is nothing to convert");
        return qnnrt_error_hint(err, QNNRT_E_ARG,
                                "Wire the two by an edge, without a conversion.");
    }
    why = qnnrt_convert__make_refuses(from, (uint32_t)c->from_bits, turns);
    if (why == NULL) why = qnnrt_convert__make_refuses(to, (uint32_t)c->to_bits, turns);
    if (why != NULL) return qnnrt_convert__make_fail(err, QNNRT_E_UNSUPPORTED, from, to, why);
    result = qnnrt_convert__make_ready(c, moves, err);
    c->batch = c->channels = c->points = 1;
    if (turns && result == QNNRT_OK) {
        c->batch    = c->from.dims[0];
        c->channels = c->from.dims[1];
        c->points   = c->total / c->batch / c->channels;
    }
    return result;
}

static qnnrt_result qnnrt_convert__exec(void *user, const qnnrt_graph_info *step,
                                        const void *const *inputs, void *const *outputs,
                                        qnnrt_error *err)
{
    qnnrt_converter *converter = (qnnrt_converter *)user;
    const size_t lost = (size_t)qnnrt_convert__run(converter, inputs[0], outputs[0]);
    (void)step;
    __atomic_store_n(&converter->lost, lost, __ATOMIC_RELAXED);
    if (lost == 0) return QNNRT_OK;
    __atomic_fetch_add(&converter->lost_ever, lost, __ATOMIC_RELAXED);
    if (!converter->exact) return QNNRT_OK;
    qnnrt_convert__make_fail(err, QNNRT_E_MISMATCH, &converter->ends[0], &converter->ends[1],
                             "values do not fit");
    qnnrt_error_add(err, ": %zu of %zu", lost, converter->total);
    return qnnrt_error_hint(err, QNNRT_E_MISMATCH, "Clear `exact` to saturate them, or choose an"
                            " encoding that holds them.");
}

/* Copy bytes, or return NULL for none. */
static const void *qnnrt_convert__make_bytes(qnnrt_arena *arena, const void *from, size_t count,
                                             size_t size)
{
    void *to = from != NULL && count > 0 ? qnnrt_arena_get(arena, count, size) : NULL;
    if (to != NULL) memcpy(to, from, count * size);
    return to;
}

/* Copy what a converter needs of a tensor; of dynamic_dims only its presence counts, and a tensor
   that has it is refused. */
static void qnnrt_convert__make_copy(qnnrt_arena *arena, const qnnrt_tensor_info *from,
                                     const char *none, qnnrt_tensor_info *to)
{
    const char *name = from->name != NULL && from->name[0] != '\0' ? from->name : none;
    const uint32_t scales = from->quant.encoding == QNNRT_ENCODING_PER_AXIS ? from->quant.count : 0;
    to->name  = qnnrt_arena_text(arena, name, strlen(name));
    to->dtype = from->dtype;
    to->rank  = from->rank;
    to->dims  = (const uint32_t *)qnnrt_convert__make_bytes(arena, from->dims, from->rank,
                                                            sizeof(uint32_t));
    to->vendor_format = from->vendor_format;
    to->dynamic_dims  = from->dynamic_dims;
    to->quant         = from->quant;
    to->quant.scales  = (const float *)qnnrt_convert__make_bytes(arena, from->quant.scales, scales,
                                                                 sizeof(float));
    to->quant.offsets = (const int32_t *)qnnrt_convert__make_bytes(arena, from->quant.offsets,
                                                                   scales, sizeof(int32_t));
}

QNNRT_CONVERT_API void qnnrt_convert_free(qnnrt_converter *converter)
{
    qnnrt_hooks hooks;
    if (converter == NULL) return;
    hooks = converter->arena.hooks;
    qnnrt_arena_free(&converter->arena);
    qnnrt_hooks_free(&hooks, converter);
}

QNNRT_CONVERT_API qnnrt_result qnnrt_convert_create(const qnnrt_tensor_info *from,
                                                    const qnnrt_tensor_info *to,
                                                    const qnnrt_conversion *wish,
                                                    const qnnrt_hooks *hooks,
                                                    qnnrt_converter **out, qnnrt_error *err)
{
    static const char begin[] = "convert ";
    qnnrt_converter *c;
    qnnrt_result result;
    const char *name;
    size_t length;
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (out == NULL || from == NULL || to == NULL || wish == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_convert_create: an argument is NULL");
    name = from->name != NULL ? from->name : "";
    length = strlen(name);
    c = (qnnrt_converter *)qnnrt_hooks_alloc(hooks, 1, sizeof(*c) + sizeof(begin) + length);
    if (c == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a converter");
    memcpy((char *)(c + 1), begin, sizeof(begin) - 1);
    memcpy((char *)(c + 1) + sizeof(begin) - 1, name, length);
    if (hooks != NULL) c->arena.hooks = *hooks;
    c->arena.chunk = 1024;
    c->how   = wish->how;
    c->exact = wish->exact;
    qnnrt_convert__make_copy(&c->arena, from, "from", &c->ends[0]);
    qnnrt_convert__make_copy(&c->arena, to, "to", &c->ends[1]);
    c->step.name    = (const char *)(c + 1);
    c->step.inputs  = &c->ends[0];
    c->step.outputs = &c->ends[1];
    c->step.input_count = c->step.output_count = 1;
    c->step.exec    = qnnrt_convert__exec;
    c->step.user    = c;
    c->step.derived = 1;
    if (c->arena.failed == QNNRT_OK) result = qnnrt_convert__make_resolve(c, err);
    else result = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a converter");
    if (result == QNNRT_OK) *out = c;
    else qnnrt_convert_free(c);
    return result;
}

QNNRT_CONVERT_API const qnnrt_host_step *qnnrt_convert_step(const qnnrt_converter *converter)
{
    return converter != NULL ? &converter->step : NULL;
}

QNNRT_CONVERT_API qnnrt_converter_info qnnrt_convert_get_info(const qnnrt_converter *converter)
{
    qnnrt_converter_info info;
    memset(&info, 0, sizeof(info));
    if (converter == NULL) return info;
    info.how       = converter->how;
    info.exact     = converter->exact;
    info.lost      = __atomic_load_n(&converter->lost, __ATOMIC_RELAXED);
    info.lost_ever = __atomic_load_n(&converter->lost_ever, __ATOMIC_RELAXED);
    return info;
}

QNNRT_CONVERT_API qnnrt_converter *qnnrt_convert_of(const qnnrt_step_info *step)
{
    return step != NULL && step->host != NULL && step->host->exec == qnnrt_convert__exec
               ? (qnnrt_converter *)step->host->user : NULL;
}

/* =====================================================================================
   INSERT                                                                        >>insert
   The steps and edges of a description with conversions between them.
   Needs: >>walk >>make     Knows nothing of: elements
   ===================================================================================== */

enum { QNNRT_CONVERT__MOST = 16384 };

/* An edge that asks for a conversion. */
typedef struct qnnrt_convert__edge {
    const qnnrt_tensor_info *from, *to;
    const qnnrt_conversion *wish;
    size_t edge;                    /* of the description */
    size_t first;                   /* the edge that has the converter, itself or one before it */
    qnnrt_converter *converter;
    size_t before, number;          /* its first reader in the description; its own step */
} qnnrt_convert__edge;

struct qnnrt_conversions {
    qnnrt_arena          arena;
    qnnrt_pipeline_desc  desc;              /* with the conversions */
    size_t              *numbers;           /* step of the given description -> step */
    size_t               step_count;        /* of the given description */
    qnnrt_convert__edge *edges;
    size_t               edge_count;
    size_t               count;             /* of converters */
};

/* Find the tensors of a step; there are none if the description does not say which they are. */
static qnnrt_graph_info qnnrt_convert__insert_graph(const qnnrt_step_desc *step)
{
    const qnnrt_info *info = qnnrt_get_info(step->model);
    qnnrt_graph_info graph;
    size_t i;
    memset(&graph, 0, sizeof(graph));
    if (step->host != NULL) {
        graph.inputs  = step->host->inputs;
        graph.outputs = step->host->outputs;
        graph.input_count  = step->host->input_count;
        graph.output_count = step->host->output_count;
        return graph;
    }
    if (info == NULL || step->graph == NULL || step->context >= info->context_count) return graph;
    for (i = 0; i < info->contexts[step->context].graph_count; ++i)
        if (strcmp(info->contexts[step->context].graphs[i].name, step->graph) == 0)
            return info->contexts[step->context].graphs[i];
    return graph;
}

/* Find a tensor by its name. The search begins after the one that was found last, so edges in the
   order of the tensors take one comparison each. */
static const qnnrt_tensor_info *qnnrt_convert__tensor(const qnnrt_tensor_info *list, size_t count,
                                                      const char *name, size_t *last)
{
    size_t i;
    for (i = 0; list != NULL && i < count; ++i) {
        const size_t at = (*last + 1 + i) % count;
        QNNRT_CONVERT__STEP();
        if (list[at].name == NULL || strcmp(list[at].name, name) != 0) continue;
        *last = at;
        return &list[at];
    }
    return NULL;
}

/* Find the two tensors of an edge; last: those that were found last. Return 0 if one does not
   exist, which qnnrt_pipeline_make() says, too. */
static int qnnrt_convert__insert_ends(const qnnrt_pipeline_desc *desc, qnnrt_convert__edge *out,
                                      size_t last[2])
{
    const qnnrt_edge_desc *edge = &desc->edges[out->edge];
    qnnrt_graph_info from, to;
    if (edge->from == NULL || edge->to == NULL || edge->to_step >= desc->step_count ||
        edge->from_step >= edge->to_step)
        return 0;
    from = qnnrt_convert__insert_graph(&desc->steps[edge->from_step]);
    to   = qnnrt_convert__insert_graph(&desc->steps[edge->to_step]);
    out->from = qnnrt_convert__tensor(from.outputs, from.output_count, edge->from, &last[0]);
    out->to   = qnnrt_convert__tensor(to.inputs, to.input_count, edge->to, &last[1]);
    return out->from != NULL && out->to != NULL;
}

/* Compare what edges convert, and how. */
static int qnnrt_convert__edge_compare(const qnnrt_convert__edge *x, const qnnrt_convert__edge *y)
{
    const qnnrt_tensor_info *a = x->to, *b = y->to;
    int order = (x->from > y->from) - (x->from < y->from);
    if (order == 0) order = (int)x->wish->how - (int)y->wish->how;
    if (order == 0) order = (x->wish->exact != 0) - (y->wish->exact != 0);
    if (order == 0) order = (int)a->dtype - (int)b->dtype;
    if (order == 0) order = memcmp(&a->quant.scale, &b->quant.scale, sizeof(float));
    return order != 0 ? order : (a->quant.offset > b->quant.offset) -
                                (a->quant.offset < b->quant.offset);
}

/* Order edges so that those that may share a converter follow each other, the first one first. */
static int qnnrt_convert__edge_order(const void *a, const void *b)
{
    const qnnrt_convert__edge *x = (const qnnrt_convert__edge *)a;
    const qnnrt_convert__edge *y = (const qnnrt_convert__edge *)b;
    const int order = qnnrt_convert__edge_compare(x, y);
    QNNRT_CONVERT__STEP();
    return order != 0 ? order : x < y ? -1 : x > y;
}

/* Return 1 if two edges convert the same tensor in the same way. */
static int qnnrt_convert__edge_shares(const qnnrt_convert__edge *x, const qnnrt_convert__edge *y)
{
    const qnnrt_tensor_info *a = x->to, *b = y->to;
    return qnnrt_convert__edge_compare(x, y) == 0 && a->vendor_format == b->vendor_format &&
           qnnrt_quant_equal(&a->quant, &b->quant) && qnnrt_convert__make_equal(a, b);
}

/* Give each edge the first one whose converter it shares. Return 0 when out of memory. */
static int qnnrt_convert__insert_share(qnnrt_conversions *c)
{
    qnnrt_convert__edge *first = c->edges;
    const void **sorted =
        (const void **)qnnrt_arena_get(&c->arena, c->edge_count, sizeof(*sorted));
    size_t i;
    if (sorted == NULL) return 0;
    for (i = 0; i < c->edge_count; ++i) sorted[i] = &c->edges[i];
    qnnrt_sort(sorted, c->edge_count, qnnrt_convert__edge_order);
    for (i = 0; i < c->edge_count; ++i) {
        const size_t at = (size_t)((const qnnrt_convert__edge *)sorted[i] - c->edges);
        if (i == 0 || !qnnrt_convert__edge_shares(first, &c->edges[at])) first = &c->edges[at];
        c->edges[at].first = (size_t)(first - c->edges);
    }
    return 1;
}

/* Make the converters of all edges. */
static qnnrt_result qnnrt_convert__insert_make(qnnrt_conversions *c, const qnnrt_edge_desc *given,
                                               qnnrt_error *err)
{
    size_t i;
    for (i = 0; i < c->edge_count; ++i) {
        qnnrt_convert__edge *edge = &c->edges[i], *first = &c->edges[edge->first];
        const size_t reader = given[edge->edge].to_step;
        qnnrt_result result;
        qnnrt_error why;
        if (first != edge) {
            first->before = qnnrt_convert__least(first->before, reader);
            continue;
        }
        edge->before = reader;
        if (c->count++ == QNNRT_CONVERT__MOST)
            return qnnrt_error_set(err, QNNRT_E_LIMIT, "edge %u: a pipeline of more than %d"
                                   " conversions", (unsigned)edge->edge, (int)QNNRT_CONVERT__MOST);
        result = qnnrt_convert_create(edge->from, edge->to, edge->wish, &c->arena.hooks,
                                      &edge->converter, &why);
        if (result != QNNRT_OK) {
            qnnrt_error_set(err, result, "edge %u: %s", (unsigned)edge->edge, why.text);
            return why.hint[0] != '\0' ? qnnrt_error_hint(err, result, "%s", why.hint) : result;
        }
    }
    return QNNRT_OK;
}

/* Number the steps, each conversion before its first reader. */
static void qnnrt_convert__insert_steps(qnnrt_conversions *c, const qnnrt_pipeline_desc *given,
                                        qnnrt_step_desc *steps)
{
    size_t *numbers = c->numbers, more = 0;     /* zeros: the conversions before each step */
    size_t i, s;
    for (i = 0; i < c->edge_count; ++i)
        if (c->edges[i].converter != NULL) c->edges[i].number = numbers[c->edges[i].before]++;
    for (s = 0; s < given->step_count; ++s) {
        more += numbers[s];
        numbers[s] = s + more;
        steps[numbers[s]] = given->steps[s];
    }
    for (i = 0; i < c->edge_count; ++i) {
        qnnrt_convert__edge *edge = &c->edges[i];
        if (edge->converter == NULL) continue;
        edge->number += edge->before == 0 ? 0 : numbers[edge->before - 1] + 1;
        steps[edge->number].host = &edge->converter->step;
    }
}

/* Return the number of a step; one that there is not stays none. */
static size_t qnnrt_convert__insert_number(const qnnrt_conversions *c, size_t step)
{
    return step < c->step_count ? c->numbers[step] : step + c->count;
}

/* Let the edges lead through the conversions. edges: the edge_count given ones, then one into each
   conversion. */
static void qnnrt_convert__insert_edges(const qnnrt_conversions *c,
                                        const qnnrt_pipeline_desc *given, qnnrt_edge_desc *edges)
{
    qnnrt_edge_desc *into = edges + given->edge_count;
    size_t i;
    for (i = 0; i < given->edge_count; ++i) {
        edges[i] = given->edges[i];
        edges[i].from_step = qnnrt_convert__insert_number(c, edges[i].from_step);
        edges[i].to_step   = qnnrt_convert__insert_number(c, edges[i].to_step);
    }
    for (i = 0; i < c->edge_count; ++i) {
        const qnnrt_convert__edge *edge = &c->edges[i], *first = &c->edges[edge->first];
        qnnrt_edge_desc *out = &edges[edge->edge];
        if (first == edge) {
            *into = *out;
            into->to_step = edge->number;
            into->to = edge->converter->step.inputs[0].name;
            ++into;
        }
        out->from_step = first->number;
        out->from = first->converter->step.outputs[0].name;
    }
}

/* Fill in a description of which `asked` edges ask for a conversion. */
static qnnrt_result qnnrt_convert__insert(qnnrt_conversions *c, const qnnrt_pipeline_desc *given,
                                          const qnnrt_conversion *wishes, size_t asked,
                                          qnnrt_error *err)
{
    size_t last[2] = { SIZE_MAX, SIZE_MAX };
    qnnrt_result result;
    qnnrt_step_desc *steps;
    qnnrt_edge_desc *edges;
    qnnrt_use_desc *uses;
    size_t i;
    c->edges = (qnnrt_convert__edge *)qnnrt_arena_get(&c->arena, asked, sizeof(*c->edges));
    c->numbers = (size_t *)qnnrt_arena_get(&c->arena, given->step_count, sizeof(*c->numbers));
    for (i = 0; i < given->edge_count && c->numbers != NULL; ++i) {
        if (wishes[i].how == QNNRT_CONVERT_NONE && !wishes[i].exact) continue;
        c->edges[c->edge_count].edge = i;
        c->edges[c->edge_count].wish = &wishes[i];
        c->edge_count += (size_t)qnnrt_convert__insert_ends(given, &c->edges[c->edge_count], last);
    }
    if (c->numbers == NULL || !qnnrt_convert__insert_share(c)) return QNNRT_E_MEMORY;
    result = qnnrt_convert__insert_make(c, given->edges, err);
    if (result != QNNRT_OK) return result;
    steps = (qnnrt_step_desc *)qnnrt_arena_get(
        &c->arena, (uint64_t)given->step_count + c->count, sizeof(*steps));
    edges = (qnnrt_edge_desc *)qnnrt_arena_get(
        &c->arena, (uint64_t)given->edge_count + c->count, sizeof(*edges));
    uses = (qnnrt_use_desc *)qnnrt_arena_get(&c->arena, given->use_count, sizeof(*uses));
    if (c->arena.failed != QNNRT_OK) return QNNRT_E_MEMORY;
    qnnrt_convert__insert_steps(c, given, steps);
    qnnrt_convert__insert_edges(c, given, edges);
    for (i = 0; i < given->use_count; ++i) {
        uses[i] = given->uses[i];
        uses[i].step = qnnrt_convert__insert_number(c, uses[i].step);
    }
    c->desc.steps = steps;
    c->desc.edges = edges;
    c->desc.uses  = uses;
    c->desc.step_count += c->count;
    c->desc.edge_count += c->count;
    return QNNRT_OK;
}

QNNRT_CONVERT_API qnnrt_result qnnrt_conversions_create(const qnnrt_pipeline_desc *desc,
                                                        const qnnrt_conversion *wishes,
                                                        const qnnrt_hooks *hooks,
                                                        qnnrt_conversions **out,
                                                        qnnrt_error *err)
{
    qnnrt_conversions *c;
    qnnrt_result result = QNNRT_OK;
    size_t asked = 0;
    size_t i;
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (out == NULL || desc == NULL || (desc->steps == NULL && desc->step_count > 0) ||
        (desc->edges == NULL && desc->edge_count > 0) ||
        (desc->uses == NULL && desc->use_count > 0))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_conversions_create: an argument is NULL,"
                               " or steps, edges or uses are NULL with a count");
    c = (qnnrt_conversions *)qnnrt_hooks_alloc(hooks, 1, sizeof(*c));
    if (c == NULL)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for conversions");
    if (hooks != NULL) c->arena.hooks = *hooks;
    c->arena.chunk = 1024;
    c->desc = *desc;
    for (i = 0; wishes != NULL && i < desc->edge_count; ++i)
        asked += wishes[i].how != QNNRT_CONVERT_NONE || wishes[i].exact;
    c->step_count = asked > 0 ? desc->step_count : 0;
    if (asked > 0) result = qnnrt_convert__insert(c, desc, wishes, asked, err);
    if (result == QNNRT_E_MEMORY) qnnrt_error_set(err, result, "out of memory for conversions");
    if (result == QNNRT_OK) *out = c;
    else qnnrt_conversions_free(c);
    return result;
}

QNNRT_CONVERT_API const qnnrt_pipeline_desc *
qnnrt_conversions_desc(const qnnrt_conversions *conversions)
{
    return conversions != NULL ? &conversions->desc : NULL;
}

QNNRT_CONVERT_API size_t qnnrt_conversions_step(const qnnrt_conversions *conversions, size_t step)
{
    return conversions != NULL ? qnnrt_convert__insert_number(conversions, step) : step;
}

QNNRT_CONVERT_API void qnnrt_conversions_free(qnnrt_conversions *conversions)
{
    qnnrt_hooks hooks;
    size_t i;
    if (conversions == NULL) return;
    for (i = 0; i < conversions->edge_count; ++i)
        qnnrt_convert_free(conversions->edges[i].converter);
    hooks = conversions->arena.hooks;
    qnnrt_arena_free(&conversions->arena);
    qnnrt_hooks_free(&hooks, conversions);
}

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_CONVERT__IMPL_ONCE */
#endif /* QNNRT_CONVERT_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   First version: what edges of qnnrt.h 0.4 did, as steps that the caller sees.
   --------------------------------------------------------------------------------------------- */
