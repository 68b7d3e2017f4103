/* qnnrt_session.h - v0.5.0 - run a model with any engine that can: ours, ONNX Runtime, OpenVINO

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_session.h"
       #define QNNRT_CACHE_IMPLEMENTATION
       #define QNNRT_SESSION_IMPLEMENTATION
       #include "qnnrt_session.h"
   qnnrt.h, qnnrt_json.h and qnnrt_cache.h lie beside this file or are found by the compiler. Link
   with -ldl. The engines are in tools/engines, and each is a header like this one.

       float image[3 * 224 * 224], scores[1000];
       const qnnrt_engine *engines[QNNRT_ENGINES];     // of tools/engines/qnnrt_engines.h
       qnnrt_session_desc desc = {0};
       qnnrt_value in = { .dtype = QNNRT_DTYPE_F32, .rank = 4, .dims = { 1, 3, 224, 224 },
                          .data = image, .bytes = sizeof(image) };
       qnnrt_value out = { .data = scores, .bytes = sizeof(scores) };
       desc.engines = qnnrt_engines_default(engines);
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
            folder. Policies may be hostile, too: the folder that one names as cache_dir is used
            with policy_cache_dir only.
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

   MANUAL

   Choice
       With engine "auto", all engines of the list that load this kind of model are candidates; with
       device "auto", the devices are npu, gpu, cpu, in this order. For each device, each engine is
       tried in the order of the list, and the first that loads the model is taken. A device that is
       named is the only one, unless allow_fallback adds "cpu" after it. "gpu" finds a device named
       "gpu", "gpu:..." or "cuda...". info.candidates says for each candidate why it was or was not
       taken; info.fallback is set when the device is not the one that was asked for, or the engine
       runs parts of the model elsewhere. Both are logged.

   Cache
       With cache_dir, compiled models are kept in a folder of qnnrt_cache.h. The key is made of the
       content of the model and of all files that it reads (external data, weights, also files and
       folders that are named by options), the name of a graph (.json), the engine, its version and
       build, the device, and all settings that change what is compiled. An entry that is damaged,
       or that the engine refuses, is made again, with a warning. A cache that cannot be used is a
       warning, too: the model loads without it. A file that changes while it is loaded is a
       warning, and nothing is stored. What killed processes of this user left there is removed;
       links are not followed.
       Without cache_dir nothing is written.

   Policies
       Kernel policy: {"preferences": {"Conv": "npu"}, "auto_strategy": 1, "default_precision":
       "fp16"}. preferences go to the engine. auto_strategy 0 takes the first candidate that loads
       (default); 1 loads all, runs each 1 + 5 times with zeros, and takes the one with the least
       median; 2 never chooses: engine and device must be named.
       Execution policy: {"target": "npu", "precision": "fp16", "static_shape": true,
       "fixed_shapes": {"x": [1, 3, 224, 224]}, "allow_fallback": false, "optimize_level": 3,
       "cache_compiled": true, "cache_dir": "/var/tmp/models", "compile_timeout_ms": 60000,
       "execution_timeout_ms": 1000}. static_shape needs fixed_shapes, and then no input may keep a
       free dimension. A cache_dir is an error unless policy_cache_dir is set, or cache_dir of the
       session, which wins. A timeout of 0 is no limit. A member that is absent changes nothing.
       What an engine cannot do it refuses by name: under "auto" the next candidate is tried. Fields
       of qnnrt_session_desc that are set win over policies, and precision over default_precision;
       what loses, or has no effect, is in info.warnings.

   ROOMS (search for the tag)
       >>config >>shape >>file >>match >>policy >>merge >>wire >>onnx >>key >>store >>find
       >>engine >>attempt >>bind >>choose >>batch >>public
*/
#ifndef QNNRT_SESSION_H
#define QNNRT_SESSION_H

#include "qnnrt.h"
#include "qnnrt_cache.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_session.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_SESSION_API
#define QNNRT_SESSION_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------- values and facts -- */

enum {
    QNNRT_SESSION_RANK      = 16,        /* most dimensions of a value */
    QNNRT_SESSION_WORKSPACE = 1 << 30    /* bytes of scratch, when desc does not say them */
};

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
    const qnnrt_quant *quant;            /* with desc.native_io: its encoding; or NULL */
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
    const char *version;                 /* "1.31.1", checked before any slot is read; of "qnn" that
                                            of qnnrt.h, and the libraries' are in `build` */
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
    uint64_t         workspace_bytes;    /* (default QNNRT_SESSION_WORKSPACE) */
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
    const char *const *warnings;         /* [warning_count] lines, such as settings without effect;
                                            the session logs them */
    size_t           warning_count;
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
   except cancel. Results: QNNRT_OK, or an error: err->code is what the function returns, and
   err->text has the library's own text in it, such as `cannot load "net.onnx": <its text>`; the
   engine's name is put in front of it. A text with another code is thrown away. Facts (`out`) are 0
   before the call. Values that set gets are checked against the model's facts before: name, dtype,
   rank, dims, bytes. Before a run, each input has been set that is not optional; an output that was
   not set has memory of the engine. What a function has not created it leaves NULL. An engine
   without a library may leave *library NULL, and close is not called then; *model may not be NULL.
   Files that are of no qnnrt_model_kind are refused before an engine is asked.
   tests/harness/session_engine.h has a small one. */
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

/* Open the library of an engine: for code that is one. A library is called STEM or STEM.<numbers>;
   in a folder the one with the highest numbers goes first, and STEM last.

   stem     "libonnxruntime.so"
   wanted   the option library_path: a file or a folder, with a slash; a name; or NULL
   usual    [] ended by NULL: folders that are searched without `wanted`, and then names for the
            system's search
   err      receives a line for each file that did not open, after its text; may be NULL

   A name, or without one the library, is searched in the folder of the program, in that of the
   shared object with this code, then by the system: with NULL, in the absolute folders of
   LD_LIBRARY_PATH and in `usual`, too. If LD_LIBRARY_PATH has an empty element, which means the
   current folder, the system's part is left out.
   Returns  what dlopen() returns, which the caller closes; NULL */
QNNRT_SESSION_API void *qnnrt_engine_find(const char *stem, const char *wanted,
                                          const char *const *usual, qnnrt_error *err);

/* Write the path of the file that holds an address, of a function of a library for example.
   Returns  1; 0 if it is unknown or too long, and out is "" */
QNNRT_SESSION_API int qnnrt_engine_path(const void *address, char *out, size_t room);

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
    int         native_io;               /* 1: quantized tensors are as stored (default 0: they
                                            are float32) */
    const qnnrt_session_option *options; size_t option_count;
    const qnnrt_session_shape  *shapes;  size_t shape_count;
    const char *kernel_policy;           /* JSON text (default NULL) */
    const char *execution_policy;        /* JSON text (default NULL). Fields above win, if set */
    qnnrt_hooks hooks;                   /* alloc, free, log */
    void      (*dispatch)(void *user, const qnnrt_dispatch *row);    /* after each run, a row for
                                            each step (default NULL: nothing is timed) */
    void       *dispatch_user;
    int         policy_cache_dir;        /* 1: execution_policy may name a cache_dir, which is made
                                            and written to (default 0: that is an error) */
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
            that is valid until the next run of the session; a value that the last run filled so
            is one without data again

   With desc.max_batch_size, first dimensions that are a multiple of the model's fixed ones are cut
   into slices that run one after the other; inputs with exactly the model's shape are given to each
   slice whole. An input whose first dimension is free could be meant either way: beside inputs that
   are cut it is QNNRT_E_MISMATCH, until a shape fixes it. An output whose first dimension is not
   that batch cannot be put together: it is QNNRT_E_MISMATCH.

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
   value->name must be set, except in a model with a single input. Values of a binding are not cut
   into slices: with a fixed batch, each run takes one; with a free one, max_batch_size holds.
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

/* ---------------------------------------------------------------------------------- policies -- */

typedef enum qnnrt_policy_kind {
    QNNRT_POLICY_KERNEL = 0, QNNRT_POLICY_EXECUTION
} qnnrt_policy_kind;

enum {
    QNNRT_POLICY_BYTES   = 65536,        /* most of a policy */
    QNNRT_POLICY_ENTRIES = 1024          /* most of preferences, and of fixed_shapes */
};

/* Check a policy without a model.

   text     JSON, see "Policies"
   warn     called with each warning, a line; may be NULL

   Returns  QNNRT_OK
            QNNRT_E_FORMAT       not valid JSON, a value of another type or out of range, or a
                                 member twice: the text has the offset, and both values
            QNNRT_E_UNSUPPORTED  a member that does not exist: the text names it
            QNNRT_E_LIMIT        over QNNRT_POLICY_BYTES or QNNRT_POLICY_ENTRIES
            QNNRT_E_ARG */
QNNRT_SESSION_API qnnrt_result qnnrt_policy_check(qnnrt_policy_kind kind, const char *text,
                                                  void (*warn)(void *user, const char *line),
                                                  void *user, qnnrt_error *err);

/* Merge two policies: what `over` says wins; in preferences and fixed_shapes, each entry does.

   base, over   JSON; NULL or "" is a policy that says nothing
   out, room    receive the merged policy, a string that ends with a newline
   bytes        receives its length without the NUL, also when room is too small; may be NULL

   Returns  as qnnrt_policy_check(), and QNNRT_E_LIMIT if room is too small: out is "" then */
QNNRT_SESSION_API qnnrt_result qnnrt_policy_merge(qnnrt_policy_kind kind, const char *base,
                                                  const char *over, char *out, size_t room,
                                                  size_t *bytes, qnnrt_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_SESSION_H, end of the declarations */

#ifdef QNNRT_SESSION_IMPLEMENTATION
#ifndef QNNRT_SESSION__IMPL_ONCE
#define QNNRT_SESSION__IMPL_ONCE

/* qnnrt.h includes the functions of qnnrt_json.h, unless QNNRT_NO_JSON is defined. */
#if defined(QNNRT_NO_JSON) && !defined(QNNRT_JSON_IMPLEMENTATION)
#define QNNRT_JSON_IMPLEMENTATION
#endif
#include "qnnrt_json.h"

#include <dirent.h>
#include <dlfcn.h>
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
   Needs: nothing     Knows nothing of: engines' functions, files of models, JSON
   ===================================================================================== */

enum {
    QNNRT_SESSION__PATH = 4096, QNNRT_SESSION__NAME = 256,
    QNNRT_SESSION__REASON = 600          /* of a candidate that failed, in bytes */
};

/* What policies say. Numbers are -1 where they say nothing. */
typedef struct qnnrt_session__policy {
    qnnrt_session_pair  *preferences;
    size_t               preference_count;
    qnnrt_session_shape *shapes;
    size_t               shape_count;
    const char          *target, *cache_dir;
    int                  auto_strategy, default_precision, precision, static_shape, allow_fallback,
                         optimize_level, cache_compiled;
    int64_t              compile_ms, run_ms;
} qnnrt_session__policy;

/* An engine of the list, with its library when it was opened. */
typedef struct qnnrt_session__engine {
    const qnnrt_engine   *table;
    void                 *library;
    qnnrt_engine_library  facts;
    qnnrt_engine_open     open;
    int                   tried;         /* 1: open was called */
    qnnrt_result          result;        /* of it */
    qnnrt_error           error;         /* why it could not be opened */
} qnnrt_session__engine;

/* A file whose content is in a key, as it was before it was read. */
typedef struct qnnrt_session__stamp {
    const char *path;
    int         there;
    struct stat facts;
} qnnrt_session__stamp;

/* A folder for files that an engine reads or writes, below the cache's. */
typedef struct qnnrt_session__scratch {
    char path[QNNRT_CACHE_PATH];
    char aside[QNNRT_CACHE_PATH];        /* the file to which it belongs ... */
    int  lock;                           /* ... which is open */
} qnnrt_session__scratch;

/* A model that was loaded, or tried, on a device. */
typedef struct qnnrt_session__attempt {
    qnnrt_session__engine  *engine;
    const char             *device;
    void                   *model;
    qnnrt_engine_model      facts;
    qnnrt_engine_load       load;
    qnnrt_session__scratch *scratch;     /* NULL: there is none */
    const char             *cache, *cache_key;
    int                     stage;       /* how far it came: see >>attempt */
    qnnrt_result            result;
    qnnrt_error             error;
    double                  us;          /* median of a run; < 0: not measured */
} qnnrt_session__attempt;

/* What qnnrt_session_run() uses again and again. */
typedef struct qnnrt_session__batch {
    size_t  *inputs, *outputs;           /* of each tensor: its place in the caller's list + 1, or
                                            0 */
    void   **memory;                     /* [outputs] of results that are put together */
    size_t  *room;                       /* [outputs] */
    qnnrt_value *wholes;                 /* [outputs] of a run in slices */
    qnnrt_value *given;                  /* [outputs] that the last run left in memory of the engine
                                            or of ours; data NULL: none */
    int64_t  rows;                       /* the model's fixed batch, by which inputs are cut */
    uint64_t nothing[2];                 /* where values without elements are */
} qnnrt_session__batch;

struct qnnrt_session {
    qnnrt_hooks             hooks;       /* alloc and free note what is refused, see >>config */
    qnnrt_hooks             caller;      /* those of the caller */
    size_t                  refused;     /* bytes for which there was no memory last */
    qnnrt_arena             arena;       /* memory that lives as long as the session */
    qnnrt_error             error;
    unsigned char           busy;        /* 1: a call uses the session; atomic */
    unsigned char           stop;        /* 1: qnnrt_session_cancel() was called; atomic */
    uint32_t                max_batch;
    const qnnrt_engine     *engine;      /* that was taken */
    void                   *model;
    qnnrt_engine_model      facts;
    struct qnnrt_binding   *own;         /* of qnnrt_session_run(); made with its first call */
    qnnrt_session__batch   *batch;       /* of it */
    size_t                  bindings;    /* of the caller */
    void                  (*dispatch)(void *user, const qnnrt_dispatch *row);
    void                   *dispatch_user;
    qnnrt_dispatch         *rows;        /* [row_room] */
    size_t                  row_room;
    int                   (*clock)(int, void *);
    qnnrt_session__engine  *engines;
    size_t                  engine_count;
    qnnrt_session__attempt *attempts;    /* [info.candidate_count] */
    qnnrt_session__attempt *taken;
    qnnrt_session_candidate *candidates;
    const char            **warnings;    /* [warning_room] */
    size_t                  warning_room;
    qnnrt_session__policy   policy;
    qnnrt_engine_load       load;        /* what is the same for all candidates */
    qnnrt_cache            *cache;       /* while the model is loaded; NULL: none */
    const char             *cache_dir, *cache_why;       /* why there is none */
    uint64_t                cache_bytes;
    qnnrt_cache_key         model_key;   /* of the model and its files, if model_keyed */
    int                     model_keyed;
    qnnrt_session__stamp   *stamps;      /* [stamp_room] of the files in the key of an attempt */
    size_t                  stamp_count, stamp_room;
    size_t                  model_stamps;        /* how many of them are in model_key */
    const char            **files;       /* that the model reads, relative to its folder */
    size_t                  file_count;
    qnnrt_session_info      info;
};

struct qnnrt_binding {
    qnnrt_session *session;
    void          *binding;              /* the engine's */
    size_t         missing;              /* inputs that are needed and not placed */
    int            ran;                  /* 1: the last run succeeded */
    unsigned char *placed;               /* [inputs + outputs] */
};

/* Clean each line of the text of an engine, which may have several. */
static void qnnrt_session__clean_lines(char *text)
{
    char *end;
    for (; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        qnnrt_text_clean(text);
        *end = '\n';
    }
    qnnrt_text_clean(text);
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
    qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory: requested %lu bytes, %llu available",
                    (unsigned long)bytes, (unsigned long long)qnnrt_session__available());
    return qnnrt_error_hint(err, QNNRT_E_MEMORY, "Free memory, or use a smaller model or batch.");
}

/* Allocate for a session, and note what there was no memory for: errors say it, whoever asked. */
static void *qnnrt_session__alloc(void *user, size_t bytes)
{
    qnnrt_session *session = (qnnrt_session *)user;
    const qnnrt_hooks *caller = &session->caller;
    void *data = caller->alloc != NULL ? caller->alloc(caller->alloc_user, bytes) : malloc(bytes);
    if (data == NULL) session->refused = bytes;
    return data;
}

static void qnnrt_session__free(void *user, void *data)
{
    qnnrt_hooks_free(&((qnnrt_session *)user)->caller, data);
}

/* Return memory of the arena; if it is NULL, fill the error first. Later calls may succeed. */
static void *qnnrt_session__kept(qnnrt_session *session, void *data, qnnrt_error *err)
{
    session->arena.failed = QNNRT_OK;
    if (data == NULL) qnnrt_session__fail_memory(err, session->refused);
    return data;
}

/* Return zeroed memory of count elements that lives as long as the session, or NULL after filling
   the error. */
static void *qnnrt_session__keep(qnnrt_session *session, size_t count, size_t size,
                                 qnnrt_error *err)
{
    return qnnrt_session__kept(session, qnnrt_arena_get(&session->arena, count, size), err);
}

/* Make room in an array, as qnnrt_arena_more() does. Return NULL after filling the error. */
static void *qnnrt_session__keep_more(qnnrt_session *session, void *array, size_t count,
                                      size_t *room, size_t size, qnnrt_error *err)
{
    return qnnrt_session__kept(session, qnnrt_arena_more(&session->arena, array, count, room, size),
                               err);
}

/* Copy a text. Return NULL after filling the error. */
static const char *qnnrt_session__keep_text(qnnrt_session *session, const char *text,
                                            qnnrt_error *err)
{
    return (const char *)qnnrt_session__kept(
        session, qnnrt_arena_text(&session->arena, text, strlen(text)), err);
}

/* Log a line. */
static void qnnrt_session__log(const qnnrt_session *session, qnnrt_log_level level,
                               const char *line)
{
    if (session->hooks.log != NULL)
        session->hooks.log(session->hooks.log_user, level, "session", 0, line);
}

/* Keep a warning, and log it. Return 0 after filling the error. */
__attribute__((cold, format(printf, 3, 4)))
static int qnnrt_session__warn(qnnrt_session *session, qnnrt_error *err, const char *format, ...)
{
    char text[1024];
    const char *kept, **more;
    va_list args;
    const size_t count = session->info.warning_count;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    qnnrt_text_clean(text);
    more = (const char **)qnnrt_session__keep_more(session, (void *)session->warnings, count,
                                                   &session->warning_room, sizeof(*more), err);
    kept = more != NULL ? qnnrt_session__keep_text(session, text, err) : NULL;
    if (kept == NULL) return 0;
    session->info.warnings = session->warnings = more;
    more[count] = kept;
    session->info.warning_count = count + 1;
    qnnrt_session__log(session, QNNRT_LOG_WARN, text);
    return 1;
}

/* Return a function of the running program: -std=c99 hides some of POSIX. */
static void *qnnrt_session__function(const char *name)
{
    void *self = dlopen(NULL, RTLD_NOW);
    void *found = self != NULL ? dlsym(self, name) : NULL;
    if (self != NULL) dlclose(self);
    return found;
}

/* Return the nanoseconds of a monotonic clock, or 0 if there is none. */
static uint64_t qnnrt_session__clock(const qnnrt_session *session)
{
    struct { long sec, nsec; } now = { 0, 0 };   /* the layout of the plain symbol */
    if (session->clock == NULL || session->clock(1 /* CLOCK_MONOTONIC */, (void *)&now) != 0)
        return 0;
    return (uint64_t)now.sec * 1000000000u + (uint64_t)now.nsec;
}

/* =====================================================================================
   SHAPE                                                                           >>shape
   Sizes and names of what values are.
   Needs: nothing     Knows nothing of: engines, sessions
   ===================================================================================== */

QNNRT_SESSION_API const char *qnnrt_precision_name(qnnrt_precision precision)
{
    return precision == QNNRT_PRECISION_FP32 ? "fp32"
         : precision == QNNRT_PRECISION_FP16 ? "fp16"
         : precision == QNNRT_PRECISION_INT8 ? "int8"
                                             : "default";
}

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
    *bytes = (size_t)(bits < 8 ? count / (8 / bits) + (count % (8 / bits) != 0)
                               : count * (bits / 8));
    return 1;
}

