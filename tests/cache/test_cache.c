/* test_cache.c - entries of a cache: hashes, damage at every byte, room, and several processes

   No test depends on the clock: last uses are set to fixed times. The program defines its own open(), openat(), close(),
   flock(), mkdir() and geteuid() for every caller in it: they do what the system's do unless a test changes that, and check how
   files are opened. */
#include "../../tools/qnnrt_cache.h"
#include "test.h"
#define SYSTEM_OPEN open_or_lie
#include "system.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static qnnrt_error err;
static const char key_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char key_b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
static const char key_c[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* ---- the system -------------------------------------------------------------------------------- */

static struct {
    const char *open_fails;              /* end of a path that cannot be opened, NULL: none */
    const char *swap[2];                 /* openat() finds a link to [1] at the end [0] of a path */
    int         close_fails;             /* this close() fails, from 1; 0: none */
    int         flock_errno;             /* of every flock(), 0: none */
    const char *sweep[2];                /* before flock(), [1] becomes [0], which is removed if [1] is NULL */
    int         other_user;              /* 1: geteuid() is another one than that who has files */
    unsigned    mode;                    /* of the aside that was created last */
    int         inherited, waits;        /* files that a child would have; opened pipes that wait */
} lies;

static int open_or_lie(int folder, const char *path, int flags, unsigned mode)
{
    struct stat facts;
    char moved[QNNRT_CACHE_PATH + 8];
    lies.inherited += (flags & 02000000 /* O_CLOEXEC */) == 0;
    if ((flags & O_EXCL) != 0 && ends(path, ".tmp")) lies.mode = mode;
    if (ends(path, lies.swap[0])) {
        snprintf(moved, sizeof(moved), "%s.moved", path);
        if (renameat(folder, path, folder, moved) != 0 || symlinkat(lies.swap[1], folder, path) != 0) abort();
        lies.swap[0] = NULL;
    }
    if (ends(path, lies.open_fails)) { errno = ENOENT; return -1; }
    if ((flags & (O_NONBLOCK | O_EXCL)) == 0 && lstat(path, &facts) == 0 && S_ISFIFO(facts.st_mode)) {
        ++lies.waits;
        errno = EAGAIN;
        return -1;
    }
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

#ifdef __cplusplus
extern "C" {
#endif
extern int close(int fd)
{
    const int result = (int)syscall(SYS_close, fd);
    if (lies.close_fails == 0 || --lies.close_fails > 0) return result;
    errno = ENOSPC;
    return -1;
}

extern int flock(int fd, int what) NO_THROW;
extern uid_t geteuid(void) NO_THROW;

uid_t geteuid(void) NO_THROW
{
    return (uid_t)syscall(SYS_geteuid) + (uid_t)lies.other_user;
}

int flock(int fd, int what) NO_THROW
{
    if (lies.sweep[0] != NULL && lies.sweep[1] != NULL && rename(lies.sweep[1], lies.sweep[0]) != 0) abort();
    if (lies.sweep[0] != NULL && lies.sweep[1] == NULL && unlink(lies.sweep[0]) != 0) abort();
    lies.sweep[0] = NULL;
    if (lies.flock_errno != 0) { errno = lies.flock_errno; return -1; }
    return (int)syscall(SYS_flock, fd, what);
}
#ifdef __cplusplus
}
#endif

/* ---- files ------------------------------------------------------------------------------------- */

/* Return FOLDER/NAME, valid until the fourth call after. */
static const char *in(const char *folder, const char *name)
{
    static char paths[4][2200];
    static int next;
    char *path = paths[next = (next + 1) % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static int write_all(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    const int good = file != NULL && fwrite(data, 1, bytes, file) == bytes;
    return file != NULL && fclose(file) == 0 && good;
}

/* Return the bytes of a file, or NULL. */
static unsigned char *read_all(const char *path, size_t *bytes)
{
    struct stat facts;
    FILE *file = fopen(path, "rb");
    unsigned char *data = NULL;
    *bytes = 0;
    if (file == NULL) return NULL;
    if (fstat(fileno(file), &facts) == 0 && (data = (unsigned char *)malloc((size_t)facts.st_size + 1)) != NULL)
        *bytes = fread(data, 1, (size_t)facts.st_size, file);
    fclose(file);
    return data;
}

static int file_is(const char *path, const void *data, size_t bytes)
{
    size_t got;
    unsigned char *there = read_all(path, &got);
    const int same = there != NULL && got == bytes && memcmp(there, data, bytes) == 0;
    free(there);
    return same;
}

/* Count the files of a folder. */
static int files_in(const char *folder) { return files_with(folder, ""); }

/* Make the folders "cache", "from" and "out" of a test, and open the cache. */
typedef struct place { char cache[1100], from[1100], out[1100], entry[1300]; qnnrt_cache *c; int fds; } place;

static int begin(place *p, uint64_t limit)
{
    qnnrt_cache_desc desc;
    const char *tmpdir = test_tmpdir();
    char folder[1000] = "";              /* not relative: links lead there */
    size_t used;
    if (tmpdir[0] != '/' && getcwd(folder, 500) == NULL) return 0;
    used = strlen(folder);
    snprintf(folder + used, sizeof(folder) - used, "%s%s", used > 0 ? "/" : "", tmpdir);
    memset(&desc, 0, sizeof(desc));
    TEST_JUNK(err);
    memset(&lies, 0, sizeof(lies));
    mkdir_fails = NULL;
    desc.limit = limit;
    p->fds = files_in("/proc/self/fd");
    snprintf(p->cache, sizeof(p->cache), "%.1000s/cache", folder);
    snprintf(p->from, sizeof(p->from), "%.1000s/from", folder);
    snprintf(p->out, sizeof(p->out), "%.1000s/out", folder);
    snprintf(p->entry, sizeof(p->entry), "%s/%s.qnnrt", p->cache, key_a);
    return mkdir(p->from, 0777) == 0 && mkdir(p->out, 0777) == 0 &&
           qnnrt_cache_open(p->cache, &desc, &p->c, &err) == QNNRT_OK && err.code == QNNRT_OK;
}

/* Close the cache. Nothing is open that was not before, and no child would have had what was. */
static void end(place *p)
{
    qnnrt_cache_close(p->c);
    CHECK_EQ(files_in("/proc/self/fd"), p->fds);
    CHECK(lies.inherited == 0 && lies.waits == 0);
}

/* Set the last use of an entry. */
static int use_at(const place *p, const char *key, long seconds)
{
    char name[80];
    struct timespec times[2];
    memset(times, 0, sizeof(times));
    times[0].tv_sec = times[1].tv_sec = seconds;
    snprintf(name, sizeof(name), "%s.qnnrt", key);
    return utimensat(AT_FDCWD, in(p->cache, name), times, 0) == 0;
}

static const char *const two_names[2] = { "model.bin", "qnnrt.json" };

static int put_two(place *p, const char *key)
{
    return write_all(in(p->from, "model.bin"), "binary\0binary", 13) && write_all(in(p->from, "qnnrt.json"), "{}", 2) &&
           qnnrt_cache_put(p->c, key, p->from, two_names, 2, &err) == QNNRT_OK;
}

/* ---- hashes ------------------------------------------------------------------------------------ */

static void hex_of(const void *data, size_t bytes, size_t step, char text[65])
{
    unsigned char out[QNNRT_CACHE_HASH];
    qnnrt_cache_hash hash;
    size_t at = 0;
    int i;
    qnnrt_cache_hash_begin(&hash);
    while (at < bytes) {
        const size_t part = bytes - at < step ? bytes - at : step;
        qnnrt_cache_hash_add(&hash, (const char *)data + at, part);
        at += part;
    }
    qnnrt_cache_hash_end(&hash, out);
    for (i = 0; i < QNNRT_CACHE_HASH; ++i) snprintf(text + 2 * i, 3, "%02x", (unsigned)out[i]);
}

/* From hashlib.blake2b(..., digest_size=32) of Python. */
TEST(hashes_are_those_of_blake2b)
{
    static const size_t steps[] = { 1, 7, 127, 128, 129, 256, 1000 };
    unsigned char data[1000];
    char text[65];
    size_t i;
    hex_of("", 0, 1, text);
    CHECK_STR(text, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    hex_of("abc", 3, 3, text);
    CHECK_STR(text, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    memset(data, 'a', sizeof(data));
    hex_of(data, 128, 128, text);
    CHECK_STR(text, "ae2aa48507885c4c950fb809b2076f959cde9f8ea6da260d9a3587df33dac450");
    hex_of(data, 129, 129, text);
    CHECK_STR(text, "2f64744a6de0d2c0b56e64cf6e29a5aaa255010d415d51c75ccc82f73dccd865");
    for (i = 0; i < sizeof(data); ++i) data[i] = (unsigned char)(i % 251);
    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); ++i) {
        hex_of(data, sizeof(data), steps[i], text);
        CHECK_STR(text, "b372d0608f720c8c3dd41e9c8eecb10143b41abe520b616607e754bf79c08331");
    }
}

static void key_of(const char *a, const char *x, const char *b, const char *y, char text[QNNRT_CACHE_KEY_BYTES])
{
    qnnrt_cache_key key;
    qnnrt_cache_key_begin(&key);
    qnnrt_cache_key_add(&key, a, x, strlen(x));
    if (b != NULL) qnnrt_cache_key_add(&key, b, y, strlen(y));
    qnnrt_cache_key_end(&key, text);
}

TEST(fields_of_a_key_do_not_run_into_each_other)
{
    static const char *const cases[][4] = {
        { "a", "xy", NULL, NULL }, { "ax", "y", NULL, NULL }, { "a", "x", "", "y" }, { "a", "x", "y", "" },
        { "a", "", "xy", "" }, { "", "axy", NULL, NULL }, { "a", "xy", "", "" }, { "axy", "", NULL, NULL },
        { "y", "", "a", "x" }
    };
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    char keys[COUNT][QNNRT_CACHE_KEY_BYTES], again[QNNRT_CACHE_KEY_BYTES];
    size_t i, k;
    for (i = 0; i < COUNT; ++i) {
        key_of(cases[i][0], cases[i][1], cases[i][2], cases[i][3], keys[i]);
        key_of(cases[i][0], cases[i][1], cases[i][2], cases[i][3], again);
        CHECK_EQ(strcmp(keys[i], again), 0);
        CHECK_EQ(strspn(keys[i], "0123456789abcdef"), 64);
        for (k = 0; k < i; ++k) CHECK(strcmp(keys[i], keys[k]) != 0);
    }
}

TEST(the_content_of_a_file_is_a_field)
{
    static unsigned char data[40000];
    qnnrt_cache_key key;
    char text[2][QNNRT_CACHE_KEY_BYTES], path[1200];
    size_t i;
    for (i = 0; i < sizeof(data); ++i) data[i] = (unsigned char)(i * 7 + i / 300);
    snprintf(path, sizeof(path), "%.1000s/weights", test_tmpdir());
    CHECK(write_all(path, data, sizeof(data)));
    qnnrt_cache_key_begin(&key);
    CHECK_EQ(qnnrt_cache_key_file(&key, "weights", path, &err), QNNRT_OK);
    qnnrt_cache_key_end(&key, text[0]);
    qnnrt_cache_key_begin(&key);
    qnnrt_cache_key_add(&key, "weights", data, sizeof(data));
    qnnrt_cache_key_end(&key, text[1]);
    CHECK_STR(text[0], text[1]);
    data[39999] ^= 1;
    CHECK(write_all(path, data, sizeof(data)));
    qnnrt_cache_key_begin(&key);
    CHECK_EQ(qnnrt_cache_key_file(&key, "weights", path, &err), QNNRT_OK);
    qnnrt_cache_key_end(&key, text[1]);
    CHECK(strcmp(text[0], text[1]) != 0);
    CHECK_EQ(qnnrt_cache_key_file(&key, "weights", "/no/such/file", &err), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "/no/such/file");
    CHECK_EQ(qnnrt_cache_key_file(&key, "weights", test_tmpdir(), &err), QNNRT_E_IO);
    CHECK_EQ(qnnrt_cache_key_file(&key, NULL, path, &err), QNNRT_E_ARG);
}

/* Without one of its fields a key would find the entry of another model. */
TEST(a_key_without_a_field_is_no_key)
{
    place p;
    qnnrt_cache_key key;
    char text[QNNRT_CACHE_KEY_BYTES];
    int i;
    CHECK(begin(&p, 0));
    for (i = 0; i < 5; ++i) {
        memset(&key, 0xFF, sizeof(key));
        memset(text, 'a', sizeof(text));
        qnnrt_cache_key_begin(&key);
        qnnrt_cache_key_add(&key, "graph", "g", 1);
        if (i == 0) qnnrt_cache_key_add(&key, NULL, "b", 1);
        if (i == 1) qnnrt_cache_key_add(&key, "b", NULL, 1);
        if (i == 2) CHECK_EQ(qnnrt_cache_key_file(&key, "w", "/no/such/file", &err), QNNRT_E_NOT_FOUND);
        if (i == 3) CHECK_EQ(qnnrt_cache_key_file(&key, "w", NULL, NULL), QNNRT_E_ARG);
        if (i == 4) qnnrt_cache_key_add(&key, "b", NULL, 0);
        qnnrt_cache_key_add(&key, "last", "l", 1);
        qnnrt_cache_key_end(&key, text);
        CHECK_EQ(strlen(text), i == 4 ? 64 : 0);
        CHECK_EQ(qnnrt_cache_get(p.c, text, p.out, NULL, &err), i == 4 ? QNNRT_E_NOT_FOUND : QNNRT_E_ARG);
        CHECK(i == 4 || qnnrt_cache_put(p.c, text, p.from, two_names, 2, &err) == QNNRT_E_ARG);
    }
    TRY(end(&p));
}

/* ---- entries ----------------------------------------------------------------------------------- */

TEST(what_is_put_is_got)
{
    place p;
    const qnnrt_cache_entry *entry;
    CHECK(begin(&p, 0));
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, &entry, &err), QNNRT_E_NOT_FOUND);
    CHECK(entry == NULL);
    CHECK_STR(err.text, key_a);
    CHECK(put_two(&p, key_a));
    CHECK_EQ(err.code, QNNRT_OK);
    CHECK_EQ(files_in(p.cache), 1);
    CHECK(write_all(in(p.out, "qnnrt.json"), "old and longer", 14));
    CHECK_EQ(symlink("/no/such/place", in(p.out, "model.bin")), 0);      /* replaced, not followed */
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, &entry, &err), QNNRT_OK);
    CHECK(file_is(in(p.out, "model.bin"), "binary\0binary", 13));
    CHECK(file_is(in(p.out, "qnnrt.json"), "{}", 2));
    CHECK_EQ(files_in(p.out), 2);
    CHECK_EQ(entry->file_count, 2);
    CHECK_STR(entry->files[0].name, "model.bin");
    CHECK_EQ(entry->files[0].bytes, 13);
    CHECK_STR(entry->files[1].name, "qnnrt.json");
    CHECK_STR(entry->key, key_a);
    CHECK(entry->damage == NULL);
    CHECK_EQ(qnnrt_cache_get(p.c, key_b, p.out, NULL, &err), QNNRT_E_NOT_FOUND);
    /* Written again with other content. */
    CHECK(write_all(in(p.from, "model.bin"), "", 0));
    CHECK_EQ(qnnrt_cache_put(p.c, key_a, p.from, two_names, 1, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, &entry, NULL), QNNRT_OK);
    CHECK_EQ(entry->file_count, 1);
    CHECK(file_is(in(p.out, "model.bin"), "", 0));
    CHECK_EQ(files_in(p.cache), 1);
    TRY(end(&p));
}

