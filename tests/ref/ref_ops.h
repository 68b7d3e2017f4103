/* ref_ops.h - one operator of libQnnRef.so as a node made by hand, for tests

       ops_begin("Softmax");
       x = ops_in(REF_U8Q, "2,3,8");     ops_random(x, -4, 4);
       y = ops_out(REF_U8Q, "2,3,8");
       ops_scalar("axis", REF_U32, 2);
       expected = ...                    one double per element of y, computed the slow way
       TRY(ops_run(expected));           chooses the encoding of y, checks, runs, compares

   or TRY(ops_refused("words of the reason")). Values of tensors come from here, not from
   ref_load(): ops_real(). Everything lives until the next ops_begin() or ops_end(). */
#ifndef REF_OPS_H
#define REF_OPS_H

#include "../../tools/refbackend/ref_op.h"
#include "test.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OPS_TENSORS = 16, OPS_PARAMS = 8, OPS_BLOCKS = 128 };

static struct {
    ref_node          node;
    ref_tensor        tensors[OPS_TENSORS];
    const ref_tensor *in[OPS_TENSORS], *out[OPS_TENSORS];
    ref_param         params[OPS_PARAMS];
    void             *blocks[OPS_BLOCKS];
    char              names[OPS_TENSORS][8];
    uint32_t          tensor_count, block_count;
    uint64_t          compared, off_by_one;   /* numbers of codes, over the whole program */
    double            worst_f32, worst_f16;   /* error over the largest value of the output */
} ops;

static uint32_t ops_seed = 1;

/* Return a whole number in [0, below). */
static inline uint32_t ops_pick(uint32_t below)
{
    ops_seed ^= ops_seed << 13;
    ops_seed ^= ops_seed >> 17;
    ops_seed ^= ops_seed << 5;
    return ops_seed % below;
}

static inline double ops_uniform(double low, double high)
{
    return low + (high - low) * ops_pick(1u << 24) / (double)(1u << 24);
}

static inline void ops_end(void)
{
    while (ops.block_count > 0)
        free(ops.blocks[--ops.block_count]);
}

/* Allocate exactly this size, so that ASan finds the first byte after it. */
static inline void *ops_alloc(size_t bytes)
{
    void *block = calloc(1, bytes > 0 ? bytes : 1);
    if (block == NULL || ops.block_count == OPS_BLOCKS) abort();
    ops.blocks[ops.block_count++] = block;
    return block;
}

static inline void ops_begin(const char *type)
{
    ops_end();
    memset(&ops.node, 0, sizeof ops.node);
    memset(ops.tensors, 0, sizeof ops.tensors);
    ops.tensor_count = 0;
    ops.node.name = "node";
    ops.node.op = ref_op_find(type);
    if (ops.node.op == NULL) {
        printf("there is no operator %s\n", type);
        abort();
    }
    ops.node.in = ops.in;
    ops.node.out = ops.out;
    ops.node.params = ops.params;
}

static inline ref_tensor *ops_tensor(uint32_t dtype, const char *shape)
{
    ref_tensor *t = &ops.tensors[ops.tensor_count];
    char *end;
    if (ops.tensor_count == OPS_TENSORS) abort();
    snprintf(ops.names[ops.tensor_count], sizeof ops.names[0], "t%u", (unsigned)ops.tensor_count);
    t->name = ops.names[ops.tensor_count++];
    t->dtype = dtype;
    t->count = 1;
    for (;; shape = end + 1) {
        t->dims[t->rank] = (uint32_t)strtoul(shape, &end, 10);
        t->count *= t->dims[t->rank++];
        if (*end != ',' || t->rank == REF_RANK) break;
    }
    t->data = ops_alloc((size_t)t->count * ref_type_bytes(dtype));
    return t;
}

static inline ref_tensor *ops_in(uint32_t dtype, const char *shape)
{
    ref_tensor *t = ops_tensor(dtype, shape);
    ops.in[ops.node.in_count++] = t;
    return t;
}

/* Add an optional input that is absent. */
static inline void ops_in_absent(void)
{
    ops.in[ops.node.in_count++] = NULL;
}

static inline ref_tensor *ops_out(uint32_t dtype, const char *shape)
{
    ref_tensor *t = ops_tensor(dtype, shape);
    ops.out[ops.node.out_count++] = t;
    return t;
}

