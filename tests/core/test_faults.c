/* test_faults.c - what a user of qnnrt.h sees of each fault that a vendor library can show

   Each test provokes a fault of tools/refbackend/faults.c and checks that the text has the object,
   the place, the expected value and a hint; afterwards nothing may be left. The matrix at the end
   makes each call of a whole life return each code of its group, each time it is made. */
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "qnnrt_profile.h"
#include "qnnrt_explain.h"
#include "ref.h"
#include "life.h"
#include "backend.h"

#include <sys/wait.h>

static const char *folder;               /* holds the files of a life without faults */

/* Check that a life with these faults stops at this stage with this result; the caller checks the
   text. */
static life one;

static void tell_stop(const char *faults)
{
    printf("%s: stopped at \"%s\" with %d: %s\n", faults, one.stage, (int)one.result,
           one.stage[0] != '\0' ? one.err.text : "");
}

static void stops(const char *faults, const char *stage, qnnrt_result result, uint64_t code)
{
    life_begin(faults);
    life_run(&one, folder);
    if (strcmp(one.stage, stage) != 0 || one.result != result)
        tell_stop(faults);
    CHECK(strcmp(one.stage, stage) == 0);
    CHECK_EQ(one.result, result);
    CHECK_EQ(one.err.code, result);
    CHECK_EQ(one.err.vendor_code, code);
    CHECK(one.err.text[0] != '\0' && life_text_clean(one.err.text));
    CHECK_STR(TEST_TOLD(one.err), "\n  hint: ");
    CHECK_EQ(one.closed, QNNRT_OK);
    NOTHING_LEFT();
}

static void lives(const char *faults)
{
    life_begin(faults);
    life_run(&one, folder);
    if (one.stage[0] != '\0') printf("%s: stopped at %s: %s\n", faults, one.stage, one.err.text);
    CHECK(one.stage[0] == '\0');
    CHECK(!one.wrong);
    CHECK_EQ(one.closed, QNNRT_OK);
    CHECK_EQ(life_files(&one), 2);
    NOTHING_LEFT();
}

/* Check the same for the second half of a life alone, on existing files. */
static const char *named_system;         /* the system library; NULL: that of the backend */

static void open_stops(const char *faults, const char *stage, qnnrt_result result, uint64_t code)
{
    life_begin(faults);
    life_start(&one, folder);
    one.system = named_system;
    life_open(&one);
    if (strcmp(one.stage, stage) != 0 || one.result != result)
        tell_stop(faults);
    CHECK(strcmp(one.stage, stage) == 0);
    CHECK_EQ(one.result, result);
    CHECK_EQ(one.err.code, result);
    CHECK_EQ(one.err.vendor_code, code);
    CHECK(life_text_clean(one.err.text));
    NOTHING_LEFT();
}

#define SAYS(words) CHECK_STR(TEST_TOLD(one.err), words)

/* ---- libraries, slots, versions, providers --------------------------------------------------- */

TEST(a_clean_life_comes_to_its_end)
{
    TRY(lives(""));
}

TEST(a_library_without_the_symbol_is_no_backend)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend;
    qnnrt_desc model_desc;
    qnnrt *model;
    life_begin("");
    memset(&desc, 0, sizeof(desc));
    desc.path = "libm.so.6";
    desc.hooks = life_hooks();
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, &one.err), QNNRT_E_LIBRARY);
    SAYS("no symbol QnnInterface_getProviders");
    SAYS("libm.so");
    SAYS("not a QNN backend");
    SAYS("libQnnHtp.so is");
    memset(&model_desc, 0, sizeof(model_desc));
    model_desc.backend_desc.path = TEST_REF_LIB;
    model_desc.system_path = "libm.so.6";
    model_desc.backend_desc.hooks = life_hooks();
    CHECK_EQ(qnnrt_open(folder, &model_desc, &model, &one.err), QNNRT_E_LIBRARY);
    SAYS("no symbol QnnSystemInterface_getProviders");
    SAYS("libm.so");
    NOTHING_LEFT();
}

