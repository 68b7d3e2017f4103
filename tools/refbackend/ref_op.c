/* ref_op.c - what the operators of libQnnRef.so share: the checks, values and their storage

   Knows nothing of: handles, contexts, vendor structs, any single operator */
#include "ref_op.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#ifdef REF_AVX2
#include <cpuid.h>
#endif

/* ---- types ----------------------------------------------------------------------------------- */

static const struct { uint32_t dtype, bit; uint8_t bytes, quantized; const char *name; } types[] = {
    { REF_F32,  REF_T_F32,  4, 0, "FLOAT_32" },
    { REF_F16,  REF_T_F16,  2, 0, "FLOAT_16" },
    { REF_U8Q,  REF_T_U8Q,  1, 1, "UFIXED_POINT_8" },
    { REF_U16Q, REF_T_U16Q, 2, 1, "UFIXED_POINT_16" },
    { REF_S8Q,  REF_T_S8Q,  1, 1, "SFIXED_POINT_8" },
    { REF_S16Q, REF_T_S16Q, 2, 1, "SFIXED_POINT_16" },
    { REF_I32,  REF_T_I32,  4, 0, "INT_32" },
    { REF_BOOL, REF_T_BOOL, 1, 0, "BOOL_8" },
    { REF_U32,  REF_T_U32,  4, 0, "UINT_32" },
    { REF_U8,   REF_T_U8,   1, 0, "UINT_8" },
    { REF_S32Q, 0,          4, 1, "SFIXED_POINT_32" },
    { REF_U32Q, 0,          4, 1, "UFIXED_POINT_32" },
    { REF_I8,   0,          1, 0, "INT_8" },
    { REF_I16,  0,          2, 0, "INT_16" },
    { REF_I64,  0,          8, 0, "INT_64" },
    { REF_U16,  0,          2, 0, "UINT_16" },
    { REF_U64,  0,          8, 0, "UINT_64" }
};
enum { TYPES = sizeof types / sizeof types[0] };

static size_t type_find(uint32_t dtype)
{
    size_t t = 0;
    while (t < TYPES && types[t].dtype != dtype)
        ++t;
    return t;
}

uint32_t ref_type_bit(uint32_t dtype)
{
    const size_t t = type_find(dtype);
    return t < TYPES ? types[t].bit : 0;
}

size_t ref_type_bytes(uint32_t dtype)
{
    const size_t t = type_find(dtype);
    return t < TYPES ? types[t].bytes : 0;
}

const char *ref_type_name(uint32_t dtype)
{
    const size_t t = type_find(dtype);
    return t < TYPES ? types[t].name : "an unknown data type";
}

int ref_is_quantized(uint32_t dtype)
{
    const size_t t = type_find(dtype);
    return t < TYPES && types[t].quantized;
}

/* ---- words ----------------------------------------------------------------------------------- */

int ref_refuse(ref_why *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return 0;
}

static const char *dims_text(uint32_t rank, const uint32_t *dims, char text[REF_SHAPE_TEXT])
{
    size_t used = 1;
    text[0] = '[';
    for (uint32_t i = 0; i < rank && i < REF_RANK; ++i)
        used += (size_t)snprintf(text + used, REF_SHAPE_TEXT - used, "%s%u", i > 0 ? ", " : "",
                                 (unsigned)dims[i]);
    text[used] = ']';
    text[used + 1] = '\0';
    return text;
}

const char *ref_shape_text(const ref_tensor *tensor, char text[REF_SHAPE_TEXT])
{
    return dims_text(tensor->rank, tensor->dims, text);
}

/* ---- checks ---------------------------------------------------------------------------------- */

