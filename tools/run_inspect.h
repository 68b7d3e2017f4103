/* Part of qnnrt-run.c, which includes it once: what a model's metadata says, for people, as JSON in the
   form of qnn-context-binary-utility, and compared with another model's.

   ROOMS    >>facts >>inspect >>dump >>diff                                                       */

/* =====================================================================================
   FACTS                                                                         >>facts
   Fields of contexts and graphs as tables: shown, written and compared by the same lists.
   ===================================================================================== */

typedef enum fact_kind { FACT_U32, FACT_U64, FACT_TEXT, FACT_VERSION } fact_kind;

typedef struct fact {
    const char *key;                   /* in --json              */
    const char *label;                 /* for people             */
    fact_kind   kind;
    size_t      at;                    /* offset in the struct   */
} fact;

#define FACT_OF(type, member, label, kind) {#member, label, kind, offsetof(type, member)}

static const fact context_facts[] = {
    FACT_OF(qnnrt_context_info, build_id,             "build id",         FACT_TEXT),
    FACT_OF(qnnrt_context_info, backend_id,           "backend id",       FACT_U32),
    FACT_OF(qnnrt_context_info, core_api,             "core API",         FACT_VERSION),
    FACT_OF(qnnrt_context_info, backend_api,          "backend API",      FACT_VERSION),
    FACT_OF(qnnrt_context_info, blob_version,         "blob version",     FACT_VERSION),
    FACT_OF(qnnrt_context_info, blob_bytes,           "blob bytes",       FACT_U64),
    FACT_OF(qnnrt_context_info, soc_model,            "SoC model",        FACT_U32),
    FACT_OF(qnnrt_context_info, dsp_arch,             "NPU generation",   FACT_U32),
    FACT_OF(qnnrt_context_info, context_tensor_count, "context tensors",  FACT_U32)
};

static const fact graph_facts[] = {
    FACT_OF(qnnrt_graph_info, spill_fill_bytes,     "spill-fill",         FACT_U64),
    FACT_OF(qnnrt_graph_info, vtcm_bytes,           "VTCM",               FACT_U64),
    FACT_OF(qnnrt_graph_info, const_bytes,          "const",              FACT_U64),
    FACT_OF(qnnrt_graph_info, io_bytes,             "io",                 FACT_U64),
    FACT_OF(qnnrt_graph_info, op_data_bytes,        "op data",            FACT_U64),
    FACT_OF(qnnrt_graph_info, ddr_bytes,            "ddr",                FACT_U64),
    FACT_OF(qnnrt_graph_info, shared_weights_bytes, "shared weights",     FACT_U64),
    FACT_OF(qnnrt_graph_info, native_k_bytes,       "native K channel",   FACT_U64),
    FACT_OF(qnnrt_graph_info, native_v_bytes,       "native V channel",   FACT_U64),
    FACT_OF(qnnrt_graph_info, optimization_level,   "optimisation level", FACT_U32),
    FACT_OF(qnnrt_graph_info, hvx_threads,          "HVX threads",        FACT_U32),
    FACT_OF(qnnrt_graph_info, dlbc,                 "dlbc",               FACT_U32),
    FACT_OF(qnnrt_graph_info, safe_share_io,        "safe share io",      FACT_U32)
};

enum { CONTEXT_FACTS = sizeof(context_facts) / sizeof(context_facts[0]),
       GRAPH_FACTS = sizeof(graph_facts) / sizeof(graph_facts[0]) };

static uint64_t fact_number(const fact *f, const void *base)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (f->kind == FACT_U64) memcpy(&wide, (const char *)base + f->at, sizeof(wide));
    else memcpy(&narrow, (const char *)base + f->at, sizeof(narrow));
    return f->kind == FACT_U64 ? wide : narrow;
}

static const char *fact_string(const fact *f, const void *base)
{
    const char *value = NULL;
    memcpy((void *)&value, (const char *)base + f->at, sizeof(value));
    return value != NULL ? value : "";
}

static qnnrt_version_info fact_version(const fact *f, const void *base)
{
    qnnrt_version_info value;
    memcpy(&value, (const char *)base + f->at, sizeof(value));
    return value;
}

