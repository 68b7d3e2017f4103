/* ops_norm.c - RmsNorm, LayerNorm, Batchnorm, InstanceNorm, GroupNorm, L2Norm, Softmax, LogSoftmax

   Sums are made in double: they are long, and what they decide is a whole row. */
#include "ref_op.h"

#include <math.h>
#include <string.h>

/* ---- common to all normalizations ------------------------------------------------------------ */

/* The elements of x that are normalized together: those that differ along some axes only. `along`
   walks these axes, `around` the others, both in the order of the axes. */
typedef struct norm_walk {
    uint32_t around_rank, along_rank;
    uint64_t around_dims[REF_RANK], around_steps[REF_RANK], along_dims[REF_RANK],
        along_steps[REF_RANK];
    uint64_t around, along;              /* number of elements */
} norm_walk;

/* Make a walk along the axes whose bits are set. */
static norm_walk walk_make(const ref_tensor *x, uint32_t bits)
{
    norm_walk w;
    uint64_t steps[REF_RANK], step = 1;
    memset(&w, 0, sizeof w);
    w.around = w.along = 1;
    for (uint32_t i = x->rank; i-- > 0;) {
        steps[i] = step;
        step *= x->dims[i];
    }
    for (uint32_t i = 0; i < x->rank; ++i) {
        if ((bits >> i & 1u) != 0) {
            w.along_dims[w.along_rank] = x->dims[i];
            w.along_steps[w.along_rank++] = steps[i];
            w.along *= x->dims[i];
        } else {
            w.around_dims[w.around_rank] = x->dims[i];
            w.around_steps[w.around_rank++] = steps[i];
            w.around *= x->dims[i];
        }
    }
    return w;
}

static uint64_t walk_at(uint32_t rank, const uint64_t *dims, const uint64_t *steps, uint64_t index)
{
    uint64_t at = 0;
    while (rank-- > 0) {
        at += index % dims[rank] * steps[rank];
        index /= dims[rank];
    }
    return at;
}

/* Return 1 when the elements of a row are contiguous, as in most norms. */
static int walk_is_packed(const norm_walk *w)
{
    return w->along_rank > 0 && w->along_steps[w->along_rank - 1] == 1 &&
           w->along_steps[0] * w->along_dims[0] == w->along;
}

/* Copy row `around` of x to values, or values to that row of out. */
static void row_load(const ref_tensor *x, const norm_walk *w, uint64_t around, float *values)
{
    const uint64_t at = walk_at(w->around_rank, w->around_dims, w->around_steps, around);
    if (walk_is_packed(w)) {
        ref_load(x, at, w->along, values);
        return;
    }
    for (uint64_t i = 0; i < w->along; ++i)
        ref_load(x, at + walk_at(w->along_rank, w->along_dims, w->along_steps, i), 1, values + i);
}

static void row_store(const ref_tensor *out, const norm_walk *w, uint64_t around,
                      const float *values)
{
    const uint64_t at = walk_at(w->around_rank, w->around_dims, w->around_steps, around);
    if (walk_is_packed(w)) {
        ref_store(out, at, w->along, values);
        return;
    }
    for (uint64_t i = 0; i < w->along; ++i)
        ref_store(out, at + walk_at(w->along_rank, w->along_dims, w->along_steps, i), 1,
                  values + i);
}

static int check_same(const ref_node *node, ref_why *why)
{
    return ref_expect_like(node->out[0], "output", node->in[0], why);
}

static int epsilon_check(const ref_node *node, ref_why *why)
{
    const double epsilon = ref_param_value(node, "epsilon", 0.0);
    if (!(epsilon >= 0.0) || isinf(epsilon))
        return ref_refuse(why, "epsilon %g, expected a number of at least 0", epsilon);
    return 1;
}

/* Check gamma (input 1) and beta (input 2): one value per element of a row; either may be absent.
   With quantized activations gamma has at most as many bits, beta may have 32. u16_gamma: 1 when
   libraries compute a UFIXED_POINT_16 gamma right. */
