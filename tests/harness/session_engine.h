/* session_engine.h - engines for the tests of sessions: they count handles, and fail at call N

   y = 2 x + bias, sum = the sum of x. x is float32[batch,3], bias (optional) float32[3]. What an engine does is said in
   toy[0] ("first") and toy[1] ("second"). Include qnnrt_session.h and test.h first. */
#ifndef SESSION_ENGINE_H
#define SESSION_ENGINE_H

#include <sched.h>

typedef struct toy_engine {
    const char *devices[4];              /* ended by NULL */
    qnnrt_result open_result, load_result;
    const char *load_device;             /* load_result holds for this device only; NULL: for all */
    int64_t batch;                       /* -1: free */
    int saves;                           /* files saved: "compiled", with `compiled` in it */
    int save_fails;
    const char *compiled;                /* what a cached file must hold */
    int slow;                            /* rounds of useless work in a run */
    int fallback, steps, out_of_memory, scalar_only;
    int echoes;                          /* 1: y lies where x does */
    int flat_sum;                        /* 1: sum is float32[1] */
    const char *touch, *replace;         /* a file that grows in a load; one that another of the same size replaces */
    int warns;                           /* 1: a line */
    int free_bias;                       /* 1: bias is float32[-1]; 2: of any rank */
    /* what happened */
    int libraries, models, bindings, opens, loads, runs, from_cache;
    int save_found;                      /* files in the folder to save to, before */
    qnnrt_engine_load load;              /* the last one; its texts live as long as the model */
    char option[64];
} toy_engine;

static toy_engine toy[2];
static int toy_calls, toy_fail_at;       /* calls of functions that can fail; the one that fails, 0: none */
static int toy_block, toy_inside, toy_cancelled;          /* 1: runs wait for toy_cancelled; atomic */

typedef struct toy_model {
    toy_engine *engine;
    qnnrt_hooks hooks;
    qnnrt_session_tensor inputs[2], outputs[2];
    const char *saved[1], *warnings[1];
} toy_model;

typedef struct toy_binding {
    toy_model *model;
    qnnrt_value x, bias, y;
    float *own, sum;
    size_t room;
} toy_binding;

static qnnrt_result toy_fails(qnnrt_error *err)
{
    if (++toy_calls != toy_fail_at) return QNNRT_OK;
    memset(err, 0, sizeof(*err));
    err->code = QNNRT_E_BACKEND;
    err->vendor_code = 77;
    snprintf(err->text, sizeof(err->text), "call %d was injected", toy_calls);
    return QNNRT_E_BACKEND;
}

static qnnrt_result toy_error(qnnrt_error *err, qnnrt_result code, const char *text)
{
    memset(err, 0, sizeof(*err));
    err->code = code;
    snprintf(err->text, sizeof(err->text), "%s", text);
    return code;
}

static qnnrt_result toy_open(toy_engine *e, const qnnrt_engine_open *desc, void **library, qnnrt_engine_library *out, qnnrt_error *err)
{
    qnnrt_result result = toy_fails(err);
    ++e->opens;
    if (result != QNNRT_OK) return result;
    if (e->open_result != QNNRT_OK) return toy_error(err, e->open_result, "libtoy.so is not there");
    if (desc->option_count > 0) snprintf(e->option, sizeof(e->option), "%.20s=%.20s", desc->options[0].key, desc->options[0].value);
    *library = e;
    out->version = "1.2.3";
    out->path = desc->library_path != NULL ? desc->library_path : "";
    out->build = "build 7";
    out->devices = e->devices;
    while (e->devices[out->device_count] != NULL) ++out->device_count;
    ++e->libraries;
    return QNNRT_OK;
}
static qnnrt_result toy_open_first(const qnnrt_engine_open *desc, void **library, qnnrt_engine_library *out, qnnrt_error *err)
{
    return toy_open(&toy[0], desc, library, out, err);
}
static qnnrt_result toy_open_second(const qnnrt_engine_open *desc, void **library, qnnrt_engine_library *out, qnnrt_error *err)
{
    return toy_open(&toy[1], desc, library, out, err);
}

