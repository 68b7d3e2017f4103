/* qnnrt_weights.h - v0.5.0 - read files of weights, mapped: safetensors, and GGUF

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_weights.h"
       #define QNNRT_WEIGHTS_IMPLEMENTATION
       #include "qnnrt_weights.h"
   qnnrt.h and qnnrt_json.h lie beside this file or are found by the compiler. Link with -ldl.

       qnnrt_weights *weights; qnnrt_error err; float *values;
       if (qnnrt_weights_open("model_dir", NULL, &weights, &err) != QNNRT_OK) {
           puts(err.text); puts(err.hint); return 1;
       }
       const qnnrt_weight *table = qnnrt_weights_match(weights, "embed_tokens.weight");
       if (table != NULL) {
           values = (float *)malloc((size_t)table->count * sizeof(float));
           if (qnnrt_weights_convert(table, QNNRT_DTYPE_F32, values,
                                     (size_t)table->count * sizeof(float), NULL, &err) != QNNRT_OK)
               puts(err.text);
           free(values);
       }
       qnnrt_weights_close(weights);

   Uses     Public names of qnnrt.h and qnnrt_json.h, libc and POSIX files; no libm
   Trust    Files may be hostile, but nobody may shorten one while it is open: reading what is then
            missing ends the program with SIGBUS. The caller is trusted.
   Memory   Data stays in the mapped files. One allocator hook serves every allocation: names,
            shapes, and for the time of opening the headers of the files.
   Threads  The header creates none. Any number of threads may read an opened qnnrt_weights.
   Globals  Constant tables only. The header prints nothing and never aborts.
   Missing  Writing. Pickles (.pt, .pth, .bin) and .npz: they are recognised and refused, and the
            hint says how to convert them. GGUF in several files, of version 1, and big-endian.
            Conversions of 8-bit, 6-bit and 4-bit floats, of complex numbers, and of blocks other
            than Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K and Q6_K: such weights are listed with
            their bytes.

   WORDS
       weight    a named tensor in a file: type, dims, and bytes in row-major order, little-endian
       block     32 or 256 neighbours of a row that share scales, as GGUF has them: their values
                 stand for float32
       shard     one of several files that hold one model; x.safetensors.index.json lists which
                 weight lies in which shard
       header    the beginning of a file, which describes its weights: JSON, or the pairs of GGUF
       gap       bytes of a file that belong to no weight
       row       all elements with the same first index. A weight of rank 0 is one row

   BUILD OPTIONS, to define before the header is first included
       QNNRT_WEIGHTS_API   replaces the storage and export prefix of all functions (default:
                           QNNRT_API)
       The options of qnnrt.h work here too:
       QNNRT_STATIC        makes every function static: both implementations and all calls in one
                           file
       QNNRT_API           sets the prefix of all functions, for example for hidden visibility
       QNNRT_NO_JSON       builds qnnrt.h without qnnrt_json.h. This header includes it all the same

   MANUAL

   Opening
       qnnrt_weights_open() takes a file, the index of several files, or a folder with either. All
       headers are read and checked, and the files are mapped: opening reads no weight. To list
       what is there:
           const qnnrt_weights_info *info = qnnrt_weights_get_info(weights);
           for (i = 0; i < info->count; ++i)
               printf("%s %s %llu bytes\n", info->weights[i].name, info->weights[i].type,
                      (unsigned long long)info->weights[i].bytes);
       info->gap_bytes and info->unlisted are 0 for files in good order.

   Finding
       qnnrt_weights_find() takes the exact name. qnnrt_weights_match() takes the name that an
       exported graph uses: it adds and removes the prefixes of wrappers, and finds the table of
       embeddings for a head that is tied to it.
           weight = qnnrt_weights_match(weights, "model.model.layers.0.mlp.up_proj.weight");
       Compare weight->name with the key to report a different name.

   Converting
       weight->data is not aligned. Copy it with memcpy(), or convert it:
           qnnrt_weights_loss loss = { 0, 0, 0 };
           qnnrt_weights_convert(weight, QNNRT_DTYPE_F16, data, bytes, &loss, &err);
           if (loss.overflowed != 0) puts("too large for float16");
           if (loss.flushed != 0) puts("some small values became 0");
       With loss NULL a value that overflows or is out of range is an error. To convert a large
       weight in parts, so that little memory is needed:
           for (row = 0; row < weight->dims[0]; row += 1024) {
               rows = weight->dims[0] - row < 1024 ? weight->dims[0] - row : 1024;
               qnnrt_weights_rows(weight, row, rows, QNNRT_DTYPE_F16, data,
                                  (size_t)(rows * row_bytes), &loss, &err);
               use(data);
           }
       Pages of a file that were read stay in memory while they fit. To hold one weight at a time,
       give back those of each weight after use:
           qnnrt_weights_done(weights, weight);

   GGUF
       Names, types and dims are those of the file, with dims in row-major order: the first one is
       the slowest, as everywhere here. Values of blocks are float32, equal to ggml's bit for bit:
           if (weight->block != 0) puts("blocks: .bytes are theirs, .dtype is float32");
           qnnrt_weights_convert(weight, QNNRT_DTYPE_F16, data, bytes, &loss, &err);
       Metadata have types:
           const qnnrt_weights_value *value = qnnrt_weights_get_value(weights,
                                                                     "llama.block_count");
           int64_t layers;
           if (!qnnrt_weights_value_i64(value, 0, &layers)) puts("not a whole number");
       A list of texts is read from its first one to its last one:
           uint64_t at = 0; const char *text; size_t bytes;
           while (qnnrt_weights_value_next(value, &at, &text, &bytes)) use(text, bytes);
       Files for Llama have the rows of queries and keys in another order than checkpoints, pairs
       that are rotated together side by side. To read them in the order of checkpoints:
           qnnrt_weights_unpair(weights, "blk.0.attn_q.weight", 32, &err);     // heads

   Errors
       Opening fails with NOT_FOUND (no such path, no weights in the folder, or a shard is missing),
       IO, FORMAT (a damaged file; the text names weight and bytes), UNSUPPORTED (another kind of
       file, or an unknown type), LIMIT or MEMORY. The text begins with the path of the file.

   ROOMS (search for the tag)
       >>config >>disk >>kind >>header >>gguf >>named >>index >>folder >>lookup >>open >>blocks
       >>convert >>public
*/
#ifndef QNNRT_WEIGHTS_H
#define QNNRT_WEIGHTS_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_weights.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_WEIGHTS_API
#define QNNRT_WEIGHTS_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------------- checkpoint -- */

enum { QNNRT_WEIGHTS_RANK = 8 };   /* most dims of a weight */

typedef struct qnnrt_weight {
    const char     *name;          /* not empty; may have control characters */
    const char     *type;          /* as the file writes it: "BF16", "F32", "I64", "BOOL", ... */
    qnnrt_dtype     dtype;         /* of the values; UNDEFINED: qnnrt_weights_convert() does not
                                      read this type */
    uint32_t        rank;          /* 0: a scalar */
    const uint64_t *dims;          /* [rank]; a dim may be 0 */
    uint64_t        count, bytes;  /* elements, and bytes in the file */
    const void     *data;          /* mapped, with any alignment; little-endian */
    const char     *file;          /* path of its file */
    uint32_t        block;         /* values of a block; 0: .data are elements of .dtype */
    uint32_t        heads;         /* of qnnrt_weights_unpair(), whose order .data does not have; 0:
                                      rows are as they lie in .data */
} qnnrt_weight;

typedef struct qnnrt_weights_file {
    const char *path;
    uint64_t    bytes;             /* of the file, header included */
    uint64_t    gap_bytes;         /* of its data that belong to no weight */
    size_t      weight_count;      /* weights that are listed from it */
} qnnrt_weights_file;

typedef struct qnnrt_weights_pair {
    const char *key, *value;       /* of "__metadata__", such as "format" and "pt" */
    const char *file;              /* path of its file */
} qnnrt_weights_pair;

/* Types of GGUF's metadata, by their numbers in files. */
typedef enum qnnrt_weights_kind {
    QNNRT_WEIGHTS_U8 = 0, QNNRT_WEIGHTS_I8, QNNRT_WEIGHTS_U16, QNNRT_WEIGHTS_I16,
    QNNRT_WEIGHTS_U32, QNNRT_WEIGHTS_I32, QNNRT_WEIGHTS_F32, QNNRT_WEIGHTS_BOOL,
    QNNRT_WEIGHTS_TEXT, QNNRT_WEIGHTS_LIST, QNNRT_WEIGHTS_U64, QNNRT_WEIGHTS_I64,
    QNNRT_WEIGHTS_F64
} qnnrt_weights_kind;

/* A pair of GGUF's metadata. */
typedef struct qnnrt_weights_value {
    const char        *key;
    qnnrt_weights_kind kind;       /* of the elements; never LIST */
    int                list;       /* 1: a list, which may be empty */
    uint64_t           count;      /* elements; 1 if it is no list */
    const void        *data;       /* as in the file, with any alignment: texts are a uint64 with
                                      their length, and their bytes */
    uint64_t           bytes;      /* of data */
    const char        *file;       /* path of its file */
} qnnrt_weights_value;

typedef struct qnnrt_weights_info {
    size_t                    count;
    const qnnrt_weight       *weights;      /* file by file, in the order of the headers */
    uint64_t                  bytes;        /* of all weights */
    uint64_t                  gap_bytes;    /* of all files */
    uint64_t                  unlisted;     /* weights in the files that the index does not list
                                               there; they are not in .weights */
    size_t                    file_count;
    const qnnrt_weights_file *files;        /* sorted by name */
    size_t                    metadata_count;
    const qnnrt_weights_pair *metadata;
    const char               *index;        /* path of the index, "" if there is none */
    size_t                    value_count;  /* pairs of GGUF's metadata */
    const qnnrt_weights_value *values;      /* in the order of the file */
} qnnrt_weights_info;

typedef struct qnnrt_weights_desc {
    qnnrt_hooks hooks;             /* alloc and free are used */
    uint64_t    header_bytes;      /* one header or index (default 0: 100,000,000) */
    uint64_t    tensors;           /* weights of all files, and pairs of metadata (default 0:
                                      1,000,000) */
    uint32_t    files;             /* shards (default 0: 1,024) */
    uint32_t    name_bytes;        /* a name (default 0: 1,024) */
} qnnrt_weights_desc;

typedef struct qnnrt_weights qnnrt_weights;   /* an opened checkpoint */

/* Open the weights of a model: read and check all headers, and map the files.

   path   a safetensors or GGUF file; an index, whose name ends in ".json"; or a folder. In a folder
          it is model.safetensors, else model.safetensors.index.json, else the only
          *.safetensors.index.json, else the only *.safetensors
   desc   NULL for the default; may live on the stack
   out    receives the weights, or NULL on failure

   Each weight must lie within its file, its bytes must fit its type and dims, no two weights may
   share bytes or a name, and each weight that an index lists must be in the shard that it names.
   Shards lie beside their index: a name with a path is refused.

   Returns  QNNRT_OK
            QNNRT_E_NOT_FOUND    no such path, no weights in the folder, or a shard is missing
            QNNRT_E_IO           a file cannot be read or mapped
            QNNRT_E_FORMAT       a damaged file; the text has weight and bytes
            QNNRT_E_UNSUPPORTED  a pickle, .npz, git-lfs pointer or another kind of file (the hint
                                 says what to do); GGUF in several files, of version 1, or
                                 big-endian; a type without a known size; a big-endian machine; a
                                 file too large for a 32-bit program
            QNNRT_E_MISMATCH     a folder with several files and no index
            QNNRT_E_LIMIT        more than desc allows, or more than 8 dims
            QNNRT_E_MEMORY, QNNRT_E_ARG
   Frees    qnnrt_weights_close(); NULL is allowed
   Threads  any
   Cost     reads the headers alone: some milliseconds, whatever the size of the files */
QNNRT_WEIGHTS_API qnnrt_result qnnrt_weights_open(const char *path, const qnnrt_weights_desc *desc,
                                                  qnnrt_weights **out, qnnrt_error *err);
QNNRT_WEIGHTS_API void qnnrt_weights_close(qnnrt_weights *weights);

/* Return what was opened, valid until qnnrt_weights_close(); NULL for NULL. */
QNNRT_WEIGHTS_API const qnnrt_weights_info *qnnrt_weights_get_info(const qnnrt_weights *weights);

/* Return the weight with exactly this name, or NULL. */
QNNRT_WEIGHTS_API const qnnrt_weight *qnnrt_weights_find(const qnnrt_weights *weights,
                                                         const char *name);

/* Return the weight that a graph calls `key`: the first of these that exists, or NULL.

       1. the exact name
       2. the name without one "model." at its beginning, then without two
       3. the name with "model." before it, then with "model.model."
       4. for "lm_head.weight", with or without "model.": the only weight whose last parts are
          "embed_tokens.weight", else the only one with "wte.weight"; and for keys that end in these
          parts: "lm_head.weight" as in 1 to 3. Such weights are tied, and are stored once */
QNNRT_WEIGHTS_API const qnnrt_weight *qnnrt_weights_match(const qnnrt_weights *weights,
                                                          const char *key);

/* Read a weight whose rows are those of heads, with the pairs of each head side by side, as a
   weight that has the first halves of all pairs before the second ones: value row d/2 * k + i of a
   head of d rows lies in row 2 * i + k of that head, for k of 0 and 1. Conversions do this; .data
   stays as it is. Doing it again with other heads replaces it; heads 0 ends it.

   weights  of this file
   name     of a weight of rank 1 or 2

   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND; QNNRT_E_MISMATCH (its rows are no multiple of 2 * heads);
            QNNRT_E_ARG
   Threads  none may use the weights meanwhile */
QNNRT_WEIGHTS_API qnnrt_result qnnrt_weights_unpair(qnnrt_weights *weights, const char *name,
                                                    uint32_t heads, qnnrt_error *err);

/* -------------------------------------------------------------------------- metadata of GGUF -- */

/* Return the pair of GGUF's metadata with this key, or NULL. */
QNNRT_WEIGHTS_API const qnnrt_weights_value *qnnrt_weights_get_value(const qnnrt_weights *weights,
                                                                     const char *key);

/* Read element `index` as a number.

   value    may be NULL

   Returns  1; 0 and *out unchanged if there is no such element, if it is a text, or, for int64, if
            it is a fraction or too large. A bool is 0 or 1 */
QNNRT_WEIGHTS_API int qnnrt_weights_value_i64(const qnnrt_weights_value *value, uint64_t index,
                                              int64_t *out);
QNNRT_WEIGHTS_API int qnnrt_weights_value_f64(const qnnrt_weights_value *value, uint64_t index,
                                              double *out);

/* Read the next text.

   value        may be NULL
   at           0 before the first one; it moves on to the next one
   text, bytes  receive it: not ended by a NUL, and of any bytes

   Returns      1; 0 if there are no more, or if these are not texts */
QNNRT_WEIGHTS_API int qnnrt_weights_value_next(const qnnrt_weights_value *value, uint64_t *at,
                                               const char **text, size_t *bytes);

/* -------------------------------------------------------------------------------- conversion -- */

/* What a conversion changed, other than by rounding. */
typedef struct qnnrt_weights_loss {
    uint64_t overflowed;           /* finite values that became infinite */
    uint64_t flushed;              /* values other than 0 that became 0 */
    uint64_t out_of_range;         /* integers that did not fit: the nearest one is stored */
} qnnrt_weights_loss;

/* Copy a weight, converting it to another type.

   to       float16, bfloat16, float32 or float64 from any of these, and from blocks: rounded once,
            to nearest, ties to even; NaN stays NaN, infinity stays infinity. bool8 or an integer
            of 8 to 64 bits from any of these: true is 1, and to bool8 only 0 and 1 fit. Any type to
            itself, unless it stands for blocks: the bytes are copied
   data     receives weight->count elements; any alignment
   bytes    of data, must be the bytes of the result
   loss     the counts are added to it, so that it may serve several calls; NULL: overflow and
            integers out of range are errors

   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (between these types); QNNRT_E_MISMATCH (loss is NULL and
            a value did not fit: the text has the count); QNNRT_E_ARG
   Threads  any */
QNNRT_WEIGHTS_API qnnrt_result qnnrt_weights_convert(const qnnrt_weight *weight, qnnrt_dtype to,
                                                     void *data, size_t bytes,
                                                     qnnrt_weights_loss *loss, qnnrt_error *err);

/* Do the same with `rows` rows from row `first` on. A weight of rank 0 has one row. */
QNNRT_WEIGHTS_API qnnrt_result qnnrt_weights_rows(const qnnrt_weight *weight, uint64_t first,
                                                  uint64_t rows, qnnrt_dtype to, void *data,
                                                  size_t bytes, qnnrt_weights_loss *loss,
                                                  qnnrt_error *err);