int ref_same_shape(const ref_tensor *a, const ref_tensor *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

int ref_same_encoding(const ref_tensor *a, const ref_tensor *b)
{
    const ref_quant *p = &a->quant, *q = &b->quant;
    if (a->dtype != b->dtype)
        return 0;
    if (!ref_is_quantized(a->dtype))
        return 1;
    if (p->form != q->form || p->count != q->count)
        return 0;
    if (p->form >= REF_QUANT_PER_AXIS && p->axis != q->axis)
        return 0;
    if (p->form == REF_QUANT_BLOCKS && (p->block_axis != q->block_axis || p->block != q->block))
        return 0;
    for (uint32_t i = 0; i < p->count; ++i) {
        const int32_t p_offset = p->offsets != NULL ? p->offsets[i] : 0;
        const int32_t q_offset = q->offsets != NULL ? q->offsets[i] : 0;
        if (p->scales[i] < q->scales[i] || p->scales[i] > q->scales[i] || p_offset != q_offset)
            return 0;
    }
    return 1;
}

int ref_expect_index_type(const ref_tensor *indices, const char *what, ref_why *why)
{
    if (indices->dtype == REF_I32 || indices->dtype == REF_U32)
        return 1;
    return ref_refuse(why, "%s \"%s\" is %s, expected INT_32 or UINT_32", what, indices->name,
                      ref_type_name(indices->dtype));
}

int ref_expect_axis(double axis, uint32_t rank, ref_why *why)
{
    return (axis >= 0 && axis < rank) ||
           ref_refuse(why, "parameter \"axis\" is %.17g, expected 0 to %u", axis,
                      (unsigned)(rank - 1));
}

uint64_t ref_row_of(const ref_tensor *t, uint32_t axis)
{
    uint64_t row = 1;
    for (uint32_t i = axis; i < t->rank; ++i)
        row *= t->dims[i];
    return row;
}

int ref_expect_shape(const ref_tensor *tensor, const char *what, uint32_t rank,
                     const uint32_t *dims, ref_why *why)
{
    char found[REF_SHAPE_TEXT], expected[REF_SHAPE_TEXT];
    if (tensor->rank == rank && memcmp(tensor->dims, dims, rank * sizeof dims[0]) == 0)
        return 1;
    return ref_refuse(why, "%s \"%s\" is %s, expected %s", what, tensor->name,
                      ref_shape_text(tensor, found), dims_text(rank, dims, expected));
}

int ref_expect_type(const ref_tensor *tensor, const char *what, uint32_t dtype, ref_why *why)
{
    if (tensor->dtype == dtype)
        return 1;
    return ref_refuse(why, "%s \"%s\" is %s, expected %s", what, tensor->name,
                      ref_type_name(tensor->dtype), ref_type_name(dtype));
}

int ref_expect_like(const ref_tensor *tensor, const char *what, const ref_tensor *as, ref_why *why)
{
    return ref_expect_type(tensor, what, as->dtype, why) &&
           ref_expect_shape(tensor, what, as->rank, as->dims, why);
}

int ref_expect_per_tensor(const ref_tensor *tensor, const char *what, ref_why *why)
{
    if (!ref_is_quantized(tensor->dtype) || tensor->quant.form == REF_QUANT_PER_TENSOR)
        return 1;
    return ref_refuse(why, "%s \"%s\" has one scale per channel or block, expected one for the"
                      " whole tensor", what, tensor->name);
}

int ref_expect_same_encoding(const ref_tensor *tensor, const char *what, const ref_tensor *as,
                             const char *as_what, ref_why *why)
{
    if (!ref_expect_type(tensor, what, as->dtype, why))
        return 0;
    if (ref_same_encoding(tensor, as))
        return 1;
    return ref_refuse(why, "%s \"%s\" has a different encoding than %s \"%s\", but values are"
                      " copied unchanged: use one encoding, or insert a Convert", what,
                      tensor->name, as_what, as->name);
}

/* Offsets of 8- and 16-bit values must be integers that float32 holds exactly. */
enum { OFFSET_MOST = 1 << 24 };

static int check_quant(const ref_tensor *t, const char *what, uint32_t index, ref_why *why)
{
    const ref_quant *q = &t->quant;
    uint64_t expected = 1;
    if (q->form == REF_QUANT_NONE)
        return ref_refuse(why,
                          "%s %u \"%s\" is %s and has no encoding: give it a scale and an offset",
                          what, (unsigned)index, t->name, ref_type_name(t->dtype));
    if (q->form >= REF_QUANT_PER_AXIS) {
        if (q->axis >= t->rank)
            return ref_refuse(why, "%s %u \"%s\" has scales along axis %u, but its rank is %u",
                              what, (unsigned)index, t->name, (unsigned)q->axis, (unsigned)t->rank);
        expected = t->dims[q->axis];
    }
    if (q->form == REF_QUANT_BLOCKS) {
        if (q->block_axis >= t->rank || q->block_axis == q->axis)
            return ref_refuse(why, "%s %u \"%s\" has blocks along axis %u, expected one of rank %u"
                              " that is not axis %u of the channels", what, (unsigned)index,
                              t->name, (unsigned)q->block_axis, (unsigned)t->rank,
                              (unsigned)q->axis);
        if (q->block == 0 || t->dims[q->block_axis] % q->block != 0)
            return ref_refuse(why, "%s %u \"%s\" has blocks of %u, which do not divide the %u of"
                              " axis %u", what, (unsigned)index, t->name, (unsigned)q->block,
                              (unsigned)t->dims[q->block_axis], (unsigned)q->block_axis);
        expected *= t->dims[q->block_axis] / q->block;
    }
    if (q->count != expected || q->scales == NULL)
        return ref_refuse(why, "%s %u \"%s\" has %u scales, expected %llu", what, (unsigned)index,
                          t->name, (unsigned)(q->scales != NULL ? q->count : 0),
                          (unsigned long long)expected);
    for (uint32_t i = 0; i < q->count; ++i) {
        if (isnan(q->scales[i]) || isinf(q->scales[i])
            || (!(q->any_sign && t->fixed) && !(q->scales[i] > 0.0f)))
            return ref_refuse(why,
                              "%s %u \"%s\" has scale %g at index %u, expected a number%s",
                              what, (unsigned)index, t->name, (double)q->scales[i], (unsigned)i,
                              q->any_sign && t->fixed ? "" : " above 0");
        if (q->offsets != NULL && ref_type_bytes(t->dtype) < 4 &&
            (q->offsets[i] > OFFSET_MOST || q->offsets[i] < -OFFSET_MOST))
            return ref_refuse(why, "%s %u \"%s\" has offset %ld at index %u, expected -%d to %d",
                              what, (unsigned)index, t->name, (long)q->offsets[i], (unsigned)i,
                              (int)OFFSET_MOST, (int)OFFSET_MOST);
    }
    return 1;
}

static int check_tensor(const ref_tensor *t, const char *what, uint32_t index, ref_why *why)
{
    /* The limit lets operators multiply a size by a small number without overflow. */
    const uint64_t most =
        PTRDIFF_MAX < ((int64_t)1 << 47) ? (uint64_t)PTRDIFF_MAX / 16 : (uint64_t)1 << 47;
    const size_t bytes = ref_type_bytes(t->dtype);
    uint64_t count = 1;
    if (bytes == 0)
        return ref_refuse(why, "%s %u \"%s\" has data type 0x%x, which no operator here supports",
                          what, (unsigned)index, t->name, (unsigned)t->dtype);
    if (t->rank < 1 || t->rank > REF_RANK)
        return ref_refuse(why, "%s %u \"%s\" has rank %u, expected 1 to %d", what, (unsigned)index,
                          t->name, (unsigned)t->rank, (int)REF_RANK);
    for (uint32_t i = 0; i < t->rank; ++i) {
        if (t->dims[i] == 0)
            return ref_refuse(why,
                              "%s %u \"%s\" has 0 in dimension %u: all must be at least 1",
                              what, (unsigned)index, t->name, (unsigned)i);
        if (t->dims[i] > most / bytes / count)
            return ref_refuse(why, "%s %u \"%s\" has more than %llu bytes", what, (unsigned)index,
                              t->name, (unsigned long long)most);
        count *= t->dims[i];
    }
    if (count != t->count)
        return ref_refuse(why, "%s %u \"%s\" declares %llu elements, its dimensions give %llu",
                          what, (unsigned)index, t->name, (unsigned long long)t->count,
                          (unsigned long long)count);
    if (t->fixed && t->data == NULL && !t->unseen)
        return ref_refuse(why, "%s %u \"%s\" is static and has no data", what, (unsigned)index,
                          t->name);
    return !ref_is_quantized(t->dtype) || check_quant(t, what, index, why);
}

static int check_number(const char *what, uint32_t count, uint8_t least, uint8_t most,
                        const char *type, ref_why *why)
{
    if (count >= least && (most == 255 || count <= most))
        return 1;
    if (most == 255)
        return ref_refuse(why, "%u %s, %s has at least %u", (unsigned)count, what, type,
                          (unsigned)least);
    if (least == most)
        return ref_refuse(why, "%u %s, %s has %u", (unsigned)count, what, type, (unsigned)least);
    return ref_refuse(why, "%u %s, %s has %u to %u", (unsigned)count, what, type, (unsigned)least,
                      (unsigned)most);
}

static const ref_param_spec *spec_find(const ref_op *op, const char *name)
{
    for (const ref_param_spec *spec = op->params; spec != NULL && spec->name != NULL; ++spec)
        if (strcmp(spec->name, name) == 0)
            return spec;
    return NULL;
}

static int check_param(const ref_node *node, uint32_t index, ref_why *why)
{
    const ref_op *op = node->op;
    const ref_param *param = &node->params[index];
    const ref_param_spec *spec = spec_find(op, param->name);
    const uint32_t dtype = param->tensor != NULL ? param->tensor->dtype : param->dtype;

    if (spec == NULL) {
        char names[300];
        size_t used = 0;
        names[0] = '\0';
        for (spec = op->params; spec != NULL && spec->name != NULL && used < sizeof names; ++spec)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\"",
                                     used > 0 ? ", " : "", spec->name);
        return ref_refuse(why, "%s has no parameter \"%s\"; it has %s", op->type,
                          param->name, used > 0 ? names : "none");
    }
    for (uint32_t i = 0; i < index; ++i)
        if (strcmp(node->params[i].name, param->name) == 0)
            return ref_refuse(why, "parameter \"%s\" is given twice", param->name);
    if ((param->tensor != NULL) != ((spec->flags & REF_TENSOR) != 0))
        return ref_refuse(why, "parameter \"%s\" is a %s, %s expects a %s", param->name,
                          param->tensor != NULL ? "tensor" : "scalar", op->type,
                          param->tensor != NULL ? "scalar" : "tensor");
    if (spec->dtype != 0 && dtype != spec->dtype)
        return ref_refuse(why, "parameter \"%s\" is %s, %s expects %s", param->name,
                          ref_type_name(dtype), op->type, ref_type_name(spec->dtype));
    if (param->tensor != NULL) {
        if (!param->tensor->fixed)
            return ref_refuse(why, "parameter \"%s\" is not a static tensor", param->name);
        return check_tensor(param->tensor, "tensor of parameter", index, why);
    }
    return 1;
}

