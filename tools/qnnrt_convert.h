/* qnnrt_convert.h - v0.5.0 - tensors of another type, encoding or layout, as host steps

   In one C or C++ file, after qnnrt.h:         Everywhere else:
       #define QNNRT_CONVERT_IMPLEMENTATION         #include "qnnrt.h"
       #include "qnnrt_convert.h"                   #include "qnnrt_convert.h"

       qnnrt_conversion wishes[2] = { { QNNRT_CONVERT_VALUES } };   // of edges[0]: f16 -> f32
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
       >>config >>value >>scale >>loop >>walk >>layout >>make >>insert >>public
*/
#ifndef QNNRT_CONVERT_H
#define QNNRT_CONVERT_H

#include "qnnrt.h"

#if QNNRT_VERSION_MAJOR != 0 || QNNRT_VERSION_MINOR != 5
#error "this qnnrt_convert.h belongs to qnnrt.h 0.5"
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

typedef struct qnnrt_convert_desc {
    qnnrt_convert how;      /* VALUES, TO_NHWC or TO_NCHW; not NONE */
    int           exact;    /* 1: an exec fails if a value is lost (default 0: it is counted) */
    const char   *name;     /* of the step (default NULL: "convert " and the name of `from`) */
    qnnrt_hooks   hooks;    /* alloc and free are used (default: malloc and free) */
} qnnrt_convert_desc;

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
                                                    const qnnrt_convert_desc *desc,
                                                    qnnrt_converter **out, qnnrt_error *err);

/* Return the step for qnnrt_step_desc.host. Its input and output have the names of the two
   tensors ("from" and "to" for those without). It lives as long as the converter, which must
   outlive the pipelines that it is a step of. */
QNNRT_CONVERT_API const qnnrt_host_step *qnnrt_convert_step(const qnnrt_converter *converter);

/* Convert without a pipeline.

   from, to   as large as their tensors, any alignment; they must not overlap

   Returns    QNNRT_OK; QNNRT_E_MISMATCH with desc.exact, if a value is lost; QNNRT_E_ARG */
QNNRT_CONVERT_API qnnrt_result qnnrt_convert_data(qnnrt_converter *converter, const void *from,
                                                  void *to, qnnrt_error *err);

QNNRT_CONVERT_API qnnrt_converter_info qnnrt_convert_get_info(const qnnrt_converter *converter);
QNNRT_CONVERT_API void qnnrt_convert_free(qnnrt_converter *converter);      /* may be NULL */

/* Return the converter of a step of a pipeline, or NULL: it is no conversion. */
QNNRT_CONVERT_API qnnrt_converter *qnnrt_convert_of(const qnnrt_step_info *step);

typedef struct qnnrt_conversion {       /* what an edge asks for */
    qnnrt_convert how;                  /* (default 0: nothing) */
    int           exact;                /* as in qnnrt_convert_desc */
} qnnrt_conversion;

typedef struct qnnrt_conversions qnnrt_conversions;

/* Describe a pipeline with the conversions of its edges as steps. Edges that convert an output in
   the same way share one.

   desc     borrowed until qnnrt_pipeline_make() has read qnnrt_conversions_desc()
   wishes   [desc->edge_count] what each edge asks for; NULL: nothing
   hooks    alloc and free are used; NULL: malloc and free
   out      receives the conversions, NULL on failure

   Returns  QNNRT_OK; QNNRT_E_ARG and QNNRT_E_NOT_FOUND (the text names the edge); as
            qnnrt_convert_create(); QNNRT_E_LIMIT (more than 16,384 conversions); QNNRT_E_MEMORY
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
   CONFIGURATION                                                                 >>config
   How loops are compiled.
   Needs: nothing     Knows nothing of: tensors
   ===================================================================================== */

/* A function of loops over elements; gcc makes vector code at -O2 too, as clang does. */
#if defined(__GNUC__) && !defined(__clang__)
#define QNNRT_CONVERT__LOOP                                                                        \
    __attribute__((optimize("tree-vectorize", "vect-cost-model=dynamic")))
#else
#define QNNRT_CONVERT__LOOP
#endif
/* gcc leaves other functions out of those that it compiles with options of their own. */
#if defined(__GNUC__)
#define QNNRT_CONVERT__RESTRICT __restrict
#define QNNRT_CONVERT__INLINE   static inline __attribute__((always_inline))
#else
#define QNNRT_CONVERT__RESTRICT
#define QNNRT_CONVERT__INLINE   static inline
#endif

/* Called for each step of a search; tests count it. */
#ifndef QNNRT_CONVERT__STEP
#define QNNRT_CONVERT__STEP() ((void)0)
#endif

static size_t qnnrt_convert__least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* =====================================================================================
   VALUES                                                                         >>value
   One element of any type: where it lies, which exact value it stands for, and the element of any
   other type that stores that value.
   Needs: nothing     Knows nothing of: shapes
   ===================================================================================== */

/* Each element stands for an exact value: a float, an integer, (code + offset) * scale, or 0 or 1
   of bool8. A conversion stores the nearest value that the other type has, ties to even: the rules
   of qnnrt_write_f32() and qnnrt_read_f32(), without a float between the two that would round on
   its own. What does not fit is counted:

     out of range   The end of the range is stored. A value that rounding brings to the end fits.
                    float16 ends at +-65504 for infinities, too: on an NPU an infinity soon is a
                    NaN. The other floats have infinities; a finite value never becomes one.
     NaN            Floats keep it, and it fits. Integers store 0, codes that of real zero, bool8 1.
     bool8          0 for 0, else 1; values from 0 to 1 fit.

   Elements are little-endian, as the host is. Stored bytes may have any alignment. */

typedef enum qnnrt_convert__kind {
    QNNRT_CONVERT__INT, QNNRT_CONVERT__UINT, QNNRT_CONVERT__FLOAT, QNNRT_CONVERT__SFIXED,
    QNNRT_CONVERT__UFIXED, QNNRT_CONVERT__BOOL, QNNRT_CONVERT__OPAQUE
} qnnrt_convert__kind;

/* How elements lie in memory, and the scale of those that are being converted. */
typedef struct qnnrt_convert__form {
    qnnrt_dtype dtype;
    qnnrt_convert__kind kind;
    uint32_t bits;      /* size of an element                                                 */
    int      fixed;     /* the type carries codes, not values                                 */
    uint64_t mask;      /* the used bits                                                      */
    uint64_t sign;      /* the top used bit, 0 when unsigned                                  */
    int64_t  min, max;  /* range of a code; max of uint64 is cut to INT64_MAX                 */
    uint64_t total;     /* elements in the tensor                                             */
    /* set by qnnrt_convert__scale_seek() */
    float    scale;     /* 1 for integer types, whose offset is 0                             */
    int32_t  offset;
    uint32_t mant;      /* scale = mant * 2^exp                                               */
    int      exp;
    int      small;     /* |code + offset| <= 2^24, and no code overflows a float             */
} qnnrt_convert__form;

/* ---- floats ---- */

/* Return mant / 2^shift, rounded half to even; shift is not 0. */
static uint64_t qnnrt_convert__float_shift_even(uint64_t mant, uint32_t shift)
{
    if (shift > 64)
        return 0;
    const uint64_t q    = shift == 64 ? 0 : mant >> shift;
    const uint64_t rest = shift == 64 ? mant : mant & (((uint64_t)1 << shift) - 1u);
    const uint64_t half = (uint64_t)1 << (shift - 1u);
    return q + (rest > half || (rest == half && (q & 1u) != 0) ? 1u : 0u);
}

/* Return the position of the highest set bit; mant is not 0. */
static int qnnrt_convert__float_top_bit(uint64_t mant)
{
    int top = 0;
    for (int step = 32; step > 0; step /= 2) {
        if ((mant >> step) != 0) {
            mant >>= step;
            top += step;
        }
    }
    return top;
}

/* Return the bits of the float nearest to mant * 2^exp in a format of `frac` bits of fraction whose
   exponent 0 is stored as `bias`; from the middle above the largest float on, infinity. */
static uint64_t qnnrt_convert__float_round(uint64_t mant, int exp, int frac, int bias)
{
    uint64_t q;

    if (mant == 0)
        return 0;
    const int top  = exp + qnnrt_convert__float_top_bit(mant);
    const int last = (top < 1 - bias ? 1 - bias : top) - frac;  /* weight of the lowest bit */
    if (top > bias)
        return ((uint64_t)(uint32_t)(2 * bias + 1)) << frac;
    if (last <= exp)
        q = mant << (exp - last);
    else
        q = qnnrt_convert__float_shift_even(mant, (uint32_t)(last - exp));
    /* The leading bit adds itself to the exponent field, and so does a carry out of rounding. */
    if (top >= 1 - bias)
        q += (uint64_t)(uint32_t)(top + bias - 1) << frac;
    return q;
}

/* Split a positive float, leading bit at 23: |x| = mant * 2^exp; mant is 0 for zero, exp is 105 for
   infinity and NaN. */
static uint32_t qnnrt_convert__float_split(uint32_t bits, int *exp)
{
    const uint32_t field = (bits >> 23) & 0xFFu;
    uint32_t mant = bits & 0x007FFFFFu;

    if (field != 0) {
        *exp = (int)field - 150;
        return mant | 0x00800000u;
    }
    *exp = -149;
    if (mant != 0) {
        const int lift = 23 - qnnrt_convert__float_top_bit(mant);
        mant <<= lift;
        *exp -= lift;
    }
    return mant;
}

/* ---- elements ---- */

/* Return an element as two's complement in 64 bits. Storage wider than the used bits is read by its
   low bits, so that sign-extended and zero-padded codes mean the same. */
