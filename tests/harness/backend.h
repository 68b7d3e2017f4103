/* backend.h - the reference backend: open it with its defaults, or with a description to complete; make it fail */
#ifndef TESTS_BACKEND_H
#define TESTS_BACKEND_H

#include "qnnrt.h"
#include <dlfcn.h>
#include <stdio.h>
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

/* Set these rules of libQnnRef.so (tools/refbackend/README.md: Rules), "" for an empty set, in any program that loaded
   it; return 0 when the library refuses them. */
static inline int faults(const char *text)
{
    typedef int (*control)(const char *command, char *answer, size_t bytes);
    char command[256];
    void *library = dlopen(TEST_REF_LIB, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "QnnRef_control") : NULL;
    control call;
    if (symbol == NULL) return 0;
    memcpy(&call, &symbol, sizeof call);
    snprintf(command, sizeof command, "faults %s", text);
    return call(command, NULL, 0) == 0;
}

#endif
