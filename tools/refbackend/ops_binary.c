/* ops_binary.c - two tensors element by element, and ElementWiseSelect; broadcasting as in numpy

   Real numbers (float, quantized) are computed in float32. INT_32 and UINT_32 are computed in 64
   bits, of which the low 32 are kept; BOOL_8 in 64 bits as well */
#include "ref_op.h"

#include <math.h>
#include <string.h>

/* ---- broadcasting ---------------------------------------------------------------------------- */

enum { OPERANDS = 3 };

/* The output's dimensions, with neighbors joined where all operands allow it. Steps are counted in
   elements; a step of 0 is a broadcast. */
typedef struct grid {
    uint32_t rank, operands;
    uint64_t dims[REF_RANK], steps[OPERANDS][REF_RANK];
} grid;

/* Compute the common shape of the inputs. Return 0 when they have none. */
static int broadcast_dims(const ref_node *node, uint32_t *rank, uint32_t dims[REF_RANK],
                          ref_why *why)
{
    *rank = 0;
    for (uint32_t k = 0; k < node->in_count; ++k)
        if (node->in[k]->rank > *rank)
            *rank = node->in[k]->rank;
    for (uint32_t i = 0; i < *rank; ++i)
        dims[i] = 1;
    for (uint32_t k = 0; k < node->in_count; ++k) {
        const ref_tensor *t = node->in[k];
        const uint32_t shift = *rank - t->rank;
        for (uint32_t i = 0; i < t->rank; ++i) {
            if (t->dims[i] == 1 || t->dims[i] == dims[i + shift])
                continue;
            if (dims[i + shift] != 1) {
                char text[REF_SHAPE_TEXT];
                return ref_refuse(why, "input %u \"%s\" is %s: its dimension %u does not match"
                                  " the %u of the inputs before it; expected equal dimensions,"
                                  " expected", (unsigned)k, t->name, ref_shape_text(t, text),
                                  (unsigned)i, (unsigned)dims[i + shift]);
            }
            dims[i + shift] = t->dims[i];
        }
    }
    return 1;
}

static grid grid_of(const ref_node *node)
{
    const ref_tensor *out = node->out[0];
    uint64_t next[OPERANDS];
    grid g = { 0 };
    g.operands = node->in_count;
    for (uint32_t k = 0; k < g.operands; ++k)
        next[k] = 1;
    /* Go from the last dimension to the first; the grid is filled from its end as well. */
    uint32_t at = REF_RANK;
    for (uint32_t i = out->rank; i-- > 0;) {
        uint64_t step[OPERANDS];
        int joins = at < REF_RANK;
        if (out->dims[i] == 1)
            continue;
        for (uint32_t k = 0; k < g.operands; ++k) {
            const ref_tensor *t = node->in[k];
            const uint32_t shift = out->rank - t->rank;
            const uint32_t dim = i >= shift ? t->dims[i - shift] : 1;
            step[k] = dim != 1 ? next[k] : 0;
            next[k] *= dim;
            joins = joins && step[k] == g.steps[k][at] * g.dims[at];
        }
        if (joins) {
            g.dims[at] *= out->dims[i];
            continue;
        }
        g.dims[--at] = out->dims[i];
        for (uint32_t k = 0; k < g.operands; ++k)
            g.steps[k][at] = step[k];
    }
    if (at == REF_RANK)
        g.dims[--at] = 1;
    g.rank = REF_RANK - at;
    for (uint32_t i = 0; i < g.rank; ++i) {
        g.dims[i] = g.dims[at + i];
        for (uint32_t k = 0; k < g.operands; ++k)
            g.steps[k][i] = g.steps[k][at + i];
    }
    return g;
}

/* Values of one operand for at most REF_CHUNK elements of the output; scratch has one chunk per
   operand. */
typedef union chunk { float reals[REF_CHUNK]; int64_t integers[REF_CHUNK]; } chunk;

static size_t chunks_scratch(const ref_node *node)
{
    return (node->in_count + 1u) * sizeof(chunk);
}

static int is_integer(uint32_t dtype)
{
    return dtype == REF_I32 || dtype == REF_U32 || dtype == REF_BOOL;
}

