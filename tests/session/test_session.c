/* test_session.c - sessions: choice, values, batches, misuse, threads; every failing call and allocation */
#include "../../tools/qnnrt_session.h"
#include "test.h"
#include "session_engine.h"
#include "counted.h"

#include <pthread.h>

static qnnrt_error err;
static qnnrt_session_desc desc;
static qnnrt_session *session;
static float x[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, y[12];

/* Create a session. Return its result. */
static qnnrt_result create(void)
{
    TEST_JUNK(err);
    session = (qnnrt_session *)&desc;
    return qnnrt_session_create(toy_model_path, &desc, &session, &err);
}

/* Return a precision that does not exist. */
static qnnrt_precision odd_precision(void)
{
    const int number = 7;
    qnnrt_precision precision;
    memcpy(&precision, &number, sizeof(precision));
    return precision;
}

#define ERROR() (qnnrt_session_error(session)->text)
#define END() do { CHECK_EQ(qnnrt_session_destroy(session), QNNRT_OK); CHECK_EQ(toy_live(), 0); } while (0)

/* ---- choice ------------------------------------------------------------------------------------ */

TEST(auto_takes_the_first_that_loads_and_says_why)
{
    const qnnrt_session_info *info;
    CHECK(toy_begin(&desc));
    toy[0].load_result = QNNRT_E_UNSUPPORTED;
    toy[0].load_device = "npu";
    CHECK_EQ(create(), QNNRT_OK);
    info = qnnrt_session_get_info(session);
    CHECK_EQ(info->candidate_count, 4);
    CHECK_STR(info->candidates[0].reason, "cannot load it: the toy broke in two lines");
    CHECK_STR(info->candidates[1].reason, "second has no device \"npu\"; it has \"cpu\", \"cuda:0\"");
    CHECK_STR(info->candidates[2].reason, "first has no device \"gpu\"");
    CHECK_STR(info->candidates[3].reason, "the first that loads");
    CHECK(info->candidates[3].taken && !info->candidates[2].taken);
    CHECK_STR(info->device, "cuda:0");
    CHECK_STR(info->engine_version, "1.2.3");
    CHECK_STR(info->text, "model.onnx engine=second device=cuda:0>");
    CHECK(info->fallback == NULL && info->warning_count == 0);
    CHECK_STR(info->cache, "off");
    CHECK_EQ(toy[0].libraries, 0);       /* what was not taken is closed */
    END();
}

TEST(a_named_device_is_the_only_one_unless_fallback_is_allowed)
{
    CHECK(toy_begin(&desc));
    toy[0].load_result = QNNRT_E_FORMAT;
    toy[0].load_device = "npu";
    desc.device = "npu";
    CHECK_EQ(create(), QNNRT_E_FORMAT);
    CHECK(session == NULL);
    CHECK_STR(err.text, "no engine runs");
    CHECK_STR(err.text, "\n  first (npu");
    CHECK_STR(err.text, "second (npu): second has no device");
    CHECK_EQ(toy_live(), 0);
    desc.engine = "first";
    CHECK_EQ(create(), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "first: cannot load it: the toy broke\nin two lines");
    desc.allow_fallback = 1;
    toy[0].fallback = 1;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(qnnrt_session_get_info(session)->device, "cpu");
    CHECK_STR(qnnrt_session_get_info(session)->fallback, "all of it on cpu instead of npu: cannot load it");
    CHECK_STR(qnnrt_session_get_info(session)->fallback, "; 2 of 5 nodes run on cpu");
    END();
    toy[0].load_result = QNNRT_OK;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(qnnrt_session_get_info(session)->fallback, "2 of 5 nodes run on cpu");
    CHECK_EQ(toy[0].load.allow_fallback, 1);
    END();
    desc.device = "cuda";
    desc.engine = "second";
    desc.allow_fallback = 0;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(qnnrt_session_get_info(session)->device, "cuda:0");
    END();
    desc.device = "cuda:1";
    CHECK_EQ(create(), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "second has no device \"cuda:1\"");
    CHECK_EQ(toy_live(), 0);
}

TEST(a_library_that_is_missing_is_a_reason)
{
    CHECK(toy_begin(&desc));
    toy[0].open_result = QNNRT_E_LIBRARY;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(qnnrt_session_get_info(session)->candidates[0].reason, "libtoy.so is not there");
    CHECK_EQ(toy[0].opens, 1);
    END();
    desc.engine = "first";
    CHECK_EQ(create(), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "first: libtoy.so is not there");
    desc.engine = NULL;
    toy[1].open_result = QNNRT_E_VERSION;
    CHECK_EQ(create(), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "second (npu, gpu, cpu): libtoy.so is not there");
    CHECK_EQ(toy_live(), 0);
}

TEST(strategy_1_takes_the_fastest)
{
    CHECK(toy_begin(&desc));
    toy[0].slow = 3000000;
    desc.kernel_policy = "{\"auto_strategy\": 1}";
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(qnnrt_session_get_info(session)->engine, "second");
    CHECK_EQ(qnnrt_session_get_info(session)->candidate_count, 6);
    CHECK_STR(qnnrt_session_get_info(session)->candidates[0].reason, "slower: ");
    CHECK(toy[0].runs >= 6 && toy[0].models == 0 && toy[1].models == 1);
    END();
    desc.kernel_policy = "{\"auto_strategy\": 2}";
    CHECK_EQ(create(), QNNRT_E_ARG);
    CHECK_STR(err.text, "never chooses, and the engine is \"auto\"");
    desc.engine = "first";
    CHECK_EQ(create(), QNNRT_E_ARG);
    CHECK_STR(err.text, "and the device is \"auto\"");
    desc.device = "cpu";
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(qnnrt_session_get_info(session)->candidates[0].reason, "it was asked for");
    END();
}

TEST(warnings_of_the_engine_that_is_taken_are_kept)
{
    CHECK(toy_begin(&desc));
    toy[0].warns = toy[1].warns = 1;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_EQ(qnnrt_session_get_info(session)->warning_count, 1);
    CHECK(strcmp(qnnrt_session_get_info(session)->warnings[0], "first: threads has no effect") == 0);
    END();
    toy[0].warns = 0;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_EQ(qnnrt_session_get_info(session)->warning_count, 0);
    END();
}

TEST(options_go_to_their_engine)
{
    qnnrt_session_option options[4];
    CHECK(toy_begin(&desc));
    memset(options, 0, sizeof(options));
    options[0].key = "library_path";
    options[0].value = "/opt/libtoy.so";
    options[1].engine = "second";
    options[1].key = "level";
    options[1].value = "9";
    desc.options = options;
    desc.option_count = 2;
    desc.device = "cpu";
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(qnnrt_session_get_info(session)->library, "/opt/libtoy.so");
    CHECK_EQ(toy[0].load.option_count, 0);
    CHECK_EQ(toy[0].option[0], 0);
    END();
    desc.engine = "second";
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_STR(toy[1].option, "level=9");
    CHECK_STR(toy[1].load.options[0].value, "9");
    END();
    options[1].engine = "third";
    CHECK_EQ(create(), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "unknown engine \"third\"; there are \"first\", \"second\" (in option \"level\")");
    options[1].engine = NULL;
    options[1].value = NULL;
    CHECK_EQ(create(), QNNRT_E_ARG);
    CHECK_STR(err.text, "option 1 has no key or no value");
}

/* ---- values ------------------------------------------------------------------------------------ */

TEST(runs_by_name_and_by_order)
{
    qnnrt_value in[2], out[2];
    float bias[3] = { 100, 200, 300 };
    CHECK(toy_begin(&desc));
    CHECK_EQ(create(), QNNRT_OK);
    in[0] = toy_value(NULL, x, 2, 3);
    out[0] = toy_value(NULL, y, 2, 3);
    memset(&out[1], 0, sizeof(out[1]));
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 2), QNNRT_OK);
    CHECK(y[5] == 12 && out[0].data == y && *(float *)out[1].data == 21 && out[1].rank == 0 && out[1].bytes == 4);
    CHECK_STR(out[1].name, "sum");
    in[0] = toy_value("bias", bias, 3, 0);
    in[1] = toy_value("x", x, 4, 3);
    memset(out, 0, sizeof(out));
    out[0].name = "sum";
    out[1].name = "y";
    CHECK_EQ(qnnrt_session_run(session, in, 2, out, 2), QNNRT_OK);
    CHECK(*(float *)out[0].data == 78 && ((float *)out[1].data)[11] == 324 && out[1].dims[0] == 4);
    /* The optional input is taken back; the caller's memory is not used again. */
    memset(&out[1], 0, sizeof(out[1]));
    memset(y, 0, sizeof(y));
    out[1].name = "y";
    CHECK_EQ(qnnrt_session_run(session, &in[1], 1, &out[1], 1), QNNRT_OK);
    CHECK(((float *)out[1].data)[11] == 24 && y[0] == 0 && out[1].data != y);
    /* With memory, and without dimensions: the result is copied. */
    memset(out, 0, sizeof(out));
    out[0].data = y;
    out[0].bytes = sizeof(y);
    CHECK_EQ(qnnrt_session_run(session, &in[1], 1, out, 1), QNNRT_OK);
    CHECK(y[11] == 24 && out[0].data == y && out[0].rank == 2 && out[0].bytes == sizeof(y));
    out[0].rank = 0;
    out[0].bytes = 40;
    CHECK_EQ(qnnrt_session_run(session, &in[1], 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "output \"y\" needs room for 48 bytes, got 40");
    /* A batch of nothing. */
    in[1] = toy_value("x", NULL, 0, 3);
    in[1].rank = 2;
    in[1].bytes = 0;
    memset(out, 0, sizeof(out));
    CHECK_EQ(qnnrt_session_run(session, &in[1], 1, out, 1), QNNRT_OK);
    CHECK_EQ(out[0].dims[0] + (int64_t)out[0].bytes, 0);
    END();
}

