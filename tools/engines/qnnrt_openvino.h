/* qnnrt_openvino.h - v0.5.0 - OpenVINO as an engine of qnnrt_session.h, without OpenVINO's headers

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_openvino.h"
       #define QNNRT_CACHE_IMPLEMENTATION
       #define QNNRT_SESSION_IMPLEMENTATION
       #define QNNRT_OPENVINO_IMPLEMENTATION
       #include "qnnrt_openvino.h"
   qnnrt_session.h and qnnrt.h are found by the compiler (-I). Link with -ldl; libopenvino_c.so.* is
   opened at run time, see "Finding the library".

       const qnnrt_engine *const engines[] = { qnnrt_engine_openvino(), NULL };
       desc.engines = engines;
       qnnrt_session_create("model.onnx", &desc, &session, &err);       // or model.xml

   Uses     Public names of qnnrt.h and qnnrt_session.h, libc, libdl and POSIX files
   Trust    The library is trusted; what it returns about a model is not: names, ranks and counts
            are checked. Models may be hostile as far as OpenVINO's readers withstand them.
   Memory   The hooks serve every allocation of this header. OpenVINO allocates for itself.
   Threads  The header creates none; OpenVINO has its own. cancel may be called from any thread.
   Globals  Constant tables only. The header prints nothing and never aborts. The library stays
            loaded when it is closed: its threads do not survive an unload.

   WORDS
       device    "CPU", "GPU.1", "NPU" for OpenVINO; "cpu", "gpu:1", "npu" here. "gpu" is GPU or
                 GPU.0
       property  a setting of a device, a key and a value, both text
       request   OpenVINO's infer request: one binding has one

   BUILD OPTIONS, to define before the header is first included
       QNNRT_OPENVINO_API  replaces the storage and export prefix (default: QNNRT_API)
       The options of qnnrt.h work here too: QNNRT_STATIC, QNNRT_API

   MANUAL

   Finding the library
       As qnnrt_engine_find() says, with the option "library_path": a file, the folder of
       libopenvino_c.so.<release>, or a name. Usual folders are those that systems and OpenVINO's
       own archive install to.
       Releases 2024.3 to 2026.4 were measured; older ones are refused, newer ones are accepted with
       a line in the log. Plug-ins lie beside the library; the option "plugins_xml" names OpenVINO's
       own list of plug-ins where they do not.

   Properties
       Options with other keys are properties of the device, passed on as they are: NUM_STREAMS,
       CACHE_DIR, EXECUTION_MODE_HINT, DEVICE_ID. OpenVINO's text says what it refuses.
       PERFORMANCE_HINT is LATENCY unless it or NUM_STREAMS is given. INFERENCE_NUM_THREADS is
       qnnrt_engine_load.threads on the CPU.

   Precision
       QNNRT_PRECISION_DEFAULT leaves the choice to OpenVINO, which computes with 16 bits on CPUs
       with AMX. FP32 asks for f32, and FP16 for f16 where the device has it. INT8 is refused:
       OpenVINO takes 8 bits from models that were quantized before.

   Fallback
       With allow_fallback, a model that the NPU or GPU refuses as a whole is compiled for
       HETERO:<device>,CPU, which needs OpenVINO's HETERO plug-in; the model's facts say so.

   Runs
       The first run of a binding, and the first after an input got other dimensions, goes through
       OpenVINO's queue, which costs 0.15 ms on an x86-64 server. A binding whose run took less than
       2 ms is then run in the calling thread: a cancel takes effect when that run ends. Longer ones
       stay in the queue, where a cancel ends them between two operators.
       Outputs in memory of the caller are written there by OpenVINO. Where it computes elsewhere,
       the bytes are copied after the run. An output that is an input of the model is not written at
       all (2024.6 to 2026.4, which report success): the first run fills the memory with a pattern,
       and where that stays, the run is repeated without this memory and the bytes are copied.
       Strings are copied into OpenVINO before each run, and need 2025.2.

   ROOMS (search for the tag)
       >>config >>abi >>said >>find >>type >>library >>device >>model >>shapes >>facts >>cached
       >>load >>tensor >>binding >>get >>run >>public
*/
#ifndef QNNRT_OPENVINO_H
#define QNNRT_OPENVINO_H

#include "qnnrt_session.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_openvino.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_OPENVINO_API
#define QNNRT_OPENVINO_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Return the engine "openvino": .onnx models, and .xml models with their .bin beside them.
   vendor_code of its errors is OpenVINO's status as (uint64_t)(int64_t)status. */
QNNRT_OPENVINO_API const qnnrt_engine *qnnrt_engine_openvino(void);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_OPENVINO_H, end of the declarations */

#ifdef QNNRT_OPENVINO_IMPLEMENTATION
#ifndef QNNRT_OPENVINO__IMPL_ONCE
#define QNNRT_OPENVINO__IMPL_ONCE

#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   Limits, errors and memory, for every room.
   Needs: nothing     Knows nothing of: OpenVINO
   ===================================================================================== */

enum {
    QNNRT_OPENVINO__PATH = 4096,
    QNNRT_OPENVINO__MOST_DEVICES = 16, QNNRT_OPENVINO__DEVICE = 32,
    QNNRT_OPENVINO__MOST_PORTS = 65536, QNNRT_OPENVINO__MOST_NAME = 1024,
    QNNRT_OPENVINO__PATTERN = 0xA5,      /* in outputs before they are written */
    QNNRT_OPENVINO__SHORT_MS = 2         /* runs below this leave the queue, see "Runs" */
};

/* The oldest release that was run, and the newest. */
enum {
    QNNRT_OPENVINO__OLD_YEAR = 2024, QNNRT_OPENVINO__OLD_RELEASE = 3,
    QNNRT_OPENVINO__NEW_YEAR = 2026, QNNRT_OPENVINO__NEW_RELEASE = 4
};

static qnnrt_result qnnrt_openvino__fail_memory(qnnrt_error *err, size_t bytes)
{
    return qnnrt_error_set(err, QNNRT_E_MEMORY, "openvino: out of memory: requested %lu bytes",
                           (unsigned long)bytes);
}

/* =====================================================================================
   ABI                                                                               >>abi
   OpenVINO's C interface: functions by name, opaque handles and five small structs.
   Source: the symbols and behaviour of the libraries 2024.3 to 2026.4. Handles are pointers. A
   status is 0 for success.
   Needs: nothing     Knows nothing of: models
   ===================================================================================== */

typedef struct qnnrt_openvino__shape { int64_t rank; int64_t *dims; } qnnrt_openvino__shape;
typedef struct qnnrt_openvino__dim { int64_t min, max; } qnnrt_openvino__dim;   /* max -1: any */
typedef struct qnnrt_openvino__partial {
    qnnrt_openvino__dim  rank;
    qnnrt_openvino__dim *dims;
} qnnrt_openvino__partial;
typedef struct qnnrt_openvino__version { const char *build, *about; } qnnrt_openvino__version;
typedef struct qnnrt_openvino__devices { char **names; size_t count; } qnnrt_openvino__devices;
typedef struct qnnrt_openvino__profile {
    int         status;                  /* 2: it ran */
    int64_t     real_us, cpu_us;
    const char *node, *exec, *type;
} qnnrt_openvino__profile;
typedef struct qnnrt_openvino__profiles {
    qnnrt_openvino__profile *rows;
    size_t                   count;
} qnnrt_openvino__profiles;

enum {
    QNNRT_OPENVINO__NOT_READY = -9, QNNRT_OPENVINO__CANCELLED = -13, QNNRT_OPENVINO__BAD_ARG = -14
};

/* X(required, result, name, arguments): the functions, in the order in which they are looked up. */
#define QNNRT_OPENVINO__SYMBOLS(X) \
    X(1, int,  ov_core_create, (void **core)) \
    X(0, int,  ov_core_create_with_config, (const char *xml, void **core)) \
    X(1, void, ov_core_free, (void *core)) \
    X(1, int,  ov_core_get_available_devices, (const void *core, qnnrt_openvino__devices *list)) \
    X(1, void, ov_available_devices_free, (qnnrt_openvino__devices *list)) \
    X(1, int,  ov_core_get_property, (const void *core, const char *device, const char *key, \
                                      char **value)) \
    X(1, int,  ov_core_set_property, (const void *core, const char *device, ...)) \
    X(1, int,  ov_core_read_model, (const void *core, const char *path, const char *weights, \
                                    void **model)) \
    X(1, void, ov_model_free, (void *model)) \
    X(1, int,  ov_model_inputs_size, (const void *model, size_t *count)) \
    X(1, int,  ov_model_const_input_by_index, (const void *model, size_t index, void **port)) \
    X(1, int,  ov_model_reshape_by_port_indexes, (const void *model, const size_t *indexes, \
                                                  const qnnrt_openvino__partial *shapes, \
                                                  size_t count)) \
    X(1, int,  ov_core_compile_model, (const void *core, const void *model, const char *device, \
                                       size_t strings, void **compiled, ...)) \
    X(0, int,  ov_core_import_model, (const void *core, const char *data, size_t bytes, \
                                      const char *device, void **compiled)) \
    X(0, int,  ov_compiled_model_export_model, (const void *compiled, const char *path)) \
    X(1, void, ov_compiled_model_free, (void *compiled)) \
    X(1, int,  ov_compiled_model_inputs_size, (const void *compiled, size_t *count)) \
    X(1, int,  ov_compiled_model_outputs_size, (const void *compiled, size_t *count)) \
    X(1, int,  ov_compiled_model_input_by_index, (const void *compiled, size_t index, \
                                                  void **port)) \
    X(1, int,  ov_compiled_model_output_by_index, (const void *compiled, size_t index, \
                                                   void **port)) \
    X(1, int,  ov_compiled_model_create_infer_request, (const void *compiled, void **request)) \
    X(1, int,  ov_port_get_any_name, (const void *port, char **name)) \
    X(1, int,  ov_port_get_element_type, (const void *port, int *type)) \
    X(1, int,  ov_port_get_partial_shape, (const void *port, qnnrt_openvino__partial *shape)) \
    X(1, void, ov_output_const_port_free, (void *port)) \
    X(1, void, ov_partial_shape_free, (qnnrt_openvino__partial *shape)) \
    X(1, void, ov_free, (const char *text)) \
    X(1, int,  ov_tensor_create, (int type, qnnrt_openvino__shape shape, void **tensor)) \
    X(1, int,  ov_tensor_create_from_host_ptr, (int type, qnnrt_openvino__shape shape, \
                                                void *data, void **tensor)) \
    X(0, int,  ov_tensor_create_from_string_array, (const char **texts, size_t count, \
                                                    qnnrt_openvino__shape shape, \
                                                    void **tensor)) \
    X(0, int,  ov_tensor_set_string_data, (void *tensor, const char **texts, size_t count)) \
    X(1, int,  ov_tensor_get_byte_size, (const void *tensor, size_t *bytes)) \
    X(1, int,  ov_tensor_get_element_type, (const void *tensor, int *type)) \
    X(1, int,  ov_tensor_get_shape, (const void *tensor, qnnrt_openvino__shape *shape)) \
    X(1, int,  ov_tensor_data, (const void *tensor, void **data)) \
    X(1, void, ov_tensor_free, (void *tensor)) \
    X(1, int,  ov_shape_free, (qnnrt_openvino__shape *shape)) \
    X(1, int,  ov_infer_request_set_input_tensor_by_index, (void *request, size_t index, \
                                                            const void *tensor)) \
    X(1, int,  ov_infer_request_set_output_tensor_by_index, (void *request, size_t index, \
                                                             const void *tensor)) \
    X(1, int,  ov_infer_request_get_output_tensor_by_index, (const void *request, size_t index, \
                                                             void **tensor)) \
    X(1, int,  ov_infer_request_infer, (void *request)) \
    X(1, int,  ov_infer_request_start_async, (void *request)) \
    X(1, int,  ov_infer_request_wait, (void *request)) \
    X(1, int,  ov_infer_request_wait_for, (void *request, int64_t ms)) \
    X(1, int,  ov_infer_request_cancel, (void *request)) \
    X(1, void, ov_infer_request_free, (void *request)) \
    X(0, int,  ov_infer_request_get_profiling_info, (const void *request, \
                                                     qnnrt_openvino__profiles *list)) \
    X(0, void, ov_profiling_info_list_free, (qnnrt_openvino__profiles *list)) \
    X(0, const char *, ov_get_last_err_msg, (void)) \
    X(0, const char *, ov_get_error_info, (int status))

