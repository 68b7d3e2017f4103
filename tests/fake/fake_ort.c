/* fake_ort.c - a library with the table of ONNX Runtime, which tests steer and which counts its handles

   The table ends where its version ends: behind the last slot lies a page that cannot be read. Slots that the
   engine must not call are filled with a function that counts as wrong. */
#define _GNU_SOURCE
#include "fake_ort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static fake_ort fake;

EXPORT fake_ort *fake_ort_control(void) { return &fake; }

EXPORT void fake_ort_reset(void)
{
    memset(&fake, 0, sizeof fake);
    fake.version = "1.31.1";
    fake.null_slot = -1;
    fake.fail_code = 1;
    fake.fail_text = "the fake was told to fail";
    fake.kind = fake.element = 1;
    fake.rank = 2;
    fake.inputs = 1;
    fake.plugin_devices = 1;
}

/* ---- handles ---- */

enum { MAGIC = 0x0F7A4E00, ROOM = 8 };

typedef struct handle {
    int kind;                            /* MAGIC + kind */
    int code, element, owned, severity;
    char text[128];
    size_t rank, count;
    int64_t dims[20];
    void *data;                          /* of a value; strings: char *[count] */
    struct handle *other;                /* of options: nothing; of io: bound values below */
    struct { const char *name; struct handle *value; int device; } in[ROOM], out[ROOM];
    int ins, outs, terminate, no_fallback, record;
    int64_t batch;                       /* overridden dimension */
    void (*log)(void *, int, const char *, const char *, const char *, const char *);
    void *log_user;
} handle;

static void *make(int kind)
{
    handle *made = calloc(1, sizeof *made);
    if (made == NULL) abort();
    made->kind = MAGIC + kind;
    ++fake.live[kind];
    return made;
}

static handle *is(const void *at, int kind)
{
    handle *found = (handle *)(uintptr_t)at;
    if (found == NULL || found->kind != MAGIC + kind) {
        ++fake.wrong;
        fprintf(stderr, "fake_ort: a handle is not of kind %d\n", kind);
        abort();
    }
    return found;
}

static void drop(void *at, int kind)
{
    handle *found = is(at, kind);
    found->kind = 0;
    --fake.live[kind];
    free(found);
}

static void *status(int code, const char *text)
{
    handle *made = make(FAKE_STATUS);
    made->code = code;
    snprintf(made->text, sizeof made->text, "%s", text);
    return made;
}

/* Begin a function that returns a status. */
#define CALL() \
    do { if (++fake.calls == fake.fail_at) return status(fake.fail_code, fake.fail_text); } while (0)

static void note(const char *what, const char *a, const char *b)
{
    const size_t used = strlen(fake.journal);
    snprintf(fake.journal + used, sizeof fake.journal - used, "%s%s%s%s\n", what, a, b[0] != '\0' ? "=" : "", b);
}

static void wrong_slot(void) { ++fake.wrong; fprintf(stderr, "fake_ort: a slot that nobody may call\n"); abort(); }

/* ---- status, environment, options ---- */

static int get_code(const void *s) { return is(s, FAKE_STATUS)->code; }
static const char *get_text(const void *s) { return is(s, FAKE_STATUS)->text; }
static void release_status(void *s) { drop(s, FAKE_STATUS); }

static void *create_env(void *log, void *user, int level, const char *id, void **out)
{
    (void)log; (void)user; (void)level; (void)id;
    CALL();
    *out = make(FAKE_ENV);
    return NULL;
}
static int plugged;
static void release_env(void *e)
{
    drop(e, FAKE_ENV);
    if (plugged && fake.live[FAKE_ENV] == 0) plugged = 0, --fake.live[FAKE_PLUGIN];
}

