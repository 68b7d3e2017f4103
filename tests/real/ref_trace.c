/* ref_trace.c - libQnnRef.so beside the genuine libraries: its trace against the record of
   libQnnSaver.so, and the files of one given to the other

       real_ref_trace RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   Two parts of the work use qnnrt.h: build and save; then open, prepare, execute, close. A third
   part uses the tables for calls that qnnrt.h does not make on a recorder: profiles, and a graph
   that is executed where it was built. Calls, their order, their contexts, and the names of graphs,
   tensors and nodes must be equal, except for the rows of the table. Each part runs in its own
   child, because both libraries write their record when their process exits.

   Libraries refuse a file of another backend before they trust its bytes. */
#include "real.h"
#include "qnnrt_builder.h"
#include "ref.h"
#include "life.h"
#include <limits.h>

typedef enum work_part { BUILD, OPEN, TABLES, PARTS } work_part;
enum { IN_BUILD = 1 << BUILD, IN_OPEN = 1 << OPEN, IN_ALL = (1 << PARTS) - 1 };

/* Calls that are not compared: the parts of the work in which each library makes them, and the reason. */
static const struct { const char *call; int ref, saver; const char *why; } differences[] = {
    { "logCreate", IN_BUILD | IN_OPEN, IN_ALL, "the Saver frames every recording with it" },
    { "logFree",   IN_BUILD | IN_OPEN, IN_ALL, "the same" },
    { "backendGetBuildId", IN_BUILD | IN_OPEN, 0, "the Saver answers it and records nothing" },
    { "contextGetBinary", IN_BUILD, 0, "the Saver has no size to give, so qnnrt.h does not ask" },
    { "systemContextCreate", IN_OPEN, 0, "metadata is of another interface" },
    { "systemContextGetBinaryInfo", IN_OPEN, 0, "the same" },
    { "systemContextFree", IN_OPEN, 0, "the same" }
};
enum { DIFFERENCES = sizeof differences / sizeof differences[0], LINES = 200, LINE = 120 };

typedef struct work {
    char saver[PATH_MAX + 32], ref_library[PATH_MAX], files[PATH_MAX], folder[PATH_MAX];
    int  on_saver;
    work_part part;
} work;

typedef struct calls {
    work_part part;
    char lines[LINES][LINE];
    int  count, seen[DIFFERENCES];
} calls;

static q_tensor tensor(const char *name, uint32_t type, void *data, size_t bytes)
{
    static uint32_t dims[] = { 2, 3 };
    q_tensor t;
    memset(&t, 0, sizeof t);
    t.version = 1;
    t.v.name = name;
    t.v.type = type;
    t.v.dtype = 0x232;
    t.v.quant.definition = t.v.quant.encoding = Q_UNDEFINED;
    t.v.rank = 2;
    t.v.dims = dims;
    t.v.u.buffer.data = data;
    t.v.u.buffer.bytes = (uint32_t)bytes;
    return t;
}

/* Return 0, or the number of the call that failed. The recorder returns DUMMY for what it does not
   support. */
static int by_tables(const ref_api *q)
{
    enum { DUMMY = 0x1356 };
    static float values[6], results[6];
    static unsigned char room[65536];
    q_handle backend, device, context, graph, profile, restored, again;
    q_tensor x = tensor("x", Q_APP_WRITE, NULL, 0), y = tensor("y", Q_APP_READ, NULL, 0), in[2];
    q_tensor w = tensor("w", Q_STATIC, values, sizeof values);
    uint64_t bytes = sizeof room, written = 0;
    q_op op;
    int step = 0;
#define STEP(call)                                                                                 \
    do {                                                                                           \
        const q_code code = (call);                                                                \
        ++step;                                                                                    \
        if (code != 0 && code != DUMMY) return step;                                               \
    } while (0)
    STEP(q->backend_create(NULL, NULL, &backend));
    STEP(q->device_create(NULL, NULL, &device));
    STEP(q->context_create(backend, device, NULL, &context));
    STEP(q->graph_create(context, "g", NULL, &graph));
    STEP(q->graph_tensor(graph, &x));
    STEP(q->graph_tensor(graph, &w));
    STEP(q->graph_tensor(graph, &y));
    in[0] = x;
    in[1] = w;
    memset(&op, 0, sizeof op);
    op.version = 1;
    op.v1.name = "add";
    op.v1.package = "qti.aisw";
    op.v1.type = "ElementWiseAdd";
    op.v1.input_count = 2;
    op.v1.inputs = in;
    op.v1.output_count = 1;
    op.v1.outputs = &y;
    STEP(q->add_node(graph, op));
    STEP(q->profile_create(backend, 1, &profile));
    STEP(q->finalize(graph, profile, NULL));
    x.v.u.buffer.data = values;
    y.v.u.buffer.data = results;
    x.v.u.buffer.bytes = y.v.u.buffer.bytes = sizeof values;
    STEP(q->execute(graph, &x, 1, &y, 1, profile, NULL));
    STEP(q->binary_size(context, &bytes));
    STEP(q->binary(context, room, sizeof room, &written));
    if (written == 0) written = sizeof room;
    STEP(q->load(backend, device, NULL, room, written, &restored, NULL));
    STEP(q->retrieve(restored, "g", &again));
    STEP(q->execute(again, &x, 1, &y, 1, NULL, NULL));
    STEP(q->context_free(restored, NULL));
    STEP(q->context_free(context, NULL));
    STEP(q->profile_free(profile));
    STEP(q->device_free(device));
    STEP(q->backend_free(backend));
    return 0;
}