static int check_first_type(const ref_node *node, ref_why *why)
{
    const ref_tensor *t = node->in[0];
    char names[300];
    size_t used = 0;
    if ((ref_type_bit(t->dtype) & node->op->types) != 0)
        return 1;
    names[0] = '\0';
    for (size_t i = 0; i < TYPES; ++i)
        if ((types[i].bit & node->op->types) != 0)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? ", " : "", types[i].name);
    return ref_refuse(why, "input 0 \"%s\" is %s, %s takes %s", t->name, ref_type_name(t->dtype),
                      node->op->type, names);
}

int ref_op_check(const ref_node *node, ref_why *why)
{
    const ref_op *op = node->op;
    why->text[0] = '\0';
    if (!check_number("inputs", node->in_count, op->in_least, op->in_most, op->type, why) ||
        !check_number("outputs", node->out_count, op->out_least, op->out_most, op->type, why))
        return 0;
    for (uint32_t i = 0; i < node->in_count; ++i) {
        /* An operator with any number of inputs needs all of them: Concat has no optional
           inputs. */
        if (node->in[i] == NULL && (i < op->in_least || op->in_most == 255))
            return ref_refuse(why, "input %u is absent, but %s needs it", (unsigned)i, op->type);
        if (node->in[i] != NULL && !check_tensor(node->in[i], "input", i, why))
            return 0;
    }
    for (uint32_t i = 0; i < node->out_count; ++i) {
        if (node->out[i] == NULL)
            return ref_refuse(why, "output %u is absent, but %s needs it", (unsigned)i, op->type);
        if (!check_tensor(node->out[i], "output", i, why))
            return 0;
    }
    for (uint32_t i = 0; i < node->param_count; ++i)
        if (!check_param(node, i, why))
            return 0;
    for (const ref_param_spec *spec = op->params; spec != NULL && spec->name != NULL; ++spec)
        if ((spec->flags & REF_REQUIRED) != 0 && ref_param_find(node, spec->name) == NULL)
            return ref_refuse(why, "parameter \"%s\" is missing, %s needs it as a %s of %s",
                              spec->name, op->type,
                              (spec->flags & REF_TENSOR) != 0 ? "static tensor" : "scalar",
                              spec->dtype != 0 ? ref_type_name(spec->dtype) : "the output's type");
    return (op->types == 0 || check_first_type(node, why)) && op->check(node, why);
}