TEST(files_larger_than_the_buffer_are_whole)
{
    enum { BYTES = 3 * 1048576 + 17 };
    unsigned char *data = (unsigned char *)malloc(BYTES);
    place p;
    size_t i;
    int same;
    CHECK(data != NULL);
    for (i = 0; i < BYTES; ++i) data[i] = (unsigned char)(i * 131 + i / 4096);
    CHECK(begin(&p, 0));
    CHECK(write_all(in(p.from, "model.bin"), data, BYTES));
    CHECK_EQ(qnnrt_cache_put(p.c, key_a, p.from, two_names, 1, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_OK);
    same = file_is(in(p.out, "model.bin"), data, BYTES);
    free(data);
    CHECK(same);
    TRY(end(&p));
}

/* Nothing of a damaged entry is given out, it is removed, and can be put again. */
static void is_refused(place *p, const char *what, size_t at, const unsigned char *data, size_t bytes)
{
    char place_of[80];
    snprintf(place_of, sizeof(place_of), "%s at %lu", what, (unsigned long)at);
    CHECK(write_all(p->entry, data, bytes));
    TEST_JUNK(err);
    if (qnnrt_cache_get(p->c, key_a, p->out, NULL, &err) != QNNRT_E_FORMAT) printf("%s: %s\n", place_of, err.text);
    CHECK_EQ(err.code, QNNRT_E_FORMAT);
    CHECK_STR(err.text, "is damaged: ");
    CHECK_EQ(files_in(p->out), 0);
    CHECK_EQ(files_in(p->cache), 0);
}

TEST(a_flipped_byte_anywhere_is_found)
{
    place p;
    unsigned char *data;
    size_t bytes, i;
    CHECK(begin(&p, 0));
    CHECK(put_two(&p, key_a));
    data = read_all(p.entry, &bytes);
    CHECK(data != NULL && bytes > 200);
    for (i = 0; i < bytes; ++i) {
        static const unsigned char flips[] = { 0xFF, 1, 0x80 };
        size_t k;
        for (k = 0; k < sizeof(flips); ++k) {
            data[i] ^= flips[k];
            TRY(is_refused(&p, "flipped", i, data, bytes));
            data[i] ^= flips[k];
        }
    }
    CHECK(write_all(p.entry, data, bytes));
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_OK);
    free(data);
    TRY(end(&p));
}

