/* profile.c - profiles and power presets on Qualcomm's genuine libraries

       real_profile RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   It checks the events, their names and nodes; that outputs are the same with and without
   profiling; the log that libQnnSystem.so writes for the vendor's viewer; and the answers to the
   power presets. libQnnCpu.so is that of RELEASE_FOLDER, or of 2.47 beside it. */
#include "real.h"
#include "qnnrt_profile.h"
#include "../bench/qnn_raw.h"
#include "qnnrt_device.h"
#include <dlfcn.h>

#define MLP (real_library_release() >= 2051 ? "ctx/qairt2.51/mlp_u8" : "ctx/qairt2.47/mlp_u8")

static qnnrt_error err;

/* What the open models measured while they were loaded. */
static qnnrt_profile *loading;

static void measure_loading(qnnrt_desc *desc, qnnrt_profile_level level)
{
    CHECK_EQ(qnnrt_profile_create(level, NULL, &loading, &err), QNNRT_OK);
    desc->context_hooks = qnnrt_profile_hook(loading);
}

static size_t loading_events(const qnnrt_profile_event **events)
{
    size_t count;
    qnnrt_profile_events(loading, events, &count);
    return count;
}

static void open_htp(const char *part, qnnrt_profile_level level, qnnrt **model, qnnrt_run **run)
{
    static char library[1024];
    char folder[1024];
    qnnrt_desc desc;
    real_desc(&desc, library);
    measure_loading(&desc, level);
    REAL_OK(qnnrt_open(real_join(folder, test_arg(1), part), &desc, model, &err), &err);
    REAL_OK(qnnrt_prepare(*model, NULL, run, &err), &err);
}

static void close_all(qnnrt *model, qnnrt_run *run)
{
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    qnnrt_profile_destroy(loading);
    loading = NULL;
    CHECK_EQ(real_seen.alive, 0);
    if (real_seen.errors != 0) printf("    %s\n", real_seen.first);
    CHECK_EQ(real_seen.errors, 0);
}

static void show(const char *what, const qnnrt_profile_event *events, size_t count)
{
    size_t i;
    printf("  %s:\n", what);
    for (i = 0; i < count; ++i)
        printf("    step %u %*s%-5u %.0f %s \"%s\"%s%s\n", (unsigned)events[i].step,
               (int)(2 * events[i].depth), "", (unsigned)events[i].type, events[i].value,
               events[i].unit_name, events[i].name, events[i].node[0] != '\0' ? " of " : "",
               events[i].node);
}

/* Find the first event of this type and step, or return NULL. */
static const qnnrt_profile_event *find(const qnnrt_profile_event *events, size_t count,
                                       uint32_t type, size_t step)
{
    size_t i;
    for (i = 0; i < count; ++i)
        if (events[i].type == type && events[i].step == step) return &events[i];
    return NULL;
}

static const qnnrt_profile_event *find_node(const qnnrt_profile_event *events, size_t count,
                                            const char *node)
{
    size_t i;
    for (i = 0; i < count; ++i)
        if (events[i].type == 404 && strcmp(events[i].node, node) == 0) return &events[i];
    return NULL;
}

/* Check what is true for all events. */
static void check_events(const qnnrt_profile_event *events, size_t count, size_t steps)
{
    size_t i;
    CHECK(count > 0);
    for (i = 0; i < count; ++i) {
        CHECK_EQ(events[i].vendor_code, 0);
        CHECK(events[i].name[0] != '\0' && events[i].unit_name[0] != '\0');
        CHECK(events[i].value >= 0);
        CHECK(events[i].step < steps && (i == 0 || events[i].step >= events[i - 1].step));
        CHECK(events[i].depth == 0 || (i > 0 && events[i].depth <= events[i - 1].depth + 1));
        CHECK((events[i].type == 404) == (events[i].node[0] != '\0'));
        CHECK(strstr(events[i].node, "OpId") == NULL && strchr(events[i].node, '(') == NULL);
    }
}

