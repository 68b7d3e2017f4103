/* ops_pool.c - PoolMax2d, PoolAvg2d, ResizeBilinear, ResizeNearestNeighbor

   Activations are [batch, height, width, channels]. */
#include "ref_op.h"

#include <math.h>
#include <string.h>

static const char *const axis_names[2] = { "height", "width" };

static int check_rank4(const ref_node *node, ref_why *why)
{
    char text[REF_SHAPE_TEXT];
    if (node->in[0]->rank != 4)
        return ref_refuse(why,
                          "input 0 \"%s\" is %s, expected rank 4: [batch, height, width, channels]",
                          node->in[0]->name, ref_shape_text(node->in[0], text));
    return 1;
}

/* ---- pooling --------------------------------------------------------------------------------- */

enum { ROUND_FLOOR, ROUND_CEIL };

/* One spatial axis. */
typedef struct pool_axis { uint64_t in, out, filter, stride, pad_before, pad_after; } pool_axis;

static int pool_read(const ref_node *node, pool_axis axes[2], ref_why *why)
{
    static const char *const names[3] = { "filter_size", "stride", "pad_amount" };
    static const uint32_t dims[2] = { 2, 2 };
    const ref_param *params[3];
    for (int i = 0; i < 3; ++i) {
        params[i] = ref_param_find(node, names[i]);
        if (!ref_expect_shape(params[i]->tensor, names[i], i < 2 ? 1 : 2, dims, why))
            return 0;
    }
    for (uint32_t i = 0; i < 2; ++i) {
        const pool_axis axis = { node->in[0]->dims[1 + i], 0, (uint64_t)ref_param_at(params[0], i),
                                 (uint64_t)ref_param_at(params[1], i),
                                 (uint64_t)ref_param_at(params[2], 2 * i),
                                 (uint64_t)ref_param_at(params[2], 2 * i + 1) };
        axes[i] = axis;
    }
    return 1;
}

static int pool_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const int average = strcmp(node->op->type, "PoolAvg2d") == 0;
    const double mode = ref_param_value(node, "rounding_mode", ROUND_FLOOR);
    pool_axis axes[2];
    uint32_t dims[4];

    if (!check_rank4(node, why) || !pool_read(node, axes, why))
        return 0;
    if (mode != ROUND_FLOOR && mode != ROUND_CEIL)
        return ref_refuse(why, "rounding_mode %.0f, expected 0 (floor) or 1 (ceil)", mode);
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i < 2; ++i) {
        const pool_axis *a = &axes[i];
        const uint64_t padded = a->in + a->pad_before + a->pad_after;
        uint64_t rest, out;
        if (a->filter == 0 || a->stride == 0)
            return ref_refuse(why,
                              "filter_size %llu and stride %llu along the %s: each must be at"
                              " least 1",
                              (unsigned long long)a->filter, (unsigned long long)a->stride,
                              axis_names[i]);
        if (a->pad_before >= a->filter || a->pad_after >= a->filter)
            return ref_refuse(why, "padding of %llu and %llu along the %s, expected less than the"
                              " filter's %llu: a window could contain only padding",
                              (unsigned long long)a->pad_before, (unsigned long long)a->pad_after,
                              axis_names[i], (unsigned long long)a->filter);
        if (a->filter > padded)
            return ref_refuse(why, "the filter has a %s of %llu, but input and padding have %llu",
                              axis_names[i], (unsigned long long)a->filter,
                              (unsigned long long)padded);
        rest = (padded - a->filter) % a->stride;
        out = (padded - a->filter) / a->stride + 1;
        if (mode == ROUND_CEIL && rest != 0) {
            if (average)
                return ref_refuse(why, "with rounding_mode 1 the last window reaches %llu over the"
                                  " %s, for which libraries return garbage: pad explicitly",
                                  (unsigned long long)(a->stride - rest), axis_names[i]);
            if (out * a->stride >= a->in + a->pad_before)
                return ref_refuse(why, "with rounding_mode 1 the last window along the %s lies in"
                                  " the padding: use rounding_mode 0", axis_names[i]);
            ++out;
        }
        if (out > UINT32_MAX)
            return ref_refuse(why, "the output would have a %s of %llu", axis_names[i],
                              (unsigned long long)out);
        dims[1 + i] = (uint32_t)out;
    }
    return ref_expect_shape(node->out[0], "output", 4, dims, why) &&
           ref_expect_type(node->out[0], "output", x->dtype, why);
}

/* Compute the elements of the input under window o: [*begin, *end), never empty. */
static void window_at(const pool_axis *a, uint64_t o, uint64_t *begin, uint64_t *end)
{
    const uint64_t from = o * a->stride, to = from + a->filter;
    *begin = from > a->pad_before ? from - a->pad_before : 0;
    *end = to - a->pad_before < a->in ? to - a->pad_before : a->in;
}

