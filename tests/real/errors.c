/* errors.c - what the genuine libraries answer and log when something is wrong, and that it is explained

       real_errors RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   Each case provokes one error, through qnnrt where it lets it pass, else through the vendor's own
   interface, in a child of its own: libraries crash on some of them. The code must be the one that is
   known, and the code and the first line that the library logged must have an entry of their own.  */
#include "real.h"
#include "bench/qnn_raw.h"
#include <dlfcn.h>

/* ---- the vendor's interface ------------------------------------------------------------------- */

typedef struct answer {             /* what a child tells its parent */
    raw_code code;
    int      answered;              /* the call came back            */
    int      lines;                 /* warnings and errors logged    */
    uint32_t level;                 /* of the first error, else of the first warning */
    char     first[512];
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

static int begin_library(void)
{
    char path[1024];
    return raw_load(real_library(path, "libQnnHtp.so"));
}

static int begin_backend(void)
{
    void *callback;
    void (*function)(const char *, uint32_t, uint64_t, va_list) = hear;
    if (!begin_library()) return 0;
    memcpy((void *)&callback, (void *)&function, sizeof callback);
    return CALL(RAW_LOG_CREATE, raw_log_create)(callback, QNNRT_LOG_WARN, &raw.log) == 0 &&
           CALL(RAW_BACKEND_CREATE, raw_backend_create)(raw.log, NULL, &raw.backend) == 0;
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
    to->v.data_size = (uint32_t)info->bytes;
    to->v.data = calloc(1, info->bytes);
}

/* A context from a binary, its graph, and the tensors that its metadata names. */
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
    graph = &qnnrt_contexts(model, NULL)->graphs[0];
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

static raw_code priority_is_wrong(void)
{
    struct { uint32_t option; uint64_t value; } config = { 4, 4711 };
    const void *configs[2];
    configs[0] = &config;
    configs[1] = NULL;
    (void)configs;
    for (config.option = 0; config.option < 12; ++config.option) {
        raw_code code;
        if (config.option == 0) continue;
        code = CALL(RAW_CONTEXT_CREATE, raw_context_create)(raw.backend, raw.device, configs, &raw.context);
        printf("option %u: 0x%llx\n", config.option, (unsigned long long)code);
        if ((code & 0xFFFF) == 0x1392) return code;
    }
    return 0;
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

static raw_code op_unknown(void)   { return add_op("NoSuchOperation"); }
static raw_code op_invalid(void)   { return add_op("Conv2d"); }
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

/* Without a chip to compile for, the emulator takes one that has no float kernels. */
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

static raw_code soc(uint32_t model)
{
    static struct { uint32_t option, reserved; uint64_t value; } custom;
    static struct { uint32_t option; const void *custom; } config;
    const void *configs[2];
    custom.value = model;
    config.custom = &custom;
    configs[0] = &config;
    configs[1] = NULL;
    return CALL(RAW_DEVICE_CREATE, raw_device_create)(raw.log, configs, &raw.device);
}

static raw_code soc_unknown(void)       { return soc(9999); }
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

typedef struct error_case {
    const char *name;
    int       (*begin)(void);
    raw_code  (*body)(void);
    uint32_t    code, code_older;   /* code_older: of releases before 2.51, 0: the same */
    const char *line;               /* a piece of the first line logged, NULL: none is  */
} error_case;

#define CASE(begin, body, code, older, line) { #body, begin_##begin, body, code, older, line }

static const error_case cases[] = {
    CASE(context,   input_is_null,         0x1774, 0,      "?"),
    CASE(context,   output_is_null,        0x1774, 0,      "?"),
    CASE(context,   input_is_empty,        0x1774, 0,      "?"),
    CASE(context,   output_is_empty,       0x1774, 0,      "?"),
    CASE(context,   input_id_unknown,      0x1774, 0,      "?"),
    CASE(context,   output_id_unknown,     0x1774, 0,      "?"),
    CASE(context,   input_wrong_dims,      0x1774, 0,      "?"),
    CASE(context,   one_input_twice,       0x1774, 0,      "?"),
    CASE(context,   memhandle_is_null,     0x1774, 0,      "?"),
    CASE(context,   no_inputs,             0x1770, 0,      "?"),
    CASE(context,   profile_is_bogus,      0x1770, 0,      "?"),
    CASE(context,   signal_is_bogus,       0x2328, 0,      "?"),
    CASE(context,   graph_is_null,         0x1771, 0,      "?"),
    CASE(context,   graph_is_bogus,        0x1771, 0,      "?"),
    CASE(context,   context_is_gone,       0x1771, 0,      "?"),
    CASE(context,   graph_unknown,         0x1773, 0,      "?"),
    CASE(context,   context_is_bogus,      0x138a, 0,      "?"),
    CASE(context,   context_is_null,       0x1770, 0,      "?"),
    CASE(context,   context_freed_twice,   0x138a, 0,      "?"),
    CASE(context,   binary_of_a_loaded,    0x03ed, 0,      "?"),
    CASE(context,   graph_in_a_loaded,     0x044c, 0,      "?"),
    CASE(context,   finalize,              0x03e8, 0,      "?"),
    CASE(context,   tensor_in_a_loaded,    0x1788, 0,      "?"),
    CASE(context,   tensor_not_updateable, 0x1b5f, 0,      "?"),
    CASE(context,   memory_unsupported,    0x03e8, 0,      "?"),
    CASE(context,   device_in_use,         0x36b3, 0,      "?"),
    CASE(binary,    binary_is_null,        0x1388, 0,      "?"),
    CASE(binary,    binary_is_empty,       0x1388, 0,      "?"),
    CASE(binary,    binary_is_byte,        0x7531, 0,      "?"),
    CASE(binary,    binary_is_head,        0x753a, 0,      "?"),
    CASE(binary,    binary_lacks_end,      0x753a, 0,      "?"),
    CASE(binary,    binary_is_zeros,       0x7531, 0,      "?"),
    CASE(binary,    binary_is_newer,       0x1388, 0,      "?"),
    CASE(binary,    weights_are_shared,    0x03e8, 0,      "?"),
    CASE(binary,    backend_is_null,       0x138a, 0,      "?"),
    CASE(new_graph, finalize,              0x1786, 0,      "?"),
    CASE(new_graph, execute_too_early,     0x1787, 0,      "?"),
    CASE(new_graph, op_unknown,            0x1775, 0,      "?"),
    CASE(new_graph, op_invalid,            0x1775, 0,      "?"),
    CASE(new_graph, op_unsupported_type,   0x0c26, 0,      "?"),
    CASE(new_graph, float_without_a_chip,  0x03ea, 0,      "?"),
    CASE(new_graph, binary_too_early,      0x138b, 0,      "?"),
    CASE(new_graph, binary_room_too_small, 0x138f, 0,      "?"),
    CASE(new_graph, graph_name_twice,      0x1773, 0,      "?"),
    CASE(new_graph, tensor_twice,          0x1b5b, 0,      "?"),
    CASE(new_graph, tensor_is_null,        0x1b59, 0,      "?"),
    CASE(new_graph, tensor_of_4_bits,      0x1b5c, 0,      "?"),
    CASE(new_graph, node_after_finalize,   0x1788, 0,      "?"),
    CASE(device,    priority_is_wrong,     0x1392, 0,      "?"),
    CASE(device,    power_of_no_device,    0x32c9, 0,      "?"),
    CASE(device,    package_missing,       0x0fa5, 0,      "?"),
    CASE(device,    package_is_none,       0x0fa6, 0,      "?"),
    CASE(device,    signals_unsupported,   0x03e8, 0,      "?"),
    CASE(device,    profile_freed,         0x2ee0, 0,      "?"),
    CASE(device,    device_is_bogus,       0x36b0, 0,      "?"),
    CASE(backend,   soc_unknown,           0x36b1, 0,      "?"),
    CASE(backend,   backend_freed_twice,   0x0fab, 0,      "?"),
    CASE(backend,   log_is_bogus,          0x2afc, 0,      "?"),
    CASE(backend,   key_unknown,           0x07d0, 0,      "?"),
    CASE(backend,   code_unknown,          0x2711, 0,      "?"),
    CASE(library,   log_level_unknown,     0x2afb, 0,      "?"),
    CASE(library,   logger_is_bogus,       0x0fa4, 0,      "?"),
};

enum { CASES = sizeof cases / sizeof cases[0] };

static int case_child(void *data)
{
    const error_case *c = (const error_case *)data;
    if (!c->begin()) { printf("    cannot begin\n"); return 1; }
    memset(told, 0, sizeof *told);
    told->code = c->body();
    told->answered = 1;
    return 0;
}

TEST(raw)
{
    char log[1024];
    int i;
    real_join(log, test_tmpdir(), "log.txt");
    for (i = 0; i < CASES; ++i) {
        int status;
        memset(told, 0, sizeof *told);
        status = real_fork(case_child, (void *)&cases[i], 30, log);
        printf("%-24s %d 0x%llx (%04x) %d/%u: %s\n", cases[i].name, status, (unsigned long long)told->code, cases[i].code,
               told->lines, (unsigned)told->level, told->first);
    }
}

TEST_MAIN_ARGS("real_errors", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    told = (answer *)mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    RUN(raw);
}
