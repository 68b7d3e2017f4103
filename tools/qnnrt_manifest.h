/* qnnrt_manifest.h - part of qnnrt v0.5.0 - the program of a folder, a part of its qnnrt.json

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt.h"
       #define QNNRT_CONVERT_IMPLEMENTATION         #include "qnnrt_manifest.h"
       #define QNNRT_MANIFEST_IMPLEMENTATION
       #include "qnnrt.h"
       #include "qnnrt_manifest.h"

   A program says how the files of a folder form one model: on which backend each context runs,
   which steps the pipelines have, and how they are wired. This opens it and runs its pipeline:

       qnnrt_manifest *program;
       qnnrt_run *run;
       if (qnnrt_manifest_open("model", NULL, &program, &err) != QNNRT_OK ||
           qnnrt_manifest_prepare(program, NULL, NULL, &run, &err) != QNNRT_OK) {
           puts(err.text); return 1;
       }
       qnnrt_bind(run, "image", pixels, sizeof pixels);
       qnnrt_exec(run);
       qnnrt_run_destroy(run);
       qnnrt_manifest_close(program);

   Each backend that the program names becomes an open backend with one model; constants are mapped;
   pipelines are made by qnnrt_pipeline_make(). The program owns all of it. A folder without a
   program is one model, as qnnrt_open() opens it, and its pipelines are those of the program. This
   writes a program from descriptions:

       qnnrt_manifest_desc desc = {0};
       desc.contexts  = contexts;  desc.context_count  = 2;    // files, roles, SHA-256
       desc.pipelines = pipelines; desc.pipeline_count = 1;    // with their conversions
       if (qnnrt_manifest_write(&desc, to_file, file, &err) != QNNRT_OK) puts(err.text);

   Host steps call functions of the caller, which are found by name:

       qnnrt_host_step functions[1] = {{0}};
       qnnrt_manifest_open_desc opening = {0};
       functions[0].name = "look_up"; functions[0].exec = look_up;
       opening.host_functions = functions; opening.host_function_count = 1;
       qnnrt_manifest_open("model_dir", &opening, &program, &err);

   Whatever is wrong is an error of qnnrt_manifest_open(), and nothing stays open. Files of
   constants stay mapped until qnnrt_manifest_close(), or in memory with model.read; like binaries,
   replace them by rename only. qnnrt-run inspect model_dir --manifest prints a folder as a program,
   which opens as the same pipelines.

   Roles    desc.backends gives a role its backend. Without an entry, that of the first context has
            model.backend or model.backend_desc; any other, or one without a path, the library of
            its name: "npu" is libQnnHtp.so; "cpu" is libQnnCpu.so, or where that cannot be opened
            libQnnRef.so, with a line in the log. Roles with other names need an entry. With
            model.keep_going the contexts of a role that fails have the failure, and the others load
   States   A state is a value that a call leaves for the next one, such as a cache that the model
            updates. It belongs to a run, however that is made: its memory begins with the first
            value, each qnnrt_exec() that succeeds sets the next one, and qnnrt_mem_clear() begins
            again. It is neither an input nor an output of the pipeline, which has a host step at
            its beginning and one at its end for all states. With qnnrt_mem_desc.no_zero call
            qnnrt_manifest_reset() before the first exec
   Trust    qnnrt.json may be hostile; a path in it is never followed. So may saved states
   Threads  as of the models: one call per backend at a time; calls with a run as qnnrt_exec()

   BUILD OPTIONS, to define before the header is first included
       QNNRT_MANIFEST_API  replaces the storage and export prefix of all functions (default:
                           QNNRT_API)
       The options of qnnrt.h work here too: QNNRT_STATIC, QNNRT_API

   THE FORMAT

   The top-level key "program" of qnnrt.json; other top-level keys belong to others. Everything
   is optional unless it is called required. A key that is not listed here is an error, and so are a
   key that occurs twice, a number out of range, and a name that is not unique among its like.

   A look-up of rows on the host, then a graph on the NPU:

       { "program": { "version": 1,
           "backends": ["npu"],
           "contexts":  [ { "file": "forward.bin", "backend": "npu" } ],
           "constants": [ { "name": "table", "file": "table.raw", "dtype": "float16",
                            "dims": [50257, 768] } ],
           "pipelines": [ { "name": "forward",
               "steps": [ { "host": "look_up",
                            "inputs":  [ { "name": "ids", "dtype": "int32", "dims": [1, 8] },
                                         { "name": "t", "dtype": "float16",
                                           "dims": [50257, 768] } ],
                            "outputs": [ { "name": "rows", "dtype": "float16",
                                           "dims": [1, 8, 768] } ] },
                          { "context": 0, "graph": "forward" } ],
               "edges": [ { "from": [0, "rows"], "to": [1, "x"], "convert": "values" } ],
               "constants": [ { "step": 0, "input": "t", "constant": "table" } ],
               "names": { "tokens": { "step": 0, "input": "ids" } } } ] } }

   program     { "version": 1,             required: 2 if a pipeline has states, else 1; another
                                           version is refused
                 "backends": ["npu", ...], required: the roles of backends
                 "contexts": [...],        required: steps give their number, from 0
                 "constants": [...],
                 "pipelines": [...] }      without one, names of graphs decide, as without a program
   context     { "file": "a.bin",          required: plain name of a *.bin in the folder; no path,
                                           and no dot at its beginning
                 "backend": "npu",         required: one of the roles
                 "fingerprint": "...",     qnnrt_context_info.fingerprint, 16 hexadecimal digits
                 "sha256": "..." }         of all bytes of the file, 64 hexadecimal digits; compared
                                           with desc.sha256, and by qnnrt-run doctor
   constant    { "name": "table",          required
                 "file": "table.raw",      required: plain name of a file in the folder
                 "offset": 0,              of its first byte in the file
                 "dtype": "float32",       required: as qnnrt_dtype_name() has it
                 "dims": [256, 64] }       required; [] is a scalar
   pipeline    { "name": "forward",        required
                 "steps": [...],           required: graphs and host steps, at least one step
                 "edges": [...],
                 "edges_only": true,       as qnnrt_pipeline_desc.edges_only
                 "apart": [[1, "mask"], ...],   inputs of steps, see qnnrt_use_desc.apart
                 "constants": [ { "step": 1, "input": "table", "constant": "table" }, ... ],
                                           all required; dtype and dims are those of the input
                 "names": { "image": { "step": 0, "input": "x" },
                            "probabilities": { "step": 2, "output": "y" } },
                                           what users call tensors
                 "buffers": [...],
                 "ranges": [ { "step": 0, "input": "ids", "low": 0, "high": 151935 }, ... ],
                                           all required; the first and the last value that an int32
                                           input takes
                 "states": [...] }         needs version 2 and "edges_only", see "States"
   step        { "context": 0, "graph": "first" }        both required, or
               { "host": "embedding",      all required: a function of desc.host_functions
                 "inputs": [tensor, ...], "outputs": [tensor, ...] }
   tensor      { "name": "ids", "dtype": "int32", "dims": [1, 8],       required
                 "scale": 0.5, "offset": -3,     both, if it is quantized
                 "bits": 4 }               bits in use, if fewer than the dtype has
   edge        { "from": [0, "y"],         required: step and output
                 "to": [1, "x"],           required: a later step and its input
                 "convert": "values",      or "to_nhwc", "to_nchw", see qnnrt_convert
                 "exact": true }           see qnnrt_conversion.exact
   buffer      { "name": "state",          required
                 "bytes": 4096,            required
                 "align": 64,              a power of two
                 "slots": [ { "step": 0, "input": "s", "offset": 0 }, ... ] }
                                           required: "step", "offset" and either "input" or "output"

   state       { "name": "cache",          required
                 "to": [[0, "cache_in"], ...],     required: inputs that have its value
                 "from": [1, "cache_out"],         required: the output that is its next value, of
                                           the same dtype, dims and encoding
                 "constant": "cache" }     its first value (default: zero bytes)

   Numbers of steps are those of "steps", without conversions and the steps of states. Text is
   UTF-8; names have at most limits.name_bytes bytes and no NUL. All entries together count against
   limits.tensors.

   ROOMS (search for the tag)
       >>values >>objects >>text >>files >>roles >>keep >>make >>saved >>public
*/
#ifndef QNNRT_MANIFEST_H
#define QNNRT_MANIFEST_H

#include "qnnrt.h"
#include "qnnrt_json.h"
#include "qnnrt_convert.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_manifest.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_MANIFEST_API
#define QNNRT_MANIFEST_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------------- opening -- */

typedef struct qnnrt_manifest qnnrt_manifest;      /* a program that is open */

/* The backend for a role, such as "npu". */
typedef struct qnnrt_manifest_role {
    const char        *role;
    qnnrt_backend     *backend;         /* an open backend to share, opened with the allocator of
                                           model.backend_desc.hooks, and with a lock if others have
                                           one (default NULL: the program opens its own with
                                           .desc) */
    qnnrt_backend_desc desc;            /* (default: the library by the role's name). Without alloc,
                                           log and lock, .hooks are those of model.backend_desc */
} qnnrt_manifest_role;

typedef struct qnnrt_manifest_open_desc {
    const qnnrt_manifest_role *backends;         /* [backend_count] (default NULL: libraries by the
                                           names of roles, see "Roles") */
    size_t                     backend_count;
    const qnnrt_host_step     *host_functions;   /* [host_function_count]: .name, .exec and .user of
                                           the functions that host steps call by their name */
    size_t                     host_function_count;
    void                     (*sha256)(const void *data, uint64_t bytes, char text[65]);
                                        /* compares all bytes of each context with its "sha256"
                                           before a library gets them, also when it is read again:
                                           qnnrt_sha256_text() of qnnrt_sha256.h, or a faster one. A
                                           file without one is a warning in the log (default NULL:
                                           the fingerprint is compared) */
    qnnrt_desc                 model;   /* options of every model. .backend or .backend_desc is for
                                           the role of the first context, unless .backends has it.
                                           .files instead of a folder are one model */
} qnnrt_manifest_open_desc;

/* A context of a program that is open, or of one to write. */
typedef struct qnnrt_manifest_context {
    const char  *file;                  /* its plain name */
    const char  *role;                  /* of its backend, such as "npu"; "" without a program */
    uint64_t     fingerprint;           /* qnnrt_context_info.fingerprint that it must have (default
                                           0: any) */
    const char  *sha256;                /* of the file, 64 small hexadecimal digits (default
                                           NULL: not known) */
    /* of one that is open */
    qnnrt             *model;           /* that it belongs to; NULL if it was not opened */
    size_t             context;         /* index into qnnrt_info.contexts of that model */
    const qnnrt_error *failure;         /* NULL, or why it did not load (with model.keep_going) */
    const qnnrt_context_info *info;     /* the model's facts about it, never NULL; of a context that
                                           was not opened, without graphs */
} qnnrt_manifest_context;

typedef struct qnnrt_manifest_constant {
    qnnrt_tensor_info tensor;           /* its name, dtype, rank and dims; of one that is open also
                                           .count and .bytes */
    const char       *file;             /* plain name */
    uint64_t          offset;           /* of its first byte in the file */
    const void       *data;             /* the value; to write it, the address that the pipelines
                                           have, which is not read */
} qnnrt_manifest_constant;

/* What a program consists of. All of it is valid until qnnrt_manifest_close(). */
typedef struct qnnrt_manifest_info {
    const char                  *folder;         /* "" for model.files */
    const char                  *system_path;    /* qnnrt_info.system_path of models[0], or "" */
    qnnrt_backend               *backend;        /* of it, NULL with model.inspect, without one */
    int                          program;        /* 0: the folder has none, and is one model */
    size_t                       model_count;
    qnnrt *const                *models;         /* one for each role, in the order of contexts */
    size_t                       context_count;
    const qnnrt_manifest_context  *contexts;     /* in the order of the program */
    size_t                       constant_count;
    const qnnrt_manifest_constant *constants;
    size_t                       pipeline_count;
    const qnnrt_pipeline *const *pipelines;      /* in the order of the program; without
                                                    "pipelines" those that names join, and every
                                                    other graph alone. One that needs a context that
                                                    did not load, with model.keep_going, is left
                                                    out */
} qnnrt_manifest_info;

/* Open the program of a folder, or a folder without one as a model.

   folder   NULL when desc.model.files is given
   desc     may be NULL or on the stack
   out      receives the program, NULL on failure

   Returns  as qnnrt_open(); for a program also QNNRT_E_FORMAT (the text is wrong, and says where);
            QNNRT_E_UNSUPPORTED (more than 16 roles);
            QNNRT_E_NOT_FOUND (what it names is missing: a file, a graph, a tensor, a function);
            QNNRT_E_MISMATCH (hashes, constants or tensors that do not fit); QNNRT_E_VERSION;
            QNNRT_E_LIMIT (all entries together count against limits.tensors)
   Frees    qnnrt_manifest_close() */
QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_open(const char *folder,
                                                    const qnnrt_manifest_open_desc *desc,
                                                    qnnrt_manifest **out, qnnrt_error *err);

/* Free the pipelines, models and backends of a program, and what it mapped. NULL is fine.
   Returns  QNNRT_OK; QNNRT_E_BUSY while a run or plan uses a pipeline or a model: end it, and close
            the program again (pipelines and models that nobody used may be gone by then);
            QNNRT_E_BACKEND as in qnnrt_backend_close(): all is freed */
QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_close(qnnrt_manifest *program);

/* Return the facts about a program, NULL for NULL. */
QNNRT_MANIFEST_API const qnnrt_manifest_info *qnnrt_manifest_get_info(
    const qnnrt_manifest *program);

/* Find a pipeline.

   name     of a pipeline, or of a graph that belongs to one pipeline only, or "<context>/<graph>"
            for a single graph, with the context's number in the program; NULL when the program has
            one pipeline
   out      receives the pipeline, which belongs to the program

   Returns  as qnnrt_pipeline_find() */
QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_find(const qnnrt_manifest *program, const char *name,
                                                    const qnnrt_pipeline **out, qnnrt_error *err);

/* Find a pipeline, plan it alone, and create its memory and its run, as qnnrt_prepare_with() does.

   desc     may be NULL

   Frees    qnnrt_run_destroy() frees all of it, before qnnrt_manifest_close() */
QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_prepare(qnnrt_manifest *program, const char *name,
                                                       const qnnrt_prepare_desc *desc,
                                                       qnnrt_run **out, qnnrt_error *err);

/* Recover each model. The first failure ends the call; repeat it.
   recover   qnnrt_model_recover of qnnrt_device.h */
QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_recover(
    qnnrt_manifest *program, qnnrt_result (*recover)(qnnrt *model, qnnrt_error *err),
    qnnrt_error *err);

/* ------------------------------------------------------------------------------------ states -- */

typedef struct qnnrt_manifest_end {     /* an input or an output of a step */
    size_t      step;
    const char *tensor;
} qnnrt_manifest_end;

/* A state of a pipeline that is open, or of one to write. */
typedef struct qnnrt_manifest_state {
    const char               *name;     /* unique in its pipeline */
    const qnnrt_manifest_end *to;       /* [to_count] inputs that have its value */
    size_t                    to_count;
    qnnrt_manifest_end        from;     /* the output that is its next value */
    const void               *constant; /* its first value, qnnrt_manifest_constant.data (default
                                           NULL: zero bytes) */
    const qnnrt_tensor_info  *tensor;   /* of one that is open: what it is */
} qnnrt_manifest_state;

/* Return the states of a pipeline of a program, valid as long as the program. Steps are numbered as
   in the program. *count receives their number, 0 for any other pipeline; it may be NULL. */
QNNRT_MANIFEST_API const qnnrt_manifest_state *qnnrt_manifest_states(const qnnrt_pipeline *pipeline,
                                                                     size_t *count);

/* Return the value of a state in a run, as the next qnnrt_exec() finds it: qnnrt_tensor_info.bytes
   bytes to read or to overwrite, until the run ends. NULL: the run has no such state, or no memory
   of its own for it. name: NULL if the pipeline has one state. */
QNNRT_MANIFEST_API void *qnnrt_manifest_state_data(qnnrt_run *run, const char *name);

/* Give all states of a run their first values.
   Returns QNNRT_OK, also without states; QNNRT_E_ARG */
QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_reset(qnnrt_run *run, qnnrt_error *err);

/* Write the values of all states of a run as a .safetensors file, by their names.

   write    receives the file in pieces and returns 1 when it accepted a piece

   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND (the pipeline has no states); QNNRT_E_IO (`write` refused);
            QNNRT_E_ARG */
QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_save(qnnrt_run *run,
                                                    int (*write)(void *user, const char *data,
                                                                 size_t bytes),
                                                    void *user, qnnrt_error *err);

/* Set all states of a run to the values of a .safetensors file, as qnnrt_manifest_save() wrote it.

   data     the whole file, any alignment

   Returns  QNNRT_OK; QNNRT_E_FORMAT (not such a file); QNNRT_E_MISMATCH (a state is missing, has
            another type or other dims, or the file has another tensor: the text names it);
            QNNRT_E_NOT_FOUND (the pipeline has no states); QNNRT_E_ARG. After a failure no state
            has changed */
QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_restore(qnnrt_run *run, const void *data,
                                                       size_t bytes, qnnrt_error *err);

/* ----------------------------------------------------------------------------------- writing -- */

typedef struct qnnrt_manifest_pipeline {
    qnnrt_pipeline_desc     desc;       /* as qnnrt_pipeline_make() takes it, with a name. .context
                                           of its steps is the number in the program; .model and the
                                           functions of host steps are not used */
    const qnnrt_conversion *conversions;    /* [desc.edge_count] what the edges ask for, as
                                           qnnrt_conversions_create() takes it (default NULL:
                                           nothing) */
    const qnnrt_manifest_state *states; /* [state_count]; they need desc.edges_only */
    size_t                      state_count;
} qnnrt_manifest_pipeline;

typedef struct qnnrt_manifest_desc {
    const qnnrt_manifest_context  *contexts;
    size_t                         context_count;
    const qnnrt_manifest_constant *constants;
    size_t                         constant_count;
    const qnnrt_manifest_pipeline *pipelines;
    size_t                         pipeline_count;
    void                         (*more)(void *user, qnnrt_json_writer *json);
                                                /* writes other members of the document, such as
                                                   "llm" (default NULL: there are none) */
    void                          *more_user;
} qnnrt_manifest_desc;

/* Write a qnnrt.json with a program, and with what desc->more adds.

   write    receives the text in pieces and returns 1 when it accepted a piece

   What is written opens as the same pipelines. Names are not compared here: qnnrt_manifest_open()
   refuses one that occurs twice.
   Returns  QNNRT_OK; QNNRT_E_ARG, QNNRT_E_UNSUPPORTED (what a program cannot have: the text names
            it); QNNRT_E_IO (`write` refused). After a failure the text is not complete */
QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_write(const qnnrt_manifest_desc *desc,
                                                     int (*write)(void *user, const char *text,
                                                                  size_t bytes),
                                                     void *user, qnnrt_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_MANIFEST_H, end of the declarations */

#ifdef QNNRT_MANIFEST_IMPLEMENTATION
#ifndef QNNRT_MANIFEST__IMPL_ONCE
#define QNNRT_MANIFEST__IMPL_ONCE

#include <dirent.h>
/* qnnrt.h includes the functions of qnnrt_json.h, unless QNNRT_NO_JSON is defined. */
#ifdef QNNRT_NO_JSON
#if !defined(QNNRT_JSON_API) && !defined(QNNRT_JSON_STATIC)
#define QNNRT_JSON_API QNNRT_API
#endif
#ifndef QNNRT_JSON_IMPLEMENTATION
#define QNNRT_JSON_IMPLEMENTATION
#endif
#include "qnnrt_json.h"
#endif

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   VALUES                                                                         >>values
   Members of an object of a qnnrt.json, read or written by the same call: one function for each
   type. Wrong types, numbers out of range and paths are errors with their place.
   Needs: qnnrt_json.h     Knows nothing of: which objects there are, files, backends, graphs
   ===================================================================================== */

enum {
    QNNRT_MANIFEST__DIMS  = 32,         /* a list with more dimensions is refused */
    QNNRT_MANIFEST__ROLES = 16,
    QNNRT_MANIFEST__KEYS  = 16          /* an object may have, and bytes of the longest one */
};

/* An object of the text. */
typedef struct qnnrt_manifest__object {
    const char          *keys;          /* that it may have, "a, b, c" */
    const unsigned char *values[QNNRT_MANIFEST__KEYS];      /* where that of each key begins, NULL:
                                                               it has none */
    qnnrt_json_reader    before, end;   /* before one of them; behind the object */
} qnnrt_manifest__object;

typedef struct qnnrt_manifest__list {
    unsigned char *items;
    size_t         count, room;
} qnnrt_manifest__list;

typedef struct qnnrt_manifest__io {
    qnnrt_error               *err;
    qnnrt_result               result;      /* the first failure */
    char                       place[400];  /* in the text, for errors */
    size_t                     number;      /* of the object in its list */
    size_t                     buffer;      /* of the pipeline that the slots are of */
    /* reading */
    const char                *path;        /* of the text, which is right JSON */
    qnnrt_json_reader          r;           /* behind what was read last */
    qnnrt_manifest__object    *object;      /* that is read */
    qnnrt_arena               *arena;
    qnnrt_limits               limits;      /* none is 0 */
    uint32_t                   left;        /* entries that may follow */
    size_t                     states;      /* of all pipelines */
    qnnrt_manifest__list       uses, wishes;            /* of the pipeline that is read */
    /* writing */
    qnnrt_json_writer         *json;        /* NULL: it reads */
    const qnnrt_manifest_desc *desc;
    const qnnrt_manifest_pipeline *pipeline;            /* that is written */
} qnnrt_manifest__io;

/* Fill the error, with the place and byte of a text; the first one stays. Return 0. */
__attribute__((cold, format(printf, 3, 4)))
static int qnnrt_manifest__refuse(qnnrt_manifest__io *x, qnnrt_result code, const char *format, ...)
{
    char text[700];
    va_list args;
    if (x->result != QNNRT_OK) return 0;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    x->result = qnnrt_error_set(x->err, code, "%s%s%s", x->place, x->place[0] != '\0' ? ": " : "",
                                text);
    if (x->json != NULL) return 0;
    qnnrt_error_add(x->err, " (byte %lu)", (unsigned long)(x->r.at - x->r.begin));
    qnnrt_error_about(x->err, code, "%s: ", x->path);
    return 0;
}

/* Get memory for what is read. */
static void *qnnrt_manifest__get(qnnrt_manifest__io *x, uint64_t count, uint64_t size)
{
    void *data = qnnrt_arena_get(x->arena, count, size);
    if (data == NULL && x->result == QNNRT_OK)
        x->result = qnnrt_error_set(x->err, QNNRT_E_MEMORY, "out of memory for a program");
    return data;
}

/* Fail because a value is not what was expected. It is shown as it stands in the text. */
static int qnnrt_manifest__wrong(qnnrt_manifest__io *x, const char *key, const char *expected)
{
    const char *quote = x->r.type == QNNRT_JSON_STRING ? "\"" : "";
    const int cut = x->r.value.bytes > 40;
    return qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"%s\" is %s%.*s%s%s; expected %s", key,
                                  quote, cut ? 40 : (int)x->r.value.bytes, x->r.value.text,
                                  cut ? "..." : "", quote, expected);
}

/* Read the next value, which must have this type; TRUE is also false. */
static int qnnrt_manifest__take(qnnrt_manifest__io *x, const char *key, qnnrt_json_type type)
{
    static const char *const names[] = { "nothing", "null", "false", "true", "a number", "text",
                                         "a list", "an object", "true or false" };
    const qnnrt_json_type found = qnnrt_json_value(&x->r);
    return found == type || (type == QNNRT_JSON_TRUE && found == QNNRT_JSON_FALSE) ||
           qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"%s\" is %s; expected %s", key,
                                  names[found], names[type == QNNRT_JSON_TRUE ? 8 : (int)type]);
}

/* Return the number of a key in a list of them, "a, b, c", or QNNRT_MANIFEST__KEYS. */
static size_t qnnrt_manifest__key(const char *keys, const char *key, size_t bytes)
{
    size_t i = 0;
    for (; keys != NULL; ++i) {
        const char *end = strchr(keys, ',');
        const size_t length = end != NULL ? (size_t)(end - keys) : strlen(keys);
        if (length == bytes && memcmp(keys, key, bytes) == 0) return i;
        keys = end != NULL ? end + 2 : NULL;
    }
    return QNNRT_MANIFEST__KEYS;
}

/* Find the members of an object that begins, and refuse other keys, and one that occurs twice. */
static void qnnrt_manifest__members(qnnrt_manifest__io *x, const char *keys)
{
    qnnrt_manifest__object *object = x->object;
    char copy[QNNRT_MANIFEST__KEYS * 6];      /* an escape has at most six bytes */
    memset(object, 0, sizeof *object);
    object->keys = keys;
    for (; x->result == QNNRT_OK && qnnrt_json_more(&x->r); qnnrt_json_skip(&x->r)) {
        const qnnrt_json_text *found = &x->r.key;
        const int cut = found->bytes > 40, bytes = cut ? 40 : (int)found->bytes;
        const int resolve = found->escaped && found->bytes < sizeof copy;
        const size_t length = resolve ? qnnrt_json_copy(found, copy) : found->bytes;
        const size_t i = qnnrt_manifest__key(keys, resolve ? copy : found->text, length);
        if (i < QNNRT_MANIFEST__KEYS && object->values[i] == NULL) {
            object->values[i] = x->r.at;
            object->before = x->r;
            continue;
        }
        qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, i < QNNRT_MANIFEST__KEYS
                                   ? "\"%.*s%s\" occurs twice" : "unknown key \"%.*s%s\"", bytes,
                               found->text, cut ? "..." : "");
        qnnrt_error_hint(x->err, QNNRT_E_FORMAT, "Use the keys %s, each once.", keys);
    }
    object->end = x->r;
}

/* Return where the value of a key begins in the object that is read, or NULL. */
static const unsigned char *qnnrt_manifest__has(const qnnrt_manifest__io *x, const char *key)
{
    const size_t i = qnnrt_manifest__key(x->object->keys, key, strlen(key));
    return i < QNNRT_MANIFEST__KEYS ? x->object->values[i] : NULL;
}

/* Begin a member. needed: it is written also if it is 0, and must be there to be read. Return 1 if
   its value has to be written, or was read up to its beginning. */
static int qnnrt_manifest__member(qnnrt_manifest__io *x, const char *key, int needed, int is_zero,
                                  qnnrt_json_type type)
{
    const unsigned char *at;
    if (x->result != QNNRT_OK) return 0;
    if (x->json != NULL) {
        if (needed || !is_zero) qnnrt_json_write_key(x->json, key);
        return needed || !is_zero;
    }
    at = qnnrt_manifest__has(x, key);
    if (at == NULL)
        return needed && qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"%s\" is missing", key);
    x->r = x->object->before;
    x->r.at = at;
    return qnnrt_manifest__take(x, key, type);
}

/* Check a name or, with file, the name of a file in the folder: a path is never followed. */
static int qnnrt_manifest__check_name(qnnrt_manifest__io *x, const char *key, int file,
                                      const char *text)
{
    const qnnrt_result code = x->json != NULL ? QNNRT_E_ARG : QNNRT_E_FORMAT;
    if (file && text != NULL && (text[0] == '\0' || text[0] == '.' || strpbrk(text, "/\\") != NULL))
        return qnnrt_manifest__refuse(x, code, "\"%s\" is \"%.200s\"; expected the plain name of a"
                                      " file in the folder", key, text);
    return (text != NULL && text[0] != '\0') ||
           qnnrt_manifest__refuse(x, code, "\"%s\" is empty; expected a name", key);
}

/* Copy a name. Return NULL after a failure. */
static const char *qnnrt_manifest__copy(qnnrt_manifest__io *x, const char *key, int file,
                                        const qnnrt_json_text *text)
{
    const size_t most = x->limits.name_bytes;
    const size_t raw = text->escaped ? most * 6 : most;     /* an escape has at most six bytes */
    size_t bytes = text->bytes;
    char *copy = NULL;
    if (bytes <= raw) {
        copy = (char *)qnnrt_manifest__get(x, (uint64_t)bytes + 1, 1);
        if (copy == NULL) return NULL;
        bytes = qnnrt_json_copy(text, copy);
    }
    if (bytes > most)
        qnnrt_manifest__refuse(x, QNNRT_E_LIMIT, "\"%s\" is longer than %lu bytes"
                               " (limits.name_bytes)", key, (unsigned long)most);
    else if (strlen(copy) != bytes)
        qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"%s\" contains \\u0000; a name cannot", key);
    else if (qnnrt_manifest__check_name(x, key, file, copy)) return copy;
    return NULL;
}

/* ---- one function for each type ---- */

/* A name; of the key "file", that of a file. */
static void qnnrt_manifest__name(qnnrt_manifest__io *x, const char *key, const char **value)
{
    const int file = strcmp(key, "file") == 0;
    if (!qnnrt_manifest__member(x, key, 1, 0, QNNRT_JSON_STRING)) return;
    if (x->json == NULL) {
        *value = qnnrt_manifest__copy(x, key, file, &x->r.value);
    } else {
        qnnrt_manifest__check_name(x, key, file, *value);
        qnnrt_json_write_string(x->json, *value);
    }
}

/* Read a whole number that was found, up to `most`. */
static uint64_t qnnrt_manifest__whole(qnnrt_manifest__io *x, const char *key, uint64_t most)
{
    char expected[64];
    uint64_t value = 0;
    if (qnnrt_json_u64(&x->r.value, &value) && value <= most) return value;
    snprintf(expected, sizeof expected, "a whole number from 0 to %llu", (unsigned long long)most);
    qnnrt_manifest__wrong(x, key, expected);
    return 0;
}

/* A whole number of 4 or 8 bytes. */
static void qnnrt_manifest__number(qnnrt_manifest__io *x, const char *key, int needed, void *value,
                                   size_t bytes)
{
    uint64_t wide = bytes == 8 ? *(const uint64_t *)value : *(const uint32_t *)value;
    uint32_t narrow;
    if (!qnnrt_manifest__member(x, key, needed, wide == 0, QNNRT_JSON_NUMBER)) return;
    if (x->json != NULL) {
        qnnrt_json_write_u64(x->json, wide);
        return;
    }
    wide = qnnrt_manifest__whole(x, key, bytes == 8 ? UINT64_MAX : UINT32_MAX);
    narrow = (uint32_t)wide;
    memcpy(value, bytes == 8 ? (const void *)&wide : (const void *)&narrow, bytes);
}

static void qnnrt_manifest__i32(qnnrt_manifest__io *x, const char *key, int32_t *value)
{
    int64_t found = 0;
    if (!qnnrt_manifest__member(x, key, 1, 0, QNNRT_JSON_NUMBER)) return;
    if (x->json != NULL) qnnrt_json_write_i64(x->json, *value);
    else if (qnnrt_json_i64(&x->r.value, &found) && found >= INT32_MIN && found <= INT32_MAX)
        *value = (int32_t)found;
    else qnnrt_manifest__wrong(x, key, "a whole number of 32 bits");
}

static void qnnrt_manifest__bool(qnnrt_manifest__io *x, const char *key, int *value)
{
    if (!qnnrt_manifest__member(x, key, 0, !*value, QNNRT_JSON_TRUE)) return;
    if (x->json != NULL) qnnrt_json_write_bool(x->json, 1);
    else *value = x->r.type == QNNRT_JSON_TRUE;
}

/* `count` hexadecimal digits, at most 64, small ones in memory. */
static void qnnrt_manifest__digits(qnnrt_manifest__io *x, const char *key, size_t count,
                                   const char **value)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    char expected[32], *out;
    size_t i = 0;
    if (!qnnrt_manifest__member(x, key, 0, *value == NULL, QNNRT_JSON_STRING)) return;
    if (x->json != NULL) {
        qnnrt_json_write_string(x->json, *value);
        return;
    }
    *value = out = (char *)qnnrt_manifest__get(x, count + 1, 1);
    for (; out != NULL && i < x->r.value.bytes && i < count; ++i) {
        const char *at = (const char *)memchr(digits, x->r.value.text[i], sizeof digits - 1);
        if (at == NULL) break;
        out[i] = digits[(at - digits) % 16];
    }
    snprintf(expected, sizeof expected, "%lu hexadecimal digits", (unsigned long)count);
    if (i < count || x->r.value.bytes != count) qnnrt_manifest__wrong(x, key, expected);
}

/* Return the word for a number of qnnrt_convert or of qnnrt_dtype, or NULL. */
static const char *qnnrt_manifest__word_of(int convert, unsigned number)
{
    static const char *const words[] = { NULL, "values", "to_nhwc", "to_nchw" };
    const char *name = convert ? number < 4 ? words[number] : NULL
                               : qnnrt_dtype_name((qnnrt_dtype)number);
    return name != NULL && strcmp(name, "unknown") != 0 ? name : NULL;
}

/* Read or write "convert" or "dtype". */
static unsigned qnnrt_manifest__word(qnnrt_manifest__io *x, int convert, unsigned number)
{
    static const unsigned char widths[7] = { 0x02, 0x04, 0x08, 0x16, 0x26, 0x32, 0x64 };
    const char *key = convert ? "convert" : "dtype", *word;
    const char *expected = convert ? "\"values\", \"to_nhwc\" or \"to_nchw\""
                                   : "a type with a size, such as \"float32\"";
    unsigned i;
    if (!qnnrt_manifest__member(x, key, !convert, number == 0, QNNRT_JSON_STRING)) return number;
    if (x->json != NULL) {
        word = qnnrt_manifest__word_of(convert, number);
        if (word == NULL)
            qnnrt_manifest__refuse(x, QNNRT_E_ARG, "\"%s\" is %u; expected %s", key, number,
                                   expected);
        qnnrt_json_write_string(x->json, word);
        return number;
    }
    for (i = 0; i < 42; ++i) {
        number = convert ? i : i / 7 << 8 | widths[i % 7];
        word = qnnrt_manifest__word_of(convert, number);
        if (word != NULL && word[0] == x->r.value.text[0] && qnnrt_json_is(&x->r.value, word))
            return number;
    }
    qnnrt_manifest__wrong(x, key, expected);
    return 0;
}

static void qnnrt_manifest__dims(qnnrt_manifest__io *x, qnnrt_tensor_info *tensor)
{
    uint32_t dims[QNNRT_MANIFEST__DIMS], i;
    const uint32_t most = x->limits.rank < (uint32_t)QNNRT_MANIFEST__DIMS
                              ? x->limits.rank : (uint32_t)QNNRT_MANIFEST__DIMS;
    void *copy;
    if (!qnnrt_manifest__member(x, "dims", 1, 0, QNNRT_JSON_ARRAY)) return;
    if (x->json != NULL) {
        qnnrt_json_write_array(x->json, 1);
        for (i = 0; i < tensor->rank; ++i) qnnrt_json_write_u64(x->json, tensor->dims[i]);
        qnnrt_json_write_close(x->json);
        return;
    }
    while (x->result == QNNRT_OK && qnnrt_json_more(&x->r)) {
        if (tensor->rank == most)
            qnnrt_manifest__refuse(x, QNNRT_E_LIMIT, "\"dims\" has more than %lu dimensions"
                                   " (limits.rank)", (unsigned long)most);
        else if (qnnrt_manifest__take(x, "dims", QNNRT_JSON_NUMBER) &&
                 (dims[tensor->rank++] = (uint32_t)qnnrt_manifest__whole(x, "dims",
                                                                         UINT32_MAX)) == 0)
            qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"dims\" has a dimension of 0");
    }
    copy = qnnrt_manifest__get(x, tensor->rank, sizeof *dims);
    if (copy != NULL) memcpy(copy, dims, tensor->rank * sizeof *dims);
    tensor->dims = (const uint32_t *)copy;
}

/* [step, "name of a tensor"], as a member or, without key, in a list called `part`. */
static void qnnrt_manifest__pair(qnnrt_manifest__io *x, const char *key, const char *part,
                                 size_t *step, const char **name)
{
    if (key != NULL && !qnnrt_manifest__member(x, key, 1, 0, QNNRT_JSON_ARRAY)) return;
    if (x->json != NULL) {
        qnnrt_json_write_array(x->json, 1);
        qnnrt_json_write_u64(x->json, *step);
        qnnrt_manifest__check_name(x, part, 0, *name);
        qnnrt_json_write_string(x->json, *name);
        qnnrt_json_write_close(x->json);
        return;
    }
    if (qnnrt_json_more(&x->r) && qnnrt_manifest__take(x, part, QNNRT_JSON_NUMBER))
        *step = (size_t)qnnrt_manifest__whole(x, part, UINT32_MAX);
    if (x->result == QNNRT_OK && qnnrt_json_more(&x->r) &&
        qnnrt_manifest__take(x, part, QNNRT_JSON_STRING))
        *name = qnnrt_manifest__copy(x, part, 0, &x->r.value);
    if (*name == NULL || qnnrt_json_more(&x->r))
        qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"%s\" must have two elements: the number of a"
                               " step and the name of a tensor", part);
}

/* =====================================================================================
   OBJECTS                                                                       >>objects
   The format: one function for each kind of object, which reads and writes it.
   Needs: >>values, qnnrt_json.h     Knows nothing of: files, backends, graphs
   ===================================================================================== */

enum { QNNRT_MANIFEST__VERSION = 2 };      /* the latest; a program without states has 1 */

typedef struct qnnrt_manifest__program {
    uint32_t                 version;   /* 0: the text has no "program" */
    const char             **roles;
    qnnrt_manifest_context  *contexts;
    qnnrt_manifest_constant *constants;
    const void             **sorted;    /* [constant_count] of them, by their names */
    qnnrt_manifest_pipeline *pipelines; /* qnnrt_use_desc.constant is a name, until the pipeline is
                                           made */
    size_t role_count, context_count, constant_count, pipeline_count;
} qnnrt_manifest__program;

