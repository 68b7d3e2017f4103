/* fake_openvino.c - a test double of libopenvino_c.so, which fails on demand and counts its handles

       cc -std=c99 -D_POSIX_C_SOURCE=200809L -fPIC -shared -o libopenvino_c.so.9990 tests/fake/fake_openvino.c

   It reads any file as a model with one input "x" and one output "y" of the same shape and type, and
   computes y = x + 1 for float32, and copies all else. The declarations were written from the
   exported symbols of OpenVINO 2024.3 to 2026.4, not from qnnrt_openvino.h.

   ov_fake_control("key=value ...") sets all knobs anew and clears counters:
       version=TEXT   of ov_get_openvino_version; "null" for a null pointer
       old=1          element types are numbered as up to 2025.0; old=2: as in no release
       fail=N         call number N that returns a status returns -1
       devices=A,B    of ov_core_get_available_devices; "-" is none, "null" a null name
       refuse=NAME    the device that compiles nothing
       elsewhere=1    outputs are written to memory of the fake although memory was placed
       unwritten=1    outputs that were placed are not written
       rank=N         of x and y; rank=any
       type=N         element type of x and y, as this library numbers them
       names=0        ports have no names
       ports=N        number of inputs that is reported
       slow=1         a run in the queue ends only when it is cancelled; slow=2: and returns success
       layout=1       strings lie in memory in another way
       got=N          element type of outputs that are got
   ov_fake_report(text, bytes) writes the number of calls, the live handles of each kind, and the
   properties that were set, in order. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int64_t rank; int64_t *dims; } shape_t;
typedef struct { int64_t min, max; } dim_t;
typedef struct { dim_t rank; dim_t *dims; } partial_t;
typedef struct { const char *build, *about; } version_t;
typedef struct { char **names; size_t count; } devices_t;
typedef struct { int status; int64_t real, cpu; const char *node, *exec, *type; } profile_t;
typedef struct { profile_t *rows; size_t count; } profiles_t;
typedef struct { char *text; size_t length; char rest[16]; } text_t;

enum { CORE, MODEL, COMPILED, REQUEST, TENSOR, PORT, TEXT, SHAPE, PARTIAL, DEVICES, VERSION, PROFILES, KINDS };
static const char *const kind_names[KINDS] = { "core", "model", "compiled", "request", "tensor", "port", "text",
                                               "shape", "partial", "devices", "version", "profiles" };

static struct {
    char version[256], devices[256], refuse[64], properties[2048], last[128];
    int old, fail, elsewhere, unwritten, rank, type, names, ports, slow, layout, got, calls;
    int live[KINDS];
} fake = { "2026.4.1-1-fake", "CPU", "", "", "", 0, 0, 0, 0, 2, 4, 1, 1, 0, 0, 0, 0, { 0 } };

/* A reference count, and what the handles mean. */
typedef struct tensor_s { int users, type; int64_t rank, dims[16]; size_t count; void *data; int own; } tensor_t;
typedef struct { int rank; dim_t dims[16]; } model_t;
typedef struct { model_t model; } compiled_t;
typedef struct { model_t model; tensor_t *in, *out; int busy, cancelled; } request_t;
typedef struct { int output; model_t model; } port_t;
typedef struct { tensor_t *tensor; } handle_t;

static int trip(const char *name)
{
    if (++fake.calls != fake.fail) return 0;
    snprintf(fake.last, sizeof fake.last, "Exception from fake.cpp:1:\n%s failed on purpose\n\n", name);
    return -1;
}
#define TRIP do { int status_ = trip(__func__); if (status_ != 0) return status_; } while (0)
static int refuse(const char *text)
{
    snprintf(fake.last, sizeof fake.last, "Exception from fake.cpp:2:\n%s\n", text);
    return -1;
}
static char *copy(const char *text)
{
    char *out = (char *)malloc(strlen(text) + 1);
    strcpy(out, text);
    ++fake.live[TEXT];
    return out;
}

/* ---- knobs ------------------------------------------------------------------------------------- */

