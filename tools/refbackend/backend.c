/* backend.c - logs, backend, device, power, properties and messages of the interface

   The device is the CPU that runs the program: one device with one core. Power settings are checked
   and kept as handles, but have no effect.
   Knows nothing of: graphs */
#include "ref.h"

#include <stdlib.h>
#include <string.h>

/* ---- properties ----------------------------------------------------------------------------- */

/* The properties that calls here implement. Known keys without a row are not supported; other keys
   are unknown. */
static const struct { uint32_t first, last, supported; } properties[] = {
    {    1,    1, 1 }, {  101,  101, 1 }, {  105,  108, 0 },
    {  201,  202, 1 }, {  205,  210, 1 }, {  211,  216, 0 }, {  217,  217, 1 }, {  218,  220, 0 },
        {  221,  221, 1 },
    {  222,  222, 0 },
    {  301,  302, 1 }, {  303,  305, 0 }, {  306,  306, 1 }, {  307,  310, 0 }, {  311,  311, 1 },
        {  312,  312, 0 },
    {  313,  313, 1 }, {  314,  321, 0 }, {  322,  322, 1 }, {  323,  323, 0 },
    {  401,  404, 0 },
    {  501,  502, 1 }, {  503,  503, 0 }, {  504,  504, 1 }, {  505,  505, 0 }, {  506,  506, 1 },
    {  507,  508, 0 }, {  509,  514, 1 }, {  515,  516, 0 }, {  517,  518, 1 }, {  519,  558, 0 },
    { 1001, 1001, 1 }, { 1002, 1002, 0 },
    { 1101, 1104, 1 }, { 1105, 1105, 0 },
    { 1201, 1203, 0 },
    { 1301, 1302, 1 },
    { 1401, 1401, 1 }, { 1402, 1402, 0 }, { 1403, 1404, 1 }, { 1405, 1405, 0 },
    { 1501, 1502, 1 }
};

q_code ref_property(ref_call *call, uint32_t key)
{
    (void)call;
    for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); ++i)
        if (key >= properties[i].first && key <= properties[i].last)
            return properties[i].supported ? Q_OK : Q_NOT_SUPPORTED;
    return Q_UNKNOWN_KEY;
}

/* ---- messages ------------------------------------------------------------------------------- */