/* A loop passes the values of the last run again: what the engine found for them ends with it. */
TEST(values_of_the_last_run_are_not_used_again)
{
    qnnrt_value in, out[2];
    int fixed;
    for (fixed = 0; fixed < 2; ++fixed) {
        CHECK(toy_begin(&desc));
        if (fixed) toy[0].batch = 1;
        desc.max_batch_size = fixed ? 4 : 0;
        CHECK_EQ(create(), QNNRT_OK);
        memset(out, 0, sizeof(out));
        in = toy_value("x", x, 1, 3);
        CHECK_EQ(qnnrt_session_run(session, &in, 1, out, 1), QNNRT_OK);
        in = toy_value("x", x, 3, 3);
        CHECK_EQ(qnnrt_session_run(session, &in, 1, out, 1), QNNRT_OK);
        CHECK(out[0].dims[0] == 3 && ((float *)out[0].data)[8] == 2 * x[8]);
        in.data = (char *)out[0].data + 4;
        CHECK_EQ(qnnrt_session_run(session, &in, 1, out, 1), QNNRT_E_ARG);
        CHECK_STR(ERROR(), "an input lies in the memory of output \"y\" of the last run");
        /* After a run that failed inside there is no memory. */
        in = toy_value("x", x, 3, 3);
        toy[0].out_of_memory = 1;
        CHECK_EQ(qnnrt_session_run(session, &in, 1, out, 1), QNNRT_E_MEMORY);
        CHECK(out[0].data == NULL && out[0].bytes == 0);
        toy[0].out_of_memory = 0;
        CHECK_EQ(qnnrt_session_run(session, &in, 1, out, 1), QNNRT_OK);
        CHECK(out[0].dims[0] == 3 && ((float *)out[0].data)[8] == 2 * x[8]);
        END();
    }
    /* An output that is the input does not end with the run. */
    CHECK(toy_begin(&desc));
    toy[0].echoes = 1;
    CHECK_EQ(create(), QNNRT_OK);
    memset(out, 0, sizeof(out));
    in = toy_value("x", x, 1, 3);
    CHECK_EQ(qnnrt_session_run(session, &in, 1, out, 1), QNNRT_OK);
    CHECK(out[0].data == x);
    CHECK_EQ(qnnrt_session_run(session, &in, 1, out, 1), QNNRT_OK);
    in.data = y;
    CHECK_EQ(qnnrt_session_run(session, &in, 1, out, 1), QNNRT_OK);
    CHECK(out[0].data == y && x[5] == 6);
    END();
}