static uint64_t qnnrt_convert__value_load(const unsigned char *src,
                                          const qnnrt_convert__form *form, size_t index)
{
    uint64_t raw;
    if (form->bits == 8) {
        raw = src[index];
    } else if (form->bits == 16) {
        uint16_t v;
        memcpy(&v, src + 2 * index, sizeof(v));
        raw = v;
    } else if (form->bits == 32) {
        uint32_t v;
        memcpy(&v, src + 4 * index, sizeof(v));
        raw = v;
    } else if (form->bits == 64) {
        memcpy(&raw, src + 8 * index, sizeof(raw));
    } else if (form->bits == 4) {
        raw = (uint64_t)src[index >> 1] >> (4 * (index & 1u));
    } else {
        raw = (uint64_t)src[index >> 2] >> (2 * (index & 3u));
    }
    return ((raw & form->mask) ^ form->sign) - form->sign;
}

/* Store the low bits of an element; its neighbours in the byte keep their value. */
static void qnnrt_convert__value_store(unsigned char *dst, const qnnrt_convert__form *form,
                                       size_t index, uint64_t raw)
{
    if (form->bits == 8) {
        dst[index] = (unsigned char)raw;
    } else if (form->bits == 16) {
        const uint16_t v = (uint16_t)raw;
        memcpy(dst + 2 * index, &v, sizeof(v));
    } else if (form->bits == 32) {
        const uint32_t v = (uint32_t)raw;
        memcpy(dst + 4 * index, &v, sizeof(v));
    } else if (form->bits == 64) {
        memcpy(dst + 8 * index, &raw, sizeof(raw));
    } else {
        const unsigned per_byte = 8u / form->bits;
        const unsigned shift = (unsigned)(index % per_byte) * form->bits;
        const unsigned field = ((1u << form->bits) - 1u) << shift;
        unsigned char *byte = dst + index / per_byte;
        *byte = (unsigned char)((*byte & ~field) | (((unsigned)raw << shift) & field));
    }
}

/* A value: +-mant * 2^exp, or an infinity or a NaN. */
typedef struct qnnrt_convert__value {
    int      negative, exp;
    uint64_t mant;
    uint32_t special;       /* not 0: the bits of a float32 that is not finite, without its sign */
} qnnrt_convert__value;

/* Find the bits of the fraction and the stored form of exponent 0. */
static void qnnrt_convert__format(qnnrt_dtype dtype, int *frac, int *bias)
{
    *frac = dtype == QNNRT_DTYPE_F16 ? 10 : dtype == QNNRT_DTYPE_BF16 ? 7
          : dtype == QNNRT_DTYPE_F32 ? 23 : 52;
    *bias = dtype == QNNRT_DTYPE_F16 ? 15 : dtype == QNNRT_DTYPE_F64 ? 1023 : 127;
}

/* Return the value of a float. */
static qnnrt_convert__value qnnrt_convert__value_of_float(uint64_t raw, qnnrt_dtype dtype)
{
    qnnrt_convert__value value;
    int frac, bias;
    qnnrt_convert__format(dtype, &frac, &bias);
    const int field = (int)(raw >> frac) & (2 * bias + 1);
    value.negative = (raw >> frac) > (uint64_t)(2 * bias + 1);
    value.mant     = raw & (((uint64_t)1 << frac) - 1u);
    value.exp      = (field != 0 ? field : 1) - bias - frac;
    value.special  = 0;
    if (field == 2 * bias + 1) {
        value.special = 0x7F800000u | (value.mant != 0 ? 0x00400000u : 0u);
        value.special |= (uint32_t)(frac > 23 ? value.mant >> (frac - 23)
                                              : value.mant << (23 - frac));
    }
    value.mant |= (uint64_t)(field != 0) << frac;
    return value;
}

/* Return the value of an element. */
static qnnrt_convert__value qnnrt_convert__value_get(const unsigned char *src,
                                                     const qnnrt_convert__form *form,
                                                     size_t index)
{
    const uint64_t raw = qnnrt_convert__value_load(src, form, index);
    qnnrt_convert__value value;

    if (form->kind == QNNRT_CONVERT__FLOAT)
        return qnnrt_convert__value_of_float(raw, form->dtype);
    const uint64_t steps = form->kind == QNNRT_CONVERT__BOOL ? raw != 0
                                                           : raw + (uint64_t)(int64_t)form->offset;
    value.special  = 0;
    value.negative = (steps >> 63) != 0 && (form->fixed || form->sign != 0);
    /* Codes have 34 bits at most after the offset is added; wider elements have the scale 1. */
    value.mant     = (value.negative ? 0u - steps : steps) * form->mant;
    value.exp      = form->exp;
    return value;
}

/* Return round_half_even(mant * 2^exp / by), 2^62 for more than that; by has 24 bits at most. */
static uint64_t qnnrt_convert__value_divide(uint64_t mant, int exp, uint32_t by)
{
    uint64_t twice = mant / by, rest = mant % by;

    for (++exp; exp > 0 && mant != 0;) {
        const int step = exp < 32 ? exp : 32;
        if ((twice >> (63 - step)) != 0)
            return (uint64_t)1 << 62;
        twice = (twice << step) | ((rest << step) / by);
        rest  = (rest << step) % by;
        exp  -= step;
    }
    if (exp <= -64) {
        rest  = twice;
        twice = 0;
    } else if (exp < 0) {
        rest  |= twice & (((uint64_t)1 << -exp) - 1u);
        twice >>= -exp;
    }
    return (twice >> 1) + ((twice & 1u) != 0 && (rest != 0 || (twice & 2u) != 0) ? 1u : 0u);
}

/* Return the integer or the code that stores a value; *lost grows by 1 if it does not fit. */
static uint64_t qnnrt_convert__value_code(const qnnrt_convert__value *value,
                                          const qnnrt_convert__form *form, uint64_t *lost)
{
    uint64_t size = UINT64_MAX;
    int over = value->special != 0;

    if (form->fixed) {
        const int64_t most = (int64_t)1 << 40;
        int64_t code;
        if (value->special > 0x7F800000u)
            size = 0;
        else if (!over)
            size = qnnrt_convert__value_divide(value->mant, value->exp - form->exp, form->mant);
        code = size < (uint64_t)most ? (int64_t)size : most;
        code = (value->negative ? -code : code) - form->offset;
        *lost += over || code < form->min || code > form->max;
        return (uint64_t)(code < form->min ? form->min : code > form->max ? form->max : code);
    }
    const uint64_t most = value->negative ? form->sign : form->mask ^ form->sign;
    if (value->special > 0x7F800000u)
        size = 0;
    else if (!over && value->exp <= 0)
        size = value->exp < 0 ? qnnrt_convert__float_shift_even(value->mant, (uint32_t)-value->exp)
                              : value->mant;
    else if (!over && (value->mant == 0 ||
                       qnnrt_convert__float_top_bit(value->mant) + value->exp < 64))
        size = value->mant << (value->mant == 0 ? 0 : value->exp);
    else
        over = 1;
    *lost += over || size > most;
    size = size < most ? size : most;
    return value->negative ? 0u - size : size;
}

/* Return the bits of the float that stores a value; *lost grows by 1 if it does not fit. */
static uint64_t qnnrt_convert__value_float(const qnnrt_convert__value *value, qnnrt_dtype dtype,
                                           uint64_t *lost)
{
    int frac, bias;
    qnnrt_convert__format(dtype, &frac, &bias);
    const uint64_t infinity = (uint64_t)(uint32_t)(2 * bias + 1) << frac;
    uint64_t bits = infinity;

    if (value->special > 0x7F800000u) {     /* the top of what the NaN holds */
        const uint64_t load = value->special & 0x007FFFFFu;
        bits |= frac > 23 ? load << (frac - 23) : load >> (23 - frac);
    } else if (value->special == 0) {
        bits = qnnrt_convert__float_round(value->mant, value->exp, frac, bias);
    }
    if (bits == infinity && (value->special == 0 || dtype == QNNRT_DTYPE_F16)) {
        bits -= 1;
        *lost += 1;
    }
    return value->negative ? bits | (infinity + ((uint64_t)1 << frac)) : bits;
}

/* Return the bits of the element that stores a value; *lost grows by 1 if it does not fit. */
static uint64_t qnnrt_convert__value_element(const qnnrt_convert__value *value,
                                             const qnnrt_convert__form *form, uint64_t *lost)
{
    if (form->kind == QNNRT_CONVERT__FLOAT)
        return qnnrt_convert__value_float(value, form->dtype, lost);
    if (form->kind != QNNRT_CONVERT__BOOL)
        return qnnrt_convert__value_code(value, form, lost);
    const int top = value->mant == 0 ? -1 : qnnrt_convert__float_top_bit(value->mant) + value->exp;
    *lost += value->special != 0 || (value->mant != 0 && value->negative) || top > 0 ||
             (top == 0 && (value->mant & (value->mant - 1u)) != 0);
    return value->special != 0 || value->mant != 0;
}

/* =====================================================================================
   SCALES                                                                         >>scale
   Which elements of a tensor share a scale.
   Needs: >>value     Knows nothing of: pipelines
   ===================================================================================== */

/* Find the kind and the bits of a type, by the vendor's numbers; 0 bits: without a size. */
static void qnnrt_convert__scale_type(qnnrt_dtype dtype, qnnrt_convert__form *form)
{
    static const qnnrt_convert__kind kinds[] = {
        QNNRT_CONVERT__INT, QNNRT_CONVERT__UINT, QNNRT_CONVERT__FLOAT, QNNRT_CONVERT__SFIXED,
        QNNRT_CONVERT__UFIXED, QNNRT_CONVERT__BOOL
    };
    const uint32_t number = (uint32_t)dtype, class_ = number >> 8;
    form->dtype = dtype;
    form->kind  = class_ < 6 ? kinds[class_] : QNNRT_CONVERT__OPAQUE;
    form->bits  = class_ >= 6 ? 0 : dtype == QNNRT_DTYPE_BF16 ? 16
                : 10 * ((number >> 4) & 15u) + (number & 15u);
    form->fixed = form->kind == QNNRT_CONVERT__SFIXED || form->kind == QNNRT_CONVERT__UFIXED;
}

