/* opens.h - for tests that open models on the fake library, and check what they leave

   Included after qnnrt.h and test.h. Every open that must fail is made twice: with an error
   filled with 0xFF, and with error NULL. Afterwards no handle of the fake, no allocation and no
   descriptor may be left. */
#ifndef OPENS_H
#define OPENS_H

#include <dlfcn.h>
#include <stdarg.h>

/* ---- the fake ------------------------------------------------------------------------------- */

static void (*fake_stats)(uint64_t *);
static void (*fake_reset)(void);
static const char *(*fake_trace)(void);

static void fake_symbol(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) abort();
    memcpy(function, (const void *)&symbol, sizeof(symbol));
}

static uint64_t fake_live(void)
{
    uint64_t stats[16];
    fake_stats(stats);
    return stats[0] + stats[1] + stats[2] + stats[3] + stats[4] + stats[10];
}

static uint64_t fake_wrong_frees(void)
{
    uint64_t stats[16];
    fake_stats(stats);
    return stats[7];
}

/* ---- what must not be left ------------------------------------------------------------------ */

static char     log_text[1 << 16];       /* lines of the log hook, "level room: text\n" each */
static size_t   log_used;
static int      log_dirty;               /* a line had a byte that is not allowed in a line */
static int64_t  live_blocks;             /* live blocks of the allocator hook */
static uint64_t allocations, alloc_bytes;

typedef struct left { uint64_t handles, fds; int64_t blocks; } left;
static left before;

static void take_log(void *user, qnnrt_log_level level, const char *room, uint64_t code, const char *text)
{
    const unsigned char *at;
    int length;
    (void)user;
    (void)code;
    if (level < QNNRT_LOG_ERROR || level > QNNRT_LOG_DEBUG || room == NULL || text == NULL) { log_dirty = 1; return; }
    for (at = (const unsigned char *)text; *at != 0; ++at)
        if (*at < 0x20 || *at == 0x7F) log_dirty = 1;
    if (log_used + 2048 > sizeof(log_text)) return;
    length = snprintf(log_text + log_used, sizeof(log_text) - log_used, "%d %s: %s\n", (int)level, room, text);
    if (length > 0) log_used += (size_t)length;
}

static void *take_alloc(void *user, size_t bytes)
{
    void *data = malloc(bytes);
    (void)user;
    ++allocations;
    alloc_bytes += bytes;
    if (data != NULL) { ++live_blocks; memset(data, 0xEE, bytes); }
    return data;
}

static void take_free(void *user, void *data)
{
    (void)user;
    --live_blocks;
    free(data);
}

static uint64_t open_fds(void)
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) return 0;
    while (readdir(folder) != NULL) ++count;
    closedir(folder);
    return count;
}

static left left_now(void)
{
    left now;
    now.handles = fake_live();
    now.fds = open_fds();
    now.blocks = live_blocks;
    return now;
}

/* Begin with these knobs; all counts start here. */
static void fake_begin(const char *knobs)
{
    if (fake_stats == NULL) {
        void *library = dlopen(TEST_FAKE_LIB, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) { printf("%s\n", dlerror()); abort(); }
        fake_symbol(library, "fake_qnn_stats", (void *)&fake_stats);
        fake_symbol(library, "fake_qnn_reset", (void *)&fake_reset);
        fake_symbol(library, "fake_qnn_trace", (void *)&fake_trace);
    }
    setenv("QNNFAKE", knobs, 1);
    fake_reset();
    log_used = 0;
    log_text[0] = '\0';
    log_dirty = 0;
    alarm(0);
    before = left_now();
}

static void nothing_left(void)
{
    left now = left_now();
    CHECK_EQ(now.handles, before.handles);
    CHECK_EQ(now.blocks, before.blocks);
    CHECK_EQ(now.fds, before.fds);
    CHECK_EQ(fake_wrong_frees(), 0);
    CHECK(!log_dirty);
}

