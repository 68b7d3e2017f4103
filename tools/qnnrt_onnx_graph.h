/* qnnrt_onnx_graph.h - v0.5.0 - models of ONNX as graphs of qnnrt_ir.h

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_onnx_graph.h"
       #define QNNRT_IR_IMPLEMENTATION
       #define QNNRT_ONNX_IMPLEMENTATION
       #define QNNRT_ONNX_GRAPH_IMPLEMENTATION
       #include "qnnrt_onnx_graph.h"
   qnnrt.h, qnnrt_json.h, qnnrt_ir.h and qnnrt_onnx.h lie beside this file or are found by the
   compiler. Link with -ldl -lm.

       qnnrt_onnx *onnx; qnnrt_ir *ir; qnnrt_error err;
       qnnrt_onnx_dim_is dim = { "batch", 1 };
       qnnrt_onnx_graph_desc desc = {0};
       desc.dims = &dim; desc.dim_count = 1;
       if (qnnrt_onnx_open("model.onnx", NULL, &onnx, &err) != QNNRT_OK) puts(err.text);
       if (qnnrt_onnx_to_ir(onnx, &desc, &ir, &err) != QNNRT_OK) puts(err.text);
       // as any graph: qnnrt_ir_run(), passes, qnnrt_lower_graph(), ...
       qnnrt_ir_free(ir);
       qnnrt_onnx_free(onnx);                           // after the graph, which borrows weights

   Uses     Public names of qnnrt.h, qnnrt_ir.h and qnnrt_onnx.h, libc and libm
   Trust    The file may be hostile: qnnrt_ir.h checks and limits each node that is made. The
            caller is trusted.
   Memory   One allocator hook serves every allocation. What is computed in advance has a budget.
   Threads  The header creates none. One model belongs to one thread at a time.
   Globals  Constant tables only. The header prints nothing and never aborts.

   WORDS
       recipe     what an operator of ONNX computes, in operators of ATen, as text: see >>make
       known      a value whose elements are known when the graph is made
       bind       to make an input known: the graph does not have it then

   BUILD OPTIONS, to define before the header is first included
       QNNRT_ONNX_GRAPH_API  replaces the storage and export prefix of all functions (default:
                             QNNRT_API)
       The options of qnnrt_ir.h work here too.

   MANUAL

   Sizes
       A graph has no unknown sizes: each dimension of an input is a number in the file, or is set
       by its name (desc.dims), or with the whole shape of the input (desc.shapes).

   What is computed in advance
       Nodes all of whose inputs are known are computed at once, within desc.fold_bytes. So chains
       of Shape, Gather, Concat and the like vanish. Axes, shapes, pads and the like must become
       known in this way; where they depend on an input of the graph, bind it (desc.binds). An If
       needs a known condition, and becomes one of its branches.

   Findings
       All that a model has and a graph cannot have is listed in the text of the error, one line a
       finding: node, operator, and what is wrong.

   ROOMS (search for the tag)
       >>builder >>attributes >>make >>known         the floor
       >>element >>move >>index >>reduce >>net >>image >>resize >>sequence >>attention >>loss
       >>signal >>quant >>table >>walk >>public
*/
#ifndef QNNRT_ONNX_GRAPH_H
#define QNNRT_ONNX_GRAPH_H

#include "qnnrt.h"
#include "qnnrt_ir.h"
#include "qnnrt_onnx.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_onnx_graph.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_ONNX_GRAPH_API
#define QNNRT_ONNX_GRAPH_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The size of a named dimension: "batch", 1. */
typedef struct qnnrt_onnx_dim_is {
    const char *name;
    int64_t     value;
} qnnrt_onnx_dim_is;

/* The shape of an input, in place of that in the file. */
typedef struct qnnrt_onnx_shape_is {
    const char    *input;
    uint32_t       rank;
    const int64_t *dims;             /* [rank] */
} qnnrt_onnx_shape_is;

/* The elements of an input, which the graph then does not have. */
typedef struct qnnrt_onnx_bind {
    const char *input;
    const void *data;                /* row-major, of the type in the file and of its shape, which
                                        is that of desc.shapes if the file leaves it open */
    uint64_t    bytes;
} qnnrt_onnx_bind;

/* How a graph is made; every 0 is a default. */
typedef struct qnnrt_onnx_graph_desc {
    qnnrt_hooks                hooks;    /* alloc and free are used */
    const qnnrt_onnx_dim_is   *dims;     /* [dim_count] */
    size_t                     dim_count;
    const qnnrt_onnx_shape_is *shapes;   /* [shape_count] */
    size_t                     shape_count;
    const qnnrt_onnx_bind     *binds;    /* [bind_count] */
    size_t                     bind_count;
    uint64_t                   fold_bytes;   /* of what is computed in advance (default 0: 1 GiB) */
    uint32_t                   nodes;    /* of ONNX, with those of functions and branches each
                                            time that they are used (default 0: 1,000,000) */
} qnnrt_onnx_graph_desc;

/* Make a graph of a model.

   onnx     of qnnrt_onnx_open(); it must outlive the graph, which borrows large weights
   desc     may be NULL
   out      receives the graph, NULL on failure. Inputs and outputs have the names in the file

   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (operators, attributes, types, an opset: text lists all of
            them); QNNRT_E_MISMATCH (shapes do not fit); QNNRT_E_ARG (a size or an input that must
            be known is not: text says how to give it; desc names an input that is not there);
            QNNRT_E_LIMIT; QNNRT_E_MEMORY
   Frees    qnnrt_ir_free() */
QNNRT_ONNX_GRAPH_API qnnrt_result qnnrt_onnx_to_ir(const qnnrt_onnx *onnx,
                                                   const qnnrt_onnx_graph_desc *desc,
                                                   qnnrt_ir **out, qnnrt_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_ONNX_GRAPH_H, end of the declarations */

#ifdef QNNRT_ONNX_GRAPH_IMPLEMENTATION
#ifndef QNNRT_ONNX_GRAPH__IMPL_ONCE
#define QNNRT_ONNX_GRAPH__IMPL_ONCE

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   BUILDER                                                                      >>builder
   The graph under construction, names of ONNX and their values, and findings.
   Needs: nothing     Knows nothing of: operators
   ===================================================================================== */

typedef qnnrt_ir_value qnnrt_og__value;

typedef struct qnnrt_og__name {
    const char *text;
    qnnrt_og__value  *value;                       /* NULL: a finding concerns it */
} qnnrt_og__name;

/* The names of one graph or of one call of a function. */
typedef struct qnnrt_og__scope {
    /* names that are also seen: of a branch. NULL: none */
    struct qnnrt_og__scope          *outer;
    struct qnnrt_og__scope          *caller;       /* of a function: where .call stands */
    const qnnrt_onnx_node     *call;         /* of a function: its attributes */
    const qnnrt_onnx_function *function;
    const qnnrt_onnx_opset    *opsets;
    size_t                     opset_count;
    qnnrt_og__name                  *names;        /* [mask + 1], hashed */
    size_t                     mask;
} qnnrt_og__scope;

typedef struct qnnrt_og {
    const qnnrt_onnx            *onnx;
    const qnnrt_onnx_graph_desc *desc;
    qnnrt_ir                    *ir;
    qnnrt_arena                  arena;      /* until the graph is made */
    qnnrt_error                 *err;
    qnnrt_result                 code;       /* of the first finding */
    size_t                       findings;
    qnnrt_og__scope                   *scope;
    const qnnrt_onnx_node       *node;       /* that is converted */
    int64_t                      opset;      /* of its domain */
    qnnrt_og__value                  **in, **out;  /* [in_count], [out_count] of it */
    size_t                       in_count, out_count;
    uint64_t                     read;       /* attributes of it that were read, a bit each */
    const char                  *source;     /* "node NAME (OP)", in the memory of the graph */
    int                          failed;     /* 1: a finding concerns it */
    qnnrt_og__value                    nothing;
       /* what is made after a finding: converters look at it
                                                      in place of what they could not make */
    uint32_t                     depth, nodes;
} qnnrt_og;

/* Add a finding about the node that is converted. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void qnnrt_og__fail(qnnrt_og *b, qnnrt_result code, const char *format, ...)
{
    char text[600];
    va_list args;
    if (b->failed) return;
    b->failed = 1;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (b->findings++ == 0) {
        b->code = code;
        qnnrt_error_set(b->err, code, "%s: %s", b->source, text);
    } else if (b->findings <= 20) {
        qnnrt_error_add(b->err, "\n%s: %s", b->source, text);
    }
}

static void qnnrt_og__fail_memory(qnnrt_og *b)
{
    qnnrt_og__fail(b, QNNRT_E_MEMORY, "out of memory, or more than qnnrt_ir_desc.memory_bytes");
}

static qnnrt_og__scope *qnnrt_og__scope_new(qnnrt_og *b, size_t names)
{
    qnnrt_og__scope *scope = (qnnrt_og__scope *)qnnrt_arena_get(&b->arena, 1, sizeof(*scope));
    size_t room = 16;
    while (room < 2 * names) room *= 2;
    if (scope != NULL) {
        scope->mask = room - 1;
        scope->names = (qnnrt_og__name *)qnnrt_arena_get(&b->arena, room, sizeof(*scope->names));
    }
    if (scope != NULL && scope->names != NULL) return scope;
    qnnrt_og__fail_memory(b);
    return NULL;
}

static qnnrt_og__name *qnnrt_og__scope_at(const qnnrt_og__scope *scope, const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    const char *p;
    size_t i;
    for (p = text; *p != '\0'; ++p) hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211);
    for (i = (size_t)(hash ^ hash >> 32) & scope->mask; scope->names[i].text != NULL;
         i = (i + 1) & scope->mask)
        if (strcmp(scope->names[i].text, text) == 0) break;
    return &scope->names[i];
}

static void qnnrt_og__scope_set(const qnnrt_og__scope *scope, const char *text,
                                qnnrt_og__value *value)
{
    qnnrt_og__name *name = qnnrt_og__scope_at(scope, text);
    name->text = text;
    name->value = value;
}

/* Find a name. Return NULL if there is none. */
static const qnnrt_og__name *qnnrt_og__scope_find(const qnnrt_og__scope *scope, const char *text)
{
    for (; scope != NULL; scope = scope->outer) {
        const qnnrt_og__name *name = qnnrt_og__scope_at(scope, text);
        if (name->text != NULL) return name;
    }
    return NULL;
}

/* A number as an integer, cut; what int64 does not hold becomes its end, NaN 0. */
static int64_t qnnrt_og__whole(double number)
{
    if (number != number) return 0;
    if (number >= 9.2e18) return INT64_MAX;
    return number <= -9.2e18 ? INT64_MIN : (int64_t)number;
}

/* Return the dtype of graphs for a type of ONNX; UNDEFINED: there is none. */
static qnnrt_dtype qnnrt_og__dtype(int type)
{
    switch (type) {
    case QNNRT_ONNX_FLOAT:    return QNNRT_DTYPE_F32;
    case QNNRT_ONNX_UINT8:    return QNNRT_DTYPE_U8;
    case QNNRT_ONNX_INT8:     return QNNRT_DTYPE_I8;
    case QNNRT_ONNX_INT16:    return QNNRT_DTYPE_I16;
    case QNNRT_ONNX_INT32:    return QNNRT_DTYPE_I32;
    case QNNRT_ONNX_INT64:    return QNNRT_DTYPE_I64;
    case QNNRT_ONNX_BOOL:     return QNNRT_DTYPE_BOOL8;
    case QNNRT_ONNX_FLOAT16:  return QNNRT_DTYPE_F16;
    case QNNRT_ONNX_BFLOAT16: return QNNRT_DTYPE_BF16;
    case QNNRT_ONNX_DOUBLE:   return QNNRT_DTYPE_F64;
    default:                  return QNNRT_DTYPE_UNDEFINED;
    }
}

/* =====================================================================================
   ATTRIBUTES                                                                >>attributes
   Attributes of the node that is converted. What no converter read is a finding.
   Needs: >>builder     Knows nothing of: values
   ===================================================================================== */

/* Follow the attribute of a function's node to that of its call. */
static const qnnrt_onnx_attr *qnnrt_og__attr_of_call(const qnnrt_og__scope *scope, const char *name)
{
    const qnnrt_onnx_attr *attr = NULL;
    size_t i;
    while (scope != NULL && scope->function == NULL) scope = scope->outer;
    if (scope == NULL) return NULL;
    for (i = 0; i < scope->call->attr_count; ++i)
        if (strcmp(scope->call->attrs[i].name, name) == 0) attr = &scope->call->attrs[i];
    if (attr != NULL && attr->ref[0] != '\0') return qnnrt_og__attr_of_call(scope->caller,
                                                                            attr->ref);
    for (i = 0; attr == NULL && i < scope->function->default_count; ++i)
        if (strcmp(scope->function->defaults[i].name, name) == 0)
            attr = &scope->function->defaults[i];
    return attr;
}

/* Return an attribute, NULL if it is absent. kind: which it must be. */
static const qnnrt_onnx_attr *qnnrt_og__attr(qnnrt_og *b, const char *name, int kind)
{
    const qnnrt_onnx_attr *attr;
    size_t i = 0;
    while (i < b->node->attr_count && strcmp(b->node->attrs[i].name, name) != 0) ++i;
    if (i == b->node->attr_count) return NULL;
    attr = &b->node->attrs[i];
    if (i < 64) b->read |= UINT64_C(1) << i;
    if (attr->ref[0] != '\0') attr = qnnrt_og__attr_of_call(b->scope, attr->ref);
    if (attr == NULL || kind == 0 || (int)attr->kind == kind) return attr;
    qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED,
                   "attribute \"%s\" is of another kind (%d) than expected (%d)",
                   name, (int)attr->kind, kind);
    return NULL;
}

static int64_t qnnrt_og__int(qnnrt_og *b, const char *name, int64_t otherwise)
{
    const qnnrt_onnx_attr *attr = qnnrt_og__attr(b, name, QNNRT_ONNX_ATTR_INT);
    return attr != NULL ? attr->i : otherwise;
}

static double qnnrt_og__float(qnnrt_og *b, const char *name, double otherwise)
{
    const qnnrt_onnx_attr *attr = qnnrt_og__attr(b, name, QNNRT_ONNX_ATTR_FLOAT);
    return attr != NULL ? (double)attr->f : otherwise;
}

static const char *qnnrt_og__text(qnnrt_og *b, const char *name, const char *otherwise)
{
    const qnnrt_onnx_attr *attr = qnnrt_og__attr(b, name, QNNRT_ONNX_ATTR_STRING);
    return attr != NULL ? attr->s.text : otherwise;
}

/* Which of some words an attribute is, -1 after a finding. words: "NOTSET|VALID|...". */
static int qnnrt_og__word(qnnrt_og *b, const char *name, const char *otherwise, const char *words)
{
    const char *text = qnnrt_og__text(b, name, otherwise);
    const size_t length = strlen(text);
    int index = 0;
    for (;; ++index) {
        const size_t bytes = strcspn(words, "|");
        if (bytes == length && memcmp(words, text, bytes) == 0) return index;
        if (words[bytes] == '\0') break;
        words += bytes + 1;
    }
    qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "attribute \"%s\" is \"%.40s\", which is not known",
                   name,
                   text);
    return -1;
}

/* Get a list of integers. Return how many there are, -1 if it is absent. */
static int qnnrt_og__list(qnnrt_og *b, const char *name, int64_t *out, int most)
{
    const qnnrt_onnx_attr *attr = qnnrt_og__attr(b, name, QNNRT_ONNX_ATTR_INTS);
    int i;
    if (attr == NULL) return -1;
    if (attr->count > (size_t)most) {
        qnnrt_og__fail(b, QNNRT_E_LIMIT, "attribute \"%s\" has %lu numbers, more than %d", name,
                       (unsigned long)attr->count, most);
        return -1;
    }
    for (i = 0; i < (int)attr->count; ++i) out[i] = attr->ints[i];
    return (int)attr->count;
}

/* Get one number for each of n dimensions. */
static void qnnrt_og__each(qnnrt_og *b, const char *name, int64_t otherwise, int64_t *out, int n)
{
    int i, count;
    for (i = 0; i < n; ++i) out[i] = otherwise;
    count = qnnrt_og__list(b, name, out, n);
    if (count != -1 && count != n)
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "attribute \"%s\" has %d numbers, expected %d", name,
                       count,
                       n);
}

/* =====================================================================================
   MAKE                                                                            >>make
   Nodes of the graph, from recipes.
   Needs: >>builder >>attributes     Knows nothing of: operators of ONNX

   A recipe is a list of statements with ";" between; the last one is the result:
       "y = sigmoid.default(a); mul.Tensor(a, y)"
   A value is a letter (a to h at first: the inputs of the node of ONNX), a call, or %v, the next
   argument of qnnrt_og__make(). A call may be followed by "[1]", its second output. Arguments of
   operators: other=1.5, keepdim=true, mode='none', size=[1, -1],
       or from qnnrt_og__make(): %i int64_t,
   %f double, %s a text, %b an int as bool, %l const int64_t * and int. @alpha:0.5 is the attribute
   of ONNX, or the number behind it.
   ===================================================================================== */

enum { QNNRT_OG__ARGS = 12, QNNRT_OG__INPUTS = 16 };

/* Add a node, and compute it if its inputs are known. out receives `count` values. */
static int qnnrt_og__call(qnnrt_og *b, const char *op, qnnrt_og__value *const *inputs,
                          size_t input_count,
                          const qnnrt_ir_attr *args, size_t arg_count, qnnrt_og__value **out,
                              size_t count)
{
    qnnrt_error err;
    qnnrt_ir_node *node;
    size_t i;
    int known = strcmp(op, "einsum.default") != 0;       /* a pass makes other nodes of it */
    if (b->failed) return 0;
    for (i = 0; i < count; ++i)
        if ((out[i] = qnnrt_ir_add_value(b->ir, op, QNNRT_DTYPE_F32, 0, NULL)) == NULL) break;
    node = i == count ? qnnrt_ir_add_node(b->ir, NULL, op, inputs, input_count, out, count) : NULL;
    for (i = 0; node != NULL && i < arg_count; ++i)
        if (!qnnrt_ir_set(b->ir, node, &args[i])) node = NULL;
    if (node == NULL) { qnnrt_og__fail_memory(b); return 0; }
    node->source = b->source;
    for (i = 0; i < count; ++i) {
        qnnrt_dtype dtype = QNNRT_DTYPE_UNDEFINED;
        uint32_t rank = 0;
        int64_t dims[QNNRT_IR_RANK];
        const qnnrt_result result = qnnrt_ir_infer(node, i, &dtype, &rank, dims, &err);
        if (result != QNNRT_OK || dtype == QNNRT_DTYPE_UNDEFINED) {
            qnnrt_og__fail(b, result != QNNRT_OK ? result : QNNRT_E_UNSUPPORTED, "%s: %s", op,
                           result != QNNRT_OK ? err.text
                               : "the dtype of its result is not decided");
        } else if (!qnnrt_ir_set_shape(out[i], dtype, rank, dims)) {
            qnnrt_og__fail(b, QNNRT_E_LIMIT, "%s: its result is too large", op);
        }
    }
    for (i = 0; i < input_count; ++i)
        if (inputs[i] != NULL && inputs[i]->data == NULL) known = 0;
    if (!b->failed && known) {
        const qnnrt_result result = qnnrt_ir_fold_node(b->ir, node, &err);
        if (result != QNNRT_OK) qnnrt_og__fail(b, result, "%s", err.text);
    }
    if (b->failed) qnnrt_ir_kill(b->ir, node, NULL);
    return !b->failed;
}

typedef struct qnnrt_og__reader {
    qnnrt_og   *b;
    const char *at;
    qnnrt_og__value  *letters[26];
    va_list     args;
} qnnrt_og__reader;

static char qnnrt_og__reader_next(qnnrt_og__reader *r)
{
    while (*r->at == ' ') ++r->at;
    return *r->at;
}

static int qnnrt_og__reader_take(qnnrt_og__reader *r, char c)
{
    if (qnnrt_og__reader_next(r) != c) return 0;
    ++r->at;
    return 1;
}

/* Read "@alpha:0.5" behind the "@". Return 0 if the argument is absent. */
static int qnnrt_og__reader_attr(qnnrt_og__reader *r, qnnrt_ir_attr *arg)
{
    char name[40];
    const size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_ABC");
    const qnnrt_onnx_attr *attr;
    snprintf(name, sizeof name, "%.*s", (int)length, r->at);
    r->at += length;
    attr = qnnrt_og__attr(r->b, name, 0);
    arg->kind = QNNRT_IR_NULL;
    if (qnnrt_og__reader_take(r, ':')) {
        char *end;
        arg->f = strtod(r->at, &end);
        arg->i = qnnrt_og__whole(arg->f);
        arg->kind = memchr(r->at, '.', (size_t)(end - r->at)) != NULL ? QNNRT_IR_FLOAT
                                                                     : QNNRT_IR_INT;
        r->at = end;
    }
    if (attr == NULL) return arg->kind != QNNRT_IR_NULL;
    if (attr->kind == QNNRT_ONNX_ATTR_FLOAT) {
        arg->kind = QNNRT_IR_FLOAT;
        arg->f = (double)attr->f;
    } else if (attr->kind == QNNRT_ONNX_ATTR_INT) {
        arg->kind = QNNRT_IR_INT;
        arg->i = attr->i;
        arg->f = (double)attr->i;
    } else {
        qnnrt_og__fail(r->b, QNNRT_E_UNSUPPORTED, "attribute \"%s\" is not a number", name);
    }
    return 1;
}

/* Read an argument from qnnrt_og__make(), behind the "%". */
static void qnnrt_og__reader_given(qnnrt_og__reader *r, qnnrt_ir_attr *arg)
{
    const char kind = *r->at++;
    if (kind == 'i') {
        arg->kind = QNNRT_IR_INT;
        arg->i = va_arg(r->args, int64_t);
        arg->f = (double)arg->i;
    } else if (kind == 'b') {
        arg->kind = QNNRT_IR_BOOL;
        arg->i = va_arg(r->args, int) != 0;
        arg->f = (double)arg->i;
    } else if (kind == 'f') {
        arg->kind = QNNRT_IR_FLOAT;
        arg->f = va_arg(r->args, double);
    } else if (kind == 's') {
        arg->kind = QNNRT_IR_TEXT;
        arg->text = va_arg(r->args, const char *);
    } else {
        arg->kind = QNNRT_IR_INTS;
        arg->ints = va_arg(r->args, const int64_t *);
        arg->count = (size_t)va_arg(r->args, int);
    }
}

/* Read the value of an argument; list: memory for [1, -1], text: for 'none'. */
static int qnnrt_og__reader_value(qnnrt_og__reader *r, qnnrt_ir_attr *arg, int64_t *list,
                                  char *text)
{
    char *end;
    arg->text = "";
    if (qnnrt_og__reader_take(r, '@')) return qnnrt_og__reader_attr(r, arg);
    if (qnnrt_og__reader_take(r, '%')) { qnnrt_og__reader_given(r, arg); return 1; }
    if (qnnrt_og__reader_take(r, '\'')) {
        const size_t length = strcspn(r->at, "'");
        snprintf(text, 24, "%.*s", (int)length, r->at);
        r->at += length + 1;
        arg->kind = QNNRT_IR_TEXT;
        arg->text = text;
        return 1;
    }
    if (qnnrt_og__reader_take(r, '[')) {
        arg->kind = QNNRT_IR_INTS;
        arg->ints = list;
        while (!qnnrt_og__reader_take(r, ']')) {
            list[arg->count++] = strtol(r->at, &end, 10);
            r->at = end;
            qnnrt_og__reader_take(r, ',');
        }
        return 1;
    }
    if (*r->at == 't' || *r->at == 'f') {
        arg->kind = QNNRT_IR_BOOL;
        arg->i = *r->at == 't';
        r->at += arg->i ? 4 : 5;
    } else {
        const char *begin = r->at;
        arg->f = strtod(begin, &end);
        r->at = end;
        arg->kind = strcspn(begin, ".ein") < (size_t)(end - begin) ? QNNRT_IR_FLOAT : QNNRT_IR_INT;
        if (arg->kind == QNNRT_IR_INT) arg->i = qnnrt_og__whole(arg->f);
    }
    return 1;
}

/* Read a value: a letter, %v, or a call. */
static qnnrt_og__value *qnnrt_og__reader_expr(qnnrt_og__reader *r)
{
    qnnrt_og__value *inputs[QNNRT_OG__INPUTS], *out[4] = { NULL, NULL, NULL, NULL };
    qnnrt_ir_attr args[QNNRT_OG__ARGS];
    int64_t lists[QNNRT_OG__ARGS][4];
    char texts[QNNRT_OG__ARGS][24], op[64];
    size_t length, count = 0, arg_count = 0, index = 0;
    qnnrt_og__reader_next(r);
    if (r->at[0] == '%' && r->at[1] == 'v') { r->at += 2; return va_arg(r->args,
                                                                        qnnrt_og__value *); }
    length = strcspn(r->at, "(,;) ");
    if (length <= 1 || r->at[length] != '(') return r->letters[*r->at++ - 'a'];
    snprintf(op, sizeof op, "%.*s", (int)length, r->at);
    r->at += length + 1;
    while (!qnnrt_og__reader_take(r, ')')) {
        const size_t name = strcspn(r->at, "=(,) ");
        if (r->at[name] == '=') {
            qnnrt_ir_attr *arg = &args[arg_count];
            char *text = texts[arg_count];
            memset(arg, 0, sizeof(*arg));
            arg->name = qnnrt_arena_text(&r->b->arena, r->at, name);
            if (arg->name == NULL) { qnnrt_og__fail_memory(r->b); return NULL; }
            r->at += name + 1;
            if (qnnrt_og__reader_value(r, arg, lists[arg_count], text)) ++arg_count;
        } else {
            inputs[count++] = qnnrt_og__reader_expr(r);
        }
        qnnrt_og__reader_take(r, ',');
    }
    if (qnnrt_og__reader_take(r, '[')) { index = (size_t)(*r->at - '0'); r->at += 2; }
    qnnrt_og__call(r->b, op, inputs, count, args, arg_count, out, index + 1);
    return r->b->failed ? NULL : out[index];
}

static qnnrt_og__value *qnnrt_og__make(qnnrt_og *b, const char *recipe, ...)
{
    qnnrt_og__reader r;
    qnnrt_og__value *value = NULL;
    size_t i;
    if (b->failed) return &b->nothing;
    memset(&r, 0, sizeof(r));
    r.b = b;
    r.at = recipe;
    for (i = 0; i < 8 && i < b->in_count; ++i) r.letters[i] = b->in[i];
    va_start(r.args, recipe);
    do {
        char to = 0;
        qnnrt_og__reader_next(&r);
        if (r.at[0] != '\0' && r.at[1] == ' ' && r.at[2] == '=') { to = r.at[0]; r.at += 3; }
        value = qnnrt_og__reader_expr(&r);
        if (to != 0) r.letters[to - 'a'] = value;
    } while (qnnrt_og__reader_take(&r, ';'));
    va_end(r.args);
    return b->failed || value == NULL ? &b->nothing : value;
}

/* =====================================================================================
   KNOWN                                                                          >>known
   Constants: making and reading them.
   Needs: >>builder >>make     Knows nothing of: operators of ONNX
   ===================================================================================== */

/* Return input i, NULL if it is absent. */
static qnnrt_og__value *qnnrt_og__in(const qnnrt_og *b, size_t i)
{
    return i < b->in_count ? b->in[i] : NULL;
}

/* Return true if output i is wanted. */
static int qnnrt_og__wants(const qnnrt_og *b, size_t i)
{
    return i < b->node->output_count && b->node->outputs[i][0] != '\0';
}

static qnnrt_og__value *qnnrt_og__constant(qnnrt_og *b, qnnrt_dtype dtype, uint32_t rank,
                                           const int64_t *dims,
                                           const void *data, void **room)
{
    qnnrt_og__value *value;
    if (b->failed) return &b->nothing;
    value = qnnrt_ir_add_constant(b->ir, "constant", dtype, rank, dims, data, room);
    if (value != NULL) return value;
    qnnrt_og__fail_memory(b);
    return &b->nothing;
}

/* Make a constant of numbers, each converted to a dtype. */
static qnnrt_og__value *qnnrt_og__numbers(qnnrt_og *b, qnnrt_dtype dtype, uint32_t rank,
                                          const int64_t *dims,
                                          const double *numbers)
{
    void *room = NULL;
    qnnrt_og__value *value = qnnrt_og__constant(b, dtype, rank, dims, NULL, &room);
    const size_t bytes = qnnrt_ir_dtype_bytes(dtype);
    size_t i;
    for (i = 0; room != NULL && i < value->count; ++i)
        qnnrt_ir_element_put((char *)room + i * bytes, dtype, qnnrt_og__whole(numbers[i]),
                             numbers[i]);
    return value;
}

static qnnrt_og__value *qnnrt_og__ints(qnnrt_og *b, const int64_t *ints, int count)
{
    const int64_t dims = count;
    return qnnrt_og__constant(b, QNNRT_DTYPE_I64, 1, &dims, ints, NULL);
}

/* A constant without dimensions. */
static qnnrt_og__value *qnnrt_og__scalar(qnnrt_og *b, qnnrt_dtype dtype, double number)
{
    return qnnrt_og__numbers(b, dtype, 0, NULL, &number);
}

/* Memory until the graph is made. */
static void *qnnrt_og__room(qnnrt_og *b, uint64_t count, size_t size)
{
    void *room = qnnrt_arena_get(&b->arena, count + 1, size);
    if (room == NULL) qnnrt_og__fail_memory(b);
    return room;
}

/* Return true if a value is known; else a finding says which it is. */
static int qnnrt_og__must_know(qnnrt_og *b, const qnnrt_og__value *value, const char *what)
{
    if (b->failed || value == NULL) return 0;
    if (value->data != NULL) return 1;
    if (value->origin == QNNRT_IR_INPUT)
        qnnrt_og__fail(b, QNNRT_E_ARG, "%s is the input \"%s\", which must be known: bind it "
                       "(--bind %s=VALUE)", what, value->name, value->name);
    else
        qnnrt_og__fail(b, QNNRT_E_ARG,
                       "%s is computed (\"%s\"), but must be known: bind the inputs that "
                       "it depends on (--bind NAME=VALUE)", what, value->name);
    return 0;
}

static int64_t qnnrt_og__element_int(const qnnrt_og__value *value, uint64_t i)
{
    const char *at = (const char *)value->data + i * qnnrt_ir_dtype_bytes(value->dtype);
    if (qnnrt_ir_dtype_kind(value->dtype) == 2)
        return qnnrt_og__whole(qnnrt_ir_element_float(at, value->dtype));
    return qnnrt_ir_element_int(at, value->dtype);
}

static double qnnrt_og__element_float(const qnnrt_og__value *value, uint64_t i)
{
    const char *at = (const char *)value->data + i * qnnrt_ir_dtype_bytes(value->dtype);
    if (qnnrt_ir_dtype_kind(value->dtype) == 2) return qnnrt_ir_element_float(at, value->dtype);
    return (double)qnnrt_ir_element_int(at, value->dtype);
}

/* Read a known value as integers. Return how many there are, -1 if it is absent or not known. */
static int qnnrt_og__read_ints(qnnrt_og *b, const qnnrt_og__value *value, const char *what,
                               int64_t *out,
                               int most)
{
    uint64_t i;
    if (!qnnrt_og__must_know(b, value, what)) return -1;
    if (value->count > (uint64_t)most) {
        qnnrt_og__fail(b, QNNRT_E_LIMIT, "%s has %llu numbers, more than %d", what,
                       (unsigned long long)value->count, most);
        return -1;
    }
    for (i = 0; i < value->count; ++i) out[i] = qnnrt_og__element_int(value, i);
    return (int)value->count;
}

/* Read one known number; `otherwise` if the value is absent. */
static double qnnrt_og__read_number(qnnrt_og *b, const qnnrt_og__value *value, const char *what,
                                    double otherwise)
{
    if (value == NULL || !qnnrt_og__must_know(b, value, what)) return otherwise;
    if (value->count == 1) return qnnrt_og__element_float(value, 0);
    qnnrt_og__fail(b, QNNRT_E_MISMATCH, "%s has %llu numbers, expected one", what,
                   (unsigned long long)value->count);
    return otherwise;
}

/* Make an axis not negative. */
static int64_t qnnrt_og__axis(qnnrt_og *b, int64_t axis, uint32_t rank)
{
    const int64_t at = axis < 0 ? axis + (int64_t)rank : axis;
    if (at >= 0 && at < (int64_t)rank) return at;
    qnnrt_og__fail(b, QNNRT_E_ARG, "axis %lld of a tensor of %u dimensions", (long long)axis,
                   (unsigned)rank);
    return 0;
}

static const char *qnnrt_og__dtype_of(const qnnrt_og__value *value)
{
    return qnnrt_ir_dtype_name(value->dtype);
}

