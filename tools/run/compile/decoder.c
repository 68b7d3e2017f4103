/* decoder.c - compile language models, from config.json or GGUF

   ROOM     >>decoder */
#include "run/compile/compile.h"

#include <strings.h>

/* =====================================================================================
   DECODER                                                                       >>decoder
   Language models: their graphs are made from config.json or from the metadata of GGUF, one for
   prompts and one for single tokens, in each shard. What qnnrt-llm has to know goes into
   qnnrt.json.
   ===================================================================================== */

static const char decoder_table_file[] = "embeddings.raw";

int decoder_is_gguf(const char *path)
{
    const size_t length = strlen(path);
    return length > 5 && strcasecmp(path + length - 5, ".gguf") == 0 && !cli_is_folder(path);
}

int decoder_is_model(const char *path)
{
    return decoder_is_gguf(path) || (cli_is_folder(path) && !aten_is_graph(path));
}

int decoder_check(const settings *set)
{
    const compile_settings *c = set->compile;
    const int folder = set->files.count > 0 && decoder_is_model(set->files.items[0]);
    const char *given = c->prefill != UINT32_MAX  ? "--prefill"
                        : c->decode != UINT32_MAX ? "--decode"
                        : c->length_count != 0    ? "--context_lengths"
                        : c->embedding != 0       ? "--embedding"
                        : c->outputs != 0         ? "--outputs"
                        : c->lora_rank != 0       ? "--lora"
                                                  : NULL;
    if (!folder && given != NULL)
        return cli_usage("Name the folder of a language model, with its config.json, or its .gguf"
                         " file.",
                         "%s is for language models, and %s is not one", given,
                         set->files.items[0]);
    if (!folder) return STATUS_OK;
    if (set->files.count > 1)
        return cli_usage("Compile them one after the other.",
                         "compile takes one model, got %lu files and folders",
                         (unsigned long)set->files.count);
    given = c->weights.count > 0 ? "--weights"
            : c->names != NULL   ? "--graph_name"
            : c->rope_positions != 0 ? "--rope_positions"
            : c->rope_base > 0   ? "--rope_base"
            : c->rope_plain      ? "--rope_plain"
            : c->kv_rows         ? "--kv_rows"
            : c->eos_count > 0   ? "--eos"
            : c->encodings       ? "--encodings"
                                 : NULL;
    if (given != NULL)
        return cli_usage(c->eos_count > 0 ? "Write it into config.json, as eos_token_id."
                                          : "Leave it out.",
                         "%s is not for folders and .gguf files", given);
    if (c->prefill == 0 && c->decode == 0)
        return cli_usage("Leave one of them out.", "--prefill 0 and --decode 0 leave no graph");
    given = c->verify > 0 || c->verify_nodes > 0 ? "--verify"
            : c->backends != NULL                ? "--backends"
            : c->calibrate.count > 0             ? "--calibrate" : NULL;
    if (c->lora_rank != 0 && given != NULL)
        return cli_usage("Leave it out.", "%s does not know the adapters of --lora", given);
    return aten_agree(set, ((size_t)(c->prefill != 0) + (c->decode != 0)) *
                               (c->length_count > 0 ? c->length_count : 1));
}

/* Read one of the folder's files. Return NULL if it does not exist, or after printing an error. */
static char *decoder_file(aten *a, const char *name, int needed, size_t *bytes)
{
    char *path = cli_text("%s/%s", a->decoder->folder, name);
    char *text = cli_read_file(path, DECODER_TEXT_BYTES, bytes);
    if (text == NULL && (needed || errno != ENOENT))
        fail(a->t, NULL, "Name a folder with config.json and model.safetensors.",
             "cannot read %s: %s", path, strerror(errno));
    if (needed) a->decoder->config = path;
    else free(path);
    return text;
}

/* Report what is wrong with one of the files. Return 0. */
static int decoder_wrong(aten *a, const qnnrt_error *err)
{
    fail(a->t, NULL, cli_hint(err), "%s: %s", a->decoder->folder, cli_told(err));
    return 0;
}

/* Read config.json, and generation_config.json where there is one. Return 0 after printing an
   error. */
static int decoder_files(aten *a)
{
    decoder *d = a->decoder;
    const int failed = a->t->failed;
    qnnrt_error err;
    size_t bytes = 0;
    char *text = decoder_file(a, "config.json", 1, &bytes);
    int good = text != NULL;
    if (good && qnnrt_llm_graph_read(text, bytes, &d->model, &err) != QNNRT_OK)
        good = decoder_wrong(a, &err);
    free(text);
    text = good ? decoder_file(a, "generation_config.json", 0, &bytes) : NULL;
    if (text != NULL &&
        qnnrt_llm_graph_read_generation(text, bytes, &d->model, &err) != QNNRT_OK)
        good = decoder_wrong(a, &err);
    free(text);
    return good && a->t->failed == failed;
}

