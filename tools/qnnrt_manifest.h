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
       if (qnnrt_manifest_open("model", NULL, &program, &err) != QNNRT_OK) puts(err.text);
       if (qnnrt_manifest_prepare(program, NULL, NULL, &run, &err) != QNNRT_OK) puts(err.text);
       qnnrt_bind(run, "image", pixels, sizeof pixels);
       qnnrt_exec(run);
       qnnrt_run_destroy(run);
       qnnrt_manifest_close(program);

   Each backend that the program names becomes an open backend with one model; constants are mapped;
   pipelines are made by qnnrt_pipeline_make(). The program owns all of it. A folder without a
   program is one model, as qnnrt_open() opens it, and its pipelines are those of the program. This
   writes a program, from descriptions or from pipelines that exist:

       qnnrt_manifest_desc desc = {0};
       desc.contexts  = contexts;  desc.context_count  = 2;    // files, roles, SHA-256
       desc.pipelines = pipelines; desc.pipeline_count = 1;    // qnnrt_pipeline_desc
       if (qnnrt_manifest_write(&desc, to_file, file, &err) != QNNRT_OK) puts(err.text);

   Host steps call the functions that it gets by name:

       functions[0].name = "look_up"; functions[0].exec = look_up;
       desc.host_functions = functions; desc.host_function_count = 1;
       qnnrt_manifest_open("model_dir", &desc, &program, &err);

   A pipeline that cannot be made, a wrong fingerprint, an unknown key or a path instead of a plain
   name is an error of qnnrt_manifest_open(), and nothing stays open. Files of constants stay mapped
   until qnnrt_manifest_close(), or in memory with model.read; like binaries, replace them by rename
   only. qnnrt-run inspect model_dir --manifest prints a folder as a program, which opens as the
   same pipelines.

   Roles    of those that desc.backends does not have, that of the first context has model.backend
            or model.backend_desc. For others, and where no path is given, the name decides: "npu"
            is libQnnHtp.so; "cpu" is libQnnCpu.so, or where that cannot be opened libQnnRef.so,
            with a line in the log. Roles with other names need an entry. With model.keep_going the
            contexts of a role that fails have the failure, and the others load
   Trust    qnnrt.json may be hostile; a path in it is never followed
   Threads  as of the models: one call per backend at a time

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

   program     { "version": 1,             required: another version is refused
                 "backends": ["npu", ...], required: the roles of backends
                 "contexts": [...],        required: at least one; steps give their number, from 0
                 "constants": [...],
                 "pipelines": [...] }      without one, names of graphs decide, as without a program
   context     { "file": "a.bin",          required: plain name of a *.bin in the folder; no path,
                                           and no dot at its beginning
                 "backend": "npu",         required: one of the roles
                 "fingerprint": "...",     16 hexadecimal digits:
                                           qnnrt_context_info.fingerprint, of 64 pieces of the file;
                                           another one is QNNRT_E_MISMATCH. Its older name is "hash"
                 "sha256": "..." }         64 hexadecimal digits, of all bytes of the file; compared
                                           with desc.check_hashes, and by qnnrt-run doctor
   constant    { "name": "table",          required
                 "file": "table.raw",      required: plain name of a file in the folder
                 "offset": 0,              of its first byte in the file
                 "dtype": "float32",       required: as qnnrt_dtype_name() has it
                 "dims": [256, 64] }       required; [] is a scalar
   pipeline    { "name": "forward",        required
                 "steps": [...],           required: graphs and host steps; at least one is a graph
                 "edges": [...],
                 "edges_only": true,       as qnnrt_pipeline_desc.edges_only
                 "apart": [[1, "mask"], ...],   inputs of steps, as qnnrt_use_desc.apart
                 "constants": [ { "step": 1, "input": "table", "constant": "table" }, ... ],
                                           all required; dtype and dims are those of the input
                 "names": { "image": { "step": 0, "input": "x" },
                            "probabilities": { "step": 2, "output": "y" } },
                                           what users call tensors
                 "buffers": [...],
                 "ranges": [ { "step": 0, "input": "ids", "low": 0, "high": 151935 }, ... ] }
                                           all required; the first and the last value that an int32
                                           input takes, see qnnrt_use_desc
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

   Numbers of steps are those of "steps", without conversions. Text is UTF-8; names have at most
   limits.name_bytes bytes and no NUL. All entries together count against limits.tensors.

   ROOMS (search for the tag)
       >>sha256 >>schema >>write >>read >>objects >>files >>roles >>make >>public
*/
#ifndef QNNRT_MANIFEST_H
#define QNNRT_MANIFEST_H

#include "qnnrt.h"
#include "qnnrt_json.h"
#include "qnnrt_convert.h"

#if QNNRT_VERSION_MAJOR != 0 || QNNRT_VERSION_MINOR != 5
#error "qnnrt_manifest.h and qnnrt.h must have the same version"
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
    qnnrt_backend_desc desc;            /* (default: the library by the role's name). Hooks that are
                                           not set are those of model.backend_desc */
    const char        *system_path;     /* the library that reads its binaries (default NULL: of
                                           several roles what comes with the backend, else
                                           model.system_path) */
} qnnrt_manifest_role;

typedef struct qnnrt_manifest_open_desc {
    const qnnrt_manifest_role *backends;         /* [backend_count] (default NULL: the library by
                                           the role's name: "npu" is libQnnHtp.so, "cpu"
                                           libQnnCpu.so or else libQnnRef.so) */
    size_t                     backend_count;
    const qnnrt_host_step     *host_functions;   /* [host_function_count]: .name, .exec and .user of
                                           the functions that host steps call by their name */
    size_t                     host_function_count;
    int                        check_hashes;     /* 1: compare all bytes of each context with its
                                           "sha256" before a library gets them, for the cost of
                                           qnnrt_sha256_add(), also when it is read again. A file
                                           without one is a warning in the log (default 0: the
                                           fingerprint is compared) */
    qnnrt_desc                 model;   /* options of every model. .backend or .backend_desc is for
                                           the role of the first context, unless .backends has it.
                                           .files instead of a folder are one model */
} qnnrt_manifest_open_desc;

typedef struct qnnrt_manifest_context_info {
    const char        *file;            /* its plain name */
    const char        *role;            /* of its backend, such as "npu"; "" without a program */
    qnnrt             *model;           /* that it belongs to; NULL if it was not opened */
    size_t             context;         /* index into qnnrt_info.contexts of that model */
    const qnnrt_error *failure;         /* NULL, or why it did not load (with model.keep_going) */
    const qnnrt_context_info *info;     /* the model's facts about it, never NULL; of a context that
                                           was not opened, without graphs */
} qnnrt_manifest_context_info;

typedef struct qnnrt_manifest_constant_info {
    const char              *file;      /* its plain name */
    uint64_t                 offset;    /* of its first byte in the file */
    const qnnrt_tensor_info *tensor;    /* its name, dtype and dims */
    const void              *data;
} qnnrt_manifest_constant_info;

/* What a program consists of. All of it is valid until qnnrt_manifest_close(). */
typedef struct qnnrt_manifest_info {
    const char                  *folder;         /* "" for model.files */
    const char                  *system_path;    /* qnnrt_info.system_path of the first model */
    qnnrt_backend               *backend;        /* of the first model; NULL with model.inspect */
    int                          program;        /* 0: the folder has none, and is one model */
    size_t                       model_count;
    qnnrt *const                *models;         /* one for each role, in the order of contexts */
    size_t                       context_count;
    const qnnrt_manifest_context_info  *contexts;     /* in the order of the program */
    size_t                       constant_count;
    const qnnrt_manifest_constant_info *constants;
    size_t                       pipeline_count;
    const qnnrt_pipeline *const *pipelines;      /* in the order of the program; without
                                                    "pipelines" those that names join, then every
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

/* ----------------------------------------------------------------------------------- writing -- */

typedef struct qnnrt_manifest_context {
    const char *file;                   /* plain name */
    const char *backend;                /* its role, such as "npu" */
    uint64_t    fingerprint;            /* qnnrt_context_info.fingerprint (default 0: none) */
    const char *sha256;                 /* of the file, as qnnrt_sha256_end() writes it (default
                                           NULL: none) */
    const qnnrt *model;                 /* that it belongs to, for .wired of several models (default
                                           NULL: one model, with the same numbers of contexts) */
    size_t      context;                /* its index in that model */
} qnnrt_manifest_context;

typedef struct qnnrt_manifest_constant {
    const char     *name;
    const char     *file;               /* plain name */
    uint64_t        offset;             /* in bytes */
    qnnrt_dtype     dtype;
    uint32_t        rank;
    const uint32_t *dims;               /* [rank] */
    const void     *data;               /* the value: constants of pipelines with this address are
                                           this one. It is not read */
} qnnrt_manifest_constant;

typedef struct qnnrt_manifest_desc {
    const qnnrt_manifest_context  *contexts;
    size_t                         context_count;
    const qnnrt_manifest_constant *constants;
    size_t                         constant_count;
    const qnnrt_pipeline_desc     *pipelines;   /* as qnnrt_pipeline_make() takes them, each with a
                                                   name; .model and the functions of host steps are
                                                   not used */
    size_t                         pipeline_count;
    const qnnrt_conversion *const *conversions; /* [pipeline_count] of each what its edges ask for,
                                                   as qnnrt_conversions_create() takes it, or NULL
                                                   (default NULL: nothing) */
    const qnnrt_pipeline *const   *wired;       /* pipelines that exist: all their edges are
                                                   written, with "edges_only" */
    size_t                         wired_count;
    void                         (*more)(void *user, qnnrt_json_writer *json);
                                                /* writes other members of the document, such as
                                                   "llm" (default NULL: there are none) */
    void                          *more_user;
} qnnrt_manifest_desc;

/* Write a qnnrt.json with a program, and with what desc->more adds.

   write    receives the text in pieces and returns 1 when it accepted a piece

   What is written opens as the same pipelines. Names are not compared here: qnnrt_manifest_open()
   refuses one that occurs twice.
   Returns  QNNRT_OK; QNNRT_E_ARG, QNNRT_E_UNSUPPORTED (what a manifest cannot have: the text names
            it); QNNRT_E_IO (`write` refused). After a failure the text is not complete */
QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_write(const qnnrt_manifest_desc *desc,
                                                     int (*write)(void *user, const char *text,
                                                                  size_t bytes),
                                                     void *user, qnnrt_error *err);

/* ----------------------------------------------------------------------------------- SHA-256 -- */

/* SHA-256 that is being computed. */
typedef struct qnnrt_sha256 {
    uint32_t      state[8];
    uint64_t      bytes;                /* that were added */
    unsigned char block[64];            /* the last bytes of them that fill no block */
} qnnrt_sha256;

/* Compute SHA-256 (FIPS 180-4): begin, then add any number of times, then end once. data may be
   NULL if bytes is 0; sum must not be NULL.

   out    receives the hash, may be NULL
   text   receives it as 64 small hexadecimal digits, may be NULL

   Cost   0.29 GB/s on one core of an x86-64 server */
QNNRT_MANIFEST_API void qnnrt_sha256_begin(qnnrt_sha256 *sum);
QNNRT_MANIFEST_API void qnnrt_sha256_add(qnnrt_sha256 *sum, const void *data, uint64_t bytes);
QNNRT_MANIFEST_API void qnnrt_sha256_end(qnnrt_sha256 *sum, unsigned char out[32], char text[65]);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_MANIFEST_H, end of the declarations */

#ifdef QNNRT_MANIFEST_IMPLEMENTATION
#ifndef QNNRT_MANIFEST__IMPL_ONCE
#define QNNRT_MANIFEST__IMPL_ONCE

#include <dirent.h>
#include <errno.h>
#include <float.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   SHA-256                                                                        >>sha256
   Needs: nothing     Knows nothing of: what is hashed
   ===================================================================================== */

static const uint32_t qnnrt_manifest__sha256_start[8] = {
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19
};

static const uint32_t qnnrt_manifest__sha256_adds[64] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2
};

/* Eight rounds are written out, so that the words change places without being moved. */
static void qnnrt_manifest__sha256_blocks(uint32_t *state, const unsigned char *at, uint64_t count)
{
    const uint32_t *words = qnnrt_manifest__sha256_adds;
#define QNNRT_MANIFEST__RT(x, n) ((x) >> (n) | (x) << (32 - (n)))
#define QNNRT_MANIFEST__XR(x, a, b, c) \
    (QNNRT_MANIFEST__RT(x, a) ^ QNNRT_MANIFEST__RT(x, b) ^ QNNRT_MANIFEST__RT(x, c))
#define QNNRT_MANIFEST__ROUND(a, b, c, d, e, f, g, h, n) \
    h += QNNRT_MANIFEST__XR(e, 6, 11, 25) + (g ^ (e & (f ^ g))) + words[i + n] + w[i + n]; \
    d += h; \
    h += QNNRT_MANIFEST__XR(a, 2, 13, 22) + ((a & b) | (c & (a | b)))
    for (; count > 0; --count, at += 64) {
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7], w[64], i;
        for (i = 0; i < 16; ++i)
            w[i] = (uint32_t)at[4 * i] << 24 | (uint32_t)at[4 * i + 1] << 16 |
                   (uint32_t)at[4 * i + 2] << 8 | at[4 * i + 3];
        for (; i < 64; ++i)
            w[i] = w[i - 16] + w[i - 7] +
                   (QNNRT_MANIFEST__RT(w[i - 15], 7) ^ QNNRT_MANIFEST__RT(w[i - 15], 18) ^
                    w[i - 15] >> 3) +
                   (QNNRT_MANIFEST__RT(w[i - 2], 17) ^ QNNRT_MANIFEST__RT(w[i - 2], 19) ^
                    w[i - 2] >> 10);
        for (i = 0; i < 64; i += 8) {
            QNNRT_MANIFEST__ROUND(a, b, c, d, e, f, g, h, 0);
            QNNRT_MANIFEST__ROUND(h, a, b, c, d, e, f, g, 1);
            QNNRT_MANIFEST__ROUND(g, h, a, b, c, d, e, f, 2);
            QNNRT_MANIFEST__ROUND(f, g, h, a, b, c, d, e, 3);
            QNNRT_MANIFEST__ROUND(e, f, g, h, a, b, c, d, 4);
            QNNRT_MANIFEST__ROUND(d, e, f, g, h, a, b, c, 5);
            QNNRT_MANIFEST__ROUND(c, d, e, f, g, h, a, b, 6);
            QNNRT_MANIFEST__ROUND(b, c, d, e, f, g, h, a, 7);
        }
        state[0] += a; state[1] += b; state[2] += c; state[3] += d;
        state[4] += e; state[5] += f; state[6] += g; state[7] += h;
    }
#undef QNNRT_MANIFEST__RT
#undef QNNRT_MANIFEST__XR
#undef QNNRT_MANIFEST__ROUND
}

QNNRT_MANIFEST_API void qnnrt_sha256_begin(qnnrt_sha256 *sum)
{
    memset(sum, 0, sizeof(*sum));
    memcpy(sum->state, qnnrt_manifest__sha256_start, sizeof(sum->state));
}

QNNRT_MANIFEST_API void qnnrt_sha256_add(qnnrt_sha256 *sum, const void *data, uint64_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    const size_t used = (size_t)(sum->bytes % 64);
    size_t part = bytes < 64 - used ? (size_t)bytes : 64 - used;
    if (bytes == 0) return;
    sum->bytes += bytes;
    if (used > 0) {
        memcpy(sum->block + used, at, part);
        if (used + part < 64) return;
        qnnrt_manifest__sha256_blocks(sum->state, sum->block, 1);
        at += part;
        bytes -= part;
    }
    qnnrt_manifest__sha256_blocks(sum->state, at, bytes / 64);
    memcpy(sum->block, at + bytes / 64 * 64, (size_t)(bytes % 64));
}

QNNRT_MANIFEST_API void qnnrt_sha256_end(qnnrt_sha256 *sum, unsigned char out[32], char text[65])
{
    static const unsigned char pad[64] = { 0x80 };
    const uint64_t bits = sum->bytes * 8;
    unsigned char size[8];
    int i;
    for (i = 0; i < 8; ++i) size[i] = (unsigned char)(bits >> (56 - 8 * i));
    qnnrt_sha256_add(sum, pad, 1 + (119 - sum->bytes % 64) % 64);
    qnnrt_sha256_add(sum, size, 8);
    for (i = 0; i < 32; ++i) {
        const unsigned char byte = (unsigned char)(sum->state[i / 4] >> (24 - i % 4 * 8));
        if (out != NULL) out[i] = byte;
        if (text != NULL) snprintf(text + 2 * i, 3, "%02x", (unsigned)byte);
    }
}

/* =====================================================================================
   SCHEMA                                                                         >>schema
   What a program may have: a struct for each kind of object, and the table of its keys.
   Needs: nothing     Knows nothing of: how a text is read, backends, graphs
   ===================================================================================== */

typedef struct qnnrt_manifest__file {   /* an entry of "contexts" */
    const char *file, *role;
    const char *fingerprint, *sha256;   /* expected digits; NULL: none */
} qnnrt_manifest__file;

typedef struct qnnrt_manifest__table {  /* an entry of "constants" */
    qnnrt_tensor_info tensor;           /* name, dtype, dims */
    const char       *file;
    uint64_t          offset;           /* of its first byte in the file */
} qnnrt_manifest__table;

typedef struct qnnrt_manifest__step {
    size_t          context;
    const char     *graph;              /* NULL: a host step */
    qnnrt_host_step host;
} qnnrt_manifest__step;

typedef struct qnnrt_manifest__edge {
    qnnrt_edge_desc  desc;
    qnnrt_conversion wish;
} qnnrt_manifest__edge;

typedef struct qnnrt_manifest__value {  /* an input with a fixed value */
    size_t      step;
    const char *input, *name;           /* of the constant */
    size_t      constant;               /* its index */
} qnnrt_manifest__value;

typedef struct qnnrt_manifest__name {
    const char    *name;
    qnnrt_use_desc use;                 /* .name is NULL */
} qnnrt_manifest__name;

typedef struct qnnrt_manifest__buffer {
    qnnrt_buffer_desc     desc;
    const qnnrt_use_desc *keeps;        /* .buffer is 0 */
    size_t                keep_count;
} qnnrt_manifest__buffer;

typedef struct qnnrt_manifest__pipeline {
    qnnrt_pipeline_desc           desc;     /* without what the lists below hold */
    const qnnrt_manifest__step   *steps;
    const qnnrt_manifest__edge   *edges;
    const qnnrt_manifest__value  *values;
    const qnnrt_manifest__buffer *buffers;
    const qnnrt_manifest__name   *names;
    const qnnrt_use_desc         *apart, *ranges;
    size_t                        value_count, name_count, apart_count, range_count;
} qnnrt_manifest__pipeline;

