/* test_decoder.c - qnnrt_llm_graph.h: what it reads in config.json, what it refuses, and the graphs that it makes */
#include "qnnrt_llm_graph.h"
#include "counted.h"
#include "sink.h"
#include "test.h"

/* A config with the members of one model, and more or other ones. */
static const char *decoder_config(const char *architecture, const char *more)
{
    static char text[4096];
    snprintf(text, sizeof text, "{\"architectures\": [\"%s\"], \"num_hidden_layers\": 3, \"hidden_size\": 16, \"num_attention_heads\": 4,"
             " \"num_key_value_heads\": 2, \"head_dim\": 6, \"intermediate_size\": 24, \"vocab_size\": 40,"
             " \"max_position_embeddings\": 64, \"rms_norm_eps\": 1e-5%s%s}", architecture, more[0] != '\0' ? ", " : "", more);
    return text;
}

static qnnrt_result decoder_read(const char *text, qnnrt_llm_graph *out, qnnrt_error *err)
{
    TEST_JUNK(*err);
    return qnnrt_llm_graph_read(text, strlen(text), out, err);
}

TEST(decoder_reads_what_a_config_says)
{
    qnnrt_llm_graph m;
    qnnrt_error err;
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"rope_theta\": 500000.0, \"tie_word_embeddings\": true,"
             " \"attention_bias\": true, \"bos_token_id\": 1, \"eos_token_id\": [2, 3], \"rope_scaling\": {\"rope_type\": \"llama3\","
             " \"factor\": 8.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 32}"),
             &m, &err), QNNRT_OK);
    CHECK_STR(m.architecture, "LlamaForCausalLM");
    CHECK_EQ(m.layers, 3);
    CHECK_EQ(m.width, 16);
    CHECK_EQ(m.heads, 4);
    CHECK_EQ(m.kv_heads, 2);
    CHECK_EQ(m.head_dim, 6);
    CHECK_EQ(m.rotary, 6);
    CHECK_EQ(m.inner, 24);
    CHECK_EQ(m.vocabulary, 40);
    CHECK_EQ(m.positions, 64);
    CHECK(m.epsilon == 1e-5 && m.theta == 500000 && m.factor == 8 && m.low_frequency == 1 && m.high_frequency == 4);
    CHECK_EQ(m.scaling, QNNRT_LLM_GRAPH_LLAMA3);
    CHECK_EQ(m.original_context, 32);
    CHECK(m.tied && m.qkv_bias && m.o_bias && !m.mlp_bias && !m.fused && !m.head_norms && m.window == 0);
    CHECK_EQ(m.bos, 1);
    CHECK_EQ(m.eos_count, 2);
    CHECK_EQ(m.eos[1], 3);
}

