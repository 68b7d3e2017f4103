/* dump.c - --json_file, metadata as qnn-context-binary-utility writes it

   ROOM     >>dump */
#include "run/show/show.h"

#include <math.h>

/* =====================================================================================
   DUMP                                                                           >>dump
   --json_file: the keys and the order are those of qnn-context-binary-utility. Numbers of
   operations and the platform are missing, because qnnrt does not keep them.
   ===================================================================================== */

typedef struct dump {
    json j;
    int  unified;                      /* flat: no "info" around the content of a record */
} dump;

/* Open a record: {"version": ..., "info": {...}}; flat: {"version": ..., ...}. */
static void dump_open(dump *d, const char *key, const char *version)
{
    json_open(&d->j, key, '{', 0);
    json_string(&d->j, "version", version);
    if (!d->unified) json_open(&d->j, "info", '{', 0);
}

static void dump_close(dump *d)
{
    if (!d->unified) json_close(&d->j);
    json_close(&d->j);
}

/* Write a name after its prefix, such as "QNN_DATATYPE_"; without a name, write UNKNOWN as the
   SDK's tool does. */
static void dump_enum(dump *d, const char *key, const char *prefix, qnnrt_vendor_enum which,
                      uint32_t value)
{
    const char *name = qnnrt_vendor_name(which, value);
    OWNED char *whole = name != NULL ? cli_text("%s%s", prefix, name) : cli_text("UNKNOWN");
    json_string(&d->j, key, whole);
}

/* Write a float as the SDK's tool does: widened to double. */
static void dump_float(dump *d, const char *key, float value)
{
    json_key(&d->j, key);
    if (isfinite(value)) qnnrt_json_write_f64(&d->j, (double)value);
    else qnnrt_json_write_null(&d->j);
}

/* the vendor's encodings */
enum { ENCODING_SCALE_OFFSET = 0, ENCODING_AXIS = 1, ENCODING_BW = 2, ENCODING_BW_AXIS = 3 };

static void dump_encoding(dump *d, const qnnrt_quant *quant)
{
    json *j = &d->j;
    switch (quant->vendor_encoding) {
    case ENCODING_SCALE_OFFSET:
    case ENCODING_BW:
        json_open(j, quant->vendor_encoding == ENCODING_BW ? "bwScaleOffset" : "scaleOffset", '{',
                  0);
        if (quant->vendor_encoding == ENCODING_BW) json_count(j, "bitwidth", quant->bitwidth);
        dump_float(d, "scale", quant->scale);
        json_int(j, "offset", quant->offset);
        json_close(j);
        break;
    case ENCODING_AXIS:
        json_open(j, "axisScaleOffset", '{', 0);
        json_int(j, "axis", quant->axis);
        json_count(j, "numScaleOffsets", quant->count);
        json_open(j, "scaleOffsets", '[', 0);
        for (uint32_t i = 0; i < quant->count; ++i) {
            json_open(j, NULL, '{', 0);
            dump_float(d, "scale", quant->scales[i]);
            json_int(j, "offset", quant->offsets != NULL ? quant->offsets[i] : 0);
            json_close(j);
        }
        json_close(j);
        json_close(j);
        break;
    case ENCODING_BW_AXIS:
        json_open(j, "bwAxisScaleOffset", '{', 0);
        json_count(j, "bitwidth", quant->bitwidth);
        json_int(j, "axis", quant->axis);
        json_count(j, "numElements", quant->count);
        json_open(j, "scales", '[', 0);
        for (uint32_t i = 0; i < quant->count; ++i) dump_float(d, NULL, quant->scales[i]);
        json_close(j);
        if (quant->offsets == NULL) {
            json_string(j, "offsets", NULL);
        } else {
            json_open(j, "offsets", '[', 0);
            for (uint32_t i = 0; i < quant->count; ++i) json_int(j, NULL, quant->offsets[i]);
            json_close(j);
        }
        json_close(j);
        break;
    default:                                     /* qnnrt knows only the name of this encoding */
        break;
    }
}

