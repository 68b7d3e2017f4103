/* qnnrt_onnxruntime.h - v0.5.0 - ONNX Runtime as an engine of qnnrt_session.h, without its headers

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_onnxruntime.h"
       #define QNNRT_CACHE_IMPLEMENTATION
       #define QNNRT_SESSION_IMPLEMENTATION
       #define QNNRT_ONNXRUNTIME_IMPLEMENTATION
       #include "qnnrt_onnxruntime.h"
   qnnrt_session.h and qnnrt.h lie beside this file or are found by the compiler. Link with -ldl.

       const qnnrt_engine *engines[] = { qnnrt_engine_onnxruntime(), NULL };
       qnnrt_session_option where = { "onnxrt", "library_path", "libs/libonnxruntime.so.1.31.1" };
       desc.engines = engines;
       desc.device = "cpu";
       desc.options = &where;  desc.option_count = 1;
       qnnrt_session_create("model.onnx", &desc, &session, &err);

   Uses     Public names of qnnrt.h, qnnrt_cache.h and qnnrt_session.h, libc, libdl, POSIX folders
   Trust    The caller and the library that he names are trusted. A model may be hostile: ONNX
            Runtime parses it, and what it says about tensors is checked here again.
   Memory   One allocator hook serves our own allocations; ONNX Runtime has its own memory.
            A run allocates nothing of ours, except where it returns strings.
   Threads  The header creates none; ONNX Runtime creates threads - 1 of its own.
   Globals  Constant tables only. The header prints nothing and never aborts. ONNX Runtime stays
            loaded after the last session, because its threads may outlive it.

   WORDS
       provider  a part of ONNX Runtime that runs nodes: CPU, QNN, CUDA, TensorRT
       plug-in   a provider in a library of its own, which is registered at run time (API 24)
       API       the second number of the version: 1.31.1 has API 31
       slot      an index into the table of functions that the library returns
       context   a model in which a compiled part is one node: EPContext

   BUILD OPTIONS, to define before the header is first included
       QNNRT_ONNXRUNTIME_API  replaces the storage and export prefix (default: QNNRT_API)
       The options of qnnrt.h work here too: QNNRT_STATIC, QNNRT_API

   MANUAL

   Finding the library
       As qnnrt_engine_find() says, with the option "library_path": a file, the folder of
       libonnxruntime.so.*, or a name.
       Versions 1.14 to 1.31 were measured. The version is read from the library's text before any
       slot is: older ones are refused, newer ones get the table of 1.31, with a line in the log.

   Devices and providers
       "cpu"      the CPU provider. desc.threads is the number of threads of one operator
       "npu"      the QNN provider: the plug-in that option "provider_library" names, else the one
                  that is compiled into the library
       "gpu"      the plug-in's GPU if it has one, else as "cuda:0"
       "cuda:0"   the CUDA provider on that device. Engine "onnxrt+trt" asks TensorRT first
       A provider that the library was built without is QNNRT_E_UNSUPPORTED, with its text. Nodes
       that the provider does not take are an error too, unless desc.allow_fallback is set; then
       qnnrt_session_info.fallback lists them (API 24, older ones cannot say). For devices other
       than "cpu" without fallback, API 16 is needed, because older ones fall back silently.

   Options
       session.*, ep.*    entries of the session's configuration, from ONNX Runtime's documentation.
                          An entry that no library up to 1.32 knows is an error with such a library
       provider_library   path of a plug-in: libonnxruntime_providers_qnn.so. A bare name is taken
                          from the folder of ONNX Runtime
       all others         options of the provider, such as backend_path and htp_performance_mode of
                          QNN, cudnn_conv_algo_search of CUDA, trt_* of TensorRT. An option that the
                          provider refuses is an error, and so is one that QNN 2.7 does not
                          know. The CPU has none
       For QNN backend_type=htp is set (before API 22 backend_path=libQnnHtp.so), unless one of the
       two is given, and offload_graph_io_quantization=0 for API 22, unless fallback is allowed.

   Precision
       "fp16" and "int8" are for TensorRT, "fp16" and "fp32" for QNN (enable_htp_fp16_precision);
       on the CPU and CUDA the model decides, and only "fp32" or none is accepted.

   Compiled models
       On "npu" desc.cache_dir keeps a context: an .onnx with EPContext nodes and a .bin beside it.
       TensorRT keeps its engines. The CPU has nothing to keep. A context of your own is a model
       like any other: give its .onnx.

   Shapes
       A free dimension with a name becomes fixed before the model is compiled; one without a name
       is fixed for the caller only, with a line in the log. Shapes make loading slower: the model
       is read once more to find out names.

   Not supported, each refused by name: inputs and outputs that are sequences, maps, sparse or
   optional; complex, 8-bit float and packed 2-bit types; limits of time; preferences.

   ROOMS (search for the tag)
       >>config >>table >>report >>search >>version >>plugin >>options >>facts >>shapes >>provider
       >>assigned >>load >>bind >>run >>public
*/
#ifndef QNNRT_ONNXRUNTIME_H
#define QNNRT_ONNXRUNTIME_H

#include "qnnrt_session.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_onnxruntime.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_ONNXRUNTIME_API
#define QNNRT_ONNXRUNTIME_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Return the table of engine "onnxrt", a constant. */
QNNRT_ONNXRUNTIME_API const qnnrt_engine *qnnrt_engine_onnxruntime(void);

/* Return the table of engine "onnxrt+trt", a constant: devices "cuda:0" and "gpu", by the provider
   TensorRT, and by CUDA what that one does not take. */
QNNRT_ONNXRUNTIME_API const qnnrt_engine *qnnrt_engine_onnxruntime_trt(void);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_ONNXRUNTIME_H, end of the declarations */

#ifdef QNNRT_ONNXRUNTIME_IMPLEMENTATION
#ifndef QNNRT_ONNXRUNTIME__IMPL_ONCE
#define QNNRT_ONNXRUNTIME__IMPL_ONCE

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   Errors, memory and text, for every room.
   Needs: nothing     Knows nothing of: ONNX Runtime
   ===================================================================================== */

enum {
    QNNRT_ORT__PATH = 4096,
    QNNRT_ORT__OLDEST = 14, QNNRT_ORT__NEWEST = 31,      /* API versions */
    QNNRT_ORT__KEYS = 32,                /* newest API whose configuration keys are known */
    QNNRT_ORT__MOST = 100000             /* inputs, outputs and subgraphs of a model */
};

/* Make a text one line, without blanks at its end. */
static void qnnrt_ort__clean(char *text)
{
    char *at;
    for (at = text; *at != '\0'; ++at)
        if (*at == '\t') *at = ' ';
    qnnrt_text_clean(text);
    while (at > text && at[-1] == ' ') *--at = '\0';
}

/* Return 1 if a text begins with another one. */
static int qnnrt_ort__begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* =====================================================================================
   TABLE                                                                          >>table
   The functions of ONNX Runtime that are used: name, slot, the API version that has it first, 1 if
   it must be there, result and arguments. All handles are pointers to nothing. A status that is
   NULL means success.
   Source: engines.md of this project; slots never moved from API 11 to API 31.
   Needs: nothing     Knows nothing of: libraries
   ===================================================================================== */

typedef void *qnnrt_ort__status;
typedef void (*qnnrt_ort__logger)(void *user, int severity, const char *category, const char *id,
                                  const char *where, const char *text);

/* X(name, slot, since, result, arguments) */
#define QNNRT_ORT__CALLS(X) \
    X(GetErrorCode, 1, 11, int, (const void *)) \
    X(GetErrorMessage, 2, 11, const char *, (const void *)) \
    X(CreateEnvWithCustomLogger, 4, 11, qnnrt_ort__status, \
      (qnnrt_ort__logger, void *, int, const char *, void **)) \
    X(CreateSession, 7, 11, qnnrt_ort__status, (void *, const char *, void *, void **)) \
    X(CreateSessionOptions, 10, 11, qnnrt_ort__status, (void **)) \
    X(SetSessionLogSeverityLevel, 22, 11, qnnrt_ort__status, (void *, int)) \
    X(SetSessionGraphOptimizationLevel, 23, 11, qnnrt_ort__status, (void *, int)) \
    X(SetIntraOpNumThreads, 24, 11, qnnrt_ort__status, (void *, int)) \
    X(SessionGetInputCount, 30, 11, qnnrt_ort__status, (void *, size_t *)) \
    X(SessionGetOutputCount, 31, 11, qnnrt_ort__status, (void *, size_t *)) \
    X(SessionGetOverridableInitializerCount, 32, 11, qnnrt_ort__status, (void *, size_t *)) \
    X(SessionGetInputTypeInfo, 33, 11, qnnrt_ort__status, (void *, size_t, void **)) \
    X(SessionGetOutputTypeInfo, 34, 11, qnnrt_ort__status, (void *, size_t, void **)) \
    X(SessionGetOverridableInitializerTypeInfo, 35, 11, qnnrt_ort__status, \
      (void *, size_t, void **)) \
    X(SessionGetInputName, 36, 11, qnnrt_ort__status, (void *, size_t, void *, char **)) \
    X(SessionGetOutputName, 37, 11, qnnrt_ort__status, (void *, size_t, void *, char **)) \
    X(SessionGetOverridableInitializerName, 38, 11, qnnrt_ort__status, \
      (void *, size_t, void *, char **)) \
    X(CreateRunOptions, 39, 11, qnnrt_ort__status, (void **)) \
    X(RunOptionsSetTerminate, 46, 11, qnnrt_ort__status, (void *)) \
    X(RunOptionsUnsetTerminate, 47, 11, qnnrt_ort__status, (void *)) \
    X(CreateTensorAsOrtValue, 48, 11, qnnrt_ort__status, \
      (void *, const int64_t *, size_t, int, void **)) \
    X(CreateTensorWithDataAsOrtValue, 49, 11, qnnrt_ort__status, \
      (const void *, void *, size_t, const int64_t *, size_t, int, void **)) \
    X(IsTensor, 50, 11, qnnrt_ort__status, (const void *, int *)) \
    X(GetTensorMutableData, 51, 11, qnnrt_ort__status, (void *, void **)) \
    X(FillStringTensor, 52, 11, qnnrt_ort__status, (void *, const char *const *, size_t)) \
    X(GetStringTensorDataLength, 53, 11, qnnrt_ort__status, (const void *, size_t *)) \
    X(GetStringTensorContent, 54, 11, qnnrt_ort__status, \
      (const void *, void *, size_t, size_t *, size_t)) \
    X(CastTypeInfoToTensorInfo, 55, 11, qnnrt_ort__status, (const void *, const void **)) \
    X(GetOnnxTypeFromTypeInfo, 56, 11, qnnrt_ort__status, (const void *, int *)) \
    X(GetTensorElementType, 60, 11, qnnrt_ort__status, (const void *, int *)) \
    X(GetDimensionsCount, 61, 11, qnnrt_ort__status, (const void *, size_t *)) \
    X(GetDimensions, 62, 11, qnnrt_ort__status, (const void *, int64_t *, size_t)) \
    X(GetSymbolicDimensions, 63, 11, qnnrt_ort__status, (const void *, const char **, size_t)) \
    X(GetTensorTypeAndShape, 65, 11, qnnrt_ort__status, (const void *, void **)) \
    X(CreateCpuMemoryInfo, 69, 11, qnnrt_ort__status, (int, int, void **)) \
    X(AllocatorFree, 76, 11, qnnrt_ort__status, (void *, void *)) \
    X(GetAllocatorWithDefaultOptions, 78, 11, qnnrt_ort__status, (void **)) \
    X(ReleaseEnv, 92, 11, void, (void *)) \
    X(ReleaseStatus, 93, 11, void, (void *)) \
    X(ReleaseMemoryInfo, 94, 11, void, (void *)) \
    X(ReleaseSession, 95, 11, void, (void *)) \
    X(ReleaseValue, 96, 11, void, (void *)) \
    X(ReleaseRunOptions, 97, 11, void, (void *)) \
    X(ReleaseTypeInfo, 98, 11, void, (void *)) \
    X(ReleaseTensorTypeAndShapeInfo, 99, 11, void, (void *)) \
    X(ReleaseSessionOptions, 100, 11, void, (void *)) \
    X(AddFreeDimensionOverrideByName, 124, 11, qnnrt_ort__status, \
      (void *, const char *, int64_t)) \
    X(AddSessionConfigEntry, 130, 11, qnnrt_ort__status, (void *, const char *, const char *)) \
    X(RunWithBinding, 133, 11, qnnrt_ort__status, (void *, const void *, const void *)) \
    X(CreateIoBinding, 134, 11, qnnrt_ort__status, (void *, void **)) \
    X(ReleaseIoBinding, 135, 11, void, (void *)) \
    X(BindInput, 136, 11, qnnrt_ort__status, (void *, const char *, const void *)) \
    X(BindOutput, 137, 11, qnnrt_ort__status, (void *, const char *, const void *)) \
    X(BindOutputToDevice, 138, 11, qnnrt_ort__status, (void *, const char *, const void *)) \
    X(GetBoundOutputValues, 140, 11, qnnrt_ort__status, \
      (const void *, void *, void ***, size_t *)) \
    X(ClearBoundInputs, 141, 11, void, (void *)) \
    X(AppendTensorRT_V2, 170, 11, qnnrt_ort__status, (void *, const void *)) \
    X(CreateTensorRTProviderOptions, 171, 11, qnnrt_ort__status, (void **)) \
    X(UpdateTensorRTProviderOptions, 172, 11, qnnrt_ort__status, \
      (void *, const char *const *, const char *const *, size_t)) \
    X(ReleaseTensorRTProviderOptions, 174, 11, void, (void *)) \
    X(AppendCUDA_V2, 204, 11, qnnrt_ort__status, (void *, const void *)) \
    X(CreateCUDAProviderOptions, 205, 11, qnnrt_ort__status, (void **)) \
    X(UpdateCUDAProviderOptions, 206, 11, qnnrt_ort__status, \
      (void *, const char *const *, const char *const *, size_t)) \
    X(ReleaseCUDAProviderOptions, 208, 11, void, (void *)) \
    X(AppendExecutionProvider, 216, 12, qnnrt_ort__status, \
      (void *, const char *, const char *const *, const char *const *, size_t)) \
    X(GetBuildInfoString, 254, 15, const char *, (void)) \
    X(SetUserLoggingFunction, 266, 17, qnnrt_ort__status, (void *, qnnrt_ort__logger, void *)) \
    X(GetKeyValue, 297, 22, const char *, (const void *, const char *)) \
    X(RegisterExecutionProviderLibrary, 301, 22, qnnrt_ort__status, \
      (void *, const char *, const char *)) \
    X(GetEpDevices, 303, 22, qnnrt_ort__status, (const void *, void *const **, size_t *)) \
    X(AppendExecutionProvider_V2, 304, 22, qnnrt_ort__status, \
      (void *, void *, void *const *, size_t, const char *const *, const char *const *, size_t)) \
    X(HardwareDevice_Type, 307, 22, int, (const void *)) \
    X(EpDevice_EpName, 312, 22, const char *, (const void *)) \
    X(EpDevice_EpVendor, 313, 22, const char *, (const void *)) \
    X(EpDevice_EpMetadata, 314, 22, const void *, (const void *)) \
    X(EpDevice_Device, 316, 22, const void *, (const void *)) \
    X(TensorTypeAndShape_HasShape, 390, 24, unsigned char, (const void *)) \
    X(Session_GetEpGraphAssignmentInfo, 407, 24, qnnrt_ort__status, \
      (const void *, void *const **, size_t *)) \
    X(EpAssignedSubgraph_GetEpName, 408, 24, qnnrt_ort__status, (const void *, const char **)) \
    X(EpAssignedSubgraph_GetNodes, 409, 24, qnnrt_ort__status, \
      (const void *, void *const **, size_t *)) \
    X(EpAssignedNode_GetOperatorType, 412, 24, qnnrt_ort__status, (const void *, const char **))

