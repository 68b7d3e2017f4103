/* test_decoder_gguf.c - tools/qnnrt_llm_graph.h: metadata of GGUF as a model */
#include "qnnrt_llm_graph.h"
#include "test.h"
#include "gguf_file.h"
#include <math.h>

/* Begin the metadata of a model with 8 heads of 64 values. */
static void model(const char *architecture)
{
    static const struct { const char *key; unsigned value; } numbers[] = {
        { "block_count", 3 }, { "embedding_length", 512 }, { "feed_forward_length", 1024 }, { "context_length", 2048 },
        { "attention.head_count", 8 }, { "attention.head_count_kv", 2 },
    };
    char key[80];
    size_t i;
    begin();
    words("general.architecture", architecture);
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        snprintf(key, sizeof key, "%s.%s", architecture, numbers[i].key);
        whole(key, numbers[i].value);
    }
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", architecture);
    real(key, 1e-5f);
}

static uint32_t turned[2];           /* heads of queries and keys whose rows are put in order */

/* Read what was begun, with a table of embeddings of 5 rows. */
static qnnrt_result read_model(qnnrt_llm_graph *out, unsigned factors)
{
    qnnrt_weights *w;
    qnnrt_result result;
    tensor("token_embd.weight", 512, 5, 0, 0);
    tensor("blk.0.attn_q.weight", 512, 512, 2, 10240);
    tensor("blk.2.attn_k.weight", 512, 128, 2, 10240 + 147456);
    if (factors != 0) tensor("rope_freqs.weight", factors, 0, 0, 10240 + 147456 + 36864);
    finish(10240 + 147456 + 36864);
    used += factors * 4;
    put(used);
    w = open_with(NULL);
    if (w == NULL) printf("%s\n", told.text);
    memset(&told, 0xFF, sizeof told);
    result = qnnrt_llm_graph_read_gguf(w, out, &told);
    turned[0] = turned[1] = 99;
    if (result == QNNRT_OK) {
        turned[0] = qnnrt_weights_find(w, "blk.0.attn_q.weight")->heads;
        turned[1] = qnnrt_weights_find(w, "blk.2.attn_k.weight")->heads;
    }
    qnnrt_weights_close(w);
    return result;
}

TEST(gguf_metadata_are_facts_of_a_model)
{
    static const char *const names[] = { "llama", "qwen2", "qwen3" };
    qnnrt_llm_graph m;
    int i;
    for (i = 0; i < 3; ++i) {
        model(names[i]);
        CHECK_EQ(read_model(&m, 0), QNNRT_OK);
        CHECK(m.layers == 3 && m.width == 512 && m.heads == 8 && m.kv_heads == 2 && m.head_dim == 64 && m.inner == 1024);
        CHECK(m.positions == 2048 && m.vocabulary == 5 && m.rotary == 64 && m.gguf == 1 && m.tied == 1);
        CHECK(fabs(m.epsilon - 1e-5) < 1e-12 && m.theta == 10000 && m.scaling == QNNRT_LLM_GRAPH_PLAIN);
        CHECK(m.head_norms == (i == 2) && m.qkv_bias == 0 && m.bos == -1 && m.eos_count == 0);
        CHECK(strcmp(qnnrt_llm_graph_table(&m), "token_embd.weight") == 0);
        CHECK(turned[0] == (i == 0 ? 8u : 0u) && turned[1] == (i == 0 ? 2u : 0u));
    }
    model("llama");
    whole("llama.attention.key_length", 32);
    whole("llama.attention.value_length", 32);
    whole("llama.rope.dimension_count", 16);
    real("llama.rope.freq_base", 500000.0f);
    words("llama.rope.scaling.type", "linear");
    real("llama.rope.scaling.factor", 4.0f);
    words("tokenizer.ggml.model", "gpt2");
    words("tokenizer.ggml.pre", "llama-bpe");
    whole("tokenizer.ggml.bos_token_id", 1);
    whole("tokenizer.ggml.eos_token_id", 2);
    whole("tokenizer.ggml.eot_token_id", 2);
    list("tokenizer.ggml.tokens", QNNRT_WEIGHTS_TEXT, 5);
    text("a");
    text("b");
    text("<end>");
    text("<|im_end|>");
    text("<|im_endx");
    CHECK_EQ(read_model(&m, 0), QNNRT_OK);
    CHECK(m.head_dim == 32 && m.rotary == 16 && m.theta == 500000 && m.scaling == QNNRT_LLM_GRAPH_LINEAR &&
          m.factor == 4);
    CHECK(m.bos == 1 && m.eos_count == 2 && m.eos[0] == 2 && m.eos[1] == 3);
    CHECK_EQ(qnnrt_llm_graph_read_gguf(NULL, &m, &told), QNNRT_E_ARG);
}

