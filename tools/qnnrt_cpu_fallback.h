/* qnnrt_cpu_fallback.h - v0.5.0 - host steps of a folder: what no backend computes, on this CPU

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_cpu_fallback.h"
       #define QNNRT_IR_IMPLEMENTATION
       #define QNNRT_CPU_FALLBACK_IMPLEMENTATION
       #include "qnnrt_cpu_fallback.h"
   qnnrt_ir.h lies beside this file; qnnrt.h and qnnrt_json.h too, or the compiler finds them. Link
   with -ldl -lm.

       qnnrt_cpu_fallback *host; qnnrt_manifest *program; qnnrt_error err;
       qnnrt_manifest_open_desc desc = {0};                    // of qnnrt_manifest.h
       if (qnnrt_cpu_fallback_open("model_dir", NULL, &host, &err) != QNNRT_OK) puts(err.text);
       desc.host_functions = qnnrt_cpu_fallback_functions(host, &desc.host_function_count);
       if (qnnrt_manifest_open("model_dir", &desc, &program, &err) != QNNRT_OK) puts(err.text);
       ...
       qnnrt_manifest_close(program);
       qnnrt_cpu_fallback_close(host);

   Uses     Public names of qnnrt.h, qnnrt_json.h and qnnrt_ir.h, and libc.
   Trust    host.json may be hostile: its sizes are limited, its graphs are checked. The caller is
            trusted.
   Memory   One allocator hook serves every allocation.
   Threads  The header creates none. Functions of one qnnrt_cpu_fallback may run on several
            threads at once, if the allocator can.
   Globals  Constant tables only. The header prints nothing and never aborts.

   WORDS
       host step     a step of a program that this CPU computes: { "host": "gather_0", ... }
       part          the graph of a host step, as qnnrt_ir_extract() makes it
       border        where a host step takes and gives tensors: their dtypes are those of QNN

   BUILD OPTIONS, to define before the header is first included
       QNNRT_CPU_FALLBACK_API   replaces the storage and export prefix of all functions
                                (default: QNNRT_API)
       The options of qnnrt.h work here too.

   MANUAL

   The file
       DIR/host.json lies beside qnnrt.json:
           { "version": 1, "steps": { "gather_0": { a graph as qnnrt_ir_write() writes it }, ... } }
       It has no weights. Each weight that a part reads is an input of its step; a program binds it
       to a constant, which is a part of a mapped file. Such a table is read in place, row by row.
       qnnrt_compile.h makes weights of constants with more than 256 bytes, too.

   The border
       A step has the inputs of its part, then its weights, and the outputs of its part, by name.
       Tensors without elements are left out. qnnrt_cpu_fallback_tensors() lists them. Floats are
       float32, whatever the part says, or float16 or float64 if the program says so; integers are
       int32, as libraries have them, or as in the part. Bools are as in the part, and weights, but
       int64 may be int32. A scalar may have the dimensions [1]. Inside, float16 and bfloat16 are
       computed in float32: the result is that of qnnrt_ir_run() with qnnrt_ir_run_desc.wide.

   Functions of your own
       qnnrt-run compile --host_op OPERATOR leaves each node with it to a function of who opens the
       folder, which qnnrt_compile.h describes under this title. Give it beside those of host.json:
           memcpy(functions, qnnrt_cpu_fallback_functions(host, &count), count * sizeof *functions);
           functions[count].name = "mylib.line.default";
           functions[count].exec = line;                   // an exec of qnnrt_host_step
           desc.host_functions = functions;
           desc.host_function_count = count + 1;

   Errors
       An index that is out of range, a value that does not fit, and a tensor that is missing
       or of another size end the exec; qnnrt_run_error() names the step:
           exec: host "embed": node "e" (embedding.default): index 9 is out of range: it may be ...

   ROOMS (search for the tag)
       >>border >>part >>call >>file >>write >>public
*/
#ifndef QNNRT_CPU_FALLBACK_H
#define QNNRT_CPU_FALLBACK_H

#include "qnnrt_ir.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_cpu_fallback.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_CPU_FALLBACK_API
#define QNNRT_CPU_FALLBACK_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qnnrt_cpu_fallback qnnrt_cpu_fallback;

/* Options and limits; every 0 is a default. More than a limit is QNNRT_E_LIMIT. */
typedef struct qnnrt_cpu_fallback_desc {
    qnnrt_hooks hooks;               /* alloc and free are used, also while steps run */
    uint64_t    file_bytes;          /* of host.json (default 0: 256 MiB) */
    uint32_t    steps;               /* (default 0: 4,096) */
    uint64_t    value_bytes;         /* of one value that a step computes (default 0: 4 GiB) */
} qnnrt_cpu_fallback_desc;

/* Read the host steps of a folder.

   dir      the folder; without a host.json it has no host steps
   desc     may be NULL
   out      receives the steps, NULL on failure

   Returns  QNNRT_OK; QNNRT_E_FORMAT (not JSON, an unknown version, two steps of one name); as
            qnnrt_ir_read() and qnnrt_ir_check() (text names the step); QNNRT_E_LIMIT; QNNRT_E_IO;
            QNNRT_E_MEMORY; QNNRT_E_ARG
   Frees    qnnrt_cpu_fallback_close() */
QNNRT_CPU_FALLBACK_API qnnrt_result qnnrt_cpu_fallback_open(const char *dir,
                                                            const qnnrt_cpu_fallback_desc *desc,
                                                            qnnrt_cpu_fallback **out,
                                                            qnnrt_error *err);

/* Read host steps from the text of a host.json that is in memory.
   text     may be freed after the call
   Returns  as qnnrt_cpu_fallback_open()
   Frees    qnnrt_cpu_fallback_close() */
QNNRT_CPU_FALLBACK_API qnnrt_result qnnrt_cpu_fallback_read(const char *text, size_t bytes,
                                                            const qnnrt_cpu_fallback_desc *desc,
                                                            qnnrt_cpu_fallback **out,
                                                            qnnrt_error *err);

/* Return the functions for desc.host_functions, in the order of the file. They are valid
   until qnnrt_cpu_fallback_close(). count may be NULL. Without host steps the list may be NULL. */
QNNRT_CPU_FALLBACK_API const qnnrt_host_step *qnnrt_cpu_fallback_functions(
    const qnnrt_cpu_fallback *host, size_t *count);

/* Return the part of a step, by its number in qnnrt_cpu_fallback_functions(); NULL if there is
   none. Do not change it. */
