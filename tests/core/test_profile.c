/* test_profile.c - qnnrt_profile.h and room >>power: events that a library measured, and votes for
   clocks. The fake library (tests/fake/README) returns events whose values contain the number of
   their execute, in unusual forms on demand, and its trace has the votes. */
#include "../../qnnrt.h"
#include "qnnrt_device.h"
#include "qnnrt_profile.h"
#include "test.h"
#include "opens.h"

/* ---- a pipeline of two steps ---------------------------------------------------------------- */

static const char *const shards[2] = {
    "graph main\nin x 1 0108 1 4 -\nout hidden 2 0108 1 4 -\nout side 3 0108 1 2 -\n",
    "graph main\nin hidden 5 0108 1 4 -\nout _y 6 0108 1 4 -\n"
};

/* Return a folder with files compiled for this backend: 6 HTP, 3 CPU. */
static const char *folder_for(int backend)
{
    const char *name = test_tmpdir();
    char path[1200], text[512];
    int i;
    for (i = 0; i < 2; ++i) {
        snprintf(path, sizeof(path), "%s/forward_%d.bin", name, i);
        snprintf(text, sizeof(text), "FAKEQNN 1\nbackend %d\n%s", backend, shards[i]);
        if (!test_write_file(path, text, strlen(text))) return "";
    }
    return name;
}

static const char *folder_of_shards(void) { return folder_for(6); }

/* Set the knobs. The library reads them when its providers are requested. */
static void fake_knobs(const char *knobs)
{
    uint64_t (*providers)(void ***list, uint32_t *count);
    void **list;
    uint32_t count;
    void *library = dlopen(TEST_FAKE_LIB, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) abort();
    fake_symbol(library, "QnnInterface_getProviders", (void *)&providers);
    dlclose(library);
    setenv("QNNFAKE", knobs, 1);
    providers(&list, &count);
}

typedef struct prepared { qnnrt *model; qnnrt_run *run; } prepared;

static void prepare_on(prepared *p, int backend)
{
    qnnrt_desc desc = new_desc();
    p->model = NULL;
    p->run = NULL;
    OPENS(folder_for(backend), &desc, &p->model);
    CHECK_EQ(qnnrt_prepare(p->model, NULL, &p->run, &error), QNNRT_OK);
}

static void finish(prepared *p)
{
    qnnrt_run_destroy(p->run);
    CLOSE(p->model);
}

#define PREPARE(p) TRY(prepare_on(p, 6))
#define FINISH(p)  TRY(finish(p))

static uint64_t profiled(void)
{
    uint64_t stats[16];
    fake_stats(stats);
    return stats[11];
}

static uint64_t live_profiles(void)
{
    uint64_t stats[16];
    fake_stats(stats);
    return stats[10];
}

/* Print the table as text, "step depth type unit value name|node" a line. */
static char table[1 << 14];

static const char *table_of(const qnnrt_profile_event *events, size_t count)
{
    size_t i, used = 0;
    table[0] = '\0';
    for (i = 0; i < count && used + 256 < sizeof(table); ++i)
        used += (size_t)snprintf(table + used, sizeof(table) - used, "%u %u %u %s %g %.60s|%.60s\n",
                                 (unsigned)events[i].step, (unsigned)events[i].depth,
                                 (unsigned)events[i].type, events[i].unit_name, events[i].value,
                                 events[i].name, events[i].node);
    return table;
}

/* Check that the table of the last exec equals this; NULL: that it exists. */
static void events_are(qnnrt_run *run, const char *wanted)
{
    const qnnrt_profile_event *events;
    size_t count;
    if (qnnrt_run_events(run, &events, &count) != QNNRT_OK) printf("    %s\n", qnnrt_run_error(run)->text);
    CHECK_EQ(qnnrt_run_events(run, &events, &count), QNNRT_OK);
    table_of(events, count);
    if (strcmp(table, wanted) != 0) printf("    got:\n%s    wanted:\n%s", table, wanted);
    CHECK(strcmp(table, wanted) == 0);
}

static void no_events(int line, qnnrt_run *run, qnnrt_result code, const char *needle)
{
    const qnnrt_profile_event *events = (const qnnrt_profile_event *)table;
    size_t count = 99;
    if (qnnrt_run_events(run, &events, &count) != code) printf("    called from line %d\n", line);
    CHECK_EQ(qnnrt_run_events(run, &events, &count), code);
    CHECK(events == NULL);
    CHECK_EQ(count, 0);
    CHECK_STR(TEST_TOLD(*qnnrt_run_error(run)), needle);
    CHECK(text_is_clean(qnnrt_run_error(run)->text));
}

#define NO_EVENTS(run, code, needle) TRY(no_events(__LINE__, run, code, needle))
#define EVENTS(run, wanted) TRY(events_are(run, wanted))

/* ---- profiles ------------------------------------------------------------------------------- */

TEST(profile_is_off_until_asked_for)
{
    prepared p;
    fake_begin("");
    PREPARE(&p);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(profiled(), 0);
    CHECK(strstr(fake_trace(), "rofile") == NULL);
    NO_EVENTS(p.run, QNNRT_E_STATE, "profiling is off");
    NO_EVENTS(p.run, QNNRT_E_STATE, "qnnrt_run_profile()");
    CHECK_EQ(qnnrt_run_profile_log(p.run, "x"), QNNRT_E_STATE);
    FINISH(&p);
}

#define BASIC(first, second) \
    "0 0 8001 count 4 Number of HVX threads used|\n" "0 0 400 us " #first " QNN (execute) time|\n" \
    "1 0 8001 count 4 Number of HVX threads used|\n" "1 0 400 us " #second " QNN (execute) time|\n"

TEST(profile_basic_has_the_events_of_every_step)
{
    prepared p;
    fake_begin("");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    NO_EVENTS(p.run, QNNRT_E_STATE, "qnnrt_exec() first");
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(profiled(), 2);
    EVENTS(p.run, BASIC(1, 2));
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    EVENTS(p.run, BASIC(3, 4));
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_OFF), QNNRT_OK);
    CHECK_EQ(live_profiles(), 0);
    NO_EVENTS(p.run, QNNRT_E_STATE, "profiling is off");
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(profiled(), 4);
    FINISH(&p);
}

#define DETAILED \
    "0 0 8001 count 4 Number of HVX threads used|\n" "0 0 3003 cycles 1000 Accelerator (execute) time (cycles)|\n" \
    "0 1 404 cycles 10 Input OpId_2 (cycles)|Input\n" "0 1 404 cycles 2 hidden:OpId_17 (cycles)|hidden\n" \
    "0 1 404 cycles 3 side:OpId_17 (cycles)|side\n" "0 0 400 us 1 QNN (execute) time|\n" \
    "1 0 8001 count 4 Number of HVX threads used|\n" "1 0 3003 cycles 2000 Accelerator (execute) time (cycles)|\n" \
    "1 1 404 cycles 10 Input OpId_2 (cycles)|Input\n" "1 1 404 cycles 6 _y:OpId_17 (cycles)|_y\n" \
    "1 0 400 us 2 QNN (execute) time|\n"