typedef struct qnnrt_ort__api {
#define QNNRT_X(name, slot, since, result, arguments) result (*name) arguments;
    QNNRT_ORT__CALLS(QNNRT_X)
#undef QNNRT_X
} qnnrt_ort__api;

typedef struct qnnrt_ort__call {
    const char *name;
    size_t      slot, offset;
    int         since;
} qnnrt_ort__call;

static const qnnrt_ort__call qnnrt_ort__calls[] = {
#define QNNRT_X(name, slot, since, result, arguments) \
    { #name, slot, offsetof(qnnrt_ort__api, name), since },
    QNNRT_ORT__CALLS(QNNRT_X)
#undef QNNRT_X
};

/* What OrtGetApiBase() returns. */
typedef struct qnnrt_ort__base {
    const void *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} qnnrt_ort__base;

/* A library that was opened. */
typedef struct qnnrt_ort__library {
    qnnrt_hooks        hooks;
    qnnrt_ort__api     api;
    int                number;           /* of the API: 31 */
    int                trt;              /* 1: engine "onnxrt+trt" */
    void              *handle, *env;
    void              *allocator;        /* ONNX Runtime's default, owned by it */
    void              *memory;           /* facts of plain memory of the CPU */
    char               version[64], path[QNNRT_ORT__PATH], build[512];
    void             **devices;          /* [device_count] of the plug-in */
    size_t             device_count;
} qnnrt_ort__library;

/* =====================================================================================
   REPORT                                                                        >>report
   Turns a status into a result and a text, and lines of ONNX Runtime into lines of the log.
   Needs: >>config >>table     Knows nothing of: models
   ===================================================================================== */

/* Return the result that a code of ONNX Runtime means. */
static qnnrt_result qnnrt_ort__result(int code)
{
    switch (code) {
    case 3: case 4: return QNNRT_E_NOT_FOUND;            /* no such file, no model */
    case 7: case 10: return QNNRT_E_FORMAT;              /* protobuf, graph */
    case 9: return QNNRT_E_UNSUPPORTED;                  /* no kernel for an operator */
    case 12: return QNNRT_E_CANCELLED;
    default: return QNNRT_E_BACKEND;
    }
}

/* Return 1 if a text of ONNX Runtime says that memory is short; *bytes receives what it asked for,
   or 0. */
static int qnnrt_ort__is_memory(const char *text, unsigned long long *bytes)
{
    static const char asked[] = "requested buffer of size ";
    const char *at = strstr(text, asked);
    *bytes = 0;
    if (at != NULL) {
        const char *digit = at + sizeof asked - 1;
        for (; *digit >= '0' && *digit <= '9' && *bytes < UINT64_MAX / 16; ++digit)
            *bytes = *bytes * 10 + (unsigned long long)(*digit - '0');
        return 1;
    }
    return strstr(text, "bad_alloc") != NULL || strstr(text, "out of memory") != NULL;
}

/* Release a status that is not NULL, and fill the error: what failed, and ONNX Runtime's text.
   `what` ends without a colon. */
static qnnrt_result qnnrt_ort__report(const qnnrt_ort__library *library, qnnrt_ort__status status,
                                      qnnrt_error *err, const char *what)
{
    const int vendor = library->api.GetErrorCode(status);
    const char *text = library->api.GetErrorMessage(status);
    unsigned long long bytes;
    qnnrt_result result = qnnrt_ort__result(vendor);
    if (text == NULL) text = "no text";
    if (qnnrt_ort__is_memory(text, &bytes)) {
        result = QNNRT_E_MEMORY;
        qnnrt_error_set(err, result, "%s: out of memory: requested %llu bytes: %s", what, bytes,
                        text);
    } else {
        qnnrt_error_set(err, result, "%s: %s", what, text);
    }
    if (err != NULL) err->vendor_code = (uint64_t)(unsigned)vendor;
    library->api.ReleaseStatus(status);
    return result;
}

/* Release a status of a provider that cannot be used. That the library was built without it has a
   code of each provider's own, and one text. */
static qnnrt_result qnnrt_ort__report_provider(const qnnrt_ort__library *library,
                                               qnnrt_ort__status status, qnnrt_error *err,
                                               const char *what)
{
    const char *text = library->api.GetErrorMessage(status);
    const int lacks = text != NULL && (strstr(text, "not supported in this build") != NULL ||
                                       strstr(text, "not enabled in this build") != NULL ||
                                       strstr(text, "Unknown provider name") != NULL);
    const qnnrt_result result = qnnrt_ort__report(library, status, err, what);
    if (!lacks) return result;
    if (err != NULL) err->code = QNNRT_E_UNSUPPORTED;
    return QNNRT_E_UNSUPPORTED;
}

/* Release a status whose text does not matter. Return 1 if it was a failure. */
static int qnnrt_ort__failed(const qnnrt_ort__library *library, qnnrt_ort__status status)
{
    if (status == NULL) return 0;
    library->api.ReleaseStatus(status);
    return 1;
}

/* Where the lines of a session go. Some failures are told only there. */
typedef struct qnnrt_ort__sink {
    qnnrt_hooks hooks;
    int         taken;                   /* 1: the first error is in `first`, or on its way */
    char        first[400];
} qnnrt_ort__sink;

/* Take a line of ONNX Runtime, on any thread. user is the sink of a session, or NULL: the
   environment is shared by all that use the library, so its lines belong to nobody. */
static void qnnrt_ort__line(void *user, int severity, const char *category, const char *id,
                            const char *where, const char *text)
{
    static const qnnrt_log_level levels[] = { QNNRT_LOG_VERBOSE, QNNRT_LOG_INFO, QNNRT_LOG_WARN };
    qnnrt_ort__sink *sink = (qnnrt_ort__sink *)user;
    char line[1024];
    (void)category;
    (void)id;
    (void)where;
    if (sink == NULL || text == NULL) return;
    snprintf(line, sizeof line, "%s", text);
    qnnrt_ort__clean(line);
    if (severity >= 3 && __atomic_exchange_n(&sink->taken, 1, __ATOMIC_ACQ_REL) == 0)
        snprintf(sink->first, sizeof sink->first, "%.399s", line);
    qnnrt_log(&sink->hooks, severity >= 0 && severity < 3 ? levels[severity] : QNNRT_LOG_ERROR,
              "onnxrt", 0, "%s", line);
}

/* =====================================================================================
   SEARCH                                                                        >>search
   Opens the library.
   Needs: nothing     Knows nothing of: ONNX Runtime's functions
   ===================================================================================== */

#define QNNRT_ORT__NAME "libonnxruntime.so"

/* Open the library by the rule of the manual. An error names what was tried. */
static void *qnnrt_ort__search(const char *asked, qnnrt_error *err)
{
    static const char *const usual[] = { QNNRT_ORT__NAME, "libonnxruntime.so.1", NULL };
    qnnrt_error_hint(err,
                     qnnrt_error_set(err, QNNRT_E_LIBRARY, "cannot open the library %.900s. Tried:",
                                     asked != NULL ? asked : QNNRT_ORT__NAME), "%s",
                     asked != NULL && strchr(asked, '/') != NULL ?
                     "Check the path, and run ldd on the file." :
                     "Give the path of libonnxruntime.so with the option library_path.");
    return qnnrt_engine_find(QNNRT_ORT__NAME, asked, usual, err);
}

/* =====================================================================================
   VERSION                                                                      >>version
   Reads the library's version, and only then its table.
   Needs: >>config >>table     Knows nothing of: models, providers
   ===================================================================================== */

/* Read a number without leading zeros, of at most three digits. Return -1 if there is none. */
static int qnnrt_ort__digits(const char **at)
{
    const char *begin = *at;
    int value = 0;
    while (**at >= '0' && **at <= '9' && *at - begin < 4) value = value * 10 + (*(*at)++ - '0');
    if (*at == begin || *at - begin > 3 || (*begin == '0' && *at - begin > 1)) return -1;
    return value;
}

/* Check a version, "1.31.1" or "1.31.1-dev", and copy it. Return the number of the API, or -1. */
static int qnnrt_ort__version(const char *text, char out[64])
{
    const char *at = text;
    int major, minor;
    size_t i;
    out[0] = '\0';
    if (text == NULL) return -1;
    for (i = 0; i < 63 && text[i] != '\0'; ++i) out[i] = text[i];
    out[i] = '\0';
    if (text[i] != '\0') return -1;
    major = qnnrt_ort__digits(&at);
    if (major < 0 || *at++ != '.') return -1;
    minor = qnnrt_ort__digits(&at);
    if (minor < 0 || *at++ != '.' || qnnrt_ort__digits(&at) < 0) return -1;
    if (*at != '\0' && *at != '-' && *at != '+' && *at != '.') return -1;
    for (; *at != '\0'; ++at)
        if (!((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
              (*at >= 'A' && *at <= 'Z') || strchr("-+._", *at) != NULL)) return -1;
    return major == 1 ? minor : 1000 + major;
}

/* Read the table: the slots that this version has. All of them must be there. */
static qnnrt_result qnnrt_ort__table(qnnrt_ort__library *library, const void *slots,
                                     qnnrt_error *err)
{
    size_t i;
    for (i = 0; i < sizeof qnnrt_ort__calls / sizeof *qnnrt_ort__calls; ++i) {
        const qnnrt_ort__call *call = &qnnrt_ort__calls[i];
        void (*found)(void);
        if (call->since > library->number) continue;
        memcpy((void *)&found, (const char *)slots + call->slot * sizeof(found), sizeof(found));
        if (found == NULL)
            return qnnrt_error_hint(err,
                                    qnnrt_error_set(err, QNNRT_E_LIBRARY, "%.900s: its table has "
                                                    "no %s (slot %lu), which ONNX Runtime %s has",
                                                    library->path, call->name,
                                                    (unsigned long)call->slot, library->version),
                                    "Use a library of another source.");
        memcpy((char *)&library->api + call->offset, (const void *)&found, sizeof(found));
    }
    return QNNRT_OK;
}

/* Find the version and the table of a library that is loaded. */
static qnnrt_result qnnrt_ort__accept(qnnrt_ort__library *library, qnnrt_error *err)
{
    const qnnrt_ort__base *(*get)(void) = NULL;
    const qnnrt_ort__base *base;
    const void *slots;
    void *symbol = dlsym(library->handle, "OrtGetApiBase");
    int api;
    if (symbol == NULL)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_LIBRARY, "%.1000s is not ONNX "
                                                "Runtime: it has no OrtGetApiBase", library->path),
                                "Give the path of libonnxruntime.so; of a Python package, the file "
                                "in its folder capi.");
    qnnrt_engine_path(symbol, library->path, sizeof library->path);
    memcpy((void *)&get, (const void *)&symbol, sizeof(get));
    base = get();
    if (base == NULL || base->GetApi == NULL || base->GetVersionString == NULL)
        return qnnrt_error_set(err, QNNRT_E_LIBRARY, "%.1000s: OrtGetApiBase returns no functions",
                               library->path);
    api = qnnrt_ort__version(base->GetVersionString(), library->version);
    if (api < 0)
        return qnnrt_error_set(err, QNNRT_E_VERSION, "%.1000s: its version is \"%.64s\", expected "
                               "three numbers such as 1.%d.0", library->path, library->version,
                               (int)QNNRT_ORT__NEWEST);
    if (api >= 1000 || api < QNNRT_ORT__OLDEST)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_VERSION, "%.1000s is ONNX Runtime %s, "
                                                "expected 1.%d or newer, below 2.0", library->path,
                                                library->version, (int)QNNRT_ORT__OLDEST),
                                "Use ONNX Runtime 1.14 or newer, below 2.0.");
    library->number = api < QNNRT_ORT__NEWEST ? api : QNNRT_ORT__NEWEST;
    slots = base->GetApi((uint32_t)library->number);
    if (slots == NULL)
        return qnnrt_error_set(err, QNNRT_E_VERSION, "%.1000s says that it is ONNX Runtime %s, but "
                               "has no table for API %d", library->path, library->version,
                               library->number);
    if (api > QNNRT_ORT__NEWEST)
        qnnrt_log(&library->hooks, QNNRT_LOG_WARN, "onnxrt", 0,
                  "ONNX Runtime %.64s is newer than 1.%d, which was measured; its table of 1.%d is"
                  " used", library->version, (int)QNNRT_ORT__NEWEST, (int)QNNRT_ORT__NEWEST);
    return qnnrt_ort__table(library, slots, err);
}