static qnnrt_og__value *qnnrt_og__cast(qnnrt_og *b, qnnrt_og__value *value, qnnrt_dtype dtype)
{
    static const struct { qnnrt_dtype dtype; int64_t low, high; } small[] = {
        { QNNRT_DTYPE_U8, 0, 255 }, { QNNRT_DTYPE_I8, -128, 127 },
            { QNNRT_DTYPE_I16, -32768, 32767 },
    };
    size_t i;
    if (b->failed) return &b->nothing;
    if (value == NULL || value->dtype == dtype) return value;
    /* What does not fit is undefined in ONNX. Clipped, libraries can prove that all does. */
    for (i = 0; i < 3 && qnnrt_ir_dtype_kind(value->dtype) == 2 && value->data == NULL; ++i)
        if (small[i].dtype == dtype)
            value = qnnrt_og__make(b, "clamp.default(to.dtype(%v, dtype='int32'), min=%i, max=%i)",
                                   value,
                                   small[i].low, small[i].high);
    return qnnrt_og__make(b, "to.dtype(%v, dtype=%s)", value, qnnrt_ir_dtype_name(dtype));
}

static qnnrt_og__value *qnnrt_og__view(qnnrt_og *b, qnnrt_og__value *value, const int64_t *dims,
                                       uint32_t rank)
{
    if (b->failed) return &b->nothing;
    if (value->rank == rank && memcmp(value->dims, dims, rank * sizeof(*dims)) == 0) return value;
    return qnnrt_og__make(b, "view.default(%v, size=%l)", value, dims, (int)rank);
}

/* Return the product of dims [from, to). */
static int64_t qnnrt_og__product(const int64_t *dims, uint32_t from, uint32_t to)
{
    int64_t product = 1;
    for (; from < to; ++from) product *= dims[from];
    return product;
}

/* =====================================================================================
   ELEMENT BY ELEMENT                                                           >>element
   Needs: >>builder >>attributes >>make >>known     Knows nothing of: shapes
   ===================================================================================== */

static void qnnrt_og__do_identity(qnnrt_og *b)
{
    b->out[0] = qnnrt_og__in(b, 0);
}

static void qnnrt_og__do_div(qnnrt_og *b)
{
    b->out[0] = qnnrt_og__make(b, qnnrt_ir_dtype_kind(b->in[0]->dtype) == 2
                                  ? "div.Tensor(a, b)"
                                  : "div.Tensor_mode(a, b, rounding_mode='trunc')");
}

/* The base decides the type. */
static void qnnrt_og__do_pow(qnnrt_og *b)
{
    qnnrt_og__value *power = b->in[1], *y;
    if (qnnrt_ir_dtype_kind(b->in[0]->dtype) == 2 && power->data == NULL)
        power = qnnrt_og__cast(b, power, b->in[0]->dtype);
    if (b->failed) return;
    if (power->data != NULL && power->count == 1 && power->rank <= b->in[0]->rank)
        y = qnnrt_ir_dtype_kind(power->dtype) == 2
            ? qnnrt_og__make(b, "pow.Tensor_Scalar(a, exponent=%f)",
                             qnnrt_og__element_float(power, 0))
            : qnnrt_og__make(b, "pow.Tensor_Scalar(a, exponent=%i)",
                             qnnrt_og__element_int(power, 0));
    else
        y = qnnrt_og__make(b, "pow.Tensor_Tensor(a, %v)", power);
    b->out[0] = y != NULL ? qnnrt_og__cast(b, y, b->in[0]->dtype) : NULL;
}

static void qnnrt_og__do_mod(qnnrt_og *b)
{
    const int real = qnnrt_ir_dtype_kind(b->in[0]->dtype) == 2;
    if (qnnrt_og__int(b, "fmod", 0)) b->out[0] = qnnrt_og__make(b, "fmod.Tensor(a, b)");
    else if (!real || b->in[1]->data != NULL) b->out[0] =
        qnnrt_og__make(b, "remainder.Tensor(a, b)");
    else                                     /* libraries do not round what is infinite */
        b->out[0] = qnnrt_og__make(b, "n = lt.Scalar(mul.Tensor(sign.default(a), sign.default(b)), "
                                      "other=0.0); r = where.self(lt.Tensor(abs.default(a), "
                                      "abs.default(b)), where.self(n, add.Tensor(a, b), a), "
                                "remainder.Tensor(a, b)); u = logical_or.default(isinf.default(a), "
                                  "logical_or.default(isnan.default(b), eq.Scalar(b, other=0.0))); "
                                      "where.self(u, div.Tensor(sub.Tensor(a, a), b), r)");
}

/* Comparison with an infinite constant, which lowering would make the largest number. That the
   largest element is -infinity means that all are, which libraries do not lose. */
static void qnnrt_og__do_equal(qnnrt_og *b)
{
    int i;
    for (i = 0; i < 2; ++i) {
        qnnrt_og__value *x = b->in[1 - i];
        const qnnrt_og__value *c = b->in[i];
        const qnnrt_ir_node *most = qnnrt_ir_producer(x);
        int64_t axes[QNNRT_IR_RANK];
        if (c->data == NULL || c->count != 1 || c->rank > x->rank || x->data != NULL ||
            qnnrt_ir_dtype_kind(c->dtype) != 2 ||
                fabs(qnnrt_og__element_float(c, 0)) < HUGE_VAL) continue;
        if (most != NULL && qnnrt_ir_is(most, "amax.default") &&
            qnnrt_og__element_float(c, 0) < 0) {
            const int count = (int)qnnrt_ir_ints(most, "dim", axes);
            b->out[0] = qnnrt_og__make(b, "all.dims(eq.Scalar(%v, other=-inf), dim=%l, keepdim=%b)",
                                       most->inputs[0], axes, count,
                                       qnnrt_ir_int(most, "keepdim", 0) != 0);
        } else {
            b->out[0] = qnnrt_og__make(b, "eq.Scalar(%v, other=%f)", x,
                                       qnnrt_og__element_float(c, 0));
        }
        return;
    }
    b->out[0] = qnnrt_og__make(b, "eq.Tensor(a, b)");
}

/* A known number is told to the operator itself: constants are clipped to what a library holds. */
static void qnnrt_og__do_where(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[1], *y = b->in[2];
    const int one = x->data != NULL && x->count == 1 && x->rank <= b->in[0]->rank &&
                    qnnrt_ir_dtype_kind(x->dtype) == 2 && x->dtype == QNNRT_DTYPE_F32;
    const int two = y->data != NULL && y->count == 1 && y->rank <= b->in[0]->rank &&
                    qnnrt_ir_dtype_kind(y->dtype) == 2 && y->dtype == QNNRT_DTYPE_F32;
    if (b->in[0]->data != NULL) b->out[0] = qnnrt_og__make(b, "where.self(a, b, c)");
    else if (one && two) b->out[0] = qnnrt_og__make(b, "where.Scalar(a, self=%f, other=%f)",
                                                    qnnrt_og__element_float(x, 0),
                                                        qnnrt_og__element_float(y, 0));
    else if (one) b->out[0] = qnnrt_og__make(b, "where.ScalarSelf(a, c, self=%f)",
                                             qnnrt_og__element_float(x, 0));
    else if (two) b->out[0] = qnnrt_og__make(b, "where.ScalarOther(a, b, other=%f)",
                                             qnnrt_og__element_float(y, 0));
    else b->out[0] = qnnrt_og__make(b, "where.self(a, b, c)");
}

static void qnnrt_og__do_shift(qnnrt_og *b)
{
    b->out[0] = qnnrt_og__make(b, qnnrt_og__word(b, "direction", "", "LEFT|RIGHT") == 0
                                  ? "bitwise_left_shift.Tensor(a, b)"
                                  : "bitwise_right_shift.Tensor(a, b)");
}

/* Max, Min, Sum, Mean of any number of inputs. */
static qnnrt_og__value *qnnrt_og__chain(qnnrt_og *b, const char *op)
{
    char recipe[40];
    qnnrt_og__value *y = b->in[0];
    size_t i;
    snprintf(recipe, sizeof recipe, "%s(%%v, %%v)", op);
    for (i = 1; i < b->in_count; ++i) y = qnnrt_og__make(b, recipe, y, b->in[i]);
    return y;
}
static void qnnrt_og__do_max(qnnrt_og *b)
{
    b->out[0] = qnnrt_og__chain(b, "maximum.default");
}
static void qnnrt_og__do_min(qnnrt_og *b)
{
    b->out[0] = qnnrt_og__chain(b, "minimum.default");
}
static void qnnrt_og__do_sum(qnnrt_og *b)
{
    b->out[0] = qnnrt_og__chain(b, "add.Tensor");
}
static void qnnrt_og__do_mean(qnnrt_og *b)
{
    b->out[0] = qnnrt_og__make(b, "div.Scalar(%v, other=%i)", qnnrt_og__chain(b, "add.Tensor"),
                               (int64_t)b->in_count);
}

/* Bounds are attributes before opset 11. */
static void qnnrt_og__do_clip(qnnrt_og *b)
{
    qnnrt_og__value *x = b->in[0], *low = qnnrt_og__in(b, 1), *high = qnnrt_og__in(b, 2);
    if (b->opset < 11) {
        if (qnnrt_og__attr(b, "min", 0) != NULL) low =
            qnnrt_og__scalar(b, x->dtype, qnnrt_og__float(b, "min", 0));
        if (qnnrt_og__attr(b, "max", 0) != NULL) high =
            qnnrt_og__scalar(b, x->dtype, qnnrt_og__float(b, "max", 0));
    }
    if (low == NULL && high == NULL) { b->out[0] = x; return; }
    if (b->failed) return;
    if ((low == NULL || low->data != NULL) && (high == NULL || high->data != NULL) &&
        qnnrt_ir_dtype_kind(x->dtype) == 2 &&
        (low == NULL || high == NULL || qnnrt_og__element_float(low,
                                                                0) <= qnnrt_og__element_float(high,
                                                                                              0))) {
        if (low != NULL) x = qnnrt_og__make(b, high != NULL ? "clamp.default(%v, min=%f, max=%f)"
                                                            : "clamp.default(%v, min=%f)", x,
                                            qnnrt_og__element_float(low, 0),
                                            high != NULL ? qnnrt_og__element_float(high, 0) : 0.0);
        else x = qnnrt_og__make(b, "clamp.default(%v, max=%f)", x,
                                qnnrt_og__element_float(high, 0));
    } else {
        if (low != NULL) x = qnnrt_og__make(b, "maximum.default(%v, %v)", x, low);
        if (high != NULL) x = qnnrt_og__make(b, "minimum.default(%v, %v)", x, high);
    }
    b->out[0] = x;
}

/* Before opset 7 one slope for each channel. */
static void qnnrt_og__do_prelu(qnnrt_og *b)
{
    qnnrt_og__value *slope = b->in[1];
    if (b->opset < 7 && slope->count > 1 && slope->rank == 1 && b->in[0]->rank > 1) {
        int64_t dims[QNNRT_IR_RANK];
        uint32_t i;
        for (i = 0; i < b->in[0]->rank; ++i) dims[i] = i == 1 ? slope->dims[0] : 1;
        slope = qnnrt_og__view(b, slope, dims, b->in[0]->rank);
    }
    b->out[0] = qnnrt_og__make(b, "_prelu_kernel.default(a, %v)", slope);
}

static void qnnrt_og__do_gelu(qnnrt_og *b)
{
    b->out[0] = qnnrt_og__make(b, "gelu.default(a, approximate=%s)",
                               qnnrt_og__text(b, "approximate", "none"));
}

static void qnnrt_og__do_isinf(qnnrt_og *b)
{
    const int64_t minus = qnnrt_og__int(b, "detect_negative", 1), plus =
        qnnrt_og__int(b, "detect_positive", 1);
    if (minus && plus) b->out[0] = qnnrt_og__make(b, "isinf.default(a)");
    else if (plus) b->out[0] = qnnrt_og__make(b, "isposinf.default(a)");
    else if (minus) b->out[0] = qnnrt_og__make(b, "isneginf.default(a)");
    else b->out[0] = qnnrt_og__make(b, "full_like.default(a, fill_value=0, dtype='bool')");
}

static void qnnrt_og__do_cast(qnnrt_og *b)
{
    const int64_t to = qnnrt_og__int(b, "to", 0);
    const qnnrt_dtype dtype = qnnrt_og__dtype((int)to);
    qnnrt_og__int(b, "saturate", 1);
    qnnrt_og__text(b, "round_mode", "");
    if (dtype == QNNRT_DTYPE_UNDEFINED)
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "a cast to %s, which graphs do not have",
                       qnnrt_onnx_type_name((int)to));
    b->out[0] = qnnrt_og__cast(b, b->in[0], dtype);
}

static void qnnrt_og__do_cast_like(qnnrt_og *b)
{
    qnnrt_og__int(b, "saturate", 1);
    qnnrt_og__text(b, "round_mode", "");
    b->out[0] = qnnrt_og__cast(b, b->in[0], b->in[1]->dtype);
}

/* Not in training: the same, and a mask of ones. */
static void qnnrt_og__do_dropout(qnnrt_og *b)
{
    const double ratio = b->opset < 12 ? qnnrt_og__float(b, "ratio", 0.5)
                                       : qnnrt_og__read_number(b, qnnrt_og__in(b, 1), "ratio", 0.5);
    const int training = qnnrt_og__read_number(b, qnnrt_og__in(b, 2), "training_mode", 0) != 0;
    qnnrt_og__int(b, "seed", 0);
    qnnrt_og__int(b, "is_test", 1);
    if (training && ratio != 0)
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "training, whose results are random");
    b->out[0] = b->in[0];
    if (qnnrt_og__wants(b, 1))
        b->out[1] = qnnrt_og__make(b, b->opset < 10 ? "full_like.default(a, fill_value=1)"
                                                   
                                                       
                                                           
                                                               
                                                                   
                                                                       
                                                                           
                                                                               
                                                                                   
                                                                                       
                                                                                           
                                                                                               
                                                                                                   
                                              : "full_like.default(a, fill_value=1, dtype='bool')");
}

/* =====================================================================================
   SHAPES AND MOVES                                                                >>move
   Needs: >>builder >>attributes >>make >>known     Knows nothing of: arithmetic
   ===================================================================================== */

static void qnnrt_og__do_constant(qnnrt_og *b)
{
    static const char *const others[] = { "value_int", "value_ints", "value_float",
                                         "value_floats" };
    const qnnrt_onnx_attr *attr = qnnrt_og__attr(b, "value", QNNRT_ONNX_ATTR_TENSOR);
    int64_t count = 0;
    void *room;
    int i;
    if (attr == NULL) attr = qnnrt_og__attr(b, "sparse_value", 0);
    if (attr != NULL && attr->tensors != NULL) {
        const qnnrt_onnx_tensor *tensor = attr->tensors;
        const qnnrt_dtype dtype = qnnrt_og__dtype((int)tensor->type);
        if (dtype == QNNRT_DTYPE_UNDEFINED)
            qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED,
                           "a constant of type %s, which graphs do not have",
                           qnnrt_onnx_type_name((int)tensor->type));
        else if (tensor->rank > QNNRT_IR_RANK)
            qnnrt_og__fail(b, QNNRT_E_LIMIT, "a constant of %u dimensions, more than 8",
                           (unsigned)tensor->rank);
        else b->out[0] = qnnrt_og__constant(b, dtype, tensor->rank, tensor->dims, tensor->data,
                                            &room);
        return;
    }
    for (i = 0; i < 4; ++i) {
        if ((attr = qnnrt_og__attr(b, others[i], 0)) == NULL) continue;
        count = (int64_t)attr->count;
        if (i == 0) b->out[0] = qnnrt_og__constant(b, QNNRT_DTYPE_I64, 0, NULL, &attr->i, &room);
        if (i == 1) b->out[0] = qnnrt_og__constant(b, QNNRT_DTYPE_I64, 1, &count, attr->ints,
                                                   &room);
        if (i == 2) b->out[0] = qnnrt_og__constant(b, QNNRT_DTYPE_F32, 0, NULL, &attr->f, &room);
        if (i == 3) b->out[0] = qnnrt_og__constant(b, QNNRT_DTYPE_F32, 1, &count, attr->floats,
                                                   &room);
        return;
    }
    qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "a constant that is no tensor and no number");
}

static void qnnrt_og__do_constant_of_shape(qnnrt_og *b)
{
    const qnnrt_onnx_attr *attr = qnnrt_og__attr(b, "value", QNNRT_ONNX_ATTR_TENSOR);
    int64_t dims[QNNRT_IR_RANK];
    const int rank = qnnrt_og__read_ints(b, b->in[0], "the shape", dims, QNNRT_IR_RANK);
    qnnrt_dtype dtype = QNNRT_DTYPE_F32;
    double number = 0;
    if (b->failed) return;
    if (attr != NULL) {
        dtype = qnnrt_og__dtype((int)attr->tensors->type);
        if (dtype == QNNRT_DTYPE_UNDEFINED || attr->tensors->count != 1) {
            qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "its value is not one number, or of type %s",
                           qnnrt_onnx_type_name((int)attr->tensors->type));
            return;
        }
        number = qnnrt_ir_dtype_kind(dtype) == 2
                 ? qnnrt_ir_element_float(attr->tensors->data, dtype)
                 : (double)qnnrt_ir_element_int(attr->tensors->data, dtype);
    }
    if (qnnrt_ir_dtype_kind(dtype) == 2)
        b->out[0] = qnnrt_og__make(b, "full.default(size=%l, fill_value=%f, dtype=%s)", dims, rank,
                                   number, qnnrt_ir_dtype_name(dtype));
    else
        b->out[0] = qnnrt_og__make(b, "full.default(size=%l, fill_value=%i, dtype=%s)", dims, rank,
                                   qnnrt_og__whole(number), qnnrt_ir_dtype_name(dtype));
}

static void qnnrt_og__do_shape(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t rank = (int64_t)x->rank;
    int64_t start = qnnrt_og__int(b, "start", 0), end = qnnrt_og__int(b, "end", rank);
    if (start < 0) start += rank;
    if (end < 0) end += rank;
    if (start < 0) start = 0;
    if (start > rank) start = rank;
    if (end > rank) end = rank;
    if (end < start) end = start;
    b->out[0] = qnnrt_og__ints(b, x->dims + start, (int)(end - start));
}

static void qnnrt_og__do_size(qnnrt_og *b)
{
    const int64_t count = (int64_t)b->in[0]->count;
    b->out[0] = qnnrt_og__constant(b, QNNRT_DTYPE_I64, 0, NULL, &count, NULL);
}

static void qnnrt_og__do_range(qnnrt_og *b)
{
    const char *type = qnnrt_og__dtype_of(b->in[0]);
    int i;
    for (i = 0; i < 3; ++i) if (!qnnrt_og__must_know(b, b->in[i], "a bound")) return;
    if (qnnrt_ir_dtype_kind(b->in[0]->dtype) == 2)
        b->out[0] = qnnrt_og__make(b, "arange.start_step(start=%f, end=%f, step=%f, dtype=%s)",
                                   qnnrt_og__element_float(b->in[0], 0),
                                       qnnrt_og__element_float(b->in[1], 0),
                                   qnnrt_og__element_float(b->in[2], 0), type);
    else
        b->out[0] = qnnrt_og__make(b, "arange.start_step(start=%i, end=%i, step=%i, dtype=%s)",
                                   qnnrt_og__element_int(b->in[0], 0),
                                       qnnrt_og__element_int(b->in[1], 0),
                                   qnnrt_og__element_int(b->in[2], 0), type);
}

static void qnnrt_og__do_reshape(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int zero = qnnrt_og__int(b, "allowzero", 0) != 0;
    int64_t dims[QNNRT_IR_RANK], known = 1;
    const int rank = b->opset < 5 ? qnnrt_og__list(b, "shape", dims, QNNRT_IR_RANK)
                                  : qnnrt_og__read_ints(b, b->in[1], "the shape", dims,
                                                        QNNRT_IR_RANK);
    int i, open = -1;
    for (i = 0; i < rank && !b->failed; ++i) {
        if (dims[i] == 0 && !zero) {
            if (i >= (int)x->rank)
                qnnrt_og__fail(b, QNNRT_E_MISMATCH,
                               "number %d of the shape is 0, but the input has %u "
                               "dimensions", i, (unsigned)x->rank);
            else dims[i] = x->dims[i];
        }
        if (dims[i] == -1) open = i;
        else if (dims[i] > 0) known *= dims[i] < (INT64_C(1) << 48) / (known + 1) ? dims[i] : 1;
    }
    if (open != -1 && !b->failed && x->count % (uint64_t)known == 0)
        dims[open] = (int64_t)(x->count / (uint64_t)known);
    if (rank >= 0) b->out[0] = qnnrt_og__view(b, b->in[0], dims, (uint32_t)rank);
}

static void qnnrt_og__do_flatten(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    int64_t axis = qnnrt_og__int(b, "axis", 1), dims[2];
    if (axis < 0) axis += (int64_t)x->rank;
    if (axis < 0 || axis > (int64_t)x->rank) {
        qnnrt_og__fail(b, QNNRT_E_ARG, "axis is out of range");
        return;
    }
    dims[0] = qnnrt_og__product(x->dims, 0, (uint32_t)axis);
    dims[1] = qnnrt_og__product(x->dims, (uint32_t)axis, x->rank);
    b->out[0] = qnnrt_og__view(b, b->in[0], dims, 2);
}

/* Axes: an attribute before opset `input`, then input 1. Return how many, -1: none are given. */
static int qnnrt_og__axes(qnnrt_og *b, int64_t input, int64_t *axes)
{
    if (b->opset < input) return qnnrt_og__list(b, "axes", axes, QNNRT_IR_RANK);
    if (qnnrt_og__in(b, 1) == NULL) return -1;
    return qnnrt_og__read_ints(b, b->in[1], "axes", axes, QNNRT_IR_RANK);
}

static void qnnrt_og__do_squeeze(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    int64_t axes[QNNRT_IR_RANK], dims[QNNRT_IR_RANK];
    const int count = qnnrt_og__axes(b, 13, axes);
    uint32_t i, rank = 0, gone = 0;
    int k;
    for (k = 0; k < count; ++k) {
        const int64_t axis = qnnrt_og__axis(b, axes[k], x->rank);
        if (!b->failed && x->dims[axis] != 1)
            qnnrt_og__fail(b, QNNRT_E_MISMATCH, "dimension %lld is %lld, expected 1",
                           (long long)axis,
                           (long long)x->dims[axis]);
        gone |= (uint32_t)1 << axis;
    }
    for (i = 0; i < x->rank; ++i)
        if (count == -1 ? x->dims[i] != 1 : !(gone >> i & 1)) dims[rank++] = x->dims[i];
    b->out[0] = qnnrt_og__view(b, b->in[0], dims, rank);
}

static void qnnrt_og__do_unsqueeze(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    int64_t axes[QNNRT_IR_RANK], dims[QNNRT_IR_RANK];
    const int count = qnnrt_og__axes(b, 13, axes);
    const uint32_t rank = x->rank + (uint32_t)(count > 0 ? count : 0);
    uint32_t i, from = 0, made = 0;
    int k;
    if (rank > QNNRT_IR_RANK) qnnrt_og__fail(b, QNNRT_E_LIMIT, "%u dimensions", (unsigned)rank);
    if (count == -1) qnnrt_og__fail(b, QNNRT_E_ARG, "axes are not given");
    for (k = 0; k < count && !b->failed; ++k)
        made |= (uint32_t)1 << qnnrt_og__axis(b, axes[k], rank);
    for (i = 0; i < rank && !b->failed; ++i) {
        if (from == x->rank && !(made >> i & 1)) qnnrt_og__fail(b, QNNRT_E_ARG,
                                                                "an axis occurs twice");
        else dims[i] = made >> i & 1 ? 1 : x->dims[from++];
    }
    if (!b->failed) b->out[0] = qnnrt_og__view(b, b->in[0], dims, rank);
}

static void qnnrt_og__do_transpose(qnnrt_og *b)
{
    const int rank = (int)b->in[0]->rank;
    int64_t order[QNNRT_IR_RANK];
    int i, count = qnnrt_og__list(b, "perm", order, QNNRT_IR_RANK);
    for (i = 0; count == -1 && i < rank; ++i) order[i] = rank - 1 - i;
    if (rank == 0) b->out[0] = b->in[0];
    else b->out[0] = qnnrt_og__make(b, "permute.default(a, dims=%l)", order, rank);
}

static qnnrt_og__value *qnnrt_og__cat(qnnrt_og *b, qnnrt_og__value **values, size_t count,
                                      int64_t axis)
{
    qnnrt_ir_attr arg;
    qnnrt_og__value *out = NULL;
    if (count == 1) return values[0];
    memset(&arg, 0, sizeof(arg));
    arg.name = "dim";
    arg.kind = QNNRT_IR_INT;
    arg.i = axis;
    arg.f = (double)axis;
    arg.text = "";
    qnnrt_og__call(b, "cat.default", values, count, &arg, 1, &out, 1);
    return b->failed ? &b->nothing : out;
}

static void qnnrt_og__do_einsum(qnnrt_og *b)
{
    qnnrt_ir_attr equation;
    memset(&equation, 0, sizeof(equation));
    equation.kind = QNNRT_IR_TEXT;
    equation.name = "equation";
    equation.text = qnnrt_og__text(b, "equation", "");
    qnnrt_og__call(b, "einsum.default", b->in, b->in_count, &equation, 1, b->out, 1);
}

static void qnnrt_og__do_concat(qnnrt_og *b)
{
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", 1), b->in[0]->rank);
    b->out[0] = qnnrt_og__cat(b, b->in, b->in_count, axis);
}

static void qnnrt_og__do_split(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", 0), x->rank);
    const int64_t outs = (int64_t)b->node->output_count, parts =
        qnnrt_og__int(b, "num_outputs", outs);
    int64_t *sizes = (int64_t *)qnnrt_og__room(b, (uint64_t)outs + 1, sizeof(*sizes)), at = 0, each;
    int i, count = -1;
    if (b->failed) return;
    if (b->opset < 13) count = qnnrt_og__list(b, "split", sizes, (int)outs);
    else if (qnnrt_og__in(b, 1) != NULL) count =
        qnnrt_og__read_ints(b, b->in[1], "split", sizes, (int)outs);
    each = parts > 0 ? (x->dims[axis] + parts - 1) / parts : 0;
    for (i = 0; i < (int)outs && !b->failed; ++i) {
        int64_t size = count >= 0 ? (i < count ? sizes[i] : 0) : each;
        if (count < 0 && size > x->dims[axis] - at) size = x->dims[axis] - at;
        b->out[i] = qnnrt_og__make(b, "slice.Tensor(a, dim=%i, start=%i, end=%i)", axis, at,
                                   at + size);
        at += size;
    }
    if (at != x->dims[axis])
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "parts of %lld, dimension %lld is %lld", (long long)at,
                       (long long)axis, (long long)x->dims[axis]);
}

static int64_t qnnrt_og__between(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* One axis of Slice, with the rules of ONNX for what is out of range. */
static qnnrt_og__value *qnnrt_og__slice(qnnrt_og *b, qnnrt_og__value *x, int64_t axis,
                                        int64_t start, int64_t end,
                                        int64_t step)
{
    int64_t size;
    if (b->failed) return &b->nothing;
    size = x->dims[axis];
    if (step == 0) { qnnrt_og__fail(b, QNNRT_E_ARG, "a step is 0"); return &b->nothing; }
    if (start < 0) start = start < -size ? -1 : start + size;
    if (end < 0) end = end < -size ? -1 : end + size;
    if (step > 0) {
        start = qnnrt_og__between(start, 0, size);
        end = qnnrt_og__between(end, start, size < start ? start : size);
    } else {
        x = qnnrt_og__make(b, "flip.default(%v, dims=%l)", x, &axis, 1);
        start = size - 1 - qnnrt_og__between(start, 0, size - 1);
        end = size - 1 - qnnrt_og__between(end, -1, size - 1);
        if (end < start) end = start;
        step = step < -(INT64_C(1) << 48) ? INT64_C(1) << 48 : -step;
    }
    if (step > size && size > 0) step = size;
    if (start == 0 && end == size && step == 1) return x;
    return qnnrt_og__make(b, "slice.Tensor(%v, dim=%i, start=%i, end=%i, step=%i)", x, axis, start,
                          end,
                          step);
}

static void qnnrt_og__do_slice(qnnrt_og *b)
{
    static const char *const names[] = { "starts", "ends", "axes", "steps" };
    int64_t lists[4][QNNRT_IR_RANK];
    int counts[4], i;
    for (i = 0; i < 4; ++i) {
        if (b->opset < 10) counts[i] = i < 3 ? qnnrt_og__list(b, names[i], lists[i], QNNRT_IR_RANK)
            : -1;
        else if (qnnrt_og__in(b, (size_t)i + 1) == NULL) counts[i] = -1;
        else counts[i] = qnnrt_og__read_ints(b, b->in[i + 1], names[i], lists[i], QNNRT_IR_RANK);
    }
    if (b->failed) return;
    if (counts[0] != counts[1] || (counts[2] != -1 && counts[2] != counts[0]) ||
        (counts[3] != -1 && counts[3] != counts[0])) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "starts, ends, axes and steps are not of one length");
        return;
    }
    b->out[0] = b->in[0];
    for (i = 0; i < counts[0] && !b->failed; ++i)
        b->out[0] = qnnrt_og__slice(b, b->out[0],
                                    qnnrt_og__axis(b, counts[2] != -1 ? lists[2][i] : i,
                                                   b->in[0]->rank),
                                    lists[0][i], lists[1][i], counts[3] != -1 ? lists[3][i] : 1);
}

static void qnnrt_og__do_tile(qnnrt_og *b)
{
    int64_t repeats[QNNRT_IR_RANK];
    const int count = qnnrt_og__read_ints(b, b->in[1], "repeats", repeats, QNNRT_IR_RANK);
    if (count >= 0) b->out[0] = qnnrt_og__make(b, "repeat.default(a, repeats=%l)", repeats, count);
}

/* Both shapes broadcast. */
static qnnrt_og__value *qnnrt_og__expand(qnnrt_og *b, qnnrt_og__value *x, const int64_t *shape,
                                         uint32_t rank)
{
    int64_t dims[QNNRT_IR_RANK];
    uint32_t i, most;
    if (b->failed) return &b->nothing;
    most = x->rank > rank ? x->rank : rank;
    for (i = 0; i < most; ++i) {
        const int64_t a = i < x->rank ? x->dims[x->rank - 1 - i] : 1;
        const int64_t c = i < rank ? shape[rank - 1 - i] : 1;
        dims[most - 1 - i] = a == 1 ? c : a;
    }
    if (x->rank == most && memcmp(dims, x->dims, most * sizeof(*dims)) == 0) return x;
    return qnnrt_og__make(b, "expand.default(%v, size=%l)", x, dims, (int)most);
}

static void qnnrt_og__do_expand(qnnrt_og *b)
{
    int64_t dims[QNNRT_IR_RANK];
    const int rank = qnnrt_og__read_ints(b, b->in[1], "the shape", dims, QNNRT_IR_RANK);
    if (rank >= 0) b->out[0] = qnnrt_og__expand(b, b->in[0], dims, (uint32_t)rank);
}

/* A vector along an axis, so that it broadcasts to `rank` dimensions. */
static qnnrt_og__value *qnnrt_og__along_axis(qnnrt_og *b, qnnrt_og__value *value, int64_t axis,
                                             uint32_t rank)
{
    int64_t dims[QNNRT_IR_RANK];
    uint32_t i;
    if (value == NULL || value->count == 1 || value->rank != 1) return value;
    for (i = 0; i < rank; ++i) dims[i] = (int64_t)i == axis ? value->dims[0] : 1;
    return qnnrt_og__view(b, value, dims, rank);
}

/* A vector of channels, so that it broadcasts to x [N, C, ..]. */
static qnnrt_og__value *qnnrt_og__channels(qnnrt_og *b, qnnrt_og__value *vector,
                                           const qnnrt_og__value *x)
{
    return qnnrt_og__along_axis(b, vector, 1, x->rank);
}

/* Select positions of an axis. */
static qnnrt_og__value *qnnrt_og__take(qnnrt_og *b, qnnrt_og__value *x, int64_t axis,
                                       const int64_t *at, int count)
{
    return qnnrt_og__make(b, "index_select.default(%v, %v, dim=%i)", x,
                          qnnrt_og__ints(b, at, count), axis);
}

