/* Build a language model in C: read its weights, quantize them, describe its graphs, and save them.

       05_make_model MODEL_DIR OUT_DIR [BACKEND_LIBRARY]

   MODEL_DIR holds config.json and model.safetensors of a Llama with Hugging Face's names, and
   ranges.json with the smallest and largest value of each activation (tests/make_ranges.py
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
   these types fast.

   Without BACKEND_LIBRARY the program builds for libQnnRef.so, the reference backend, which needs
   nothing from Qualcomm. With libQnnHtp.so the same code builds for the NPU. Link with -lm. */
#include <stdio.h>
#include <stdlib.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_COMPOSE
#include "qnnrt.h"

static void stop(const char *text)
{
    fprintf(stderr, "05_make_model: %s\n", text);
    exit(1);
}

static void fail(const qnnrt_error *err)
{
    fprintf(stderr, "05_make_model: %s\n", err->text);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
    exit(1);
}

#include "llm_layers.h"

enum { LAYERS = 4, SHARDS = 4, PREFILL = 32 };

static const llm_cut cuts[SHARDS] = {   /* first layer, end, with the table, with the head */
    { 0, 0, 1, 0 }, { 0, 2, 0, 0 }, { 2, 4, 0, 0 }, { 4, 4, 0, 1 },
};

static void build(llm_maker *m)
{
    static const char *const files[SHARDS] = { "forward_0", "forward_1", "forward_2", "forward_3" };
    for (int shard = 0; shard < SHARDS; ++shard) {
        /* .weight_sharing would store the weights once for both graphs of an HTP context. Devices
           load such a context, the x86-64 emulator does not. libQnnRef.so always stores equal
           weights once. */
        qnnrt_context_desc context = {0};
        context.name = files[shard];
        qnnrt_builder_context(m->builder, &context);
        for (int g = 0; g < 2; ++g) {
            qnnrt_graph_desc graph = {0};
            graph.name = g == 0 ? "prefill_forward" : "kv_forward";
            qnnrt_builder_graph(m->builder, &graph);
            m->tokens = g == 0 ? PREFILL : 1;
            llm_part(m, &cuts[shard]);
        }
    }
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
    char path[512];

    if (argc < 3) {
        fprintf(stderr, "usage: 05_make_model MODEL_DIR OUT_DIR [BACKEND_LIBRARY]\n");
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
    build(&m);
    if (qnnrt_builder_finish(m.builder, &model, &err) != QNNRT_OK)
        fail(&err);
    printf("built with %s\n", qnnrt_backend_get_info(backend)->path);
    for (int i = 0; i < SHARDS; ++i) {
        snprintf(path, sizeof path, "%s/forward_%d.bin", argv[2], i);
        if (qnnrt_save(model, (size_t)i, path, &err) != QNNRT_OK)
            fail(&err);
        printf("saved %s\n", path);
    }
    qnnrt_close(model);
    qnnrt_backend_close(backend);
    safetensors_free(&weights);
    return 0;
}