static int knob(const char *command, const char *key, char *out, size_t room)
{
    const size_t length = strlen(key);
    const char *at = command;
    while (*at != '\0') {
        const size_t word = strcspn(at, " ");
        if (word > length && strncmp(at, key, length) == 0 && at[length] == '=') {
            const size_t bytes = word - length - 1 < room - 1 ? word - length - 1 : room - 1;
            memcpy(out, at + length + 1, bytes);
            out[bytes] = '\0';
            return 1;
        }
        at += word;
        at += strspn(at, " ");
    }
    return 0;
}

void ov_fake_control(const char *command);
void ov_fake_control(const char *command)
{
    char text[64];
    memset(&fake, 0, sizeof fake);
    strcpy(fake.version, "2026.4.1-1-fake");
    strcpy(fake.devices, "CPU");
    fake.rank = 2;
    fake.names = fake.ports = 1;
    knob(command, "version", fake.version, sizeof fake.version);
    knob(command, "devices", fake.devices, sizeof fake.devices);
    knob(command, "refuse", fake.refuse, sizeof fake.refuse);
    if (knob(command, "old", text, sizeof text)) fake.old = atoi(text);
    if (knob(command, "fail", text, sizeof text)) fake.fail = atoi(text);
    if (knob(command, "elsewhere", text, sizeof text)) fake.elsewhere = atoi(text);
    if (knob(command, "unwritten", text, sizeof text)) fake.unwritten = atoi(text);
    if (knob(command, "rank", text, sizeof text)) fake.rank = strcmp(text, "any") == 0 ? -1 : atoi(text);
    fake.type = fake.old ? 5 : 4;
    if (knob(command, "type", text, sizeof text)) fake.type = atoi(text);
    if (knob(command, "names", text, sizeof text)) fake.names = atoi(text);
    if (knob(command, "ports", text, sizeof text)) fake.ports = atoi(text);
    if (knob(command, "slow", text, sizeof text)) fake.slow = atoi(text);
    if (knob(command, "layout", text, sizeof text)) fake.layout = atoi(text);
    if (knob(command, "got", text, sizeof text)) fake.got = atoi(text);
}

void ov_fake_report(char *out, size_t room);
void ov_fake_report(char *out, size_t room)
{
    size_t used;
    int i, sum = 0;
    for (i = 0; i < KINDS; ++i) sum += fake.live[i] < 0 ? 1000 : fake.live[i];
    used = (size_t)snprintf(out, room, "calls=%d live=%d", fake.calls, sum);
    for (i = 0; i < KINDS && used < room; ++i)
        if (fake.live[i] != 0) used += (size_t)snprintf(out + used, room - used, " %s=%d", kind_names[i], fake.live[i]);
    if (used < room) snprintf(out + used, room - used, "%s", fake.properties);
}

/* ---- version, texts ---------------------------------------------------------------------------- */

int ov_get_openvino_version(version_t *out);
int ov_get_openvino_version(version_t *out)
{
    TRIP;
    ++fake.live[VERSION];
    out->build = strcmp(fake.version, "null") == 0 ? NULL : fake.version;
    out->about = "fake";
    return 0;
}
void ov_version_free(version_t *version);
void ov_version_free(version_t *version) { (void)version; --fake.live[VERSION]; }
void ov_free(const char *text);
void ov_free(const char *text) { --fake.live[TEXT]; free((void *)(uintptr_t)text); }
const char *ov_get_last_err_msg(void);
const char *ov_get_last_err_msg(void) { return fake.last[0] != '\0' ? copy(fake.last) : NULL; }
const char *ov_get_error_info(int status);
const char *ov_get_error_info(int status) { return status == -9 ? "result not ready" : "general error"; }

/* ---- core -------------------------------------------------------------------------------------- */

int ov_core_create(void **core);
int ov_core_create(void **core)
{
    TRIP;
    ++fake.live[CORE];
    *core = malloc(1);
    return 0;
}
int ov_core_create_with_config(const char *xml, void **core);
int ov_core_create_with_config(const char *xml, void **core)
{
    TRIP;
    snprintf(fake.properties + strlen(fake.properties), sizeof fake.properties - strlen(fake.properties), " xml:%s", xml);
    ++fake.live[CORE];
    *core = malloc(1);
    return 0;
}
void ov_core_free(void *core);
void ov_core_free(void *core) { --fake.live[CORE]; free(core); }