/* Write "float32[1,3,-1]". A rank over the most is cut. Return text. */
static const char *qnnrt_session__shape_text(qnnrt_dtype dtype, uint32_t rank, const int64_t *dims,
                                             int any_rank, char *text, size_t room)
{
    const uint32_t count = rank < QNNRT_SESSION_RANK ? rank : (uint32_t)QNNRT_SESSION_RANK;
    uint32_t i;
    char *at;
    snprintf(text, room, "%s%s", qnnrt_dtype_name(dtype), any_rank ? "[...]" : count == 0 ? "[]"
                                                                                          : "[");
    for (i = 0; !any_rank && i < count; ++i) {
        at = text + strlen(text);
        snprintf(at, room - (size_t)(at - text), "%lld%s", (long long)dims[i],
                 i + 1 < count ? "," : "]");
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
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, errno == ENOENT || errno == ENOTDIR ?
                                                QNNRT_E_NOT_FOUND : QNNRT_E_IO,
                                                "model \"%.900s\": %s", path, strerror(errno)),
                                "Check that it exists and that this process may read it.");
    if (S_ISDIR(facts.st_mode)) {
        *kind = QNNRT_MODEL_FOLDER;
        return QNNRT_OK;
    }
    if (!S_ISREG(facts.st_mode))
        return qnnrt_error_set(err, QNNRT_E_IO, "model \"%.900s\" is not a file or folder", path);
    for (i = 0; i < sizeof qnnrt_session__endings / sizeof qnnrt_session__endings[0]; ++i) {
        const size_t bytes = strlen(qnnrt_session__endings[i].text);
        if (length <= bytes || strcmp(path + length - bytes, qnnrt_session__endings[i].text) != 0)
            continue;
        *kind = qnnrt_session__endings[i].kind;
        return QNNRT_OK;
    }
    qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "model \"%.900s\": expected a folder, .bin, .json, "
                    ".onnx, .xml, .engine or .plan", path);
    return qnnrt_error_hint(err, QNNRT_E_UNSUPPORTED, "Rename the file by its format.");
}

/* Return true if a name from a file leads to a file in the folder of that file, or below it. */
static int qnnrt_session__file_inside(const char *name)
{
    size_t i, part = 0;
    if (name[0] == '\0' || name[0] == '/') return 0;
    for (i = 0;; ++i) {
        const unsigned char c = (unsigned char)name[i];
        if (c == '/' || c == '\0') {
            if (i - part == 2 && name[part] == '.' && name[part + 1] == '.') return 0;
            if (c == '\0') return i > part;
            part = i + 1;
        } else if (c < 0x20 || c == 0x7F || c == '\\') {
            return 0;
        }
    }
}

/* Join the folder of a path and a name. Return 0 if the result is too long. */
static int qnnrt_session__file_beside(const char *path, const char *name,
                                      char out[QNNRT_SESSION__PATH])
{
    const char *slash = strrchr(path, '/');
    const size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0, bytes = strlen(name) + 1;
    if (folder + bytes > QNNRT_SESSION__PATH) return 0;
    memcpy(out, path, folder);
    memcpy(out + folder, name, bytes);
    return 1;
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
    size_t i;
    for (i = 0; i < count; ++i) {
        if (strcmp(list[i].name, name) != 0) continue;
        *index = i;
        return QNNRT_OK;
    }
    if (count == 1)
        qnnrt_error_hint(err,
                         qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "no %s \"%.200s\"; the only %s is",
                                         what, name, what), "Use the name that the model has.");
    else
        qnnrt_error_hint(err,
                         qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "no %s \"%.200s\"; the %lu %ss "
                                         "are", what, name, (unsigned long)count, what),
                         "Use a name that the model has.");
    for (i = 0; i < count; ++i)
        qnnrt_error_add(err, "%s \"%.100s\"", i > 0 ? "," : "", list[i].name);
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
    if (fits && qnnrt_session_bytes(value->dtype, value->rank, value->dims, &bytes) &&
        (output ? value->bytes >= bytes : value->bytes == bytes)) {
        value->bytes = bytes;
        return QNNRT_OK;
    }
    qnnrt_session__shape_text(value->dtype, value->rank, value->dims, 0, has, sizeof has);
    qnnrt_session__shape_text(tensor->dtype, tensor->rank, tensor->dims, tensor->any_rank, wants,
                              sizeof wants);
    if (!fits)
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "%s \"%.200s\" expects %s, got %s", what,
                               tensor->name, wants, has);
    if (!qnnrt_session_bytes(value->dtype, value->rank, value->dims, &bytes))
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_MISMATCH, "%s \"%.200s\" is %s, which "
                                                "has no size", what, tensor->name, has),
                                "Give the dimensions of the value.");
    return qnnrt_error_set(err, QNNRT_E_MISMATCH, "%s \"%.200s\", %s, %s %lu bytes, got %lu", what,
                           tensor->name, has, output ? "needs room for" : "expects",
                           (unsigned long)bytes, (unsigned long)value->bytes);
}

/* =====================================================================================
   POLICY                                                                         >>policy
   Reads policies, and checks every member.
   Needs: >>shape     Knows nothing of: engines, files
   ===================================================================================== */

/* Where a policy is being read. */
typedef struct qnnrt_session__reading {
    qnnrt_json_reader      json;
    const char            *what;         /* "kernel policy" */
    const char            *text;         /* that is read */
    qnnrt_session         *session;      /* that keeps lists and texts; NULL: nothing is kept */
    qnnrt_session__policy *policy;
    qnnrt_error           *err;
} qnnrt_session__reading;

typedef struct qnnrt_session__member { const char *name; int id; } qnnrt_session__member;

enum {
    QNNRT_SESSION__PREFERENCES, QNNRT_SESSION__STRATEGY, QNNRT_SESSION__DEFAULT_PRECISION,
    QNNRT_SESSION__TARGET, QNNRT_SESSION__PRECISION, QNNRT_SESSION__STATIC, QNNRT_SESSION__SHAPES,
    QNNRT_SESSION__FALLBACK, QNNRT_SESSION__LEVEL, QNNRT_SESSION__COMPILED, QNNRT_SESSION__DIR,
    QNNRT_SESSION__COMPILE_MS, QNNRT_SESSION__RUN_MS
};
static const qnnrt_session__member qnnrt_session__kernel_members[] = {
    { "preferences", QNNRT_SESSION__PREFERENCES }, { "auto_strategy", QNNRT_SESSION__STRATEGY },
    { "default_precision", QNNRT_SESSION__DEFAULT_PRECISION }, { NULL, 0 }
};
static const qnnrt_session__member qnnrt_session__execution_members[] = {
    { "target", QNNRT_SESSION__TARGET }, { "precision", QNNRT_SESSION__PRECISION },
    { "static_shape", QNNRT_SESSION__STATIC }, { "fixed_shapes", QNNRT_SESSION__SHAPES },
    { "allow_fallback", QNNRT_SESSION__FALLBACK }, { "optimize_level", QNNRT_SESSION__LEVEL },
    { "cache_compiled", QNNRT_SESSION__COMPILED }, { "cache_dir", QNNRT_SESSION__DIR },
    { "compile_timeout_ms", QNNRT_SESSION__COMPILE_MS },
    { "execution_timeout_ms", QNNRT_SESSION__RUN_MS }, { NULL, 0 }
};

static const qnnrt_session__member *qnnrt_session__policy_members(qnnrt_policy_kind kind)
{
    return kind == QNNRT_POLICY_KERNEL ? qnnrt_session__kernel_members
                                       : qnnrt_session__execution_members;
}

/* Set all to "says nothing". */
static void qnnrt_session__policy_clear(qnnrt_session__policy *policy)
{
    memset(policy, 0, sizeof(*policy));
    policy->auto_strategy = policy->default_precision = policy->precision = policy->static_shape
        = policy->allow_fallback = policy->optimize_level = policy->cache_compiled = -1;
    policy->compile_ms = policy->run_ms = -1;
}

/* Report a value that is not what it must be, or invalid JSON. */
static int qnnrt_session__policy_wrong(qnnrt_session__reading *r, const char *name,
                                       const char *expected)
{
    static const char *const types[] = { "nothing", "null", "false", "true", "a number", "a string",
                                         "an array", "an object" };
    const qnnrt_json_reader *json = &r->json;
    const int plain = json->type == QNNRT_JSON_NUMBER || json->type == QNNRT_JSON_STRING;
    const char *place = plain ? json->value.text
                              : json->key.text != NULL ? json->key.text : r->text;
    if (json->error != NULL)
        qnnrt_error_set(r->err, QNNRT_E_FORMAT, "%s: byte %lu: %s", r->what,
                        (unsigned long)json->error_at, json->error);
    else if (plain)
        qnnrt_error_set(r->err, QNNRT_E_FORMAT, "%s: byte %lu: \"%s\" is %s%.*s%s, expected %s",
                        r->what, (unsigned long)(place - r->text), name, json->type ==
                        QNNRT_JSON_STRING ? "\"" : "",
                        (int)(json->value.bytes < 60 ? json->value.bytes : 60), json->value.text,
                        json->type == QNNRT_JSON_STRING ? "\"" : "", expected);
    else
        qnnrt_error_set(r->err, QNNRT_E_FORMAT, "%s: byte %lu: \"%s\" is %s, expected %s", r->what,
                        (unsigned long)(place - r->text), name, types[json->type], expected);
    return 0;
}

/* Copy a string of JSON that names something. Return 0 after filling the error. */
static int qnnrt_session__policy_name(qnnrt_session__reading *r, const qnnrt_json_text *from,
                                      const char *what, char out[QNNRT_SESSION__PATH])
{
    size_t bytes;
    if (from->bytes >= QNNRT_SESSION__PATH)
        return qnnrt_error_set(r->err, QNNRT_E_LIMIT, "%s: %s has %lu bytes, at most %d", r->what,
                               what, (unsigned long)from->bytes, QNNRT_SESSION__PATH -
                               1) == QNNRT_OK;
    bytes = qnnrt_json_copy(from, out);
    if (bytes == 0 || strlen(out) != bytes)
        return qnnrt_error_set(r->err, QNNRT_E_FORMAT, "%s: %s is empty or has a zero byte",
                               r->what, what) == QNNRT_OK;
    if (strcmp(what, "target") != 0) return 1;
    while (bytes-- > 0)                          /* a device is logged as it is */
        if ((unsigned char)out[bytes] < ' ' || out[bytes] == 127)
            return qnnrt_error_set(r->err, QNNRT_E_FORMAT, "%s: %s has a control character, byte "
                                   "%lu", r->what, what, (unsigned long)bytes) ==
                   QNNRT_OK;
    return 1;
}

/* Return true if the member of the object at `begin` that has this key was read before: it is one
   of the first `count`. */
static int qnnrt_session__policy_twice(const qnnrt_json_reader *begin, size_t count,
                                       const char *key)
{
    qnnrt_json_reader again = *begin;
    for (; count > 0 && qnnrt_json_more(&again); --count) {
        if (qnnrt_json_is(&again.key, key)) return 1;
        if (!qnnrt_json_skip(&again)) return 0;
    }
    return 0;
}

/* Return 0 after filling the error if an object has as many members as it may have. */
static int qnnrt_session__policy_room(qnnrt_session__reading *r, const char *name, size_t count)
{
    return count < QNNRT_POLICY_ENTRIES ||
           qnnrt_error_set(r->err, QNNRT_E_LIMIT, "%s: %s has more than %d members", r->what, name,
                           QNNRT_POLICY_ENTRIES) == QNNRT_OK;
}

/* Read a string, and keep it. */
static int qnnrt_session__policy_text(qnnrt_session__reading *r, const char *name, const char **out)
{
    char text[QNNRT_SESSION__PATH];
    if (qnnrt_json_value(&r->json) != QNNRT_JSON_STRING)
        return qnnrt_session__policy_wrong(r, name, "a string");
    if (!qnnrt_session__policy_name(r, &r->json.value, name, text)) return 0;
    if (r->session == NULL) *out = "";
    else *out = qnnrt_session__keep_text(r->session, text, r->err);
    return *out != NULL;
}

static int qnnrt_session__policy_bool(qnnrt_session__reading *r, const char *name, int *out)
{
    const qnnrt_json_type type = qnnrt_json_value(&r->json);
    if (type != QNNRT_JSON_TRUE && type != QNNRT_JSON_FALSE)
        return qnnrt_session__policy_wrong(r, name, "true or false");
    *out = type == QNNRT_JSON_TRUE;
    return 1;
}

static int qnnrt_session__policy_number(qnnrt_session__reading *r, const char *name, uint64_t most,
                                        const char *expected, uint64_t *out)
{
    if (qnnrt_json_value(&r->json) != QNNRT_JSON_NUMBER || !qnnrt_json_u64(&r->json.value, out) ||
        *out > most)
        return qnnrt_session__policy_wrong(r, name, expected);
    return 1;
}

static int qnnrt_session__policy_precision(qnnrt_session__reading *r, const char *name, int *out)
{
    int i;
    if (qnnrt_json_value(&r->json) == QNNRT_JSON_STRING)
        for (i = QNNRT_PRECISION_DEFAULT; i <= QNNRT_PRECISION_INT8; ++i) {
            if (!qnnrt_json_is(&r->json.value, qnnrt_precision_name((qnnrt_precision)i))) continue;
            *out = i;
            return 1;
        }
    return qnnrt_session__policy_wrong(r, name, "\"fp32\", \"fp16\", \"int8\" or \"default\"");
}

/* Count the members of the object that begins here. Its content is not checked. */
static size_t qnnrt_session__policy_count(const qnnrt_json_reader *begin)
{
    qnnrt_json_reader again = *begin;
    size_t count = 0;
    while (qnnrt_json_more(&again) && qnnrt_json_skip(&again)) ++count;
    return count;
}

/* Read {"Conv": "npu"}. */
static int qnnrt_session__policy_preferences(qnnrt_session__reading *r)
{
    qnnrt_session__policy *policy = r->policy;
    qnnrt_json_reader begin;
    char key[QNNRT_SESSION__PATH];
    if (qnnrt_json_value(&r->json) != QNNRT_JSON_OBJECT)
        return qnnrt_session__policy_wrong(r, "preferences", "an object of operators and kernels");
    begin = r->json;
    if (r->session != NULL) {
        policy->preferences = (qnnrt_session_pair *)qnnrt_session__keep(
            r->session, qnnrt_session__policy_count(&begin), sizeof(*policy->preferences), r->err);
        if (policy->preferences == NULL) return 0;
    }
    for (policy->preference_count = 0; qnnrt_json_more(&r->json); ++policy->preference_count) {
        const char *value = NULL;
        if (!qnnrt_session__policy_name(r, &r->json.key, "a key of preferences", key)) return 0;
        if (!qnnrt_session__policy_room(r, "preferences", policy->preference_count)) return 0;
        if (qnnrt_session__policy_twice(&begin, policy->preference_count, key))
            return qnnrt_error_set(r->err, QNNRT_E_FORMAT, "%s: preferences has \"%.200s\" twice",
                                   r->what, key) == QNNRT_OK;
        if (!qnnrt_session__policy_text(r, "a kernel of preferences", &value)) return 0;
        if (r->session == NULL) continue;
        policy->preferences[policy->preference_count].value = value;
        value = qnnrt_session__keep_text(r->session, key, r->err);
        if (value == NULL) return 0;
        policy->preferences[policy->preference_count].key = value;
    }
    return 1;
}

/* Read {"x": [1, 3, 224, 224]}. */
static int qnnrt_session__policy_shapes(qnnrt_session__reading *r)
{
    qnnrt_session__policy *policy = r->policy;
    qnnrt_json_reader begin;
    char key[QNNRT_SESSION__PATH];
    if (qnnrt_json_value(&r->json) != QNNRT_JSON_OBJECT)
        return qnnrt_session__policy_wrong(r, "fixed_shapes", "an object of inputs and dimensions");
    begin = r->json;
    if (r->session != NULL) {
        policy->shapes = (qnnrt_session_shape *)qnnrt_session__keep(
            r->session, qnnrt_session__policy_count(&begin), sizeof(*policy->shapes), r->err);
        if (policy->shapes == NULL) return 0;
    }
    for (policy->shape_count = 0; qnnrt_json_more(&r->json); ++policy->shape_count) {
        qnnrt_session_shape shape;
        memset(&shape, 0, sizeof shape);
        if (!qnnrt_session__policy_name(r, &r->json.key, "a key of fixed_shapes", key)) return 0;
        if (!qnnrt_session__policy_room(r, "fixed_shapes", policy->shape_count)) return 0;
        if (qnnrt_session__policy_twice(&begin, policy->shape_count, key))
            return qnnrt_error_set(r->err, QNNRT_E_FORMAT, "%s: fixed_shapes has \"%.200s\" twice",
                                   r->what, key) == QNNRT_OK;
        if (qnnrt_json_value(&r->json) != QNNRT_JSON_ARRAY)
            return qnnrt_session__policy_wrong(r, key, "an array of dimensions");
        while (qnnrt_json_more(&r->json)) {
            uint64_t dim = 0;
            if (!qnnrt_session__policy_number(r, key, INT64_MAX, "dimensions from 0", &dim))
                return 0;
            if (shape.rank == QNNRT_SESSION_RANK)
                return qnnrt_error_set(r->err, QNNRT_E_LIMIT, "%s: fixed_shapes: \"%.200s\" has "
                                       "more than %d dimensions", r->what, key,
                                       QNNRT_SESSION_RANK) == QNNRT_OK;
            shape.dims[shape.rank++] = (int64_t)dim;
        }
        if (shape.rank == 0 && r->json.error == NULL)
            return qnnrt_error_set(r->err, QNNRT_E_FORMAT, "%s: fixed_shapes: \"%.200s\" has no "
                                   "dimensions", r->what, key) == QNNRT_OK;
        if (r->session == NULL) continue;
        shape.name = qnnrt_session__keep_text(r->session, key, r->err);
        if (shape.name == NULL) return 0;
        policy->shapes[policy->shape_count] = shape;
    }
    return 1;
}

/* Read the value of a member. */
static int qnnrt_session__policy_member(qnnrt_session__reading *r, const char *name, int id)
{
    qnnrt_session__policy *policy = r->policy;
    uint64_t number = 0;
    int good = 1;
    switch (id) {
    case QNNRT_SESSION__PREFERENCES: return qnnrt_session__policy_preferences(r);
    case QNNRT_SESSION__SHAPES: return qnnrt_session__policy_shapes(r);
    case QNNRT_SESSION__TARGET: return qnnrt_session__policy_text(r, name, &policy->target);
    case QNNRT_SESSION__DIR: return qnnrt_session__policy_text(r, name, &policy->cache_dir);
    case QNNRT_SESSION__STATIC: return qnnrt_session__policy_bool(r, name, &policy->static_shape);
    case QNNRT_SESSION__FALLBACK:
        return qnnrt_session__policy_bool(r, name, &policy->allow_fallback);
    case QNNRT_SESSION__COMPILED:
        return qnnrt_session__policy_bool(r, name, &policy->cache_compiled);
    case QNNRT_SESSION__PRECISION:
        return qnnrt_session__policy_precision(r, name, &policy->precision);
    case QNNRT_SESSION__DEFAULT_PRECISION:
        return qnnrt_session__policy_precision(r, name, &policy->default_precision);
    case QNNRT_SESSION__STRATEGY:
        good = qnnrt_session__policy_number(r, name, 2, "0, 1 or 2", &number);
        policy->auto_strategy = (int)number;
        return good;
    case QNNRT_SESSION__LEVEL:
        good = qnnrt_session__policy_number(r, name, 3, "0, 1, 2 or 3", &number);
        policy->optimize_level = (int)number;
        return good;
    default:
        good = qnnrt_session__policy_number(r, name, UINT32_MAX, "milliseconds from 0", &number);
        if (id == QNNRT_SESSION__COMPILE_MS) policy->compile_ms = (int64_t)number;
        else policy->run_ms = (int64_t)number;
        return good;
    }
}

/* Read a policy into one that was cleared or read before. Texts and lists are kept if there is a
   session. */
static qnnrt_result qnnrt_session__policy_read(qnnrt_policy_kind kind, const char *text,
                                               qnnrt_session *session,
                                               qnnrt_session__policy *policy, qnnrt_error *err)
{
    const qnnrt_session__member *members = qnnrt_session__policy_members(kind), *member;
    qnnrt_session__reading r;
    const size_t bytes = strlen(text);
    unsigned seen = 0;
    r.what = kind == QNNRT_POLICY_KERNEL ? "kernel policy" : "execution policy";
    r.text = text;
    r.session = session;
    r.policy = policy;
    r.err = err;
    if (bytes > QNNRT_POLICY_BYTES)
        return qnnrt_error_set(err, QNNRT_E_LIMIT, "%s: it has %lu bytes, at most %d", r.what,
                               (unsigned long)bytes, QNNRT_POLICY_BYTES);
    qnnrt_json_begin(&r.json, text, bytes, NULL);
    if (qnnrt_json_value(&r.json) != QNNRT_JSON_OBJECT) {
        qnnrt_session__policy_wrong(&r, "the policy", "an object");
        return err->code;
    }
    while (qnnrt_json_more(&r.json)) {
        for (member = members; member->name != NULL; ++member)
            if (qnnrt_json_is(&r.json.key, member->name)) break;
        if (member->name == NULL) {
            qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s: there is no member \"%.*s\"; those that "
                            "exist are", r.what,
                            (int)(r.json.key.bytes < 200 ? r.json.key.bytes : 200),
                            r.json.key.text);
            qnnrt_error_hint(err, QNNRT_E_UNSUPPORTED, "Remove the member, or correct its name.");
            for (member = members; member->name != NULL; ++member)
                qnnrt_error_add(err, "%s %s", member > members ? "," : "", member->name);
            return QNNRT_E_UNSUPPORTED;
        }
        if ((seen & 1u << member->id) != 0)
            return qnnrt_error_set(err, QNNRT_E_FORMAT, "%s: byte %lu: \"%s\" is there twice",
                                   r.what, (unsigned long)(r.json.key.text - text), member->name);
        seen |= 1u << member->id;
        if (!qnnrt_session__policy_member(&r, member->name, member->id)) return err->code;
    }
    if (!qnnrt_json_end(&r.json)) {
        qnnrt_session__policy_wrong(&r, "the end", "nothing");
        return err->code;
    }
    return QNNRT_OK;
}