typedef struct qnnrt_openvino__api {
#define QNNRT_OPENVINO__X(required, result, name, arguments) result (*name) arguments;
    QNNRT_OPENVINO__SYMBOLS(QNNRT_OPENVINO__X)
#undef QNNRT_OPENVINO__X
} qnnrt_openvino__api;

typedef struct qnnrt_openvino__symbol {
    const char *name;
    size_t      slot;                    /* offset in qnnrt_openvino__api */
    int         required;
} qnnrt_openvino__symbol;

static const qnnrt_openvino__symbol qnnrt_openvino__symbols[] = {
#define QNNRT_OPENVINO__X(required, result, name, arguments) \
    { #name, offsetof(qnnrt_openvino__api, name), required },
    QNNRT_OPENVINO__SYMBOLS(QNNRT_OPENVINO__X)
#undef QNNRT_OPENVINO__X
};

/* =====================================================================================
   SAID                                                                             >>said
   What OpenVINO says about a failure.
   Needs: >>config >>abi     Knows nothing of: models
   ===================================================================================== */

/* Copy OpenVINO's last text without the lines that only name its source files. */
static void qnnrt_openvino__said_text(const qnnrt_openvino__api *api, int status, char *out,
                                      size_t room)
{
    const char *text = NULL, *at;
    out[0] = '\0';
    /* These statuses come without a text: the last one belongs to an earlier call. */
    if (status != QNNRT_OPENVINO__NOT_READY && status != QNNRT_OPENVINO__BAD_ARG &&
        api->ov_get_last_err_msg != NULL)
        text = api->ov_get_last_err_msg();
    for (at = text; at != NULL && *at != '\0'; at += strspn(at, "\n")) {
        const size_t line = strcspn(at, "\n"), used = strlen(out);
        if (line > 0 && strncmp(at, "Exception from ", 15) != 0)
            snprintf(out + used, room - used, "%s%.*s", used > 0 ? " " : "",
                     (int)(line < room ? line : room), at);
        at += line;
    }
    if (text != NULL) api->ov_free(text);
    if (out[0] == '\0' && api->ov_get_error_info != NULL) {
        text = api->ov_get_error_info(status);           /* constant */
        snprintf(out, room, "%s", text != NULL ? text : "");
    }
    qnnrt_text_clean(out);
}

/* Fill an error with a text of ours, then OpenVINO's status and text. code is what it means if the
   status and the text do not say better. */
__attribute__((cold, format(printf, 6, 7)))
static qnnrt_result qnnrt_openvino__said(const qnnrt_openvino__api *api, qnnrt_error *err,
                                         int status, qnnrt_result code, const char *hint,
                                         const char *format, ...)
{
    char ours[512], said[1400];
    va_list args;
    va_start(args, format);
    vsnprintf(ours, sizeof ours, format, args);
    va_end(args);
    qnnrt_openvino__said_text(api, status, said, sizeof said);
    if (status == QNNRT_OPENVINO__CANCELLED) code = QNNRT_E_CANCELLED;
    else if (strstr(said, "bad_alloc") != NULL || strstr(said, "out of memory") != NULL ||
             strstr(said, "Cannot allocate memory") != NULL)
        code = QNNRT_E_MEMORY;
    qnnrt_error_hint(err,
                     qnnrt_error_set(err, code, "openvino: %s: %s (status %d)", ours, said, status),
                     "%s", hint);
    if (err != NULL) err->vendor_code = (uint64_t)(int64_t)status;
    return code;
}

/* =====================================================================================
   FIND                                                                             >>find
   Finds libopenvino_c.so.<release> and opens it.
   Needs: nothing     Knows nothing of: the library's functions
   ===================================================================================== */

/* Open the library: a path, the folder of one, a name, or NULL. */
static qnnrt_result qnnrt_openvino__find(const char *wanted, void **handle, qnnrt_error *err)
{
    static const char *const usual[] = {
        "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
        "/usr/lib", "/opt/intel/openvino/runtime/lib/intel64",
        "/opt/intel/openvino/runtime/lib/aarch64", "libopenvino_c.so", NULL
    };
    qnnrt_error_hint(err,
                     qnnrt_error_set(err, QNNRT_E_LIBRARY, "openvino: cannot open OpenVINO's C "
                                     "library%s%.900s. Tried:", wanted ? " " : "", wanted ? wanted :
                                     ""), "Give the path of libopenvino_c.so.<release>, or of its "
                     "folder, in the option library_path.");
    *handle = qnnrt_engine_find("libopenvino_c.so", wanted, usual, err);
    return *handle != NULL ? QNNRT_OK : QNNRT_E_LIBRARY;
}

/* =====================================================================================
   TYPE                                                                             >>type
   Numbers of element types. 2025.1 dropped the first of the list, so they are one less from there.
   Needs: >>config >>abi     Knows nothing of: models
   ===================================================================================== */

typedef struct qnnrt_openvino__type {
    int         code;                    /* from 2025.1 on */
    qnnrt_dtype dtype;
    size_t      bytes;                   /* of one element; 0: not checked */
} qnnrt_openvino__type;

enum { QNNRT_OPENVINO__TYPE_STRING = 23 };

static const qnnrt_openvino__type qnnrt_openvino__types[] = {
    {  1, QNNRT_DTYPE_BOOL8, 1 }, {  2, QNNRT_DTYPE_BF16, 2 }, {  3, QNNRT_DTYPE_F16, 2 },
    {  4, QNNRT_DTYPE_F32, 4 },   {  5, QNNRT_DTYPE_F64, 8 },  {  6, QNNRT_DTYPE_I4, 0 },
    {  7, QNNRT_DTYPE_I8, 1 },    {  8, QNNRT_DTYPE_I16, 2 },  {  9, QNNRT_DTYPE_I32, 4 },
    { 10, QNNRT_DTYPE_I64, 8 },   { 12, QNNRT_DTYPE_U2, 0 },   { 14, QNNRT_DTYPE_U4, 0 },
    { 16, QNNRT_DTYPE_U8, 1 },    { 17, QNNRT_DTYPE_U16, 2 },  { 18, QNNRT_DTYPE_U32, 4 },
    { 19, QNNRT_DTYPE_U64, 8 },   { 21, QNNRT_DTYPE_F8, 0 },   { 22, QNNRT_DTYPE_F8, 0 },
    { QNNRT_OPENVINO__TYPE_STRING, QNNRT_DTYPE_STRING, 0 }, { 24, QNNRT_DTYPE_F4, 0 }
};
enum { QNNRT_OPENVINO__TYPES = sizeof qnnrt_openvino__types / sizeof qnnrt_openvino__types[0] };

/* Return the bytes that one element of a type has, 0 if the library refuses the number. */
static size_t qnnrt_openvino__type_bytes(const qnnrt_openvino__api *api, int code)
{
    int64_t one = 1;
    qnnrt_openvino__shape shape;
    void *tensor = NULL;
    size_t bytes = 0;
    shape.rank = 1;
    shape.dims = &one;
    if (api->ov_tensor_create(code, shape, &tensor) != 0 || tensor == NULL) return 0;
    if (api->ov_tensor_get_byte_size(tensor, &bytes) != 0) bytes = 0;
    api->ov_tensor_free(tensor);
    return bytes;
}

/* Find out by how much the library's numbers are shifted, from the sizes of elements: number 4 is
   float32 from 2025.1 on, and float16 before. Check the sizes of all types. */
static qnnrt_result qnnrt_openvino__type_find(const qnnrt_openvino__api *api, int *shift,
                                              qnnrt_error *err)
{
    const size_t four = qnnrt_openvino__type_bytes(api, 4);
    size_t i;
    *shift = four == 4 ? 0 : 1;
    if (four != 4 && four != 2)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_VERSION, "openvino: the numbers of "
                                                "element types are unknown: number 4 has %lu "
                                                "bytes, expected 4 or 2", (unsigned long)four),
                                "Take a release from 2024.3 on.");
    for (i = 0; i < QNNRT_OPENVINO__TYPES; ++i) {
        const qnnrt_openvino__type *type = &qnnrt_openvino__types[i];
        const size_t bytes = type->bytes != 0
                           ? qnnrt_openvino__type_bytes(api, type->code + *shift) : 0;
        if (bytes != type->bytes)
            return qnnrt_error_hint(err,
                                    qnnrt_error_set(err, QNNRT_E_VERSION, "openvino: the numbers "
                                                    "of element types are unknown: number %d has "
                                                    "%lu bytes, expected %lu (%s)", type->code +
                                                    *shift, (unsigned long)bytes,
                                                    (unsigned long)type->bytes,
                                                    qnnrt_dtype_name(type->dtype)),
                                    "Take a release from 2024.3 on.");
    }
    return QNNRT_OK;
}

/* Return the dtype of a number, or QNNRT_DTYPE_UNDEFINED. */
static qnnrt_dtype qnnrt_openvino__type_dtype(int shift, int code)
{
    size_t i;
    for (i = 0; i < QNNRT_OPENVINO__TYPES; ++i)
        if (qnnrt_openvino__types[i].code == code - shift) return qnnrt_openvino__types[i].dtype;
    return QNNRT_DTYPE_UNDEFINED;
}

/* A string as libstdc++ stores it. */
typedef struct qnnrt_openvino__text {
    const char *text;
    size_t      length;
    char        rest[16];
} qnnrt_openvino__text;

/* Return 1 if the library's strings can be read: write three into a tensor, and look at them. */
static int qnnrt_openvino__type_strings(const qnnrt_openvino__api *api)
{
    const char *texts[3] = { "ab", "", "more characters than a short string holds in itself" };
    int64_t three = 3;
    qnnrt_openvino__shape shape;
    const qnnrt_openvino__text *rows;
    void *tensor = NULL, *data = NULL;
    size_t bytes = 0, i;
    int good;
    if (api->ov_tensor_create_from_string_array == NULL || api->ov_tensor_set_string_data == NULL)
        return 0;
    shape.rank = 1;
    shape.dims = &three;
    if (api->ov_tensor_create_from_string_array(texts, 3, shape, &tensor) != 0 || tensor == NULL)
        return 0;
    good = api->ov_tensor_get_byte_size(tensor, &bytes) == 0 && bytes == 3 * sizeof(*rows) &&
           api->ov_tensor_data(tensor, &data) == 0 && data != NULL;
    /* Lengths first: a pointer is followed only where its length is the right one. */
    rows = (const qnnrt_openvino__text *)data;
    for (i = 0; good && i < 3; ++i) good = rows[i].length == strlen(texts[i]);
    good = good && rows[0].text == rows[0].rest && rows[1].text == rows[1].rest;
    for (i = 0; good && i < 3; ++i)
        good = rows[i].text != NULL && strcmp(rows[i].text, texts[i]) == 0;
    api->ov_tensor_free(tensor);
    return good;
}

/* =====================================================================================
   LIBRARY                                                                       >>library
   Opens the library, checks its version before any other function, and binds the functions.
   Needs: >>config >>abi >>find >>type     Knows nothing of: devices, models
   ===================================================================================== */

typedef struct qnnrt_openvino__library {
    qnnrt_hooks hooks;
    qnnrt_openvino__api api;
    unsigned    year, release, patch;
    int         shift;                   /* of the numbers of element types */
    int         strings;                 /* 1: strings can be read */
    char       *plugins;                 /* path of a list of plug-ins, or NULL */
    char        path[QNNRT_OPENVINO__PATH];
    char        version[40];
    char        build[2048];
    size_t      device_count;
    char        names[QNNRT_OPENVINO__MOST_DEVICES][QNNRT_OPENVINO__DEVICE];     /* "gpu:1" */
    char        devices[QNNRT_OPENVINO__MOST_DEVICES][QNNRT_OPENVINO__DEVICE];   /* "GPU.1" */
    const char *name_list[QNNRT_OPENVINO__MOST_DEVICES];
} qnnrt_openvino__library;

