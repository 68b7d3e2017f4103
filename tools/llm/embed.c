/* embed.c - embeddings of texts, and adapters

   ROOMS     >>adapter >>embed */
#include "llm/llm.h"
#include "qnnrt_weights.h"

#include "cli/stages.h"

/* =====================================================================================
   ADAPTER                                                                     >>adapter
   Reads a LoRA as PEFT saves it: adapter_model.safetensors, and adapter_config.json beside it.
   ===================================================================================== */

/* What adapter_config.json says. */
typedef struct adapter_config {
    double rank, alpha;                /* 0: absent */
    int    rooted;                     /* 1: the scale is alpha / sqrt(rank) */
    char   refused[64];                /* a setting that this program does not know how to use */
} adapter_config;

/* Return 1 for a value that turns nothing on: null, false, an empty list or object, "none". */
static int adapter_is_off(qnnrt_json_reader *r, qnnrt_json_type type)
{
    if (type == QNNRT_JSON_NULL || type == QNNRT_JSON_FALSE) return 1;
    if (type == QNNRT_JSON_STRING) return qnnrt_json_is(&r->value, "none");
    if (type != QNNRT_JSON_ARRAY && type != QNNRT_JSON_OBJECT) return 0;
    if (!qnnrt_json_more(r)) return 1;
    qnnrt_json_skip(r);
    qnnrt_json_leave(r);
    return 0;
}

/* Read adapter_config.json. Return 0 after printing an error. */
static int adapter_read_config(tool *t, const char *path, adapter_config *out)
{
    static const char *const others[] = {"alpha_pattern", "rank_pattern", "use_dora", "bias",
                                         "fan_in_fan_out", "modules_to_save", NULL};
    enum { MOST = 1 << 20 };
    qnnrt_json_reader r;
    size_t bytes = 0;
    char *text = cli_read_file(path, MOST, &bytes);
    memset(out, 0, sizeof(*out));
    if (text == NULL)
        return fail(t, "Give the scale with --lora_scale, alpha / rank, or the file beside the"
                       " adapter.", "cannot read %s: %s", path, strerror(errno));
    qnnrt_json_begin(&r, text, bytes, NULL);
    int good = qnnrt_json_value(&r) == QNNRT_JSON_OBJECT;
    while (good && qnnrt_json_more(&r)) {
        const qnnrt_json_text key = r.key;
        const qnnrt_json_type type = qnnrt_json_value(&r);
        if (qnnrt_json_is(&key, "r")) good = qnnrt_json_f64(&r.value, &out->rank);
        else if (qnnrt_json_is(&key, "lora_alpha")) good = qnnrt_json_f64(&r.value, &out->alpha);
        else if (qnnrt_json_is(&key, "use_rslora")) out->rooted = type == QNNRT_JSON_TRUE;
        else {
            size_t i = 0;
            while (others[i] != NULL && !qnnrt_json_is(&key, others[i])) ++i;
            if (others[i] != NULL && !adapter_is_off(&r, type))
                snprintf(out->refused, sizeof(out->refused), "%s", others[i]);
            else if (others[i] == NULL) qnnrt_json_skip(&r);
        }
    }
    good = good && qnnrt_json_end(&r);
    free(text);
    if (!good) return fail(t, NULL, "%s is not the configuration of a LoRA", path);
    if (out->refused[0] != '\0')
        return fail(t, "Merge the adapter into the checkpoint, or train one without this setting.",
                    "%s: \"%s\" is set, which no graph computes", path, out->refused);
    if (!(out->rank >= 1) || !(out->alpha > 0))
        return fail(t, "Give the scale with --lora_scale.", "%s lacks r or lora_alpha", path);
    return 1;
}

/* Return the root of x. */
static double adapter_root(double x)
{
    double root = x > 1 ? x : 1;
    for (int i = 0; i < 64; ++i) root = (root + x / root) / 2;
    return root;
}

/* Describe the matrices of a file. Return 0 after printing an error. */
static int adapter_parts(tool *t, const qnnrt_weights_info *info, qnnrt_llm_matrix *parts)
{
    for (size_t i = 0; i < info->count; ++i) {
        const qnnrt_weight *w = &info->weights[i];
        OWNED char *name = cli_shown(w->name);
        const int flat = w->rank == 2 && w->block == 0 && w->heads == 0 &&
                         w->dims[0] <= UINT32_MAX && w->dims[1] <= UINT32_MAX;
        if (!flat) fail(t, NULL, "%s: \"%s\" is not a matrix of floats", w->file, name);
        if (!flat) return 0;
        parts[i].name = w->name;
        parts[i].dtype = w->dtype;
        parts[i].rows = (uint32_t)w->dims[0];
        parts[i].columns = (uint32_t)w->dims[1];
        parts[i].data = w->data;
    }
    return 1;
}

