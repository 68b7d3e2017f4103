/* Export a Llama as a folder of context binaries, as the two families of exporters do.

       export MODEL_DIR OUT_DIR [--option VALUE ...]

       --backend_so LIB     whom it is made for (default: libQnnRef.so, the reference backend)
       --shards N           contexts, with equal runs of layers; the table of embeddings is in the
                            first, the head in the last (default 1)
       --naming hub|executorch      (default hub)
       --type f32|w8a16     float32 throughout, or codes: activations of 16 bits, weights and
                            caches of 8 (default w8a16)
       --prefill N          tokens that the prefill graph takes per call (default 32, 0: no graph)
       --decode N           the same for the decode graph (default 1)
       --context N          tokens that are remembered, with the new ones (default: as config.json
                            says)
       --ranges FILE        of w8a16: what activations reach (default: MODEL_DIR/ranges.json)

   MODEL_DIR holds config.json and model.safetensors of a Llama with Hugging Face's names, such as
   tests/data/llm/model, and ranges.json as tests/make_ranges.py writes it. OUT_DIR, which must
   exist, gets forward_0.bin, forward_1.bin, ..., and qnnrt.json with the theta of its positions. Each
   binary has a prefill and a decode graph:

       hub          prompt_ar32_cl128_1_of_2 and token_ar1_cl128_1_of_2; a tensor for the keys of
                    a layer and one for its values; the caller computes cosines and sines
       executorch   prefill_forward and kv_forward; tensors for each head; the caller gives
                    positions, and the first shard has cosines and sines for all

   Link with -lm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_COMPOSE
#include "qnnrt.h"

static void stop(const char *text)
{
    fprintf(stderr, "export: %s\n", text);
    exit(1);
}

#include "../llm_layers.h"

typedef struct options {
    const char *model, *out, *backend, *ranges;
    const char *naming, *type;
    uint32_t    shards, prefill, decode, context;
} options;

static const char forms[] =
    "usage: export MODEL_DIR OUT_DIR [--backend_so LIB] [--shards N] [--naming hub|executorch] "
    "[--type f32|w8a16] [--prefill N] [--decode N] [--context N] [--ranges FILE]\n"
    "  MODEL_DIR has config.json and model.safetensors, OUT_DIR exists\n";

static int usage(const char *what, const char *which)
{
    fprintf(stderr, "export: %s%s\n%s", what, which, forms);
    exit(2);
}

static uint32_t whole(const char *option, const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || n > 1u << 14)
        usage("a number from 0 to 16384 is expected behind ", option);
    return (uint32_t)n;
}

static const char *one_of(const char *option, const char *text, const char *a, const char *b)
{
    char what[96];
    snprintf(what, sizeof what, "%s or %s is expected behind ", a, b);
    if (strcmp(text, a) != 0 && strcmp(text, b) != 0) usage(what, option);
    return text;
}

static void read_options(options *o, int argc, char **argv)
{
    int i;
    o->backend = "libQnnRef.so";
    o->naming = "hub";
    o->type = "w8a16";
    o->shards = 1;
    o->prefill = 32;
    o->decode = 1;
    for (i = 1; i < argc; ++i) {
        const char *option = argv[i], *text;
        if (strncmp(option, "--", 2) != 0) {
            if (o->model == NULL) o->model = option;
            else if (o->out == NULL) o->out = option;
            else usage("what is this: ", option);
            continue;
        }
        if (strcmp(option, "--help") == 0) {
            fputs(forms, stdout);
            exit(0);
        }
        if (i + 1 == argc) usage("nothing stands behind ", option);
        text = argv[++i];
        if (strcmp(option, "--backend_so") == 0) o->backend = text;
        else if (strcmp(option, "--ranges") == 0) o->ranges = text;
        else if (strcmp(option, "--naming") == 0)
            o->naming = one_of(option, text, "hub", "executorch");
        else if (strcmp(option, "--type") == 0) o->type = one_of(option, text, "f32", "w8a16");
        else if (strcmp(option, "--shards") == 0) o->shards = whole(option, text);
        else if (strcmp(option, "--prefill") == 0) o->prefill = whole(option, text);
        else if (strcmp(option, "--decode") == 0) o->decode = whole(option, text);
        else if (strcmp(option, "--context") == 0) o->context = whole(option, text);
        else usage("what is this: ", option);
    }
    if (o->out == NULL) usage("MODEL_DIR and OUT_DIR are missing", "");
}

/* What was read must fit what was asked for. */
static void check_options(options *o, llm_config *is)
{
    const uint32_t most = o->prefill > o->decode ? o->prefill : o->decode;
    char error[256];
    if (o->context == 0) o->context = is->context;
    snprintf(error, sizeof error, "%u tokens are asked for, config.json has a context of %u",
             (unsigned)o->context, (unsigned)is->context);
    if (o->context > is->context) stop(error);
    snprintf(error, sizeof error, "a graph of %u tokens needs a context of more than that, not %u",
             (unsigned)most, (unsigned)o->context);
    if (most == 0) stop("with neither a prefill nor a decode graph there is nothing to make");
    if (most >= o->context) stop(error);
    snprintf(error, sizeof error, "%u layers cannot be cut into %u shards", (unsigned)is->layers,
             (unsigned)o->shards);
    if (o->shards == 0 || o->shards > is->layers) stop(error);
    is->context = o->context;
}

