/* errors.c - results and log lines of the genuine libraries for errors, and their explanations

       real_errors RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   Each case provokes one error in a child of its own, because libraries crash on some of them:
   through qnnrt unless qnnrt refuses the call, else through the vendor's own interface. The code
   must be the known one, and the code and the first line that the library logged must have
   entries. */
#include "real.h"
#include "qnnrt_explain.h"
#include "../bench/qnn_raw.h"
#include <dlfcn.h>

/* ---- the vendor's interface ------------------------------------------------------------------- */

typedef struct answer {             /* what a child sends to its parent */
    raw_code     code;
    int          lines;             /* number of warnings and errors */
    uint32_t     level;             /* level of the first error, else of the first warning */
    char         first[512];
    qnnrt_result result;            /* result of a call of qnnrt     */
    qnnrt_error  err;
} answer;

static answer *told;                /* shared with the child */

static struct {
    const raw_provider *provider;
    raw_handle log, backend, device, context, graph;
    void      *binary;
    size_t     bytes;
    raw_tensor input, output;       /* with a buffer of the right size */
} raw;

#define CALL(slot, type) ((type)raw.provider->slots[slot])

static void hear(const char *format, uint32_t level, uint64_t time, va_list args)
{
    char line[512];
    size_t length;
    (void)time;
    vsnprintf(line, sizeof line, format, args);
    for (length = strlen(line); length > 0 && line[length - 1] == '\n';) line[--length] = '\0';
    printf("    %u %s\n", (unsigned)level, line);
    if (level > QNNRT_LOG_WARN || line[0] == '\0') return;
    if (told->lines++ > 0 && !(told->level == QNNRT_LOG_WARN && level == QNNRT_LOG_ERROR)) return;
    told->level = level;
    memcpy(told->first, line, sizeof line);
}

static int raw_load(const char *path)
{
    const raw_provider **list = NULL;
    uint32_t count = 0;
    raw_get_providers get;
    void *symbol, *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) { printf("%s\n", dlerror()); return 0; }
    symbol = dlsym(library, "QnnInterface_getProviders");
    memcpy((void *)&get, (void *)&symbol, sizeof get);
    if (get == NULL || get(&list, &count) != 0 || count == 0) return 0;
    raw.provider = list[0];
    return 1;
}

static int begin_named(const char *name)
{
    char path[1024];
    return raw_load(real_library(path, name));
}

static int begin_log(void)
{
    void *callback;
    void (*function)(const char *, uint32_t, uint64_t, va_list) = hear;
    memcpy((void *)&callback, (void *)&function, sizeof callback);
    return CALL(RAW_LOG_CREATE, raw_log_create)(callback, QNNRT_LOG_WARN, &raw.log) == 0;
}

static raw_code create_backend(void) { return CALL(RAW_BACKEND_CREATE, raw_backend_create)(raw.log, NULL, &raw.backend); }

static int begin_library(void) { return begin_named("libQnnHtp.so"); }
static int begin_backend(void) { return begin_library() && begin_log() && create_backend() == 0; }
static int begin_gpu(void)     { return begin_named("libQnnGpu.so") && begin_log(); }
static int begin_cpu(void)     { return begin_named("libQnnCpu.so") && begin_log() && create_backend() == 0; }

static int begin_saver(void)
{
    /* It makes a folder in the current one. */
    if (!begin_named("libQnnSaver.so") || chdir(test_tmpdir()) != 0) return 0;
    return begin_log() && create_backend() == 0 &&
           CALL(RAW_CONTEXT_CREATE, raw_context_create)(raw.backend, NULL, NULL, &raw.context) == 0;
}

static int begin_cpu_graph(void)
{
    return begin_cpu() && CALL(RAW_CONTEXT_CREATE, raw_context_create)(raw.backend, NULL, NULL, &raw.context) == 0 &&
           CALL(RAW_GRAPH_CREATE, raw_graph_create)(raw.context, "new", NULL, &raw.graph) == 0;
}

static int begin_device(void)
{
    return begin_backend() && CALL(RAW_DEVICE_CREATE, raw_device_create)(raw.log, NULL, &raw.device) == 0;
}

static int begin_binary(void)
{
    char path[1024];
    raw.binary = test_read_file(real_join(path, test_arg(1), "ctx/qairt2.47/mlp_u8/forward_0.bin"), &raw.bytes);
    return begin_device() && raw.binary != NULL;
}

static void raw_from_info(raw_tensor *to, const qnnrt_tensor_info *info)
{
    memset(to, 0, sizeof *to);
    to->version = 1;
    to->v.id = info->id;
    to->v.name = info->name;
    to->v.type = info->vendor_type;
    to->v.dtype = (uint32_t)info->dtype;
    to->v.rank = info->rank;
    to->v.dims = info->dims;
    to->v.data_size = (uint32_t)info->bytes;
    to->v.data = calloc(1, info->bytes);
}

/* Make a context from a binary, its graph, and the tensors that its metadata lists. */
static int begin_context(void)
{
    char path[1024], folder[1024];
    qnnrt_desc desc;
    qnnrt *model;
    qnnrt_error err;
    const qnnrt_graph_info *graph;
    if (!begin_binary()) return 0;
    memset(&desc, 0, sizeof desc);
    desc.system_path = real_library(path, "libQnnSystem.so");
    desc.inspect = 1;
    if (qnnrt_open(real_join(folder, test_arg(1), "ctx/qairt2.47/mlp_u8"), &desc, &model, &err) != QNNRT_OK) {
        printf("%s\n", err.text);
        return 0;
    }
    graph = &qnnrt_get_info(model)->contexts->graphs[0];
    raw_from_info(&raw.input, &graph->inputs[0]);
    raw_from_info(&raw.output, &graph->outputs[0]);
    return CALL(RAW_CONTEXT_FROM_BINARY, raw_context_from_binary)(raw.backend, raw.device, NULL, raw.binary, raw.bytes,
                                                                   &raw.context, NULL) == 0 &&
           CALL(RAW_GRAPH_RETRIEVE, raw_graph_retrieve)(raw.context, graph->name, &raw.graph) == 0;
}

static int begin_new_graph(void)
{
    return begin_device() &&
           CALL(RAW_CONTEXT_CREATE, raw_context_create)(raw.backend, raw.device, NULL, &raw.context) == 0 &&
           CALL(RAW_GRAPH_CREATE, raw_graph_create)(raw.context, "new", NULL, &raw.graph) == 0;
}

