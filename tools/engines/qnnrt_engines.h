/* qnnrt_engines.h - v0.5.0 - the engines of this project, as a list for sessions

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_ENGINES_IMPLEMENTATION         #include "qnnrt_engines.h"
       #include "qnnrt_engines.h"
   This implements all headers that it includes, qnnrt.h and qnnrt_session.h among them: include it
   before them. They lie beside this file, where `make install` puts them, or are found by the
   compiler.
   Link with -ldl -lm. In a clone:
       cc -std=c99 -I. -Itools -Itools/engines app.c -ldl -lm
   With libqnnrt.so, include the header and define nothing. The libraries of the engines are opened
   when a session needs them.

       const qnnrt_engine *engines[QNNRT_ENGINES];
       qnnrt_session_desc desc = {0};
       desc.engines = qnnrt_engines_default(engines);
       if (qnnrt_session_create(argv[1], &desc, &session, &err) != QNNRT_OK) puts(err.text);

   Uses     Public names of the headers that it includes
   Memory   The header allocates nothing.
   Threads  Any thread may call it.
   Globals  None

   BUILD OPTIONS, to define before the header is first included
       QNNRT_ENGINES_LIST_IMPLEMENTATION   implements the list alone, where each header is an object
                                           of its own
*/
#ifdef QNNRT_ENGINES_IMPLEMENTATION
#ifndef QNNRT_ENGINES_LIST_IMPLEMENTATION
#define QNNRT_ENGINES_LIST_IMPLEMENTATION
#endif
#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#define QNNRT_PROFILE_IMPLEMENTATION
#define QNNRT_CACHE_IMPLEMENTATION
#define QNNRT_DEVICE_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#define QNNRT_MANIFEST_IMPLEMENTATION
#define QNNRT_SESSION_IMPLEMENTATION
#define QNNRT_WEIGHTS_IMPLEMENTATION
#define QNNRT_IR_IMPLEMENTATION
#define QNNRT_IR_PASSES_IMPLEMENTATION
#define QNNRT_LOWER_IMPLEMENTATION
#define QNNRT_PARTITION_IMPLEMENTATION
#define QNNRT_CPU_FALLBACK_IMPLEMENTATION
#define QNNRT_COMPILE_IMPLEMENTATION
#define QNNRT_QNN_IMPLEMENTATION
#define QNNRT_ONNXRUNTIME_IMPLEMENTATION
#define QNNRT_OPENVINO_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_cache.h"
#include "qnnrt_convert.h"
#include "qnnrt_manifest.h"
#include "qnnrt_session.h"
#include "qnnrt_weights.h"
#include "qnnrt_ir.h"
#include "qnnrt_ir_passes.h"
#include "qnnrt_lower.h"
#include "qnnrt_partition.h"
#include "qnnrt_cpu_fallback.h"
#include "qnnrt_compile.h"
#include "qnnrt_qnn.h"
#include "qnnrt_onnxruntime.h"
#include "qnnrt_openvino.h"
#endif

#ifndef QNNRT_ENGINES_H
#define QNNRT_ENGINES_H

#include "qnnrt_qnn.h"
#include "qnnrt_onnxruntime.h"
#include "qnnrt_openvino.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_engines.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_ENGINES_API
#define QNNRT_ENGINES_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { QNNRT_ENGINES = 8 };          /* room for the list, its end, and three engines of yours */

/* Fill a list with the engines of this project, ended by NULL, in the order in which "auto" tries
   them: "qnn", "onnxrt", "onnxrt+trt", "openvino". Put engines of your own after them (the
   first free place is the one with NULL), or copy them behind yours. What an engine is, is said at
   qnnrt_engine in qnnrt_session.h.

   list     of the caller; a session reads it only while it is created

   Returns  list */
QNNRT_ENGINES_API const qnnrt_engine *const *
qnnrt_engines_default(const qnnrt_engine *list[QNNRT_ENGINES]);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_ENGINES_H, end of the declarations */

#ifdef QNNRT_ENGINES_LIST_IMPLEMENTATION
#ifndef QNNRT_ENGINES__IMPL_ONCE
#define QNNRT_ENGINES__IMPL_ONCE

#ifdef __cplusplus
extern "C" {
#endif

QNNRT_ENGINES_API const qnnrt_engine *const *
qnnrt_engines_default(const qnnrt_engine *list[QNNRT_ENGINES])
{
    size_t count = 0;
    list[count++] = qnnrt_engine_qnn();
    list[count++] = qnnrt_engine_onnxruntime();
    list[count++] = qnnrt_engine_onnxruntime_trt();
    list[count++] = qnnrt_engine_openvino();
    list[count] = NULL;
    return list;
}

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_ENGINES__IMPL_ONCE */
#endif /* QNNRT_ENGINES_LIST_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.4.0   First version.
   --------------------------------------------------------------------------------------------- */