/* Read up to `most` digits. Return 0 if there is none, or one more than that. */
static int qnnrt_openvino__library_number(const char **at, size_t most, unsigned *out)
{
    const size_t digits = strspn(*at, "0123456789");
    size_t i;
    *out = 0;
    if (digits == 0 || digits > most) return 0;
    for (i = 0; i < digits; ++i) *out = *out * 10 + (unsigned)((*at)[i] - '0');
    *at += digits;
    return 1;
}

/* Read "2026.4.1-22982-..." Return 0 if it is not of this form. */
static int qnnrt_openvino__library_parse(const char *text, unsigned *year, unsigned *release,
                                         unsigned *patch)
{
    const char *at = text;
    return qnnrt_openvino__library_number(&at, 4, year) && *year >= 2000 && *at++ == '.' &&
           qnnrt_openvino__library_number(&at, 2, release) && *at++ == '.' &&
           qnnrt_openvino__library_number(&at, 3, patch) && (*at == '\0' || *at == '-');
}

/* Ask for the version, and refuse those that are too old. */
static qnnrt_result qnnrt_openvino__library_version(qnnrt_openvino__library *library, void *handle,
                                                    qnnrt_error *err)
{
    int (*get)(qnnrt_openvino__version *) = NULL;
    void (*release)(qnnrt_openvino__version *) = NULL;
    void *found = dlsym(handle, "ov_get_openvino_version"), *other = dlsym(handle,
                                                                           "ov_version_free");
    qnnrt_openvino__version version;
    int status, good;
    if (found == NULL || other == NULL)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_LIBRARY, "openvino: %.900s is not "
                                                "OpenVINO's C library: it has no %s", library->path,
                                                found == NULL ? "ov_get_openvino_version" :
                                                "ov_version_free"), "Give the path of "
                                "libopenvino_c.so.*.");
    memcpy((void *)&get, (const void *)&found, sizeof get);
    memcpy((void *)&release, (const void *)&other, sizeof release);
    memset(&version, 0, sizeof version);
    status = get(&version);
    if (status != 0 || version.build == NULL) {
        if (status == 0) release(&version);
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_LIBRARY, "openvino: %.900s returned "
                                                "no version (status %d)", library->path, status),
                                "Give the path of libopenvino_c.so.*.");
    }
    snprintf(library->build, 200, "%s", version.build);
    release(&version);
    qnnrt_text_clean(library->build);
    good = qnnrt_openvino__library_parse(library->build, &library->year, &library->release,
                                         &library->patch);
    if (!good)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_VERSION, "openvino: %.900s has the "
                                                "version \"%s\", expected one such as 2026.4.1",
                                                library->path, library->build),
                                "Take a release from 2024.3 on.");
    snprintf(library->version, sizeof library->version, "%u.%u.%u", library->year,
             library->release, library->patch);
    if (library->year < QNNRT_OPENVINO__OLD_YEAR ||
        (library->year == QNNRT_OPENVINO__OLD_YEAR &&
         library->release < QNNRT_OPENVINO__OLD_RELEASE))
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_VERSION, "openvino: %.900s is "
                                                "OpenVINO %s, which is older than %d.%d",
                                                library->path, library->version,
                                                QNNRT_OPENVINO__OLD_YEAR,
                                                QNNRT_OPENVINO__OLD_RELEASE),
                                "Take a release from 2024.3 on.");
    if (library->year > QNNRT_OPENVINO__NEW_YEAR ||
        (library->year == QNNRT_OPENVINO__NEW_YEAR &&
         library->release > QNNRT_OPENVINO__NEW_RELEASE))
        qnnrt_log(&library->hooks, QNNRT_LOG_INFO, "openvino", 0,
                  "OpenVINO %s is newer than %d.%d, the newest that was measured: it is used as"
                  " that one", library->version, QNNRT_OPENVINO__NEW_YEAR,
                  QNNRT_OPENVINO__NEW_RELEASE);
    return QNNRT_OK;
}

/* Find the functions. */
static qnnrt_result qnnrt_openvino__library_bind(qnnrt_openvino__library *library, void *handle,
                                                 qnnrt_error *err)
{
    size_t i;
    for (i = 0; i < sizeof qnnrt_openvino__symbols / sizeof qnnrt_openvino__symbols[0]; ++i) {
        const qnnrt_openvino__symbol *symbol = &qnnrt_openvino__symbols[i];
        void *found = dlsym(handle, symbol->name);
        if (found == NULL && symbol->required)
            return qnnrt_error_hint(err,
                                    qnnrt_error_set(err, QNNRT_E_LIBRARY, "openvino: %.900s, "
                                                    "OpenVINO %s, has no %s", library->path,
                                                    library->version, symbol->name),
                                    "Take the library of another release.");
        memcpy((char *)&library->api + symbol->slot, (const void *)&found, sizeof found);
    }
    return QNNRT_OK;
}

/* Open and check the library. On failure it is closed again, as nothing was started in it. */
static qnnrt_result qnnrt_openvino__library_open(qnnrt_openvino__library *library,
                                                 const char *wanted, qnnrt_error *err)
{
    void *handle = NULL, *known;
    qnnrt_result result = qnnrt_openvino__find(wanted, &handle, err);
    if (result != QNNRT_OK) return result;
    known = dlsym(handle, "ov_get_openvino_version");
    if (known != NULL) qnnrt_engine_path(known, library->path, sizeof library->path);
    else snprintf(library->path, sizeof library->path, "%s", wanted != NULL ? wanted : "");
    result = qnnrt_openvino__library_version(library, handle, err);
    if (result == QNNRT_OK) result = qnnrt_openvino__library_bind(library, handle, err);
    if (result == QNNRT_OK) result = qnnrt_openvino__type_find(&library->api, &library->shift, err);
    if (result != QNNRT_OK) {
        dlclose(handle);
        return result;
    }
    library->strings = qnnrt_openvino__type_strings(&library->api);
    return QNNRT_OK;
}

/* =====================================================================================
   DEVICE                                                                         >>device
   Lists devices, and sets their properties.
   Needs: >>config >>abi >>said >>library     Knows nothing of: models
   ===================================================================================== */

/* Make a core: OpenVINO's object for everything that follows. */
static qnnrt_result qnnrt_openvino__device_core(const qnnrt_openvino__library *library, void **core,
                                                qnnrt_error *err)
{
    const qnnrt_openvino__api *api = &library->api;
    int status;
    *core = NULL;
    if (library->plugins != NULL && api->ov_core_create_with_config == NULL)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "openvino: OpenVINO %s "
                                                "has no ov_core_create_with_config, which "
                                                "plugins_xml needs", library->version),
                                "Leave out plugins_xml.");
    status = library->plugins != NULL ? api->ov_core_create_with_config(library->plugins, core)
                                      : api->ov_core_create(core);
    if (status == 0 && *core != NULL) return QNNRT_OK;
    *core = NULL;
    return qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot start OpenVINO %s",
                                library->version);
}

/* Translate OpenVINO's name of a device. Return 0 if it is not of a known form. */
static int qnnrt_openvino__device_name(const char *device, char out[QNNRT_OPENVINO__DEVICE])
{
    const size_t base = strspn(device, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const size_t digits = device[base] == '.' ? strspn(device + base + 1, "0123456789") : 0;
    size_t i;
    if (base == 0 || strlen(device) >= QNNRT_OPENVINO__DEVICE) return 0;
    if (device[base] != '\0' && (digits == 0 || device[base + 1 + digits] != '\0')) return 0;
    for (i = 0; i < base; ++i) out[i] = (char)(device[i] - 'A' + 'a');
    out[base] = '\0';
    if (digits > 0 && strcmp(device + base, ".0") != 0) {
        memcpy(out + base, device + base, digits + 2);
        out[base] = ':';
    }
    return 1;
}

/* Find out which devices there are. Their full names become part of the build. */
static qnnrt_result qnnrt_openvino__device_list(qnnrt_openvino__library *library, qnnrt_error *err)
{
    const qnnrt_openvino__api *api = &library->api;
    qnnrt_openvino__devices list;
    qnnrt_result result;
    void *core;
    size_t i;
    int status;
    result = qnnrt_openvino__device_core(library, &core, err);
    if (result != QNNRT_OK) return result;
    memset(&list, 0, sizeof list);
    status = api->ov_core_get_available_devices(core, &list);
    if (status != 0) {
        result = qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot list devices");
        api->ov_core_free(core);
        return result;
    }
    for (i = 0; i < list.count && list.names != NULL; ++i) {
        const size_t used = strlen(library->build), at = library->device_count;
        char *full = NULL;
        if (list.names[i] == NULL || at == QNNRT_OPENVINO__MOST_DEVICES ||
            !qnnrt_openvino__device_name(list.names[i], library->names[at])) {
            qnnrt_log(&library->hooks, QNNRT_LOG_WARN, "openvino", 0,
                      "device \"%.100s\" is left out",
                      list.names[i] != NULL ? list.names[i] : "(no name)");
            continue;
        }
        memcpy(library->devices[at], list.names[i], strlen(list.names[i]) + 1);
        library->name_list[at] = library->names[at];
        ++library->device_count;
        if (api->ov_core_get_property(core, list.names[i], "FULL_DEVICE_NAME", &full) != 0 ||
            full == NULL)
            continue;
        snprintf(library->build + used, sizeof library->build - used, "; %s %.100s",
                 library->names[at], full);
        api->ov_free(full);
    }
    api->ov_available_devices_free(&list);
    api->ov_core_free(core);
    qnnrt_text_clean(library->build);
    if (library->device_count > 0) return QNNRT_OK;
    return qnnrt_error_hint(err,
                            qnnrt_error_set(err, QNNRT_E_LIBRARY, "openvino: OpenVINO %s at %.900s "
                                            "has no device", library->version, library->path),
                            "Keep the plug-ins (libopenvino_intel_cpu_plugin.so) beside the "
                            "library.");
}

/* Set one property. */
static qnnrt_result qnnrt_openvino__device_set(const qnnrt_openvino__library *library, void *core,
                                               const char *device, const char *key,
                                               const char *value, qnnrt_error *err)
{
    const int status = library->api.ov_core_set_property(core, device, key, value);
    qnnrt_result result;
    if (status == 0) return QNNRT_OK;
    result = qnnrt_openvino__said(&library->api, err, status, QNNRT_E_ARG,
                                  "Check the key and the value of the option.",
                                  "property %.100s = \"%.100s\" of %s", key, value, device);
    if (result == QNNRT_E_ARG && err != NULL && (strstr(err->text, "NotFound") != NULL ||
                                                 strstr(err->text, "Unsupported property") != NULL))
        result = err->code = QNNRT_E_NOT_FOUND;
    return result;
}

/* Return 1 if an option is a property of the device. */
static int qnnrt_openvino__device_option(const qnnrt_session_option *option)
{
    return (option->engine == NULL || strcmp(option->engine, "openvino") == 0) &&
           option->key != NULL && option->value != NULL &&
           strcmp(option->key, "library_path") != 0 && strcmp(option->key, "plugins_xml") != 0;
}

/* Set the precision. Refuse one that the device does not have. */
static qnnrt_result qnnrt_openvino__device_precision(const qnnrt_openvino__library *library,
                                                     void *core, const char *device,
                                                     qnnrt_precision precision, qnnrt_error *err)
{
    const qnnrt_openvino__api *api = &library->api;
    const char *hint = precision == QNNRT_PRECISION_FP16 ? "f16" : "f32";
    char *can = NULL;
    const char *at;
    qnnrt_result result = QNNRT_OK;
    int status;
    if (precision == QNNRT_PRECISION_DEFAULT) return QNNRT_OK;
    if (precision != QNNRT_PRECISION_FP16 && precision != QNNRT_PRECISION_FP32)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "openvino: precision "
                                                "int8: OpenVINO takes int8 from quantized models"),
                                "Quantize the model, and leave the precision out.");
    if (precision == QNNRT_PRECISION_FP16) {
        status = api->ov_core_get_property(core, device, "OPTIMIZATION_CAPABILITIES", &can);
        if (status != 0 || can == NULL)
            return qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot read what"
                                        " the device %s can", device);
        for (at = strstr(can, "FP16"); at != NULL; at = strstr(at + 1, "FP16"))
            if ((at == can || at[-1] == ' ') && (at[4] == ' ' || at[4] == '\0')) break;
        if (at == NULL)
            result = qnnrt_error_hint(err,
                                      qnnrt_error_set(err, QNNRT_E_UNSUPPORTED,
                                                      "openvino: precision fp16: the device %s has "
                                                      "%.300s", device, can),
                                      "Take fp32, or another device.");
        api->ov_free(can);
    }
    if (result != QNNRT_OK) return result;
    return qnnrt_openvino__device_set(library, core, device, "INFERENCE_PRECISION_HINT", hint, err);
}