TEST(decoder_takes_defaults_of_each_architecture)
{
    qnnrt_llm_graph m;
    qnnrt_error err;
    CHECK_EQ(decoder_read(decoder_config("Qwen2ForCausalLM", "\"sliding_window\": 8"), &m, &err), QNNRT_OK);
    CHECK(m.qkv_bias && !m.o_bias && m.window == 0 && !m.tied);
    CHECK_EQ(decoder_read(decoder_config("Qwen2ForCausalLM", "\"sliding_window\": 8, \"use_sliding_window\": true, "
                                         "\"max_window_layers\": 2"), &m, &err), QNNRT_OK);
    CHECK(m.window == 8 && !m.windowed[1] && m.windowed[2]);
    CHECK_EQ(decoder_read(decoder_config("Qwen3ForCausalLM", "\"head_dim\": null"), &m, &err), QNNRT_OK);
    CHECK(m.head_norms && m.head_dim == 128 && !m.qkv_bias);
    CHECK_EQ(decoder_read(decoder_config("MistralForCausalLM", "\"sliding_window\": 8, \"num_key_value_heads\": null, "
                                         "\"head_dim\": null"), &m, &err), QNNRT_OK);
    CHECK(m.windowed[0] && m.windowed[2] && m.kv_heads == 4 && m.head_dim == 4);
    CHECK_EQ(decoder_read(decoder_config("Phi3ForCausalLM", "\"head_dim\": 8, \"partial_rotary_factor\": 0.75"), &m, &err), QNNRT_OK);
    CHECK(m.fused && m.rotary == 6);
    CHECK_EQ(decoder_read(decoder_config("GemmaForCausalLM", "\"hidden_act\": \"gelu\""), &m, &err), QNNRT_OK);
    CHECK(m.plus_one && m.tied && m.embedding_scale == 4 && m.act == QNNRT_LLM_GRAPH_GELU_TANH && m.score_cap == 0 &&
          !m.four_norms);
    CHECK_EQ(decoder_read(decoder_config("Gemma2ForCausalLM", "\"sliding_window\": 8, \"attn_logit_softcapping\": 50.0, "
                                         "\"final_logit_softcapping\": 30.0, \"query_pre_attn_scalar\": 16"), &m, &err), QNNRT_OK);
    CHECK(m.windowed[0] && !m.windowed[1] && m.windowed[2] && m.score_cap == 50 && m.logit_cap == 30 && m.score_scale == 0.25 && m.four_norms);
    CHECK_EQ(decoder_read(decoder_config("Gemma2ForCausalLM", "\"sliding_window\": 8, \"layer_types\": [\"full_attention\","
                                         " \"sliding_attention\", \"full_attention\"]"), &m, &err), QNNRT_OK);
    CHECK(!m.windowed[0] && m.windowed[1] && !m.windowed[2]);
    /* transformers 5 writes rope_parameters; older checkpoints may lack "architectures". */
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"rope_parameters\": {\"rope_theta\": 777.0, \"rope_type\": \"linear\","
                                         " \"factor\": 2.0}"), &m, &err), QNNRT_OK);
    CHECK(m.theta == 777 && m.scaling == QNNRT_LLM_GRAPH_LINEAR && m.factor == 2);
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"architectures\": null, \"model_type\": \"llama\""), &m, &err), QNNRT_OK);
}

/* As transformers 5.23 does (tests/exports/config_keys.py). */
TEST(decoder_takes_the_keys_that_an_architecture_has)
{
    qnnrt_llm_graph m;
    qnnrt_error err;
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"partial_rotary_factor\": 0.5, \"sliding_window\": 8, "
                                         "\"hidden_activation\": \"gelu\""), &m, &err), QNNRT_OK);
    CHECK(m.rotary == 6 && m.window == 0 && m.act == QNNRT_LLM_GRAPH_SILU);
    CHECK_EQ(decoder_read(decoder_config("MistralForCausalLM", "\"max_position_embeddings\": 64"), &m, &err), QNNRT_OK);
    CHECK(m.window == 4096 && m.windowed[2]);
    CHECK_EQ(decoder_read(decoder_config("MistralForCausalLM", "\"sliding_window\": null"), &m, &err), QNNRT_OK);
    CHECK(m.window == 0);
    CHECK_EQ(decoder_read(decoder_config("Qwen3ForCausalLM", "\"attention_bias\": true, \"mlp_bias\": true"), &m, &err), QNNRT_OK);
    CHECK(m.qkv_bias && m.o_bias && !m.mlp_bias);
    CHECK_EQ(decoder_read(decoder_config("Phi3ForCausalLM", "\"rms_norm_eps\": null"), &m, &err), QNNRT_OK);
    CHECK(m.epsilon == 1e-5);
    CHECK_EQ(decoder_read(decoder_config("Gemma2ForCausalLM", "\"hidden_act\": \"silu\""), &m, &err), QNNRT_OK);
    CHECK(m.act == QNNRT_LLM_GRAPH_GELU_TANH && m.score_cap == 50 && m.logit_cap == 30 && m.window == 4096);
    CHECK_EQ(decoder_read(decoder_config("Gemma2ForCausalLM", "\"attn_logit_softcapping\": null, "
                                         "\"final_logit_softcapping\": null"), &m, &err), QNNRT_OK);
    CHECK(m.score_cap == 0 && m.logit_cap == 0);
    /* Of two places one counts: inner ones before outer ones, rope_scaling before rope_parameters, rope_type before type. */
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"rope_parameters\": {\"rope_theta\": 777, \"rope_type\": \"default\", "
                                         "\"type\": \"linear\"}, \"rope_theta\": 5"), &m, &err), QNNRT_OK);
    CHECK(m.theta == 777 && m.scaling == QNNRT_LLM_GRAPH_PLAIN);
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}, "
                                         "\"rope_parameters\": {\"rope_theta\": 777, \"factor\": 3}, \"rope_theta\": 5"), &m, &err), QNNRT_OK);
    CHECK(m.theta == 5 && m.factor == 2);
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8, "
                                         "\"low_freq_factor\": 1, \"high_freq_factor\": 4}"), &m, &err), QNNRT_OK);
    CHECK_EQ(m.original_context, 64);
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"model_type\": \"mistral\""), &m, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "\"model_type\" is \"mistral\", but the architecture is \"LlamaForCausalLM\"");
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}, "
                                         "\"partial_rotary_factor\": 0.5"), &m, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "\"partial_rotary_factor\" is 0.5 with positions scaled by \"linear\"");
}

