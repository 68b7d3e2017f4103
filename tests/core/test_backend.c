/* test_backend.c - rooms >>backend >>system >>codes >>log: a vendor library that is missing, wrong,
   old, failing or hostile.

   The fake library (tests/fake/README) fails on demand. Every failing call is made twice: with an
   error filled with 0xFF, and with error NULL. Afterwards no object of the library may be alive. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_PROFILE_IMPLEMENTATION
#include "../../qnnrt.h"
#include "qnnrt_profile.h"
#include "qnnrt_explain.h"
#include "test.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>

/* ---- the fake ------------------------------------------------------------------------------- */

typedef struct fake {
    void (*stats)(uint64_t *);
    void (*reset)(void);
    const char *(*trace)(void);
    uint64_t before;                      /* handles of tests that failed before */
} fake;

static fake vendor;

static void fake_symbol(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) abort();
    memcpy(function, &symbol, sizeof(symbol));
}

static uint64_t fake_live(const fake *f)
{
    uint64_t stats[16];
    f->stats(stats);
    return stats[0] + stats[1] + stats[2] + stats[3] + stats[4] + stats[10] + stats[7];
}

/* Open a copy of the fake, which has its own counters. */
static void fake_open(fake *f, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) { printf("%s\n", dlerror()); abort(); }
    fake_symbol(library, "fake_qnn_stats", (void *)&f->stats);
    fake_symbol(library, "fake_qnn_reset", (void *)&f->reset);
    fake_symbol(library, "fake_qnn_trace", (void *)&f->trace);
    f->before = fake_live(f);
}

static void fake_begin(const char *knobs)
{
    if (vendor.stats == NULL) fake_open(&vendor, TEST_FAKE_LIB);
    setenv("QNNFAKE", knobs, 1);
    vendor.reset();
    vendor.before = fake_live(&vendor);
}

static uint64_t fake_stat(int index)
{
    uint64_t stats[16];
    vendor.stats(stats);
    return stats[index];
}

#define LEDGER_EMPTY() CHECK_EQ(fake_live(&vendor), vendor.before)

/* ---- models --------------------------------------------------------------------------------- */

#define PADDING "# a context binary has at least 64 bytes, and so has this one\n"
#define HEAD    "FAKEQNN 1\nbackend 6\nbuild v2.30\ncore 2 23 0\nbackendapi 5 30 0\n" PADDING
#define ONE     HEAD "graph fwd\nin ids 1 0032 2 1 4 -\nout logits 2 0232 2 1 8 -\n"
#define FIRST   HEAD "graph fwd\nin ids 1 0032 2 1 4 -\nout hidden 2 0232 2 1 8 -\n"
#define SECOND  HEAD "graph fwd\nin hidden 3 0232 2 1 8 -\nout logits 4 0232 2 1 8 -\n"

static qnnrt_file block(const char *name, const char *text)
{
    qnnrt_file file;
    memset(&file, 0, sizeof(file));
    file.path = name;
    file.data = text;
    file.bytes = strlen(text);
    return file;
}

/* Set desc.files to one model with one shard for the fake; valid until the next call. */
static qnnrt_desc one_shard(void)
{
    static qnnrt_file file;
    qnnrt_desc desc;
    memset(&desc, 0, sizeof(desc));
    file = block("one.bin", ONE);
    desc.files = &file;
    desc.file_count = 1;
    desc.backend_desc.path = desc.system_path = TEST_FAKE_LIB;
    return desc;
}

static qnnrt_desc two_shards(void)
{
    static qnnrt_file files[2];
    qnnrt_desc desc = one_shard();
    files[0] = block("first.bin", FIRST);
    files[1] = block("second.bin", SECOND);
    desc.files = files;
    desc.file_count = 2;
    return desc;
}

static qnnrt *const somewhere = (qnnrt *)&vendor;        /* an out parameter must not keep this value */

static qnnrt_result open_it(const qnnrt_desc *desc, qnnrt **model, qnnrt_error *err)
{
    *model = somewhere;
    TEST_JUNK(*err);
    return qnnrt_open(NULL, desc, model, err);
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* Return the length of the UTF-8 sequence at s, 0 when it is invalid or controls a terminal.
   Written from RFC 3629. */
static int utf8(const unsigned char *s)
{
    if (s[0] == '\n') return 1;
    if (s[0] < 0x20 || s[0] == 0x7F) return 0;
    if (s[0] < 0x80) return 1;
    if (s[0] == 0xC2) return s[1] >= 0xA0 && s[1] <= 0xBF ? 2 : 0;
    if (s[0] >= 0xC3 && s[0] <= 0xDF) return s[1] >= 0x80 && s[1] <= 0xBF ? 2 : 0;
    if (s[0] >= 0xE0 && s[0] <= 0xEF) {
        unsigned low = s[0] == 0xE0 ? 0xA0 : 0x80, high = s[0] == 0xED ? 0x9F : 0xBF;
        return s[1] >= low && s[1] <= high && s[2] >= 0x80 && s[2] <= 0xBF ? 3 : 0;
    }
    if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        unsigned low = s[0] == 0xF0 ? 0x90 : 0x80, high = s[0] == 0xF4 ? 0x8F : 0xBF;
        return s[1] >= low && s[1] <= high && s[2] >= 0x80 && s[2] <= 0xBF && s[3] >= 0x80 && s[3] <= 0xBF ? 4 : 0;
    }
    return 0;
}

static int text_is_clean(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at != 0) {
        int length = utf8(at);
        if (length == 0) {
            printf("byte 0x%02x at %d of: %s\n", *at, (int)(at - (const unsigned char *)text), text);
            return 0;
        }
        at += length;
    }
    return 1;
}

/* Check what holds for the error of any failing call. */
static void check_error(const qnnrt_error *err, qnnrt_result result)
{
    CHECK(result != QNNRT_OK);
    CHECK_EQ(err->code, result);
    CHECK(memchr(err->text, 0, sizeof(err->text)) != NULL);
    CHECK(memchr(err->hint, 0, sizeof(err->hint)) != NULL);
    CHECK(strlen(err->text) > 20);
    CHECK(text_is_clean(err->hint));
    CHECK(strstr(err->text, "(null)") == NULL);
    CHECK(text_is_clean(err->text));
}

/* ---- a host --------------------------------------------------------------------------------- */

/* Count the calls of the hooks and keep the lines of the log. Calls of the library without the
   lock show in the fake's trace. */
typedef struct host {
    long   allocs, live, locks, depth, deepest;
    size_t seen;                          /* length of the trace at the last lock or unlock */
    long   outside, system_outside;       /* calls without the lock */
    char   culprit[64];
    char   lines[1 << 16];                /* "level room text\n" */
    size_t used;
    int    dirty;                         /* a line with a control character, of another form, or too many */
} host;

static void *host_alloc(void *user, size_t bytes)
{
    host *h = (host *)user;
    void *data = malloc(bytes);
    if (data == NULL) abort();
    memset(data, 0xA5, bytes);
    h->allocs += 1;
    h->live += 1;
    return data;
}

static void host_free(void *user, void *data)
{
    host *h = (host *)user;
    if (data == NULL) abort();
    h->live -= 1;
    free(data);
}

static void host_log(void *user, qnnrt_log_level level, const char *room, uint64_t vendor_code, const char *text)
{
    host *h = (host *)user;
    int length;
    (void)vendor_code;
    if (room == NULL || text == NULL || strchr(text, '\n') != NULL || !text_is_clean(text)) h->dirty = 1;
    length = snprintf(h->lines + h->used, sizeof(h->lines) - h->used, "%d %s %s\n", (int)level, room, text);
    if (length < 0 || (size_t)length >= sizeof(h->lines) - h->used) h->dirty = 1;
    else h->used += (size_t)length;
}

static void host_look(host *h)
{
    const char *trace = vendor.trace();
    trace += h->seen < strlen(trace) ? h->seen : strlen(trace);
    while (*trace != '\0') {
        size_t length = strcspn(trace, " \n");
        if (strncmp(trace, "systemContext", 13) == 0) h->system_outside += 1;
        else {
            h->outside += 1;
            snprintf(h->culprit, sizeof(h->culprit), "%.*s", (int)length, trace);
        }
        trace += strcspn(trace, "\n");
        if (*trace == '\n') ++trace;
    }
    h->seen = strlen(vendor.trace());
}

static void host_lock(void *user)
{
    host *h = (host *)user;
    h->locks += 1;
    h->depth += 1;
    if (h->depth > h->deepest) h->deepest = h->depth;
    host_look(h);
}

static void host_unlock(void *user)
{
    host *h = (host *)user;
    h->depth -= 1;
    h->seen = strlen(vendor.trace());
}

static qnnrt_hooks host_hooks(host *h)
{
    qnnrt_hooks hooks;
    memset(h, 0, sizeof(*h));
    hooks.alloc = host_alloc;
    hooks.free = host_free;
    hooks.lock = host_lock;
    hooks.unlock = host_unlock;
    hooks.log = host_log;
    hooks.alloc_user = hooks.lock_user = hooks.log_user = h;
    return hooks;
}

/* Check the state after everything is closed. */
static void check_host(host *h)
{
    host_look(h);
    CHECK_EQ(h->live, 0);
    CHECK_EQ(h->depth, 0);
    CHECK(h->deepest <= 1);
    CHECK(!h->dirty);
}

/* ---- shapes of tests ------------------------------------------------------------------------ */

/* Check that the open fails with this result, and that its text has all these parts (up to a
   NULL). */
static void fails_desc(const char *knobs, const qnnrt_desc *given, qnnrt_result expected, const char *a, const char *b,
                       const char *c)
{
    static host h;
    int with_err, with_host;
    for (with_err = 0; with_err < 2; ++with_err)
        for (with_host = 0; with_host < 2; ++with_host) {
            qnnrt_desc desc = *given;
            qnnrt_error err;
            qnnrt *model = somewhere;
            qnnrt_result result;
            TEST_JUNK(err);
            fake_begin(knobs);
            if (with_host) desc.backend_desc.hooks = host_hooks(&h);
            result = qnnrt_open(NULL, &desc, &model, with_err ? &err : NULL);
            if (result != expected)
                printf("%s: %s: %s\n", knobs, qnnrt_result_name(result), with_err && result != QNNRT_OK ? err.text : "");
            CHECK_EQ(result, expected);
            CHECK(model == NULL);
            LEDGER_EMPTY();
            if (with_err) {
                TRY(check_error(&err, result));
                if (a != NULL) CHECK_STR(TEST_TOLD(err), a);
                if (b != NULL) CHECK_STR(TEST_TOLD(err), b);
                if (c != NULL) CHECK_STR(TEST_TOLD(err), c);
            }
            if (with_host) TRY(check_host(&h));
        }
}

static void fails(const char *knobs, qnnrt_result expected, const char *a, const char *b, const char *c)
{
    qnnrt_desc desc = one_shard();
    fails_desc(knobs, &desc, expected, a, b, c);
}

/* Check that the model opens, runs once with the right answer and closes, and that the host's log
   has these parts. */
static void works_desc(const char *knobs, const qnnrt_desc *given, const char *line)
{
    static host h;
    qnnrt_desc desc = *given;
    qnnrt_error err;
    qnnrt *model;
    qnnrt_run *run;
    const unsigned char *out;
    size_t bytes = 0;
    fake_begin(knobs);
    desc.backend_desc.hooks = host_hooks(&h);
    if (open_it(&desc, &model, &err) != QNNRT_OK) printf("%s: %s\n", knobs, err.text);
    CHECK_EQ(err.code, QNNRT_OK);
    CHECK_EQ(err.vendor_code, 0);
    CHECK_EQ(err.text[0], 0);
    CHECK(model != NULL && model != somewhere);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    out = (const unsigned char *)qnnrt_data(run, "logits", &bytes);
    CHECK(out != NULL);
    CHECK_EQ(bytes, 32);
    CHECK_EQ(out[1] - out[0], 1);         /* byte k is a sum + k */
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
    if (line != NULL) CHECK_STR(h.lines, line);
    TRY(check_host(&h));
}

static void works(const char *knobs, const char *line)
{
    qnnrt_desc desc = one_shard();
    works_desc(knobs, &desc, line);
}

/* ---- folders and files ---------------------------------------------------------------------- */

/* Make a fresh folder and return its absolute path. */
static const char *folder(char out[4096])
{
    const char *path = test_tmpdir();
    char here[2048];
    if (path[0] == '/') snprintf(out, 4096, "%s", path);
    else if (getcwd(here, sizeof(here)) != NULL) snprintf(out, 4096, "%s/%s", here, path);
    else abort();
    return out;
}

static void copy_file(const char *from, const char *to)
{
    size_t bytes;
    void *data = test_read_file(from, &bytes);
    CHECK(data != NULL);
    test_write_file(to, data, bytes);
    free(data);
}

/* Write the fake as a backend without a system interface: the symbol has another name. */
static void copy_backend_only(const char *to)
{
    static const char symbol[] = "QnnSystemInterface_getProviders";
    size_t bytes, i, found = 0;
    char *data = (char *)test_read_file(TEST_FAKE_LIB, &bytes);
    CHECK(data != NULL);
    for (i = 0; i + sizeof(symbol) <= bytes; ++i) {
        if (memcmp(data + i, symbol, sizeof(symbol)) != 0) continue;
        data[i] = 'X';
        ++found;
    }
    test_write_file(to, data, bytes);
    free(data);
    CHECK(found > 0);
}

/* Return dir/name, in one of a few buffers. */
static const char *join(const char *dir, const char *name)
{
    static char paths[8][4096];
    static unsigned next;
    char *path = paths[next++ % 8];
    if ((size_t)snprintf(path, 4096, "%.3000s/%.1000s", dir, name) >= 4096) abort();
    return path;
}

static const char *program_folder(void)
{
    static char path[4096];
    ptrdiff_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length <= 0) abort();
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return path;
}

/* ---- finding the library -------------------------------------------------------------------- */

/* Check that qnnrt_backend_open() fails, with an error and without one. */
static void backend_fails(const char *path, qnnrt_result expected, qnnrt_error *err)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = (qnnrt_backend *)somewhere;
    qnnrt_result result;
    memset(&desc, 0, sizeof(desc));
    desc.path = path;
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, NULL), expected);
    CHECK(backend == NULL);
    backend = (qnnrt_backend *)somewhere;
    TEST_JUNK(*err);
    result = qnnrt_backend_open(&desc, &backend, err);
    CHECK(backend == NULL);
    CHECK_EQ(result, expected);
    TRY(check_error(err, result));
}

/* Check that every line after the first names a place: an absolute path or the system's search,
   each once. */
static void check_places(const char *text, const char *name, int least)
{
    char seen[8][2048];
    int count = 0, i;
    const char *line = strchr(text, '\n');
    while (line != NULL) {
        size_t length = strcspn(line + 1, "\n");
        const char *place = line + 1 + strspn(line + 1, " ");
        line = line[1 + length] == '\n' ? line + 1 + length : NULL;
        CHECK(count < 8);
        snprintf(seen[count], sizeof(seen[count]), "%.*s", (int)strcspn(place, "\n"), place);
        if (seen[count][0] != '/') CHECK_STR(seen[count], "system's search");
        CHECK_STR(seen[count], name);
        for (i = 0; i < count; ++i) CHECK(strcmp(seen[i], seen[count]) != 0);
        ++count;
    }
    CHECK(count >= least);
}

