/* empty_qnn.c - a backend whose functions return success at once, for bench_exec.c

   Both libraries in one shared object. Its "binary" holds two graphs: "small" with 1 input and
   1 output, "wide" with 40 of each, every tensor one byte. Nothing is read, checked or written. */
#include "qnn_raw.h"

enum { WIDE = 40 };

static const uint32_t one[1] = { 1 };
static char           names[2][2 * WIDE][4];
static raw_tensor     tensors[2][2 * WIDE];
static raw_graph_info graphs[2];
static raw_binary_info info;
static raw_provider   provider;
static raw_system_provider system_provider;
static int            object;              /* its address is the value of all handles */

static void fill_graph(int g, const char *name, uint32_t count)
{
    uint32_t i;
    for (i = 0; i < 2 * count; ++i) {
        raw_tensor *t = &tensors[g][i];
        names[g][i][0] = i < count ? 'i' : 'o';
        names[g][i][1] = (char)('0' + i % count / 10);
        names[g][i][2] = (char)('0' + i % count % 10);
        t->version = 1;
        t->v.id = i + 1;
        t->v.name = names[g][i];
        t->v.type = i < count ? RAW_INPUT : RAW_OUTPUT;
        t->v.dtype = 0x0108;
        t->v.quant.defined = t->v.quant.encoding = RAW_UNDEFINED;
        t->v.rank = 1;
        t->v.dims = one;
    }
    graphs[g].version = 1;
    graphs[g].v.name = name;
    graphs[g].v.input_count = graphs[g].v.output_count = count;
    graphs[g].v.inputs = tensors[g];
    graphs[g].v.outputs = tensors[g] + count;
}

static raw_code answer_handle(raw_handle *out) { *out = &object; return 0; }
static raw_code backend_create(raw_handle log, const void **config, raw_handle *out) { (void)log; (void)config; return answer_handle(out); }
static raw_code backend_build_id(const char **out) { *out = "v2.51.0.0"; return 0; }
static raw_code free_handle(raw_handle handle) { (void)handle; return 0; }
static raw_code log_create(void *callback, uint32_t level, raw_handle *out) { (void)callback; (void)level; return answer_handle(out); }
static raw_code context_from_binary(raw_handle backend, raw_handle device, const void **config, const void *data, uint64_t bytes,
                                    raw_handle *out, raw_handle profile)
{
    (void)backend; (void)device; (void)config; (void)data; (void)bytes; (void)profile;
    return answer_handle(out);
}
static raw_code context_free(raw_handle context, raw_handle profile) { (void)context; (void)profile; return 0; }
static raw_code graph_retrieve(raw_handle context, const char *name, raw_handle *out) { (void)context; (void)name; return answer_handle(out); }
static raw_code graph_execute(raw_handle graph, const raw_tensor *inputs, uint32_t input_count, raw_tensor *outputs,
                              uint32_t output_count, raw_handle profile, raw_handle signal)
{
    (void)graph; (void)inputs; (void)input_count; (void)outputs; (void)output_count; (void)profile; (void)signal;
    return 0;
}

static raw_code system_create(raw_handle *out) { return answer_handle(out); }
static raw_code system_info(raw_handle handle, void *data, uint64_t bytes, const raw_binary_info **out, uint64_t *size)
{
    (void)handle; (void)data; (void)bytes;
    *out = &info;
    *size = 0;
    return 0;
}

raw_code QnnInterface_getProviders(const raw_provider ***list, uint32_t *count);
raw_code QnnSystemInterface_getProviders(const raw_system_provider ***list, uint32_t *count);

raw_code QnnInterface_getProviders(const raw_provider ***list, uint32_t *count)
{
    static const raw_provider *all[1] = { &provider };
    raw_slot *slots = provider.slots;
    provider.id = 6;
    provider.name = "EMPTY";
    provider.core.major = 2;
    provider.core.minor = 40;
    provider.backend.major = 5;
    slots[RAW_BACKEND_CREATE]      = (raw_slot)backend_create;
    slots[RAW_BACKEND_BUILD_ID]    = (raw_slot)backend_build_id;
    slots[RAW_BACKEND_FREE]        = (raw_slot)free_handle;
    slots[RAW_CONTEXT_FROM_BINARY] = (raw_slot)context_from_binary;
    slots[RAW_CONTEXT_FREE]        = (raw_slot)context_free;
    slots[RAW_GRAPH_RETRIEVE]      = (raw_slot)graph_retrieve;
    slots[RAW_GRAPH_EXECUTE]       = (raw_slot)graph_execute;
    slots[RAW_LOG_CREATE]          = (raw_slot)log_create;
    slots[RAW_LOG_FREE]            = (raw_slot)free_handle;
    /* Both functions have the same type. */
    slots[RAW_DEVICE_CREATE]       = (raw_slot)backend_create;
    slots[RAW_DEVICE_FREE]         = (raw_slot)free_handle;
    *list = all;
    *count = 1;
    return 0;
}

raw_code QnnSystemInterface_getProviders(const raw_system_provider ***list, uint32_t *count)
{
    static const raw_system_provider *all[1] = { &system_provider };
    raw_slot *slots = system_provider.slots;
    fill_graph(0, "small", 1);
    fill_graph(1, "wide", WIDE);
    info.version = 3;
    info.v.backend_id = 6;
    info.v.build_id = "v2.51.0.0";
    info.v.core.major = 2;
    info.v.core.minor = 40;
    info.v.soc = "";
    info.v.graph_count = 2;
    info.v.graphs = graphs;
    system_provider.name = "EMPTY";
    system_provider.version.major = 1;
    system_provider.version.minor = 15;
    slots[RAW_SYSTEM_CREATE]      = (raw_slot)system_create;
    slots[RAW_SYSTEM_BINARY_INFO] = (raw_slot)system_info;
    slots[RAW_SYSTEM_FREE]        = (raw_slot)free_handle;
    *list = all;
    *count = 1;
    return 0;
}