QNNRT_CPU_FALLBACK_API const qnnrt_ir *qnnrt_cpu_fallback_part(const qnnrt_cpu_fallback *host,
                                                               size_t step);

/* Free all. No model that has the functions may be open any more. */
QNNRT_CPU_FALLBACK_API void qnnrt_cpu_fallback_close(qnnrt_cpu_fallback *host);

/* ----------------------------------------------------------------------------------- writing -- */

/* A tensor at the border of a step. */
typedef struct qnnrt_cpu_fallback_tensor {
    const qnnrt_ir_value *value;     /* its name is that of the tensor */
    qnnrt_dtype           dtype;     /* at the border */
    uint32_t              rank;      /* at least 1 */
    uint32_t              dims[QNNRT_IR_RANK];
} qnnrt_cpu_fallback_tensor;

/* List the tensors of the step that a part becomes: what its entry in qnnrt.json must have, as
   qnnrt_host_step. Values of origin QNNRT_IR_WEIGHT need constants, with their elements as stored.

   outputs  0: inputs and weights; 1: outputs
   list     receives up to `room` tensors; NULL: only their number is wanted

   Returns  their number, which may be more than room; 0 if part is NULL */
QNNRT_CPU_FALLBACK_API size_t qnnrt_cpu_fallback_tensors(const qnnrt_ir *part, int outputs,
                                                         qnnrt_cpu_fallback_tensor *list,
                                                         size_t room);

/* The graph of one step. */
typedef struct qnnrt_cpu_fallback_entry {
    const char     *name;            /* of the step: not empty, unique */
    const qnnrt_ir *part;            /* without findings */
} qnnrt_cpu_fallback_entry;

/* Write the text of host.json. `write` receives it in pieces and returns 1 when it accepted one.
   Returns  QNNRT_OK; as qnnrt_ir_write(); QNNRT_E_ARG (a name is empty or occurs twice, an output
            of a part occurs twice or is also an input); QNNRT_E_IO (`write` returned 0) */