int ov_core_get_available_devices(const void *core, devices_t *list);
int ov_core_get_available_devices(const void *core, devices_t *list)
{
    const char *at = fake.devices;
    TRIP;
    (void)core;
    list->names = (char **)calloc(64, sizeof(char *));
    list->count = 0;
    ++fake.live[DEVICES];
    while (*at != '\0' && strcmp(fake.devices, "-") != 0 && list->count < 64) {
        const size_t length = strcspn(at, ",");
        char *name = (char *)calloc(length + 1, 1);
        memcpy(name, at, length);
        if (strcmp(name, "null") == 0) { free(name); name = NULL; }
        list->names[list->count++] = name;
        at += length + (at[length] == ',');
    }
    return 0;
}
void ov_available_devices_free(devices_t *list);
void ov_available_devices_free(devices_t *list)
{
    size_t i;
    for (i = 0; i < list->count; ++i) free(list->names[i]);
    free(list->names);
    --fake.live[DEVICES];
}

int ov_core_get_property(const void *core, const char *device, const char *key, char **value);
int ov_core_get_property(const void *core, const char *device, const char *key, char **value)
{
    char text[128];
    TRIP;
    (void)core;
    if (strcmp(key, "FULL_DEVICE_NAME") == 0) snprintf(text, sizeof text, "Fake %s\n\x01", device);
    else if (strcmp(key, "OPTIMIZATION_CAPABILITIES") == 0)
        snprintf(text, sizeof text, "%s", strncmp(device, "GPU", 3) == 0 ? "FP32 FP16 INT8" : "FP32 XFP16 FP16X INT8");
    else return refuse("NotFound: no such property");
    *value = copy(text);
    return 0;
}
/* Variadic in the genuine library; two pointers follow. */
#include <stdarg.h>
int ov_core_set_property(const void *core, const char *device, ...);
int ov_core_set_property(const void *core, const char *device, ...)
{
    const char *key, *value;
    va_list args;
    TRIP;
    (void)core;
    va_start(args, device);
    key = va_arg(args, const char *);
    value = va_arg(args, const char *);
    va_end(args);
    if (strncmp(key, "FOO", 3) == 0) return refuse("NotFound: Unsupported property FOO by CPU plugin.");
    if (strcmp(value, "wrong") == 0) return refuse("Wrong value for property key");
    snprintf(fake.properties + strlen(fake.properties), sizeof fake.properties - strlen(fake.properties), " %s.%s=%s",
             device, key, value);
    return 0;
}

/* ---- models ------------------------------------------------------------------------------------ */

static void model_new(model_t *model)
{
    int i;
    memset(model, 0, sizeof *model);
    model->rank = fake.rank;
    for (i = 0; i < 16; ++i) { model->dims[i].min = 0; model->dims[i].max = -1; }
    if (fake.rank > 0) model->dims[0].min = model->dims[0].max = 2;
}
int ov_core_read_model(const void *core, const char *path, const char *weights, void **out);
int ov_core_read_model(const void *core, const char *path, const char *weights, void **out)
{
    char head[8] = "";
    FILE *file;
    TRIP;
    (void)core; (void)weights;
    file = fopen(path, "rb");
    if (file == NULL) return refuse("no such file");
    if (fread(head, 1, 7, file) == 0) head[0] = '\0';
    fclose(file);
    if (strncmp(head, "damaged", 7) == 0) return refuse("Unable to read the model");
    if (strncmp(head, "strange", 7) == 0) return refuse("OpenVINO does not support the following ONNX operations: Foo");
    if (strncmp(head, "toolarg", 7) == 0) return refuse("std::bad_alloc");
    *out = malloc(sizeof(model_t));
    model_new((model_t *)*out);
    ++fake.live[MODEL];
    return 0;
}
void ov_model_free(void *model);
void ov_model_free(void *model) { --fake.live[MODEL]; free(model); }
int ov_model_inputs_size(const void *model, size_t *count);
int ov_model_inputs_size(const void *model, size_t *count) { TRIP; (void)model; *count = (size_t)fake.ports; return 0; }

