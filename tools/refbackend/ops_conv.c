/* ops_conv.c - Conv2d, DepthWiseConv2d, TransposeConv2d

   Activations are [batch, height, width, channels], weights [height, width, in, out]. */
#include "ref_linear.h"

#include <string.h>

/* One spatial axis, height or width. */
typedef struct conv_axis {
    uint64_t in, out, kernel, stride, dilation, pad_before, pad_after, out_extra;
} conv_axis;

typedef struct conv_form {
    conv_axis axis[2];
    uint64_t  batch, group, in_channels, out_channels;
} conv_form;

/* Read the whole numbers of a parameter of shape [2] or [2, 2] (rank 2). The numbers stay unchanged
   when the parameter is absent. */
static int read_numbers(const ref_node *node, const char *name, uint32_t rank, uint64_t *numbers,
                        ref_why *why)
{
    static const uint32_t dims[2] = { 2, 2 };
    const ref_param *param = ref_param_find(node, name);
    if (param == NULL)
        return 1;
    if (!ref_expect_shape(param->tensor, name, rank, dims, why))
        return 0;
    for (uint32_t i = 0; i < 2 * rank; ++i)
        numbers[i] = (uint64_t)ref_param_at(param, i);
    return 1;
}

/* Fill everything except .out, which the operators compute, and check what is common to them. */
static int conv_read(const ref_node *node, conv_form *f, ref_why *why)
{
    const ref_tensor *x = node->in[0], *w = node->in[1];
    uint64_t stride[2] = { 1, 1 }, dilation[2] = { 1, 1 }, extra[2] = { 0 }, pad[4] = { 0 };
    char text[REF_SHAPE_TEXT];

    if (x->rank != 4)
        return ref_refuse(why,
                          "input 0 \"%s\" is %s, expected rank 4: [batch, height, width, channels]",
                          x->name, ref_shape_text(x, text));
    if (w->rank != 4)
        return ref_refuse(why, "input 1 \"%s\" is %s, expected rank 4: [height, width, in, out]",
                          w->name, ref_shape_text(w, text));
    if (!read_numbers(node, "stride", 1, stride, why) ||
        !read_numbers(node, "pad_amount", 2, pad, why) ||
        !read_numbers(node, "dilation", 1, dilation, why) ||
        !read_numbers(node, "output_padding", 1, extra, why))
        return 0;
    f->batch = x->dims[0];
    f->in_channels = x->dims[3];
    f->out_channels = w->dims[3];
    f->group = (uint64_t)ref_param_value(node, "group", 1.0);
    for (int i = 0; i < 2; ++i) {
        const uint32_t out = node->out[0]->rank == 4 ? node->out[0]->dims[1 + i] : 0;
        const conv_axis axis = { x->dims[1 + i], out, w->dims[i], stride[i], dilation[i],
                                 pad[2 * i], pad[2 * i + 1], extra[i] };
        if (axis.stride == 0 || axis.dilation == 0)
            return ref_refuse(why,
                              "stride %llu and dilation %llu along the %s: each must be at least 1",
                              (unsigned long long)axis.stride, (unsigned long long)axis.dilation,
                              i == 0 ? "height" : "width");
        f->axis[i] = axis;
    }
    return 1;
}

/* Check shape and type of the output, and the encodings of weight and bias. */
static int conv_check_rest(const ref_node *node, const conv_form *f, const uint64_t out[2],
                           uint32_t sum_axis, ref_why *why)
{
    const ref_tensor *x = node->in[0], *w = node->in[1];
    uint32_t dims[4] = { x->dims[0], 0, 0, w->dims[3] };
    for (int i = 0; i < 2; ++i) {
        if (out[i] > UINT32_MAX)
            return ref_refuse(why, "the output would have a %s of %llu",
                              i == 0 ? "height" : "width", (unsigned long long)out[i]);
        dims[1 + i] = (uint32_t)out[i];
    }
    return ref_expect_shape(node->out[0], "output", 4, dims, why) &&
           ref_expect_type(node->out[0], "output", x->dtype, why) &&
           ref_check_weight(x, w, 3, sum_axis, why) &&
           ref_check_bias(x, w, node->in_count > 2 ? node->in[2] : NULL, (uint32_t)f->out_channels,
                          why);
}

/* Compute the output size of a convolution along both axes. */
static int conv_size(const conv_form *f, uint64_t out[2], ref_why *why)
{
    for (int i = 0; i < 2; ++i) {
        const conv_axis *a = &f->axis[i];
        const uint64_t padded = a->in + a->pad_before + a->pad_after;
        const uint64_t reach = (a->kernel - 1) * a->dilation + 1;
        if (reach > padded)
            return ref_refuse(why, "the kernel reaches over %llu elements of the %s, but input and"
                              " padding have %llu", (unsigned long long)reach,
                              i == 0 ? "height" : "width", (unsigned long long)padded);
        out[i] = (padded - reach) / a->stride + 1;
    }
    return 1;
}