static void toy_close(void *library) { --((toy_engine *)library)->libraries; }

static void toy_tensor(qnnrt_session_tensor *t, const char *name, uint32_t rank, int64_t a, int64_t b)
{
    t->name = name;
    t->dtype = QNNRT_DTYPE_F32;
    t->rank = rank;
    t->dims[0] = a;
    t->dims[1] = b;
}

static qnnrt_result toy_load(void *library, const qnnrt_engine_load *load, void **model, qnnrt_engine_model *out, qnnrt_error *err)
{
    toy_engine *e = (toy_engine *)library;
    toy_model *m;
    char path[4200];
    qnnrt_result result = toy_fails(err);
    int64_t batch = e->batch;
    size_t i;
    ++e->loads;
    e->load = *load;
    if (result != QNNRT_OK) return result;
    if (e->load_result != QNNRT_OK && (e->load_device == NULL || strcmp(e->load_device, load->device) == 0))
        return toy_error(err, e->load_result, "cannot load it: the toy broke\nin two lines");
    if (e->touch != NULL && !test_write_file(e->touch, "another content", 15)) abort();
    if (e->replace != NULL) {
        size_t bytes;
        void *data = test_read_file(e->replace, &bytes);
        snprintf(path, sizeof(path), "%s.new", e->replace);
        if (data == NULL || !test_write_file(path, data, bytes) || rename(path, e->replace) != 0) abort();
        free(data);
    }
    if (load->preference_count > 0) return toy_error(err, QNNRT_E_UNSUPPORTED, "preferences are not supported");
    for (i = 0; i < load->shape_count; ++i)
        if (strcmp(load->shapes[i].name, "x") == 0) batch = load->shapes[i].dims[0];
    if (load->cached != NULL) {
        char *text;
        snprintf(path, sizeof(path), "%s/compiled", load->cached);
        text = (char *)test_read_file(path, NULL);
        if (text == NULL || strcmp(text, e->compiled) != 0) {
            free(text);
            return toy_error(err, QNNRT_E_FORMAT, "the cached file is of another version");
        }
        free(text);
        ++e->from_cache;
    }
    m = (toy_model *)load->hooks.alloc(load->hooks.alloc_user, sizeof(*m));
    if (m == NULL) return toy_error(err, QNNRT_E_MEMORY, "out of memory: requested 1234 bytes");
    memset(m, 0, sizeof(*m));
    m->engine = e;
    m->hooks = load->hooks;
    if (load->save != NULL && e->saves > 0) {
        snprintf(path, sizeof(path), "%s/compiled", load->save);
        e->save_found = access(path, F_OK) == 0;
        if (e->save_fails) {
            load->hooks.free(load->hooks.alloc_user, m);
            return toy_error(err, QNNRT_E_IO, "cannot save it");
        }
        if (!test_write_file(path, e->compiled, strlen(e->compiled))) abort();
        m->saved[0] = "compiled";
        out->saved = m->saved;
        out->saved_count = 1;
    }
    toy_tensor(&m->inputs[0], "x", 2, batch, 3);
    toy_tensor(&m->inputs[1], "bias", 1, 3, 0);
    m->inputs[1].optional = 1;
    if (e->free_bias) m->inputs[1].dims[0] = -1;
    if (e->free_bias == 2) m->inputs[1].rank = 0;
    m->inputs[1].any_rank = e->free_bias == 2;
    toy_tensor(&m->outputs[0], "y", 2, batch, 3);
    toy_tensor(&m->outputs[1], "sum", e->flat_sum ? 1 : 0, e->flat_sum, 0);
    out->inputs = m->inputs;
    out->outputs = m->outputs;
    out->input_count = 2;
    out->output_count = 2;
    if (e->fallback && load->allow_fallback) out->fallback = "2 of 5 nodes run on cpu";
    if (e->warns) {
        m->warnings[0] = "threads has no\neffect";
        out->warnings = m->warnings;
        out->warning_count = 1;
    }
    *model = m;
    ++e->models;
    return QNNRT_OK;
}