/* The slots that a life needs, and where it stops without them; all others may be missing. */
TEST(a_missing_slot_is_named_when_it_is_needed_and_only_then)
{
    static const struct { const char *slot, *stage; qnnrt_result result; } needed[] = {
        { "backendCreate", "backend", QNNRT_E_LIBRARY },
        { "backendFree", "backend", QNNRT_E_LIBRARY },
        { "contextCreateFromBinary", "backend", QNNRT_E_LIBRARY },
        { "contextFree", "backend", QNNRT_E_LIBRARY },
        { "graphRetrieve", "backend", QNNRT_E_LIBRARY },
        { "graphExecute", "backend", QNNRT_E_LIBRARY },
        { "contextCreate", "build", QNNRT_E_UNSUPPORTED },
        { "graphCreate", "build", QNNRT_E_UNSUPPORTED },
        { "tensorCreateGraphTensor", "build", QNNRT_E_UNSUPPORTED },
        { "backendValidateOpConfig", "build", QNNRT_E_UNSUPPORTED },
        { "graphAddNode", "build", QNNRT_E_UNSUPPORTED },
        { "graphFinalize", "build", QNNRT_E_UNSUPPORTED },
        { "contextGetBinarySize", "save", QNNRT_E_UNSUPPORTED },
        { "contextGetBinary", "save", QNNRT_E_UNSUPPORTED },
        { "systemContextCreate", "open", QNNRT_E_LIBRARY },
        { "systemContextGetBinaryInfo", "open", QNNRT_E_LIBRARY },
        { "systemContextFree", "open", QNNRT_E_LIBRARY }
    };
    static const char *const spare[] = {
        "propertyHasCapability", "backendGetBuildId", "logCreate", "logFree", "deviceCreate",
        "deviceFree", "errorGetMessage", "profileCreate", "memRegister", "contextValidateBinary",
        "deviceGetPlatformInfo", "deviceGetInfrastructure"
    };
    char faults[80];
    size_t i;
    for (i = 0; i < sizeof(needed) / sizeof(needed[0]); ++i) {
        snprintf(faults, sizeof(faults), "no_slot=%s", needed[i].slot);
        TRY(stops(faults, needed[i].stage, needed[i].result, 0));
        SAYS(strncmp(needed[i].slot, "system", 6) == 0
             ? "lacks systemContextCreate, GetBinaryInfo or Free" : needed[i].slot);
        SAYS("its table lacks");
        SAYS("libQnnRef.so");
    }
    for (i = 0; i < sizeof(spare) / sizeof(spare[0]); ++i) {
        snprintf(faults, sizeof(faults), "no_slot=%s", spare[i]);
        TRY(lives(faults));
    }
}

TEST(versions_that_cannot_be_spoken_are_told_with_both_numbers)
{
    TRY(stops("core=2.22", "backend", QNNRT_E_VERSION, 0));
    SAYS("core interface 2.22");
    SAYS("2.23 or a newer");
    SAYS("QAIRT");
    TRY(stops("core=1.99", "backend", QNNRT_E_VERSION, 0));
    SAYS("core interface 1.99");
    TRY(stops("core=3.0", "backend", QNNRT_E_VERSION, 0));
    SAYS("core interface 3.0");
    TRY(stops("system=2.0", "open", QNNRT_E_VERSION, 0));
    SAYS("system interface 2.0");
    TRY(stops("system=1.1", "open", QNNRT_E_VERSION, 0));
    SAYS("system interface 1.1");
    TRY(lives("core=2.23"));
    TRY(lives("core=2.99"));
    CHECK_STR(life_watch.log, "core interface 2.99");
    TRY(lives("system=1.99; backend_api=77.7"));
}

TEST(a_file_newer_than_the_library_is_told_before_it_is_loaded)
{
    TRY(lives(""));
    TRY(open_stops("core=2.39", "open", QNNRT_E_VERSION, 0));
    SAYS("forward_0.bin");
    SAYS("2.40");
    SAYS("2.39");
    SAYS("\n  hint: ");
    TRY(open_stops("build=v0.0.9", "open", QNNRT_E_VERSION, 0));
    SAYS("release v0.1.0");
    SAYS("v0.0.9");
    TRY(open_stops("id=3", "open", QNNRT_E_MISMATCH, 0));
    SAYS("is backend 3");
    SAYS("Open it with the library it was compiled for");
}

