// One attention layer with a pre-allocated KV cache, on the stock scheduler with two backends: QNNRT and CPU.
//
//   sched BACKEND_FOLDER CACHE [TYPE [PREFIX]]
//
// CACHE says where the cache is, and how it is written:
//   device  in QNNRT's buffers, written by SET_ROWS
//   cpu     in the CPU backend's buffers, written by SET_ROWS
//   copy    in QNNRT's buffers; SET_ROWS writes a copy that is pinned to the CPU, CPY writes the copy back
// TYPE is f32 (default), f16, q8_0 or iq2_xxs, which no backend writes. The cache's tensors are PREFIXk_l0 and PREFIXv_l0
// (default: cache_, as in llama.cpp). The environment of ggml-qnnrt decides the rest. Two steps run: the second one reads what the
// first one wrote. It prints the number of splits, and the NMSE of outputs and cache beside the CPU backend alone.
// Exit status: 0; 3 if the cache is not allocated. Stock ggml aborts if a backend cannot write to its own buffer.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"

namespace {

constexpr int64_t width = 128, heads = 4, head = width / heads, cells = 64, tokens = 4;

struct backends {
    ggml_backend_t device = nullptr, cpu = nullptr;
};

// The graph of one step, and what the host writes and reads.
struct layer {
    ggml_context *weights, *cache, *graph;
    ggml_tensor *norm, *w[4], *k, *v;                // w: projections of queries, keys, values and outputs
    ggml_tensor *x, *rows, *positions, *mask, *y;
    std::vector<ggml_tensor *> pinned;               // nodes that must run on the CPU
    ggml_cgraph *nodes;
};

// The same numbers for each name, uniform in -range to range.
std::vector<float> numbers(uint64_t seed, size_t count, float range)
{
    std::vector<float> out(count);
    for (float &value : out) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        value = range * (static_cast<float>(seed >> 40) / static_cast<float>(1 << 23) - 1.0f);
    }
    return out;
}

void write(ggml_tensor *tensor, const void *data) { ggml_backend_tensor_set(tensor, data, 0, ggml_nbytes(tensor)); }

ggml_context *context()
{
    ggml_init_params params = {ggml_tensor_overhead() * 256 + ggml_graph_overhead(), nullptr, true};
    return ggml_init(params);
}

// Allocate weights and cache. Return false, with the reason in stderr, if the cache is refused.
bool allocate(layer &one, const backends &use, bool on_device, bool cache_on_device, ggml_type type,
              const std::string &prefix)
{
    one.weights = context();
    one.cache = context();
    one.norm = ggml_new_tensor_1d(one.weights, GGML_TYPE_F32, width);
    for (ggml_tensor *&w : one.w)
        w = ggml_new_tensor_2d(one.weights, GGML_TYPE_F32, width, width);
    one.k = ggml_set_name(ggml_new_tensor_2d(one.cache, type, width, cells), (prefix + "k_l0").c_str());
    one.v = ggml_set_name(ggml_new_tensor_2d(one.cache, type, width, cells), (prefix + "v_l0").c_str());
    ggml_backend_t place = on_device ? use.device : use.cpu, cache_place = cache_on_device ? use.device : use.cpu;
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(one.weights, place);
    if (!buffer)
        return false;
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    uint64_t seed = 1;
    write(one.norm, numbers(seed++, width, 1.0f).data());
    for (ggml_tensor *w : one.w)
        write(w, numbers(seed++, width * width, 0.15f).data());
    buffer = ggml_backend_alloc_ctx_tensors(one.cache, cache_place);
    if (!buffer)
        return false;
    ggml_backend_buffer_clear(buffer, 0);
    return true;
}