static void dump_tensor(dump *d, const qnnrt_tensor_info *tensor)
{
    json *j = &d->j;
    const int defined = tensor->quant.encoding != QNNRT_ENCODING_NONE;
    dump_open(d, NULL, tensor->vendor_version == 1 ? "QNN_TENSOR_VERSION_1"
              : "QNN_TENSOR_VERSION_2");
    json_count(j, "id", tensor->id);
    json_string(j, "name", tensor->name);
    dump_enum(d, "type", "QNN_TENSOR_TYPE_", QNNRT_VENDOR_TENSOR_TYPE, tensor->vendor_type);
    dump_enum(d, "dataFormat", "QNN_TENSOR_DATA_FORMAT_", QNNRT_VENDOR_FORMAT,
              tensor->vendor_format);
    dump_enum(d, "dataType", "QNN_DATATYPE_", QNNRT_VENDOR_DTYPE, (uint32_t)tensor->dtype);
    json_count(j, "rank", tensor->rank);
    json_open(j, "dimensions", '[', 0);
    for (uint32_t i = 0; i < tensor->rank; ++i) json_count(j, NULL, tensor->dims[i]);
    json_close(j);
    json_string(j, "memType", "QNN_TENSORMEMTYPE_RAW");
    json_open(j, "quantizeParams", '{', 0);
    json_string(j, "definition", defined ? "QNN_DEFINITION_DEFINED" : "QNN_DEFINITION_UNDEFINED");
    dump_enum(d, "quantizationEncoding", "QNN_QUANTIZATION_ENCODING_", QNNRT_VENDOR_ENCODING,
              defined ? tensor->quant.vendor_encoding : 0x7FFFFFFF);
    if (defined) dump_encoding(d, &tensor->quant);
    json_close(j);
    if (tensor->dynamic_dims != NULL) {
        json_open(j, "isDynamicDimensions", '[', 0);
        for (uint32_t i = 0; i < tensor->rank; ++i)
            json_count(j, NULL, tensor->dynamic_dims[i] != 0);
        json_close(j);
    }
    dump_close(d);
}

static void dump_tensors(dump *d, const char *count_key, const char *key,
                         const qnnrt_tensor_info *tensors,
                         size_t count)
{
    json_count(&d->j, count_key, count);
    json_open(&d->j, key, '[', 0);
    for (size_t i = 0; i < count; ++i) dump_tensor(d, &tensors[i]);
    json_close(&d->j);
}

/* Write the two blobs of HTP: version 1 has 40 bytes, version 2 has 72. */
static void dump_graph_blob(dump *d, const qnnrt_graph_info *g)
{
    json *j = &d->j;
    json_count(j, "graphBlobInfoSize", 40 + 72);
    dump_open(d, "graphBlobInfo", "QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1");
    json_count(j, "spillFillBufferSize", g->spill_fill_bytes);
    json_count(j, "optimizationLevel", g->optimization_level);
    /* MiB */
    json_count(j, "vtcmSize", g->vtcm_bytes % (1u << 20) == 0 ? g->vtcm_bytes >> 20
               : g->vtcm_bytes);
    json_count(j, "htpDlbc", g->dlbc);
    json_count(j, "numHvxThreads", g->hvx_threads);
    dump_close(d);
    json_open(j, "graphBlobInfoV2", '{', 0);     /* this record has no "info" in any form */
    json_string(j, "version", "QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V2");
    json_count(j, "nativeKChannelSize", g->native_k_bytes);
    json_count(j, "nativeVChannelSize", g->native_v_bytes);
    json_count(j, "isSafeShareIO", g->safe_share_io);
    json_count(j, "ioTensorSize", g->io_bytes);
    json_count(j, "opDataSize", g->op_data_bytes);
    json_count(j, "constSize", g->const_bytes);
    json_count(j, "ddrTensorSize", g->ddr_bytes);
    json_count(j, "sharedWeightsSize", g->shared_weights_bytes);
    json_close(j);
}

static void dump_graph(dump *d, const qnnrt_graph_info *g, int htp)
{
    dump_open(d, NULL, "QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3");
    json_string(&d->j, "graphName", g->name);
    dump_tensors(d, "numGraphInputs", "graphInputs", g->inputs, g->input_count);
    dump_tensors(d, "numGraphOutputs", "graphOutputs", g->outputs, g->output_count);
    dump_tensors(d, "numUpdateableTensors", "updateableTensors", g->updateables,
                 g->updateable_count);
    if (htp) dump_graph_blob(d, g);
    dump_close(d);
}

static void dump_header(dump *d)
{
    static const struct { const char *key; uint32_t major, minor; } versions[] = {
        {"version", 3, 0}, {"header_version", 0, 1}
    };
    json *j = &d->j;
    json_open(j, "header", '{', 0);
    json_string(j, "artifact_type", d->unified ? "CONTEXT_BINARY_INFO_UNIFIED"
                : "CONTEXT_BINARY_INFO");
    for (size_t i = 0; i < 2; ++i) {
        json_open(j, versions[i].key, '{', 0);
        json_count(j, "major", versions[i].major);
        json_count(j, "minor", versions[i].minor);
        json_count(j, "patch", 0);
        json_close(j);
    }
    json_close(j);
}

