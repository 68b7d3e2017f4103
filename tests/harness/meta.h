/* meta.h - metadata of contexts in tests: print it, write it as JSON, copy and change it, check it

   Include qnnrt.h first. C99 and C++11.                                                           */
#ifndef META_H
#define META_H

#include "../../qnnrt_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define META_UNUSED __attribute__((unused))
#else
#define META_UNUSED
#endif

/* ---- text that grows -------------------------------------------------------------------------- */

typedef struct meta_text { char *data; size_t used, room; } meta_text;

static META_UNUSED int meta_add(void *user, const char *text, size_t bytes)
{
    meta_text *to = (meta_text *)user;
    if (to->room - to->used <= bytes) {
        to->room = to->room * 2 + bytes + 4096;
        to->data = (char *)realloc(to->data, to->room);
        if (to->data == NULL) abort();
    }
    memcpy(to->data + to->used, text, bytes);
    to->used += bytes;
    to->data[to->used] = '\0';
    return 1;
}

static META_UNUSED void meta_put(meta_text *to, const char *format, ...)
{
    char line[4096];
    va_list args;
    int need;
    va_start(args, format);
    need = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (need < 0 || (size_t)need >= sizeof(line)) abort();
    meta_add(to, line, (size_t)need);
}

static META_UNUSED void meta_free(meta_text *text)
{
    free(text->data);
    memset(text, 0, sizeof(*text));
}

/* Return text with the nth (from 0) `from` replaced by `to`; the caller frees it. NULL if it
   does not occur. */
static META_UNUSED char *meta_edit(const char *text, unsigned nth, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    meta_text out;
    while (at != NULL && nth-- > 0) at = strstr(at + 1, from);
    if (at == NULL) return NULL;
    memset(&out, 0, sizeof(out));
    meta_add(&out, text, (size_t)(at - text));
    meta_add(&out, to, strlen(to));
    meta_add(&out, at + strlen(from), strlen(at + strlen(from)));
    return out.data;
}

/* ---- a table as lines, the same as tests/core/oracle_meta.py prints -------------------------------- */

static META_UNUSED void meta_put_name(meta_text *to, const char *name)
{
    const unsigned char *at = (const unsigned char *)name;
    meta_put(to, "\"");
    for (; *at != 0; ++at) {
        if (*at <= 0x20 || *at >= 0x7F || *at == '\\' || *at == '"') meta_put(to, "\\x%02x", (unsigned)*at);
        else meta_add(to, (const char *)at, 1);
    }
    meta_put(to, "\"");
}

static META_UNUSED unsigned meta_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return (unsigned)bits;
}

static META_UNUSED void meta_put_tensor(meta_text *to, const char *kind, const qnnrt_tensor_info *t)
{
    uint32_t i;
    meta_put(to, "%s ", kind);
    meta_put_name(to, t->name);
    meta_put(to, " id %u dtype 0x%04x rank %u [", (unsigned)t->id, (unsigned)t->dtype, (unsigned)t->rank);
    for (i = 0; i < t->rank; ++i) meta_put(to, "%s%u", i > 0 ? "," : "", (unsigned)t->dims[i]);
    meta_put(to, "] count %llu bytes %llu type %u format %u version %u optional %d updateable %d dynamic ", (unsigned long long)t->count,
             (unsigned long long)t->bytes, (unsigned)t->vendor_type, (unsigned)t->vendor_format, (unsigned)t->vendor_version,
             t->optional, t->updateable);
    if (t->dynamic_dims == NULL) meta_put(to, "-");
    for (i = 0; t->dynamic_dims != NULL && i < t->rank; ++i) meta_put(to, "%d", t->dynamic_dims[i] != 0);
    meta_put(to, " encoding %d vendor 0x%x bitwidth %u", (int)t->quant.encoding, (unsigned)t->quant.vendor_encoding,
             (unsigned)t->quant.bitwidth);
    if (t->quant.encoding == QNNRT_ENCODING_PER_TENSOR) meta_put(to, " %08x/%d", meta_bits(t->quant.scale), (int)t->quant.offset);
    if (t->quant.encoding == QNNRT_ENCODING_PER_AXIS) {
        meta_put(to, " axis %d", (int)t->quant.axis);
        for (i = 0; i < t->quant.count; ++i)
            meta_put(to, " %08x/%d", meta_bits(t->quant.scales[i]), t->quant.offsets != NULL ? (int)t->quant.offsets[i] : 0);
    }
    meta_put(to, "\n");
}

/* Print all that comes from metadata; not file names, sizes of files and times. */
static META_UNUSED void meta_put_context(meta_text *to, const qnnrt_context_info *c)
{
    size_t g, i;
    meta_put(to, "context build ");
    meta_put_name(to, c->build_id);
    meta_put(to, " backend %u core %u.%u.%u api %u.%u.%u blob %u.%u.%u bytes %llu soc %u arch %u tensors %u graphs %u\n",
             (unsigned)c->backend_id, (unsigned)c->core_api.major, (unsigned)c->core_api.minor, (unsigned)c->core_api.patch,
             (unsigned)c->backend_api.major, (unsigned)c->backend_api.minor, (unsigned)c->backend_api.patch,
             (unsigned)c->blob_version.major, (unsigned)c->blob_version.minor, (unsigned)c->blob_version.patch,
             (unsigned long long)c->blob_bytes, (unsigned)c->soc_model, (unsigned)c->dsp_arch, (unsigned)c->context_tensor_count,
             (unsigned)c->graph_count);
    for (g = 0; g < c->graph_count; ++g) {
        const qnnrt_graph_info *graph = &c->graphs[g];
        meta_put(to, "graph ");
        meta_put_name(to, graph->name);
        meta_put(to, " inputs %u outputs %u updateables %u spill %llu vtcm %llu shared %llu const %llu io %llu opdata %llu ddr %llu"
                 " k %llu v %llu opt %u hvx %u dlbc %u safe %u\n", (unsigned)graph->input_count, (unsigned)graph->output_count,
                 (unsigned)graph->updateable_count, (unsigned long long)graph->spill_fill_bytes, (unsigned long long)graph->vtcm_bytes,
                 (unsigned long long)graph->shared_weights_bytes, (unsigned long long)graph->const_bytes,
                 (unsigned long long)graph->io_bytes, (unsigned long long)graph->op_data_bytes, (unsigned long long)graph->ddr_bytes,
                 (unsigned long long)graph->native_k_bytes, (unsigned long long)graph->native_v_bytes,
                 (unsigned)graph->optimization_level, (unsigned)graph->hvx_threads, (unsigned)graph->dlbc, (unsigned)graph->safe_share_io);
        for (i = 0; i < graph->input_count; ++i) meta_put_tensor(to, "in", &graph->inputs[i]);
        for (i = 0; i < graph->output_count; ++i) meta_put_tensor(to, "out", &graph->outputs[i]);
        for (i = 0; i < graph->updateable_count; ++i) meta_put_tensor(to, "upd", &graph->updateables[i]);
    }
}