/* A config that is refused, with the text that says why. */
typedef struct decoder_wrong {
    const char  *architecture, *more, *text;
    qnnrt_result code;
} decoder_wrong;

TEST(decoder_refuses_by_name)
{
    static const decoder_wrong cases[] = {
        { "MixtralForCausalLM", "", "the architecture is \"MixtralForCausalLM\"; known are LlamaForCausalLM, MistralForCausalLM,"
          " Qwen2ForCausalLM, Qwen3ForCausalLM, Phi3ForCausalLM, GemmaForCausalLM, Gemma2ForCausalLM", QNNRT_E_UNSUPPORTED },
        { "Llama\\u0007\033[1m", "", "the architecture is \"Llama", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4.0}", "scaled by \"yarn\"; known are default, linear and llama3", QNNRT_E_UNSUPPORTED },
        { "Phi3ForCausalLM", "\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 2]}", "scaled by \"longrope\"", QNNRT_E_UNSUPPORTED },
        { "LlamaForCausalLM", "\"rope_scaling\": {\"rope_type\": \"linear\"}", "\"factor\" is missing", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8}", "low_freq_factor", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"rope_scaling\": {\"factor\": 8.0}", "\"rope_type\" is missing", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"rope_scaling\": 3", "\"rope_scaling\": expected an object", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"rope_parameters\": {\"full_attention\": {}}", "each kind of layer", QNNRT_E_UNSUPPORTED },
        { "LlamaForCausalLM", "\"rope_theta\": 0.5", "\"rope_theta\" is 0.5", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"quantization_config\": {\"bits\": 4}", "quantized", QNNRT_E_UNSUPPORTED },
        { "LlamaForCausalLM", "\"hidden_act\": \"relu\"", "activation is \"relu\"", QNNRT_E_UNSUPPORTED },
        { "LlamaForCausalLM", "\"num_hidden_layers\": 100000000000000000000", "\"num_hidden_layers\": expected a whole number from 0 to 1024", QNNRT_E_LIMIT },
        { "LlamaForCausalLM", "\"num_hidden_layers\": 1025", "from 0 to 1024", QNNRT_E_LIMIT },
        { "LlamaForCausalLM", "\"num_hidden_layers\": 1.5", "\"num_hidden_layers\": expected a whole", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"num_hidden_layers\": -1", "\"num_hidden_layers\": expected a whole", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"num_hidden_layers\": \"3\"", "\"num_hidden_layers\": expected a whole", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"num_hidden_layers\": null", "\"num_hidden_layers\" is missing", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"hidden_size\": 0", "\"hidden_size\" is 0", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"hidden_size\": 4294967296", "\"hidden_size\": expected", QNNRT_E_LIMIT },
        { "LlamaForCausalLM", "\"vocab_size\": 99999999", "\"vocab_size\": expected", QNNRT_E_LIMIT },
        { "LlamaForCausalLM", "\"num_key_value_heads\": 3", "multiple of \"num_key_value_heads\", 3", QNNRT_E_MISMATCH },
        { "LlamaForCausalLM", "\"num_key_value_heads\": 0", "multiple of \"num_key_value_heads\", 0", QNNRT_E_MISMATCH },
        { "LlamaForCausalLM", "\"head_dim\": null, \"hidden_size\": 18", "multiple of \"num_attention_heads\", 4", QNNRT_E_MISMATCH },
        { "LlamaForCausalLM", "\"head_dim\": 7", "expected even numbers", QNNRT_E_MISMATCH },
        { "Phi3ForCausalLM", "\"head_dim\": 6, \"partial_rotary_factor\": 0.5", "rotate 3 of the 6", QNNRT_E_MISMATCH },
        { "Phi3ForCausalLM", "\"partial_rotary_factor\": 0", "rotate 0 of the 6", QNNRT_E_MISMATCH },
        { "LlamaForCausalLM", "\"rms_norm_eps\": 0", "\"rms_norm_eps\" is 0", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"attention_bias\": 1", "\"attention_bias\": expected true or false", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"eos_token_id\": 40", "the end token is 40", QNNRT_E_MISMATCH },
        { "LlamaForCausalLM", "\"bos_token_id\": 40", "the begin token is 40", QNNRT_E_MISMATCH },
        { "LlamaForCausalLM", "\"eos_token_id\": \"</s>\"", "\"eos_token_id\": expected a token or a list", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"eos_token_id\": [1, -2]", "\"eos_token_id\": expected a token or a list", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"bos_token_id\": [1, 2]", "one token", QNNRT_E_LIMIT },
        { "LlamaForCausalLM", "\"architectures\": 3", "\"architectures\": expected a list of names", QNNRT_E_FORMAT },
        { "LlamaForCausalLM", "\"architectures\": null", "\"architectures\" is missing", QNNRT_E_FORMAT },
        { "Gemma2ForCausalLM", "\"sliding_window\": 8, \"layer_types\": [\"full_attention\"]", "\"layer_types\" has 1 layers", QNNRT_E_MISMATCH },
        { "Gemma2ForCausalLM", "\"layer_types\": [\"linear_attention\"]", "full_attention and sliding_attention only", QNNRT_E_UNSUPPORTED },
        { "Gemma2ForCausalLM", "\"sliding_window\": null, \"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\"]", "\"sliding_window\" is missing", QNNRT_E_FORMAT },
        { "Qwen2ForCausalLM", "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\"]", "\"sliding_window\" is missing or not used", QNNRT_E_FORMAT },
        { "MistralForCausalLM", "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\"]", "layers of MistralForCausalLM are alike", QNNRT_E_UNSUPPORTED },
        { "Gemma2ForCausalLM", "\"query_pre_attn_scalar\": 0", "\"query_pre_attn_scalar\" is 0", QNNRT_E_FORMAT },
        { "Gemma2ForCausalLM", "\"use_bidirectional_attention\": true", "\"use_bidirectional_attention\" is true", QNNRT_E_UNSUPPORTED },
        { "LlamaForCausalLM", "\"a\": tru", "config.json: byte ", QNNRT_E_FORMAT },
    };
    qnnrt_llm_graph m;
    qnnrt_error err;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        const char *c;
        const qnnrt_result result = decoder_read(decoder_config(cases[i].architecture, cases[i].more), &m, &err);
        if (strncmp(cases[i].architecture, "Llama\\", 6) == 0) {     /* control characters are no JSON */
            CHECK(result != QNNRT_OK);
        } else {
            CHECK_STR(err.text, cases[i].text);
            CHECK_EQ(result, cases[i].code);
        }
        for (c = err.text; *c != '\0'; ++c) CHECK((unsigned char)*c >= 32 && (unsigned char)*c < 127);
        CHECK_EQ(err.code, result);
    }
    CHECK_EQ(decoder_read("[]", &m, &err), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "expected an object");
    CHECK_EQ(decoder_read("", &m, &err), QNNRT_E_FORMAT);
    CHECK_EQ(qnnrt_llm_graph_read(NULL, 0, &m, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_graph_read("{}", 2, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_graph_read("{}", 2, &m, NULL), QNNRT_E_FORMAT);
}

TEST(decoder_config_cut_anywhere_fails_cleanly)
{
    const char *text = decoder_config("Gemma2ForCausalLM", "\"layer_types\": [\"full_attention\"], \"eos_token_id\": [1, 2]");
    const size_t bytes = strlen(text);
    qnnrt_llm_graph m;
    qnnrt_error err;
    for (size_t i = 0; i < bytes; ++i) {
        char *copy = (char *)malloc(i + 1);      /* of its size, for ASan */
        memcpy(copy, text, i);
        CHECK(qnnrt_llm_graph_read(copy, i, &m, &err) != QNNRT_OK);
        free(copy);
    }
}

TEST(decoder_generation_config_replaces_tokens)
{
    qnnrt_llm_graph m;
    qnnrt_error err;
    const char *text = "{\"eos_token_id\": [5, 6], \"temperature\": 0.6}", *wrong = "{\"eos_token_id\": 40}";
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"bos_token_id\": 1, \"eos_token_id\": 2"), &m, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_graph_read_generation(text, strlen(text), &m, &err), QNNRT_OK);
    CHECK(m.bos == 1 && m.eos_count == 2 && m.eos[0] == 5 && m.eos[1] == 6);
    CHECK_EQ(qnnrt_llm_graph_read_generation(wrong, strlen(wrong), &m, &err), QNNRT_E_MISMATCH);
    CHECK_STR(err.text, "generation_config.json: the end token is 40");
    CHECK_EQ(qnnrt_llm_graph_read_generation("{", 1, &m, &err), QNNRT_E_FORMAT);
    CHECK_EQ(qnnrt_llm_graph_read_generation(NULL, 1, &m, &err), QNNRT_E_ARG);
}

