/* text.h - what all of cli stands on: text, memory, the terminal, messages, files and signals

   Messages go to standard error, one line each; the hint, if there is one, is the last line.
   Standard output belongs to the program alone: see cli_take_stdout().

   Needs:   nothing but headers

   UNITS    text.c: >>text                          terminal.c: >>terminal >>lines >>busy
            message.c: >>message                    files.c: >>stdout >>read >>write
            signals.c: >>signals */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L        /* so this is the first header of each unit          */
#endif
#define _DARWIN_C_SOURCE               /* macOS hides flock() and O_NOFOLLOW otherwise      */
#include "qnnrt.h"

#include <signal.h>

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

/* ---- text.c: memory that cannot fail, formatted text, names that are safe to show ---- */

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_WARNED = 3 };

#define CLI_FORMAT(text, values) __attribute__((format(printf, text, values)))

/* Before a declaration: memory of malloc() that a pointer, or a struct that begins with one, has at
   the end of its block, is freed there. */
#define OWNED __attribute__((cleanup(cli_free_owned)))

void cli_free_owned(void *pointer);

/* Return zeroed memory for count items; end the program when there is none. */
void *cli_alloc(size_t count, size_t size);

/* Return a list with room for one more item: the list itself, or a longer copy of it. */
void *cli_grow(void *items, size_t count, size_t *room, size_t size);

/* Format a text. The caller frees it. */
char *cli_text_list(const char *format, va_list list);

CLI_FORMAT(1, 2) char *cli_text(const char *format, ...);

/* Return "s" for a plural. */
const char *cli_plural(uint64_t count);

/* Return "1,234,567". The caller frees it. */
char *cli_grouped(uint64_t value);

/* Return "1,856 bytes" or "26.8 MiB". The caller frees it. */
char *cli_bytes_text(uint64_t bytes);

/* Return a text in a form that is safe on a terminal: valid UTF-8, and \xNN for all other bytes.
   lines: which line feeds stay: 0: none; 1: those before two blanks, as errors of qnnrt have them;
   2: all. The caller frees it. */
char *cli_shown_text(const char *name, int lines);

/* Return a name in that form. The caller frees it. */
char *cli_shown(const char *name);

/* ---- terminal.c: what a terminal can show, and lines that fit it ---- */

enum { CLI_HELP_WIDTH = 80, CLI_HELP_MOST = 100, CLI_TABLE_WIDTH = 100, CLI_LEAST_WIDTH = 20 };

int cli_is_terminal(FILE *out);

/* Return the width of a terminal: COLUMNS in the environment, else what the terminal says, at least
   20; `otherwise` for all other files. */
int cli_columns(FILE *out, int otherwise);

typedef enum cli_tone { CLI_PLAIN = 0, CLI_BOLD, CLI_RED, CLI_YELLOW, CLI_GREEN } cli_tone;

/* Return what begins a tone, "" where there are no colours. CLI_PLAIN ends it. */
const char *cli_tone_text(FILE *out, cli_tone tone);

/* Return the columns of `bytes` of a text in UTF-8. */
int cli_width_of(const char *s, size_t bytes);

void cli_fold(FILE *out, const char *line, size_t bytes, int columns, const char *end);

/* Print lines with one write; the last one gets its end if it has none. */
void cli_print(FILE *out, const char *text);

/* Print lines; the last one may be continued by the next call. */
void cli_put(FILE *out, const char *text);

/* Print the beginning of a line as it is, before something else is printed. */
void cli_put_end(FILE *out);

uint64_t cli_now_ns(void);

/* Remove the line. */
void cli_busy_end(void);

/* Work begins: cli_busy() shows nothing for a second from now. */
void cli_busy_begin(void);

/* Say what the program does, in a few words, if standard error is a terminal: ten times a second at
   most. at_once: what follows may take long and says nothing. Names in it may be hostile. */
CLI_FORMAT(2, 3) void cli_busy(int at_once, const char *format, ...);

/* ---- message.c: one line that says what failed, and the hint ---- */

#define CLI_WRITE_HINT "Choose a folder that exists, has room, and is writable."

/* Print a message, and its hint unless that hint was printed last. Names in them may be hostile. */
void cli_message(const char *message, const char *hint);

/* Return the text of an error, and what is known about it: valid until the next call. */
const char *cli_told(const qnnrt_error *err);

/* Return the hint of an error: valid until the next call. */
const char *cli_hint(const qnnrt_error *err);

/* Return the hint for a library that cannot be opened: qnnrt's own hint if the file exists, because
   qnnrt has looked into it; otherwise one that names the option. */