/* ---- a table as JSON, as the vendor's tool writes it ------------------------------------------ */

enum { META_FLAT = 1, META_COMPACT = 2 };

/* Wrong counts for a document to state; 0: state the true one. */
typedef struct meta_lies { uint32_t graphs, inputs, outputs; } meta_lies;

static META_UNUSED void meta_open(qnnrt_json_writer *w, int flags, const char *version)
{
    qnnrt_json_write_object(w, 0);
    qnnrt_json_write_key(w, "version");
    qnnrt_json_write_string(w, version);
    if (flags & META_FLAT) return;
    qnnrt_json_write_key(w, "info");
    qnnrt_json_write_object(w, 0);
}

static META_UNUSED void meta_close(qnnrt_json_writer *w, int flags)
{
    if (!(flags & META_FLAT)) qnnrt_json_write_close(w);
    qnnrt_json_write_close(w);
}

static META_UNUSED void meta_u64(qnnrt_json_writer *w, const char *key, uint64_t value)
{
    qnnrt_json_write_key(w, key);
    qnnrt_json_write_u64(w, value);
}

static META_UNUSED void meta_string(qnnrt_json_writer *w, const char *key, const char *value)
{
    qnnrt_json_write_key(w, key);
    qnnrt_json_write_string(w, value);
}

static META_UNUSED void meta_enum(qnnrt_json_writer *w, const char *key, const char *prefix, qnnrt_vendor_enum which, uint32_t value)
{
    char text[128];
    const char *name = qnnrt_vendor_name(which, value);
    snprintf(text, sizeof(text), "%s%s", name != NULL ? prefix : "UNKNOWN", name != NULL ? name : "");
    meta_string(w, key, text);
}

static META_UNUSED void meta_version(qnnrt_json_writer *w, const char *key, qnnrt_version_info v)
{
    char text[64];
    snprintf(text, sizeof(text), "%u.%u.%u", (unsigned)v.major, (unsigned)v.minor, (unsigned)v.patch);
    meta_string(w, key, text);
}

static META_UNUSED void meta_write_quant(qnnrt_json_writer *w, const qnnrt_quant *q)
{
    static const char *const objects[4] = { "scaleOffset", "axisScaleOffset", "bwScaleOffset", "bwAxisScaleOffset" };
    int bw = q->vendor_encoding == 2 || q->vendor_encoding == 3;
    uint32_t i;
    qnnrt_json_write_key(w, "quantizeParams");
    qnnrt_json_write_object(w, 0);
    meta_string(w, "definition", q->encoding != QNNRT_ENCODING_NONE ? "QNN_DEFINITION_DEFINED" : "QNN_DEFINITION_UNDEFINED");
    meta_enum(w, "quantizationEncoding", "QNN_QUANTIZATION_ENCODING_", QNNRT_VENDOR_ENCODING, q->vendor_encoding);
    if (q->encoding == QNNRT_ENCODING_PER_TENSOR || q->encoding == QNNRT_ENCODING_PER_AXIS) {
        qnnrt_json_write_key(w, objects[q->vendor_encoding & 3]);
        qnnrt_json_write_object(w, 0);
        if (bw) meta_u64(w, "bitwidth", q->bitwidth);
        if (q->encoding == QNNRT_ENCODING_PER_TENSOR) {
            qnnrt_json_write_key(w, "scale");
            qnnrt_json_write_f32(w, q->scale);
            qnnrt_json_write_key(w, "offset");
            qnnrt_json_write_i64(w, q->offset);
        } else {
            qnnrt_json_write_key(w, "axis");
            qnnrt_json_write_i64(w, q->axis);
            meta_u64(w, bw ? "numElements" : "numScaleOffsets", q->count);
            qnnrt_json_write_key(w, bw ? "scales" : "scaleOffsets");
            qnnrt_json_write_array(w, 0);
            for (i = 0; i < q->count; ++i) {
                if (bw) { qnnrt_json_write_f32(w, q->scales[i]); continue; }
                qnnrt_json_write_object(w, 1);
                qnnrt_json_write_key(w, "scale");
                qnnrt_json_write_f32(w, q->scales[i]);
                qnnrt_json_write_key(w, "offset");
                qnnrt_json_write_i64(w, q->offsets != NULL ? q->offsets[i] : 0);
                qnnrt_json_write_close(w);
            }
            qnnrt_json_write_close(w);
            if (bw) {
                qnnrt_json_write_key(w, "offsets");
                if (q->offsets == NULL) {
                    qnnrt_json_write_null(w);
                } else {
                    qnnrt_json_write_array(w, 0);
                    for (i = 0; i < q->count; ++i) qnnrt_json_write_i64(w, q->offsets[i]);
                    qnnrt_json_write_close(w);
                }
            }
        }
        qnnrt_json_write_close(w);
    }
    qnnrt_json_write_close(w);
}