static const struct { q_code code; const char *text; } messages[] = {
    { Q_OK, "QNN_SUCCESS" },
    { Q_NOT_SUPPORTED, "QNN_COMMON_ERROR_NOT_SUPPORTED: this backend does not have the feature" },
    { Q_MEMORY, "QNN_COMMON_ERROR_MEM_ALLOC: out of memory" },
    { Q_ARGUMENT, "QNN_COMMON_ERROR_INVALID_ARGUMENT: an argument is wrong" },
    { Q_NOT_PERMITTED, "QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED: the call is not allowed now" },
    { Q_DEVICE_LOST, "QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL: the subsystem restarted" },
    { Q_GENERAL, "QNN_COMMON_ERROR_GENERAL: a general error" },
    { Q_UNKNOWN_KEY, "QNN_PROPERTY_ERROR_UNKNOWN_KEY: the key is not known" },
    { Q_OP_REFUSED, "QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE: the operator is refused" },
    { Q_BACKEND_CANNOT_INITIALIZE,
      "QNN_BACKEND_ERROR_CANNOT_INITIALIZE: the backend does not start" },
    { Q_BACKEND_ARGUMENT, "QNN_BACKEND_ERROR_INVALID_ARGUMENT: an argument is wrong" },
    { Q_BACKEND_NO_PACKAGE, "QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND: no such package or operator" },
    { Q_BACKEND_HANDLE, "QNN_BACKEND_ERROR_INVALID_HANDLE: no backend has this handle" },
    { Q_BACKEND_CONFIG, "QNN_BACKEND_ERROR_INVALID_CONFIG: a config is wrong" },
    { Q_CONTEXT_ARGUMENT, "QNN_CONTEXT_ERROR_INVALID_ARGUMENT: an argument is wrong" },
    { Q_CONTEXT_HANDLE, "QNN_CONTEXT_ERROR_INVALID_HANDLE: no context has this handle" },
    { Q_CONTEXT_NOT_FINALIZED, "QNN_CONTEXT_ERROR_NOT_FINALIZED: a graph is not finalized" },
    { Q_CONTEXT_FROM_BINARY, "QNN_CONTEXT_ERROR_CREATE_FROM_BINARY: the binary is refused" },
    { Q_CONTEXT_GET_BINARY, "QNN_CONTEXT_ERROR_GET_BINARY_FAILED: the binary was not written" },
    { Q_CONTEXT_CONFIG, "QNN_CONTEXT_ERROR_INVALID_CONFIG: a config is wrong" },
    { Q_GRAPH_ARGUMENT, "QNN_GRAPH_ERROR_INVALID_ARGUMENT: an argument is wrong" },
    { Q_GRAPH_HANDLE, "QNN_GRAPH_ERROR_INVALID_HANDLE: no graph has this handle" },
    { Q_GRAPH_MISSING, "QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST: no graph has this name" },
    { Q_GRAPH_NAME, "QNN_GRAPH_ERROR_INVALID_NAME: the name is taken or unknown" },
    { Q_GRAPH_TENSOR, "QNN_GRAPH_ERROR_INVALID_TENSOR: a tensor does not fit the graph" },
    { Q_GRAPH_OP, "QNN_GRAPH_ERROR_INVALID_OP_CONFIG: a node is wrong" },
    { Q_GRAPH_FINALIZE, "QNN_GRAPH_ERROR_FINALIZE_FAILED: the graph cannot be finalized" },
    { Q_GRAPH_NOT_FINALIZED, "QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED: finalize it first" },
    { Q_GRAPH_FINALIZED, "QNN_GRAPH_ERROR_GRAPH_FINALIZED: it is already finalized" },
    { Q_TENSOR_HANDLE, "QNN_TENSOR_ERROR_INVALID_HANDLE: there is no tensor" },
    { Q_TENSOR_EXISTS, "QNN_TENSOR_ERROR_ALREADY_EXISTS: the name is taken" },
    { Q_TENSOR_PARAM, "QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM: a field of the tensor is wrong" },
    { Q_TENSOR_UNSUPPORTED, "QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM: a field of the tensor is "
      "not supported" },
    { Q_MEM_ARGUMENT, "QNN_MEM_ERROR_INVALID_ARGUMENT: an argument is wrong" },
    { Q_MEM_HANDLE, "QNN_MEM_ERROR_INVALID_HANDLE: no memory has this handle" },
    { Q_MEM_REGISTERED, "QNN_MEM_ERROR_ALREADY_REGISTERED: registered before, with this shape" },
    { Q_MEM_MAPPING, "QNN_MEM_ERROR_MAPPING: the memory cannot be mapped" },
    { Q_MEM_SHAPE, "QNN_MEM_ERROR_INVALID_SHAPE: the shape is wrong, or larger than the memory" },
    { Q_MEM_TYPE, "QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE: memory of this kind is not supported" },
    { Q_SIGNAL_HANDLE, "QNN_SIGNAL_ERROR_INVALID_HANDLE: no signal has this handle" },
    { Q_ERROR_ARGUMENT, "QNN_ERROR_INVALID_ARGUMENT: an argument is wrong" },
    { Q_ERROR_HANDLE, "QNN_ERROR_INVALID_ERROR_HANDLE: the code is not known" },
    { Q_LOG_ARGUMENT, "QNN_LOG_ERROR_INVALID_ARGUMENT: an argument is wrong" },
    { Q_LOG_HANDLE, "QNN_LOG_ERROR_INVALID_HANDLE: no log has this handle" },
    { Q_PROFILE_HANDLE, "QNN_PROFILE_ERROR_INVALID_HANDLE: no profile or event has this handle" },
    { Q_PROFILE_IN_USE, "QNN_PROFILE_ERROR_HANDLE_IN_USE: the profile is in use" },
    { Q_POWER_POINTER, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_HANDLE_PTR: no place for the "
      "id" },
    { Q_POWER_INPUT, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT: an argument is wrong" },
    { Q_POWER_CONFIG, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED_CONFIG: the option is not "
      "known" },
    { Q_DEVICE_HANDLE, "QNN_DEVICE_ERROR_INVALID_HANDLE: no device has this handle" },
    { Q_DEVICE_CONFIG, "QNN_DEVICE_ERROR_INVALID_CONFIG: a config is wrong" },
    { Q_DEVICE_IN_USE, "QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT: a context uses the device" },
    { Q_SYSTEM_HANDLE, "QNN_SYSTEM_COMMON_ERROR_INVALID_HANDLE: no system context has this "
      "handle" },
    { Q_SYSTEM_ARGUMENT, "QNN_SYSTEM_COMMON_ERROR_INVALID_ARGUMENT: an argument is wrong" },
    { Q_SYSTEM_MALFORMED, "QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY: the binary is damaged" }
};

q_code ref_error_message(ref_call *call, q_code code, const char **out)
{
    if (out == NULL)
        return ref_fail(call, Q_ERROR_ARGUMENT, "the pointer for the message is NULL");
    *out = NULL;
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); ++i)
        if (messages[i].code == (code & 0xFFFF))
            *out = messages[i].text;
    return *out != NULL ? Q_OK : Q_ERROR_HANDLE;
}