static void toy_unload(void *model)
{
    toy_model *m = (toy_model *)model;
    --m->engine->models;
    m->hooks.free(m->hooks.alloc_user, m);
}

static qnnrt_result toy_bind(void *model, void **binding, qnnrt_error *err)
{
    toy_model *m = (toy_model *)model;
    toy_binding *b;
    const qnnrt_result result = toy_fails(err);
    if (result != QNNRT_OK) return result;
    b = (toy_binding *)m->hooks.alloc(m->hooks.alloc_user, sizeof(*b));
    if (b == NULL) return toy_error(err, QNNRT_E_MEMORY, "out of memory: requested 99 bytes");
    memset(b, 0, sizeof(*b));
    b->model = m;
    *binding = b;
    ++m->engine->bindings;
    return QNNRT_OK;
}

static void toy_unbind(void *binding)
{
    toy_binding *b = (toy_binding *)binding;
    toy_model *m = b->model;
    --m->engine->bindings;
    if (b->own != NULL) m->hooks.free(m->hooks.alloc_user, b->own);
    m->hooks.free(m->hooks.alloc_user, b);
}

static qnnrt_result toy_set(void *binding, int output, size_t index, const qnnrt_value *value, qnnrt_error *err)
{
    toy_binding *b = (toy_binding *)binding;
    const qnnrt_result result = toy_fails(err);
    if (result != QNNRT_OK) return result;
    if (!output && index == 0) b->x = *value;
    if (!output && index == 1) b->bias = *value;
    if (output && index == 0) b->y = *value;
    return QNNRT_OK;
}

static volatile float toy_work;

static qnnrt_result toy_run(void *binding, qnnrt_error *err)
{
    toy_binding *b = (toy_binding *)binding;
    const float *x = (const float *)b->x.data, *bias = (const float *)b->bias.data;
    float *y = (float *)b->y.data;
    const size_t count = b->x.bytes / sizeof(float);
    const qnnrt_result result = toy_fails(err);
    size_t i;
    int k;
    if (result != QNNRT_OK) return result;
    ++b->model->engine->runs;
    if (__atomic_load_n(&toy_block, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&toy_inside, 1, __ATOMIC_RELEASE);
        while (!__atomic_load_n(&toy_cancelled, __ATOMIC_ACQUIRE)) sched_yield();
        return toy_error(err, QNNRT_E_CANCELLED, "cancelled");
    }
    if (b->model->engine->out_of_memory) return toy_error(err, QNNRT_E_MEMORY, "requested 99 bytes of the device");
    for (k = 0; k < b->model->engine->slow; ++k) toy_work = toy_work + 1;
    if (y == NULL && b->room < b->x.bytes) {
        if (b->own != NULL) b->model->hooks.free(b->model->hooks.alloc_user, b->own);
        b->room = 0;
        b->own = (float *)b->model->hooks.alloc(b->model->hooks.alloc_user, b->x.bytes);
        if (b->own == NULL) return toy_error(err, QNNRT_E_MEMORY, "out of memory: requested 24 bytes");
        b->room = b->x.bytes;
    }
    if (y == NULL) y = b->own;
    for (b->sum = 0, i = 0; i < count; ++i) {
        b->sum += x[i];
        y[i] = 2 * x[i] + (bias != NULL ? bias[i % 3] : 0);
    }
    return QNNRT_OK;
}

