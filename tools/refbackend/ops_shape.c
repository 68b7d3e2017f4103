/* ops_shape.c - operators that move elements and keep their values, for every type

   Concat, Split, Pack, StridedSlice and Pad requantize when encodings differ. The others copy
   stored integers, so both sides must have the same encoding; the genuine libraries do not check
   that */
#include "ref_op.h"

#include <string.h>

/* ---- copying --------------------------------------------------------------------------------- */

enum { COPY_RANK = 2 * REF_RANK };

/* A walk over from in the order of the elements of to; steps in elements. */
typedef struct walk {
    uint32_t rank;
    uint64_t dims[COPY_RANK];
    int64_t  steps[COPY_RANK], start;
} walk;

static void walk_add(walk *w, uint64_t dim, int64_t step)
{
    const uint32_t last = w->rank - 1;
    if (dim == 1)
        return;
    /* Join a dimension with the one before where the two are contiguous. */
    if (w->rank > 0 && w->steps[last] == step * (int64_t)dim) {
        w->dims[last] *= dim;
        w->steps[last] = step;
        return;
    }
    w->dims[w->rank] = dim;
    w->steps[w->rank++] = step;
}

/* Compute the steps of a packed tensor. */
static void steps_of(const ref_tensor *t, int64_t steps[REF_RANK])
{
    int64_t step = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        steps[i] = step;
        step *= t->dims[i];
    }
}

#define COPY_ROW(type)                                                                             \
    for (uint64_t i = 0; i < count; ++i)                                                           \
        ((type *)to)[i] = ((const type *)from)[start + (int64_t)i * step]

static void copy_row(void *to, const void *from, int64_t start, int64_t step, uint64_t count,
                     size_t bytes)
{
    if (step == 1)
        memmove(to, (const char *)from + (size_t)start * bytes, count * bytes);
    else if (bytes == 1)
        COPY_ROW(uint8_t);
    else if (bytes == 2)
        COPY_ROW(uint16_t);
    else if (bytes == 4)
        COPY_ROW(uint32_t);
    else
        COPY_ROW(uint64_t);
}

static void walk_copy(const walk *w, const ref_tensor *to, const ref_tensor *from)
{
    const size_t bytes = ref_type_bytes(to->dtype);
    const uint32_t last = w->rank > 0 ? w->rank - 1 : 0;
    const uint64_t row = w->rank > 0 ? w->dims[last] : 1;
    const int64_t step = w->rank > 0 ? w->steps[last] : 1;
    uint64_t index[COPY_RANK] = { 0 };
    int64_t at = w->start;
    for (uint64_t done = 0; done < to->count; done += row) {
        copy_row((char *)to->data + done * bytes, from->data, at, step, row, bytes);
        for (uint32_t i = last; i-- > 0;) {
            at += w->steps[i];
            if (++index[i] < w->dims[i])
                break;
            at -= w->steps[i] * (int64_t)w->dims[i];
            index[i] = 0;
        }
    }
}

/* Check that both have one type and encoding, with one scale for the whole tensor. */
static int check_plain_copy(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    if (!ref_expect_per_tensor(x, "input 0", why))
        return 0;
    for (uint32_t i = 0; i < node->out_count; ++i)
        if (!ref_expect_same_encoding(node->out[i], "output", x, "input 0", why))
            return 0;
    return 1;
}

/* Check that quantized values can be converted to another encoding of the same type. */
static int check_requantized(const ref_node *node, ref_why *why)
{
    const uint32_t dtype = node->in[0]->dtype;
    for (uint32_t i = 0; i < node->in_count; ++i)
        if (!ref_expect_type(node->in[i], "input", dtype, why) ||
            !ref_expect_per_tensor(node->in[i], "input", why))
            return 0;
    for (uint32_t i = 0; i < node->out_count; ++i)
        if (!ref_expect_type(node->out[i], "output", dtype, why) ||
            !ref_expect_per_tensor(node->out[i], "output", why))
            return 0;
    return 1;
}

/* Check a parameter tensor for exactly these dimensions; columns 0: rank 1. */
static int expect_table(const ref_param *param, uint32_t rows, uint32_t columns, ref_why *why)
{
    const uint32_t dims[2] = { rows, columns };
    return ref_expect_shape(param->tensor, param->name, columns != 0 ? 2 : 1, dims, why);
}

/* ---- Reshape, ExpandDims, Squeeze: nothing moves --------------------------------------------- */

static int whole_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    (void)scratch;
    (void)why;
    memmove(node->out[0]->data, x->data, x->count * ref_type_bytes(x->dtype));
    return 1;
}