QNNRT_CPU_FALLBACK_API qnnrt_result qnnrt_cpu_fallback_write(const qnnrt_cpu_fallback_entry *steps,
                                                             size_t count,
                                                             int (*write)(void *user,
                                                                          const char *text,
                                                                          size_t bytes),
                                                             void *user, qnnrt_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_CPU_FALLBACK_H, end of the declarations */

#ifdef QNNRT_CPU_FALLBACK_IMPLEMENTATION
#ifndef QNNRT_CPU_FALLBACK__IMPL_ONCE
#define QNNRT_CPU_FALLBACK__IMPL_ONCE

/* qnnrt_ir.h includes qnnrt_json.h only where it is implemented. */
#include "qnnrt_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   BORDER                                                                        >>border
   Dtypes inside a part and outside of it, and elements that change between them.
   Needs: nothing     Knows nothing of: files, steps
   ===================================================================================== */

/* Return the dtype of the elements that a part computes with. */
static qnnrt_dtype qnnrt_cpu_fallback__border_inside(const qnnrt_ir_value *value)
{
    qnnrt_ir_run_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.wide = 1;
    return qnnrt_ir_run_dtype(&desc, value);
}

static int qnnrt_cpu_fallback__border_float(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_F16 || dtype == QNNRT_DTYPE_F32 || dtype == QNNRT_DTYPE_F64;
}

/* Return the bytes of an integer that libraries have as int32, or 0. */
static size_t qnnrt_cpu_fallback__border_integer(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_U8 || dtype == QNNRT_DTYPE_I8 || dtype == QNNRT_DTYPE_I16 ||
           dtype == QNNRT_DTYPE_I32 || dtype == QNNRT_DTYPE_I64 ? qnnrt_ir_dtype_bytes(dtype) : 0;
}

/* Return the usual dtype of a value at the border. */
static qnnrt_dtype qnnrt_cpu_fallback__border_outside(const qnnrt_ir_value *value)
{
    const qnnrt_dtype inside = qnnrt_cpu_fallback__border_inside(value);
    if (value->origin == QNNRT_IR_WEIGHT) return inside;
    if (qnnrt_ir_is_wide(value)) return inside;
    return qnnrt_cpu_fallback__border_integer(inside) > 0 ? QNNRT_DTYPE_I32 :
           qnnrt_cpu_fallback__border_float(inside) ? QNNRT_DTYPE_F32 : inside;
}

/* Return true if a tensor of this dtype can stand for a value. */
static int qnnrt_cpu_fallback__border_takes(const qnnrt_ir_value *value, qnnrt_dtype outside)
{
    const qnnrt_dtype inside = qnnrt_cpu_fallback__border_inside(value);
    if (inside == outside) return 1;
    if (inside == QNNRT_DTYPE_I64 || (value->origin != QNNRT_IR_WEIGHT &&
                                      qnnrt_cpu_fallback__border_integer(inside) > 0))
        return outside == QNNRT_DTYPE_I32;
    return value->origin != QNNRT_IR_WEIGHT && qnnrt_cpu_fallback__border_float(inside) &&
           qnnrt_cpu_fallback__border_float(outside);
}

/* Return the value of a float16. */
static double qnnrt_cpu_fallback__border_widen(uint16_t half)
{
    const unsigned exponent = half >> 10 & 31, mantissa = half & 1023u;
    uint64_t bits;
    double f, scale;
    if (exponent == 31) {
        bits = (uint64_t)0x7FF << 52 | (uint64_t)mantissa << 42;
        memcpy(&f, &bits, sizeof(f));
    } else {
        bits = (uint64_t)(1023 + (exponent == 0 ? 1 : (int)exponent) - 25) << 52;
        memcpy(&scale, &bits, sizeof(scale));
        f = (double)(exponent == 0 ? mantissa : mantissa + 1024) * scale;
    }
    return half >> 15 ? -f : f;
}

/* Round to float16, ties to even. */
static uint16_t qnnrt_cpu_fallback__border_narrow(double f)
{
    uint64_t bits, rest;
    unsigned sign, q;
    int exponent, shift;
    memcpy(&bits, &f, sizeof(bits));
    sign = (unsigned)(bits >> 63) << 15;
    exponent = (int)(bits >> 52 & 0x7FF) - 1023;
    bits &= ((uint64_t)1 << 52) - 1;
    if (exponent == 1024) return (uint16_t)(sign | 0x7C00u | (bits != 0 ? 0x200u : 0));
    if (exponent > 15) return (uint16_t)(sign | 0x7C00u);
    shift = 42 + (exponent < -14 ? -14 - exponent : 0);
    if (shift > 53) return (uint16_t)sign;
    bits |= (uint64_t)1 << 52;
    q = (unsigned)(bits >> shift);
    rest = bits & (((uint64_t)1 << shift) - 1);
    if (rest > (uint64_t)1 << (shift - 1) || (rest == (uint64_t)1 << (shift - 1) && (q & 1))) ++q;
    if (exponent >= -14) q += (unsigned)(exponent + 14) << 10;
    return (uint16_t)(sign | q);
}

static double qnnrt_cpu_fallback__border_read(const unsigned char *at, qnnrt_dtype dtype)
{
    double f64;
    float f32;
    uint16_t half;
    if (dtype == QNNRT_DTYPE_F64) { memcpy(&f64, at, 8); return f64; }
    if (dtype == QNNRT_DTYPE_F32) { memcpy(&f32, at, 4); return (double)f32; }
    memcpy(&half, at, 2);
    return qnnrt_cpu_fallback__border_widen(half);
}

/* Read and write integers. Writing returns 0 if the value does not fit. */
static int64_t qnnrt_cpu_fallback__border_get(const unsigned char *at, qnnrt_dtype dtype)
{
    int64_t i64;
    int32_t i32;
    int16_t i16;
    if (dtype == QNNRT_DTYPE_I64) { memcpy(&i64, at, 8); return i64; }
    if (dtype == QNNRT_DTYPE_I32) { memcpy(&i32, at, 4); return i32; }
    if (dtype == QNNRT_DTYPE_I16) { memcpy(&i16, at, 2); return i16; }
    return dtype == QNNRT_DTYPE_U8 || *at < 128 ? *at : *at - 256;
}

static int qnnrt_cpu_fallback__border_put(unsigned char *at, qnnrt_dtype dtype, int64_t i64)
{
    const int bits = 8 * (int)qnnrt_cpu_fallback__border_integer(dtype);
    const int64_t most = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
    const int32_t i32 = (int32_t)i64;
    const int16_t i16 = (int16_t)i64;
    if (dtype == QNNRT_DTYPE_U8 ? i64 < 0 || i64 > 255 : i64 < -most - 1 || i64 > most) return 0;
    if (dtype == QNNRT_DTYPE_I64) memcpy(at, &i64, 8);
    else if (dtype == QNNRT_DTYPE_I32) memcpy(at, &i32, 4);
    else if (dtype == QNNRT_DTYPE_I16) memcpy(at, &i16, 2);
    else *at = (unsigned char)(i64 & 255);
    return 1;
}

/* Convert elements. Return their number, or the index of the first that does not fit. */
static uint64_t qnnrt_cpu_fallback__border_convert(void *to, qnnrt_dtype to_dtype, const void *from,
                                                   qnnrt_dtype from_dtype, uint64_t count)
{
    const size_t in = qnnrt_ir_dtype_bytes(from_dtype), out = qnnrt_ir_dtype_bytes(to_dtype);
    uint64_t i;
    for (i = 0; i < count; ++i) {
        const unsigned char *const a = (const unsigned char *)from + (size_t)i * in;
        unsigned char *const b = (unsigned char *)to + (size_t)i * out;
        double f;
        float f32;
        uint16_t half;
        if (qnnrt_cpu_fallback__border_integer(from_dtype) > 0) {
            if (!qnnrt_cpu_fallback__border_put(b, to_dtype,
                                                qnnrt_cpu_fallback__border_get(a, from_dtype)))
                return i;
        } else {
            f = qnnrt_cpu_fallback__border_read(a, from_dtype);
            f32 = (float)f;
            if (to_dtype == QNNRT_DTYPE_F64) memcpy(b, &f, 8);
            else if (to_dtype == QNNRT_DTYPE_F32) memcpy(b, &f32, 4);
            else { half = qnnrt_cpu_fallback__border_narrow(f); memcpy(b, &half, 2); }
        }
    }
    return count;
}

/* =====================================================================================
   PART                                                                            >>part
   The tensors of a step, in their order.
   Needs: >>border     Knows nothing of: files, runs
   ===================================================================================== */

/* Describe a value, if there is room. */
static void qnnrt_cpu_fallback__part_add(const qnnrt_ir_value *value,
                                         qnnrt_cpu_fallback_tensor *list, size_t room,
                                         size_t *count)
{
    uint32_t d;
    if (value->count == 0) return;
    if (*count < room) {
        qnnrt_cpu_fallback_tensor *const t = &list[*count];
        memset(t, 0, sizeof(*t));
        t->value = value;
        t->dtype = qnnrt_cpu_fallback__border_outside(value);
        t->rank = value->rank > 0 ? value->rank : 1;
        t->dims[0] = 1;
        for (d = 0; d < value->rank; ++d) t->dims[d] = (uint32_t)value->dims[d];
    }
    ++*count;
}

static size_t qnnrt_cpu_fallback__part_list(const qnnrt_ir *part, int outputs,
                                            qnnrt_cpu_fallback_tensor *list,
                                            size_t room)
{
    size_t i, count = 0;
    for (i = 0; outputs && i < part->output_count; ++i)
        qnnrt_cpu_fallback__part_add(part->outputs[i], list, room, &count);
    for (i = 0; !outputs && i < part->input_count; ++i)
        qnnrt_cpu_fallback__part_add(part->inputs[i], list, room, &count);
    for (i = 0; !outputs && i < part->value_count; ++i) {
        const qnnrt_ir_value *const value = part->values[i];
        if (value->origin == QNNRT_IR_WEIGHT && value->users > 0 && value->count > 0)
            qnnrt_cpu_fallback__part_add(value, list, room, &count);
    }
    return count;
}

/* Check that all tensors of a step have different names, and that it has outputs. */
static qnnrt_result qnnrt_cpu_fallback__part_check(const qnnrt_ir *part, qnnrt_result code,
                                                   qnnrt_error *err)
{
    size_t i, k, outputs = 0;
    for (i = 0; i < part->output_count; ++i) {
        const qnnrt_ir_value *const y = part->outputs[i];
        if (y->count == 0) continue;
        ++outputs;
        if (y->origin == QNNRT_IR_INPUT || y->origin == QNNRT_IR_WEIGHT)
            return qnnrt_error_set(err, code, "output \"%.200s\" is also an input", y->name);
        for (k = 0; k < i; ++k)
            if (part->outputs[k] == y)
                return qnnrt_error_set(err, code, "output \"%.200s\" occurs twice", y->name);
    }
    return outputs > 0 ? QNNRT_OK : qnnrt_error_set(err, code, "it has no outputs");
}

/* =====================================================================================
   CALL                                                                            >>call
   Computes a step for a run.
   Needs: >>border     Knows nothing of: files
   ===================================================================================== */

typedef struct qnnrt_cpu_fallback__step {
    char                  *name;
    qnnrt_ir              *part;
    qnnrt_cpu_fallback_tensor     *inputs, *outputs; /* of the border */
    size_t                 input_count, output_count;
    const qnnrt_hooks     *hooks;
} qnnrt_cpu_fallback__step;

/* One call of a step. */
typedef struct qnnrt_cpu_fallback__call {
    const qnnrt_cpu_fallback__step *step;
    const void            **in, **weights;       /* [part->input_count], [step->input_count] */
    void                  **out;                 /* [part->output_count] */
    unsigned char          *scratch;             /* converted elements */
    size_t                  used;
} qnnrt_cpu_fallback__call;

/* Find the tensor of a value, and check it. Most lists have the expected order. */
static qnnrt_result qnnrt_cpu_fallback__call_find(const qnnrt_cpu_fallback_tensor *wanted,
                                                  size_t guess, const qnnrt_tensor_info *list,
                                                  size_t count, size_t *at, qnnrt_error *err)
{
    const char *const name = wanted->value->name;
    size_t i;
    *at = guess;
    if (guess >= count || strcmp(list[guess].name, name) != 0)
        for (*at = 0; *at < count && strcmp(list[*at].name, name) != 0;) ++*at;
    i = *at;
    if (i == count)
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "the program gives the step no tensor "
                               "\"%.200s\"", name);
    if (!qnnrt_cpu_fallback__border_takes(wanted->value, list[i].dtype))
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "tensor \"%.200s\" is %s, expected %s", name,
                               qnnrt_dtype_name(list[i].dtype), qnnrt_dtype_name(wanted->dtype));
    if (list[i].count != wanted->value->count)
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "tensor \"%.200s\" has %llu elements, "
                               "expected %llu", name, (unsigned long long)list[i].count,
                               (unsigned long long)wanted->value->count);
    return QNNRT_OK;
}

