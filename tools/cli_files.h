/* cli_files.h - a part of cli.h: standard output, and files that are read and written with care

   ROOMS    >>stdout >>signals >>read >>write                                                    */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* =====================================================================================
   STDOUT                                                                       >>stdout
   Vendor libraries print to descriptor 1 when they load, on errors and at the end.
   ===================================================================================== */

/* Take descriptor 1 for this program, and make it standard error for all libraries. Return NULL on
   failure, with errno set. */
static inline FILE *cli_take_stdout(void)
{
    /* fill closed descriptors 0 to 2, so that no later file gets one of them */
    for (int fd = 0; fd <= 2; ++fd)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDWR) != fd)
            return NULL;
    const int own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (own == -1 || dup2(STDERR_FILENO, STDOUT_FILENO) == -1) return NULL;
    return fdopen(own, "w");
}

/* Close what cli_take_stdout() returned. Return 0 after printing an error. */
static inline int cli_close_stdout(FILE *out)
{
    cli_put_end(out);
    cli_busy_end();
    const int good = !ferror(out);
    if (fclose(out) == 0 && good) return 1;
    cli_message("cannot write to standard output", NULL);
    return 0;
}

/* =====================================================================================
   SIGNALS                                                                     >>signals
   SIGINT, SIGTERM, SIGHUP and SIGPIPE remove files that are incomplete; so does a crash, which is
   said before the program ends by it.
   ===================================================================================== */

enum { CLI_ASIDES = 8 };

static char *volatile        cli_asides[CLI_ASIDES];       /* paths to remove, or NULL */
static volatile sig_atomic_t cli_held;                     /* depth of cli_hold()         */
static volatile sig_atomic_t cli_signal;                   /* signal that came since, or 0 */
static pid_t                 cli_process;                  /* the program, not a child of it */

static inline void cli_remove_asides(void)
{
    for (size_t i = 0; i < CLI_ASIDES; ++i)
        if (cli_asides[i] != NULL) unlink(cli_asides[i]);
}

/* Remove the incomplete files, and end the program as this signal does. */
static inline void cli_end(int number)
{
    cli_remove_asides();
    signal(number, SIG_DFL);
    raise(number);
}

/* Handle a signal: now, or at cli_release(). */
static inline void cli_on_signal(int number)
{
    if (cli_held > 0) cli_signal = number;
    else cli_end(number);
}

/* What the program does now, for the words of a crash. */
typedef struct cli_stage {
    const char *doing;
    int         library;               /* 1: in a library, 2: in one or in qnnrt, 0: in qnnrt  */
} cli_stage;

enum { CLI_STAGES = 8 };

static const cli_stage *volatile cli_stages[CLI_STAGES];  /* the last one is the inner one     */
static volatile sig_atomic_t     cli_stage_depth;

static inline void cli_begin(const cli_stage *stage)
{
    if (cli_stage_depth < CLI_STAGES) cli_stages[cli_stage_depth] = stage;
    cli_stage_depth = cli_stage_depth + 1;
}

/* Pass on what a call returned. */
static inline qnnrt_result cli_after(qnnrt_result result)
{
    cli_stage_depth = cli_stage_depth - 1;
    return result;
}

/* Return what the program does now. */
static inline const cli_stage *cli_stage_now(void)
{
    static const cli_stage own = {"files were read or written", 0};
    const int depth = (int)cli_stage_depth;
    return depth == 0 ? &own : cli_stages[(depth < CLI_STAGES ? depth : CLI_STAGES) - 1];
}

/* The calls that a crash names, wherever they are. */
static const cli_stage cli_stage_backend = {"a backend library was opened or closed", 1},
                       cli_stage_build = {"the library compiled", 1},
                       cli_stage_exec = {"the library executed a pipeline", 1},
                       cli_stage_end = {"libraries ended", 1},
                       cli_stage_model = {"a model was opened, saved or closed", 2},
                       cli_stage_split = {"graphs were split and compiled", 2},
                       cli_stage_llm = {"a language model ran", 2},
                       cli_stage_read = {"a graph was read", 0},
                       cli_stage_lower = {"graphs were translated to operators of QNN", 0};

#define CLI_STAGE(stage, call) (cli_begin(&cli_stage_##stage), cli_after(call))
#define qnnrt_backend_open(a, b, c) CLI_STAGE(backend, qnnrt_backend_open(a, b, c))
#define qnnrt_backend_close(a) CLI_STAGE(backend, qnnrt_backend_close(a))
#define qnnrt_builder_finish(a, b, c) CLI_STAGE(build, qnnrt_builder_finish(a, b, c))
#define qnnrt_exec(a) CLI_STAGE(exec, qnnrt_exec(a))
#define qnnrt_open(a, b, c, d) CLI_STAGE(model, qnnrt_open(a, b, c, d))
#define qnnrt_save(a, b, c, d) CLI_STAGE(model, qnnrt_save(a, b, c, d))
#define qnnrt_close(a) CLI_STAGE(model, qnnrt_close(a))
#define qnnrt_manifest_open(a, b, c, d) CLI_STAGE(model, qnnrt_manifest_open(a, b, c, d))
#define qnnrt_manifest_close(a) CLI_STAGE(model, qnnrt_manifest_close(a))
#define qnnrt_compile_build(a, b) CLI_STAGE(split, qnnrt_compile_build(a, b))
#define qnnrt_llm_open(a, b, c, d) CLI_STAGE(llm, qnnrt_llm_open(a, b, c, d))
#define qnnrt_llm_decode(a, b) CLI_STAGE(llm, qnnrt_llm_decode(a, b))
#define qnnrt_ir_read(a, b, c, d, e) CLI_STAGE(read, qnnrt_ir_read(a, b, c, d, e))
#define qnnrt_lower_create(a, b, c) CLI_STAGE(lower, qnnrt_lower_create(a, b, c))