/* ---- parameters ------------------------------------------------------------------------------ */

const ref_param *ref_param_find(const ref_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->param_count; ++i)
        if (strcmp(node->params[i].name, name) == 0)
            return &node->params[i];
    return NULL;
}

double ref_param_value(const ref_node *node, const char *name, double otherwise)
{
    const ref_param *param = ref_param_find(node, name);
    return param != NULL ? param->value : otherwise;
}

int64_t ref_param_at(const ref_param *param, uint64_t i)
{
    return ref_whole_at(param->tensor, i);
}

int ref_axis_read(const ref_node *node, uint32_t *axis, ref_why *why)
{
    const uint32_t rank = node->in[0]->rank;
    const double value = ref_param_value(node, "axis", (double)rank - 1.0);
    if (value >= (double)rank)
        return ref_refuse(why, "axis %.0f, input 0 \"%s\" has rank %u", value, node->in[0]->name,
                          (unsigned)rank);
    *axis = (uint32_t)value;
    return 1;
}

int ref_axes_read(const ref_node *node, uint32_t *bits, ref_why *why)
{
    const ref_param *param = ref_param_find(node, "axes");
    const uint32_t rank = node->in[0]->rank;
    *bits = 0;
    if (!ref_expect_shape(param->tensor, "axes", 1, param->tensor->dims, why))
        return 0;
    for (uint64_t i = 0; i < param->tensor->count; ++i) {
        const int64_t axis = ref_param_at(param, i);
        if (axis >= (int64_t)rank)
            return ref_refuse(why, "parameter \"axes\" has axis %lld, input 0 \"%s\" has rank %u",
                              (long long)axis, node->in[0]->name, (unsigned)rank);
        if ((*bits >> axis & 1u) != 0)
            return ref_refuse(why, "parameter \"axes\" has axis %lld twice", (long long)axis);
        *bits |= 1u << axis;
    }
    return 1;
}