/* Fit to be shown; to be freed. */
static char *fact_text(const fact *f, const void *base)
{
    if (f->kind == FACT_TEXT) return shown(fact_string(f, base));
    if (f->kind == FACT_VERSION) return version_text(fact_version(f, base));
    return text("%llu", (unsigned long long)fact_number(f, base));
}

static void report_facts(json *j, const fact *facts, size_t count, const void *base)
{
    for (size_t i = 0; i < count; ++i) {
        if (facts[i].kind == FACT_TEXT) json_string(j, facts[i].key, fact_string(&facts[i], base));
        else if (facts[i].kind == FACT_VERSION) json_version(j, facts[i].key, fact_version(&facts[i], base));
        else json_count(j, facts[i].key, fact_number(&facts[i], base));
    }
}

/* Chips by the vendor's numbers, as public projects list them. */
static const char *soc_name(uint32_t model)
{
    static const struct { uint32_t model; const char *name; } socs[] = {
        {30, "SM8350"}, {36, "SM8450"}, {39, "SA8295"}, {42, "SM8475"}, {43, "SM8550"}, {45, "SXR1230P"},
        {46, "SSG2115P"}, {52, "SA8255"}, {53, "SXR2230P"}, {57, "SM8650"}, {58, "SSG2125P"}, {60, "SC8380XP"},
        {69, "SM8750"}, {75, "SXR2330P"}, {77, "QCS9100"}, {82, "QCS8300"}, {87, "SM8850"}, {95, "SAR2230P"},
        {96, "SW6100"}, {97, "SM8845"}
    };
    for (size_t i = 0; i < sizeof(socs) / sizeof(socs[0]); ++i)
        if (socs[i].model == model) return socs[i].name;
    return NULL;
}

static const char *backend_name(uint32_t id)
{
    return id == 3 ? "CPU" : id == 4 ? "GPU" : id == 6 ? "HTP" : id == 0x524546 ? "Ref" : "unknown";
}

/* Where the facts of a context come from; to be freed. */
static char *source_text(const qnnrt *model, const qnnrt_context_info *c)
{
    const char *path = qnnrt_get_system_path(model), *slash = strrchr(path, '/');
    const char *system = slash != NULL ? slash + 1 : path;
    char *name = shown(c->json_file != NULL ? c->json_file : "JSON"), *made = NULL;
    if (c->from_system && c->from_json) made = text("%s and %s agree", system, name);
    else if (c->from_json) made = text("%s", name);
    else if (c->from_system) made = text("%s", system);
    else made = text("none");
    free(name);
    return made;
}

/* "1,234,567", to be freed. */
static char *grouped(uint64_t value)
{
    char digits[24], out[32];
    size_t used = 0;
    const int count = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
    for (int i = 0; i < count; ++i) {
        if (i > 0 && (count - i) % 3 == 0) out[used++] = ',';
        out[used++] = digits[i];
    }
    return text("%.*s", (int)used, out);
}

/* =====================================================================================
   INSPECT                                                                     >>inspect
   For people, and what --json of inspect has besides.
   ===================================================================================== */

static void say_tensors(const tool *t, const qnnrt_graph_info *g)
{
    static const char *const titles[COLUMNS] = {"tensor", "role", "id", "dtype", "dims", "bytes", "encoding", NULL};
    const struct { const qnnrt_tensor_info *list; size_t count; const char *role; } lists[] = {
        {g->inputs, g->input_count, "input"},
        {g->outputs, g->output_count, "output"},
        {g->updateables, g->updateable_count, "updateable"}
    };
    const size_t rows = g->input_count + g->output_count + g->updateable_count;
    char *(*cells)[COLUMNS] = room_for(rows, sizeof(*cells));
    size_t r = 0;
    for (size_t k = 0; k < 3; ++k) {
        for (size_t i = 0; i < lists[k].count; ++i, ++r) {
            const qnnrt_tensor_info *tensor = &lists[k].list[i];
            cells[r][0] = shown(tensor->name);
            cells[r][1] = text("%s", lists[k].role);
            cells[r][2] = text("%lu", (unsigned long)tensor->id);
            cells[r][3] = text("%s", qnnrt_dtype_name(tensor->dtype));
            cells[r][4] = dims_text(tensor);
            cells[r][5] = text("%llu", (unsigned long long)tensor->bytes);
            cells[r][6] = encoding_text(&tensor->quant);
        }
    }
    say_table(t, titles, "  r  r", cells, rows);
    free(cells);
}