static inline void cli_on_crash_say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) errno = 0;
}

/* Handle a crash. The parent of a child says it, too, and knows more. */
static inline void cli_on_crash(int number)
{
    static const char *const where[] = {", in this program", ", probably within a library",
                                        ", within a library or this program"};
    const cli_stage *stage = cli_stage_now();
    if (getpid() == cli_process) {
        cli_on_crash_say("\n");
        cli_on_crash_say(cli_name);
        cli_on_crash_say(": crashed while ");
        cli_on_crash_say(stage->doing);
        cli_on_crash_say(where[stage->library]);
        cli_on_crash_say(stage->library > 0
            ? "\nhint: Run qnnrt-run doctor with this model and --run: it names what crashes.\n"
            : "\nhint: Report it with this command and its files: it is a fault of qnnrt.\n");
    }
    cli_end(number);
}

static inline void cli_catch(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Catch the signals that end a program, except those that its caller set to be ignored, as nohup
   does, and crashes. A file beyond the limit of its size is an error of writing, like a full
   disk. */
static inline void cli_catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    struct sigaction before;
    cli_catch(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i)
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler != SIG_IGN)
            cli_catch(numbers[i], cli_on_signal);
    cli_process = getpid();
    /* A sanitizer has handlers of its own, which say more. */
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); ++i)
        if (sigaction(crashes[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            cli_catch(crashes[i], cli_on_crash);
}

/* Delay signals until cli_release(): between the two calls a file may exist under a name that the
   handler does not know. */
static inline void cli_hold(void) { cli_held = cli_held + 1; }

static inline void cli_release(void)
{
    cli_held = cli_held - 1;
    if (cli_held == 0 && cli_signal != 0) cli_end(cli_signal);
}

/* =====================================================================================
   READ                                                                           >>read
   Reads files that could make the program wait, or fill its memory.
   ===================================================================================== */

/* Open a file without waiting: a pipe without a writer is an empty file. Return -1 on failure, with
   errno set. */
static inline int cli_open(const char *path)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISDIR(status.st_mode)) return fd;
    close(fd);
    errno = EISDIR;
    return -1;
}

/* Read up to `most` bytes. Return -1 on failure, with errno set. */
static inline int cli_read(int fd, char *to, size_t most, size_t *bytes)
{
    *bytes = 0;
    while (*bytes < most) {
        const ssize_t got = read(fd, to + *bytes, most - *bytes);
        if (got > 0) *bytes += (size_t)got;
        else if (got == 0) return 0;
        /* A pipe with a writer: wait for data. */
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        else if (errno != EINTR) return -1;
    }
    return 0;
}

/* True if a plain file has more bytes than that. */
static inline int cli_is_longer(int fd, size_t most)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
           (uint64_t)status.st_size > most;
}

/* Read a whole file, or standard input for "-", of at most `most` bytes. The caller frees it; a 0
   follows the last byte. Return NULL on failure, with errno set: EFBIG for a longer file. */
static inline char *cli_read_file(const char *path, size_t most, size_t *bytes)
{
    const int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : cli_open(path);
    char *data = NULL;
    size_t room = 0, got = 0;
    int result = fd < 0 ? -1 : 0;
    *bytes = 0;
    if (fd >= 0 && cli_is_longer(fd, most)) {
        errno = EFBIG;
        result = -1;
    }
    while (result == 0 && *bytes == room) {      /* the buffer is full: there may be more */
        if (*bytes > most) {
            errno = EFBIG;
            result = -1;
            break;
        }
        const size_t longer = room != 0 ? 2 * room : 65536;
        char *copy = (char *)cli_alloc(longer + 1, 1);
        if (*bytes != 0) memcpy(copy, data, *bytes);
        free(data);
        data = copy;
        room = longer;
        result = cli_read(fd, data + *bytes, room - *bytes, &got);
        *bytes += got;
    }
    if (result == 0 && *bytes > most) {
        errno = EFBIG;
        result = -1;
    }
    const int why = errno;
    if (fd >= 0) close(fd);
    if (result == 0) {
        data[*bytes] = '\0';
        return data;
    }
    free(data);
    errno = why;
    return NULL;
}

/* =====================================================================================
   WRITE                                                                         >>write
   Writes files under a temporary name and renames them: readers see the old or the new file.
   ===================================================================================== */