static META_UNUSED void meta_write_tensors(qnnrt_json_writer *w, int flags, const char *count_key, uint32_t count_lie, const char *key,
                                           const qnnrt_tensor_info *tensors, size_t count)
{
    size_t i;
    uint32_t k;
    meta_u64(w, count_key, count_lie != 0 ? count_lie : count);
    qnnrt_json_write_key(w, key);
    qnnrt_json_write_array(w, 0);
    for (i = 0; i < count; ++i) {
        const qnnrt_tensor_info *t = &tensors[i];
        meta_open(w, flags, t->vendor_version == 2 ? "QNN_TENSOR_VERSION_2" : "QNN_TENSOR_VERSION_1");
        meta_u64(w, "id", t->id);
        meta_string(w, "name", t->name);
        meta_enum(w, "type", "QNN_TENSOR_TYPE_", QNNRT_VENDOR_TENSOR_TYPE, t->vendor_type);
        meta_enum(w, "dataFormat", "QNN_TENSOR_DATA_FORMAT_", QNNRT_VENDOR_FORMAT, t->vendor_format);
        meta_enum(w, "dataType", "QNN_DATATYPE_", QNNRT_VENDOR_DTYPE, (uint32_t)t->dtype);
        meta_u64(w, "rank", t->rank);
        qnnrt_json_write_key(w, "dimensions");
        qnnrt_json_write_array(w, 0);
        for (k = 0; k < t->rank; ++k) qnnrt_json_write_u64(w, t->dims[k]);
        qnnrt_json_write_close(w);
        meta_string(w, "memType", "QNN_TENSORMEMTYPE_RAW");
        meta_write_quant(w, &t->quant);
        if (t->dynamic_dims != NULL) {
            qnnrt_json_write_key(w, "isDynamicDimensions");
            qnnrt_json_write_array(w, 0);
            for (k = 0; k < t->rank; ++k) qnnrt_json_write_u64(w, t->dynamic_dims[k] != 0);
            qnnrt_json_write_close(w);
        }
        meta_close(w, flags);
    }
    qnnrt_json_write_close(w);
}

static META_UNUSED void meta_write_graph(qnnrt_json_writer *w, int flags, const meta_lies *lies, const qnnrt_graph_info *graph)
{
    meta_open(w, flags, "QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3");
    meta_string(w, "graphName", graph->name);
    meta_write_tensors(w, flags, "numGraphInputs", lies->inputs, "graphInputs", graph->inputs, graph->input_count);
    meta_write_tensors(w, flags, "numGraphOutputs", lies->outputs, "graphOutputs", graph->outputs, graph->output_count);
    meta_write_tensors(w, flags, "numUpdateableTensors", 0, "updateableTensors", graph->updateables, graph->updateable_count);
    meta_u64(w, "graphBlobInfoSize", 112);
    qnnrt_json_write_key(w, "graphBlobInfo");
    meta_open(w, flags, "QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1");
    meta_u64(w, "spillFillBufferSize", graph->spill_fill_bytes);
    meta_u64(w, "optimizationLevel", graph->optimization_level);
    meta_u64(w, "vtcmSize", graph->vtcm_bytes % 1048576 == 0 && graph->vtcm_bytes >> 20 < 65536 ? graph->vtcm_bytes >> 20 : graph->vtcm_bytes);
    meta_u64(w, "htpDlbc", graph->dlbc);
    meta_u64(w, "numHvxThreads", graph->hvx_threads);
    meta_close(w, flags);
    qnnrt_json_write_key(w, "graphBlobInfoV2");
    meta_open(w, META_FLAT, "QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V2");
    meta_u64(w, "nativeKChannelSize", graph->native_k_bytes);
    meta_u64(w, "nativeVChannelSize", graph->native_v_bytes);
    meta_u64(w, "isSafeShareIO", graph->safe_share_io);
    meta_u64(w, "ioTensorSize", graph->io_bytes);
    meta_u64(w, "opDataSize", graph->op_data_bytes);
    meta_u64(w, "constSize", graph->const_bytes);
    meta_u64(w, "ddrTensorSize", graph->ddr_bytes);
    meta_u64(w, "sharedWeightsSize", graph->shared_weights_bytes);
    meta_close(w, META_FLAT);
    /* Genuine files have random numbers here, too. */
    meta_u64(w, "startOpIndex", UINT64_C(4294967295));
    meta_u64(w, "endOpIndex", UINT64_C(140212345678901));
    meta_close(w, flags);
}

/* Append the whole document to `to`. lies may be NULL. */
static META_UNUSED void meta_write(meta_text *to, const qnnrt_context_info *c, int flags, const meta_lies *lies)
{
    static const meta_lies none = { 0, 0, 0 };
    static const char *const parts[3] = { "major", "minor", "patch" };
    qnnrt_json_writer w;
    size_t g, i;
    if (lies == NULL) lies = &none;
    qnnrt_json_write_begin(&w, meta_add, to, flags & META_COMPACT ? 0 : 4);
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_key(&w, "header");
    qnnrt_json_write_object(&w, 0);
    meta_string(&w, "artifact_type", flags & META_FLAT ? "CONTEXT_BINARY_INFO_UNIFIED" : "CONTEXT_BINARY_INFO");
    for (g = 0; g < 2; ++g) {
        qnnrt_json_write_key(&w, g == 0 ? "version" : "header_version");
        qnnrt_json_write_object(&w, 0);
        for (i = 0; i < 3; ++i) meta_u64(&w, parts[i], g == 0 ? (i == 0 ? 3u : 0u) : i == 1);
        qnnrt_json_write_close(&w);
    }
    qnnrt_json_write_close(&w);
    meta_string(&w, "version", "QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3");
    if (!(flags & META_FLAT)) {
        qnnrt_json_write_key(&w, "info");
        qnnrt_json_write_object(&w, 0);
    }
    meta_u64(&w, "backendId", c->backend_id);
    meta_string(&w, "buildId", c->build_id);
    meta_version(&w, "coreApiVersion", c->core_api);
    meta_version(&w, "backendApiVersion", c->backend_api);
    meta_string(&w, "socVersion", "");
    meta_version(&w, "contextBlobVersion", c->blob_version);
    meta_u64(&w, "contextBlobSize", c->blob_bytes);
    meta_u64(&w, "numContextTensors", c->context_tensor_count);
    /* The table has no context tensors, only their number. */
    if (c->context_tensor_count == 0) {
        qnnrt_json_write_key(&w, "contextTensors");
        qnnrt_json_write_array(&w, 0);
        qnnrt_json_write_close(&w);
    }
    meta_u64(&w, "numGraphs", lies->graphs != 0 ? lies->graphs : c->graph_count);
    qnnrt_json_write_key(&w, "graphs");
    qnnrt_json_write_array(&w, 0);
    for (g = 0; g < c->graph_count; ++g) meta_write_graph(&w, flags, lies, &c->graphs[g]);
    qnnrt_json_write_close(&w);
    meta_u64(&w, "contextMetadataSize", 8);
    qnnrt_json_write_key(&w, "contextMetadata");
    meta_open(&w, flags, "QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1");
    meta_u64(&w, "dspArch", c->dsp_arch);
    meta_close(&w, flags);
    meta_u64(&w, "socModel", c->soc_model);
    meta_close(&w, flags);
    if (!qnnrt_json_write_end(&w)) { printf("meta_write: %s\n", w.error != NULL ? w.error : "?"); abort(); }
}

