/* backend.h - open the reference backend: with its defaults, or with a description to complete */
#ifndef TESTS_BACKEND_H
#define TESTS_BACKEND_H

#include "qnnrt.h"
#include <string.h>

#ifndef TEST_REF_LIB
#define TEST_REF_LIB "build/libQnnRef.so"
#endif

static inline qnnrt_backend_desc test_ref_desc(void)
{
    qnnrt_backend_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_REF_LIB;
    return desc;
}

static inline qnnrt_result test_ref_backend(qnnrt_backend **out, qnnrt_error *err)
{
    const qnnrt_backend_desc desc = test_ref_desc();
    return qnnrt_backend_open(&desc, out, err);
}
#endif