/* Pad one axis: mode 1 reflect, 2 edge, 3 wrap. Negative amounts cut. */
static qnnrt_og__value *qnnrt_og__pad_axis(qnnrt_og *b, qnnrt_og__value *x, int64_t axis,
                                           int64_t before,
                                           int64_t after, int mode)
{
    const int64_t size = x->dims[axis], count = size + before + after;
    int64_t *at, i;
    if (before == 0 && after == 0) return x;
    if (count < 0 || size == 0 || count > (INT64_C(1) << 31) - 1) {
        qnnrt_og__fail(b, QNNRT_E_ARG, "pads do not fit dimension %lld", (long long)axis);
        return &b->nothing;
    }
    at = (int64_t *)qnnrt_og__room(b, (uint64_t)count, sizeof(*at));
    if (at == NULL) return &b->nothing;
    for (i = 0; i < count; ++i) {
        const int64_t period = mode == 1 ? 2 * size - 2 : size;
        int64_t p = i - before;
        if (mode == 2) p = qnnrt_og__between(p, 0, size - 1);
        else p = period == 0 ? 0 : (p % period + period) % period;
        at[i] = mode == 1 && p >= size ? period - p : p;
    }
    return qnnrt_og__take(b, x, axis, at, (int)count);
}

/* Pad with a number: pads are (before, after) of each axis. */
static qnnrt_og__value *qnnrt_og__pad(qnnrt_og *b, qnnrt_og__value *x, const int64_t *before,
                                      const int64_t *after,
                                      double number)
{
    int64_t pads[2 * QNNRT_IR_RANK];
    uint32_t i, any = 0;
    if (b->failed) return &b->nothing;
    for (i = 0; i < x->rank; ++i) {
        pads[2 * (x->rank - 1 - i)] = before[i];
        pads[2 * (x->rank - 1 - i) + 1] = after[i];
        any |= before[i] != 0 || after[i] != 0;
    }
    if (!any) return x;
    return qnnrt_og__make(b, "constant_pad_nd.default(%v, pad=%l, value=%f)", x, pads,
                          2 * (int)x->rank,
                          number);
}

/* Get the amounts of Pad: 2 for each axis. Return 0 after a finding. */
static int qnnrt_og__pads(qnnrt_og *b, int64_t *before, int64_t *after)
{
    const uint32_t rank = b->in[0]->rank;
    int64_t pads[2 * QNNRT_IR_RANK], axes[QNNRT_IR_RANK];
    int i, count, axis_count = -1;
    if (b->opset < 11) count = qnnrt_og__list(b, b->opset < 2 ? "paddings" : "pads", pads, 16);
    else count = qnnrt_og__read_ints(b, qnnrt_og__in(b, 1), "pads", pads, 16);
    if (b->opset >= 18 && qnnrt_og__in(b, 3) != NULL)
        axis_count = qnnrt_og__read_ints(b, b->in[3], "axes", axes, QNNRT_IR_RANK);
    if (b->failed) return 0;
    if (axis_count == -1)
        for (axis_count = 0; axis_count < (int)rank; ++axis_count) axes[axis_count] = axis_count;
    if (count != 2 * axis_count) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "%d pads for %d axes", count, axis_count);
        return 0;
    }
    for (i = 0; i < (int)rank; ++i) before[i] = after[i] = 0;
    for (i = 0; i < axis_count; ++i) {
        const int64_t axis = qnnrt_og__axis(b, axes[i], rank);
        before[axis] = pads[i];
        after[axis] = pads[axis_count + i];
    }
    return !b->failed;
}

static void qnnrt_og__do_pad(qnnrt_og *b)
{
    const int mode = qnnrt_og__word(b, "mode", "constant", "constant|reflect|edge|wrap");
    const qnnrt_og__value *number = b->opset < 11 ? NULL : qnnrt_og__in(b, 2);
    int64_t before[QNNRT_IR_RANK], after[QNNRT_IR_RANK];
    double value = b->opset < 11 ? qnnrt_og__float(b, "value", 0) : 0;
    uint32_t i;
    if (mode < 0 || !qnnrt_og__pads(b, before, after)) return;
    if (mode == 0) {
        if (number != NULL && number->count == 1) value =
            qnnrt_og__read_number(b, number, "the value", 0);
        b->out[0] = qnnrt_og__pad(b, b->in[0], before, after, value);
        return;
    }
    b->out[0] = b->in[0];
    for (i = 0; i < b->in[0]->rank && !b->failed; ++i)
        b->out[0] = qnnrt_og__pad_axis(b, b->out[0], (int64_t)i, before[i], after[i], mode);
}

/* Pixels from blocks of channels. DCR: the block is before the channels. */
static void qnnrt_og__do_depth_to_space(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t size = qnnrt_og__int(b, "blocksize", 1);
    const int crd = qnnrt_og__word(b, "mode", "DCR", "DCR|CRD");
    int64_t split[5], dims[4];
    qnnrt_og__value *y = b->in[0];
    if (x->rank != 4 || size < 1 || size > 4096 || x->dims[1] % (size * size) != 0) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "blocksize does not divide the channels of an image");
        return;
    }
    memcpy(dims, x->dims, sizeof dims);
    if (crd == 0) {
        split[0] = dims[0];
        split[1] = size * size;
        split[2] = dims[1] / split[1];
        split[3] = dims[2];
        split[4] = dims[3];
        y = qnnrt_og__make(b, "transpose.int(%v, dim0=1, dim1=2)", qnnrt_og__view(b, y, split, 5));
        y = qnnrt_og__view(b, y, dims, 4);
    }
    b->out[0] = qnnrt_og__make(b, "pixel_shuffle.default(%v, upscale_factor=%i)", y, size);
}

static void qnnrt_og__do_space_to_depth(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t size = qnnrt_og__int(b, "blocksize", 1);
    const int crd = qnnrt_og__word(b, "mode", "DCR", "DCR|CRD");
    qnnrt_og__value *y = qnnrt_og__make(b, "pixel_unshuffle.default(a, downscale_factor=%i)", size);
    int64_t split[5], dims[4];
    if (y == NULL) return;
    memcpy(dims, y->dims, sizeof dims);
    if (crd == 0) {
        split[0] = dims[0];
        split[1] = x->dims[1];
        split[2] = size * size;
        split[3] = dims[2];
        split[4] = dims[3];
        y = qnnrt_og__make(b, "transpose.int(%v, dim0=1, dim1=2)", qnnrt_og__view(b, y, split, 5));
        y = qnnrt_og__view(b, y, dims, 4);
    }
    b->out[0] = y;
}

static void qnnrt_og__do_center_crop_pad(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    int64_t axes[QNNRT_IR_RANK], shape[QNNRT_IR_RANK], before[QNNRT_IR_RANK], after[QNNRT_IR_RANK];
    int i, count = qnnrt_og__list(b, "axes", axes, QNNRT_IR_RANK);
    const int sizes = qnnrt_og__read_ints(b, b->in[1], "the shape", shape, QNNRT_IR_RANK);
    if (b->failed) return;
    if (count == -1) for (count = 0; count < (int)x->rank; ++count) axes[count] = count;
    if (count != sizes) { qnnrt_og__fail(b, QNNRT_E_MISMATCH, "%d sizes, %d axes", sizes,
                                         count); return; }
    memset(before, 0, sizeof before);
    memset(after, 0, sizeof after);
    for (i = 0; i < count; ++i) {
        const int64_t axis = qnnrt_og__axis(b, axes[i], x->rank), more = shape[i] - x->dims[axis];
        before[axis] = more >= 0 ? more / 2 : -(-more / 2);
        after[axis] = more - before[axis];
    }
    b->out[0] = qnnrt_og__pad(b, b->in[0], before, after, 0);
}

static void qnnrt_og__do_eye_like(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t k = qnnrt_og__int(b, "k", 0), to = qnnrt_og__int(b, "dtype", 0);
    const qnnrt_dtype dtype = to != 0 ? qnnrt_og__dtype((int)to) : x->dtype;
    double *numbers;
    int64_t i;
    if (x->rank != 2 || dtype == QNNRT_DTYPE_UNDEFINED) {
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED,
                       "not of two dimensions, or of a type that graphs do not "
                       "have");
        return;
    }
    numbers = (double *)qnnrt_og__room(b, x->count, sizeof(*numbers));
    if (numbers == NULL) return;
    for (i = 0; i < x->dims[0]; ++i)
        if (i + k >= 0 && i + k < x->dims[1]) numbers[i * x->dims[1] + i + k] = 1;
    b->out[0] = qnnrt_og__numbers(b, dtype, 2, x->dims, numbers);
}

static void qnnrt_og__do_trilu(qnnrt_og *b)
{
    const int64_t k = qnnrt_og__whole(qnnrt_og__read_number(b, qnnrt_og__in(b, 1), "k", 0));
    b->out[0] = qnnrt_og__make(b, qnnrt_og__int(b, "upper", 1) ? "triu.default(a, diagonal=%i)"
                                                               : "tril.default(a, diagonal=%i)", k);
}

/* =====================================================================================
   INDICES                                                                        >>index
   Negative ones count from the end.
   Needs: >>builder >>attributes >>make >>known >>move     Knows nothing of: layers
   ===================================================================================== */

/* Say of an input that it indexes an axis of `size`. */
static void qnnrt_og__ranged(qnnrt_og__value *at, int64_t size)
{
    if (at->origin != QNNRT_IR_INPUT || size < 1) return;
    if (!at->ranged || at->low < -size) at->low = -size;
    if (!at->ranged || at->high > size - 1) at->high = size - 1;
    at->ranged = 1;
}

/* Indices of an axis of `size`, int64 and not negative. */
static qnnrt_og__value *qnnrt_og__wrapped(qnnrt_og *b, qnnrt_og__value *at, int64_t size)
{
    uint64_t i;
    int negative = 0;
    if (b->failed) return &b->nothing;
    qnnrt_og__ranged(at, size);
    at = qnnrt_og__cast(b, at, QNNRT_DTYPE_I64);
    if (b->failed) return &b->nothing;
    for (i = 0; at->data != NULL && i < at->count; ++i) negative |= qnnrt_og__element_int(at,
                                                                                          i) < 0;
    if (at->data != NULL && !negative) return at;
    return qnnrt_og__make(b,
                          "i = %v; where.self(lt.Scalar(i, other=0), add.Scalar(i, other=%i), i)",
                              at,
                          size);
}

static void qnnrt_og__do_gather(qnnrt_og *b)
{
    qnnrt_og__value *x = b->in[0], *at = b->in[1];
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", 0), x->rank);
    int64_t dims[2 * QNNRT_IR_RANK];
    uint32_t i, rank = 0;
    if (b->failed) return;
    at = qnnrt_og__wrapped(b, at, x->dims[axis]);
    if (b->failed) return;
    if (at->rank == 0 && at->data != NULL) {
        b->out[0] = qnnrt_og__make(b, "select.int(a, dim=%i, index=%i)", axis,
                                   qnnrt_og__element_int(at, 0));
        return;
    }
    for (i = 0; i < (uint32_t)axis; ++i) dims[rank++] = x->dims[i];
    for (i = 0; i < at->rank; ++i) dims[rank++] = at->dims[i];
    for (i = (uint32_t)axis + 1; i < x->rank; ++i) dims[rank++] = x->dims[i];
    if (rank > QNNRT_IR_RANK) { qnnrt_og__fail(b, QNNRT_E_LIMIT, "%u dimensions",
                                               (unsigned)rank); return; }
    if (at->rank != 1) {
        const int64_t count = (int64_t)at->count;
        at = qnnrt_og__view(b, at, &count, 1);
    }
    b->out[0] = qnnrt_og__view(b, qnnrt_og__make(b, "index_select.default(a, %v, dim=%i)", at,
                                                 axis), dims,
                               rank);
}

static void qnnrt_og__do_gather_elements(qnnrt_og *b)
{
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", 0), b->in[0]->rank);
    if (b->failed) return;
    b->out[0] = qnnrt_og__make(b, "gather.default(a, %v, dim=%i)",
                               qnnrt_og__wrapped(b, b->in[1], b->in[0]->dims[axis]), axis);
}

static int qnnrt_og__same_but(const qnnrt_og__value *a, const qnnrt_og__value *x, int64_t axis)
{
    uint32_t i;
    for (i = 0; i < a->rank; ++i)
        if ((int64_t)i != axis && a->dims[i] != x->dims[i]) return 0;
    return 1;
}

/* Combine updates along an axis with x one by one, as libraries cannot: where `at` says. */
static qnnrt_og__value *qnnrt_og__combine(qnnrt_og *b, qnnrt_og__value *x, qnnrt_og__value *at,
                                          qnnrt_og__value *update,
                                          int64_t axis, const char *op)
{
    const int64_t count = at->dims[axis], size = x->dims[axis];
    int64_t dims[QNNRT_IR_RANK], k;
    char recipe[120];
    qnnrt_og__value *iota;
    for (k = 0; k < (int64_t)x->rank; ++k) dims[k] = k == axis ? size : 1;
    iota = qnnrt_og__view(b, qnnrt_og__make(b, "arange.start_step(start=0, end=%i, dtype='int64')",
                                            size), dims,
                          x->rank);
    snprintf(recipe, sizeof recipe, "x = %%v; where.self(eq.Tensor(%%v, %%v), %s(x, %%v), x)", op);
    for (k = 0; k < count && !b->failed; ++k) {
        const char *const slice = "slice.Tensor(%v, dim=%i, start=%i, end=%i)";
        x = qnnrt_og__make(b, recipe, x, iota, qnnrt_og__make(b, slice, at, axis, k, k + 1),
                           qnnrt_og__make(b, slice, update, axis, k, k + 1));
    }
    return x;
}

/* Updates that are combined one by one: more are refused by libraries. */
enum { QNNRT_OG__COMBINED = 64 };

static void qnnrt_og__do_scatter_elements(qnnrt_og *b)
{
    static const char *const ops[] = { "", "", "", "maximum.default", "minimum.default" };
    static const char *const reduce[] = { "", "sum", "prod", "amax", "amin" };
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", 0), b->in[0]->rank);
    const int how = qnnrt_og__word(b, "reduction", "none", "none|add|mul|max|min");
    qnnrt_og__value *at;
    if (b->failed) return;
    at = qnnrt_og__wrapped(b, b->in[1], b->in[0]->dims[axis]);
    if (how == 0) b->out[0] = qnnrt_og__make(b, "scatter.src(a, %v, c, dim=%i)", at, axis);
    else if (how >= 3 && !b->failed && at->rank == b->in[0]->rank &&
             at->dims[axis] <= QNNRT_OG__COMBINED && qnnrt_og__same_but(at, b->in[0], axis))
        b->out[0] = qnnrt_og__combine(b, b->in[0], at, b->in[2], axis, ops[how]);
    else b->out[0] = qnnrt_og__make(b, "scatter_reduce.two(a, %v, c, dim=%i, reduce=%s)", at, axis,
                                    reduce[how]);
}

/* Rows that tuples of indices name, in a tensor whose first `parts` dimensions they index: their
   number in the flat order of these. */
static qnnrt_og__value *qnnrt_og__row_numbers(qnnrt_og *b, qnnrt_og__value *at,
                                              const int64_t *dims, int64_t parts)
{
    qnnrt_og__value *sum = NULL;
    int64_t i, most = 0;
    for (i = 0; i < parts; ++i) if (dims[i] > most) most = dims[i];
    qnnrt_og__ranged(at, most);
    at = qnnrt_og__cast(b, at, QNNRT_DTYPE_I64);
    for (i = 0; i < parts && !b->failed; ++i) {
        qnnrt_og__value *part = qnnrt_og__make(b, "select.int(%v, dim=-1, index=%i)", at, i);
        part = qnnrt_og__wrapped(b, part, dims[i]);
        if (i + 1 < parts)
            part = qnnrt_og__make(b, "mul.Scalar(%v, other=%i)", part,
                                  qnnrt_og__product(dims, (uint32_t)i + 1, (uint32_t)parts));
        sum = sum == NULL ? part : qnnrt_og__make(b, "add.Tensor(%v, %v)", sum, part);
    }
    return sum;
}

static void qnnrt_og__do_gather_nd(qnnrt_og *b)
{
    qnnrt_og__value *x = b->in[0], *at = b->in[1], *rows;
    const int64_t batch = qnnrt_og__int(b, "batch_dims", 0);
    int64_t dims[2 * QNNRT_IR_RANK], flat[QNNRT_IR_RANK], parts, count, k;
    double *base;
    uint32_t i, rank = 0, from;
    if (at->rank < 1 || batch < 0 || batch >= (int64_t)at->rank || batch > (int64_t)x->rank) {
        qnnrt_og__fail(b, QNNRT_E_ARG, "batch_dims does not fit");
        return;
    }
    parts = at->dims[at->rank - 1];
    from = (uint32_t)(batch + parts);
    if (parts < 1 || from > x->rank) { qnnrt_og__fail(b, QNNRT_E_MISMATCH,
                                                      "too many indices"); return; }
    rows = qnnrt_og__row_numbers(b, at, x->dims + batch, parts);
    if (b->failed) return;
    if (batch > 0) {                         /* rows of each batch follow one another */
        const int64_t size = qnnrt_og__product(x->dims, (uint32_t)batch, from);
        count = qnnrt_og__product(x->dims, 0, (uint32_t)batch);
        base = (double *)qnnrt_og__room(b, (uint64_t)count, sizeof(*base));
        if (base == NULL) return;
        for (k = 0; k < count; ++k) base[k] = (double)(k * size);
        for (i = 0; i < rows->rank; ++i) flat[i] = i < (uint32_t)batch ? x->dims[i] : 1;
        rows = qnnrt_og__make(b, "add.Tensor(%v, %v)", rows,
                              qnnrt_og__numbers(b, QNNRT_DTYPE_I64, rows->rank, flat, base));
        if (b->failed) return;
    }
    for (i = 0; i < rows->rank; ++i) dims[rank++] = rows->dims[i];
    for (i = from; i < x->rank; ++i) dims[rank++] = x->dims[i];
    if (rank > QNNRT_IR_RANK) { qnnrt_og__fail(b, QNNRT_E_LIMIT, "%u dimensions",
                                               (unsigned)rank); return; }
    flat[0] = qnnrt_og__product(x->dims, 0, from);
    for (i = from; i < x->rank; ++i) flat[1 + i - from] = x->dims[i];
    count = (int64_t)rows->count;
    b->out[0] = qnnrt_og__view(b, qnnrt_og__make(b, "index_select.default(%v, %v, dim=0)",
                                                 qnnrt_og__view(b, x, flat, 1 + x->rank - from),
                                                 qnnrt_og__view(b, rows, &count, 1)), dims, rank);
}

static void qnnrt_og__do_scatter_nd(qnnrt_og *b)
{
    static const char *const ops[] = { "", "", "mul.Tensor", "maximum.default", "minimum.default" };
    static const char *const reduce[] = { "", "", "prod", "amax", "amin" };
    qnnrt_og__value *x = b->in[0], *at = b->in[1], *rows, *y;
    const int how = qnnrt_og__word(b, "reduction", "none", "none|add|mul|max|min");
    int64_t flat[2], update[2], parts, count;
    if (at->rank < 1 || at->dims[at->rank - 1] < 1 || at->dims[at->rank - 1] > (int64_t)x->rank) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "the indices do not fit the data");
        return;
    }
    parts = at->dims[at->rank - 1];
    rows = qnnrt_og__row_numbers(b, at, x->dims, parts);
    if (b->failed || how < 0) return;
    count = (int64_t)rows->count;
    flat[0] = qnnrt_og__product(x->dims, 0, (uint32_t)parts);
    flat[1] = qnnrt_og__product(x->dims, (uint32_t)parts, x->rank);
    update[0] = count;
    update[1] = flat[1];
    rows = qnnrt_og__view(b, rows, &count, 1);
    x = qnnrt_og__view(b, x, flat, 2);
    y = qnnrt_og__view(b, b->in[2], update, 2);
    if (how == 0) y = qnnrt_og__make(b, "index_put.default(%v, %v, %v)", x, rows, y);
    else if (how == 1) y = qnnrt_og__make(b, "index_put.default(%v, %v, %v, accumulate=true)", x,
                                          rows, y);
    else if (count <= QNNRT_OG__COMBINED)
        y = qnnrt_og__combine(b, x, qnnrt_og__make(b, "unsqueeze.default(%v, dim=1)", rows), y, 0,
                              ops[how]);
    else y = qnnrt_og__make(b, "index_reduce.default(%v, %v, %v, dim=0, reduce=%s)", x, rows, y,
                            reduce[how]);
    b->out[0] = qnnrt_og__view(b, y, b->in[0]->dims, b->in[0]->rank);
}

static void qnnrt_og__do_one_hot(qnnrt_og *b)
{
    qnnrt_og__value *at = b->in[0], *values = b->in[2], *hot;
    const int64_t depth = qnnrt_og__whole(qnnrt_og__read_number(b, b->in[1], "depth", 1));
    const uint32_t rank = at->rank + 1;
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", -1), rank);
    int64_t dims[QNNRT_IR_RANK], count = depth;
    double *iota;
    uint32_t i;
    int64_t k;
    if (rank > QNNRT_IR_RANK || depth < 1 || depth > (INT64_C(1) << 31)) {
        qnnrt_og__fail(b, QNNRT_E_LIMIT, "depth or rank is out of range");
        return;
    }
    iota = (double *)qnnrt_og__room(b, (uint64_t)depth, sizeof(*iota));
    if (b->failed) return;
    for (k = 0; k < depth; ++k) iota[k] = (double)k;
    for (i = 0; i < rank; ++i) dims[i] = (int64_t)i == axis ? depth : 1;
    at = qnnrt_og__wrapped(b, at, depth);
    hot = qnnrt_og__make(b, "eq.Tensor(unsqueeze.default(%v, dim=%i), %v)", at, axis,
                         qnnrt_og__view(b, qnnrt_og__numbers(b, QNNRT_DTYPE_I64, 1, &count, iota),
                                        dims, rank));
    b->out[0] = qnnrt_og__make(b, "v = %v; where.self(%v, select.int(v, dim=0, index=1), "
                                  "select.int(v, dim=0, index=0))", values, hot);
}

/* The new part of a cache, at a place of each batch. */
static void qnnrt_og__do_tensor_scatter(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0], *update = b->in[1];
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", -2), x->rank);
    const int circular = qnnrt_og__word(b, "mode", "linear", "linear|circular");
    int64_t dims[QNNRT_IR_RANK], count;
    double *iota;
    qnnrt_og__value *at;
    uint32_t i;
    int64_t k;
    if (b->failed || update->rank != x->rank) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "the update has another rank");
        return;
    }
    count = update->dims[axis];
    iota = (double *)qnnrt_og__room(b, (uint64_t)count, sizeof(*iota));
    if (iota == NULL) return;
    for (k = 0; k < count; ++k) iota[k] = (double)k;
    for (i = 0; i < x->rank; ++i) dims[i] = (int64_t)i == axis ? count : 1;
    at = qnnrt_og__numbers(b, QNNRT_DTYPE_I64, x->rank, dims, iota);
    if (qnnrt_og__in(b, 2) != NULL) {
        for (i = 0; i < x->rank; ++i) dims[i] = i == 0 ? x->dims[0] : 1;
        at = qnnrt_og__make(b, "add.Tensor(%v, %v)", at,
                            qnnrt_og__view(b, qnnrt_og__cast(b, b->in[2], QNNRT_DTYPE_I64), dims,
                                           x->rank));
    }
    if (circular == 1) at = qnnrt_og__make(b, "remainder.Scalar(%v, other=%i)", at, x->dims[axis]);
    b->out[0] = qnnrt_og__make(b, "scatter.src(a, %v, b, dim=%i)",
                               qnnrt_og__expand(b, at, update->dims, update->rank), axis);
}

/* Reverse the first lengths[i] steps of each batch. */
static void qnnrt_og__do_reverse_sequence(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t time = qnnrt_og__axis(b, qnnrt_og__int(b, "time_axis", 0), x->rank);
    const int64_t batch = qnnrt_og__axis(b, qnnrt_og__int(b, "batch_axis", 1), x->rank);
    int64_t dims[QNNRT_IR_RANK], n, t, k;
    double *numbers;
    uint32_t i;
    if (b->failed || !qnnrt_og__must_know(b, b->in[1], "sequence_lens")) return;
    n = x->dims[batch];
    if ((int64_t)b->in[1]->count != n || time == batch) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH,
                       "sequence_lens does not have one number for each batch");
        return;
    }
    numbers = (double *)qnnrt_og__room(b, (uint64_t)(n * x->dims[time]), sizeof(*numbers));
    if (numbers == NULL) return;
    for (t = 0; t < x->dims[time]; ++t)
        for (k = 0; k < n; ++k) {
            const int64_t length = qnnrt_og__element_int(b->in[1], (uint64_t)k);
            const int64_t place = time < batch ? t * n + k : k * x->dims[time] + t;
            numbers[place] = (double)(t < length ? length - 1 - t : t);
        }
    for (i = 0; i < x->rank; ++i)
        dims[i] = (int64_t)i == time || (int64_t)i == batch ? x->dims[i] : 1;
    b->out[0] = qnnrt_og__make(b, "gather.default(a, %v, dim=%i)",
                               qnnrt_og__expand(b,
                                                qnnrt_og__numbers(b, QNNRT_DTYPE_I64, x->rank,
                                                                  dims, numbers),
                                                x->dims, x->rank), time);
}

/* =====================================================================================
   REDUCTIONS                                                                    >>reduce
   Needs: >>builder >>attributes >>make >>known >>move     Knows nothing of: layers
   ===================================================================================== */

/* Axes of a Reduce operator, none negative. Return how many; 0: nothing is reduced, and *x gets one
   more dimension, of 1, to reduce. */
static int qnnrt_og__reduce_axes(qnnrt_og *b, qnnrt_og__value **x, int64_t *axes, int *keep)
{
    const int noop = qnnrt_og__int(b, "noop_with_empty_axes", 0) != 0;
    const int sum = strcmp(b->node->op, "ReduceSum") == 0;
    int i, count = qnnrt_og__axes(b, sum ? 13 : 18, axes);
    *keep = qnnrt_og__int(b, "keepdims", 1) != 0;
    for (i = 0; i < count; ++i) axes[i] = qnnrt_og__axis(b, axes[i], (*x)->rank);
    if (b->failed || count > 0) return count;
    if (noop) {
        axes[0] = (*x)->rank;
        *keep = 0;
        *x = qnnrt_og__make(b, "unsqueeze.default(%v, dim=%i)", *x, axes[0]);
        return 1;
    }
    for (i = 0; i < (int)(*x)->rank; ++i) axes[i] = i;
    return (int)(*x)->rank;
}

static void qnnrt_og__reduced(qnnrt_og *b, const char *recipe)
{
    int64_t axes[QNNRT_IR_RANK];
    qnnrt_og__value *x = b->in[0];
    const qnnrt_dtype dtype = x->dtype;
    int keep, count = qnnrt_og__reduce_axes(b, &x, axes, &keep);
    if (b->failed) return;
    if (x->rank == 0) {                      /* a list of no axes would mean all of them */
        const int64_t one = 1;
        x = qnnrt_og__view(b, x, &one, 1);
        axes[0] = 0;
        count = 1;
        keep = 0;
    }
    b->out[0] = qnnrt_og__make(b, recipe, x, axes, count, keep);
    if (b->out[0] != NULL) b->out[0] = qnnrt_og__cast(b, b->out[0], dtype);
}

static void qnnrt_og__do_reduce_sum(qnnrt_og *b)
{
    qnnrt_og__reduced(b, "sum.dim_IntList(%v, dim=%l, keepdim=%b)");
}
static void qnnrt_og__do_reduce_mean(qnnrt_og *b)
{
    qnnrt_og__reduced(b, "mean.dim(%v, dim=%l, keepdim=%b)");
}
static void qnnrt_og__do_reduce_max(qnnrt_og *b)
{
    qnnrt_og__reduced(b, b->in[0]->dtype == QNNRT_DTYPE_BOOL8 ? "any.dims(%v, dim=%l, keepdim=%b)"
                                                             
                                                                 
                                                                     
                                                                         
                                                                             
                                                                                 
                                                                                     
                                                                                         
                                                                                             
                                                                                                 
                                                          : "amax.default(%v, dim=%l, keepdim=%b)");
}
static void qnnrt_og__do_reduce_min(qnnrt_og *b)
{
    qnnrt_og__reduced(b, b->in[0]->dtype == QNNRT_DTYPE_BOOL8 ? "all.dims(%v, dim=%l, keepdim=%b)"
                                                             
                                                                 
                                                                     
                                                                         
                                                                             
                                                                                 
                                                                                     
                                                                                         
                                                                                             
                                                                                                 
                                                          : "amin.default(%v, dim=%l, keepdim=%b)");
}
static void qnnrt_og__do_reduce_l1(qnnrt_og *b)
{
    qnnrt_og__reduced(b, "sum.dim_IntList(abs.default(%v), dim=%l, keepdim=%b)");
}
static void qnnrt_og__do_reduce_l2(qnnrt_og *b)
{
    qnnrt_og__reduced(b,
                     "x = %v; sqrt.default(sum.dim_IntList(mul.Tensor(x, x), dim=%l, keepdim=%b))");
}
static void qnnrt_og__do_reduce_sum_square(qnnrt_og *b)
{
    qnnrt_og__reduced(b, "x = %v; sum.dim_IntList(mul.Tensor(x, x), dim=%l, keepdim=%b)");
}
static void qnnrt_og__do_reduce_log_sum(qnnrt_og *b)
{
    qnnrt_og__reduced(b, "log.default(sum.dim_IntList(%v, dim=%l, keepdim=%b))");
}
static void qnnrt_og__do_reduce_log_sum_exp(qnnrt_og *b)
{
    qnnrt_og__reduced(b, "logsumexp.default(%v, dim=%l, keepdim=%b)");
}

static void qnnrt_og__do_reduce_prod(qnnrt_og *b)
{
    int64_t axes[QNNRT_IR_RANK], dims[QNNRT_IR_RANK];
    qnnrt_og__value *x = b->in[0];
    uint32_t gone = 0, i, rank = 0;
    int keep, k, count = qnnrt_og__reduce_axes(b, &x, axes, &keep);
    for (k = 0; k < count && !b->failed; ++k) {
        x = qnnrt_og__make(b, "prod.dim_int(%v, dim=%i, keepdim=true)", x, axes[k]);
        gone |= (uint32_t)1 << axes[k];
    }
    if (b->failed) return;
    for (i = 0; i < x->rank; ++i) if (keep || !(gone >> i & 1)) dims[rank++] = x->dims[i];
    b->out[0] = qnnrt_og__cast(b, qnnrt_og__view(b, x, dims, rank), b->in[0]->dtype);
}

/* The axis of ArgMax; with select_last_index of the reversed axis. */
static void qnnrt_og__arg(qnnrt_og *b, const char *recipe)
{
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", 0), b->in[0]->rank);
    const int keep = qnnrt_og__int(b, "keepdims", 1) != 0;
    if (b->failed) return;
    if (!qnnrt_og__int(b, "select_last_index", 0)) {
        b->out[0] = qnnrt_og__make(b, recipe, b->in[0], axis, keep);
        return;
    }
    b->out[0] = qnnrt_og__make(b, recipe, qnnrt_og__make(b, "flip.default(a, dims=%l)", &axis, 1),
                               axis, keep);
    b->out[0] = qnnrt_og__make(b, "rsub.Scalar(%v, other=%i)", b->out[0], b->in[0]->dims[axis] - 1);
}
static void qnnrt_og__do_argmax(qnnrt_og *b)
{
    qnnrt_og__arg(b, "argmax.default(%v, dim=%i, keepdim=%b)");
}
static void qnnrt_og__do_argmin(qnnrt_og *b)
{
    qnnrt_og__arg(b, "argmin.default(%v, dim=%i, keepdim=%b)");
}

/* Positions 0 .. count - 1 as floats, along dimension `at` of 3. */
static qnnrt_og__value *qnnrt_og__counted(qnnrt_og *b, int64_t count, int at)
{
    int64_t dims[3] = { 1, 1, 1 };
    dims[at] = count;
    return qnnrt_og__view(b, qnnrt_og__make(b,
                                    "arange.start_step(start=0.0, end=%i, dtype='float32')", count),
                          dims, 3);
}

/* How many elements of its row come before each element of x [rows, n]: larger (or smaller) ones,
   and equal ones with a smaller index. */
static qnnrt_og__value *qnnrt_og__ranks(qnnrt_og *b, qnnrt_og__value *x, int largest)
{
    const int64_t n = x->dims[1], last = 2;
    int64_t dims[3], i, j;
    double *earlier = (double *)qnnrt_og__room(b, (uint64_t)(n * n), sizeof(*earlier));
    qnnrt_og__value *before;
    if (b->failed) return &b->nothing;
    for (i = 0; i < n; ++i) for (j = 0; j < i; ++j) earlier[i * n + j] = 1;
    dims[0] = 1;
    dims[1] = dims[2] = n;
    before = qnnrt_og__make(b, largest ? "x = %v; gt.Tensor(unsqueeze.default(x, dim=1), "
                                         "unsqueeze.default(x, dim=2))"
                                       : "x = %v; lt.Tensor(unsqueeze.default(x, dim=1), "
                                         "unsqueeze.default(x, dim=2))", x);
    before = qnnrt_og__make(b, "x = %v; logical_or.default(%v, logical_and.default(eq.Tensor("
                               "unsqueeze.default(x, dim=1), unsqueeze.default(x, dim=2)), %v))", x,
                            before, qnnrt_og__numbers(b, QNNRT_DTYPE_BOOL8, 3, dims, earlier));
    return qnnrt_og__make(b, "sum.dim_IntList(to.dtype(%v, dtype='float32'), dim=%l)", before,
                          &last, 1);
}

