/* bench_json.c - metadata from JSON: text to checked table, beside yyjson, simdjson and cJSON

       bench_json FOLDER...           every dump in these folders, then slow texts
       bench_json slow                those texts alone
       bench_json first WAY FILE      ns of the first call in this process, for bench_json itself

   A dump is a file ctx_....json where a folder has such files (genuine ones of the vendor's tool), else
   any ....json (of our own tool: tests/data/llm/json).

   OURS is one pass over the text. A peer makes its document tree, which the bench converts to the
   same vendor structs with the same table functions; its table is compared with ours once. Each
   call gets a fresh copy of the text with the padding that its library needs. Making the copy and
   freeing the table are not timed; freeing a peer's tree is, because the tree is no result. Ways
   take turns in random order. Times are of single calls, minimum and median; a ratio is the peer's
   time divided by ours, of the two minima, and the median of the ratios within one round. Texts
   that are made to be slow are compared with a loop that hashes their bytes one by one.

   Times are printed and never judged: they depend on the machine. The exit status is 1 when ours needs
   more than 2 allocations or more than 0.9 bytes of memory for each byte of a dump. */
#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"
#include "bench_json.h"
#include "bench.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef BENCH_YYJSON
#include "yyjson.h"
#endif
#ifdef BENCH_CJSON
#include <cjson/cJSON.h>
#endif

enum { OURS, YYJSON, YYJSON_POOL, SIMDJSON, CJSON, WAYS };
enum { MOST_FILES = 64, ROUNDS = 1001, FIRST_ROUNDS = 240, PAD = 256 };

static const char *const way_names[WAYS] = { "ours", "yyjson", "y+pool", "simdjson", "cJSON" };
static int failed;

static void stop(const char *what, const char *why)
{
    printf("bench_json: %s: %s\n", what, why);
    exit(1);
}

/* ---- counted memory ---- */

static long   allocations;
static double allocated;

static void *count_alloc(void *user, size_t bytes)
{
    (void)user;
    ++allocations;
    allocated += (double)bytes;
    return malloc(bytes);
}
static void count_free(void *user, void *data) { (void)user; free(data); }

/* ---- the table that all fill ---- */

struct peer_build {
    qnnrt__arena       arena;
    qnnrt__table       table;
    qnnrt_limits       limits;
    uint32_t           tensors_left, scales_left;
    qnnrt_context_info context;
    qnnrt_error        err;
    /* used by peers only */
    qnnrt_graph_info  *graphs;
    size_t             count, room;
    struct { qnnrt_tensor_info *tensors; size_t count, room; } lists[PEER_LISTS];
};

static void build_begin(peer_build *build)
{
    memset(build, 0, sizeof(*build));
    build->arena.hooks.alloc = count_alloc;
    build->arena.hooks.free = count_free;
    build->limits.tensors = build->tensors_left = 1000000;
    build->limits.name_bytes = 1024;
    build->limits.rank = 8;
    build->limits.json_bytes = (uint64_t)64 << 20;
    build->scales_left = QNNRT__TABLE_SCALES;
    build->table.arena = &build->arena;
    build->table.limits = &build->limits;
    build->table.file = "bench.json";
    build->table.tensors_left = &build->tensors_left;
    build->table.scales_left = &build->scales_left;
    build->table.err = &build->err;
}

static int ours_read(peer_build *build, const char *text, size_t bytes)
{
    return qnnrt__read_json(&build->table, text, bytes, &build->context) == QNNRT_OK;
}

static const char *build_text(peer_build *build, peer_text text)
{
    return qnnrt_arena_text(&build->arena, text.text, text.bytes);
}

static qnnrt_version_info build_version(peer_text text)
{
    uint32_t parts[3] = { 0, 0, 0 };
    qnnrt_version_info version;
    size_t i, part = 0;
    for (i = 0; i < text.bytes && part < 3; ++i)
        if (text.text[i] == '.') ++part;
        else parts[part] = parts[part] * 10 + (uint32_t)(text.text[i] - '0');
    version.major = parts[0];
    version.minor = parts[1];
    version.patch = parts[2];
    return version;
}

int peer_graphs_begin(peer_build *build, uint64_t announced)
{
    build->table.kept = 1;
    build->room = announced < 1000 ? (size_t)announced : 1000;
    build->graphs = (qnnrt_graph_info *)qnnrt__arena_alloc(&build->arena, build->room, sizeof(*build->graphs));
    return build->graphs != NULL;
}

int peer_graph_begin(peer_build *build)
{
    memset(build->lists, 0, sizeof(build->lists));
    return build->count < build->room && qnnrt__table_take(&build->table, 1) == QNNRT_OK;
}

int peer_list_begin(peer_build *build, int list, uint64_t announced)
{
    if (announced >= 100000) return 0;
    build->lists[list].room = (size_t)announced;
    build->lists[list].tensors =
        (qnnrt_tensor_info *)qnnrt__arena_alloc(&build->arena, announced, sizeof(qnnrt_tensor_info));
    return build->lists[list].tensors != NULL;
}

int peer_tensor_add(peer_build *build, const peer_tensor *from)
{
    qnnrt__table_kind kind = QNNRT__TABLE_INPUTS;
    qnnrt__abi_tensor t;
    uint32_t *dims;
    uint32_t definition, encoding;
    memset(&t, 0, sizeof(t));
    if (!qnnrt__names_find(QNNRT_VENDOR_TENSOR_TYPE, from->type.text, from->type.bytes, &t.body.type) ||
        !qnnrt__names_find(QNNRT_VENDOR_FORMAT, from->format.text, from->format.bytes, &t.body.format) ||
        !qnnrt__names_find(QNNRT_VENDOR_DTYPE, from->dtype.text, from->dtype.bytes, &t.body.dtype) ||
        !qnnrt__names_find(QNNRT__NAMES_DEFINITION, from->definition.text, from->definition.bytes, &definition) ||
        !qnnrt__names_find(QNNRT_VENDOR_ENCODING, from->encoding.text, from->encoding.bytes, &encoding) ||
        from->id > UINT32_MAX || from->rank != from->count || (encoding == QNNRT__ABI_SCALE_OFFSET) != from->has_scale)
        return 0;
    if (t.body.type == QNNRT__ABI_APP_READ) kind = QNNRT__TABLE_OUTPUTS;
    dims = (uint32_t *)qnnrt__arena_alloc(&build->arena, from->count, sizeof(*dims));
    if (dims == NULL || build->lists[kind].count == build->lists[kind].room) return 0;
    memcpy(dims, from->dims, from->count * sizeof(*dims));
    t.version = from->version.bytes > 0 && from->version.text[from->version.bytes - 1] == '2' ? 2 : 1;
    t.body.id = (uint32_t)from->id;
    t.body.name = build_text(build, from->name);
    t.body.rank = from->count;
    t.body.dims = dims;
    t.body.quantize.definition = definition;
    t.body.quantize.encoding = encoding;
    t.body.quantize.u.scale_offset.scale = (float)from->scale;
    t.body.quantize.u.scale_offset.offset = (int32_t)from->offset;
    return qnnrt__table_take(&build->table, 1) == QNNRT_OK &&
           qnnrt__table_tensor(&build->table, &t, kind, build->lists[kind].count,
                               &build->lists[kind].tensors[build->lists[kind].count]) == QNNRT_OK &&
           ++build->lists[kind].count > 0;
}