void describe(layer &one, bool copies)
{
    ggml_context *g = one.graph = context();
    one.nodes = ggml_new_graph(g);
    one.x = ggml_new_tensor_2d(g, GGML_TYPE_F32, width, tokens);
    one.rows = ggml_new_tensor_1d(g, GGML_TYPE_I64, tokens);
    one.positions = ggml_new_tensor_1d(g, GGML_TYPE_I32, tokens);
    one.mask = ggml_new_tensor_2d(g, GGML_TYPE_F32, cells, tokens);
    for (ggml_tensor *input : {one.x, one.rows, one.positions, one.mask})
        ggml_set_input(input);

    ggml_tensor *h = ggml_mul(g, ggml_rms_norm(g, one.x, 1e-5f), one.norm);
    ggml_tensor *part[3];
    for (int i = 0; i < 3; ++i)
        part[i] = ggml_reshape_3d(g, ggml_mul_mat(g, one.w[i], h), head, heads, tokens);
    ggml_tensor *q = ggml_rope(g, part[0], one.positions, head, 0);
    ggml_tensor *added[2] = {ggml_reshape_2d(g, ggml_rope(g, part[1], one.positions, head, 0), width, tokens),
                             ggml_reshape_2d(g, part[2], width, tokens)};
    ggml_tensor *cache[2] = {one.k, one.v};
    for (int i = 0; i < 2; ++i) {
        ggml_tensor *target = cache[i];
        if (copies) {
            target = ggml_dup(g, target);
            one.pinned.push_back(target);
        }
        ggml_tensor *written = ggml_set_rows(g, target, added[i], one.rows);
        if (copies) {
            one.pinned.push_back(written);
            cache[i] = written = ggml_cpy(g, written, cache[i]);
        }
        ggml_build_forward_expand(one.nodes, written);
    }
    // Without copies the cache is read through views of itself, as llama.cpp reads it.
    ggml_tensor *k = ggml_permute(g, ggml_reshape_3d(g, cache[0], head, heads, cells), 0, 2, 1, 3);
    ggml_tensor *v = ggml_reshape_3d(g, cache[1], head, heads, cells);
    if (v->type != GGML_TYPE_F32)
        v = ggml_cpy(g, v, ggml_new_tensor_3d(g, GGML_TYPE_F32, head, heads, cells));
    v = ggml_cont(g, ggml_permute(g, v, 1, 2, 0, 3));
    ggml_tensor *scores = ggml_mul_mat(g, k, ggml_permute(g, q, 0, 2, 1, 3));
    scores = ggml_soft_max_ext(g, scores, one.mask, 1.0f / std::sqrt(static_cast<float>(head)), 0.0f);
    ggml_tensor *values = ggml_cont_2d(g, ggml_permute(g, ggml_mul_mat(g, v, scores), 0, 2, 1, 3), width, tokens);
    one.y = ggml_add(g, one.x, ggml_mul_mat(g, one.w[3], values));
    ggml_set_output(one.y);
    ggml_build_forward_expand(one.nodes, one.y);
}

// Compute one step: the tokens go to scattered cells, and see those of earlier steps and themselves.
bool step(layer &one, ggml_backend_sched_t sched, int number, std::vector<float> &out)
{
    std::vector<int64_t> rows(tokens);
    std::vector<int32_t> positions(tokens);
    std::vector<float> mask(cells * tokens, -INFINITY);
    for (int64_t i = 0; i < tokens; ++i) {
        int64_t position = number * tokens + i;
        rows[static_cast<size_t>(i)] = (position * 7 + 3) % cells;
        positions[static_cast<size_t>(i)] = static_cast<int32_t>(position);
        for (int64_t seen = 0; seen <= position; ++seen)
            mask[static_cast<size_t>(i * cells + (seen * 7 + 3) % cells)] = 0.0f;
    }
    write(one.x, numbers(100 + static_cast<uint64_t>(number), width * tokens, 1.0f).data());
    write(one.rows, rows.data());
    write(one.positions, positions.data());
    write(one.mask, mask.data());
    if (ggml_backend_sched_graph_compute(sched, one.nodes) != GGML_STATUS_SUCCESS)
        return false;
    size_t at = out.size();
    out.resize(at + width * tokens);
    ggml_backend_tensor_get(one.y, out.data() + at, 0, ggml_nbytes(one.y));
    return true;
}

