/* tensor.c - one tensor of libQnnRef.so: from the vendor's struct to the operators' view, and back

   Encodings  SCALE_OFFSET, AXIS, BW and BW_AXIS as given. BLOCK: blocks along one axis, channels
              along another, the other axes whole; scales are channel-major, as measured on the
              genuine library. BLOCKWISE_EXPANSION: scale = channel's scale times its block's
              integer. Others are refused
   Bits       when the bit width is smaller than the type, only the low bits of a byte count; static
              data is extended when it is stored, so operators read plain numbers
   Knows nothing of: graphs, nodes, handles */
#include "ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory of an owner --------------------------------------------------------------------- */

typedef struct ref_block { struct ref_block *next; size_t used, room; } ref_block;

enum { BLOCK_BYTES = 16384, BLOCK_HEAD = REF_ALIGN };
typedef char block_head_fits[sizeof(ref_block) <= BLOCK_HEAD ? 1 : -1];

void *ref_arena_alloc(ref_arena *arena, size_t bytes)
{
    const size_t need = (bytes + 15) & ~(size_t)15;
    ref_block *block = arena->blocks;
    void *place;
    if (need < bytes)
        return NULL;
    if (block == NULL || block->room - block->used < need) {
        const size_t room = need > BLOCK_BYTES ? need : BLOCK_BYTES;
        if (room > SIZE_MAX - BLOCK_HEAD || (block = ref_alloc(BLOCK_HEAD + room)) == NULL)
            return NULL;
        block->room = room;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    place = (unsigned char *)block + BLOCK_HEAD + block->used;
    block->used += need;
    return place;
}

char *ref_arena_text(ref_arena *arena, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = ref_arena_alloc(arena, bytes);
    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

static void *keep(ref_arena *arena, const void *data, size_t bytes)
{
    void *copy = ref_arena_alloc(arena, bytes);
    return copy != NULL && bytes > 0 ? memcpy(copy, data, bytes) : copy;
}

void ref_arena_free(ref_arena *arena)
{
    while (arena->blocks != NULL) {
        ref_block *next = arena->blocks->next;
        ref_free(arena->blocks);
        arena->blocks = next;
    }
}

q_code ref_refused(ref_why *why, q_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    return code;
}

/* ---- types ---------------------------------------------------------------------------------- */

int ref_type_is_input(uint32_t type)
{
    return type == Q_APP_WRITE || type == Q_OPTIONAL_APP_WRITE;
}

int ref_type_is_output(uint32_t type) { return type == Q_APP_READ || type == Q_OPTIONAL_APP_READ; }

int ref_type_is_optional(uint32_t type)
{
    return type == Q_OPTIONAL_APP_WRITE || type == Q_OPTIONAL_APP_READ;
}

int ref_type_is_static(uint32_t type) { return type == Q_STATIC || type == Q_UPDATEABLE_STATIC; }

int ref_type_is_app(uint32_t type) { return ref_type_is_input(type) || ref_type_is_output(type); }

/* ---- the vendor's encoding, copied ---------------------------------------------------------- */

static q_code pairs_copy(const q_scale_offset *pairs, uint64_t count, const char *name,
                         ref_arena *arena, ref_encoding *out, ref_why *why)
{
    if (pairs == NULL || count == 0 || count > UINT32_MAX / 16)
        return ref_refused(why, Q_TENSOR_PARAM, "tensor \"%s\": its encoding has no scales", name);
    out->count = (uint32_t)count;
    out->scales = ref_arena_alloc(arena, (size_t)count * sizeof(float));
    out->offsets = ref_arena_alloc(arena, (size_t)count * sizeof(int32_t));
    if (out->scales == NULL || out->offsets == NULL)
        return Q_MEMORY;
    for (uint64_t i = 0; i < count; ++i) {
        out->scales[i] = pairs[i].scale;
        out->offsets[i] = pairs[i].offset;
    }
    return Q_OK;
}

/* Return the number of pairs that an encoding of blocks has, 0 when a block size is not valid. */
static uint64_t block_pairs(const uint32_t *sizes, const uint32_t *dims, uint32_t rank)
{
    uint64_t pairs = 1;
    for (uint32_t i = 0; i < rank; ++i) {
        if (sizes[i] == 0 || dims[i] % sizes[i] != 0)
            return 0;
        pairs *= dims[i] / sizes[i];
        if (pairs > UINT32_MAX)
            return 0;
    }
    return pairs;
}

static q_code expansion_copy(const q_expansion *from, const ref_made *made, ref_arena *arena,
                             ref_encoding *out, ref_why *why)
{
    q_code code;
    uint64_t blocks;
    if (from == NULL || from->axis < 0 || (uint32_t)from->axis >= made->rank || from->storage > 1
        || from->scales.w8 == NULL || from->blocks == 0)
        return ref_refused(why, Q_TENSOR_PARAM, "tensor \"%s\": BLOCKWISE_EXPANSION needs an axis"
                           " of the tensor, blocks and their scales in bytes or 16-bit words",
                           made->name);
    code = pairs_copy(from->pairs, made->dims[from->axis], made->name, arena, out, why);
    if (code != Q_OK)
        return code;
    blocks = (uint64_t)out->count * from->blocks;
    out->axis = from->axis;
    out->blocks = from->blocks;
    out->bits = from->bits;
    out->storage = from->storage;
    if (blocks > UINT32_MAX / 16)
        return ref_refused(why, Q_TENSOR_PARAM,
                           "tensor \"%s\": its encoding has too many blocks, %llu", made->name,
                           (unsigned long long)blocks);
    out->block_scales = ref_arena_alloc(arena, (size_t)blocks * sizeof(uint16_t));
    if (out->block_scales == NULL)
        return Q_MEMORY;
    for (uint64_t i = 0; i < blocks; ++i)
        out->block_scales[i] = from->storage == 0 ? from->scales.w8[i] : from->scales.w16[i];
    return Q_OK;
}

static q_code encoding_copy(const q_quant *from, const ref_made *made, ref_arena *arena,
                            ref_encoding *out, ref_why *why)
{
    memset(out, 0, sizeof(*out));
    out->definition = out->encoding = Q_UNDEFINED;
    /* For types without an encoding, the content of the struct is ignored. */
    if (from->definition != 1 || !ref_is_quantized(made->dtype))
        return Q_OK;
    out->definition = 1;
    out->encoding = from->encoding;
    switch (from->encoding) {
    case Q_ENC_SCALE_OFFSET:
        return pairs_copy(&from->u.one, 1, made->name, arena, out, why);
    case Q_ENC_AXIS:
        out->axis = from->u.axis.axis;
        return pairs_copy(from->u.axis.pairs, from->u.axis.count, made->name, arena, out, why);
    case Q_ENC_BW: {
        q_scale_offset pair;
        pair.scale = from->u.bw.scale;
        pair.offset = from->u.bw.offset;
        out->bits = from->u.bw.bits;
        return pairs_copy(&pair, 1, made->name, arena, out, why);
    }
    case Q_ENC_BW_AXIS:
        out->axis = from->u.bw_axis.axis;
        out->bits = from->u.bw_axis.bits;
        out->count = from->u.bw_axis.count;
        if (from->u.bw_axis.scales == NULL || out->count == 0)
            return ref_refused(why, Q_TENSOR_PARAM, "tensor \"%s\": its encoding has no scales",
                               made->name);
        out->scales = keep(arena, from->u.bw_axis.scales, out->count * sizeof(float));
        if (from->u.bw_axis.offsets != NULL)
            out->offsets = keep(arena, from->u.bw_axis.offsets, out->count * sizeof(int32_t));
        return out->scales == NULL || (from->u.bw_axis.offsets != NULL && out->offsets == NULL)
            ? Q_MEMORY : Q_OK;
    case Q_ENC_BLOCK:
        if (from->u.block.sizes == NULL || block_pairs(from->u.block.sizes, made->dims,
                                                       made->rank) == 0)
            return ref_refused(why, Q_TENSOR_PARAM,
                               "tensor \"%s\": BLOCK needs one block size per dimension, each a"
                               " divisor of it", made->name);
        memcpy(out->sizes, from->u.block.sizes, made->rank * sizeof(uint32_t));
        return pairs_copy(from->u.block.pairs, block_pairs(out->sizes, made->dims, made->rank),
                          made->name, arena, out, why);
    case Q_ENC_EXPANSION:
        return expansion_copy(from->u.expansion, made, arena, out, why);
    default:
        return ref_refused(why, Q_TENSOR_UNSUPPORTED,
                           "tensor \"%s\": quantization encoding %u; known are 0 SCALE_OFFSET, 1"
                           " AXIS, 2 BW, 3 BW_AXIS, 4 BLOCK and 5 BLOCKWISE_EXPANSION",
                           made->name, (unsigned)from->encoding);
    }
}

/* ---- checks of tensors, from a caller or from a file ---------------------------------------- */

static q_code made_check(const ref_made *made, ref_why *why)
{
    if (made->name == NULL || made->name[0] == '\0' || strlen(made->name) > REF_NAME_MOST)
        return ref_refused(why, Q_TENSOR_PARAM, "a tensor needs a name of at most %d bytes",
                           (int)REF_NAME_MOST);
    if (!ref_type_is_app(made->type) && made->type != Q_NATIVE && !ref_type_is_static(made->type))
        return ref_refused(why, Q_TENSOR_UNSUPPORTED, "tensor \"%s\": type %u, expected one of"
                           " APP_WRITE 0, APP_READ 1, NATIVE 3, STATIC 4, UPDATEABLE_STATIC 6, and"
                           " the optional types 11 and 12", made->name, (unsigned)made->type);
    if (made->format != 0)
        return ref_refused(why, Q_TENSOR_UNSUPPORTED,
                           "tensor \"%s\": data format %u, expected 0 (dense)", made->name,
                           (unsigned)made->format);
    if (ref_type_bytes(made->dtype) == 0) {
        const uint32_t bits = made->dtype & 0xFF;
        return ref_refused(why, Q_TENSOR_UNSUPPORTED, "tensor \"%s\": data type 0x%04x%s",
                           made->name, (unsigned)made->dtype,
                           bits != 4 && bits != 2 ? " is not known"
                           : ": values of less than 8 bits come one per byte, as SFIXED_POINT_8"
                             " with BW_SCALE_OFFSET, BW_AXIS_SCALE_OFFSET, BLOCK or"
                             " BLOCKWISE_EXPANSION");
    }
    if (made->rank == 0 || made->rank > REF_RANK || made->dims == NULL)
        return ref_refused(why, Q_TENSOR_PARAM, "tensor \"%s\": rank %u%s, expected 1 to %d",
                           made->name, (unsigned)made->rank,
                           made->dims == NULL ? " without dimensions" : "", (int)REF_RANK);
    return Q_OK;
}

static q_code made_count(const ref_made *made, uint64_t *count, uint64_t *bytes, ref_why *why)
{
    const uint64_t most = (uint64_t)1 << 40;
    *count = 1;
    for (uint32_t i = 0; i < made->rank; ++i) {
        if (made->dims[i] == 0 || *count > most / made->dims[i])
            return ref_refused(why, Q_TENSOR_PARAM,
                               "tensor \"%s\": dimension %u is %u, expected at least 1, and less "
                               "than 2^40 elements in total", made->name, (unsigned)i,
                               (unsigned)made->dims[i]);
        *count *= made->dims[i];
    }
    *bytes = *count * ref_type_bytes(made->dtype);
    return Q_OK;
}

q_code ref_made_from(const q_tensor *from, ref_arena *arena, ref_made *made, ref_why *why)
{
    uint64_t count;
    q_code code;
    memset(made, 0, sizeof(*made));
    if (from->version != 1 && from->version != 2)
        return ref_refused(why, Q_TENSOR_PARAM, "a tensor of struct version %u, expected 1 or 2",
                           (unsigned)from->version);
    made->datum = REF_NONE;
    made->name = from->v.name;
    made->type = from->v.type;
    made->format = from->v.format;
    made->dtype = from->v.dtype;
    made->rank = from->v.rank;
    made->dims = from->v.dims;
    code = made_check(made, why);
    if (code == Q_OK)
        code = made_count(made, &count, &made->bytes, why);
    if (code != Q_OK)
        return code;
    for (uint32_t i = 0; from->version == 2 && from->v.dynamic != NULL && i < made->rank; ++i)
        made->dynamic |= (uint32_t)(from->v.dynamic[i] != 0) << i;
    if (ref_type_is_static(made->type)) {
        made->stays = from->v.mem_type == Q_MEM_IN_PLACE;
        if ((from->v.mem_type != Q_MEM_RAW && !made->stays) || from->v.u.buffer.data == NULL
            || from->v.u.buffer.bytes != made->bytes)
            return ref_refused(why, Q_TENSOR_PARAM,
                               "static tensor \"%s\": its data is expected as %llu bytes of plain"
                               " memory, found %u%s", made->name, (unsigned long long)made->bytes,
                               (unsigned)from->v.u.buffer.bytes,
                               from->v.u.buffer.data == NULL ? " at NULL" : "");
        made->data = from->v.u.buffer.data;
    }
    return encoding_copy(&from->v.quant, made, arena, &made->encoding, why);
}

/* ---- what operators see --------------------------------------------------------------------- */

/* Compute the scales of all channels and blocks in the order of ref_quant. When BLOCK cuts one axis
   only, an axis of length 1 stands for the channels. Scales that many channels share are not
   supported: their table would be much larger than its description in a file. */
static q_code blocks_fill(const ref_made *made, ref_arena *arena, ref_value *value, ref_why *why)
{
    const ref_encoding *e = &value->encoding;
    ref_quant *q = &value->view.quant;
    uint32_t axis = REF_RANK, cut = REF_RANK, channels, blocks;
    float *scales;
    int32_t *offsets;
    if (e->encoding == Q_ENC_EXPANSION) {
        axis = (uint32_t)e->axis;
        cut = axis == 0 ? 1 : axis - 1;
        if (made->rank < 2 || made->dims[cut] % e->blocks != 0)
            return ref_refused(why, Q_TENSOR_PARAM,
                               "tensor \"%s\": %u blocks do not divide its axis %u", made->name,
                               (unsigned)e->blocks, (unsigned)cut);
        q->block = made->dims[cut] / e->blocks;
    } else {
        for (uint32_t i = 0; i < made->rank; ++i) {
            if (e->sizes[i] == made->dims[i])
                continue;
            if (e->sizes[i] == 1 && axis == REF_RANK) {
                axis = i;
            } else if (cut == REF_RANK) {
                cut = i;
            } else {
                return ref_refused(why, Q_TENSOR_UNSUPPORTED,
                                   "tensor \"%s\": BLOCK encodings have one axis of channels (block"
                                   " size 1) and one that is cut; the others are whole",
                                   made->name);
            }
        }
        if (cut == REF_RANK && axis == REF_RANK) {           /* one block: per tensor */
            q->form = REF_QUANT_PER_TENSOR;
            q->count = 1;
            q->scales = e->scales;
            q->offsets = e->offsets;
            return Q_OK;
        }
        if (cut == REF_RANK) {                               /* one scale per index of an axis */
            q->form = REF_QUANT_PER_AXIS;
            q->axis = axis;
            q->count = e->count;
            q->scales = e->scales;
            q->offsets = e->offsets;
            return Q_OK;
        }
        q->block = e->sizes[cut];
        for (uint32_t i = 0; axis == REF_RANK && i < made->rank; ++i)
            if (i != cut && made->dims[i] == 1)
                axis = i;
        if (axis == REF_RANK)
            return ref_refused(why, Q_TENSOR_UNSUPPORTED,
                               "tensor \"%s\": BLOCK encodings have an axis of channels, of block"
                               " size 1", made->name);
    }
    channels = made->dims[axis];
    blocks = made->dims[cut] / q->block;
    if ((uint64_t)channels * blocks > UINT32_MAX / 16)
        return Q_MEMORY;
    scales = ref_arena_alloc(arena, (size_t)channels * blocks * sizeof(float));
    offsets = ref_arena_alloc(arena, (size_t)channels * blocks * sizeof(int32_t));
    if (scales == NULL || offsets == NULL)
        return Q_MEMORY;
    for (uint32_t c = 0; c < channels; ++c) {
        for (uint32_t b = 0; b < blocks; ++b) {
            const size_t i = (size_t)c * blocks + b;
            const size_t from = e->encoding == Q_ENC_EXPANSION ? c : i;
            scales[i] = e->scales[from] * (e->encoding == Q_ENC_EXPANSION
                                           ? (float)e->block_scales[i] : 1.0f);
            offsets[i] = e->offsets[from];
        }
    }
    q->form = REF_QUANT_BLOCKS;
    q->axis = axis;
    q->block_axis = cut;
    q->count = channels * blocks;
    q->scales = scales;
    q->offsets = offsets;
    return Q_OK;
}

static q_code quant_fill(const ref_made *made, ref_arena *arena, ref_value *value, ref_why *why)
{
    const ref_encoding *e = &value->encoding;
    const uint32_t width = (uint32_t)ref_type_bytes(made->dtype) * 8;
    ref_quant *q = &value->view.quant;
    q_code code = Q_OK;
    if (e->definition != 1)
        return Q_OK;
    if ((e->encoding == Q_ENC_BW || e->encoding == Q_ENC_BW_AXIS)
        && (e->bits < 2 || e->bits > width))
        return ref_refused(why, Q_TENSOR_PARAM,
                           "tensor \"%s\": a bit width of %u; its type allows 2 to %u", made->name,
                           (unsigned)e->bits, (unsigned)width);
    q->scales = e->scales;
    q->offsets = e->offsets;
    q->count = e->count;
    switch (e->encoding) {
    case Q_ENC_SCALE_OFFSET:
    case Q_ENC_BW:
        if (e->count != 1 || e->offsets == NULL)
            return ref_refused(why, Q_TENSOR_PARAM, "tensor \"%s\": %u scales, expected one",
                               made->name, (unsigned)e->count);
        q->form = REF_QUANT_PER_TENSOR;
        break;
    case Q_ENC_AXIS:
    case Q_ENC_BW_AXIS:
        if (e->axis < 0 || (uint32_t)e->axis >= made->rank || made->dims[e->axis] != e->count)
            return ref_refused(why, Q_TENSOR_PARAM,
                               "tensor \"%s\": %u scales along axis %d, expected one for each index"
                               " of an axis", made->name, (unsigned)e->count, (int)e->axis);
        q->form = REF_QUANT_PER_AXIS;
        q->axis = (uint32_t)e->axis;
        break;
    case Q_ENC_BLOCK:
        if (e->offsets == NULL || block_pairs(e->sizes, made->dims, made->rank) != e->count)
            return ref_refused(why, Q_TENSOR_PARAM,
                               "tensor \"%s\": BLOCK needs one block size per dimension, each a"
                               " divisor of it, and a scale per block", made->name);
        code = blocks_fill(made, arena, value, why);
        break;
    default:
        if (e->encoding != Q_ENC_EXPANSION || e->axis < 0 || (uint32_t)e->axis >= made->rank
            || e->blocks == 0
            || e->offsets == NULL || e->count != made->dims[e->axis])
            return ref_refused(why, Q_TENSOR_PARAM, "tensor \"%s\": BLOCKWISE_EXPANSION needs an"
                               " axis of the tensor, with a scale per index of it", made->name);
        code = blocks_fill(made, arena, value, why);
    }
    /* HTP computes them right; it does not with BLOCKWISE_EXPANSION. */
    q->any_sign = e->encoding == Q_ENC_BLOCK;
    for (uint32_t i = 0; code == Q_OK && i < q->count; ++i) {
        if (isnan(q->scales[i]) || isinf(q->scales[i])
            || (!q->any_sign && !(q->scales[i] > 0.0f)))
            return ref_refused(why, Q_TENSOR_PARAM,
                               "tensor \"%s\": scale %u is %g; scales must be %s", made->name,
                               (unsigned)i, (double)q->scales[i],
                               q->any_sign ? "finite" : "above 0");
    }
    return code;
}

int ref_value_has_nibbles(const ref_value *value)
{
    const uint32_t encoding = value->encoding.encoding;
    return value->encoding.definition == 1 && value->view.dtype == REF_S8Q
        && (encoding == Q_ENC_BLOCK || encoding == Q_ENC_EXPANSION);
}

q_code ref_value_check_nibbles(const ref_value *value, const void *data, ref_why *why)
{
    const signed char *quant = data;
    if (!ref_value_has_nibbles(value))
        return Q_OK;
    for (uint64_t i = 0; i < value->bytes; ++i) {
        if (quant[i] >= -8 && quant[i] <= 7)
            continue;
        return ref_refused(why, Q_TENSOR_PARAM,
                           "tensor \"%s\": value %d of element %llu is outside the 4 bits of"
                           " blocks, -8 to 7; HTP takes the low 4 bits", value->view.name,
                           (int)quant[i], (unsigned long long)i);
    }
    return Q_OK;
}

/* Check that dimensions with data or scales of their own are fixed. */
static q_code dynamic_check(const ref_made *made, ref_why *why)
{
    const ref_encoding *e = &made->encoding;
    uint32_t i = 0;
    if (made->dynamic >> made->rank != 0)
        return ref_refused(why, Q_TENSOR_PARAM,
                           "tensor \"%s\": more dynamic dimensions than its rank of %u", made->name,
                           (unsigned)made->rank);
    if (made->dynamic == 0)
        return Q_OK;
    while ((made->dynamic >> i & 1) == 0)
        ++i;
    if (ref_type_is_static(made->type))
        return ref_refused(why, Q_NOT_SUPPORTED, "static tensor \"%s\": dimension %u is dynamic",
                           made->name, (unsigned)i);
    if (e->definition == 1 && e->encoding != Q_ENC_SCALE_OFFSET && e->encoding != Q_ENC_BW)
        return ref_refused(why, Q_NOT_SUPPORTED,
                           "tensor \"%s\": dimension %u is dynamic, which needs one scale for the"
                           " whole tensor", made->name, (unsigned)i);
    return Q_OK;
}

q_code ref_value_fill(const ref_made *made, ref_arena *arena, ref_value *value, ref_why *why)
{
    q_code code = made_check(made, why);
    ref_tensor *view = &value->view;
    if (code == Q_OK)
        code = made_count(made, &view->count, &value->bytes, why);
    if (code == Q_OK)
        code = dynamic_check(made, why);
    if (code != Q_OK)
        return code;
    view->name = ref_arena_text(arena, made->name);
    if (view->name == NULL)
        return Q_MEMORY;
    view->dtype = made->dtype;
    view->rank = made->rank;
    memcpy(view->dims, made->dims, made->rank * sizeof(uint32_t));
    view->fixed = ref_type_is_static(made->type);
    memcpy(value->most, view->dims, sizeof(value->most));
    value->dynamic = made->dynamic;
    value->type = made->type;
    value->format = made->format;
    value->encoding = made->encoding;
    value->datum = value->writer = REF_NONE;
    return quant_fill(made, arena, value, why);
}

int ref_value_narrow(const ref_value *value)
{
    const uint32_t encoding = value->encoding.encoding;
    return (encoding == Q_ENC_BW || encoding == Q_ENC_BW_AXIS) && value->encoding.bits < 8
        && ref_type_bytes(value->view.dtype) == 1;
}

void ref_value_extend(const ref_value *value, const void *data, void *out)
{
    const uint32_t bits = value->encoding.bits;
    const unsigned char *from = data;
    unsigned char *to = out;
    memcpy(out, data, (size_t)value->bytes);
    for (uint64_t i = 0; ref_value_narrow(value) && i < value->bytes; ++i) {
        const uint32_t low = from[i] & ((1u << bits) - 1);
        const int negative = value->view.dtype == REF_S8Q && (low >> (bits - 1)) != 0;
        to[i] = (unsigned char)(negative ? low | (0xFFu << bits) : low);
    }
}

/* ---- back to the vendor's struct ------------------------------------------------------------ */

static q_scale_offset *pairs_tell(const ref_encoding *e, ref_arena *arena)
{
    q_scale_offset *pairs = ref_arena_alloc(arena, e->count * sizeof(*pairs));
    for (uint32_t i = 0; pairs != NULL && i < e->count; ++i) {
        pairs[i].scale = e->scales[i];
        pairs[i].offset = e->offsets != NULL ? e->offsets[i] : 0;
    }
    return pairs;
}

static int expansion_tell(const ref_encoding *e, ref_arena *arena, q_quant *out)
{
    const size_t count = (size_t)e->count * e->blocks;
    q_expansion *x = ref_arena_alloc(arena, sizeof(*x));
    void *scales = ref_arena_alloc(arena, count * (e->storage == 0 ? 1 : 2));
    if (x == NULL || scales == NULL)
        return 0;
    x->axis = e->axis;
    x->pairs = pairs_tell(e, arena);
    x->blocks = e->blocks;
    x->bits = e->bits;
    x->storage = e->storage;
    x->scales.w8 = scales;
    for (size_t i = 0; i < count; ++i) {
        if (e->storage == 0)
            x->scales.w8[i] = (uint8_t)e->block_scales[i];
        else
            x->scales.w16[i] = e->block_scales[i];
    }
    out->u.expansion = x;
    return x->pairs != NULL;
}

int ref_value_tell(const ref_value *value, uint32_t version, ref_arena *arena, q_tensor *out)
{
    const ref_encoding *e = &value->encoding;
    q_quant *q = &out->v.quant;
    memset(out, 0, sizeof(*out));
    out->version = version;
    out->v.id = value->id;
    out->v.name = value->view.name;
    out->v.type = value->type;
    out->v.format = value->format;
    out->v.dtype = value->view.dtype;
    out->v.rank = value->view.rank;
    out->v.dims = keep(arena, value->most, value->view.rank * sizeof(uint32_t));
    if (value->dynamic != 0) {
        out->version = 2;
        out->v.dynamic = ref_arena_alloc(arena, value->view.rank);
        if (out->v.dynamic == NULL)
            return 0;
        for (uint32_t i = 0; i < value->view.rank; ++i)
            out->v.dynamic[i] = (uint8_t)(value->dynamic >> i & 1);
    }
    q->definition = e->definition;
    q->encoding = e->encoding;
    if (out->v.dims == NULL)
        return 0;
    if (e->definition != 1)
        return 1;
    switch (e->encoding) {
    case Q_ENC_SCALE_OFFSET:
        q->u.one.scale = e->scales[0];
        q->u.one.offset = e->offsets[0];
        return 1;
    case Q_ENC_AXIS:
        q->u.axis.axis = e->axis;
        q->u.axis.count = e->count;
        q->u.axis.pairs = pairs_tell(e, arena);
        return q->u.axis.pairs != NULL;
    case Q_ENC_BW:
        q->u.bw.bits = e->bits;
        q->u.bw.scale = e->scales[0];
        q->u.bw.offset = e->offsets[0];
        return 1;
    case Q_ENC_BW_AXIS:
        q->u.bw_axis.bits = e->bits;
        q->u.bw_axis.axis = e->axis;
        q->u.bw_axis.count = e->count;
        q->u.bw_axis.scales = keep(arena, e->scales, e->count * sizeof(float));
        q->u.bw_axis.offsets = e->offsets != NULL ? keep(arena, e->offsets,
                                                         e->count * sizeof(int32_t)) : NULL;
        return q->u.bw_axis.scales != NULL && (e->offsets == NULL || q->u.bw_axis.offsets != NULL);
    case Q_ENC_BLOCK:
        q->u.block.sizes = keep(arena, e->sizes, value->view.rank * sizeof(uint32_t));
        q->u.block.pairs = pairs_tell(e, arena);
        return q->u.block.sizes != NULL && q->u.block.pairs != NULL;
    default:
        return expansion_tell(e, arena, q);
    }
}
