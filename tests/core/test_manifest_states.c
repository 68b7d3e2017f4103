/* test_manifest_states.c - the states of a program: values that a call leaves for the next one

   The pipeline adds its input to a state "sum" in one host step, and keeps the input in a state "last", which the same
   step gives out. A graph of the fake library makes it a program; what it computes is not looked at. */
#include "../../qnnrt.h"
#include "qnnrt_device.h"
#include "test.h"
#include "../../tools/qnnrt_manifest.h"
#include "../../tools/run/show/describe.c"
#define OPENS_OPEN  qnnrt_manifest_open
#define OPENS_CLOSE qnnrt_manifest_close
#define OPENS_MODEL qnnrt_manifest
#define OPENS_DESC  qnnrt_manifest_open_desc
#include "opens.h"
#include "meta.h"

#define PAD "# a context binary has at least 64 bytes, and so has this one by this line\n"
#define A "FAKEQNN 1\n" PAD "graph first\nin a 1 0232 2 1 4 -\nout b 2 0232 2 1 4 -\n"

static const char *folder;             /* of the test that runs */

static void put(const char *name, const char *text)
{
    char path[2048];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    test_write_file(path, text, strlen(text));
}

#define TENSOR(name, dtype, dims) "{\"name\": \"" name "\", \"dtype\": \"" dtype "\", \"dims\": " dims "}"
#define HOST "{\"host\": \"add\", \"inputs\": [" TENSOR("x", "float32", "[2]") ", " TENSOR("s", "float32", "[2]") ", " TENSOR("l", "float32", "[2]") "]," \
    " \"outputs\": [" TENSOR("y", "float32", "[2]") ", " TENSOR("t", "float32", "[2]") ", " TENSOR("m", "float32", "[2]") "]}"
#define SUM "{\"name\": \"sum\", \"to\": [[1, \"s\"]], \"from\": [1, \"t\"], \"constant\": \"begin\"}"
#define LAST "{\"name\": \"last\", \"to\": [[1, \"l\"]], \"from\": [1, \"m\"]}"
#define CONSTANTS ", \"constants\": [{\"name\": \"begin\", \"file\": \"begin\", \"dtype\": \"float32\", \"dims\": [2]}," \
    " {\"name\": \"other\", \"file\": \"begin\", \"dtype\": \"float32\", \"dims\": [1]}]"
#define PROGRAM(version, rest) "{\"program\": {\"version\": " version ", \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"a.bin\", \"backend\": \"npu\"}]" \
    CONSTANTS ", \"pipelines\": [{\"name\": \"main\", \"steps\": [{\"context\": 0, \"graph\": \"first\"}, " HOST "]" rest "}]}}"
#define STATES(list) PROGRAM("2", ", \"edges_only\": true, \"states\": [" list "]")

/* x, s, l -> y = l, t = s + x, m = x */
static qnnrt_result add(void *user, const qnnrt_graph_info *step, const void *const *inputs, void *const *outputs, qnnrt_error *err)
{
    const float *x = (const float *)inputs[0], *s = (const float *)inputs[1];
    float *t = (float *)outputs[1];
    (void)step;
    if (*(int *)user) return qnnrt_error_set(err, QNNRT_E_STATE, "it fails");
    memcpy(outputs[0], inputs[2], 8);
    t[0] = s[0] + x[0];
    t[1] = s[1] + x[1];
    memcpy(outputs[2], x, 8);
    return QNNRT_OK;
}

static int failing;
static qnnrt_host_step function;

static qnnrt_manifest_open_desc new_open(void)
{
    qnnrt_manifest_open_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.model = new_desc();
    memset(&function, 0, sizeof(function));
    function.name = "add";
    function.exec = add;
    function.user = &failing;
    desc.host_functions = &function;
    desc.host_function_count = 1;
    failing = 0;
    return desc;
}

static void begin(const char *text)
{
    const float first[2] = { 10, 20 };
    char path[2048];
    fake_begin("");
    folder = test_tmpdir();
    put("a.bin", A);
    snprintf(path, sizeof(path), "%s/begin", folder);
    test_write_file(path, first, sizeof(first));
    put("qnnrt.json", text);
}