static int port_new(const model_t *model, int output, void **out)
{
    port_t *port = (port_t *)malloc(sizeof *port);
    port->output = output;
    port->model = *model;
    *out = port;
    ++fake.live[PORT];
    return 0;
}
int ov_model_const_input_by_index(const void *model, size_t index, void **port);
int ov_model_const_input_by_index(const void *model, size_t index, void **port)
{
    TRIP;
    (void)index;
    return port_new((const model_t *)model, 0, port);
}
int ov_model_reshape_by_port_indexes(const void *model, const size_t *indexes, const partial_t *shapes, size_t count);
int ov_model_reshape_by_port_indexes(const void *model, const size_t *indexes, const partial_t *shapes, size_t count)
{
    model_t *change = (model_t *)(uintptr_t)model;
    size_t i;
    TRIP;
    for (i = 0; i < count; ++i) {
        if (indexes[i] != 0 || (change->rank >= 0 && shapes[i].rank.min != change->rank)) return refuse("Check of shapes failed");
        change->rank = (int)shapes[i].rank.min;
        memcpy(change->dims, shapes[i].dims, (size_t)change->rank * sizeof(dim_t));
    }
    return 0;
}
static int compile(const model_t *model, const char *device, void **out)
{
    compiled_t *compiled;
    if (strcmp(device, fake.refuse) == 0 || (strcmp(fake.refuse, "all") == 0)) return refuse("this device cannot do it");
    compiled = (compiled_t *)malloc(sizeof *compiled);
    compiled->model = *model;
    ++fake.live[COMPILED];
    *out = compiled;
    snprintf(fake.properties + strlen(fake.properties), sizeof fake.properties - strlen(fake.properties), " for:%s", device);
    return 0;
}
int ov_core_compile_model(const void *core, const void *model, const char *device, size_t strings, void **out, ...);
int ov_core_compile_model(const void *core, const void *model, const char *device, size_t strings, void **out, ...)
{
    TRIP;
    (void)core; (void)strings;
    return compile((const model_t *)model, device, out);
}
int ov_core_import_model(const void *core, const char *data, size_t bytes, const char *device, void **out);
int ov_core_import_model(const void *core, const char *data, size_t bytes, const char *device, void **out)
{
    model_t model;
    TRIP;
    (void)core;
    if (bytes != 8 || memcmp(data, "FAKEBLOB", 8) != 0) return refuse("not a blob");
    model_new(&model);
    return compile(&model, device, out);
}
int ov_compiled_model_export_model(const void *compiled, const char *path);
int ov_compiled_model_export_model(const void *compiled, const char *path)
{
    FILE *file;
    TRIP;
    (void)compiled;
    file = fopen(path, "wb");
    if (file == NULL) return -1;
    fwrite("FAKEBLOB", 1, 8, file);
    fclose(file);
    return 0;
}
void ov_compiled_model_free(void *compiled);
void ov_compiled_model_free(void *compiled) { --fake.live[COMPILED]; free(compiled); }
int ov_compiled_model_inputs_size(const void *compiled, size_t *count);
int ov_compiled_model_inputs_size(const void *compiled, size_t *count) { TRIP; (void)compiled; *count = (size_t)fake.ports; return 0; }
int ov_compiled_model_outputs_size(const void *compiled, size_t *count);
int ov_compiled_model_outputs_size(const void *compiled, size_t *count) { TRIP; (void)compiled; *count = 1; return 0; }
int ov_compiled_model_input_by_index(const void *compiled, size_t index, void **port);
int ov_compiled_model_input_by_index(const void *compiled, size_t index, void **port)
{
    TRIP;
    (void)index;
    return port_new(&((const compiled_t *)compiled)->model, 0, port);
}
int ov_compiled_model_output_by_index(const void *compiled, size_t index, void **port);
int ov_compiled_model_output_by_index(const void *compiled, size_t index, void **port)
{
    TRIP;
    (void)index;
    return port_new(&((const compiled_t *)compiled)->model, 1, port);
}

/* ---- ports ------------------------------------------------------------------------------------- */