typedef struct qnnrt_manifest__program {
    uint32_t                        version;    /* 0: the text has no "program" */
    const char *const              *roles;
    const qnnrt_manifest__file     *contexts;
    const qnnrt_manifest__table    *constants;
    const qnnrt_manifest__pipeline *pipelines;
    size_t role_count, context_count, constant_count, pipeline_count;
    int    joined;                      /* it has no "pipelines": names join graphs */
} qnnrt_manifest__program;

enum { QNNRT_MANIFEST__VERSION = 1 };

static const char *const qnnrt_manifest__converts[] = { "", "values", "to_nhwc", "to_nchw" };

typedef enum qnnrt_manifest__type {     /* of a value, and the member that receives it */
    QNNRT_MANIFEST__TEXT,               /* const char *, not empty */
    QNNRT_MANIFEST__FILE,               /* const char *, a plain name */
    QNNRT_MANIFEST__U64, QNNRT_MANIFEST__U32, QNNRT_MANIFEST__I32, QNNRT_MANIFEST__F32,
    QNNRT_MANIFEST__INDEX,              /* size_t */
    QNNRT_MANIFEST__BOOL,               /* int */
    QNNRT_MANIFEST__DIGITS,             /* const char *: `more` hexadecimal digits */
    QNNRT_MANIFEST__CONVERT,            /* qnnrt_convert */
    QNNRT_MANIFEST__DTYPE,              /* qnnrt_dtype */
    QNNRT_MANIFEST__DIMS,               /* qnnrt_tensor_info: rank and dims */
    QNNRT_MANIFEST__PAIR,               /* size_t and, at more, const char *: [step, "name"] */
    QNNRT_MANIFEST__SIDE,               /* const char * and, at more, int: "input" or "output" */
    QNNRT_MANIFEST__LIST,               /* a pointer to items and, at more, their number */
    QNNRT_MANIFEST__MAP                 /* the same from {"name": item, ...} */
} qnnrt_manifest__type;

struct qnnrt_manifest__object;

typedef struct qnnrt_manifest__field {
    const char           *key;          /* NULL: the end of a table */
    qnnrt_manifest__type  type;
    int                   needed;
    size_t                at, more;     /* offsets of members; DIGITS: more is their number */
    const struct qnnrt_manifest__object *items;      /* LIST, MAP: what they hold */
} qnnrt_manifest__field;

typedef enum qnnrt_manifest__check {    /* what the table of an object cannot say */
    QNNRT_MANIFEST__PLAIN, QNNRT_MANIFEST__TENSOR, QNNRT_MANIFEST__STEP,
    QNNRT_MANIFEST__SIZED, QNNRT_MANIFEST__SPACE, QNNRT_MANIFEST__EITHER, QNNRT_MANIFEST__FILLED
} qnnrt_manifest__check;

/* A kind of object. Those with a name begin with it. */
typedef struct qnnrt_manifest__object {
    const char                  *part, *what;       /* in messages: "edge", "an edge" */
    size_t                       bytes;             /* of the struct */
    const qnnrt_manifest__field *fields;            /* without key: it is that value alone */
    int                          named;             /* 1: has a name, and names must differ */
    qnnrt_manifest__check        check;
} qnnrt_manifest__object;