TEST(an_entry_cut_at_any_byte_is_found)
{
    place p;
    unsigned char *data;
    size_t bytes, i;
    CHECK(begin(&p, 0));
    CHECK(put_two(&p, key_a));
    data = read_all(p.entry, &bytes);
    CHECK(data != NULL);
    for (i = 0; i < bytes; ++i) TRY(is_refused(&p, "cut", i, data, i));
    data[bytes] = 'x';                           /* there is room for it */
    TRY(is_refused(&p, "longer", bytes + 1, data, bytes + 1));
    free(data);
    TRY(end(&p));
}

TEST(the_entry_of_another_key_is_foreign)
{
    place p;
    CHECK(begin(&p, 0));
    CHECK(put_two(&p, key_b));
    CHECK_EQ(rename(in(p.cache, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.qnnrt"), p.entry), 0);
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "another key");
    CHECK_EQ(files_in(p.out), 0);
    TRY(end(&p));
}

/* Write an entry by hand, with right hashes. */
static int forge(const place *p, const char *const *names, const uint64_t *sizes, uint64_t count, uint64_t rows,
                 const char *content, size_t content_bytes)
{
    unsigned char data[4000];
    qnnrt_cache_hash hash;
    uint64_t head = 96;
    size_t at = 96, i;
    int k;
    memset(data, 0, sizeof(data));
    memcpy(data, "QNNRT CACHE 1\n", 14);
    memcpy(data + 16, key_a, 64);
    for (i = 0; i < rows; ++i) {
        for (k = 0; k < 8; ++k) data[at + (size_t)k] = (unsigned char)(sizes[i] >> (8 * k));
        qnnrt_cache_hash_begin(&hash);
        qnnrt_cache_hash_add(&hash, content, sizes[i] <= content_bytes ? sizes[i] : 0);
        qnnrt_cache_hash_end(&hash, data + at + 8);
        data[at + 40] = (unsigned char)strlen(names[i]);
        data[at + 41] = (unsigned char)(strlen(names[i]) >> 8);
        memcpy(data + at + 48, names[i], strlen(names[i]));
        at += 48 + strlen(names[i]) + 1;
    }
    head = at;
    for (k = 0; k < 8; ++k) data[80 + k] = (unsigned char)(count >> (8 * k));
    for (k = 0; k < 8; ++k) data[88 + k] = (unsigned char)(head >> (8 * k));
    qnnrt_cache_hash_begin(&hash);
    qnnrt_cache_hash_add(&hash, data, at);
    qnnrt_cache_hash_end(&hash, data + at);
    at += 32;
    memcpy(data + at, content, content_bytes);
    return write_all(p->entry, data, at + content_bytes);
}

TEST(a_forged_entry_writes_nothing_outside_and_nothing_wrong)
{
    static const char *const bad[] = { "../evil", "/tmp/evil", "a/b", "..", ".", ".hidden", "a\nb", "a\x1b[2J", "a\\b",
                                       "", "a\xff", ("\xe2\x80\xae" "b") };
    static char longest[256 + 1];
    const char *names[3];
    uint64_t sizes[3] = { 4, 4, 4 };
    place p;
    size_t i;
    CHECK(begin(&p, 0));
    names[0] = "good";
    CHECK(forge(&p, names, sizes, 1, 1, "data", 4));                 /* the forger can do it right */
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_OK);
    CHECK(file_is(in(p.out, "good"), "data", 4));
    CHECK_EQ(remove(in(p.out, "good")), 0);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        names[0] = bad[i];
        CHECK(forge(&p, names, sizes, 1, 1, "data", 4));
        if (qnnrt_cache_get(p.c, key_a, p.out, NULL, &err) != QNNRT_E_FORMAT) printf("name %lu\n", (unsigned long)i);
        CHECK_EQ(err.code, QNNRT_E_FORMAT);
        CHECK_EQ(files_in(p.out), 0);
        names[1] = bad[i];
        CHECK(write_all(in(p.from, "model.bin"), "x", 1));
        CHECK_EQ(qnnrt_cache_put(p.c, key_a, p.from, &names[1], 1, &err), QNNRT_E_ARG);
    }
    memset(longest, 'n', 256);
    names[0] = longest;
    CHECK(forge(&p, names, sizes, 1, 1, "data", 4));
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_E_FORMAT);
    names[0] = names[1] = "twice";
    CHECK(forge(&p, names, sizes, 2, 2, "datadata", 8));
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "twice");
    names[1] = "other";
    CHECK(forge(&p, names, sizes, 3, 2, "datadata", 8));             /* fewer rows than it says */
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_E_FORMAT);
    CHECK(forge(&p, names, sizes, 1, 2, "datadata", 8));             /* more */
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_E_FORMAT);
    CHECK(forge(&p, names, sizes, UINT64_MAX, 2, "datadata", 8));
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_E_FORMAT);
    sizes[0] = UINT64_MAX;                                           /* sizes that wrap around */
    sizes[1] = 9;
    CHECK(forge(&p, names, sizes, 2, 2, "datadata", 8));
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_E_FORMAT);
    sizes[0] = sizes[1] = 3;                                         /* bytes of no file */
    CHECK(forge(&p, names, sizes, 2, 2, "datadata", 8));
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_E_FORMAT);
    CHECK_EQ(files_in(p.out), 0);
    TRY(end(&p));
}

/* ---- room -------------------------------------------------------------------------------------- */

typedef struct listing { char text[2000]; } listing;

static void visit(void *user, const qnnrt_cache_entry *entry)
{
    listing *list = (listing *)user;
    const size_t used = strlen(list->text);
    snprintf(list->text + used, sizeof(list->text) - used, "%c%lu%s ", entry->key[0], (unsigned long)entry->file_count,
             entry->damage != NULL ? "!" : "");
}

static const char *list_of(place *p)
{
    static listing list;
    list.text[0] = '\0';
    if (qnnrt_cache_list(p->c, visit, &list, &err) != QNNRT_OK) return err.text;
    return list.text;
}

TEST(the_entry_unused_for_longest_makes_room)
{
    unsigned char data[1000];
    place p;
    memset(data, 7, sizeof(data));
    CHECK(begin(&p, 2600));                      /* two entries of about 1,190 bytes */
    CHECK(write_all(in(p.from, "model.bin"), data, sizeof(data)));
    CHECK_EQ(qnnrt_cache_put(p.c, key_a, p.from, two_names, 1, &err), QNNRT_OK);
    CHECK(use_at(&p, key_a, 1000));
    CHECK_EQ(qnnrt_cache_put(p.c, key_b, p.from, two_names, 1, &err), QNNRT_OK);
    CHECK(use_at(&p, key_b, 2000));
    CHECK_EQ(strcmp(list_of(&p), "a1 b1 "), 0);
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_OK);  /* a is used now */
    CHECK_EQ(strcmp(list_of(&p), "b1 a1 "), 0);
    CHECK_EQ(qnnrt_cache_put(p.c, key_c, p.from, two_names, 1, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_cache_get(p.c, key_b, p.out, NULL, &err), QNNRT_E_NOT_FOUND);
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_cache_get(p.c, key_c, p.out, NULL, &err), QNNRT_OK);
    TRY(end(&p));
}