static int reshape_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    char a[REF_SHAPE_TEXT], b[REF_SHAPE_TEXT];
    if (x->count != y->count)
        return ref_refuse(why, "output 0 \"%s\" is %s, %llu elements; input 0 \"%s\" is %s, %llu"
                          " elements", y->name, ref_shape_text(y, a), (unsigned long long)y->count,
                          x->name, ref_shape_text(x, b), (unsigned long long)x->count);
    return check_plain_copy(node, why);
}

static const ref_param_spec expand_params[] = {
    { "axis", REF_U32, 0 }, { "axes", REF_U32, REF_TENSOR }, { NULL, 0, 0 }
};
static const ref_param_spec squeeze_params[] = { { "axes", REF_U32, REF_TENSOR }, { NULL, 0, 0 } };

/* Return bit i set for each axis i that the parameter names. */
static int axes_mask(const ref_param *axes, uint32_t rank, uint32_t *mask, ref_why *why)
{
    *mask = 0;
    if (axes->tensor->rank != 1)
        return ref_refuse(why, "parameter \"axes\" has rank %u, expected 1",
                          (unsigned)axes->tensor->rank);
    for (uint64_t i = 0; i < axes->tensor->count; ++i) {
        const int64_t axis = ref_param_at(axes, i);
        if (axis >= rank)
            return ref_refuse(why, "parameter \"axes\" has %lld at index %llu, expected 0 to %u",
                              (long long)axis, (unsigned long long)i, (unsigned)(rank - 1));
        if ((*mask >> axis & 1u) != 0)
            return ref_refuse(why, "parameter \"axes\" has %lld twice", (long long)axis);
        *mask |= 1u << axis;
    }
    return 1;
}

static int expand_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    const ref_param *axis = ref_param_find(node, "axis"), *axes = ref_param_find(node, "axes");
    uint32_t mask, dims[REF_RANK], next = 0;
    if ((axis != NULL) == (axes != NULL))
        return ref_refuse(why, "expected one of the parameters \"axis\" and \"axes\", found %s",
                          axis != NULL ? "both" : "none");
    if (axes != NULL) {
        if (!axes_mask(axes, y->rank, &mask, why))
            return 0;
        if (x->rank + axes->tensor->count != y->rank)
            return ref_refuse(
                why, "output 0 \"%s\" has rank %u, expected the %u of input 0 and %u axes", y->name,
                (unsigned)y->rank, (unsigned)x->rank, (unsigned)axes->tensor->count);
    } else {
        if (x->rank + 1 != y->rank)
            return ref_refuse(why,
                              "output 0 \"%s\" has rank %u, expected %u, one more than input 0",
                              y->name, (unsigned)y->rank, (unsigned)(x->rank + 1));
        if (!ref_expect_axis(axis->value, y->rank, why))
            return 0;
        mask = 1u << (uint32_t)axis->value;
    }
    for (uint32_t i = 0; i < y->rank; ++i)
        dims[i] = (mask >> i & 1u) != 0 ? 1 : x->dims[next++];
    return ref_expect_shape(y, "output 0", y->rank, dims, why) && check_plain_copy(node, why);
}

static int squeeze_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    const ref_param *axes = ref_param_find(node, "axes");
    uint32_t mask = 0, dims[REF_RANK], rank = 0;
    if (axes != NULL && !axes_mask(axes, x->rank, &mask, why))
        return 0;
    for (uint32_t i = 0; i < x->rank; ++i) {
        const int dropped = axes != NULL ? (int)(mask >> i & 1u) : x->dims[i] == 1;
        if (dropped && x->dims[i] != 1)
            return ref_refuse(why, "parameter \"axes\" has %u, but that dimension of input 0 \"%s\""
                              " is %u, expected 1", (unsigned)i, x->name, (unsigned)x->dims[i]);
        if (!dropped)
            dims[rank++] = x->dims[i];
    }
    if (rank == 0)
        return ref_refuse(why, "every dimension of input 0 \"%s\" would go: keep one, rank 0 is not"
                          " supported", x->name);
    return ref_expect_shape(y, "output 0", rank, dims, why) && check_plain_copy(node, why);
}

/* ---- Transpose ------------------------------------------------------------------------------- */

static const ref_param_spec transpose_params[] = { { "perm", REF_U32, REF_REQUIRED | REF_TENSOR },
                                                   { NULL, 0, 0 } };

