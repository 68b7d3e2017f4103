/* Build a language model in C: read its weights, make its graphs, quantize them, and save them.

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
#define QNNRT_IR_IMPLEMENTATION
#define QNNRT_IR_PASSES_IMPLEMENTATION
#define QNNRT_LOWER_IMPLEMENTATION
#define QNNRT_LLM_GRAPH_IMPLEMENTATION
#include "qnnrt.h"
#include "tools/qnnrt_llm_graph.h"
#include "tools/qnnrt_lower.h"

static void stop(const char *text)
{
    fprintf(stderr, "05_make_model: %s\n", text);
    exit(1);
}

static void stop_error(const qnnrt_error *err)
{
    fprintf(stderr, "05_make_model: %s\n", err->text);
    if (err->cause != NULL)
        fprintf(stderr, "likely cause: %s\n", err->cause);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
    exit(1);
}

#include "llm_graphs.h"

enum { LAYERS = 4, SHARDS = 4, PREFILL = 32 };

static const uint32_t layers_end[SHARDS] = { 0, 2, 4, 4 };      /* of each shard */

static const char *const graphs[LLM_GRAPHS] = { "prefill_forward", "kv_forward" };
static const uint32_t    tokens_of[LLM_GRAPHS] = { PREFILL, 1 };

/* Give the hidden state short names: hidden_2 comes out of layer 1. */
static qnnrt_ir *rename_hidden(const llm_model *m, const llm_part *part, qnnrt_ir *ir)
{
    const uint32_t shard = part->graph.part;
    char name[32];
    (void)m;
    if (shard > 0) {
        snprintf(name, sizeof name, "hidden_%u", (unsigned)layers_end[shard - 1]);
        if (!qnnrt_ir_set_name(ir, ir->inputs[0], name))
            stop("out of memory");
    }
    if (shard < SHARDS - 1) {
        snprintf(name, sizeof name, "hidden_%u", (unsigned)layers_end[shard]);
        if (!qnnrt_ir_set_name(ir, ir->outputs[ir->output_count - 1], name))
            stop("out of memory");
    }
    return NULL;                        /* no other graph in its place */
}

/* Build a shard and save it. qnnrt_lower_desc.context.weight_sharing would store the weights once
   for both graphs of an HTP context. Devices load such a context, the x86-64 emulator does not.
   libQnnRef.so always stores equal weights once. Return the encoding of its first input. */
static qnnrt_quant build(const llm_model *m, qnnrt_backend *backend, uint32_t shard,
                         const char *path)
{
    qnnrt_quant quant;
    llm_part part = {0};
    qnnrt *model;
    qnnrt_error err;
    part.graph.parts = SHARDS;
    part.graph.part = shard;
    part.graph.ends_apart = 1;
    part.edit = rename_hidden;
    for (int g = 0; g < LLM_GRAPHS; ++g) {
        part.tokens[g] = tokens_of[g];
        snprintf(part.names[g], sizeof part.names[g], "%s", graphs[g]);
    }
    model = llm_build(m, backend, &part);
    if (qnnrt_save(model, 0, path, &err) != QNNRT_OK)
        stop_error(&err);
    printf("saved %s\n", path);
    quant = qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[0])->steps[0].graph
                ->inputs[0].quant;
    qnnrt_close(model);
    return quant;
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
static void write_table(const llm_model *m, const char *folder)
{
    FILE *file = create(folder, "embeddings.bin");
    float *table = llm_table(m);
    fwrite(table, sizeof *table, (size_t)m->is.vocabulary * m->is.width, file);
    free(table);
    finish(file);
}

/* Write the roles of tensors, which a program does not need, and the theta. */
static void write_roles(const llm_model *m, const char *folder)
{
    FILE *file = create(folder, "qnnrt.json");
    fprintf(file, "{ \"llm\": { \"roles\": {");
    for (int i = 0; i < SHARDS - 1; ++i)
        fprintf(file, "%s\"hidden_%u\": \"hidden\"", i > 0 ? ", " : " ",
                (unsigned)layers_end[i]);
    fprintf(file, " },\n           \"rope\": { \"theta\": %.17g } } }\n", m->is.theta);
    finish(file);
}

/* Write the program. Graphs and the step on the host are wired by the names of their tensors. */
static void write_program(const llm_model *m, const char *folder, qnnrt_quant hidden)
{
    const unsigned vocabulary = m->is.vocabulary, width = m->is.width;
    FILE *file = create(folder, "qnnrt.json");
    fprintf(file, "{ \"program\": { \"version\": 1, \"backends\": [\"npu\"],\n  \"contexts\": [");
    for (int i = 0; i < SHARDS - 1; ++i)
        fprintf(file, "%s{ \"file\": \"forward_%d.bin\", \"backend\": \"npu\" }",
                i > 0 ? ",\n               " : "", i);
    fprintf(file, "],\n  \"constants\": [{ \"name\": \"embeddings\", \"file\": \"embeddings.bin\","
                  " \"dtype\": \"float32\", \"dims\": [%u, %u] }],\n  \"pipelines\": [", vocabulary,
            width);
    for (int g = 0; g < LLM_GRAPHS; ++g) {
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
    qnnrt_error err;
    llm_model m;
    char path[512];
    qnnrt_quant hidden = {0};           /* of the first input */
    uint32_t first = 0, i;              /* the first shard that becomes a context */

    if (argc > 3 && strcmp(argv[argc - 1], "--host_embedding") == 0) {
        first = 1;
        --argc;
    }
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: 05_make_model MODEL_DIR OUT_DIR [BACKEND_LIBRARY] "
                        "[--host_embedding]\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/ranges.json", argv[1]);
    llm_open(argv[1], path, &m);
    if (m.is.layers != LAYERS || m.is.positions <= PREFILL)
        stop("config.json: expected 4 layers and a context of more than 32 tokens");

    backend_desc.path = argc > 3 ? argv[3] : "libQnnRef.so";
    if (argc <= 3) {
        printf("no backend was named: using libQnnRef.so, the reference backend\n");
        /* Flush, so that the line comes before an error message, in a pipe too. */
        fflush(stdout);
    }
    if (qnnrt_backend_open(&backend_desc, &backend, &err) != QNNRT_OK)
        stop_error(&err);
    for (i = first; i < SHARDS; ++i) {
        qnnrt_quant quant;
        snprintf(path, sizeof path, "%s/forward_%u.bin", argv[2], (unsigned)(i - first));
        quant = build(&m, backend, i, path);
        if (i == first)
            hidden = quant;
    }
    printf("built with %s\n", qnnrt_backend_get_info(backend)->path);
    if (first > 0) {
        write_table(&m, argv[2]);
        write_program(&m, argv[2], hidden);
    } else {
        write_roles(&m, argv[2]);
    }
    qnnrt_backend_close(backend);
    llm_close(&m);
    return 0;
}
