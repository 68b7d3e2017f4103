/* qnnrt_manifest.h - part of qnnrt v0.4.0 - write the program of a folder, a part of its qnnrt.json

   A program says how the files of a folder form a model: on which backend each context runs, which
   steps the pipelines have, and how they are wired. qnnrt_open() reads it; this header writes it,
   from the descriptions that qnnrt_pipeline_make() takes, or from pipelines that exist:

       #include "qnnrt.h"
       #include "qnnrt_json.h"
       #include "qnnrt_manifest.h"

       qnnrt_manifest_desc desc = {0};
       desc.contexts  = contexts;  desc.context_count  = 2;    // files, roles, SHA-256
       desc.pipelines = pipelines; desc.pipeline_count = 1;    // qnnrt_pipeline_desc
       if (qnnrt_manifest_write(&desc, to_file, file, &err) != QNNRT_OK) puts(err.text);

   Its functions are static. The program that includes it links the implementations of qnnrt.h and
   qnnrt_json.h.

   THE FORMAT

   The top-level key "program" of qnnrt.json; other top-level keys belong to others. Everything
   is optional unless it is called required. A key that is not listed here is an error, and so are a
   key that occurs twice, a number out of range, and a name that is not unique among its like.

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
                 "apart": [[1, "mask"], ...],   inputs of steps, as qnnrt_pipeline_desc.apart
                 "constants": [ { "step": 1, "input": "table", "constant": "table" }, ... ],
                                           all required; dtype and dims are those of the input
                 "names": { "image": { "step": 0, "input": "x" },
                            "probabilities": { "step": 2, "output": "y" } },
                                           what users call tensors
                 "buffers": [...],
                 "ranges": [ { "step": 0, "input": "ids", "low": 0, "high": 151935 }, ... ] }
                                           all required; the first and the last value that an int32
                                           input takes, see qnnrt_range_desc
   step        { "context": 0, "graph": "first" }        both required, or
               { "host": "embedding",      all required: a function of desc.host_functions
                 "inputs": [tensor, ...], "outputs": [tensor, ...] }
   tensor      { "name": "ids", "dtype": "int32", "dims": [1, 8],       required
                 "scale": 0.5, "offset": -3,     both, if it is quantized
                 "bits": 4 }               bits in use, if fewer than the dtype has
   edge        { "from": [0, "y"],         required: step and output
                 "to": [1, "x"],           required: a later step and its input
                 "convert": "values",      or "to_nhwc", "to_nchw", see qnnrt_convert
                 "exact": true }           see qnnrt_edge_desc.exact
   buffer      { "name": "state",          required
                 "bytes": 4096,            required
                 "align": 64,              a power of two
                 "slots": [ { "step": 0, "input": "s", "offset": 0 }, ... ] }
                                           required: "step", "offset" and either "input" or "output"

   Numbers of steps are those of "steps", without conversions. Text is UTF-8; names have at most
   limits.name_bytes bytes and no NUL. All entries together count against limits.tensors.
*/
#ifndef QNNRT_MANIFEST_H
#define QNNRT_MANIFEST_H

#if !defined(QNNRT_H) || !defined(QNNRT_JSON_H)
#error "include qnnrt.h and qnnrt_json.h before qnnrt_manifest.h"
#elif QNNRT_VERSION_MAJOR != 0 || QNNRT_VERSION_MINOR != 4
#error "qnnrt_manifest.h and qnnrt.h must have the same version"
#endif

#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qnnrt_manifest_context {
    const char *file;                   /* plain name */
    const char *backend;                /* its role, such as "npu" */
    uint64_t    fingerprint;            /* qnnrt_context_info.fingerprint (default 0: none) */
    const char *sha256;                 /* of the file, as qnnrt_sha256_end() writes it (default
                                           NULL: none) */
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
    const qnnrt_pipeline *const   *wired;       /* pipelines that exist, of one model: all their
                                                   edges are written, with "edges_only" */
    size_t                         wired_count;
    void                         (*more)(void *user, qnnrt_json_writer *json);
                                                /* writes other members of the document, such as
                                                   "llm" (default NULL: there are none) */
    void                          *more_user;
} qnnrt_manifest_desc;

/* ---- the writer ---- */