static int transpose_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const ref_param *perm = ref_param_find(node, "perm");
    uint32_t dims[REF_RANK], seen = 0;
    if (!expect_table(perm, x->rank, 0, why))
        return 0;
    for (uint32_t i = 0; i < x->rank; ++i) {
        const int64_t axis = ref_param_at(perm, i);
        if (axis >= x->rank || (seen >> axis & 1u) != 0)
            return ref_refuse(why, "parameter \"perm\" has %lld at index %u, expected each of 0 to"
                              " %u once", (long long)axis, (unsigned)i, (unsigned)(x->rank - 1));
        seen |= 1u << axis;
        dims[i] = x->dims[axis];
    }
    return ref_expect_shape(node->out[0], "output 0", x->rank, dims, why) &&
           check_plain_copy(node, why);
}

static int transpose_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const ref_param *perm = ref_param_find(node, "perm");
    int64_t steps[REF_RANK];
    walk w = { 0 };
    (void)scratch;
    (void)why;
    steps_of(x, steps);
    for (uint32_t i = 0; i < x->rank; ++i) {
        const int64_t axis = ref_param_at(perm, i);
        walk_add(&w, x->dims[axis], steps[axis]);
    }
    walk_copy(&w, node->out[0], x);
    return 1;
}

/* ---- Concat and Split, Pack and UnPack: rows of one tensor, pieces of the others ------------- */

/* Copy the parts, which are next to each other in each row of the whole, to it or from it. */
static void parts_move(const ref_tensor *whole, const ref_tensor *const *parts, uint32_t count,
                       uint32_t axis, int into_whole, float *chunk)
{
    const uint64_t row = ref_row_of(whole, axis);
    uint64_t before = 0;
    for (uint32_t k = 0; k < count; ++k) {
        const uint64_t rows = whole->count / row, part = parts[k]->count / rows;
        for (uint64_t r = 0; r < rows; ++r) {
            if (into_whole)
                ref_move(whole, r * row + before, parts[k], r * part, part, chunk);
            else
                ref_move(parts[k], r * part, whole, r * row + before, part, chunk);
        }
        before += part;
    }
}

static const ref_param_spec axis_params[] = { { "axis", REF_U32, REF_REQUIRED }, { NULL, 0, 0 } };

static uint32_t axis_of(const ref_node *node)
{
    return (uint32_t)ref_param_value(node, "axis", 0);
}

static int concat_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    uint32_t dims[REF_RANK], axis;
    uint64_t sum = 0;
    if (!ref_expect_axis(ref_param_value(node, "axis", 0), x->rank, why) ||
        !check_requantized(node, why))
        return 0;
    axis = axis_of(node);
    memcpy(dims, x->dims, sizeof dims);
    for (uint32_t k = 0; k < node->in_count; ++k) {
        if (axis < node->in[k]->rank)
            dims[axis] = node->in[k]->dims[axis];
        if (!ref_expect_shape(node->in[k], "input", x->rank, dims, why))
            return 0;
        sum += dims[axis];
    }
    if (sum > UINT32_MAX)
        return ref_refuse(why, "the inputs have %llu elements along axis %u together, a dimension"
                          " holds %lu", (unsigned long long)sum, (unsigned)axis,
                          (unsigned long)UINT32_MAX);
    dims[axis] = (uint32_t)sum;
    return ref_expect_shape(node->out[0], "output 0", x->rank, dims, why);
}

static int into_run(const ref_node *node, void *scratch, ref_why *why)
{
    (void)why;
    parts_move(node->out[0], node->in, node->in_count, axis_of(node), 1, scratch);
    return 1;
}

static int out_of_run(const ref_node *node, void *scratch, ref_why *why)
{
    (void)why;
    parts_move(node->in[0], node->out, node->out_count, axis_of(node), 0, scratch);
    return 1;
}

static const ref_param_spec split_params[] = { { "axis", REF_U32, REF_REQUIRED },
                                               { "split_index", REF_U32,
                                                 REF_REQUIRED | REF_TENSOR },
                                               { NULL, 0, 0 } };

static int split_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const ref_param *index = ref_param_find(node, "split_index");
    uint32_t dims[REF_RANK], axis;
    int64_t begin = 0;
    if (!ref_expect_axis(ref_param_value(node, "axis", 0), x->rank, why) ||
        !check_requantized(node, why))
        return 0;
    axis = axis_of(node);
    if (node->out_count < 2)
        return ref_refuse(why, "1 output, Split has at least 2: \"split_index\" names where the"
                          " second begins");
    if (!expect_table(index, node->out_count - 1, 0, why))
        return 0;
    memcpy(dims, x->dims, sizeof dims);
    for (uint32_t k = 0; k < node->out_count; ++k) {
        const int64_t end =
            k + 1 < node->out_count ? ref_param_at(index, k) : (int64_t)x->dims[axis];
        if (end <= begin || end > x->dims[axis])
            return ref_refuse(why, "parameter \"split_index\" has %lld at index %u, expected"
                              " numbers that grow from above 0 to below the %u of axis %u",
                              (long long)ref_param_at(index, k < node->out_count - 1 ? k : k - 1),
                              (unsigned)(k < node->out_count - 1 ? k : k - 1),
                              (unsigned)x->dims[axis], (unsigned)axis);
        dims[axis] = (uint32_t)(end - begin);
        if (!ref_expect_shape(node->out[k], "output", x->rank, dims, why))
            return 0;
        begin = end;
    }
    return 1;
}

