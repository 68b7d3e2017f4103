/* qnnrt_quirks.h - part of qnnrt v0.5.0 - operators that Qualcomm's libraries compute wrong

   A library's own answer, qnnrt_builder_supports(), is not enough to build a model that is right:
   some nodes it accepts compute something else, fail when they run, or end the process. This table
   lists them, as measured on the x86-64 libraries 2.47 (CPU, HTP) and 2.51 (HTP), each with the
   types and shapes that are affected:

       #include "qnnrt_builder.h"
       #include "qnnrt_quirks.h"

       const qnnrt_tensor_desc *in[2] = { &x, &indices }, *out[1] = { &y };
       qnnrt_quirk_node node = { "Gather", in, 2, out, 1, params, 1 };
       const qnnrt_quirk *known = qnnrt_quirk_find("Htp", info->build_id, &node);
       if (known != NULL) printf("%s: %s. %s\n", known->name, known->why, known->instead);

   Refusals are listed, too, with what to use instead: qnnrt_quirk_refusal() explains one.
   tests/ref/ops.c checks every line of the table on the genuine libraries: each must still happen,
   and a node that a line applies to must not be right.

   Its functions are static and allocate nothing. No data of tensors is read.
*/
#ifndef QNNRT_QUIRKS_H
#define QNNRT_QUIRKS_H

#include "qnnrt_builder.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_quirks.h 0.5.0 needs qnnrt.h of the same version"
#endif

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum qnnrt_quirk_what {
    QNNRT_QUIRK_REFUSED = 1,    /* the library refuses the node, with .code; 0: compose refuses it,
                                   because the call would end the process */
    QNNRT_QUIRK_EXEC_FAILED,    /* accepted; fails when it runs, with .code */
    QNNRT_QUIRK_CRASHES,        /* accepted; ends the process when it runs */
    QNNRT_QUIRK_DIFFERS,        /* accepted; computes something else */
    QNNRT_QUIRK_SOMETIMES,      /* the same, for some of these nodes: avoid them all */
    QNNRT_QUIRK_VALUES,         /* the same, depending on the values of the inputs */
    QNNRT_QUIRK_EXTREMES,       /* the same, for values that a model should not have: out of range,
                                   halfway between two results, ... */
    QNNRT_QUIRK_MAY_CRASH       /* as SOMETIMES, and some of these nodes end the process */
} qnnrt_quirk_what;

/* A node, described as for a builder. An input that is left out is NULL. */
typedef struct qnnrt_quirk_node {
    const char                     *type;
    const qnnrt_tensor_desc *const *inputs;
    size_t                          input_count;
    const qnnrt_tensor_desc *const *outputs;
    size_t                          output_count;
    const qnnrt_param_desc         *params;
    size_t                          param_count;
} qnnrt_quirk_node;

/* A line of the table. Lists have spaces between their words; "*" is all. */
typedef struct qnnrt_quirk {
    const char      *name;
    const char      *backends;              /* "Cpu Htp Htp-2.47" */
    qnnrt_quirk_what what;
    uint32_t         code;                  /* the vendor's, in 16 bits */
    const char      *ops, *dtypes;          /* dtypes: of the data, see qnnrt_quirk__dtype() */
    int            (*when)(const qnnrt_quirk_node *node);   /* NULL: always */
    const char      *why;
    const char      *instead;               /* one sentence, or "" */
} qnnrt_quirk;

#define QNNRT_QUIRK__API static __attribute__((unused))

/* ---- reading a node ---- */

QNNRT_QUIRK__API int qnnrt_quirk__listed(const char *list, const char *word, size_t length)
{
    if (strcmp(list, "*") == 0) return 1;
    while (*list != '\0') {
        size_t n = strcspn(list, " ");
        if (n == length && strncmp(list, word, n) == 0) return 1;
        list += n + (list[n] == ' ');
    }
    return 0;
}

static const qnnrt_tensor_desc *qnnrt_quirk__in(const qnnrt_quirk_node *node, size_t i)
{
    return i < node->input_count ? node->inputs[i] : NULL;
}

static const qnnrt_tensor_desc *qnnrt_quirk__out(const qnnrt_quirk_node *node)
{
    return node->output_count > 0 ? node->outputs[0] : NULL;
}

static const qnnrt_param_desc *qnnrt_quirk__param(const qnnrt_quirk_node *node, const char *name)
{
    size_t i;
    for (i = 0; i < node->param_count; ++i)
        if (strcmp(node->params[i].name, name) == 0) return &node->params[i];
    return NULL;
}

/* Return a scalar parameter, or `absent`. */
static double qnnrt_quirk__number(const qnnrt_quirk_node *node, const char *name, double absent)
{
    const qnnrt_param_desc *param = qnnrt_quirk__param(node, name);
    return param != NULL && param->data == NULL ? param->value : absent;
}

/* Return element i of a parameter that is a tensor of 32-bit integers, or `absent`. */
static int32_t qnnrt_quirk__element(const qnnrt_quirk_node *node, const char *name, uint32_t i,
                                    int32_t absent)
{
    const qnnrt_param_desc *param = qnnrt_quirk__param(node, name);
    uint32_t count = 1, k;
    if (param == NULL || param->data == NULL) return absent;
    for (k = 0; k < param->rank; ++k) count *= param->dims[k];
    return i < count ? ((const int32_t *)param->data)[i] : absent;
}

/* Multiply the dimensions from `first` up to but not including `end`. */
static uint64_t qnnrt_quirk__count(const qnnrt_tensor_desc *t, uint32_t first, uint32_t end)
{
    uint64_t count = 1;
    uint32_t i;
    for (i = first; i < end && i < t->rank; ++i) count *= t->dims[i];
    return count;
}

/* Name the dtype of the data that a node computes with: of its first input, except for
   ElementWiseSelect, where that is the condition. */
static const char *qnnrt_quirk__dtype(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *t = qnnrt_quirk__in(node, strcmp(node->type,
    "ElementWiseSelect") == 0);
    if (t == NULL) return "";
    switch (t->dtype) {
    case QNNRT_DTYPE_F16: return "f16";
    case QNNRT_DTYPE_F32: return "f32";
    case QNNRT_DTYPE_U8Q: return "u8";
    case QNNRT_DTYPE_U16Q: return "u16";
    case QNNRT_DTYPE_S8Q: return "s8";
    case QNNRT_DTYPE_S16Q: return "s16";
    case QNNRT_DTYPE_S32Q: return "s32";
    case QNNRT_DTYPE_I32: return "i32";
    case QNNRT_DTYPE_U32: return "u32";
    case QNNRT_DTYPE_BOOL8: return "b8";
    default: return "other";
    }
}