/* Check what only a whole policy can have wrong. */
static qnnrt_result qnnrt_session__policy_whole(const qnnrt_session__policy *policy,
                                                qnnrt_error *err)
{
    if (policy->static_shape == 1 && policy->shape_count == 0)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_FORMAT, "execution policy: "
                                                "static_shape is true, but fixed_shapes is missing "
                                                "or empty"), "Add fixed_shapes with all inputs.");
    return QNNRT_OK;
}

/* Set *dir to the folder of a policy, or to NULL. The policy may be hostile: its folder is for a
   caller who asked for it. Return 0 after filling the error. */
static int qnnrt_session__policy_folder(const qnnrt_session__policy *policy,
                                        const qnnrt_session_desc *desc, const char **dir,
                                        qnnrt_error *err)
{
    *dir = policy->cache_compiled != 0 ? policy->cache_dir : NULL;
    if (*dir == NULL || desc->policy_cache_dir) return 1;
    qnnrt_error_hint(err,
                     qnnrt_error_set(err, QNNRT_E_ARG, "execution policy: cache_dir is \"%.600s\", "
                                     "and policies are not allowed to choose the folder", *dir),
                     "Set cache_dir of the session, or policy_cache_dir if the policy is yours.");
    return 0;
}

/* Return warning i of a policy that was read, or NULL. */
static const char *qnnrt_session__policy_warning(qnnrt_policy_kind kind,
                                                 const qnnrt_session__policy *policy, size_t i)
{
    const char *all[8];
    size_t count = 0;
    if (kind == QNNRT_POLICY_EXECUTION) {
        if (policy->shape_count > 0 && policy->static_shape != 1)
            all[count++] = "execution policy: fixed_shapes has no effect without static_shape";
        if (policy->cache_dir != NULL && policy->cache_compiled == 0)
            all[count++] = "execution policy: cache_dir has no effect, cache_compiled is false";
        if (policy->cache_dir == NULL && policy->cache_compiled == 1)
            all[count++] = "execution policy: cache_compiled has no effect without a cache_dir";
        if (policy->compile_ms == 0)
            all[count++] = "execution policy: compile_timeout_ms is 0, which is no limit";
        if (policy->run_ms == 0)
            all[count++] = "execution policy: execution_timeout_ms is 0, which is no limit";
    } else if (policy->preferences != NULL && policy->preference_count == 0) {
        all[count++] = "kernel policy: preferences is empty";
    }
    return i < count ? all[i] : NULL;
}

/* =====================================================================================
   MERGE                                                                           >>merge
   Writes two policies as one.
   Needs: >>policy     Knows nothing of: engines, files, sessions
   ===================================================================================== */

typedef struct qnnrt_session__text { char *out; size_t room, bytes; } qnnrt_session__text;

static int qnnrt_session__merge_write(void *user, const char *text, size_t bytes)
{
    qnnrt_session__text *to = (qnnrt_session__text *)user;
    if (to->bytes < to->room && bytes < to->room - to->bytes)
        memcpy(to->out + to->bytes, text, bytes);
    to->bytes += bytes;
    return 1;
}

/* Write the next value: a number, bool or string, or an array of numbers. It was checked. */
static void qnnrt_session__merge_value(qnnrt_json_reader *from, qnnrt_json_writer *to)
{
    char text[QNNRT_SESSION__PATH];
    uint64_t number;
    switch (qnnrt_json_value(from)) {
    case QNNRT_JSON_TRUE: qnnrt_json_write_bool(to, 1); break;
    case QNNRT_JSON_FALSE: qnnrt_json_write_bool(to, 0); break;
    case QNNRT_JSON_STRING:
        qnnrt_json_copy(&from->value, text);
        qnnrt_json_write_string(to, text);
        break;
    case QNNRT_JSON_NUMBER:
        qnnrt_json_u64(&from->value, &number);
        qnnrt_json_write_u64(to, number);
        break;
    case QNNRT_JSON_ARRAY:
        qnnrt_json_write_array(to, 1);
        while (qnnrt_json_more(from))
            if (qnnrt_json_value_u64(from, &number)) qnnrt_json_write_u64(to, number);
            else if (!qnnrt_json_skip(from)) break;
        qnnrt_json_write_close(to);
        break;
    default: break;
    }
}

/* Go to the value of a member. Return 0 if there is none. */
static int qnnrt_session__merge_find(const qnnrt_json_reader *object, const char *key,
                                     qnnrt_json_reader *at)
{
    *at = *object;
    while (qnnrt_json_more(at)) {
        if (qnnrt_json_is(&at->key, key)) return 1;
        if (!qnnrt_json_skip(at)) return 0;
    }
    return 0;
}

/* Write the members of an object, without those that `except` has. Each may be NULL. */
static void qnnrt_session__merge_members(const qnnrt_json_reader *object,
                                         const qnnrt_json_reader *except, qnnrt_json_writer *to)
{
    qnnrt_json_reader at, found;
    char key[QNNRT_SESSION__PATH];
    if (object == NULL) return;
    at = *object;
    while (qnnrt_json_more(&at)) {
        qnnrt_json_copy(&at.key, key);
        if (except != NULL && qnnrt_session__merge_find(except, key, &found)) {
            if (!qnnrt_json_skip(&at)) return;
            continue;
        }
        qnnrt_json_write_key(to, key);
        qnnrt_session__merge_value(&at, to);
    }
}

QNNRT_SESSION_API qnnrt_result qnnrt_policy_merge(qnnrt_policy_kind kind, const char *base,
                                                  const char *over, char *out, size_t room,
                                                  size_t *bytes, qnnrt_error *err)
{
    const char *texts[2];
    const qnnrt_session__member *member;
    qnnrt_session__policy policy;
    qnnrt_json_reader roots[2];
    qnnrt_json_writer writer;
    qnnrt_session__text to;
    qnnrt_error own;
    size_t i;
    if (err == NULL) err = &own;
    qnnrt_error_clear(err);
    if (bytes != NULL) *bytes = 0;
    if (out != NULL && room > 0) out[0] = '\0';
    if ((out == NULL && room > 0) ||
        (kind != QNNRT_POLICY_KERNEL && kind != QNNRT_POLICY_EXECUTION))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_policy_merge: out is NULL, or kind is "
                               "unknown");
    texts[0] = base != NULL && base[0] != '\0' ? base : "{}";
    texts[1] = over != NULL && over[0] != '\0' ? over : "{}";
    for (i = 0; i < 2; ++i) {
        qnnrt_session__policy_clear(&policy);
        if (qnnrt_session__policy_read(kind, texts[i], NULL, &policy, err) != QNNRT_OK)
            return err->code;
        qnnrt_json_begin(&roots[i], texts[i], strlen(texts[i]), NULL);
        qnnrt_json_value(&roots[i]);
    }
    to.out = out;
    to.room = room;
    to.bytes = 0;
    qnnrt_json_write_begin(&writer, qnnrt_session__merge_write, &to, 0);
    qnnrt_json_write_object(&writer, 0);
    for (member = qnnrt_session__policy_members(kind); member->name != NULL; ++member) {
        qnnrt_json_reader at[2];
        int has[2];
        for (i = 0; i < 2; ++i)
            has[i] = qnnrt_session__merge_find(&roots[i], member->name, &at[i]);
        if (!has[0] && !has[1]) continue;
        qnnrt_json_write_key(&writer, member->name);
        if (member->id != QNNRT_SESSION__PREFERENCES && member->id != QNNRT_SESSION__SHAPES) {
            qnnrt_session__merge_value(&at[has[1]], &writer);
            continue;
        }
        for (i = 0; i < 2; ++i)
            if (has[i]) qnnrt_json_value(&at[i]);
        qnnrt_json_write_object(&writer, 0);
        qnnrt_session__merge_members(has[0] ? &at[0] : NULL, has[1] ? &at[1] : NULL, &writer);
        qnnrt_session__merge_members(has[1] ? &at[1] : NULL, NULL, &writer);
        qnnrt_json_write_close(&writer);
    }
    qnnrt_json_write_close(&writer);
    if (!qnnrt_json_write_end(&writer))
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "cannot write the policy: %s", writer.error !=
                               NULL ? writer.error : "unknown");
    if (bytes != NULL) *bytes = to.bytes;
    if (to.bytes < room) {
        out[to.bytes] = '\0';
        return QNNRT_OK;
    }
    if (out != NULL && room > 0) out[0] = '\0';
    return qnnrt_error_set(err, QNNRT_E_LIMIT, "the policy has %lu bytes, and room for %lu",
                           (unsigned long)to.bytes + 1, (unsigned long)room);
}

/* =====================================================================================
   WIRE                                                                             >>wire
   Reads the fields of a protobuf file, which may be hostile, through a window. Lengths are
   checked against what is around them.
   Needs: nothing     Knows nothing of: what the fields mean
   ===================================================================================== */

enum { QNNRT_SESSION__WINDOW = 16384 };

typedef struct qnnrt_session__wire {
    unsigned char *window;               /* [QNNRT_SESSION__WINDOW] */
    int            fd;
    uint64_t       bytes, at;            /* of the file; where reading goes on */
    uint64_t       begin;                /* of the window in the file */
    size_t         filled;
    const char    *wrong;                /* NULL, or the first error */
} qnnrt_session__wire;

typedef struct qnnrt_session__field {
    uint32_t number, type;               /* 0 varint, 1 and 5: 8 and 4 bytes, 2: a length */
    uint64_t value;                      /* of type 0 */
    uint64_t begin, end;                 /* of type 2, in the file */
} qnnrt_session__field;

static int qnnrt_session__wire_wrong(qnnrt_session__wire *wire, const char *why)
{
    if (wire->wrong == NULL) wire->wrong = why;
    return 0;
}

/* Return the next byte, or -1. */
static int qnnrt_session__wire_byte(qnnrt_session__wire *wire)
{
    if (wire->at - wire->begin >= wire->filled || wire->at < wire->begin) {
        ptrdiff_t got = -1;
        if (wire->at >= wire->bytes || lseek(wire->fd, (off_t)wire->at, SEEK_SET) < 0) return -1;
        do got = read(wire->fd, wire->window, QNNRT_SESSION__WINDOW);
        while (got < 0 && errno == EINTR);
        wire->begin = wire->at;
        wire->filled = got > 0 ? (size_t)got : 0;
        if (wire->filled == 0) return -1;
    }
    return wire->window[wire->at++ - wire->begin];
}

static int qnnrt_session__wire_varint(qnnrt_session__wire *wire, uint64_t end, uint64_t *out)
{
    unsigned shift;
    *out = 0;
    for (shift = 0; shift < 70; shift += 7) {
        const int byte = wire->at < end ? qnnrt_session__wire_byte(wire) : -1;
        if (byte < 0) return qnnrt_session__wire_wrong(wire, "it is cut short");
        if (shift < 64) *out |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0) return 1;
    }
    return qnnrt_session__wire_wrong(wire, "a number has no end");
}

/* Read the next field of a message that ends at `end`, and go after it. Return 0 at the end, and
   after an error. */
static int qnnrt_session__wire_field(qnnrt_session__wire *wire, uint64_t end,
                                     qnnrt_session__field *field)
{
    uint64_t tag, size = 0;
    if (wire->wrong != NULL || wire->at >= end) return 0;
    if (!qnnrt_session__wire_varint(wire, end, &tag)) return 0;
    field->number = (uint32_t)(tag >> 3 & 0x1FFFFFFF);
    field->type = (uint32_t)(tag & 7);
    if (tag >> 32 != 0 || field->number == 0)
        return qnnrt_session__wire_wrong(wire, "a field has no number");
    switch (field->type) {
    case 0: return qnnrt_session__wire_varint(wire, end, &field->value);
    case 1: size = 8; break;
    case 2:
        if (!qnnrt_session__wire_varint(wire, end, &size)) return 0;
        break;
    case 5: size = 4; break;
    default: return qnnrt_session__wire_wrong(wire, "a field has an unknown type");
    }
    if (size > end - wire->at)
        return qnnrt_session__wire_wrong(wire, "a field is longer than what is around it");
    field->begin = wire->at;
    field->end = wire->at += size;
    return 1;
}

/* Copy a text. Return 0 after an error, and if it is empty, too long or has a zero byte. */
static int qnnrt_session__wire_text(qnnrt_session__wire *wire, const qnnrt_session__field *field,
                                    char *out, size_t room)
{
    const uint64_t back = wire->at;
    size_t i, bytes;
    out[0] = '\0';
    if (field->type != 2 || field->end - field->begin >= room) return 0;
    bytes = (size_t)(field->end - field->begin);
    wire->at = field->begin;
    for (i = 0; i < bytes; ++i) {
        const int byte = qnnrt_session__wire_byte(wire);
        if (byte <= 0) break;
        out[i] = (char)byte;
    }
    out[i] = '\0';
    wire->at = back;
    return i == bytes && bytes > 0;
}

/* =====================================================================================
   ONNX                                                                             >>onnx
   Finds the files that an ONNX model reads: external data of tensors, and binaries of
   EPContext nodes. What decides is that a name is there, not whether an engine will use it.
   Needs: >>file >>wire     Knows nothing of: engines, caches
   ===================================================================================== */

enum {
    QNNRT_SESSION__DEPTH = 100,          /* of messages; protobuf's own limit */
    QNNRT_SESSION__SLOTS = 8192, QNNRT_SESSION__FILES = QNNRT_SESSION__SLOTS / 2
};

/* Messages of ONNX that lead to tensors. */
typedef enum qnnrt_session__message {
    QNNRT_SESSION__NO_MESSAGE, QNNRT_SESSION__MODEL, QNNRT_SESSION__GRAPH, QNNRT_SESSION__NODE,
    QNNRT_SESSION__ATTRIBUTE, QNNRT_SESSION__TENSOR, QNNRT_SESSION__SPARSE, QNNRT_SESSION__ENTRY,
    QNNRT_SESSION__FUNCTION, QNNRT_SESSION__TRAINING
} qnnrt_session__message;

typedef struct qnnrt_session__leads { qnnrt_session__message from; uint32_t field;
                                      qnnrt_session__message to; } qnnrt_session__leads;

static const qnnrt_session__leads qnnrt_session__onnx_leads[] = {
    { QNNRT_SESSION__MODEL, 7, QNNRT_SESSION__GRAPH },
    { QNNRT_SESSION__MODEL, 20, QNNRT_SESSION__TRAINING },
    { QNNRT_SESSION__MODEL, 25, QNNRT_SESSION__FUNCTION },
    { QNNRT_SESSION__TRAINING, 1, QNNRT_SESSION__GRAPH },
    { QNNRT_SESSION__TRAINING, 2, QNNRT_SESSION__GRAPH },
    { QNNRT_SESSION__FUNCTION, 7, QNNRT_SESSION__NODE },
    { QNNRT_SESSION__FUNCTION, 11, QNNRT_SESSION__ATTRIBUTE },
    { QNNRT_SESSION__GRAPH, 1, QNNRT_SESSION__NODE },
    { QNNRT_SESSION__GRAPH, 5, QNNRT_SESSION__TENSOR },
    { QNNRT_SESSION__GRAPH, 15, QNNRT_SESSION__SPARSE },
    { QNNRT_SESSION__NODE, 5, QNNRT_SESSION__ATTRIBUTE },
    { QNNRT_SESSION__ATTRIBUTE, 5, QNNRT_SESSION__TENSOR },
    { QNNRT_SESSION__ATTRIBUTE, 6, QNNRT_SESSION__GRAPH },
    { QNNRT_SESSION__ATTRIBUTE, 10, QNNRT_SESSION__TENSOR },
    { QNNRT_SESSION__ATTRIBUTE, 11, QNNRT_SESSION__GRAPH },
    { QNNRT_SESSION__ATTRIBUTE, 22, QNNRT_SESSION__SPARSE },
    { QNNRT_SESSION__ATTRIBUTE, 23, QNNRT_SESSION__SPARSE },
    { QNNRT_SESSION__SPARSE, 1, QNNRT_SESSION__TENSOR },
    { QNNRT_SESSION__SPARSE, 2, QNNRT_SESSION__TENSOR },
    { QNNRT_SESSION__TENSOR, 13, QNNRT_SESSION__ENTRY }
};

/* The files that were found, and where the scan is. */
typedef struct qnnrt_session__onnx {
    qnnrt_session__wire wire;
    qnnrt_session      *session;         /* keeps the names */
    const char         *path;            /* of the model */
    const char        **names;           /* [QNNRT_SESSION__SLOTS], by a hash; NULL: free */
    size_t              count;
    qnnrt_error        *err;
} qnnrt_session__onnx;

/* Enter a file. Return 0 after filling the error. */
static int qnnrt_session__onnx_enter(qnnrt_session__onnx *scan, const char *what, const char *name)
{
    const char *at;
    uint32_t slot = 2166136261u;
    /* ONNX Runtime and OpenVINO take such names for addresses in memory. */
    if (strncmp(name, "*/", 2) == 0)
        return qnnrt_error_hint(scan->err,
                                qnnrt_error_set(scan->err, QNNRT_E_FORMAT, "model \"%.600s\": %s "
                                                "\"%.600s\" is an address in the memory of another "
                                                "program, not a file", scan->path, what, name),
                                "Save the model again.") == QNNRT_OK;
    if (!qnnrt_session__file_inside(name))
        return qnnrt_error_hint(scan->err,
                                qnnrt_error_set(scan->err, QNNRT_E_FORMAT, "model \"%.600s\": %s "
                                                "\"%.600s\" leads out of the model's folder",
                                                scan->path, what, name), "Move the file beside the "
                                "model.") == QNNRT_OK;
    for (at = name; *at != '\0'; ++at) slot = (slot ^ (unsigned char)*at) * 16777619u;
    for (slot %= QNNRT_SESSION__SLOTS; scan->names[slot] != NULL;
         slot = (slot + 1) % QNNRT_SESSION__SLOTS)
        if (strcmp(scan->names[slot], name) == 0) return 1;
    if (scan->count == QNNRT_SESSION__FILES)
        return qnnrt_error_set(scan->err, QNNRT_E_LIMIT, "model \"%.600s\" has more than %d files "
                               "of external data", scan->path, QNNRT_SESSION__FILES) == QNNRT_OK;
    scan->names[slot] = qnnrt_session__keep_text(scan->session, name, scan->err);
    scan->count += scan->names[slot] != NULL;
    return scan->names[slot] != NULL;
}

/* Read the entry of a tensor's external data from here to `end`. */
static int qnnrt_session__onnx_entry(qnnrt_session__onnx *scan, uint64_t end)
{
    char key[16], value[QNNRT_SESSION__PATH];
    qnnrt_session__field field;
    int is_location = 0, good = 0;
    value[0] = '\0';
    while (qnnrt_session__wire_field(&scan->wire, end, &field)) {
        if (field.type != 2) continue;                   /* protobuf does not know it then */
        if (field.number == 1)
            is_location = qnnrt_session__wire_text(&scan->wire, &field, key, sizeof key) &&
                          strcmp(key, "location") == 0;
        if (field.number == 2)
            good = qnnrt_session__wire_text(&scan->wire, &field, value, sizeof value);
    }
    if (!is_location || scan->wire.wrong != NULL) return 1;
    if (!good)
        return qnnrt_error_set(scan->err, QNNRT_E_FORMAT, "model \"%.600s\": the name of external "
                               "data is empty, too long, or has a zero byte",
                               scan->path) == QNNRT_OK;
    return qnnrt_session__onnx_enter(scan, "external data", value);
}

/* Read an attribute from here to `end`: its name, number and text. Return 1 if it has a text that
   is not empty, -1 if that is too long or has a zero byte, else 0. */
static int qnnrt_session__onnx_attribute(qnnrt_session__onnx *scan, uint64_t end, char name[32],
                                         uint64_t *number, char text[QNNRT_SESSION__PATH])
{
    qnnrt_session__field part;
    int has = 0;
    memset(&part, 0, sizeof part);
    name[0] = text[0] = '\0';
    *number = 0;
    while (qnnrt_session__wire_field(&scan->wire, end, &part)) {
        if (part.number == 1 && part.type == 2)
            qnnrt_session__wire_text(&scan->wire, &part, name, 32);
        if (part.number == 3 && part.type == 0) *number = part.value;
        if (part.number == 4 && part.type == 2)
            has = qnnrt_session__wire_text(&scan->wire, &part, text, QNNRT_SESSION__PATH) ? 1
                : part.end > part.begin ? -1 : 0;
    }
    return has;
}

/* Read a node from here to `end`: if it is an EPContext, its binary is in the file or in another
   one. Of attributes that are there twice, each counts. */
