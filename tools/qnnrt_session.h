/* qnnrt_session.h - v0.4.0 - run a model with any engine that can: ours, ONNX Runtime, OpenVINO

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_session.h"
       #define QNNRT_CACHE_IMPLEMENTATION
       #define QNNRT_SESSION_IMPLEMENTATION
       #include "qnnrt_session.h"
   qnnrt.h, qnnrt_json.h and qnnrt_cache.h lie beside this file or are found by the compiler. Link
   with -ldl. The engines are in tools/engines, and each is a header like this one.

       float image[3 * 224 * 224], scores[1000];
       qnnrt_session_desc desc = {0};
       qnnrt_value in = { .dtype = QNNRT_DTYPE_F32, .rank = 4, .dims = { 1, 3, 224, 224 },
                          .data = image, .bytes = sizeof(image) };
       qnnrt_value out = { .data = scores, .bytes = sizeof(scores) };
       desc.engines = qnnrt_engines_default();         // of tools/engines/qnnrt_engines.h
       desc.device = "auto";
       if (qnnrt_session_create("net.onnx", &desc, &session, &err) != QNNRT_OK)
           puts(err.text);
       puts(qnnrt_session_get_info(session)->text);    // which engine, which device
       if (qnnrt_session_run(session, &in, 1, &out, 1) != QNNRT_OK)
           puts(qnnrt_session_error(session)->text);
       qnnrt_session_destroy(session);

   Uses     Public names of qnnrt.h, qnnrt_json.h and qnnrt_cache.h, libc and POSIX files. It knows
            no engine: they come in a list.
   Trust    The caller, his engines and their libraries are trusted. A model is hostile: of .onnx
            files the names of external data are read here, and none leads out of the model's
            folder. Policies may be hostile, too.
   Memory   The hooks serve every allocation of this header. A run of a binding allocates nothing
            of ours.
   Threads  The header creates none. One session belongs to one thread at a time, with its bindings:
            calls of a second thread return QNNRT_E_BUSY and do nothing. Different sessions are
            independent. qnnrt_session_cancel() may be called from any thread.
   Globals  Constant tables only. The header prints nothing and never aborts.

   WORDS
       engine     a table of functions that loads models of some kinds and runs them
       device     what an engine runs a model on: "npu", "gpu", "cpu", "cuda:0"
       candidate  an engine and a device that were looked at for a model
       value      a tensor of the caller: dtype, dimensions and memory
       binding    values that stay placed from run to run
       batch      the first dimension of inputs and outputs

   BUILD OPTIONS, to define before the header is first included
       QNNRT_SESSION_API  replaces the storage and export prefix of all functions (default:
                          QNNRT_API)
       The options of qnnrt.h work here too: QNNRT_STATIC, QNNRT_API

   ROOMS (search for the tag)
       >>config >>shape >>file >>match >>load >>run >>public
*/
#ifndef QNNRT_SESSION_H
#define QNNRT_SESSION_H

#include "qnnrt.h"
#include "qnnrt_cache.h"

#if QNNRT_VERSION_MAJOR != 0 || QNNRT_VERSION_MINOR < 4
#error "this qnnrt_session.h needs qnnrt.h 0.4 or newer, below 1.0"
#endif

#ifndef QNNRT_SESSION_API
#define QNNRT_SESSION_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------- values and facts -- */

enum { QNNRT_SESSION_RANK = 16 };        /* most dimensions of a value */

/* What a model file is. An engine says which of them it loads. */
typedef enum qnnrt_model_kind {
    QNNRT_MODEL_FOLDER   = 1 << 0,       /* a folder of context binaries, or one such file (.bin) */
    QNNRT_MODEL_GRAPH    = 1 << 1,       /* a graph in ATen operators (.json), to compile; weights
                                            in .safetensors beside it */
    QNNRT_MODEL_ONNX     = 1 << 2,       /* .onnx, EPContext models too */
    QNNRT_MODEL_OPENVINO = 1 << 3,       /* .xml with its .bin beside it */
    QNNRT_MODEL_TENSORRT = 1 << 4        /* .engine or .plan: a serialized TensorRT engine */
} qnnrt_model_kind;

typedef enum qnnrt_precision {
    QNNRT_PRECISION_DEFAULT = 0,         /* the engine's own choice */
    QNNRT_PRECISION_FP32, QNNRT_PRECISION_FP16, QNNRT_PRECISION_INT8
} qnnrt_precision;

/* One tensor of the caller, or a result. Elements lie row-major without gaps; those of less than 8
   bits are packed. Strings (QNNRT_DTYPE_STRING): data is an array of const char *, bytes its size.
   In outputs the strings belong to the engine, until the next run. */
typedef struct qnnrt_value {
    const char *name;                    /* NULL: the position in the list decides */
    qnnrt_dtype dtype;                   /* as in the tensor's facts; of an output: 0 is that */
    uint32_t    rank;
    int64_t     dims[QNNRT_SESSION_RANK];
    void       *data;                    /* of an output: NULL lets the engine find memory, which is
                                            valid until the next run of the binding or session */
    size_t      bytes;                   /* of all elements; of an output with data: its room */
} qnnrt_value;

typedef struct qnnrt_session_tensor {
    const char       *name;
    qnnrt_dtype       dtype;
    uint32_t          rank;
    int64_t           dims[QNNRT_SESSION_RANK];      /* -1: any */
    const char *const *dim_names;        /* [rank], "" where a dimension has no name; or NULL */
    const qnnrt_quant *quant;            /* with desc.native_io: what codes mean; or NULL */
    int               optional;          /* an input that may be left out */
    int               any_rank;          /* 1: the model does not say the rank; it is 0 here */
} qnnrt_session_tensor;

/* Return "fp32", "fp16", "int8"; "default" for any other number. */
QNNRT_SESSION_API const char *qnnrt_precision_name(qnnrt_precision precision);

/* Compute the bytes of a value: the product of its dimensions by the size of an element, rounded up
   to whole bytes. A string has the size of a pointer.
   Returns  1 when *bytes received them; 0 (and *bytes is 0) if a dimension is negative, the rank is
            over QNNRT_SESSION_RANK, the dtype is unknown, or the product is too large to address */
QNNRT_SESSION_API int qnnrt_session_bytes(qnnrt_dtype dtype, uint32_t rank, const int64_t *dims,
                                          size_t *bytes);

/* ----------------------------------------------------------------------------------- engines -- */

typedef struct qnnrt_session_option {    /* for one engine */
    const char *engine;                  /* its name; NULL: whichever is used */
    const char *key, *value;             /* "library_path" is known to every engine; others are the
                                            its engine's. An unknown one is an error */
} qnnrt_session_option;

typedef struct qnnrt_session_shape {     /* a fixed shape for an input, or a value for a free dim */
    const char *name;                    /* of the input, or of the dimension ("batch") */
    uint32_t    rank;                    /* 0: `name` is a dimension, dims[0] its value */
    int64_t     dims[QNNRT_SESSION_RANK];
} qnnrt_session_shape;

typedef struct qnnrt_session_pair { const char *key, *value; } qnnrt_session_pair;

/* What an engine gets to open its library. The strings live until close. */
typedef struct qnnrt_engine_open {
    qnnrt_hooks hooks;                   /* alloc, free are set; log may be NULL */
    const char *library_path;            /* NULL: searched like a vendor library (see qnnrt.h) */
    const qnnrt_session_option *options; /* those for this engine, without "library_path" */
    size_t      option_count;
} qnnrt_engine_open;

