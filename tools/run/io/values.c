/* values.c - values of tensors in memory, and random ones

   ROOM     >>values */
#include "run/io/io.h"

/* =====================================================================================
   VALUES                                                                        >>values
   Elements of any type as doubles, and random numbers.
   ===================================================================================== */

int dtype_of(const char *name, qnnrt_dtype *out)
{
    static const qnnrt_dtype all[] = {
        QNNRT_DTYPE_I2, QNNRT_DTYPE_I4, QNNRT_DTYPE_I8, QNNRT_DTYPE_I16, QNNRT_DTYPE_I32,
        QNNRT_DTYPE_I64, QNNRT_DTYPE_U2, QNNRT_DTYPE_U4, QNNRT_DTYPE_U8, QNNRT_DTYPE_U16,
        QNNRT_DTYPE_U32, QNNRT_DTYPE_U64, QNNRT_DTYPE_F4, QNNRT_DTYPE_F8, QNNRT_DTYPE_F16,
        QNNRT_DTYPE_BF16, QNNRT_DTYPE_F32, QNNRT_DTYPE_F64, QNNRT_DTYPE_S2Q, QNNRT_DTYPE_S4Q,
        QNNRT_DTYPE_S8Q, QNNRT_DTYPE_S16Q, QNNRT_DTYPE_S32Q, QNNRT_DTYPE_U2Q, QNNRT_DTYPE_U4Q,
        QNNRT_DTYPE_U8Q, QNNRT_DTYPE_U16Q, QNNRT_DTYPE_U32Q, QNNRT_DTYPE_BOOL8};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i)
        if (strcmp(qnnrt_dtype_name(all[i]), name) == 0) {
            *out = all[i];
            return 1;
        }
    return 0;
}

int value_is_float(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_F32 || dtype == QNNRT_DTYPE_F16 || dtype == QNNRT_DTYPE_BF16 ||
           dtype == QNNRT_DTYPE_F64;
}

qnnrt_dtype value_stored(qnnrt_dtype dtype)
{
    switch (dtype) {
    case QNNRT_DTYPE_S8Q: return QNNRT_DTYPE_I8;
    case QNNRT_DTYPE_S16Q: return QNNRT_DTYPE_I16;
    case QNNRT_DTYPE_S32Q: return QNNRT_DTYPE_I32;
    case QNNRT_DTYPE_U8Q: return QNNRT_DTYPE_U8;
    case QNNRT_DTYPE_U16Q: return QNNRT_DTYPE_U16;
    case QNNRT_DTYPE_U32Q: return QNNRT_DTYPE_U32;
    default: return dtype;
    }
}

size_t value_size(qnnrt_dtype dtype)
{
    switch (dtype & 0xFF) {
    case 0x08: return dtype == QNNRT_DTYPE_F8 || dtype == QNNRT_DTYPE_STRING ? 0 : 1;
    case 0x16: case 0x26: return 2;
    case 0x32: return 4;
    case 0x64: return 8;
    default: return 0;
    }
}

int value_convert_counted(qnnrt_dtype from, const void *data, qnnrt_dtype to, void *out,
                          uint64_t count, uint64_t *lost)
{
    qnnrt_weights_loss loss = {0, 0, 0};
    qnnrt_weight weight = {0};
    weight.name = weight.type = weight.file = "";
    weight.dtype = from;
    weight.rank = 1;
    weight.dims = &count;
    weight.count = count;
    weight.bytes = count * value_size(from);
    weight.data = data;
    const int good = qnnrt_weights_convert(&weight, to, out,
                                           (size_t)(count * value_size(to)), &loss,
                                           NULL) == QNNRT_OK;
    *lost = loss.overflowed + loss.out_of_range;
    return good;
}

static int value_convert(qnnrt_dtype from, const void *data, qnnrt_dtype to, void *out,
                         uint64_t count)
{
    uint64_t lost = 0;
    return value_convert_counted(from, data, to, out, count, &lost);
}

int value_get(qnnrt_dtype dtype, const void *data, double *out, uint64_t count)
{
    if (value_is_float(dtype)) return value_convert(dtype, data, QNNRT_DTYPE_F64, out, count);
    OWNED int64_t *whole = cli_alloc((size_t)count, sizeof(*whole));
    const int good = value_convert(dtype, data, QNNRT_DTYPE_I64, whole, count);
    for (uint64_t i = 0; i < count; ++i) out[i] = (double)whole[i];
    return good;
}

int value_put(qnnrt_dtype dtype, const double *from, void *data, uint64_t count)
{
    if (value_is_float(dtype)) return value_convert(QNNRT_DTYPE_F64, from, dtype, data, count);
    OWNED int64_t *whole = cli_alloc((size_t)count, sizeof(*whole));
    for (uint64_t i = 0; i < count; ++i) whole[i] = (int64_t)from[i];
    return value_convert(QNNRT_DTYPE_I64, whole, dtype, data, count);
}

uint64_t value_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

int value_seed(const char *text, uint64_t *seed)
{
    return strncmp(text, "random:", 7) == 0 && cli_number(text + 7, UINT64_MAX, seed);
}

int value_fill(const qnnrt_tensor_info *tensor, uint64_t seed, int32_t low, int32_t high, void *out)
{
    const qnnrt_dtype dtype = value_stored(tensor->dtype);
    const size_t size = value_size(dtype);
    const int quantized = dtype != tensor->dtype;
    const uint32_t used = tensor->quant.bitwidth != 0 ? tensor->quant.bitwidth : 64;
    const int is_signed = (dtype & 0xFF00) == 0;
    uint64_t state = 0xCBF29CE484222325u;
    if (size == 0) return 0;
    for (const char *c = tensor->name; *c != '\0'; ++c)
        state = (state ^ (unsigned char)*c) * 0x100000001B3u;
    state += seed;
    for (uint64_t i = 0; i < tensor->count; ++i) {
        uint64_t r = value_random(&state);
        unsigned char *at = (unsigned char *)out + i * size;
        if (value_is_float(dtype)) {
            const double real = (double)(r >> 11) / 4503599627370496.0 - 1;
            if (!value_put(dtype, &real, at, 1)) return 0;
            continue;
        }
        if (dtype == QNNRT_DTYPE_BOOL8) r &= 1;
        else if (!quantized)
            r = (uint64_t)(low + (int64_t)(r % (uint64_t)((int64_t)high - low + 1)));
        else if (used < 8 * size) {              /* few bits of the storage, with their sign */
            r &= ((uint64_t)1 << used) - 1;
            if (is_signed && r >> (used - 1) != 0) r -= (uint64_t)1 << used;
        }
        memcpy(at, &r, size);
    }
    return 1;
}