/* The k largest (or smallest) elements of rows x [rows, n], and their places; of equal ones the
   first comes first, which libraries do not promise: by counting what is before each element. */
static void qnnrt_og__ranked(qnnrt_og *b, qnnrt_og__value *x, int64_t k, int largest)
{
    const qnnrt_dtype dtype = x->dtype;
    const int64_t last = 2;
    qnnrt_og__value *hit = qnnrt_og__make(b, "eq.Tensor(unsqueeze.default(%v, dim=1), %v)",
                                          qnnrt_og__ranks(b, x, largest),
                                              qnnrt_og__counted(b, k, 1));
    b->out[1] = qnnrt_og__make(b, "sum.dim_IntList(where.ScalarOther(%v, %v, other=0.0), dim=%l)",
                               hit,
                               qnnrt_og__counted(b, x->dims[1], 2), &last, 1);
    b->out[1] = qnnrt_og__cast(b, b->out[1], QNNRT_DTYPE_I64);
    if (qnnrt_ir_dtype_kind(dtype) == 2)
        b->out[0] =
            qnnrt_og__make(b, "sum.dim_IntList(where.ScalarOther(%v, unsqueeze.default(%v, dim=1),"
                                      " other=0), dim=%l)", hit, x, &last, 1);
    else
        b->out[0] = qnnrt_og__make(b, "gather.default(%v, %v, dim=1)", x, b->out[1]);
    b->out[0] = qnnrt_og__cast(b, b->out[0], dtype);
}

/* Rows of at most so many elements are ranked by counting. */
enum { QNNRT_OG__RANKED = 128 };

static void qnnrt_og__do_topk(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", -1), x->rank), last =
        (int64_t)x->rank - 1;
    const int64_t k = b->opset < 10 ? qnnrt_og__int(b, "k", 1)
                                    : qnnrt_og__whole(qnnrt_og__read_number(b, b->in[1], "k", 1));
    const int largest = qnnrt_og__int(b, "largest", 1) != 0;
    int64_t dims[QNNRT_IR_RANK], rows[2];
    qnnrt_og__value *y;
    int i;
    qnnrt_og__int(b, "sorted", 1);
    if (b->failed) return;
    if (x->dims[axis] > QNNRT_OG__RANKED || k < 1 || k > x->dims[axis] || x->count == 0) {
        b->out[1] = qnnrt_og__make(b, "topk.default(a, k=%i, dim=%i, largest=%b)[1]", k, axis,
                                   largest);
        if (b->out[1] != NULL && b->out[1]->node != NULL) b->out[0] = b->out[1]->node->outputs[0];
        else b->out[0] = qnnrt_og__make(b, "topk.default(a, k=%i, dim=%i, largest=%b)", k, axis,
                                        largest);
        return;
    }
    y = axis == last ? b->in[0] : qnnrt_og__make(b, "transpose.int(a, dim0=%i, dim1=%i)", axis,
                                                 last);
    if (b->failed) return;
    memcpy(dims, y->dims, sizeof dims);
    rows[0] = qnnrt_og__product(dims, 0, (uint32_t)last);
    rows[1] = dims[last];
    qnnrt_og__ranked(b, qnnrt_og__view(b, y, rows, 2), k, largest);
    dims[last] = k;
    for (i = 0; i < 2 && !b->failed; ++i) {
        b->out[i] = qnnrt_og__view(b, b->out[i], dims, (uint32_t)last + 1);
        if (axis != last)
            b->out[i] = qnnrt_og__make(b, "transpose.int(%v, dim0=%i, dim1=%i)", b->out[i], axis,
                                       last);
    }
}

/* Running sums or products, from the end (reverse), of what is before (exclusive). */
static void qnnrt_og__running(qnnrt_og *b, const char *recipe, double none)
{
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__whole(qnnrt_og__read_number(b, b->in[1],
                                                                                 "axis", 0)),
                                        b->in[0]->rank);
    const int reverse = qnnrt_og__int(b, "reverse", 0) != 0;
    int64_t before[QNNRT_IR_RANK], after[QNNRT_IR_RANK];
    qnnrt_og__value *y = b->in[0];
    if (b->failed) return;
    if (reverse) y = qnnrt_og__make(b, "flip.default(%v, dims=%l)", y, &axis, 1);
    y = qnnrt_og__make(b, recipe, y, axis, qnnrt_og__dtype_of(b->in[0]));
    if (qnnrt_og__int(b, "exclusive", 0)) {
        memset(before, 0, sizeof before);
        memset(after, 0, sizeof after);
        before[axis] = 1;
        after[axis] = -1;
        y = qnnrt_og__pad(b, y, before, after, none);
    }
    if (reverse) y = qnnrt_og__make(b, "flip.default(%v, dims=%l)", y, &axis, 1);
    b->out[0] = y;
}
static void qnnrt_og__do_cumsum(qnnrt_og *b)
{
    qnnrt_og__running(b, "cumsum.default(%v, dim=%i, dtype=%s)", 0);
}
static void qnnrt_og__do_cumprod(qnnrt_og *b)
{
    qnnrt_og__running(b, "cumprod.default(%v, dim=%i, dtype=%s)", 1);
}

/* Before opset 13 all dimensions from the axis on are one. */
static void qnnrt_og__softmaxed(qnnrt_og *b, const char *recipe)
{
    const qnnrt_og__value *x = b->in[0];
    int64_t axis = qnnrt_og__int(b, "axis", b->opset < 13 ? 1 : -1), dims[2];
    if (x->rank == 0) { qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED,
                                       "a tensor without dimensions"); return; }
    axis = b->opset < 13 && axis == (int64_t)x->rank ? axis : qnnrt_og__axis(b, axis, x->rank);
    if (b->failed) return;
    if (b->opset >= 13 || axis == (int64_t)x->rank - 1) {
        b->out[0] = qnnrt_og__make(b, recipe, b->in[0], axis);
        return;
    }
    dims[0] = qnnrt_og__product(x->dims, 0, (uint32_t)axis);
    dims[1] = qnnrt_og__product(x->dims, (uint32_t)axis, x->rank);
    b->out[0] = qnnrt_og__view(b, qnnrt_og__make(b, recipe, qnnrt_og__view(b, b->in[0], dims, 2),
                                                 (int64_t)1),
                               x->dims, x->rank);
}
static void qnnrt_og__do_softmax(qnnrt_og *b)
{
    qnnrt_og__softmaxed(b, "softmax.int(%v, dim=%i)");
}
static void qnnrt_og__do_log_softmax(qnnrt_og *b)
{
    qnnrt_og__softmaxed(b, "log_softmax.int(%v, dim=%i)");
}

static void qnnrt_og__do_hardmax(qnnrt_og *b)
{
    qnnrt_og__value *x = b->in[0];
    int64_t axis = qnnrt_og__int(b, "axis", b->opset < 13 ? 1 : -1), dims[2], size;
    axis = qnnrt_og__axis(b, axis, x->rank);
    if (b->failed) return;
    if (b->opset < 13) {
        dims[0] = qnnrt_og__product(x->dims, 0, (uint32_t)axis);
        dims[1] = qnnrt_og__product(x->dims, (uint32_t)axis, x->rank);
        x = qnnrt_og__view(b, x, dims, 2);
        axis = 1;
    }
    if (b->failed) return;
    size = x->dims[axis];
    dims[0] = size;
    {
        int64_t shape[QNNRT_IR_RANK];
        uint32_t i;
        for (i = 0; i < x->rank; ++i) shape[i] = (int64_t)i == axis ? size : 1;
        x = qnnrt_og__make(b, "eq.Tensor(argmax.default(%v, dim=%i, keepdim=true), %v)", x, axis,
                           qnnrt_og__view(b, qnnrt_og__make(b,
                                                "arange.start_step(start=0, end=%i, dtype='int64')",
                                                            size), shape, x->rank));
    }
    b->out[0] = qnnrt_og__view(b, qnnrt_og__cast(b, x, b->in[0]->dtype), b->in[0]->dims,
                               b->in[0]->rank);
}
/* =====================================================================================
   LAYERS                                                                            >>net
   Products and norms.
   Needs: >>builder >>attributes >>make >>known >>move     Knows nothing of: images
   ===================================================================================== */

static void qnnrt_og__do_gemm(qnnrt_og *b)
{
    const double alpha = qnnrt_og__float(b, "alpha", 1), beta = qnnrt_og__float(b, "beta", 1);
    const int turn_a = qnnrt_og__int(b, "transA", 0) != 0, turn_b =
        qnnrt_og__int(b, "transB", 0) != 0;
    qnnrt_og__value *c = qnnrt_og__in(b, 2), *x = b->in[0], *y;
    if (x->rank != 2 || b->in[1]->rank != 2) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "operands of %u and %u dimensions, expected 2",
                       (unsigned)x->rank, (unsigned)b->in[1]->rank);
        return;
    }
    if (turn_a) x = qnnrt_og__make(b, "t.default(%v)", x);
    if (turn_b && alpha == 1 && beta == 1 && c != NULL && c->rank == 1 &&
        c->dims[0] == b->in[1]->dims[0]) {
        b->out[0] = qnnrt_og__make(b, "linear.default(%v, b, %v)", x, c);
        return;
    }
    y = turn_b ? qnnrt_og__make(b, "linear.default(%v, b)", x)
        : qnnrt_og__make(b, "matmul.default(%v, b)", x);
    if (alpha != 1) y = qnnrt_og__make(b, "mul.Scalar(%v, other=%f)", y, alpha);
    if (c != NULL && beta != 1) c = qnnrt_og__make(b, "mul.Scalar(%v, other=%f)", c, beta);
    if (c != NULL) y = qnnrt_og__make(b, "add.Tensor(%v, %v)", y, c);
    b->out[0] = y;
}

static void qnnrt_og__do_batch_norm(qnnrt_og *b)
{
    const double eps = qnnrt_og__float(b, "epsilon", 1e-5), momentum =
        qnnrt_og__float(b, "momentum", 0.9);
    const int training = qnnrt_og__int(b, "training_mode", 0) != 0;
    qnnrt_og__value *x = b->in[0], *mean = b->in[3], *var = b->in[4];
    int64_t axes[QNNRT_IR_RANK];
    int i, count = 0;
    qnnrt_og__int(b, "is_test", 1);
    if (qnnrt_og__int(b, "spatial", 1) == 0) qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "spatial is 0");
    if (training) {
        for (i = 0; i < (int)x->rank; ++i) if (i != 1) axes[count++] = i;
        mean = qnnrt_og__make(b, "mean.dim(a, dim=%l)", axes, count);
        var = qnnrt_og__make(b, "var.correction(a, dim=%l, correction=0)", axes, count);
        if (qnnrt_og__wants(b, 1))
            b->out[1] =
                qnnrt_og__make(b, "add.Tensor(mul.Scalar(d, other=%f), mul.Scalar(%v, other=%f))",
                                       momentum, mean, 1 - momentum);
        if (qnnrt_og__wants(b, 2))
            b->out[2] =
                qnnrt_og__make(b, "add.Tensor(mul.Scalar(e, other=%f), mul.Scalar(%v, other=%f))",
                                       momentum, var, 1 - momentum);
    }
    if (b->failed) return;
    if (mean->data != NULL && var->data != NULL && b->in[1]->data != NULL && b->in[2]->data != NULL)
        b->out[0] =
            qnnrt_og__make(b, "batch_norm.default(a, b, c, %v, %v, training=false, momentum=0.1, "
                                      "eps=%f)", mean, var, eps);
    else                                     /* libraries want statistics that are known */
        b->out[0] =
            qnnrt_og__make(b, "add.Tensor(mul.Tensor(mul.Tensor(sub.Tensor(a, %v), rsqrt.default("
                                      "add.Scalar(%v, other=%f))), %v), %v)",
                                          qnnrt_og__channels(b, mean, x),
                                   qnnrt_og__channels(b, var, x), eps,
                                       qnnrt_og__channels(b, b->in[1], x),
                                   qnnrt_og__channels(b, b->in[2], x));
}

static void qnnrt_og__do_instance_norm(qnnrt_og *b)
{
    b->out[0] = qnnrt_og__make(b, "instance_norm.default(a, b, c, z, z, use_input_stats=true, "
                                  "momentum=0.1, eps=%f)", qnnrt_og__float(b, "epsilon", 1e-5));
}

/* Before opset 21 scale and bias are those of groups. */
static void qnnrt_og__do_group_norm(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t groups = qnnrt_og__int(b, "num_groups", 1);
    qnnrt_og__value *scale = b->in[1], *bias = b->in[2];
    qnnrt_og__int(b, "stash_type", 1);
    if (b->opset < 21 && groups > 0 && x->rank > 1 && scale->dims[0] == groups) {
        scale = qnnrt_og__make(b, "repeat_interleave.self_int(b, repeats=%i, dim=0)",
                               x->dims[1] / groups);
        bias = qnnrt_og__make(b, "repeat_interleave.self_int(c, repeats=%i, dim=0)",
                              x->dims[1] / groups);
    }
    b->out[0] = qnnrt_og__make(b, "group_norm.default(a, %v, %v, num_groups=%i, eps=%f)", scale,
                               bias,
                               groups, qnnrt_og__float(b, "epsilon", 1e-5));
}

/* A norm over the dimensions from an axis on, as one, which libraries want. rows receives x with
   one dimension in their place. Factors that would have to be computed are multiplied after it. */
static qnnrt_og__value *qnnrt_og__normed(qnnrt_og *b, int64_t axis, double eps, int mean,
                                         qnnrt_og__value **rows)
{
    const qnnrt_og__value *x = b->in[0];
    const uint32_t rank = x->rank - (uint32_t)axis;
    qnnrt_og__value *factor[2], *y;
    int64_t dims[QNNRT_IR_RANK];
    int i, outside = 0;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = qnnrt_og__product(x->dims, (uint32_t)axis, x->rank);
    *rows = qnnrt_og__view(b, b->in[0], dims, (uint32_t)axis + 1);
    for (i = 0; i < 2; ++i) {
        factor[i] = qnnrt_og__in(b, (size_t)i + 1);
        if (factor[i] != NULL && factor[i]->data == NULL &&
            (rank != 1 || factor[i]->rank != 1 || factor[i]->count != (uint64_t)dims[axis]))
            outside = 1;
    }
    for (i = 0; i < 2 && !outside; ++i)
        if (factor[i] != NULL)
            factor[i] = qnnrt_og__view(b, qnnrt_og__expand(b, factor[i], x->dims + axis, rank),
                                       dims + axis, 1);
    y = mean ? qnnrt_og__make(b, "layer_norm.default(%v, %v, %v, normalized_shape=%l, eps=%f)",
                              *rows,
                              outside ? NULL : factor[0], outside ? NULL : factor[1], dims + axis,
                                  1, eps)
             : qnnrt_og__make(b, "rms_norm.default(%v, %v, normalized_shape=%l, eps=%f)", *rows,
                              outside ? NULL : factor[0], dims + axis, 1, eps);
    y = qnnrt_og__view(b, y, x->dims, x->rank);
    if (outside && factor[0] != NULL) y = qnnrt_og__make(b, "mul.Tensor(%v, %v)", y, factor[0]);
    if (outside && factor[1] != NULL) y = qnnrt_og__make(b, "add.Tensor(%v, %v)", y, factor[1]);
    return y;
}

static void qnnrt_og__do_layer_norm(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", -1), x->rank);
    const double eps = qnnrt_og__float(b, "epsilon", 1e-5);
    qnnrt_og__value *rows = NULL;
    int64_t dims[QNNRT_IR_RANK], i;
    qnnrt_og__int(b, "stash_type", 1);
    if (b->failed) return;
    b->out[0] = qnnrt_og__normed(b, axis, eps, 1, &rows);
    for (i = 0; i < (int64_t)x->rank; ++i) dims[i] = i < axis ? x->dims[i] : 1;
    if (qnnrt_og__wants(b, 1))
        b->out[1] = qnnrt_og__view(b, qnnrt_og__make(b, "mean.dim(%v, dim=%l)", rows, &axis, 1),
                                   dims, x->rank);
    if (qnnrt_og__wants(b, 2))
        b->out[2] = qnnrt_og__view(b, qnnrt_og__make(b,
                                              "rsqrt.default(add.Scalar(var.correction(%v, dim=%l, "
                                                        "correction=0), other=%f))", rows, &axis,
                                                            1, eps),
                                   dims, x->rank);
}

static void qnnrt_og__do_rms_norm(qnnrt_og *b)
{
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", -1), b->in[0]->rank);
    qnnrt_og__value *rows = NULL;
    qnnrt_og__int(b, "stash_type", 1);
    if (!b->failed) b->out[0] = qnnrt_og__normed(b, axis, qnnrt_og__float(b, "epsilon", 1e-5), 0,
                                                 &rows);
}

static void qnnrt_og__do_lp_norm(qnnrt_og *b)
{
    const int64_t axis = qnnrt_og__axis(b, qnnrt_og__int(b, "axis", -1), b->in[0]->rank);
    const int64_t p = qnnrt_og__int(b, "p", 2);
    b->out[0] =
        qnnrt_og__make(b, p == 1 ? "n = sum.dim_IntList(abs.default(a), dim=%l, keepdim=true); "
                                 "div.Tensor(a, where.ScalarSelf(eq.Scalar(n, other=0), n, self=1))"
                                        
                                            
                                                
                                                    
                                                        
                                                            
                                                                
                                                                    
                                                                        
                                                                            
                                                                                
                                                                                    
                                                                                        
                                                                                            
                                                                                                
                                     : "n = sqrt.default(sum.dim_IntList(mul.Tensor(a, a), dim=%l, "
                                      "keepdim=true)); div.Tensor(a, where.ScalarSelf(eq.Scalar(n, "
                                           "other=0), n, self=1))", &axis, 1);
    if (p != 1 && p != 2) qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "p is %lld", (long long)p);
}

static void qnnrt_og__do_mean_variance_norm(qnnrt_og *b)
{
    int64_t axes[QNNRT_IR_RANK] = { 0, 2, 3, 0, 0, 0, 0, 0 };
    int count = qnnrt_og__list(b, "axes", axes, QNNRT_IR_RANK);
    if (count == -1) count = 3;
    b->out[0] =
        qnnrt_og__make(b, "x = sub.Tensor(a, mean.dim(a, dim=%l, keepdim=true)); div.Tensor(x, "
                                  "add.Scalar(sqrt.default(mean.dim(mul.Tensor(x, x), dim=%l, "
                                  "keepdim=true)), other=1e-9))", axes, count, axes, count);
}

/* Divided by what the channels beside it have: a window of `size` channels. */
static void qnnrt_og__do_lrn(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t size = qnnrt_og__int(b, "size", 1);
    const double alpha = qnnrt_og__float(b, "alpha", 1e-4), beta = qnnrt_og__float(b, "beta", 0.75);
    int64_t before[QNNRT_IR_RANK] = { 0 }, after[QNNRT_IR_RANK] = { 0 }, flat[4], kernel[2];
    qnnrt_og__value *sum;
    if (x->rank < 3) { qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "%u dimensions",
                                      (unsigned)x->rank); return; }
    flat[0] = x->dims[0];
    flat[1] = 1;
    flat[2] = x->dims[1];
    flat[3] = qnnrt_og__product(x->dims, 2, x->rank);
    before[2] = (size - 1) / 2;
    after[2] = size - 1 - before[2];
    kernel[0] = size;
    kernel[1] = 1;
    sum = qnnrt_og__pad(b, qnnrt_og__view(b, qnnrt_og__make(b, "mul.Tensor(a, a)"), flat, 4),
                        before, after, 0);
    sum = qnnrt_og__make(b, "avg_pool2d.default(%v, kernel_size=%l, stride=[1, 1])", sum, kernel,
                         2);
    b->out[0] =
        qnnrt_og__make(b, "div.Tensor(a, pow.Tensor_Scalar(add.Scalar(mul.Scalar(%v, other=%f), "
                                  "other=%f), exponent=%f))",
                                      qnnrt_og__view(b, sum, x->dims, x->rank), alpha,
                               qnnrt_og__float(b, "bias", 1), beta);
}

/* The determinant, expanded along the first row. */
static qnnrt_og__value *qnnrt_og__det(qnnrt_og *b, qnnrt_og__value *x, int64_t n)
{
    qnnrt_og__value *sum = NULL;
    int64_t k, at[4];
    if (b->failed) return &b->nothing;
    if (n == 1) return qnnrt_og__make(b,
                                 "select.int(select.int(%v, dim=-1, index=0), dim=-1, index=0)", x);
    for (k = 0; k < n && !b->failed; ++k) {
        qnnrt_og__value *rest = qnnrt_og__make(b, "slice.Tensor(%v, dim=-2, start=1, end=%i)", x,
                                               n), *part;
        int64_t i, count = 0;
        for (i = 0; i < n; ++i) if (i != k) at[count++] = i;
        rest = qnnrt_og__take(b, rest, (int64_t)x->rank - 1, at, (int)count);
        part = qnnrt_og__make(b, "mul.Tensor(select.int(select.int(%v, dim=-2, index=0), dim=-1, "
                                 "index=%i), %v)", x, k, qnnrt_og__det(b, rest, n - 1));
        if (sum == NULL) sum = part;
        else sum = qnnrt_og__make(b, k % 2 == 0 ? "add.Tensor(%v, %v)" : "sub.Tensor(%v, %v)", sum,
                                  part);
    }
    return sum;
}

static void qnnrt_og__do_det(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t n = x->rank >= 2 ? x->dims[x->rank - 1] : 0;
    if (n < 1 || n > 4 || x->dims[x->rank - 2] != n)
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "matrices of more than 4 rows, or not square");
    else b->out[0] = qnnrt_og__det(b, b->in[0], n);
}

/* =====================================================================================
   IMAGES                                                                          >>image
   Convolutions and pools: x [N, C, ..].
   Needs: >>builder >>attributes >>make >>known >>move     Knows nothing of: sequences
   ===================================================================================== */

enum { QNNRT_OG__NOTSET, QNNRT_OG__SAME_UPPER, QNNRT_OG__SAME_LOWER, QNNRT_OG__VALID };

typedef struct qnnrt_og__window {
    int     n;                               /* dimensions of the image */
    int64_t kernel[3], stride[3], dilation[3], before[3], after[3], out[3];
    int64_t extra[3];                        /* of after, what ceil_mode added */
    int     padded, even, dilated;           /* even: before is after */
} qnnrt_og__window;

/* Read the attributes of a window; kernel: its size, or NULL: it is an attribute. */
static int qnnrt_og__window_read(qnnrt_og *b, qnnrt_og__window *w, const int64_t *kernel)
{
    const qnnrt_og__value *x = b->in[0];
    const int how = qnnrt_og__word(b, "auto_pad", "NOTSET", "NOTSET|SAME_UPPER|SAME_LOWER|VALID");
    const int ceiling = qnnrt_og__int(b, "ceil_mode", 0) != 0;
    int64_t pads[6] = { 0 };
    int i, count;
    memset(w, 0, sizeof(*w));
    w->n = (int)x->rank - 2;
    if (w->n < 1 || w->n > 3) {
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "an image of %d dimensions", w->n);
        return 0;
    }
    qnnrt_og__each(b, "kernel_shape", 1, w->kernel, w->n);
    if (kernel != NULL) memcpy(w->kernel, kernel, (size_t)w->n * sizeof(*kernel));
    qnnrt_og__each(b, "strides", 1, w->stride, w->n);
    qnnrt_og__each(b, "dilations", 1, w->dilation, w->n);
    count = qnnrt_og__list(b, "pads", pads, 6);
    if (count != -1 && count != 2 * w->n)
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "%d pads for %d dimensions", count, w->n);
    for (i = 0, w->even = 1; i < w->n && !b->failed; ++i) {
        const int64_t size = x->dims[2 + i], step = w->stride[i];
        const int64_t most = INT64_C(1) << 30;
        int64_t reach, total;
        if (step < 1 || step > most || w->dilation[i] < 1 || w->dilation[i] > 1 << 20 ||
            w->kernel[i] < 1 || w->kernel[i] > 1 << 20 || pads[i] > most || pads[i] < -most ||
            pads[w->n + i] > most || pads[w->n + i] < -most) {
            qnnrt_og__fail(b, QNNRT_E_ARG, "a kernel, stride, dilation or pad is out of range");
            return 0;
        }
        reach = w->dilation[i] * (w->kernel[i] - 1) + 1;
        if (how == QNNRT_OG__SAME_UPPER || how == QNNRT_OG__SAME_LOWER) {
            total = ((size + step - 1) / step - 1) * step + reach - size;
            if (total < 0) total = 0;
            w->before[i] = how == QNNRT_OG__SAME_UPPER ? total / 2 : total - total / 2;
            w->after[i] = total - w->before[i];
        } else if (how == QNNRT_OG__NOTSET) {
            w->before[i] = pads[i];
            w->after[i] = pads[w->n + i];
        }
        total = size + w->before[i] + w->after[i] - reach;
        if (total < 0) { qnnrt_og__fail(b, QNNRT_E_MISMATCH,
                                        "the window is larger than the image"); return 0; }
        w->out[i] = total / step + 1;
        if (ceiling && total % step != 0 && w->out[i] * step < size + w->before[i]) {
            ++w->out[i];
            w->extra[i] = step - total % step;
            w->after[i] += w->extra[i];
        }
        w->padded |= w->before[i] != 0 || w->after[i] != 0;
        w->even &= w->before[i] == w->after[i] && w->before[i] >= 0;
        w->dilated |= w->dilation[i] != 1;
    }
    return !b->failed && how >= 0;
}

/* Pad an image for a window. */
static qnnrt_og__value *qnnrt_og__window_pad(qnnrt_og *b, qnnrt_og__value *x,
                                             const qnnrt_og__window *w, double number)
{
    int64_t before[QNNRT_IR_RANK] = { 0 }, after[QNNRT_IR_RANK] = { 0 };
    int i;
    for (i = 0; i < w->n; ++i) {
        before[2 + i] = w->before[i];
        after[2 + i] = w->after[i];
    }
    return qnnrt_og__pad(b, x, before, after, number);
}

static const char *qnnrt_og__dimensional(char *room, const char *format, int n)
{
    snprintf(room, 160, format, n);
    return room;
}

static qnnrt_og__value *qnnrt_og__conv(qnnrt_og *b, qnnrt_og__value *x, qnnrt_og__value *weight,
                                       qnnrt_og__value *bias,
                                       const qnnrt_og__window *w, int64_t groups)
{
    static const int64_t none[3] = { 0, 0, 0 };
    char room[160];
    if (!w->even) x = qnnrt_og__window_pad(b, x, w, 0);
    return qnnrt_og__make(b, qnnrt_og__dimensional(room,
                                                   "conv%dd.default(%%v, %%v, %%v, stride=%%l, "
                                                         "padding=%%l, dilation=%%l, groups=%%i)",
                                                             w->n),
                          x, weight, bias, w->stride, w->n, w->even ? w->before : none, w->n,
                          w->dilation, w->n, groups);
}

static void qnnrt_og__do_conv(qnnrt_og *b)
{
    qnnrt_og__window w;
    if (b->in[1]->rank != b->in[0]->rank) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "weights of %u dimensions, an input of %u",
                       (unsigned)b->in[1]->rank, (unsigned)b->in[0]->rank);
        return;
    }
    if (qnnrt_og__window_read(b, &w, b->in[1]->dims + 2))
        b->out[0] = qnnrt_og__conv(b, b->in[0], b->in[1], qnnrt_og__in(b, 2), &w,
                                   qnnrt_og__int(b, "group", 1));
}

/* A transposed convolution by weights that are not known, which libraries do not have: zeros
   between the elements, then a convolution by the mirrored weights. The whole result. */
static qnnrt_og__value *qnnrt_og__deconv(qnnrt_og *b, qnnrt_og__value *x, qnnrt_og__value *weight,
                                         const int64_t *stride,
                                         const int64_t *dilation, int64_t groups)
{
    const int n = (int)x->rank - 2;
    int64_t dims[QNNRT_IR_RANK], axes[3], parts[QNNRT_IR_RANK];
    qnnrt_og__window w;
    int i;
    memset(&w, 0, sizeof(w));
    w.n = n;
    if (groups < 1 || weight->dims[0] % groups != 0 || groups > weight->dims[0]) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "groups do not divide the channels");
        return &b->nothing;
    }
    for (i = 0; i < n && !b->failed; ++i) {
        int64_t before[QNNRT_IR_RANK] = { 0 }, after[QNNRT_IR_RANK] = { 0 };
        axes[i] = 2 + i;
        w.stride[i] = 1;
        w.dilation[i] = dilation[i];
        w.before[i] = w.after[i] = dilation[i] * (weight->dims[2 + i] - 1);
        if (stride[i] == 1) continue;
        memcpy(dims, x->dims, sizeof dims);
        dims[2 + i] *= stride[i];
        after[3 + i] = stride[i] - 1;
        x = qnnrt_og__pad(b, qnnrt_og__make(b, "unsqueeze.default(%v, dim=%i)", x, (int64_t)3 + i),
                          before,
                          after, 0);
        x = qnnrt_og__view(b, x, dims, (uint32_t)n + 2);
        after[3 + i] = 0;
        after[2 + i] = 1 - stride[i];
        x = qnnrt_og__pad(b, x, before, after, 0);
    }
    w.even = 1;
    weight = qnnrt_og__make(b, "flip.default(%v, dims=%l)", weight, axes, n);
    if (b->failed) return &b->nothing;
    parts[0] = groups;
    parts[1] = weight->dims[0] / groups;
    memcpy(parts + 2, weight->dims + 1, ((size_t)n + 1) * sizeof(*parts));
    memcpy(dims, weight->dims, sizeof dims);
    dims[0] = groups * parts[2];
    dims[1] = parts[1];
    weight = qnnrt_og__make(b, "transpose.int(%v, dim0=1, dim1=2)",
                            qnnrt_og__view(b, weight, parts, (uint32_t)n + 3));
    return qnnrt_og__conv(b, x, qnnrt_og__view(b, weight, dims, (uint32_t)n + 2), NULL, &w, groups);
}

/* The whole result, of which pads cut and output_padding adds zeros, before the bias. */
static void qnnrt_og__do_conv_transpose(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int how = qnnrt_og__word(b, "auto_pad", "NOTSET", "NOTSET|SAME_UPPER|SAME_LOWER|VALID");
    const int64_t groups = qnnrt_og__int(b, "group", 1);
    int64_t stride[3], dilation[3], extra[3], shape[3], pads[6] = { 0 }, before[8] = { 0 };
    int64_t after[8] = { 0 };
    const int n = (int)x->rank - 2;
    int i, count, given, plain = 1;
    qnnrt_og__value *bias = qnnrt_og__in(b, 2), *y;
    static const int64_t none[3] = { 0, 0, 0 };
    char room[160];
    if (n < 1 || n > 3 || b->in[1]->rank != x->rank) {
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "an image of %d dimensions", n);
        return;
    }
    qnnrt_og__each(b, "strides", 1, stride, n);
    qnnrt_og__each(b, "dilations", 1, dilation, n);
    qnnrt_og__each(b, "output_padding", 0, extra, n);
    qnnrt_og__attr(b, "kernel_shape", 0);
    count = qnnrt_og__list(b, "pads", pads, 6);
    given = qnnrt_og__list(b, "output_shape", shape, 3);
    if ((count != -1 && count != 2 * n) || (given != -1 && given != n))
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "pads or output_shape do not fit %d dimensions", n);
    for (i = 0; i < n && !b->failed; ++i) {
        const int64_t reach = dilation[i] * (b->in[1]->dims[2 + i] - 1) + 1;
        if (given != -1 || how == QNNRT_OG__SAME_UPPER || how == QNNRT_OG__SAME_LOWER) {
            const int64_t size = given != -1 ? shape[i] : x->dims[2 + i] * stride[i];
            const int64_t total = stride[i] * (x->dims[2 + i] - 1) + extra[i] + reach - size;
            pads[i] = how == QNNRT_OG__SAME_UPPER ? total / 2 : total - total / 2;
            if (total < 0) pads[i] = 0;
            pads[n + i] = total - pads[i];
        }
        before[2 + i] = -pads[i];
        after[2 + i] = extra[i] - pads[n + i];
        plain &= pads[i] == pads[n + i] && extra[i] == 0;
    }
    if (b->failed) return;
    if (b->in[1]->data == NULL) plain = 0;
    y = b->in[1]->data == NULL ? qnnrt_og__deconv(b, b->in[0], b->in[1], stride, dilation, groups) :
        qnnrt_og__make(b, qnnrt_og__dimensional(room, n == 1
                                                ? "conv_transpose%dd.default(a, b, %%v, stride=%%l,"
                                                           " padding=%%l, groups=%%i, dilation=%%l)"
                                                            
                                                                
                                                                    
                                                                        
                                                                            
                                                                                
                                                                                    
                                                                                        
                                                                                            
                                                                                                
                                                 : "conv_transpose%dd.input(a, b, %%v, stride=%%l, "
                                                       "padding=%%l, groups=%%i, dilation=%%l)", n),
                       plain ? bias : NULL, stride, n, plain ? pads : none, n, groups, dilation, n);
    if (plain) { b->out[0] = y; return; }
    y = qnnrt_og__pad(b, y, before, after, 0);
    b->out[0] = bias == NULL ? y : qnnrt_og__make(b, "add.Tensor(%v, %v)", y,
                                                  qnnrt_og__channels(b, bias, x));
}