#define QNNRT_MANIFEST__ROW(key, type, needed, of, member) \
    { key, QNNRT_MANIFEST__##type, needed, offsetof(of, member), 0, NULL }
#define QNNRT_MANIFEST__TWO(key, type, needed, of, member, second) \
    { key, QNNRT_MANIFEST__##type, needed, offsetof(of, member), offsetof(of, second), NULL }
#define QNNRT_MANIFEST__ITEMS(key, type, needed, of, member, count, object) \
    { key, QNNRT_MANIFEST__##type, needed, offsetof(of, member), offsetof(of, count), \
      &qnnrt_manifest__##object }
#define QNNRT_MANIFEST__END { NULL, QNNRT_MANIFEST__TEXT, 0, 0, 0, NULL }

enum { QNNRT_MANIFEST__SCALE = 3, QNNRT_MANIFEST__OFFSET = 4 };      /* of the rows below */
static const qnnrt_manifest__field qnnrt_manifest__tensor_rows[] = {
    QNNRT_MANIFEST__ROW("name", TEXT, 1, qnnrt_tensor_info, name),
    QNNRT_MANIFEST__ROW("dtype", DTYPE, 1, qnnrt_tensor_info, dtype),
    { "dims", QNNRT_MANIFEST__DIMS, 1, 0, 0, NULL },
    QNNRT_MANIFEST__ROW("scale", F32, 0, qnnrt_tensor_info, quant.scale),
    QNNRT_MANIFEST__ROW("offset", I32, 0, qnnrt_tensor_info, quant.offset),
    QNNRT_MANIFEST__ROW("bits", U32, 0, qnnrt_tensor_info, quant.bitwidth),
    QNNRT_MANIFEST__END
};
static const qnnrt_manifest__object qnnrt_manifest__input = {
    "input", "a tensor", sizeof(qnnrt_tensor_info), qnnrt_manifest__tensor_rows, 1,
    QNNRT_MANIFEST__TENSOR
};
static const qnnrt_manifest__object qnnrt_manifest__output = {
    "output", "a tensor", sizeof(qnnrt_tensor_info), qnnrt_manifest__tensor_rows, 1,
    QNNRT_MANIFEST__TENSOR
};

enum { QNNRT_MANIFEST__HOST = 2 };      /* rows before it are of a graph, others of a host step */
static const qnnrt_manifest__field qnnrt_manifest__step_rows[] = {
    QNNRT_MANIFEST__ROW("context", INDEX, 0, qnnrt_manifest__step, context),
    QNNRT_MANIFEST__ROW("graph", TEXT, 0, qnnrt_manifest__step, graph),
    QNNRT_MANIFEST__ROW("host", TEXT, 0, qnnrt_manifest__step, host.name),
    QNNRT_MANIFEST__ITEMS("inputs", LIST, 0, qnnrt_manifest__step, host.inputs, host.input_count,
                          input),
    QNNRT_MANIFEST__ITEMS("outputs", LIST, 0, qnnrt_manifest__step, host.outputs,
                          host.output_count, output),
    QNNRT_MANIFEST__END
};
static const qnnrt_manifest__object qnnrt_manifest__steps = {
    "step", "a step", sizeof(qnnrt_manifest__step), qnnrt_manifest__step_rows, 0,
    QNNRT_MANIFEST__STEP
};

static const qnnrt_manifest__field qnnrt_manifest__edge_rows[] = {
    QNNRT_MANIFEST__TWO("from", PAIR, 1, qnnrt_manifest__edge, desc.from_step, desc.from),
    QNNRT_MANIFEST__TWO("to", PAIR, 1, qnnrt_manifest__edge, desc.to_step, desc.to),
    QNNRT_MANIFEST__ROW("convert", CONVERT, 0, qnnrt_manifest__edge, wish.how),
    QNNRT_MANIFEST__ROW("exact", BOOL, 0, qnnrt_manifest__edge, wish.exact), QNNRT_MANIFEST__END
};
static const qnnrt_manifest__object qnnrt_manifest__edges = {
    "edge", "an edge", sizeof(qnnrt_manifest__edge), qnnrt_manifest__edge_rows, 0,
    QNNRT_MANIFEST__PLAIN
};

static const qnnrt_manifest__field qnnrt_manifest__apart_rows[] = {
    { NULL, QNNRT_MANIFEST__PAIR, 1, offsetof(qnnrt_use_desc, step),
      offsetof(qnnrt_use_desc, tensor), NULL }
};
static const qnnrt_manifest__object qnnrt_manifest__apart = {
    "apart", "apart", sizeof(qnnrt_use_desc), qnnrt_manifest__apart_rows, 0,
    QNNRT_MANIFEST__PLAIN
};

static const qnnrt_manifest__field qnnrt_manifest__value_rows[] = {
    QNNRT_MANIFEST__ROW("step", INDEX, 1, qnnrt_manifest__value, step),
    QNNRT_MANIFEST__ROW("input", TEXT, 1, qnnrt_manifest__value, input),
    QNNRT_MANIFEST__ROW("constant", TEXT, 1, qnnrt_manifest__value, name), QNNRT_MANIFEST__END
};
static const qnnrt_manifest__object qnnrt_manifest__values = {
    "constant", "a constant of a pipeline", sizeof(qnnrt_manifest__value),
    qnnrt_manifest__value_rows, 0, QNNRT_MANIFEST__PLAIN
};

static const qnnrt_manifest__field qnnrt_manifest__name_rows[] = {
    QNNRT_MANIFEST__ROW("step", INDEX, 1, qnnrt_manifest__name, use.step),
    QNNRT_MANIFEST__TWO("input", SIDE, 0, qnnrt_manifest__name, use.tensor, use.output),
    QNNRT_MANIFEST__TWO("output", SIDE, 0, qnnrt_manifest__name, use.tensor, use.output),
    QNNRT_MANIFEST__END
};
static const qnnrt_manifest__object qnnrt_manifest__names = {
    "name", "a name", sizeof(qnnrt_manifest__name), qnnrt_manifest__name_rows, 1,
    QNNRT_MANIFEST__EITHER
};

static const qnnrt_manifest__field qnnrt_manifest__keep_rows[] = {
    QNNRT_MANIFEST__ROW("step", INDEX, 1, qnnrt_use_desc, step),
    QNNRT_MANIFEST__TWO("input", SIDE, 0, qnnrt_use_desc, tensor, output),
    QNNRT_MANIFEST__TWO("output", SIDE, 0, qnnrt_use_desc, tensor, output),
    QNNRT_MANIFEST__ROW("offset", U64, 1, qnnrt_use_desc, offset), QNNRT_MANIFEST__END
};
static const qnnrt_manifest__object qnnrt_manifest__keeps = {
    "slot", "a slot", sizeof(qnnrt_use_desc), qnnrt_manifest__keep_rows, 0, QNNRT_MANIFEST__EITHER
};

static const qnnrt_manifest__field qnnrt_manifest__buffer_rows[] = {
    QNNRT_MANIFEST__ROW("name", TEXT, 1, qnnrt_manifest__buffer, desc.name),
    QNNRT_MANIFEST__ROW("bytes", U64, 1, qnnrt_manifest__buffer, desc.bytes),
    QNNRT_MANIFEST__ROW("align", U32, 0, qnnrt_manifest__buffer, desc.align),
    QNNRT_MANIFEST__ITEMS("slots", LIST, 1, qnnrt_manifest__buffer, keeps, keep_count, keeps),
    QNNRT_MANIFEST__END
};
static const qnnrt_manifest__object qnnrt_manifest__buffers = {
    "buffer", "a buffer", sizeof(qnnrt_manifest__buffer), qnnrt_manifest__buffer_rows, 1,
    QNNRT_MANIFEST__SPACE
};

static const qnnrt_manifest__field qnnrt_manifest__range_rows[] = {
    QNNRT_MANIFEST__ROW("step", INDEX, 1, qnnrt_use_desc, step),
    QNNRT_MANIFEST__ROW("input", TEXT, 1, qnnrt_use_desc, tensor),
    QNNRT_MANIFEST__ROW("low", I32, 1, qnnrt_use_desc, low),
    QNNRT_MANIFEST__ROW("high", I32, 1, qnnrt_use_desc, high), QNNRT_MANIFEST__END
};
static const qnnrt_manifest__object qnnrt_manifest__ranges = {
    "range", "a range", sizeof(qnnrt_use_desc), qnnrt_manifest__range_rows, 0,
    QNNRT_MANIFEST__PLAIN
};

static const qnnrt_manifest__field qnnrt_manifest__pipeline_rows[] = {
    QNNRT_MANIFEST__ROW("name", TEXT, 1, qnnrt_manifest__pipeline, desc.name),
    QNNRT_MANIFEST__ITEMS("steps", LIST, 1, qnnrt_manifest__pipeline, steps, desc.step_count,
                          steps),
    QNNRT_MANIFEST__ITEMS("edges", LIST, 0, qnnrt_manifest__pipeline, edges, desc.edge_count,
                          edges),
    QNNRT_MANIFEST__ROW("edges_only", BOOL, 0, qnnrt_manifest__pipeline, desc.edges_only),
    QNNRT_MANIFEST__ITEMS("apart", LIST, 0, qnnrt_manifest__pipeline, apart, apart_count, apart),
    QNNRT_MANIFEST__ITEMS("constants", LIST, 0, qnnrt_manifest__pipeline, values, value_count,
                          values),
    QNNRT_MANIFEST__ITEMS("names", MAP, 0, qnnrt_manifest__pipeline, names, name_count, names),
    QNNRT_MANIFEST__ITEMS("buffers", LIST, 0, qnnrt_manifest__pipeline, buffers, desc.buffer_count,
                          buffers),
    QNNRT_MANIFEST__ITEMS("ranges", LIST, 0, qnnrt_manifest__pipeline, ranges, range_count, ranges),
    QNNRT_MANIFEST__END
};
static const qnnrt_manifest__object qnnrt_manifest__pipelines = {
    "pipeline", "a pipeline", sizeof(qnnrt_manifest__pipeline), qnnrt_manifest__pipeline_rows, 1,
    QNNRT_MANIFEST__FILLED
};

static const qnnrt_manifest__field qnnrt_manifest__role_rows[] = {
    { NULL, QNNRT_MANIFEST__TEXT, 1, 0, 0, NULL }
};
static const qnnrt_manifest__object qnnrt_manifest__roles = {
    "backend", "a backend", sizeof(const char *), qnnrt_manifest__role_rows, 1,
    QNNRT_MANIFEST__PLAIN
};

static const qnnrt_manifest__field qnnrt_manifest__file_rows[] = {
    QNNRT_MANIFEST__ROW("file", FILE, 1, qnnrt_manifest__file, file),
    QNNRT_MANIFEST__ROW("backend", TEXT, 1, qnnrt_manifest__file, role),
    { "fingerprint", QNNRT_MANIFEST__DIGITS, 0, offsetof(qnnrt_manifest__file, fingerprint), 16,
      NULL },
    { "sha256", QNNRT_MANIFEST__DIGITS, 0, offsetof(qnnrt_manifest__file, sha256), 64, NULL },
    { "hash", QNNRT_MANIFEST__DIGITS, 0, offsetof(qnnrt_manifest__file, fingerprint), 16, NULL },
    QNNRT_MANIFEST__END                 /* "hash" was the fingerprint's name */
};
static const qnnrt_manifest__object qnnrt_manifest__contexts = {
    "context", "a context", sizeof(qnnrt_manifest__file), qnnrt_manifest__file_rows, 1,
    QNNRT_MANIFEST__PLAIN
};

static const qnnrt_manifest__field qnnrt_manifest__table_rows[] = {
    QNNRT_MANIFEST__ROW("name", TEXT, 1, qnnrt_manifest__table, tensor.name),
    QNNRT_MANIFEST__ROW("file", FILE, 1, qnnrt_manifest__table, file),
    QNNRT_MANIFEST__ROW("offset", U64, 0, qnnrt_manifest__table, offset),
    QNNRT_MANIFEST__ROW("dtype", DTYPE, 1, qnnrt_manifest__table, tensor.dtype),
    QNNRT_MANIFEST__ROW("dims", DIMS, 1, qnnrt_manifest__table, tensor), QNNRT_MANIFEST__END
};
static const qnnrt_manifest__object qnnrt_manifest__constants = {
    "constant", "a constant", sizeof(qnnrt_manifest__table), qnnrt_manifest__table_rows, 1,
    QNNRT_MANIFEST__SIZED
};

static const qnnrt_manifest__field qnnrt_manifest__program_rows[] = {
    QNNRT_MANIFEST__ROW("version", U32, 1, qnnrt_manifest__program, version),
    QNNRT_MANIFEST__ITEMS("backends", LIST, 1, qnnrt_manifest__program, roles, role_count, roles),
    QNNRT_MANIFEST__ITEMS("contexts", LIST, 1, qnnrt_manifest__program, contexts, context_count,
                          contexts),
    QNNRT_MANIFEST__ITEMS("constants", LIST, 0, qnnrt_manifest__program, constants, constant_count,
                          constants),
    QNNRT_MANIFEST__ITEMS("pipelines", LIST, 0, qnnrt_manifest__program, pipelines, pipeline_count,
                          pipelines),
    QNNRT_MANIFEST__END
};
static const qnnrt_manifest__object qnnrt_manifest__whole = {
    "program", "\"program\"", sizeof(qnnrt_manifest__program), qnnrt_manifest__program_rows, 0,
    QNNRT_MANIFEST__PLAIN
};

/* =====================================================================================
   WRITE                                                                           >>write
   Writes a program, from descriptions of pipelines and from pipelines that exist.
   Needs: >>schema (its words)     Knows nothing of: how a program is read
   ===================================================================================== */

typedef struct qnnrt_manifest__writer {
    qnnrt_json_writer          json;
    const qnnrt_manifest_desc *desc;
    qnnrt_error               *err;
    qnnrt_result               result;
    const char                *name;            /* of the pipeline that is written */
} qnnrt_manifest__writer;

/* Keep the first failure: `text`, about `what` of the pipeline that is written. */
static void qnnrt_manifest__put_fail(qnnrt_manifest__writer *w, qnnrt_result code, const char *what,
                                 const char *text)
{
    if (w->result != QNNRT_OK) return;
    w->result = qnnrt_error_set(w->err, code, "\"%.160s\" %s", what != NULL ? what : "", text);
    if (w->name != NULL) qnnrt_error_about(w->err, code, "pipeline \"%.160s\": ", w->name);
}

static void qnnrt_manifest__put_text(qnnrt_manifest__writer *w, const char *key, const char *value)
{
    if (value == NULL || value[0] == '\0')
        qnnrt_manifest__put_fail(w, QNNRT_E_ARG, key, "has no text; expected a name");
    qnnrt_json_write_key(&w->json, key);
    qnnrt_json_write_string(&w->json, value);
}

static void qnnrt_manifest__put_number(qnnrt_manifest__writer *w, const char *key, uint64_t value)
{
    qnnrt_json_write_key(&w->json, key);
    qnnrt_json_write_u64(&w->json, value);
}

static void qnnrt_manifest__put_list(qnnrt_manifest__writer *w, const char *key, int one_line)
{
    qnnrt_json_write_key(&w->json, key);
    qnnrt_json_write_array(&w->json, one_line);
}

static void qnnrt_manifest__put_file(qnnrt_manifest__writer *w, const char *name)
{
    if (name == NULL || name[0] == '.' || strpbrk(name, "/\\") != NULL)
        qnnrt_manifest__put_fail(w, QNNRT_E_ARG, name,
                                 "is not the plain name of a file in the folder");
    qnnrt_manifest__put_text(w, "file", name);
}

static void qnnrt_manifest__put_dims(qnnrt_manifest__writer *w, const uint32_t *dims, uint32_t rank)
{
    uint32_t i;
    qnnrt_manifest__put_list(w, "dims", 1);
    for (i = 0; i < rank; ++i) qnnrt_json_write_u64(&w->json, dims[i]);
    qnnrt_json_write_close(&w->json);
}

/* Write the tensors of a host step. */
static void qnnrt_manifest__put_tensors(qnnrt_manifest__writer *w, const char *key,
                                    const qnnrt_tensor_info *tensors, size_t count)
{
    size_t i;
    qnnrt_manifest__put_list(w, key, 0);
    for (i = 0; i < count; ++i) {
        const qnnrt_quant *quant = &tensors[i].quant;
        qnnrt_json_write_object(&w->json, 1);
        qnnrt_manifest__put_text(w, "name", tensors[i].name);
        qnnrt_manifest__put_text(w, "dtype", qnnrt_dtype_name(tensors[i].dtype));
        qnnrt_manifest__put_dims(w, tensors[i].dims, tensors[i].rank);
        if (quant->encoding == QNNRT_ENCODING_PER_TENSOR) {
            qnnrt_json_write_key(&w->json, "scale");
            qnnrt_json_write_f32(&w->json, quant->scale);
            qnnrt_json_write_key(&w->json, "offset");
            qnnrt_json_write_i64(&w->json, quant->offset);
            if (quant->bitwidth != 0) qnnrt_manifest__put_number(w, "bits", quant->bitwidth);
        } else if (quant->encoding != QNNRT_ENCODING_NONE) {
            qnnrt_manifest__put_fail(w, QNNRT_E_UNSUPPORTED, tensors[i].name,
                                 "has an encoding that a manifest cannot have");
        }
        qnnrt_json_write_close(&w->json);
    }
    qnnrt_json_write_close(&w->json);
}

/* Write a graph of a context. */
static void qnnrt_manifest__put_graph(qnnrt_manifest__writer *w, size_t context, const char *graph)
{
    if (context >= w->desc->context_count)
        qnnrt_manifest__put_fail(w, QNNRT_E_ARG, graph, "is in a context that is not described");
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__put_number(w, "context", context);
    qnnrt_manifest__put_text(w, "graph", graph);
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__put_host(qnnrt_manifest__writer *w, const char *name,
                                 const qnnrt_tensor_info *inputs, size_t input_count,
                                 const qnnrt_tensor_info *outputs, size_t output_count)
{
    qnnrt_json_write_object(&w->json, 0);
    qnnrt_manifest__put_text(w, "host", name);
    qnnrt_manifest__put_tensors(w, "inputs", inputs, input_count);
    qnnrt_manifest__put_tensors(w, "outputs", outputs, output_count);
    qnnrt_json_write_close(&w->json);
}

/* Write [step, "tensor"]; key: NULL in a list. */
static void qnnrt_manifest__put_end(qnnrt_manifest__writer *w, const char *key, size_t step,
                                const char *tensor)
{
    if (key != NULL) qnnrt_json_write_key(&w->json, key);
    if (tensor == NULL) qnnrt_manifest__put_fail(w, QNNRT_E_ARG, key, "has no name of a tensor");
    qnnrt_json_write_array(&w->json, 1);
    qnnrt_json_write_u64(&w->json, step);
    qnnrt_json_write_string(&w->json, tensor);
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__put_edge(qnnrt_manifest__writer *w, const qnnrt_edge_desc *edge,
                                     qnnrt_convert how, int exact)
{
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__put_end(w, "from", edge->from_step, edge->from);
    qnnrt_manifest__put_end(w, "to", edge->to_step, edge->to);
    if ((unsigned)how > (unsigned)QNNRT_CONVERT_TO_NCHW)
        qnnrt_manifest__put_fail(w, QNNRT_E_ARG, edge->from,
                                 "has an edge of an unknown qnnrt_convert");
    else if (how != QNNRT_CONVERT_NONE)
        qnnrt_manifest__put_text(w, "convert", qnnrt_manifest__converts[how]);
    if (exact) {
        qnnrt_json_write_key(&w->json, "exact");
        qnnrt_json_write_bool(&w->json, 1);
    }
    qnnrt_json_write_close(&w->json);
}

/* Write the step and the tensor of an object that was begun. */
static void qnnrt_manifest__put_side(qnnrt_manifest__writer *w, size_t step, const char *tensor,
                                 int output)
{
    qnnrt_manifest__put_number(w, "step", step);
    qnnrt_manifest__put_text(w, output ? "output" : "input", tensor);
}

static void qnnrt_manifest__put_value(qnnrt_manifest__writer *w, size_t step, const char *input,
                                  const void *data)
{
    const qnnrt_manifest_constant *constants = w->desc->constants;
    size_t i = 0;
    while (i < w->desc->constant_count && constants[i].data != data) ++i;
    if (i == w->desc->constant_count) {
        qnnrt_manifest__put_fail(w, QNNRT_E_ARG, input, "has a constant that is not described");
        return;
    }
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__put_side(w, step, input, 0);
    qnnrt_manifest__put_text(w, "constant", constants[i].name);
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__put_name(qnnrt_manifest__writer *w, const qnnrt_use_desc *name)
{
    if (name->name[0] == '\0')
        qnnrt_manifest__put_fail(w, QNNRT_E_ARG, name->tensor, "has an empty name");
    qnnrt_json_write_key(&w->json, name->name);
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__put_side(w, name->step, name->tensor, name->output);
    qnnrt_json_write_close(&w->json);
}

/* Begin a buffer, up to the list of its slots. */
static void qnnrt_manifest__put_buffer(qnnrt_manifest__writer *w, const qnnrt_buffer_desc *buffer)
{
    qnnrt_json_write_object(&w->json, 0);
    qnnrt_manifest__put_text(w, "name", buffer->name);
    qnnrt_manifest__put_number(w, "bytes", buffer->bytes);
    if (buffer->align != 0) qnnrt_manifest__put_number(w, "align", buffer->align);
    qnnrt_manifest__put_list(w, "slots", 0);
}

static void qnnrt_manifest__put_keep(qnnrt_manifest__writer *w, const qnnrt_use_desc *keep)
{
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__put_side(w, keep->step, keep->tensor, keep->output);
    qnnrt_manifest__put_number(w, "offset", keep->offset);
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__put_range(qnnrt_manifest__writer *w, size_t step, const char *input,
                                  int32_t low, int32_t high)
{
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__put_side(w, step, input, 0);
    qnnrt_json_write_key(&w->json, "low");
    qnnrt_json_write_i64(&w->json, low);
    qnnrt_json_write_key(&w->json, "high");
    qnnrt_json_write_i64(&w->json, high);
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__put_only(qnnrt_manifest__writer *w)
{
    qnnrt_json_write_key(&w->json, "edges_only");
    qnnrt_json_write_bool(&w->json, 1);
}

/* ---- descriptions ---- */

/* Write the lists of what a description says about inputs and names. */
static void qnnrt_manifest__put_uses(qnnrt_manifest__writer *w, const qnnrt_use_desc *uses,
                                     size_t use_count)
{
    size_t i, count;
    for (i = 0, count = 0; i < use_count; ++i) {
        if (!uses[i].apart) continue;
        if (count++ == 0) qnnrt_manifest__put_list(w, "apart", 0);
        qnnrt_manifest__put_end(w, NULL, uses[i].step, uses[i].tensor);
    }
    if (count > 0) qnnrt_json_write_close(&w->json);
    for (i = 0, count = 0; i < use_count; ++i) {
        if (uses[i].constant == NULL) continue;
        if (count++ == 0) qnnrt_manifest__put_list(w, "constants", 0);
        qnnrt_manifest__put_value(w, uses[i].step, uses[i].tensor, uses[i].constant);
    }
    if (count > 0) qnnrt_json_write_close(&w->json);
    for (i = 0, count = 0; i < use_count; ++i) {
        if (uses[i].name == NULL) continue;
        if (count++ == 0) {
            qnnrt_json_write_key(&w->json, "names");
            qnnrt_json_write_object(&w->json, 0);
        }
        qnnrt_manifest__put_name(w, &uses[i]);
    }
    if (count > 0) qnnrt_json_write_close(&w->json);
    for (i = 0, count = 0; i < use_count; ++i) {
        if (!uses[i].has_range) continue;
        if (count++ == 0) qnnrt_manifest__put_list(w, "ranges", 0);
        qnnrt_manifest__put_range(w, uses[i].step, uses[i].tensor, uses[i].low, uses[i].high);
    }
    if (count > 0) qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__put_described(qnnrt_manifest__writer *w, const qnnrt_pipeline_desc *p,
                                          const qnnrt_conversion *wishes)
{
    size_t i, k;
    w->name = p->name != NULL ? p->name : "";
    qnnrt_json_write_object(&w->json, 0);
    qnnrt_manifest__put_text(w, "name", p->name);
    qnnrt_manifest__put_list(w, "steps", 0);
    for (i = 0; i < p->step_count; ++i) {
        const qnnrt_host_step *host = p->steps[i].host;
        if (host == NULL) qnnrt_manifest__put_graph(w, p->steps[i].context, p->steps[i].graph);
        else qnnrt_manifest__put_host(w, host->name, host->inputs, host->input_count, host->outputs,
                                  host->output_count);
    }
    qnnrt_json_write_close(&w->json);
    if (p->edge_count > 0) {
        qnnrt_manifest__put_list(w, "edges", 0);
        for (i = 0; i < p->edge_count; ++i)
            qnnrt_manifest__put_edge(w, &p->edges[i],
                                     wishes != NULL ? wishes[i].how : QNNRT_CONVERT_NONE,
                                     wishes != NULL && wishes[i].exact);
        qnnrt_json_write_close(&w->json);
    }
    if (p->edges_only) qnnrt_manifest__put_only(w);
    qnnrt_manifest__put_uses(w, p->uses, p->use_count);
    if (p->buffer_count > 0) {
        qnnrt_manifest__put_list(w, "buffers", 0);
        for (i = 0; i < p->buffer_count; ++i) {
            qnnrt_manifest__put_buffer(w, &p->buffers[i]);
            for (k = 0; k < p->use_count; ++k)
                if (p->uses[k].in_buffer && p->uses[k].buffer == i)
                    qnnrt_manifest__put_keep(w, &p->uses[k]);
            qnnrt_json_write_close(&w->json);
            qnnrt_json_write_close(&w->json);
        }
        qnnrt_json_write_close(&w->json);
    }
    qnnrt_json_write_close(&w->json);
}

/* ---- pipelines that exist ---- */

/* Return the number of a step without the conversions before it. */
static size_t qnnrt_manifest__put_step(const qnnrt_pipeline_info *p, size_t step)
{
    size_t i, number = 0;
    for (i = 0; i < step; ++i) number += p->steps[i].kind != QNNRT_STEP_DERIVED;
    return number;
}

/* Describe where a slot begins, or for what a conversion writes, one of its readers. */
static qnnrt_use_desc qnnrt_manifest__put_begin(const qnnrt_pipeline_info *p,
                                                const qnnrt_slot *slot)
{
    qnnrt_use_desc end;
    size_t step = slot->first, i = 0;
    memset(&end, 0, sizeof end);
    end.tensor = slot->tensor->name;
    end.output = slot->role == QNNRT_ROLE_OUTPUT || slot->role == QNNRT_ROLE_EDGE;
    if (p->steps[step].kind == QNNRT_STEP_DERIVED) {
        while (i + 1 < p->edge_count && p->edges[i].slot != slot) ++i;
        step = p->edges[i].to_step;
        end.tensor = p->edges[i].to->name;
        end.output = 0;
    }
    end.step = qnnrt_manifest__put_step(p, step);
    return end;
}

/* Write an edge, unless it leads into a conversion: then its readers' edges stand for it. */
static void qnnrt_manifest__put_wired_edge(qnnrt_manifest__writer *w, const qnnrt_pipeline_info *p,
                                       const qnnrt_edge_info *from)
{
    qnnrt_converter_info converts = qnnrt_convert_get_info(NULL);
    qnnrt_edge_desc edge;
    size_t i = 0;
    memset(&edge, 0, sizeof edge);
    if (p->steps[from->to_step].kind == QNNRT_STEP_DERIVED) return;
    edge.to_step = qnnrt_manifest__put_step(p, from->to_step);
    edge.to = from->to->name;
    if (p->steps[from->from_step].kind == QNNRT_STEP_DERIVED) {
        converts = qnnrt_convert_get_info(qnnrt_convert_of(&p->steps[from->from_step]));
        while (i + 1 < p->edge_count && p->edges[i].to_step != from->from_step) ++i;
        from = &p->edges[i];
    }
    edge.from_step = qnnrt_manifest__put_step(p, from->from_step);
    edge.from = from->from->name;
    qnnrt_manifest__put_edge(w, &edge, converts.how, converts.exact);
}

/* Return 1 if an input was kept apart: other inputs of its name are slots of their own. */
static int qnnrt_manifest__put_is_apart(const qnnrt_pipeline_info *p, const qnnrt_slot *slot)
{
    size_t i;
    if (slot->role != QNNRT_ROLE_INPUT || slot->first != slot->last) return 0;
    for (i = 0; i < p->slot_count; ++i)
        if (&p->slots[i] != slot && p->slots[i].role == QNNRT_ROLE_INPUT &&
            strcmp(p->slots[i].tensor->name, slot->tensor->name) == 0) return 1;
    return 0;
}

/* Write the lists of a pipeline that concern its slots. */
static void qnnrt_manifest__put_wired_slots(qnnrt_manifest__writer *w, const qnnrt_pipeline_info *p)
{
    size_t i, count = 0;
    for (i = 0; i < p->slot_count; ++i) {
        if (!qnnrt_manifest__put_is_apart(p, &p->slots[i])) continue;
        if (count++ == 0) qnnrt_manifest__put_list(w, "apart", 0);
        qnnrt_manifest__put_end(w, NULL, qnnrt_manifest__put_step(p, p->slots[i].first),
                            p->slots[i].tensor->name);
    }
    if (count > 0) qnnrt_json_write_close(&w->json);
    for (i = 0, count = 0; i < p->slot_count; ++i) {
        if (p->slots[i].role != QNNRT_ROLE_CONSTANT) continue;
        if (count++ == 0) qnnrt_manifest__put_list(w, "constants", 0);
        qnnrt_manifest__put_value(w, qnnrt_manifest__put_step(p, p->slots[i].first),
                              p->slots[i].tensor->name, p->slots[i].constant);
    }
    if (count > 0) qnnrt_json_write_close(&w->json);
    if (p->name_count > 0) {
        qnnrt_json_write_key(&w->json, "names");
        qnnrt_json_write_object(&w->json, 0);
        for (i = 0; i < p->name_count; ++i) {
            qnnrt_use_desc name = qnnrt_manifest__put_begin(p, p->names[i].slot);
            name.name = p->names[i].name;
            qnnrt_manifest__put_name(w, &name);
        }
        qnnrt_json_write_close(&w->json);
    }
}

static void qnnrt_manifest__put_wired_buffers(qnnrt_manifest__writer *w,
                                              const qnnrt_pipeline_info *p)
{
    size_t i, k;
    if (p->buffer_count == 0) return;
    qnnrt_manifest__put_list(w, "buffers", 0);
    for (i = 0; i < p->buffer_count; ++i) {
        qnnrt_manifest__put_buffer(w, &p->buffers[i]);
        for (k = 0; k < p->place_count; ++k) {
            qnnrt_use_desc keep = qnnrt_manifest__put_begin(p, p->places[k].slot);
            if (p->places[k].buffer != i) continue;
            keep.offset = p->places[k].offset;
            qnnrt_manifest__put_keep(w, &keep);
        }
        qnnrt_json_write_close(&w->json);
        qnnrt_json_write_close(&w->json);
    }
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__put_wired_ranges(qnnrt_manifest__writer *w,
                                             const qnnrt_pipeline_info *p)
{
    size_t i, count = 0;
    for (i = 0; i < p->slot_count; ++i) {
        const qnnrt_slot *slot = &p->slots[i];
        if (!slot->has_range) continue;
        if (count++ == 0) qnnrt_manifest__put_list(w, "ranges", 0);
        qnnrt_manifest__put_range(w, qnnrt_manifest__put_step(p, slot->first), slot->tensor->name,
                              slot->low, slot->high);
    }
    if (count > 0) qnnrt_json_write_close(&w->json);
}

/* Return the number of the context of a step's graph, or their number: it is not listed. */
static size_t qnnrt_manifest__put_context(const qnnrt_manifest__writer *w,
                                          const qnnrt_step_info *step)
{
    size_t i;
    for (i = 0; i < w->desc->context_count; ++i)
        if (w->desc->contexts[i].model == NULL
                ? i == step->context
                : w->desc->contexts[i].model == step->model &&
                      w->desc->contexts[i].context == step->context) return i;
    return i;
}

static void qnnrt_manifest__put_wired(qnnrt_manifest__writer *w, const qnnrt_pipeline *pipeline)
{
    const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(pipeline);
    const qnnrt *model = NULL;
    size_t i;
    w->name = p != NULL ? p->name : "";
    if (p == NULL || p->failure != NULL) {
        qnnrt_manifest__put_fail(w, QNNRT_E_ARG, w->name, "is not wired");
        return;
    }
    qnnrt_json_write_object(&w->json, 0);
    qnnrt_manifest__put_text(w, "name", p->name);
    qnnrt_manifest__put_list(w, "steps", 0);
    for (i = 0; i < p->step_count; ++i) {
        const qnnrt_step_info *step = &p->steps[i];
        const qnnrt_graph_info *graph = step->graph;
        if (step->kind == QNNRT_STEP_GRAPH) {
            const size_t context = qnnrt_manifest__put_context(w, step);
            if (context == w->desc->context_count || (model != NULL && step->model != model &&
                                                      w->desc->contexts[context].model == NULL))
                qnnrt_manifest__put_fail(w, QNNRT_E_ARG, graph->name, "belongs to another model");
            model = step->model;
            qnnrt_manifest__put_graph(w, context, graph->name);
        } else if (step->kind == QNNRT_STEP_HOST) {
            qnnrt_manifest__put_host(w, graph->name, graph->inputs, graph->input_count,
                                     graph->outputs, graph->output_count);
        }
    }
    qnnrt_json_write_close(&w->json);
    if (p->edge_count > 0) {
        qnnrt_manifest__put_list(w, "edges", 0);
        for (i = 0; i < p->edge_count; ++i) qnnrt_manifest__put_wired_edge(w, p, &p->edges[i]);
        qnnrt_json_write_close(&w->json);
        qnnrt_manifest__put_only(w);
    }
    qnnrt_manifest__put_wired_slots(w, p);
    qnnrt_manifest__put_wired_buffers(w, p);
    qnnrt_manifest__put_wired_ranges(w, p);
    qnnrt_json_write_close(&w->json);
}

/* ---- the program ---- */

/* Write the roles of the contexts, each once. */
static void qnnrt_manifest__put_roles(qnnrt_manifest__writer *w)
{
    const qnnrt_manifest_context *contexts = w->desc->contexts;
    size_t i, k;
    qnnrt_manifest__put_list(w, "backends", 1);
    for (i = 0; i < w->desc->context_count; ++i) {
        if (contexts[i].backend == NULL || contexts[i].backend[0] == '\0') {
            qnnrt_manifest__put_fail(w, QNNRT_E_ARG, contexts[i].file, "has no backend");
            continue;
        }
        for (k = 0; k < i && strcmp(contexts[k].backend, contexts[i].backend) != 0;) ++k;
        if (k == i) qnnrt_json_write_string(&w->json, contexts[i].backend);
    }
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__put_contexts(qnnrt_manifest__writer *w)
{
    char digits[24];
    size_t i;
    qnnrt_manifest__put_list(w, "contexts", 0);
    for (i = 0; i < w->desc->context_count; ++i) {
        const qnnrt_manifest_context *context = &w->desc->contexts[i];
        qnnrt_json_write_object(&w->json, 1);
        qnnrt_manifest__put_file(w, context->file);
        qnnrt_manifest__put_text(w, "backend", context->backend);
        snprintf(digits, sizeof digits, "%016llx", (unsigned long long)context->fingerprint);
        if (context->fingerprint != 0) qnnrt_manifest__put_text(w, "fingerprint", digits);
        if (context->sha256 != NULL) qnnrt_manifest__put_text(w, "sha256", context->sha256);
        qnnrt_json_write_close(&w->json);
    }
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__put_constants(qnnrt_manifest__writer *w)
{
    size_t i;
    if (w->desc->constant_count == 0) return;
    qnnrt_manifest__put_list(w, "constants", 0);
    for (i = 0; i < w->desc->constant_count; ++i) {
        const qnnrt_manifest_constant *constant = &w->desc->constants[i];
        qnnrt_json_write_object(&w->json, 1);
        qnnrt_manifest__put_text(w, "name", constant->name);
        qnnrt_manifest__put_file(w, constant->file);
        qnnrt_manifest__put_number(w, "offset", constant->offset);
        qnnrt_manifest__put_text(w, "dtype", qnnrt_dtype_name(constant->dtype));
        qnnrt_manifest__put_dims(w, constant->dims, constant->rank);
        qnnrt_json_write_close(&w->json);
    }
    qnnrt_json_write_close(&w->json);
}

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_write(const qnnrt_manifest_desc *desc,
                                                     int (*write)(void *user, const char *text,
                                                                  size_t bytes),
                                                     void *user, qnnrt_error *err)
{
    qnnrt_manifest__writer w;
    size_t i;
    memset(&w, 0, sizeof w);
    w.err = err;
    qnnrt_error_clear(err);
    if (desc == NULL || write == NULL || desc->context_count == 0) {
        qnnrt_manifest__put_fail(&w, QNNRT_E_ARG, "contexts",
                                 "are missing, or desc or write is NULL");
        return w.result;
    }
    w.desc = desc;
    qnnrt_json_write_begin(&w.json, write, user, 4);
    qnnrt_json_write_object(&w.json, 0);
    qnnrt_json_write_key(&w.json, "program");
    qnnrt_json_write_object(&w.json, 0);
    qnnrt_manifest__put_number(&w, "version", 1);
    qnnrt_manifest__put_roles(&w);
    qnnrt_manifest__put_contexts(&w);
    qnnrt_manifest__put_constants(&w);
    if (desc->pipeline_count + desc->wired_count > 0) {
        qnnrt_manifest__put_list(&w, "pipelines", 0);
        for (i = 0; i < desc->pipeline_count && w.result == QNNRT_OK; ++i)
            qnnrt_manifest__put_described(&w, &desc->pipelines[i],
                                          desc->conversions != NULL ? desc->conversions[i] : NULL);
        for (i = 0; i < desc->wired_count && w.result == QNNRT_OK; ++i)
            qnnrt_manifest__put_wired(&w, desc->wired[i]);
        qnnrt_json_write_close(&w.json);
    }
    w.name = NULL;
    if (w.result != QNNRT_OK) return w.result;
    qnnrt_json_write_close(&w.json);
    if (desc->more != NULL) desc->more(desc->more_user, &w.json);
    qnnrt_json_write_close(&w.json);
    if (!qnnrt_json_write_end(&w.json))
        qnnrt_manifest__put_fail(&w, QNNRT_E_IO, "write", w.json.error != NULL ? w.json.error
                                                                           : "did not accept it");
    return w.result;
}

/* =====================================================================================
   READ                                                                             >>read
   Reads values of a qnnrt.json. Wrong types, numbers out of range and paths are errors with their
   place.
   Needs: >>schema, qnnrt_json.h     Knows nothing of: files, backends, graphs
   ===================================================================================== */

enum { QNNRT_MANIFEST__MOST_DIMS = 32 };     /* a list with more dimensions is refused */

typedef struct qnnrt_manifest__reader {
    qnnrt_json_reader r;
    qnnrt_arena      *arena;
    qnnrt_limits      limits;               /* none is 0 */
    uint32_t          left;                 /* entries that may follow */
    const char       *path;                 /* of the text */
    qnnrt_error      *err;
    qnnrt_result      result;               /* the first failure */
    char              place[400];           /* where the reader is, for errors */
} qnnrt_manifest__reader;

/* ---- errors ---- */

static int qnnrt_manifest__good(const qnnrt_manifest__reader *m)
{
    return m->result == QNNRT_OK && m->r.error == NULL;
}

/* Fill the error with place and byte; the first error stays, and one of the text's grammar. Return
   0. */
#ifdef __GNUC__
__attribute__((cold, format(printf, 3, 4)))
#endif
static int qnnrt_manifest__refuse(qnnrt_manifest__reader *m, qnnrt_result code, const char *format,
                                  ...)
{
    char text[700];
    va_list args;
    if (!qnnrt_manifest__good(m)) return 0;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    m->result = code;
    qnnrt_error_set(m->err, code, "%s: %s%s%s (byte %lu)", m->path, m->place,
                    m->place[0] != '\0' ? ": " : "", text, (unsigned long)(m->r.at - m->r.begin));
    return 0;
}

/* Fail because the arena has no memory. Return 0. */
static int qnnrt_manifest__starve(qnnrt_manifest__reader *m)
{
    if (qnnrt_manifest__good(m))
        m->result = qnnrt_error_set(m->err, QNNRT_E_MEMORY, "out of memory for a program");
    return 0;
}

/* Add a part to the place. Return the length of the old place. */
static size_t qnnrt_manifest__enter(qnnrt_manifest__reader *m, const char *part, size_t index)
{
    const size_t used = strlen(m->place);
    snprintf(m->place + used, sizeof m->place - used, "%s%s %lu", used > 0 ? ": " : "", part,
             (unsigned long)index);
    return used;
}

/* Return "a number" and the like, for messages. */
static const char *qnnrt_manifest__kind(qnnrt_json_type type)
{
    static const char *const names[] = { "nothing", "null", "false", "true", "a number", "text",
                                         "a list", "an object" };
    return names[(unsigned)type < 8 ? (unsigned)type : 0];
}

/* Write a value or key as it stands in the text. */
static const char *qnnrt_manifest__shown(const qnnrt_json_text *text, char out[48])
{
    const size_t length = text->bytes < 40 ? text->bytes : 40;
    memcpy(out, text->text, length);
    memcpy(out + length, length < text->bytes ? "..." : "", length < text->bytes ? 4 : 1);
    return out;
}

/* Fail because a value is not what was expected. */
static int qnnrt_manifest__wrong(qnnrt_manifest__reader *m, const char *key, const char *expected)
{
    char shown[48];
    const char *quote = m->r.type == QNNRT_JSON_STRING ? "\"" : "";
    return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"%s\" is %s%s%s; expected %s", key, quote,
                                  qnnrt_manifest__shown(&m->r.value, shown), quote, expected);
}

/* ---- values ---- */

/* Read the next value, which must have this type. */
static int qnnrt_manifest__take(qnnrt_manifest__reader *m, const char *key, qnnrt_json_type type)
{
    const qnnrt_json_type found = qnnrt_json_value(&m->r);
    return found == type ||
           qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"%s\" is %s; expected %s", key,
                                  qnnrt_manifest__kind(found), qnnrt_manifest__kind(type));
}

static int qnnrt_manifest__copy(qnnrt_manifest__reader *m, const char *key,
                                const qnnrt_json_text *text, const char **out)
{
    const size_t most = m->limits.name_bytes;
    const size_t raw = text->escaped ? most * 6 : most;     /* an escape has at most six bytes */
    size_t bytes = text->bytes;
    char *copy = NULL;
    *out = NULL;
    if (bytes <= raw) {
        copy = (char *)qnnrt_arena_get(m->arena, (uint64_t)bytes + 1, 1);
        if (copy == NULL) return qnnrt_manifest__starve(m);
        bytes = qnnrt_json_copy(text, copy);
    }
    if (bytes > most)
        return qnnrt_manifest__refuse(m, QNNRT_E_LIMIT,
                                      "\"%s\" is longer than %lu bytes (limits.name_bytes)", key,
                                      (unsigned long)most);
    if (strlen(copy) != bytes)
        return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"%s\" contains \\u0000; a name cannot",
                                      key);
    *out = copy;
    return 1;
}

/* Read a text that is not empty. */
static int qnnrt_manifest__text_of(qnnrt_manifest__reader *m, const char *key, const char **out)
{
    *out = NULL;
    if (!qnnrt_manifest__take(m, key, QNNRT_JSON_STRING) ||
        !qnnrt_manifest__copy(m, key, &m->r.value, out)) return 0;
    return (*out)[0] != '\0' ||
           qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"%s\" is empty; expected a name", key);
}

/* Read the name of a file in the folder. A path in a program is never followed. */
static int qnnrt_manifest__file_of(qnnrt_manifest__reader *m, const char *key, const char **out)
{
    *out = NULL;
    if (!qnnrt_manifest__take(m, key, QNNRT_JSON_STRING) ||
        !qnnrt_manifest__copy(m, key, &m->r.value, out)) return 0;
    return ((*out)[0] != '\0' && (*out)[0] != '.' && strpbrk(*out, "/\\") == NULL) ||
           qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"%s\" is \"%.200s\"; expected the plain name"
                                  " of a file in the folder", key, *out);
}

static int qnnrt_manifest__number_of(qnnrt_manifest__reader *m, const char *key, uint64_t most,
                                     uint64_t *out)
{
    char expected[64];
    *out = 0;
    if (!qnnrt_manifest__take(m, key, QNNRT_JSON_NUMBER)) return 0;
    if (qnnrt_json_u64(&m->r.value, out) && *out <= most) return 1;
    snprintf(expected, sizeof expected, "a whole number from 0 to %llu", (unsigned long long)most);
    return qnnrt_manifest__wrong(m, key, expected);
}

static int qnnrt_manifest__i32_of(qnnrt_manifest__reader *m, const char *key, int32_t *out)
{
    int64_t value;
    if (!qnnrt_manifest__take(m, key, QNNRT_JSON_NUMBER)) return 0;
    if (!qnnrt_json_i64(&m->r.value, &value) || value < INT32_MIN || value > INT32_MAX)
        return qnnrt_manifest__wrong(m, key, "a whole number of 32 bits");
    *out = (int32_t)value;
    return 1;
}

static int qnnrt_manifest__bool_of(qnnrt_manifest__reader *m, const char *key, int *out)
{
    const qnnrt_json_type type = qnnrt_json_value(&m->r);
    *out = type == QNNRT_JSON_TRUE;
    return type == QNNRT_JSON_TRUE || type == QNNRT_JSON_FALSE ||
           qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"%s\" is %s; expected true or false", key,
                                  qnnrt_manifest__kind(type));
}

/* Read a fingerprint or a hash as small digits. */
static int qnnrt_manifest__digits_of(qnnrt_manifest__reader *m, const char *key, size_t count,
                                     const char **out)
{
    const qnnrt_json_text *value = &m->r.value;
    char *text;
    size_t i;
    if (!qnnrt_manifest__take(m, key, QNNRT_JSON_STRING)) return 0;
    if (*out != NULL)
        return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "a context has either \"fingerprint\" or"
                                      " \"hash\"");
    text = (char *)qnnrt_arena_get(m->arena, count + 1, 1);
    if (text == NULL) return qnnrt_manifest__starve(m);
    for (i = 0; i < value->bytes && i < count; ++i) {
        const char c = value->text[i];
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')) text[i] = c;
        else if (c >= 'A' && c <= 'F') text[i] = (char)(c - 'A' + 'a');
        else break;
    }
    *out = text;
    return (i == count && value->bytes == count) ||
           qnnrt_manifest__wrong(m, key, count == 16 ? "16 hexadecimal digits"
                                                     : "64 hexadecimal digits");
}

static int qnnrt_manifest__convert_of(qnnrt_manifest__reader *m, const char *key,
                                      qnnrt_convert *out)
{
    int i;
    if (!qnnrt_manifest__take(m, key, QNNRT_JSON_STRING)) return 0;
    for (i = (int)QNNRT_CONVERT_VALUES; i <= (int)QNNRT_CONVERT_TO_NCHW; ++i) {
        *out = (qnnrt_convert)i;
        if (qnnrt_json_is(&m->r.value, qnnrt_manifest__converts[i])) return 1;
    }
    return qnnrt_manifest__wrong(m, key, "\"values\", \"to_nhwc\" or \"to_nchw\"");
}

/* Return the bits of an element: the low byte of a dtype has them as decimal digits. */
static unsigned qnnrt_manifest__bits(qnnrt_dtype dtype)
{
    const unsigned low = (unsigned)dtype & 0xFFu;
    return dtype == QNNRT_DTYPE_BF16 ? 16u : (low >> 4) * 10u + (low & 15u);
}

static int qnnrt_manifest__dtype_of(qnnrt_manifest__reader *m, const char *key, qnnrt_dtype *out)
{
    unsigned number;
    if (!qnnrt_manifest__take(m, key, QNNRT_JSON_STRING)) return 0;
    for (number = 0; number <= (unsigned)QNNRT_DTYPE_BOOL8; ++number) {
        const char *name = qnnrt_dtype_name((qnnrt_dtype)number);
        *out = (qnnrt_dtype)number;
        if (name[0] == m->r.value.text[0] && strcmp(name, "unknown") != 0 &&
            qnnrt_json_is(&m->r.value, name)) return 1;
    }
    return qnnrt_manifest__wrong(m, key, "a type with a size, such as \"float32\"");
}

static int qnnrt_manifest__dims_of(qnnrt_manifest__reader *m, const char *key,
                                   qnnrt_tensor_info *tensor)
{
    uint32_t dims[QNNRT_MANIFEST__MOST_DIMS], *copy, most = m->limits.rank;
    if (most > QNNRT_MANIFEST__MOST_DIMS) most = QNNRT_MANIFEST__MOST_DIMS;
    if (!qnnrt_manifest__take(m, key, QNNRT_JSON_ARRAY)) return 0;
    while (qnnrt_json_more(&m->r)) {
        uint64_t size;
        if (tensor->rank == most)
            return qnnrt_manifest__refuse(m, QNNRT_E_LIMIT, "\"%s\" has more than %lu dimensions"
                                          " (limits.rank)", key, (unsigned long)most);
        if (!qnnrt_manifest__number_of(m, key, UINT32_MAX, &size)) return 0;
        if (size == 0)
            return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"%s\" has a dimension of 0", key);
        dims[tensor->rank++] = (uint32_t)size;
    }
    if (m->r.error != NULL) return 0;
    copy = (uint32_t *)qnnrt_arena_get(m->arena, tensor->rank, sizeof *copy);
    if (copy == NULL) return qnnrt_manifest__starve(m);
    memcpy(copy, dims, tensor->rank * sizeof *copy);
    tensor->dims = copy;
    return 1;
}

/* Read [step, "name of a tensor"]. */
static int qnnrt_manifest__pair_of(qnnrt_manifest__reader *m, const char *key, size_t *step,
                                   const char **name)
{
    uint64_t number = 0;
    if (!qnnrt_manifest__take(m, key, QNNRT_JSON_ARRAY)) return 0;
    if (qnnrt_json_more(&m->r) && !qnnrt_manifest__number_of(m, key, UINT32_MAX, &number)) return 0;
    if (qnnrt_json_more(&m->r) && !qnnrt_manifest__text_of(m, key, name)) return 0;
    *step = (size_t)number;
    if (*name != NULL && m->r.error == NULL && !qnnrt_json_more(&m->r)) return m->r.error == NULL;
    return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"%s\" must have two elements: the number of"
                                  " a step and the name of a tensor", key);
}

/* =====================================================================================
   OBJECTS                                                                       >>objects
   Reads objects and lists by the tables of >>schema, and what the parts of a program say together.
   Needs: >>schema >>read, qnnrt_json.h     Knows nothing of: files, backends, graphs
   ===================================================================================== */

/* ---- names ---- */

static const char *qnnrt_manifest__name_of(const void *item)
{
    const char *name;
    memcpy(&name, item, sizeof name);
    return name;
}

static int qnnrt_manifest__order(const void *a, const void *b)
{
    return strcmp(qnnrt_manifest__name_of(a), qnnrt_manifest__name_of(b));
}

/* Return items in the order of their names, and refuse a name that occurs twice. NULL after a
   failure. */
static const void **qnnrt_manifest__sorted(qnnrt_manifest__reader *m, const char *part,
                                           const void *items, size_t count, size_t bytes)
{
    const void **sorted = (const void **)qnnrt_arena_get(m->arena, count, sizeof *sorted);
    size_t i;
    if (sorted == NULL) qnnrt_manifest__starve(m);
    if (sorted == NULL) return NULL;
    for (i = 0; i < count; ++i) sorted[i] = (const unsigned char *)items + i * bytes;
    qnnrt_sort(sorted, count, qnnrt_manifest__order);
    for (i = 1; i < count; ++i)
        if (qnnrt_manifest__order(sorted[i - 1], sorted[i]) == 0) {
            qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "%s \"%.200s\" occurs twice", part,
                                   qnnrt_manifest__name_of(sorted[i]));
            return NULL;
        }
    return sorted;
}

/* Find an item by its name. Return NULL if there is none. */
static const void *qnnrt_manifest__named(const void *const *sorted, size_t count, const char *name)
{
    size_t low = 0;
    while (count > 0) {
        const size_t half = count / 2;
        const int order = strcmp(qnnrt_manifest__name_of(sorted[low + half]), name);
        if (order == 0) return sorted[low + half];
        if (order < 0) low += half + 1;
        count = order < 0 ? count - half - 1 : half;
    }
    return NULL;
}

/* ---- what the table of an object cannot say ---- */

/* Compute the size of a tensor and check its encoding. */
static int qnnrt_manifest__sizes(qnnrt_manifest__reader *m, qnnrt_tensor_info *tensor)
{
    const unsigned bits = qnnrt_manifest__bits(tensor->dtype);
    const qnnrt_quant *quant = &tensor->quant;
    const char *why = NULL;
    uint64_t count = 1;
    uint32_t i;
    for (i = 0; i < tensor->rank && count <= (uint64_t)(SIZE_MAX / 16) / tensor->dims[i]; ++i)
        count *= tensor->dims[i];
    if (i < tensor->rank)
        return qnnrt_manifest__refuse(m, QNNRT_E_LIMIT, "\"%.200s\": the product of its dimensions"
                                      " exceeds the address space", tensor->name);
    tensor->count = count;
    tensor->bytes = bits < 8 ? (count + 8 / bits - 1) / (8 / bits) : count * (bits / 8);
    if (quant->bitwidth > bits) why = "bitwidth exceeds the bits of the type";
    else if (quant->encoding == QNNRT_ENCODING_PER_TENSOR &&
             !(quant->scale > 0 && quant->scale <= FLT_MAX &&
               1.0 / (double)quant->scale <= (double)FLT_MAX))
        why = "scale is not positive and finite, or so small that 1/scale is infinite";
    return why == NULL || qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"%.200s\" (%s): %s",
                                                 tensor->name, qnnrt_dtype_name(tensor->dtype),
                                                 why);
}

/* Check that the fields from `first` to before `end` were read. what: the object that has them. */
static int qnnrt_manifest__needs(qnnrt_manifest__reader *m, const qnnrt_manifest__field *fields,
                                 int first, int end, const char *what, uint32_t seen)
{
    while (first < end && (seen >> first & 1u) != 0) ++first;
    return first == end || qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "%s needs \"%s\"", what,
                                                  fields[first].key);
}

