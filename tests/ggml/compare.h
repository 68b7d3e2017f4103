// compare.h - what programs share that compute on QNNRT0 and on ggml's CPU backend: data, and the error
#ifndef TESTS_GGML_COMPARE_H
#define TESTS_GGML_COMPARE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "ggml.h"

namespace {

struct numbers {
    uint64_t state;
    uint64_t next()
    {
        uint64_t z = state += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        return z ^ z >> 31;
    }
    int64_t below(int64_t count) { return static_cast<int64_t>(next() % static_cast<uint64_t>(count)); }
    bool one_in(int count) { return below(count) == 0; }
    float real() { return static_cast<float>(next() >> 40) / static_cast<float>(1 << 23) - 1.0f; }
};

// Write a tensor: values in [-1, 1), or indices. The name "below N" gives indices in [0, N), "below -N" the same, all
// different; "positive" gives values in [0.1, 1.1).
void fill(numbers &random, ggml_tensor *t)
{
    const size_t count = static_cast<size_t>(ggml_nelements(t));
    int below = 0;
    if (t->type == GGML_TYPE_I32 || t->type == GGML_TYPE_I64) {
        std::vector<int64_t> wide(count);
        std::vector<int32_t> narrow(count);
        std::sscanf(t->name, "below %d", &below);
        for (size_t i = 0; i < count; ++i)       // below 0: all different
            wide[i] = below < 0 ? (static_cast<int64_t>(i) * 7 + 1) % -below : random.below(below);
        for (size_t i = 0; below < 0 && i < count; ++i)
            for (size_t k = 0; k < i; ++k)
                if (wide[k] == wide[i]) {
                    wide[i] = (wide[i] + 1) % -below;
                    k = static_cast<size_t>(-1);
                }
        for (size_t i = 0; i < count; ++i)
            narrow[i] = static_cast<int32_t>(wide[i]);
        ggml_backend_tensor_set(t, t->type == GGML_TYPE_I64 ? static_cast<void *>(wide.data()) : narrow.data(), 0,
                                ggml_nbytes(t));
        return;
    }
    std::vector<float> values(count);
    const bool positive = std::strcmp(t->name, "positive") == 0;
    for (float &x : values) {
        x = random.real();
        if (positive)
            x = std::fabs(x) + 0.1f;
    }
    if (count == 1)
        values[0] = 1.0f;                        // (of a sum that is divided by)
    std::vector<uint8_t> raw(ggml_nbytes(t));
    ggml_quantize_chunk(t->type, values.data(), raw.data(), 0, ggml_nrows(t), t->ne[0], nullptr);
    ggml_backend_tensor_set(t, t->type == GGML_TYPE_F32 ? static_cast<const void *>(values.data()) : raw.data(), 0,
                            raw.size());
}

std::vector<float> floats(const ggml_tensor *t)
{
    std::vector<uint8_t> raw(ggml_nbytes(t));
    std::vector<float> to(static_cast<size_t>(ggml_nelements(t)));
    ggml_backend_tensor_get(t, raw.data(), 0, raw.size());
    if (t->type == GGML_TYPE_F32)
        std::memcpy(to.data(), raw.data(), raw.size());
    else
        ggml_get_type_traits(t->type)->to_float(raw.data(), to.data(), ggml_nelements(t));
    return to;
}

// The error of values relative to those that are expected. Both may be NaN. (A sum of 0 counts as a small one.)
double nmse(const std::vector<float> &got, const std::vector<float> &expected)
{
    double error = 0, sum = 1e-4 * static_cast<double>(got.size());
    for (size_t i = 0; i < got.size(); ++i) {
        const double e = static_cast<double>(expected[i]), x = static_cast<double>(got[i]);
        if ((std::isnan(e) && std::isnan(x)) || (std::isinf(e) && std::isinf(x) && (e > 0) == (x > 0)))
            continue;
        error += (x - e) * (x - e);
        sum += e * e;
    }
    return error / sum;
}

// Load the backends of a folder and that of GGML_BACKEND_PATH. The CPU backend gets one thread: others spin.
bool open_both(const char *folder, ggml_backend_t *device, ggml_backend_t *cpu)
{
    ggml_backend_load_all_from_path(folder);
    ggml_backend_dev_t found = ggml_backend_dev_by_name("QNNRT0");
    ggml_backend_dev_t host = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    *device = found ? ggml_backend_dev_init(found, nullptr) : nullptr;
    *cpu = host ? ggml_backend_dev_init(host, nullptr) : nullptr;
    if (!*device || !*cpu) {
        std::printf("no device\n");
        return false;
    }
    reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(host), "ggml_backend_set_n_threads"))(*cpu, 1);
    return true;
}

}  // namespace

#endif