/* Shards 0 to n - 1, each with its graphs. */
static void build(llm_maker *m, const options *o)
{
    const uint32_t n = o->shards, tokens[2] = { o->prefill, o->decode };
    uint32_t i, g;
    for (i = 0; i < n; ++i) {
        qnnrt_context_desc context = {0};
        llm_cut cut = {0};
        char name[64];
        snprintf(name, sizeof name, "forward_%u", (unsigned)i);
        context.name = name;
        qnnrt_builder_context(m->builder, &context);
        cut.first = i * m->is.layers / n;
        cut.end = (i + 1) * m->is.layers / n;
        cut.embedding = i == 0;
        cut.head = i + 1 == n;
        for (g = 0; g < 2; ++g) {
            qnnrt_graph_desc graph = {0};
            if (tokens[g] == 0) continue;
            if (m->names == LLM_EXECUTORCH)
                snprintf(name, sizeof name, "%s_forward", g == 0 ? "prefill" : "kv");
            else
                snprintf(name, sizeof name, "%s_ar%u_cl%u_%u_of_%u", g == 0 ? "prompt" : "token",
                         (unsigned)tokens[g], (unsigned)m->is.context, (unsigned)i + 1,
                         (unsigned)n);
            graph.name = name;
            graph.fp16 = m->ranges == NULL;         /* NPUs compute no float32 */
            qnnrt_builder_graph(m->builder, &graph);
            m->tokens = tokens[g];
            llm_part(m, &cut);
        }
    }
}

/* Of a longer model that lay here, the rest would be taken for more shards. */
static void refuse_more(const options *o)
{
    char path[512], error[640];
    FILE *file;
    snprintf(path, sizeof path, "%s/forward_%u.bin", o->out, (unsigned)o->shards);
    snprintf(error, sizeof error, "%s is there, of another model: remove it first", path);
    if ((file = fopen(path, "rb")) != NULL) stop(error);
}

/* What no tensor tells and runtimes have to know: qnnrt_llm.h looks for it here. */
static void write_settings(const llm_maker *m, const options *o)
{
    char path[512];
    FILE *file;
    int failed;
    snprintf(path, sizeof path, "%s/qnnrt.json", o->out);
    file = fopen(path, "w");
    if (file == NULL) stop("qnnrt.json cannot be made in OUT_DIR");
    fprintf(file, "{ \"llm\": { \"rope\": { \"theta\": %.17g } } }\n", m->is.theta);
    failed = ferror(file);
    if (fclose(file) != 0 || failed) stop("qnnrt.json cannot be written");
}

int main(int argc, char **argv)
{
    qnnrt_backend_desc backend_desc = {0};
    qnnrt_backend *backend;
    qnnrt *model;
    qnnrt_error err;
    safetensors weights;
    static llm_maker m;
    static llm_ranges ranges;
    options o = {0};
    char path[512];
    uint32_t i;

    read_options(&o, argc, argv);
    llm_read_config(o.model, &m.is);
    check_options(&o, &m.is);
    refuse_more(&o);
    m.names = strcmp(o.naming, "hub") == 0 ? LLM_HUB : LLM_EXECUTORCH;
    if (strcmp(o.type, "w8a16") == 0) {
        snprintf(path, sizeof path, "%s/ranges.json", o.model);
        llm_read_ranges(o.ranges != NULL ? o.ranges : path, &m.is, &ranges);
        m.ranges = &ranges;
    }
    llm_read_weights(o.model, &weights);
    m.weights = &weights;

    backend_desc.path = o.backend;
    if (qnnrt_backend_open(&backend_desc, &backend, &err) != QNNRT_OK) {
        fprintf(stderr, "export: %s\n  with this program: --backend_so LIB\n", err.text);
        return 1;
    }
    if (qnnrt_builder_create(backend, NULL, &m.builder, &err) != QNNRT_OK) stop(err.text);
    build(&m, &o);
    if (qnnrt_builder_finish(m.builder, &model, &err) != QNNRT_OK) stop(err.text);
    for (i = 0; i < o.shards; ++i) {
        snprintf(path, sizeof path, "%s/forward_%u.bin", o.out, (unsigned)i);
        if (qnnrt_save(model, i, path, &err) != QNNRT_OK) stop(err.text);
    }
    write_settings(&m, &o);
    printf("%u layers, %s, %s names, %u context binar%s in %s, built with %s\n",
           (unsigned)m.is.layers, o.type, o.naming, (unsigned)o.shards,
           o.shards == 1 ? "y" : "ies", o.out, qnnrt_backend_get_info(backend)->path);
    qnnrt_close(model);
    qnnrt_backend_close(backend);
    safetensors_free(&weights);
    return 0;
}