static void say_graph(const tool *t, const qnnrt_graph_info *g)
{
    char *name = shown(g->name);
    int written = 0;
    say(t, "  graph \"%s\", %lu input%s, %lu output%s\n", name, (unsigned long)g->input_count,
        g->input_count == 1 ? "" : "s", (unsigned long)g->output_count, g->output_count == 1 ? "" : "s");
    free(name);
    for (size_t i = 0; i < GRAPH_FACTS; ++i) {   /* 0: not in the file, or nothing to say */
        const fact *f = &graph_facts[i];
        if (fact_number(f, g) == 0) continue;
        char *value = grouped(fact_number(f, g));
        say(t, "%s%s %s", written++ == 0 ? "    sizes     " : ", ", f->label, value);
        free(value);
    }
    if (written > 0) say(t, "\n");
    if (g->unsupported != NULL) say(t, "    cannot run: %s\n", g->unsupported);
    say_tensors(t, g);
}

static void say_context(const tool *t, size_t index, const qnnrt_context_info *c)
{
    char *file = shown(c->file), *source = source_text(t->model, c), *build = shown(c->build_id != NULL ? c->build_id : "");
    char *bytes = grouped(c->file_bytes), *blob_bytes = grouped(c->blob_bytes);
    say(t, "\ncontext %lu  %s", (unsigned long)index, file);
    if (c->file_bytes != 0) say(t, ", %s bytes", bytes);
    else if (c->failure == NULL) say(t, ", without its binary");
    say(t, "\n");
    if (c->failure != NULL) {
        say(t, "  failed: %s\n", c->failure->text);
    } else {
        char *core = version_text(c->core_api), *api = version_text(c->backend_api);
        char *blob = version_text(c->blob_version);
        const char *soc = soc_name(c->soc_model);
        say(t, "  metadata    %s\n", source);
        say(t, "  build id    %s\n", build[0] != '\0' ? build : "(not stated)");
        say(t, "  backend     %lu (%s), core API %s, backend API %s\n", (unsigned long)c->backend_id,
            backend_name(c->backend_id), core, api);
        say(t, "  blob        version %s, %s bytes\n", blob, blob_bytes);
        say(t, "  chip        ");
        if (c->soc_model == 0) say(t, "SoC not stated");
        else say(t, "SoC model %lu%s%s%s", (unsigned long)c->soc_model, soc != NULL ? " (" : "",
                 soc != NULL ? soc : "", soc != NULL ? ")" : "");
        if (c->dsp_arch != 0) say(t, ", NPU v%lu", (unsigned long)c->dsp_arch);
        say(t, "\n");
        if (c->context_tensor_count != 0)
            say(t, "  tensors of the context itself: %lu\n", (unsigned long)c->context_tensor_count);
        for (size_t g = 0; g < c->graph_count; ++g) say_graph(t, &c->graphs[g]);
        free(core);
        free(api);
        free(blob);
    }
    free(file);
    free(source);
    free(build);
    free(bytes);
    free(blob_bytes);
}

static void say_model(const tool *t)
{
    size_t count = 0;
    const qnnrt_context_info *contexts = qnnrt_contexts(t->model, &count);
    char *name = shown(model_name(t));
    const char *path = qnnrt_get_system_path(t->model);
    char *system_path = shown(path[0] != '\0' ? path : "(not needed)");
    say(t, "model     %s, %lu context%s\nsystem    %s\n", name, (unsigned long)count, count == 1 ? "" : "s",
        system_path);
    free(name);
    free(system_path);
    for (size_t i = 0; i < count; ++i) say_context(t, i, &contexts[i]);
}