/* Find how the elements of a tensor lie in memory. Return 0 if a dimension is 0, or if they do not
   fit the address space. */
static int qnnrt_convert__scale_open(const qnnrt_tensor_info *tensor,
                                     qnnrt_convert__form *form)
{
    uint64_t most = SIZE_MAX / 2u;
    uint32_t used;

    qnnrt_convert__scale_type(tensor->dtype, form);
    used = form->fixed && tensor->quant.bitwidth != 0 ? tensor->quant.bitwidth : form->bits;
    form->mask = UINT64_MAX >> (64u - used);
    if (form->kind == QNNRT_CONVERT__INT || form->kind == QNNRT_CONVERT__SFIXED)
        form->sign = (uint64_t)1 << (used - 1u);
    form->max = (int64_t)(form->sign != 0 ? form->sign - 1u : form->mask >> (used == 64));
    form->min = form->sign != 0 ? -form->max - 1 : 0;
    if (form->bits > 8) most /= form->bits / 8u;
    form->total = 1;
    for (uint32_t i = 0; i < tensor->rank; ++i) {
        if (tensor->dims[i] == 0 || form->total > most / tensor->dims[i]) return 0;
        form->total *= tensor->dims[i];
    }
    return 1;
}

/* Set the scale of the element `index`. Return how many from there on share it. */
static size_t qnnrt_convert__scale_seek(const qnnrt_tensor_info *tensor,
                                        qnnrt_convert__form *form, size_t index)
{
    const qnnrt_quant *quant = &tensor->quant;
    size_t left = (size_t)form->total - index;
    uint32_t bits;
    form->scale = 1.0f;
    form->mant  = 1;
    if (form->fixed && quant->encoding == QNNRT_ENCODING_PER_AXIS) {
        uint64_t inner = 1;
        for (uint32_t i = (uint32_t)quant->axis + 1u; i < tensor->rank; ++i)
            inner *= tensor->dims[i];
        const uint32_t at = (uint32_t)((index / inner) % tensor->dims[quant->axis]);
        left = qnnrt_convert__least(left, (size_t)(inner - index % inner));
        form->scale  = quant->scales[at];
        form->offset = quant->offsets != NULL ? quant->offsets[at] : 0;
    } else if (form->fixed) {
        form->scale  = quant->scale;
        form->offset = quant->offset;
    }
    memcpy(&bits, &form->scale, sizeof(bits));
    if (form->fixed) form->mant = qnnrt_convert__float_split(bits, &form->exp);
    form->small = form->kind != QNNRT_CONVERT__BOOL && form->kind != QNNRT_CONVERT__FLOAT &&
                  form->min + form->offset >= -16777216 && form->max + form->offset <= 16777216 &&
                  bits >= 0x00800000u && bits < 0x71800000u;        /* 2^-126 to 2^100 */
    return left;
}

/* Return 1 for a scale that is positive and finite and whose 1 / scale is finite. */
static int qnnrt_convert__scale_ok(float scale)
{
    uint32_t bits;
    memcpy(&bits, &scale, sizeof(bits));
    return bits > 0x00200000u && bits < 0x7F800000u;
}

/* Return why the facts of a tensor do not fit together, or NULL. */
static const char *qnnrt_convert__scale_check(const qnnrt_tensor_info *tensor)
{
    const qnnrt_quant *quant = &tensor->quant;
    qnnrt_convert__form form;
    if (tensor->rank != 0 && tensor->dims == NULL) return "dimensions are missing";
    memset(&form, 0, sizeof(form));
    qnnrt_convert__scale_type(tensor->dtype, &form);
    if (!form.fixed) return NULL;
    if (quant->bitwidth > form.bits) return "bitwidth exceeds the bits of the type";
    if (quant->encoding == QNNRT_ENCODING_PER_TENSOR)
        return qnnrt_convert__scale_ok(quant->scale)
             ? NULL : "scale is not positive and finite, or so small that 1/scale is infinite";
    if (quant->encoding != QNNRT_ENCODING_PER_AXIS)
        return (unsigned)quant->encoding <= (unsigned)QNNRT_ENCODING_OTHER ? NULL
                                                                           : "unknown encoding";
    if (quant->axis < 0 || (uint32_t)quant->axis >= tensor->rank)
        return "axis is outside the rank";
    if (quant->count != tensor->dims[quant->axis])
        return "number of scales differs from the size of the axis";
    if (quant->scales == NULL) return "scales of the axis are missing";
    for (uint32_t i = 0; i < quant->count; ++i)
        if (!qnnrt_convert__scale_ok(quant->scales[i]))
            return "a scale of the axis is not positive and finite, or its 1/scale is infinite";
    return NULL;
}

/* =====================================================================================
   LOOPS                                                                           >>loop
   Many elements of one scale at a time, where that gives the result of >>value for certain.
   Needs: >>config     Knows nothing of: shapes
   ===================================================================================== */

/* Codes are found in double arithmetic. t = x / scale is off by less than 2^-20, whatever the unit
   rounds to, so an integer is certain to be the code if t is closer to it than 0.5 - 2^-20. Where
   the unit rounds to another one, many are not. Loops count what is not certain, and the caller
   converts those elements on integers. */

typedef struct qnnrt_convert__loop {
    uint32_t sign;              /* of codes that are read: (code ^ sign) + offset, times scale */
    int32_t  offset, zero;      /* zero: the offset of codes that are written */
    double   scale, inverse;
    double   under, over;       /* 4 codes outside of the range that is written */
    int32_t  min, max;
    uint32_t unsure, lost;
} qnnrt_convert__loop;

/* Set *code to the code of t. Return 1 if it is not certain; NaN is not. */
QNNRT_CONVERT__INLINE uint32_t qnnrt_convert__loop_code(double t, const qnnrt_convert__loop *loop,
                                                        int32_t *code)
{
    uint64_t sum;
    uint32_t rest;
    float distance;
    int32_t whole;
    t = t < loop->over ? t : loop->over;
    t = t > loop->under ? t : loop->under;
    const double r = t + 6755399441055744.0;        /* 1.5 * 2^52: leaves integers */
    memcpy(&sum, &r, sizeof(sum));
    whole = (int32_t)(uint32_t)sum;
    distance = (float)(t - (double)whole);
    memcpy(&rest, &distance, sizeof(rest));
    *code = (int32_t)((uint32_t)whole - (uint32_t)loop->zero);
    return (uint32_t)((rest & 0x7FFFFFFFu) > 0x3EFFFFE0u);      /* 0.5 - 2^-20 */
}

/* Write codes of the type `to` from elements `x` of the type `from`, whose quotient is `make`. */
#define QNNRT_CONVERT__CODES(name, from, to, make, nan)                                            \
    QNNRT_CONVERT__LOOP static void name(const qnnrt_convert__loop *given,                         \
                                         const unsigned char *QNNRT_CONVERT__RESTRICT src,         \
                                         unsigned char *QNNRT_CONVERT__RESTRICT dst, size_t n,     \
                                         uint32_t *unsure, uint32_t *lost)                         \
    {                                                                                              \
        const qnnrt_convert__loop loop = *given;                                                   \
        uint32_t open = 0, out = 0;                                                                \
        for (size_t i = 0; i < n; ++i) {                                                           \
            from x;                                                                                \
            int32_t code;                                                                          \
            memcpy(&x, src + i * sizeof(x), sizeof(x));                                            \
            open += qnnrt_convert__loop_code(make, &loop, &code) | (nan);                          \
            const int32_t least = code < loop.min ? loop.min : code;                               \
            const int32_t fits = least > loop.max ? loop.max : least;                              \
            const to y = (to)fits;                                                                 \
            memcpy(dst + i * sizeof(y), &y, sizeof(y));                                            \
            out += code != fits;                                                                   \
        }                                                                                          \
        *unsure = open;                                                                            \
        *lost = out;                                                                               \
    }
#define QNNRT_CONVERT__REAL                                                                        \
    ((double)((int32_t)(x ^ loop.sign) + loop.offset) * loop.scale * loop.inverse)

/* A NaN has the bits of an integer above those of infinity. */
QNNRT_CONVERT__INLINE uint32_t qnnrt_convert__loop_nan(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return (uint32_t)((bits & 0x7FFFFFFFu) > 0x7F800000u);
}

QNNRT_CONVERT__CODES(qnnrt_convert__loop_f_8, float, uint8_t, (double)x * loop.inverse,
                     qnnrt_convert__loop_nan(x))
QNNRT_CONVERT__CODES(qnnrt_convert__loop_f_16, float, uint16_t, (double)x * loop.inverse,
                     qnnrt_convert__loop_nan(x))
QNNRT_CONVERT__CODES(qnnrt_convert__loop_8_8, uint8_t, uint8_t, QNNRT_CONVERT__REAL, 0u)
QNNRT_CONVERT__CODES(qnnrt_convert__loop_8_16, uint8_t, uint16_t, QNNRT_CONVERT__REAL, 0u)
QNNRT_CONVERT__CODES(qnnrt_convert__loop_16_8, uint16_t, uint8_t, QNNRT_CONVERT__REAL, 0u)
QNNRT_CONVERT__CODES(qnnrt_convert__loop_16_16, uint16_t, uint16_t, QNNRT_CONVERT__REAL, 0u)
#undef QNNRT_CONVERT__CODES
#undef QNNRT_CONVERT__REAL

typedef void qnnrt_convert__loop_call(const qnnrt_convert__loop *loop, const unsigned char *src,
                                      unsigned char *dst, size_t n, uint32_t *unsure,
                                      uint32_t *lost);

/* Return the loop from floats (0 bits) or codes to codes. */
static qnnrt_convert__loop_call *qnnrt_convert__loop_choose(uint32_t from, uint32_t to)
{
    if (from == 0)
        return to == 8 ? qnnrt_convert__loop_f_8 : qnnrt_convert__loop_f_16;
    if (from == 8)
        return to == 8 ? qnnrt_convert__loop_8_8 : qnnrt_convert__loop_8_16;
    return to == 8 ? qnnrt_convert__loop_16_8 : qnnrt_convert__loop_16_16;
}

