// Stock libllama as the oracle of gguf_texts.py: tokens of texts, and the likeliest continuation on the CPU.
//
//   text BACKEND_FOLDER MODEL.gguf TOKENS PROMPT ...
//
// For each prompt, which may be empty, it prints a line "prompt ID ..." with its tokens, and a line "text ID ..." with
// those that follow, at most TOKENS of them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ggml-backend.h"
#include "llama.h"

static void show(const char *word, const std::vector<llama_token> &tokens)
{
    std::printf("%s", word);
    for (llama_token token : tokens)
        std::printf(" %d", token);
    std::printf("\n");
}

int main(int count, char **words)
{
    if (count < 5)
        return 2;
    llama_log_set([](ggml_log_level level, const char *text, void *) {
        if (level == GGML_LOG_LEVEL_ERROR)
            std::fputs(text, stderr);
    }, nullptr);
    ggml_backend_load_all_from_path(words[1]);
    llama_model_params wanted = llama_model_default_params();
    wanted.n_gpu_layers = 0;
    llama_model *model = llama_model_load_from_file(words[2], wanted);
    if (!model)
        return 3;
    const llama_vocab *vocab = llama_model_get_vocab(model);
    const int vocabulary = llama_vocab_n_tokens(vocab);
    for (int i = 4; i < count; ++i) {
        std::vector<llama_token> tokens(std::strlen(words[i]) + 8), said;
        int used = llama_tokenize(vocab, words[i], static_cast<int32_t>(std::strlen(words[i])), tokens.data(),
                                  static_cast<int32_t>(tokens.size()), true, true);
        if (used < 0)
            return 4;
        tokens.resize(static_cast<size_t>(used));
        show("prompt", tokens);
        llama_context_params context = llama_context_default_params();
        context.n_ctx = 256;
        context.n_threads = context.n_threads_batch = 1;
        context.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
        context.type_k = context.type_v = GGML_TYPE_F32;
        llama_context *run = llama_init_from_model(model, context);
        std::vector<llama_token> next = tokens;
        for (int n = std::atoi(words[3]); n > 0 && run && !next.empty(); --n) {
            if (llama_decode(run, llama_batch_get_one(next.data(), static_cast<int32_t>(next.size()))) != 0)
                return 5;
            const float *logits = llama_get_logits_ith(run, -1);
            llama_token best = static_cast<llama_token>(std::max_element(logits, logits + vocabulary) - logits);
            said.push_back(best);
            next.assign(1, best);
        }
        show("text", said);
        llama_free(run);
    }
    llama_model_free(model);
}