TEST(wrong_values_are_named)
{
    qnnrt_value in[3], out[3], good;
    CHECK(toy_begin(&desc));
    CHECK_EQ(create(), QNNRT_OK);
    memset(out, 0, sizeof(out));
    good = toy_value("x", x, 2, 3);
    CHECK_EQ(qnnrt_session_run(session, NULL, 0, out, 1), QNNRT_E_STATE);
    CHECK_STR(ERROR(), "missing input \"x\"");
    in[0] = toy_value("bias", x, 3, 0);
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_STATE);
    in[0] = good;
    in[0].name = "z";
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_NOT_FOUND);
    CHECK_STR(ERROR(), "no input \"z\"; the 2 inputs are \"x\", \"bias\"");
    in[0].name = "z\nforged\033";                           /* a name forges no line */
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_NOT_FOUND);
    CHECK_STR(ERROR(), "no input \"z forged?\"; the 2 inputs are");
    in[0].name = NULL;
    in[1] = in[2] = toy_value(NULL, x, 3, 0);
    CHECK_EQ(qnnrt_session_run(session, in, 3, out, 1), QNNRT_E_NOT_FOUND);
    CHECK_STR(ERROR(), "3 inputs are given, the model has 2");
    in[1] = good;
    CHECK_EQ(qnnrt_session_run(session, in, 2, out, 1), QNNRT_E_ARG);
    CHECK_STR(ERROR(), "input \"x\" is given twice");
    in[0] = good;
    in[0].dtype = QNNRT_DTYPE_F64;
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "input \"x\" expects float32[-1,3], got float64[2,3]");
    in[0] = good;
    in[0].dims[1] = 4;
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "expects float32[-1,3], got float32[2,4]");
    in[0] = good;
    in[0].rank = 3;
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    in[0].rank = 1000000;
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    in[0] = good;
    in[0].bytes = 23;
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "input \"x\", float32[2,3], expects 24 bytes, got 23");
    in[0] = good;
    in[0].dims[0] = -2;
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "has no size");
    in[0].dims[0] = INT64_MAX;
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_EQ(qnnrt_session_run(session, &good, 1, NULL, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_session_run(session, &good, 1, out, 0), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_session_run(session, NULL, 1, out, 1), QNNRT_E_ARG);
    out[0].name = "q";
    CHECK_EQ(qnnrt_session_run(session, &good, 1, out, 1), QNNRT_E_NOT_FOUND);
    CHECK_STR(ERROR(), "no output \"q\"; the 2 outputs are \"y\", \"sum\"");
    out[0].name = NULL;
    out[0].dtype = QNNRT_DTYPE_I32;
    CHECK_EQ(qnnrt_session_run(session, &good, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "output \"y\" is float32, and int32 is expected");
    out[0] = toy_value(NULL, y, 2, 3);
    out[0].bytes = 20;
    CHECK_EQ(qnnrt_session_run(session, &good, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "needs room for 24 bytes, got 20");
    CHECK_EQ(toy[0].runs, 0);
    out[0] = toy_value(NULL, y, 2, 3);
    CHECK_EQ(qnnrt_session_run(session, &good, 1, out, 1), QNNRT_OK);
    CHECK_EQ(qnnrt_session_error(session)->code, QNNRT_OK);
    toy[0].out_of_memory = 1;
    CHECK_EQ(qnnrt_session_run(session, &good, 1, out, 1), QNNRT_E_MEMORY);
    CHECK_STR(ERROR(), "first: requested 99 bytes of the device (");
    CHECK_STR(ERROR(), " bytes available)");
    END();
}

TEST(a_binding_keeps_its_memory)
{
    qnnrt_binding *binding;
    qnnrt_value value, got;
    CHECK(toy_begin(&desc));
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_create(session, &binding, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_run(binding), QNNRT_E_STATE);
    CHECK_STR(ERROR(), "missing input \"x\"");
    value = toy_value("x", x, 2, 3);
    CHECK_EQ(qnnrt_binding_input(binding, &value), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_get(binding, "y", &got), QNNRT_E_STATE);
    value = toy_value("y", y, 2, 3);
    CHECK_EQ(qnnrt_binding_output(binding, &value), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_run(binding), QNNRT_OK);
    CHECK(y[5] == 12);
    x[5] = 8;
    CHECK_EQ(qnnrt_binding_run(binding), QNNRT_OK);
    CHECK(y[5] == 16);
    x[5] = 6;
    CHECK_EQ(qnnrt_binding_get(binding, "sum", &got), QNNRT_OK);
    CHECK(*(float *)got.data == 23);
    CHECK_EQ(qnnrt_binding_get(binding, NULL, &got), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_binding_get(binding, "q", &got), QNNRT_E_NOT_FOUND);
    CHECK_EQ(qnnrt_binding_get(binding, "y", NULL), QNNRT_E_ARG);
    /* After a failure all is as before. */
    value = toy_value("x", x, 2, 4);
    CHECK_EQ(qnnrt_binding_input(binding, &value), QNNRT_E_MISMATCH);
    value = toy_value("y", y, 0, 0);
    CHECK_EQ(qnnrt_binding_output(binding, &value), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "which has no size");
    value = toy_value(NULL, x, 2, 3);
    CHECK_EQ(qnnrt_binding_input(binding, &value), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_binding_input(binding, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_binding_run(binding), QNNRT_OK);
    value = toy_value("x", NULL, 0, 0);
    CHECK_EQ(qnnrt_binding_input(binding, &value), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_run(binding), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_binding_get(binding, "y", &got), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_session_destroy(session), QNNRT_E_BUSY);
    CHECK_STR(ERROR(), "still in use: 1 bindings");
    CHECK_EQ(qnnrt_binding_destroy(binding), QNNRT_OK);
    END();
}

TEST(a_fixed_batch_runs_in_slices)
{
    qnnrt_binding *binding;
    qnnrt_value in[2], out[2];
    float bias[3] = { 100, 200, 300 };
    CHECK(toy_begin(&desc));
    toy[0].batch = 2;
    CHECK_EQ(create(), QNNRT_OK);
    in[0] = toy_value("x", x, 4, 3);
    in[1] = toy_value("bias", bias, 3, 0);
    memset(out, 0, sizeof(out));
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);   /* max_batch_size is not set */
    END();
    desc.max_batch_size = 4;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_EQ(qnnrt_session_run(session, in, 2, out, 1), QNNRT_OK);
    CHECK(out[0].dims[0] == 4 && out[0].bytes == 48 && ((float *)out[0].data)[0] == 102 && ((float *)out[0].data)[11] == 324);
    CHECK_EQ(toy[0].runs, 2);
    memset(y, 0, sizeof(y));
    out[0] = toy_value("y", y, 4, 3);
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_OK);
    CHECK(out[0].data == y && y[11] == 24 && y[0] == 2);
    out[0] = toy_value("y", y, 4, 3);
    out[0].bytes = 47;
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "output \"y\" is float32[4,3] with 48 bytes, got float32[4,3] with 47");
    memset(out, 0, sizeof(out));
    out[0].name = "sum";
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "output \"sum\" is float32[], which is not a batch of 2");
    in[0] = toy_value("x", x, 3, 3);
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "input \"x\" expects float32[2,3], got float32[3,3]");
    in[0] = toy_value("x", x, 6, 3);
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_LIMIT);
    CHECK_STR(ERROR(), "input \"x\" has a batch of 6, max_batch_size is 4");
    in[0] = toy_value("x", x, 2, 3);
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_OK);
    CHECK(*(float *)out[0].data == 21);
    in[0] = toy_value("x", x, 4, 3);
    in[0].bytes = 47;
    out[0].name = "y";
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    END();
    desc.max_batch_size = 8;
    toy[0].flat_sum = 1;                 /* a sum over the batch is no batch: two of them are not the result */
    CHECK_EQ(create(), QNNRT_OK);
    in[0] = toy_value("x", x, 4, 3);
    out[0].name = "sum";
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "output \"sum\" is float32[1], which is not a batch of 2");
    in[1] = toy_value("bias", x, 6, 0);  /* neither is what another input is cut by */
    CHECK_EQ(qnnrt_session_run(session, in, 2, out, 1), QNNRT_E_MISMATCH);
    CHECK_STR(ERROR(), "input \"bias\" has a batch of 3, and \"x\" one of 2");
    END();
    toy[0].batch = -1;
    desc.max_batch_size = 3;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_EQ(toy[0].load.max_batch, 3);
    in[0] = toy_value("x", x, 4, 3);
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_E_LIMIT);
    CHECK_EQ(qnnrt_binding_create(session, &binding, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_input(binding, &in[0]), QNNRT_E_LIMIT);
    CHECK_STR(ERROR(), "input \"x\" has a batch of 4, max_batch_size is 3");
    CHECK_EQ(qnnrt_binding_run(binding), QNNRT_E_STATE);     /* it was not placed */
    in[0] = toy_value("x", x, 3, 3);
    CHECK_EQ(qnnrt_binding_input(binding, &in[0]), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_run(binding), QNNRT_OK);
    in[1].data = NULL;
    CHECK_EQ(qnnrt_binding_input(binding, &in[1]), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_destroy(binding), QNNRT_OK);
    END();
}