TEST(profile_detailed_names_the_nodes)
{
    prepared p;
    fake_begin("");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    EVENTS(p.run, DETAILED);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_OPTRACE), QNNRT_OK);
    CHECK_STR(fake_trace(), "profileSetConfig\n");
    NO_EVENTS(p.run, QNNRT_E_STATE, "no events yet");
    fake_reset();
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    EVENTS(p.run, DETAILED);
    CHECK_EQ(live_profiles(), 2);
    /* Closing frees the handles of an active profile. */
    FINISH(&p);
}

TEST(profile_an_event_below_a_node_is_of_that_node)
{
    prepared p;
    const qnnrt_profile_event *events;
    size_t count;
    fake_begin("events=waits");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(p.run, &events, &count), QNNRT_OK);
    CHECK_STR(table_of(events, count), "0 1 404 cycles 10 Input OpId_2 (cycles)|Input\n0 2 5001 cycles 4 Wait (cycles)|Input\n"
                                       "0 1 404 cycles 2 hidden:OpId_17 (cycles)|hidden\n");
    FINISH(&p);
}

TEST(profile_tries_plain_events_first_and_extended_ones_next)
{
    prepared p;
    const char *trace, *plain, *extended;
    fake_begin("events=cpu,id=3");
    TRY(prepare_on(&p, 3));
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    fake_reset();
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    EVENTS(p.run,
        "0 0 8001 count 4 Number of HVX threads used|\n" "0 0 3003 cycles 1000 Accelerator (execute) time (cycles)|\n"
        "0 1 404 cycles 10 Input OpId_2 (cycles)|Input\n" "0 1 404 cycles 2 _hidden|hidden\n"
        "0 1 404 cycles 3 _side|side\n" "0 0 400 us 1 GRAPH_EXECUTE|\n"
        "1 0 8001 count 4 Number of HVX threads used|\n" "1 0 3003 cycles 2000 Accelerator (execute) time (cycles)|\n"
        "1 1 404 cycles 10 Input OpId_2 (cycles)|Input\n" "1 1 404 cycles 6 __y|_y\n" "1 0 400 us 2 GRAPH_EXECUTE|\n");
    trace = fake_trace();
    plain = strstr(trace, "profileGetEventData\n");
    extended = strstr(trace, "profileGetExtendedEventData\n");
    CHECK(plain != NULL && extended != NULL && plain < extended);
    FINISH(&p);
}

TEST(profile_plain_events_are_enough)
{
    prepared p;
    fake_begin("null=profileGetExtendedEventData");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    EVENTS(p.run, BASIC(1, 2));
    FINISH(&p);
    fake_begin("null=profileGetEventData,null=profileGetSubEvents");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    EVENTS(p.run, BASIC(1, 2));
    FINISH(&p);
}

TEST(profile_scalars_of_every_kind_are_numbers)
{
    prepared p;
    const qnnrt_profile_event *events;
    size_t count;
    fake_begin("events=scalars");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(p.run, &events, &count), QNNRT_OK);
    CHECK_EQ(count, 11);
    CHECK(events[0].value == 2.5);
    CHECK(events[1].value == -0.25);
    CHECK(events[2].value == -7);
    CHECK(events[3].value == 65535);
    CHECK(events[4].value == -3);
    CHECK(events[5].value == 0);                  /* the value of an event that is a text is 0 */
    CHECK_EQ(events[0].time, 5004);
    CHECK_EQ(events[5].time, 5001);
    FINISH(&p);
}

TEST(profile_scalars_of_more_kinds_are_numbers)
{
    prepared p;
    const qnnrt_profile_event *events;
    size_t count;
    fake_begin("events=scalars2");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(p.run, &events, &count), QNNRT_OK);
    CHECK_EQ(count, 11);
    CHECK(events[0].value == -5000000000.0);
    CHECK(events[1].value == 4294967295.0);
    CHECK(events[2].value == -2);
    CHECK(events[3].value == 255);
    CHECK(events[4].value == 1);
    FINISH(&p);
}

/* Only the suffix after a node's name is cut off. */
TEST(profile_names_of_nodes_lose_only_what_the_library_added)
{
    /* Name of the output as it is written in a model text; of the event; of the node. */
    static const char *const names[][3] = {
        { "a:OpId_17", "a:OpId_17", "a" },           { "b%20OpId_2%20(cycles)", "b OpId_2 (cycles)", "b" },
        { "c%20(us)", "c (us)", "c" },               { "d(cycles)", "d(cycles)", "d(cycles)" },
        { "e%20(CYCLES)", "e (CYCLES)", "e (CYCLES)" }, { "f%20()", "f ()", "f" },
        { "g)", "g)", "g)" },                        { "h:OpId_", "h:OpId_", "h:OpId_" },
        { "i-OpId_3", "i-OpId_3", "i-OpId_3" },      { "OpId_4", "OpId_4", "OpId_4" },
        { ":OpId_5", ":OpId_5", "" },                { "j:OpId_6)", "j:OpId_6)", "j:OpId_6)" },
        { "k:opId_7", "k:opId_7", "k:opId_7" },      { "x123", "x123", "x123" },
        { "%20(cycles)", " (cycles)", "" },          { "(cycles)", "(cycles)", "(cycles)" },
        { "cycles)", "cycles)", "cycles)" },         { "_", "_", "_" },
        { "m:OpId_8%20(cycles", "m:OpId_8 (cycles", "m:OpId_8 (cycles" }, { "_n", "_n", "_n" }
    };
    enum { NAMES = sizeof(names) / sizeof(names[0]) };
    const char *folder = test_tmpdir();
    const qnnrt_profile_event *events;
    qnnrt_desc desc = new_desc();
    prepared p;
    char path[1200], text[4096];
    size_t count, i, used;
    fake_begin("events=bare");
    used = (size_t)snprintf(text, sizeof(text), "FAKEQNN 1\n# a context binary has at least 64 bytes\ngraph main\nin x 1 0108 1 4 -\n");
    for (i = 0; i < NAMES; ++i)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "out %s %u 0108 1 4 -\n", names[i][0], (unsigned)i + 2);
    snprintf(path, sizeof(path), "%s/forward_0.bin", folder);
    CHECK(test_write_file(path, text, used));
    p.model = NULL;
    p.run = NULL;
    OPENS(folder, &desc, &p.model);
    CHECK_EQ(qnnrt_prepare(p.model, NULL, &p.run, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(p.run, &events, &count), QNNRT_OK);
    CHECK_EQ(count, NAMES + 4);
    for (i = 0; i < NAMES; ++i) {
        const qnnrt_profile_event *e = &events[i + 3];
        if (strcmp(e->name, names[i][1]) != 0 || strcmp(e->node, names[i][2]) != 0) printf("    \"%s\" is of \"%s\"\n", e->name, e->node);
        CHECK(strcmp(e->name, names[i][1]) == 0);
        CHECK(strcmp(e->node, names[i][2]) == 0);
    }
    FINISH(&p);
}

