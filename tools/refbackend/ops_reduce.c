/* ops_reduce.c - ReduceMean, ReduceSum, ReduceMax, ReduceMin, ReduceProd, ReduceSumSquare, Argmax,
   Argmin, TopK, CumulativeSum

   Real numbers are summed in double. int32 is computed in int32: sums and products wrap. */
#include "ref_op.h"

#include <math.h>
#include <string.h>

static int is_int32(const ref_tensor *t)
{
    return t->dtype == REF_I32;
}

/* Read elements [first, first + count) exactly. */
static void load_exact(const ref_tensor *x, uint64_t first, uint64_t count, double *values)
{
    float some[64];
    if (is_int32(x)) {
        for (uint64_t i = 0; i < count; ++i)
            values[i] = (double)((const int32_t *)x->data)[first + i];
        return;
    }
    for (uint64_t i = 0; i < count; i += 64) {
        const uint64_t now = count - i < 64 ? count - i : 64;
        ref_load(x, first + i, now, some);
        for (uint64_t j = 0; j < now; ++j)
            values[i + j] = (double)some[j];
    }
}

/* Return the int32 with the same bits as the result of an operation that wraps. */
static int32_t wrapped(uint32_t bits)
{
    int32_t value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Compute the shape of x without the axes in bits, or with 1 in their place. */
static int check_reduced(const ref_node *node, uint32_t bits, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const int keep = ref_param_value(node, "keep_dims", 0.0) != 0.0;
    uint32_t dims[REF_RANK], rank = 0;
    for (uint32_t i = 0; i < x->rank; ++i) {
        if ((bits >> i & 1u) == 0)
            dims[rank++] = x->dims[i];
        else if (keep)
            dims[rank++] = 1;
    }
    if (rank == 0)
        return ref_refuse(why, "nothing is left of input 0 \"%s\", and a tensor of rank 0 makes"
                          " libraries crash: pass keep_dims = 1", x->name);
    return ref_expect_shape(node->out[0], "output", rank, dims, why);
}

/* ---- Reduce... ------------------------------------------------------------------------------- */

typedef enum reduce_kind { REDUCE_MEAN, REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD,
                           REDUCE_SUM_SQUARE } reduce_kind;

static reduce_kind kind_of(const ref_node *node)
{
    return (reduce_kind)(node->op - ref_ops_reduce);
}

static int reduce_check(const ref_node *node, ref_why *why)
{
    uint32_t bits;
    return ref_axes_read(node, &bits, why) && check_reduced(node, bits, why) &&
           ref_expect_type(node->out[0], "output", node->in[0]->dtype, why);
}

/* Compute one sum per element of the output. */
static size_t reduce_scratch(const ref_node *node)
{
    return node->out[0]->count * sizeof(double);
}

static void reduce_real(reduce_kind kind, double value, double *sum)
{
    switch (kind) {
    case REDUCE_MEAN:
    case REDUCE_SUM:        *sum += value; break;
    case REDUCE_MAX:        *sum = value > *sum || isnan(value) ? value : *sum; break;
    case REDUCE_MIN:        *sum = value < *sum || isnan(value) ? value : *sum; break;
    case REDUCE_PROD:       *sum *= value; break;
    case REDUCE_SUM_SQUARE: *sum += value * value; break;
    }
}

static void reduce_int(reduce_kind kind, int32_t value, int32_t *sum)
{
    const uint32_t a = (uint32_t)*sum, b = (uint32_t)value;
    switch (kind) {
    case REDUCE_MEAN:
    case REDUCE_SUM:        *sum = wrapped(a + b); break;
    case REDUCE_MAX:        *sum = value > *sum ? value : *sum; break;
    case REDUCE_MIN:        *sum = value < *sum ? value : *sum; break;
    case REDUCE_PROD:       *sum = wrapped(a * b); break;
    case REDUCE_SUM_SQUARE: *sum = wrapped(a + b * b); break;
    }
}

/* Read the input once in its order and add each element to the sum of its output. */
static int reduce_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *out = node->out[0];
    const reduce_kind kind = kind_of(node);
    uint64_t steps[REF_RANK], at[REF_RANK] = { 0 }, to = 0, step = 1;
    double *sums = (double *)scratch;
    int32_t *ints = is_int32(x) ? (int32_t *)out->data : NULL;
    uint32_t bits;

    if (!ref_axes_read(node, &bits, why))
        return 0;
    for (uint32_t i = x->rank; i-- > 0;) {
        steps[i] = (bits >> i & 1u) != 0 ? 0 : step;
        step *= (bits >> i & 1u) != 0 ? 1 : x->dims[i];
    }
    for (uint64_t i = 0; i < out->count; ++i) {
        sums[i] = kind == REDUCE_MAX ? -HUGE_VAL : kind == REDUCE_MIN ? HUGE_VAL
            : kind == REDUCE_PROD ? 1.0 : 0.0;
        if (ints != NULL)
            ints[i] = kind == REDUCE_MAX ? INT32_MIN : kind == REDUCE_MIN ? INT32_MAX
                : kind == REDUCE_PROD ? 1 : 0;
    }
    for (uint64_t first = 0; first < x->count;) {
        float row[64];
        const uint64_t width = x->dims[x->rank - 1];
        for (uint64_t begin = 0; begin < width; begin += 64) {
            const uint64_t count = width - begin < 64 ? width - begin : 64;
            if (ints == NULL)
                ref_load(x, first + begin, count, row);
            for (uint64_t i = 0; i < count; ++i) {
                const uint64_t o = to + (begin + i) * steps[x->rank - 1];
                if (ints != NULL)
                    reduce_int(kind, ((const int32_t *)x->data)[first + begin + i], &ints[o]);
                else
                    reduce_real(kind, (double)row[i], &sums[o]);
            }
        }
        first += width;
        for (uint32_t i = x->rank - 1; i-- > 0;) {
            to += steps[i];
            if (++at[i] < x->dims[i])
                break;
            to -= steps[i] * x->dims[i];
            at[i] = 0;
        }
    }
    for (uint64_t i = 0; ints == NULL && i < out->count; ++i) {
        const float value = (float)(kind == REDUCE_MEAN
                                    ? sums[i] * (double)out->count / (double)x->count : sums[i]);
        ref_store(out, i, 1, &value);
    }
    return 1;
}