/* ---- graphs ---- */

static const char *const decoder_variants[][2] = {
    { "LlamaForCausalLM", "" },
    { "LlamaForCausalLM", "\"attention_bias\": true, \"mlp_bias\": true, \"tie_word_embeddings\": true" },
    { "MistralForCausalLM", "\"sliding_window\": 5" },
    { "Qwen2ForCausalLM", "" },
    { "Qwen2ForCausalLM", "\"sliding_window\": 5, \"use_sliding_window\": true, \"max_window_layers\": 2" },
    { "Qwen3ForCausalLM", "\"attention_bias\": true" },
    { "Phi3ForCausalLM", "\"head_dim\": 8, \"partial_rotary_factor\": 0.75" },
    { "GemmaForCausalLM", "\"num_key_value_heads\": 1" },
    { "Gemma2ForCausalLM", "\"sliding_window\": 5, \"attn_logit_softcapping\": 2.0, \"final_logit_softcapping\": 3.0, \"query_pre_attn_scalar\": 9" },
    { "Gemma2ForCausalLM", "\"attn_logit_softcapping\": null, \"num_key_value_heads\": 4" },
};
enum { DECODER_VARIANTS = sizeof(decoder_variants) / sizeof(decoder_variants[0]) };

static qnnrt_dtype decoder_bf16(void *user, const char *key)
{
    (void)key;
    ++*(int *)user;
    return QNNRT_DTYPE_BF16;
}