/* Check the result and the text when the library's answers are inconsistent, and that no handle is
   lost. */
static void disorder(int line, const char *knobs, qnnrt_result code, const char *needle)
{
    prepared p;
    fake_begin(knobs);
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    TRY(no_events(line, p.run, code, needle));
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);        /* an exec still succeeds */
    TRY(no_events(line, p.run, code, needle));
    FINISH(&p);
}

#define DISORDER(knobs, code, needle) TRY(disorder(__LINE__, knobs, code, needle))

TEST(profile_a_library_in_disorder_is_not_followed_for_ever)
{
    DISORDER("events=endless", QNNRT_E_LIMIT, "nested deeper than 8 levels");
    DISORDER("events=bush", QNNRT_E_LIMIT, "more than 1048576 events");
    DISORDER("events=many", QNNRT_E_LIMIT, "more than 1048576 events");
    DISORDER("events=nulllist", QNNRT_E_BACKEND, "2 events");
    DISORDER("fail=profileGetEvents:0x2ee0", QNNRT_E_BACKEND, "profileGetEvents answered 0x2ee0");
    DISORDER("fail=profileGetSubEvents:0x2ee2", QNNRT_E_BACKEND, "profileGetSubEvents answered 0x2ee2");
}

TEST(profile_odd_events_stay_in_the_table)
{
    prepared p;
    const qnnrt_profile_event *events;
    size_t count, i;
    fake_begin("events=nullnames");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(p.run, &events, &count), QNNRT_OK);
    CHECK_EQ(count, 11);
    for (i = 0; i < count; ++i) CHECK(events[i].name[0] == '\0' && events[i].node[0] == '\0');
    CHECK_EQ(events[3].type, 404);
    FINISH(&p);

    /* Both ways to read the second event fail: its place is kept, and the code is reported. */
    fake_begin("fail=profileGetEventData:0x2ee1:2,fail=profileGetExtendedEventData:0x2ee3");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(p.run, &events, &count), QNNRT_OK);
    CHECK_EQ(count, 4);
    for (i = 0; i < count; ++i) CHECK_EQ(events[i].vendor_code, i == 1 ? 0x2ee3 : 0);
    CHECK(events[1].name[0] == '\0' && events[1].value == 0);
    CHECK_STR(events[2].name, "HVX");
    FINISH(&p);

    fake_begin("events=version");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(p.run, &events, &count), QNNRT_OK);
    CHECK_EQ(count, 4);
    for (i = 0; i < count; ++i) CHECK_EQ(events[i].vendor_code, 0x3e8);
    FINISH(&p);

    fake_begin("events=none");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(p.run, &events, &count), QNNRT_OK);
    CHECK_EQ(count, 0);
    FINISH(&p);
}

TEST(profile_an_exec_that_failed_has_no_events)
{
    prepared p;
    fake_begin("");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    fake_knobs("fail=graphExecute:0x1771:2");
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_E_BACKEND);
    CHECK_STR(qnnrt_run_error(p.run)->text, "step 1");
    NO_EVENTS(p.run, QNNRT_E_STATE, "the last exec failed");
    CHECK_EQ(qnnrt_run_profile_log(p.run, "x"), QNNRT_E_STATE);
    fake_knobs("");
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    EVENTS(p.run, BASIC(5, 6));
    FINISH(&p);
}

/* Check that the run continues without profiling, and that nothing is left. */
static void not_had(int line, const char *knobs, qnnrt_profile_level level, qnnrt_result code, const char *needle)
{
    prepared p;
    qnnrt_desc desc = new_desc();
    fake_begin(knobs);
    PREPARE(&p);
    if (qnnrt_run_profile(p.run, level) != code) printf("    called from line %d\n", line);
    CHECK_EQ(qnnrt_run_profile(p.run, level), code);
    CHECK_STR(TEST_TOLD(*qnnrt_run_error(p.run)), needle);
    CHECK_EQ(live_profiles(), 0);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(profiled(), 0);
    NO_EVENTS(p.run, QNNRT_E_STATE, "profiling is off");
    FINISH(&p);
    {
        qnnrt_profile *loading = NULL;
        const int known = level >= QNNRT_PROFILE_OFF && level <= QNNRT_PROFILE_OPTRACE;
        TEST_JUNK(error);
        CHECK_EQ(qnnrt_profile_create(level, NULL, &loading, &error), known ? QNNRT_OK : code);
        CHECK(known == (loading != NULL));
        desc.context_hooks = qnnrt_profile_hook(loading);
        if (known) FAILS(folder_of_shards(), &desc, code, needle);
        else CHECK_STR(error.text, needle);
        qnnrt_profile_destroy(loading);
    }
}

#define NOT_HAD(knobs, level, code, needle) TRY(not_had(__LINE__, knobs, level, code, needle))

TEST(profile_that_cannot_be_had_is_an_error)
{
    NOT_HAD("fail=profileCreate:0x3e8", QNNRT_PROFILE_BASIC, QNNRT_E_UNSUPPORTED, "has no basic profiles");
    NOT_HAD("fail=profileCreate:0x2ee1", QNNRT_PROFILE_BASIC, QNNRT_E_BACKEND, "profileCreate answered 0x2ee1");
    NOT_HAD("zero=profileCreate", QNNRT_PROFILE_DETAILED, QNNRT_E_BACKEND, "without a handle");
    NOT_HAD("fail=profileSetConfig:0x3e8", QNNRT_PROFILE_OPTRACE, QNNRT_E_UNSUPPORTED, "level detailed");
    NOT_HAD("fail=profileSetConfig:0x2ee4", QNNRT_PROFILE_OPTRACE, QNNRT_E_BACKEND, "profileSetConfig answered 0x2ee4");
    NOT_HAD("null=profileSetConfig", QNNRT_PROFILE_OPTRACE, QNNRT_E_UNSUPPORTED, "no functions for optrace profiles");
    NOT_HAD("null=profileCreate", QNNRT_PROFILE_BASIC, QNNRT_E_UNSUPPORTED, "no functions for basic profiles");
    NOT_HAD("null=profileFree", QNNRT_PROFILE_BASIC, QNNRT_E_UNSUPPORTED, "no functions for basic profiles");
    NOT_HAD("null=profileGetEvents", QNNRT_PROFILE_BASIC, QNNRT_E_UNSUPPORTED, "no functions for basic profiles");
    NOT_HAD("null=profileGetEventData,null=profileGetExtendedEventData", QNNRT_PROFILE_BASIC, QNNRT_E_UNSUPPORTED,
            "no functions for basic profiles");
    NOT_HAD("", (qnnrt_profile_level)4, QNNRT_E_ARG, "profile level 4, expected 0 to 3");
    NOT_HAD("", (qnnrt_profile_level)-1, QNNRT_E_ARG, "profile level -1");
}

