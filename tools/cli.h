/* cli.h - what the command-line programs of qnnrt share: messages, files, options and help

       #include "qnnrt.h"                with its implementation, and:
       #include "qnnrt_cache.h"
       #include "qnnrt_explain.h"
       #include "cli.h"

   A program describes its options in a table of cli_option and its verbs, if it has any, in a table
   of cli_verb. cli_parse() reads the command line into the program's settings by these tables; the
   same tables print the help and find the nearest known word for an unknown one.

   Messages go to standard error, one line each; the hint, if there is one, is the last line.
   Standard output belongs to the program alone: see cli_take_stdout().

   ROOMS    >>text >>message        cli_files.h: >>stdout >>signals >>read >>write
            cli_terminal.h: >>terminal >>lines >>busy        cli_options.h: >>words >>tables
            cli_help.h: >>help >>manual                      cli_complete.h: >>completion
            cli_parse.h: >>parse                             cli_device.h: >>device
            cli_libs.h: >>choose                             cli_chips.h: >>chips              */
#ifndef CLI_H
#define CLI_H

#ifndef _POSIX_C_SOURCE
#error "cli.h uses POSIX: define _POSIX_C_SOURCE as 200809L before the first #include"
#endif

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name of the program in its messages; each program defines it. */
extern const char cli_name[];

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_WARNED = 3 };

#if defined(__GNUC__)
#define CLI_FORMAT(text, values) __attribute__((format(printf, text, values)))
#else
#define CLI_FORMAT(text, values)
#endif

/* =====================================================================================
   TEXT                                                                           >>text
   Memory that cannot fail, formatted text, names that are safe to show on a terminal.
   ===================================================================================== */

/* Return zeroed memory for count items; end the program when there is none. */
static inline void *cli_alloc(size_t count, size_t size)
{
    void *data = calloc(count != 0 ? count : 1, size);
    if (data == NULL) {
        fprintf(stderr, "%s: out of memory\n", cli_name);
        exit(STATUS_FAILED);
    }
    return data;
}

/* Return a list with room for one more item: the list itself, or a longer copy of it. */
static inline void *cli_grow(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room) return items;
    *room = *room != 0 ? 2 * *room : 16;
    void *longer = cli_alloc(*room, size);
    if (count != 0) memcpy(longer, items, count * size);
    free(items);
    return longer;
}

/* Format a text. The caller frees it. */
static inline char *cli_text_list(const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    const size_t bytes = length > 0 ? (size_t)length + 1 : 1;
    char *text = (char *)cli_alloc(bytes, 1);
    vsnprintf(text, bytes, format, list);
    return text;
}

CLI_FORMAT(1, 2) static inline char *cli_text(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = cli_text_list(format, list);
    va_end(list);
    return text;
}

/* Return "s" for a plural. */
static inline const char *cli_plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* Return "1,234,567". The caller frees it. */
static inline char *cli_grouped(uint64_t value)
{
    char digits[24], out[32];
    size_t used = 0;
    const int count = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
    for (int i = 0; i < count; ++i) {
        if (i > 0 && (count - i) % 3 == 0) out[used++] = ',';
        out[used++] = digits[i];
    }
    return cli_text("%.*s", (int)used, out);
}

/* Return "1,856 bytes" or "26.8 MiB". The caller frees it. */
static inline char *cli_bytes_text(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 10000) {
        char *number = cli_grouped(bytes);
        char *made = cli_text("%s byte%s", number, cli_plural(bytes));
        free(number);
        return made;
    }
    for (; value >= 1023.95 && unit < 5; ++unit) value /= 1024;
    return cli_text("%.1f %s", value, units[unit]);
}

/* Return a text in a form that is safe on a terminal: valid UTF-8, and \xNN for all other bytes.
   lines: which line feeds stay: 0: none; 1: those before two blanks, as errors of qnnrt have them;
   2: all. The caller frees it. */
static inline char *cli_shown_text(const char *name, int lines)
{
    char *made = (char *)cli_alloc(4 * strlen(name) + 1, 1);
    char *to = made;
    while (*name != '\0') {
        int plain = 0;
        size_t length = qnnrt_utf8_length(name, &plain);
        if (length == 0) length = 1;
        if (*name == '\n') plain = lines == 2 || (lines == 1 && name[1] == ' ' && name[2] == ' ');
        for (size_t i = 0; i < length; ++i, ++name) {
            if (plain) *to++ = *name;
            else to += sprintf(to, "\\x%02X", (unsigned)(unsigned char)*name);
        }
    }
    return made;
}

