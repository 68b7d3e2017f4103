/* host_llm.h - the language model of tests/data/llm, with its table of embeddings in the graphs, or on the host

   host_llm_make() builds the model on a backend, as w8a16, with the table or without it; host_llm_shards() opens
   a folder of shards, of which the first is the table. made[] are pipelines: a host step that looks rows up in
   the table of model.safetensors, then the graphs without the table.

       HOST_LLM_IN_GRAPH    the table is in the graphs
       HOST_LLM_CODES       the host step writes codes, as the graph reads them
       HOST_LLM_FLOATS      the host step writes float32; a conversion makes codes
       HOST_LLM_HALF        the same, with a table of float16 */
#ifndef HOST_LLM_H
#define HOST_LLM_H

#include "qnnrt_llm.h"
#include "qnnrt_convert.h"
#include "test.h"
#include "converted.h"

static void stop(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
    abort();
}

static void stop_error(const qnnrt_error *err)
{
    stop(err->text);
}

#include "examples/llm_graphs.h"
#include "examples/llm/executorch.h"

enum { HOST_LLM_PREFILL = 32, HOST_LLM_GRAPHS = 2, HOST_LLM_SHARDS = 8 };

typedef enum host_llm_kind { HOST_LLM_IN_GRAPH, HOST_LLM_CODES, HOST_LLM_FLOATS, HOST_LLM_HALF } host_llm_kind;

typedef struct host_llm {
    qnnrt          *model;
    qnnrt_conversions *conversions[HOST_LLM_GRAPHS];
    qnnrt_pipeline *made[HOST_LLM_GRAPHS];      /* NULL: the table is in the graphs */
    qnnrt_llm      *llm;
    llm_model       is;
    float          *table;                      /* [vocabulary, width] */
    uint16_t       *half;                       /* the table as float16, or NULL */
    size_t          replaced;                   /* steps of the model's pipelines that are left out */
} host_llm;

static uint32_t host_llm_rows;                  /* of the table, 0: all */