int peer_graph_end(peer_build *build, const peer_graph *from)
{
    qnnrt_graph_info *graph = &build->graphs[build->count++];
    int i;
    for (i = 0; i < PEER_LISTS; ++i)
        if (from->stated[i] != build->lists[i].count) return 0;
    graph->spill_fill_bytes = from->facts[PEER_SPILL];
    graph->optimization_level = (uint32_t)from->facts[PEER_LEVEL];
    graph->vtcm_bytes = from->facts[PEER_VTCM] << 20;
    graph->dlbc = (uint32_t)from->facts[PEER_DLBC];
    graph->hvx_threads = (uint32_t)from->facts[PEER_HVX];
    graph->native_k_bytes = from->facts[PEER_K];
    graph->native_v_bytes = from->facts[PEER_V];
    graph->safe_share_io = (uint32_t)from->facts[PEER_SAFE];
    graph->io_bytes = from->facts[PEER_IO];
    graph->op_data_bytes = from->facts[PEER_OP_DATA];
    graph->const_bytes = from->facts[PEER_CONST];
    graph->ddr_bytes = from->facts[PEER_DDR];
    graph->shared_weights_bytes = from->facts[PEER_SHARED];
    if (qnnrt__table_name(&build->table, build_text(build, from->name), "graph", build->count, &graph->name) != QNNRT_OK)
        return 0;
    for (i = 0; i < PEER_LISTS; ++i)
        if (qnnrt__table_close(&build->table, (qnnrt__table_kind)i, build->lists[i].tensors, build->lists[i].count, graph) != QNNRT_OK)
            return 0;
    return qnnrt__table_usable(&build->table, graph, 1) == QNNRT_OK;
}

int peer_context_end(peer_build *build, const peer_context *from)
{
    qnnrt_context_info *context = &build->context;
    if (from->artifact.bytes != 19 || memcmp(from->artifact.text, "CONTEXT_BINARY_INFO", 19) != 0 ||
        from->graphs != build->count) return 0;
    context->build_id = build_text(build, from->build_id);
    context->core_api = build_version(from->core_api);
    context->backend_api = build_version(from->backend_api);
    context->blob_version = build_version(from->blob_version);
    context->backend_id = (uint32_t)from->backend_id;
    context->blob_bytes = from->blob_bytes;
    context->context_tensor_count = (uint32_t)from->tensors;
    context->soc_model = (uint32_t)from->soc_model;
    context->dsp_arch = (uint32_t)from->dsp_arch;
    context->graphs = build->graphs;
    context->graph_count = build->count;
    return qnnrt__table_names(&build->table, build->graphs, build->count, sizeof(*build->graphs), "graph") == QNNRT_OK;
}

#if defined(BENCH_YYJSON) || defined(BENCH_CJSON)
static const char *const peer_lists[PEER_LISTS] = { "graphInputs", "graphOutputs", "updateableTensors" };
static const char *const peer_counts[PEER_LISTS] = { "numGraphInputs", "numGraphOutputs", "numUpdateableTensors" };
static const char *const peer_facts[PEER_FACTS] = {
    "spillFillBufferSize", "optimizationLevel", "vtcmSize", "htpDlbc", "numHvxThreads", "nativeKChannelSize",
    "nativeVChannelSize", "isSafeShareIO", "ioTensorSize", "opDataSize", "constSize", "ddrTensorSize", "sharedWeightsSize"
};
#endif

/* yyjson's pool is one block that is allocated before the read; it is counted. */
static size_t y_pool_bytes;

/* ---- yyjson: members are read in the order of the file, by its iterator ---- */

#ifdef BENCH_YYJSON
static peer_text y_text(yyjson_val *value)
{
    peer_text text;
    text.text = yyjson_get_str(value);
    text.bytes = yyjson_get_len(value);
    if (text.text == NULL) { text.text = ""; text.bytes = 0; }
    return text;
}

static int y_tensor(peer_build *build, yyjson_val *record)
{
    yyjson_obj_iter outer = yyjson_obj_iter_with(record), info, quant, pair;
    yyjson_arr_iter dims;
    yyjson_val *dimension, *with;
    peer_tensor t;
    t.version = y_text(yyjson_obj_iter_get(&outer, "version"));
    info = yyjson_obj_iter_with(yyjson_obj_iter_get(&outer, "info"));
    t.id = yyjson_get_uint(yyjson_obj_iter_get(&info, "id"));
    t.name = y_text(yyjson_obj_iter_get(&info, "name"));
    t.type = y_text(yyjson_obj_iter_get(&info, "type"));
    t.format = y_text(yyjson_obj_iter_get(&info, "dataFormat"));
    t.dtype = y_text(yyjson_obj_iter_get(&info, "dataType"));
    t.rank = yyjson_get_uint(yyjson_obj_iter_get(&info, "rank"));
    t.count = 0;
    dims = yyjson_arr_iter_with(yyjson_obj_iter_get(&info, "dimensions"));
    while ((dimension = yyjson_arr_iter_next(&dims)) != NULL) {
        if (t.count == 32) return 0;
        t.dims[t.count++] = (uint32_t)yyjson_get_uint(dimension);
    }
    quant = yyjson_obj_iter_with(yyjson_obj_iter_get(&info, "quantizeParams"));
    t.definition = y_text(yyjson_obj_iter_get(&quant, "definition"));
    t.encoding = y_text(yyjson_obj_iter_get(&quant, "quantizationEncoding"));
    with = yyjson_obj_iter_get(&quant, "scaleOffset");
    t.has_scale = with != NULL;
    if (with != NULL) {
        pair = yyjson_obj_iter_with(with);
        t.scale = yyjson_get_num(yyjson_obj_iter_get(&pair, "scale"));
        t.offset = yyjson_get_sint(yyjson_obj_iter_get(&pair, "offset"));
    }
    return peer_tensor_add(build, &t);
}