static void report_tensors(json *j, const char *key, const qnnrt_tensor_info *tensors, size_t count)
{
    json_open(j, key, '[', 0);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_tensor_info *tensor = &tensors[i];
        json_open(j, NULL, '{', 0);
        json_string(j, "name", tensor->name);
        json_count(j, "id", tensor->id);
        json_string(j, "dtype", qnnrt_dtype_name(tensor->dtype));
        json_open(j, "dims", '[', 1);
        for (uint32_t d = 0; d < tensor->rank; ++d) json_count(j, NULL, tensor->dims[d]);
        json_close(j);
        if (tensor->dynamic_dims != NULL) {
            json_open(j, "dynamic_dims", '[', 1);
            for (uint32_t d = 0; d < tensor->rank; ++d) json_bool(j, NULL, tensor->dynamic_dims[d] != 0);
            json_close(j);
        }
        json_count(j, "count", tensor->count);
        json_count(j, "bytes", tensor->bytes);
        report_quant(j, &tensor->quant);
        json_count(j, "vendor_type", tensor->vendor_type);
        json_count(j, "vendor_format", tensor->vendor_format);
        json_bool(j, "optional", tensor->optional);
        json_bool(j, "updateable", tensor->updateable);
        json_close(j);
    }
    json_close(j);
}

/* What --json of inspect says of a context, besides what all say. */
static void report_metadata(json *j, const qnnrt_context_info *c)
{
    json_string(j, "json_file", c->json_file);
    json_bool(j, "from_system", c->from_system);
    json_bool(j, "from_json", c->from_json);
    json_open(j, "metadata", '{', 0);
    report_facts(j, context_facts, CONTEXT_FACTS, c);
    json_open(j, "graphs", '[', 0);
    for (size_t g = 0; g < c->graph_count; ++g) {
        const qnnrt_graph_info *graph = &c->graphs[g];
        json_open(j, NULL, '{', 0);
        json_string(j, "name", graph->name);
        json_string(j, "unsupported", graph->unsupported);
        report_facts(j, graph_facts, GRAPH_FACTS, graph);
        report_tensors(j, "inputs", graph->inputs, graph->input_count);
        report_tensors(j, "outputs", graph->outputs, graph->output_count);
        report_tensors(j, "updateables", graph->updateables, graph->updateable_count);
        json_close(j);
    }
    json_close(j);
    json_close(j);
}

/* =====================================================================================
   DUMP                                                                           >>dump
   --json_file: what qnn-context-binary-utility writes, by the keys and in the order of its
   files. Left out is what qnnrt does not keep: numbers of operations, the platform.
   ===================================================================================== */

typedef struct dump {
    json j;
    int  unified;                      /* flat: no "info" around the content of a record */
} dump;

/* A record: {"version": ..., "info": {...}}; flat: {"version": ..., ...}. */
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

/* "QNN_DATATYPE_" and the name; what has none is written as the genuine tool does. */
static void dump_enum(dump *d, const char *key, const char *prefix, qnnrt_vendor_enum which, uint32_t value)
{
    const char *name = qnnrt_vendor_name(which, value);
    char *whole = name != NULL ? text("%s%s", prefix, name) : text("UNKNOWN");
    json_string(&d->j, key, whole);
    free(whole);
}

/* A float as the genuine tool prints it: widened to double. */
static void dump_float(dump *d, const char *key, float value)
{
    json_key(&d->j, key);
    if (isfinite(value)) qnnrt_json_write_f64(&d->j, (double)value);
    else qnnrt_json_write_null(&d->j);
}

enum { ENCODING_SCALE_OFFSET = 0, ENCODING_AXIS = 1, ENCODING_BW = 2, ENCODING_BW_AXIS = 3 };   /* the vendor's */

static void dump_encoding(dump *d, const qnnrt_quant *quant)
{
    json *j = &d->j;
    switch (quant->vendor_encoding) {
    case ENCODING_SCALE_OFFSET:
    case ENCODING_BW:
        json_open(j, quant->vendor_encoding == ENCODING_BW ? "bwScaleOffset" : "scaleOffset", '{', 0);
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
    default:                                     /* its content is not read, only its name */
        break;
    }
}