int adapter_open(tool *t)
{
    const char *path = t->set.lora;
    const int folder = path != NULL && cli_is_folder(path);
    qnnrt_llm_adapter_desc desc = {NULL, 0, 0};
    qnnrt_llm_matrix *parts = NULL;
    qnnrt_weights *weights = NULL;
    adapter_config config;
    qnnrt_error err;
    if (path == NULL) return 1;
    const char *slash = strrchr(path, '/');
    OWNED char *file = cli_text(folder ? "%s/adapter_model.safetensors" : "%s", path);
    OWNED char *beside = folder ? cli_text("%s/adapter_config.json", path)
                                : cli_text("%.*sadapter_config.json",
                                           slash != NULL ? (int)(slash - path) + 1 : 0, path);
    int good = qnnrt_weights_open(file, NULL, &weights, &err) == QNNRT_OK || fail_error(t, &err);
    if (good && t->set.lora_scale == 0) {
        good = adapter_read_config(t, beside, &config);
        if (good) desc.scale = config.alpha / (config.rooted ? adapter_root(config.rank)
                                                             : config.rank);
        if (good && !(desc.scale > 1e-30 && desc.scale < 1e30))
            good = fail(t, "Give the scale with --lora_scale.",
                        "%s: lora_alpha %g over r %g is no scale", beside, config.alpha,
                        config.rank);
    } else desc.scale = t->set.lora_scale;
    if (good && qnnrt_weights_get_info(weights)->count == 0)
        good = fail(t, "Give the file that PEFT saved.", "%s has no weights", file);
    if (good) {
        const qnnrt_weights_info *info = qnnrt_weights_get_info(weights);
        parts = cli_alloc(info->count, sizeof(*parts));
        desc.parts = parts;
        desc.part_count = info->count;
        good = adapter_parts(t, info, parts);
        if (good && (qnnrt_llm_adapter_create(t->llm, &desc, &t->adapter, &err) != QNNRT_OK ||
                     qnnrt_llm_adapter_apply(t->llm, t->adapter, &err) != QNNRT_OK))
            good = fail_error(t, &err);
    }
    free(parts);
    qnnrt_weights_close(weights);
    return good;
}

void adapter_close(tool *t)
{
    qnnrt_error err;
    if (t->adapter == NULL) return;
    if (qnnrt_llm_adapter_applied(t->llm) == t->adapter)
        qnnrt_llm_adapter_apply(t->llm, NULL, &err);
    qnnrt_llm_adapter_destroy(t->adapter);
}

/* =====================================================================================
   EMBED                                                                           >>embed
   Writes a vector for each text, as .npy or as JSON.
   ===================================================================================== */

/* The vectors so far. */
typedef struct embedded {
    float *values;                     /* [count][width] */
    size_t count, room;
} embedded;

/* Compute the vector of a text. Return 0 after printing an error. */
static int embed_text(tool *t, const token_list *text, embedded *e)
{
    const uint32_t width = t->info->width;
    const qnnrt_llm_pool_desc how = {(qnnrt_llm_pooling)t->set.pooling, 0, t->set.normalize};
    qnnrt_llm_batch batch;
    qnnrt_error err;
    if (text->count == 0)
        return fail(t, "Write some text.", "text %lu has no tokens", (unsigned long)e->count + 1);
    if (e->count == e->room) {
        const size_t room = 2 * e->room + 8;
        float *more = cli_alloc(room * width, sizeof(*more));
        if (e->count > 0) memcpy(more, e->values, e->count * width * sizeof(*more));
        free(e->values);
        e->values = more;
        e->room = room;
    }
    unsigned char *wanted = cli_alloc(text->count, 1);
    float *hidden = cli_alloc(text->count * width, sizeof(*hidden));
    memset(wanted, 1, text->count);
    memset(&batch, 0, sizeof(batch));
    batch.tokens = text->items;
    batch.count = text->count;
    batch.wanted = wanted;
    batch.hidden = hidden;
    qnnrt_llm_clear(t->cache);
    const qnnrt_result result = text->count <= qnnrt_llm_cache_get_info(t->cache).at_once
                                    ? qnnrt_llm_eval(t->cache, &batch)
                                    : qnnrt_llm_decode(t->cache, &batch);
    int good = result == QNNRT_OK || fail_error(t, qnnrt_llm_error(t->cache));
    if (good && qnnrt_llm_pool(t->llm, &batch, &how, e->values + e->count * width, &err) !=
                    QNNRT_OK)
        good = fail_error(t, &err);
    e->count += good != 0;
    free(wanted);
    free(hidden);
    return good;
}