/* ---- what must hold of every table ------------------------------------------------------------ */

static META_UNUSED int meta_twice(const qnnrt_tensor_info *t, size_t count)
{
    size_t i, k;
    for (i = 0; i < count && i < 300; ++i)
        for (k = 0; k < i; ++k)
            if (t[i].id == t[k].id || strcmp(t[i].name, t[k].name) == 0) return 1;
    return 0;
}

static META_UNUSED int meta_scale_good(float scale)
{
    uint32_t bits = meta_bits(scale);
    return bits > 0x00200000u && bits < 0x7F800000u;
}

/* Check what must hold of a tensor. Return NULL, or what is broken. */
static META_UNUSED const char *meta_check_tensor(const qnnrt_tensor_info *t, const qnnrt_limits *limits)
{
    uint64_t count = 1, bytes;
    uint32_t i, bits = (uint32_t)t->dtype & 0xFF;
    int fixed = ((uint32_t)t->dtype >> 8) == 3 || ((uint32_t)t->dtype >> 8) == 4;
    const char *dtype = qnnrt_dtype_name(t->dtype);
    if (t->name == NULL || t->name[0] == '\0' || strlen(t->name) > limits->name_bytes) return "a name that is empty or too long";
    if (t->rank > limits->rank || (t->rank > 0 && t->dims == NULL)) return "a rank over the limit";
    for (i = 0; i < t->rank; ++i) if (t->dims[i] == 0) return "a dimension of 0";
    if (t->vendor_version != 1 && t->vendor_version != 2) return "a version";
    if (t->bytes == 0)
        return t->count == 0 && (strcmp(dtype, "unknown") == 0 || strcmp(dtype, "string") == 0 || strcmp(dtype, "undefined") == 0)
                   ? NULL : "no bytes";
    for (i = 0; i < t->rank; ++i) {
        if (count > UINT64_MAX / 64 / t->dims[i]) return "a product that wraps";
        count *= t->dims[i];
    }
    bits = bits == 0x64 ? 64 : bits == 0x32 ? 32 : bits == 0x16 || bits == 0x26 ? 16 : bits;
    bytes = (count * bits + 7) / 8;
    if (t->count != count || t->bytes != bytes || bytes > UINT64_MAX / 2) return "count or bytes differ from the product";
    switch (t->quant.encoding) {
    case QNNRT_ENCODING_NONE:
    case QNNRT_ENCODING_OTHER:
        break;
    case QNNRT_ENCODING_PER_TENSOR:
        if (fixed && !meta_scale_good(t->quant.scale)) return "a scale";
        break;
    case QNNRT_ENCODING_PER_AXIS:
        if (t->quant.axis < 0 || (uint32_t)t->quant.axis >= t->rank) return "an axis";
        if (t->quant.count != t->dims[t->quant.axis] || t->quant.scales == NULL) return "scales of an axis";
        for (i = 0; i < t->quant.count && fixed; ++i) if (!meta_scale_good(t->quant.scales[i])) return "a scale of an axis";
        break;
    default:
        return "an encoding";
    }
    if (fixed && t->quant.bitwidth > bits) return "a bitwidth";
    return NULL;
}

static META_UNUSED const char *meta_check(const qnnrt_context_info *c, const qnnrt_limits *limits)
{
    const char *why = NULL;
    size_t g, i, k;
    if (c->failure != NULL) return c->graph_count == 0 ? NULL : "a failed context with graphs";
    if (c->build_id == NULL || c->file == NULL) return "no build id or file";
    if (c->graph_count == 0 || c->graphs == NULL) return "no graphs";
    for (g = 0; g < c->graph_count; ++g) {
        const qnnrt_graph_info *graph = &c->graphs[g];
        if (graph->name == NULL || graph->name[0] == '\0' || strlen(graph->name) > limits->name_bytes) return "the name of a graph";
        for (k = 0; k < g && g < 300; ++k) if (strcmp(graph->name, c->graphs[k].name) == 0) return "two graphs of one name";
        if (meta_twice(graph->inputs, graph->input_count) || meta_twice(graph->outputs, graph->output_count) ||
            meta_twice(graph->updateables, graph->updateable_count)) return "a name or id twice";
        for (i = 0; i < graph->input_count && why == NULL; ++i) {
            const qnnrt_tensor_info *t = &graph->inputs[i];
            why = meta_check_tensor(t, limits);
            if (why == NULL && t->vendor_type == 1) why = "an input of type APP_READ";
            if (why == NULL && graph->unsupported == NULL && (t->bytes == 0 || t->bytes > UINT32_MAX || t->optional || t->dynamic_dims != NULL))
                why = "an input that cannot run, unreported";
        }
        for (i = 0; i < graph->output_count && why == NULL; ++i) {
            const qnnrt_tensor_info *t = &graph->outputs[i];
            why = meta_check_tensor(t, limits);
            if (why == NULL && t->vendor_type == 0) why = "an output of type APP_WRITE";
            if (why == NULL && graph->unsupported == NULL && (t->bytes == 0 || t->bytes > UINT32_MAX || t->optional || t->dynamic_dims != NULL))
                why = "an output that cannot run, unreported";
        }
        for (i = 0; i < graph->updateable_count && why == NULL; ++i) why = meta_check_tensor(&graph->updateables[i], limits);
        if (why != NULL) return why;
    }
    return NULL;
}