/* Complete an input or output of a host step. It has an encoding if it has "scale", "offset" or
   "bits". */
static int qnnrt_manifest__encoded(qnnrt_manifest__reader *m, qnnrt_tensor_info *tensor,
                                   uint32_t seen)
{
    const unsigned kind = (unsigned)tensor->dtype >> 8;
    qnnrt_quant *quant = &tensor->quant;
    quant->vendor_encoding = (uint32_t)QNNRT_DTYPE_UNDEFINED;      /* the vendor's for any enum */
    if (seen >> QNNRT_MANIFEST__SCALE != 0) {
        if (!qnnrt_manifest__needs(m, qnnrt_manifest__tensor_rows, QNNRT_MANIFEST__SCALE,
                                   QNNRT_MANIFEST__OFFSET + 1, "an encoding", seen)) return 0;
        if (kind != 3 && kind != 4)
            return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"%.200s\" has an encoding, but %s is"
                                          " not a quantized type", tensor->name,
                                          qnnrt_dtype_name(tensor->dtype));
        quant->encoding = QNNRT_ENCODING_PER_TENSOR;
        quant->vendor_encoding = quant->bitwidth != 0 ? 2 : 0;     /* with a bit width, without */
    }
    return qnnrt_manifest__sizes(m, tensor);
}