static int check_groups(const ref_node *node, const conv_form *f, ref_why *why)
{
    const ref_tensor *x = node->in[0], *w = node->in[1];
    if (f->group == 0 || f->in_channels % f->group != 0 || f->out_channels % f->group != 0)
        return ref_refuse(why, "group %llu does not divide the %llu channels of \"%s\" and the %llu"
                          " of \"%s\"", (unsigned long long)f->group,
                          (unsigned long long)f->in_channels, x->name,
                          (unsigned long long)f->out_channels, w->name);
    if (w->dims[2] != f->in_channels / f->group)
        return ref_refuse(why, "input 1 \"%s\" has %u input channels, expected %llu: the %llu of"
                          " \"%s\" over group %llu", w->name, (unsigned)w->dims[2],
                          (unsigned long long)(f->in_channels / f->group),
                          (unsigned long long)f->in_channels, x->name,
                          (unsigned long long)f->group);
    return 1;
}

/* Compute where tap k of output o reads along an axis. Return 0 when that is in the padding. */
static int tap_at(const conv_axis *a, uint64_t o, uint64_t k, uint64_t *at)
{
    const uint64_t position = o * a->stride + k * a->dilation;
    if (position < a->pad_before || position - a->pad_before >= a->in)
        return 0;
    *at = position - a->pad_before;
    return 1;
}

static void load_bias(const ref_node *node, uint64_t channels, float *values)
{
    if (node->in_count > 2 && node->in[2] != NULL)
        ref_load(node->in[2], 0, channels, values);
    else
        memset(values, 0, channels * sizeof *values);
}

/* ---- Conv2d ---------------------------------------------------------------------------------- */

static int conv2d_check(const ref_node *node, ref_why *why)
{
    conv_form f;
    uint64_t out[2];
    return conv_read(node, &f, why) && check_groups(node, &f, why) && conv_size(&f, out, why) &&
           conv_check_rest(node, &f, out, 2, why);
}

/* A convolution is a product: the patch under the kernel, one row per output pixel, times the
   weights. */
static size_t patch_size(const ref_tensor *w)
{
    return (size_t)w->dims[0] * w->dims[1] * w->dims[2];
}

/* Scratch: patches, their outputs, the bias, decoded weights. */
static size_t conv2d_scratch(const ref_node *node)
{
    const ref_tensor *w = node->in[1], *out = node->out[0];
    const size_t patch = patch_size(w);
    const size_t chunk = ref_product_chunk((size_t)out->dims[1] * out->dims[2], patch);
    return (chunk * (patch + w->dims[3]) + w->dims[3]) * sizeof(float) + ref_product_scratch(patch);
}

/* Copy the patch of one group for output pixel (oy, ox); padding is 0. */
static void conv2d_patch(const ref_tensor *x, const conv_form *f, uint64_t batch, uint64_t oy,
                         uint64_t ox, uint64_t group, float *patch)
{
    const conv_axis *v = &f->axis[0], *h = &f->axis[1];
    const uint64_t channels = f->in_channels / f->group, row = h->kernel * channels;
    const uint64_t left = ox * h->stride;
    for (uint64_t ky = 0; ky < v->kernel; ++ky, patch += row) {
        uint64_t y, px;
        if (!tap_at(v, oy, ky, &y)) {
            memset(patch, 0, row * sizeof *patch);
            continue;
        }
        y = (batch * v->in + y) * h->in;
        /* Read neighboring taps of x at once. */
        if (h->dilation == 1 && f->group == 1 && left >= h->pad_before &&
            left - h->pad_before + h->kernel <= h->in) {
            ref_load(x, (y + left - h->pad_before) * f->in_channels, row, patch);
            continue;
        }
        for (uint64_t kx = 0; kx < h->kernel; ++kx) {
            if (tap_at(h, ox, kx, &px))
                ref_load(x, (y + px) * f->in_channels + group * channels, channels,
                         patch + kx * channels);
            else
                memset(patch + kx * channels, 0, channels * sizeof *patch);
        }
    }
}