TEST(runs_in_slices_allocate_once)
{
    qnnrt_value in[1], out[1];
    long before;
    CHECK(toy_begin(&desc));
    toy[0].batch = 2;
    desc.max_batch_size = 4;
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    allocations = live = 0;
    fail_at = -1;
    CHECK_EQ(create(), QNNRT_OK);
    in[0] = toy_value("x", x, 4, 3);
    memset(out, 0, sizeof(out));
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_OK);
    before = allocations;
    CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_OK);
    CHECK(out[0].dims[0] == 4 && ((float *)out[0].data)[11] == 24);
    CHECK_EQ(allocations, before);
    END();
    CHECK_EQ(live, 0);
}

TEST(a_free_input_beside_slices_is_refused)
{
    qnnrt_value in[2], out[1];
    for (toy[0].free_bias = 0; toy[0].free_bias < 3; ) {
        const int kind = toy[0].free_bias;
        CHECK(toy_begin(&desc));
        toy[0].batch = 2;
        toy[0].free_bias = kind;
        desc.max_batch_size = 4;
        CHECK_EQ(create(), QNNRT_OK);
        memset(out, 0, sizeof(out));
        in[0] = toy_value("x", x, 4, 3);
        in[1] = toy_value("bias", x, 3, 0);
        CHECK_EQ(qnnrt_session_run(session, in, 2, out, 1), kind ? QNNRT_E_MISMATCH : QNNRT_OK);
        if (kind) CHECK_STR(ERROR(), kind == 1 ? "input \"bias\" is float32[-1]: whether its rows belong to the batches of \"x\" is not known"
                                               : "input \"bias\" is float32");
        CHECK_EQ(toy[0].runs, kind ? 0 : 2);
        CHECK_EQ(qnnrt_session_run(session, in, 1, out, 1), QNNRT_OK);       /* it is not given */
        in[0] = toy_value("x", x, 2, 3);
        CHECK_EQ(qnnrt_session_run(session, in, 2, out, 1), QNNRT_OK);       /* nothing is cut */
        END();
        toy[0].free_bias = kind + 1;
    }
}

