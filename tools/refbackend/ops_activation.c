/* ops_activation.c - activation functions of real tensors */
#include "ref_op.h"

#include <math.h>
#include <string.h>

/* The first nine values are those of ElementWiseNeuron's parameter. */
enum { ELU, GELU, HARD_SIGMOID, HARD_SWISH, RELU, RELU_MIN_MAX, SIGMOID, SOFTPLUS, TANH, NEURONS,
       RELU1 = NEURONS, RELU6 };

static const struct { const char *type; uint32_t function; } functions[] = {
    { "Elu", ELU },     { "Gelu", GELU },   { "HardSwish", HARD_SWISH },    { "Relu", RELU },
    { "Relu1", RELU1 }, { "Relu6", RELU6 }, { "ReluMinMax", RELU_MIN_MAX }, { "Sigmoid", SIGMOID },
    { "Tanh", TANH }
};

static const ref_param_spec neuron_params[] = { { "operation", REF_U32, REF_REQUIRED },
                                                { "alpha", REF_F32, 0 },
                                                { "beta", REF_F32, 0 },
                                                { "min_value", REF_F32, 0 },
                                                { "max_value", REF_F32, 0 },
                                                { "threshold", REF_F32, 0 },
                                                { NULL, 0, 0 } };
static const ref_param_spec elu_params[] = { { "alpha", REF_F32, 0 }, { NULL, 0, 0 } };
static const ref_param_spec min_max_params[] = {
    { "min_value", REF_F32, REF_REQUIRED }, { "max_value", REF_F32, REF_REQUIRED }, { NULL, 0, 0 }
};

static uint32_t function_of(const ref_node *node)
{
    uint32_t i = 0;
    if (node->op->params == neuron_params)
        return (uint32_t)ref_param_value(node, "operation", NEURONS);
    while (strcmp(functions[i].type, node->op->type) != 0)
        ++i;
    return functions[i].function;
}

static float between(float x, float least, float most)
{
    return x < least ? least : x > most ? most : x;
}

/* Compute log(1 + exp(beta x)) / beta, or x where the two are equal in float32. */
static float softplus(float x, float beta, float threshold)
{
    return beta * x > threshold ? x : log1pf(expf(beta * x)) / beta;
}

static void activate(const ref_node *node, uint32_t function, float *v, uint64_t count)
{
    const float alpha = (float)ref_param_value(node, "alpha", function == HARD_SIGMOID ? 0.2 : 1.0);
    const float beta = (float)ref_param_value(node, "beta", function == HARD_SIGMOID ? 0.5 : 1.0);
    const float least = (float)ref_param_value(node, "min_value", 0.0);
    const float most = (float)ref_param_value(node, "max_value", 0.0);
    const float threshold = (float)ref_param_value(node, "threshold", 20.0);
    switch (function) {
    case ELU:          REF_EACH(x > 0.0f ? x : alpha * expm1f(x)) break;
    /* Compute x/2 * (1 + erf(x / sqrt 2)); erfc keeps the small values of the left side. */
    case GELU:         REF_EACH(0.5f * x * erfcf(x * -0.70710678f)) break;
    case HARD_SIGMOID: REF_EACH(between(alpha * x + beta, 0.0f, 1.0f)) break;
    case HARD_SWISH:   REF_EACH(x * between(x + 3.0f, 0.0f, 6.0f) / 6.0f) break;
    case RELU:         REF_EACH(0.0f > x ? 0.0f : x) break;
    case RELU_MIN_MAX: REF_EACH(between(x, least, most)) break;
    case SIGMOID:      REF_EACH(1.0f / (1.0f + expf(-x))) break;
    case SOFTPLUS:     REF_EACH(softplus(x, beta, threshold)) break;
    case TANH:         REF_EACH(tanhf(x)) break;
    case RELU1:        REF_EACH(between(x, -1.0f, 1.0f)) break;
    case RELU6:        REF_EACH(between(x, 0.0f, 6.0f)) break;
    default: break;
    }
}