/* Do the same with `count` elements from element `first` on, counted row by row. */
QNNRT_WEIGHTS_API qnnrt_result qnnrt_weights_part(const qnnrt_weight *weight, uint64_t first,
                                                  uint64_t count, qnnrt_dtype to, void *data,
                                                  size_t bytes, qnnrt_weights_loss *loss,
                                                  qnnrt_error *err);

/* Return where the bytes of row `row` of the values begin in .data, or NULL if there is none, or
   if rows are no whole bytes or blocks. `bytes` receives how many they are. */
QNNRT_WEIGHTS_API const void *qnnrt_weights_row(const qnnrt_weight *weight, uint64_t row,
                                                uint64_t *bytes);

/* Give the pages of a weight back to the system, so that they no longer count as memory of the
   process. The data stays: reading it again reads the file again.

   weights, weight   the weight must be one of these weights

   Returns  how many bytes were given back: whole pages alone, so that parts of a page at both ends
            stay, and small weights stay whole. 0: nothing, or an argument is wrong
   Threads  any; other threads may read the weight meanwhile */
QNNRT_WEIGHTS_API uint64_t qnnrt_weights_done(const qnnrt_weights *weights,
                                              const qnnrt_weight *weight);

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_WEIGHTS_H */

#ifdef QNNRT_WEIGHTS_IMPLEMENTATION
#ifndef QNNRT_WEIGHTS__IMPL_ONCE
#define QNNRT_WEIGHTS__IMPL_ONCE

/* qnnrt.h includes the functions of qnnrt_json.h, unless QNNRT_NO_JSON is defined. */
#if defined(QNNRT_NO_JSON) && !defined(QNNRT_JSON_IMPLEMENTATION)
#define QNNRT_JSON_IMPLEMENTATION
#endif
#include "qnnrt_json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   What tests and error texts need, for every room.
   Needs: nothing     Knows nothing of: weights, files
   ===================================================================================== */

/* Marks each turn of loops that a hostile file could make long. Tests define it to count them. */
#ifndef QNNRT_WEIGHTS__STEP
#define QNNRT_WEIGHTS__STEP() ((void)0)
#endif

/* Most bytes of a path or name in an error text. */
#define QNNRT_WEIGHTS__SHOWN "%.600s"

/* =====================================================================================
   DISK                                                                            >>disk
   Opens, reads and maps regular files.
   Needs: >>config     Knows nothing of: weights, JSON
   ===================================================================================== */

/* MADV_DONTNEED of Linux (all architectures that QNN exists for), and madvise(): hidden by
   -std=c99. posix_madvise() does nothing with this advice. C++ compilers do not hide them. */
#define QNNRT_WEIGHTS__DONTNEED 4
#ifndef __cplusplus
extern int madvise(void *at, size_t bytes, int advice);
#endif

enum { QNNRT_WEIGHTS__PATH = 4096, QNNRT_WEIGHTS__HEAD = 512 };

/* Read a little-endian number of up to 8 bytes. */
static uint64_t qnnrt_weights__number(const void *at, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

/* An open file of weights. */
typedef struct qnnrt_weights__disk {
    const char    *path;
    uint64_t       bytes;
    unsigned char  head[QNNRT_WEIGHTS__HEAD];   /* its first bytes */
    size_t         head_bytes;
    int            fd;                          /* -1: closed */
    void          *map;                         /* NULL: not mapped */
} qnnrt_weights__disk;

static qnnrt_result qnnrt_weights__disk_fail(const char *path, const char *what, int code,
                                             qnnrt_error *err)
{
    if (code == ENOENT || code == ENOTDIR)
        return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, QNNRT_WEIGHTS__SHOWN ": there is no such "
                               "file", path);
    return qnnrt_error_set(err, QNNRT_E_IO, QNNRT_WEIGHTS__SHOWN ": %s: %s", path, what,
                           strerror(code));
}

/* Read `bytes` bytes from where the file is. */
static qnnrt_result qnnrt_weights__disk_read(const qnnrt_weights__disk *disk, void *into,
                                             size_t bytes, qnnrt_error *err)
{
    size_t done = 0;
    while (done < bytes) {
        const size_t left = bytes - done;
        const ptrdiff_t got = read(disk->fd, (char *)into + done,
                                   left > 0x40000000u ? 0x40000000u : left);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return qnnrt_weights__disk_fail(disk->path, "cannot read it", errno, err);
        if (got == 0)
            return qnnrt_error_set(err, QNNRT_E_IO, QNNRT_WEIGHTS__SHOWN ": it became shorter "
                                   "while it was read", disk->path);
        done += (size_t)got;
    }
    return QNNRT_OK;
}

/* Open a regular file and read its first bytes. */
static qnnrt_result qnnrt_weights__disk_open(qnnrt_weights__disk *disk, const char *path,
                                             qnnrt_error *err)
{
    qnnrt_result result;
    memset(disk, 0, sizeof *disk);
    disk->path = path;
    result = qnnrt_file_open(path, &disk->fd, &disk->bytes, err);
    if (result != QNNRT_OK) return result;
    disk->head_bytes = disk->bytes < sizeof disk->head ? (size_t)disk->bytes : sizeof disk->head;
    return qnnrt_weights__disk_read(disk, disk->head, disk->head_bytes, err);
}

/* Copy bytes of the file, which has them. */
static qnnrt_result qnnrt_weights__disk_copy(const qnnrt_weights__disk *disk, size_t at, void *into,
                                             size_t bytes, qnnrt_error *err)
{
    if (lseek(disk->fd, (off_t)at, SEEK_SET) < 0)
        return qnnrt_weights__disk_fail(disk->path, "cannot read it", errno, err);
    return qnnrt_weights__disk_read(disk, into, bytes, err);
}

/* Map the whole file, which is not empty, and close it. The mapping stays. */
static qnnrt_result qnnrt_weights__disk_map(qnnrt_weights__disk *disk, qnnrt_error *err)
{
    void *at;
    if (disk->bytes > SIZE_MAX / 2)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, QNNRT_WEIGHTS__SHOWN
                               ": its %llu bytes need a 64-bit program", disk->path,
                               (unsigned long long)disk->bytes);
    at = mmap(NULL, (size_t)disk->bytes, PROT_READ, MAP_PRIVATE, disk->fd, 0);
    if (at == MAP_FAILED) return qnnrt_weights__disk_fail(disk->path, "cannot map it", errno, err);
    disk->map = at;
    close(disk->fd);
    disk->fd = -1;
    return QNNRT_OK;
}

static void qnnrt_weights__disk_close(qnnrt_weights__disk *disk)
{
    if (disk->map != NULL) munmap(disk->map, (size_t)disk->bytes);
    if (disk->fd >= 0) close(disk->fd);
    disk->map = NULL;
    disk->fd = -1;
}

/* Give whole pages of mapped data back. Return how many bytes they have. */
static uint64_t qnnrt_weights__disk_drop(const void *data, uint64_t bytes)
{
    const long page = sysconf(_SC_PAGESIZE);
    const uintptr_t size = page > 0 ? (uintptr_t)page : 4096;
    const uintptr_t begin = ((uintptr_t)data + size - 1) / size * size;
    const uintptr_t end = ((uintptr_t)data + (uintptr_t)bytes) / size * size;
    if (end <= begin) return 0;
    return madvise((void *)begin, end - begin, QNNRT_WEIGHTS__DONTNEED) == 0 ? end - begin : 0;
}

/* Return the length of the folder part of a path, with its last slash; 0 when it has none. */
static size_t qnnrt_weights__disk_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* Join the first `folder_bytes` bytes of a folder, and a name. Return a copy in the arena, or NULL
   when out of memory. */
static char *qnnrt_weights__disk_join(qnnrt_arena *arena, const char *folder,
                                      size_t folder_bytes, const char *name)
{
    const size_t slash = folder_bytes > 0 && folder[folder_bytes - 1] != '/', bytes = strlen(name);
    char *path = (char *)qnnrt_arena_get(arena, (uint64_t)folder_bytes + slash + bytes + 1, 1);
    if (path == NULL) return NULL;
    memcpy(path, folder, folder_bytes);
    if (slash) path[folder_bytes] = '/';
    memcpy(path + folder_bytes + slash, name, bytes);
    return path;
}

/* Return 1 if a text ends in another one. */
static int qnnrt_weights__disk_ends(const char *text, const char *end)
{
    const size_t a = strlen(text), b = strlen(end);
    return a >= b && memcmp(text + (a - b), end, b) == 0;
}

/* =====================================================================================
   KIND OF FILE                                                                    >>kind
   Recognises files that are not safetensors, by their first bytes or their names.
   Needs: >>config >>disk     Knows nothing of: weights
   ===================================================================================== */

typedef enum qnnrt_weights__kind {
    QNNRT_WEIGHTS__UNKNOWN,
    QNNRT_WEIGHTS__PICKLE,
    QNNRT_WEIGHTS__ZIP,
    QNNRT_WEIGHTS__NPZ,
    QNNRT_WEIGHTS__NPY,
    QNNRT_WEIGHTS__GGUF,
    QNNRT_WEIGHTS__LFS,
    QNNRT_WEIGHTS__HDF5,
    QNNRT_WEIGHTS__HTML,
    QNNRT_WEIGHTS__JSON
} qnnrt_weights__kind;

static int qnnrt_weights__kind_begins(const qnnrt_weights__disk *disk, const char *text,
                                      size_t bytes)
{
    return disk->head_bytes >= bytes && memcmp(disk->head, text, bytes) == 0;
}

/* Find the kind of a zip archive by the name of its first entry. */
static qnnrt_weights__kind qnnrt_weights__kind_of_zip(const qnnrt_weights__disk *disk)
{
    const size_t at = 30;                /* of the name in the first entry */
    char name[QNNRT_WEIGHTS__HEAD];
    size_t bytes;
    if (disk->head_bytes < at) return QNNRT_WEIGHTS__ZIP;
    bytes = (size_t)disk->head[26] | (size_t)disk->head[27] << 8;
    if (bytes > disk->head_bytes - at) return QNNRT_WEIGHTS__ZIP;
    memcpy(name, disk->head + at, bytes);
    name[bytes] = '\0';
    if (qnnrt_weights__disk_ends(name, "data.pkl")) return QNNRT_WEIGHTS__PICKLE;
    if (qnnrt_weights__disk_ends(name, ".npy")) return QNNRT_WEIGHTS__NPZ;
    return QNNRT_WEIGHTS__ZIP;
}

/* Find the kind of a file whose first eight bytes are not the size of a header. */
static qnnrt_weights__kind qnnrt_weights__kind_of(const qnnrt_weights__disk *disk)
{
    const unsigned char *head = disk->head;
    size_t at = 0;
    if (qnnrt_weights__kind_begins(disk, "PK\3\4", 4)) return qnnrt_weights__kind_of_zip(disk);
    if (disk->head_bytes >= 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5)
        return QNNRT_WEIGHTS__PICKLE;
    if (qnnrt_weights__kind_begins(disk, "\x93NUMPY", 6)) return QNNRT_WEIGHTS__NPY;
    if (qnnrt_weights__kind_begins(disk, "version https://git-lfs", 23)) return QNNRT_WEIGHTS__LFS;
    if (qnnrt_weights__kind_begins(disk, "\x89HDF", 4)) return QNNRT_WEIGHTS__HDF5;
    while (at < disk->head_bytes && memchr(" \t\r\n", head[at], 4) != NULL) ++at;
    if (at < disk->head_bytes && head[at] == '<') return QNNRT_WEIGHTS__HTML;
    if (at < disk->head_bytes && head[at] == '{') return QNNRT_WEIGHTS__JSON;
    return QNNRT_WEIGHTS__UNKNOWN;
}

/* Guess the kind of a file from its name. */
static qnnrt_weights__kind qnnrt_weights__kind_named(const char *name)
{
    static const struct { const char *end; qnnrt_weights__kind kind; } names[] = {
        { ".bin", QNNRT_WEIGHTS__PICKLE }, { ".pt", QNNRT_WEIGHTS__PICKLE },
        { ".pth", QNNRT_WEIGHTS__PICKLE }, { ".ckpt", QNNRT_WEIGHTS__PICKLE },
        { ".npz", QNNRT_WEIGHTS__NPZ },    { ".gguf", QNNRT_WEIGHTS__GGUF },
        { ".h5", QNNRT_WEIGHTS__HDF5 }
    };
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (qnnrt_weights__disk_ends(name, names[i].end)) return names[i].kind;
    return QNNRT_WEIGHTS__UNKNOWN;
}

/* Set the hint for a file of this kind, named without its folder. */
static qnnrt_result qnnrt_weights__kind_hint(qnnrt_weights__kind kind, const char *name,
                                             qnnrt_result code, qnnrt_error *err)
{
    switch (kind) {
    case QNNRT_WEIGHTS__PICKLE:
        return qnnrt_error_hint(err, code, "Convert it in Python: import torch; from "
                                "safetensors.torch import save_file; save_file({k: "
                                "v.clone().contiguous() for k, v in torch.load(\"%.100s\", "
                                "map_location=\"cpu\", weights_only=True).items()}, "
                                "\"model.safetensors\").", name);
    case QNNRT_WEIGHTS__NPZ:
        return qnnrt_error_hint(err, code, "Convert it in Python: import numpy; from "
                                "safetensors.numpy import save_file; "
                                "save_file(dict(numpy.load(\"%.100s\")), \"model.safetensors\").",
                                name);
    case QNNRT_WEIGHTS__NPY:
        return qnnrt_error_hint(err, code, "Convert it in Python: import numpy; from "
                                "safetensors.numpy import save_file; save_file({\"weight\": "
                                "numpy.load(\"%.100s\")}, \"model.safetensors\").", name);
    case QNNRT_WEIGHTS__LFS:
        return qnnrt_error_hint(err, code, "Run \"git lfs pull\" in its folder.");
    case QNNRT_WEIGHTS__GGUF:
        return qnnrt_error_hint(err, code, "Name the file itself, %.100s.", name);
    case QNNRT_WEIGHTS__ZIP:
    case QNNRT_WEIGHTS__HDF5:
        return qnnrt_error_hint(err, code, "Save the weights with safetensors' save_file().");
    case QNNRT_WEIGHTS__HTML:
        return qnnrt_error_hint(err, code, "Download the file itself, not the page that shows it.");
    case QNNRT_WEIGHTS__JSON:
        return qnnrt_error_hint(err, code, "Give an index a name that ends in \".json\".");
    default:
        return qnnrt_error_hint(err, code, "Download or save the file again and compare its size.");
    }
}

/* Report a file whose first eight bytes are not the size of a header. */
static qnnrt_result qnnrt_weights__kind_refuse(const qnnrt_weights__disk *disk, uint64_t header,
                                               qnnrt_error *err)
{
    static const char *const texts[] = {
        "", "a PyTorch pickle", "a zip archive", "an archive of NumPy arrays (.npz)",
        "a NumPy array (.npy)", "a GGUF file",
        "a git-lfs pointer, not the file itself", "an HDF5 file", "a web page or XML", "a JSON text"
    };
    const qnnrt_weights__kind kind = qnnrt_weights__kind_of(disk);
    const char *name = disk->path + qnnrt_weights__disk_folder(disk->path);
    qnnrt_result result = QNNRT_E_UNSUPPORTED;
    if (kind != QNNRT_WEIGHTS__UNKNOWN)
        qnnrt_error_set(err, result, QNNRT_WEIGHTS__SHOWN ": expected safetensors, found %s",
                        disk->path, texts[kind]);
    else if (disk->bytes < 8)
        result = qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN ": the file has %llu "
                                 "bytes, expected 8 or more", disk->path,
                                 (unsigned long long)disk->bytes);
    else
        result = qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN ": it is not "
                                 "safetensors, or cut short: its header needs %llu bytes, the file "
                                 "has %llu", disk->path, (unsigned long long)header,
                                 (unsigned long long)disk->bytes);
    return qnnrt_weights__kind_hint(kind, name, result, err);
}

/* =====================================================================================
   HEADER OF A FILE                                                              >>header
   Reads the JSON text of a safetensors file and checks every weight that it describes.
   Needs: >>config >>disk >>kind     Knows nothing of: the other files of a model
   ===================================================================================== */

/* The types of safetensors, and of GGUF. */
typedef struct qnnrt_weights__type {
    const char *name;
    uint32_t    bits;                    /* of an element, or of a block */
    qnnrt_dtype dtype;
    int         gguf;                    /* its number there; -1: none */
    uint32_t    block;                   /* elements of a block; 0: none */
} qnnrt_weights__type;

