/* qnnrt_onnx.h - v0.5.0 - read .onnx files: graphs, tensors, external data, functions

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_onnx.h"
       #define QNNRT_ONNX_IMPLEMENTATION
       #include "qnnrt_onnx.h"
   qnnrt.h lies beside this file or is found by the compiler. Link with -ldl.

       qnnrt_onnx *onnx; qnnrt_error err; size_t i;
       if (qnnrt_onnx_open("model.onnx", NULL, &onnx, &err) != QNNRT_OK) {
           puts(err.text); puts(err.hint); return 1;
       }
       for (i = 0; i < onnx->graph->node_count; ++i)
           printf("%s %s\n", onnx->graph->nodes[i].op, onnx->graph->nodes[i].name);
       qnnrt_onnx_free(onnx);

   Uses     Public names of qnnrt.h, libc and POSIX files; no protobuf, no libm
   Trust    Files may be hostile, but nobody may shorten one while it is open: reading what is then
            missing ends the program with SIGBUS. The caller is trusted.
   Memory   Raw and external data stay in the mapped files. One allocator hook serves every
            allocation: names, lists, and tensors that the file has as lists of numbers.
   Threads  The header creates none. Any number of threads may read an opened model.
   Globals  Constant tables only. The header prints nothing and never aborts.
   Missing  What operators mean: types, shapes and attributes of nodes are read, not understood.
            Writing. Training information, annotations and texts for readers are skipped.

   WORDS
       model         a file: one graph, functions, and the versions of the operators
       value         what nodes read and write, known by its name
       initializer   a tensor of the graph with a name: a weight, or the default of an input
       subgraph      a graph in an attribute of a node, such as a branch of If; it sees values of
                     the graphs around it
       function      an operator that the file defines by nodes of its own
       opset         the version of the operators of a domain; "" is the domain of ONNX itself
       external      data of a tensor in a file beside the model

   BUILD OPTIONS, to define before the header is first included
       QNNRT_ONNX_API   replaces the storage and export prefix of all functions (default: QNNRT_API)
       The options of qnnrt.h work here too:
       QNNRT_STATIC     makes every function static: both implementations and all calls in one file
       QNNRT_API        sets the prefix of all functions, for example for hidden visibility

   MANUAL

   What is checked
       A model that was opened is whole: each name that a node reads is an input, an initializer, or
       written by a node, and none is written twice; nodes are in an order in which they can run,
       whatever order the file has; attributes have the data of their kind; tensors have exactly the
       bytes of their type and dims; functions do not call each other in a circle.
       What is wrong is refused with a sentence that names file, node and field. Fields of protobuf
       that are not known are skipped.

   Names
       A subgraph may write a name that a graph around it has, too: inside, its own value is meant.
       "" is an input that is left out, or an output that is not wanted.

   Tensors
       .data is as "raw_data" of ONNX: row-major, little-endian, types of less than a byte packed
       with the first element in the lowest bits. It has any alignment: copy it with memcpy().

   External data
       The file lies in the folder of the model or beneath it. ".." and links, symbolic or hard, are
       refused, and no two tensors may share bytes.

   ROOMS (search for the tag)
       >>config >>wire >>schema >>fields >>type >>files >>tensor >>node                    reading
       >>scope >>call >>kind >>public                                                      checking
*/
#ifndef QNNRT_ONNX_H
#define QNNRT_ONNX_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_onnx.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_ONNX_API
#define QNNRT_ONNX_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------- model -- */

/* Types of elements, by their numbers in files. */
typedef enum qnnrt_onnx_type {
    QNNRT_ONNX_UNDEFINED = 0, QNNRT_ONNX_FLOAT = 1, QNNRT_ONNX_UINT8, QNNRT_ONNX_INT8,
    QNNRT_ONNX_UINT16, QNNRT_ONNX_INT16, QNNRT_ONNX_INT32, QNNRT_ONNX_INT64, QNNRT_ONNX_STRING,
    QNNRT_ONNX_BOOL, QNNRT_ONNX_FLOAT16, QNNRT_ONNX_DOUBLE, QNNRT_ONNX_UINT32, QNNRT_ONNX_UINT64,
    QNNRT_ONNX_COMPLEX64, QNNRT_ONNX_COMPLEX128, QNNRT_ONNX_BFLOAT16, QNNRT_ONNX_FLOAT8E4M3FN,
    QNNRT_ONNX_FLOAT8E4M3FNUZ, QNNRT_ONNX_FLOAT8E5M2, QNNRT_ONNX_FLOAT8E5M2FNUZ, QNNRT_ONNX_UINT4,
    QNNRT_ONNX_INT4, QNNRT_ONNX_FLOAT4E2M1, QNNRT_ONNX_FLOAT8E8M0, QNNRT_ONNX_UINT2,
    QNNRT_ONNX_INT2, QNNRT_ONNX_FLOAT6E2M3, QNNRT_ONNX_FLOAT6E3M2
} qnnrt_onnx_type;

/* Bytes of any values, followed by a NUL that .bytes does not count. */
typedef struct qnnrt_onnx_text {
    const char *text;
    size_t      bytes;
} qnnrt_onnx_text;

typedef struct qnnrt_onnx_tensor {
    const char      *name;           /* may be "" */
    qnnrt_onnx_type  type;
    uint32_t         rank;           /* 0: a scalar */
    const int64_t   *dims;           /* [rank], none is negative */
    uint64_t         count, bytes;   /* elements, and bytes of data */
    const void      *data;           /* see "Tensors" above; NULL if .bytes is 0 */
    const qnnrt_onnx_text *strings;  /* STRING: [count]; else NULL */
    const char      *file;           /* external: its location; else "" */
    int              sparse;         /* 1: the file has it as a sparse tensor */
    size_t           byte;           /* where it begins in the file */
} qnnrt_onnx_tensor;

typedef struct qnnrt_onnx_dim {
    int64_t     value;               /* -1: not known */
    const char *param;               /* its name, such as "batch"; "": none */
} qnnrt_onnx_dim;

typedef enum qnnrt_onnx_kind {
    QNNRT_ONNX_NO_TYPE,              /* the file gives none */
    QNNRT_ONNX_TENSOR, QNNRT_ONNX_SPARSE, QNNRT_ONNX_SEQUENCE, QNNRT_ONNX_OPTIONAL, QNNRT_ONNX_MAP,
    QNNRT_ONNX_OPAQUE
} qnnrt_onnx_kind;

/* The name of a value, and what the file says about it. */
typedef struct qnnrt_onnx_value {
    const char           *name;
    qnnrt_onnx_kind       kind;
    qnnrt_onnx_type       type;      /* TENSOR, SPARSE: of elements; MAP: of keys */
    int                   ranked;    /* 0: the rank is not known */
    uint32_t              rank;
    const qnnrt_onnx_dim *dims;      /* [rank] */
    const struct qnnrt_onnx_value *element;      /* SEQUENCE, OPTIONAL, MAP: what it has; else
                                                    NULL */
    const qnnrt_onnx_tensor *initial;            /* of an input: the initializer with this name,
                                                    from IR 4 on a default; else NULL */
    size_t                byte;
} qnnrt_onnx_value;

/* Kinds of attributes, by their numbers in files. */
typedef enum qnnrt_onnx_attr_kind {
    QNNRT_ONNX_ATTR_FLOAT = 1, QNNRT_ONNX_ATTR_INT, QNNRT_ONNX_ATTR_STRING, QNNRT_ONNX_ATTR_TENSOR,
    QNNRT_ONNX_ATTR_GRAPH, QNNRT_ONNX_ATTR_FLOATS, QNNRT_ONNX_ATTR_INTS, QNNRT_ONNX_ATTR_STRINGS,
    QNNRT_ONNX_ATTR_TENSORS, QNNRT_ONNX_ATTR_GRAPHS, QNNRT_ONNX_ATTR_SPARSE_TENSOR,
    QNNRT_ONNX_ATTR_SPARSE_TENSORS, QNNRT_ONNX_ATTR_TYPE, QNNRT_ONNX_ATTR_TYPES
} qnnrt_onnx_attr_kind;

typedef struct qnnrt_onnx_attr {
    const char              *name;
    const char              *ref;    /* within a function: its attribute that is meant; else "" */
    qnnrt_onnx_attr_kind     kind;
    float                    f;      /* FLOAT */
    int64_t                  i;      /* INT */
    qnnrt_onnx_text          s;      /* STRING */
    size_t                   count;  /* of the list of .kind; 1: TENSOR, SPARSE_TENSOR, GRAPH,
                                        TYPE */
    const float             *floats;
    const int64_t           *ints;
    const qnnrt_onnx_text   *strings;
    const qnnrt_onnx_tensor *tensors;            /* TENSOR, TENSORS, SPARSE_TENSOR, .. */
    const struct qnnrt_onnx_graph *graphs;       /* GRAPH, GRAPHS */
    const qnnrt_onnx_value  *types;              /* TYPE, TYPES */
    size_t                   byte;
} qnnrt_onnx_attr;

typedef struct qnnrt_onnx_node {
    const char             *name;    /* may be "" */
    const char             *op, *domain, *overload;
    const char *const      *inputs;  /* [input_count], "": left out */
    size_t                  input_count;
    const char *const      *outputs; /* [output_count], "": not wanted */
    size_t                  output_count;
    const qnnrt_onnx_attr  *attrs;
    size_t                  attr_count;
    size_t                  number;  /* index in the list of the file */
    size_t                  byte;
} qnnrt_onnx_node;

typedef struct qnnrt_onnx_graph {
    const char              *name;
    const qnnrt_onnx_node   *nodes;  /* in an order in which they can run */
    size_t                   node_count;
    const qnnrt_onnx_value  *inputs;
    size_t                   input_count;
    const qnnrt_onnx_value  *outputs;
    size_t                   output_count;
    const qnnrt_onnx_value  *values; /* what the file says about values in between */
    size_t                   value_count;
    const qnnrt_onnx_tensor *initializers;       /* sparse ones at the end */
    size_t                   initializer_count;
    size_t                   byte;
} qnnrt_onnx_graph;

typedef struct qnnrt_onnx_opset {
    const char *domain;
    int64_t     version;
} qnnrt_onnx_opset;

typedef struct qnnrt_onnx_function {
    const char             *name, *domain, *overload;
    const char *const      *inputs;
    size_t                  input_count;
    const char *const      *outputs;
    size_t                  output_count;
    const char *const      *attr_names;          /* attributes without a default */
    size_t                  attr_name_count;
    const qnnrt_onnx_attr  *defaults;            /* attributes with one */
    size_t                  default_count;
    const qnnrt_onnx_node  *nodes;
    size_t                  node_count;
    const qnnrt_onnx_opset *opsets;
    size_t                  opset_count;
    const qnnrt_onnx_value *values;
    size_t                  value_count;
    size_t                  byte;
} qnnrt_onnx_function;

typedef struct qnnrt_onnx_pair {
    const char *key, *value;
} qnnrt_onnx_pair;

typedef struct qnnrt_onnx {
    int64_t                    ir_version, model_version;
    const char                *producer, *producer_version, *domain;
    const qnnrt_onnx_opset    *opsets;
    size_t                     opset_count;
    const qnnrt_onnx_graph    *graph;
    const qnnrt_onnx_function *functions;
    size_t                     function_count;
    const qnnrt_onnx_pair     *metadata;
    size_t                     metadata_count;
    struct qnnrt_onnx__own    *own;  /* private */
} qnnrt_onnx;

/* ----------------------------------------------------------------------------------- reading -- */

enum { QNNRT_ONNX_IR_VERSION = 14 };             /* the newest one that is read */

/* Options and limits; every 0 is a default. More than a limit is QNNRT_E_LIMIT. */
typedef struct qnnrt_onnx_desc {
    qnnrt_hooks hooks;               /* alloc and free are used */
    const char *folder;              /* of external data (default NULL: that of the file, and for
                                        qnnrt_onnx_read() none) */
    uint64_t    memory_bytes;        /* that are allocated (default 0: 4 GiB) */
    uint64_t    expand_bytes;        /* of all sparse tensors, expanded (default 0: 1 GiB) */
    uint32_t    nodes;               /* of all graphs and functions (default 0: 1,000,000) */
    uint32_t    name_bytes;          /* of a name, not of values of metadata (default 0: 4,096) */
    uint32_t    files;               /* of external data (default 0: 1,024) */
} qnnrt_onnx_desc;

/* Open a file, and map it and its external data.

   desc     may be NULL
   out      receives the model, NULL on failure

   Returns  QNNRT_OK
            QNNRT_E_NOT_FOUND    the file, or one of external data, is missing
            QNNRT_E_IO           one of them cannot be read, is no regular file, or is a link
            QNNRT_E_FORMAT       damaged or wrong: the text has byte, node and field
            QNNRT_E_VERSION      a newer version of ONNX
            QNNRT_E_UNSUPPORTED  another kind of file (the hint says what to do); a type of elements
                                 that is not known; a tensor in segments; a file too large for a
                                 32-bit program; a big-endian machine
            QNNRT_E_LIMIT        more than desc allows, or more than 100 messages within each other
            QNNRT_E_MEMORY, QNNRT_E_ARG
   Frees    qnnrt_onnx_free()
   Threads  any
   Cost     0.8 ms for 860 nodes in 11 MB, of a file in memory; raw data are not read, except those
            of BOOL */
QNNRT_ONNX_API qnnrt_result qnnrt_onnx_open(const char *path, const qnnrt_onnx_desc *desc,
                                            qnnrt_onnx **out, qnnrt_error *err);

/* Read a model from memory, which must stay as it is until qnnrt_onnx_free(). */
QNNRT_ONNX_API qnnrt_result qnnrt_onnx_read(const void *data, size_t bytes,
                                            const qnnrt_onnx_desc *desc, qnnrt_onnx **out,
                                            qnnrt_error *err);

/* Read one tensor, the content of a file such as "input_0.pb": a model with one initializer. */
QNNRT_ONNX_API qnnrt_result qnnrt_onnx_read_tensor(const void *data, size_t bytes,
                                                   const qnnrt_onnx_desc *desc, qnnrt_onnx **out,
                                                   qnnrt_error *err);

/* Free a model with all that it has. NULL is allowed. */
QNNRT_ONNX_API void qnnrt_onnx_free(qnnrt_onnx *onnx);

/* Return an attribute of a node, or NULL if it has none of this name. */
QNNRT_ONNX_API const qnnrt_onnx_attr *qnnrt_onnx_attr_find(const qnnrt_onnx_node *node,
                                                           const char *name);

/* Return the version of a domain in a list of opsets, 0 if it is not there. */
QNNRT_ONNX_API int64_t qnnrt_onnx_opset_find(const qnnrt_onnx_opset *list, size_t count,
                                             const char *domain);

/* Return the name of a type, "float16", or "?"; the bits of an element, 0 for STRING and unknown
   types. */
QNNRT_ONNX_API const char *qnnrt_onnx_type_name(int type);
QNNRT_ONNX_API uint32_t qnnrt_onnx_type_bits(int type);

/* Return the name of a kind of values, "tensor", "sequence"; "no type" for NO_TYPE. */
QNNRT_ONNX_API const char *qnnrt_onnx_kind_name(qnnrt_onnx_kind kind);

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_ONNX_H */

#ifdef QNNRT_ONNX_IMPLEMENTATION
#ifndef QNNRT_ONNX__IMPL_ONCE
#define QNNRT_ONNX__IMPL_ONCE

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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
   The state of a reading, and its errors.
   Needs: nothing     Knows nothing of: messages
   ===================================================================================== */

enum { QNNRT_ONNX__DEPTH = 100, QNNRT_ONNX__FIELDS = 20, QNNRT_ONNX__TEXT = 1200 };

/* A name or path of a file in an error text. */
#define QNNRT_ONNX__SHOWN "%.300s"

/* A mapped file of external data. */
typedef struct qnnrt_onnx__file {
    const char *name;                /* beneath the folder, without "." and empty parts */
    void       *map;                 /* NULL: it is empty */
    uint64_t    bytes;
} qnnrt_onnx__file;

/* Bytes of a file that a tensor has. */
typedef struct qnnrt_onnx__range {
    size_t      file;                /* index in own->files */
    uint64_t    begin, end;
    const char *name;                /* of the tensor */
} qnnrt_onnx__range;

/* What a model owns. */
struct qnnrt_onnx__own {
    qnnrt_arena       arena;         /* everything, this struct included */
    qnnrt_onnx        onnx;
    void             *map;           /* the model's file; NULL: memory of the caller */
    uint64_t          map_bytes;
    qnnrt_onnx__file *files;
    size_t            file_count, file_room;
};

typedef struct qnnrt_onnx__span {
    const unsigned char *at, *end;
} qnnrt_onnx__span;

