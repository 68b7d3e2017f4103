/* libqnnrt.so: the implementation of every header, for programs that link it instead of compiling
   one. This is all of it in one object; `make lib` links it from an object for each header. Users
   include the headers without defining an implementation.

       cc -O2 -I. -Itools -fPIC -fvisibility=hidden -shared -Wl,-soname,libqnnrt.so.0 \
           -o libqnnrt.so tools/lib/qnnrt_lib.c -lm -ldl

   It exports the functions that the headers declare, and nothing else: tests/test_lib.sh. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#define QNNRT_API extern __attribute__((visibility("default")))
#define QNNRT_DEVICE_IMPLEMENTATION
#define QNNRT_EXPLAIN_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#define QNNRT_LLM_GRAPH_IMPLEMENTATION
#define QNNRT_ENGINES_IMPLEMENTATION
#include "engines/qnnrt_engines.h"
#include "qnnrt_device.h"
#include "qnnrt_explain.h"
#include "qnnrt_llm.h"
#include "qnnrt_builder.h"
#include "qnnrt_llm_graph.h"