/* ---- lists ---- */

typedef void qnnrt_manifest__item(qnnrt_manifest__io *x, void *item);

typedef enum qnnrt_manifest__form {     /* how an object is written */
    QNNRT_MANIFEST__ONE_LINE, QNNRT_MANIFEST__LINES,
    QNNRT_MANIFEST__GRAPH_LINE          /* a step: on one line if it is a graph */
} qnnrt_manifest__form;

/* What the items of a list are. */
typedef struct qnnrt_manifest__kind {
    const char             *part;       /* in messages */
    qnnrt_json_type         type;
    qnnrt_manifest__form    form;
    int                     unique;     /* 1: it begins with its name, which no other one has */
    size_t                  bytes;
    qnnrt_manifest__item   *item;
    const char             *keys;       /* of an object */
} qnnrt_manifest__kind;

#define QNNRT_MANIFEST__KIND(part, form, unique, of, item, keys) \
    { part, QNNRT_JSON_OBJECT, QNNRT_MANIFEST__##form, unique, sizeof(of), \
      qnnrt_manifest__##item, keys }

/* Read or write an object, or an item of another type. */
static void qnnrt_manifest__one(qnnrt_manifest__io *x, const qnnrt_manifest__kind *kind, void *item)
{
    qnnrt_manifest__object *outer = x->object, found;
    const int object = kind->type == QNNRT_JSON_OBJECT;
    if (x->json != NULL) {
        if (object)
            qnnrt_json_write_object(x->json, kind->form == QNNRT_MANIFEST__ONE_LINE ||
                                                 (kind->form == QNNRT_MANIFEST__GRAPH_LINE &&
                                                  ((qnnrt_step_desc *)item)->host == NULL));
        kind->item(x, item);
        if (object) qnnrt_json_write_close(x->json);
    } else if (x->result == QNNRT_OK && qnnrt_manifest__take(x, kind->part, kind->type)) {
        x->object = &found;
        if (object) qnnrt_manifest__members(x, kind->keys);
        if (x->result == QNNRT_OK) kind->item(x, item);
        if (object) x->r = found.end;
        x->object = outer;
    }
}

/* Add an item to a list. Return it, or NULL. */
static void *qnnrt_manifest__add(qnnrt_manifest__io *x, qnnrt_manifest__list *list, size_t bytes)
{
    if (list->room == 0) {      /* most lists are short */
        list->items = (unsigned char *)qnnrt_manifest__get(x, 1, bytes);
        list->room = 1;
    } else {
        list->items = (unsigned char *)qnnrt_arena_more(x->arena, list->items, list->count,
                                                        &list->room, bytes);
        if (list->items == NULL) (void)qnnrt_manifest__get(x, 1, bytes);      /* which fails */
    }
    return list->items != NULL ? list->items + list->count++ * bytes : NULL;
}

static int qnnrt_manifest__order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Return items, which begin with their names, in the order of these, and refuse a name that occurs
   twice. NULL after a failure. */
static const void **qnnrt_manifest__sorted(qnnrt_manifest__io *x, const qnnrt_manifest__kind *kind,
                                           const void *items, size_t count)
{
    const void **sorted = NULL;
    size_t i;
    if (x->result == QNNRT_OK)
        sorted = (const void **)qnnrt_manifest__get(x, count, sizeof *sorted);
    if (sorted == NULL) return NULL;
    for (i = 0; i < count; ++i) sorted[i] = (const unsigned char *)items + i * kind->bytes;
    qnnrt_sort(sorted, count, qnnrt_manifest__order);
    for (i = 1; i < count; ++i)
        if (qnnrt_manifest__order(sorted[i - 1], sorted[i]) == 0)
            qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "%s \"%.200s\" occurs twice", kind->part,
                                   *(const char *const *)sorted[i]);
    return sorted;
}

/* Read the items of a list that was found or, if it is an object, its members. Each counts against
   limits.tensors. */
static void qnnrt_manifest__read_items(qnnrt_manifest__io *x, const char *key,
                                       const qnnrt_manifest__kind *kind, qnnrt_manifest__list *list)
{
    const size_t outer = x->number, used = strlen(x->place);
    const int map = x->r.type == QNNRT_JSON_OBJECT;
    size_t i;
    for (i = 0; x->result == QNNRT_OK && qnnrt_json_more(&x->r); ++i) {
        void *item = NULL;
        snprintf(x->place + used, sizeof x->place - used, "%s%s %lu", used > 0 ? ": " : "",
                 kind->part, (unsigned long)i);
        if (x->left == 0)
            qnnrt_manifest__refuse(x, QNNRT_E_LIMIT, "the program has more than %lu entries"
                                   " (limits.tensors)", (unsigned long)x->limits.tensors);
        else item = qnnrt_manifest__add(x, list, kind->bytes);
        if (item == NULL) return;
        if (map) ((qnnrt_use_desc *)item)->name = qnnrt_manifest__copy(x, key, 0, &x->r.key);
        x->left -= 1;
        x->number = i;
        qnnrt_manifest__one(x, kind, item);
        if (x->result == QNNRT_OK) x->place[used] = '\0';
    }
    x->number = outer;
}

/* A list. items: the address of the pointer to it. */
static void qnnrt_manifest__items(qnnrt_manifest__io *x, const char *key, int needed,
                                  const qnnrt_manifest__kind *kind, void *items, size_t *count)
{
    qnnrt_manifest__list list;
    size_t i;
    memset(&list, 0, sizeof list);
    if (!qnnrt_manifest__member(x, key, needed, *count == 0, QNNRT_JSON_ARRAY)) return;
    if (x->json != NULL) {
        qnnrt_json_write_array(x->json, kind->type != QNNRT_JSON_OBJECT);
        memcpy(&list.items, items, sizeof list.items);
        for (i = 0; i < *count; ++i) {
            x->number = i;
            qnnrt_manifest__one(x, kind, list.items + i * kind->bytes);
        }
        qnnrt_json_write_close(x->json);
        return;
    }
    qnnrt_manifest__read_items(x, key, kind, &list);
    memcpy(items, &list.items, sizeof list.items);
    *count = list.count;
    if (kind->unique) (void)qnnrt_manifest__sorted(x, kind, list.items, list.count);
}

/* ---- uses ---- */

static void qnnrt_manifest__apart(qnnrt_manifest__io *x, void *item)
{
    qnnrt_use_desc *use = (qnnrt_use_desc *)item;
    use->apart = 1;
    qnnrt_manifest__pair(x, NULL, "apart", &use->step, &use->tensor);
}

/* The step of a use and its tensor, which is an input or, if `sides`, maybe an output. */
static void qnnrt_manifest__side(qnnrt_manifest__io *x, int sides, qnnrt_use_desc *use)
{
    qnnrt_manifest__number(x, "step", 1, &use->step, sizeof use->step);
    if (sides && x->json == NULL) {
        use->output = qnnrt_manifest__has(x, "output") != NULL;
        if (use->output == (qnnrt_manifest__has(x, "input") != NULL))
            qnnrt_manifest__refuse(x, QNNRT_E_FORMAT,
                                   "it must have either an \"input\" or an \"output\"");
    }
    qnnrt_manifest__name(x, use->output ? "output" : "input", &use->tensor);
}

static void qnnrt_manifest__named(qnnrt_manifest__io *x, void *item)
{
    qnnrt_manifest__side(x, 1, (qnnrt_use_desc *)item);
}

static void qnnrt_manifest__slot(qnnrt_manifest__io *x, void *item)
{
    qnnrt_use_desc *use = (qnnrt_use_desc *)item;
    use->in_buffer = 1;
    use->buffer = x->buffer;
    qnnrt_manifest__side(x, 1, use);
    qnnrt_manifest__number(x, "offset", 1, &use->offset, sizeof use->offset);
}

static void qnnrt_manifest__range(qnnrt_manifest__io *x, void *item)
{
    qnnrt_use_desc *use = (qnnrt_use_desc *)item;
    use->has_range = 1;
    qnnrt_manifest__side(x, 0, use);
    qnnrt_manifest__i32(x, "low", &use->low);
    qnnrt_manifest__i32(x, "high", &use->high);
}

/* Read or write "constant", of an input or a state: return its name. */
static const char *qnnrt_manifest__constant_name(qnnrt_manifest__io *x, const char *of,
                                                 const void *data)
{
    const char *name = NULL;
    size_t i = 0;
    if (x->json != NULL) {
        while (i < x->desc->constant_count && x->desc->constants[i].data != data) ++i;
        if (i < x->desc->constant_count) name = x->desc->constants[i].tensor.name;
        else qnnrt_manifest__refuse(x, QNNRT_E_ARG, "\"%.160s\" has a constant that is not"
                                    " described", of);
    }
    qnnrt_manifest__name(x, "constant", &name);
    return name;
}

static void qnnrt_manifest__value(qnnrt_manifest__io *x, void *item)
{
    qnnrt_use_desc *use = (qnnrt_use_desc *)item;
    qnnrt_manifest__side(x, 0, use);
    use->constant = qnnrt_manifest__constant_name(x, use->tensor, use->constant);
}

/* Return 1 if a use belongs to a list, of the slots to that of the buffer. */
static int qnnrt_manifest__is(const qnnrt_manifest__io *x, qnnrt_manifest__item *item,
                              const qnnrt_use_desc *use)
{
    return item == qnnrt_manifest__apart ? use->apart
         : item == qnnrt_manifest__value ? use->constant != NULL
         : item == qnnrt_manifest__range ? use->has_range
         : item == qnnrt_manifest__slot ? use->in_buffer && use->buffer == x->buffer
                                        : use->name != NULL;
}

/* A list of uses of a pipeline, or an object of them by their names. keys: of one, NULL: a pair. */
static void qnnrt_manifest__uses(qnnrt_manifest__io *x, const char *key, const char *part,
                                 qnnrt_manifest__item *item, const char *keys)
{
    const qnnrt_manifest__kind kind = {
        part, keys == NULL ? QNNRT_JSON_ARRAY : QNNRT_JSON_OBJECT, QNNRT_MANIFEST__ONE_LINE, 0,
        sizeof(qnnrt_use_desc), item, keys
    };
    const int map = item == qnnrt_manifest__named;
    const size_t total = x->json != NULL ? x->pipeline->desc.use_count : 0;
    size_t i = 0;
    while (i < total && !qnnrt_manifest__is(x, item, &x->pipeline->desc.uses[i])) ++i;
    if (!qnnrt_manifest__member(x, key, item == qnnrt_manifest__slot, i == total,
                                map ? QNNRT_JSON_OBJECT : QNNRT_JSON_ARRAY)) return;
    if (x->json == NULL) {
        qnnrt_manifest__read_items(x, key, &kind, &x->uses);
        return;
    }
    if (map) qnnrt_json_write_object(x->json, 0);
    else qnnrt_json_write_array(x->json, 0);
    for (; i < total; ++i) {
        qnnrt_use_desc use = x->pipeline->desc.uses[i];
        if (!qnnrt_manifest__is(x, item, &use)) continue;
        if (map) qnnrt_json_write_key(x->json, use.name);
        qnnrt_manifest__one(x, &kind, &use);
    }
    qnnrt_json_write_close(x->json);
}

/* ---- steps and edges ---- */

static void qnnrt_manifest__tensor(qnnrt_manifest__io *x, void *item)
{
    qnnrt_tensor_info *tensor = (qnnrt_tensor_info *)item;
    qnnrt_quant *quant = &tensor->quant;
    unsigned dtype;
    const int coded = x->json != NULL ? quant->encoding != QNNRT_ENCODING_NONE
                                      : qnnrt_manifest__has(x, "scale") != NULL ||
                                        qnnrt_manifest__has(x, "offset") != NULL ||
                                        qnnrt_manifest__has(x, "bits") != NULL;
    qnnrt_manifest__name(x, "name", &tensor->name);
    dtype = qnnrt_manifest__word(x, 0, (unsigned)tensor->dtype);
    if (x->json == NULL) tensor->dtype = (qnnrt_dtype)dtype;
    qnnrt_manifest__dims(x, tensor);
    if (!coded) return;
    if (x->json == NULL) quant->encoding = QNNRT_ENCODING_PER_TENSOR;
    if (quant->encoding != QNNRT_ENCODING_PER_TENSOR)
        qnnrt_manifest__refuse(x, QNNRT_E_UNSUPPORTED,
                               "\"%.160s\" has an encoding that a manifest cannot have",
                               tensor->name);
    if (qnnrt_manifest__member(x, "scale", 1, 0, QNNRT_JSON_NUMBER)) {
        if (x->json != NULL) qnnrt_json_write_f32(x->json, quant->scale);
        else if (!qnnrt_json_f32(&x->r.value, &quant->scale))
            qnnrt_manifest__wrong(x, "scale", "a number that a float32 can hold");
    }
    qnnrt_manifest__i32(x, "offset", &quant->offset);
    qnnrt_manifest__number(x, "bits", 0, &quant->bitwidth, sizeof quant->bitwidth);
    if (x->json == NULL && (unsigned)tensor->dtype >> 8 != 3 && (unsigned)tensor->dtype >> 8 != 4)
        qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "it has an encoding, but %s is not a quantized"
                               " type", qnnrt_dtype_name(tensor->dtype));
}

/* A graph, or a host step. */
static void qnnrt_manifest__step(qnnrt_manifest__io *x, void *item)
{
    static const qnnrt_manifest__kind input =
        QNNRT_MANIFEST__KIND("input", ONE_LINE, 1, qnnrt_tensor_info, tensor,
                             "name, dtype, dims, scale, offset, bits");
    static const qnnrt_manifest__kind output =
        QNNRT_MANIFEST__KIND("output", ONE_LINE, 1, qnnrt_tensor_info, tensor,
                             "name, dtype, dims, scale, offset, bits");
    qnnrt_step_desc *step = (qnnrt_step_desc *)item;
    qnnrt_host_step *host = (qnnrt_host_step *)(uintptr_t)step->host;
    const int graph = x->json != NULL ? host == NULL
                                      : qnnrt_manifest__has(x, "context") != NULL ||
                                        qnnrt_manifest__has(x, "graph") != NULL;
    if (x->json == NULL && graph == (qnnrt_manifest__has(x, "host") != NULL ||
                                     qnnrt_manifest__has(x, "inputs") != NULL ||
                                     qnnrt_manifest__has(x, "outputs") != NULL))
        qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "it must have either \"context\" and \"graph\","
                               " or \"host\", \"inputs\" and \"outputs\"");
    if (graph) {
        if (x->json != NULL && step->context >= x->desc->context_count)
            qnnrt_manifest__refuse(x, QNNRT_E_ARG, "\"%.160s\" is in a context that is not"
                                   " described", step->graph != NULL ? step->graph : "");
        qnnrt_manifest__number(x, "context", 1, &step->context, sizeof step->context);
        qnnrt_manifest__name(x, "graph", &step->graph);
        return;
    }
    if (x->json == NULL)
        step->host = host = (qnnrt_host_step *)qnnrt_manifest__get(x, 1, sizeof *host);
    if (host == NULL) return;
    qnnrt_manifest__name(x, "host", &host->name);
    qnnrt_manifest__items(x, "inputs", 1, &input, &host->inputs, &host->input_count);
    qnnrt_manifest__items(x, "outputs", 1, &output, &host->outputs, &host->output_count);
}

/* An edge. What it asks for stands in a list of its own. */
static void qnnrt_manifest__edge(qnnrt_manifest__io *x, void *item)
{
    qnnrt_edge_desc *edge = (qnnrt_edge_desc *)item;
    qnnrt_conversion none, *wish = &none;
    memset(&none, 0, sizeof none);
    if (x->json == NULL) wish = (qnnrt_conversion *)qnnrt_manifest__add(x, &x->wishes, sizeof none);
    else if (x->pipeline->conversions != NULL) none = x->pipeline->conversions[x->number];
    if (wish == NULL) return;
    qnnrt_manifest__pair(x, "from", "from", &edge->from_step, &edge->from);
    qnnrt_manifest__pair(x, "to", "to", &edge->to_step, &edge->to);
    wish->how = (qnnrt_convert)qnnrt_manifest__word(x, 1, (unsigned)wish->how);
    qnnrt_manifest__bool(x, "exact", &wish->exact);
}

/* ---- the program ---- */

static void qnnrt_manifest__buffer(qnnrt_manifest__io *x, void *item)
{
    qnnrt_buffer_desc *buffer = (qnnrt_buffer_desc *)item;
    x->buffer = x->number;
    qnnrt_manifest__name(x, "name", &buffer->name);
    qnnrt_manifest__number(x, "bytes", 1, &buffer->bytes, sizeof buffer->bytes);
    qnnrt_manifest__number(x, "align", 0, &buffer->align, sizeof buffer->align);
    if (x->json == NULL && buffer->bytes == 0)
        qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"bytes\" is 0; expected 1 or more");
    if (x->json == NULL && (buffer->align & (buffer->align - 1u)) != 0)
        qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"align\" is %lu; expected a power of two",
                               (unsigned long)buffer->align);
    qnnrt_manifest__uses(x, "slots", "slot", qnnrt_manifest__slot,
                         "step, input, output, offset");
}

static void qnnrt_manifest__to(qnnrt_manifest__io *x, void *item)
{
    qnnrt_manifest_end *to = (qnnrt_manifest_end *)item;
    qnnrt_manifest__pair(x, NULL, "to", &to->step, &to->tensor);
}

static void qnnrt_manifest__state(qnnrt_manifest__io *x, void *item)
{
    static const qnnrt_manifest__kind to = {
        "to", QNNRT_JSON_ARRAY, QNNRT_MANIFEST__ONE_LINE, 0, sizeof(qnnrt_manifest_end),
        qnnrt_manifest__to, NULL
    };
    qnnrt_manifest_state *state = (qnnrt_manifest_state *)item;
    qnnrt_manifest__name(x, "name", &state->name);
    qnnrt_manifest__items(x, "to", 1, &to, &state->to, &state->to_count);
    qnnrt_manifest__pair(x, "from", "from", &state->from.step, &state->from.tensor);
    if (x->json != NULL ? state->constant == NULL : qnnrt_manifest__has(x, "constant") == NULL)
        return;
    state->constant = qnnrt_manifest__constant_name(x, state->name, state->constant);
}