static int gain_check(const ref_node *node, uint32_t rank, const uint32_t *dims, int u16_gamma,
                      ref_why *why)
{
    const ref_tensor *x = node->in[0];
    for (uint32_t i = 1; i < node->in_count; ++i) {
        const ref_tensor *t = node->in[i];
        const char *what = i == 1 ? "input 1" : "input 2";
        if (t == NULL)
            continue;
        if (!ref_expect_shape(t, what, rank, dims, why))
            return 0;
        if (!ref_is_quantized(x->dtype)) {
            if (!ref_expect_type(t, what, x->dtype, why))
                return 0;
            continue;
        }
        if (!ref_is_quantized(t->dtype) ||
            (i == 1 && ref_type_bytes(t->dtype) > ref_type_bytes(x->dtype)) ||
            (i == 2 && ref_type_bytes(t->dtype) > ref_type_bytes(x->dtype) && t->dtype != REF_S32Q))
            return ref_refuse(why, "%s \"%s\" is %s, with %s as input 0 it must be a"
                              " fixed-point type of at most %u bits%s", what, t->name,
                              ref_type_name(t->dtype), ref_type_name(x->dtype),
                              (unsigned)ref_type_bytes(x->dtype) * 8,
                              i == 2 ? " or SFIXED_POINT_32" : "");
        if (i == 1 && !u16_gamma && t->dtype == REF_U16Q)
            return ref_refuse(why, "input 1 \"%s\" is UFIXED_POINT_16, with which the NPU library"
                              " computes %s wrong: give it UFIXED_POINT_8 or SFIXED_POINT_16",
                              t->name, node->op->type);
    }
    return 1;
}

static int has_input(const ref_node *node, uint32_t index)
{
    return index < node->in_count && node->in[index] != NULL;
}

static void gain_load(const ref_node *node, uint64_t count, float *gamma, float *beta)
{
    for (uint64_t i = 0; i < count; ++i) {
        gamma[i] = 1.0f;
        beta[i] = 0.0f;
    }
    if (has_input(node, 1))
        ref_load(node->in[1], 0, count, gamma);
    if (has_input(node, 2))
        ref_load(node->in[2], 0, count, beta);
}

static double row_mean(const float *values, uint64_t count)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < count; ++i)
        sum += (double)values[i];
    return sum / (double)count;
}

/* Compute the mean of the squared distances from the mean. */
static double row_variance(const float *values, uint64_t count, double mean)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < count; ++i)
        sum += ((double)values[i] - mean) * ((double)values[i] - mean);
    return sum / (double)count;
}

/* Normalize values with this mean and variance to mean 0 and variance 1. */
static void row_normalize(float *values, uint64_t count, double mean, double variance,
                          double epsilon)
{
    const double factor = 1.0 / sqrt(variance + epsilon);
    for (uint64_t i = 0; i < count; ++i)
        values[i] = (float)(((double)values[i] - mean) * factor);
}

/* ---- RmsNorm, LayerNorm ---------------------------------------------------------------------- */

static int axes_norm_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    uint32_t bits, dims[REF_RANK], rank = 0;
    if (!ref_axes_read(node, &bits, why))
        return 0;
    for (uint32_t i = 0; i < x->rank; ++i)
        if ((bits >> i & 1u) != 0)
            dims[rank++] = x->dims[i];
    return epsilon_check(node, why) && check_same(node, why) &&
           gain_check(node, rank, dims, strcmp(node->op->type, "LayerNorm") != 0, why);
}

static norm_walk axes_norm_walk(const ref_node *node)
{
    ref_why ignored;
    uint32_t bits;
    ref_axes_read(node, &bits, &ignored);
    return walk_make(node->in[0], bits);
}

/* Scratch: a row, gamma, beta. */
static size_t axes_norm_scratch(const ref_node *node)
{
    return 3 * axes_norm_walk(node).along * sizeof(float);
}

static int axes_norm_run(const ref_node *node, void *scratch, ref_why *why)
{
    const int rms = strcmp(node->op->type, "RmsNorm") == 0;
    const double epsilon = ref_param_value(node, "epsilon", 1e-6);
    const norm_walk w = axes_norm_walk(node);
    float *row = (float *)scratch, *gamma = row + w.along, *beta = gamma + w.along;
    (void)why;

    gain_load(node, w.along, gamma, beta);
    for (uint64_t around = 0; around < w.around; ++around) {
        double mean;
        row_load(node->in[0], &w, around, row);
        mean = rms ? 0.0 : row_mean(row, w.along);
        row_normalize(row, w.along, mean, row_variance(row, w.along, mean), epsilon);
        for (uint64_t i = 0; i < w.along; ++i)
            row[i] = row[i] * gamma[i] + beta[i];
        row_store(node->out[0], &w, around, row);
    }
    return 1;
}