/* One tensor has a dimension of count at axis, the others are its slices. */
static int check_packed(const ref_node *node, const ref_tensor *one, const char *one_what,
                        const ref_tensor *const *slices, const char *slice_what, uint32_t count,
                        ref_why *why)
{
    uint32_t dims[REF_RANK + 1], axis;
    if (slices[0]->rank >= REF_RANK)
        return ref_refuse(why,
                          "%s \"%s\" has rank %u, expected at most %d as one dimension is added",
                          slice_what, slices[0]->name, (unsigned)slices[0]->rank, REF_RANK - 1);
    if (!ref_expect_axis(ref_param_value(node, "axis", 0), slices[0]->rank + 1, why))
        return 0;
    axis = axis_of(node);
    for (uint32_t k = 1; k < count; ++k)
        if (!ref_expect_shape(slices[k], slice_what, slices[0]->rank, slices[0]->dims, why))
            return 0;
    memcpy(dims, slices[0]->dims, axis * sizeof dims[0]);
    dims[axis] = count;
    memcpy(dims + axis + 1, slices[0]->dims + axis, (slices[0]->rank - axis) * sizeof dims[0]);
    return ref_expect_shape(one, one_what, slices[0]->rank + 1, dims, why);
}

static int pack_check(const ref_node *node, ref_why *why)
{
    return check_requantized(node, why) &&
           check_packed(node, node->out[0], "output 0", node->in, "input", node->in_count, why);
}

static int unpack_check(const ref_node *node, ref_why *why)
{
    return check_plain_copy(node, why) &&
           check_packed(node, node->in[0], "input 0", node->out, "output", node->out_count, why);
}

/* ---- StridedSlice ---------------------------------------------------------------------------- */

static const ref_param_spec slice_params[] = { { "ranges", REF_I32, REF_REQUIRED | REF_TENSOR },
                                               { "begin_mask", REF_U32, 0 },
                                               { "end_mask", REF_U32, 0 },
                                               { "shrink_axes", REF_U32, 0 },
                                               { "new_axes_mask", REF_U32, 0 },
                                               { NULL, 0, 0 } };

/* Return bit `row` of a mask. */
static int mask_bit(const ref_node *node, const char *name, uint32_t row)
{
    return (int)((uint32_t)ref_param_value(node, name, 0) >> row & 1u);
}

/* Fill the walk and the output's shape. Rows of ranges are axes of the input and new axes between
   them. */