/* =====================================================================================
   PLUG-IN                                                                       >>plugin
   Registers a provider in a library of its own, and finds its devices.
   Needs: >>config >>table >>report     Knows nothing of: models
   ===================================================================================== */

/* Write the whole path of a plug-in: ONNX Runtime takes relative ones from its own folder. Return 0
   if it is too long. A bare name stays as it is. */
static int qnnrt_ort__plugin_path(const char *path, char out[QNNRT_ORT__PATH])
{
    char here[QNNRT_ORT__PATH] = "";
    const int relative = path[0] != '/' && strchr(path, '/') != NULL;
    if (relative && getcwd(here, sizeof here) == NULL) return 0;
    return snprintf(out, QNNRT_ORT__PATH, "%s%s%s", here, relative ? "/" : "", path) <
           QNNRT_ORT__PATH;
}

/* Write the name under which a plug-in is registered. It is the name of its provider, too, and that
   is written into contexts: those of other programs have QNNExecutionProvider. */
static void qnnrt_ort__plugin_name(const char *path, char out[128])
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    if (strstr(name, "providers_qnn") != NULL) snprintf(out, 128, "QNNExecutionProvider");
    else snprintf(out, 128, "%s", name);
    qnnrt_ort__clean(out);
}

/* Collect the devices whose provider has a name. */
static qnnrt_result qnnrt_ort__plugin_devices(qnnrt_ort__library *library, const char *name,
                                              const char *what, qnnrt_error *err)
{
    const qnnrt_ort__api *api = &library->api;
    void *const *list = NULL;
    size_t count = 0, i;
    qnnrt_ort__status status = api->GetEpDevices(library->env, &list, &count);
    if (status != NULL) return qnnrt_ort__report(library, status, err, what);
    qnnrt_hooks_free(&library->hooks, library->devices);
    library->device_count = 0;
    library->devices = (void **)qnnrt_hooks_alloc(&library->hooks, count,
                                                  sizeof(*library->devices));
    if (library->devices == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    for (i = 0; i < count; ++i) {
        const char *provider = api->EpDevice_EpName(list[i]);
        if (provider != NULL && strcmp(provider, name) == 0)
            library->devices[library->device_count++] = list[i];
    }
    return QNNRT_OK;
}

/* Register a plug-in, unless another session did. It stays registered until the environment ends,
   which all sessions share: others may use it. */
static qnnrt_result qnnrt_ort__plugin(qnnrt_ort__library *library, const char *path,
                                      qnnrt_error *err)
{
    const qnnrt_ort__api *api = &library->api;
    const char *version, *vendor;
    const size_t length = strlen(library->build);
    char what[256], name[128], whole[QNNRT_ORT__PATH], hash[QNNRT_CACHE_KEY_BYTES];
    qnnrt_cache_key key;
    qnnrt_result result;
    if (library->number < 22)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_VERSION, "ONNX Runtime %s takes no "
                                                "plug-in (%.800s); that needs 1.22",
                                                library->version, path), "Use ONNX Runtime 1.24 or "
                                "newer.");
    snprintf(what, sizeof what, "cannot register the plug-in %.180s", path);
    if (!qnnrt_ort__plugin_path(path, whole))
        return qnnrt_error_set(err, QNNRT_E_LIMIT, "%s: its path is too long", what);
    qnnrt_ort__plugin_name(path, name);
    result = qnnrt_ort__plugin_devices(library, name, what, err);
    if (result == QNNRT_OK && library->device_count == 0) {
        qnnrt_ort__status status = api->RegisterExecutionProviderLibrary(library->env, name, whole);
        if (status != NULL) return qnnrt_ort__report(library, status, err, what);
        result = qnnrt_ort__plugin_devices(library, name, what, err);
    }
    if (result != QNNRT_OK) return result;
    if (library->device_count == 0)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s: it offers no device on this machine",
                               what);
    vendor = api->EpDevice_EpVendor(library->devices[0]);
    version = api->GetKeyValue(api->EpDevice_EpMetadata(library->devices[0]), "version");
    /* All releases of the QNN plug-in say that they are 0.1.0. */
    qnnrt_cache_key_begin(&key);
    qnnrt_cache_key_file(&key, "plug-in", whole, NULL);
    qnnrt_cache_key_end(&key, hash);
    snprintf(library->build + length, sizeof library->build - length, "; plug-in %.64s %.64s %.32s",
             vendor != NULL ? vendor : "?", version != NULL ? version : "?", hash);
    qnnrt_ort__clean(library->build);
    return QNNRT_OK;
}

/* Find the plug-in's device of a hardware type: 0 CPU, 1 GPU, 2 NPU. Return NULL if it has none. */
static void *qnnrt_ort__plugin_device(const qnnrt_ort__library *library, int type)
{
    size_t i;
    for (i = 0; i < library->device_count; ++i)
        if (library->api.HardwareDevice_Type(library->api.EpDevice_Device(library->devices[i])) ==
            type) return library->devices[i];
    return NULL;
}

/* =====================================================================================
   OPTIONS                                                                      >>options
   Sorts the caller's options: entries of the session's configuration, and the provider's.
   Needs: >>config >>table >>report     Knows nothing of: providers' own options
   ===================================================================================== */

/* Keys that libraries up to 1.32 know, without "session.". ONNX Runtime ignores others silently. */
static const char *const qnnrt_ort__session_keys[] = {
    "allow_released_opsets_only", "collect_node_memory_stats_to_file", "compile_only",
    "debug_layout_transformation", "disable_aot_function_inlining", "disable_cpu_ep_fallback",
    "disable_double_qdq_remover", "disable_model_compile", "disable_prepacking",
    "disable_qdq_constant_folding", "disable_quant_qdq", "dynamic_block_base",
    "enable_cpu_mem_arena", "enable_dq_matmulnbits_fusion", "enable_mem_pattern",
    "enable_profiling", "enable_quant_qdq_cleanup", "enable_saved_runtime_optimizations",
    "execution_mode", "fail_on_suboptimal_compiled_model", "force_spinning_stop",
    "function_expansion_byte_limit", "function_expansion_node_limit", "gqa_value_layout",
    "graph_optimization_level", "graph_optimizations_loop_level", "inter_op.allow_spinning",
    "inter_op.spin_backoff_max", "inter_op.spin_duration_us", "inter_op_num_threads",
    "intra_op.allow_spinning", "intra_op.spin_backoff_max", "intra_op.spin_duration_us",
    "intra_op_num_threads", "intra_op_thread_affinities", "kernel_dispatch_policy",
    "layer_assignment_settings", "load_model_format", "log_id", "log_severity_level",
    "log_verbosity_level", "max_shape_override", "model_external_initializers_file_folder_path",
    "name_based_layer_assignment", "node_partition_config_file",
    "optimized_model_external_initializers_file_name",
    "optimized_model_external_initializers_min_size_in_bytes", "optimized_model_filepath",
    "prepack.enable_parallel", "qdq_matmulnbits_accuracy_level", "qdq_matmulnbits_block_size",
    "qdqisint8allowed", "record_ep_graph_assignment_info", "resource_cuda_partitioning_settings",
    "save_external_prepacked_constant_initializers", "save_model_format", "set_denormal_as_zero",
    "strict_shape_type_inference", "strict_workspace_verification", "use_deterministic_compute",
    "use_device_allocator_for_initializers", "use_env_allocators",
    "use_external_initializer_file_buffers_directly", "use_ort_model_bytes_directly",
    "use_ort_model_bytes_for_initializers", "use_per_session_threads"
};

/* The same without "ep.". */
static const char *const qnnrt_ort__ep_keys[] = {
    "context_embed_mode", "context_enable", "context_file_path",
    "context_model_external_initializers_file_name", "context_node_name_prefix",
    "context_source_model_path", "enable_weightless", "enable_weightless_ep_context_nodes",
    "enable_weightless_mode", "share_ep_contexts", "stop_share_ep_contexts"
};

/* Return 1 if a library knows a key of the session's configuration. */
static int qnnrt_ort__key_known(const char *key)
{
    const int ep = qnnrt_ort__begins(key, "ep.");
    const char *tail = key + (ep ? 3 : 8);
    const char *const *keys = ep ? qnnrt_ort__ep_keys : qnnrt_ort__session_keys;
    const size_t count = ep ? sizeof qnnrt_ort__ep_keys / sizeof *qnnrt_ort__ep_keys
                            : sizeof qnnrt_ort__session_keys / sizeof *qnnrt_ort__session_keys;
    size_t i;
    if (ep && strchr(tail, '.') != NULL) return 1;       /* ep.<provider>.<option> */
    if (!ep && (qnnrt_ort__begins(tail, "moe") || qnnrt_ort__begins(tail, "enable_moe") ||
                qnnrt_ort__begins(tail, "external_data_loader."))) return 1;
    for (i = 0; i < count; ++i)
        if (strcmp(keys[i], tail) == 0) return 1;
    return 0;
}

static int qnnrt_ort__option_is_entry(const char *key)
{
    return qnnrt_ort__begins(key, "session.") || qnnrt_ort__begins(key, "ep.");
}

/* Return 1 if an option is for this header, and not for ONNX Runtime. */
static int qnnrt_ort__option_is_ours(const char *key)
{
    return strcmp(key, "library_path") == 0 || strcmp(key, "provider_library") == 0;
}

/* Return the value of an option; the last one wins. NULL: it is not given. */
static const char *qnnrt_ort__option(const qnnrt_session_option *options, size_t count,
                                     const char *key)
{
    const char *value = NULL;
    size_t i;
    for (i = 0; i < count; ++i)
        if (strcmp(options[i].key, key) == 0) value = options[i].value;
    return value;
}

static qnnrt_result qnnrt_ort__entry(const qnnrt_ort__library *library, void *options,
                                     const char *key, const char *value, qnnrt_error *err)
{
    qnnrt_ort__status status = library->api.AddSessionConfigEntry(options, key, value);
    char what[300];
    if (status == NULL) return QNNRT_OK;
    snprintf(what, sizeof what, "option \"%.120s\" = \"%.120s\"", key, value);
    return qnnrt_ort__report(library, status, err, what);
}

/* Give the caller's entries to the session's options. */
static qnnrt_result qnnrt_ort__entries(const qnnrt_ort__library *library,
                                       const qnnrt_engine_load *load, void *options,
                                       qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < load->option_count && result == QNNRT_OK; ++i) {
        const char *key = load->options[i].key;
        if (!qnnrt_ort__option_is_entry(key)) continue;
        if (strcmp(key, "session.disable_cpu_ep_fallback") == 0)
            return qnnrt_error_hint(err,
                                    qnnrt_error_set(err, QNNRT_E_UNSUPPORTED,
                                                    "option \"%s\" is decided by allow_fallback",
                                                    key), "Set allow_fallback instead.");
        if (!qnnrt_ort__key_known(key)) {
            /* The version was checked: its second number follows "1.". */
            if (atoi(library->version + 2) <= QNNRT_ORT__KEYS)
                return qnnrt_error_hint(err,
                                        qnnrt_error_set(err, QNNRT_E_UNSUPPORTED,
                                                        "option \"%.200s\" is unknown to ONNX "
                                                        "Runtime %s", key, library->version),
                                        "Correct the name of the option.");
            qnnrt_log(&load->hooks, QNNRT_LOG_WARN, "onnxrt", 0,
                      "option \"%.200s\" is unknown up to ONNX Runtime 1.%d; version %s may ignore"
                      " it", key, (int)QNNRT_ORT__KEYS, library->version);
        }
        result = qnnrt_ort__entry(library, options, key, load->options[i].value, err);
    }
    return result;
}

/* Options of a provider: first ours, then the caller's, of which the last one wins. */
typedef struct qnnrt_ort__pairs {
    const char **keys, **values;         /* [room] */
    size_t       count, room;
} qnnrt_ort__pairs;

static void qnnrt_ort__pair(qnnrt_ort__pairs *pairs, const char *key, const char *value)
{
    size_t i;
    for (i = 0; i < pairs->count && strcmp(pairs->keys[i], key) != 0; ++i) {}
    if (i == pairs->room) return;        /* room is counted before */
    pairs->keys[i] = key;
    pairs->values[i] = value;
    if (i == pairs->count) ++pairs->count;
}

/* Add the caller's options whose names begin with `prefix`, or that do not begin with `other`. */
static void qnnrt_ort__pairs_add(qnnrt_ort__pairs *pairs, const qnnrt_engine_load *load,
                                 const char *prefix, const char *other)
{
    size_t i;
    for (i = 0; i < load->option_count; ++i) {
        const char *key = load->options[i].key;
        if (qnnrt_ort__option_is_entry(key) || qnnrt_ort__option_is_ours(key)) continue;
        if (prefix != NULL && !qnnrt_ort__begins(key, prefix)) continue;
        if (other != NULL && qnnrt_ort__begins(key, other)) continue;
        qnnrt_ort__pair(pairs, key, load->options[i].value);
    }
}

/* =====================================================================================
   FACTS                                                                          >>facts
   Reads what a session says about its inputs and outputs. All of it is checked.
   Needs: >>config >>table >>report     Knows nothing of: providers, options
   ===================================================================================== */