/* Return the bytes of the converted elements of a tensor, 0 if it is used as it is. */
static size_t qnnrt_cpu_fallback__call_bytes(const qnnrt_cpu_fallback_tensor *tensor,
                                             qnnrt_dtype outside)
{
    const qnnrt_dtype inside = qnnrt_cpu_fallback__border_inside(tensor->value);
    if (inside == outside) return 0;
    return ((size_t)tensor->value->count * qnnrt_ir_dtype_bytes(inside) + 15) / 16 * 16;
}

/* Check all tensors, and count the memory that converted ones need. */
static qnnrt_result qnnrt_cpu_fallback__call_check(const qnnrt_cpu_fallback__step *step,
                                                   const qnnrt_graph_info *info, size_t *bytes,
                                                   qnnrt_error *err)
{
    qnnrt_result result;
    size_t i, at;
    *bytes = 0;
    if (info->input_count != step->input_count || info->output_count != step->output_count)
        return qnnrt_error_set(err, QNNRT_E_MISMATCH, "the program gives the step %u inputs and %u "
                               "outputs, expected %u and %u", (unsigned)info->input_count,
                               (unsigned)info->output_count, (unsigned)step->input_count,
                               (unsigned)step->output_count);
    for (i = 0; i < step->input_count; ++i) {
        result = qnnrt_cpu_fallback__call_find(&step->inputs[i], i, info->inputs, info->input_count,
                                               &at,
                                               err);
        if (result != QNNRT_OK) return result;
        *bytes += qnnrt_cpu_fallback__call_bytes(&step->inputs[i], info->inputs[at].dtype);
    }
    for (i = 0; i < step->output_count; ++i) {
        result = qnnrt_cpu_fallback__call_find(&step->outputs[i], i, info->outputs,
                                               info->output_count,
                                               &at, err);
        if (result != QNNRT_OK) return result;
        *bytes += qnnrt_cpu_fallback__call_bytes(&step->outputs[i], info->outputs[at].dtype);
    }
    return QNNRT_OK;
}

/* Take a part of the scratch memory, for the elements of a tensor that is converted. */
static unsigned char *qnnrt_cpu_fallback__call_room(qnnrt_cpu_fallback__call *call, size_t bytes)
{
    unsigned char *const room = call->scratch + call->used;
    call->used += bytes;
    return room;
}

/* Convert the elements of a tensor. kind: what it is, for the error. */
static qnnrt_result qnnrt_cpu_fallback__call_convert(const qnnrt_cpu_fallback_tensor *t,
                                                     const char *kind, void *to,
                                                     qnnrt_dtype to_dtype, const void *from,
                                                     qnnrt_dtype from_dtype, qnnrt_error *err)
{
    const uint64_t count = t->value->count;
    const uint64_t done = qnnrt_cpu_fallback__border_convert(to, to_dtype, from, from_dtype, count);
    const unsigned char *const bad =
        (const unsigned char *)from + (size_t)done * qnnrt_ir_dtype_bytes(from_dtype);
    if (done == count) return QNNRT_OK;
    return qnnrt_error_set(err, QNNRT_E_MISMATCH, "%s \"%.200s\": element %llu is %lld, "
                           "which does not fit %s", kind, t->value->name, (unsigned long long)done,
                           (long long)qnnrt_cpu_fallback__border_get(bad, from_dtype),
                           qnnrt_ir_dtype_name(to_dtype));
}

/* Set the elements of all inputs and weights. */
static qnnrt_result qnnrt_cpu_fallback__call_inputs(qnnrt_cpu_fallback__call *call,
                                                    const qnnrt_graph_info *info,
                                                    const void *const *inputs, qnnrt_error *err)
{
    const qnnrt_cpu_fallback__step *const step = call->step;
    const qnnrt_ir *const part = step->part;
    size_t i, at, input = 0;
    for (i = 0; i < step->input_count; ++i) {
        const qnnrt_cpu_fallback_tensor *const t = &step->inputs[i];
        const void *data;
        size_t bytes;
        if (qnnrt_cpu_fallback__call_find(t, i, info->inputs, info->input_count, &at,
                                          NULL) != QNNRT_OK)
            continue;                                    /* checked before */
        data = inputs[at];
        bytes = qnnrt_cpu_fallback__call_bytes(t, info->inputs[at].dtype);
        if (bytes > 0) {
            unsigned char *const room = qnnrt_cpu_fallback__call_room(call, bytes);
            const qnnrt_result result = qnnrt_cpu_fallback__call_convert(
                t, "input", room, qnnrt_cpu_fallback__border_inside(t->value), data,
                info->inputs[at].dtype, err);
            if (result != QNNRT_OK) return result;
            data = room;
        }
        call->weights[i] = data;
        if (t->value->origin == QNNRT_IR_WEIGHT) continue;
        while (part->inputs[input] != t->value) ++input;        /* those without elements */
        call->in[input] = data;
    }
    return QNNRT_OK;
}