/* Scratch: the channels of one output pixel and of one input pixel. */
static size_t pool_scratch(const ref_node *node)
{
    return 2 * (size_t)node->in[0]->dims[3] * sizeof(float);
}

static int pool_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *out = node->out[0];
    const int average = strcmp(node->op->type, "PoolAvg2d") == 0;
    const int whole = ref_param_value(node, "count_pad_for_edges", 0.0) != 0.0;
    const size_t channels = x->dims[3];
    float *sums = (float *)scratch, *pixel = sums + channels;
    pool_axis v, h, axes[2];

    if (!pool_read(node, axes, why))
        return 0;
    v = axes[0];
    h = axes[1];
    for (uint64_t o = 0; o < out->count / channels; ++o) {
        const uint64_t batch = o / out->dims[2] / out->dims[1];
        uint64_t y, y_end, x_begin, x_end, count = 0;
        window_at(&v, o / out->dims[2] % out->dims[1], &y, &y_end);
        window_at(&h, o % out->dims[2], &x_begin, &x_end);
        for (; y < y_end; ++y) {
            for (uint64_t ix = x_begin; ix < x_end; ++ix) {
                float *to = count++ == 0 ? sums : pixel;
                ref_load(x, ((batch * v.in + y) * h.in + ix) * channels, channels, to);
                if (to == sums)
                    continue;
                for (size_t c = 0; c < channels; ++c) {
                    if (average)
                        sums[c] += pixel[c];
                    else if (pixel[c] > sums[c] || isnan(pixel[c]))
                        sums[c] = pixel[c];
                }
            }
        }
        for (size_t c = 0; average && c < channels; ++c)
            sums[c] /= (float)(whole ? v.filter * h.filter : count);
        ref_store(out, o * channels, channels, sums);
    }
    return 1;
}

/* ---- resizing -------------------------------------------------------------------------------- */

/* One spatial axis. Positions are exact fractions, so that rounding cannot choose another
   neighbor. */
typedef struct resize_axis { uint64_t in, out; int align, centers; } resize_axis;

static void resize_read(const ref_node *node, resize_axis axes[2])
{
    for (int i = 0; i < 2; ++i) {
        const resize_axis axis = { node->in[0]->dims[1 + i], node->out[0]->dims[1 + i],
                                   ref_param_value(node, "align_corners", 0.0) != 0.0,
                                   ref_param_value(node, "half_pixel_centers", 0.0) != 0.0 };
        axes[i] = axis;
    }
}

static int resize_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *out = node->out[0];
    char text[REF_SHAPE_TEXT];
    if (!check_rank4(node, why))
        return 0;
    if (out->rank != 4 || out->dims[0] != x->dims[0] || out->dims[3] != x->dims[3])
        return ref_refuse(why, "output \"%s\" is %s, expected [%u, any height, any width, %u]",
                          out->name, ref_shape_text(out, text), (unsigned)x->dims[0],
                          (unsigned)x->dims[3]);
    for (int i = 0; i < 2; ++i)
        if (x->dims[1 + i] > INT32_MAX || out->dims[1 + i] > INT32_MAX)
            return ref_refuse(why, "a %s of %u becomes %u, expected less than 2147483648",
                              axis_names[i], (unsigned)x->dims[1 + i], (unsigned)out->dims[1 + i]);
    if (ref_param_value(node, "align_corners", 0.0) != 0.0 &&
        ref_param_value(node, "half_pixel_centers", 0.0) != 0.0)
        return ref_refuse(why, "align_corners and half_pixel_centers exclude each other: pass one"
                          " of them");
    if (ref_param_value(node, "antialias", 0.0) != 0.0)
        return ref_refuse(why, "antialias is not computed here: pass 0");
    return ref_expect_type(out, "output", x->dtype, why);
}

static int resize_nearest_check(const ref_node *node, ref_why *why)
{
    if (!resize_check(node, why))
        return 0;
    if (!ref_same_encoding(node->in[0], node->out[0]))
        return ref_refuse(why, "output \"%s\" has a different encoding than input 0 \"%s\":"
                          " libraries copy the values, give both the same", node->out[0]->name,
                          node->in[0]->name);
    return 1;
}

/* Compute the position of output o between the inputs *low and *high; *part is the fraction. */
static void between(const resize_axis *a, uint64_t o, uint64_t *low, uint64_t *high, float *part)
{
    uint64_t number = o * a->in, below = a->out;
    if (a->align) {
        number = o * (a->in - 1);
        below = a->out > 1 ? a->out - 1 : 1;
    } else if (a->centers) {
        number = (2 * o + 1) * a->in;
        below = 2 * a->out;
        number = number > a->out ? number - a->out : 0;
    }
    *low = number / below;
    *part = (float)((double)(number % below) / (double)below);
    *high = *low + 1 < a->in ? *low + 1 : *low;
}

