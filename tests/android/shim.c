/* libc.so of Android for a machine without Android: programs built for Android run with it under qemu-user, on glibc
   for aarch64. glibc's loader takes the place of /system/bin/linker64.

   The functions below differ between bionic and glibc in what they take or write. All others are jumps to
   glibc's function of the same name: tests/android/shim.py writes them (shim_names.inc, shim_jumps.inc). Every symbol
   has the version LIBC as bionic's have, and not as default: the shim's own calls go to glibc.

   It shows that a program loads, calls what exists and computes the same. It shows nothing of Android's loader,
   of SELinux, or of the kernel. */

#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Define a function that programs see as name@LIBC. */
#define LIBC(result, name, args)                        \
    __asm__(".symver shim_" #name ", " #name "@LIBC");  \
    result shim_##name args;                            \
    result shim_##name args
#define DATA(name) __asm__(".symver shim_" #name ", " #name "@LIBC")

/* ---- jumps ---- */

static const char *const names[] = {
#include "shim_names.inc"
};
enum { COUNT = sizeof(names) / sizeof(names[0]) };
__attribute__((visibility("hidden"))) void *shim_targets[COUNT];

/* A program that calls what glibc does not have comes here, with the number of the name. */
__attribute__((visibility("hidden"))) void shim_missing(size_t number);
void shim_missing(size_t number)
{
    fprintf(stderr, "shim: %s: glibc has no such function; write it in tests/android/shim.c\n", names[number]);
    _exit(125);
}

__asm__(
#include "shim_jumps.inc"
);

/* ---- standard streams: __sF[0] to [2] up to API 22, stdin, stdout and stderr from 23 on ---- */

enum { FILE_BYTES = 152 };
char shim___sF[3 * FILE_BYTES];
FILE *shim_stdin, *shim_stdout, *shim_stderr;
DATA(__sF);
DATA(stdin);
DATA(stdout);
DATA(stderr);

static FILE *stream(void *file)
{
    const uintptr_t at = (uintptr_t)file - (uintptr_t)shim___sF;
    FILE *const standard[3] = { stdin, stdout, stderr };
    return at < sizeof(shim___sF) ? standard[at / FILE_BYTES] : (FILE *)file;
}

LIBC(int, fprintf, (FILE *file, const char *format, ...))
{
    va_list args;
    int result;
    va_start(args, format);
    result = vfprintf(stream(file), format, args);
    va_end(args);
    return result;
}
LIBC(int, vfprintf, (FILE *file, const char *format, va_list args)) { return vfprintf(stream(file), format, args); }
LIBC(int, fputc, (int c, FILE *file)) { return fputc(c, stream(file)); }
LIBC(int, putc, (int c, FILE *file)) { return fputc(c, stream(file)); }
LIBC(int, fputs, (const char *text, FILE *file)) { return fputs(text, stream(file)); }
LIBC(size_t, fwrite, (const void *data, size_t each, size_t count, FILE *file))
{
    return fwrite(data, each, count, stream(file));
}
LIBC(size_t, fread, (void *data, size_t each, size_t count, FILE *file))
{
    return fread(data, each, count, stream(file));
}
LIBC(char *, fgets, (char *text, int bytes, FILE *file)) { return fgets(text, bytes, stream(file)); }
LIBC(int, fgetc, (FILE *file)) { return fgetc(stream(file)); }
LIBC(int, getc, (FILE *file)) { return fgetc(stream(file)); }
LIBC(int, ungetc, (int c, FILE *file)) { return ungetc(c, stream(file)); }
LIBC(int, feof, (FILE *file)) { return feof(stream(file)); }
LIBC(int, ferror, (FILE *file)) { return ferror(stream(file)); }
LIBC(void, clearerr, (FILE *file)) { clearerr(stream(file)); }
LIBC(int, fflush, (FILE *file)) { return fflush(file != NULL ? stream(file) : NULL); }
LIBC(int, fclose, (FILE *file)) { return fclose(stream(file)); }
LIBC(int, fileno, (FILE *file)) { return fileno(stream(file)); }
LIBC(int, setvbuf, (FILE *file, char *buffer, int mode, size_t bytes))
{
    return setvbuf(stream(file), buffer, mode, bytes);
}

/* ---- start and end ---- */

LIBC(void, __libc_init, (void **start, void (*unused)(void), int (*run)(int, char **, char **), void *arrays))
{
    const int count = (int)(intptr_t)start[0];
    char **arguments = (char **)start + 1;
    (void)unused;
    (void)arrays;
    exit(run(count, arguments, arguments + count + 1));
}

/* glibc's loader runs the destructors of a library itself. */
LIBC(void, __cxa_finalize, (void *library)) { (void)library; }

LIBC(void, __stack_chk_fail, (void))
{
    fputs("shim: the stack was overwritten\n", stderr);
    abort();
}

LIBC(void, __assert2, (const char *file, int line, const char *function, const char *text))
{
    fprintf(stderr, "%s:%d: %s: assertion \"%s\" failed\n", file, line, function, text);
    abort();
}

LIBC(void, android_set_abort_message, (const char *text)) { fprintf(stderr, "abort: %s\n", text); }

/* ---- errors, strings, characters ---- */

LIBC(int *, __errno, (void)) { return __errno_location(); }

LIBC(int, strerror_r, (int number, char *text, size_t bytes))
{
    (void)snprintf(text, bytes, "%s", strerror(number));
    return 0;
}

LIBC(size_t, __strlen_chk, (const char *text, size_t bytes))
{
    const size_t length = strlen(text);
    if (length >= bytes)
        abort();
    return length;
}

LIBC(size_t, __ctype_get_mb_cur_max, (void)) { return MB_CUR_MAX; }

static unsigned char classes[257];
const unsigned char *shim__ctype_ = classes;
DATA(_ctype_);

/* ---- numbers that differ ---- */

LIBC(long, sysconf, (int name))
{
    switch (name) {
    case 0x06: return sysconf(_SC_CLK_TCK);
    case 0x27:
    case 0x28: return sysconf(_SC_PAGESIZE);
    case 0x60: return sysconf(_SC_NPROCESSORS_CONF);
    case 0x61: return sysconf(_SC_NPROCESSORS_ONLN);
    case 0x62: return sysconf(_SC_PHYS_PAGES);
    case 0x63: return sysconf(_SC_AVPHYS_PAGES);
    }
    fprintf(stderr, "shim: sysconf(0x%x) is not known; add it to tests/android/shim.c\n", (unsigned)name);
    _exit(125);
}

/* ---- structures that differ ---- */

/* Flags come first, and a set of signals has 8 bytes, not 128. */
struct bionic_sigaction {
    int      flags;
    void    *handler;
    uint64_t mask;
    void   (*restorer)(void);
};

LIBC(int, sigaction, (int number, const struct bionic_sigaction *set, struct bionic_sigaction *old))
{
    struct sigaction ours, before;
    memset(&ours, 0, sizeof(ours));
    if (set != NULL) {
        ours.sa_flags = set->flags;
        ours.sa_handler = (void (*)(int))set->handler;
        memcpy(&ours.sa_mask, &set->mask, sizeof(set->mask));
    }
    if (sigaction(number, set != NULL ? &ours : NULL, &before) != 0)
        return -1;
    if (old != NULL) {
        memset(old, 0, sizeof(*old));
        old->flags = before.sa_flags;
        old->handler = (void *)before.sa_handler;
        memcpy(&old->mask, &before.sa_mask, sizeof(old->mask));
    }
    return 0;
}

LIBC(int, sigemptyset, (uint64_t *set))
{
    *set = 0;
    return 0;
}

LIBC(int, sigaddset, (uint64_t *set, int number))
{
    *set |= (uint64_t)1 << (number - 1);
    return 0;
}

/* A mutex has 40 bytes, not 48; glibc writes all of its own and uses the first 40. */
LIBC(int, pthread_mutex_init, (void *mutex, const pthread_mutexattr_t *attributes))
{
    pthread_mutex_t ours;
    const int result = pthread_mutex_init(&ours, attributes);
    memcpy(mutex, &ours, 40);
    return result;
}

/* ---- what only Android has ---- */

LIBC(int, __system_property_get, (const char *name, char *value))
{
    (void)name;
    *value = 0;
    return 0;
}

LIBC(int, __android_log_write, (int priority, const char *tag, const char *text))
{
    return fprintf(stderr, "logcat: %d %s: %s\n", priority, tag, text);
}

LIBC(int, __android_log_vprint, (int priority, const char *tag, const char *format, va_list args))
{
    fprintf(stderr, "logcat: %d %s: ", priority, tag);
    vfprintf(stderr, format, args);
    return fputc('\n', stderr);
}

LIBC(int, __android_log_print, (int priority, const char *tag, const char *format, ...))
{
    va_list args;
    int result;
    va_start(args, format);
    result = shim___android_log_vprint(priority, tag, format, args);
    va_end(args);
    return result;
}

/* ---- before main ---- */

__attribute__((constructor)) static void prepare(void)
{
    void *c = dlopen("libc.so.6", RTLD_NOW), *m = dlopen("libm.so.6", RTLD_NOW);
    for (size_t i = 0; i < COUNT; ++i)
        if ((shim_targets[i] = dlsym(c, names[i])) == NULL)
            shim_targets[i] = dlsym(m, names[i]);
    shim_stdin = stdin;
    shim_stdout = stdout;
    shim_stderr = stderr;
    for (int c8 = 0; c8 < 256; ++c8)
        classes[c8 + 1] = (unsigned char)((isupper(c8) ? 0x01 : 0) | (islower(c8) ? 0x02 : 0) | (isdigit(c8) ? 0x04 : 0) |
                                          (isspace(c8) ? 0x08 : 0) | (ispunct(c8) ? 0x10 : 0) | (iscntrl(c8) ? 0x20 : 0) |
                                          (isxdigit(c8) && !isdigit(c8) ? 0x40 : 0) | (c8 == ' ' ? 0x80 : 0));
}