static int slice_plan(const ref_node *node, walk *w, uint32_t *rank, uint32_t dims[REF_RANK],
                      ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const ref_param *ranges = ref_param_find(node, "ranges");
    static const char *const masks[] = { "begin_mask", "end_mask", "shrink_axes", "new_axes_mask" };
    int64_t steps[REF_RANK];
    uint32_t rows = x->rank, axis = 0;

    memset(w, 0, sizeof *w);
    *rank = 0;
    steps_of(x, steps);
    for (uint32_t row = 0; row < 32; ++row)
        rows += (uint32_t)mask_bit(node, "new_axes_mask", row);
    if (!expect_table(ranges, rows, 3, why))
        return 0;
    if (rows > COPY_RANK)
        return ref_refuse(why, "\"new_axes_mask\" asks for more than %d dimensions", (int)REF_RANK);
    for (size_t m = 0; m < sizeof masks / sizeof masks[0]; ++m)
        if (ref_param_value(node, masks[m], 0) >= (double)((uint64_t)1 << rows))
            return ref_refuse(why, "parameter \"%s\" is %.17g, \"ranges\" has only %u rows",
                              masks[m], ref_param_value(node, masks[m], 0), (unsigned)rows);
    for (uint32_t row = 0; row < rows; ++row) {
        const int64_t stride = ref_param_at(ranges, row * 3 + 2);
        const int shrink = mask_bit(node, "shrink_axes", row);
        int64_t begin = ref_param_at(ranges, row * 3), end = ref_param_at(ranges, row * 3 + 1), dim,
                count = 1;

        if (!mask_bit(node, "new_axes_mask", row)) {
            dim = x->dims[axis];
            if (stride == 0)
                return ref_refuse(why, "row %u of \"ranges\" has stride 0", (unsigned)row);
            if (shrink && stride != 1)
                return ref_refuse(why, "row %u of \"ranges\" has stride %lld, expected 1 as"
                                  " \"shrink_axes\" drops that axis", (unsigned)row,
                                  (long long)stride);
            if (mask_bit(node, "begin_mask", row))
                begin = stride > 0 ? 0 : dim - 1;
            else if (begin < -dim || begin >= dim)
                return ref_refuse(why, "row %u of \"ranges\" begins at %lld, expected %lld to %lld"
                                  " (axis %u of input 0 \"%s\")", (unsigned)row, (long long)begin,
                                  (long long)-dim, (long long)(dim - 1), (unsigned)axis, x->name);
            else if (begin < 0)
                begin += dim;
            if (shrink) {
                end = begin + 1;
            } else if (mask_bit(node, "end_mask", row)) {
                end = stride > 0 ? dim : -1;
            } else {
                const int64_t least = stride > 0 ? -dim : -dim - 1,
                              most = stride > 0 ? dim : dim - 1;
                if (end < least || end > most)
                    return ref_refuse(why, "row %u of \"ranges\" ends at %lld, expected %lld to"
                                      " %lld (axis %u of input 0 \"%s\"): HTP does not clamp it, or"
                                      " set its bit in \"end_mask\"", (unsigned)row, (long long)end,
                                      (long long)least, (long long)most, (unsigned)axis, x->name);
                if (end < 0)
                    end += dim;
            }
            count = stride > 0 ? (end - begin + stride - 1) / stride :
                                 (begin - end - stride - 1) / -stride;
            if (count <= 0)
                return ref_refuse(why, "row %u of \"ranges\" (%lld to %lld by %lld) has no element",
                                  (unsigned)row, (long long)begin, (long long)end,
                                  (long long)stride);
            w->start += begin * steps[axis];
            walk_add(w, (uint64_t)count, count > 1 ? stride * steps[axis] : 0);
            ++axis;
        } else if (shrink) {
            return ref_refuse(why,
                              "row %u of \"ranges\" is in \"new_axes_mask\" and in \"shrink_axes\"",
                              (unsigned)row);
        }
        if (shrink)
            continue;
        if (*rank == REF_RANK)
            return ref_refuse(why, "the output would have more than %d dimensions", (int)REF_RANK);
        dims[(*rank)++] = (uint32_t)count;
    }
    if (*rank == 0)
        return ref_refuse(why,
                          "\"shrink_axes\" drops every axis: keep one, rank 0 is not supported");
    return 1;
}

static int slice_check(const ref_node *node, ref_why *why)
{
    uint32_t rank, dims[REF_RANK];
    walk w;
    return slice_plan(node, &w, &rank, dims, why) &&
           ref_expect_shape(node->out[0], "output 0", rank, dims, why) &&
           check_requantized(node, why);
}

/* Convert the quantized values of the input, which are already in the output's memory. */
static void requantize_in_place(const ref_tensor *to, const ref_tensor *from, float *chunk)
{
    ref_tensor before = *to;
    before.quant = from->quant;
    ref_move(to, 0, &before, 0, to->count, chunk);
}

static int slice_run(const ref_node *node, void *scratch, ref_why *why)
{
    uint32_t rank, dims[REF_RANK];
    walk w;
    if (!slice_plan(node, &w, &rank, dims, why))
        return 0;
    walk_copy(&w, node->out[0], node->in[0]);
    requantize_in_place(node->out[0], node->in[0], scratch);
    return 1;
}

/* ---- Tile ------------------------------------------------------------------------------------ */

static const ref_param_spec tile_params[] = { { "multiples", REF_U32, REF_REQUIRED | REF_TENSOR },
                                              { NULL, 0, 0 } };

static int tile_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const ref_param *multiples = ref_param_find(node, "multiples");
    uint32_t dims[REF_RANK];
    if (!expect_table(multiples, x->rank, 0, why))
        return 0;
    for (uint32_t i = 0; i < x->rank; ++i) {
        const uint64_t dim = x->dims[i] * (uint64_t)ref_param_at(multiples, i);
        if (dim == 0 || dim > UINT32_MAX)
            return ref_refuse(why, "parameter \"multiples\" has %llu at index %u, which makes a"
                              " dimension of %llu", (unsigned long long)ref_param_at(multiples, i),
                              (unsigned)i, (unsigned long long)dim);
        dims[i] = (uint32_t)dim;
    }
    return ref_expect_shape(node->out[0], "output 0", x->rank, dims, why) &&
           check_plain_copy(node, why);
}