static void qnnrt_cpu_fallback__call_outputs(qnnrt_cpu_fallback__call *call,
                                             const qnnrt_graph_info *info,
                                             void *const *outputs)
{
    const qnnrt_cpu_fallback__step *const step = call->step;
    size_t i, at, output = 0;
    for (i = 0; i < step->output_count; ++i) {
        const qnnrt_cpu_fallback_tensor *const t = &step->outputs[i];
        size_t bytes;
        if (qnnrt_cpu_fallback__call_find(t, i, info->outputs, info->output_count, &at,
                                          NULL) != QNNRT_OK)
            continue;
        while (step->part->outputs[output] != t->value) ++output;
        bytes = qnnrt_cpu_fallback__call_bytes(t, info->outputs[at].dtype);
        call->out[output] = bytes > 0 ? (void *)qnnrt_cpu_fallback__call_room(call, bytes)
                                     : outputs[at];
    }
}

/* Convert the outputs that the part computed in other dtypes. */
static qnnrt_result qnnrt_cpu_fallback__call_finish(const qnnrt_cpu_fallback__call *call,
                                                    const qnnrt_graph_info *info,
                                                    void *const *outputs, qnnrt_error *err)
{
    const qnnrt_cpu_fallback__step *const step = call->step;
    size_t i, at, output = 0;
    for (i = 0; i < step->output_count; ++i) {
        const qnnrt_cpu_fallback_tensor *const t = &step->outputs[i];
        qnnrt_result result;
        if (qnnrt_cpu_fallback__call_find(t, i, info->outputs, info->output_count, &at,
                                          NULL) != QNNRT_OK)
            continue;
        while (step->part->outputs[output] != t->value) ++output;
        if (qnnrt_cpu_fallback__call_bytes(t, info->outputs[at].dtype) == 0) continue;
        result = qnnrt_cpu_fallback__call_convert(t, "output", outputs[at], info->outputs[at].dtype,
            call->out[output], qnnrt_cpu_fallback__border_inside(t->value), err);
        if (result != QNNRT_OK) return result;
    }
    return QNNRT_OK;
}

/* Return the elements of a weight: qnnrt_ir_run_desc.data. */
static const void *qnnrt_cpu_fallback__call_weight(void *user, const qnnrt_ir_value *weight)
{
    const qnnrt_cpu_fallback__call *const call = (const qnnrt_cpu_fallback__call *)user;
    const qnnrt_cpu_fallback_tensor *const tensor = (const qnnrt_cpu_fallback_tensor *)weight->note;
    return tensor != NULL ? call->weights[tensor - call->step->inputs] : NULL;
}

/* Compute a step: qnnrt_host_step.exec. */
static qnnrt_result qnnrt_cpu_fallback__call_exec(void *user, const qnnrt_graph_info *info,
                                                  const void *const *inputs, void *const *outputs,
                                                  qnnrt_error *err)
{
    const qnnrt_cpu_fallback__step *const step = (const qnnrt_cpu_fallback__step *)user;
    const size_t pointers = step->part->input_count + step->input_count;
    qnnrt_ir_run_desc desc;
    qnnrt_cpu_fallback__call call;
    qnnrt_result result;
    const void **table;
    void **out;
    size_t bytes;
    qnnrt_error_clear(err);
    result = qnnrt_cpu_fallback__call_check(step, info, &bytes, err);
    if (result != QNNRT_OK) return result;
    memset(&call, 0, sizeof(call));
    call.step = step;
    table = (const void **)qnnrt_hooks_alloc(step->hooks, pointers, sizeof(*table));
    out = (void **)qnnrt_hooks_alloc(step->hooks, step->part->output_count, sizeof(*out));
    call.scratch = (unsigned char *)qnnrt_hooks_alloc(step->hooks, bytes, 1);
    if (table == NULL || out == NULL || call.scratch == NULL) {
        result = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for host steps");
    } else {
        call.in = table;
        call.weights = table + step->part->input_count;
        call.out = out;
        result = qnnrt_cpu_fallback__call_inputs(&call, info, inputs, err);
        qnnrt_cpu_fallback__call_outputs(&call, info, outputs);
        memset(&desc, 0, sizeof(desc));
        desc.hooks = *step->hooks;
        desc.data = qnnrt_cpu_fallback__call_weight;
        desc.data_user = &call;
        desc.wide = desc.ready = 1;
        if (result == QNNRT_OK)
            result = qnnrt_ir_run(step->part, &desc, call.in, call.out, err);
        if (result != QNNRT_OK && err != NULL) qnnrt_text_clean(err->text);
        if (result == QNNRT_OK) result = qnnrt_cpu_fallback__call_finish(&call, info, outputs, err);
    }
    qnnrt_hooks_free(step->hooks, call.scratch);
    qnnrt_hooks_free(step->hooks, out);
    qnnrt_hooks_free(step->hooks, (void *)table);
    return result;
}

/* =====================================================================================
   FILE                                                                            >>file
   Reads host.json.
   Needs: >>border >>part >>call     Knows nothing of: elements
   ===================================================================================== */

struct qnnrt_cpu_fallback {
    qnnrt_hooks          hooks;
    qnnrt_arena          arena;              /* of what follows */
    qnnrt_cpu_fallback__step    *steps;      /* [room], the first `count` are in use */
    qnnrt_host_step *functions;          /* [room] */
    size_t               count, room;
};

typedef struct qnnrt_cpu_fallback__file {
    qnnrt_cpu_fallback        *host;
    qnnrt_cpu_fallback_desc    desc;
    char              *path;
    const char        *text;
    size_t             bytes;
    qnnrt_json_reader  json;
    qnnrt_error       *err;
} qnnrt_cpu_fallback__file;