/* Set all properties of a device. */
static qnnrt_result qnnrt_openvino__device_setup(const qnnrt_openvino__library *library, void *core,
                                                 const char *device, const qnnrt_engine_load *load,
                                                 qnnrt_error *err)
{
    char threads[16], *full = NULL;
    size_t i;
    int chosen = 0;
    qnnrt_result result;
    /* This loads the plug-in. Before that, a core keeps wrong properties until it compiles. */
    if (library->api.ov_core_get_property(core, device, "FULL_DEVICE_NAME", &full) == 0 &&
        full != NULL)
        library->api.ov_free(full);
    result = qnnrt_openvino__device_precision(library, core, device, load->precision, err);
    for (i = 0; i < load->option_count; ++i)
        if (qnnrt_openvino__device_option(&load->options[i]) &&
            (strcmp(load->options[i].key, "PERFORMANCE_HINT") == 0 ||
             strcmp(load->options[i].key, "NUM_STREAMS") == 0))
            chosen = 1;
    if (result == QNNRT_OK && !chosen)
        result = qnnrt_openvino__device_set(library, core, device, "PERFORMANCE_HINT", "LATENCY",
                                            err);
    snprintf(threads, sizeof threads, "%lu", (unsigned long)load->threads);
    if (result == QNNRT_OK && strcmp(device, "CPU") == 0 && load->threads > 0)
        result = qnnrt_openvino__device_set(library, core, device, "INFERENCE_NUM_THREADS",
                                            threads, err);
    if (result == QNNRT_OK && load->timed)
        result = qnnrt_openvino__device_set(library, core, device, "PERF_COUNT", "YES", err);
    for (i = 0; i < load->option_count && result == QNNRT_OK; ++i)
        if (qnnrt_openvino__device_option(&load->options[i]))
            result = qnnrt_openvino__device_set(library, core, device, load->options[i].key,
                                                load->options[i].value, err);
    return result;
}

/* =====================================================================================
   MODEL                                                                           >>model
   The object of a model, and what its ports are called.
   Needs: >>config >>abi >>library     Knows nothing of: files, bindings
   ===================================================================================== */

typedef struct qnnrt_openvino__port {
    char *name;                          /* as the facts have it */
    int   code;                          /* of the element type, as the library numbers it */
    int   fixed;                         /* 1: all dimensions are known */
} qnnrt_openvino__port;

typedef struct qnnrt_openvino__model {
    const qnnrt_openvino__library *library;
    qnnrt_hooks           hooks;
    qnnrt_arena           arena;         /* of facts and ports */
    void                 *core, *compiled;
    char                 *blob;          /* what was imported: its weights are used in place */
    char                  device[QNNRT_OPENVINO__DEVICE];    /* "cpu" */
    uint32_t              run_ms;
    int                   timed;
    size_t                count[2];      /* of inputs, of outputs */
    qnnrt_session_tensor *facts[2];
    qnnrt_openvino__port *ports[2];
    char                  fallback[600];
    const char           *saved[1];
    /* Shared with cancel. */
    int                   lock, cancelled;
    void                 *running;       /* a request in the queue, or NULL */
} qnnrt_openvino__model;

/* Return a copy of the name of a port, or NULL. Ports without a name are called "input_0" and so
   on. */
static char *qnnrt_openvino__model_name(const qnnrt_openvino__library *library, qnnrt_arena *arena,
                                        const void *port, int output, size_t index)
{
    char *text = NULL, *copy, own[40];
    size_t length = 0;
    if (library->api.ov_port_get_any_name(port, &text) != 0) text = NULL;
    while (text != NULL && length < QNNRT_OPENVINO__MOST_NAME && text[length] != '\0') ++length;
    if (length == 0)
        length = (size_t)snprintf(own, sizeof own, "%s_%lu", output ? "output" : "input",
                                  (unsigned long)index);
    copy = qnnrt_arena_text(arena, text != NULL && text[0] != '\0' ? text : own, length);
    if (text != NULL) library->api.ov_free(text);
    return copy;
}

/* Free a model and all it has. */
static void qnnrt_openvino__model_free(void *object)
{
    qnnrt_openvino__model *model = (qnnrt_openvino__model *)object;
    const qnnrt_openvino__api *api = &model->library->api;
    const qnnrt_hooks hooks = model->hooks;
    if (model->compiled != NULL) api->ov_compiled_model_free(model->compiled);
    if (model->core != NULL) api->ov_core_free(model->core);
    qnnrt_hooks_free(&hooks, model->blob);
    qnnrt_arena_free(&model->arena);
    qnnrt_hooks_free(&hooks, model);
}

/* =====================================================================================
   SHAPES                                                                         >>shapes
   Fixes shapes of inputs before a model is compiled.
   Needs: >>config >>abi >>said >>library >>model     Knows nothing of: files, bindings
   ===================================================================================== */

/* Find an input of a model that was read. List the inputs if there is none of this name. */
static qnnrt_result qnnrt_openvino__shapes_find(const qnnrt_openvino__model *model,
                                                const void *source, size_t count, const char *name,
                                                size_t *index, qnnrt_error *err)
{
    const qnnrt_openvino__library *library = model->library;
    qnnrt_result result = QNNRT_OK;
    qnnrt_arena names;
    qnnrt_error list;
    size_t i;
    int found = 0;
    memset(&list, 0, sizeof list);
    memset(&names, 0, sizeof names);
    names.hooks = library->hooks;
    for (i = 0; i < count && !found && result == QNNRT_OK; ++i) {
        void *port = NULL;
        const char *text;
        const int status = library->api.ov_model_const_input_by_index(source, i, &port);
        if (status != 0 || port == NULL) {
            result = qnnrt_openvino__said(&library->api, err, status, QNNRT_E_BACKEND, "",
                                          "cannot get input %lu", (unsigned long)i);
            break;
        }
        text = qnnrt_openvino__model_name(library, &names, port, 0, i);
        library->api.ov_output_const_port_free(port);
        if (text == NULL) result = qnnrt_openvino__fail_memory(err, QNNRT_OPENVINO__MOST_NAME);
        found = text != NULL && strcmp(text, name) == 0;
        if (found) *index = i;
        if (text != NULL) qnnrt_error_add(&list, "%s \"%.200s\"", i > 0 ? "," : "", text);
    }
    qnnrt_arena_free(&names);
    if (found || result != QNNRT_OK) return result;
    return qnnrt_error_hint(err,
                            qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "openvino: a shape is given "
                                            "for \"%.200s\", but the inputs are%.1500s", name,
                                            list.text), "Name an input.");
}

/* Change the shapes of a model that was read. */
static qnnrt_result qnnrt_openvino__shapes_set(const qnnrt_openvino__model *model,
                                               const qnnrt_engine_load *load, const void *source,
                                               qnnrt_error *err)
{
    const qnnrt_openvino__api *api = &model->library->api;
    const qnnrt_hooks *hooks = &model->hooks;
    const size_t each = sizeof(size_t) + sizeof(qnnrt_openvino__partial) +
                        QNNRT_SESSION_RANK * sizeof(qnnrt_openvino__dim);
    qnnrt_openvino__partial *shapes;
    qnnrt_openvino__dim *dims;
    size_t *indexes, count = 0, i;
    uint32_t k;
    int status;
    qnnrt_result result = QNNRT_OK;
    void *block;
    if (load->shape_count == 0) return QNNRT_OK;
    status = api->ov_model_inputs_size(source, &count);
    if (status != 0 || count > QNNRT_OPENVINO__MOST_PORTS)
        return qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot count inputs");
    block = qnnrt_hooks_alloc(hooks, load->shape_count, each);
    if (block == NULL) return qnnrt_openvino__fail_memory(err, load->shape_count * each);
    shapes = (qnnrt_openvino__partial *)block;
    dims = (qnnrt_openvino__dim *)(void *)(shapes + load->shape_count);
    indexes = (size_t *)(void *)(dims + load->shape_count * QNNRT_SESSION_RANK);
    for (i = 0; i < load->shape_count && result == QNNRT_OK; ++i) {
        const qnnrt_session_shape *shape = &load->shapes[i];
        if (shape->rank == 0)
            result = qnnrt_error_hint(err,
                                      qnnrt_error_set(err, QNNRT_E_UNSUPPORTED,
                                                      "openvino: dimension \"%.200s\" = %lld: "
                                                      "OpenVINO keeps no names of dimensions",
                                                      shape->name, (long long)shape->dims[0]),
                                      "Give the shape of an input.");
        else
            result = qnnrt_openvino__shapes_find(model, source, count, shape->name, &indexes[i],
                                                 err);
        shapes[i].rank.min = shapes[i].rank.max = shape->rank;
        shapes[i].dims = dims + i * QNNRT_SESSION_RANK;
        for (k = 0; k < shape->rank && k < QNNRT_SESSION_RANK; ++k) {
            shapes[i].dims[k].min = shape->dims[k] < 0 ? 0 : shape->dims[k];
            shapes[i].dims[k].max = shape->dims[k] < 0 ? -1 : shape->dims[k];
        }
    }
    if (result == QNNRT_OK) {
        status = api->ov_model_reshape_by_port_indexes(source, indexes, shapes, load->shape_count);
        if (status != 0)
            result = qnnrt_openvino__said(api, err, status, QNNRT_E_MISMATCH,
                                          "Check the shapes that are given.",
                                          "the model does not take the shapes");
    }
    qnnrt_hooks_free(hooks, block);
    return result;
}

/* =====================================================================================
   FACTS                                                                           >>facts
   Reads the inputs and outputs of a compiled model.
   Needs: >>config >>abi >>said >>type >>library >>model     Knows nothing of: files, bindings
   ===================================================================================== */

/* Read one port. */
static qnnrt_result qnnrt_openvino__facts_port(qnnrt_openvino__model *model, int output,
                                               size_t index, const void *handle, qnnrt_error *err)
{
    const qnnrt_openvino__library *library = model->library;
    const qnnrt_openvino__api *api = &library->api;
    const char *what = output ? "output" : "input";
    qnnrt_session_tensor *fact = &model->facts[output][index];
    qnnrt_openvino__port *port = &model->ports[output][index];
    qnnrt_openvino__partial shape;
    uint32_t i;
    int status;
    port->name = qnnrt_openvino__model_name(library, &model->arena, handle, output, index);
    if (port->name == NULL) return qnnrt_openvino__fail_memory(err, QNNRT_OPENVINO__MOST_NAME);
    fact->name = port->name;
    status = api->ov_port_get_element_type(handle, &port->code);
    if (status != 0)
        return qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "the type of %s"
                                    " \"%.200s\"", what, port->name);
    fact->dtype = qnnrt_openvino__type_dtype(library->shift, port->code);
    if (fact->dtype == QNNRT_DTYPE_UNDEFINED)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "openvino: %s \"%.200s\" has the element "
                               "type %d, which is not one of qnnrt's", what, port->name,
                               port->code);
    if (fact->dtype == QNNRT_DTYPE_STRING && !library->strings)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "openvino: %s \"%.200s\" "
                                                "holds strings, which OpenVINO %s cannot exchange "
                                                "through its C interface", what, port->name,
                                                library->version), "Take a release from 2025.2 "
                                "on.");
    memset(&shape, 0, sizeof shape);
    status = api->ov_port_get_partial_shape(handle, &shape);
    if (status != 0)
        return qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "the shape of %s"
                                    " \"%.200s\"", what, port->name);
    if (shape.rank.min != shape.rank.max) fact->any_rank = 1;
    else if (shape.rank.min < 0 || shape.rank.min > QNNRT_SESSION_RANK ||
             (shape.rank.min > 0 && shape.dims == NULL)) {
        const long long rank = (long long)shape.rank.min;
        api->ov_partial_shape_free(&shape);
        return qnnrt_error_set(err, QNNRT_E_LIMIT, "openvino: %s \"%.200s\" has %lld dimensions, "
                               "expected 0 to %d", what, port->name, rank, QNNRT_SESSION_RANK);
    } else {
        fact->rank = (uint32_t)shape.rank.min;
        port->fixed = fact->dtype != QNNRT_DTYPE_STRING;
        for (i = 0; i < fact->rank; ++i) {
            const int known = shape.dims[i].min == shape.dims[i].max && shape.dims[i].min >= 0;
            fact->dims[i] = known ? shape.dims[i].min : -1;
            if (!known) port->fixed = 0;
        }
    }
    api->ov_partial_shape_free(&shape);
    return QNNRT_OK;
}