static int y_graph(peer_build *build, yyjson_val *record)
{
    yyjson_obj_iter info = yyjson_obj_iter_with(yyjson_obj_get(record, "info")), blob;
    yyjson_arr_iter tensors;
    yyjson_val *tensor;
    peer_graph graph;
    int i;
    if (!peer_graph_begin(build)) return 0;
    graph.name = y_text(yyjson_obj_iter_get(&info, "graphName"));
    for (i = 0; i < PEER_LISTS; ++i) {
        graph.stated[i] = yyjson_get_uint(yyjson_obj_iter_get(&info, peer_counts[i]));
        if (!peer_list_begin(build, i, graph.stated[i])) return 0;
        tensors = yyjson_arr_iter_with(yyjson_obj_iter_get(&info, peer_lists[i]));
        while ((tensor = yyjson_arr_iter_next(&tensors)) != NULL)
            if (!y_tensor(build, tensor)) return 0;
    }
    blob = yyjson_obj_iter_with(yyjson_obj_get(yyjson_obj_iter_get(&info, "graphBlobInfo"), "info"));
    for (i = 0; i < PEER_K; ++i) graph.facts[i] = yyjson_get_uint(yyjson_obj_iter_get(&blob, peer_facts[i]));
    blob = yyjson_obj_iter_with(yyjson_obj_iter_get(&info, "graphBlobInfoV2"));
    for (; i < PEER_FACTS; ++i) graph.facts[i] = yyjson_get_uint(yyjson_obj_iter_get(&blob, peer_facts[i]));
    return peer_graph_end(build, &graph);
}

static int y_root(peer_build *build, yyjson_val *root)
{
    yyjson_obj_iter info = yyjson_obj_iter_with(yyjson_obj_get(root, "info"));
    yyjson_arr_iter graphs;
    yyjson_val *graph;
    peer_context c;
    c.artifact = y_text(yyjson_obj_get(yyjson_obj_get(root, "header"), "artifact_type"));
    c.backend_id = yyjson_get_uint(yyjson_obj_iter_get(&info, "backendId"));
    c.build_id = y_text(yyjson_obj_iter_get(&info, "buildId"));
    c.core_api = y_text(yyjson_obj_iter_get(&info, "coreApiVersion"));
    c.backend_api = y_text(yyjson_obj_iter_get(&info, "backendApiVersion"));
    c.blob_version = y_text(yyjson_obj_iter_get(&info, "contextBlobVersion"));
    c.blob_bytes = yyjson_get_uint(yyjson_obj_iter_get(&info, "contextBlobSize"));
    c.tensors = yyjson_get_uint(yyjson_obj_iter_get(&info, "numContextTensors"));
    c.graphs = yyjson_get_uint(yyjson_obj_iter_get(&info, "numGraphs"));
    if (!peer_graphs_begin(build, c.graphs)) return 0;
    graphs = yyjson_arr_iter_with(yyjson_obj_iter_get(&info, "graphs"));
    while ((graph = yyjson_arr_iter_next(&graphs)) != NULL)
        if (!y_graph(build, graph)) return 0;
    c.dsp_arch = yyjson_get_uint(
        yyjson_obj_get(yyjson_obj_get(yyjson_obj_iter_get(&info, "contextMetadata"), "info"), "dspArch"));
    c.soc_model = yyjson_get_uint(yyjson_obj_iter_get(&info, "socModel"));
    return peer_context_end(build, &c);
}

static void *y_pool;

static void *y_malloc(void *user, size_t bytes) { return count_alloc(user, bytes); }
static void y_free(void *user, void *data) { (void)user; free(data); }
static void *y_realloc(void *user, void *data, size_t old, size_t bytes)
{
    (void)user;
    ++allocations;
    if (bytes > old) allocated += (double)(bytes - old);
    return realloc(data, bytes);
}
static const yyjson_alc y_counted = { y_malloc, y_realloc, y_free, NULL };

static int y_read(peer_build *build, char *text, size_t bytes, int pool)
{
    yyjson_alc alc = y_counted;
    yyjson_doc *document;
    int good;
    if (pool) yyjson_alc_pool_init(&alc, y_pool, y_pool_bytes);
    document = yyjson_read_opts(text, bytes, YYJSON_READ_INSITU, &alc, NULL);
    good = document != NULL && (build == NULL || y_root(build, yyjson_doc_get_root(document)));
    yyjson_doc_free(document);
    return good;
}
#endif

/* ---- cJSON ---- */

#ifdef BENCH_CJSON
static void *c_malloc(size_t bytes) { return count_alloc(NULL, bytes); }

static const cJSON *c_get(const cJSON *object, const char *key) { return cJSON_GetObjectItemCaseSensitive(object, key); }

static peer_text c_text(const cJSON *object, const char *key)
{
    const cJSON *item = c_get(object, key);
    peer_text text;
    text.text = cJSON_IsString(item) ? item->valuestring : "";
    text.bytes = strlen(text.text);
    return text;
}

static uint64_t c_number(const cJSON *object, const char *key)
{
    const cJSON *item = c_get(object, key);
    return cJSON_IsNumber(item) ? (uint64_t)item->valuedouble : 0;
}

