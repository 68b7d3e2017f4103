/* ops.c - all operators of libQnnRef.so, family by family

   Knows nothing of: any single operator */
#include "ref_op.h"

static const ref_op *const families[] = {
    ref_ops_binary, ref_ops_unary, ref_ops_activation, ref_ops_linear, ref_ops_conv, ref_ops_pool,
    ref_ops_norm, ref_ops_reduce, ref_ops_shape, ref_ops_index, ref_ops_cast
};
enum { FAMILIES = sizeof families / sizeof families[0] };

const ref_op *ref_op_get(size_t index)
{
    for (size_t f = 0; f < FAMILIES; ++f)
        for (const ref_op *op = families[f]; op->type != NULL; ++op)
            if (index-- == 0)
                return op;
    return NULL;
}

const ref_op *ref_op_find(const char *type)
{
    for (size_t f = 0; f < FAMILIES; ++f)
        for (const ref_op *op = families[f]; op->type != NULL; ++op)
            if (strcmp(op->type, type) == 0)
                return op;
    return NULL;
}