/* Open the weights. Return 0 after printing an error. */
static int decoder_weights(aten *a)
{
    decoder *d = a->decoder;
    tool *t = a->t;
    qnnrt_error err;
    /* cli_parse() has made room for as many words as the command line has. */
    t->set.compile->weights.items[0] = d->folder;
    t->set.compile->weights.count = 1;
    a->weights = cli_alloc(1, sizeof(*a->weights));
    if (qnnrt_weights_open(d->folder, NULL, &a->weights[0], &err) != QNNRT_OK) {
        fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        return 0;
    }
    a->weights_count = 1;
    return 1;
}

/* Read what the model is and open its weights. Return 0 after printing an error. */
static int decoder_config(aten *a)
{
    decoder *d = a->decoder;
    const compile_settings *c = a->t->set.compile;
    uint64_t begin = cli_now_ns();
    qnnrt_error err;
    if (!d->gguf && !decoder_files(a)) return 0;
    begin = aten_spent(a, ATEN_READ, begin);
    if (!decoder_weights(a)) return 0;
    if (d->gguf) {
        d->config = cli_text("%s", d->folder);
        if (qnnrt_llm_graph_read_gguf(a->weights[0], &d->model, &err) != QNNRT_OK)
            return decoder_wrong(a, &err);
    }
    aten_spent(a, ATEN_WEIGHTS, begin);
    const uint32_t tokens[2] = {c->prefill != UINT32_MAX ? c->prefill : 32,
                                c->decode != UINT32_MAX ? c->decode : 1};
    const uint32_t most = d->model.positions < DECODER_CONTEXT ? d->model.positions
                                                               : DECODER_CONTEXT;
    /* With --backends the graphs are cut as any others. */
    d->shards = c->shards != 0 && a->target.whole ? c->shards : 1;
    for (size_t i = 0; i < (c->length_count > 0 ? c->length_count : 1); ++i) {
        const uint32_t context = c->length_count > 0 ? c->lengths[i] : most;
        if (context > d->context) d->context = context;
        for (int k = 0; k < 2; ++k)
            if (tokens[k] != 0)
                d->shapes[d->shape_count++] = (decoder_shape){tokens[k], context, k == 0};
    }
    return 1;
}

/* Return the dtype of a weight in the checkpoint. */
static qnnrt_dtype decoder_dtype(void *user, const char *key)
{
    const qnnrt_weight *weight = qnnrt_weights_match((const qnnrt_weights *)user, key);
    return weight != NULL ? weight->dtype : QNNRT_DTYPE_F32;
}

/* Return the name of a shape's pipeline. */
static char *decoder_name(const decoder_shape *shape)
{
    return cli_text("%s_ar%u_cl%u", shape->prompt ? "prompt" : "token", (unsigned)shape->tokens,
                    (unsigned)shape->context);
}

/* Make the graph of a shape in a shard. Return 0 after printing an error. */
static int decoder_make(aten *a, uint32_t shard, size_t which)
{
    decoder *d = a->decoder;
    const compile_settings *c = a->t->set.compile;
    aten_graph *g = &a->graphs[a->graph_count++];
    qnnrt_llm_graph_desc desc = {0};
    qnnrt_error err;
    g->file = d->config;
    g->context = shard;
    g->weights = a->weights[0];
    /* With --backends a graph becomes a pipeline, and its parts have names of their own. */
    OWNED char *pipeline = decoder_name(&d->shapes[which]);
    g->default_name = c->backends != NULL ? cli_text("%s", pipeline)
                      : cli_text("%s_%u_of_%u", pipeline, (unsigned)shard + 1, (unsigned)d->shards);
    g->name = g->default_name;
    desc.name = g->name;
    desc.tokens = d->shapes[which].tokens;
    desc.context = d->shapes[which].context;
    desc.outputs = (qnnrt_llm_graph_outputs)c->outputs;
    desc.lora_rank = c->lora_rank;
    desc.lora = c->lora;
    desc.part = shard;
    desc.parts = d->shards;
    desc.embedded = d->table != NULL;
    desc.weight_dtype = decoder_dtype;
    desc.weight_user = a->weights[0];
    if (qnnrt_llm_graph_create(&d->model, &desc, &g->read, &err) != QNNRT_OK)
        return decoder_wrong(a, &err);
    return aten_check_graph(a, g);
}