/* Read all ports. */
static qnnrt_result qnnrt_openvino__facts_read(qnnrt_openvino__model *model, qnnrt_error *err)
{
    const qnnrt_openvino__api *api = &model->library->api;
    qnnrt_result result = QNNRT_OK;
    int output;
    for (output = 0; output < 2 && result == QNNRT_OK; ++output) {
        const char *what = output ? "output" : "input";
        size_t count = 0, i;
        int status = output ? api->ov_compiled_model_outputs_size(model->compiled, &count)
                            : api->ov_compiled_model_inputs_size(model->compiled, &count);
        if (status != 0 || count > QNNRT_OPENVINO__MOST_PORTS)
            return qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot count %ss"
                                        " (%lu)", what, (unsigned long)count);
        model->facts[output] = (qnnrt_session_tensor *)qnnrt_arena_get(
            &model->arena, count, sizeof(qnnrt_session_tensor));
        model->ports[output] = (qnnrt_openvino__port *)qnnrt_arena_get(
            &model->arena, count, sizeof(qnnrt_openvino__port));
        if (model->arena.failed != QNNRT_OK)
            return qnnrt_openvino__fail_memory(err, count * sizeof(qnnrt_session_tensor));
        model->count[output] = count;
        for (i = 0; i < count && result == QNNRT_OK; ++i) {
            void *port = NULL;
            status = output ? api->ov_compiled_model_output_by_index(model->compiled, i, &port)
                            : api->ov_compiled_model_input_by_index(model->compiled, i, &port);
            if (status != 0 || port == NULL)
                return qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot get %s"
                                            " %lu", what, (unsigned long)i);
            result = qnnrt_openvino__facts_port(model, output, i, port, err);
            api->ov_output_const_port_free(port);
        }
    }
    return result;
}

/* =====================================================================================
   CACHED                                                                         >>cached
   Compiled models in files.
   Needs: >>config >>abi >>said >>library >>model     Knows nothing of: bindings
   ===================================================================================== */

/* The name tells what the model was compiled for. */
static const char *const qnnrt_openvino__cached_names[2] = { "openvino.blob",
                                                             "openvino-hetero.blob" };

/* Read a file into model->blob. */
static qnnrt_result qnnrt_openvino__cached_read(qnnrt_openvino__model *model, const char *path,
                                                size_t *bytes, qnnrt_error *err)
{
    uint64_t size, again;
    qnnrt_result result = qnnrt_file_read(path, NULL, 0, &size, err);
    if (result != QNNRT_OK) return result;
    *bytes = (size_t)size;
    model->blob = (char *)qnnrt_hooks_alloc(&model->hooks, size, 1);
    if (model->blob == NULL) return qnnrt_openvino__fail_memory(err, *bytes);
    result = qnnrt_file_read(path, model->blob, *bytes, &again, err);
    if (result == QNNRT_OK && (size == 0 || again != size))
        result = qnnrt_error_set(err, QNNRT_E_IO, "openvino: %.900s: it is empty, or changed while "
                                 "it was read", path);
    return result;
}

/* Load a compiled model. *hetero receives which of the names it has. */
static qnnrt_result qnnrt_openvino__cached_load(qnnrt_openvino__model *model,
                                                const qnnrt_engine_load *load, const char *device,
                                                int *hetero, qnnrt_error *err)
{
    const qnnrt_openvino__api *api = &model->library->api;
    char path[QNNRT_OPENVINO__PATH], target[2 * QNNRT_OPENVINO__DEVICE];
    struct stat facts;
    size_t bytes;
    int status;
    qnnrt_result result;
    if (api->ov_core_import_model == NULL)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "openvino: OpenVINO %s has no "
                               "ov_core_import_model", model->library->version);
    for (*hetero = 0; *hetero < 2; ++*hetero) {
        const int put = snprintf(path, sizeof path, "%s/%s", load->cached,
                                 qnnrt_openvino__cached_names[*hetero]);
        if (put > 0 && (size_t)put < sizeof path && stat(path, &facts) == 0) break;
    }
    if (*hetero == 2)
        return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "openvino: %.900s holds no compiled model "
                               "of OpenVINO", load->cached);
    snprintf(target, sizeof target, *hetero ? "HETERO:%s,CPU" : "%s", device);
    result = qnnrt_openvino__cached_read(model, path, &bytes, err);
    if (result != QNNRT_OK) return result;
    status = api->ov_core_import_model(model->core, model->blob, bytes, target, &model->compiled);
    if (status != 0 || model->compiled == NULL) {
        model->compiled = NULL;
        result = qnnrt_openvino__said(api, err, status, QNNRT_E_FORMAT, "Compile the model again.",
                                      "%.900s is not a compiled model for %s", path, target);
    }
    return result;
}

/* Save a compiled model. A failure is logged. */
static void qnnrt_openvino__cached_save(qnnrt_openvino__model *model, const qnnrt_engine_load *load,
                                        int hetero)
{
    const qnnrt_openvino__api *api = &model->library->api;
    char path[QNNRT_OPENVINO__PATH];
    const int put = snprintf(path, sizeof path, "%s/%s", load->save,
                             qnnrt_openvino__cached_names[hetero]);
    struct stat facts;
    int status = QNNRT_OPENVINO__BAD_ARG;
    if (put > 0 && (size_t)put < sizeof path && api->ov_compiled_model_export_model != NULL)
        status = api->ov_compiled_model_export_model(model->compiled, path);
    if (status == 0 && stat(path, &facts) == 0 && facts.st_size > 0)
        model->saved[0] = qnnrt_openvino__cached_names[hetero];
    else
        qnnrt_log(&model->hooks, QNNRT_LOG_WARN, "openvino", 0, "the compiled model is not saved:"
                  " cannot write %.900s (status %d)", path, status);
}

/* =====================================================================================
   LOAD                                                                             >>load
   From a file to a compiled model.
   Needs: >>config >>abi >>said >>library >>device >>model >>shapes >>facts >>cached
   Knows nothing of: bindings
   ===================================================================================== */

/* Refuse what has no effect here. */
static qnnrt_result qnnrt_openvino__load_refuse(const qnnrt_engine_load *load, qnnrt_error *err)
{
    if (load->optimize_level >= 0)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "openvino: "
                                                "optimize_level %d: OpenVINO has no such levels",
                                                load->optimize_level), "Leave optimize_level out.");
    if (load->compile_ms != 0)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "openvino: "
                                                "compile_timeout_ms %lu: OpenVINO cannot end a "
                                                "compilation", (unsigned long)load->compile_ms),
                                "Leave compile_timeout_ms out.");
    if (load->preference_count != 0)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "openvino: preferences: "
                                                "OpenVINO chooses the kernel of \"%.200s\" itself",
                                                load->preferences[0].key), "Leave preferences "
                                "out.");
    return QNNRT_OK;
}

/* Read the file of a model. */
static qnnrt_result qnnrt_openvino__load_read(const qnnrt_openvino__model *model,
                                              const qnnrt_engine_load *load, void **source,
                                              qnnrt_error *err)
{
    const qnnrt_openvino__api *api = &model->library->api;
    const size_t length = strlen(load->path);
    char path[QNNRT_OPENVINO__PATH];
    struct stat facts;
    qnnrt_result result;
    int status;
    *source = NULL;
    if (stat(load->path, &facts) != 0)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "openvino: no model "
                                                "\"%.900s\"", load->path), "Check the path.");
    /* OpenVINO opens what is there: a pipe would let it wait for ever. */
    if (load->kind == QNNRT_MODEL_OPENVINO && length > 4 && length < sizeof path) {
        snprintf(path, sizeof path, "%.*sbin", (int)(length - 3), load->path);
        if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode))
            return qnnrt_error_set(err, QNNRT_E_FORMAT, "openvino: \"%.900s\", which has the "
                                   "weights, is not a file", path);
    }
    status = api->ov_core_read_model(model->core, load->path, NULL, source);
    if (status == 0 && *source != NULL) return QNNRT_OK;
    *source = NULL;
    result = qnnrt_openvino__said(api, err, status, QNNRT_E_FORMAT, "", "cannot read \"%.400s\"",
                                  load->path);
    if (result == QNNRT_E_FORMAT && err != NULL &&
        (strstr(err->text, "does not support the following") != NULL ||
         strstr(err->text, "Not Implemented") != NULL))
        result = err->code = QNNRT_E_UNSUPPORTED;
    return result;
}

/* Compile for the device, or in parts if that is allowed. */
static qnnrt_result qnnrt_openvino__load_compile(qnnrt_openvino__model *model,
                                                 const qnnrt_engine_load *load, const void *source,
                                                 const char *device, int *hetero, qnnrt_error *err)
{
    const qnnrt_openvino__api *api = &model->library->api;
    char target[2 * QNNRT_OPENVINO__DEVICE], said[1000];
    qnnrt_result result;
    int status = api->ov_core_compile_model(model->core, source, device, 0, &model->compiled);
    *hetero = 0;
    if (status == 0 && model->compiled != NULL) return QNNRT_OK;
    model->compiled = NULL;
    result = qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot compile \"%.300s\""
                                  " for %s", load->path, device);
    if (result == QNNRT_E_MEMORY || !load->allow_fallback || strcmp(device, "CPU") == 0)
        return result;
    qnnrt_openvino__said_text(api, status, said, 300);
    snprintf(model->fallback, sizeof model->fallback, "%s does not run the whole model: parts of it"
             " run on the cpu (%.300s)", load->device, said);
    snprintf(target, sizeof target, "HETERO:%s,CPU", device);
    status = api->ov_core_compile_model(model->core, source, target, 0, &model->compiled);
    if (status == 0 && model->compiled != NULL) {
        *hetero = 1;
        return QNNRT_OK;
    }
    model->compiled = NULL;
    qnnrt_openvino__said_text(api, status, said, sizeof said);
    qnnrt_error_add(err, "\n  in parts, for %s: %.900s", target, said);
    return result;
}