/* Say that the JSON is damaged. */
static qnnrt_result qnnrt_cpu_fallback__file_bad(const qnnrt_cpu_fallback__file *f, const char *why)
{
    size_t i, line = 1;
    if (f->json.error == NULL)
        return qnnrt_error_set(f->err, QNNRT_E_FORMAT, "%.300s: %s", f->path, why);
    for (i = 0; i < f->json.error_at && i < f->bytes; ++i) line += f->text[i] == '\n';
    return qnnrt_error_set(f->err, QNNRT_E_FORMAT, "%.300s: line %lu: not JSON: %s", f->path,
                           (unsigned long)line, f->json.error);
}

/* Read the text of the file. *text receives its memory, NULL if there is no file. */
static qnnrt_result qnnrt_cpu_fallback__file_read(qnnrt_cpu_fallback__file *f, const char *dir,
                                                  char **text)
{
    const size_t room = strlen(dir) + sizeof("/host.json");
    uint64_t bytes, again;
    qnnrt_result result;
    f->path = (char *)qnnrt_hooks_alloc(&f->desc.hooks, room, 1);
    if (f->path == NULL)
        return qnnrt_error_set(f->err, QNNRT_E_MEMORY, "out of memory for host steps");
    snprintf(f->path, room, "%s/host.json", dir);
    result = qnnrt_file_read(f->path, NULL, 0, &bytes, f->err);
    if (result == QNNRT_E_NOT_FOUND) { qnnrt_error_clear(f->err); return QNNRT_OK; }
    if (result != QNNRT_OK) return result;
    if (bytes > f->desc.file_bytes)
        return qnnrt_error_set(f->err, QNNRT_E_LIMIT, "%.300s: it has %llu bytes, more than "
                               "qnnrt_cpu_fallback_desc.file_bytes", f->path,
                               (unsigned long long)bytes);
    *text = (char *)qnnrt_hooks_alloc(&f->desc.hooks, bytes, 1);
    if (*text == NULL)
        return qnnrt_error_set(f->err, QNNRT_E_MEMORY, "out of memory for host steps");
    f->text = *text;
    result = qnnrt_file_read(f->path, *text, (size_t)bytes, &again, f->err);
    if (result != QNNRT_OK) return result;
    if (again != bytes)
        return qnnrt_error_set(f->err, QNNRT_E_IO, "%.300s: it changed while it was read", f->path);
    f->bytes = (size_t)bytes;
    return QNNRT_OK;
}

/* Return where the value after a key ends, which is an object of valid JSON; *begin receives where
   it begins. */
static const char *qnnrt_cpu_fallback__file_span(const qnnrt_json_text *key, const char **begin)
{
    const char *at = key->text + key->bytes + 1;
    int depth = 0;
    while (*at != '{') ++at;
    *begin = at;
    do {
        if (*at == '"') {
            for (++at; *at != '"'; ++at) if (*at == '\\') ++at;
        } else if (*at == '{' || *at == '[') {
            ++depth;
        } else if (*at == '}' || *at == ']') {
            --depth;
        }
        ++at;
    } while (depth > 0);
    return at;
}

/* Refuse values that are too large. */
static qnnrt_result qnnrt_cpu_fallback__file_sizes(const qnnrt_cpu_fallback__file *f,
                                                   const qnnrt_ir *part)
{
    size_t i;
    for (i = 0; i < part->value_count; ++i) {
        const qnnrt_ir_value *const v = part->values[i];
        const size_t size = qnnrt_ir_dtype_bytes(qnnrt_cpu_fallback__border_inside(v));
        if (v->count > f->desc.value_bytes / (size > 0 ? size : 1))
            return qnnrt_error_set(f->err, QNNRT_E_LIMIT, "value \"%.200s\" has %llu elements, "
                                   "more than qnnrt_cpu_fallback_desc.value_bytes allows", v->name,
                                   (unsigned long long)v->count);
    }
    return QNNRT_OK;
}

/* Make what a step needs while it runs. */
static qnnrt_result qnnrt_cpu_fallback__file_tensors(const qnnrt_cpu_fallback__file *f,
                                                     qnnrt_cpu_fallback__step *step)
{
    size_t i;
    step->input_count = qnnrt_cpu_fallback__part_list(step->part, 0, NULL, 0);
    step->output_count = qnnrt_cpu_fallback__part_list(step->part, 1, NULL, 0);
    step->inputs = (qnnrt_cpu_fallback_tensor *)qnnrt_arena_get(&f->host->arena, step->input_count,
                                                                sizeof(*step->inputs));
    step->outputs = (qnnrt_cpu_fallback_tensor *)qnnrt_arena_get(&f->host->arena,
                                                                 step->output_count,
                                                                 sizeof(*step->outputs));
    if (f->host->arena.failed != QNNRT_OK)
        return qnnrt_error_set(f->err, QNNRT_E_MEMORY, "out of memory for host steps");
    qnnrt_cpu_fallback__part_list(step->part, 0, step->inputs, step->input_count);
    qnnrt_cpu_fallback__part_list(step->part, 1, step->outputs, step->output_count);
    for (i = 0; i < step->input_count; ++i)
        step->part->values[step->inputs[i].value->number]->note = &step->inputs[i];
    return QNNRT_OK;
}

/* Read the graph of a step from its text. */
static qnnrt_result qnnrt_cpu_fallback__file_graph(qnnrt_cpu_fallback__file *f,
                                                   qnnrt_cpu_fallback__step *step,
                                                   const char *begin, size_t bytes)
{
    qnnrt_ir_desc desc;
    qnnrt_result result;
    memset(&desc, 0, sizeof(desc));
    desc.hooks = f->desc.hooks;
    desc.text_bytes = f->desc.file_bytes;
    result = qnnrt_ir_read(begin, bytes, &desc, &step->part, f->err);
    if (result == QNNRT_OK) result = qnnrt_ir_check(step->part, NULL, NULL, f->err);
    if (result == QNNRT_OK) result = qnnrt_cpu_fallback__file_sizes(f, step->part);
    if (result == QNNRT_OK) result = qnnrt_ir_pass_inplace(step->part, f->err);
    if (result == QNNRT_OK) result = qnnrt_cpu_fallback__part_check(step->part, QNNRT_E_FORMAT,
                                                                    f->err);
    if (result == QNNRT_OK) result = qnnrt_cpu_fallback__file_tensors(f, step);
    return result;
}