TEST(profile_the_second_step_fails_and_the_first_is_freed)
{
    prepared p;
    fake_begin("fail=profileCreate:0x2ee1:2");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_E_BACKEND);
    CHECK_EQ(live_profiles(), 0);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(live_profiles(), 2);
    FINISH(&p);
}

TEST(profile_of_loading_names_the_context)
{
    qnnrt_desc desc = new_desc();
    qnnrt *model;
    qnnrt_profile *loading;
    const qnnrt_profile_event *events, *again;
    size_t count;
    CHECK_EQ(qnnrt_profile_create(QNNRT_PROFILE_BASIC, NULL, &loading, &error), QNNRT_OK);
    desc.context_hooks = qnnrt_profile_hook(loading);
    fake_begin("");
    OPENS(folder_of_shards(), &desc, &model);
    qnnrt_profile_events(loading, &events, &count);
    CHECK(strcmp(table_of(events, count),
                 "0 0 1004 us 7 Accelerator (load binary) time|\n" "0 0 100 us 9 QNN (load binary) time|\n"
                 "1 0 1004 us 7 Accelerator (load binary) time|\n" "1 0 100 us 9 QNN (load binary) time|\n") == 0);
    CHECK_EQ(live_profiles(), 0);
    qnnrt_profile_events(loading, &again, &count);
    CHECK(again == events);
    CLOSE(model);
    qnnrt_profile_destroy(loading);

    CHECK_EQ(qnnrt_profile_create(QNNRT_PROFILE_OFF, NULL, &loading, &error), QNNRT_OK);
    desc.context_hooks = qnnrt_profile_hook(loading);
    fake_begin("");
    OPENS(folder_of_shards(), &desc, &model);
    qnnrt_profile_events(loading, &events, &count);
    CHECK(events == NULL);
    CHECK_EQ(count, 0);
    CHECK(strstr(fake_trace(), "rofile") == NULL);
    CLOSE(model);
    qnnrt_profile_destroy(loading);
    CHECK(qnnrt_get_info(NULL) == NULL);
}

TEST(profile_of_loading_that_cannot_be_read_fails_the_open)
{
    qnnrt_desc desc = new_desc();
    qnnrt *model;
    qnnrt_profile *loading;
    const qnnrt_profile_event *events;
    size_t count;
    CHECK_EQ(qnnrt_profile_create(QNNRT_PROFILE_BASIC, NULL, &loading, &error), QNNRT_OK);
    desc.context_hooks = qnnrt_profile_hook(loading);
    fake_begin("events=endless");
    FAILS(folder_of_shards(), &desc, QNNRT_E_LIMIT, "nested deeper");
    fake_begin("fail=profileGetEvents:0x2ee0:2,fail=profileGetEvents:0x2ee0:4");
    FAILS(folder_of_shards(), &desc, QNNRT_E_BACKEND, "profileGetEvents");
    fake_begin("fail=contextCreateFromBinary:0x138d:2,fail=contextCreateFromBinary:0x138d:4");
    FAILS(folder_of_shards(), &desc, QNNRT_E_BACKEND, "contextCreateFromBinary");
    qnnrt_profile_destroy(loading);
    CHECK_EQ(qnnrt_profile_create(QNNRT_PROFILE_BASIC, NULL, &loading, &error), QNNRT_OK);
    desc.context_hooks = qnnrt_profile_hook(loading);
    desc.keep_going = 1;
    fake_begin("fail=profileGetEvents:0x2ee0:1");
    OPENS(folder_of_shards(), &desc, &model);
    CHECK(qnnrt_get_info(model)->contexts[0].failure != NULL);
    CHECK_STR(qnnrt_get_info(model)->contexts[0].failure->text, "profileGetEvents");
    qnnrt_profile_events(loading, &events, &count);
    CHECK_EQ(count, 2);
    CHECK_EQ(events[0].step, 1);
    CLOSE(model);
    desc.keep_going = 0;
    desc.inspect = 1;
    fake_begin("");
    FAILS(folder_of_shards(), &desc, QNNRT_E_ARG, "desc.context_hooks");
    qnnrt_profile_destroy(loading);
}

TEST(profile_free_that_fails_is_logged)
{
    prepared p;
    fake_begin("fail=profileFree:0x2ee0");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_OFF), QNNRT_OK);
    CHECK_STR(log_text, "1 profile: profileFree answered 0x2ee0");
    FINISH(&p);
}

TEST(profile_arguments)
{
    prepared p;
    const qnnrt_profile_event *events;
    size_t count;
    CHECK_EQ(qnnrt_run_profile(NULL, QNNRT_PROFILE_BASIC), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_run_events(NULL, &events, &count), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_run_profile_log(NULL, "x"), QNNRT_E_ARG);
    {
        qnnrt_profile *loading = NULL;
        qnnrt_hooks half;
        memset(&half, 0, sizeof(half));
        half.alloc = take_alloc;
        TEST_JUNK(error);
        CHECK_EQ(qnnrt_profile_create(QNNRT_PROFILE_BASIC, NULL, NULL, &error), QNNRT_E_ARG);
        CHECK_STR(error.text, "out is NULL");
        CHECK_EQ(qnnrt_profile_create(QNNRT_PROFILE_BASIC, &half, &loading, &error), QNNRT_E_ARG);
        CHECK_STR(error.text, "set both or neither");
        CHECK(loading == NULL && qnnrt_profile_hook(NULL) == NULL);
        qnnrt_profile_events(NULL, &events, &count);
        CHECK(events == NULL && count == 0);
        qnnrt_profile_destroy(NULL);
    }
    fake_begin("");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(p.run, NULL, &count), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_run_events(p.run, &events, NULL), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(p.run)->text, "events or count is NULL");
    CHECK_EQ(qnnrt_run_profile_log(p.run, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_run_profile_log(p.run, ""), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_run_profile_log(p.run, "folder/"), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(p.run)->text, "folder/");
    FINISH(&p);
}

/* Refuse one allocation after the other, until none fails. */
static long refuse_at, refuse_seen;
static void *refusing_alloc(void *user, size_t bytes)
{
    return ++refuse_seen == refuse_at ? NULL : take_alloc(user, bytes);
}