static void *create_options(void **out) { CALL(); *out = make(FAKE_OPTIONS); ((handle *)*out)->batch = -1; return NULL; }
static void release_options(void *o) { drop(o, FAKE_OPTIONS); }
static void *set_severity(void *o, int level) { CALL(); is(o, FAKE_OPTIONS)->severity = level; return NULL; }
static void *set_level(void *o, int level)
{
    char text[16];
    CALL();
    is(o, FAKE_OPTIONS);
    snprintf(text, sizeof text, "%d", level);
    note("level", "", text);
    return NULL;
}
static void *set_threads(void *o, int count)
{
    char text[16];
    CALL();
    is(o, FAKE_OPTIONS);
    snprintf(text, sizeof text, "%d", count);
    note("threads", "", text);
    return NULL;
}
static void *set_logger(void *o, void *log, void *user)
{
    CALL();
    memcpy(&is(o, FAKE_OPTIONS)->log, &log, sizeof log);
    is(o, FAKE_OPTIONS)->log_user = user;
    return NULL;
}
static void *add_entry(void *o, const char *key, const char *value)
{
    CALL();
    is(o, FAKE_OPTIONS);
    note("entry ", key, value);
    if (strcmp(key, "session.disable_cpu_ep_fallback") == 0) is(o, FAKE_OPTIONS)->no_fallback = value[0] == '1';
    if (strcmp(key, "ep.context_file_path") == 0) {
        FILE *file = fopen(value, "w");
        if (file != NULL) fputs("context", file);
        if (file != NULL) fclose(file);
    }
    return NULL;
}
static void *override_dim(void *o, const char *name, int64_t value)
{
    char text[32];
    CALL();
    snprintf(text, sizeof text, "%lld", (long long)value);
    note("dimension ", name, text);
    is(o, FAKE_OPTIONS)->batch = value;
    return NULL;
}

static void note_pairs(const char *name, const char *const *keys, const char *const *values, size_t count)
{
    size_t i;
    note("provider ", name, "");
    for (i = 0; i < count; ++i) note("  ", keys[i], values[i]);
}
static void *append(void *o, const char *name, const char *const *keys, const char *const *values, size_t count)
{
    size_t i;
    CALL();
    is(o, FAKE_OPTIONS);
    for (i = 0; i < count; ++i) {
        if (strcmp(values[i], "nonsense") == 0) return status(2, "the fake does not take nonsense");
        if (strcmp(values[i], "absent") == 0) return status(2, "QNN execution provider is not supported in this build. ");
    }
    note_pairs(name, keys, values, count);
    return NULL;
}
static void *create_provider(void **out) { CALL(); *out = make(FAKE_PROVIDER); return NULL; }
static void *update_cuda(void *p, const char *const *k, const char *const *v, size_t n)
{
    CALL();
    is(p, FAKE_PROVIDER);
    note_pairs("CUDA", k, v, n);
    return NULL;
}
static void *update_trt(void *p, const char *const *k, const char *const *v, size_t n)
{
    CALL();
    is(p, FAKE_PROVIDER);
    note_pairs("TensorRT", k, v, n);
    return NULL;
}
static void *append_object(void *o, const void *p) { CALL(); is(o, FAKE_OPTIONS); is(p, FAKE_PROVIDER); return NULL; }
static void release_provider(void *p) { drop(p, FAKE_PROVIDER); }

/* ---- the plug-in ---- */

static int base_device, plugin_device[2];
static char plugin_name[64];
static void *device_list[3];