static void load_chunk(const ref_tensor *t, uint64_t first, uint64_t step, uint64_t count,
                       chunk *to)
{
    const uint64_t n = step != 0 ? count : 1;
    if (is_integer(t->dtype)) {
        ref_load_integers(t, first, n, to->integers);
        for (uint64_t i = n; i < count; ++i)
            to->integers[i] = to->integers[0];
    } else {
        ref_load(t, first, n, to->reals);
        for (uint64_t i = n; i < count; ++i)
            to->reals[i] = to->reals[0];
    }
}

/* Compute count elements from chunks[0], ... into the chunk after those of the operands. Stop at an
   element whose data is not valid. */
typedef uint64_t (*stretch_fn)(uint32_t operation, chunk *chunks, uint64_t count);

/* Return the number of elements of the output that were computed. */
static uint64_t grid_run(const ref_node *node, uint32_t operation, stretch_fn compute, int integers,
                         void *scratch)
{
    const ref_tensor *out = node->out[0];
    const grid g = grid_of(node);
    const uint32_t last = g.rank - 1;
    chunk *chunks = scratch, *result = chunks + g.operands;
    uint64_t index[REF_RANK] = { 0 }, from[OPERANDS] = { 0 }, to = 0;

    while (to < out->count) {
        for (uint64_t done = 0; done < g.dims[last]; done += REF_CHUNK) {
            const uint64_t rest = g.dims[last] - done, n = rest < REF_CHUNK ? rest : REF_CHUNK;
            for (uint32_t k = 0; k < g.operands; ++k)
                load_chunk(node->in[k], from[k] + done * g.steps[k][last], g.steps[k][last], n,
                           &chunks[k]);
            const uint64_t computed = compute(operation, chunks, n);
            if (computed < n)
                return to + computed;
            if (integers)
                ref_store_integers(out, to, n, result->integers);
            else
                ref_store(out, to, n, result->reals);
            to += n;
        }
        for (uint32_t i = last; i-- > 0;) {
            ++index[i];
            for (uint32_t k = 0; k < g.operands; ++k)
                from[k] += g.steps[k][i];
            if (index[i] < g.dims[i])
                break;
            for (uint32_t k = 0; k < g.operands; ++k)
                from[k] -= g.steps[k][i] * g.dims[i];
            index[i] = 0;
        }
    }
    return to;
}

/* ---- two operands ---------------------------------------------------------------------------- */

enum { INTEGER = REF_T_I32 | REF_T_U32, NUMBER = REF_T_REAL | INTEGER, ANY = NUMBER | REF_T_BOOL };

/* In the order of the values of ElementWiseBinary's parameter: name, operator, types, 1 when the
   output is BOOL_8 */
#define OPERATIONS(X)                                                           \
    X(ADD,                "ElementWiseAdd",               NUMBER,     0)        \
    X(AND,                "ElementWiseAnd",               REF_T_BOOL, 1)        \
    X(DIVIDE,             "ElementWiseDivide",            NUMBER,     0)        \
    X(EQUAL,              "ElementWiseEqual",             ANY,        1)        \
    X(FLOOR_DIV,          "ElementWiseFloorDiv",          NUMBER,     0)        \
    X(FMOD,               "ElementWiseFmod",              NUMBER,     0)        \
    X(GREATER,            "ElementWiseGreater",           NUMBER,     1)        \
    X(GREATER_EQUAL,      "ElementWiseGreaterEqual",      NUMBER,     1)        \
    X(LESS,               "ElementWiseLess",              NUMBER,     1)        \
    X(LESS_EQUAL,         "ElementWiseLessEqual",         NUMBER,     1)        \
    X(MAXIMUM,            "ElementWiseMaximum",           NUMBER,     0)        \
    X(MINIMUM,            "ElementWiseMinimum",           NUMBER,     0)        \
    X(MOD,                "ElementWiseMod",               INTEGER,    0)        \
    X(MULTIPLY,           "ElementWiseMultiply",          NUMBER,     0)        \
    X(NOT_EQUAL,          "ElementWiseNotEqual",          ANY,        1)        \
    X(OR,                 "ElementWiseOr",                REF_T_BOOL, 1)        \
    X(POWER,              "ElementWisePower",             REF_T_REAL, 0)        \
    X(SQUARED_DIFFERENCE, "ElementWiseSquaredDifference", NUMBER,     0)        \
    X(SUBTRACT,           "ElementWiseSubtract",          NUMBER,     0)        \
    X(XOR,                "ElementWiseXor",               REF_T_BOOL, 1)