/* Give a core, compile or load, and read the facts. */
static qnnrt_result qnnrt_openvino__load_all(qnnrt_openvino__model *model,
                                             const qnnrt_engine_load *load, qnnrt_error *err)
{
    const qnnrt_openvino__library *library = model->library;
    const char *device = NULL;
    void *source = NULL;
    size_t i;
    int hetero = 0;
    qnnrt_result result;
    for (i = 0; i < library->device_count; ++i)
        if (strcmp(library->names[i], load->device) == 0) device = library->devices[i];
    if (device == NULL)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "openvino: OpenVINO has no "
                                                "device \"%.100s\" here", load->device),
                                "Take another device.");
    result = qnnrt_openvino__device_core(library, &model->core, err);
    if (result == QNNRT_OK)
        result = qnnrt_openvino__device_setup(library, model->core, device, load, err);
    if (result != QNNRT_OK) return result;
    if (load->cached != NULL) {
        result = qnnrt_openvino__cached_load(model, load, device, &hetero, err);
        if (result == QNNRT_OK && hetero)
            snprintf(model->fallback, sizeof model->fallback, "%s does not run the whole model:"
                     " parts of it run on the cpu", load->device);
    } else {
        result = qnnrt_openvino__load_read(model, load, &source, err);
        if (result == QNNRT_OK) result = qnnrt_openvino__shapes_set(model, load, source, err);
        if (result == QNNRT_OK)
            result = qnnrt_openvino__load_compile(model, load, source, device, &hetero, err);
        if (source != NULL) library->api.ov_model_free(source);
    }
    if (result == QNNRT_OK) result = qnnrt_openvino__facts_read(model, err);
    if (result == QNNRT_OK && load->save != NULL && load->cached == NULL)
        qnnrt_openvino__cached_save(model, load, hetero);
    if (result == QNNRT_OK && hetero)
        qnnrt_log(&model->hooks, QNNRT_LOG_WARN, "openvino", 0, "%s", model->fallback);
    if (!hetero) model->fallback[0] = '\0';
    return result;
}

/* =====================================================================================
   TENSOR                                                                         >>tensor
   OpenVINO's tensors over memory of the caller.
   Needs: >>config >>abi >>said >>library >>model     Knows nothing of: requests
   ===================================================================================== */

/* Multiply the dimensions, which were checked. */
static size_t qnnrt_openvino__tensor_count(uint32_t rank, const int64_t *dims)
{
    size_t count = 1;
    uint32_t i;
    for (i = 0; i < rank; ++i) count *= (size_t)dims[i];
    return count;
}

/* Return an error if one of the caller's strings is NULL: OpenVINO reads all of them. */
static qnnrt_result qnnrt_openvino__tensor_texts(const qnnrt_openvino__model *model, size_t index,
                                                 const qnnrt_value *value, qnnrt_error *err)
{
    const char *const *texts = (const char *const *)value->data;
    const size_t count = value->bytes / sizeof(*texts);
    size_t i;
    for (i = 0; i < count; ++i)
        if (texts[i] == NULL)
            return qnnrt_error_set(err, QNNRT_E_ARG, "openvino: string %lu of input \"%.200s\" is "
                                   "NULL", (unsigned long)i, model->ports[0][index].name);
    return QNNRT_OK;
}

/* Make a tensor over a value. Strings are copied. */
static qnnrt_result qnnrt_openvino__tensor_make(const qnnrt_openvino__model *model, int output,
                                                size_t index, const qnnrt_value *value,
                                                void **tensor, qnnrt_error *err)
{
    const qnnrt_openvino__api *api = &model->library->api;
    const qnnrt_openvino__port *port = &model->ports[output][index];
    int64_t dims[QNNRT_SESSION_RANK];
    qnnrt_openvino__shape shape;
    int status;
    memcpy(dims, value->dims, sizeof dims);
    shape.rank = value->rank;
    shape.dims = dims;
    *tensor = NULL;
    if (model->facts[output][index].dtype == QNNRT_DTYPE_STRING)
        status = api->ov_tensor_create_from_string_array((const char **)value->data,
                                                         qnnrt_openvino__tensor_count(value->rank,
                                                                                      dims),
                                                         shape, tensor);
    else status = api->ov_tensor_create_from_host_ptr(port->code, shape, value->data, tensor);
    if (status == 0 && *tensor != NULL) return QNNRT_OK;
    *tensor = NULL;
    return qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot make a tensor for %s"
                                " \"%.200s\"", output ? "output" : "input", port->name);
}

/* =====================================================================================
   BINDING                                                                       >>binding
   One request and the tensors that are placed in it.
   Needs: >>config >>abi >>said >>library >>model >>tensor     Knows nothing of: runs
   ===================================================================================== */

typedef struct qnnrt_openvino__slot {
    void       *tensor;                  /* over memory of the caller, or NULL */
    qnnrt_value value;                   /* of the caller; data NULL: not placed */
    int         watched;                 /* an output: 1: look after a run where it was written */
    int         doubted;                 /* an output: 1: no run has shown that it is written */
    int         copied;                  /* an output: 1: not placed in the request, but copied */
    const char **texts;                  /* an output of strings: [text_room] */
    size_t      text_room;
} qnnrt_openvino__slot;

typedef struct qnnrt_openvino__binding {
    qnnrt_openvino__model *model;
    void                  *request;
    qnnrt_openvino__slot  *slots[2];
    size_t                 missing;      /* inputs that are not placed */
    int                    direct;       /* 1: run in the calling thread */
    int                    extra;        /* 1: strings to copy, or outputs to look at */
    int                    ran;
    qnnrt_openvino__profiles profiles;
} qnnrt_openvino__binding;

/* Find out what a run has to do besides running. */
static void qnnrt_openvino__binding_extra(qnnrt_openvino__binding *binding)
{
    const qnnrt_openvino__model *model = binding->model;
    size_t i;
    binding->extra = 0;
    for (i = 0; i < model->count[0]; ++i)
        if (model->facts[0][i].dtype == QNNRT_DTYPE_STRING) binding->extra = 1;
    for (i = 0; i < model->count[1]; ++i)
        if (binding->slots[1][i].watched) binding->extra = 1;
}

/* Place a tensor in a request. */
static qnnrt_result qnnrt_openvino__binding_place(const qnnrt_openvino__binding *binding,
                                                  void *request, int output, size_t index,
                                                  const void *tensor, qnnrt_error *err)
{
    const qnnrt_openvino__api *api = &binding->model->library->api;
    const int status = output
        ? api->ov_infer_request_set_output_tensor_by_index(request, index, tensor)
        : api->ov_infer_request_set_input_tensor_by_index(request, index, tensor);
    if (status == 0) return QNNRT_OK;
    return qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot place %s \"%.200s\"",
                                output ? "output" : "input",
                                binding->model->ports[output][index].name);
}

/* Make a new request without one of the values: OpenVINO cannot forget a tensor. */
static qnnrt_result qnnrt_openvino__binding_renew(qnnrt_openvino__binding *binding, int output,
                                                  size_t index, qnnrt_error *err)
{
    const qnnrt_openvino__model *model = binding->model;
    const qnnrt_openvino__api *api = &model->library->api;
    qnnrt_openvino__slot *slot = &binding->slots[output][index];
    void *request = NULL;
    size_t i;
    int side, status;
    qnnrt_result result = QNNRT_OK;
    status = api->ov_compiled_model_create_infer_request(model->compiled, &request);
    if (status != 0 || request == NULL)
        return qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot make a request");
    for (side = 0; side < 2; ++side)
        for (i = 0; i < model->count[side] && result == QNNRT_OK; ++i)
            if ((side != output || i != index) && binding->slots[side][i].tensor != NULL)
                result = qnnrt_openvino__binding_place(binding, request, side, i,
                                                       binding->slots[side][i].tensor, err);
    if (result != QNNRT_OK) {
        api->ov_infer_request_free(request);
        return result;
    }
    api->ov_infer_request_free(binding->request);
    binding->request = request;
    binding->ran = 0;
    if (slot->tensor != NULL) api->ov_tensor_free(slot->tensor);
    slot->tensor = NULL;
    return QNNRT_OK;
}

/* Take a value back. */
static qnnrt_result qnnrt_openvino__binding_take(qnnrt_openvino__binding *binding, int output,
                                                 size_t index, qnnrt_error *err)
{
    qnnrt_openvino__slot *slot = &binding->slots[output][index];
    qnnrt_result result;
    if (slot->value.data == NULL) return QNNRT_OK;
    result = qnnrt_openvino__binding_renew(binding, output, index, err);
    if (result != QNNRT_OK) return result;
    memset(&slot->value, 0, sizeof slot->value);
    slot->watched = slot->doubted = slot->copied = 0;
    if (!output) ++binding->missing;
    qnnrt_openvino__binding_extra(binding);
    return QNNRT_OK;
}

static qnnrt_result qnnrt_openvino__set(void *object, int output, size_t index,
                                        const qnnrt_value *value, qnnrt_error *err)
{
    qnnrt_openvino__binding *binding = (qnnrt_openvino__binding *)object;
    const qnnrt_openvino__model *model = binding->model;
    const int side = output != 0;
    qnnrt_openvino__slot *slot = &binding->slots[side][index];
    const int text = model->facts[side][index].dtype == QNNRT_DTYPE_STRING;
    void *tensor = NULL;
    qnnrt_result result;
    if (value->data == NULL) return qnnrt_openvino__binding_take(binding, side, index, err);
    /* Strings that OpenVINO writes stay in its memory; pointers to them are copied. */
    if (!side || !text) {
        result = text ? qnnrt_openvino__tensor_texts(model, index, value, err) : QNNRT_OK;
        if (result == QNNRT_OK)
            result = qnnrt_openvino__tensor_make(model, side, index, value, &tensor, err);
        if (result == QNNRT_OK) {
            result = qnnrt_openvino__binding_place(binding, binding->request, side, index, tensor,
                                                   err);
            if (result != QNNRT_OK) model->library->api.ov_tensor_free(tensor);
        }
        if (result != QNNRT_OK) return result;
    }
    if (!side && (slot->value.data == NULL || slot->value.rank != value->rank ||
                  memcmp(slot->value.dims, value->dims, value->rank * sizeof(int64_t)) != 0))
        binding->direct = 0;
    if (!side && slot->value.data == NULL) --binding->missing;
    if (slot->tensor != NULL) model->library->api.ov_tensor_free(slot->tensor);
    slot->tensor = tensor;
    slot->value = *value;
    slot->watched = side;
    slot->doubted = side && !text;
    slot->copied = 0;
    if (side) binding->ran = 0;
    qnnrt_openvino__binding_extra(binding);
    return QNNRT_OK;
}

static void qnnrt_openvino__binding_destroy(void *object)
{
    qnnrt_openvino__binding *binding = (qnnrt_openvino__binding *)object;
    const qnnrt_openvino__model *model = binding->model;
    const qnnrt_openvino__api *api = &model->library->api;
    size_t i;
    int side;
    if (binding->request != NULL) api->ov_infer_request_free(binding->request);
    for (side = 0; side < 2; ++side) {
        for (i = 0; i < model->count[side] && binding->slots[side] != NULL; ++i) {
            if (binding->slots[side][i].tensor != NULL)
                api->ov_tensor_free(binding->slots[side][i].tensor);
            qnnrt_hooks_free(&model->hooks, (void *)binding->slots[side][i].texts);
        }
        qnnrt_hooks_free(&model->hooks, binding->slots[side]);
    }
    if (binding->profiles.rows != NULL) api->ov_profiling_info_list_free(&binding->profiles);
    qnnrt_hooks_free(&model->hooks, binding);
}

static qnnrt_result qnnrt_openvino__binding_create(void *object, void **out, qnnrt_error *err)
{
    qnnrt_openvino__model *model = (qnnrt_openvino__model *)object;
    const qnnrt_openvino__api *api = &model->library->api;
    qnnrt_openvino__binding *binding;
    qnnrt_result result = QNNRT_OK;
    int side, status;
    *out = NULL;
    binding = (qnnrt_openvino__binding *)qnnrt_hooks_alloc(&model->hooks, 1, sizeof *binding);
    if (binding == NULL) return qnnrt_openvino__fail_memory(err, sizeof *binding);
    binding->model = model;
    binding->missing = model->count[0];
    for (side = 0; side < 2; ++side) {
        binding->slots[side] = (qnnrt_openvino__slot *)
            qnnrt_hooks_alloc(&model->hooks, model->count[side], sizeof(qnnrt_openvino__slot));
        if (binding->slots[side] == NULL)
            result = qnnrt_openvino__fail_memory(err, model->count[side] *
                                                 sizeof(qnnrt_openvino__slot));
    }
    if (result == QNNRT_OK) {
        status = api->ov_compiled_model_create_infer_request(model->compiled, &binding->request);
        if (status != 0 || binding->request == NULL)
            result = qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "",
                                          "cannot make a request");
        if (status != 0) binding->request = NULL;
    }
    if (result != QNNRT_OK) {
        qnnrt_openvino__binding_destroy(binding);
        return result;
    }
    qnnrt_openvino__binding_extra(binding);
    *out = binding;
    return QNNRT_OK;
}