static void qnnrt_manifest__pipeline(qnnrt_manifest__io *x, void *item)
{
    static const qnnrt_manifest__kind state =
        QNNRT_MANIFEST__KIND("state", ONE_LINE, 1, qnnrt_manifest_state, state,
                             "name, to, from, constant");
    static const qnnrt_manifest__kind step =
        QNNRT_MANIFEST__KIND("step", GRAPH_LINE, 0, qnnrt_step_desc, step,
                             "context, graph, host, inputs, outputs");
    static const qnnrt_manifest__kind edge =
        QNNRT_MANIFEST__KIND("edge", ONE_LINE, 0, qnnrt_edge_desc, edge,
                             "from, to, convert, exact");
    static const qnnrt_manifest__kind buffer =
        QNNRT_MANIFEST__KIND("buffer", LINES, 1, qnnrt_buffer_desc, buffer,
                             "name, bytes, align, slots");
    qnnrt_manifest_pipeline *pipeline = (qnnrt_manifest_pipeline *)item;
    qnnrt_pipeline_desc *p = &pipeline->desc;
    x->pipeline = pipeline;
    memset(&x->uses, 0, sizeof x->uses);
    memset(&x->wishes, 0, sizeof x->wishes);
    qnnrt_manifest__name(x, "name", &p->name);
    if (p->name != NULL) snprintf(x->place, sizeof x->place, "pipeline \"%.100s\"", p->name);
    qnnrt_manifest__items(x, "steps", 1, &step, &p->steps, &p->step_count);
    qnnrt_manifest__items(x, "edges", 0, &edge, &p->edges, &p->edge_count);
    qnnrt_manifest__bool(x, "edges_only", &p->edges_only);
    qnnrt_manifest__uses(x, "apart", "apart", qnnrt_manifest__apart, NULL);
    qnnrt_manifest__uses(x, "constants", "constant", qnnrt_manifest__value,
                         "step, input, constant");
    qnnrt_manifest__uses(x, "names", "name", qnnrt_manifest__named,
                         "step, input, output");
    qnnrt_manifest__items(x, "buffers", 0, &buffer, &p->buffers, &p->buffer_count);
    qnnrt_manifest__uses(x, "ranges", "range", qnnrt_manifest__range,
                         "step, input, low, high");
    qnnrt_manifest__items(x, "states", 0, &state, &pipeline->states, &pipeline->state_count);
    if (pipeline->state_count > 0 && !p->edges_only)
        qnnrt_manifest__refuse(x, x->json != NULL ? QNNRT_E_ARG : QNNRT_E_FORMAT,
                               "\"states\" need \"edges_only\"");
    if (x->json != NULL) return;
    x->states += pipeline->state_count;
    if (p->step_count == 0) qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"steps\" is empty");
    p->uses = (const qnnrt_use_desc *)(void *)x->uses.items;
    p->use_count = x->uses.count;
    pipeline->conversions = (const qnnrt_conversion *)(void *)x->wishes.items;
}

static void qnnrt_manifest__role(qnnrt_manifest__io *x, void *item)
{
    const char **role = (const char **)item;
    if (x->json != NULL) qnnrt_json_write_string(x->json, *role);
    else *role = qnnrt_manifest__copy(x, "backend", 0, &x->r.value);
}

static void qnnrt_manifest__context(qnnrt_manifest__io *x, void *item)
{
    qnnrt_manifest_context *context = (qnnrt_manifest_context *)item;
    char number[17];
    const char *digits = NULL;
    qnnrt_manifest__name(x, "file", &context->file);
    qnnrt_manifest__name(x, "backend", &context->role);
    snprintf(number, sizeof number, "%016llx", (unsigned long long)context->fingerprint);
    if (context->fingerprint != 0) digits = number;
    qnnrt_manifest__digits(x, "fingerprint", 16, &digits);
    if (x->json == NULL && digits != NULL) context->fingerprint = strtoull(digits, NULL, 16);
    qnnrt_manifest__digits(x, "sha256", 64, &context->sha256);
}

/* Compute the size of a tensor. Return 0 if it exceeds the address space. */
static int qnnrt_manifest__size(qnnrt_tensor_info *tensor)
{
    const unsigned bits = qnnrt_dtype_bits(tensor->dtype);
    uint64_t count = 1;
    uint32_t i;
    for (i = 0; i < tensor->rank && tensor->dims[i] > 0 &&
                count <= (uint64_t)(SIZE_MAX / 16) / tensor->dims[i]; ++i)
        count *= tensor->dims[i];
    tensor->count = count;
    tensor->bytes = bits < 8 ? (count + 8 / bits - 1) / (8 / bits) : count * (bits / 8);
    return i == tensor->rank;
}

/* Compute the size of a constant. */
static void qnnrt_manifest__measure(qnnrt_manifest__io *x, qnnrt_manifest_constant *constant)
{
    qnnrt_tensor_info *tensor = &constant->tensor;
    if (!qnnrt_manifest__size(tensor))
        qnnrt_manifest__refuse(x, QNNRT_E_LIMIT, "constant \"%.200s\": the product of its"
                               " dimensions exceeds the address space", tensor->name);
    else if (constant->offset > UINT64_MAX - tensor->bytes)
        qnnrt_manifest__refuse(x, QNNRT_E_LIMIT, "constant \"%.200s\" ends beyond any file: its"
                               " \"offset\" is %llu", tensor->name,
                               (unsigned long long)constant->offset);
}

static void qnnrt_manifest__constant(qnnrt_manifest__io *x, void *item)
{
    qnnrt_manifest_constant *constant = (qnnrt_manifest_constant *)item;
    unsigned dtype;
    qnnrt_manifest__name(x, "name", &constant->tensor.name);
    qnnrt_manifest__name(x, "file", &constant->file);
    qnnrt_manifest__number(x, "offset", 0, &constant->offset, sizeof constant->offset);
    dtype = qnnrt_manifest__word(x, 0, (unsigned)constant->tensor.dtype);
    if (x->json == NULL) constant->tensor.dtype = (qnnrt_dtype)dtype;
    qnnrt_manifest__dims(x, &constant->tensor);
    if (x->json == NULL && x->result == QNNRT_OK) qnnrt_manifest__measure(x, constant);
}

/* Count contexts, and check that their roles are listed. */
static void qnnrt_manifest__check_contexts(qnnrt_manifest__io *x, const qnnrt_manifest__program *p)
{
    size_t i, k;
    if (p->context_count == 0 && p->pipeline_count == 0)
        qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"contexts\" and \"pipelines\" are empty");
    if (p->context_count > x->limits.files)
        qnnrt_manifest__refuse(x, QNNRT_E_LIMIT, "%lu contexts, more than limits.files (%lu)",
                               (unsigned long)p->context_count, (unsigned long)x->limits.files);
    for (i = 0; i < p->context_count && x->result == QNNRT_OK; ++i) {
        const char *role = p->contexts[i].role;
        for (k = 0; k < p->role_count && strcmp(p->roles[k], role) != 0;) ++k;
        if (k < p->role_count) p->contexts[i].role = p->roles[k];      /* equal ones: one address */
        else qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "context %lu: \"backends\" does not list its"
                                    " backend \"%.200s\"", (unsigned long)i, role);
    }
}

static void qnnrt_manifest__whole_program(qnnrt_manifest__io *x, void *item)
{
    static const qnnrt_manifest__kind role = {
        "backend", QNNRT_JSON_STRING, QNNRT_MANIFEST__ONE_LINE, 1, sizeof(char *),
        qnnrt_manifest__role, NULL
    };
    static const qnnrt_manifest__kind context =
        QNNRT_MANIFEST__KIND("context", ONE_LINE, 1, qnnrt_manifest_context, context,
                             "file, backend, fingerprint, sha256");
    static const qnnrt_manifest__kind constant =
        QNNRT_MANIFEST__KIND("constant", ONE_LINE, 0, qnnrt_manifest_constant, constant,
                             "name, file, offset, dtype, dims");
    static const qnnrt_manifest__kind pipeline =
        QNNRT_MANIFEST__KIND("pipeline", LINES, 1, qnnrt_manifest_pipeline, pipeline,
                             "name, steps, edges, edges_only, apart, constants, names, buffers,"
                             " ranges, states");
    qnnrt_manifest__program *p = (qnnrt_manifest__program *)item;
    qnnrt_manifest__number(x, "version", 1, &p->version, sizeof p->version);
    qnnrt_manifest__items(x, "backends", 1, &role, &p->roles, &p->role_count);
    qnnrt_manifest__items(x, "contexts", 1, &context, &p->contexts, &p->context_count);
    qnnrt_manifest__items(x, "constants", 0, &constant, &p->constants, &p->constant_count);
    if (x->json == NULL)
        p->sorted = qnnrt_manifest__sorted(x, &constant, p->constants, p->constant_count);
    qnnrt_manifest__items(x, "pipelines", 0, &pipeline, &p->pipelines, &p->pipeline_count);
    if (x->json == NULL && p->version < 2 && x->states > 0)
        qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"states\" need \"version\" 2");
    if (x->json == NULL) qnnrt_manifest__check_contexts(x, p);
}

static const qnnrt_manifest__kind qnnrt_manifest__the_program =
    QNNRT_MANIFEST__KIND("program", LINES, 0, qnnrt_manifest__program, whole_program,
                             "version, backends, contexts, constants, pipelines");

/* =====================================================================================
   TEXT                                                                             >>text
   Writes a program as a text, and reads it.
   Needs: >>values >>objects, qnnrt_json.h     Knows nothing of: files, backends, graphs
   ===================================================================================== */

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_write(const qnnrt_manifest_desc *desc,
                                                     int (*write)(void *user, const char *text,
                                                                  size_t bytes),
                                                     void *user, qnnrt_error *err)
{
    const char *roles[QNNRT_MANIFEST__ROLES];
    qnnrt_manifest__program program;
    qnnrt_json_writer json;
    qnnrt_manifest__io x;
    size_t i, k;
    memset(&program, 0, sizeof program);
    memset(&x, 0, sizeof x);
    qnnrt_error_clear(err);
    if (desc == NULL || write == NULL || desc->context_count + desc->pipeline_count == 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_manifest_write: contexts and pipelines are"
                               " missing, or desc or write is NULL");
    x.err = err;
    x.desc = desc;
    x.json = &json;
    program.version = 1;
    for (i = 0; i < desc->pipeline_count; ++i)
        if (desc->pipelines[i].state_count > 0) program.version = QNNRT_MANIFEST__VERSION;
    program.roles = roles;
    for (i = 0; i < desc->context_count; ++i) {
        const char *role = desc->contexts[i].role != NULL ? desc->contexts[i].role : "";
        for (k = 0; k < program.role_count && strcmp(roles[k], role) != 0;) ++k;
        if (k == QNNRT_MANIFEST__ROLES)
            return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "the program has more than %d backend"
                                   " roles", QNNRT_MANIFEST__ROLES);
        if (k == program.role_count) roles[program.role_count++] = role;
    }
    memcpy(&program.contexts, &desc->contexts, sizeof program.contexts);      /* only read */
    memcpy(&program.constants, &desc->constants, sizeof program.constants);
    memcpy(&program.pipelines, &desc->pipelines, sizeof program.pipelines);
    program.context_count = desc->context_count;
    program.constant_count = desc->constant_count;
    program.pipeline_count = desc->pipeline_count;
    qnnrt_json_write_begin(&json, write, user, 4);
    qnnrt_json_write_object(&json, 0);
    qnnrt_json_write_key(&json, "program");
    qnnrt_manifest__one(&x, &qnnrt_manifest__the_program, &program);
    if (x.result != QNNRT_OK) return x.result;
    if (desc->more != NULL) desc->more(desc->more_user, &json);
    qnnrt_json_write_close(&json);
    return qnnrt_json_write_end(&json)
               ? QNNRT_OK : qnnrt_error_set(err, QNNRT_E_IO, "cannot write the program: %s",
                                            json.error != NULL ? json.error
                                                               : "`write` did not accept it");
}

/* Check the version before anything else, because another version may have other keys. */
static void qnnrt_manifest__version(qnnrt_manifest__io *x)
{
    qnnrt_json_reader r = x->r;
    uint64_t version = 1;
    if (qnnrt_json_value(&r) != QNNRT_JSON_OBJECT) return;
    while (version - 1 < QNNRT_MANIFEST__VERSION && qnnrt_json_more(&r))
        if (!qnnrt_json_is(&r.key, "version") || !qnnrt_json_value_u64(&r, &version)) {
            version = 1;
            qnnrt_json_skip(&r);
        }
    if (version - 1 < QNNRT_MANIFEST__VERSION) return;
    qnnrt_manifest__refuse(x, QNNRT_E_VERSION,
                           "the program has version %llu; this library reads versions 1 to %d",
                           (unsigned long long)version, (int)QNNRT_MANIFEST__VERSION);
    qnnrt_error_hint(x->err, QNNRT_E_VERSION, "Use a release of qnnrt_manifest.h that reads this"
                     " version, or write the program again.");
}

/* Read a qnnrt.json. All of it is copied from the text; other parts than "program" are skipped. */
static qnnrt_result qnnrt_manifest__read(qnnrt_manifest__io *x, const char *text, size_t bytes,
                                         qnnrt_manifest__program *out)
{
    qnnrt_json_reader r;
    qnnrt_json_limits limits;
    int there = 0;
    limits.bytes = (size_t)x->limits.json_bytes;
    limits.depth = 64;
    x->left = x->limits.tensors;
    qnnrt_json_begin(&x->r, text, bytes, &limits);
    r = x->r;
    qnnrt_json_skip(&r);
    if (!qnnrt_json_end(&r)) {          /* from here on it is right JSON */
        x->result = qnnrt_error_set(x->err, QNNRT_E_FORMAT, "%s: byte %lu: %s", x->path,
                                    (unsigned long)r.error_at, r.error);
    } else if (qnnrt_manifest__take(x, "qnnrt.json", QNNRT_JSON_OBJECT)) {
        while (x->result == QNNRT_OK && qnnrt_json_more(&x->r)) {
            if (!qnnrt_json_is(&x->r.key, "program")) {
                qnnrt_json_skip(&x->r);
                continue;
            }
            if (there++) qnnrt_manifest__refuse(x, QNNRT_E_FORMAT, "\"program\" occurs twice");
            qnnrt_manifest__version(x);
            qnnrt_manifest__one(x, &qnnrt_manifest__the_program, out);
        }
    }
    return x->result != QNNRT_E_FORMAT ? x->result
               : qnnrt_error_hint(x->err, QNNRT_E_FORMAT, "Repair it or write it again;"
                                  " tools/qnnrt_manifest.h describes the format.");
}

/* =====================================================================================
   FILES                                                                           >>files
   The program that is open, and its files: the text, which contexts there are, their hashes, and
   constants in files that stay mapped.
   Needs: >>values >>objects >>text     Knows nothing of: backends, graphs
   ===================================================================================== */

enum { QNNRT_MANIFEST__PATH = 4096 };

typedef struct qnnrt_manifest__map {    /* a file in memory */
    const char *name;
    void       *data;
    uint64_t    bytes;
    int         owned;                  /* 1: memory of the hooks; 0: mapped */
} qnnrt_manifest__map;

typedef struct qnnrt_manifest__part {   /* a role that occurs */
    const char    *role;
    qnnrt_backend *backend;
    int            owned;               /* 1: the program closes the backend */
    qnnrt         *model;               /* NULL: it did not open */
} qnnrt_manifest__part;

struct qnnrt_manifest {
    qnnrt_manifest_info           info;
    qnnrt_arena                   arena;
    qnnrt_manifest__part          parts[QNNRT_MANIFEST__ROLES];
    qnnrt                        *models[QNNRT_MANIFEST__ROLES];
    size_t                        part_count;
    qnnrt_manifest_context       *contexts;      /* those of info */
    qnnrt_context_info           *facts;         /* of contexts without a model; NULL without a
                                                    program */
    void                        (*sha256)(const void *data, uint64_t bytes, char text[65]);
    qnnrt_manifest__map          *maps;
    size_t                        map_count;
    qnnrt_pipeline              **made;          /* in the order of the program */
    qnnrt_conversions           **conversions;   /* those of each */
};

/* What opening a program needs. */
typedef struct qnnrt_manifest__work {
    qnnrt_manifest                 *to;
    const qnnrt_manifest_open_desc *desc;
    qnnrt_limits                    limits;
    qnnrt_manifest__program         program;
    qnnrt_file                     *files;       /* of each context */
    qnnrt_error                    *err;         /* the caller's, or .own */
    qnnrt_error                     own, tried;  /* .tried: of a library that may be another one */
    size_t                          done;        /* contexts of models that are open */
    int                             joined;      /* 1: names join the pipelines */
    qnnrt_manifest__io              io;          /* reads the program */
    char                            path[QNNRT_MANIFEST__PATH];
} qnnrt_manifest__work;

static qnnrt_result qnnrt_manifest__no_memory(qnnrt_manifest__work *w)
{
    return qnnrt_error_set(w->err, QNNRT_E_MEMORY, "out of memory for a program");
}

/* Write the path of a file of the folder into w->path: the first `length` bytes of a name, and what
   ends it. */
static qnnrt_result qnnrt_manifest__path(qnnrt_manifest__work *w, const char *name, size_t length,
                                         const char *end)
{
    const int used = snprintf(w->path, sizeof w->path, "%s/%.*s%s", w->to->info.folder, (int)length,
                              name, end);
    return used > 0 && (size_t)used < sizeof w->path ? QNNRT_OK
               : qnnrt_error_set(w->err, QNNRT_E_ARG, "the path of %.200s is longer than %d bytes",
                                 name, QNNRT_MANIFEST__PATH);
}

/* Map the file at w->path, or read it into memory of the hooks. */
static qnnrt_result qnnrt_manifest__load(qnnrt_manifest__work *w, int map, uint64_t most,
                                         const char *limit, qnnrt_manifest__map *out)
{
    uint64_t done = 0;
    ssize_t got = 1;
    int fd;
    qnnrt_result result = qnnrt_file_open(w->path, &fd, &out->bytes, w->err);
    if (result == QNNRT_E_IO)
        qnnrt_error_hint(w->err, result, "Check that this process may read it.");
    if (result != QNNRT_OK) return result;
    out->owned = !map;
    if (out->bytes > most) {
        result = qnnrt_error_set(w->err, QNNRT_E_LIMIT, "%s has %llu bytes, more than %s (%llu)",
                                 w->path, (unsigned long long)out->bytes, limit,
                                 (unsigned long long)most);
    } else if (!map) {
        out->data = qnnrt_hooks_alloc(&w->to->arena.hooks, out->bytes, 1);
        for (; out->data != NULL && done < out->bytes && got > 0; done += (uint64_t)got)
            got = read(fd, (char *)out->data + done, (size_t)(out->bytes - done));
        if (out->data == NULL) result = qnnrt_manifest__no_memory(w);
        else if (got <= 0)
            result = qnnrt_error_set(w->err, QNNRT_E_IO, "cannot read all of %s: %s", w->path,
                                     got < 0 ? strerror(errno) : "it became shorter");
    } else if (out->bytes > 0) {
        out->data = mmap(NULL, (size_t)out->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (out->data == MAP_FAILED) {
            out->data = NULL;
            result = qnnrt_error_set(w->err, QNNRT_E_IO, "cannot map %s: %s", w->path,
                                     strerror(errno));
        }
    }
    close(fd);
    return result;
}

static void qnnrt_manifest__drop(const qnnrt_hooks *hooks, const qnnrt_manifest__map *map)
{
    if (map->owned) qnnrt_hooks_free(hooks, map->data);
    else if (map->data != NULL) munmap(map->data, (size_t)map->bytes);
}

/* Read the program of the folder, if it has one. A qnnrt.json that is no file is for qnnrt_open(),
   which refuses it. */
static qnnrt_result qnnrt_manifest__text(qnnrt_manifest__work *w)
{
    qnnrt_manifest__io *x = &w->io;
    qnnrt_manifest__map text;
    qnnrt_result result = qnnrt_manifest__path(w, "qnnrt.json", 10, "");
    if (result != QNNRT_OK) return result;
    memset(&text, 0, sizeof text);
    x->arena = &w->to->arena;
    x->limits = w->limits;
    x->path = w->path;
    x->err = w->err;
    result = qnnrt_manifest__load(w, 0, w->limits.json_bytes, "limits.json_bytes", &text);
    if (result == QNNRT_E_NOT_FOUND) return qnnrt_error_clear(w->err);
    if (result == QNNRT_OK)
        result = qnnrt_manifest__read(x, (const char *)text.data, (size_t)text.bytes, &w->program);
    qnnrt_manifest__drop(&w->to->arena.hooks, &text);
    return result;
}

static int qnnrt_manifest__is_binary(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".bin") == 0;
}