typedef struct qnnrt_manifest__writer {
    qnnrt_json_writer          json;
    const qnnrt_manifest_desc *desc;
    qnnrt_error               *err;
    qnnrt_result               result;
    const char                *name;            /* of the pipeline that is written */
} qnnrt_manifest__writer;

/* Keep the first failure: `text`, about `what` of the pipeline that is written. */
static void qnnrt_manifest__fail(qnnrt_manifest__writer *w, qnnrt_result code, const char *what,
                                 const char *text)
{
    if (w->result != QNNRT_OK) return;
    w->result = code;
    if (w->err == NULL) return;
    w->err->code = code;
    w->err->vendor_code = 0;
    w->err->hint[0] = '\0';
    if (w->name != NULL)
        snprintf(w->err->text, sizeof w->err->text, "pipeline \"%.160s\": \"%.160s\" %s", w->name,
                 what != NULL ? what : "", text);
    else snprintf(w->err->text, sizeof w->err->text, "\"%.160s\" %s", what != NULL ? what : "",
                  text);
}

static void qnnrt_manifest__text(qnnrt_manifest__writer *w, const char *key, const char *value)
{
    if (value == NULL || value[0] == '\0')
        qnnrt_manifest__fail(w, QNNRT_E_ARG, key, "has no text; expected a name");
    qnnrt_json_write_key(&w->json, key);
    qnnrt_json_write_string(&w->json, value);
}

static void qnnrt_manifest__number(qnnrt_manifest__writer *w, const char *key, uint64_t value)
{
    qnnrt_json_write_key(&w->json, key);
    qnnrt_json_write_u64(&w->json, value);
}

static void qnnrt_manifest__list(qnnrt_manifest__writer *w, const char *key, int one_line)
{
    qnnrt_json_write_key(&w->json, key);
    qnnrt_json_write_array(&w->json, one_line);
}

static void qnnrt_manifest__file(qnnrt_manifest__writer *w, const char *name)
{
    if (name == NULL || name[0] == '.' || strpbrk(name, "/\\") != NULL)
        qnnrt_manifest__fail(w, QNNRT_E_ARG, name, "is not the plain name of a file in the folder");
    qnnrt_manifest__text(w, "file", name);
}

static void qnnrt_manifest__dims(qnnrt_manifest__writer *w, const uint32_t *dims, uint32_t rank)
{
    uint32_t i;
    qnnrt_manifest__list(w, "dims", 1);
    for (i = 0; i < rank; ++i) qnnrt_json_write_u64(&w->json, dims[i]);
    qnnrt_json_write_close(&w->json);
}

/* Write the tensors of a host step. */
static void qnnrt_manifest__tensors(qnnrt_manifest__writer *w, const char *key,
                                    const qnnrt_tensor_info *tensors, size_t count)
{
    size_t i;
    qnnrt_manifest__list(w, key, 0);
    for (i = 0; i < count; ++i) {
        const qnnrt_quant *quant = &tensors[i].quant;
        qnnrt_json_write_object(&w->json, 1);
        qnnrt_manifest__text(w, "name", tensors[i].name);
        qnnrt_manifest__text(w, "dtype", qnnrt_dtype_name(tensors[i].dtype));
        qnnrt_manifest__dims(w, tensors[i].dims, tensors[i].rank);
        if (quant->encoding == QNNRT_ENCODING_PER_TENSOR) {
            qnnrt_json_write_key(&w->json, "scale");
            qnnrt_json_write_f32(&w->json, quant->scale);
            qnnrt_json_write_key(&w->json, "offset");
            qnnrt_json_write_i64(&w->json, quant->offset);
            if (quant->bitwidth != 0) qnnrt_manifest__number(w, "bits", quant->bitwidth);
        } else if (quant->encoding != QNNRT_ENCODING_NONE) {
            qnnrt_manifest__fail(w, QNNRT_E_UNSUPPORTED, tensors[i].name,
                                 "has an encoding that a manifest cannot have");
        }
        qnnrt_json_write_close(&w->json);
    }
    qnnrt_json_write_close(&w->json);
}