TEST(a_library_missing_by_path_is_named)
{
    qnnrt_error err;
    qnnrt_desc desc = one_shard();
    fake_begin("");
    TRY(backend_fails("./no such folder/libQnnHtp.so", QNNRT_E_LIBRARY, &err));
    CHECK_STR(err.text, "./no such folder/libQnnHtp.so");
    CHECK_STR(err.text, "No such file");
    desc.backend_desc.path = "/nowhere/at/all/libQnnHtp.so";
    TRY(fails_desc("", &desc, QNNRT_E_LIBRARY, "/nowhere/at/all/libQnnHtp.so", "No such file", NULL));
}

TEST(a_folder_as_library_is_refused)
{
    qnnrt_error err;
    char dir[4096];
    fake_begin("");
    TRY(backend_fails(folder(dir), QNNRT_E_LIBRARY, &err));
    CHECK_STR(err.text, dir);
}

TEST(a_bare_name_that_is_nowhere_lists_every_place_once)
{
    qnnrt_error err;
    fake_begin("");
    TRY(backend_fails("libqnnrt-test-absent.so", QNNRT_E_LIBRARY, &err));
    CHECK_STR(err.text, "cannot find the library libqnnrt-test-absent.so");
    CHECK_STR(err.hint, "./libqnnrt-test-absent.so");
    CHECK_STR(err.text, join(program_folder(), "libqnnrt-test-absent.so"));
    CHECK_STR(err.text, "the system's search");
    CHECK_STR(TEST_TOLD(err), "\n  hint: ");
    TRY(check_places(err.text, "libqnnrt-test-absent.so", 2));
}

TEST(the_current_folder_is_not_searched)
{
    char dir[4096], other_dir[4096], here[2048], fake_path[4096];
    qnnrt_error err;
    qnnrt_result result;
    qnnrt_backend *backend;
    qnnrt_backend_desc desc;
    qnnrt *model;
    qnnrt_desc model_desc = one_shard();
    fake_begin("");
    folder(dir);
    folder(other_dir);
    memset(&desc, 0, sizeof(desc));
    TRY(copy_file(TEST_FAKE_LIB, join(dir, "libqnnrt-test-here.so")));
    TRY(copy_file(TEST_FAKE_LIB, join(dir, "libQnnHtp.so")));
    TRY(copy_file(TEST_FAKE_LIB, join(dir, "libQnnSystem.so")));
    CHECK(getcwd(here, sizeof(here)) != NULL);
    snprintf(fake_path, sizeof(fake_path), "%s", join(other_dir, "libSomeBackend.so"));
    TRY(copy_backend_only(fake_path));
    CHECK_EQ(chdir(dir), 0);
    TEST_JUNK(err);
    desc.path = "libqnnrt-test-here.so";
    result = qnnrt_backend_open(&desc, &backend, &err);
    if (chdir(here) != 0) abort();
    CHECK_EQ(result, QNNRT_E_LIBRARY);
    TRY(check_places(err.text, "libqnnrt-test-here.so", 1));
    CHECK(strstr(err.text, join(dir, "")) == NULL);

    /* The current folder is not searched for the default name, or for the system library of a
       backend that is named by its absolute path. */
    if (chdir(dir) != 0) abort();
    TEST_JUNK(err);
    result = qnnrt_backend_open(NULL, &backend, &err);
    if (chdir(here) != 0) abort();
    CHECK_EQ(result, QNNRT_E_LIBRARY);
    CHECK(backend == NULL);
    CHECK(strstr(err.text, dir) == NULL);
    if (chdir(dir) != 0) abort();
    model_desc.backend_desc.path = fake_path;
    model_desc.system_path = NULL;
    result = open_it(&model_desc, &model, &err);
    if (chdir(here) != 0) abort();
    CHECK_EQ(result, QNNRT_E_LIBRARY);
    CHECK(model == NULL);
    CHECK(strstr(err.text, dir) == NULL);
    CHECK_STR(err.text, "libQnnSystem.so");
    LEDGER_EMPTY();
}

TEST(a_bare_name_beside_the_program_is_found)
{
    char name[64];
    const char *path;
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    qnnrt_error err;
    fake copy;
    fake_begin("");
    snprintf(name, sizeof(name), "libqnnrt-test-%ld.so", (long)getpid());
    path = join(program_folder(), name);
    TRY(copy_file(TEST_FAKE_LIB, path));
    memset(&desc, 0, sizeof(desc));
    desc.path = name;
    fake_open(&copy, path);
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) printf("%s\n", err.text);
    unlink(path);
    CHECK(backend != NULL);
    CHECK_EQ(strcmp(qnnrt_backend_get_info(backend)->path, path), 0);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    CHECK_EQ(fake_live(&copy), copy.before);
}

TEST(the_default_library_is_named_when_it_is_not_found)
{
    qnnrt_error err;
    qnnrt_backend *backend = (qnnrt_backend *)somewhere;
    qnnrt *model = somewhere;
    char dir[4096];
    qnnrt_result result;
    fake_begin("");
    TEST_JUNK(err);
    result = qnnrt_backend_open(NULL, &backend, &err);
    if (result == QNNRT_OK) {
        qnnrt_backend_close(backend);
        SKIP("this machine has a libQnnHtp.so where the system finds it");
    }
    TRY(check_error(&err, QNNRT_E_LIBRARY));
    CHECK(backend == NULL);
    CHECK_STR(err.text, "libQnnHtp.so");
    CHECK_STR(TEST_TOLD(err), "\n  hint: ");
    TRY(check_places(err.text, "libQnnHtp.so", 2));
    CHECK_EQ(qnnrt_backend_open(NULL, &backend, NULL), QNNRT_E_LIBRARY);

    folder(dir);
    CHECK(test_write_file(join(dir, "one.bin"), ONE, strlen(ONE)));
    TEST_JUNK(err);
    CHECK_EQ(qnnrt_open(dir, NULL, &model, &err), QNNRT_E_LIBRARY);
    TRY(check_error(&err, QNNRT_E_LIBRARY));
    CHECK(model == NULL);
    CHECK_STR(err.text, "libQnnHtp.so");
    CHECK_EQ(qnnrt_open(dir, NULL, &model, NULL), QNNRT_E_LIBRARY);
}

TEST(a_file_that_is_not_elf_is_refused)
{
    char dir[4096];
    const char *path;
    qnnrt_error err;
    qnnrt_desc desc = one_shard();
    fake_begin("");
    path = join(folder(dir), "libText.so");
    CHECK(test_write_file(path, ONE, strlen(ONE)));
    TRY(backend_fails(path, QNNRT_E_LIBRARY, &err));
    CHECK_STR(err.text, path);
    CHECK_STR(err.text, "ELF");
    desc.system_path = path;
    TRY(fails_desc("", &desc, QNNRT_E_LIBRARY, path, "ELF", NULL));
    CHECK(test_write_file(path, "", 0));
    TRY(backend_fails(path, QNNRT_E_LIBRARY, &err));
    CHECK_STR(err.text, path);
    CHECK(test_write_file(path, "\177ELF", 4));
    TRY(backend_fails(path, QNNRT_E_LIBRARY, &err));
    CHECK_STR(err.text, path);
}

TEST(a_library_of_another_architecture_is_refused_as_such)
{
    char dir[4096];
    const char *path;
    size_t bytes;
    unsigned char *data = (unsigned char *)test_read_file(TEST_FAKE_LIB, &bytes);
    int written;
    qnnrt_error err;
    qnnrt_desc desc = one_shard();
    CHECK(data != NULL);
    data[18] = data[18] == 183 ? 62 : 183;                 /* e_machine: that of another machine */
    path = join(folder(dir), "libQnnHtp.so");
    written = test_write_file(path, data, bytes);
    free(data);
    CHECK(written);
    fake_begin("");
    TRY(backend_fails(path, QNNRT_E_LIBRARY, &err));
    CHECK_STR(err.text, path);
    desc.system_path = path;
    TRY(fails_desc("", &desc, QNNRT_E_LIBRARY, path, NULL, NULL));
    CHECK_STR(err.text, "architecture");                   /* the loader reports that the file does not exist */
}

TEST(a_library_without_the_symbol_is_refused)
{
    qnnrt_error err;
    qnnrt_desc desc = one_shard();
    fake_begin("");
    TRY(backend_fails("libm.so.6", QNNRT_E_LIBRARY, &err));
    CHECK_STR(err.text, "libm.so.6");
    CHECK_STR(err.text, "QnnInterface_getProviders");
    CHECK_STR(err.text, "libQnnHtp.so is");
    desc.system_path = "libm.so.6";
    TRY(fails_desc("", &desc, QNNRT_E_LIBRARY, "libm.so.6", "QnnSystemInterface_getProviders", "libQnnSystem.so"));
}

TEST(an_empty_path_of_a_library_is_a_wrong_argument)
{
    qnnrt_error err;
    qnnrt_desc desc = one_shard();
    fake_begin("");
    TRY(backend_fails("", QNNRT_E_ARG, &err));
    CHECK_STR(err.text, "empty");
    desc.backend_desc.path = "";
    TRY(fails_desc("", &desc, QNNRT_E_ARG, "empty", NULL, NULL));
    desc = one_shard();
    desc.system_path = "";
    TRY(fails_desc("", &desc, QNNRT_E_ARG, "empty", "system", NULL));
}

TEST(a_path_of_a_library_that_is_too_long_is_refused)
{
    static char path[9000];
    qnnrt_error err;
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = (qnnrt_backend *)somewhere;
    int slash;
    fake_begin("");
    memset(&desc, 0, sizeof(desc));
    for (slash = 0; slash < 2; ++slash) {
        qnnrt_result result;
        memset(path, 'a', sizeof(path) - 1);
        if (slash) path[0] = '/';
        desc.path = path;
        TEST_JUNK(err);
        result = qnnrt_backend_open(&desc, &backend, &err);
        CHECK(result == QNNRT_E_LIBRARY || result == QNNRT_E_ARG);
        TRY(check_error(&err, result));
        CHECK(backend == NULL);
        CHECK_EQ(qnnrt_backend_open(&desc, &backend, NULL), result);
    }
}

TEST(a_missing_system_library_is_refused)
{
    qnnrt_desc desc = one_shard();
    desc.system_path = "/nowhere/at/all/libQnnSystem.so";
    TRY(fails_desc("", &desc, QNNRT_E_LIBRARY, "/nowhere/at/all/libQnnSystem.so", "No such file", NULL));
    desc.system_path = "libqnnrt-test-absent.so";
    TRY(fails_desc("", &desc, QNNRT_E_LIBRARY, "libqnnrt-test-absent.so", "the system's search", "\n  hint: "));
}

/* An empty element means the current folder. No library may come from there. */
TEST(an_empty_element_of_ld_library_path_stops_the_systems_search)
{
    static const char *const unsafe[] = { ":", "::", ":/nowhere", "/nowhere:", "/nowhere::/elsewhere", ";/nowhere", "/nowhere;",
                                          "/nowhere;;/elsewhere", "/a:/b:/c:" };
    static const char *const safe[] = { NULL, "", "/nowhere", "/nowhere:/elsewhere", "/nowhere;/elsewhere", "/a:/b:/c" };
    const char *set = getenv("LD_LIBRARY_PATH");
    char kept[4096];
    size_t i;
    snprintf(kept, sizeof(kept), "%s", set != NULL ? set : "");
    for (i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]) + sizeof(safe) / sizeof(safe[0]); ++i) {
        const size_t begin = sizeof(unsafe) / sizeof(unsafe[0]);
        const char *value = i < begin ? unsafe[i] : safe[i - begin];
        qnnrt_backend *backend = NULL;
        qnnrt_backend_desc desc;
        qnnrt_error err;
        qnnrt_result result;
        memset(&desc, 0, sizeof(desc));
        TEST_JUNK(err);
        desc.path = "libqnnrt-test-absent.so";
        if (value != NULL) setenv("LD_LIBRARY_PATH", value, 1);
        else unsetenv("LD_LIBRARY_PATH");
        result = qnnrt_backend_open(&desc, &backend, &err);
        if (set != NULL) setenv("LD_LIBRARY_PATH", kept, 1);
        else unsetenv("LD_LIBRARY_PATH");
        CHECK_EQ(result, QNNRT_E_LIBRARY);
        TRY(check_error(&err, QNNRT_E_LIBRARY));
        CHECK_STR(err.text, "libqnnrt-test-absent.so");
        if ((strstr(err.text, "LD_LIBRARY_PATH") != NULL) != (i < begin)) printf("    %s: %s\n", value != NULL ? value : "(unset)", err.text);
        CHECK_EQ(strstr(err.text, "LD_LIBRARY_PATH") != NULL, i < begin);
        /* The loader's own search fails too. */
        CHECK_EQ(strstr(err.text, "libqnnrt-test-absent.so: cannot open shared object file") != NULL, 1);
    }
}