/* =====================================================================================
   GET                                                                               >>get
   What a run wrote, and where.
   Needs: >>config >>abi >>said >>type >>library >>model >>tensor >>binding
   Knows nothing of: how it ran
   ===================================================================================== */

/* Let pointers of ours or of the caller lead to the strings of an output. */
static qnnrt_result qnnrt_openvino__get_texts(const qnnrt_openvino__model *model, size_t index,
                                              qnnrt_openvino__slot *slot, qnnrt_value *value,
                                              qnnrt_error *err)
{
    const size_t count = qnnrt_openvino__tensor_count(value->rank, value->dims);
    const qnnrt_openvino__text *rows = (const qnnrt_openvino__text *)value->data;
    const char **texts = (const char **)slot->value.data;
    size_t i;
    value->bytes = count * sizeof(const char *);
    if (texts == NULL) {
        if (slot->texts == NULL || slot->text_room < count) {
            qnnrt_hooks_free(&model->hooks, (void *)slot->texts);
            slot->texts = (const char **)qnnrt_hooks_alloc(&model->hooks, count,
                                                           sizeof(const char *));
            slot->text_room = slot->texts != NULL ? count : 0;
            if (slot->texts == NULL) return qnnrt_openvino__fail_memory(err, value->bytes);
        }
        texts = slot->texts;
    } else if (value->bytes > slot->value.bytes)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_MISMATCH, "openvino: output "
                                                "\"%.200s\" has %lu bytes, and its room %lu",
                                                model->ports[1][index].name,
                                                (unsigned long)value->bytes,
                                                (unsigned long)slot->value.bytes),
                                "Give more room.");
    for (i = 0; i < count; ++i) texts[i] = rows[i].text;
    value->data = (void *)texts;
    return QNNRT_OK;
}

/* Check that a result has the dimensions that its memory was placed with. */
static qnnrt_result qnnrt_openvino__get_dims(const qnnrt_value *placed, const qnnrt_value *value,
                                             qnnrt_error *err)
{
    uint32_t i;
    if (placed->data == NULL || placed->rank == 0) return QNNRT_OK;
    if (placed->rank != value->rank)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_MISMATCH, "openvino: output "
                                                "\"%.200s\" has %lu dimensions, and is placed with "
                                                "%lu", value->name, (unsigned long)value->rank,
                                                (unsigned long)placed->rank),
                                "Place the output with the dimensions of the result.");
    for (i = 0; i < value->rank; ++i)
        if (placed->dims[i] != value->dims[i])
            return qnnrt_error_hint(err,
                                    qnnrt_error_set(err, QNNRT_E_MISMATCH, "openvino: dimension "
                                                    "%lu of output \"%.200s\" is %lld, and placed "
                                                    "as %lld", (unsigned long)i, value->name,
                                                    (long long)value->dims[i],
                                                    (long long)placed->dims[i]),
                                    "Place the output with the dimensions of the result.");
    return QNNRT_OK;
}

/* Ask the request for an output. Bytes that lie elsewhere are copied into the caller's memory. */
static qnnrt_result qnnrt_openvino__get_asked(qnnrt_openvino__binding *binding, size_t index,
                                              qnnrt_value *value, qnnrt_error *err)
{
    const qnnrt_openvino__model *model = binding->model;
    const qnnrt_openvino__api *api = &model->library->api;
    qnnrt_openvino__slot *slot = &binding->slots[1][index];
    qnnrt_openvino__shape shape;
    void *tensor = NULL;
    int64_t i;
    int code = 0, status;
    qnnrt_result result = QNNRT_OK;
    memset(&shape, 0, sizeof shape);
    status = api->ov_infer_request_get_output_tensor_by_index(binding->request, index, &tensor);
    if (status == 0 && tensor != NULL) status = api->ov_tensor_get_element_type(tensor, &code);
    if (status == 0 && tensor != NULL) status = api->ov_tensor_get_shape(tensor, &shape);
    /* The C interface has no shape for a scalar: "invalid c input parameters". */
    if (status == -14 && tensor != NULL && model->facts[1][index].rank == 0) status = 0;
    if (status == 0 && tensor != NULL) status = api->ov_tensor_get_byte_size(tensor, &value->bytes);
    if (status == 0 && tensor != NULL) status = api->ov_tensor_data(tensor, &value->data);
    if (status != 0 || tensor == NULL)
        result = qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot get output"
                                      " \"%.200s\"", model->ports[1][index].name);
    else if (code != model->ports[1][index].code || shape.rank < 0 ||
             shape.rank > QNNRT_SESSION_RANK || (shape.rank > 0 && shape.dims == NULL))
        result = qnnrt_error_set(err, QNNRT_E_BACKEND, "openvino: output \"%.200s\" came with the "
                                 "element type %d and %lld dimensions", model->ports[1][index].name,
                                 code, (long long)shape.rank);
    if (result == QNNRT_OK) {
        value->name = model->ports[1][index].name;
        value->dtype = model->facts[1][index].dtype;
        value->rank = (uint32_t)shape.rank;
        for (i = 0; i < shape.rank; ++i) value->dims[i] = shape.dims[i];
        if (value->dtype == QNNRT_DTYPE_STRING)
            result = qnnrt_openvino__get_texts(model, index, slot, value, err);
        else if (slot->value.data != NULL && value->data != slot->value.data) {
            if (value->bytes > slot->value.bytes)
                result = qnnrt_error_hint(err,
                                          qnnrt_error_set(err, QNNRT_E_MISMATCH,
                                                          "openvino: output \"%.200s\" has %lu "
                                                          "bytes, and its room %lu", value->name,
                                                          (unsigned long)value->bytes,
                                                          (unsigned long)slot->value.bytes),
                                          "Give more room.");
            else if (value->bytes > 0 &&
                     qnnrt_openvino__get_dims(&slot->value, value, NULL) == QNNRT_OK)
                memcpy(slot->value.data, value->data, value->bytes);
            value->data = slot->value.data;
        } else if (slot->value.data != NULL && slot->doubted && value->bytes > 0) {
            /* A pattern of which nothing changed was not written. */
            const unsigned char *at = (const unsigned char *)value->data;
            size_t same = 0;
            while (same < value->bytes && at[same] == QNNRT_OPENVINO__PATTERN) ++same;
            if (same == value->bytes) slot->copied = 1;
            else slot->doubted = 0;
        }
        if (result == QNNRT_OK) result = qnnrt_openvino__get_dims(&slot->value, value, err);
        if (result == QNNRT_OK && model->ports[1][index].fixed && !slot->doubted &&
            !slot->copied)
            slot->watched = 0;                   /* it stays where it is */
    }
    if (shape.dims != NULL) api->ov_shape_free(&shape);
    if (tensor != NULL) api->ov_tensor_free(tensor);
    return result;
}

static qnnrt_result qnnrt_openvino__get(void *object, size_t index, qnnrt_value *value,
                                        qnnrt_error *err)
{
    qnnrt_openvino__binding *binding = (qnnrt_openvino__binding *)object;
    const qnnrt_openvino__slot *slot = &binding->slots[1][index];
    const char *name = binding->model->ports[1][index].name;
    if (!binding->ran)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_STATE, "openvino: output \"%.200s\" "
                                                "was not written: no run ended well since it was "
                                                "placed", name), "Run the binding first.");
    if (slot->value.data == NULL || slot->watched)
        return qnnrt_openvino__get_asked(binding, index, value, err);
    *value = slot->value;
    value->name = name;
    return QNNRT_OK;
}

/* =====================================================================================
   RUN                                                                               >>run
   Runs a request, in the queue or in the calling thread.
   Needs: >>config >>abi >>said >>library >>model >>tensor >>binding >>get
   Knows nothing of: files
   ===================================================================================== */

static void qnnrt_openvino__run_lock(qnnrt_openvino__model *model)
{
    while (__atomic_exchange_n(&model->lock, 1, __ATOMIC_ACQUIRE) != 0) {}
}

static void qnnrt_openvino__run_unlock(qnnrt_openvino__model *model)
{
    __atomic_store_n(&model->lock, 0, __ATOMIC_RELEASE);
}

/* End the run that is in the queue, if there is one; a run of the calling thread returns as
   cancelled when it ends. */
static void qnnrt_openvino__cancel(void *object)
{
    qnnrt_openvino__model *model = (qnnrt_openvino__model *)object;
    qnnrt_openvino__run_lock(model);
    __atomic_store_n(&model->cancelled, 1, __ATOMIC_RELEASE);
    if (model->running != NULL)
        (void)model->library->api.ov_infer_request_cancel(model->running);
    qnnrt_openvino__run_unlock(model);
}

/* Run in the queue, and return the status. *late receives 1 if the limit of time was reached. A run
   that ends soon lets the next ones run in the calling thread. */
static int qnnrt_openvino__run_queued(qnnrt_openvino__binding *binding, int *late)
{
    qnnrt_openvino__model *model = binding->model;
    const qnnrt_openvino__api *api = &model->library->api;
    int status = api->ov_infer_request_start_async(binding->request);
    if (status != 0) return status;
    qnnrt_openvino__run_lock(model);
    model->running = binding->request;
    /* A cancel that came before the start was lost. */
    if (__atomic_load_n(&model->cancelled, __ATOMIC_ACQUIRE))
        (void)api->ov_infer_request_cancel(binding->request);
    qnnrt_openvino__run_unlock(model);
    if (model->run_ms != 0) {
        status = api->ov_infer_request_wait_for(binding->request, (int64_t)model->run_ms);
        if (status == QNNRT_OPENVINO__NOT_READY) {
            *late = 1;
            (void)api->ov_infer_request_cancel(binding->request);
            status = api->ov_infer_request_wait(binding->request);
        }
    } else {
        status = api->ov_infer_request_wait_for(binding->request, QNNRT_OPENVINO__SHORT_MS);
        if (status == 0) binding->direct = 1;
        else if (status == QNNRT_OPENVINO__NOT_READY)
            status = api->ov_infer_request_wait(binding->request);
    }
    qnnrt_openvino__run_lock(model);
    model->running = NULL;
    qnnrt_openvino__run_unlock(model);
    return status;
}

/* Copy the strings of inputs, which may have changed since they were placed. */
static qnnrt_result qnnrt_openvino__run_texts(const qnnrt_openvino__binding *binding,
                                              qnnrt_error *err)
{
    const qnnrt_openvino__model *model = binding->model;
    const qnnrt_openvino__api *api = &model->library->api;
    size_t i;
    int status = 0;
    for (i = 0; i < model->count[0]; ++i) {
        const qnnrt_openvino__slot *slot = &binding->slots[0][i];
        qnnrt_result result;
        if (model->facts[0][i].dtype != QNNRT_DTYPE_STRING || slot->tensor == NULL) continue;
        result = qnnrt_openvino__tensor_texts(model, i, &slot->value, err);
        if (result != QNNRT_OK) return result;
        status = api->ov_tensor_set_string_data(slot->tensor, (const char **)slot->value.data,
                                                slot->value.bytes / sizeof(const char *));
        if (status != 0)
            return qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "cannot copy the"
                                        " strings of input \"%.200s\"", model->ports[0][i].name);
    }
    return QNNRT_OK;
}

/* Fill outputs with a pattern that may not be written. Memory that is an input, too, is left. */
static void qnnrt_openvino__run_mark(const qnnrt_openvino__binding *binding)
{
    const qnnrt_openvino__model *model = binding->model;
    size_t i, k;
    for (i = 0; i < model->count[1]; ++i) {
        qnnrt_openvino__slot *slot = &binding->slots[1][i];
        const char *begin = (const char *)slot->value.data;
        if (begin == NULL || !slot->doubted || slot->copied) continue;
        for (k = 0; k < model->count[0]; ++k) {
            const qnnrt_value *input = &binding->slots[0][k].value;
            const char *from = (const char *)input->data;
            if (from != NULL && from < begin + slot->value.bytes && begin < from + input->bytes)
                break;
        }
        if (k == model->count[0]) memset(slot->value.data, QNNRT_OPENVINO__PATTERN,
                                         slot->value.bytes);
        else slot->doubted = 0;
    }
}