/* Execute with an input. The outputs and states must be as expected. */
static void call(int line, qnnrt_run *run, float x, float y, float sum, float last)
{
    const float two[2] = { x, x + 1 };
    float got[2];
    const float *s, *l;
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, two, 2), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, got, 2), QNNRT_OK);
    s = (const float *)qnnrt_manifest_state_data(run, "sum");
    l = (const float *)qnnrt_manifest_state_data(run, "last");
    CHECK(s != NULL && l != NULL);
    if (got[0] == y && s[0] == sum && l[0] == last) return;
    printf("    line %d: y %g, sum %g, last %g\n", line, (double)got[0], (double)s[0], (double)l[0]);
    CHECK(0);
}

#define CALL(run, x, y, sum, last) TRY(call(__LINE__, run, x, y, sum, last))

static char saved[4096];
static size_t saved_bytes;

static int save(void *user, const char *data, size_t bytes)
{
    (void)user;
    if (saved_bytes + bytes > sizeof(saved)) return 0;
    memcpy(saved + saved_bytes, data, bytes);
    saved_bytes += bytes;
    return 1;
}

static int refuse(void *user, const char *data, size_t bytes)
{
    (void)data; (void)bytes;
    return --*(int *)user >= 0;
}

TEST(states_are_kept_between_calls)
{
    qnnrt_manifest_open_desc desc = new_open();
    const qnnrt_manifest_state *states;
    const qnnrt_pipeline_info *p;
    qnnrt_manifest *model;
    qnnrt_run *run, *other;
    size_t count;
    begin(STATES(SUM ", " LAST));
    OPENS(folder, &desc, &model);
    p = qnnrt_pipeline_get_info(qnnrt_manifest_get_info(model)->pipelines[0]);
    CHECK_EQ(p->input_count, 2);                             /* a, x */
    CHECK_EQ(p->output_count, 2);                            /* b, y */
    states = qnnrt_manifest_states(qnnrt_manifest_get_info(model)->pipelines[0], &count);
    CHECK_EQ(count, 2);
    CHECK_STR(states[0].name, "sum");
    CHECK_STR(states[1].name, "last");
    CHECK_EQ(states[1].tensor->bytes, 8);
    CHECK(states[0].constant != NULL && states[1].constant == NULL);
    CHECK_EQ(states[0].from.step, 1);
    CHECK_EQ(qnnrt_manifest_prepare(model, NULL, NULL, &run, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_manifest_prepare(model, NULL, NULL, &other, &error), QNNRT_OK);
    CHECK(*(float *)qnnrt_manifest_state_data(run, "sum") == 10);       /* before the first call */
    CALL(run, 1, 0, 11, 1);
    CALL(run, 2, 1, 13, 2);
    CALL(other, 5, 0, 15, 5);                                /* each run has its own */
    CALL(run, 3, 2, 16, 3);
    CHECK_EQ(qnnrt_manifest_reset(run, &error), QNNRT_OK);
    CALL(run, 1, 0, 11, 1);
    CALL(other, 6, 5, 21, 6);
    /* A call that fails changes no state. */
    failing = 1;
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
    failing = 0;
    CALL(run, 1, 1, 12, 1);
    /* The caller may change one. */
    *(float *)qnnrt_manifest_state_data(run, "sum") = 100;
    CALL(run, 1, 1, 101, 1);
    CHECK(qnnrt_manifest_state_data(run, "none") == NULL);
    CHECK(qnnrt_manifest_state_data(run, NULL) == NULL);     /* there are two */
    CHECK(qnnrt_manifest_state_data(NULL, "sum") == NULL);
    qnnrt_run_destroy(run);
    qnnrt_run_destroy(other);
    CLOSE(model);
}

TEST(states_of_a_run_over_a_plan_of_several)
{
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_manifest *model;
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan_desc;
    const qnnrt_pipeline_info *p;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    int places;
    begin(STATES(SUM ", " LAST));
    OPENS(folder, &desc, &model);
    p = qnnrt_pipeline_get_info(qnnrt_manifest_get_info(model)->pipelines[0]);
    for (places = 0; places < 2; ++places) {
        memset(&entry, 0, sizeof(entry));
        memset(&plan_desc, 0, sizeof(plan_desc));
        entry.pipeline = qnnrt_manifest_get_info(model)->pipelines[0];
        plan_desc.entries = &entry;
        plan_desc.entry_count = 1;
        if (places) {
            plan_desc.buffers = p->buffers;
            plan_desc.buffer_count = p->buffer_count;
            plan_desc.places = p->places;
            plan_desc.place_count = p->place_count;
        }
        CHECK_EQ(qnnrt_plan_create(&plan_desc, &plan, &error), QNNRT_OK);
        CHECK_EQ(qnnrt_mem_create(plan, NULL, &mem, &error), QNNRT_OK);
        CHECK_EQ(qnnrt_run_create(mem, 0, &run, &error), QNNRT_OK);
        if (places) {
            CALL(run, 1, 0, 11, 1);
            CALL(run, 2, 1, 13, 2);
            qnnrt_mem_clear(mem);
            CALL(run, 1, 0, 11, 1);
        } else {                                             /* they would be lost */
            CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
            CHECK_STR(qnnrt_run_error(run)->text, "the states do not lie");
            CHECK_STR(qnnrt_run_error(run)->hint, "places");
            CHECK(qnnrt_manifest_state_data(run, "sum") == NULL);
            CHECK_EQ(qnnrt_manifest_reset(run, &error), QNNRT_E_STATE);
        }
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
        CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    }
    CLOSE(model);
}

TEST(states_are_saved_and_restored)
{
    static const char *const wrong[][2] = {
        { "{\"sum\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "\"last\" is float32[2], but the file does not have it" },
        { "{\"sum\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"last\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,8]}}", "\"last\"" },
        { "{\"sum\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"last\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}", "another type, shape" },
        { "{\"sum\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"last\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", "another type, shape" },
        { "{\"sum\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"last\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[12,20]}}", "another type, shape" },
        { "{\"sum\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"last\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", "another type, shape" },
        { "{\"sum\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"last\":3}", "another type, shape" },
        { "{\"sum\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"last\":{\"shape\":[2],\"data_offsets\":[0,8]}}", "another type, shape" },
        { "{\"sum\":{},\"last\":{},\"more\":{}}", "\"more\", which is not a state" },
        { "{\"sum\":{},\"sum\":{},\"last\":{}}", "\"last\", which it has twice" },
        { "[1]", "not JSON" }, { "{\"sum\":", "not JSON" }, { "", "not JSON" },
    };
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_manifest *model;
    qnnrt_run *run;
    char file[2048];
    size_t i, k;
    int pieces;
    begin(STATES(SUM ", " LAST));
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_manifest_prepare(model, NULL, NULL, &run, &error), QNNRT_OK);
    CALL(run, 1, 0, 11, 1);
    saved_bytes = 0;
    TEST_JUNK(error);
    CHECK_EQ(qnnrt_manifest_save(run, save, NULL, &error), QNNRT_OK);
    CHECK_EQ(error.code, QNNRT_OK);
    CHECK_EQ(((unsigned char)saved[0] + 256u * (unsigned char)saved[1]) % 8, 0);
    CHECK(strstr(saved + 8, "\"sum\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8]}") != NULL);
    CALL(run, 7, 1, 18, 7);
    CHECK_EQ(qnnrt_manifest_restore(run, saved, saved_bytes, &error), QNNRT_OK);
    CALL(run, 2, 1, 13, 2);
    /* In another order. */
    i = (size_t)snprintf(file + 8, sizeof(file) - 8, "{\"last\":{\"data_offsets\":[8,16],\"dtype\":\"F32\",\"shape\":[2]},\"__metadata__\":{\"a\":\"b\"},"
                         "\"s\\u0075m\":{\"shape\":[2],\"dtype\":\"F32\",\"data_offsets\":[0,8]}}");
    memset(file, 0, 8);
    file[0] = (char)(unsigned char)(i & 255);
    file[1] = (char)(unsigned char)(i >> 8);
    for (k = 0; k < 4; ++k) { const float value = (float)(k + 1); memcpy(file + 8 + i + 4 * k, &value, 4); }
    CHECK_EQ(qnnrt_manifest_restore(run, file, 8 + i + 16, &error), QNNRT_OK);
    CALL(run, 1, 3, 2, 1);
    /* What does not fit changes nothing. */
    for (k = 0; k < sizeof(wrong) / sizeof(wrong[0]); ++k) {
        qnnrt_result result;
        i = strlen(wrong[k][0]);
        memset(file, 0, sizeof(file));
        file[0] = (char)(unsigned char)i;
        memcpy(file + 8, wrong[k][0], i);
        TEST_JUNK(error);
        result = qnnrt_manifest_restore(run, file, 8 + i + 16, &error);
        CHECK(result == (strstr(wrong[k][1], "JSON") != NULL ? QNNRT_E_FORMAT : QNNRT_E_MISMATCH));
        CHECK_EQ(error.code, result);
        CHECK_STR(error.text, wrong[k][1]);
    }
    for (i = 0; i < saved_bytes; ++i) CHECK(qnnrt_manifest_restore(run, saved, i, &error) != QNNRT_OK);
    CALL(run, 1, 1, 3, 1);
    for (pieces = 0; pieces < 4; ++pieces) {
        int room = pieces;
        CHECK_EQ(qnnrt_manifest_save(run, refuse, &room, &error), QNNRT_E_IO);
    }
    CHECK_EQ(qnnrt_manifest_save(run, NULL, NULL, &error), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_manifest_save(NULL, save, NULL, &error), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_manifest_restore(run, NULL, 0, &error), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_manifest_reset(NULL, &error), QNNRT_E_ARG);
    qnnrt_run_destroy(run);
    CLOSE(model);
}