typedef struct qnnrt_engine_library {    /* what it says; strings live until close */
    const char *version;                 /* "1.31.1", checked before any slot is read */
    const char *path;                    /* of the library that was loaded; "" if there is none */
    const char *build;                   /* anything that changes when results may: build id, ... */
    const char *const *devices;          /* [device_count] of "npu", "gpu", "cpu", "cuda:0" */
    size_t      device_count;
} qnnrt_engine_library;

/* What an engine gets to load a model. Everything is checked and resolved; strings live until
   unload. */
typedef struct qnnrt_engine_load {
    qnnrt_hooks      hooks;
    const char      *path;
    qnnrt_model_kind kind;
    const char      *device;             /* one of the engine's devices */
    qnnrt_precision  precision;
    uint32_t         threads;            /* intra-op; at least 1 */
    uint32_t         max_batch;          /* 0: not said */
    uint64_t         workspace_bytes;
    int              allow_fallback;     /* 1: parts of the model may run on the CPU; say so in
                                            qnnrt_engine_model.fallback */
    int              optimize_level;     /* 0..3, or -1: all */
    int              native_io;
    uint32_t         compile_ms, run_ms; /* limits; 0: none. An engine that cannot keep one refuses
                                            it with QNNRT_E_UNSUPPORTED and its name */
    const qnnrt_session_shape  *shapes;      size_t shape_count;
    const qnnrt_session_option *options;     size_t option_count;    /* for this engine */
    const qnnrt_session_pair   *preferences; size_t preference_count;/* operator -> kernel */
    const char      *cached;             /* a folder with the files that an earlier load saved for
                                            the same key; NULL: none. Stays until unload */
    const char      *save;               /* an empty folder to save compiled files in; NULL: do not.
                                            Stays until unload. Only one of both is set */
    int              timed;              /* 1: measure steps for `steps` */
} qnnrt_engine_load;

typedef struct qnnrt_engine_model {      /* what it says; lives until unload */
    const qnnrt_session_tensor *inputs;      size_t input_count;
    const qnnrt_session_tensor *outputs;     size_t output_count;
    const char      *fallback;           /* which part runs elsewhere, in one line; NULL: nothing */
    const char *const *saved;            /* [saved_count] plain names of the files in load->save */
    size_t           saved_count;
    uint32_t         alignment;          /* of memory that is bound without a copy; 0: any */
} qnnrt_engine_model;

typedef struct qnnrt_dispatch {          /* one row of the dispatch log */
    size_t      step;                    /* from 0 */
    const char *name;                    /* of the graph or step */
    const char *engine, *device;
    qnnrt_dtype dtype;                   /* of its first output */
    uint32_t    rank;
    int64_t     dims[QNNRT_SESSION_RANK];
    double      us;                      /* microseconds; < 0: not measured */
} qnnrt_dispatch;

#define QNNRT_ENGINE_VERSION 1u

/* An engine: a constant table. Its functions are called by one thread at a time for one model,
   except cancel. Results: QNNRT_OK, or an error with a text that has the library's own text in it,
   such as `cannot load "net.onnx": <its text>`; the engine's name is put in front of it. Values
   that set gets are checked against the model's facts before: name, dtype, rank, dims, bytes. What
   a function has not created it leaves NULL. */
typedef struct qnnrt_engine {
    uint32_t    version;                 /* QNNRT_ENGINE_VERSION */
    uint32_t    kinds;                   /* qnnrt_model_kind bits */
    const char *name;                    /* "qnn", "onnxrt", "openvino" */
    const char *about;                   /* one line */
    qnnrt_result (*open)(const qnnrt_engine_open *desc, void **library, qnnrt_engine_library *out,
                         qnnrt_error *err);
    void         (*close)(void *library);
    qnnrt_result (*load)(void *library, const qnnrt_engine_load *load, void **model,
                         qnnrt_engine_model *out, qnnrt_error *err);
    void         (*unload)(void *model);
    qnnrt_result (*binding_create)(void *model, void **binding, qnnrt_error *err);
    void         (*binding_destroy)(void *binding);
    /* Place an input or output in memory of the caller. value->data NULL: an input is taken back
       (an optional one stays out), an output gets memory of the engine. dtype, rank and dims are
       those of the value; of an output without data they have no meaning. */
    qnnrt_result (*set)(void *binding, int output, size_t index, const qnnrt_value *value,
                        qnnrt_error *err);
    qnnrt_result (*run)(void *binding, qnnrt_error *err);        /* writes err on failure only */
    /* What the last run wrote: dtype, rank, dims, data, bytes. */
    qnnrt_result (*get)(void *binding, size_t output, qnnrt_value *value, qnnrt_error *err);
    void         (*cancel)(void *model);                         /* NULL: cannot. From any thread */
    size_t       (*steps)(void *binding, qnnrt_dispatch *rows, size_t room);   /* NULL: one step.
                                            Fills step, name, device, dtype, rank, dims, us; returns
                                            how many there are */
} qnnrt_engine;

/* ---------------------------------------------------------------------------------- sessions -- */

typedef struct qnnrt_session_desc {
    const qnnrt_engine *const *engines;  /* in the order in which "auto" tries them, ended by NULL;
                                            qnnrt_engines_default() of tools/engines has ours */
    const char *engine;                  /* a name, or "auto" (default NULL: "auto") */
    const char *device;                  /* "npu", "gpu", "cpu", "cuda:0", "auto" (default NULL: the
                                            policy's target, else "auto": npu, gpu, cpu) */
    qnnrt_precision precision;           /* (default 0: the policy's, else the engine's) */
    const char *cache_dir;               /* (default NULL or "": no cache) */
    uint64_t    cache_bytes;             /* limit of the cache (default 0: 10 GiB) */
    uint32_t    max_batch_size;          /* (default 0: not limited, and models with a fixed batch
                                            run one batch at a time. n: at most n; a model with a
                                            fixed batch runs as often as needed) */
    uint64_t    workspace_bytes;         /* scratch an engine may use (default 0: 1 GiB) */
    uint32_t    threads;                 /* of one operator (default 0: 1) */
    int         allow_fallback;          /* 1: "npu", "gpu" or "cuda" may become "cpu", in parts or
                                            whole; reported (default 0) */
    int         native_io;               /* 1: quantized tensors are their codes (default 0: they
                                            are float32) */
    const qnnrt_session_option *options; size_t option_count;
    const qnnrt_session_shape  *shapes;  size_t shape_count;
    const char *kernel_policy;           /* JSON text (default NULL) */
    const char *execution_policy;        /* JSON text (default NULL). Fields above win, if set */
    qnnrt_hooks hooks;                   /* alloc, free, log */
    void      (*dispatch)(void *user, const qnnrt_dispatch *row);    /* after each run, a row for
                                            each step (default NULL: nothing is timed) */
    void       *dispatch_user;
} qnnrt_session_desc;

typedef struct qnnrt_session qnnrt_session;
typedef struct qnnrt_binding qnnrt_binding;

/* One engine on one device that was looked at, in order. */
typedef struct qnnrt_session_candidate {
    const char *engine, *device;
    int         taken;
    const char *reason;                  /* why, or why not: one line */
} qnnrt_session_candidate;

/* What a session is. All of it is valid until qnnrt_session_destroy(). */
typedef struct qnnrt_session_info {
    const char *path;
    qnnrt_model_kind kind;
    const char *engine, *engine_version, *library, *device;
    qnnrt_precision  precision;
    const qnnrt_session_tensor *inputs, *outputs;   size_t input_count, output_count;
    const qnnrt_session_candidate *candidates;      size_t candidate_count;
    const char *const *warnings;                    size_t warning_count;   /* of policies, ... */
    const char *fallback;                /* NULL: all runs on `device` as asked for */
    const char *cache;                   /* "off", "hit", "stored", "not cached: <why>" */
    const char *cache_key;               /* 64 hexadecimal digits, or "" */
    const char *text;                    /* <InferenceSession model=... engine=... device=...> */
} qnnrt_session_info;