/* Write a graph of a context. */
static void qnnrt_manifest__graph(qnnrt_manifest__writer *w, size_t context, const char *graph)
{
    if (context >= w->desc->context_count)
        qnnrt_manifest__fail(w, QNNRT_E_ARG, graph, "is in a context that is not described");
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__number(w, "context", context);
    qnnrt_manifest__text(w, "graph", graph);
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__host(qnnrt_manifest__writer *w, const char *name,
                                 const qnnrt_tensor_info *inputs, size_t input_count,
                                 const qnnrt_tensor_info *outputs, size_t output_count)
{
    qnnrt_json_write_object(&w->json, 0);
    qnnrt_manifest__text(w, "host", name);
    qnnrt_manifest__tensors(w, "inputs", inputs, input_count);
    qnnrt_manifest__tensors(w, "outputs", outputs, output_count);
    qnnrt_json_write_close(&w->json);
}

/* Write [step, "tensor"]; key: NULL in a list. */
static void qnnrt_manifest__end(qnnrt_manifest__writer *w, const char *key, size_t step,
                                const char *tensor)
{
    if (key != NULL) qnnrt_json_write_key(&w->json, key);
    if (tensor == NULL) qnnrt_manifest__fail(w, QNNRT_E_ARG, key, "has no name of a tensor");
    qnnrt_json_write_array(&w->json, 1);
    qnnrt_json_write_u64(&w->json, step);
    qnnrt_json_write_string(&w->json, tensor);
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__edge(qnnrt_manifest__writer *w, const qnnrt_edge_desc *edge)
{
    static const char *const converts[] = { "", "values", "to_nhwc", "to_nchw" };
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__end(w, "from", edge->from_step, edge->from);
    qnnrt_manifest__end(w, "to", edge->to_step, edge->to);
    if ((unsigned)edge->convert > (unsigned)QNNRT_CONVERT_TO_NCHW)
        qnnrt_manifest__fail(w, QNNRT_E_ARG, edge->from, "has an edge of an unknown qnnrt_convert");
    else if (edge->convert != QNNRT_CONVERT_NONE)
        qnnrt_manifest__text(w, "convert", converts[edge->convert]);
    if (edge->exact) {
        qnnrt_json_write_key(&w->json, "exact");
        qnnrt_json_write_bool(&w->json, 1);
    }
    qnnrt_json_write_close(&w->json);
}

/* Write the step and the tensor of an object that was begun. */
static void qnnrt_manifest__side(qnnrt_manifest__writer *w, size_t step, const char *tensor,
                                 int output)
{
    qnnrt_manifest__number(w, "step", step);
    qnnrt_manifest__text(w, output ? "output" : "input", tensor);
}

static void qnnrt_manifest__value(qnnrt_manifest__writer *w, size_t step, const char *input,
                                  const void *data)
{
    const qnnrt_manifest_constant *constants = w->desc->constants;
    size_t i = 0;
    while (i < w->desc->constant_count && constants[i].data != data) ++i;
    if (i == w->desc->constant_count) {
        qnnrt_manifest__fail(w, QNNRT_E_ARG, input, "has a constant that is not described");
        return;
    }
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__side(w, step, input, 0);
    qnnrt_manifest__text(w, "constant", constants[i].name);
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__name(qnnrt_manifest__writer *w, const qnnrt_name_desc *name)
{
    if (name->name == NULL || name->name[0] == '\0')
        qnnrt_manifest__fail(w, QNNRT_E_ARG, name->tensor, "has an empty name");
    qnnrt_json_write_key(&w->json, name->name != NULL ? name->name : "");
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__side(w, name->step, name->tensor, name->output);
    qnnrt_json_write_close(&w->json);
}

/* Begin a buffer, up to the list of its slots. */
static void qnnrt_manifest__buffer(qnnrt_manifest__writer *w, const qnnrt_buffer_desc *buffer)
{
    qnnrt_json_write_object(&w->json, 0);
    qnnrt_manifest__text(w, "name", buffer->name);
    qnnrt_manifest__number(w, "bytes", buffer->bytes);
    if (buffer->align != 0) qnnrt_manifest__number(w, "align", buffer->align);
    qnnrt_manifest__list(w, "slots", 0);
}

static void qnnrt_manifest__keep(qnnrt_manifest__writer *w, const qnnrt_keep_desc *keep)
{
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__side(w, keep->step, keep->tensor, keep->output);
    qnnrt_manifest__number(w, "offset", keep->offset);
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__range(qnnrt_manifest__writer *w, size_t step, const char *input,
                                  int32_t low, int32_t high)
{
    qnnrt_json_write_object(&w->json, 1);
    qnnrt_manifest__side(w, step, input, 0);
    qnnrt_json_write_key(&w->json, "low");
    qnnrt_json_write_i64(&w->json, low);
    qnnrt_json_write_key(&w->json, "high");
    qnnrt_json_write_i64(&w->json, high);
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__only(qnnrt_manifest__writer *w)
{
    qnnrt_json_write_key(&w->json, "edges_only");
    qnnrt_json_write_bool(&w->json, 1);
}

/* ---- descriptions ---- */

static void qnnrt_manifest__described(qnnrt_manifest__writer *w, const qnnrt_pipeline_desc *p)
{
    size_t i, k;
    w->name = p->name != NULL ? p->name : "";
    qnnrt_json_write_object(&w->json, 0);
    qnnrt_manifest__text(w, "name", p->name);
    qnnrt_manifest__list(w, "steps", 0);
    for (i = 0; i < p->step_count; ++i) {
        const qnnrt_host_step *host = p->steps[i].host;
        if (host == NULL) qnnrt_manifest__graph(w, p->steps[i].context, p->steps[i].graph);
        else qnnrt_manifest__host(w, host->name, host->inputs, host->input_count, host->outputs,
                                  host->output_count);
    }
    qnnrt_json_write_close(&w->json);
    if (p->edge_count > 0) {
        qnnrt_manifest__list(w, "edges", 0);
        for (i = 0; i < p->edge_count; ++i) qnnrt_manifest__edge(w, &p->edges[i]);
        qnnrt_json_write_close(&w->json);
    }
    if (p->edges_only) qnnrt_manifest__only(w);
    if (p->apart_count > 0) {
        qnnrt_manifest__list(w, "apart", 0);
        for (i = 0; i < p->apart_count; ++i)
            qnnrt_manifest__end(w, NULL, p->apart[i].step, p->apart[i].input);
        qnnrt_json_write_close(&w->json);
    }
    if (p->constant_count > 0) {
        qnnrt_manifest__list(w, "constants", 0);
        for (i = 0; i < p->constant_count; ++i)
            qnnrt_manifest__value(w, p->constants[i].step, p->constants[i].input,
                                  p->constants[i].data);
        qnnrt_json_write_close(&w->json);
    }
    if (p->name_count > 0) {
        qnnrt_json_write_key(&w->json, "names");
        qnnrt_json_write_object(&w->json, 0);
        for (i = 0; i < p->name_count; ++i) qnnrt_manifest__name(w, &p->names[i]);
        qnnrt_json_write_close(&w->json);
    }
    if (p->buffer_count > 0) {
        qnnrt_manifest__list(w, "buffers", 0);
        for (i = 0; i < p->buffer_count; ++i) {
            qnnrt_manifest__buffer(w, &p->buffers[i]);
            for (k = 0; k < p->keep_count; ++k)
                if (p->keeps[k].buffer == i) qnnrt_manifest__keep(w, &p->keeps[k]);
            qnnrt_json_write_close(&w->json);
            qnnrt_json_write_close(&w->json);
        }
        qnnrt_json_write_close(&w->json);
    }
    if (p->range_count > 0) {
        qnnrt_manifest__list(w, "ranges", 0);
        for (i = 0; i < p->range_count; ++i)
            qnnrt_manifest__range(w, p->ranges[i].step, p->ranges[i].input, p->ranges[i].low,
                                  p->ranges[i].high);
        qnnrt_json_write_close(&w->json);
    }
    qnnrt_json_write_close(&w->json);
}

/* ---- pipelines that exist ---- */

/* Return the number of a step without the conversions before it. */
static size_t qnnrt_manifest__step(const qnnrt_pipeline_info *p, size_t step)
{
    size_t i, number = 0;
    for (i = 0; i < step; ++i) number += p->steps[i].kind != QNNRT_STEP_CONVERT;
    return number;
}

/* Describe where a slot begins, or for what a conversion writes, one of its readers. */
static qnnrt_name_desc qnnrt_manifest__begin(const qnnrt_pipeline_info *p, qnnrt_slot slot)
{
    qnnrt_name_desc end;
    size_t step = slot->first, i = 0;
    memset(&end, 0, sizeof end);
    end.tensor = slot->tensor->name;
    end.output = slot->role == QNNRT_ROLE_OUTPUT || slot->role == QNNRT_ROLE_EDGE;
    if (p->steps[step].kind == QNNRT_STEP_CONVERT) {
        while (i + 1 < p->edge_count && p->edges[i].slot != slot) ++i;
        step = p->edges[i].to_step;
        end.tensor = p->edges[i].to->name;
        end.output = 0;
    }
    end.step = qnnrt_manifest__step(p, step);
    return end;
}

/* Write an edge, unless it leads into a conversion: then its readers' edges stand for it. */
static void qnnrt_manifest__wired_edge(qnnrt_manifest__writer *w, const qnnrt_pipeline_info *p,
                                       const qnnrt_edge_info *from)
{
    qnnrt_edge_desc edge;
    size_t i = 0;
    memset(&edge, 0, sizeof edge);
    if (p->steps[from->to_step].kind == QNNRT_STEP_CONVERT) return;
    edge.to_step = qnnrt_manifest__step(p, from->to_step);
    edge.to = from->to->name;
    if (p->steps[from->from_step].kind == QNNRT_STEP_CONVERT) {
        edge.convert = p->steps[from->from_step].convert;
        edge.exact = p->steps[from->from_step].exact;
        while (i + 1 < p->edge_count && p->edges[i].to_step != from->from_step) ++i;
        from = &p->edges[i];
    }
    edge.from_step = qnnrt_manifest__step(p, from->from_step);
    edge.from = from->from->name;
    qnnrt_manifest__edge(w, &edge);
}

/* Return 1 if an input was kept apart: other inputs of its name are slots of their own. */
static int qnnrt_manifest__is_apart(const qnnrt_pipeline_info *p, qnnrt_slot slot)
{
    size_t i;
    if (slot->role != QNNRT_ROLE_INPUT || slot->first != slot->last) return 0;
    for (i = 0; i < p->slot_count; ++i)
        if (&p->slots[i] != slot && p->slots[i].role == QNNRT_ROLE_INPUT &&
            strcmp(p->slots[i].tensor->name, slot->tensor->name) == 0) return 1;
    return 0;
}

/* Write the lists of a pipeline that concern its slots. */
static void qnnrt_manifest__wired_slots(qnnrt_manifest__writer *w, const qnnrt_pipeline_info *p)
{
    size_t i, count = 0;
    for (i = 0; i < p->slot_count; ++i) {
        if (!qnnrt_manifest__is_apart(p, &p->slots[i])) continue;
        if (count++ == 0) qnnrt_manifest__list(w, "apart", 0);
        qnnrt_manifest__end(w, NULL, qnnrt_manifest__step(p, p->slots[i].first),
                            p->slots[i].tensor->name);
    }
    if (count > 0) qnnrt_json_write_close(&w->json);
    for (i = 0, count = 0; i < p->slot_count; ++i) {
        if (p->slots[i].role != QNNRT_ROLE_CONSTANT) continue;
        if (count++ == 0) qnnrt_manifest__list(w, "constants", 0);
        qnnrt_manifest__value(w, qnnrt_manifest__step(p, p->slots[i].first),
                              p->slots[i].tensor->name, p->slots[i].constant);
    }
    if (count > 0) qnnrt_json_write_close(&w->json);
    if (p->name_count > 0) {
        qnnrt_json_write_key(&w->json, "names");
        qnnrt_json_write_object(&w->json, 0);
        for (i = 0; i < p->name_count; ++i) {
            qnnrt_name_desc name = qnnrt_manifest__begin(p, p->names[i].slot);
            name.name = p->names[i].name;
            qnnrt_manifest__name(w, &name);
        }
        qnnrt_json_write_close(&w->json);
    }
}

static void qnnrt_manifest__wired_buffers(qnnrt_manifest__writer *w, const qnnrt_pipeline_info *p)
{
    size_t i, k;
    if (p->buffer_count == 0) return;
    qnnrt_manifest__list(w, "buffers", 0);
    for (i = 0; i < p->buffer_count; ++i) {
        qnnrt_manifest__buffer(w, &p->buffers[i]);
        for (k = 0; k < p->place_count; ++k) {
            const qnnrt_name_desc end = qnnrt_manifest__begin(p, p->places[k].slot);
            qnnrt_keep_desc keep;
            if (p->places[k].buffer != i) continue;
            keep.buffer = i;
            keep.offset = p->places[k].offset;
            keep.step = end.step;
            keep.tensor = end.tensor;
            keep.output = end.output;
            qnnrt_manifest__keep(w, &keep);
        }
        qnnrt_json_write_close(&w->json);
        qnnrt_json_write_close(&w->json);
    }
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__wired_ranges(qnnrt_manifest__writer *w, const qnnrt_pipeline_info *p)
{
    size_t i, count = 0;
    for (i = 0; i < p->slot_count; ++i) {
        const qnnrt_slot_info *slot = &p->slots[i];
        if (!slot->has_range) continue;
        if (count++ == 0) qnnrt_manifest__list(w, "ranges", 0);
        qnnrt_manifest__range(w, qnnrt_manifest__step(p, slot->first), slot->tensor->name,
                              slot->low, slot->high);
    }
    if (count > 0) qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__wired(qnnrt_manifest__writer *w, const qnnrt_pipeline *pipeline)
{
    const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(pipeline);
    const qnnrt *model = NULL;
    size_t i;
    w->name = p != NULL ? p->name : "";
    if (p == NULL || p->failure != NULL) {
        qnnrt_manifest__fail(w, QNNRT_E_ARG, w->name, "is not wired");
        return;
    }
    qnnrt_json_write_object(&w->json, 0);
    qnnrt_manifest__text(w, "name", p->name);
    qnnrt_manifest__list(w, "steps", 0);
    for (i = 0; i < p->step_count; ++i) {
        const qnnrt_step_info *step = &p->steps[i];
        const qnnrt_graph_info *graph = step->graph;
        if (step->kind == QNNRT_STEP_GRAPH) {
            if (model != NULL && step->model != model)
                qnnrt_manifest__fail(w, QNNRT_E_ARG, graph->name, "belongs to another model");
            model = step->model;
            qnnrt_manifest__graph(w, step->context, graph->name);
        } else if (step->kind == QNNRT_STEP_HOST) {
            qnnrt_manifest__host(w, graph->name, graph->inputs, graph->input_count, graph->outputs,
                                 graph->output_count);
        }
    }
    qnnrt_json_write_close(&w->json);
    if (p->edge_count > 0) {
        qnnrt_manifest__list(w, "edges", 0);
        for (i = 0; i < p->edge_count; ++i) qnnrt_manifest__wired_edge(w, p, &p->edges[i]);
        qnnrt_json_write_close(&w->json);
        qnnrt_manifest__only(w);
    }
    qnnrt_manifest__wired_slots(w, p);
    qnnrt_manifest__wired_buffers(w, p);
    qnnrt_manifest__wired_ranges(w, p);
    qnnrt_json_write_close(&w->json);
}

/* ---- the program ---- */

/* Write the roles of the contexts, each once. */
static void qnnrt_manifest__roles(qnnrt_manifest__writer *w)
{
    const qnnrt_manifest_context *contexts = w->desc->contexts;
    size_t i, k;
    qnnrt_manifest__list(w, "backends", 1);
    for (i = 0; i < w->desc->context_count; ++i) {
        if (contexts[i].backend == NULL || contexts[i].backend[0] == '\0') {
            qnnrt_manifest__fail(w, QNNRT_E_ARG, contexts[i].file, "has no backend");
            continue;
        }
        for (k = 0; k < i && strcmp(contexts[k].backend, contexts[i].backend) != 0;) ++k;
        if (k == i) qnnrt_json_write_string(&w->json, contexts[i].backend);
    }
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__contexts(qnnrt_manifest__writer *w)
{
    char digits[24];
    size_t i;
    qnnrt_manifest__list(w, "contexts", 0);
    for (i = 0; i < w->desc->context_count; ++i) {
        const qnnrt_manifest_context *context = &w->desc->contexts[i];
        qnnrt_json_write_object(&w->json, 1);
        qnnrt_manifest__file(w, context->file);
        qnnrt_manifest__text(w, "backend", context->backend);
        snprintf(digits, sizeof digits, "%016llx", (unsigned long long)context->fingerprint);
        if (context->fingerprint != 0) qnnrt_manifest__text(w, "fingerprint", digits);
        if (context->sha256 != NULL) qnnrt_manifest__text(w, "sha256", context->sha256);
        qnnrt_json_write_close(&w->json);
    }
    qnnrt_json_write_close(&w->json);
}

static void qnnrt_manifest__constants(qnnrt_manifest__writer *w)
{
    size_t i;
    if (w->desc->constant_count == 0) return;
    qnnrt_manifest__list(w, "constants", 0);
    for (i = 0; i < w->desc->constant_count; ++i) {
        const qnnrt_manifest_constant *constant = &w->desc->constants[i];
        qnnrt_json_write_object(&w->json, 1);
        qnnrt_manifest__text(w, "name", constant->name);
        qnnrt_manifest__file(w, constant->file);
        qnnrt_manifest__number(w, "offset", constant->offset);
        qnnrt_manifest__text(w, "dtype", qnnrt_dtype_name(constant->dtype));
        qnnrt_manifest__dims(w, constant->dims, constant->rank);
        qnnrt_json_write_close(&w->json);
    }
    qnnrt_json_write_close(&w->json);
}

/* Write a qnnrt.json with a program, and with what desc->more adds.

   write    receives the text in pieces and returns 1 when it accepted a piece

   What is written opens as the same pipelines. Names are not compared here: qnnrt_open() refuses
   one that occurs twice.
   Returns  QNNRT_OK; QNNRT_E_ARG, QNNRT_E_UNSUPPORTED (what a manifest cannot have: the text names
            it); QNNRT_E_IO (`write` refused). After a failure the text is not complete */
static
#ifdef __GNUC__
__attribute__((unused))
#endif
qnnrt_result qnnrt_manifest_write(const qnnrt_manifest_desc *desc,
                                  int (*write)(void *user, const char *text, size_t bytes),
                                  void *user, qnnrt_error *err)
{
    qnnrt_manifest__writer w;
    size_t i;
    memset(&w, 0, sizeof w);
    w.err = err;
    if (err != NULL) {
        err->code = QNNRT_OK;
        err->vendor_code = 0;
        err->text[0] = err->hint[0] = '\0';
    }
    if (desc == NULL || write == NULL || desc->context_count == 0) {
        qnnrt_manifest__fail(&w, QNNRT_E_ARG, "contexts", "are missing, or desc or write is NULL");
        return w.result;
    }
    w.desc = desc;
    qnnrt_json_write_begin(&w.json, write, user, 4);
    qnnrt_json_write_object(&w.json, 0);
    qnnrt_json_write_key(&w.json, "program");
    qnnrt_json_write_object(&w.json, 0);
    qnnrt_manifest__number(&w, "version", 1);
    qnnrt_manifest__roles(&w);
    qnnrt_manifest__contexts(&w);
    qnnrt_manifest__constants(&w);
    if (desc->pipeline_count + desc->wired_count > 0) {
        qnnrt_manifest__list(&w, "pipelines", 0);
        for (i = 0; i < desc->pipeline_count && w.result == QNNRT_OK; ++i)
            qnnrt_manifest__described(&w, &desc->pipelines[i]);
        for (i = 0; i < desc->wired_count && w.result == QNNRT_OK; ++i)
            qnnrt_manifest__wired(&w, desc->wired[i]);
        qnnrt_json_write_close(&w.json);
    }
    w.name = NULL;
    if (w.result != QNNRT_OK) return w.result;
    qnnrt_json_write_close(&w.json);
    if (desc->more != NULL) desc->more(desc->more_user, &w.json);
    qnnrt_json_write_close(&w.json);
    if (!qnnrt_json_write_end(&w.json))
        qnnrt_manifest__fail(&w, QNNRT_E_IO, "write", w.json.error != NULL ? w.json.error
                                                                           : "did not accept it");
    return w.result;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_MANIFEST_H */