/* ---- a copy that can be changed --------------------------------------------------------------- */

enum { META_POOL = 4096 };
typedef struct meta_pool { void *blocks[META_POOL]; size_t count; } meta_pool;

static META_UNUSED void *meta_have(meta_pool *pool, const void *from, size_t bytes, size_t more)
{
    void *copy = calloc(1, bytes + more + 1);
    if (copy == NULL || pool->count == META_POOL) abort();
    if (bytes > 0) memcpy(copy, from, bytes);
    return pool->blocks[pool->count++] = copy;
}

static META_UNUSED void meta_drop(meta_pool *pool)
{
    while (pool->count > 0) free(pool->blocks[--pool->count]);
}

/* Copy tables with room for one more tensor and graph; names and dims are those of the original. */
static META_UNUSED qnnrt_context_info meta_copy(meta_pool *pool, const qnnrt_context_info *from)
{
    qnnrt_context_info to = *from;
    qnnrt_graph_info *graphs = (qnnrt_graph_info *)meta_have(pool, from->graphs, from->graph_count * sizeof(*graphs), sizeof(*graphs));
    size_t g;
    for (g = 0; g < from->graph_count; ++g) {
        graphs[g].inputs = (qnnrt_tensor_info *)meta_have(pool, graphs[g].inputs, graphs[g].input_count * sizeof(qnnrt_tensor_info),
                                                          sizeof(qnnrt_tensor_info));
        graphs[g].outputs = (qnnrt_tensor_info *)meta_have(pool, graphs[g].outputs, graphs[g].output_count * sizeof(qnnrt_tensor_info),
                                                           sizeof(qnnrt_tensor_info));
        graphs[g].updateables = (qnnrt_tensor_info *)meta_have(pool, graphs[g].updateables,
                                                               graphs[g].updateable_count * sizeof(qnnrt_tensor_info),
                                                               sizeof(qnnrt_tensor_info));
    }
    to.graphs = graphs;
    return to;
}

/* One change of the metadata of graph `graph`. */
typedef enum meta_way {
    META_GRAPH_NAME, META_INPUT_NAME, META_OUTPUT_NAME, META_INPUT_ID, META_OUTPUT_ID, META_TYPE, META_DIRECTION, META_DIRECTION_BACK, META_DTYPE,
    META_FIRST_DIM, META_LAST_DIM, META_OUTPUT_DIM, META_RANK_MORE, META_RANK_LESS, META_SCALE_UP, META_SCALE_DOWN, META_OFFSET,
    META_AXIS, META_AXIS_SCALE, META_AXIS_OFFSET, META_BITWIDTH, META_DEFINITION, META_ENCODING, META_ENCODING_MORE,
    META_COUNT_INPUTS, META_COUNT_OUTPUTS, META_COUNT_GRAPHS, META_INPUT_MISSING, META_OUTPUT_MISSING, META_INPUT_MORE,
    META_OUTPUT_MORE, META_ORDER, META_NAMES_SWAPPED, META_BUILD, META_BACKEND, META_SOC, META_ARCH, META_BLOB, META_GRAPH_MISSING,
    META_GRAPH_MORE, META_GRAPHS_SWAPPED, META_FORMAT, META_DYNAMIC, META_OPTIONAL, META_UPDATEABLE, META_UPDATEABLE_MORE, META_WAYS
} meta_way;

static const char *const meta_way_names[META_WAYS] META_UNUSED = {
    "graph name", "input name", "output name", "input id", "output id", "type", "direction", "direction of an output", "dtype", "first dim", "last dim",
    "output dim", "rank + 1", "rank - 1", "scale one ulp up", "scale one ulp down", "offset", "axis", "scale of an axis",
    "offset of an axis", "bitwidth", "definition", "encoding", "encoding of a plain type", "numGraphInputs", "numGraphOutputs",
    "numGraphs", "input missing", "output missing", "one input more", "one output more", "order", "names swapped", "build id",
    "backend id", "soc model", "dsp arch", "blob size", "graph missing", "one graph more", "graphs swapped", "format", "dynamic",
    "optional", "updateable", "one updateable more"
};

typedef struct meta_altered {
    qnnrt_context_info context;
    meta_lies          lies;
    qnnrt_result       code;                        /* the result that the open must return */
    /* Parts that the error text must have; "" ends the list. */
    char               needles[4][300];
} meta_altered;