/* ---- float16 --------------------------------------------------------------------------------- */

/* Both directions avoid float32 subnormals, which a process may have turned off, and branches: all
   cases are computed and masks choose one. Numbers below 2^31 are signed, because vectors compare
   those faster. */
static uint32_t pick(int first, uint32_t a, uint32_t b)
{
    const uint32_t mask = 0u - (uint32_t)first;
    return (a & mask) | (b & ~mask);
}

float ref_f16_to_f32(uint16_t half)
{
    const int32_t rest = half & 0x7FFF;
    const float small = (float)rest * (1.0f / 16777216.0f);
    uint32_t bits = ((uint32_t)rest << 13) + pick(rest >= 0x7C00, 0x70000000u, 0x38000000u),
             small_bits;
    float value;
    memcpy(&small_bits, &small, sizeof small_bits);
    bits = pick(rest < 0x0400, small_bits, bits) | (uint32_t)(half & 0x8000u) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* inline: otherwise gcc calls it, and loops that use it do not become vectors. */
static inline uint16_t to_half(float value)
{
    const float sum = fabsf(value) + 0.5f;           /* below 2^-14 the last bit is 2^-24 */
    uint32_t bits, small, half;
    int32_t rest;
    memcpy(&bits, &value, sizeof bits);
    memcpy(&small, &sum, sizeof small);
    rest = (int32_t)(bits & 0x7FFFFFFFu);
    half = ((uint32_t)rest + 0x0FFFu + (bits >> 13 & 1u) - 0x38000000u) >> 13;
    half = pick(rest >= 0x47800000, pick(rest > 0x7F800000, 0x7E00u, 0x7C00u), half);
    half = pick(rest < 0x38800000, small - 0x3F000000u, half);
    return (uint16_t)(half | (bits >> 16 & 0x8000u));
}

uint16_t ref_f32_to_f16(float value) { return to_half(value); }

/* ---- values and storage ---------------------------------------------------------------------- */

/* Elements that share one scale. */
typedef struct piece { uint64_t first, count; float scale; int32_t offset; } piece;

/* Return the first piece of [first, end): elements that share one scale. */
static piece piece_at(const ref_tensor *t, uint64_t first, uint64_t end)
{
    const ref_quant *q = &t->quant;
    piece p = { first, end - first, 1.0f, 0 };
    uint64_t inner[REF_RANK], index = 0, run;
    if (!ref_is_quantized(t->dtype))
        return p;
    if (q->form != REF_QUANT_PER_TENSOR) {
        inner[t->rank - 1] = 1;
        for (uint32_t i = t->rank - 1; i > 0; --i)
            inner[i - 1] = inner[i] * t->dims[i];
        index = first / inner[q->axis] % t->dims[q->axis];
        run = inner[q->axis];
        if (q->form == REF_QUANT_BLOCKS) {
            const uint64_t along = first / inner[q->block_axis] % t->dims[q->block_axis];
            index = index * (t->dims[q->block_axis] / q->block) + along / q->block;
            if (q->block_axis > q->axis)
                run = inner[q->block_axis] * q->block;
        }
        run -= first % run;
        if (run < p.count)
            p.count = run;
    }
    p.scale = q->scales[index];
    p.offset = q->offsets != NULL ? q->offsets[index] : 0;
    return p;
}

/* Compilers turn loops over LANES elements into vectors at -O2. */
enum { LANES = 16 };

#define LOAD(name, type)                                                                           \
    static void name##_lanes(const type *restrict quant, int32_t offset, float scale,              \
                             float *restrict values)                                               \
    {                                                                                              \
        for (int i = 0; i < LANES; ++i)                                                            \
            values[i] = (float)((int32_t)quant[i] + offset) * scale;                               \
    }                                                                                              \
                                                                                                   \
    static void name(const void *data, piece p, float *values)                                     \
    {                                                                                              \
        const type *quant = (const type *)data + p.first;                                          \
        uint64_t i = 0;                                                                            \
        for (; i + LANES <= p.count; i += LANES)                                                   \
            name##_lanes(quant + i, p.offset, p.scale, values + i);                                \
        for (; i < p.count; ++i)                                                                   \
            values[i] = (float)((int32_t)quant[i] + p.offset) * p.scale;                           \
    }