#define QNNRT_WEIGHTS__UNREAD QNNRT_DTYPE_UNDEFINED
static const qnnrt_weights__type qnnrt_weights__types[] = {
    { "F32",  32, QNNRT_DTYPE_F32, 0, 0 },  { "BF16", 16, QNNRT_DTYPE_BF16, 30, 0 },
    { "F16",  16, QNNRT_DTYPE_F16, 1, 0 },  { "F64",  64, QNNRT_DTYPE_F64, 28, 0 },
    { "I64",  64, QNNRT_DTYPE_I64, 27, 0 }, { "I32",  32, QNNRT_DTYPE_I32, 26, 0 },
    { "I16",  16, QNNRT_DTYPE_I16, 25, 0 }, { "I8",    8, QNNRT_DTYPE_I8, 24, 0 },
    { "U64",  64, QNNRT_DTYPE_U64, -1, 0 }, { "U32",  32, QNNRT_DTYPE_U32, -1, 0 },
    { "U16",  16, QNNRT_DTYPE_U16, -1, 0 }, { "U8",    8, QNNRT_DTYPE_U8, -1, 0 },
    { "BOOL",  8, QNNRT_DTYPE_BOOL8, -1, 0 },
    /* These have no type in QNN, or several of them have the same one. */
    { "F8_E4M3", 8, QNNRT_WEIGHTS__UNREAD, -1, 0 },
    { "F8_E5M2", 8, QNNRT_WEIGHTS__UNREAD, -1, 0 },
    { "F8_E8M0", 8, QNNRT_WEIGHTS__UNREAD, -1, 0 },
    { "F8_E4M3FNUZ", 8, QNNRT_WEIGHTS__UNREAD, -1, 0 },
    { "F8_E5M2FNUZ", 8, QNNRT_WEIGHTS__UNREAD, -1, 0 },
    { "F6_E2M3", 6, QNNRT_WEIGHTS__UNREAD, -1, 0 },
    { "F6_E3M2", 6, QNNRT_WEIGHTS__UNREAD, -1, 0 },
    { "F4", 4, QNNRT_WEIGHTS__UNREAD, -1, 0 }, { "C64", 64, QNNRT_WEIGHTS__UNREAD, -1, 0 }
};

/* The blocks of GGUF. */
static const qnnrt_weights__type qnnrt_weights__block_types[] = {
    { "Q4_0", 18 * 8, QNNRT_DTYPE_F32, 2, 32 }, { "Q4_1", 20 * 8, QNNRT_DTYPE_F32, 3, 32 },
    { "Q5_0", 22 * 8, QNNRT_DTYPE_F32, 6, 32 }, { "Q5_1", 24 * 8, QNNRT_DTYPE_F32, 7, 32 },
    { "Q8_0", 34 * 8, QNNRT_DTYPE_F32, 8, 32 },
    { "Q4_K", 144 * 8, QNNRT_DTYPE_F32, 12, 256 }, { "Q5_K", 176 * 8, QNNRT_DTYPE_F32, 13, 256 },
    { "Q6_K", 210 * 8, QNNRT_DTYPE_F32, 14, 256 },
    { "Q2_K", 84 * 8, QNNRT_WEIGHTS__UNREAD, 10, 256 },
    { "Q3_K", 110 * 8, QNNRT_WEIGHTS__UNREAD, 11, 256 },
    { "IQ2_XXS", 66 * 8, QNNRT_WEIGHTS__UNREAD, 16, 256 },
    { "IQ2_XS", 74 * 8, QNNRT_WEIGHTS__UNREAD, 17, 256 },
    { "IQ3_XXS", 98 * 8, QNNRT_WEIGHTS__UNREAD, 18, 256 },
    { "IQ1_S", 50 * 8, QNNRT_WEIGHTS__UNREAD, 19, 256 },
    { "IQ4_NL", 18 * 8, QNNRT_WEIGHTS__UNREAD, 20, 32 },
    { "IQ3_S", 110 * 8, QNNRT_WEIGHTS__UNREAD, 21, 256 },
    { "IQ2_S", 82 * 8, QNNRT_WEIGHTS__UNREAD, 22, 256 },
    { "IQ4_XS", 136 * 8, QNNRT_WEIGHTS__UNREAD, 23, 256 },
    { "IQ1_M", 56 * 8, QNNRT_WEIGHTS__UNREAD, 29, 256 },
    { "TQ1_0", 54 * 8, QNNRT_WEIGHTS__UNREAD, 34, 256 },
    { "TQ2_0", 66 * 8, QNNRT_WEIGHTS__UNREAD, 35, 256 },
    { "MXFP4", 17 * 8, QNNRT_WEIGHTS__UNREAD, 39, 32 },
    { "NVFP4", 36 * 8, QNNRT_WEIGHTS__UNREAD, 40, 64 },
    { "Q1_0", 18 * 8, QNNRT_WEIGHTS__UNREAD, 41, 128 }
};

/* A file and its header. */
typedef struct qnnrt_weights__shard {
    qnnrt_weights__disk disk;
    char    *header;                     /* a copy, so that nobody changes it between two readings;
                                            NULL after the opening, unless it is of GGUF */
    size_t   header_bytes;
    uint64_t body_at, body;              /* where the data begin, and their bytes */
    int      gguf;
} qnnrt_weights__shard;

/* One weight as the header describes it. */
typedef struct qnnrt_weights__entry {
    qnnrt_json_text            name;
    const qnnrt_weights__type *type;
    uint32_t                   rank;
    uint64_t                   dims[QNNRT_WEIGHTS_RANK];
    uint64_t                   begin, end, count;
} qnnrt_weights__entry;

/* The room that headers need, and where the next weight, pair, name and shape go. */
typedef struct qnnrt_weights__room {
    uint64_t            weight_count, pair_count, dim_count, text_bytes;
    qnnrt_weight       *weights;         /* NULL: count only */
    qnnrt_weights_pair *pairs;
    uint64_t           *dims;
    char               *text;
    uint64_t            value_count;
    qnnrt_weights_value *values;
} qnnrt_weights__room;

/* Fill an error that begins with the path of a shard and the name of a weight, both cut to a length
   that leaves room, and return its code. */
__attribute__((cold, format(printf, 5, 6)))
static qnnrt_result qnnrt_weights__header_fail(const qnnrt_weights__shard *shard,
                                               const qnnrt_json_text *name, qnnrt_error *err,
                                               qnnrt_result code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return qnnrt_error_set(err, code, QNNRT_WEIGHTS__SHOWN ": weight \"%.*s\"%s", shard->disk.path,
                           name->bytes < 600 ? (int)name->bytes : 600, name->text, text);
}

/* Report the error of the JSON reader. */
static qnnrt_result qnnrt_weights__header_json(const char *path, const qnnrt_json_reader *r,
                                               const char *expected, qnnrt_error *err)
{
    if (r->error == NULL)
        return qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN ": expected %s", path,
                               expected);
    return qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN ": JSON, byte %llu: %s", path,
                           (unsigned long long)r->error_at, r->error);
}

/* Copy a string, with a NUL, to where the next text goes. Return NULL if it contains a NUL. */
static char *qnnrt_weights__room_text(qnnrt_weights__room *room, const qnnrt_json_text *text)
{
    char *copy = room->text;
    const size_t bytes = qnnrt_json_copy(text, copy);
    room->text += bytes + 1;
    return strlen(copy) == bytes ? copy : NULL;
}

/* Read the header of an open safetensors file and map the file. */
static qnnrt_result qnnrt_weights__shard_open(qnnrt_weights__shard *shard, uint64_t most,
                                              qnnrt_arena *scratch, qnnrt_error *err)
{
    const char *path = shard->disk.path;
    const uint64_t bytes = qnnrt_weights__number(shard->disk.head, 8);
    qnnrt_result result;
    if (shard->disk.bytes < 8 || bytes > shard->disk.bytes - 8)
        return qnnrt_weights__kind_refuse(&shard->disk, bytes, err);
    if (bytes > most) {
        if (qnnrt_weights__kind_of(&shard->disk) != QNNRT_WEIGHTS__UNKNOWN)
            return qnnrt_weights__kind_refuse(&shard->disk, bytes, err);
        return qnnrt_error_set(err, QNNRT_E_LIMIT, QNNRT_WEIGHTS__SHOWN ": its header has %llu "
                               "bytes, the limit is %llu", path, (unsigned long long)bytes,
                               (unsigned long long)most);
    }
    shard->header = (char *)qnnrt_arena_get(scratch, bytes + 1, 1);
    if (shard->header == NULL)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for the header of "
                               QNNRT_WEIGHTS__SHOWN, path);
    shard->header_bytes = (size_t)bytes;
    shard->body_at = 8 + bytes;
    shard->body = shard->disk.bytes - 8 - bytes;
    result = qnnrt_weights__disk_copy(&shard->disk, 8, shard->header, shard->header_bytes, err);
    return result == QNNRT_OK ? qnnrt_weights__disk_map(&shard->disk, err) : result;
}

/* Read a list of whole numbers, at most `room` of them. Return their count, room + 1 if there are
   more, or -1 if the value is something else. */
static int qnnrt_weights__header_numbers(qnnrt_json_reader *r, uint64_t *out, int room)
{
    int count = 0;
    if (qnnrt_json_value(r) != QNNRT_JSON_ARRAY) return -1;
    while (qnnrt_json_more(r)) {
        uint64_t number;
        if (!qnnrt_json_value_u64(r, &number)) return -1;
        if (count < room) out[count] = number;
        if (count <= room) ++count;
    }
    return r->error == NULL ? count : -1;
}

/* Compute the number of elements, and check that the bytes of a weight lie in the file and fit its
   type and shape. */
static qnnrt_result qnnrt_weights__entry_check(const qnnrt_weights__shard *shard,
                                               qnnrt_weights__entry *e, qnnrt_error *err)
{
    uint64_t count = 1, bits;
    uint32_t d;
    int empty = 0, huge = 0;
    for (d = 0; d < e->rank; ++d) if (e->dims[d] == 0) empty = 1;
    if (empty) count = 0;
    for (d = 0; d < e->rank && !empty && !huge; ++d) {
        huge = count > UINT64_MAX / 64 / e->dims[d];
        count *= huge ? 1 : e->dims[d];
    }
    if (huge)
        return qnnrt_weights__header_fail(shard, &e->name, err, QNNRT_E_FORMAT, ": the product of "
                                          "its dims does not fit into 64 bits");
    if (e->type->block != 0 && (e->rank == 0 || e->dims[e->rank - 1] % e->type->block != 0))
        return qnnrt_weights__header_fail(shard, &e->name, err, QNNRT_E_FORMAT, ": its last dim is "
                                          "%llu, expected a multiple of %u for the blocks of %s",
                                          e->rank == 0 ? 1ull
                                          : (unsigned long long)e->dims[e->rank - 1],
                                          (unsigned)e->type->block, e->type->name);
    bits = e->type->block != 0 ? count / e->type->block * e->type->bits : count * e->type->bits;
    e->count = count;
    if (shard->gguf) {                           /* its header has no end */
        e->end = e->begin > UINT64_MAX - bits / 8 ? e->begin - 1 : e->begin + bits / 8;
    }
    if (e->begin > e->end || bits % 8 != 0 || e->end - e->begin != bits / 8)
        return qnnrt_weights__header_fail(shard, &e->name, err, QNNRT_E_FORMAT, ": bytes %llu to "
                                          "%llu do not hold %llu elements of %s",
                                          (unsigned long long)e->begin, (unsigned long long)e->end,
                                          (unsigned long long)count, e->type->name);
    if (e->end > shard->body) {
        qnnrt_weights__header_fail(shard, &e->name, err, QNNRT_E_FORMAT, " ends at byte %llu, the "
                                   "file has %llu bytes after its header",
                                   (unsigned long long)e->end, (unsigned long long)shard->body);
        return qnnrt_error_hint(err, QNNRT_E_FORMAT, "Download or copy the file again: it is cut "
                                "short.");
    }
    return QNNRT_OK;
}

/* Read {"dtype": "F32", "shape": [256, 128], "data_offsets": [0, 131072]}. */
static qnnrt_result qnnrt_weights__entry_read(const qnnrt_weights__shard *shard,
                                              qnnrt_json_reader *r, qnnrt_weights__entry *e,
                                              qnnrt_error *err)
{
    enum { TYPE = 1, SHAPE = 2, OFFSETS = 4, ALL = 7 };
    uint64_t offsets[2] = { 0, 0 };
    int seen = 0, rank = 0, ends = 2, fine = 1;
    size_t i;
    memset(e, 0, sizeof *e);
    e->name = r->key;
    if (qnnrt_json_value(r) != QNNRT_JSON_OBJECT && r->error == NULL)
        return qnnrt_weights__header_fail(shard, &e->name, err, QNNRT_E_FORMAT, ": expected an "
                                          "object");
    while (fine && qnnrt_json_more(r)) {
        const int key = qnnrt_json_is(&r->key, "dtype") ? TYPE
                      : qnnrt_json_is(&r->key, "shape") ? SHAPE
                      : qnnrt_json_is(&r->key, "data_offsets") ? OFFSETS : 0;
        if (seen & key)
            return qnnrt_weights__header_fail(shard, &e->name, err, QNNRT_E_FORMAT, " has \"%s\" "
                                              "twice", key == TYPE ? "dtype" : key == SHAPE
                                              ? "shape" : "data_offsets");
        seen |= key;
        if (key == TYPE) {
            fine = qnnrt_json_value(r) == QNNRT_JSON_STRING;
            for (i = 0; fine && i < sizeof qnnrt_weights__types / sizeof *e->type; ++i)
                if (qnnrt_json_is(&r->value, qnnrt_weights__types[i].name))
                    e->type = &qnnrt_weights__types[i];
            if (fine && e->type == NULL)
                return qnnrt_weights__header_fail(shard, &e->name, err, QNNRT_E_UNSUPPORTED, " has "
                                                  "the unknown type \"%.*s\"", r->value.bytes < 40
                                                  ? (int)r->value.bytes : 40, r->value.text);
        } else if (key == SHAPE) {
            fine = (rank = qnnrt_weights__header_numbers(r, e->dims, QNNRT_WEIGHTS_RANK)) >= 0;
        } else if (key == OFFSETS) {
            fine = (ends = qnnrt_weights__header_numbers(r, offsets, 2)) == 2;
        } else {
            qnnrt_json_skip(r);
        }
    }
    if (r->error != NULL) return QNNRT_E_FORMAT;      /* the caller reports it */
    if (!fine || seen != ALL)
        return qnnrt_weights__header_fail(shard, &e->name, err, QNNRT_E_FORMAT, ": expected "
                                          "\"dtype\" with a text, \"shape\" with a list of numbers "
                                          "and \"data_offsets\" with two");
    if (rank > QNNRT_WEIGHTS_RANK)
        return qnnrt_weights__header_fail(shard, &e->name, err, QNNRT_E_LIMIT, " has more than %d "
                                          "dims", QNNRT_WEIGHTS_RANK);
    e->rank = (uint32_t)rank;
    e->begin = offsets[0];
    e->end = offsets[1];
    return qnnrt_weights__entry_check(shard, e, err);
}

/* Add a weight to the room, or only count it. */
static qnnrt_result qnnrt_weights__entry_keep(const qnnrt_weights__shard *shard,
                                              const qnnrt_weights__entry *e,
                                              qnnrt_weights__room *room, qnnrt_error *err)
{
    qnnrt_weight *weight;
    uint32_t d;
    if (room->weights == NULL) {
        room->weight_count += 1;
        room->dim_count += e->rank;
        room->text_bytes += (uint64_t)e->name.bytes + 1;
        return QNNRT_OK;
    }
    weight = room->weights++;
    weight->name = qnnrt_weights__room_text(room, &e->name);
    if (weight->name == NULL)
        return qnnrt_weights__header_fail(shard, &e->name, err, QNNRT_E_FORMAT, ": its name has a "
                                          "NUL character");
    weight->type = e->type->name;
    weight->dtype = e->type->dtype;
    weight->rank = e->rank;
    for (d = 0; d < e->rank; ++d) room->dims[d] = e->dims[d];
    weight->dims = room->dims;
    room->dims += e->rank;
    weight->count = e->count;
    weight->bytes = e->end - e->begin;
    weight->data = (const char *)shard->disk.map + shard->body_at + e->begin;
    weight->file = shard->disk.path;
    weight->block = e->type->block;
    return QNNRT_OK;
}