const char *cli_library_hint(const qnnrt_error *err, const char *path, const char *hint);

/* Report wrong usage; a hint of NULL refers to --help. Return STATUS_USAGE. */
CLI_FORMAT(2, 3) int cli_usage(const char *hint, const char *format, ...);

/* Print a log line of the library. user points to the level that is wanted: qnnrt's own lines come
   at every level, so they are filtered here. */
void cli_log(void *user, qnnrt_log_level level, const char *room,
             uint64_t vendor_code, const char *line);

/* ---- files.c: standard output, and files that are read and written with care ---- */

/* Take descriptor 1 for this program, and make it standard error for all libraries. End the program
   when that fails. */
FILE *cli_take_stdout(void);

/* Close what cli_take_stdout() returned. Return 0 after printing an error. */
int cli_close_stdout(FILE *out);

/* Open a file without waiting: a pipe without a writer is an empty file. Return -1 on failure, with
   errno set. */
int cli_open(const char *path);

/* Read up to `most` bytes. Return -1 on failure, with errno set. */
int cli_read(int fd, char *to, size_t most, size_t *bytes);

/* Read a whole file, or standard input for "-", of at most `most` bytes. The caller frees it; a 0
   follows the last byte. Return NULL on failure, with errno set: EFBIG for a longer file. */
char *cli_read_file(const char *path, size_t most, size_t *bytes);

typedef struct cli_file {
    FILE *file;                        /* the open file                           */
    char *path;
    char *aside;                       /* its path until cli_finish(), or NULL    */
    int   lock;                        /* the same file, open: aside is in use    */
} cli_file;

int cli_is_folder(const char *path);

/* True if both paths lead to one file or folder. */
int cli_is_same(const char *a, const char *b);

/* True if the path exists and is not a plain file: a pipe, /dev/null or a link keeps its kind. */
int cli_is_special(const char *path);

/* Create a file. replace: 1 when the path was made from a name in a model, so that a link or a pipe
   there is replaced; 0 writes into it. Return 0 on failure, with errno set. */
int cli_create(cli_file *f, const char *path, int replace);

/* Close a file and give it its name, or remove it when `good` is 0. Return 0 on failure, with errno
   set and no file left. */
int cli_finish(cli_file *f, int good);

/* Write a whole file. Return 0 on failure, with errno set. */
int cli_write_file(const char *path, const void *data, size_t bytes, int replace);

/* Make a folder and those above it. Return 0 on failure, with errno set. */
int cli_make_folders(const char *path);

/* Return the first folder of a path that does not exist, which cli_make_folders() would make; NULL
   if all exist. The caller frees it. */
char *cli_missing_folder(const char *path);

/* Remove the folders of a path from the last one up to `first`, as far as they are empty. */
void cli_remove_folders(const char *path, const char *first);

/* ---- signals.c: files that a signal removes, and what a crash interrupted ---- */

enum { CLI_ASIDES = 8 };

extern char *volatile cli_asides[CLI_ASIDES];
extern volatile sig_atomic_t cli_signal;

void cli_remove_asides(void);

/* Remove the incomplete files, and end the program as this signal does. */
void cli_end(int number);

/* Handle a signal: now, or at cli_release(). */
void cli_on_signal(int number);

/* What the program does now, for the words of a crash. */
typedef struct cli_stage {
    const char *doing;
    int         library;               /* 1: in a library, 2: in one or in qnnrt, 0: in qnnrt  */
} cli_stage;

void cli_begin(const cli_stage *stage);

/* Pass on what a call returned. */
qnnrt_result cli_after(qnnrt_result result);

/* Return what the program does now. */
const cli_stage *cli_stage_now(void);

/* The calls that a crash names, wherever they are. */
extern const cli_stage cli_stage_backend, cli_stage_build, cli_stage_exec, cli_stage_end,
        cli_stage_model, cli_stage_split, cli_stage_llm, cli_stage_read, cli_stage_lower;

/* Handle a crash. The parent of a child says it, too, and knows more. */
void cli_on_crash(int number);

void cli_catch(int number, void (*handler)(int));

/* Catch the signals that end a program, except those that its caller set to be ignored, as nohup
   does, and crashes. A file beyond the limit of its size is an error of writing, like a full
   disk. */
void cli_catch_signals(void);

/* Delay signals until cli_release(): between the two calls a file may exist under a name that the
   handler does not know. */
void cli_hold(void);

void cli_release(void);

#endif /* CLI_TEXT_H */