TEST(profile_survives_every_failing_allocation)
{
    int passed = 0;
    long at;
    for (at = 1; at < 200 && !passed; ++at) {
        qnnrt_desc desc = new_desc();
        qnnrt *model = NULL;
        qnnrt_run *run = NULL;
        qnnrt_profile *loading = NULL;
        const qnnrt_profile_event *events = NULL;
        size_t count = 0;
        qnnrt_result result;
        fake_begin("");
        desc.backend_desc.hooks.alloc = refusing_alloc;
        refuse_at = at;
        refuse_seen = 0;
        result = qnnrt_profile_create(QNNRT_PROFILE_DETAILED, &desc.backend_desc.hooks, &loading, &error);
        desc.context_hooks = qnnrt_profile_hook(loading);
        if (result == QNNRT_OK) result = qnnrt_open(folder_of_shards(), &desc, &model, &error);
        if (result == QNNRT_OK) result = qnnrt_prepare(model, NULL, &run, &error);
        if (result == QNNRT_OK) result = qnnrt_run_profile(run, QNNRT_PROFILE_DETAILED);
        if (result == QNNRT_OK) result = qnnrt_exec(run);
        if (result == QNNRT_OK) result = qnnrt_run_events(run, &events, &count);
        CHECK(result == QNNRT_E_MEMORY || (result == QNNRT_OK && count == 11));
        passed = result == QNNRT_OK && refuse_seen < at;
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        qnnrt_profile_destroy(loading);
        CLOSE(NULL);
    }
    CHECK(passed);
}

/* ---- the log for the vendor's tools --------------------------------------------------------- */

TEST(profile_log_has_every_step_and_event)
{
    prepared p;
    char path[1200], *text;
    fake_begin("");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    snprintf(path, sizeof(path), "%s/profile.log", test_tmpdir());
    CHECK_EQ(qnnrt_run_profile_log(p.run, path), QNNRT_OK);
    text = (char *)test_read_file(path, NULL);
    CHECK(text != NULL);
    CHECK_STR(text, "qnnrt 0.");
    CHECK_STR(text, " v2.51.0.260929181845\nexecute main method 1 time 1\n0 plain 8001 4 4 Number of HVX threads used\n"
                    "0 plain 3003 3 1000 Accelerator (execute) time (cycles)\n1 plain 404 3 10 Input OpId_2 (cycles)\n"
                    "1 plain 404 3 2 hidden:OpId_17 (cycles)\n1 plain 404 3 3 side:OpId_17 (cycles)\n"
                    "0 plain 400 1 1 QNN (execute) time\nexecute main method 1 time 1\n");
    free(text);
    EVENTS(p.run, DETAILED);
    FINISH(&p);

    fake_begin("events=cpu");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_profile_log(p.run, path), QNNRT_OK);
    text = (char *)test_read_file(path, NULL);
    CHECK_STR(text, "0 extended 400 1 2 GRAPH_EXECUTE\n");
    CHECK_STR(text, "Input OpId_2 (cycles)\n");           /* this line was appended */
    free(text);
    FINISH(&p);
}

static void no_log(int line, const char *knobs, const char *name, qnnrt_result code, const char *needle)
{
    prepared p;
    char path[1200];
    qnnrt_result result;
    fake_begin(knobs);
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    if (name[0] == '/') snprintf(path, sizeof(path), "%s", name);
    else snprintf(path, sizeof(path), "%s/%s", test_tmpdir(), name);
    result = qnnrt_run_profile_log(p.run, path);
    if (result != code) printf("    called from line %d: %s\n", line, qnnrt_run_error(p.run)->text);
    CHECK_EQ(result, code);
    CHECK_STR(TEST_TOLD(*qnnrt_run_error(p.run)), needle);
    /* The handle of the run is alive, and no log. */
    CHECK_EQ(live_profiles(), 2);
    EVENTS(p.run, BASIC(1, 2));
    FINISH(&p);
}

#define NO_LOG(knobs, name, code, needle) TRY(no_log(__LINE__, knobs, name, code, needle))

TEST(profile_log_that_cannot_be_written_is_an_error)
{
    static const char create[] = "systemProfileCreateSerializationTarget", write[] = "systemProfileSerializeEventData";
    NO_LOG("", "none/profile.log", QNNRT_E_BACKEND, "none/profile.log");
    NO_LOG("fail=systemProfileCreateSerializationTarget:0x7531", "x", QNNRT_E_BACKEND, create);
    NO_LOG("zero=systemProfileCreateSerializationTarget", "x", QNNRT_E_BACKEND, create);
    NO_LOG("fail=systemProfileSerializeEventData:0x7532:2", "x", QNNRT_E_BACKEND, write);
    NO_LOG("events=silent", "x", QNNRT_E_IO, "was not written");
    NO_LOG("fail=systemProfileFreeSerializationTarget:0x7532", "x", QNNRT_E_BACKEND, "FreeSerializationTarget");
    NO_LOG("sysapi=1.4", "x", QNNRT_E_VERSION, "system interface 1.4");
    NO_LOG("sysapi=1.8", "x", QNNRT_E_VERSION, "2.44");
    NO_LOG("null=systemProfileCreateSerializationTarget", "x", QNNRT_E_VERSION, "cannot write profile logs");
    NO_LOG("null=systemProfileSerializeEventData", "x", QNNRT_E_VERSION, "cannot write profile logs");
    NO_LOG("null=systemProfileFreeSerializationTarget", "x", QNNRT_E_VERSION, "cannot write profile logs");
}

TEST(profile_log_that_does_not_grow_is_an_error)
{
    char path[1200];
    snprintf(path, sizeof(path), "%s/old.log", test_tmpdir());
    CHECK(test_write_file(path, "old", 3));
    NO_LOG("events=silent", "old.log", QNNRT_E_IO, "old.log was not written");
}

/* A name without a folder is in the current one; the root folder is one, too. */
TEST(profile_log_takes_every_form_of_a_path)
{
    prepared p;
    char path[64], longest[6000];
    char *text;
    fake_begin("");
    PREPARE(&p);
    CHECK_EQ(qnnrt_run_profile(p.run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(p.run), QNNRT_OK);
    snprintf(path, sizeof(path), "test_profile_%ld.log", (long)getpid());
    CHECK_EQ(qnnrt_run_profile_log(p.run, path), QNNRT_OK);
    text = (char *)test_read_file(path, NULL);
    CHECK_EQ(unlink(path), 0);
    CHECK(text != NULL);
    CHECK_STR(text, "QNN (execute) time\n");
    free(text);
    memset(longest, 'a', sizeof(longest));
    longest[0] = longest[5000] = '/';
    longest[sizeof(longest) - 1] = '\0';
    CHECK_EQ(qnnrt_run_profile_log(p.run, longest), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(p.run)->text, "too long");
    EVENTS(p.run, BASIC(1, 2));
    FINISH(&p);
    NO_LOG("fail=systemProfileCreateSerializationTarget:0x7531", "/x", QNNRT_E_BACKEND, "/x");
}

/* ---- power ---------------------------------------------------------------------------------- */

static qnnrt_backend *power_backend(const char *knobs)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_FAKE_LIB;
    desc.hooks = new_desc().backend_desc.hooks;
    fake_begin(knobs);
    if (qnnrt_backend_open(&desc, &backend, &error) != QNNRT_OK) printf("%s\n", error.text);
    return backend;
}