static int tables_child(const char *path)
{
    ref_api api;
    void *symbol;
    int step;
    memset(&api, 0, sizeof api);
    api.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    symbol = api.library != NULL ? dlsym(api.library, "QnnInterface_getProviders") : NULL;
    if (symbol == NULL) {
        printf("%s\n", dlerror());
        return 2;
    }
    memcpy((void *)&api.get_core, (const void *)&symbol, sizeof symbol);
    ref_slots_of(&api);
    step = by_tables(&api);
    if (step != 0) return 100 + step;
    exit(0);
}

static int work_child(void *data)
{
    const work *w = (const work *)data;
    static life l;
    if (chdir(w->folder) != 0) return 1;
    setenv("QNNREF_FAULTS", "core=2.23", 1);     /* every release accepts files of this version */
    setenv("QNNREF_LEDGER", "strict", 1);
    if (!w->on_saver) setenv("QNNREF_TRACE", "trace.txt", 1);
    if (w->part == TABLES) return tables_child(w->on_saver ? w->saver : w->ref_library);
    life_start(&l, w->files);
    l.library = w->on_saver ? w->saver : w->ref_library;
    l.system = w->ref_library;
    l.go_on = 1;
    if (w->part == OPEN) life_open(&l);
    else life_make(&l);
    printf("%s: %s\n", l.stage, l.stage[0] != '\0' ? l.err.text : "");
    /* The recorder does not compute, and makes no binaries. */
    if (strcmp(l.stage, w->on_saver && w->part == BUILD ? "save" : "") != 0 || (l.wrong && !w->on_saver))
        return 2;
    if (l.closed != QNNRT_OK) return 3;
    exit(0);
}

static void add_call(calls *c, const char *name, int length, const char *context, const char *about)
{
    for (int i = 0; i < DIFFERENCES; ++i)
        if (((differences[i].ref | differences[i].saver) >> c->part & 1) != 0
            && strncmp(differences[i].call, name, (size_t)length) == 0
            && differences[i].call[length] == '\0') {
            ++c->seen[i];
            return;
        }
    CHECK(c->count < LINES);
    snprintf(c->lines[c->count++], LINE, "%.*s%s%s%s%s", length, name,
             context[0] != '\0' ? " of context " : "", context,
             about[0] != '\0' ? " " : "", about);
}

/* Copy the text between `from` and `until`, after `before`. */
static const char *cut(char out[80], const char *text, const char *before, char until)
{
    const char *at = strstr(text, before);
    const char *end = at != NULL ? strchr(at + strlen(before), until) : NULL;
    snprintf(out, 80, "%.*s", end != NULL ? (int)(end - at) - (int)strlen(before) : 0,
             end != NULL ? at + strlen(before) : "");
    return out;
}

static int is(const char *line, const char *call)
{
    return strncmp(line, call, strlen(call)) == 0 && line[strlen(call)] == '(';
}

