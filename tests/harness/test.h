/* test.h - a tiny test harness: C99, also compiles as C++11

       #include "test.h"

       TEST(json_rejects_trailing_comma)
       {
           CHECK(parse("[1,]") == NULL);
       }

       TEST_MAIN("json") { RUN(json_rejects_trailing_comma); }

   TEST(name) { ... }       defines a test; one that is never RUN gives a compiler warning
   CHECK(cond)              a failing check leaves the test; the next one runs
   CHECK_EQ(a, b)           integers, enums, pointers, each evaluated once; floats don't compile
   CHECK_STR(text, needle)  text contains needle
   SKIP("reason")           leaves the test and counts it as skipped, a failure when the
                            environment has QNNRT_REQUIRE_ALL=1
   TRY(call)                calls a void function that holds checks, leaves the test when one failed
   RUN(name)                inside TEST_MAIN
   TEST_MAIN("suite") { }   main(); the optional argument is a part of the names to run
   TEST_MAIN_ARGS("suite", 2, "RELEASE DATA") { }
                            the same with leading arguments of its own, see test_arg(); a test
                            program in tests/real has these two

   Failures go to stdout as "suite: test: file:line: text". The last line is "N passed, N failed",
   followed by ", N skipped" when there were any. Exit status 1 when something failed. */
#ifndef TEST_H
#define TEST_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* The fake backend of this configuration as the Makefile puts it, from the top folder. */
#ifndef TEST_FAKE_LIB
#define TEST_FAKE_LIB "build/fake/libQnnFake.so"
#endif

typedef struct test_folder {
    struct test_folder *next;
    char path[1024];
} test_folder;

enum { TEST_RUNNING, TEST_FAILED, TEST_SKIPPED };

static struct {
    const char *suite, *name, *filter;   /* program, test that runs, part of the names or NULL */
    char **args;                         /* leading arguments of TEST_MAIN_ARGS                */
    int arg_count;
    int state, require_all;              /* TEST_RUNNING ...; QNNRT_REQUIRE_ALL=1              */
    int passed, failed, skipped;
    char reason[256];                    /* of the last SKIP, printed once                     */
    test_folder *folders;                /* removed at exit ...                                */
    pid_t owner;                         /* ... by this process, not by a forked child         */
} test_state;

/* Return the value of an environment variable, NULL when it is unset or empty. */
static inline const char *test_getenv(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Return leading argument i (from 0) of a program with TEST_MAIN_ARGS, NULL past the last. */
static inline const char *test_arg(int i)
{
    return i >= 0 && i < test_state.arg_count ? test_state.args[i] : NULL;
}

static inline void test_where(const char *file, int line)
{
    test_state.state = TEST_FAILED;
    printf("%s: %s: %s:%d: ", test_state.suite, test_state.name, file, line);
}

static inline int test_check(int ok, const char *file, int line, const char *text)
{
    if (!ok) {
        test_where(file, line);
        printf("failed: %s\n", text);
        fflush(stdout);
    }
    return ok;
}

static inline int test_check_eq(long long a, long long b, const char *file, int line,
                                const char *text_a, const char *text_b)
{
    if (a != b) {
        test_where(file, line);
        printf("%s == %s: got %lld (%lluu, 0x%llx), expected %lld (%lluu, 0x%llx)\n", text_a, text_b,
               a, (unsigned long long)a, (unsigned long long)a,
               b, (unsigned long long)b, (unsigned long long)b);
        fflush(stdout);
    }
    return a == b;
}

static inline int test_check_str(const char *text, const char *needle, const char *file, int line)
{
    int ok = text != NULL && needle != NULL && strstr(text, needle) != NULL;
    if (!ok) {
        test_where(file, line);
        printf("text does not contain what it should\n    text:   %s\n    needle: %s\n",
               text != NULL ? text : "(NULL)", needle != NULL ? needle : "(NULL)");
        fflush(stdout);
    }
    return ok;
}

static inline void test_skip(const char *reason, const char *file, int line)
{
    if (test_state.require_all) {
        test_where(file, line);
        printf("skipped, but QNNRT_REQUIRE_ALL=1: %s\n", reason);
    } else {
        test_state.state = TEST_SKIPPED;
        if (strncmp(test_state.reason, reason, sizeof test_state.reason - 1) != 0) {
            printf("%s: %s: skipped: %s\n", test_state.suite, test_state.name, reason);
            strncpy(test_state.reason, reason, sizeof test_state.reason - 1);
        }
    }
    fflush(stdout);
}

static inline void test_remove_tree(const char *path)
{
    char child[2048];
    struct dirent *entry;
    DIR *dir;
    /* unlink first: it removes files and links (never the target of a link) and refuses folders. */
    if (unlink(path) == 0 || (dir = opendir(path)) == NULL) return;
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if ((size_t)snprintf(child, sizeof child, "%s/%s", path, entry->d_name) < sizeof child)
            test_remove_tree(child);
    }
    closedir(dir);
    rmdir(path);
}

