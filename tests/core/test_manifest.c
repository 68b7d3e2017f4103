/* test_manifest.c - qnnrt_manifest_open(): the part "program" of a folder's qnnrt.json

   Folders hold models of the fake library and a text; what opens, and which error has which names. */
#include "../../qnnrt.h"
#include "qnnrt_device.h"
#include "test.h"
#include "../../tools/qnnrt_manifest.h"
#include "../../tools/qnnrt_sha256.h"
#include "../../tools/run/show/describe.c"
#define OPENS_OPEN  qnnrt_manifest_open
#define OPENS_CLOSE qnnrt_manifest_close
#define OPENS_MODEL qnnrt_manifest
#define OPENS_DESC  qnnrt_manifest_open_desc
#include "opens.h"
#include "meta.h"
#include "tensors.h"
#include <stddef.h>

/* ---- folders ---------------------------------------------------------------------------------- */

#define PAD "# a context binary has at least 64 bytes, and so has this one by this line\n"
#define A "FAKEQNN 1\n" PAD "graph first\nin x 1 0232 2 1 4 -\nout y 2 0232 2 1 8 -\n"
#define B "FAKEQNN 1\n" PAD "graph second\nin u 1 0232 2 1 8 -\nin m 3 0232 2 1 2 -\nout z 2 0232 2 1 3 -\n" \
          "graph other\nin x 1 0232 2 1 4 -\nin u 3 0232 2 1 8 -\nout z 2 0232 2 1 3 -\n"

static void put(const char *folder, const char *name, const char *text)
{
    char path[2048];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    test_write_file(path, text, strlen(text));
}

/* Make a folder of a.bin and b.bin. */
static const char *two_files(void)
{
    const char *folder = test_tmpdir();
    put(folder, "a.bin", A);
    put(folder, "b.bin", B);
    return folder;
}

/* Parts of a text: VERSION, then the contexts, then what the argument says. */
#define CONTEXTS "\"backends\": [\"npu\"], \"contexts\": [{\"file\": \"b.bin\", \"backend\": \"npu\"}, {\"file\": \"a.bin\", \"backend\": \"npu\"}]"
#define PROGRAM(rest) "{\"program\": {\"version\": 1, " CONTEXTS rest "}}"
#define STEPS "\"steps\": [{\"context\": 1, \"graph\": \"first\"}, {\"context\": 0, \"graph\": \"second\"}]"
#define PIPELINES(list) PROGRAM(", \"pipelines\": [" list "]")
#define PIPELINE(rest) PIPELINES("{\"name\": \"main\", " rest "}")
#define EDGE "{\"from\": [0, \"y\"], \"to\": [1, \"u\"]}"

static const char *folder;             /* of the test that runs */

static qnnrt_manifest_open_desc new_open(void)
{
    qnnrt_manifest_open_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.model = new_desc();
    return desc;
}

static uint64_t fingerprint_of(const qnnrt_manifest_info *info, size_t context)
{
    return qnnrt_get_info(info->contexts[context].model)->contexts[info->contexts[context].context].fingerprint;
}

/* Write the text and expect an error of it. */
static void bad(int line, const char *text, qnnrt_result code, const char *needle, const char *other)
{
    qnnrt_manifest_open_desc desc = new_open();
    desc.model.inspect = 1;
    put(folder, "qnnrt.json", text);
    fails(line, folder, &desc, code, "qnnrt.json", needle, other, (const char *)NULL);
    if (test_state.state == TEST_FAILED) printf("    text: %s\n", text);
}

/* ---- what opens ------------------------------------------------------------------------------- */

TEST(contexts_come_in_the_order_of_the_program)
{
    qnnrt_manifest_open_desc desc = new_open();
    const qnnrt_manifest_info *info;
    char path[2048];
    qnnrt_manifest *model;
    fake_begin("");
    folder = two_files();
    put(folder, "c.bin", "not a context binary, and not looked at");
    put(folder, "qnnrt.json", PROGRAM(""));
    OPENS(folder, &desc, &model);
    info = qnnrt_manifest_get_info(model);
    CHECK_EQ(info->context_count, 2);
    CHECK_STR(info->contexts[0].file, "b.bin");
    CHECK_STR(info->contexts[1].file, "a.bin");
    CHECK_STR(log_text, "c.bin is left out");
    CHECK_STR(log_text, "qnnrt.json");
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    TRY(nothing_left());
    snprintf(path, sizeof(path), "%s/c.bin", folder);
    CHECK_EQ(unlink(path), 0);
    /* Without "program", or when it is ignored, names decide. */
    put(folder, "qnnrt.json", "{\"llm\": {\"window\": 4}, \"other\": [1, {\"program\": 3}]}");
    OPENS(folder, &desc, &model);
    CHECK_STR(qnnrt_manifest_get_info(model)->contexts[0].file, "a.bin");
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    put(folder, "qnnrt.json", "{\"program\"");
    desc.model.no_manifest = 1;
    OPENS(folder, &desc, &model);
    CHECK_STR(qnnrt_manifest_get_info(model)->contexts[0].file, "a.bin");
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    TRY(nothing_left());
}

TEST(other_metadata_does_not_hide_a_program)
{
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_manifest *model;
    fake_begin("");
    folder = two_files();
    put(folder, "qnnrt.json", PROGRAM(""));
    put(folder, "a_json.json", "{");
    desc.model.metadata = QNNRT_METADATA_SYSTEM;
    OPENS(folder, &desc, &model);
    CHECK_STR(qnnrt_manifest_get_info(model)->contexts[0].file, "b.bin");
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    /* genie_config.json is not read beside a program. */
    put(folder, "genie_config.json", "{\"ctx-bins\": [\"absent.bin\"]}");
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    put(folder, "qnnrt.json", "{}");
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, "genie_config.json", "absent.bin");
}

TEST(a_fingerprint_is_compared)
{
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_manifest *model;
    char text[1024], hash[32];
    uint64_t found;
    int i;
    fake_begin("");
    folder = two_files();
    OPENS(folder, &desc, &model);
    found = fingerprint_of(qnnrt_manifest_get_info(model), 1);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    for (i = 0; i < 3; ++i) {
        snprintf(hash, sizeof(hash), i == 1 ? "%016llX" : "%016llx", (unsigned long long)(i % 3 == 2 ? found ^ 1 : found));
        snprintf(text, sizeof(text), "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"b.bin\","
                                     " \"backend\": \"npu\", \"fingerprint\": \"%s\"}]}}", hash);
        put(folder, "qnnrt.json", text);
        if (i % 3 == 2) {
            snprintf(text, sizeof(text), "fingerprint %016llx", (unsigned long long)found);
            FAILS(folder, &desc, QNNRT_E_MISMATCH, "b.bin", hash, text, "qnnrt.json");
            desc.model.inspect = 1;
            FAILS(folder, &desc, QNNRT_E_MISMATCH, "b.bin", hash, text, "qnnrt.json");
            desc.model.inspect = 0;
            continue;
        }
        OPENS(folder, &desc, &model);
        CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    }
}

/* The SHA-256 is that of Python's hashlib for B and 1,000 lines of PAD. */
TEST(all_bytes_are_compared_on_request)
{
    static const char sum[] = "ea6047fc3ae965ce2fa50b59b48e6d6a5838f229518f40009aaefa8efe749f55";
    static const char small[] = "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"b.bin\","
                                " \"backend\": \"npu\"}]}}";
    enum { LINES = 1000, AT = 40000, CHANGED = 100 };      /* between two pieces of the fingerprint */
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_manifest *model;
    char text[1024], other[1024], path[2048], *data, found[65];
    const size_t bytes = strlen(B) + LINES * strlen(PAD);
    size_t i;
    fake_begin("");
    folder = test_tmpdir();
    data = (char *)malloc(bytes);
    memcpy(data, B, strlen(B));
    for (i = 0; i < LINES; ++i) memcpy(data + strlen(B) + i * strlen(PAD), PAD, strlen(PAD));
    snprintf(path, sizeof(path), "%s/b.bin", folder);
    test_write_file(path, data, bytes);
    for (i = 0; i < 2; ++i) {
        snprintf(text, sizeof(text), "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"b.bin\","
                                     " \"backend\": \"npu\", \"sha256\": \"%s\"}]}}", sum);
        if (i == 1) *strstr(text, sum) = 'E';              /* a large digit is the same */
        put(folder, "qnnrt.json", text);
        desc.sha256 = qnnrt_sha256_text;
        for (desc.model.read = 0; desc.model.read < 2; ++desc.model.read) {
            OPENS(folder, &desc, &model);
            CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
        }
    }
    /* Then a fingerprint says nothing more. */
    snprintf(other, sizeof(other), "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"b.bin\","
                                   " \"backend\": \"npu\", \"fingerprint\": \"0123456789abcdef\", \"sha256\": \"%s\"}]}}", sum);
    put(folder, "qnnrt.json", other);
    desc.model.read = 0;
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    desc.sha256 = NULL;
    FAILS(folder, &desc, QNNRT_E_MISMATCH, "b.bin has the fingerprint", "0123456789abcdef");
    desc.sha256 = qnnrt_sha256_text;
    put(folder, "qnnrt.json", text);
    for (i = 0; i < CHANGED; ++i) data[AT + i] = data[AT + i] == 'x' ? 'y' : 'x';
    test_write_file(path, data, bytes);
    qnnrt_sha256_text(data, bytes, found);
    for (desc.model.read = 0; desc.model.read < 2; ++desc.model.read) FAILS(folder, &desc, QNNRT_E_MISMATCH, "b.bin has the SHA-256", found, sum);
    desc.model.keep_going = desc.model.inspect = 1;
    FAILS(folder, &desc, QNNRT_E_MISMATCH, "b.bin has the SHA-256", found, sum);
    /* Without the request, and without a hash, the file opens: the latter with a line in the log. */
    desc = new_open();
    log_used = 0;
    log_text[0] = '\0';
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    CHECK(strstr(log_text, "SHA-256") == NULL);
    desc.sha256 = qnnrt_sha256_text;
    for (i = 0; i < 2; ++i) {
        put(folder, "qnnrt.json", i == 0 ? small : "{}");
        log_used = 0;
        log_text[0] = '\0';
        OPENS(folder, &desc, &model);
        CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
        CHECK_STR(log_text, "b.bin is not compared with a SHA-256");
    }
    free(data);
    TRY(nothing_left());
}

/* A context that made room for another one is read again: its file may have been replaced by one
   with the same fingerprint. */