typedef struct qnnrt_onnx__reader {
    struct qnnrt_onnx__own *own;
    qnnrt_onnx_desc         limits;
    qnnrt_arena             scratch;
    const unsigned char    *begin;
    uint64_t                nodes, expanded;
    int                     depth, named;        /* named: the error text names a node */
    int                     folder;              /* descriptor; -1: not open */
    qnnrt_onnx__range      *ranges;
    size_t                  range_count, range_room;
    size_t                  faults;
    qnnrt_result            code;
    qnnrt_error            *err;
    int (*one)(struct qnnrt_onnx__reader *r, int which, qnnrt_onnx__span span, void *out);
} qnnrt_onnx__reader;

/* Fill the error, and return 0. */
__attribute__((cold, format(printf, 3, 4)))
static int qnnrt_onnx__fail(qnnrt_onnx__reader *r, qnnrt_result code, const char *format, ...)
{
    char text[QNNRT_ONNX__TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->code = qnnrt_error_set(r->err, code, "%s", text);
    return 0;
}

/* Report that an arena could not give memory, and return 0. */
static int qnnrt_onnx__memory(qnnrt_onnx__reader *r)
{
    if (r->own->arena.failed == QNNRT_E_LIMIT || r->scratch.failed == QNNRT_E_LIMIT)
        return qnnrt_onnx__fail(r, QNNRT_E_LIMIT, "the model needs more memory than %llu bytes, "
                                "the limit", (unsigned long long)r->limits.memory_bytes);
    return qnnrt_onnx__fail(r, QNNRT_E_MEMORY, "out of memory for the model");
}

/* Get zeroed memory that the model keeps, or report that there is none. */
static void *qnnrt_onnx__get(qnnrt_onnx__reader *r, uint64_t count, uint64_t size)
{
    void *data = qnnrt_arena_get(&r->own->arena, count, size);
    if (data == NULL) (void)qnnrt_onnx__memory(r);
    return data;
}

/* Return where a byte lies in the file. */
static size_t qnnrt_onnx__byte(const qnnrt_onnx__reader *r, const unsigned char *at)
{
    return (size_t)(at - r->begin);
}

/* =====================================================================================
   WIRE                                                                            >>wire
   Takes the fields of a message of protobuf apart.
   Needs: >>config     Knows nothing of: which fields there are
   ===================================================================================== */

enum { QNNRT_ONNX__VARINT = 0, QNNRT_ONNX__WIRE64 = 1, QNNRT_ONNX__LENGTH = 2,
       QNNRT_ONNX__WIRE32 = 5 };

typedef struct qnnrt_onnx__item {
    uint32_t         number, wire;
    uint64_t         value;          /* VARINT */
    qnnrt_onnx__span data;           /* the others */
    size_t           byte;           /* of its beginning in the file */
} qnnrt_onnx__item;

/* Take a number of up to 64 bits. Return 0 if it has no end or is larger. */
static int qnnrt_onnx__varint(qnnrt_onnx__span *span, uint64_t *out)
{
    uint64_t value = 0;
    unsigned shift = 0;
    while (span->at < span->end) {
        const unsigned char byte = *span->at++;
        if (shift == 63 && byte > 1) return 0;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *out = value;
            return 1;
        }
        shift += 7;
        if (shift > 63) return 0;
    }
    return 0;
}

/* Take the next field of a message, called `what`. Return 1; 0 at the end; -1 after an error. */
static int qnnrt_onnx__next(qnnrt_onnx__reader *r, const char *what, qnnrt_onnx__span *span,
                            qnnrt_onnx__item *item)
{
    uint64_t tag, bytes;
    const char *why = NULL;
    if (span->at == span->end) return 0;
    memset(item, 0, sizeof *item);
    item->byte = qnnrt_onnx__byte(r, span->at);
    if (!qnnrt_onnx__varint(span, &tag) || tag > UINT32_MAX || tag >> 3 == 0) {
        (void)qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "byte %llu: no field of protobuf begins here, "
                               "in a message \"%s\"", (unsigned long long)item->byte, what);
        return -1;
    }
    item->number = (uint32_t)(tag >> 3);
    item->wire = (uint32_t)(tag & 7);
    bytes = item->wire == QNNRT_ONNX__WIRE64 ? 8 : 4;
    switch (item->wire) {
    case QNNRT_ONNX__VARINT:
        if (qnnrt_onnx__varint(span, &item->value)) return 1;
        why = "has a number without an end";
        break;
    case QNNRT_ONNX__LENGTH:
        if (!qnnrt_onnx__varint(span, &bytes)) why = "has a length without an end";
        break;
    case QNNRT_ONNX__WIRE64:
    case QNNRT_ONNX__WIRE32:
        break;
    default:
        why = "has a wire type that ONNX does not use";
    }
    if (why == NULL && bytes <= (uint64_t)(span->end - span->at)) {
        item->data.at = span->at;
        item->data.end = span->at += bytes;
        return 1;
    }
    if (why != NULL)
        (void)qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "byte %llu: field %u of a message \"%s\" %s",
                               (unsigned long long)item->byte, (unsigned)item->number, what, why);
    else
        (void)qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "byte %llu: field %u of a message \"%s\" needs "
                               "%llu bytes, %llu are left", (unsigned long long)item->byte,
                               (unsigned)item->number, what, (unsigned long long)bytes,
                               (unsigned long long)(span->end - span->at));
    return -1;
}

/* Return how many numbers a packed list has: `size` bytes each, 0: varints. */
static uint64_t qnnrt_onnx__packed(qnnrt_onnx__span span, size_t size)
{
    uint64_t count = 0;
    if (size != 0) return (uint64_t)(span.end - span.at) / size;
    while (span.at < span.end) count += *span.at++ < 128;
    return count;
}

/* =====================================================================================
   SCHEMA                                                                        >>schema
   The messages and fields of ONNX that are read, and where their values go.
   Needs: >>config     Knows nothing of: how fields are read
   ===================================================================================== */

/* What a field has. */
typedef enum qnnrt_onnx__what {
    QNNRT_ONNX__INT,                 /* int64_t */
    QNNRT_ONNX__REAL,                /* float */
    QNNRT_ONNX__NAME,                /* const char *, copied; "" if it is absent */
    QNNRT_ONNX__BYTES,               /* qnnrt_onnx_text, copied */
    QNNRT_ONNX__SPAN,                /* qnnrt_onnx__span, in the file */
    QNNRT_ONNX__ONE,                 /* a pointer to a message */
    QNNRT_ONNX__LISTS,               /* those below are lists: a pointer and a count */
    QNNRT_ONNX__INTS = QNNRT_ONNX__LISTS,
    QNNRT_ONNX__REALS, QNNRT_ONNX__NAMES, QNNRT_ONNX__TEXTS,
    QNNRT_ONNX__MANY,                /* messages */
    QNNRT_ONNX__DATA                 /* numbers that are counted only */
} qnnrt_onnx__what;

typedef enum qnnrt_onnx__which {
    QNNRT_ONNX__MODEL, QNNRT_ONNX__OPSET, QNNRT_ONNX__PAIR, QNNRT_ONNX__GRAPH, QNNRT_ONNX__NODE,
    QNNRT_ONNX__ATTR, QNNRT_ONNX__TENSOR, QNNRT_ONNX__SPARSE, QNNRT_ONNX__VALUE, QNNRT_ONNX__TYPE,
    QNNRT_ONNX__DENSE, QNNRT_ONNX__HOLDER, QNNRT_ONNX__MAP, QNNRT_ONNX__SHAPE, QNNRT_ONNX__DIM,
    QNNRT_ONNX__FUNCTION, QNNRT_ONNX__MESSAGES
} qnnrt_onnx__which;

typedef struct qnnrt_onnx__row {
    uint32_t         number;
    qnnrt_onnx__what what;
    int              of;             /* ONE, MANY: the message; REALS, DATA: bytes of a number, 0: a
                                        varint; NAME: 1: of any length */
    const char      *name;
    size_t           offset, count;  /* in the struct; count: that of a list */
} qnnrt_onnx__row;

typedef struct qnnrt_onnx__message {
    const char            *name;
    size_t                 bytes;    /* of its struct */
    const qnnrt_onnx__row *rows;
    size_t                 count;
} qnnrt_onnx__message;

/* Messages whose struct is not the public one. */
typedef struct qnnrt_onnx__raw_model {
    qnnrt_onnx             pub;
    qnnrt_onnx_graph      *graph;
} qnnrt_onnx__raw_model;

typedef struct qnnrt_onnx__raw_graph {
    qnnrt_onnx_graph   pub;
    qnnrt_onnx_tensor *sparse;
    size_t             sparse_count;
} qnnrt_onnx__raw_graph;

typedef struct qnnrt_onnx__raw_attr {
    qnnrt_onnx_attr    pub;
    int64_t            kind;
    qnnrt_onnx_tensor *tensor, *sparse, *tensors, *sparses;
    qnnrt_onnx_graph  *graph, *graphs;
    struct qnnrt_onnx__raw_type *type, *types;
    size_t float_count, int_count, string_count, tensor_count, sparse_count, graph_count,
           type_count;
} qnnrt_onnx__raw_attr;

typedef struct qnnrt_onnx__raw_tensor {
    const char      *name;
    const int64_t   *dims;
    const qnnrt_onnx_text *strings;
    const qnnrt_onnx_pair *external;
    size_t           rank, string_count, external_count;
    int64_t          type, location;
    qnnrt_onnx__span raw, segment;
    size_t           data[5];        /* numbers of float_data, int32_data, int64_data, double_data,
                                        uint64_data */
} qnnrt_onnx__raw_tensor;

typedef struct qnnrt_onnx__raw_sparse {
    qnnrt_onnx_tensor *values, *indices;
    const int64_t     *dims;
    size_t             rank;
} qnnrt_onnx__raw_sparse;

typedef struct qnnrt_onnx__shape {
    const qnnrt_onnx_dim *dims;
    size_t                rank;
} qnnrt_onnx__shape;

typedef struct qnnrt_onnx__dense {
    int64_t            type;
    qnnrt_onnx__shape *shape;
} qnnrt_onnx__dense;

typedef struct qnnrt_onnx__holder {              /* of a sequence, an optional or a map */
    int64_t                      key;
    struct qnnrt_onnx__raw_type *element;
} qnnrt_onnx__holder;

typedef struct qnnrt_onnx__raw_type {
    qnnrt_onnx__dense  *tensor, *sparse;
    qnnrt_onnx__holder *sequence, *optional, *map;
    qnnrt_onnx__span    opaque;
} qnnrt_onnx__raw_type;

typedef struct qnnrt_onnx__raw_value {
    const char           *name;
    qnnrt_onnx__raw_type *type;
} qnnrt_onnx__raw_value;

/* A field that has one value, and one that is a list. */
#define QNNRT_ONNX__AT1(type, member) offsetof(type, member), 0
#define QNNRT_ONNX__AT(type, member, count) offsetof(type, member), offsetof(type, count)

static const qnnrt_onnx__row qnnrt_onnx__model_rows[] = {
    { 1, QNNRT_ONNX__INT, 0, "ir_version", QNNRT_ONNX__AT1(qnnrt_onnx__raw_model, pub.ir_version) },
    { 2, QNNRT_ONNX__NAME, 0, "producer_name",
      QNNRT_ONNX__AT1(qnnrt_onnx__raw_model, pub.producer) },
    { 3, QNNRT_ONNX__NAME, 0, "producer_version",
      QNNRT_ONNX__AT1(qnnrt_onnx__raw_model, pub.producer_version) },
    { 4, QNNRT_ONNX__NAME, 0, "domain", QNNRT_ONNX__AT1(qnnrt_onnx__raw_model, pub.domain) },
    { 5, QNNRT_ONNX__INT, 0, "model_version",
      QNNRT_ONNX__AT1(qnnrt_onnx__raw_model, pub.model_version) },
    { 7, QNNRT_ONNX__ONE, QNNRT_ONNX__GRAPH, "graph",
      QNNRT_ONNX__AT1(qnnrt_onnx__raw_model, graph) },
    { 8, QNNRT_ONNX__MANY, QNNRT_ONNX__OPSET, "opset_import",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_model, pub.opsets, pub.opset_count) },
    { 14, QNNRT_ONNX__MANY, QNNRT_ONNX__PAIR, "metadata_props",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_model, pub.metadata, pub.metadata_count) },
    { 25, QNNRT_ONNX__MANY, QNNRT_ONNX__FUNCTION, "functions",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_model, pub.functions, pub.function_count) }
};

static const qnnrt_onnx__row qnnrt_onnx__opset_rows[] = {
    { 1, QNNRT_ONNX__NAME, 0, "domain", QNNRT_ONNX__AT1(qnnrt_onnx_opset, domain) },
    { 2, QNNRT_ONNX__INT, 0, "version", QNNRT_ONNX__AT1(qnnrt_onnx_opset, version) }
};

static const qnnrt_onnx__row qnnrt_onnx__pair_rows[] = {
    { 1, QNNRT_ONNX__NAME, 0, "key", QNNRT_ONNX__AT1(qnnrt_onnx_pair, key) },
    { 2, QNNRT_ONNX__NAME, 1, "value", QNNRT_ONNX__AT1(qnnrt_onnx_pair, value) }
};

static const qnnrt_onnx__row qnnrt_onnx__graph_rows[] = {
    { 1, QNNRT_ONNX__MANY, QNNRT_ONNX__NODE, "node",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_graph, pub.nodes, pub.node_count) },
    { 2, QNNRT_ONNX__NAME, 0, "name", QNNRT_ONNX__AT1(qnnrt_onnx__raw_graph, pub.name) },
    { 5, QNNRT_ONNX__MANY, QNNRT_ONNX__TENSOR, "initializer",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_graph, pub.initializers, pub.initializer_count) },
    { 11, QNNRT_ONNX__MANY, QNNRT_ONNX__VALUE, "input",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_graph, pub.inputs, pub.input_count) },
    { 12, QNNRT_ONNX__MANY, QNNRT_ONNX__VALUE, "output",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_graph, pub.outputs, pub.output_count) },
    { 13, QNNRT_ONNX__MANY, QNNRT_ONNX__VALUE, "value_info",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_graph, pub.values, pub.value_count) },
    { 15, QNNRT_ONNX__MANY, QNNRT_ONNX__SPARSE, "sparse_initializer",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_graph, sparse, sparse_count) }
};

static const qnnrt_onnx__row qnnrt_onnx__node_rows[] = {
    { 1, QNNRT_ONNX__NAMES, 0, "input", QNNRT_ONNX__AT(qnnrt_onnx_node, inputs, input_count) },
    { 2, QNNRT_ONNX__NAMES, 0, "output", QNNRT_ONNX__AT(qnnrt_onnx_node, outputs, output_count) },
    { 3, QNNRT_ONNX__NAME, 0, "name", QNNRT_ONNX__AT1(qnnrt_onnx_node, name) },
    { 4, QNNRT_ONNX__NAME, 0, "op_type", QNNRT_ONNX__AT1(qnnrt_onnx_node, op) },
    { 5, QNNRT_ONNX__MANY, QNNRT_ONNX__ATTR, "attribute",
      QNNRT_ONNX__AT(qnnrt_onnx_node, attrs, attr_count) },
    { 7, QNNRT_ONNX__NAME, 0, "domain", QNNRT_ONNX__AT1(qnnrt_onnx_node, domain) },
    { 8, QNNRT_ONNX__NAME, 0, "overload", QNNRT_ONNX__AT1(qnnrt_onnx_node, overload) }
};

static const qnnrt_onnx__row qnnrt_onnx__attr_rows[] = {
    { 1, QNNRT_ONNX__NAME, 0, "name", QNNRT_ONNX__AT1(qnnrt_onnx__raw_attr, pub.name) },
    { 2, QNNRT_ONNX__REAL, 0, "f", QNNRT_ONNX__AT1(qnnrt_onnx__raw_attr, pub.f) },
    { 3, QNNRT_ONNX__INT, 0, "i", QNNRT_ONNX__AT1(qnnrt_onnx__raw_attr, pub.i) },
    { 4, QNNRT_ONNX__BYTES, 0, "s", QNNRT_ONNX__AT1(qnnrt_onnx__raw_attr, pub.s) },
    { 5, QNNRT_ONNX__ONE, QNNRT_ONNX__TENSOR, "t", QNNRT_ONNX__AT1(qnnrt_onnx__raw_attr, tensor) },
    { 6, QNNRT_ONNX__ONE, QNNRT_ONNX__GRAPH, "g", QNNRT_ONNX__AT1(qnnrt_onnx__raw_attr, graph) },
    { 7, QNNRT_ONNX__REALS, 4, "floats",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_attr, pub.floats, float_count) },
    { 8, QNNRT_ONNX__INTS, 0, "ints", QNNRT_ONNX__AT(qnnrt_onnx__raw_attr, pub.ints, int_count) },
    { 9, QNNRT_ONNX__TEXTS, 0, "strings",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_attr, pub.strings, string_count) },
    { 10, QNNRT_ONNX__MANY, QNNRT_ONNX__TENSOR, "tensors",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_attr, tensors, tensor_count) },
    { 11, QNNRT_ONNX__MANY, QNNRT_ONNX__GRAPH, "graphs",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_attr, graphs, graph_count) },
    { 14, QNNRT_ONNX__ONE, QNNRT_ONNX__TYPE, "tp", QNNRT_ONNX__AT1(qnnrt_onnx__raw_attr, type) },
    { 15, QNNRT_ONNX__MANY, QNNRT_ONNX__TYPE, "type_protos",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_attr, types, type_count) },
    { 20, QNNRT_ONNX__INT, 0, "type", QNNRT_ONNX__AT1(qnnrt_onnx__raw_attr, kind) },
    { 21, QNNRT_ONNX__NAME, 0, "ref_attr_name", QNNRT_ONNX__AT1(qnnrt_onnx__raw_attr, pub.ref) },
    { 22, QNNRT_ONNX__ONE, QNNRT_ONNX__SPARSE, "sparse_tensor",
      QNNRT_ONNX__AT1(qnnrt_onnx__raw_attr, sparse) },
    { 23, QNNRT_ONNX__MANY, QNNRT_ONNX__SPARSE, "sparse_tensors",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_attr, sparses, sparse_count) }
};