#define NUMBERED(name, type, types, to_bool) name,
enum { OPERATIONS(NUMBERED) OPERATION_COUNT };

#define DESCRIBED(name, type, types, to_bool) { type, types, to_bool },
static const struct {
    const char *type;
    uint32_t types;
    int to_bool;
} operations[OPERATION_COUNT] = { OPERATIONS(DESCRIBED) };

static const ref_param_spec binary_params[] = { { "operation", REF_U32, REF_REQUIRED },
                                                { NULL, 0, 0 } };

/* Return the operation: a parameter of ElementWiseBinary, part of the name of the others. */
static uint32_t operation_of(const ref_node *node)
{
    uint32_t i = 0;
    if (node->op->params == binary_params)
        return (uint32_t)ref_param_value(node, "operation", OPERATION_COUNT);
    while (strcmp(operations[i].type, node->op->type) != 0)
        ++i;
    return i;
}

/* Return NaN where a or b is NaN, as numpy does. */
static float largest(float a, float b)  { return a >= b || a != a ? a : b; }
static float smallest(float a, float b) { return a <= b || a != a ? a : b; }

#define EACH(expression)                                                                           \
    for (uint64_t i = 0; i < count; ++i) {                                                         \
        const float a = x[i], b = y[i];                                                            \
        z[i] = (expression);                                                                       \
    }

static uint64_t binary_reals(uint32_t operation, chunk *chunks, uint64_t count)
{
    const float *x = chunks[0].reals, *y = chunks[1].reals;
    float *z = chunks[2].reals;
    switch (operation) {
    case ADD:                EACH(a + b) break;
    case DIVIDE:             EACH(a / b) break;
    case EQUAL:              EACH(a == b ? 1.0f : 0.0f) break;
    case FLOOR_DIV:          EACH(floorf(a / b)) break;
    case FMOD:               EACH(fmodf(a, b)) break;
    case GREATER:            EACH(a > b ? 1.0f : 0.0f) break;
    case GREATER_EQUAL:      EACH(a >= b ? 1.0f : 0.0f) break;
    case LESS:               EACH(a < b ? 1.0f : 0.0f) break;
    case LESS_EQUAL:         EACH(a <= b ? 1.0f : 0.0f) break;
    case MAXIMUM:            EACH(largest(a, b)) break;
    case MINIMUM:            EACH(smallest(a, b)) break;
    case MULTIPLY:           EACH(a * b) break;
    case NOT_EQUAL:          EACH(a != b ? 1.0f : 0.0f) break;
    case POWER:              EACH(powf(a, b)) break;
    case SQUARED_DIFFERENCE: EACH((a - b) * (a - b)) break;
    case SUBTRACT:           EACH(a - b) break;
    default: break;
    }
    return count;
}

#undef EACH
#define EACH(expression)                                                                           \
    for (uint64_t i = 0; i < count; ++i) {                                                         \
        const int64_t a = x[i], b = y[i];                                                          \
        z[i] = (expression);                                                                       \
    }

/* Return the product of two integers: its low 32 bits are right even when it exceeds 64 bits. */
static int64_t product(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b & UINT32_MAX);
}

/* The result has the sign of b. */
static int64_t floor_mod(int64_t a, int64_t b)
{
    const int64_t m = a % b;
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return (a - floor_mod(a, b)) / b;
}

static uint64_t binary_integers(uint32_t operation, chunk *chunks, uint64_t count)
{
    const int64_t *x = chunks[0].integers, *y = chunks[1].integers;
    int64_t *z = chunks[2].integers;
    if (operation == DIVIDE || operation == FLOOR_DIV || operation == FMOD || operation == MOD)
        for (uint64_t i = 0; i < count; ++i)
            if (y[i] == 0)
                return i;
    switch (operation) {
    case ADD:                EACH(a + b) break;
    case AND:                EACH(a & b) break;
    case DIVIDE:             EACH(a / b) break;
    case EQUAL:              EACH(a == b) break;
    case FLOOR_DIV:          EACH(floor_div(a, b)) break;
    case FMOD:               EACH(a % b) break;
    case GREATER:            EACH(a > b) break;
    case GREATER_EQUAL:      EACH(a >= b) break;
    case LESS:               EACH(a < b) break;
    case LESS_EQUAL:         EACH(a <= b) break;
    case MAXIMUM:            EACH(a > b ? a : b) break;
    case MINIMUM:            EACH(a < b ? a : b) break;
    case MOD:                EACH(floor_mod(a, b)) break;
    case MULTIPLY:           EACH(product(a, b)) break;
    case NOT_EQUAL:          EACH(a != b) break;
    case OR:                 EACH(a | b) break;
    case SQUARED_DIFFERENCE: EACH(product(a - b, a - b)) break;
    case SUBTRACT:           EACH(a - b) break;
    case XOR:                EACH(a ^ b) break;
    default: break;
    }
    return count;
}