TEST(the_system_library_is_taken_from_beside_the_backend)
{
    char dir[4096], backend_path[4096], system_path[4096];
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    fake other, system;
    fake_begin("");
    folder(dir);
    snprintf(backend_path, sizeof(backend_path), "%s", join(dir, "libSomeBackend.so"));
    snprintf(system_path, sizeof(system_path), "%s", join(dir, "libQnnSystem.so"));
    TRY(copy_backend_only(backend_path));
    fake_open(&other, backend_path);
    desc.backend_desc.path = backend_path;
    desc.system_path = NULL;

    /* Without the library, the folder of the backend is the first place tried. */
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_E_LIBRARY);
    TRY(check_error(&err, QNNRT_E_LIBRARY));
    CHECK(model == NULL);
    CHECK_STR(err.text, system_path);
    TRY(check_places(err.text, "libQnnSystem.so", 3));
    CHECK_EQ(fake_live(&other), other.before);

    /* Once the library is there, it is found, also for desc.inspect. */
    TRY(copy_file(TEST_FAKE_LIB, system_path));
    fake_open(&system, system_path);
    if (open_it(&desc, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK_EQ(err.code, QNNRT_OK);
    CHECK_EQ(strcmp(qnnrt_get_info(model)->system_path, system_path), 0);
    CHECK_EQ(strcmp(qnnrt_backend_get_info(qnnrt_get_info(model)->backend)->path, backend_path), 0);
    CHECK(qnnrt_get_info(model)->contexts[0].backend == qnnrt_get_info(model)->backend);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    desc.inspect = 1;
    if (open_it(&desc, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK_EQ(err.code, QNNRT_OK);
    CHECK_EQ(strcmp(qnnrt_get_info(model)->system_path, system_path), 0);
    CHECK(qnnrt_get_info(model)->backend == NULL && qnnrt_get_info(model)->contexts[0].backend == NULL);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(fake_live(&other), other.before);
    CHECK_EQ(fake_live(&system), system.before);
}

TEST(a_backend_that_speaks_the_system_interface_needs_no_system_library)
{
    char dir[4096], backend_path[4096], system_path[4096];
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    fake other;
    fake_begin("");
    folder(dir);
    snprintf(backend_path, sizeof(backend_path), "%s", join(dir, "libSomeBackend.so"));
    snprintf(system_path, sizeof(system_path), "%s", join(dir, "libQnnSystem.so"));
    TRY(copy_file(TEST_FAKE_LIB, backend_path));
    fake_open(&other, backend_path);
    desc.backend_desc.path = backend_path;
    desc.system_path = NULL;
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(strcmp(qnnrt_get_info(model)->system_path, backend_path), 0);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    desc.inspect = 1;
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(strcmp(qnnrt_get_info(model)->system_path, backend_path), 0);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);

    /* The backend's own system interface is preferred to a library beside it, which may come from
       another vendor; inspecting loads the smaller library. */
    TRY(copy_file(TEST_FAKE_LIB, system_path));
    desc.inspect = 0;
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(strcmp(qnnrt_get_info(model)->system_path, backend_path), 0);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    desc.inspect = 1;
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(strcmp(qnnrt_get_info(model)->system_path, system_path), 0);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(fake_live(&other), other.before);
}

/* Both are one file here, so the test identifies a release by the interfaces it reports. */
TEST(a_system_library_of_another_release_than_the_backend_is_fine)
{
    TRY(works("core=2.40,backendapi=5.51,build=v2.51.0.260929181845,sysapi=1.2", NULL));
    TRY(works("core=2.23,backendapi=5.30,build=v2.30.0.250109,sysapi=1.15", NULL));
    TRY(works("build=,sysapi=1.99", NULL));
    TRY(works("build=null,sysapi=1.7", NULL));
}

/* ---- providers and versions ----------------------------------------------------------------- */

TEST(no_provider_is_refused)
{
    TRY(fails("providers=0", QNNRT_E_LIBRARY, TEST_FAKE_LIB, "no provider", NULL));
    TRY(fails("providers=null", QNNRT_E_LIBRARY, TEST_FAKE_LIB, "no provider", NULL));
    TRY(fails("sysproviders=0", QNNRT_E_LIBRARY, TEST_FAKE_LIB, "no provider", NULL));
    TRY(fails("sysproviders=null", QNNRT_E_LIBRARY, TEST_FAKE_LIB, "no provider", NULL));
}

TEST(of_two_providers_the_first_that_fits_is_taken_with_a_log_line)
{
    TRY(works("providers=2", "2 providers"));
    TRY(works("providers=2", "number 1"));
    TRY(works("providers=2,sysproviders=2", "2 providers"));
}

TEST(of_two_system_providers_the_first_that_fits_is_taken_with_a_log_line)
{
    TRY(works("sysproviders=2", NULL));
    TRY(works("sysproviders=2", "2 providers"));
}

TEST(only_providers_that_do_not_fit_are_refused)
{
    TRY(fails("providers=2,core=2.22", QNNRT_E_VERSION, TEST_FAKE_LIB, "3.0", "2.23"));
    TRY(fails("providers=2,core=4.1", QNNRT_E_VERSION, TEST_FAKE_LIB, "3.0", "2.23"));
    TRY(fails("sysproviders=2,sysapi=1.1", QNNRT_E_VERSION, TEST_FAKE_LIB, "3.0", "1.2"));
}

TEST(a_provider_without_a_name_is_fine)
{
    qnnrt_backend *backend;
    qnnrt_backend_desc desc;
    TRY(works("name=null", NULL));
    TRY(works("name=null,build=null", NULL));
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_FAKE_LIB;
    fake_begin("name=null,build=null,id=3");
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, NULL), QNNRT_OK);
    CHECK(qnnrt_backend_get_info(backend)->provider != NULL);
    CHECK_EQ(qnnrt_backend_get_info(backend)->provider[0], 0);
    CHECK(qnnrt_backend_get_info(backend)->build_id != NULL);
    CHECK_EQ(qnnrt_backend_get_info(backend)->build_id[0], 0);
    CHECK_EQ(qnnrt_backend_get_info(backend)->id, 3);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(facts_of_a_backend_are_those_of_the_library)
{
    static char knobs[600];
    qnnrt_backend *backend;
    qnnrt_backend_desc desc;
    const qnnrt_backend_info *info;
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_FAKE_LIB;
    fake_begin("name=HTP_QTI_AISW,build=v2.47.0.1,core=2.36.1,backendapi=5.47.2");
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, NULL), QNNRT_OK);
    info = qnnrt_backend_get_info(backend);
    CHECK_EQ(strcmp(info->provider, "HTP_QTI_AISW"), 0);
    CHECK_EQ(strcmp(info->build_id, "v2.47.0.1"), 0);
    CHECK_STR(info->path, "libQnnFake.so");
    CHECK_EQ(info->id, 6);
    CHECK_EQ(info->core_api.major, 2);
    CHECK_EQ(info->core_api.minor, 36);
    CHECK_EQ(info->core_api.patch, 1);
    CHECK_EQ(info->backend_api.major, 5);
    CHECK_EQ(info->backend_api.minor, 47);
    CHECK_EQ(info->backend_api.patch, 2);
    CHECK_EQ(info->has_log, 1);
    CHECK_EQ(info->has_device, 1);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);

    /* A name that is too long is cut and does not overrun. */
    memset(knobs, 'n', sizeof(knobs) - 1);
    memcpy(knobs, "name=", 5);
    memcpy(knobs + 200, ",build=v2.51", 12);
    fake_begin(knobs);
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, NULL), QNNRT_OK);
    info = qnnrt_backend_get_info(backend);
    CHECK(strlen(info->provider) > 10 && strlen(info->provider) < 196);
    CHECK_STR(info->build_id, "v2.51nnn");
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(core_interfaces_below_2_23_are_refused_with_both_numbers)
{
    TRY(fails("core=2.22", QNNRT_E_VERSION, TEST_FAKE_LIB, "2.22", "2.23"));
    TRY(fails("core=2.0", QNNRT_E_VERSION, TEST_FAKE_LIB, "2.0;", "2.23"));
    TRY(fails("core=1.30", QNNRT_E_VERSION, TEST_FAKE_LIB, "1.30", "2.23"));
    TRY(fails("core=3.0", QNNRT_E_VERSION, TEST_FAKE_LIB, "3.0", "2.23"));
    TRY(fails("core=3.25", QNNRT_E_VERSION, TEST_FAKE_LIB, "3.25", "2.23"));
}

TEST(known_core_interfaces_give_no_warning_and_newer_ones_a_line)
{
    static host h;
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    int minor;
    TRY(works("core=2.23", NULL));
    TRY(works("core=2.41", "2.41"));
    TRY(works("core=2.99", "2.40"));
    for (minor = 23; minor <= 41; ++minor) {
        char knobs[32];
        snprintf(knobs, sizeof(knobs), "core=2.%d", minor);
        fake_begin(knobs);
        desc.backend_desc.hooks = host_hooks(&h);
        CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        if (strstr(h.lines, "2 backend") != NULL && minor < 41) printf("core=2.%d: %s", minor, h.lines);
        CHECK_EQ(strstr(h.lines, "2 backend") != NULL, minor > 40);
        TRY(check_host(&h));
    }
    LEDGER_EMPTY();
}

TEST(system_interfaces_of_other_versions_are_refused_with_both_numbers)
{
    TRY(fails("sysapi=1.1", QNNRT_E_VERSION, TEST_FAKE_LIB, "1.1;", "1.2"));
    TRY(fails("sysapi=0.9", QNNRT_E_VERSION, TEST_FAKE_LIB, "0.9", "1.2"));
    TRY(fails("sysapi=2.0", QNNRT_E_VERSION, TEST_FAKE_LIB, "2.0", "1.2"));
    TRY(works("sysapi=1.2", NULL));
}

TEST(getproviders_that_fails_is_reported_with_its_code)
{
    TRY(fails("fail=QnnInterface_getProviders:0x3eb", QNNRT_E_BACKEND, TEST_FAKE_LIB,
              "QnnInterface_getProviders answered 0x3eb (QNN_COMMON_ERROR_SYSTEM)", NULL));
    TRY(fails("fail=QnnSystemInterface_getProviders:0x3eb", QNNRT_E_BACKEND, TEST_FAKE_LIB,
              "QnnSystemInterface_getProviders answered 0x3eb (QNN_COMMON_ERROR_SYSTEM)", NULL));
}

TEST(errors_of_a_library_name_a_way_out)
{
    static const char *const knobs[] = { "providers=0", "sysproviders=0", "null=graphExecute", "sysapi=1.1" };
    qnnrt_error err;
    size_t i;
    qnnrt *model;
    for (i = 0; i < sizeof(knobs) / sizeof(knobs[0]); ++i) {
        qnnrt_desc desc = one_shard();
        fake_begin(knobs[i]);
        CHECK(open_it(&desc, &model, &err) != QNNRT_OK);
        if (err.hint[0] == '\0') printf("%s\n", knobs[i]);
        CHECK(err.hint[0] != '\0');
    }
    TRY(backend_fails("/nowhere/libQnnHtp.so", QNNRT_E_LIBRARY, &err));
    CHECK_STR(TEST_TOLD(err), "\n  hint: ");
}

/* ---- functions that are missing ------------------------------------------------------------- */

TEST(each_required_function_that_is_missing_is_named)
{
    static const char *const needed[] = { "backendCreate", "backendFree", "contextCreateFromBinary", "contextFree",
                                          "graphRetrieve", "graphExecute" };
    static const char *const system[] = { "systemContextCreate", "systemContextGetBinaryInfo", "systemContextFree" };
    char knobs[64];
    size_t i;
    for (i = 0; i < sizeof(needed) / sizeof(needed[0]); ++i) {
        snprintf(knobs, sizeof(knobs), "null=%s", needed[i]);
        TRY(fails(knobs, QNNRT_E_LIBRARY, TEST_FAKE_LIB, needed[i], NULL));
    }
    for (i = 0; i < sizeof(system) / sizeof(system[0]); ++i) {
        snprintf(knobs, sizeof(knobs), "null=%s", system[i]);
        TRY(fails(knobs, QNNRT_E_LIBRARY, TEST_FAKE_LIB, strstr(system[i], "GetBinaryInfo") != NULL ? "GetBinaryInfo"
                  : i == 2 ? "Free" : system[i], NULL));
    }
}

TEST(a_library_runs_without_any_of_the_other_functions)
{
    static const char *const others[] = { "propertyHasCapability", "backendGetApiVersion", "backendGetBuildId", "logCreate",
        "logSetLogLevel", "profileCreate", "memRegister", "deviceGetPlatformInfo", "deviceCreate", "errorGetMessage",
        "systemContextGetMetaData" };
    char knobs[64];
    size_t i;
    for (i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        snprintf(knobs, sizeof(knobs), "null=%s", others[i]);
        TRY(works(knobs, NULL));
    }
    TRY(works("null=logCreate,null=logFree,null=deviceCreate,null=deviceFree,null=backendGetBuildId,null=errorGetMessage",
              NULL));
}

/* An object that cannot be freed is not created: a log that stays would write into the slot of
   the next backend. */
TEST(a_log_or_device_that_cannot_be_freed_is_not_created)
{
    TRY(works("null=logFree", NULL));
    TRY(works("null=deviceFree", NULL));
    TRY(works("null=logFree,null=deviceFree", NULL));
}

TEST(a_library_without_log_and_device_support_runs)
{
    qnnrt_backend *backend;
    qnnrt_backend_desc desc;
    TRY(works("devnosup=1", NULL));
    TRY(works("devnosup=1,build=null,name=null", NULL));
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_FAKE_LIB;
    fake_begin("devnosup=1");
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_get_info(backend)->has_log, 0);
    CHECK_EQ(qnnrt_backend_get_info(backend)->has_device, 0);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    LEDGER_EMPTY();
}

/* ---- calls that fail ------------------------------------------------------------------------ */

static const struct { uint64_t code; const char *symbol; } answers[] = {
    { 0x3e8,  "QNN_COMMON_ERROR_NOT_SUPPORTED" },
    { 0x3ea,  "QNN_COMMON_ERROR_MEM_ALLOC" },
    { 0x1388, "QNN_CONTEXT_ERROR_INVALID_ARGUMENT" },
    { 0x36b1, "QNN_DEVICE_ERROR_INVALID_CONFIG" },
    { 0xfa0,  "QNN_BACKEND_ERROR_CANNOT_INITIALIZE" },
    { 1,      "no symbol known" },
    { 0xFFFFFFFFu, "no symbol known" },
    { 0xABCD0000000003eau, "QNN_COMMON_ERROR_MEM_ALLOC" }
};
enum { ANSWERS = sizeof(answers) / sizeof(answers[0]) };

/* Write knobs "fail=call:CODE" and the text that an error or a log line contains about it. */
static void answer(int i, const char *call, char knobs[128], char text[192])
{
    snprintf(knobs, 128, "fail=%s:0x%llx", call, (unsigned long long)answers[i].code);
    snprintf(text, 192, "%s answered 0x%x", call, (unsigned)(answers[i].code & 0xFFFF));
}

/* Check that the open fails, that its text has the answer and the place, and vendor_code the whole
   answer. */
static void open_answers(const char *call, qnnrt_result expected, int with_not_supported, const char *place)
{
    char knobs[128], text[192];
    int i;
    for (i = 0; i < ANSWERS; ++i) {
        qnnrt_desc desc = one_shard();
        qnnrt_error err;
        qnnrt *model;
        if (i == 0 && !with_not_supported) continue;
        answer(i, call, knobs, text);
        TRY(fails(knobs, expected, text, answers[i].symbol, place));
        fake_begin(knobs);
        CHECK_EQ(open_it(&desc, &model, &err), expected);
        CHECK_EQ(err.vendor_code, answers[i].code);
        LEDGER_EMPTY();
    }
}

TEST(getproviders_that_answers_any_code_fails_the_open)
{
    TRY(open_answers("QnnInterface_getProviders", QNNRT_E_BACKEND, 1, TEST_FAKE_LIB));
    TRY(open_answers("QnnSystemInterface_getProviders", QNNRT_E_BACKEND, 1, TEST_FAKE_LIB));
}

TEST(backendcreate_that_answers_any_code_fails_the_open)
{
    TRY(open_answers("backendCreate", QNNRT_E_BACKEND, 1, TEST_FAKE_LIB));
}

TEST(devicecreate_that_answers_any_code_but_not_supported_fails_the_open)
{
    TRY(open_answers("deviceCreate", QNNRT_E_BACKEND, 0, TEST_FAKE_LIB));
}

TEST(contextcreate_that_answers_any_code_fails_the_open)
{
    TRY(open_answers("contextCreateFromBinary", QNNRT_E_BACKEND, 1, "one.bin"));
}

TEST(graphretrieve_that_answers_any_code_fails_the_open)
{
    TRY(open_answers("graphRetrieve", QNNRT_E_BACKEND, 1, "one.bin"));
}

TEST(systemcontextcreate_that_answers_any_code_fails_the_open)
{
    TRY(open_answers("systemContextCreate", QNNRT_E_BACKEND, 1, "one.bin"));
}

TEST(getbinaryinfo_that_answers_any_code_fails_the_open)
{
    TRY(open_answers("systemContextGetBinaryInfo", QNNRT_E_FORMAT, 1, "one.bin"));
}

TEST(logcreate_and_devicecreate_that_answer_not_supported_are_survived)
{
    static host h;
    qnnrt_backend *backend;
    qnnrt_backend_desc desc;
    TRY(works("fail=logCreate:0x3e8", NULL));
    TRY(works("fail=deviceCreate:0x3e8", NULL));
    TRY(works("fail=logCreate:0x3e8,fail=deviceCreate:0x3e8", NULL));
    TRY(works("fail=deviceCreate:0x12345000003e8", NULL));         /* the upper bits are the library's own */
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_FAKE_LIB;
    desc.hooks = host_hooks(&h);
    fake_begin("fail=logCreate:0x3e8,fail=deviceCreate:0x3e8");
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_get_info(backend)->has_log, 0);
    CHECK_EQ(qnnrt_backend_get_info(backend)->has_device, 0);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    CHECK(strstr(h.lines, "logCreate") == NULL);
    TRY(check_host(&h));
    LEDGER_EMPTY();
}