TEST(a_pipeline_without_states_has_none)
{
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_manifest *model;
    qnnrt_run *run;
    size_t count = 7;
    begin(PROGRAM("2", ", \"edges_only\": true, \"states\": []"));
    OPENS(folder, &desc, &model);
    CHECK(qnnrt_manifest_states(qnnrt_manifest_get_info(model)->pipelines[0], &count) == NULL);
    CHECK_EQ(count, 0);
    CHECK(qnnrt_manifest_states(NULL, NULL) == NULL);
    CHECK_EQ(qnnrt_manifest_prepare(model, NULL, NULL, &run, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_manifest_reset(run, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_manifest_save(run, save, NULL, &error), QNNRT_E_NOT_FOUND);
    CHECK_STR(error.text, "\"main\" has no states");
    CHECK_EQ(qnnrt_manifest_restore(run, "", 0, &error), QNNRT_E_NOT_FOUND);
    qnnrt_run_destroy(run);
    CLOSE(model);
}

TEST(states_that_do_not_fit_are_refused)
{
    static const struct { const char *text; qnnrt_result code; const char *needle, *other; } wrong[] = {
        { PROGRAM("1", ", \"edges_only\": true, \"states\": [" SUM "]"), QNNRT_E_FORMAT, "\"states\" need \"version\" 2", NULL },
        { PROGRAM("2", ", \"states\": [" SUM "]"), QNNRT_E_FORMAT, "\"states\" need \"edges_only\"", "pipeline \"main\"" },
        { STATES(SUM ", " SUM), QNNRT_E_FORMAT, "state \"sum\" occurs twice", NULL },
        { STATES("{\"name\": \"sum\", \"from\": [1, \"t\"]}"), QNNRT_E_FORMAT, "state 0: \"to\" is missing", NULL },
        { STATES("{\"name\": \"sum\", \"to\": [[1, \"s\"]]}"), QNNRT_E_FORMAT, "\"from\" is missing", NULL },
        { STATES("{\"name\": \"sum\", \"to\": [1, \"s\"], \"from\": [1, \"t\"]}"), QNNRT_E_FORMAT, "\"to\" is a number", "expected a list" },
        { STATES("{\"name\": \"sum\", \"to\": [[1, \"s\"]], \"from\": [1, \"t\"], \"begin\": 1}"), QNNRT_E_FORMAT, "unknown key \"begin\"", "name, to, from, constant" },
        { STATES("{\"name\": \"sum\", \"to\": [[1, \"none\"]], \"from\": [1, \"t\"]}"), QNNRT_E_NOT_FOUND, "state \"sum\": step 1 has no input \"none\"", NULL },
        { STATES("{\"name\": \"sum\", \"to\": [[2, \"s\"]], \"from\": [1, \"t\"]}"), QNNRT_E_NOT_FOUND, "step 2 has no input \"s\"", NULL },
        { STATES("{\"name\": \"sum\", \"to\": [[1, \"s\"]], \"from\": [1, \"s\"]}"), QNNRT_E_NOT_FOUND, "step 1 has no output \"s\"", NULL },
        { STATES("{\"name\": \"sum\", \"to\": [[1, \"s\"]], \"from\": [0, \"b\"]}"), QNNRT_E_MISMATCH, "its next value \"b\" of step 0 is float32[1,4], but its input \"s\" of step 1 is float32[2]", NULL },
        { STATES("{\"name\": \"sum\", \"to\": [[1, \"s\"]], \"from\": [1, \"t\"], \"constant\": \"none\"}"), QNNRT_E_FORMAT, "state \"sum\": the program has no constant \"none\"", NULL },
        { STATES("{\"name\": \"sum\", \"to\": [[1, \"s\"]], \"from\": [1, \"t\"], \"constant\": \"other\"}"), QNNRT_E_MISMATCH, "its constant \"other\" is float32[1]", NULL },
        { STATES("{\"name\": \"__metadata__\", \"to\": [[1, \"s\"]], \"from\": [1, \"t\"]}"), QNNRT_E_UNSUPPORTED, "\"__metadata__\"", NULL },
        { STATES(SUM ", {\"name\": \"twice\", \"to\": [[1, \"s\"]], \"from\": [1, \"m\"]}"), QNNRT_E_FORMAT, "already has an edge", "\"s\"" },
    };
    qnnrt_manifest_open_desc desc = new_open();
    size_t i;
    begin("");
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        put("qnnrt.json", wrong[i].text);
        FAILS(folder, &desc, wrong[i].code, "qnnrt.json", wrong[i].needle, wrong[i].other);
        if (test_state.state == TEST_FAILED) printf("    text: %s\n", wrong[i].text);
    }
}

/* A state that nothing reads, one that two inputs read, and a name for one. */
TEST(states_are_written_as_they_were_read)
{
    static const char *const texts[] = {
        STATES(SUM ", " LAST),
        STATES("{\"name\": \"both\", \"to\": [[1, \"s\"], [1, \"l\"]], \"from\": [1, \"t\"], \"constant\": \"begin\"}"),
        STATES("{\"name\": \"unread\", \"to\": [], \"from\": [1, \"m\"]}"),
        PROGRAM("2", ", \"edges_only\": true, \"names\": {\"called\": {\"step\": 1, \"input\": \"s\"}}, \"buffers\": [{\"name\": \"mine\", \"bytes\": 64,"
                " \"slots\": [{\"step\": 1, \"input\": \"x\", \"offset\": 0}]}], \"states\": [" SUM "]"),
    };
    qnnrt_manifest_open_desc desc = new_open();
    size_t i;
    begin("");
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        meta_text text[2];
        int pass;
        memset(text, 0, sizeof(text));
        put("qnnrt.json", texts[i]);
        for (pass = 0; pass < 2; ++pass) {
            const qnnrt_manifest_info *info;
            described_pipeline pipeline;
            qnnrt_manifest_desc to;
            qnnrt_manifest *model;
            OPENS(folder, &desc, &model);
            info = qnnrt_manifest_get_info(model);
            CHECK(describe(info, info->pipelines[0], &pipeline));
            memset(&to, 0, sizeof(to));
            to.contexts = info->contexts;
            to.context_count = 1;
            to.constants = info->constants;
            to.constant_count = info->constant_count;
            to.pipelines = &pipeline.of;
            to.pipeline_count = 1;
            CHECK_EQ(qnnrt_manifest_write(&to, meta_add, &text[pass], &error), QNNRT_OK);
            CHECK(strstr(text[pass].data, "\"version\": 2") != NULL);
            describe_free(&pipeline);
            CLOSE(model);
            put("qnnrt.json", text[pass].data);
        }
        CHECK(strcmp(text[0].data, text[1].data) == 0);
        CHECK((strstr(text[0].data, "\"called\"") != NULL) == (i == 3));
        meta_free(&text[0]);
        meta_free(&text[1]);
    }
}

TEST_MAIN("manifest_states")
{
    RUN(states_are_kept_between_calls);
    RUN(states_of_a_run_over_a_plan_of_several);
    RUN(states_are_saved_and_restored);
    RUN(a_pipeline_without_states_has_none);
    RUN(states_that_do_not_fit_are_refused);
    RUN(states_are_written_as_they_were_read);
}
