/* ops_index.c - elements by their index; data of any type, indices INT_32 or UINT_32

   Indices do not wrap: an index below 0 or past the end is refused, by check() when the indices are
   static, otherwise by run(). ScatterNd and ScatterElements compute reductions in float32 and round
   once */
#include "ref_op.h"

#include <string.h>

/* ---- indices --------------------------------------------------------------------------------- */

/* Check all indices. Each row of k indices belongs to dims[0] ... dims[k - 1]. */
static int indices_fit(const ref_tensor *indices, const char *what, uint32_t k,
                       const uint32_t *dims, ref_why *why)
{
    for (uint64_t i = 0; i < indices->count; ++i) {
        const int64_t index = ref_whole_at(indices, i);
        if (index < 0 || index >= dims[i % k])
            return ref_refuse(why, "%s \"%s\" has %lld at element %llu, expected 0 to %u", what,
                              indices->name, (long long)index, (unsigned long long)i,
                              (unsigned)(dims[i % k] - 1));
    }
    return 1;
}

/* Check the indices in check() when they are static and their data is there. */
static int check_fixed_indices(const ref_tensor *indices, const char *what, uint32_t k,
                               const uint32_t *dims, ref_why *why)
{
    return !indices->fixed || indices->unseen || indices_fit(indices, what, k, dims, why);
}

static int check_copied(const ref_tensor *data, const ref_tensor *out, ref_why *why)
{
    return ref_expect_per_tensor(data, "input 0", why) &&
           ref_expect_same_encoding(out, "output 0", data, "input 0", why);
}

static void copy(const ref_tensor *to, uint64_t to_first, const ref_tensor *from,
                 uint64_t from_first, uint64_t count)
{
    const size_t bytes = ref_type_bytes(to->dtype);
    memcpy((char *)to->data + to_first * bytes, (const char *)from->data + from_first * bytes,
           count * bytes);
}

/* ---- Gather ---------------------------------------------------------------------------------- */

static const ref_param_spec gather_params[] = { { "axis", REF_I32, REF_REQUIRED }, { NULL, 0, 0 } };

static int gather_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *data = node->in[0], *indices = node->in[1];
    const double value = ref_param_value(node, "axis", 0);
    uint32_t dims[2 * REF_RANK], axis;
    if (!ref_expect_axis(value, data->rank, why) || !ref_expect_index_type(indices, "input 1", why))
        return 0;
    axis = (uint32_t)value;
    if (data->rank - 1 + indices->rank > REF_RANK)
        return ref_refuse(why, "the output would have rank %u, expected at most %d",
                          (unsigned)(data->rank - 1 + indices->rank), (int)REF_RANK);
    memcpy(dims, data->dims, axis * sizeof dims[0]);
    memcpy(dims + axis, indices->dims, indices->rank * sizeof dims[0]);
    memcpy(dims + axis + indices->rank, data->dims + axis + 1,
           (data->rank - axis - 1) * sizeof dims[0]);
    return ref_expect_shape(node->out[0], "output 0", data->rank - 1 + indices->rank, dims, why) &&
           check_copied(data, node->out[0], why) &&
           check_fixed_indices(indices, "input 1", 1, &data->dims[axis], why);
}

static int gather_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *data = node->in[0], *indices = node->in[1], *out = node->out[0];
    const uint32_t axis = (uint32_t)ref_param_value(node, "axis", 0);
    const uint64_t row = ref_row_of(data, axis), piece = row / data->dims[axis],
                   rows = data->count / row;
    uint64_t to = 0;
    (void)scratch;
    if (!indices_fit(indices, "input 1", 1, &data->dims[axis], why))
        return 0;
    for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t i = 0; i < indices->count; ++i, to += piece)
            copy(out, to, data, r * row + (uint64_t)ref_whole_at(indices, i) * piece, piece);
    return 1;
}

/* ---- GatherElements -------------------------------------------------------------------------- */

static const ref_param_spec elements_params[] = { { "axis", REF_U32, REF_REQUIRED },
                                                  { NULL, 0, 0 } };

