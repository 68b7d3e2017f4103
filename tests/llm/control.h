/* control.h - make libQnnRef.so fail in any program that loaded it (tools/refbackend/README.md:
   Rules) */
#ifndef CONTROL_H
#define CONTROL_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifndef TEST_REF_LIB
#define TEST_REF_LIB "build/libQnnRef.so"
#endif

/* Set these rules, "" for an empty set; return 0 when the library refuses them. */
static int faults(const char *text)
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