/* A model that was loaded. */
typedef struct qnnrt_ort__model {
    qnnrt_ort__library   *library;
    qnnrt_hooks           hooks;
    qnnrt_ort__sink       sink;          /* the session's log has its address */
    qnnrt_arena           arena;         /* of its facts */
    void                 *session, *run_options;
    qnnrt_session_tensor *inputs, *outputs;
    int                  *input_types, *output_types;    /* ONNX Runtime's element types */
    size_t                input_count, output_count;
    int                   copies;        /* 1: bound inputs are copied to the device when bound */
    int                   lock;          /* of cancelled and what run_options say */
    int                   cancelled;     /* 1: run_options say that a run has to end */
} qnnrt_ort__model;

static const char *qnnrt_ort__keep_text(qnnrt_ort__model *model, const char *text)
{
    return qnnrt_arena_text(&model->arena, text, strlen(text));
}

static const struct { int type; qnnrt_dtype dtype; } qnnrt_ort__types[] = {
    { 1, QNNRT_DTYPE_F32 }, { 2, QNNRT_DTYPE_U8 }, { 3, QNNRT_DTYPE_I8 }, { 4, QNNRT_DTYPE_U16 },
    { 5, QNNRT_DTYPE_I16 }, { 6, QNNRT_DTYPE_I32 }, { 7, QNNRT_DTYPE_I64 },
    { 8, QNNRT_DTYPE_STRING }, { 9, QNNRT_DTYPE_BOOL8 }, { 10, QNNRT_DTYPE_F16 },
    { 11, QNNRT_DTYPE_F64 }, { 12, QNNRT_DTYPE_U32 }, { 13, QNNRT_DTYPE_U64 },
    { 16, QNNRT_DTYPE_BF16 }, { 21, QNNRT_DTYPE_U4 }, { 22, QNNRT_DTYPE_I4 }
};

/* Return the dtype of an element type; QNNRT_DTYPE_UNDEFINED if there is none. */
static qnnrt_dtype qnnrt_ort__dtype(int type)
{
    size_t i;
    for (i = 0; i < sizeof qnnrt_ort__types / sizeof *qnnrt_ort__types; ++i)
        if (qnnrt_ort__types[i].type == type) return qnnrt_ort__types[i].dtype;
    return QNNRT_DTYPE_UNDEFINED;
}

static const char *qnnrt_ort__type_name(int type)
{
    static const char *const names[] = {
        "undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string",
        "bool", "float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16",
        "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4",
        "float4e2m1", "uint2", "int2"
    };
    return type >= 0 && type < (int)(sizeof names / sizeof *names) ? names[type] : "unknown";
}

static const char *qnnrt_ort__kind_name(int kind)
{
    static const char *const names[] = {
        "of an unknown kind", "a tensor", "a sequence", "a map", "opaque", "a sparse tensor",
        "an optional"
    };
    return kind >= 0 && kind < 7 ? names[kind] : "of an unknown kind";
}

/* Read rank and dimensions. Return 0 if the rank is too high or a status was a failure. */
static int qnnrt_ort__dims(const qnnrt_ort__library *library, const void *info, uint32_t *rank,
                           int64_t dims[QNNRT_SESSION_RANK])
{
    size_t count = 0, i;
    if (qnnrt_ort__failed(library, library->api.GetDimensionsCount(info, &count))) return 0;
    *rank = count > QNNRT_SESSION_RANK ? QNNRT_SESSION_RANK + 1 : (uint32_t)count;
    if (count > QNNRT_SESSION_RANK) return 0;
    if (count > 0 && qnnrt_ort__failed(library, library->api.GetDimensions(info, dims, count)))
        return 0;
    for (i = 0; i < count; ++i)
        if (dims[i] < 0) dims[i] = -1;
    return 1;
}

/* Read the names of dimensions. Return 0 without memory. */
static int qnnrt_ort__dim_names(qnnrt_ort__model *model, const void *info,
                                qnnrt_session_tensor *tensor)
{
    const char *names[QNNRT_SESSION_RANK] = { NULL };
    const char **kept;
    uint32_t i, any = 0;
    if (qnnrt_ort__failed(model->library,
                          model->library->api.GetSymbolicDimensions(info, names, tensor->rank)))
        return 1;
    for (i = 0; i < tensor->rank; ++i)
        if (names[i] != NULL && names[i][0] != '\0') any = 1;
    if (!any) return 1;
    kept = (const char **)qnnrt_arena_get(&model->arena, tensor->rank, sizeof(*kept));
    for (i = 0; kept != NULL && i < tensor->rank; ++i)
        kept[i] = qnnrt_ort__keep_text(model, names[i] != NULL ? names[i] : "");
    tensor->dim_names = kept;
    return model->arena.failed == QNNRT_OK;
}

/* Read the facts in the description of a type. */
static qnnrt_result qnnrt_ort__fact(qnnrt_ort__model *model, const void *type, const char *side,
                                    qnnrt_session_tensor *tensor, int *element, qnnrt_error *err)
{
    const qnnrt_ort__api *api = &model->library->api;
    const void *info = NULL;
    int kind = 0;
    if (qnnrt_ort__failed(model->library, api->GetOnnxTypeFromTypeInfo(type, &kind))) kind = 0;
    if (kind == 1 &&
        qnnrt_ort__failed(model->library, api->CastTypeInfoToTensorInfo(type, &info))) info = NULL;
    if (kind != 1 || info == NULL)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s \"%.200s\" is %s, expected a tensor",
                               side, tensor->name, qnnrt_ort__kind_name(kind != 1 ? kind : 0));
    if (qnnrt_ort__failed(model->library, api->GetTensorElementType(info, element))) *element = 0;
    tensor->dtype = qnnrt_ort__dtype(*element);
    if (tensor->dtype == QNNRT_DTYPE_UNDEFINED)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s \"%.200s\" has elements of type %s "
                               "(%d), which is not supported", side, tensor->name,
                               qnnrt_ort__type_name(*element), *element);
    if (!qnnrt_ort__dims(model->library, info, &tensor->rank, tensor->dims)) {
        const int high = tensor->rank > QNNRT_SESSION_RANK;
        return qnnrt_error_set(err, high ? QNNRT_E_UNSUPPORTED : QNNRT_E_BACKEND,
                               "%s \"%.200s\" has %s", side, tensor->name, high ?
                               "more than 16 dimensions" : "a shape that could not be read");
    }
    /* Older libraries do not say whether no dimensions mean a scalar or any rank. */
    tensor->any_rank = tensor->rank == 0 && (api->TensorTypeAndShape_HasShape == NULL ||
                                             api->TensorTypeAndShape_HasShape(info) == 0);
    if (qnnrt_ort__dim_names(model, info, tensor)) return QNNRT_OK;
    return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
}

/* Read the facts of one input (side 0), output (1) or initializer that may be replaced (2). */
static qnnrt_result qnnrt_ort__tensor(qnnrt_ort__model *model, void *session, int side,
                                      size_t index, qnnrt_session_tensor *tensor, int *element,
                                      qnnrt_error *err)
{
    const qnnrt_ort__library *library = model->library;
    const qnnrt_ort__api *api = &library->api;
    const char *name_of = side == 1 ? "output" : "input";
    void *type = NULL;
    char *name = NULL;
    qnnrt_result result;
    qnnrt_ort__status status =
        side == 0 ? api->SessionGetInputName(session, index, library->allocator, &name) :
        side == 1 ? api->SessionGetOutputName(session, index, library->allocator, &name) :
        api->SessionGetOverridableInitializerName(session, index, library->allocator, &name);
    if (status != NULL) return qnnrt_ort__report(library, status, err, "cannot read a name");
    if (name != NULL) {
        tensor->name = qnnrt_ort__keep_text(model, name);
        (void)qnnrt_ort__failed(library, api->AllocatorFree(library->allocator, name));
    }
    if (tensor->name == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    status = side == 0 ? api->SessionGetInputTypeInfo(session, index, &type) :
             side == 1 ? api->SessionGetOutputTypeInfo(session, index, &type) :
             api->SessionGetOverridableInitializerTypeInfo(session, index, &type);
    if (status != NULL) return qnnrt_ort__report(library, status, err, "cannot read a type");
    if (type == NULL) return qnnrt_error_set(err, QNNRT_E_BACKEND, "no type of %s \"%.200s\"",
                                             name_of, tensor->name);
    tensor->optional = side == 2;
    result = qnnrt_ort__fact(model, type, name_of, tensor, element, err);
    api->ReleaseTypeInfo(type);
    return result;
}

/* Read the facts of all inputs and outputs. */
static qnnrt_result qnnrt_ort__facts(qnnrt_ort__model *model, void *session, qnnrt_error *err)
{
    const qnnrt_ort__api *api = &model->library->api;
    size_t counts[3] = { 0, 0, 0 }, i;
    int side;
    for (side = 0; side < 3; ++side) {
        qnnrt_ort__status status =
            side == 0 ? api->SessionGetInputCount(session, &counts[0]) :
            side == 1 ? api->SessionGetOutputCount(session, &counts[1]) :
            api->SessionGetOverridableInitializerCount(session, &counts[2]);
        if (status != NULL)
            return qnnrt_ort__report(model->library, status, err, "cannot count tensors");
        if (counts[side] > QNNRT_ORT__MOST)
            return qnnrt_error_set(err, QNNRT_E_LIMIT, "the model has %lu %s, more than %d",
                                   (unsigned long)counts[side], side == 1 ? "outputs" : "inputs",
                                   (int)QNNRT_ORT__MOST);
    }
    model->input_count = counts[0] + counts[2];
    model->output_count = counts[1];
    model->inputs = (qnnrt_session_tensor *)qnnrt_arena_get(&model->arena, model->input_count,
                                                            sizeof(*model->inputs));
    model->outputs = (qnnrt_session_tensor *)qnnrt_arena_get(&model->arena, model->output_count,
                                                             sizeof(*model->outputs));
    model->input_types = (int *)qnnrt_arena_get(&model->arena, model->input_count, sizeof(int));
    model->output_types = (int *)qnnrt_arena_get(&model->arena, model->output_count, sizeof(int));
    if (model->arena.failed != QNNRT_OK)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    for (i = 0; i < model->input_count; ++i) {
        const int late = i >= counts[0];
        const qnnrt_result result = qnnrt_ort__tensor(
            model, session, late ? 2 : 0, late ? i - counts[0] : i, &model->inputs[i],
            &model->input_types[i], err);
        if (result != QNNRT_OK) return result;
    }
    for (i = 0; i < model->output_count; ++i) {
        const qnnrt_result result = qnnrt_ort__tensor(model, session, 1, i, &model->outputs[i],
                                                      &model->output_types[i], err);
        if (result != QNNRT_OK) return result;
    }
    return QNNRT_OK;
}

/* =====================================================================================
   SHAPES                                                                        >>shapes
   Fixes free dimensions by name before a model is compiled, and in the facts afterwards.
   Needs: >>config >>table >>report >>facts     Knows nothing of: providers
   ===================================================================================== */

/* Add the names of inputs, or of their free dimensions, to an error. */
static void qnnrt_ort__list(const qnnrt_ort__model *model, int dims, qnnrt_error *err)
{
    const char *comma = "";
    size_t i;
    uint32_t d;
    for (i = 0; i < model->input_count; ++i) {
        const qnnrt_session_tensor *input = &model->inputs[i];
        for (d = 0; d < (dims ? input->rank : 1); ++d) {
            const char *name = !dims ? input->name
                             : input->dim_names != NULL ? input->dim_names[d] : "";
            if (name[0] == '\0') continue;
            qnnrt_error_add(err, "%s \"%.80s\"", comma, name);
            comma = ",";
        }
    }
    if (comma[0] == '\0') qnnrt_error_add(err, " none");
}

/* Find the input that a shape is for. Return NULL after filling the error. */
static qnnrt_session_tensor *qnnrt_ort__shape_input(const qnnrt_ort__model *model,
                                                    const qnnrt_session_shape *shape,
                                                    qnnrt_error *err)
{
    uint32_t d;
    size_t i;
    for (i = 0; i < model->input_count && strcmp(model->inputs[i].name, shape->name) != 0; ++i) {}
    if (i == model->input_count) {
        qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "a shape is for input \"%.200s\", which the model "
                        "does not have; it has", shape->name);
        qnnrt_ort__list(model, 0, err);
        return NULL;
    }
    if (model->inputs[i].any_rank) return &model->inputs[i];
    if (model->inputs[i].rank != shape->rank) {
        qnnrt_error_set(err, QNNRT_E_MISMATCH, "the shape for input \"%.200s\" has %u dimensions, "
                        "expected %u", shape->name, (unsigned)shape->rank,
                        (unsigned)model->inputs[i].rank);
        return NULL;
    }
    for (d = 0; d < shape->rank; ++d) {
        const int64_t has = model->inputs[i].dims[d];
        if (has == -1 || shape->dims[d] == -1 || has == shape->dims[d]) continue;
        qnnrt_error_set(err, QNNRT_E_MISMATCH, "the shape for input \"%.200s\" has %lld in "
                        "dimension %u, expected %lld", shape->name, (long long)shape->dims[d],
                        (unsigned)d, (long long)has);
        return NULL;
    }
    return &model->inputs[i];
}

/* Fix a dimension by its name. */
static qnnrt_result qnnrt_ort__override(qnnrt_ort__library *library, void *options,
                                        const char *name, int64_t value, qnnrt_error *err)
{
    qnnrt_ort__status status = library->api.AddFreeDimensionOverrideByName(options, name, value);
    char what[200];
    if (status == NULL) return QNNRT_OK;
    snprintf(what, sizeof what, "cannot fix dimension \"%.120s\"", name);
    return qnnrt_ort__report(library, status, err, what);
}

/* Return 1 if an input has a dimension of this name. */
static int qnnrt_ort__has_dim(const qnnrt_ort__model *model, const char *name)
{
    size_t i;
    uint32_t d;
    for (i = 0; i < model->input_count; ++i)
        for (d = 0; model->inputs[i].dim_names != NULL && d < model->inputs[i].rank; ++d)
            if (strcmp(model->inputs[i].dim_names[d], name) == 0) return 1;
    return 0;
}