/* Write a graph. */
static sink decoder_text(const qnnrt_ir *ir)
{
    qnnrt_json_writer writer;
    qnnrt_error err;
    sink s;
    memset(&s, 0, sizeof(s));
    qnnrt_json_write_begin(&writer, sink_write, &s, 1);
    if (qnnrt_ir_write(ir, &writer, &err) != QNNRT_OK || !qnnrt_json_write_end(&writer)) s.used = 0;
    return s;
}

/* True if what a graph is written as is read as the same graph. Its text goes into a hash. */
static int decoder_is_text(const qnnrt_ir *ir, uint64_t *hash)
{
    qnnrt_error err;
    qnnrt_ir *read = NULL;
    sink first = decoder_text(ir), second;
    size_t i;
    int good = first.used > 0 && qnnrt_ir_read(first.text, first.used, NULL, &read, &err) == QNNRT_OK &&
               qnnrt_ir_check(read, NULL, NULL, &err) == QNNRT_OK && read->value_count == ir->value_count;
    memset(&second, 0, sizeof(second));
    if (good) second = decoder_text(read);
    good = good && first.used == second.used && memcmp(first.text, second.text, first.used) == 0;
    for (i = 0; good && i < ir->node_count; ++i)
        good = ir->nodes[i]->number == read->nodes[i]->number && ir->nodes[i]->outputs[0]->users == read->nodes[i]->outputs[0]->users;
    for (i = 0; i < first.used; ++i) *hash = (*hash ^ (unsigned char)first.text[i]) * UINT64_C(1099511628211);
    free(first.text);
    free(second.text);
    qnnrt_ir_free(read);
    return good;
}

