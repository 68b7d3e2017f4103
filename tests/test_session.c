/* test_session.c - sessions over an engine of this file, which counts its handles and fails on demand */
#include "../tools/qnnrt_session.h"
#include "test.h"

static qnnrt_error err;

/* ---- an engine: y = 2 x, sum = the sum of x --------------------------------------------------- */

typedef struct ledger { int libraries, models, bindings; } ledger;
static ledger live;

typedef struct doubler { qnnrt_value x, y; float *own; float sum; size_t count; } doubler;

static const char *const doubler_devices[] = { "cpu" };

static qnnrt_result doubler_open(const qnnrt_engine_open *desc, void **library, qnnrt_engine_library *out, qnnrt_error *e)
{
    (void)desc;
    (void)e;
    *library = &live;
    out->version = "1.0";
    out->path = "";
    out->build = "";
    out->devices = doubler_devices;
    out->device_count = 1;
    ++live.libraries;
    return QNNRT_OK;
}

static void doubler_close(void *library) { live.libraries -= library == &live; }

static qnnrt_session_tensor doubler_inputs[1], doubler_outputs[2];

static qnnrt_result doubler_load(void *library, const qnnrt_engine_load *load, void **model, qnnrt_engine_model *out, qnnrt_error *e)
{
    (void)library;
    (void)load;
    (void)e;
    doubler_inputs[0].name = "x";
    doubler_outputs[0].name = "y";
    doubler_outputs[1].name = "sum";
    doubler_inputs[0].dtype = doubler_outputs[0].dtype = doubler_outputs[1].dtype = QNNRT_DTYPE_F32;
    doubler_inputs[0].rank = doubler_outputs[0].rank = 2;
    doubler_inputs[0].dims[0] = doubler_outputs[0].dims[0] = -1;
    doubler_inputs[0].dims[1] = doubler_outputs[0].dims[1] = 3;
    out->inputs = doubler_inputs;
    out->input_count = 1;
    out->outputs = doubler_outputs;
    out->output_count = 2;
    *model = &live;
    ++live.models;
    return QNNRT_OK;
}

static void doubler_unload(void *model) { live.models -= model == &live; }

static qnnrt_result doubler_bind(void *model, void **binding, qnnrt_error *e)
{
    (void)model;
    (void)e;
    *binding = calloc(1, sizeof(doubler));
    ++live.bindings;
    return QNNRT_OK;
}

static void doubler_unbind(void *binding)
{
    free(((doubler *)binding)->own);
    free(binding);
    --live.bindings;
}

static qnnrt_result doubler_set(void *binding, int output, size_t index, const qnnrt_value *value, qnnrt_error *e)
{
    doubler *d = (doubler *)binding;
    (void)e;
    if (!output) d->x = *value;
    else if (index == 0) d->y = *value;
    return QNNRT_OK;
}

static qnnrt_result doubler_run(void *binding, qnnrt_error *e)
{
    doubler *d = (doubler *)binding;
    const float *x = (const float *)d->x.data;
    float *y = (float *)d->y.data;
    size_t i;
    (void)e;
    d->count = d->x.bytes / 4;
    d->sum = 0;
    if (y == NULL) y = d->own = (float *)realloc(d->own, d->x.bytes);
    for (i = 0; i < d->count; ++i) {
        y[i] = 2 * x[i];
        d->sum += x[i];
    }
    return QNNRT_OK;
}

static qnnrt_result doubler_get(void *binding, size_t output, qnnrt_value *value, qnnrt_error *e)
{
    doubler *d = (doubler *)binding;
    (void)e;
    *value = d->x;
    if (output == 0) {
        value->data = d->y.data != NULL ? d->y.data : (void *)d->own;
    } else {
        value->rank = 0;
        value->bytes = 4;
        value->data = &d->sum;
    }
    return QNNRT_OK;
}

static const qnnrt_engine doubler_engine = {
    QNNRT_ENGINE_VERSION, QNNRT_MODEL_ONNX, "doubler", "doubles", doubler_open, doubler_close, doubler_load, doubler_unload,
    doubler_bind, doubler_unbind, doubler_set, doubler_run, doubler_get, NULL, NULL
};
static const qnnrt_engine *const doubler_list[] = { &doubler_engine, NULL };

static char model_path[1200];

static int begin(qnnrt_session_desc *desc)
{
    memset(desc, 0, sizeof(*desc));
    memset(&err, 0xFF, sizeof(err));
    desc->engines = doubler_list;
    if (model_path[0] == '\0') snprintf(model_path, sizeof(model_path), "%.1000s/m.onnx", test_tmpdir());
    return test_write_file(model_path, "\x08\x08", 2);
}

