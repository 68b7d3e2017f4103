// Graphs that a backend may not take as they are, on the stock scheduler with QNNRT and the CPU.
//
//   graphs BACKEND_FOLDER KIND [COUNT]
//
// KIND:
//   mixed    between nodes for QNNRT: a host's own function, i32 data, f16 and quantized weights, a sum over i32 indices
//   long     a chain of COUNT nodes (default 100000)
//   wide     COUNT nodes (default 2000) that read one tensor, added up
//   abort    the same with 20000 nodes: first it is ended before each step in turn, which prints how often
//   shapes   COUNT shapes (default 64) of one small graph, each computed twice, in turn
// Outputs are compared with those of the CPU backend alone. It prints the number of splits and the NMSE.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"

namespace {

constexpr int64_t width = 64, rows = 8;

struct work {
    ggml_context *graph = nullptr;
    ggml_cgraph *nodes = nullptr;
    std::vector<ggml_tensor *> inputs;
    ggml_tensor *y = nullptr;
};

int asked = 0, stops_at = -1, aborted = 0;

bool stops(void *) { return asked++ == stops_at; }

void halve(ggml_tensor *out, const ggml_tensor *in, int thread, int threads, void *)
{
    const float *from = static_cast<const float *>(in->data);
    float *to = static_cast<float *>(out->data);
    for (int64_t i = thread; i < ggml_nelements(out); i += threads)
        to[i] = from[i] / 2.0f;
}

ggml_tensor *input(work &one, ggml_type type, int64_t columns, int64_t lines)
{
    ggml_tensor *tensor = ggml_new_tensor_2d(one.graph, type, columns, lines);
    ggml_set_input(tensor);
    one.inputs.push_back(tensor);
    return tensor;
}

void mixed(work &one)
{
    ggml_context *g = one.graph;
    ggml_tensor *x = input(one, GGML_TYPE_F32, width, rows), *h = x;
    for (ggml_type type : {GGML_TYPE_F16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_F32}) {
        h = ggml_mul_mat(g, input(one, type, width, width), h);
        h = ggml_map_custom1(g, ggml_rms_norm(g, h, 1e-5f), halve, 1, nullptr);
        h = ggml_add(g, h, x);
    }
    ggml_tensor *indices = input(one, GGML_TYPE_I32, rows, 1);
    ggml_tensor *picked = ggml_get_rows(g, h, ggml_reshape_1d(g, indices, rows));
    ggml_tensor *order = ggml_argsort(g, picked, GGML_SORT_ORDER_ASC);           // i32, in the middle
    ggml_tensor *best = ggml_view_1d(g, order, rows, 0);
    h = ggml_add(g, h, ggml_get_rows(g, input(one, GGML_TYPE_F32, width, width), best));
    one.y = ggml_soft_max(g, ggml_add(g, h, picked));
}

void chain(work &one, int count)
{
    ggml_tensor *x = input(one, GGML_TYPE_F32, width, 1), *h = x;
    for (int i = 0; i < count; ++i)
        h = i % 3 == 2 ? ggml_scale(one.graph, h, 0.5f) : ggml_add(one.graph, h, x);
    one.y = h;
}

void fan(work &one, int count)
{
    ggml_tensor *x = input(one, GGML_TYPE_F32, width, 1), *h = x;
    for (int i = 0; i < count / 2; ++i)
        h = ggml_add(one.graph, h, ggml_scale(one.graph, x, 1.0f / static_cast<float>(i + 1)));
    one.y = h;
}

void small(work &one, int lines)
{
    ggml_tensor *x = input(one, GGML_TYPE_F32, width, lines);
    one.y = ggml_add(one.graph, x, ggml_mul_mat(one.graph, input(one, GGML_TYPE_F32, width, width), x));
}

void fill(ggml_tensor *tensor)
{
    int64_t count = ggml_nelements(tensor);
    uint64_t seed = static_cast<uint64_t>(count) + static_cast<uint64_t>(tensor->type);
    std::vector<float> values(static_cast<size_t>(count));
    std::vector<int32_t> numbers(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        values[i] = static_cast<float>(seed >> 40) / static_cast<float>(1 << 23) - 1.0f;
        numbers[i] = static_cast<int32_t>(seed >> 40) % static_cast<int32_t>(rows);
    }
    if (tensor->type == GGML_TYPE_I32) {
        ggml_backend_tensor_set(tensor, numbers.data(), 0, ggml_nbytes(tensor));
        return;
    }
    std::vector<uint8_t> raw(ggml_nbytes(tensor));
    ggml_quantize_chunk(tensor->type, values.data(), raw.data(), 0, ggml_nrows(tensor), tensor->ne[0], nullptr);
    ggml_backend_tensor_set(tensor, tensor->type == GGML_TYPE_F32 ? static_cast<const void *>(values.data()) : raw.data(), 0,
                            raw.size());
}

// Describe the graph and compute it on the last .count backends. Return false, with a line, if that fails.
bool compute(const std::string &kind, int size, ggml_backend_sched_t sched, std::vector<float> &out, int &splits)
{
    size_t nodes = kind == "long" || kind == "wide" || kind == "abort" ? static_cast<size_t>(size) + 64 : 256;
    ggml_init_params params = {nodes * ggml_tensor_overhead() + ggml_graph_overhead_custom(nodes, false), nullptr, true};
    work one;
    one.graph = ggml_init(params);
    one.nodes = ggml_new_graph_custom(one.graph, nodes, false);
    if (kind == "mixed")
        mixed(one);
    else if (kind == "long" || kind == "abort")
        chain(one, size);
    else if (kind == "wide")
        fan(one, size);
    else
        small(one, size);
    ggml_set_output(one.y);
    ggml_build_forward_expand(one.nodes, one.y);
    ggml_backend_sched_reset(sched);
    bool good = ggml_backend_sched_alloc_graph(sched, one.nodes);
    if (!good)
        std::printf("the graph is not allocated\n");
    for (size_t i = 0; good && i < one.inputs.size(); ++i)
        fill(one.inputs[i]);
    ggml_status status = good ? ggml_backend_sched_graph_compute(sched, one.nodes) : GGML_STATUS_FAILED;
    if (status == GGML_STATUS_ABORTED) {
        ++aborted;
        good = false;
    } else if (good && status != GGML_STATUS_SUCCESS) {
        std::printf("the graph is not computed\n");
        good = false;
    }
    if (good) {
        splits = ggml_backend_sched_get_n_splits(sched);
        size_t at = out.size();
        out.resize(at + static_cast<size_t>(ggml_nelements(one.y)));
        ggml_backend_tensor_get(one.y, out.data() + at, 0, ggml_nbytes(one.y));
    }
    ggml_free(one.graph);
    return good;
}

}  // namespace