/* Write floats with the real values of codes, cut to 24 bits with the last one set if anything was
   cut off (rounding to odd), so that a second rounding goes where one rounding would. */
QNNRT_CONVERT__LOOP static void qnnrt_convert__loop_odd(
    const qnnrt_convert__loop *loop, uint32_t bits,
    const unsigned char *QNNRT_CONVERT__RESTRICT src, float *QNNRT_CONVERT__RESTRICT dst, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        uint16_t code = src[i];
        uint64_t b;
        double x;
        if (bits == 16) memcpy(&code, src + 2 * i, sizeof(code));
        x = (double)((int32_t)(code ^ loop->sign) + loop->offset) * loop->scale;
        memcpy(&b, &x, sizeof(b));
        b = (b & ~(uint64_t)0x1FFFFFFF) | (((b & 0x1FFFFFFF) + 0x1FFFFFFF) & 0x20000000);
        memcpy(&x, &b, sizeof(x));
        dst[i] = (float)x;
    }
}

/* End 16-bit floats at the largest finite one, float16 for infinities, too. Return how many of the
   floats they were made of did not fit. */
QNNRT_CONVERT__LOOP static uint32_t qnnrt_convert__loop_end(int f16, const float *floats,
                                                            unsigned char *dst, size_t n)
{
    const uint32_t least = f16 ? 0x477FF000u : 0x7F7F8000u, most = f16 ? 0x7F800000u : 0x7F7FFFFFu;
    uint32_t lost = 0, bits;
    for (size_t i = 0; i < n; ++i) {
        memcpy(&bits, floats + i, sizeof(bits));
        lost += (bits & 0x7FFFFFFFu) - least <= most - least;
    }
    for (size_t i = 0; lost != 0 && i < n; ++i) {
        memcpy(&bits, floats + i, sizeof(bits));
        if ((bits & 0x7FFFFFFFu) - least <= most - least) {
            const uint16_t end = (uint16_t)((f16 ? 0x7BFFu : 0x7F7Fu) | (bits >> 31) << 15);
            memcpy(dst + 2 * i, &end, sizeof(end));
        }
    }
    return lost;
}

/* =====================================================================================
   WALK                                                                            >>walk
   Converts elements in their order, by the fastest way that is exact for their scales.
   Needs: >>config >>value >>scale >>loop     Knows nothing of: pipelines
   ===================================================================================== */

enum {
    QNNRT_CONVERT__CHUNK = 512,             /* elements that are floats between two steps */
    QNNRT_CONVERT__LONG  = 1 << 24          /* those that are read where they belong      */
};

/* The ways to convert elements that share a scale on either side. */
typedef enum qnnrt_convert__way {
    QNNRT_CONVERT__EACH,        /* one at a time                                          */
    QNNRT_CONVERT__READ,        /* to float32, by qnnrt_decode_f32()                      */
    QNNRT_CONVERT__HALVES,      /* floats to 16-bit floats, by qnnrt_encode_f32()         */
    QNNRT_CONVERT__ODD,         /* codes to floats that become 16-bit floats              */
    QNNRT_CONVERT__TO_CODES,    /* floats to codes                                        */
    QNNRT_CONVERT__RECODE,      /* codes to codes                                         */
    QNNRT_CONVERT__CUT,         /* int64 to int32 ...                                     */
    QNNRT_CONVERT__GROW         /* ... and back                                           */
} qnnrt_convert__way;

/* One side: its form for the elements [begin, end), which share a scale. */
typedef struct qnnrt_convert__side {
    const qnnrt_tensor_info *tensor;
    qnnrt_convert__form form;
    size_t begin, end;
} qnnrt_convert__side;

typedef struct qnnrt_convert__walk {
    qnnrt_convert__side from, to;
    int                 moves;              /* elements stay as they are */
    qnnrt_convert__way  way;
    qnnrt_convert__loop loop;
} qnnrt_convert__walk;

/* Choose the way for the scales of both sides. */
static void qnnrt_convert__walk_choose(qnnrt_convert__walk *walk)
{
    const qnnrt_convert__form *from = &walk->from.form, *to = &walk->to.form;
    const int whole = from->small && from->mask == UINT64_MAX >> (64u - from->bits) &&
                      (from->bits == 8 || from->bits == 16);
    const int half = to->dtype == QNNRT_DTYPE_F16 || to->dtype == QNNRT_DTYPE_BF16;
    const int codes = to->small && (to->bits == 8 || to->bits == 16);
    const int floats = from->kind == QNNRT_CONVERT__FLOAT
                     ? from->dtype != QNNRT_DTYPE_F64
                     : !from->fixed && (from->bits == 8 || from->bits == 16);
    qnnrt_convert__loop *loop = &walk->loop;

    walk->way = QNNRT_CONVERT__EACH;
    if (to->dtype == QNNRT_DTYPE_F32 &&
        (from->kind == QNNRT_CONVERT__FLOAT ? floats : from->bits >= 8 && (!from->fixed || whole)))
        walk->way = QNNRT_CONVERT__READ;
    else if (floats && half)
        walk->way = QNNRT_CONVERT__HALVES;
    else if (whole && half)
        walk->way = QNNRT_CONVERT__ODD;
    else if (floats && codes)
        walk->way = QNNRT_CONVERT__TO_CODES;
    else if (whole && codes)
        walk->way = QNNRT_CONVERT__RECODE;
    else if (from->dtype == QNNRT_DTYPE_I64 && to->dtype == QNNRT_DTYPE_I32)
        walk->way = QNNRT_CONVERT__CUT;
    else if (from->dtype == QNNRT_DTYPE_I32 && to->dtype == QNNRT_DTYPE_I64)
        walk->way = QNNRT_CONVERT__GROW;
    /* With the top bit flipped a signed code is unsigned, and larger by that bit. */
    loop->sign    = (uint32_t)from->sign;
    loop->offset  = (int32_t)((uint32_t)from->offset - loop->sign);
    loop->scale   = (double)from->scale;
    loop->inverse = 1.0 / (double)to->scale;
    if (!codes) return;
    loop->zero  = to->offset;
    loop->min   = (int32_t)to->min;
    loop->max   = (int32_t)to->max;
    loop->under = (double)(to->min + to->offset) - 4.0;
    loop->over  = (double)(to->max + to->offset) + 4.0;
}

/* Make both sides ready for the element `index`. Return how many from there on, at most n, share
   their scales. */
static size_t qnnrt_convert__walk_seek(qnnrt_convert__walk *walk, size_t index, size_t n)
{
    qnnrt_convert__side *sides[2];
    int moved = 0;
    sides[0] = &walk->from;
    sides[1] = &walk->to;
    for (int i = 0; i < 2; ++i) {
        qnnrt_convert__side *side = sides[i];
        if (index < side->begin || index >= side->end) {
            side->begin = index;
            side->end   = index + qnnrt_convert__scale_seek(side->tensor, &side->form, index);
            moved = 1;
        }
        n = qnnrt_convert__least(n, side->end - index);
    }
    if (moved) qnnrt_convert__walk_choose(walk);
    return n;
}

/* Convert one element at a time. Return how many do not fit. */
static uint64_t qnnrt_convert__walk_each(const qnnrt_convert__walk *walk, const unsigned char *src,
                                         size_t src_index, unsigned char *dst, size_t dst_index,
                                         size_t n)
{
    const qnnrt_convert__form *from = &walk->from.form, *to = &walk->to.form;
    uint64_t lost = 0;
    for (size_t i = 0; i < n; ++i) {
        const qnnrt_convert__value value = qnnrt_convert__value_get(src, from, src_index + i);
        qnnrt_convert__value_store(dst, to, dst_index + i,
                                   qnnrt_convert__value_element(&value, to, &lost));
    }
    return lost;
}

/* Describe n elements that share a scale as a tensor of their own; dim: room for its dimension. */
static qnnrt_tensor_info qnnrt_convert__walk_part(const qnnrt_convert__form *form, size_t n,
                                                  uint32_t *dim)
{
    qnnrt_tensor_info part;
    memset(&part, 0, sizeof(part));
    *dim = (uint32_t)n;
    part.name  = "";
    part.dtype = form->dtype;
    part.rank  = 1;
    part.dims  = dim;
    part.count = n;
    part.bytes = n * (form->bits / 8u);
    if (!form->fixed) return part;
    part.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    part.quant.scale    = form->scale;
    part.quant.offset   = form->offset;
    return part;
}

/* Convert n elements by the way of the walk, one chunk at most unless they are read to aligned
   floats; src and dst are those of the first one. Return how many do not fit. */
static uint64_t qnnrt_convert__walk_chunk(const qnnrt_convert__walk *walk, const unsigned char *src,
                                          unsigned char *dst, size_t n)
{
    const qnnrt_convert__form *from = &walk->from.form, *to = &walk->to.form;
    const int recode = walk->way == QNNRT_CONVERT__RECODE;
    float floats[QNNRT_CONVERT__CHUNK];
    uint32_t unsure, lost, dim;
    qnnrt_tensor_info part;

    if (walk->way == QNNRT_CONVERT__READ && (uintptr_t)dst % sizeof(float) == 0) {
        part = qnnrt_convert__walk_part(from, n, &dim);
        qnnrt_decode_f32(&part, src, (float *)(void *)dst);
        return 0;
    }
    if (walk->way == QNNRT_CONVERT__ODD) {
        qnnrt_convert__loop_odd(&walk->loop, from->bits, src, floats, n);
    } else if (!recode) {
        part = qnnrt_convert__walk_part(from, n, &dim);
        qnnrt_decode_f32(&part, src, floats);
    }
    if (walk->way == QNNRT_CONVERT__READ) {
        memcpy(dst, floats, n * sizeof(float));
        return 0;
    }
    if (walk->way == QNNRT_CONVERT__HALVES || walk->way == QNNRT_CONVERT__ODD) {
        part = qnnrt_convert__walk_part(to, n, &dim);
        qnnrt_encode_f32(&part, floats, dst);
        return qnnrt_convert__loop_end(to->dtype == QNNRT_DTYPE_F16, floats, dst, n);
    }
    qnnrt_convert__loop_choose(recode ? from->bits : 0, to->bits)(
        &walk->loop, recode ? src : (const unsigned char *)floats, dst, n, &unsure, &lost);
    return unsure == 0 ? lost : qnnrt_convert__walk_each(walk, src, 0, dst, 0, n);
}