/* Read one step, whose key was read. */
static qnnrt_result qnnrt_cpu_fallback__file_one(qnnrt_cpu_fallback__file *f)
{
    qnnrt_cpu_fallback *const host = f->host;
    const qnnrt_json_text key = f->json.key;
    qnnrt_cpu_fallback__step *step;
    const char *begin, *end;
    qnnrt_result result;
    size_t i;
    if (qnnrt_json_value(&f->json) != QNNRT_JSON_OBJECT || !qnnrt_json_skip(&f->json))
        return qnnrt_cpu_fallback__file_bad(f, "a step is not an object");
    if (host->count == host->room)
        return qnnrt_cpu_fallback__file_bad(f, "it has another number of steps than before");
    step = &host->steps[host->count++];
    step->hooks = &host->hooks;
    step->name = (char *)qnnrt_arena_get(&host->arena, key.bytes + 1, 1);
    if (step->name == NULL)
        return qnnrt_error_set(f->err, QNNRT_E_MEMORY, "out of memory for host steps");
    qnnrt_json_copy(&key, step->name);
    if (step->name[0] == '\0') return qnnrt_cpu_fallback__file_bad(f, "a step has no name");
    for (i = 0; i + 1 < host->count; ++i)
        if (strcmp(host->steps[i].name, step->name) == 0)
            return qnnrt_error_set(f->err, QNNRT_E_FORMAT, "%.300s: step \"%.200s\" occurs twice",
                                   f->path, step->name);
    end = qnnrt_cpu_fallback__file_span(&key, &begin);
    result = qnnrt_cpu_fallback__file_graph(f, step, begin, (size_t)(end - begin));
    if (result != QNNRT_OK)
        return qnnrt_error_about(f->err, result, "%.300s: step \"%.100s\": ", f->path, step->name);
    host->functions[host->count - 1].name = step->name;
    host->functions[host->count - 1].exec = qnnrt_cpu_fallback__call_exec;
    host->functions[host->count - 1].user = step;
    return QNNRT_OK;
}

/* Read the steps, or with `count` count them. */
static qnnrt_result qnnrt_cpu_fallback__file_steps(qnnrt_cpu_fallback__file *f, size_t *count)
{
    qnnrt_result result = QNNRT_OK;
    if (qnnrt_json_value(&f->json) != QNNRT_JSON_OBJECT)
        return qnnrt_cpu_fallback__file_bad(f, "\"steps\" is not an object");
    while (result == QNNRT_OK && qnnrt_json_more(&f->json)) {
        if (count == NULL) { result = qnnrt_cpu_fallback__file_one(f); continue; }
        ++*count;
        qnnrt_json_skip(&f->json);
    }
    return result;
}

/* Read the document once. */
static qnnrt_result qnnrt_cpu_fallback__file_once(qnnrt_cpu_fallback__file *f, size_t *count)
{
    qnnrt_json_limits limits;
    qnnrt_result result = QNNRT_OK;
    uint64_t version = 0;
    int steps = 0;
    memset(&limits, 0, sizeof(limits));
    limits.bytes = f->bytes;
    qnnrt_json_begin(&f->json, f->text, f->bytes, &limits);
    if (qnnrt_json_value(&f->json) != QNNRT_JSON_OBJECT)
        return qnnrt_cpu_fallback__file_bad(f, "not a list of host steps: not an object");
    while (result == QNNRT_OK && qnnrt_json_more(&f->json)) {
        if (qnnrt_json_is(&f->json.key, "version") && version == 0) {
            if (!qnnrt_json_value_u64(&f->json, &version) || version != 1)
                return qnnrt_cpu_fallback__file_bad(f, "its version is not 1");
        } else if (qnnrt_json_is(&f->json.key, "steps") && !steps) {
            steps = 1;
            result = qnnrt_cpu_fallback__file_steps(f, count);
        } else {
            return qnnrt_cpu_fallback__file_bad(f, "a key is unknown or occurs twice");
        }
    }
    if (result != QNNRT_OK) return result;
    if (!qnnrt_json_end(&f->json)) return qnnrt_cpu_fallback__file_bad(f, "damaged");
    if (version == 0) return qnnrt_cpu_fallback__file_bad(f, "\"version\" is missing");
    return steps ? QNNRT_OK : qnnrt_cpu_fallback__file_bad(f, "\"steps\" is missing");
}

/* Count the steps, then read them. */
static qnnrt_result qnnrt_cpu_fallback__file_all(qnnrt_cpu_fallback__file *f)
{
    qnnrt_cpu_fallback *const host = f->host;
    qnnrt_result result;
    if (f->text == NULL) return QNNRT_OK;
    result = qnnrt_cpu_fallback__file_once(f, &host->room);
    if (result != QNNRT_OK) return result;
    if (host->room > f->desc.steps)
        return qnnrt_error_set(f->err, QNNRT_E_LIMIT, "%.300s: it has %lu steps, more than "
                               "qnnrt_cpu_fallback_desc.steps", f->path, (unsigned long)host->room);
    host->steps = (qnnrt_cpu_fallback__step *)qnnrt_arena_get(&host->arena, host->room,
                                                              sizeof(*host->steps));
    host->functions = (qnnrt_host_step *)qnnrt_arena_get(&host->arena, host->room,
                                                         sizeof(*host->functions));
    if (host->arena.failed != QNNRT_OK)
        return qnnrt_error_set(f->err, QNNRT_E_MEMORY, "out of memory for host steps");
    return qnnrt_cpu_fallback__file_once(f, NULL);
}

static void qnnrt_cpu_fallback__file_free(qnnrt_cpu_fallback *host)
{
    const qnnrt_hooks hooks = host->hooks;
    size_t i;
    for (i = 0; i < host->count; ++i) qnnrt_ir_free(host->steps[i].part);
    qnnrt_arena_free(&host->arena);
    qnnrt_hooks_free(&hooks, host);
}

/* =====================================================================================
   WRITE                                                                          >>write
   Writes host.json.
   Needs: nothing     Knows nothing of: folders
   ===================================================================================== */