/* ---- execute ------------------------------------------------------------------------------------ */

static raw_code execute(void)
{
    return CALL(RAW_GRAPH_EXECUTE, raw_graph_execute)(raw.graph, &raw.input, 1, &raw.output, 1, NULL, NULL);
}

static raw_code input_is_null(void)      { raw.input.v.data = NULL; return execute(); }
static raw_code output_is_null(void)     { raw.output.v.data = NULL; return execute(); }
static raw_code input_is_empty(void)     { raw.input.v.data_size = 0; return execute(); }
static raw_code output_is_empty(void)    { raw.output.v.data_size = 0; return execute(); }
static raw_code input_id_unknown(void)   { raw.input.v.id = 9999; return execute(); }
static raw_code output_id_unknown(void)  { raw.output.v.id = 9999; return execute(); }
static raw_code graph_is_null(void)      { raw.graph = NULL; return execute(); }
static raw_code graph_is_bogus(void)     { raw.graph = (raw_handle)0x1234; return execute(); }
static raw_code memhandle_is_null(void)  { raw.input.v.mem_type = 1; raw.input.v.data = NULL; return execute(); }

static raw_code input_wrong_dims(void)
{
    static const uint32_t dims[2] = { 3, 5 };
    raw.input.v.rank = 2;
    raw.input.v.dims = dims;
    return execute();
}

static raw_code no_inputs(void)
{
    return CALL(RAW_GRAPH_EXECUTE, raw_graph_execute)(raw.graph, &raw.input, 0, &raw.output, 1, NULL, NULL);
}

static raw_code one_input_twice(void)
{
    raw_tensor two[2];
    two[0] = two[1] = raw.input;
    return CALL(RAW_GRAPH_EXECUTE, raw_graph_execute)(raw.graph, two, 2, &raw.output, 1, NULL, NULL);
}

static raw_code context_is_gone(void)
{
    CALL(RAW_CONTEXT_FREE, raw_context_free)(raw.context, NULL);
    return execute();
}

static raw_code profile_is_bogus(void)
{
    return CALL(RAW_GRAPH_EXECUTE, raw_graph_execute)(raw.graph, &raw.input, 1, &raw.output, 1, (raw_handle)0x1234, NULL);
}

static raw_code signal_is_bogus(void)
{
    return CALL(RAW_GRAPH_EXECUTE, raw_graph_execute)(raw.graph, &raw.input, 1, &raw.output, 1, NULL, (raw_handle)0x1234);
}

/* ---- contexts from binaries --------------------------------------------------------------------- */

static raw_code from_binary(const void *data, size_t bytes)
{
    return CALL(RAW_CONTEXT_FROM_BINARY, raw_context_from_binary)(raw.backend, raw.device, NULL, data, bytes, &raw.context,
                                                                  NULL);
}

static raw_code binary_is_null(void)   { return from_binary(NULL, raw.bytes); }
static raw_code binary_is_empty(void)  { return from_binary(raw.binary, 0); }
static raw_code binary_is_byte(void)   { return from_binary(raw.binary, 1); }
static raw_code binary_is_head(void)   { return from_binary(raw.binary, 4096); }
static raw_code binary_lacks_end(void) { return from_binary(raw.binary, raw.bytes - 4096); }
static raw_code binary_is_zeros(void)  { memset(raw.binary, 0, raw.bytes); return from_binary(raw.binary, raw.bytes); }
static raw_code backend_is_null(void)  { raw.backend = NULL; return from_binary(raw.binary, raw.bytes); }

static raw_code binary_file(const char *name)
{
    char path[1024];
    size_t bytes = 0;
    void *data = test_read_file(real_join(path, test_arg(1), name), &bytes);
    return from_binary(data, bytes);
}

static raw_code binary_is_newer(void)  { return binary_file("ctx/qairt2.51/mlp_u8/forward_0.bin"); }
static raw_code weights_are_shared(void) { return binary_file("llm/bad_weight_shared/forward_0.bin"); }

static raw_code retrieve(const char *name)
{
    return CALL(RAW_GRAPH_RETRIEVE, raw_graph_retrieve)(raw.context, name, &raw.graph);
}

static raw_code graph_unknown(void)    { return retrieve("no such graph"); }
static raw_code context_is_bogus(void) { raw.context = (raw_handle)0x1234; return retrieve("x"); }
static raw_code context_is_null(void)  { raw.context = NULL; return retrieve("x"); }

static raw_code context_freed_twice(void)
{
    CALL(RAW_CONTEXT_FREE, raw_context_free)(raw.context, NULL);
    return CALL(RAW_CONTEXT_FREE, raw_context_free)(raw.context, NULL);
}

static raw_code binary_of_a_loaded(void)
{
    uint64_t bytes = 0, written = 0;
    void *data;
    raw_code code = CALL(RAW_CONTEXT_BINARY_SIZE, raw_context_binary_size)(raw.context, &bytes);
    if (code != 0) return code;
    data = malloc(bytes);
    return CALL(RAW_CONTEXT_BINARY, raw_context_binary)(raw.context, data, bytes, &written);
}

static raw_code graph_in_a_loaded(void)
{
    return CALL(RAW_GRAPH_CREATE, raw_graph_create)(raw.context, "another", NULL, &raw.graph);
}

static raw_code finalize(void)
{
    return CALL(RAW_GRAPH_FINALIZE, raw_graph_finalize)(raw.graph, NULL, NULL);
}

static raw_code tensor_in_a_loaded(void)
{
    static uint32_t dims[1] = { 4 };
    raw_tensor tensor = raw.input;
    tensor.v.name = "more";
    tensor.v.data = NULL;
    tensor.v.data_size = 0;
    tensor.v.rank = 1;
    tensor.v.dims = dims;
    tensor.v.dtype = RAW_F32;
    return CALL(RAW_GRAPH_TENSOR, raw_graph_tensor)(raw.graph, &tensor);
}

static raw_code tensor_not_updateable(void)
{
    const raw_tensor *list[1];
    list[0] = &raw.input;
    return CALL(RAW_TENSOR_UPDATE, raw_tensor_update)(raw.graph, list, 1);
}