TEST(sizes_of_values)
{
    const int64_t dims[3] = { 3, 5, 7 }, none[2] = { 0, INT64_MAX }, large[3] = { INT64_C(1) << 31, INT64_C(1) << 31, 4 }, wrong[1] = { -1 };
    const int64_t many = INT64_C(1) << 62;
    size_t bytes;
    CHECK(qnnrt_session_bytes(QNNRT_DTYPE_I4, 3, dims, &bytes) && bytes == 53);
    CHECK(qnnrt_session_bytes(QNNRT_DTYPE_BF16, 3, dims, &bytes) && bytes == 210);
    CHECK(qnnrt_session_bytes(QNNRT_DTYPE_U16Q, 1, dims, &bytes) && bytes == 6);
    CHECK(qnnrt_session_bytes(QNNRT_DTYPE_I64, 0, dims, &bytes) && bytes == 8);
    CHECK(qnnrt_session_bytes(QNNRT_DTYPE_BOOL8, 2, dims, &bytes) && bytes == 15);
    CHECK(qnnrt_session_bytes(QNNRT_DTYPE_STRING, 1, dims, &bytes) && bytes == 3 * sizeof(char *));
    CHECK(qnnrt_session_bytes(QNNRT_DTYPE_F32, 2, none, &bytes) && bytes == 0);
    CHECK(!qnnrt_session_bytes(QNNRT_DTYPE_F32, 3, large, &bytes) && bytes == 0);
    /* The bits of 2^62 elements do not fit 64 bits, their bytes do. */
    CHECK(qnnrt_session_bytes(QNNRT_DTYPE_I4, 1, &many, &bytes) == (sizeof(size_t) == 8));
    CHECK_EQ(bytes, sizeof(size_t) == 8 ? (size_t)(many / 2) : 0);
    CHECK(!qnnrt_session_bytes(QNNRT_DTYPE_F32, 1, wrong, &bytes));
    CHECK(!qnnrt_session_bytes(QNNRT_DTYPE_F32, 17, dims, &bytes));
    CHECK(!qnnrt_session_bytes((qnnrt_dtype)0x0998, 1, dims, &bytes));
    CHECK_STR(qnnrt_precision_name(QNNRT_PRECISION_FP16), "fp16");
    CHECK_STR(qnnrt_precision_name(odd_precision()), "default");
}