static int qnnrt_session__onnx_context(qnnrt_session__onnx *scan, uint64_t end)
{
    char name[32], text[QNNRT_SESSION__PATH];
    const uint64_t begin = scan->wire.at;
    qnnrt_session__field field;
    uint64_t number = 0;
    int pass, is_context = 0, embedded = 1;
    while (qnnrt_session__wire_field(&scan->wire, end, &field))
        if (field.number == 4 && field.type == 2)
            is_context = qnnrt_session__wire_text(&scan->wire, &field, name, sizeof name) &&
                         strcmp(name, "EPContext") == 0;
    for (pass = 0; pass < 2 && is_context && scan->wire.wrong == NULL && !(pass && embedded);
         ++pass) {
        scan->wire.at = begin;
        while (qnnrt_session__wire_field(&scan->wire, end, &field)) {
            const uint64_t after = scan->wire.at;
            int has;
            if (field.number != 5 || field.type != 2) continue;
            scan->wire.at = field.begin;
            has = qnnrt_session__onnx_attribute(scan, field.end, name, &number, text);
            scan->wire.at = after;
            if (pass == 0 && strcmp(name, "embed_mode") == 0 && number == 0) embedded = 0;
            if (pass == 0 || has == 0 || strcmp(name, "ep_cache_context") != 0) continue;
            if (has < 0)
                return qnnrt_error_set(scan->err, QNNRT_E_FORMAT, "model \"%.600s\": the name of "
                                       "the binary of an EPContext node is too long, or has a zero "
                                       "byte", scan->path) == QNNRT_OK;
            if (!qnnrt_session__onnx_enter(scan, "the binary of an EPContext node", text)) return 0;
        }
    }
    scan->wire.at = begin;
    return 1;
}

/* Scan the messages of the file. */
static int qnnrt_session__onnx_walk(qnnrt_session__onnx *scan)
{
    struct { qnnrt_session__message kind; uint64_t end; } stack[QNNRT_SESSION__DEPTH];
    size_t depth = 1, i;
    qnnrt_session__field field;
    stack[0].kind = QNNRT_SESSION__MODEL;
    stack[0].end = scan->wire.bytes;
    while (depth > 0 && scan->wire.wrong == NULL) {
        qnnrt_session__message kind = QNNRT_SESSION__NO_MESSAGE;
        if (!qnnrt_session__wire_field(&scan->wire, stack[depth - 1].end, &field)) {
            --depth;
            continue;
        }
        for (i = 0; field.type == 2 && kind == QNNRT_SESSION__NO_MESSAGE &&
                    i < sizeof qnnrt_session__onnx_leads / sizeof qnnrt_session__onnx_leads[0]; ++i)
            if (qnnrt_session__onnx_leads[i].from == stack[depth - 1].kind &&
                qnnrt_session__onnx_leads[i].field == field.number)
                kind = qnnrt_session__onnx_leads[i].to;
        if (kind == QNNRT_SESSION__NO_MESSAGE) continue;
        scan->wire.at = field.begin;
        if (kind == QNNRT_SESSION__ENTRY) {
            if (!qnnrt_session__onnx_entry(scan, field.end)) return 0;
            scan->wire.at = field.end;
            continue;
        }
        if (kind == QNNRT_SESSION__NODE && !qnnrt_session__onnx_context(scan, field.end)) return 0;
        if (depth == QNNRT_SESSION__DEPTH) {
            qnnrt_session__wire_wrong(&scan->wire, "messages are nested too deep");
            break;
        }
        stack[depth].kind = kind;
        stack[depth++].end = field.end;
    }
    if (scan->wire.wrong == NULL) return 1;
    return qnnrt_error_hint(scan->err,
                            qnnrt_error_set(scan->err, QNNRT_E_FORMAT, "model \"%.900s\" is "
                                            "damaged at byte %llu: %s", scan->path,
                                            (unsigned long long)scan->wire.at, scan->wire.wrong),
                            "Copy the file again and compare its hash.") == QNNRT_OK;
}

/* Order by name. */
static int qnnrt_session__onnx_order(const void *a, const void *b)
{
    return strcmp((const char *)a, (const char *)b);
}

/* List the files that a model reads, in order. */
static qnnrt_result qnnrt_session__onnx_files(qnnrt_session *session, qnnrt_error *err)
{
    const char *path = session->info.path;
    qnnrt_session__onnx scan;
    struct stat facts;
    size_t i, used = 0;
    int good = 0;
    memset(&scan, 0, sizeof scan);
    scan.session = session;
    scan.path = path;
    scan.err = err;
    scan.names = (const char **)qnnrt_session__keep(session, QNNRT_SESSION__SLOTS,
                                                    sizeof(*scan.names), err);
    scan.wire.window = (unsigned char *)qnnrt_hooks_alloc(&session->hooks, 1,
                                                          QNNRT_SESSION__WINDOW);
    if (scan.names == NULL || scan.wire.window == NULL) {
        if (scan.names != NULL) qnnrt_session__fail_memory(err, QNNRT_SESSION__WINDOW);
        qnnrt_hooks_free(&session->hooks, scan.wire.window);
        return QNNRT_E_MEMORY;
    }
    if (qnnrt_file_open(path, &scan.wire.fd, &scan.wire.bytes, err) == QNNRT_OK) {
        good = qnnrt_session__onnx_walk(&scan);
        close(scan.wire.fd);
    }
    qnnrt_hooks_free(&session->hooks, scan.wire.window);
    if (!good) return err->code;
    for (i = 0; i < QNNRT_SESSION__SLOTS; ++i) {
        char other[QNNRT_SESSION__PATH];
        if (scan.names[i] == NULL) continue;
        /* Opening a pipe waits for ever. Whether a file is needed, the engine knows. */
        if (qnnrt_session__file_beside(path, scan.names[i], other) && stat(other, &facts) == 0 &&
            !S_ISREG(facts.st_mode))
            return qnnrt_error_set(err, QNNRT_E_FORMAT, "model \"%.600s\": external data "
                                   "\"%.600s\" is not a file", path, scan.names[i]);
        scan.names[used++] = scan.names[i];
    }
    qnnrt_sort((const void **)scan.names, used, qnnrt_session__onnx_order);
    session->files = scan.names;
    session->file_count = used;
    return QNNRT_OK;
}

/* =====================================================================================
   KEY                                                                               >>key
   The key of a compiled model: all that decides about what is compiled.
   Needs: >>file >>onnx     Knows nothing of: folders of caches, runs
   ===================================================================================== */

static void qnnrt_session__key_text(qnnrt_cache_key *key, const char *name, const char *text)
{
    if (text == NULL) text = "";
    qnnrt_cache_key_add(key, name, text, strlen(text));
}

static void qnnrt_session__key_number(qnnrt_cache_key *key, const char *name, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    qnnrt_session__key_text(key, name, text);
}

/* Note what a file is before it is read. Return 0 after filling the error. */
static int qnnrt_session__key_stamp(qnnrt_session *session, const char *path, qnnrt_error *err)
{
    qnnrt_session__stamp *stamp;
    const char *kept = qnnrt_session__keep_text(session, path, err);
    if (kept == NULL) return 0;
    stamp = (qnnrt_session__stamp *)qnnrt_session__keep_more(session, session->stamps,
                                                             session->stamp_count,
                                                             &session->stamp_room, sizeof(*stamp),
                                                             err);
    if (stamp == NULL) return 0;
    session->stamps = stamp;
    stamp += session->stamp_count++;
    stamp->path = kept;
    stamp->there = stat(path, &stamp->facts) == 0;
    return 1;
}

/* Return a file of the key that is not what it was, or NULL. A second write within one tick of the
   file system's clock that keeps the size is not seen. */
static const char *qnnrt_session__key_changed(const qnnrt_session *session)
{
    const size_t begin = offsetof(struct stat, st_mtime),
                 end = offsetof(struct stat, st_ctime) + 2 * sizeof(long);
    size_t i;
    for (i = 0; i < session->stamp_count; ++i) {
        const qnnrt_session__stamp *was = &session->stamps[i];
        struct stat now;
        const int there = stat(was->path, &now) == 0;
        if (!there && !was->there) continue;
        /* C99 has no names for the nanoseconds of the times, which stand side by side. */
        if (there != was->there || now.st_dev != was->facts.st_dev ||
            now.st_ino != was->facts.st_ino || now.st_size != was->facts.st_size ||
            memcmp((const char *)&now + begin, (const char *)&was->facts + begin,
                   end - begin) != 0) return was->path;
    }
    return NULL;
}

/* Add a file if it is there. */
static qnnrt_result qnnrt_session__key_file(qnnrt_session *session, qnnrt_cache_key *key,
                                            const char *name, const char *path, int needed,
                                            qnnrt_error *err)
{
    const qnnrt_session__stamp *stamp;
    qnnrt_session__key_text(key, "file", name);
    if (!qnnrt_session__key_stamp(session, path, err)) return QNNRT_E_MEMORY;
    stamp = &session->stamps[session->stamp_count - 1];
    if (!needed && (!stamp->there || !S_ISREG(stamp->facts.st_mode))) return QNNRT_OK;
    return qnnrt_cache_key_file(key, "content", path, err);
}

/* Return true for weights of graphs. */
static int qnnrt_session__key_is_weights(const char *name)
{
    static const char *const endings[] = { ".safetensors", ".safetensors.index.json" };
    const size_t length = strlen(name);
    size_t i;
    for (i = 0; i < 2; ++i) {
        const size_t bytes = strlen(endings[i]);
        if (length > bytes && strcmp(name + length - bytes, endings[i]) == 0) return 1;
    }
    return 0;
}

/* Add the files of a list in the folder of a path. */
static qnnrt_result qnnrt_session__key_files(qnnrt_session *session, qnnrt_cache_key *key,
                                             const char *path, const char *const *names,
                                             size_t count, qnnrt_error *err)
{
    char other[QNNRT_SESSION__PATH];
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < count && result == QNNRT_OK; ++i) {
        if (!qnnrt_session__file_beside(path, names[i], other))
            return qnnrt_error_set(err, QNNRT_E_IO, "the path of \"%.600s\" is too long", names[i]);
        result = qnnrt_session__key_file(session, key, names[i], other, 1, err);
    }
    return result;
}

/* Add the weights in the folder of a path, in order. */
static qnnrt_result qnnrt_session__key_weights(qnnrt_session *session, qnnrt_cache_key *key,
                                               const char *path, qnnrt_error *err)
{
    const char **names = NULL;
    size_t count = 0;
    char folder[QNNRT_SESSION__PATH];
    const struct dirent *item;
    size_t room = 0;
    DIR *dir = qnnrt_session__file_beside(path, ".", folder) ? opendir(folder) : NULL;
    qnnrt_result result = QNNRT_OK;
    if (dir == NULL)
        return qnnrt_error_set(err, QNNRT_E_IO, "cannot list the folder of \"%.900s\": %s", path,
                               strerror(errno));
    while (result == QNNRT_OK && (item = readdir(dir)) != NULL) {
        if (!qnnrt_session__key_is_weights(item->d_name)) continue;
        names = (const char **)qnnrt_session__keep_more(session, (void *)names, count, &room,
                                                        sizeof(*names), err);
        if (names != NULL) names[count] = qnnrt_session__keep_text(session, item->d_name, err);
        if (names == NULL || names[count++] == NULL) result = QNNRT_E_MEMORY;
    }
    closedir(dir);
    if (result != QNNRT_OK) return result;
    qnnrt_sort((const void **)names, count, qnnrt_session__onnx_order);
    return qnnrt_session__key_files(session, key, path, names, count, err);
}

/* Add what the value of an option names: a file, an index with the weights beside it, or a folder
   of weights. */
static qnnrt_result qnnrt_session__key_option(qnnrt_session *session, qnnrt_cache_key *key,
                                              const char *value, qnnrt_error *err)
{
    const size_t length = strlen(value);
    char folder[QNNRT_SESSION__PATH];
    struct stat facts;
    qnnrt_result result = qnnrt_session__key_file(session, key, "option", value, 0, err);
    if (result != QNNRT_OK || stat(value, &facts) != 0) return result;
    if (S_ISREG(facts.st_mode) && length > 5 && strcmp(value + length - 5, ".json") == 0)
        return qnnrt_session__key_weights(session, key, value, err);
    if (!S_ISDIR(facts.st_mode)) return QNNRT_OK;
    if (snprintf(folder, sizeof folder, "%s/", value) >= (int)sizeof folder)
        return qnnrt_error_set(err, QNNRT_E_IO, "the path \"%.600s\" is too long", value);
    return qnnrt_session__key_weights(session, key, folder, err);
}

/* Add the model, and all files that it reads. */
static qnnrt_result qnnrt_session__key_model(qnnrt_session *session, qnnrt_cache_key *key,
                                             qnnrt_error *err)
{
    const char *path = session->info.path, *slash = strrchr(path, '/');
    char other[QNNRT_SESSION__PATH];
    qnnrt_result result = qnnrt_session__key_file(session, key, "model", path, 1, err);
    if (result == QNNRT_OK && session->info.kind == QNNRT_MODEL_GRAPH) {
        /* Which of the weights are used depends on the name of the graph. */
        qnnrt_session__key_text(key, "name", slash != NULL ? slash + 1 : path);
        result = qnnrt_session__key_weights(session, key, path, err);
    }
    if (result == QNNRT_OK)
        result = qnnrt_session__key_files(session, key, path, session->files, session->file_count,
                                          err);
    if (result == QNNRT_OK && session->info.kind == QNNRT_MODEL_OPENVINO &&
        strlen(path) < sizeof other) {
        snprintf(other, sizeof other, "%.*sbin", (int)(strlen(path) - 3), path);
        result = qnnrt_session__key_file(session, key, "weights", other, 0, err);
    }
    return result;
}

/* Make the key of an attempt. "" and an error: there is none. */
static qnnrt_result qnnrt_session__key_make(qnnrt_session *session,
                                            const qnnrt_session__attempt *attempt,
                                            char text[QNNRT_CACHE_KEY_BYTES], qnnrt_error *err)
{
    const qnnrt_engine_load *load = &attempt->load;
    const qnnrt_session__engine *engine = attempt->engine;
    qnnrt_cache_key key;
    qnnrt_result result;
    size_t i;
    uint32_t k;
    text[0] = '\0';
    session->stamp_count = session->model_stamps;
    if (!session->model_keyed) {                 /* the files are read once */
        qnnrt_cache_key_begin(&session->model_key);
        qnnrt_session__key_text(&session->model_key, "qnnrt", qnnrt_version());
        result = qnnrt_session__key_model(session, &session->model_key, err);
        if (result != QNNRT_OK) return result;
        session->model_keyed = 1;
        session->model_stamps = session->stamp_count;
    }
    key = session->model_key;
    result = QNNRT_OK;
    qnnrt_session__key_number(&key, "kind", (uint64_t)load->kind);
    qnnrt_session__key_text(&key, "engine", engine->table->name);
    qnnrt_session__key_text(&key, "version", engine->facts.version);
    qnnrt_session__key_text(&key, "build", engine->facts.build);
    qnnrt_session__key_text(&key, "device", load->device);
    qnnrt_session__key_number(&key, "precision", (uint64_t)load->precision);
    qnnrt_session__key_number(&key, "threads", load->threads);
    qnnrt_session__key_number(&key, "max_batch", load->max_batch);
    qnnrt_session__key_number(&key, "workspace", load->workspace_bytes);
    qnnrt_session__key_number(&key, "fallback", load->allow_fallback != 0);
    qnnrt_session__key_number(&key, "level", (uint64_t)(load->optimize_level + 1));
    qnnrt_session__key_number(&key, "native_io", load->native_io != 0);
    qnnrt_session__key_number(&key, "shapes", load->shape_count);
    for (i = 0; i < load->shape_count; ++i) {
        qnnrt_session__key_text(&key, "shape", load->shapes[i].name);
        qnnrt_session__key_number(&key, "rank", load->shapes[i].rank);
        for (k = 0; k < load->shapes[i].rank + (load->shapes[i].rank == 0); ++k)
            qnnrt_session__key_number(&key, "dim", (uint64_t)load->shapes[i].dims[k]);
    }
    qnnrt_session__key_number(&key, "options", load->option_count);
    for (i = 0; i < load->option_count && result == QNNRT_OK; ++i) {
        qnnrt_session__key_text(&key, "key", load->options[i].key);
        qnnrt_session__key_text(&key, "value", load->options[i].value);
        result = qnnrt_session__key_option(session, &key, load->options[i].value, err);
    }
    qnnrt_session__key_number(&key, "preferences", load->preference_count);
    for (i = 0; i < load->preference_count; ++i) {
        qnnrt_session__key_text(&key, "operator", load->preferences[i].key);
        qnnrt_session__key_text(&key, "kernel", load->preferences[i].value);
    }
    if (result == QNNRT_OK) qnnrt_cache_key_end(&key, text);
    return result;
}

/* =====================================================================================
   STORE                                                                           >>store
   Folders for files that engines read or write, below the cache's: they belong to files that are
   written aside, whose locks say that they are in use.
   Needs: nothing     Knows nothing of: keys, engines
   ===================================================================================== */

/* Make a folder that no other session uses. Return NULL after filling the error. */
static qnnrt_session__scratch *qnnrt_session__store_make(qnnrt_session *session, const char *folder,
                                                         qnnrt_error *err)
{
    char name[QNNRT_CACHE_PATH + 1];     /* holds any folder that the system could open, and "/" */
    qnnrt_session__scratch *scratch =
        (qnnrt_session__scratch *)qnnrt_session__keep(session, 1, sizeof(*scratch), err);
    if (scratch == NULL) return NULL;
    qnnrt_cache_sweep(folder);
    snprintf(name, sizeof name, "%s/", folder);
    scratch->lock = qnnrt_cache_aside(name, 0600, scratch->aside);
    if (scratch->lock >= 0 &&
        qnnrt_cache_aside_folder(scratch->lock, scratch->aside, scratch->path)) return scratch;
    qnnrt_cache_aside_end(scratch->lock, scratch->aside);
    qnnrt_error_set(err, QNNRT_E_IO, "cannot make a folder in the cache \"%.600s\": %s", folder,
                    strerror(errno));
    qnnrt_error_hint(err, QNNRT_E_IO, "Choose a folder that exists, has room, and is writable.");
    return NULL;
}

static void qnnrt_session__store_end(qnnrt_session__scratch **scratch)
{
    if (*scratch != NULL) qnnrt_cache_aside_end((*scratch)->lock, (*scratch)->aside);
    *scratch = NULL;
}

/* =====================================================================================
   FIND                                                                             >>find
   Finds the libraries of engines in folders.
   Needs: nothing     Knows nothing of: engines
   ===================================================================================== */

enum { QNNRT_SESSION__FILE = 64 };       /* bytes of the name of a library */

QNNRT_SESSION_API int qnnrt_engine_path(const void *address, char *out, size_t room)
{
    struct { const char *file; void *base; const char *symbol; void *at; } info;     /* Dl_info */
    int (*look)(const void *, void *) = NULL;
    void *found = qnnrt_session__function("dladdr");
    memcpy((void *)&look, (const void *)&found, sizeof look);
    memset(&info, 0, sizeof info);
    if (room > 0) out[0] = '\0';
    if (look == NULL || look(address, (void *)&info) == 0 || info.file == NULL ||
        strlen(info.file) >= room) return 0;
    memcpy(out, info.file, strlen(info.file) + 1);
    return 1;
}

/* Write the path of the running program (place 0), or of the file with this code (1); it ends with
   the folder's slash. Return 0 if it is unknown. */
static int qnnrt_session__find_folder(int place, char out[QNNRT_SESSION__PATH])
{
    ptrdiff_t (*look)(const char *, char *, size_t) = NULL, length = -1;
    void *(*self)(const char *) = qnnrt_session__function;
    const void *address = NULL;
    void *found = qnnrt_session__function("readlink");
    memcpy((void *)&look, (const void *)&found, sizeof look);
    memcpy((void *)&address, (const void *)&self, sizeof address);
    if (place == 0) {
        if (look != NULL) length = look("/proc/self/exe", out, QNNRT_SESSION__PATH - 1);
        out[length > 0 ? length : 0] = '\0';
    } else if (!qnnrt_engine_path(address, out, QNNRT_SESSION__PATH)) {
        return 0;
    }
    if (out[0] != '/') return 0;
    strrchr(out, '/')[1] = '\0';
    return 1;
}

/* Return true for STEM with any number of ".<digits>" after it. */
static int qnnrt_session__find_is(const char *name, const char *stem)
{
    const size_t length = strlen(stem);
    const char *at = name + length;
    if (strlen(name) >= QNNRT_SESSION__FILE || strncmp(name, stem, length) != 0) return 0;
    while (*at == '.' && at[1] >= '0' && at[1] <= '9') at += 1 + strspn(at + 1, "0123456789");
    return *at == '\0';
}

/* Order what follows the stem of two such names by its numbers. */
static int qnnrt_session__find_order(const char *a, const char *b)
{
    while (*a == '.' && *b == '.') {
        size_t x, y;
        int order;
        a += 1 + strspn(a + 1, "0");
        b += 1 + strspn(b + 1, "0");
        x = strspn(a, "0123456789");
        y = strspn(b, "0123456789");
        order = x != y ? (x > y ? 1 : -1) : memcmp(a, b, x);
        if (order != 0) return order;
        a += x;
        b += x;
    }
    return (*a != '\0') - (*b != '\0');
}