/* graphCreate(context 1, prefill, 1 configs) -> 0x0 graph 1 */
static void read_trace(char *text, calls *c)
{
    char *line, *next;
    for (line = text; *line != '\0'; line = next) {
        char context[80] = "", about[80] = "", second[80];
        next = strchr(line, '\n');
        CHECK(next != NULL);
        *next++ = '\0';
        CHECK_STR(line, " -> 0x0");
        cut(second, line, ", ", is(line, "graphCreate") ? ',' : ')');
        if (strncmp(strchr(line, '('), "(context ", 9) == 0)
            snprintf(context, sizeof context, "%ld", strtol(strchr(line, '(') + 9, NULL, 10));
        if (is(line, "graphCreate") || is(line, "graphRetrieve") || is(line, "graphAddNode")
            || is(line, "tensorCreateGraphTensor") || is(line, "backendValidateOpConfig"))
            strcpy(about, second);
        TRY(add_call(c, line, (int)strcspn(line, "("), context, about));
    }
}

/* The recorder writes C. Names are in the literals before a call:
       Qnn_TensorV1_t T_v1 = {0, "x", ...   tensorCreateGraphTensor(G, &T)
       Qnn_OpConfigV1_t N_v1 = {"project", "qti.aisw", "MatMul", ...   graphAddNode(G, N) */
static void read_recording(char *text, calls *c)
{
    char *line, *next, tensor[80] = "", node[80] = "";
    for (line = text; *line != '\0'; line = next) {
        char context[80] = "", about[80] = "", type[80], name[80];
        const char *call;
        next = line + strcspn(line, "\n");
        if (*next != '\0') *next++ = '\0';
        if (strstr(line, "Qnn_TensorV1_t ") != NULL || strstr(line, "Qnn_TensorV2_t ") != NULL)
            cut(tensor, line, ", \"", '"');
        if (strstr(line, "Qnn_OpConfigV1_t ") != NULL) {
            cut(name, line, "{\"", '"');
            cut(type, strstr(line, "\"qti.aisw\""), ", \"", '"');
            snprintf(node, sizeof node, "%.38s %.38s", type, name);
        }
        call = strstr(line, "interface.");
        if (call == NULL || strchr(call, '(') == NULL) continue;
        call += strlen("interface.");
        if (strncmp(strchr(call, '('), "(context_", 9) == 0) {
            char *end;
            const long number = strtol(strchr(call, '(') + 9, &end, 10);
            if (*end == ',' || *end == ')') snprintf(context, sizeof context, "%ld", number + 1);
        }
        if (is(call, "graphCreate") || is(call, "graphRetrieve")) cut(about, call, "\"", '"');
        else if (is(call, "tensorCreateGraphTensor")) strcpy(about, tensor);
        else if (is(call, "graphAddNode") || is(call, "backendValidateOpConfig"))
            strcpy(about, node);
        TRY(add_call(c, call, (int)strcspn(call, "("), context, about));
    }
}

/* Do the work on one of the two libraries, and read its record. */
static void run_one(work *w, calls *c)
{
    char path[PATH_MAX + 64], *text;
    int status;
    memset(c, 0, sizeof *c);
    c->part = w->part;
    CHECK(realpath(test_tmpdir(), w->folder) != NULL);
    snprintf(path, sizeof path, "%s/log.txt", w->folder);
    status = real_fork(work_child, w, 60, path);
    if (status != 0) {
        text = (char *)test_read_file(path, NULL);
        printf("  status %d: %s\n", status, text != NULL ? text : "");
        free(text);
    }
    CHECK_EQ(status, 0);
    snprintf(path, sizeof path, "%s/%s", w->folder,
             w->on_saver ? "saver_output/saver_output.c" : "trace.txt");
    text = (char *)test_read_file(path, NULL);
    /* On aarch64 the recorder makes no folder of its own. */
    if (text == NULL && w->on_saver) {
        snprintf(path, sizeof path, "%s/saver_output.c", w->folder);
        text = (char *)test_read_file(path, NULL);
    }
    CHECK(text != NULL);
    if (w->on_saver) read_recording(text, c);
    else read_trace(text, c);
    free(text);
}

static void compare(work_part part, int least)
{
    static work w;
    static calls ours, genuine;
    static char files[PATH_MAX];
    memset(&w, 0, sizeof w);
    w.part = part;
    CHECK(realpath(TEST_REF_LIB, w.ref_library) != NULL);
    CHECK(realpath(test_arg(0), w.saver) != NULL);
    strcat(w.saver, "/libQnnSaver.so");
    if (part == BUILD) CHECK(realpath(test_tmpdir(), files) != NULL);
    strcpy(w.files, files);
    TRY(run_one(&w, &ours));
    w.on_saver = 1;
    TRY(run_one(&w, &genuine));
    printf("  %d calls on libQnnRef.so, %d on libQnnSaver.so\n", ours.count, genuine.count);
    for (int i = 0; i < ours.count || i < genuine.count; ++i)
        if (strcmp(ours.lines[i], genuine.lines[i]) != 0) {
            printf("  call %d differs\n    Ref:   %s\n    Saver: %s\n", i, ours.lines[i],
                   genuine.lines[i]);
            CHECK(0);
        }
    CHECK(ours.count >= least);
    /* Fail when a row of the table is no longer a difference. */
    for (int i = 0; i < DIFFERENCES; ++i) {
        CHECK_EQ(ours.seen[i] > 0, differences[i].ref >> part & 1);
        CHECK_EQ(genuine.seen[i] > 0, differences[i].saver >> part & 1);
    }
}