/* MaxPool with the places of the largest elements, counted in the whole tensor: the windows as rows
   of a matrix. column: places are counted column by column. */
static void qnnrt_og__pool_places(qnnrt_og *b, const qnnrt_og__window *w, double lowest, int column)
{
    const qnnrt_og__value *x = b->in[0];
    const int n = w->n;
    const int64_t planes = x->dims[0] * x->dims[1], plane = qnnrt_og__product(x->dims, 2, x->rank);
    const int64_t cells = qnnrt_og__product(w->out, 0, (uint32_t)n);
    const int64_t taps = qnnrt_og__product(w->kernel, 0, (uint32_t)n);
    int64_t dims[QNNRT_IR_RANK], cell, tap, k, *from;
    double *place, *base;
    qnnrt_og__value *y;
    int i;
    if (cells > (INT64_C(1) << 26) / taps || planes > INT64_C(1) << 26) {
        qnnrt_og__fail(b, QNNRT_E_LIMIT, "Indices of %lld windows", (long long)cells);
        return;
    }
    from = (int64_t *)qnnrt_og__room(b, (uint64_t)(cells * taps), sizeof(*from));
    place = (double *)qnnrt_og__room(b, (uint64_t)(cells * taps), sizeof(*place));
    base = (double *)qnnrt_og__room(b, (uint64_t)planes, sizeof(*base));
    if (b->failed) return;
    for (cell = k = 0; cell < cells; ++cell)
        for (tap = 0; tap < taps; ++tap, ++k) {
            int64_t c = cell, t = tap, wide = 1, narrow = 1, at = 0;
            for (i = n - 1; i >= 0; --i) {
                const int64_t size = x->dims[2 + i], padded = size + w->before[i] + w->after[i];
                const int64_t p = c % w->out[i] * w->stride[i] + t % w->kernel[i] * w->dilation[i];
                at += p * wide;
                wide *= padded;
                place[k] += (double)((p - w->before[i]) *
                                     (column ? plane / (narrow * size) : narrow));
                narrow *= size;
                c /= w->out[i];
                t /= w->kernel[i];
            }
            from[k] = at;
        }
    for (k = 0; k < planes; ++k) base[k] = (double)(k * plane);
    dims[0] = planes;
    dims[1] = 1;
    for (i = 0; i < n; ++i) dims[1] *= x->dims[2 + i] + w->before[i] + w->after[i];
    y = qnnrt_og__take(b, qnnrt_og__view(b, qnnrt_og__window_pad(b, b->in[0], w, lowest), dims, 2),
                       1, from,
                       (int)(cells * taps));
    dims[1] = cells;
    dims[2] = taps;
    y = qnnrt_og__view(b, y, dims, 3);
    b->out[0] = qnnrt_og__make(b, "amax.default(%v, dim=[2])", y);
    y = qnnrt_og__make(b, "argmax.default(%v, dim=2, keepdim=true)", y);
    dims[0] = 1;
    b->out[1] = qnnrt_og__numbers(b, QNNRT_DTYPE_I64, 3, dims, place);
    dims[0] = planes;
    b->out[1] =
        qnnrt_og__make(b, "squeeze.dim(gather.default(expand.default(%v, size=%l), %v, dim=2), "
                                  "dim=2)", b->out[1], dims, 3, y);
    dims[1] = 1;
    b->out[1] = qnnrt_og__make(b, "add.Tensor(%v, %v)", b->out[1],
                               qnnrt_og__numbers(b, QNNRT_DTYPE_I64, 2, dims, base));
    memcpy(dims, x->dims, sizeof dims);
    memcpy(dims + 2, w->out, (size_t)n * sizeof(*dims));
    b->out[0] = qnnrt_og__view(b, b->out[0], dims, x->rank);
    b->out[1] = qnnrt_og__view(b, b->out[1], dims, x->rank);
}

static void qnnrt_og__do_max_pool(qnnrt_og *b)
{
    static const int64_t none[3] = { 0, 0, 0 };
    const int column = qnnrt_og__int(b, "storage_order", 0) != 0;
    qnnrt_og__value *x = b->in[0];
    const double lowest = x->dtype == QNNRT_DTYPE_U8 ? 0 : x->dtype == QNNRT_DTYPE_I8 ? -128
                                                                                    : -HUGE_VAL;
    char room[160];
    qnnrt_og__window w;
    int i;
    if (!qnnrt_og__window_read(b, &w, NULL)) return;
    if (qnnrt_og__wants(b, 1)) { qnnrt_og__pool_places(b, &w, lowest, column); return; }
    for (i = 0; i < w.n; ++i) if (2 * w.before[i] > w.kernel[i]) w.even = 0;
    if (!w.even) x = qnnrt_og__window_pad(b, x, &w, lowest);
    b->out[0] = qnnrt_og__make(b, qnnrt_og__dimensional(room,
                                                        "max_pool%dd.default(%%v, kernel_size=%%l, "
                                                     "stride=%%l, padding=%%l, dilation=%%l)", w.n),
                               x, w.kernel, w.n, w.stride, w.n, w.even ? w.before : none, w.n,
                               w.dilation, w.n);
}

/* Averages of windows that are not dilated: three dimensions as two, then the first one. */
static qnnrt_og__value *qnnrt_og__average(qnnrt_og *b, qnnrt_og__value *x,
                                          const qnnrt_og__window *w, const int64_t *pad,
                                          int counted)
{
    const char *const recipe = "avg_pool2d.default(%v, kernel_size=%l, stride=%l, padding=%l, "
                               "count_include_pad=%b)";
    int64_t dims[5], view[4], kernel[2], stride[2], more[2];
    if (b->failed) return &b->nothing;
    if (w->n == 1)
        return qnnrt_og__make(b, "avg_pool1d.default(%v, kernel_size=%l, stride=%l, padding=%l, "
                                 "count_include_pad=%b)", x, w->kernel, 1, w->stride, 1, pad, 1,
                                     counted);
    if (w->n == 2) return qnnrt_og__make(b, recipe, x, w->kernel, 2, w->stride, 2, pad, 2, counted);
    memcpy(dims, x->dims, sizeof dims);
    view[0] = dims[0] * dims[1];
    memcpy(view + 1, dims + 2, 3 * sizeof(*view));
    x = qnnrt_og__make(b, recipe, qnnrt_og__view(b, x, view, 4), w->kernel + 1, 2, w->stride + 1,
                       2, pad + 1, 2,
                       counted);
    if (b->failed) return &b->nothing;
    dims[3] = x->dims[2];
    dims[4] = x->dims[3];
    view[1] = 1;
    view[2] = dims[2];
    view[3] = dims[3] * dims[4];
    kernel[0] = w->kernel[0];
    stride[0] = w->stride[0];
    more[0] = pad[0];
    kernel[1] = stride[1] = 1;
    more[1] = 0;
    x = qnnrt_og__make(b, recipe, qnnrt_og__view(b, x, view, 4), kernel, 2, stride, 2, more, 2,
                       counted);
    if (b->failed) return &b->nothing;
    dims[2] = x->dims[2];
    return qnnrt_og__view(b, x, dims, 5);
}

/* Sums of windows divided by a number for each: that of the elements in the window. counted: those
   of the padding, too. divide: 0: leave the sums. */
static qnnrt_og__value *qnnrt_og__sums(qnnrt_og *b, qnnrt_og__value *x, const qnnrt_og__window *w,
                                       int counted, int divide)
{
    const int64_t channels = x->dims[1], whole = qnnrt_og__product(w->kernel, 0, (uint32_t)w->n);
    int64_t shape[5] = { 1, 1, 1, 1, 1 }, i, place[3] = { 0 };
    static const int64_t none[3] = { 0, 0, 0 };
    const int64_t count = qnnrt_og__product(w->out, 0, (uint32_t)w->n);
    double *numbers = (double *)qnnrt_og__room(b, (uint64_t)count, sizeof(*numbers));
    int k;
    x = qnnrt_og__window_pad(b, x, w, 0);
    if (b->failed) return &b->nothing;
    if (!w->dilated) {
        x = qnnrt_og__average(b, x, w, none, 1);
    } else {
        qnnrt_og__window plain = *w;
        shape[0] = channels;
        memcpy(shape + 2, w->kernel, (size_t)w->n * sizeof(*shape));
        plain.even = 1;
        memset(plain.before, 0, sizeof plain.before);
        x = qnnrt_og__conv(b, x, qnnrt_og__make(b,
                                                "full.default(size=%l, fill_value=%f, dtype=%s)",
                                                    shape,
                                                w->n + 2, 1.0 / (double)whole,
                                                    qnnrt_og__dtype_of(x)),
                           NULL, &plain, channels);
    }
    if (!divide) return qnnrt_og__make(b, "mul.Scalar(%v, other=%f)", x, (double)whole);
    for (i = 0; i < count && !b->failed; ++i) {
        double all = 1;
        for (k = 0; k < w->n; ++k) {
            const int64_t size = b->in[0]->dims[2 + k];
            int64_t tap, inside = 0;
            for (tap = 0; tap < w->kernel[k]; ++tap) {
                const int64_t at = place[k] * w->stride[k] + tap * w->dilation[k] - w->before[k];
                const int64_t end = size + w->after[k] - w->extra[k];
                inside += counted ? at < end : at >= 0 && at < size;
            }
            all *= (double)inside;
        }
        numbers[i] = (double)whole / all;
        for (k = w->n - 1; k >= 0 && ++place[k] == w->out[k]; --k) place[k] = 0;
    }
    for (i = 0; i < count && numbers[i] == 1; ++i) {}
    if (i == count) return x;
    shape[0] = shape[1] = 1;
    memcpy(shape + 2, w->out, (size_t)w->n * sizeof(*shape));
    return qnnrt_og__make(b, "mul.Tensor(%v, %v)", x,
                          qnnrt_og__numbers(b, x->dtype, (uint32_t)w->n + 2, shape, numbers));
}

static void qnnrt_og__do_average_pool(qnnrt_og *b)
{
    const int counted = qnnrt_og__int(b, "count_include_pad", 0) != 0;
    const int ceiling = qnnrt_og__int(b, "ceil_mode", 0) != 0;
    qnnrt_og__window w;
    int i, plain;
    if (!qnnrt_og__window_read(b, &w, NULL)) return;
    plain = w.even && !w.dilated && !ceiling;
    for (i = 0; i < w.n; ++i) plain &= 2 * w.before[i] <= w.kernel[i];
    if (!plain) {
        b->out[0] = qnnrt_og__sums(b, b->in[0], &w, counted, 1);
        return;
    }
    b->out[0] = qnnrt_og__average(b, b->in[0], &w, w.before, counted);
}

static void qnnrt_og__do_lp_pool(qnnrt_og *b)
{
    const double p = (double)qnnrt_og__int(b, "p", 2);
    qnnrt_og__window w;
    qnnrt_og__value *x = qnnrt_og__make(b, "pow.Tensor_Scalar(abs.default(a), exponent=%f)", p);
    if (!qnnrt_og__window_read(b, &w, NULL)) return;
    b->out[0] = qnnrt_og__make(b, "pow.Tensor_Scalar(%v, exponent=%f)",
                               qnnrt_og__sums(b, x, &w, 1, 0), 1 / p);
}

static void qnnrt_og__global(qnnrt_og *b, const char *recipe)
{
    int64_t axes[QNNRT_IR_RANK];
    int i, count = 0;
    for (i = 2; i < (int)b->in[0]->rank; ++i) axes[count++] = i;
    if (count == 0) b->out[0] = b->in[0];
    else b->out[0] = qnnrt_og__make(b, recipe, b->in[0], axes, count);
}
static void qnnrt_og__do_global_average_pool(qnnrt_og *b)
{
    qnnrt_og__global(b, "mean.dim(%v, dim=%l, keepdim=true)");
}
static void qnnrt_og__do_global_max_pool(qnnrt_og *b)
{
    qnnrt_og__global(b, "amax.default(%v, dim=%l, keepdim=true)");
}
static void qnnrt_og__do_global_lp_pool(qnnrt_og *b)
{
    const double p = (double)qnnrt_og__int(b, "p", 2);
    qnnrt_og__value *x = qnnrt_og__make(b, "pow.Tensor_Scalar(abs.default(a), exponent=%f)", p);
    int64_t axes[QNNRT_IR_RANK];
    int i, count = 0;
    for (i = 2; i < (int)b->in[0]->rank; ++i) axes[count++] = i;
    b->out[0] = qnnrt_og__make(b, "pow.Tensor_Scalar(sum.dim_IntList(%v, dim=%l, keepdim=true), "
                                  "exponent=%f)", x, axes, count, 1 / p);
}

/* =====================================================================================
   RESIZING                                                                       >>resize
   Resizing, sampling, columns: x [N, C, ..].
   Needs: >>builder >>attributes >>make >>known >>move     Knows nothing of: windows
   ===================================================================================== */

/* Multiply an axis by a matrix [out, in]. */
static qnnrt_og__value *qnnrt_og__along(qnnrt_og *b, qnnrt_og__value *x, int64_t axis,
                                        const double *matrix,
                                        int64_t out)
{
    int64_t dims[QNNRT_IR_RANK], flat[3], shape[2];
    qnnrt_og__value *m, *y;
    if (b->failed) return &b->nothing;
    memcpy(dims, x->dims, sizeof dims);
    shape[0] = out;
    shape[1] = dims[axis];
    m = qnnrt_og__numbers(b, x->dtype, 2, shape, matrix);
    flat[0] = qnnrt_og__product(dims, 0, (uint32_t)axis);
    flat[1] = dims[axis];
    flat[2] = qnnrt_og__product(dims, (uint32_t)axis + 1, x->rank);
    dims[axis] = out;
    if (flat[2] == 1) y = qnnrt_og__make(b, "linear.default(%v, %v)",
                                         qnnrt_og__view(b, x, flat, 2), m);
    else if (flat[0] == 1)
        y = qnnrt_og__make(b, "matmul.default(%v, %v)", m, qnnrt_og__view(b, x, flat + 1, 2));
    else y = qnnrt_og__make(b, "matmul.default(%v, %v)", m, qnnrt_og__view(b, x, flat, 3));
    return qnnrt_og__view(b, y, dims, x->rank);
}

typedef struct qnnrt_og__resize {
    int     mode;                            /* 0 nearest, 1 linear, 2 cubic */
    int     place, round, antialias, outside;
    double  a, extrapolation;
    double  scale[QNNRT_IR_RANK], roi[2 * QNNRT_IR_RANK];
    int64_t size[QNNRT_IR_RANK];
} qnnrt_og__resize;

enum { QNNRT_OG__HALF, QNNRT_OG__ALIGN, QNNRT_OG__ASYMMETRIC, QNNRT_OG__CROP, QNNRT_OG__TORCH_HALF,
      QNNRT_OG__SYMMETRIC };

/* Return where position k of the result is in the input. */
static double qnnrt_og__resize_at(const qnnrt_og__resize *r, uint32_t axis, uint32_t rank,
                                  int64_t k,
                                  int64_t size)
{
    const double scale = r->scale[axis], n = (double)size, wide = scale * n, at = (double)k;
    const double *roi = r->roi;
    switch (r->place) {
    case QNNRT_OG__ALIGN:      return wide == 1 ? 0 : at * (n - 1) / (wide - 1);
    case QNNRT_OG__ASYMMETRIC: return at / scale;
    case QNNRT_OG__CROP:
        if (wide == 1) return (roi[rank + axis] - roi[axis]) * (n - 1) / 2 + roi[axis] * (n - 1);
        return at * (roi[rank + axis] - roi[axis]) * (n - 1) / (wide - 1) + roi[axis] * (n - 1);
    case QNNRT_OG__TORCH_HALF: return wide == 1 ? -0.5 : (at + 0.5) / scale - 0.5;
    case QNNRT_OG__SYMMETRIC:
        return n / 2 * (1 - (double)r->size[axis] / wide) + (at + 0.5) / scale - 0.5;
    default:             return (at + 0.5) / scale - 0.5;
    }
}

/* Return the weight of an element at distance d, in elements of the input. */
static double qnnrt_og__resize_weight(const qnnrt_og__resize *r, double d)
{
    const double x = fabs(d), a = r->a;
    if (r->mode == 1) return x < 1 ? 1 - x : 0;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Fill row k of the matrix of an axis. */
static void qnnrt_og__resize_row(const qnnrt_og__resize *r, double at, double scale, int64_t size,
                                 double *row)
{
    const double shrink = r->antialias && scale < 1 ? scale : 1;
    const double reach = (r->mode == 1 ? 1 : 2) / shrink;
    double sum = 0;
    int64_t i, low = qnnrt_og__whole(floor(at - reach)), high = qnnrt_og__whole(ceil(at + reach));
    if (r->mode == 0) {
        const double down = floor(at), rest = at - down;
        int up = rest > 0.5;
        if (r->round == 1) up = rest >= 0.5;
        if (r->round == 2) up = 0;
        if (r->round == 3) up = rest > 0;
        row[qnnrt_og__between((int64_t)down + up, 0, size - 1)] = 1;
        return;
    }
    for (i = low; i <= high; ++i) {
        const double weight = qnnrt_og__resize_weight(r, ((double)i - at) * shrink);
        if (r->outside && (i < 0 || i >= size)) continue;
        row[qnnrt_og__between(i, 0, size - 1)] += weight;
        sum += weight;
    }
    for (i = 0; i < size && sum != 0; ++i) row[i] /= sum;
}

/* Resize one axis. *mask receives 0 for what is outside of the image and is extrapolated. */
static qnnrt_og__value *qnnrt_og__resize_axis(qnnrt_og *b, qnnrt_og__value *x,
                                              const qnnrt_og__resize *r, uint32_t axis)
{
    const int64_t size = x->dims[axis], out = r->size[axis];
    double *matrix, *inside;
    int64_t k, dims[QNNRT_IR_RANK];
    int any = 0;
    if (size < 1 || out < 1 || out > (INT64_C(1) << 26) / size || !(r->scale[axis] > 1e-6) ||
        !(r->scale[axis] < 1e6)) {
        qnnrt_og__fail(b, QNNRT_E_LIMIT, "from %lld to %lld elements", (long long)size,
                       (long long)out);
        return &b->nothing;
    }
    matrix = (double *)qnnrt_og__room(b, (uint64_t)(size * out), sizeof(*matrix));
    inside = (double *)qnnrt_og__room(b, (uint64_t)out, sizeof(*inside));
    if (b->failed) return &b->nothing;
    for (k = 0; k < out; ++k) {
        const double at = qnnrt_og__resize_at(r, axis, x->rank, k, size);
        inside[k] = r->place != QNNRT_OG__CROP || (at >= 0 && at <= (double)size - 1);
        any |= inside[k] == 0;
        qnnrt_og__resize_row(r, at, r->scale[axis], size, matrix + k * size);
    }
    x = qnnrt_og__along(b, x, (int64_t)axis, matrix, out);
    if (!any || b->failed) return x;
    for (k = 0; k < (int64_t)x->rank; ++k) dims[k] = k == (int64_t)axis ? out : 1;
    return qnnrt_og__make(b, "where.ScalarOther(%v, %v, other=%f)",
                          qnnrt_og__numbers(b, QNNRT_DTYPE_BOOL8, x->rank, dims, inside), x,
                              r->extrapolation);
}

/* Read scales, or sizes with the policy that keeps the aspect. */
static void qnnrt_og__resize_sizes(qnnrt_og *b, qnnrt_og__resize *r, const qnnrt_og__value *scales,
                                   const qnnrt_og__value *sizes)
{
    const qnnrt_og__value *x = b->in[0];
    const int policy = qnnrt_og__word(b, "keep_aspect_ratio_policy", "stretch",
                                      "stretch|not_larger|not_smaller");
    int64_t axes[QNNRT_IR_RANK];
    int i, count = qnnrt_og__list(b, "axes", axes, QNNRT_IR_RANK);
    const int by_size = sizes != NULL && sizes->count > 0;
    const qnnrt_og__value *from = by_size ? sizes : scales;
    double keep = 0;
    if (count == -1) for (count = 0; count < (int)x->rank; ++count) axes[count] = count;
    if (!qnnrt_og__must_know(b, from, by_size ? "sizes" : "scales")) {
        qnnrt_og__fail(b, QNNRT_E_ARG, "neither scales nor sizes are given");
        return;
    }
    if (from->count != (uint64_t)count) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "%llu numbers for %d axes",
                       (unsigned long long)from->count,
                       count);
        return;
    }
    for (i = 0; i < count && !b->failed; ++i) {
        const int64_t axis = qnnrt_og__axis(b, axes[i], x->rank), size = x->dims[axis];
        double scale = qnnrt_og__element_float(from, (uint64_t)i);
        if (by_size) scale /= (double)size;
        if (policy == 0 || !by_size) keep = scale;
        else if (i == 0 || (policy == 1 ? scale < keep : scale > keep)) keep = scale;
        r->scale[axis] = scale;
        r->size[axis] = by_size ? qnnrt_og__element_int(from, (uint64_t)i)
                                : qnnrt_og__whole(floor((double)size * scale));
    }
    for (i = 0; i < count && policy > 0 && by_size && !b->failed; ++i) {
        const int64_t axis = qnnrt_og__axis(b, axes[i], x->rank);
        r->scale[axis] = keep;
        r->size[axis] = qnnrt_og__whole(floor(keep * (double)x->dims[axis] + 0.5));
    }
}

static void qnnrt_og__resized(qnnrt_og *b, qnnrt_og__resize *r, const qnnrt_og__value *scales,
                              const qnnrt_og__value *sizes,
                              const qnnrt_og__value *roi)
{
    qnnrt_og__value *x = b->in[0];
    uint32_t i;
    for (i = 0; i < x->rank; ++i) { r->scale[i] = 1; r->size[i] = x->dims[i]; }
    qnnrt_og__resize_sizes(b, r, scales, sizes);
    if (r->place == QNNRT_OG__CROP) {
        int64_t axes[QNNRT_IR_RANK];
        int k, count = qnnrt_og__list(b, "axes", axes, QNNRT_IR_RANK);
        if (count == -1) for (count = 0; count < (int)x->rank; ++count) axes[count] = count;
        if (!qnnrt_og__must_know(b, roi, "roi") || roi->count != 2 * (uint64_t)count) {
            qnnrt_og__fail(b, QNNRT_E_ARG, "roi does not have two numbers for each axis");
            return;
        }
        for (k = 0; k < count; ++k) {
            const int64_t axis = qnnrt_og__axis(b, axes[k], x->rank);
            r->roi[axis] = qnnrt_og__element_float(roi, (uint64_t)k);
            r->roi[x->rank + axis] = qnnrt_og__element_float(roi, (uint64_t)(count + k));
        }
    }
    for (i = 0; i < b->in[0]->rank && !b->failed; ++i)
        if (r->size[i] != b->in[0]->dims[i] || r->place == QNNRT_OG__CROP || r->scale[i] != 1)
            x = qnnrt_og__resize_axis(b, x, r, i);
    b->out[0] = x;
}

static void qnnrt_og__do_resize(qnnrt_og *b)
{
    qnnrt_og__resize r;
    memset(&r, 0, sizeof(r));
    r.mode = qnnrt_og__word(b, "mode", "nearest", "nearest|linear|cubic");
    r.place = qnnrt_og__word(b, "coordinate_transformation_mode", b->opset < 11 ? "asymmetric"
                                                                                : "half_pixel",
                        "half_pixel|align_corners|asymmetric|tf_crop_and_resize|pytorch_half_pixel|"
                             "half_pixel_symmetric");
    r.round = qnnrt_og__word(b, "nearest_mode", b->opset < 11 ? "floor" : "round_prefer_floor",
                             "round_prefer_floor|round_prefer_ceil|floor|ceil");
    r.antialias = qnnrt_og__int(b, "antialias", 0) != 0;
    r.outside = qnnrt_og__int(b, "exclude_outside", 0) != 0;
    r.a = qnnrt_og__float(b, "cubic_coeff_a", -0.75);
    r.extrapolation = qnnrt_og__float(b, "extrapolation_value", 0);
    if (b->failed) return;
    if (b->opset < 11) qnnrt_og__resized(b, &r, qnnrt_og__in(b, 1), NULL, NULL);
    else qnnrt_og__resized(b, &r, qnnrt_og__in(b, 2), qnnrt_og__in(b, 3), qnnrt_og__in(b, 1));
}

static void qnnrt_og__do_upsample(qnnrt_og *b)
{
    const qnnrt_onnx_attr *attr = b->opset < 9
        ? qnnrt_og__attr(b, "scales", QNNRT_ONNX_ATTR_FLOATS) : NULL;
    qnnrt_og__value *scales = qnnrt_og__in(b, 1);
    qnnrt_og__resize r;
    memset(&r, 0, sizeof(r));
    r.mode = qnnrt_og__word(b, "mode", "nearest", "nearest|linear|bilinear");
    if (r.mode == 2) r.mode = 1;
    r.place = QNNRT_OG__ASYMMETRIC;
    r.round = 2;
    if (attr != NULL) {
        const int64_t count = (int64_t)attr->count;
        scales = qnnrt_og__constant(b, QNNRT_DTYPE_F32, 1, &count, attr->floats, NULL);
    }
    qnnrt_og__resized(b, &r, scales, NULL, NULL);
}

static void qnnrt_og__do_grid_sample(qnnrt_og *b)
{
    const int mode = qnnrt_og__word(b, "mode", b->opset < 20 ? "bilinear" : "linear",
                                    "linear|nearest|cubic|bilinear|bicubic");
    const int pad = qnnrt_og__word(b, "padding_mode", "zeros", "zeros|border|reflection");
    b->out[0] =
        qnnrt_og__make(b, "grid_sampler.default(a, b, interpolation_mode=%i, padding_mode=%i, "
                                  "align_corners=%b)",
                                      (int64_t)(mode > 2 ? (mode == 3 ? 0 : 2) : mode),
                               (int64_t)pad, qnnrt_og__int(b, "align_corners", 0) != 0);
}

static void qnnrt_og__do_affine_grid(qnnrt_og *b)
{
    const int corners = qnnrt_og__int(b, "align_corners", 0) != 0;
    int64_t size[5], shape[5], count, k;
    const int rank = qnnrt_og__read_ints(b, b->in[1], "the size", size, 5), n = rank - 2;
    double *grid;
    int i;
    if (b->failed) return;
    if (rank < 4 || b->in[0]->rank != 3) { qnnrt_og__fail(b, QNNRT_E_ARG,
                                                          "the size is not 4 or 5"); return; }
    count = qnnrt_og__product(size, 2, (uint32_t)rank);
    if (count < 1 || count > INT64_C(1) << 26) { qnnrt_og__fail(b, QNNRT_E_LIMIT,
                                                                "a large grid"); return; }
    grid = (double *)qnnrt_og__room(b, (uint64_t)(count * (n + 1)), sizeof(*grid));
    if (grid == NULL) return;
    for (k = 0; k < count; ++k) {
        int64_t rest = k;
        for (i = n - 1; i >= 0; --i) {       /* x is the last dimension, and the first number */
            const int64_t side = size[2 + i], at = rest % side;
            rest /= side;
            grid[k * (n + 1) + n - 1 - i] = corners
                ? (side > 1 ? -1 + 2.0 * (double)at / (double)(side - 1) : -1)
                : -1 + (2.0 * (double)at + 1) / (double)side;
        }
        grid[k * (n + 1) + n] = 1;
    }
    shape[0] = count;
    shape[1] = n + 1;
    {
        qnnrt_og__value *y = qnnrt_og__make(b,
                                            "matmul.default(%v, transpose.int(a, dim0=1, dim1=2))",
                                            qnnrt_og__numbers(b, b->in[0]->dtype, 2, shape, grid));
        shape[0] = size[0];
        for (i = 0; i < n; ++i) shape[1 + i] = size[2 + i];
        shape[1 + n] = n;
        b->out[0] = qnnrt_og__view(b, y, shape, (uint32_t)n + 2);
    }
}

/* Where each tap of each window lies in an image: int64 [taps * windows]. */
static qnnrt_og__value *qnnrt_og__columns(qnnrt_og *b, int n, const int64_t *kernel,
                                          const int64_t *stride,
                                          const int64_t *dilation, const int64_t *out,
                                              const int64_t *wide)
{
    const int64_t taps = qnnrt_og__product(kernel, 0, (uint32_t)n);
    const int64_t cells = qnnrt_og__product(out, 0, (uint32_t)n), count = taps * cells;
    double *at = (double *)qnnrt_og__room(b, (uint64_t)count, sizeof(*at));
    int64_t k, c;
    int i;
    for (k = 0; k < taps && at != NULL; ++k)
        for (c = 0; c < cells; ++c) {
            int64_t tap = k, cell = c, place = 0, step = 1;
            for (i = n - 1; i >= 0; --i) {
                place += step * (cell % out[i] * stride[i] + tap % kernel[i] * dilation[i]);
                step *= wide[i];
                cell /= out[i];
                tap /= kernel[i];
            }
            at[k * cells + c] = (double)place;
        }
    return at == NULL ? &b->nothing : qnnrt_og__numbers(b, QNNRT_DTYPE_I64, 1, &count, at);
}

/* Columns back to images: what several columns have is added up. */
static void qnnrt_og__do_col2im(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    int64_t image[5], kernel[5], stride[5], dilation[5], pads[10] = { 0 }, out[5], wide[5];
    int64_t dims[8], before[8] = { 0 }, after[8] = { 0 }, taps, cells, total = 1;
    const int n = qnnrt_og__read_ints(b, b->in[1], "image_shape", image, 5);
    qnnrt_og__value *y, *places;
    int i;
    if (qnnrt_og__read_ints(b, b->in[2], "block_shape", kernel, 5) != n || n < 1 || x->rank != 3) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "image_shape, block_shape and input do not fit");
        return;
    }
    qnnrt_og__each(b, "strides", 1, stride, n);
    qnnrt_og__each(b, "dilations", 1, dilation, n);
    qnnrt_og__each(b, "pads", 0, pads, 2 * n);
    for (i = 0, taps = cells = 1; i < n && !b->failed; ++i) {
        wide[i] = image[i] + pads[i] + pads[n + i];
        out[i] = stride[i] > 0 ? (wide[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1 : 0;
        taps *= kernel[i];
        cells *= out[i];
        total *= wide[i];
        if (wide[i] < 1 || wide[i] > 1 << 20 || taps < 1 || taps > 1 << 20 || cells < 1 ||
            cells > 1 << 24 || total > 1 << 28)
            qnnrt_og__fail(b, QNNRT_E_LIMIT, "sizes are out of range");
    }
    if (b->failed) return;
    if (cells != x->dims[2] || x->dims[1] % taps != 0 || taps * cells > 1 << 26) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "%lld columns, expected %lld", (long long)x->dims[2],
                       (long long)cells);
        return;
    }
    places = qnnrt_og__columns(b, n, kernel, stride, dilation, out, wide);
    dims[0] = x->dims[0];
    dims[1] = x->dims[1] / taps;
    dims[2] = taps * cells;
    y = qnnrt_og__view(b, b->in[0], dims, 3);
    dims[2] = total;
    y =
        qnnrt_og__make(b,
                       "index_add.default(full.default(size=%l, fill_value=0.0, dtype=%s), %v, %v, "
                          "dim=2)", dims, 3, qnnrt_og__dtype_of(x), places, y);
    for (i = 0; i < n; ++i) {
        dims[2 + i] = wide[i];
        before[2 + i] = -pads[i];
        after[2 + i] = -pads[n + i];
    }
    b->out[0] = qnnrt_og__pad(b, qnnrt_og__view(b, y, dims, (uint32_t)n + 2), before, after, 0);
}
/* =====================================================================================
   SEQUENCES                                                                    >>sequence
   LSTM, GRU, RNN: as layers of ATen where those compute the same, else step by step.
   Needs: >>builder >>attributes >>make >>known >>move     Knows nothing of: attention
   ===================================================================================== */

enum { QNNRT_OG__STEPS = 4096 };