/* ---- Argmax, Argmin -------------------------------------------------------------------------- */

static int arg_check(const ref_node *node, ref_why *why)
{
    uint32_t axis;
    return ref_axis_read(node, &axis, why) && check_reduced(node, 1u << axis, why) &&
           ref_expect_index_type(node->out[0], "output", why);
}

/* Return the first of equal elements. NaN is chosen only when all elements are NaN. */
static int arg_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const int most = strcmp(node->op->type, "Argmax") == 0;
    const uint32_t axis = (uint32_t)ref_param_value(node, "axis", 0.0);
    const uint64_t inner = ref_row_of(x, axis + 1), count = x->dims[axis];
    uint32_t *indices = (uint32_t *)node->out[0]->data;
    (void)scratch;
    (void)why;
    for (uint64_t o = 0; o < x->count / count; ++o) {
        const uint64_t first = o / inner * inner * count + o % inner;
        double best = 0.0;
        uint32_t at = 0;
        for (uint64_t i = 0; i < count; ++i) {
            double value;
            load_exact(x, first + i * inner, 1, &value);
            if (i == 0 || (most ? value > best : value < best) || (isnan(best) && !isnan(value))) {
                best = value;
                at = (uint32_t)i;
            }
        }
        indices[o] = at;
    }
    return 1;
}

/* ---- TopK ------------------------------------------------------------------------------------ */