TEST(hashes_are_compared_whenever_a_file_is_read)
{
    enum { LINES = 1000, AT = 40000, CHANGED = 100 };      /* between two pieces of the fingerprint */
    const size_t bytes = strlen(B) + LINES * strlen(PAD);
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_manifest *model;
    qnnrt_run *run;
    char text[2048], path[2048], *data = (char *)malloc(bytes), sum[65];
    size_t i;
    int check;
    memcpy(data, B, strlen(B));
    for (i = 0; i < LINES; ++i) memcpy(data + strlen(B) + i * strlen(PAD), PAD, strlen(PAD));
    qnnrt_sha256_text(data, bytes, sum);
    desc.model.residency = QNNRT_RESIDENT_CALLER;
    for (check = 0; check < 2; ++check) {
        desc.sha256 = check ? qnnrt_sha256_text : NULL;
        fake_begin("");
        folder = two_files();
        snprintf(path, sizeof(path), "%s/b.bin", folder);
        test_write_file(path, data, bytes);
        snprintf(text, sizeof(text), "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"b.bin\","
                                     " \"backend\": \"npu\", \"sha256\": \"%s\"}, {\"file\": \"a.bin\", \"backend\": \"npu\"}],"
                                     " \"pipelines\": [{\"name\": \"main\", " STEPS ", \"edges\": [" EDGE "]}]}}", sum);
        put(folder, "qnnrt.json", text);
        OPENS(folder, &desc, &model);
        CHECK_EQ(qnnrt_model_swap(qnnrt_manifest_get_info(model)->models[0], 0, &error), QNNRT_OK);
        CHECK_EQ(qnnrt_manifest_prepare(model, "main", NULL, &run, &error), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        for (i = 0; i < CHANGED; ++i) data[AT + i] ^= 1;
        CHECK_EQ(unlink(path), 0);
        test_write_file(path, data, bytes);
        CHECK_EQ(qnnrt_exec(run), check ? QNNRT_E_MISMATCH : QNNRT_OK);
        if (check) CHECK_STR(qnnrt_run_error(run)->text, "b.bin has the SHA-256");
        for (i = 0; i < CHANGED; ++i) data[AT + i] ^= 1;
        if (check) {
            CHECK_EQ(unlink(path), 0);
            test_write_file(path, data, bytes);
            CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        }
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
        TRY(nothing_left());
    }
    free(data);
}

/* ---- pipelines -------------------------------------------------------------------------------- */

TEST(pipelines_are_those_of_the_program_and_single_graphs)
{
    qnnrt_manifest_open_desc desc = new_open();
    const qnnrt_pipeline_info *p;
    const qnnrt_pipeline *single;
    const qnnrt_manifest_info *info;
    qnnrt_manifest *model;
    qnnrt_run *run = NULL;
    fake_begin("");
    folder = two_files();
    put(folder, "qnnrt.json", PIPELINES("{\"name\": \"main\", " STEPS ", \"edges\": [" EDGE "]},"
                                        "{\"name\": \"twice\", \"steps\": [{\"context\": 0, \"graph\": \"other\"}]}"));
    OPENS(folder, &desc, &model);
    info = qnnrt_manifest_get_info(model);
    CHECK_EQ(info->pipeline_count, 2);
    p = qnnrt_pipeline_get_info(info->pipelines[0]);
    CHECK_STR(p->name, "main");
    CHECK_EQ(p->step_count, 2);
    CHECK_EQ(p->edge_count, 1);
    CHECK_STR(p->edges[0].from->name, "y");
    CHECK_STR(p->edges[0].to->name, "u");
    CHECK_STR(p->steps[1].graph->name, "second");
    CHECK_EQ(p->steps[1].context, 0);
    CHECK_STR(qnnrt_pipeline_get_info(info->pipelines[1])->name, "twice");
    CHECK_EQ(qnnrt_manifest_find(model, "0/second", &single, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_manifest_find(model, "1/first", &single, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_manifest_prepare(model, "main", NULL, &run, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_pipeline_destroy((qnnrt_pipeline *)(uintptr_t)info->pipelines[0]), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_E_BUSY);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    TRY(nothing_left());
}

TEST(edges_only_and_apart)
{
    qnnrt_manifest_open_desc desc = new_open();
    const qnnrt_pipeline_info *p;
    qnnrt_manifest *model;
    fake_begin("");
    folder = two_files();
    desc.model.inspect = 1;
    put(folder, "qnnrt.json", PIPELINES("{\"name\": \"a\", \"steps\": [{\"context\": 1, \"graph\": \"first\"}, {\"context\": 0, \"graph\": \"other\"}],"
                                        " \"edges\": [" EDGE "], \"edges_only\": true},"
                                        "{\"apart\": [[1, \"x\"]], \"edges_only\": false, \"edges\": [" EDGE "],"
                                        " \"steps\": [{\"context\": 1, \"graph\": \"first\"}, {\"context\": 0, \"graph\": \"other\"}], \"name\": \"b\"},"
                                        "{\"steps\": [{\"context\": 1, \"graph\": \"first\"}, {\"context\": 0, \"graph\": \"other\"}],"
                                        " \"edges_only\": true, \"name\": \"c\"}"));
    OPENS(folder, &desc, &model);
    p = qnnrt_pipeline_get_info(qnnrt_manifest_get_info(model)->pipelines[0]);
    CHECK_EQ(p->slot_count, 3);
    p = qnnrt_pipeline_get_info(qnnrt_manifest_get_info(model)->pipelines[1]);
    CHECK_EQ(p->slot_count, 4);
    p = qnnrt_pipeline_get_info(qnnrt_manifest_get_info(model)->pipelines[2]);
    CHECK_EQ(p->edge_count, 0);                     /* steps that nothing joins run one after the other */
    CHECK_EQ(p->step_count, 2);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    TRY(nothing_left());
}

TEST(a_pipeline_that_cannot_be_made_is_an_error)
{
    fake_begin("");
    folder = two_files();
#define BAD(text, code, needle, other) TRY(bad(__LINE__, text, code, needle, other))
    BAD(PIPELINE("\"steps\": [{\"context\": 0, \"graph\": \"absent\"}]"), QNNRT_E_NOT_FOUND, "pipeline \"main\": step 0", "\"absent\"");
    BAD(PIPELINE(STEPS ", \"edges\": [{\"from\": [0, \"y\"], \"to\": [1, \"none\"]}]"), QNNRT_E_NOT_FOUND, "pipeline \"main\": edge 0", "\"none\"");
    BAD(PIPELINE(STEPS ", \"edges\": [{\"from\": [0, \"y\"], \"to\": [1, \"m\"]}]"), QNNRT_E_MISMATCH, "pipeline \"main\": edge 0", "\"m\"");
    BAD(PIPELINE(STEPS ", \"edges\": [{\"from\": [1, \"z\"], \"to\": [0, \"x\"]}]"), QNNRT_E_FORMAT, "pipeline \"main\": edge 0", NULL);
    BAD(PIPELINE(STEPS ", \"edges\": [{\"from\": [0, \"y\"], \"to\": [9, \"u\"]}]"), QNNRT_E_FORMAT, "pipeline \"main\": edge 0", NULL);
    BAD(PIPELINE(STEPS ", \"edges\": [" EDGE ", " EDGE "]"), QNNRT_E_FORMAT, "pipeline \"main\": edge 1", "\"u\"");
    BAD(PIPELINE(STEPS ", \"apart\": [[1, \"none\"]]"), QNNRT_E_NOT_FOUND, "pipeline \"main\": use 0", "input \"none\" of step 1");
}

TEST(what_needs_a_file_that_did_not_load_is_left_out)
{
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_manifest *model;
    fake_begin("");
    folder = test_tmpdir();
    put(folder, "a.bin", A);
    put(folder, "b.bin", "damaged");
    put(folder, "qnnrt.json", PIPELINES("{\"name\": \"both\", " STEPS "}, {\"name\": \"one\", \"steps\": [{\"context\": 1, \"graph\": \"first\"}]},"
                                        " {\"name\": \"third\", \"steps\": [{\"host\": \"absent\", \"inputs\": [], \"outputs\": []}, {\"context\": 0, \"graph\": \"second\"}]}"));
    FAILS(folder, &desc, QNNRT_E_FORMAT, "b.bin");
    desc.model.keep_going = 1;
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_manifest_get_info(model)->pipeline_count, 1);
    CHECK_STR(qnnrt_pipeline_get_info(qnnrt_manifest_get_info(model)->pipelines[0])->name, "one");
    CHECK_STR(log_text, "\"both\" is left out");
    CHECK_STR(log_text, "\"third\" is left out");      /* whatever else it lacks */
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    TRY(nothing_left());
}

/* ---- host steps, conversions, constants, names, buffers -------------------------------------- */

/* Copy input 0 and add the constant that is input 1. */
static qnnrt_result add(void *user, const qnnrt_graph_info *step, const void *const *inputs, void *const *outputs, qnnrt_error *err)
{
    const uint64_t count = step->outputs[0].count;
    uint64_t i;
    (void)err;
    for (i = 0; i < count; ++i) {
        float x, t;
        memcpy(&x, (const float *)inputs[0] + i, sizeof(x));
        memcpy(&t, (const float *)inputs[1] + i, sizeof(t));
        x += t;
        memcpy((float *)outputs[0] + i, &x, sizeof(x));
    }
    ++*(int *)user;
    return QNNRT_OK;
}

#define TENSOR(name, dtype, dims) "{\"name\": \"" name "\", \"dtype\": \"" dtype "\", \"dims\": " dims "}"
#define TABLE(more) ", \"constants\": [{\"name\": \"table\", \"file\": \"table\", \"offset\": 4, \"dtype\": \"float32\", \"dims\": [1, 8]}" more "]"
#define HOST "{\"host\": \"add\", \"inputs\": [" TENSOR("v", "float32", "[1, 8]") ", " TENSOR("t", "float32", "[1, 8]") "]," \
    " \"outputs\": [" TENSOR("w", "float32", "[1, 8]") "]}"
/* first (x -> y), add (v, t -> w), half (h -> k), float16, second (u, m -> z). */
#define MIXED(rest) "{\"name\": \"mixed\", \"steps\": [{\"context\": 0, \"graph\": \"first\"}, " HOST ", {\"context\": 0, \"graph\": \"half\"}," \
    " {\"context\": 1, \"graph\": \"second\"}], \"edges\": [{\"from\": [0, \"y\"], \"to\": [1, \"v\"]}," \
    " {\"from\": [1, \"w\"], \"to\": [2, \"h\"], \"convert\": \"values\", \"exact\": true}," \
    " {\"from\": [2, \"k\"], \"to\": [3, \"u\"], \"convert\": \"values\"}], \"edges_only\": true" rest "}"
#define VALUE ", \"constants\": [{\"step\": 1, \"input\": \"t\", \"constant\": \"table\"}]"
#define NAMES ", \"names\": {\"image\": {\"step\": 0, \"input\": \"x\"}, \"u\": {\"step\": 3, \"output\": \"z\"}, \"sum\": {\"step\": 1, \"output\": \"w\"}}"
#define STATE ", \"buffers\": [{\"name\": \"state\", \"bytes\": 128, \"align\": 128, \"slots\": [{\"step\": 3, \"input\": \"m\", \"offset\": 8}," \
    " {\"step\": 3, \"output\": \"z\", \"offset\": 64}]}]"
#define WHOLE(constants, pipelines) "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"a.bin\", \"backend\": \"npu\"}," \
    " {\"file\": \"b.bin\", \"backend\": \"npu\"}]" constants ", \"pipelines\": [" pipelines "]}}"

static const char *mixed_files(void)
{
    const char *at = test_tmpdir();
    char path[2048];
    float table[9] = { 100, 1, 2, 3, 4, 5, 6, 7, 8 };
    put(at, "a.bin", A "graph half\nin h 1 0216 2 1 8 -\nout k 2 0216 2 1 8 -\n");
    put(at, "b.bin", B);
    snprintf(path, sizeof(path), "%s/table", at);
    test_write_file(path, table, sizeof(table));
    return at;
}

static qnnrt_manifest_open_desc mixed_desc(qnnrt_host_step *function, int *calls)
{
    qnnrt_manifest_open_desc desc = new_open();
    *calls = 0;
    memset(function, 0, sizeof(*function));
    function->name = "add";
    function->exec = add;
    function->user = calls;
    desc.host_functions = function;
    desc.host_function_count = 1;
    return desc;
}

TEST(a_program_of_every_kind_of_step_runs)
{
    qnnrt_host_step function;
    int calls, i, read;
    qnnrt_manifest_open_desc desc = mixed_desc(&function, &calls);
    char path[2048];
    fake_begin("");
    folder = mixed_files();
    put(folder, "qnnrt.json", WHOLE(TABLE(""), MIXED(VALUE NAMES STATE)));
    for (read = 0; read < 2; ++read) {
        const qnnrt_pipeline_info *p;
        qnnrt_manifest *model;
        qnnrt_run *run;
        const qnnrt_slot *slot;
        float sum[8], x[4] = { 0.5f, 1, 2, 3 };
        const float *y;
        const unsigned char *m, *z;
        size_t bytes;
        desc.model.read = read;
        OPENS(folder, &desc, &model);
        /* Maps stay when the file goes. */
        snprintf(path, sizeof(path), "%s/table", folder);
        if (read) CHECK_EQ(unlink(path), 0);
        p = qnnrt_pipeline_get_info(qnnrt_manifest_get_info(model)->pipelines[0]);
        CHECK_EQ(p->step_count, 6);
        CHECK_EQ(p->steps[1].kind, QNNRT_STEP_HOST);
        CHECK_EQ(p->steps[2].kind, QNNRT_STEP_DERIVED);
        CHECK_EQ(p->steps[4].kind, QNNRT_STEP_DERIVED);
        CHECK_EQ(qnnrt_slot_find(qnnrt_manifest_get_info(model)->pipelines[0], "t", QNNRT_ROLE_CONSTANT, &slot, &error), QNNRT_OK);
        memcpy(sum, slot->constant, sizeof(sum));
        for (i = 0; i < 8; ++i) CHECK(sum[i] == (float)(i + 1));
        /* A name goes before a tensor of that name, which keeps an address. */
        CHECK_EQ(p->name_count, 3);
        CHECK_STR(p->names[0].name, "image");
        CHECK_STR(p->names[0].slot->address, "image");
        CHECK_EQ(qnnrt_slot_find(qnnrt_manifest_get_info(model)->pipelines[0], "u", QNNRT_ROLE_ANY, &slot, &error), QNNRT_OK);
        CHECK_STR(slot->tensor->name, "z");
        CHECK_STR(slot->address, "u");
        for (i = 0; i < (int)p->slot_count; ++i) {
            const qnnrt_slot *found;
            CHECK_EQ(qnnrt_slot_find(qnnrt_manifest_get_info(model)->pipelines[0], p->slots[i].address, p->slots[i].role, &found, &error), QNNRT_OK);
            CHECK(found == &p->slots[i]);
        }
        CHECK_EQ(p->buffer_count, 1);
        CHECK_STR(p->buffers[0].name, "state");
        CHECK_EQ(p->place_count, 2);
        CHECK_EQ(qnnrt_manifest_prepare(model, NULL, NULL, &run, &error), QNNRT_OK);
        CHECK_EQ(qnnrt_bind(run, "image", x, sizeof(x)), QNNRT_OK);
        m = (const unsigned char *)qnnrt_data(run, "m", &bytes);
        z = (const unsigned char *)qnnrt_data(run, "u", &bytes);
        CHECK_EQ(bytes, 12);
        CHECK_EQ(z - m, 56);
        CHECK_EQ((uintptr_t)m % 64, 8);
        CHECK_EQ(qnnrt_bind(run, "sum", sum, sizeof(sum)), QNNRT_OK);
        y = (const float *)qnnrt_data(run, "y", &bytes);
        CHECK(y != NULL);
        calls = 0;
        (void)qnnrt_exec(run);      /* the fake's outputs are bytes that need not fit float16 */
        CHECK_EQ(calls, 1);
        qnnrt_run_destroy(run);
        CLOSE(model);
    }
}

TEST(a_host_function_that_is_missing_is_named)
{
    qnnrt_host_step function;
    const qnnrt_pipeline_info *p;
    int calls;
    qnnrt_manifest_open_desc desc = mixed_desc(&function, &calls);
    qnnrt_manifest *model;
    qnnrt_run *run = NULL;
    fake_begin("");
    folder = mixed_files();
    put(folder, "qnnrt.json", WHOLE(TABLE(""), MIXED(VALUE)));
    function.name = "other";
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, "pipeline \"mixed\": step 1", "\"add\"", "\"other\"");
    desc.host_function_count = 0;
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, "\"add\"", "nothing");
    desc.model.inspect = 1;
    OPENS(folder, &desc, &model);
    p = qnnrt_pipeline_get_info(qnnrt_manifest_get_info(model)->pipelines[0]);
    CHECK_EQ(p->steps[1].kind, QNNRT_STEP_HOST);
    CHECK_STR(p->steps[1].graph->name, "add");
    CHECK_EQ(qnnrt_manifest_prepare(model, NULL, NULL, &run, &error), QNNRT_E_STATE);
    CLOSE(model);
}

TEST(constants_fit_their_files_and_inputs)
{
    qnnrt_host_step function;
    int calls, pass;
    qnnrt_manifest_open_desc desc = mixed_desc(&function, &calls);
    fake_begin("");
    folder = mixed_files();
    for (pass = 0; pass < 2; ++pass) {
        desc.model.read = pass;
        put(folder, "qnnrt.json", WHOLE(TABLE(", {\"name\": \"long\", \"file\": \"table\", \"offset\": 5, \"dtype\": \"float32\", \"dims\": [8]}"), MIXED(VALUE)));
        FAILS(folder, &desc, QNNRT_E_MISMATCH, "constant \"long\"", "32 bytes from 5", "36");
        put(folder, "qnnrt.json", WHOLE(TABLE(", {\"name\": \"c\", \"file\": \"absent\", \"dtype\": \"int8\", \"dims\": []}"), MIXED(VALUE)));
        FAILS(folder, &desc, QNNRT_E_NOT_FOUND, "absent");
        put(folder, "empty", "");
        put(folder, "qnnrt.json", WHOLE(TABLE(", {\"name\": \"c\", \"file\": \"empty\", \"dtype\": \"int8\", \"dims\": []}"), MIXED(VALUE)));
        FAILS(folder, &desc, QNNRT_E_MISMATCH, "constant \"c\"", "empty has 0");
        put(folder, "qnnrt.json", WHOLE(", \"constants\": [{\"name\": \"table\", \"file\": \"table\", \"dtype\": \"float32\", \"dims\": [8]}]", MIXED(VALUE)));
        FAILS(folder, &desc, QNNRT_E_MISMATCH, "constant \"table\" is float32[8]", "input \"t\" of step 1 is float32[1,8]");
        put(folder, "qnnrt.json", WHOLE(", \"constants\": [{\"name\": \"table\", \"file\": \"table\", \"dtype\": \"int32\", \"dims\": [1, 8]}]", MIXED(VALUE)));
        FAILS(folder, &desc, QNNRT_E_MISMATCH, "int32[1,8]", "float32[1,8]");
    }
    put(folder, "qnnrt.json", WHOLE(TABLE(""), MIXED(", \"constants\": [{\"step\": 1, \"input\": \"none\", \"constant\": \"table\"}]")));
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, "use 0, input \"none\" of step 1", "such tensor");
    put(folder, "qnnrt.json", WHOLE(TABLE(""), MIXED(", \"constants\": [{\"step\": 7, \"input\": \"t\", \"constant\": \"table\"}]")));
    FAILS(folder, &desc, QNNRT_E_FORMAT, "use 0, input \"t\" of step", "no such step");
    put(folder, "qnnrt.json", WHOLE(TABLE(", {\"name\": \"c\", \"file\": \"sub\", \"dtype\": \"int8\", \"dims\": []}"), MIXED(VALUE)));
    {
        char path[2048];
        snprintf(path, sizeof(path), "%s/sub", folder);
        CHECK_EQ(mkdir(path, 0777), 0);
    }
    FAILS(folder, &desc, QNNRT_E_IO, "sub");
}