/* Return the value that earlier shapes give a dimension, or -1. */
static int64_t qnnrt_ort__earlier(const qnnrt_ort__model *model, const qnnrt_engine_load *load,
                                  size_t count, const char *name)
{
    size_t i, k;
    uint32_t d;
    for (i = 0; i < count; ++i) {
        const qnnrt_session_shape *shape = &load->shapes[i];
        if (shape->rank == 0 && strcmp(shape->name, name) == 0) return shape->dims[0];
        for (k = 0; k < model->input_count && shape->rank > 0; ++k) {
            const qnnrt_session_tensor *input = &model->inputs[k];
            if (strcmp(input->name, shape->name) != 0 || input->dim_names == NULL) continue;
            for (d = 0; d < input->rank && d < shape->rank; ++d)
                if (strcmp(input->dim_names[d], name) == 0 && shape->dims[d] >= 0)
                    return shape->dims[d];
        }
    }
    return -1;
}

static qnnrt_result qnnrt_ort__conflict(const char *name, int64_t one, int64_t other,
                                        qnnrt_error *err)
{
    return qnnrt_error_set(err, QNNRT_E_MISMATCH, "dimension \"%.200s\" gets %lld and %lld from "
                           "two shapes", name, (long long)one, (long long)other);
}

/* Give the shapes to the session's options. model has the facts of the model without them. */
static qnnrt_result qnnrt_ort__shapes(qnnrt_ort__model *model, const qnnrt_engine_load *load,
                                      void *options, qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    size_t i;
    uint32_t d;
    for (i = 0; i < load->shape_count && result == QNNRT_OK; ++i) {
        const qnnrt_session_shape *shape = &load->shapes[i];
        const qnnrt_session_tensor *input;
        int64_t before;
        if (shape->rank == 0) {
            if (!qnnrt_ort__has_dim(model, shape->name)) {
                qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "no input has a dimension \"%.200s\"; the "
                                "named ones are", shape->name);
                qnnrt_ort__list(model, 1, err);
                return QNNRT_E_NOT_FOUND;
            }
            before = qnnrt_ort__earlier(model, load, i, shape->name);
            if (before >= 0 && before != shape->dims[0])
                return qnnrt_ort__conflict(shape->name, before, shape->dims[0], err);
            result = qnnrt_ort__override(model->library, options, shape->name, shape->dims[0], err);
            continue;
        }
        input = qnnrt_ort__shape_input(model, shape, err);
        if (input == NULL) return err->code;
        for (d = 0; d < input->rank && result == QNNRT_OK; ++d) {
            const char *name = input->dim_names != NULL ? input->dim_names[d] : "";
            if (input->dims[d] != -1 || shape->dims[d] < 0 || name[0] == '\0') continue;
            before = qnnrt_ort__earlier(model, load, i + 1, name);
            if (before >= 0 && before != shape->dims[d])
                return qnnrt_ort__conflict(name, before, shape->dims[d], err);
            result = qnnrt_ort__override(model->library, options, name, shape->dims[d], err);
        }
    }
    return result;
}

/* Enter into the facts the dimensions that ONNX Runtime could not fix. */
static qnnrt_result qnnrt_ort__shapes_enter(qnnrt_ort__model *model, const qnnrt_engine_load *load,
                                            qnnrt_error *err)
{
    size_t i;
    uint32_t d;
    for (i = 0; i < load->shape_count; ++i) {
        const qnnrt_session_shape *shape = &load->shapes[i];
        qnnrt_session_tensor *input;
        if (shape->rank == 0) continue;
        input = qnnrt_ort__shape_input(model, shape, err);
        if (input == NULL) return err->code;
        if (input->any_rank) {
            input->any_rank = 0;
            input->rank = shape->rank;
            for (d = 0; d < shape->rank; ++d) input->dims[d] = -1;
        }
        for (d = 0; d < shape->rank; ++d) {
            if (input->dims[d] != -1 || shape->dims[d] < 0) continue;
            input->dims[d] = shape->dims[d];
            qnnrt_log(&load->hooks, QNNRT_LOG_WARN, "onnxrt", 0,
                      "dimension %u of input \"%.200s\" has no name: it is fixed to %lld for the"
                      " caller, but free for ONNX Runtime", (unsigned)d, input->name,
                      (long long)shape->dims[d]);
        }
    }
    return QNNRT_OK;
}

/* =====================================================================================
   PROVIDER                                                                    >>provider
   Gives the session's options the provider of a device.
   Needs: >>config >>table >>report >>plugin >>options     Knows nothing of: tensors
   ===================================================================================== */

/* Return 1 for one of the keys that say which library the QNN provider uses. */
static int qnnrt_ort__says_backend(const qnnrt_engine_load *load)
{
    return qnnrt_ort__option(load->options, load->option_count, "backend_path") != NULL ||
           qnnrt_ort__option(load->options, load->option_count, "backend_type") != NULL;
}

/* Options of the QNN provider up to version 2.7, which ignores others silently. */
static const char *const qnnrt_ort__qnn_keys[] = {
    "backend_path", "backend_type", "compilation_target", "device_id",
    "disable_file_mapped_weights", "dump_json_qnn_graph", "dump_qnn_ep_input_graph",
    "dump_qnn_ep_input_graph_dir", "dump_qnn_ir_dlc", "dump_qnn_ir_dlc_dir",
    "enable_block_quant_weight_optimization", "enable_dx12_shared_memory_allocator",
    "enable_framework_op_trace", "enable_htp_fp16_clamp_overflow", "enable_htp_fp16_precision",
    "enable_htp_graph_splitting", "enable_htp_monolithic_lstm", "enable_htp_prepare_and_load",
    "enable_htp_prepare_only", "enable_htp_shared_memory_allocator",
    "enable_htp_spill_fill_buffer", "enable_htp_weight_sharing",
    "enable_vtcm_backup_buffer_sharing", "extended_udma", "framework_op_trace_dir",
    "genie_log_level", "htp_arch", "htp_bf16_enable", "htp_graph_finalization_optimization_mode",
    "htp_graph_splitting_num_prepare_threads", "htp_performance_mode", "htp_reused_io_limit_mb",
    "htp_share_resource_optimization", "io_name_overrides", "is_multi_soc_ep_context",
    "json_qnn_graph_dir", "kvcache_rewind", "model_name", "num_graph_prepare_threads",
    "offload_graph_io_quantization", "op_affinity", "op_packages", "profiling_file_path",
    "profiling_level", "qnn_context_priority", "qnn_ir_backend_path", "qnn_saver_path",
    "rpc_control_latency", "rpc_polling_time", "skip_backend_op_validation",
    "skip_qnn_version_check", "soc_model", "vtcm_mb"
};

/* Collect the options of the QNN provider. */
static qnnrt_result qnnrt_ort__qnn_pairs(const qnnrt_ort__library *library,
                                         const qnnrt_engine_load *load, const char *backend,
                                         qnnrt_ort__pairs *pairs, qnnrt_error *err)
{
    const size_t known = sizeof qnnrt_ort__qnn_keys / sizeof *qnnrt_ort__qnn_keys;
    size_t i, k;
    for (i = 0; i < load->option_count; ++i) {
        const char *key = load->options[i].key;
        if (qnnrt_ort__option_is_entry(key) || qnnrt_ort__option_is_ours(key)) continue;
        for (k = 0; k < known && strcmp(key, qnnrt_ort__qnn_keys[k]) != 0; ++k) {}
        if (k < known) continue;
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "option \"%.200s\" is "
                                                "unknown to the provider QNN", key),
                                "Correct its name, or to give it to a newer plug-in, put "
                                "ep.qnnexecutionprovider. before it.");
    }
    if (!qnnrt_ort__says_backend(load) && library->number >= 22)
        qnnrt_ort__pair(pairs, "backend_type", backend);
    else if (!qnnrt_ort__says_backend(load))
        qnnrt_ort__pair(pairs, "backend_path", "libQnnHtp.so");
    if (!load->allow_fallback && library->number >= 22)
        qnnrt_ort__pair(pairs, "offload_graph_io_quantization", "0");
    if (load->precision != QNNRT_PRECISION_DEFAULT)
        qnnrt_ort__pair(pairs, "enable_htp_fp16_precision",
                        load->precision == QNNRT_PRECISION_FP16 ? "1" : "0");
    qnnrt_ort__pairs_add(pairs, load, NULL, NULL);
    return QNNRT_OK;
}

/* Append the plug-in, on a device of it. */
static qnnrt_result qnnrt_ort__append_plugin(const qnnrt_ort__library *library,
                                             const qnnrt_engine_load *load, void *device,
                                             const char *backend, void *options,
                                             qnnrt_ort__pairs *pairs, qnnrt_error *err)
{
    const char *name = library->api.EpDevice_EpVendor(device);
    qnnrt_ort__status status;
    char what[160];
    qnnrt_result result = QNNRT_OK;
    if (name != NULL && strcmp(name, "Qualcomm") == 0)
        result = qnnrt_ort__qnn_pairs(library, load, backend, pairs, err);
    else qnnrt_ort__pairs_add(pairs, load, NULL, NULL);
    if (result != QNNRT_OK) return result;
    status = library->api.AppendExecutionProvider_V2(options, library->env, &device, 1, pairs->keys,
                                                     pairs->values, pairs->count);
    if (status == NULL) return QNNRT_OK;
    snprintf(what, sizeof what, "cannot use the plug-in of %.100s", name != NULL ? name : "");
    return qnnrt_ort__report(library, status, err, what);
}

/* Append CUDA or TensorRT, whose options are an object. */
static qnnrt_result qnnrt_ort__append_nvidia(const qnnrt_ort__library *library, int trt,
                                             void *options, const qnnrt_ort__pairs *pairs,
                                             qnnrt_error *err)
{
    const qnnrt_ort__api *api = &library->api;
    void *object = NULL;
    qnnrt_ort__status status = trt ? api->CreateTensorRTProviderOptions(&object)
                                   : api->CreateCUDAProviderOptions(&object);
    if (status == NULL)
        status = trt ? api->UpdateTensorRTProviderOptions(object, pairs->keys, pairs->values,
                                                          pairs->count)
                     : api->UpdateCUDAProviderOptions(object, pairs->keys, pairs->values,
                                                      pairs->count);
    if (status == NULL)
        status = trt ? api->AppendTensorRT_V2(options, object)
                     : api->AppendCUDA_V2(options, object);
    if (object != NULL && trt) api->ReleaseTensorRTProviderOptions(object);
    else if (object != NULL) api->ReleaseCUDAProviderOptions(object);
    if (status == NULL) return QNNRT_OK;
    return qnnrt_ort__report_provider(library, status, err,
                                      trt ? "cannot use the provider TensorRT"
                                          : "cannot use the provider CUDA");
}

/* Append TensorRT, for engine "onnxrt+trt". */
static qnnrt_result qnnrt_ort__append_trt(const qnnrt_ort__library *library,
                                          const qnnrt_engine_load *load, const char *number,
                                          void *options, qnnrt_ort__pairs *pairs, qnnrt_error *err)
{
    char room[32];
    snprintf(room, sizeof room, "%llu", (unsigned long long)load->workspace_bytes);
    qnnrt_ort__pair(pairs, "device_id", number);
    qnnrt_ort__pair(pairs, "trt_fp16_enable",
                    load->precision == QNNRT_PRECISION_FP16 ? "1" : "0");
    qnnrt_ort__pair(pairs, "trt_int8_enable",
                    load->precision == QNNRT_PRECISION_INT8 ? "1" : "0");
    if (load->workspace_bytes > 0) qnnrt_ort__pair(pairs, "trt_max_workspace_size", room);
    if (load->save != NULL || load->cached != NULL) {
        qnnrt_ort__pair(pairs, "trt_engine_cache_enable", "1");
        qnnrt_ort__pair(pairs, "trt_engine_cache_path",
                        load->cached != NULL ? load->cached : load->save);
    }
    qnnrt_ort__pairs_add(pairs, load, "trt_", NULL);
    return qnnrt_ort__append_nvidia(library, 1, options, pairs, err);
}

/* Append CUDA. Its arena grows by what is asked for, and convolutions are chosen by measuring. */
static qnnrt_result qnnrt_ort__append_cuda(const qnnrt_ort__library *library,
                                           const qnnrt_engine_load *load, const char *number,
                                           void *options, qnnrt_ort__pairs *pairs, qnnrt_error *err)
{
    pairs->count = 0;
    qnnrt_ort__pair(pairs, "device_id", number);
    qnnrt_ort__pair(pairs, "arena_extend_strategy", "kSameAsRequested");
    qnnrt_ort__pair(pairs, "cudnn_conv_algo_search", "EXHAUSTIVE");
    qnnrt_ort__pairs_add(pairs, load, NULL, library->trt ? "trt_" : NULL);
    return qnnrt_ort__append_nvidia(library, 0, options, pairs, err);
}

/* Return 1 if the precision can be had on the device. */
static int qnnrt_ort__precision_good(const qnnrt_ort__library *library,
                                     const qnnrt_engine_load *load)
{
    if (load->precision == QNNRT_PRECISION_DEFAULT || load->precision == QNNRT_PRECISION_FP32 ||
        library->trt) return 1;
    return load->precision == QNNRT_PRECISION_FP16 && strcmp(load->device, "npu") == 0;
}