/* Write a line into the log for each *.bin of the folder that the program does not list. */
static void qnnrt_manifest__left_out(const qnnrt_manifest__work *w)
{
    DIR *folder = opendir(w->to->info.folder);
    const struct dirent *entry;
    size_t i;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.' || !qnnrt_manifest__is_binary(entry->d_name)) continue;
        for (i = 0; i < w->program.context_count &&
                    strcmp(entry->d_name, w->program.contexts[i].file) != 0;) ++i;
        if (i == w->program.context_count)
            qnnrt_log(&w->to->arena.hooks, QNNRT_LOG_INFO, "manifest", 0,
                      "%s is left out: qnnrt.json decides which files are the model",
                      entry->d_name);
    }
    if (folder != NULL) closedir(folder);
}

/* Find a file of the folder. *out stays NULL if there is none. */
static qnnrt_result qnnrt_manifest__find_file(qnnrt_manifest__work *w, const char *name,
                                              size_t length, const char *end, const char **out)
{
    struct stat facts;
    qnnrt_result result = qnnrt_manifest__path(w, name, length, end);
    if (result != QNNRT_OK || stat(w->path, &facts) != 0) return result;
    *out = qnnrt_arena_text(&w->to->arena, w->path, strlen(w->path));
    return *out != NULL ? QNNRT_OK : qnnrt_manifest__no_memory(w);
}

/* Find the files of a context: its binary, and the JSON beside it, which with desc.inspect may
   stand for it. */
static qnnrt_result qnnrt_manifest__find_files(qnnrt_manifest__work *w, qnnrt_file *file)
{
    const int binary = qnnrt_manifest__is_binary(file->name);
    const size_t length = strlen(file->name);
    qnnrt_result result = QNNRT_OK;
    if (binary) result = qnnrt_manifest__find_file(w, file->name, length, "", &file->path);
    if (result == QNNRT_OK && (file->path != NULL || w->desc->model.inspect) &&
        w->desc->model.metadata != QNNRT_METADATA_SYSTEM)
        result = qnnrt_manifest__find_file(w, file->name, binary ? length - 4 : length,
                                           "_json.json", &file->json_path);
    if (result != QNNRT_OK || file->path != NULL || file->json_path != NULL) return result;
    qnnrt_error_set(w->err, QNNRT_E_NOT_FOUND, "%s/qnnrt.json lists \"%.200s\", but the folder has"
                    " no such *.bin", w->to->info.folder, file->name);
    return qnnrt_error_hint(w->err, QNNRT_E_NOT_FOUND, "Copy the folder again.");
}

/* Compare all bytes of a file with the SHA-256 that the program has for it, if it has one:
   qnnrt_desc.check of its models, as long as they are open. */
static qnnrt_result qnnrt_manifest__hash(void *user, const char *file, const void *data,
                                         uint64_t bytes, qnnrt_error *err)
{
    const qnnrt_manifest_info *info = &((const qnnrt_manifest *)user)->info;
    const char *expected = NULL;
    char found[65];
    size_t i;
    for (i = 0; i < info->context_count && expected == NULL; ++i)
        if (strcmp(info->contexts[i].file, file) == 0) expected = info->contexts[i].sha256;
    if (expected == NULL) return QNNRT_OK;
    ((const qnnrt_manifest *)user)->sha256(data, bytes, found);
    if (strcmp(found, expected) == 0) return QNNRT_OK;
    qnnrt_error_set(err, QNNRT_E_MISMATCH, "%s has the SHA-256 %s, but qnnrt.json expects %s", file,
                    found, expected);
    return qnnrt_error_hint(err, QNNRT_E_MISMATCH, "Take the file and qnnrt.json from one build.");
}

/* Find the files of all contexts. */
static qnnrt_result qnnrt_manifest__files(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    const size_t count = w->program.context_count;
    qnnrt_result result = QNNRT_OK;
    size_t i;
    w->files = (qnnrt_file *)qnnrt_arena_get(&to->arena, count, sizeof *w->files);
    to->facts = (qnnrt_context_info *)qnnrt_arena_get(&to->arena, count, sizeof *to->facts);
    if (w->files == NULL || to->facts == NULL) return qnnrt_manifest__no_memory(w);
    qnnrt_manifest__left_out(w);
    to->info.contexts = to->contexts = w->program.contexts;
    to->info.context_count = count;
    for (i = 0; i < count && result == QNNRT_OK; ++i) {
        w->files[i].name = to->facts[i].file = to->contexts[i].file;
        to->facts[i].build_id = "";
        to->contexts[i].info = &to->facts[i];
        result = qnnrt_manifest__find_files(w, &w->files[i]);
        if (w->desc->sha256 != NULL && w->files[i].path != NULL && to->contexts[i].sha256 == NULL)
            qnnrt_log(&w->to->arena.hooks, QNNRT_LOG_WARN, "manifest", 0,
                      "%s is not compared with a SHA-256: qnnrt.json has none", w->files[i].name);
    }
    return result;
}

/* Find the values of all constants. Each file is mapped or read once. */
static qnnrt_result qnnrt_manifest__values_of(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    const size_t count = w->program.constant_count;
    const size_t most = count < w->limits.files ? count : w->limits.files;
    qnnrt_result result = QNNRT_OK;
    size_t i, k;
    to->maps = (qnnrt_manifest__map *)qnnrt_arena_get(&to->arena, most, sizeof *to->maps);
    if (to->maps == NULL) return qnnrt_manifest__no_memory(w);
    for (i = 0; i < count; ++i) {
        qnnrt_manifest_constant *one = &w->program.constants[i];
        char facts[256];
        for (k = 0; k < to->map_count && strcmp(to->maps[k].name, one->file) != 0;) ++k;
        if (k == most)
            return qnnrt_error_set(w->err, QNNRT_E_LIMIT, "the constants are in more than %lu files"
                                   " (limits.files)", (unsigned long)w->limits.files);
        if (k == to->map_count) {
            result = qnnrt_manifest__path(w, one->file, strlen(one->file), "");
            if (result != QNNRT_OK) return result;
            to->maps[to->map_count++].name = one->file;      /* closing frees what there is of it */
            result = qnnrt_manifest__load(w, !w->desc->model.read, w->limits.file_bytes,
                                          "limits.file_bytes", &to->maps[k]);
            if (result != QNNRT_OK) return result;
        }
        if (one->offset + one->tensor.bytes > to->maps[k].bytes)
            return qnnrt_error_set(w->err, QNNRT_E_MISMATCH, "qnnrt.json: constant \"%.160s\" (%s)"
                                   " needs %llu bytes from %llu on, but %.160s has %llu",
                                   one->tensor.name,
                                   qnnrt_tensor_text(&one->tensor, facts, sizeof facts),
                                   (unsigned long long)one->tensor.bytes,
                                   (unsigned long long)one->offset, one->file,
                                   (unsigned long long)to->maps[k].bytes);
        one->data = (const unsigned char *)to->maps[k].data + one->offset;
    }
    to->info.constants = w->program.constants;
    to->info.constant_count = count;
    return QNNRT_OK;
}

static int qnnrt_manifest__compare_name(const void *name, const void *sorted)
{
    return strcmp((const char *)name, **(const char *const *const *)sorted);
}

/* Find a constant of the program. */
static qnnrt_result qnnrt_manifest__find_constant(qnnrt_manifest__work *w, const char *name,
                                                  const qnnrt_manifest_constant **out)
{
    const qnnrt_manifest_constant *const *found = NULL;
    if (w->program.constant_count > 0)
        found = (const qnnrt_manifest_constant *const *)bsearch(
            name, w->program.sorted, w->program.constant_count, sizeof *found,
            qnnrt_manifest__compare_name);
    if (found == NULL)
        return qnnrt_error_set(w->err, QNNRT_E_FORMAT, "the program has no constant \"%.160s\"",
                               name);
    *out = *found;
    return QNNRT_OK;
}

/* =====================================================================================
   ROLES                                                                           >>roles
   Opens a backend and a model for each role.
   Needs: >>values >>files     Knows nothing of: pipelines, constants
   ===================================================================================== */

/* Find a role in desc.backends, or return NULL. */
static const qnnrt_manifest_role *qnnrt_manifest__given(const qnnrt_manifest_open_desc *desc,
                                                        const char *role)
{
    size_t i;
    for (i = 0; i < desc->backend_count; ++i)
        if (desc->backends[i].role != NULL && strcmp(desc->backends[i].role, role) == 0)
            return &desc->backends[i];
    return NULL;
}

/* Find the number of a role that contexts have, or return their number. */
static size_t qnnrt_manifest__part_of(const qnnrt_manifest *to, const char *role)
{
    size_t i = 0;
    while (i < to->part_count && strcmp(to->parts[i].role, role) != 0) ++i;
    return i;
}

/* Check that desc.backends fits the roles of the contexts. */
static qnnrt_result qnnrt_manifest__check_roles(qnnrt_manifest__work *w)
{
    const qnnrt_manifest *to = w->to;
    const qnnrt_desc *model = &w->desc->model;
    size_t i, k;
    for (i = 0; i < w->desc->backend_count; ++i) {
        const qnnrt_manifest_role *one = &w->desc->backends[i];
        const char *role = one->role != NULL ? one->role : "", *why = NULL;
        const size_t at = qnnrt_manifest__part_of(to, role);
        if (role[0] == '\0') why = "has no role";
        else if (qnnrt_manifest__given(w->desc, role) != one) why = "is there twice";
        else if (one->backend != NULL && model->inspect)
            why = "has an open backend, which desc.model.inspect does not use";
        else if (to->part_count == 0 && to->info.program)
            why = "is a role that no context has: all steps are of the host";
        else if (to->part_count == 0) why = "is a role, but contexts of this model have no roles";
        else if (at == to->part_count) why = "is a role that no context has; they have";
        else if (at == 0 && model->backend != NULL)
            why = "is the role of the first context, for which desc.model.backend is, too";
        if (why == NULL) continue;
        qnnrt_error_set(w->err, QNNRT_E_ARG, "qnnrt_manifest_open: desc.backends[%lu] \"%.200s\""
                        " %s", (unsigned long)i, role, why);
        for (k = 0; at == to->part_count && k < to->part_count; ++k)
            qnnrt_error_add(w->err, "%s\"%.60s\"", k > 0 ? ", " : " ", to->parts[k].role);
        return qnnrt_error_hint(w->err, QNNRT_E_ARG, "Give one backend for a role of the model, or"
                                " leave desc.backends NULL and set desc.model.backend.");
    }
    return QNNRT_OK;
}

/* List the roles of the contexts, each once. */
static qnnrt_result qnnrt_manifest__list_roles(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    size_t i;
    for (i = 0; i < to->info.context_count; ++i) {
        if (qnnrt_manifest__part_of(to, to->contexts[i].role) < to->part_count) continue;
        if (to->part_count == QNNRT_MANIFEST__ROLES) {
            qnnrt_error_set(w->err, QNNRT_E_UNSUPPORTED, "the model has more than %d backend roles",
                            QNNRT_MANIFEST__ROLES);
            return qnnrt_error_hint(w->err, QNNRT_E_UNSUPPORTED,
                                    "Give all contexts of a backend the same role.");
        }
        to->parts[to->part_count++].role = to->contexts[i].role;
    }
    return qnnrt_manifest__check_roles(w);
}

/* Describe the backend of a role. names: receives the libraries to try in turn, the one that the
   caller named or those of the role's name, and NULL. */
static void qnnrt_manifest__choose(const qnnrt_manifest__work *w, size_t at,
                                   qnnrt_backend_desc *desc, const char *names[3])
{
    const char *role = w->to->parts[at].role;
    const qnnrt_manifest_role *given = qnnrt_manifest__given(w->desc, role);
    const int npu = strcmp(role, "npu") == 0, cpu = strcmp(role, "cpu") == 0;
    *desc = given != NULL ? given->desc : w->desc->model.backend_desc;
    if (given == NULL && at > 0) desc->path = NULL;
    if (desc->hooks.alloc == NULL && desc->hooks.log == NULL && desc->hooks.lock == NULL)
        desc->hooks = w->to->arena.hooks;
    names[0] = desc->path != NULL ? desc->path : npu ? "libQnnHtp.so" : cpu ? "libQnnCpu.so" : NULL;
    names[1] = desc->path == NULL && cpu ? "libQnnRef.so" : NULL;
    names[2] = NULL;
}

/* Open the backend of a role. */
static qnnrt_result qnnrt_manifest__backend(qnnrt_manifest__work *w, size_t at)
{
    qnnrt_manifest__part *part = &w->to->parts[at];
    const qnnrt_manifest_role *given = qnnrt_manifest__given(w->desc, part->role);
    qnnrt_result result = QNNRT_E_LIBRARY;
    qnnrt_backend_desc desc;
    const char *names[3];
    size_t i;
    part->backend = given != NULL ? given->backend : at == 0 ? w->desc->model.backend : NULL;
    if (part->backend != NULL) return QNNRT_OK;
    qnnrt_manifest__choose(w, at, &desc, names);
    qnnrt_error_set(w->err, result, "no library serves the backend role \"%.200s\"", part->role);
    if (names[0] == NULL)
        qnnrt_error_add(w->err, ": only \"npu\" and \"cpu\" have one by their name");
    for (i = 0; names[i] != NULL && result == QNNRT_E_LIBRARY; ++i) {
        desc.path = names[i];
        result = qnnrt_backend_open(&desc, &part->backend, &w->tried);
        part->owned = result == QNNRT_OK;
        if (result == QNNRT_OK && i > 0)
            qnnrt_log(&w->to->arena.hooks, QNNRT_LOG_WARN, "manifest", 0,
                      "%s serves the backend role \"%s\", because %s cannot be opened",
                      qnnrt_backend_get_info(part->backend)->path, part->role, names[0]);
        if (result == QNNRT_E_LIBRARY) qnnrt_error_add(w->err, "\n  %s", w->tried.text);
    }
    if (result == QNNRT_OK) return qnnrt_error_clear(w->err);
    if (result == QNNRT_E_LIBRARY && (names[0] == NULL || names[1] != NULL))
        return qnnrt_error_hint(w->err, result, "Name the library of this role in desc.backends.");
    *w->err = w->tried;                 /* one was tried, and its error says more */
    return qnnrt_error_about(w->err, result, "backend role \"%.200s\": ", part->role);
}

/* What desc.model.progress of one of several models needs. */
typedef struct qnnrt_manifest__progress {
    const qnnrt_desc *desc;
    size_t            before, count;
} qnnrt_manifest__progress;

static int qnnrt_manifest__progressed(void *user, size_t done, size_t count, const char *file)
{
    const qnnrt_manifest__progress *p = (const qnnrt_manifest__progress *)user;
    if (file[0] == '\0' && p->before + count < p->count) return 1;      /* others follow */
    return p->desc->progress(p->desc->progress_user, p->before + done, p->count, file);
}

/* Open a model with the first library that reads its binaries. Of several roles, one takes what
   comes with its backend before model.system_path: libraries of several makers may share a folder.
   To inspect, that is the library that the caller named or, without model.system_path, that would
   serve the role "cpu". */
static qnnrt_result qnnrt_manifest__open_with(qnnrt_manifest__work *w, size_t at, qnnrt_desc *desc)
{
    const char *names[3], *tries[4];
    size_t count = 0, i = 0;
    qnnrt_result result;
    qnnrt_manifest__choose(w, at, &desc->backend_desc, names);
    if (desc->system_path == NULL ||
        (w->to->part_count > 1 && (!desc->inspect || desc->backend_desc.path != NULL))) {
        for (; names[i] != NULL && desc->inspect &&
               (desc->backend_desc.path != NULL || names[1] != NULL); ++i)
            tries[count++] = names[i];
        tries[count++] = NULL;
    }
    if (desc->system_path != NULL) tries[count++] = desc->system_path;
    i = 0;
    do {
        desc->system_path = tries[i];
        result = qnnrt_open(NULL, desc, &w->to->parts[at].model, w->err);
    } while (result == QNNRT_E_LIBRARY && ++i < count);
    return result;
}

/* Open the model of a role. */
static qnnrt_result qnnrt_manifest__model(qnnrt_manifest__work *w, size_t at)
{
    qnnrt_manifest *to = w->to;
    const size_t count = to->info.context_count;
    qnnrt_manifest__progress progress;
    qnnrt_desc desc = w->desc->model;
    qnnrt_file *files = (qnnrt_file *)qnnrt_arena_get(&to->arena, count, sizeof *files);
    qnnrt_result result;
    size_t i;
    if (files == NULL) return qnnrt_manifest__no_memory(w);
    desc.files = files;
    desc.file_count = 0;
    desc.backend = to->parts[at].backend;
    for (i = 0; i < count; ++i) {
        if (to->contexts[i].role != to->parts[at].role) continue;
        to->contexts[i].context = desc.file_count;
        files[desc.file_count++] = w->files[i];
    }
    if (w->desc->sha256 != NULL) {
        desc.check = qnnrt_manifest__hash;
        desc.check_user = to;
    }
    progress.desc = &w->desc->model;
    progress.before = w->done;
    progress.count = count;
    if (desc.progress != NULL) {
        desc.progress = qnnrt_manifest__progressed;
        desc.progress_user = &progress;
    }
    result = qnnrt_manifest__open_with(w, at, &desc);
    if (result != QNNRT_OK) return result;
    w->done += desc.file_count;
    to->models[to->info.model_count++] = to->parts[at].model;
    return QNNRT_OK;
}

/* With keep_going, keep the error as that of a context. Else return it. */
static qnnrt_result qnnrt_manifest__forgive(qnnrt_manifest__work *w, size_t at)
{
    qnnrt_error *kept;
    if (!w->desc->model.keep_going || w->err->code == QNNRT_E_MEMORY) return w->err->code;
    kept = (qnnrt_error *)qnnrt_arena_get(&w->to->arena, 1, sizeof *kept);
    if (kept == NULL) return qnnrt_manifest__no_memory(w);
    *kept = *w->err;
    w->to->contexts[at].failure = w->to->facts[at].failure = kept;
    qnnrt_log(&w->to->arena.hooks, QNNRT_LOG_ERROR, "manifest", 0, "%s did not load: %s",
              w->to->contexts[at].file, kept->text);
    return QNNRT_OK;
}