static int tile_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const ref_param *multiples = ref_param_find(node, "multiples");
    int64_t steps[REF_RANK];
    walk w = { 0 };
    (void)scratch;
    (void)why;
    steps_of(x, steps);
    for (uint32_t i = 0; i < x->rank; ++i) {
        walk_add(&w, (uint64_t)ref_param_at(multiples, i), 0);
        walk_add(&w, x->dims[i], steps[i]);
    }
    walk_copy(&w, node->out[0], x);
    return 1;
}

/* ---- Pad ------------------------------------------------------------------------------------- */

enum { PAD_CONSTANT, PAD_SYMMETRIC, PAD_REFLECT, PAD_EDGE, PAD_SCHEMES };

static const ref_param_spec pad_params[] = {
    { "scheme", REF_U32, REF_REQUIRED }, { "pad_amount", REF_U32, REF_REQUIRED | REF_TENSOR },
    { "pad_constant_value", 0, 0 }, { NULL, 0, 0 }
};

static int pad_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const ref_param *amount = ref_param_find(node, "pad_amount");
    const ref_param *constant = ref_param_find(node, "pad_constant_value");
    const double scheme = ref_param_value(node, "scheme", 0);
    uint32_t dims[REF_RANK];
    if (scheme >= PAD_SCHEMES)
        return ref_refuse(why, "parameter \"scheme\" is %.17g, expected 0 to %d", scheme,
                          PAD_SCHEMES - 1);
    if (!expect_table(amount, x->rank, 2, why) || !check_requantized(node, why))
        return 0;
    if (constant != NULL) {
        const int real = (ref_type_bit(x->dtype) & REF_T_REAL) != 0;
        const uint32_t expected = real ? REF_F32 : x->dtype;
        if (constant->dtype != expected)
            return ref_refuse(why, "parameter \"pad_constant_value\" is %s, expected %s as input 0"
                              " \"%s\" is %s", ref_type_name(constant->dtype),
                              ref_type_name(expected), x->name, ref_type_name(x->dtype));
    }
    for (uint32_t i = 0; i < x->rank; ++i) {
        const int64_t before = ref_param_at(amount, 2 * i), after = ref_param_at(amount, 2 * i + 1);
        const int64_t most = scheme == PAD_SYMMETRIC ? (int64_t)x->dims[i]
                           : scheme == PAD_REFLECT ? (int64_t)x->dims[i] - 1 : UINT32_MAX;
        if (before > most || after > most)
            return ref_refuse(why, "parameter \"pad_amount\" has %lld and %lld for axis %u, which"
                              " mirrors at most %lld", (long long)before, (long long)after,
                              (unsigned)i, (long long)most);
        if (before + x->dims[i] + after > UINT32_MAX)
            return ref_refuse(why, "parameter \"pad_amount\" makes axis %u longer than a dimension"
                              " holds", (unsigned)i);
        dims[i] = (uint32_t)(before + x->dims[i] + after);
    }
    return ref_expect_shape(node->out[0], "output 0", x->rank, dims, why);
}

/* Return the index of the input for index i of a padded axis, -1: the constant. */
static int64_t pad_source(uint32_t scheme, int64_t i, int64_t before, int64_t dim)
{
    i -= before;
    if (i >= 0 && i < dim)
        return i;
    switch (scheme) {
    case PAD_SYMMETRIC: return i < 0 ? -1 - i : 2 * dim - 1 - i;
    case PAD_REFLECT:   return i < 0 ? -i : 2 * dim - 2 - i;
    case PAD_EDGE:      return i < 0 ? 0 : dim - 1;
    default:            return -1;
    }
}