TEST(logcreate_that_fails_otherwise_is_survived_with_a_log_line)
{
    char knobs[128], text[192];
    int i;
    for (i = 1; i < ANSWERS; ++i) {
        answer(i, "logCreate", knobs, text);
        TRY(works(knobs, text));
    }
}

TEST(a_build_id_that_cannot_be_had_is_survived)
{
    char knobs[128], text[192];
    int i;
    for (i = 0; i < ANSWERS; ++i) {
        answer(i, "backendGetBuildId", knobs, text);
        TRY(works(knobs, NULL));
    }
}

TEST(a_code_with_empty_low_bits_does_not_look_like_success)
{
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    fake_begin("fail=contextCreateFromBinary:0x8000000000000000");
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_E_BACKEND);
    CHECK(model == NULL);
    CHECK_EQ(err.vendor_code, 0x8000000000000000u);
    LEDGER_EMPTY();
    CHECK_STR(err.text, "0x8000000000000000");
}

TEST(causes_and_fixes_of_known_codes_are_told)
{
    TRY(fails("fail=deviceCreate:0x36b1", QNNRT_E_BACKEND, "likely cause: no transport to the DSP", "\n  hint: ",
              "ADSP_LIBRARY_PATH"));
    TRY(fails("fail=backendCreate:0xfa0", QNNRT_E_BACKEND, "likely cause: there is no NPU", "\n  hint: ", "libcdsprpc.so"));
    TRY(fails("fail=contextCreateFromBinary:0x3ea", QNNRT_E_BACKEND, "likely cause", "\n  hint: ", "shards"));
    TRY(fails("fail=contextCreateFromBinary:0x1388", QNNRT_E_BACKEND, "newer release than the library", "\n  hint: ",
              "one.bin"));
}

/* The log has both lines of the library; the first is marked as such. */
TEST(the_first_line_that_the_library_logged_is_marked_as_first)
{
    const char *first, *then;
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    TRY(fails("log=1,fail=contextCreateFromBinary:0x1388", QNNRT_E_BACKEND, "one.bin",
              "logged first, an error: fake: the first cause 42",
              "then: fake: a later echo"));
    fake_begin("log=1,fail=contextCreateFromBinary:0x1388");
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_E_BACKEND);
    first = strstr(err.text, "the first cause 42");
    then = strstr(err.text, "a later echo");
    CHECK(first != NULL && then != NULL && first < then);
    CHECK(strstr(first + 1, "the first cause 42") == NULL);         /* once */
    LEDGER_EMPTY();
}

TEST(success_without_a_handle_is_an_error)
{
    TRY(fails("zero=backendCreate", QNNRT_E_BACKEND, TEST_FAKE_LIB, "backendCreate", "without a handle"));
    TRY(fails("zero=deviceCreate", QNNRT_E_BACKEND, TEST_FAKE_LIB, "deviceCreate", "without a handle"));
    TRY(fails("zero=contextCreateFromBinary", QNNRT_E_BACKEND, "one.bin", "contextCreateFromBinary", "without a handle"));
    TRY(fails("zero=graphRetrieve", QNNRT_E_BACKEND, "one.bin", "graphRetrieve", "without a handle"));
    TRY(fails("zero=graphRetrieve", QNNRT_E_BACKEND, "\"fwd\"", NULL, NULL));
    TRY(fails("zero=systemContextCreate", QNNRT_E_BACKEND, "one.bin", "systemContextCreate", "without a handle"));
    TRY(fails("zero=systemContextGetBinaryInfo", QNNRT_E_FORMAT, "one.bin", "systemContextGetBinaryInfo",
              "without information"));
    TRY(works("zero=logCreate", NULL));
}

/* Everything else is freed, the code is logged, and the next open works. */
TEST(frees_that_fail_are_answered_and_logged_and_all_else_is_freed)
{
    static const char *const calls[] = { "contextFree", "deviceFree", "backendFree", "logFree" };
    static host h;
    char knobs[128], text[192];
    size_t c;
    int i, with_log;
    for (c = 0; c < 4; ++c)
        for (i = 0; i < ANSWERS; ++i)
            for (with_log = 0; with_log < 2; ++with_log) {
                qnnrt_desc desc = two_shards();
                qnnrt_error err;
                qnnrt *model;
                answer(i, calls[c], knobs, text);
                fake_begin(knobs);
                desc.backend_desc.hooks = host_hooks(&h);
                if (!with_log) desc.backend_desc.hooks.log = NULL;
                CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
                CHECK_EQ(qnnrt_close(model), QNNRT_E_BACKEND);
                LEDGER_EMPTY();
                TRY(check_host(&h));
                if (!with_log) continue;
                CHECK_STR(h.lines, text);
                CHECK_STR(h.lines, c == 0 ? "first.bin" : TEST_FAKE_LIB);
                if (c == 0) CHECK_STR(h.lines, "second.bin");
                CHECK_STR(h.lines, "1 ");                           /* level: error */
            }
    fake_begin("fail=contextFree:1,fail=deviceFree:2,fail=backendFree:3,fail=logFree:4");
    {
        qnnrt_desc desc = one_shard();
        qnnrt_error err;
        qnnrt *model;
        desc.backend_desc.hooks = host_hooks(&h);
        CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_close(model), QNNRT_E_BACKEND);
        LEDGER_EMPTY();
        for (c = 0; c < 4; ++c) {
            snprintf(text, sizeof(text), "%s answered 0x%x", calls[c], (unsigned)c + 1);
            CHECK_STR(h.lines, text);
        }
        TRY(check_host(&h));
    }
    TRY(works("", NULL));
}

TEST(a_system_context_that_cannot_be_freed_does_no_harm)
{
    TRY(works("fail=systemContextFree:0x7530", NULL));
}

/* A free that fails during the cleanup of a failed open changes neither result nor text. */
TEST(frees_that_fail_after_a_failed_open_keep_its_error)
{
    TRY(fails("fail=graphRetrieve:0x1772,fail=contextFree:1,fail=deviceFree:2,fail=backendFree:3,fail=logFree:4",
              QNNRT_E_BACKEND, "graphRetrieve answered 0x1772", "QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST", "\"fwd\""));
    TRY(fails("fail=deviceCreate:1,fail=backendFree:3,fail=logFree:4", QNNRT_E_BACKEND, "deviceCreate answered 0x1 ", NULL,
              NULL));
}

/* When one shard fails, the other is freed, and the text names the one that failed. */
TEST(the_shard_that_fails_is_named)
{
    qnnrt_desc desc = two_shards();
    TRY(fails_desc("fail=contextCreateFromBinary:0x1389:1", &desc, QNNRT_E_BACKEND, "first.bin", "0x1389", NULL));
    desc = two_shards();
    TRY(fails_desc("fail=contextCreateFromBinary:0x1389:2", &desc, QNNRT_E_BACKEND, "second.bin", "0x1389", NULL));
    desc = two_shards();
    TRY(fails_desc("fail=graphRetrieve:0x1773:2", &desc, QNNRT_E_BACKEND, "second.bin", "\"fwd\"", "0x1773"));
    desc = two_shards();
    TRY(fails_desc("fail=systemContextGetBinaryInfo:0x753a:2", &desc, QNNRT_E_FORMAT, "second.bin", "0x753a", "MALFORMED"));
    desc = two_shards();
    TRY(fails_desc("fail=systemContextCreate:0x3ea:2", &desc, QNNRT_E_BACKEND, "second.bin", "0x3ea", NULL));
}

TEST(with_keep_going_a_shard_that_fails_keeps_its_error)
{
    static host h;
    static const char *const knobs[] = { "log=1,fail=contextCreateFromBinary:0x1389:1", "fail=graphRetrieve:0x1389:1",
                                         "fail=graphRetrieve:0x1389:1,fail=contextFree:7:1", "zero=contextCreateFromBinary" };
    size_t i, count;
    for (i = 0; i < 4; ++i) {
        qnnrt_desc desc = two_shards();
        qnnrt_error err;
        qnnrt *model;
        const qnnrt_context_info *infos;
        fake_begin(knobs[i]);
        desc.keep_going = 1;
        desc.backend_desc.hooks = host_hooks(&h);
        if (i == 3) {
            CHECK_EQ(open_it(&desc, &model, &err), QNNRT_E_BACKEND);
            TRY(check_error(&err, QNNRT_E_BACKEND));
            CHECK(model == NULL);
        } else {
            CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
            CHECK_EQ(err.text[0], 0);
            infos = qnnrt_get_info(model)->contexts;
            count = qnnrt_get_info(model)->context_count;
            CHECK_EQ(count, 2);
            CHECK(infos[1].failure == NULL);
            CHECK(infos[0].failure != NULL);
            TRY(check_error(infos[0].failure, QNNRT_E_BACKEND));
            CHECK_EQ(infos[0].failure->vendor_code, 0x1389);
            CHECK_STR(infos[0].failure->text, "first.bin");
            CHECK_STR(h.lines, "first.bin");
            CHECK_EQ(fake_stat(3), 1);                              /* one context is alive */
            if (i == 2) CHECK_STR(h.lines, "contextFree answered 0x7");
            qnnrt_close(model);
        }
        LEDGER_EMPTY();
        TRY(check_host(&h));
    }
}

/* ---- executes that fail --------------------------------------------------------------------- */

TEST(an_execute_that_answers_any_code_fails_the_call)
{
    char knobs[128], text[192];
    int i;
    for (i = 0; i < ANSWERS; ++i) {
        qnnrt_desc desc = one_shard();
        qnnrt_error err;
        qnnrt *model;
        qnnrt_run *run;
        answer(i, "graphExecute", knobs, text);
        fake_begin(knobs);
        CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
        TRY(check_error(qnnrt_run_error(run), QNNRT_E_BACKEND));
        CHECK_EQ(qnnrt_run_error(run)->vendor_code, answers[i].code);
        CHECK_STR(qnnrt_run_error(run)->text, text);
        CHECK_STR(qnnrt_run_error(run)->text, answers[i].symbol);
        CHECK_STR(qnnrt_run_error(run)->text, "one.bin");
        CHECK_STR(qnnrt_run_error(run)->text, "\"fwd\"");
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);                 /* and again */
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        LEDGER_EMPTY();
    }
}

TEST(an_execute_that_fails_once_leaves_the_run_usable)
{
    static host h;
    int with_lock, call;
    for (with_lock = 0; with_lock < 2; ++with_lock) {
        qnnrt_desc desc = one_shard();
        qnnrt_error err;
        qnnrt *model;
        qnnrt_run *run;
        fake_begin("fail=graphExecute:0x1791:3");
        if (with_lock) desc.backend_desc.hooks = host_hooks(&h);
        CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
        for (call = 1; call <= 6; ++call) {
            CHECK_EQ(qnnrt_exec(run), call == 3 ? QNNRT_E_BACKEND : QNNRT_OK);
            if (call < 3) continue;
            /* The error stays: "the last call on this run that failed". */
            CHECK_EQ(qnnrt_run_error(run)->vendor_code, 0x1791);
            CHECK_STR(qnnrt_run_error(run)->text, "QNN_GRAPH_ERROR_TIMED_OUT");
        }
        CHECK_EQ(fake_stat(5), 6);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        LEDGER_EMPTY();
        if (with_lock) TRY(check_host(&h));
    }
}

TEST(an_execute_that_fails_names_its_step)
{
    int step;
    for (step = 0; step < 2; ++step) {
        qnnrt_desc desc = two_shards();
        qnnrt_error err;
        qnnrt *model;
        qnnrt_run *run;
        fake_begin(step == 0 ? "fail=graphExecute:0x3ef:1" : "fail=graphExecute:0x3ef:2");
        CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
        TRY(check_error(qnnrt_run_error(run), QNNRT_E_BACKEND));
        CHECK_STR(qnnrt_run_error(run)->text, step == 0 ? "step 0 (first.bin" : "step 1 (second.bin");
        CHECK_STR(qnnrt_run_error(run)->text, "graph \"fwd\"");
        CHECK_STR(qnnrt_run_error(run)->text, "QNN_COMMON_ERROR_SYSTEM_COMMUNICATION");
        CHECK(strcmp(qnnrt_run_error(run)->cause, qnnrt_explain_code(0x3ef)->causes[0]) == 0);
        /* No step ran after the failed one. */
        CHECK_EQ(fake_stat(5), (uint64_t)step + 1);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        LEDGER_EMPTY();
    }
}

/* ---- names of codes and results ------------------------------------------------------------- */