/* Take the facts of a context that loaded, and compare it with what the program expects. */
static qnnrt_result qnnrt_manifest__compare(qnnrt_manifest__work *w, size_t at, qnnrt *model)
{
    qnnrt_manifest_context *context = &w->to->contexts[at];
    const qnnrt_context_info *info = &qnnrt_get_info(model)->contexts[context->context];
    context->model = model;
    context->failure = info->failure;
    context->info = info;
    if (info->file_bytes == 0) context->file = info->file;      /* that of the JSON alone */
    if (context->fingerprint == 0 || info->file_bytes == 0 || info->failure != NULL ||
        context->fingerprint == info->fingerprint ||
        (w->desc->sha256 != NULL && context->sha256 != NULL))    /* all bytes were compared */
        return QNNRT_OK;
    qnnrt_error_set(w->err, QNNRT_E_MISMATCH, "%s has the fingerprint %016llx, but qnnrt.json"
                    " expects %016llx", context->file, (unsigned long long)info->fingerprint,
                    (unsigned long long)context->fingerprint);
    qnnrt_error_hint(w->err, QNNRT_E_MISMATCH, "Take the file and qnnrt.json from one build.");
    return qnnrt_manifest__forgive(w, at);
}

/* Open the backend and the model of each role. With keep_going, a role that fails while others do
   not is kept in its contexts. */
static qnnrt_result qnnrt_manifest__open_roles(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    qnnrt_result result = qnnrt_manifest__list_roles(w), one;
    size_t i, k, loaded = 0;
    if (result != QNNRT_OK) return result;
    for (i = 0; i < to->part_count; ++i) {
        one = w->desc->model.inspect ? QNNRT_OK : qnnrt_manifest__backend(w, i);
        if (one == QNNRT_OK) one = qnnrt_manifest__model(w, i);
        if (one == QNNRT_E_CANCELLED || one == QNNRT_E_ARG) return one;
        for (k = 0; k < to->info.context_count; ++k) {
            if (to->contexts[k].role != to->parts[i].role) continue;
            result = one == QNNRT_OK ? qnnrt_manifest__compare(w, k, to->parts[i].model)
                                     : qnnrt_manifest__forgive(w, k);
            if (result != QNNRT_OK) return result;
            loaded += to->contexts[k].failure == NULL;
        }
    }
    if (loaded > 0 || to->part_count == 0) return qnnrt_error_clear(w->err);
    *w->err = *to->contexts[0].failure;
    return w->err->code;
}

/* =====================================================================================
   KEEP                                                                             >>keep
   The two host steps of a pipeline with states: the first gives a run their first values, the last
   sets the next ones. All lie in one buffer, behind a mark that says that they have begun.
   Needs: >>objects >>files     Knows nothing of: the text of the program, backends
   ===================================================================================== */

enum {
    QNNRT_MANIFEST__MARK  = 8, QNNRT_MANIFEST__ALIGN = 64,
    QNNRT_MANIFEST__HOLE  = 448         /* before each value: plans without places have none */
};

static const char qnnrt_manifest__mark[QNNRT_MANIFEST__MARK + 1] = "qnnrt:on";
static const char qnnrt_manifest__mark_name[] = "states";

/* Return the name that .safetensors files have for the elements of a type, or NULL. */
static const char *qnnrt_manifest__stored(qnnrt_dtype dtype)
{
    static const struct { qnnrt_dtype dtype; const char *name; } names[] = {
        { QNNRT_DTYPE_F32, "F32" }, { QNNRT_DTYPE_F16, "F16" }, { QNNRT_DTYPE_BF16, "BF16" },
        { QNNRT_DTYPE_F64, "F64" }, { QNNRT_DTYPE_BOOL8, "BOOL" },
        { QNNRT_DTYPE_I8, "I8" }, { QNNRT_DTYPE_I16, "I16" }, { QNNRT_DTYPE_I32, "I32" },
        { QNNRT_DTYPE_I64, "I64" }, { QNNRT_DTYPE_U8, "U8" }, { QNNRT_DTYPE_U16, "U16" },
        { QNNRT_DTYPE_U32, "U32" }, { QNNRT_DTYPE_U64, "U64" },
        { QNNRT_DTYPE_S8Q, "I8" }, { QNNRT_DTYPE_S16Q, "I16" }, { QNNRT_DTYPE_S32Q, "I32" },
        { QNNRT_DTYPE_U8Q, "U8" }, { QNNRT_DTYPE_U16Q, "U16" }, { QNNRT_DTYPE_U32Q, "U32" }
    };
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (names[i].dtype == dtype) return names[i].name;
    return NULL;
}

/* The states of a pipeline: `user` of its two host steps. */
typedef struct qnnrt_manifest__states {
    qnnrt_manifest_state *list;
    size_t                count;
    qnnrt_tensor_info    *tensors;      /* [2 * count + 1] the mark, values, next values */
    uint64_t             *offsets;      /* [count + 1] of mark and values in the buffer */
    uint64_t              bytes;        /* of the buffer */
    qnnrt_host_step       first, last;
    const qnnrt_slot    **slots;        /* [count + 1] of mark and values, of the pipeline */
} qnnrt_manifest__states;

/* Give the states whose mark is at `at` their first values. */
static void qnnrt_manifest__first(const qnnrt_manifest__states *s, unsigned char *at)
{
    size_t i;
    for (i = 0; i < s->count; ++i) {
        unsigned char *value = at + s->offsets[i + 1];
        const size_t bytes = (size_t)s->list[i].tensor->bytes;
        if (s->list[i].constant != NULL) memcpy(value, s->list[i].constant, bytes);
        else memset(value, 0, bytes);
    }
    memcpy(at, qnnrt_manifest__mark, QNNRT_MANIFEST__MARK);
}

/* A plan without the places of the pipeline would lose the states. */
static int qnnrt_manifest__placed(const qnnrt_manifest__states *s, void *const *at)
{
    size_t i;
    for (i = 1; i <= s->count; ++i)
        if ((uintptr_t)at[i] - (uintptr_t)at[0] != s->offsets[i]) return 0;
    return 1;
}

/* The first step: its outputs keep their content between calls. */
static qnnrt_result qnnrt_manifest__begin(void *user, const qnnrt_graph_info *step,
                                          const void *const *inputs, void *const *outputs,
                                          qnnrt_error *err)
{
    const qnnrt_manifest__states *s = (const qnnrt_manifest__states *)user;
    (void)step; (void)inputs;
    if (!qnnrt_manifest__placed(s, outputs)) {
        qnnrt_error_set(err, QNNRT_E_STATE, "the states do not lie where the pipeline has a place"
                        " for them");
        return qnnrt_error_hint(err, QNNRT_E_STATE, "Plan with buffers and places of"
                                " qnnrt_pipeline_info, and bind no state.");
    }
    if (memcmp(outputs[0], qnnrt_manifest__mark, QNNRT_MANIFEST__MARK) != 0)
        qnnrt_manifest__first(s, (unsigned char *)outputs[0]);
    return QNNRT_OK;
}

/* The last step. Its inputs are the mark, the values, which it sets, and the next values. */
static qnnrt_result qnnrt_manifest__next(void *user, const qnnrt_graph_info *step,
                                         const void *const *inputs, void *const *outputs,
                                         qnnrt_error *err)
{
    const qnnrt_manifest__states *s = (const qnnrt_manifest__states *)user;
    size_t i;
    (void)step; (void)outputs; (void)err;
    for (i = 1; i <= s->count; ++i)
        memcpy((void *)(uintptr_t)inputs[i], inputs[s->count + i],
               (size_t)s->list[i - 1].tensor->bytes);
    return QNNRT_OK;
}

/* Find a tensor of a step whose model is set, or return NULL. */
static const qnnrt_tensor_info *qnnrt_manifest__tensor_of(const qnnrt_pipeline_desc *p,
                                                          const qnnrt_manifest_end *end, int output)
{
    const qnnrt_step_desc *step = end->step < p->step_count ? &p->steps[end->step] : NULL;
    const qnnrt_tensor_info *list = NULL;
    size_t count = 0, i = 0;
    if (step != NULL && step->host != NULL) {
        list = output ? step->host->outputs : step->host->inputs;
        count = output ? step->host->output_count : step->host->input_count;
    } else if (step != NULL) {
        const qnnrt_context_info *context = &qnnrt_get_info(step->model)->contexts[step->context];
        while (i < context->graph_count && strcmp(context->graphs[i].name, step->graph) != 0) ++i;
        if (i < context->graph_count) {
            const qnnrt_graph_info *graph = &context->graphs[i];
            list = output ? graph->outputs : graph->inputs;
            count = output ? graph->output_count : graph->input_count;
        }
    }
    for (i = 0; i < count && strcmp(list[i].name, end->tensor) != 0;) ++i;
    return i < count ? &list[i] : NULL;
}

/* Check that a tensor of a state is like its next value. */
static qnnrt_result qnnrt_manifest__like(qnnrt_manifest__work *w, const qnnrt_manifest_state *state,
                                         const qnnrt_tensor_info *to, const char *what,
                                         const char *name, size_t step)
{
    const qnnrt_tensor_info *from = state->tensor;
    char facts[2][256];
    if (from->dtype == to->dtype && from->rank == to->rank &&
        (from->rank == 0 || memcmp(from->dims, to->dims, from->rank * sizeof *to->dims) == 0))
        return QNNRT_OK;
    qnnrt_error_set(w->err, QNNRT_E_MISMATCH, "state \"%.160s\": its next value \"%.160s\" of step"
                    " %lu is %s, but its %s \"%.160s\"", state->name, state->from.tensor,
                    (unsigned long)state->from.step,
                    qnnrt_tensor_text(from, facts[0], sizeof facts[0]), what, name);
    if (step != SIZE_MAX) qnnrt_error_add(w->err, " of step %lu", (unsigned long)step);
    qnnrt_error_add(w->err, " is %s", qnnrt_tensor_text(to, facts[1], sizeof facts[1]));
    return QNNRT_E_MISMATCH;
}

/* Complete a state: find its tensors and its first value. tensor: receives what it is. */
static qnnrt_result qnnrt_manifest__complete(qnnrt_manifest__work *w, const qnnrt_pipeline_desc *p,
                                             qnnrt_manifest_state *state, qnnrt_tensor_info *tensor)
{
    const qnnrt_tensor_info *found = qnnrt_manifest__tensor_of(p, &state->from, 1);
    const qnnrt_manifest_end *missing = found == NULL ? &state->from : NULL;
    const qnnrt_manifest_constant *constant = NULL;
    qnnrt_result result = QNNRT_OK;
    char facts[256];
    size_t i;
    if (found != NULL) {
        *tensor = *found;
        tensor->name = state->name;
        tensor->dynamic_dims = NULL;
        tensor->optional = 0;
        state->tensor = tensor;
        if (qnnrt_manifest__stored(tensor->dtype) == NULL || !qnnrt_manifest__size(tensor) ||
            strcmp(state->name, "__metadata__") == 0)
            return qnnrt_error_set(w->err, QNNRT_E_UNSUPPORTED, "a .safetensors file cannot have"
                                   " state \"%.200s\" (%s)", state->name,
                                   qnnrt_tensor_text(tensor, facts, sizeof facts));
    }
    for (i = 0; i < state->to_count && missing == NULL && result == QNNRT_OK; ++i) {
        const qnnrt_manifest_end *to = &state->to[i];
        found = qnnrt_manifest__tensor_of(p, to, 0);
        if (found == NULL) missing = to;
        else result = qnnrt_manifest__like(w, state, found, "input", to->tensor, to->step);
    }
    if (missing != NULL)
        return qnnrt_error_set(w->err, QNNRT_E_NOT_FOUND, "state \"%.200s\": step %lu has no %s"
                               " \"%.200s\"", state->name, (unsigned long)missing->step,
                               missing == &state->from ? "output" : "input", missing->tensor);
    if (result != QNNRT_OK || state->constant == NULL) return result;
    result = qnnrt_manifest__find_constant(w, (const char *)state->constant, &constant);
    if (result != QNNRT_OK)
        return qnnrt_error_about(w->err, result, "state \"%.160s\": ", state->name);
    state->constant = constant->data;
    return qnnrt_manifest__like(w, state, &constant->tensor, "constant", constant->tensor.name,
                                SIZE_MAX);
}

/* Describe mark, values and next values, and where the buffer has them. */
static qnnrt_result qnnrt_manifest__lay(qnnrt_manifest__work *w, const qnnrt_pipeline_desc *p,
                                        qnnrt_manifest__states *s)
{
    static const uint32_t mark_dims[1] = { QNNRT_MANIFEST__MARK };
    static const char *const kinds[2] = { "state", "next" };
    qnnrt_result result = QNNRT_OK;
    size_t i, k;
    s->tensors[0].name = qnnrt_manifest__mark_name;
    s->tensors[0].dtype = QNNRT_DTYPE_U8;
    s->tensors[0].rank = 1;
    s->tensors[0].dims = mark_dims;
    s->bytes = QNNRT_MANIFEST__ALIGN;
    for (i = 0; i < s->count && result == QNNRT_OK; ++i) {
        qnnrt_manifest_state *state = &s->list[i];
        qnnrt_tensor_info *what = (qnnrt_tensor_info *)qnnrt_arena_get(&w->to->arena, 1,
                                                                       sizeof *what);
        if (what == NULL) return qnnrt_manifest__no_memory(w);
        result = qnnrt_manifest__complete(w, p, state, what);
        if (result != QNNRT_OK) return result;
        s->offsets[i + 1] = s->bytes += QNNRT_MANIFEST__HOLE;
        s->bytes += (what->bytes + QNNRT_MANIFEST__ALIGN - 1) / QNNRT_MANIFEST__ALIGN *
                    QNNRT_MANIFEST__ALIGN;
        if (s->bytes > SIZE_MAX / 4)
            return qnnrt_error_set(w->err, QNNRT_E_LIMIT, "the states exceed the address space");
        for (k = 0; k < 2; ++k) {
            const size_t room = strlen(state->name) + 8;
            char *name = (char *)qnnrt_arena_get(&w->to->arena, room, 1);
            if (name == NULL) return qnnrt_manifest__no_memory(w);
            snprintf(name, room, "%s:%s", kinds[k], state->name);
            s->tensors[1 + k * s->count + i] = *what;
            s->tensors[1 + k * s->count + i].name = name;
        }
    }
    return result;
}

/* Describe the two host steps. */
static void qnnrt_manifest__two_steps(qnnrt_manifest__states *s)
{
    s->first.name = "states begin";
    s->first.outputs = s->tensors;
    s->first.output_count = s->count + 1;
    s->first.exec = qnnrt_manifest__begin;
    s->last.name = "states keep";
    s->last.inputs = s->tensors;
    s->last.input_count = 2 * s->count + 1;
    s->last.exec = qnnrt_manifest__next;
    s->first.user = s->last.user = s;
}

/* Number the steps of a pipeline after the first one, and add the edges and places of its states.
   Arrays have room for them. */
static void qnnrt_manifest__wire(const qnnrt_manifest__states *s, qnnrt_pipeline_desc *p,
                                 qnnrt_step_desc *steps, qnnrt_edge_desc *edges,
                                 qnnrt_use_desc *uses)
{
    const size_t last = p->step_count + 1;
    qnnrt_edge_desc *edge = edges + p->edge_count;
    size_t i, k;
    steps[0].host = &s->first;
    memcpy(steps + 1, p->steps, p->step_count * sizeof *steps);
    steps[last].host = &s->last;
    for (i = 0; i < p->edge_count; ++i) {
        edges[i] = p->edges[i];
        ++edges[i].from_step;
        ++edges[i].to_step;
    }
    for (i = 0; i < p->use_count; ++i) {
        uses[i] = p->uses[i];
        ++uses[i].step;
    }
    for (i = 0; i <= s->count; ++i, ++edge) {       /* mark and values, to the last step */
        edge->from = edge->to = s->tensors[i].name;
        edge->to_step = last;
        uses[p->use_count].tensor = s->tensors[i].name;
        uses[p->use_count].output = uses[p->use_count].in_buffer = 1;
        uses[p->use_count].buffer = p->buffer_count;
        uses[p->use_count++].offset = s->offsets[i];
    }
    for (i = 0; i < s->count; ++i) {
        const qnnrt_manifest_state *state = &s->list[i];
        edge->from_step = state->from.step + 1;
        edge->from = state->from.tensor;
        edge->to_step = last;
        edge++->to = s->tensors[1 + s->count + i].name;
        for (k = 0; k < state->to_count; ++k, ++edge) {
            edge->from = s->tensors[1 + i].name;
            edge->to_step = state->to[k].step + 1;
            edge->to = state->to[k].tensor;
        }
    }
    p->steps = steps;
    p->step_count += 2;
    p->edges = edges;
    p->edge_count = (size_t)(edge - edges);
    p->uses = uses;
}

/* Add the steps, edges and places of the states of a pipeline to its description, which describe()
   has completed. *out receives the states, NULL without any. */
static qnnrt_result qnnrt_manifest__keep(qnnrt_manifest__work *w, qnnrt_manifest_pipeline *from,
                                         qnnrt_manifest__states **out)
{
    qnnrt_arena *arena = &w->to->arena;
    qnnrt_pipeline_desc *p = &from->desc;
    const size_t count = from->state_count;
    size_t edges = p->edge_count + 2 * count + 1, i;
    qnnrt_manifest__states *s;
    qnnrt_conversion *conversions;
    qnnrt_buffer_desc *buffers;
    qnnrt_step_desc *steps;
    qnnrt_edge_desc *wired;
    qnnrt_use_desc *uses;
    qnnrt_result result;
    *out = NULL;
    if (count == 0) return QNNRT_OK;
    for (i = 0; i < count; ++i) edges += from->states[i].to_count;
    s = (qnnrt_manifest__states *)qnnrt_arena_get(arena, 1, sizeof *s);
    conversions = (qnnrt_conversion *)qnnrt_arena_get(arena, edges, sizeof *conversions);
    buffers = (qnnrt_buffer_desc *)qnnrt_arena_get(arena, p->buffer_count + 1, sizeof *buffers);
    steps = (qnnrt_step_desc *)qnnrt_arena_get(arena, p->step_count + 2, sizeof *steps);
    wired = (qnnrt_edge_desc *)qnnrt_arena_get(arena, edges, sizeof *wired);
    uses = (qnnrt_use_desc *)qnnrt_arena_get(arena, p->use_count + count + 1, sizeof *uses);
    if (s == NULL) return qnnrt_manifest__no_memory(w);
    s->tensors = (qnnrt_tensor_info *)qnnrt_arena_get(arena, 2 * count + 1, sizeof *s->tensors);
    s->offsets = (uint64_t *)qnnrt_arena_get(arena, count + 1, sizeof *s->offsets);
    s->slots = (const qnnrt_slot **)qnnrt_arena_get(arena, count + 1, sizeof *s->slots);
    if (arena->failed != QNNRT_OK) return qnnrt_manifest__no_memory(w);
    s->list = (qnnrt_manifest_state *)(uintptr_t)from->states;      /* ours to complete */
    s->count = count;
    result = qnnrt_manifest__lay(w, p, s);
    if (result != QNNRT_OK) return result;
    qnnrt_manifest__two_steps(s);
    if (from->conversions != NULL && p->edge_count > 0)
        memcpy(conversions, from->conversions, p->edge_count * sizeof *conversions);
    if (p->buffer_count > 0) memcpy(buffers, p->buffers, p->buffer_count * sizeof *buffers);
    buffers[p->buffer_count].name = qnnrt_manifest__mark_name;
    buffers[p->buffer_count].bytes = s->bytes;
    buffers[p->buffer_count].align = QNNRT_MANIFEST__ALIGN;
    qnnrt_manifest__wire(s, p, steps, wired, uses);
    p->buffers = buffers;
    p->buffer_count += 1;
    from->conversions = conversions;
    *out = s;
    return QNNRT_OK;
}