int ov_port_get_any_name(const void *port, char **name);
int ov_port_get_any_name(const void *port, char **name)
{
    TRIP;
    if (!fake.names) return refuse("no names");
    *name = copy(((const port_t *)port)->output ? "y" : "x");
    return 0;
}
int ov_port_get_element_type(const void *port, int *type);
int ov_port_get_element_type(const void *port, int *type) { TRIP; (void)port; *type = fake.type; return 0; }
int ov_port_get_partial_shape(const void *port, partial_t *shape);
int ov_port_get_partial_shape(const void *port, partial_t *shape)
{
    const model_t *model = &((const port_t *)port)->model;
    TRIP;
    shape->rank.min = model->rank < 0 ? 0 : model->rank;
    shape->rank.max = model->rank;
    shape->dims = (dim_t *)calloc(16, sizeof(dim_t));
    memcpy(shape->dims, model->dims, sizeof model->dims);
    ++fake.live[PARTIAL];
    return 0;
}
void ov_output_const_port_free(void *port);
void ov_output_const_port_free(void *port) { --fake.live[PORT]; free(port); }
void ov_partial_shape_free(partial_t *shape);
void ov_partial_shape_free(partial_t *shape) { --fake.live[PARTIAL]; free(shape->dims); shape->dims = NULL; }

/* ---- tensors ----------------------------------------------------------------------------------- */

/* Bytes of an element of a type, as 2025.1 and newer number them. */
static size_t bytes_of(int type)
{
    static const unsigned char bytes[] = { 0, 1, 2, 2, 4, 8, 1, 1, 2, 4, 8, 1, 1, 1, 1, 1, 1, 2, 4, 8, 1, 1, 1, 32, 1, 1 };
    type -= fake.old == 1;
    if (fake.old == 2) return 3;
    return type < 0 || type > 25 ? 0 : type == 23 ? sizeof(text_t) : bytes[type];
}
static int is_text(int type) { return type - (fake.old == 1) == 23; }

