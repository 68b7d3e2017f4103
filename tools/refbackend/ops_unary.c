/* ops_unary.c - one tensor, one real function of each element; ABS, NEG and SIGN of INT_32; NOT of
   BOOL_8 */
#include "ref_op.h"

#include <math.h>
#include <string.h>

enum { WITH_INTEGER = REF_T_REAL | REF_T_I32 };

/* In the order of the values of ElementWiseUnary's parameter: name, operator, types */
#define OPERATIONS(X)                                        \
    X(ABS,        "ElementWiseAbs",        WITH_INTEGER)     \
    X(ASIN,       "ElementWiseAsin",       REF_T_REAL)       \
    X(ATAN,       "ElementWiseAtan",       REF_T_REAL)       \
    X(CEIL,       "ElementWiseCeil",       REF_T_REAL)       \
    X(COS,        "ElementWiseCos",        REF_T_REAL)       \
    X(EXP,        "ElementWiseExp",        REF_T_REAL)       \
    X(FLOOR,      "ElementWiseFloor",      REF_T_REAL)       \
    X(LOG,        "ElementWiseLog",        REF_T_REAL)       \
    X(NEG,        "ElementWiseNeg",        WITH_INTEGER)     \
    X(NOT,        "ElementWiseNot",        REF_T_BOOL)       \
    X(RECIPROCAL, "RECIPROCAL",            REF_T_REAL)       \
    X(ROUND,      "ElementWiseRound",      REF_T_REAL)       \
    X(RSQRT,      "ElementWiseRsqrt",      REF_T_REAL)       \
    X(SIGN,       "ElementWiseSign",       WITH_INTEGER)     \
    X(SIN,        "ElementWiseSin",        REF_T_REAL)       \
    X(SQRT,       "ElementWiseSquareRoot", REF_T_REAL)

#define NUMBERED(name, type, types) name,
enum { OPERATIONS(NUMBERED) OPERATION_COUNT };

#define DESCRIBED(name, type, types) { type, types },
static const struct { const char *type; uint32_t types; } operations[OPERATION_COUNT] = {
    OPERATIONS(DESCRIBED)
};

static const ref_param_spec unary_params[] = { { "operation", REF_U32, REF_REQUIRED },
                                               { NULL, 0, 0 } };

/* Return the operation: a parameter of ElementWiseUnary, part of the name of the others. */
static uint32_t operation_of(const ref_node *node)
{
    uint32_t i = 0;
    if (node->op->params == unary_params)
        return (uint32_t)ref_param_value(node, "operation", OPERATION_COUNT);
    while (strcmp(operations[i].type, node->op->type) != 0)
        ++i;
    return i;
}

/* Round halves to even in every rounding mode of the process. inf - inf is not equal to a half. */
static float round_even(float x)
{
    const float below = floorf(x), rest = x - below;
    const int odd = fmodf(below, 2.0f) != 0.0f;
    return rest > 0.5f || (rest == 0.5f && odd) ? below + 1.0f : below;
}

static float sign_of(float x)
{
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : isnan(x) ? 0.0f : x;
}

static void unary_reals(const ref_node *node, uint32_t operation, float *v, uint64_t count)
{
    (void)node;
    switch (operation) {
    case ABS:        REF_EACH(fabsf(x)) break;
    case ASIN:       REF_EACH(asinf(x)) break;
    case ATAN:       REF_EACH(atanf(x)) break;
    case CEIL:       REF_EACH(ceilf(x)) break;
    case COS:        REF_EACH(cosf(x)) break;
    case EXP:        REF_EACH(expf(x)) break;
    case FLOOR:      REF_EACH(floorf(x)) break;
    case LOG:        REF_EACH(logf(x)) break;
    case NEG:        REF_EACH(-x) break;
    case RECIPROCAL: REF_EACH(1.0f / x) break;
    case ROUND:      REF_EACH(round_even(x)) break;
    case RSQRT:      REF_EACH(1.0f / sqrtf(x)) break;
    case SIGN:       REF_EACH(sign_of(x)) break;
    case SIN:        REF_EACH(sinf(x)) break;
    case SQRT:       REF_EACH(sqrtf(x)) break;
    default: break;
    }
}

static void unary_integers(uint32_t operation, const int32_t *x, int32_t *y, uint64_t count)
{
    for (uint64_t i = 0; i < count; ++i) {
        const int32_t sign = (x[i] > 0) - (x[i] < 0);
        /* The negative of the least value is the value itself. */
        const int32_t negative = (int32_t)(0u - (uint32_t)x[i]);
        y[i] = operation == SIGN ? sign : operation == NEG || sign < 0 ? negative : x[i];
    }
}

static int unary_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *x = node->in[0];
    const uint32_t operation = operation_of(node);
    if (operation >= OPERATION_COUNT)
        return ref_refuse(why, "parameter \"operation\" is %.17g, expected 0 to %d",
                          ref_param_value(node, "operation", 0), OPERATION_COUNT - 1);
    if ((ref_type_bit(x->dtype) & operations[operation].types) == 0)
        return ref_refuse(why, "input 0 \"%s\" is %s, which operation %u (%s) does not take",
                          x->name, ref_type_name(x->dtype), (unsigned)operation,
                          operations[operation].type);
    return ref_expect_like(node->out[0], "output 0", x, why);
}

static int unary_run(const ref_node *node, void *scratch, ref_why *why)
{
    const ref_tensor *x = node->in[0], *y = node->out[0];
    const uint32_t operation = operation_of(node);
    (void)why;
    if (x->dtype == REF_BOOL) {
        for (uint64_t i = 0; i < x->count; ++i)
            ((uint8_t *)y->data)[i] = ((const uint8_t *)x->data)[i] == 0;
    } else if (x->dtype == REF_I32) {
        unary_integers(operation, x->data, y->data, x->count);
    } else {
        ref_each(node, operation, unary_reals, scratch);
    }
    return 1;
}

#define UNARY(type, types)                                                                         \
    { type, types, 1, 1, 1, 1, NULL, unary_check, ref_chunk_scratch, unary_run }
const ref_op ref_ops_unary[] = {
    UNARY("ElementWiseAbs", WITH_INTEGER), UNARY("ElementWiseAsin", REF_T_REAL),
    UNARY("ElementWiseAtan", REF_T_REAL), UNARY("ElementWiseCeil", REF_T_REAL),
    UNARY("ElementWiseCos", REF_T_REAL), UNARY("ElementWiseExp", REF_T_REAL),
    UNARY("ElementWiseFloor", REF_T_REAL), UNARY("ElementWiseLog", REF_T_REAL),
    UNARY("ElementWiseNeg", WITH_INTEGER), UNARY("ElementWiseNot", REF_T_BOOL),
    UNARY("ElementWiseRound", REF_T_REAL), UNARY("ElementWiseRsqrt", REF_T_REAL),
    UNARY("ElementWiseSign", WITH_INTEGER), UNARY("ElementWiseSin", REF_T_REAL),
    UNARY("ElementWiseSquareRoot", REF_T_REAL),
    { "ElementWiseUnary", WITH_INTEGER | REF_T_BOOL, 1, 1, 1, 1, unary_params, unary_check,
      ref_chunk_scratch, unary_run },
    { NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
};
