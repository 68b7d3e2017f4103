/* context.c - contexts of the interface: create, save, load, free

   Knows nothing of: the layout of a binary, operators */
#include "ref.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int ref_priority_known(uint32_t priority)
{
    static const uint32_t known[] = { 0, 50, 100, 150, 200, 300, 400, 500 };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i)
        if (known[i] == priority)
            return 1;
    return 0;
}

/* Enter a context into the spill-fill group that a custom config of HTP names. */
static q_code join_group(ref_call *call, const q_htp_config *config, ref_context *context)
{
    ref_context *first = context;
    if (config->group.first != NULL)
        first = ref_ledger_get(call, REF_CONTEXT, config->group.first, Q_CONTEXT_CONFIG);
    if (first == NULL)
        return call->code;
    if (first != context && first->group != first)
        return ref_fail(call, Q_CONTEXT_CONFIG, "context %u does not begin a spill-fill group",
                        (unsigned)first->head.number);
    if (first != context && config->group.bytes > first->group_bytes)
        return ref_fail(call, Q_CONTEXT_CONFIG, "a spill-fill group of %llu bytes was begun with"
                        " %llu", (unsigned long long)config->group.bytes,
                        (unsigned long long)first->group_bytes);
    context->group = first;
    context->group_bytes = config->group.bytes;
    return Q_OK;
}

static q_code configs_check(ref_call *call, const q_config **configs, ref_context *context)
{
    for (; configs != NULL && *configs != NULL; ++configs) {
        const q_config *config = *configs;
        switch (config->option) {
        case 0:
            if (config->u.custom != NULL && context->from_binary
                && ((const q_htp_config *)config->u.custom)->option == Q_HTP_MULTI_CONTEXTS) {
                const q_code code = join_group(call, config->u.custom, context);
                if (code != Q_OK)
                    return code;
                break;
            }
            ref_log_write(call, Q_LOG_INFO, "%s: a vendor-specific context option is ignored",
                          call->name);
            break;
        case 1:
            if (!ref_priority_known(config->u.word))
                return ref_fail(call, Q_CONTEXT_CONFIG, "priority %u is not known",
                                (unsigned)config->u.word);
            break;
        case 5: case 10:
            for (const char *const *name = config->u.custom; name != NULL && *name != NULL; ++name)
                if (context->from_binary && ref_model_find(context->model, *name) == NULL)
                    return ref_fail(call, Q_CONTEXT_CONFIG, "the binary has no graph \"%.200s\"",
                                    *name);
            break;
        case 2: case 3: case 4: case 6: case 7: case 8: case 9:
            ref_log_write(call, Q_LOG_INFO, "%s: context option %u has no effect here",
                          call->name, (unsigned)config->option);
            break;
        default:
            return ref_fail(call, Q_CONTEXT_CONFIG, "context option %u is not known",
                            (unsigned)config->option);
        }
    }
    return Q_OK;
}

/* Look up backend and device of a new context. Return NULL when the call has failed. */
static ref_backend *owners_get(ref_call *call, q_handle backend_handle, q_handle device_handle,
                               ref_device **device)
{
    ref_backend *backend = ref_ledger_get(call, REF_BACKEND, backend_handle, Q_CONTEXT_HANDLE);
    if (backend == NULL)
        return NULL;
    *device = NULL;
    if (device_handle != NULL) {
        *device = ref_ledger_get(call, REF_DEVICE, device_handle, Q_CONTEXT_ARGUMENT);
        if (*device == NULL)
            return NULL;
    }
    return backend;
}

static q_code enter(ref_call *call, ref_context *context, const q_config **configs, q_handle *out)
{
    const q_code code = configs_check(call, configs, context);
    if (code != Q_OK)
        return code;
    if (!ref_ledger_add(call, &context->head, REF_CONTEXT, out))
        return ref_fail(call, Q_MEMORY, "no memory");
    return Q_OK;
}

static void discard(ref_context *context)
{
    if (context != NULL)
        ref_model_free(context->model);
    ref_free(context);
}