/* Every error of the public headers, core 2.7 to 2.37, except aliases. */
static const struct { uint32_t code; const char *name; } known_codes[] = {
    { 1000, "QNN_COMMON_ERROR_NOT_SUPPORTED" }, { 1002, "QNN_COMMON_ERROR_MEM_ALLOC" }, { 1003, "QNN_COMMON_ERROR_SYSTEM" },
    { 1004, "QNN_COMMON_ERROR_INVALID_ARGUMENT" }, { 1005, "QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED" },
    { 1006, "QNN_COMMON_ERROR_PLATFORM_NOT_SUPPORTED" }, { 1007, "QNN_COMMON_ERROR_SYSTEM_COMMUNICATION" },
    { 1008, "QNN_COMMON_ERROR_INCOMPATIBLE_BINARIES" }, { 1009, "QNN_COMMON_ERROR_LOADING_BINARIES" },
    { 1010, "QNN_COMMON_ERROR_RESOURCE_UNAVAILABLE" }, { 1011, "QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL" },
    { 1100, "QNN_COMMON_ERROR_GENERAL" }, { 2000, "QNN_PROPERTY_ERROR_UNKNOWN_KEY" },
    { 3000, "QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED" }, { 3001, "QNN_OP_PACKAGE_ERROR_LIBRARY_NOT_INITIALIZED" },
    { 3002, "QNN_OP_PACKAGE_ERROR_INVALID_HANDLE" }, { 3100, "QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE" },
    { 3101, "QNN_OP_PACKAGE_ERROR_INVALID_INFO" }, { 3110, "QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE" },
    { 3200, "QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT" }, { 4000, "QNN_BACKEND_ERROR_CANNOT_INITIALIZE" },
    { 4002, "QNN_BACKEND_ERROR_TERMINATE_FAILED" }, { 4003, "QNN_BACKEND_ERROR_NOT_SUPPORTED" },
    { 4004, "QNN_BACKEND_ERROR_INVALID_ARGUMENT" }, { 4005, "QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND" },
    { 4006, "QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND" },
    { 4007, "QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED" },
    { 4008, "QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION" }, { 4009, "QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE" },
    { 4010, "QNN_BACKEND_ERROR_INCONSISTENT_CONFIG" }, { 4011, "QNN_BACKEND_ERROR_INVALID_HANDLE" },
    { 4012, "QNN_BACKEND_ERROR_INVALID_CONFIG" }, { 5000, "QNN_CONTEXT_ERROR_INVALID_ARGUMENT" },
    { 5001, "QNN_CONTEXT_ERROR_CTX_DOES_NOT_EXIST" }, { 5002, "QNN_CONTEXT_ERROR_INVALID_HANDLE" },
    { 5003, "QNN_CONTEXT_ERROR_NOT_FINALIZED" }, { 5004, "QNN_CONTEXT_ERROR_BINARY_VERSION" },
    { 5005, "QNN_CONTEXT_ERROR_CREATE_FROM_BINARY" }, { 5006, "QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED" },
    { 5007, "QNN_CONTEXT_ERROR_GET_BINARY_FAILED" }, { 5008, "QNN_CONTEXT_ERROR_BINARY_CONFIGURATION" },
    { 5009, "QNN_CONTEXT_ERROR_SET_PROFILE" }, { 5010, "QNN_CONTEXT_ERROR_INVALID_CONFIG" },
    { 5011, "QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL" }, { 5012, "QNN_CONTEXT_ERROR_ABORTED" },
    { 5013, "QNN_CONTEXT_ERROR_TIMED_OUT" }, { 5014, "QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER" },
    { 6000, "QNN_GRAPH_ERROR_INVALID_ARGUMENT" }, { 6001, "QNN_GRAPH_ERROR_INVALID_HANDLE" },
    { 6002, "QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST" }, { 6003, "QNN_GRAPH_ERROR_INVALID_NAME" },
    { 6004, "QNN_GRAPH_ERROR_INVALID_TENSOR" }, { 6005, "QNN_GRAPH_ERROR_INVALID_OP_CONFIG" },
    { 6006, "QNN_GRAPH_ERROR_SET_PROFILE" }, { 6007, "QNN_GRAPH_ERROR_UNCONNECTED_NODE" },
    { 6020, "QNN_GRAPH_ERROR_CREATE_FAILED" }, { 6021, "QNN_GRAPH_ERROR_OPTIMIZATION_FAILED" },
    { 6022, "QNN_GRAPH_ERROR_FINALIZE_FAILED" }, { 6023, "QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED" },
    { 6024, "QNN_GRAPH_ERROR_GRAPH_FINALIZED" }, { 6025, "QNN_GRAPH_ERROR_EXECUTION_ASYNC_FIFO_FULL" },
    { 6030, "QNN_GRAPH_ERROR_SIGNAL_IN_USE" }, { 6031, "QNN_GRAPH_ERROR_ABORTED" },
    { 6032, "QNN_GRAPH_ERROR_PROFILE_IN_USE" }, { 6033, "QNN_GRAPH_ERROR_TIMED_OUT" }, { 6034, "QNN_GRAPH_ERROR_SUBGRAPH" },
    { 6035, "QNN_GRAPH_ERROR_DISABLED" }, { 6036, "QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE" },
    { 6037, "QNN_GRAPH_ERROR_TENSOR_SPARSITY" }, { 6038, "QNN_GRAPH_ERROR_EARLY_TERMINATION" },
    { 6039, "QNN_GRAPH_ERROR_INVALID_CONTEXT" }, { 7001, "QNN_TENSOR_ERROR_INVALID_HANDLE" },
    { 7002, "QNN_TENSOR_ERROR_DOES_NOT_EXIST" }, { 7003, "QNN_TENSOR_ERROR_ALREADY_EXISTS" },
    { 7004, "QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM" }, { 7005, "QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM" },
    { 7006, "QNN_TENSOR_ERROR_NAME_HASH_COLLISION" }, { 7007, "QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE" },
    { 8000, "QNN_MEM_ERROR_INVALID_ARGUMENT" }, { 8001, "QNN_MEM_ERROR_INVALID_HANDLE" },
    { 8002, "QNN_MEM_ERROR_ALREADY_REGISTERED" }, { 8003, "QNN_MEM_ERROR_MAPPING" },
    { 8004, "QNN_MEM_ERROR_INVALID_SHAPE" }, { 8005, "QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE" },
    { 9000, "QNN_SIGNAL_ERROR_SIGNAL_IN_USE" }, { 9001, "QNN_SIGNAL_ERROR_SIGNAL_IDLE" },
    { 9002, "QNN_SIGNAL_ERROR_INVALID_ARGUMENT" }, { 9003, "QNN_SIGNAL_ERROR_INVALID_HANDLE" },
    { 9004, "QNN_SIGNAL_ERROR_TIMEOUT" }, { 9005, "QNN_SIGNAL_ERROR_INCOMPATIBLE_SIGNAL_TYPE" },
    { 10000, "QNN_ERROR_INVALID_ARGUMENT" }, { 10001, "QNN_ERROR_INVALID_ERROR_HANDLE" },
    { 11002, "QNN_LOG_ERROR_INITIALIZATION" }, { 11003, "QNN_LOG_ERROR_INVALID_ARGUMENT" },
    { 11004, "QNN_LOG_ERROR_INVALID_HANDLE" }, { 12000, "QNN_PROFILE_ERROR_INVALID_HANDLE" },
    { 12001, "QNN_PROFILE_ERROR_HANDLE_IN_USE" }, { 12002, "QNN_PROFILE_ERROR_INCOMPATIBLE_EVENT" },
    { 13000, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_HANDLE_PTR" },
    { 13001, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT" },
    { 13002, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED_CONFIG" },
    { 13003, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_TRANSPORT" }, { 13004, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED" },
    { 13005, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_MEM_ALLOC" }, { 13006, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_FAILED" },
    { 14000, "QNN_DEVICE_ERROR_INVALID_HANDLE" }, { 14001, "QNN_DEVICE_ERROR_INVALID_CONFIG" },
    { 14002, "QNN_DEVICE_ERROR_HARDWARE_UNAVAILABLE" }, { 14003, "QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT" },
    { 14004, "QNN_DEVICE_ERROR_ACCESS_DENIED" }, { 15000, "QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG" },
    { 30000, "QNN_SYSTEM_COMMON_ERROR_INVALID_HANDLE" }, { 30001, "QNN_SYSTEM_COMMON_ERROR_INVALID_ARGUMENT" },
    { 30002, "QNN_SYSTEM_CONTEXT_ERROR_OPERATION_FAILED" }, { 30010, "QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY" },
    { 31000, "QNN_SYSTEM_PROFILE_ERROR_MEM_ALLOC" }
};
enum { KNOWN_CODES = sizeof(known_codes) / sizeof(known_codes[0]) };

/* Return the name of a code, or NULL. */
static const char *name_of(uint64_t code)
{
    static char text[2][80];
    static int which;
    char *name = text[which ^= 1];
    memset(name, '#', sizeof text[0]);
    return qnnrt_vendor_code_name(code, name, sizeof text[0]) == name && name[0] != '\0' ? name : NULL;
}

static const char *known_name(uint32_t code)
{
    size_t i;
    for (i = 0; i < KNOWN_CODES; ++i)
        if (known_codes[i].code == code) return known_codes[i].name;
    return NULL;
}

TEST(every_vendor_code_has_its_name)
{
    size_t i;
    for (i = 0; i < KNOWN_CODES; ++i) {
        const char *name = name_of(known_codes[i].code);
        if (name == NULL || strcmp(name, known_codes[i].name) != 0) printf("%u\n", (unsigned)known_codes[i].code);
        CHECK(name != NULL);
        CHECK_EQ(strcmp(name, known_codes[i].name), 0);
        /* Only the low 16 bits count. */
        CHECK_EQ(strcmp(name_of(known_codes[i].code | 0xABCD123400000000u), name), 0);
        CHECK_EQ(strcmp(name_of(known_codes[i].code | 0x10000u), known_codes[i].name), 0);
    }
}

/* Every other code of 16 bits has no name, or a name that is not in known_codes (from a newer
   header, HTP or Saver). */
TEST(unknown_vendor_codes_have_no_name)
{
    static const uint32_t unknown[] = { 1, 999, 1001, 1012, 1099, 4001, 6008, 7000, 29999, 30003, 50000, 60000, 65535 };
    uint32_t code, other = 0;
    size_t i;
    for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); ++i) {
        CHECK(name_of(unknown[i]) == NULL);
        CHECK(name_of(unknown[i] | 0xFFFF0000u) == NULL);
    }
    for (code = 1; code < 0x10000; ++code) {
        const char *name = name_of(code);
        if (name == NULL || known_name(code) != NULL) continue;
        CHECK(strncmp(name, "QNN_", 4) == 0);
        for (i = 0; i < KNOWN_CODES; ++i) CHECK(strcmp(name, known_codes[i].name) != 0);
        ++other;
    }
    CHECK(other <= 5);
    CHECK(name_of(UINT64_MAX) == NULL);
    CHECK(name_of((uint64_t)1 << 63) == NULL);
    CHECK(qnnrt_vendor_code_name(1000, NULL, 80)[0] == '\0');
}

TEST(every_result_has_its_name)
{
    static const struct { int value; const char *name; } results[] = {
        { 0, "QNNRT_OK" }, { -1, "QNNRT_E_ARG" }, { -2, "QNNRT_E_MEMORY" }, { -3, "QNNRT_E_IO" }, { -4, "QNNRT_E_FORMAT" },
        { -5, "QNNRT_E_LIBRARY" }, { -6, "QNNRT_E_VERSION" }, { -7, "QNNRT_E_NOT_FOUND" }, { -8, "QNNRT_E_MISMATCH" },
        { -9, "QNNRT_E_UNSUPPORTED" }, { -10, "QNNRT_E_BACKEND" }, { -11, "QNNRT_E_BUSY" }, { -12, "QNNRT_E_STATE" },
        { -13, "QNNRT_E_LIMIT" }, { -14, "QNNRT_E_CANCELLED" }
    };
    static const int unknown[] = { 1, -15, -16, 100, 0x7FFFFFFF, -0x7FFFFFFF };
    size_t i;
    for (i = 0; i < sizeof(results) / sizeof(results[0]); ++i)
        CHECK_EQ(strcmp(qnnrt_result_name((qnnrt_result)results[i].value), results[i].name), 0);
    for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); ++i)
        CHECK_EQ(strcmp(qnnrt_result_name((qnnrt_result)unknown[i]), "unknown"), 0);
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* Check that both opens refuse these hooks or options, and load and allocate nothing. */
static void refused(const qnnrt_hooks *hooks, int log_level, const char *a, const char *b)
{
    qnnrt_desc desc = one_shard();
    qnnrt_backend_desc backend_desc;
    qnnrt_backend *backend = (qnnrt_backend *)somewhere;
    qnnrt *model;
    qnnrt_error err;
    int with_err;
    memset(&backend_desc, 0, sizeof(backend_desc));
    backend_desc.path = TEST_FAKE_LIB;
    backend_desc.hooks = desc.backend_desc.hooks = *hooks;
    backend_desc.log_level = desc.backend_desc.log_level = (qnnrt_log_level)log_level;
    fake_begin("");
    for (with_err = 0; with_err < 2; ++with_err) {
        TEST_JUNK(err);
        CHECK_EQ(qnnrt_backend_open(&backend_desc, &backend, with_err ? &err : NULL), QNNRT_E_ARG);
        CHECK(backend == NULL);
    }
    TRY(check_error(&err, QNNRT_E_ARG));
    CHECK_STR(err.text, a);
    CHECK_STR(err.text, b);
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_E_ARG);
    CHECK(model == NULL);
    TRY(check_error(&err, QNNRT_E_ARG));
    CHECK_STR(err.text, a);
    CHECK_STR(err.text, b);
    CHECK_EQ(qnnrt_open(NULL, &desc, &model, NULL), QNNRT_E_ARG);
    CHECK_EQ(fake_stat(9), 0);
    LEDGER_EMPTY();
}

TEST(half_a_pair_of_hooks_is_refused)
{
    static host h;
    qnnrt_hooks hooks = host_hooks(&h);
    hooks.free = NULL;
    TRY(refused(&hooks, 0, "hooks.alloc", "hooks.free"));
    hooks = host_hooks(&h);
    hooks.alloc = NULL;
    TRY(refused(&hooks, 0, "hooks.alloc", "hooks.free"));
    hooks = host_hooks(&h);
    hooks.unlock = NULL;
    TRY(refused(&hooks, 0, "hooks.lock", "hooks.unlock"));
    hooks = host_hooks(&h);
    hooks.lock = NULL;
    TRY(refused(&hooks, 0, "hooks.lock", "hooks.unlock"));
    CHECK_EQ(h.allocs, 0);
    CHECK_EQ(h.locks, 0);
}

/* ---- hooks that call qnnrt ------------------------------------------------------------------ */

static struct { int locked, allocs, logs, locks, wrong; } reentry;

/* Make the calls that a hook may make without an object. They must neither wait nor change the text
   of the current call. */
static void reentry_call(const char *text)
{
    int shown;
    if (strcmp(qnnrt_result_name(QNNRT_E_IO), "QNNRT_E_IO") != 0 || qnnrt_result_text(QNNRT_E_IO)[0] == '\0') reentry.wrong++;
    if (strcmp(qnnrt_dtype_name(QNNRT_DTYPE_F32), "float32") != 0 || qnnrt_role_name(QNNRT_ROLE_INPUT) == NULL) reentry.wrong++;
    if (qnnrt_vendor_name(QNNRT_VENDOR_DTYPE, 0x0232) == NULL || name_of(0x1388) == NULL) reentry.wrong++;
    if (qnnrt_explain_code(0x1388) == NULL || qnnrt_explain("0x1388") == NULL || qnnrt_explain_get(0) == NULL) reentry.wrong++;
    if (qnnrt_utf8_length("a", &shown) != 1 || !shown || qnnrt_version()[0] == '\0') reentry.wrong++;
    (void)qnnrt_explain(text);
}

static void *reentry_alloc(void *user, size_t bytes)
{
    (void)user;
    ++reentry.allocs;
    reentry_call("alloc");
    return malloc(bytes);
}

static void reentry_free(void *user, void *data)
{
    (void)user;
    reentry_call("free");
    free(data);
}

static void reentry_log(void *user, qnnrt_log_level level, const char *part, uint64_t vendor_code, const char *text)
{
    (void)user; (void)level; (void)part; (void)vendor_code;
    ++reentry.logs;
    reentry_call(text);
}

static void reentry_lock(void *user)
{
    (void)user;
    if (reentry.locked++ != 0) reentry.wrong++;      /* a plain mutex would wait forever */
    ++reentry.locks;
    reentry_call("lock");
}

static void reentry_unlock(void *user)
{
    (void)user;
    if (--reentry.locked != 0) reentry.wrong++;
    reentry_call("unlock");
}