static int conv2d_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *w = node->in[1], *out = node->out[0];
    const size_t patch = patch_size(w), columns = w->dims[3];
    const size_t pixels = (size_t)out->dims[1] * out->dims[2];
    const size_t chunk = ref_product_chunk(pixels, patch);
    float *patches = (float *)scratch, *sums = patches + chunk * patch,
        *bias = sums + chunk * columns;
    ref_matrix matrix = { w, 0, columns, 1, patch, 0, 0 };
    conv_form f;

    if (!conv_read(node, &f, why))
        return 0;
    matrix.columns = columns / (size_t)f.group;
    load_bias(node, columns, bias);
    for (uint64_t batch = 0; batch < f.batch; ++batch) {
        for (size_t first = 0; first < pixels; first += chunk) {
            const size_t count = pixels - first < chunk ? pixels - first : chunk;
            for (uint64_t group = 0; group < f.group; ++group) {
                for (size_t i = 0; i < count; ++i)
                    conv2d_patch(x, &f, batch, (first + i) / out->dims[2],
                                 (first + i) % out->dims[2], group, patches + i * patch);
                matrix.first = group * matrix.columns;
                matrix.channel = (uint32_t)matrix.first;
                ref_product(patches, count, &matrix, sums + matrix.first, columns, bias + columns);
            }
            for (size_t i = 0; i < count; ++i)
                for (size_t c = 0; c < columns; ++c)
                    sums[i * columns + c] += bias[c];
            ref_store(out, (batch * pixels + first) * columns, (uint64_t)count * columns, sums);
        }
    }
    return 1;
}

/* ---- DepthWiseConv2d ------------------------------------------------------------------------- */

static int depthwise_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *w = node->in[1];
    conv_form f;
    uint64_t out[2];
    if (!conv_read(node, &f, why))
        return 0;
    if (w->dims[2] != 1 || w->dims[3] % x->dims[3] != 0)
        return ref_refuse(why, "input 1 \"%s\" has %u by %u channels, expected 1 by a multiple of"
                          " the %u of \"%s\"", w->name, (unsigned)w->dims[2], (unsigned)w->dims[3],
                          (unsigned)x->dims[3], x->name);
    return conv_size(&f, out, why) && conv_check_rest(node, &f, out, 3, why);
}

/* Scratch: all weights, the bias, the sums of a pixel, the channels under a tap. */
static size_t depthwise_scratch(const ref_node *node)
{
    const ref_tensor *x = node->in[0], *w = node->in[1];
    return (w->count + 2 * (size_t)w->dims[3] + x->dims[3]) * sizeof(float);
}

static int depthwise_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *w = node->in[1], *out = node->out[0];
    const size_t channels = x->dims[3], outputs = w->dims[3], multiplier = outputs / channels;
    float *weights = (float *)scratch, *bias = weights + w->count, *sums = bias + outputs,
        *tap = sums + outputs;
    conv_form f;

    if (!conv_read(node, &f, why))
        return 0;
    ref_load(w, 0, w->count, weights);
    load_bias(node, outputs, bias);
    for (uint64_t o = 0; o < out->count / outputs; ++o) {
        const uint64_t ox = o % f.axis[1].out, oy = o / f.axis[1].out % f.axis[0].out;
        const uint64_t batch = o / f.axis[1].out / f.axis[0].out;
        memcpy(sums, bias, outputs * sizeof *sums);
        for (uint64_t k = 0; k < f.axis[0].kernel * f.axis[1].kernel; ++k) {
            const float *tap_weights = weights + k * outputs;
            uint64_t px, y;
            if (!tap_at(&f.axis[0], oy, k / f.axis[1].kernel, &y) ||
                !tap_at(&f.axis[1], ox, k % f.axis[1].kernel, &px))
                continue;
            ref_load(x, ((batch * f.axis[0].in + y) * f.axis[1].in + px) * channels, channels, tap);
            if (multiplier == 1) {
                for (size_t c = 0; c < channels; ++c)
                    sums[c] += tap[c] * tap_weights[c];
            } else {
                for (size_t c = 0; c < outputs; ++c)
                    sums[c] += tap[c / multiplier] * tap_weights[c];
            }
        }
        ref_store(out, o * outputs, outputs, sums);
    }
    return 1;
}

/* ---- TransposeConv2d ------------------------------------------------------------------------- */

/* Weights [height, width, in / group, out] are not flipped: pixel i spreads over i * stride + k. */
static int transpose_conv_check(const ref_node *node, ref_why *why)
{
    conv_form f;
    uint64_t out[2];
    if (!conv_read(node, &f, why) || !check_groups(node, &f, why))
        return 0;
    for (int i = 0; i < 2; ++i) {
        const conv_axis *a = &f.axis[i];
        const uint64_t whole = (a->in - 1) * a->stride + a->kernel;
        if (a->out_extra >= a->stride)
            return ref_refuse(why, "output_padding %llu along the %s, expected less than the stride"
                              " %llu", (unsigned long long)a->out_extra,
                              i == 0 ? "height" : "width", (unsigned long long)a->stride);
        if (a->pad_before + a->pad_after >= whole + a->out_extra)
            return ref_refuse(why, "padding of %llu and %llu leaves nothing of a %s of %llu",
                              (unsigned long long)a->pad_before, (unsigned long long)a->pad_after,
                              i == 0 ? "height" : "width",
                              (unsigned long long)(whole + a->out_extra));
        out[i] = whole + a->out_extra - a->pad_before - a->pad_after;
    }
    return conv_check_rest(node, &f, out, 2, why);
}