static const qnnrt_onnx__row qnnrt_onnx__tensor_rows[] = {
    { 1, QNNRT_ONNX__INTS, 0, "dims", QNNRT_ONNX__AT(qnnrt_onnx__raw_tensor, dims, rank) },
    { 2, QNNRT_ONNX__INT, 0, "data_type", QNNRT_ONNX__AT1(qnnrt_onnx__raw_tensor, type) },
    { 3, QNNRT_ONNX__SPAN, 0, "segment", QNNRT_ONNX__AT1(qnnrt_onnx__raw_tensor, segment) },
    { 4, QNNRT_ONNX__DATA, 4, "float_data", QNNRT_ONNX__AT(qnnrt_onnx__raw_tensor, name, data[0]) },
    { 5, QNNRT_ONNX__DATA, 0, "int32_data", QNNRT_ONNX__AT(qnnrt_onnx__raw_tensor, name, data[1]) },
    { 6, QNNRT_ONNX__TEXTS, 0, "string_data",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_tensor, strings, string_count) },
    { 7, QNNRT_ONNX__DATA, 0, "int64_data", QNNRT_ONNX__AT(qnnrt_onnx__raw_tensor, name, data[2]) },
    { 8, QNNRT_ONNX__NAME, 0, "name", QNNRT_ONNX__AT1(qnnrt_onnx__raw_tensor, name) },
    { 9, QNNRT_ONNX__SPAN, 0, "raw_data", QNNRT_ONNX__AT1(qnnrt_onnx__raw_tensor, raw) },
    { 10, QNNRT_ONNX__DATA, 8, "double_data",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_tensor, name, data[3]) },
    { 11, QNNRT_ONNX__DATA, 0, "uint64_data",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_tensor, name, data[4]) },
    { 13, QNNRT_ONNX__MANY, QNNRT_ONNX__PAIR, "external_data",
      QNNRT_ONNX__AT(qnnrt_onnx__raw_tensor, external, external_count) },
    { 14, QNNRT_ONNX__INT, 0, "data_location", QNNRT_ONNX__AT1(qnnrt_onnx__raw_tensor, location) }
};

static const qnnrt_onnx__row qnnrt_onnx__sparse_rows[] = {
    { 1, QNNRT_ONNX__ONE, QNNRT_ONNX__TENSOR, "values",
      QNNRT_ONNX__AT1(qnnrt_onnx__raw_sparse, values) },
    { 2, QNNRT_ONNX__ONE, QNNRT_ONNX__TENSOR, "indices",
      QNNRT_ONNX__AT1(qnnrt_onnx__raw_sparse, indices) },
    { 3, QNNRT_ONNX__INTS, 0, "dims", QNNRT_ONNX__AT(qnnrt_onnx__raw_sparse, dims, rank) }
};

static const qnnrt_onnx__row qnnrt_onnx__value_rows[] = {
    { 1, QNNRT_ONNX__NAME, 0, "name", QNNRT_ONNX__AT1(qnnrt_onnx__raw_value, name) },
    { 2, QNNRT_ONNX__ONE, QNNRT_ONNX__TYPE, "type", QNNRT_ONNX__AT1(qnnrt_onnx__raw_value, type) }
};

static const qnnrt_onnx__row qnnrt_onnx__type_rows[] = {
    { 1, QNNRT_ONNX__ONE, QNNRT_ONNX__DENSE, "tensor_type",
      QNNRT_ONNX__AT1(qnnrt_onnx__raw_type, tensor) },
    { 4, QNNRT_ONNX__ONE, QNNRT_ONNX__HOLDER, "sequence_type",
      QNNRT_ONNX__AT1(qnnrt_onnx__raw_type, sequence) },
    { 5, QNNRT_ONNX__ONE, QNNRT_ONNX__MAP, "map_type", QNNRT_ONNX__AT1(qnnrt_onnx__raw_type, map) },
    { 7, QNNRT_ONNX__SPAN, 0, "opaque_type", QNNRT_ONNX__AT1(qnnrt_onnx__raw_type, opaque) },
    { 8, QNNRT_ONNX__ONE, QNNRT_ONNX__DENSE, "sparse_tensor_type",
      QNNRT_ONNX__AT1(qnnrt_onnx__raw_type, sparse) },
    { 9, QNNRT_ONNX__ONE, QNNRT_ONNX__HOLDER, "optional_type",
      QNNRT_ONNX__AT1(qnnrt_onnx__raw_type, optional) }
};

static const qnnrt_onnx__row qnnrt_onnx__dense_rows[] = {
    { 1, QNNRT_ONNX__INT, 0, "elem_type", QNNRT_ONNX__AT1(qnnrt_onnx__dense, type) },
    { 2, QNNRT_ONNX__ONE, QNNRT_ONNX__SHAPE, "shape", QNNRT_ONNX__AT1(qnnrt_onnx__dense, shape) }
};

static const qnnrt_onnx__row qnnrt_onnx__holder_rows[] = {
    { 1, QNNRT_ONNX__ONE, QNNRT_ONNX__TYPE, "elem_type",
      QNNRT_ONNX__AT1(qnnrt_onnx__holder, element) }
};

static const qnnrt_onnx__row qnnrt_onnx__map_rows[] = {
    { 1, QNNRT_ONNX__INT, 0, "key_type", QNNRT_ONNX__AT1(qnnrt_onnx__holder, key) },
    { 2, QNNRT_ONNX__ONE, QNNRT_ONNX__TYPE, "value_type",
      QNNRT_ONNX__AT1(qnnrt_onnx__holder, element) }
};

static const qnnrt_onnx__row qnnrt_onnx__shape_rows[] = {
    { 1, QNNRT_ONNX__MANY, QNNRT_ONNX__DIM, "dim", QNNRT_ONNX__AT(qnnrt_onnx__shape, dims, rank) }
};

static const qnnrt_onnx__row qnnrt_onnx__dim_rows[] = {
    { 1, QNNRT_ONNX__INT, 0, "dim_value", QNNRT_ONNX__AT1(qnnrt_onnx_dim, value) },
    { 2, QNNRT_ONNX__NAME, 0, "dim_param", QNNRT_ONNX__AT1(qnnrt_onnx_dim, param) }
};

static const qnnrt_onnx__row qnnrt_onnx__function_rows[] = {
    { 1, QNNRT_ONNX__NAME, 0, "name", QNNRT_ONNX__AT1(qnnrt_onnx_function, name) },
    { 4, QNNRT_ONNX__NAMES, 0, "input", QNNRT_ONNX__AT(qnnrt_onnx_function, inputs, input_count) },
    { 5, QNNRT_ONNX__NAMES, 0, "output",
      QNNRT_ONNX__AT(qnnrt_onnx_function, outputs, output_count) },
    { 6, QNNRT_ONNX__NAMES, 0, "attribute",
      QNNRT_ONNX__AT(qnnrt_onnx_function, attr_names, attr_name_count) },
    { 7, QNNRT_ONNX__MANY, QNNRT_ONNX__NODE, "node",
      QNNRT_ONNX__AT(qnnrt_onnx_function, nodes, node_count) },
    { 9, QNNRT_ONNX__MANY, QNNRT_ONNX__OPSET, "opset_import",
      QNNRT_ONNX__AT(qnnrt_onnx_function, opsets, opset_count) },
    { 10, QNNRT_ONNX__NAME, 0, "domain", QNNRT_ONNX__AT1(qnnrt_onnx_function, domain) },
    { 11, QNNRT_ONNX__MANY, QNNRT_ONNX__ATTR, "attribute_proto",
      QNNRT_ONNX__AT(qnnrt_onnx_function, defaults, default_count) },
    { 12, QNNRT_ONNX__MANY, QNNRT_ONNX__VALUE, "value_info",
      QNNRT_ONNX__AT(qnnrt_onnx_function, values, value_count) },
    { 13, QNNRT_ONNX__NAME, 0, "overload", QNNRT_ONNX__AT1(qnnrt_onnx_function, overload) }
};

#define QNNRT_ONNX__MESSAGE(name, rows, type) \
    { name, sizeof(type), rows, sizeof rows / sizeof rows[0] }
/* In the order of qnnrt_onnx__which. The struct is that of a list: the public one, where there is
   one. */
static const qnnrt_onnx__message qnnrt_onnx__messages[QNNRT_ONNX__MESSAGES] = {
    QNNRT_ONNX__MESSAGE("model", qnnrt_onnx__model_rows, qnnrt_onnx),
    QNNRT_ONNX__MESSAGE("opset", qnnrt_onnx__opset_rows, qnnrt_onnx_opset),
    QNNRT_ONNX__MESSAGE("pair", qnnrt_onnx__pair_rows, qnnrt_onnx_pair),
    QNNRT_ONNX__MESSAGE("graph", qnnrt_onnx__graph_rows, qnnrt_onnx_graph),
    QNNRT_ONNX__MESSAGE("node", qnnrt_onnx__node_rows, qnnrt_onnx_node),
    QNNRT_ONNX__MESSAGE("attribute", qnnrt_onnx__attr_rows, qnnrt_onnx_attr),
    QNNRT_ONNX__MESSAGE("tensor", qnnrt_onnx__tensor_rows, qnnrt_onnx_tensor),
    QNNRT_ONNX__MESSAGE("sparse tensor", qnnrt_onnx__sparse_rows, qnnrt_onnx_tensor),
    QNNRT_ONNX__MESSAGE("value", qnnrt_onnx__value_rows, qnnrt_onnx_value),
    QNNRT_ONNX__MESSAGE("type", qnnrt_onnx__type_rows, qnnrt_onnx__raw_type),
    QNNRT_ONNX__MESSAGE("tensor type", qnnrt_onnx__dense_rows, qnnrt_onnx__dense),
    QNNRT_ONNX__MESSAGE("sequence", qnnrt_onnx__holder_rows, qnnrt_onnx__holder),
    QNNRT_ONNX__MESSAGE("map", qnnrt_onnx__map_rows, qnnrt_onnx__holder),
    QNNRT_ONNX__MESSAGE("shape", qnnrt_onnx__shape_rows, qnnrt_onnx__shape),
    QNNRT_ONNX__MESSAGE("dim", qnnrt_onnx__dim_rows, qnnrt_onnx_dim),
    QNNRT_ONNX__MESSAGE("function", qnnrt_onnx__function_rows, qnnrt_onnx_function)
};
#undef QNNRT_ONNX__MESSAGE
#undef QNNRT_ONNX__AT
#undef QNNRT_ONNX__AT1

/* =====================================================================================
   FIELDS                                                                        >>fields
   Reads a message into a struct, as its rows say: counts, allocates, and fills.
   Needs: >>config >>wire >>schema     Knows nothing of: what messages mean
   ===================================================================================== */

static const qnnrt_onnx__row *qnnrt_onnx__row_of(const qnnrt_onnx__message *m, uint32_t number)
{
    size_t i;
    for (i = 0; i < m->count; ++i)
        if (m->rows[i].number == number) return &m->rows[i];
    return NULL;
}

/* Return 1 if a field of this wire type may have what a row says. Numbers may be packed. */
static int qnnrt_onnx__row_fits(const qnnrt_onnx__row *row, uint32_t wire)
{
    const uint32_t number = row->of == 8 ? QNNRT_ONNX__WIRE64
                            : row->of == 4 ? QNNRT_ONNX__WIRE32 : QNNRT_ONNX__VARINT;
    switch (row->what) {
    case QNNRT_ONNX__INT: return wire == QNNRT_ONNX__VARINT;
    case QNNRT_ONNX__REAL: return wire == QNNRT_ONNX__WIRE32;
    case QNNRT_ONNX__INTS:
    case QNNRT_ONNX__REALS:
    case QNNRT_ONNX__DATA: return wire == number || wire == QNNRT_ONNX__LENGTH;
    default: return wire == QNNRT_ONNX__LENGTH;
    }
}

/* Return how many elements a field adds to a row. */
static uint64_t qnnrt_onnx__row_adds(const qnnrt_onnx__row *row, const qnnrt_onnx__item *item)
{
    const int numbers = row->what == QNNRT_ONNX__INTS || row->what == QNNRT_ONNX__REALS ||
                        row->what == QNNRT_ONNX__DATA;
    return numbers && item->wire == QNNRT_ONNX__LENGTH
           ? qnnrt_onnx__packed(item->data, (size_t)row->of) : 1;
}

/* Count what each row gets, and refuse what its row does not expect. */
static int qnnrt_onnx__count(qnnrt_onnx__reader *r, const qnnrt_onnx__message *m,
                             qnnrt_onnx__span span, uint64_t counts[QNNRT_ONNX__FIELDS])
{
    qnnrt_onnx__item item;
    int got;
    while ((got = qnnrt_onnx__next(r, m->name, &span, &item)) > 0) {
        const qnnrt_onnx__row *row = qnnrt_onnx__row_of(m, item.number);
        const char *why = NULL;
        if (row == NULL) continue;
        if (!qnnrt_onnx__row_fits(row, item.wire)) why = "has a value of another kind";
        else if (row->what < QNNRT_ONNX__LISTS && counts[row - m->rows] > 0) why = "occurs twice";
        else if (item.wire == QNNRT_ONNX__LENGTH && row->of > 0 && row->what != QNNRT_ONNX__ONE &&
                 row->what != QNNRT_ONNX__MANY && (item.data.end - item.data.at) % row->of != 0)
            why = "ends within a number";
        if (why != NULL)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "byte %llu: field \"%s\" of a message "
                                    "\"%s\" %s", (unsigned long long)item.byte, row->name, m->name,
                                    why);
        counts[row - m->rows] += qnnrt_onnx__row_adds(row, &item);
    }
    return got == 0;
}

/* Return the bytes of an element of a row. */
static size_t qnnrt_onnx__element(const qnnrt_onnx__row *row)
{
    switch (row->what) {
    case QNNRT_ONNX__INTS: return sizeof(int64_t);
    case QNNRT_ONNX__REALS: return sizeof(float);
    case QNNRT_ONNX__NAMES: return sizeof(const char *);
    case QNNRT_ONNX__TEXTS: return sizeof(qnnrt_onnx_text);
    default: return qnnrt_onnx__messages[row->of].bytes;
    }
}

/* Copy a name, which has no NUL. */
static int qnnrt_onnx__name(qnnrt_onnx__reader *r, const qnnrt_onnx__message *m,
                            const qnnrt_onnx__row *row, const qnnrt_onnx__item *item, void *out)
{
    const uint64_t bytes = (uint64_t)(item->data.end - item->data.at);
    const char *copy;
    if (row->of == 0 && bytes > r->limits.name_bytes)
        return qnnrt_onnx__fail(r, QNNRT_E_LIMIT, "byte %llu: field \"%s\" of a message \"%s\" has "
                                "%llu bytes, the limit is %u", (unsigned long long)item->byte,
                                row->name, m->name, (unsigned long long)bytes,
                                (unsigned)r->limits.name_bytes);
    copy = bytes == 0 ? "" : qnnrt_arena_text(&r->own->arena, (const char *)item->data.at,
                                              (size_t)bytes);
    if (copy == NULL) return qnnrt_onnx__memory(r);
    if (strlen(copy) != bytes)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "byte %llu: field \"%s\" of a message \"%s\" "
                                "has a NUL character", (unsigned long long)item->byte, row->name,
                                m->name);
    memcpy(out, &copy, sizeof copy);
    return 1;
}

/* Copy bytes. */
static int qnnrt_onnx__text(qnnrt_onnx__reader *r, const qnnrt_onnx__item *item, void *out)
{
    qnnrt_onnx_text text;
    text.bytes = (size_t)(item->data.end - item->data.at);
    text.text = qnnrt_arena_text(&r->own->arena, (const char *)item->data.at, text.bytes);
    if (text.text == NULL) return qnnrt_onnx__memory(r);
    memcpy(out, &text, sizeof text);
    return 1;
}