/* ---- the dispatch log -------------------------------------------------------------------------- */

static int rows, rows_wrong;
static void count_row(void *user, const qnnrt_dispatch *row)
{
    rows_wrong += user != &rows || strcmp(row->engine, "first") != 0 || row->step != (size_t)(rows % 3);
    if (toy[0].steps > 0) rows_wrong += strcmp(row->device, rows % 3 == 0 ? "npu" : "cpu") != 0 || row->us != (double)(rows % 3);
    else rows_wrong += row->us < 0 || strcmp(row->name, "model.onnx") != 0 || row->dtype != QNNRT_DTYPE_F32 || row->dims[0] != 2;
    rows += toy[0].steps > 0 ? 1 : 3;
}

TEST(each_run_is_logged_step_by_step)
{
    qnnrt_value in = toy_value("x", x, 2, 3), out;
    CHECK(toy_begin(&desc));
    memset(&out, 0, sizeof(out));
    desc.dispatch = count_row;
    desc.dispatch_user = &rows;
    desc.device = "cpu";
    rows = rows_wrong = 0;
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_EQ(toy[0].load.timed, 1);
    CHECK_EQ(qnnrt_session_run(session, &in, 1, &out, 1), QNNRT_OK);
    CHECK_EQ(rows, 3);
    toy[0].steps = 3;
    CHECK_EQ(qnnrt_session_run(session, &in, 1, &out, 1), QNNRT_OK);
    CHECK_EQ(qnnrt_session_run(session, &in, 1, &out, 1), QNNRT_OK);
    CHECK_EQ(rows, 9);
    CHECK_EQ(rows_wrong, 0);
    END();
}

/* ---- threads ----------------------------------------------------------------------------------- */

static qnnrt_result thread_result;
static void *thread_run(void *user)
{
    qnnrt_value in = toy_value("x", x, 2, 3), out;
    memset(&out, 0, sizeof(out));
    (void)user;
    thread_result = qnnrt_session_run(session, &in, 1, &out, 1);
    return NULL;
}

TEST(a_second_thread_is_refused_and_can_cancel)
{
    qnnrt_value in = toy_value("x", x, 2, 3), out;
    qnnrt_binding *binding, *other = NULL;
    pthread_t thread;
    CHECK(toy_begin(&desc));
    memset(&out, 0, sizeof(out));
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_create(session, &binding, &err), QNNRT_OK);
    __atomic_store_n(&toy_block, 1, __ATOMIC_RELEASE);
    CHECK_EQ(pthread_create(&thread, NULL, thread_run, NULL), 0);
    while (!__atomic_load_n(&toy_inside, __ATOMIC_ACQUIRE)) sched_yield();
    CHECK_EQ(qnnrt_session_run(session, &in, 1, &out, 1), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_binding_run(binding), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_binding_input(binding, &in), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_binding_get(binding, "y", &out), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_binding_create(session, &other, &err), QNNRT_E_BUSY);
    CHECK_STR(err.text, "another thread uses the session");
    CHECK_EQ(qnnrt_binding_destroy(binding), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_session_destroy(session), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_session_cancel(session), QNNRT_OK);
    pthread_join(thread, NULL);
    CHECK_EQ(thread_result, QNNRT_E_CANCELLED);
    CHECK_STR(ERROR(), "first: cancelled");
    CHECK_EQ(qnnrt_binding_destroy(binding), QNNRT_OK);
    END();
    desc.engine = "second";
    CHECK_EQ(create(), QNNRT_OK);
    CHECK_EQ(qnnrt_session_cancel(session), QNNRT_E_UNSUPPORTED);
    END();
}

/* ---- misuse and failures ----------------------------------------------------------------------- */