LOAD(load_u8, uint8_t)
LOAD(load_s8, int8_t)
LOAD(load_u16, uint16_t)
LOAD(load_s16, int16_t)

static void load_f16_lanes(const uint16_t *restrict halves, float *restrict values)
{
    for (int i = 0; i < LANES; ++i)
        values[i] = ref_f16_to_f32(halves[i]);
}

#ifdef REF_AVX2
int ref_wide;

__attribute__((constructor)) static void ask_processor(void)
{
    unsigned a, b, c, d;                             /* clang 14 does not know the name "f16c" */
    __builtin_cpu_init();
    ref_wide = __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) &&
               (c & bit_F16C) != 0;
}

typedef short eight_halves __attribute__((vector_size(16)));
typedef float eight_floats __attribute__((vector_size(32)));

/* Convert a multiple of 8 values. */
REF_AVX2 static void load_f16_avx2(const uint16_t *halves, uint64_t count, float *values)
{
    for (uint64_t i = 0; i < count; i += 8) {
        eight_halves from;
        memcpy(&from, halves + i, sizeof from);
        const eight_floats to = __builtin_ia32_vcvtph2ps256(from);
        memcpy(values + i, &to, sizeof to);
    }
}
#endif

void ref_f16_load(const uint16_t *halves, uint64_t count, float *values)
{
    uint64_t i = 0;
#ifdef REF_AVX2
    if (ref_wide) {
        i = count / 8 * 8;
        load_f16_avx2(halves, i, values);
    }
#endif
    for (; i + LANES <= count; i += LANES)
        load_f16_lanes(halves + i, values + i);
    for (; i < count; ++i)
        values[i] = ref_f16_to_f32(halves[i]);
}

#define LOAD_WIDE(type)                                                                            \
    do {                                                                                           \
        const type *quant = (const type *)data + p.first;                                          \
        for (uint64_t i = 0; i < p.count; ++i)                                                     \
            values[i] = (float)((int64_t)quant[i] + p.offset) * p.scale;                           \
    } while (0)
#define LOAD_PLAIN(type)                                                                           \
    do {                                                                                           \
        const type *from = (const type *)data + p.first;                                           \
        for (uint64_t i = 0; i < p.count; ++i)                                                     \
            values[i] = (float)from[i];                                                            \
    } while (0)

static void load_piece(const void *data, uint32_t dtype, piece p, float *values)
{
    switch (dtype) {
    case REF_F32:  memcpy(values, (const float *)data + p.first, p.count * sizeof *values); break;
    case REF_F16:  ref_f16_load((const uint16_t *)data + p.first, p.count, values); break;
    case REF_U8Q:  load_u8(data, p, values); break;
    case REF_S8Q:  load_s8(data, p, values); break;
    case REF_U16Q: load_u16(data, p, values); break;
    case REF_S16Q: load_s16(data, p, values); break;
    case REF_S32Q: LOAD_WIDE(int32_t);  break;
    case REF_U32Q: LOAD_WIDE(uint32_t); break;
    case REF_BOOL:
        for (uint64_t i = 0; i < p.count; ++i)
            values[i] = ((const uint8_t *)data)[p.first + i] != 0 ? 1.0f : 0.0f;
        break;
    case REF_U8:   LOAD_PLAIN(uint8_t);  break;
    case REF_I8:   LOAD_PLAIN(int8_t);   break;
    case REF_U16:  LOAD_PLAIN(uint16_t); break;
    case REF_I16:  LOAD_PLAIN(int16_t);  break;
    case REF_U32:  LOAD_PLAIN(uint32_t); break;
    case REF_I32:  LOAD_PLAIN(int32_t);  break;
    case REF_U64:  LOAD_PLAIN(uint64_t); break;
    case REF_I64:  LOAD_PLAIN(int64_t);  break;
    default: break;
    }
}