/* Scratch: all weights, the bias, one row of the output, the channels of one input pixel. */
static size_t transpose_conv_scratch(const ref_node *node)
{
    const ref_tensor *x = node->in[0], *w = node->in[1], *out = node->out[0];
    return (w->count + w->dims[3] + (size_t)out->dims[2] * out->dims[3] + x->dims[3])
        * sizeof(float);
}

/* Compute sums [outputs] += pixel [inputs] times the weights of one tap. */
static void spread(const float *pixel, const float *weights, const conv_form *f, float *sums)
{
    const size_t inputs = (size_t)(f->in_channels / f->group);
    const size_t outputs = (size_t)(f->out_channels / f->group);
    for (size_t group = 0; group < f->group; ++group, pixel += inputs, weights += outputs,
         sums += outputs)
        for (size_t i = 0; i < inputs; ++i)
            for (size_t c = 0; c < outputs; ++c)
                sums[c] += pixel[i] * weights[i * f->out_channels + c];
}

static int transpose_conv_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *w = node->in[1], *out = node->out[0];
    const size_t inputs = x->dims[3], outputs = w->dims[3], width = out->dims[2];
    float *weights = (float *)scratch, *bias = weights + w->count, *row = bias + outputs;
    float *pixel = row + width * outputs;
    const conv_axis *v, *h;
    conv_form f;

    if (!conv_read(node, &f, why))
        return 0;
    v = &f.axis[0];
    h = &f.axis[1];
    ref_load(w, 0, w->count, weights);
    load_bias(node, outputs, bias);
    for (uint64_t o = 0; o < f.batch * v->out; ++o) {
        const uint64_t oy = o % v->out + v->pad_before, batch = o / v->out;
        for (size_t i = 0; i < width; ++i)
            memcpy(row + i * outputs, bias, outputs * sizeof *row);
        for (uint64_t ky = oy % v->stride; ky < v->kernel && ky <= oy; ky += v->stride) {
            const uint64_t y = (oy - ky) / v->stride;
            for (uint64_t ix = 0; y < v->in && ix < h->in; ++ix) {
                ref_load(x, ((batch * v->in + y) * h->in + ix) * inputs, inputs, pixel);
                for (uint64_t kx = 0; kx < h->kernel; ++kx) {
                    const uint64_t at = ix * h->stride + kx;
                    if (at >= h->pad_before && at - h->pad_before < width)
                        spread(pixel, weights + (ky * h->kernel + kx) * w->dims[2] * outputs, &f,
                               row + (at - h->pad_before) * outputs);
                }
            }
        }
        ref_store(out, o * width * outputs, (uint64_t)width * outputs, row);
    }
    return 1;
}

/* ---- table ----------------------------------------------------------------------------------- */

static const ref_param_spec conv2d_params[] = {
    { "stride", REF_U32, REF_REQUIRED | REF_TENSOR },
    { "pad_amount", REF_U32, REF_REQUIRED | REF_TENSOR },
    { "dilation", REF_U32, REF_TENSOR }, { "group", REF_U32, 0 },
    { "reuse_sparse_indices", REF_BOOL, 0 },
    { NULL, 0, 0 }
};
static const ref_param_spec depthwise_params[] = {
    { "stride", REF_U32, REF_REQUIRED | REF_TENSOR },
    { "pad_amount", REF_U32, REF_REQUIRED | REF_TENSOR },
    { "dilation", REF_U32, REF_TENSOR }, { NULL, 0, 0 }
};
static const ref_param_spec transpose_conv_params[] = {
    { "stride", REF_U32, REF_REQUIRED | REF_TENSOR },
    { "pad_amount", REF_U32, REF_REQUIRED | REF_TENSOR },
    { "group", REF_U32, 0 }, { "output_padding", REF_U32, REF_TENSOR }, { NULL, 0, 0 }
};

const ref_op ref_ops_conv[] = {
    { "Conv2d", REF_T_REAL, 2, 3, 1, 1, conv2d_params, conv2d_check, conv2d_scratch, conv2d_run },
    { "DepthWiseConv2d", REF_T_REAL, 2, 3, 1, 1, depthwise_params, depthwise_check,
      depthwise_scratch,
      depthwise_run },
    { "TransposeConv2d", REF_T_REAL, 2, 3, 1, 1, transpose_conv_params, transpose_conv_check,
      transpose_conv_scratch, transpose_conv_run },
    { NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
};