static inline void ops_scalar(const char *name, uint32_t dtype, double value)
{
    ref_param *p = &ops.params[ops.node.param_count++];
    memset(p, 0, sizeof *p);
    p->name = name;
    p->dtype = dtype;
    p->value = value;
}

/* Make a tensor of UINT_32 (or INT_32) from "1,1,0,2". */
static inline ref_tensor *ops_numbers(const char *name, uint32_t dtype, const char *numbers)
{
    ref_param *p = &ops.params[ops.node.param_count++];
    ref_tensor *t;
    char shape[16], *end;
    uint32_t count = 1;
    for (const char *c = numbers; *c != '\0'; ++c)
        count += *c == ',';
    snprintf(shape, sizeof shape, "%u", (unsigned)count);
    t = ops_tensor(dtype, shape);
    t->fixed = 1;
    for (uint32_t i = 0; i < count; ++i, numbers = end + 1)
        ((int32_t *)t->data)[i] = (int32_t)strtol(numbers, &end, 10);
    memset(p, 0, sizeof *p);
    p->name = name;
    p->tensor = t;
    return t;
}

/* ---- values, written down independently of ref_op.c ------------------------------------------ */

static inline double ops_half(uint16_t half)
{
    const int exponent = half >> 10 & 31;
    const double fraction = (half & 1023) / 1024.0, sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 31) return fraction > 0.0 ? NAN : sign * HUGE_VAL;
    return sign * (exponent == 0 ? ldexp(fraction, -14) : ldexp(1.0 + fraction, exponent - 15));
}

/* Return the index of element i into scales. */
static inline uint32_t ops_scale_index(const ref_tensor *t, uint64_t i)
{
    uint32_t at[REF_RANK];
    for (uint32_t d = t->rank; d-- > 0; i /= t->dims[d])
        at[d] = (uint32_t)(i % t->dims[d]);
    if (t->quant.form == REF_QUANT_PER_AXIS) return at[t->quant.axis];
    if (t->quant.form == REF_QUANT_BLOCKS)
        return at[t->quant.axis] * (t->dims[t->quant.block_axis] / t->quant.block) +
               at[t->quant.block_axis] / t->quant.block;
    return 0;
}

static inline double ops_code(const ref_tensor *t, uint64_t i)
{
    switch (t->dtype) {
    case REF_F32:  return (double)((const float *)t->data)[i];
    case REF_F16:  return ops_half(((const uint16_t *)t->data)[i]);
    case REF_U8Q: case REF_U8: case REF_BOOL: return ((const uint8_t *)t->data)[i];
    case REF_S8Q: case REF_I8:    return ((const int8_t *)t->data)[i];
    case REF_U16Q: case REF_U16:  return ((const uint16_t *)t->data)[i];
    case REF_S16Q: case REF_I16:  return ((const int16_t *)t->data)[i];
    case REF_S32Q: case REF_I32:  return ((const int32_t *)t->data)[i];
    case REF_U32Q: case REF_U32:  return ((const uint32_t *)t->data)[i];
    default: return NAN;
    }
}

static inline double ops_real(const ref_tensor *t, uint64_t i)
{
    double code = ops_code(t, i);
    if (!ref_is_quantized(t->dtype)) return code;
    code += t->quant.offsets != NULL ? (double)t->quant.offsets[ops_scale_index(t, i)] : 0.0;
    return code * (double)t->quant.scales[ops_scale_index(t, i)];
}

static inline double *ops_doubles(const ref_tensor *t)
{
    return (double *)ops_alloc((size_t)t->count * sizeof(double));
}

/* ---- encodings and contents ------------------------------------------------------------------ */

static inline void ops_code_range(uint32_t dtype, double *least, double *most)
{
    const double bits = (double)ref_type_bytes(dtype) * 8.0;
    const int is_signed = dtype == REF_S8Q || dtype == REF_S16Q || dtype == REF_S32Q;
    *least = is_signed ? -ldexp(1.0, (int)bits - 1) : 0.0;
    *most = is_signed ? ldexp(1.0, (int)bits - 1) - 1.0 : ldexp(1.0, (int)bits) - 1.0;
}

/* Make count scales and offsets, all equal. */
static inline void ops_encode(ref_tensor *t, ref_quant_form form, uint32_t count, float scale,
                              int32_t offset)
{
    float *scales = (float *)ops_alloc(count * sizeof *scales);
    int32_t *offsets = (int32_t *)ops_alloc(count * sizeof *offsets);
    for (uint32_t i = 0; i < count; ++i) {
        scales[i] = scale;
        offsets[i] = offset;
    }
    t->quant.form = form;
    t->quant.count = count;
    t->quant.scales = scales;
    t->quant.offsets = offsets;
}

