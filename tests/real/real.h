/* real.h - shared by the tests against Qualcomm's genuine libraries

   A program of tests/real has two arguments: the folder of one release's libraries, such as
   build/qnn/2.51/onnxruntime_qnn, and tests/data. With QNNRT_NO_DEVICE=1 the libraries are those
   of a machine that has no NPU (aarch64 under qemu): metadata can be read, but graphs cannot run.

   The libraries start threads that a fork does not copy, and stay loaded: a test that needs its own
   process (real_fork) runs before the first qnnrt_open of the program. */
#ifndef REAL_H
#define REAL_H

#define _DEFAULT_SOURCE 1   /* MAP_ANONYMOUS; tests are built with _POSIX_C_SOURCE alone */
#include "qnnrt.h"
#include "test.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#if defined(__SANITIZE_ADDRESS__)
#define REAL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REAL_ASAN 1
#endif
#endif
#ifndef REAL_ASAN
#define REAL_ASAN 0
#endif

#define REAL_FILES 64

typedef struct real_list {
    int  count;
    char path[REAL_FILES][512];
} real_list;

static inline int real_no_device(void)
{
    const char *value = test_getenv("QNNRT_NO_DEVICE");
    return value != NULL && strcmp(value, "1") == 0;
}

/* Paths. Each call writes to a buffer of the caller, of 1024 bytes. */
static inline const char *real_join(char *path, const char *folder, const char *name)
{
    snprintf(path, 1024, "%.700s/%.300s", folder, name);
    return path;
}

static inline const char *real_library(char *path, const char *name)
{
    return real_join(path, test_arg(0), name);
}

/* Write the path of the library of another release beside this one:
   build/qnn/<release>/onnxruntime_qnn/<name>. */
static inline const char *real_sibling(char *path, const char *release, const char *name)
{
    char folder[1024];
    int cut;
    snprintf(folder, sizeof folder, "%.1000s", test_arg(0));
    for (cut = 0; cut < 2; ++cut) {
        char *slash;
        size_t size = strlen(folder);
        while (size > 1 && folder[size - 1] == '/') folder[--size] = '\0';
        slash = strrchr(folder, '/');
        if (slash == NULL) { strcpy(folder, "."); break; }
        *slash = '\0';
    }
    snprintf(path, 1024, "%.700s/%s/onnxruntime_qnn/%s", folder, release, name);
    return path;
}

static inline int real_exists(const char *path) { return access(path, R_OK) == 0; }

/* Return 2051 for "v2.51.0.260929181845", 0 when the text is not a release. */
static inline int real_release(const char *build_id)
{
    unsigned major = 0, minor = 0;
    if (build_id == NULL || sscanf(build_id, "v%u.%u", &major, &minor) != 2) return 0;
    return (int)(major * 1000 + minor);
}

static inline int real_compare(const void *a, const void *b)
{
    return strcmp((const char *)a, (const char *)b);
}

/* List the names in a folder that end in `end`, as paths, in the order of strcmp. */
static inline void real_scan(real_list *list, const char *folder, const char *end)
{
    struct dirent *entry;
    DIR *dir = opendir(folder);
    int first = list->count;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        size_t size = strlen(entry->d_name), tail = strlen(end);
        if (entry->d_name[0] == '.' || size < tail || strcmp(entry->d_name + size - tail, end) != 0) continue;
        if (list->count == REAL_FILES) { printf("%s: over %d files\n", folder, REAL_FILES); abort(); }
        snprintf(list->path[list->count++], sizeof list->path[0], "%.255s/%.255s", folder, entry->d_name);
    }
    if (dir != NULL) closedir(dir);
    qsort(list->path[first], (size_t)(list->count - first), sizeof list->path[0], real_compare);
}

/* List every folder below DATA_FOLDER/<part> that has a forward_0.bin. */
static inline void real_folders(real_list *list, const char *part)
{
    real_list *outer = (real_list *)calloc(2, sizeof *outer), *inner = outer + 1;
    char path[1024];
    int i, j;
    if (outer == NULL) abort();
    list->count = 0;
    real_scan(outer, real_join(path, test_arg(1), part), "");
    for (i = 0; i < outer->count; ++i) {
        struct stat info;
        inner->count = 0;
        if (stat(outer->path[i], &info) != 0 || !S_ISDIR(info.st_mode)) continue;
        if (real_exists(real_join(path, outer->path[i], "forward_0.bin"))) {
            strcpy(inner->path[0], outer->path[i]);
            inner->count = 1;
        } else {
            real_scan(inner, outer->path[i], "");
        }
        for (j = 0; j < inner->count && list->count < REAL_FILES; ++j)
            if (real_exists(real_join(path, inner->path[j], "forward_0.bin")))
                strcpy(list->path[list->count++], inner->path[j]);
    }
    free(outer);
}

/* Return the part of a path below DATA_FOLDER: "ctx/qairt2.51/mlp_u8". */
static inline const char *real_short(const char *path)
{
    size_t size = strlen(test_arg(1));
    return strncmp(path, test_arg(1), size) == 0 && path[size] == '/' ? path + size + 1 : path;
}