static void dump_tensor(dump *d, const qnnrt_tensor_info *tensor)
{
    json *j = &d->j;
    const int defined = tensor->quant.encoding != QNNRT_ENCODING_NONE;
    dump_open(d, NULL, tensor->vendor_version == 1 ? "QNN_TENSOR_VERSION_1" : "QNN_TENSOR_VERSION_2");
    json_count(j, "id", tensor->id);
    json_string(j, "name", tensor->name);
    dump_enum(d, "type", "QNN_TENSOR_TYPE_", QNNRT_VENDOR_TENSOR_TYPE, tensor->vendor_type);
    dump_enum(d, "dataFormat", "QNN_TENSOR_DATA_FORMAT_", QNNRT_VENDOR_FORMAT, tensor->vendor_format);
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
        for (uint32_t i = 0; i < tensor->rank; ++i) json_count(j, NULL, tensor->dynamic_dims[i] != 0);
        json_close(j);
    }
    dump_close(d);
}

static void dump_tensors(dump *d, const char *count_key, const char *key, const qnnrt_tensor_info *tensors,
                         size_t count)
{
    json_count(&d->j, count_key, count);
    json_open(&d->j, key, '[', 0);
    for (size_t i = 0; i < count; ++i) dump_tensor(d, &tensors[i]);
    json_close(&d->j);
}

/* The blobs of HTP: 40 bytes of the first version, 72 of the second. */
static void dump_graph_blob(dump *d, const qnnrt_graph_info *g)
{
    json *j = &d->j;
    json_count(j, "graphBlobInfoSize", 40 + 72);
    dump_open(d, "graphBlobInfo", "QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1");
    json_count(j, "spillFillBufferSize", g->spill_fill_bytes);
    json_count(j, "optimizationLevel", g->optimization_level);
    json_count(j, "vtcmSize", g->vtcm_bytes % (1u << 20) == 0 ? g->vtcm_bytes >> 20 : g->vtcm_bytes);   /* MiB */
    json_count(j, "htpDlbc", g->dlbc);
    json_count(j, "numHvxThreads", g->hvx_threads);
    dump_close(d);
    json_open(j, "graphBlobInfoV2", '{', 0);     /* without "info" in either form */
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
    dump_tensors(d, "numUpdateableTensors", "updateableTensors", g->updateables, g->updateable_count);
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
    json_string(j, "artifact_type", d->unified ? "CONTEXT_BINARY_INFO_UNIFIED" : "CONTEXT_BINARY_INFO");
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

/* "forward_0_json.json" for forward_0.bin, with or without folders before it, and for itself. The name is
   that of a file that was opened. To be freed. */
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
    return text("%.*s_json.json", (int)length, name);
}

static void write_dumps(tool *t)
{
    const settings *set = &t->set;
    const char *path = set->json_file;
    size_t count = 0;
    if (path == NULL) return;
    const qnnrt_context_info *contexts = qnnrt_contexts(t->model, &count);
    const size_t length = strlen(path);
    const int folder = !is_stdout(path) && (is_folder(path) || path[length - 1] == '/');
    if (count > 1 && !folder) {
        fail(t, NULL, "--json_file %s: the model has %lu contexts: name a folder, as %s/, for one file each", path,
             (unsigned long)count, is_stdout(path) ? "metadata" : path);
        return;
    }
    if (folder && !make_folders(path)) {
        fail(t, NULL, "cannot make the folder %s: %s", path, strerror(errno));
        return;
    }
    char **names = room_for(count, sizeof(*names));
    for (size_t i = 0; i < count; ++i) {
        size_t same = 0;
        names[i] = dump_name(contexts[i].file);
        while (same < i && strcmp(names[same], names[i]) != 0) ++same;
        if (contexts[i].failure != NULL) continue;      /* reported */
        if (folder && same < i) {
            fail(t, NULL, "--json_file: contexts %lu and %lu would both be written to %s", (unsigned long)same,
                 (unsigned long)i, names[i]);
            continue;
        }
        page p = {NULL, 0, 0};
        char *to = folder ? text("%s%s%s", path, path[length - 1] == '/' ? "" : "/", names[i]) : text("%s", path);
        dump_context(&p, &contexts[i], set->unified);
        write_named(t, to, &p, folder);
        free(p.data);
        free(to);
    }
    for (size_t i = 0; i < count; ++i) free(names[i]);
    free(names);
}