/* Option 1 is the priority; 0 to 500 are known. */
static raw_code priority_is_wrong(void)
{
    static const struct { uint32_t option; uint64_t value; } config = { 1, 4711 };
    const void *configs[2] = { &config, NULL };
    return CALL(RAW_CONTEXT_CREATE, raw_context_create)(raw.backend, raw.device, configs, &raw.context);
}

/* ---- graphs that are built ----------------------------------------------------------------------- */

static raw_tensor new_tensor(const char *name, uint32_t type, uint32_t dtype)
{
    static uint32_t dims[2] = { 1, 8 };
    raw_tensor tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.version = 1;
    tensor.v.name = name;
    tensor.v.type = type;
    tensor.v.dtype = dtype;
    tensor.v.quant.defined = tensor.v.quant.encoding = RAW_UNDEFINED;
    tensor.v.rank = 2;
    tensor.v.dims = dims;
    return tensor;
}

static raw_code add_op(const char *type)
{
    static raw_tensor x, y;
    raw_op op;
    x = new_tensor("x", RAW_INPUT, RAW_F32);
    y = new_tensor("y", RAW_OUTPUT, RAW_F32);
    CALL(RAW_GRAPH_TENSOR, raw_graph_tensor)(raw.graph, &x);
    CALL(RAW_GRAPH_TENSOR, raw_graph_tensor)(raw.graph, &y);
    memset(&op, 0, sizeof op);
    op.version = 1;
    op.v.name = "op";
    op.v.package = "qti.aisw";
    op.v.type = type;
    op.v.input_count = op.v.output_count = 1;
    op.v.inputs = &x;
    op.v.outputs = &y;
    raw.input = x;
    raw.output = y;
    return CALL(RAW_GRAPH_ADD_NODE, raw_graph_add_node)(raw.graph, op);
}

static raw_code op_unknown(void)   { raw_code code = add_op("NoSuchOperation"); return code != 0 ? code : finalize(); }
static raw_code op_lacks_parameter(void) { return add_op("Conv2d"); }
static raw_code execute_too_early(void) { return add_op("Relu") != 0 ? 0 : execute(); }

static raw_code op_unsupported_type(void)
{
    raw_op op;
    raw_tensor x = new_tensor("x", RAW_INPUT, 0x0264), y = new_tensor("y", RAW_OUTPUT, 0x0264);
    memset(&op, 0, sizeof op);
    op.version = 1;
    op.v.name = "op";
    op.v.package = "qti.aisw";
    op.v.type = "Relu";
    op.v.input_count = op.v.output_count = 1;
    op.v.inputs = &x;
    op.v.outputs = &y;
    return CALL(RAW_BACKEND_VALIDATE, raw_backend_validate)(raw.backend, op);
}

/* Without a chip to compile for, the emulator chooses one that has no float kernels. */
static raw_code float_without_a_chip(void) { raw_code code = add_op("Gelu"); return code != 0 ? code : finalize(); }

static raw_code binary_too_early(void)
{
    uint64_t bytes = 0;
    add_op("Relu");
    return CALL(RAW_CONTEXT_BINARY_SIZE, raw_context_binary_size)(raw.context, &bytes);
}

static raw_code binary_room_too_small(void)
{
    uint64_t bytes = 0, written = 0;
    void *data;
    if (add_op("Relu") != 0 || finalize() != 0) return 0;
    if (CALL(RAW_CONTEXT_BINARY_SIZE, raw_context_binary_size)(raw.context, &bytes) != 0) return 0;
    data = malloc(bytes);
    return CALL(RAW_CONTEXT_BINARY, raw_context_binary)(raw.context, data, bytes - 1, &written);
}

static raw_code graph_name_twice(void)
{
    return CALL(RAW_GRAPH_CREATE, raw_graph_create)(raw.context, "new", NULL, &raw.graph);
}

static raw_code tensor_twice(void)
{
    raw_tensor tensor = new_tensor("x", RAW_INPUT, RAW_F32);
    CALL(RAW_GRAPH_TENSOR, raw_graph_tensor)(raw.graph, &tensor);
    return CALL(RAW_GRAPH_TENSOR, raw_graph_tensor)(raw.graph, &tensor);
}

static raw_code tensor_is_null(void) { return CALL(RAW_GRAPH_TENSOR, raw_graph_tensor)(raw.graph, NULL); }

static raw_code tensor_of_4_bits(void)
{
    raw_tensor tensor = new_tensor("x", RAW_INPUT, 0x0304);
    return CALL(RAW_GRAPH_TENSOR, raw_graph_tensor)(raw.graph, &tensor);
}

static raw_code node_after_finalize(void)
{
    raw_tensor tensor = new_tensor("z", RAW_INPUT, RAW_F32);
    if (add_op("Relu") != 0 || finalize() != 0) return 0;
    return CALL(RAW_GRAPH_TENSOR, raw_graph_tensor)(raw.graph, &tensor);
}

/* ---- backend, device and the rest ------------------------------------------------------------------ */

static raw_code log_level_unknown(void) { return CALL(RAW_LOG_CREATE, raw_log_create)(NULL, 99, &raw.log); }
static raw_code log_is_bogus(void)      { return CALL(RAW_LOG_FREE, raw_free)((raw_handle)0x1234); }
static raw_code profile_freed(void)     { return CALL(RAW_PROFILE_FREE, raw_free)((raw_handle)0x1234); }
static raw_code key_unknown(void)       { return CALL(RAW_PROPERTY, raw_property)(999999); }
static raw_code device_is_bogus(void)   { return CALL(RAW_DEVICE_FREE, raw_free)((raw_handle)0x1234); }

static raw_code device_in_use(void)     { return CALL(RAW_DEVICE_FREE, raw_free)(raw.device); }

static raw_code code_unknown(void)
{
    const char *text = NULL;
    return CALL(RAW_ERROR_MESSAGE, raw_error_message)(64999, &text);
}

static raw_code logger_is_bogus(void)
{
    return CALL(RAW_BACKEND_CREATE, raw_backend_create)((raw_handle)0x1234, NULL, &raw.backend);
}

static raw_code backend_freed_twice(void)
{
    CALL(RAW_BACKEND_FREE, raw_free)(raw.backend);
    return CALL(RAW_BACKEND_FREE, raw_free)(raw.backend);
}