/* ---- texts that reach a terminal ------------------------------------------------------------ */

/* True for valid UTF-8 without control characters, except newlines of ours: two spaces follow
   them. */
static int text_is_clean(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at != 0) {
        size_t length = at[0] < 0x80 ? 1 : at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2, i;
        if (at[0] == '\n' && (at[1] != ' ' || at[2] != ' ')) return 0;
        if ((at[0] < 0x20 && at[0] != '\n') || at[0] == 0x7F) return 0;
        if (at[0] >= 0x80 && (at[0] < 0xC2 || at[0] > 0xF4)) return 0;
        for (i = 1; i < length; ++i) if ((at[i] & 0xC0) != 0x80) return 0;
        if (at[0] == 0xC2 && at[1] < 0xA0) return 0;
        at += length;
    }
    return 1;
}

/* ---- opening -------------------------------------------------------------------------------- */

#ifndef OPENS_OPEN                       /* how a folder is opened: a test may define another way */
#define OPENS_OPEN  qnnrt_open
#define OPENS_CLOSE qnnrt_close
#define OPENS_MODEL qnnrt
#define OPENS_DESC  qnnrt_desc
#endif

static qnnrt_error error;                /* error of the last open */

static qnnrt_desc new_desc(void)
{
    qnnrt_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.backend_desc.path = desc.system_path = TEST_FAKE_LIB;
    desc.backend_desc.hooks.alloc = take_alloc;
    desc.backend_desc.hooks.free = take_free;
    desc.backend_desc.hooks.log = take_log;
    return desc;
}

/* Open a model that must fail with this code; the error must have the texts up to NULL. */
static void fails_in(const char *folder, const OPENS_DESC *desc, qnnrt_result code, va_list needles)
{
    OPENS_MODEL *model = (OPENS_MODEL *)&error;
    const char *needle;
    memset(&error, 0xFF, sizeof(error));
    CHECK_EQ(OPENS_OPEN(folder, desc, &model, &error), code);
    CHECK(model == NULL);
    CHECK_EQ(error.code, code);
    CHECK(memchr(error.text, '\0', sizeof(error.text)) != NULL && error.text[0] != '\0');
    CHECK(text_is_clean(error.text));
    while ((needle = va_arg(needles, const char *)) != NULL) CHECK_STR(TEST_TOLD(error), needle);
    TRY(nothing_left());
    model = (OPENS_MODEL *)&error;
    CHECK_EQ(OPENS_OPEN(folder, desc, &model, NULL), code);
    CHECK(model == NULL);
    TRY(nothing_left());
}

static void show_error(int line)
{
    if (test_state.state == TEST_FAILED) printf("    called from line %d; the error says: %.*s\n", line, 1000, error.text);
}

static void fails(int line, const char *folder, const OPENS_DESC *desc, qnnrt_result code, ...)
{
    va_list needles;
    va_start(needles, code);
    fails_in(folder, desc, code, needles);
    va_end(needles);
    show_error(line);
}

#define FAILS(...) TRY(fails(__LINE__, __VA_ARGS__, (const char *)NULL))

static void opens(int line, const char *folder, const OPENS_DESC *desc, OPENS_MODEL **model)
{
    qnnrt_result result;
    memset(&error, 0xFF, sizeof(error));
    result = OPENS_OPEN(folder, desc, model, &error);
    if (result != QNNRT_OK || error.code != QNNRT_OK || error.vendor_code != 0 || error.text[0] != '\0') {
        test_where(__FILE__, line);
        printf("opening answered %s; the error says: %.1000s\n", qnnrt_result_name(result), error.text);
    }
}

#define OPENS(folder, desc, model) TRY(opens(__LINE__, folder, desc, model))
#define CLOSE(model) do { CHECK_EQ(OPENS_CLOSE(model), QNNRT_OK); TRY(nothing_left()); } while (0)

#endif /* OPENS_H */