/* Store the value of a field that is no list of numbers. */
static int qnnrt_onnx__store(qnnrt_onnx__reader *r, const qnnrt_onnx__message *m,
                             const qnnrt_onnx__row *row, const qnnrt_onnx__item *item, void *out)
{
    void *message;
    switch (row->what) {
    case QNNRT_ONNX__INT:
        memcpy(out, &item->value, sizeof item->value);
        return 1;
    case QNNRT_ONNX__REAL:
        memcpy(out, item->data.at, sizeof(float));
        return 1;
    case QNNRT_ONNX__SPAN:
        memcpy(out, &item->data, sizeof item->data);
        return 1;
    case QNNRT_ONNX__NAME:
    case QNNRT_ONNX__NAMES:
        return qnnrt_onnx__name(r, m, row, item, out);
    case QNNRT_ONNX__BYTES:
    case QNNRT_ONNX__TEXTS:
        return qnnrt_onnx__text(r, item, out);
    case QNNRT_ONNX__ONE:
        message = qnnrt_onnx__get(r, 1, qnnrt_onnx__messages[row->of].bytes);
        if (message == NULL) return 0;
        memcpy(out, &message, sizeof message);
        return r->one(r, row->of, item->data, message);
    case QNNRT_ONNX__MANY:
        return r->one(r, row->of, item->data, out);
    default:
        return 1;
    }
}

/* Store the numbers of a list: as many as there is room for. */
static int qnnrt_onnx__numbers(qnnrt_onnx__reader *r, const qnnrt_onnx__row *row,
                               const qnnrt_onnx__item *item, unsigned char *at, uint64_t room)
{
    qnnrt_onnx__span span = item->data;
    uint64_t value;
    if (item->wire == QNNRT_ONNX__VARINT && room > 0) memcpy(at, &item->value, sizeof item->value);
    if (row->what == QNNRT_ONNX__REALS && room > 0) {
        const uint64_t bytes = (uint64_t)(span.end - span.at);
        memcpy(at, span.at, (size_t)(bytes < room * sizeof(float) ? bytes : room * sizeof(float)));
    }
    if (item->wire == QNNRT_ONNX__VARINT || row->what == QNNRT_ONNX__REALS) return 1;
    for (; span.at < span.end && room > 0; --room, at += sizeof value) {
        if (!qnnrt_onnx__varint(&span, &value))
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "byte %llu: field \"%s\" has a number "
                                    "without an end", (unsigned long long)item->byte, row->name);
        memcpy(at, &value, sizeof value);
    }
    if (span.at == span.end) return 1;
    return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "byte %llu: field \"%s\" has a number without an "
                            "end", (unsigned long long)item->byte, row->name);
}

/* Fill a struct whose lists have `room` elements. */
static int qnnrt_onnx__fill(qnnrt_onnx__reader *r, const qnnrt_onnx__message *m,
                            qnnrt_onnx__span span, void *out,
                            unsigned char *lists[QNNRT_ONNX__FIELDS],
                            uint64_t room[QNNRT_ONNX__FIELDS])
{
    qnnrt_onnx__item item;
    int got, ok = 1;
    while (ok && (got = qnnrt_onnx__next(r, m->name, &span, &item)) != 0) {
        const qnnrt_onnx__row *row = got > 0 ? qnnrt_onnx__row_of(m, item.number) : NULL;
        uint64_t adds;
        size_t k;
        if (got < 0) return 0;
        if (row == NULL || row->what == QNNRT_ONNX__DATA) continue;
        k = (size_t)(row - m->rows);
        adds = qnnrt_onnx__row_adds(row, &item);
        /* A file that changes meanwhile must not write beyond a list. */
        if (adds > room[k] || !qnnrt_onnx__row_fits(row, item.wire))
            return qnnrt_onnx__fail(r, QNNRT_E_IO, "the file changed while it was read");
        room[k] -= adds;
        if (row->what < QNNRT_ONNX__LISTS) {
            ok = qnnrt_onnx__store(r, m, row, &item, (char *)out + row->offset);
            continue;
        }
        ok = row->what == QNNRT_ONNX__INTS || row->what == QNNRT_ONNX__REALS
             ? qnnrt_onnx__numbers(r, row, &item, lists[k], adds)
             : qnnrt_onnx__store(r, m, row, &item, lists[k]);
        if (adds > 0) lists[k] += adds * qnnrt_onnx__element(row);
    }
    return ok;
}

/* Allocate the lists of a struct, and set what absent fields have. */
static int qnnrt_onnx__prepare(qnnrt_onnx__reader *r, const qnnrt_onnx__message *m, void *out,
                               unsigned char *lists[QNNRT_ONNX__FIELDS],
                               const uint64_t counts[QNNRT_ONNX__FIELDS])
{
    const char *none = "";
    size_t i;
    for (i = 0; i < m->count; ++i) {
        const qnnrt_onnx__row *row = &m->rows[i];
        const size_t count = (size_t)counts[i];
        if (row->what == QNNRT_ONNX__NAME) memcpy((char *)out + row->offset, &none, sizeof none);
        if (row->what < QNNRT_ONNX__LISTS) continue;
        memcpy((char *)out + row->count, &count, sizeof count);
        if (row->what == QNNRT_ONNX__DATA || count == 0) continue;
        if (row->what == QNNRT_ONNX__MANY && row->of == QNNRT_ONNX__NODE &&
            (r->nodes += count) > r->limits.nodes)
            return qnnrt_onnx__fail(r, QNNRT_E_LIMIT, "the model has more nodes than %u, the limit",
                                    (unsigned)r->limits.nodes);
        lists[i] = (unsigned char *)qnnrt_onnx__get(r, counts[i], qnnrt_onnx__element(row));
        if (lists[i] == NULL) return 0;
        memcpy((char *)out + row->offset, &lists[i], sizeof lists[i]);
    }
    return 1;
}

/* Read a message into a zeroed struct with the rows of `which`. seen: NULL, or 0, to which a bit is
   added for each row that the message has */
static int qnnrt_onnx__fields(qnnrt_onnx__reader *r, int which, qnnrt_onnx__span span, void *out,
                              uint32_t *seen)
{
    const qnnrt_onnx__message *m = &qnnrt_onnx__messages[which];
    uint64_t counts[QNNRT_ONNX__FIELDS];
    unsigned char *lists[QNNRT_ONNX__FIELDS];
    size_t i;
    int ok;
    if (r->depth >= QNNRT_ONNX__DEPTH)
        return qnnrt_onnx__fail(r, QNNRT_E_LIMIT, "byte %llu: more than %d messages within each "
                                "other", (unsigned long long)qnnrt_onnx__byte(r, span.at),
                                QNNRT_ONNX__DEPTH);
    memset(counts, 0, sizeof counts);
    memset(lists, 0, sizeof lists);
    ++r->depth;
    ok = qnnrt_onnx__count(r, m, span, counts) && qnnrt_onnx__prepare(r, m, out, lists, counts);
    for (i = 0; i < m->count && seen != NULL; ++i) *seen |= (uint32_t)(counts[i] > 0) << i;
    ok = ok && qnnrt_onnx__fill(r, m, span, out, lists, counts);
    --r->depth;
    return ok;
}

/* Return 1 if a message of `which` that was read had the field with this name. */
static int qnnrt_onnx__has(int which, uint32_t seen, const char *name)
{
    const qnnrt_onnx__message *m = &qnnrt_onnx__messages[which];
    size_t i;
    for (i = 0; i < m->count; ++i)
        if (strcmp(m->rows[i].name, name) == 0) return (int)(seen >> i & 1);
    return 0;
}

/* =====================================================================================
   TYPES                                                                            >>type
   The types of elements, and those of values.
   Needs: >>config >>schema >>fields     Knows nothing of: tensors with data, nodes
   ===================================================================================== */

enum { QNNRT_ONNX__TYPES = QNNRT_ONNX_FLOAT6E3M2 + 1 };

static const struct {
    const char *name;
    uint32_t    bits;
    int         numbers;             /* index in raw_tensor.data; -1: none */
    int32_t     low, high;           /* of a number in int32_data */
} qnnrt_onnx__types[QNNRT_ONNX__TYPES] = {
    { "undefined", 0, -1, 0, 0 },       { "float32", 32, 0, 0, 0 },
    { "uint8", 8, 1, 0, 255 },          { "int8", 8, 1, -128, 127 },
    { "uint16", 16, 1, 0, 65535 },      { "int16", 16, 1, -32768, 32767 },
    { "int32", 32, 1, INT32_MIN, INT32_MAX }, { "int64", 64, 2, 0, 0 },
    { "string", 0, -1, 0, 0 },          { "bool", 8, 1, 0, 1 },
    { "float16", 16, 1, 0, 65535 },     { "float64", 64, 3, 0, 0 },
    { "uint32", 32, 4, 0, 0 },          { "uint64", 64, 4, 0, 0 },
    { "complex64", 64, 0, 0, 0 },       { "complex128", 128, 3, 0, 0 },
    { "bfloat16", 16, 1, 0, 65535 },    { "float8e4m3fn", 8, 1, 0, 255 },
    { "float8e4m3fnuz", 8, 1, 0, 255 }, { "float8e5m2", 8, 1, 0, 255 },
    { "float8e5m2fnuz", 8, 1, 0, 255 }, { "uint4", 4, 1, -128, 255 },
    { "int4", 4, 1, -128, 255 },        { "float4e2m1", 4, 1, -128, 255 },
    { "float8e8m0", 8, 1, 0, 255 },     { "uint2", 2, 1, -128, 255 },
    { "int2", 2, 1, -128, 255 },        { "float6e2m3", 6, 1, 0, 63 },
    { "float6e3m2", 6, 1, 0, 63 }
};

/* Return 1 if the number of a type is known. UNDEFINED is not. */
static int qnnrt_onnx__type_known(int64_t type)
{
    return type > 0 && type < QNNRT_ONNX__TYPES;
}

/* Take over the type of elements. */
static int qnnrt_onnx__type_set(qnnrt_onnx__reader *r, int64_t type, qnnrt_onnx_value *out)
{
    if (type != 0 && !qnnrt_onnx__type_known(type))
        return qnnrt_onnx__fail(r, QNNRT_E_UNSUPPORTED, "elem_type %lld is not known",
                                (long long)type);
    out->type = (qnnrt_onnx_type)type;
    return 1;
}

/* Turn a type as the file has it into that of a value. */
static int qnnrt_onnx__type_build(qnnrt_onnx__reader *r, const qnnrt_onnx__raw_type *type,
                                  qnnrt_onnx_value *out)
{
    const qnnrt_onnx__dense *dense = type->tensor != NULL ? type->tensor : type->sparse;
    const qnnrt_onnx__holder *holder = type->sequence != NULL ? type->sequence
                                       : type->optional != NULL ? type->optional : type->map;
    qnnrt_onnx_value *element;
    if ((type->tensor != NULL) + (type->sparse != NULL) + (type->sequence != NULL) +
        (type->optional != NULL) + (type->map != NULL) + (type->opaque.at != NULL) > 1)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its type is given twice");
    if (dense != NULL) {
        out->kind = type->tensor != NULL ? QNNRT_ONNX_TENSOR : QNNRT_ONNX_SPARSE;
        out->ranked = dense->shape != NULL;
        if (out->ranked) {
            out->rank = (uint32_t)dense->shape->rank;
            out->dims = dense->shape->dims;
        }
        return qnnrt_onnx__type_set(r, dense->type, out);
    }
    if (type->opaque.at != NULL) out->kind = QNNRT_ONNX_OPAQUE;
    if (holder == NULL) return 1;
    out->kind = type->sequence != NULL ? QNNRT_ONNX_SEQUENCE
                : type->optional != NULL ? QNNRT_ONNX_OPTIONAL : QNNRT_ONNX_MAP;
    element = (qnnrt_onnx_value *)qnnrt_onnx__get(r, 1, sizeof *element);
    if (element == NULL) return 0;
    element->name = "";
    out->element = element;
    return qnnrt_onnx__type_set(r, holder->key, out) &&
           (holder->element == NULL || qnnrt_onnx__type_build(r, holder->element, element));
}

static int qnnrt_onnx__value_read(qnnrt_onnx__reader *r, qnnrt_onnx__span span,
                                  qnnrt_onnx_value *out)
{
    qnnrt_onnx__raw_value raw;
    memset(&raw, 0, sizeof raw);
    out->byte = qnnrt_onnx__byte(r, span.at);
    if (qnnrt_onnx__fields(r, QNNRT_ONNX__VALUE, span, &raw, NULL)) {
        out->name = raw.name;
        if (raw.type == NULL || qnnrt_onnx__type_build(r, raw.type, out)) return 1;
    }
    r->code = qnnrt_error_about(r->err, r->code, "value \"" QNNRT_ONNX__SHOWN "\": ",
                                raw.name != NULL ? raw.name : "");
    return 0;
}

static int qnnrt_onnx__dim_read(qnnrt_onnx__reader *r, qnnrt_onnx__span span, qnnrt_onnx_dim *out)
{
    uint32_t seen = 0;
    if (!qnnrt_onnx__fields(r, QNNRT_ONNX__DIM, span, out, &seen)) return 0;
    if (!qnnrt_onnx__has(QNNRT_ONNX__DIM, seen, "dim_value") || out->value < 0) out->value = -1;
    return 1;
}

/* =====================================================================================
   FILES                                                                           >>files
   Opens and maps files of external data, beneath the folder of the model.
   Needs: >>config     Knows nothing of: messages, types
   ===================================================================================== */

/* Functions of POSIX.1-2008 and flags of Linux (all architectures that QNN exists for), which
   -std=c99 hides; and those of macOS. */
#ifndef AT_FDCWD
int openat(int folder, const char *name, int flags, ...);
#endif
#ifdef __APPLE__
#define QNNRT_ONNX__CLOEXEC  0x1000000
#define QNNRT_ONNX__FOLDER   0x100000
#define QNNRT_ONNX__NOFOLLOW 0x100
#elif defined(__arm__) || defined(__aarch64__)
#define QNNRT_ONNX__CLOEXEC  02000000
#define QNNRT_ONNX__FOLDER   040000
#define QNNRT_ONNX__NOFOLLOW 0100000
#else
#define QNNRT_ONNX__CLOEXEC  02000000
#define QNNRT_ONNX__FOLDER   0200000
#define QNNRT_ONNX__NOFOLLOW 0400000
#endif

/* Open one part of a location in a folder: a folder too, or a file. */
static int qnnrt_onnx__file_part(int folder, const char *part, int last)
{
    int fd;
    do fd = openat(folder, part, O_RDONLY | QNNRT_ONNX__CLOEXEC | QNNRT_ONNX__NOFOLLOW |
                                 (last ? O_NONBLOCK : QNNRT_ONNX__FOLDER));
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Write a location without "." and empty parts. Return why it is refused, or NULL. */
static const char *qnnrt_onnx__file_plain(const char *location, char *plain)
{
    size_t bytes = 0;
    if (*location == '\0') return "is empty";
    if (*location == '/') return "is an absolute path";
    while (*location != '\0') {
        const size_t part = strcspn(location, "/");
        if (part == 2 && memcmp(location, "..", 2) == 0) return "leaves the folder by \"..\"";
        if (part > 0 && !(part == 1 && *location == '.')) {
            if (bytes > 0) plain[bytes++] = '/';
            memcpy(plain + bytes, location, part);
            bytes += part;
        }
        location += part + (location[part] == '/');
    }
    plain[bytes] = '\0';
    return bytes == 0 ? "names the folder itself" : NULL;
}

/* Open a file beneath the folder; no part of its name may be a link. Changes the name meanwhile. */
static int qnnrt_onnx__file_walk(int folder, char *name)
{
    int at = folder;
    for (;;) {
        char *slash = strchr(name, '/');
        int next;
        if (slash != NULL) *slash = '\0';
        next = qnnrt_onnx__file_part(at, name, slash == NULL);
        if (at != folder) {
            const int code = errno;
            close(at);
            errno = code;
        }
        if (slash == NULL || next < 0) return next;
        *slash = '/';
        name = slash + 1;
        at = next;
    }
}

/* Map an open file. Return why not, or NULL. */
static const char *qnnrt_onnx__file_map(int fd, void **map, uint64_t *bytes, int linked)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) return strerror(errno);
    if (S_ISDIR(facts.st_mode)) return "it is a folder";
    if (!S_ISREG(facts.st_mode)) return "it is not a regular file";
    if (!linked && facts.st_nlink != 1) return "it has several names (hard links)";
    *bytes = facts.st_size < 0 ? 0 : (uint64_t)facts.st_size;
    if (*bytes > SIZE_MAX / 2) return "it needs a 64-bit program";
    if (*bytes == 0) return NULL;
    *map = mmap(NULL, (size_t)*bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (*map != MAP_FAILED) return NULL;
    *map = NULL;
    return strerror(errno);
}