/* Find the highest such name in a folder, of those below `name` unless that is "", and write it to
   `name`. Return 0 if there is none. */
static int qnnrt_session__find_next(const char *folder, const char *stem,
                                    char name[QNNRT_SESSION__FILE])
{
    const size_t length = strlen(stem);
    char best[QNNRT_SESSION__FILE] = "";
    DIR *dir = opendir(folder);
    const struct dirent *item;
    while (dir != NULL && (item = readdir(dir)) != NULL) {
        const char *has = item->d_name;
        if (!qnnrt_session__find_is(has, stem) ||
            (name[0] != '\0' && qnnrt_session__find_order(has + length, name + length) >= 0) ||
            (best[0] != '\0' && qnnrt_session__find_order(has + length, best + length) <= 0))
            continue;
        memcpy(best, has, strlen(has) + 1);
    }
    if (dir != NULL) closedir(dir);
    memcpy(name, best, sizeof best);
    return best[0] != '\0';
}

/* Open a file. Add the reason to the error if that fails. */
static void *qnnrt_session__find_open(const char *path, qnnrt_error *err)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *why = handle == NULL ? dlerror() : NULL;
    if (handle == NULL)
        qnnrt_error_add(err, "\n  %.600s", why != NULL ? why : "the loader gave no reason");
    return handle;
}

/* Open the newest library of a folder that opens, or the file `name` in it. */
static void *qnnrt_session__find_in(const char *folder, const char *stem, const char *name,
                                    int quiet, qnnrt_error *err)
{
    char path[QNNRT_SESSION__PATH], tried[QNNRT_SESSION__FILE] = "";
    const size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    struct stat facts;
    void *handle = NULL;
    int any = 0;
    while (handle == NULL && name == NULL && qnnrt_session__find_next(folder, stem, tried)) {
        any = 1;
        if (snprintf(path, sizeof path, "%s%s%s", folder, slash, tried) < (int)sizeof path)
            handle = qnnrt_session__find_open(path, err);
    }
    if (name != NULL &&
        snprintf(path, sizeof path, "%s%s%s", folder, slash, name) < (int)sizeof path) {
        any = stat(path, &facts) == 0;
        if (any) handle = qnnrt_session__find_open(path, err);
    }
    if (!any && !quiet)
        qnnrt_error_add(err, "\n  there is no %.300s%s%.200s%s", folder, slash,
                        name != NULL ? name : stem, name != NULL ? "" : ".*");
    return handle;
}

/* Return true if the system searches the current folder: LD_LIBRARY_PATH has an empty element. */
static int qnnrt_session__find_unsafe(const char *list)
{
    const size_t length = list != NULL ? strlen(list) : 0;
    size_t i;
    for (i = 0; i < length; ++i)
        if ((list[i] == ':' || list[i] == ';') &&
            (i == 0 || i + 1 == length || list[i + 1] == list[i])) return 1;
    return 0;
}

/* Search the folders of LD_LIBRARY_PATH, those of `usual`, and then the system's. */
static void *qnnrt_session__find_system(const char *list, const char *stem,
                                        const char *const *usual, qnnrt_error *err)
{
    char folder[QNNRT_SESSION__PATH];
    void *handle = NULL;
    while (list != NULL && *list != '\0' && handle == NULL) {
        const size_t length = strcspn(list, ":;");
        if (*list == '/' && length < sizeof folder) {
            memcpy(folder, list, length);
            folder[length] = '\0';
            handle = qnnrt_session__find_in(folder, stem, NULL, 0, err);
        }
        list += length + (list[length] != '\0');
    }
    for (; *usual != NULL && handle == NULL; ++usual)
        handle = **usual == '/' ? qnnrt_session__find_in(*usual, stem, NULL, 1, err)
                                : qnnrt_session__find_open(*usual, err);
    return handle;
}

QNNRT_SESSION_API void *qnnrt_engine_find(const char *stem, const char *wanted,
                                          const char *const *usual, qnnrt_error *err)
{
    const char *list = getenv("LD_LIBRARY_PATH");
    char folder[QNNRT_SESSION__PATH], first[QNNRT_SESSION__PATH] = "";
    struct stat facts;
    void *handle = NULL;
    int place;
    if (wanted != NULL && strchr(wanted, '/') != NULL)
        return stat(wanted, &facts) == 0 && S_ISDIR(facts.st_mode)
                   ? qnnrt_session__find_in(wanted, stem, NULL, 0, err)
                   : qnnrt_session__find_open(wanted, err);
    for (place = 0; place < 2 && handle == NULL; ++place) {
        if (!qnnrt_session__find_folder(place, folder) || strcmp(folder, first) == 0) continue;
        memcpy(first, folder, strlen(folder) + 1);
        handle = qnnrt_session__find_in(folder, stem, wanted, 0, err);
    }
    if (handle != NULL) return handle;
    if (qnnrt_session__find_unsafe(list)) {
        qnnrt_error_add(err, "\n  skipped the system's search: LD_LIBRARY_PATH has an empty "
                        "element, which means the current folder");
        return NULL;
    }
    return wanted != NULL ? qnnrt_session__find_open(wanted, err)
                          : qnnrt_session__find_system(list, stem, usual, err);
}

/* =====================================================================================
   ENGINE                                                                         >>engine
   Opens engines' libraries, finds their devices, and completes their errors.
   Needs: nothing     Knows nothing of: values, runs, caches
   ===================================================================================== */

/* Put the name of an engine in front of its text, and complete an error that it left half done. */
static qnnrt_result qnnrt_session__engine_told(const qnnrt_engine *engine, qnnrt_result result,
                                               qnnrt_error *err)
{
    const size_t length = strlen(engine->name);
    if (result == QNNRT_OK) return result;
    err->text[sizeof err->text - 1] = err->hint[sizeof err->hint - 1] = '\0';
    if (err->code != result) {
        err->code = result;
        err->vendor_code = 0;
        err->cause = NULL;
        err->hint[0] = '\0';
        err->text[0] = '\0';
    }
    if (err->text[0] == '\0')
        snprintf(err->text, sizeof err->text, "%s", qnnrt_result_text(result));
    qnnrt_session__clean_lines(err->text);
    if (strncmp(err->text, engine->name, length) != 0 || err->text[length] != ':')
        qnnrt_error_about(err, result, "%.60s: ", engine->name);
    if (result == QNNRT_E_MEMORY && strstr(err->text, "available") == NULL)
        qnnrt_error_add(err, " (%llu bytes available)",
                        (unsigned long long)qnnrt_session__available());
    return result;
}

/* Check a list of engines. */
static qnnrt_result qnnrt_session__engine_check(const qnnrt_engine *const *engines, size_t *count,
                                                qnnrt_error *err)
{
    size_t i, k;
    for (i = 0; engines[i] != NULL; ++i) {
        const qnnrt_engine *e = engines[i];
        if (e->version != QNNRT_ENGINE_VERSION)
            return qnnrt_error_set(err, QNNRT_E_VERSION, "engine %lu of the list is of version %u, "
                                   "expected %u", (unsigned long)i, (unsigned)e->version,
                                   QNNRT_ENGINE_VERSION);
        if (e->name == NULL || e->name[0] == '\0' || e->open == NULL || e->close == NULL ||
            e->load == NULL || e->unload == NULL || e->binding_create == NULL ||
            e->binding_destroy == NULL || e->set == NULL || e->run == NULL || e->get == NULL)
            return qnnrt_error_set(err, QNNRT_E_ARG, "engine %lu of the list has no name, or lacks "
                                   "a function", (unsigned long)i);
        for (k = 0; k < i; ++k)
            if (strcmp(engines[k]->name, e->name) == 0)
                return qnnrt_error_set(err, QNNRT_E_ARG, "two engines of the list have the name "
                                       "\"%.60s\"", e->name);
    }
    *count = i;
    if (i > 0) return QNNRT_OK;
    return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "the list of engines is empty");
}

/* Find an engine by name. */
static qnnrt_result qnnrt_session__engine_find(const qnnrt_engine *const *engines, const char *name,
                                               size_t *index, qnnrt_error *err)
{
    size_t i;
    for (i = 0; engines[i] != NULL; ++i) {
        if (strcmp(engines[i]->name, name) != 0) continue;
        *index = i;
        return QNNRT_OK;
    }
    qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "unknown engine \"%.200s\"; there are", name);
    qnnrt_error_hint(err, QNNRT_E_NOT_FOUND, "Use one of these names.");
    for (i = 0; engines[i] != NULL; ++i)
        qnnrt_error_add(err, "%s \"%.60s\"", i > 0 ? "," : "", engines[i]->name);
    return QNNRT_E_NOT_FOUND;
}

/* Open an engine, once. */
static qnnrt_result qnnrt_session__engine_open(qnnrt_session__engine *e, qnnrt_error *err)
{
    if (!e->tried) {
        e->tried = 1;
        e->result = e->table->open(&e->open, &e->library, &e->facts, &e->error);
        qnnrt_session__engine_told(e->table, e->result, &e->error);
        if (e->result != QNNRT_OK) e->library = NULL;
        if (e->facts.version == NULL) e->facts.version = "";
        if (e->facts.path == NULL) e->facts.path = "";
        if (e->facts.build == NULL) e->facts.build = "";
    }
    if (e->result != QNNRT_OK) *err = e->error;
    return e->result;
}

static void qnnrt_session__engine_close(qnnrt_session__engine *e)
{
    if (e->library != NULL) e->table->close(e->library);
    e->library = NULL;
}

/* Find a device of an engine: the one with this name, or the first that is such a device. */
static qnnrt_result qnnrt_session__engine_device(const qnnrt_session__engine *e, const char *wanted,
                                                 const char **device, qnnrt_error *err)
{
    const size_t length = strlen(wanted);
    size_t i;
    for (i = 0; i < e->facts.device_count; ++i)
        if (strcmp(e->facts.devices[i], wanted) == 0) {
            *device = e->facts.devices[i];
            return QNNRT_OK;
        }
    for (i = 0; i < e->facts.device_count; ++i) {
        const char *has = e->facts.devices[i];
        if ((strncmp(has, wanted, length) == 0 && has[length] == ':') ||
            (strcmp(wanted, "gpu") == 0 && strncmp(has, "cuda", 4) == 0)) {
            *device = has;
            return QNNRT_OK;
        }
    }
    qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "%.60s has no device \"%.60s\"; it has", e->table->name,
                    wanted);
    for (i = 0; i < e->facts.device_count; ++i)
        qnnrt_error_add(err, "%s \"%.60s\"", i > 0 ? "," : "", e->facts.devices[i]);
    if (e->facts.device_count == 0) qnnrt_error_add(err, " none");
    return QNNRT_E_NOT_FOUND;
}

/* =====================================================================================
   ATTEMPT                                                                       >>attempt
   Loads the model with one engine on one device, through the cache.
   Needs: >>shape >>file >>key >>store >>engine     Knows nothing of: other candidates, runs
   ===================================================================================== */

enum { QNNRT_SESSION__STAGE_KIND = 1, QNNRT_SESSION__STAGE_OPEN, QNNRT_SESSION__STAGE_DEVICE,
       QNNRT_SESSION__STAGE_LOAD };

/* Keep a text; of one that cannot be kept, a constant. */
static const char *qnnrt_session__attempt_text(qnnrt_session *session, const char *text)
{
    const char *kept = qnnrt_session__keep_text(session, text, NULL);
    return kept != NULL ? kept : "out of memory for a text";
}

/* Say why an attempt does not use the cache, with a warning. */
static void qnnrt_session__attempt_uncached(qnnrt_session *session, qnnrt_session__attempt *a,
                                            const char *why)
{
    char text[700];
    snprintf(text, sizeof text, "not cached: %.600s", why);
    a->cache = qnnrt_session__attempt_text(session, text);
    qnnrt_session__warn(session, NULL, "%s", text);
}

static qnnrt_result qnnrt_session__attempt_call(qnnrt_session__attempt *a, qnnrt_error *err)
{
    qnnrt_result result;
    qnnrt_error_clear(err);
    memset(&a->facts, 0, sizeof a->facts);
    a->model = NULL;
    result = a->engine->table->load(a->engine->library, &a->load, &a->model, &a->facts, err);
    if (result != QNNRT_OK) a->model = NULL;
    return qnnrt_session__engine_told(a->engine->table, result, err);
}

/* Find the entry of the key, and set load.cached or load.save. A cache that cannot be used is a
   warning. */
static void qnnrt_session__attempt_get(qnnrt_session *session, qnnrt_session__attempt *a,
                                       char key[QNNRT_CACHE_KEY_BYTES])
{
    qnnrt_error err;
    qnnrt_result result = qnnrt_session__key_make(session, a, key, &err);
    if (result == QNNRT_OK && key[0] == '\0')
        result = qnnrt_error_set(&err, QNNRT_E_IO, "a file of the model cannot be read");
    if (result == QNNRT_OK) {
        a->cache_key = qnnrt_session__keep_text(session, key, &err);
        if (a->cache_key == NULL) result = QNNRT_E_MEMORY;
    }
    if (result == QNNRT_OK)
        a->scratch = qnnrt_session__store_make(session, session->cache_dir, &err);
    if (a->scratch == NULL) {
        key[0] = '\0';
        qnnrt_session__attempt_uncached(session, a, err.text);
        return;
    }
    result = qnnrt_cache_get(session->cache, key, a->scratch->path, NULL, &err);
    if (result == QNNRT_OK) {
        a->load.cached = a->scratch->path;
        return;
    }
    a->load.save = a->scratch->path;
    if (result != QNNRT_E_NOT_FOUND)
        qnnrt_session__warn(session, NULL, "the model is compiled again: %.800s", err.text);
}

/* Store what the engine saved. */
static void qnnrt_session__attempt_put(qnnrt_session *session, qnnrt_session__attempt *a,
                                       const char *key)
{
    const char *changed = qnnrt_session__key_changed(session);
    qnnrt_error err;
    if (a->facts.saved_count == 0) {
        char text[200];
        snprintf(text, sizeof text, "not cached: %.60s saves nothing of this model",
                 a->engine->table->name);
        a->cache = qnnrt_session__attempt_text(session, text);
        return;
    }
    if (changed != NULL) {
        char text[700];
        snprintf(text, sizeof text, "%.600s changed while it was loaded", changed);
        qnnrt_session__attempt_uncached(session, a, text);
        return;
    }
    a->cache = "stored";
    if (qnnrt_cache_put(session->cache, key, a->scratch->path, a->facts.saved, a->facts.saved_count,
                        &err) != QNNRT_OK)
        qnnrt_session__attempt_uncached(session, a, err.text);
}

/* Return an error if an input keeps a free dimension that the policy forbids. */
static qnnrt_result qnnrt_session__attempt_static(const qnnrt_session *session,
                                                  const qnnrt_session__attempt *a,
                                                  qnnrt_error *err)
{
    char shape[400];
    size_t i;
    uint32_t k;
    if (session->policy.static_shape != 1) return QNNRT_OK;
    for (i = 0; i < a->facts.input_count; ++i) {
        const qnnrt_session_tensor *t = &a->facts.inputs[i];
        for (k = 0; k < t->rank && t->dims[k] >= 0; ++k) {}
        if (k == t->rank && !t->any_rank) continue;
        qnnrt_session__shape_text(t->dtype, t->rank, t->dims, t->any_rank, shape, sizeof shape);
        qnnrt_error_set(err, QNNRT_E_MISMATCH, "%.60s: static_shape is true, and input \"%.200s\" "
                        "is %s", a->engine->table->name, t->name, shape);
        return qnnrt_error_hint(err, QNNRT_E_MISMATCH, "Add the input to fixed_shapes.");
    }
    return QNNRT_OK;
}

static void qnnrt_session__attempt_unload(qnnrt_session__attempt *a)
{
    if (a->model != NULL) a->engine->table->unload(a->model);
    a->model = NULL;
    qnnrt_session__store_end(&a->scratch);
}

/* Load the model through the cache. */
static qnnrt_result qnnrt_session__attempt_load(qnnrt_session *session, qnnrt_session__attempt *a,
                                                qnnrt_error *err)
{
    char key[QNNRT_CACHE_KEY_BYTES] = "";
    qnnrt_result result;
    if (session->cache != NULL) qnnrt_session__attempt_get(session, a, key);
    result = qnnrt_session__attempt_call(a, err);
    if (result != QNNRT_OK && a->load.cached != NULL) {
        qnnrt_session__warn(session, NULL, "the model is compiled again, because the cached files"
                            " do not load: %.600s", err->text);
        /* (if it cannot be emptied, the engine finds no folder) */
        qnnrt_cache_aside_folder(a->scratch->lock, a->scratch->aside, a->scratch->path);
        a->load.cached = NULL;
        a->load.save = a->scratch->path;
        result = qnnrt_session__attempt_call(a, err);
    }
    if (result == QNNRT_E_IO && a->load.save != NULL) {
        qnnrt_session__attempt_uncached(session, a, err->text);
        qnnrt_session__store_end(&a->scratch);
        a->load.save = NULL;
        result = qnnrt_session__attempt_call(a, err);
    }
    if (result == QNNRT_OK) result = qnnrt_session__attempt_static(session, a, err);
    if (result == QNNRT_OK && a->load.cached != NULL) a->cache = "hit";
    if (result == QNNRT_OK && a->load.save != NULL) qnnrt_session__attempt_put(session, a, key);
    if (result != QNNRT_OK) qnnrt_session__attempt_unload(a);
    return result;
}

/* Give an attempt the options of its engine, and load. *err and a->stage say how far it came. */
static qnnrt_result qnnrt_session__attempt_try(qnnrt_session *session, qnnrt_session__attempt *a,
                                               const char *wanted, qnnrt_error *err)
{
    qnnrt_session__engine *engine = a->engine;
    qnnrt_result result;
    a->device = wanted;
    a->stage = QNNRT_SESSION__STAGE_KIND;
    a->cache = session->cache_why != NULL ? session->cache_why : "off";
    a->cache_key = "";
    a->us = -1;
    if ((engine->table->kinds & (uint32_t)session->info.kind) == 0)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%.60s does not load %s",
                               engine->table->name,
                               qnnrt_session__file_kind_text(session->info.kind));
    a->stage = QNNRT_SESSION__STAGE_OPEN;
    result = qnnrt_session__engine_open(engine, err);
    if (result != QNNRT_OK) return result;
    a->stage = QNNRT_SESSION__STAGE_DEVICE;
    result = qnnrt_session__engine_device(engine, wanted, &a->device, err);
    if (result != QNNRT_OK) return result;
    a->stage = QNNRT_SESSION__STAGE_LOAD;
    /* The library may be closed before the session is. */
    a->device = qnnrt_session__keep_text(session, a->device, err);
    if (a->device == NULL) {
        a->device = wanted;
        return QNNRT_E_MEMORY;
    }
    a->load = session->load;
    a->load.device = a->device;
    a->load.options = engine->open.options;
    a->load.option_count = engine->open.option_count;
    return qnnrt_session__attempt_load(session, a, err);
}

/* =====================================================================================
   BIND                                                                             >>bind
   Bindings, one run of them, and the dispatch log.
   Needs: >>engine     Knows nothing of: files, policies, batches
   ===================================================================================== */

/* Take the session for this thread. Return 0 if another one has it. */
static int qnnrt_session__bind_enter(qnnrt_session *session)
{
    return __atomic_exchange_n(&session->busy, 1, __ATOMIC_ACQUIRE) == 0;
}

static void qnnrt_session__bind_leave(qnnrt_session *session)
{
    __atomic_store_n(&session->busy, 0, __ATOMIC_RELEASE);
}

static void qnnrt_session__bind_free(qnnrt_binding *binding)
{
    qnnrt_session *session;
    if (binding == NULL) return;
    session = binding->session;
    if (binding->binding != NULL) session->engine->binding_destroy(binding->binding);
    qnnrt_hooks_free(&session->hooks, binding->placed);
    qnnrt_hooks_free(&session->hooks, binding);
}

static qnnrt_result qnnrt_session__bind_make(qnnrt_session *session, qnnrt_binding **out,
                                             qnnrt_error *err)
{
    const size_t count = session->facts.input_count + session->facts.output_count;
    qnnrt_result result;
    size_t i;
    qnnrt_binding *binding = (qnnrt_binding *)qnnrt_hooks_alloc(&session->hooks, 1,
                                                                sizeof(*binding));
    if (binding == NULL) return qnnrt_session__fail_memory(err, sizeof(*binding));
    binding->session = session;
    binding->placed = (unsigned char *)qnnrt_hooks_alloc(&session->hooks, 1, count + 1);
    if (binding->placed == NULL) {
        qnnrt_session__bind_free(binding);
        return qnnrt_session__fail_memory(err, count + 1);
    }
    for (i = 0; i < session->facts.input_count; ++i)
        if (!session->facts.inputs[i].optional) ++binding->missing;
    result = session->engine->binding_create(session->model, &binding->binding, err);
    if (result != QNNRT_OK) {
        binding->binding = NULL;
        qnnrt_session__bind_free(binding);
        return qnnrt_session__engine_told(session->engine, result, err);
    }
    *out = binding;
    return QNNRT_OK;
}

