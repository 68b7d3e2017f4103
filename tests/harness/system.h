/* system.h - for tests that stand between every caller in the program and the system

   Included after test.h. mkdir() fails where mkdir_fails says. With SYSTEM_OPEN, the name of a function of the test, open()
   and openat() call it; the mode is 0 if none is given. */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>

#ifdef __cplusplus
extern "C" {
#define NO_THROW noexcept(true)
#else
#define NO_THROW
extern long syscall(long number, ...);   /* POSIX does not declare it */
#endif

#ifdef SYSTEM_OPEN
#define SYSTEM_MODE(mode, flags)                                                                   \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode = ((flags) & O_CREAT) != 0 ? va_arg(args, unsigned) : 0;                              \
        va_end(args);                                                                              \
    } while (0)

static int SYSTEM_OPEN(int folder, const char *path, int flags, unsigned mode);

extern int openat(int folder, const char *path, int flags, ...)
{
    unsigned mode;
    SYSTEM_MODE(mode, flags);
    return SYSTEM_OPEN(folder, path, flags, mode);
}

extern int open(const char *path, int flags, ...)
{
    unsigned mode;
    SYSTEM_MODE(mode, flags);
    return SYSTEM_OPEN(AT_FDCWD, path, flags, mode);
}
#endif

static const char *mkdir_fails;          /* end of a path where no folder can be made, NULL: none */

static inline int ends(const char *text, const char *tail)
{
    return tail != NULL && strlen(text) >= strlen(tail) && strcmp(text + strlen(text) - strlen(tail), tail) == 0;
}

extern int mkdir(const char *path, mode_t mode) NO_THROW;
int mkdir(const char *path, mode_t mode) NO_THROW
{
    if (ends(path, mkdir_fails)) { errno = ENOSPC; return -1; }
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

/* Close standard input: the next file that is opened gets descriptor 0. Return what with_input() takes. */
static inline int without_input(void)
{
    const int kept = dup(0);
    if (kept >= 0) close(0);
    return kept;
}

static inline int with_input(int kept)
{
    return kept < 0 || (dup2(kept, 0) == 0 && close(kept) == 0);
}

/* Return how many files of a folder have `part` in their names, -1 if there is no folder. */
static inline int files_with(const char *folder, const char *part)
{
    DIR *dir = opendir(folder);
    const struct dirent *item;
    int count = 0;
    if (dir == NULL) return -1;
    while ((item = readdir(dir)) != NULL)
        count += strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0 && strstr(item->d_name, part) != NULL;
    closedir(dir);
    return count;
}

#ifdef __cplusplus
}
#endif
#endif /* SYSTEM_H */