/* Find the slots of the states in their pipeline. */
static void qnnrt_manifest__slots(qnnrt_manifest__states *s, const qnnrt_pipeline_info *p)
{
    size_t i, k;
    for (i = 0; i < p->step_count; ++i) {
        const qnnrt_graph_info *graph = p->steps[i].graph;
        if (p->steps[i].host == NULL || p->steps[i].host->exec != qnnrt_manifest__begin) continue;
        for (k = 0; k < p->slot_count; ++k)
            if (p->slots[k].tensor >= graph->outputs &&
                p->slots[k].tensor < graph->outputs + graph->output_count)
                s->slots[p->slots[k].tensor - graph->outputs] = &p->slots[k];
    }
}

/* =====================================================================================
   MAKE                                                                             >>make
   Makes the pipelines that the program describes, with their conversions, or that names join.
   Needs: >>objects >>files >>keep     Knows nothing of: the text of the program, backends
   ===================================================================================== */

/* Stand for a function that is not given, in a program that cannot run. */
static qnnrt_result qnnrt_manifest__absent(void *user, const qnnrt_graph_info *step,
                                           const void *const *inputs, void *const *outputs,
                                           qnnrt_error *err)
{
    (void)user; (void)inputs; (void)outputs;
    return qnnrt_error_set(err, QNNRT_E_STATE, "desc.host_functions has no \"%.200s\"", step->name);
}

/* Find the function of a host step. */
static qnnrt_result qnnrt_manifest__function(const qnnrt_manifest__work *w, size_t at,
                                             qnnrt_host_step *step)
{
    const qnnrt_host_step *functions = w->desc->host_functions;
    const size_t count = w->desc->host_function_count;
    size_t i;
    for (i = 0; i < count; ++i)
        if (functions[i].name != NULL && functions[i].exec != NULL &&
            strcmp(functions[i].name, step->name) == 0) {
            step->exec = functions[i].exec;
            step->user = functions[i].user;
            return QNNRT_OK;
        }
    step->exec = qnnrt_manifest__absent;
    if (w->desc->model.inspect) return QNNRT_OK;
    qnnrt_error_set(w->err, QNNRT_E_NOT_FOUND, "step %lu: desc.host_functions has no \"%.160s\"\n"
                    "  it has:", (unsigned long)at, step->name);
    for (i = 0; i < count && i < 8; ++i)
        if (functions[i].name != NULL) qnnrt_error_add(w->err, " \"%.80s\"", functions[i].name);
    if (count == 0) qnnrt_error_add(w->err, " nothing");
    if (count > 8) qnnrt_error_add(w->err, " and %lu more", (unsigned long)(count - 8));
    return qnnrt_error_hint(w->err, QNNRT_E_NOT_FOUND,
                            "Give the function of this name in desc.host_functions.");
}

/* Complete the description of a pipeline with models, functions and values. *lacks: receives 1 if a
   context of it did not load. */
static qnnrt_result qnnrt_manifest__describe(qnnrt_manifest__work *w, const qnnrt_pipeline_desc *p,
                                             int *lacks)
{
    qnnrt_step_desc *steps = (qnnrt_step_desc *)(uintptr_t)p->steps;      /* ours to complete */
    qnnrt_use_desc *uses = (qnnrt_use_desc *)(uintptr_t)p->uses;
    const size_t contexts = w->to->info.context_count;
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < p->step_count; ++i) {
        const qnnrt_manifest_context *context;
        if (steps[i].host != NULL && result == QNNRT_OK)
            result = qnnrt_manifest__function(w, i, (qnnrt_host_step *)(uintptr_t)steps[i].host);
        if (steps[i].host != NULL) continue;
        if (steps[i].context >= contexts)
            return qnnrt_error_set(w->err, QNNRT_E_FORMAT, "step %lu: \"context\" is %lu, but the"
                                   " program has %lu contexts", (unsigned long)i,
                                   (unsigned long)steps[i].context, (unsigned long)contexts);
        context = &w->to->contexts[steps[i].context];
        *lacks |= context->failure != NULL;
        steps[i].model = context->model;
        steps[i].context = context->context;
    }
    for (i = 0; i < p->use_count && result == QNNRT_OK; ++i) {
        const qnnrt_manifest_constant *found = NULL;
        if (uses[i].constant == NULL) continue;
        result = qnnrt_manifest__find_constant(w, (const char *)uses[i].constant, &found);
        if (result != QNNRT_OK)
            return qnnrt_error_about(w->err, result, "input \"%.160s\" of step %lu: ",
                                     uses[i].tensor, (unsigned long)uses[i].step);
        uses[i].constant = found->data;
        uses[i].constant_bytes = (size_t)found->tensor.bytes;
    }
    return result;
}

/* Check that the constants of a pipeline are what their inputs are. */
static qnnrt_result qnnrt_manifest__fits(qnnrt_manifest__work *w, const qnnrt_pipeline_info *p)
{
    char facts[2][256];
    size_t i, k;
    for (i = 0; i < p->slot_count; ++i) {
        const qnnrt_tensor_info *to = p->slots[i].tensor, *from = NULL;
        if (p->slots[i].role != QNNRT_ROLE_CONSTANT) continue;
        for (k = 0; k < w->program.constant_count; ++k) {
            if (w->program.constants[k].data != p->slots[i].constant) continue;
            from = &w->program.constants[k].tensor;
            if (from->dtype == to->dtype && from->rank == to->rank &&
                (from->rank == 0 ||
                 memcmp(from->dims, to->dims, from->rank * sizeof *to->dims) == 0)) break;
        }
        if (k < w->program.constant_count || from == NULL) continue;
        return qnnrt_error_set(w->err, QNNRT_E_MISMATCH, "constant \"%.160s\" is %s, but input"
                               " \"%.160s\" of step %lu is %s", from->name,
                               qnnrt_tensor_text(from, facts[0], sizeof facts[0]), to->name,
                               (unsigned long)p->slots[i].first,
                               qnnrt_tensor_text(to, facts[1], sizeof facts[1]));
    }
    return QNNRT_OK;
}

/* Make a pipeline of the program, whose description is completed. */
static qnnrt_result qnnrt_manifest__make_one(qnnrt_manifest__work *w, qnnrt_manifest_pipeline *from)
{
    qnnrt_manifest *to = w->to;
    const size_t at = to->info.pipeline_count;
    qnnrt_manifest__states *states = NULL;
    int lacks = 0;
    qnnrt_result result = qnnrt_manifest__describe(w, &from->desc, &lacks);
    if (lacks) {
        qnnrt_log(&w->to->arena.hooks, QNNRT_LOG_WARN, "manifest", 0,
                  "pipeline \"%.200s\" is left out: a file of it did not load", from->desc.name);
        return qnnrt_error_clear(w->err);
    }
    from->desc.hooks = &to->arena.hooks;
    if (result == QNNRT_OK) result = qnnrt_manifest__keep(w, from, &states);
    if (result == QNNRT_OK)
        result = qnnrt_conversions_create(&from->desc, from->conversions, &to->arena.hooks,
                                          &to->conversions[at], w->err);
    if (result == QNNRT_OK)
        result = qnnrt_pipeline_make(qnnrt_conversions_desc(to->conversions[at]), &to->made[at],
                                     w->err);
    if (result == QNNRT_OK) {
        ++to->info.pipeline_count;
        result = qnnrt_manifest__fits(w, qnnrt_pipeline_get_info(to->made[at]));
        if (states != NULL) qnnrt_manifest__slots(states, qnnrt_pipeline_get_info(to->made[at]));
    } else {
        qnnrt_conversions_free(to->conversions[at]);
    }
    if (result == QNNRT_OK || result == QNNRT_E_MEMORY) return result;
    if (w->joined) {
        qnnrt_log(&w->to->arena.hooks, QNNRT_LOG_WARN, "manifest", 0, "\"%.200s\" is not wired: %s",
                  from->desc.name, w->err->text);
        return qnnrt_error_clear(w->err);
    }
    if (result == QNNRT_E_ARG) result = QNNRT_E_FORMAT;     /* it is a mistake of the file */
    w->err->code = result;
    return qnnrt_error_about(w->err, result, "qnnrt.json: pipeline \"%.200s\": ", from->desc.name);
}

enum { QNNRT_MANIFEST__LOOKS = 1 << 24 };      /* comparisons of names */

/* Return 1 if a context has a graph. */
static int qnnrt_manifest__has_graph(const qnnrt_manifest *to, size_t context, const char *name)
{
    const qnnrt_context_info *info = to->contexts[context].info;
    size_t i = 0;
    while (i < info->graph_count && strcmp(info->graphs[i].name, name) != 0) ++i;
    return i < info->graph_count;
}

/* Describe the pipelines of a program of several roles that has none: the graphs of a name, in the
   order of the contexts or, if no two have one name and each context has one graph, all of them. */
static qnnrt_result qnnrt_manifest__join(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    const size_t contexts = to->info.context_count;
    size_t i, g, k, graphs = 0, single = 0;
    qnnrt_manifest_pipeline *p;
    qnnrt_step_desc *steps;
    for (i = 0; i < contexts; ++i) {
        if (to->contexts[i].failure != NULL) return QNNRT_OK;      /* a part must not look whole */
        graphs += to->contexts[i].info->graph_count;
        single += to->contexts[i].info->graph_count == 1;
    }
    if (graphs * graphs > QNNRT_MANIFEST__LOOKS)
        return qnnrt_error_set(w->err, QNNRT_E_LIMIT, "%lu graphs in %lu contexts: too many to look"
                               " for pipelines", (unsigned long)graphs, (unsigned long)contexts);
    w->joined = 1;
    p = (qnnrt_manifest_pipeline *)qnnrt_arena_get(&to->arena, graphs, sizeof *p);
    w->program.pipelines = p;
    for (i = 0; i < contexts; ++i)
        for (g = 0; p != NULL && g < to->contexts[i].info->graph_count; ++g) {
            const char *name = to->contexts[i].info->graphs[g].name;
            for (k = 0; k < i && !qnnrt_manifest__has_graph(to, k, name);) ++k;
            if (k < i) continue;                                    /* it was joined there */
            steps = (qnnrt_step_desc *)qnnrt_arena_get(&to->arena, contexts, sizeof *steps);
            if (steps == NULL) return qnnrt_manifest__no_memory(w);
            p->desc.name = name;
            p->desc.steps = steps;
            for (; k < contexts; ++k) {
                if (!qnnrt_manifest__has_graph(to, k, name)) continue;
                steps[p->desc.step_count].context = k;
                steps[p->desc.step_count++].graph = name;
            }
            ++p;
        }
    w->program.pipeline_count = p != NULL ? (size_t)(p - w->program.pipelines) : 0;
    if (p == NULL) return qnnrt_manifest__no_memory(w);
    if (single < contexts || graphs > w->program.pipeline_count) return QNNRT_OK;
    steps = (qnnrt_step_desc *)(uintptr_t)w->program.pipelines->desc.steps;
    for (k = 0; k < contexts; ++k) {
        steps[k].context = k;
        steps[k].graph = to->contexts[k].info->graphs[0].name;
    }
    w->program.pipelines->desc.step_count = contexts;
    w->program.pipeline_count = 1;
    return QNNRT_OK;
}

/* Make the pipelines, and list them. */
static qnnrt_result qnnrt_manifest__make(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    const qnnrt_info *first = qnnrt_get_info(to->models[0]);
    qnnrt_result result = QNNRT_OK;
    size_t i;
    to->info.models = to->models;
    to->info.system_path = first != NULL ? first->system_path : "";
    to->info.backend = first != NULL ? first->backend : NULL;
    if (w->program.pipelines == NULL && to->part_count == 1) {
        to->info.pipelines = first->pipelines;
        to->info.pipeline_count = first->pipeline_count;
        return QNNRT_OK;
    }
    if (w->program.pipelines == NULL) result = qnnrt_manifest__join(w);
    if (result != QNNRT_OK) return result;
    to->made = (qnnrt_pipeline **)qnnrt_arena_get(&to->arena, w->program.pipeline_count,
                                                  sizeof *to->made);
    to->conversions = (qnnrt_conversions **)qnnrt_arena_get(
        &to->arena, w->program.pipeline_count, sizeof *to->conversions);
    if (to->made == NULL || to->conversions == NULL) return qnnrt_manifest__no_memory(w);
    to->info.pipelines = (const qnnrt_pipeline *const *)to->made;
    for (i = 0; i < w->program.pipeline_count && result == QNNRT_OK; ++i)
        result = qnnrt_manifest__make_one(w, &w->program.pipelines[i]);
    return result;
}

/* =====================================================================================
   SAVED                                                                           >>saved
   The states of a run: their values, and files of them.
   Needs: >>keep, qnnrt_json.h     Knows nothing of: the text of the program, backends
   ===================================================================================== */

/* Return the states of a pipeline, NULL if it has none. */
static const qnnrt_manifest__states *qnnrt_manifest__states_of(const qnnrt_pipeline *pipeline)
{
    const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(pipeline);
    size_t i;
    for (i = 0; p != NULL && i < p->step_count; ++i)
        if (p->steps[i].host != NULL && p->steps[i].host->exec == qnnrt_manifest__begin)
            return (const qnnrt_manifest__states *)p->steps[i].host->user;
    return NULL;
}

QNNRT_MANIFEST_API const qnnrt_manifest_state *qnnrt_manifest_states(const qnnrt_pipeline *pipeline,
                                                                     size_t *count)
{
    const qnnrt_manifest__states *s = qnnrt_manifest__states_of(pipeline);
    if (count != NULL) *count = s != NULL ? s->count : 0;
    return s != NULL ? s->list : NULL;
}

/* Return where the mark of a run is, and let the states have begun. NULL: they have no place. */
static unsigned char *qnnrt_manifest__base(const qnnrt_manifest__states *s, qnnrt_run *run,
                                           int again)
{
    unsigned char *base = (unsigned char *)qnnrt_data_slot(run, s->slots[0], NULL);
    size_t i;
    for (i = 1; i <= s->count && base != NULL; ++i) {
        const void *at = qnnrt_data_slot(run, s->slots[i], NULL);
        if (at == NULL || (uintptr_t)at - (uintptr_t)base != s->offsets[i]) base = NULL;
    }
    if (base != NULL && (again || memcmp(base, qnnrt_manifest__mark, QNNRT_MANIFEST__MARK) != 0))
        qnnrt_manifest__first(s, base);
    return base;
}

QNNRT_MANIFEST_API void *qnnrt_manifest_state_data(qnnrt_run *run, const char *name)
{
    const qnnrt_manifest__states *s = qnnrt_manifest__states_of(qnnrt_run_pipeline(run));
    unsigned char *base = s != NULL ? qnnrt_manifest__base(s, run, 0) : NULL;
    size_t i = 0;
    if (base == NULL || (name == NULL && s->count > 1)) return NULL;
    while (i < s->count && name != NULL && strcmp(s->list[i].name, name) != 0) ++i;
    return i < s->count ? base + s->offsets[i + 1] : NULL;
}

/* Find the states of a run for a call. *base: receives where its mark is. */
static qnnrt_result qnnrt_manifest__call(qnnrt_run *run, const char *call, int good,
                                         const qnnrt_manifest__states **s, unsigned char **base,
                                         qnnrt_error *err)
{
    qnnrt_error_clear(err);
    if (run == NULL || !good)
        return qnnrt_error_set(err, QNNRT_E_ARG, "%s: an argument is NULL", call);
    *s = qnnrt_manifest__states_of(qnnrt_run_pipeline(run));
    if (*s == NULL) {
        qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "pipeline \"%.200s\" has no states",
                        qnnrt_pipeline_get_info(qnnrt_run_pipeline(run))->name);
        return QNNRT_E_NOT_FOUND;
    }
    *base = qnnrt_manifest__base(*s, run, 0);
    return *base != NULL ? QNNRT_OK
               : qnnrt_error_set(err, QNNRT_E_STATE, "%s: the states do not lie where the pipeline"
                                 " has a place for them", call);
}

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_reset(qnnrt_run *run, qnnrt_error *err)
{
    const qnnrt_manifest__states *s = NULL;
    unsigned char *base;
    const qnnrt_result result = qnnrt_manifest__call(run, "qnnrt_manifest_reset", 1, &s, &base,
                                                     err);
    if (result == QNNRT_E_NOT_FOUND) return qnnrt_error_clear(err);
    if (result == QNNRT_OK) qnnrt_manifest__first(s, base);
    return result;
}

/* ---- files ---- */

/* What receives the file, or only counts its bytes. */
typedef struct qnnrt_manifest__sink {
    int    (*write)(void *user, const char *data, size_t bytes);
    void    *user;
    uint64_t bytes;
} qnnrt_manifest__sink;

static int qnnrt_manifest__sunk(void *user, const char *data, size_t bytes)
{
    qnnrt_manifest__sink *sink = (qnnrt_manifest__sink *)user;
    sink->bytes += bytes;
    return sink->write == NULL || sink->write(sink->user, data, bytes);
}