TEST(htp_basic_detailed_and_optrace)
{
    static const char *const names[] = { "off", "basic", "detailed", "optrace" };
    qnnrt *model;
    qnnrt_run *run;
    const qnnrt_profile_event *events, *event;
    size_t count, bytes, counts[4] = { 0, 0, 0, 0 };
    unsigned char plain[4096];
    int level;
    if (real_no_device()) SKIP("no device");
    TRY(open_htp(MLP, QNNRT_PROFILE_OFF, &model, &run));
    CHECK_EQ(loading_events(&events), 0);
    CHECK(events == NULL);
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    CHECK(qnnrt_data(run, "y", &bytes) != NULL && bytes <= sizeof plain);
    memcpy(plain, qnnrt_data(run, "y", NULL), bytes);
    CHECK_EQ(qnnrt_run_events(run, &events, &count), QNNRT_E_STATE);
    for (level = QNNRT_PROFILE_BASIC; level <= QNNRT_PROFILE_OPTRACE; ++level) {
        int again;
        REAL_OK(qnnrt_run_profile(run, (qnnrt_profile_level)level), qnnrt_run_error(run));
        for (again = 0; again < 3; ++again) {
            memset(qnnrt_data(run, "y", NULL), 0xC7, bytes);
            REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
            CHECK(memcmp(plain, qnnrt_data(run, "y", NULL), bytes) == 0);
            REAL_OK(qnnrt_run_events(run, &events, &count), qnnrt_run_error(run));
            TRY(check_events(events, count, 1));
            /* An exec replaces the events of the one before. */
            CHECK(again == 0 || counts[level] == count);
            counts[level] = count;
        }
        show(names[level], events, count);
        event = find(events, count, 400, 0);
        CHECK(event != NULL && strcmp(event->name, "QNN (execute) time") == 0
                  && strcmp(event->unit_name, "us") == 0);
        CHECK(event->value > 0);
        if (level == QNNRT_PROFILE_BASIC) {
            CHECK(find(events, count, 404, 0) == NULL);
            continue;
        }
        event = find(events, count, 3003, 0);
        CHECK(event != NULL && strcmp(event->unit_name, "cycles") == 0);
        CHECK(event[1].type == 404 && event[1].depth == event->depth + 1);
        CHECK(find_node(events, count, "MatMul2") != NULL
                  && find_node(events, count, "Relu5") != NULL);
        CHECK(find_node(events, count, "Input") != NULL
                  && find_node(events, count, "Output") != NULL);
    }
    CHECK(counts[QNNRT_PROFILE_DETAILED] > counts[QNNRT_PROFILE_BASIC]);
    REAL_OK(qnnrt_run_profile(run, QNNRT_PROFILE_OFF), qnnrt_run_error(run));
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    TRY(close_all(model, run));
}

TEST(htp_every_step_of_a_chain)
{
    qnnrt *model;
    qnnrt_run *run;
    const qnnrt_profile_event *events;
    size_t count, step, loads;
    if (real_no_device()) SKIP("no device");
    /* The files are newer than the library, which refuses them. */
    if (real_library_release() < 2051) return;
    TRY(open_htp("ctx/qairt2.51/chain_of_three", QNNRT_PROFILE_BASIC, &model, &run));
    loads = loading_events(&events);
    show("loading", events, loads);
    TRY(check_events(events, loads, 3));
    for (step = 0; step < 3; ++step) {
        CHECK(find(events, loads, 100, step) != NULL);
        CHECK_STR(find(events, loads, 100, step)->name, "load binary");
    }
    REAL_OK(qnnrt_run_profile(run, QNNRT_PROFILE_DETAILED), qnnrt_run_error(run));
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    REAL_OK(qnnrt_run_events(run, &events, &count), qnnrt_run_error(run));
    TRY(check_events(events, count, 3));
    for (step = 0; step < 3; ++step) CHECK(find(events, count, 400, step) != NULL
                                               && find(events, count, 404, step) != NULL);
    TRY(close_all(model, run));                      /* close while a profile is active */
}

TEST(htp_log_for_the_viewer)
{
    qnnrt *model;
    qnnrt_run *run;
    char path[1024], below[1024], *text, *again;
    size_t bytes, longer, i;
    int found = 0;
    if (real_no_device()) SKIP("no device");
    TRY(open_htp(MLP, QNNRT_PROFILE_OFF, &model, &run));
    REAL_OK(qnnrt_run_profile(run, QNNRT_PROFILE_OPTRACE), qnnrt_run_error(run));
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    real_join(path, test_tmpdir(), "profile.log");
    REAL_OK(qnnrt_run_profile_log(run, path), qnnrt_run_error(run));
    text = (char *)test_read_file(path, &bytes);
    CHECK(text != NULL && bytes > 500);
    for (i = 0; i + 9 < bytes; ++i)
        found |= (memcmp(text + i, "Relu5:Op", 8) == 0) | (memcmp(text + i, "qnnrt\0", 6) == 0) << 1 |
                 (memcmp(text + i, "QNN (exe", 8) == 0) << 2;
    free(text);
    CHECK_EQ(found, 7);
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    REAL_OK(qnnrt_run_profile_log(run, path), qnnrt_run_error(run));
    again = (char *)test_read_file(path, &longer);
    printf("  %u bytes, then %u\n", (unsigned)bytes, (unsigned)longer);
    free(again);
    CHECK(longer > bytes + 500);
    /* The library returns success here, too: qnnrt.h notices that the file was not written. */
    CHECK_EQ(qnnrt_run_profile_log(run, real_join(below, path, "below_a_file.log")), QNNRT_E_IO);
    CHECK_STR(qnnrt_run_error(run)->text, "was not written");
    CHECK_EQ(qnnrt_run_profile_log(run, test_tmpdir()), QNNRT_E_IO);
    CHECK_STR(qnnrt_run_error(run)->text, "it is a folder");
    CHECK_EQ(qnnrt_run_profile_log(run, "/dev/null"), QNNRT_E_IO);
    real_join(path, test_tmpdir(), "made/by/it/profile.log");
    REAL_OK(qnnrt_run_profile_log(run, path), qnnrt_run_error(run));
    TRY(close_all(model, run));
}