void ref_load(const ref_tensor *tensor, uint64_t first, uint64_t count, float *values)
{
    const uint64_t end = first + count;
    while (first < end) {
        const piece p = piece_at(tensor, first, end);
        load_piece(tensor->data, tensor->dtype, p, values);
        values += p.count;
        first += p.count;
    }
}

/* The quotient is limited to the range of the type before it becomes an integer. least and most are
   integers that float32 holds exactly, so limiting before rounding gives the same result as
   after. */
static int32_t nearest_step(float quotient, float least, float most)
{
    int32_t code;
    quotient = quotient == quotient ? quotient : 0.0f;
    quotient = quotient < least ? least : quotient;
    quotient = quotient > most ? most : quotient;
    code = (int32_t)quotient;
    return code + (quotient - (float)code >= 0.5f) - (quotient - (float)code <= -0.5f);
}

#define STORE(name, type, lowest, highest)                                                         \
    static void name##_lanes(type *restrict quant, const float *restrict values, float scale,      \
                             int32_t offset, float least, float most)                              \
    {                                                                                              \
        for (int i = 0; i < LANES; ++i)                                                            \
            quant[i] = (type)(nearest_step(values[i] / scale, least, most) - offset);              \
    }                                                                                              \
                                                                                                   \
    static void name(void *data, piece p, const float *values)                                     \
    {                                                                                              \
        type *quant = (type *)data + p.first;                                                      \
        const float least = (float)((lowest) + p.offset), most = (float)((highest) + p.offset);    \
        uint64_t i = 0;                                                                            \
        for (; i + LANES <= p.count; i += LANES)                                                   \
            name##_lanes(quant + i, values + i, p.scale, p.offset, least, most);                   \
        for (; i < p.count; ++i)                                                                   \
            quant[i] = (type)(nearest_step(values[i] / p.scale, least, most) - p.offset);          \
    }
STORE(store_u8, uint8_t, 0, UINT8_MAX)
STORE(store_s8, int8_t, INT8_MIN, INT8_MAX)
STORE(store_u16, uint16_t, 0, UINT16_MAX)
STORE(store_s16, int16_t, INT16_MIN, INT16_MAX)

static void store_f16_lanes(uint16_t *restrict halves, const float *restrict values)
{
    for (int i = 0; i < LANES; ++i)
        halves[i] = to_half(values[i]);
}

static void store_f16(void *data, piece p, const float *values)
{
    uint16_t *halves = (uint16_t *)data + p.first;
    uint64_t i = 0;
    for (; i + LANES <= p.count; i += LANES)
        store_f16_lanes(halves + i, values + i);
    for (; i < p.count; ++i)
        halves[i] = to_half(values[i]);
}

/* Do the same in double, for 32- and 64-bit quantized values and integers. */
static double nearest(double q)
{
    return q < 0.0 ? -floor(0.5 - q) : floor(q + 0.5);
}
#define STORE_WIDE(type, lowest, highest) \
    do { \
        type *quant = (type *)data + p.first; \
        for (uint64_t i = 0; i < p.count; ++i) { \
            double q = (double)(values[i] / p.scale); \
            q = q == q ? nearest(q) - (double)p.offset : 0.0 - (double)p.offset; \
            quant[i] = q <= (double)(lowest)  ? (lowest) : \
                       q >= (double)(highest) ? (highest) : \
                                                (type)q; \
        } \
    } while (0)

