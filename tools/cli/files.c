/* files.c - standard output, and files that are read and written with care

   ROOMS     >>stdout >>read >>write */
#include "cli/text.h"
#include "qnnrt_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

/* =====================================================================================
   STDOUT                                                                       >>stdout
   Vendor libraries print to descriptor 1 when they load, on errors and at the end.
   ===================================================================================== */

FILE *cli_take_stdout(void)
{
    int good = 1;
    /* fill closed descriptors 0 to 2, so that no later file gets one of them */
    for (int fd = 0; good && fd <= 2; ++fd)
        good = fcntl(fd, F_GETFD) != -1 || errno != EBADF || open("/dev/null", O_RDWR) == fd;
    const int own = good ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
    FILE *out = own != -1 && dup2(STDERR_FILENO, STDOUT_FILENO) != -1 ? fdopen(own, "w") : NULL;
    if (out != NULL) return out;
    fprintf(stderr, "%s: cannot copy standard output: %s\n", cli_name, strerror(errno));
    exit(STATUS_FAILED);
}

int cli_close_stdout(FILE *out)
{
    cli_put_end(out);
    cli_busy_end();
    const int good = !ferror(out);
    if (fclose(out) == 0 && good) return 1;
    cli_message("cannot write to standard output", NULL);
    return 0;
}

/* =====================================================================================
   READ                                                                           >>read
   Reads files that could make the program wait, or fill its memory.
   ===================================================================================== */

int cli_open(const char *path)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISDIR(status.st_mode)) return fd;
    close(fd);
    errno = EISDIR;
    return -1;
}

int cli_read(int fd, char *to, size_t most, size_t *bytes)
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
static int cli_is_longer(int fd, size_t most)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
           (uint64_t)status.st_size > most;
}

char *cli_read_file(const char *path, size_t most, size_t *bytes)
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

int cli_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int cli_is_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_ino == other.st_ino &&
           one.st_dev == other.st_dev;
}

int cli_is_special(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* Take a file off the list of incomplete ones. */
static void cli_forget(cli_file *f)
{
    for (size_t i = 0; i < CLI_ASIDES; ++i)
        if (f->aside != NULL && cli_asides[i] == f->aside) cli_asides[i] = NULL;
    free(f->aside);
    free(f->path);
    memset(f, 0, sizeof(*f));
}

int cli_create(cli_file *f, const char *path, int replace)
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

int cli_finish(cli_file *f, int good)
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

int cli_write_file(const char *path, const void *data, size_t bytes, int replace)
{
    cli_file f;
    if (!cli_create(&f, path, replace)) return 0;
    errno = 0;
    return cli_finish(&f, fwrite(data, 1, bytes, f.file) == bytes);
}

int cli_make_folders(const char *path)
{
    OWNED char *part = cli_text("%s", path);
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
    return made;
}

char *cli_missing_folder(const char *path)
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

void cli_remove_folders(const char *path, const char *first)
{
    OWNED char *part = cli_text("%s", path);
    for (size_t length = strlen(part); length >= strlen(first); --length) {
        if (part[length] != '/' && part[length] != '\0') continue;
        part[length] = '\0';
        if (length > 0 && part[length - 1] != '/' && rmdir(part) != 0) break;
    }
}