TEST(gguf_begin_token_is_used_if_texts_begin_with_it)
{
    static const struct { const char *model, *pre; int says, bos; } cases[] = {
        { "llama", NULL, -1, 1 }, { "llama", NULL, 0, -1 }, { "gpt2", "qwen2", -1, -1 }, { "gpt2", "qwen2", 1, 1 },
        { "gpt2", "llama-bpe", -1, 1 }, { "gpt2", "llama-bpe", 0, -1 },
    };
    qnnrt_llm_graph m;
    size_t i;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        model("llama");
        words("tokenizer.ggml.model", cases[i].model);
        if (cases[i].pre != NULL) words("tokenizer.ggml.pre", cases[i].pre);
        if (cases[i].says >= 0) pair("tokenizer.ggml.add_bos_token", QNNRT_WEIGHTS_BOOL, (uint64_t)cases[i].says, 1);
        whole("tokenizer.ggml.bos_token_id", 1);
        CHECK_EQ(read_model(&m, 0), QNNRT_OK);
        CHECK_EQ(m.bos, cases[i].bos);
    }
}

/* Write the factors that convert_hf_to_gguf.py computes for these settings, after the other data. */
static void put_factors(double factor, double low, double high, double original, double theta)
{
    int i;
    for (i = 0; i < 32; ++i) {
        const double length = 6.283185307179586 * pow(theta, i / 32.0), smooth = (original / length - low) / (high - low);
        const float value = (float)(length < original / high ? 1 : length > original / low ? factor
                                    : 1 / ((1 - smooth) / factor + smooth));
        memcpy(file + used - 128 + 4 * i, &value, 4);
    }
}

TEST(gguf_factors_of_llama_3_are_its_settings)
{
    static const double cases[][5] = { { 8, 1, 4, 8192, 500000 }, { 32, 1, 4, 8192, 500000 }, { 16, 1, 2, 4096, 10000 } };
    qnnrt_llm_graph m;
    size_t i;
    for (i = 0; i <= sizeof cases / sizeof cases[0]; ++i) {
        const double *c = cases[i < 3 ? i : 0];
        qnnrt_weights *w;
        model("llama");
        real("llama.rope.freq_base", (float)c[4]);
        CHECK_EQ(read_model(&m, 32), QNNRT_E_UNSUPPORTED);       /* zeros */
        CHECK_STR(told.text, "\"rope_freqs.weight\" are not those of Llama 3.1");
        put_factors(c[0], c[1], c[2], c[3], c[4]);
        if (i == 3) file[used - 58] ^= 0x20;                    /* one other factor */
        put(used);
        w = open_with(NULL);
        CHECK_EQ(qnnrt_llm_graph_read_gguf(w, &m, &told), i < 3 ? QNNRT_OK : QNNRT_E_UNSUPPORTED);
        qnnrt_weights_close(w);
        if (i == 3) continue;
        CHECK(m.scaling == QNNRT_LLM_GRAPH_LLAMA3 && m.factor == c[0] && m.low_frequency == c[1] &&
              m.high_frequency == c[2]);
        CHECK_EQ(m.original_context, (uint32_t)c[3]);
    }
    model("llama");
    CHECK_EQ(read_model(&m, 16), QNNRT_E_MISMATCH);
    CHECK_STR(told.text, "\"rope_freqs.weight\" has 16 values");
}

