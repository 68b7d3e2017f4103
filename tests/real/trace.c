/* trace.c - the trace of libQnnRef.so beside what libQnnSaver.so records of the same calls

       real_trace RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   One program makes the same calls on both through their tables: a graph, its binary, a restored
   one, a profile, and all frees. Names and order must agree. The recorder answers 0x1356 to what it
   cannot do, so results are not looked at; it frames every recording with logCreate and logFree,
   which prove nothing, and does not record questions that change nothing. Each library runs in a
   child. */
#include "real.h"
#include "ref.h"
#include <limits.h>

enum { DUMMY = 0x1356 };

typedef struct trace_case { char library[PATH_MAX], work[PATH_MAX], error[64]; } trace_case;

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

/* 0, or the number of the call that neither worked nor was a dummy. */
static int work(const ref_api *q)
{
    static float values[6], results[6];
    static unsigned char room[65536];
    q_handle backend, device, context, graph, profile, restored, again;
    q_tensor x = tensor("x", Q_APP_WRITE, NULL, 0), y = tensor("y", Q_APP_READ, NULL, 0), in[2];
    q_tensor w = tensor("w", Q_STATIC, values, sizeof values);
    uint64_t bytes = sizeof room, written = 0;
    q_op op;
    int step = 0;
#define STEP(call)                                      \
    do {                                                \
        const q_code code = (call);                     \
        ++step;                                         \
        if (code != 0 && code != DUMMY) return step;    \
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

static int saver_child(void *data)
{
    const trace_case *c = (const trace_case *)data;
    ref_api saver;
    void *symbol;
    int step;
    memset(&saver, 0, sizeof saver);
    if (chdir(c->work) != 0) return 1;
    saver.library = dlopen(c->library, RTLD_NOW | RTLD_LOCAL);
    symbol = saver.library != NULL ? dlsym(saver.library, "QnnInterface_getProviders") : NULL;
    if (symbol == NULL) { printf("%s\n", dlerror()); return 2; }
    memcpy((void *)&saver.get_core, (const void *)&symbol, sizeof symbol);
    ref_slots_of(&saver);
    step = work(&saver);
    if (step != 0) return 100 + step;
    exit(0);           /* the recorder closes its files when the process ends in order */
}

/* Names of calls in a text, each behind mark and before a bracket, with a blank between them. */
static void names_of(const char *text, const char *mark, char *names, size_t size)
{
    const char *at = text;
    size_t used = 0;
    while (*at != '\0') {
        size_t name = 0;
        if (mark[0] != '\0') {
            at = strstr(at, mark);
            if (at == NULL) break;
            at += strlen(mark);
        }
        while ((at[name] >= 'a' && at[name] <= 'z') || (at[name] >= 'A' && at[name] <= 'Z')) ++name;
        if (at[name] == '(' && strncmp(at, "log", 3) != 0) {
            CHECK(used + name + 2 < size);
            memcpy(names + used, at, name);
            used += name;
            names[used++] = ' ';
        }
        if (mark[0] == '\0') {
            at = strchr(at, '\n');
            if (at == NULL) break;
            ++at;
        }
    }
    names[used > 0 ? used - 1 : 0] = '\0';
}

TEST(the_trace_has_the_calls_that_the_recorder_writes)
{
    static trace_case c;
    static char saved[8192], traced[8192];
    char path[PATH_MAX + 64], *text;
    int status;
    CHECK(realpath(test_arg(0), path) != NULL);
    snprintf(c.library, sizeof c.library, "%.4000s/libQnnSaver.so", path);
    CHECK(realpath(test_tmpdir(), c.work) != NULL);
    snprintf(path, sizeof path, "%s/log.txt", c.work);
    status = real_fork(saver_child, &c, 60, path);
    if (status != 0) printf("  status %d\n", status);
    CHECK_EQ(status, 0);
    snprintf(path, sizeof path, "%s/saver_output/saver_output.c", c.work);
    text = (char *)test_read_file(path, NULL);
    if (text == NULL) {      /* aarch64: without a folder of its own */
        snprintf(path, sizeof path, "%s/saver_output.c", c.work);
        text = (char *)test_read_file(path, NULL);
    }
    CHECK(text != NULL);
    TRY(names_of(text, "interface.", saved, sizeof saved));
    free(text);

    ref_begin("");
    ref_ask("trace on");
    CHECK_EQ(work(&ref), 0);
    ref_ask("trace off");
    TRY(names_of(ref_ask("trace"), "", traced, sizeof traced));
    CHECK_EQ(ref_ask("ledger")[0], '\0');
    if (strcmp(saved, traced) != 0) printf("  recorded: %s\n  traced:   %s\n", saved, traced);
    CHECK(strcmp(saved, traced) == 0);
    CHECK_STR(traced, "contextCreateFromBinary graphRetrieve graphExecute contextFree contextFree");
}

TEST_MAIN_ARGS("real_trace", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    RUN(the_trace_has_the_calls_that_the_recorder_writes);
}