/* Make a pipeline of the look-up and the steps of pipeline `g` of the model. */
static inline void host_llm_pipeline(host_llm *h, host_llm_kind kind, int g)
{
    const qnnrt_llm_graph *is = &h->is.is;
    const qnnrt_pipeline_info *graphs = qnnrt_pipeline_get_info(qnnrt_get_info(h->model)->pipelines[g]);
    const uint32_t table_dims[2] = { host_llm_rows != 0 ? host_llm_rows : is->vocabulary, is->width };
    const char *const hidden = "_model_embed_tokens_Gather_output_0";
    qnnrt_tensor_info in[2], out;
    qnnrt_host_step host;
    qnnrt_step_desc steps[HOST_LLM_SHARDS];
    qnnrt_conversion wish;
    qnnrt_edge_desc edge;
    qnnrt_use_desc constant;
    qnnrt_pipeline_desc desc;
    qnnrt_error err;
    const qnnrt_step_info *kept = &graphs->steps[h->replaced];
    const size_t count = graphs->step_count - h->replaced;
    size_t i;
    memset(in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    memset(&host, 0, sizeof host);
    memset(steps, 0, sizeof steps);
    memset(&edge, 0, sizeof edge);
    memset(&constant, 0, sizeof constant);
    memset(&desc, 0, sizeof desc);
    for (i = 0; strcmp(kept->graph->inputs[i].name, hidden) != 0; ++i) {}
    out = kept->graph->inputs[i];
    if (kind != HOST_LLM_CODES) {
        out.dtype = QNNRT_DTYPE_F32;
        memset(&out.quant, 0, sizeof out.quant);
    }
    in[0].name = "input_ids";
    in[0].dtype = QNNRT_DTYPE_I32;
    in[0].rank = 2;
    in[0].dims = out.dims;                      /* [1, tokens] of [1, tokens, width] */
    in[1].name = "table";
    in[1].dtype = kind == HOST_LLM_HALF ? QNNRT_DTYPE_F16 : QNNRT_DTYPE_F32;
    in[1].rank = 2;
    in[1].dims = table_dims;
    host.name = "embedding";
    host.inputs = in;
    host.input_count = 2;
    host.outputs = &out;
    host.output_count = 1;
    host.exec = qnnrt_llm_embedding;
    steps[0].host = &host;
    for (i = 0; i < count; ++i) {
        steps[i + 1].model = h->model;
        steps[i + 1].context = kept[i].context;
        steps[i + 1].graph = kept[i].graph->name;
    }
    edge.from = edge.to = hidden;
    edge.to_step = 1;
    memset(&wish, 0, sizeof wish);
    wish.how = kind == HOST_LLM_CODES ? QNNRT_CONVERT_NONE : QNNRT_CONVERT_VALUES;
    constant.tensor = "table";
    constant.constant = h->half;
    constant.constant_bytes = (size_t)is->vocabulary * is->width * (kind == HOST_LLM_HALF ? 2 : 4);
    if (kind != HOST_LLM_HALF)
        constant.constant = h->table;
    desc.name = graphs->name;
    desc.steps = steps;
    desc.step_count = count + 1;
    desc.edges = &edge;
    desc.edge_count = 1;
    desc.uses = &constant;
    desc.use_count = 1;
    if (converted_make(&desc, &wish, NULL, &h->conversions[g], &h->made[g], &err) != QNNRT_OK) stop(err.text);
}

/* Make the table of float16. */
static inline void host_llm_half(host_llm *h)
{
    const qnnrt_llm_graph *is = &h->is.is;
    const uint32_t dims[2] = { is->vocabulary, is->width };
    qnnrt_tensor_info all;
    memset(&all, 0, sizeof all);
    all.name = "table";
    all.dtype = QNNRT_DTYPE_F16;
    all.rank = 2;
    all.dims = dims;
    all.count = (uint64_t)is->vocabulary * is->width;
    all.bytes = all.count * 2;
    h->half = (uint16_t *)room((size_t)all.count, sizeof *h->half);
    if (qnnrt_encode_f32(&all, h->table, h->half) != QNNRT_OK) stop("the table cannot be converted");
}

/* Read the model of a folder such as tests/data/llm/model. */
static inline void host_llm_read(host_llm *h, const char *folder)
{
    char path[1024];
    memset(h, 0, sizeof *h);
    snprintf(path, sizeof path, "%.900s/ranges.json", folder);
    llm_open(folder, path, &h->is);
    h->table = llm_table(&h->is);
}

/* Build the model in shards, each a context with a graph for `prefill` tokens and one for one token. embedded: the
   first has no table. executorch: with the names of that family */
static inline void host_llm_build(host_llm *h, qnnrt_backend *backend, uint32_t shards, uint32_t prefill, int embedded,
                                  int executorch)
{
    llm_made made[HOST_LLM_SHARDS];
    qnnrt_builder *builder;
    qnnrt_error err;
    uint32_t i;
    if (qnnrt_builder_create(backend, NULL, &builder, &err) != QNNRT_OK) stop(err.text);
    for (i = 0; i < shards; ++i) {
        llm_part part;
        memset(&part, 0, sizeof part);
        part.graph.part = i;
        part.graph.parts = shards;
        part.graph.embedded = embedded;
        part.tokens[0] = prefill;
        part.tokens[1] = 1;
        strcpy(part.names[0], "prefill");
        strcpy(part.names[1], "decode");
        if (executorch) part.edit = to_executorch;
        llm_add(&h->is, backend, &part, builder, &made[i]);
    }
    if (qnnrt_builder_finish(builder, &h->model, &err) != QNNRT_OK) stop(err.text);
    for (i = 0; i < shards; ++i) llm_free(&made[i]);
}

/* Open the graphs of h->model as a language model. */
static inline void host_llm_open(host_llm *h, host_llm_kind kind)
{
    qnnrt_llm_desc desc;
    qnnrt_error err;
    int g;
    memset(&desc, 0, sizeof desc);
    if (qnnrt_get_info(h->model)->pipeline_count != HOST_LLM_GRAPHS) stop("expected two pipelines");
    if (kind == HOST_LLM_HALF) host_llm_half(h);
    for (g = 0; g < HOST_LLM_GRAPHS && kind != HOST_LLM_IN_GRAPH; ++g) host_llm_pipeline(h, kind, g);
    if (kind != HOST_LLM_IN_GRAPH) {
        desc.made = (const qnnrt_pipeline *const *)h->made;
        desc.made_count = HOST_LLM_GRAPHS;
    }
    if (qnnrt_llm_open(h->model, &desc, &h->llm, &err) != QNNRT_OK) stop(err.text);
}

static inline void host_llm_make(host_llm *h, qnnrt_backend *backend, const char *folder, host_llm_kind kind)
{
    host_llm_read(h, folder);
    host_llm_build(h, backend, 1, HOST_LLM_PREFILL, kind != HOST_LLM_IN_GRAPH, 0);
    host_llm_open(h, kind);
}

/* Open a folder whose first shard is the table, and replace that; `folder` has the table. */
static inline void host_llm_shards(host_llm *h, qnnrt_backend *backend, const char *folder, const char *shards,
                                   host_llm_kind kind)
{
    qnnrt_desc desc;
    qnnrt_error err;
    memset(&desc, 0, sizeof desc);
    host_llm_read(h, folder);
    h->replaced = 1;
    desc.backend = backend;
    if (qnnrt_open(shards, &desc, &h->model, &err) != QNNRT_OK) stop(err.text);
    host_llm_open(h, kind);
}

static inline void host_llm_close(host_llm *h)
{
    int g;
    if (qnnrt_llm_close(h->llm) != QNNRT_OK) stop("the language model is busy");
    for (g = 0; g < HOST_LLM_GRAPHS; ++g)
        if (qnnrt_pipeline_destroy(h->made[g]) != QNNRT_OK) stop("a pipeline is busy");
    for (g = 0; g < HOST_LLM_GRAPHS; ++g) qnnrt_conversions_free(h->conversions[g]);
    if (qnnrt_close(h->model) != QNNRT_OK) stop("the model is busy");
    free(h->half);
    free(h->table);
    llm_close(&h->is);
}

/* Decode a prompt and let the model continue it, greedily: `count` bytes, then a 0. */
static inline qnnrt_result host_llm_write(qnnrt_llm_cache *cache, const char *prompt, char *text, size_t count)
{
    int32_t tokens[128], next;
    qnnrt_llm_batch batch;
    qnnrt_result result;
    size_t i;
    memset(&batch, 0, sizeof batch);
    for (i = 0; prompt[i] != '\0'; ++i) tokens[i] = (unsigned char)prompt[i];
    batch.tokens = tokens;
    batch.count = i;
    qnnrt_llm_clear(cache);
    for (i = 0; i < count; ++i) {
        result = qnnrt_llm_decode(cache, &batch);
        if (result != QNNRT_OK) return result;
        next = qnnrt_llm_argmax(cache, batch.count - 1);
        text[i] = (char)next;
        batch.tokens = &next;
        batch.count = 1;
    }
    text[count] = '\0';
    return QNNRT_OK;
}

#endif /* HOST_LLM_H */
