/* ref_linear.h - what MatMul, FullyConnected and the convolutions share; defined in ops_linear.c

   Weights stay in their storage. A product decodes them piece by piece into scratch, without their
   zero point, sums in float32, and multiplies each column by its scale once, at the end. */
#ifndef REF_LINEAR_H
#define REF_LINEAR_H

#include "ref_op.h"

/* A weight tensor, or a part of it, as a matrix of rows (summed over) and columns (outputs). One of
   the two steps is 1. */
typedef struct ref_matrix {
    const ref_tensor *tensor;
    uint64_t          first;             /* index of the element of row 0, column 0 */
    uint64_t          row_step, column_step;
    size_t            rows, columns;
    uint32_t          channel;           /* channel of column 0, along the axis of the scales */
} ref_matrix;

/* Return the number of bytes that ref_product() needs. */
size_t ref_product_scratch(size_t rows);
/* Compute out[i * out_step + c] = sum over r of x[i * rows + r] * matrix[r][c], for i < count. */
void ref_product(const float *x, size_t count, const ref_matrix *matrix, float *out,
                 size_t out_step, void *scratch);

/* Return how many of count rows of x to process at once: enough that decoding the weights is a
   small part of the work, but few enough that the rows stay in the cache. */
size_t ref_product_chunk(size_t count, size_t rows);

/* Check that all libraries compute these weights right with x: channels are along axis, sums along
   sum_axis (sum_axis = axis: block-wise scales are refused). */
int ref_check_weight(const ref_tensor *x, const ref_tensor *weight, uint32_t axis,
                     uint32_t sum_axis, ref_why *why);
/* Check a bias, which may be NULL; weight is the weight of the same node. */
int ref_check_bias(const ref_tensor *x, const ref_tensor *weight, const ref_tensor *bias,
                   uint32_t channels, ref_why *why);

#endif