/* Place a value that is checked and complete. */
static qnnrt_result qnnrt_session__bind_set(qnnrt_binding *binding, int output, size_t index,
                                            const qnnrt_value *value, qnnrt_error *err)
{
    qnnrt_session *session = binding->session;
    unsigned char *placed = &binding->placed[(output ? session->facts.input_count : 0) + index];
    const qnnrt_result result = session->engine->set(binding->binding, output, index, value, err);
    if (result != QNNRT_OK) return qnnrt_session__engine_told(session->engine, result, err);
    if (!output && !session->facts.inputs[index].optional && *placed != (value->data != NULL))
        binding->missing += value->data != NULL ? (size_t)-1 : 1;
    *placed = value->data != NULL;
    return QNNRT_OK;
}

static qnnrt_result qnnrt_session__bind_missing(const qnnrt_binding *binding, qnnrt_error *err)
{
    const qnnrt_session *session = binding->session;
    size_t i;
    int more = 0;
    qnnrt_error_hint(err, qnnrt_error_set(err, QNNRT_E_STATE, "missing input"),
                     "Give a value for each input.");
    for (i = 0; i < session->facts.input_count; ++i) {
        if (session->facts.inputs[i].optional || binding->placed[i]) continue;
        qnnrt_error_add(err, "%s \"%.200s\"", more ? "," : "", session->facts.inputs[i].name);
        more = 1;
    }
    return QNNRT_E_STATE;
}

/* Get a result of the last run. */
static qnnrt_result qnnrt_session__bind_get(qnnrt_binding *binding, size_t index,
                                            qnnrt_value *value, qnnrt_error *err)
{
    const qnnrt_session *session = binding->session;
    qnnrt_result result;
    memset(value, 0, sizeof(*value));
    result = session->engine->get(binding->binding, index, value, err);
    value->name = session->facts.outputs[index].name;
    return qnnrt_session__engine_told(session->engine, result, err);
}

/* Call the dispatch log with each step of the last run, which took `us`. */
static void qnnrt_session__bind_log(qnnrt_binding *binding, double us)
{
    qnnrt_session *session = binding->session;
    qnnrt_dispatch one;
    qnnrt_value value;
    qnnrt_error err;
    size_t count = 0, i;
    if (session->engine->steps != NULL) {
        count = session->engine->steps(binding->binding, session->rows, session->row_room);
        if (count > session->row_room) {
            qnnrt_dispatch *more = count < (size_t)-1 / 2 / sizeof(*more)
                ? (qnnrt_dispatch *)qnnrt_hooks_alloc(&session->hooks, 1, count * sizeof(*more))
                : NULL;
            if (more != NULL) {
                qnnrt_hooks_free(&session->hooks, session->rows);
                session->rows = more;
                session->row_room = count;
            }
            count = session->engine->steps(binding->binding, session->rows, session->row_room);
            if (count > session->row_room) count = session->row_room;
        }
        for (i = 0; i < count; ++i) {
            session->rows[i].engine = session->engine->name;
            if (session->rows[i].device == NULL) session->rows[i].device = session->info.device;
            session->dispatch(session->dispatch_user, &session->rows[i]);
        }
    }
    if (count > 0) return;
    memset(&one, 0, sizeof one);
    one.name = strrchr(session->info.path, '/');
    one.name = one.name != NULL && one.name[1] != '\0' ? one.name + 1 : session->info.path;
    one.engine = session->engine->name;
    one.device = session->info.device;
    one.us = us;
    if (session->facts.output_count > 0 &&
        qnnrt_session__bind_get(binding, 0, &value, &err) == QNNRT_OK) {
        one.dtype = value.dtype;
        one.rank = value.rank;
        memcpy(one.dims, value.dims, sizeof one.dims);
    }
    session->dispatch(session->dispatch_user, &one);
}

/* Run what is placed. */
static qnnrt_result qnnrt_session__bind_run(qnnrt_binding *binding, qnnrt_error *err)
{
    qnnrt_session *session = binding->session;
    qnnrt_result result;
    uint64_t begin = 0;
    binding->ran = 0;
    if (binding->missing > 0) return qnnrt_session__bind_missing(binding, err);
    if (session->dispatch != NULL) begin = qnnrt_session__clock(session);
    result = session->engine->run(binding->binding, err);
    if (result != QNNRT_OK) return qnnrt_session__engine_told(session->engine, result, err);
    binding->ran = 1;
    if (session->dispatch != NULL)
        qnnrt_session__bind_log(binding, begin != 0 ? (double)(qnnrt_session__clock(session)
                                                               - begin) / 1000 : -1);
    return QNNRT_OK;
}

/* =====================================================================================
   CHOOSE                                                                         >>choose
   Tries candidates in order, and takes one.
   Needs: >>shape >>engine >>attempt >>bind     Knows nothing of: JSON, what files hold
   ===================================================================================== */

enum { QNNRT_SESSION__RUNS = 5 };        /* measured, after one that is not */

/* Use the model of an attempt. */
static void qnnrt_session__choose_use(qnnrt_session *session, qnnrt_session__attempt *a)
{
    session->engine = a->engine->table;
    session->model = a->model;
    session->facts = a->facts;
    session->info.device = a->device;
}

/* Place zeros in all inputs. Free dimensions are 1. memory[i] receives what is to be freed. */
static qnnrt_result qnnrt_session__choose_zeros(qnnrt_binding *binding, void **memory,
                                                qnnrt_error *err)
{
    qnnrt_session *session = binding->session;
    qnnrt_result result = QNNRT_OK;
    size_t i, k;
    for (i = 0; i < session->facts.input_count && result == QNNRT_OK; ++i) {
        const qnnrt_session_tensor *t = &session->facts.inputs[i];
        qnnrt_value value;
        if (t->optional) continue;
        memset(&value, 0, sizeof value);
        value.name = t->name;
        value.dtype = t->dtype;
        value.rank = t->rank;
        for (k = 0; k < t->rank; ++k) value.dims[k] = t->dims[k] < 0 ? 1 : t->dims[k];
        if (!qnnrt_session_bytes(value.dtype, value.rank, value.dims, &value.bytes))
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "input \"%.200s\" has no size", t->name);
        memory[i] = qnnrt_hooks_alloc(&session->hooks, 1, value.bytes + 16);
        if (memory[i] == NULL) return qnnrt_session__fail_memory(err, value.bytes + 16);
        value.data = memory[i];
        if (t->dtype == QNNRT_DTYPE_STRING)
            for (k = 0; k < value.bytes / sizeof(char *); ++k) ((const char **)value.data)[k] = "";
        result = qnnrt_session__bind_set(binding, 0, i, &value, err);
    }
    return result;
}

/* Measure the median of a few runs with zeros. */
static qnnrt_result qnnrt_session__choose_measure(qnnrt_session *session, qnnrt_session__attempt *a,
                                                  qnnrt_error *err)
{
    void (*const dispatch)(void *, const qnnrt_dispatch *) = session->dispatch;
    double times[QNNRT_SESSION__RUNS];
    qnnrt_binding *binding = NULL;
    qnnrt_result result;
    void **memory = NULL;
    size_t i, k;
    qnnrt_session__choose_use(session, a);
    session->dispatch = NULL;
    result = qnnrt_session__bind_make(session, &binding, err);
    if (result == QNNRT_OK) {
        memory = (void **)qnnrt_hooks_alloc(&session->hooks, 1, (a->facts.input_count + 1) *
                                            sizeof(*memory));
        result = memory != NULL ? qnnrt_session__choose_zeros(binding, memory, err)
                                : qnnrt_session__fail_memory(err, sizeof(*memory));
    }
    if (result == QNNRT_OK) result = qnnrt_session__bind_run(binding, err);
    for (i = 0; i < QNNRT_SESSION__RUNS && result == QNNRT_OK; ++i) {
        const uint64_t begin = qnnrt_session__clock(session);
        double us;
        result = qnnrt_session__bind_run(binding, err);
        us = (double)(qnnrt_session__clock(session) - begin) / 1000;
        for (k = i; k > 0 && times[k - 1] > us; --k) times[k] = times[k - 1];
        times[k] = us;
    }
    if (result == QNNRT_OK) a->us = times[QNNRT_SESSION__RUNS / 2];
    qnnrt_session__bind_free(binding);
    for (i = 0; memory != NULL && i < a->facts.input_count; ++i)
        qnnrt_hooks_free(&session->hooks, memory[i]);
    qnnrt_hooks_free(&session->hooks, memory);
    session->dispatch = dispatch;
    return result;
}

/* Make one line of several. "; " joins those that are indented, except after a colon. */
static void qnnrt_session__choose_line(char *text)
{
    const char *from;
    char *to = text;
    for (from = text; *from != '\0'; ++from) {
        if (*from != '\n') {
            *to++ = *from;
            continue;
        }
        if (from[1] == ' ' && to > text && to[-1] != ':') *to++ = ';';
        *to++ = ' ';
        while (from[1] == ' ' || from[1] == '\n') ++from;
    }
    *to = '\0';
}

/* Fill the rows of info.candidates with what became of the attempts. */
static void qnnrt_session__choose_reasons(qnnrt_session *session, int measured, int asked)
{
    size_t i;
    for (i = 0; i < session->info.candidate_count; ++i) {
        const qnnrt_session__attempt *a = &session->attempts[i];
        qnnrt_session_candidate *row = &session->candidates[i];
        const size_t name = strlen(a->engine->table->name);
        char text[QNNRT_SESSION__REASON];
        row->engine = a->engine->table->name;
        row->device = a->device;
        row->taken = a == session->taken;
        if (a->result != QNNRT_OK)       /* without the engine's name in front */
            snprintf(text, sizeof text, "%.599s",
                     strncmp(a->error.text, row->engine, name) == 0 && a->error.text[name] == ':'
                         ? a->error.text + name + 2 : a->error.text);
        else if (measured)
            snprintf(text, sizeof text, "%s: %.1f us", row->taken ? "the fastest" : "slower",
                     a->us);
        else
            snprintf(text, sizeof text, "%s", asked ? "it was asked for" : "the first that loads");
        qnnrt_session__choose_line(text);
        qnnrt_text_clean(text);                          /* a character may be cut */
        row->reason = qnnrt_session__attempt_text(session, text);
        snprintf(text, sizeof text, "%s %.60s on %.60s: %.400s", row->taken ? "take" : "not",
                 row->engine, row->device, row->reason);
        qnnrt_session__log(session, QNNRT_LOG_INFO, text);
    }
}

/* True if an earlier row has the engine and the reason of row i. */
static int qnnrt_session__choose_said(const qnnrt_session *session, size_t i)
{
    const qnnrt_session_candidate *rows = session->candidates;
    size_t k = 0;
    while (rows[k].engine != rows[i].engine || strcmp(rows[k].reason, rows[i].reason) != 0) ++k;
    return k < i;
}

/* Fill the error after all candidates failed: of a single reason, its own; else a line for each
   engine and reason, with the code of the one that came furthest. */
static qnnrt_result qnnrt_session__choose_failed(qnnrt_session *session, qnnrt_error *err)
{
    const qnnrt_session_candidate *rows = session->candidates;
    const qnnrt_session__attempt *best = &session->attempts[0];
    const size_t count = session->info.candidate_count;
    size_t i, k, lines = 0;
    int room;
    for (i = 0; i < count; ++i) {
        if (session->attempts[i].stage > best->stage) best = &session->attempts[i];
        if (!qnnrt_session__choose_said(session, i)) ++lines;
    }
    *err = best->error;
    if (lines == 1) return best->result;
    room = (int)((sizeof err->text - 400) / lines) - 40;
    err->text[0] = '\0';
    qnnrt_error_add(err, "no engine runs \"%.300s\":", session->info.path);
    for (i = 0; i < count; ++i) {
        if (qnnrt_session__choose_said(session, i)) continue;
        qnnrt_error_add(err, "\n  %.30s (%.20s", rows[i].engine, rows[i].device);
        for (k = i + 1; k < count; ++k)
            if (rows[k].engine == rows[i].engine && strcmp(rows[k].reason, rows[i].reason) == 0)
                qnnrt_error_add(err, ", %.20s", rows[k].device);
        qnnrt_error_add(err, "): %.*s", room > 40 ? room : 40, rows[i].reason);
    }
    return best->result;
}

/* Try one candidate. Its error is kept. */
static void qnnrt_session__choose_try(qnnrt_session *session, qnnrt_session__engine *engine,
                                      const char *device, int measure)
{
    qnnrt_session__attempt *a = &session->attempts[session->info.candidate_count++];
    a->engine = engine;
    a->result = qnnrt_session__attempt_try(session, a, device, &a->error);
    if (a->result != QNNRT_OK || !measure) return;
    a->result = qnnrt_session__choose_measure(session, a, &a->error);
    if (a->result != QNNRT_OK) qnnrt_session__attempt_unload(a);
}

/* Load the model: with engine `only` (or all if it is -1), on the devices in this order. */
static qnnrt_result qnnrt_session__choose(qnnrt_session *session, ptrdiff_t only,
                                          const char *const *devices, size_t device_count,
                                          int named, qnnrt_error *err)
{
    const size_t rows = device_count * (only >= 0 ? 1 : session->engine_count);
    const int measure = session->policy.auto_strategy == 1 && rows > 1;
    size_t i, k;
    session->attempts = (qnnrt_session__attempt *)qnnrt_session__keep(
        session, rows, sizeof(*session->attempts), err);
    session->candidates = (qnnrt_session_candidate *)qnnrt_session__keep(
        session, rows, sizeof(*session->candidates), err);
    if (session->attempts == NULL || session->candidates == NULL) return QNNRT_E_MEMORY;
    session->info.candidates = session->candidates;
    for (i = 0; i < device_count && session->taken == NULL; ++i) {
        for (k = 0; k < session->engine_count && session->taken == NULL; ++k) {
            qnnrt_session__attempt *a = &session->attempts[session->info.candidate_count];
            if (only >= 0 && (size_t)only != k) continue;
            qnnrt_session__choose_try(session, &session->engines[k], devices[i], measure);
            if (a->result == QNNRT_OK && !measure) session->taken = a;
        }
        /* A fallback is for a device that has nothing, whatever it costs. */
        if (named && measure)
            for (k = 0; k < session->info.candidate_count; ++k)
                if (session->attempts[k].result == QNNRT_OK) i = device_count - 1;
    }
    for (i = 0; measure && i < session->info.candidate_count; ++i) {
        qnnrt_session__attempt *a = &session->attempts[i];
        if (a->result == QNNRT_OK && (session->taken == NULL || a->us < session->taken->us))
            session->taken = a;
    }
    qnnrt_session__choose_reasons(session, measure, rows == 1);
    for (i = 0; i < session->info.candidate_count; ++i)
        if (&session->attempts[i] != session->taken)
            qnnrt_session__attempt_unload(&session->attempts[i]);
    for (i = 0; i < session->engine_count; ++i)
        if (session->taken == NULL || session->taken->engine != &session->engines[i])
            qnnrt_session__engine_close(&session->engines[i]);
    if (session->taken == NULL) return qnnrt_session__choose_failed(session, err);
    qnnrt_session__choose_use(session, session->taken);
    return QNNRT_OK;
}

/* Say in info.fallback what does not run as asked for. */
static qnnrt_result qnnrt_session__choose_fallback(qnnrt_session *session, const char *device,
                                                   int named, qnnrt_error *err)
{
    const char *part = session->facts.fallback;
    char text[1200];
    size_t i;
    if (!named || session->taken->load.device == NULL ||
        (strcmp(session->info.device, "cpu") != 0 || strcmp(device, "cpu") == 0)) {
        session->info.fallback = part;
    } else {
        for (i = 0; &session->attempts[i] != session->taken &&
                    session->attempts[i].engine != session->taken->engine; ++i) {}
        snprintf(text, sizeof text, "all of it on cpu instead of %.60s: %.600s%s%.400s", device,
                 session->candidates[0].taken ? "" : session->candidates[i].reason,
                 part != NULL ? "; " : "", part != NULL ? part : "");
        session->info.fallback = qnnrt_session__keep_text(session, text, err);
        if (session->info.fallback == NULL) return QNNRT_E_MEMORY;
    }
    if (session->info.fallback != NULL) {
        snprintf(text, sizeof text, "fallback: %.1000s", session->info.fallback);
        qnnrt_session__log(session, QNNRT_LOG_WARN, text);
    }
    return QNNRT_OK;
}

/* =====================================================================================
   BATCH                                                                           >>batch
   Runs of qnnrt_session_run(): values by name or order, in one run or in slices.
   Needs: >>shape >>match >>bind     Knows nothing of: files, policies
   ===================================================================================== */

static void qnnrt_session__batch_free(qnnrt_session *session)
{
    qnnrt_session__batch *batch = session->batch;
    size_t i;
    if (batch == NULL) return;
    for (i = 0; i < session->facts.output_count; ++i)
        qnnrt_hooks_free(&session->hooks, batch->memory[i]);
    session->batch = NULL;
}

/* Make the binding of qnnrt_session_run(), once. */
static qnnrt_result qnnrt_session__batch_make(qnnrt_session *session, qnnrt_error *err)
{
    const size_t inputs = session->facts.input_count, outputs = session->facts.output_count;
    qnnrt_session__batch *batch;
    if (session->batch == NULL) {
        batch = (qnnrt_session__batch *)qnnrt_session__keep(session, 1, sizeof(*batch), err);
        if (batch == NULL) return QNNRT_E_MEMORY;
        batch->inputs = (size_t *)qnnrt_session__keep(session, inputs, sizeof(size_t), err);
        batch->outputs = (size_t *)qnnrt_session__keep(session, outputs, sizeof(size_t), err);
        batch->memory = (void **)qnnrt_session__keep(session, outputs, sizeof(void *), err);
        batch->room = (size_t *)qnnrt_session__keep(session, outputs, sizeof(size_t), err);
        batch->given = (qnnrt_value *)qnnrt_session__keep(session, outputs, sizeof(qnnrt_value),
                                                          err);
        batch->wholes = (qnnrt_value *)qnnrt_session__keep(session, outputs, sizeof(qnnrt_value),
                                                           err);
        if (batch->inputs == NULL || batch->outputs == NULL || batch->memory == NULL ||
            batch->room == NULL || batch->given == NULL || batch->wholes == NULL)
            return QNNRT_E_MEMORY;
        session->batch = batch;
    }
    return session->own != NULL ? QNNRT_OK : qnnrt_session__bind_make(session, &session->own, err);
}

/* Find the tensor of each value of a list. */
static qnnrt_result qnnrt_session__batch_assign(const qnnrt_session *session, int output,
                                                const qnnrt_value *values, size_t count,
                                                size_t *places, qnnrt_error *err)
{
    const qnnrt_session_tensor *list = output ? session->facts.outputs : session->facts.inputs;
    const size_t tensors = output ? session->facts.output_count : session->facts.input_count;
    const char *what = output ? "output" : "input";
    size_t i;
    if (tensors > 0) memset(places, 0, tensors * sizeof(*places));
    for (i = 0; i < count; ++i) {
        size_t index = i;
        if (values[i].name != NULL) {
            const qnnrt_result result = qnnrt_session__match_find(list, tensors, what,
                                                                  values[i].name, &index, err);
            if (result != QNNRT_OK) return result;
        } else if (i >= tensors) {
            return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "%lu %ss are given, the model has %lu",
                                   (unsigned long)count, what, (unsigned long)tensors);
        }
        if (places[index] != 0)
            return qnnrt_error_set(err, QNNRT_E_ARG, "%s \"%.200s\" is given twice", what,
                                   list[index].name);
        places[index] = i + 1;
    }
    return QNNRT_OK;
}

/* Forget what the last run left in memory of the engine: this run may free it. An output that still
   has it is one without data; an input that lies in it is an error. */
static qnnrt_result qnnrt_session__batch_forget(qnnrt_session *session, const qnnrt_value *inputs,
                                                size_t input_count, qnnrt_value *outputs,
                                                qnnrt_error *err)
{
    size_t i, k;
    for (i = 0; i < session->facts.output_count; ++i) {
        const qnnrt_value *given = &session->batch->given[i];
        const uintptr_t begin = (uintptr_t)given->data;
        if (given->data == NULL) continue;
        for (k = 0; k < input_count; ++k)
            if ((uintptr_t)inputs[k].data >= begin &&
                (uintptr_t)inputs[k].data - begin < given->bytes)
                return qnnrt_error_hint(err,
                                        qnnrt_error_set(err, QNNRT_E_ARG, "an input lies in the "
                                                        "memory of output \"%.200s\" of the last "
                                                        "run, which ends with this run",
                                                        session->facts.outputs[i].name),
                                        "Copy it, or give the output memory of yours.");
    }
    for (i = 0; i < session->facts.output_count; ++i) {
        qnnrt_value *given = &session->batch->given[i];
        const size_t place = session->batch->outputs[i];
        if (place > 0 && given->data != NULL && outputs[place - 1].data == given->data) {
            outputs[place - 1].data = NULL;
            outputs[place - 1].bytes = 0;
            outputs[place - 1].rank = 0;
        }
        given->data = NULL;
    }
    return QNNRT_OK;
}