static int topk_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *values = node->out[0];
    const double k = ref_param_value(node, "k", 1.0);
    uint32_t dims[REF_RANK];
    if (k < 1.0 || k > (double)x->dims[x->rank - 1])
        return ref_refuse(why, "k %.0f, expected 1 to %u, the last dimension of input 0 \"%s\"", k,
                          (unsigned)x->dims[x->rank - 1], x->name);
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = (uint32_t)k;
    if (!ref_expect_shape(values, "output 0", x->rank, dims, why) ||
        !ref_expect_shape(node->out[1], "output 1", x->rank, dims, why) ||
        !ref_expect_type(values, "output 0", x->dtype, why) ||
        !ref_expect_index_type(node->out[1], "output 1", why))
        return 0;
    if (!ref_same_encoding(x, values))
        return ref_refuse(why, "output 0 \"%s\" has a different encoding than input 0 \"%s\":"
                          " libraries copy the values, give both the same", values->name, x->name);
    return 1;
}

/* Return 1 when element a goes before element b: the larger first, the lower index of equal ones,
   NaN last. */
static int goes_before(const double *values, uint32_t a, uint32_t b)
{
    if (isnan(values[a]) != isnan(values[b]))
        return isnan(values[b]);
    return values[a] > values[b] || (!(values[a] < values[b]) && a < b);
}

/* Move the element at root down to its place; heap[0] is the last one in the order. */
static void heap_sink(const double *values, uint32_t *heap, uint64_t count, uint64_t root)
{
    for (;;) {
        uint64_t last = 2 * root + 1;
        uint32_t swap = heap[root];
        if (last + 1 < count && goes_before(values, heap[last], heap[last + 1]))
            ++last;
        if (last >= count || goes_before(values, heap[last], swap))
            return;
        heap[root] = heap[last];
        heap[last] = swap;
        root = last;
    }
}

/* Scratch: the values of a row. */
static size_t topk_scratch(const ref_node *node)
{
    return node->in[0]->dims[node->in[0]->rank - 1] * sizeof(double);
}

static int topk_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *out = node->out[0];
    const uint64_t width = x->dims[x->rank - 1], k = out->dims[out->rank - 1];
    const double sign = ref_param_value(node, "largest", 1.0) != 0.0 ? 1.0 : -1.0;
    const size_t bytes = ref_type_bytes(x->dtype);
    double *values = (double *)scratch;
    (void)why;
    for (uint64_t row = 0; row < x->count / width; ++row) {
        /* The best k so far are a heap in the output, which is then sorted there. */
        uint32_t *heap = (uint32_t *)node->out[1]->data + row * k;
        load_exact(x, row * width, width, values);
        for (uint64_t i = 0; i < width; ++i)
            values[i] *= sign;
        for (uint64_t i = 0; i < k; ++i)
            heap[i] = (uint32_t)i;
        for (uint64_t i = k; i-- > 0;)
            heap_sink(values, heap, k, i);
        for (uint64_t i = k; i < width; ++i) {
            if (goes_before(values, (uint32_t)i, heap[0])) {
                heap[0] = (uint32_t)i;
                heap_sink(values, heap, k, 0);
            }
        }
        for (uint64_t left = k; left-- > 1;) {
            const uint32_t last = heap[0];
            heap[0] = heap[left];
            heap[left] = last;
            heap_sink(values, heap, left, 0);
        }
        for (uint64_t i = 0; i < k; ++i)
            memcpy((char *)out->data + (row * k + i) * bytes,
                   (const char *)x->data + (row * width + heap[i]) * bytes, bytes);
    }
    return 1;
}

/* ---- CumulativeSum --------------------------------------------------------------------------- */

static int cumulative_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    uint32_t axis;
    return ref_axis_read(node, &axis, why) &&
           ref_expect_shape(node->out[0], "output", x->rank, x->dims, why) &&
           ref_expect_type(node->out[0], "output", x->dtype, why);
}