/* Append the providers of load->device. room is for pairs. */
static qnnrt_result qnnrt_ort__provider(const qnnrt_ort__library *library,
                                        const qnnrt_engine_load *load, void *options,
                                        qnnrt_ort__pairs *pairs, qnnrt_error *err)
{
    const char *number = "0";
    void *device = NULL;
    size_t i;
    if (!qnnrt_ort__precision_good(library, load))
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "the provider of \"%s\" "
                                                "has no precision \"%s\"", load->device,
                                                qnnrt_precision_name(load->precision)), "%s",
                                load->precision == QNNRT_PRECISION_INT8 ? "Quantize the model." :
                                "Convert the model.");
    if (strcmp(load->device, "cpu") == 0) {
        for (i = 0; i < load->option_count; ++i) {
            const char *key = load->options[i].key;
            if (!qnnrt_ort__option_is_entry(key) && !qnnrt_ort__option_is_ours(key))
                return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "option \"%.200s\" is for a "
                                       "provider, and the one for \"cpu\" has no options", key);
        }
        return QNNRT_OK;
    }
    if (strcmp(load->device, "npu") == 0) {
        static const char *const name = "QNN";
        qnnrt_ort__status status;
        qnnrt_result result;
        device = qnnrt_ort__plugin_device(library, 2);
        /* On a computer the emulation says that it is a CPU. */
        if (device == NULL) device = qnnrt_ort__plugin_device(library, 0);
        if (device != NULL)
            return qnnrt_ort__append_plugin(library, load, device, "htp", options, pairs, err);
        result = qnnrt_ort__qnn_pairs(library, load, "htp", pairs, err);
        if (result != QNNRT_OK) return result;
        status = library->api.AppendExecutionProvider(options, name, pairs->keys, pairs->values,
                                                      pairs->count);
        return status == NULL ? QNNRT_OK :
               qnnrt_ort__report_provider(library, status, err, "cannot use the provider QNN");
    }
    if (strcmp(load->device, "gpu") == 0 && !library->trt) {
        device = qnnrt_ort__plugin_device(library, 1);
        if (device != NULL)
            return qnnrt_ort__append_plugin(library, load, device, "gpu", options, pairs, err);
    }
    if (qnnrt_ort__begins(load->device, "cuda:")) number = load->device + 5;
    if (number[0] == '\0' || strlen(number) > 3 || strspn(number, "0123456789") != strlen(number))
        return qnnrt_error_set(err, QNNRT_E_ARG, "device \"%.40s\", expected cuda: and a number",
                               load->device);
    if (library->trt) {
        const qnnrt_result result = qnnrt_ort__append_trt(library, load, number, options, pairs,
                                                          err);
        if (result != QNNRT_OK) return result;
    }
    return qnnrt_ort__append_cuda(library, load, number, options, pairs, err);
}

/* =====================================================================================
   ASSIGNMENT                                                                  >>assigned
   Says which nodes the device's provider did not take.
   Needs: >>config >>table >>report     Knows nothing of: options
   ===================================================================================== */

/* Add the operators of a subgraph to a text, each once, and count its nodes. */
static void qnnrt_ort__operators(const qnnrt_ort__library *library, const void *subgraph,
                                 char *text, size_t room, size_t *nodes)
{
    void *const *list = NULL;
    size_t count = 0, i;
    if (qnnrt_ort__failed(library, library->api.EpAssignedSubgraph_GetNodes(subgraph, &list,
                                                                           &count))) return;
    *nodes += count;
    for (i = 0; i < count; ++i) {
        const char *type = NULL, *at;
        size_t length;
        if (qnnrt_ort__failed(library, library->api.EpAssignedNode_GetOperatorType(list[i], &type)))
            continue;
        if (type == NULL || type[0] == '\0') continue;
        length = strlen(type);
        for (at = text; (at = strstr(at, type)) != NULL; at += length)
            if ((at == text || at[-1] == ' ') && (at[length] == '\0' || at[length] == ',')) break;
        at = at == NULL ? strchr(text, '\0') : NULL;     /* where a new one goes */
        if (at != NULL && (size_t)(at - text) + length + 8 < room)
            snprintf(text + (at - text), room - (size_t)(at - text), "%s%s",
                     at > text ? ", " : "", type);
    }
}

/* Describe what runs on the CPU, in text; "" if nothing does. Return 0 if it is unknown. */
static int qnnrt_ort__assigned(const qnnrt_ort__library *library, void *session, char *text,
                               size_t room)
{
    char operators[400] = "";
    void *const *list = NULL;
    size_t count = 0, nodes = 0, all = 0, i;
    text[0] = '\0';
    if (library->number < 24 ||
        qnnrt_ort__failed(library, library->api.Session_GetEpGraphAssignmentInfo(session, &list,
                                                                                &count))) return 0;
    for (i = 0; i < count && i < QNNRT_ORT__MOST; ++i) {
        const char *name = NULL;
        if (qnnrt_ort__failed(library, library->api.EpAssignedSubgraph_GetEpName(list[i], &name)))
            return 0;
        if (name != NULL && strcmp(name, "CPUExecutionProvider") == 0)
            qnnrt_ort__operators(library, list[i], operators, sizeof operators, &nodes);
        else {
            char unused[2] = "";
            qnnrt_ort__operators(library, list[i], unused, sizeof unused, &all);
        }
    }
    all += nodes;
    if (nodes > 0)
        snprintf(text, room, "%lu of %lu nodes run on the CPU: %s", (unsigned long)nodes,
                 (unsigned long)all, operators);
    qnnrt_ort__clean(text);
    return 1;
}

/* =====================================================================================
   LOAD                                                                            >>load
   Makes a session of a model.
   Needs: every room above     Knows nothing of: bindings
   ===================================================================================== */

static const char qnnrt_ort__context[] = "model_ctx.onnx";

static void qnnrt_ort__unload(void *at)
{
    qnnrt_ort__model *model = (qnnrt_ort__model *)at;
    const qnnrt_hooks hooks = model->hooks;
    if (model->run_options != NULL) model->library->api.ReleaseRunOptions(model->run_options);
    if (model->session != NULL) model->library->api.ReleaseSession(model->session);
    qnnrt_arena_free(&model->arena);
    qnnrt_hooks_free(&hooks, model);
}

/* Refuse what ONNX Runtime cannot keep. */
static qnnrt_result qnnrt_ort__refuse(const qnnrt_ort__library *library,
                                      const qnnrt_engine_load *load, qnnrt_error *err)
{
    if (load->compile_ms > 0 || load->run_ms > 0)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s has no effect with "
                                                "ONNX Runtime", load->compile_ms > 0 ?
                                                "compile_timeout_ms" : "execution_timeout_ms"),
                                "Remove it from the policy.");
    if (load->preference_count > 0)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "preferences "
                                                "(\"%.100s\") have no effect with ONNX Runtime",
                                                load->preferences[0].key), "Remove it from the "
                                "policy.");
    if (library->number < 16 && strcmp(load->device, "cpu") != 0 && !load->allow_fallback)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_VERSION, "ONNX Runtime %s falls back "
                                                "to the CPU silently, which is not allowed here; "
                                                "1.16 is the first that does not",
                                                library->version), "Use ONNX Runtime 1.16 or "
                                "newer, or set allow_fallback.");
    return QNNRT_OK;
}

/* Make the options that every session has. */
static qnnrt_result qnnrt_ort__common(qnnrt_ort__model *model, const qnnrt_engine_load *load,
                                      int level, void **options, qnnrt_error *err)
{
    const qnnrt_ort__api *api = &model->library->api;
    qnnrt_ort__status status;
    if (load->threads > INT_MAX)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_LIMIT, "threads is %lu, and ONNX "
                                                "Runtime takes at most %d",
                                                (unsigned long)load->threads, INT_MAX),
                                "Ask for fewer threads.");
    status = api->CreateSessionOptions(options);
    if (status == NULL) status = api->SetIntraOpNumThreads(*options, (int)load->threads);
    if (status == NULL) status = api->SetSessionGraphOptimizationLevel(*options, level);
    if (status == NULL) status = api->SetSessionLogSeverityLevel(*options, 2);
    if (status == NULL && api->SetUserLoggingFunction != NULL)
        status = api->SetUserLoggingFunction(*options, qnnrt_ort__line, &model->sink);
    if (status == NULL) return QNNRT_OK;
    return qnnrt_ort__report(model->library, status, err, "cannot make the session's options");
}

/* Find out the free dimensions of a model, by a session on the CPU without any optimization. A
   model that the CPU cannot run, as a context, has no named dimensions to fix. */
static qnnrt_result qnnrt_ort__look(qnnrt_ort__model *model, const qnnrt_engine_load *load,
                                    void *options, qnnrt_error *err)
{
    qnnrt_ort__model look;
    void *plain = NULL;
    qnnrt_result result;
    memset(&look, 0, sizeof(look));
    look.library = model->library;
    look.hooks = look.sink.hooks = look.arena.hooks = load->hooks;
    result = qnnrt_ort__common(&look, load, 0, &plain, err);
    if (result == QNNRT_OK &&
        !qnnrt_ort__failed(look.library, look.library->api.CreateSession(
            look.library->env, load->path, plain, &look.session))) {
        result = qnnrt_ort__facts(&look, look.session, err);
        if (result == QNNRT_OK) result = qnnrt_ort__shapes(&look, load, options, err);
    }
    if (look.session != NULL) look.library->api.ReleaseSession(look.session);
    if (plain != NULL) look.library->api.ReleaseSessionOptions(plain);
    qnnrt_arena_free(&look.arena);
    return result;
}

/* Set the entries that follow from what is asked for. */
static qnnrt_result qnnrt_ort__asked(const qnnrt_ort__library *library,
                                     const qnnrt_engine_load *load, void *options,
                                     qnnrt_error *err)
{
    const int device = strcmp(load->device, "cpu") != 0;
    char path[QNNRT_ORT__PATH];
    qnnrt_result result = QNNRT_OK;
    if (device && !load->allow_fallback)
        result = qnnrt_ort__entry(library, options, "session.disable_cpu_ep_fallback", "1", err);
    if (result == QNNRT_OK && device && library->number >= 24)
        result = qnnrt_ort__entry(library, options, "session.record_ep_graph_assignment_info", "1",
                                  err);
    if (result != QNNRT_OK || load->save == NULL || strcmp(load->device, "npu") != 0) return result;
    if (snprintf(path, sizeof path, "%s/%s", load->save, qnnrt_ort__context) >= (int)sizeof path)
        return qnnrt_error_set(err, QNNRT_E_LIMIT, "the path of the cache is too long");
    result = qnnrt_ort__entry(library, options, "ep.context_enable", "1", err);
    if (result == QNNRT_OK)
        result = qnnrt_ort__entry(library, options, "ep.context_file_path", path, err);
    if (result == QNNRT_OK)
        result = qnnrt_ort__entry(library, options, "ep.context_embed_mode", "0", err);
    return result;
}

/* List the files that ONNX Runtime wrote into load->save. */
static qnnrt_result qnnrt_ort__saved(qnnrt_ort__model *model, const qnnrt_engine_load *load,
                                     qnnrt_engine_model *out, qnnrt_error *err)
{
    enum { MOST = 4096 };
    DIR *dir = load->save != NULL ? opendir(load->save) : NULL;
    struct dirent *entry;
    const char **names;
    if (dir == NULL) return QNNRT_OK;
    names = (const char **)qnnrt_arena_get(&model->arena, MOST, sizeof(*names));
    while (names != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        names[out->saved_count] = qnnrt_ort__keep_text(model, entry->d_name);
        if (++out->saved_count == MOST) break;
    }
    closedir(dir);
    out->saved = names;
    if (model->arena.failed == QNNRT_OK) return QNNRT_OK;
    return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
}

/* Say what falls back, and refuse it where it is not allowed. */
static qnnrt_result qnnrt_ort__fallback(qnnrt_ort__model *model, const qnnrt_engine_load *load,
                                        qnnrt_engine_model *out, qnnrt_error *err)
{
    char text[600];
    int known;
    if (strcmp(load->device, "cpu") == 0) return QNNRT_OK;
    known = qnnrt_ort__assigned(model->library, model->session, text, sizeof text);
    if (known && text[0] == '\0') return QNNRT_OK;
    if (!load->allow_fallback) {
        if (!known) return QNNRT_OK;     /* ONNX Runtime itself refuses to fall back */
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s, and fallback is not "
                                                "allowed", text), "Set allow_fallback.");
    }
    if (!known)
        snprintf(text, sizeof text, "unknown: ONNX Runtime %s does not say which nodes run on the"
                 " CPU", model->library->version);
    out->fallback = qnnrt_ort__keep_text(model, text);
    return out->fallback != NULL ? QNNRT_OK : qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
}

/* Make the session, with options that are complete. */
static qnnrt_result qnnrt_ort__session(qnnrt_ort__model *model, const qnnrt_engine_load *load,
                                       void *options, qnnrt_engine_model *out, qnnrt_error *err)
{
    const qnnrt_ort__api *api = &model->library->api;
    char path[QNNRT_ORT__PATH], what[400];
    qnnrt_ort__status status;
    qnnrt_result result;
    const int cached = load->cached != NULL && strcmp(load->device, "npu") == 0;
    if (snprintf(path, sizeof path, "%s%s%s", cached ? load->cached : load->path,
                 cached ? "/" : "", cached ? qnnrt_ort__context : "") >= (int)sizeof path)
        return qnnrt_error_set(err, QNNRT_E_LIMIT, "the path of the model is too long");
    status = api->CreateSession(model->library->env, path, options, &model->session);
    if (status != NULL) {
        snprintf(what, sizeof what, "cannot load \"%.300s\"", path);
        result = qnnrt_ort__report(model->library, status, err, what);
        if (err != NULL && model->sink.first[0] != '\0' &&
            strstr(err->text, model->sink.first) == NULL)
            qnnrt_error_add(err, "\n  it logged before: %s", model->sink.first);
        return result;
    }
    if (model->session == NULL)
        return qnnrt_error_set(err, QNNRT_E_BACKEND, "cannot load \"%.300s\": no session and no "
                               "error", path);
    status = api->CreateRunOptions(&model->run_options);
    if (status != NULL) return qnnrt_ort__report(model->library, status, err, "cannot make options"
                                                 " of runs");
    result = qnnrt_ort__facts(model, model->session, err);
    if (result == QNNRT_OK) result = qnnrt_ort__shapes_enter(model, load, err);
    if (result == QNNRT_OK) result = qnnrt_ort__fallback(model, load, out, err);
    if (result == QNNRT_OK) result = qnnrt_ort__saved(model, load, out, err);
    return result;
}