static int pad_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    const ref_param *amount = ref_param_find(node, "pad_amount");
    const uint32_t scheme = (uint32_t)ref_param_value(node, "scheme", 0), last = x->rank - 1;
    const int64_t before = ref_param_at(amount, 2 * last), width = x->dims[last];
    uint64_t index[REF_RANK] = { 0 }, to = 0;
    const float value = (float)ref_param_value(node, "pad_constant_value", 0);
    int64_t steps[REF_RANK];
    /* Write the constant as one element of the output; 32-bit integers are not converted to
       float. */
    union { uint64_t u64; float f32; int32_t i32; uint32_t u32; uint16_t u16; uint8_t u8; } code;
    ref_tensor constant = *y;
    (void)why;
    constant.data = &code;
    if (x->dtype == REF_I32)
        code.i32 = (int32_t)ref_param_value(node, "pad_constant_value", 0);
    else if (x->dtype == REF_U32)
        code.u32 = (uint32_t)ref_param_value(node, "pad_constant_value", 0);
    else
        ref_store(&constant, 0, 1, &value);
    steps_of(x, steps);
    while (to < y->count) {
        int64_t row = 0;
        for (uint32_t i = 0; i < last && row >= 0; ++i) {
            const int64_t from =
                pad_source(scheme, (int64_t)index[i], ref_param_at(amount, 2 * i), x->dims[i]);
            row = from < 0 ? -1 : row + from * steps[i];
        }
        for (int64_t i = 0; i < y->dims[last]; ++i, ++to) {
            const int64_t from = row < 0 ? -1 : pad_source(scheme, i, before, width);
            if (row >= 0 && i == before) {
                ref_move(y, to, x, (uint64_t)row, (uint64_t)width, scratch);
                i += width - 1;
                to += (uint64_t)width - 1;
            } else if (from < 0) {
                ref_move(y, to, &constant, 0, 1, scratch);
            } else {
                ref_move(y, to, x, (uint64_t)(row + from), 1, scratch);
            }
        }
        for (uint32_t i = last; i-- > 0;) {
            if (++index[i] < y->dims[i])
                break;
            index[i] = 0;
        }
    }
    return 1;
}

/* ---- DepthToSpace, SpaceToDepth, ChannelShuffle ---------------------------------------------- */

static const ref_param_spec block_params[] = {
    { "block_size", REF_U32, REF_REQUIRED | REF_TENSOR }, { "mode", REF_U32, 0 }, { NULL, 0, 0 }
};

/* Check the shapes: the tensor with more channels is deep, the other wide. *bh and *bw get the
   block. */
static int check_blocks(const ref_node *node, const ref_tensor *deep, const ref_tensor *wide,
                        uint32_t *bh, uint32_t *bw, ref_why *why)
{
    const ref_param *size = ref_param_find(node, "block_size");
    const double mode = ref_param_value(node, "mode", 0);
    char a[REF_SHAPE_TEXT], b[REF_SHAPE_TEXT];
    if (!expect_table(size, 2, 0, why))
        return 0;
    *bh = (uint32_t)ref_param_at(size, 0);
    *bw = (uint32_t)ref_param_at(size, 1);
    if (mode > 1)
        return ref_refuse(why, "parameter \"mode\" is %.17g, expected 0 (DCR) or 1 (CRD)", mode);
    if (*bh == 0 || *bw == 0)
        return ref_refuse(why, "parameter \"block_size\" is [%u, %u], expected numbers above 0",
                          (unsigned)*bh, (unsigned)*bw);
    if (deep->rank != 4 || wide->rank != 4 || deep->dims[0] != wide->dims[0] ||
        (uint64_t)deep->dims[1] * *bh != wide->dims[1] ||
        (uint64_t)deep->dims[2] * *bw != wide->dims[2] || deep->count != wide->count)
        return ref_refuse(why, "\"%s\" %s and \"%s\" %s do not belong together: expected [N, H, W,"
                          " C * %u * %u] and [N, H * %u, W * %u, C]", deep->name,
                          ref_shape_text(deep, a), wide->name, ref_shape_text(wide, b),
                          (unsigned)*bh, (unsigned)*bw, (unsigned)*bh, (unsigned)*bw);
    return check_plain_copy(node, why);
}

/* Compute steps over the channels of the deep tensor: DCR has [bh][bw][C], CRD has [C][bh][bw]. */
static void block_steps(const ref_node *node, uint32_t channels, uint32_t bh, uint32_t bw,
                        int64_t *step_h, int64_t *step_w, int64_t *step_c)
{
    const int crd = ref_param_value(node, "mode", 0) > 0;
    *step_w = crd ? 1 : (int64_t)channels;
    *step_h = *step_w * bw;
    *step_c = crd ? (int64_t)bh * bw : 1;
}

static int to_space_check(const ref_node *node, ref_why *why)
{
    uint32_t bh, bw;
    return check_blocks(node, node->in[0], node->out[0], &bh, &bw, why);
}

static int to_space_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    const uint32_t bh = y->dims[1] / x->dims[1], bw = y->dims[2] / x->dims[2];
    int64_t steps[REF_RANK], h, w, c;
    walk path = { 0 };
    (void)scratch;
    (void)why;
    steps_of(x, steps);
    block_steps(node, y->dims[3], bh, bw, &h, &w, &c);
    walk_add(&path, x->dims[0], steps[0]);
    walk_add(&path, x->dims[1], steps[1]);
    walk_add(&path, bh, h);
    walk_add(&path, x->dims[2], steps[2]);
    walk_add(&path, bw, w);
    walk_add(&path, y->dims[3], c);
    walk_copy(&path, y, x);
    return 1;
}