static raw_code package(const char *path, const char *symbol)
{
    return CALL(RAW_BACKEND_REGISTER, raw_backend_register)(raw.backend, path, symbol, NULL);
}

static raw_code package_missing(void) { return package("/nowhere/libPackage.so", "init"); }
static raw_code package_is_none(void) { char path[1024]; return package(real_library(path, "libQnnSystem.so"), "init"); }

static raw_code signals_unsupported(void)
{
    raw_handle signal = NULL;
    return CALL(RAW_SIGNAL_CREATE, raw_signal_create)(raw.backend, NULL, &signal);
}

static raw_code memory_unsupported(void)
{
    struct { uint32_t rank; const uint32_t *dims; const void *config; uint32_t dtype, type; uint64_t info[2]; } memory;
    static const uint32_t dims[1] = { 64 };
    raw_handle handle = NULL;
    memset(&memory, 0, sizeof memory);
    memory.rank = 1;
    memory.dims = dims;
    memory.dtype = RAW_F32;
    memory.type = 1;
    return CALL(RAW_MEM_REGISTER, raw_mem_register)(raw.context, &memory, 1, &handle);
}

static raw_code size_of_a_recording(void)
{
    uint64_t bytes = 0;
    return CALL(RAW_CONTEXT_BINARY_SIZE, raw_context_binary_size)(raw.context, &bytes);
}

static raw_code binary_is_foreign(void) { return binary_file("ctx/qairt2.47/mlp_u8/forward_0.bin"); }

static raw_code plain_event(void)
{
    const uint64_t *events = NULL;
    uint32_t count = 0;
    uint64_t data[8];
    float values[2][8] = { { 0 } };
    raw_handle profile = NULL;
    if (add_op("Relu") != 0 || finalize() != 0) return 0;
    raw.input.v.data = values[0];
    raw.output.v.data = values[1];
    raw.input.v.data_size = raw.output.v.data_size = sizeof values[0];
    if (CALL(RAW_PROFILE_CREATE, raw_profile_create)(raw.backend, 1, &profile) != 0 ||
        CALL(RAW_GRAPH_EXECUTE, raw_graph_execute)(raw.graph, &raw.input, 1, &raw.output, 1, profile, NULL) != 0 ||
        CALL(RAW_PROFILE_EVENTS, raw_profile_events)(profile, &events, &count) != 0 || count == 0) return 0;
    return CALL(RAW_PROFILE_EVENT, raw_profile_event)(events[0], data);
}

/* ---- libQnnSystem.so ---------------------------------------------------------------------------------- */

static const raw_system_provider *system_provider;

#define SYSTEM(slot, type) ((type)system_provider->slots[slot])