/* ---- logs ---------------------------------------------------------------------------------- */

q_code ref_log_create(ref_call *call, q_log_callback callback, uint32_t level, q_handle *out)
{
    ref_log *log;
    if (out == NULL)
        return ref_fail(call, Q_LOG_ARGUMENT, "the pointer for the handle is NULL");
    if (level < Q_LOG_ERROR || level > Q_LOG_DEBUG)
        return ref_fail(call, Q_LOG_ARGUMENT, "level %u, expected 1 to 5", (unsigned)level);
    log = ref_ledger_make(call, REF_LOG, sizeof(*log), out);
    if (log == NULL)
        return call->code;
    log->callback = callback;
    log->level = level;
    ref_log_join(log);
    return Q_OK;
}

q_code ref_log_level(ref_call *call, q_handle handle, uint32_t level)
{
    ref_log *log = ref_ledger_get(call, REF_LOG, handle, Q_LOG_HANDLE);
    if (log == NULL)
        return call->code;
    if (level < Q_LOG_ERROR || level > Q_LOG_DEBUG)
        return ref_fail(call, Q_LOG_ARGUMENT, "level %u, expected 1 to 5", (unsigned)level);
    log->level = level;
    return Q_OK;
}

q_code ref_log_free(ref_call *call, q_handle handle)
{
    ref_log *log = ref_ledger_get(call, REF_LOG, handle, Q_LOG_HANDLE);
    q_log_callback late;
    ref_backend *backend;
    if (log == NULL)
        return call->code;
    for (size_t i = 0; (backend = ref_ledger_at(REF_BACKEND, i)) != NULL; ++i)
        if (backend->head.log == log)
            ref_ledger_misuse(call, "log %u was freed before backend %u, which uses it",
                              (unsigned)log->head.number, (unsigned)backend->head.number);
    ref_ledger_mute(log);
    late = log->callback;
    ref_log_leave(log);
    ref_ledger_drop(&log->head);
    if (ref_fault.log_late)
        ref_log_hostile(late);
    return Q_OK;
}

/* ---- backend -------------------------------------------------------------------------------- */

/* Let a log get the lines of the call. Return 0 if the handle is neither NULL nor that of a log. */
static int log_take(ref_call *call, q_handle handle, q_code code)
{
    if (handle != NULL)
        call->log = ref_ledger_get(call, REF_LOG, handle, code);
    return handle == NULL || call->log != NULL;
}

static q_code backend_configs(ref_call *call, const q_config **configs)
{
    for (; configs != NULL && *configs != NULL; ++configs) {
        switch ((*configs)->option) {
        case 0: case 2:
            ref_log_write(call, Q_LOG_INFO, "%s: a %s option is ignored", call->name,
                          (*configs)->option == 0 ? "vendor's own" : "platform");
            break;
        case 1:
            break;
        default:
            return ref_fail(call, Q_BACKEND_CONFIG, "backend option %u is not known",
                            (unsigned)(*configs)->option);
        }
    }
    return Q_OK;
}