#define BACKEND_CLOSE(b) do { CHECK_EQ(qnnrt_backend_close(b), QNNRT_OK); TRY(nothing_left()); } while (0)

/* Print the answers and codes, "applied refused 32c9 -". */
static const char *answers(const qnnrt_power_report *report)
{
    static char text[128];
    static const char *const names[] = { "-", "applied", "refused", "none" };
    int i;
    text[0] = '\0';
    for (i = 0; i < QNNRT_POWER_SETTINGS; ++i)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s", i > 0 ? " " : "",
                 names[report->settings[i].answer],
                 report->settings[i].vendor_code == 0x32c9 ? "!" : report->settings[i].vendor_code != 0 ? "?" : "");
    return text;
}

static void sets(int line, qnnrt_backend *b, const qnnrt_power_desc *desc, const char *wanted, const char *traced)
{
    qnnrt_power_report report;
    memset(&report, 0xFF, sizeof(report));
    TEST_JUNK(error);
    fake_reset();
    CHECK_EQ(qnnrt_power_set(b, desc, &report, &error), QNNRT_OK);
    CHECK_EQ(error.code, QNNRT_OK);
    if (strcmp(answers(&report), wanted) != 0 || strcmp(fake_trace(), traced) != 0)
        printf("    called from line %d: %s\n%s    wanted:\n%s", line, answers(&report), fake_trace(), traced);
    CHECK(strcmp(answers(&report), wanted) == 0);
    CHECK(strcmp(fake_trace(), traced) == 0);
}

#define SETS(b, desc, wanted, traced) TRY(sets(__LINE__, b, desc, wanted, traced))
#define FIRST "deviceGetInfrastructure\ncreatePowerConfigId\n"

TEST(power_presets_are_what_their_names_say)
{
    static const struct { const char *name, *first, *trace; } presets[] = {
        { "burst", "applied applied applied", "setPowerConfig 1: 1 0 16 1 40 0 0 1 160 160 160 1 160 160 160\n"
          "setPowerConfig 2: 100\nsetPowerConfig 3: 9999\n" },
        { "sustained_high_performance", "applied applied applied", "setPowerConfig 1: 1 0 16 1 100 0 0 1 128 128 128 1 128 128 128\n"
          "setPowerConfig 2: 100\nsetPowerConfig 3: 9999\n" },
        { "high_performance", "applied applied applied", "setPowerConfig 1: 1 0 16 1 100 0 0 1 128 128 128 1 128 128 128\n"
          "setPowerConfig 2: 100\nsetPowerConfig 3: 9999\n" },
        { "balanced", "applied applied -", "setPowerConfig 1: 1 1 16 1 1000 0 0 1 112 112 112 1 112 112 112\nsetPowerConfig 2: 100\n" },
        { "low_balanced", "applied applied -", "setPowerConfig 1: 1 1 16 1 1000 0 0 1 96 96 96 1 96 96 96\nsetPowerConfig 2: 100\n" },
        { "high_power_saver", "applied applied -", "setPowerConfig 1: 1 1 16 1 1000 0 0 1 80 80 80 1 80 80 80\nsetPowerConfig 2: 100\n" },
        { "power_saver", "applied applied -", "setPowerConfig 1: 1 1 16 1 1000 0 0 1 64 64 64 1 64 64 64\nsetPowerConfig 2: 100\n" },
        { "low_power_saver", "applied applied -", "setPowerConfig 1: 1 1 16 1 1000 0 0 1 48 48 48 1 48 48 48\nsetPowerConfig 2: 100\n" },
    };
    int i;
    CHECK(qnnrt_power_preset_name(QNNRT_POWER_CUSTOM) == NULL);
    CHECK(qnnrt_power_preset_name((qnnrt_power_preset)-1) == NULL);
    for (i = 0; i < 8; ++i) {
        qnnrt_power_desc desc;
        char traced[512];
        qnnrt_backend *b = power_backend("");
        CHECK(b != NULL);
        memset(&desc, 0, sizeof(desc));
        desc.preset = (qnnrt_power_preset)(i + 1);
        CHECK(strcmp(qnnrt_power_preset_name(desc.preset), presets[i].name) == 0);
        snprintf(traced, sizeof(traced), FIRST "%s", presets[i].trace);
        SETS(b, &desc, presets[i].first, traced);
        BACKEND_CLOSE(b);
        CHECK(qnnrt_power_preset_name((qnnrt_power_preset)9) == NULL);
    }
}

TEST(power_votes_change_and_are_taken_back)
{
    qnnrt_power_desc desc;
    qnnrt_backend *b = power_backend("");
    CHECK(b != NULL);
    memset(&desc, 0, sizeof(desc));
    SETS(b, NULL, "- - -", "");                           /* no vote was made */
    desc.preset = QNNRT_POWER_BURST;
    SETS(b, &desc, "applied applied applied", FIRST "setPowerConfig 1: 1 0 16 1 40 0 0 1 160 160 160 1 160 160 160\n"
         "setPowerConfig 2: 100\nsetPowerConfig 3: 9999\n");
    desc.preset = QNNRT_POWER_POWER_SAVER;                /* the id is used again; polling ends */
    SETS(b, &desc, "applied applied applied", "setPowerConfig 1: 1 1 16 1 1000 0 0 1 64 64 64 1 64 64 64\n"
         "setPowerConfig 2: 100\nsetPowerConfig 3: 0\n");
    SETS(b, &desc, "applied applied -", "setPowerConfig 1: 1 1 16 1 1000 0 0 1 64 64 64 1 64 64 64\nsetPowerConfig 2: 100\n");
    SETS(b, NULL, "- - -", "destroyPowerConfigId\n");
    desc.preset = QNNRT_POWER_BURST;
    CHECK_EQ(qnnrt_power_set(b, &desc, NULL, &error), QNNRT_OK);
    fake_reset();
    BACKEND_CLOSE(b);
    CHECK(strcmp(fake_trace(), "setPowerConfig 3: 0\ndestroyPowerConfigId\ndeviceFree\nbackendFree\nlogFree\n") == 0);
}