static int c_tensor(peer_build *build, const cJSON *record)
{
    const cJSON *info = c_get(record, "info"), *quant = c_get(info, "quantizeParams"), *pair = c_get(quant, "scaleOffset");
    const cJSON *dimension;
    peer_tensor t;
    t.version = c_text(record, "version");
    t.id = c_number(info, "id");
    t.name = c_text(info, "name");
    t.type = c_text(info, "type");
    t.format = c_text(info, "dataFormat");
    t.dtype = c_text(info, "dataType");
    t.rank = c_number(info, "rank");
    t.count = 0;
    cJSON_ArrayForEach(dimension, c_get(info, "dimensions")) {
        if (t.count == 32) return 0;
        t.dims[t.count++] = (uint32_t)dimension->valuedouble;
    }
    t.definition = c_text(quant, "definition");
    t.encoding = c_text(quant, "quantizationEncoding");
    t.has_scale = pair != NULL;
    if (pair != NULL) {
        t.scale = c_get(pair, "scale")->valuedouble;
        t.offset = (int64_t)c_get(pair, "offset")->valuedouble;
    }
    return peer_tensor_add(build, &t);
}

static int c_graph(peer_build *build, const cJSON *record)
{
    const cJSON *info = c_get(record, "info"), *tensor;
    peer_graph graph;
    int i;
    if (!peer_graph_begin(build)) return 0;
    graph.name = c_text(info, "graphName");
    for (i = 0; i < PEER_LISTS; ++i) {
        graph.stated[i] = c_number(info, peer_counts[i]);
        if (!peer_list_begin(build, i, graph.stated[i])) return 0;
        cJSON_ArrayForEach(tensor, c_get(info, peer_lists[i])) if (!c_tensor(build, tensor)) return 0;
    }
    for (i = 0; i < PEER_FACTS; ++i)
        graph.facts[i] = c_number(i < PEER_K ? c_get(c_get(info, "graphBlobInfo"), "info") : c_get(info, "graphBlobInfoV2"),
                                  peer_facts[i]);
    return peer_graph_end(build, &graph);
}

static int c_root(peer_build *build, const cJSON *root)
{
    const cJSON *info = c_get(root, "info"), *graph;
    peer_context c;
    c.artifact = c_text(c_get(root, "header"), "artifact_type");
    c.backend_id = c_number(info, "backendId");
    c.build_id = c_text(info, "buildId");
    c.core_api = c_text(info, "coreApiVersion");
    c.backend_api = c_text(info, "backendApiVersion");
    c.blob_version = c_text(info, "contextBlobVersion");
    c.blob_bytes = c_number(info, "contextBlobSize");
    c.tensors = c_number(info, "numContextTensors");
    c.graphs = c_number(info, "numGraphs");
    if (!peer_graphs_begin(build, c.graphs)) return 0;
    cJSON_ArrayForEach(graph, c_get(info, "graphs")) if (!c_graph(build, graph)) return 0;
    c.dsp_arch = c_number(c_get(c_get(info, "contextMetadata"), "info"), "dspArch");
    c.soc_model = c_number(info, "socModel");
    return peer_context_end(build, &c);
}

static int c_read(peer_build *build, const char *text, size_t bytes)
{
    cJSON *root = cJSON_ParseWithLength(text, bytes);
    int good = root != NULL && (build == NULL || c_root(build, root));
    cJSON_Delete(root);
    return good;
}
#endif

/* ---- one way ---- */

static int has_way(int way)
{
    switch (way) {
    case OURS: return 1;
#ifdef BENCH_YYJSON
    case YYJSON: case YYJSON_POOL: return 1;
#endif
#ifdef BENCH_SIMDJSON
    case SIMDJSON: return 1;
#endif
#ifdef BENCH_CJSON
    case CJSON: return 1;
#endif
    default: return 0;
    }
}

/* Read a text and add PAD zero bytes. */
static int read_way(int way, peer_build *build, char *text, size_t bytes)
{
    (void)build; (void)text; (void)bytes;
    switch (way) {
    case OURS: return ours_read(build, text, bytes);
#ifdef BENCH_YYJSON
    case YYJSON: return y_read(build, text, bytes, 0);
    case YYJSON_POOL: return y_read(build, text, bytes, 1);
#endif
#ifdef BENCH_SIMDJSON
    case SIMDJSON: return simdjson_read(build, text, bytes, bytes + PAD);
#endif
#ifdef BENCH_CJSON
    case CJSON: return c_read(build, text, bytes);
#endif
    default: return 0;
    }
}

/* Read the text to its end and keep nothing. */
static int skip_way(int way, char *text, size_t bytes)
{
    qnnrt_json_reader r;
    switch (way) {
    case OURS:
        qnnrt_json_begin(&r, text, bytes, NULL);
        return qnnrt_json_skip(&r) && qnnrt_json_end(&r);
#ifdef BENCH_YYJSON
    case YYJSON: return y_read(NULL, text, bytes, 0);
    case YYJSON_POOL: return y_read(NULL, text, bytes, 1);
#endif
#ifdef BENCH_SIMDJSON
    case SIMDJSON: return simdjson_skip(text, bytes, bytes + PAD);
#endif
#ifdef BENCH_CJSON
    case CJSON: return c_read(NULL, text, bytes);
#endif
    default: return 0;
    }
}

/* ---- the dumps ---- */

typedef struct sample { char path[1024], label[40]; char *text; size_t bytes; } sample;

static sample samples[MOST_FILES];
static size_t sample_count;
static char  *fresh;           /* the copy that is read */

static void load(const char *path, sample *s)
{
    FILE *file = fopen(path, "rb");
    long bytes;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) < 0) { stop(path, "cannot be read"); return; }
    rewind(file);
    s->text = (char *)calloc((size_t)bytes + PAD, 1);
    s->bytes = (size_t)bytes;
    if (s->text == NULL || fread(s->text, 1, s->bytes, file) != s->bytes) stop(path, "cannot be read");
    fclose(file);
}

static int by_path(const void *a, const void *b) { return strcmp(((const sample *)a)->path, ((const sample *)b)->path); }

/* List every file of a folder that is named <begin>....json. Return how many there are. */
static size_t find_named(const char *folder, const char *begin)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    const size_t before = sample_count;
    if (dir == NULL) stop(folder, "cannot be opened");
    while ((entry = readdir(dir)) != NULL && sample_count < MOST_FILES)
        if (strncmp(entry->d_name, begin, strlen(begin)) == 0 && strstr(entry->d_name, ".json") != NULL)
            snprintf(samples[sample_count++].path, sizeof(samples[0].path), "%s/%s", folder, entry->d_name);
    closedir(dir);
    return sample_count - before;
}

static void find_all(const char *folder)
{
    if (find_named(folder, "ctx_") == 0 && find_named(folder, "") == 0) stop(folder, "holds no *.json");
}