static int activation_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const uint32_t function = function_of(node);
    if (node->op->params == neuron_params && function >= NEURONS)
        return ref_refuse(why, "parameter \"operation\" is %.17g, expected 0 to %d",
                          ref_param_value(node, "operation", 0), NEURONS - 1);
    if (function == RELU_MIN_MAX) {
        const ref_param *least = ref_param_find(node, "min_value"),
                        *most = ref_param_find(node, "max_value");
        if (least == NULL || most == NULL)
            return ref_refuse(why, "operation %d (RELU_MIN_MAX) needs both \"min_value\" and"
                              " \"max_value\"", RELU_MIN_MAX);
        if (!(least->value <= most->value))
            return ref_refuse(why, "\"min_value\" %g is above \"max_value\" %g", least->value,
                              most->value);
    }
    if (function == SOFTPLUS && !(ref_param_value(node, "beta", 1.0) > 0.0))
        return ref_refuse(why, "parameter \"beta\" is %g, operation %d (SOFTPLUS) expects a number"
                          " above 0", ref_param_value(node, "beta", 1.0), SOFTPLUS);
    return ref_expect_like(node->out[0], "output 0", x, why);
}

static int activation_run(const ref_node *node, void *scratch, ref_why *why)
{
    (void)why;
    return ref_each(node, function_of(node), activate, scratch);
}

/* ---- Prelu: x where x > 0, else x times a number per place of the last dimension ------------- */

static int prelu_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0], *alpha = node->in[1];
    const uint32_t channels = x->dims[x->rank - 1];
    char text[REF_SHAPE_TEXT];
    if (alpha->count != 1 && (alpha->count != channels || alpha->dims[alpha->rank - 1] != channels))
        return ref_refuse(why, "input 1 \"%s\" is %s, expected [1] or the last dimension of input"
                          " 0, [%u]", alpha->name, ref_shape_text(alpha, text), (unsigned)channels);
    if (ref_is_quantized(x->dtype)) {
        if ((ref_type_bit(alpha->dtype) & REF_T_QUANT) == 0)
            return ref_refuse(why, "input 1 \"%s\" is %s, expected an 8- or 16-bit fixed-point type"
                              " as input 0 is %s", alpha->name, ref_type_name(alpha->dtype),
                              ref_type_name(x->dtype));
    } else if (!ref_expect_type(alpha, "input 1", x->dtype, why)) {
        return 0;
    }
    return ref_expect_like(node->out[0], "output 0", x, why);
}

/* A chunk of x, then the values of alpha. The sum does not overflow, since x has as many values as
   alpha. */
static size_t prelu_scratch(const ref_node *node)
{
    return (REF_CHUNK + (size_t)node->in[1]->count) * sizeof(float);
}

static int prelu_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *alpha = node->in[1];
    float *v = scratch, *slopes = v + REF_CHUNK;
    (void)why;
    ref_load(alpha, 0, alpha->count, slopes);
    for (uint64_t done = 0, n; done < x->count; done += n) {
        n = x->count - done < REF_CHUNK ? x->count - done : REF_CHUNK;
        ref_load(x, done, n, v);
        for (uint64_t i = 0; i < n; ++i)
            v[i] = v[i] > 0.0f ? v[i] : v[i] * slopes[(done + i) % alpha->count];
        ref_store(node->out[0], done, n, v);
    }
    return 1;
}

#define ACTIVATION(type, params)                                                                   \
    { type, REF_T_REAL, 1, 1, 1, 1, params, activation_check, ref_chunk_scratch, activation_run }
const ref_op ref_ops_activation[] = {
    ACTIVATION("Relu", NULL), ACTIVATION("Relu1", NULL), ACTIVATION("Relu6", NULL),
    ACTIVATION("ReluMinMax", min_max_params), ACTIVATION("Sigmoid", NULL), ACTIVATION("Tanh", NULL),
    ACTIVATION("Gelu", NULL), ACTIVATION("HardSwish", NULL), ACTIVATION("Elu", elu_params),
    ACTIVATION("ElementWiseNeuron", neuron_params),
    { "Prelu", REF_T_REAL, 2, 2, 1, 1, NULL, prelu_check, prelu_scratch, prelu_run },
    { NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
};