TEST(providers_that_are_not_there_are_told)
{
    TRY(stops("providers=0", "backend", QNNRT_E_LIBRARY, 0));
    SAYS("offers no provider");
    SAYS("\n  hint: ");
    TRY(stops("providers=null", "backend", QNNRT_E_LIBRARY, 0));
    SAYS("offers no provider");
    TRY(stops("system_providers=0", "open", QNNRT_E_LIBRARY, 0));
    SAYS("offers no provider");
    TRY(lives(""));
    named_system = TEST_REF_LIB;
    open_stops("system_providers=0", "open", QNNRT_E_LIBRARY, 0);
    if (test_state.state == TEST_RUNNING)
        open_stops("system_providers=null", "open", QNNRT_E_LIBRARY, 0);
    named_system = NULL;
    CHECK(test_state.state == TEST_RUNNING);
    SAYS("offers no provider");
    TRY(lives("providers=2; system_providers=2"));
    CHECK_STR(life_watch.log, "offers 2 providers; number 1 ");
}

TEST(names_of_the_library_may_be_missing_or_hostile)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend;
    TRY(lives("name=null; build=null"));
    life_begin("name=null; build=null");
    desc = test_ref_desc();
    desc.hooks = life_hooks();
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, &one.err), QNNRT_OK);
    CHECK(strcmp(qnnrt_backend_get_info(backend)->provider, "") == 0);
    CHECK(strcmp(qnnrt_backend_get_info(backend)->build_id, "") == 0);
    CHECK(memcmp(qnnrt_backend_get_info(backend)->hooks, &desc.hooks, sizeof(desc.hooks)) == 0);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    NOTHING_LEFT();
    TRY(stops("name=\x1b[31mred\xff\x01%n%s; build=\x1b[2J%n%n; fail=backendValidateOpConfig:6005",
              "build", QNNRT_E_UNSUPPORTED, 6005));
    SAYS("red");
}

/* The library does not know these rules: its own provider function fails. */
TEST(a_provider_function_that_fails_is_named)
{
    life_begin("");
    setenv("QNNREF_FAULTS", "nonsense=1", 1);
    life_run(&one, folder);
    unsetenv("QNNREF_FAULTS");
    CHECK(strcmp(one.stage, "backend") == 0);
    CHECK_EQ(one.result, QNNRT_E_BACKEND);
    CHECK_EQ(one.err.vendor_code, 1004);
    SAYS("QnnInterface_getProviders answered 0x3ec");
    NOTHING_LEFT();
}

/* ---- metadata -------------------------------------------------------------------------------- */

TEST(metadata_of_every_struct_version_is_read)
{
    static const char *const infos[] = { "info=v1", "info=v2", "info=v3" };
    static const char *const graphs[] = { "graphs=v1", "graphs=v2", "graphs=v3" };
    static const char *const tensors[] = { "tensors=v1", "tensors=v2" };
    char faults[80];
    int i, g, t;
    for (i = 0; i < 3; ++i)
        for (g = 0; g < 3; ++g)
            for (t = 0; t < 2; ++t) {
                snprintf(faults, sizeof(faults), "%s;%s;%s", infos[i], graphs[g], tensors[t]);
                TRY(lives(faults));
            }
}

TEST(metadata_that_lies_is_refused_with_file_and_place)
{
    TRY(stops("counts=graphs", "open", QNNRT_E_LIMIT, 0));
    SAYS("forward_0.bin");
    SAYS("limits.tensors");
    TRY(stops("counts=inputs", "open", QNNRT_E_LIMIT, 0));
    SAYS("forward_0.bin");
    SAYS("prefill");
    SAYS("limits.tensors");
    TRY(stops("pointers=graphs", "open", QNNRT_E_FORMAT, 0));
    SAYS("forward_0.bin");
    SAYS("2 graphs declared");
    TRY(stops("pointers=inputs", "open", QNNRT_E_FORMAT, 0));
    SAYS("prefill");
    SAYS("1 inputs declared");
    TRY(stops("pointers=name", "open", QNNRT_E_FORMAT, 0));
    SAYS("forward_0.bin");
    SAYS("graph 0 has no name");
}