static void load_all(void)
{
    size_t most = 0, i;
    qsort(samples, sample_count, sizeof(samples[0]), by_path);
    for (i = 0; i < sample_count; ++i) {
        const char *name = strrchr(samples[i].path, '/') + 1, *second = strchr(name, '_');
        load(samples[i].path, &samples[i]);
        if (strncmp(name, "ctx_", 4) == 0 && (second = strchr(second + 1, '_')) != NULL) name = second + 1;
        snprintf(samples[i].label, sizeof(samples[i].label), "%.*s", (int)(strlen(name) - 5), name);
        if (samples[i].bytes > most) most = samples[i].bytes;
    }
    fresh = (char *)calloc(most + PAD, 1);
    if (fresh == NULL) stop("dumps", "no memory");
#ifdef BENCH_YYJSON
    y_pool_bytes = yyjson_read_max_memory_usage(most, YYJSON_READ_INSITU);
    y_pool = calloc(y_pool_bytes, 1);
    if (y_pool == NULL) stop("dumps", "no memory");
#endif
}

static void refresh(const sample *s)
{
    memcpy(fresh, s->text, s->bytes + PAD);
}

/* Check that all ways make the same table. */
static void compare(const sample *s)
{
    static peer_build one, other;
    int way;
    size_t g;
    build_begin(&one);
    refresh(s);
    if (!ours_read(&one, fresh, s->bytes)) stop(s->path, one.err.text);
    for (way = 1; way < WAYS; ++way) {
        if (!has_way(way)) continue;
        build_begin(&other);
        refresh(s);
        if (!read_way(way, &other, fresh, s->bytes)) stop(way_names[way], "did not read a dump");
        if (qnnrt__compare(&one.table, &one.context, &other.context, "ours", "the peer's") != QNNRT_OK) stop(way_names[way], one.err.text);
        if (one.context.context_tensor_count != other.context.context_tensor_count ||
            memcmp(&one.context.core_api, &other.context.core_api, sizeof(qnnrt_version_info)) != 0 ||
            memcmp(&one.context.blob_version, &other.context.blob_version, sizeof(qnnrt_version_info)) != 0)
            stop(way_names[way], "another context");
        for (g = 0; g < one.context.graph_count; ++g)
            if (memcmp(&one.context.graphs[g].spill_fill_bytes, &other.context.graphs[g].spill_fill_bytes,
                       sizeof(qnnrt_graph_info) - offsetof(qnnrt_graph_info, spill_fill_bytes)) != 0)
                stop(way_names[way], "another graph");
        qnnrt_arena_free(&other.arena);
    }
    qnnrt_arena_free(&one.arena);
}

typedef struct times { double ns[ROUNDS]; } times;

static double timed(int way, const sample *s, int skip)
{
    static peer_build build;
    double began, took;
    int good;
    refresh(s);
    build_begin(&build);
    began = now_ns();
    good = skip ? skip_way(way, fresh, s->bytes) : read_way(way, &build, fresh, s->bytes);
    took = now_ns() - began;
    if (!good) stop(way_names[way], "failed");
    qnnrt_arena_free(&build.arena);
    return took;
}

static void shuffle(int order[WAYS])
{
    static unsigned seed = 1;
    int k, other;
    for (k = 0; k < WAYS; ++k) {
        seed = seed * 1664525u + 1013904223u;
        other = (int)((seed >> 16) % (unsigned)(k + 1));
        order[k] = order[other];
        order[other] = k;
    }
}

/* Print one line: us and MB/s of ours; us of each peer and its ratios to ours. */
static void line(const char *label, double bytes, times *of, size_t rounds)
{
    static double ratio[ROUNDS];
    double least = 0;
    int way;
    size_t r;
    times sorted;
    printf("%-26s", label);
    for (way = 0; way < WAYS; ++way) {
        if (!has_way(way)) continue;
        memcpy(sorted.ns, of[way].ns, rounds * sizeof(double));
        qsort(sorted.ns, rounds, sizeof(double), by_value);
        printf(" %8.1f %8.1f", sorted.ns[0] / 1e3, sorted.ns[rounds / 2] / 1e3);
        if (way == OURS) {
            printf(" %5.0f", bytes / sorted.ns[rounds / 2] * 1e3);
            least = sorted.ns[0];
            continue;
        }
        printf(" %5.2f", sorted.ns[0] / least);
        for (r = 0; r < rounds; ++r) ratio[r] = of[way].ns[r] / of[OURS].ns[r];
        qsort(ratio, rounds, sizeof(double), by_value);
        printf(" %5.2f", ratio[rounds / 2]);
    }
    printf("\n");
    fflush(stdout);
}

static void head(const char *title)
{
    int way;
    printf("\n%s\n%-26s", title, "us, ratios: min, median");
    for (way = 0; way < WAYS; ++way)
        if (has_way(way)) printf(way == OURS ? " %17s %5s" : " %17s %11s", way_names[way], way == OURS ? "MB/s" : "/ours");
    printf("\n");
}

static void measure(const char *title, int skip)
{
    static times one[WAYS], all[WAYS];
    int order[WAYS], way, k;
    double bytes = 0;
    size_t i, r;
    memset(all, 0, sizeof(all));
    head(title);
    for (i = 0; i < sample_count; ++i) {
        for (r = 0; r < ROUNDS + 20; ++r) {      /* the first ones warm up */
            shuffle(order);
            for (k = 0; k < WAYS; ++k) {
                way = order[k];
                if (!has_way(way)) continue;
                one[way].ns[r % ROUNDS] = timed(way, &samples[i], skip);
            }
        }
        for (way = 0; way < WAYS; ++way)
            for (r = 0; r < ROUNDS; ++r) all[way].ns[r] += one[way].ns[r];
        bytes += (double)samples[i].bytes;
        line(samples[i].label, (double)samples[i].bytes, one, ROUNDS);
    }
    line("all together", bytes, all, ROUNDS);
}