static int begin_system(void)
{
    const raw_system_provider **list = NULL;
    uint32_t count = 0;
    raw_system_get_providers get;
    char path[1024], file[1024];
    void *symbol, *library = dlopen(real_library(path, "libQnnSystem.so"), RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 0;
    symbol = dlsym(library, "QnnSystemInterface_getProviders");
    memcpy((void *)&get, (void *)&symbol, sizeof get);
    if (get == NULL || get(&list, &count) != 0 || count == 0) return 0;
    system_provider = list[0];
    raw.binary = test_read_file(real_join(file, test_arg(1), "ctx/qairt2.47/mlp_u8/forward_0.bin"), &raw.bytes);
    return raw.binary != NULL && SYSTEM(RAW_SYSTEM_CREATE, raw_system_create)(&raw.context) == 0;
}

static raw_code system_info(void *data, size_t bytes)
{
    const void *info = NULL;
    uint64_t size = 0;
    return SYSTEM(RAW_SYSTEM_BINARY_INFO, raw_system_binary_info)(raw.context, data, bytes, &info, &size);
}

static raw_code metadata_of_null(void)  { return system_info(NULL, raw.bytes); }
static raw_code metadata_of_half(void)  { return system_info(raw.binary, raw.bytes / 2); }
static raw_code metadata_of_zeros(void) { memset(raw.binary, 0, raw.bytes); return system_info(raw.binary, raw.bytes); }

static raw_code metadata_without_handle(void)
{
    raw.context = NULL;
    return system_info(raw.binary, raw.bytes);
}

typedef raw_code (*power_create)(uint32_t device, uint32_t core, uint32_t *id);

static raw_code power_of_no_device(void)
{
    unsigned char *infrastructure = NULL;
    power_create create;
    uint32_t id = 0;
    if (CALL(RAW_DEVICE_INFRASTRUCTURE, raw_device_infrastructure)((void **)&infrastructure) != 0) return 0;
    memcpy((void *)&create, infrastructure + 8, sizeof create);
    return create(9, 0, &id);
}

/* ---- the cases ---------------------------------------------------------------------------------------- */

typedef struct raw_case {
    const char *name;
    int       (*begin)(void);
    raw_code  (*body)(void);
    uint32_t    code;
    const char *line;  /* text of the entry for the first line of the log; NULL: no line */
    int         first, last;        /* releases with this behaviour, 0: any */
} raw_case;

#define CASE(begin, body, code, line) { #body, begin_##begin, body, code, line, 0, 0 }

static const raw_case raw_cases[] = {
    CASE(context,   input_is_null,         0x1774, "clientBuf is null"),
    CASE(context,   output_is_null,        0x1774, "clientBuf is null"),
    CASE(context,   input_is_empty,        0x1774, "clientBuf is null"),
    CASE(context,   output_is_empty,       0x1774, "clientBuf is null"),
    CASE(context,   input_id_unknown,      0x1774, "Expected Tensor ID ... not found"),
    CASE(context,   output_id_unknown,     0x1774, "Expected Tensor ID ... not found"),
    CASE(context,   input_wrong_dims,      0x1774, "Tensor ID ... incompatible"),
    CASE(context,   one_input_twice,       0x1774, "Number of tensors mismatch"),
    CASE(context,   memhandle_is_null,     0x1774, "No memHandle provided"),
    CASE(context,   no_inputs,             0x1770, "No inputs provided"),
    CASE(context,   profile_is_bogus,      0x1770, "fail to find profile object"),
    CASE(context,   signal_is_bogus,       0x2328, "signal[ ... doesn't exist"),
    CASE(context,   graph_is_null,         0x1771, NULL),
    CASE(context,   graph_is_bogus,        0x1771, NULL),
    CASE(context,   context_is_gone,       0x1771, NULL),
    CASE(context,   graph_unknown,         0x1773, "Failed to find graph ... in the context"),
    CASE(context,   context_is_bogus,      0x138a, NULL),
    CASE(context,   context_is_null,       0x1770, NULL),
    CASE(context,   context_freed_twice,   0x138a, NULL),
    CASE(context,   binary_of_a_loaded,    0x03ed, "Querying binary size after de-serializing binary is illegal"),
    CASE(context,   graph_in_a_loaded,     0x044c, "a deserialized context cannot be modified"),
    CASE(context,   finalize,              0x03e8, "was finalized already"),
    CASE(context,   tensor_in_a_loaded,    0x1788, "a finalized graph cannot be modified"),
    CASE(context,   tensor_not_updateable, 0x1b5f, "not found in the updatable tensors"),
    CASE(context,   memory_unsupported,    0x03e8, "QnnMem API is not supported"),
    { "device_in_use", begin_context, device_in_use, 0x36b3, "There are context still associated", 0, 2048 },

    CASE(binary,    binary_is_null,        0x1388, "nullptr input parameter"),
    CASE(binary,    binary_is_empty,       0x1388, "invalid binary buffer size passed"),
    CASE(binary,    binary_is_byte,        0x753a, "Serializer failed to get context blob"),
    CASE(binary,    binary_is_head,        0x753a, "Serializer failed to get context blob"),
    CASE(binary,    binary_lacks_end,      0x753a, "Serializer failed to get context blob"),
    CASE(binary,    binary_is_zeros,       0x7531, "Serializer failed to get context blob"),
    CASE(binary,    backend_is_null,       0x138a, NULL),
    { "binary_is_newer", begin_binary, binary_is_newer, 0x1388, "Using newer context binary", 0, 2050 },

    CASE(new_graph, finalize,              0x1786, "Graph has zero node"),
    CASE(new_graph, execute_too_early,     0x1787, "was not finalized"),
    CASE(new_graph, op_unknown,            0x03ea, "no properties registered for"),
    CASE(new_graph, op_lacks_parameter,    0x1770, "Failed to set the params for the op"),
    CASE(new_graph, op_unsupported_type,   0x0c26, "Unsupported input/output datatypes"),
    CASE(new_graph, float_without_a_chip,  0x03ea, "no properties registered for"),
    CASE(new_graph, binary_too_early,      0x138b, "was not finalized"),
    CASE(new_graph, binary_room_too_small, 0x138f, "buffer size provided is insufficient"),
    CASE(new_graph, graph_name_twice,      0x1773, "Graph name is a duplicate"),
    CASE(new_graph, tensor_twice,          0x1b5b, "already exists in the graph"),
    CASE(new_graph, tensor_is_null,        0x1b59, "No tensor provided"),
    CASE(new_graph, tensor_of_4_bits,      0x1b5c, "tensor datatype ... not supported"),
    CASE(new_graph, node_after_finalize,   0x1788, "a finalized graph cannot be modified"),

    CASE(device,    priority_is_wrong,     0x1392, "Passed invalid priority value"),
    CASE(device,    power_of_no_device,    0x32c9, NULL),
    CASE(device,    package_missing,       0x0fa5, "Error attempting to load dynamic library"),
    CASE(device,    package_is_none,       0x0fa5, "Unable to find the op package init"),
    CASE(device,    signals_unsupported,   0x03e8, "API not supported"),
    CASE(device,    profile_freed,         0x2ee0, NULL),
    CASE(device,    device_is_bogus,       0x36b0, NULL),
    CASE(backend,   backend_freed_twice,   0x0fab, NULL),
    CASE(backend,   log_is_bogus,          0x2afb, NULL),
    CASE(backend,   key_unknown,           0x07d0, NULL),
    CASE(backend,   code_unknown,          0x2711, NULL),
    CASE(library,   log_level_unknown,     0x2afb, NULL),
    CASE(library,   logger_is_bogus,       0x0fa4, NULL),

    CASE(gpu,       create_backend,        0x0fa0, "TuningMode must be enabled"),
    CASE(saver,     size_of_a_recording,   0x1356, NULL),
    CASE(cpu,       binary_is_foreign,     0x138d, "[QNN_CPU] Context de-serialization failed"),
    CASE(cpu,       package_missing,       0x0fa5, "[QNN_CPU] Failed to open library"),
    CASE(cpu,       package_is_none,       0x0fa6, "Symbol lookup failed"),
    CASE(cpu_graph, graph_unknown,         0x1772, NULL),
    CASE(cpu_graph, tensor_of_4_bits,      0x1b5d, NULL),
    CASE(cpu_graph, plain_event,           0x2ee2, NULL),
    CASE(system,    metadata_of_null,      0x7531, NULL),
    CASE(system,    metadata_of_half,      0x753a, NULL),
    CASE(system,    metadata_of_zeros,     0x753a, NULL),
    CASE(system,    metadata_without_handle, 0x7530, NULL),
};

enum { RAW_CASES = sizeof raw_cases / sizeof raw_cases[0] };

static int fits(int first, int last)
{
    int release = real_library_release();
    return (first == 0 || release >= first) && (last == 0 || release <= last);
}

static int raw_child(void *data)
{
    const raw_case *c = (const raw_case *)data;
    if (!c->begin()) { printf("cannot begin\n"); return 1; }
    memset(told, 0, sizeof *told);
    told->code = c->body();
    return 0;
}

/* Run a child, and show what it and the library printed if it crashed. */
static int fork_case(int (*child)(void *), const void *data, const char *name)
{
    char log[1024], *text;
    void *unconst;
    int status;
    memcpy((void *)&unconst, (const void *)&data, sizeof unconst);
    real_join(log, test_tmpdir(), "log.txt");
    memset(told, 0, sizeof *told);
    status = real_fork(child, unconst, 60, log);
    if (status == 0) return 0;
    text = (char *)test_read_file(log, NULL);
    printf("  %s: status %d\n%s\n", name, status, text != NULL ? text : "");
    free(text);
    return status;
}

static void check_line(const char *line, const char *text, uint32_t code)
{
    const qnnrt_explanation *entry = qnnrt_explain(line);
    if (entry == NULL || entry->text == NULL) printf("  not known: %s\n", line);
    CHECK(entry != NULL && entry->text != NULL);
    CHECK(strcmp(entry->text, text) == 0);
    CHECK(entry->causes[0] != NULL);
    CHECK(qnnrt_explain_code(code) != NULL && qnnrt_explain_code(entry->code) != NULL);
}

TEST(what_the_libraries_answer_and_log_is_known)
{
    char path[1024];
    int i, lines = 0, count = 0, cpu = real_exists(real_library(path, "libQnnCpu.so"));
    for (i = 0; i < RAW_CASES; ++i) {
        const raw_case *c = &raw_cases[i];
        if (!fits(c->first, c->last) || (!cpu && (c->begin == begin_cpu || c->begin == begin_cpu_graph))) continue;
        CHECK_EQ(fork_case(raw_child, c, c->name), 0);
        if (told->code != c->code || (told->lines > 0) != (c->line != NULL))
            printf("  %s: 0x%llx, not 0x%x, %d lines: %s\n", c->name, (unsigned long long)told->code, (unsigned)c->code,
                   told->lines, told->first);
        CHECK_EQ(told->code & 0xFFFF, c->code);
        CHECK_EQ(told->lines > 0, c->line != NULL);
        if (c->line != NULL) TRY(check_line(told->first, c->line, c->code));
        lines += c->line != NULL;
        ++count;
    }
    printf("  %d answers as they are known, %d of them with a line that has an entry of its own\n", count, lines);
}

/* Load a file with shared weights: the library logs a line, then crashes. */
static int shared_child(void *data)
{
    (void)data;
    if (!begin_binary()) return 1;
    memset(told, 0, sizeof *told);
    weights_are_shared();
    return 0;
}

TEST(shared_weights_are_logged_before_the_crash)
{
    char log[1024];
    memset(told, 0, sizeof *told);
    real_fork(shared_child, NULL, 60, real_join(log, test_tmpdir(), "log.txt"));
    TRY(check_line(told->first, "Shared weights buffer isn't supported", 1000));
}

/* Check that every number that has a name in the library has the same name in our table. */
static int names_child(void *data)
{
    raw_code code;
    int known = 0, wrong = 0;
    (void)data;
    if (!begin_library()) return 1;
    for (code = 1; code < 0x10000; ++code) {
        const char *text = NULL;
        char name[128];
        const qnnrt_explanation *entry = qnnrt_explain_code(code);
        if (CALL(RAW_ERROR_MESSAGE, raw_error_message)(code, &text) != 0 || text == NULL) continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ": "), text);
        if (entry == NULL || strcmp(entry->symbol, name) != 0) { printf("%u is %s\n", (unsigned)code, name); ++wrong; }
        if (entry != NULL && strstr(text, ": ") != NULL && strcmp(strstr(text, ": ") + 2, entry->meaning) == 0) {
            printf("%u: the vendor's own sentence\n", (unsigned)code);
            ++wrong;
        }
        ++known;
    }
    told->lines = known;
    return wrong != 0 ? 2 : 0;
}