TEST(hooks_may_call_what_needs_no_object_and_the_lock_is_taken_once)
{
    static const char *const knobs[] = { "", "log=1,fail=contextCreateFromBinary:0x1388", "fail=graphExecute:0x1771", "fail=contextFree:0x3e8" };
    size_t i;
    for (i = 0; i < sizeof(knobs) / sizeof(knobs[0]); ++i) {
        qnnrt_desc desc = one_shard();
        qnnrt_error err;
        qnnrt *model = NULL;
        qnnrt_run *run = NULL;
        qnnrt_result result;
        fake_begin(knobs[i]);
        memset(&reentry, 0, sizeof(reentry));
        TEST_JUNK(err);
        desc.backend_desc.hooks.alloc = reentry_alloc;
        desc.backend_desc.hooks.free = reentry_free;
        desc.backend_desc.hooks.log = reentry_log;
        desc.backend_desc.hooks.lock = reentry_lock;
        desc.backend_desc.hooks.unlock = reentry_unlock;
        desc.backend_desc.log_level = QNNRT_LOG_DEBUG;
        result = qnnrt_open(NULL, &desc, &model, &err);
        CHECK_EQ(result, i == 1 ? QNNRT_E_BACKEND : QNNRT_OK);
        if (i == 1) {
            CHECK_EQ(err.vendor_code, 0x1388);
            CHECK_STR(err.text, "fake: the first cause 42");
        } else {
            CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
            CHECK_EQ(qnnrt_exec(run), i == 2 ? QNNRT_E_BACKEND : QNNRT_OK);
            qnnrt_run_destroy(run);
            CHECK_EQ(qnnrt_close(model), i == 3 ? QNNRT_E_BACKEND : QNNRT_OK);
        }
        CHECK_EQ(reentry.wrong, 0);
        CHECK_EQ(reentry.locked, 0);
        CHECK(reentry.allocs > 0 && reentry.logs > 0 && reentry.locks > 0);
    }
}

TEST(log_levels_beyond_the_known_ones_are_refused)
{
    qnnrt_hooks none;
    int level;
    memset(&none, 0, sizeof(none));
    TRY(refused(&none, -1, "log_level", "-1"));
    TRY(refused(&none, 6, "log_level", "6"));
    TRY(refused(&none, 0x7FFFFFFE, "log_level", "2147483646"));
    for (level = 0; level <= 5; ++level) {
        qnnrt_desc desc = one_shard();
        desc.backend_desc.log_level = (qnnrt_log_level)level;
        TRY(works_desc("", &desc, NULL));
    }
}

TEST(an_alignment_that_is_no_power_of_two_is_refused)
{
    static const uint32_t wrong[] = { 3, 65, 96, 0x80000001u, 0xFFFFFFFFu };
    static const uint32_t right[] = { 1, 2, 64, 128, 4096, 65536 };
    const qnnrt_desc desc = one_shard();
    qnnrt_prepare_desc how = { 0 };
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    size_t i;
    fake_begin("");
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        char number[16];
        how.align = wrong[i];
        snprintf(number, sizeof(number), "%u", (unsigned)wrong[i]);
        run = (qnnrt_run *)&err;
        CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, &err), QNNRT_E_ARG);
        CHECK(run == NULL);
        CHECK_STR(err.text, "align");
        CHECK_STR(err.text, number);
        CHECK_STR(err.text, "power of two");
    }
    for (i = 0; i < sizeof(right) / sizeof(right[0]); ++i) {
        size_t bytes;
        how.align = right[i];
        CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ((uintptr_t)qnnrt_data(run, "logits", &bytes) % right[i], 0);
        qnnrt_run_destroy(run);
    }
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* With desc.backend set, desc.backend_desc is not used: neither its path nor its hooks. */
TEST(options_of_a_shared_backend_belong_to_the_backend)
{
    static host h;
    qnnrt_backend_desc backend_desc;
    qnnrt_backend *backend;
    qnnrt_error err;
    qnnrt *model;
    qnnrt_desc desc;
    memset(&backend_desc, 0, sizeof(backend_desc));
    backend_desc.path = TEST_FAKE_LIB;
    fake_begin("");
    CHECK_EQ(qnnrt_backend_open(&backend_desc, &backend, NULL), QNNRT_OK);
    desc = one_shard();
    desc.backend = backend;
    desc.backend_desc.path = "/nowhere/libNone.so";
    desc.backend_desc.log_level = (qnnrt_log_level)99;
    desc.backend_desc.soc_model = 57;
    desc.backend_desc.unload = 1;
    desc.backend_desc.hooks = host_hooks(&h);
    desc.backend_desc.hooks.free = NULL;
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK(qnnrt_get_info(model)->backend == backend);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(h.allocs, 0);
    CHECK_EQ(h.locks, 0);
    CHECK_EQ(h.lines[0], 0);
    desc.inspect = 1;
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_E_ARG);
    CHECK(model == NULL);
    TRY(check_error(&err, QNNRT_E_ARG));
    CHECK_STR(err.text, "desc.backend");
    CHECK_EQ(qnnrt_open(NULL, &desc, &model, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(nothing_where_something_is_needed_is_a_wrong_argument)
{
    qnnrt_error err;
    qnnrt *model = somewhere;
    qnnrt_desc desc = one_shard();
    qnnrt_file empty;
    memset(&empty, 0, sizeof(empty));
    fake_begin("");
    TEST_JUNK(err);
    CHECK_EQ(qnnrt_backend_open(NULL, NULL, &err), QNNRT_E_ARG);
    TRY(check_error(&err, QNNRT_E_ARG));
    CHECK_EQ(qnnrt_backend_open(NULL, NULL, NULL), QNNRT_E_ARG);
    TEST_JUNK(err);
    CHECK_EQ(qnnrt_open(NULL, &desc, NULL, &err), QNNRT_E_ARG);
    TRY(check_error(&err, QNNRT_E_ARG));
    CHECK_EQ(qnnrt_open(NULL, &desc, NULL, NULL), QNNRT_E_ARG);
    TEST_JUNK(err);
    CHECK_EQ(qnnrt_open(NULL, NULL, &model, &err), QNNRT_E_ARG);
    TRY(check_error(&err, QNNRT_E_ARG));
    CHECK(model == NULL);
    TEST_JUNK(err);
    model = somewhere;
    CHECK_EQ(qnnrt_open("", NULL, &model, &err), QNNRT_E_ARG);
    CHECK(model == NULL);
    TEST_JUNK(err);
    model = somewhere;
    CHECK_EQ(qnnrt_open("folder", &desc, &model, &err), QNNRT_E_ARG);
    TRY(check_error(&err, QNNRT_E_ARG));
    CHECK(model == NULL);
    desc.file_count = 0;
    TRY(fails_desc("", &desc, QNNRT_E_ARG, "file_count", NULL, NULL));
    memset(&empty, 0, sizeof(empty));
    desc = one_shard();
    desc.files = &empty;
    TRY(fails_desc("", &desc, QNNRT_E_ARG, "desc.files[0]", NULL, NULL));
    LEDGER_EMPTY();
}

TEST(calls_on_nothing_answer)
{
    CHECK_EQ(qnnrt_backend_close(NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_close(NULL), QNNRT_OK);
    CHECK(qnnrt_backend_get_info(NULL) == NULL);
    CHECK(qnnrt_get_info(NULL) == NULL);
    qnnrt_run_destroy(NULL);
    CHECK_EQ(qnnrt_exec(NULL), QNNRT_E_ARG);
}

/* ---- lock and unlock ------------------------------------------------------------------------ */

/* Open, run and close with these knobs, whatever the results; then check that no call was made
   without the lock. */
static void locked(const char *knobs, int keep_going, long *system_outside)
{
    static host h;
    qnnrt_desc desc = two_shards();
    qnnrt_error err;
    qnnrt *model;
    qnnrt_run *run = NULL;
    fake_begin(knobs);
    desc.backend_desc.hooks = host_hooks(&h);
    desc.keep_going = keep_going;
    if (open_it(&desc, &model, &err) == QNNRT_OK) {
        if (qnnrt_prepare(model, "fwd", &run, &err) == QNNRT_OK) {
            qnnrt_exec(run);
            qnnrt_exec(run);
            qnnrt_run_destroy(run);
        }
        qnnrt_close(model);
    }
    LEDGER_EMPTY();
    TRY(check_host(&h));
    if (h.outside != 0) printf("%s: %ld calls without the lock, the last one %s\n", knobs, h.outside, h.culprit);
    CHECK_EQ(h.outside, 0);
    CHECK(h.locks > 0);
    *system_outside += h.system_outside;
}

static const char *const lock_knobs[] = { "", "devnosup=1", "null=logCreate,null=deviceCreate", "fail=logCreate:1",
    "fail=backendCreate:1", "zero=backendCreate", "fail=deviceCreate:1", "zero=deviceCreate", "fail=backendGetBuildId:1",
    "fail=contextCreateFromBinary:1", "fail=contextCreateFromBinary:1:2", "fail=graphRetrieve:1", "fail=graphRetrieve:1:2",
    "zero=graphRetrieve", "fail=graphExecute:1", "fail=graphExecute:1:2", "fail=systemContextGetBinaryInfo:1:2",
    "fail=systemContextCreate:1", "fail=contextFree:1,fail=deviceFree:1,fail=backendFree:1,fail=logFree:1", "sysapi=1.1" };

TEST(every_call_of_the_backend_is_made_with_the_lock_held)
{
    long system_outside = 0;
    size_t i;
    for (i = 0; i < sizeof(lock_knobs) / sizeof(lock_knobs[0]); ++i) {
        TRY(locked(lock_knobs[i], 0, &system_outside));
        TRY(locked(lock_knobs[i], 1, &system_outside));
    }
}

/* "Held around every call into the vendor library": this includes libQnnSystem.so. */
TEST(every_call_of_the_system_library_is_made_with_the_lock_held)
{
    long system_outside = 0;
    TRY(locked("", 0, &system_outside));
    TRY(locked("fail=systemContextGetBinaryInfo:1:2", 0, &system_outside));
    CHECK_EQ(system_outside, 0);
}

/* ---- log ------------------------------------------------------------------------------------ */

/* Call the callback of this backend directly, as if the library logged. */
static void library_logs(const qnnrt_backend *backend, uint32_t level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    qnnrt__log_callbacks[backend->log_slot](format, level, 0, args);
    va_end(args);
}

static qnnrt_backend *open_backend(const char *knobs, host *h, int level)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    qnnrt_error err;
    fake_begin(knobs);
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_FAKE_LIB;
    desc.log_level = (qnnrt_log_level)level;
    if (h != NULL) desc.hooks = host_hooks(h);
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) printf("%s\n", err.text);
    return backend;
}

TEST(lines_of_the_library_pass_up_to_the_log_level)
{
    static host h;
    int level;
    for (level = 0; level <= 5; ++level) {
        int most = level == 0 ? QNNRT_LOG_WARN : level, line;
        qnnrt_backend *backend = open_backend("", &h, level);
        CHECK(backend != NULL);
        CHECK(backend->log_slot >= 0);
        for (line = 1; line <= 5; ++line) library_logs(backend, (uint32_t)line, "line of level %d\n", line);
        for (line = 1; line <= 5; ++line) {
            char text[64];
            snprintf(text, sizeof(text), "%d vendor line of level %d\n", line, line);
            CHECK_EQ(strstr(h.lines, text) != NULL, line <= most);
        }
        CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
        TRY(check_host(&h));
    }
    LEDGER_EMPTY();
}

TEST(a_hostile_line_of_the_library_arrives_cleaned)
{
    static host h;
    static const char *const knobs[] = { "lograw=1", "lograw=1,fail=contextCreateFromBinary:1" };
    int i;
    for (i = 0; i < 2; ++i) {
        qnnrt_desc desc = one_shard();
        qnnrt_error err;
        qnnrt *model;
        const unsigned char *at;
        fake_begin(knobs[i]);
        desc.backend_desc.hooks = host_hooks(&h);
        CHECK_EQ(open_it(&desc, &model, &err), i == 0 ? QNNRT_OK : QNNRT_E_BACKEND);
        if (i == 1) {
            TRY(check_error(&err, QNNRT_E_BACKEND));
            CHECK_STR(err.text, "fake: ?[2J?[31m raw %n %s %x ");
        }
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        LEDGER_EMPTY();
        CHECK_STR(h.lines, "1 vendor fake: ?[2J?[31m raw %n %s %x ");
        for (at = (const unsigned char *)h.lines; *at != 0; ++at) CHECK(*at == '\n' || (*at >= 0x20 && *at < 0x7F));
        TRY(check_host(&h));                  /* one line per call, each clean UTF-8 */
    }
}

TEST(lines_of_any_content_are_cleaned_and_cut)
{
    static host h;
    static char raw[2000];
    qnnrt_backend *backend = open_backend("", &h, 5);
    size_t i;
    CHECK(backend != NULL);
    library_logs(backend, 1, "%s", "C1 \xC2\x80 \xC2\x9B[2J \xC2\x9F end, DEL \x7F, bad \xC0\xAF \xED\xA0\x80 \xF5 \xE2\x82");
    library_logs(backend, 1, "good \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xC2\xA0");
    library_logs(backend, 1, "one\ntwo\r\nthree\r\n\r\n");
    library_logs(backend, 1, "\n");
    library_logs(backend, 1, "%s", "");
    for (i = 0; i + 1 < sizeof(raw); i += 2) memcpy(raw + i, "\xC3\xA9", 2);
    raw[sizeof(raw) - 1] = '\0';
    raw[sizeof(raw) - 2] = '\0';
    library_logs(backend, 2, "%s", raw);
    library_logs(backend, 2, "x%s", raw);
    for (i = 1; i < 256; ++i) library_logs(backend, 4, "%c%c", (int)i, 'z');
    CHECK_STR(h.lines, "good \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xC2\xA0");
    CHECK_STR(h.lines, "1 vendor one two? three\n");
    CHECK_STR(h.lines, "DEL ?, bad");
    CHECK(strstr(h.lines, "\xC2\x9B") == NULL);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    TRY(check_host(&h));
    LEDGER_EMPTY();
}

TEST(lines_after_the_close_reach_nobody)
{
    static host h;
    qnnrt_backend *backend = open_backend("", &h, 5);
    qnnrt_backend remembered;
    size_t used;
    CHECK(backend != NULL);
    remembered = *backend;
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    used = h.used;
    library_logs(&remembered, 1, "a late thread");
    library_logs(&remembered, 1, NULL);
    CHECK_EQ(h.used, used);
    LEDGER_EMPTY();
}

/* Replace the library's execute with one that logs and fails. */
static const qnnrt_backend *noisy_backend;
static int noisy_lines, noisy_fails;
static const char *noisy_text = "line";

static qnnrt__abi_code noisy_execute(qnnrt__abi_handle graph, const qnnrt__abi_tensor *inputs, uint32_t input_count,
                                     qnnrt__abi_tensor *outputs, uint32_t output_count, qnnrt__abi_handle profile,
                                     qnnrt__abi_handle signal)
{
    int i;
    (void)graph; (void)inputs; (void)input_count; (void)outputs; (void)output_count; (void)profile; (void)signal;
    for (i = 1; i <= noisy_lines; ++i) library_logs(noisy_backend, 1, "%s %d of %d\n", noisy_text, i, noisy_lines);
    return noisy_fails ? 0x1791 : 0;
}

TEST(the_first_line_of_a_failed_execute_is_kept_however_many_follow)
{
    static const int counts[] = { 20, 1, 8, 9, 24, 25, 26, 1000 };      /* 24: the lines that a log slot keeps */
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    qnnrt_run *run;
    size_t i;
    fake_begin("");
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
    run->steps[0].execute = noisy_execute;
    noisy_backend = qnnrt_get_info(model)->backend;
    library_logs(noisy_backend, 1, "an error long before");
    for (i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
        char first[64], last[64];
        noisy_lines = counts[i];
        noisy_fails = 1;
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
        TRY(check_error(qnnrt_run_error(run), QNNRT_E_BACKEND));
        snprintf(first, sizeof(first), "line 1 of %d", counts[i]);
        snprintf(last, sizeof(last), "line %d of %d", counts[i], counts[i]);
        CHECK_STR(qnnrt_run_error(run)->text, first);
        CHECK_STR(qnnrt_run_error(run)->text, last);
        CHECK_STR(qnnrt_run_error(run)->text, "logged first");
        CHECK(strstr(strstr(qnnrt_run_error(run)->text, first) + 1, first) == NULL || counts[i] > 9);
        CHECK(strstr(qnnrt_run_error(run)->text, "long before") == NULL);
        if (i > 0) {
            char before[32];
            snprintf(before, sizeof(before), "of %d\n", counts[i - 1]);
            CHECK(strstr(qnnrt_run_error(run)->text, before) == NULL);
        }
        noisy_lines = 3;
        noisy_fails = 0;
        /* The next call sees no lines of a call that logs and succeeds. */
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    }
    noisy_lines = 0;
    noisy_fails = 1;
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
    CHECK(strstr(qnnrt_run_error(run)->text, "logged") == NULL);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* Without hooks that lock and without a profile, qnnrt_exec() calls the library directly. */
TEST(a_run_is_careful_only_while_it_is_profiled)
{
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    qnnrt_run *run;
    fake_begin("");
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(run->careful, 0);
    CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(run->careful, 1);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_OFF), QNNRT_OK);
    CHECK_EQ(run->careful, 0);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(a_text_that_is_cut_stays_utf8)
{
    static char text[400];
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    qnnrt_run *run;
    int shift, width;
    fake_begin("");
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
    run->steps[0].execute = noisy_execute;
    noisy_backend = qnnrt_get_info(model)->backend;
    noisy_lines = 12;
    noisy_fails = 1;
    noisy_text = text;
    for (width = 2; width <= 4; ++width)
        for (shift = 0; shift < 8; ++shift) {
            size_t at = (size_t)shift;
            memset(text, 'x', sizeof(text));
            while (at < 240) {
                memcpy(text + at, width == 2 ? "\xC3\xA9" : width == 3 ? "\xE2\x82\xAC" : "\xF0\x9F\x98\x80", (size_t)width);
                at += (size_t)width;
            }
            text[at] = '\0';
            CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
            CHECK(strlen(qnnrt_run_error(run)->text) >= sizeof(err.text) - 4);
            TRY(check_error(qnnrt_run_error(run), QNNRT_E_BACKEND));
        }
    noisy_text = "line";
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(lines_in_an_error_belong_to_the_call_that_failed)
{
    qnnrt_backend *backend = open_backend("log=1,fail=contextCreateFromBinary:0x1388:1,fail=graphRetrieve:0x1773:2,"
                                          "fail=graphExecute:1:1", NULL, 0);
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    qnnrt_run *run;
    CHECK(backend != NULL);
    desc.backend = backend;
    desc.backend_desc.path = NULL;
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "the first cause 42");
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
    CHECK_STR(qnnrt_run_error(run)->text, "graphExecute answered 0x1");
    CHECK(strstr(qnnrt_run_error(run)->text, "fake:") == NULL);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "graphRetrieve answered 0x1773");
    CHECK(strstr(err.text, "fake:") == NULL);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(two_backends_do_not_mix_their_lines)
{
    static host ha, hb;
    qnnrt_backend *a = open_backend("", &ha, 0), *b;
    qnnrt_backend_desc b_desc;
    qnnrt_desc desc = one_shard();
    qnnrt *model;
    qnnrt_error err;
    fake_begin("log=1,fail=contextCreateFromBinary:0x1388:1");
    vendor.before -= 3;                       /* log, backend and device of a */
    memset(&b_desc, 0, sizeof(b_desc));
    b_desc.path = TEST_FAKE_LIB;
    b_desc.hooks = host_hooks(&hb);
    CHECK(a != NULL);
    CHECK_EQ(qnnrt_backend_open(&b_desc, &b, NULL), QNNRT_OK);
    CHECK(a->log_slot != b->log_slot);
    library_logs(b, 1, "of b alone");
    desc.backend_desc.path = NULL;
    desc.backend = a;
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "the first cause 42");
    CHECK(strstr(err.text, "of b alone") == NULL);
    CHECK_STR(ha.lines, "the first cause 42");
    CHECK(strstr(ha.lines, "of b alone") == NULL);
    CHECK_STR(hb.lines, "of b alone");
    CHECK(strstr(hb.lines, "first cause") == NULL);
    CHECK_EQ(qnnrt_backend_close(a), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(b), QNNRT_OK);
    TRY(check_host(&ha));
    TRY(check_host(&hb));
    LEDGER_EMPTY();
}

