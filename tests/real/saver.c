/* saver.c - the order in which the vendor is called, as libQnnSaver.so records it

       real_saver RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   The recorder is a backend that writes every call as a line of C to saver_output/saver_output.c
   below the current folder, and returns success. It runs in a child with a folder of its own.
   Executes write nothing. Every record begins with logCreate and ends with logFree, even when they
   were not called, so these two calls are not checked here. */
#include "real.h"
#include "qnnrt_device.h"
#include <limits.h>

typedef struct saver_case {
    char release[PATH_MAX], folder[PATH_MAX], work[PATH_MAX];
    qnnrt_mem_kind memory;
} saver_case;

static int saver_child(void *data)
{
    const saver_case *c = (const saver_case *)data;
    qnnrt_desc desc;
    qnnrt_prepare_desc how;
    qnnrt_error err;
    qnnrt *model;
    qnnrt_run *run;
    const qnnrt_transfer_info *list;
    size_t count;
    char backend[PATH_MAX + 32], system_path[PATH_MAX + 32];
    int i;
    if (chdir(c->work) != 0) return 1;
    memset(&desc, 0, sizeof desc);
    memset(&how, 0, sizeof(how));
    snprintf(backend, sizeof backend, "%s/libQnnSaver.so", c->release);
    snprintf(system_path, sizeof system_path, "%s/libQnnSystem.so", c->release);
    desc.backend_desc.path = backend;
    desc.system_path = system_path;
    qnnrt_device_memory("memfd", &how.mem);
    how.mem.kind = c->memory;
    if (qnnrt_open(c->folder, &desc, &model, &err) != QNNRT_OK) { printf("%s\n", err.text); return 2; }
    if (qnnrt_prepare_with(model, NULL, &how, &run, &err) != QNNRT_OK) { printf("%s\n", err.text); return 3; }
    if (qnnrt_run_transfers(run, &list, &count) != QNNRT_OK) return 5;
    for (i = 0; i < (int)count && c->memory != QNNRT_MEM_HEAP; ++i)
        if (list[i].registered || strstr(list[i].reason, "0x3e8") == NULL) { printf("%s\n", list[i].reason); return 7; }
    for (i = 0; i < 2; ++i)
        if (qnnrt_exec(run) != QNNRT_OK) { printf("%s\n", qnnrt_run_error(run)->text); return 4; }
    qnnrt_run_destroy(run);
    if (qnnrt_close(model) != QNNRT_OK) return 6;
    exit(0);           /* the recorder closes its files when the process ends in order */
}

/* Read the names of the calls in saver_output.c, each after "interface.", with a blank between them. */
static void calls_of(const char *folder, char *calls, size_t size)
{
    char path[PATH_MAX + 64], *text, *at;
    size_t used = 0;
    snprintf(path, sizeof path, "%s/saver_output/saver_output.c", folder);
    text = (char *)test_read_file(path, NULL);
    if (text == NULL) {      /* on aarch64 the recorder makes no folder of its own */
        snprintf(path, sizeof path, "%s/saver_output.c", folder);
        text = (char *)test_read_file(path, NULL);
    }
    CHECK(text != NULL);
    for (at = text; (at = strstr(at, "interface.")) != NULL;) {
        size_t name = 0;
        at += strlen("interface.");
        while ((at[name] >= 'a' && at[name] <= 'z') || (at[name] >= 'A' && at[name] <= 'Z')) ++name;
        if (at[name] != '(') continue;
        if (strncmp(at, "logCreate(", name + 1) == 0 || strncmp(at, "logFree(", name + 1) == 0) continue;
        CHECK(used + name + 2 < size);
        memcpy(calls + used, at, name);
        used += name;
        calls[used++] = ' ';
    }
    calls[used > 0 ? used - 1 : 0] = '\0';
    free(text);
}

static void record(const char *data_folder, qnnrt_mem_kind memory, char *calls, size_t size)
{
    static saver_case c;
    char folder[1024], log[1024];
    int status;
    CHECK(realpath(test_arg(0), c.release) != NULL);
    CHECK(realpath(real_join(folder, test_arg(1), data_folder), c.folder) != NULL);
    CHECK(realpath(test_tmpdir(), c.work) != NULL);
    snprintf(log, sizeof log, "%.1000s/log.txt", c.work);
    c.memory = memory;
    status = real_fork(saver_child, &c, 60, log);
    if (status != 0) {
        char *text = (char *)test_read_file(log, NULL);
        printf("  status %d: %s\n", status, text != NULL ? text : "");
        free(text);
    }
    CHECK_EQ(status, 0);
    TRY(calls_of(c.work, calls, size));
    printf("  %s: %s\n", data_folder, calls);
}

TEST(one_context)
{
    char calls[4096];
    TRY(record("ctx/qairt2.47/mlp_u8", QNNRT_MEM_HEAP, calls, sizeof calls));
    CHECK(strcmp(calls, "backendCreate deviceCreate contextCreateFromBinary graphRetrieve graphExecute"
                        " graphExecute contextFree deviceFree backendFree") == 0);
}

/* Open the library in a child, too, because the recorder writes from the first call on. */
static int release_child(void *data)
{
    const saver_case *c = (const saver_case *)data;
    qnnrt_backend_desc desc;
    qnnrt_backend *backend;
    qnnrt_error err;
    char path[PATH_MAX + 32];
    if (chdir(c->work) != 0) return 0;
    memset(&desc, 0, sizeof desc);
    snprintf(path, sizeof path, "%s/libQnnSaver.so", c->release);
    desc.path = path;
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) { printf("%s\n", err.text); return 0; }
    return real_release(qnnrt_backend_get_info(backend)->build_id) - 2000;
}

static int saver_release(void)
{
    static saver_case c;
    if (realpath(test_arg(0), c.release) == NULL || realpath(test_tmpdir(), c.work) == NULL) return 0;
    return 2000 + real_fork(release_child, &c, 60, NULL);
}

/* Three shards are created in order, executed in order and freed in reverse. */
TEST(three_contexts)
{
    char calls[4096], *at;
    /* The shards are newer than the library, which refuses them. */
    if (saver_release() < 2051) return;
    TRY(record("ctx/qairt2.51/chain_of_three", QNNRT_MEM_HEAP, calls, sizeof calls));
    at = strstr(calls, "contextCreateFromBinary");
    CHECK(at != NULL);
    CHECK(strcmp(at, "contextCreateFromBinary graphRetrieve contextCreateFromBinary graphRetrieve contextCreateFromBinary"
                     " graphRetrieve graphExecute graphExecute graphExecute graphExecute graphExecute graphExecute"
                     " contextFree contextFree contextFree deviceFree backendFree") == 0);
}

/* The recorder refuses to register memory, and does not record that; all other calls are the same. */
TEST(refused_registrations_change_no_call)
{
    char calls[4096], shared[4096];
    TRY(record("ctx/qairt2.47/mlp_u8", QNNRT_MEM_HEAP, calls, sizeof calls));
    TRY(record("ctx/qairt2.47/mlp_u8", QNNRT_MEM_PROVIDER, shared, sizeof shared));
    CHECK(strcmp(calls, shared) == 0);
}

TEST_MAIN_ARGS("real_saver", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    RUN(one_context);
    RUN(three_contexts);
    RUN(refused_registrations_change_no_call);
}