TEST(building_and_saving_makes_the_same_calls) { compare(BUILD, 50); }
TEST(opening_and_executing_makes_the_same_calls) { compare(OPEN, 18); }
TEST(profiles_and_executing_what_was_built_make_the_same_calls) { compare(TABLES, 21); }

/* Open one file on a backend, with this source of metadata. */
typedef struct mixed {
    char        file[PATH_MAX], backend[PATH_MAX + 32], system[PATH_MAX + 32];
    qnnrt_error err;
} mixed;

static int mixed_child(void *data)
{
    mixed *m = (mixed *)data;
    qnnrt_file file;
    qnnrt_desc desc;
    qnnrt *model;
    memset(&file, 0, sizeof file);
    memset(&desc, 0, sizeof desc);
    file.path = m->file;
    desc.files = &file;
    desc.file_count = 1;
    desc.backend_desc.path = m->backend;
    desc.system_path = m->system;
    if (qnnrt_open(NULL, &desc, &model, &m->err) == QNNRT_OK) return 1;
    printf("%s\n%s\nhint: %s\n", qnnrt_result_name(m->err.code), m->err.text, m->err.hint);
    return 0;
}

static void refused(mixed *m, const char *result, const char *words)
{
    char log[PATH_MAX + 32], *text;
    int status;
    snprintf(log, sizeof log, "%s/log.txt", test_tmpdir());
    status = real_fork(mixed_child, m, 60, log);
    text = (char *)test_read_file(log, NULL);
    CHECK(text != NULL);
    CHECK_EQ(status, 0);
    CHECK_STR(text, words);
    CHECK_STR(text, result);
    free(text);
}

TEST(files_are_refused_by_libraries_they_were_not_made_for)
{
    static const char *const backends[] = { "libQnnHtp.so", "libQnnCpu.so" };
    static life l;
    static mixed m;
    char path[1024];
    size_t i;
    setenv("QNNREF_FAULTS", "core=2.23", 1);
    life_start(&l, test_tmpdir());
    life_make(&l);
    unsetenv("QNNREF_FAULTS");
    CHECK(l.stage[0] == '\0');
    for (i = 0; i < 2; ++i) {
        if (!real_exists(real_library(path, backends[i])) || real_no_device()) continue;
        snprintf(m.file, sizeof m.file, "%s", life_file(&l, 0));
        snprintf(m.backend, sizeof m.backend, "%s", path);
        snprintf(m.system, sizeof m.system, "%s", real_library(path, "libQnnSystem.so"));
        TRY(refused(&m, "QNNRT_E_FORMAT",
                    "hint: Open it with libQnnRef.so"));
        snprintf(m.system, sizeof m.system, "%s", TEST_REF_LIB);
        TRY(refused(&m, "QNNRT_E_MISMATCH", "was compiled for backend"));
    }
    snprintf(m.backend, sizeof m.backend, "%s", TEST_REF_LIB);
    snprintf(m.file, sizeof m.file, "%s",
             real_join(path, test_arg(1), "ctx/qairt2.47/mlp_u8/forward_0.bin"));
    snprintf(m.system, sizeof m.system, "%s", real_library(path, "libQnnSystem.so"));
    TRY(refused(&m, "QNNRT_E_MISMATCH", "was compiled for backend 6"));
    snprintf(m.system, sizeof m.system, "%s", TEST_REF_LIB);
    TRY(refused(&m, "QNNRT_E_FORMAT", "of another backend"));
}

TEST_MAIN_ARGS("real_ref_trace", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    RUN(building_and_saving_makes_the_same_calls);
    RUN(opening_and_executing_makes_the_same_calls);
    RUN(profiles_and_executing_what_was_built_make_the_same_calls);
    RUN(files_are_refused_by_libraries_they_were_not_made_for);
}