/* ---- Batchnorm, InstanceNorm, GroupNorm: one gamma and one beta per channel ------------------ */

static int channel_gain_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    return check_same(node, why) && gain_check(node, 1, &x->dims[x->rank - 1], 1, why);
}

static int image_check(const ref_node *node, ref_why *why)
{
    char text[REF_SHAPE_TEXT];
    if (node->in[0]->rank < 3)
        return ref_refuse(why,
                          "input 0 \"%s\" is %s, expected at least rank 3: [batch, ..., channels]",
                          node->in[0]->name, ref_shape_text(node->in[0], text));
    return 1;
}

/* Weight and bias already contain mean and variance: y = x * weight + bias. */
static size_t batchnorm_scratch(const ref_node *node)
{
    return 3 * (size_t)node->in[0]->dims[node->in[0]->rank - 1] * sizeof(float);
}

static int batchnorm_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const size_t channels = x->dims[x->rank - 1];
    float *row = (float *)scratch, *gamma = row + channels, *beta = gamma + channels;
    (void)why;
    gain_load(node, channels, gamma, beta);
    for (uint64_t first = 0; first < x->count; first += channels) {
        ref_load(x, first, channels, row);
        for (size_t c = 0; c < channels; ++c)
            row[c] = row[c] * gamma[c] + beta[c];
        ref_store(node->out[0], first, channels, row);
    }
    return 1;
}

enum { INSTANCE_MODE_MU_SIGMA, INSTANCE_REGION_ACROSS_SPATIAL = 0 };

static int instance_check(const ref_node *node, ref_why *why)
{
    const double mode = ref_param_value(node, "mode", INSTANCE_MODE_MU_SIGMA);
    const double region = ref_param_value(node, "region", INSTANCE_REGION_ACROSS_SPATIAL);
    if (mode != INSTANCE_MODE_MU_SIGMA)
        return ref_refuse(why, "mode %.0f: libraries only compute mode 0 (MU_SIGMA)",
                          mode);
    if (region != INSTANCE_REGION_ACROSS_SPATIAL)
        return ref_refuse(why,
                          "region %.0f: libraries only compute region 0 (ACROSS_SPATIAL)",
                          region);
    if (ref_param_value(node, "normalize_variance", 1.0) != 1.0)
        return ref_refuse(why, "normalize_variance 0 is not computed here: pass 1");
    return image_check(node, why) && epsilon_check(node, why) && channel_gain_check(node, why);
}

static int group_check(const ref_node *node, ref_why *why)
{
    const uint32_t channels = node->in[0]->dims[node->in[0]->rank - 1];
    const double group = ref_param_value(node, "group", 1.0);
    if (group < 1.0 || channels % (uint32_t)group != 0)
        return ref_refuse(why, "group %.0f does not divide the %u channels of input 0 \"%s\"",
                          group, (unsigned)channels, node->in[0]->name);
    return image_check(node, why) && epsilon_check(node, why) && channel_gain_check(node, why);
}

/* Normalize a batch of [positions, channels] in parts of `part` channels; InstanceNorm has 1. */
typedef struct image_form { uint64_t batches, positions, channels, part; } image_form;

static image_form image_read(const ref_node *node)
{
    const ref_tensor *x = node->in[0];
    image_form f = { x->dims[0], 0, x->dims[x->rank - 1], 1 };
    f.positions = x->count / f.batches / f.channels;
    if (strcmp(node->op->type, "GroupNorm") == 0)
        f.part = f.channels / (uint64_t)ref_param_value(node, "group", 1.0);
    return f;
}

/* Scratch: the values of a part, gamma, beta. */
static size_t image_scratch(const ref_node *node)
{
    const image_form f = image_read(node);
    return (f.positions * f.part + 2 * f.channels) * sizeof(float);
}