TEST(names_of_codes_are_those_of_the_library)
{
    CHECK_EQ(fork_case(names_child, NULL, "names"), 0);
    printf("  %d names\n", told->lines);
    CHECK(told->lines > 90);
}

/* ---- through qnnrt ------------------------------------------------------------------------------------ */

static qnnrt_desc htp(void)
{
    static char path[1024];
    qnnrt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.backend_desc.path = real_library(path, "libQnnHtp.so");
    return desc;
}

static qnnrt_result open_data(const char *part, qnnrt_desc desc, qnnrt **model)
{
    char folder[1024];
    return qnnrt_open(real_join(folder, test_arg(1), part), &desc, model, &told->err);
}

static qnnrt_result open_small(qnnrt_desc desc)
{
    qnnrt *model;
    return open_data("ctx/qairt2.47/mlp_u8", desc, &model);
}

/* Make a folder with the file as forward_0.bin: `keep` bytes of it, all of them if 0. */
static qnnrt_result open_damaged(size_t divide, int zeros)
{
    char path[1024];
    const char *folder = test_tmpdir();
    qnnrt_desc desc = htp();
    qnnrt *model;
    size_t bytes;
    char *data = (char *)test_read_file(real_join(path, test_arg(1), "ctx/qairt2.47/mlp_u8/forward_0.bin"), &bytes);
    if (zeros) memset(data, 0, bytes);
    if (!test_write_file(real_join(path, folder, "forward_0.bin"), data, bytes / divide)) return QNNRT_OK;
    return qnnrt_open(folder, &desc, &model, &told->err);
}

static qnnrt_result file_is_half(void)  { return open_damaged(2, 0); }
static qnnrt_result file_is_zeros(void) { return open_damaged(1, 1); }

static qnnrt_result file_is_newer(void)
{
    qnnrt *model;
    return open_data("ctx/qairt2.51/mlp_u8", htp(), &model);
}

static qnnrt_result file_shares_weights(void)
{
    qnnrt *model;
    return open_data("llm/bad_weight_shared", htp(), &model);
}

static qnnrt_result file_is_over_limit(void)
{
    qnnrt_desc desc = htp();
    desc.limits.file_bytes = 1000;
    return open_small(desc);
}

static qnnrt_result folder_is_missing(void)
{
    qnnrt *model;
    return open_data("no such folder", htp(), &model);
}

static qnnrt_result folder_is_empty(void)
{
    qnnrt_desc desc = htp();
    qnnrt *model;
    return qnnrt_open(test_tmpdir(), &desc, &model, &told->err);
}

static qnnrt_result folder_is_null(void)
{
    qnnrt_desc desc = htp();
    qnnrt *model;
    return qnnrt_open(NULL, &desc, &model, &told->err);
}

static qnnrt_result library(const char *release, const char *name)
{
    char path[1024], system_path[1024];
    qnnrt_desc desc = htp();
    desc.system_path = real_library(system_path, "libQnnSystem.so");
    desc.backend_desc.path = release != NULL ? real_sibling(path, release, name) : real_library(path, name);
    return open_small(desc);
}