TEST(decoder_graphs_have_no_finding)
{
    /* Of the texts of all graphs below, as they were when graphs were written as texts and read. */
    const uint64_t expected = UINT64_C(0xF55A88E1EF445B0A);
    uint64_t hash = UINT64_C(14695981039346656037);
    qnnrt_llm_graph m;
    qnnrt_error err;
    int asked = 0;
    for (size_t i = 0; i < DECODER_VARIANTS; ++i)
        for (uint32_t parts = 1; parts <= 3; ++parts)
            for (uint32_t k = 0; k < parts * 4; ++k) {
                qnnrt_llm_graph_desc desc;
                const qnnrt_ir_finding *list = NULL;
                qnnrt_ir *ir = NULL;
                size_t count = 0;
                memset(&desc, 0, sizeof(desc));
                CHECK_EQ(decoder_read(decoder_config(decoder_variants[i][0], decoder_variants[i][1]), &m, &err), QNNRT_OK);
                desc.tokens = k / parts % 2 ? 1 : 4;
                desc.context = 12;
                desc.part = k % parts;
                desc.parts = parts;
                desc.embedded = k / parts > 1;
                desc.outputs = (qnnrt_llm_graph_outputs)((i + k) % 3);
                desc.lora_rank = i % 2 == 0 ? 3 : 0;
                desc.lora = parts == 2 ? "o_proj,down_proj" : NULL;
                desc.weight_dtype = parts > 1 ? decoder_bf16 : NULL;
                desc.weight_user = &asked;
                CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_OK);
                if (qnnrt_ir_check(ir, &list, &count, &err) != QNNRT_OK) CHECK_STR(list[0].text, "no finding");
                CHECK_EQ(strcmp(ir->inputs[0]->name, desc.part > 0 ? desc.part + 1 < parts || parts == 2 ? "_model_layers_0_Add_1_Add_output_0"
                                                                                                           : "_model_layers_1_Add_1_Add_output_0"
                                                     : desc.embedded ? QNNRT_LLM_GRAPH_EMBEDDED : "input_ids"), 0);
                CHECK_EQ(strcmp(ir->outputs[ir->output_count - 1]->name,
                        desc.part + 1 == parts ? desc.outputs == QNNRT_LLM_GRAPH_HIDDEN ? "last_hidden_state" : "logits"
                                : desc.part == 0 ? "_model_layers_0_Add_1_Add_output_0" : "_model_layers_1_Add_1_Add_output_0"), 0);
                CHECK(decoder_is_text(ir, &hash));
                qnnrt_ir_free(ir);
            }
    CHECK(asked > 0);
    /* A change of what graphs are, their names included, is deliberate, and changes this number. */
    if (hash != expected) printf("    the hash is 0x%016llX\n", (unsigned long long)hash);
    CHECK(hash == expected);
}

/* The table and the head alone, the layers between them; a scaled table has the name behind its factor. */
TEST(decoder_ends_are_parts_of_their_own)
{
    static const char *const architectures[2] = { "LlamaForCausalLM", "GemmaForCausalLM" };
    static const char *const ends[5] = { "input_ids", QNNRT_LLM_GRAPH_EMBEDDED, "_model_layers_0_Add_1_Add_output_0",
                                         "_model_layers_2_Add_1_Add_output_0", "logits" };
    static const size_t inputs[4] = { 1, 6, 8, 1 };
    qnnrt_llm_graph m;
    qnnrt_llm_graph_desc desc;
    qnnrt_ir *ir;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    desc.context = 12;
    desc.ends_apart = 1;
    for (size_t i = 0; i < 2; ++i) {
        CHECK_EQ(decoder_read(decoder_config(architectures[i], ""), &m, &err), QNNRT_OK);
        desc.parts = 4;
        for (desc.part = 0; desc.part < 4; ++desc.part) {
            CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_OK);
            CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
            CHECK_EQ(ir->input_count, inputs[desc.part]);
            CHECK_EQ(strcmp(ir->inputs[0]->name, ends[desc.part]), 0);
            CHECK_EQ(strcmp(ir->outputs[ir->output_count - 1]->name, ends[desc.part + 1]), 0);
            qnnrt_ir_free(ir);
        }
    }
    desc.part = 0;
    desc.parts = 2;
    CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "ends are apart");
    desc.parts = 6;
    CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "cannot be cut into 6 parts");
    desc.parts = 3;
    desc.embedded = 1;
    CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "no part 0");
}