static int image_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *out = node->out[0];
    const double epsilon = ref_param_value(node, "epsilon", 1e-12);
    const image_form f = image_read(node);
    const uint64_t count = f.positions * f.part;
    float *values = (float *)scratch, *gamma = values + count, *beta = gamma + f.channels;
    (void)why;

    gain_load(node, f.channels, gamma, beta);
    for (uint64_t batch = 0; batch < f.batches; ++batch) {
        for (uint64_t part = 0; part < f.channels; part += f.part) {
            const uint64_t first = batch * f.positions * f.channels + part;
            double mean;
            for (uint64_t p = 0; p < f.positions; ++p)
                ref_load(x, first + p * f.channels, f.part, values + p * f.part);
            mean = row_mean(values, count);
            row_normalize(values, count, mean, row_variance(values, count, mean), epsilon);
            for (uint64_t p = 0; p < f.positions; ++p) {
                float *at = values + p * f.part;
                for (uint64_t c = 0; c < f.part; ++c)
                    at[c] = at[c] * gamma[part + c] + beta[part + c];
                ref_store(out, first + p * f.channels, f.part, at);
            }
        }
    }
    return 1;
}

/* ---- L2Norm ---------------------------------------------------------------------------------- */

static int l2_bits(const ref_node *node, uint32_t *bits, ref_why *why)
{
    uint32_t axis = 0;
    if (ref_param_find(node, "axes") != NULL)
        return ref_axes_read(node, bits, why);
    if (!ref_axis_read(node, &axis, why))
        return 0;
    *bits = 1u << axis;
    return 1;
}

static int l2_check(const ref_node *node, ref_why *why)
{
    uint32_t bits;
    if ((ref_param_find(node, "axis") != NULL) == (ref_param_find(node, "axes") != NULL))
        return ref_refuse(why, "parameters \"axis\" and \"axes\": expected one of them");
    return l2_bits(node, &bits, why) && epsilon_check(node, why) && check_same(node, why);
}

static norm_walk l2_walk(const ref_node *node)
{
    ref_why ignored;
    uint32_t bits = 0;
    l2_bits(node, &bits, &ignored);
    return walk_make(node->in[0], bits);
}

/* Scratch of the operators that work on rows alone: a row. */
static size_t l2_scratch(const ref_node *node)
{
    return l2_walk(node).along * sizeof(float);
}

/* Compute x / sqrt(max(sum of squares, epsilon)). */
static int l2_run(const ref_node *node, void *scratch, ref_why *why)
{
    const double epsilon = ref_param_value(node, "epsilon", 1e-12);
    const norm_walk w = l2_walk(node);
    float *row = (float *)scratch;
    (void)why;
    for (uint64_t around = 0; around < w.around; ++around) {
        double sum;
        row_load(node->in[0], &w, around, row);
        sum = row_variance(row, w.along, 0.0) * (double)w.along;
        row_normalize(row, w.along, 0.0, sum > epsilon ? sum : epsilon, 0.0);
        row_store(node->out[0], &w, around, row);
    }
    return 1;
}

/* ---- Softmax, LogSoftmax --------------------------------------------------------------------- */

static int softmax_check(const ref_node *node, ref_why *why)
{
    const double beta = ref_param_value(node, "beta", 1.0);
    uint32_t axis;
    if (isnan(beta) || isinf(beta))
        return ref_refuse(why, "beta %g, expected a number", beta);
    return ref_axis_read(node, &axis, why) && check_same(node, why);
}

static norm_walk softmax_walk(const ref_node *node)
{
    ref_why ignored;
    uint32_t axis = 0;
    ref_axis_read(node, &axis, &ignored);
    return walk_make(node->in[0], 1u << axis);
}

static size_t softmax_scratch(const ref_node *node)
{
    return softmax_walk(node).along * sizeof(float);
}

/* Compilers make vectors of loops over LANES elements. They change no bits, except those of a
   NaN. */
enum { LANES = 16 };

static void scale_lanes(float *restrict row, float by, float *restrict most)
{
    for (int i = 0; i < LANES; ++i) {
        row[i] *= by;
        most[i] = row[i] > most[i] ? row[i] : most[i];
    }
}

static void divide_lanes(float *restrict row, double by)
{
    for (int i = 0; i < LANES; ++i)
        row[i] = (float)((double)row[i] / by);
}