static inline void test_remove_folders(void)
{
    if (getpid() != test_state.owner) return;
    while (test_state.folders != NULL) {
        test_folder *folder = test_state.folders;
        test_state.folders = folder->next;
        test_remove_tree(folder->path);
        free(folder);
    }
}

/* Make a fresh empty folder below $TMPDIR, else build/tmp; a new one with each call. The text
   and the folder with its content stay until the program ends. */
static inline const char *test_tmpdir(void)
{
    const char *base = test_getenv("TMPDIR");
    test_folder *folder = (test_folder *)calloc(1, sizeof *folder);
    static int i;
    if (folder == NULL) abort();
    if (base == NULL) {
        base = "build/tmp";
        mkdir("build", 0777);
        mkdir("build/tmp", 0777);
    }
    for (; i < 10000; ++i) {
        snprintf(folder->path, sizeof folder->path, "%s/qnnrt-%ld-%d", base, (long)getpid(), i);
        if (mkdir(folder->path, 0777) == 0) {
            if (test_state.owner != getpid()) {
                /* A forked child removes what it made itself, and nothing of its parent's. */
                test_state.folders = NULL;
                if (test_state.owner == 0) atexit(test_remove_folders);
                test_state.owner = getpid();
            }
            folder->next = test_state.folders;
            test_state.folders = folder;
            return folder->path;
        }
        if (errno != EEXIST) break;
    }
    printf("%s: cannot make a folder below %s: %s\n", test_state.suite, base, strerror(errno));
    fflush(stdout);
    free(folder);
    exit(1);
}

/* Write a whole file. Returns 1; on failure 0, and the test has failed already. */
static inline int test_write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    int ok = file != NULL && (size == 0 || fwrite(data, 1, size, file) == size);
    if (file != NULL && fclose(file) != 0) ok = 0;
    if (!ok) {
        test_where(path, 0);
        printf("cannot write: %s\n", strerror(errno));
        fflush(stdout);
    }
    return ok;
}

/* Read a whole file into memory that the caller frees, followed by a 0 byte. Returns NULL (and
   size 0) when it cannot be read; size may be NULL. */
static inline void *test_read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    size_t used = 0, room = 0;
    if (size != NULL) *size = 0;
    if (file == NULL) return NULL;
    for (;;) {
        if (room - used < 2) {
            char *more;
            room = room == 0 ? 65536 : room * 2;
            more = (char *)realloc(data, room);
            if (more == NULL) abort();
            data = more;
        }
        {
            size_t got = fread(data + used, 1, room - used - 1, file);
            if (got == 0) break;
            used += got;
        }
    }
    if (ferror(file)) {   /* a folder, for example */
        free(data);
        data = NULL;
    } else {
        data[used] = '\0';
        if (size != NULL) *size = used;
    }
    fclose(file);
    return data;
}

static inline void test_run(const char *name, void (*body)(void))
{
    if (test_state.filter != NULL && strstr(name, test_state.filter) == NULL) return;
    test_state.name = name;
    test_state.state = TEST_RUNNING;
    fflush(stdout);
    body();
    if (test_state.state == TEST_FAILED) ++test_state.failed;
    else if (test_state.state == TEST_SKIPPED) ++test_state.skipped;
    else ++test_state.passed;
}