static int to_depth_check(const ref_node *node, ref_why *why)
{
    uint32_t bh, bw;
    return check_blocks(node, node->out[0], node->in[0], &bh, &bw, why);
}

static int to_depth_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    const uint32_t bh = x->dims[1] / y->dims[1], bw = x->dims[2] / y->dims[2];
    const int crd = ref_param_value(node, "mode", 0) > 0;
    int64_t steps[REF_RANK];
    walk path = { 0 };
    (void)scratch;
    (void)why;
    steps_of(x, steps);
    walk_add(&path, x->dims[0], steps[0]);
    walk_add(&path, y->dims[1], steps[1] * bh);
    walk_add(&path, y->dims[2], steps[2] * bw);
    if (crd)
        walk_add(&path, x->dims[3], steps[3]);
    walk_add(&path, bh, steps[1]);
    walk_add(&path, bw, steps[2]);
    if (!crd)
        walk_add(&path, x->dims[3], steps[3]);
    walk_copy(&path, y, x);
    return 1;
}

static const ref_param_spec shuffle_params[] = {
    { "num_groups", REF_U32, REF_REQUIRED }, { "axis", REF_U32, 0 }, { NULL, 0, 0 }
};

static int shuffle_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const double axis = ref_param_value(node, "axis", x->rank - 1);
    const uint32_t groups = (uint32_t)ref_param_value(node, "num_groups", 0);
    if (!ref_expect_axis(axis, x->rank, why))
        return 0;
    if (groups == 0 || x->dims[(uint32_t)axis] % groups != 0)
        return ref_refuse(why,
                          "parameter \"num_groups\" is %u, expected a divisor of the %u of axis %u",
                          (unsigned)groups, (unsigned)x->dims[(uint32_t)axis], (unsigned)axis);
    return ref_expect_shape(node->out[0], "output 0", x->rank, x->dims, why) &&
           check_plain_copy(node, why);
}

/* [groups][size] becomes [size][groups]. */
static int shuffle_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const uint32_t axis = (uint32_t)ref_param_value(node, "axis", x->rank - 1);
    const uint32_t groups = (uint32_t)ref_param_value(node, "num_groups", 0);
    const uint32_t size = x->dims[axis] / groups;
    int64_t steps[REF_RANK];
    walk path = { 0 };
    (void)scratch;
    (void)why;
    steps_of(x, steps);
    for (uint32_t i = 0; i < x->rank; ++i) {
        if (i == axis) {
            walk_add(&path, size, steps[i]);
            walk_add(&path, groups, steps[i] * size);
        } else {
            walk_add(&path, x->dims[i], steps[i]);
        }
    }
    walk_copy(&path, node->out[0], x);
    return 1;
}

/* ---- table ----------------------------------------------------------------------------------- */

/* types is 0 where an operator accepts all types. */
const ref_op ref_ops_shape[] = {
    { "Reshape", 0, 1, 1, 1, 1, NULL, reshape_check, NULL, whole_run },
    { "ExpandDims", 0, 1, 1, 1, 1, expand_params, expand_check, NULL, whole_run },
    { "Squeeze", 0, 1, 1, 1, 1, squeeze_params, squeeze_check, NULL, whole_run },
    { "Transpose", 0, 1, 1, 1, 1, transpose_params, transpose_check, NULL, transpose_run },
    { "Concat", 0, 1, 255, 1, 1, axis_params, concat_check, ref_chunk_scratch, into_run },
    { "Split", 0, 1, 1, 1, 255, split_params, split_check, ref_chunk_scratch, out_of_run },
    { "Pack", 0, 1, 255, 1, 1, axis_params, pack_check, ref_chunk_scratch, into_run },
    { "UnPack", 0, 1, 1, 1, 255, axis_params, unpack_check, ref_chunk_scratch, out_of_run },
    { "StridedSlice", 0, 1, 1, 1, 1, slice_params, slice_check, ref_chunk_scratch, slice_run },
    { "Tile", 0, 1, 1, 1, 1, tile_params, tile_check, NULL, tile_run },
    { "Pad", 0, 1, 1, 1, 1, pad_params, pad_check, ref_chunk_scratch, pad_run },
    { "DepthToSpace", 0, 1, 1, 1, 1, block_params, to_space_check, NULL, to_space_run },
    { "SpaceToDepth", 0, 1, 1, 1, 1, block_params, to_depth_check, NULL, to_depth_run },
    { "ChannelShuffle", 0, 1, 1, 1, 1, shuffle_params, shuffle_check, NULL, shuffle_run },
    { NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
};