TEST(files_that_are_larger_than_the_limit_remove_nothing)
{
    unsigned char data[3000];
    place p;
    memset(data, 7, sizeof(data));
    CHECK(begin(&p, 2600));
    CHECK(put_two(&p, key_a));
    CHECK(write_all(in(p.from, "model.bin"), data, sizeof(data)));
    CHECK_EQ(qnnrt_cache_put(p.c, key_b, p.from, two_names, 2, &err), QNNRT_E_LIMIT);
    CHECK_STR(err.text, "2600");
    CHECK(write_all(in(p.from, "model.bin"), data, 2000));
    CHECK(write_all(in(p.from, "qnnrt.json"), data, 601));
    CHECK_EQ(qnnrt_cache_put(p.c, key_b, p.from, two_names, 2, &err), QNNRT_E_LIMIT);
    CHECK_EQ(strcmp(list_of(&p), "a2 "), 0);
    CHECK_EQ(files_in(p.cache), 1);
    TRY(end(&p));
}

TEST(listing_and_clearing_leave_other_files_alone)
{
    char aside[QNNRT_CACHE_PATH];
    place p;
    size_t count = 9;
    uint64_t bytes = 9;
    struct stat facts;
    int fd;
    CHECK(begin(&p, 0));
    CHECK(put_two(&p, key_a));
    CHECK(use_at(&p, key_a, 1000));
    CHECK(put_two(&p, key_b));
    CHECK(use_at(&p, key_b, 500));
    CHECK(write_all(in(p.cache, "notes.txt"), "mine", 4));
    CHECK(write_all(in(p.cache, "AAAA.qnnrt"), "mine", 4));
    CHECK(write_all(in(p.cache, key_c), "mine", 4));
    CHECK(write_all(in(p.cache, "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.other"), "mine", 4));
    fd = qnnrt_cache_aside(in(p.cache, "any"), 0600, aside);
    CHECK(fd >= 0);
    CHECK_EQ(strcmp(list_of(&p), "b2 a2 "), 0);
    CHECK_EQ(stat(p.entry, &facts), 0);
    CHECK_EQ(truncate(p.entry, 100), 0);
    CHECK(use_at(&p, key_a, 1000));
    CHECK_EQ(strcmp(list_of(&p), "b2 a0! "), 0);
    /* What is written aside stays while its writer lives. */
    CHECK(put_two(&p, key_c));
    CHECK_EQ(files_in(p.cache), 8);
    close(fd);
    CHECK(write_all(in(p.cache, ".qnnrt.9.tmp"), "left", 4));            /* a number that is not next */
    CHECK(put_two(&p, key_c));
    CHECK_EQ(files_in(p.cache), 7);
    CHECK(write_all(aside, "half", 4));
    CHECK_EQ(qnnrt_cache_clear(p.c, &count, &bytes, &err), QNNRT_OK);
    CHECK_EQ(count, 3);
    CHECK_EQ(bytes, 2 * (uint64_t)facts.st_size + 100);
    CHECK_EQ(files_in(p.cache), 4);
    CHECK(file_is(in(p.cache, "notes.txt"), "mine", 4));
    CHECK_EQ(qnnrt_cache_clear(p.c, NULL, NULL, NULL), QNNRT_OK);
    CHECK_EQ(strcmp(list_of(&p), ""), 0);
    TRY(end(&p));
}

/* ---- failures ---------------------------------------------------------------------------------- */