TEST(names_and_buffers_that_do_not_fit_are_refused)
{
    qnnrt_host_step function;
    int calls;
    size_t i;
    static const struct { const char *text; qnnrt_result code; const char *needle, *other; } wrong[] = {
        { WHOLE(TABLE(""), MIXED(VALUE ", \"names\": {\"1/x\": {\"step\": 0, \"input\": \"x\"}}")), QNNRT_E_FORMAT, "input \"x\" of step 0", "\"1/x\"" },
        { WHOLE(TABLE(""), MIXED(VALUE ", \"names\": {\"a\": {\"step\": 0, \"input\": \"none\"}}")), QNNRT_E_NOT_FOUND, "such tensor", "input \"none\" of step 0 (" },
        { WHOLE(TABLE(""), MIXED(VALUE ", \"names\": {\"a\": {\"step\": 3, \"output\": \"u\"}}")), QNNRT_E_NOT_FOUND, "such tensor", "output \"u\"" },
        { WHOLE(TABLE(""), MIXED(VALUE ", \"names\": {\"a\": {\"step\": 4, \"output\": \"u\"}}")), QNNRT_E_FORMAT, "output \"u\" of step", "no such step" },
        { WHOLE(TABLE(""), MIXED(VALUE ", \"buffers\": [{\"name\": \"b\", \"bytes\": 11, \"slots\": [{\"step\": 3, \"output\": \"z\", \"offset\": 0}]}]")), QNNRT_E_FORMAT, "it needs 12 bytes", "11" },
        { WHOLE(TABLE(""), MIXED(VALUE ", \"buffers\": [{\"name\": \"b\", \"bytes\": 64, \"slots\": [{\"step\": 3, \"output\": \"z\", \"offset\": 18446744073709551615}]}]")), QNNRT_E_FORMAT, "\"z\"", "18446744073709551615" },
        { WHOLE(TABLE(""), MIXED(VALUE ", \"buffers\": [{\"name\": \"b\", \"bytes\": 64, \"slots\": [{\"step\": 3, \"input\": \"none\", \"offset\": 0}]}]")), QNNRT_E_NOT_FOUND, "\"none\"", NULL },
    };
    qnnrt_manifest_open_desc desc = mixed_desc(&function, &calls);
    fake_begin("");
    folder = mixed_files();
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        put(folder, "qnnrt.json", wrong[i].text);
        FAILS(folder, &desc, wrong[i].code, "pipeline \"mixed\"", wrong[i].needle, wrong[i].other);
    }
}

TEST(a_buffer_that_a_step_would_spoil_is_refused_before_exec)
{
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_run *run = NULL;
    qnnrt_manifest *model;
    fake_begin("");
    folder = two_files();
    /* The first step writes y over m, which the second one reads. */
    put(folder, "qnnrt.json", PIPELINE(STEPS ", \"edges\": [" EDGE "], \"buffers\": [{\"name\": \"state\", \"bytes\": 64, \"slots\":"
                                       " [{\"step\": 1, \"input\": \"m\", \"offset\": 0}, {\"step\": 0, \"output\": \"y\", \"offset\": 4}]}]"));
    OPENS(folder, &desc, &model);
    TEST_JUNK(error);
    CHECK_EQ(qnnrt_manifest_prepare(model, NULL, NULL, &run, &error), QNNRT_E_ARG);
    CHECK(run == NULL);
    CHECK_STR(error.text, "\"m\"");
    CHECK_STR(error.text, "\"y\"");
    CHECK_STR(error.text, "state");
    CLOSE(model);
}

/* Two graphs that read ids; the second also reads what the first computes. */
#define LOOK "FAKEQNN 1\n" PAD "graph look\nin ids 1 0032 2 1 70 -\nin x 3 0232 1 4 -\nout n 2 0032 1 4 -\n" \
             "graph more\nin ids 1 0032 2 1 70 -\nin n 3 0032 1 4 -\nout y 2 0232 1 4 -\n"
#define LOOKS(rest) "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"c.bin\", \"backend\": \"npu\"}]," \
    " \"pipelines\": [{\"name\": \"looks\", \"steps\": [{\"context\": 0, \"graph\": \"look\"}, {\"context\": 0, \"graph\": \"more\"}]" rest "}]}}"
#define RANGE(step, input, low, high) "{\"step\": " step ", \"input\": \"" input "\", \"low\": " low ", \"high\": " high "}"

TEST(ranges_that_do_not_fit_are_refused)
{
    size_t i;
    static const struct { const char *text; qnnrt_result code; const char *needle, *other; } wrong[] = {
        { LOOKS(", \"ranges\": [" RANGE("0", "none", "0", "9") "]"), QNNRT_E_NOT_FOUND, "use 0, input", "\"none\"" },
        { LOOKS(", \"ranges\": [" RANGE("0", "n", "0", "9") "]"), QNNRT_E_NOT_FOUND, "use 0, input", "\"n\"" },
        { LOOKS(", \"ranges\": [" RANGE("2", "ids", "0", "9") "]"), QNNRT_E_FORMAT, "use 0, input \"ids\" of step 2", NULL },
        { LOOKS(", \"ranges\": [" RANGE("0", "x", "0", "9") "]"), QNNRT_E_MISMATCH, "it is an input of float32", "int32" },
        { LOOKS(", \"ranges\": [" RANGE("1", "n", "0", "9") "]"), QNNRT_E_FORMAT, "input \"n\" of step 1 (c.bin, graph \"more\"): it is an edge", NULL },
        { LOOKS(", \"ranges\": [" RANGE("0", "ids", "0", "9") ", " RANGE("0", "ids", "9", "8") "]"), QNNRT_E_FORMAT, "use 1, input \"ids\" of step 0", "9 to 8" },
        { LOOKS(", \"ranges\": [" RANGE("0", "ids", "0", "9") ", " RANGE("1", "ids", "10", "20") "]"), QNNRT_E_FORMAT, "use 1, input \"ids\" of step 1", "10 to 9" },
    };
    fake_begin("");
    folder = test_tmpdir();
    put(folder, "c.bin", LOOK);
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) BAD(wrong[i].text, wrong[i].code, "pipeline \"looks\"", wrong[i].needle);
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) BAD(wrong[i].text, wrong[i].code, wrong[i].needle, wrong[i].other);
}

/* Write int32 or float values from an element on, and expect an error that names one of them. */
static void out_of_range(qnnrt_run *run, const qnnrt_slot *slot, uint64_t begin, const int32_t *ids, const float *floats, size_t count,
                         const char *element)
{
    int32_t old[70], now[70];
    CHECK_EQ(qnnrt_read_i32(run, slot, 0, old, 70), QNNRT_OK);
    CHECK_EQ(ids != NULL ? qnnrt_write_i32(run, slot, begin, ids, count) : qnnrt_write_f32(run, slot, begin, floats, count), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_run_error(run)->code, QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(run)->text, "pipeline \"looks\": input \"tokens\"");
    CHECK_STR(qnnrt_run_error(run)->text, element);
    CHECK_STR(qnnrt_run_error(run)->text, "expected -2 to 9");
    CHECK_EQ(qnnrt_read_i32(run, slot, 0, now, 70), QNNRT_OK);
    CHECK(memcmp(old, now, sizeof(old)) == 0);
}

