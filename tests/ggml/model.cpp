// A GGUF model in stock libllama: greedy text, perplexity, logits, and times beside the CPU backend.
//
//   model BACKEND_FOLDER MODEL.gguf [WORD=VALUE ...]
//
//   device=QNNRT0    all layers run there; none: the CPU backend alone; any: what libllama chooses
//   tokens=80        tokens to write after the prompt, always the likeliest
//   sequences=1      2: a second prompt runs in the same batches, as a sequence of its own
//   unified=1        0: each sequence has cells of its own, as libllama has it by default
//   ctx=128          cells of the cache for each sequence
//   ubatch=128       tokens computed at once
//   cache=f32        type of the cache: f32, f16, q8_0, q4_0
//   flash=0          1: flash attention
//   offload=1        0: the cache stays in the CPU's memory
//   logits=FILE      write all logits that were computed, as f32
//   rounds=0         N: decode N tokens more, in turn with a second context on the CPU backend, and print ratios of times
//
// It prints lines of a word and values; anonymous is the KiB of memory, without that of mapped files, after all tokens. Exit status: 0; 3 if the model or the context is refused; 4 if a decode fails.
// One thread computes: the CPU backend's threads spin while they wait.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "llama.h"

namespace {

const char *const prompts[2] = {"In the beginning God created the heaven and ", "And the LORD said unto Moses, "};

std::map<std::string, std::string> options = {
    {"device", "QNNRT0"}, {"tokens", "80"}, {"sequences", "1"}, {"unified", "1"}, {"ctx", "128"}, {"ubatch", "128"}, {"cache", "f32"},
    {"flash", "0"},       {"offload", "1"}, {"logits", ""},     {"rounds", "0"}};

int number(const char *name) { return std::atoi(options.at(name).c_str()); }

// A model with a context, and the tokens of each sequence so far.
struct engine {
    llama_model *model = nullptr;
    llama_context *context = nullptr;
    int vocabulary = 0;
    std::vector<std::vector<llama_token>> tokens;
    std::vector<std::vector<float>> last;            // logits after the last token of each sequence
    std::ofstream *logits = nullptr;
};

bool open(engine &one, const char *path, const std::string &device)
{
    const std::map<std::string, ggml_type> types = {
        {"f32", GGML_TYPE_F32}, {"f16", GGML_TYPE_F16}, {"q8_0", GGML_TYPE_Q8_0}, {"q4_0", GGML_TYPE_Q4_0}};
    ggml_backend_dev_t devices[2] = {nullptr, nullptr};
    if (device != "none" && device != "any") {
        devices[0] = ggml_backend_dev_by_name(device.c_str());
        if (!devices[0]) {
            std::printf("refused no device %s\n", device.c_str());
            return false;
        }
    }
    llama_model_params model = llama_model_default_params();
    model.devices = device == "any" ? nullptr : devices;
    model.n_gpu_layers = device == "none" ? 0 : 99;
    one.model = llama_model_load_from_file(path, model);
    if (!one.model) {
        std::printf("refused model\n");
        return false;
    }
    uint32_t sequences = static_cast<uint32_t>(number("sequences"));
    llama_context_params context = llama_context_default_params();
    context.n_ctx = static_cast<uint32_t>(number("ctx")) * sequences;
    context.n_batch = context.n_ctx;
    context.n_ubatch = static_cast<uint32_t>(number("ubatch"));
    context.n_seq_max = sequences;
    context.kv_unified = number("unified") != 0;
    context.n_threads = context.n_threads_batch = 1;
    context.flash_attn_type = number("flash") ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    context.type_k = context.type_v = types.at(options.at("cache"));
    context.offload_kqv = number("offload") != 0;
    one.context = llama_init_from_model(one.model, context);
    if (!one.context) {
        std::printf("refused context\n");
        return false;
    }
    one.vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(one.model));
    one.tokens.resize(sequences);
    one.last.resize(sequences);
    return true;
}

void close(engine &one)
{
    if (one.context)
        llama_free(one.context);
    if (one.model)
        llama_model_free(one.model);
}