/* Check an object whose members were read. */
static int qnnrt_manifest__finish(qnnrt_manifest__reader *m, const qnnrt_manifest__object *o,
                                  void *item, uint32_t seen)
{
    qnnrt_manifest__table *table = (qnnrt_manifest__table *)item;
    const qnnrt_buffer_desc *space = &((const qnnrt_manifest__buffer *)item)->desc;
    const int host = seen >> QNNRT_MANIFEST__HOST != 0;
    switch (o->check) {
    case QNNRT_MANIFEST__TENSOR:
        return qnnrt_manifest__encoded(m, (qnnrt_tensor_info *)item, seen);
    case QNNRT_MANIFEST__STEP:
        if (host && (seen & 3u) != 0)
            return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "a step has either \"context\" and"
                                          " \"graph\", or \"host\", \"inputs\" and \"outputs\"");
        return qnnrt_manifest__needs(m, o->fields, host ? QNNRT_MANIFEST__HOST : 0,
                                     host ? 5 : QNNRT_MANIFEST__HOST,
                                     host ? "a host step" : "a step", seen);
    case QNNRT_MANIFEST__SIZED:
        table->tensor.quant.vendor_encoding = (uint32_t)QNNRT_DTYPE_UNDEFINED;
        if (!qnnrt_manifest__sizes(m, &table->tensor)) return 0;
        return table->offset <= UINT64_MAX - table->tensor.bytes ||
               qnnrt_manifest__refuse(m, QNNRT_E_LIMIT, "\"%.200s\" ends beyond any file: its"
                                      " \"offset\" is %llu", table->tensor.name,
                                      (unsigned long long)table->offset);
    case QNNRT_MANIFEST__SPACE:
        if (space->bytes == 0)
            return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"bytes\" is 0; expected 1 or more");
        return (space->align & (space->align - 1u)) == 0 ||
               qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"align\" is %lu; expected a power of"
                                      " two", (unsigned long)space->align);
    case QNNRT_MANIFEST__EITHER:
        return (seen & 6u) == 2 || (seen & 6u) == 4 ||
               qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "%s has either an \"input\" or an"
                                      " \"output\"", o->what);
    case QNNRT_MANIFEST__FILLED:
        return ((const qnnrt_manifest__pipeline *)item)->desc.step_count > 0 ||
               qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"steps\" is empty");
    default: return 1;
    }
}

/* ---- objects ---- */

static int qnnrt_manifest__value_of(qnnrt_manifest__reader *m, const qnnrt_manifest__field *field,
                                    const char *key, void *item);

/* Find the key of a member. Return its row, or -1 after a failure. */
static int qnnrt_manifest__key(qnnrt_manifest__reader *m, const qnnrt_manifest__object *o,
                               uint32_t seen)
{
    const qnnrt_manifest__field *f = o->fields;
    char key[48];
    int i = 0;
    while (f[i].key != NULL && !qnnrt_json_is(&m->r.key, f[i].key)) ++i;
    if (f[i].key != NULL && (seen >> i & 1u) == 0) return i;
    if (f[i].key != NULL) {
        qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"%s\" occurs twice", f[i].key);
        return -1;
    }
    qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "%s has an unknown key \"%s\"", o->what,
                           qnnrt_manifest__shown(&m->r.key, key));
    qnnrt_error_hint(m->err, QNNRT_E_FORMAT, "Use the keys %s", f[0].key);
    for (i = 1; f[i].key != NULL; ++i) {
        const size_t used = strlen(m->err->hint);
        snprintf(m->err->hint + used, sizeof m->err->hint - used, "%s%s%s",
                 f[i + 1].key != NULL ? ", " : " and ", f[i].key, f[i + 1].key != NULL ? "" : ".");
    }
    return -1;
}

/* Read an object. */
static int qnnrt_manifest__object_of(qnnrt_manifest__reader *m, const qnnrt_manifest__object *o,
                                     void *item)
{
    uint32_t seen = 0;
    int row;
    if (o->fields[0].key == NULL)
        return qnnrt_manifest__value_of(m, o->fields, o->part, item);
    if (!qnnrt_manifest__take(m, o->part, QNNRT_JSON_OBJECT)) return 0;
    while (qnnrt_json_more(&m->r)) {
        row = qnnrt_manifest__key(m, o, seen);
        if (row < 0 || !qnnrt_manifest__value_of(m, &o->fields[row], o->fields[row].key, item))
            return 0;
        seen |= 1u << row;
        if (row == 0 && o == &qnnrt_manifest__pipelines)
            snprintf(m->place, sizeof m->place, "pipeline \"%.100s\"",
                     qnnrt_manifest__name_of(item));
    }
    if (!qnnrt_manifest__good(m)) return 0;
    for (row = 0; o->fields[row].key != NULL; ++row)
        if (o->fields[row].needed && (seen >> row & 1u) == 0)
            return qnnrt_manifest__needs(m, o->fields, row, row + 1, o->what, seen);
    return qnnrt_manifest__finish(m, o, item, seen);
}

/* Read items of a list or, with map, the members of an object, whose keys are their names. Each
   item counts against limits.tensors. */
static int qnnrt_manifest__items_of(qnnrt_manifest__reader *m, const qnnrt_manifest__object *o,
                                    const char *key, int map, unsigned char **out, size_t *count)
{
    unsigned char *items = NULL;
    size_t room = 0;
    if (!qnnrt_manifest__take(m, key, map ? QNNRT_JSON_OBJECT : QNNRT_JSON_ARRAY)) return 0;
    for (*count = 0; qnnrt_json_more(&m->r); ++*count) {
        const size_t used = qnnrt_manifest__enter(m, o->part, *count);
        const char *name = NULL;
        if (m->left == 0)
            return qnnrt_manifest__refuse(m, QNNRT_E_LIMIT, "the program has more than %lu entries"
                                          " (limits.tensors)", (unsigned long)m->limits.tensors);
        m->left -= 1;
        if (*count == 0) {      /* most lists are short */
            room = 1;
            items = (unsigned char *)qnnrt_arena_get(m->arena, room, o->bytes);
        } else {
            items = (unsigned char *)qnnrt_arena_more(m->arena, items, *count, &room, o->bytes);
        }
        if (items == NULL) return qnnrt_manifest__starve(m);
        if (map) {
            if (!qnnrt_manifest__copy(m, key, &m->r.key, &name)) return 0;
            if (name[0] == '\0')
                return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "a name in \"%s\" is empty", key);
            memcpy(items + *count * o->bytes, &name, sizeof name);
        }
        if (!qnnrt_manifest__object_of(m, o, items + *count * o->bytes) ||
            !qnnrt_manifest__good(m)) return 0;
        m->place[used] = '\0';
    }
    *out = items;
    return qnnrt_manifest__good(m) &&
           (!o->named || qnnrt_manifest__sorted(m, o->part, items, *count, o->bytes) != NULL);
}

/* Read the value of a member. It calls itself for the objects of a list, at most four deep. */
static int qnnrt_manifest__value_of(qnnrt_manifest__reader *m, const qnnrt_manifest__field *field,
                                    const char *key, void *item)
{
    void *at = (unsigned char *)item + field->at, *more = (unsigned char *)item + field->more;
    unsigned char *items = NULL;
    uint64_t number;
    int good;
    switch (field->type) {
    case QNNRT_MANIFEST__TEXT: return qnnrt_manifest__text_of(m, key, (const char **)at);
    case QNNRT_MANIFEST__FILE: return qnnrt_manifest__file_of(m, key, (const char **)at);
    case QNNRT_MANIFEST__U64:
        return qnnrt_manifest__number_of(m, key, UINT64_MAX, (uint64_t *)at);
    case QNNRT_MANIFEST__U32:
        good = qnnrt_manifest__number_of(m, key, UINT32_MAX, &number);
        *(uint32_t *)at = (uint32_t)number;
        return good;
    case QNNRT_MANIFEST__INDEX:
        good = qnnrt_manifest__number_of(m, key, UINT32_MAX, &number);
        *(size_t *)at = (size_t)number;
        return good;
    case QNNRT_MANIFEST__I32: return qnnrt_manifest__i32_of(m, key, (int32_t *)at);
    case QNNRT_MANIFEST__F32:
        return qnnrt_manifest__take(m, key, QNNRT_JSON_NUMBER) &&
               (qnnrt_json_f32(&m->r.value, (float *)at) ||
                qnnrt_manifest__wrong(m, key, "a number that a float32 can hold"));
    case QNNRT_MANIFEST__BOOL: return qnnrt_manifest__bool_of(m, key, (int *)at);
    case QNNRT_MANIFEST__DIGITS:
        return qnnrt_manifest__digits_of(m, key, field->more, (const char **)at);
    case QNNRT_MANIFEST__CONVERT:
        return qnnrt_manifest__convert_of(m, key, (qnnrt_convert *)at);
    case QNNRT_MANIFEST__DTYPE: return qnnrt_manifest__dtype_of(m, key, (qnnrt_dtype *)at);
    case QNNRT_MANIFEST__DIMS: return qnnrt_manifest__dims_of(m, key, (qnnrt_tensor_info *)at);
    case QNNRT_MANIFEST__PAIR:
        return qnnrt_manifest__pair_of(m, key, (size_t *)at, (const char **)more);
    case QNNRT_MANIFEST__SIDE:
        *(int *)more = key[0] == 'o';
        return qnnrt_manifest__text_of(m, key, (const char **)at);
    default:
        good = qnnrt_manifest__items_of(m, field->items, key, field->type == QNNRT_MANIFEST__MAP,
                                        &items, (size_t *)more);
        memcpy(at, &items, sizeof items);
        return good;
    }
}

/* ---- the program ---- */

/* Check what one pipeline names in other parts of the program. */
static int qnnrt_manifest__refer(qnnrt_manifest__reader *m, const qnnrt_manifest__program *out,
                                 const void *const *constants, const qnnrt_manifest__pipeline *p)
{
    size_t i;
    for (i = 0; i < p->desc.step_count; ++i)
        if (p->steps[i].graph != NULL && p->steps[i].context >= out->context_count)
            return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "pipeline \"%.200s\": step %lu:"
                                          " \"context\" is %lu, but the program has %lu contexts",
                                          p->desc.name, (unsigned long)i,
                                          (unsigned long)p->steps[i].context,
                                          (unsigned long)out->context_count);
    for (i = 0; i < p->value_count; ++i) {
        const void *found = qnnrt_manifest__named(constants, out->constant_count,
                                                  p->values[i].name);
        qnnrt_manifest__value *value;
        if (found == NULL)
            return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "pipeline \"%.200s\": constant %lu:"
                                          " the program has no constant \"%.200s\"", p->desc.name,
                                          (unsigned long)i, p->values[i].name);
        memcpy(&value, &p->values, sizeof value);       /* the list is ours to complete */
        value[i].constant = (size_t)((const qnnrt_manifest__table *)found - out->constants);
    }
    return 1;
}

/* Check what parts of the program name in other parts, and count contexts. */
static int qnnrt_manifest__resolve(qnnrt_manifest__reader *m, const qnnrt_manifest__program *out)
{
    const void **roles, **constants;
    size_t i;
    if (out->context_count == 0)
        return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"contexts\" is empty");
    if (out->context_count > m->limits.files)
        return qnnrt_manifest__refuse(m, QNNRT_E_LIMIT, "%lu contexts, more than limits.files"
                                      " (%lu)", (unsigned long)out->context_count,
                                      (unsigned long)m->limits.files);
    roles = qnnrt_manifest__sorted(m, "backend", out->roles, out->role_count, sizeof *out->roles);
    constants = qnnrt_manifest__sorted(m, "constant", out->constants, out->constant_count,
                                       sizeof *out->constants);
    if (roles == NULL || constants == NULL) return 0;
    for (i = 0; i < out->context_count; ++i)
        if (qnnrt_manifest__named(roles, out->role_count, out->contexts[i].role) == NULL)
            return qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "context %lu: \"backends\" does not"
                                          " list its backend \"%.200s\"", (unsigned long)i,
                                          out->contexts[i].role);
    for (i = 0; i < out->pipeline_count; ++i)
        if (!qnnrt_manifest__refer(m, out, constants, &out->pipelines[i])) return 0;
    return 1;
}

/* Check the version before anything else, because another version may have other keys. */
static int qnnrt_manifest__version(qnnrt_manifest__reader *m)
{
    qnnrt_json_reader ahead = m->r;
    uint64_t version = QNNRT_MANIFEST__VERSION;
    if (qnnrt_json_value(&ahead) != QNNRT_JSON_OBJECT) return 1;
    while (qnnrt_json_more(&ahead))
        if (!qnnrt_json_is(&ahead.key, "version")) qnnrt_json_skip(&ahead);
        else if (!qnnrt_json_value_u64(&ahead, &version)) return 1;
        else break;
    if (ahead.error != NULL || version == QNNRT_MANIFEST__VERSION) return 1;
    m->r = ahead;
    qnnrt_manifest__refuse(m, QNNRT_E_VERSION,
                           "the program has version %llu; this library reads version %d",
                           (unsigned long long)version, (int)QNNRT_MANIFEST__VERSION);
    qnnrt_error_hint(m->err, QNNRT_E_VERSION, "Use a release of qnnrt_manifest.h that reads this"
                     " version, or write the program again.");
    return 0;
}

/* Read a qnnrt.json. All of it is copied from the text; other parts than "program" are skipped. */
static qnnrt_result qnnrt_manifest__read(qnnrt_manifest__reader *m, const char *text, size_t bytes,
                                         qnnrt_manifest__program *out)
{
    qnnrt_json_limits limits;
    int there = 0;
    memset(out, 0, sizeof *out);
    limits.bytes = (size_t)m->limits.json_bytes;
    limits.depth = 64;
    m->left = m->limits.tensors;
    qnnrt_json_begin(&m->r, text, bytes, &limits);
    if (qnnrt_json_value(&m->r) != QNNRT_JSON_OBJECT)
        qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "it is %s; expected an object",
                               qnnrt_manifest__kind(m->r.type));
    while (qnnrt_manifest__good(m) && qnnrt_json_more(&m->r)) {
        if (!qnnrt_json_is(&m->r.key, "program")) qnnrt_json_skip(&m->r);
        else if (there++) qnnrt_manifest__refuse(m, QNNRT_E_FORMAT, "\"program\" occurs twice");
        else if (qnnrt_manifest__version(m) &&
                 qnnrt_manifest__object_of(m, &qnnrt_manifest__whole, out))
            qnnrt_manifest__resolve(m, out);
    }
    if (m->result == QNNRT_OK && !qnnrt_json_end(&m->r))
        m->result = qnnrt_error_set(m->err, QNNRT_E_FORMAT, "%s: byte %lu: %s", m->path,
                                    (unsigned long)m->r.error_at, m->r.error);
    out->joined = out->pipelines == NULL;
    return m->result != QNNRT_E_FORMAT ? m->result
               : qnnrt_error_hint(m->err, QNNRT_E_FORMAT, "Repair it or write it again;"
                                  " tools/qnnrt_manifest.h describes the format.");
}