static int qnnrt_quirk__same_quant(const qnnrt_tensor_desc *a, const qnnrt_tensor_desc *b)
{
    return a->quant.encoding == b->quant.encoding && a->quant.scale >= b->quant.scale &&
           a->quant.scale <= b->quant.scale && a->quant.offset == b->quant.offset;
}

static int qnnrt_quirk__is(const qnnrt_quirk_node *node, const char *type)
{
    return strcmp(node->type, type) == 0;
}

/* ---- conditions, by operator ---- */

static int qnnrt_quirk__not_conversion(const qnnrt_quirk_node *node)
{
    return !qnnrt_quirk__is(node, "Cast") && !qnnrt_quirk__is(node, "Convert") &&
           !qnnrt_quirk__is(node, "Dequantize");
}

static int qnnrt_quirk__to_f16(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *y = qnnrt_quirk__out(node);
    return y != NULL && y->dtype == QNNRT_DTYPE_F16;
}

static int qnnrt_quirk__to_bool(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *y = qnnrt_quirk__out(node);
    return y != NULL && y->dtype == QNNRT_DTYPE_BOOL8;
}

static int qnnrt_quirk__to_i32(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *y = qnnrt_quirk__out(node);
    return y != NULL && y->dtype == QNNRT_DTYPE_I32;
}

static int qnnrt_quirk__to_u32(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *y = qnnrt_quirk__out(node);
    return y != NULL && y->dtype == QNNRT_DTYPE_U32;
}

/* The weight, which is input 1. */
static int qnnrt_quirk__blocks(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *w = qnnrt_quirk__in(node, 1);
    return w != NULL && w->blocks != NULL;
}

static int qnnrt_quirk__channels(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *w = qnnrt_quirk__in(node, 1);
    return w != NULL && w->blocks == NULL && w->quant.encoding == QNNRT_ENCODING_PER_AXIS;
}

static int qnnrt_quirk__weight_not_u8(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *w = qnnrt_quirk__in(node, 1);
    return w != NULL && w->dtype != QNNRT_DTYPE_U8Q;
}

static int qnnrt_quirk__two_inputs(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__in(node, 2) == NULL;
}

static int qnnrt_quirk__three_inputs(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__in(node, 2) != NULL;
}

static int qnnrt_quirk__fails_u8(const qnnrt_quirk_node *node)
{
    int operation = (int)qnnrt_quirk__number(node, "operation", -1);
    if (qnnrt_quirk__is(node, "ElementWiseBinary")) return operation == 17;
    if (qnnrt_quirk__is(node, "ElementWiseNeuron")) return operation == 2 || operation == 7;
    return 1;
}

static int qnnrt_quirk__wrong_u8(const qnnrt_quirk_node *node)
{
    int operation = (int)qnnrt_quirk__number(node, "operation", -1);
    if (qnnrt_quirk__is(node, "ElementWiseUnary")) return operation == 4;
    if (qnnrt_quirk__is(node, "ElementWiseNeuron"))
        return operation == 0 || operation == 1 || operation == 4;
    if (qnnrt_quirk__is(node, "Relu"))
        return qnnrt_quirk__in(node, 0) != NULL && qnnrt_quirk__out(node) != NULL &&
               qnnrt_quirk__out(node)->quant.offset != 0;
    return 1;
}

static int qnnrt_quirk__other_quant(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0), *y = qnnrt_quirk__out(node);
    return x != NULL && y != NULL && !qnnrt_quirk__same_quant(x, y);
}

static int qnnrt_quirk__offset(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__out(node) != NULL && qnnrt_quirk__out(node)->quant.offset != 0;
}

static int qnnrt_quirk__count_pads(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__number(node, "count_pad_for_edges", 0) > 0;
}

static int qnnrt_quirk__reduction_add(const qnnrt_quirk_node *node)
{
    return (int)qnnrt_quirk__number(node, "reduction", 0) == 1;
}

static int qnnrt_quirk__reduction(const qnnrt_quirk_node *node)
{
    return (int)qnnrt_quirk__number(node, "reduction", 0) != 0;
}

static int qnnrt_quirk__axis_not_0(const qnnrt_quirk_node *node)
{
    return (int)qnnrt_quirk__number(node, "axis", 0) != 0;
}

/* The axis, or one of the axes, is not the last. */
static int qnnrt_quirk__not_last(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    if (x == NULL || x->rank == 0) return 0;
    return (int)qnnrt_quirk__number(node, "axis", x->rank - 1) != (int)x->rank - 1 ||
           qnnrt_quirk__element(node, "axes", 0, (int32_t)x->rank - 1) != (int32_t)x->rank - 1;
}

static int qnnrt_quirk__scheme(const qnnrt_quirk_node *node)
{
    return (int)qnnrt_quirk__number(node, "scheme", 0);
}

/* Count the axes that pad_amount pads. */
static uint32_t qnnrt_quirk__padded(const qnnrt_quirk_node *node, uint32_t first)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    uint32_t i, count = 0;
    for (i = first; x != NULL && i < x->rank; ++i)
        count += qnnrt_quirk__element(node, "pad_amount", 2 * i, 0) > 0 ||
                 qnnrt_quirk__element(node, "pad_amount", 2 * i + 1, 0) > 0;
    return count;
}

static int qnnrt_quirk__symmetric(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__scheme(node) == 1;
}

static int qnnrt_quirk__edge(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    return qnnrt_quirk__scheme(node) == 3 && x != NULL &&
           qnnrt_quirk__padded(node, x->rank - 1) > 0;
}

static int qnnrt_quirk__mixed(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__number(node, "group", 1) > 1 &&
           qnnrt_quirk__element(node, "dilation", 0, 1) > 1;
}

static int qnnrt_quirk__has_axes(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__param(node, "axes") != NULL;
}

static int qnnrt_quirk__has_beta(const qnnrt_quirk_node *node)
{
    double beta = qnnrt_quirk__number(node, "beta", 1);
    return beta < 1 || beta > 1;
}

static int qnnrt_quirk__ceil(const qnnrt_quirk_node *node)
{
    return (int)qnnrt_quirk__number(node, "rounding_mode", 0) == 1;
}

static int qnnrt_quirk__sign_i32(const qnnrt_quirk_node *node)
{
    return !qnnrt_quirk__is(node, "ElementWiseUnary") ||
           (int)qnnrt_quirk__number(node, "operation", -1) == 13;
}

static int qnnrt_quirk__unary(const qnnrt_quirk_node *node)
{
    int operation = (int)qnnrt_quirk__number(node, "operation", -1);
    return operation == 1 || operation == 10;
}

static int qnnrt_quirk__rms_rows(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    if (x == NULL || x->rank < 3) return 0;
    if (x->rank == 4) return x->dims[1] > 8;
    return x->dims[0] > 8 || (x->dims[0] > 1 && x->dims[1] >= 16 && x->dims[1] % 8 == 0);
}