TEST(wrong_arguments_are_named)
{
    const qnnrt_engine *list[3] = { &toy_first, &toy_first, NULL };
    qnnrt_engine broken = toy_first;
    qnnrt_session_shape shape;
    qnnrt_value value = toy_value("x", x, 2, 3);
    char path[1300];
    CHECK(toy_begin(&desc));
    CHECK_EQ(qnnrt_session_create(NULL, &desc, &session, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_session_create(toy_model_path, NULL, &session, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_session_create(toy_model_path, &desc, NULL, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_session_create(toy_path("none.onnx"), &desc, &session, &err), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "none.onnx\": No such file");
    snprintf(path, sizeof(path), "%s/a.txt", toy_folder);
    CHECK(test_write_file(path, "", 0));
    CHECK_EQ(qnnrt_session_create(path, &desc, &session, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(TEST_TOLD(err), "expected a folder, .bin, .json");
    CHECK_EQ(qnnrt_session_create("/dev/null", &desc, &session, &err), QNNRT_E_IO);
    CHECK_EQ(qnnrt_session_create(toy_folder, &desc, &session, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "\n  first (npu, gpu, cpu): first does not load folders of context binaries");
    CHECK(session == NULL);
    desc.engine = "fifth";
    CHECK_EQ(create(), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "unknown engine \"fifth\"; there are \"first\", \"second\"");
    desc.engine = NULL;
    desc.device = "";
    CHECK_EQ(create(), QNNRT_E_ARG);
    desc.device = NULL;
    desc.precision = odd_precision();
    CHECK_EQ(create(), QNNRT_E_ARG);
    desc.precision = QNNRT_PRECISION_DEFAULT;
    desc.hooks.alloc = counted_alloc;
    CHECK_EQ(create(), QNNRT_E_ARG);
    desc.hooks.alloc = NULL;
    desc.engines = list;
    CHECK_EQ(create(), QNNRT_E_ARG);
    CHECK_STR(err.text, "two engines of the list have the name \"first\"");
    list[1] = &broken;
    broken.version = 9;
    CHECK_EQ(create(), QNNRT_E_VERSION);
    CHECK_STR(err.text, "engine 1 of the list is of version 9, expected 1");
    broken.version = QNNRT_ENGINE_VERSION;
    broken.name = "third";
    broken.get = NULL;
    CHECK_EQ(create(), QNNRT_E_ARG);
    list[0] = NULL;
    CHECK_EQ(create(), QNNRT_E_NOT_FOUND);
    desc.engines = NULL;
    CHECK_EQ(create(), QNNRT_E_ARG);
    CHECK(toy_begin(&desc));
    memset(&shape, 0, sizeof(shape));
    desc.shape_count = 1;
    CHECK_EQ(create(), QNNRT_E_ARG);
    desc.shapes = &shape;
    CHECK_EQ(create(), QNNRT_E_ARG);
    shape.name = "x";
    shape.dims[0] = -1;
    CHECK_EQ(create(), QNNRT_E_ARG);
    CHECK_STR(err.text, "shape \"x\": dimension 0 is -1");
    shape.rank = 17;
    CHECK_EQ(create(), QNNRT_E_ARG);
    CHECK(qnnrt_session_get_info(NULL) == NULL && qnnrt_session_error(NULL) == NULL);
    CHECK_EQ(qnnrt_session_destroy(NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_binding_destroy(NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_session_run(NULL, &value, 1, &value, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_session_cancel(NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_binding_create(NULL, NULL, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_binding_input(NULL, &value), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_binding_output(NULL, &value), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_binding_run(NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_binding_get(NULL, "y", &value), QNNRT_E_ARG);
    CHECK_EQ(toy_live(), 0);
}

/* Use a session from create to destroy, in all ways. Return the first failure. */
static qnnrt_result whole_way(void)
{
    qnnrt_binding *binding = NULL;
    qnnrt_value in = toy_value("x", x, 4, 3), out[2];
    qnnrt_result result = create(), last;
    memset(out, 0, sizeof(out));
    if (result != QNNRT_OK) return result;
    result = qnnrt_session_run(session, &in, 1, out, 1);
    if (result == QNNRT_OK) {
        in.dims[0] = 2;
        in.bytes = 24;
        result = qnnrt_binding_create(session, &binding, &err);
    } else {
        err = *qnnrt_session_error(session);
    }
    if (result == QNNRT_OK) {
        result = qnnrt_binding_input(binding, &in);
        if (result == QNNRT_OK) result = qnnrt_binding_run(binding);
        if (result == QNNRT_OK) result = qnnrt_binding_get(binding, "y", out);
        if (result == QNNRT_OK && ((float *)out[0].data)[5] != 12) result = QNNRT_E_STATE;
        err = *qnnrt_session_error(session);
    }
    qnnrt_binding_destroy(binding);
    last = qnnrt_session_destroy(session);
    return result != QNNRT_OK ? result : last;
}

TEST(every_call_of_an_engine_may_fail)
{
    int failures = 0, limit;
    for (limit = 1; limit < 1000; ++limit) {
        qnnrt_result result;
        CHECK(toy_begin(&desc));
        toy[0].batch = 2;
        desc.max_batch_size = 4;
        desc.engine = "first";
        desc.device = "npu";
        toy_fail_at = limit;
        result = whole_way();
        CHECK_EQ(toy_live(), 0);
        if (result == QNNRT_OK) break;
        ++failures;
        CHECK_EQ(result, QNNRT_E_BACKEND);
        CHECK_EQ(err.vendor_code, 77);
        CHECK_STR(err.text, "first: call ");
    }
    CHECK(failures >= 10 && limit < 1000);
}

TEST(every_allocation_may_fail)
{
    int failures = 0, round;
    qnnrt_session_option option;
    qnnrt_session_shape shape;
    memset(&option, 0, sizeof(option));
    memset(&shape, 0, sizeof(shape));
    option.key = "a";
    option.value = "b";
    shape.name = "x";
    shape.rank = 2;
    shape.dims[0] = 2;
    shape.dims[1] = 3;
    for (round = 0; round < 1000; ++round) {
        qnnrt_result result;
        char cache[1400];
        CHECK(toy_begin(&desc));
        snprintf(cache, sizeof(cache), "%s", toy_path("oom"));
        desc.max_batch_size = 4;
        desc.engine = "first";
        desc.device = "npu";
        desc.cache_dir = round % 2 == 0 ? cache : NULL;
        desc.options = &option;
        desc.option_count = 1;
        desc.shapes = &shape;
        desc.shape_count = 1;
        desc.kernel_policy = "{\"default_precision\": \"fp16\"}";
        desc.execution_policy = "{\"target\": \"npu\", \"precision\": \"int8\", \"static_shape\": true, \"fixed_shapes\": {\"x\": [2, 3]}}";
        desc.hooks.alloc = counted_alloc;
        desc.hooks.free = counted_free;
        toy[0].saves = 1;
        allocations = live = 0;
        fail_at = round / 2;
        result = whole_way();
        CHECK_EQ(live, 0);
        CHECK_EQ(toy_live(), 0);
        if (allocations <= fail_at) {
            CHECK_EQ(result, QNNRT_OK);
            if (round % 2 == 1) break;
            continue;
        }
        if (result == QNNRT_OK) continue;        /* a text, or the cache: the model runs without it */
        ++failures;
        CHECK_EQ(result, QNNRT_E_MEMORY);
        CHECK_STR(err.text, "requested ");
        CHECK_STR(err.text, "available");
    }
    CHECK(failures >= 20 && round < 1000);
}

static size_t refused;

static void *noted_alloc(void *user, size_t bytes)
{
    void *data = counted_alloc(user, bytes);
    if (data == NULL) refused = bytes;
    return data;
}

/* The text has the size that was refused, whoever asked for it. */
TEST(memory_that_is_missing_is_said_as_it_is)
{
    char want[60], cache[1400];
    int sizes = 0;
    CHECK(toy_begin(&desc));
    snprintf(cache, sizeof(cache), "%s", toy_path("oom2"));
    desc.engine = "first";
    desc.device = "npu";
    desc.cache_dir = cache;
    desc.hooks.alloc = noted_alloc;
    desc.hooks.free = counted_free;
    for (fail_at = 0; fail_at < 1000; ++fail_at) {
        qnnrt_result result;
        allocations = live = 0;
        result = create();
        if (result == QNNRT_OK) CHECK_EQ(qnnrt_session_destroy(session), QNNRT_OK);
        CHECK_EQ(live, 0);
        if (allocations <= fail_at) break;
        if (result == QNNRT_OK || strstr(err.text, "requested 1234 bytes") != NULL) continue;   /* the toy's own text */
        snprintf(want, sizeof(want), "requested %lu bytes", (unsigned long)refused);
        CHECK_STR(err.text, want);
        ++sizes;
    }
    CHECK(sizes >= 6 && fail_at < 1000);
}

TEST_MAIN("session")
{
    RUN(auto_takes_the_first_that_loads_and_says_why);
    RUN(a_named_device_is_the_only_one_unless_fallback_is_allowed);
    RUN(a_library_that_is_missing_is_a_reason);
    RUN(strategy_1_takes_the_fastest);
    RUN(warnings_of_the_engine_that_is_taken_are_kept);
    RUN(options_go_to_their_engine);
    RUN(runs_by_name_and_by_order);
    RUN(values_of_the_last_run_are_not_used_again);
    RUN(wrong_values_are_named);
    RUN(a_binding_keeps_its_memory);
    RUN(a_fixed_batch_runs_in_slices);
    RUN(runs_in_slices_allocate_once);
    RUN(a_free_input_beside_slices_is_refused);
    RUN(sizes_of_values);
    RUN(each_run_is_logged_step_by_step);
    RUN(a_second_thread_is_refused_and_can_cancel);
    RUN(wrong_arguments_are_named);
    RUN(every_call_of_an_engine_may_fail);
    RUN(every_allocation_may_fail);
    RUN(memory_that_is_missing_is_said_as_it_is);
}