/* Load a model with the first engine and device that can, or with those that are named.

   path     a folder of context binaries or a .bin, a graph (.json), .onnx, .xml, .engine or .plan
   desc     engines must be set; may be on the stack. The engines' tables must outlive the session;
            texts are copied
   out      receives the session, or NULL on failure

   Returns  QNNRT_OK
            QNNRT_E_NOT_FOUND    the file, the engine (the text lists the names), or the device
            QNNRT_E_FORMAT       a damaged model, or a policy that is not valid
            QNNRT_E_UNSUPPORTED  a kind of file that no engine of the list takes; or something asked
                                 for that the engine does not have: the text names it
            QNNRT_E_LIBRARY, QNNRT_E_VERSION  the engine's library is missing, not one, or too old
            QNNRT_E_MISMATCH     shapes that do not fit the model
            QNNRT_E_MEMORY       the text has the bytes requested and available
            QNNRT_E_BACKEND      the engine failed; vendor_code is its own code
            QNNRT_E_ARG; QNNRT_E_IO; QNNRT_E_CANCELLED (a limit of the compile time)
            If several candidates failed, the code is that of the one that came furthest, and the
            text lists all with their reasons
   Frees    qnnrt_session_destroy() */
QNNRT_SESSION_API qnnrt_result qnnrt_session_create(const char *path,
                                                    const qnnrt_session_desc *desc,
                                                    qnnrt_session **out, qnnrt_error *err);

/* Unload the model and free the session.
   Returns  QNNRT_OK, also for NULL; QNNRT_E_BUSY (bindings exist, or a run is going on): nothing
            was freed */
QNNRT_SESSION_API qnnrt_result qnnrt_session_destroy(qnnrt_session *session);

/* Return the facts about a session, NULL for NULL. */
QNNRT_SESSION_API const qnnrt_session_info *qnnrt_session_get_info(const qnnrt_session *session);

/* Return the error of the last call with this session or a binding of it, except those that
   returned QNNRT_E_BUSY or take an err of their own. NULL for NULL. */
QNNRT_SESSION_API const qnnrt_error *qnnrt_session_error(const qnnrt_session *session);

/* Run once with values that are given now.

   inputs   by name or, where name is NULL, by position in the list. Optional ones may be missing
   outputs  those that are wanted, in the same way, at least one. Each receives name, dtype, rank,
            dims, data and bytes. With data, the result is written there; its dtype (if not 0) and
            its dims (if rank is not 0) must be those of the result. Without, data points to memory
            that is valid until the next run of the session

   With desc.max_batch_size, first dimensions that are a multiple of the model's fixed ones are cut
   into slices that run one after the other; inputs with exactly the model's shape are given to each
   slice whole.

   Returns  QNNRT_OK
            QNNRT_E_STATE      an input is missing
            QNNRT_E_NOT_FOUND  there is no such input or output; the text lists those that exist
            QNNRT_E_MISMATCH   dtype, rank, dimensions or bytes; the text has both
            QNNRT_E_LIMIT      the batch is over desc.max_batch_size
            QNNRT_E_BUSY       another thread uses the session; qnnrt_session_error() is unchanged
            QNNRT_E_CANCELLED  by qnnrt_session_cancel(), or a limit of the run time
            QNNRT_E_MEMORY; QNNRT_E_BACKEND; QNNRT_E_ARG; QNNRT_E_UNSUPPORTED */
QNNRT_SESSION_API qnnrt_result qnnrt_session_run(qnnrt_session *session, const qnnrt_value *inputs,
                                                 size_t input_count, qnnrt_value *outputs,
                                                 size_t output_count);

/* End a run that is going on; it returns QNNRT_E_CANCELLED. Without one nothing happens.
   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (the engine cannot; a run of several slices still ends
            after a slice); QNNRT_E_ARG
   Threads  any, while the session exists */
QNNRT_SESSION_API qnnrt_result qnnrt_session_cancel(qnnrt_session *session);

/* Create a binding: inputs and outputs that stay placed. A session may have any number of them.
   Returns  QNNRT_OK; QNNRT_E_BUSY; QNNRT_E_MEMORY; QNNRT_E_BACKEND; QNNRT_E_ARG
   Frees    qnnrt_binding_destroy(), before qnnrt_session_destroy() */
QNNRT_SESSION_API qnnrt_result qnnrt_binding_create(qnnrt_session *session, qnnrt_binding **out,
                                                    qnnrt_error *err);
/* Returns  QNNRT_OK, also for NULL; QNNRT_E_BUSY: nothing was freed */
QNNRT_SESSION_API qnnrt_result qnnrt_binding_destroy(qnnrt_binding *binding);

/* Place an input in memory of the caller, which each run reads then. There is no copy, unless the
   engine has to convert values or needs another alignment. data NULL takes the input back; the
   memory must stay until then or until the binding is destroyed.
   value->name must be set, except in a model with a single input.
   Returns  as qnnrt_session_run(); after a failure the input is as before */
QNNRT_SESSION_API qnnrt_result qnnrt_binding_input(qnnrt_binding *binding,
                                                   const qnnrt_value *value);

/* Place an output, which each run writes then. data NULL: the engine finds memory for each run. If
   the model does not fix the dimensions, the value must have those of the result.
   value->name must be set, except in a model with a single output.
   Returns  as qnnrt_session_run(); after a failure the output is as before */
QNNRT_SESSION_API qnnrt_result qnnrt_binding_output(qnnrt_binding *binding,
                                                    const qnnrt_value *value);

/* Run once with what is placed.
   Returns  as qnnrt_session_run(); QNNRT_E_STATE names the inputs that are not placed */
QNNRT_SESSION_API qnnrt_result qnnrt_binding_run(qnnrt_binding *binding);

/* Get what the last run wrote into an output.

   output   its name; NULL in a model with a single output
   value    receives name, dtype, rank, dims, data and bytes; valid until the next run of the
            binding

   Returns  QNNRT_OK; QNNRT_E_STATE (no run has succeeded yet); QNNRT_E_NOT_FOUND; QNNRT_E_BUSY;
            QNNRT_E_BACKEND; QNNRT_E_ARG */
QNNRT_SESSION_API qnnrt_result qnnrt_binding_get(qnnrt_binding *binding, const char *output,
                                                 qnnrt_value *value);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_SESSION_H, end of the declarations */

#ifdef QNNRT_SESSION_IMPLEMENTATION
#ifndef QNNRT_SESSION__IMPL_ONCE
#define QNNRT_SESSION__IMPL_ONCE

/* qnnrt.h includes the functions of qnnrt_json.h, unless QNNRT_NO_JSON is defined. */
#if !defined(QNNRT_JSON_API) && !defined(QNNRT_JSON_STATIC)
#define QNNRT_JSON_API QNNRT_API
#endif
#if defined(QNNRT_NO_JSON) && !defined(QNNRT_JSON_IMPLEMENTATION)
#define QNNRT_JSON_IMPLEMENTATION
#endif
#include "qnnrt_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
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
   The objects, errors and memory, for every room.
   Needs: nothing     Knows nothing of: engines' functions, files, JSON
   ===================================================================================== */

typedef struct qnnrt_session__block {    /* memory that lives as long as the session */
    struct qnnrt_session__block *next;
    uint64_t                     unused; /* keeps what follows aligned to 16 bytes */
} qnnrt_session__block;