static qnnrt_result qnnrt_ort__load(void *at, const qnnrt_engine_load *load, void **out_model,
                                    qnnrt_engine_model *out, qnnrt_error *err)
{
    static const int levels[] = { 0, 1, 2, 99 };
    qnnrt_ort__library *library = (qnnrt_ort__library *)at;
    const int level = load->optimize_level >= 0 && load->optimize_level < 4 ?
                      levels[load->optimize_level] : 99;
    qnnrt_ort__model *model;
    qnnrt_ort__pairs pairs;
    void *options = NULL;
    qnnrt_result result = qnnrt_ort__refuse(library, load, err);
    *out_model = NULL;
    memset(out, 0, sizeof(*out));
    memset(&pairs, 0, sizeof(pairs));
    if (result != QNNRT_OK) return result;
    model = (qnnrt_ort__model *)qnnrt_hooks_alloc(&load->hooks, 1, sizeof(*model));
    if (model == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    model->library = library;
    model->hooks = model->sink.hooks = model->arena.hooks = load->hooks;
    model->copies = strcmp(load->device, "cpu") != 0 && strcmp(load->device, "npu") != 0;
    pairs.room = load->option_count + 16;
    pairs.keys = (const char **)qnnrt_arena_get(&model->arena, pairs.room, sizeof(*pairs.keys));
    pairs.values = (const char **)qnnrt_arena_get(&model->arena, pairs.room, sizeof(*pairs.values));
    if (model->arena.failed != QNNRT_OK)
        result = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    if (result == QNNRT_OK) result = qnnrt_ort__common(model, load, level, &options, err);
    if (result == QNNRT_OK) result = qnnrt_ort__provider(library, load, options, &pairs, err);
    if (result == QNNRT_OK) result = qnnrt_ort__asked(library, load, options, err);
    if (result == QNNRT_OK) result = qnnrt_ort__entries(library, load, options, err);
    if (result == QNNRT_OK && load->shape_count > 0 && load->cached == NULL)
        result = qnnrt_ort__look(model, load, options, err);
    if (result == QNNRT_OK) result = qnnrt_ort__session(model, load, options, out, err);
    if (options != NULL) library->api.ReleaseSessionOptions(options);
    if (result != QNNRT_OK) {
        qnnrt_ort__unload(model);
        memset(out, 0, sizeof(*out));
        return result;
    }
    out->inputs = model->inputs;
    out->outputs = model->outputs;
    out->input_count = model->input_count;
    out->output_count = model->output_count;
    *out_model = model;
    return QNNRT_OK;
}

/* =====================================================================================
   BIND                                                                            >>bind
   Places tensors in memory of the caller or of ONNX Runtime.
   Needs: >>config >>table >>report >>facts     Knows nothing of: loading, options
   ===================================================================================== */

/* An input or output of a binding. */
typedef struct qnnrt_ort__place {
    void       *value;                   /* OrtValue over the caller's memory; NULL: none */
    qnnrt_value placed;                  /* as the caller placed it */
} qnnrt_ort__place;

typedef struct qnnrt_ort__binding {
    qnnrt_ort__model *model;
    void             *io;
    qnnrt_ort__place *inputs, *outputs;
    void            **values;            /* [value_count] what the last run wrote, ONNX Runtime's */
    size_t            value_count;
    qnnrt_arena       strings;           /* that the last run wrote */
    int               before;            /* 1: a run has work to do before: strings, free outputs */
    int               has_run;
} qnnrt_ort__binding;

/* Release what was read of the last run. */
static void qnnrt_ort__forget(qnnrt_ort__binding *binding)
{
    const qnnrt_ort__library *library = binding->model->library;
    size_t i;
    for (i = 0; i < binding->value_count; ++i)
        if (binding->values[i] != NULL) library->api.ReleaseValue(binding->values[i]);
    if (binding->values != NULL)
        (void)qnnrt_ort__failed(library, library->api.AllocatorFree(library->allocator,
                                                                   binding->values));
    binding->values = NULL;
    binding->value_count = 0;
    qnnrt_arena_free(&binding->strings);
}

static void qnnrt_ort__binding_destroy(void *at)
{
    qnnrt_ort__binding *binding = (qnnrt_ort__binding *)at;
    qnnrt_ort__model *model = binding->model;
    size_t i;
    qnnrt_ort__forget(binding);
    if (binding->io != NULL) model->library->api.ReleaseIoBinding(binding->io);
    for (i = 0; binding->inputs != NULL && i < model->input_count; ++i)
        if (binding->inputs[i].value != NULL)
            model->library->api.ReleaseValue(binding->inputs[i].value);
    for (i = 0; binding->outputs != NULL && i < model->output_count; ++i)
        if (binding->outputs[i].value != NULL)
            model->library->api.ReleaseValue(binding->outputs[i].value);
    qnnrt_hooks_free(&model->hooks, binding->inputs);
    qnnrt_hooks_free(&model->hooks, binding->outputs);
    qnnrt_hooks_free(&model->hooks, binding);
}

/* Report a failure that belongs to a tensor. */
static qnnrt_result qnnrt_ort__report_tensor(const qnnrt_ort__model *model,
                                             qnnrt_ort__status status, int output, size_t index,
                                             qnnrt_error *err)
{
    char what[280];
    snprintf(what, sizeof what, "%s \"%.200s\"", output ? "output" : "input",
             (output ? model->outputs : model->inputs)[index].name);
    return qnnrt_ort__report(model->library, status, err, what);
}

/* Return 1 if the memory of an output is ONNX Runtime's, and its size may change. */
static int qnnrt_ort__is_free(const qnnrt_ort__binding *binding, size_t index)
{
    const qnnrt_session_tensor *output = &binding->model->outputs[index];
    uint32_t d;
    if (binding->outputs[index].value != NULL) return 0;
    if (output->any_rank) return 1;
    for (d = 0; d < output->rank; ++d)
        if (output->dims[d] < 0) return 1;
    return 0;
}

/* Find out whether a run has work to do before it. */
static void qnnrt_ort__prepare(qnnrt_ort__binding *binding)
{
    size_t i;
    binding->before = binding->model->copies;
    for (i = 0; i < binding->model->input_count; ++i)
        if (binding->inputs[i].placed.dtype == QNNRT_DTYPE_STRING) binding->before = 1;
    for (i = 0; i < binding->model->output_count; ++i)
        if (qnnrt_ort__is_free(binding, i)) binding->before = 1;
}

/* Let ONNX Runtime find memory for an output. */
static qnnrt_result qnnrt_ort__bind_free(qnnrt_ort__binding *binding, size_t index,
                                         qnnrt_error *err)
{
    const qnnrt_ort__model *model = binding->model;
    qnnrt_ort__status status = model->library->api.BindOutputToDevice(
        binding->io, model->outputs[index].name, model->library->memory);
    if (status == NULL) return QNNRT_OK;
    return qnnrt_ort__report_tensor(model, status, 1, index, err);
}

static qnnrt_result qnnrt_ort__binding_create(void *at, void **out, qnnrt_error *err)
{
    qnnrt_ort__model *model = (qnnrt_ort__model *)at;
    qnnrt_ort__binding *binding = (qnnrt_ort__binding *)qnnrt_hooks_alloc(&model->hooks, 1,
                                                                          sizeof(*binding));
    qnnrt_ort__status status;
    qnnrt_result result = QNNRT_OK;
    size_t i;
    *out = NULL;
    if (binding == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    binding->model = model;
    binding->strings.hooks = model->hooks;
    binding->inputs = (qnnrt_ort__place *)qnnrt_hooks_alloc(&model->hooks, model->input_count,
                                                            sizeof(*binding->inputs));
    binding->outputs = (qnnrt_ort__place *)qnnrt_hooks_alloc(&model->hooks, model->output_count,
                                                             sizeof(*binding->outputs));
    if (binding->inputs == NULL || binding->outputs == NULL)
        result = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    status = result == QNNRT_OK ? model->library->api.CreateIoBinding(model->session, &binding->io)
                                : NULL;
    if (status != NULL)
        result = qnnrt_ort__report(model->library, status, err, "cannot make a binding");
    /* All outputs in order: their values are found by index later. */
    for (i = 0; result == QNNRT_OK && i < model->output_count; ++i)
        result = qnnrt_ort__bind_free(binding, i, err);
    if (result != QNNRT_OK) {
        qnnrt_ort__binding_destroy(binding);
        return result;
    }
    qnnrt_ort__prepare(binding);
    *out = binding;
    return QNNRT_OK;
}

/* Make a value over memory of the caller; of strings one that holds copies. */
static qnnrt_ort__status qnnrt_ort__value(const qnnrt_ort__model *model, int type,
                                          const qnnrt_value *value, void **out)
{
    const qnnrt_ort__api *api = &model->library->api;
    if (value->dtype == QNNRT_DTYPE_STRING)
        return api->CreateTensorAsOrtValue(model->library->allocator, value->dims, value->rank,
                                           type, out);
    return api->CreateTensorWithDataAsOrtValue(model->library->memory, value->data, value->bytes,
                                               value->dims, value->rank, type, out);
}

/* Take an input back: ONNX Runtime can only clear all of them. */
static qnnrt_result qnnrt_ort__take_back(qnnrt_ort__binding *binding, size_t index,
                                         qnnrt_error *err)
{
    const qnnrt_ort__model *model = binding->model;
    qnnrt_result result = QNNRT_OK;
    size_t i;
    if (binding->inputs[index].value == NULL) return QNNRT_OK;
    model->library->api.ClearBoundInputs(binding->io);
    model->library->api.ReleaseValue(binding->inputs[index].value);
    memset(&binding->inputs[index], 0, sizeof(binding->inputs[index]));
    for (i = 0; i < model->input_count && result == QNNRT_OK; ++i) {
        qnnrt_ort__status status;
        if (binding->inputs[i].value == NULL) continue;
        status = model->library->api.BindInput(binding->io, model->inputs[i].name,
                                               binding->inputs[i].value);
        if (status != NULL) result = qnnrt_ort__report_tensor(model, status, 0, i, err);
    }
    return result;
}

static qnnrt_result qnnrt_ort__set(void *at, int output, size_t index, const qnnrt_value *value,
                                   qnnrt_error *err)
{
    qnnrt_ort__binding *binding = (qnnrt_ort__binding *)at;
    const qnnrt_ort__model *model = binding->model;
    qnnrt_ort__place *place = output ? &binding->outputs[index] : &binding->inputs[index];
    const char *name = (output ? model->outputs : model->inputs)[index].name;
    const int type = (output ? model->output_types : model->input_types)[index];
    qnnrt_ort__status status;
    qnnrt_result result = QNNRT_OK;
    void *made = NULL;
    qnnrt_ort__forget(binding);
    binding->has_run = 0;
    if (value->data == NULL) {
        result = output ? qnnrt_ort__bind_free(binding, index, err)
                        : qnnrt_ort__take_back(binding, index, err);
        if (output && result == QNNRT_OK) {
            if (place->value != NULL) model->library->api.ReleaseValue(place->value);
            memset(place, 0, sizeof(*place));
        }
        qnnrt_ort__prepare(binding);
        return result;
    }
    if (output && value->dtype == QNNRT_DTYPE_STRING)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "output \"%.200s\" has "
                                                "strings, which cannot be written into memory of "
                                                "the caller", name), "Let the engine find the "
                                "memory.");
    status = qnnrt_ort__value(model, type, value, &made);
    if (status == NULL)
        status = output ? model->library->api.BindOutput(binding->io, name, made)
                        : model->library->api.BindInput(binding->io, name, made);
    if (status != NULL) {
        if (made != NULL) model->library->api.ReleaseValue(made);
        return qnnrt_ort__report_tensor(model, status, output, index, err);
    }
    if (place->value != NULL) model->library->api.ReleaseValue(place->value);
    place->value = made;
    place->placed = *value;
    qnnrt_ort__prepare(binding);
    return QNNRT_OK;
}

/* =====================================================================================
   RUN                                                                              >>run
   Runs bindings and reads their results.
   Needs: >>config >>table >>report >>facts >>bind     Knows nothing of: loading, options
   ===================================================================================== */

/* Do what a run needs before it: fill strings, give inputs to a device again, and give up memory of
   the last run for outputs whose size may change. */
static qnnrt_result qnnrt_ort__before(qnnrt_ort__binding *binding, qnnrt_error *err)
{
    const qnnrt_ort__model *model = binding->model;
    const qnnrt_ort__api *api = &model->library->api;
    size_t i;
    for (i = 0; i < model->input_count; ++i) {
        qnnrt_ort__place *place = &binding->inputs[i];
        qnnrt_ort__status status = NULL;
        if (place->value == NULL) continue;
        if (place->placed.dtype == QNNRT_DTYPE_STRING) {
            const char *const *texts = (const char *const *)place->placed.data;
            const size_t count = place->placed.bytes / sizeof(*texts);
            size_t k;
            for (k = 0; k < count; ++k)
                if (texts[k] == NULL)
                    return qnnrt_error_set(err, QNNRT_E_ARG, "string %lu of input \"%.200s\" is "
                                           "NULL", (unsigned long)k, model->inputs[i].name);
            status = api->FillStringTensor(place->value, texts, count);
        }
        if (status == NULL && model->copies)
            status = api->BindInput(binding->io, model->inputs[i].name, place->value);
        if (status != NULL) return qnnrt_ort__report_tensor(model, status, 0, i, err);
    }
    for (i = 0; i < model->output_count; ++i) {
        qnnrt_result result;
        if (!qnnrt_ort__is_free(binding, i)) continue;
        result = qnnrt_ort__bind_free(binding, i, err);
        if (result != QNNRT_OK) return result;
    }
    return QNNRT_OK;
}

static void qnnrt_ort__lock(qnnrt_ort__model *model)
{
    while (__atomic_exchange_n(&model->lock, 1, __ATOMIC_ACQUIRE) != 0) {}
}