/* Read "__metadata__": an object with texts only. */
static qnnrt_result qnnrt_weights__header_pairs(const qnnrt_weights__shard *shard,
                                                qnnrt_json_reader *r,
                                                const qnnrt_weights_desc *limits,
                                                qnnrt_weights__room *room, qnnrt_error *err)
{
    if (qnnrt_json_value(r) != QNNRT_JSON_OBJECT && r->error == NULL)
        return qnnrt_weights__header_json(shard->disk.path, r, "\"__metadata__\" with an object",
                                          err);
    while (qnnrt_json_more(r)) {
        const qnnrt_json_text key = r->key;
        if (qnnrt_json_value(r) != QNNRT_JSON_STRING) {
            if (r->error != NULL) break;
            return qnnrt_weights__header_json(shard->disk.path, r, "\"__metadata__\" with texts",
                                              err);
        }
        if (room->pairs == NULL) {
            room->text_bytes += (uint64_t)key.bytes + r->value.bytes + 2;
            if (++room->pair_count > limits->tensors)
                return qnnrt_error_set(err, QNNRT_E_LIMIT, QNNRT_WEIGHTS__SHOWN
                                       ": more than %llu pairs of metadata", shard->disk.path,
                                       (unsigned long long)limits->tensors);
        } else {
            qnnrt_weights_pair *pair = room->pairs++;
            pair->key = qnnrt_weights__room_text(room, &key);
            pair->value = qnnrt_weights__room_text(room, &r->value);
            pair->file = shard->disk.path;
            if (pair->key == NULL || pair->value == NULL)
                return qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN
                                       ": a text of \"__metadata__\" has a NUL character",
                                       shard->disk.path);
        }
    }
    return r->error == NULL ? QNNRT_OK : QNNRT_E_FORMAT;
}

/* Read the header of a shard, check it, and add what it has to the room. */
static qnnrt_result qnnrt_weights__header_read(const qnnrt_weights__shard *shard,
                                               const qnnrt_weights_desc *limits,
                                               qnnrt_weights__room *room, qnnrt_error *err)
{
    qnnrt_json_reader r;
    qnnrt_json_limits most;
    qnnrt_weights__entry entry;
    qnnrt_result result = QNNRT_OK;
    int metadata = 0;
    most.bytes = shard->header_bytes + 1;
    most.depth = 0;
    qnnrt_json_begin(&r, shard->header, shard->header_bytes, &most);
    if (shard->header_bytes == 0 || qnnrt_json_value(&r) != QNNRT_JSON_OBJECT)
        return qnnrt_weights__header_json(shard->disk.path, &r, "a header with a JSON object", err);
    while (result == QNNRT_OK && qnnrt_json_more(&r)) {
        QNNRT_WEIGHTS__STEP();
        if (qnnrt_json_is(&r.key, "__metadata__")) {
            if (metadata++)
                return qnnrt_weights__header_json(shard->disk.path, &r, "\"__metadata__\" once",
                                                  err);
            result = qnnrt_weights__header_pairs(shard, &r, limits, room, err);
            continue;
        }
        if (r.key.bytes > limits->name_bytes)
            return qnnrt_weights__header_fail(shard, &r.key, err, QNNRT_E_LIMIT, ": its name has "
                                              "%llu bytes, the limit is %u",
                                              (unsigned long long)r.key.bytes, limits->name_bytes);
        if (r.key.bytes == 0)
            return qnnrt_weights__header_json(shard->disk.path, &r, "a name for each weight", err);
        result = qnnrt_weights__entry_read(shard, &r, &entry, err);
        if (result == QNNRT_OK) result = qnnrt_weights__entry_keep(shard, &entry, room, err);
        if (room->weight_count > limits->tensors)
            return qnnrt_error_set(err, QNNRT_E_LIMIT, QNNRT_WEIGHTS__SHOWN ": more than %llu "
                                   "weights", shard->disk.path,
                                   (unsigned long long)limits->tensors);
    }
    if (r.error == NULL && result != QNNRT_OK) return result;
    if (qnnrt_json_end(&r)) return QNNRT_OK;
    return qnnrt_weights__header_json(shard->disk.path, &r, "", err);
}

/* =====================================================================================
   HEADER OF GGUF                                                                  >>gguf
   Reads the pairs and the list of weights at the beginning of a GGUF file. It is read from the
   mapping once, to find its end, and then from a copy that nobody changes.
   Needs: >>config >>disk >>header     Knows nothing of: what keys mean, other than the alignment
   and the number of files
   ===================================================================================== */

enum { QNNRT_WEIGHTS__KINDS = QNNRT_WEIGHTS_F64 + 1 };

/* Bytes of an element of each kind. */
static const unsigned char qnnrt_weights__kind_bytes[QNNRT_WEIGHTS__KINDS] = {
    1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8
};

/* A header that is being read. */
typedef struct qnnrt_weights__gguf {
    const qnnrt_weights__shard *shard;
    const char                 *begin, *at, *end;
    const qnnrt_weights_desc   *limits;
    uint64_t                    pairs, tensors;
    uint64_t                    alignment, files;        /* as the pairs say */
    qnnrt_error                *err;
} qnnrt_weights__gguf;

/* Report a header that ends too early. */
static qnnrt_result qnnrt_weights__gguf_cut(const qnnrt_weights__gguf *g, const char *what)
{
    qnnrt_error_set(g->err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN ": byte %llu: %s goes beyond the "
                    "end of the file, byte %llu", g->shard->disk.path,
                    (unsigned long long)(g->at - g->begin), what,
                    (unsigned long long)g->shard->disk.bytes);
    return qnnrt_error_hint(g->err, QNNRT_E_FORMAT, "Download or copy the file again: it is cut "
                            "short or damaged.");
}

/* Take bytes. Return NULL if there are fewer. */
static const char *qnnrt_weights__gguf_take(qnnrt_weights__gguf *g, uint64_t bytes)
{
    const char *at = g->at;
    if (bytes > (uint64_t)(g->end - g->at)) return NULL;
    g->at += bytes;
    return at;
}

/* Take a number of `bytes` bytes. */
static int qnnrt_weights__gguf_count(qnnrt_weights__gguf *g, size_t bytes, uint64_t *out)
{
    const char *at = qnnrt_weights__gguf_take(g, bytes);
    if (at != NULL) *out = qnnrt_weights__number(at, bytes);
    return at != NULL;
}

/* Take a text. */
static int qnnrt_weights__gguf_text(qnnrt_weights__gguf *g, qnnrt_json_text *out)
{
    uint64_t bytes;
    if (!qnnrt_weights__gguf_count(g, 8, &bytes)) return 0;
    out->text = qnnrt_weights__gguf_take(g, bytes);
    out->bytes = (size_t)bytes;
    out->escaped = 0;
    return out->text != NULL;
}

/* Take a key or a name: what it is says `what`. */
static qnnrt_result qnnrt_weights__gguf_name(qnnrt_weights__gguf *g, const char *what,
                                             qnnrt_json_text *out)
{
    const char *at = g->at;
    if (!qnnrt_weights__gguf_text(g, out)) return qnnrt_weights__gguf_cut(g, what);
    if (out->bytes > g->limits->name_bytes)
        return qnnrt_error_set(g->err, QNNRT_E_LIMIT, QNNRT_WEIGHTS__SHOWN ": byte %llu: %s has "
                               "%llu bytes, the limit is %u", g->shard->disk.path,
                               (unsigned long long)(at - g->begin), what,
                               (unsigned long long)out->bytes, g->limits->name_bytes);
    if (out->bytes == 0 || memchr(out->text, 0, out->bytes) != NULL)
        return qnnrt_error_set(g->err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN ": byte %llu: %s %s",
                               g->shard->disk.path, (unsigned long long)(at - g->begin), what,
                               out->bytes == 0 ? "is empty" : "has a NUL character");
    return QNNRT_OK;
}

/* Report a pair. */
static qnnrt_result qnnrt_weights__gguf_wrong(const qnnrt_weights__gguf *g, qnnrt_result code,
                                              const qnnrt_json_text *key, const char *text,
                                              uint64_t number)
{
    return qnnrt_error_set(g->err, code, QNNRT_WEIGHTS__SHOWN ": \"%.*s\"%s %llu",
                           g->shard->disk.path, key->bytes < 600 ? (int)key->bytes : 600, key->text,
                           text, (unsigned long long)number);
}

/* Take the value of a pair. */
static qnnrt_result qnnrt_weights__gguf_value(qnnrt_weights__gguf *g, const qnnrt_json_text *key,
                                              qnnrt_weights_value *out)
{
    uint64_t kind, i;
    qnnrt_json_text text;
    memset(out, 0, sizeof *out);
    out->count = 1;
    if (!qnnrt_weights__gguf_count(g, 4, &kind))
        return qnnrt_weights__gguf_cut(g, "the type of a value");
    if (kind == QNNRT_WEIGHTS_LIST) {
        out->list = 1;
        if (!qnnrt_weights__gguf_count(g, 4, &kind) ||
            !qnnrt_weights__gguf_count(g, 8, &out->count))
            return qnnrt_weights__gguf_cut(g, "a list");
        if (kind == QNNRT_WEIGHTS_LIST)
            return qnnrt_weights__gguf_wrong(g, QNNRT_E_UNSUPPORTED, key, ": expected a list of "
                                             "texts or numbers, found one of lists, type", kind);
    }
    if (kind >= QNNRT_WEIGHTS__KINDS)
        return qnnrt_weights__gguf_wrong(g, QNNRT_E_UNSUPPORTED, key, " has the unknown type",
                                         kind);
    out->kind = (qnnrt_weights_kind)kind;
    out->data = g->at;
    if (kind == QNNRT_WEIGHTS_TEXT) {
        for (i = 0; i < out->count; ++i) {
            QNNRT_WEIGHTS__STEP();
            if (!qnnrt_weights__gguf_text(g, &text)) return qnnrt_weights__gguf_cut(g, "a text");
        }
    } else if (out->count > (uint64_t)(g->end - g->at) / qnnrt_weights__kind_bytes[kind] ||
               qnnrt_weights__gguf_take(g, out->count * qnnrt_weights__kind_bytes[kind]) == NULL) {
        return qnnrt_weights__gguf_cut(g, out->list ? "a list of numbers" : "a number");
    }
    out->bytes = (uint64_t)(g->at - (const char *)out->data);
    return QNNRT_OK;
}

/* Read the pairs, and add them to the room. room may be NULL. */
static qnnrt_result qnnrt_weights__gguf_pairs(qnnrt_weights__gguf *g, qnnrt_weights__room *room)
{
    uint64_t i;
    for (i = 0; i < g->pairs; ++i) {
        qnnrt_weights_value value;
        qnnrt_json_text key;
        qnnrt_result result = qnnrt_weights__gguf_name(g, "a key", &key);
        QNNRT_WEIGHTS__STEP();
        if (result == QNNRT_OK) result = qnnrt_weights__gguf_value(g, &key, &value);
        if (result != QNNRT_OK) return result;
        if (qnnrt_json_is(&key, "general.alignment") || qnnrt_json_is(&key, "split.count")) {
            const int align = qnnrt_json_is(&key, "general.alignment");
            const uint64_t number = value.bytes > 8 ? 0
                                    : qnnrt_weights__number(value.data, (size_t)value.bytes);
            if (value.list || value.kind > QNNRT_WEIGHTS_I32 ||
                (align && (number == 0 || (number & (number - 1)) != 0 || number > 1u << 30)))
                return qnnrt_weights__gguf_wrong(g, QNNRT_E_FORMAT, &key, align
                                                 ? ": expected a power of two, found"
                                                 : ": expected a whole number, found", number);
            *(align ? &g->alignment : &g->files) = number;
        }
        if (room == NULL) continue;
        if (room->values == NULL) {
            room->text_bytes += (uint64_t)key.bytes + 1;
            if (++room->value_count > g->limits->tensors)
                return qnnrt_error_set(g->err, QNNRT_E_LIMIT, QNNRT_WEIGHTS__SHOWN
                                       ": more than %llu pairs of metadata", g->shard->disk.path,
                                       (unsigned long long)g->limits->tensors);
            continue;
        }
        value.key = qnnrt_weights__room_text(room, &key);
        value.file = g->shard->disk.path;
        *room->values++ = value;
    }
    return QNNRT_OK;
}

/* Find the type with this number in GGUF, or NULL. */
static const qnnrt_weights__type *qnnrt_weights__gguf_type(uint64_t number)
{
    enum { PLAIN = sizeof qnnrt_weights__types / sizeof qnnrt_weights__types[0],
           BLOCKS = sizeof qnnrt_weights__block_types / sizeof qnnrt_weights__block_types[0] };
    size_t i;
    for (i = 0; i < PLAIN + BLOCKS; ++i) {
        const qnnrt_weights__type *type = i < PLAIN ? &qnnrt_weights__types[i]
                                                    : &qnnrt_weights__block_types[i - PLAIN];
        if (type->gguf >= 0 && (uint64_t)type->gguf == number) return type;
    }
    return NULL;
}

/* Read the description of a weight. check: 0 only takes its bytes */
static qnnrt_result qnnrt_weights__gguf_entry(qnnrt_weights__gguf *g, qnnrt_weights__entry *e,
                                              int check)
{
    uint64_t rank, type, i, dims[QNNRT_WEIGHTS_RANK];
    qnnrt_result result;
    memset(e, 0, sizeof *e);
    result = qnnrt_weights__gguf_name(g, "the name of a weight", &e->name);
    if (result != QNNRT_OK) return result;
    if (!qnnrt_weights__gguf_count(g, 4, &rank)) return qnnrt_weights__gguf_cut(g, "a weight");
    if (rank > QNNRT_WEIGHTS_RANK)
        return qnnrt_weights__header_fail(g->shard, &e->name, g->err, QNNRT_E_LIMIT, " has %llu "
                                          "dims, the limit is %d", (unsigned long long)rank,
                                          QNNRT_WEIGHTS_RANK);
    for (i = 0; i < rank; ++i)
        if (!qnnrt_weights__gguf_count(g, 8, &dims[i])) return qnnrt_weights__gguf_cut(g, "a dim");
    if (!qnnrt_weights__gguf_count(g, 4, &type) || !qnnrt_weights__gguf_count(g, 8, &e->begin))
        return qnnrt_weights__gguf_cut(g, "a weight");
    if (!check) return QNNRT_OK;
    e->rank = (uint32_t)rank;
    for (i = 0; i < rank; ++i) e->dims[i] = dims[rank - 1 - i];   /* files have the fastest first */
    e->type = qnnrt_weights__gguf_type(type);
    if (e->type == NULL)
        return qnnrt_weights__header_fail(g->shard, &e->name, g->err, QNNRT_E_UNSUPPORTED, " has "
                                          "the unknown type %llu", (unsigned long long)type);
    if (e->begin % g->alignment != 0)
        return qnnrt_weights__header_fail(g->shard, &e->name, g->err, QNNRT_E_FORMAT, " begins at "
                                          "byte %llu of the data, expected a multiple of %llu",
                                          (unsigned long long)e->begin,
                                          (unsigned long long)g->alignment);
    return qnnrt_weights__entry_check(g->shard, e, g->err);
}

/* Read a header from memory. room: NULL only finds its end and what pairs say about the file */
static qnnrt_result qnnrt_weights__gguf_walk(qnnrt_weights__gguf *g,
                                             const qnnrt_weights__shard *shard, const char *text,
                                             uint64_t bytes, const qnnrt_weights_desc *limits,
                                             qnnrt_weights__room *room, qnnrt_error *err)
{
    uint64_t version = 0, i;
    qnnrt_result result;
    memset(g, 0, sizeof *g);
    g->shard = shard;
    g->begin = g->at = text;
    g->end = text + bytes;
    g->limits = limits;
    g->alignment = 32;
    g->files = 1;
    g->err = err;
    if (qnnrt_weights__gguf_take(g, 4) == NULL || !qnnrt_weights__gguf_count(g, 4, &version))
        return qnnrt_weights__gguf_cut(g, "the version");
    if (version != 2 && version != 3) {
        qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, QNNRT_WEIGHTS__SHOWN ": it is %s, expected "
                        "version 2 or 3, little-endian", shard->disk.path, (version & 0xFFFF) == 0 ?
                        "big-endian GGUF" : version == 1 ? "GGUF of version 1" :
                        "GGUF of an unknown version");
        return qnnrt_error_hint(err, QNNRT_E_UNSUPPORTED, "Convert the model again with "
                                "llama.cpp's convert_hf_to_gguf.py.");
    }
    if (!qnnrt_weights__gguf_count(g, 8, &g->tensors) ||
        !qnnrt_weights__gguf_count(g, 8, &g->pairs))
        return qnnrt_weights__gguf_cut(g, "the header");
    result = qnnrt_weights__gguf_pairs(g, room);
    if (result == QNNRT_OK && g->files > 1) {
        qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, QNNRT_WEIGHTS__SHOWN ": it is one of %llu files "
                        "of a model, expected one file", shard->disk.path,
                        (unsigned long long)g->files);
        return qnnrt_error_hint(err, QNNRT_E_UNSUPPORTED, "Merge them with llama.cpp's "
                                "llama-gguf-split --merge.");
    }
    for (i = 0; i < g->tensors && result == QNNRT_OK; ++i) {
        qnnrt_weights__entry entry;
        QNNRT_WEIGHTS__STEP();
        result = qnnrt_weights__gguf_entry(g, &entry, room != NULL);
        if (result != QNNRT_OK || room == NULL) continue;
        result = qnnrt_weights__entry_keep(shard, &entry, room, err);
        if (result == QNNRT_OK && room->weight_count > limits->tensors)
            return qnnrt_error_set(err, QNNRT_E_LIMIT, QNNRT_WEIGHTS__SHOWN ": more than %llu "
                                   "weights", shard->disk.path,
                                   (unsigned long long)limits->tensors);
    }
    return result;
}