typedef struct cli_file {
    FILE *file;                        /* the open file                           */
    char *path;
    char *aside;                       /* its path until cli_finish(), or NULL    */
    int   lock;                        /* the same file, open: aside is in use    */
} cli_file;

static inline int cli_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* True if both paths lead to one file or folder. */
static inline int cli_is_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_ino == other.st_ino &&
           one.st_dev == other.st_dev;
}

/* True if the path exists and is not a plain file: a pipe, /dev/null or a link keeps its kind. */
static inline int cli_is_special(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* Take a file off the list of incomplete ones. */
static inline void cli_forget(cli_file *f)
{
    for (size_t i = 0; i < CLI_ASIDES; ++i)
        if (f->aside != NULL && cli_asides[i] == f->aside) cli_asides[i] = NULL;
    free(f->aside);
    free(f->path);
    memset(f, 0, sizeof(*f));
}

/* Create a file. replace: 1 when the path was made from a name in a model, so that a link or a pipe
   there is replaced; 0 writes into it. Return 0 on failure, with errno set. */
static inline int cli_create(cli_file *f, const char *path, int replace)
{
    const int direct = !replace && cli_is_special(path);
    f->file = NULL;
    f->path = cli_text("%s", path);
    f->aside = direct ? NULL : (char *)cli_alloc(QNNRT_CACHE_PATH, 1);
    cli_hold();
    const int fd = direct ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0666)
                          : qnnrt_cache_aside(path, 0666, f->aside);
    for (size_t i = 0; fd >= 0 && !direct && i < CLI_ASIDES; ++i) {
        if (cli_asides[i] != NULL) continue;
        cli_asides[i] = f->aside;
        break;
    }
    cli_release();
    f->lock = fd >= 0 && !direct ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (fd >= 0 && (direct || f->lock >= 0)) f->file = fdopen(fd, "wb");
    if (f->file != NULL) return 1;
    const int why = errno;
    if (f->lock >= 0) close(f->lock);
    if (fd >= 0 && direct) close(fd);
    else if (fd >= 0) qnnrt_cache_aside_end(fd, f->aside);
    cli_forget(f);
    errno = why;
    return 0;
}

/* Close a file and give it its name, or remove it when `good` is 0. Return 0 on failure, with errno
   set and no file left. */
static inline int cli_finish(cli_file *f, int good)
{
    int why = errno;
    if (good && ferror(f->file)) good = 0;
    if (!good && why == 0) why = EIO;
    if (fclose(f->file) != 0 && good) {          /* a full disk may be reported only here */
        why = errno;
        good = 0;
    }
    cli_hold();
    if (good && f->aside != NULL && rename(f->aside, f->path) != 0) {
        why = errno;
        good = 0;
    }
    if (!good && f->aside != NULL) qnnrt_cache_aside_end(f->lock, f->aside);
    else if (f->aside != NULL) close(f->lock);
    cli_forget(f);
    cli_release();
    errno = why;
    return good;
}

/* Write a whole file. Return 0 on failure, with errno set. */
static inline int cli_write_file(const char *path, const void *data, size_t bytes, int replace)
{
    cli_file f;
    if (!cli_create(&f, path, replace)) return 0;
    errno = 0;
    return cli_finish(&f, fwrite(data, 1, bytes, f.file) == bytes);
}

/* Make a folder and those above it. Return 0 on failure, with errno set. */
static inline int cli_make_folders(const char *path)
{
    char *part = cli_text("%s", path);
    int made = 1;
    for (char *c = part + 1; made && part[0] != '\0'; ++c) {
        const char kept = *c;
        if (kept != '/' && kept != '\0') continue;
        *c = '\0';
        made = mkdir(part, 0777) == 0;
        if (!made && errno == EEXIST) {
            made = cli_is_folder(part);
            if (!made) errno = ENOTDIR;
        }
        *c = kept;
        if (kept == '\0') break;
    }
    free(part);
    return made;
}

/* Return the first folder of a path that does not exist, which cli_make_folders() would make; NULL
   if all exist. The caller frees it. */
static inline char *cli_missing_folder(const char *path)
{
    struct stat status;
    char *part = cli_text("%s", path);
    for (char *c = part + (part[0] != '\0'); part[0] != '\0'; ++c) {
        const char kept = *c;
        if (kept != '/' && kept != '\0') continue;
        *c = '\0';
        if (stat(part, &status) != 0) return part;
        *c = kept;
        if (kept == '\0') break;
    }
    free(part);
    return NULL;
}

/* Remove the folders of a path from the last one up to `first`, as far as they are empty. */
static inline void cli_remove_folders(const char *path, const char *first)
{
    char *part = cli_text("%s", path);
    for (size_t length = strlen(part); length >= strlen(first); --length) {
        if (part[length] != '/' && part[length] != '\0') continue;
        part[length] = '\0';
        if (length > 0 && part[length - 1] != '/' && rmdir(part) != 0) break;
    }
    free(part);
}

#endif /* CLI_FILES_H */