/* Find the table of embeddings for --embedding host. Blocks become float16. Return 0 after printing
   an error. */
static int decoder_table(aten *a)
{
    decoder *d = a->decoder;
    const char *name = qnnrt_llm_graph_table(&d->model);
    qnnrt_error err;
    d->table = qnnrt_weights_match(a->weights[0], name);
    if (d->table == NULL || d->table->rank != 2 || d->table->dims[0] != d->model.vocabulary ||
        d->table->dims[1] != d->model.width ||
        (d->table->dtype != QNNRT_DTYPE_F32 && d->table->dtype != QNNRT_DTYPE_F16 &&
         d->table->dtype != QNNRT_DTYPE_BF16)) {
        fail(a->t, NULL, d->gguf ? "Convert the model again." :
             "Give the checkpoint that config.json belongs to.",
             "%s: --embedding host needs the weight \"%s\" [%u, %u] in float32, float16,"
             " bfloat16 or blocks of them", d->folder, name, (unsigned)d->model.vocabulary,
             (unsigned)d->model.width);
        return 0;
    }
    if (d->table->block == 0) return 1;
    d->halves = *d->table;
    d->halves.block = 0;
    d->halves.type = "F16";
    d->halves.dtype = QNNRT_DTYPE_F16;
    d->halves.bytes = d->table->count * 2;
    d->halves.data = d->room = cli_alloc((size_t)d->table->count, 2);
    if (qnnrt_weights_convert(d->table, QNNRT_DTYPE_F16, d->room, (size_t)d->halves.bytes, NULL,
                              &err) != QNNRT_OK)
        return decoder_wrong(a, &err);
    d->table = &d->halves;
    return 1;
}

int decoder_read(aten *a)
{
    decoder *d = a->decoder;
    tool *t = a->t;
    uint64_t begin;
    if (!decoder_config(a)) return 0;
    begin = cli_now_ns();
    if (t->set.compile->embedding != 0 && t->set.compile->backends == NULL && !decoder_table(a))
        return 0;
    begin = aten_spent(a, ATEN_WEIGHTS, begin);
    a->graphs = cli_alloc((size_t)d->shards * d->shape_count, sizeof(*a->graphs));
    for (uint32_t shard = 0; shard < d->shards; ++shard)
        for (size_t i = 0; i < d->shape_count; ++i)
            if (!decoder_make(a, shard, i)) return 0;
    aten_spent(a, ATEN_READ, begin);
    say(t, "model     %s: %u layers of width %u, %u heads, %u of them with keys and values,"
           " %u tokens\n", d->model.architecture, (unsigned)d->model.layers,
        (unsigned)d->model.width, (unsigned)d->model.heads, (unsigned)d->model.kv_heads,
        (unsigned)d->model.vocabulary);
    return 1;
}

/* ---- the folder ---- */

/* A pipeline, with all that its description points to. */
typedef struct decoder_pipeline {
    char               *name;
    qnnrt_step_desc    *steps;
    qnnrt_host_step     look_up;
    qnnrt_tensor_info   inputs[2], rows;         /* ids and the table                   */
    uint32_t            id_dims[2], table_dims[2], row_dims[3];
    qnnrt_use_desc      uses[2];                 /* the table, the range of ids         */
} decoder_pipeline;

/* Describe the look-up of rows before the first graph. */
static void decoder_look_up(const decoder *d, const qnnrt_lower_graph_info *graph, size_t which,
                            decoder_pipeline *p, qnnrt_pipeline_desc *out)
{
    p->id_dims[0] = p->row_dims[0] = 1;
    p->id_dims[1] = p->row_dims[1] = d->shapes[which].tokens;
    p->table_dims[0] = d->model.vocabulary;
    p->table_dims[1] = p->row_dims[2] = d->model.width;
    p->inputs[0].name = "input_ids";
    p->inputs[0].dtype = QNNRT_DTYPE_I32;
    p->inputs[0].rank = p->inputs[1].rank = 2;
    p->inputs[0].dims = p->id_dims;
    p->inputs[1].name = "table";
    p->inputs[1].dtype = d->table->dtype;
    p->inputs[1].dims = p->table_dims;
    p->rows.name = QNNRT_LLM_GRAPH_EMBEDDED;
    p->rows.rank = 3;
    p->rows.dims = p->row_dims;
    for (size_t i = 0; i < graph->ir->input_count; ++i)
        if (strcmp(graph->ir->inputs[i]->name, QNNRT_LLM_GRAPH_EMBEDDED) == 0)
            p->rows.dtype = graph->tensors[graph->inputs[i]].dtype;
    p->look_up.name = "embedding";
    p->look_up.inputs = p->inputs;
    p->look_up.input_count = 2;
    p->look_up.outputs = &p->rows;
    p->look_up.output_count = 1;
    p->uses[0].tensor = "table";
    p->uses[0].constant = d->table->data;
    out->use_count = 1;
    p->steps[out->step_count++].host = &p->look_up;
}