TEST(names_and_buffers_of_a_made_pipeline)
{
    qnnrt_step_desc steps[2];
    qnnrt_use_desc uses[4], *const names = uses, *const keep = &uses[3];
    qnnrt_buffer_desc buffer;
    qnnrt_pipeline_desc desc;
    qnnrt_manifest_open_desc open = new_open();
    qnnrt_pipeline *p = NULL;
    const qnnrt_pipeline_info *info;
    const qnnrt_slot *slot;
    qnnrt_manifest *program;
    qnnrt *model;
    fake_begin("");
    folder = two_files();
    open.model.inspect = 1;
    OPENS(folder, &open, &program);
    model = qnnrt_manifest_get_info(program)->models[0];
    memset(steps, 0, sizeof(steps));
    memset(uses, 0, sizeof(uses));
    memset(&buffer, 0, sizeof(buffer));
    memset(&desc, 0, sizeof(desc));
    steps[0].model = steps[1].model = model;
    steps[0].graph = "first";
    steps[1].context = 1;
    steps[1].graph = "second";
    names[0].name = "b";
    names[0].tensor = "x";
    names[1].name = "a";
    names[1].step = 1;
    names[1].tensor = "z";
    names[1].output = 1;
    names[2].name = "m";                  /* of another tensor than the input m */
    names[2].step = 1;
    names[2].tensor = "u";
    buffer.bytes = 16;
    keep->step = 1;
    keep->tensor = "m";
    keep->in_buffer = 1;
    keep->offset = 8;
    desc.steps = steps;
    desc.step_count = 2;
    desc.uses = uses;
    desc.use_count = 4;
    desc.buffers = &buffer;
    desc.buffer_count = 1;
    CHECK_EQ(qnnrt_pipeline_make(&desc, &p, &error), QNNRT_OK);
    info = qnnrt_pipeline_get_info(p);
    CHECK_EQ(info->name_count, 3);
    CHECK_STR(info->names[0].name, "a");
    CHECK_STR(info->names[0].slot->tensor->name, "z");
    CHECK_STR(info->names[1].name, "b");
    CHECK_EQ(qnnrt_slot_find(p, "m", QNNRT_ROLE_ANY, &slot, &error), QNNRT_OK);
    CHECK_EQ(slot->role, QNNRT_ROLE_EDGE);
    CHECK_EQ(qnnrt_slot_find(p, "m", QNNRT_ROLE_INPUT, &slot, &error), QNNRT_OK);
    CHECK_STR(slot->tensor->name, "m");
    CHECK_STR(slot->address, "1/m");
    CHECK_EQ(qnnrt_slot_find(p, "absent", QNNRT_ROLE_ANY, &slot, &error), QNNRT_E_NOT_FOUND);
    CHECK_STR(error.text, "\"b\"");
    CHECK_EQ(info->buffer_count, 1);
    CHECK(info->buffers[0].name == NULL);
    CHECK_EQ(info->place_count, 1);
    CHECK_EQ(info->places[0].offset, 8);
    CHECK_STR(info->places[0].slot->tensor->name, "m");
    CHECK_EQ(qnnrt_pipeline_destroy(p), QNNRT_OK);
#define REFUSED(code, needle) do { \
        CHECK_EQ(qnnrt_pipeline_make(&desc, &p, &error), code); \
        CHECK(p == NULL); \
        CHECK_STR(error.text, needle); \
    } while (0)
    names[1].name = "b";
    REFUSED(QNNRT_E_ARG, "\"b\"");
    names[1].name = NULL;
    REFUSED(QNNRT_E_ARG, "use 1");
    names[1].name = "";
    REFUSED(QNNRT_E_ARG, "use 1");
    names[1].name = "a";
    names[1].tensor = NULL;
    REFUSED(QNNRT_E_ARG, "use 1");
    names[1].tensor = "z";
    names[1].step = 2;
    REFUSED(QNNRT_E_ARG, "use 1");
    names[1].step = 1;
    names[1].output = 0;
    REFUSED(QNNRT_E_NOT_FOUND, "input \"z\"");
    names[1].output = 1;
    keep->buffer = 1;
    REFUSED(QNNRT_E_ARG, "use 3");
    keep->buffer = 0;
    keep->offset = 9;
    REFUSED(QNNRT_E_ARG, "8 bytes from 9");
    keep->offset = UINT64_MAX;
    REFUSED(QNNRT_E_ARG, "use 3");
    keep->offset = 8;
    desc.uses = NULL;
    REFUSED(QNNRT_E_ARG, "uses");
    desc.uses = uses;
    desc.buffers = NULL;
    REFUSED(QNNRT_E_ARG, "buffers");
    desc.buffers = &buffer;
#undef REFUSED
    CLOSE(program);
}

TEST(values_out_of_a_range_are_not_written)
{
    qnnrt_manifest_open_desc desc = new_open();
    int32_t ids[70], found[70];
    float floats[70];
    const uint32_t nan_bits = 0x7FC00000u;
    const qnnrt_pipeline *single;
    const qnnrt_slot *slot;
    qnnrt_manifest *model;
    qnnrt_run *run;
    int i;
    fake_begin("");
    folder = test_tmpdir();
    put(folder, "c.bin", LOOK);
    put(folder, "qnnrt.json", LOOKS(", \"names\": {\"tokens\": {\"step\": 1, \"input\": \"ids\"}}, \"ranges\": ["
                                    RANGE("0", "ids", "-5", "9") ", " RANGE("1", "ids", "-2", "2147483647") "]"));
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_manifest_prepare(model, "looks", NULL, &run, &error), QNNRT_OK);
    slot = qnnrt_run_slot(run, "tokens");
    CHECK(slot != NULL);
    CHECK(slot->has_range == 1 && slot->low == -2 && slot->high == 9);
    slot = qnnrt_run_slot(run, "x");
    CHECK(slot->has_range == 0 && slot->low == 0 && slot->high == 0);
    slot = qnnrt_run_slot(run, "tokens");
    for (i = 0; i < 70; ++i) floats[i] = (float)(ids[i] = i % 12 - 2);
    CHECK_EQ(qnnrt_write_i32(run, slot, 0, ids, 70), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    ids[68] = 10;
    TRY(out_of_range(run, slot, 0, ids, NULL, 70, "element 68 is 10"));
    TRY(out_of_range(run, slot, 2, ids + 66, NULL, 3, "element 4 is 10"));
    ids[67] = -3;
    TRY(out_of_range(run, slot, 0, ids, NULL, 70, "element 67 is -3"));
    ids[0] = INT32_MIN;
    TRY(out_of_range(run, slot, 69, ids, NULL, 1, "element 69 is -2147483648"));
    /* Floats as they would be stored: half to even, saturated, 0 for NaN. */
    floats[0] = 9.49f;
    floats[1] = -2.5f;
    memcpy(&floats[69], &nan_bits, sizeof(floats[69]));
    CHECK_EQ(qnnrt_write_f32(run, slot, 0, floats, 70), QNNRT_OK);
    CHECK_EQ(qnnrt_read_i32(run, slot, 0, found, 70), QNNRT_OK);
    CHECK(found[0] == 9 && found[1] == -2 && found[69] == 0);
    floats[66] = 9.5f;
    TRY(out_of_range(run, slot, 0, NULL, floats, 70, "element 66 is 10"));
    floats[3] = -1e30f;
    TRY(out_of_range(run, slot, 0, NULL, floats, 70, "element 3 is -2147483648"));
    /* Only the program's pipeline has the range, and memory of the caller is not read. */
    CHECK_EQ(qnnrt_bind(run, "tokens", ids, sizeof(ids)), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_manifest_find(model, "0/look", &single, &error), QNNRT_OK);
    for (i = 0; i < (int)qnnrt_pipeline_get_info(single)->slot_count; ++i) CHECK_EQ(qnnrt_pipeline_get_info(single)->slots[i].has_range, 0);
    qnnrt_run_destroy(run);
    CLOSE(model);
}

TEST(constants_follow_links_and_have_limits)
{
    qnnrt_host_step function;
    int calls;
    qnnrt_manifest_open_desc desc = mixed_desc(&function, &calls);
    char path[2048];
    qnnrt_manifest *model;
    fake_begin("");
    folder = mixed_files();
    snprintf(path, sizeof(path), "%s/linked", folder);
    CHECK_EQ(symlink("table", path), 0);
    put(folder, "qnnrt.json", WHOLE(TABLE(", {\"name\": \"c\", \"file\": \"linked\", \"dtype\": \"int8\", \"dims\": [36]},"
                                          " {\"name\": \"d\", \"file\": \"table\", \"dtype\": \"int8\", \"dims\": [1]}"), MIXED(VALUE)));
    desc.model.limits.files = 2;
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_manifest_get_info(model)->constant_count, 3);
    CHECK_STR(qnnrt_manifest_get_info(model)->constants[1].file, "linked");
    CHECK_EQ(memcmp(qnnrt_manifest_get_info(model)->constants[1].data, qnnrt_manifest_get_info(model)->constants[2].data, 1), 0);
    CHECK((const char *)qnnrt_manifest_get_info(model)->constants[0].data - (const char *)qnnrt_manifest_get_info(model)->constants[2].data == 4);
    CLOSE(model);
    put(folder, "third", "x");
    put(folder, "qnnrt.json", WHOLE(TABLE(", {\"name\": \"c\", \"file\": \"linked\", \"dtype\": \"int8\", \"dims\": [36]},"
                                          " {\"name\": \"d\", \"file\": \"third\", \"dtype\": \"int8\", \"dims\": [1]}"), MIXED(VALUE)));
    FAILS(folder, &desc, QNNRT_E_LIMIT, "2 files", "limits.files");
    desc.model.limits.files = 0;
    put(folder, "table", A B A);
    desc.model.limits.file_bytes = sizeof(A B) - 1;
    FAILS(folder, &desc, QNNRT_E_LIMIT, "table", "limits.file_bytes");
    snprintf(path, sizeof(path), "%s/table", folder);
    CHECK_EQ(unlink(path), 0);
    desc.model.limits.file_bytes = 0;
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, "table");
}

TEST(many_host_functions_are_listed)
{
    qnnrt_host_step functions[12];
    int calls, i;
    qnnrt_manifest_open_desc desc = mixed_desc(&functions[0], &calls);
    qnnrt_manifest *model;
    fake_begin("");
    folder = mixed_files();
    put(folder, "qnnrt.json", WHOLE(TABLE(""), MIXED(VALUE)));
    for (i = 1; i < 12; ++i) functions[i] = functions[0];
    for (i = 0; i < 11; ++i) functions[i].name = i % 2 ? "other" : NULL;
    functions[5].name = "add";
    functions[5].exec = NULL;
    desc.host_function_count = 11;
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, "\"add\"", "\"other\"", "and 3 more");
    desc.host_function_count = 12;
    OPENS(folder, &desc, &model);
    CLOSE(model);
}

TEST(an_edge_converts_only_if_it_says_so)
{
    qnnrt_host_step function;
    int calls;
    qnnrt_manifest_open_desc desc = mixed_desc(&function, &calls);
    fake_begin("");
    folder = mixed_files();
    put(folder, "qnnrt.json", WHOLE("", "{\"name\": \"p\", \"steps\": [{\"context\": 0, \"graph\": \"first\"}, {\"context\": 0, \"graph\": \"half\"}], \"edges\": [{\"from\": [0, \"y\"], \"to\": [1, \"h\"]}]}"));
    FAILS(folder, &desc, QNNRT_E_MISMATCH, "pipeline \"p\": edge 0", "\"y\"", "\"h\"", "convert");
    put(folder, "qnnrt.json", WHOLE("", "{\"name\": \"p\", \"steps\": [{\"host\": \"add\", \"inputs\": [], \"outputs\": []}, {\"context\": 0, \"graph\": \"half\"}]}"));
    FAILS(folder, &desc, QNNRT_E_FORMAT, "pipeline \"p\": step 0", "no tensors");
}

/* No context, no role: nothing is opened but the function, and memory is that of the hooks. */
TEST(a_program_of_host_steps_alone_runs)
{
    qnnrt_host_step function;
    int calls;
    qnnrt_manifest_open_desc desc = mixed_desc(&function, &calls);
    const qnnrt_manifest_info *info;
    qnnrt_manifest *model;
    qnnrt_run *run;
    float x[8] = { 0 };
    fake_begin("");
    folder = mixed_files();
    put(folder, "qnnrt.json", "{\"program\": {\"version\": 1, \"backends\": [], \"contexts\": []" TABLE("") ", \"pipelines\":"
        " [{\"name\": \"p\", \"steps\": [" HOST "], \"edges_only\": true, \"constants\": [{\"step\": 0, \"input\": \"t\", \"constant\": \"table\"}]}]}}");
    OPENS(folder, &desc, &model);
    info = qnnrt_manifest_get_info(model);
    CHECK(info->program == 1 && info->context_count == 0 && info->model_count == 0 && info->pipeline_count == 1);
    CHECK(info->backend == NULL && info->system_path[0] == '\0');
    CHECK_EQ(qnnrt_manifest_prepare(model, NULL, NULL, &run, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "v", x, sizeof(x)), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(calls, 1);
    CHECK(((const float *)qnnrt_data(run, "w", NULL))[7] == 8);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_E_BUSY);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_recover(model, NULL, &error), QNNRT_E_ARG);
    CLOSE(model);
    desc.host_function_count = 0;
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, "\"add\"", "nothing");
}

/* The example in the manual at the top of qnnrt_manifest.h, with a model that it fits. */
TEST(the_example_of_the_manual_opens)
{
    qnnrt_host_step function;
    int calls;
    qnnrt_manifest_open_desc desc = mixed_desc(&function, &calls);
    char *manual = (char *)test_read_file("tools/qnnrt_manifest.h", NULL), *begin, *end, path[2048];
    const qnnrt_pipeline_info *p;
    qnnrt_manifest *model;
    fake_begin("");
    folder = test_tmpdir();
    CHECK(manual != NULL);
    begin = strstr(manual, "{ \"program\"");
    CHECK(begin != NULL);
    end = strstr(begin, "] } }\n");
    CHECK(end != NULL);
    end[5] = '\0';
    put(folder, "qnnrt.json", begin);
    free(manual);
    put(folder, "forward.bin", "FAKEQNN 1\n" PAD "graph forward\nin x 1 0232 3 1 8 768 -\nout logits 2 0232 2 1 4 -\n");
    snprintf(path, sizeof(path), "%s/table.raw", folder);
    put(folder, "table.raw", "");
    CHECK_EQ(truncate(path, (off_t)50257 * 768 * 2), 0);      /* a hole */
    function.name = "look_up";
    OPENS(folder, &desc, &model);
    p = qnnrt_pipeline_get_info(qnnrt_manifest_get_info(model)->pipelines[0]);
    CHECK_EQ(p->step_count, 3);
    CHECK_STR(p->names[0].name, "tokens");
    CLOSE(model);
}