/* ---- calls ----------------------------------------------------------------------------------- */

TEST(a_failing_call_is_told_with_thing_place_code_and_way_out)
{
    TRY(stops("fail=graphAddNode:2:6003", "build", QNNRT_E_BACKEND, 6003));
    SAYS("graph \"prefill\"");
    SAYS("node \"turn\" (Transpose)");
    SAYS("float32");
    SAYS("graphAddNode answered 0x1773");
    SAYS("\n  hint: ");
    SAYS("fails on demand");                 /* the library's own line */
    TRY(stops("fail=tensorCreateGraphTensor:3:7003", "build", QNNRT_E_BACKEND, 7003));
    SAYS("\"product\" float32");
    SAYS("graph \"prefill\"");
    TRY(stops("fail=contextCreate:2:1002", "build", QNNRT_E_BACKEND, 1002));
    SAYS("context \"back\"");
    TRY(stops("fail=contextGetBinary:2:5007", "save", QNNRT_E_BACKEND, 5007));
    SAYS("cannot save context \"back\"");
    CHECK_EQ(life_files(&one), 1);           /* the file saved before, and no part of this one */
    TRY(stops("fail=contextCreateFromBinary:2:5004", "open", QNNRT_E_BACKEND, 5004));
    SAYS("forward_1.bin");
    SAYS("libQnnRef.so");
    TRY(stops("fail=graphExecute:4:6001", "exec", QNNRT_E_BACKEND, 6001));
    SAYS("forward_1.bin");
    SAYS("\"prefill\"");
    SAYS("graphExecute answered 0x1771");
}

TEST(a_call_that_takes_its_time_takes_no_more)
{
    unsigned long long before;
    ref_begin("");
    before = ref_delayed_ms();
    TRY(lives("delay=graphExecute:1:30ms; delay=graphExecute:8:30ms; delay=contextCreate:20ms"));
    CHECK_EQ(ref_delayed_ms() - before, 100);
}

TEST(a_restart_of_the_subsystem_says_what_to_do_and_is_survived)
{
    qnnrt_desc desc;
    qnnrt *model;
    qnnrt_run *run;
    float y[LIFE_ROWS * LIFE_WIDTH];
    TRY(lives(""));
    life_begin("restart=graphExecute:3");
    memset(&desc, 0, sizeof(desc));
    desc.backend_desc.path = TEST_REF_LIB;
    desc.backend_desc.hooks = life_hooks();
    CHECK_EQ(qnnrt_open(folder, &desc, &model, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, "prefill", &run, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, life_input, LIFE_ROWS * LIFE_WIDTH), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
    one.err = *qnnrt_run_error(run);
    CHECK_EQ(one.err.vendor_code, 1011);
    SAYS(qnnrt_explain_code(1011)->causes[0]);
    SAYS(qnnrt_explain_code(1011)->fix);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);              /* later calls fail in the same way */
    CHECK_EQ(qnnrt_run_error(run)->vendor_code, 1011);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);                  /* dead objects can be freed */
    CHECK(life_left() == NULL);
    CHECK_EQ(qnnrt_open(folder, &desc, &model, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, "prefill", &run, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, life_input, LIFE_ROWS * LIFE_WIDTH), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, LIFE_ROWS * LIFE_WIDTH), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

/* ---- success with harm ----------------------------------------------------------------------- */

/* The library writes one byte too many and the call returns 0. In plain memory qnnrt cannot
   detect it, and the byte overwrites what follows; with guard the write itself ends the
   process at the place. */