/* =====================================================================================
   FILES                                                                           >>files
   The program that is open, and its files: which contexts there are, their hashes, and constants
   in files that stay mapped.
   Needs: >>sha256 >>schema >>read >>objects     Knows nothing of: backends, graphs
   ===================================================================================== */

enum { QNNRT_MANIFEST__ROLES_MOST = 16, QNNRT_MANIFEST__PATH = 4096 };

typedef struct qnnrt_manifest__map {    /* a file of constants */
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
    qnnrt_hooks                   hooks;
    qnnrt_arena                   arena;         /* as long as the program */
    qnnrt_manifest__part          parts[QNNRT_MANIFEST__ROLES_MOST];
    qnnrt                        *models[QNNRT_MANIFEST__ROLES_MOST];
    size_t                        part_count;
    qnnrt_manifest_context_info  *contexts;
    qnnrt_manifest__map          *maps;
    size_t                        map_count;
    qnnrt_manifest__file         *hashes;        /* [hash_count] of check_hashes */
    size_t                        hash_count;
    qnnrt_pipeline              **made;          /* [made_count], in the order of the program */
    qnnrt_conversions           **conversions;   /* [made_count], those of each, or NULL */
    size_t                        made_count;
};

/* What opening a program needs. */
typedef struct qnnrt_manifest__work {
    qnnrt_manifest                 *to;
    const qnnrt_manifest_open_desc *desc;
    qnnrt_limits                    limits;
    qnnrt_arena                     scratch;
    qnnrt_manifest__program         program;     /* of scratch */
    const char                    **paths, **texts;      /* [context_count]: of binaries and JSON */
    qnnrt_error                    *err;         /* the caller's, or .own */
    qnnrt_error                     own, tried;  /* .tried: of a library that may be another one */
    size_t                          done;        /* contexts of models that are open */
    char                            path[QNNRT_MANIFEST__PATH];
} qnnrt_manifest__work;

static qnnrt_result qnnrt_manifest__no_memory(qnnrt_manifest__work *w)
{
    return qnnrt_error_set(w->err, QNNRT_E_MEMORY, "out of memory for a program");
}

#ifdef __GNUC__
__attribute__((format(printf, 3, 4)))
#endif
static void qnnrt_manifest__log(const qnnrt_hooks *hooks, qnnrt_log_level level,
                                const char *format, ...)
{
    char text[1024];
    va_list args;
    if (hooks->log == NULL) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    qnnrt_text_clean(text);
    hooks->log(hooks->log_user, level, "manifest", 0, text);
}

/* Write the path of a file of the folder into w->path. */
static qnnrt_result qnnrt_manifest__path(qnnrt_manifest__work *w, const char *name)
{
    const char *folder = w->to->info.folder;
    const size_t length = strlen(folder);
    const int used = snprintf(w->path, sizeof w->path, "%s%s%s", folder,
                              length > 0 && folder[length - 1] == '/' ? "" : "/", name);
    return used > 0 && (size_t)used < sizeof w->path ? QNNRT_OK
               : qnnrt_error_set(w->err, QNNRT_E_ARG, "the path of %.200s is longer than %d bytes",
                                 name, QNNRT_MANIFEST__PATH);
}

/* Read the file at w->path into memory of the hooks, or map it. */
static qnnrt_result qnnrt_manifest__load(qnnrt_manifest__work *w, int map, uint64_t most,
                                         const char *limit, qnnrt_manifest__map *out)
{
    uint64_t used = 0;
    ssize_t got = 1;
    int fd;
    qnnrt_result result = qnnrt_file_open(w->path, &fd, &out->bytes, w->err);
    if (result != QNNRT_OK) return result;
    if (out->bytes > most)
        result = qnnrt_error_set(w->err, QNNRT_E_LIMIT, "%s has %llu bytes, more than %s (%llu)",
                                 w->path, (unsigned long long)out->bytes, limit,
                                 (unsigned long long)most);
    if (result == QNNRT_OK && out->bytes > 0 && map) {
        out->data = mmap(NULL, (size_t)out->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (out->data == MAP_FAILED) out->data = NULL;
        if (out->data == NULL)
            result = qnnrt_error_set(w->err, QNNRT_E_IO, "cannot read %s: %s", w->path,
                                     strerror(errno));
    } else if (result == QNNRT_OK) {
        out->owned = 1;
        out->data = qnnrt_hooks_alloc(&w->to->hooks, out->bytes, 1);
        if (out->data == NULL) result = qnnrt_manifest__no_memory(w);
        while (result == QNNRT_OK && used < out->bytes && got != 0) {
            got = read(fd, (char *)out->data + used, (size_t)(out->bytes - used));
            if (got > 0) used += (uint64_t)got;
            else if (got == 0 || errno != EINTR)
                result = qnnrt_error_set(w->err, QNNRT_E_IO, "cannot read %s: %s", w->path,
                                         got == 0 ? "it became shorter" : strerror(errno));
        }
    }
    close(fd);
    return result;
}

static void qnnrt_manifest__drop(const qnnrt_hooks *hooks, qnnrt_manifest__map *map)
{
    if (map->owned) qnnrt_hooks_free(hooks, map->data);
    else if (map->data != NULL) munmap(map->data, (size_t)map->bytes);
    memset(map, 0, sizeof *map);
}

/* Return 1 if the folder has a qnnrt.json, be it a link that leads nowhere. */
static int qnnrt_manifest__there(const qnnrt_manifest__work *w)
{
    DIR *folder = opendir(w->to->info.folder);
    const struct dirent *entry;
    int found = 0;
    while (folder != NULL && !found && (entry = readdir(folder)) != NULL)
        found = strcmp(entry->d_name, "qnnrt.json") == 0;
    if (folder != NULL) closedir(folder);
    return found;
}

/* Read the program of the folder, if it has one. */
static qnnrt_result qnnrt_manifest__text(qnnrt_manifest__work *w)
{
    qnnrt_manifest__reader *m;
    qnnrt_manifest__map text;
    qnnrt_result result = qnnrt_manifest__path(w, "qnnrt.json");
    if (result != QNNRT_OK || !qnnrt_manifest__there(w)) return result;
    memset(&text, 0, sizeof text);
    m = (qnnrt_manifest__reader *)qnnrt_arena_get(&w->scratch, 1, sizeof *m);
    if (m == NULL) return qnnrt_manifest__no_memory(w);
    m->arena = &w->scratch;
    m->limits = w->limits;
    m->path = w->path;
    m->err = w->err;
    result = qnnrt_manifest__load(w, 0, w->limits.json_bytes, "limits.json_bytes", &text);
    if (result == QNNRT_OK)
        result = qnnrt_manifest__read(m, (const char *)text.data, (size_t)text.bytes, &w->program);
    qnnrt_manifest__drop(&w->to->hooks, &text);
    return result;
}

static int qnnrt_manifest__ends(const char *name, const char *end)
{
    const size_t length = strlen(name), bytes = strlen(end);
    return length > bytes && strcmp(name + length - bytes, end) == 0;
}

/* Look through the folder. Return 1 if it has a *.bin; those that the program does not list are
   lines in the log. */
static int qnnrt_manifest__look(qnnrt_manifest__work *w)
{
    DIR *folder = opendir(w->to->info.folder);
    const struct dirent *entry;
    int binaries = 0;
    size_t i;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.' || !qnnrt_manifest__ends(entry->d_name, ".bin")) continue;
        binaries = 1;
        for (i = 0; i < w->program.context_count &&
                    strcmp(entry->d_name, w->program.contexts[i].file) != 0;) ++i;
        if (i == w->program.context_count)
            qnnrt_manifest__log(&w->to->hooks, QNNRT_LOG_INFO, "%s is left out: qnnrt.json decides"
                                " which files are the model", entry->d_name);
    }
    if (folder != NULL) closedir(folder);
    return binaries;
}

/* Find the files of a context: its binary, and the JSON beside it. alone: JSON may stand for it. */
static qnnrt_result qnnrt_manifest__find_file(qnnrt_manifest__work *w, size_t at, int alone)
{
    const char *file = w->program.contexts[at].file;
    const size_t length = strlen(file);
    const int binary = qnnrt_manifest__ends(file, ".bin");
    struct stat facts;
    char name[QNNRT_MANIFEST__PATH];
    qnnrt_result result = qnnrt_manifest__path(w, file);
    if (result == QNNRT_OK && binary && !alone && stat(w->path, &facts) == 0) {
        w->paths[at] = qnnrt_arena_text(&w->scratch, w->path, strlen(w->path));
        if (w->paths[at] == NULL) return qnnrt_manifest__no_memory(w);
    }
    if (result == QNNRT_OK && (w->paths[at] != NULL || alone) &&
        w->desc->model.metadata != QNNRT_METADATA_SYSTEM) {
        snprintf(name, sizeof name, "%.*s_json.json", (int)(binary ? length - 4 : length), file);
        result = qnnrt_manifest__path(w, name);
        if (result == QNNRT_OK && stat(w->path, &facts) == 0) {
            w->texts[at] = qnnrt_arena_text(&w->scratch, w->path, strlen(w->path));
            if (w->texts[at] == NULL) return qnnrt_manifest__no_memory(w);
        }
    }
    if (result != QNNRT_OK || w->paths[at] != NULL || (alone && w->texts[at] != NULL))
        return result;
    qnnrt_error_set(w->err, QNNRT_E_NOT_FOUND, "%s/qnnrt.json lists \"%.200s\", but the folder has"
                    " no such *.bin", w->to->info.folder, file);
    return qnnrt_error_hint(w->err, QNNRT_E_NOT_FOUND, "Copy the folder again.");
}

/* Compare all bytes of a file with the SHA-256 that the program has for it, if it has one:
   qnnrt_desc.check of its models, as long as they are open. */
static qnnrt_result qnnrt_manifest__hash(void *user, const char *file, const void *data,
                                         uint64_t bytes, qnnrt_error *err)
{
    const qnnrt_manifest *program = (const qnnrt_manifest *)user;
    const char *expected = NULL;
    qnnrt_sha256 sum;
    char found[65];
    size_t i;
    for (i = 0; i < program->hash_count && expected == NULL; ++i)
        if (strcmp(program->hashes[i].file, file) == 0) expected = program->hashes[i].sha256;
    if (expected == NULL) return QNNRT_OK;
    qnnrt_sha256_begin(&sum);
    qnnrt_sha256_add(&sum, data, bytes);
    qnnrt_sha256_end(&sum, NULL, found);
    if (strcmp(found, expected) == 0) return QNNRT_OK;
    qnnrt_error_set(err, QNNRT_E_MISMATCH, "%s has the SHA-256 %s, but qnnrt.json expects %s", file,
                    found, expected);
    return qnnrt_error_hint(err, QNNRT_E_MISMATCH, "Take the file and qnnrt.json from one build.");
}

/* Keep what the files of the program are compared with. */
static qnnrt_result qnnrt_manifest__hashes(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    const size_t count = w->program.context_count;
    size_t i;
    to->hashes = (qnnrt_manifest__file *)qnnrt_arena_get(&to->arena, count, sizeof *to->hashes);
    if (to->hashes == NULL) return qnnrt_manifest__no_memory(w);
    for (i = 0; i < count; ++i) {
        const char *sha256 = w->program.contexts[i].sha256;
        if (w->paths[i] != NULL && sha256 == NULL)
            qnnrt_manifest__log(&to->hooks, QNNRT_LOG_WARN, "%s is not compared with a SHA-256:"
                                " qnnrt.json has none", w->program.contexts[i].file);
        if (w->paths[i] == NULL || sha256 == NULL) continue;
        to->hashes[to->hash_count].file = to->contexts[i].file;
        to->hashes[to->hash_count++].sha256 = qnnrt_arena_text(&to->arena, sha256, strlen(sha256));
    }
    return to->arena.failed != QNNRT_OK ? qnnrt_manifest__no_memory(w) : QNNRT_OK;
}

/* Keep why a context did not load, or fail. */
static qnnrt_result qnnrt_manifest__forgive(qnnrt_manifest__work *w, size_t at)
{
    qnnrt_error *kept;
    if (!w->desc->model.keep_going || w->err->code == QNNRT_E_MEMORY) return w->err->code;
    kept = (qnnrt_error *)qnnrt_arena_get(&w->to->arena, 1, sizeof *kept);
    if (kept == NULL) return qnnrt_manifest__no_memory(w);
    *kept = *w->err;
    w->to->contexts[at].failure = kept;
    qnnrt_manifest__log(&w->to->hooks, QNNRT_LOG_ERROR, "%s did not load: %s",
                        w->to->contexts[at].file, kept->text);
    return qnnrt_error_clear(w->err);
}

/* Find the files of all contexts, and compare hashes. */
static qnnrt_result qnnrt_manifest__files(qnnrt_manifest__work *w)
{
    const size_t count = w->program.context_count;
    const int alone = !qnnrt_manifest__look(w) && w->desc->model.inspect &&
                      w->desc->model.metadata != QNNRT_METADATA_SYSTEM;
    qnnrt_result result = QNNRT_OK;
    size_t i;
    w->paths = (const char **)qnnrt_arena_get(&w->scratch, count, sizeof *w->paths);
    w->texts = (const char **)qnnrt_arena_get(&w->scratch, count, sizeof *w->texts);
    w->to->contexts = (qnnrt_manifest_context_info *)qnnrt_arena_get(&w->to->arena, count,
                                                                     sizeof *w->to->contexts);
    if (w->paths == NULL || w->texts == NULL || w->to->contexts == NULL)
        return qnnrt_manifest__no_memory(w);
    for (i = 0; i < count && result == QNNRT_OK; ++i) {
        const qnnrt_manifest__file *from = &w->program.contexts[i];
        w->to->contexts[i].file = qnnrt_arena_text(&w->to->arena, from->file, strlen(from->file));
        w->to->contexts[i].role = qnnrt_arena_text(&w->to->arena, from->role, strlen(from->role));
        if (w->to->arena.failed != QNNRT_OK) return qnnrt_manifest__no_memory(w);
        result = qnnrt_manifest__find_file(w, i, alone);
    }
    if (result == QNNRT_OK && w->desc->check_hashes) result = qnnrt_manifest__hashes(w);
    w->to->info.contexts = w->to->contexts;
    w->to->info.context_count = count;
    return result;
}

/* ---- constants ---- */

/* Map or read a file of the folder, unless an earlier constant has it. */
static qnnrt_result qnnrt_manifest__constant_file(qnnrt_manifest__work *w, const char *name,
                                                  const qnnrt_manifest__map **out)
{
    qnnrt_manifest *to = w->to;
    qnnrt_manifest__map *map = to->maps;
    qnnrt_result result;
    *out = NULL;
    while (map < to->maps + to->map_count && strcmp(map->name, name) != 0) ++map;
    *out = map;
    if (map < to->maps + to->map_count) return QNNRT_OK;
    if (to->map_count == w->limits.files)
        return qnnrt_error_set(w->err, QNNRT_E_LIMIT, "the constants are in more than %lu files"
                               " (limits.files)", (unsigned long)w->limits.files);
    result = qnnrt_manifest__path(w, name);
    if (result != QNNRT_OK) return result;
    ++to->map_count;                     /* so that closing frees what there is of it */
    map->name = name;
    return qnnrt_manifest__load(w, !w->desc->model.read, w->limits.file_bytes, "limits.file_bytes",
                                map);
}

/* Copy the description of a constant. */
static const qnnrt_tensor_info *qnnrt_manifest__keep_tensor(qnnrt_arena *arena,
                                                            const qnnrt_tensor_info *from)
{
    qnnrt_tensor_info *to = (qnnrt_tensor_info *)qnnrt_arena_get(arena, 1, sizeof *to);
    uint32_t *dims = (uint32_t *)qnnrt_arena_get(arena, from->rank, sizeof *dims);
    const char *name = qnnrt_arena_text(arena, from->name, strlen(from->name));
    if (to == NULL || dims == NULL || name == NULL) return NULL;
    memcpy(dims, from->dims, from->rank * sizeof *dims);
    *to = *from;
    to->dims = dims;
    to->name = name;
    return to;
}

/* Find the values of all constants. */
static qnnrt_result qnnrt_manifest__values_of(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    const size_t count = w->program.constant_count;
    const size_t files = count < w->limits.files ? count : w->limits.files;
    qnnrt_manifest_constant_info *infos = (qnnrt_manifest_constant_info *)qnnrt_arena_get(
        &to->arena, count, sizeof *infos);
    qnnrt_result result;
    size_t i;
    to->maps = (qnnrt_manifest__map *)qnnrt_arena_get(&to->arena, files, sizeof *to->maps);
    if (to->maps == NULL || infos == NULL) return qnnrt_manifest__no_memory(w);
    for (i = 0; i < count; ++i) {
        const qnnrt_manifest__table *from = &w->program.constants[i];
        const qnnrt_manifest__map *map;
        char facts[256];
        const char *name = qnnrt_arena_text(&to->arena, from->file, strlen(from->file));
        infos[i].tensor = qnnrt_manifest__keep_tensor(&to->arena, &from->tensor);
        if (name == NULL || infos[i].tensor == NULL) return qnnrt_manifest__no_memory(w);
        result = qnnrt_manifest__constant_file(w, name, &map);
        if (result != QNNRT_OK) return result;
        if (from->offset + from->tensor.bytes > map->bytes)
            return qnnrt_error_set(w->err, QNNRT_E_MISMATCH, "qnnrt.json: constant \"%.160s\" (%s)"
                                   " needs %llu bytes from %llu on, but %.160s has %llu",
                                   from->tensor.name,
                                   qnnrt_tensor_text(&from->tensor, facts, sizeof facts),
                                   (unsigned long long)from->tensor.bytes,
                                   (unsigned long long)from->offset, from->file,
                                   (unsigned long long)map->bytes);
        infos[i].file = map->name;
        infos[i].offset = from->offset;
        infos[i].data = (const unsigned char *)map->data + from->offset;
    }
    to->info.constants = infos;
    to->info.constant_count = count;
    return QNNRT_OK;
}

/* =====================================================================================
   ROLES                                                                           >>roles
   Opens a backend and a model for each role.
   Needs: >>schema >>files     Knows nothing of: pipelines, constants
   ===================================================================================== */

/* Find a role in desc.backends, or return NULL. */
static const qnnrt_manifest_role *qnnrt_manifest__given(const qnnrt_manifest_open_desc *desc,
                                                        const char *role)
{
    size_t i;
    for (i = 0; i < desc->backend_count; ++i)
        if (strcmp(desc->backends[i].role, role) == 0) return &desc->backends[i];
    return NULL;
}