static int qnnrt_quirk__keep_dims(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__number(node, "keep_dims", 0) > 0;
}

static int qnnrt_quirk__not_1x1(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *w = qnnrt_quirk__in(node, 1);
    return qnnrt_quirk__channels(node) && w->rank == 4 && (w->dims[0] > 1 || w->dims[1] > 1);
}

static int qnnrt_quirk__blocks_not_1x1(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *w = qnnrt_quirk__in(node, 1);
    return qnnrt_quirk__blocks(node) && w->rank == 4 && (w->dims[0] > 1 || w->dims[1] > 1);
}

static int qnnrt_quirk__not_1x1_of_8(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *w = qnnrt_quirk__in(node, 1);
    return qnnrt_quirk__channels(node) && w->rank == 4 &&
           (w->dims[0] > 1 || w->dims[1] > 1 || w->dims[2] % 8 != 0);
}

/* Weights of a channel that do not fill whole words of 32 bits, in more than 32 channels. */
static int qnnrt_quirk__odd_rows(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *w = qnnrt_quirk__in(node, 1);
    uint32_t channels, inputs;
    if (!qnnrt_quirk__channels(node) || w->rank < 2) return 0;
    channels = w->dims[w->rank - 1];
    inputs = w->dims[w->rank - 2];
    if (qnnrt_quirk__is(node, "FullyConnected") ||
        (qnnrt_quirk__is(node, "MatMul") && qnnrt_quirk__number(node, "transpose_in1", 0) != 0)) {
        channels = w->dims[w->rank - 2];
        inputs = w->dims[w->rank - 1];
    }
    return channels > 32 && inputs % (w->quant.bitwidth == 4 ? 8 : 4) != 0;
}

static int qnnrt_quirk__blocks_group(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__blocks(node) && qnnrt_quirk__number(node, "group", 1) > 1;
}

static int qnnrt_quirk__channels_group(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__channels(node) && qnnrt_quirk__number(node, "group", 1) > 1;
}

static int qnnrt_quirk__channels_rank3(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__channels(node) && qnnrt_quirk__in(node, 1)->rank > 2;
}

static int qnnrt_quirk__gather(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0), *i = qnnrt_quirk__in(node, 1);
    uint32_t axis = (uint32_t)qnnrt_quirk__number(node, "axis", 0);
    return x != NULL && i != NULL && i->rank == 1 && i->kind != QNNRT_TENSOR_STATIC && axis > 0 &&
           axis + 2 == x->rank && qnnrt_quirk__count(x, 0, axis) > 1;
}

static int qnnrt_quirk__broadcast(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *a = qnnrt_quirk__in(node, 0), *b = qnnrt_quirk__in(node, 1);
    const qnnrt_tensor_desc *z = qnnrt_quirk__out(node);
    uint64_t count = z != NULL ? qnnrt_quirk__count(z, 0, z->rank) : 0;
    return a != NULL && b != NULL && (qnnrt_quirk__count(a, 0, a->rank) != count ||
                                      qnnrt_quirk__count(b, 0, b->rank) != count);
}

/* Both operands repeat, and neither is static. */
static int qnnrt_quirk__both_repeat(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *z = qnnrt_quirk__out(node);
    const uint64_t count = z != NULL ? qnnrt_quirk__count(z, 0, z->rank) : 0;
    size_t i;
    for (i = 0; i < 2; ++i) {
        const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, i);
        if (x == NULL || x->kind == QNNRT_TENSOR_STATIC ||
            qnnrt_quirk__count(x, 0, x->rank) == count) return 0;
    }
    return 1;
}

static int qnnrt_quirk__softplus(const qnnrt_quirk_node *node)
{
    return (int)qnnrt_quirk__number(node, "operation", -1) == 7;
}

static int qnnrt_quirk__cumulative_forward(const qnnrt_quirk_node *node)
{
    return !(qnnrt_quirk__number(node, "reverse", 0) > 0);
}

static int qnnrt_quirk__cumulative_other(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__not_last(node) || qnnrt_quirk__number(node, "reverse", 0) > 0 ||
           qnnrt_quirk__number(node, "exclusive", 0) > 0;
}

static int qnnrt_quirk__shifted(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    if (qnnrt_quirk__is(node, "Softmax")) return 1;
    return x != NULL && x->kind != QNNRT_TENSOR_STATIC &&
           (int)qnnrt_quirk__number(node, "axis", 0) == 0;
}

static int qnnrt_quirk__pad_f32(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    return qnnrt_quirk__scheme(node) == 0 && x != NULL && x->rank == 2 &&
           qnnrt_quirk__padded(node, 0) == 2;
}

static int qnnrt_quirk__pad_value(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    double value = qnnrt_quirk__number(node, "pad_constant_value", 0);
    return qnnrt_quirk__scheme(node) == 0 && x != NULL && x->rank >= 4 &&
           qnnrt_quirk__padded(node, 0) > 2 && (value < 0 || value > 0);
}

static int qnnrt_quirk__reflect(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    return qnnrt_quirk__scheme(node) == 2 && x != NULL && x->rank > 2 &&
           qnnrt_quirk__padded(node, 0) > 0;
}

static int qnnrt_quirk__gather_rank5(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0), *i = qnnrt_quirk__in(node, 1);
    return x != NULL && i != NULL && x->rank == 4 && i->rank == 2 && x->dims[0] > 1 &&
           (int)qnnrt_quirk__number(node, "axis", 0) > 0;
}

static int qnnrt_quirk__tile_rank5(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0), *y = qnnrt_quirk__out(node);
    return x != NULL && y != NULL && x->rank == 5 &&
           qnnrt_quirk__count(x, 0, 5) == qnnrt_quirk__count(y, 0, 5);
}

static int qnnrt_quirk__matmul_rank5(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *y = qnnrt_quirk__out(node);
    return y != NULL && y->rank == 5;
}

static int qnnrt_quirk__matmul_transposed(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *w = qnnrt_quirk__in(node, 1);
    return w != NULL && w->kind == QNNRT_TENSOR_STATIC && w->rank > 2 &&
           qnnrt_quirk__count(w, 0, w->rank - 2) > 1 &&
           qnnrt_quirk__number(node, "transpose_in0", 0) > 0 &&
           qnnrt_quirk__number(node, "transpose_in1", 0) > 0;
}

static int qnnrt_quirk__multiplier(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0), *w = qnnrt_quirk__in(node, 1);
    return x != NULL && w != NULL && x->rank == 4 && w->rank == 4 && w->dims[3] > x->dims[3];
}

static int qnnrt_quirk__multiplier_dilated(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__multiplier(node) && (qnnrt_quirk__element(node, "dilation", 0, 1) > 1 ||
                                             qnnrt_quirk__element(node, "dilation", 1, 1) > 1);
}