static void power_answers(qnnrt_backend *backend, const qnnrt_power_desc *desc, const char *what,
                          qnnrt_power_answer wanted)
{
    qnnrt_power_report report;
    int i, asked = 0;
    REAL_OK(qnnrt_power_set(backend, desc, &report, &err), &err);
    printf("  %s:", what);
    for (i = 0; i < QNNRT_POWER_SETTINGS; ++i) {
        printf(" %s %d (0x%llx)", report.settings[i].name, (int)report.settings[i].answer,
               (unsigned long long)report.settings[i].vendor_code);
        if (report.settings[i].answer == QNNRT_POWER_NOT_ASKED) continue;
        ++asked;
        CHECK_EQ(report.settings[i].answer, wanted);
    }
    printf("\n");
    CHECK(asked > 0);
}

TEST(htp_power_presets_are_all_answered)
{
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_power_desc desc;
    int preset;
    if (real_no_device()) SKIP("no device");
    TRY(open_htp(MLP, QNNRT_PROFILE_OFF, &model, &run));
    for (preset = QNNRT_POWER_BURST; preset <= QNNRT_POWER_LOW_POWER_SAVER; ++preset) {
        memset(&desc, 0, sizeof desc);
        desc.preset = (qnnrt_power_preset)preset;
        TRY(power_answers(qnnrt_get_info(model)->backend, &desc, qnnrt_power_preset_name(desc.preset),
                          QNNRT_POWER_APPLIED));
        REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    }
    memset(&desc, 0, sizeof desc);
    desc.dcvs = -1;
    desc.sleep_latency_us = 65535;
    desc.bus.min = desc.bus.target = 0x40;
    desc.bus.max = 0xA0;
    desc.rpc_latency_us = 100;
    desc.rpc_polling_us = QNNRT_POWER_ZERO;
    TRY(power_answers(qnnrt_get_info(model)->backend, &desc, "numbers", QNNRT_POWER_APPLIED));
    REAL_OK(qnnrt_power_set(qnnrt_get_info(model)->backend, NULL, NULL, &err), &err);
    REAL_OK(qnnrt_power_set(qnnrt_get_info(model)->backend, &desc, NULL, &err), &err);
    TRY(close_all(model, run));                      /* close while a power setting is active */
}

/* ---- libQnnCpu.so ----------------------------------------------------------------------------- */

static const raw_slot *cpu_slots(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol = NULL;
    raw_get_providers get;
    const raw_provider **list;
    uint32_t count = 0;
    if (library != NULL) symbol = dlsym(library, "QnnInterface_getProviders");
    if (symbol == NULL) return NULL;
    memcpy((void *)&get, (const void *)&symbol, sizeof get);
    return get(&list, &count) == 0 && count > 0 ? list[0]->slots : NULL;
}

#define CPU(index, type) ((type)slots[index])

/* Make a context binary of libQnnCpu.so: x, a Relu "first", a Relu "_second", y. */
static void cpu_binary(const char *path, void **data, uint64_t *written)
{
    static const uint32_t dims[2] = { 1, 4 };
    static const char *const tensors[3] = { "x", "h", "y" }, *const nodes[2] = { "first", "_second" };
    static const uint32_t types[3] = { 0, 3, 1 };
    const raw_slot *slots = cpu_slots(path);
    raw_handle backend = NULL, context = NULL, graph = NULL;
    raw_tensor t[3];
    uint64_t size = 0;
    int i;
    CHECK(slots != NULL);
    CHECK_EQ(CPU(RAW_BACKEND_CREATE, raw_backend_create)(NULL, NULL, &backend), 0);
    CHECK_EQ(CPU(RAW_CONTEXT_CREATE, raw_context_create)(backend, NULL, NULL, &context), 0);
    CHECK_EQ(CPU(RAW_GRAPH_CREATE, raw_graph_create)(context, "two", NULL, &graph), 0);
    memset(t, 0, sizeof t);
    for (i = 0; i < 3; ++i) {
        t[i].version = 1;
        t[i].v.name = tensors[i];
        t[i].v.type = types[i];
        t[i].v.dtype = RAW_F32;
        t[i].v.quant.defined = t[i].v.quant.encoding = RAW_UNDEFINED;
        t[i].v.rank = 2;
        t[i].v.dims = dims;
        CHECK_EQ(CPU(RAW_GRAPH_TENSOR, raw_graph_tensor)(graph, &t[i]), 0);
    }
    for (i = 0; i < 2; ++i) {
        raw_op op;
        memset(&op, 0, sizeof op);
        op.version = 1;
        op.v.name = nodes[i];
        op.v.package = "qti.aisw";
        op.v.type = "Relu";
        op.v.input_count = op.v.output_count = 1;
        op.v.inputs = &t[i];
        op.v.outputs = &t[i + 1];
        CHECK_EQ(CPU(RAW_GRAPH_ADD_NODE, raw_graph_add_node)(graph, op), 0);
    }
    CHECK_EQ(CPU(RAW_GRAPH_FINALIZE, raw_graph_finalize)(graph, NULL, NULL), 0);
    CHECK_EQ(CPU(RAW_CONTEXT_BINARY_SIZE, raw_context_binary_size)(context, &size), 0);
    *data = malloc((size_t)size);
    CHECK(*data != NULL);
    CHECK_EQ(CPU(RAW_CONTEXT_BINARY, raw_context_binary)(context, *data, size, written), 0);
    CPU(RAW_CONTEXT_FREE, raw_context_free)(context, NULL);
    CPU(RAW_BACKEND_FREE, raw_free)(backend);
}