/* Convert n elements between int64 and int32. */
static uint64_t qnnrt_convert__walk_integers(qnnrt_convert__way way, const unsigned char *src,
                                             unsigned char *dst, size_t n)
{
    uint64_t lost = 0;
    int64_t x;
    int32_t y;
    for (size_t i = 0; i < n; ++i) {
        if (way == QNNRT_CONVERT__CUT) {
            memcpy(&x, src + 8 * i, sizeof(x));
            y = (int32_t)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
            lost += x != y;
            memcpy(dst + 4 * i, &y, sizeof(y));
        } else {
            memcpy(&y, src + 4 * i, sizeof(y));
            x = y;
            memcpy(dst + 8 * i, &x, sizeof(x));
        }
    }
    return lost;
}

/* Convert the elements [index, index + n), which begin at src_index of src and at dst_index of dst.
   Return how many do not fit. */
static uint64_t qnnrt_convert__walk_run(qnnrt_convert__walk *walk, size_t index,
                                        const unsigned char *src, size_t src_index,
                                        unsigned char *dst, size_t dst_index, size_t n)
{
    const size_t from = walk->from.form.bits / 8u, to = walk->to.form.bits / 8u;
    uint64_t lost = 0;
    if (walk->moves) {
        memcpy(dst + dst_index * from, src + src_index * from, n * from);
        return 0;
    }
    for (size_t part; n > 0; n -= part, index += part, src_index += part, dst_index += part) {
        part = qnnrt_convert__walk_seek(walk, index, n);
        if (walk->way == QNNRT_CONVERT__EACH) {
            lost += qnnrt_convert__walk_each(walk, src, src_index, dst, dst_index, part);
        } else if (walk->way == QNNRT_CONVERT__CUT || walk->way == QNNRT_CONVERT__GROW) {
            lost += qnnrt_convert__walk_integers(walk->way, src + src_index * from,
                                                 dst + dst_index * to, part);
        } else {
            const int here = walk->way == QNNRT_CONVERT__READ &&
                             (uintptr_t)(dst + dst_index * to) % sizeof(float) == 0;
            part = qnnrt_convert__least(part, here ? QNNRT_CONVERT__LONG : QNNRT_CONVERT__CHUNK);
            lost += qnnrt_convert__walk_chunk(walk, src + src_index * from, dst + dst_index * to,
                                              part);
        }
    }
    return lost;
}

/* =====================================================================================
   LAYOUT                                                                        >>layout
   Converts all elements of a tensor, and moves the channels, NCHW (dimension 1) or NHWC (the last
   one), through a tile on the stack.
   Needs: >>config >>value >>walk     Knows nothing of: pipelines
   ===================================================================================== */

enum {
    QNNRT_CONVERT__CHANNELS = 32,       /* of a tile ...              */
    QNNRT_CONVERT__POINTS   = 64        /* ... and elements of each   */
};

struct qnnrt_converter {
    qnnrt_arena          arena;
    /* Both tensors in the order in which values are converted, NCHW for a change of layout. */
    qnnrt_tensor_info    from, to;
    qnnrt_convert__walk  walk;                      /* as each exec begins */
    qnnrt_convert        how;
    size_t               batch, channels, points;
    int                  exact;
    qnnrt_tensor_info    ends[2];                   /* of the step */
    qnnrt_host_step      step;
    size_t               lost, lost_ever;
};

/* Copy `rows` rows of n elements, src_step apart, to as many columns of rows that are dst_step
   apart; all in elements of `bytes`. */
static void qnnrt_convert__turn(const unsigned char *src, size_t src_step, unsigned char *dst,
                                size_t dst_step, size_t rows, size_t n, size_t bytes)
{
#define QNNRT_CONVERT__TURN(size)                                                                  \
    for (size_t i = 0; i < n; ++i)                                                                 \
        for (size_t row = 0; row < rows; ++row)                                                    \
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
   element is `base`. Values are converted along the points, where a channel has one scale. */
static uint64_t qnnrt_convert__layout_tile(const qnnrt_converter *converter,
                                           qnnrt_convert__walk *walk, const unsigned char *src,
                                           unsigned char *dst, size_t base, size_t c,
                                           size_t channels, size_t p, size_t points)
{
    unsigned char tile[QNNRT_CONVERT__CHANNELS * QNNRT_CONVERT__POINTS * 8];
    const size_t from_bytes = walk->from.form.bits / 8u, to_bytes = walk->to.form.bits / 8u;
    const size_t nhwc = base + p * converter->channels + c;
    const int to_nhwc = converter->how == QNNRT_CONVERT_TO_NHWC;
    uint64_t lost = 0;

    if (!to_nhwc)
        qnnrt_convert__turn(src + nhwc * from_bytes, converter->channels, tile,
                            QNNRT_CONVERT__POINTS, points, channels, from_bytes);
    for (size_t i = 0; i < channels; ++i) {
        const size_t nchw = base + (c + i) * converter->points + p;
        const size_t at = i * QNNRT_CONVERT__POINTS;
        lost += to_nhwc ? qnnrt_convert__walk_run(walk, nchw, src, nchw, tile, at, points)
                        : qnnrt_convert__walk_run(walk, nchw, tile, at, dst, nchw, points);
    }
    if (to_nhwc)
        qnnrt_convert__turn(tile, QNNRT_CONVERT__POINTS, dst + nhwc * to_bytes,
                            converter->channels, channels, points, to_bytes);
    return lost;
}

/* Convert all elements. Return how many do not fit. */
static uint64_t qnnrt_convert__layout_run(const qnnrt_converter *converter, const void *from,
                                          void *to)
{
    const unsigned char *src = (const unsigned char *)from;
    unsigned char *dst = (unsigned char *)to;
    const size_t channels = converter->channels, points = converter->points;
    qnnrt_convert__walk walk = converter->walk;
    uint64_t lost = 0;

    if (converter->how == QNNRT_CONVERT_VALUES)
        return qnnrt_convert__walk_run(&walk, 0, src, 0, dst, 0, (size_t)walk.from.form.total);
    for (size_t n = 0; n < converter->batch; ++n)
        for (size_t p = 0, p_n; p < points; p += p_n) {
            p_n = qnnrt_convert__least(points - p, QNNRT_CONVERT__POINTS);
            for (size_t c = 0, c_n; c < channels; c += c_n) {
                c_n = qnnrt_convert__least(channels - c, QNNRT_CONVERT__CHANNELS);
                lost += qnnrt_convert__layout_tile(converter, &walk, src, dst,
                                                   n * channels * points, c, c_n, p, p_n);
            }
        }
    return lost;
}

/* =====================================================================================
   MAKE                                                                            >>make
   Checks two tensors and makes the converter.
   Needs: >>value >>scale >>walk >>layout     Knows nothing of: files
   ===================================================================================== */

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
                           from->name != NULL ? from->name : "",
                           qnnrt_tensor_text(from, one, sizeof(one)),
                           to->name != NULL ? to->name : "",
                           qnnrt_tensor_text(to, other, sizeof(other)), why);
}

/* Return why a tensor takes no part in a conversion, or NULL. */
static const char *qnnrt_convert__make_refuses(const qnnrt_tensor_info *tensor, int moves,
                                               int turns)
{
    const qnnrt_encoding encoding = tensor->quant.encoding;
    qnnrt_convert__form form;
    memset(&form, 0, sizeof(form));
    qnnrt_convert__scale_type(tensor->dtype, &form);
    if (tensor->vendor_format != 0) return "the order of its elements is known to the vendor only";
    if (tensor->dynamic_dims != NULL) return "its dimensions may change";
    if (form.bits == 0) return "its type has no fixed size";
    if (turns && form.bits < 8) return "elements below 8 bits stay where they are";
    if (form.fixed && encoding == QNNRT_ENCODING_OTHER) return "its encoding is the vendor's own";
    if (moves) return NULL;
    if (tensor->dtype == QNNRT_DTYPE_F4 || tensor->dtype == QNNRT_DTYPE_F8)
        return "the format of its elements is not fixed";
    return form.fixed && encoding == QNNRT_ENCODING_NONE ? "its codes have no encoding" : NULL;
}

/* Describe an NHWC tensor in the order NCHW of the other one. */
static void qnnrt_convert__make_order(qnnrt_tensor_info *nhwc, const qnnrt_tensor_info *nchw)
{
    const int32_t axis = nhwc->quant.axis, last = (int32_t)nhwc->rank - 1;
    nhwc->dims = nchw->dims;
    nhwc->quant.axis = axis == 0 ? 0 : axis == last ? 1 : axis + 1;
}