/* Scratch: the four neighbours of an output pixel. */
static size_t resize_bilinear_scratch(const ref_node *node)
{
    return 4 * (size_t)node->in[0]->dims[3] * sizeof(float);
}

static int resize_bilinear_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *out = node->out[0];
    const size_t channels = x->dims[3];
    float *corner[4];
    resize_axis axes[2];
    (void)why;
    for (int i = 0; i < 4; ++i)
        corner[i] = (float *)scratch + (size_t)i * channels;
    resize_read(node, axes);
    for (uint64_t o = 0; o < out->count / channels; ++o) {
        const uint64_t batch = o / axes[1].out / axes[0].out;
        uint64_t ys[2], xs[2];
        float down, right;
        between(&axes[0], o / axes[1].out % axes[0].out, &ys[0], &ys[1], &down);
        between(&axes[1], o % axes[1].out, &xs[0], &xs[1], &right);
        for (int i = 0; i < 4; ++i)
            ref_load(x, ((batch * axes[0].in + ys[i / 2]) * axes[1].in + xs[i % 2]) * channels,
                     channels, corner[i]);
        for (size_t c = 0; c < channels; ++c) {
            const float top = corner[0][c] + (corner[1][c] - corner[0][c]) * right;
            const float bottom = corner[2][c] + (corner[3][c] - corner[2][c]) * right;
            corner[0][c] = top + (bottom - top) * down;
        }
        ref_store(out, o * channels, channels, corner[0]);
    }
    return 1;
}

/* Return the input nearest to output o: rounded, halves up, with aligned corners; truncated
   otherwise. */
static uint64_t nearest_at(const resize_axis *a, uint64_t o)
{
    if (a->align)
        return a->out > 1 ? (2 * o * (a->in - 1) + a->out - 1) / (2 * (a->out - 1)) : 0;
    return a->centers ? (2 * o + 1) * a->in / (2 * a->out) : o * a->in / a->out;
}

static int resize_nearest_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *out = node->out[0];
    const size_t bytes = ref_type_bytes(x->dtype) * x->dims[3];
    resize_axis axes[2];
    (void)scratch;
    (void)why;
    resize_read(node, axes);
    for (uint64_t o = 0; o < out->count / x->dims[3]; ++o) {
        const uint64_t batch = o / axes[1].out / axes[0].out;
        const uint64_t y = nearest_at(&axes[0], o / axes[1].out % axes[0].out);
        const uint64_t ix = nearest_at(&axes[1], o % axes[1].out);
        memcpy((char *)out->data + o * bytes,
               (const char *)x->data + ((batch * axes[0].in + y) * axes[1].in + ix) * bytes, bytes);
    }
    return 1;
}

/* ---- table ----------------------------------------------------------------------------------- */

static const ref_param_spec pool_max_params[] = {
    { "filter_size", REF_U32, REF_REQUIRED | REF_TENSOR },
    { "stride", REF_U32, REF_REQUIRED | REF_TENSOR },
    { "pad_amount", REF_U32, REF_REQUIRED | REF_TENSOR }, { "rounding_mode", REF_U32, 0 },
    { NULL, 0, 0 }
};
static const ref_param_spec pool_avg_params[] = {
    { "filter_size", REF_U32, REF_REQUIRED | REF_TENSOR },
    { "stride", REF_U32, REF_REQUIRED | REF_TENSOR },
    { "pad_amount", REF_U32, REF_REQUIRED | REF_TENSOR }, { "rounding_mode", REF_U32, 0 },
    { "count_pad_for_edges", REF_BOOL, 0 }, { NULL, 0, 0 }
};
static const ref_param_spec resize_bilinear_params[] = {
    { "align_corners", REF_BOOL, 0 }, { "half_pixel_centers", REF_BOOL, 0 },
    { "antialias", REF_BOOL, 0 },
    { NULL, 0, 0 }
};
static const ref_param_spec resize_nearest_params[] = {
    { "align_corners", REF_BOOL, 0 }, { "half_pixel_centers", REF_BOOL, 0 }, { NULL, 0, 0 }
};

const ref_op ref_ops_pool[] = {
    { "PoolMax2d", REF_T_REAL, 1, 1, 1, 1, pool_max_params, pool_check, pool_scratch, pool_run },
    { "PoolAvg2d", REF_T_REAL, 1, 1, 1, 1, pool_avg_params, pool_check, pool_scratch, pool_run },
    { "ResizeBilinear", REF_T_REAL, 1, 1, 1, 1, resize_bilinear_params, resize_check,
      resize_bilinear_scratch,
      resize_bilinear_run },
    { "ResizeNearestNeighbor", REF_T_REAL, 1, 1, 1, 1, resize_nearest_params, resize_nearest_check,
      NULL,
      resize_nearest_run },
    { NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
};