static void *register_plugin(void *env, const char *name, const char *path)
{
    CALL();
    is(env, FAKE_ENV);
    if (strcmp(path, "missing.so") == 0) return status(1, "missing.so: cannot open shared object file");
    if (plugged) return status(1, "already registered");
    snprintf(plugin_name, sizeof plugin_name, "%s", name);
    plugged = 1;
    ++fake.live[FAKE_PLUGIN];
    return NULL;
}
static void *get_devices(const void *env, void *const **out, size_t *count)
{
    CALL();
    is(env, FAKE_ENV);
    device_list[0] = &base_device;
    device_list[1] = &plugin_device[0];
    device_list[2] = &plugin_device[1];
    *out = device_list;
    *count = 1 + (size_t)(plugged ? fake.plugin_devices : 0);
    return NULL;
}
static void *append_device(void *o, void *env, void *const *devices, size_t n, const char *const *k, const char *const *v, size_t pairs)
{
    CALL();
    is(o, FAKE_OPTIONS);
    is(env, FAKE_ENV);
    if (n != 1 || devices[0] == &base_device) ++fake.wrong;
    note_pairs("plug-in", k, v, pairs);
    return NULL;
}
static const char *device_name(const void *d) { return d == &base_device ? "CPUExecutionProvider" : plugin_name; }
static const char *device_vendor(const void *d) { return d == &base_device ? "Microsoft" : "Qualcomm"; }
static const void *device_metadata(const void *d) { return d; }
static const void *device_hardware(const void *d) { return d; }
static int hardware_type(const void *d) { return d == &base_device ? 0 : fake.plugin_type; }
static const char *key_value(const void *d, const char *key) { (void)d; return strcmp(key, "version") == 0 ? "2.7.0" : NULL; }

/* ---- sessions ---- */

static void *create_session(void *env, const char *path, void *options, void **out)
{
    handle *session, *from = is(options, FAKE_OPTIONS);
    CALL();
    is(env, FAKE_ENV);
    note("session ", path, "");
    if (strstr(path, "damaged") != NULL) return status(7, "Protobuf parsing failed.");
    if (strstr(path, "huge") != NULL)
        return status(6, "Failed to allocate memory for requested buffer of size 123456789012");
    if (from->no_fallback && fake.cpu_nodes > 0)
        return status(1, "This session contains graph nodes that are assigned to the default CPU EP");
    if (from->log != NULL) from->log(from->log_user, 2, "cat", "id", "here", "a line\nof the \x1b[31mfake");
    session = make(FAKE_SESSION);
    session->batch = from->batch;
    *out = session;
    return NULL;
}
static void release_session(void *s) { drop(s, FAKE_SESSION); }
static void *input_count(const void *s, size_t *n) { CALL(); is(s, FAKE_SESSION); *n = fake.inputs; return NULL; }
static void *output_count(const void *s, size_t *n) { CALL(); is(s, FAKE_SESSION); *n = 2; return NULL; }
static void *initializer_count(const void *s, size_t *n) { CALL(); is(s, FAKE_SESSION); *n = fake.strings ? 0 : 1; return NULL; }

static char *text_of(const char *from) { ++fake.live[FAKE_TEXT]; return strdup(from); }
static void *input_name(const void *s, size_t i, void *a, char **out)
{ (void)a; CALL(); is(s, FAKE_SESSION); *out = text_of(i == 0 ? "x" : "more"); return NULL; }
static void *output_name(const void *s, size_t i, void *a, char **out)
{ (void)a; CALL(); is(s, FAKE_SESSION); *out = text_of(i == 0 ? "y" : "label"); return NULL; }
static void *initializer_name(const void *s, size_t i, void *a, char **out)
{ (void)a; (void)i; CALL(); is(s, FAKE_SESSION); *out = text_of("w"); return NULL; }

/* Describe x or y: [batch, 4]. side 0: x, 1: y, 2: w, 3: label */
static void *type_of(const void *s, int side, void **out)
{
    handle *made = make(FAKE_TYPE);
    made->element = side == 3 || fake.strings ? 8 : side == 0 ? fake.element : 1;
    made->code = side == 0 ? fake.kind : 1;
    made->rank = side == 0 ? fake.rank : side == 2 ? 1 : 2;
    made->owned = side == 1 && fake.no_shape;
    made->dims[0] = side == 2 ? 4 : is(s, FAKE_SESSION)->batch;
    made->dims[1] = 4;
    *out = made;
    return NULL;
}
static void *input_type(const void *s, size_t i, void **out) { (void)i; CALL(); return type_of(s, 0, out); }
static void *output_type(const void *s, size_t i, void **out) { CALL(); return type_of(s, i == 0 ? 1 : 3, out); }
static void *initializer_type(const void *s, size_t i, void **out) { (void)i; CALL(); return type_of(s, 2, out); }
static void release_type(void *t) { drop(t, FAKE_TYPE); }
static void *type_kind(const void *t, int *out) { CALL(); *out = is(t, FAKE_TYPE)->code; return NULL; }
static void *type_tensor(const void *t, const void **out) { CALL(); *out = is(t, FAKE_TYPE); return NULL; }

