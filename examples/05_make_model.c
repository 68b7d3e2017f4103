/* Build a language model in C: read its weights, quantize them, describe its graphs, and save them.

       05_make_model MODEL_DIR OUT_DIR [BACKEND_LIBRARY] [--host_embedding]

   MODEL_DIR holds config.json and model.safetensors of a Llama with Hugging Face's names, and
   ranges.json with the smallest and largest value of each activation (tests/llm/make_ranges.py
   measures them). tests/data/llm/model is such a folder. OUT_DIR must exist. The program writes
   four contexts to it, cut like the exports of models that are too large for one context:

       forward_0.bin   tokens -> hidden_0            the table of embeddings
       forward_1.bin   hidden_0 -> hidden_2          layers 0 and 1, with their keys and values
       forward_2.bin   hidden_2 -> hidden_4          layers 2 and 3
       forward_3.bin   hidden_4 -> logits            the head

   Each context has two graphs over the same weights: prefill_forward takes 32 tokens of a prompt
   at once, kv_forward takes one token. Keys and values of earlier tokens are inputs, those of the
   new tokens are outputs; 06_generate.c copies them from call to call. Activations have 16 bits;
   weights have 8 bits and a scale for each output; keys and values have 8 bits. NPUs of phones run
   these types fast. OUT_DIR/qnnrt.json says for qnnrt-llm what shapes cannot tell: that hidden_0,
   hidden_2 and hidden_4 are the hidden state, and the theta of RoPE.

   With --host_embedding the table of embeddings stays out of the graphs, as large tables have to.
   The folder then has the other three contexts as forward_0.bin to forward_2.bin, the table as
   embeddings.bin, and a program in qnnrt.json: two pipelines, in which a function of the caller,
   "embedding", looks up rows of the mapped table before the first graph. qnnrt-llm brings that
   function, qnnrt_llm_embedding(); other programs name it in
   qnnrt_manifest_open_desc.host_functions.

   Without BACKEND_LIBRARY the program builds for libQnnRef.so, the reference backend, which needs
   nothing from Qualcomm. With libQnnHtp.so the same code builds for the NPU. Link with -lm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#define QNNRT_WEIGHTS_IMPLEMENTATION
#include "qnnrt.h"
#include "tools/qnnrt_builder.h"

static void stop(const char *text)
{
    fprintf(stderr, "05_make_model: %s\n", text);
    exit(1);
}

static void fail(const qnnrt_error *err)
{
    fprintf(stderr, "05_make_model: %s\n", err->text);
    if (err->cause != NULL)
        fprintf(stderr, "likely cause: %s\n", err->cause);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
    exit(1);
}

#include "llm_layers.h"

enum { LAYERS = 4, SHARDS = 4, GRAPHS = 2, PREFILL = 32 };

static const llm_cut cuts[SHARDS] = {   /* first layer, end, with the table, with the head */
    { 0, 0, 1, 0 }, { 0, 2, 0, 0 }, { 2, 4, 0, 0 }, { 4, 4, 0, 1 },
};

static const char *const graphs[GRAPHS] = { "prefill_forward", "kv_forward" };
static const uint32_t    tokens_of[GRAPHS] = { PREFILL, 1 };

/* Describe the shards from `first` on. */
static void build(llm_maker *m, int first)
{
    static const char *const files[SHARDS] = { "forward_0", "forward_1", "forward_2", "forward_3" };
    for (int shard = first; shard < SHARDS; ++shard) {
        /* .weight_sharing would store the weights once for both graphs of an HTP context. Devices
           load such a context, the x86-64 emulator does not. libQnnRef.so always stores equal
           weights once. */
        qnnrt_context_desc context = {0};
        context.name = files[shard - first];
        qnnrt_builder_context(m->builder, &context);
        for (int g = 0; g < GRAPHS; ++g) {
            qnnrt_graph_desc graph = {0};
            graph.name = graphs[g];
            qnnrt_builder_graph(m->builder, &graph);
            m->tokens = tokens_of[g];
            llm_part(m, &cuts[shard]);
        }
    }
}

/* ---- other files of the folder ---- */

/* Open a file of OUT_DIR to write. */
static FILE *create(const char *folder, const char *name)
{
    char path[512], error[640];
    FILE *file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(error, sizeof error, "%s cannot be written", path);
    file = fopen(path, "wb");
    if (file == NULL)
        stop(error);
    printf("saved %s\n", path);
    return file;
}

/* End a file of OUT_DIR. */
static void finish(FILE *file)
{
    int failed = ferror(file);
    if (fclose(file) != 0 || failed)
        stop("OUT_DIR: the disk is full");
}

/* Write the table as it is: float32 [vocabulary, width]. */
static void write_table(const llm_maker *m, const char *folder)
{
    const shape is = shape2(m->is.vocabulary, m->is.width);
    FILE *file = create(folder, "embeddings.bin");
    fwrite(weights_of(m, "model.embed_tokens.weight", is), sizeof(float), count_of(is), file);
    finish(file);
}