/* An engine of the list, with its library when it was opened. */
typedef struct qnnrt_session__engine {
    const qnnrt_engine   *table;
    void                 *library;
    qnnrt_engine_library  facts;
    qnnrt_engine_open     open;
    qnnrt_result          result;        /* of opening */
    int                   tried;
    const char           *failure;       /* why it could not be opened */
} qnnrt_session__engine;

struct qnnrt_session {
    qnnrt_hooks             hooks;       /* alloc and free are set */
    qnnrt_error             error;
    unsigned char           busy;        /* 1: a call uses the session; atomic */
    unsigned char           stop;        /* 1: qnnrt_session_cancel() was called; atomic */
    const qnnrt_engine     *engine;      /* that was taken */
    void                   *model;
    qnnrt_engine_model      facts;
    qnnrt_engine_load       load;
    qnnrt_binding          *own;         /* of qnnrt_session_run(); made with its first call */
    size_t                  bindings;    /* of the caller */
    void                  (*dispatch)(void *user, const qnnrt_dispatch *row);
    void                   *dispatch_user;
    qnnrt_session__engine  *engines;
    size_t                  engine_count;
    qnnrt_session__block   *blocks;
    qnnrt_session_info      info;
    qnnrt_session_candidate *candidates;
};

struct qnnrt_binding {
    qnnrt_session *session;
    void          *binding;              /* the engine's */
    size_t         missing;              /* inputs that are needed and not placed */
    int            ran;                  /* 1: the last run succeeded */
    unsigned char *placed;               /* [inputs + outputs] */
};

#if defined(__GNUC__)
#define QNNRT_SESSION__PRINTF(a, b) __attribute__((cold, format(printf, a, b)))
#else
#define QNNRT_SESSION__PRINTF(a, b)
#endif

/* Replace what must not be printed: names may be hostile. Newlines stay. */
static void qnnrt_session__clean(char *text)
{
    while (*text != '\0') {
        int shown;
        const size_t length = qnnrt_utf8_length(text, &shown);
        if (!shown && *text != '\n') *text = '?';
        text += shown ? length : 1;
    }
}

/* Fill an error and return its code. The text may be cut. err may be NULL. */
QNNRT_SESSION__PRINTF(4, 5)
static qnnrt_result qnnrt_session__fail(qnnrt_error *err, qnnrt_result code, const char *hint,
                                        const char *format, ...)
{
    va_list args;
    if (err == NULL) return code;
    err->code = code;
    err->vendor_code = 0;
    snprintf(err->hint, sizeof err->hint, "%s", hint);
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    qnnrt_session__clean(err->text);
    return code;
}

static qnnrt_result qnnrt_session__good(qnnrt_error *err)
{
    if (err != NULL) {
        err->code = QNNRT_OK;
        err->vendor_code = 0;
        err->text[0] = err->hint[0] = '\0';
    }
    return QNNRT_OK;
}

/* Return the bytes of memory that programs can get, or 0 if the system does not say. */
static uint64_t qnnrt_session__available(void)
{
    char text[512];
    const char *at;
    uint64_t kib = 0;
    ptrdiff_t got;
    const int fd = open("/proc/meminfo", O_RDONLY);
    if (fd < 0) return 0;
    got = read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    at = strstr(text, "MemAvailable:");
    if (at == NULL) return 0;
    for (at += 13; *at == ' '; ++at) {}
    for (; *at >= '0' && *at <= '9' && kib < UINT64_C(1) << 50; ++at)
        kib = 10 * kib + (uint64_t)(*at - '0');
    return kib << 10;
}

static qnnrt_result qnnrt_session__fail_memory(qnnrt_error *err, size_t bytes)
{
    return qnnrt_session__fail(err, QNNRT_E_MEMORY, "", "out of memory: requested %lu bytes, %llu"
                               " available", (unsigned long)bytes,
                               (unsigned long long)qnnrt_session__available());
}

static void *qnnrt_session__malloc(void *user, size_t bytes)
{
    (void)user;
    return malloc(bytes);
}

static void qnnrt_session__mfree(void *user, void *data)
{
    (void)user;
    free(data);
}

/* Return zeroed memory, or NULL. */
static void *qnnrt_session__alloc(const qnnrt_hooks *hooks, size_t bytes)
{
    void *data = hooks->alloc(hooks->alloc_user, bytes);
    if (data != NULL) memset(data, 0, bytes);
    return data;
}

static void qnnrt_session__free(const qnnrt_hooks *hooks, void *data)
{
    if (data != NULL) hooks->free(hooks->alloc_user, data);
}

/* Return zeroed memory of count elements that lives as long as the session, or NULL after filling
   the error. */
static void *qnnrt_session__keep(qnnrt_session *session, size_t count, size_t size,
                                 qnnrt_error *err)
{
    const size_t most = (size_t)-1 / 4;
    const size_t bytes = count > most / size ? most : count * size + (count == 0);
    qnnrt_session__block *block = (qnnrt_session__block *)qnnrt_session__alloc(
        &session->hooks, sizeof(*block) + bytes);
    if (block == NULL) {
        qnnrt_session__fail_memory(err, sizeof(*block) + bytes);
        return NULL;
    }
    block->next = session->blocks;
    session->blocks = block;
    return block + 1;
}

/* Copy a text. Return NULL after filling the error. */
static const char *qnnrt_session__keep_text(qnnrt_session *session, const char *text,
                                            qnnrt_error *err)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = (char *)qnnrt_session__keep(session, bytes, 1, err);
    if (copy != NULL) memcpy(copy, text, bytes);
    return copy;
}

/* Log a line. */
QNNRT_SESSION__PRINTF(3, 4)
static void qnnrt_session__log(const qnnrt_hooks *hooks, qnnrt_log_level level,
                               const char *format, ...)
{
    char text[2048], *at;
    va_list args;
    if (hooks->log == NULL) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (at = text; *at != '\0'; ++at)
        if (*at == '\n') *at = ' ';
    qnnrt_session__clean(text);
    hooks->log(hooks->log_user, level, "session", 0, text);
}

/* =====================================================================================
   SHAPE                                                                           >>shape
   Sizes of values, and their texts.
   Needs: nothing     Knows nothing of: engines, sessions
   ===================================================================================== */

/* Return the bits of an element, or 0 if the dtype is unknown. */
static unsigned qnnrt_session__shape_bits(qnnrt_dtype dtype)
{
    if (dtype == QNNRT_DTYPE_STRING) return 8 * (unsigned)sizeof(char *);
    if (strcmp(qnnrt_dtype_name(dtype), "unknown") == 0) return 0;
    switch ((unsigned)dtype & 0xFF) {
    case 0x02: return 2;
    case 0x04: return 4;
    case 0x08: return 8;
    case 0x16: case 0x26: return 16;
    case 0x32: return 32;
    case 0x64: return 64;
    default: return 0;
    }
}

QNNRT_SESSION_API int qnnrt_session_bytes(qnnrt_dtype dtype, uint32_t rank, const int64_t *dims,
                                          size_t *bytes)
{
    const unsigned bits = qnnrt_session__shape_bits(dtype);
    const uint64_t most = ((size_t)-1) / 2;
    uint64_t count = 1;
    uint32_t i;
    *bytes = 0;
    if (bits == 0 || rank > QNNRT_SESSION_RANK) return 0;
    for (i = 0; i < rank; ++i) {
        if (dims[i] < 0) return 0;
        if (dims[i] == 0) count = 0;
    }
    for (i = 0; i < rank && count > 0; ++i) {
        if ((uint64_t)dims[i] > most / count) return 0;
        count *= (uint64_t)dims[i];
    }
    if (count > most / (bits < 8 ? 1 : bits / 8)) return 0;
    *bytes = (size_t)(bits < 8 ? (count * bits + 7) / 8 : count * (bits / 8));
    return 1;
}