static int binary_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *a = node->in[0], *b = node->in[1], *out = node->out[0];
    const uint32_t operation = operation_of(node);
    uint32_t rank, dims[REF_RANK];
    if (operation >= OPERATION_COUNT)
        return ref_refuse(why, "parameter \"operation\" is %.17g, expected 0 to %d",
                          ref_param_value(node, "operation", 0), OPERATION_COUNT - 1);
    if ((ref_type_bit(a->dtype) & operations[operation].types) == 0)
        return ref_refuse(why, "input 0 \"%s\" is %s, which operation %u (%s) does not take",
                          a->name, ref_type_name(a->dtype), (unsigned)operation,
                          operations[operation].type);
    return ref_expect_type(b, "input 1", a->dtype, why) &&
           ref_expect_type(out, "output 0", operations[operation].to_bool ? REF_BOOL : a->dtype,
                           why) &&
           broadcast_dims(node, &rank, dims, why) &&
           ref_expect_shape(out, "output 0", rank, dims, why);
}

static int binary_run(const ref_node *node, void *scratch, ref_why *why)
{
    const int integers = is_integer(node->in[0]->dtype);
    const uint64_t done = grid_run(node, operation_of(node),
                                   integers ? binary_integers : binary_reals, integers, scratch);
    if (done < node->out[0]->count)
        return ref_refuse(why,
                          "input 1 \"%s\" is 0 where element %llu of the output is divided by it",
                          node->in[1]->name, (unsigned long long)done);
    return 1;
}

/* ---- ElementWiseSelect ----------------------------------------------------------------------- */

static uint64_t select_reals(uint32_t operation, chunk *chunks, uint64_t count)
{
    (void)operation;
    for (uint64_t i = 0; i < count; ++i)
        chunks[3].reals[i] = chunks[0].integers[i] != 0 ? chunks[1].reals[i] : chunks[2].reals[i];
    return count;
}

static uint64_t select_integers(uint32_t operation, chunk *chunks, uint64_t count)
{
    (void)operation;
    for (uint64_t i = 0; i < count; ++i)
        chunks[3].integers[i] =
            chunks[0].integers[i] != 0 ? chunks[1].integers[i] : chunks[2].integers[i];
    return count;
}

static int select_check(const ref_node *node, ref_why *why)
{
    const ref_tensor *a = node->in[1];
    uint32_t rank, dims[REF_RANK];
    if ((ref_type_bit(a->dtype) & (NUMBER | REF_T_BOOL)) == 0)
        return ref_refuse(why, "input 1 \"%s\" is %s, which ElementWiseSelect does not take",
                          a->name, ref_type_name(a->dtype));
    return ref_expect_type(node->in[2], "input 2", a->dtype, why) &&
           ref_expect_type(node->out[0], "output 0", a->dtype, why) &&
           broadcast_dims(node, &rank, dims, why) &&
           ref_expect_shape(node->out[0], "output 0", rank, dims, why);
}

static int select_run(const ref_node *node, void *scratch, ref_why *why)
{
    const int integers = is_integer(node->in[1]->dtype);
    (void)why;
    grid_run(node, 0, integers ? select_integers : select_reals, integers, scratch);
    return 1;
}

/* ---- table ----------------------------------------------------------------------------------- */

#define SEPARATE(name, type, types, to_bool)                                                       \
    { type, types, 2, 2, 1, 1, NULL, binary_check, chunks_scratch, binary_run },
const ref_op ref_ops_binary[] = {
    OPERATIONS(SEPARATE)
    { "ElementWiseBinary", ANY, 2, 2, 1, 1, binary_params, binary_check, chunks_scratch,
      binary_run },
    { "ElementWiseSelect", REF_T_BOOL, 3, 3, 1, 1, NULL, select_check, chunks_scratch, select_run },
    { NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
};