q_code ref_context_create(ref_call *call, q_handle backend_handle, q_handle device_handle,
                          const q_config **configs, q_handle *out)
{
    ref_device *device;
    ref_backend *backend = owners_get(call, backend_handle, device_handle, &device);
    ref_context *context;
    q_code code;
    if (backend == NULL)
        return call->code;
    if (out == NULL)
        return ref_fail(call, Q_CONTEXT_ARGUMENT, "the pointer for the handle is NULL");
    context = ref_alloc(sizeof(*context));
    if (context == NULL || (context->model = ref_model_new()) == NULL) {
        discard(context);
        return ref_fail(call, Q_MEMORY, "no memory");
    }
    context->backend = backend;
    context->device = device;
    code = enter(call, context, configs, out);
    if (code != Q_OK)
        discard(context);
    return code;
}

q_code ref_context_config(ref_call *call, q_handle handle, const q_config **configs)
{
    ref_context *context = ref_ledger_get(call, REF_CONTEXT, handle, Q_CONTEXT_HANDLE);
    if (context == NULL)
        return call->code;
    if (configs == NULL)
        return ref_fail(call, Q_CONTEXT_ARGUMENT, "no config is given");
    return configs_check(call, configs, context);
}

static q_code writable(ref_call *call, const ref_context *context)
{
    const ref_model *model = context->model;
    if (model->body_count == 0)
        return ref_fail(call, Q_CONTEXT_NOT_FINALIZED, "context %u has no graph",
                        (unsigned)context->head.number);
    for (int i = 0; i < model->body_count; ++i)
        if (!model->bodies[i]->finalized)
            return ref_fail(call, Q_CONTEXT_NOT_FINALIZED, "graph \"%s\" is not finalized",
                            model->bodies[i]->name);
    return Q_OK;
}

q_code ref_context_size(ref_call *call, q_handle handle, uint64_t *bytes)
{
    ref_context *context = ref_ledger_get(call, REF_CONTEXT, handle, Q_CONTEXT_HANDLE);
    q_code code;
    if (context == NULL)
        return call->code;
    if (bytes == NULL)
        return ref_fail(call, Q_CONTEXT_ARGUMENT, "the pointer for the size is NULL");
    code = writable(call, context);
    if (code == Q_OK)
        *bytes = ref_binary_write(context->model, NULL);
    return code;
}

q_code ref_context_binary(ref_call *call, q_handle handle, void *data, uint64_t bytes,
                          uint64_t *written)
{
    ref_context *context = ref_ledger_get(call, REF_CONTEXT, handle, Q_CONTEXT_HANDLE);
    uint64_t need;
    q_code code;
    if (context == NULL)
        return call->code;
    if (data == NULL || written == NULL)
        return ref_fail(call, Q_CONTEXT_ARGUMENT, "the pointer for the %s is NULL",
                        data == NULL ? "binary" : "size");
    code = writable(call, context);
    if (code != Q_OK)
        return code;
    need = ref_binary_write(context->model, NULL);
    if (bytes < need)
        return ref_fail(call, Q_CONTEXT_GET_BINARY,
                        "the binary has %llu bytes, and there is room for %llu",
                        (unsigned long long)need, (unsigned long long)bytes);
    ref_binary_write(context->model, data);
    *written = need;
    return Q_OK;
}

q_code ref_context_load(ref_call *call, q_handle backend_handle, q_handle device_handle,
                        const q_config **configs,
                        const void *data, uint64_t bytes, q_handle *out, q_handle profile_handle)
{
    const uint64_t began = ref_now_ns();
    ref_device *device;
    ref_backend *backend = owners_get(call, backend_handle, device_handle, &device);
    ref_context *context;
    ref_profile *profile;
    ref_why why;
    q_code code;
    if (backend == NULL)
        return call->code;
    if (data == NULL || bytes == 0 || out == NULL)
        return ref_fail(call, Q_CONTEXT_ARGUMENT,
                        out == NULL ? "the pointer for the handle is NULL" : "the binary is empty");
    code = ref_profile_get(call, profile_handle, backend, &profile);
    if (code != Q_OK)
        return code;
    if (ref_fault.log_thread)
        ref_log_hostile_all();
    context = ref_alloc(sizeof(*context));
    if (context == NULL)
        return ref_fail(call, Q_MEMORY, "no memory");
    context->backend = backend;
    context->device = device;
    context->from_binary = 1;
    context->model = ref_binary_read(data, bytes, REF_BINARY_RUN, &why, &code);
    if (context->model == NULL) {
        discard(context);
        return ref_fail(call, code, "%s", why.text);
    }
    if (ref_fault.keep_binary) {
        context->kept = data;
        context->kept_bytes = bytes;
        context->kept_hash = ref_hash(data, bytes);
    }
    code = enter(call, context, configs, out);
    if (code != Q_OK) {
        discard(context);
        return code;
    }
    ref_profile_clear(profile);
    ref_profile_time(profile, 1004, began, "Accelerator (load binary) time");
    ref_profile_time(profile, 100, began, "QNN (load binary) time");
    return Q_OK;
}