/* Return a name in that form. The caller frees it. */
static inline char *cli_shown(const char *name)
{
    return cli_shown_text(name, 0);
}

#include "cli_terminal.h"

/* =====================================================================================
   MESSAGE                                                                     >>message
   One line that says what failed, and the hint as the last line.
   ===================================================================================== */

#define CLI_WRITE_HINT "Choose a folder that exists, has room, and is writable."

static char cli_last_hint[512];        /* the last hint, which is not printed twice in a row */

/* Print a message, and its hint unless that hint was printed last. Names in them may be hostile. */
static inline void cli_message(const char *message, const char *hint)
{
    char *text = cli_shown_text(message, 1), *what = cli_shown(hint != NULL ? hint : "");
    const int hinted = hint != NULL && hint[0] != '\0' && strcmp(hint, cli_last_hint) != 0;
    snprintf(cli_last_hint, sizeof(cli_last_hint), "%s", hint != NULL ? hint : "");
    const char *bold = cli_tone_text(stderr, CLI_BOLD), *plain = cli_tone_text(stderr, CLI_PLAIN);
    char *both = cli_text("%s%s:%s %s\n%s%s%s%s%s", bold, cli_name, plain, text,
                          hinted ? bold : "", hinted ? "hint:" : "", hinted ? plain : "",
                          hinted ? " " : "", hinted ? what : "");
    /* Print both in one call, so that lines of the vendor's threads do not come between them. */
    cli_busy_end();
    cli_print(stderr, both);
    free(both);
    free(text);
    free(what);
}

/* Return the text of an error, and what is known about it: valid until the next call. */
static inline const char *cli_told(const qnnrt_error *err)
{
    static qnnrt_error known;
    static char text[sizeof(known.text) + 256];
    known = *err;
    qnnrt_explain_error(&known);
    snprintf(text, sizeof(text), "%s%s%s", known.text,
             known.cause != NULL ? "\n  likely cause: " : "",
             known.cause != NULL ? known.cause : "");
    return text;
}

/* Return the hint of an error: valid until the next call. */
static inline const char *cli_hint(const qnnrt_error *err)
{
    static qnnrt_error known;
    known = *err;
    qnnrt_explain_error(&known);
    return known.hint;
}

/* Return the hint for a library that cannot be opened: qnnrt's own hint if the file exists, because
   qnnrt has looked into it; otherwise one that names the option. */
static inline const char *cli_library_hint(const qnnrt_error *err, const char *path,
                                           const char *hint)
{
    const int looked = path != NULL && strchr(path, '/') != NULL && access(path, F_OK) == 0;
    return looked && err->hint[0] != '\0' ? err->hint : hint;
}

/* Report wrong usage; a hint of NULL refers to --help. Return STATUS_USAGE. */
CLI_FORMAT(2, 3) static inline int cli_usage(const char *hint, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *message = cli_text_list(format, list);
    va_end(list);
    char *help = hint == NULL ? cli_text("Run %s --help.", cli_name) : NULL;
    cli_message(message, hint != NULL ? hint : help);
    free(help);
    free(message);
    return STATUS_USAGE;
}

/* Print a log line of the library. user points to the level that is wanted: qnnrt's own lines come
   at every level, so they are filtered here. */
static inline void cli_log(void *user, qnnrt_log_level level, const char *room,
                           uint64_t vendor_code, const char *line)
{
    static const char *const names[] = {"default", "error", "warn", "info", "verbose", "debug"};
    char code[32] = "";
    if (level > *(const qnnrt_log_level *)user) return;
    if (vendor_code != 0)
        snprintf(code, sizeof(code), " (0x%llx)", (unsigned long long)vendor_code);
    fprintf(stderr, "%s: log %s %s: %s%s\n", cli_name,
            level >= 0 && level <= QNNRT_LOG_DEBUG ? names[level] : "?", room != NULL ? room : "",
            line != NULL ? line : "", code);
}

#include "cli_files.h"
#include "cli_options.h"
#include "cli_help.h"
#include "cli_complete.h"

#include "cli_chips.h"
#include "cli_parse.h"
#include "cli_device.h"
#include "cli_libs.h"
#endif /* CLI_H */