static qnnrt_result library_is_missing(void) { return library(NULL, "libQnnNone.so"); }
static qnnrt_result library_is_other(void)   { return library(NULL, "libQnnSystem.so"); }
static qnnrt_result library_is_gpu(void)     { return library(NULL, "libQnnGpu.so"); }
static qnnrt_result library_is_cpu(void)     { return library("2.47", "libQnnCpu.so"); }
static qnnrt_result library_is_aarch64(void) { return library("2.51-aarch64", "libQnnHtp.so"); }

/* Open a library without the folder of libc++ beside its own. */
static qnnrt_result library_is_alone(void)
{
    char path[1024];
    qnnrt_desc desc = htp();
    size_t bytes;
    void *data = test_read_file(real_library(path, "libQnnSaver.so"), &bytes);
    if (!test_write_file(real_join(path, test_tmpdir(), "libQnnSaver.so"), data, bytes)) return QNNRT_OK;
    desc.backend_desc.path = path;
    return open_small(desc);
}

static qnnrt_result chip_is_unknown(void)
{
    qnnrt_desc desc = htp();
    desc.backend_desc.soc_model = 9999;
    return open_small(desc);
}

static void *no_memory(void *user, size_t bytes) { (void)user; (void)bytes; return NULL; }
static void no_free(void *user, void *data)      { (void)user; (void)data; }

static qnnrt_result memory_is_refused(void)
{
    qnnrt_desc desc = htp();
    desc.backend_desc.hooks.alloc = no_memory;
    desc.backend_desc.hooks.free = no_free;
    return open_small(desc);
}

/* Open contexts for v68 and for v75 in one process: the emulator runs only those loaded last. */
static qnnrt_result two_generations(void)
{
    qnnrt *older, *newer;
    qnnrt_run *run;
    qnnrt_result result = open_data("ctx/qairt2.51/mlp_u8", htp(), &older);
    if (result == QNNRT_OK) result = qnnrt_prepare(older, NULL, &run, &told->err);
    if (result == QNNRT_OK) result = open_data("ctx/qairt2.51/mlp_f32_io", htp(), &newer);
    if (result != QNNRT_OK) { printf("%s\n", told->err.text); return QNNRT_OK; }
    result = qnnrt_exec(run);
    told->err = *qnnrt_run_error(run);
    return result;
}

static qnnrt_result name_is_unknown(void)
{
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_result result = open_data("ctx/qairt2.47/mlp_u8", htp(), &model);
    return result != QNNRT_OK ? QNNRT_OK : qnnrt_prepare(model, "no such pipeline", &run, &told->err);
}

static qnnrt_result size_is_wrong(void)
{
    static char data[3];
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_result result = open_data("ctx/qairt2.47/mlp_u8", htp(), &model);
    if (result == QNNRT_OK) result = qnnrt_prepare(model, NULL, &run, &told->err);
    if (result != QNNRT_OK) return QNNRT_OK;
    result = qnnrt_bind(run, "x", data, sizeof data);
    told->err = *qnnrt_run_error(run);
    return result;
}

static qnnrt_result input_is_not_bound(void)
{
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    qnnrt_entry_desc entry;
    qnnrt_place_desc place;
    qnnrt_plan_desc desc;
    qnnrt_result result;
    memset(&entry, 0, sizeof entry);
    memset(&place, 0, sizeof place);
    memset(&desc, 0, sizeof desc);
    if (open_data("ctx/qairt2.47/mlp_u8", htp(), &model) != QNNRT_OK) return QNNRT_OK;
    entry.pipeline = qnnrt_get_info(model)->pipelines[0];
    if (qnnrt_slot_find(entry.pipeline, "x", QNNRT_ROLE_INPUT, &place.slot, &told->err) != QNNRT_OK) return QNNRT_OK;
    place.caller_io = 1;
    desc.entries = &entry;
    desc.places = &place;
    desc.entry_count = desc.place_count = 1;
    if (qnnrt_plan_create(&desc, &plan, &told->err) != QNNRT_OK || qnnrt_mem_create(plan, NULL, &mem, &told->err) != QNNRT_OK ||
        qnnrt_run_create(mem, 0, &run, &told->err) != QNNRT_OK) return QNNRT_OK;
    result = qnnrt_exec(run);
    told->err = *qnnrt_run_error(run);
    return result;
}

typedef struct public_case {
    const char   *name;
    qnnrt_result (*body)(void);
    qnnrt_result  result;
    uint32_t      code;             /* code of the vendor, 0: it was not called */
    const char   *pieces[6];        /* pieces of the text, in this order   */
    const char   *line;  /* entry that is found for the pasted text, NULL: that of the code */
    int           first, last;
} public_case;