/* Write "float32[1,3,-1]". A rank over the most is cut. Return text. */
static const char *qnnrt_session__shape_text(qnnrt_dtype dtype, uint32_t rank, const int64_t *dims,
                                             int any_rank, char *text, size_t room)
{
    uint32_t i;
    size_t used = 0;
    int put = snprintf(text, room, "%s%s", qnnrt_dtype_name(dtype), any_rank ? "[...]" : "[");
    for (i = 0; !any_rank && i <= rank && i <= QNNRT_SESSION_RANK; ++i) {
        used += put > 0 ? (size_t)put : 0;
        if (used >= room) break;
        if (i == rank || i == QNNRT_SESSION_RANK) put = snprintf(text + used, room - used, "]");
        else put = snprintf(text + used, room - used, i > 0 ? ",%lld" : "%lld", (long long)dims[i]);
    }
    return text;
}

/* =====================================================================================
   FILE                                                                             >>file
   What a path is.
   Needs: nothing     Knows nothing of: engines, what files hold
   ===================================================================================== */

typedef struct qnnrt_session__ending { const char *text; qnnrt_model_kind kind; }
    qnnrt_session__ending;

static const qnnrt_session__ending qnnrt_session__endings[] = {
    { ".bin", QNNRT_MODEL_FOLDER }, { ".json", QNNRT_MODEL_GRAPH }, { ".onnx", QNNRT_MODEL_ONNX },
    { ".xml", QNNRT_MODEL_OPENVINO }, { ".engine", QNNRT_MODEL_TENSORRT },
    { ".plan", QNNRT_MODEL_TENSORRT }
};

/* Return what files of a kind are called. */
static const char *qnnrt_session__file_kind_text(qnnrt_model_kind kind)
{
    return kind == QNNRT_MODEL_FOLDER   ? "folders of context binaries"
         : kind == QNNRT_MODEL_GRAPH    ? "graphs (.json)"
         : kind == QNNRT_MODEL_ONNX     ? ".onnx"
         : kind == QNNRT_MODEL_OPENVINO ? ".xml"
                                        : ".engine or .plan";
}

/* Find out what a path is. */
static qnnrt_result qnnrt_session__file_kind(const char *path, qnnrt_model_kind *kind,
                                             qnnrt_error *err)
{
    const size_t length = strlen(path);
    struct stat facts;
    size_t i;
    if (stat(path, &facts) != 0)
        return qnnrt_session__fail(err, errno == ENOENT || errno == ENOTDIR ? QNNRT_E_NOT_FOUND
                                                                           : QNNRT_E_IO,
                                   "", "model \"%.900s\": %s", path, strerror(errno));
    if (S_ISDIR(facts.st_mode)) {
        *kind = QNNRT_MODEL_FOLDER;
        return QNNRT_OK;
    }
    if (!S_ISREG(facts.st_mode))
        return qnnrt_session__fail(err, QNNRT_E_IO, "", "model \"%.900s\" is not a file or folder",
                                   path);
    for (i = 0; i < sizeof qnnrt_session__endings / sizeof qnnrt_session__endings[0]; ++i) {
        const size_t bytes = strlen(qnnrt_session__endings[i].text);
        if (length <= bytes || strcmp(path + length - bytes, qnnrt_session__endings[i].text) != 0)
            continue;
        *kind = qnnrt_session__endings[i].kind;
        return QNNRT_OK;
    }
    return qnnrt_session__fail(err, QNNRT_E_UNSUPPORTED, "Rename the file by its format.",
                               "model \"%.900s\": expected a folder, .bin, .json, .onnx, .xml,"
                               " .engine or .plan", path);
}

/* =====================================================================================
   MATCH                                                                           >>match
   Values of the caller against the model's facts.
   Needs: >>shape     Knows nothing of: engines' functions, files
   ===================================================================================== */

/* Find a tensor by name. List those that exist if there is none. */
static qnnrt_result qnnrt_session__match_find(const qnnrt_session_tensor *list, size_t count,
                                              const char *what, const char *name, size_t *index,
                                              qnnrt_error *err)
{
    size_t i, used;
    for (i = 0; i < count; ++i) {
        if (strcmp(list[i].name, name) != 0) continue;
        *index = i;
        return QNNRT_OK;
    }
    qnnrt_session__fail(err, QNNRT_E_NOT_FOUND, "", "no %s \"%.200s\"; the %lu %ss are", what, name,
                        (unsigned long)count, what);
    used = strlen(err->text);
    for (i = 0; i < count && used < sizeof err->text; ++i)
        used += (size_t)snprintf(err->text + used, sizeof err->text - used, "%s \"%.100s\"",
                                 i > 0 ? "," : "", list[i].name);
    qnnrt_session__clean(err->text);
    return QNNRT_E_NOT_FOUND;
}

/* Check a value that is to be placed, and complete it: what it leaves open becomes the tensor's. */
static qnnrt_result qnnrt_session__match_value(const qnnrt_session_tensor *tensor, int output,
                                               qnnrt_value *value, qnnrt_error *err)
{
    const char *what = output ? "output" : "input";
    char has[400], wants[400];
    size_t bytes;
    uint32_t i;
    int fits;
    value->name = tensor->name;
    if (value->data == NULL) {
        value->bytes = 0;
        return QNNRT_OK;
    }
    if (output && (unsigned)value->dtype == 0) value->dtype = tensor->dtype;
    if (output && value->rank == 0 && !tensor->any_rank) {
        value->rank = tensor->rank;
        memcpy(value->dims, tensor->dims, sizeof value->dims);
    }
    fits = value->dtype == tensor->dtype && (tensor->any_rank || value->rank == tensor->rank) &&
           value->rank <= QNNRT_SESSION_RANK;
    for (i = 0; fits && i < value->rank; ++i)
        if (!tensor->any_rank && tensor->dims[i] >= 0 && value->dims[i] != tensor->dims[i])
            fits = 0;
    qnnrt_session__shape_text(value->dtype, value->rank, value->dims, 0, has, sizeof has);
    qnnrt_session__shape_text(tensor->dtype, tensor->rank, tensor->dims, tensor->any_rank, wants,
                              sizeof wants);
    if (!fits)
        return qnnrt_session__fail(err, QNNRT_E_MISMATCH, "", "%s \"%.200s\" expects %s, got %s",
                                   what, tensor->name, wants, has);
    if (!qnnrt_session_bytes(value->dtype, value->rank, value->dims, &bytes))
        return qnnrt_session__fail(err, QNNRT_E_MISMATCH, "Give the dimensions of the value.",
                                   "%s \"%.200s\" is %s, which has no size", what, tensor->name,
                                   has);
    if (output ? value->bytes < bytes : value->bytes != bytes)
        return qnnrt_session__fail(err, QNNRT_E_MISMATCH, "", "%s \"%.200s\", %s, %s %lu bytes,"
                                   " got %lu", what, tensor->name, has,
                                   output ? "needs room for" : "expects", (unsigned long)bytes,
                                   (unsigned long)value->bytes);
    value->bytes = bytes;
    return QNNRT_OK;
}

/* =====================================================================================
   LOAD                                                                             >>load
   Opens engines, and loads the model.
   Needs: >>file     Knows nothing of: values, runs
   ===================================================================================== */

/* Put the name of an engine in front of its text, and complete an error that it left half done. */
static qnnrt_result qnnrt_session__load_told(const qnnrt_engine *engine, qnnrt_result result,
                                             qnnrt_error *err)
{
    char text[sizeof err->text];
    const size_t length = strlen(engine->name);
    if (result == QNNRT_OK) return result;
    if (err->code != result) {
        err->code = result;
        err->hint[0] = '\0';
        snprintf(err->text, sizeof err->text, "%s", qnnrt_result_text(result));
    }
    err->text[sizeof err->text - 1] = '\0';
    if (strncmp(err->text, engine->name, length) != 0 || err->text[length] != ':') {
        memcpy(text, err->text, sizeof text);
        snprintf(err->text, sizeof err->text, "%.60s: %.1900s", engine->name, text);
    }
    qnnrt_session__clean(err->text);
    return result;
}