TEST(decoder_refuses_wrong_parts_and_lengths)
{
    static const struct { uint32_t tokens, context, part, parts; const char *text; } cases[] = {
        { 12, 12, 0, 1, "a graph of 12 tokens needs a context of more than that, got 12" },
        { 65, 0, 0, 1, "needs a context of more" },
        { 1, 65, 0, 1, "a context of 65 is more than \"max_position_embeddings\", 64" },
        { 1, 12, 2, 2, "part 2 of 2 does not exist" },
        { 1, 12, 0, 4, "a model of 3 layers cannot be cut into 4 parts" },
    };
    qnnrt_llm_graph m;
    qnnrt_llm_graph_desc desc;
    qnnrt_ir *ir;
    qnnrt_error err;
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", ""), &m, &err), QNNRT_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        memset(&desc, 0, sizeof(desc));
        desc.tokens = cases[i].tokens;
        desc.context = cases[i].context;
        desc.part = cases[i].part;
        desc.parts = cases[i].parts;
        CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_E_ARG);
        CHECK(ir == NULL);
        CHECK_STR(err.text, cases[i].text);
    }
    memset(&desc, 0, sizeof(desc));
    desc.outputs = (qnnrt_llm_graph_outputs)3;
    CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "outputs");
    desc.outputs = QNNRT_LLM_GRAPH_LOGITS;
    desc.lora_rank = 65537;
    CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "at most 65536");
    desc.lora_rank = 4;
    desc.lora = "q_proj,,v_proj";
    CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "no projection \"\"");
    desc.lora = "q_proj,qkv_proj";
    CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_E_ARG);
    CHECK_STR(err.hint, "q_proj, k_proj");
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = counted_alloc;
    CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_graph_create(NULL, NULL, &ir, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_graph_create(&m, NULL, NULL, &err), QNNRT_E_ARG);
    m.layers = QNNRT_LLM_GRAPH_LAYERS + 1;
    CHECK_EQ(qnnrt_llm_graph_create(&m, NULL, &ir, &err), QNNRT_E_ARG);
    m.layers = 3;
    m.kv_heads = 0;
    CHECK_EQ(qnnrt_llm_graph_create(&m, NULL, &ir, &err), QNNRT_E_ARG);
    /* The largest numbers that are read make tensors that no graph has. */
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"max_position_embeddings\": 16777216, \"intermediate_size\": 1048576"),
                          &m, &err), QNNRT_OK);
    memset(&desc, 0, sizeof(desc));
    desc.tokens = 1u << 23;
    CHECK_EQ(qnnrt_llm_graph_create(&m, &desc, &ir, &err), QNNRT_E_LIMIT);
    CHECK_STR(err.text, "2^40 elements");
}