/* Check both tensors, and resolve the conversion. */
static qnnrt_result qnnrt_convert__make_resolve(qnnrt_converter *c, const qnnrt_tensor_info *from,
                                                const qnnrt_tensor_info *to, qnnrt_error *err)
{
    const int nhwc = c->how == QNNRT_CONVERT_TO_NHWC;
    const int turns = nhwc || c->how == QNNRT_CONVERT_TO_NCHW;
    const int equal = from->rank == to->rank &&
                      (from->rank == 0 ||
                       memcmp(from->dims, to->dims, from->rank * sizeof(uint32_t)) == 0);
    const char *why;

    if (turns ? !qnnrt_convert__make_turned(nhwc ? from : to, nhwc ? to : from) : !equal)
        return qnnrt_convert__make_fail(err, QNNRT_E_MISMATCH, from, to,
                                        !turns ? "the dimensions differ" : nhwc
                                        ? "the dimensions are not those of NCHW and NHWC"
                                        : "the dimensions are not those of NHWC and NCHW");
    c->from = *from;
    c->to   = *to;
    if (turns) qnnrt_convert__make_order(nhwc ? &c->to : &c->from, nhwc ? from : to);
    qnnrt_convert__scale_type(from->dtype, &c->walk.from.form);
    c->walk.moves = from->dtype == to->dtype &&
                    (!c->walk.from.form.fixed || qnnrt_quant_equal(&c->from.quant, &c->to.quant));
    if (!turns && (c->how != QNNRT_CONVERT_VALUES || c->walk.moves)) {
        qnnrt_convert__make_fail(err, QNNRT_E_ARG, from, to, "there is nothing to convert");
        return qnnrt_error_hint(err, QNNRT_E_ARG,
                                "Wire the two by an edge, without a conversion.");
    }
    why = qnnrt_convert__make_refuses(from, c->walk.moves, turns);
    if (why == NULL) why = qnnrt_convert__make_refuses(to, c->walk.moves, turns);
    if (why != NULL) return qnnrt_convert__make_fail(err, QNNRT_E_UNSUPPORTED, from, to, why);
    if (!qnnrt_convert__scale_open(&c->from, &c->walk.from.form) ||
        !qnnrt_convert__scale_open(&c->to, &c->walk.to.form))
        return qnnrt_convert__make_fail(err, QNNRT_E_ARG, from, to,
                                        "a dimension is 0, or they have too many elements");
    c->batch = c->channels = c->points = 1;
    if (turns) {
        c->batch    = c->from.dims[0];
        c->channels = c->from.dims[1];
        c->points   = (size_t)c->walk.from.form.total / c->batch / c->channels;
    }
    return QNNRT_OK;
}

/* Copy bytes, or return NULL for none. */
static const void *qnnrt_convert__make_bytes(qnnrt_arena *arena, const void *from, size_t count,
                                             size_t size)
{
    void *to = from != NULL && count > 0 ? qnnrt_arena_get(arena, count, size) : NULL;
    if (to != NULL) memcpy(to, from, count * size);
    return to;
}

/* Copy what a converter needs of a tensor. */
static void qnnrt_convert__make_copy(qnnrt_arena *arena, const qnnrt_tensor_info *from,
                                     qnnrt_tensor_info *to)
{
    qnnrt_quant *quant = &to->quant;
    memset(to, 0, sizeof(*to));
    to->name  = qnnrt_arena_text(arena, from->name != NULL ? from->name : "",
                                 from->name != NULL ? strlen(from->name) : 0);
    to->dtype = from->dtype;
    to->rank  = from->rank;
    to->dims  = (const uint32_t *)qnnrt_convert__make_bytes(arena, from->dims, from->rank,
                                                            sizeof(uint32_t));
    to->vendor_format = from->vendor_format;
    *quant = from->quant;
    if (quant->encoding != QNNRT_ENCODING_PER_AXIS) {
        quant->scales  = NULL;
        quant->offsets = NULL;
        return;
    }
    quant->scales  = (const float *)qnnrt_convert__make_bytes(arena, quant->scales, quant->count,
                                                              sizeof(float));
    quant->offsets = (const int32_t *)qnnrt_convert__make_bytes(arena, quant->offsets,
                                                                quant->count, sizeof(int32_t));
}

static void qnnrt_convert__free(qnnrt_converter *converter)
{
    qnnrt_hooks hooks = converter->arena.hooks;
    qnnrt_arena_free(&converter->arena);
    qnnrt_hooks_free(&hooks, converter);
}

/* Convert, and count what does not fit. */
static qnnrt_result qnnrt_convert__data(qnnrt_converter *converter, const void *from, void *to,
                                        qnnrt_error *err)
{
    const size_t lost = (size_t)qnnrt_convert__layout_run(converter, from, to);
    __atomic_store_n(&converter->lost, lost, __ATOMIC_RELAXED);
    if (lost == 0) return QNNRT_OK;
    __atomic_fetch_add(&converter->lost_ever, lost, __ATOMIC_RELAXED);
    if (!converter->exact) return QNNRT_OK;
    qnnrt_convert__make_fail(err, QNNRT_E_MISMATCH, &converter->ends[0], &converter->ends[1],
                             "values do not fit");
    qnnrt_error_add(err, ": %zu of %llu", lost,
                    (unsigned long long)converter->walk.from.form.total);
    return qnnrt_error_hint(err, QNNRT_E_MISMATCH, "Clear `exact` to saturate them, or choose an"
                            " encoding that holds them.");
}

static qnnrt_result qnnrt_convert__exec(void *user, const qnnrt_graph_info *step,
                                        const void *const *inputs, void *const *outputs,
                                        qnnrt_error *err)
{
    (void)step;
    return qnnrt_convert__data((qnnrt_converter *)user, inputs[0], outputs[0], err);
}

/* Describe the converter as a step. */
static void qnnrt_convert__describe(qnnrt_converter *c, const qnnrt_convert_desc *desc)
{
    static const char begin[] = "convert ";
    const char *from_name = c->ends[0].name != NULL ? c->ends[0].name : "";
    const size_t length = strlen(from_name);
    qnnrt_host_step *step = &c->step;
    if (desc->name != NULL) {
        step->name = qnnrt_arena_text(&c->arena, desc->name, strlen(desc->name));
    } else {
        char *name = (char *)qnnrt_arena_get(&c->arena, length + sizeof(begin), 1);
        if (name != NULL) {
            memcpy(name, begin, sizeof(begin) - 1);
            memcpy(name + sizeof(begin) - 1, from_name, length);
        }
        step->name = name;
    }
    if (from_name[0] == '\0') c->ends[0].name = "from";
    if (c->ends[1].name != NULL && c->ends[1].name[0] == '\0') c->ends[1].name = "to";
    step->inputs  = &c->ends[0];
    step->outputs = &c->ends[1];
    step->input_count = step->output_count = 1;
    step->exec = qnnrt_convert__exec;
    step->user = c;
    step->derived = 1;
}