/* Return an error if an engine cannot take a kind of model. */
static qnnrt_result qnnrt_session__load_takes(const qnnrt_engine *engine, qnnrt_model_kind kind,
                                              qnnrt_error *err)
{
    if (engine->version != QNNRT_ENGINE_VERSION)
        return qnnrt_session__fail(err, QNNRT_E_VERSION, "", "engine %.60s is of version %u,"
                                   " expected %u", engine->name, (unsigned)engine->version,
                                   QNNRT_ENGINE_VERSION);
    if ((engine->kinds & (uint32_t)kind) == 0)
        return qnnrt_session__fail(err, QNNRT_E_UNSUPPORTED, "", "%.60s does not load %s",
                                   engine->name, qnnrt_session__file_kind_text(kind));
    return QNNRT_OK;
}

/* Find an engine by name. */
static qnnrt_result qnnrt_session__load_engine(const qnnrt_engine *const *engines, const char *name,
                                               size_t *index, qnnrt_error *err)
{
    size_t i, used;
    for (i = 0; engines[i] != NULL; ++i) {
        if (strcmp(engines[i]->name, name) != 0) continue;
        *index = i;
        return QNNRT_OK;
    }
    qnnrt_session__fail(err, QNNRT_E_NOT_FOUND, "", "unknown engine \"%.200s\"; there are", name);
    used = strlen(err->text);
    for (i = 0; engines[i] != NULL && used < sizeof err->text; ++i)
        used += (size_t)snprintf(err->text + used, sizeof err->text - used, "%s \"%.60s\"",
                                 i > 0 ? "," : "", engines[i]->name);
    return QNNRT_E_NOT_FOUND;
}

/* =====================================================================================
   RUN                                                                               >>run
   Bindings and runs.
   Needs: >>match >>load     Knows nothing of: files, JSON
   ===================================================================================== */

/* Take the session for this thread. Return 0 if another one has it. */
static int qnnrt_session__run_enter(qnnrt_session *session)
{
    return __atomic_exchange_n(&session->busy, 1, __ATOMIC_ACQUIRE) == 0;
}

static void qnnrt_session__run_leave(qnnrt_session *session)
{
    __atomic_store_n(&session->busy, 0, __ATOMIC_RELEASE);
}

static qnnrt_result qnnrt_session__run_busy(qnnrt_error *err)
{
    return qnnrt_session__fail(err, QNNRT_E_BUSY, "Give each thread a session of its own.",
                               "another thread uses the session");
}

static void qnnrt_session__run_free(qnnrt_binding *binding)
{
    qnnrt_session *session;
    if (binding == NULL) return;
    session = binding->session;
    if (binding->binding != NULL) session->engine->binding_destroy(binding->binding);
    qnnrt_session__free(&session->hooks, binding->placed);
    qnnrt_session__free(&session->hooks, binding);
}

static qnnrt_result qnnrt_session__run_make(qnnrt_session *session, qnnrt_binding **out,
                                            qnnrt_error *err)
{
    const size_t count = session->facts.input_count + session->facts.output_count;
    qnnrt_result result;
    size_t i;
    qnnrt_binding *binding = (qnnrt_binding *)qnnrt_session__alloc(&session->hooks,
                                                                   sizeof(*binding));
    if (binding == NULL) return qnnrt_session__fail_memory(err, sizeof(*binding));
    binding->session = session;
    binding->placed = (unsigned char *)qnnrt_session__alloc(&session->hooks, count + 1);
    if (binding->placed == NULL) {
        qnnrt_session__run_free(binding);
        return qnnrt_session__fail_memory(err, count + 1);
    }
    for (i = 0; i < session->facts.input_count; ++i)
        if (!session->facts.inputs[i].optional) ++binding->missing;
    result = session->engine->binding_create(session->model, &binding->binding, err);
    if (result != QNNRT_OK) {
        qnnrt_session__run_free(binding);
        return qnnrt_session__load_told(session->engine, result, err);
    }
    *out = binding;
    return QNNRT_OK;
}

/* Place a value, which is checked here. */
static qnnrt_result qnnrt_session__run_set(qnnrt_binding *binding, int output, size_t index,
                                           const qnnrt_value *value, qnnrt_error *err)
{
    qnnrt_session *session = binding->session;
    const qnnrt_session_tensor *tensor = output ? &session->facts.outputs[index]
                                                : &session->facts.inputs[index];
    unsigned char *placed = &binding->placed[(output ? session->facts.input_count : 0) + index];
    qnnrt_value whole = *value;
    qnnrt_result result = qnnrt_session__match_value(tensor, output, &whole, err);
    if (result != QNNRT_OK) return result;
    result = session->engine->set(binding->binding, output, index, &whole, err);
    if (result != QNNRT_OK) return qnnrt_session__load_told(session->engine, result, err);
    if (!output && !tensor->optional && *placed != (whole.data != NULL))
        binding->missing += whole.data != NULL ? (size_t)-1 : 1;
    *placed = whole.data != NULL;
    return QNNRT_OK;
}

static qnnrt_result qnnrt_session__run_missing(const qnnrt_binding *binding, qnnrt_error *err)
{
    const qnnrt_session *session = binding->session;
    size_t i;
    for (i = 0; i < session->facts.input_count; ++i)
        if (!session->facts.inputs[i].optional && !binding->placed[i]) break;
    return qnnrt_session__fail(err, QNNRT_E_STATE, "", "missing input \"%.200s\"",
                               session->facts.inputs[i].name);
}

/* =====================================================================================
   PUBLIC                                                                         >>public
   Sessions and bindings.
   Needs: >>file >>match >>load >>run     Knows nothing of: what files hold
   ===================================================================================== */

QNNRT_SESSION_API const char *qnnrt_precision_name(qnnrt_precision precision)
{
    return precision == QNNRT_PRECISION_FP32 ? "fp32"
         : precision == QNNRT_PRECISION_FP16 ? "fp16"
         : precision == QNNRT_PRECISION_INT8 ? "int8"
                                             : "default";
}

/* Free all that a session has. */
static void qnnrt_session__end(qnnrt_session *session)
{
    const qnnrt_hooks hooks = session->hooks;
    qnnrt_session__block *block = session->blocks;
    size_t i;
    qnnrt_session__run_free(session->own);
    if (session->model != NULL) session->engine->unload(session->model);
    for (i = 0; i < session->engine_count; ++i)
        if (session->engines[i].library != NULL)
            session->engines[i].table->close(session->engines[i].library);
    while (block != NULL) {
        qnnrt_session__block *next = block->next;
        qnnrt_session__free(&hooks, block);
        block = next;
    }
    qnnrt_session__free(&hooks, session);
}