TEST(a_run_by_order_and_by_name)
{
    qnnrt_session_desc desc;
    qnnrt_session *session;
    qnnrt_value in, out[2];
    float x[6] = { 1, 2, 3, 4, 5, 6 }, y[6];
    CHECK(begin(&desc));
    desc.engine = "doubler";
    CHECK_EQ(qnnrt_session_create(model_path, &desc, &session, &err), QNNRT_OK);
    CHECK_STR(qnnrt_session_get_info(session)->text, "m.onnx engine=doubler device=cpu>");
    memset(&in, 0, sizeof(in));
    memset(out, 0, sizeof(out));
    in.dtype = QNNRT_DTYPE_F32;
    in.rank = 2;
    in.dims[0] = 2;
    in.dims[1] = 3;
    in.data = x;
    in.bytes = sizeof(x);
    out[0].rank = 2;
    out[0].dims[0] = 2;
    out[0].dims[1] = 3;
    out[0].data = y;
    out[0].bytes = sizeof(y);
    CHECK_EQ(qnnrt_session_run(session, &in, 1, out, 2), QNNRT_OK);
    CHECK(y[5] == 12 && *(float *)out[1].data == 21 && out[0].data == y && out[1].rank == 0);
    CHECK_STR(out[1].name, "sum");
    memset(out, 0, sizeof(out));
    out[0].name = "sum";
    in.name = "x";
    CHECK_EQ(qnnrt_session_run(session, &in, 1, out, 1), QNNRT_OK);
    CHECK(*(float *)out[0].data == 21);
    CHECK_EQ(qnnrt_session_run(session, &in, 0, out, 1), QNNRT_E_STATE);
    CHECK_STR(qnnrt_session_error(session)->text, "missing input \"x\"");
    in.dims[1] = 2;
    CHECK_EQ(qnnrt_session_run(session, &in, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(qnnrt_session_error(session)->text, "input \"x\" expects float32[-1,3], got float32[2,2]");
    CHECK_EQ(qnnrt_session_destroy(session), QNNRT_OK);
    CHECK_EQ(live.libraries + live.models + live.bindings, 0);
}

TEST(a_binding_runs_again_in_the_same_memory)
{
    qnnrt_session_desc desc;
    qnnrt_session *session;
    qnnrt_binding *binding;
    qnnrt_value in;
    float x[3] = { 1, 2, 3 };
    CHECK(begin(&desc));
    CHECK_EQ(qnnrt_session_create(model_path, &desc, &session, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_create(session, &binding, &err), QNNRT_OK);
    memset(&in, 0, sizeof(in));
    in.dtype = QNNRT_DTYPE_F32;
    in.rank = 2;
    in.dims[0] = 1;
    in.dims[1] = 3;
    in.data = x;
    in.bytes = sizeof(x);
    CHECK_EQ(qnnrt_binding_run(binding), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_binding_input(binding, &in), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_get(binding, "y", &in), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_binding_run(binding), QNNRT_OK);
    x[1] = 7;
    CHECK_EQ(qnnrt_binding_run(binding), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_get(binding, "y", &in), QNNRT_OK);
    CHECK(((float *)in.data)[1] == 14);
    CHECK_EQ(qnnrt_session_destroy(session), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_binding_destroy(binding), QNNRT_OK);
    CHECK_EQ(qnnrt_session_destroy(session), QNNRT_OK);
    CHECK_EQ(live.libraries + live.models + live.bindings, 0);
}

TEST(what_is_not_there_is_named)
{
    qnnrt_session_desc desc;
    qnnrt_session *session = (qnnrt_session *)&desc;
    CHECK(begin(&desc));
    CHECK_EQ(qnnrt_session_create("none.onnx", &desc, &session, &err), QNNRT_E_NOT_FOUND);
    CHECK(session == NULL);
    CHECK_STR(err.text, "model \"none.onnx\": No such file");
    desc.engine = "other";
    CHECK_EQ(qnnrt_session_create(model_path, &desc, &session, &err), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "unknown engine \"other\"; there are \"doubler\"");
    CHECK_EQ(qnnrt_session_create(NULL, &desc, &session, &err), QNNRT_E_ARG);
    CHECK_EQ(live.libraries + live.models + live.bindings, 0);
}

TEST_MAIN("session")
{
    RUN(a_run_by_order_and_by_name);
    RUN(a_binding_runs_again_in_the_same_memory);
    RUN(what_is_not_there_is_named);
}