/* Report a location. */
static int qnnrt_onnx__file_fail(qnnrt_onnx__reader *r, qnnrt_result code, const char *location,
                                 const char *why)
{
    (void)qnnrt_onnx__fail(r, code, "its external data: location \"" QNNRT_ONNX__SHOWN "\" %s",
                           location, why);
    if (code != QNNRT_E_NOT_FOUND)
        (void)qnnrt_error_hint(r->err, code, "Put the file itself, no link, into the folder of the "
                               "model, and name it without a path.");
    else
        (void)qnnrt_error_hint(r->err, code, "Copy the files of external data beside the model.");
    return 0;
}

/* Find or map the file at a location. Return 1, and its index. */
static int qnnrt_onnx__file_open(qnnrt_onnx__reader *r, const char *location, size_t *index)
{
    struct qnnrt_onnx__own *own = r->own;
    char *plain = (char *)qnnrt_onnx__get(r, strlen(location) + 1, 1);
    const char *why;
    qnnrt_onnx__file file, *list;
    int fd, code;
    memset(&file, 0, sizeof file);
    if (plain == NULL) return 0;
    why = qnnrt_onnx__file_plain(location, plain);
    if (why != NULL) return qnnrt_onnx__file_fail(r, QNNRT_E_FORMAT, location, why);
    for (*index = 0; *index < own->file_count; ++*index)
        if (strcmp(own->files[*index].name, plain) == 0) return 1;
    if (r->folder < 0)
        return qnnrt_onnx__file_fail(r, QNNRT_E_UNSUPPORTED, location, "has no folder: the model "
                                     "was read from memory, or its folder cannot be opened");
    if (own->file_count >= r->limits.files)
        return qnnrt_onnx__file_fail(r, QNNRT_E_LIMIT, location, "is one file more than the limit");
    fd = qnnrt_onnx__file_walk(r->folder, plain);
    code = errno;
    if (fd < 0 && (code == ELOOP || code == EMLINK))
        return qnnrt_onnx__file_fail(r, QNNRT_E_IO, location, "is a symbolic link");
    if (fd < 0 && (code == ENOENT || code == ENOTDIR))
        return qnnrt_onnx__file_fail(r, QNNRT_E_NOT_FOUND, location, "does not exist, or a part of "
                                     "it is a link");
    file.name = plain;
    why = fd < 0 ? strerror(code) : qnnrt_onnx__file_map(fd, &file.map, &file.bytes, 0);
    if (fd >= 0) close(fd);
    if (why != NULL) {
        (void)qnnrt_onnx__file_fail(r, QNNRT_E_IO, location, "cannot be used");
        qnnrt_error_add(r->err, ": %s", why);
        return 0;
    }
    list = (qnnrt_onnx__file *)qnnrt_arena_more(&own->arena, own->files, own->file_count,
                                                &own->file_room, sizeof file);
    if (list != NULL) {
        own->files = list;
        own->files[own->file_count++] = file;
        return 1;
    }
    if (file.map != NULL) munmap(file.map, (size_t)file.bytes);
    return qnnrt_onnx__memory(r);
}

/* =====================================================================================
   TENSORS                                                                        >>tensor
   Reads tensors: checks that data fit type and dims, and brings lists of numbers, sparse and
   external data into the form of raw data.
   Needs: >>config >>wire >>schema >>fields >>type >>files     Knows nothing of: nodes
   ===================================================================================== */

/* Multiply dims: elements. Return 0 if one is negative or the product too large. */
static int qnnrt_onnx__elements(qnnrt_onnx__reader *r, const int64_t *dims, size_t rank,
                                uint64_t *out)
{
    uint64_t count = 1;
    size_t i;
    int empty = 0;
    for (i = 0; i < rank; ++i) {
        if (dims[i] < 0)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "field \"dims\" has %lld",
                                    (long long)dims[i]);
        empty |= dims[i] == 0;
    }
    for (i = 0; i < rank && !empty; ++i) {
        if ((uint64_t)dims[i] > ((uint64_t)1 << 56) / count)
            return qnnrt_onnx__fail(r, QNNRT_E_LIMIT, "its dims stand for more elements than 2^56");
        count *= (uint64_t)dims[i];
    }
    *out = empty ? 0 : count;
    return 1;
}

/* Return the bytes of `count` elements. */
static uint64_t qnnrt_onnx__bytes(qnnrt_onnx_type type, uint64_t count)
{
    return (count * qnnrt_onnx__types[type].bits + 7) / 8;
}

static int qnnrt_onnx__tensor_size(qnnrt_onnx__reader *r, const char *field, uint64_t expected,
                                   uint64_t found)
{
    return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "type and dims stand for %llu %s, field \"%s\" has "
                            "%llu", (unsigned long long)expected, strcmp(field, "raw_data") == 0
                            ? "bytes" : "numbers", field, (unsigned long long)found);
}

/* Store one number of a list as an element, or a part of one; `at` is its index in the list. */
static int qnnrt_onnx__put(qnnrt_onnx__reader *r, const qnnrt_onnx_tensor *t, unsigned char *data,
                           uint64_t at, uint64_t value)
{
    const uint32_t bits = qnnrt_onnx__types[t->type].bits;
    const size_t bytes = bits < 8 ? 1 : bits / 8;
    const int32_t low = qnnrt_onnx__types[t->type].low, high = qnnrt_onnx__types[t->type].high;
    const uint32_t word = (uint32_t)value;
    int32_t number;
    memcpy(&number, &word, sizeof number);
    if ((qnnrt_onnx__types[t->type].numbers == 1 && (number < low || number > high)) ||
        (t->type == QNNRT_ONNX_UINT32 && value > UINT32_MAX))
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "number %llu of its data is %lld, which is not "
                                "of the type %s", (unsigned long long)at,
                                t->type == QNNRT_ONNX_UINT32 ? (long long)value : (long long)number,
                                qnnrt_onnx__types[t->type].name);
    if (bits == 6) {                 /* elements of 6 bits, one after the other */
        const uint64_t bit = at * 6;
        data[bit / 8] |= (unsigned char)(value << bit % 8 & 255);
        if (bit % 8 > 2) data[bit / 8 + 1] |= (unsigned char)(value >> (8 - bit % 8) & 255);
        return 1;
    }
    memcpy(data + at * bytes, &value, bytes);
    return 1;
}

/* Copy the numbers of a list into data for `count` of them. */
static int qnnrt_onnx__list(qnnrt_onnx__reader *r, qnnrt_onnx__span span,
                            const qnnrt_onnx__row *row, const qnnrt_onnx_tensor *t,
                            unsigned char *data, uint64_t count)
{
    qnnrt_onnx__item item;
    uint64_t at = 0, value;
    int got;
    while ((got = qnnrt_onnx__next(r, "tensor", &span, &item)) > 0) {
        if (item.number != row->number) continue;
        if (row->of > 0) {
            const uint64_t bytes = (uint64_t)(item.data.end - item.data.at);
            if (bytes > (count - at) * (uint64_t)row->of)
                return qnnrt_onnx__fail(r, QNNRT_E_IO, "the file changed while it was read");
            memcpy(data + at * (uint64_t)row->of, item.data.at, (size_t)bytes);
            at += bytes / (uint64_t)row->of;
            continue;
        }
        if (item.wire == QNNRT_ONNX__VARINT) {
            if (at < count && !qnnrt_onnx__put(r, t, data, at, item.value)) return 0;
            ++at;
            continue;
        }
        for (; item.data.at < item.data.end && at < count; ++at) {
            if (!qnnrt_onnx__varint(&item.data, &value))
                return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "byte %llu: field \"%s\" has a number "
                                        "without an end", (unsigned long long)item.byte,
                                        row->name);
            if (!qnnrt_onnx__put(r, t, data, at, value)) return 0;
        }
        if (item.data.at < item.data.end)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "byte %llu: field \"%s\" has a number "
                                    "without an end", (unsigned long long)item.byte, row->name);
    }
    return got == 0;
}

/* Return the only field with this number in a message, if it has `bytes` bytes; else NULL. */
static const void *qnnrt_onnx__whole(qnnrt_onnx__reader *r, qnnrt_onnx__span span, uint32_t number,
                                     uint64_t bytes)
{
    qnnrt_onnx__item item;
    while (qnnrt_onnx__next(r, "tensor", &span, &item) > 0)
        if (item.number == number)
            return (uint64_t)(item.data.end - item.data.at) == bytes ? item.data.at : NULL;
    return NULL;
}

/* Take data from a list of numbers. */
static int qnnrt_onnx__tensor_list(qnnrt_onnx__reader *r, qnnrt_onnx__span span,
                                   const qnnrt_onnx__raw_tensor *raw, qnnrt_onnx_tensor *t)
{
    static const uint32_t numbers[5] = { 4, 5, 7, 10, 11 };
    const uint32_t bits = qnnrt_onnx__types[t->type].bits;
    const int list = qnnrt_onnx__types[t->type].numbers;
    const int complex = t->type == QNNRT_ONNX_COMPLEX64 || t->type == QNNRT_ONNX_COMPLEX128;
    const uint64_t count = bits == 4 || bits == 2 ? t->bytes : t->count * (complex ? 2 : 1);
    const qnnrt_onnx__row *row;
    unsigned char *data;
    int i;
    for (i = 0; i < 5; ++i) {
        row = qnnrt_onnx__row_of(&qnnrt_onnx__messages[QNNRT_ONNX__TENSOR], numbers[i]);
        if (i != list && raw->data[i] > 0)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its type is %s, but it has the field "
                                    "\"%s\"", qnnrt_onnx__types[t->type].name, row->name);
    }
    row = qnnrt_onnx__row_of(&qnnrt_onnx__messages[QNNRT_ONNX__TENSOR], numbers[list]);
    if (raw->data[list] == 0 && count > 0)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "it has no data");
    if (raw->data[list] != count) return qnnrt_onnx__tensor_size(r, row->name, count,
                                                                 raw->data[list]);
    if (count == 0) return 1;
    t->data = row->of > 0 ? qnnrt_onnx__whole(r, span, row->number, t->bytes) : NULL;
    if (t->data != NULL) return 1;
    data = (unsigned char *)qnnrt_onnx__get(r, t->bytes, 1);
    t->data = data;
    return data != NULL && qnnrt_onnx__list(r, span, row, t, data, count);
}

/* Read a decimal number. */
static int qnnrt_onnx__decimal(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    if (*text == '\0') return 0;
    for (; *text != '\0'; ++text) {
        const unsigned digit = (unsigned)(*text - '0');
        if (*text < '0' || *text > '9' || value > (UINT64_MAX - digit) / 10) return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return 1;
}

/* Find out where external data lie: fields[0] is the location, 1 the offset, 2 the length. */
static int qnnrt_onnx__tensor_keys(qnnrt_onnx__reader *r, const qnnrt_onnx__raw_tensor *raw,
                                   const char *fields[5], uint64_t numbers[5])
{
    static const char *const keys[5] = { "location", "offset", "length", "checksum", "basepath" };
    size_t i, k;
    for (i = 0; i < raw->external_count; ++i) {
        const qnnrt_onnx_pair *pair = &raw->external[i];
        k = 0;
        while (k < 5 && strcmp(pair->key, keys[k]) != 0) ++k;
        if (k == 5 || fields[k] != NULL)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its external data: the key \""
                                    QNNRT_ONNX__SHOWN "\" %s", pair->key,
                                    k == 5 ? "is not known" : "occurs twice");
        fields[k] = pair->value;
        if ((k == 1 || k == 2) && !qnnrt_onnx__decimal(pair->value, &numbers[k]))
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its external data: %s \"%.40s\" is not a "
                                    "number of 64 bits", keys[k], pair->value);
    }
    if (fields[0] == NULL)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its external data have no location");
    return 1;
}

/* Take data from a file beside the model. */
static int qnnrt_onnx__tensor_external(qnnrt_onnx__reader *r, const qnnrt_onnx__raw_tensor *raw,
                                       qnnrt_onnx_tensor *t)
{
    const char *fields[5] = { NULL, NULL, NULL, NULL, NULL };
    uint64_t numbers[5] = { 0, 0, 0, 0, 0 }, offset;
    const qnnrt_onnx__file *file;
    qnnrt_onnx__range range;
    if (!qnnrt_onnx__tensor_keys(r, raw, fields, numbers)) return 0;
    offset = numbers[1];
    if (!qnnrt_onnx__file_open(r, fields[0], &range.file)) return 0;
    file = &r->own->files[range.file];
    if (fields[2] != NULL && numbers[2] != t->bytes)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its external data have length %llu, type and "
                                "dims stand for %llu bytes", (unsigned long long)numbers[2],
                                (unsigned long long)t->bytes);
    if (offset > file->bytes || t->bytes > file->bytes - offset)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its external data: \"" QNNRT_ONNX__SHOWN
                                "\" has %llu bytes, %llu from byte %llu on are needed",
                                fields[0], (unsigned long long)file->bytes,
                                (unsigned long long)t->bytes, (unsigned long long)offset);
    t->file = file->name;
    if (t->bytes == 0) return 1;
    t->data = (const char *)file->map + offset;
    range.begin = offset;
    range.end = offset + t->bytes;
    range.name = t->name;
    r->ranges = (qnnrt_onnx__range *)qnnrt_arena_more(&r->scratch, r->ranges, r->range_count,
                                                      &r->range_room, sizeof range);
    if (r->ranges == NULL) return qnnrt_onnx__memory(r);
    r->ranges[r->range_count++] = range;
    return 1;
}

static int qnnrt_onnx__range_compare(const void *a, const void *b)
{
    const qnnrt_onnx__range *x = (const qnnrt_onnx__range *)a, *y = (const qnnrt_onnx__range *)b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->begin == y->begin ? 0 : x->begin < y->begin ? -1 : 1;
}

/* Refuse external tensors that share bytes. */
static int qnnrt_onnx__ranges(qnnrt_onnx__reader *r)
{
    const void **sorted;
    size_t i;
    if (r->range_count < 2) return 1;
    sorted = (const void **)qnnrt_arena_get(&r->scratch, r->range_count, sizeof *sorted);
    if (sorted == NULL) return qnnrt_onnx__memory(r);
    for (i = 0; i < r->range_count; ++i) sorted[i] = &r->ranges[i];
    qnnrt_sort(sorted, r->range_count, qnnrt_onnx__range_compare);
    for (i = 1; i < r->range_count; ++i) {
        const qnnrt_onnx__range *a = (const qnnrt_onnx__range *)sorted[i - 1],
                                *b = (const qnnrt_onnx__range *)sorted[i];
        if (a->file == b->file && a->end > b->begin)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "tensors \"" QNNRT_ONNX__SHOWN "\" and \""
                                    QNNRT_ONNX__SHOWN "\" share external data: bytes %llu to %llu "
                                    "of \"" QNNRT_ONNX__SHOWN "\"", a->name, b->name,
                                    (unsigned long long)b->begin,
                                    (unsigned long long)(a->end < b->end ? a->end : b->end),
                                    r->own->files[a->file].name);
    }
    return 1;
}

/* Take the data of a tensor, whose type, dims and size are set. */
static int qnnrt_onnx__tensor_data(qnnrt_onnx__reader *r, qnnrt_onnx__span span, int has_raw,
                                   const qnnrt_onnx__raw_tensor *raw, qnnrt_onnx_tensor *t)
{
    const uint64_t bytes = (uint64_t)(raw->raw.end - raw->raw.at);
    const size_t listed = raw->data[0] + raw->data[1] + raw->data[2] + raw->data[3] + raw->data[4];
    uint64_t i;
    if ((raw->location == 1) + has_raw + (listed > 0) + (raw->string_count > 0) > 1 &&
        !(has_raw && bytes == 0 && raw->location != 1))
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "it has data twice, in two fields");
    if (raw->location == 1) return qnnrt_onnx__tensor_external(r, raw, t);
    if (raw->location != 0)
        return qnnrt_onnx__fail(r, QNNRT_E_UNSUPPORTED, "data_location %lld is not known",
                                (long long)raw->location);
    if (t->type != QNNRT_ONNX_STRING && raw->string_count > 0)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its type is %s, but it has the field "
                                "\"string_data\"", qnnrt_onnx__types[t->type].name);
    if (t->type == QNNRT_ONNX_STRING) {
        if (listed > 0 || bytes > 0)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its type is string, but its data are "
                                    "numbers");
        if (raw->string_count != t->count)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its dims stand for %llu texts, field "
                                    "\"string_data\" has %llu", (unsigned long long)t->count,
                                    (unsigned long long)raw->string_count);
        t->strings = raw->strings;
        return 1;
    }
    if (!has_raw || (bytes == 0 && listed > 0)) return qnnrt_onnx__tensor_list(r, span, raw, t);
    if (bytes != t->bytes) return qnnrt_onnx__tensor_size(r, "raw_data", t->bytes, bytes);
    if (bytes > 0) t->data = raw->raw.at;
    for (i = 0; i < bytes && t->type == QNNRT_ONNX_BOOL; ++i)
        if (raw->raw.at[i] > 1)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "element %llu of type bool is %u",
                                    (unsigned long long)i, (unsigned)raw->raw.at[i]);
    return 1;
}