/* Make a converter. */
static qnnrt_result qnnrt_convert__make(const qnnrt_tensor_info *from, const qnnrt_tensor_info *to,
                                        const qnnrt_convert_desc *desc, qnnrt_converter **out,
                                        qnnrt_error *err)
{
    const qnnrt_tensor_info *sides[2];
    qnnrt_converter *c;
    qnnrt_result result;
    sides[0] = from;
    sides[1] = to;
    for (int i = 0; i < 2; ++i) {
        const char *why = qnnrt_convert__scale_check(sides[i]);
        if (why != NULL)
            return qnnrt_error_set(err, QNNRT_E_ARG, "tensor \"%.200s\": %s",
                                   sides[i]->name != NULL ? sides[i]->name : "", why);
    }
    c = (qnnrt_converter *)qnnrt_hooks_alloc(&desc->hooks, 1, sizeof(*c));
    if (c == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a converter");
    c->arena.hooks = desc->hooks;
    c->arena.chunk = 1024;
    c->how   = desc->how;
    c->exact = desc->exact;
    qnnrt_convert__make_copy(&c->arena, from, &c->ends[0]);
    qnnrt_convert__make_copy(&c->arena, to, &c->ends[1]);
    /* Only its presence counts, and a tensor that has it is refused. */
    c->ends[0].dynamic_dims = from->dynamic_dims;
    c->ends[1].dynamic_dims = to->dynamic_dims;
    result = c->arena.failed == QNNRT_OK
           ? qnnrt_convert__make_resolve(c, &c->ends[0], &c->ends[1], err) : QNNRT_OK;
    if (result == QNNRT_OK) qnnrt_convert__describe(c, desc);
    if (c->arena.failed != QNNRT_OK)
        result = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a converter");
    if (result != QNNRT_OK) {
        qnnrt_convert__free(c);
        return result;
    }
    c->walk.from.tensor = &c->from;
    c->walk.to.tensor   = &c->to;
    *out = c;
    return QNNRT_OK;
}

/* =====================================================================================
   INSERT                                                                        >>insert
   The steps and edges of a description with conversions between them.
   Needs: >>config >>layout >>make     Knows nothing of: elements
   ===================================================================================== */

enum { QNNRT_CONVERT__MOST = 16384 };

/* A tensor of a step of the description. */
typedef struct qnnrt_convert__end {
    const qnnrt_tensor_info *tensor;
    size_t step;
    int    output;
} qnnrt_convert__end;

/* A conversion while the steps are counted. */
typedef struct qnnrt_convert__new {
    const qnnrt_tensor_info *from, *to;
    qnnrt_conversion wish;
    size_t edge;            /* the first that asks for it */
    size_t before;          /* its first reader, a step of the description */
    size_t next;            /* 1 + the next one before the same step; 0: the last */
    size_t number;          /* of its step */
    qnnrt_converter *converter;
} qnnrt_convert__new;

/* An edge that asks for a conversion. */
typedef struct qnnrt_convert__edge {
    const qnnrt_tensor_info *from, *to;
    qnnrt_conversion wish;
    size_t edge, made;      /* made: its conversion */
} qnnrt_convert__edge;

struct qnnrt_conversions {
    qnnrt_arena          arena;
    qnnrt_pipeline_desc  desc;              /* with the conversions */
    size_t              *numbers;           /* step of the given description -> step */
    size_t               step_count;        /* of the given description */
    qnnrt_convert__new  *made;
    size_t               count;
};

static qnnrt_result qnnrt_convert__insert_memory(qnnrt_error *err)
{
    return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for the conversions of a pipeline");
}

/* Find the tensors of a step; NULL if the description does not say which they are. */
static qnnrt_graph_info qnnrt_convert__insert_graph(const qnnrt_step_desc *step)
{
    const qnnrt_info *info = qnnrt_get_info(step->model);
    qnnrt_graph_info graph;
    memset(&graph, 0, sizeof(graph));
    if (step->host != NULL) {
        graph.name = step->host->name;
        if (step->host->inputs != NULL) graph.input_count = step->host->input_count;
        if (step->host->outputs != NULL) graph.output_count = step->host->output_count;
        graph.inputs  = step->host->inputs;
        graph.outputs = step->host->outputs;
        return graph;
    }
    if (info == NULL || step->graph == NULL || step->context >= info->context_count) return graph;
    for (size_t i = 0; i < info->contexts[step->context].graph_count; ++i)
        if (strcmp(info->contexts[step->context].graphs[i].name, step->graph) == 0)
            return info->contexts[step->context].graphs[i];
    return graph;
}

static int qnnrt_convert__end_order(const void *a, const void *b)
{
    const qnnrt_convert__end *x = (const qnnrt_convert__end *)a;
    const qnnrt_convert__end *y = (const qnnrt_convert__end *)b;
    QNNRT_CONVERT__STEP();
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return x->output != y->output ? x->output - y->output
                                  : strcmp(x->tensor->name, y->tensor->name);
}

/* Sort the tensors of all steps by step and name. Return how many they are; 0 when out of
   memory. */
static size_t qnnrt_convert__insert_index(const qnnrt_pipeline_desc *desc, qnnrt_arena *arena,
                                          const void ***out)
{
    size_t count = 0, at = 0;
    for (size_t s = 0; s < desc->step_count; ++s) {
        const qnnrt_graph_info graph = qnnrt_convert__insert_graph(&desc->steps[s]);
        count += graph.input_count + graph.output_count;
    }
    qnnrt_convert__end *ends =
        (qnnrt_convert__end *)qnnrt_arena_get(arena, count, sizeof(*ends));
    *out = (const void **)qnnrt_arena_get(arena, count, sizeof(**out));
    if (ends == NULL || *out == NULL) return 0;
    for (size_t s = 0; s < desc->step_count; ++s) {
        const qnnrt_graph_info graph = qnnrt_convert__insert_graph(&desc->steps[s]);
        for (size_t i = 0; i < graph.input_count + graph.output_count; ++i) {
            ends[at].output = i >= graph.input_count;
            ends[at].tensor = ends[at].output ? &graph.outputs[i - graph.input_count]
                                              : &graph.inputs[i];
            ends[at].step = s;
            if (ends[at].tensor->name == NULL) continue;
            (*out)[at] = &ends[at];
            ++at;
        }
    }
    qnnrt_sort(*out, at, qnnrt_convert__end_order);
    return at;
}

/* Find a tensor of a step. Return NULL if there is none. */
static const qnnrt_tensor_info *qnnrt_convert__insert_find(const void *const *ends, size_t count,
                                                           size_t step, int output,
                                                           const char *name)
{
    qnnrt_tensor_info tensor;
    qnnrt_convert__end key;
    size_t low = 0, high = count;
    tensor.name = name;
    key.tensor = &tensor;
    key.step = step;
    key.output = output;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = qnnrt_convert__end_order(ends[middle], &key);
        if (order == 0) return ((const qnnrt_convert__end *)ends[middle])->tensor;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

/* Check that each step is a host step, or a graph that there is. */
static qnnrt_result qnnrt_convert__insert_check(const qnnrt_pipeline_desc *desc, qnnrt_error *err)
{
    for (size_t i = 0; i < desc->step_count; ++i) {
        const qnnrt_step_desc *step = &desc->steps[i];
        const qnnrt_info *info = qnnrt_get_info(step->model);
        if (step->host != NULL || qnnrt_convert__insert_graph(step).name != NULL) continue;
        if (info == NULL || step->graph == NULL || step->context >= info->context_count)
            return qnnrt_error_set(err, QNNRT_E_ARG, "step %u: expected a model, one of its"
                                   " contexts and the name of a graph, or a host step",
                                   (unsigned)i);
        return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "step %u: %s has no graph \"%.200s\"",
                               (unsigned)i, info->contexts[step->context].file, step->graph);
    }
    return QNNRT_OK;
}

/* Find the two tensors of an edge. */
static qnnrt_result qnnrt_convert__insert_ends(const qnnrt_pipeline_desc *desc,
                                               const void *const *ends, size_t count,
                                               qnnrt_convert__edge *out, qnnrt_error *err)
{
    const qnnrt_edge_desc *edge = &desc->edges[out->edge];
    const unsigned at = (unsigned)out->edge;
    if ((unsigned)out->wish.how > (unsigned)QNNRT_CONVERT_TO_NCHW)
        return qnnrt_error_set(err, QNNRT_E_ARG, "edge %u: convert is %d, which is not a"
                               " qnnrt_convert", at, (int)out->wish.how);
    if (out->wish.how == QNNRT_CONVERT_NONE)
        return qnnrt_error_set(err, QNNRT_E_ARG, "edge %u: exact is set, but nothing is converted;"
                               " expected convert, too", at);
    if (edge->from == NULL || edge->to == NULL || edge->to_step >= desc->step_count ||
        edge->from_step >= edge->to_step)
        return qnnrt_error_set(err, QNNRT_E_ARG, "edge %u: expected two names, and a step before"
                               " the other; it leads from step %llu to step %llu of %u", at,
                               (unsigned long long)edge->from_step,
                               (unsigned long long)edge->to_step, (unsigned)desc->step_count);
    out->from = qnnrt_convert__insert_find(ends, count, edge->from_step, 1, edge->from);
    out->to   = qnnrt_convert__insert_find(ends, count, edge->to_step, 0, edge->to);
    if (out->from != NULL && out->to != NULL) return QNNRT_OK;
    const size_t wrong = out->from == NULL ? edge->from_step : edge->to_step;
    const qnnrt_graph_info graph = qnnrt_convert__insert_graph(&desc->steps[wrong]);
    return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "edge %u: step %u (\"%.200s\") has no %s"
                           " \"%.200s\"", at, (unsigned)wrong, graph.name != NULL ? graph.name : "",
                           out->from == NULL ? "output" : "input",
                           out->from == NULL ? edge->from : edge->to);
}

static int qnnrt_convert__order(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Return 0 if two tensors have the same facts, else -1 or 1: any order that always is the same. */
static int qnnrt_convert__facts_order(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    const qnnrt_quant *x = &a->quant, *y = &b->quant;
    int order = qnnrt_convert__order((uint64_t)a->dtype, (uint64_t)b->dtype);
    if (order == 0) order = qnnrt_convert__order(a->rank, b->rank);
    if (order == 0) order = qnnrt_convert__order(a->vendor_format, b->vendor_format);
    if (order == 0 && a->rank > 0) order = memcmp(a->dims, b->dims, a->rank * sizeof(uint32_t));
    if (order != 0 || qnnrt_quant_equal(x, y)) return order;
    order = qnnrt_convert__order((uint64_t)x->encoding, (uint64_t)y->encoding);
    if (order == 0) order = qnnrt_convert__order(x->bitwidth, y->bitwidth);
    if (order != 0 || x->encoding != QNNRT_ENCODING_PER_AXIS) {
        if (order == 0) order = memcmp(&x->scale, &y->scale, sizeof(float));
        return order != 0 ? order : qnnrt_convert__order((uint32_t)x->offset, (uint32_t)y->offset);
    }
    order = qnnrt_convert__order((uint32_t)x->axis, (uint32_t)y->axis);
    if (order == 0) order = qnnrt_convert__order(x->count, y->count);
    if (order == 0) order = memcmp(x->scales, y->scales, x->count * sizeof(float));
    for (uint32_t i = 0; order == 0 && i < x->count; ++i)
        order = qnnrt_convert__order(x->offsets != NULL ? (uint32_t)x->offsets[i] : 0,
                                     y->offsets != NULL ? (uint32_t)y->offsets[i] : 0);
    return order;
}

/* Order edges so that those that share a conversion follow each other; 0: they share one. */
static int qnnrt_convert__edge_shares(const qnnrt_convert__edge *x, const qnnrt_convert__edge *y)
{
    int order = qnnrt_convert__order((uintptr_t)x->from, (uintptr_t)y->from);
    QNNRT_CONVERT__STEP();
    if (order == 0) order = (int)x->wish.how - (int)y->wish.how;
    if (order == 0) order = x->wish.exact - y->wish.exact;
    return order != 0 || x->to == y->to ? order : qnnrt_convert__facts_order(x->to, y->to);
}

static int qnnrt_convert__edge_order(const void *a, const void *b)
{
    const int order = qnnrt_convert__edge_shares((const qnnrt_convert__edge *)a,
                                                 (const qnnrt_convert__edge *)b);
    return order != 0 ? order : a < b ? -1 : a > b;
}

/* Give each edge the first one whose conversion it shares. Return 0 when out of memory. */
static int qnnrt_convert__insert_share(qnnrt_arena *arena, qnnrt_convert__edge *edges, size_t count)
{
    const void **sorted = (const void **)qnnrt_arena_get(arena, count, sizeof(*sorted));
    size_t first = 0;
    if (sorted == NULL) return 0;
    for (size_t i = 0; i < count; ++i) sorted[i] = &edges[i];
    qnnrt_sort(sorted, count, qnnrt_convert__edge_order);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_convert__edge *edge = (const qnnrt_convert__edge *)sorted[i];
        if (qnnrt_convert__edge_shares((const qnnrt_convert__edge *)sorted[first], edge) != 0)
            first = i;
        edges[edge - edges].made = (size_t)((const qnnrt_convert__edge *)sorted[first] - edges);
    }
    return 1;
}

