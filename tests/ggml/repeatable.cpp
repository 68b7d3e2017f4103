// Preloaded into stock test-backend-ops: a run computes what the run before it did, on any number of cores. Random values
// follow from QNNRT_SEED (0 unless it is set), one thread draws them, and the CPU backend, whose threads spin while they
// wait, gets one.
#include <dlfcn.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "ggml-backend.h"

std::random_device::result_type std::random_device::_M_getval()
{
    static std::mt19937 values([] {
        const char *seed = std::getenv("QNNRT_SEED");
        return seed ? static_cast<unsigned>(std::strtoul(seed, nullptr, 10)) : 0U;
    }());
    return static_cast<result_type>(values());
}

unsigned int std::thread::hardware_concurrency() noexcept
{
    return 1;
}

extern "C" ggml_backend_t ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char *params)
{
    auto next = reinterpret_cast<decltype(&ggml_backend_init_by_type)>(dlsym(RTLD_NEXT, "ggml_backend_init_by_type"));
    ggml_backend_t backend = next ? next(type, params) : nullptr;
    if (!backend)
        return nullptr;
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
    auto threads = reinterpret_cast<ggml_backend_set_n_threads_t>(ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads"));
    if (threads)
        threads(backend, 1);
    return backend;
}
