/* interface.c - the tables of libQnnRef.so, its three exported symbols, and the begin and end of
   every call

       QnnInterface_getProviders          the core interface, by default 2.40 with all 72 slots
       QnnSystemInterface_getProviders    the system interface, by default 1.12: a folder of Ref
                                          binaries needs no other library
       QnnRef_control                     int QnnRef_control(const char *command, char *answer,
                                          size_t bytes): writes the answer, cut to `bytes` with
                                          its NUL, and returns its length, or -1

           faults TEXT    set the rules of faults.c and count calls from 0; without TEXT remove all
                          rules. Answer: "", or the reason with -1. Versions, slots and providers
                          change with the next getProviders
           ledger         what is alive and what was misused; "" when there is nothing to report
           trace on|off   begin or stop to keep the trace in memory;  trace clear;  trace: the lines
           counters       "allocations N delayed_ms N copies N bytes N" since the library was
                          loaded; bytes: of all allocations
           steps          "plan N place N": steps of planning arenas in finalize and load, and of
                          sorting the caller's memory in execute
           graph NAME     "nodes N tensors N data N arena N scratch N folded N" of the first living
                          graph with that name; folded: Casts that are not executed

   A call that fails by a rule has no effect, except that calls which free do free. A call for a
   feature that the library does not have returns 1000 and logs it.
   Knows nothing of: the work of the calls */
#include "ref.h"
#include "ref_slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REF_EXPORT __attribute__((visibility("default")))

/* ---- begin and end of every call ------------------------------------------------------------ */

static int frees(const char *name)
{
    return strstr(name, "Free") != NULL || strstr(name, "DeRegister") != NULL
        || strstr(name, "destroy") != NULL;
}

/* Return the name of a handle for the trace, in one of several buffers. */
static const char *h(const void *handle)
{
    static char texts[8][40];
    static unsigned next;
    char *text = texts[next++ % 8];
    if (!ref_trace_wanted())
        return "";
    ref_ledger_name(handle, text, sizeof(texts[0]));
    return text;
}

static const char *t(const char *text) { return text != NULL ? text : "NULL"; }

static uint64_t delayed_ms;              /* total delay by rules; used under the lock */

/* Take the lock, count the call and apply the rules. Return 1 when the call has to be made. */
static int begin(ref_call *call, int slot)
{
    call->name = ref_slot_name(slot);
    call->code = Q_OK;
    call->log = NULL;
    call->arguments[0] = call->made[0] = '\0';
    ref_lock();
    ref_faults_ask(slot, ref_faults_count(slot), &call->wish);
    if (call->wish.restart && slot != AT_graphExecute) {  /* that one restarts while it computes */
        ref_ledger_restart();
        call->wish.code = Q_DEVICE_LOST;
    }
    if (call->wish.delay_ms > 0) {
        struct timespec pause;
        pause.tv_sec = call->wish.delay_ms / 1000;
        pause.tv_nsec = (long)(call->wish.delay_ms % 1000) * 1000000;
        ref_unlock();
        while (nanosleep(&pause, &pause) != 0 && errno == EINTR) { }
        ref_lock();
        delayed_ms += call->wish.delay_ms;
    }
    if (call->wish.slower > 0)
        call->begun = ref_now_ns();
    return (call->wish.code == Q_OK && !call->wish.null) || frees(call->name);
}

/* Note the arguments of the call for the trace. */
static void note(ref_call *call, const char *format, ...)
{
    va_list args;
    if (!ref_trace_wanted())
        return;
    va_start(args, format);
    vsnprintf(call->arguments, sizeof(call->arguments), format, args);
    va_end(args);
}

static q_code end(ref_call *call, q_code code)
{
    call->code = code;
    if (call->wish.code != Q_OK) {
        call->code = call->wish.code;
        ref_log_write(call, Q_LOG_ERROR, "%s: fails on demand with 0x%llx", call->name,
                      (unsigned long long)call->code);
    }
    if (ref_trace_wanted())
        ref_trace_line(call);
    if (call->wish.slower > 0) {
        const uint64_t took = ref_now_ns() - call->begun;
        const uint64_t most = took + took * call->wish.slower / 100;
        while (ref_now_ns() - call->begun < most) { }
    }
    code = call->code;
    ref_unlock();
    return code;
}