TEST(power_by_number)
{
    qnnrt_power_desc desc;
    qnnrt_backend *b = power_backend("");
    CHECK(b != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.dcvs = 1;
    SETS(b, &desc, "applied - -", FIRST "setPowerConfig 1: 1 1 16 0 0 0 0 0 0 0 0 0 0 0 0\n");
    memset(&desc, 0, sizeof(desc));
    desc.dcvs = -1;
    desc.sleep_latency_us = 77;
    desc.core.min = 0x40;
    desc.core.target = 0x60;
    desc.core.max = 0x93;
    SETS(b, &desc, "applied - -", "setPowerConfig 1: 1 0 16 1 77 0 0 0 0 0 0 1 64 96 147\n");
    memset(&desc, 0, sizeof(desc));
    desc.rpc_latency_us = 250;
    desc.rpc_polling_us = QNNRT_POWER_ZERO;
    SETS(b, &desc, "- applied applied", "setPowerConfig 2: 250\nsetPowerConfig 3: 0\n");
    desc.rpc_latency_us = QNNRT_POWER_ZERO;
    desc.rpc_polling_us = 0;
    SETS(b, &desc, "- applied -", "setPowerConfig 2: 0\n");
    /* The caller's numbers replace those of the preset. */
    desc.preset = QNNRT_POWER_BALANCED;
    desc.bus.min = desc.bus.target = desc.bus.max = 0xA0;
    SETS(b, &desc, "applied applied -", "setPowerConfig 1: 1 1 16 1 1000 0 0 1 160 160 160 1 112 112 112\nsetPowerConfig 2: 0\n");
    BACKEND_CLOSE(b);
}

TEST(power_each_refusal_is_told)
{
    qnnrt_power_desc desc;
    qnnrt_backend *b = power_backend("fail=setPowerConfig:0x32c9:2");
    CHECK(b != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.preset = QNNRT_POWER_BURST;
    SETS(b, &desc, "applied refused! applied", FIRST "setPowerConfig 1: 1 0 16 1 40 0 0 1 160 160 160 1 160 160 160\n"
         "setPowerConfig 2: 100\nsetPowerConfig 3: 9999\n");
    CHECK_STR(log_text, "2 power: rpc_control_latency: refused");
    fake_reset();
    /* The caller may pass NULL for the report. */
    CHECK_EQ(qnnrt_power_set(b, &desc, NULL, &error), QNNRT_E_BACKEND);
    CHECK_STR(error.text, "rpc_control_latency was refused: setPowerConfig answered 0x32c9");
    CHECK_EQ(error.vendor_code, 0x32c9);
    CHECK(text_is_clean(error.text));
    BACKEND_CLOSE(b);

    b = power_backend("fail=createPowerConfigId:0x32c9:1");
    SETS(b, &desc, "refused! refused! refused!", FIRST);
    BACKEND_CLOSE(b);
    b = power_backend("fail=createPowerConfigId:0x32c9:1");
    CHECK_EQ(qnnrt_power_set(b, &desc, NULL, &error), QNNRT_E_BACKEND);
    CHECK_STR(error.text, "createPowerConfigId answered 0x32c9");
    /* The next call creates the id. */
    CHECK_EQ(qnnrt_power_set(b, &desc, NULL, NULL), QNNRT_OK);
    BACKEND_CLOSE(b);
    b = power_backend("fail=deviceGetInfrastructure:0x36b0");
    CHECK_EQ(qnnrt_power_set(b, &desc, NULL, &error), QNNRT_E_BACKEND);
    CHECK_STR(error.text, "deviceGetInfrastructure answered 0x36b0");
    BACKEND_CLOSE(b);
}

TEST(power_where_there_is_none)
{
    static const char *const knobs[] = {
        "devnosup=1", "null=deviceGetInfrastructure", "zero=deviceGetInfrastructure", "id=1", "id=3", "id=5", "infra=1",
        "null=setPowerConfig"
    };
    size_t i;
    qnnrt_power_desc desc;
    memset(&desc, 0, sizeof(desc));
    for (i = 0; i < sizeof(knobs) / sizeof(knobs[0]); ++i) {
        qnnrt_power_report report;
        qnnrt_backend *b = power_backend(knobs[i]);
        CHECK(b != NULL);
        desc.preset = QNNRT_POWER_BALANCED;
        CHECK_EQ(qnnrt_power_set(b, &desc, &report, &error), QNNRT_OK);
        CHECK(strcmp(answers(&report), "none none -") == 0);
        CHECK_STR(log_text, "2 power: dcvs: not available");
        CHECK(strstr(fake_trace(), "PowerConfig") == NULL);
        CHECK_EQ(qnnrt_power_set(b, &desc, NULL, &error), QNNRT_E_UNSUPPORTED);
        CHECK_STR(error.text, "this backend has no power settings");
        CHECK_EQ(qnnrt_power_set(b, NULL, NULL, &error), QNNRT_OK);
        BACKEND_CLOSE(b);
    }
}

TEST(power_that_cannot_be_taken_back_is_told)
{
    qnnrt_power_desc desc;
    qnnrt_backend *b = power_backend("fail=destroyPowerConfigId:0x32c9");
    CHECK(b != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.preset = QNNRT_POWER_BALANCED;
    CHECK_EQ(qnnrt_power_set(b, &desc, NULL, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_power_set(b, NULL, NULL, &error), QNNRT_E_BACKEND);
    CHECK_STR(error.text, "destroyPowerConfigId answered 0x32c9");
    CHECK_EQ(qnnrt_power_set(b, &desc, NULL, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(b), QNNRT_E_BACKEND);
    CHECK_STR(log_text, "destroyPowerConfigId answered 0x32c9 while");
    TRY(nothing_left());
}

TEST(power_of_a_backend_lasts_from_opening_to_closing)
{
    static const struct { const char *knobs, *log; } refusals[] = {
        { "fail=setPowerConfig:0x32c9:2", "2 power: rpc_control_latency: refused" },
        { "fail=createPowerConfigId:0x32c9:1", "2 power: dcvs: refused" },
        { "fail=deviceGetInfrastructure:0x36b0", "2 power: rpc_polling_time: refused" },
        { "devnosup=1", "2 power: dcvs: not available on this backend" }
    };
    size_t i;
    qnnrt_power_desc other;
    qnnrt_backend_desc desc;
    qnnrt_backend *b;
    memset(&desc, 0, sizeof(desc));
    memset(&other, 0, sizeof(other));
    desc.path = TEST_FAKE_LIB;
    desc.hooks = new_desc().backend_desc.hooks;
    desc.power = QNNRT_POWER_BURST;
    fake_begin("");
    CHECK_EQ(qnnrt_backend_open(&desc, &b, &error), QNNRT_OK);
    CHECK_STR(fake_trace(), FIRST "setPowerConfig 1: 1 0 16 1 40 0 0 1 160 160 160 1 160 160 160\n"
              "setPowerConfig 2: 100\nsetPowerConfig 3: 9999\n");
    CHECK(strstr(log_text, "power:") == NULL);
    fake_reset();
    BACKEND_CLOSE(b);
    CHECK(strcmp(fake_trace(), "setPowerConfig 3: 0\ndestroyPowerConfigId\ndeviceFree\nbackendFree\nlogFree\n") == 0);
    /* qnnrt_power_set() changes this vote, and takes it back. */
    fake_begin("");
    CHECK_EQ(qnnrt_backend_open(&desc, &b, &error), QNNRT_OK);
    other.rpc_polling_us = 77;
    SETS(b, &other, "- - applied", "setPowerConfig 3: 77\n");
    SETS(b, NULL, "- - -", "setPowerConfig 3: 0\ndestroyPowerConfigId\n");
    BACKEND_CLOSE(b);
    /* What is refused is a warning. */
    for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); ++i) {
        fake_begin(refusals[i].knobs);
        CHECK_EQ(qnnrt_backend_open(&desc, &b, &error), QNNRT_OK);
        CHECK_STR(log_text, refusals[i].log);
        BACKEND_CLOSE(b);
    }
    desc.power = (qnnrt_power_preset)9;
    CHECK_EQ(qnnrt_backend_open(&desc, &b, &error), QNNRT_E_ARG);
    CHECK_STR(error.text, "power is 9, expected 0 to 8");
    desc.power = (qnnrt_power_preset)-1;
    CHECK_EQ(qnnrt_backend_open(&desc, &b, &error), QNNRT_E_ARG);
}

static void wrong_power(int line, qnnrt_backend *b, const qnnrt_power_desc *desc, const char *needle)
{
    qnnrt_power_report report;
    fake_reset();
    if (qnnrt_power_set(b, desc, &report, &error) != QNNRT_E_ARG) printf("    called from line %d\n", line);
    CHECK_EQ(qnnrt_power_set(b, desc, &report, &error), QNNRT_E_ARG);
    CHECK_STR(error.text, needle);
    CHECK_EQ(report.settings[0].answer, QNNRT_POWER_NOT_ASKED);
    CHECK(fake_trace()[0] == '\0');
}

TEST(power_wrong_wishes_do_not_reach_the_library)
{
    static const qnnrt_power_desc none = { QNNRT_POWER_CUSTOM, 0, 0, { 0, 0, 0 }, { 0, 0, 0 }, 0, 0 };
    qnnrt_power_desc desc = none;
    qnnrt_backend *b = power_backend("");
    CHECK(b != NULL);
    CHECK_EQ(qnnrt_power_set(NULL, &desc, NULL, &error), QNNRT_E_ARG);
    CHECK_STR(error.text, "backend is NULL");
    TRY(wrong_power(__LINE__, b, &desc, "asks for nothing"));
    desc.preset = (qnnrt_power_preset)9;
    TRY(wrong_power(__LINE__, b, &desc, "preset 9, expected 0 to 8"));
    desc.preset = (qnnrt_power_preset)-1;
    TRY(wrong_power(__LINE__, b, &desc, "preset -1"));
    desc = none;
    desc.dcvs = 2;
    TRY(wrong_power(__LINE__, b, &desc, "dcvs is 2"));
    desc = none;
    desc.rpc_polling_us = 10000;
    TRY(wrong_power(__LINE__, b, &desc, "at most 9999"));
    desc = none;
    desc.bus.max = 0x40;
    TRY(wrong_power(__LINE__, b, &desc, "corners of the bus are 0x0, 0x0, 0x40"));
    desc = none;
    desc.core.min = 0x60;
    desc.core.target = 0x40;
    desc.core.max = 0x80;
    TRY(wrong_power(__LINE__, b, &desc, "corners of the core"));
    desc.core.target = 0x60;
    desc.core.max = 0xA1;
    TRY(wrong_power(__LINE__, b, &desc, "from 0x20 to 0xa0"));
    BACKEND_CLOSE(b);
}

/* ---- locks ---------------------------------------------------------------------------------- */

static int held, locked, unlocked_wrongly;
static void take_lock(void *user) { (void)user; if (held) unlocked_wrongly = 1; held = 1; ++locked; }
static void give_lock(void *user) { (void)user; if (!held) unlocked_wrongly = 1; held = 0; }

TEST(profile_and_power_hold_the_lock)
{
    qnnrt_desc desc = new_desc();
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_power_desc power;
    const qnnrt_profile_event *events;
    size_t count;
    int now;
    fake_begin("");
    desc.backend_desc.hooks.lock = take_lock;
    desc.backend_desc.hooks.unlock = give_lock;
    memset(&power, 0, sizeof(power));
    power.preset = QNNRT_POWER_BURST;
    OPENS(folder_of_shards(), &desc, &model);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &error), QNNRT_OK);
    now = locked;
    CHECK_EQ(qnnrt_power_set(qnnrt_get_info(model)->backend, &power, NULL, &error), QNNRT_OK);
    CHECK_EQ(locked, now + 1);
    CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(locked, now + 2);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(locked, now + 3);
    CHECK_EQ(qnnrt_run_events(run, &events, &count), QNNRT_OK);
    /* The events are not read again. */
    CHECK_EQ(qnnrt_run_events(run, &events, &count), QNNRT_OK);
    CHECK_EQ(locked, now + 4);
    qnnrt_run_destroy(run);
    CHECK_EQ(locked, now + 5);
    CLOSE(model);
    CHECK(!held && !unlocked_wrongly);
}

TEST_MAIN("profile")
{
    RUN(profile_is_off_until_asked_for);
    RUN(profile_basic_has_the_events_of_every_step);
    RUN(profile_detailed_names_the_nodes);
    RUN(profile_an_event_below_a_node_is_of_that_node);
    RUN(profile_tries_plain_events_first_and_extended_ones_next);
    RUN(profile_plain_events_are_enough);
    RUN(profile_scalars_of_every_kind_are_numbers);
    RUN(profile_scalars_of_more_kinds_are_numbers);
    RUN(profile_names_of_nodes_lose_only_what_the_library_added);
    RUN(profile_a_library_in_disorder_is_not_followed_for_ever);
    RUN(profile_odd_events_stay_in_the_table);
    RUN(profile_an_exec_that_failed_has_no_events);
    RUN(profile_that_cannot_be_had_is_an_error);
    RUN(profile_the_second_step_fails_and_the_first_is_freed);
    RUN(profile_of_loading_names_the_context);
    RUN(profile_of_loading_that_cannot_be_read_fails_the_open);
    RUN(profile_free_that_fails_is_logged);
    RUN(profile_arguments);
    RUN(profile_survives_every_failing_allocation);
    RUN(profile_log_has_every_step_and_event);
    RUN(profile_log_that_cannot_be_written_is_an_error);
    RUN(profile_log_that_does_not_grow_is_an_error);
    RUN(profile_log_takes_every_form_of_a_path);
    RUN(power_presets_are_what_their_names_say);
    RUN(power_of_a_backend_lasts_from_opening_to_closing);
    RUN(power_votes_change_and_are_taken_back);
    RUN(power_by_number);
    RUN(power_each_refusal_is_told);
    RUN(power_where_there_is_none);
    RUN(power_that_cannot_be_taken_back_is_told);
    RUN(power_wrong_wishes_do_not_reach_the_library);
    RUN(profile_and_power_hold_the_lock);
}