static void store_piece(void *data, uint32_t dtype, piece p, const float *values)
{
    switch (dtype) {
    case REF_F32:  memcpy((float *)data + p.first, values, p.count * sizeof *values); break;
    case REF_F16:  store_f16(data, p, values); break;
    case REF_U8Q:  store_u8(data, p, values); break;
    case REF_S8Q:  store_s8(data, p, values); break;
    case REF_U16Q: store_u16(data, p, values); break;
    case REF_S16Q: store_s16(data, p, values); break;
    case REF_BOOL:
        for (uint64_t i = 0; i < p.count; ++i)
            ((uint8_t *)data)[p.first + i] = values[i] != 0.0f;
        break;
    case REF_S32Q:
    case REF_I32:  STORE_WIDE(int32_t, INT32_MIN, INT32_MAX);  break;
    case REF_U32Q:
    case REF_U32:  STORE_WIDE(uint32_t, 0u, UINT32_MAX);       break;
    case REF_U8:   STORE_WIDE(uint8_t, 0, UINT8_MAX);          break;
    case REF_I8:   STORE_WIDE(int8_t, INT8_MIN, INT8_MAX);     break;
    case REF_U16:  STORE_WIDE(uint16_t, 0, UINT16_MAX);        break;
    case REF_I16:  STORE_WIDE(int16_t, INT16_MIN, INT16_MAX);  break;
    case REF_U64:  STORE_WIDE(uint64_t, 0u, UINT64_MAX);       break;
    case REF_I64:  STORE_WIDE(int64_t, INT64_MIN, INT64_MAX);  break;
    default: break;
    }
}

void ref_store(const ref_tensor *tensor, uint64_t first, uint64_t count, const float *values)
{
    const uint64_t end = first + count;
    while (first < end) {
        const piece p = piece_at(tensor, first, end);
        store_piece(tensor->data, tensor->dtype, p, values);
        values += p.count;
        first += p.count;
    }
}

#define LOAD_INTEGERS(type)                                                                        \
    for (uint64_t i = 0; i < count; ++i)                                                           \
        values[i] = (int64_t)((const type *)data)[first + i]

void ref_load_integers(const ref_tensor *t, uint64_t first, uint64_t count, int64_t *values)
{
    const void *data = t->data;
    switch (t->dtype) {
    case REF_I8:  LOAD_INTEGERS(int8_t); break;
    case REF_I16: LOAD_INTEGERS(int16_t); break;
    case REF_I32: LOAD_INTEGERS(int32_t); break;
    case REF_I64: LOAD_INTEGERS(int64_t); break;
    case REF_U8:  LOAD_INTEGERS(uint8_t); break;
    case REF_U16: LOAD_INTEGERS(uint16_t); break;
    case REF_U32: LOAD_INTEGERS(uint32_t); break;
    case REF_U64: LOAD_INTEGERS(uint64_t); break;
    default:
        for (uint64_t i = 0; i < count; ++i)
            values[i] = ((const uint8_t *)data)[first + i] != 0;
        break;
    }
}

#define STORE_INTEGERS(type)                                                                       \
    for (uint64_t i = 0; i < count; ++i)                                                           \
        ((type *)data)[first + i] = (type)values[i]

void ref_store_integers(const ref_tensor *t, uint64_t first, uint64_t count, const int64_t *values)
{
    void *data = t->data;
    switch (ref_type_bytes(t->dtype)) {
    case 1:
        if (t->dtype == REF_BOOL)
            for (uint64_t i = 0; i < count; ++i)
                ((uint8_t *)data)[first + i] = values[i] != 0;
        else
            STORE_INTEGERS(uint8_t);
        break;
    case 2: STORE_INTEGERS(uint16_t); break;
    case 4: STORE_INTEGERS(uint32_t); break;
    default: STORE_INTEGERS(uint64_t); break;
    }
}

int ref_each(const ref_node *node, uint32_t operation, ref_compute compute, float *chunk)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    for (uint64_t done = 0, n; done < x->count; done += n) {
        n = x->count - done < REF_CHUNK ? x->count - done : REF_CHUNK;
        ref_load(x, done, n, chunk);
        for (uint64_t i = n; i % REF_LANES != 0; ++i)
            chunk[i] = 0.0f;
        if (compute != NULL)
            compute(node, operation, chunk, n);
        ref_store(y, done, n, chunk);
    }
    return 1;
}

size_t ref_chunk_scratch(const ref_node *node)
{
    (void)node;
    return REF_CHUNK * sizeof(float);
}

void ref_move(const ref_tensor *to, uint64_t to_first, const ref_tensor *from, uint64_t from_first,
              uint64_t count, float chunk[REF_CHUNK])
{
    if (ref_same_encoding(to, from)) {
        const size_t bytes = ref_type_bytes(to->dtype);
        memmove((char *)to->data + to_first * bytes, (const char *)from->data + from_first * bytes,
                count * bytes);
        return;
    }
    while (count > 0) {
        const uint64_t n = count < REF_CHUNK ? count : REF_CHUNK;
        ref_load(from, from_first, n, chunk);
        ref_store(to, to_first, n, chunk);
        to_first += n;
        from_first += n;
        count -= n;
    }
}
