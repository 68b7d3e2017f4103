/* ops_cast.c - operators that convert one type to another, element by element

   Cast        numbers of plain types: a float is rounded towards 0 and limited to the range of the
               integer type (NaN: 0); an integer that is too wide loses its upper bits; BOOL_8 is 1
               for every number that is not 0
   Quantize    float to fixed-point
   Dequantize  fixed-point to float
   Convert     fixed-point to another type or encoding, or from or to float */
#include "ref_op.h"

#include <math.h>
#include <string.h>

static int check_shape(const ref_node *node, ref_why *why)
{
    return ref_expect_shape(node->out[0], "output 0", node->in[0]->rank, node->in[0]->dims, why);
}

static int is_float(uint32_t dtype)
{
    return dtype == REF_F32 || dtype == REF_F16;
}

/* ---- Cast ------------------------------------------------------------------------------------ */

typedef struct cast_chunk { float reals[REF_CHUNK]; int64_t integers[REF_CHUNK]; } cast_chunk;

static size_t cast_scratch(const ref_node *node)
{
    (void)node;
    return sizeof(cast_chunk);
}

static int cast_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    if (ref_is_quantized(x->dtype))
        return ref_refuse(why, "input 0 \"%s\" is %s, which libraries cast differently: use"
                          " Dequantize or Convert", x->name, ref_type_name(x->dtype));
    if (ref_is_quantized(y->dtype))
        return ref_refuse(why, "output 0 \"%s\" is %s, which libraries cast differently: use"
                          " Quantize or Convert", y->name, ref_type_name(y->dtype));
    return check_shape(node, why);
}

/* The range of an integer type as floats: the least value, and the first one above the largest. */
static int64_t whole(float value, uint32_t dtype)
{
    const int is_signed =
        dtype == REF_I8 || dtype == REF_I16 || dtype == REF_I32 || dtype == REF_I64;
    const int bits = (int)ref_type_bytes(dtype) * 8 - is_signed;
    const float past = ldexpf(1.0f, bits), least = is_signed ? -past : 0.0f;
    if (value != value)
        return 0;
    if (value < least)
        return (int64_t)least;
    if (value >= past)
        return bits >= 63 ? (bits == 63 ? INT64_MAX : -1) : ((int64_t)1 << bits) - 1;
    return bits == 64 ? (int64_t)(uint64_t)value : (int64_t)value;
}

static int cast_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    cast_chunk *chunk = scratch;
    (void)why;
    for (uint64_t done = 0, n; done < x->count; done += n) {
        n = x->count - done < REF_CHUNK ? x->count - done : REF_CHUNK;
        if (is_float(y->dtype) || (is_float(x->dtype) && y->dtype == REF_BOOL)) {
            ref_load(x, done, n, chunk->reals);
            ref_store(y, done, n, chunk->reals);
        } else if (is_float(x->dtype)) {
            ref_load(x, done, n, chunk->reals);
            for (uint64_t i = 0; i < n; ++i)
                chunk->integers[i] = whole(chunk->reals[i], y->dtype);
            ref_store_integers(y, done, n, chunk->integers);
        } else {
            ref_load_integers(x, done, n, chunk->integers);
            ref_store_integers(y, done, n, chunk->integers);
        }
    }
    return 1;
}

/* ---- Quantize, Dequantize, Convert ----------------------------------------------------------- */

static int real_run(const ref_node *node, void *scratch, ref_why *why)
{
    (void)why;
    return ref_each(node, 0, NULL, scratch);
}

static int quantize_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *y = node->out[0];
    if ((ref_type_bit(y->dtype) & REF_T_QUANT) == 0)
        return ref_refuse(why, "output 0 \"%s\" is %s, expected an 8- or 16-bit fixed-point type",
                          y->name, ref_type_name(y->dtype));
    return check_shape(node, why);
}

static int dequantize_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    if (!ref_is_quantized(x->dtype))
        return ref_refuse(why, "input 0 \"%s\" is %s, expected a fixed-point type", x->name,
                          ref_type_name(x->dtype));
    if (!is_float(y->dtype))
        return ref_refuse(why, "output 0 \"%s\" is %s, expected FLOAT_32 or FLOAT_16", y->name,
                          ref_type_name(y->dtype));
    return check_shape(node, why);
}

static const ref_param_spec convert_params[] = {
    { "dynamic_input_data", REF_BOOL, 0 }, { "dynamic_output_data", REF_BOOL, 0 }, { NULL, 0, 0 }
};

static int convert_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    for (const ref_param_spec *spec = convert_params; spec->name != NULL; ++spec)
        if (ref_param_value(node, spec->name, 0) != 0)
            return ref_refuse(why, "parameter \"%s\" is true: encodings that come at run time are"
                              " not supported", spec->name);
    if (!ref_is_quantized(x->dtype) && !is_float(x->dtype))
        return ref_refuse(why, "input 0 \"%s\" is %s, expected a fixed-point or float type",
                          x->name, ref_type_name(x->dtype));
    if (!ref_is_quantized(y->dtype) && !is_float(y->dtype))
        return ref_refuse(why, "output 0 \"%s\" is %s, expected a fixed-point or float type",
                          y->name, ref_type_name(y->dtype));
    if (!ref_is_quantized(x->dtype) && !ref_is_quantized(y->dtype))
        return ref_refuse(why, "input 0 \"%s\" is %s and output 0 \"%s\" is %s: between floats, use"
                          " Cast", x->name, ref_type_name(x->dtype), y->name,
                          ref_type_name(y->dtype));
    return check_shape(node, why);
}

const ref_op ref_ops_cast[] = {
    { "Cast", 0, 1, 1, 1, 1, NULL, cast_check, cast_scratch, cast_run },
    { "Quantize", REF_T_FLOAT, 1, 1, 1, 1, NULL, quantize_check, ref_chunk_scratch, real_run },
    { "Dequantize", 0, 1, 1, 1, 1, NULL, dequantize_check, ref_chunk_scratch, real_run },
    { "Convert", 0, 1, 1, 1, 1, convert_params, convert_check, ref_chunk_scratch, real_run },
    { NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
};