/* Set one scale and one offset for [low, high], with a code for 0. */
static inline void ops_encode_range(ref_tensor *t, double low, double high)
{
    double least, most, scale;
    ops_code_range(t->dtype, &least, &most);
    low = low < 0.0 ? low : 0.0;
    high = high > 0.0 ? high : 0.0;
    scale = high > low ? (high - low) / (most - least) : 1.0;
    ops_encode(t, REF_QUANT_PER_TENSOR, 1, (float)scale, (int32_t)floor(low / scale - least + 0.5));
}

/* Set different scales for the channels of weights in [-high, high], with symmetric zero points. */
static inline void ops_encode_channels(ref_tensor *t, uint32_t axis, double high)
{
    const int32_t offset = t->dtype == REF_U8Q ? -128 : t->dtype == REF_U16Q ? -32768 : 0;
    const double half = ref_type_bytes(t->dtype) == 1 ? 127.0 : ref_type_bytes(t->dtype) == 2
        ? 32767.0 : 2147483647.0;
    t->quant.axis = axis;
    ops_encode(t, REF_QUANT_PER_AXIS, t->dims[axis], 0.0f, offset);
    for (uint32_t i = 0; i < t->quant.count; ++i)
        ((float *)(uintptr_t)t->quant.scales)[i] = (float)(high * ops_uniform(0.3, 1.0) / half);
}

/* Set different scales for blocks: of any sign, and 0, for static tensors. */
static inline void ops_encode_blocks(ref_tensor *t, uint32_t axis, uint32_t block_axis,
                                     uint32_t block, double high)
{
    t->quant.axis = axis;
    t->quant.block_axis = block_axis;
    t->quant.block = block;
    ops_encode(t, REF_QUANT_BLOCKS, t->dims[axis] * (t->dims[block_axis] / block), 0.0f, 0);
    for (uint32_t i = 0; i < t->quant.count; ++i)
        ((float *)(uintptr_t)t->quant.scales)[i] =
            (float)(high * ops_uniform(0.3, 1.0) / 7.0)
            * (float)(!t->fixed ? 1 : ops_pick(5) < 2 ? -1 : ops_pick(5) > 0);
    t->quant.any_sign = t->fixed;
}

/* Fill with random floats in [low, high], or with random codes: all of them, or those of 4 bits. */
static inline void ops_fill(ref_tensor *t, double low, double high)
{
    double least, most;
    const int four = t->quant.form == REF_QUANT_BLOCKS;
    ops_code_range(t->dtype, &least, &most);
    for (uint64_t i = 0; i < t->count; ++i) {
        const double code = four ? floor(ops_uniform(-8.0, 8.0))
            : floor(ops_uniform(least, most + 1.0));
        const double value = ops_uniform(low, high);
        switch (t->dtype) {
        case REF_F32:  ((float *)t->data)[i] = (float)value; break;
        case REF_F16:  ((uint16_t *)t->data)[i] = ref_f32_to_f16((float)value); break;
        case REF_U8Q:  ((uint8_t *)t->data)[i] = (uint8_t)code; break;
        case REF_S8Q:  ((int8_t *)t->data)[i] = (int8_t)code; break;
        case REF_U16Q: ((uint16_t *)t->data)[i] = (uint16_t)code; break;
        case REF_S16Q: ((int16_t *)t->data)[i] = (int16_t)code; break;
        case REF_S32Q:
            ((int32_t *)t->data)[i] =
                (int32_t)(value / (double)t->quant.scales[ops_scale_index(t, i)]);
            break;
        case REF_U32:
        case REF_I32:  ((int32_t *)t->data)[i] = (int32_t)floor(value); break;
        case REF_U8:   ((uint8_t *)t->data)[i] = (uint8_t)value; break;
        case REF_BOOL: ((uint8_t *)t->data)[i] = value >= (low + high) / 2.0; break;
        default: abort();
        }
    }
}

/* Set an encoding for [low, high], if the type has one, and random content. */
static inline void ops_random(ref_tensor *t, double low, double high)
{
    if (ref_is_quantized(t->dtype)) ops_encode_range(t, low, high);
    ops_fill(t, low, high);
}