/* ---- what a model allocates and logs --------------------------------------------------------- */

static struct {
    long allocations, alive;     /* calls and live blocks of our allocator hook           */
    int  errors;                 /* lines of the vendor at level "error" */
    int  newer;                  /* those of them that refuse a newer binary */
    int  print;
    char first[512];
} real_seen;

static inline void *real_alloc(void *user, size_t bytes)
{
    (void)user;
    real_seen.allocations++;
    real_seen.alive++;
    return malloc(bytes);
}

static inline void real_free(void *user, void *data)
{
    (void)user;
    real_seen.alive--;
    free(data);
}

/* Count lines. The vendor may log on its own threads, but the lines counted here come on the
   caller's. */
static inline void real_log(void *user, qnnrt_log_level level, const char *room, uint64_t code, const char *text)
{
    (void)user;
    (void)code;
    if (real_seen.print) printf("    %s: %s\n", room, text);
    if (level != QNNRT_LOG_ERROR || strcmp(room, "vendor") != 0) return;
    if (real_seen.errors++ == 0) snprintf(real_seen.first, sizeof real_seen.first, "%s", text);
    if (strstr(text, "newer context binary") != NULL) real_seen.newer++;
}

/* Describe the genuine HTP library of RELEASE_FOLDER, with our hooks. The path must outlive the
   description. */
static inline void real_desc(qnnrt_desc *desc, char *path)
{
    memset(desc, 0, sizeof *desc);
    memset(&real_seen, 0, sizeof real_seen);
    desc->backend_desc.path = real_library(path, "libQnnHtp.so");
    desc->backend_desc.hooks.alloc = real_alloc;
    desc->backend_desc.hooks.free = real_free;
    desc->backend_desc.hooks.log = real_log;
}

#define REAL_OK(call, err)                                                                         \
    do {                                                                                           \
        qnnrt_result real_result = (call);                                                         \
        if (real_result != QNNRT_OK) {                                                             \
            test_where(__FILE__, __LINE__);                                                        \
            printf("%s: %s\n%s\n", #call, qnnrt_result_name(real_result), (err)->text);            \
            fflush(stdout);                                                                        \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/* ---- children -------------------------------------------------------------------------------- */

enum { REAL_CRASH = 256, REAL_HANG = 512, REAL_OURS = 70 };

#if defined(__x86_64__)
extern char __executable_start, etext;

/* A crash inside this program's own code is ours; a crash in a library is not. */
static inline void real_crashed(int number, siginfo_t *info, void *context)
{
    uintptr_t at;
    (void)info;
    /* struct ucontext: flags, link, stack (24 bytes), then r8 to r15, rdi ... rsp, rip = word 16 */
    memcpy(&at, (const char *)context + 40 + 16 * 8, sizeof at);
    if (at >= (uintptr_t)&__executable_start && at < (uintptr_t)&etext) _exit(REAL_OURS);
    signal(number, SIG_DFL);
    raise(number);
}
#endif

/* Run body(data) in a child. Return its exit status, or REAL_CRASH + signal, or REAL_HANG; REAL_OURS is a
   crash within our own code. Output of the child and its libraries goes to `log`, if given. */
static inline int real_fork(int (*body)(void *data), void *data, unsigned seconds, const char *log)
{
    pid_t child;
    int status = 0;
    fflush(stdout);
    fflush(stderr);
    child = fork();
    if (child < 0) abort();
    if (child == 0) {
#if defined(__x86_64__)
        static const int fatal[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
        struct sigaction action;
        size_t i;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = real_crashed;
        action.sa_flags = SA_SIGINFO;
        for (i = 0; i < sizeof fatal / sizeof fatal[0]; ++i) sigaction(fatal[i], &action, NULL);
#endif
        if (log != NULL && (freopen(log, "w", stdout) == NULL || dup2(1, 2) < 0)) _exit(99);
        signal(SIGALRM, SIG_DFL);
        alarm(seconds);
        status = body(data);
        fflush(stdout);
        _exit(status);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return WTERMSIG(status) == SIGALRM ? REAL_HANG : REAL_CRASH + WTERMSIG(status);
}

/* Return the release of the library in RELEASE_FOLDER by opening it in a child, 0 when it does not open. */
static inline int real_release_child(void *data)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend;
    qnnrt_error err;
    char path[1024];
    memset(&desc, 0, sizeof desc);
    desc.path = real_library(path, "libQnnHtp.so");
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) { printf("%s\n", err.text); return 1; }
    snprintf((char *)data, 256, "%s", qnnrt_backend_get_info(backend)->build_id);
    return 0;
}

static inline int real_library_release(void)
{
    static int known = -1;
    if (known < 0) {
        void *shared = mmap(NULL, 256, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) abort();
        known = real_fork(real_release_child, shared, 60, NULL) == 0 ? real_release((const char *)shared) : 0;
        printf("library: release %s\n", (const char *)shared);
        munmap(shared, 256);
    }
    return known;
}

#endif /* REAL_H */