/* A description of a type or of a value. */
static handle *shape(const void *info)
{
    handle *found = (handle *)(uintptr_t)info;
    if (found->kind != MAGIC + FAKE_TYPE && found->kind != MAGIC + FAKE_SHAPE) abort();
    return found;
}
static void *info_element(const void *i, int *out) { CALL(); *out = shape(i)->element; return NULL; }
static void *info_rank(const void *i, size_t *out) { CALL(); *out = shape(i)->owned ? 0 : shape(i)->rank; return NULL; }
static void *info_dims(const void *i, int64_t *out, size_t n)
{
    CALL();
    if (n != shape(i)->rank) ++fake.wrong;
    memcpy(out, shape(i)->dims, (n < 20 ? n : 20) * sizeof *out);
    return NULL;
}
static void *info_symbols(const void *i, const char **out, size_t n)
{
    size_t k;
    CALL();
    for (k = 0; k < n; ++k) out[k] = k == 0 && shape(i)->kind == MAGIC + FAKE_TYPE && shape(i)->dims[0] < 0 ? "batch" : "";
    return NULL;
}
static unsigned char info_has_shape(const void *i) { return !shape(i)->owned; }

/* Subgraphs: the provider's, and the CPU's. */
static const char *subgraphs[2] = { "QNNExecutionProvider", "CPUExecutionProvider" };
static void *subgraph_list[2] = { &subgraphs[0], &subgraphs[1] };
static void *assignment(const void *s, void *const **out, size_t *count)
{
    CALL();
    is(s, FAKE_SESSION);
    *out = subgraph_list;
    *count = fake.cpu_nodes > 0 ? 2 : 1;
    return NULL;
}
static void *subgraph_name(const void *g, const char **out) { CALL(); *out = *(const char *const *)g; return NULL; }
static const char *node_types[4] = { "Softmax", "Add", "Add", "Gather" };
static void *node_list[4] = { &node_types[0], &node_types[1], &node_types[2], &node_types[3] };
static void *subgraph_nodes(const void *g, void *const **out, size_t *count)
{
    CALL();
    *out = node_list;
    *count = g == subgraph_list[1] ? (size_t)fake.cpu_nodes : 4;
    return NULL;
}
static void *node_type(const void *node, const char **out) { CALL(); *out = *(const char *const *)node; return NULL; }

/* ---- values ---- */

static void *run_options(void **out) { CALL(); *out = make(FAKE_RUN_OPTIONS); return NULL; }
static void release_run_options(void *o) { drop(o, FAKE_RUN_OPTIONS); }
static void *set_terminate(void *o) { __atomic_store_n(&is(o, FAKE_RUN_OPTIONS)->terminate, 1, __ATOMIC_SEQ_CST); return NULL; }
static void *unset_terminate(void *o) { __atomic_store_n(&is(o, FAKE_RUN_OPTIONS)->terminate, 0, __ATOMIC_SEQ_CST); return NULL; }

static int allocator;
static void *default_allocator(void **out) { CALL(); *out = &allocator; return NULL; }
static void *allocator_free(void *a, void *data)
{
    if (a != &allocator) ++fake.wrong;
    --fake.live[FAKE_TEXT];
    free(data);
    return NULL;
}
static void *memory_info(int kind, int memory, void **out) { (void)kind; (void)memory; CALL(); *out = make(FAKE_MEMORY); return NULL; }
static void release_memory(void *m) { drop(m, FAKE_MEMORY); }