/* indices may be shorter than data along the other axes; elements after its end are not used. */
static int check_elements(const ref_tensor *data, const ref_tensor *indices, double axis,
                          ref_why *why)
{
    char a[REF_SHAPE_TEXT], b[REF_SHAPE_TEXT];
    int fits = indices->rank == data->rank;
    if (!ref_expect_axis(axis, data->rank, why) || !ref_expect_index_type(indices, "input 1", why))
        return 0;
    for (uint32_t i = 0; fits && i < data->rank; ++i)
        fits = i == (uint32_t)axis || indices->dims[i] <= data->dims[i];
    if (!fits)
        return ref_refuse(why, "input 1 \"%s\" is %s, expected the rank of input 0 \"%s\" %s and,"
                          " except for axis %u, no larger dimension", indices->name,
                          ref_shape_text(indices, a), data->name, ref_shape_text(data, b),
                          (unsigned)axis);
    return check_fixed_indices(indices, "input 1", 1, &data->dims[(uint32_t)axis], why);
}

/* Return the place in data that element i of indices refers to. */
static uint64_t element_place(const ref_tensor *data, const ref_tensor *indices, uint32_t axis,
                              uint64_t i)
{
    uint64_t place = 0, step = 1, rest = i;
    for (uint32_t d = data->rank; d-- > 0;) {
        const uint64_t along =
            d == axis ? (uint64_t)ref_whole_at(indices, i) : rest % indices->dims[d];
        place += along * step;
        step *= data->dims[d];
        rest /= indices->dims[d];
    }
    return place;
}

static int elements_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *data = node->in[0], *indices = node->in[1], *out = node->out[0];
    return check_elements(data, indices, ref_param_value(node, "axis", 0), why) &&
           ref_expect_shape(out, "output 0", indices->rank, indices->dims, why) &&
           check_copied(data, out, why);
}

static int elements_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *data = node->in[0], *indices = node->in[1];
    const uint32_t axis = (uint32_t)ref_param_value(node, "axis", 0);
    (void)scratch;
    if (!indices_fit(indices, "input 1", 1, &data->dims[axis], why))
        return 0;
    for (uint64_t i = 0; i < indices->count; ++i)
        copy(node->out[0], i, data, element_place(data, indices, axis, i), 1);
    return 1;
}

/* ---- GatherNd -------------------------------------------------------------------------------- */

static const ref_param_spec nd_params[] = { { "batch_dims", REF_U32, 0 }, { NULL, 0, 0 } };

/* Return the first element of the slice of data that row `row` of indices selects. The batch
   dimensions come first and are not indexed. */
static uint64_t slice_place(const ref_tensor *data, const ref_tensor *indices, uint32_t batch,
                            uint64_t row)
{
    const uint32_t k = indices->dims[indices->rank - 1];
    uint64_t rows = 1, place;
    for (uint32_t i = batch; i + 1 < indices->rank; ++i)
        rows *= indices->dims[i];
    place = row / rows;
    for (uint32_t i = 0; i < k; ++i)
        place = place * data->dims[batch + i] + (uint64_t)ref_whole_at(indices, row * k + i);
    return place * ref_row_of(data, batch + k);
}

/* Compute the shape of what indices reads from data, or writes to it. */
static int check_slices(const ref_tensor *data, const ref_tensor *indices, uint32_t batch,
                        const ref_tensor *slices, const char *what, ref_why *why)
{
    const uint32_t k = indices->dims[indices->rank - 1];
    uint32_t dims[2 * REF_RANK], rank = indices->rank - 1;
    if (!ref_expect_index_type(indices, "input 1", why))
        return 0;
    if (batch >= indices->rank || batch > data->rank || k > data->rank - batch)
        return ref_refuse(why, "input 1 \"%s\" has %u indices per row after %u batch dimensions,"
                          " input 0 \"%s\" has rank %u", indices->name, (unsigned)k,
                          (unsigned)batch, data->name, (unsigned)data->rank);
    for (uint32_t i = 0; i < batch; ++i)
        if (indices->dims[i] != data->dims[i])
            return ref_refuse(why,
                              "batch dimension %u is %u in input 0 \"%s\" and %u in input 1 \"%s\"",
                              (unsigned)i, (unsigned)data->dims[i], data->name,
                              (unsigned)indices->dims[i], indices->name);
    memcpy(dims, indices->dims, rank * sizeof dims[0]);
    for (uint32_t i = batch + k; i < data->rank; ++i)
        dims[rank++] = data->dims[i];
    if (rank == 0)
        dims[rank++] = 1;
    return ref_expect_shape(slices, what, rank, dims, why) &&
           check_fixed_indices(indices, "input 1", k, data->dims + batch, why);
}