QNNRT_SESSION_API qnnrt_result qnnrt_session_create(const char *path,
                                                    const qnnrt_session_desc *desc,
                                                    qnnrt_session **out, qnnrt_error *err)
{
    qnnrt_session *session;
    qnnrt_session__engine *engine;
    qnnrt_hooks hooks;
    qnnrt_error own;
    qnnrt_result result;
    char *text;
    size_t index = 0;
    if (err == NULL) err = &own;
    if (out != NULL) *out = NULL;
    if (path == NULL || desc == NULL || out == NULL || desc->engines == NULL)
        return qnnrt_session__fail(err, QNNRT_E_ARG, "", "qnnrt_session_create: path, desc, out or"
                                   " desc.engines is NULL");
    hooks = desc->hooks;
    if ((hooks.alloc == NULL) != (hooks.free == NULL))
        return qnnrt_session__fail(err, QNNRT_E_ARG, "", "qnnrt_session_create: only one of"
                                   " hooks.alloc and hooks.free is set");
    if (hooks.alloc == NULL) {
        hooks.alloc = qnnrt_session__malloc;
        hooks.free = qnnrt_session__mfree;
    }
    qnnrt_session__good(err);
    session = (qnnrt_session *)qnnrt_session__alloc(&hooks, sizeof(*session));
    if (session == NULL) return qnnrt_session__fail_memory(err, sizeof(*session));
    session->hooks = hooks;
    session->dispatch = desc->dispatch;
    session->dispatch_user = desc->dispatch_user;
    result = qnnrt_session__file_kind(path, &session->info.kind, err);
    if (result == QNNRT_OK && desc->engine != NULL && strcmp(desc->engine, "auto") != 0)
        result = qnnrt_session__load_engine(desc->engines, desc->engine, &index, err);
    if (result != QNNRT_OK) goto done;
    result = QNNRT_E_MEMORY;
    engine = (qnnrt_session__engine *)qnnrt_session__keep(session, 1, sizeof(*engine), err);
    if (engine == NULL) goto done;
    session->engines = engine;
    session->engine_count = 1;
    session->info.path = qnnrt_session__keep_text(session, path, err);
    if (session->info.path == NULL) goto done;
    engine->table = session->engine = desc->engines[index];
    engine->open.hooks = hooks;
    engine->open.options = desc->options;
    engine->open.option_count = desc->option_count;
    result = qnnrt_session__load_takes(engine->table, session->info.kind, err);
    if (result != QNNRT_OK) goto done;
    result = engine->table->open(&engine->open, &engine->library, &engine->facts, err);
    if (result == QNNRT_OK && engine->facts.device_count == 0)
        result = qnnrt_session__fail(err, QNNRT_E_NOT_FOUND, "", "%s has no device",
                                     engine->table->name);
    if (result != QNNRT_OK) goto done;
    session->load.hooks = hooks;
    session->load.path = session->info.path;
    session->load.kind = session->info.kind;
    session->load.device = desc->device != NULL ? desc->device : engine->facts.devices[0];
    session->load.precision = desc->precision;
    session->load.threads = desc->threads != 0 ? desc->threads : 1;
    session->load.max_batch = desc->max_batch_size;
    session->load.workspace_bytes = desc->workspace_bytes != 0 ? desc->workspace_bytes
                                                               : UINT64_C(1) << 30;
    session->load.allow_fallback = desc->allow_fallback;
    session->load.optimize_level = -1;
    session->load.native_io = desc->native_io;
    session->load.shapes = desc->shapes;
    session->load.shape_count = desc->shape_count;
    session->load.options = desc->options;
    session->load.option_count = desc->option_count;
    session->load.timed = desc->dispatch != NULL;
    result = engine->table->load(engine->library, &session->load, &session->model, &session->facts,
                                 err);
    if (result != QNNRT_OK) goto done;
    session->info.engine = engine->table->name;
    session->info.engine_version = engine->facts.version;
    session->info.library = engine->facts.path;
    session->info.device = session->load.device;
    session->info.precision = desc->precision;
    session->info.inputs = session->facts.inputs;
    session->info.outputs = session->facts.outputs;
    session->info.input_count = session->facts.input_count;
    session->info.output_count = session->facts.output_count;
    session->info.fallback = session->facts.fallback;
    session->info.cache = "off";
    session->info.cache_key = "";
    text = (char *)qnnrt_session__keep(session, strlen(path) + 200, 1, err);
    result = text != NULL ? QNNRT_OK : QNNRT_E_MEMORY;
    if (text == NULL) goto done;
    snprintf(text, strlen(path) + 200, "<InferenceSession model=%s engine=%.60s device=%.60s>",
             path, session->info.engine, session->info.device);
    qnnrt_session__clean(text);
    session->info.text = text;
    qnnrt_session__log(&hooks, QNNRT_LOG_INFO, "%s", text);
    *out = session;
done:
    if (result == QNNRT_OK) return qnnrt_session__good(err);
    if (session->engine != NULL) qnnrt_session__load_told(session->engine, result, err);
    qnnrt_session__end(session);
    return result;
}

QNNRT_SESSION_API qnnrt_result qnnrt_session_destroy(qnnrt_session *session)
{
    if (session == NULL) return QNNRT_OK;
    if (!qnnrt_session__run_enter(session)) return QNNRT_E_BUSY;
    if (session->bindings > 0) {
        qnnrt_session__fail(&session->error, QNNRT_E_BUSY, "Destroy the bindings first.",
                            "the session is still in use: %lu bindings",
                            (unsigned long)session->bindings);
        qnnrt_session__run_leave(session);
        return QNNRT_E_BUSY;
    }
    qnnrt_session__end(session);
    return QNNRT_OK;
}

QNNRT_SESSION_API const qnnrt_session_info *qnnrt_session_get_info(const qnnrt_session *session)
{
    return session != NULL ? &session->info : NULL;
}

QNNRT_SESSION_API const qnnrt_error *qnnrt_session_error(const qnnrt_session *session)
{
    return session != NULL ? &session->error : NULL;
}

QNNRT_SESSION_API qnnrt_result qnnrt_binding_create(qnnrt_session *session, qnnrt_binding **out,
                                                    qnnrt_error *err)
{
    qnnrt_error own;
    qnnrt_result result;
    if (err == NULL) err = &own;
    if (out != NULL) *out = NULL;
    if (session == NULL || out == NULL)
        return qnnrt_session__fail(err, QNNRT_E_ARG, "", "qnnrt_binding_create: session or out is"
                                   " NULL");
    if (!qnnrt_session__run_enter(session)) return qnnrt_session__run_busy(err);
    qnnrt_session__good(err);
    result = qnnrt_session__run_make(session, out, err);
    if (result == QNNRT_OK) {
        ++session->bindings;
        qnnrt_session__good(err);
    }
    qnnrt_session__run_leave(session);
    return result;
}

QNNRT_SESSION_API qnnrt_result qnnrt_binding_destroy(qnnrt_binding *binding)
{
    qnnrt_session *session;
    if (binding == NULL) return QNNRT_OK;
    session = binding->session;
    if (!qnnrt_session__run_enter(session)) return QNNRT_E_BUSY;
    --session->bindings;
    qnnrt_session__run_free(binding);
    qnnrt_session__run_leave(session);
    return QNNRT_OK;
}

/* Place a value by its name. */
static qnnrt_result qnnrt_session__bind(qnnrt_binding *binding, int output,
                                        const qnnrt_value *value)
{
    qnnrt_session *session;
    const qnnrt_session_tensor *list;
    qnnrt_result result = QNNRT_OK;
    size_t count, index = 0;
    if (binding == NULL) return QNNRT_E_ARG;
    session = binding->session;
    if (!qnnrt_session__run_enter(session)) return QNNRT_E_BUSY;
    qnnrt_session__good(&session->error);
    list = output ? session->facts.outputs : session->facts.inputs;
    count = output ? session->facts.output_count : session->facts.input_count;
    if (value == NULL || (value->name == NULL && count != 1))
        result = qnnrt_session__fail(&session->error, QNNRT_E_ARG, "", "%s: %s",
                                     output ? "qnnrt_binding_output" : "qnnrt_binding_input",
                                     value == NULL ? "value is NULL" : "the value has no name");
    else if (value->name != NULL)
        result = qnnrt_session__match_find(list, count, output ? "output" : "input", value->name,
                                           &index, &session->error);
    if (result == QNNRT_OK)
        result = qnnrt_session__run_set(binding, output, index, value, &session->error);
    qnnrt_session__run_leave(session);
    return result;
}