/* Map an open GGUF file, copy its header, and find out where the data begin. */
static qnnrt_result qnnrt_weights__gguf_open(qnnrt_weights__shard *shard,
                                             const qnnrt_weights_desc *limits,
                                             qnnrt_arena *keep, qnnrt_error *err)
{
    qnnrt_weights__gguf g;
    qnnrt_result result = qnnrt_weights__disk_map(&shard->disk, err);
    uint64_t past;
    if (result == QNNRT_OK)
        result = qnnrt_weights__gguf_walk(&g, shard, (const char *)shard->disk.map,
                                          shard->disk.bytes, limits, NULL, err);
    if (result != QNNRT_OK) return result;
    shard->header_bytes = (size_t)(g.at - g.begin);
    if (shard->header_bytes > limits->header_bytes)
        return qnnrt_error_set(err, QNNRT_E_LIMIT, QNNRT_WEIGHTS__SHOWN ": its header has %llu "
                               "bytes, the limit is %llu", shard->disk.path,
                               (unsigned long long)shard->header_bytes,
                               (unsigned long long)limits->header_bytes);
    shard->header = (char *)qnnrt_arena_get(keep, shard->header_bytes, 1);
    if (shard->header == NULL)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for the header of "
                               QNNRT_WEIGHTS__SHOWN, shard->disk.path);
    memcpy(shard->header, shard->disk.map, shard->header_bytes);
    result = qnnrt_weights__gguf_walk(&g, shard, shard->header, shard->header_bytes, limits, NULL,
                                      err);
    past = shard->header_bytes % g.alignment;
    shard->body_at = shard->header_bytes + (past != 0 ? g.alignment - past : 0);
    if (shard->body_at > shard->disk.bytes) shard->body_at = shard->disk.bytes;
    shard->body = shard->disk.bytes - shard->body_at;
    return result;
}

/* =====================================================================================
   NAMED                                                                          >>named
   Sorts and finds structs whose first member is their name: weights, pairs of GGUF, places.
   Needs: nothing     Knows nothing of: what they are
   ===================================================================================== */

static const char *qnnrt_weights__named(const void *item)
{
    return *(const char *const *)item;
}

static int qnnrt_weights__named_order(const void *a, const void *b)
{
    return strcmp(qnnrt_weights__named(a), qnnrt_weights__named(b));
}

/* Sort `count` structs of `size` bytes into `sorted`. Return the index of one that has the name of
   the one before it, 0 if there is none. */
static size_t qnnrt_weights__named_sort(const void *items, size_t count, size_t size,
                                        const void **sorted)
{
    size_t i;
    for (i = 0; i < count; ++i) sorted[i] = (const char *)items + i * size;
    qnnrt_sort(sorted, count, qnnrt_weights__named_order);
    for (i = 1; i < count; ++i)
        if (qnnrt_weights__named_order(sorted[i - 1], sorted[i]) == 0) return i;
    return 0;
}

/* Find the struct whose name is `prefix` and then `name`, or NULL. */
static const void *qnnrt_weights__named_find(const void *const *sorted, size_t count,
                                             const char *prefix, const char *name)
{
    const size_t bytes = strlen(prefix);
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        const char *at = qnnrt_weights__named(sorted[middle]);
        int order = strncmp(at, prefix, bytes);
        if (order == 0) order = strcmp(at + bytes, name);
        if (order == 0) return sorted[middle];
        if (order < 0) low = middle + 1;
        else count = middle;
    }
    return NULL;
}

/* =====================================================================================
   INDEX OF SHARDS                                                                 >>index
   Reads x.safetensors.index.json: which weight lies in which file.
   Needs: >>config >>disk >>header >>named     Knows nothing of: headers, data
   ===================================================================================== */

/* "weight_map" has one of these for each weight. */
typedef struct qnnrt_weights__place {
    const char *name;                    /* first, see >>named */
    const char *file;
    size_t      shard;                   /* number of the file */
} qnnrt_weights__place;

typedef struct qnnrt_weights__index {
    const char  *path;
    const void **by_name;                /* [count] places, sorted by name */
    size_t       count;
    const char **files;                  /* [file_count] without their folder, sorted */
    size_t       file_count;
} qnnrt_weights__index;

static int qnnrt_weights__place_by_file(const void *a, const void *b)
{
    return strcmp(((const qnnrt_weights__place *)a)->file, ((const qnnrt_weights__place *)b)->file);
}

/* Return 1 for the plain name of a file, without a path and not hidden: names that a file gives are
   never followed out of its folder. */
static int qnnrt_weights__index_plain(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strpbrk(name, "/\\") == NULL;
}

/* Read the members of "weight_map" into places, or only count them when places is NULL. */
static qnnrt_result qnnrt_weights__index_map(qnnrt_weights__index *index, qnnrt_json_reader *r,
                                             const qnnrt_weights_desc *limits,
                                             qnnrt_weights__room *room,
                                             qnnrt_weights__place *places, qnnrt_error *err)
{
    if (qnnrt_json_value(r) != QNNRT_JSON_OBJECT)
        return qnnrt_weights__header_json(index->path, r, "\"weight_map\" with an object", err);
    while (qnnrt_json_more(r)) {
        const qnnrt_json_text key = r->key;
        QNNRT_WEIGHTS__STEP();
        if (qnnrt_json_value(r) != QNNRT_JSON_STRING)
            return qnnrt_weights__header_json(index->path, r, "\"weight_map\" with texts", err);
        if (places == NULL) {
            room->text_bytes += (uint64_t)key.bytes + r->value.bytes + 2;
            if (key.bytes > limits->name_bytes || ++room->weight_count > limits->tensors)
                return qnnrt_error_set(err, QNNRT_E_LIMIT, QNNRT_WEIGHTS__SHOWN
                                       ": more than %llu weights, or a name of more than %u bytes",
                                       index->path, (unsigned long long)limits->tensors,
                                       limits->name_bytes);
            continue;
        }
        places[index->count].name = qnnrt_weights__room_text(room, &key);
        places[index->count].file = qnnrt_weights__room_text(room, &r->value);
        if (places[index->count].name == NULL || places[index->count].file == NULL ||
            !qnnrt_weights__index_plain(places[index->count].file))
            return qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN
                                   ": weight \"%.*s\": expected the name of a file beside the "
                                   "index, found \"%.*s\"", index->path, key.bytes < 600 ?
                                   (int)key.bytes : 600, key.text, r->value.bytes < 300 ?
                                   (int)r->value.bytes : 300, r->value.text);
        ++index->count;
    }
    return r->error == NULL ? QNNRT_OK
                            : qnnrt_weights__header_json(index->path, r, "", err);
}

/* Read the text of an index as qnnrt_weights__index_map() does. */
static qnnrt_result qnnrt_weights__index_text(qnnrt_weights__index *index, const char *text,
                                              size_t bytes, const qnnrt_weights_desc *limits,
                                              qnnrt_weights__room *room,
                                              qnnrt_weights__place *places, qnnrt_error *err)
{
    qnnrt_json_reader r;
    qnnrt_json_limits most;
    qnnrt_result result = QNNRT_OK;
    int maps = 0;
    most.bytes = bytes + 1;
    most.depth = 0;
    qnnrt_json_begin(&r, text, bytes, &most);
    if (qnnrt_json_value(&r) != QNNRT_JSON_OBJECT)
        return qnnrt_weights__header_json(index->path, &r, "a JSON object", err);
    while (result == QNNRT_OK && qnnrt_json_more(&r)) {
        if (!qnnrt_json_is(&r.key, "weight_map"))
            qnnrt_json_skip(&r);
        else if (maps++ == 0)
            result = qnnrt_weights__index_map(index, &r, limits, room, places, err);
        else
            break;
    }
    if (result != QNNRT_OK) return result;
    if (r.error == NULL && maps != 1)
        return qnnrt_weights__header_json(index->path, &r, "one \"weight_map\"", err);
    return qnnrt_json_end(&r) ? QNNRT_OK : qnnrt_weights__header_json(index->path, &r, "", err);
}

/* List the files of an index, and give each place the number of its file. */
static qnnrt_result qnnrt_weights__index_files(qnnrt_weights__index *index,
                                               const qnnrt_weights_desc *limits,
                                               qnnrt_arena *scratch,
                                               qnnrt_weights__place *places, qnnrt_error *err)
{
    const void **order = (const void **)qnnrt_arena_get(scratch, index->count + 1, sizeof *order);
    size_t i;
    index->files = (const char **)qnnrt_arena_get(scratch, (uint64_t)limits->files + 1, sizeof
                                                  *index->files);
    if (order == NULL || index->files == NULL)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for the index of %llu weights",
                               (unsigned long long)index->count);
    for (i = 0; i < index->count; ++i) order[i] = &places[i];
    qnnrt_sort(order, index->count, qnnrt_weights__place_by_file);
    for (i = 0; i < index->count; ++i) {
        const qnnrt_weights__place *at = (const qnnrt_weights__place *)order[i];
        if (i == 0 || strcmp(index->files[index->file_count - 1], at->file) != 0) {
            if (index->file_count == limits->files)
                return qnnrt_error_set(err, QNNRT_E_LIMIT, QNNRT_WEIGHTS__SHOWN
                                       ": more than %u files", index->path, limits->files);
            index->files[index->file_count++] = at->file;
        }
        places[at - places].shard = index->file_count - 1;
    }
    return QNNRT_OK;
}

/* Read an index. Everything that it points to is in the arena. */
static qnnrt_result qnnrt_weights__index_read(qnnrt_weights__index *index, const char *path,
                                              const qnnrt_weights_desc *limits,
                                              qnnrt_arena *scratch, qnnrt_error *err)
{
    qnnrt_weights__disk disk;
    qnnrt_weights__room room;
    qnnrt_weights__place *places = NULL;
    char *text = NULL;
    size_t bytes = 0, i;
    qnnrt_result result = qnnrt_weights__disk_open(&disk, path, err);
    memset(index, 0, sizeof *index);
    memset(&room, 0, sizeof room);
    index->path = path;
    if (result == QNNRT_OK && disk.bytes > limits->header_bytes)
        result = qnnrt_error_set(err, QNNRT_E_LIMIT, QNNRT_WEIGHTS__SHOWN ": it has %llu bytes, "
                                 "the limit is %llu", path, (unsigned long long)disk.bytes,
                                 (unsigned long long)limits->header_bytes);
    if (result == QNNRT_OK) {
        bytes = (size_t)disk.bytes;
        text = (char *)qnnrt_arena_get(scratch, (uint64_t)bytes + 1, 1);
        result = text == NULL ? qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for "
                                                QNNRT_WEIGHTS__SHOWN, path)
                              : qnnrt_weights__disk_copy(&disk, 0, text, bytes, err);
    }
    qnnrt_weights__disk_close(&disk);
    if (result == QNNRT_OK)
        result = qnnrt_weights__index_text(index, text, bytes, limits, &room, NULL, err);
    if (result != QNNRT_OK) return result;
    if (room.weight_count == 0)
        return qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN ": \"weight_map\" is "
                               "empty", path);
    places = (qnnrt_weights__place *)qnnrt_arena_get(scratch, room.weight_count, sizeof *places);
    index->by_name = (const void **)qnnrt_arena_get(scratch, room.weight_count, sizeof
                                                    *index->by_name);
    room.text = (char *)qnnrt_arena_get(scratch, room.text_bytes, 1);
    if (places == NULL || index->by_name == NULL || room.text == NULL)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for the index of %llu weights",
                               (unsigned long long)room.weight_count);
    result = qnnrt_weights__index_text(index, text, bytes, limits, &room, places, err);
    if (result != QNNRT_OK) return result;
    i = qnnrt_weights__named_sort(places, index->count, sizeof *places, index->by_name);
    if (i > 0)
        return qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN ": weight \""
                               QNNRT_WEIGHTS__SHOWN "\" occurs twice", path,
                               qnnrt_weights__named(index->by_name[i]));
    return qnnrt_weights__index_files(index, limits, scratch, places, err);
}

/* =====================================================================================
   FOLDER                                                                         >>folder
   Chooses the file with the weights of a folder.
   Needs: >>config >>disk >>kind     Knows nothing of: headers, data
   ===================================================================================== */

enum { QNNRT_WEIGHTS__NAME = 256 };

/* The first two names of a sort, alphabetically. */
typedef struct qnnrt_weights__found {
    char   first[QNNRT_WEIGHTS__NAME], second[QNNRT_WEIGHTS__NAME];
    size_t count;
} qnnrt_weights__found;

static void qnnrt_weights__folder_note(qnnrt_weights__found *found, const char *name)
{
    ++found->count;
    if (strlen(name) >= QNNRT_WEIGHTS__NAME) return;
    if (found->first[0] == '\0' || strcmp(name, found->first) < 0) {
        memcpy(found->second, found->first, sizeof found->second);
        memcpy(found->first, name, strlen(name) + 1);
    } else if (found->second[0] == '\0' || strcmp(name, found->second) < 0) {
        memcpy(found->second, name, strlen(name) + 1);
    }
}

/* Choose the file of a folder, see qnnrt_weights_open(). name receives it. */
static qnnrt_result qnnrt_weights__folder_choose(const char *path, char name[QNNRT_WEIGHTS__NAME],
                                                 qnnrt_error *err)
{
    qnnrt_weights__found indices, files, others;
    int model = 0, index = 0, code = 0;
    DIR *folder = opendir(path);
    if (folder == NULL) return qnnrt_weights__disk_fail(path, "cannot read it", errno, err);
    memset(&indices, 0, sizeof indices);
    memset(&files, 0, sizeof files);
    memset(&others, 0, sizeof others);
    for (;;) {
        const struct dirent *at;
        errno = 0;
        at = readdir(folder);
        if (at == NULL) { code = errno; break; }
        if (at->d_name[0] == '.') continue;
        if (strcmp(at->d_name, "model.safetensors") == 0) model = 1;
        if (strcmp(at->d_name, "model.safetensors.index.json") == 0) index = 1;
        if (qnnrt_weights__disk_ends(at->d_name, ".safetensors.index.json"))
            qnnrt_weights__folder_note(&indices, at->d_name);
        else if (qnnrt_weights__disk_ends(at->d_name, ".safetensors"))
            qnnrt_weights__folder_note(&files, at->d_name);
        else if (qnnrt_weights__kind_named(at->d_name) != QNNRT_WEIGHTS__UNKNOWN)
            qnnrt_weights__folder_note(&others, at->d_name);
    }
    closedir(folder);
    if (code != 0) return qnnrt_weights__disk_fail(path, "cannot read it", code, err);
    if (model || index) {
        strcpy(name, model ? "model.safetensors" : "model.safetensors.index.json");
    } else if (indices.count == 1 || (indices.count == 0 && files.count == 1)) {
        strcpy(name, indices.count == 1 ? indices.first : files.first);
    } else if (indices.count + files.count > 1) {
        const qnnrt_weights__found *many = indices.count > 1 ? &indices : &files;
        qnnrt_error_set(err, QNNRT_E_MISMATCH, QNNRT_WEIGHTS__SHOWN ": %llu files may be the "
                        "weights: \"%s\", \"%s\"%s", path, (unsigned long long)many->count,
                        many->first, many->second, many->count > 2 ? ", ..." : "");
        return qnnrt_error_hint(err, QNNRT_E_MISMATCH, "Give the path of one file.");
    } else {
        qnnrt_error_set(err, QNNRT_E_NOT_FOUND, QNNRT_WEIGHTS__SHOWN ": the folder has no "
                        "*.safetensors%s%s", path, others.count > 0 ? ", it has " : "",
                        others.first);
        if (others.count == 0) return QNNRT_E_NOT_FOUND;
        return qnnrt_weights__kind_hint(qnnrt_weights__kind_named(others.first), others.first,
                                        QNNRT_E_NOT_FOUND, err);
    }
    return QNNRT_OK;
}

/* =====================================================================================
   LOOK-UP                                                                        >>lookup
   Finds a weight by its name, or by the name that a graph uses.
   Needs: >>config >>disk >>header >>named     Knows nothing of: files, JSON
   ===================================================================================== */

struct qnnrt_weights {
    qnnrt_arena           keep;          /* everything, this struct included */
    qnnrt_weights_info    info;
    const void          **by_name;       /* [info.count] weights, sorted by name */
    const void          **by_key;        /* [info.value_count] pairs of GGUF, sorted by key */
    qnnrt_weight         *list;          /* info.weights */
    qnnrt_weights__shard *shards;        /* [info.file_count] */
};