static qnnrt_result qnnrt_cpu_fallback__write_all(qnnrt_json_writer *json,
                                                  const qnnrt_cpu_fallback_entry *steps,
                                                  size_t count, qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    size_t i;
    qnnrt_json_write_object(json, 0);
    qnnrt_json_write_key(json, "version");
    qnnrt_json_write_u64(json, 1);
    qnnrt_json_write_key(json, "steps");
    qnnrt_json_write_object(json, 0);
    for (i = 0; i < count && result == QNNRT_OK; ++i) {
        qnnrt_json_write_key(json, steps[i].name);
        result = qnnrt_ir_write(steps[i].part, json, err);
    }
    qnnrt_json_write_close(json);
    qnnrt_json_write_close(json);
    return result;
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   The functions of the header.
   Needs: >>part >>call >>file >>write     Knows nothing of: JSON
   ===================================================================================== */

/* Read host steps, from the file in `dir` or from the text that f has. */
static qnnrt_result qnnrt_cpu_fallback__public_read(qnnrt_cpu_fallback__file *f, const char *dir,
                                                    const qnnrt_cpu_fallback_desc *desc,
                                                    qnnrt_cpu_fallback **out)
{
    char *text = NULL;
    qnnrt_result result = QNNRT_OK;
    if (desc != NULL) f->desc = *desc;
    if ((f->desc.hooks.alloc == NULL) != (f->desc.hooks.free == NULL))
        return qnnrt_error_set(f->err, QNNRT_E_ARG, "hooks need alloc and free");
    if (f->desc.file_bytes == 0) f->desc.file_bytes = (uint64_t)256 << 20;
    if (f->desc.steps == 0) f->desc.steps = 4096;
    if (f->desc.value_bytes == 0) f->desc.value_bytes = (uint64_t)4 << 30;
    f->host = (qnnrt_cpu_fallback *)qnnrt_hooks_alloc(&f->desc.hooks, 1, sizeof(*f->host));
    if (f->host == NULL)
        return qnnrt_error_set(f->err, QNNRT_E_MEMORY, "out of memory for host steps");
    f->host->hooks = f->host->arena.hooks = f->desc.hooks;
    if (dir != NULL) {
        result = qnnrt_cpu_fallback__file_read(f, dir, &text);
    } else if (f->bytes > f->desc.file_bytes) {
        result = qnnrt_error_set(f->err, QNNRT_E_LIMIT, "%.300s: it has %llu bytes, more than "
                                 "qnnrt_cpu_fallback_desc.file_bytes", f->path,
                                 (unsigned long long)f->bytes);
    }
    if (result == QNNRT_OK) result = qnnrt_cpu_fallback__file_all(f);
    qnnrt_hooks_free(&f->desc.hooks, text);
    if (result == QNNRT_OK) *out = f->host;
    else qnnrt_cpu_fallback__file_free(f->host);
    return result;
}

QNNRT_CPU_FALLBACK_API qnnrt_result qnnrt_cpu_fallback_open(const char *dir,
                                                            const qnnrt_cpu_fallback_desc *desc,
                                                            qnnrt_cpu_fallback **out,
                                                            qnnrt_error *err)
{
    qnnrt_cpu_fallback__file f;
    qnnrt_result result;
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (dir == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "dir or out is NULL");
    memset(&f, 0, sizeof(f));
    f.err = err;
    result = qnnrt_cpu_fallback__public_read(&f, dir, desc, out);
    qnnrt_hooks_free(&f.desc.hooks, f.path);
    return result;
}

QNNRT_CPU_FALLBACK_API qnnrt_result qnnrt_cpu_fallback_read(const char *text, size_t bytes,
                                                            const qnnrt_cpu_fallback_desc *desc,
                                                            qnnrt_cpu_fallback **out,
                                                            qnnrt_error *err)
{
    qnnrt_cpu_fallback__file f;
    char name[] = "host steps";
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (text == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "text or out is NULL");
    memset(&f, 0, sizeof(f));
    f.err = err;
    f.path = name;
    f.text = text;
    f.bytes = bytes;
    return qnnrt_cpu_fallback__public_read(&f, NULL, desc, out);
}

QNNRT_CPU_FALLBACK_API const qnnrt_host_step *qnnrt_cpu_fallback_functions(
    const qnnrt_cpu_fallback *host, size_t *count)
{
    if (count != NULL) *count = host != NULL ? host->count : 0;
    return host != NULL ? host->functions : NULL;
}

QNNRT_CPU_FALLBACK_API const qnnrt_ir *qnnrt_cpu_fallback_part(const qnnrt_cpu_fallback *host,
                                                               size_t step)
{
    return host != NULL && step < host->count ? host->steps[step].part : NULL;
}

QNNRT_CPU_FALLBACK_API void qnnrt_cpu_fallback_close(qnnrt_cpu_fallback *host)
{
    if (host != NULL) qnnrt_cpu_fallback__file_free(host);
}

QNNRT_CPU_FALLBACK_API size_t qnnrt_cpu_fallback_tensors(const qnnrt_ir *part, int outputs,
                                                         qnnrt_cpu_fallback_tensor *list,
                                                         size_t room)
{
    return part != NULL ? qnnrt_cpu_fallback__part_list(part, outputs, list,
                                                        list != NULL ? room : 0) : 0;
}

QNNRT_CPU_FALLBACK_API qnnrt_result qnnrt_cpu_fallback_write(const qnnrt_cpu_fallback_entry *steps,
                                                             size_t count,
                                                             int (*write)(void *user,
                                                                          const char *text,
                                                                          size_t bytes),
                                                             void *user, qnnrt_error *err)
{
    qnnrt_json_writer json;
    qnnrt_result result = QNNRT_OK;
    size_t i, k;
    qnnrt_error_clear(err);
    if ((steps == NULL && count > 0) || write == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "steps or write is NULL");
    for (i = 0; i < count && result == QNNRT_OK; ++i) {
        if (steps[i].part == NULL || steps[i].name == NULL || steps[i].name[0] == '\0')
            return qnnrt_error_set(err, QNNRT_E_ARG, "step %lu has no name or no part",
                                   (unsigned long)i);
        for (k = 0; k < i; ++k)
            if (strcmp(steps[i].name, steps[k].name) == 0)
                return qnnrt_error_set(err, QNNRT_E_ARG, "step \"%.200s\" occurs twice",
                                       steps[i].name);
        result = qnnrt_cpu_fallback__part_check(steps[i].part, QNNRT_E_ARG, err);
    }
    if (result != QNNRT_OK) return result;
    qnnrt_json_write_begin(&json, write, user, 1);
    result = qnnrt_cpu_fallback__write_all(&json, steps, count, err);
    if (!qnnrt_json_write_end(&json) && result == QNNRT_OK)
        result = qnnrt_error_set(err, QNNRT_E_IO, "the host steps could not be written: %s",
                                 json.error);
    return result;
}

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_CPU_FALLBACK__IMPL_ONCE */
#endif /* QNNRT_CPU_FALLBACK_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.4.0   First version.
   --------------------------------------------------------------------------------------------- */