static int nd_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *data = node->in[0], *out = node->out[0];
    return check_slices(data, node->in[1], (uint32_t)ref_param_value(node, "batch_dims", 0), out,
                        "output 0", why) &&
           check_copied(data, out, why);
}

static int nd_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *data = node->in[0], *indices = node->in[1], *out = node->out[0];
    const uint32_t batch = (uint32_t)ref_param_value(node, "batch_dims", 0);
    const uint32_t k = indices->dims[indices->rank - 1];
    const uint64_t piece = ref_row_of(data, batch + k), rows = indices->count / k;
    (void)scratch;
    if (!indices_fit(indices, "input 1", k, data->dims + batch, why))
        return 0;
    for (uint64_t row = 0; row < rows; ++row)
        copy(out, row * piece, data, slice_place(data, indices, batch, row), piece);
    return 1;
}

/* ---- ScatterNd, ScatterElements -------------------------------------------------------------- */

enum { SET, SUM, PRODUCT, LARGEST };

static const ref_param_spec scatter_nd_params[] = { { "reduction", REF_U32, 0 }, { NULL, 0, 0 } };
static const ref_param_spec scatter_elements_params[] = {
    { "axis", REF_U32, 0 }, { "reduction", REF_U32, 0 }, { NULL, 0, 0 }
};

static uint32_t reduction_of(const ref_node *node)
{
    return (uint32_t)ref_param_value(node, "reduction", SET);
}

static int check_scatter(const ref_node *node, uint32_t most, ref_why *why)
{
    const ref_tensor *data = node->in[0], *updates = node->in[2], *out = node->out[0];
    const double reduction = ref_param_value(node, "reduction", SET);
    if (reduction > most)
        return ref_refuse(why, "parameter \"reduction\" is %.17g, expected 0 to %u", reduction,
                          (unsigned)most);
    if (reduction > SET && (ref_type_bit(data->dtype) & (REF_T_REAL | REF_T_I32)) == 0)
        return ref_refuse(why, "input 0 \"%s\" is %s, which cannot be reduced: use \"reduction\" 0",
                          data->name, ref_type_name(data->dtype));
    return ref_expect_per_tensor(data, "input 0", why) &&
           ref_expect_per_tensor(out, "output 0", why) &&
           ref_expect_same_encoding(updates, "input 2", data, "input 0", why) &&
           ref_expect_type(out, "output 0", data->dtype, why) &&
           ref_expect_shape(out, "output 0", data->rank, data->dims, why);
}

/* True if the reduction uses float32 for the whole tensor, as real numbers need; others work in the
   output. */
static int is_real(const ref_node *node)
{
    return reduction_of(node) != SET && node->in[0]->dtype != REF_I32;
}

static size_t scatter_scratch(const ref_node *node)
{
    const size_t reals = is_real(node) ? (size_t)node->in[0]->count : 0;
    return (REF_CHUNK + reals) * sizeof(float);
}

static float reduce_reals(uint32_t reduction, float a, float b)
{
    return reduction == SUM ? a + b : reduction == PRODUCT ? a * b : b > a ? b : a;
}

static int32_t reduce_integers(uint32_t reduction, int32_t a, int32_t b)
{
    return reduction == SUM ? (int32_t)((uint32_t)a + (uint32_t)b)
         : reduction == PRODUCT ? (int32_t)((uint32_t)a * (uint32_t)b) : b > a ? b : a;
}

static void scatter_begin(const ref_node *node, float *chunk, float *reals)
{
    const ref_tensor *data = node->in[0];
    if (is_real(node))
        ref_load(data, 0, data->count, reals);
    else
        ref_move(node->out[0], 0, data, 0, data->count, chunk);
}