/* Return the weight whose name is `prefix` and then `name`, or NULL. */
static const qnnrt_weight *qnnrt_weights__lookup(const qnnrt_weights *w, const char *prefix,
                                                 const char *name)
{
    return (const qnnrt_weight *)qnnrt_weights__named_find(w->by_name, w->info.count, prefix, name);
}

/* Return the name without "model." at its beginning, or NULL if it does not begin so. */
static const char *qnnrt_weights__lookup_strip(const char *name)
{
    return strncmp(name, "model.", 6) == 0 ? name + 6 : NULL;
}

/* Return the weight of this name, with "model." removed or added up to two times, or NULL. */
static const qnnrt_weight *qnnrt_weights__lookup_wrapped(const qnnrt_weights *w, const char *name)
{
    const char *once = qnnrt_weights__lookup_strip(name);
    const char *twice = once != NULL ? qnnrt_weights__lookup_strip(once) : NULL;
    const qnnrt_weight *found = qnnrt_weights__lookup(w, "", name);
    if (found == NULL && once != NULL) found = qnnrt_weights__lookup(w, "", once);
    if (found == NULL && twice != NULL) found = qnnrt_weights__lookup(w, "", twice);
    if (found == NULL) found = qnnrt_weights__lookup(w, "model.", name);
    if (found == NULL) found = qnnrt_weights__lookup(w, "model.model.", name);
    return found;
}

/* Return 1 if the last parts of a name are `tail`. */
static int qnnrt_weights__lookup_tail(const char *name, const char *tail)
{
    const size_t a = strlen(name), b = strlen(tail);
    return qnnrt_weights__disk_ends(name, tail) && (a == b || name[a - b - 1] == '.');
}

/* Return the weight that shares its data with `key`: the head and the table of embeddings. */
static const qnnrt_weight *qnnrt_weights__lookup_tied(const qnnrt_weights *w, const char *key)
{
    static const char *const tables[] = { "embed_tokens.weight", "wte.weight" };
    static const char head[] = "lm_head.weight";
    const char *once = qnnrt_weights__lookup_strip(key);
    const char *twice = once != NULL ? qnnrt_weights__lookup_strip(once) : NULL;
    const char *base = twice != NULL ? twice : once != NULL ? once : key;
    size_t t, i;
    for (t = 0; t < sizeof tables / sizeof tables[0]; ++t) {
        const qnnrt_weight *found = NULL;
        size_t count = 0;
        if (qnnrt_weights__lookup_tail(key, tables[t]))
            return qnnrt_weights__lookup_wrapped(w, head);
        for (i = 0; strcmp(base, head) == 0 && i < w->info.count; ++i) {
            if (!qnnrt_weights__lookup_tail(w->info.weights[i].name, tables[t])) continue;
            found = &w->info.weights[i];
            ++count;
        }
        if (count > 0) return count == 1 ? found : NULL;
    }
    return NULL;
}

/* =====================================================================================
   OPENING                                                                          >>open
   Reads the headers of all files, lists their weights, and compares them with the index.
   Needs: >>config >>disk >>kind >>header >>gguf >>named >>index >>folder >>lookup
   Knows nothing of: conversions
   ===================================================================================== */

static int qnnrt_weights__order_data(const void *a, const void *b)
{
    const char *one = (const char *)((const qnnrt_weight *)a)->data;
    const char *other = (const char *)((const qnnrt_weight *)b)->data;
    return one < other ? -1 : one > other;
}

/* Check that no two weights of a file share bytes. order: room for as many pointers. */
static qnnrt_result qnnrt_weights__open_overlaps(const qnnrt_weights__shard *shard,
                                                 const qnnrt_weight *weights, size_t count,
                                                 const void **order, qnnrt_error *err)
{
    const char *body = (const char *)shard->disk.map + shard->body_at;
    size_t used = 0, i;
    for (i = 0; i < count; ++i) if (weights[i].bytes != 0) order[used++] = &weights[i];
    qnnrt_sort(order, used, qnnrt_weights__order_data);
    for (i = 1; i < used; ++i) {
        const qnnrt_weight *a = (const qnnrt_weight *)order[i - 1];
        const qnnrt_weight *b = (const qnnrt_weight *)order[i];
        const uint64_t begin = (uint64_t)((const char *)a->data - body);
        const uint64_t next = (uint64_t)((const char *)b->data - body);
        if (next - begin < a->bytes)
            return qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN
                                   ": weights \"%.500s\" (bytes %llu to %llu) and \"%.500s\" (%llu "
                                   "to %llu) overlap", shard->disk.path, a->name,
                                   (unsigned long long)begin,
                                   (unsigned long long)(begin + a->bytes), b->name,
                                   (unsigned long long)next, (unsigned long long)(next + b->bytes));
    }
    return QNNRT_OK;
}

/* Read a header, check it, and add what it has to the room. */
static qnnrt_result qnnrt_weights__open_header(const qnnrt_weights__shard *shard,
                                               const qnnrt_weights_desc *limits,
                                               qnnrt_weights__room *room, qnnrt_error *err)
{
    qnnrt_weights__gguf g;
    if (!shard->gguf) return qnnrt_weights__header_read(shard, limits, room, err);
    return qnnrt_weights__gguf_walk(&g, shard, shard->header, shard->header_bytes, limits, room,
                                    err);
}

/* Open and map a file. listed: 1 if an index lists it */
static qnnrt_result qnnrt_weights__open_file(qnnrt_weights *w, qnnrt_weights__shard *shard,
                                             const char *path, int listed,
                                             const qnnrt_weights_desc *limits,
                                             qnnrt_arena *scratch, qnnrt_error *err)
{
    const qnnrt_result result = qnnrt_weights__disk_open(&shard->disk, path, err);
    if (result != QNNRT_OK) return result;
    shard->gguf = qnnrt_weights__kind_begins(&shard->disk, "GGUF", 4);
    if (!shard->gguf)
        return qnnrt_weights__shard_open(shard, limits->header_bytes, scratch, err);
    if (listed)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, QNNRT_WEIGHTS__SHOWN
                               ": an index lists it, expected safetensors, found GGUF", path);
    return qnnrt_weights__gguf_open(shard, limits, &w->keep, err);
}

/* Read the weights of one shard after those of the shards before it. index may be NULL. */
static qnnrt_result qnnrt_weights__open_shard(qnnrt_weights *w, size_t number,
                                              qnnrt_weights_file *file,
                                              const qnnrt_weights__index *index,
                                              const qnnrt_weights_desc *limits,
                                              qnnrt_weights__room *room, qnnrt_error *err)
{
    const qnnrt_weights__shard *shard = &w->shards[number];
    qnnrt_weight *first = room->weights, *to = first, *at;
    uint64_t bytes = 0;
    qnnrt_result result = qnnrt_weights__open_header(shard, limits, room, err);
    if (result != QNNRT_OK) return result;
    result = qnnrt_weights__open_overlaps(shard, first, (size_t)(room->weights - first),
                                          w->by_name, err);
    if (result != QNNRT_OK) return result;
    file->path = shard->disk.path;
    file->bytes = shard->disk.bytes;
    for (at = first; at < room->weights; ++at) {
        const qnnrt_weights__place *place =
            index == NULL ? NULL : (const qnnrt_weights__place *)qnnrt_weights__named_find(
                index->by_name, index->count, "", at->name);
        bytes += at->bytes;
        if (index != NULL && (place == NULL || place->shard != number)) {
            ++w->info.unlisted;
            continue;
        }
        w->info.bytes += at->bytes;
        *to++ = *at;
    }
    room->weights = to;
    file->weight_count = (size_t)(to - first);
    file->gap_bytes = shard->body - bytes;
    w->info.count += file->weight_count;
    w->info.gap_bytes += file->gap_bytes;
    return QNNRT_OK;
}

/* Sort the pairs of GGUF and the weights by name, of which none may occur twice, and compare the
   weights with the index. */
static qnnrt_result qnnrt_weights__open_names(qnnrt_weights *w, const qnnrt_weights__index *index,
                                              qnnrt_error *err)
{
    size_t i = qnnrt_weights__named_sort(w->info.values, w->info.value_count,
                                         sizeof *w->info.values, w->by_key);
    if (i > 0) {
        const qnnrt_weights_value *at = (const qnnrt_weights_value *)w->by_key[i];
        return qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN ": key \""
                               QNNRT_WEIGHTS__SHOWN "\" occurs twice", at->file, at->key);
    }
    i = qnnrt_weights__named_sort(w->info.weights, w->info.count, sizeof *w->info.weights,
                                  w->by_name);
    if (i > 0) {
        const qnnrt_weight *at = (const qnnrt_weight *)w->by_name[i];
        return qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN ": weight \""
                               QNNRT_WEIGHTS__SHOWN "\" occurs twice", at->file, at->name);
    }
    for (i = 0; index != NULL && i < index->count; ++i) {
        const qnnrt_weights__place *place = (const qnnrt_weights__place *)index->by_name[i];
        if (qnnrt_weights__lookup(w, "", place->name) == NULL)
            return qnnrt_error_set(err, QNNRT_E_FORMAT, QNNRT_WEIGHTS__SHOWN ": weight \""
                                   QNNRT_WEIGHTS__SHOWN "\" is not in %.300s", index->path,
                                   place->name, place->file);
    }
    return QNNRT_OK;
}

/* Find the file or the index that a path means. Return it, a copy in the arena. */
static qnnrt_result qnnrt_weights__open_path(qnnrt_weights *w, const char *path, char **out,
                                             qnnrt_error *err)
{
    char name[QNNRT_WEIGHTS__NAME];
    struct stat facts;
    const int folder = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
    if (folder) {
        const qnnrt_result result = qnnrt_weights__folder_choose(path, name, err);
        if (result != QNNRT_OK) return result;
    }
    *out = folder ? qnnrt_weights__disk_join(&w->keep, path, strlen(path), name)
                  : qnnrt_weights__disk_join(&w->keep, "", 0, path);
    if (*out == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a path");
    return QNNRT_OK;
}

/* Open the files, and read their headers to count what they have. */
static qnnrt_result qnnrt_weights__open_shards(qnnrt_weights *w, const char *path,
                                               const qnnrt_weights__index *index,
                                               const qnnrt_weights_desc *limits,
                                               qnnrt_weights__room *room,
                                               qnnrt_arena *scratch, qnnrt_error *err)
{
    const size_t count = index != NULL ? index->file_count : 1;
    size_t i;
    w->shards = (qnnrt_weights__shard *)qnnrt_arena_get(&w->keep, count, sizeof *w->shards);
    if (w->shards == NULL)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for %llu files",
                               (unsigned long long)count);
    for (i = 0; i < count; ++i) w->shards[i].disk.fd = -1;
    w->info.file_count = count;
    for (i = 0; i < count; ++i) {
        const char *file = path;
        qnnrt_result result;
        if (index != NULL)
            file = qnnrt_weights__disk_join(&w->keep, path, qnnrt_weights__disk_folder(path),
                                            index->files[i]);
        if (file == NULL)
            return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a path");
        result = qnnrt_weights__open_file(w, &w->shards[i], file, index != NULL, limits, scratch,
                                          err);
        if (result == QNNRT_OK)
            result = qnnrt_weights__open_header(&w->shards[i], limits, room, err);
        if (result != QNNRT_OK) return result;
    }
    return QNNRT_OK;
}

/* Do what qnnrt_weights_open() says with limits that are all set. The caller closes w after a
   failure, and frees what is in scratch. */
static qnnrt_result qnnrt_weights__open_all(qnnrt_weights *w, const char *given,
                                            const qnnrt_weights_desc *limits,
                                            qnnrt_arena *scratch, qnnrt_error *err)
{
    qnnrt_weights__index sharded;
    const qnnrt_weights__index *index = NULL;
    qnnrt_weights__room room;
    qnnrt_weights_file *files;
    char *path = NULL;
    size_t i;
    qnnrt_result result = qnnrt_weights__open_path(w, given, &path, err);
    w->info.index = "";
    memset(&room, 0, sizeof room);
    if (result == QNNRT_OK && qnnrt_weights__disk_ends(path, ".json")) {
        result = qnnrt_weights__index_read(&sharded, path, limits, scratch, err);
        index = &sharded;
        w->info.index = path;
    }
    if (result == QNNRT_OK)
        result = qnnrt_weights__open_shards(w, path, index, limits, &room, scratch, err);
    if (result != QNNRT_OK) return result;

    files = (qnnrt_weights_file *)qnnrt_arena_get(&w->keep, w->info.file_count, sizeof *files);
    w->by_name = (const void **)qnnrt_arena_get(&w->keep, room.weight_count + 1, sizeof
                                                *w->by_name);
    room.weights = (qnnrt_weight *)qnnrt_arena_get(&w->keep, room.weight_count + 1, sizeof
                                                   *room.weights);
    room.pairs = (qnnrt_weights_pair *)qnnrt_arena_get(&w->keep, room.pair_count + 1, sizeof
                                                       *room.pairs);
    room.dims = (uint64_t *)qnnrt_arena_get(&w->keep, room.dim_count + 1, sizeof *room.dims);
    room.text = (char *)qnnrt_arena_get(&w->keep, room.text_bytes + 1, 1);
    room.values = (qnnrt_weights_value *)qnnrt_arena_get(&w->keep, room.value_count + 1, sizeof
                                                         *room.values);
    w->by_key = (const void **)qnnrt_arena_get(&w->keep, room.value_count + 1, sizeof *w->by_key);
    if (files == NULL || w->by_name == NULL || room.values == NULL || w->by_key == NULL ||
        room.weights == NULL || room.pairs == NULL || room.dims == NULL || room.text == NULL)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for the names of %llu weights",
                               (unsigned long long)room.weight_count);
    w->info.files = files;
    w->info.weights = w->list = room.weights;
    w->info.values = room.values;
    w->info.value_count = (size_t)room.value_count;
    w->info.metadata = room.pairs;
    w->info.metadata_count = (size_t)room.pair_count;
    for (i = 0; i < w->info.file_count; ++i) {
        result = qnnrt_weights__open_shard(w, i, &files[i], index, limits, &room, err);
        if (result != QNNRT_OK) return result;
        if (!w->shards[i].gguf) w->shards[i].header = NULL;
    }
    return qnnrt_weights__open_names(w, index, err);
}

/* Unmap the files and free everything. */
static void qnnrt_weights__open_undo(qnnrt_weights *w)
{
    qnnrt_arena arena = w->keep;         /* w lives in it */
    size_t i;
    for (i = 0; i < w->info.file_count; ++i) qnnrt_weights__disk_close(&w->shards[i].disk);
    qnnrt_arena_free(&arena);
}