int main(int count, char **words)
{
    std::string kind = count > 2 ? words[2] : "";
    if (kind != "mixed" && kind != "long" && kind != "wide" && kind != "shapes" && kind != "abort") {
        std::fprintf(stderr, "usage: graphs BACKEND_FOLDER mixed|long|wide|shapes|abort [COUNT]\n");
        return 2;
    }
    int size = count > 3 ? std::atoi(words[3]) : kind == "long" ? 100000 : kind == "abort" ? 20000 : kind == "wide" ? 2000 : 64;
    ggml_backend_load_all_from_path(words[1]);
    ggml_backend_dev_t device = ggml_backend_dev_by_name("QNNRT0");
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    ggml_backend_t list[2] = {device ? ggml_backend_dev_init(device, nullptr) : nullptr,
                              cpu ? ggml_backend_dev_init(cpu, nullptr) : nullptr};
    if (!list[0] || !list[1]) {
        std::printf("no device\n");
        return 1;
    }
    reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), "ggml_backend_set_n_threads"))(list[1], 1);
    size_t room = kind == "long" || kind == "wide" || kind == "abort" ? static_cast<size_t>(size) + 64 : 256;
    ggml_backend_sched_t both = ggml_backend_sched_new(list, nullptr, 2, room, false, true);
    ggml_backend_sched_t alone = ggml_backend_sched_new(list + 1, nullptr, 1, room, false, true);
    std::vector<float> got, expected;
    int splits = 0, ignored = 0, first = kind == "shapes" ? 1 : size;
    auto set_stops = reinterpret_cast<ggml_backend_set_abort_callback_t>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_set_abort_callback"));
    if (kind == "abort") {
        if (!set_stops) {
            std::printf("it cannot be ended\n");
            return 1;
        }
        set_stops(list[0], stops, nullptr);
        for (stops_at = 0; asked = 0, !compute(kind, size, both, got, splits); ++stops_at)
            if (asked != stops_at + 1 || aborted != asked)
                return 1;
        std::printf("aborted %d\n", aborted);
        set_stops(list[0], nullptr, nullptr);
        got.clear();
    }
    for (int turn = 0; turn < (kind == "shapes" ? 2 : 1); ++turn)
        for (int one = first; one <= size; ++one)
            if (!compute(kind, one, both, got, splits) || !compute(kind, one, alone, expected, ignored))
                return 1;
    double error = 0, sum = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        double difference = static_cast<double>(got[i]) - static_cast<double>(expected[i]);
        error += difference * difference;
        sum += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
    }
    std::printf("splits %d\nnmse %.3g\n", splits, error / sum);
    ggml_backend_sched_free(both);
    ggml_backend_sched_free(alone);
    ggml_backend_free(list[0]);
    ggml_backend_free(list[1]);
    return 0;
}