int ref_context_kept(const ref_context *context)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (uintptr_t)context->kept / page * page;
    const size_t bytes = (size_t)((uintptr_t)context->kept + context->kept_bytes - start);
    if (context->kept == NULL)
        return 1;
    /* This call fails when a page is not mapped, and has no other effect. */
    return msync((void *)start, bytes, MS_ASYNC) == 0
        && ref_hash(context->kept, context->kept_bytes) == context->kept_hash;
}

q_code ref_context_check(ref_call *call, q_handle backend_handle, const void *data, uint64_t bytes)
{
    ref_backend *backend = ref_ledger_get(call, REF_BACKEND, backend_handle, Q_CONTEXT_HANDLE);
    ref_model *model;
    ref_why why;
    q_code code;
    if (backend == NULL)
        return call->code;
    if (data == NULL || bytes == 0)
        return ref_fail(call, Q_CONTEXT_ARGUMENT, "the binary is empty");
    model = ref_binary_read(data, bytes, REF_BINARY_RUN, &why, &code);
    if (model == NULL)
        return ref_fail(call, code, "%s", why.text);
    ref_model_free(model);
    return Q_OK;
}

void ref_context_drop(ref_context *context)
{
    ref_graph *graph;
    ref_mem *mem;
    for (size_t i = 0; (graph = ref_ledger_at(REF_GRAPH, i)) != NULL; ) {
        if (graph->context != context) {
            ++i;
            continue;
        }
        ref_ledger_drop(&graph->head);
    }
    for (size_t i = 0; (mem = ref_ledger_at(REF_MEM, i)) != NULL; ) {
        if (mem->context != context)
            ++i;
        else
            ref_mem_drop(mem);
    }
    ref_model_free(context->model);
    ref_ledger_drop(&context->head);
}

q_code ref_context_free(ref_call *call, q_handle handle, q_handle profile_handle)
{
    const uint64_t began = ref_now_ns();
    ref_context *context = ref_ledger_get_dead(call, REF_CONTEXT, handle, Q_CONTEXT_HANDLE), *other;
    ref_profile *profile;
    ref_mem *mem;
    unsigned left = 0;
    q_code code;
    if (context == NULL)
        return call->code;
    code = ref_profile_get(call, profile_handle, context->backend, &profile);
    if (code != Q_OK)
        return code;
    if (context->executing > 0)
        return ref_fail(call, Q_NOT_PERMITTED, "context %u is executing in another thread",
                        (unsigned)context->head.number);
    for (size_t i = 0; (mem = ref_ledger_at(REF_MEM, i)) != NULL; ++i)
        left += mem->context == context;
    for (size_t i = 0; (other = ref_ledger_at(REF_CONTEXT, i)) != NULL; ++i)
        if (other != context && other->group == context) {
            if (!context->head.dead)
                ref_ledger_misuse(call, "context %u was freed before context %u of its spill-fill"
                                  " group", (unsigned)context->head.number,
                                  (unsigned)other->head.number);
            other->group = NULL;
        }
    if (left > 0)
        ref_ledger_misuse(call, "context %u was freed with %u registrations of memory left",
                          (unsigned)context->head.number, left);
    ref_context_drop(context);
    ref_profile_clear(profile);
    ref_profile_time(profile, 4003, began, "Accelerator (deinit) time");
    ref_profile_time(profile, 500, began, "QNN (deinit) time");
    return Q_OK;
}