/* Open weights with limits that are all set. */
static qnnrt_result qnnrt_weights__open(const char *path, const qnnrt_weights_desc *limits,
                                        qnnrt_weights **out, qnnrt_error *err)
{
    qnnrt_arena first, scratch;
    qnnrt_weights *w;
    qnnrt_result result;
    memset(&first, 0, sizeof first);
    first.hooks = limits->hooks;
    scratch = first;
    w = (qnnrt_weights *)qnnrt_arena_get(&first, 1, sizeof *w);
    if (w == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for weights");
    w->keep = first;
    result = qnnrt_weights__open_all(w, path, limits, &scratch, err);
    qnnrt_arena_free(&scratch);
    if (result == QNNRT_OK) *out = w;
    else qnnrt_weights__open_undo(w);
    return result;
}

/* =====================================================================================
   BLOCKS                                                                        >>blocks
   Turns quantized blocks into float32. Each value is rounded once at most, so that all orders of
   the same products and sums give the same bits, ggml's, too.
   Needs: nothing     Knows nothing of: files, names, shapes
   ===================================================================================== */

/* Read a float16. */
static float qnnrt_weights__block_half(const unsigned char *at)
{
    const uint32_t half = (uint32_t)at[0] | (uint32_t)at[1] << 8, field = half >> 10 & 31;
    uint32_t bits = (half & 0x3FFu) << 13;
    float value;
    if (field == 0) {                            /* a multiple of 2^-24 */
        value = (float)(int32_t)(half & 0x3FFu) * (1.0f / 16777216.0f);
        return half & 0x8000u ? -value : value;
    }
    bits |= (half & 0x8000u) << 16 | (field == 31 ? 255u : field + 112) << 23;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Write 32 values of 4 bits, low halves of the bytes first, times `scale`. */
static void qnnrt_weights__block_q4_0(const unsigned char *in, float *out)
{
    const float scale = qnnrt_weights__block_half(in);
    int i;
    for (i = 0; i < 16; ++i) {
        out[i] = (float)((in[2 + i] & 15) - 8) * scale;
        out[i + 16] = (float)((in[2 + i] >> 4) - 8) * scale;
    }
}

static void qnnrt_weights__block_q4_1(const unsigned char *in, float *out)
{
    const float scale = qnnrt_weights__block_half(in), least = qnnrt_weights__block_half(in + 2);
    int i;
    for (i = 0; i < 16; ++i) {
        out[i] = (float)(in[4 + i] & 15) * scale + least;
        out[i + 16] = (float)(in[4 + i] >> 4) * scale + least;
    }
}

/* Return value i of 32 with 5 bits: the fifth ones are together in 4 bytes before the others. */
static int qnnrt_weights__block_five(const unsigned char *high, int i)
{
    const unsigned char *low = high + 4;
    return (i < 16 ? low[i] & 15 : low[i - 16] >> 4) | (high[i / 8] >> (i % 8) & 1) << 4;
}

static void qnnrt_weights__block_q5_0(const unsigned char *in, float *out)
{
    const float scale = qnnrt_weights__block_half(in);
    int i;
    for (i = 0; i < 32; ++i) out[i] = (float)(qnnrt_weights__block_five(in + 2, i) - 16) * scale;
}

static void qnnrt_weights__block_q5_1(const unsigned char *in, float *out)
{
    const float scale = qnnrt_weights__block_half(in), least = qnnrt_weights__block_half(in + 2);
    int i;
    for (i = 0; i < 32; ++i)
        out[i] = (float)qnnrt_weights__block_five(in + 4, i) * scale + least;
}

static void qnnrt_weights__block_q8_0(const unsigned char *in, float *out)
{
    const float scale = qnnrt_weights__block_half(in);
    int i;
    for (i = 0; i < 32; ++i) out[i] = (float)(int)(signed char)in[2 + i] * scale;
}

/* Read scale and least value of part i of 8: six bits each, the upper two of the last four parts in
   the upper bits of the first four. */
static void qnnrt_weights__block_parts(const unsigned char *in, int i, int *scale, int *least)
{
    if (i < 4) {
        *scale = in[i] & 63;
        *least = in[i + 4] & 63;
    } else {
        *scale = (in[i + 4] & 15) | in[i - 4] >> 6 << 4;
        *least = in[i + 4] >> 4 | in[i] >> 6 << 4;
    }
}

/* Write 256 values in 8 parts: 4 bits of each in `low`, and a fifth one in `high`, which may be
   NULL. */
static void qnnrt_weights__block_k(const unsigned char *in, const unsigned char *high,
                                   const unsigned char *low, float *out)
{
    const float scale = qnnrt_weights__block_half(in), least = qnnrt_weights__block_half(in + 2);
    int part, i;
    for (part = 0; part < 8; ++part) {
        const unsigned char *bytes = low + part / 2 * 32;
        int times, minus;
        float d, m;
        qnnrt_weights__block_parts(in + 4, part, &times, &minus);
        d = scale * (float)times;
        m = least * (float)minus;
        for (i = 0; i < 32; ++i) {
            const int four = part % 2 ? bytes[i] >> 4 : bytes[i] & 15;
            const int fifth = high != NULL ? (high[i] >> part & 1) << 4 : 0;
            *out++ = d * (float)(four + fifth) - m;
        }
    }
}

static void qnnrt_weights__block_q4_k(const unsigned char *in, float *out)
{
    qnnrt_weights__block_k(in, NULL, in + 16, out);
}

static void qnnrt_weights__block_q5_k(const unsigned char *in, float *out)
{
    qnnrt_weights__block_k(in, in + 16, in + 48, out);
}

/* Write 256 values of 6 bits, in two halves: 4 lower bits of each, 2 upper ones, scales of 16. */
static void qnnrt_weights__block_q6_k(const unsigned char *in, float *out)
{
    const float scale = qnnrt_weights__block_half(in + 208);
    int i;
    for (i = 0; i < 256; ++i) {
        const int half = i / 128, row = i % 128 / 32, at = i % 32;
        const int byte = in[half * 64 + row % 2 * 32 + at];
        const int low = row < 2 ? byte & 15 : byte >> 4;
        const int high = in[128 + half * 32 + at] >> (2 * row) & 3;
        const float part = scale * (float)(int)(signed char)in[192 + i / 16];
        out[i] = part * (float)((low | high << 4) - 32);
    }
}

/* What reads a block of a type. */
typedef void (*qnnrt_weights__block_read)(const unsigned char *in, float *out);
typedef struct qnnrt_weights__block_reader {
    const char               *type;
    qnnrt_weights__block_read read;
} qnnrt_weights__block_reader;

static const qnnrt_weights__block_reader qnnrt_weights__block_readers[] = {
    { "Q4_0", qnnrt_weights__block_q4_0 }, { "Q4_1", qnnrt_weights__block_q4_1 },
    { "Q5_0", qnnrt_weights__block_q5_0 }, { "Q5_1", qnnrt_weights__block_q5_1 },
    { "Q8_0", qnnrt_weights__block_q8_0 }, { "Q4_K", qnnrt_weights__block_q4_k },
    { "Q5_K", qnnrt_weights__block_q5_k }, { "Q6_K", qnnrt_weights__block_q6_k }
};

/* Find what reads the blocks of a weight, or NULL. */
static qnnrt_weights__block_read qnnrt_weights__block_find(const qnnrt_weight *weight)
{
    size_t i;
    for (i = 0; i < sizeof qnnrt_weights__block_readers / sizeof qnnrt_weights__block_readers[0];
         ++i)
        if (strcmp(weight->type, qnnrt_weights__block_readers[i].type) == 0)
            return qnnrt_weights__block_readers[i].read;
    return NULL;
}

/* =====================================================================================
   CONVERSION                                                                    >>convert
   Copies elements to another type, block by block.
   Needs: >>config >>header >>blocks     Knows nothing of: files, names
   ===================================================================================== */

/* Elements of a block. Loops always run over a whole block, with zeros at its end, so that
   compilers vectorize them. */
enum { QNNRT_WEIGHTS__BLOCK = 512 };

#define QNNRT_WEIGHTS__EACH(i) for (i = 0; i < QNNRT_WEIGHTS__BLOCK; ++i)

/* Return the bytes of an element, or 0 for a type that is not converted. */
static size_t qnnrt_weights__convert_bytes(qnnrt_dtype dtype)
{
    size_t i;
    for (i = 0; i < sizeof qnnrt_weights__types / sizeof qnnrt_weights__types[0]; ++i)
        if (qnnrt_weights__types[i].dtype == dtype && dtype != QNNRT_DTYPE_UNDEFINED)
            return qnnrt_weights__types[i].bits / 8;
    return 0;
}

static int qnnrt_weights__convert_is_float(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_F16 || dtype == QNNRT_DTYPE_BF16 || dtype == QNNRT_DTYPE_F32 ||
           dtype == QNNRT_DTYPE_F64;
}

/* ---- floats: by the bits of a float32 ---- */

/* Return the bits of the float32 next to a float64: the nearest one, or with `odd` the one toward 0
   with its last bit set if it is not exact. The latter, rounded again to a shorter type, gives what
   the float64 rounds to. */
static uint32_t qnnrt_weights__narrow(uint64_t bits, int odd)
{
    const uint32_t sign = (uint32_t)(bits >> 32) & 0x80000000u;
    const int exponent = (int)(bits >> 52 & 0x7FF), field = exponent - 896;
    const uint64_t fraction = bits & 0xFFFFFFFFFFFFFu;
    const uint64_t whole = fraction | (exponent != 0 ? (uint64_t)1 << 52 : 0);
    const int shift = field > 0 ? 29 : field > -30 ? 30 - field : 60;
    const uint64_t rest = whole & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
    uint32_t kept = (uint32_t)(whole >> shift);
    if (exponent == 0x7FF)
        return sign | 0x7F800000u | (fraction != 0 ? 0x400000u | (uint32_t)(fraction >> 29) : 0);
    if (field >= 255) return sign | (odd ? 0x7F7FFFFFu : 0x7F800000u);
    if (odd) kept |= rest != 0;
    else kept += rest > half || (rest == half && (kept & 1) != 0);
    return sign | ((field > 0 ? (uint32_t)(field - 1) << 23 : 0) + kept);
}

/* Read a block of float16, bfloat16, float32 or float64 as bits of float32. */
static void qnnrt_weights__floats_read(qnnrt_dtype from, const void *source, int odd, uint32_t *out)
{
    const uint16_t *halves = (const uint16_t *)source;
    const uint64_t *doubles = (const uint64_t *)source;
    int i;
    switch (from) {
    case QNNRT_DTYPE_BF16:
        QNNRT_WEIGHTS__EACH(i) out[i] = (uint32_t)halves[i] << 16;
        return;
    case QNNRT_DTYPE_F16:
        QNNRT_WEIGHTS__EACH(i) {
            const uint32_t half = halves[i], size = half & 0x7FFFu;
            /* Subnormals are multiples of 2^-24, which float32 holds exactly. */
            const float small = (float)(int32_t)size * (1.0f / 16777216.0f);
            const uint32_t special = 0u - (uint32_t)((int32_t)size >= 0x7C00);
            const uint32_t normal = 0u - (uint32_t)((int32_t)size >= 0x400);
            uint32_t tiny, large = (size << 13) + ((uint32_t)112 << 23);
            memcpy(&tiny, &small, sizeof tiny);
            large += special & (uint32_t)112 << 23;
            out[i] = (half & 0x8000u) << 16 | (normal & large) | (~normal & tiny);
        }
        return;
    case QNNRT_DTYPE_F64:
        QNNRT_WEIGHTS__EACH(i) out[i] = qnnrt_weights__narrow(doubles[i], odd);
        return;
    default:
        memcpy(out, source, QNNRT_WEIGHTS__BLOCK * sizeof *out);
        return;
    }
}

/* Return the float16, without its sign, next to a float32 below its normal numbers. */
static uint32_t qnnrt_weights__small_f16(uint32_t size)
{
    const uint32_t field = size >> 23, shift = field > 101 ? 126 - field : 25;
    const uint32_t whole = (size & 0x7FFFFFu) | 0x800000u;
    return (whole + ((uint32_t)1 << (shift - 1)) - 1 + (whole >> shift & 1)) >> shift;
}

/* Write a block of float16; count what overflows and what becomes 0. Masks instead of conditions:
   compilers vectorize them at -O2. */
static void qnnrt_weights__floats_to_f16(const uint32_t *in, uint16_t *out, uint32_t lost[2])
{
    uint32_t over = 0, flushed = 0, small = 0;
    int i;
    QNNRT_WEIGHTS__EACH(i) {
        const uint32_t sign = in[i] >> 16 & 0x8000u, size = in[i] & 0x7FFFFFFFu;
        uint32_t half = (size - ((uint32_t)112 << 23) + 0xFFFu + (size >> 13 & 1)) >> 13;
        const uint32_t normal = 0u - (uint32_t)((int32_t)size >= 0x38800000);
        const uint32_t large = 0u - (uint32_t)((int32_t)size >= 0x477FF000);
        const uint32_t nan = 0u - (uint32_t)((int32_t)size > 0x7F800000);
        half = (half & normal & ~large) | (large & 0x7C00u) |
               (nan & (0x200u | (size >> 13 & 0x3FFu)));
        over += (uint32_t)(half == 0x7C00u) & (uint32_t)(size < 0x7F800000u);
        small += (uint32_t)(half == 0) & (uint32_t)(size != 0);
        out[i] = (uint16_t)(sign | half);
    }
    /* Shifts by a variable are not vectorized, and few values need them. */
    if (small != 0) {
        QNNRT_WEIGHTS__EACH(i) {
            const uint32_t size = in[i] & 0x7FFFFFFFu;
            if (size >= 0x38800000u || size == 0) continue;
            out[i] = (uint16_t)(out[i] | qnnrt_weights__small_f16(size));
            flushed += (out[i] & 0x7FFFu) == 0;
        }
    }
    lost[0] += over;
    lost[1] += flushed;
}

/* Write a block of bfloat16, in the same way. */
static void qnnrt_weights__floats_to_bf16(const uint32_t *in, uint16_t *out, uint32_t lost[2])
{
    uint32_t over = 0, flushed = 0;
    int i;
    QNNRT_WEIGHTS__EACH(i) {
        const uint32_t size = in[i] & 0x7FFFFFFFu, sign = in[i] >> 16 & 0x8000u;
        uint32_t half = (size + 0x7FFFu + (size >> 16 & 1)) >> 16;
        half = size > 0x7F800000u ? (size >> 16 | 0x40u) : half;
        over += (uint32_t)(half == 0x7F80u) & (uint32_t)(size < 0x7F800000u);
        flushed += (uint32_t)(half == 0) & (uint32_t)(size != 0);
        out[i] = (uint16_t)(sign | half);
    }
    lost[0] += over;
    lost[1] += flushed;
}

/* Count what a block of float64 loses as float32. */
static void qnnrt_weights__floats_count(const uint64_t *in, const uint32_t *out, uint32_t lost[2])
{
    int i;
    QNNRT_WEIGHTS__EACH(i) {
        const uint64_t size = in[i] & 0x7FFFFFFFFFFFFFFFu;
        lost[0] += size < (uint64_t)0x7FF << 52 && (out[i] & 0x7FFFFFFFu) == 0x7F800000u;
        lost[1] += size != 0 && (out[i] & 0x7FFFFFFFu) == 0;
    }
}

/* Convert a block of floats to another type of floats. */
static void qnnrt_weights__convert_floats(qnnrt_dtype from, const void *source, qnnrt_dtype to,
                                          void *target, qnnrt_weights_loss *loss)
{
    uint32_t bits[QNNRT_WEIGHTS__BLOCK], lost[2] = { 0, 0 };
    double *doubles = (double *)target;
    int i;
    qnnrt_weights__floats_read(from, source, to != QNNRT_DTYPE_F32, bits);
    switch (to) {
    case QNNRT_DTYPE_F16:
        qnnrt_weights__floats_to_f16(bits, (uint16_t *)target, lost);
        break;
    case QNNRT_DTYPE_BF16:
        qnnrt_weights__floats_to_bf16(bits, (uint16_t *)target, lost);
        break;
    case QNNRT_DTYPE_F64:
        QNNRT_WEIGHTS__EACH(i) {
            float value;
            memcpy(&value, &bits[i], sizeof value);
            doubles[i] = (double)value;
        }
        break;
    default:
        if (from == QNNRT_DTYPE_F64)
            qnnrt_weights__floats_count((const uint64_t *)source, bits, lost);
        memcpy(target, bits, sizeof bits);
        break;
    }
    loss->overflowed += lost[0];
    loss->flushed += lost[1];
}

/* ---- integers: by int64 ---- */

/* X(dtype, C type, smallest, largest): what int64 holds of each type. */
#define QNNRT_WEIGHTS__INTS(X) \
    X(I8,    int8_t,   INT8_MIN,  INT8_MAX) \
    X(I16,   int16_t,  INT16_MIN, INT16_MAX) \
    X(I32,   int32_t,  INT32_MIN, INT32_MAX) \
    X(I64,   int64_t,  INT64_MIN, INT64_MAX) \
    X(U8,    uint8_t,  0,         UINT8_MAX) \
    X(U16,   uint16_t, 0,         UINT16_MAX) \
    X(U32,   uint32_t, 0,         UINT32_MAX) \
    X(U64,   uint64_t, 0,         INT64_MAX) \
    X(BOOL8, uint8_t,  0,         1)

/* Convert a block of integers or bools to another type of them. */
static void qnnrt_weights__convert_ints(qnnrt_dtype from, const void *source, qnnrt_dtype to,
                                        void *target, qnnrt_weights_loss *loss)
{
    int64_t values[QNNRT_WEIGHTS__BLOCK];
    uint32_t lost = 0;
    int i;
    switch (from) {
#define QNNRT_WEIGHTS__X(name, type, low, high)                                                    \
    case QNNRT_DTYPE_##name:                                                                       \
        QNNRT_WEIGHTS__EACH(i) values[i] = (int64_t)((const type *)source)[i];                     \
        break;
    QNNRT_WEIGHTS__INTS(QNNRT_WEIGHTS__X)
#undef QNNRT_WEIGHTS__X
    default:
        return;
    }
    if (from == QNNRT_DTYPE_BOOL8) QNNRT_WEIGHTS__EACH(i) values[i] = values[i] != 0;
    /* What int64 does not hold is out of range for every other type, too. */
    if (from == QNNRT_DTYPE_U64) {
        QNNRT_WEIGHTS__EACH(i) {
            const int large = values[i] < 0;
            lost += to == QNNRT_DTYPE_I64 && large;
            values[i] = large ? INT64_MAX : values[i];
        }
    }
    switch (to) {
#define QNNRT_WEIGHTS__X(name, type, low, high)                                                    \
    case QNNRT_DTYPE_##name:                                                                       \
        QNNRT_WEIGHTS__EACH(i) {                                                                   \
            const int64_t least = (int64_t)(low), most = (int64_t)(high), value = values[i];       \
            lost += (uint32_t)(value < least) | (uint32_t)(value > most);                          \
            ((type *)target)[i] = (type)(value < least ? least : value > most ? most : value);     \
        }                                                                                          \
        break;
    QNNRT_WEIGHTS__INTS(QNNRT_WEIGHTS__X)
#undef QNNRT_WEIGHTS__X
    default:
        return;
    }
    loss->out_of_range += lost;
}

/* Convert `count` elements. Both types have a size, and both are floats or neither is. */
static void qnnrt_weights__convert(qnnrt_dtype from, const void *source, qnnrt_dtype to,
                                   void *target, uint64_t count, qnnrt_weights_loss *loss)
{
    /* uint64_t: aligned for every type. */
    uint64_t in[QNNRT_WEIGHTS__BLOCK], out[QNNRT_WEIGHTS__BLOCK];
    const size_t in_bytes = qnnrt_weights__convert_bytes(from);
    const size_t out_bytes = qnnrt_weights__convert_bytes(to);
    const int floats = qnnrt_weights__convert_is_float(from);
    const char *read_at = (const char *)source;
    char *write_at = (char *)target;
    while (count > 0) {
        const size_t n = count < QNNRT_WEIGHTS__BLOCK ? (size_t)count
                                                      : (size_t)QNNRT_WEIGHTS__BLOCK;
        if (n < QNNRT_WEIGHTS__BLOCK) memset(in, 0, sizeof in);
        memcpy(in, read_at, n * in_bytes);
        if (floats) qnnrt_weights__convert_floats(from, in, to, out, loss);
        else qnnrt_weights__convert_ints(from, in, to, out, loss);
        memcpy(write_at, out, n * out_bytes);
        read_at += n * in_bytes;
        write_at += n * out_bytes;
        count -= n;
    }
}

/* Convert `count` elements that lie side by side, from element `first` of the data on. */
static void qnnrt_weights__convert_run(const qnnrt_weight *weight, uint64_t first, uint64_t count,
                                       qnnrt_dtype to, char *target, qnnrt_weights_loss *loss)
{
    const size_t size = qnnrt_weights__convert_bytes(to);
    const char *data = (const char *)weight->data;
    qnnrt_weights__block_read read;
    uint64_t bytes;                              /* of a block */
    float values[256];
    if (weight->block == 0) {
        data += first * qnnrt_weights__convert_bytes(weight->dtype);
        if (weight->dtype == to) memcpy(target, data, (size_t)count * size);
        else qnnrt_weights__convert(weight->dtype, data, to, target, count, loss);
        return;
    }
    read = qnnrt_weights__block_find(weight);    /* the caller knows that it is there */
    bytes = weight->bytes / (weight->count / weight->block);
    while (count > 0) {
        const uint64_t skip = first % weight->block, left = weight->block - skip;
        const uint64_t n = count < left ? count : left;
        read((const unsigned char *)data + first / weight->block * bytes, values);
        if (to == QNNRT_DTYPE_F32) memcpy(target, values + skip, (size_t)n * size);
        else qnnrt_weights__convert(QNNRT_DTYPE_F32, values + skip, to, target, n, loss);
        target += n * size;
        first += n;
        count -= n;
    }
}

/* Return the row of .data that is row `row` of the values. */
static uint64_t qnnrt_weights__convert_row(const qnnrt_weight *weight, uint64_t row)
{
    const uint64_t head = weight->heads != 0 ? weight->dims[0] / weight->heads : 0;
    const uint64_t at = head != 0 ? row % head : 0;
    return head == 0 ? row : row - at + at % (head / 2) * 2 + at / (head / 2);
}

/* Convert `count` elements of a weight, from element `first` of its values on. */
static void qnnrt_weights__convert_part(const qnnrt_weight *weight, uint64_t first, uint64_t count,
                                        qnnrt_dtype to, char *target, qnnrt_weights_loss *loss)
{
    const size_t size = qnnrt_weights__convert_bytes(to);
    const uint64_t each = weight->heads != 0 ? weight->count / weight->dims[0] : 0;
    if (weight->heads == 0) {
        qnnrt_weights__convert_run(weight, first, count, to, target, loss);
        return;
    }
    while (count > 0) {
        const uint64_t row = first / each, skip = first % each, left = each - skip;
        const uint64_t n = count < left ? count : left;
        qnnrt_weights__convert_run(weight, qnnrt_weights__convert_row(weight, row) * each + skip, n,
                                   to, target, loss);
        target += n * size;
        first += n;
        count -= n;
    }
}

/* =====================================================================================
   PUBLIC FUNCTIONS                                                               >>public
   Check arguments, resolve defaults, call one room.
   Needs: >>config >>disk >>gguf >>named >>lookup >>open >>blocks >>convert
   Knows nothing of: JSON
   ===================================================================================== */

QNNRT_WEIGHTS_API qnnrt_result qnnrt_weights_open(const char *path, const qnnrt_weights_desc *desc,
                                                  qnnrt_weights **out, qnnrt_error *err)
{
    const uint16_t one = 1;
    qnnrt_weights_desc limits;
    memset(&limits, 0, sizeof limits);
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (path == NULL || path[0] == '\0' || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "%s", path == NULL ? "path is NULL" : out == NULL ?
                               "out is NULL" : "path is empty");
    if (desc != NULL) limits = *desc;
    if ((limits.hooks.alloc == NULL) != (limits.hooks.free == NULL))
        return qnnrt_error_set(err, QNNRT_E_ARG, "hooks.alloc and hooks.free: expected both or "
                               "neither");
    if (*(const unsigned char *)&one != 1)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "files of weights need a little-endian "
                               "machine");
    if (limits.header_bytes == 0) limits.header_bytes = 100000000;
    if (limits.tensors == 0) limits.tensors = 1000000;
    if (limits.files == 0) limits.files = 1024;
    if (limits.name_bytes == 0) limits.name_bytes = 1024;
    return qnnrt_weights__open(path, &limits, out, err);
}

QNNRT_WEIGHTS_API void qnnrt_weights_close(qnnrt_weights *weights)
{
    if (weights != NULL) qnnrt_weights__open_undo(weights);
}

QNNRT_WEIGHTS_API const qnnrt_weights_info *qnnrt_weights_get_info(const qnnrt_weights *weights)
{
    return weights != NULL ? &weights->info : NULL;
}

QNNRT_WEIGHTS_API const qnnrt_weight *qnnrt_weights_find(const qnnrt_weights *weights,
                                                         const char *name)
{
    return weights != NULL && name != NULL ? qnnrt_weights__lookup(weights, "", name) : NULL;
}

QNNRT_WEIGHTS_API const qnnrt_weight *qnnrt_weights_match(const qnnrt_weights *weights,
                                                          const char *key)
{
    const qnnrt_weight *found = NULL;
    if (weights == NULL || key == NULL) return NULL;
    found = qnnrt_weights__lookup_wrapped(weights, key);
    return found != NULL ? found : qnnrt_weights__lookup_tied(weights, key);
}

QNNRT_WEIGHTS_API qnnrt_result qnnrt_weights_part(const qnnrt_weight *weight, uint64_t first,
                                                  uint64_t count, qnnrt_dtype to, void *data,
                                                  size_t bytes, qnnrt_weights_loss *loss,
                                                  qnnrt_error *err)
{
    qnnrt_weights_loss lost = { 0, 0, 0 };
    size_t from_bytes, to_bytes;
    qnnrt_error_clear(err);
    if (weight == NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "weight is NULL");
    from_bytes = qnnrt_weights__convert_bytes(weight->dtype);
    to_bytes = qnnrt_weights__convert_bytes(to);
    if (from_bytes == 0 || to_bytes == 0 ||
        qnnrt_weights__convert_is_float(weight->dtype) != qnnrt_weights__convert_is_float(to) ||
        (weight->block != 0 && qnnrt_weights__block_find(weight) == NULL))
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "weight \"" QNNRT_WEIGHTS__SHOWN
                               "\" of type %s cannot be converted to %s", weight->name,
                               weight->type, qnnrt_dtype_name(to));
    if (first > weight->count || count > weight->count - first)
        return qnnrt_error_set(err, QNNRT_E_ARG, "weight \"" QNNRT_WEIGHTS__SHOWN
                               "\" has %llu elements, asked for %llu from element %llu on",
                               weight->name, (unsigned long long)weight->count,
                               (unsigned long long)count, (unsigned long long)first);
    /* The product fits: the weight has these elements, and 8 bytes of each fit into 64 bits. */
    if (count * to_bytes != bytes || (data == NULL && bytes != 0))
        return qnnrt_error_set(err, QNNRT_E_ARG, "weight \"" QNNRT_WEIGHTS__SHOWN
                               "\": the result has %llu bytes, data has %llu%s", weight->name,
                               (unsigned long long)(count * to_bytes), (unsigned long long)bytes,
                               data == NULL ? " and is NULL" : "");
    if (bytes == 0) return QNNRT_OK;
    qnnrt_weights__convert_part(weight, first, count, to, (char *)data, &lost);
    if (loss != NULL) {
        loss->overflowed += lost.overflowed;
        loss->flushed += lost.flushed;
        loss->out_of_range += lost.out_of_range;
    } else if (lost.overflowed + lost.out_of_range > 0) {
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "weight \"" QNNRT_WEIGHTS__SHOWN
                               "\": %llu of %llu elements do not fit into %s", weight->name,
                               (unsigned long long)(lost.overflowed + lost.out_of_range),
                               (unsigned long long)count, qnnrt_dtype_name(to));
    }
    return QNNRT_OK;
}