static inline int test_main(const char *suite, int arg_count, const char *usage,
                            int argc, char **argv, void (*all)(void))
{
    const char *require = test_getenv("QNNRT_REQUIRE_ALL");
    test_state.suite = suite;
    test_state.name = "main";
    test_state.require_all = require != NULL && strcmp(require, "1") == 0;
    if (argc < 1 + arg_count || argc > 2 + arg_count) {
        printf("usage: %s %s%s[part of a test's name]\n", argv[0], usage, usage[0] ? " " : "");
        return 2;
    }
    test_state.args = argv + 1;
    test_state.arg_count = arg_count;
    test_state.filter = argc > 1 + arg_count ? argv[1 + arg_count] : NULL;
    all();
    if (test_state.passed + test_state.failed + test_state.skipped == 0 && test_state.filter != NULL) {
        printf("%s: no test has \"%s\" in its name\n", suite, test_state.filter);
        test_state.failed = 1;
    }
    fflush(stderr);
    printf("%d passed, %d failed", test_state.passed, test_state.failed);
    if (test_state.skipped > 0) printf(", %d skipped", test_state.skipped);
    printf("\n");
    fflush(stdout);
    return test_state.failed > 0;
}

/* Of a sweep over random or all cases `make check` plays one in TEST_SHARE, make test all: how many of n
   these are. A sweep over all has steps of TEST_SHARE. */
#ifndef TEST_SHARE
#define TEST_SHARE 1
#endif
#define TEST_CASES(n) ((n) / TEST_SHARE)

/* Fill an error, or something else that a call must fill, with bytes that are no value of it. */
#define TEST_JUNK(x) memset(&(x), 0xFF, sizeof(x))

/* Return the text of a failed call as the tools print it: its text, then its cause and its hint on
   lines of their own. The result stays valid until the next call. */
#define TEST_TOLD(err)                                                                             \
    test_told((err).text, sizeof((err).text), (err).cause, (err).hint, sizeof((err).hint))
static inline const char *test_told(const char *text, size_t text_room, const char *cause,
                                    const char *hint, size_t hint_room)
{
    static char told[4096];
    size_t length = strlen(hint);
    if (memchr(text, 0, text_room) == NULL || memchr(hint, 0, hint_room) == NULL) return "(no end)";
    if (length == 0 && cause == NULL) return text;
    if (length == 0 || strchr(hint, '\n') != NULL || hint[length - 1] != '.' || (hint[0] >= 'a' && hint[0] <= 'z'))
        return "(a hint that is not one sentence)";
    snprintf(told, sizeof told, "%s%s%s\n  hint: %s", text,
             cause != NULL ? "\n  likely cause: " : "", cause != NULL ? cause : "", hint);
    return told;
}

/* 8 is the class of floating types; the cast in CHECK_EQ would cut off their fraction. */
#if defined(__GNUC__) && !defined(__cplusplus)
#define TEST_NO_FLOAT(x) ((void)sizeof(char[__builtin_classify_type(x) == 8 ? -1 : 1]))
#else
#define TEST_NO_FLOAT(x) ((void)0)
#endif

#define TEST(name) static void test_case_##name(void)
#define RUN(name) test_run(#name, test_case_##name)
#define TEST_MAIN(suite) TEST_MAIN_ARGS(suite, 0, "")
#define TEST_MAIN_ARGS(suite, count, usage)                                                        \
    static void test_all(void);                                                                    \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return test_main(suite, count, usage, argc, argv, test_all);                               \
    }                                                                                              \
    static void test_all(void)

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!test_check((cond) ? 1 : 0, __FILE__, __LINE__, #cond)) return;                        \
    } while (0)
#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        TEST_NO_FLOAT(a);                                                                          \
        TEST_NO_FLOAT(b);                                                                          \
        if (!test_check_eq((long long)(a), (long long)(b), __FILE__, __LINE__, #a, #b)) return;    \
    } while (0)
#define CHECK_STR(text, needle)                                                                    \
    do {                                                                                           \
        if (!test_check_str((text), (needle), __FILE__, __LINE__)) return;                         \
    } while (0)
#define SKIP(why)                                                                                  \
    do {                                                                                           \
        test_skip((why), __FILE__, __LINE__);                                                      \
        return;                                                                                    \
    } while (0)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        call;                                                                                      \
        if (test_state.state != TEST_RUNNING) return;                                              \
    } while (0)

#endif /* TEST_H */