typedef struct qnnrt_og__recurrent {
    int         gates;                       /* 4 LSTM, 3 GRU, 1 RNN */
    int64_t     steps, batch, width, ways;
    int         backward;                    /* 1: the only direction */
    int         late;                        /* linear_before_reset */
    double      clip;
    const char *acts[6];                     /* [3 * ways] */
    int         plain;                       /* 1: the activations of ATen */
    qnnrt_og__value  *x;                           /* [steps, batch, in] */
    /* of a direction; NULL: absent */
    qnnrt_og__value  *w[2], *r[2], *wb[2], *rb[2], *peep[2];
    qnnrt_og__value  *h[2], *c[2];                 /* [batch, width] */
} qnnrt_og__recurrent;

/* Recipes of activations without numbers. */
static const char *qnnrt_og__act(const char *name)
{
    static const char *const acts[][2] = {
        { "Sigmoid", "sigmoid.default(%v)" }, { "Tanh", "tanh.default(%v)" },
        { "Relu", "relu.default(%v)" }, { "Softplus", "softplus.default(%v)" },
        { "Softsign", "x = %v; div.Tensor(x, add.Scalar(abs.default(x), other=1))" },
    };
    size_t i;
    for (i = 0; i < sizeof(acts) / sizeof(acts[0]); ++i)
        if (strcmp(acts[i][0], name) == 0) return acts[i][1];
    return NULL;
}

static void qnnrt_og__recurrent_acts(qnnrt_og *b, qnnrt_og__recurrent *r)
{
    static const char *const usual[] = { "", "Tanh", "", "SigmoidTanh", "SigmoidTanhTanh" };
    static const char *const names[] = { "Sigmoid", "Tanh", "Tanh" };
    const qnnrt_onnx_attr *attr = qnnrt_og__attr(b, "activations", QNNRT_ONNX_ATTR_STRINGS);
    const int each = r->gates == 4 ? 3 : r->gates == 3 ? 2 : 1;
    int i;
    (void)usual;
    r->plain = 1;
    if (qnnrt_og__attr(b, "activation_alpha", 0) != NULL ||
        qnnrt_og__attr(b, "activation_beta", 0) != NULL)
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "activations with numbers");
    if (attr != NULL && attr->count != (size_t)each * (size_t)r->ways)
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "%lu activations", (unsigned long)attr->count);
    for (i = 0; i < each * (int)r->ways && !b->failed; ++i) {
        const char *normal = names[each == 1 ? 1 : i % each];
        const char *name = attr != NULL ? attr->strings[i].text : normal;
        r->acts[i] = qnnrt_og__act(name);
        r->plain &= strcmp(name, normal) == 0;
        if (r->acts[i] == NULL)
            qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "the activation \"%.30s\" is not known", name);
    }
}

/* Part of a weight: direction `way`, rows of gates [from, to) of `width`. */
static qnnrt_og__value *qnnrt_og__part(qnnrt_og *b, qnnrt_og__value *value, int64_t way,
                                       int64_t from, int64_t to)
{
    if (value == NULL) return NULL;
    return qnnrt_og__make(b,
                          "slice.Tensor(select.int(%v, dim=0, index=%i), dim=0, start=%i, end=%i)",
                          value, way, from, to);
}

static int qnnrt_og__recurrent_read(qnnrt_og *b, qnnrt_og__recurrent *r, int gates)
{
    const int way = qnnrt_og__word(b, "direction", "forward", "forward|reverse|bidirectional");
    const int layout = qnnrt_og__int(b, "layout", 0) != 0;
    const int64_t width = qnnrt_og__int(b, "hidden_size", b->in[2]->rank == 3 ? b->in[2]->dims[2]
                                        : 0);
    const int64_t rows = gates * width;
    int64_t dims[3], d;
    memset(r, 0, sizeof(*r));
    r->gates = gates;
    r->width = width;
    r->ways = way == 2 ? 2 : 1;
    r->backward = way == 1;
    r->late = qnnrt_og__int(b, "linear_before_reset", 0) != 0;
    r->clip = qnnrt_og__float(b, "clip", 0);
    qnnrt_og__text(b, "output_sequence", "");
    if (qnnrt_og__int(b, "input_forget", 0)) qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED,
                                                            "input_forget is 1");
    qnnrt_og__recurrent_acts(b, r);
    if (b->in[0]->rank != 3 || b->in[1]->rank != 3 || b->in[2]->rank != 3 ||
        b->in[1]->dims[0] != r->ways || b->in[1]->dims[1] != rows) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "X, W and R do not fit hidden_size");
        return 0;
    }
    r->x = layout ? qnnrt_og__make(b, "transpose.int(a, dim0=0, dim1=1)") : b->in[0];
    if (b->failed) return 0;
    r->steps = r->x->dims[0];
    r->batch = r->x->dims[1];
    dims[0] = r->batch;
    dims[1] = width;
    for (d = 0; d < r->ways; ++d) {
        size_t k;
        r->w[d] = qnnrt_og__part(b, b->in[1], d, 0, rows);
        r->r[d] = qnnrt_og__part(b, b->in[2], d, 0, rows);
        r->wb[d] = qnnrt_og__part(b, qnnrt_og__in(b, 3), d, 0, rows);
        r->rb[d] = qnnrt_og__part(b, qnnrt_og__in(b, 3), d, rows, 2 * rows);
        r->peep[d] = qnnrt_og__part(b, gates == 4 ? qnnrt_og__in(b, 7) : NULL, d, 0, 3 * width);
        for (k = 0; k < (gates == 4 ? 2 : 1); ++k) {
            qnnrt_og__value *state = qnnrt_og__in(b, 5 + k);
            state = state == NULL ? qnnrt_og__make(b,
                                                  "full.default(size=%l, fill_value=0.0, dtype=%s)",
                                                   dims, 2, qnnrt_og__dtype_of(b->in[0]))
                                  : qnnrt_og__make(b, layout ? "select.int(%v, dim=1, index=%i)"
                                                             : "select.int(%v, dim=0, index=%i)",
                                                                 state, d);
            if (k == 0) r->h[d] = state;
            else r->c[d] = state;
        }
    }
    return !b->failed;
}

/* Weights with their gates in another order: i o f c of ONNX, i f c o of ATen; z r h, r z h. */
static qnnrt_og__value *qnnrt_og__gates(qnnrt_og *b, const qnnrt_og__recurrent *r,
                                        qnnrt_og__value *value)
{
    static const int64_t lstm[] = { 0, 2, 3, 1 }, gru[] = { 1, 0, 2 };
    const int64_t *order = r->gates == 4 ? lstm : gru;
    qnnrt_og__value *parts[4];
    int i;
    if (r->gates == 1 || value == NULL) return value;
    for (i = 0; i < r->gates; ++i)
        parts[i] = qnnrt_og__make(b, "slice.Tensor(%v, dim=0, start=%i, end=%i)", value,
                                  order[i] * r->width, (order[i] + 1) * r->width);
    return b->failed ? NULL : qnnrt_og__cat(b, parts, (size_t)r->gates, 0);
}

/* One layer of ATen. y: [steps, batch, ways, width]; h, c: [ways, batch, width] */
static void qnnrt_og__recurrent_layer(qnnrt_og *b, const qnnrt_og__recurrent *r,
                                      qnnrt_og__value **y, qnnrt_og__value **h,
                                      qnnrt_og__value **c)
{
    qnnrt_og__value *in[12], *out[3] = { NULL, NULL, NULL }, *states[2];
    qnnrt_ir_attr args[2];
    size_t count = 0, k;
    int64_t d, dims[4];
    const size_t outs = r->gates == 4 ? 3 : 2;
    const int64_t time = 0;
    qnnrt_og__value *x = r->x;
    if (r->backward) x = qnnrt_og__make(b, "flip.default(%v, dims=%l)", x, &time, 1);
    in[count++] = x;
    for (k = 0; k < outs - 1; ++k) {
        for (d = 0; d < r->ways; ++d)
            states[d] = qnnrt_og__make(b, "unsqueeze.default(%v, dim=0)", k == 0 ? r->h[d]
                                       : r->c[d]);
        in[count++] = b->failed ? NULL : qnnrt_og__cat(b, states, (size_t)r->ways, 0);
    }
    for (d = 0; d < r->ways; ++d) {
        in[count++] = qnnrt_og__gates(b, r, r->w[d]);
        in[count++] = qnnrt_og__gates(b, r, r->r[d]);
        if (r->wb[d] != NULL) in[count++] = qnnrt_og__gates(b, r, r->wb[d]);
        if (r->wb[d] != NULL) in[count++] = qnnrt_og__gates(b, r, r->rb[d]);
    }
    memset(args, 0, sizeof(args));
    args[0].name = "has_biases";
    args[1].name = "bidirectional";
    for (k = 0; k < 2; ++k) { args[k].kind = QNNRT_IR_BOOL; args[k].text = ""; }
    args[0].i = r->wb[0] != NULL;
    args[1].i = r->ways == 2;
    args[0].f = (double)args[0].i;
    args[1].f = (double)args[1].i;
    if (!qnnrt_og__call(b, r->gates == 4 ? "lstm.input" : r->gates == 3 ? "gru.input" :
                           r->acts[0] == qnnrt_og__act("Relu") ? "rnn_relu.input"
                               : "rnn_tanh.input",
                        in, count, args, 2, out, outs)) return;
    if (r->backward) out[0] = qnnrt_og__make(b, "flip.default(%v, dims=%l)", out[0], &time, 1);
    dims[0] = r->steps;
    dims[1] = r->batch;
    dims[2] = r->ways;
    dims[3] = r->width;
    *y = qnnrt_og__view(b, out[0], dims, 4);
    *h = out[1];
    *c = out[2];
}

static qnnrt_og__value *qnnrt_og__gate(qnnrt_og *b, qnnrt_og__value *all, int64_t gate,
                                       int64_t width)
{
    return qnnrt_og__make(b, "slice.Tensor(%v, dim=-1, start=%i, end=%i)", all, gate * width,
                          (gate + 1) * width);
}

static qnnrt_og__value *qnnrt_og__clipped(qnnrt_og *b, const qnnrt_og__recurrent *r,
                                          qnnrt_og__value *x)
{
    return r->clip > 0 ? qnnrt_og__make(b, "clamp.default(%v, min=%f, max=%f)", x, -r->clip,
                                        r->clip) : x;
}

/* One step: x: the product of the input with its weights and bias; *h and *c: the state. */
static void qnnrt_og__step(qnnrt_og *b, const qnnrt_og__recurrent *r, int64_t d,
                           qnnrt_og__value *x, qnnrt_og__value **h,
                           qnnrt_og__value **c)
{
    const char *const *act = &r->acts[(r->gates == 4 ? 3 : r->gates == 3 ? 2 : 1) * d];
    const int64_t n = r->width;
    qnnrt_og__value *hidden = qnnrt_og__make(b, "linear.default(%v, %v, %v)", *h, r->r[d],
                                             r->rb[d]);
    if (r->gates == 1) {
        *h = qnnrt_og__make(b, act[0], qnnrt_og__clipped(b, r,
                                                         qnnrt_og__make(b, "add.Tensor(%v, %v)", x,
                                                                        hidden)));
    } else if (r->gates == 3) {
        qnnrt_og__value *z, *reset, *last;
        z = qnnrt_og__make(b, act[0], qnnrt_og__clipped(b, r,
                                                        qnnrt_og__make(b, "add.Tensor(%v, %v)",
            qnnrt_og__gate(b, x, 0, n), qnnrt_og__gate(b, hidden, 0, n))));
        reset = qnnrt_og__make(b, act[0], qnnrt_og__clipped(b, r,
                                                            qnnrt_og__make(b, "add.Tensor(%v, %v)",
            qnnrt_og__gate(b, x, 1, n), qnnrt_og__gate(b, hidden, 1, n))));
        if (r->late) last = qnnrt_og__make(b, "mul.Tensor(%v, %v)", reset,
                                           qnnrt_og__gate(b, hidden, 2, n));
        else last =
            qnnrt_og__make(b, "linear.default(mul.Tensor(%v, %v), slice.Tensor(%v, dim=0, start=%i,"
                                      " end=%i), %v)", reset, *h, r->r[d], 2 * n, 3 * n,
                                   r->rb[d] == NULL ? NULL : qnnrt_og__gate(b, r->rb[d], 2, n));
        last = qnnrt_og__make(b, act[1], qnnrt_og__clipped(b, r,
                                                           qnnrt_og__make(b, "add.Tensor(%v, %v)",
            qnnrt_og__gate(b, x, 2, n), last)));
        *h = qnnrt_og__make(b, "n = %v; add.Tensor(n, mul.Tensor(%v, sub.Tensor(%v, n)))", last, z,
                            *h);
    } else {
        qnnrt_og__value *all = qnnrt_og__make(b, "add.Tensor(%v, %v)", x, hidden);
        qnnrt_og__value *gate[4];
        int k;
        for (k = 0; k < 4; ++k) gate[k] = qnnrt_og__gate(b, all, k, n);
        for (k = 0; k < 3 && r->peep[d] != NULL; k += 2)     /* i and f look at the old cell */
            gate[k] = qnnrt_og__make(b, "add.Tensor(%v, mul.Tensor(%v, %v))", gate[k], *c,
                                     qnnrt_og__gate(b, r->peep[d], k == 0 ? 0 : 2, n));
        gate[0] = qnnrt_og__make(b, act[0], qnnrt_og__clipped(b, r, gate[0]));
        gate[2] = qnnrt_og__make(b, act[0], qnnrt_og__clipped(b, r, gate[2]));
        gate[3] = qnnrt_og__make(b, act[1], qnnrt_og__clipped(b, r, gate[3]));
        *c = qnnrt_og__make(b, "add.Tensor(mul.Tensor(%v, %v), mul.Tensor(%v, %v))", gate[2], *c,
                            gate[0],
                            gate[3]);
        if (r->peep[d] != NULL)
            gate[1] = qnnrt_og__make(b, "add.Tensor(%v, mul.Tensor(%v, %v))", gate[1], *c,
                                     qnnrt_og__gate(b, r->peep[d], 1, n));
        gate[1] = qnnrt_og__make(b, act[0], qnnrt_og__clipped(b, r, gate[1]));
        *h = qnnrt_og__make(b, "mul.Tensor(%v, %v)", gate[1], qnnrt_og__make(b, act[2], *c));
    }
}

/* All steps of a direction. lengths: of each batch, or NULL. */
static void qnnrt_og__steps(qnnrt_og *b, const qnnrt_og__recurrent *r, int64_t d,
                            const qnnrt_og__value *lengths,
                            qnnrt_og__value **ys, qnnrt_og__value **h, qnnrt_og__value **c)
{
    qnnrt_og__value *all = qnnrt_og__make(b, "linear.default(%v, %v, %v)", r->x, r->w[d], r->wb[d]);
    const int back = r->backward || d == 1;
    int64_t k, n, dims[2];
    double *inside = (double *)qnnrt_og__room(b, (uint64_t)r->batch, sizeof(*inside));
    dims[0] = r->batch;
    dims[1] = 1;
    *h = r->h[d];
    *c = r->c[d];
    for (k = 0; k < r->steps && !b->failed; ++k) {
        const int64_t t = back ? r->steps - 1 - k : k;
        qnnrt_og__value *old_h = *h, *old_c = *c, *mask;
        int some = 0;
        qnnrt_og__step(b, r, d, qnnrt_og__make(b, "select.int(%v, dim=0, index=%i)", all, t), h, c);
        ys[t] = *h;
        for (n = 0; lengths != NULL && n < r->batch && !b->failed; ++n) {
            inside[n] = t < qnnrt_og__element_int(lengths, (uint64_t)n);
            some |= inside[n] == 0;
        }
        if (!some || b->failed) continue;
        mask = qnnrt_og__numbers(b, QNNRT_DTYPE_BOOL8, 2, dims, inside);
        ys[t] = qnnrt_og__make(b, "where.ScalarOther(%v, %v, other=0.0)", mask, *h);
        *h = qnnrt_og__make(b, "where.self(%v, %v, %v)", mask, *h, old_h);
        if (*c != NULL) *c = qnnrt_og__make(b, "where.self(%v, %v, %v)", mask, *c, old_c);
    }
}

/* Step by step, results as of qnnrt_og__recurrent_layer(). */
static void qnnrt_og__recurrent_steps(qnnrt_og *b, const qnnrt_og__recurrent *r,
                                      qnnrt_og__value **y, qnnrt_og__value **h,
                                      qnnrt_og__value **c)
{
    qnnrt_og__value *lengths = qnnrt_og__in(b, 4), **ys, *both[2], *hs[2], *cs[2];
    int64_t d, k, dims[4];
    if (lengths != NULL && !qnnrt_og__must_know(b, lengths, "sequence_lens")) return;
    if (r->steps < 1 || r->steps > QNNRT_OG__STEPS) {
        qnnrt_og__fail(b, QNNRT_E_LIMIT, "%lld steps, more than %d", (long long)r->steps,
                       QNNRT_OG__STEPS);
        return;
    }
    ys = (qnnrt_og__value **)qnnrt_og__room(b, (uint64_t)r->steps, sizeof(*ys));
    dims[0] = r->steps;
    dims[1] = r->batch;
    dims[2] = 1;
    dims[3] = r->width;
    for (d = 0; d < r->ways && !b->failed; ++d) {
        qnnrt_og__steps(b, r, d, lengths, ys, &hs[d], &cs[d]);
        for (k = 0; k < r->steps && !b->failed; ++k)
            ys[k] = qnnrt_og__make(b, "unsqueeze.default(%v, dim=0)", ys[k]);
        if (b->failed) return;
        both[d] = qnnrt_og__view(b, qnnrt_og__cat(b, ys, (size_t)r->steps, 0), dims, 4);
        hs[d] = qnnrt_og__make(b, "unsqueeze.default(%v, dim=0)", hs[d]);
        if (cs[d] != NULL) cs[d] = qnnrt_og__make(b, "unsqueeze.default(%v, dim=0)", cs[d]);
    }
    if (b->failed) return;
    *y = qnnrt_og__cat(b, both, (size_t)r->ways, 2);
    *h = qnnrt_og__cat(b, hs, (size_t)r->ways, 0);
    if (cs[0] != NULL) *c = qnnrt_og__cat(b, cs, (size_t)r->ways, 0);
}

static void qnnrt_og__recurred(qnnrt_og *b, int gates)
{
    qnnrt_og__recurrent r;
    const qnnrt_og__value *lengths = qnnrt_og__in(b, 4);
    qnnrt_og__value *y = NULL, *h = NULL, *c = NULL;
    const int layout = qnnrt_og__int(b, "layout", 0) != 0;
    int plain;
    uint64_t i;
    if (!qnnrt_og__recurrent_read(b, &r, gates)) return;
    plain = r.plain && r.clip == 0 && r.peep[0] == NULL && (gates != 3 || r.late);
    if (gates == 1 && r.clip == 0 && r.acts[0] == qnnrt_og__act("Relu") &&
        (r.ways == 1 || r.acts[1] == r.acts[0])) plain = 1;
    for (i = 0; lengths != NULL && i < lengths->count; ++i)
        plain &= lengths->data != NULL && qnnrt_og__element_int(lengths, i) == r.steps;
    if (plain) qnnrt_og__recurrent_layer(b, &r, &y, &h, &c);
    else qnnrt_og__recurrent_steps(b, &r, &y, &h, &c);
    if (b->failed) return;
    if (qnnrt_og__wants(b, 0))
        b->out[0] = qnnrt_og__make(b, layout ? "transpose.int(%v, dim0=0, dim1=1)"
                                             : "transpose.int(%v, dim0=1, dim1=2)", y);
    if (qnnrt_og__wants(b, 1))
        b->out[1] = layout ? qnnrt_og__make(b, "transpose.int(%v, dim0=0, dim1=1)", h) : h;
    if (qnnrt_og__wants(b, 2))
        b->out[2] = layout ? qnnrt_og__make(b, "transpose.int(%v, dim0=0, dim1=1)", c) : c;
}
static void qnnrt_og__do_lstm(qnnrt_og *b)
{
    qnnrt_og__recurred(b, 4);
}
static void qnnrt_og__do_gru(qnnrt_og *b)
{
    qnnrt_og__recurred(b, 3);
}
static void qnnrt_og__do_rnn(qnnrt_og *b)
{
    qnnrt_og__recurred(b, 1);
}
/* =====================================================================================
   ATTENTION                                                                   >>attention
   Needs: >>builder >>attributes >>make >>known >>move     Knows nothing of: images
   ===================================================================================== */

/* [batch, steps, heads * width] as [batch, heads, steps, width]. */
static qnnrt_og__value *qnnrt_og__heads(qnnrt_og *b, qnnrt_og__value *x, int64_t heads)
{
    int64_t dims[4];
    if (b->failed || x->rank == 4) return b->failed ? &b->nothing : x;
    if (x->rank != 3 || heads < 1 || x->dims[2] % heads != 0) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "heads do not divide the last dimension of 3");
        return &b->nothing;
    }
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    dims[2] = heads;
    dims[3] = x->dims[2] / heads;
    return qnnrt_og__make(b, "transpose.int(%v, dim0=1, dim1=2)", qnnrt_og__view(b, x, dims, 4));
}

/* The other way. */
static qnnrt_og__value *qnnrt_og__unheads(qnnrt_og *b, qnnrt_og__value *x)
{
    int64_t dims[3];
    if (b->failed) return &b->nothing;
    dims[0] = x->dims[0];
    dims[1] = x->dims[2];
    dims[2] = x->dims[1] * x->dims[3];
    return qnnrt_og__view(b, qnnrt_og__make(b, "transpose.int(%v, dim0=1, dim1=2)", x), dims, 3);
}

/* How far a key lies before a query, i - j, as int32 [1, 1, queries, keys]. */
static qnnrt_og__value *qnnrt_og__distances(qnnrt_og *b, int64_t queries, int64_t keys)
{
    int64_t dims[4], i, j;
    double *numbers = (double *)qnnrt_og__room(b, (uint64_t)(queries * keys), sizeof(*numbers));
    dims[0] = dims[1] = 1;
    dims[2] = queries;
    dims[3] = keys;
    if (b->failed) return &b->nothing;
    for (i = 0; i < queries; ++i)
        for (j = 0; j < keys; ++j) numbers[i * keys + j] = (double)(i - j);
    return qnnrt_og__numbers(b, QNNRT_DTYPE_I32, 4, dims, numbers);
}

/* Which keys a query sees, by causality and windows: a bool that is known unless a length is not.
   offset: keys before the first query: a number or, if that is not NULL, [batch, 1, 1, 1]. */
static qnnrt_og__value *qnnrt_og__visible(qnnrt_og *b, int64_t queries, int64_t keys,
                                          int64_t before,
                                          qnnrt_og__value *offset, int causal, int64_t left,
                                              int64_t right)
{
    qnnrt_og__value *distance = qnnrt_og__distances(b, queries, keys), *all = NULL;
    int k;
    if (offset != NULL) distance = qnnrt_og__make(b, "add.Tensor(%v, %v)", distance, offset);
    else distance = qnnrt_og__make(b, "add.Scalar(%v, other=%i)", distance, before);
    for (k = 0; k < 3; ++k) {
        qnnrt_og__value *one;
        if (k == 0 && causal) one = qnnrt_og__make(b, "ge.Scalar(%v, other=0)", distance);
        else if (k == 1 && left >= 0) one = qnnrt_og__make(b, "le.Scalar(%v, other=%i)", distance,
                                                           left);
        else if (k == 2 && right >= 0) one = qnnrt_og__make(b, "ge.Scalar(%v, other=%i)", distance,
                                                            -right);
        else continue;
        all = all == NULL ? one : qnnrt_og__make(b, "logical_and.default(%v, %v)", all, one);
    }
    return all;
}

/* What is added to the scores; NULL: nothing. */
static qnnrt_og__value *qnnrt_og__bias(qnnrt_og *b, const qnnrt_og__value *q, int64_t keys,
                                       int64_t before)
{
    const int64_t left = qnnrt_og__int(b, "left_window_size", -1), right =
        qnnrt_og__int(b, "right_window_size",
                                                                                         -1);
    const int causal = qnnrt_og__int(b, "is_causal", 0) != 0;
    qnnrt_og__value *mask = qnnrt_og__in(b, 3), *lengths = qnnrt_og__in(b, 6), *offset = NULL,
        *seen, *bias = NULL;
    int64_t dims[4] = { 1, 1, 1, 1 };
    if (mask != NULL && mask->dims[mask->rank - 1] < keys) {
        int64_t none[QNNRT_IR_RANK] = { 0 }, more[QNNRT_IR_RANK] = { 0 };
        more[mask->rank - 1] = keys - mask->dims[mask->rank - 1];
        mask = qnnrt_og__pad(b, mask, none, more, mask->dtype == QNNRT_DTYPE_BOOL8 ? 0 : -HUGE_VAL);
    }
    if (mask != NULL && !b->failed && mask->dtype == QNNRT_DTYPE_BOOL8)
        mask = qnnrt_og__make(b, "where.Scalar(%v, self=0.0, other=-inf)", mask);
    if (mask != NULL && !b->failed) bias = qnnrt_og__cast(b, mask, q->dtype);
    if (lengths != NULL) {
        dims[0] = (int64_t)lengths->count;
        lengths = qnnrt_og__view(b, qnnrt_og__cast(b, lengths, QNNRT_DTYPE_I32), dims, 4);
        offset = qnnrt_og__make(b, "sub.Scalar(%v, other=%i)", lengths, q->dims[2]);
    }
    if (causal || left >= 0 || right >= 0) {
        seen = qnnrt_og__visible(b, q->dims[2], keys, before, offset, causal, left, right);
        seen = qnnrt_og__cast(b, qnnrt_og__make(b, "where.Scalar(%v, self=0.0, other=-inf)", seen),
                              q->dtype);
        bias = bias == NULL ? seen : qnnrt_og__make(b, "add.Tensor(%v, %v)", bias, seen);
    }
    if (lengths != NULL && !b->failed) {
        seen = qnnrt_og__make(b, "lt.Tensor(%v, %v)", qnnrt_og__make(b, "neg.default(%v)",
                                                                     qnnrt_og__distances(b, 1,
                                                                                         keys)),
                                                                                           lengths);
        seen = qnnrt_og__cast(b, qnnrt_og__make(b, "where.Scalar(%v, self=0.0, other=-inf)", seen),
                              q->dtype);
        bias = bias == NULL ? seen : qnnrt_og__make(b, "add.Tensor(%v, %v)", bias, seen);
    }
    return bias;
}

/* Return true if a known bias leaves each query a key. */
static int qnnrt_og__sees_all(const qnnrt_og__value *bias)
{
    const uint64_t row = (uint64_t)bias->dims[bias->rank - 1];
    uint64_t i, seen = 0;
    if (bias->data == NULL) return 0;
    for (i = 0; i < bias->count; ++i) {
        if (i % row == 0) seen = 0;
        seen += qnnrt_og__element_float(bias, i) > -HUGE_VAL;
        if (i % row == row - 1 && seen == 0) return 0;
    }
    return 1;
}

/* The softmax of scores, in parts; output 3 shows one of these. A query that sees nothing has 0. */
static qnnrt_og__value *qnnrt_og__probabilities(qnnrt_og *b, qnnrt_og__value *q,
                                                qnnrt_og__value *k, qnnrt_og__value *bias,
                                                double scale)
{
    const int64_t mode = qnnrt_og__int(b, "qk_matmul_output_mode", 0);
    const int64_t precision = qnnrt_og__int(b, "softmax_precision", 0);
    const double cap = qnnrt_og__float(b, "softcap", 0);
    qnnrt_og__value *score, *shown;
    score =
        qnnrt_og__make(b, "matmul.default(mul.Scalar(%v, other=%f), mul.Scalar(transpose.int(%v, "
                              "dim0=2, dim1=3), other=%f))", q, sqrt(scale), k, sqrt(scale));
    if (cap > 0)
        score = qnnrt_og__make(b, "mul.Scalar(tanh.default(div.Scalar(%v, other=%f)), other=%f)",
                               score,
                               cap, cap);
    shown = score;
    if (bias != NULL) score = qnnrt_og__make(b, "add.Tensor(%v, %v)", score, bias);
    if (mode == 2) shown = score;
    if (precision != 0) score = qnnrt_og__cast(b, score, qnnrt_og__dtype((int)precision));
    score = qnnrt_og__make(b, bias == NULL ? "softmax.int(%v, dim=-1)"
                           : "_safe_softmax.default(%v, dim=-1)",
                           score);
    if (!b->failed && bias != NULL && !qnnrt_og__sees_all(bias)) {
        const int64_t last = (int64_t)bias->rank - 1;
        score = qnnrt_og__make(b, "where.ScalarSelf(all.dims(eq.Scalar(%v, other=-inf), dim=%l, "
                                  "keepdim=true), %v, self=0.0)", bias, &last, 1, score);
    }
    score = b->failed ? NULL : qnnrt_og__cast(b, score, q->dtype);
    if (mode == 3) shown = score;
    if (qnnrt_og__wants(b, 3)) b->out[3] = shown;
    return score;
}

static void qnnrt_og__do_attention(qnnrt_og *b)
{
    const int flat = b->in[0]->rank == 3;
    const int64_t heads = qnnrt_og__int(b, "q_num_heads", 0), kv_heads =
        qnnrt_og__int(b, "kv_num_heads", 0);
    const int64_t precision = qnnrt_og__int(b, "softmax_precision", 0);
    const double cap = qnnrt_og__float(b, "softcap", 0);
    qnnrt_og__value *q = qnnrt_og__heads(b, b->in[0], heads), *k =
        qnnrt_og__heads(b, b->in[1], kv_heads);
    qnnrt_og__value *v = qnnrt_og__heads(b, b->in[2], kv_heads), *bias;
    int64_t before = 0, groups;
    double scale;
    qnnrt_og__int(b, "qk_matmul_output_mode", 0);
    if (b->failed) return;
    if (qnnrt_og__in(b, 4) != NULL && qnnrt_og__in(b, 5) != NULL) {
        before = b->in[4]->rank == 4 ? b->in[4]->dims[2] : 0;
        k = qnnrt_og__make(b, "cat.default(e, %v, dim=2)", k);
        v = qnnrt_og__make(b, "cat.default(f, %v, dim=2)", v);
    }
    if (b->failed || k->dims[1] < 1 || q->dims[1] % k->dims[1] != 0) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "heads of keys do not divide those of queries");
        return;
    }
    scale = qnnrt_og__float(b, "scale", 1 / sqrt((double)q->dims[3]));
    bias = qnnrt_og__bias(b, q, k->dims[2], before);
    if (qnnrt_og__wants(b, 1)) b->out[1] = k;
    if (qnnrt_og__wants(b, 2)) b->out[2] = v;
    groups = q->dims[1] / k->dims[1];
    if (b->failed) return;
    if (cap == 0 && precision == 0 && !qnnrt_og__wants(b, 3) &&
        (bias == NULL || qnnrt_og__sees_all(bias))) {
        q = qnnrt_og__make(b, "scaled_dot_product_attention.default(%v, %v, %v, %v, scale=%f, "
                              "enable_gqa=%b)", q, k, v, bias, scale, groups != 1);
        b->out[0] = flat ? qnnrt_og__unheads(b, q) : q;
        return;
    }
    if (groups != 1) {
        k = qnnrt_og__make(b, "repeat_interleave.self_int(%v, repeats=%i, dim=1)", k, groups);
        v = qnnrt_og__make(b, "repeat_interleave.self_int(%v, repeats=%i, dim=1)", v, groups);
    }
    q = qnnrt_og__make(b, "matmul.default(%v, %v)", qnnrt_og__probabilities(b, q, k, bias, scale),
                       v);
    b->out[0] = flat ? qnnrt_og__unheads(b, q) : q;
}

/* Pairs of values of each head, turned by an angle of their position. */
static void qnnrt_og__do_rotary(qnnrt_og *b)
{
    const int interleaved = qnnrt_og__int(b, "interleaved", 0) != 0, flat = b->in[0]->rank == 3;
    const int64_t heads = qnnrt_og__int(b, "num_heads", 0);
    int64_t part = qnnrt_og__int(b, "rotary_embedding_dim", 0), dims[5], width;
    qnnrt_og__value *x = qnnrt_og__heads(b, b->in[0], heads), *table[2], *first, *second, *y,
        *two[2];
    int i;
    if (b->failed) return;
    width = x->dims[3];
    if (part == 0) part = width;
    if (part < 2 || part > width || part % 2 != 0) {
        qnnrt_og__fail(b, QNNRT_E_ARG, "rotary_embedding_dim is %lld", (long long)part);
        return;
    }
    for (i = 0; i < 2; ++i) {
        table[i] = b->in[1 + i];
        if (qnnrt_og__in(b, 3) != NULL)
            table[i] = qnnrt_og__make(b, "embedding.default(%v, d)", table[i]);
        table[i] = qnnrt_og__make(b, "unsqueeze.default(%v, dim=1)", table[i]);
    }
    y = qnnrt_og__make(b, "slice.Tensor(%v, dim=3, start=0, end=%i)", x, part);
    if (interleaved) {
        first = qnnrt_og__make(b, "slice.Tensor(%v, dim=3, start=0, end=%i, step=2)", y, part);
        second = qnnrt_og__make(b, "slice.Tensor(%v, dim=3, start=1, end=%i, step=2)", y, part);
    } else {
        first = qnnrt_og__make(b, "slice.Tensor(%v, dim=3, start=0, end=%i)", y, part / 2);
        second = qnnrt_og__make(b, "slice.Tensor(%v, dim=3, start=%i, end=%i)", y, part / 2, part);
    }
    two[0] = qnnrt_og__make(b, "sub.Tensor(mul.Tensor(%v, %v), mul.Tensor(%v, %v))", table[0],
                            first,
                            table[1], second);
    two[1] = qnnrt_og__make(b, "add.Tensor(mul.Tensor(%v, %v), mul.Tensor(%v, %v))", table[1],
                            first,
                            table[0], second);
    if (b->failed) return;
    if (interleaved) {
        memcpy(dims, x->dims, 4 * sizeof(*dims));
        dims[3] = part;
        y = qnnrt_og__view(b, qnnrt_og__make(b, "stack.default(%v, %v, dim=4)", two[0], two[1]),
                           dims, 4);
    } else {
        y = qnnrt_og__cat(b, two, 2, 3);
    }
    if (part < width)
        y = qnnrt_og__make(b, "cat.default(%v, slice.Tensor(%v, dim=3, start=%i, end=%i), dim=3)",
                           y, x,
                           part, width);
    b->out[0] = flat ? qnnrt_og__unheads(b, y) : y;
}

