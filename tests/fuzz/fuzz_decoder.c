/* fuzz_decoder.c - hostile config.json: read it, and make the graphs that it describes

   An input is the text of a config.json, or of a generation_config.json, followed by CONTROL bytes that choose which, the
   graph and failing allocations. Whatever happens, there must be no crash, no leak and no text without an end; a config
   that is read has numbers that fit together, and a graph that is made of it has no findings. */
#include "qnnrt_llm_graph.h"
#define FUZZ_NAME "fuzz_decoder"
#include "fuzz.h"

enum { CONTROL = 6 };

#include "fuzz_model.h"

static void check_model(const qnnrt_llm_graph *m)
{
    uint32_t i;
    MUST(m->architecture != NULL && m->layers > 0 && m->layers <= QNNRT_LLM_GRAPH_LAYERS);
    MUST(m->heads > 0 && m->kv_heads > 0 && m->heads % m->kv_heads == 0 && m->head_dim > 0);
    MUST(m->rotary > 0 && m->rotary <= m->head_dim && m->rotary % 2 == 0);
    MUST(m->width > 0 && m->inner > 0 && m->vocabulary > 0 && m->positions > 0);
    MUST(m->epsilon >= 0 && m->epsilon < 1e30 && m->theta > 0 && m->theta < 1e30);
    MUST(m->eos_count <= QNNRT_LLM_GRAPH_EOS && m->bos >= -1);
    for (i = 0; i < m->eos_count; ++i) MUST(m->eos[i] >= 0);
    for (i = 0; i + 1 < 4; ++i) MUST(qnnrt_llm_graph_first_layer(m, i, 3) <= qnnrt_llm_graph_first_layer(m, i + 1, 3));
}

static int no_write(void *user, const char *text, size_t bytes)
{
    *(size_t *)user += bytes;
    return text != NULL;
}

static void make_graph(const qnnrt_llm_graph *m)
{
    qnnrt_llm_graph_desc desc;
    qnnrt_json_writer writer;
    qnnrt_error err;
    qnnrt_ir *ir = NULL;
    qnnrt_result result;
    size_t bytes = 0;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = hook_alloc;
    desc.hooks.free = hook_free;
    desc.tokens = control[1] % 40;
    desc.context = control[2] < 128 ? control[2] : 0;
    desc.parts = control[3] % 5;
    desc.part = control[4] % 5;
    desc.embedded = control[4] >> 7;
    fresh(&err);
    result = qnnrt_llm_graph_create(m, &desc, &ir, &err);
    good(result, ir, &err);
    if (ir != NULL) {
        result = qnnrt_ir_check(ir, NULL, NULL, NULL);
        MUST(result == QNNRT_OK || result == QNNRT_E_MEMORY);
        MUST(ir->input_count > 0 && ir->output_count > 0);
    }
    qnnrt_ir_free(ir);
    qnnrt_json_write_begin(&writer, no_write, &bytes, 0);
    qnnrt_json_write_object(&writer, 0);
    qnnrt_json_write_key(&writer, "llm");
    qnnrt_llm_graph_settings(m, desc.context != 0 ? desc.context : m->positions, &writer);
    qnnrt_json_write_close(&writer);
    MUST(qnnrt_json_write_end(&writer) && bytes > 0);
}

static void play(const unsigned char *data, size_t size)
{
    static const char base[] = "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_size\": 8,"
        " \"num_attention_heads\": 2, \"num_hidden_layers\": 2, \"intermediate_size\": 16, \"vocab_size\": 11,"
        " \"max_position_embeddings\": 64, \"rms_norm_eps\": 1e-5}";
    qnnrt_llm_graph model;
    qnnrt_result result;
    qnnrt_error err;
    if (size < CONTROL) return;
    chance_begin(data + size - CONTROL, CONTROL);
    size -= CONTROL;
    alloc_count = 0;
    alloc_fail_at = control[5] >= 200 ? control[5] - 199u : 0;
    memset(&model, 0xA5, sizeof(model));
    fresh(&err);
    if (control[0] < 220) {
        result = qnnrt_llm_graph_read((const char *)data, size, &model, &err);
        good(result, result == QNNRT_OK ? &model : NULL, &err);
    } else {
        MUST(qnnrt_llm_graph_read(base, sizeof(base) - 1, &model, &err) == QNNRT_OK);
        result = qnnrt_llm_graph_read_generation((const char *)data, size, &model, &err);
        good(result, result == QNNRT_OK ? &model : NULL, &err);
    }
    if (result == QNNRT_OK) {
        check_model(&model);
        if (model.layers <= 64) make_graph(&model);
    }
    MUST(alloc_live == 0);
    (void)hook_log;
    (void)chance;
}

FUZZ_TARGET