// Append tokens to each sequence in one batch, and keep all their logits in the file. Return nats of the tokens after the first.
bool decode(engine &one, const std::vector<std::vector<llama_token>> &added, double &nats, int &counted)
{
    size_t total = 0;
    for (const auto &list : added)
        total += list.size();
    llama_batch batch = llama_batch_init(static_cast<int32_t>(total), 0, 1);
    for (size_t sequence = 0; sequence < added.size(); ++sequence)
        for (size_t i = 0; i < added[sequence].size(); ++i) {
            int32_t at = batch.n_tokens++;
            batch.token[at] = added[sequence][i];
            batch.pos[at] = static_cast<llama_pos>(one.tokens[sequence].size() + i);
            batch.n_seq_id[at] = 1;
            batch.seq_id[at][0] = static_cast<llama_seq_id>(sequence);
            batch.logits[at] = 1;
        }
    int status = llama_decode(one.context, batch);
    llama_batch_free(batch);
    if (status != 0) {
        std::printf("decode %d\n", status);
        return false;
    }
    int32_t at = 0;
    for (size_t sequence = 0; sequence < added.size(); ++sequence)
        for (size_t i = 0; i < added[sequence].size(); ++i, ++at) {
            const float *values = llama_get_logits_ith(one.context, at);
            if (one.logits)
                one.logits->write(reinterpret_cast<const char *>(values),
                                  static_cast<std::streamsize>(sizeof(float)) * one.vocabulary);
            if (i + 1 < added[sequence].size()) {
                double sum = 0, right = values[added[sequence][i + 1]];
                for (int k = 0; k < one.vocabulary; ++k)
                    sum += std::exp(static_cast<double>(values[k]) - right);
                nats += std::log(sum);
                ++counted;
            } else {
                one.last[sequence].assign(values, values + one.vocabulary);
            }
            one.tokens[sequence].push_back(added[sequence][i]);
        }
    return true;
}

std::vector<llama_token> tokenize(const engine &one, const std::string &text)
{
    std::vector<llama_token> out(text.size() + 8);
    int count = llama_tokenize(llama_model_get_vocab(one.model), text.c_str(), static_cast<int32_t>(text.size()), out.data(),
                               static_cast<int32_t>(out.size()), false, false);
    out.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return out;
}

std::vector<std::vector<llama_token>> likeliest(const engine &one)
{
    std::vector<std::vector<llama_token>> out;
    for (const auto &values : one.last)
        out.push_back({static_cast<llama_token>(std::max_element(values.begin(), values.end()) - values.begin())});
    return out;
}

double now()
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Decode single tokens in turn on both, and print the least and the median ratio of their times.
bool compare_times(engine &one, engine &cpu, int rounds)
{
    double nats = 0;
    int counted = 0;
    std::vector<double> ratios, ours, theirs;
    for (int i = 0; i < rounds; ++i) {
        double start = now();
        if (!decode(one, likeliest(one), nats, counted))
            return false;
        double middle = now();
        if (!decode(cpu, likeliest(cpu), nats, counted))
            return false;
        ours.push_back(middle - start);
        theirs.push_back(now() - middle);
        ratios.push_back(ours.back() / theirs.back());
    }
    for (auto *list : {&ratios, &ours, &theirs})
        std::sort(list->begin(), list->end());
    size_t half = static_cast<size_t>(rounds) / 2;
    std::printf("ratio %.3f %.3f\nmilliseconds %.4f %.4f\n", ratios[0], ratios[half], ours[half], theirs[half]);
    return true;
}

int run(engine &one, const char *path)
{
    if (!open(one, path, options.at("device")))
        return 3;
    std::vector<std::vector<llama_token>> first;
    for (size_t i = 0; i < one.tokens.size(); ++i)
        first.push_back(tokenize(one, prompts[i]));
    double nats = 0;
    int counted = 0;
    if (!decode(one, first, nats, counted))
        return 4;
    std::printf("perplexity %.9f\n", std::exp(nats / counted));
    for (int i = 0; i < number("tokens"); ++i)
        if (!decode(one, likeliest(one), nats, counted))
            return 4;
    for (const auto &list : one.tokens) {
        std::printf("tokens");
        for (llama_token token : list)
            std::printf(" %d", token);
        std::printf("\n");
    }
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("RssAnon:", 0) == 0)
            std::printf("anonymous %d\n", std::atoi(line.c_str() + 8));
    if (number("rounds") > 0) {
        engine cpu;
        bool good = open(cpu, path, "none") && decode(cpu, first, nats, counted) && compare_times(one, cpu, number("rounds"));
        close(cpu);
        if (!good)
            return 4;
    }
    return 0;
}

}  // namespace

int main(int count, char **words)
{
    for (int i = 3; i < count; ++i) {
        std::string word = words[i];
        size_t at = word.find('=');
        if (at == std::string::npos || !options.count(word.substr(0, at))) {
            std::fprintf(stderr, "model: %s is not an option\n", words[i]);
            return 2;
        }
        options[word.substr(0, at)] = word.substr(at + 1);
    }
    if (count < 3) {
        std::fprintf(stderr, "usage: model BACKEND_FOLDER MODEL.gguf [WORD=VALUE ...]\n");
        return 2;
    }
    llama_log_set([](ggml_log_level level, const char *text, void *) {
        if (level >= GGML_LOG_LEVEL_WARN)
            std::fputs(text, stderr);
    }, nullptr);
    ggml_backend_load_all_from_path(words[1]);
    engine one;
    std::ofstream logits;
    if (!options.at("logits").empty()) {
        logits.open(options.at("logits"), std::ios::binary);
        one.logits = &logits;
    }
    int status = run(one, words[2]);
    close(one);
    return status;
}