static int qnnrt_quirk__not_static(const qnnrt_quirk_node *node)
{
    size_t i;
    for (i = 1; i < node->input_count; ++i)
        if (node->inputs[i] != NULL && node->inputs[i]->kind != QNNRT_TENSOR_STATIC) return 1;
    return 0;
}

static int qnnrt_quirk__output_padding(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *w = qnnrt_quirk__in(node, 1);
    uint32_t i;
    if (w == NULL || w->rank != 4) return 0;
    for (i = 0; i < 2; ++i)
        if (w->dims[i] > 1 && qnnrt_quirk__element(node, "output_padding", i, 0) >
                              qnnrt_quirk__element(node, "pad_amount", 2 * i + 1, 0)) return 1;
    return 0;
}

static int qnnrt_quirk__select_rank5(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *z = qnnrt_quirk__out(node);
    size_t i;
    if (z == NULL || z->rank != 5 || z->dims[0] == 1) return 0;
    for (i = 0; i < node->input_count; ++i) {
        const qnnrt_tensor_desc *t = node->inputs[i];
        if (t != NULL && t->rank == 5 && t->dims[0] == 1 &&
            (i > 0 || qnnrt_quirk__count(t, 0, 5) > 1)) return 1;
    }
    return 0;
}

static int qnnrt_quirk__select_single(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *a = qnnrt_quirk__in(node, 1), *b = qnnrt_quirk__in(node, 2);
    const qnnrt_tensor_desc *z = qnnrt_quirk__out(node);
    return z != NULL && a != NULL && b != NULL && qnnrt_quirk__count(z, 0, z->rank) > 1 &&
           (qnnrt_quirk__count(a, 0, a->rank) == 1 || qnnrt_quirk__count(b, 0, b->rank) == 1);
}

static int qnnrt_quirk__rank5(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    return x != NULL && x->rank == 5;
}

static int qnnrt_quirk__axis_of_1(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    const double axis = qnnrt_quirk__number(node, "axis", x != NULL ? x->rank - 1. : 0);
    return x != NULL && axis >= 0 && axis < x->rank && x->dims[(int)axis] == 1;
}

static int qnnrt_quirk__rank2_not_last(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    return x != NULL && x->rank == 2 && qnnrt_quirk__not_last(node);
}

static int qnnrt_quirk__rank5_broadcast(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *z = qnnrt_quirk__out(node);
    return z != NULL && z->rank == 5 && qnnrt_quirk__broadcast(node);
}

static int qnnrt_quirk__to_one_line(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0), *y = qnnrt_quirk__out(node);
    return x != NULL && y != NULL && x->rank == 4 && y->rank == 4 &&
           qnnrt_quirk__number(node, "half_pixel_centers", 0) > 0 &&
           ((y->dims[1] == 1 && x->dims[1] > 1) || (y->dims[2] == 1 && x->dims[2] > 1));
}

static int qnnrt_quirk__padded_windows(const qnnrt_quirk_node *node)
{
    uint32_t i;
    for (i = 0; i < 4; ++i)
        if (qnnrt_quirk__element(node, "pad_amount", i, 0) > 0) return 1;
    return 0;
}

static int qnnrt_quirk__max_column(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__element(node, "filter_size", 1, 0) == 1 &&
           qnnrt_quirk__element(node, "stride", 0, 0) == 2 &&
           qnnrt_quirk__element(node, "stride", 1, 0) == 2 &&
           qnnrt_quirk__element(node, "pad_amount", 0, 0) > 0;
}

static int qnnrt_quirk__average_pads(const qnnrt_quirk_node *node)
{
    const int32_t kh = qnnrt_quirk__element(node, "filter_size", 0, 1);
    const int32_t kw = qnnrt_quirk__element(node, "filter_size", 1, 1);
    const int32_t sh = qnnrt_quirk__element(node, "stride", 0, 1);
    const int32_t sw = qnnrt_quirk__element(node, "stride", 1, 1);
    const int32_t above = qnnrt_quirk__element(node, "pad_amount", 0, 0);
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    uint32_t i, equal = 1;
    if (x == NULL || x->rank != 4 || !qnnrt_quirk__padded_windows(node)) return 0;
    if ((int32_t)x->dims[1] < kh || (int32_t)x->dims[2] < kw) return 1;
    for (i = 1; i < 4; ++i) equal &= qnnrt_quirk__element(node, "pad_amount", i, 0) == above;
    if (kh == kw && kh % 2 == 1 && equal) return 0;
    return sh == 1 || sw == 1 || (kh == 2 && kw == 2);
}

static int qnnrt_quirk__multiplier_other(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0), *w = qnnrt_quirk__in(node, 1);
    if (x == NULL || w == NULL || x->rank != 4) return 0;
    if (x->dims[3] == 1) return 1;
    return qnnrt_quirk__multiplier(node) && (w->kind != QNNRT_TENSOR_STATIC ||
                                             qnnrt_quirk__element(node, "stride", 0, 1) > 1 ||
                                             qnnrt_quirk__element(node, "stride", 1, 1) > 1);
}

static int qnnrt_quirk__max_pads(const qnnrt_quirk_node *node)
{
    return qnnrt_quirk__element(node, "filter_size", 0, 0) == 2 &&
           qnnrt_quirk__element(node, "filter_size", 1, 0) == 2 &&
           qnnrt_quirk__element(node, "stride", 0, 0) == 2 &&
           qnnrt_quirk__element(node, "stride", 1, 0) == 2 && qnnrt_quirk__padded_windows(node);
}

static int qnnrt_quirk__gather_nd(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0), *i = qnnrt_quirk__in(node, 1);
    return x != NULL && i != NULL && x->rank == 4 && i->rank > 0 && i->dims[i->rank - 1] == 1;
}

static int qnnrt_quirk__last_of_two(const qnnrt_quirk_node *node)
{
    const qnnrt_tensor_desc *x = qnnrt_quirk__in(node, 0);
    return x != NULL && x->rank > 0 && x->dims[x->rank - 1] == 2 && !qnnrt_quirk__not_last(node);
}

/* ---- the table ---- */

#define QNNRT_QUIRK__FLOAT   "Use float32."