static handle *value(int element, const int64_t *dims, size_t rank, void *data)
{
    handle *made = make(FAKE_VALUE);
    size_t i;
    made->element = element;
    made->rank = rank;
    made->count = 1;
    made->severity = 1;                  /* users */
    for (i = 0; i < rank; ++i) made->count *= (size_t)(made->dims[i] = dims[i]);
    made->data = data != NULL ? data : calloc(made->count + 1, sizeof(char *));
    made->owned = data == NULL;
    return made;
}
static void release_value(void *v)
{
    handle *found = is(v, FAKE_VALUE);
    size_t i;
    if (--found->severity > 0) return;
    for (i = 0; found->owned && found->element == 8 && i < found->count; ++i) free(((char **)found->data)[i]);
    if (found->owned) free(found->data);
    drop(v, FAKE_VALUE);
}
static void *tensor(void *a, const int64_t *dims, size_t rank, int element, void **out)
{ CALL(); if (a != &allocator) ++fake.wrong; *out = value(element, dims, rank, NULL); return NULL; }
static void *tensor_over(const void *m, void *data, size_t bytes, const int64_t *dims, size_t rank, int element, void **out)
{
    CALL();
    is(m, FAKE_MEMORY);
    *out = value(element, dims, rank, data);
    if (bytes != ((handle *)*out)->count * 4) ++fake.wrong;
    return NULL;
}
static void *is_tensor(const void *v, int *out) { CALL(); is(v, FAKE_VALUE); *out = 1; return NULL; }
static void *tensor_data(void *v, void **out) { CALL(); *out = is(v, FAKE_VALUE)->data; return NULL; }
static void *tensor_info(const void *v, void **out)
{
    handle *made;
    CALL();
    made = make(FAKE_SHAPE);
    made->element = is(v, FAKE_VALUE)->element;
    made->rank = is(v, FAKE_VALUE)->rank;
    memcpy(made->dims, is(v, FAKE_VALUE)->dims, sizeof made->dims);
    *out = made;
    return NULL;
}
static void release_info(void *i) { drop(i, FAKE_SHAPE); }
static void *fill(void *v, const char *const *texts, size_t count)
{
    handle *found = is(v, FAKE_VALUE);
    size_t i;
    CALL();
    if (found->element != 8 || found->count != count) return status(2, "FillStringTensor");
    for (i = 0; i < count; ++i) {
        free(((char **)found->data)[i]);
        ((char **)found->data)[i] = strdup(texts[i]);
    }
    return NULL;
}
static void *text_bytes(const void *v, size_t *out)
{
    handle *found = is(v, FAKE_VALUE);
    size_t i;
    CALL();
    for (*out = 0, i = 0; i < found->count; ++i) *out += strlen(((char **)found->data)[i]);
    return NULL;
}
static void *text_content(const void *v, void *out, size_t bytes, size_t *offsets, size_t count)
{
    handle *found = is(v, FAKE_VALUE);
    size_t i, at = 0;
    CALL();
    if (count != found->count) ++fake.wrong;
    for (i = 0; i < count; ++i) {
        const size_t length = strlen(((char **)found->data)[i]);
        offsets[i] = fake.bad_offsets ? bytes + 1 : at;
        if (at + length > bytes) abort();
        memcpy((char *)out + at, ((char **)found->data)[i], length);
        at += length;
    }
    return NULL;
}

/* ---- bindings and runs ---- */