static META_UNUSED float meta_next(float value, int by)
{
    uint32_t bits = meta_bits(value) + (uint32_t)by;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Return a tensor whose encoding is of this kind, of the first graph that has one; its graph in
   *g. */
static META_UNUSED qnnrt_tensor_info *meta_find(const qnnrt_context_info *c, qnnrt_encoding encoding, size_t *g)
{
    size_t i, side;
    for (*g = 0; *g < c->graph_count; ++*g)
        for (side = 0; side < 2; ++side) {
            const qnnrt_tensor_info *list = side == 0 ? c->graphs[*g].inputs : c->graphs[*g].outputs;
            size_t count = side == 0 ? c->graphs[*g].input_count : c->graphs[*g].output_count;
            for (i = 0; i < count; ++i) if (list[i].quant.encoding == encoding) return (qnnrt_tensor_info *)(uintptr_t)&list[i];
        }
    return NULL;
}

static META_UNUSED void meta_need(meta_altered *out, int at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(out->needles[at], sizeof(out->needles[at]), format, args);
    va_end(args);
}

/* Make a copy of `from` that is changed in one way. Return 0 if this way is not possible with
   it. */
static META_UNUSED int meta_alter(meta_pool *pool, const qnnrt_context_info *from, meta_way way, meta_altered *out)
{
    qnnrt_graph_info *g;
    qnnrt_tensor_info *in, *o, *t = NULL, keep;
    uint32_t *dims;
    size_t at = 0, side_count;
    char *text;
    memset(out, 0, sizeof(*out));
    out->context = meta_copy(pool, from);
    out->code = QNNRT_E_MISMATCH;
    g = (qnnrt_graph_info *)(uintptr_t)out->context.graphs;
    in = (qnnrt_tensor_info *)(uintptr_t)g->inputs;
    o = (qnnrt_tensor_info *)(uintptr_t)g->outputs;
    side_count = g->input_count;
    meta_need(out, 0, "\"%.200s\"", g->name);
    switch (way) {
    case META_GRAPH_NAME:
        text = (char *)meta_have(pool, g->name, strlen(g->name), 3);
        strcat(text, "_x");
        meta_need(out, 1, "\"%.250s\"", text);
        g->name = text;
        return 1;
    case META_INPUT_NAME:
    case META_OUTPUT_NAME:
        t = way == META_INPUT_NAME ? in : o;
        text = (char *)meta_have(pool, t->name, strlen(t->name), 3);
        strcat(text, "_x");
        meta_need(out, 1, "%s 0", way == META_INPUT_NAME ? "input" : "output");
        meta_need(out, 2, "\"%s\" in", t->name);
        meta_need(out, 3, "\"%s\" in", text);
        t->name = text;
        return 1;
    case META_INPUT_ID:
    case META_OUTPUT_ID:
        t = way == META_INPUT_ID ? in : o;
        meta_need(out, 1, "%s \"%s\"", way == META_INPUT_ID ? "input" : "output", t->name);
        meta_need(out, 2, "id %u, type", (unsigned)t->id);
        t->id += 1000003;
        meta_need(out, 3, "id %u, type", (unsigned)t->id);
        return 1;
    case META_TYPE:
        meta_need(out, 1, "input \"%s\"", in->name);
        meta_need(out, 2, "0x0 APP_WRITE,");
        meta_need(out, 3, "0x3 NATIVE,");
        in->vendor_type = 3;
        return 1;
    case META_DIRECTION:            /* the first input becomes the last output */
        meta_need(out, 1, "input 0 is \"%s\" in", in[0].name);
        if (side_count > 1) meta_need(out, 2, "\"%s\" in", in[1].name);
        else meta_need(out, 2, "missing in");
        o[g->output_count] = in[0];
        o[g->output_count].vendor_type = 1;
        g->output_count += 1;
        memmove(in, in + 1, (side_count - 1) * sizeof(*in));
        g->input_count -= 1;
        return 1;
    case META_DIRECTION_BACK:       /* the last output becomes the first input */
        g->output_count -= 1;
        memmove(in + 1, in, side_count * sizeof(*in));
        in[0] = o[g->output_count];
        in[0].vendor_type = 0;
        in[0].id += 1000003;
        g->input_count += 1;
        meta_need(out, 1, "input 0 is \"%s\" in", in[1].name);
        meta_need(out, 2, "\"%s\" in", in[0].name);
        return 1;
    case META_DTYPE:
        meta_need(out, 1, "input \"%s\"", in->name);
        meta_need(out, 2, "%s[", qnnrt_dtype_name(in->dtype));
        in->dtype = in->dtype == QNNRT_DTYPE_U8Q ? QNNRT_DTYPE_S8Q : in->dtype == QNNRT_DTYPE_U16Q ? QNNRT_DTYPE_S16Q
                    : in->dtype == QNNRT_DTYPE_F32 ? QNNRT_DTYPE_I32 : QNNRT_DTYPE_F32;
        meta_need(out, 3, "%s[", qnnrt_dtype_name(in->dtype));
        return 1;
    case META_FIRST_DIM:
    case META_LAST_DIM:
    case META_OUTPUT_DIM:
        t = way == META_OUTPUT_DIM ? o : in;
        if (t->rank < 1 || t->quant.encoding == QNNRT_ENCODING_PER_AXIS) return 0;
        dims = (uint32_t *)meta_have(pool, t->dims, t->rank * sizeof(*dims), 4);
        at = way == META_FIRST_DIM ? 0 : t->rank - 1;
        meta_need(out, 1, "\"%s\"", t->name);
        meta_need(out, 2, at == 0 ? "[%u" : ",%u]", (unsigned)dims[at]);
        dims[at] += 1;
        meta_need(out, 3, at == 0 ? "[%u" : ",%u]", (unsigned)dims[at]);
        t->dims = dims;
        return 1;
    case META_RANK_MORE:
        dims = (uint32_t *)meta_have(pool, in->dims, in->rank * sizeof(*dims), 4);
        meta_need(out, 1, "input \"%s\"", in->name);
        meta_need(out, 2, in->rank > 0 ? "%u] " : "[] ", in->rank > 0 ? (unsigned)dims[in->rank - 1] : 0u);
        meta_need(out, 3, ",1]");
        dims[in->rank] = 1;
        if (in->rank == 0) meta_need(out, 3, "[1]");
        in->rank += 1;
        in->dims = dims;
        return 1;
    case META_RANK_LESS:
        if (in->rank < 2 || in->quant.encoding == QNNRT_ENCODING_PER_AXIS) return 0;
        meta_need(out, 1, "input \"%s\"", in->name);
        meta_need(out, 2, "%u,%u]", (unsigned)in->dims[in->rank - 2], (unsigned)in->dims[in->rank - 1]);
        meta_need(out, 3, "%u]", (unsigned)in->dims[in->rank - 2]);
        in->rank -= 1;
        return 1;
    case META_SCALE_UP:
    case META_SCALE_DOWN:
    case META_OFFSET:
    case META_BITWIDTH:
    case META_DEFINITION:
    case META_ENCODING:
        t = meta_find(&out->context, QNNRT_ENCODING_PER_TENSOR, &at);
        if (t == NULL) return 0;
        meta_need(out, 0, "graph \"%.200s\"", from->graphs[at].name);
        meta_need(out, 1, "\"%s\"", t->name);
        meta_need(out, 2, "scale %.9g offset %d", (double)t->quant.scale, (int)t->quant.offset);
        if (way == META_BITWIDTH) {
            if (t->quant.vendor_encoding == 0) { t->quant.vendor_encoding = 2; t->quant.bitwidth = 3; }
            else t->quant.bitwidth += t->quant.bitwidth > 2 ? (uint32_t)-1 : 1;
            meta_need(out, 3, "bitwidth %u", (unsigned)t->quant.bitwidth);
        } else if (way == META_DEFINITION) {
            meta_need(out, 3, "%u] in", t->rank > 0 ? (unsigned)t->dims[t->rank - 1] : 0u);
            t->quant.encoding = QNNRT_ENCODING_NONE;
            t->quant.vendor_encoding = 0x7FFFFFFF;
        } else if (way == META_ENCODING) {
            float *scales;
            uint32_t i;
            if (t->rank == 0) return 0;
            scales = (float *)meta_have(pool, NULL, 0, t->dims[0] * sizeof(float));
            for (i = 0; i < t->dims[0]; ++i) scales[i] = t->quant.scale;
            t->quant.encoding = QNNRT_ENCODING_PER_AXIS;
            t->quant.vendor_encoding = 3;
            t->quant.bitwidth = 8;
            t->quant.axis = 0;
            t->quant.count = t->dims[0];
            t->quant.scales = scales;
            t->quant.offsets = NULL;
            meta_need(out, 3, "%u scales over axis 0", (unsigned)t->dims[0]);
        } else {
            if (way == META_OFFSET) t->quant.offset += t->quant.offset < 0 ? 1 : -1;
            else t->quant.scale = meta_next(t->quant.scale, way == META_SCALE_UP ? 1 : -1);
            meta_need(out, 3, "scale %.9g offset %d", (double)t->quant.scale, (int)t->quant.offset);
        }
        return 1;
    case META_AXIS:
    case META_AXIS_SCALE:
    case META_AXIS_OFFSET:
        t = meta_find(&out->context, QNNRT_ENCODING_PER_AXIS, &at);
        if (t == NULL) return 0;
        meta_need(out, 0, "graph \"%.200s\"", from->graphs[at].name);
        meta_need(out, 1, "\"%s\"", t->name);
        if (way == META_AXIS) {
            meta_need(out, 2, "axis %d", (int)t->quant.axis);
            for (at = 0; at < t->rank; ++at) if (t->dims[at] == t->quant.count && (int32_t)at != t->quant.axis) break;
            if (at == t->rank) return 0;
            t->quant.axis = (int32_t)at;
            meta_need(out, 3, "axis %d", (int)t->quant.axis);
        } else {
            uint32_t i = t->quant.count - 1;
            float *scales = (float *)meta_have(pool, t->quant.scales, t->quant.count * sizeof(float), 0);
            int32_t *offsets = (int32_t *)meta_have(pool, NULL, 0, t->quant.count * sizeof(int32_t));
            if (t->quant.offsets != NULL) memcpy(offsets, t->quant.offsets, t->quant.count * sizeof(int32_t));
            meta_need(out, 2, "%.9g offset %d", (double)scales[i], (int)offsets[i]);
            if (way == META_AXIS_SCALE) scales[i] = meta_next(scales[i], 1);
            else offsets[i] += 1;
            meta_need(out, 3, "%.9g offset %d", (double)scales[i], (int)offsets[i]);
            t->quant.scales = scales;
            t->quant.offsets = offsets;
        }
        return 1;
    case META_ENCODING_MORE:
        t = meta_find(&out->context, QNNRT_ENCODING_NONE, &at);
        if (t == NULL) return 0;
        meta_need(out, 0, "graph \"%.200s\"", from->graphs[at].name);
        meta_need(out, 1, "\"%s\"", t->name);
        meta_need(out, 2, "] in");
        meta_need(out, 3, "scale 0.5 offset -7");
        t->quant.encoding = QNNRT_ENCODING_PER_TENSOR;
        t->quant.vendor_encoding = 0;
        t->quant.scale = 0.5f;
        t->quant.offset = -7;
        return 1;
    case META_COUNT_INPUTS:
        out->lies.inputs = (uint32_t)g->input_count + 1;
        out->code = QNNRT_E_FORMAT;
        meta_need(out, 1, "\"numGraphInputs\" is %u, but the list has %u", (unsigned)out->lies.inputs, (unsigned)g->input_count);
        return 1;
    case META_COUNT_OUTPUTS:
        out->lies.outputs = (uint32_t)g->output_count + 1;
        out->code = QNNRT_E_FORMAT;
        meta_need(out, 1, "\"numGraphOutputs\" is %u, but the list has %u", (unsigned)out->lies.outputs, (unsigned)g->output_count);
        return 1;
    case META_COUNT_GRAPHS:
        out->lies.graphs = (uint32_t)from->graph_count + 1;
        out->code = QNNRT_E_FORMAT;
        meta_need(out, 0, "\"numGraphs\" is %u, but the list has %u", (unsigned)out->lies.graphs, (unsigned)from->graph_count);
        return 1;
    case META_INPUT_MISSING:
        if (g->input_count < 2) return 0;
        g->input_count -= 1;
        meta_need(out, 1, "input %u is", (unsigned)g->input_count);
        meta_need(out, 2, "missing in");
        meta_need(out, 3, "\"%s\"", in[g->input_count].name);
        return 1;
    case META_OUTPUT_MISSING:
        if (g->output_count < 2) return 0;
        g->output_count -= 1;
        meta_need(out, 1, "output %u is", (unsigned)g->output_count);
        meta_need(out, 2, "missing in");
        meta_need(out, 3, "\"%s\"", o[g->output_count].name);
        return 1;
    case META_INPUT_MORE:
    case META_OUTPUT_MORE:
        t = way == META_INPUT_MORE ? &in[g->input_count] : &o[g->output_count];
        *t = way == META_INPUT_MORE ? in[0] : o[0];
        t->name = "one_more";
        t->id += 1000003;
        meta_need(out, 1, "%s %u is missing in", way == META_INPUT_MORE ? "input" : "output",
                  (unsigned)(way == META_INPUT_MORE ? g->input_count : g->output_count));
        if (way == META_INPUT_MORE) g->input_count += 1;
        else g->output_count += 1;
        meta_need(out, 3, "\"one_more\"");
        return 1;
    case META_ORDER:
    case META_NAMES_SWAPPED:
        for (at = 0; at < from->graph_count && from->graphs[at].input_count < 2; ++at) {}
        if (at == from->graph_count) return 0;
        g = (qnnrt_graph_info *)(uintptr_t)&out->context.graphs[at];
        in = (qnnrt_tensor_info *)(uintptr_t)g->inputs;
        meta_need(out, 0, "graph \"%.200s\"", g->name);
        meta_need(out, 1, "input 0");
        meta_need(out, 2, "\"%s\" in", in[0].name);
        meta_need(out, 3, "\"%s\" in", in[1].name);
        keep = in[0];
        if (way == META_ORDER) { in[0] = in[1]; in[1] = keep; }
        else { in[0].name = in[1].name; in[1].name = keep.name; }
        return 1;
    case META_BUILD:
        if (from->build_id[0] == '\0') return 0;
        meta_need(out, 0, "build id");
        meta_need(out, 1, "%s in", from->build_id);
        meta_need(out, 2, "v2.1.0 in");
        out->context.build_id = "v2.1.0";
        return 1;
    case META_BACKEND:
        if (from->backend_id == 0) return 0;
        out->context.backend_id += 1;
        meta_need(out, 0, "backend id");
        meta_need(out, 1, "%u in", (unsigned)from->backend_id);
        meta_need(out, 2, "%u in", (unsigned)out->context.backend_id);
        return 1;
    case META_SOC:
        if (from->soc_model == 0) return 0;
        out->context.soc_model += 1;
        meta_need(out, 0, "SoC");
        meta_need(out, 1, "%u in", (unsigned)from->soc_model);
        meta_need(out, 2, "%u in", (unsigned)out->context.soc_model);
        return 1;
    case META_ARCH:
        if (from->dsp_arch == 0) return 0;
        out->context.dsp_arch += 1;
        meta_need(out, 0, "NPU generation");
        meta_need(out, 1, "%u in", (unsigned)from->dsp_arch);
        meta_need(out, 2, "%u in", (unsigned)out->context.dsp_arch);
        return 1;
    case META_BLOB:
        if (from->blob_bytes == 0) return 0;
        out->context.blob_bytes -= 1;
        meta_need(out, 0, "size of the context blob");
        meta_need(out, 1, "%llu in", (unsigned long long)from->blob_bytes);
        meta_need(out, 2, "%llu in", (unsigned long long)out->context.blob_bytes);
        return 1;
    case META_GRAPH_MISSING:
        if (from->graph_count < 2) return 0;
        out->context.graph_count -= 1;
        meta_need(out, 0, "graph %u is", (unsigned)from->graph_count - 1);
        meta_need(out, 1, "missing in");
        meta_need(out, 2, "\"%.200s\"", from->graphs[from->graph_count - 1].name);
        return 1;
    case META_GRAPH_MORE:
        g[from->graph_count] = g[0];
        g[from->graph_count].name = "one_more";
        out->context.graph_count += 1;
        meta_need(out, 0, "graph %u is missing in", (unsigned)from->graph_count);
        meta_need(out, 2, "\"one_more\"");
        return 1;
    case META_GRAPHS_SWAPPED:
        if (from->graph_count < 2) return 0;
        meta_need(out, 0, "graph 0");
        meta_need(out, 1, "\"%.250s\" in", g[0].name);
        meta_need(out, 2, "\"%.250s\" in", g[1].name);
        g[0] = from->graphs[1];
        g[1] = from->graphs[0];
        return 1;
    case META_FORMAT:
        meta_need(out, 1, "input \"%s\"", in->name);
        meta_need(out, 2, "%s[", qnnrt_dtype_name(in->dtype));
        meta_need(out, 3, "format 0x1");
        in->vendor_format = 1;
        return 1;
    case META_DYNAMIC:
        if (in->rank == 0) return 0;
        in->dynamic_dims = (uint8_t *)meta_have(pool, "\1", 1, in->rank);
        in->vendor_version = 2;
        meta_need(out, 1, "input \"%s\"", in->name);
        meta_need(out, 2, "%s[%u", qnnrt_dtype_name(in->dtype), (unsigned)in->dims[0]);
        meta_need(out, 3, "[<=%u", (unsigned)in->dims[0]);
        return 1;
    case META_OPTIONAL:
    case META_UPDATEABLE:
        in->vendor_type = way == META_OPTIONAL ? 11 : 8;
        meta_need(out, 1, "input \"%s\"", in->name);
        meta_need(out, 2, "0x0 APP_WRITE,");
        meta_need(out, 3, way == META_OPTIONAL ? "OPTIONAL_APP_WRITE," : "UPDATEABLE_APP_WRITE,");
        return 1;
    case META_UPDATEABLE_MORE:
        t = (qnnrt_tensor_info *)(uintptr_t)&g->updateables[g->updateable_count];
        *t = in[0];
        t->name = "one_more";
        t->id += 1000003;
        t->vendor_type = 6;
        meta_need(out, 1, "updateable tensor %u is missing in", (unsigned)g->updateable_count);
        g->updateable_count += 1;
        meta_need(out, 3, "\"one_more\"");
        return 1;
    default:
        return 0;
    }
}

#endif /* META_H */