static int cumulative_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *out = node->out[0];
    const uint32_t axis = (uint32_t)ref_param_value(node, "axis", 0.0);
    const int exclusive = ref_param_value(node, "exclusive", 0.0) != 0.0;
    const int reverse = ref_param_value(node, "reverse", 0.0) != 0.0;
    const uint64_t inner = ref_row_of(x, axis + 1), count = x->dims[axis];
    (void)scratch;
    (void)why;
    for (uint64_t o = 0; o < x->count / count; ++o) {
        const uint64_t first = o / inner * inner * count + o % inner;
        double sum = 0.0;
        uint32_t bits = 0;
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t at = first + (reverse ? count - 1 - i : i) * inner;
            if (is_int32(x)) {
                const uint32_t value = (uint32_t)((const int32_t *)x->data)[at];
                ((int32_t *)out->data)[at] = wrapped(exclusive ? bits : bits + value);
                bits += value;
            } else {
                float value, result;
                ref_load(x, at, 1, &value);
                result = (float)(exclusive ? sum : sum + (double)value);
                ref_store(out, at, 1, &result);
                sum += (double)value;
            }
        }
    }
    return 1;
}

/* ---- table ----------------------------------------------------------------------------------- */

static const ref_param_spec reduce_params[] = {
    { "axes", REF_U32, REF_REQUIRED | REF_TENSOR }, { "keep_dims", REF_BOOL, 0 }, { NULL, 0, 0 }
};
static const ref_param_spec arg_params[] = {
    { "axis", REF_U32, REF_REQUIRED }, { "keep_dims", REF_BOOL, 0 }, { NULL, 0, 0 }
};
static const ref_param_spec topk_params[] = {
    { "k", REF_U32, REF_REQUIRED }, { "largest", REF_BOOL, 0 }, { NULL, 0, 0 }
};
static const ref_param_spec cumulative_params[] = {
    { "axis", REF_U32, REF_REQUIRED }, { "exclusive", REF_BOOL, 0 }, { "reverse", REF_BOOL, 0 },
    { NULL, 0, 0 }
};

/* The first six in the order of reduce_kind. Libraries differ on how a mean of int32 is rounded. */
const ref_op ref_ops_reduce[] = {
    { "ReduceMean", REF_T_REAL, 1, 1, 1, 1, reduce_params, reduce_check, reduce_scratch,
      reduce_run },
    { "ReduceSum", REF_T_REAL | REF_T_I32, 1, 1, 1, 1, reduce_params, reduce_check, reduce_scratch,
      reduce_run },
    { "ReduceMax", REF_T_REAL | REF_T_I32, 1, 1, 1, 1, reduce_params, reduce_check, reduce_scratch,
      reduce_run },
    { "ReduceMin", REF_T_REAL | REF_T_I32, 1, 1, 1, 1, reduce_params, reduce_check, reduce_scratch,
      reduce_run },
    { "ReduceProd", REF_T_REAL | REF_T_I32, 1, 1, 1, 1, reduce_params, reduce_check, reduce_scratch,
      reduce_run },
    { "ReduceSumSquare", REF_T_REAL | REF_T_I32, 1, 1, 1, 1, reduce_params, reduce_check,
      reduce_scratch, reduce_run },
    { "Argmax", REF_T_REAL | REF_T_I32, 1, 1, 1, 1, arg_params, arg_check, NULL, arg_run },
    { "Argmin", REF_T_REAL | REF_T_I32, 1, 1, 1, 1, arg_params, arg_check, NULL, arg_run },
    { "TopK", REF_T_REAL | REF_T_I32, 1, 1, 2, 2, topk_params, topk_check, topk_scratch, topk_run },
    { "CumulativeSum", REF_T_REAL | REF_T_I32, 1, 1, 1, 1, cumulative_params, cumulative_check,
      NULL,
      cumulative_run },
    { NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
};