static int lives_in_a_child(const char *faults, int guard)
{
    const pid_t child = fork();
    int status = 0;
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(0);      /* ASan prints a long report */
        life_begin(faults);
        life_start(&one, folder);
        one.guard = guard;
        life_open(&one);
        _exit(one.stage[0] == '\0' && !one.wrong ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(a_byte_beyond_an_output_is_found_with_guard_pages_only)
{
    unsigned char block[LIFE_ROWS * LIFE_WIDTH * sizeof(float) + 1];
    qnnrt_desc desc;
    qnnrt *model;
    qnnrt_run *run;
    TRY(lives(""));
    life_begin("overwrite=graphExecute:2");
    memset(&desc, 0, sizeof(desc));
    desc.backend_desc.path = TEST_REF_LIB;
    desc.backend_desc.hooks = life_hooks();
    CHECK_EQ(qnnrt_open(folder, &desc, &model, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, "prefill", &run, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, life_input, LIFE_ROWS * LIFE_WIDTH), QNNRT_OK);
    memset(block, 0x5A, sizeof(block));
    CHECK_EQ(qnnrt_bind(run, "y", block, sizeof(block) - 1), QNNRT_OK);
    /* The byte after the tensor is overwritten, and nothing detects it. */
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK(block[sizeof(block) - 1] != 0x5A);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
    CHECK(lives_in_a_child("overwrite=graphExecute:2", 0));
    CHECK(!lives_in_a_child("overwrite=graphExecute:2", 1));
    /* Without the fault, no guard page is hit. */
    CHECK(lives_in_a_child("", 1));
}

TEST(hostile_lines_from_another_thread_are_taken_and_cleaned)
{
    TRY(lives("log_thread=hostile"));
    CHECK_STR(life_watch.log, "%s%n%1000000d");              /* as text, not as a format */
    CHECK_STR(life_watch.log, "wwwwwwww");
    TRY(stops("log_thread=hostile; fail=graphFinalize:6005", "build", QNNRT_E_BACKEND, 6005));
    TRY(stops("log_thread=hostile; fail=graphRetrieve:3:6000", "open", QNNRT_E_BACKEND, 6000));
    SAYS("graphRetrieve");
    SAYS("forward_1.bin");
}

/* "A line may still arrive while the backend is being closed": here it does. */
TEST(lines_after_the_log_was_freed_are_taken_and_cleaned)
{
    TRY(lives("log_late=1"));
    CHECK_STR(life_watch.log, "%s%n%1000000d");
    CHECK_STR(life_watch.log, "wwwwwwww");
    TRY(lives("log_late=1; log_thread=hostile"));
    TRY(stops("log_late=1; fail=backendCreate:4000", "backend", QNNRT_E_BACKEND, 4000));
    SAYS("backendCreate answered 0xfa0");
}

/* A library that reads a binary in memory after the open. qnnrt promises that the bytes are
   needed during qnnrt_open() only, because the vendors' libraries behave so. qnnrt cannot
   support one that keeps them longer; it reports the library's answer. */
TEST(a_library_that_keeps_the_binary_is_told_by_its_answer)
{
    qnnrt_file files[2];
    qnnrt_desc desc;
    qnnrt *model;
    qnnrt_run *run;
    size_t bytes;
    unsigned char *first;
    TRY(lives(""));
    life_begin("keep_binary=1");
    memset(files, 0, sizeof(files));
    first = (unsigned char *)test_read_file(life_file(&one, 0), &bytes);
    files[0].data = first;
    files[0].bytes = bytes;
    files[1].data = test_read_file(life_file(&one, 1), &bytes);
    files[1].bytes = bytes;
    CHECK(files[0].data != NULL && files[1].data != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.files = files;
    desc.file_count = 2;
    desc.backend_desc.path = TEST_REF_LIB;
    desc.backend_desc.hooks = life_hooks();
    CHECK_EQ(qnnrt_open(NULL, &desc, &model, &one.err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, "kv", &run, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, life_input, LIFE_WIDTH), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    first[files[0].bytes - 1] ^= 0x40;
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
    one.err = *qnnrt_run_error(run);
    CHECK_EQ(one.err.vendor_code, 6001);
    SAYS("\"kv\"");
    SAYS("graphExecute answered 0x1771");
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    free(first);
    memcpy((void *)&first, (const void *)&files[1].data, sizeof(first));
    free(first);
    NOTHING_LEFT();
    /* A mapped file is unmapped after it is loaded: a library that reads it later crashes the
       process. */
    CHECK(lives_in_a_child("", 0));
    CHECK(!lives_in_a_child("keep_binary=1", 0));
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* The required effect of a failing call. */
typedef enum outcome {
    STOPS,          /* the stage returns .result and names the call */
    CLOSES,         /* everything continues; close returns QNNRT_E_BACKEND and the log names the call */
    TOLERATED,      /* everything continues; unless .result is QNNRT_OK the log names the call */
    SEEN_LATER      /* success without a handle: a later call fails, and its text has .without */
} outcome;

typedef struct row {
    const char  *call;
    unsigned     group;                  /* its codes are group * 1000 + ... */
    outcome      fails;
    qnnrt_result result;
    outcome      null;                   /* what happens when the call succeeds without a handle */
    const char  *without;                /* a part of the error text in that case */
} row;

static const row rows[] = {
    { "logCreate",                  11, TOLERATED, QNNRT_E_BACKEND, TOLERATED, NULL },
    { "backendCreate",               4, STOPS, QNNRT_E_BACKEND, STOPS, "without a handle" },
    { "deviceCreate",               14, STOPS, QNNRT_E_BACKEND, STOPS, "without a handle" },
    { "backendGetBuildId",           4, TOLERATED, QNNRT_OK, TOLERATED, NULL },
    { "contextCreate",               5, STOPS, QNNRT_E_BACKEND, STOPS, "without a handle" },
    { "graphCreate",                 6, STOPS, QNNRT_E_BACKEND, STOPS, "without a handle" },
    { "tensorCreateGraphTensor",     7, STOPS, QNNRT_E_BACKEND, SEEN_LATER, "graph \"" },
    { "backendValidateOpConfig",     4, STOPS, QNNRT_E_UNSUPPORTED, TOLERATED, NULL },
    { "graphAddNode",                6, STOPS, QNNRT_E_BACKEND, SEEN_LATER, "graphFinalize ans" },
    { "graphFinalize",               6, STOPS, QNNRT_E_BACKEND, SEEN_LATER, "cannot save context" },
    { "contextGetBinarySize",        5, STOPS, QNNRT_E_BACKEND, STOPS, "size is 0" },
    { "contextGetBinary",            5, STOPS, QNNRT_E_BACKEND, STOPS, "size is 0" },
    { "systemContextCreate",        30, STOPS, QNNRT_E_BACKEND, STOPS, "without a handle" },
    { "systemContextGetBinaryInfo", 30, STOPS, QNNRT_E_FORMAT, STOPS, "without information" },
    { "systemContextFree",          30, TOLERATED, QNNRT_E_BACKEND, TOLERATED, NULL },
    { "contextCreateFromBinary",     5, STOPS, QNNRT_E_BACKEND, STOPS, "without a handle" },
    { "graphRetrieve",               6, STOPS, QNNRT_E_BACKEND, STOPS, "without a handle" },
    { "graphExecute",                6, STOPS, QNNRT_E_BACKEND, TOLERATED, NULL },    /* numbers */
    { "contextFree",                 5, CLOSES, QNNRT_E_BACKEND, TOLERATED, NULL },
    { "deviceFree",                 14, CLOSES, QNNRT_E_BACKEND, TOLERATED, NULL },
    { "backendFree",                 4, CLOSES, QNNRT_E_BACKEND, TOLERATED, NULL },
    { "logFree",                    11, CLOSES, QNNRT_E_BACKEND, TOLERATED, NULL }
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Count how often a clean life makes each call; a call without a row is a failure. */
static void count_calls(unsigned counts[ROWS])
{
    const char *line;
    size_t i;
    memset(counts, 0, ROWS * sizeof(counts[0]));
    ref_begin("");
    ref_ask("trace clear");
    ref_ask("trace on");
    TRY(lives(""));
    ref_ask("trace off");
    for (line = ref_ask("trace"); *line != '\0'; line = strchr(line, '\n') + 1) {
        const size_t length = strcspn(line, "(");
        for (i = 0; i < ROWS; ++i)
            if (strlen(rows[i].call) == length && memcmp(rows[i].call, line, length) == 0) break;
        if (i == ROWS) printf("no row for %.*s\n", (int)length, line);
        CHECK(i < ROWS);
        ++counts[i];
    }
    for (i = 0; i < ROWS; ++i) CHECK(counts[i] > 0);
}

/* List the codes of a call: those common to all calls, those of its group, one unknown code, and
   one whose low half is 0. */
static size_t codes_of(const row *r, uint64_t codes[64])
{
    const qnnrt_explanation *e;
    size_t count = 0, i;
    for (i = 0; (e = qnnrt_explain_get(i)) != NULL && count < 60; ++i)
        if (e->text == NULL && (e->code / 1000 == 1 || e->code / 1000 == r->group))
            codes[count++] = e->code;
    codes[count++] = 54321;
    codes[count++] = 0x7FFF0000u;
    return count;
}

static int says_call(const char *text, const char *call, uint64_t code)
{
    char words[100];
    snprintf(words, sizeof(words), "%s answered 0x%x", call, (unsigned)(code & 0xFFFF));
    return strstr(text, words) != NULL;
}

/* Return 1 if the result matches the row; else print the difference. */
static int judge(const row *r, outcome expected, uint64_t code, const char *faults)
{
    const int stopped = one.stage[0] != '\0';
    const char *left = life_left(), *wrong = NULL;
    if (left != NULL) wrong = left;
    else if (stopped && (one.err.code != one.result || !life_text_clean(one.err.text)))
        wrong = "its error is not filled as it should be";
    else if (stopped && one.err.hint[0] == '\0')
        wrong = "the text has no hint";
    else if (life_files(&one) > 2) wrong = "half a file was left";
    else if (expected == STOPS) {
        if (!stopped) wrong = "nothing stopped it";
        else if (code != 0 && one.result != r->result) wrong = "another result";
        else if (one.err.vendor_code != code) wrong = "another vendor_code";
        else if (code != 0 && !says_call(one.err.text, r->call, code))
            wrong = "the call is not named";
        else if (code == 0 && (strstr(one.err.text, r->call) == NULL
                               || strstr(one.err.text, r->without) == NULL))
            wrong = "the text does not say what is missing";
        else if (one.closed != QNNRT_OK) wrong = "close failed";
    } else if (expected == SEEN_LATER) {
        if (!stopped || strstr(one.err.text, r->without) == NULL) wrong = "nothing noticed it";
    } else if (stopped) {
        wrong = "it stopped";
    } else if (expected == CLOSES) {
        if (one.closed != QNNRT_E_BACKEND || !says_call(life_watch.log, r->call, code))
            wrong = "close did not tell";
    } else {
        if (one.closed != QNNRT_OK) wrong = "close failed";
        else if (r->fails == TOLERATED && r->result != QNNRT_OK && code != 0 && code != 1000
                 && !says_call(life_watch.log, r->call, code)) wrong = "the log does not tell";
        else if (one.wrong != (code == 0 && strcmp(r->call, "graphExecute") == 0))
            wrong = "numbers";
    }
    if (wrong != NULL)
        printf("%s: %s (stage \"%s\", result %d, vendor_code 0x%llx, closed %d)\n%s\n", faults,
               wrong,
               one.stage, (int)one.result, (unsigned long long)one.err.vendor_code, (int)one.closed,
               stopped ? one.err.text : life_watch.log);
    return wrong == NULL;
}

/* A library answers 1000 for a device that a backend does not have, or a log that it does not
   accept. */
static outcome outcome_of(const row *r, uint64_t code)
{
    return strcmp(r->call, "deviceCreate") == 0 && code == 1000 ? TOLERATED : r->fails;
}

TEST(every_code_of_every_call_at_every_time)
{
    unsigned counts[ROWS], cases = 0, n;
    uint64_t codes[64];
    char faults[100];
    size_t i, c, count;
    int failures = 0;
    TRY(count_calls(counts));
    for (i = 0; i < ROWS; ++i) {
        count = codes_of(&rows[i], codes);
        for (n = 1; n <= counts[i]; ++n) {
            for (c = 0; c < count; ++c) {
                snprintf(faults, sizeof(faults), "fail=%s:%u:%llu", rows[i].call, n,
                         (unsigned long long)codes[c]);
                life_begin(faults);
                life_run(&one, folder);
                failures += !judge(&rows[i], outcome_of(&rows[i], codes[c]), codes[c], faults);
                ++cases;
                CHECK(failures < 5);
            }
            snprintf(faults, sizeof(faults), "null=%s:%u", rows[i].call, n);
            life_begin(faults);
            life_run(&one, folder);
            failures += !judge(&rows[i], rows[i].null, 0, faults);
            ++cases;
            CHECK(failures < 5);
        }
    }
    printf("  %u lives with one fault each\n", cases);
    CHECK_EQ(failures, 0);
}

/* Run a life with profiling: whatever its calls return, the numbers are right and nothing is
   left. An error has the code and names the call. */
TEST(every_code_of_every_call_of_a_profile)
{
    static const char *const calls[] = { "profileCreate", "profileGetEvents", "profileGetSubEvents",
                                         "profileGetEventData", "profileGetExtendedEventData",
                                         "profileFree" };
    static const row profile = { "", 12, STOPS, QNNRT_E_BACKEND, STOPS, NULL };
    uint64_t codes[64];
    const size_t count = codes_of(&profile, codes);
    unsigned cases = 0, errors = 0;
    size_t i, c;
    TRY(lives(""));
    for (i = 0; i < sizeof(calls) / sizeof(calls[0]); ++i)
        for (c = 0; c <= count; ++c) {
            const qnnrt_profile_event *events;
            char faults[80];
            qnnrt_desc desc;
            qnnrt *model;
            qnnrt_run *run;
            qnnrt_result result;
            size_t event_count;
            if (c == count) snprintf(faults, sizeof(faults), "null=%s", calls[i]);
            else snprintf(faults, sizeof(faults), "fail=%s:%llu", calls[i],
                          (unsigned long long)codes[c]);
            life_begin(faults);
            memset(&desc, 0, sizeof(desc));
            desc.backend_desc.path = TEST_REF_LIB;
            desc.backend_desc.hooks = life_hooks();
            CHECK_EQ(qnnrt_open(folder, &desc, &model, NULL), QNNRT_OK);
            CHECK_EQ(qnnrt_prepare(model, "kv", &run, NULL), QNNRT_OK);
            CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, life_input, LIFE_WIDTH), QNNRT_OK);
            result = qnnrt_run_profile(run, QNNRT_PROFILE_DETAILED);
            one.err = *qnnrt_run_error(run);
            CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
            if (result == QNNRT_OK) {
                result = qnnrt_run_events(run, &events, &event_count);
                one.err = *qnnrt_run_error(run);
                CHECK(result == QNNRT_OK || (events == NULL && event_count == 0));
            }
            if (result != QNNRT_OK) {
                ++errors;
                CHECK_EQ(one.err.vendor_code, c < count ? codes[c] : 0);
                SAYS(calls[i]);
                CHECK(life_text_clean(one.err.text));
            }
            qnnrt_run_destroy(run);
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            NOTHING_LEFT();
            ++cases;
        }
    printf("  %u profiles with one fault each, %u errors\n", cases, errors);
    CHECK(errors > cases / 3);
}

TEST_MAIN("faults")
{
    /* Saving calls sync: some thousand lives need a disk in memory. */
    if (test_getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    folder = test_tmpdir();
    RUN(a_clean_life_comes_to_its_end);
    RUN(a_library_without_the_symbol_is_no_backend);
    RUN(a_missing_slot_is_named_when_it_is_needed_and_only_then);
    RUN(versions_that_cannot_be_spoken_are_told_with_both_numbers);
    RUN(a_file_newer_than_the_library_is_told_before_it_is_loaded);
    RUN(providers_that_are_not_there_are_told);
    RUN(names_of_the_library_may_be_missing_or_hostile);
    RUN(a_provider_function_that_fails_is_named);
    RUN(metadata_of_every_struct_version_is_read);
    RUN(metadata_that_lies_is_refused_with_file_and_place);
    RUN(a_failing_call_is_told_with_thing_place_code_and_way_out);
    RUN(a_call_that_takes_its_time_takes_no_more);
    RUN(a_restart_of_the_subsystem_says_what_to_do_and_is_survived);
    RUN(a_byte_beyond_an_output_is_found_with_guard_pages_only);
    RUN(hostile_lines_from_another_thread_are_taken_and_cleaned);
    RUN(lines_after_the_log_was_freed_are_taken_and_cleaned);
    RUN(a_library_that_keeps_the_binary_is_told_by_its_answer);
    RUN(every_code_of_every_call_at_every_time);
    RUN(every_code_of_every_call_of_a_profile);
}