/* Compute the vectors of the lines of standard input. Return 0 after printing an error. */
static int embed_lines(tool *t, embedded *e)
{
    char *line = NULL;
    size_t room = 0;
    OWNED token_list text = {NULL, 0, 0};
    int good = 1;
    while (good && !interrupted) {
        ssize_t bytes = getline(&line, &room, stdin);
        if (bytes < 0) break;
        if (bytes > 0 && line[bytes - 1] == '\n') line[--bytes] = '\0';
        text.count = 0;
        if (t->bytes && t->info->bos >= 0) add_token(&text, t->info->bos);
        good = t->bytes ? take_bytes(t, line, (size_t)bytes, &text)
                        : take_numbers(t, line, (size_t)bytes, &text);
        good = good && embed_text(t, &text, e);
    }
    free(line);
    return good;
}

static int embed_put(void *user, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, (FILE *)user) == bytes;
}

/* Write the vectors as JSON. */
static int embed_json(const tool *t, const embedded *e, FILE *file)
{
    qnnrt_json_writer w;
    qnnrt_json_write_begin(&w, embed_put, file, 2);
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_key(&w, "width");
    qnnrt_json_write_u64(&w, t->info->width);
    qnnrt_json_write_key(&w, "pooling");
    qnnrt_json_write_string(&w, pooling_words[t->set.pooling]);
    qnnrt_json_write_key(&w, "normalized");
    qnnrt_json_write_bool(&w, t->set.normalize);
    qnnrt_json_write_key(&w, "embeddings");
    qnnrt_json_write_array(&w, 0);
    for (size_t i = 0; i < e->count; ++i) {
        qnnrt_json_write_array(&w, 1);
        for (uint32_t c = 0; c < t->info->width; ++c)
            qnnrt_json_write_f32(&w, e->values[i * t->info->width + c]);
        qnnrt_json_write_close(&w);
    }
    qnnrt_json_write_close(&w);
    qnnrt_json_write_close(&w);
    return qnnrt_json_write_end(&w) && fputc('\n', file) != EOF;
}

/* Write the vectors as .npy, float32 [count, width]; this machine is little-endian. */
static int embed_npy(const tool *t, const embedded *e, FILE *file)
{
    char head[128];
    const int length = snprintf(head, sizeof(head), "{'descr': '<f4', 'fortran_order': False,"
                                " 'shape': (%lu, %lu), }", (unsigned long)e->count,
                                (unsigned long)t->info->width);
    for (size_t i = (size_t)length; i < 117; ++i) head[i] = ' ';
    head[117] = '\n';
    return fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file) == 10 &&
           fwrite(head, 1, 118, file) == 118 &&
           fwrite(e->values, sizeof(*e->values) * t->info->width, e->count, file) == e->count;
}

void embed(tool *t)
{
    const settings *set = &t->set;
    const char *path = set->embedding;
    const size_t length = strlen(path);
    const int npy = length > 4 && strcmp(path + length - 4, ".npy") == 0;
    OWNED token_list text = {NULL, 0, 0};
    embedded e = {NULL, 0, 0};
    cli_file file;
    int good = set->prompt == NULL && set->prompt_file == NULL && set->tokens_file == NULL
               ? embed_lines(t, &e) : take_prompt(t, &text) && embed_text(t, &text, &e);
    if (good && e.count == 0)
        good = fail(t, "Write a text in each line of standard input.", "there is no text");
    if (good && !interrupted && strcmp(path, "-") == 0) {
        if (!embed_json(t, &e, t->out)) fail(t, NULL, "cannot write to standard output");
    } else if (good && !interrupted) {
        memset(&file, 0, sizeof(file));
        if (open_file(t, &file, path))
            close_file(t, &file, path, npy ? embed_npy(t, &e, file.file)
                                           : embed_json(t, &e, file.file));
    }
    free(e.values);
}