q_code ref_backend_create(ref_call *call, q_handle log, const q_config **configs, q_handle *out)
{
    q_code code;
    if (!log_take(call, log, Q_BACKEND_ARGUMENT))
        return call->code;
    if (out == NULL)
        return ref_fail(call, Q_BACKEND_ARGUMENT, "the pointer for the handle is NULL");
    code = backend_configs(call, configs);
    if (code != Q_OK)
        return code;
    return ref_ledger_make(call, REF_BACKEND, sizeof(ref_backend), out) != NULL ? Q_OK : call->code;
}

q_code ref_backend_config(ref_call *call, q_handle handle, const q_config **configs)
{
    ref_backend *backend = ref_ledger_get(call, REF_BACKEND, handle, Q_BACKEND_HANDLE);
    if (backend == NULL)
        return call->code;
    return backend_configs(call, configs);
}

q_code ref_backend_package(ref_call *call, q_handle handle, const char *path, const char *name)
{
    ref_backend *backend = ref_ledger_get(call, REF_BACKEND, handle, Q_BACKEND_HANDLE);
    if (backend == NULL)
        return call->code;
    return ref_fail(call, Q_NOT_SUPPORTED,
                    "package \"%.200s\" (%.100s): this backend takes no operator packages",
                    path != NULL ? path : "(NULL)", name != NULL ? name : "NULL");
}

q_code ref_backend_operations(ref_call *call, q_handle handle, uint32_t *count,
                              const q_op_name **out)
{
    enum { MOST = 1024 };
    static q_op_name names[MOST];                            /* filled once, under the lock */
    ref_backend *backend = ref_ledger_get(call, REF_BACKEND, handle, Q_BACKEND_HANDLE);
    const ref_op *op;
    uint32_t n = 0;
    if (backend == NULL)
        return call->code;
    if (count == NULL || out == NULL)
        return ref_fail(call, Q_BACKEND_ARGUMENT, "the pointer for the list is NULL");
    for (; n < MOST && (op = ref_op_get(n)) != NULL; ++n) {
        names[n].package = REF_PACKAGE;
        names[n].name = op->type;
    }
    *count = n;
    *out = names;
    return Q_OK;
}

q_code ref_backend_free(ref_call *call, q_handle handle)
{
    ref_backend *backend = ref_ledger_get_dead(call, REF_BACKEND, handle, Q_BACKEND_HANDLE);
    unsigned taken = 0;
    if (backend == NULL)
        return call->code;
    /* contexts are freed with it, as in the genuine libraries */
    for (size_t i = 0; ; ) {
        ref_context *context = ref_ledger_at(REF_CONTEXT, i);
        if (context == NULL)
            break;
        if (context->backend != backend) {
            ++i;
            continue;
        }
        if (context->executing > 0)
            return ref_fail(call, Q_NOT_PERMITTED, "context %u is executing in another thread",
                            (unsigned)context->head.number);
        ref_context_drop(context);
        ++taken;
    }
    for (size_t i = 0; ; ) {
        ref_profile *profile = ref_ledger_at(REF_PROFILE, i);
        if (profile == NULL)
            break;
        if (profile->backend != backend) {
            ++i;
            continue;
        }
        ref_profile_drop(profile);
        ++taken;
    }
    if (taken > 0)
        ref_ledger_misuse(call, "backend %u was freed while %u contexts and profiles existed",
                          (unsigned)backend->head.number, taken);
    ref_ledger_drop(&backend->head);
    return Q_OK;
}

/* Refuse every signal handle: this backend makes none. */
q_code ref_signal_none(ref_call *call, q_handle signal)
{
    return signal == NULL ? Q_OK : ref_fail(call, Q_SIGNAL_HANDLE,
                                            "0x%llx is not a signal; this backend has no signals",
                                            (unsigned long long)(uintptr_t)signal);
}

/* ---- device --------------------------------------------------------------------------------- */

q_platform_info *ref_platform(void)
{
    static q_core_info core = { 1, { 0, 0, NULL } };
    static q_device_info device = { 1, { 0, 0, 1, &core, NULL } };
    static q_platform_info platform = { 1, { 1, &device } };
    return &platform;
}