/* The library may log from threads of its own while backends open and close. */
static int chatter_stop;

static void *chatter(void *user)
{
    qnnrt_backend slots[QNNRT_LOG_SLOTS];
    int i;
    (void)user;
    memset(slots, 0, sizeof(slots));
    for (i = 0; i < QNNRT_LOG_SLOTS; ++i) slots[i].log_slot = i;
    for (i = 0; __sync_fetch_and_add(&chatter_stop, 0) == 0; ++i)
        library_logs(&slots[i % QNNRT_LOG_SLOTS], 1, "chatter %d\n", i);
    return NULL;
}

TEST(lines_from_other_threads_do_no_harm)
{
    pthread_t threads[2];
    qnnrt_error err;
    int i;
    chatter_stop = 0;
    fake_begin("log=1,fail=contextCreateFromBinary:1:20");
    for (i = 0; i < 2; ++i) if (pthread_create(&threads[i], NULL, chatter, NULL) != 0) abort();
    for (i = 0; i < 40; ++i) {
        qnnrt_desc desc = two_shards();
        qnnrt *model;
        if (open_it(&desc, &model, &err) == QNNRT_OK) qnnrt_close(model);
        else if (err.code != QNNRT_E_BACKEND || !text_is_clean(err.text)) break;
    }
    __sync_fetch_and_add(&chatter_stop, 1);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    CHECK_EQ(i, 40);
    LEDGER_EMPTY();
}

TEST(the_ninth_backend_opens_without_a_log_and_says_so)
{
    static host h;
    qnnrt_backend *backends[QNNRT_LOG_SLOTS + 2];
    int i, round;
    for (round = 0; round < 3; ++round) {
        uint64_t before;
        fake_begin("");
        before = vendor.before;
        for (i = 0; i < QNNRT_LOG_SLOTS + 2; ++i) {
            backends[i] = open_backend("", &h, 0);
            CHECK(backends[i] != NULL);
            CHECK_EQ(qnnrt_backend_get_info(backends[i])->has_log, i < QNNRT_LOG_SLOTS);
            CHECK_EQ(strstr(h.lines, "QNNRT_LOG_SLOTS") != NULL, i >= QNNRT_LOG_SLOTS);
            /* The next backend uses h again. */
            if (i < QNNRT_LOG_SLOTS + 1) backends[i]->hooks.log = NULL;
        }
        CHECK_EQ(fake_stat(0), QNNRT_LOG_SLOTS);
        /* A model on the backend without a log: it runs, and its errors come without lines. */
        {
            qnnrt_desc desc = one_shard();
            qnnrt_error err;
            qnnrt *model;
            qnnrt_run *run;
            desc.backend = backends[QNNRT_LOG_SLOTS];
            desc.backend_desc.path = NULL;
            fake_begin("log=1,fail=contextCreateFromBinary:0x1388:2,fail=graphExecute:0x1791:2");
            CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
            CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
            CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
            CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
            CHECK_STR(qnnrt_run_error(run)->text, "0x1791");
            qnnrt_run_destroy(run);
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            CHECK_EQ(open_it(&desc, &model, &err), QNNRT_E_BACKEND);
            CHECK(strstr(err.text, "fake:") == NULL);
        }
        /* Close them in the order of opening, in reverse, or from the middle. */
        for (i = 0; i < QNNRT_LOG_SLOTS + 2; ++i) {
            int at = round == 0 ? i : round == 1 ? QNNRT_LOG_SLOTS + 1 - i : (i + 4) % (QNNRT_LOG_SLOTS + 2);
            backends[at]->hooks.log = NULL;
            CHECK_EQ(qnnrt_backend_close(backends[at]), QNNRT_OK);
        }
        CHECK_EQ(fake_live(&vendor), before);
    }
}

TEST(slots_of_the_log_are_given_back_by_opens_that_fail)
{
    static const char *const knobs[] = { "fail=backendCreate:1", "fail=deviceCreate:1",
                                         "fail=logCreate:1,fail=backendCreate:1", "zero=deviceCreate",
                                         "fail=contextCreateFromBinary:1", "null=graphExecute" };
    qnnrt_backend *backend;
    qnnrt_error err;
    qnnrt *model;
    int i;
    for (i = 0; i < 60; ++i) {
        qnnrt_desc desc = one_shard();
        fake_begin(knobs[i % 6]);
        CHECK(open_it(&desc, &model, &err) != QNNRT_OK);
        LEDGER_EMPTY();
    }
    backend = open_backend("", NULL, 0);
    CHECK(backend != NULL);
    CHECK_EQ(backend->log_slot, 0);
    CHECK_EQ(qnnrt_backend_get_info(backend)->has_log, 1);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    LEDGER_EMPTY();
}

/* ---- sharing and closing -------------------------------------------------------------------- */

TEST(two_models_share_a_backend_that_stays_open_while_used)
{
    static host h;
    int first;
    for (first = 0; first < 2; ++first) {
        qnnrt_backend *backend = open_backend("", &h, 0);
        qnnrt *models[2];
        qnnrt_error err;
        qnnrt_desc desc = one_shard();
        long live, locks;
        CHECK(backend != NULL);
        desc.backend = backend;
        desc.backend_desc.path = NULL;
        CHECK_EQ(open_it(&desc, &models[0], &err), QNNRT_OK);
        desc = two_shards();
        desc.backend = backend;
        desc.backend_desc.path = NULL;
        CHECK_EQ(open_it(&desc, &models[1], &err), QNNRT_OK);
        CHECK(qnnrt_get_info(models[0])->backend == backend);
        CHECK(qnnrt_get_info(models[1])->backend == backend);
        CHECK_EQ(fake_stat(1), 1);
        CHECK_EQ(fake_stat(3), 3);
        live = h.live;
        locks = h.locks;
        CHECK_EQ(qnnrt_backend_close(backend), QNNRT_E_BUSY);
        CHECK_EQ(qnnrt_backend_close(backend), QNNRT_E_BUSY);
        CHECK_EQ(h.live, live);
        CHECK_EQ(h.locks, locks);
        CHECK_STR(h.lines, "2 users");
        CHECK_EQ(fake_stat(1), 1);
        CHECK_EQ(qnnrt_close(models[first]), QNNRT_OK);
        CHECK_EQ(qnnrt_backend_close(backend), QNNRT_E_BUSY);
        CHECK_EQ(fake_stat(1), 1);
        CHECK_EQ(fake_stat(2), 1);
        CHECK_EQ(qnnrt_close(models[1 - first]), QNNRT_OK);
        CHECK_EQ(fake_stat(3), 0);
        CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
        LEDGER_EMPTY();
        TRY(check_host(&h));
    }
}

/* A failed open does not stay counted as a user of the backend. */
TEST(a_failed_open_on_a_shared_backend_leaves_it_as_it_was)
{
    static const char *const knobs[] = { "fail=contextCreateFromBinary:1:1", "fail=graphRetrieve:1:1",
                                         "zero=systemContextCreate", "sysapi=1.1", "fail=systemContextGetBinaryInfo:1:1",
                                         "fail=QnnSystemInterface_getProviders:1" };
    static host h;
    size_t i;
    for (i = 0; i < sizeof(knobs) / sizeof(knobs[0]); ++i) {
        qnnrt_backend *backend = open_backend("", &h, 0);
        qnnrt_desc desc = one_shard();
        qnnrt_error err;
        qnnrt *model;
        qnnrt_result result;
        uint64_t before = vendor.before;
        CHECK(backend != NULL);
        desc.backend = backend;
        desc.backend_desc.path = NULL;
        fake_begin(knobs[i]);
        h.seen = 0;
        result = open_it(&desc, &model, &err);
        TRY(check_error(&err, result));
        CHECK(model == NULL);
        CHECK_EQ(qnnrt_backend_get_info(backend)->has_device, 1);
        fake_begin("");
        h.seen = 0;
        CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
        CHECK_EQ(fake_live(&vendor), before);
        TRY(check_host(&h));
    }
}

TEST(the_backend_that_a_model_opened_outlives_it_for_others_or_the_close_is_refused)
{
    static host h;
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *owner, *guest;
    qnnrt_run *run;
    fake_begin("");
    desc.backend_desc.hooks = host_hooks(&h);
    CHECK_EQ(open_it(&desc, &owner, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(qnnrt_get_info(owner)->backend), QNNRT_E_BUSY);
    desc = two_shards();
    desc.backend = qnnrt_get_info(owner)->backend;
    desc.backend_desc.path = NULL;
    CHECK_EQ(open_it(&desc, &guest, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_close(owner), QNNRT_E_BUSY);
    CHECK_EQ(fake_stat(1), 1);
    CHECK_EQ(fake_stat(3), 3);                            /* nothing was freed */
    CHECK_EQ(qnnrt_prepare(guest, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(guest), QNNRT_OK);
    CHECK_EQ(qnnrt_close(owner), QNNRT_OK);
    LEDGER_EMPTY();
    TRY(check_host(&h));
}

TEST(a_model_with_a_run_stays_open)
{
    static host h;
    qnnrt_desc desc = two_shards();
    qnnrt_error err;
    qnnrt *model;
    qnnrt_run *runs[2];
    long live;
    fake_begin("");
    desc.backend_desc.hooks = host_hooks(&h);
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, NULL, &runs[0], &err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, "1/fwd", &runs[1], &err), QNNRT_OK);
    live = h.live;
    CHECK_EQ(qnnrt_close(model), QNNRT_E_BUSY);
    CHECK_EQ(h.live, live);
    CHECK_EQ(qnnrt_exec(runs[0]), QNNRT_OK);
    qnnrt_run_destroy(runs[0]);
    CHECK_EQ(qnnrt_close(model), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_exec(runs[1]), QNNRT_OK);
    CHECK_EQ(fake_stat(3), 2);
    qnnrt_run_destroy(runs[1]);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
    TRY(check_host(&h));
}

/* ---- order, device options ------------------------------------------------------------------ */

TEST(objects_are_made_in_order_and_freed_in_reverse)
{
    static const char *const order[] = { "logCreate\n", "backendCreate\n", "deviceCreate\n",
                                         "contextCreateFromBinary\n", "graphRetrieve\n", "contextFree\n", "deviceFree\n",
                                         "backendFree\n", "logFree\n" };
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    const char *at;
    size_t i;
    fake_begin("");
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    at = vendor.trace();
    for (i = 0; i < sizeof(order) / sizeof(order[0]); ++i) {
        const char *found = strstr(at, order[i]);
        if (found == NULL) printf("%s in:\n%s", order[i], vendor.trace());
        CHECK(found != NULL);
        at = found + strlen(order[i]);
        CHECK(strstr(at, order[i]) == NULL);                        /* once each */
    }
    LEDGER_EMPTY();
}

/* A table of ours, whose deviceCreate keeps its arguments. The payload of the option lies at byte 4
   or at byte 8, after the library's version. */
static unsigned char device_option[16];
static int device_configs, device_calls;
static uint32_t device_config_option;

static qnnrt__abi_code spy_backend_create(qnnrt__abi_handle log, const void **config, qnnrt__abi_handle *out)
{
    (void)log;
    (void)config;
    *out = &device_calls;
    return 0;
}

static qnnrt__abi_code spy_device_create(qnnrt__abi_handle log, const qnnrt__abi_device_config **config, qnnrt__abi_handle *out)
{
    (void)log;
    device_calls += 1;
    device_configs = 0;
    while (config != NULL && config[device_configs] != NULL) {
        device_config_option = config[device_configs]->option;
        memcpy(device_option, config[device_configs]->custom, sizeof(device_option));
        device_configs += 1;
    }
    *out = &device_calls;
    return 0;
}

static qnnrt__abi_code spy_free(qnnrt__abi_handle handle) { (void)handle; return 0; }

TEST(a_chip_is_asked_for_in_both_layouts_of_the_option)
{
    qnnrt__abi_provider provider;
    qnnrt_backend backend;
    qnnrt_error err;
    uint32_t word, id;
    for (id = 6; id >= 3; id -= 3) {
        memset(&provider, 0, sizeof(provider));
        memset(&backend, 0, sizeof(backend));
        provider.backend_id = id;
        provider.calls.backend_create = spy_backend_create;
        provider.calls.backend_free = spy_free;
        provider.calls.device_create = spy_device_create;
        provider.calls.device_free = spy_free;
        backend.provider = &provider;
        backend.calls = &provider.calls;
        backend.log_slot = -1;
        device_calls = 0;
        CHECK_EQ(qnnrt__backend_create(&backend, 57, &err), QNNRT_OK);
        CHECK_EQ(device_calls, 1);
        CHECK_EQ(device_configs, id == 6 ? 1 : 0);                  /* an option of HTP only */
        if (id == 6) {
            CHECK_EQ(device_config_option, 0);                      /* custom */
            memcpy(&word, device_option, 4);
            CHECK_EQ(word, 0);                                      /* number of the option: SoC */
            memcpy(&word, device_option + 4, 4);
            CHECK_EQ(word, 57);
            memcpy(&word, device_option + 8, 4);
            CHECK_EQ(word, 57);
        }
        CHECK_EQ(qnnrt__backend_create(&backend, 0, &err), QNNRT_OK);
        CHECK_EQ(device_configs, 0);
    }
}

TEST(a_device_that_fails_with_a_chip_names_the_chip)
{
    qnnrt_desc desc = one_shard();
    desc.backend_desc.soc_model = 57;
    TRY(works_desc("", &desc, NULL));
    TRY(fails_desc("fail=deviceCreate:0x36b1", &desc, QNNRT_E_BACKEND, "soc_model 57", "0x36b1", TEST_FAKE_LIB));
}

/* ---- nothing is left ------------------------------------------------------------------------ */

static long descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    long count = 0;
    if (dir == NULL) return -1;
    while (readdir(dir) != NULL) ++count;
    closedir(dir);
    return count;
}