/* Return how many slices of an input's fixed batch a value has; 1 if it is not a multiple. */
static int64_t qnnrt_session__batch_of(const qnnrt_session_tensor *t, const qnnrt_value *value)
{
    if (t->any_rank || t->rank == 0 || value->rank != t->rank || t->dims[0] <= 0 ||
        value->dims[0] <= t->dims[0] || value->dims[0] % t->dims[0] != 0) return 1;
    return value->dims[0] / t->dims[0];
}

/* Return an error if a value of an input has more batches than max_batch_size. */
static qnnrt_result qnnrt_session__batch_limit(const qnnrt_session *session,
                                               const qnnrt_session_tensor *t,
                                               const qnnrt_value *value, qnnrt_error *err)
{
    if (session->max_batch == 0 || t->rank == 0 || value->rank == 0 ||
        (t->dims[0] >= 0 && qnnrt_session__batch_of(t, value) == 1) ||
        value->dims[0] <= (int64_t)session->max_batch) return QNNRT_OK;
    qnnrt_error_set(err, QNNRT_E_LIMIT, "input \"%.200s\" has a batch of %lld, max_batch_size is "
                    "%lu", t->name, (long long)value->dims[0], (unsigned long)session->max_batch);
    return qnnrt_error_hint(err, QNNRT_E_LIMIT, "Raise max_batch_size, or run fewer at a time.");
}

/* Find out in how many slices the inputs are to be run, and check the limit. */
static qnnrt_result qnnrt_session__batch_slices(const qnnrt_session *session,
                                                const qnnrt_value *inputs, int64_t *slices,
                                                qnnrt_error *err)
{
    const char *first = "";
    size_t i;
    *slices = 1;
    if (session->max_batch == 0) return QNNRT_OK;
    for (i = 0; i < session->facts.input_count; ++i) {
        const qnnrt_session_tensor *t = &session->facts.inputs[i];
        const size_t place = session->batch->inputs[i];
        const qnnrt_value *value = place > 0 ? &inputs[place - 1] : NULL;
        int64_t has;
        if (value == NULL || value->rank == 0 || t->rank == 0) continue;
        has = qnnrt_session__batch_of(t, value);
        if (qnnrt_session__batch_limit(session, t, value, err) != QNNRT_OK) return QNNRT_E_LIMIT;
        if (has == 1) continue;
        if (*slices != 1 && t->dims[0] != session->batch->rows) {
            qnnrt_error_set(err, QNNRT_E_MISMATCH, "input \"%.200s\" has a batch of %lld, and "
                            "\"%.200s\" one of %lld", t->name, (long long)t->dims[0], first,
                            (long long)session->batch->rows);
            return qnnrt_error_hint(err, QNNRT_E_MISMATCH, "Run one batch at a time.");
        }
        if (*slices != 1 && has != *slices)
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "input \"%.200s\" has %lld batches, and "
                                   "\"%.200s\" has %lld", t->name, (long long)has, first,
                                   (long long)*slices);
        *slices = has;
        session->batch->rows = t->dims[0];
        first = t->name;
    }
    for (i = 0; i < session->facts.input_count && *slices > 1; ++i) {
        const qnnrt_session_tensor *t = &session->facts.inputs[i];
        const size_t place = session->batch->inputs[i];
        char has[400];
        if (place == 0 || inputs[place - 1].rank == 0 ||
            (!t->any_rank && (t->rank == 0 || t->dims[0] >= 0))) continue;
        qnnrt_error_set(err, QNNRT_E_MISMATCH, "input \"%.200s\" is %s: whether its rows belong to "
                        "the batches of \"%.200s\" is not known", t->name,
                        qnnrt_session__shape_text(t->dtype, t->rank, t->dims, t->any_rank, has,
                                                  sizeof has),
                        first);
        return qnnrt_error_hint(err, QNNRT_E_MISMATCH, "Fix its shape, or run one batch at a "
                                "time.");
    }
    return QNNRT_OK;
}

/* Place all inputs for a slice. Those that are not cut are placed for the first one only. */
static qnnrt_result qnnrt_session__batch_inputs(qnnrt_session *session, const qnnrt_value *inputs,
                                                int64_t slices, int64_t slice, qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < session->facts.input_count && result == QNNRT_OK; ++i) {
        const qnnrt_session_tensor *t = &session->facts.inputs[i];
        const size_t place = session->batch->inputs[i];
        const int cut = place > 0 && slices > 1 &&
                        qnnrt_session__batch_of(t, &inputs[place - 1]) > 1;
        qnnrt_value value;
        if (slice > 0 && !cut) continue;
        memset(&value, 0, sizeof value);
        if (place == 0) {
            if (!session->own->placed[i]) continue;
        } else {
            value = inputs[place - 1];
            if (value.data == NULL && value.bytes == 0) value.data = session->batch->nothing;
        }
        if (cut) {
            if (value.bytes % (size_t)slices != 0)
                return qnnrt_error_set(err, QNNRT_E_MISMATCH, "input \"%.200s\" has %lu bytes for "
                                       "%lld batches", t->name, (unsigned long)value.bytes,
                                       (long long)slices);
            value.dims[0] = t->dims[0];
            value.bytes /= (size_t)slices;
            value.data = (char *)value.data + (size_t)slice * value.bytes;
        }
        result = qnnrt_session__match_value(t, 0, &value, err);
        if (result == QNNRT_OK) result = qnnrt_session__bind_set(session->own, 0, i, &value, err);
    }
    return result;
}

/* Return true if an output's dimensions are known before the run: by the model or the caller. */
static int qnnrt_session__batch_known(const qnnrt_session_tensor *t, const qnnrt_value *value)
{
    uint32_t k;
    if (value != NULL && value->rank > 0) return 1;
    if (t->any_rank) return 0;
    for (k = 0; k < t->rank; ++k)
        if (t->dims[k] < 0) return 0;
    return 1;
}

/* Place all outputs for a run in one piece. */
static qnnrt_result qnnrt_session__batch_outputs(qnnrt_session *session, const qnnrt_value *outputs,
                                                 qnnrt_error *err)
{
    const size_t before = session->facts.input_count;
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < session->facts.output_count && result == QNNRT_OK; ++i) {
        const qnnrt_session_tensor *t = &session->facts.outputs[i];
        const size_t place = session->batch->outputs[i];
        qnnrt_value value;
        memset(&value, 0, sizeof value);
        if (place > 0) value = outputs[place - 1];
        if (!qnnrt_session__batch_known(t, &value)) value.data = NULL;   /* it is copied later */
        if (value.data == NULL && place > 0 && (unsigned)value.dtype != 0 &&
            value.dtype != t->dtype)
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "output \"%.200s\" is %s, and %s is "
                                   "expected", t->name, qnnrt_dtype_name(t->dtype),
                                   qnnrt_dtype_name(value.dtype));
        if (value.data == NULL && !session->own->placed[before + i]) continue;
        result = qnnrt_session__match_value(t, 1, &value, err);
        if (result == QNNRT_OK) result = qnnrt_session__bind_set(session->own, 1, i, &value, err);
    }
    return result;
}

/* Remember a result that is not in memory of the caller. An output may be an input that nothing
   changes: its memory does not end, which bytes 0 say. */
static void qnnrt_session__batch_give(qnnrt_session *session, const qnnrt_value *inputs,
                                      size_t index, const qnnrt_value *got)
{
    qnnrt_value *given = &session->batch->given[index];
    size_t i;
    *given = *got;
    for (i = 0; i < session->facts.input_count; ++i) {
        const size_t place = session->batch->inputs[i];
        const qnnrt_value *input = place > 0 ? &inputs[place - 1] : NULL;
        if (input != NULL && (uintptr_t)got->data >= (uintptr_t)input->data &&
            (uintptr_t)got->data - (uintptr_t)input->data < input->bytes) given->bytes = 0;
    }
}

/* Get the results of a run in one piece. */
static qnnrt_result qnnrt_session__batch_results(qnnrt_session *session, const qnnrt_value *inputs,
                                                 qnnrt_value *outputs, size_t output_count,
                                                 qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < session->facts.output_count && result == QNNRT_OK; ++i) {
        const size_t place = session->batch->outputs[i];
        qnnrt_value got, *want = place > 0 ? &outputs[place - 1] : NULL;
        if (want == NULL || place > output_count) continue;
        result = qnnrt_session__bind_get(session->own, i, &got, err);
        if (result != QNNRT_OK) break;
        if (want->data != NULL && !session->own->placed[session->facts.input_count + i]) {
            if (want->bytes < got.bytes)
                return qnnrt_error_set(err, QNNRT_E_MISMATCH, "output \"%.200s\" needs room for "
                                       "%lu bytes, got %lu", got.name, (unsigned long)got.bytes,
                                       (unsigned long)want->bytes);
            if (got.bytes > 0) memcpy(want->data, got.data, got.bytes);
            got.data = want->data;
        }
        if (want->data == NULL) qnnrt_session__batch_give(session, inputs, i, &got);
        *want = got;
    }
    return result;
}

/* Put a result of a slice where it belongs. The first slice decides how large all are. */
static qnnrt_result qnnrt_session__batch_gather(qnnrt_session *session, size_t index,
                                                qnnrt_value *want, const qnnrt_value *got,
                                                qnnrt_value *whole, int64_t slices, int64_t slice,
                                                qnnrt_error *err)
{
    qnnrt_session__batch *batch = session->batch;
    size_t total, k;
    if (slice == 0) {
        *whole = *got;
        if (got->rank == 0 || got->dims[0] != batch->rows || batch->rows > INT64_MAX / slices) {
            char has[400];
            qnnrt_error_set(err, QNNRT_E_MISMATCH, "output \"%.200s\" is %s, which is not a batch "
                            "of %lld", got->name,
                            qnnrt_session__shape_text(got->dtype, got->rank, got->dims, 0, has,
                                                      sizeof has),
                            (long long)batch->rows);
            return qnnrt_error_hint(err, QNNRT_E_MISMATCH, "Run one batch at a time.");
        }
        whole->dims[0] = got->dims[0] * slices;
        if (got->dtype == QNNRT_DTYPE_STRING ||
            !qnnrt_session_bytes(got->dtype, got->rank, whole->dims, &total) ||
            total != got->bytes * (size_t)slices) {
            qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "output \"%.200s\" is %s, which cannot be "
                            "put together", got->name, qnnrt_dtype_name(got->dtype));
            return qnnrt_error_hint(err, QNNRT_E_UNSUPPORTED, "Run one batch at a time.");
        }
        for (k = 0; k < want->rank && want->rank == whole->rank; ++k)
            if (want->dims[k] != whole->dims[k]) break;
        if ((want->rank != 0 && (want->rank != whole->rank || k < want->rank)) ||
            ((unsigned)want->dtype != 0 && want->dtype != whole->dtype) ||
            (want->data != NULL && want->bytes < total)) {
            char has[400], wants[400];
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "output \"%.200s\" is %s with %lu bytes, "
                                   "got %s with %lu", got->name,
                                   qnnrt_session__shape_text(whole->dtype, whole->rank, whole->dims,
                                                             0, has, sizeof has),
                                   (unsigned long)total,
                                   qnnrt_session__shape_text((unsigned)want->dtype != 0 ?
                                                             want->dtype : whole->dtype, want->rank,
                                                             want->dims, 0, wants, sizeof wants),
                                   (unsigned long)want->bytes);
        }
        whole->bytes = total;
        whole->data = want->data;
        if (whole->data == NULL && batch->room[index] < total) {
            qnnrt_hooks_free(&session->hooks, batch->memory[index]);
            batch->room[index] = 0;
            batch->memory[index] = qnnrt_hooks_alloc(&session->hooks, 1, total);
            if (batch->memory[index] == NULL) return qnnrt_session__fail_memory(err, total);
            batch->room[index] = total;
        }
        if (whole->data == NULL)
            whole->data = total > 0 ? batch->memory[index] : (void *)batch->nothing;
    } else if (got->dtype != whole->dtype || got->rank != whole->rank ||
               got->bytes * (size_t)slices != whole->bytes) {
        qnnrt_error_set(err, QNNRT_E_MISMATCH, "output \"%.200s\" has another size in batch %lld",
                        got->name, (long long)slice);
        return qnnrt_error_hint(err, QNNRT_E_MISMATCH, "Run one batch at a time.");
    }
    if (got->bytes > 0)
        memcpy((char *)whole->data + (size_t)slice * got->bytes, got->data, got->bytes);
    return QNNRT_OK;
}

/* Run slice after slice. */
static qnnrt_result qnnrt_session__batch_run(qnnrt_session *session, const qnnrt_value *inputs,
                                             qnnrt_value *outputs, int64_t slices, qnnrt_error *err)
{
    qnnrt_value none, got, *wholes = session->batch->wholes;
    qnnrt_result result = QNNRT_OK;
    int64_t slice;
    size_t i;
    memset(&none, 0, sizeof none);
    for (i = 0; i < session->facts.output_count && result == QNNRT_OK; ++i)
        if (session->own->placed[session->facts.input_count + i])
            result = qnnrt_session__bind_set(session->own, 1, i, &none, err);
    for (slice = 0; slice < slices && result == QNNRT_OK; ++slice) {
        result = qnnrt_session__batch_inputs(session, inputs, slices, slice, err);
        if (result == QNNRT_OK && __atomic_load_n(&session->stop, __ATOMIC_ACQUIRE))
            result = qnnrt_error_set(err, QNNRT_E_CANCELLED, "cancelled after %lld of %lld batches",
                                     (long long)slice, (long long)slices);
        if (result == QNNRT_OK) result = qnnrt_session__bind_run(session->own, err);
        for (i = 0; i < session->facts.output_count && result == QNNRT_OK; ++i) {
            const size_t place = session->batch->outputs[i];
            if (place == 0) continue;
            result = qnnrt_session__bind_get(session->own, i, &got, err);
            if (result == QNNRT_OK)
                result = qnnrt_session__batch_gather(session, i, &outputs[place - 1], &got,
                                                     &wholes[i], slices, slice, err);
        }
    }
    for (i = 0; i < session->facts.output_count && result == QNNRT_OK; ++i)
        if (session->batch->outputs[i] > 0) {
            qnnrt_value *want = &outputs[session->batch->outputs[i] - 1];
            if (want->data == NULL) qnnrt_session__batch_give(session, inputs, i, &wholes[i]);
            *want = wholes[i];
        }
    return result;
}

/* Return an error if a needed input is not given. */
static qnnrt_result qnnrt_session__batch_complete(const qnnrt_session *session,
                                                  const qnnrt_value *inputs, qnnrt_error *err)
{
    size_t i;
    int missing = 0;
    for (i = 0; i < session->facts.input_count; ++i) {
        const size_t place = session->batch->inputs[i];
        if (session->facts.inputs[i].optional ||
            (place > 0 && (inputs[place - 1].data != NULL || inputs[place - 1].bytes == 0)))
            continue;
        if (!missing)
            qnnrt_error_hint(err, qnnrt_error_set(err, QNNRT_E_STATE, "missing input"),
                             "Give a value for each input.");
        qnnrt_error_add(err, "%s \"%.200s\"", missing ? "," : "", session->facts.inputs[i].name);
        missing = 1;
    }
    return missing ? QNNRT_E_STATE : QNNRT_OK;
}

/* =====================================================================================
   PUBLIC                                                                         >>public
   Sessions and bindings.
   Needs: >>shape >>file >>match >>policy >>onnx >>engine >>attempt >>bind >>choose >>batch
   Knows nothing of: what files hold
   ===================================================================================== */

QNNRT_SESSION_API qnnrt_result qnnrt_policy_check(qnnrt_policy_kind kind, const char *text,
                                                  void (*warn)(void *user, const char *line),
                                                  void *user, qnnrt_error *err)
{
    qnnrt_session__policy policy;
    qnnrt_error own;
    const char *line;
    size_t i;
    if (err == NULL) err = &own;
    qnnrt_error_clear(err);
    if (text == NULL || (kind != QNNRT_POLICY_KERNEL && kind != QNNRT_POLICY_EXECUTION))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_policy_check: text is NULL, or kind is "
                               "unknown");
    qnnrt_session__policy_clear(&policy);
    if (qnnrt_session__policy_read(kind, text, NULL, &policy, err) != QNNRT_OK ||
        qnnrt_session__policy_whole(&policy, err) != QNNRT_OK) return err->code;
    for (i = 0; warn != NULL && (line = qnnrt_session__policy_warning(kind, &policy, i)) != NULL;
         ++i)
        warn(user, line);
    return QNNRT_OK;
}

/* Free all that a session has. */
static void qnnrt_session__end(qnnrt_session *session)
{
    const qnnrt_hooks hooks = session->caller;
    size_t i;
    qnnrt_session__bind_free(session->own);
    qnnrt_session__batch_free(session);
    for (i = 0; i < session->info.candidate_count; ++i)
        qnnrt_session__attempt_unload(&session->attempts[i]);
    for (i = 0; i < session->engine_count; ++i) qnnrt_session__engine_close(&session->engines[i]);
    qnnrt_cache_close(session->cache);
    qnnrt_hooks_free(&hooks, session->rows);
    qnnrt_arena_free(&session->arena);
    qnnrt_hooks_free(&hooks, session);
}

/* Copy what an engine gets of the options, and open nothing yet. */
static qnnrt_result qnnrt_session__take_engines(qnnrt_session *session,
                                                const qnnrt_session_desc *desc, qnnrt_error *err)
{
    size_t i, k, index;
    qnnrt_result result = qnnrt_session__engine_check(desc->engines, &session->engine_count, err);
    if (result != QNNRT_OK) {
        session->engine_count = 0;
        return result;
    }
    session->engines = (qnnrt_session__engine *)qnnrt_session__keep(
        session, session->engine_count, sizeof(*session->engines), err);
    if (session->engines == NULL) {
        session->engine_count = 0;
        return QNNRT_E_MEMORY;
    }
    for (i = 0; i < desc->option_count; ++i) {
        if (desc->options[i].key == NULL || desc->options[i].value == NULL)
            return qnnrt_error_set(err, QNNRT_E_ARG, "option %lu has no key or no value",
                                   (unsigned long)i);
        if (desc->options[i].engine != NULL &&
            qnnrt_session__engine_find(desc->engines, desc->options[i].engine, &index, err)
                != QNNRT_OK) {
            qnnrt_error_add(err, " (in option \"%.100s\")", desc->options[i].key);
            return QNNRT_E_NOT_FOUND;
        }
    }
    for (i = 0; i < session->engine_count; ++i) {
        qnnrt_session__engine *e = &session->engines[i];
        qnnrt_session_option *options = (qnnrt_session_option *)qnnrt_session__keep(
            session, desc->option_count, sizeof(*options), err);
        if (options == NULL) return QNNRT_E_MEMORY;
        e->table = desc->engines[i];
        e->open.hooks = session->hooks;
        e->open.options = options;
        for (k = 0; k < desc->option_count; ++k) {
            const qnnrt_session_option *from = &desc->options[k];
            const char *value;
            if (from->engine != NULL && strcmp(from->engine, e->table->name) != 0) continue;
            value = qnnrt_session__keep_text(session, from->value, err);
            if (value == NULL) return QNNRT_E_MEMORY;
            if (strcmp(from->key, "library_path") == 0) {
                e->open.library_path = value;
                continue;
            }
            options[e->open.option_count].engine = e->table->name;
            options[e->open.option_count].value = value;
            options[e->open.option_count].key = qnnrt_session__keep_text(session, from->key, err);
            if (options[e->open.option_count++].key == NULL) return QNNRT_E_MEMORY;
        }
    }
    return QNNRT_OK;
}

/* Copy the shapes of the policy and of the caller, who wins. */
static qnnrt_result qnnrt_session__take_shapes(qnnrt_session *session,
                                               const qnnrt_session_desc *desc, qnnrt_error *err)
{
    const qnnrt_session__policy *policy = &session->policy;
    const size_t most = policy->static_shape == 1 ? policy->shape_count : 0;
    qnnrt_session_shape *shapes;
    size_t i, k, count = 0;
    if (most + desc->shape_count == 0) return QNNRT_OK;
    shapes = (qnnrt_session_shape *)qnnrt_session__keep(session, most + desc->shape_count,
                                                        sizeof(*shapes), err);
    if (shapes == NULL) return QNNRT_E_MEMORY;
    for (i = 0; i < desc->shape_count; ++i) {
        const qnnrt_session_shape *from = &desc->shapes[i];
        if (from->name == NULL || from->rank > QNNRT_SESSION_RANK)
            return qnnrt_error_set(err, QNNRT_E_ARG, "shape %lu has no name, or a rank over %d",
                                   (unsigned long)i, QNNRT_SESSION_RANK);
        for (k = 0; k < from->rank + (from->rank == 0); ++k)
            if (from->dims[k] < 0)
                return qnnrt_error_set(err, QNNRT_E_ARG, "shape \"%.200s\": dimension %lu is %lld, "
                                       "expected 0 or more", from->name, (unsigned long)k,
                                       (long long)from->dims[k]);
        shapes[count] = *from;
        shapes[count].name = qnnrt_session__keep_text(session, from->name, err);
        if (shapes[count++].name == NULL) return QNNRT_E_MEMORY;
    }
    for (i = 0; i < most; ++i) {
        for (k = 0; k < desc->shape_count; ++k)
            if (strcmp(desc->shapes[k].name, policy->shapes[i].name) == 0) break;
        if (k == desc->shape_count) shapes[count++] = policy->shapes[i];
        else if (!qnnrt_session__warn(session, err, "shape \"%.200s\" of the caller wins over"
                                      " fixed_shapes", desc->shapes[k].name)) return QNNRT_E_MEMORY;
    }
    session->load.shapes = shapes;
    session->load.shape_count = count;
    return QNNRT_OK;
}