QNNRT_WEIGHTS_API qnnrt_result qnnrt_weights_rows(const qnnrt_weight *weight, uint64_t first,
                                                  uint64_t rows, qnnrt_dtype to, void *data,
                                                  size_t bytes, qnnrt_weights_loss *loss,
                                                  qnnrt_error *err)
{
    uint64_t all, each;
    qnnrt_error_clear(err);
    if (weight == NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "weight is NULL");
    all = weight->rank == 0 ? 1 : weight->dims[0];
    each = all == 0 ? 0 : weight->count / all;
    if (first > all || rows > all - first)
        return qnnrt_error_set(err, QNNRT_E_ARG, "weight \"" QNNRT_WEIGHTS__SHOWN
                               "\" has %llu rows, asked for %llu from row %llu on", weight->name,
                               (unsigned long long)all, (unsigned long long)rows,
                               (unsigned long long)first);
    return qnnrt_weights_part(weight, first * each, rows * each, to, data, bytes, loss, err);
}

QNNRT_WEIGHTS_API qnnrt_result qnnrt_weights_convert(const qnnrt_weight *weight, qnnrt_dtype to,
                                                     void *data, size_t bytes,
                                                     qnnrt_weights_loss *loss, qnnrt_error *err)
{
    const uint64_t rows = weight == NULL ? 0 : weight->rank == 0 ? 1 : weight->dims[0];
    return qnnrt_weights_rows(weight, 0, rows, to, data, bytes, loss, err);
}

QNNRT_WEIGHTS_API qnnrt_result qnnrt_weights_unpair(qnnrt_weights *weights, const char *name,
                                                    uint32_t heads, qnnrt_error *err)
{
    const qnnrt_weight *found;
    qnnrt_error_clear(err);
    if (weights == NULL || name == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "%s is NULL", weights == NULL ? "weights" :
                               "name");
    found = qnnrt_weights__lookup(weights, "", name);
    if (found == NULL)
        return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "there is no weight \"" QNNRT_WEIGHTS__SHOWN
                               "\"", name);
    if (heads != 0 && (found->rank < 1 || found->rank > 2 || found->count == 0 ||
                       found->dims[0] % (2 * (uint64_t)heads) != 0))
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, QNNRT_WEIGHTS__SHOWN ": weight \"%.300s\": "
                               "expected rows for %u heads, a multiple of %llu", found->file,
                               found->name, (unsigned)heads, 2 * (unsigned long long)heads);
    weights->list[found - weights->list].heads = heads;
    return QNNRT_OK;
}

QNNRT_WEIGHTS_API const qnnrt_weights_value *qnnrt_weights_get_value(const qnnrt_weights *weights,
                                                                     const char *key)
{
    if (weights == NULL || key == NULL) return NULL;
    return (const qnnrt_weights_value *)qnnrt_weights__named_find(
        weights->by_key, weights->info.value_count, "", key);
}

QNNRT_WEIGHTS_API int qnnrt_weights_value_f64(const qnnrt_weights_value *value, uint64_t index,
                                              double *out)
{
    int64_t whole;
    uint64_t bits;
    float single;
    const char *at;
    size_t size;
    if (value == NULL || index >= value->count || value->kind == QNNRT_WEIGHTS_TEXT) return 0;
    size = qnnrt_weights__kind_bytes[value->kind];
    at = (const char *)value->data + index * size;
    if (value->kind == QNNRT_WEIGHTS_F32) {
        memcpy(&single, at, sizeof single);
        *out = (double)single;
    } else if (value->kind == QNNRT_WEIGHTS_F64) {
        memcpy(out, at, sizeof *out);
    } else if (value->kind == QNNRT_WEIGHTS_U64) {
        memcpy(&bits, at, sizeof bits);
        *out = (double)bits;
    } else {
        if (!qnnrt_weights_value_i64(value, index, &whole)) return 0;
        *out = (double)whole;
    }
    return 1;
}

QNNRT_WEIGHTS_API int qnnrt_weights_value_i64(const qnnrt_weights_value *value, uint64_t index,
                                              int64_t *out)
{
    uint64_t bits, sign;
    size_t size;
    if (value == NULL || index >= value->count || value->kind == QNNRT_WEIGHTS_TEXT ||
        value->kind == QNNRT_WEIGHTS_F32 || value->kind == QNNRT_WEIGHTS_F64)
        return 0;
    size = qnnrt_weights__kind_bytes[value->kind];
    bits = qnnrt_weights__number((const char *)value->data + index * size, size);
    sign = (uint64_t)1 << (8 * size - 1);
    switch (value->kind) {
    case QNNRT_WEIGHTS_I8: case QNNRT_WEIGHTS_I16: case QNNRT_WEIGHTS_I32: case QNNRT_WEIGHTS_I64:
        *out = bits & sign ? -(int64_t)(sign - 1 - (bits & (sign - 1))) - 1 : (int64_t)bits;
        return 1;
    case QNNRT_WEIGHTS_BOOL:
        *out = bits != 0;
        return 1;
    default:
        if (bits > INT64_MAX) return 0;
        *out = (int64_t)bits;
        return 1;
    }
}

QNNRT_WEIGHTS_API int qnnrt_weights_value_next(const qnnrt_weights_value *value, uint64_t *at,
                                               const char **text, size_t *bytes)
{
    const char *data;
    if (value == NULL || at == NULL || value->kind != QNNRT_WEIGHTS_TEXT || *at >= value->bytes)
        return 0;
    data = (const char *)value->data + *at;
    *bytes = (size_t)qnnrt_weights__number(data, 8);
    *text = data + 8;
    *at += 8 + (uint64_t)*bytes;
    return 1;
}

QNNRT_WEIGHTS_API const void *qnnrt_weights_row(const qnnrt_weight *weight, uint64_t row,
                                                uint64_t *bytes)
{
    const uint64_t rows = weight == NULL ? 0 : weight->rank == 0 ? 1 : weight->dims[0];
    if (bytes != NULL) *bytes = 0;
    if (row >= rows || weight->bytes % rows != 0 ||
        (weight->block != 0 && weight->count / rows % weight->block != 0))
        return NULL;
    if (bytes != NULL) *bytes = weight->bytes / rows;
    return (const char *)weight->data +
           qnnrt_weights__convert_row(weight, row) * (weight->bytes / rows);
}

QNNRT_WEIGHTS_API uint64_t qnnrt_weights_done(const qnnrt_weights *weights,
                                              const qnnrt_weight *weight)
{
    /* Other data may not be mapped: its pages would become zeros. */
    if (weights == NULL || weight == NULL || weights->info.count == 0 ||
        weight < weights->info.weights || weight >= weights->info.weights + weights->info.count)
        return 0;
    return qnnrt_weights__disk_drop(weight->data, weight->bytes);
}

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_WEIGHTS__IMPL_ONCE */
#endif /* QNNRT_WEIGHTS_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   API: QNNRT_WEIGHTS_VERSION_MAJOR and its kin are QNNRT_VERSION_MAJOR of qnnrt.h.
   0.2.0   Added  GGUF, its blocks and its metadata: qnnrt_weights_get_value() and relatives.
           Added  qnnrt_weights_part(), qnnrt_weights_unpair().
   0.1.0   First version.
   --------------------------------------------------------------------------------------------- */