static void dump_context(page *p, const qnnrt_context_info *c, int unified)
{
    enum { HTP = 6 };
    dump d;
    json *j = &d.j;
    d.unified = unified;
    qnnrt_json_write_begin(j, json_to_page, p, 4);
    json_open(j, NULL, '{', 0);
    dump_header(&d);
    json_string(j, "version", "QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3");
    if (!unified) json_open(j, "info", '{', 0);
    json_count(j, "backendId", c->backend_id);
    json_string(j, "buildId", c->build_id != NULL ? c->build_id : "");
    json_version(j, "coreApiVersion", c->core_api);
    json_version(j, "backendApiVersion", c->backend_api);
    json_string(j, "socVersion", "");
    json_version(j, "contextBlobVersion", c->blob_version);
    json_count(j, "contextBlobSize", c->blob_bytes);
    json_count(j, "numContextTensors", c->context_tensor_count);
    json_open(j, "contextTensors", '[', 0);
    json_close(j);
    json_count(j, "numGraphs", c->graph_count);
    json_open(j, "graphs", '[', 0);
    for (size_t g = 0; g < c->graph_count; ++g) dump_graph(&d, &c->graphs[g], c->backend_id == HTP);
    json_close(j);
    if (c->backend_id == HTP) {
        json_count(j, "contextMetadataSize", 8);
        dump_open(&d, "contextMetadata", "QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1");
        json_count(j, "dspArch", c->dsp_arch);
        dump_close(&d);
    }
    json_count(j, "socModel", c->soc_model);
    if (!unified) json_close(j);
    json_close(j);
    qnnrt_json_write_end(j);
}

/* Return "forward_0_json.json" for forward_0.bin and for itself, without folders. The name is that
   of a file that was opened. The caller frees the result. */
static char *dump_name(const char *file)
{
    static const char *const tails[] = {"_json.json", ".json", ".bin"};
    const char *slash = strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); ++i) {
        const size_t tail = strlen(tails[i]);
        if (length <= tail || strcmp(name + length - tail, tails[i]) != 0) continue;
        length -= tail;
        break;
    }
    return cli_text("%.*s_json.json", (int)length, name);
}

void write_dumps(tool *t)
{
    const settings *set = &t->set;
    const char *path = set->json_file;
    size_t count = 0;
    if (path == NULL) return;
    const qnnrt_manifest_context *contexts = qnnrt_manifest_get_info(t->model)->contexts;
    count = qnnrt_manifest_get_info(t->model)->context_count;
    const size_t length = strlen(path);
    const int folder = !is_stdout(path) && (cli_is_folder(path) || path[length - 1] == '/');
    if (count > 1 && !folder) {
        OWNED char *hint = cli_text("Name a folder, as %s/, for one file each.",
                                    is_stdout(path) ? "metadata" : path);
        fail(t, NULL, hint, "--json_file %s: the model has %lu contexts, but this is one file",
             path,
             (unsigned long)count);
        return;
    }
    if (folder && !cli_make_folders(path)) {
        fail(t, NULL, CLI_WRITE_HINT, "cannot make the folder %s: %s", path, strerror(errno));
        return;
    }
    OWNED char **names = cli_alloc(count, sizeof(*names));
    for (size_t i = 0; i < count; ++i) {
        size_t same = 0;
        names[i] = dump_name(contexts[i].file);
        while (same < i && strcmp(names[same], names[i]) != 0) ++same;
        if (contexts[i].failure != NULL) continue;      /* reported */
        if (folder && same < i) {
            fail(t, NULL, NULL, "--json_file: contexts %lu and %lu would both be written to %s",
                 (unsigned long)same,
                 (unsigned long)i, names[i]);
            continue;
        }
        OWNED page p = {NULL, 0, 0};
        const char *slash = path[length - 1] == '/' ? "" : "/";
        OWNED char *to = folder ? cli_text("%s%s%s", path, slash, names[i]) : cli_text("%s", path);
        dump_context(&p, contexts[i].info, set->unified);
        write_named(t, to, &p, folder);
    }
    for (size_t i = 0; i < count; ++i) free(names[i]);
}