/* Check the options, before anything is opened. */
static qnnrt_result qnnrt_manifest__check_desc(const qnnrt_manifest_open_desc *desc,
                                               qnnrt_error *err)
{
    size_t i;
    if ((desc->backends == NULL && desc->backend_count > 0) ||
        (desc->host_functions == NULL && desc->host_function_count > 0))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_manifest_open: desc.backends or"
                               " desc.host_functions is NULL with a count");
    for (i = 0; i < desc->backend_count; ++i) {
        const qnnrt_manifest_role *one = &desc->backends[i];
        if (one->role == NULL || one->role[0] == '\0')
            return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_manifest_open: desc.backends[%lu] has"
                                   " no role", (unsigned long)i);
        if (qnnrt_manifest__given(desc, one->role) != one)
            return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_manifest_open: desc.backends has the"
                                   " role \"%.200s\" twice", one->role);
        if (one->backend != NULL && desc->model.inspect)
            return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_manifest_open: desc.model.inspect does"
                                   " not use a backend; leave desc.backends[%lu].backend NULL",
                                   (unsigned long)i);
    }
    return QNNRT_OK;
}

/* Check that the program has every role of desc.backends. */
static qnnrt_result qnnrt_manifest__check_roles(qnnrt_manifest__work *w)
{
    size_t i, k;
    for (i = 0; i < w->desc->backend_count; ++i) {
        for (k = 0; k < w->to->part_count &&
                    strcmp(w->to->parts[k].role, w->desc->backends[i].role) != 0;) ++k;
        if (k < w->to->part_count) continue;
        qnnrt_error_set(w->err, QNNRT_E_ARG, "qnnrt_manifest_open: desc.backends has the role"
                        " \"%.200s\", which the model does not have", w->desc->backends[i].role);
        if (w->to->part_count == 0)
            return qnnrt_error_hint(w->err, QNNRT_E_ARG, "Set desc.model.backend or"
                                    " desc.model.backend_desc: contexts of this model have no"
                                    " roles.");
        for (k = 0; k < w->to->part_count; ++k)
            qnnrt_error_add(w->err, "%s\"%.60s\"", k > 0 ? ", " : "; it has ",
                            w->to->parts[k].role);
        return qnnrt_error_hint(w->err, QNNRT_E_ARG,
                                "Give a backend for the roles of the model only.");
    }
    return QNNRT_OK;
}

/* List the roles of the contexts, each once. */
static qnnrt_result qnnrt_manifest__list_roles(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    size_t i, k;
    for (i = 0; i < w->program.context_count; ++i) {
        for (k = 0; k < to->part_count &&
                    strcmp(to->parts[k].role, to->contexts[i].role) != 0;) ++k;
        if (k < to->part_count) continue;
        if (k == QNNRT_MANIFEST__ROLES_MOST) {
            qnnrt_error_set(w->err, QNNRT_E_UNSUPPORTED, "the model has more than %d backend roles",
                            QNNRT_MANIFEST__ROLES_MOST);
            return qnnrt_error_hint(w->err, QNNRT_E_UNSUPPORTED,
                                    "Give all contexts of a backend the same role.");
        }
        to->parts[to->part_count++].role = to->contexts[i].role;
    }
    if (w->desc->model.backend != NULL &&
        qnnrt_manifest__given(w->desc, to->parts[0].role) != NULL) {
        qnnrt_error_set(w->err, QNNRT_E_ARG, "qnnrt_manifest_open: desc.model.backend and"
                        " desc.backends both have a backend for the role of the first context,"
                        " \"%.200s\"", to->parts[0].role);
        return qnnrt_error_hint(w->err, QNNRT_E_ARG, "Leave desc.model.backend NULL.");
    }
    return qnnrt_manifest__check_roles(w);
}

/* Replace hooks that are not set. */
static void qnnrt_manifest__merge(qnnrt_hooks *to, const qnnrt_hooks *from)
{
    if (to->alloc == NULL && to->free == NULL) {
        to->alloc = from->alloc;
        to->free = from->free;
        to->alloc_user = from->alloc_user;
    }
    if (to->log == NULL) {
        to->log = from->log;
        to->log_user = from->log_user;
    }
    if (to->lock == NULL && to->unlock == NULL) {
        to->lock = from->lock;
        to->unlock = from->unlock;
        to->lock_user = from->lock_user;
    }
}

/* Describe how to open the backend of a role. Return the libraries that may serve it; NULL: only
   the one that is described. */
static const char *const *qnnrt_manifest__choose(const qnnrt_manifest__work *w, size_t at,
                                                 qnnrt_backend_desc *desc)
{
    static const char *const npu[] = { "libQnnHtp.so", NULL };
    static const char *const cpu[] = { "libQnnCpu.so", "libQnnRef.so", NULL };
    static const char *const none[] = { NULL };
    const char *role = w->to->parts[at].role;
    const qnnrt_manifest_role *given = qnnrt_manifest__given(w->desc, role);
    *desc = given != NULL ? given->desc : w->desc->model.backend_desc;
    if (given == NULL && at > 0) desc->path = NULL;
    qnnrt_manifest__merge(&desc->hooks, &w->to->hooks);
    if (desc->path != NULL) return NULL;
    return strcmp(role, "npu") == 0 ? npu : strcmp(role, "cpu") == 0 ? cpu : none;
}

/* Open the backend of a role. */
static qnnrt_result qnnrt_manifest__backend(qnnrt_manifest__work *w, size_t at)
{
    qnnrt_manifest__part *part = &w->to->parts[at];
    const qnnrt_manifest_role *given = qnnrt_manifest__given(w->desc, part->role);
    qnnrt_backend_desc desc;
    const char *const *names;
    qnnrt_result result;
    size_t i;
    part->backend = given != NULL ? given->backend : at == 0 ? w->desc->model.backend : NULL;
    if (part->backend != NULL) return QNNRT_OK;
    names = qnnrt_manifest__choose(w, at, &desc);
    if (names == NULL) {
        result = qnnrt_backend_open(&desc, &part->backend, w->err);
        part->owned = result == QNNRT_OK;
        return result == QNNRT_OK ? result
                   : qnnrt_error_about(w->err, result, "backend role \"%.200s\": ", part->role);
    }
    qnnrt_error_set(w->err, QNNRT_E_LIBRARY, "no library serves the backend role \"%.200s\"",
                    part->role);
    if (names[0] == NULL)
        qnnrt_error_add(w->err, ": only \"npu\" and \"cpu\" have one by their name");
    for (i = 0; names[i] != NULL; ++i) {
        desc.path = names[i];
        result = qnnrt_backend_open(&desc, &part->backend, &w->tried);
        part->owned = result == QNNRT_OK;
        if (result == QNNRT_OK && i > 0)
            qnnrt_manifest__log(&w->to->hooks, QNNRT_LOG_WARN, "%s serves the backend role \"%s\","
                                " because %s cannot be opened",
                                qnnrt_backend_get_info(part->backend)->path, part->role, names[0]);
        if (result == QNNRT_OK) return qnnrt_error_clear(w->err);
        if (result != QNNRT_E_LIBRARY) {
            *w->err = w->tried;
            return qnnrt_error_about(w->err, result, "backend role \"%.200s\": ", part->role);
        }
        qnnrt_error_add(w->err, "\n  %s", w->tried.text);
    }
    return qnnrt_error_hint(w->err, QNNRT_E_LIBRARY,
                            "Name the library of this role in desc.backends.");
}

/* What desc.model.progress of one of several models needs. */
typedef struct qnnrt_manifest__progress {
    const qnnrt_desc *desc;
    size_t            before, count;
} qnnrt_manifest__progress;

static int qnnrt_manifest__progressed(void *user, size_t done, size_t count, const char *file)
{
    const qnnrt_manifest__progress *p = (const qnnrt_manifest__progress *)user;
    const char *slash = strrchr(file, '/');
    if (file[0] == '\0' && p->before + count < p->count) return 1;      /* others follow */
    return p->desc->progress(p->desc->progress_user, p->before + done, p->count,
                             slash != NULL ? slash + 1 : file);
}

/* Open a model. To inspect one, its backend's library reads the binaries if it can, as with an open
   backend: a libQnnSystem.so beside it may be of another maker. */
static qnnrt_result qnnrt_manifest__try(qnnrt_manifest__work *w, qnnrt_desc *desc, qnnrt **model)
{
    qnnrt_result result;
    if (desc->inspect && desc->system_path == NULL && desc->backend_desc.path != NULL &&
        desc->metadata != QNNRT_METADATA_JSON) {
        desc->system_path = desc->backend_desc.path;
        result = qnnrt_open(NULL, desc, model, w->err);
        desc->system_path = NULL;
        if (result != QNNRT_E_LIBRARY) return result;
    }
    return qnnrt_open(NULL, desc, model, w->err);
}

/* Open a model with the library that reads its binaries. Of several roles, one takes what comes
   with its backend before model.system_path, when inspecting only if the caller named that:
   libraries of several makers may share a folder. */
static qnnrt_result qnnrt_manifest__open_with(qnnrt_manifest__work *w, size_t at, qnnrt_desc *desc)
{
    qnnrt_manifest__part *part = &w->to->parts[at];
    const qnnrt_manifest_role *given = qnnrt_manifest__given(w->desc, part->role);
    const char *const *names = NULL;
    qnnrt_result result;
    size_t i = 0;
    if (desc->inspect) names = qnnrt_manifest__choose(w, at, &desc->backend_desc);
    desc->system_path = given != NULL ? given->system_path : NULL;
    if (desc->system_path == NULL && (w->to->part_count == 1 || names != NULL ||
                                      desc->metadata == QNNRT_METADATA_JSON))
        desc->system_path = w->desc->model.system_path;
    do {
        if (names != NULL && names[0] != NULL && names[1] != NULL)
            desc->backend_desc.path = names[i];
        result = qnnrt_manifest__try(w, desc, &part->model);
    } while (result == QNNRT_E_LIBRARY && desc->backend_desc.path != NULL && names != NULL &&
             names[0] != NULL && names[1] != NULL && names[i++] != NULL);
    if (result == QNNRT_E_LIBRARY && desc->system_path == NULL &&
        w->desc->model.system_path != NULL) {
        desc->system_path = w->desc->model.system_path;
        result = qnnrt_open(NULL, desc, &part->model, w->err);
    }
    return result;
}

/* Open the model of a role. */
static qnnrt_result qnnrt_manifest__model(qnnrt_manifest__work *w, size_t at)
{
    qnnrt_manifest *to = w->to;
    qnnrt_manifest__progress progress;
    qnnrt_desc desc = w->desc->model;
    qnnrt_file *files = (qnnrt_file *)qnnrt_arena_get(&w->scratch, to->info.context_count,
                                                      sizeof *files);
    qnnrt_result result;
    size_t i;
    if (files == NULL) return qnnrt_manifest__no_memory(w);
    desc.files = files;
    desc.file_count = 0;
    desc.backend = to->parts[at].backend;
    for (i = 0; i < to->info.context_count; ++i) {
        if (strcmp(to->contexts[i].role, to->parts[at].role) != 0 ||
            to->contexts[i].failure != NULL) continue;
        files[desc.file_count].path = w->paths[i];
        files[desc.file_count].name = to->contexts[i].file;
        files[desc.file_count].json_path = w->texts[i];
        to->contexts[i].context = desc.file_count++;
    }
    if (desc.file_count == 0) return QNNRT_OK;
    if (desc.backend == NULL) qnnrt_manifest__merge(&desc.backend_desc.hooks, &to->hooks);
    if (to->hash_count > 0) {
        desc.check = qnnrt_manifest__hash;
        desc.check_user = to;
    }
    progress.desc = &w->desc->model;
    progress.before = w->done;
    progress.count = to->info.context_count;
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

/* Compare a context that loaded with what the program expects. */
static qnnrt_result qnnrt_manifest__compare(qnnrt_manifest__work *w, size_t at, qnnrt *model)
{
    const qnnrt_manifest__file *file = &w->program.contexts[at];
    qnnrt_manifest_context_info *context = &w->to->contexts[at];
    const qnnrt_context_info *info = &qnnrt_get_info(model)->contexts[context->context];
    const int hashed = w->desc->check_hashes && file->sha256 != NULL;
    char found[17];
    context->model = model;
    context->failure = info->failure;
    context->file = info->file;             /* of JSON alone, that of the JSON */
    context->info = info;
    if (file->fingerprint == NULL || hashed || info->file_bytes == 0 || info->failure != NULL)
        return QNNRT_OK;      /* all bytes were compared; or it is JSON without a binary */
    snprintf(found, sizeof found, "%016llx", (unsigned long long)info->fingerprint);
    if (strcmp(file->fingerprint, found) == 0) return QNNRT_OK;
    qnnrt_error_set(w->err, QNNRT_E_MISMATCH, "%s has the fingerprint %s, but qnnrt.json expects"
                    " %s", file->file, found, file->fingerprint);
    qnnrt_error_hint(w->err, QNNRT_E_MISMATCH, "Take the file and qnnrt.json from one build.");
    return qnnrt_manifest__forgive(w, at);
}

/* Open the backend and the model of each role. With keep_going, a role that fails while others do
   not is kept in its contexts. */
static qnnrt_result qnnrt_manifest__open_roles(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    qnnrt_result result = qnnrt_manifest__list_roles(w);
    size_t i, k, loaded = 0;
    for (i = 0; i < to->part_count && result == QNNRT_OK; ++i) {
        if (!w->desc->model.inspect) result = qnnrt_manifest__backend(w, i);
        if (result == QNNRT_OK) result = qnnrt_manifest__model(w, i);
        if (result == QNNRT_E_CANCELLED || result == QNNRT_E_ARG) return result;
        for (k = 0; k < to->info.context_count; ++k) {
            if (strcmp(to->contexts[k].role, to->parts[i].role) != 0 ||
                to->contexts[k].failure != NULL) continue;
            if (result == QNNRT_OK) {
                result = qnnrt_manifest__compare(w, k, to->parts[i].model);
                if (result != QNNRT_OK) return result;
                continue;
            }
            result = qnnrt_manifest__forgive(w, k);
            if (result != QNNRT_OK) return result;
            *w->err = *to->contexts[k].failure;         /* for the other contexts of the role */
            result = w->err->code;
        }
        if (to->parts[i].model == NULL && w->desc->model.keep_going) result = QNNRT_OK;
    }
    if (result != QNNRT_OK) return result;
    for (k = 0; k < to->info.context_count; ++k) {
        qnnrt_context_info *none;
        loaded += to->contexts[k].failure == NULL;
        if (to->contexts[k].info != NULL) continue;
        none = (qnnrt_context_info *)qnnrt_arena_get(&to->arena, 1, sizeof *none);
        if (none == NULL) return qnnrt_manifest__no_memory(w);
        none->file = to->contexts[k].file;
        none->failure = to->contexts[k].failure;
        none->build_id = "";
        to->contexts[k].info = none;
    }
    if (loaded > 0) return qnnrt_error_clear(w->err);
    *w->err = *to->contexts[0].failure;
    return w->err->code;
}

/* =====================================================================================
   MAKE                                                                             >>make
   Makes the pipelines that the program describes, with their conversions, or that names join.
   Needs: >>schema >>files     Knows nothing of: the text of the program, backends
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

/* Describe the steps of a pipeline. */
static qnnrt_result qnnrt_manifest__describe_steps(qnnrt_manifest__work *w,
                                                   const qnnrt_manifest__pipeline *from,
                                                   qnnrt_pipeline_desc *to)
{
    const size_t count = from->desc.step_count;
    qnnrt_arena *arena = &w->scratch;
    qnnrt_step_desc *steps = (qnnrt_step_desc *)qnnrt_arena_get(arena, count, sizeof *steps);
    qnnrt_host_step *hosts = (qnnrt_host_step *)qnnrt_arena_get(arena, count, sizeof *hosts);
    qnnrt_result result = QNNRT_OK;
    size_t i;
    if (steps == NULL || hosts == NULL) return qnnrt_manifest__no_memory(w);
    for (i = 0; i < count && result == QNNRT_OK; ++i) {
        const qnnrt_manifest__step *step = &from->steps[i];
        if (step->graph != NULL) {
            steps[i].model = w->to->contexts[step->context].model;
            steps[i].context = w->to->contexts[step->context].context;
            steps[i].graph = step->graph;
            continue;
        }
        hosts[i] = step->host;
        steps[i].host = &hosts[i];
        result = qnnrt_manifest__function(w, i, &hosts[i]);
    }
    to->steps = steps;
    return result;
}

/* Find an input of a step. Return NULL if there is none. */
static const qnnrt_tensor_info *qnnrt_manifest__input_of(const qnnrt_pipeline_desc *p, size_t step,
                                                         const char *name)
{
    const qnnrt_context_info *context;
    const qnnrt_tensor_info *inputs = NULL;
    size_t i, count = 0;
    if (step >= p->step_count) return NULL;
    if (p->steps[step].host != NULL) {
        inputs = p->steps[step].host->inputs;
        count = p->steps[step].host->input_count;
    } else {
        context = &qnnrt_get_info(p->steps[step].model)->contexts[p->steps[step].context];
        for (i = 0; i < context->graph_count; ++i)
            if (strcmp(context->graphs[i].name, p->steps[step].graph) == 0) {
                inputs = context->graphs[i].inputs;
                count = context->graphs[i].input_count;
            }
    }
    for (i = 0; i < count && strcmp(inputs[i].name, name) != 0;) ++i;
    return i < count ? &inputs[i] : NULL;
}

/* Check that a constant is what its input is. */
static qnnrt_result qnnrt_manifest__fits(qnnrt_manifest__work *w, size_t at,
                                         const qnnrt_tensor_info *from, size_t step,
                                         const qnnrt_tensor_info *to)
{
    char facts[2][256];
    if (to == NULL ||      /* which is an error of the pipeline */
        (from->dtype == to->dtype && from->rank == to->rank &&
         (from->rank == 0 || memcmp(from->dims, to->dims, from->rank * sizeof *to->dims) == 0)))
        return QNNRT_OK;
    return qnnrt_error_set(w->err, QNNRT_E_MISMATCH, "constant %lu: \"%.160s\" is %s, but input"
                           " \"%.160s\" of step %lu is %s", (unsigned long)at, from->name,
                           qnnrt_tensor_text(from, facts[0], sizeof facts[0]), to->name,
                           (unsigned long)step, qnnrt_tensor_text(to, facts[1], sizeof facts[1]));
}

/* Describe what a program says about the tensors of a pipeline. Return the number of uses. */
static size_t qnnrt_manifest__describe_uses(const qnnrt_manifest__pipeline *from,
                                            qnnrt_use_desc *uses)
{
    size_t i, k, at = 0;
    for (i = 0; i < from->apart_count; ++i) {
        uses[at] = from->apart[i];
        uses[at++].apart = 1;
    }
    for (i = 0; i < from->name_count; ++i) {
        uses[at] = from->names[i].use;
        uses[at++].name = from->names[i].name;
    }
    for (i = 0; i < from->desc.buffer_count; ++i)
        for (k = 0; k < from->buffers[i].keep_count; ++k) {
            uses[at] = from->buffers[i].keeps[k];
            uses[at].buffer = i;
            uses[at++].in_buffer = 1;
        }
    for (i = 0; i < from->range_count; ++i) {
        uses[at] = from->ranges[i];
        uses[at++].has_range = 1;
    }
    return at;
}

/* Describe the constants, buffers, names and ranges of a pipeline whose steps are described. */
static qnnrt_result qnnrt_manifest__describe_memory(qnnrt_manifest__work *w,
                                                    const qnnrt_manifest__pipeline *from,
                                                    qnnrt_pipeline_desc *to)
{
    qnnrt_arena *arena = &w->scratch;
    qnnrt_buffer_desc *buffers = (qnnrt_buffer_desc *)qnnrt_arena_get(
        arena, from->desc.buffer_count, sizeof *buffers);
    uint64_t room = (uint64_t)from->value_count + from->name_count + from->apart_count +
                    from->range_count;
    qnnrt_use_desc *uses;
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < from->desc.buffer_count; ++i) room += from->buffers[i].keep_count;
    uses = (qnnrt_use_desc *)qnnrt_arena_get(arena, room, sizeof *uses);
    if (buffers == NULL || uses == NULL) return qnnrt_manifest__no_memory(w);
    for (i = 0; i < from->desc.buffer_count; ++i) buffers[i] = from->buffers[i].desc;
    to->buffers = buffers;
    to->uses = uses;
    for (i = 0; i < from->value_count && result == QNNRT_OK; ++i) {
        const qnnrt_manifest__value *value = &from->values[i];
        const qnnrt_manifest_constant_info *constant = &w->to->info.constants[value->constant];
        uses[i].step = value->step;
        uses[i].tensor = value->input;
        uses[i].constant = constant->data;
        uses[i].constant_bytes = (size_t)constant->tensor->bytes;
        result = qnnrt_manifest__fits(w, i, constant->tensor, value->step,
                                      qnnrt_manifest__input_of(to, value->step, value->input));
    }
    to->use_count = from->value_count + qnnrt_manifest__describe_uses(from, uses + i);
    return result;
}