/* Check what a tensor says about itself, and take its data. */
static int qnnrt_onnx__tensor_build(qnnrt_onnx__reader *r, qnnrt_onnx__span span, uint32_t seen,
                                    const qnnrt_onnx__raw_tensor *raw, qnnrt_onnx_tensor *t)
{
    if (!qnnrt_onnx__type_known(raw->type))
        return qnnrt_onnx__fail(r, raw->type == 0 ? QNNRT_E_FORMAT : QNNRT_E_UNSUPPORTED,
                                raw->type == 0 ? "field \"data_type\" is missing, or %lld"
                                               : "data_type %lld is not known",
                                (long long)raw->type);
    t->type = (qnnrt_onnx_type)raw->type;
    t->rank = (uint32_t)raw->rank;
    t->dims = raw->dims;
    if (!qnnrt_onnx__elements(r, raw->dims, raw->rank, &t->count)) return 0;
    t->bytes = qnnrt_onnx__bytes(t->type, t->count);
    if (qnnrt_onnx__has(QNNRT_ONNX__TENSOR, seen, "segment"))
        return qnnrt_onnx__fail(r, QNNRT_E_UNSUPPORTED, "it is a segment of a larger tensor");
    if (raw->external_count > 0 && raw->location != 1)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "it has the field \"external_data\", but "
                                "data_location is not EXTERNAL");
    return qnnrt_onnx__tensor_data(r, span, qnnrt_onnx__has(QNNRT_ONNX__TENSOR, seen, "raw_data"),
                                   raw, t);
}

static int qnnrt_onnx__tensor_read(qnnrt_onnx__reader *r, qnnrt_onnx__span span,
                                   qnnrt_onnx_tensor *out)
{
    qnnrt_onnx__raw_tensor raw;
    uint32_t seen = 0;
    memset(&raw, 0, sizeof raw);
    out->byte = qnnrt_onnx__byte(r, span.at);
    out->file = "";
    if (qnnrt_onnx__fields(r, QNNRT_ONNX__TENSOR, span, &raw, &seen)) {
        out->name = raw.name;
        if (qnnrt_onnx__tensor_build(r, span, seen, &raw, out)) return 1;
    }
    if (raw.name != NULL && raw.name[0] != '\0')
        r->code = qnnrt_error_about(r->err, r->code, "tensor \"" QNNRT_ONNX__SHOWN "\": ",
                                    raw.name);
    else
        r->code = qnnrt_error_about(r->err, r->code, "tensor at byte %llu: ",
                                    (unsigned long long)out->byte);
    return 0;
}

/* Compute where value `i` of a sparse tensor goes. Indices are sorted and none occurs twice. */
static int qnnrt_onnx__sparse_place(qnnrt_onnx__reader *r, const qnnrt_onnx_tensor *indices,
                                    const qnnrt_onnx_tensor *t, uint64_t i, uint64_t *place)
{
    const size_t each = indices->rank == 2 ? t->rank : 1;
    const uint64_t before = *place;
    uint64_t at = 0;
    size_t k;
    for (k = 0; k < each; ++k) {
        const uint64_t size = indices->rank == 2 ? (uint64_t)t->dims[k] : t->count;
        int64_t index;
        memcpy(&index, (const char *)indices->data + (i * each + k) * sizeof index, sizeof index);
        if (index < 0 || (uint64_t)index >= size)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "index %lld of value %llu is out of the "
                                    "range of %llu", (long long)index, (unsigned long long)i,
                                    (unsigned long long)size);
        at = at * size + (uint64_t)index;
    }
    if (i > 0 && at <= before)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "the indices of value %llu are not above those "
                                "of the value before", (unsigned long long)i);
    *place = at;
    return 1;
}

/* Expand a sparse tensor. */
static int qnnrt_onnx__sparse_build(qnnrt_onnx__reader *r, const qnnrt_onnx__raw_sparse *raw,
                                    qnnrt_onnx_tensor *t)
{
    const qnnrt_onnx_tensor *values = raw->values, *indices = raw->indices;
    uint64_t i, place = 0, bytes;
    unsigned char *data;
    if (values == NULL || indices == NULL)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its values or indices are missing");
    *t = *values;
    t->sparse = 1;
    t->data = NULL;
    t->rank = (uint32_t)raw->rank;
    t->dims = raw->dims;
    bytes = qnnrt_onnx__types[t->type].bits / 8;
    if (bytes == 0)
        return qnnrt_onnx__fail(r, QNNRT_E_UNSUPPORTED, "its values have the type %s",
                                qnnrt_onnx__types[t->type].name);
    if (!qnnrt_onnx__elements(r, raw->dims, raw->rank, &t->count)) return 0;
    t->bytes = qnnrt_onnx__bytes(t->type, t->count);
    if (values->rank != 1 || indices->type != QNNRT_ONNX_INT64 || indices->rank < 1 ||
        indices->rank > 2 || indices->dims[0] != values->dims[0] ||
        (indices->rank == 2 && (uint64_t)indices->dims[1] != t->rank))
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its indices are not int64 of [values] or "
                                "[values, rank]");
    if (t->bytes > r->limits.expand_bytes - r->expanded)
        return qnnrt_onnx__fail(r, QNNRT_E_LIMIT, "expanded, sparse tensors need more than %llu "
                                "bytes, the limit", (unsigned long long)r->limits.expand_bytes);
    r->expanded += t->bytes;
    if (t->bytes == 0) return values->count == 0 || qnnrt_onnx__fail(
        r, QNNRT_E_FORMAT, "its dims stand for no elements, but it has values");
    t->data = data = (unsigned char *)qnnrt_onnx__get(r, t->bytes, 1);
    if (data == NULL) return 0;
    for (i = 0; i < values->count; ++i) {
        if (!qnnrt_onnx__sparse_place(r, indices, t, i, &place)) return 0;
        memcpy(data + place * bytes, (const char *)values->data + i * bytes, (size_t)bytes);
    }
    return 1;
}

static int qnnrt_onnx__sparse_read(qnnrt_onnx__reader *r, qnnrt_onnx__span span,
                                   qnnrt_onnx_tensor *out)
{
    qnnrt_onnx__raw_sparse raw;
    memset(&raw, 0, sizeof raw);
    out->byte = qnnrt_onnx__byte(r, span.at);
    if (qnnrt_onnx__fields(r, QNNRT_ONNX__SPARSE, span, &raw, NULL) &&
        qnnrt_onnx__sparse_build(r, &raw, out)) return 1;
    r->code = qnnrt_error_about(r->err, r->code, "sparse tensor at byte %llu: ",
                                (unsigned long long)out->byte);
    return 0;
}

/* =====================================================================================
   NODES                                                                            >>node
   Reads attributes, nodes, graphs and functions.
   Needs: >>config >>schema >>fields >>type >>tensor     Knows nothing of: which names are known
   ===================================================================================== */

/* Return the domain of ONNX itself, which has two names, as "". */
static const char *qnnrt_onnx__domain(const char *domain)
{
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static int qnnrt_onnx__text_compare(const void *a, const void *b)
{
    return strcmp((const char *)a, (const char *)b);
}

/* Refuse two attributes of one name. */
static int qnnrt_onnx__attrs_differ(qnnrt_onnx__reader *r, const qnnrt_onnx_attr *attrs,
                                    size_t count)
{
    const void **names;
    size_t i;
    if (count < 2) return 1;
    names = (const void **)qnnrt_arena_get(&r->scratch, count, sizeof *names);
    if (names == NULL) return qnnrt_onnx__memory(r);
    for (i = 0; i < count; ++i) names[i] = attrs[i].name;
    qnnrt_sort(names, count, qnnrt_onnx__text_compare);
    for (i = 1; i < count; ++i)
        if (strcmp((const char *)names[i - 1], (const char *)names[i]) == 0)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "attribute \"" QNNRT_ONNX__SHOWN
                                    "\" occurs twice", (const char *)names[i]);
    return 1;
}

/* Turn the types of an attribute into values without a name. */
static int qnnrt_onnx__attr_types(qnnrt_onnx__reader *r, qnnrt_onnx__raw_attr *raw)
{
    const size_t count = raw->type != NULL ? 1 : raw->type_count;
    const qnnrt_onnx__raw_type *list = raw->type != NULL ? raw->type : raw->types;
    qnnrt_onnx_value *values = (qnnrt_onnx_value *)qnnrt_onnx__get(r, count, sizeof *values);
    size_t i;
    if (values == NULL) return 0;
    raw->pub.types = values;
    for (i = 0; i < count; ++i) {
        values[i].name = "";
        if (!qnnrt_onnx__type_build(r, &list[i], &values[i])) return 0;
    }
    return 1;
}

/* Set kind, list and count of an attribute from the fields that it has. */
static int qnnrt_onnx__attr_build(qnnrt_onnx__reader *r, uint32_t seen, qnnrt_onnx__raw_attr *raw)
{
    /* The kind of each row of >>schema; 0: no data. */
    static const unsigned char kinds[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 0, 0, 11, 12 };
    qnnrt_onnx_attr *a = &raw->pub;
    int64_t found = 0;
    size_t i;
    if (raw->kind < 0 || raw->kind > QNNRT_ONNX_ATTR_TYPES)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its type %lld is not known",
                                (long long)raw->kind);
    for (i = 0; i < sizeof kinds; ++i) {
        if (kinds[i] == 0 || !(seen >> i & 1)) continue;
        if (found != 0 || a->ref[0] != '\0' || (raw->kind != 0 && raw->kind != kinds[i]))
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "its type is %lld, but it has the field "
                                    "\"%s\"%s", (long long)raw->kind, qnnrt_onnx__attr_rows[i].name,
                                    a->ref[0] != '\0' ? " beside ref_attr_name" : "");
        found = kinds[i];
    }
    if (raw->kind == 0) raw->kind = found;
    if (raw->kind == 0 && a->ref[0] == '\0')
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "it has neither type nor data");
    a->kind = (qnnrt_onnx_attr_kind)raw->kind;
    if (a->s.text == NULL) a->s.text = "";
    if (a->ref[0] != '\0') return 1;
    a->tensors = raw->tensor != NULL ? raw->tensor : raw->tensors != NULL ? raw->tensors
                 : raw->sparse != NULL ? raw->sparse : raw->sparses;
    a->graphs = raw->graph != NULL ? raw->graph : raw->graphs;
    a->count = raw->float_count + raw->int_count + raw->string_count + raw->tensor_count +
               raw->sparse_count + raw->graph_count + raw->type_count;
    if (a->kind != QNNRT_ONNX_ATTR_TENSOR && a->kind != QNNRT_ONNX_ATTR_GRAPH &&
        a->kind != QNNRT_ONNX_ATTR_SPARSE_TENSOR && a->kind != QNNRT_ONNX_ATTR_TYPE)
        return raw->type_count == 0 || qnnrt_onnx__attr_types(r, raw);
    if (found == 0) return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "it has no data");
    a->count = 1;
    return raw->type == NULL || qnnrt_onnx__attr_types(r, raw);
}

static int qnnrt_onnx__attr_read(qnnrt_onnx__reader *r, qnnrt_onnx__span span, qnnrt_onnx_attr *out)
{
    qnnrt_onnx__raw_attr raw;
    uint32_t seen = 0;
    memset(&raw, 0, sizeof raw);
    raw.pub.byte = qnnrt_onnx__byte(r, span.at);
    if (qnnrt_onnx__fields(r, QNNRT_ONNX__ATTR, span, &raw, &seen) &&
        qnnrt_onnx__attr_build(r, seen, &raw)) {
        *out = raw.pub;
        if (out->name[0] != '\0') return 1;
        (void)qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "it has no name");
    }
    if (!r->named)
        r->code = qnnrt_error_about(r->err, r->code, "attribute \"" QNNRT_ONNX__SHOWN "\": ",
                                    raw.pub.name != NULL ? raw.pub.name : "");
    return 0;
}

static int qnnrt_onnx__node_read(qnnrt_onnx__reader *r, qnnrt_onnx__span span, qnnrt_onnx_node *out)
{
    out->byte = qnnrt_onnx__byte(r, span.at);
    if (qnnrt_onnx__fields(r, QNNRT_ONNX__NODE, span, out, NULL)) {
        out->domain = qnnrt_onnx__domain(out->domain);
        if (out->op[0] != '\0' && qnnrt_onnx__attrs_differ(r, out->attrs, out->attr_count))
            return 1;
        if (out->op[0] == '\0') (void)qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "it has no op_type");
    }
    if (!r->named)                   /* the innermost one says enough */
        r->code = qnnrt_error_about(r->err, r->code, "node \"" QNNRT_ONNX__SHOWN "\" (%.60s) at "
                                    "byte %llu: ", out->name != NULL ? out->name : "",
                                    out->op != NULL ? out->op : "",
                                    (unsigned long long)out->byte);
    r->named = 1;
    return 0;
}

/* Put the sparse initializers behind the others. */
static int qnnrt_onnx__graph_read(qnnrt_onnx__reader *r, qnnrt_onnx__span span,
                                  qnnrt_onnx_graph *out)
{
    qnnrt_onnx__raw_graph raw;
    qnnrt_onnx_tensor *all;
    size_t dense;
    memset(&raw, 0, sizeof raw);
    raw.pub.byte = qnnrt_onnx__byte(r, span.at);
    if (!qnnrt_onnx__fields(r, QNNRT_ONNX__GRAPH, span, &raw, NULL)) return 0;
    *out = raw.pub;
    if (raw.sparse_count == 0) return 1;
    dense = raw.pub.initializer_count;
    all = (qnnrt_onnx_tensor *)qnnrt_onnx__get(r, (uint64_t)dense + raw.sparse_count, sizeof *all);
    if (all == NULL) return 0;
    if (dense > 0) memcpy(all, raw.pub.initializers, dense * sizeof *all);
    memcpy(all + dense, raw.sparse, raw.sparse_count * sizeof *all);
    out->initializers = all;
    out->initializer_count = dense + raw.sparse_count;
    return 1;
}

static int qnnrt_onnx__function_read(qnnrt_onnx__reader *r, qnnrt_onnx__span span,
                                     qnnrt_onnx_function *out)
{
    out->byte = qnnrt_onnx__byte(r, span.at);
    if (qnnrt_onnx__fields(r, QNNRT_ONNX__FUNCTION, span, out, NULL)) {
        out->domain = qnnrt_onnx__domain(out->domain);
        if (out->name[0] != '\0' &&
            qnnrt_onnx__attrs_differ(r, out->defaults, out->default_count)) return 1;
        if (out->name[0] == '\0') (void)qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "it has no name");
    }
    r->code = qnnrt_error_about(r->err, r->code, "function \"" QNNRT_ONNX__SHOWN "\": ",
                                out->name != NULL ? out->name : "");
    return 0;
}

/* Read a message of any kind into its struct. */
static int qnnrt_onnx__one(qnnrt_onnx__reader *r, int which, qnnrt_onnx__span span, void *out)
{
    qnnrt_onnx_opset *opset = (qnnrt_onnx_opset *)out;
    switch (which) {
    case QNNRT_ONNX__ATTR: return qnnrt_onnx__attr_read(r, span, (qnnrt_onnx_attr *)out);
    case QNNRT_ONNX__NODE: return qnnrt_onnx__node_read(r, span, (qnnrt_onnx_node *)out);
    case QNNRT_ONNX__GRAPH: return qnnrt_onnx__graph_read(r, span, (qnnrt_onnx_graph *)out);
    case QNNRT_ONNX__TENSOR: return qnnrt_onnx__tensor_read(r, span, (qnnrt_onnx_tensor *)out);
    case QNNRT_ONNX__SPARSE: return qnnrt_onnx__sparse_read(r, span, (qnnrt_onnx_tensor *)out);
    case QNNRT_ONNX__VALUE: return qnnrt_onnx__value_read(r, span, (qnnrt_onnx_value *)out);
    case QNNRT_ONNX__DIM: return qnnrt_onnx__dim_read(r, span, (qnnrt_onnx_dim *)out);
    case QNNRT_ONNX__FUNCTION:
        return qnnrt_onnx__function_read(r, span, (qnnrt_onnx_function *)out);
    case QNNRT_ONNX__OPSET:
        if (!qnnrt_onnx__fields(r, which, span, out, NULL)) return 0;
        opset->domain = qnnrt_onnx__domain(opset->domain);
        return 1;
    default:
        return qnnrt_onnx__fields(r, which, span, out, NULL);
    }
}

/* =====================================================================================
   SCOPE                                                                           >>scope
   Checks the names of graphs and functions, and brings nodes into an order in which they can run.
   Needs: >>config     Knows nothing of: bytes, tensors with data
   ===================================================================================== */

/* What a name stands for. */
typedef enum qnnrt_onnx__role {
    QNNRT_ONNX__INPUT, QNNRT_ONNX__INITIALIZER, QNNRT_ONNX__WRITTEN
} qnnrt_onnx__role;