/* Write the header of the file. */
static int qnnrt_manifest__header(const qnnrt_manifest__states *s, qnnrt_manifest__sink *sink)
{
    qnnrt_json_writer json;
    uint64_t at = 0;
    size_t i;
    uint32_t k;
    qnnrt_json_write_begin(&json, qnnrt_manifest__sunk, sink, 0);
    qnnrt_json_write_object(&json, 1);
    qnnrt_json_write_key(&json, "__metadata__");
    qnnrt_json_write_object(&json, 1);
    qnnrt_json_write_key(&json, "format");
    qnnrt_json_write_string(&json, "qnnrt.states");
    qnnrt_json_write_close(&json);
    for (i = 0; i < s->count; ++i) {
        const qnnrt_tensor_info *tensor = s->list[i].tensor;
        qnnrt_json_write_key(&json, s->list[i].name);
        qnnrt_json_write_object(&json, 1);
        qnnrt_json_write_key(&json, "dtype");
        qnnrt_json_write_string(&json, qnnrt_manifest__stored(tensor->dtype));
        qnnrt_json_write_key(&json, "shape");
        qnnrt_json_write_array(&json, 1);
        for (k = 0; k < tensor->rank; ++k) qnnrt_json_write_u64(&json, tensor->dims[k]);
        qnnrt_json_write_close(&json);
        qnnrt_json_write_key(&json, "data_offsets");
        qnnrt_json_write_array(&json, 1);
        qnnrt_json_write_u64(&json, at);
        qnnrt_json_write_u64(&json, at += tensor->bytes);
        qnnrt_json_write_close(&json);
        qnnrt_json_write_close(&json);
    }
    qnnrt_json_write_close(&json);
    return qnnrt_json_write_end(&json);
}

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_save(qnnrt_run *run,
                                                    int (*write)(void *user, const char *data,
                                                                 size_t bytes),
                                                    void *user, qnnrt_error *err)
{
    const qnnrt_manifest__states *s = NULL;
    qnnrt_manifest__sink sink;
    unsigned char *base;
    char length[8];
    uint64_t pad, i;
    int good;
    qnnrt_result result = qnnrt_manifest__call(run, "qnnrt_manifest_save", write != NULL, &s, &base,
                                               err);
    if (result != QNNRT_OK) return result;
    memset(&sink, 0, sizeof sink);
    good = qnnrt_manifest__header(s, &sink);
    pad = (8 - sink.bytes % 8) % 8;
    for (i = 0; i < 8; ++i) length[i] = (char)((sink.bytes + pad) >> (8 * i) & 255);
    sink.write = write;
    sink.user = user;
    good = good && write(user, length, 8) && qnnrt_manifest__header(s, &sink) &&
           (pad == 0 || write(user, "       ", (size_t)pad));
    for (i = 0; i < s->count && good; ++i)
        good = write(user, (const char *)base + s->offsets[i + 1],
                     (size_t)s->list[i].tensor->bytes);
    return good ? QNNRT_OK
                : qnnrt_error_set(err, QNNRT_E_IO, "cannot write the states: `write` did not"
                                  " accept them");
}

/* A file of states that is read. */
typedef struct qnnrt_manifest__file {
    const unsigned char *data;          /* behind the header */
    uint64_t             bytes;         /* of data */
    const char          *header;
    size_t               length;        /* of header */
    qnnrt_json_reader    next;          /* behind the tensor that was found last */
} qnnrt_manifest__file;

/* Begin to read the tensors of a header. */
static void qnnrt_manifest__open_header(const qnnrt_manifest__file *file, qnnrt_json_reader *r)
{
    qnnrt_json_begin(r, file->header, file->length, NULL);
    qnnrt_json_value(r);
}

/* Find a tensor of the file: next to the last one, or anywhere. Return 0 if there is none. */
static int qnnrt_manifest__find(qnnrt_manifest__file *file, const char *name)
{
    int pass;
    for (pass = 0; pass < 2; ++pass) {
        if (pass > 0) qnnrt_manifest__open_header(file, &file->next);
        for (; qnnrt_json_more(&file->next); qnnrt_json_skip(&file->next))
            if (qnnrt_json_is(&file->next.key, name)) return 1;
    }
    return 0;
}

/* Read "dtype", "shape" and "data_offsets" of the tensor that was found, and compare them with a
   state. Return where its value is; NULL: they do not fit. */
static const unsigned char *qnnrt_manifest__fitting(qnnrt_manifest__file *file,
                                                    const qnnrt_tensor_info *tensor)
{
    qnnrt_json_reader *r = &file->next;
    uint64_t number = 0, ends[2] = { 0, 0 };
    uint32_t fits = 0, count;
    if (qnnrt_json_value(r) != QNNRT_JSON_OBJECT) return NULL;
    while (qnnrt_json_more(r)) {
        if (qnnrt_json_is(&r->key, "dtype")) {
            fits |= qnnrt_json_value(r) == QNNRT_JSON_STRING &&
                    qnnrt_json_is(&r->value, qnnrt_manifest__stored(tensor->dtype));
        } else if (qnnrt_json_is(&r->key, "shape") || qnnrt_json_is(&r->key, "data_offsets")) {
            const int shape = qnnrt_json_is(&r->key, "shape");
            const uint32_t most = shape ? tensor->rank : 2;
            uint32_t same = 0;
            if (qnnrt_json_value(r) != QNNRT_JSON_ARRAY) return NULL;
            for (count = 0; qnnrt_json_more(r); ++count) {
                if (!qnnrt_json_value_u64(r, &number) || count >= most) return NULL;
                if (!shape) ends[count] = number;
                same += shape && number == tensor->dims[count];
            }
            if (count == most && (!shape || same == most)) fits |= shape ? 2 : 4;
        } else {
            qnnrt_json_skip(r);
        }
    }
    return fits == 7 && ends[1] <= file->bytes && ends[0] <= ends[1] &&
           ends[1] - ends[0] == tensor->bytes ? file->data + ends[0] : NULL;
}

/* Check that the header is JSON, and has no tensor that is not a state. */
static qnnrt_result qnnrt_manifest__known(const qnnrt_manifest__states *s,
                                          const qnnrt_manifest__file *file, qnnrt_error *err)
{
    qnnrt_json_reader r;
    size_t i, at = 0, count = 0;
    qnnrt_json_begin(&r, file->header, file->length, NULL);
    if (qnnrt_json_value(&r) == QNNRT_JSON_OBJECT)
        for (; qnnrt_json_more(&r); qnnrt_json_skip(&r)) {
            if (qnnrt_json_is(&r.key, "__metadata__")) continue;
            for (i = 0; i < s->count && !qnnrt_json_is(&r.key, s->list[at].name); ++i)
                at = at + 1 < s->count ? at + 1 : 0;
            if (i == s->count || ++count > s->count)
                return qnnrt_error_set(err, QNNRT_E_MISMATCH, "the file has a tensor \"%.*s\","
                                       " which %s", r.key.bytes < 200 ? (int)r.key.bytes : 200,
                                       r.key.text, i == s->count ? "is not a state of the pipeline"
                                                                 : "it has twice");
        }
    return r.type == QNNRT_JSON_NONE || !qnnrt_json_end(&r)
               ? qnnrt_error_set(err, QNNRT_E_FORMAT, "not a file of states: its header is not"
                                 " JSON: %s", r.error != NULL ? r.error : "it is not an object")
               : QNNRT_OK;
}

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_restore(qnnrt_run *run, const void *data,
                                                       size_t bytes, qnnrt_error *err)
{
    const qnnrt_manifest__states *s = NULL;
    const unsigned char *from = (const unsigned char *)data;
    qnnrt_manifest__file file;
    unsigned char *base;
    uint64_t length = 0;
    char facts[256];
    size_t i;
    int copy;
    qnnrt_result result = qnnrt_manifest__call(run, "qnnrt_manifest_restore", data != NULL, &s,
                                               &base, err);
    if (result != QNNRT_OK) return result;
    for (i = 0; i < 8 && bytes >= 8; ++i) length |= (uint64_t)from[i] << (8 * i);
    if (bytes < 8 || length > bytes - 8)
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "not a file of states: it has %lu bytes, and a"
                               " header of %llu", (unsigned long)bytes, (unsigned long long)length);
    file.header = (const char *)from + 8;
    file.length = (size_t)length;
    file.data = from + 8 + length;
    file.bytes = bytes - 8 - length;
    result = qnnrt_manifest__known(s, &file, err);
    if (result != QNNRT_OK) return result;
    for (copy = 0; copy < 2; ++copy) {
        qnnrt_manifest__open_header(&file, &file.next);
        for (i = 0; i < s->count; ++i) {
            const qnnrt_tensor_info *tensor = s->list[i].tensor;
            const int found = qnnrt_manifest__find(&file, tensor->name);
            const unsigned char *value = found ? qnnrt_manifest__fitting(&file, tensor) : NULL;
            if (value == NULL)
                return qnnrt_error_set(err, QNNRT_E_MISMATCH, "state \"%.200s\" is %s, but the file"
                                       " %s", tensor->name,
                                       qnnrt_tensor_text(tensor, facts, sizeof facts),
                                       found ? "has another type, shape or size for it"
                                             : "does not have it");
            if (copy) memcpy(base + s->offsets[i + 1], value, (size_t)tensor->bytes);
        }
    }
    return QNNRT_OK;
}

/* =====================================================================================
   PUBLIC                                                                         >>public
   The functions that open, use and close a program.
   Needs: >>objects >>files >>roles >>make     Knows nothing of: what they do
   ===================================================================================== */

/* Resolve limits that are 0. */
static qnnrt_limits qnnrt_manifest__limits(const qnnrt_limits *given)
{
    qnnrt_limits l = *given;
    if (l.file_bytes == 0) l.file_bytes = (uint64_t)64 << 30;
    if (l.files == 0) l.files = 256;
    if (l.tensors == 0) l.tensors = 1000000;
    if (l.name_bytes == 0) l.name_bytes = 1024;
    if (l.rank == 0) l.rank = 8;
    if (l.json_bytes == 0) l.json_bytes = (uint64_t)64 << 20;
    return l;
}

/* Open a folder that has no program as one model. */
static qnnrt_result qnnrt_manifest__plain(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    const qnnrt_info *info;
    qnnrt_result result = qnnrt_manifest__check_roles(w);
    size_t i;
    if (result == QNNRT_OK)
        result = qnnrt_open(to->info.folder[0] != '\0' ? to->info.folder : NULL, &w->desc->model,
                            &to->parts[0].model, w->err);
    if (result != QNNRT_OK) return result;
    to->part_count = to->info.model_count = 1;
    to->parts[0].role = "";
    to->models[0] = to->parts[0].model;
    info = qnnrt_get_info(to->models[0]);
    to->contexts = (qnnrt_manifest_context *)qnnrt_arena_get(&to->arena, info->context_count,
                                                             sizeof *to->contexts);
    if (to->contexts == NULL) return qnnrt_manifest__no_memory(w);
    for (i = 0; i < info->context_count; ++i) {
        to->contexts[i].file = info->contexts[i].file;
        to->contexts[i].role = "";
        to->contexts[i].model = to->models[0];
        to->contexts[i].context = i;
        to->contexts[i].failure = info->contexts[i].failure;
        to->contexts[i].info = &info->contexts[i];
        if (w->desc->sha256 != NULL)
            qnnrt_log(&w->to->arena.hooks, QNNRT_LOG_WARN, "manifest", 0,
                      "%s is not compared with a SHA-256: the folder has no program",
                      info->contexts[i].file);
    }
    to->info.contexts = to->contexts;
    to->info.context_count = info->context_count;
    return QNNRT_OK;
}

/* Fill a program. */
static qnnrt_result qnnrt_manifest__fill(qnnrt_manifest__work *w, const char *folder)
{
    qnnrt_manifest *to = w->to;
    qnnrt_result result;
    to->info.folder = folder == NULL ? "" : qnnrt_arena_text(&to->arena, folder, strlen(folder));
    if (to->info.folder == NULL) return qnnrt_manifest__no_memory(w);
    result = w->desc->model.no_manifest || folder == NULL ? QNNRT_OK : qnnrt_manifest__text(w);
    to->info.program = w->program.version != 0;
    if (result == QNNRT_OK && !to->info.program) {
        result = qnnrt_manifest__plain(w);
    } else if (result == QNNRT_OK) {
        result = qnnrt_manifest__files(w);
        if (result == QNNRT_OK) result = qnnrt_manifest__open_roles(w);
        if (result == QNNRT_OK) result = qnnrt_manifest__values_of(w);
    }
    return result == QNNRT_OK ? qnnrt_manifest__make(w) : result;
}

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_open(const char *folder,
                                                    const qnnrt_manifest_open_desc *desc,
                                                    qnnrt_manifest **out, qnnrt_error *err)
{
    qnnrt_manifest_open_desc none;
    qnnrt_manifest__work *w;
    const qnnrt_hooks *hooks;
    qnnrt_manifest *to;
    qnnrt_result result;
    qnnrt_error_clear(err);
    memset(&none, 0, sizeof none);
    if (desc == NULL) desc = &none;
    if (out != NULL) *out = NULL;
    if (out == NULL || (folder == NULL) == (desc->model.files == NULL) ||
        (folder != NULL && folder[0] == '\0') ||
        (desc->backends == NULL && desc->backend_count > 0) ||
        (desc->host_functions == NULL && desc->host_function_count > 0))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_manifest_open: out is NULL, not one of"
                               " folder and desc.model.files is given, or a list is NULL with a"
                               " count");
    hooks = &desc->model.backend_desc.hooks;
    to = (qnnrt_manifest *)qnnrt_hooks_alloc(hooks, 1, sizeof *to);
    w = (qnnrt_manifest__work *)qnnrt_hooks_alloc(hooks, 1, sizeof *w);
    if (to != NULL && w != NULL) {
        to->arena.hooks = *hooks;
        to->sha256 = desc->sha256;
        w->to = to;
        w->desc = desc;
        w->err = err != NULL ? err : &w->own;
        w->limits = qnnrt_manifest__limits(&desc->model.limits);
        result = qnnrt_manifest__fill(w, folder);
    } else {
        result = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a program");
    }
    qnnrt_hooks_free(hooks, w);
    if (result == QNNRT_OK) *out = to;
    else if (w != NULL) (void)qnnrt_manifest_close(to);
    else qnnrt_hooks_free(hooks, to);
    return result;
}

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_close(qnnrt_manifest *program)
{
    qnnrt_result result = QNNRT_OK, one;
    qnnrt_hooks hooks;
    size_t i, k;
    if (program == NULL) return QNNRT_OK;
    while (program->made != NULL && program->info.pipeline_count > 0) {
        i = program->info.pipeline_count - 1;
        if (qnnrt_pipeline_destroy(program->made[i]) != QNNRT_OK) return QNNRT_E_BUSY;
        program->info.pipeline_count = i;
        qnnrt_conversions_free(program->conversions[i]);
    }
    for (i = program->part_count; i-- > 0;) {
        qnnrt_manifest__part *part = &program->parts[i];
        const int opened = part->model != NULL;
        one = qnnrt_close(part->model);
        if (one == QNNRT_E_BUSY) return one;
        if (result == QNNRT_OK) result = one;
        for (k = 0; k < program->info.context_count && program->facts != NULL; ++k)
            if (program->contexts[k].role == part->role) {
                program->contexts[k].file = program->facts[k].file;
                program->contexts[k].info = &program->facts[k];
                program->contexts[k].model = NULL;
                program->contexts[k].failure = NULL;
            }
        part->model = NULL;
        if (opened && program->info.model_count > 0) --program->info.model_count;
    }
    for (i = 0; i < program->part_count; ++i) {
        one = program->parts[i].owned ? qnnrt_backend_close(program->parts[i].backend) : QNNRT_OK;
        if (one == QNNRT_E_BUSY) return one;
        program->parts[i].owned = 0;
        if (result == QNNRT_OK) result = one;
    }
    hooks = program->arena.hooks;
    for (i = 0; i < program->map_count; ++i) qnnrt_manifest__drop(&hooks, &program->maps[i]);
    qnnrt_arena_free(&program->arena);
    qnnrt_hooks_free(&hooks, program);
    return result;
}

QNNRT_MANIFEST_API const qnnrt_manifest_info *qnnrt_manifest_get_info(
    const qnnrt_manifest *program)
{
    return program != NULL ? &program->info : NULL;
}

/* Find "<context>/<graph>", with the context's number in the program. NULL: there is none. */
static const qnnrt_pipeline *qnnrt_manifest__single(const qnnrt_manifest *program,
                                                    const char *name)
{
    const qnnrt_pipeline *found = NULL;
    const qnnrt_manifest_context *context;
    size_t number = 0, i;
    char *address;
    for (i = 0; name[i] >= '0' && name[i] <= '9' && number < program->info.context_count; ++i)
        number = number * 10 + (size_t)(name[i] - '0');
    if (i == 0 || name[i] != '/' || number >= program->info.context_count) return NULL;
    context = &program->contexts[number];
    address = (char *)qnnrt_hooks_alloc(&program->arena.hooks, strlen(name) + 24, 1);
    if (address == NULL) return NULL;
    snprintf(address, strlen(name) + 24, "%lu%s", (unsigned long)context->context, name + i);
    if (context->model != NULL) (void)qnnrt_pipeline_find(context->model, address, &found, NULL);
    qnnrt_hooks_free(&program->arena.hooks, address);
    return found;
}

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_find(const qnnrt_manifest *program, const char *name,
                                                    const qnnrt_pipeline **out, qnnrt_error *err)
{
    const qnnrt_pipeline *found = NULL;
    qnnrt_result result;
    size_t i, k, matches = 0;
    int graphs;
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (program == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_manifest_find: program or out is NULL");
    if (program->made == NULL) return qnnrt_pipeline_find(program->models[0], name, out, err);
    for (graphs = 0; graphs < 2 && matches == 0; ++graphs)
        for (i = 0; i < program->info.pipeline_count; ++i) {
            const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(program->made[i]);
            int named = name == NULL || (!graphs && strcmp(p->name, name) == 0);
            for (k = 0; graphs && k < p->step_count && !named; ++k)
                named = strcmp(p->steps[k].graph->name, name) == 0;
            if (named) found = program->made[i];
            matches += (size_t)named;
        }
    if (matches == 0 && name != NULL) found = qnnrt_manifest__single(program, name);
    if (found != NULL && matches < 2) {
        *out = found;
        return QNNRT_OK;
    }
    result = name != NULL && matches > 1 ? QNNRT_E_ARG : QNNRT_E_NOT_FOUND;
    qnnrt_error_set(err, result, name == NULL ? "no name of a pipeline is given"
                                 : matches > 1 ? "\"%.200s\" names several pipelines"
                                               : "no pipeline or graph \"%.200s\"", name);
    qnnrt_error_add(err, "\n  it has %lu:", (unsigned long)program->info.pipeline_count);
    for (i = 0; i < program->info.pipeline_count && i < 8; ++i)
        qnnrt_error_add(err, " \"%.100s\"", qnnrt_pipeline_get_info(program->made[i])->name);
    if (i < program->info.pipeline_count) qnnrt_error_add(err, " ...");
    return qnnrt_error_hint(err, result, "Give the name of one of them.");
}

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_prepare(qnnrt_manifest *program, const char *name,
                                                       const qnnrt_prepare_desc *desc,
                                                       qnnrt_run **out, qnnrt_error *err)
{
    const qnnrt_pipeline *pipeline;
    qnnrt_result result;
    if (out != NULL) *out = NULL;
    result = qnnrt_manifest_find(program, name, &pipeline, err);
    return result == QNNRT_OK ? qnnrt_pipeline_prepare(pipeline, desc, out, err)
                              : result;
}

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_recover(
    qnnrt_manifest *program, qnnrt_result (*recover)(qnnrt *model, qnnrt_error *err),
    qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    size_t i, k;
    qnnrt_error_clear(err);
    if (program == NULL || recover == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG,
                               "qnnrt_manifest_recover: program or recover is NULL");
    for (i = 0; i < program->info.model_count && result == QNNRT_OK; ++i) {
        const qnnrt_backend *b = qnnrt_get_info(program->models[i])->backend;
        for (k = 0; k < i && qnnrt_get_info(program->models[k])->backend != b;) ++k;
        if (k == i) result = recover(program->models[i], err);
    }
    return result;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_MANIFEST__IMPL_ONCE */
#endif /* QNNRT_MANIFEST_IMPLEMENTATION */