/* =====================================================================================
   DIFF                                                                           >>diff
   Two models: contexts in order, graphs and tensors by name. One line per difference.
   ===================================================================================== */

typedef struct differ {
    tool *t;
    char *where;                       /* "context 0, graph "forward"" */
} differ;

static void differs(const differ *d, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *what = text_of(format, list);
    va_end(list);
    say(d->t, "%s: %s\n", d->where, what);
    d->t->different = 1;
    free(what);
}

/* Both texts are freed. */
static void diff_texts(const differ *d, const char *label, char *a, char *b)
{
    if (strcmp(a, b) != 0) differs(d, "%s %s -> %s", label, a[0] != '\0' ? a : "\"\"", b[0] != '\0' ? b : "\"\"");
    free(a);
    free(b);
}

static void diff_facts(const differ *d, const fact *facts, size_t count, const void *a, const void *b)
{
    for (size_t i = 0; i < count; ++i)
        diff_texts(d, facts[i].label, fact_text(&facts[i], a), fact_text(&facts[i], b));
}

static void diff_axis(const differ *d, const qnnrt_quant *a, const qnnrt_quant *b)
{
    for (uint32_t i = 0; i < a->count; ++i) {
        const int32_t x = a->offsets != NULL ? a->offsets[i] : 0, y = b->offsets != NULL ? b->offsets[i] : 0;
        if (memcmp(&a->scales[i], &b->scales[i], sizeof(float)) == 0 && x == y) continue;
        differs(d, "encoding at index %lu: scale %.9g, offset %ld -> scale %.9g, offset %ld", (unsigned long)i,
                (double)a->scales[i], (long)x, (double)b->scales[i], (long)y);
        return;                                  /* the first one is enough */
    }
}

static char *vendor_text(qnnrt_vendor_enum which, uint32_t value)
{
    const char *name = qnnrt_vendor_name(which, value);
    return name != NULL ? text("%s", name) : text("0x%lx", (unsigned long)value);
}

static char *dynamic_text(const qnnrt_tensor_info *tensor)
{
    char *made = text("%s", tensor->dynamic_dims == NULL ? "none" : "");
    for (uint32_t i = 0; tensor->dynamic_dims != NULL && i < tensor->rank; ++i) {
        char *longer = text("%s%c", made, tensor->dynamic_dims[i] != 0 ? '1' : '0');
        free(made);
        made = longer;
    }
    return made;
}

static void diff_tensor(const differ *d, const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    diff_texts(d, "id", text("%lu", (unsigned long)a->id), text("%lu", (unsigned long)b->id));
    diff_texts(d, "dtype", vendor_text(QNNRT_VENDOR_DTYPE, (uint32_t)a->dtype),
               vendor_text(QNNRT_VENDOR_DTYPE, (uint32_t)b->dtype));
    diff_texts(d, "dims", dims_text(a), dims_text(b));
    diff_texts(d, "dynamic dims", dynamic_text(a), dynamic_text(b));
    diff_texts(d, "type", vendor_text(QNNRT_VENDOR_TENSOR_TYPE, a->vendor_type),
               vendor_text(QNNRT_VENDOR_TENSOR_TYPE, b->vendor_type));
    diff_texts(d, "format", vendor_text(QNNRT_VENDOR_FORMAT, a->vendor_format),
               vendor_text(QNNRT_VENDOR_FORMAT, b->vendor_format));
    diff_texts(d, "encoding", encoding_text(&a->quant), encoding_text(&b->quant));
    if (a->quant.encoding != b->quant.encoding) return;
    if (a->quant.encoding != QNNRT_ENCODING_NONE)
        diff_texts(d, "kind of encoding", vendor_text(QNNRT_VENDOR_ENCODING, a->quant.vendor_encoding),
                   vendor_text(QNNRT_VENDOR_ENCODING, b->quant.vendor_encoding));
    if (a->quant.encoding == QNNRT_ENCODING_PER_AXIS && a->quant.count == b->quant.count)
        diff_axis(d, &a->quant, &b->quant);
}