typedef struct qnnrt_onnx__def {
    const char      *name;
    qnnrt_onnx__role role;
    size_t           index;          /* of the input, initializer or node */
} qnnrt_onnx__def;

/* Node `from` has to wait for node `to`. */
typedef struct qnnrt_onnx__edge {
    size_t from, to;
} qnnrt_onnx__edge;

typedef struct qnnrt_onnx__edges {
    qnnrt_onnx__edge *pairs;         /* by .from, ascending */
    size_t            count, room;
    int               unsorted;      /* 1: a node stands before one that it waits for */
} qnnrt_onnx__edges;

/* A graph or function that is being checked, and the one around it. */
typedef struct qnnrt_onnx__scope {
    const struct qnnrt_onnx__scope *outer;
    struct qnnrt_onnx__scope *self;              /* this one, for the scopes within */
    const char            *function;             /* its name; NULL: a graph */
    const qnnrt_onnx_node *nodes;
    size_t                 node_count, node;     /* node: which one is being checked */
    qnnrt_onnx__def       *defs;
    size_t                 def_count;
    const void           **sorted;
    qnnrt_onnx__edges      edges;
} qnnrt_onnx__scope;

/* Add a finding to the error: the first ones are shown. */
__attribute__((cold, format(printf, 3, 4)))
static void qnnrt_onnx__fault(qnnrt_onnx__reader *r, const qnnrt_onnx__scope *s, const char *format,
                              ...)
{
    char text[QNNRT_ONNX__TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    while (s->outer != NULL) s = s->outer;
    if (r->faults++ == 0)
        (void)qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "%s%.100s%s%s", s->function != NULL ?
                               "function \"" : "", s->function != NULL ? s->function : "",
                               s->function != NULL ? "\": " : "", text);
    else if (r->err != NULL && strlen(r->err->text) + strlen(text) + 200 < sizeof r->err->text)
        qnnrt_error_add(r->err, "\n%s", text);
}

/* Write what a definition is, "node 3 \"conv\" (Conv)", into a text of 500 bytes. */
static const char *qnnrt_onnx__label(const qnnrt_onnx__scope *s, const qnnrt_onnx__def *def,
                                     char text[500])
{
    if (def->role != QNNRT_ONNX__WRITTEN) {
        snprintf(text, 500, "%s %llu", def->role == QNNRT_ONNX__INPUT ? "input" : "initializer",
                 (unsigned long long)def->index);
    } else {
        const qnnrt_onnx_node *node = &s->nodes[def->index];
        snprintf(text, 500, "node %llu \"" QNNRT_ONNX__SHOWN "\" (%.60s)",
                 (unsigned long long)node->number, node->name, node->op);
    }
    return text;
}

static int qnnrt_onnx__def_compare(const void *a, const void *b)
{
    const qnnrt_onnx__def *x = (const qnnrt_onnx__def *)a, *y = (const qnnrt_onnx__def *)b;
    const int names = strcmp(x->name, y->name);
    if (names != 0) return names;
    if (x->role != y->role) return x->role < y->role ? -1 : 1;
    return x->index == y->index ? 0 : x->index < y->index ? -1 : 1;
}

static void qnnrt_onnx__define(qnnrt_onnx__reader *r, qnnrt_onnx__scope *s, const char *name,
                               qnnrt_onnx__role role, size_t index)
{
    qnnrt_onnx__def *def = &s->defs[s->def_count];
    char text[500];
    def->name = name;
    def->role = role;
    def->index = index;
    if (name[0] != '\0') ++s->def_count;
    else if (role != QNNRT_ONNX__WRITTEN)
        qnnrt_onnx__fault(r, s, "%s has no name", qnnrt_onnx__label(s, def, text));
}

/* Make room for the names of a scope: those of its nodes, and `others`. */
static int qnnrt_onnx__scope_begin(qnnrt_onnx__reader *r, qnnrt_onnx__scope *s, uint64_t others)
{
    size_t i;
    s->self = s;
    for (i = 0; i < s->node_count; ++i) others += s->nodes[i].output_count;
    s->defs = (qnnrt_onnx__def *)qnnrt_arena_get(&r->scratch, others + 1, sizeof *s->defs);
    s->sorted = (const void **)qnnrt_arena_get(&r->scratch, others + 1, sizeof *s->sorted);
    return (s->defs != NULL && s->sorted != NULL) || qnnrt_onnx__memory(r);
}

/* Define what nodes write, sort the names, and find those that occur twice. An input may be an
   initializer, too: initial receives it, [inputs]; may be NULL */
static void qnnrt_onnx__scope_names(qnnrt_onnx__reader *r, qnnrt_onnx__scope *s,
                                    qnnrt_onnx_value *inputs, const qnnrt_onnx_tensor *initializers)
{
    char first[500], second[500];
    size_t i, k;
    for (i = 0; i < s->node_count; ++i)
        for (k = 0; k < s->nodes[i].output_count; ++k)
            qnnrt_onnx__define(r, s, s->nodes[i].outputs[k], QNNRT_ONNX__WRITTEN, i);
    for (i = 0; i < s->def_count; ++i) s->sorted[i] = &s->defs[i];
    qnnrt_sort(s->sorted, s->def_count, qnnrt_onnx__def_compare);
    for (i = 1; i < s->def_count; ++i) {
        const qnnrt_onnx__def *a = (const qnnrt_onnx__def *)s->sorted[i - 1],
                              *b = (const qnnrt_onnx__def *)s->sorted[i];
        if (strcmp(a->name, b->name) != 0) continue;
        if (a->role == QNNRT_ONNX__INPUT && b->role == QNNRT_ONNX__INITIALIZER && inputs != NULL)
            inputs[a->index].initial = &initializers[b->index];
        else
            qnnrt_onnx__fault(r, s, "\"" QNNRT_ONNX__SHOWN "\" is written twice, by %s and by %s",
                              a->name, qnnrt_onnx__label(s, a, first),
                              qnnrt_onnx__label(s, b, second));
    }
}

static const qnnrt_onnx__def *qnnrt_onnx__scope_find(const qnnrt_onnx__scope *s, const char *name)
{
    size_t low = 0, high = s->def_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const qnnrt_onnx__def *def = (const qnnrt_onnx__def *)s->sorted[middle];
        const int order = strcmp(name, def->name);
        if (order == 0) return def;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}

static int qnnrt_onnx__edge_add(qnnrt_onnx__reader *r, qnnrt_onnx__edges *edges, size_t from,
                                size_t to)
{
    edges->pairs = (qnnrt_onnx__edge *)qnnrt_arena_more(&r->scratch, edges->pairs, edges->count,
                                                       &edges->room, sizeof *edges->pairs);
    if (edges->pairs == NULL) return qnnrt_onnx__memory(r);
    edges->pairs[edges->count].from = from;
    edges->pairs[edges->count++].to = to;
    edges->unsorted |= to >= from;
    return 1;
}

/* Look a name up in a scope and those around it, and let the node of the scope that has it wait.
   Return 1; 0 if it is unknown; -1 without memory. */
static int qnnrt_onnx__scope_read(qnnrt_onnx__reader *r, qnnrt_onnx__scope *s, const char *name)
{
    const qnnrt_onnx__scope *at;
    for (at = s; at != NULL; at = at->outer) {
        const qnnrt_onnx__def *def = qnnrt_onnx__scope_find(at, name);
        if (def == NULL) continue;
        if (def->role != QNNRT_ONNX__WRITTEN || at->node == at->node_count) return 1;
        return qnnrt_onnx__edge_add(r, &at->self->edges, at->node, def->index) ? 1 : -1;
    }
    return 0;
}

/* Order `count` items, so that each stands after those that it waits for, and otherwise as before.
   Return 1; 0 for a circle, with one of its members in *member; -1 without memory. */
static int qnnrt_onnx__order(qnnrt_onnx__reader *r, const qnnrt_onnx__edges *edges, size_t count,
                             size_t *order, size_t *member)
{
    size_t *next = (size_t *)qnnrt_arena_get(&r->scratch, (uint64_t)count + 1, sizeof *next);
    size_t *stack = (size_t *)qnnrt_arena_get(&r->scratch, count, sizeof *stack);
    char *state = (char *)qnnrt_arena_get(&r->scratch, count, 1);    /* 1: waits; 2: is placed */
    size_t i, e = 0, done = 0;
    if (next == NULL || stack == NULL || state == NULL) {
        (void)qnnrt_onnx__memory(r);
        return -1;
    }
    for (i = 0; i < count; ++i) {
        while (e < edges->count && edges->pairs[e].from < i) ++e;
        next[i] = e;
    }
    for (i = 0; i < count; ++i) {
        size_t depth = 0;
        if (state[i] != 0) continue;
        stack[depth++] = i;
        state[i] = 1;
        while (depth > 0) {
            const size_t at = stack[depth - 1];
            if (next[at] < edges->count && edges->pairs[next[at]].from == at) {
                const size_t to = edges->pairs[next[at]++].to;
                *member = to;
                if (state[to] == 1) return 0;
                if (state[to] == 0) stack[depth++] = to;
                state[to] = state[to] == 0 ? (char)1 : state[to];
            } else {
                state[at] = 2;
                order[done++] = at;
                --depth;
            }
        }
    }
    return 1;
}

/* Bring the nodes of a scope, whose names are checked, into order. */
static int qnnrt_onnx__scope_sort(qnnrt_onnx__reader *r, qnnrt_onnx__scope *s)
{
    size_t *order, i, member = 0;
    qnnrt_onnx_node *nodes;
    qnnrt_onnx__def def;
    char text[500];
    int sorted;
    if (!s->edges.unsorted) return 1;
    order = (size_t *)qnnrt_arena_get(&r->scratch, s->node_count, sizeof *order);
    nodes = (qnnrt_onnx_node *)qnnrt_onnx__get(r, s->node_count, sizeof *nodes);
    if (order == NULL || nodes == NULL) return qnnrt_onnx__memory(r);
    sorted = qnnrt_onnx__order(r, &s->edges, s->node_count, order, &member);
    if (sorted < 0) return 0;
    if (sorted == 0) {
        def.role = QNNRT_ONNX__WRITTEN;
        def.index = member;
        qnnrt_onnx__fault(r, s, "%s waits for its own output: a cycle",
                          qnnrt_onnx__label(s, &def, text));
        return 1;
    }
    for (i = 0; i < s->node_count; ++i) nodes[i] = s->nodes[order[i]];
    s->nodes = nodes;
    return 1;
}

static int qnnrt_onnx__scope_graph(qnnrt_onnx__reader *r, const qnnrt_onnx__scope *outer,
                                   qnnrt_onnx_graph *graph);

/* Check what the nodes of a scope read, and the graphs in their attributes. */
static int qnnrt_onnx__scope_nodes(qnnrt_onnx__reader *r, qnnrt_onnx__scope *s)
{
    char text[500];
    size_t i, k, g;
    for (i = 0; i < s->node_count; ++i) {
        const qnnrt_onnx_node *node = &s->nodes[i];
        qnnrt_onnx__def def;
        def.role = QNNRT_ONNX__WRITTEN;
        def.index = s->node = i;
        for (k = 0; k < node->input_count; ++k) {
            const int known = node->inputs[k][0] == '\0' ? 1
                              : qnnrt_onnx__scope_read(r, s, node->inputs[k]);
            if (known < 0) return 0;
            if (known == 0)
                qnnrt_onnx__fault(r, s, "%s: input %llu \"" QNNRT_ONNX__SHOWN "\" is not an input, "
                                  "not an initializer, and no node writes it",
                                  qnnrt_onnx__label(s, &def, text), (unsigned long long)k,
                                  node->inputs[k]);
        }
        for (k = 0; k < node->attr_count; ++k)
            for (g = 0; node->attrs[k].graphs != NULL && g < node->attrs[k].count; ++g) {
                qnnrt_onnx_graph *graph;
                memcpy(&graph, &node->attrs[k].graphs, sizeof graph);
                if (!qnnrt_onnx__scope_graph(r, s, &graph[g])) return 0;
            }
    }
    s->node = s->node_count;
    return 1;
}

/* Check one name that a graph or function gives back. */
static int qnnrt_onnx__scope_output(qnnrt_onnx__reader *r, qnnrt_onnx__scope *s, const char *name,
                                    size_t index)
{
    const int known = name[0] == '\0' ? 0 : qnnrt_onnx__scope_read(r, s, name);
    if (known == 0)
        qnnrt_onnx__fault(r, s, "output %llu \"" QNNRT_ONNX__SHOWN "\" is not an input, not an "
                          "initializer, and no node writes it", (unsigned long long)index, name);
    return known >= 0;
}

/* Number nodes by their place in the file. */
static void qnnrt_onnx__scope_number(const qnnrt_onnx_node *nodes, size_t count)
{
    qnnrt_onnx_node *list;
    size_t i;
    memcpy(&list, &nodes, sizeof list);          /* the reader made them */
    for (i = 0; i < count; ++i) list[i].number = i;
}

/* Check a graph, and order its nodes. Return 0 without memory only: faults are counted. */
static int qnnrt_onnx__scope_graph(qnnrt_onnx__reader *r, const qnnrt_onnx__scope *outer,
                                   qnnrt_onnx_graph *graph)
{
    qnnrt_onnx__scope s;
    qnnrt_onnx_value *inputs;
    size_t i;
    memset(&s, 0, sizeof s);
    s.outer = outer;
    s.nodes = graph->nodes;
    s.node_count = graph->node_count;
    qnnrt_onnx__scope_number(graph->nodes, graph->node_count);
    memcpy(&inputs, &graph->inputs, sizeof inputs);
    if (!qnnrt_onnx__scope_begin(r, &s, (uint64_t)graph->input_count + graph->initializer_count))
        return 0;
    for (i = 0; i < graph->input_count; ++i)
        qnnrt_onnx__define(r, &s, inputs[i].name, QNNRT_ONNX__INPUT, i);
    for (i = 0; i < graph->initializer_count; ++i)
        qnnrt_onnx__define(r, &s, graph->initializers[i].name, QNNRT_ONNX__INITIALIZER, i);
    qnnrt_onnx__scope_names(r, &s, inputs, graph->initializers);
    if (!qnnrt_onnx__scope_nodes(r, &s)) return 0;
    for (i = 0; i < graph->output_count; ++i)
        if (!qnnrt_onnx__scope_output(r, &s, graph->outputs[i].name, i)) return 0;
    if (!qnnrt_onnx__scope_sort(r, &s)) return 0;
    graph->nodes = s.nodes;
    return 1;
}

static int qnnrt_onnx__scope_function(qnnrt_onnx__reader *r, qnnrt_onnx_function *f)
{
    qnnrt_onnx__scope s;
    size_t i;
    memset(&s, 0, sizeof s);
    s.function = f->name;
    s.nodes = f->nodes;
    s.node_count = f->node_count;
    qnnrt_onnx__scope_number(f->nodes, f->node_count);
    if (!qnnrt_onnx__scope_begin(r, &s, f->input_count)) return 0;
    for (i = 0; i < f->input_count; ++i)
        qnnrt_onnx__define(r, &s, f->inputs[i], QNNRT_ONNX__INPUT, i);
    qnnrt_onnx__scope_names(r, &s, NULL, NULL);
    if (!qnnrt_onnx__scope_nodes(r, &s)) return 0;
    for (i = 0; i < f->output_count; ++i)
        if (!qnnrt_onnx__scope_output(r, &s, f->outputs[i], i)) return 0;
    if (!qnnrt_onnx__scope_sort(r, &s)) return 0;
    f->nodes = s.nodes;
    return 1;
}

/* =====================================================================================
   CALLS                                                                            >>call
   Finds functions that are defined twice, or call each other in a circle.
   Needs: >>config >>scope     Knows nothing of: names of values
   ===================================================================================== */

/* The functions of a model, sorted, and which one calls which. */
typedef struct qnnrt_onnx__calls {
    const qnnrt_onnx_function *functions;
    const void       **sorted;
    size_t             count, from;
    qnnrt_onnx__edges  edges;
} qnnrt_onnx__calls;

static int qnnrt_onnx__function_is(const qnnrt_onnx_function *f, const char *domain,
                                   const char *name, const char *overload)
{
    int order = strcmp(domain, f->domain);
    if (order == 0) order = strcmp(name, f->name);
    return order != 0 ? order : strcmp(overload, f->overload);
}

static int qnnrt_onnx__function_compare(const void *a, const void *b)
{
    const qnnrt_onnx_function *f = (const qnnrt_onnx_function *)a;
    return qnnrt_onnx__function_is((const qnnrt_onnx_function *)b, f->domain, f->name, f->overload);
}

