// Preloaded into stock test-backend-ops: its CPU backend, which has four threads that spin while they wait, gets one.
#include <dlfcn.h>

#include "ggml-backend.h"

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