/* Write the roles of tensors, which a program does not need, and the theta. */
static void write_roles(const llm_maker *m, const char *folder)
{
    FILE *file = create(folder, "qnnrt.json");
    fprintf(file, "{ \"llm\": { \"roles\": {");
    for (int i = 0; i < SHARDS - 1; ++i)
        fprintf(file, "%s\"hidden_%u\": \"hidden\"", i > 0 ? ", " : " ",
                (unsigned)cuts[i].end);
    fprintf(file, " },\n           \"rope\": { \"theta\": %.17g } } }\n", m->is.theta);
    finish(file);
}

/* Write the program. Graphs and the step on the host are wired by the names of their tensors. */
static void write_program(const llm_maker *m, const char *folder)
{
    const qnnrt_quant hidden = over_hidden(m, 0);
    const unsigned vocabulary = m->is.vocabulary, width = m->is.width;
    FILE *file = create(folder, "qnnrt.json");
    fprintf(file, "{ \"program\": { \"version\": 1, \"backends\": [\"npu\"],\n  \"contexts\": [");
    for (int i = 0; i < SHARDS - 1; ++i)
        fprintf(file, "%s{ \"file\": \"forward_%d.bin\", \"backend\": \"npu\" }",
                i > 0 ? ",\n               " : "", i);
    fprintf(file, "],\n  \"constants\": [{ \"name\": \"embeddings\", \"file\": \"embeddings.bin\","
                  " \"dtype\": \"float32\", \"dims\": [%u, %u] }],\n  \"pipelines\": [", vocabulary,
            width);
    for (int g = 0; g < GRAPHS; ++g) {
        const unsigned tokens = tokens_of[g];
        fprintf(file, "%s{ \"name\": \"%s\",\n    \"steps\": [\n      { \"host\": \"embedding\",\n",
                g > 0 ? ", " : "", graphs[g]);
        fprintf(file, "        \"inputs\": [{ \"name\": \"input_ids\", \"dtype\": \"int32\","
                      " \"dims\": [1, %u] },\n", tokens);
        fprintf(file, "                   { \"name\": \"table\", \"dtype\": \"float32\","
                      " \"dims\": [%u, %u] }],\n", vocabulary, width);
        fprintf(file, "        \"outputs\": [{ \"name\": \"hidden_0\", \"dtype\": \"ufixed16\","
                      " \"dims\": [1, %u, %u], \"scale\": %.9g, \"offset\": %d }] }", tokens, width,
                (double)hidden.scale, (int)hidden.offset);
        for (int i = 0; i < SHARDS - 1; ++i)
            fprintf(file, ",\n      { \"context\": %d, \"graph\": \"%s\" }", i, graphs[g]);
        fprintf(file, "],\n    \"constants\": [{ \"step\": 0, \"input\": \"table\","
                      " \"constant\": \"embeddings\" }] }");
    }
    fprintf(file, "] },\n  \"llm\": { \"rope\": { \"theta\": %.17g } } }\n", m->is.theta);
    finish(file);
}

int main(int argc, char **argv)
{
    qnnrt_backend_desc backend_desc = {0};
    qnnrt_backend *backend;
    qnnrt *model;
    qnnrt_error err;
    llm_weights weights;
    static llm_maker m;
    static llm_ranges ranges;
    char path[512];
    int first = 0;                      /* the first shard that becomes a context */

    if (argc > 3 && strcmp(argv[argc - 1], "--host_embedding") == 0) {
        first = 1;
        --argc;
    }
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: 05_make_model MODEL_DIR OUT_DIR [BACKEND_LIBRARY] "
                        "[--host_embedding]\n");
        return 2;
    }
    llm_read_config(argv[1], &m.is);
    if (m.is.layers != LAYERS || m.is.context <= PREFILL)
        stop("config.json: expected 4 layers and a context of more than 32 tokens");
    snprintf(path, sizeof path, "%s/ranges.json", argv[1]);
    llm_read_ranges(path, &m.is, &ranges);
    llm_read_weights(argv[1], &weights);
    m.weights = &weights;
    m.ranges = &ranges;
    m.names = LLM_HUB_SHORT;

    backend_desc.path = argc > 3 ? argv[3] : "libQnnRef.so";
    if (argc <= 3) {
        printf("no backend was named: using libQnnRef.so, the reference backend\n");
        /* Flush, so that the line comes before an error message, in a pipe too. */
        fflush(stdout);
    }
    if (qnnrt_backend_open(&backend_desc, &backend, &err) != QNNRT_OK)
        fail(&err);
    if (qnnrt_builder_create(backend, NULL, &m.builder, &err) != QNNRT_OK)
        fail(&err);
    build(&m, first);
    if (qnnrt_builder_finish(m.builder, &model, &err) != QNNRT_OK)
        fail(&err);
    printf("built with %s\n", qnnrt_backend_get_info(backend)->path);
    for (int i = 0; i < SHARDS - first; ++i) {
        snprintf(path, sizeof path, "%s/forward_%d.bin", argv[2], i);
        if (qnnrt_save(model, (size_t)i, path, &err) != QNNRT_OK)
            fail(&err);
        printf("saved %s\n", path);
    }
    if (first > 0) {
        write_table(&m, argv[2]);
        write_program(&m, argv[2]);
    } else {
        write_roles(&m, argv[2]);
    }
    qnnrt_close(model);
    qnnrt_backend_close(backend);
    llm_free_weights(&weights);
    return 0;
}