TEST(cpu_has_extended_events_and_no_power)
{
    char cpu[1024], system_path[1024];
    qnnrt_desc desc;
    qnnrt_file file;
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_power_desc power;
    const qnnrt_profile_event *events, *event;
    size_t count;
    uint64_t bytes = 0;
    void *data = NULL;
    if (real_no_device()) SKIP("no device");
    real_library(cpu, "libQnnCpu.so");
    if (!real_exists(cpu)) real_sibling(cpu, "2.47", "libQnnCpu.so");
    if (!real_exists(cpu)) SKIP("libQnnCpu.so of 2.47 is not there");
    TRY(cpu_binary(cpu, &data, &bytes));
    real_desc(&desc, system_path);
    desc.backend_desc.path = cpu;
    desc.system_path = real_library(system_path, "libQnnSystem.so");
    measure_loading(&desc, QNNRT_PROFILE_DETAILED);
    memset(&file, 0, sizeof file);
    file.data = data;
    file.bytes = (size_t)bytes;
    desc.files = &file;
    desc.file_count = 1;
    REAL_OK(qnnrt_open(NULL, &desc, &model, &err), &err);
    count = loading_events(&events);
    printf("  loading: %u events\n", (unsigned)count);
    CHECK_EQ(count, 0);
    REAL_OK(qnnrt_prepare(model, "two", &run, &err), &err);
    REAL_OK(qnnrt_run_profile(run, QNNRT_PROFILE_DETAILED), qnnrt_run_error(run));
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    REAL_OK(qnnrt_run_events(run, &events, &count), qnnrt_run_error(run));
    show("detailed", events, count);
    TRY(check_events(events, count, 1));
    event = find(events, count, 400, 0);
    CHECK(event != NULL && strcmp(event->name, "GRAPH_EXECUTE") == 0
              && strcmp(event->unit_name, "us") == 0);
    event = find_node(events, count, "first");
    CHECK(event != NULL && strcmp(event->name, "_first") == 0 && event->depth == 1);
    CHECK(find_node(events, count, "_second") != NULL);
    CHECK_EQ(qnnrt_run_profile_log(run, real_join(cpu, test_tmpdir(), "cpu.log")), QNNRT_OK);
    CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_OPTRACE), QNNRT_E_UNSUPPORTED);
    CHECK_STR(qnnrt_run_error(run)->text, "has no optrace profiles");
    CHECK_STR(qnnrt_run_error(run)->hint, "HTP");
    CHECK_EQ(qnnrt_run_events(run, &events, &count), QNNRT_E_STATE);
    memset(&power, 0, sizeof power);
    power.preset = QNNRT_POWER_BURST;
    TRY(power_answers(qnnrt_get_info(model)->backend, &power, "burst", QNNRT_POWER_NOT_AVAILABLE));
    CHECK_EQ(qnnrt_power_set(qnnrt_get_info(model)->backend, &power, NULL, &err), QNNRT_E_UNSUPPORTED);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    qnnrt_profile_destroy(loading);
    loading = NULL;
    CHECK_EQ(real_seen.alive, 0);
    free(data);
}

TEST_MAIN_ARGS("real_profile", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    real_library_release();              /* in a child, before anything is opened */
    RUN(htp_basic_detailed_and_optrace);
    RUN(htp_every_step_of_a_chain);
    RUN(htp_log_for_the_viewer);
    RUN(htp_power_presets_are_all_answered);
    RUN(cpu_has_extended_events_and_no_power);
}