static void memory(void)
{
    static peer_build build;
    double sum[WAYS] = { 0 }, all = 0, peers_bytes;
    long peers_count;
    size_t i;
    int way;
    printf("\n%-26s", "allocations, bytes a byte");
    for (way = 0; way < WAYS; ++way) if (has_way(way)) printf(" %14s", way_names[way]);
    printf("\n");
#ifdef BENCH_SIMDJSON
    simdjson_counters(&peers_count, &peers_bytes);
#endif
    for (i = 0; i < sample_count; ++i) {
        printf("%-26s", samples[i].label);
        all += (double)samples[i].bytes;
        for (way = 0; way < WAYS; ++way) {
            if (!has_way(way)) continue;
            allocations = 0;
            allocated = way == YYJSON_POOL ? (double)y_pool_bytes : 0;
            refresh(&samples[i]);
            build_begin(&build);
            read_way(way, &build, fresh, samples[i].bytes);
            qnnrt_arena_free(&build.arena);
            if (way == SIMDJSON) {
#ifdef BENCH_SIMDJSON
                simdjson_counters(&peers_count, &peers_bytes);
                allocations += peers_count;
                allocated += peers_bytes;
#endif
            }
            printf(" %8ld %5.2f", allocations, allocated / (double)samples[i].bytes);
            sum[way] += allocated;
            if (way == OURS && (allocations > 2 || allocated > 0.9 * (double)samples[i].bytes)) {
                printf("\n  FAILED: at most 2 allocations and 0.9 bytes a byte are allowed\n");
                failed = 1;
            }
        }
        printf("\n");
    }
    printf("%-26s", "all together");
    for (way = 0; way < WAYS; ++way) if (has_way(way)) printf(" %8s %5.2f", "", sum[way] / all);
    printf("\n");
    (void)peers_count;
    (void)peers_bytes;
}

/* ---- the first call in a process ---- */

/* In the child: load the text, read the clock once, then measure. */
static int first_here(int way, const char *path)
{
    static peer_build build;
    double began, took;
    sample s;
    memset(&s, 0, sizeof(s));
    load(path, &s);
#ifdef BENCH_CJSON
    { cJSON_Hooks hooks; hooks.malloc_fn = c_malloc; hooks.free_fn = free; cJSON_InitHooks(&hooks); }
#endif
#ifdef BENCH_YYJSON
    if (way == YYJSON_POOL) {
        y_pool_bytes = yyjson_read_max_memory_usage(s.bytes, YYJSON_READ_INSITU);
        /* Its pages are not touched yet, because that is part of the cost. */
        y_pool = malloc(y_pool_bytes);
    }
#endif
    build_begin(&build);
    now_ns();
    began = now_ns();
    if (!read_way(way, &build, s.text, s.bytes)) return 1;
    took = now_ns() - began;
    printf("%.0f\n", took);
    return 0;
}

static double first_there(const char *self, int way, const char *path)
{
    char number[8], answer[64];
    int ends[2], status;
    ssize_t got;
    pid_t child;
    snprintf(number, sizeof(number), "%d", way);
    if (pipe(ends) != 0) stop("pipe", "failed");
    fflush(stdout);
    child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execl(self, self, "first", number, path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    got = read(ends[0], answer, sizeof(answer) - 1);
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 || got <= 0) stop("first", "a child failed");
    answer[got] = '\0';
    return atof(answer);
}

static void measure_first(const char *self)
{
    static times one[WAYS], all[WAYS];
    int order[WAYS], way, k;
    double bytes = 0;
    size_t i, r;
    memset(all, 0, sizeof(all));
    head("the first call in a fresh process");
    for (i = 0; i < sample_count; ++i) {
        for (r = 0; r < FIRST_ROUNDS; ++r) {
            shuffle(order);
            for (k = 0; k < WAYS; ++k) {
                way = order[k];
                if (has_way(way)) one[way].ns[r] = first_there(self, way, samples[i].path);
            }
        }
        for (way = 0; way < WAYS; ++way)
            for (r = 0; r < FIRST_ROUNDS; ++r) all[way].ns[r] += one[way].ns[r];
        bytes += (double)samples[i].bytes;
        line(samples[i].label, (double)samples[i].bytes, one, FIRST_ROUNDS);
    }
    line("all together", bytes, all, FIRST_ROUNDS);
}

/* ---- texts that are made to be slow ---- */

typedef struct writer { char *text; size_t used, room; unsigned long count; } writer;

static void put(writer *w, const char *text)
{
    size_t bytes = strlen(text);
    if (w->used + bytes > w->room) stop("writer", "no room");
    memcpy(w->text + w->used, text, bytes);
    w->used += bytes;
}

static void put_many(writer *w, const char *text, size_t times_) { while (times_-- > 0) put(w, text); }

#define EMPTY_GRAPHS "\"graphs\":[{\"graphName\":\"g\",\"graphInputs\":[],\"graphOutputs\":[]}]}"
#define IN_TENSORS   "{\"graphs\":[{\"graphName\":\"g\",\"graphInputs\":["
#define END_TENSORS  "],\"graphOutputs\":[]}]}"
#define IN_AXIS(kind, list) IN_TENSORS "{\"id\":1,\"name\":\"n\",\"dataType\":1032,\"dimensions\":[1],\"quantizeParams\":{\"" \
                     kind "\":{\"axis\":0,\"bitwidth\":8,\"" list "\":["
#define END_AXIS     "]}}}" END_TENSORS

/* Write begin, then parts until the size is reached (the first without its comma), then end. A
   part may hold %lu, the number of the part. */
typedef struct slow_text { const char *what, *begin, *part, *end; size_t repeat; } slow_text;