TEST(folders_that_cannot_be_used_are_named)
{
    place p;
    qnnrt_cache *c;
    qnnrt_cache_desc desc;
    char path[1200];
    CHECK(begin(&p, 0));
    CHECK(put_two(&p, key_a));
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, "/no/such/folder", NULL, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "/no/such/folder");
    CHECK(err.hint[0] != '\0');
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_OK);      /* it is still there */
    CHECK_EQ(qnnrt_cache_put(p.c, key_b, "/no/such/folder", two_names, 1, &err), QNNRT_E_NOT_FOUND);
    CHECK_EQ(mkdir(in(p.from, "folder"), 0777), 0);
    {
        static const char *const names[] = { "folder" };
        CHECK_EQ(qnnrt_cache_put(p.c, key_b, p.from, names, 1, &err), QNNRT_E_IO);
    }
    CHECK_EQ(files_in(p.cache), 1);
    CHECK_EQ(qnnrt_cache_open("/proc/self/no/such", NULL, &c, &err), QNNRT_E_IO);
    CHECK(c == NULL);
    snprintf(path, sizeof(path), "%s/model.bin", p.from);
    CHECK_EQ(qnnrt_cache_open(path, NULL, &c, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "not a folder");
    CHECK_EQ(qnnrt_cache_open("/proc/self", NULL, &c, &err), QNNRT_OK);      /* nobody can write there */
    CHECK_EQ(qnnrt_cache_put(c, key_b, p.from, two_names, 1, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "/proc/self");
    CHECK(err.hint[0] != '\0');
    qnnrt_cache_close(c);
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = (void *(*)(void *, size_t))0;
    CHECK_EQ(qnnrt_cache_open("", NULL, &c, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cache_open(NULL, NULL, &c, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cache_open(p.cache, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cache_get(p.c, "short", p.out, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cache_get(p.c, "../../../../../../../../../../../../../../../../../../../../etc/x", p.out, NULL, &err),
             QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cache_get(NULL, key_a, p.out, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cache_put(p.c, key_a, p.from, two_names, 0, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cache_put(p.c, NULL, p.from, two_names, 1, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cache_list(p.c, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_cache_clear(NULL, NULL, NULL, &err), QNNRT_E_ARG);
    qnnrt_cache_close(NULL);
    TRY(end(&p));
}

/* A full disk: no file may have more than 4,096 bytes. */
TEST(a_full_disk_leaves_what_was_there)
{
    static unsigned char data[20000];
    place p;
    struct rlimit before, few;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    qnnrt_result put, got;
    CHECK(begin(&p, 0));
    CHECK(put_two(&p, key_a));
    CHECK(write_all(in(p.from, "model.bin"), data, sizeof(data)));
    CHECK_EQ(qnnrt_cache_put(p.c, key_b, p.from, two_names, 1, &err), QNNRT_OK);
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    few = before;
    few.rlim_cur = 4096;
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &few), 0);
    put = qnnrt_cache_put(p.c, key_a, p.from, two_names, 1, NULL);
    got = qnnrt_cache_get(p.c, key_b, p.out, NULL, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    CHECK_EQ(put, QNNRT_E_IO);
    CHECK_EQ(got, QNNRT_E_IO);
    CHECK_EQ(files_in(p.cache), 2);
    CHECK_EQ(files_in(p.out), 0);
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_OK);
    CHECK(file_is(in(p.out, "model.bin"), "binary\0binary", 13));
    CHECK_EQ(qnnrt_cache_get(p.c, key_b, p.out, NULL, &err), QNNRT_OK);
    TRY(end(&p));
}

static long allowed;                     /* allocations that succeed; -1: all */
static long live;

static void *tight_alloc(void *user, size_t bytes)
{
    void *data;
    (void)user;
    if (allowed == 0) return NULL;
    if (allowed > 0) --allowed;
    data = malloc(bytes);
    if (data != NULL) {
        memset(data, 0xA5, bytes);
        ++live;
    }
    return data;
}

static void tight_free(void *user, void *data)
{
    (void)user;
    free(data);
    --live;
}

TEST(memory_that_runs_out_is_told)
{
    place p;
    qnnrt_cache_desc desc;
    long least;
    CHECK(begin(&p, 0));
    CHECK(put_two(&p, key_a));
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = tight_alloc;
    desc.hooks.free = tight_free;
    for (least = 0;; ++least) {
        qnnrt_cache *c = NULL;
        listing list = { "" };
        qnnrt_result results[4] = { QNNRT_OK, QNNRT_OK, QNNRT_OK, QNNRT_OK };
        int i, memory = 0;
        allowed = least;
        results[0] = qnnrt_cache_open(p.cache, &desc, &c, &err);
        if (results[0] == QNNRT_OK) {
            results[1] = qnnrt_cache_put(c, key_b, p.from, two_names, 2, &err);
            results[2] = qnnrt_cache_get(c, key_a, p.out, NULL, &err);
            results[3] = qnnrt_cache_list(c, visit, &list, &err);
        }
        qnnrt_cache_close(c);
        allowed = -1;
        CHECK_EQ(live, 0);
        for (i = 0; i < 4; ++i) {
            memory += results[i] == QNNRT_E_MEMORY;
            CHECK(results[i] == QNNRT_OK || results[i] == QNNRT_E_MEMORY);
        }
        if (memory == 0) break;
        CHECK(least < 100);
    }
    CHECK(least > 5);
    TRY(end(&p));
}

/* ---- processes --------------------------------------------------------------------------------- */

/* Put, get and remove the same few entries, whose content must be that of their key. */
static int busy(const char *cache, const char *folder, int number)
{
    static const char *const keys[3] = { key_a, key_b, key_c };
    qnnrt_cache_desc desc;
    qnnrt_cache *c;
    char own[1300];
    int round;
    memset(&desc, 0, sizeof(desc));
    desc.limit = 45000;                          /* not all three */
    snprintf(own, sizeof(own), "%s/%d", folder, number);
    if (mkdir(own, 0777) != 0 || qnnrt_cache_open(cache, &desc, &c, NULL) != QNNRT_OK) return 1;
    for (round = 0; round < 120; ++round) {
        const int which = (round * (number + 1)) % 3;
        static unsigned char data[20000];
        qnnrt_result result;
        memset(data, 'a' + which, sizeof(data));
        if (round % 10 != 0) result = qnnrt_cache_get(c, keys[which], own, NULL, NULL);
        else result = qnnrt_cache_clear(c, NULL, NULL, NULL) == QNNRT_OK ? QNNRT_E_NOT_FOUND : QNNRT_E_STATE;
        if (result == QNNRT_OK && !file_is(in(own, "model.bin"), data, sizeof(data))) return 2;
        if (result == QNNRT_OK) continue;
        if (result != QNNRT_E_NOT_FOUND) return 3;
        if (!write_all(in(own, "model.bin"), data, sizeof(data))) return 4;
        /* Another process may clear the cache before the entry has its name. */
        result = qnnrt_cache_put(c, keys[which], own, two_names, 1, NULL);
        if (result != QNNRT_OK && result != QNNRT_E_IO) return 5;
    }
    qnnrt_cache_close(c);
    return 0;
}

/* A writer that is at work, a killed one, a link, a folder, a pipe, a folder with folders: each has a number that is next. */
TEST(a_file_that_is_in_the_way_stops_no_put)
{
    char busy_one[QNNRT_CACHE_PATH];
    place p;
    qnnrt_cache *other = NULL;
    int fd;
    CHECK(begin(&p, 0));
    CHECK(write_all(in(p.from, "dear"), "dear", 4));
    fd = qnnrt_cache_aside(in(p.cache, "x"), 0600, busy_one);
    CHECK(fd >= 0 && strcmp(busy_one, in(p.cache, ".qnnrt.0.tmp")) == 0);
    CHECK_EQ(symlink(in(p.from, "dear"), in(p.cache, ".qnnrt.1.tmp")), 0);
    CHECK_EQ(mkdir(in(p.cache, ".qnnrt.2.tmp"), 0700), 0);
    CHECK_EQ(mkfifo(in(p.cache, ".qnnrt.3.tmp"), 0600), 0);
    CHECK(write_all(in(p.cache, ".qnnrt.4.tmp"), "deep", 4));            /* a killed writer never has such a folder */
    CHECK(mkdir(in(p.cache, ".qnnrt.4.tmp.d"), 0700) == 0 && mkdir(in(p.cache, ".qnnrt.4.tmp.d/a"), 0700) == 0 &&
          mkdir(in(p.cache, ".qnnrt.4.tmp.d/a/b"), 0700) == 0);
    CHECK(mkdir(in(p.cache, ".qnnrt.5.tmp.d"), 0700) == 0 && mkdir(in(p.cache, ".qnnrt.5.tmp.d/a"), 0700) == 0 &&
          mkdir(in(p.cache, ".qnnrt.5.tmp.d/a/b"), 0700) == 0);
    CHECK(write_all(in(p.cache, ".qnnrt.6.tmp"), "cut", 3));
    CHECK_EQ(qnnrt_cache_open(p.cache, NULL, &other, &err), QNNRT_OK);
    CHECK(put_two(&p, key_a));
    CHECK_EQ(qnnrt_cache_put(other, key_a, p.from, two_names, 2, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_cache_get(other, key_a, p.out, NULL, &err), QNNRT_OK);
    CHECK(file_is(in(p.out, "model.bin"), "binary\0binary", 13));
    CHECK(file_is(in(p.from, "dear"), "dear", 4));
    CHECK_EQ(files_in(p.cache), 8);              /* 0 to 4, the folders of 4 and 5, and the entry */
    CHECK(access(in(p.cache, ".qnnrt.6.tmp"), F_OK) != 0);
    CHECK(access(in(p.cache, ".qnnrt.4.tmp.d/a/b"), F_OK) == 0 && access(in(p.cache, ".qnnrt.5.tmp.d/a/b"), F_OK) == 0);
    qnnrt_cache_aside_end(fd, busy_one);
    CHECK_EQ(files_in(p.cache), 7);
    qnnrt_cache_close(other);
    TRY(end(&p));
}

/* In a folder that is shared, another user may take all numbers that can be foreseen. */
TEST(numbers_that_are_taken_stop_no_writer)
{
    enum { NUMBERS = 1000 };
    char aside[2][QNNRT_CACHE_PATH], path[QNNRT_CACHE_PATH];
    place p;
    int fd[2], i;
    CHECK(begin(&p, 0));
    for (i = 0; i < NUMBERS; ++i) {
        snprintf(path, sizeof(path), ".qnnrt.%d.tmp", i);
        if (i == NUMBERS - 1) {
            fd[0] = qnnrt_cache_aside(in(p.cache, "x"), 0600, aside[0]);
            CHECK(fd[0] >= 0 && strcmp(aside[0], in(p.cache, path)) == 0);
            qnnrt_cache_aside_end(fd[0], aside[0]);
        }
        CHECK_EQ(mkdir(in(p.cache, path), 0700), 0);
    }
    for (i = 0; i < 2; ++i) {
        fd[i] = qnnrt_cache_aside(in(p.cache, "x"), 0600, aside[i]);
        CHECK(fd[i] >= 0);
        CHECK(strlen(aside[i]) > strlen(in(p.cache, ".qnnrt.1000.tmp")));    /* (once in 10^15 runs it is not) */
    }
    CHECK(strcmp(aside[0], aside[1]) != 0);
    lies.open_fails = "random";          /* a system without random numbers */
    CHECK_EQ(qnnrt_cache_aside(in(p.cache, "x"), 0600, path), -1);
    CHECK_EQ(errno, EEXIST);
    lies.open_fails = NULL;
    CHECK(put_two(&p, key_a));
    CHECK_EQ(files_in(p.cache), NUMBERS + 3);
    close(fd[0]);                        /* as a killed one does */
    qnnrt_cache_aside_end(fd[1], aside[1]);
    qnnrt_cache_sweep(p.cache);
    CHECK_EQ(files_in(p.cache), NUMBERS + 1);
    TRY(end(&p));
}

/* A killed writer leaves a file, and a folder with files and folders; the next one has its number, and what is left of it is
   removed. While it lives, nobody touches it. */
TEST(what_a_killed_writer_left_goes_to_the_next)
{
    char aside[QNNRT_CACHE_PATH], folder[QNNRT_CACHE_PATH], path[2][QNNRT_CACHE_PATH + 40];
    int ready[2], alive[2], fd, i;
    char byte = 0;
    pid_t child;
    place p;
    CHECK(begin(&p, 0));
    CHECK(write_all(in(p.from, "dear"), "dear", 4));
    CHECK(pipe(ready) == 0 && pipe(alive) == 0);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        close(alive[1]);
        fd = qnnrt_cache_aside(in(p.out, "result.bin"), 0600, aside);
        if (fd < 0 || !qnnrt_cache_aside_folder(fd, aside, folder)) _exit(1);
        for (i = 0; i < 2; ++i) {
            snprintf(path[i], sizeof(path[i]), "%s%s", folder, i == 0 ? "/a" : "/a/b");
            if (mkdir(path[i], 0700) != 0) _exit(2);
        }
        snprintf(path[0], sizeof(path[0]), "%s/link", folder);
        if (rmdir(path[1]) != 0 || symlink(p.from, path[1]) != 0 || symlink(p.from, path[0]) != 0) _exit(3);
        if (write(ready[1], "", 1) != 1) _exit(4);
        _exit(read(alive[0], &byte, 1) != 0);            /* it ends with its parent */
    }
    CHECK(child > 0 && close(ready[1]) == 0);            /* a child that ends early is not waited for */
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    CHECK_EQ(files_in(p.out), 2);
    qnnrt_cache_sweep(p.out);
    CHECK_EQ(files_in(p.out), 2);
    fd = qnnrt_cache_aside(in(p.out, "result.bin"), 0600, aside);
    CHECK(fd >= 0 && strcmp(aside, in(p.out, ".qnnrt.1.tmp")) == 0);
    qnnrt_cache_aside_end(fd, aside);
    CHECK_EQ(kill(child, SIGKILL), 0);
    CHECK_EQ(waitpid(child, &i, 0), child);
    fd = qnnrt_cache_aside(in(p.out, "result.bin"), 0600, aside);
    CHECK(fd >= 0 && strcmp(aside, in(p.out, ".qnnrt.0.tmp")) == 0);
    CHECK_EQ(files_in(p.out), 1);
    CHECK(qnnrt_cache_aside_folder(fd, aside, folder) && qnnrt_cache_aside_folder(fd, aside, folder));
    CHECK_EQ(files_in(folder), 0);
    close(fd);                           /* as a killed one does */
    CHECK_EQ(files_in(p.out), 2);
    qnnrt_cache_sweep(p.out);
    CHECK_EQ(files_in(p.out), 0);
    CHECK(file_is(in(p.from, "dear"), "dear", 4));
    CHECK(close(ready[0]) == 0 && close(alive[0]) == 0 && close(alive[1]) == 0);
    CHECK_EQ(qnnrt_cache_aside(in(p.out, "no/such"), 0600, aside), -1);
    CHECK_EQ(errno, ENOENT);
    TRY(end(&p));
}

/* Without standard input the first file that is opened is 0; errno may be what another call left. */
static void with_descriptor_0(place *p)
{
    static const int stale[] = { 0, EEXIST };
    char aside[QNNRT_CACHE_PATH], folder[QNNRT_CACHE_PATH];
    size_t count = 0;
    int i;
    for (i = 0; i < 2; ++i) {
        errno = stale[i];
        CHECK_EQ(qnnrt_cache_aside(in(p->out, "x"), 0600, aside), 0);
        CHECK_EQ(strcmp(aside, in(p->out, ".qnnrt.0.tmp")), 0);
        CHECK(qnnrt_cache_aside_folder(0, aside, folder));
        CHECK_EQ(files_in(p->out), 2);
        qnnrt_cache_aside_end(0, aside);
        CHECK_EQ(files_in(p->out), 0);
    }
    CHECK(write_all(aside, "cut", 3));
    CHECK(qnnrt_cache_aside(in(p->out, "x"), 0600, aside) == 0 && close(0) == 0);
    CHECK_EQ(strcmp(aside, in(p->out, ".qnnrt.0.tmp")), 0);      /* the number of the killed writer */
    qnnrt_cache_sweep(p->out);
    CHECK_EQ(files_in(p->out), 0);
    CHECK(write_all(in(p->cache, ".qnnrt.0.tmp"), "cut", 3));
    CHECK(put_two(p, key_a));
    CHECK_EQ(files_in(p->cache), 1);
    CHECK_EQ(qnnrt_cache_get(p->c, key_a, p->out, NULL, &err), QNNRT_OK);
    CHECK_EQ(files_in(p->out), 2);
    CHECK_EQ(strcmp(list_of(p), "a2 "), 0);
    for (i = 0; i < 1000; ++i) {
        snprintf(folder, sizeof(folder), ".qnnrt.%d.tmp", i);
        CHECK_EQ(mkdir(in(p->cache, folder), 0700), 0);
    }
    CHECK(put_two(p, key_b));            /* with a random number */
    CHECK_EQ(qnnrt_cache_clear(p->c, &count, NULL, &err), QNNRT_OK);
    CHECK_EQ(count, 2);
}

TEST(descriptor_0_is_one_like_others)
{
    place p;
    int kept, fds;
    CHECK(begin(&p, 0));
    kept = without_input();
    fds = files_in("/proc/self/fd");
    with_descriptor_0(&p);
    CHECK_EQ(files_in("/proc/self/fd"), fds);
    CHECK(with_input(kept));
    TRY(end(&p));
}

/* Return the rights of a file, or -1. */
static int rights(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 ? (int)(facts.st_mode & 07777) : -1;
}

TEST(files_have_the_rights_that_are_meant)
{
    char aside[QNNRT_CACHE_PATH], folder[QNNRT_CACHE_PATH];
    const mode_t mask = umask(0);
    place p;
    const int good = begin(&p, 0) && put_two(&p, key_a) && qnnrt_cache_get(p.c, key_a, p.out, NULL, &err) == QNNRT_OK;
    const unsigned mode = lies.mode;
    const int fd = qnnrt_cache_aside(in(p.from, "x"), 0641, aside), made = qnnrt_cache_aside_folder(fd, aside, folder);
    umask(mask);
    CHECK(good && made);
    CHECK_EQ(mode, 0600);                /* of the file beside a folder of entries' files */
    CHECK_EQ(rights(p.cache), 0777);
    CHECK_EQ(rights(p.entry), 0666);
    CHECK_EQ(rights(in(p.out, "model.bin")), 0666);
    CHECK_EQ(rights(in(p.out, "qnnrt.json")), 0666);
    CHECK_EQ(rights(aside), 0641);
    CHECK_EQ(rights(folder), 0700);
    qnnrt_cache_aside_end(fd, aside);
    TRY(end(&p));
}

/* A file system may have no locks: then who writes goes on, and nothing is swept. */
TEST(without_locks_nothing_is_swept)
{
    char aside[2][QNNRT_CACHE_PATH];
    place p;
    int fd, i;
    CHECK(begin(&p, 0));
    lies.flock_errno = ENOLCK;
    for (i = 0; i < 2; ++i) {
        fd = qnnrt_cache_aside(in(p.cache, "x"), 0600, aside[i]);
        CHECK(fd >= 0 && close(fd) == 0);
        qnnrt_cache_sweep(p.cache);
        CHECK_EQ(files_in(p.cache), i + 1);
    }
    CHECK_EQ(strcmp(aside[0], in(p.cache, ".qnnrt.0.tmp")), 0);
    CHECK_EQ(strcmp(aside[1], in(p.cache, ".qnnrt.1.tmp")), 0);
    CHECK(put_two(&p, key_a));
    CHECK_EQ(files_in(p.cache), 3);
    lies.flock_errno = 0;
    lies.other_user = 1;                 /* files of others stay */
    qnnrt_cache_sweep(p.cache);
    CHECK_EQ(files_in(p.cache), 3);
    lies.other_user = 0;
    qnnrt_cache_sweep(p.cache);
    CHECK_EQ(files_in(p.cache), 1);
    lies.flock_errno = EWOULDBLOCK;      /* others hold whatever is made */
    CHECK_EQ(qnnrt_cache_aside(in(p.out, "x"), 0600, aside[0]), -1);
    CHECK_EQ(errno, EEXIST);
    lies.flock_errno = 0;
    qnnrt_cache_sweep(p.out);
    CHECK_EQ(files_in(p.out), 0);
    TRY(end(&p));
}

/* Another process removes the file between its creation and the lock, or puts its own there. */
TEST(who_sweeps_may_be_faster)
{
    char aside[QNNRT_CACHE_PATH], name[1300], theirs[1300];
    place p;
    int fd, i;
    CHECK(begin(&p, 0));
    snprintf(name, sizeof(name), "%s/.qnnrt.0.tmp", p.out);
    snprintf(theirs, sizeof(theirs), "%s/theirs", p.from);
    for (i = 0; i < 4; ++i) {            /* 2, 3: when a file of a killed writer is looked at */
        CHECK(i % 2 == 0 || write_all(theirs, "theirs", 6));
        CHECK(i < 2 || write_all(name, "killed", 6));
        lies.sweep[0] = name;
        lies.sweep[1] = i % 2 == 1 ? theirs : NULL;
        fd = qnnrt_cache_aside(in(p.out, "x"), 0600, aside);
        CHECK(fd >= 0 && lies.sweep[0] == NULL);
        CHECK_EQ(strcmp(aside, in(p.out, ".qnnrt.1.tmp")), 0);
        CHECK_EQ(files_in(p.out), i % 2 + 1);
        CHECK(i % 2 == 0 || file_is(name, "theirs", 6));
        qnnrt_cache_aside_end(fd, aside);
        if (i % 2 == 1) CHECK_EQ(unlink(name), 0);
    }
    TRY(end(&p));
}

/* A folder becomes a link after the system called it a folder: that in an aside's folder, and the aside's. */
TEST(a_folder_that_becomes_a_link_is_not_followed)
{
    static const char *const ends_of[2] = { "a", ".tmp.d" }, *const targets[2] = { "../../from", "../from" };
    char aside[QNNRT_CACHE_PATH], folder[QNNRT_CACHE_PATH];
    place p;
    int fd, i;
    CHECK(begin(&p, 0));
    CHECK(write_all(in(p.from, "dear"), "dear", 4));
    fd = qnnrt_cache_aside(in(p.out, "x"), 0600, aside);
    CHECK(fd >= 0 && qnnrt_cache_aside_folder(fd, aside, folder));
    CHECK_EQ(mkdir(in(folder, "a"), 0700), 0);
    for (i = 0; i < 2; ++i) {
        lies.swap[0] = ends_of[i];
        lies.swap[1] = targets[i];
        CHECK_EQ(qnnrt_cache_aside_folder(fd, aside, folder), 0);
        CHECK(lies.swap[0] == NULL && file_is(in(folder, i == 0 ? "a/dear" : "dear"), "dear", 4));
    }
    qnnrt_cache_aside_end(fd, aside);
    CHECK_EQ(files_in(p.out), 1);        /* the folder, under its new name */
    CHECK_EQ(mkdir(in(p.cache, ".qnnrt.0.tmp.d"), 0700), 0);
    lies.swap[0] = ends_of[1];
    fd = qnnrt_cache_aside(in(p.cache, "x"), 0600, aside);
    CHECK(fd >= 0 && strcmp(aside, in(p.cache, ".qnnrt.1.tmp")) == 0 && file_is(in(p.from, "dear"), "dear", 4));
    qnnrt_cache_aside_end(fd, aside);
    TRY(end(&p));
}

/* Return a file that is open and belongs to another user. */
static int foreign_file(const char *path)
{
    int fd;
    if (geteuid() != 0) return open("/dev/null", O_RDONLY | 02000000 /* O_CLOEXEC */);
    fd = open(path, O_RDWR | O_CREAT | 02000000, 0600);
    return fd >= 0 && fchown(fd, 65533, 65533) == 0 ? fd : -1;
}

TEST(the_folder_of_another_user_is_not_emptied)
{
    char folder[QNNRT_CACHE_PATH];
    place p;
    int fd, i;
    CHECK(begin(&p, 0));
    CHECK(mkdir(in(p.out, "a.d"), 0700) == 0 && write_all(in(p.out, "a.d/dear"), "dear", 4));
    for (i = 0; i < 3; ++i) {            /* 1, 2: the folder's descriptor is 0; 2: it is ours */
        const int own = i == 2 ? open(p.from, O_RDONLY | 02000000) : foreign_file(in(p.from, "foreign"));
        int made, fds, kept = -1;
        fd = dup(own);                   /* not 0, if it was free */
        if (i > 0) kept = without_input();
        fds = files_in("/proc/self/fd");
        made = qnnrt_cache_aside_folder(fd, in(p.out, "a"), folder);
        CHECK_EQ(files_in("/proc/self/fd"), fds);
        CHECK(with_input(kept));
        CHECK_EQ(made, i == 2);
        CHECK_EQ(files_in(in(p.out, "a.d")), i < 2);
        CHECK(close(fd) == 0 && close(own) == 0);
    }
    TRY(end(&p));
}

TEST(only_names_of_asides_are_swept)
{
    static const char *const names[] = { ".qnnrt.1.tm", ".qnnrt.1.tmpp", ".qnnrt.1a.tmp", ".qnnrt.a1.tmp", ".qnnr.1.tmp",
                                         "x.qnnrt.1.tmp", ".qnnrt.1.tmp.d", ".qnnrt", ".tmp", "1.tmp", ".qnnrt-1.tmp" };
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    place p;
    int i;
    CHECK(begin(&p, 0));
    for (i = 0; i < COUNT; ++i) CHECK(write_all(in(p.out, names[i]), "mine", 4));
    CHECK(write_all(in(p.out, ".qnnrt.18446744073709551615.tmp"), "cut", 3) && write_all(in(p.out, ".qnnrt.20.tmp"), "cut", 3));
    qnnrt_cache_sweep(p.out);
    CHECK_EQ(files_in(p.out), COUNT);
    for (i = 0; i < COUNT; ++i) CHECK(file_is(in(p.out, names[i]), "mine", 4));
    TRY(end(&p));
}

/* The folder of a name without a slash is the current one. */
TEST(an_aside_lies_in_the_folder_of_its_file)
{
    char aside[QNNRT_CACHE_PATH];
    place p;
    pid_t child;
    int status, fd;
    CHECK(begin(&p, 0));
    fflush(stdout);
    child = fork();
    if (child == 0) {
        if (chdir(p.out) != 0) _exit(1);
        fd = qnnrt_cache_aside("result.bin", 0600, aside);
        _exit(fd < 0 || strcmp(aside, ".qnnrt.0.tmp") != 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(access(in(p.out, ".qnnrt.0.tmp"), F_OK) == 0);
    CHECK(write_all(in(p.out, ".qnnrt.0.tmp.d"), "in the way", 10));
    errno = 0;
    fd = qnnrt_cache_aside(in(p.out, ""), 0600, aside);
    CHECK(fd >= 0 && files_in(p.out) == 1 && strcmp(aside, in(p.out, ".qnnrt.0.tmp")) == 0);
    qnnrt_cache_aside_end(fd, aside);
    TRY(end(&p));
}

/* Write folder/name with so many slashes that it has `bytes` bytes. */
static const char *long_path(const char *folder, const char *name, size_t bytes)
{
    static char path[QNNRT_CACHE_PATH + 8];
    const size_t tail = strlen(name), head = strlen(folder);
    if (head + tail >= bytes || bytes >= sizeof(path)) abort();
    memset(path, '/', bytes);
    memcpy(path, folder, head);
    memcpy(path + bytes - tail, name, tail + 1);
    return path;
}

TEST(paths_may_be_as_long_as_the_system_allows)
{
    char aside[QNNRT_CACHE_PATH], folder[QNNRT_CACHE_PATH];
    place p;
    qnnrt_cache *c;
    int fd;
    CHECK(begin(&p, 0));
    CHECK(put_two(&p, key_a));
    fd = qnnrt_cache_aside(long_path(p.out, "", QNNRT_CACHE_PATH - 31), 0600, aside);
    CHECK(fd == -1 && errno == ENAMETOOLONG);
    fd = qnnrt_cache_aside(long_path(p.out, "", QNNRT_CACHE_PATH - 32), 0600, aside);
    CHECK(fd >= 0 && qnnrt_cache_aside_folder(fd, aside, folder));
    CHECK_EQ(strlen(folder), QNNRT_CACHE_PATH - 32 + strlen(".qnnrt.0.tmp.d"));
    errno = 0;
    CHECK_EQ(qnnrt_cache_aside_folder(fd, long_path(p.out, "x", QNNRT_CACHE_PATH - 2), folder), 0);
    CHECK_EQ(errno, ENAMETOOLONG);
    CHECK_EQ(files_in(p.out), 2);
    CHECK(qnnrt_cache_aside_folder(fd, long_path(p.out, "x", QNNRT_CACHE_PATH - 3), folder));
    CHECK(access(in(p.out, "x.d"), F_OK) == 0 && rmdir(in(p.out, "x.d")) == 0);
    qnnrt_cache_aside_end(fd, aside);
    CHECK_EQ(files_in(p.out), 0);
    /* In a folder of an entry's files, and in that of a cache. */
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, long_path(p.out, "", QNNRT_CACHE_PATH - 33), NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, long_path(p.out, "", QNNRT_CACHE_PATH - 32), NULL, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "File name too long");
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, long_path(p.out, "", QNNRT_CACHE_PATH), NULL, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "File name too long");
    CHECK_EQ(qnnrt_cache_put(p.c, key_a, long_path(p.from, "", QNNRT_CACHE_PATH - 11), two_names, 1, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_cache_put(p.c, key_a, long_path(p.from, "", QNNRT_CACHE_PATH - 10), two_names, 1, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "File name too long");
    CHECK_EQ(qnnrt_cache_open(long_path(p.cache, "", QNNRT_CACHE_PATH - 72), NULL, &c, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_cache_put(c, key_b, p.from, two_names, 2, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_cache_get(c, key_b, p.out, NULL, &err), QNNRT_OK);
    qnnrt_cache_close(c);
    CHECK_EQ(qnnrt_cache_open(long_path(p.cache, "", QNNRT_CACHE_PATH - 71), NULL, &c, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_cache_get(c, key_b, p.out, NULL, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "File name too long");
    CHECK_EQ(qnnrt_cache_put(c, key_b, p.from, two_names, 2, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "File name too long");
    qnnrt_cache_close(c);
    TRY(end(&p));
}

/* What fails leaves nothing, and says why. */
TEST(what_fails_half_way_leaves_nothing)
{
    char aside[QNNRT_CACHE_PATH], folder[QNNRT_CACHE_PATH];
    place p;
    qnnrt_result result;
    int fd, i, failed;
    CHECK(begin(&p, 0));
    /* A disk that tells at the end that it is full. */
    for (i = 1, failed = 0, lies.close_fails = 0; lies.close_fails == 0; ++i) {
        lies.close_fails = i;
        result = put_two(&p, key_a) ? QNNRT_OK : err.code;
        CHECK_EQ(files_in(p.cache), result == QNNRT_OK);
        CHECK(result == QNNRT_OK || result == QNNRT_E_IO);
        if (result == QNNRT_OK) continue;
        CHECK_STR(err.text, "No space left on device");
        ++failed;
    }
    CHECK_EQ(failed, 1);
    for (i = 1, failed = 0, lies.close_fails = 0; lies.close_fails == 0; ++i) {
        lies.close_fails = i;
        result = qnnrt_cache_get(p.c, key_a, p.out, NULL, &err);
        CHECK_EQ(files_in(p.out), result == QNNRT_OK ? 2 : 0);
        CHECK(result == QNNRT_OK || result == QNNRT_E_IO);
        if (result == QNNRT_OK) {
            CHECK(unlink(in(p.out, "model.bin")) == 0 && unlink(in(p.out, "qnnrt.json")) == 0);
            continue;
        }
        CHECK_STR(err.text, "No space left on device");
        ++failed;
    }
    CHECK_EQ(failed, 2);
    lies.close_fails = 0;
    /* A folder that cannot be made. */
    mkdir_fails = ".tmp.d";
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "No space left on device");
    CHECK_EQ(files_in(p.out), 0);
    fd = qnnrt_cache_aside(in(p.out, "x"), 0600, aside);
    CHECK(fd >= 0 && !qnnrt_cache_aside_folder(fd, aside, folder));
    CHECK_EQ(errno, ENOSPC);
    errno = EDOM;
    qnnrt_cache_aside_end(fd, aside);
    CHECK_EQ(errno, EDOM);
    CHECK_EQ(files_in(p.out), 0);
    mkdir_fails = NULL;
    lies.open_fails = ".tmp.d/1";        /* the second file */
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "No such file or directory");
    CHECK_EQ(files_in(p.out), 0);
    lies.open_fails = NULL;
    /* A name that cannot be replaced, after others were. */
    CHECK_EQ(mkdir(in(p.out, "qnnrt.json"), 0700), 0);
    CHECK_EQ(qnnrt_cache_get(p.c, key_a, p.out, NULL, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "qnnrt.json: Is a directory");
    CHECK_EQ(files_in(p.out), 1);
    CHECK_EQ(rmdir(in(p.out, "qnnrt.json")), 0);
    CHECK(unlink(p.entry) == 0 && mkdir(p.entry, 0700) == 0);
    CHECK(!put_two(&p, key_a));
    CHECK_EQ(err.code, QNNRT_E_IO);
    CHECK_STR(err.text, "Is a directory");
    CHECK_EQ(files_in(p.cache), 1);
    CHECK_EQ(qnnrt_cache_clear(p.c, NULL, NULL, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "cannot remove 1 files of the cache");
    TRY(end(&p));
}

/* Who ends what he never got removes nothing: the name may be that of another writer. */
TEST(a_writer_without_a_file_disturbs_no_other)
{
    char aside[QNNRT_CACHE_PATH], folder[QNNRT_CACHE_PATH];
    place p;
    int fd;
    CHECK(begin(&p, 0));
    fd = qnnrt_cache_aside(in(p.out, "result.bin"), 0600, aside);
    CHECK(fd >= 0 && qnnrt_cache_aside_folder(fd, aside, folder));
    CHECK_EQ(files_in(p.out), 2);
    qnnrt_cache_aside_end(-1, aside);
    qnnrt_cache_aside_end(fd, NULL);
    CHECK_EQ(qnnrt_cache_aside_folder(-1, aside, folder), 0);
    CHECK_EQ(errno, EINVAL);
    CHECK_EQ(qnnrt_cache_aside_folder(fd, NULL, folder), 0);
    CHECK_EQ(qnnrt_cache_aside_folder(fd, aside, NULL), 0);
    CHECK_EQ(qnnrt_cache_aside(NULL, 0600, aside), -1);
    CHECK_EQ(errno, EINVAL);
    CHECK_EQ(qnnrt_cache_aside(in(p.out, "result.bin"), 0600, NULL), -1);
    qnnrt_cache_sweep(NULL);
    CHECK_EQ(files_in(p.out), 2);
    qnnrt_cache_aside_end(fd, aside);
    CHECK_EQ(files_in(p.out), 0);
    TRY(end(&p));
}

TEST(processes_share_a_cache)
{
    enum { PROCESSES = 6 };
    place p;
    pid_t children[PROCESSES];
    int i, status, worst = 0;
    CHECK(begin(&p, 0));
    fflush(stdout);
    for (i = 0; i < PROCESSES; ++i) {
        children[i] = fork();
        if (children[i] == 0) _exit(busy(p.cache, p.out, i));
    }
    for (i = 0; i < PROCESSES; ++i) {
        CHECK_EQ(waitpid(children[i], &status, 0), children[i]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            printf("process %d: status 0x%x\n", i, (unsigned)status);
            worst = 1;
        }
    }
    CHECK_EQ(worst, 0);
    CHECK(strchr(list_of(&p), '!') == NULL);
    TRY(end(&p));
}

TEST_MAIN("cache")
{
    RUN(hashes_are_those_of_blake2b);
    RUN(fields_of_a_key_do_not_run_into_each_other);
    RUN(the_content_of_a_file_is_a_field);
    RUN(a_key_without_a_field_is_no_key);
    RUN(what_is_put_is_got);
    RUN(files_larger_than_the_buffer_are_whole);
    RUN(a_flipped_byte_anywhere_is_found);
    RUN(an_entry_cut_at_any_byte_is_found);
    RUN(the_entry_of_another_key_is_foreign);
    RUN(a_forged_entry_writes_nothing_outside_and_nothing_wrong);
    RUN(the_entry_unused_for_longest_makes_room);
    RUN(files_that_are_larger_than_the_limit_remove_nothing);
    RUN(listing_and_clearing_leave_other_files_alone);
    RUN(folders_that_cannot_be_used_are_named);
    RUN(a_full_disk_leaves_what_was_there);
    RUN(memory_that_runs_out_is_told);
    RUN(a_file_that_is_in_the_way_stops_no_put);
    RUN(numbers_that_are_taken_stop_no_writer);
    RUN(what_a_killed_writer_left_goes_to_the_next);
    RUN(descriptor_0_is_one_like_others);
    RUN(files_have_the_rights_that_are_meant);
    RUN(without_locks_nothing_is_swept);
    RUN(who_sweeps_may_be_faster);
    RUN(a_folder_that_becomes_a_link_is_not_followed);
    RUN(the_folder_of_another_user_is_not_emptied);
    RUN(only_names_of_asides_are_swept);
    RUN(an_aside_lies_in_the_folder_of_its_file);
    RUN(paths_may_be_as_long_as_the_system_allows);
    RUN(what_fails_half_way_leaves_nothing);
    RUN(a_writer_without_a_file_disturbs_no_other);
    RUN(processes_share_a_cache);
}