/* ---- bad texts -------------------------------------------------------------------------------- */

TEST(files_are_plain_names_that_the_folder_has)
{
    static const char *const names[] = { "../a.bin", "/a.bin", "sub/a.bin", "..", ".", "", ".a.bin", "a\\\\b.bin" };
    char text[512];
    size_t i;
    fake_begin("");
    folder = two_files();
    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        snprintf(text, sizeof(text), "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"%s\", \"backend\": \"npu\"}]}}", names[i]);
        BAD(text, QNNRT_E_FORMAT, "context 0: \"file\"", "plain name");
        snprintf(text, sizeof(text), PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"%s\", \"dtype\": \"int8\", \"dims\": [1]}]"), names[i]);
        BAD(text, QNNRT_E_FORMAT, "constant 0: \"file\"", "plain name");
    }
    BAD("{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"none.bin\", \"backend\": \"npu\"}]}}", QNNRT_E_NOT_FOUND, "none.bin", NULL);
    BAD("{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"qnnrt.json\", \"backend\": \"npu\"}]}}", QNNRT_E_NOT_FOUND, "qnnrt.json", NULL);
}

static const struct { const char *text; qnnrt_result code; const char *needle, *other; } cases[] = {
    /* the text */
    { "", QNNRT_E_FORMAT, "byte 0", NULL },
    { "[1]", QNNRT_E_FORMAT, "a list", "expected an object" },
    { PROGRAM("") "x", QNNRT_E_FORMAT, "byte ", NULL },
    { "{\"program\": {\"version\": 1}, \"program\": {\"version\": 1}}", QNNRT_E_FORMAT, "\"backends\" is missing", NULL },
    { "{\"program\": {\"version\": 1, " CONTEXTS "}, \"program\": {}}", QNNRT_E_FORMAT, "\"program\" occurs twice", NULL },
    { "{\"program\": 3}", QNNRT_E_FORMAT, "\"program\" is a number", "an object" },
    { "{\"llm\": }", QNNRT_E_FORMAT, "byte 8", NULL },
    /* versions */
    { "{\"program\": {\"new\": {\"a\": [1]}, \"version\": 3}}", QNNRT_E_VERSION, "version 3", "versions 1 to 2" },
    { "{\"program\": {\"version\": 0, " CONTEXTS "}}", QNNRT_E_VERSION, "version 0", "versions 1 to 2" },
    { "{\"program\": {\"version\": \"1\", " CONTEXTS "}}", QNNRT_E_FORMAT, "\"version\" is text", "a number" },
    { "{\"program\": {\"version\": 1.5, " CONTEXTS "}}", QNNRT_E_FORMAT, "\"version\" is 1.5", NULL },
    { "{\"program\": {" CONTEXTS "}}", QNNRT_E_FORMAT, "\"version\" is missing", NULL },
    { "{\"program\": {\"version\": 1, \"version\": 1, " CONTEXTS "}}", QNNRT_E_FORMAT, "\"version\" occurs twice", NULL },
    /* keys */
    { PROGRAM(", \"colour\": 1"), QNNRT_E_FORMAT, "unknown key \"colour\" (byte ", "version, backends, contexts, constants, pipelines" },
    { PROGRAM(", \"info\": {}"), QNNRT_E_FORMAT, "unknown key \"info\"", NULL },
    { PIPELINE(STEPS ", \"edge\": []"), QNNRT_E_FORMAT, "pipeline 0: unknown key \"edge\"", NULL },
    { PIPELINE("\"steps\": [{\"graf\": 1}]"), QNNRT_E_FORMAT, "pipeline \"main\": step 0: unknown key \"graf\"", "context, graph, host, inputs, outputs" },
    { PIPELINE(STEPS ", \"edges\": [" EDGE ", {\"from\": [0, \"y\"], \"to\": [1, \"u\"], \"a\\u0062\": 1}]"), QNNRT_E_FORMAT, "edge 1: unknown key", NULL },
    { PIPELINES("{" STEPS "}"), QNNRT_E_FORMAT, "pipeline 0: \"name\" is missing", NULL },
    { PIPELINES("{\"name\": \"\", " STEPS "}"), QNNRT_E_FORMAT, "\"name\" is empty", NULL },
    { PIPELINES("{\"name\": \"a\\u0000b\", " STEPS "}"), QNNRT_E_FORMAT, "\\u0000", NULL },
    { PIPELINES("{\"name\": \"a\", " STEPS "}, {\"name\": \"a\", " STEPS "}"), QNNRT_E_FORMAT, "pipeline \"a\" occurs twice", NULL },
    { PIPELINES("{\"name\": \"a\", \"name\": \"b\", " STEPS "}"), QNNRT_E_FORMAT, "\"name\" occurs twice", NULL },
    { PIPELINES("{\"name\": \"a\", \"steps\": []}"), QNNRT_E_FORMAT, "pipeline \"a\": \"steps\" is empty", NULL },
    { PIPELINES("3"), QNNRT_E_FORMAT, "pipeline 0: \"pipeline\" is a number", NULL },
    /* backends and contexts */
    { "{\"program\": {\"version\": 1, \"backends\": [], \"contexts\": [{\"file\": \"a.bin\", \"backend\": \"npu\"}]}}", QNNRT_E_FORMAT, "context 0", "\"npu\"" },
    { "{\"program\": {\"version\": 1, \"backends\": [\"npu\", \"npu\"], \"contexts\": []}}", QNNRT_E_FORMAT, "backend \"npu\" occurs twice", NULL },
    { "{\"program\": {\"version\": 1, \"backends\": [7], \"contexts\": []}}", QNNRT_E_FORMAT, "backend 0: ", "a number" },
    { "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": []}}", QNNRT_E_FORMAT, "\"contexts\" and \"pipelines\" are empty", NULL },
    { "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"a.bin\", \"backend\": \"npu\"}, {\"file\": \"a.bin\", \"backend\": \"npu\"}]}}", QNNRT_E_FORMAT, "context \"a.bin\" occurs twice", NULL },
    { "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"a.bin\"}]}}", QNNRT_E_FORMAT, "context 0: \"backend\" is missing", NULL },
    { "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"a.bin\", \"backend\": \"npu\", \"fingerprint\": \"123\"}]}}", QNNRT_E_FORMAT, "context 0: \"fingerprint\" is \"123\"", "16" },
    { "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"a.bin\", \"backend\": \"npu\", \"fingerprint\": \"0123456789abcdeg\"}]}}", QNNRT_E_FORMAT, "\"fingerprint\"", NULL },
    { "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"a.bin\", \"backend\": \"npu\", \"fingerprint\": \"0123456789abcdef0\"}]}}", QNNRT_E_FORMAT, "\"fingerprint\"", NULL },
    { "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"a.bin\", \"backend\": \"npu\", \"sha256\": \"0123456789abcdef\"}]}}", QNNRT_E_FORMAT, "context 0: \"sha256\" is \"0123456789abcdef\"", "64" },
    { "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"a.bin\", \"backend\": \"npu\", \"hash\": \"0123456789abcdef\", \"fingerprint\": \"0123456789abcdef\"}]}}", QNNRT_E_FORMAT, "context 0: unknown key \"hash\"", "file, backend, fingerprint, sha256" },
    { "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"a.bin\", \"backend\": \"npu\"}, {\"fi1e\": \"b.bin\", \"backend\": \"npu\"}]}}", QNNRT_E_FORMAT, "context 1: unknown key \"fi1e\"", "file, backend, fingerprint, sha256" },
    /* constants */
    { PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"t\", \"dtype\": \"float33\", \"dims\": [1]}]"), QNNRT_E_FORMAT, "constant 0: \"dtype\" is \"float33\"", NULL },
    { PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"t\", \"dtype\": \"string\", \"dims\": [1]}]"), QNNRT_E_FORMAT, "\"dtype\" is \"string\"", NULL },
    { PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"t\", \"dtype\": \"int8\", \"dims\": [2, 0]}]"), QNNRT_E_FORMAT, "dimension of 0", NULL },
    { PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"t\", \"dtype\": \"int8\", \"dims\": [-1]}]"), QNNRT_E_FORMAT, "\"dims\" is -1", NULL },
    { PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"t\", \"dtype\": \"int8\", \"dims\": [4294967296]}]"), QNNRT_E_FORMAT, "\"dims\" is 4294967296", NULL },
    { PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"t\", \"dtype\": \"int64\", \"dims\": [4294967295, 4294967295, 8]}]"), QNNRT_E_LIMIT, "\"t\": the product", NULL },
    { PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"t\", \"dtype\": \"int8\", \"dims\": [1,1,1,1,1,1,1,1,1]}]"), QNNRT_E_LIMIT, "more than 8 dimensions", "limits.rank" },
    { PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"t\", \"dtype\": \"int8\", \"dims\": [2], \"offset\": 18446744073709551615}]"), QNNRT_E_LIMIT, "18446744073709551615", NULL },
    { PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"t\", \"dtype\": \"int8\", \"dims\": [2], \"offset\": -1}]"), QNNRT_E_FORMAT, "\"offset\" is -1", NULL },
    { PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"t\", \"dtype\": \"int8\"}]"), QNNRT_E_FORMAT, "\"dims\" is missing", NULL },
    { PROGRAM(", \"constants\": [{\"name\": \"t\", \"file\": \"t\", \"dtype\": \"int8\", \"dims\": []}, {\"name\": \"t\", \"file\": \"u\", \"dtype\": \"int8\", \"dims\": []}]"), QNNRT_E_FORMAT, "constant \"t\" occurs twice", NULL },
    { PIPELINE(STEPS ", \"constants\": [{\"step\": 1, \"input\": \"m\", \"constant\": \"t\"}]"), QNNRT_E_FORMAT, "pipeline \"main\": input \"m\" of step 1", "\"t\"" },
    { PIPELINE(STEPS ", \"constants\": [{\"step\": 1, \"input\": \"m\"}]"), QNNRT_E_FORMAT, "\"constant\" is missing", NULL },
    /* steps */
    { PIPELINE("\"steps\": [{\"context\": 2, \"graph\": \"first\"}]"), QNNRT_E_FORMAT, "pipeline \"main\": step 0: \"context\" is 2", "2 contexts" },
    { PIPELINE("\"steps\": [{\"context\": 99999999999, \"graph\": \"first\"}]"), QNNRT_E_FORMAT, "\"context\" is 99999999999", NULL },
    { PIPELINE("\"steps\": [{\"context\": 1}]"), QNNRT_E_FORMAT, "step 0: \"graph\" is missing", NULL },
    { PIPELINE("\"steps\": [{\"graph\": \"first\"}]"), QNNRT_E_FORMAT, "\"context\" is missing", NULL },
    { PIPELINE("\"steps\": [{\"host\": \"f\", \"inputs\": []}]"), QNNRT_E_FORMAT, "\"outputs\" is missing", NULL },
    { PIPELINE("\"steps\": [{\"host\": \"f\", \"context\": 1}]"), QNNRT_E_FORMAT, "step 0: it must have either", NULL },
    { PIPELINE("\"steps\": [{\"host\": \"f\", \"inputs\": [{\"name\": \"i\", \"dtype\": \"ufixed8\", \"dims\": [1], \"scale\": 0.5}], \"outputs\": []}]"), QNNRT_E_FORMAT, "step 0: input 0: \"offset\" is missing", NULL },
    { PIPELINE("\"steps\": [{\"context\": 1, \"graph\": \"first\"}, {\"host\": \"f\", \"outputs\": [{\"name\": \"i\", \"dtype\": \"ufixed8\", \"dims\": [1], \"scale\": 0, \"offset\": 1}], \"inputs\": []}]"), QNNRT_E_FORMAT, "step 1: graph \"f\": tensor \"i\" (ufixed8): scale", NULL },
    { PIPELINE("\"steps\": [{\"host\": \"f\", \"outputs\": [{\"name\": \"i\", \"dtype\": \"ufixed8\", \"dims\": [1], \"scale\": 1e99, \"offset\": 1}], \"inputs\": []}]"), QNNRT_E_FORMAT, "\"scale\" is 1e99", NULL },
    { PIPELINE("\"steps\": [{\"host\": \"f\", \"outputs\": [{\"name\": \"i\", \"dtype\": \"ufixed8\", \"dims\": [1], \"scale\": 1, \"offset\": 2147483648}], \"inputs\": []}]"), QNNRT_E_FORMAT, "\"offset\" is 2147483648", NULL },
    { PIPELINE("\"steps\": [{\"context\": 1, \"graph\": \"first\"}, {\"host\": \"f\", \"outputs\": [{\"name\": \"i\", \"dtype\": \"ufixed8\", \"dims\": [1], \"scale\": 1, \"offset\": 0, \"bits\": 9}], \"inputs\": []}]"), QNNRT_E_FORMAT, "bitwidth", NULL },
    { PIPELINE("\"steps\": [{\"host\": \"f\", \"outputs\": [{\"name\": \"i\", \"dtype\": \"float32\", \"dims\": [1], \"scale\": 1, \"offset\": 0}], \"inputs\": []}]"), QNNRT_E_FORMAT, "float32 is not a quantized type", NULL },
    { PIPELINE("\"steps\": [{\"host\": \"f\", \"outputs\": [{\"name\": \"i\", \"dtype\": \"int8\", \"dims\": [1]}, {\"name\": \"i\", \"dtype\": \"int8\", \"dims\": [1]}], \"inputs\": []}]"), QNNRT_E_FORMAT, "output \"i\" occurs twice", NULL },
    /* edges */
    { PIPELINE(STEPS ", \"edges\": [{\"from\": [0, \"y\"]}]"), QNNRT_E_FORMAT, "edge 0: \"to\" is missing", NULL },
    { PIPELINE(STEPS ", \"edges\": [{\"from\": 0, \"to\": [1, \"u\"]}]"), QNNRT_E_FORMAT, "edge 0: \"from\" is a number", "a list" },
    { PIPELINE(STEPS ", \"edges\": [{\"from\": [0], \"to\": [1, \"u\"]}]"), QNNRT_E_FORMAT, "\"from\" must have two elements", NULL },
    { PIPELINE(STEPS ", \"edges\": [{\"from\": [0, \"y\", 3], \"to\": [1, \"u\"]}]"), QNNRT_E_FORMAT, "\"from\" must have two elements", NULL },
    { PIPELINE(STEPS ", \"edges\": [{\"from\": [\"y\", 0], \"to\": [1, \"u\"]}]"), QNNRT_E_FORMAT, "\"from\" is text", NULL },
    { PIPELINE(STEPS ", \"edges\": [{\"from\": [0, \"y\"], \"to\": [1, \"u\"], \"convert\": \"maybe\"}]"), QNNRT_E_FORMAT, "\"convert\" is \"maybe\"", "to_nhwc" },
    { PIPELINE(STEPS ", \"edges\": [{\"from\": [0, \"y\"], \"to\": [1, \"u\"], \"exact\": 1}]"), QNNRT_E_FORMAT, "\"exact\" is a number", "true or false" },
    { PIPELINE(STEPS ", \"edges_only\": null"), QNNRT_E_FORMAT, "\"edges_only\" is null", NULL },
    { PIPELINE(STEPS ", \"apart\": [[1]]"), QNNRT_E_FORMAT, "apart 0", NULL },
    /* names and buffers */
    { PIPELINE(STEPS ", \"names\": {\"a\": {\"step\": 0, \"input\": \"x\"}, \"a\": {\"step\": 0, \"output\": \"y\"}}"), QNNRT_E_FORMAT, "the name \"a\" is given twice", NULL },
    { PIPELINE(STEPS ", \"names\": {\"\": {\"step\": 0, \"input\": \"x\"}}"), QNNRT_E_FORMAT, "name 0", "empty" },
    { PIPELINE(STEPS ", \"names\": {\"a\\u0000\": {\"step\": 0, \"input\": \"x\"}}"), QNNRT_E_FORMAT, "name 0", "\\u0000" },
    { PIPELINE(STEPS ", \"names\": {\"a\": {\"step\": 0}}"), QNNRT_E_FORMAT, "name 0: it must have either", NULL },
    { PIPELINE(STEPS ", \"names\": {\"a\": {\"step\": 0, \"input\": \"x\", \"output\": \"y\"}}"), QNNRT_E_FORMAT, "name 0: it must have either", NULL },
    { PIPELINE(STEPS ", \"names\": []"), QNNRT_E_FORMAT, "\"names\" is a list", NULL },
    { PIPELINE(STEPS ", \"buffers\": [{\"name\": \"b\", \"bytes\": 0, \"slots\": []}]"), QNNRT_E_FORMAT, "buffer 0: \"bytes\" is 0", NULL },
    { PIPELINE(STEPS ", \"buffers\": [{\"name\": \"b\", \"bytes\": 18446744073709551616, \"slots\": []}]"), QNNRT_E_FORMAT, "\"bytes\" is 18446744073709551616", NULL },
    { PIPELINE(STEPS ", \"buffers\": [{\"name\": \"b\", \"bytes\": 64, \"align\": 48, \"slots\": []}]"), QNNRT_E_FORMAT, "\"align\" is 48", NULL },
    { PIPELINE(STEPS ", \"buffers\": [{\"name\": \"b\", \"bytes\": 64}]"), QNNRT_E_FORMAT, "\"slots\" is missing", NULL },
    { PIPELINE(STEPS ", \"buffers\": [{\"name\": \"b\", \"bytes\": 64, \"slots\": [{\"step\": 0, \"input\": \"x\"}]}]"), QNNRT_E_FORMAT, "buffer 0: slot 0: \"offset\" is missing", NULL },
    /* ranges */
    { PIPELINE(STEPS ", \"ranges\": [{\"step\": 0, \"input\": \"x\", \"low\": 0}]"), QNNRT_E_FORMAT, "range 0: \"high\" is missing", NULL },
    { PIPELINE(STEPS ", \"ranges\": [{\"input\": \"x\", \"low\": 0, \"high\": 1}]"), QNNRT_E_FORMAT, "range 0: \"step\" is missing", NULL },
    { PIPELINE(STEPS ", \"ranges\": [{\"step\": 0, \"input\": \"x\", \"low\": -2147483649, \"high\": 1}]"), QNNRT_E_FORMAT, "range 0: \"low\" is -2147483649", NULL },
    { PIPELINE(STEPS ", \"ranges\": [{\"step\": 0, \"input\": \"x\", \"low\": 0, \"high\": 2147483648}]"), QNNRT_E_FORMAT, "range 0: \"high\" is 2147483648", NULL },
    { PIPELINE(STEPS ", \"ranges\": [{\"step\": 0, \"input\": \"x\", \"low\": 0.5, \"high\": 1}]"), QNNRT_E_FORMAT, "range 0: \"low\" is 0.5", NULL },
    { PIPELINE(STEPS ", \"ranges\": [{\"step\": 0, \"output\": \"y\", \"low\": 0, \"high\": 1}]"), QNNRT_E_FORMAT, "unknown key \"output\"", "step, input, low, high" },
    { PIPELINE(STEPS ", \"ranges\": {\"x\": [0, 1]}"), QNNRT_E_FORMAT, "\"ranges\" is an object", "a list" },
    { PIPELINE(STEPS ", \"buffers\": [{\"name\": \"b\", \"bytes\": 64, \"slots\": []}, {\"name\": \"b\", \"bytes\": 64, \"slots\": []}]"), QNNRT_E_FORMAT, "buffer \"b\" occurs twice", NULL },
};