static void qnnrt_ort__unlock(qnnrt_ort__model *model)
{
    __atomic_store_n(&model->lock, 0, __ATOMIC_RELEASE);
}

/* Report that a run has failed. */
static qnnrt_result qnnrt_ort__run_failed(qnnrt_ort__model *model, qnnrt_ort__status status,
                                          qnnrt_error *err)
{
    qnnrt_result result = qnnrt_ort__report(model->library, status, err, "the run failed");
    if (__atomic_load_n(&model->cancelled, __ATOMIC_ACQUIRE) == 0) return result;
    if (err != NULL) err->code = QNNRT_E_CANCELLED;
    return QNNRT_E_CANCELLED;
}

static qnnrt_result qnnrt_ort__run(void *at, qnnrt_error *err)
{
    qnnrt_ort__binding *binding = (qnnrt_ort__binding *)at;
    qnnrt_ort__model *model = binding->model;
    const qnnrt_ort__api *api = &model->library->api;
    qnnrt_ort__status status;
    if (binding->values != NULL || binding->strings.bytes > 0) qnnrt_ort__forget(binding);
    if (binding->before) {
        const qnnrt_result result = qnnrt_ort__before(binding, err);
        if (result != QNNRT_OK) return result;
    }
    /* A run that was cancelled leaves its mark in the options. */
    if (__atomic_load_n(&model->cancelled, __ATOMIC_ACQUIRE) != 0) {
        qnnrt_ort__lock(model);
        __atomic_store_n(&model->cancelled, 0, __ATOMIC_RELEASE);
        (void)qnnrt_ort__failed(model->library, api->RunOptionsUnsetTerminate(model->run_options));
        qnnrt_ort__unlock(model);
    }
    binding->has_run = 0;
    status = api->RunWithBinding(model->session, model->run_options, binding->io);
    if (status != NULL) return qnnrt_ort__run_failed(model, status, err);
    binding->has_run = 1;
    return QNNRT_OK;
}

static void qnnrt_ort__cancel(void *at)
{
    qnnrt_ort__model *model = (qnnrt_ort__model *)at;
    /* Both in one step: a run that begins between them would end with no reason. */
    qnnrt_ort__lock(model);
    __atomic_store_n(&model->cancelled, 1, __ATOMIC_RELEASE);
    (void)qnnrt_ort__failed(model->library,
                            model->library->api.RunOptionsSetTerminate(model->run_options));
    qnnrt_ort__unlock(model);
}

/* Get the values that the last run wrote, of all outputs in order. */
static qnnrt_result qnnrt_ort__values(qnnrt_ort__binding *binding, qnnrt_error *err)
{
    const qnnrt_ort__library *library = binding->model->library;
    qnnrt_ort__status status;
    size_t count = 0;
    if (binding->values != NULL) return QNNRT_OK;
    status = library->api.GetBoundOutputValues(binding->io, library->allocator, &binding->values,
                                               &count);
    if (status != NULL) {
        binding->values = NULL;
        return qnnrt_ort__report(library, status, err, "cannot read the outputs");
    }
    binding->value_count = binding->values != NULL ? count : 0;
    if (binding->value_count == binding->model->output_count) return QNNRT_OK;
    qnnrt_error_set(err, QNNRT_E_BACKEND, "ONNX Runtime returned %lu outputs, expected %lu",
                    (unsigned long)binding->value_count,
                    (unsigned long)binding->model->output_count);
    qnnrt_ort__forget(binding);
    return QNNRT_E_BACKEND;
}

/* Copy the strings of a value, so that each ends with a 0. */
static qnnrt_result qnnrt_ort__strings(qnnrt_ort__binding *binding, const void *from, size_t count,
                                       qnnrt_value *value, qnnrt_error *err)
{
    const qnnrt_ort__library *library = binding->model->library;
    qnnrt_arena *strings = &binding->strings;
    size_t bytes = 0, i, *offsets;
    const char **texts;
    char *raw, *text;
    qnnrt_ort__status status = library->api.GetStringTensorDataLength(from, &bytes);
    if (status != NULL) return qnnrt_ort__report(library, status, err, "cannot read strings");
    if (bytes > SIZE_MAX / 4 || count > SIZE_MAX / 64)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    texts = (const char **)qnnrt_arena_get(strings, count + 1, sizeof(*texts));
    offsets = (size_t *)qnnrt_arena_get(strings, count + 1, sizeof(*offsets));
    raw = (char *)qnnrt_arena_get(strings, bytes + 1, 1);
    text = (char *)qnnrt_arena_get(strings, bytes + count + 1, 1);
    if (strings->failed != QNNRT_OK) {
        strings->failed = QNNRT_OK;      /* the caller may try again */
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    }
    status = library->api.GetStringTensorContent(from, raw, bytes, offsets, count);
    if (status != NULL) return qnnrt_ort__report(library, status, err, "cannot read strings");
    offsets[count] = bytes;
    for (i = 0; i < count; ++i) {
        if (offsets[i] > offsets[i + 1] || offsets[i + 1] > bytes)
            return qnnrt_error_set(err, QNNRT_E_BACKEND, "strings of an output lie outside of its "
                                   "memory");
        texts[i] = text;
        memcpy(text, raw + offsets[i], offsets[i + 1] - offsets[i]);
        text += offsets[i + 1] - offsets[i] + 1;
    }
    memcpy((void *)&value->data, (const void *)&texts, sizeof(value->data));
    value->bytes = count * sizeof(*texts);
    return QNNRT_OK;
}

/* Describe a value of ONNX Runtime. */
static qnnrt_result qnnrt_ort__describe(qnnrt_ort__binding *binding, size_t index, void *from,
                                        qnnrt_value *value, qnnrt_error *err)
{
    const qnnrt_ort__model *model = binding->model;
    const qnnrt_ort__api *api = &model->library->api;
    const char *name = model->outputs[index].name;
    void *info = NULL;
    int is = 0, type = 0, good;
    size_t bytes = 0;
    qnnrt_ort__status status = from != NULL ? api->IsTensor(from, &is) : NULL;
    if (status == NULL && is) status = api->GetTensorTypeAndShape(from, &info);
    if (status != NULL) return qnnrt_ort__report_tensor(model, status, 1, index, err);
    if (info == NULL)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "output \"%.200s\" is not a tensor", name);
    good = !qnnrt_ort__failed(model->library, api->GetTensorElementType(info, &type)) &&
           qnnrt_ort__dims(model->library, info, &value->rank, value->dims);
    api->ReleaseTensorTypeAndShapeInfo(info);
    value->dtype = qnnrt_ort__dtype(type);
    if (!good || !qnnrt_session_bytes(value->dtype, value->rank, value->dims, &bytes))
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "output \"%.200s\" has a type (%s) or a "
                               "shape that is not supported", name, qnnrt_ort__type_name(type));
    if (value->dtype == QNNRT_DTYPE_STRING)
        return qnnrt_ort__strings(binding, from, bytes / sizeof(const char *), value, err);
    value->bytes = bytes;
    status = api->GetTensorMutableData(from, &value->data);
    if (status != NULL) return qnnrt_ort__report_tensor(model, status, 1, index, err);
    return QNNRT_OK;
}

static qnnrt_result qnnrt_ort__get(void *at, size_t index, qnnrt_value *value, qnnrt_error *err)
{
    qnnrt_ort__binding *binding = (qnnrt_ort__binding *)at;
    const qnnrt_ort__place *place = &binding->outputs[index];
    const char *name = binding->model->outputs[index].name;
    qnnrt_result result;
    if (!binding->has_run)
        return qnnrt_error_set(err, QNNRT_E_STATE, "output \"%.200s\" has no value before a run",
                               name);
    if (place->value != NULL) {
        *value = place->placed;
        value->name = name;
        return QNNRT_OK;
    }
    memset(value, 0, sizeof(*value));
    value->name = name;
    result = qnnrt_ort__values(binding, err);
    if (result != QNNRT_OK) return result;
    return qnnrt_ort__describe(binding, index, binding->values[index], value, err);
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   Opens the library, and the tables of the engines.
   Needs: every room above     Knows nothing of: tensors
   ===================================================================================== */

static void qnnrt_ort__close(void *at)
{
    qnnrt_ort__library *library = (qnnrt_ort__library *)at;
    const qnnrt_hooks hooks = library->hooks;
    if (library->memory != NULL) library->api.ReleaseMemoryInfo(library->memory);
    if (library->env != NULL) library->api.ReleaseEnv(library->env);
    if (library->handle != NULL) dlclose(library->handle);
    qnnrt_hooks_free(&hooks, library->devices);
    qnnrt_hooks_free(&hooks, library);
}

/* Keep the library in memory after it is closed. */
static void qnnrt_ort__stay(const char *path)
{
#if defined(RTLD_NODELETE) && defined(RTLD_NOLOAD)
    void *again = path[0] != '\0' ? dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) : NULL;
    if (again != NULL) dlclose(again);
#else
    (void)path;
#endif
}

/* Make what all sessions of a library share. */
static qnnrt_result qnnrt_ort__start(qnnrt_ort__library *library, qnnrt_error *err)
{
    const qnnrt_ort__api *api = &library->api;
    const char *build = api->GetBuildInfoString != NULL ? api->GetBuildInfoString() : NULL;
    qnnrt_ort__status status = api->CreateEnvWithCustomLogger(qnnrt_ort__line, NULL, 2, "qnnrt",
                                                              &library->env);
    snprintf(library->build, sizeof library->build, "%.300s", build != NULL ? build : "");
    qnnrt_ort__clean(library->build);
    if (status == NULL) status = api->GetAllocatorWithDefaultOptions(&library->allocator);
    if (status == NULL) status = api->CreateCpuMemoryInfo(0, 0, &library->memory);
    if (status == NULL) return QNNRT_OK;
    return qnnrt_ort__report(library, status, err, "cannot start ONNX Runtime");
}

static qnnrt_result qnnrt_ort__open_any(const qnnrt_engine_open *desc, int trt, void **out,
                                        qnnrt_engine_library *facts, qnnrt_error *err)
{
    static const char *const devices[] = { "npu", "gpu", "cuda:0", "cpu" };
    const char *plugin = qnnrt_ort__option(desc->options, desc->option_count, "provider_library");
    const char *path = desc->library_path != NULL ? desc->library_path :
                       qnnrt_ort__option(desc->options, desc->option_count, "library_path");
    qnnrt_ort__library *library;
    qnnrt_error own;
    qnnrt_result result = QNNRT_OK;
    *out = NULL;
    memset(facts, 0, sizeof(*facts));
    library = (qnnrt_ort__library *)qnnrt_hooks_alloc(&desc->hooks, 1, sizeof(*library));
    if (library == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    library->hooks = desc->hooks;
    library->trt = trt;
    if (err == NULL) err = &own;
    library->handle = qnnrt_ort__search(path, err);
    if (library->handle == NULL) {
        result = QNNRT_E_LIBRARY;
    } else {
        qnnrt_error_clear(err);
        snprintf(library->path, sizeof library->path, "%s",
                 path != NULL ? path : QNNRT_ORT__NAME);
        result = qnnrt_ort__accept(library, err);
    }
    if (result == QNNRT_OK) {
        qnnrt_ort__stay(library->path);
        result = qnnrt_ort__start(library, err);
    }
    if (result == QNNRT_OK && plugin != NULL) result = qnnrt_ort__plugin(library, plugin, err);
    if (result != QNNRT_OK) {
        qnnrt_ort__close(library);
        return result;
    }
    facts->version = library->version;
    facts->path = library->path;
    facts->build = library->build;
    facts->devices = trt ? devices + 1 : devices;
    facts->device_count = trt ? 2 : 4;
    *out = library;
    return QNNRT_OK;
}

static qnnrt_result qnnrt_ort__open(const qnnrt_engine_open *desc, void **out,
                                    qnnrt_engine_library *facts, qnnrt_error *err)
{
    return qnnrt_ort__open_any(desc, 0, out, facts, err);
}

static qnnrt_result qnnrt_ort__open_trt(const qnnrt_engine_open *desc, void **out,
                                        qnnrt_engine_library *facts, qnnrt_error *err)
{
    return qnnrt_ort__open_any(desc, 1, out, facts, err);
}

static const qnnrt_engine qnnrt_ort__engine = {
    QNNRT_ENGINE_VERSION, QNNRT_MODEL_ONNX, "onnxrt", "ONNX Runtime: CPU, QNN, CUDA",
    qnnrt_ort__open, qnnrt_ort__close, qnnrt_ort__load, qnnrt_ort__unload,
    qnnrt_ort__binding_create, qnnrt_ort__binding_destroy, qnnrt_ort__set, qnnrt_ort__run,
    qnnrt_ort__get, qnnrt_ort__cancel, NULL
};

static const qnnrt_engine qnnrt_ort__engine_trt = {
    QNNRT_ENGINE_VERSION, QNNRT_MODEL_ONNX, "onnxrt+trt", "ONNX Runtime with TensorRT and CUDA",
    qnnrt_ort__open_trt, qnnrt_ort__close, qnnrt_ort__load, qnnrt_ort__unload,
    qnnrt_ort__binding_create, qnnrt_ort__binding_destroy, qnnrt_ort__set, qnnrt_ort__run,
    qnnrt_ort__get, qnnrt_ort__cancel, NULL
};

QNNRT_ONNXRUNTIME_API const qnnrt_engine *qnnrt_engine_onnxruntime(void)
{
    return &qnnrt_ort__engine;
}

QNNRT_ONNXRUNTIME_API const qnnrt_engine *qnnrt_engine_onnxruntime_trt(void)
{
    return &qnnrt_ort__engine_trt;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_ONNXRUNTIME__IMPL_ONCE */
#endif /* QNNRT_ONNXRUNTIME_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   Changed: the library is searched as qnnrt_engine_find() says: in a folder the highest
           numbers go first and libonnxruntime.so last; folders of LD_LIBRARY_PATH count, too.
   0.4.0   First version.
   --------------------------------------------------------------------------------------------- */