/* A convolution over the steps so far, whose last inputs are the next call's state. */
static void qnnrt_og__do_causal_conv(qnnrt_og *b)
{
    const int act = qnnrt_og__word(b, "activation", "none", "none|silu|swish");
    const qnnrt_og__value *x = b->in[0], *weight = b->in[1];
    int64_t before[8] = { 0 }, after[8] = { 0 }, length;
    qnnrt_og__value *all, *y;
    if (x->rank != 3 || weight->rank != 3) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "the input or the weights do not have 3 dimensions");
        return;
    }
    before[2] = weight->dims[2] - 1;
    all = qnnrt_og__in(b, 3) != NULL ? qnnrt_og__make(b, "cat.default(d, a, dim=2)")
                                     : qnnrt_og__pad(b, b->in[0], before, after, 0);
    if (b->failed) return;
    length = all->dims[2];
    y = qnnrt_og__make(b, "conv1d.default(%v, b, %v, groups=%i)", all, qnnrt_og__in(b, 2),
                       x->dims[1]);
    b->out[0] = act > 0 ? qnnrt_og__make(b, "silu.default(%v)", y) : y;
    if (qnnrt_og__wants(b, 1))
        b->out[1] = qnnrt_og__make(b, "slice.Tensor(%v, dim=2, start=%i, end=%i)", all,
                                   length - before[2], length);
}

/* The state after a step: it decays, and learns the value of a key, or (beta) the rest of it. */
static qnnrt_og__value *qnnrt_og__linear_step(qnnrt_og *b, qnnrt_og__value *state,
                                              qnnrt_og__value *key, qnnrt_og__value *value,
                                              qnnrt_og__value *decay, qnnrt_og__value *beta)
{
    if (decay != NULL)
        state = qnnrt_og__make(b, "mul.Tensor(%v, transpose.int(exp.default(%v), dim0=2, dim1=3))",
                               state,
                               decay);
    if (beta != NULL)
        value = qnnrt_og__make(b, "mul.Tensor(%v, sub.Tensor(%v, matmul.default(%v, %v)))", beta,
                               value,
                               key, state);
    return qnnrt_og__make(b, "add.Tensor(%v, mul.Tensor(transpose.int(%v, dim0=2, dim1=3), %v))",
                          state,
                          key, value);
}

/* A state [batch, heads, keys, values] that each step changes and reads. */
static void qnnrt_og__do_linear_attention(qnnrt_og *b)
{
    const int rule = qnnrt_og__word(b, "update_rule", "gated_delta",
                                    "linear|gated|delta|gated_delta");
    const int64_t heads = qnnrt_og__int(b, "q_num_heads", 1), kv_heads =
        qnnrt_og__int(b, "kv_num_heads", 1);
    qnnrt_og__value *q, *k, *v, *decay = qnnrt_og__in(b, 4), *beta = qnnrt_og__in(b, 5), *state =
        qnnrt_og__in(b, 3), **ys;
    const qnnrt_dtype dtype = b->in[0]->dtype;
    const qnnrt_dtype state_type = state != NULL ? state->dtype : dtype;
    double scale = qnnrt_og__float(b, "scale", 0);
    int64_t t, steps, dims[4];
    qnnrt_og__int(b, "chunk_size", 0);
    q = qnnrt_og__cast(b, qnnrt_og__heads(b, b->in[0], heads), QNNRT_DTYPE_F32);
    k = qnnrt_og__cast(b, qnnrt_og__heads(b, b->in[1], kv_heads), QNNRT_DTYPE_F32);
    v = qnnrt_og__cast(b, qnnrt_og__heads(b, b->in[2], kv_heads), QNNRT_DTYPE_F32);
    if (decay != NULL) decay = qnnrt_og__cast(b, qnnrt_og__heads(b, decay, kv_heads),
                                              QNNRT_DTYPE_F32);
    if (beta != NULL && beta->rank == 3)
        beta = qnnrt_og__cast(b, qnnrt_og__heads(b, beta, beta->dims[2]), QNNRT_DTYPE_F32);
    if (b->failed) return;
    if (rule < 0 || ((rule & 1) != 0) != (decay != NULL) || (rule >= 2) != (beta != NULL) ||
        heads % kv_heads != 0) {
        qnnrt_og__fail(b, QNNRT_E_ARG, "decay, beta or heads do not fit update_rule");
        return;
    }
    steps = q->dims[2];
    dims[0] = q->dims[0];
    dims[1] = kv_heads;
    dims[2] = q->dims[3];
    dims[3] = v->dims[3];
    if (scale == 0) scale = 1 / sqrt((double)dims[2]);
    state = state != NULL ? qnnrt_og__cast(b, state, QNNRT_DTYPE_F32)
                         
                              : qnnrt_og__make(b,
                                           "full.default(size=%l, fill_value=0.0, dtype='float32')",
                                           dims, 4);
    ys = (qnnrt_og__value **)qnnrt_og__room(b, (uint64_t)(steps > 0 ? steps : 0), sizeof(*ys));
    if (steps < 1 || steps > 4096) qnnrt_og__fail(b, QNNRT_E_LIMIT, "%lld steps", (long long)steps);
    for (t = 0; t < steps && !b->failed; ++t) {
        const char *const at = "slice.Tensor(%v, dim=2, start=%i, end=%i)";
        state = qnnrt_og__linear_step(b, state, qnnrt_og__make(b, at, k, t, t + 1),
                                      qnnrt_og__make(b, at, v, t, t + 1),
                                      decay == NULL ? NULL : qnnrt_og__make(b, at, decay, t, t + 1),
                                      beta == NULL ? NULL : qnnrt_og__make(b, at, beta, t, t + 1));
        ys[t] = heads == kv_heads ? state
                : qnnrt_og__make(b, "repeat_interleave.self_int(%v, repeats=%i, dim=1)", state,
                                 heads / kv_heads);
        ys[t] = qnnrt_og__make(b, "mul.Scalar(matmul.default(%v, %v), other=%f)",
                               qnnrt_og__make(b, at, q, t, t + 1), ys[t], scale);
    }
    if (b->failed) return;
    b->out[0] = qnnrt_og__cast(b, qnnrt_og__unheads(b, qnnrt_og__cat(b, ys, (size_t)steps, 2)),
                               dtype);
    if (qnnrt_og__wants(b, 1)) b->out[1] = qnnrt_og__cast(b, state, state_type);
}

/* =====================================================================================
   LOSSES                                                                           >>loss
   Needs: >>builder >>attributes >>make >>known >>move     Knows nothing of: training
   ===================================================================================== */

/* x: logarithms of probabilities [N, C, ..]; target [N, ..] of classes. */
static void qnnrt_og__loss(qnnrt_og *b, qnnrt_og__value *x)
{
    const int how = qnnrt_og__word(b, "reduction", "mean", "none|sum|mean");
    const qnnrt_onnx_attr *ignore = qnnrt_og__attr(b, "ignore_index", QNNRT_ONNX_ATTR_INT);
    qnnrt_og__value *target = qnnrt_og__cast(b, b->in[1], QNNRT_DTYPE_I64), *factor = NULL, *hit,
        *loss;
    int64_t dims[QNNRT_IR_RANK], classes, one = 1;
    uint32_t i;
    if (b->failed || x->rank < 2 || target->rank + 1 != x->rank) {
        qnnrt_og__fail(b, QNNRT_E_MISMATCH, "the targets do not fit the scores");
        return;
    }
    classes = x->dims[1];
    for (i = 0; i < x->rank; ++i) dims[i] = i == 1 ? classes : 1;
    hit = qnnrt_og__view(b, qnnrt_og__make(b, "arange.start_step(start=0, end=%i, dtype='int64')",
                                           classes),
                         dims, x->rank);
    hit = qnnrt_og__make(b, "eq.Tensor(unsqueeze.default(%v, dim=1), %v)", target, hit);
    loss =
        qnnrt_og__make(b,
                       "neg.default(sum.dim_IntList(where.ScalarOther(%v, %v, other=0.0), dim=%l))",
                          hit, x, &one, 1);
    if (qnnrt_og__in(b, 2) != NULL)
        factor = qnnrt_og__make(b, "sum.dim_IntList(where.ScalarOther(%v, %v, other=0.0), dim=%l)",
                                hit,
                                qnnrt_og__channels(b, b->in[2], x), &one, 1);
    if (ignore != NULL) {
        qnnrt_og__value *kept = qnnrt_og__make(b, "ne.Scalar(%v, other=%i)", target, ignore->i);
        factor = factor == NULL ? qnnrt_og__cast(b, kept, x->dtype)
                                : qnnrt_og__make(b, "where.ScalarOther(%v, %v, other=0.0)", kept,
                                                 factor);
        loss = qnnrt_og__make(b, "where.ScalarOther(%v, %v, other=0.0)", kept, loss);
    }
    if (factor != NULL) loss = qnnrt_og__make(b, "mul.Tensor(%v, %v)", loss, factor);
    if (how == 1) loss = qnnrt_og__make(b, "sum.default(%v)", loss);
    if (how == 2) loss = factor == NULL ? qnnrt_og__make(b, "mean.default(%v)", loss)
                                        : qnnrt_og__make(b,
                                                     "div.Tensor(sum.default(%v), sum.default(%v))",
                                                         loss, factor);
    b->out[0] = loss;
}

static void qnnrt_og__do_nll_loss(qnnrt_og *b)
{
    qnnrt_og__loss(b, b->in[0]);
}

static void qnnrt_og__do_softmax_loss(qnnrt_og *b)
{
    qnnrt_og__value *x = qnnrt_og__make(b, "log_softmax.int(a, dim=1)");
    if (x != NULL) qnnrt_og__loss(b, x);
    if (qnnrt_og__wants(b, 1)) b->out[1] = x;
}
/* =====================================================================================
   SIGNALS                                                                        >>signal
   Fourier transforms and windows.
   Needs: >>builder >>attributes >>make >>known >>move     Knows nothing of: images
   ===================================================================================== */

static void qnnrt_og__do_dft(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0];
    const int64_t given = b->opset < 20 ? qnnrt_og__int(b, "axis", 1)
                                        : qnnrt_og__whole(qnnrt_og__read_number(b,
                                                                                qnnrt_og__in(b, 2),
                                                                                    "axis", -2));
    const int64_t axis = qnnrt_og__axis(b, given, x->rank);
    const int inverse = qnnrt_og__int(b, "inverse", 0) != 0, half =
        qnnrt_og__int(b, "onesided", 0) != 0;
    int64_t length = inverse && half ? 2 * (x->dims[axis] - 1) : x->dims[axis];
    length = qnnrt_og__whole(qnnrt_og__read_number(b, qnnrt_og__in(b, 1), "dft_length",
                                                   (double)length));
    if (b->failed || length < 1) { qnnrt_og__fail(b, QNNRT_E_ARG,
                                                  "dft_length is below 1"); return; }
    b->out[0] =
        qnnrt_og__make(b, "qnnrt.fft.default(a, dim=%l, length=%l, inverse=%b, onesided=%b, "
                                  "scale=%f)", &axis, 1, &length, 1, inverse, half,
                               inverse ? 1 / (double)length : 1.0);
}

static void qnnrt_og__do_stft(qnnrt_og *b)
{
    const qnnrt_og__value *x = b->in[0], *window = qnnrt_og__in(b, 2);
    const int half = qnnrt_og__int(b, "onesided", 1) != 0;
    const int64_t step = qnnrt_og__whole(qnnrt_og__read_number(b, b->in[1], "frame_step", 1)),
        axis = 2;
    int64_t frames, i, *at;
    int64_t length = window != NULL ? (int64_t)window->count : 0, dims[4];
    qnnrt_og__value *y;
    if (qnnrt_og__in(b, 3) != NULL) length = qnnrt_og__whole(qnnrt_og__read_number(b, b->in[3],
                                                                                   "frame_length",
                                                                                       1));
    if (b->failed || x->rank < 2 || step < 1 || length < 1) {
        qnnrt_og__fail(b, QNNRT_E_ARG, "frame_step, frame_length or the signal do not fit");
        return;
    }
    y = b->in[0];
    if (x->rank == 2) y = qnnrt_og__make(b, "unsqueeze.default(%v, dim=2)", y);
    frames = x->dims[1] < length ? 0 : (x->dims[1] - length) / step + 1;
    if (frames < 1 || frames > (INT64_C(1) << 26) / length) {
        qnnrt_og__fail(b, QNNRT_E_LIMIT, "%lld frames", (long long)frames);
        return;
    }
    at = (int64_t *)qnnrt_og__room(b, (uint64_t)(frames * length), sizeof(*at));
    for (i = 0; i < frames * length && !b->failed; ++i) at[i] = i / length * step + i % length;
    dims[0] = x->dims[0];
    dims[1] = frames;
    dims[2] = length;
    dims[3] = x->rank == 3 ? x->dims[2] : 1;
    y = b->failed ? NULL : qnnrt_og__view(b, qnnrt_og__take(b, y, 1, at, (int)(frames * length)),
                                          dims, 4);
    dims[0] = length;
    dims[1] = 1;
    if (window != NULL) y = qnnrt_og__make(b, "mul.Tensor(%v, %v)", y,
                                           qnnrt_og__view(b, b->in[2], dims, 2));
    b->out[0] = qnnrt_og__make(b, "qnnrt.fft.default(%v, dim=%l, length=%l, onesided=%b)", y,
                               &axis, 1,
                               &length, 1, half);
}

/* Make a constant of `output_datatype`. */
static qnnrt_og__value *qnnrt_og__datatype(qnnrt_og *b, uint32_t rank, const int64_t *dims,
                                           const double *numbers)
{
    const int64_t type = qnnrt_og__int(b, "output_datatype", 1);
    const qnnrt_dtype dtype = qnnrt_og__dtype((int)type);
    if (dtype == QNNRT_DTYPE_UNDEFINED)
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "output_datatype is %s",
                       qnnrt_onnx_type_name((int)type));
    return b->failed ? NULL : qnnrt_og__numbers(b, dtype, rank, dims, numbers);
}

/* A window of cosines: a - b cos(t) + c cos(2 t). */
static void qnnrt_og__windowed(qnnrt_og *b, double first, double second, double third)
{
    const int64_t size = qnnrt_og__whole(qnnrt_og__read_number(b, b->in[0], "size", 0));
    const double turn = (double)(qnnrt_og__int(b, "periodic", 1) ? size : size - 1);
    double *numbers;
    int64_t i;
    if (b->failed) return;
    if (size < 0 || size > 1 << 26) { qnnrt_og__fail(b, QNNRT_E_LIMIT,
                                                     "size is out of range"); return; }
    numbers = (double *)qnnrt_og__room(b, (uint64_t)size, sizeof(*numbers));
    if (numbers == NULL) return;
    for (i = 0; i < size; ++i) {
        const double t = 6.283185307179586 * (double)i / turn;
        numbers[i] = first - second * cos(t) + third * cos(2 * t);
    }
    b->out[0] = qnnrt_og__datatype(b, 1, &size, numbers);
}
static void qnnrt_og__do_hann(qnnrt_og *b)
{
    qnnrt_og__windowed(b, 0.5, 0.5, 0);
}
static void qnnrt_og__do_hamming(qnnrt_og *b)
{
    qnnrt_og__windowed(b, 25.0 / 46, 21.0 / 46, 0);
}
static void qnnrt_og__do_blackman(qnnrt_og *b)
{
    qnnrt_og__windowed(b, 0.42, 0.5, 0.08);
}

static void qnnrt_og__do_mel(qnnrt_og *b)
{
    const char *const names[] = { "num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                  "upper_edge_hertz" };
    double in[5], low, step, *numbers;
    int64_t dims[2], at[3], i, j;
    int k;
    for (k = 0; k < 5; ++k) in[k] = qnnrt_og__read_number(b, b->in[k], names[k], 1);
    if (b->failed) return;
    if (!(in[0] >= 1 && in[0] < 1 << 16 && in[1] >= 1 && in[1] < 1 << 24 && in[2] > 0)) {
        qnnrt_og__fail(b, QNNRT_E_LIMIT, "num_mel_bins, dft_length or sample_rate is out of range");
        return;
    }
    dims[0] = (int64_t)in[1] / 2 + 1;
    dims[1] = (int64_t)in[0];
    numbers = (double *)qnnrt_og__room(b, (uint64_t)(dims[0] * dims[1]), sizeof(*numbers));
    if (numbers == NULL) return;
    low = 2595 * log10(1 + in[3] / 700);
    step = (2595 * log10(1 + in[4] / 700) - low) / (double)(dims[1] + 2);
    for (i = 0; i < dims[1]; ++i) {
        for (k = 0; k < 3; ++k) {
            const double hertz = 700 * (pow(10, ((double)(i + k) * step + low) / 2595) - 1);
            at[k] = qnnrt_og__whole(floor(floor(in[1] + 1) * hertz / in[2]));
            if (at[k] < 0 || at[k] >= dims[0]) {
                qnnrt_og__fail(b, QNNRT_E_ARG, "an edge is outside of the spectrum");
                return;
            }
        }
        if (at[0] == at[1]) numbers[at[1] * dims[1] + i] = 1;
        for (j = at[0]; j <= at[1] && at[1] > at[0]; ++j)
            numbers[j * dims[1] + i] = (double)(j - at[0]) / (double)(at[1] - at[0]);
        for (j = at[1]; j < at[2]; ++j)
            numbers[j * dims[1] + i] = (double)(at[2] - j) / (double)(at[2] - at[1]);
    }
    b->out[0] = qnnrt_og__datatype(b, 2, dims, numbers);
}
/* =====================================================================================
   QUANTIZED VALUES                                                                >>quant
   As arithmetic on floats: what the encodings of a library would round.
   Needs: >>builder >>attributes >>make >>known >>move >>image     Knows nothing of: encodings
   ===================================================================================== */

/* A scale or a zero point so that it broadcasts to x: along an axis, or for each block of it. */
static qnnrt_og__value *qnnrt_og__scale_of(qnnrt_og *b, qnnrt_og__value *value,
                                           const qnnrt_og__value *x, int64_t axis,
                                           int64_t block)
{
    if (value == NULL || b->failed || x->rank == 0) return value;
    if (block > 0) {
        value = qnnrt_og__make(b, "repeat_interleave.self_int(%v, repeats=%i, dim=%i)", value,
                               block,
                               axis);
        if (!b->failed && value->dims[axis] > x->dims[axis])
            value = qnnrt_og__make(b, "slice.Tensor(%v, dim=%i, start=0, end=%i)", value, axis,
                                   x->dims[axis]);
        return value;
    }
    if (value->count == 1 && value->rank == 1) return qnnrt_og__view(b, value, NULL, 0);
    return qnnrt_og__along_axis(b, value, axis, x->rank);
}

/* The axis of scales; with one scale it may be out of range. */
static int64_t qnnrt_og__scale_axis(qnnrt_og *b, const qnnrt_og__value *x,
                                    const qnnrt_og__value *scale)
{
    const int64_t axis = qnnrt_og__int(b, "axis", 1);
    return scale->count == 1 ? 0 : qnnrt_og__axis(b, axis, x->rank);
}

/* Round, move and clip floats to a type of integers. */
static qnnrt_og__value *qnnrt_og__quantized(qnnrt_og *b, qnnrt_og__value *x,
                                            qnnrt_og__value *scale, qnnrt_og__value *zero,
                                            qnnrt_dtype dtype)
{
    const double low = dtype == QNNRT_DTYPE_U8 ? 0 : dtype == QNNRT_DTYPE_I8 ? -128 : -32768;
    const double high = dtype == QNNRT_DTYPE_U8 ? 255 : dtype == QNNRT_DTYPE_I8 ? 127 : 32767;
    x = qnnrt_og__make(b, "round.default(div.Tensor(%v, %v))", x, scale);
    if (zero != NULL)
        x = qnnrt_og__make(b, "add.Tensor(%v, %v)", x, qnnrt_og__cast(b, zero, QNNRT_DTYPE_F32));
    return qnnrt_og__cast(b, qnnrt_og__make(b, "clamp.default(%v, min=%f, max=%f)", x, low, high),
                          dtype);
}

static void qnnrt_og__do_quantize(qnnrt_og *b)
{
    qnnrt_og__value *x = qnnrt_og__cast(b, b->in[0], QNNRT_DTYPE_F32), *zero = qnnrt_og__in(b, 2);
    const int64_t axis = qnnrt_og__scale_axis(b, b->in[0], b->in[1]);
    const int64_t block = qnnrt_og__int(b, "block_size", 0), to =
        qnnrt_og__int(b, "output_dtype", 0);
    const qnnrt_dtype dtype = zero != NULL ? zero->dtype : to != 0 ? qnnrt_og__dtype((int)to)
                                                                   : QNNRT_DTYPE_U8;
    qnnrt_og__int(b, "saturate", 1);
    qnnrt_og__int(b, "precision", 0);
    if (dtype != QNNRT_DTYPE_U8 && dtype != QNNRT_DTYPE_I8 && dtype != QNNRT_DTYPE_I16) {
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "quantized values are %s", to != 0 && zero == NULL
                       ? qnnrt_onnx_type_name((int)to) : qnnrt_ir_dtype_name(dtype));
        return;
    }
    b->out[0] = qnnrt_og__quantized(b, x, qnnrt_og__scale_of(b,
                                                             qnnrt_og__cast(b, b->in[1],
                                                                            QNNRT_DTYPE_F32), x,
                                                                                axis,
                                                             block),
                                    qnnrt_og__scale_of(b, zero, x, axis, block), dtype);
}

static qnnrt_og__value *qnnrt_og__dequantized(qnnrt_og *b, qnnrt_og__value *x,
                                              qnnrt_og__value *scale, qnnrt_og__value *zero)
{
    if (zero != NULL)
        x = qnnrt_og__make(b, "sub.Tensor(%v, %v)", qnnrt_og__cast(b, x, QNNRT_DTYPE_I32),
                           qnnrt_og__cast(b, zero, QNNRT_DTYPE_I32));
    return qnnrt_og__make(b, "mul.Tensor(%v, %v)", qnnrt_og__cast(b, x, QNNRT_DTYPE_F32),
                          qnnrt_og__cast(b, scale, QNNRT_DTYPE_F32));
}

static void qnnrt_og__do_dequantize(qnnrt_og *b)
{
    qnnrt_og__value *x = b->in[0];
    const int64_t axis = qnnrt_og__scale_axis(b, x, b->in[1]), block =
        qnnrt_og__int(b, "block_size", 0);
    const int64_t to = qnnrt_og__int(b, "output_dtype", 0);
    const qnnrt_dtype dtype = to != 0 ? qnnrt_og__dtype((int)to) : b->in[1]->dtype;
    b->out[0] = qnnrt_og__dequantized(b, x, qnnrt_og__scale_of(b, b->in[1], x, axis, block),
                                      qnnrt_og__scale_of(b, qnnrt_og__in(b, 2), x, axis, block));
    b->out[0] = b->failed ? NULL : qnnrt_og__cast(b, b->out[0], dtype);
}

static void qnnrt_og__do_dynamic_quantize(qnnrt_og *b)
{
    qnnrt_og__value *scale, *zero;
    scale =
        qnnrt_og__make(b, "x = %v; div.Scalar(sub.Tensor(clamp.default(max.default(x), min=0.0), "
                              "clamp.default(min.default(x), max=0.0)), other=255.0)", b->in[0]);
    zero = qnnrt_og__make(b, "clamp.default(round.default(div.Tensor(neg.default(clamp.default("
                             "min.default(a), max=0.0)), %v)), min=0.0, max=255.0)", scale);
    b->out[1] = scale;
    b->out[2] = qnnrt_og__cast(b, zero, QNNRT_DTYPE_U8);
    b->out[0] = qnnrt_og__quantized(b, b->in[0], scale, zero, QNNRT_DTYPE_U8);
}

/* Products of integers, exactly: int32. */
static void qnnrt_og__do_matmul_integer(qnnrt_og *b)
{
    qnnrt_og__value *x[2];
    int i;
    for (i = 0; i < 2; ++i) {
        qnnrt_og__value *zero = qnnrt_og__in(b, (size_t)i + 2);
        x[i] = qnnrt_og__cast(b, b->in[i], QNNRT_DTYPE_I32);
        if (zero != NULL && !b->failed && zero->rank == 1 && zero->count > 1 && i == 0)
            zero = qnnrt_og__make(b, "unsqueeze.default(%v, dim=1)", zero);
        if (zero != NULL)
            x[i] = qnnrt_og__make(b, "sub.Tensor(%v, %v)", x[i],
                                  qnnrt_og__cast(b, zero, QNNRT_DTYPE_I32));
    }
    b->out[0] = qnnrt_og__make(b, "matmul.default(%v, %v)", x[0], x[1]);
}

/* A convolution of integers, in floats, which hold sums below 2^24. */
static void qnnrt_og__do_conv_integer(qnnrt_og *b)
{
    qnnrt_og__value *x[2];
    qnnrt_og__window w;
    int i;
    if (!qnnrt_og__window_read(b, &w, b->in[1]->dims + 2)) return;
    for (i = 0; i < 2; ++i) {
        qnnrt_og__value *zero = qnnrt_og__in(b, (size_t)i + 2);
        if (zero != NULL && i == 1) zero = qnnrt_og__along_axis(b, zero, 0, b->in[1]->rank);
        x[i] = qnnrt_og__cast(b, b->in[i], QNNRT_DTYPE_I32);
        if (zero != NULL && !b->failed)
            x[i] = qnnrt_og__make(b, "sub.Tensor(%v, %v)", x[i],
                                  qnnrt_og__cast(b, zero, QNNRT_DTYPE_I32));
        x[i] = qnnrt_og__cast(b, x[i], QNNRT_DTYPE_F32);
    }
    if (!b->failed && qnnrt_og__product(b->in[1]->dims, 1, b->in[1]->rank) > 256)
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED,
                       "sums of more than 256 products, which floats do not hold");
    b->out[0] = qnnrt_og__cast(b, qnnrt_og__conv(b, x[0], x[1], NULL, &w,
                                                 qnnrt_og__int(b, "group", 1)),
                               QNNRT_DTYPE_I32);
}

static void qnnrt_og__do_qlinear_matmul(qnnrt_og *b)
{
    qnnrt_og__value *x = qnnrt_og__dequantized(b, b->in[0],
                                               qnnrt_og__scale_of(b, b->in[1], b->in[0],
                                               (int64_t)b->in[0]->rank - 2, 0),
                                               qnnrt_og__scale_of(b, b->in[2], b->in[0],
                                                                  (int64_t)b->in[0]->rank - 2,
                                                                  0));
    qnnrt_og__value *y = qnnrt_og__dequantized(b, b->in[3],
                                               qnnrt_og__scale_of(b, b->in[4], b->in[3],
                                               (int64_t)b->in[3]->rank - 1, 0),
                                               qnnrt_og__scale_of(b, b->in[5], b->in[3],
                                                                  (int64_t)b->in[3]->rank - 1,
                                                                  0));
    x = qnnrt_og__make(b, "matmul.default(%v, %v)", x, y);
    if (!b->failed)
        b->out[0] = qnnrt_og__quantized(b, x, qnnrt_og__cast(b,
                                                             qnnrt_og__scale_of(b, b->in[6], x, 0,
                                                                                0),
                                                             QNNRT_DTYPE_F32),
                                        qnnrt_og__scale_of(b, b->in[7], x, 0, 0), b->in[7]->dtype);
}

static void qnnrt_og__do_qlinear_conv(qnnrt_og *b)
{
    qnnrt_og__value *x = qnnrt_og__dequantized(b, b->in[0], b->in[1], b->in[2]), *bias =
        qnnrt_og__in(b, 8);
    qnnrt_og__value *weight = qnnrt_og__dequantized(b, b->in[3],
                                                    qnnrt_og__along_axis(b, b->in[4], 0,
                                                                         b->in[3]->rank),
                                                    qnnrt_og__along_axis(b, b->in[5], 0,
                                                                         b->in[3]->rank));
    qnnrt_og__window w;
    if (!qnnrt_og__window_read(b, &w, b->in[3]->dims + 2)) return;
    if (bias != NULL)
        bias = qnnrt_og__make(b, "mul.Tensor(to.dtype(%v, dtype='float32'), mul.Tensor(b, e))",
                              bias);
    x = qnnrt_og__conv(b, x, weight, bias, &w, qnnrt_og__int(b, "group", 1));
    b->out[0] = qnnrt_og__quantized(b, x, b->in[6], b->in[7], b->in[7]->dtype);
}
/* =====================================================================================
   TABLE                                                                          >>table
   Operators of ONNX: a recipe, or a function.
   Needs: >>builder >>element >>move >>index >>reduce >>net >>image >>resize >>sequence >>attention
   >>loss >>signal >>quant     Knows nothing of: files
   ===================================================================================== */

typedef struct qnnrt_og__row {
    const char *op;
    int         least, most;                 /* inputs; most 255: any number */
    const char *recipe;                      /* NULL: a function */
    void      (*convert)(qnnrt_og *b);
} qnnrt_og__row;