TEST(bad_texts_are_named)
{
    size_t i;
    fake_begin("");
    folder = two_files();
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i)
        BAD(cases[i].text, cases[i].code, cases[i].needle, cases[i].other);
}

/* Everything that a program can have, as a text. */
#define ALL "{\"llm\": {}, \"program\": {\"version\": 1, " CONTEXTS ", \"constants\": [{\"name\": \"t\", \"file\": \"t.bin\", \"offset\": 4," \
    " \"dtype\": \"float32\", \"dims\": [1, 2]}], \"pipelines\": [{\"name\": \"main\", " STEPS ", \"edges\": [" EDGE "], \"edges_only\": true," \
    " \"apart\": [[1, \"m\"]], \"ranges\": []}]}}"

TEST(a_text_cut_at_every_byte_is_refused)
{
    char text[2048];
    size_t length;
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_manifest *model;
    fake_begin("");
    folder = two_files();
    put(folder, "t.bin", "a table of some values");
    put(folder, "qnnrt.json", ALL);
    desc.model.inspect = 1;
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    for (length = 0; length < strlen(ALL); ++length) {
        snprintf(text, sizeof(text), "%.*s", (int)length, ALL);
        BAD(text, QNNRT_E_FORMAT, "byte ", NULL);
    }
}

TEST(limits_of_a_program)
{
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_manifest *model;
    fake_begin("");
    folder = two_files();
    desc.model.inspect = 1;
    put(folder, "qnnrt.json", PIPELINE(STEPS ", \"edges\": [" EDGE "]"));
    desc.model.limits.files = 1;
    FAILS(folder, &desc, QNNRT_E_LIMIT, "2 contexts", "limits.files (1)");
    desc.model.limits.files = 2;
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    desc.model.limits.tensors = 6;           /* 1 backend, 2 contexts, 1 pipeline, 2 steps, 1 edge */
    FAILS(folder, &desc, QNNRT_E_LIMIT, "qnnrt.json", "edge 0", "more than 6", "limits.tensors");
    desc.model.limits.tensors = 0;
    desc.model.limits.name_bytes = 5;
    FAILS(folder, &desc, QNNRT_E_LIMIT, "step 1", "\"graph\"", "5 bytes (limits.name_bytes)");
    desc.model.limits.name_bytes = 0;
    desc.model.limits.json_bytes = 20;
    FAILS(folder, &desc, QNNRT_E_LIMIT, "qnnrt.json", "limits.json_bytes (20)");
}

static uint64_t taken;                 /* bytes */

static void *take(void *user, size_t bytes)
{
    (void)user;
    taken += bytes;
    return malloc(bytes);
}

static void give(void *user, void *data)
{
    (void)user;
    free(data);
}

TEST(a_pipeline_of_a_program_takes_no_more_memory_than_it_needs)
{
    enum { COUNT = 3000 };
    qnnrt_manifest_open_desc desc = new_open();
    char *text = (char *)malloc(COUNT * 96 + 512);
    uint64_t without = 0;
    qnnrt_manifest *model;
    size_t used;
    int many, i;
    fake_begin("");
    folder = two_files();
    desc.model.inspect = 1;
    desc.model.backend_desc.hooks.alloc = take;
    desc.model.backend_desc.hooks.free = give;
    for (many = 0; many < 2; ++many) {
        used = (size_t)sprintf(text, "{\"program\": {\"version\": 1, " CONTEXTS ", \"pipelines\": [");
        for (i = 0; i < (many ? COUNT : 1); ++i)
            used += (size_t)sprintf(text + used, "%s{\"name\": \"p%d\", \"steps\": [{\"context\": 1, \"graph\": \"first\"}]}", i > 0 ? ", " : "", i);
        sprintf(text + used, "]}}");
        put(folder, "qnnrt.json", text);
        taken = 0;
        OPENS(folder, &desc, &model);
        CHECK_EQ(qnnrt_manifest_get_info(model)->pipeline_count, many ? COUNT : 1);
        CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
        if (!many) without = taken;
    }
    printf("  %llu bytes for each pipeline\n", (unsigned long long)(taken - without) / COUNT);
    CHECK((taken - without) / COUNT < 4096);
    free(text);
    TRY(nothing_left());
}

/* ---- the writer --------------------------------------------------------------------------------- */

/* Write the program of a model that was opened. hashes: 1 writes fingerprints, and digits as SHA-256. */
static void write_model(const qnnrt_manifest *model, int hashes, meta_text *out)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(model);
    qnnrt_manifest_context contexts[4];
    qnnrt_manifest_pipeline listed[8];
    described_pipeline pipelines[8];
    qnnrt_manifest_desc desc;
    size_t i;
    memset(&desc, 0, sizeof(desc));
    CHECK(info->context_count <= 4 && info->pipeline_count <= 8);
    for (i = 0; i < info->context_count; ++i) {
        contexts[i] = info->contexts[i];
        if (contexts[i].role[0] == '\0') contexts[i].role = "npu";
        contexts[i].fingerprint = hashes ? fingerprint_of(info, i) : 0;
        contexts[i].sha256 = hashes ? "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" : NULL;
    }
    for (i = 0; i < info->pipeline_count; ++i) {
        CHECK(describe(info, info->pipelines[i], &pipelines[i]));
        listed[i] = pipelines[i].of;
    }
    desc.contexts = contexts;
    desc.context_count = info->context_count;
    desc.constants = info->constants;
    desc.constant_count = info->constant_count;
    desc.pipelines = listed;
    desc.pipeline_count = info->pipeline_count;
    out->used = 0;
    TEST_JUNK(error);
    CHECK_EQ(qnnrt_manifest_write(&desc, meta_add, out, &error), QNNRT_OK);
    CHECK(error.code == QNNRT_OK && error.text[0] == '\0');
    for (i = 0; i < info->pipeline_count; ++i) describe_free(&pipelines[i]);
}

static void same_tensor(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    char x[256], y[256];
    CHECK(strcmp(a->name, b->name) == 0);
    CHECK(a->dtype == b->dtype && a->rank == b->rank && qnnrt_quant_equal(&a->quant, &b->quant));
    CHECK(strcmp(qnnrt_tensor_text(a, x, sizeof(x)), qnnrt_tensor_text(b, y, sizeof(y))) == 0);
}