static handle_t *tensor_new(int type, int64_t rank, const int64_t *dims, void *data)
{
    handle_t *handle = (handle_t *)malloc(sizeof *handle);
    tensor_t *tensor = (tensor_t *)calloc(1, sizeof *tensor);
    int64_t i;
    tensor->users = 1;
    tensor->type = type;
    tensor->rank = rank;
    tensor->count = 1;
    for (i = 0; i < rank; ++i) { tensor->dims[i] = dims[i]; tensor->count *= (size_t)dims[i]; }
    tensor->own = data == NULL;
    tensor->data = data != NULL ? data : calloc(tensor->count + 1, bytes_of(type) ? bytes_of(type) : 1);
    handle->tensor = tensor;
    ++fake.live[TENSOR];
    return handle;
}
static void text_set(text_t *row, const char *text)
{
    if (row->text != NULL && row->text != row->rest) free(row->text);
    row->length = strlen(text);
    row->text = row->length < 16 ? row->rest : (char *)malloc(row->length + 1);
    strcpy(row->text, text);
    if (fake.layout == 1) row->length += 1;
}
static void tensor_drop(tensor_t *tensor)
{
    size_t i;
    if (tensor == NULL || --tensor->users > 0) return;
    for (i = 0; is_text(tensor->type) && i < tensor->count; ++i) {
        text_t *row = (text_t *)tensor->data + i;
        if (row->text != NULL && row->text != row->rest) free(row->text);
    }
    if (tensor->own) free(tensor->data);
    free(tensor);
}
int ov_tensor_create(int type, shape_t shape, void **tensor);
int ov_tensor_create(int type, shape_t shape, void **tensor)
{
    TRIP;
    *tensor = tensor_new(type, shape.rank, shape.dims, NULL);
    return 0;
}
int ov_tensor_create_from_host_ptr(int type, shape_t shape, void *data, void **tensor);
int ov_tensor_create_from_host_ptr(int type, shape_t shape, void *data, void **tensor)
{
    TRIP;
    if (data == NULL) return -14;
    *tensor = tensor_new(type, shape.rank, shape.dims, data);
    return 0;
}
int ov_tensor_create_from_string_array(const char **texts, size_t count, shape_t shape, void **out);
int ov_tensor_create_from_string_array(const char **texts, size_t count, shape_t shape, void **out)
{
    handle_t *handle;
    size_t i;
    TRIP;
    handle = tensor_new(fake.old == 1 ? 24 : 23, shape.rank, shape.dims, NULL);
    for (i = 0; i < count; ++i) text_set((text_t *)handle->tensor->data + i, texts[i]);
    *out = handle;
    return 0;
}
int ov_tensor_set_string_data(void *tensor, const char **texts, size_t count);
int ov_tensor_set_string_data(void *tensor, const char **texts, size_t count)
{
    size_t i;
    TRIP;
    for (i = 0; i < count; ++i) text_set((text_t *)((handle_t *)tensor)->tensor->data + i, texts[i]);
    return 0;
}
int ov_tensor_get_byte_size(const void *handle, size_t *bytes);
int ov_tensor_get_byte_size(const void *handle, size_t *bytes)
{
    const tensor_t *tensor = ((const handle_t *)handle)->tensor;
    size_t count = 1;
    int64_t i;
    TRIP;
    for (i = 0; i < tensor->rank; ++i) count *= (size_t)tensor->dims[i];   /* tensor->count is what there is room for */
    *bytes = count * bytes_of(tensor->type);
    return 0;
}
int ov_tensor_get_element_type(const void *handle, int *type);
int ov_tensor_get_element_type(const void *handle, int *type)
{
    TRIP;
    *type = fake.got != 0 ? fake.got : ((const handle_t *)handle)->tensor->type;
    return 0;
}
int ov_tensor_get_shape(const void *handle, shape_t *shape);
int ov_tensor_get_shape(const void *handle, shape_t *shape)
{
    const tensor_t *tensor = ((const handle_t *)handle)->tensor;
    TRIP;
    shape->rank = tensor->rank;
    shape->dims = (int64_t *)calloc(16, sizeof(int64_t));
    memcpy(shape->dims, tensor->dims, sizeof tensor->dims);
    ++fake.live[SHAPE];
    return 0;
}
int ov_tensor_data(const void *handle, void **data);
int ov_tensor_data(const void *handle, void **data) { TRIP; *data = ((const handle_t *)handle)->tensor->data; return 0; }
void ov_tensor_free(void *handle);
void ov_tensor_free(void *handle) { --fake.live[TENSOR]; tensor_drop(((handle_t *)handle)->tensor); free(handle); }
int ov_shape_free(shape_t *shape);
int ov_shape_free(shape_t *shape) { --fake.live[SHAPE]; free(shape->dims); shape->dims = NULL; return 0; }

/* ---- requests ---------------------------------------------------------------------------------- */