static void *create_io(void *s, void **out) { CALL(); is(s, FAKE_SESSION); *out = make(FAKE_IO); return NULL; }
static void unbind(handle *v) { if (v != NULL) release_value(v); }
static void release_io(void *b)
{
    handle *io = is(b, FAKE_IO);
    int i;
    for (i = 0; i < io->ins; ++i) unbind(io->in[i].value);
    for (i = 0; i < io->outs; ++i) unbind(io->out[i].value);
    drop(b, FAKE_IO);
}
static void *bind_input(void *b, const char *name, const void *v)
{
    handle *io = is(b, FAKE_IO);
    int i;
    CALL();
    for (i = 0; i < io->ins && strcmp(io->in[i].name, name) != 0; ++i) {}
    if (i == io->ins) ++io->ins;
    ++is(v, FAKE_VALUE)->severity;
    unbind(io->in[i].value);
    io->in[i].name = name;
    io->in[i].value = (handle *)(uintptr_t)v;
    return NULL;
}
static void *bind_out(handle *io, const char *name, handle *v, int device)
{
    int i;
    for (i = 0; i < io->outs && strcmp(io->out[i].name, name) != 0; ++i) {}
    if (i == io->outs) ++io->outs;
    if (v != NULL) ++v->severity;
    unbind(io->out[i].value);
    io->out[i].name = name;
    io->out[i].value = v;
    io->out[i].device = device;
    return NULL;
}
static void *bind_output(void *b, const char *name, const void *v) { CALL(); return bind_out(is(b, FAKE_IO), name, is(v, FAKE_VALUE), 0); }
static void *bind_device(void *b, const char *name, const void *m) { CALL(); is(m, FAKE_MEMORY); return bind_out(is(b, FAKE_IO), name, NULL, 1); }
static void clear_inputs(void *b)
{
    handle *io = is(b, FAKE_IO);
    while (io->ins > 0) unbind(io->in[--io->ins].value), io->in[io->ins].value = NULL;
}
static void *bound_values(const void *b, void *a, void ***out, size_t *count)
{
    handle *io = is(b, FAKE_IO);
    int i;
    CALL();
    if (a != &allocator) ++fake.wrong;
    *count = (size_t)(io->outs - fake.outputs_missing);
    *out = calloc(*count + 1, sizeof **out);
    ++fake.live[FAKE_TEXT];
    for (i = 0; i < (int)*count; ++i) {
        (*out)[i] = io->out[i].value;
        if (io->out[i].value != NULL) ++io->out[i].value->severity;
    }
    return NULL;
}

static handle *input(handle *io, const char *name)
{
    int i;
    for (i = 0; i < io->ins; ++i)
        if (strcmp(io->in[i].name, name) == 0) return io->in[i].value;
    return NULL;
}

/* As ONNX Runtime does it: an output that has a value is written into, and its shape must fit. */
static void *result(handle *io, int i, int element, const handle *like, handle **out)
{
    if (io->out[i].value == NULL) io->out[i].value = value(element, like->dims, like->rank, NULL);
    *out = io->out[i].value;
    if ((*out)->rank != like->rank || memcmp((*out)->dims, like->dims, like->rank * sizeof *like->dims) != 0)
        return status(2, "OrtValue shape verification failed.");
    return NULL;
}

static void *run(void *s, const void *o, const void *b)
{
    handle *io = is(b, FAKE_IO), *options = is(o, FAKE_RUN_OPTIONS), *x, *w, *y, *label;
    void *bad;
    size_t i;
    is(s, FAKE_SESSION);
    CALL();
    x = input(io, "x");
    w = input(io, "w");
    if (x == NULL) return status(2, "Missing Input: x");
    __atomic_store_n(&fake.running, 1, __ATOMIC_SEQ_CST);
    while (fake.slow && __atomic_load_n(&options->terminate, __ATOMIC_SEQ_CST) == 0) usleep(100);
    __atomic_store_n(&fake.running, 0, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&options->terminate, __ATOMIC_SEQ_CST) != 0)
        return status(1, "Exiting due to terminate flag being set to true.");
    if ((bad = result(io, 0, x->element, x, &y)) != NULL || (bad = result(io, 1, 8, x, &label)) != NULL) return bad;
    for (i = 0; i < x->count; ++i) {
        char text[64];
        if (x->element == 8) snprintf(text, sizeof text, "%s", ((char **)x->data)[i]);
        else snprintf(text, sizeof text, "%g", (double)((float *)x->data)[i]);
        free(((char **)label->data)[i]);
        ((char **)label->data)[i] = strdup(text);
        if (x->element == 8) {
            free(((char **)y->data)[i]);
            ((char **)y->data)[i] = strdup(text);
        } else {
            ((float *)y->data)[i] = ((float *)x->data)[i] + (w != NULL ? ((float *)w->data)[i % 4] : 0);
        }
    }
    return NULL;
}