/* Read both policies, and warn of what has no effect. */
static qnnrt_result qnnrt_session__take_policies(qnnrt_session *session,
                                                 const qnnrt_session_desc *desc, qnnrt_error *err)
{
    const char *texts[2], *line;
    qnnrt_result result = QNNRT_OK;
    size_t i;
    int kind;
    texts[QNNRT_POLICY_KERNEL] = desc->kernel_policy;
    texts[QNNRT_POLICY_EXECUTION] = desc->execution_policy;
    qnnrt_session__policy_clear(&session->policy);
    for (kind = QNNRT_POLICY_KERNEL; kind <= QNNRT_POLICY_EXECUTION; ++kind) {
        if (texts[kind] == NULL) continue;
        result = qnnrt_session__policy_read((qnnrt_policy_kind)kind, texts[kind], session,
                                            &session->policy, err);
        if (result != QNNRT_OK) return result;
        for (i = 0; (line = qnnrt_session__policy_warning((qnnrt_policy_kind)kind, &session->policy,
                                                          i)) != NULL; ++i) {
            if (desc->cache_dir != NULL && desc->cache_dir[0] != '\0' &&
                strstr(line, "without a cache_dir") != NULL) continue;
            if (!qnnrt_session__warn(session, err, "%s", line)) return QNNRT_E_MEMORY;
        }
    }
    return qnnrt_session__policy_whole(&session->policy, err);
}

/* Warn that a field of the caller wins. Return 0 after filling the error. */
static int qnnrt_session__take_warn(qnnrt_session *session, const char *what, const char *field,
                                    const char *policy, qnnrt_error *err)
{
    return strcmp(field, policy) == 0 ||
           qnnrt_session__warn(session, err, "%s \"%.200s\" of the policy has no effect, \"%.200s\""
                               " was asked for", what, policy, field);
}

/* Resolve all settings into session->load and the cache's folder. */
static qnnrt_result qnnrt_session__take_settings(qnnrt_session *session,
                                                 const qnnrt_session_desc *desc,
                                                 const char **device, qnnrt_error *err)
{
    const qnnrt_session__policy *policy = &session->policy;
    qnnrt_engine_load *load = &session->load;
    const char *dir = desc->cache_dir;
    int precision = (int)desc->precision, warned = 1;
    if (precision < QNNRT_PRECISION_DEFAULT || precision > QNNRT_PRECISION_INT8)
        return qnnrt_error_set(err, QNNRT_E_ARG, "precision %d is unknown", precision);
    *device = desc->device != NULL ? desc->device : policy->target != NULL ? policy->target
                                                                           : "auto";
    if ((*device)[0] == '\0')
        return qnnrt_error_set(err, QNNRT_E_ARG, "the name of the device is empty");
    if (desc->device != NULL && policy->target != NULL)
        warned &= qnnrt_session__take_warn(session, "target", desc->device, policy->target, err);
    if (policy->precision > 0 && precision > 0)
        warned &= qnnrt_session__take_warn(session, "precision",
                                           qnnrt_precision_name(desc->precision),
                                           qnnrt_precision_name((qnnrt_precision)policy->precision),
                                           err);
    if (precision == 0 && policy->precision > 0) precision = policy->precision;
    if (policy->default_precision > 0 && precision > 0)
        warned &= qnnrt_session__take_warn(
            session, "default_precision", qnnrt_precision_name((qnnrt_precision)precision),
            qnnrt_precision_name((qnnrt_precision)policy->default_precision), err);
    if (precision == 0 && policy->default_precision > 0) precision = policy->default_precision;
    load->allow_fallback = desc->allow_fallback != 0 || policy->allow_fallback == 1;
    if (policy->allow_fallback == 0 && desc->allow_fallback != 0)
        warned &= qnnrt_session__take_warn(session, "allow_fallback", "true", "false", err);
    if (load->allow_fallback && strcmp(*device, "cpu") == 0)
        warned &= qnnrt_session__warn(session, err, "allow_fallback has no effect on cpu");
    if (dir != NULL && dir[0] != '\0' && policy->cache_dir != NULL)
        warned &= qnnrt_session__take_warn(session, "cache_dir", dir, policy->cache_dir, err);
    if (dir != NULL && dir[0] != '\0' && policy->cache_compiled == 0)
        warned &= qnnrt_session__take_warn(session, "cache_compiled", "true", "false", err);
    if (!warned) return QNNRT_E_MEMORY;
    if ((dir == NULL || dir[0] == '\0') && !qnnrt_session__policy_folder(policy, desc, &dir, err))
        return err->code;
    if (dir != NULL && dir[0] != '\0') {
        session->cache_dir = qnnrt_session__keep_text(session, dir, err);
        if (session->cache_dir == NULL) return QNNRT_E_MEMORY;
    }
    session->cache_bytes = desc->cache_bytes;
    session->max_batch = desc->max_batch_size;
    load->hooks = session->hooks;
    load->path = session->info.path;
    load->kind = session->info.kind;
    load->precision = (qnnrt_precision)precision;
    load->threads = desc->threads != 0 ? desc->threads : 1;
    load->max_batch = desc->max_batch_size;
    load->workspace_bytes = desc->workspace_bytes != 0 ? desc->workspace_bytes
                                                       : (uint64_t)QNNRT_SESSION_WORKSPACE;
    load->optimize_level = policy->optimize_level;
    load->native_io = desc->native_io != 0;
    load->compile_ms = policy->compile_ms > 0 ? (uint32_t)policy->compile_ms : 0;
    load->run_ms = policy->run_ms > 0 ? (uint32_t)policy->run_ms : 0;
    load->preferences = policy->preferences;
    load->preference_count = policy->preference_count;
    load->timed = desc->dispatch != NULL;
    session->info.precision = load->precision;
    return qnnrt_session__take_shapes(session, desc, err);
}

/* Open the cache. If it cannot be used, info.cache will say why. */
static qnnrt_result qnnrt_session__take_cache(qnnrt_session *session, qnnrt_error *err)
{
    qnnrt_cache_desc desc;
    char text[700];
    qnnrt_error why;
    if (session->cache_dir == NULL) return QNNRT_OK;
    if (session->info.kind == QNNRT_MODEL_FOLDER || session->info.kind == QNNRT_MODEL_TENSORRT) {
        session->cache_why = "not cached: the model is compiled already";
        return QNNRT_OK;
    }
    memset(&desc, 0, sizeof desc);
    desc.hooks = session->hooks;
    desc.limit = session->cache_bytes;
    if (qnnrt_cache_open(session->cache_dir, &desc, &session->cache, &why) == QNNRT_OK)
        return QNNRT_OK;
    session->cache = NULL;
    if (why.code == QNNRT_E_MEMORY)
        return qnnrt_session__fail_memory(err, session->refused);
    snprintf(text, sizeof text, "not cached: %.600s", why.text);
    session->cache_why = qnnrt_session__keep_text(session, text, err);
    if (session->cache_why == NULL || !qnnrt_session__warn(session, err, "%s", text))
        return QNNRT_E_MEMORY;
    return QNNRT_OK;
}

/* Decide which devices are tried, and load. */
static qnnrt_result qnnrt_session__take_model(qnnrt_session *session,
                                              const qnnrt_session_desc *desc, const char *device,
                                              qnnrt_error *err)
{
    const char *devices[3] = { "npu", "gpu", "cpu" };
    const int named = strcmp(device, "auto") != 0;
    const int chosen = desc->engine != NULL && strcmp(desc->engine, "auto") != 0;
    size_t count = 3, index = 0;
    qnnrt_result result;
    if (session->policy.auto_strategy == 2 && (!named || !chosen))
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_ARG, "auto_strategy is 2, which never "
                                                "chooses, and the %s is \"auto\"", chosen ? "device"
                                                : "engine"), "Name the engine and the device.");
    if (chosen) {
        result = qnnrt_session__engine_find(desc->engines, desc->engine, &index, err);
        if (result != QNNRT_OK) return result;
    }
    if (named) {
        devices[0] = device;
        devices[1] = "cpu";
        count = session->load.allow_fallback && strcmp(device, "cpu") != 0 &&
                session->policy.auto_strategy != 2 ? 2 : 1;
    }
    if (session->policy.auto_strategy == 1 && named && chosen && count == 1 &&
        !qnnrt_session__warn(session, err, "kernel policy: auto_strategy has no effect, because"
                             " engine and device are named")) return QNNRT_E_MEMORY;
    result = qnnrt_session__choose(session, chosen ? (ptrdiff_t)index : -1, devices, count, named,
                                   err);
    if (result != QNNRT_OK) return result;
    return qnnrt_session__choose_fallback(session, device, named, err);
}

/* Keep what the engine warns of. */
static qnnrt_result qnnrt_session__take_warnings(qnnrt_session *session, qnnrt_error *err)
{
    size_t i;
    for (i = 0; i < session->facts.warning_count; ++i)
        if (!qnnrt_session__warn(session, err, "%.60s: %.900s", session->engine->name,
                                 session->facts.warnings[i])) return QNNRT_E_MEMORY;
    return QNNRT_OK;
}

/* Write info.text and the other facts. */
static qnnrt_result qnnrt_session__take_info(qnnrt_session *session, qnnrt_error *err)
{
    qnnrt_session_info *info = &session->info;
    const size_t room = strlen(info->path) + 200;
    char *text = (char *)qnnrt_session__keep(session, room, 1, err);
    if (text == NULL) return QNNRT_E_MEMORY;
    info->engine = session->engine->name;
    info->engine_version = session->taken->engine->facts.version;
    info->library = session->taken->engine->facts.path;
    info->inputs = session->facts.inputs;
    info->outputs = session->facts.outputs;
    info->input_count = session->facts.input_count;
    info->output_count = session->facts.output_count;
    info->cache = session->taken->cache;
    info->cache_key = session->taken->cache_key;
    snprintf(text, room, "<InferenceSession model=%s engine=%.60s device=%.60s>", info->path,
             info->engine, info->device);
    qnnrt_text_clean(text);
    info->text = text;
    qnnrt_session__log(session, QNNRT_LOG_INFO, text);
    return QNNRT_OK;
}

QNNRT_SESSION_API qnnrt_result qnnrt_session_create(const char *path,
                                                    const qnnrt_session_desc *desc,
                                                    qnnrt_session **out, qnnrt_error *err)
{
    qnnrt_session *session;
    qnnrt_error own;
    qnnrt_result result;
    const char *device = NULL;
    void *clock;
    if (err == NULL) err = &own;
    if (out != NULL) *out = NULL;
    if (path == NULL || desc == NULL || out == NULL || desc->engines == NULL ||
        (desc->options == NULL && desc->option_count > 0) ||
        (desc->shapes == NULL && desc->shape_count > 0))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_session_create: path, desc, out, "
                               "desc.engines, or a list with a count is NULL");
    if ((desc->hooks.alloc == NULL) != (desc->hooks.free == NULL))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_session_create: only one of hooks.alloc "
                               "and hooks.free is set");
    qnnrt_error_clear(err);
    session = (qnnrt_session *)qnnrt_hooks_alloc(&desc->hooks, 1, sizeof(*session));
    if (session == NULL) return qnnrt_session__fail_memory(err, sizeof(*session));
    session->caller = session->hooks = desc->hooks;
    session->hooks.alloc = qnnrt_session__alloc;
    session->hooks.free = qnnrt_session__free;
    session->hooks.alloc_user = session;
    session->arena.hooks = session->hooks;
    session->dispatch = desc->dispatch;
    session->dispatch_user = desc->dispatch_user;
    clock = qnnrt_session__function("clock_gettime");
    memcpy((void *)&session->clock, (const void *)&clock, sizeof session->clock);
    result = qnnrt_session__file_kind(path, &session->info.kind, err);
    if (result == QNNRT_OK) {
        session->info.path = qnnrt_session__keep_text(session, path, err);
        if (session->info.path == NULL) result = QNNRT_E_MEMORY;
    }
    if (result == QNNRT_OK) result = qnnrt_session__take_engines(session, desc, err);
    if (result == QNNRT_OK) result = qnnrt_session__take_policies(session, desc, err);
    if (result == QNNRT_OK) result = qnnrt_session__take_settings(session, desc, &device, err);
    if (result == QNNRT_OK && session->info.kind == QNNRT_MODEL_ONNX)
        result = qnnrt_session__onnx_files(session, err);
    if (result == QNNRT_OK) result = qnnrt_session__take_cache(session, err);
    if (result == QNNRT_OK) result = qnnrt_session__take_model(session, desc, device, err);
    if (result == QNNRT_OK) result = qnnrt_session__take_warnings(session, err);
    if (result == QNNRT_OK) result = qnnrt_session__take_info(session, err);
    qnnrt_cache_close(session->cache);
    session->cache = NULL;
    if (result == QNNRT_OK) {
        *out = session;
        return qnnrt_error_clear(err);
    }
    qnnrt_session__end(session);
    return result;
}

QNNRT_SESSION_API qnnrt_result qnnrt_session_destroy(qnnrt_session *session)
{
    if (session == NULL) return QNNRT_OK;
    if (!qnnrt_session__bind_enter(session)) return QNNRT_E_BUSY;
    if (session->bindings > 0) {
        qnnrt_error_hint(&session->error,
                         qnnrt_error_set(&session->error, QNNRT_E_BUSY, "the session is still in "
                                         "use: %lu bindings", (unsigned long)session->bindings),
                         "Destroy the bindings first.");
        qnnrt_session__bind_leave(session);
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

QNNRT_SESSION_API qnnrt_result qnnrt_session_run(qnnrt_session *session, const qnnrt_value *inputs,
                                                 size_t input_count, qnnrt_value *outputs,
                                                 size_t output_count)
{
    qnnrt_result result = QNNRT_OK;
    int64_t slices = 1;
    qnnrt_error *err;
    if (session == NULL) return QNNRT_E_ARG;
    if (!qnnrt_session__bind_enter(session)) return QNNRT_E_BUSY;
    __atomic_store_n(&session->stop, 0, __ATOMIC_RELEASE);
    err = &session->error;
    qnnrt_error_clear(err);
    if ((inputs == NULL && input_count > 0) || outputs == NULL || output_count == 0)
        result = qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_session_run: inputs or outputs is NULL, "
                                 "or no output is wanted");
    if (result == QNNRT_OK) result = qnnrt_session__batch_make(session, err);
    if (result == QNNRT_OK)
        result = qnnrt_session__batch_assign(session, 0, inputs, input_count,
                                             session->batch->inputs, err);
    if (result == QNNRT_OK)
        result = qnnrt_session__batch_assign(session, 1, outputs, output_count,
                                             session->batch->outputs, err);
    if (result == QNNRT_OK) result = qnnrt_session__batch_complete(session, inputs, err);
    if (result == QNNRT_OK)
        result = qnnrt_session__batch_forget(session, inputs, input_count, outputs, err);
    if (result == QNNRT_OK) result = qnnrt_session__batch_slices(session, inputs, &slices, err);
    if (result == QNNRT_OK && slices > 1) {
        result = qnnrt_session__batch_run(session, inputs, outputs, slices, err);
    } else if (result == QNNRT_OK) {
        result = qnnrt_session__batch_inputs(session, inputs, 1, 0, err);
        if (result == QNNRT_OK) result = qnnrt_session__batch_outputs(session, outputs, err);
        if (result == QNNRT_OK) result = qnnrt_session__bind_run(session->own, err);
        if (result == QNNRT_OK)
            result = qnnrt_session__batch_results(session, inputs, outputs, output_count, err);
    }
    qnnrt_session__bind_leave(session);
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

QNNRT_SESSION_API qnnrt_result qnnrt_binding_create(qnnrt_session *session, qnnrt_binding **out,
                                                    qnnrt_error *err)
{
    qnnrt_error own;
    qnnrt_result result;
    if (err == NULL) err = &own;
    if (out != NULL) *out = NULL;
    if (session == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_binding_create: session or out is NULL");
    if (!qnnrt_session__bind_enter(session))
        return qnnrt_error_hint(
            err, qnnrt_error_set(err, QNNRT_E_BUSY, "another thread uses the session"),
            "Give each thread a session of its own.");
    qnnrt_error_clear(err);
    result = qnnrt_session__bind_make(session, out, err);
    if (result == QNNRT_OK) {
        ++session->bindings;
        qnnrt_error_clear(err);
    }
    qnnrt_session__bind_leave(session);
    return result;
}

QNNRT_SESSION_API qnnrt_result qnnrt_binding_destroy(qnnrt_binding *binding)
{
    qnnrt_session *session;
    if (binding == NULL) return QNNRT_OK;
    session = binding->session;
    if (!qnnrt_session__bind_enter(session)) return QNNRT_E_BUSY;
    --session->bindings;
    qnnrt_session__bind_free(binding);
    qnnrt_session__bind_leave(session);
    return QNNRT_OK;
}

/* Place a value by its name. */
static qnnrt_result qnnrt_session__place(qnnrt_binding *binding, int output,
                                         const qnnrt_value *value)
{
    qnnrt_session *session;
    const qnnrt_session_tensor *list;
    qnnrt_result result = QNNRT_OK;
    size_t count, index = 0;
    if (binding == NULL) return QNNRT_E_ARG;
    session = binding->session;
    if (!qnnrt_session__bind_enter(session)) return QNNRT_E_BUSY;
    qnnrt_error_clear(&session->error);
    list = output ? session->facts.outputs : session->facts.inputs;
    count = output ? session->facts.output_count : session->facts.input_count;
    if (value == NULL || (value->name == NULL && count != 1))
        result = qnnrt_error_set(&session->error, QNNRT_E_ARG, "%s: %s", output ?
                                 "qnnrt_binding_output" : "qnnrt_binding_input", value == NULL ?
                                 "value is NULL" : "the value has no name");
    else if (value->name != NULL)
        result = qnnrt_session__match_find(list, count, output ? "output" : "input", value->name,
                                           &index, &session->error);
    if (result == QNNRT_OK) {
        qnnrt_value whole = *value;
        result = qnnrt_session__match_value(&list[index], output, &whole, &session->error);
        if (result == QNNRT_OK && !output && whole.data != NULL)
            result = qnnrt_session__batch_limit(session, &list[index], &whole, &session->error);
        if (result == QNNRT_OK)
            result = qnnrt_session__bind_set(binding, output, index, &whole, &session->error);
    }
    qnnrt_session__bind_leave(session);
    return result;
}

QNNRT_SESSION_API qnnrt_result qnnrt_binding_input(qnnrt_binding *binding,
                                                   const qnnrt_value *value)
{
    return qnnrt_session__place(binding, 0, value);
}

QNNRT_SESSION_API qnnrt_result qnnrt_binding_output(qnnrt_binding *binding,
                                                    const qnnrt_value *value)
{
    return qnnrt_session__place(binding, 1, value);
}

QNNRT_SESSION_API qnnrt_result qnnrt_binding_run(qnnrt_binding *binding)
{
    qnnrt_session *session;
    qnnrt_result result;
    if (binding == NULL) return QNNRT_E_ARG;
    session = binding->session;
    if (!qnnrt_session__bind_enter(session)) return QNNRT_E_BUSY;
    if (session->error.code != QNNRT_OK) qnnrt_error_clear(&session->error);
    result = qnnrt_session__bind_run(binding, &session->error);
    qnnrt_session__bind_leave(session);
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
    if (!qnnrt_session__bind_enter(session)) return QNNRT_E_BUSY;
    qnnrt_error_clear(&session->error);
    if (value == NULL || (output == NULL && session->facts.output_count != 1))
        result = qnnrt_error_set(&session->error, QNNRT_E_ARG, "qnnrt_binding_get: %s", value ==
                                 NULL ? "value is NULL" : "output is NULL");
    else if (output != NULL)
        result = qnnrt_session__match_find(session->facts.outputs, session->facts.output_count,
                                           "output", output, &index, &session->error);
    if (result == QNNRT_OK && !binding->ran)
        result = qnnrt_error_set(&session->error, QNNRT_E_STATE, "qnnrt_binding_get: the binding "
                                 "has no result, because its last run did not succeed or there was "
                                 "none");
    if (result == QNNRT_OK)
        result = qnnrt_session__bind_get(binding, index, value, &session->error);
    qnnrt_session__bind_leave(session);
    return result;
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
   0.5.0   Added: qnnrt_engine_find() and qnnrt_engine_path(), for engines.
   0.4.0   First version.
   --------------------------------------------------------------------------------------------- */