static qnnrt_result toy_get(void *binding, size_t output, qnnrt_value *value, qnnrt_error *err)
{
    toy_binding *b = (toy_binding *)binding;
    const qnnrt_result result = toy_fails(err);
    if (result != QNNRT_OK) return result;
    *value = b->x;
    value->data = b->model->engine->echoes ? b->x.data : b->y.data != NULL ? b->y.data : (void *)b->own;
    if (output == 1) {
        value->rank = b->model->outputs[1].rank;
        value->dims[0] = 1;
        value->bytes = sizeof(b->sum);
        value->data = &b->sum;
    }
    return QNNRT_OK;
}

static void toy_cancel(void *model)
{
    (void)model;
    __atomic_store_n(&toy_cancelled, 1, __ATOMIC_RELEASE);
}

static size_t toy_steps(void *binding, qnnrt_dispatch *rows, size_t room)
{
    const size_t count = (size_t)((toy_binding *)binding)->model->engine->steps;
    size_t i;
    for (i = 0; i < count && i < room; ++i) {
        memset(&rows[i], 0, sizeof(rows[i]));
        rows[i].step = i;
        rows[i].name = "part";
        rows[i].device = i == 0 ? "npu" : NULL;
        rows[i].us = (double)i;
    }
    return count;
}

static const qnnrt_engine toy_first = {
    QNNRT_ENGINE_VERSION, QNNRT_MODEL_ONNX | QNNRT_MODEL_OPENVINO | QNNRT_MODEL_GRAPH, "first", "doubles", toy_open_first, toy_close,
    toy_load, toy_unload, toy_bind, toy_unbind, toy_set, toy_run, toy_get, toy_cancel, toy_steps
};
static const qnnrt_engine toy_second = {
    QNNRT_ENGINE_VERSION, QNNRT_MODEL_ONNX, "second", "doubles", toy_open_second, toy_close,
    toy_load, toy_unload, toy_bind, toy_unbind, toy_set, toy_run, toy_get, NULL, NULL
};
static const qnnrt_engine *const toy_engines[] = { &toy_first, &toy_second, NULL };

/* Return the number of handles that are alive. */
static int toy_live(void)
{
    return toy[0].libraries + toy[0].models + toy[0].bindings + toy[1].libraries + toy[1].models + toy[1].bindings;
}

/* A folder, and in it model.onnx: a protobuf that says its version only. */
static const char *toy_folder;
static char toy_model_path[1200];

/* Return FOLDER/NAME, valid until the fourth call after. */
static inline const char *toy_path(const char *name)
{
    static char paths[4][1400];
    static int next;
    char *path = paths[next = (next + 1) % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", toy_folder, name);
    return path;
}

/* Reset the engines, and fill a descriptor. Return 0 after a failure. */
static int toy_begin(qnnrt_session_desc *desc)
{
    int i;
    memset(desc, 0, sizeof(*desc));
    memset(toy, 0, sizeof(toy));
    for (i = 0; i < 2; ++i) {
        toy[i].devices[0] = i == 0 ? "npu" : "cpu";
        toy[i].devices[1] = i == 0 ? "cpu" : "cuda:0";
        toy[i].batch = -1;
        toy[i].compiled = "compiled text";
    }
    toy_calls = toy_fail_at = toy_block = toy_inside = toy_cancelled = 0;
    desc->engines = toy_engines;
    if (toy_folder == NULL) toy_folder = test_tmpdir();
    snprintf(toy_model_path, sizeof(toy_model_path), "%s/model.onnx", toy_folder);
    return test_write_file(toy_model_path, "\x08\x08", 2);
}

static inline qnnrt_value toy_value(const char *name, float *data, int64_t a, int64_t b)
{
    qnnrt_value value;
    memset(&value, 0, sizeof(value));
    value.name = name;
    value.dtype = QNNRT_DTYPE_F32;
    value.rank = b != 0 ? 2 : a != 0 ? 1 : 0;
    value.dims[0] = a;
    value.dims[1] = b;
    value.data = data;
    value.bytes = sizeof(float) * (size_t)((a != 0 ? a : 1) * (b != 0 ? b : 1));
    return value;
}

#endif