static const char *build_info(void) { return "ORT Build Info: a fake"; }

/* ---- the table ---- */

static const struct { size_t slot; void (*function)(void); } slots[] = {
#define S(number, name) { number, (void (*)(void))name }
    S(1, get_code), S(2, get_text), S(4, create_env), S(7, create_session), S(10, create_options), S(22, set_severity),
    S(23, set_level), S(24, set_threads), S(30, input_count), S(31, output_count), S(32, initializer_count),
    S(33, input_type), S(34, output_type), S(35, initializer_type), S(36, input_name), S(37, output_name),
    S(38, initializer_name), S(39, run_options), S(46, set_terminate), S(47, unset_terminate), S(48, tensor),
    S(49, tensor_over), S(50, is_tensor), S(51, tensor_data), S(52, fill), S(53, text_bytes), S(54, text_content),
    S(55, type_tensor), S(56, type_kind), S(60, info_element), S(61, info_rank), S(62, info_dims),
    S(63, info_symbols), S(65, tensor_info), S(69, memory_info), S(76, allocator_free), S(78, default_allocator),
    S(92, release_env), S(93, release_status), S(94, release_memory), S(95, release_session), S(96, release_value),
    S(97, release_run_options), S(98, release_type), S(99, release_info), S(100, release_options),
    S(124, override_dim), S(130, add_entry), S(133, run), S(134, create_io), S(135, release_io), S(136, bind_input),
    S(137, bind_output), S(138, bind_device), S(140, bound_values), S(141, clear_inputs), S(170, append_object),
    S(171, create_provider), S(172, update_trt), S(174, release_provider), S(204, append_object),
    S(205, create_provider), S(206, update_cuda), S(208, release_provider), S(216, append), S(254, build_info),
    S(266, set_logger), S(297, key_value), S(301, register_plugin), S(303, get_devices),
    S(304, append_device), S(307, hardware_type), S(312, device_name), S(313, device_vendor), S(314, device_metadata),
    S(316, device_hardware), S(390, info_has_shape), S(407, assignment), S(408, subgraph_name),
    S(409, subgraph_nodes), S(412, node_type)
#undef S
};

/* How many slots a version has. */
static size_t slots_of(uint32_t version)
{
    static const struct { uint32_t version; size_t count; } counts[] = {
        { 11, 210 }, { 12, 219 }, { 13, 225 }, { 14, 239 }, { 15, 255 }, { 16, 266 }, { 17, 276 }, { 18, 280 },
        { 20, 285 }, { 22, 318 }, { 23, 390 }, { 24, 415 }, { 25, 419 }, { 27, 422 }, { 28, 424 }, { 29, 425 },
        { 30, 426 }, { 31, 428 }
    };
    size_t count = 0, i;
    for (i = 0; i < sizeof counts / sizeof *counts; ++i)
        if (counts[i].version <= version) count = counts[i].count;
    return count;
}

static const void *get_api(uint32_t version)
{
    static char *pages;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), count = slots_of(version);
    void (**table)(void);
    size_t i;
    if (fake.no_table || (int)version > atoi(fake.version + 2)) return NULL;
    if (pages == NULL) {
        pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0) abort();
    }
    table = (void (**)(void))(void *)(pages + page - count * sizeof *table);
    for (i = 0; i < count; ++i) table[i] = wrong_slot;
    for (i = 0; i < sizeof slots / sizeof *slots; ++i)
        if (slots[i].slot < count) table[slots[i].slot] = slots[i].function;
    if (fake.null_slot >= 0) table[fake.null_slot] = NULL;
    return table;
}

static const char *get_version(void) { return fake.version; }

typedef struct base { const void *(*get_api)(uint32_t); const char *(*get_version)(void); } base;
EXPORT const base *OrtGetApiBase(void)
{
    static base own;
    own.get_api = fake.no_get_api ? NULL : get_api;
    own.get_version = fake.no_version ? NULL : get_version;
    return fake.no_base ? NULL : &own;
}