static const public_case public_cases[] = {
    { "folder_is_null", folder_is_null, QNNRT_E_ARG, 0, { "give a folder or desc.files" }, NULL, 0, 0 },
    { "memory_is_refused", memory_is_refused, QNNRT_E_MEMORY, 0, { "out of memory for" }, NULL, 0, 0 },
    { "folder_is_missing", folder_is_missing, QNNRT_E_NOT_FOUND, 0, { "no such folder", "No such file" }, NULL, 0, 0 },
    { "folder_is_empty", folder_is_empty, QNNRT_E_NOT_FOUND, 0, { "no *.bin in the folder", "holds context binaries" }, NULL, 0, 0 },
    { "file_is_half", file_is_half, QNNRT_E_FORMAT, 0x753a, { "forward_0.bin", "bytes" }, NULL, 0, 0 },
    { "file_is_zeros", file_is_zeros, QNNRT_E_FORMAT, 0x753a,
      { "forward_0.bin", "systemContextGetBinaryInfo answered 0x753a (QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY)",
        "likely cause: damaged or cut short", "\n  hint: Copy the file again" }, NULL, 0, 0 },
    { "library_is_missing", library_is_missing, QNNRT_E_LIBRARY, 0, { "libQnnNone.so", "No such file", "\n  hint: " }, NULL, 0, 0 },
    { "library_is_other", library_is_other, QNNRT_E_LIBRARY, 0, { "libQnnSystem.so", "QnnInterface_getProviders" }, NULL, 0, 0 },
    { "library_is_aarch64", library_is_aarch64, QNNRT_E_LIBRARY, 0, { "libQnnHtp.so", "another architecture", "\n  hint: Take" }, NULL, 0, 0 },
    { "library_is_alone", library_is_alone, QNNRT_E_LIBRARY, 0, { "libQnnSaver.so", "libc++", "\n  hint: " },
      "libc++ ... cannot open shared object file", 0, 0 },
    { "file_is_newer", file_is_newer, QNNRT_E_VERSION, 0,
      { "forward_0.bin was made by release v2.51.0", "newer than the library", "libQnnHtp.so", "\n  hint: Ship the libraries" },
      NULL, 0, 2050 },
    { "name_is_unknown", name_is_unknown, QNNRT_E_NOT_FOUND, 0, { "no such pipeline" }, NULL, 0, 0 },
    { "library_is_cpu", library_is_cpu, QNNRT_E_MISMATCH, 0,
      { "forward_0.bin was compiled for backend 6", "libQnnCpu.so is backend 3", "\n  hint: Open it with" }, NULL, 0, 0 },
    { "size_is_wrong", size_is_wrong, QNNRT_E_MISMATCH, 0, { "\"x\"", "3" }, NULL, 0, 0 },
    { "file_shares_weights", file_shares_weights, QNNRT_E_UNSUPPORTED, 0,
      { "forward_0.bin: graph \"", "shares its weights", "\n  hint: Run it on a device" }, NULL, 2051, 0 },
    { "chip_is_unknown", chip_is_unknown, QNNRT_E_BACKEND, 0x36b1,
      { "libQnnHtp.so with soc_model 9999", "deviceCreate answered 0x36b1 (QNN_DEVICE_ERROR_INVALID_CONFIG)",
        "the library logged first, an error: <E>", "\n  another cause of this code: no transport to the DSP",
        "likely cause: soc_model", "\n  hint: Leave soc_model 0" }, "config socModel", 0, 0 },
    { "library_is_gpu", library_is_gpu, QNNRT_E_BACKEND, 0xfa0,
      { "libQnnGpu.so: backendCreate answered 0xfa0 (QNN_BACKEND_ERROR_CANNOT_INITIALIZE)",
        "the library logged first, an error: GPU ERROR",
        "likely cause: there is no Adreno GPU", "\n  hint: Run it on a device" }, "TuningMode must be enabled", 0, 0 },
    { "two_generations", two_generations, QNNRT_E_BACKEND, 0x44c,
      { "pipeline \"", "failed: graphExecute answered 0x44c (QNN_COMMON_ERROR_GENERAL)",
        "the library logged first, an error: ", "\n  another cause of this code: ",
        "likely cause: contexts for two NPU generations", "\n  hint: Close one model" }, "match allocated VTCM pointer", 2051, 0 },
    { "input_is_not_bound", input_is_not_bound, QNNRT_E_STATE, 0, { "input \"x\"", "is not bound" }, NULL, 0, 0 },
    { "file_is_over_limit", file_is_over_limit, QNNRT_E_LIMIT, 0, { "forward_0.bin has 45056 bytes", "more than limits.file_bytes" }, NULL, 0, 0 },
};

enum { PUBLIC_CASES = sizeof public_cases / sizeof public_cases[0] };

static int public_child(void *data)
{
    TEST_JUNK(told->err);
    told->result = ((const public_case *)data)->body();
    return 0;
}

static void check_public(const public_case *c)
{
    const qnnrt_explanation *entry;
    const char *at;
    size_t i;
    qnnrt_explain_error(&told->err);
    at = TEST_TOLD(told->err);
    if (told->result != c->result) printf("  %s: %s\n%.2047s\n", c->name, qnnrt_result_name(told->result), told->err.text);
    CHECK_EQ(told->result, c->result);
    CHECK_EQ(told->err.code, c->result);
    CHECK_EQ(told->err.vendor_code & 0xFFFF, c->code);
    for (i = 0; i < sizeof c->pieces / sizeof c->pieces[0] && c->pieces[i] != NULL; ++i) {
        CHECK_STR(at, c->pieces[i]);
        at = strstr(at, c->pieces[i]);
    }
    /* The explanation is found for the whole text. */
    entry = qnnrt_explain(told->err.text);
    if (c->line != NULL) CHECK(entry != NULL && entry->text != NULL && strcmp(entry->text, c->line) == 0);
    else if (c->code != 0) CHECK(entry != NULL && (entry->text != NULL || entry->code == c->code));
    printf("  %s\n", TEST_TOLD(told->err));
}

TEST(errors_of_qnnrt_tell_the_whole_story)
{
    char path[1024];
    int i;
    for (i = 0; i < PUBLIC_CASES; ++i) {
        const public_case *c = &public_cases[i];
        if (!fits(c->first, c->last)) continue;
        if (REAL_ASAN && c->body == two_generations) continue;    /* the library throws; clang's ASan then stops */
        if (c->body == library_is_cpu && !real_exists(real_sibling(path, "2.47", "libQnnCpu.so"))) continue;
        if (c->body == library_is_aarch64 && !real_exists(real_sibling(path, "2.51-aarch64", "libQnnHtp.so"))) continue;
        CHECK_EQ(fork_case(public_child, c, c->name), 0);
        TRY(check_public(c));
    }
}

/* On a machine without an NPU, the error and its hint name the device. */
TEST(no_device)
{
    static const public_case none = { "no_device", NULL, QNNRT_E_BACKEND, 0xfa0,
        { "backendCreate answered 0xfa0 (QNN_BACKEND_ERROR_CANNOT_INITIALIZE)", "the library logged first, an error: <E> No Snapdragon SOC detected",
          "\n  another cause of this code: there is no NPU", "likely cause: the aarch64 library runs on", "\n  hint: Run it on the device" }, "No Snapdragon SOC detected", 0, 0 };
    TEST_JUNK(told->err);
    told->result = open_small(htp());
    TRY(check_public(&none));
}

TEST_MAIN_ARGS("real_errors", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    told = (answer *)mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED) abort();
    if (real_no_device()) {
        RUN(names_of_codes_are_those_of_the_library);
        RUN(no_device);
        return;
    }
    if (real_library_release() == 0) { printf("libQnnHtp.so does not open\n"); test_state.failed++; return; }
    RUN(what_the_libraries_answer_and_log_is_known);
    /* Release 2.51 made the file. */
    if (fits(2051, 0)) RUN(shared_weights_are_logged_before_the_crash);
    RUN(names_of_codes_are_those_of_the_library);
    RUN(errors_of_qnnrt_tell_the_whole_story);
}