static const slow_text slow_texts[] = {
    { "spaces", "{", "                                ", EMPTY_GRAPHS, 1 },
    { "newlines", "{", "\n\n\n\n\n\n\n\n", EMPTY_GRAPHS, 1 },
    { "newline, space", "{", "\n \n \n \n ", EMPTY_GRAPHS, 1 },
    { "tabs", "{", "\t\t\t\t\t\t\t\t", EMPTY_GRAPHS, 1 },
    { "unknown keys", "{", "\"a%lu\":0,", EMPTY_GRAPHS, 1 },
    { "one short unknown key", "{", "\"a\":0,", EMPTY_GRAPHS, 1 },
    { "empty keys, not metadata", "{", "\"\":0,", "\"b\":0}", 1 },
    { "equal-prefix keys", "{", "\"contextBlobVersioo\":0,", EMPTY_GRAPHS, 1 },
    { "keys of a tensor", IN_TENSORS "{", "\"dimensionz\":0,", "\"id\":1,\"name\":\"a\",\"dataType\":8,\"dimensions\":[]}" END_TENSORS, 1 },
    { "escaped keys", "{", "\"\\u0061\":0,", EMPTY_GRAPHS, 1 },
    { "escaped known keys", "{", "\"contextBlobVersio\\u006f\":0,", EMPTY_GRAPHS, 1 },
    { "deep brackets", "{\"a\":[0", ",[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "]," EMPTY_GRAPHS, 1 },
    { "deep braces", "{\"a\":[0", ",{\"\":{\"\":{\"\":{\"\":{\"\":{}}}}}}", "]," EMPTY_GRAPHS, 1 },
    { "too deep", "{\"a\":", "[", "", 1 },
    { "empty lists", "{\"a\":[0", ",[]", "]," EMPTY_GRAPHS, 1 },
    { "digits", "{\"a\":[0", ",1", "]," EMPTY_GRAPHS, 1 },
    { "one long number", "{\"a\":0.", "1234567890", "," EMPTY_GRAPHS, 1 },
    { "one long text", "{\"a\":\"", "abcdefgh", "\"," EMPTY_GRAPHS, 1 },
    { "short texts", "{\"a\":[0", ",\"\"", "]," EMPTY_GRAPHS, 1 },
    { "UTF-8", "{\"a\":\"", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\"," EMPTY_GRAPHS, 1 },
    { "ASCII and UTF-8 by turns", "{\"a\":\"", "a\xC3\xA9", "\"," EMPTY_GRAPHS, 1 },
    { "escapes", "{\"a\":\"", "\\n\\t", "\"," EMPTY_GRAPHS, 1 },
    { "\\u escapes", "{\"a\":\"", "\\u20ac\\ud83d\\ude00", "\"," EMPTY_GRAPHS, 1 },
    { "a brace left open", "{\"a\":{", "\"b\":0,", "", 1 },
    { "an error at the end", IN_TENSORS, "{\"id\":%lu,\"name\":\"n%lu\",\"dataType\":8,\"dimensions\":[]},", "{\"id\":1}" END_TENSORS, 1 },
    { "a tensor without a name", IN_TENSORS "{\"id\":-1", ",\"a\":0", "}" END_TENSORS, 1 },
    { "scales 1e-300", IN_AXIS("bwAxisScaleOffset", "scales") "1", ",1e-300", END_AXIS, 1 },
    { "scales 1e-30", IN_AXIS("bwAxisScaleOffset", "scales") "1", ",1e-30", END_AXIS, 1 },
    { "scales 1", IN_AXIS("bwAxisScaleOffset", "scales") "1", ",1", END_AXIS, 1 },
    { "scales of 17 digits", IN_AXIS("bwAxisScaleOffset", "scales") "1", ",0.0000071973709054873329", END_AXIS, 1 },
    { "scales halfway, 19 digits", IN_AXIS("bwAxisScaleOffset", "scales") "1", ",1.000000178813934326", END_AXIS, 1 },
    { "scales halfway, 25 digits", IN_AXIS("bwAxisScaleOffset", "scales") "1", ",1.000000178813934326171875", END_AXIS, 1 },
    { "scales halfway, e-30", IN_AXIS("bwAxisScaleOffset", "scales") "1", ",1.0000000913675219459e-30", END_AXIS, 1 },
    { "scales near halfway, e-38", IN_AXIS("bwAxisScaleOffset", "scales") "1", ",1.1754944208872107e-38", END_AXIS, 1 },
    { "scales at half the least", IN_AXIS("bwAxisScaleOffset", "scales") "1", ",7.006492321624085354618e-46", END_AXIS, 1 },
    { "scales of 800 digits", IN_AXIS("bwAxisScaleOffset", "scales") "1", NULL, END_AXIS, 800 },
    { "scales of 112 digits", IN_AXIS("bwAxisScaleOffset", "scales") "1", NULL, END_AXIS, 112 },
    { "pairs as objects", IN_AXIS("axisScaleOffset", "scaleOffsets") "{\"scale\":1,\"offset\":0}", ",{\"scale\":1,\"offset\":0}", END_AXIS, 1 },
    { "pairs as lists", IN_AXIS("axisScaleOffset", "scaleOffsets") "[1,0]", ",[1,0]", END_AXIS, 1 },
    { "pairs in one text", IN_AXIS("axisScaleOffset", "scaleOffsets") "\"1,0", ",1,0", "\"" END_AXIS, 1 },
    { "dimensions", IN_TENSORS "{\"id\":1,\"name\":\"n\",\"a\":[1", ",1", "],\"dataType\":1032,\"dimensions\":[1]}" END_TENSORS, 1 },
    { "tiny tensors", IN_TENSORS, "{\"id\":%lu,\"name\":\"%lx\",\"dataType\":8,\"dimensions\":[]},",
      "{\"id\":4294967295,\"name\":\"n\",\"dataType\":8,\"dimensions\":[]}" END_TENSORS, 1 },
    { "tiny tensors, shuffled", IN_TENSORS, "{\"id\":%lu,\"name\":\"%lx\",\"dataType\":8,\"dimensions\":[]},",
      "{\"id\":4294967295,\"name\":\"n\",\"dataType\":8,\"dimensions\":[]}" END_TENSORS, 2654435761u },
    { "tiny tensors, wide", IN_TENSORS, "{\"id\":%lu,\"name\":\"%lx\",\"dataType\":8,\"dimensions\":[1,1,1,1,1,1,1,1]},",
      "{\"id\":4294967295,\"name\":\"n\",\"dataType\":8,\"dimensions\":[]}" END_TENSORS, 1 },
    { "equal-prefix names", IN_TENSORS, "{\"id\":%lu,\"name\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%lx\",\"dataType\":8,\"dimensions\":[]},",
      "{\"id\":4294967295,\"name\":\"n\",\"dataType\":8,\"dimensions\":[]}" END_TENSORS, 2654435761u },
    { "long equal-prefix names", IN_TENSORS, NULL,
      "{\"id\":4294967295,\"name\":\"n\",\"dataType\":8,\"dimensions\":[]}" END_TENSORS, 2654435761u },
    { "escaped names", IN_TENSORS, "{\"id\":%lu,\"name\":\"\\u0061\\n\\ud83d\\ude00\\\\\\u0061\\n\\ud83d\\ude00\\\\%lx\",\"dataType\":8,\"dimensions\":[]},",
      "{\"id\":4294967295,\"name\":\"n\",\"dataType\":8,\"dimensions\":[]}" END_TENSORS, 1 },
    { "tiny graphs", "{\"graphs\":[", "{\"graphName\":\"%lx\",\"graphInputs\":[],\"graphOutputs\":[]},",
      "{\"graphName\":\"n\",\"graphInputs\":[],\"graphOutputs\":[]}]}", 1 },
    { "tiny graphs, shuffled", "{\"graphs\":[", "{\"graphName\":\"%lx\",\"inputs\":[],\"outputs\":[]},",
      "{\"graphName\":\"n\",\"graphInputs\":[],\"graphOutputs\":[]}]}", 2654435761u },
    { "graphs announced, none", "{\"numGraphs\":4294967295,\"a\":0", ",\"numGraph\":4294967295", "}", 1 },
    { "enumerators not known", IN_TENSORS, "{\"id\":%lu,\"name\":\"%lx\",\"dataFormat\":\"QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_16BPS_4X5\",\"dataType\":8,\"dimensions\":[]},",
      "{\"id\":4294967295,\"name\":\"n\",\"dataType\":8,\"dimensions\":[]}" END_TENSORS, 1 }
};