/* Make the converters of all edges. */
static qnnrt_result qnnrt_convert__insert_make(qnnrt_conversions *c, const qnnrt_edge_desc *given,
                                               qnnrt_convert__edge *edges, size_t count,
                                               qnnrt_error *err)
{
    qnnrt_convert_desc desc;
    for (size_t i = 0; i < count; ++i) {
        qnnrt_convert__edge *edge = &edges[i];
        qnnrt_convert__new *made;
        qnnrt_error why;
        if (edge->made != i) {      /* an earlier edge has it */
            edge->made = edges[edge->made].made;
            made = &c->made[edge->made];
            if (given[edge->edge].to_step < made->before) made->before = given[edge->edge].to_step;
            continue;
        }
        if (c->count == QNNRT_CONVERT__MOST)
            return qnnrt_error_set(err, QNNRT_E_LIMIT, "edge %u: a pipeline of more than %d"
                                   " conversions", (unsigned)edge->edge, (int)QNNRT_CONVERT__MOST);
        made = &c->made[c->count];
        made->from   = edge->from;
        made->to     = edge->to;
        made->wish   = edge->wish;
        made->edge   = edge->edge;
        made->before = given[edge->edge].to_step;
        memset(&desc, 0, sizeof(desc));
        desc.how   = edge->wish.how;
        desc.exact = edge->wish.exact;
        desc.hooks = c->arena.hooks;
        const qnnrt_result result = qnnrt_convert__make(edge->from, edge->to, &desc,
                                                        &made->converter, &why);
        if (result != QNNRT_OK) {
            qnnrt_error_set(err, result, "edge %u: %s", (unsigned)edge->edge, why.text);
            return why.hint[0] != '\0' ? qnnrt_error_hint(err, result, "%s", why.hint) : result;
        }
        edge->made = c->count++;
    }
    return QNNRT_OK;
}

/* Number the steps, each conversion before its first reader. */
static void qnnrt_convert__insert_steps(qnnrt_conversions *c, const qnnrt_pipeline_desc *given,
                                        qnnrt_step_desc *steps)
{
    size_t *first = c->numbers, at = 0;      /* first begins with zeros */
    for (size_t i = c->count; i-- > 0;) {
        c->made[i].next = first[c->made[i].before];
        first[c->made[i].before] = i + 1;
    }
    for (size_t s = 0; s < given->step_count; ++s) {
        for (size_t i = first[s]; i != 0; i = c->made[i - 1].next) {
            c->made[i - 1].number = at;
            steps[at++].host = &c->made[i - 1].converter->step;
        }
        c->numbers[s] = at;
        steps[at++] = given->steps[s];
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
                                        const qnnrt_pipeline_desc *given,
                                        const qnnrt_convert__edge *asking, size_t count,
                                        qnnrt_edge_desc *edges)
{
    for (size_t i = 0; i < given->edge_count; ++i) {
        edges[i] = given->edges[i];
        edges[i].from_step = qnnrt_convert__insert_number(c, edges[i].from_step);
        edges[i].to_step   = qnnrt_convert__insert_number(c, edges[i].to_step);
    }
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_convert__new *made = &c->made[asking[i].made];
        edges[asking[i].edge].from_step = made->number;
        edges[asking[i].edge].from      = made->converter->step.outputs[0].name;
    }
    for (size_t i = 0; i < c->count; ++i) {
        qnnrt_edge_desc *edge = &edges[given->edge_count + i];
        *edge = given->edges[c->made[i].edge];
        edge->from_step = qnnrt_convert__insert_number(c, edge->from_step);
        edge->to_step   = c->made[i].number;
        edge->to        = c->made[i].converter->step.inputs[0].name;
    }
}

/* Copy what a description says about tensors. Return 0 when out of memory. */
static int qnnrt_convert__insert_uses(qnnrt_conversions *c, const qnnrt_pipeline_desc *given)
{
    qnnrt_use_desc *uses =
        (qnnrt_use_desc *)qnnrt_arena_get(&c->arena, given->use_count, sizeof(*uses));
    if (uses == NULL) return 0;
    for (size_t i = 0; i < given->use_count; ++i) {
        uses[i] = given->uses[i];
        uses[i].step = qnnrt_convert__insert_number(c, uses[i].step);
    }
    c->desc.uses = uses;
    return 1;
}

/* Fill in a description. */
static qnnrt_result qnnrt_convert__insert(qnnrt_conversions *c, const qnnrt_pipeline_desc *given,
                                          const qnnrt_conversion *wishes, qnnrt_arena *scratch,
                                          qnnrt_error *err)
{
    qnnrt_result result = qnnrt_convert__insert_check(given, err);
    const void **ends;
    size_t count = 0, at = 0;
    if (result != QNNRT_OK) return result;
    for (size_t i = 0; i < given->edge_count; ++i)
        count += wishes[i].how != QNNRT_CONVERT_NONE || wishes[i].exact;
    qnnrt_convert__edge *edges =
        (qnnrt_convert__edge *)qnnrt_arena_get(scratch, count, sizeof(*edges));
    const size_t end_count = qnnrt_convert__insert_index(given, scratch, &ends);
    for (size_t i = 0; i < given->edge_count && edges != NULL && result == QNNRT_OK; ++i) {
        if (wishes[i].how == QNNRT_CONVERT_NONE && !wishes[i].exact) continue;
        edges[at].edge = i;
        edges[at].wish = wishes[i];
        edges[at].wish.exact = wishes[i].exact != 0;
        if (scratch->failed == QNNRT_OK)
            result = qnnrt_convert__insert_ends(given, ends, end_count, &edges[at++], err);
    }
    if (result != QNNRT_OK) return result;
    c->made = (qnnrt_convert__new *)qnnrt_arena_get(&c->arena, count, sizeof(*c->made));
    c->numbers = (size_t *)qnnrt_arena_get(&c->arena, given->step_count, sizeof(*c->numbers));
    if (scratch->failed != QNNRT_OK || c->made == NULL || c->numbers == NULL ||
        !qnnrt_convert__insert_share(scratch, edges, count))
        return qnnrt_convert__insert_memory(err);
    result = qnnrt_convert__insert_make(c, given->edges, edges, count, err);
    if (result != QNNRT_OK) return result;
    qnnrt_step_desc *steps = (qnnrt_step_desc *)qnnrt_arena_get(
        &c->arena, (uint64_t)given->step_count + c->count, sizeof(*steps));
    qnnrt_edge_desc *all = (qnnrt_edge_desc *)qnnrt_arena_get(
        &c->arena, (uint64_t)given->edge_count + c->count, sizeof(*all));
    if (steps == NULL || all == NULL) return qnnrt_convert__insert_memory(err);
    qnnrt_convert__insert_steps(c, given, steps);
    qnnrt_convert__insert_edges(c, given, edges, count, all);
    c->desc.steps = steps;
    c->desc.edges = all;
    c->desc.step_count += c->count;
    c->desc.edge_count += c->count;
    return qnnrt_convert__insert_uses(c, given) ? QNNRT_OK : qnnrt_convert__insert_memory(err);
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   The functions of the declarations.
   Needs: every room above
   Knows nothing of: nothing
   ===================================================================================== */

QNNRT_CONVERT_API qnnrt_result qnnrt_convert_create(const qnnrt_tensor_info *from,
                                                    const qnnrt_tensor_info *to,
                                                    const qnnrt_convert_desc *desc,
                                                    qnnrt_converter **out, qnnrt_error *err)
{
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (out == NULL || from == NULL || to == NULL || desc == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_convert_create: an argument is NULL");
    return qnnrt_convert__make(from, to, desc, out, err);
}

QNNRT_CONVERT_API const qnnrt_host_step *qnnrt_convert_step(const qnnrt_converter *converter)
{
    return converter != NULL ? &converter->step : NULL;
}

QNNRT_CONVERT_API qnnrt_result qnnrt_convert_data(qnnrt_converter *converter, const void *from,
                                                  void *to, qnnrt_error *err)
{
    qnnrt_error_clear(err);
    if (converter == NULL || from == NULL || to == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_convert_data: an argument is NULL");
    return qnnrt_convert__data(converter, from, to, err);
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

QNNRT_CONVERT_API void qnnrt_convert_free(qnnrt_converter *converter)
{
    if (converter != NULL) qnnrt_convert__free(converter);
}

QNNRT_CONVERT_API qnnrt_converter *qnnrt_convert_of(const qnnrt_step_info *step)
{
    return step != NULL && step->host != NULL && step->host->exec == qnnrt_convert__exec
               ? (qnnrt_converter *)step->host->user : NULL;
}

QNNRT_CONVERT_API qnnrt_result qnnrt_conversions_create(const qnnrt_pipeline_desc *desc,
                                                        const qnnrt_conversion *wishes,
                                                        const qnnrt_hooks *hooks,
                                                        qnnrt_conversions **out,
                                                        qnnrt_error *err)
{
    qnnrt_conversions *c;
    qnnrt_arena scratch;
    qnnrt_result result = QNNRT_OK;
    size_t asked = 0;
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (out == NULL || desc == NULL || (desc->steps == NULL && desc->step_count > 0) ||
        (desc->edges == NULL && desc->edge_count > 0) ||
        (desc->uses == NULL && desc->use_count > 0))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_conversions_create: an argument is NULL,"
                               " or steps, edges or uses are NULL with a count");
    c = (qnnrt_conversions *)qnnrt_hooks_alloc(hooks, 1, sizeof(*c));
    if (c == NULL) return qnnrt_convert__insert_memory(err);
    memset(&scratch, 0, sizeof(scratch));
    if (hooks != NULL) c->arena.hooks = scratch.hooks = *hooks;
    c->arena.chunk = 1024;
    c->desc = *desc;
    for (size_t i = 0; wishes != NULL && i < desc->edge_count; ++i)
        asked += wishes[i].how != QNNRT_CONVERT_NONE || wishes[i].exact;
    c->step_count = asked > 0 ? desc->step_count : 0;
    if (asked > 0) result = qnnrt_convert__insert(c, desc, wishes, &scratch, err);
    qnnrt_arena_free(&scratch);
    if (result != QNNRT_OK) {
        qnnrt_conversions_free(c);
        return result;
    }
    *out = c;
    return QNNRT_OK;
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
    if (conversions == NULL) return;
    for (size_t i = 0; i < conversions->count; ++i)
        qnnrt_convert__free(conversions->made[i].converter);
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