/* Describe the edges of a pipeline. *wishes: what they ask for. */
static qnnrt_result qnnrt_manifest__describe_edges(qnnrt_manifest__work *w,
                                                   const qnnrt_manifest__pipeline *from,
                                                   qnnrt_pipeline_desc *to,
                                                   qnnrt_conversion **wishes)
{
    const size_t count = from->desc.edge_count;
    qnnrt_edge_desc *edges = (qnnrt_edge_desc *)qnnrt_arena_get(&w->scratch, count, sizeof *edges);
    size_t i;
    *wishes = (qnnrt_conversion *)qnnrt_arena_get(&w->scratch, count, sizeof **wishes);
    if (edges == NULL || *wishes == NULL) return qnnrt_manifest__no_memory(w);
    for (i = 0; i < count; ++i) {
        edges[i] = from->edges[i].desc;
        (*wishes)[i] = from->edges[i].wish;
    }
    to->edges = edges;
    return QNNRT_OK;
}

/* Make a pipeline, the next one of the program, with its conversions. */
static qnnrt_result qnnrt_manifest__make_one(qnnrt_manifest__work *w,
                                             const qnnrt_manifest__pipeline *from)
{
    qnnrt_conversions **conversions = &w->to->conversions[w->to->made_count];
    qnnrt_pipeline_desc desc = from->desc;
    qnnrt_conversion *wishes = NULL;
    qnnrt_result result = qnnrt_manifest__describe_steps(w, from, &desc);
    if (result == QNNRT_OK) result = qnnrt_manifest__describe_edges(w, from, &desc, &wishes);
    if (result == QNNRT_OK) result = qnnrt_manifest__describe_memory(w, from, &desc);
    if (result == QNNRT_OK)
        result = qnnrt_conversions_create(&desc, wishes, &w->to->hooks, conversions, w->err);
    if (result == QNNRT_OK)
        result = qnnrt_pipeline_make(qnnrt_conversions_desc(*conversions),
                                     &w->to->made[w->to->made_count], w->err);
    if (result == QNNRT_OK) return result;
    qnnrt_conversions_free(*conversions);
    *conversions = NULL;
    return result;
}

/* Return 1 if a pipeline needs a context that did not load. */
static int qnnrt_manifest__lacks(const qnnrt_manifest__work *w,
                                 const qnnrt_manifest__pipeline *from)
{
    size_t i = 0;
    while (i < from->desc.step_count && (from->steps[i].graph == NULL ||
           w->to->contexts[from->steps[i].context].failure == NULL)) ++i;
    return i < from->desc.step_count;
}

/* Make the pipelines of the program. */
static qnnrt_result qnnrt_manifest__make_all(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    size_t i;
    for (i = 0; i < w->program.pipeline_count; ++i) {
        const qnnrt_manifest__pipeline *from = &w->program.pipelines[i];
        qnnrt_result result;
        if (qnnrt_manifest__lacks(w, from)) {
            qnnrt_manifest__log(&to->hooks, QNNRT_LOG_WARN, "pipeline \"%.200s\" is left out: a"
                                " file of it did not load", from->desc.name);
            continue;
        }
        result = qnnrt_manifest__make_one(w, from);
        if (result == QNNRT_E_ARG) result = QNNRT_E_FORMAT;     /* it is a mistake of the file */
        w->err->code = result;
        if (result != QNNRT_OK)
            return qnnrt_error_about(w->err, result, "qnnrt.json: pipeline \"%.200s\": ",
                                     from->desc.name);
        ++to->made_count;
    }
    return QNNRT_OK;
}

/* ---- pipelines that names join ---- */

enum { QNNRT_MANIFEST__LOOKS = 1 << 24 };      /* comparisons of names */

/* Find a graph of a context, by its name or as the only one. Return NULL if there is none. */
static const qnnrt_graph_info *qnnrt_manifest__graph_of(const qnnrt_manifest *to, size_t context,
                                                        const char *name)
{
    const qnnrt_context_info *info = to->contexts[context].info;
    size_t i;
    if (name == NULL) return info->graph_count == 1 ? info->graphs : NULL;
    for (i = 0; i < info->graph_count; ++i)
        if (strcmp(info->graphs[i].name, name) == 0) return &info->graphs[i];
    return NULL;
}

/* Join the graphs of a name in the contexts from `first` to the one before `end`, or, with NULL,
   the only graph of each. What cannot be wired is a line in the log. */
static qnnrt_result qnnrt_manifest__join(qnnrt_manifest__work *w, const char *name, size_t first,
                                         size_t end)
{
    qnnrt_manifest *to = w->to;
    qnnrt_step_desc *steps = (qnnrt_step_desc *)qnnrt_arena_get(
        &w->scratch, to->info.context_count, sizeof *steps);
    qnnrt_pipeline_desc desc;
    qnnrt_result result;
    size_t i;
    if (steps == NULL) return qnnrt_manifest__no_memory(w);
    memset(&desc, 0, sizeof desc);
    for (i = first; i < end; ++i) {
        const qnnrt_graph_info *graph = qnnrt_manifest__graph_of(to, i, name);
        if (graph == NULL) continue;
        steps[desc.step_count].model = to->contexts[i].model;
        steps[desc.step_count].context = to->contexts[i].context;
        steps[desc.step_count++].graph = graph->name;
    }
    desc.steps = steps;
    result = qnnrt_pipeline_make(&desc, &to->made[to->made_count], w->err);
    if (result == QNNRT_OK) ++to->made_count;
    if (result == QNNRT_OK || result == QNNRT_E_MEMORY) return result;
    qnnrt_manifest__log(&to->hooks, QNNRT_LOG_WARN, "\"%s\" is not wired: %s", steps[0].graph,
                        w->err->text);
    return qnnrt_error_clear(w->err);
}

/* Join graphs of several models: those with one name, each name once; if no name joins, the only
   graphs of all contexts in the order of the program. Each other graph stays alone. */
static qnnrt_result qnnrt_manifest__join_all(qnnrt_manifest__work *w)
{
    const qnnrt_manifest *to = w->to;
    const size_t contexts = to->info.context_count;
    qnnrt_result result = QNNRT_OK;
    size_t i, g, k, same, single = 0, found = 0;
    for (i = 0; i < contexts; ++i) {
        if (to->contexts[i].failure != NULL) return QNNRT_OK;      /* a part must not look whole */
        single += to->contexts[i].info->graph_count == 1;
    }
    for (i = 0; i < contexts; ++i)
        for (g = 0; g < to->contexts[i].info->graph_count; ++g) {
            const char *name = to->contexts[i].info->graphs[g].name;
            for (k = 0; k < i && qnnrt_manifest__graph_of(to, k, name) == NULL;) ++k;
            if (k < i) continue;                                    /* it was joined there */
            for (k = i, same = 0; k < contexts; ++k)
                same += qnnrt_manifest__graph_of(to, k, name) != NULL;
            if (same < 2) continue;
            ++found;
            result = qnnrt_manifest__join(w, name, i, contexts);
            if (result != QNNRT_OK) return result;
        }
    if (found == 0 && single == contexts) return qnnrt_manifest__join(w, NULL, 0, contexts);
    for (i = 0; i < contexts; ++i)
        for (g = 0; g < to->contexts[i].info->graph_count && result == QNNRT_OK; ++g) {
            const char *name = to->contexts[i].info->graphs[g].name;
            for (k = 0, same = 0; k < contexts; ++k)
                same += qnnrt_manifest__graph_of(to, k, name) != NULL;
            if (same == 1) result = qnnrt_manifest__join(w, name, i, i + 1);
        }
    return result;
}

/* Make the pipelines, and list them. */
static qnnrt_result qnnrt_manifest__make(qnnrt_manifest__work *w)
{
    qnnrt_manifest *to = w->to;
    const qnnrt_info *first = qnnrt_get_info(to->models[0]);
    size_t most = w->program.pipeline_count, i;
    qnnrt_result result;
    to->info.system_path = first->system_path;
    to->info.backend = first->backend;
    if (w->program.version == 0 || (w->program.joined && to->info.model_count == 1 &&
                                    to->part_count == 1)) {
        to->info.pipelines = first->pipelines;
        to->info.pipeline_count = first->pipeline_count;
        return QNNRT_OK;
    }
    for (i = 0; i < to->info.context_count && w->program.joined; ++i)
        most += to->contexts[i].info->graph_count;
    if (w->program.joined && most * most > QNNRT_MANIFEST__LOOKS)
        return qnnrt_error_set(w->err, QNNRT_E_LIMIT, "%lu graphs in %lu contexts: too many to look"
                               " for pipelines", (unsigned long)most,
                               (unsigned long)to->info.context_count);
    to->made = (qnnrt_pipeline **)qnnrt_arena_get(&to->arena, most + 1, sizeof *to->made);
    to->conversions = (qnnrt_conversions **)qnnrt_arena_get(&to->arena, most + 1,
                                                            sizeof *to->conversions);
    if (to->made == NULL || to->conversions == NULL) return qnnrt_manifest__no_memory(w);
    result = w->program.joined ? qnnrt_manifest__join_all(w) : qnnrt_manifest__make_all(w);
    to->info.pipelines = (const qnnrt_pipeline *const *)to->made;
    to->info.pipeline_count = to->made_count;
    return result;
}

/* =====================================================================================
   PUBLIC                                                                         >>public
   The functions that open, use and close a program.
   Needs: >>schema >>files >>roles >>make     Knows nothing of: what they do
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
    to->contexts = (qnnrt_manifest_context_info *)qnnrt_arena_get(
        &to->arena, info->context_count, sizeof *to->contexts);
    if (to->contexts == NULL) return qnnrt_manifest__no_memory(w);
    for (i = 0; i < info->context_count; ++i) {
        to->contexts[i].file = info->contexts[i].file;
        to->contexts[i].role = "";
        to->contexts[i].model = to->models[0];
        to->contexts[i].context = i;
        to->contexts[i].failure = info->contexts[i].failure;
        to->contexts[i].info = &info->contexts[i];
        if (w->desc->check_hashes)
            qnnrt_manifest__log(&to->hooks, QNNRT_LOG_WARN, "%s is not compared with a SHA-256: the"
                                " folder has no program", info->contexts[i].file);
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
    if (result == QNNRT_OK && w->program.version == 0) {
        result = qnnrt_manifest__plain(w);
    } else if (result == QNNRT_OK) {
        to->info.program = 1;
        result = qnnrt_manifest__files(w);
        if (result == QNNRT_OK) result = qnnrt_manifest__open_roles(w);
        if (result == QNNRT_OK) result = qnnrt_manifest__values_of(w);
    }
    to->info.models = to->models;
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
        (folder != NULL && folder[0] == '\0'))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_manifest_open: out is NULL, the folder's"
                               " name is empty, or not one of folder and desc.model.files is"
                               " given");
    result = qnnrt_manifest__check_desc(desc, err);
    if (result != QNNRT_OK) return result;
    hooks = &desc->model.backend_desc.hooks;
    to = (qnnrt_manifest *)qnnrt_hooks_alloc(hooks, 1, sizeof *to);
    w = (qnnrt_manifest__work *)qnnrt_hooks_alloc(hooks, 1, sizeof *w);
    if (to != NULL) to->hooks = to->arena.hooks = *hooks;
    if (to != NULL && w != NULL) {
        w->scratch.hooks = *hooks;
        w->to = to;
        w->desc = desc;
        w->limits = qnnrt_manifest__limits(&desc->model.limits);
        w->err = err != NULL ? err : &w->own;
        result = qnnrt_manifest__fill(w, folder);
        qnnrt_arena_free(&w->scratch);
    } else {
        result = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a program");
    }
    qnnrt_hooks_free(hooks, w);
    if (result == QNNRT_OK) *out = to;
    else if (to != NULL) (void)qnnrt_manifest_close(to);
    return result;
}

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_close(qnnrt_manifest *program)
{
    qnnrt_result result = QNNRT_OK, one;
    qnnrt_hooks hooks;
    size_t i;
    if (program == NULL) return QNNRT_OK;
    while (program->made_count > 0) {
        if (qnnrt_pipeline_destroy(program->made[program->made_count - 1]) != QNNRT_OK)
            return QNNRT_E_BUSY;
        program->info.pipeline_count = --program->made_count;
        qnnrt_conversions_free(program->conversions[program->made_count]);
    }
    for (i = program->part_count; i-- > 0;) {
        qnnrt_manifest__part *part = &program->parts[i];
        const int opened = part->model != NULL;
        one = qnnrt_close(part->model);
        if (one == QNNRT_E_BUSY) return one;
        if (result == QNNRT_OK) result = one;
        part->model = NULL;
        program->info.context_count = 0;        /* their facts were those of models */
        if (opened && program->info.model_count > 0) --program->info.model_count;
    }
    for (i = 0; i < program->part_count; ++i) {
        one = program->parts[i].owned ? qnnrt_backend_close(program->parts[i].backend) : QNNRT_OK;
        if (one == QNNRT_E_BUSY) return one;
        program->parts[i].owned = 0;
        if (result == QNNRT_OK) result = one;
    }
    hooks = program->hooks;
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

/* Append the names of the program's pipelines. */
static void qnnrt_manifest__list_pipelines(const qnnrt_manifest *program, qnnrt_error *err)
{
    size_t i;
    qnnrt_error_add(err, "\n  it has:");
    for (i = 0; i < program->made_count && i < 8; ++i)
        qnnrt_error_add(err, " \"%.100s\"", qnnrt_pipeline_get_info(program->made[i])->name);
    if (program->made_count > 8)
        qnnrt_error_add(err, " and %lu more", (unsigned long)(program->made_count - 8));
}

/* Find "<context>/<graph>", with the context's number in the program. NULL: there is none. */
static const qnnrt_pipeline *qnnrt_manifest__single(const qnnrt_manifest *program,
                                                    const char *name)
{
    const qnnrt_pipeline *found = NULL;
    const qnnrt_manifest_context_info *context;
    size_t number = 0, i;
    char *address;
    for (i = 0; name[i] >= '0' && name[i] <= '9' && number < program->info.context_count; ++i)
        number = number * 10 + (size_t)(name[i] - '0');
    if (i == 0 || name[i] != '/' || number >= program->info.context_count) return NULL;
    context = &program->contexts[number];
    if (context->failure != NULL || context->model == NULL) return NULL;
    address = (char *)qnnrt_hooks_alloc(&program->hooks, strlen(name) + 24, 1);
    if (address == NULL) return NULL;
    snprintf(address, strlen(name) + 24, "%lu%s", (unsigned long)context->context, name + i);
    if (qnnrt_pipeline_find(context->model, address, &found, NULL) != QNNRT_OK) found = NULL;
    qnnrt_hooks_free(&program->hooks, address);
    return found;
}

QNNRT_MANIFEST_API qnnrt_result qnnrt_manifest_find(const qnnrt_manifest *program, const char *name,
                                                    const qnnrt_pipeline **out, qnnrt_error *err)
{
    const qnnrt_pipeline *found = NULL;
    size_t i, k, matches = 0;
    int graphs;
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (program == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_manifest_find: program or out is NULL");
    if (program->made == NULL) return qnnrt_pipeline_find(program->models[0], name, out, err);
    if (name == NULL && program->made_count == 1) {
        *out = program->made[0];
        return QNNRT_OK;
    }
    if (name == NULL) {
        qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "the program has %lu pipelines, but no name is"
                        " given", (unsigned long)program->made_count);
        qnnrt_manifest__list_pipelines(program, err);
        return qnnrt_error_hint(err, QNNRT_E_NOT_FOUND, "Give the name of one of them.");
    }
    for (graphs = 0; graphs < 2 && matches == 0; ++graphs)
        for (i = 0; i < program->made_count; ++i) {
            const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(program->made[i]);
            int named = !graphs && strcmp(p->name, name) == 0;
            for (k = 0; graphs && k < p->step_count; ++k)
                named |= strcmp(p->steps[k].graph->name, name) == 0;
            if (named) found = program->made[i];
            matches += (size_t)named;
        }
    if (matches == 0) found = qnnrt_manifest__single(program, name);
    if (found != NULL && matches < 2) {
        *out = found;
        return QNNRT_OK;
    }
    qnnrt_error_set(err, matches > 1 ? QNNRT_E_ARG : QNNRT_E_NOT_FOUND,
                    matches > 1 ? "\"%.200s\" names several pipelines"
                                : "no pipeline or graph \"%.200s\"", name);
    qnnrt_manifest__list_pipelines(program, err);
    return matches > 1 ? QNNRT_E_ARG : QNNRT_E_NOT_FOUND;
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