/* Lines of one name follow each other. */
static const qnnrt_quirk qnnrt_quirks[] = {
/* libQnnCpu.so */
{ "cpu-no-f16", "Cpu", QNNRT_QUIRK_REFUSED, 0xC26, "*", "f16", qnnrt_quirk__not_conversion,
  "the CPU library has no float16, except in Cast, Convert and Dequantize", QNNRT_QUIRK__FLOAT },
{ "cpu-no-u16", "Cpu", QNNRT_QUIRK_REFUSED, 0xC26, "*", "u16", qnnrt_quirk__not_conversion,
  "the CPU library has no 16-bit quantization, except in Quantize, Dequantize and Convert",
  QNNRT_QUIRK__FLOAT },
{ "cpu-no-signed", "Cpu", QNNRT_QUIRK_REFUSED, 0xC26, "*", "s8 s16", qnnrt_quirk__not_conversion,
  "the CPU library does not compute with signed quantized values", QNNRT_QUIRK__FLOAT },
{ "cpu-would-crash", "Cpu", QNNRT_QUIRK_REFUSED, 0,
  "Split StridedSlice Argmax Argmin TopK ResizeBilinear ResizeNearestNeighbor", "f16 u16 s8 s16",
  NULL,
  "its validator would crash on these types: compose does not call it", QNNRT_QUIRK__FLOAT },
{ "cpu-dequantize", "Cpu", QNNRT_QUIRK_REFUSED, 0xC26, "Dequantize", "u8 u16", qnnrt_quirk__to_f16,
  "it dequantizes to float32 only", "Dequantize to float32, then use Cast." },
{ "cpu-blocks", "Cpu", QNNRT_QUIRK_REFUSED, 0, "Conv2d", "f16 u8 u16", qnnrt_quirk__blocks,
  "block-wise weights would crash it: compose does not call it", QNNRT_QUIRK__FLOAT },
{ "cpu-blocks", "Cpu", QNNRT_QUIRK_DIFFERS, 0, "FullyConnected", "u8", qnnrt_quirk__blocks,
  "block-wise weights are accepted, and their scales are not used", QNNRT_QUIRK__FLOAT },
{ "cpu-channels", "Cpu", QNNRT_QUIRK_DIFFERS, 0, "FullyConnected", "u8", qnnrt_quirk__channels,
  "scales per channel are accepted, but one scale is used for all", "Use one scale, or float32." },
{ "cpu-weights", "Cpu", QNNRT_QUIRK_REFUSED, 0xC26, "MatMul", "u8", qnnrt_quirk__weight_not_u8,
  "MatMul accepts u8 with u8 only", "Quantize the other operand to u8, or use float32." },
{ "cpu-needs-bias", "Cpu", QNNRT_QUIRK_REFUSED, 0x1770, "Conv2d DepthWiseConv2d", "u8",
  qnnrt_quirk__two_inputs,
  "quantized convolutions need a bias", "Give a bias of zeros." },
{ "cpu-epsilon", "Cpu", QNNRT_QUIRK_VALUES, 0, "RmsNorm", "f32", NULL,
  "epsilon is added outside the root: x / (sqrt(mean) + epsilon)",
  "Compute it with ElementWiseMultiply, ReduceMean, ElementWiseAdd and ElementWiseRsqrt." },
{ "cpu-no-u8", "Cpu", QNNRT_QUIRK_REFUSED, 0xC26,
  "LogSoftmax Elu ElementWiseCos ElementWiseSign GatherElements", "u8", NULL,
  "the CPU library does not have it in 8 bits", QNNRT_QUIRK__FLOAT },
{ "cpu-no-u8", "Cpu", QNNRT_QUIRK_EXEC_FAILED, 0x1770,
  "ElementWiseSquaredDifference ElementWiseBinary ElementWiseNeuron", "u8", qnnrt_quirk__fails_u8,
  "the CPU library does not have it in 8 bits", QNNRT_QUIRK__FLOAT },
{ "cpu-wrong-u8", "Cpu", QNNRT_QUIRK_DIFFERS, 0,
  "Gelu ElementWiseNeuron ElementWiseUnary ElementWiseFloorDiv CumulativeSum Relu", "u8",
  qnnrt_quirk__wrong_u8,
  "the CPU library accepts 8 bits without an error and computes wrong values", QNNRT_QUIRK__FLOAT },
{ "cpu-raw-u8", "Cpu", QNNRT_QUIRK_DIFFERS, 0, "ReduceMax StridedSlice", "u8",
  qnnrt_quirk__other_quant,
  "quantized values are copied as they are, as if the output had the encoding of the input",
  "Give the output the encoding of the input, and use Convert." },
{ "cpu-count-pads", "Cpu", QNNRT_QUIRK_DIFFERS, 0, "PoolAvg2d", "u8", qnnrt_quirk__count_pads,
  "count_pad_for_edges is ignored in 8 bits", QNNRT_QUIRK__FLOAT },
{ "cpu-convert", "Cpu", QNNRT_QUIRK_DIFFERS, 0, "Convert", "*", NULL,
  "offsets of unsigned types are used with the wrong sign", "Use Quantize and Dequantize." },
{ "cpu-scatter-add", "Cpu", QNNRT_QUIRK_DIFFERS, 0, "ScatterNd", "u8", qnnrt_quirk__reduction_add,
  "data and updates are added as stored: 1 off, which is more than 2 steps here",
  QNNRT_QUIRK__FLOAT },
{ "cpu-scatter", "Cpu", QNNRT_QUIRK_DIFFERS, 0, "ScatterElements", "f32 u8 i32",
  qnnrt_quirk__axis_not_0,
  "does not scatter along the given axis", "Transpose the axis to the front, or use ScatterNd." },
{ "cpu-symmetric", "Cpu", QNNRT_QUIRK_SOMETIMES, 0, "Pad", "f32 u8", qnnrt_quirk__symmetric,
  "MIRROR_SYMMETRIC returns zero bytes", "Use StridedSlice and Concat." },
{ "cpu-reflect", "Cpu", QNNRT_QUIRK_SOMETIMES, 0, "Pad", "f32", qnnrt_quirk__reflect,
  "MIRROR_REFLECT is wrong for most shapes from rank 3 on", "Use StridedSlice and Concat." },
{ "cpu-resize", "Cpu", QNNRT_QUIRK_DIFFERS, 0, "ResizeBilinear", "f32", qnnrt_quirk__to_one_line,
  "half_pixel_centers is wrong where one line remains", "Use MatMul with static weights." },
{ "cpu-softmax-axis", "Cpu", QNNRT_QUIRK_DIFFERS, 0, "Softmax", "u8", qnnrt_quirk__not_last,
  "in 8 bits an axis other than the last is wrong", "Transpose the axis to the end." },
{ "cpu-no-relu1", "Cpu", QNNRT_QUIRK_REFUSED, 0xFA5, "Relu1", "*", NULL,
  "unknown to the CPU library",
  "Use ReluMinMax." },
{ "cpu-cast-large", "Cpu", QNNRT_QUIRK_EXTREMES, 0, "Cast", "f32", qnnrt_quirk__to_i32,
  "values that are too large for int32 become its least number", "" },
{ "cpu-rank5", "Cpu", QNNRT_QUIRK_MAY_CRASH, 0, "ElementWiseAdd ElementWiseSubtract", "u8 i32",
  qnnrt_quirk__rank5_broadcast,
  "broadcast of rank 5 aborts the process while it runs, or is wrong",
  "Use Tile, or Reshape to rank 4." },
{ "cpu-rank5", "Cpu", QNNRT_QUIRK_CRASHES, 0, "ElementWiseAnd ElementWiseOr", "b8",
  qnnrt_quirk__rank5_broadcast,
  "broadcast of rank 5 aborts the process while it runs", "Use Tile, or Reshape to rank 4." },
{ "cpu-rank5", "Cpu", QNNRT_QUIRK_MAY_CRASH, 0, "ElementWiseFloorDiv ElementWiseSquaredDifference",
  "f32", qnnrt_quirk__rank5_broadcast, "broadcast of rank 5 aborts the process while it runs",
  "Use other operators, or Reshape to rank 4." },
{ "cpu-conv-mixed", "Cpu", QNNRT_QUIRK_DIFFERS, 0, "Conv2d", "u8", qnnrt_quirk__mixed,
  "strides, pads, dilation and groups together are wrong in 8 bits", QNNRT_QUIRK__FLOAT },
{ "cpu-axes", "Cpu", QNNRT_QUIRK_REFUSED, 0x1770, "L2Norm", "f32 u8", qnnrt_quirk__has_axes,
  "needs axis instead of axes", "Give axis." },
{ "cpu-beta", "Cpu", QNNRT_QUIRK_REFUSED, 0x2AFB, "LogSoftmax", "f32", qnnrt_quirk__has_beta,
  "accepts only beta 1", "Multiply the input." },
{ "cpu-ceil", "Cpu", QNNRT_QUIRK_REFUSED, 0x1770, "PoolMax2d", "f32 u8", qnnrt_quirk__ceil,
  "a window over the edge is refused", "Use rounding_mode 0 with more pad_amount at the end." },
{ "cpu-no-i32", "Cpu", QNNRT_QUIRK_REFUSED, 0xC26, "ReduceMax ElementWiseUnary", "i32",
  qnnrt_quirk__sign_i32,
  "not supported in int32", "Use Cast to float32." },

{ "cpu-deconv", "Cpu", QNNRT_QUIRK_MAY_CRASH, 0, "TransposeConv2d", "f32",
  qnnrt_quirk__not_static,
  "weight or bias that is not static: garbage, or it ends the process", "Make both static." },

/* Both */
{ "softmax-offset", "Cpu Htp", QNNRT_QUIRK_DIFFERS, 0, "Softmax", "u8", qnnrt_quirk__offset,
  "in 8 bits the offset of the output is always used as 0", "Give the output the offset 0." },

/* libQnnHtp.so */
{ "htp-no-beta", "Htp-2.47", QNNRT_QUIRK_REFUSED, 0x3EA, "RmsNorm", "*", qnnrt_quirk__two_inputs,
  "2.47 needs all three inputs", "Give a beta of zeros." },
{ "htp-rows", "Htp", QNNRT_QUIRK_DIFFERS, 0, "RmsNorm", "f32 f16 u8", qnnrt_quirk__rms_rows,
  "rows are garbage when more than 8 groups of them are in the dimension that is the third from the"
  " last, or in rank 3 groups of 16, 24, 32, ... rows",
  "Reshape the input to [1, rows, columns]." },
{ "htp-log-softmax", "Htp", QNNRT_QUIRK_DIFFERS, 0, "LogSoftmax", "f32 f16",
  qnnrt_quirk__axis_of_1, "over an axis of 1 it is garbage instead of 0",
  "Use ElementWiseSubtract of the input and itself." },
{ "htp-beta", "Htp", QNNRT_QUIRK_VALUES, 0, "RmsNorm", "f32 f16", qnnrt_quirk__three_inputs,
  "in floating point beta is accepted, but not added",
  "Give a beta of zeros, and use ElementWiseAdd." },
{ "htp-blocks", "Htp-2.47", QNNRT_QUIRK_REFUSED, 0x3EA, "MatMul", "u8 u16", qnnrt_quirk__blocks,
  "2.47 has no MatMul with block-wise weights", "Use FullyConnected." },
{ "htp-blocks", "Htp", QNNRT_QUIRK_REFUSED, 0xC26, "Conv2d", "f16", qnnrt_quirk__blocks_not_1x1,
  "no convolution of float16 with scales per block, except 1x1", "Use weights in float16." },
{ "htp-blocks", "Htp", QNNRT_QUIRK_REFUSED, 0x3EA, "Conv2d", "f16", qnnrt_quirk__blocks_group,
  "no convolution of float16 in groups with scales per block", "Use weights in float16." },
{ "htp-channels", "Htp-2.51", QNNRT_QUIRK_REFUSED, 0xC26, "Conv2d", "f16",
  qnnrt_quirk__not_1x1_of_8,
  "no convolution of float16 with scales per channel, except 1x1 of a multiple of 8 channels",
  "Use weights in float16." },
{ "htp-channels", "Htp-2.47", QNNRT_QUIRK_REFUSED, 0xC26, "Conv2d", "f16", qnnrt_quirk__not_1x1,
  "no convolution of float16 with scales per channel, except 1x1", "Use weights in float16." },
{ "htp-odd-rows", "Htp", QNNRT_QUIRK_DIFFERS, 0, "FullyConnected MatMul Conv2d", "f16",
  qnnrt_quirk__odd_rows,
  "beside float16, weights with scales per channel are garbage for more than 32 channels whose"
  " inputs are not a multiple of 4, or of 8 with 4 bits", "Use weights in float16." },
{ "htp-channels", "Htp-2.47", QNNRT_QUIRK_REFUSED, 0x3EA, "Conv2d", "f16",
  qnnrt_quirk__channels_group,
  "no convolution of float16 in groups with scales per channel", "Use weights in float16." },
{ "htp-channels", "Htp-2.51", QNNRT_QUIRK_REFUSED, 0xC26, "Conv2d", "f16",
  qnnrt_quirk__channels_group,
  "no convolution of float16 in groups with scales per channel", "Use weights in float16." },
{ "htp-channels", "Htp", QNNRT_QUIRK_REFUSED, 0xC26, "DepthWiseConv2d", "f16",
  qnnrt_quirk__channels,
  "no depthwise convolution of float16 with scales per channel", "Use weights in float16." },
{ "htp-channels", "Htp", QNNRT_QUIRK_REFUSED, 0x3EA, "MatMul", "f16",
  qnnrt_quirk__channels_rank3,
  "several matrices of float16 with scales per channel have no kernel",
  "Use weights in float16." },
{ "htp-plain-blocks", "Htp", QNNRT_QUIRK_REFUSED, 0, "MatMul", "f16", qnnrt_quirk__blocks,
  "block-wise weights would crash it: compose does not call it", "Use FullyConnected." },
{ "htp-keep-dims", "Htp", QNNRT_QUIRK_REFUSED, 0xC26, "FullyConnected", "*", qnnrt_quirk__keep_dims,
  "the result has two dimensions, or is refused", "Use Reshape after it." },
{ "htp-last-axis", "Htp", QNNRT_QUIRK_REFUSED, 0xC26, "Softmax LayerNorm RmsNorm", "*",
  qnnrt_quirk__not_last,
  "only the last axis", "Transpose the axis to the end." },
{ "htp-no-i32", "Htp", QNNRT_QUIRK_REFUSED, 0xC26,
  "ElementWiseNeg ElementWiseSign ElementWiseUnary Argmin NonZero", "i32", qnnrt_quirk__sign_i32,
  "not supported in int32", "Use other operators, or Cast to float32." },
{ "htp-no-i32", "Htp-2.47", QNNRT_QUIRK_REFUSED, 0xC26, "ReduceMax", "i32", NULL,
  "not supported in int32", "Use Cast to float32." },
{ "htp-rank4", "Htp", QNNRT_QUIRK_REFUSED, 0xC26,
  "ElementWiseAnd ElementWiseOr ElementWiseFloorDiv ElementWiseSquaredDifference",
  "f32 b8", qnnrt_quirk__rank5, "rank 5 is not supported", "Reshape to rank 4." },
{ "htp-no-b8", "Htp", QNNRT_QUIRK_REFUSED, 0xC26, "StridedSlice", "b8", NULL,
  "not supported for bool8",
  "Use Cast to int32 first." },
{ "htp-unary", "Htp", QNNRT_QUIRK_REFUSED, 0xC26, "ElementWiseUnary", "*", qnnrt_quirk__unary,
  "asin and reciprocal are not supported by the HTP library",
  "Use ElementWiseDivide for the reciprocal." },
{ "htp-scatter", "Htp", QNNRT_QUIRK_REFUSED, 0xC26, "ScatterElements", "f32",
  qnnrt_quirk__reduction,
  "in floating point it replaces only", "Use ScatterNd." },
{ "htp-non-zero", "Htp", QNNRT_QUIRK_REFUSED, 0xC26, "NonZero", "f32", NULL,
  "not supported for float32",
  "Use ElementWiseNotEqual first." },
{ "htp-no-reduce", "Htp", QNNRT_QUIRK_REFUSED, 0xC26, "ReduceProd ReduceSumSquare", "*", NULL,
  "unknown to the HTP library", "Use ElementWiseMultiply, then ReduceSum." },
{ "htp-arg-type", "Htp", QNNRT_QUIRK_REFUSED, 0xC26, "Argmax", "f32", qnnrt_quirk__to_u32,
  "in floating point the index must be INT_32", "Use INT_32." },
{ "htp-argmin", "Htp-2.47", QNNRT_QUIRK_SOMETIMES, 0, "Argmin", "f32 f16", qnnrt_quirk__last_of_two,
  "of two values along the last axis it can return the larger one", "Use Argmax of the negative." },
{ "htp-gather", "Htp", QNNRT_QUIRK_DIFFERS, 0, "Gather", "f32 f16", qnnrt_quirk__gather,
  "in floating point, the last axis but one with indices that are not static is garbage from the"
  " second row before the axis",
  "Make the indices static, or transpose the axis to the front." },
{ "htp-gather-rank5", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "Gather", "f32 f16 i32",
  qnnrt_quirk__gather_rank5,
  "a result of rank 5 is wrong for most shapes if the first dimension is not 1",
  "Reshape the indices to rank 1." },
{ "htp-tile", "Htp", QNNRT_QUIRK_CRASHES, 0, "Tile", "f32 f16", qnnrt_quirk__tile_rank5,
  "with multiples of 1 alone, in rank 5, it ends the process", "Leave it out." },
{ "htp-matmul-rank5", "Htp", QNNRT_QUIRK_MAY_CRASH, 0, "MatMul", "f32 f16",
  qnnrt_quirk__matmul_rank5,
  "in rank 5 some shapes are wrong or end the process", "Reshape the batch to one dimension." },
{ "htp-matmul-transposed", "Htp", QNNRT_QUIRK_MAY_CRASH, 0, "MatMul", "f32 f16",
  qnnrt_quirk__matmul_transposed,
  "a batch of static matrices, both operands transposed: wrong, or ends the process",
  "Store the matrices transposed, without transpose_in1." },
{ "htp-multiplier", "Htp", QNNRT_QUIRK_DIFFERS, 0, "DepthWiseConv2d", "f32 f16",
  qnnrt_quirk__multiplier_dilated,
  "several outputs of a channel with dilation are wrong", "Use Conv2d with group." },
{ "htp-depthwise", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "DepthWiseConv2d", "f32 f16",
  qnnrt_quirk__multiplier_other,
  "a single channel, or several outputs of a channel with strides or a weight that is not static:"
  " some shapes are wrong",
  "Use Conv2d with group." },
{ "htp-output-padding", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "TransposeConv2d", "f32 f16",
  qnnrt_quirk__output_padding,
  "lines that output_padding adds can be wrong, or without the bias",
  "Use Pad instead of output_padding, then ElementWiseAdd for the bias." },
{ "htp-max-column", "Htp", QNNRT_QUIRK_CRASHES, 0, "PoolMax2d", "f32 f16", qnnrt_quirk__max_column,
  "a window of one column with stride 2 and pads above ends the process", "Use Pad first." },
{ "htp-max-pads", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "PoolMax2d", "f32", qnnrt_quirk__max_pads,
  "windows of 2x2 with stride 2 and pads can be wrong in float32", "Use float16." },
{ "htp-gather-nd", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "GatherNd", "f32 f16 i32",
  qnnrt_quirk__gather_nd,
  "one index into data of rank 4: some shapes are wrong", "Use Gather." },
{ "htp-average-pads", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "PoolAvg2d", "f32 f16",
  qnnrt_quirk__average_pads,
  "pads are right only with odd squares and equal pads, or with strides above 1, and with windows"
  " that are not larger than the picture",
  "Use Pad first; multiply by a static correction if pads do not count." },
{ "htp-select-rank5", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "ElementWiseSelect", "f32 f16 i32",
  qnnrt_quirk__select_rank5,
  "in rank 5, broadcast along the first axis is wrong for most shapes",
  "Use Tile, or Reshape to rank 4." },
{ "htp-select-single", "Htp-2.47", QNNRT_QUIRK_SOMETIMES, 0, "ElementWiseSelect", "i32",
  qnnrt_quirk__select_single,
  "a single value for one of the operands is read wrong in int32", "Use Tile." },
{ "htp-i32-rank5", "Htp", QNNRT_QUIRK_MAY_CRASH, 0, "StridedSlice ReduceSum ReduceMin", "i32",
  qnnrt_quirk__rank5,
  "int32 in rank 5: some shapes are wrong or end the process", "Reshape to rank 4." },
{ "htp-cumulative-i32", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "CumulativeSum", "i32",
  qnnrt_quirk__rank2_not_last,
  "int32, along the first of two axes: some shapes are wrong", "Transpose the axis to the end." },
{ "htp-multiply", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "ElementWiseMultiply", "f16 i32 u8 u16",
  qnnrt_quirk__both_repeat,
  "both operands repeat: garbage where Reshape makes both of tensors of one shape",
  "Use Tile for one of them." },
{ "htp-overflow", "Htp", QNNRT_QUIRK_EXTREMES, 0, "ElementWiseAdd ElementWiseMultiply", "i32", NULL,
  "int32 saturates instead of wrapping", "" },
{ "htp-s8-shift", "Htp", QNNRT_QUIRK_DIFFERS, 0, "Gather Softmax", "s8", qnnrt_quirk__shifted,
  "results of signed 8-bit types are 128 steps off", "Use u8." },
{ "htp-cast-half", "Htp", QNNRT_QUIRK_EXTREMES, 0, "Cast", "f32", qnnrt_quirk__to_f16,
  "float16 is rounded half away from zero, and values that are too large become NaN", "" },
{ "htp-cast-bool", "Htp", QNNRT_QUIRK_VALUES, 0, "Cast", "*", qnnrt_quirk__to_bool,
  "the value is stored, 2, or 0 for -1, instead of 1 for values that are not 0",
  "Use ElementWiseNotEqual with a zero." },
{ "htp-floor-div", "Htp", QNNRT_QUIRK_DIFFERS, 0, "ElementWiseFloorDiv", "f32 f16",
  qnnrt_quirk__broadcast,
  "broadcast in floating point: wrong after the first row",
  "Use ElementWiseDivide and ElementWiseFloor." },
{ "htp-softplus", "Htp", QNNRT_QUIRK_DIFFERS, 0, "ElementWiseNeuron", "u16", qnnrt_quirk__softplus,
  "an approximation: about 200 steps from the value", "Use floating point." },
{ "htp-cumulative", "Htp", QNNRT_QUIRK_DIFFERS, 0, "CumulativeSum", "u16",
  qnnrt_quirk__cumulative_forward,
  "every step of the sum is rounded, and errors add up", "Use MatMul with a triangle of ones." },
{ "htp-cumulative-f32", "Htp", QNNRT_QUIRK_REFUSED, 0x3EA, "CumulativeSum", "f32",
  qnnrt_quirk__cumulative_other,
  "in floating point only the plain sum along the last axis",
  "Use MatMul with a triangle of ones." },
{ "htp-pad-f32", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "Pad", "f32", qnnrt_quirk__pad_f32,
  "in rank 2 columns of the input can be in the place of padding", "Use float16, or Concat." },
{ "htp-pad-value", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "Pad", "f32 f16", qnnrt_quirk__pad_value,
  "from rank 4 on, a value that is not 0 around three axes or more can be wrong",
  "Pad one axis after the other." },
{ "htp-pad-edge", "Htp", QNNRT_QUIRK_SOMETIMES, 0, "Pad", "f32 f16", qnnrt_quirk__edge,
  "EDGE of the last axis is wrong for most shapes in floating point",
  "Use StridedSlice and Concat." }
};
enum { QNNRT_QUIRK_COUNT = sizeof qnnrt_quirks / sizeof qnnrt_quirks[0] };