int ov_compiled_model_create_infer_request(const void *compiled, void **out);
int ov_compiled_model_create_infer_request(const void *compiled, void **out)
{
    request_t *request;
    TRIP;
    request = (request_t *)calloc(1, sizeof *request);
    request->model = ((const compiled_t *)compiled)->model;
    *out = request;
    ++fake.live[REQUEST];
    return 0;
}
int ov_infer_request_set_input_tensor_by_index(void *object, size_t index, const void *handle);
int ov_infer_request_set_input_tensor_by_index(void *object, size_t index, const void *handle)
{
    request_t *request = (request_t *)object;
    TRIP;
    if (index != 0) return refuse("no such input");
    tensor_drop(request->in);
    request->in = ((const handle_t *)handle)->tensor;
    ++request->in->users;
    return 0;
}
int ov_infer_request_set_output_tensor_by_index(void *object, size_t index, const void *handle);
int ov_infer_request_set_output_tensor_by_index(void *object, size_t index, const void *handle)
{
    request_t *request = (request_t *)object;
    TRIP;
    if (index != 0) return refuse("no such output");
    tensor_drop(request->out);
    request->out = ((const handle_t *)handle)->tensor;
    ++request->out->users;
    return 0;
}
int ov_infer_request_get_output_tensor_by_index(const void *object, size_t index, void **out);
int ov_infer_request_get_output_tensor_by_index(const void *object, size_t index, void **out)
{
    const request_t *request = (const request_t *)object;
    handle_t *handle;
    TRIP;
    if (index != 0 || request->out == NULL) return refuse("no output");
    handle = (handle_t *)malloc(sizeof *handle);
    handle->tensor = request->out;
    ++request->out->users;
    ++fake.live[TENSOR];
    *out = handle;
    return 0;
}
static int compute(request_t *request)
{
    tensor_t *in = request->in, *out = request->out;
    size_t i;
    if (in == NULL) return refuse("no input");
    if (out != NULL && !out->own && !fake.elsewhere) {
        if (in->count > out->count) return refuse("Could set new shape: [9]");
        out->rank = in->rank;
        memcpy(out->dims, in->dims, sizeof in->dims);
        if (fake.unwritten) return 0;
    } else {
        handle_t *handle = tensor_new(in->type, in->rank, in->dims, NULL);
        tensor_drop(out);
        out = request->out = handle->tensor;
        free(handle);
        --fake.live[TENSOR];
    }
    if (is_text(in->type)) for (i = 0; i < in->count; ++i) text_set((text_t *)out->data + i, ((text_t *)in->data)[i].text);
    else memcpy(out->data, in->data, in->count * bytes_of(in->type));
    for (i = 0; in->type - (fake.old == 1) == 4 && i < in->count; ++i) ((float *)out->data)[i] += 1;
    return 0;
}
int ov_infer_request_infer(void *request);
int ov_infer_request_infer(void *request) { TRIP; return compute((request_t *)request); }
int ov_infer_request_start_async(void *object);
int ov_infer_request_start_async(void *object)
{
    request_t *request = (request_t *)object;
    TRIP;
    __atomic_store_n(&request->cancelled, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&request->busy, fake.slow != 0, __ATOMIC_SEQ_CST);
    return compute(request);
}
int ov_infer_request_wait(void *object);
int ov_infer_request_wait(void *object)
{
    request_t *request = (request_t *)object;
    TRIP;
    while (__atomic_load_n(&request->busy, __ATOMIC_SEQ_CST)) {}
    if (__atomic_load_n(&request->cancelled, __ATOMIC_SEQ_CST) && fake.slow != 2) {
        snprintf(fake.last, sizeof fake.last, "Infer Request was canceled\n");
        return -13;
    }
    return 0;
}
int ov_infer_request_wait_for(void *object, int64_t ms);
int ov_infer_request_wait_for(void *object, int64_t ms)
{
    request_t *request = (request_t *)object;
    TRIP;
    (void)ms;
    return __atomic_load_n(&request->busy, __ATOMIC_SEQ_CST) ? -9 : 0;
}
int ov_infer_request_cancel(void *object);
int ov_infer_request_cancel(void *object)
{
    request_t *request = (request_t *)object;
    if (__atomic_load_n(&request->busy, __ATOMIC_SEQ_CST)) __atomic_store_n(&request->cancelled, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&request->busy, 0, __ATOMIC_SEQ_CST);
    return 0;
}
void ov_infer_request_free(void *object);
void ov_infer_request_free(void *object)
{
    request_t *request = (request_t *)object;
    tensor_drop(request->in);
    tensor_drop(request->out);
    free(request);
    --fake.live[REQUEST];
}
int ov_infer_request_get_profiling_info(const void *request, profiles_t *list);
int ov_infer_request_get_profiling_info(const void *request, profiles_t *list)
{
    static const profile_t rows[3] = { { 0, 0, 0, "x", "unknown_f32", "Parameter" }, { 2, 20, 19, "add", "jit_avx2_f32", "Add" },
                                       { 2, 7, 7, NULL, NULL, NULL } };
    TRIP;
    (void)request;
    list->rows = (profile_t *)malloc(sizeof rows);
    memcpy(list->rows, rows, sizeof rows);
    list->count = 3;
    ++fake.live[PROFILES];
    return 0;
}
void ov_profiling_info_list_free(profiles_t *list);
void ov_profiling_info_list_free(profiles_t *list) { --fake.live[PROFILES]; free(list->rows); list->rows = NULL; }