/* Opset by opset differences are said in the functions. */
static const qnnrt_og__row qnnrt_og__rows[] = {
    { "Abs", 1, 1, "abs.default(a)", NULL },
    { "Acos", 1, 1, "acos.default(a)", NULL },
    { "Acosh", 1, 1, "acosh.default(a)", NULL },
    { "Add", 2, 2, "add.Tensor(a, b)", NULL },
    { "AffineGrid", 2, 2, NULL, qnnrt_og__do_affine_grid },
    { "And", 2, 2, "logical_and.default(a, b)", NULL },
    { "ArgMax", 1, 1, NULL, qnnrt_og__do_argmax },
    { "ArgMin", 1, 1, NULL, qnnrt_og__do_argmin },
    { "Asin", 1, 1, "asin.default(a)", NULL },
    { "Asinh", 1, 1, "asinh.default(a)", NULL },
    { "Atan", 1, 1, "atan.default(a)", NULL },
    { "Atanh", 1, 1, "atanh.default(a)", NULL },
    { "Attention", 3, 7, NULL, qnnrt_og__do_attention },
    { "AveragePool", 1, 1, NULL, qnnrt_og__do_average_pool },
    { "BatchNormalization", 5, 5, NULL, qnnrt_og__do_batch_norm },
    { "BitShift", 2, 2, NULL, qnnrt_og__do_shift },
    { "BitwiseAnd", 2, 2, "bitwise_and.Tensor(a, b)", NULL },
    { "BitwiseNot", 1, 1, "bitwise_not.default(a)", NULL },
    { "BitwiseOr", 2, 2, "bitwise_or.Tensor(a, b)", NULL },
    { "BitwiseXor", 2, 2, "bitwise_xor.Tensor(a, b)", NULL },
    { "BlackmanWindow", 1, 1, NULL, qnnrt_og__do_blackman },
    { "Cast", 1, 1, NULL, qnnrt_og__do_cast },
    { "CastLike", 2, 2, NULL, qnnrt_og__do_cast_like },
    { "CausalConvWithState", 2, 4, NULL, qnnrt_og__do_causal_conv },
    { "Ceil", 1, 1, "ceil.default(a)", NULL },
    { "Celu", 1, 1, "celu.default(a, alpha=@alpha:1.0)", NULL },
    { "CenterCropPad", 2, 2, NULL, qnnrt_og__do_center_crop_pad },
    { "Clip", 1, 3, NULL, qnnrt_og__do_clip },
    { "Col2Im", 3, 3, NULL, qnnrt_og__do_col2im },
    { "Concat", 1, 255, NULL, qnnrt_og__do_concat },
    { "Constant", 0, 0, NULL, qnnrt_og__do_constant },
    { "ConstantOfShape", 1, 1, NULL, qnnrt_og__do_constant_of_shape },
    { "Conv", 2, 3, NULL, qnnrt_og__do_conv },
    { "ConvInteger", 2, 4, NULL, qnnrt_og__do_conv_integer },
    { "ConvTranspose", 2, 3, NULL, qnnrt_og__do_conv_transpose },
    { "Cos", 1, 1, "cos.default(a)", NULL },
    { "Cosh", 1, 1, "cosh.default(a)", NULL },
    { "CumProd", 2, 2, NULL, qnnrt_og__do_cumprod },
    { "CumSum", 2, 2, NULL, qnnrt_og__do_cumsum },
    { "DFT", 1, 3, NULL, qnnrt_og__do_dft },
    { "DepthToSpace", 1, 1, NULL, qnnrt_og__do_depth_to_space },
    { "DequantizeLinear", 2, 3, NULL, qnnrt_og__do_dequantize },
    { "Det", 1, 1, NULL, qnnrt_og__do_det },
    { "Div", 2, 2, NULL, qnnrt_og__do_div },
    { "Dropout", 1, 3, NULL, qnnrt_og__do_dropout },
    { "DynamicQuantizeLinear", 1, 1, NULL, qnnrt_og__do_dynamic_quantize },
    { "Einsum", 1, 255, NULL, qnnrt_og__do_einsum },
    { "Elu", 1, 1, "elu.default(a, alpha=@alpha:1.0)", NULL },
    { "Equal", 2, 2, NULL, qnnrt_og__do_equal },
    { "Erf", 1, 1, "erf.default(a)", NULL },
    { "Exp", 1, 1, "exp.default(a)", NULL },
    { "Expand", 2, 2, NULL, qnnrt_og__do_expand },
    { "EyeLike", 1, 1, NULL, qnnrt_og__do_eye_like },
    { "Flatten", 1, 1, NULL, qnnrt_og__do_flatten },
    { "Floor", 1, 1, "floor.default(a)", NULL },
    { "GRU", 3, 6, NULL, qnnrt_og__do_gru },
    { "Gather", 2, 2, NULL, qnnrt_og__do_gather },
    { "GatherElements", 2, 2, NULL, qnnrt_og__do_gather_elements },
    { "GatherND", 2, 2, NULL, qnnrt_og__do_gather_nd },
    { "Gelu", 1, 1, NULL, qnnrt_og__do_gelu },
    { "Gemm", 2, 3, NULL, qnnrt_og__do_gemm },
    { "GlobalAveragePool", 1, 1, NULL, qnnrt_og__do_global_average_pool },
    { "GlobalLpPool", 1, 1, NULL, qnnrt_og__do_global_lp_pool },
    { "GlobalMaxPool", 1, 1, NULL, qnnrt_og__do_global_max_pool },
    { "Greater", 2, 2, "gt.Tensor(a, b)", NULL },
    { "GreaterOrEqual", 2, 2, "ge.Tensor(a, b)", NULL },
    { "GridSample", 2, 2, NULL, qnnrt_og__do_grid_sample },
    { "GroupNormalization", 3, 3, NULL, qnnrt_og__do_group_norm },
    { "HammingWindow", 1, 1, NULL, qnnrt_og__do_hamming },
    { "HannWindow", 1, 1, NULL, qnnrt_og__do_hann },
    { "HardSigmoid", 1, 1, "clamp.default(add.Scalar(mul.Scalar(a, other=@alpha:0.2), "
                           "other=@beta:0.5), min=0.0, max=1.0)", NULL },
    { "HardSwish", 1, 1, "hardswish.default(a)", NULL },
    { "Hardmax", 1, 1, NULL, qnnrt_og__do_hardmax },
    { "Identity", 1, 1, NULL, qnnrt_og__do_identity },
    { "InstanceNormalization", 3, 3, NULL, qnnrt_og__do_instance_norm },
    { "IsInf", 1, 1, NULL, qnnrt_og__do_isinf },
    { "IsNaN", 1, 1, "isnan.default(a)", NULL },
    { "LRN", 1, 1, NULL, qnnrt_og__do_lrn },
    { "LSTM", 3, 8, NULL, qnnrt_og__do_lstm },
    { "LayerNormalization", 2, 3, NULL, qnnrt_og__do_layer_norm },
    { "LeakyRelu", 1, 1, "leaky_relu.default(a, negative_slope=@alpha:0.01)", NULL },
    { "Less", 2, 2, "lt.Tensor(a, b)", NULL },
    { "LessOrEqual", 2, 2, "le.Tensor(a, b)", NULL },
    { "LinearAttention", 3, 6, NULL, qnnrt_og__do_linear_attention },
    { "Log", 1, 1, "log.default(a)", NULL },
    { "LogSoftmax", 1, 1, NULL, qnnrt_og__do_log_softmax },
    { "LpNormalization", 1, 1, NULL, qnnrt_og__do_lp_norm },
    { "LpPool", 1, 1, NULL, qnnrt_og__do_lp_pool },
    { "MatMul", 2, 2, "matmul.default(a, b)", NULL },
    { "MatMulInteger", 2, 4, NULL, qnnrt_og__do_matmul_integer },
    { "Max", 1, 255, NULL, qnnrt_og__do_max },
    { "MaxPool", 1, 1, NULL, qnnrt_og__do_max_pool },
    { "Mean", 1, 255, NULL, qnnrt_og__do_mean },
    { "MeanVarianceNormalization", 1, 1, NULL, qnnrt_og__do_mean_variance_norm },
    { "MelWeightMatrix", 5, 5, NULL, qnnrt_og__do_mel },
    { "Min", 1, 255, NULL, qnnrt_og__do_min },
    { "Mish", 1, 1, "mish.default(a)", NULL },
    { "Mod", 2, 2, NULL, qnnrt_og__do_mod },
    { "Mul", 2, 2, "mul.Tensor(a, b)", NULL },
    { "Neg", 1, 1, "neg.default(a)", NULL },
    { "NegativeLogLikelihoodLoss", 2, 3, NULL, qnnrt_og__do_nll_loss },
    { "Not", 1, 1, "logical_not.default(a)", NULL },
    { "OneHot", 3, 3, NULL, qnnrt_og__do_one_hot },
    { "Or", 2, 2, "logical_or.default(a, b)", NULL },
    { "PRelu", 2, 2, NULL, qnnrt_og__do_prelu },
    { "Pad", 1, 4, NULL, qnnrt_og__do_pad },
    { "Pow", 2, 2, NULL, qnnrt_og__do_pow },
    { "QLinearConv", 8, 9, NULL, qnnrt_og__do_qlinear_conv },
    { "QLinearMatMul", 8, 8, NULL, qnnrt_og__do_qlinear_matmul },
    { "QuantizeLinear", 2, 3, NULL, qnnrt_og__do_quantize },
    { "RMSNormalization", 2, 2, NULL, qnnrt_og__do_rms_norm },
    { "RNN", 3, 6, NULL, qnnrt_og__do_rnn },
    { "Range", 3, 3, NULL, qnnrt_og__do_range },
    { "Reciprocal", 1, 1, "reciprocal.default(a)", NULL },
    { "ReduceL1", 1, 2, NULL, qnnrt_og__do_reduce_l1 },
    { "ReduceL2", 1, 2, NULL, qnnrt_og__do_reduce_l2 },
    { "ReduceLogSum", 1, 2, NULL, qnnrt_og__do_reduce_log_sum },
    { "ReduceLogSumExp", 1, 2, NULL, qnnrt_og__do_reduce_log_sum_exp },
    { "ReduceMax", 1, 2, NULL, qnnrt_og__do_reduce_max },
    { "ReduceMean", 1, 2, NULL, qnnrt_og__do_reduce_mean },
    { "ReduceMin", 1, 2, NULL, qnnrt_og__do_reduce_min },
    { "ReduceProd", 1, 2, NULL, qnnrt_og__do_reduce_prod },
    { "ReduceSum", 1, 2, NULL, qnnrt_og__do_reduce_sum },
    { "ReduceSumSquare", 1, 2, NULL, qnnrt_og__do_reduce_sum_square },
    { "Relu", 1, 1, "relu.default(a)", NULL },
    { "Reshape", 1, 2, NULL, qnnrt_og__do_reshape },
    { "Resize", 1, 4, NULL, qnnrt_og__do_resize },
    { "ReverseSequence", 2, 2, NULL, qnnrt_og__do_reverse_sequence },
    { "RotaryEmbedding", 3, 4, NULL, qnnrt_og__do_rotary },
    { "Round", 1, 1, "round.default(a)", NULL },
    { "STFT", 2, 4, NULL, qnnrt_og__do_stft },
    { "Scatter", 3, 3, NULL, qnnrt_og__do_scatter_elements },
    { "ScatterElements", 3, 3, NULL, qnnrt_og__do_scatter_elements },
    { "ScatterND", 3, 3, NULL, qnnrt_og__do_scatter_nd },
    { "Selu", 1, 1, "elu.default(a, alpha=@alpha:1.67326319217681884765625, "
                    "scale=@gamma:1.05070102214813232421875)", NULL },
    { "Shape", 1, 1, NULL, qnnrt_og__do_shape },
    { "Shrink", 1, 1, "where.self(gt.Scalar(a, other=@lambd:0.5), sub.Scalar(a, other=@bias:0.0), "
                      "where.ScalarOther(gt.Scalar(neg.default(a), other=@lambd:0.5), "
                      "add.Scalar(a, other=@bias:0.0), other=0.0))", NULL },
    { "Sigmoid", 1, 1, "sigmoid.default(a)", NULL },
    { "Sign", 1, 1, "sign.default(a)", NULL },
    { "Sin", 1, 1, "sin.default(a)", NULL },
    { "Sinh", 1, 1, "sinh.default(a)", NULL },
    { "Size", 1, 1, NULL, qnnrt_og__do_size },
    { "Slice", 1, 5, NULL, qnnrt_og__do_slice },
    { "Softmax", 1, 1, NULL, qnnrt_og__do_softmax },
    { "SoftmaxCrossEntropyLoss", 2, 3, NULL, qnnrt_og__do_softmax_loss },
    { "Softplus", 1, 1, "softplus.default(a)", NULL },
    { "Softsign", 1, 1, "div.Tensor(a, add.Scalar(abs.default(a), other=1))", NULL },
    { "SpaceToDepth", 1, 1, NULL, qnnrt_og__do_space_to_depth },
    { "Split", 1, 2, NULL, qnnrt_og__do_split },
    { "Sqrt", 1, 1, "sqrt.default(a)", NULL },
    { "Squeeze", 1, 2, NULL, qnnrt_og__do_squeeze },
    { "Sub", 2, 2, "sub.Tensor(a, b)", NULL },
    { "Sum", 1, 255, NULL, qnnrt_og__do_sum },
    { "SwiGLU", 2, 2, "mul.Tensor(mul.Tensor(a, sigmoid.default(mul.Scalar(a, other=@alpha:1.0))), "
                      "b)", NULL },
    { "Swish", 1, 1, "mul.Tensor(a, sigmoid.default(mul.Scalar(a, other=@alpha:1.0)))", NULL },
    { "Tan", 1, 1, "tan.default(a)", NULL },
    { "Tanh", 1, 1, "tanh.default(a)", NULL },
    { "TensorScatter", 2, 3, NULL, qnnrt_og__do_tensor_scatter },
    { "ThresholdedRelu", 1, 1, "threshold.default(a, threshold=@alpha:1.0, value=0.0)", NULL },
    { "Tile", 2, 2, NULL, qnnrt_og__do_tile },
    { "TopK", 1, 2, NULL, qnnrt_og__do_topk },
    { "Transpose", 1, 1, NULL, qnnrt_og__do_transpose },
    { "Trilu", 1, 2, NULL, qnnrt_og__do_trilu },
    { "Unsqueeze", 1, 2, NULL, qnnrt_og__do_unsqueeze },
    { "Upsample", 1, 2, NULL, qnnrt_og__do_upsample },
    { "Where", 3, 3, NULL, qnnrt_og__do_where },
    { "Xor", 2, 2, "logical_xor.default(a, b)", NULL },
};

static const qnnrt_og__row *qnnrt_og__row_find(const char *op)
{
    size_t low = 0, high = sizeof(qnnrt_og__rows) / sizeof(qnnrt_og__rows[0]);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = strcmp(qnnrt_og__rows[middle].op, op);
        if (order == 0) return &qnnrt_og__rows[middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

/* =====================================================================================
   WALK                                                                            >>walk
   Nodes in order; functions and branches in place.
   Needs: >>builder >>attributes >>make >>known >>table     Knows nothing of: inputs
   ===================================================================================== */

/* The newest opset of ONNX 1.23. */
enum { QNNRT_OG__OPSET = 28, QNNRT_OG__DEPTH = 64 };

static void qnnrt_og__nodes(qnnrt_og *b, const qnnrt_onnx_node *nodes, size_t count);

/* Before opset 7 dimensions of b stand at an axis of a. */
static void qnnrt_og__broadcast(qnnrt_og *b)
{
    const int wanted = qnnrt_og__int(b, "broadcast", 0) != 0;
    const qnnrt_onnx_attr *attr = qnnrt_og__attr(b, "axis", QNNRT_ONNX_ATTR_INT);
    int64_t dims[QNNRT_IR_RANK], axis;
    uint32_t i;
    if (!wanted || attr == NULL || b->in_count < 2 || b->failed) return;
    axis = qnnrt_og__axis(b, attr->i, b->in[0]->rank);
    for (i = 0; i < b->in[0]->rank - (uint32_t)axis; ++i)
        dims[i] = i < b->in[1]->rank ? b->in[1]->dims[i] : 1;
    b->in[1] = qnnrt_og__view(b, b->in[1], dims, b->in[0]->rank - (uint32_t)axis);
}

/* Read what a graph names into the current scope. */
static void qnnrt_og__initializers(qnnrt_og *b, const qnnrt_onnx_graph *graph)
{
    size_t i;
    for (i = 0; i < graph->initializer_count; ++i) {
        const qnnrt_onnx_tensor *tensor = &graph->initializers[i];
        const qnnrt_dtype dtype = qnnrt_og__dtype((int)tensor->type);
        qnnrt_og__value *value = NULL;
        char text[160];
        if (qnnrt_og__scope_at(b->scope, tensor->name)->text != NULL) continue;    /* bound */
        b->failed = 0;
        snprintf(text, sizeof text, "initializer \"%.100s\"", tensor->name);
        b->source = qnnrt_ir_text(b->ir, text);
        if (dtype == QNNRT_DTYPE_UNDEFINED || tensor->rank > QNNRT_IR_RANK) {
            qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "type %s, %u dimensions: graphs do not have it",
                           qnnrt_onnx_type_name((int)tensor->type), (unsigned)tensor->rank);
        } else if (tensor->bytes > 4096) {
            value = qnnrt_ir_add_weight(b->ir, tensor->name, tensor->name, dtype, tensor->rank,
                                        tensor->dims);
            if (value != NULL) value->data = tensor->data;
            else qnnrt_og__fail_memory(b);
        } else {
            value = qnnrt_og__constant(b, dtype, tensor->rank, tensor->dims, tensor->data, NULL);
        }
        qnnrt_og__scope_set(b->scope, tensor->name, value);
    }
}

/* A branch with a known condition, in place. */
static void qnnrt_og__if(qnnrt_og *b)
{
    const qnnrt_onnx_attr *branch[2];
    const qnnrt_onnx_node *node = b->node;
    const qnnrt_onnx_graph *graph;
    qnnrt_og__value **out = b->out;
    qnnrt_og__scope *scope, *outer = b->scope;
    const char *source = b->source;
    size_t i, names;
    branch[0] = qnnrt_og__attr(b, "else_branch", QNNRT_ONNX_ATTR_GRAPH);
    branch[1] = qnnrt_og__attr(b, "then_branch", QNNRT_ONNX_ATTR_GRAPH);
    if (!qnnrt_og__must_know(b, b->in[0], "the condition")) return;
    if (branch[0] == NULL || branch[1] == NULL || b->in[0]->count != 1) {
        qnnrt_og__fail(b, QNNRT_E_ARG, "a branch is missing, or the condition is not one value");
        return;
    }
    graph = branch[qnnrt_og__element_int(b->in[0], 0) != 0]->graphs;
    names = graph->initializer_count;
    for (i = 0; i < graph->node_count; ++i) names += graph->nodes[i].output_count;
    scope = qnnrt_og__scope_new(b, names);
    if (scope == NULL) return;
    scope->outer = outer;
    scope->opsets = outer->opsets;
    scope->opset_count = outer->opset_count;
    b->scope = scope;
    qnnrt_og__initializers(b, graph);
    qnnrt_og__nodes(b, graph->nodes, graph->node_count);
    b->scope = outer;
    b->node = node;
    b->out = out;
    b->source = source;
    b->failed = 0;
    b->read = ~UINT64_C(0);
    for (i = 0; i < node->output_count && i < graph->output_count; ++i) {
        const qnnrt_og__name *name = qnnrt_og__scope_find(scope, graph->outputs[i].name);
        out[i] = name != NULL ? name->value : NULL;
    }
}

/* A call of a function of the model, in place. */
static void qnnrt_og__function(qnnrt_og *b, const qnnrt_onnx_function *function)
{
    const qnnrt_onnx_node *node = b->node;
    qnnrt_og__value **out = b->out;
    qnnrt_og__scope *scope, *outer = b->scope;
    const char *source = b->source;
    size_t i, names = function->input_count;
    for (i = 0; i < function->node_count; ++i) names += function->nodes[i].output_count;
    scope = qnnrt_og__scope_new(b, names);
    if (scope == NULL) return;
    scope->caller = outer;
    scope->call = node;
    scope->function = function;
    scope->opsets = function->opsets;
    scope->opset_count = function->opset_count;
    for (i = 0; i < function->input_count; ++i)
        qnnrt_og__scope_set(scope, function->inputs[i], qnnrt_og__in(b, i));
    b->scope = scope;
    qnnrt_og__nodes(b, function->nodes, function->node_count);
    b->scope = outer;
    b->node = node;
    b->out = out;
    b->source = source;
    b->failed = 0;
    b->read = ~UINT64_C(0);
    for (i = 0; i < node->output_count && i < function->output_count; ++i) {
        const qnnrt_og__name *name = qnnrt_og__scope_find(scope, function->outputs[i]);
        out[i] = name != NULL ? name->value : NULL;
    }
}

static const qnnrt_onnx_function *qnnrt_og__function_find(const qnnrt_og *b,
                                                          const qnnrt_onnx_node *node)
{
    size_t i;
    for (i = 0; i < b->onnx->function_count; ++i) {
        const qnnrt_onnx_function *f = &b->onnx->functions[i];
        if (strcmp(f->name, node->op) == 0 && strcmp(f->domain, node->domain) == 0 &&
            strcmp(f->overload, node->overload) == 0) return f;
    }
    return NULL;
}

/* Convert b->node with its row. */
static void qnnrt_og__convert(qnnrt_og *b)
{
    const qnnrt_og__row *row = b->node->domain[0] == '\0' ? qnnrt_og__row_find(b->node->op) : NULL;
    size_t i;
    if (row == NULL) {
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "the operator%s%s is not known",
                       b->node->domain[0] != '\0' ? " of domain " : "", b->node->domain);
        return;
    }
    while (b->in_count > 0 && b->in[b->in_count - 1] == NULL) --b->in_count;
    if (b->in_count < (size_t)row->least || (row->most != 255 && b->in_count > (size_t)row->most)) {
        qnnrt_og__fail(b, QNNRT_E_ARG, "%lu inputs, expected %d to %d", (unsigned long)b->in_count,
                       row->least, row->most);
        return;
    }
    for (i = 0; i < (row->most == 255 ? b->in_count : (size_t)row->least); ++i)
        if (b->in[i] == NULL) {
            qnnrt_og__fail(b, QNNRT_E_ARG, "input %lu is absent", (unsigned long)i);
            return;
        }
    if (b->opset < 7) {
        qnnrt_og__attr(b, "consumed_inputs", 0);
        if (qnnrt_onnx_attr_find(b->node, "broadcast") != NULL) qnnrt_og__broadcast(b);
    }
    if (row->recipe != NULL) b->out[0] = qnnrt_og__make(b, row->recipe);
    else row->convert(b);
}

static void qnnrt_og__one(qnnrt_og *b, const qnnrt_onnx_node *node)
{
    const size_t made = b->ir->value_count;
    const qnnrt_onnx_function *function;
    char text[240];
    size_t i;
    int broken = 0;
    b->node = node;
    b->failed = 0;
    b->read = 0;
    b->opset = qnnrt_onnx_opset_find(b->scope->opsets, b->scope->opset_count, node->domain);
    snprintf(text, sizeof text, "node \"%.150s\" (%.60s)",
             node->name[0] != '\0' || node->output_count == 0 ? node->name : node->outputs[0],
             node->op);
    b->source = qnnrt_ir_text(b->ir, text);
    b->in_count = node->input_count;
    b->out_count = node->output_count > 4 ? node->output_count : 4;
    b->in = (qnnrt_og__value **)qnnrt_og__room(b, node->input_count + 8, sizeof(*b->in));
    b->out = (qnnrt_og__value **)qnnrt_og__room(b, b->out_count, sizeof(*b->out));
    if (b->failed || b->source == NULL) { qnnrt_og__fail_memory(b); return; }
    for (i = 0; i < node->input_count; ++i) {
        const qnnrt_og__name *name = node->inputs[i][0] != '\0'
                                     ? qnnrt_og__scope_find(b->scope, node->inputs[i]) : NULL;
        if (name != NULL) b->in[i] = name->value;
        broken |= node->inputs[i][0] != '\0' && b->in[i] == NULL &&
                  (name == NULL || b->scope->function == NULL);
    }
    function = qnnrt_og__function_find(b, node);
    if (broken) {
        b->failed = 1;                       /* a finding has said why */
    } else if (++b->nodes > (b->desc->nodes != 0 ? b->desc->nodes : 1000000) ||
               b->depth >= QNNRT_OG__DEPTH) {
        qnnrt_og__fail(b, QNNRT_E_LIMIT, "more nodes, or more deeply nested ones, than allowed");
    } else if (function != NULL || strcmp(node->op, "If") == 0) {
        ++b->depth;
        if (function != NULL) qnnrt_og__function(b, function);
        else qnnrt_og__if(b);
        --b->depth;
    } else {
        qnnrt_og__convert(b);
    }
    for (i = 0; i < node->attr_count && i < 64 && !b->failed && function == NULL; ++i)
        if (!(b->read >> i & 1))
            qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "attribute \"%s\" is not known",
                           node->attrs[i].name);
    for (i = 0; i < node->output_count; ++i) {
        qnnrt_og__value *value = b->failed ? NULL : b->out[i];
        if (node->outputs[i][0] == '\0') continue;
        if (value == NULL && !b->failed)
            qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED, "output %lu is not computed", (unsigned long)i);
        if (value != NULL && value->node != NULL && value->number >= made && b->depth == 0)
            qnnrt_ir_set_name(b->ir, value, node->outputs[i]);
        qnnrt_og__scope_set(b->scope, node->outputs[i], b->failed ? NULL : value);
    }
}

static void qnnrt_og__nodes(qnnrt_og *b, const qnnrt_onnx_node *nodes, size_t count)
{
    size_t i;
    for (i = 0; i < count && b->code != QNNRT_E_MEMORY && b->code != QNNRT_E_LIMIT; ++i)
        qnnrt_og__one(b, &nodes[i]);
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   Inputs and outputs, and the function of the header.
   Needs: >>builder >>known >>walk     Knows nothing of: operators
   ===================================================================================== */

/* Find the shape of an input. Return 0 after a finding. */
static int qnnrt_og__input_shape(qnnrt_og *b, const qnnrt_onnx_value *input, uint32_t *rank,
                                 int64_t *dims)
{
    size_t i;
    uint32_t k;
    for (i = 0; i < b->desc->shape_count; ++i) {
        const qnnrt_onnx_shape_is *shape = &b->desc->shapes[i];
        if (strcmp(shape->input, input->name) != 0) continue;
        if (shape->rank > QNNRT_IR_RANK || (input->ranked && shape->rank != input->rank)) {
            qnnrt_og__fail(b, QNNRT_E_MISMATCH, "desc.shapes has %u dimensions, the file %u",
                           (unsigned)shape->rank, (unsigned)input->rank);
            return 0;
        }
        *rank = shape->rank;
        memcpy(dims, shape->dims, shape->rank * sizeof(*dims));
        return 1;
    }
    if (!input->ranked || input->rank > QNNRT_IR_RANK) {
        qnnrt_og__fail(b, QNNRT_E_ARG,
                       "its shape is not known, or has more than 8 dimensions: give it "
                       "(--shape %s=1x3x224x224)", input->name);
        return 0;
    }
    *rank = input->rank;
    for (k = 0; k < input->rank; ++k) {
        dims[k] = input->dims[k].value;
        for (i = 0; dims[k] < 0 && i < b->desc->dim_count; ++i)
            if (strcmp(b->desc->dims[i].name, input->dims[k].param) == 0)
                dims[k] = b->desc->dims[i].value;
        if (dims[k] >= 0) continue;
        if (input->dims[k].param[0] != '\0')
            qnnrt_og__fail(b, QNNRT_E_ARG,
                           "dimension %u is \"%s\", whose size is not known: give it "
                           "(--dim %s=N)", (unsigned)k, input->dims[k].param, input->dims[k].param);
        else qnnrt_og__fail(b, QNNRT_E_ARG, "the size of dimension %u is not known: give the shape "
                            "(--shape %s=1x3x224x224)", (unsigned)k, input->name);
        return 0;
    }
    return 1;
}

static void qnnrt_og__input(qnnrt_og *b, const qnnrt_onnx_value *input)
{
    const qnnrt_dtype dtype = qnnrt_og__dtype((int)input->type);
    const qnnrt_onnx_bind *bind = NULL;
    int64_t dims[QNNRT_IR_RANK];
    uint32_t rank;
    qnnrt_og__value *value = NULL;
    char text[160];
    size_t i;
    if (input->initial != NULL) return;
    b->failed = 0;
    snprintf(text, sizeof text, "input \"%.100s\"", input->name);
    b->source = qnnrt_ir_text(b->ir, text);
    for (i = 0; i < b->desc->bind_count; ++i)
        if (strcmp(b->desc->binds[i].input, input->name) == 0) bind = &b->desc->binds[i];
    if (input->kind != QNNRT_ONNX_TENSOR || dtype == QNNRT_DTYPE_UNDEFINED) {
        qnnrt_og__fail(b, QNNRT_E_UNSUPPORTED,
                       "it is no tensor, or of type %s, which graphs do not have",
                       qnnrt_onnx_type_name((int)input->type));
    } else if (qnnrt_og__input_shape(b, input, &rank, dims)) {
        if (bind == NULL) value = qnnrt_ir_add_input(b->ir, input->name, dtype, rank, dims);
        else value = qnnrt_og__constant(b, dtype, rank, dims, NULL, NULL);
        if (value == NULL) qnnrt_og__fail(b, QNNRT_E_LIMIT,
                                          "out of memory, or its shape is too large");
    }
    if (value != NULL && bind != NULL) {
        if (bind->bytes != value->count * qnnrt_ir_dtype_bytes(dtype))
            qnnrt_og__fail(b, QNNRT_E_MISMATCH, "it is bound to %llu bytes, expected %llu",
                           (unsigned long long)bind->bytes,
                           (unsigned long long)(value->count * qnnrt_ir_dtype_bytes(dtype)));
        else value = qnnrt_og__constant(b, dtype, rank, dims, bind->data, NULL);
    }
    qnnrt_og__scope_set(b->scope, input->name, value);
}

/* Names in desc that the model does not have. */
static void qnnrt_og__unknown_names(qnnrt_og *b)
{
    const qnnrt_onnx_graph *graph = b->onnx->graph;
    size_t i, k;
    b->failed = 0;
    b->source = "desc";
    for (i = 0; i < b->desc->bind_count + b->desc->shape_count; ++i) {
        const char *name = i < b->desc->bind_count
                           ? b->desc->binds[i].input
                           : b->desc->shapes[i - b->desc->bind_count].input;
        for (k = 0; k < graph->input_count && strcmp(graph->inputs[k].name, name) != 0; ++k) {}
        if (k == graph->input_count)
            qnnrt_og__fail(b, QNNRT_E_ARG, "the model has no input \"%.100s\"", name);
    }
}

/* An output that is an input, a constant, or another output becomes a copy. */
static void qnnrt_og__output(qnnrt_og *b, const qnnrt_onnx_value *output)
{
    const qnnrt_og__name *name = qnnrt_og__scope_find(b->scope, output->name);
    qnnrt_og__value *value = name != NULL ? name->value : NULL;
    char text[160];
    b->failed = 0;
    snprintf(text, sizeof text, "output \"%.100s\"", output->name);
    b->source = qnnrt_ir_text(b->ir, text);
    if (value == NULL) return;               /* a finding has said why */
    if (value->node == NULL || value->is_output != 0) {
        qnnrt_og__value *copy = qnnrt_ir_add_value(b->ir, output->name, value->dtype, value->rank,
                                                   value->dims);
        if (copy == NULL || qnnrt_ir_add_node(b->ir, NULL, "clone.default", &value, 1, &copy, 1) ==
                            NULL) { qnnrt_og__fail_memory(b); return; }
        value = copy;
    }
    if (!qnnrt_ir_set_name(b->ir, value, output->name) || !qnnrt_ir_add_output(b->ir, value))
        qnnrt_og__fail_memory(b);
}

static void qnnrt_og__model(qnnrt_og *b)
{
    const qnnrt_onnx_graph *graph = b->onnx->graph;
    size_t i, names = graph->input_count + graph->initializer_count;
    for (i = 0; i < graph->node_count; ++i) names += graph->nodes[i].output_count;
    b->scope = qnnrt_og__scope_new(b, names);
    if (b->scope == NULL) return;
    b->scope->opsets = b->onnx->opsets;
    b->scope->opset_count = b->onnx->opset_count;
    b->source = "the model";
    if (qnnrt_onnx_opset_find(b->onnx->opsets, b->onnx->opset_count, "") > QNNRT_OG__OPSET)
        qnnrt_og__fail(b, QNNRT_E_VERSION, "opset %lld is newer than %d",
                       (long long)qnnrt_onnx_opset_find(b->onnx->opsets, b->onnx->opset_count, ""),
                       QNNRT_OG__OPSET);
    qnnrt_og__unknown_names(b);
    for (i = 0; i < graph->input_count; ++i) qnnrt_og__input(b, &graph->inputs[i]);
    qnnrt_og__initializers(b, graph);
    qnnrt_og__nodes(b, graph->nodes, graph->node_count);
    for (i = 0; i < graph->output_count; ++i) qnnrt_og__output(b, &graph->outputs[i]);
}

QNNRT_ONNX_GRAPH_API qnnrt_result qnnrt_onnx_to_ir(const qnnrt_onnx *onnx,
                                                   const qnnrt_onnx_graph_desc *desc,
                                                   qnnrt_ir **out, qnnrt_error *err)
{
    qnnrt_onnx_graph_desc none;
    qnnrt_ir_desc ir_desc;
    qnnrt_error text;
    qnnrt_og b;
    qnnrt_result result;
    int i;
    if (out != NULL) *out = NULL;
    qnnrt_error_clear(err);
    if (onnx == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "onnx or out is NULL");
    memset(&b, 0, sizeof(b));
    memset(&ir_desc, 0, sizeof(ir_desc));
    memset(&none, 0, sizeof(none));
    b.onnx = onnx;
    b.desc = desc != NULL ? desc : &none;
    b.err = err != NULL ? err : &text;
    b.nothing.name = "";
    b.nothing.dtype = QNNRT_DTYPE_F32;
    b.nothing.rank = 4;
    for (i = 0; i < QNNRT_IR_RANK; ++i) b.nothing.dims[i] = 1;
    b.nothing.count = 1;
    b.arena.hooks = ir_desc.hooks = b.desc->hooks;
    ir_desc.fold_bytes = b.desc->fold_bytes;
    result = qnnrt_ir_create(onnx->graph->name, &ir_desc, &b.ir, err);
    if (result != QNNRT_OK) return result;
    qnnrt_og__model(&b);
    qnnrt_arena_free(&b.arena);
    if (b.findings > 20) qnnrt_error_add(b.err, "\nand %lu more", (unsigned long)b.findings - 20);
    result = b.findings > 0 ? b.code : qnnrt_ir_tidy(b.ir, err);
    if (result == QNNRT_OK) result = qnnrt_ir_check(b.ir, NULL, NULL, err);
    if (result != QNNRT_OK) { qnnrt_ir_free(b.ir); return result; }
    *out = b.ir;
    return QNNRT_OK;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_ONNX_GRAPH__IMPL_ONCE */
#endif /* QNNRT_ONNX_GRAPH_IMPLEMENTATION */
