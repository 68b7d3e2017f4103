/* ref_trace.c - libQnnRef.so beside the genuine libraries: its trace and what libQnnSaver.so
   records, and the files of one given to the other

       real_ref_trace RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   One piece of work through qnnrt.h, twice: build and save; then open, prepare, execute, close.
   Calls, their order, the contexts they are about, and the names of graphs, tensors and nodes must
   be equal, but for what the table says.
   Each half runs in a child of its own: both write when their process ends in order.

   A file is refused by libraries that it was not made for before its bytes are trusted. */
#define QNNRT_COMPOSE
#include "real.h"
#include "ref.h"
#include "life.h"
#include <limits.h>

/* Calls that are in one of the two only, and why. */
static const struct { const char *call, *why; } differences[] = {
    { "logCreate",                  "the Saver frames every recording with it, called or not" },
    { "logFree",                    "the same" },
    { "backendGetBuildId",          "the Saver answers it and records nothing" },
    { "contextGetBinary",           "the Saver has no size to give, so it is not asked" },
    { "systemContextCreate",        "metadata is of another interface, which nothing records" },
    { "systemContextGetBinaryInfo", "the same" },
    { "systemContextFree",          "the same" }
};
enum { DIFFERENCES = sizeof differences / sizeof differences[0], LINES = 200, LINE = 120 };

typedef struct work {
    char saver[PATH_MAX + 32], ref_library[PATH_MAX], files[PATH_MAX], folder[PATH_MAX];
    int  on_saver, open;
} work;

typedef struct calls { char lines[LINES][LINE]; int count, seen[DIFFERENCES]; } calls;

static int work_child(void *data)
{
    const work *w = (const work *)data;
    static life l;
    if (chdir(w->folder) != 0) return 1;
    setenv("QNNREF_FAULTS", "core=2.23", 1);     /* files that every release takes */
    if (!w->on_saver) setenv("QNNREF_TRACE", "trace.txt", 1);
    life_start(&l, w->files);
    l.library = w->on_saver ? w->saver : w->ref_library;
    l.system = w->ref_library;
    l.go_on = 1;
    if (w->open) life_open(&l);
    else life_make(&l);
    printf("%s: %s\n", l.stage, l.stage[0] != '\0' ? l.err.text : "");
    /* The Saver computes nothing, and makes no binaries. */
    if (strcmp(l.stage, w->on_saver && !w->open ? "save" : "") != 0 || (l.wrong && !w->on_saver))
        return 2;
    if (l.closed != QNNRT_OK) return 3;
    exit(0);
}

static void add_call(calls *c, const char *name, int length, const char *context, const char *about)
{
    for (int i = 0; i < DIFFERENCES; ++i)
        if (strncmp(differences[i].call, name, (size_t)length) == 0
            && differences[i].call[length] == '\0') {
            ++c->seen[i];
            return;
        }
    CHECK(c->count < LINES);
    snprintf(c->lines[c->count++], LINE, "%.*s%s%s%s%s", length, name,
             context[0] != '\0' ? " of context " : "", context,
             about[0] != '\0' ? " " : "", about);
}

/* Text between `from` and `until`, after `before`. */
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

/* Do a half of the work, and read what was written about it. */
static void run_half(work *w, calls *c)
{
    char path[PATH_MAX + 64], *text;
    int status;
    memset(c, 0, sizeof *c);
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
    if (text == NULL && w->on_saver) {           /* aarch64: without a folder of its own */
        snprintf(path, sizeof path, "%s/saver_output.c", w->folder);
        text = (char *)test_read_file(path, NULL);
    }
    CHECK(text != NULL);
    if (w->on_saver) read_recording(text, c);
    else read_trace(text, c);
    free(text);
}

static void compare(int open, int least)
{
    static work w;
    static calls ours, genuine;
    static char files[PATH_MAX];
    memset(&w, 0, sizeof w);
    w.open = open;
    CHECK(realpath(TEST_REF_LIB, w.ref_library) != NULL);
    CHECK(realpath(test_arg(0), w.saver) != NULL);
    strcat(w.saver, "/libQnnSaver.so");
    if (!open) CHECK(realpath(test_tmpdir(), files) != NULL);
    strcpy(w.files, files);
    TRY(run_half(&w, &ours));
    w.on_saver = 1;
    TRY(run_half(&w, &genuine));
    printf("  %d calls on libQnnRef.so, %d on libQnnSaver.so\n", ours.count, genuine.count);
    for (int i = 0; i < ours.count || i < genuine.count; ++i)
        if (strcmp(ours.lines[i], genuine.lines[i]) != 0) {
            printf("  call %d differs\n    Ref:   %s\n    Saver: %s\n", i, ours.lines[i],
                   genuine.lines[i]);
            CHECK(0);
        }
    CHECK(ours.count >= least);
    /* A row of the table that is no difference any more should go. */
    for (int i = 0; i < DIFFERENCES; ++i) {
        const char *call = differences[i].call;
        const int system = strncmp(call, "system", 6) == 0, log = strncmp(call, "log", 3) == 0;
        const int binary = strcmp(call, "contextGetBinary") == 0;
        const int expected = system ? open : binary ? !open : 1;
        CHECK_EQ(ours.seen[i] > 0, expected);
        CHECK_EQ(genuine.seen[i] > 0, log);
    }
}

TEST(building_and_saving_makes_the_same_calls) { compare(0, 50); }
TEST(opening_and_executing_makes_the_same_calls) { compare(1, 18); }

/* One file, a backend, and what gives the metadata. */
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
    desc.backend_path = m->backend;
    desc.system_path = m->system;
    if (qnnrt_open(NULL, &desc, &model, &m->err) == QNNRT_OK) return 1;
    printf("%s\n%s\n", qnnrt_result_name(m->err.code), m->err.text);
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
                    "context binary of libQnnRef.so: open it with that library"));
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
    RUN(files_are_refused_by_libraries_they_were_not_made_for);
}