/* Describe the pipeline of the graphs of a shape. */
static void decoder_pipeline_of(const aten *a, size_t which, decoder_pipeline *p,
                                qnnrt_pipeline_desc *out)
{
    const decoder *d = a->decoder;
    const qnnrt_lower_info *lowered = program_step_of(a, 0, 0).info;
    p->name = decoder_name(&d->shapes[which]);
    p->steps = cli_alloc(d->shards + 1, sizeof(*p->steps));
    out->name = p->name;
    out->steps = p->steps;
    out->uses = p->uses;
    if (d->table != NULL) decoder_look_up(d, &lowered->graphs[which], which, p, out);
    for (uint32_t shard = 0; shard < d->shards; ++shard) {
        const qnnrt_lower_graph_info *graph = &lowered->graphs[which + shard * d->shape_count];
        for (size_t i = 0; i < graph->ir->input_count; ++i) {
            const qnnrt_lower_tensor *tensor = &graph->tensors[graph->inputs[i]];
            if (!tensor->has_range) continue;    /* input_ids alone */
            qnnrt_use_desc *range = &p->uses[d->table != NULL];
            out->use_count = 1 + (d->table != NULL);
            range->step = out->step_count;
            range->tensor = tensor->name;
            range->has_range = 1;
            range->low = tensor->low;
            range->high = tensor->high;
        }
        p->steps[out->step_count].context = shard;
        p->steps[out->step_count++].graph = graph->name;
    }
}

void decoder_settings(void *user, json *j)
{
    const decoder *d = user;
    qnnrt_json_write_key(j, "llm");
    qnnrt_llm_graph_settings(&d->model, d->context, j);
}

/* Write the table of embeddings beside the binaries. Return 0 after printing an error. */
static int decoder_write_table(const aten *a)
{
    const decoder *d = a->decoder;
    OWNED char *path = cli_text("%s/%s", a->t->set.output_dir, decoder_table_file);
    const int good = write_file(a->t, NULL, path, d->table->data, (size_t)d->table->bytes, 1);
    if (good) say_wrote(a->t, path);
    return good;
}

int decoder_program(const aten *a, qnnrt_manifest_desc *desc, compile_files *out,
                    int (*write)(const aten *a, const qnnrt_manifest_desc *desc,
                                 compile_files *out))
{
    const decoder *d = a->decoder;
    decoder_pipeline parts[DECODER_GRAPHS];
    qnnrt_manifest_pipeline pipelines[DECODER_GRAPHS];
    qnnrt_manifest_constant constant = {0};
    const uint32_t dims[2] = {d->model.vocabulary, d->model.width};
    memset(parts, 0, sizeof(parts));
    memset(pipelines, 0, sizeof(pipelines));
    desc->pipelines = pipelines;
    desc->more = decoder_settings;
    desc->more_user = a->decoder;
    if (d->table != NULL) {
        constant.tensor.name = "embeddings";
        constant.file = decoder_table_file;
        constant.tensor.dtype = d->table->dtype;
        constant.tensor.rank = 2;
        constant.tensor.dims = dims;
        constant.data = d->table->data;
        desc->constants = &constant;
        desc->constant_count = 1;
    }
    for (size_t i = 0; i < d->shape_count; ++i)
        decoder_pipeline_of(a, i, &parts[i], &pipelines[desc->pipeline_count++].desc);
    const int good = (d->table == NULL || decoder_write_table(a)) && write(a, desc, out);
    for (size_t i = 0; i < d->shape_count; ++i) {
        free(parts[i].name);
        free(parts[i].steps);
    }
    return good;
}

void decoder_tokenizer(const aten *a)
{
    const decoder *d = a->decoder;
    if (d != NULL && d->gguf) tokenizer_write(a->t, a->weights[0], d->model.bos);
}

void decoder_free(decoder *d)
{
    if (d == NULL) return;
    free(d->config);
    free(d->room);
}