/* Multiply a row, and return the largest product. */
static float scale_row(float *row, uint64_t count, float by)
{
    float lanes[LANES], most = row[0] * by;
    uint64_t i = 0;
    for (int lane = 0; lane < LANES; ++lane)
        lanes[lane] = most;
    for (; i + LANES <= count; i += LANES)
        scale_lanes(row + i, by, lanes);
    for (; i < count; ++i) {
        row[i] *= by;
        most = row[i] > most ? row[i] : most;
    }
    for (int lane = 0; lane < LANES; ++lane)
        most = lanes[lane] > most ? lanes[lane] : most;
    return most;
}

static void divide_row(float *row, uint64_t count, double by)
{
    uint64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        divide_lanes(row + i, by);
    for (; i < count; ++i)
        row[i] = (float)((double)row[i] / by);
}

static int softmax_run(const ref_node *node, void *scratch, ref_why *why)
{
    const int logarithm = strcmp(node->op->type, "LogSoftmax") == 0;
    const float beta = (float)ref_param_value(node, "beta", 1.0);
    const norm_walk w = softmax_walk(node);
    float *row = (float *)scratch;
    (void)why;
    for (uint64_t around = 0; around < w.around; ++around) {
        float most;
        double sum = 0.0;
        row_load(node->in[0], &w, around, row);
        most = scale_row(row, w.along, beta);
        for (uint64_t i = 0; i < w.along; ++i) {
            const float power = expf(row[i] -= most);
            sum += (double)power;
            row[i] = logarithm ? row[i] : power;
        }
        if (!logarithm)
            divide_row(row, w.along, sum);
        for (uint64_t i = 0; logarithm && i < w.along; ++i)
            row[i] = (float)((double)row[i] - log(sum));
        row_store(node->out[0], &w, around, row);
    }
    return 1;
}

/* ---- table ----------------------------------------------------------------------------------- */

static const ref_param_spec axes_norm_params[] = {
    { "axes", REF_U32, REF_REQUIRED | REF_TENSOR }, { "epsilon", REF_F32, 0 }, { NULL, 0, 0 }
};
static const ref_param_spec instance_params[] = {
    { "epsilon", REF_F32, 0 }, { "mode", REF_U32, 0 }, { "normalize_variance", REF_BOOL, 0 },
    { "region", REF_U32, 0 }, { NULL, 0, 0 }
};
static const ref_param_spec group_params[] = {
    { "epsilon", REF_F32, REF_REQUIRED }, { "group", REF_U32, REF_REQUIRED }, { NULL, 0, 0 }
};
static const ref_param_spec l2_params[] = {
    { "axis", REF_U32, 0 }, { "axes", REF_U32, REF_TENSOR }, { "epsilon", REF_F32, 0 },
    { NULL, 0, 0 }
};
static const ref_param_spec softmax_params[] = {
    { "axis", REF_U32, 0 }, { "beta", REF_F32, 0 }, { NULL, 0, 0 }
};
static const ref_param_spec log_softmax_params[] = {
    { "axis", REF_U32, REF_REQUIRED }, { "beta", REF_F32, 0 }, { NULL, 0, 0 }
};

const ref_op ref_ops_norm[] = {
    { "RmsNorm", REF_T_REAL, 2, 3, 1, 1, axes_norm_params, axes_norm_check, axes_norm_scratch,
      axes_norm_run },
    { "LayerNorm", REF_T_REAL, 1, 3, 1, 1, axes_norm_params, axes_norm_check, axes_norm_scratch,
      axes_norm_run },
    { "Batchnorm", REF_T_REAL, 3, 3, 1, 1, NULL, channel_gain_check, batchnorm_scratch,
      batchnorm_run },
    { "InstanceNorm", REF_T_REAL, 3, 3, 1, 1, instance_params, instance_check, image_scratch,
      image_run },
    { "GroupNorm", REF_T_REAL, 3, 3, 1, 1, group_params, group_check, image_scratch, image_run },
    { "L2Norm", REF_T_REAL, 1, 1, 1, 1, l2_params, l2_check, l2_scratch, l2_run },
    { "Softmax", REF_T_REAL, 1, 1, 1, 1, softmax_params, softmax_check, softmax_scratch,
      softmax_run },
    { "LogSoftmax", REF_T_REAL, 1, 1, 1, 1, log_softmax_params, softmax_check, softmax_scratch,
      softmax_run },
    { NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
};