/* Write elements [from, from + count) of the updates to the places from `to` on. */
static void scatter_piece(const ref_node *node, uint64_t to, uint64_t from, uint64_t count,
                          float *chunk, float *reals)
{
    const ref_tensor *updates = node->in[2], *out = node->out[0];
    const uint32_t reduction = reduction_of(node);
    if (reduction == SET) {
        ref_move(out, to, updates, from, count, chunk);
    } else if (!is_real(node)) {
        int32_t *values = (int32_t *)out->data + to;
        for (uint64_t i = 0; i < count; ++i)
            values[i] =
                reduce_integers(reduction, values[i], ((const int32_t *)updates->data)[from + i]);
    } else {
        for (uint64_t done = 0, n; done < count; done += n) {
            n = count - done < REF_CHUNK ? count - done : REF_CHUNK;
            ref_load(updates, from + done, n, chunk);
            for (uint64_t i = 0; i < n; ++i)
                reals[to + done + i] = reduce_reals(reduction, reals[to + done + i], chunk[i]);
        }
    }
}

static void scatter_end(const ref_node *node, const float *reals)
{
    if (is_real(node))
        ref_store(node->out[0], 0, node->out[0]->count, reals);
}

static int scatter_nd_check(const ref_node *node, ref_why *why)
{
    return check_slices(node->in[0], node->in[1], 0, node->in[2], "input 2", why) &&
           check_scatter(node, PRODUCT, why);
}

static int scatter_nd_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *data = node->in[0], *indices = node->in[1];
    const uint32_t k = indices->dims[indices->rank - 1];
    const uint64_t piece = ref_row_of(data, k), rows = indices->count / k;
    float *chunk = scratch, *reals = chunk + REF_CHUNK;
    if (!indices_fit(indices, "input 1", k, data->dims, why))
        return 0;
    scatter_begin(node, chunk, reals);
    for (uint64_t row = 0; row < rows; ++row)
        scatter_piece(node, slice_place(data, indices, 0, row), row * piece, piece, chunk, reals);
    scatter_end(node, reals);
    return 1;
}

static int scatter_elements_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *indices = node->in[1];
    return check_elements(node->in[0], indices, ref_param_value(node, "axis", 0), why) &&
           ref_expect_shape(node->in[2], "input 2", indices->rank, indices->dims, why) &&
           check_scatter(node, LARGEST, why);
}

static int scatter_elements_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *data = node->in[0], *indices = node->in[1];
    const uint32_t axis = (uint32_t)ref_param_value(node, "axis", 0);
    float *chunk = scratch, *reals = chunk + REF_CHUNK;
    if (!indices_fit(indices, "input 1", 1, &data->dims[axis], why))
        return 0;
    scatter_begin(node, chunk, reals);
    for (uint64_t i = 0; i < indices->count; ++i)
        scatter_piece(node, element_place(data, indices, axis, i), i, 1, chunk, reals);
    scatter_end(node, reals);
    return 1;
}

/* ---- OneHot ---------------------------------------------------------------------------------- */

static const ref_param_spec one_hot_params[] = {
    { "depth", REF_U32, REF_REQUIRED }, { "axis", REF_U32, REF_REQUIRED }, { "on_value", 0, 0 },
    { "off_value", 0, 0 }, { NULL, 0, 0 }
};

static int one_hot_check(const ref_node *node, ref_why *why)
{
    static const char *const values[] = { "on_value", "off_value" };
    const ref_tensor *indices = node->in[0], *out = node->out[0];
    const uint32_t depth = (uint32_t)ref_param_value(node, "depth", 0);
    const double value = ref_param_value(node, "axis", 0);
    const uint32_t type = ref_type_bit(out->dtype);
    uint32_t dims[REF_RANK + 1], axis;
    if (depth == 0)
        return ref_refuse(why, "parameter \"depth\" is 0, expected the number of classes");
    if (!ref_expect_axis(value, indices->rank + 1, why))
        return 0;
    axis = (uint32_t)value;
    if ((type & (REF_T_REAL | REF_T_I32 | REF_T_U32 | REF_T_BOOL)) == 0)
        return ref_refuse(why, "output 0 \"%s\" is %s, which OneHot does not make", out->name,
                          ref_type_name(out->dtype));
    for (size_t i = 0; i < 2; ++i) {
        const ref_param *param = ref_param_find(node, values[i]);
        const uint32_t expected = (type & REF_T_REAL) != 0 ? REF_F32 : out->dtype;
        if (param != NULL && param->dtype != expected)
            return ref_refuse(why, "parameter \"%s\" is %s, expected %s because output 0"
                              " \"%s\" is %s",
                              values[i], ref_type_name(param->dtype), ref_type_name(expected),
                              out->name, ref_type_name(out->dtype));
    }
    memcpy(dims, indices->dims, axis * sizeof dims[0]);
    dims[axis] = depth;
    memcpy(dims + axis + 1, indices->dims + axis, (indices->rank - axis) * sizeof dims[0]);
    return ref_expect_shape(out, "output 0", indices->rank + 1, dims, why) &&
           ref_expect_per_tensor(out, "output 0", why);
}