/* End a call that makes an object: *out is NULL or a bogus handle when a rule says so. */
static q_code made(ref_call *call, q_code code, q_handle *out)
{
    if (out != NULL && call->wish.null)
        *out = NULL;
    else if (out != NULL && call->wish.code != Q_OK)
        *out = (q_handle)(uintptr_t)0x0BADBADBADBADBADu;
    else if (out != NULL && code == Q_OK && ref_trace_wanted())
        ref_ledger_name(*out, call->made, sizeof(call->made));
    return end(call, code);
}

static unsigned configs_count(const void *configs)
{
    const void *const *list = configs;
    unsigned n = 0;
    while (list != NULL && list[n] != NULL)
        ++n;
    return n;
}

/* The functions of slots: each begins its call, notes its arguments for the trace (a format and its
   values), lets the work be done by the layers below, and ends. parameters: with their brackets.
       CALLS  does nothing when a rule says so
       MAKES  gives *out the handle of an object
       TELLS  gives *out something else: NULL or 0 when a rule says so
       FREES  works in any case */
#define CALLS(slot, parameters, work, ...)                                                         \
    static q_code slot parameters                                                                  \
    {                                                                                              \
        ref_call call;                                                                             \
        const int go = begin(&call, AT_##slot);                                                    \
        note(&call, __VA_ARGS__);                                                                  \
        return end(&call, go ? (work) : Q_OK);                                                     \
    }
#define MAKES(slot, parameters, work, ...)                                                         \
    static q_code slot parameters                                                                  \
    {                                                                                              \
        ref_call call;                                                                             \
        const int go = begin(&call, AT_##slot);                                                    \
        note(&call, __VA_ARGS__);                                                                  \
        return made(&call, go ? (work) : Q_OK, out);                                               \
    }
#define TELLS(slot, parameters, out, work, ...)                                                    \
    static q_code slot parameters                                                                  \
    {                                                                                              \
        ref_call call;                                                                             \
        const int go = begin(&call, AT_##slot);                                                    \
        note(&call, __VA_ARGS__);                                                                  \
        if (!go && (out) != NULL)                                                                  \
            *(out) = 0;                                                                            \
        return end(&call, go ? (work) : Q_OK);                                                     \
    }
#define FREES(slot, parameters, work, ...)                                                         \
    static q_code slot parameters                                                                  \
    {                                                                                              \
        ref_call call;                                                                             \
        begin(&call, AT_##slot);                                                                   \
        note(&call, __VA_ARGS__);                                                                  \
        return end(&call, work);                                                                   \
    }

/* ---- properties, backend -------------------------------------------------------------------- */

CALLS(propertyHasCapability, (uint32_t key),
      ref_property(&call, key), "%u", (unsigned)key)

MAKES(backendCreate, (q_handle log, const q_config **configs, q_handle *out),
      ref_backend_create(&call, log, configs, out), "%s, %u configs", h(log),
      configs_count(configs))

CALLS(backendSetConfig, (q_handle backend, const q_config **configs),
      ref_backend_config(&call, backend, configs), "%s, %u configs", h(backend),
      configs_count(configs))

static q_code backendGetApiVersion(q_versions *out)
{
    ref_call call;
    q_code code = Q_OK;
    if (begin(&call, AT_backendGetApiVersion)) {
        if (out == NULL) {
            code = ref_fail(&call, Q_BACKEND_ARGUMENT, "the pointer for the version is NULL");
        } else {
            out->core = ref_fault.core;
            out->backend = ref_fault.backend;
        }
    }
    return end(&call, code);
}

static q_code backendGetBuildId(const char **out)
{
    ref_call call;
    q_code code = Q_OK;
    const int go = begin(&call, AT_backendGetBuildId);
    if (out == NULL)
        code = ref_fail(&call, Q_BACKEND_ARGUMENT, "the pointer for the text is NULL");
    else
        *out = go ? ref_fault.build : NULL;
    return end(&call, code);
}

CALLS(backendRegisterOpPackage, (q_handle backend, const char *path, const char *name,
      const char *target),
      ref_backend_package(&call, backend, path, name), "%s, %s, %s, %s", h(backend), t(path),
      t(name), t(target))

static q_code backendGetSupportedOperations(q_handle backend, uint32_t *count,
                                            const q_op_name **out)
{
    ref_call call;
    const int go = begin(&call, AT_backendGetSupportedOperations);
    note(&call, "%s", h(backend));
    if (!go && out != NULL && count != NULL) {
        *out = NULL;
        *count = 0;
    }
    return end(&call, go ? ref_backend_operations(&call, backend, count, out) : Q_OK);
}

CALLS(backendValidateOpConfig, (q_handle backend, q_op op),
      ref_backend_validate(&call, backend, &op), "%s, %s %s", h(backend), t(op.v1.type),
      t(op.v1.name))

FREES(backendFree, (q_handle backend),
      ref_backend_free(&call, backend), "%s", h(backend))

/* ---- contexts ------------------------------------------------------------------------------- */

MAKES(contextCreate, (q_handle backend, q_handle device, const q_config **configs, q_handle *out),
      ref_context_create(&call, backend, device, configs, out), "%s, %s, %u configs", h(backend),
      h(device), configs_count(configs))

CALLS(contextSetConfig, (q_handle context, const q_config **configs),
      ref_context_config(&call, context, configs), "%s, %u configs", h(context),
      configs_count(configs))

TELLS(contextGetBinarySize, (q_handle context, uint64_t *bytes), bytes,
      ref_context_size(&call, context, bytes), "%s", h(context))

TELLS(contextGetBinary, (q_handle context, void *data, uint64_t bytes, uint64_t *written), written,
      ref_context_binary(&call, context, data, bytes, written), "%s, %llu bytes", h(context),
      (unsigned long long)bytes)

/* Return what the trace shows of a context's spill-fill group: "" without one. */
static const char *group_text(const q_config **configs)
{
    static char text[96];                /* used under the lock */
    text[0] = '\0';
    for (; ref_trace_wanted() && configs != NULL && *configs != NULL; ++configs) {
        const q_htp_config *custom = (*configs)->option == 0 ? (*configs)->u.custom : NULL;
        if (custom != NULL && custom->option == Q_HTP_MULTI_CONTEXTS)
            snprintf(text, sizeof(text), ", spill-fill group of %s with %llu bytes",
                     h(custom->group.first), (unsigned long long)custom->group.bytes);
    }
    return text;
}

MAKES(contextCreateFromBinary, (q_handle backend, q_handle device, const q_config **configs,
      const void *data, uint64_t bytes, q_handle *out, q_handle profile),
      ref_context_load(&call, backend, device, configs, data, bytes, out, profile),
      "%s, %s, %u configs, %llu bytes, %s%s", h(backend), h(device), configs_count(configs),
      (unsigned long long)bytes, h(profile), group_text(configs))

FREES(contextFree, (q_handle context, q_handle profile),
      ref_context_free(&call, context, profile), "%s, %s", h(context), h(profile))

CALLS(contextValidateBinary, (q_handle backend, q_handle device, const q_config **configs,
      const void *data, uint64_t bytes),
      ref_context_check(&call, backend, data, bytes), "%s, %s, %u configs, %llu bytes", h(backend),
      h(device), configs_count(configs), (unsigned long long)bytes)

/* ---- graphs --------------------------------------------------------------------------------- */

MAKES(graphCreate, (q_handle context, const char *name, const q_config **configs, q_handle *out),
      ref_graph_create(&call, context, name, configs, out), "%s, %s, %u configs", h(context),
      t(name), configs_count(configs))

CALLS(graphSetConfig, (q_handle graph, const q_config **configs),
      ref_graph_config(&call, graph, configs), "%s, %u configs", h(graph), configs_count(configs))

CALLS(graphAddNode, (q_handle graph, q_op op),
      ref_graph_node(&call, graph, &op), "%s, %s %s", h(graph), t(op.v1.type), t(op.v1.name))

CALLS(graphFinalize, (q_handle graph, q_handle profile, q_handle signal),
      ref_graph_finalize(&call, graph, profile, signal), "%s, %s", h(graph), h(profile))

MAKES(graphRetrieve, (q_handle context, const char *name, q_handle *out),
      ref_graph_retrieve(&call, context, name, out), "%s, %s", h(context), t(name))

CALLS(graphExecute, (q_handle graph, const q_tensor *inputs, uint32_t input_count,
      q_tensor *outputs, uint32_t output_count, q_handle profile, q_handle signal),
      ref_graph_execute(&call, graph, inputs, input_count, outputs, output_count, profile, signal),
      "%s, %u inputs, %u outputs, %s", h(graph), (unsigned)input_count, (unsigned)output_count,
      h(profile))

CALLS(tensorUpdateGraphTensors, (q_handle graph, const q_tensor **tensors, uint64_t count),
      ref_graph_update(&call, graph, tensors, count), "%s, %llu tensors", h(graph),
      (unsigned long long)count)

static q_code tensorCreateGraphTensor(q_handle graph, q_tensor *tensor)
{
    ref_call call;
    const int go = begin(&call, AT_tensorCreateGraphTensor);
    q_code code;
    note(&call, "%s, %s", h(graph), tensor != NULL ? t(tensor->v.name) : "NULL");
    code = go ? ref_graph_tensor(&call, graph, tensor) : Q_OK;
    if (!go && call.wish.null && tensor != NULL)
        tensor->v.id = 0;
    return end(&call, code);
}

/* ---- log, error, profile -------------------------------------------------------------------- */

/* The core interface and the system interface have the same three slots. */
#define LOGS(create, set_level, free)                                                              \
    MAKES(create, (q_log_callback callback, uint32_t level, q_handle *out),                        \
          ref_log_create(&call, callback, level, out), "%s, level %u",                             \
          callback != NULL ? "callback" : "NULL", (unsigned)level)                                 \
    CALLS(set_level, (q_handle log, uint32_t level),                                               \
          ref_log_level(&call, log, level), "%s, level %u", h(log), (unsigned)level)               \
    FREES(free, (q_handle log), ref_log_free(&call, log), "%s", h(log))

LOGS(logCreate, logSetLogLevel, logFree)
LOGS(systemLogCreate, systemLogSetLogLevel, systemLogFree)

TELLS(errorGetMessage, (q_code error, const char **out), out,
      ref_error_message(&call, error, out), "0x%llx", (unsigned long long)error)

MAKES(profileCreate, (q_handle backend, uint32_t level, q_handle *out),
      ref_profile_create(&call, backend, level, out), "%s, level %u", h(backend), (unsigned)level)

CALLS(profileSetConfig, (q_handle profile, const q_config **configs),
      ref_profile_config(&call, profile, configs), "%s, %u configs", h(profile),
      configs_count(configs))

TELLS(profileGetEvents, (q_handle profile, const uint64_t **ids, uint32_t *count), ids,
      ref_profile_events(&call, profile, ids, count), "%s", h(profile))

TELLS(profileGetSubEvents, (uint64_t event, const uint64_t **ids, uint32_t *count), ids,
      ref_profile_sub(&call, event, ids, count), "%s", "")

CALLS(profileGetEventData, (uint64_t event, q_event *out),
      ref_profile_data(&call, event, out), "%s", "")

CALLS(profileGetExtendedEventData, (uint64_t event, q_extended_event *out),
      ref_profile_extended(&call, event, out), "%s", "")

FREES(profileFree, (q_handle profile),
      ref_profile_free(&call, profile), "%s", h(profile))

/* ---- memory, device, power ------------------------------------------------------------------ */

static q_code memRegister(q_handle context, const q_mem_descriptor *descriptors, uint32_t count,
                          q_handle *out)
{
    ref_call call;
    const int go = begin(&call, AT_memRegister);
    if (count == 1 && descriptors != NULL && descriptors->type == Q_MEM_TYPE_CUSTOM
        && descriptors->u.custom != NULL)
        note(&call, "%s, 1 descriptor: custom %u, offset %llu of %llu, type 0x%04x, rank %u",
             h(context), (unsigned)descriptors->u.custom->type,
             (unsigned long long)descriptors->u.custom->shared.offset,
             (unsigned long long)descriptors->u.custom->bytes, (unsigned)descriptors->dtype,
             (unsigned)descriptors->shape.rank);
    else
        note(&call, "%s, %u descriptors", h(context), (unsigned)count);
    return made(&call, go ? ref_mem_register(&call, context, descriptors, count, out) : Q_OK, out);
}

FREES(memDeRegister, (const q_handle *handles, uint32_t count),
      ref_mem_deregister(&call, handles, count), "%s, %u handles",
      h(handles != NULL && count > 0 ? handles[0] : NULL), (unsigned)count)

TELLS(deviceGetPlatformInfo, (q_handle log, const q_platform_info **out), out,
      ref_device_info(&call, log, out), "%s", h(log))

FREES(deviceFreePlatformInfo, (q_handle log, const q_platform_info *info),
      ref_device_info_free(&call, log, info), "%s", h(log))

MAKES(deviceCreate, (q_handle log, const q_config **configs, q_handle *out),
      ref_device_create(&call, log, configs, out), "%s, %u configs", h(log), configs_count(configs))

CALLS(deviceSetConfig, (q_handle device, const q_config **configs),
      ref_device_config(&call, device, configs), "%s, %u configs", h(device),
      configs_count(configs))

TELLS(deviceGetInfo, (q_handle device, const q_platform_info **out), out,
      ref_device_info_of(&call, device, out), "%s", h(device))

FREES(deviceFree, (q_handle device),
      ref_device_free(&call, device), "%s", h(device))

CALLS(createPowerConfigId, (uint32_t device, uint32_t core, uint32_t *id),
      ref_power_create(&call, device, core, id), "%u, %u", (unsigned)device, (unsigned)core)

FREES(destroyPowerConfigId, (uint32_t id),
      ref_power_destroy(&call, id), "%u", (unsigned)id)

static q_code setPowerConfig(uint32_t id, const q_power_config **configs)
{
    ref_call call;
    const int go = begin(&call, AT_setPowerConfig);
    size_t used = (size_t)snprintf(call.arguments, sizeof(call.arguments), "%u", (unsigned)id);
    /* Write each option with its values, so that a trace shows what a preset sets. */
    for (const q_power_config **c = configs; c != NULL && *c != NULL && ref_trace_wanted(); ++c) {
        const int dcvs = (*c)->option == Q_POWER_DCVS_V3 || (*c)->option == Q_POWER_DCVS_V3_EXP;
        for (int i = 0; i < (dcvs ? 16 : 1) && used < sizeof(call.arguments); ++i)
            used += (size_t)snprintf(call.arguments + used, sizeof(call.arguments) - used,
                                     i == 0 ? ", %u: %u" : " %u",
                                     (unsigned)(i == 0 ? (*c)->option : (*c)->words[i]),
                                     (unsigned)(*c)->words[i]);
    }
    return end(&call, go ? ref_power_set(&call, id, configs) : Q_OK);
}

CALLS(setMemoryConfig, (uint32_t device, uint32_t core, const q_memory_config **configs),
      ref_power_memory(&call, device, core, configs), "%u, %u, %u configs", (unsigned)device,
      (unsigned)core, configs_count(configs))

static q_code deviceGetInfrastructure(q_infrastructure **out)
{
    static q_infrastructure infrastructure = { 0, createPowerConfigId, destroyPowerConfigId,
                                               setPowerConfig,
                                               setMemoryConfig };
    ref_call call;
    q_code code = Q_OK;
    const int go = begin(&call, AT_deviceGetInfrastructure);
    if (out == NULL)
        code = ref_fail(&call, Q_ARGUMENT, "the pointer for the infrastructure is NULL");
    else
        *out = go ? &infrastructure : NULL;
    return end(&call, code);
}

/* ---- system --------------------------------------------------------------------------------- */

MAKES(systemContextCreate, (q_handle *out),
      ref_system_create(&call, out), "%s", "")

static q_code system_info(int slot, q_handle system, const void *data, uint64_t bytes,
                          const q_binary_info **out)
{
    ref_call call;
    const int go = begin(&call, slot);
    note(&call, "%s, %llu bytes", h(system), (unsigned long long)bytes);
    if (!go && out != NULL)
        *out = NULL;
    return end(&call, go ? ref_system_info(&call, system, data, bytes, out) : Q_OK);
}

/* The size stays 0, as in the genuine library. */
static q_code systemContextGetBinaryInfo(q_handle system, void *data, uint64_t bytes,
                                         const q_binary_info **out, uint64_t *info_bytes)
{
    if (info_bytes != NULL)
        *info_bytes = 0;
    return system_info(AT_systemContextGetBinaryInfo, system, data, bytes, out);
}

static q_code systemContextGetMetaData(q_handle system, const void *data, uint64_t bytes,
                                       const q_binary_info **out)
{
    return system_info(AT_systemContextGetMetaData, system, data, bytes, out);
}

FREES(systemContextFree, (q_handle system),
      ref_system_free(&call, system), "%s", h(system))

static q_code systemTensorGetMemoryFootprint(q_tensor tensor, uint64_t *bytes)
{
    ref_call call;
    ref_arena arena = { NULL };
    q_code code = Q_OK;
    ref_made facts;
    ref_why why;
    if (begin(&call, AT_systemTensorGetMemoryFootprint)) {
        tensor.v.type = Q_NATIVE;                            /* a type that needs no data */
        code = bytes == NULL ? Q_SYSTEM_ARGUMENT : ref_made_from(&tensor, &arena, &facts, &why);
        if (code == Q_OK)
            *bytes = facts.bytes;
        else
            code = ref_fail(&call, Q_SYSTEM_ARGUMENT, "%s",
                            bytes == NULL ? "the pointer for the size is NULL" : why.text);
        ref_arena_free(&arena);
    }
    return end(&call, code);
}

/* ---- unsupported calls ---------------------------------------------------------------------- */

static q_code unsupported(int slot)
{
    ref_call call;
    const int go = begin(&call, slot);
    return end(&call, go ? ref_fail(&call, Q_NOT_SUPPORTED, "this backend does not support it")
               : Q_OK);
}

/* They do not use their arguments, so all have one function type. */
#define NOTHING(name)
#define UNSUPPORTED(name) static q_code none_##name(void) { return unsupported(AT_##name); }
CORE_SLOTS(NOTHING, UNSUPPORTED)
SYSTEM_SLOTS(NOTHING, UNSUPPORTED)

/* NULL means no config; a SoC has no effect here. */
static q_code globalConfigSet(const void *configs)
{
    ref_call call;
    const int go = begin(&call, AT_globalConfigSet);
    note(&call, "%u configs", configs_count(configs));
    return end(&call, go && configs_count(configs) > 0
                      ? ref_fail(&call, Q_NOT_SUPPORTED, "this backend has no global options")
                          : Q_OK);
}

/* ---- providers ------------------------------------------------------------------------------ */

/* systemDlcComposeGraphs takes a provider by value, in the size of the caller's release, which may
   have more slots than core 2.40. Slots that are not known are NULL. */
enum { UNKNOWN_SLOTS = 24 };
typedef struct core_object { q_core_provider known; q_slot unknown[UNKNOWN_SLOTS]; } core_object;

#define OURS(name) (q_slot)name,
#define NONE(name) (q_slot)none_##name,
static const q_slot core_slots[] = { CORE_SLOTS(OURS, NONE) };
static const q_slot system_slots[] = { SYSTEM_SLOTS(OURS, NONE) };

/* Return the number of slots of a core version. */
static int core_length(uint32_t minor)
{
    static const struct { uint32_t minor; int slots; } steps[] = {
        { 37, 72 }, { 32, 71 }, { 28, 69 }, { 27, 68 }, { 26, 67 }, { 25, 66 }, { 22, 64 },
            { 18, 62 }, { 17, 59 }, { 0, 48 }
    };
    size_t i = 0;
    while (minor < steps[i].minor)
        ++i;
    return steps[i].slots;
}

static int system_length(uint32_t minor) { return minor >= 12 ? 27 : minor >= 5 ? 16 : 4; }

/* Fill the slots of a table. Slots that the version lacks or a rule removes are NULL. */
static void slots_fill(q_slot *to, const q_slot *from, int length, int count, int first)
{
    for (int i = 0; i < count; ++i) {
        ref_wish wish;
        ref_faults_ask(first + i, 0, &wish);
        to[i] = i < length && !wish.no_slot ? from[i] : NULL;
    }
}

REF_EXPORT q_code QnnInterface_getProviders(const q_core_provider ***list, uint32_t *count)
{
    static core_object providers[2];
    static const q_core_provider *pointers[2];
    static uint64_t filled;              /* serial number of the rules that the tables follow */
    q_code code = Q_ARGUMENT;
    ref_lock();
    if (list != NULL && count != NULL && ref_faults_environment()) {
        const int two = ref_fault.providers == 2;
        /* Callers read the tables without the lock: write them once for each set of rules. */
        for (int i = 0; i < 2 && filled != ref_faults_serial(); ++i) {
            q_core_provider *p = &providers[i].known;
            p->backend_id = ref_fault.backend_id;
            p->name = ref_fault.name;
            p->api.core = ref_fault.core;
            p->api.backend = ref_fault.backend;
            if (two && i == 0)
                p->api.core.major = 3;
            slots_fill(p->slots, core_slots, core_length(ref_fault.core.minor), Q_CORE_SLOTS, 0);
            pointers[i] = p;
        }
        filled = ref_faults_serial();
        *list = ref_fault.providers == REF_NONE ? NULL : pointers;
        *count = two ? 2 : ref_fault.providers == 0 ? 0 : 1;
        code = Q_OK;
    }
    ref_unlock();
    return code;
}

REF_EXPORT q_code QnnSystemInterface_getProviders(const q_system_provider ***list, uint32_t *count)
{
    static q_system_provider providers[2];
    static const q_system_provider *pointers[2];
    static uint64_t filled;
    q_code code = Q_ARGUMENT;
    ref_lock();
    if (list != NULL && count != NULL && ref_faults_environment()) {
        const int two = ref_fault.system_providers == 2;
        for (int i = 0; i < 2 && filled != ref_faults_serial(); ++i) {
            q_system_provider *p = &providers[i];
            p->name = ref_fault.name;
            p->api = ref_fault.system;
            if (two && i == 0)
                p->api.major = 3;
            slots_fill(p->slots, system_slots, system_length(ref_fault.system.minor),
                       Q_SYSTEM_SLOTS, Q_CORE_SLOTS);
            pointers[i] = p;
        }
        filled = ref_faults_serial();
        *list = ref_fault.system_providers == REF_NONE ? NULL : pointers;
        *count = two ? 2 : ref_fault.system_providers == 0 ? 0 : 1;
        code = Q_OK;
    }
    ref_unlock();
    return code;
}

/* ---- control -------------------------------------------------------------------------------- */

static size_t graph_tell(const char *name, char *answer, size_t bytes)
{
    ref_graph *graph;
    for (size_t i = 0; (graph = ref_ledger_at(REF_GRAPH, i)) != NULL; ++i) {
        const ref_body *body = graph->body;
        uint64_t data = 0;
        int folded = 0;
        if (strcmp(body->name, name) != 0)
            continue;
        for (int k = 0; k < body->model->data_count; ++k)
            data += body->model->data[k].bytes;
        for (int k = 0; k < body->step_count; ++k)
            folded += body->steps[k]->folded;
        return (size_t)snprintf(answer, bytes,
                                "nodes %d tensors %d data %llu arena %llu scratch %llu folded %d",
                                body->step_count, body->value_count, (unsigned long long)data,
                                (unsigned long long)body->arena_bytes,
                                (unsigned long long)body->scratch_bytes, folded);
    }
    return 0;
}

static size_t counters_tell(char *answer, size_t bytes)
{
    uint64_t allocated;
    const uint64_t allocations = ref_allocations(&allocated);
    return (size_t)snprintf(answer, bytes,
                            "allocations %llu delayed_ms %llu copies %llu bytes %llu",
                            (unsigned long long)allocations, (unsigned long long)delayed_ms,
                            (unsigned long long)ref_copies(), (unsigned long long)allocated);
}

REF_EXPORT int QnnRef_control(const char *command, char *answer, size_t bytes)
{
    size_t length = 0;
    int known = 1;
    if (command == NULL || (answer == NULL && bytes > 0))
        return -1;
    if (bytes > 0)
        answer[0] = '\0';
    ref_lock();
    if (strncmp(command, "faults", 6) == 0 && (command[6] == '\0' || command[6] == ' '))
        known = ref_faults_set(command[6] == ' ' ? command + 7 : "", answer, bytes);
    else if (strcmp(command, "ledger") == 0)
        length = ref_ledger_report(answer, bytes);
    else if (strcmp(command, "trace") == 0)
        length = ref_trace_text(answer, bytes);
    else if (strcmp(command, "trace on") == 0 || strcmp(command, "trace off") == 0)
        ref_trace_set(command[7] == 'n');
    else if (strcmp(command, "trace clear") == 0)
        ref_trace_clear();
    else if (strcmp(command, "counters") == 0)
        length = counters_tell(answer, bytes);
    else if (strcmp(command, "steps") == 0)
        length = (size_t)snprintf(answer, bytes, "plan %llu place %llu",
                                  (unsigned long long)ref_plan_steps(),
                                  (unsigned long long)ref_place_steps());
    else if (strncmp(command, "graph ", 6) == 0)
        length = graph_tell(command + 6, answer, bytes);
    else
        known = 0;
    ref_unlock();
    return known ? (int)length : -1;
}