static long mappings(void)
{
    size_t bytes, i;
    char *text = (char *)test_read_file("/proc/self/maps", &bytes);
    long count = 0;
    for (i = 0; i < bytes; ++i) count += text[i] == '\n';
    free(text);
    return count;
}

/* Opens that succeed and that fail, over blocks, mapped and read files, with and without
   unloading. */
TEST(five_hundred_opens_leave_no_descriptor_and_no_mapping)
{
    static const char *const knobs[] = { "", "", "fail=backendCreate:1", "fail=contextCreateFromBinary:1", "sysapi=1.1",
                                         "fail=graphRetrieve:1" };
    char dir[4096];
    long fds = 0, maps = 0;
    int i;
    folder(dir);
    CHECK(test_write_file(join(dir, "one.bin"), ONE, strlen(ONE)));
    fake_begin("");
    for (i = 0; i < 560; ++i) {
        qnnrt_desc desc = one_shard();
        qnnrt_error err;
        qnnrt *model = NULL;
        const char *ctx_dir = NULL;
        qnnrt_result result;
        if (i == 60) {
            fds = descriptors();
            maps = mappings();
            if (fds < 0 || maps == 0) SKIP("there is no /proc");
        }
        if (i % 4 != 0) {
            ctx_dir = dir;
            desc.files = NULL;
            desc.file_count = 0;
        }
        desc.read = i % 4 == 2;
        desc.backend_desc.unload = i % 3 == 0;
        if (i % 12 == 11) desc.system_path = "/nowhere/libQnnSystem.so";
        fake_begin(knobs[i % 6]);
        result = qnnrt_open(ctx_dir, &desc, &model, &err);
        CHECK_EQ(result == QNNRT_OK, i % 6 < 2);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        LEDGER_EMPTY();
    }
    CHECK_EQ(descriptors(), fds);
    if (mappings() > maps + 16) printf("mappings: %ld, then %ld\n", maps, mappings());
    CHECK(mappings() <= maps + 16);
}

TEST(a_library_is_unloaded_when_that_is_asked_for)
{
    char dir[4096], path[4096];
    int unload;
    folder(dir);
    for (unload = 0; unload < 2; ++unload) {
        qnnrt_desc desc = one_shard();
        qnnrt_error err;
        qnnrt *model;
        void *still;
        snprintf(path, sizeof(path), "%s", join(dir, unload ? "libUnloaded.so" : "libStays.so"));
        TRY(copy_file(TEST_FAKE_LIB, path));
        desc.backend_desc.path = desc.system_path = path;
        desc.backend_desc.unload = unload;
        fake_begin("");
        CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        still = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
        CHECK_EQ(still != NULL, !unload);
        if (still != NULL) dlclose(still);
        /* The library of a backend whose open failed does not stay loaded. */
        snprintf(path, sizeof(path), "%s", join(dir, unload ? "libFailed1.so" : "libFailed0.so"));
        TRY(copy_file(TEST_FAKE_LIB, path));
        desc.system_path = TEST_FAKE_LIB;
        fake_begin("fail=backendCreate:1");
        CHECK_EQ(open_it(&desc, &model, &err), QNNRT_E_BACKEND);
        still = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
        CHECK(still == NULL);
    }
}

/* Seen on the genuine emulator: when v68 and v75 are loaded at the same time, graphs of the first
   fail with 0x44c. */
TEST(models_for_two_generations_at_one_time_are_told_in_the_log)
{
    qnnrt_file files[2];
    memset(files, 0, sizeof(files));
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    host h;
    files[0] = block("old.bin", HEAD "arch 68\ngraph a\nin ids 1 0032 2 1 4 -\nout x 2 0232 2 1 8 -\n");
    files[1] = block("new.bin", HEAD "arch 75\ngraph b\nin x 3 0232 2 1 8 -\nout y 4 0232 2 1 8 -\n");
    desc.files = files;
    desc.file_count = 2;
    desc.backend_desc.hooks = host_hooks(&h);
    fake_begin("");
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
#if defined(__x86_64__)
    CHECK_STR(h.lines, "new.bin is for NPU generation v75 and others on this backend are for v68");
#endif
    files[1] = block("new.bin", HEAD "arch 68\ngraph b\nin x 3 0232 2 1 8 -\nout y 4 0232 2 1 8 -\n");
    desc.backend_desc.hooks = host_hooks(&h);
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK(strstr(h.lines, "NPU generation") == NULL);
    TRY(check_host(&h));
    LEDGER_EMPTY();
}

/* One after another is right: the first model is closed when the second one is opened. */
TEST(a_generation_ends_with_the_models_that_have_it)
{
    qnnrt_file file;
    qnnrt_desc desc = one_shard();
    qnnrt_error err;
    qnnrt *model;
    int i;
    host h;
    fake_begin("");
    desc.backend_desc.hooks = host_hooks(&h);
    CHECK_EQ(qnnrt_backend_open(&desc.backend_desc, &desc.backend, &err), QNNRT_OK);
    desc.files = &file;
    desc.file_count = 1;
    for (i = 0; i < 3; ++i) {
        file = i == 1 ? block("b.bin", HEAD "arch 75\ngraph a\nin ids 1 0032 2 1 4 -\nout x 2 0232 2 1 8 -\n")
                      : block("a.bin", HEAD "arch 68\ngraph a\nin ids 1 0032 2 1 4 -\nout x 2 0232 2 1 8 -\n");
        CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_backend_close(desc.backend), QNNRT_OK);
    CHECK(strstr(h.lines, "NPU generation") == NULL);
    LEDGER_EMPTY();
}

/* The text of an error has several lines; the hook gets them one by one. */
TEST(an_error_is_logged_line_by_line)
{
    qnnrt_desc desc = two_shards();
    qnnrt_error err;
    qnnrt *model;
    host h;
    fake_begin("log=1,fail=contextCreateFromBinary:0x1389:1");
    desc.keep_going = 1;
    desc.backend_desc.hooks = host_hooks(&h);
    CHECK_EQ(open_it(&desc, &model, &err), QNNRT_OK);
    CHECK(qnnrt_get_info(model)->contexts[0].failure != NULL);
    CHECK_STR(qnnrt_get_info(model)->contexts[0].failure->text, "\n");
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_STR(h.lines, "contextCreateFromBinary");
    CHECK_STR(h.lines, "likely cause");
    CHECK(strchr(h.lines, '?') == NULL);
    LEDGER_EMPTY();
}

TEST_MAIN("backend")
{
    RUN(a_library_missing_by_path_is_named);
    RUN(a_folder_as_library_is_refused);
    RUN(a_bare_name_that_is_nowhere_lists_every_place_once);
    RUN(the_current_folder_is_not_searched);
    RUN(a_bare_name_beside_the_program_is_found);
    RUN(the_default_library_is_named_when_it_is_not_found);
    RUN(a_file_that_is_not_elf_is_refused);
    RUN(a_library_of_another_architecture_is_refused_as_such);
    RUN(a_library_without_the_symbol_is_refused);
    RUN(an_empty_path_of_a_library_is_a_wrong_argument);
    RUN(a_path_of_a_library_that_is_too_long_is_refused);
    RUN(a_missing_system_library_is_refused);
    RUN(an_empty_element_of_ld_library_path_stops_the_systems_search);
    RUN(the_system_library_is_taken_from_beside_the_backend);
    RUN(a_backend_that_speaks_the_system_interface_needs_no_system_library);
    RUN(a_system_library_of_another_release_than_the_backend_is_fine);
    RUN(no_provider_is_refused);
    RUN(of_two_providers_the_first_that_fits_is_taken_with_a_log_line);
    RUN(of_two_system_providers_the_first_that_fits_is_taken_with_a_log_line);
    RUN(only_providers_that_do_not_fit_are_refused);
    RUN(a_provider_without_a_name_is_fine);
    RUN(facts_of_a_backend_are_those_of_the_library);
    RUN(core_interfaces_below_2_23_are_refused_with_both_numbers);
    RUN(known_core_interfaces_give_no_warning_and_newer_ones_a_line);
    RUN(system_interfaces_of_other_versions_are_refused_with_both_numbers);
    RUN(getproviders_that_fails_is_reported_with_its_code);
    RUN(errors_of_a_library_name_a_way_out);
    RUN(each_required_function_that_is_missing_is_named);
    RUN(a_library_runs_without_any_of_the_other_functions);
    RUN(a_log_or_device_that_cannot_be_freed_is_not_created);
    RUN(a_library_without_log_and_device_support_runs);
    RUN(getproviders_that_answers_any_code_fails_the_open);
    RUN(backendcreate_that_answers_any_code_fails_the_open);
    RUN(devicecreate_that_answers_any_code_but_not_supported_fails_the_open);
    RUN(contextcreate_that_answers_any_code_fails_the_open);
    RUN(graphretrieve_that_answers_any_code_fails_the_open);
    RUN(systemcontextcreate_that_answers_any_code_fails_the_open);
    RUN(getbinaryinfo_that_answers_any_code_fails_the_open);
    RUN(logcreate_and_devicecreate_that_answer_not_supported_are_survived);
    RUN(logcreate_that_fails_otherwise_is_survived_with_a_log_line);
    RUN(a_build_id_that_cannot_be_had_is_survived);
    RUN(a_code_with_empty_low_bits_does_not_look_like_success);
    RUN(causes_and_fixes_of_known_codes_are_told);
    RUN(the_first_line_that_the_library_logged_is_marked_as_first);
    RUN(success_without_a_handle_is_an_error);
    RUN(frees_that_fail_are_answered_and_logged_and_all_else_is_freed);
    RUN(a_system_context_that_cannot_be_freed_does_no_harm);
    RUN(frees_that_fail_after_a_failed_open_keep_its_error);
    RUN(the_shard_that_fails_is_named);
    RUN(with_keep_going_a_shard_that_fails_keeps_its_error);
    RUN(an_execute_that_answers_any_code_fails_the_call);
    RUN(an_execute_that_fails_once_leaves_the_run_usable);
    RUN(an_execute_that_fails_names_its_step);
    RUN(every_vendor_code_has_its_name);
    RUN(unknown_vendor_codes_have_no_name);
    RUN(every_result_has_its_name);
    RUN(half_a_pair_of_hooks_is_refused);
    RUN(hooks_may_call_what_needs_no_object_and_the_lock_is_taken_once);
    RUN(log_levels_beyond_the_known_ones_are_refused);
    RUN(an_alignment_that_is_no_power_of_two_is_refused);
    RUN(options_of_a_shared_backend_belong_to_the_backend);
    RUN(nothing_where_something_is_needed_is_a_wrong_argument);
    RUN(calls_on_nothing_answer);
    RUN(every_call_of_the_backend_is_made_with_the_lock_held);
    RUN(every_call_of_the_system_library_is_made_with_the_lock_held);
    RUN(lines_of_the_library_pass_up_to_the_log_level);
    RUN(a_hostile_line_of_the_library_arrives_cleaned);
    RUN(lines_of_any_content_are_cleaned_and_cut);
    RUN(lines_after_the_close_reach_nobody);
    RUN(the_first_line_of_a_failed_execute_is_kept_however_many_follow);
    RUN(a_run_is_careful_only_while_it_is_profiled);
    RUN(a_text_that_is_cut_stays_utf8);
    RUN(lines_in_an_error_belong_to_the_call_that_failed);
    RUN(two_backends_do_not_mix_their_lines);
    RUN(lines_from_other_threads_do_no_harm);
    RUN(the_ninth_backend_opens_without_a_log_and_says_so);
    RUN(slots_of_the_log_are_given_back_by_opens_that_fail);
    RUN(two_models_share_a_backend_that_stays_open_while_used);
    RUN(a_failed_open_on_a_shared_backend_leaves_it_as_it_was);
    RUN(the_backend_that_a_model_opened_outlives_it_for_others_or_the_close_is_refused);
    RUN(a_model_with_a_run_stays_open);
    RUN(objects_are_made_in_order_and_freed_in_reverse);
    RUN(a_chip_is_asked_for_in_both_layouts_of_the_option);
    RUN(a_device_that_fails_with_a_chip_names_the_chip);
    RUN(models_for_two_generations_at_one_time_are_told_in_the_log);
    RUN(a_generation_ends_with_the_models_that_have_it);
    RUN(an_error_is_logged_line_by_line);
    RUN(five_hundred_opens_leave_no_descriptor_and_no_mapping);
    RUN(a_library_is_unloaded_when_that_is_asked_for);
}