/* ---- running and comparing ------------------------------------------------------------------- */

/* Call check() and run() only. */
static inline void ops_run_node(void)
{
    ref_why why;
    void *scratch;
    memset(&why, 0, sizeof why);
    if (!ref_op_check(&ops.node, &why)) {
        test_where(__FILE__, __LINE__);
        printf("%s is refused: %s\n", ops.node.op->type, why.text);
        return;
    }
    scratch = ops_alloc(ops.node.op->scratch != NULL ? ops.node.op->scratch(&ops.node) : 0);
    if (!ops.node.op->run(&ops.node, scratch, &why)) {
        test_where(__FILE__, __LINE__);
        printf("%s does not run: %s\n", ops.node.op->type, why.text);
    }
}

/* Compare results. A few codes may differ by one; floats may differ by a few of the last bits of
   the largest value. */
static inline void ops_compare(const ref_tensor *t, const double *expected)
{
    double largest = 0.0, least, most;
    uint64_t off = 0;
    ops_code_range(t->dtype, &least, &most);
    for (uint64_t i = 0; i < t->count; ++i)
        largest = fabs(expected[i]) > largest ? fabs(expected[i]) : largest;
    for (uint64_t i = 0; i < t->count; ++i) {
        const double found = ops_code(t, i);
        double want = expected[i], error;
        int ok;
        if (ref_is_quantized(t->dtype)) {
            want = want / (double)t->quant.scales[0];
            want = (want < 0.0 ? -floor(0.5 - want)
                    : floor(want + 0.5)) - (double)t->quant.offsets[0];
            want = want < least ? least : want > most ? most : want;
            error = fabs(found - want);
            ok = error <= 1.0;
            off += error > 0.0;
        } else if (t->dtype == REF_F32) {
            error = fabs(found - want) / (largest > 0.0 ? largest : 1.0);
            ok = error <= 2e-6 || (isnan(found) && isnan(want));
            ops.worst_f32 = error > ops.worst_f32 ? error : ops.worst_f32;
        } else if (t->dtype == REF_F16) {
            error = fabs(found - want) / (largest > 0.0 ? largest : 1.0);
            ok = fabs(found - want) <= fabs(want) / 2000.0 + largest * 2e-6 + 1e-7;
            ops.worst_f16 = error > ops.worst_f16 ? error : ops.worst_f16;
        } else {
            ok = found >= want && found <= want;
        }
        if (!ok) {
            test_where(__FILE__, __LINE__);
            printf("%s: element %llu of \"%s\" (%s) is %.9g, expected %.9g\n", ops.node.op->type,
                   (unsigned long long)i, t->name, ref_type_name(t->dtype), found, want);
            return;
        }
    }
    if (ref_is_quantized(t->dtype)) {
        ops.compared += t->count;
        ops.off_by_one += off;
        if (off > 1 + t->count / 50) {
            test_where(__FILE__, __LINE__);
            printf("%s: %llu of %llu codes of \"%s\" (%s) are one off\n", ops.node.op->type,
                   (unsigned long long)off, (unsigned long long)t->count, t->name,
                   ref_type_name(t->dtype));
        }
    }
}

/* Choose an encoding for the first output from the expected values when it has none yet; it
   saturates a few of them. */
static inline void ops_run(const double *expected)
{
    ref_tensor *t = (ref_tensor *)(uintptr_t)ops.out[0];
    if (ref_is_quantized(t->dtype) && t->quant.form == REF_QUANT_NONE) {
        double low = 0.0, high = 0.0;
        for (uint64_t i = 0; i < t->count; ++i) {
            low = expected[i] < low ? expected[i] : low;
            high = expected[i] > high ? expected[i] : high;
        }
        ops_encode_range(t, low * 0.97, high * 0.97);
    }
    TRY(ops_run_node());
    ops_compare(t, expected);
}

/* Outputs without an encoding get one. */
static inline void ops_refused(const char *words)
{
    ref_why why;
    memset(&why, 0, sizeof why);
    for (uint32_t i = 0; i < ops.node.out_count; ++i)
        if (ref_is_quantized(ops.out[i]->dtype) && ops.out[i]->quant.form == REF_QUANT_NONE)
            ops_encode_range((ref_tensor *)(uintptr_t)ops.out[i], -1.0, 1.0);
    CHECK(!ref_op_check(&ops.node, &why));
    CHECK_STR(why.text, words);
}

#endif