static void make_slow(const slow_text *from, size_t bytes, writer *w)
{
    char part[2400];
    unsigned long i;
    w->used = 0;
    put(w, from->begin);
    for (i = 1; w->used < bytes; ++i) {
        const unsigned long number = (unsigned long)(uint32_t)(i * (from->repeat > 1000 ? from->repeat : 1));
        if (from->part == NULL && from->repeat < 1000) {         /* 1.00...01 with that many digits: halfway except for the last digit */
            put(w, ",1.000000178813934326171875");
            put_many(w, "0", from->repeat - 26);
            put(w, "1");
            continue;
        }
        if (from->part == NULL) {
            int used = snprintf(part, sizeof(part), "{\"id\":%lu,\"name\":\"", number);
            memset(part + used, 'a', 1000);
            snprintf(part + used + 1000, sizeof(part) - 1000 - (size_t)used, "%lx\",\"dataType\":8,\"dimensions\":[]},", number);
        } else if (strchr(from->part, '%') != NULL) {
            const char *at = from->part;
            size_t used = 0;
            while (*at != '\0') {
                if (*at != '%') { part[used++] = *at++; continue; }
                used += (size_t)snprintf(part + used, 20, at[2] == 'x' ? "%lx" : "%lu", number);
                at += 3;
            }
            part[used] = '\0';
        } else {
            put(w, from->part);
            continue;
        }
        put(w, part);
    }
    put(w, from->end);
    w->text[w->used] = '\0';
}

/* The reference of slow texts: FNV-1a, one multiplication for each byte. */
static uint32_t hash_bytes(const char *text, size_t bytes)
{
    uint32_t hash = 2166136261u;
    size_t i;
    for (i = 0; i < bytes; ++i) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static void measure_slow(void)
{
    enum { SIZES = 3, TIMES = 9 };
    static peer_build build;
    volatile uint32_t sink = 0;
    double worst = 0;
    const char *worst_what = "";
    size_t i, size, t;
    writer w;
    w.room = ((size_t)4 << 20) + 65536;
    w.text = (char *)malloc(w.room + 1);
    if (w.text == NULL) stop("slow", "no memory");
    printf("\ntexts that are made to be slow: ns a byte, min and median; over a hash of the bytes, min and median (4 MB)\n"
           "%-28s %12s %12s %12s %12s  %s\n", "", "1 MB", "2 MB", "4 MB", "/hash", "answer");
    for (i = 0; i < sizeof(slow_texts) / sizeof(slow_texts[0]); ++i) {
        double ns[TIMES], hash[TIMES], median = 0;
        qnnrt_result result = QNNRT_OK;
        printf("%-28s", slow_texts[i].what);
        for (size = 0; size < SIZES; ++size) {
            make_slow(&slow_texts[i], (size_t)1000000 << size, &w);
            for (t = 0; t < TIMES; ++t) {
                double began = now_ns();
                sink += hash_bytes(w.text, w.used);
                hash[t] = (now_ns() - began) / (double)w.used;
                build_begin(&build);
                began = now_ns();
                result = qnnrt__read_json(&build.table, w.text, w.used, &build.context);
                ns[t] = (now_ns() - began) / (double)w.used;
                qnnrt_arena_free(&build.arena);
            }
            qsort(ns, TIMES, sizeof(double), by_value);
            qsort(hash, TIMES, sizeof(double), by_value);
            median = ns[TIMES / 2];
            printf(" %6.2f %5.2f", ns[0], median);
        }
        printf(" %6.2f %5.2f  %.60s\n", ns[0] / hash[0], median / hash[TIMES / 2],
               result == QNNRT_OK ? "read" : build.err.text);
        if (median / hash[TIMES / 2] > worst) { worst = median / hash[TIMES / 2]; worst_what = slow_texts[i].what; }
    }
    printf("worst: %.2f times the hash, %s\n", worst, worst_what);
    free(w.text);
}

int main(int argc, char **argv)
{
    size_t i;
    int k;
    if (argc == 4 && strcmp(argv[1], "first") == 0) return first_here(atoi(argv[2]), argv[3]);
    if (argc < 2) { printf("usage: %s FOLDER... | slow\n", argv[0]); return 2; }
#ifdef BENCH_CJSON
    { cJSON_Hooks hooks; hooks.malloc_fn = c_malloc; hooks.free_fn = free; cJSON_InitHooks(&hooks); }
#endif
    if (strcmp(argv[1], "slow") != 0) {
        int way;
        for (k = 1; k < argc; ++k) find_all(argv[k]);
        load_all();
        for (way = 0; way < WAYS; ++way) if (!has_way(way)) printf("bench_json: without %s\n", way_names[way]);
        for (i = 0; i < sample_count; ++i) compare(&samples[i]);
        printf("the tables of all are equal for %u dumps\n", (unsigned)sample_count);
        measure("text to checked table", 0);
        memory();
        measure_first(argv[0]);
        measure("the text alone, nothing kept (peers: their tree)", 1);
    }
    measure_slow();
    if (failed) printf("bench_json: FAILED\n");
    return failed;
}