TEST(decoder_fails_cleanly_without_memory_and_when_writing_fails)
{
    qnnrt_llm_graph m;
    qnnrt_llm_graph_desc desc;
    qnnrt_ir *ir = NULL;
    qnnrt_error err;
    qnnrt_result result = QNNRT_E_MEMORY;
    qnnrt_json_writer writer;
    sink s;
    CHECK_EQ(decoder_read(decoder_config("Gemma2ForCausalLM", ""), &m, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_graph_create(&m, NULL, &ir, &err), QNNRT_OK);
    memset(&s, 0, sizeof(s));
    s.most = 10000;
    qnnrt_json_write_begin(&writer, sink_write, &s, 0);
    CHECK_EQ(qnnrt_ir_write(ir, &writer, &err), QNNRT_E_IO);
    free(s.text);
    qnnrt_ir_free(ir);
    ir = NULL;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    live = 0;
    /* With AddressSanitizer each object of an arena is an allocation: later ones are a choice. */
    for (long n = 0; n < 100000 && result != QNNRT_OK; n += 1 + n / 100) {
        allocations = 0;
        fail_at = n;
        result = qnnrt_llm_graph_create(&m, &desc, &ir, &err);
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && ir == NULL && err.code == result));
        CHECK(result == QNNRT_OK || live == 0);
    }
    CHECK_EQ(result, QNNRT_OK);
    qnnrt_ir_free(ir);
    CHECK_EQ(live, 0);
}

/* ---- settings ---- */

typedef struct decoder_page { char text[2048]; size_t used; } decoder_page;

static int decoder_add(void *user, const char *text, size_t bytes)
{
    decoder_page *page = (decoder_page *)user;
    if (page->used + bytes >= sizeof page->text) return 0;
    memcpy(page->text + page->used, text, bytes);
    page->used += bytes;
    page->text[page->used] = '\0';
    return 1;
}

static const char *decoder_settings(const qnnrt_llm_graph *m, uint32_t context)
{
    static decoder_page page;
    qnnrt_json_writer writer;
    page.used = 0;
    qnnrt_json_write_begin(&writer, decoder_add, &page, 0);
    qnnrt_llm_graph_settings(m, context, &writer);
    return qnnrt_json_write_end(&writer) ? page.text : "";
}

TEST(decoder_settings_are_those_of_the_config)
{
    qnnrt_llm_graph m;
    qnnrt_error err;
    CHECK_EQ(decoder_read(decoder_config("MistralForCausalLM", "\"sliding_window\": 32, \"bos_token_id\": 1, \"eos_token_id\": 2, "
                                         "\"rope_theta\": 1000000.0"), &m, &err), QNNRT_OK);
    CHECK_STR(decoder_settings(&m, 32), "{\"rope\": {\"theta\": 1000000.0, \"pairs\": \"half\"}, \"bos\": 1, \"eos\": [2]}");
    CHECK_STR(decoder_settings(&m, 33), "\"eos\": [2], \"window\": 32}");
    CHECK_EQ(decoder_read(decoder_config("LlamaForCausalLM", "\"bos_token_id\": 2, \"eos_token_id\": [2, 3], \"rope_scaling\": "
             "{\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
             "\"original_max_position_embeddings\": 32}"), &m, &err), QNNRT_OK);
    CHECK_STR(decoder_settings(&m, 64), "{\"rope\": {\"theta\": 10000.0, \"pairs\": \"half\", \"scaling\": \"llama3\", \"factor\": 8.0, \"low_frequency\": 1.0, "
                                        "\"high_frequency\": 4.0, \"original_context\": 32}, \"eos\": [2, 3]}");
    /* theta ^ (-i / 4) of the first 3 of 4 angles are those of 10000 ^ (-i / 3). */
    CHECK_EQ(decoder_read(decoder_config("Phi3ForCausalLM", "\"head_dim\": 8, \"partial_rotary_factor\": 0.75"), &m, &err), QNNRT_OK);
    CHECK_STR(decoder_settings(&m, 64), "{\"rope\": {\"theta\": 215443.469");
}

TEST_MAIN("decoder")
{
    RUN(decoder_reads_what_a_config_says);
    RUN(decoder_takes_defaults_of_each_architecture);
    RUN(decoder_takes_the_keys_that_an_architecture_has);
    RUN(decoder_refuses_by_name);
    RUN(decoder_config_cut_anywhere_fails_cleanly);
    RUN(decoder_generation_config_replaces_tokens);
    RUN(decoder_graphs_have_no_finding);
    RUN(decoder_ends_are_parts_of_their_own);
    RUN(decoder_refuses_wrong_parts_and_lengths);
    RUN(decoder_fails_cleanly_without_memory_and_when_writing_fails);
    RUN(decoder_settings_are_those_of_the_config);
}