QNNRT_SESSION_API qnnrt_result qnnrt_binding_input(qnnrt_binding *binding,
                                                   const qnnrt_value *value)
{
    return qnnrt_session__bind(binding, 0, value);
}

QNNRT_SESSION_API qnnrt_result qnnrt_binding_output(qnnrt_binding *binding,
                                                    const qnnrt_value *value)
{
    return qnnrt_session__bind(binding, 1, value);
}

QNNRT_SESSION_API qnnrt_result qnnrt_binding_run(qnnrt_binding *binding)
{
    qnnrt_session *session;
    qnnrt_result result;
    if (binding == NULL) return QNNRT_E_ARG;
    session = binding->session;
    if (!qnnrt_session__run_enter(session)) return QNNRT_E_BUSY;
    if (binding->missing == 0) {
        result = session->engine->run(binding->binding, &session->error);
        if (result != QNNRT_OK) qnnrt_session__load_told(session->engine, result, &session->error);
        else if (session->error.code != QNNRT_OK) qnnrt_session__good(&session->error);
    } else {
        result = qnnrt_session__run_missing(binding, &session->error);
    }
    binding->ran = result == QNNRT_OK;
    qnnrt_session__run_leave(session);
    return result;
}

QNNRT_SESSION_API qnnrt_result qnnrt_binding_get(qnnrt_binding *binding, const char *output,
                                                 qnnrt_value *value)
{
    qnnrt_session *session;
    qnnrt_result result = QNNRT_OK;
    size_t index = 0;
    if (binding == NULL) return QNNRT_E_ARG;
    session = binding->session;
    if (!qnnrt_session__run_enter(session)) return QNNRT_E_BUSY;
    qnnrt_session__good(&session->error);
    if (value == NULL || (output == NULL && session->facts.output_count != 1))
        result = qnnrt_session__fail(&session->error, QNNRT_E_ARG, "", "qnnrt_binding_get: %s",
                                     value == NULL ? "value is NULL" : "output is NULL");
    else if (output != NULL)
        result = qnnrt_session__match_find(session->facts.outputs, session->facts.output_count,
                                           "output", output, &index, &session->error);
    if (result == QNNRT_OK && !binding->ran)
        result = qnnrt_session__fail(&session->error, QNNRT_E_STATE, "", "qnnrt_binding_get: the"
                                     " binding has no result: no run has succeeded");
    if (result == QNNRT_OK) {
        memset(value, 0, sizeof(*value));
        result = session->engine->get(binding->binding, index, value, &session->error);
        value->name = session->facts.outputs[index].name;
        qnnrt_session__load_told(session->engine, result, &session->error);
    }
    qnnrt_session__run_leave(session);
    return result;
}

/* Find the tensor of each value of a list. map[i] receives its number. */
static qnnrt_result qnnrt_session__assign(const qnnrt_session_tensor *list, size_t count,
                                          int output, const qnnrt_value *values,
                                          size_t value_count, size_t i, size_t *index,
                                          qnnrt_error *err)
{
    const char *what = output ? "output" : "input";
    size_t k, other = 0;
    qnnrt_result result = QNNRT_OK;
    *index = i;
    if (values[i].name != NULL)
        result = qnnrt_session__match_find(list, count, what, values[i].name, index, err);
    else if (i >= count)
        result = qnnrt_session__fail(err, QNNRT_E_NOT_FOUND, "", "%s %lu does not exist: the model"
                                     " has %lu", what, (unsigned long)i, (unsigned long)count);
    if (result != QNNRT_OK) return result;
    for (k = 0; k < i && k < value_count; ++k) {
        other = k;
        if (values[k].name != NULL && strcmp(values[k].name, list[*index].name) != 0) continue;
        if (values[k].name != NULL || other == *index)
            return qnnrt_session__fail(err, QNNRT_E_ARG, "", "%s \"%.200s\" is given twice", what,
                                       list[*index].name);
    }
    return QNNRT_OK;
}

QNNRT_SESSION_API qnnrt_result qnnrt_session_run(qnnrt_session *session, const qnnrt_value *inputs,
                                                 size_t input_count, qnnrt_value *outputs,
                                                 size_t output_count)
{
    qnnrt_result result = QNNRT_OK;
    qnnrt_value none;
    qnnrt_error *err;
    size_t i, index;
    if (session == NULL) return QNNRT_E_ARG;
    if (!qnnrt_session__run_enter(session)) return QNNRT_E_BUSY;
    err = &session->error;
    qnnrt_session__good(err);
    memset(&none, 0, sizeof none);
    if ((inputs == NULL && input_count > 0) || outputs == NULL || output_count == 0)
        result = qnnrt_session__fail(err, QNNRT_E_ARG, "", "qnnrt_session_run: inputs or outputs is"
                                     " NULL, or no output is wanted");
    if (result == QNNRT_OK && session->own == NULL)
        result = qnnrt_session__run_make(session, &session->own, err);
    for (i = 0; i < session->facts.input_count && result == QNNRT_OK; ++i)
        if (session->own->placed[i])
            result = qnnrt_session__run_set(session->own, 0, i, &none, err);
    for (i = 0; i < session->facts.output_count && result == QNNRT_OK; ++i)
        if (session->own->placed[session->facts.input_count + i])
            result = qnnrt_session__run_set(session->own, 1, i, &none, err);
    for (i = 0; i < input_count && result == QNNRT_OK; ++i) {
        result = qnnrt_session__assign(session->facts.inputs, session->facts.input_count, 0, inputs,
                                       input_count, i, &index, err);
        if (result == QNNRT_OK)
            result = qnnrt_session__run_set(session->own, 0, index, &inputs[i], err);
    }
    for (i = 0; i < output_count && result == QNNRT_OK; ++i) {
        result = qnnrt_session__assign(session->facts.outputs, session->facts.output_count, 1,
                                       outputs, output_count, i, &index, err);
        if (result == QNNRT_OK)
            result = qnnrt_session__run_set(session->own, 1, index, &outputs[i], err);
    }
    if (result == QNNRT_OK && session->own->missing > 0)
        result = qnnrt_session__run_missing(session->own, err);
    if (result == QNNRT_OK)
        result = qnnrt_session__load_told(session->engine,
                                          session->engine->run(session->own->binding, err), err);
    for (i = 0; i < output_count && result == QNNRT_OK; ++i) {
        result = qnnrt_session__assign(session->facts.outputs, session->facts.output_count, 1,
                                       outputs, output_count, i, &index, err);
        if (result != QNNRT_OK) break;
        memset(&outputs[i], 0, sizeof outputs[i]);
        result = session->engine->get(session->own->binding, index, &outputs[i], err);
        qnnrt_session__load_told(session->engine, result, err);
        outputs[i].name = session->facts.outputs[index].name;
    }
    qnnrt_session__run_leave(session);
    return result;
}

QNNRT_SESSION_API qnnrt_result qnnrt_session_cancel(qnnrt_session *session)
{
    if (session == NULL) return QNNRT_E_ARG;
    __atomic_store_n(&session->stop, 1, __ATOMIC_RELEASE);
    if (session->engine->cancel == NULL) return QNNRT_E_UNSUPPORTED;
    session->engine->cancel(session->model);
    return QNNRT_OK;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_SESSION__IMPL_ONCE */
#endif /* QNNRT_SESSION_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.4.0   First version.
   --------------------------------------------------------------------------------------------- */