q_code ref_device_info(ref_call *call, q_handle handle, const q_platform_info **out)
{
    if (!log_take(call, handle, Q_ARGUMENT))
        return call->code;
    if (out == NULL)
        return ref_fail(call, Q_ARGUMENT, "the pointer for the information is NULL");
    *out = ref_platform();
    return Q_OK;
}

q_code ref_device_info_free(ref_call *call, q_handle handle, const q_platform_info *info)
{
    if (!log_take(call, handle, Q_ARGUMENT))
        return call->code;
    if (info != ref_platform())
        return ref_fail(call, Q_ARGUMENT, "the pointer is not from deviceGetPlatformInfo");
    return Q_OK;
}

q_code ref_device_info_of(ref_call *call, q_handle handle, const q_platform_info **out)
{
    ref_device *device = ref_ledger_get(call, REF_DEVICE, handle, Q_DEVICE_HANDLE);
    if (device == NULL)
        return call->code;
    if (out == NULL)
        return ref_fail(call, Q_ARGUMENT, "the pointer for the information is NULL");
    *out = ref_platform();
    return Q_OK;
}

static q_code device_configs(ref_call *call, const q_config **configs)
{
    for (; configs != NULL && *configs != NULL; ++configs) {
        if ((*configs)->option > 1)
            return ref_fail(call, Q_DEVICE_CONFIG, "device option %u is not known",
                            (unsigned)(*configs)->option);
        ref_log_write(call, Q_LOG_INFO, "%s: a %s is ignored", call->name,
                      (*configs)->option == 0 ? "vendor-specific option (SoC, arch)" :
                          "choice of devices");
    }
    return Q_OK;
}

q_code ref_device_create(ref_call *call, q_handle log, const q_config **configs, q_handle *out)
{
    q_code code;
    if (!log_take(call, log, Q_ARGUMENT))
        return call->code;
    if (out == NULL)
        return ref_fail(call, Q_ARGUMENT, "the pointer for the handle is NULL");
    code = device_configs(call, configs);
    if (code != Q_OK)
        return code;
    return ref_ledger_make(call, REF_DEVICE, sizeof(ref_device), out) != NULL ? Q_OK : call->code;
}

q_code ref_device_config(ref_call *call, q_handle handle, const q_config **configs)
{
    ref_device *device = ref_ledger_get(call, REF_DEVICE, handle, Q_DEVICE_HANDLE);
    if (device == NULL)
        return call->code;
    return device_configs(call, configs);
}

q_code ref_device_free(ref_call *call, q_handle handle)
{
    ref_device *device = ref_ledger_get_dead(call, REF_DEVICE, handle, Q_DEVICE_HANDLE);
    ref_context *context;
    if (device == NULL)
        return call->code;
    for (size_t i = 0; (context = ref_ledger_at(REF_CONTEXT, i)) != NULL; ++i)
        if (context->device == device)
            return ref_fail(call, Q_DEVICE_IN_USE,
                            "context %u uses device %u; free the context first",
                            (unsigned)context->head.number, (unsigned)device->head.number);
    ref_ledger_drop(&device->head);
    return Q_OK;
}

/* ---- power ---------------------------------------------------------------------------------- */

/* Ids are large and far apart, like the genuine ones, so that nobody uses them as an index. */
typedef struct power { ref_object head; uint32_t id; } power;

static power *power_find(uint32_t id)
{
    power *p;
    for (size_t i = 0; (p = ref_ledger_at(REF_POWER, i)) != NULL; ++i)
        if (p->id == id)
            return p;
    return NULL;
}

static q_code core_check(ref_call *call, uint32_t device, uint32_t core)
{
    const uint32_t any = 0xFFFFFFFFu;
    if ((device != 0 && device != any) || (core != 0 && core != any))
        return ref_fail(call, Q_POWER_INPUT,
                        "device %u, core %u; there is only device 0 with core 0",
                        (unsigned)device, (unsigned)core);
    return Q_OK;
}

q_code ref_power_create(ref_call *call, uint32_t device, uint32_t core, uint32_t *id)
{
    power *p;
    q_code code = core_check(call, device, core);
    if (code != Q_OK)
        return code;
    if (id == NULL)
        return ref_fail(call, Q_POWER_POINTER, "the pointer for the id is NULL");
    p = ref_ledger_make(call, REF_POWER, sizeof(*p), NULL);
    if (p == NULL)
        return call->code;
    p->id = 0xF0000000u + p->head.number * 7919u % 0x0F000000u;
    *id = p->id;
    return Q_OK;
}