TEST(gguf_models_that_graphs_do_not_compute_are_refused)
{
    static const struct { const char *key; unsigned value; qnnrt_result code; const char *says; } cases[] = {
        { "llama.expert_count", 8, QNNRT_E_UNSUPPORTED, "\"llama.expert_count\" is 8, expected 0" },
        { "llama.attention.value_length", 32, QNNRT_E_UNSUPPORTED, "\"llama.attention.value_length\" is 32" },
        { "llama.rope.dimension_count", 128, QNNRT_E_MISMATCH, "\"llama.rope.dimension_count\" is 128" },
        { "llama.attention.causal", 0, QNNRT_E_UNSUPPORTED, "\"llama.attention.causal\" is 0" },
        { "tokenizer.ggml.eos_token_id", 5, QNNRT_E_MISMATCH, "the end token is 5" },
        { "llama.logit_scale", 3, QNNRT_E_UNSUPPORTED, "\"llama.logit_scale\" is 3" },
    };
    qnnrt_llm_graph m;
    size_t i;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        model("llama");
        whole(cases[i].key, cases[i].value);
        CHECK_EQ(read_model(&m, 0), cases[i].code);
        CHECK_STR(told.text, cases[i].says);
    }
    model("llama");
    words("llama.rope.scaling.type", "yarn");
    CHECK_EQ(read_model(&m, 0), QNNRT_E_UNSUPPORTED);
    CHECK_STR(told.text, "positions are scaled by \"yarn\"");
    model("gemma3");
    CHECK_EQ(read_model(&m, 0), QNNRT_E_UNSUPPORTED);
    CHECK_STR(told.text, "the architecture is \"gemma3\"; known are llama, qwen2 and qwen3");
    model("llama");
    words("general.type", "adapter");
    CHECK_EQ(read_model(&m, 0), QNNRT_E_UNSUPPORTED);
    CHECK_STR(told.text, "\"general.type\" is \"adapter\", expected model");
    begin();
    CHECK_EQ(read_model(&m, 0), QNNRT_E_FORMAT);
    CHECK_STR(told.text, "\"general.architecture\" is missing");
    begin();
    words("general.architecture", "llama");
    real("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    CHECK_EQ(read_model(&m, 0), QNNRT_E_FORMAT);
    CHECK_STR(told.text, "\"llama.block_count\" is missing, expected a number above 0");
    model("llama");
    words("llama.vocab_size", "five");
    CHECK_EQ(read_model(&m, 0), QNNRT_E_FORMAT);
    CHECK_STR(told.text, "\"llama.vocab_size\": expected a whole number");
    begin();
    words("general.architecture", "llama");
    whole("llama.block_count", 2000);
    CHECK_EQ(read_model(&m, 0), QNNRT_E_LIMIT);
    CHECK_STR(told.text, "\"llama.block_count\" is 2000, the limit is 1024");
    begin();
    words("general.architecture", "llama");
    list("llama.attention.head_count", QNNRT_WEIGHTS_U32, 2);
    number(4, 4);
    number(5, 4);
    CHECK_EQ(read_model(&m, 0), QNNRT_E_UNSUPPORTED);
    CHECK_STR(told.text, "is not the same for all layers");
    model("llama");
    list("tokenizer.ggml.tokens", QNNRT_WEIGHTS_TEXT, 1);
    text("a");
    CHECK_EQ(read_model(&m, 0), QNNRT_E_MISMATCH);
    CHECK_STR(told.text, "has 1 tokens, \"token_embd.weight\" has 5 rows");
}

TEST_MAIN("decoder_gguf")
{
    RUN(gguf_metadata_are_facts_of_a_model);
    RUN(gguf_begin_token_is_used_if_texts_begin_with_it);
    RUN(gguf_factors_of_llama_3_are_its_settings);
    RUN(gguf_models_that_graphs_do_not_compute_are_refused);
}