void read_cache(ggml_tensor *tensor, std::vector<float> &out)
{
    std::vector<uint8_t> raw(ggml_nbytes(tensor));
    ggml_backend_tensor_get(tensor, raw.data(), 0, raw.size());
    size_t at = out.size(), count = static_cast<size_t>(ggml_nelements(tensor));
    out.resize(at + count);
    if (tensor->type == GGML_TYPE_F32)
        std::memcpy(out.data() + at, raw.data(), raw.size());
    else
        ggml_get_type_traits(tensor->type)->to_float(raw.data(), out.data() + at, ggml_nelements(tensor));
}

double nmse(const std::vector<float> &a, const std::vector<float> &b)
{
    double error = 0, sum = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        error += difference * difference;
        sum += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    }
    return a.size() == b.size() && sum > 0 ? error / sum : INFINITY;
}

// Run two steps on a scheduler with QNNRT and the CPU, or with the CPU alone. Return an exit status.
int run(const backends &use, const std::string &where, ggml_type type, const std::string &prefix,
        std::vector<float> &outputs, std::vector<float> &cache, int &splits)
{
    bool alone = where.empty();
    layer one;
    if (!allocate(one, use, !alone, !alone && where != "cpu", type, prefix)) {
        std::printf("refused\n");
        return 3;
    }
    describe(one, where == "copy");
    ggml_backend_t list[2] = {use.device, use.cpu};
    ggml_backend_sched_t sched = alone ? ggml_backend_sched_new(list + 1, nullptr, 1, 256, false, true)
                                       : ggml_backend_sched_new(list, nullptr, 2, 256, false, true);
    for (ggml_tensor *tensor : one.pinned)
        ggml_backend_sched_set_tensor_backend(sched, tensor, use.cpu);
    if (!ggml_backend_sched_alloc_graph(sched, one.nodes)) {
        std::printf("the graph is not allocated\n");
        return 1;
    }
    splits = ggml_backend_sched_get_n_splits(sched);
    for (int number = 0; number < 2; ++number)
        if (!step(one, sched, number, outputs)) {
            std::printf("the step %d is not computed\n", number);
            return 1;
        }
    read_cache(one.k, cache);
    read_cache(one.v, cache);
    return 0;
}

}  // namespace

int main(int count, char **words)
{
    const std::map<std::string, ggml_type> types = {{"f32", GGML_TYPE_F32},
                                                    {"f16", GGML_TYPE_F16},
                                                    {"q8_0", GGML_TYPE_Q8_0},
                                                    {"iq2_xxs", GGML_TYPE_IQ2_XXS}};
    std::string where = count > 2 ? words[2] : "", type = count > 3 ? words[3] : "f32";
    if ((where != "device" && where != "cpu" && where != "copy") || !types.count(type)) {
        std::fprintf(stderr, "usage: sched BACKEND_FOLDER device|cpu|copy [f32|f16|q8_0|iq2_xxs [PREFIX]]\n");
        return 2;
    }
    ggml_backend_load_all_from_path(words[1]);
    backends use;
    ggml_backend_dev_t device = ggml_backend_dev_by_name("QNNRT0");
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (device && cpu) {
        use.device = ggml_backend_dev_init(device, nullptr);
        use.cpu = ggml_backend_dev_init(cpu, nullptr);
    }
    if (!use.device || !use.cpu) {
        std::printf("no device\n");
        return 1;
    }
    auto threads = reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), "ggml_backend_set_n_threads"));
    threads(use.cpu, 1);
    const std::string prefix = count > 4 ? words[4] : "cache_";
    std::vector<float> outputs, expected, cache, expected_cache;
    int splits = 0, alone = 0;
    int status = run(use, where, types.at(type), prefix, outputs, cache, splits);
    if (status == 0)
        status = run(use, "", types.at(type), prefix, expected, expected_cache, alone);
    if (status != 0)
        return status;
    std::printf("splits %d\nnmse %.3g\ncache %.3g\n", splits, nmse(outputs, expected), nmse(cache, expected_cache));
    ggml_backend_free(use.device);
    ggml_backend_free(use.cpu);
    return 0;
}