/* Check that two pipelines are equal in all that their infos say. */
static void same_pipeline(const qnnrt_pipeline_info *a, const qnnrt_pipeline_info *b)
{
    size_t i, k;
    CHECK(strcmp(a->name, b->name) == 0);
    CHECK(a->step_count == b->step_count && a->edge_count == b->edge_count && a->slot_count == b->slot_count);
    for (i = 0; i < a->step_count; ++i) {
        const qnnrt_step_info *x = &a->steps[i], *y = &b->steps[i];
        CHECK(x->kind == y->kind && x->context == y->context);
        const qnnrt_converter_info how_x = qnnrt_convert_get_info(qnnrt_convert_of(x)), how_y = qnnrt_convert_get_info(qnnrt_convert_of(y));
        CHECK(how_x.how == how_y.how && how_x.exact == how_y.exact);
        CHECK(strcmp(x->graph->name, y->graph->name) == 0);
        CHECK(x->graph->input_count == y->graph->input_count && x->graph->output_count == y->graph->output_count);
        for (k = 0; k < x->graph->input_count; ++k) TRY(same_tensor(&x->graph->inputs[k], &y->graph->inputs[k]));
        for (k = 0; k < x->graph->output_count; ++k) TRY(same_tensor(&x->graph->outputs[k], &y->graph->outputs[k]));
    }
    for (i = 0; i < a->edge_count; ++i) {
        const qnnrt_edge_info *x = &a->edges[i], *y = &b->edges[i];
        CHECK(x->from_step == y->from_step && x->to_step == y->to_step && x->slot - a->slots == y->slot - b->slots);
        CHECK(strcmp(x->from->name, y->from->name) == 0 && strcmp(x->to->name, y->to->name) == 0);
    }
    for (i = 0; i < a->slot_count; ++i) {
        const qnnrt_slot *x = &a->slots[i], *y = &b->slots[i];
        CHECK(x->role == y->role && x->first == y->first && x->last == y->last && strcmp(x->address, y->address) == 0);
        CHECK((x->constant == NULL) == (y->constant == NULL));
        CHECK(x->has_range == y->has_range && x->low == y->low && x->high == y->high);
    }
    CHECK(a->name_count == b->name_count && a->buffer_count == b->buffer_count && a->place_count == b->place_count);
    for (i = 0; i < a->name_count; ++i)
        CHECK(strcmp(a->names[i].name, b->names[i].name) == 0 && a->names[i].slot - a->slots == b->names[i].slot - b->slots);
    for (i = 0; i < a->buffer_count; ++i)
        CHECK(strcmp(a->buffers[i].name, b->buffers[i].name) == 0 && a->buffers[i].bytes == b->buffers[i].bytes && a->buffers[i].align == b->buffers[i].align);
    for (i = 0; i < a->place_count; ++i)
        CHECK(a->places[i].slot - a->slots == b->places[i].slot - b->slots && a->places[i].buffer == b->places[i].buffer && a->places[i].offset == b->places[i].offset);
}

static void same_model(const qnnrt_manifest *a, const qnnrt_manifest *b)
{
    const qnnrt_manifest_info *x = qnnrt_manifest_get_info(a), *y = qnnrt_manifest_get_info(b);
    size_t i;
    CHECK_EQ(x->pipeline_count, y->pipeline_count);
    for (i = 0; i < x->pipeline_count; ++i)
        TRY(same_pipeline(qnnrt_pipeline_get_info(x->pipelines[i]), qnnrt_pipeline_get_info(y->pipelines[i])));
}

/* Open the folder, write its program, open that, and write it again: the same models and the same bytes. */
static void round_trip(const qnnrt_manifest_open_desc *desc, int hashes)
{
    meta_text one, two;
    qnnrt_manifest *a, *b;
    memset(&one, 0, sizeof(one));
    memset(&two, 0, sizeof(two));
    OPENS(folder, desc, &a);
    TRY(write_model(a, hashes, &one));
    put(folder, "qnnrt.json", one.data);
    OPENS(folder, desc, &b);
    CHECK_EQ(qnnrt_manifest_get_info(b)->program, 1);
    TRY(same_model(a, b));
    TRY(write_model(b, hashes, &two));
    CHECK(strcmp(one.data, two.data) == 0);
    CHECK_EQ(qnnrt_manifest_close(a), QNNRT_OK);
    CLOSE(b);
    meta_free(&one);
    meta_free(&two);
}

TEST(a_folder_without_a_program_is_written_as_one)
{
    qnnrt_manifest_open_desc desc = new_open();
    qnnrt_manifest *model;
    fake_begin("");
    folder = test_tmpdir();
    desc.model.inspect = 1;
    /* Joined by names, with an input that both steps take, and a second pipeline. */
    put(folder, "forward_0.bin", "FAKEQNN 1\n" PAD "graph decode\nin x 1 0232 2 1 4 -\nin mask 3 0232 1 4 -\nout h 2 0416 2 1 8 s 0.25 -7\n"
                                 "graph prefill\nin x 1 0232 2 1 4 -\nout h 2 0408 1 8 b 4 0.1 -3\n");
    put(folder, "forward_1.bin", "FAKEQNN 1\n" PAD "graph decode\nin h 1 0416 2 1 8 s 0.25 -7\nin mask 3 0232 1 4 -\nout y 2 0232 2 1 3 -\n"
                                 "graph prefill\nin h 1 0408 1 8 b 4 0.1 -3\nout y 2 0232 2 1 3 -\n");
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_manifest_get_info(model)->program, 0);
    CHECK_EQ(qnnrt_manifest_get_info(model)->pipeline_count, 2);
    CLOSE(model);
    TRY(round_trip(&desc, 1));
    desc.model.inspect = 0;
    TRY(round_trip(&desc, 1));
}

TEST(a_program_of_every_kind_is_written_as_it_was_read)
{
    qnnrt_host_step function;
    int calls;
    qnnrt_manifest_open_desc desc = mixed_desc(&function, &calls);
    fake_begin("");
    folder = mixed_files();
    put(folder, "qnnrt.json", WHOLE(TABLE(""), MIXED(VALUE NAMES STATE)));
    TRY(round_trip(&desc, 0));
    put(folder, "qnnrt.json", PIPELINES("{\"name\": \"apart\", \"apart\": [[1, \"x\"]], \"edges\": [" EDGE "],"
                                        " \"steps\": [{\"context\": 1, \"graph\": \"first\"}, {\"context\": 0, \"graph\": \"other\"}]}"));
    TRY(round_trip(&desc, 1));
    put(folder, "c.bin", LOOK);
    put(folder, "qnnrt.json", LOOKS(", \"ranges\": [" RANGE("0", "ids", "-5", "9") ", " RANGE("1", "ids", "-2147483648", "2147483647") "]"));
    TRY(round_trip(&desc, 1));
}

/* ---- random programs ---- */

static uint64_t random_state;

static size_t pick(size_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(random_state >> 33) % below;
}

enum { R_STEPS = 6, R_TENSORS = 4, R_EDGES = R_STEPS * R_TENSORS };

typedef struct random_program {
    qnnrt_step_desc     steps[R_STEPS];
    qnnrt_host_step     hosts[R_STEPS];
    qnnrt_tensor_info   inputs[R_STEPS][R_TENSORS], outputs[R_STEPS][R_TENSORS];
    uint32_t            dims[R_STEPS][2 * R_TENSORS][2];
    char                text[R_STEPS][2 * R_TENSORS][16], names[4][24];
    qnnrt_edge_desc     edges[R_EDGES];
    qnnrt_conversion    wishes[R_EDGES];
    qnnrt_use_desc      uses[2 * R_EDGES + 4];
    size_t              name_count, keep_count;
    qnnrt_buffer_desc   buffer;
    qnnrt_pipeline_desc desc;
} random_program;

static const float random_table[64] = { 1, 2, 3 };      /* stands for the file */

static void random_tensor(random_program *r, size_t step, size_t i, const char *name, qnnrt_tensor_info *t)
{
    static const qnnrt_dtype dtypes[] = { QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, QNNRT_DTYPE_F16, QNNRT_DTYPE_U8Q, QNNRT_DTYPE_S16Q, QNNRT_DTYPE_I32, QNNRT_DTYPE_BOOL8 };
    snprintf(r->text[step][i], sizeof(r->text[step][i]), "%s%u", name, (unsigned)(pick(3) == 0 ? 9 : i));
    memset(t, 0, sizeof(*t));
    t->name = r->text[step][i];
    t->dtype = dtypes[pick(7)];
    t->rank = (uint32_t)pick(3);
    r->dims[step][i][0] = (uint32_t)pick(3) + 1;
    r->dims[step][i][1] = 4;
    t->dims = r->dims[step][i];
    if (t->dtype == QNNRT_DTYPE_U8Q || t->dtype == QNNRT_DTYPE_S16Q) {
        t->quant.encoding = QNNRT_ENCODING_PER_TENSOR;
        t->quant.scale = 1.0f / (float)(pick(1000) + 3);
        t->quant.offset = -(int32_t)pick(200);
        t->quant.bitwidth = pick(3) == 0 ? 4 : 0;
    }
}

/* Connect an input of a step with an earlier output; sometimes with a conversion. */
static void random_edge(random_program *r, size_t step, qnnrt_tensor_info *input)
{
    const size_t from = pick(step);
    const qnnrt_host_step *host = r->steps[from].host;
    static const uint32_t y_dims[2] = { 1, 8 };
    qnnrt_edge_desc *edge = &r->edges[r->desc.edge_count++];
    const char *name = input->name;
    memset(edge, 0, sizeof(*edge));
    edge->from_step = from;
    edge->to_step = step;
    edge->to = name;
    if (host != NULL) {
        const qnnrt_tensor_info *output = &host->outputs[pick(host->output_count)];
        edge->from = output->name;
        *input = *output;
    } else {
        memset(input, 0, sizeof(*input));
        edge->from = "y";
        input->dtype = QNNRT_DTYPE_F32;
        input->rank = 2;
        input->dims = y_dims;
    }
    input->name = name;
    if (input->dtype == QNNRT_DTYPE_F32 && pick(2)) {
        input->dtype = pick(2) ? QNNRT_DTYPE_F16 : QNNRT_DTYPE_BF16;
        r->wishes[r->desc.edge_count - 1].how = QNNRT_CONVERT_VALUES;
        r->wishes[r->desc.edge_count - 1].exact = (int)pick(2);
    }
}

/* Give an input that has no edge a constant, a place, or keep it apart. */
static void random_use(random_program *r, size_t step, const qnnrt_tensor_info *input)
{
    static const uint32_t table_dims[2] = { 1, 8 };
    const size_t kind = pick(4);
    qnnrt_use_desc *use;
    if (input->dtype == QNNRT_DTYPE_I32 && pick(2)) {
        qnnrt_use_desc *range = &r->uses[r->desc.use_count++];
        range->step = step;
        range->tensor = input->name;
        range->has_range = 1;
        range->low = pick(4) == 0 ? INT32_MIN : (int32_t)pick(100) - 100;
        range->high = pick(4) == 0 ? INT32_MAX : (int32_t)pick(100);
    }
    use = &r->uses[r->desc.use_count];
    use->step = step;
    use->tensor = input->name;
    if (kind == 0 && input->dtype == QNNRT_DTYPE_F32 && input->rank == 2) {
        use->constant = random_table + pick(2);
        use->constant_bytes = 32;
        r->desc.use_count += 1;
        r->inputs[step][input - r->inputs[step]].dims = table_dims;
    } else if (kind == 1) {
        use->apart = 1;
        r->desc.use_count += 1;
    } else if (kind == 2 && r->keep_count == 0) {
        use->in_buffer = 1;
        use->offset = 8 * pick(4);
        r->desc.use_count += 1;
        r->keep_count = 1;
    }
}