/* ---- looking it up ---- */

/* Find out whether a line applies to a node.
   backend  "Cpu", "Htp", "Ref"
   release  "2.47", or qnnrt_backend_info.build_id; NULL or "": any */
QNNRT_QUIRK__API int qnnrt_quirk_applies(const qnnrt_quirk *known, const char *backend,
                                         const char *release,
                                         const qnnrt_quirk_node *node)
{
    char exact[16];
    size_t length = strlen(backend);
    const char *dtype = qnnrt_quirk__dtype(node), *list = known->backends;
    int there = qnnrt_quirk__listed(list, backend, length);
    if (!there && length < 8) {
        memcpy(exact, backend, length);
        exact[length] = '-';
        if (release != NULL && *release == 'v') ++release;
        if (release == NULL || *release == '\0') there = strstr(list, backend) != NULL;
        else if (strlen(release) >= 4) {
            memcpy(exact + length + 1, release, 4);
            there = qnnrt_quirk__listed(list, exact, length + 5);
        }
    }
    return there && qnnrt_quirk__listed(known->ops, node->type, strlen(node->type)) &&
           qnnrt_quirk__listed(known->dtypes, dtype, strlen(dtype)) && (known->when == NULL ||
           known->when(node));
}

/* Return a line that says that a node, though accepted, does not compute what it should,
or NULL. One
   of QNNRT_QUIRK_VALUES is returned if there is no other; QNNRT_QUIRK_EXTREMES never.
   backend, release: as qnnrt_quirk_applies() */