/* ---- lists, by name ---- */

typedef struct named {
    const char *name;
    const void *thing;
    size_t      place;
} named;

static int compare_named(const void *a, const void *b)
{
    const named *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* things are `count` structs of `size` bytes, which begin with their name. */
static named *by_name(const void *things, size_t count, size_t size)
{
    named *list = room_for(count, sizeof(*list));
    for (size_t i = 0; i < count; ++i) {
        list[i].thing = (const char *)things + i * size;
        memcpy((void *)&list[i].name, list[i].thing, sizeof(list[i].name));
        list[i].place = i;
    }
    qsort(list, count, sizeof(*list), compare_named);
    return list;
}

typedef void (*diff_pair)(const differ *d, const void *a, const void *b);

/* What is in one list only; what both have goes to `pair`; and whether the order is the same. */
static void diff_lists(const differ *d, const char *kind, size_t size, const void *a, size_t a_count, const void *b,
                       size_t b_count, diff_pair pair)
{
    named *left = by_name(a, a_count, size), *right = by_name(b, b_count, size);
    size_t i = 0, k = 0, only = 0, moved = 0;
    while (i < a_count || k < b_count) {
        const int order = i == a_count ? 1 : k == b_count ? -1 : strcmp(left[i].name, right[k].name);
        char *name = shown(order <= 0 ? left[i].name : right[k].name);
        differ inner = {d->t, text("%s, %s \"%s\"", d->where, kind, name)};
        if (order == 0) {
            moved += left[i].place != right[k].place;
            pair(&inner, left[i].thing, right[k].thing);
        } else {
            differs(&inner, "only in the %s model", order < 0 ? "first" : "second");
            ++only;
        }
        if (order <= 0) ++i;
        if (order >= 0) ++k;
        free(inner.where);
        free(name);
    }
    if (moved > 0 && only == 0) differs(d, "the order of the %ss", kind);
    free(left);
    free(right);
}

static void diff_tensor_pair(const differ *d, const void *a, const void *b)
{
    diff_tensor(d, a, b);
}

static void diff_graph_pair(const differ *d, const void *a, const void *b)
{
    const qnnrt_graph_info *x = a, *y = b;
    const size_t size = sizeof(qnnrt_tensor_info);
    diff_facts(d, graph_facts, GRAPH_FACTS, x, y);
    diff_lists(d, "input", size, x->inputs, x->input_count, y->inputs, y->input_count, diff_tensor_pair);
    diff_lists(d, "output", size, x->outputs, x->output_count, y->outputs, y->output_count, diff_tensor_pair);
    diff_lists(d, "updateable tensor", size, x->updateables, x->updateable_count, y->updateables,
               y->updateable_count, diff_tensor_pair);
}

static int run_diff(tool *t)
{
    const char *const *words = t->set.contexts;
    size_t counts[2] = {0, 0};
    t->model = open_sources(t, NULL, &words[0], 1);
    if (t->model != NULL) t->other = open_sources(t, NULL, &words[1], 1);
    if (t->model == NULL || t->other == NULL) return STATUS_USAGE;
    const qnnrt_context_info *a = qnnrt_contexts(t->model, &counts[0]), *b = qnnrt_contexts(t->other, &counts[1]);
    for (size_t i = 0; i < counts[0] || i < counts[1]; ++i) {
        differ d = {t, text("context %lu", (unsigned long)i)};
        if (i < counts[0] && i < counts[1]) {
            diff_facts(&d, context_facts, CONTEXT_FACTS, &a[i], &b[i]);
            diff_lists(&d, "graph", sizeof(qnnrt_graph_info), a[i].graphs, a[i].graph_count, b[i].graphs,
                       b[i].graph_count, diff_graph_pair);
        } else {
            char *file = shown(i < counts[0] ? a[i].file : b[i].file);
            differs(&d, "%s, only in the %s model", file, i < counts[0] ? "first" : "second");
            free(file);
        }
        free(d.where);
    }
    return t->different ? STATUS_FAILED : STATUS_OK;
}