q_code ref_power_destroy(ref_call *call, uint32_t id)
{
    power *p = power_find(id);
    if (p == NULL)
        return ref_fail(call, Q_POWER_INPUT, "there is no power id %u", (unsigned)id);
    ref_ledger_drop(&p->head);
    return Q_OK;
}

static int corner_known(uint32_t corner)
{
    static const uint32_t known[] = { 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80, 0x90, 0x92,
                                      0x93, 0x94, 0x95,
                                      0xA0 };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i)
        if (known[i] == corner)
            return 1;
    return 0;
}

/* The words of DCVS_V3: context, set and enable, mode, set and latency, set and sleep, then twice
   set and three corners. */
static q_code dcvs_check(ref_call *call, const uint32_t *words, uint32_t id)
{
    static const uint32_t modes[] = { 1, 2, 4, 8, 16, 32 };
    size_t m = 0;
    if (words[0] != id && words[0] != 0)
        return ref_fail(call, Q_POWER_INPUT, "DCVS: contextId is %u, the power id is %u",
                        (unsigned)words[0], (unsigned)id);
    while (m < sizeof(modes) / sizeof(modes[0]) && modes[m] != words[3])
        ++m;
    if (m == sizeof(modes) / sizeof(modes[0]))
        return ref_fail(call, Q_POWER_INPUT, "DCVS: power mode 0x%x is not known",
                        (unsigned)words[3]);
    for (int group = 8; group <= 12; group += 4) {
        const uint32_t *corner = words + group + 1;
        if (words[group] == 0)
            continue;
        for (int i = 0; i < 3; ++i)
            if (!corner_known(corner[i]))
                return ref_fail(call, Q_POWER_INPUT, "DCVS: voltage corner 0x%x is not known",
                                (unsigned)corner[i]);
        if (corner[0] > corner[1] || corner[1] > corner[2])
            return ref_fail(call, Q_POWER_INPUT, "DCVS: corners 0x%x, 0x%x, 0x%x do not ascend",
                            (unsigned)corner[0], (unsigned)corner[1], (unsigned)corner[2]);
    }
    return Q_OK;
}

q_code ref_power_set(ref_call *call, uint32_t id, const q_power_config **configs)
{
    power *p = power_find(id);
    if (p == NULL && id != 0)
        return ref_fail(call, Q_POWER_INPUT, "there is no power id %u", (unsigned)id);
    if (p != NULL && p->head.dead)
        return ref_fail(call, Q_DEVICE_LOST, "power id %u is dead: the subsystem restarted",
                        (unsigned)id);
    if (configs == NULL || configs[0] == NULL)
        return ref_fail(call, Q_POWER_INPUT, "no config is given");
    for (; *configs != NULL; ++configs) {
        const q_power_config *config = *configs;
        q_code code = Q_OK;
        if (config->option < Q_POWER_DCVS_V3 || config->option > Q_POWER_CENG_EXP)
            return ref_fail(call, Q_POWER_CONFIG, "power option %u is not known",
                            (unsigned)config->option);
        if (config->option == Q_POWER_DCVS_V3)
            code = dcvs_check(call, config->words, id);
        if (config->option == Q_POWER_RPC_POLLING && config->words[0] > Q_POWER_POLLING_MOST)
            code = ref_fail(call, Q_POWER_INPUT, "a polling time of %u us; at most %d are allowed",
                            (unsigned)config->words[0], (int)Q_POWER_POLLING_MOST);
        if (code != Q_OK)
            return code;
    }
    return Q_OK;
}

q_code ref_power_memory(ref_call *call, uint32_t device, uint32_t core,
                        const q_memory_config **configs)
{
    const q_code code = core_check(call, device, core);
    if (code != Q_OK)
        return code;
    for (; configs != NULL && *configs != NULL; ++configs)
        if ((*configs)->option != 1)
            return ref_fail(call, Q_POWER_CONFIG, "memory option %u is not known",
                            (unsigned)(*configs)->option);
    return Q_OK;
}