/* Run once. */
static qnnrt_result qnnrt_openvino__run_once(qnnrt_openvino__binding *binding, qnnrt_error *err)
{
    qnnrt_openvino__model *model = binding->model;
    const qnnrt_openvino__api *api = &model->library->api;
    int status, late = 0;
    qnnrt_result result;
    status = binding->direct ? api->ov_infer_request_infer(binding->request)
                             : qnnrt_openvino__run_queued(binding, &late);
    binding->ran = status == 0;
    if (late || __atomic_load_n(&model->cancelled, __ATOMIC_ACQUIRE)) {
        binding->ran = 0;
        if (late)
            return qnnrt_error_set(err, QNNRT_E_CANCELLED, "openvino: the run took longer than "
                                   "execution_timeout_ms, %lu", (unsigned long)model->run_ms);
        return qnnrt_error_set(err, QNNRT_E_CANCELLED, "openvino: the run was cancelled");
    }
    if (status == 0) return QNNRT_OK;
    result = qnnrt_openvino__said(api, err, status, QNNRT_E_BACKEND, "", "the run failed");
    /* A view of memory cannot grow. */
    if (result == QNNRT_E_BACKEND && err != NULL && strstr(err->text, "set new shape") != NULL)
        result = err->code = QNNRT_E_MISMATCH;
    return result;
}

static qnnrt_result qnnrt_openvino__run(void *object, qnnrt_error *err)
{
    qnnrt_openvino__binding *binding = (qnnrt_openvino__binding *)object;
    qnnrt_openvino__model *model = binding->model;
    qnnrt_value value;
    size_t i;
    int again = 0;
    qnnrt_result result = QNNRT_OK;
    if (binding->missing > 0)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_STATE, "openvino: %lu inputs are not "
                                                "placed", (unsigned long)binding->missing),
                                "Place all inputs.");
    __atomic_store_n(&model->cancelled, 0, __ATOMIC_RELEASE);
    if (!binding->extra) return qnnrt_openvino__run_once(binding, err);
    result = qnnrt_openvino__run_texts(binding, err);
    qnnrt_openvino__run_mark(binding);
    if (result == QNNRT_OK) result = qnnrt_openvino__run_once(binding, err);
    for (i = 0; i < model->count[1] && result == QNNRT_OK; ++i) {
        qnnrt_openvino__slot *slot = &binding->slots[1][i];
        if (!slot->watched) continue;
        result = qnnrt_openvino__get_asked(binding, i, &value, err);
        if (result != QNNRT_OK || !slot->copied || slot->tensor == NULL) continue;
        qnnrt_log(&model->hooks, QNNRT_LOG_INFO, "openvino", 0,
                  "OpenVINO does not write output \"%s\" where it is placed: it is copied",
                  model->ports[1][i].name);
        again = 1;
    }
    for (i = 0; i < model->count[1] && result == QNNRT_OK; ++i)
        if (binding->slots[1][i].copied && binding->slots[1][i].tensor != NULL)
            result = qnnrt_openvino__binding_renew(binding, 1, i, err);
    if (result == QNNRT_OK && again) result = qnnrt_openvino__run_once(binding, err);
    for (i = 0; i < model->count[1] && result == QNNRT_OK && again; ++i)
        if (binding->slots[1][i].watched)
            result = qnnrt_openvino__get_asked(binding, i, &value, err);
    if (result != QNNRT_OK) binding->ran = 0;
    qnnrt_openvino__binding_extra(binding);
    return result;
}

/* Return the dtype that ends the name of a kernel: "jit_avx2_f32", "ref_any_FP32". */
static qnnrt_dtype qnnrt_openvino__run_kernel(const char *exec)
{
    static const struct { const char *text; qnnrt_dtype dtype; } ends[] = {
        { "f32", QNNRT_DTYPE_F32 }, { "FP32", QNNRT_DTYPE_F32 }, { "f16", QNNRT_DTYPE_F16 },
        { "FP16", QNNRT_DTYPE_F16 }, { "bf16", QNNRT_DTYPE_BF16 }, { "BF16", QNNRT_DTYPE_BF16 },
        { "i8", QNNRT_DTYPE_I8 }, { "I8", QNNRT_DTYPE_I8 }, { "u8", QNNRT_DTYPE_U8 },
        { "U8", QNNRT_DTYPE_U8 }, { "i32", QNNRT_DTYPE_I32 }, { "I32", QNNRT_DTYPE_I32 },
        { "i64", QNNRT_DTYPE_I64 }, { "I64", QNNRT_DTYPE_I64 }
    };
    const char *at = exec != NULL ? strrchr(exec, '_') : NULL;
    size_t i;
    for (i = 0; at != NULL && i < sizeof ends / sizeof ends[0]; ++i)
        if (strcmp(at + 1, ends[i].text) == 0) return ends[i].dtype;
    return QNNRT_DTYPE_UNDEFINED;
}

/* Return the steps of the last run: OpenVINO's own nodes where they were timed, else one. The
   interface does not tell shapes of nodes, so they have rank 0. */
static size_t qnnrt_openvino__steps(void *object, qnnrt_dispatch *rows, size_t room)
{
    qnnrt_openvino__binding *binding = (qnnrt_openvino__binding *)object;
    const qnnrt_openvino__model *model = binding->model;
    const qnnrt_openvino__api *api = &model->library->api;
    qnnrt_dispatch row;
    size_t i, count = 0;
    if (binding->profiles.rows != NULL) api->ov_profiling_info_list_free(&binding->profiles);
    memset(&binding->profiles, 0, sizeof binding->profiles);
    if (model->timed && binding->ran && api->ov_infer_request_get_profiling_info != NULL &&
        api->ov_profiling_info_list_free != NULL &&
        api->ov_infer_request_get_profiling_info(binding->request, &binding->profiles) != 0)
        memset(&binding->profiles, 0, sizeof binding->profiles);
    for (i = 0; i < binding->profiles.count && binding->profiles.rows != NULL; ++i) {
        const qnnrt_openvino__profile *profile = &binding->profiles.rows[i];
        if (profile->status != 2 || profile->node == NULL) continue;
        memset(&row, 0, sizeof row);
        row.step = count;
        row.name = profile->node;
        row.engine = "openvino";
        row.device = model->device;
        row.dtype = qnnrt_openvino__run_kernel(profile->exec);
        row.us = (double)profile->real_us;
        if (count < room) rows[count] = row;
        ++count;
    }
    if (count > 0) return count;
    memset(&row, 0, sizeof row);
    row.name = "model";
    row.engine = "openvino";
    row.device = model->device;
    row.us = -1;
    row.dtype = QNNRT_DTYPE_UNDEFINED;
    if (model->count[1] > 0) {
        row.dtype = model->facts[1][0].dtype;
        row.rank = model->facts[1][0].rank;
        memcpy(row.dims, model->facts[1][0].dims, sizeof row.dims);
    }
    if (room > 0) rows[0] = row;
    return 1;
}

/* =====================================================================================
   PUBLIC                                                                         >>public
   The table.
   Needs: >>config >>library >>device >>model >>load >>binding >>run >>get
   Knows nothing of: how any of them works
   ===================================================================================== */

static void qnnrt_openvino__close(void *object)
{
    qnnrt_openvino__library *library = (qnnrt_openvino__library *)object;
    const qnnrt_hooks hooks = library->hooks;
    qnnrt_hooks_free(&hooks, library->plugins);
    qnnrt_hooks_free(&hooks, library);
}

static qnnrt_result qnnrt_openvino__open(const qnnrt_engine_open *desc, void **out,
                                         qnnrt_engine_library *facts, qnnrt_error *err)
{
    qnnrt_openvino__library *library;
    const char *path = desc->library_path, *plugins = NULL;
    size_t i;
    qnnrt_result result = QNNRT_OK;
    *out = NULL;
    memset(facts, 0, sizeof *facts);
    library = (qnnrt_openvino__library *)qnnrt_hooks_alloc(&desc->hooks, 1, sizeof *library);
    if (library == NULL) return qnnrt_openvino__fail_memory(err, sizeof *library);
    library->hooks = desc->hooks;
    for (i = 0; i < desc->option_count; ++i) {
        const qnnrt_session_option *option = &desc->options[i];
        if (option->key == NULL || option->value == NULL ||
            (option->engine != NULL && strcmp(option->engine, "openvino") != 0))
            continue;
        if (strcmp(option->key, "library_path") == 0) path = option->value;
        if (strcmp(option->key, "plugins_xml") == 0) plugins = option->value;
    }
    if (plugins != NULL) {
        library->plugins = (char *)qnnrt_hooks_alloc(&library->hooks, strlen(plugins) + 1, 1);
        if (library->plugins != NULL) memcpy(library->plugins, plugins, strlen(plugins));
        else result = qnnrt_openvino__fail_memory(err, strlen(plugins) + 1);
    }
    if (result == QNNRT_OK) result = qnnrt_openvino__library_open(library, path, err);
    if (result == QNNRT_OK) result = qnnrt_openvino__device_list(library, err);
    if (result != QNNRT_OK) {
        qnnrt_openvino__close(library);
        return result;
    }
    facts->version = library->version;
    facts->path = library->path;
    facts->build = library->build;
    facts->devices = library->name_list;
    facts->device_count = library->device_count;
    *out = library;
    return QNNRT_OK;
}

static qnnrt_result qnnrt_openvino__load(void *object, const qnnrt_engine_load *load, void **out,
                                         qnnrt_engine_model *facts, qnnrt_error *err)
{
    const qnnrt_openvino__library *library = (const qnnrt_openvino__library *)object;
    qnnrt_openvino__model *model;
    qnnrt_result result;
    *out = NULL;
    memset(facts, 0, sizeof *facts);
    result = qnnrt_openvino__load_refuse(load, err);
    if (result != QNNRT_OK) return result;
    model = (qnnrt_openvino__model *)qnnrt_hooks_alloc(&load->hooks, 1, sizeof *model);
    if (model == NULL) return qnnrt_openvino__fail_memory(err, sizeof *model);
    model->library = library;
    model->hooks = model->arena.hooks = load->hooks;
    model->run_ms = load->run_ms;
    model->timed = load->timed;
    snprintf(model->device, sizeof model->device, "%s", load->device);
    result = qnnrt_openvino__load_all(model, load, err);
    if (result != QNNRT_OK) {
        qnnrt_openvino__model_free(model);
        return result;
    }
    facts->inputs = model->facts[0];
    facts->outputs = model->facts[1];
    facts->input_count = model->count[0];
    facts->output_count = model->count[1];
    facts->fallback = model->fallback[0] != '\0' ? model->fallback : NULL;
    facts->saved = model->saved;
    facts->saved_count = model->saved[0] != NULL ? 1 : 0;
    *out = model;
    return QNNRT_OK;
}

static const qnnrt_engine qnnrt_openvino__engine = {
    QNNRT_ENGINE_VERSION, QNNRT_MODEL_ONNX | QNNRT_MODEL_OPENVINO, "openvino",
    "OpenVINO 2024.3 and newer, on CPU, GPU and NPU",
    qnnrt_openvino__open, qnnrt_openvino__close, qnnrt_openvino__load, qnnrt_openvino__model_free,
    qnnrt_openvino__binding_create, qnnrt_openvino__binding_destroy, qnnrt_openvino__set,
    qnnrt_openvino__run, qnnrt_openvino__get, qnnrt_openvino__cancel, qnnrt_openvino__steps
};

QNNRT_OPENVINO_API const qnnrt_engine *qnnrt_engine_openvino(void)
{
    return &qnnrt_openvino__engine;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_OPENVINO__IMPL_ONCE */
#endif /* QNNRT_OPENVINO_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   Changed: the library is searched as qnnrt_engine_find() says: a name, too, is not looked
           for by the system if LD_LIBRARY_PATH has an empty element.
   0.4.0   First version.
   --------------------------------------------------------------------------------------------- */
