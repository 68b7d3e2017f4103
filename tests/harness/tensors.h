/* tensors.h - descriptions of tensors, for tests that write them down */
#ifndef TESTS_TENSORS_H
#define TESTS_TENSORS_H

#include "qnnrt.h"
#include <string.h>

static inline qnnrt_tensor_info test_tensor(const char *name, qnnrt_dtype dtype, uint32_t rank, const uint32_t *dims)
{
    qnnrt_tensor_info tensor;
    memset(&tensor, 0, sizeof(tensor));
    tensor.name = name;
    tensor.dtype = dtype;
    tensor.rank = rank;
    tensor.dims = dims;
    return tensor;
}
#endif