/* Note which functions nodes call, those of graphs in attributes included. */
static int qnnrt_onnx__calls_of(qnnrt_onnx__reader *r, qnnrt_onnx__calls *c,
                                const qnnrt_onnx_node *nodes, size_t count)
{
    size_t i, k, g;
    for (i = 0; i < count; ++i) {
        const qnnrt_onnx_node *node = &nodes[i];
        size_t low = 0, high = c->count;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            const qnnrt_onnx_function *f = (const qnnrt_onnx_function *)c->sorted[middle];
            const int order = qnnrt_onnx__function_is(f, node->domain, node->op, node->overload);
            if (order == 0) {
                if (!qnnrt_onnx__edge_add(r, &c->edges, c->from, (size_t)(f - c->functions)))
                    return 0;
                break;
            }
            if (order < 0) high = middle;
            else low = middle + 1;
        }
        for (k = 0; k < node->attr_count; ++k)
            for (g = 0; node->attrs[k].graphs != NULL && g < node->attrs[k].count; ++g)
                if (!qnnrt_onnx__calls_of(r, c, node->attrs[k].graphs[g].nodes,
                                          node->attrs[k].graphs[g].node_count)) return 0;
    }
    return 1;
}

/* Check the functions of a model among each other. */
static int qnnrt_onnx__calls_check(qnnrt_onnx__reader *r, const qnnrt_onnx *onnx)
{
    qnnrt_onnx__calls c;
    size_t i, member = 0, *order;
    int sorted;
    if (onnx->function_count == 0) return 1;
    memset(&c, 0, sizeof c);
    c.functions = onnx->functions;
    c.count = onnx->function_count;
    c.sorted = (const void **)qnnrt_arena_get(&r->scratch, c.count, sizeof *c.sorted);
    order = (size_t *)qnnrt_arena_get(&r->scratch, c.count, sizeof *order);
    if (c.sorted == NULL || order == NULL) return qnnrt_onnx__memory(r);
    for (i = 0; i < c.count; ++i) c.sorted[i] = &c.functions[i];
    qnnrt_sort(c.sorted, c.count, qnnrt_onnx__function_compare);
    for (i = 1; i < c.count; ++i)
        if (qnnrt_onnx__function_compare(c.sorted[i - 1], c.sorted[i]) == 0)
            return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "function \"" QNNRT_ONNX__SHOWN "\" of "
                                    "domain \"%.60s\" is defined twice",
                                    ((const qnnrt_onnx_function *)c.sorted[i])->name,
                                    ((const qnnrt_onnx_function *)c.sorted[i])->domain);
    for (c.from = 0; c.from < c.count; ++c.from)
        if (!qnnrt_onnx__calls_of(r, &c, c.functions[c.from].nodes,
                                  c.functions[c.from].node_count)) return 0;
    sorted = qnnrt_onnx__order(r, &c.edges, c.count, order, &member);
    if (sorted == 0)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "function \"" QNNRT_ONNX__SHOWN "\" calls "
                                "itself, perhaps by others", c.functions[member].name);
    return sorted > 0;
}

/* =====================================================================================
   KIND OF FILE                                                                    >>kind
   Recognises files that are not ONNX models.
   Needs: >>config     Knows nothing of: messages
   ===================================================================================== */

static const struct {
    const char *begin;
    size_t      place, size;
    const char *told, *hint;
} qnnrt_onnx__kinds[] = {
    { "version https://git-lfs", 0, 23, "a git-lfs pointer, not the file itself",
      "Run \"git lfs pull\" in its folder." },
    { "PK\3\4", 0, 4, "a zip archive", "Unpack it, and name the .onnx file." },
    { "ORTM", 4, 4, "a model in ONNX Runtime's own format",
      "Name the .onnx file that it was made from." },
    { "TFL3", 4, 4, "a TensorFlow Lite model", "Convert it with tf2onnx." },
    { "GGUF", 0, 4, "a GGUF file", "Compile it with qnnrt-llm." },
    { "\x89HDF", 0, 4, "an HDF5 file", "Convert the model with tf2onnx." },
    { "<", 0, 1, "a web page or XML", "Download the file itself, not the page that shows it." },
    { "{", 0, 1, "a JSON text", "Save the model with onnx.save(model, \"model.onnx\")." }
};

/* Replace the error of a file that cannot be read by what it is, if that is known. */
static void qnnrt_onnx__kind_tell(qnnrt_onnx__reader *r, qnnrt_onnx__span span)
{
    const uint64_t bytes = (uint64_t)(span.end - span.at);
    size_t i;
    for (i = 0; i < sizeof qnnrt_onnx__kinds / sizeof qnnrt_onnx__kinds[0]; ++i) {
        const size_t at = qnnrt_onnx__kinds[i].place, size = qnnrt_onnx__kinds[i].size;
        if (bytes < at + size || memcmp(span.at + at, qnnrt_onnx__kinds[i].begin, size) != 0)
            continue;
        (void)qnnrt_onnx__fail(r, QNNRT_E_UNSUPPORTED, "expected an ONNX model, found %s",
                               qnnrt_onnx__kinds[i].told);
        (void)qnnrt_error_hint(r->err, r->code, "%s", qnnrt_onnx__kinds[i].hint);
        return;
    }
}

/* =====================================================================================
   PUBLIC FUNCTIONS                                                                >>public
   Needs: every room above     Knows nothing of: operators
   ===================================================================================== */

/* Check what a model says about itself. */
static int qnnrt_onnx__model_check(qnnrt_onnx__reader *r, const qnnrt_onnx *onnx)
{
    size_t i, k;
    if (onnx->ir_version < 1)
        return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "field \"ir_version\" is missing, or %lld: this "
                                "is no ONNX model", (long long)onnx->ir_version);
    if (onnx->ir_version > QNNRT_ONNX_IR_VERSION) {
        (void)qnnrt_onnx__fail(r, QNNRT_E_VERSION, "ir_version is %lld, the newest one that is "
                               "read is %d", (long long)onnx->ir_version, QNNRT_ONNX_IR_VERSION);
        (void)qnnrt_error_hint(r->err, r->code, "Export the model for an older version of ONNX.");
        return 0;
    }
    if (onnx->graph == NULL) return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "it has no graph");
    for (i = 0; i < onnx->opset_count && onnx->opset_count < 1000; ++i)
        for (k = 0; k < i; ++k)
            if (strcmp(onnx->opsets[i].domain, onnx->opsets[k].domain) == 0 &&
                onnx->opsets[i].version != onnx->opsets[k].version)
                return qnnrt_onnx__fail(r, QNNRT_E_FORMAT, "field \"opset_import\" has versions "
                                        "%lld and %lld of domain \"%.60s\"",
                                        (long long)onnx->opsets[k].version,
                                        (long long)onnx->opsets[i].version,
                                        onnx->opsets[i].domain);
    if (onnx->opset_count >= 1000)
        return qnnrt_onnx__fail(r, QNNRT_E_LIMIT, "field \"opset_import\" has 1,000 entries or "
                                "more");
    return 1;
}

/* Read the whole model. */
static int qnnrt_onnx__model(qnnrt_onnx__reader *r, qnnrt_onnx__span span)
{
    struct qnnrt_onnx__own *own = r->own;
    qnnrt_onnx__raw_model raw;
    qnnrt_onnx_function *functions;
    size_t i;
    memset(&raw, 0, sizeof raw);
    if (!qnnrt_onnx__fields(r, QNNRT_ONNX__MODEL, span, &raw, NULL)) return 0;
    own->onnx = raw.pub;
    own->onnx.graph = raw.graph;
    own->onnx.own = own;
    if (!qnnrt_onnx__model_check(r, &own->onnx) || !qnnrt_onnx__ranges(r) ||
        !qnnrt_onnx__scope_graph(r, NULL, raw.graph)) return 0;
    memcpy(&functions, &own->onnx.functions, sizeof functions);
    for (i = 0; i < own->onnx.function_count; ++i)
        if (!qnnrt_onnx__scope_function(r, &functions[i])) return 0;
    return r->faults == 0 && qnnrt_onnx__calls_check(r, &own->onnx);
}

/* Read one tensor as a model. */
static int qnnrt_onnx__lone_tensor(qnnrt_onnx__reader *r, qnnrt_onnx__span span)
{
    qnnrt_onnx_tensor *tensor = (qnnrt_onnx_tensor *)qnnrt_onnx__get(r, 1, sizeof *tensor);
    qnnrt_onnx_graph *graph = (qnnrt_onnx_graph *)qnnrt_onnx__get(r, 1, sizeof *graph);
    qnnrt_onnx *onnx = &r->own->onnx;
    if (tensor == NULL || graph == NULL || !qnnrt_onnx__tensor_read(r, span, tensor)) return 0;
    onnx->producer = onnx->producer_version = onnx->domain = graph->name = "";
    graph->initializers = tensor;
    graph->initializer_count = 1;
    onnx->graph = graph;
    onnx->own = r->own;
    return 1;
}

/* Begin a reading: allocate what the model owns, and resolve the defaults. */
static int qnnrt_onnx__begin(qnnrt_onnx__reader *r, const qnnrt_onnx_desc *desc, qnnrt_error *err)
{
    qnnrt_arena arena;
    memset(r, 0, sizeof *r);
    memset(&arena, 0, sizeof arena);
    r->err = err;
    r->folder = -1;
    r->one = qnnrt_onnx__one;
    if (desc != NULL) r->limits = *desc;
    if (r->limits.memory_bytes == 0) r->limits.memory_bytes = (uint64_t)4 << 30;
    if (r->limits.expand_bytes == 0) r->limits.expand_bytes = (uint64_t)1 << 30;
    if (r->limits.nodes == 0) r->limits.nodes = 1000000;
    if (r->limits.name_bytes == 0) r->limits.name_bytes = 4096;
    if (r->limits.files == 0) r->limits.files = 1024;
    arena.hooks = r->limits.hooks;
    arena.limit = r->limits.memory_bytes;
    r->scratch = arena;
    r->own = (struct qnnrt_onnx__own *)qnnrt_arena_get(&arena, 1, sizeof *r->own);
    if (r->own == NULL) {
        qnnrt_arena_free(&arena);
        r->code = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for the model");
        return 0;
    }
    r->own->arena = arena;
    return 1;
}

/* Open the folder of a path, or that of the options, if there is one. */
static int qnnrt_onnx__folder(qnnrt_onnx__reader *r, const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    const char *folder = r->limits.folder;
    if (folder == NULL && path == NULL) return 1;
    if (folder == NULL && slash == NULL) folder = ".";
    if (folder == NULL) {
        char *copy = qnnrt_arena_text(&r->scratch, path, (size_t)(slash - path) + 1);
        if (copy == NULL) return qnnrt_onnx__memory(r);
        folder = copy;
    }
    do r->folder = open(folder, O_RDONLY | QNNRT_ONNX__CLOEXEC | QNNRT_ONNX__FOLDER);
    while (r->folder < 0 && errno == EINTR);
    return 1;
}

/* Read a file at a path, or memory, and give the model to the caller or free it. why: NULL, or
   what is wrong with the file */
static qnnrt_result qnnrt_onnx__finish(qnnrt_onnx__reader *r, const char *path, const char *why,
                                       qnnrt_onnx__span span, int lone, qnnrt_onnx **out)
{
    const uint16_t one = 1;
    unsigned char little;
    int ok;
    memcpy(&little, &one, 1);
    r->begin = span.at;
    if (why != NULL)
        ok = qnnrt_onnx__fail(r, QNNRT_E_IO, "cannot map it: %s", why);
    else if (little != 1)
        ok = qnnrt_onnx__fail(r, QNNRT_E_UNSUPPORTED, "this machine is big-endian");
    else
        ok = qnnrt_onnx__folder(r, path) &&
             (lone ? qnnrt_onnx__lone_tensor(r, span) : qnnrt_onnx__model(r, span));
    if (!ok && r->code == QNNRT_E_FORMAT && !lone && r->own->onnx.graph == NULL)
        qnnrt_onnx__kind_tell(r, span);
    if (!ok && r->code == QNNRT_E_FORMAT)
        (void)qnnrt_error_hint(r->err, r->code, "Export the model again, or check it with "
                               "onnx.checker.check_model().");
    if (r->folder >= 0) close(r->folder);
    qnnrt_arena_free(&r->scratch);
    if (ok) {
        *out = &r->own->onnx;
        return QNNRT_OK;
    }
    r->own->onnx.own = r->own;
    qnnrt_onnx_free(&r->own->onnx);
    return r->code;
}

QNNRT_ONNX_API void qnnrt_onnx_free(qnnrt_onnx *onnx)
{
    struct qnnrt_onnx__own *own = onnx != NULL ? onnx->own : NULL;
    qnnrt_arena arena;
    size_t i;
    if (own == NULL) return;
    for (i = 0; i < own->file_count; ++i)
        if (own->files[i].map != NULL) munmap(own->files[i].map, (size_t)own->files[i].bytes);
    if (own->map != NULL) munmap(own->map, (size_t)own->map_bytes);
    arena = own->arena;
    qnnrt_arena_free(&arena);
}

static qnnrt_onnx__span qnnrt_onnx__span_of(const void *data, uint64_t bytes)
{
    qnnrt_onnx__span span;
    span.at = bytes > 0 ? (const unsigned char *)data : (const unsigned char *)"";
    span.end = span.at + bytes;
    return span;
}

static qnnrt_result qnnrt_onnx__memory_read(const char *call, const void *data, size_t bytes,
                                            const qnnrt_onnx_desc *desc, int lone,
                                            qnnrt_onnx **out, qnnrt_error *err)
{
    qnnrt_onnx__reader r;
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (out == NULL || (data == NULL && bytes > 0))
        return qnnrt_error_set(err, QNNRT_E_ARG, "%s: %s is NULL", call, out == NULL ? "out"
                                                                                     : "data");
    if (!qnnrt_onnx__begin(&r, desc, err)) return r.code;
    return qnnrt_onnx__finish(&r, NULL, NULL, qnnrt_onnx__span_of(data, bytes), lone, out);
}

QNNRT_ONNX_API qnnrt_result qnnrt_onnx_read(const void *data, size_t bytes,
                                            const qnnrt_onnx_desc *desc, qnnrt_onnx **out,
                                            qnnrt_error *err)
{
    return qnnrt_onnx__memory_read("qnnrt_onnx_read", data, bytes, desc, 0, out, err);
}

QNNRT_ONNX_API qnnrt_result qnnrt_onnx_read_tensor(const void *data, size_t bytes,
                                                   const qnnrt_onnx_desc *desc, qnnrt_onnx **out,
                                                   qnnrt_error *err)
{
    return qnnrt_onnx__memory_read("qnnrt_onnx_read_tensor", data, bytes, desc, 1, out, err);
}

QNNRT_ONNX_API qnnrt_result qnnrt_onnx_open(const char *path, const qnnrt_onnx_desc *desc,
                                            qnnrt_onnx **out, qnnrt_error *err)
{
    qnnrt_onnx__reader r;
    qnnrt_result result;
    uint64_t bytes;
    const char *why;
    int fd;
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (path == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_onnx_open: path or out is NULL");
    result = qnnrt_file_open(path, &fd, &bytes, err);
    if (result != QNNRT_OK) return result;
    if (!qnnrt_onnx__begin(&r, desc, err)) {
        close(fd);
        return r.code;
    }
    why = qnnrt_onnx__file_map(fd, &r.own->map, &r.own->map_bytes, 1);
    close(fd);
    if (r.own->map == NULL) r.own->map_bytes = 0;
    result = qnnrt_onnx__finish(&r, path, why,
                                qnnrt_onnx__span_of(r.own->map, r.own->map_bytes), 0, out);
    return result == QNNRT_OK ? result
                              : qnnrt_error_about(err, result, QNNRT_ONNX__SHOWN ": ", path);
}

QNNRT_ONNX_API const qnnrt_onnx_attr *qnnrt_onnx_attr_find(const qnnrt_onnx_node *node,
                                                           const char *name)
{
    size_t i;
    for (i = 0; i < node->attr_count; ++i)
        if (strcmp(node->attrs[i].name, name) == 0) return &node->attrs[i];
    return NULL;
}

QNNRT_ONNX_API int64_t qnnrt_onnx_opset_find(const qnnrt_onnx_opset *list, size_t count,
                                             const char *domain)
{
    size_t i;
    for (i = 0; i < count; ++i)
        if (strcmp(list[i].domain, domain) == 0) return list[i].version;
    return 0;
}

QNNRT_ONNX_API const char *qnnrt_onnx_type_name(int type)
{
    return type >= 0 && type < QNNRT_ONNX__TYPES ? qnnrt_onnx__types[type].name : "?";
}

QNNRT_ONNX_API uint32_t qnnrt_onnx_type_bits(int type)
{
    return type >= 0 && type < QNNRT_ONNX__TYPES ? qnnrt_onnx__types[type].bits : 0;
}

QNNRT_ONNX_API const char *qnnrt_onnx_kind_name(qnnrt_onnx_kind kind)
{
    static const char *const names[] = {
        "no type", "tensor", "sparse tensor", "sequence", "optional", "map", "opaque"
    };
    return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : "?";
}

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_ONNX__IMPL_ONCE */
#endif /* QNNRT_ONNX_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   First version.
   --------------------------------------------------------------------------------------------- */