QNNRT_QUIRK__API const qnnrt_quirk *qnnrt_quirk_find(const char *backend, const char *release,
                                                     const qnnrt_quirk_node *node)
{
    const qnnrt_quirk *values = NULL;
    size_t i;
    for (i = 0; i < QNNRT_QUIRK_COUNT; ++i) {
        const qnnrt_quirk *known = &qnnrt_quirks[i];
        if (known->what == QNNRT_QUIRK_REFUSED || known->what == QNNRT_QUIRK_EXTREMES ||
            !qnnrt_quirk_applies(known, backend, release, node)) continue;
        if (known->what != QNNRT_QUIRK_VALUES) return known;
        if (values == NULL) values = known;
    }
    return values;
}

/* Return a line that says that a node, though accepted, ends the process or may do so, or NULL. */
QNNRT_QUIRK__API const qnnrt_quirk *qnnrt_quirk_crash(const char *backend, const char *release,
                                                      const qnnrt_quirk_node *node)
{
    size_t i;
    for (i = 0; i < QNNRT_QUIRK_COUNT; ++i)
        if ((qnnrt_quirks[i].what == QNNRT_QUIRK_CRASHES ||
             qnnrt_quirks[i].what == QNNRT_QUIRK_MAY_CRASH) &&
            qnnrt_quirk_applies(&qnnrt_quirks[i], backend, release, node)) return &qnnrt_quirks[i];
    return NULL;
}

/* Return the first line that explains why a node is refused, or NULL. */
QNNRT_QUIRK__API const qnnrt_quirk *qnnrt_quirk_refusal(const char *backend, const char *release,
                                                        const qnnrt_quirk_node *node)
{
    size_t i;
    for (i = 0; i < QNNRT_QUIRK_COUNT; ++i)
        if (qnnrt_quirks[i].what == QNNRT_QUIRK_REFUSED &&
            qnnrt_quirk_applies(&qnnrt_quirks[i], backend, release, node)) return &qnnrt_quirks[i];
    return NULL;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_QUIRKS_H */