static void random_make(random_program *r)
{
    const size_t steps = 1 + pick(R_STEPS);
    size_t s, i, k;
    memset(r, 0, sizeof(*r));
    r->desc.name = "random \xC3\xA9 \"quoted\"";
    r->desc.steps = r->steps;
    r->desc.step_count = steps;
    r->desc.edges = r->edges;
    r->desc.edges_only = 1;
    r->desc.uses = r->uses;
    r->steps[0].graph = "first";
    for (s = 1; s < steps; ++s) {
        qnnrt_host_step *host = &r->hosts[s];
        r->steps[s].host = host;
        host->name = pick(2) ? "f" : "g";
        host->inputs = r->inputs[s];
        host->outputs = r->outputs[s];
        host->input_count = 1 + pick(R_TENSORS);
        host->output_count = 1 + pick(R_TENSORS);
        for (i = 0; i < host->output_count; ++i) random_tensor(r, s, R_TENSORS + i, "out", &r->outputs[s][i]);
        for (i = 0; i < host->input_count; ++i) random_tensor(r, s, i, "in", &r->inputs[s][i]);
        for (i = 0; i < 2 * R_TENSORS; ++i)        /* names are unique in a list */
            for (k = 0; k < i; ++k)
                if (strcmp(r->text[s][i], r->text[s][k]) == 0) snprintf(r->text[s][i], sizeof(r->text[s][i]), "t%u", (unsigned)i);
        for (i = 0; i < host->input_count; ++i) {
            if (i == 0 || pick(2)) random_edge(r, s, &r->inputs[s][i]);
            else random_use(r, s, &r->inputs[s][i]);
        }
    }
    for (i = 0; i < pick(4); ++i) {
        qnnrt_use_desc *name = &r->uses[r->desc.use_count++];
        r->name_count += 1;
        snprintf(r->names[i], sizeof(r->names[i]), "user %u\n%s", (unsigned)i, pick(2) ? "in0" : "\xE2\x82\xAC");
        name->name = r->names[i];
        name->step = pick(steps);
        name->output = (int)pick(2);
        name->tensor = name->step == 0 ? name->output ? "y" : "x"
                       : name->output ? r->outputs[name->step][0].name : r->inputs[name->step][0].name;
    }
    if (r->keep_count > 0) {
        r->buffer.name = "state";
        r->buffer.bytes = 256;
        r->buffer.align = pick(2) ? 128 : 0;
        r->desc.buffers = &r->buffer;
        r->desc.buffer_count = 1;
    }
}

TEST(random_programs_are_read_as_they_were_written)
{
    static random_program r;
    qnnrt_manifest_pipeline pipeline;
    static const uint32_t dims[2] = { 1, 8 };
    qnnrt_manifest_context contexts[2];
    qnnrt_manifest_constant constants[2];
    qnnrt_manifest_desc manifest;
    qnnrt_manifest_role cpu;
    qnnrt_manifest_open_desc desc = new_open();
    char path[2048];
    size_t i, round, conversions = 0, opened = 0, ranges = 0;
    fake_begin("");
    folder = two_files();
    snprintf(path, sizeof(path), "%s/table", folder);
    test_write_file(path, random_table, sizeof(random_table));
    desc.model.inspect = 1;
    memset(&cpu, 0, sizeof(cpu));
    cpu.role = "cpu";
    cpu.desc.path = TEST_FAKE_LIB;
    desc.backends = &cpu;
    desc.backend_count = 1;
    memset(&pipeline, 0, sizeof(pipeline));
    memset(contexts, 0, sizeof(contexts));
    memset(constants, 0, sizeof(constants));
    memset(&manifest, 0, sizeof(manifest));
    contexts[0].file = "a.bin";
    contexts[1].file = "b.bin";
    contexts[0].role = "npu";
    contexts[1].role = "cpu";
    for (i = 0; i < 2; ++i) {
        constants[i].tensor = test_tensor(i == 0 ? "zero" : "one", QNNRT_DTYPE_F32, 2, dims);
        constants[i].file = "table";
        constants[i].offset = 4 * i;
        constants[i].data = random_table + i;
    }
    manifest.contexts = contexts;
    manifest.context_count = 2;
    manifest.constants = constants;
    manifest.constant_count = 2;
    manifest.pipelines = &pipeline;
    manifest.pipeline_count = 1;
    for (round = 0; round < 200; ++round) {
        meta_text text;
        qnnrt_manifest *model = NULL;
        memset(&text, 0, sizeof(text));
        random_state = round + 1;
        random_make(&r);
        pipeline.desc = r.desc;
        pipeline.conversions = r.wishes;
        CHECK_EQ(qnnrt_manifest_write(&manifest, meta_add, &text, &error), QNNRT_OK);
        put(folder, "qnnrt.json", text.data);
        if (qnnrt_manifest_open(folder, &desc, &model, &error) != QNNRT_OK) printf("round %u: %s\n%s\n", (unsigned)round, error.text, text.data);
        CHECK(model != NULL);
        {
            const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(qnnrt_manifest_get_info(model)->pipelines[0]);
            for (i = 0; i < p->step_count; ++i) conversions += p->steps[i].kind == QNNRT_STEP_DERIVED;
            for (i = 0; i < p->slot_count; ++i) ranges += p->slots[i].has_range != 0;
            CHECK_EQ(p->name_count, r.name_count);
            ++opened;
        }
        CLOSE(model);
        meta_free(&text);
        TRY(round_trip(&desc, 0));
    }
    CHECK_EQ(opened, 200);
    CHECK(conversions > 20);
    CHECK(ranges > 20);
}

static int refuse(void *user, const char *text, size_t bytes)
{
    (void)user; (void)text; (void)bytes;
    return 0;
}

TEST(what_a_manifest_cannot_have_is_not_written)
{
    static random_program r;
    static const float scales[4] = { 1, 2, 3, 4 };
    static const uint32_t dims[1] = { 4 };
    qnnrt_manifest_context context;
    qnnrt_manifest_pipeline pipeline;
    qnnrt_manifest_desc manifest;
    meta_text text;
    int i;
    memset(&text, 0, sizeof(text));
    for (i = 0; i < 8; ++i) {
        static const char *const needles[] = { "a/b.bin", "backend", "context", "encoding", "constant", "name", "context", "write" };
        qnnrt_result expected = i == 3 ? QNNRT_E_UNSUPPORTED : i == 7 ? QNNRT_E_IO : QNNRT_E_ARG;
        memset(&r, 0, sizeof(r));
        memset(&context, 0, sizeof(context));
        memset(&manifest, 0, sizeof(manifest));
        context.file = i == 0 ? "a/b.bin" : "a.bin";
        context.role = i == 1 ? "" : "npu";
        r.steps[0].graph = "first";
        r.steps[0].context = i == 2;
        r.steps[1].host = &r.hosts[1];
        r.hosts[1].name = "f";
        r.hosts[1].inputs = r.inputs[1];
        r.hosts[1].input_count = 1;
        r.inputs[1][0].name = "x";
        r.inputs[1][0].dtype = QNNRT_DTYPE_U8Q;
        r.inputs[1][0].rank = 1;
        r.inputs[1][0].dims = dims;
        r.inputs[1][0].quant.encoding = i == 3 ? QNNRT_ENCODING_PER_AXIS : QNNRT_ENCODING_NONE;
        r.inputs[1][0].quant.count = 4;
        r.inputs[1][0].quant.scales = scales;
        r.desc.name = i == 5 ? NULL : "p";
        r.desc.steps = r.steps;
        r.desc.step_count = 2;
        r.uses[0].tensor = "x";
        r.uses[0].constant = scales;
        r.desc.uses = r.uses;
        r.desc.use_count = i == 4;
        manifest.contexts = &context;
        manifest.context_count = i != 6;
        memset(&pipeline, 0, sizeof(pipeline));
        pipeline.desc = r.desc;
        manifest.pipelines = &pipeline;
        manifest.pipeline_count = 1;
        TEST_JUNK(error);
        CHECK_EQ(qnnrt_manifest_write(&manifest, i == 7 ? refuse : meta_add, &text, &error), expected);
        CHECK_EQ(error.code, expected);
        CHECK_STR(error.text, needles[i]);
        CHECK_EQ(qnnrt_manifest_write(&manifest, i == 7 ? refuse : meta_add, &text, NULL), expected);
    }
    meta_free(&text);
}

/* What is described may be constants of the program: nothing of it is written. */
TEST(a_description_is_only_read)
{
    static const uint32_t dims[1] = { 2 };
    static const float values[2] = { 1, 2 };
    static const qnnrt_manifest_context contexts[1] = { { "a.bin", "npu", 7, NULL, NULL, 0, NULL, NULL } };
    static const qnnrt_tensor_info tensors[1] = { { "v", 0, QNNRT_DTYPE_U8Q, 1, dims, 0, 0,
        { QNNRT_ENCODING_PER_TENSOR, 0, 1, 0, 0, 0, NULL, NULL, 0 }, 0, 0, 0, NULL, 0, 0 } };
    static const qnnrt_manifest_constant constants[1] = { { { "c", 0, QNNRT_DTYPE_F32, 1, dims, 0, 0,
        { QNNRT_ENCODING_NONE, 0, 0, 0, 0, 0, NULL, NULL, 0 }, 0, 0, 0, NULL, 0, 0 }, "t", 0, values } };
    static const qnnrt_host_step host = { "f", tensors, tensors, 1, 1, NULL, NULL, 0 };
    static const qnnrt_step_desc steps[2] = { { NULL, 0, "first", NULL }, { NULL, 0, NULL, &host } };
    static const qnnrt_edge_desc edges[1] = { { 0, "y", 1, "v" } };
    static const qnnrt_use_desc uses[1] = { { 1, "v", 0, "n", 1, 0, 0, 0, values, 8, 1, 0, 0 } };
    static const qnnrt_buffer_desc buffers[1] = { { "b", 8, 64 } };
    static const qnnrt_manifest_pipeline pipelines[1] = { { { "p", steps, 2, edges, 1, 1, uses, 1, buffers, 1 }, NULL, NULL, 0 } };
    static const qnnrt_manifest_desc desc = { contexts, 1, constants, 1, pipelines, 1, NULL, NULL };
    meta_text text;
    memset(&text, 0, sizeof(text));
    CHECK_EQ(qnnrt_manifest_write(&desc, meta_add, &text, &error), QNNRT_OK);
    CHECK_STR(text.data, "\"fingerprint\": \"0000000000000007\"");
    CHECK_STR(text.data, "\"bytes\": 8");
    meta_free(&text);
}

/* Add bytes in pieces of `step`. */
static void hash_of(const void *data, size_t bytes, size_t step, unsigned char out[32], char text[65])
{
    qnnrt_sha256 sum;
    size_t at;
    qnnrt_sha256_begin(&sum);
    for (at = 0; at < bytes; at += step) qnnrt_sha256_add(&sum, (const char *)data + at, bytes - at < step ? bytes - at : step);
    qnnrt_sha256_add(&sum, NULL, 0);
    qnnrt_sha256_end(&sum, out, text);
}

/* From hashlib.sha256() of Python. The last one is the hash of the hashes of all beginnings. */
TEST(sha256_is_that_of_python)
{
    static const size_t steps[] = { 1, 7, 63, 64, 65, 128, 1000 };
    unsigned char data[1000], out[32];
    char text[65];
    qnnrt_sha256 all;
    size_t i;
    hash_of("", 0, 1, NULL, text);
    CHECK_STR(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    hash_of("abc", 3, 3, NULL, text);
    CHECK_STR(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (i = 0; i < sizeof(data); ++i) data[i] = (unsigned char)(i % 251);
    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); ++i) {
        hash_of(data, sizeof(data), steps[i], out, text);
        CHECK_STR(text, "4e4c294b331f7a2099a379bec34b9f9fc03dc46ab465d998f4d683da53487e6d");
    }
    qnnrt_sha256_begin(&all);
    for (i = 0; i < 300; ++i) {
        hash_of(data, i, 48, out, NULL);
        qnnrt_sha256_add(&all, out, sizeof(out));
    }
    qnnrt_sha256_end(&all, NULL, text);
    CHECK_STR(text, "fa70b867db0a30acb7218d62945db0df52eb393808b30675ea9aac6b058a9a9d");
}

TEST_MAIN("manifest")
{
    RUN(contexts_come_in_the_order_of_the_program);
    RUN(other_metadata_does_not_hide_a_program);
    RUN(a_fingerprint_is_compared);
    RUN(all_bytes_are_compared_on_request);
    RUN(hashes_are_compared_whenever_a_file_is_read);
    RUN(pipelines_are_those_of_the_program_and_single_graphs);
    RUN(edges_only_and_apart);
    RUN(a_pipeline_that_cannot_be_made_is_an_error);
    RUN(what_needs_a_file_that_did_not_load_is_left_out);
    RUN(a_program_of_every_kind_of_step_runs);
    RUN(a_host_function_that_is_missing_is_named);
    RUN(constants_fit_their_files_and_inputs);
    RUN(names_and_buffers_that_do_not_fit_are_refused);
    RUN(a_buffer_that_a_step_would_spoil_is_refused_before_exec);
    RUN(ranges_that_do_not_fit_are_refused);
    RUN(names_and_buffers_of_a_made_pipeline);
    RUN(values_out_of_a_range_are_not_written);
    RUN(constants_follow_links_and_have_limits);
    RUN(many_host_functions_are_listed);
    RUN(an_edge_converts_only_if_it_says_so);
    RUN(a_program_of_host_steps_alone_runs);
    RUN(the_example_of_the_manual_opens);
    RUN(files_are_plain_names_that_the_folder_has);
    RUN(bad_texts_are_named);
    RUN(a_text_cut_at_every_byte_is_refused);
    RUN(limits_of_a_program);
    RUN(a_pipeline_of_a_program_takes_no_more_memory_than_it_needs);
    RUN(a_folder_without_a_program_is_written_as_one);
    RUN(a_program_of_every_kind_is_written_as_it_was_read);
    RUN(random_programs_are_read_as_they_were_written);
    RUN(what_a_manifest_cannot_have_is_not_written);
    RUN(a_description_is_only_read);
    RUN(sha256_is_that_of_python);
}
