// Several threads, each with contexts of its own on one model, in stock libllama.
//
//   threads BACKEND_FOLDER MODEL.gguf THREADS CONTEXTS
//
// Each thread opens CONTEXTS contexts, one after another; n_ubatch is 8 in every other thread, so the first part of the
// prompt asks for no logits. It prints the tokens of each context on a line, "failed" where a decode fails.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "ggml-backend.h"
#include "llama.h"

namespace {

std::string write(llama_model *model, uint32_t ubatch)
{
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 128;
    params.n_ubatch = ubatch;
    params.n_threads = params.n_threads_batch = 1;
    llama_context *context = llama_init_from_model(model, params);
    if (!context)
        return " failed";
    const char *prompt = "In the beginning ";
    int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
    std::vector<llama_token> tokens(64);
    int count = llama_tokenize(llama_model_get_vocab(model), prompt, static_cast<int32_t>(std::strlen(prompt)), tokens.data(),
                               64, false, false);
    tokens.resize(count > 0 ? static_cast<size_t>(count) : 0);
    std::string text;
    for (int i = 0; i < 40; ++i) {
        if (llama_decode(context, llama_batch_get_one(tokens.data(), static_cast<int32_t>(tokens.size()))) != 0) {
            text = " failed";
            break;
        }
        const float *logits = llama_get_logits_ith(context, -1);
        tokens.assign(1, static_cast<llama_token>(std::max_element(logits, logits + vocabulary) - logits));
        text += " " + std::to_string(tokens[0]);
    }
    llama_free(context);
    return text;
}

} // namespace

int main(int count, char **words)
{
    if (count != 5) {
        std::fprintf(stderr, "threads BACKEND_FOLDER MODEL.gguf THREADS CONTEXTS\n");
        return 2;
    }
    ggml_backend_load_all_from_path(words[1]);
    llama_model_params params = llama_model_default_params();
    params.n_gpu_layers = 99;
    llama_model *model = llama_model_load_from_file(words[2], params);
    if (!model)
        return 3;
    size_t contexts = static_cast<size_t>(std::atoi(words[4]));
    std::vector<std::vector<std::string>> out(static_cast<size_t>(std::atoi(words[3])));
    std::vector<std::thread> threads;
    for (size_t k = 0; k < out.size(); ++k)
        threads.emplace_back([&out, model, contexts, k] {
            for (size_t i = 0; i < contexts; ++i)
                out[k].push_back(write(model, k % 2 ? 8 : 128));
        });
    for (std::thread &thread : threads)
        thread.join();
    for (const auto &list : out)
        for (const std::string &text : list)
            std::printf("tokens%s\n", text.c_str());
    llama_model_free(model);
    return 0;
}