static void put_value(const ref_tensor *t, uint64_t at, double value)
{
    const float real = (float)value;
    if (t->dtype == REF_I32)
        ((int32_t *)t->data)[at] = (int32_t)value;
    else if (t->dtype == REF_U32)
        ((uint32_t *)t->data)[at] = (uint32_t)value;
    else
        ref_store(t, at, 1, &real);
}

/* An index that is not one of the classes is valid: its row has the off value everywhere. */
static int one_hot_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *indices = node->in[0], *out = node->out[0];
    const double on = ref_param_value(node, "on_value", 1),
                 off = ref_param_value(node, "off_value", 0);
    const uint32_t axis = (uint32_t)ref_param_value(node, "axis", 0), depth = out->dims[axis];
    const uint64_t inner = ref_row_of(out, axis) / depth;
    (void)scratch;
    (void)why;
    for (uint64_t i = 0; i < out->count; ++i) {
        const uint64_t class = i / inner % depth, at = i / inner / depth * inner + i % inner;
        put_value(out, i, ref_whole_at(indices, at) == (int64_t)class ? on : off);
    }
    return 1;
}

/* ---- NonZero --------------------------------------------------------------------------------- */

static int non_zero_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *out = node->out[0];
    uint32_t dims[2];
    if (x->count > UINT32_MAX)
        return ref_refuse(why,
                          "input 0 \"%s\" has %llu elements, a dimension of output 0 holds %lu",
                          x->name, (unsigned long long)x->count, (unsigned long)UINT32_MAX);
    dims[0] = (uint32_t)x->count;
    dims[1] = x->rank;
    return ref_expect_index_type(out, "output 0", why) &&
           ref_expect_shape(out, "output 0", 2, dims, why);
}

static size_t non_zero_scratch(const ref_node *node)
{
    (void)node;
    return REF_CHUNK * sizeof(float);
}

/* An INT_32 or UINT_32 that is not 0 is not 0 as a float either. */
static int non_zero_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    uint32_t *out = node->out[0]->data;
    float *chunk = scratch;
    uint64_t found = 0;
    (void)why;
    for (uint64_t done = 0, n; done < x->count; done += n) {
        n = x->count - done < REF_CHUNK ? x->count - done : REF_CHUNK;
        ref_load(x, done, n, chunk);
        for (uint64_t i = 0; i < n; ++i) {
            uint64_t rest = done + i;
            if (chunk[i] == 0.0f)
                continue;
            for (uint32_t d = x->rank; d-- > 0; rest /= x->dims[d])
                out[found * x->rank + d] = (uint32_t)(rest % x->dims[d]);
            ++found;
        }
    }
    memset(out + found * x->rank, 0xFF, (size_t)((x->count - found) * x->rank) * sizeof *out);
    return 1;
}

/* ---- table ----------------------------------------------------------------------------------- */

const ref_op ref_ops_index[] = {
    { "Gather", 0, 2, 2, 1, 1, gather_params, gather_check, NULL, gather_run },
    { "GatherElements", 0, 2, 2, 1, 1, elements_params, elements_check, NULL, elements_run },
    { "GatherNd", 0, 2, 2, 1, 1, nd_params, nd_check, NULL, nd_run },
    { "ScatterNd", 0, 3, 3, 1, 1, scatter_nd_params, scatter_nd_check, scatter_scratch,
      scatter_nd_run },
    { "ScatterElements", 0, 3, 3, 1, 1, scatter_elements_params, scatter_elements_check,
      scatter_scratch, scatter_elements_run },
    { "OneHot", REF_T_I32 | REF_T_U32, 1, 1, 1, 1, one_hot_params, one_hot_check, NULL,
      one_hot_run },
    { "NonZero", REF_T_REAL | REF_T_I32 | REF_T_U32 | REF_T_BOOL, 1, 1, 1, 1, NULL, non_zero_check,
      non_zero_scratch, non_zero_run },
    { NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
};
