/* qnnrt-run - show what is in QNN context binaries, how they are wired and planned, run them, make them

       cc -std=c99 -O2 -I. -o qnnrt-run tools/qnnrt-run.c -ldl
       qnnrt-run inspect DIR --svg pipeline.svg
       qnnrt-run plan DIR --svg memory.svg
       qnnrt-run --ctx_dir DIR --backend_so libQnnHtp.so --input x=x.raw --output_dir OUT

   Everything goes through the public halves of qnnrt.h and qnnrt_json.h. `qnnrt-run --help` lists the options.

   Standard output belongs to this program alone: vendor libraries print to descriptor 1 when they are
   loaded, when they finalize and on errors, so for them descriptor 1 is standard error. The own output
   leaves through a private copy of the descriptor.

   Names in context binaries may be hostile: shown() turns control characters into \xNN, JSON is
   escaped, and a name becomes a file name only after safe_name().

   ROOMS    >>text >>page >>json >>options >>main
            run_profile.h: >>power >>profile      run_open.h: >>open >>select
            run_plan.h: >>plan                    run_run.h: >>inputs >>outputs >>run
            run_inspect.h: >>facts >>inspect      run_report.h: >>report
            run_dump.h: >>dump                    run_diff.h: >>diff
            run_svg.h: >>svg >>groups             run_flow.h: >>flow >>dot
            run_arena.h: >>arena                  run_explain.h: >>explain
            run_compile.h: >>compile                                                               */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#define QNNRT_COMPOSE
#define QNNRT_PROFILE_LOG
#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

typedef enum command { COMMAND_RUN = 0, COMMAND_INSPECT, COMMAND_PLAN } command;

typedef enum number_form { FORM_NATIVE = 0, FORM_FLOAT, FORM_BOTH } number_form;

/* ------------------------------------------------------------------------------ what there is -- */

typedef struct input_option {          /* --input [GRAPH:]NAME=FILE */
    const char *text;                  /* as given                  */
    char       *name;                  /* what stands before the last '=', GRAPH: included */
    const char *file;
} input_option;

typedef struct settings {
    command         command;
    const char     *ctx_dir, *backend, *system, *plan_out, *output_dir, *json_file, *dot, *svg;
    const char    **contexts;          /* [context_count] */
    const char    **graphs;            /* [graph_count]   */
    input_option   *inputs;            /* [input_count]   */
    size_t          context_count, graph_count, input_count;
    qnnrt_log_level log_level;         /* 0: no log       */
    qnnrt_metadata  metadata;
    uint32_t        align, soc_model, inferences;
    int             inspect, diff, unified;
    number_form     input_form, output_form;
    int             keep_going, read, guard, json;
    qnnrt_profile_level profile;
    qnnrt_power_preset  power;         /* QNNRT_POWER_CUSTOM: none */
    const char     *profile_out;
} settings;

typedef struct output_file {
    uint32_t    inference;
    qnnrt_slot  slot;
    number_form form;
    uint64_t    bytes;
    char       *path;
} output_file;

typedef struct job {                   /* one pipeline that was asked for */
    const qnnrt_pipeline      *pipeline;
    const qnnrt_pipeline_info *info;
    const char                *asked;          /* the text of --graph, or NULL                     */
    char                      *title;          /* for messages: the name, and what was asked for   */
    qnnrt_plan                *plan;           /* NULL: cannot run, .error says why                */
    const qnnrt_plan_info     *plan_info;
    const qnnrt_plan_block   **blocks;         /* [slot_count], NULL: not planned                  */
    const char               **input_files;    /* [slot_count], NULL: not given                    */
    int                       *input_floats;   /* [slot_count], 1: the file was float32            */
    char                      *folder;         /* file name made of the pipeline's name            */
    char                     **files;          /* [slot_count] <tensor>.raw of each output         */
    char                     **native_files;   /* [slot_count] <tensor>_native.raw, with "both"    */
    output_file               *written;
    size_t                     written_count, written_room;
    uint64_t                   prepare_ns;
    uint64_t                  *exec_ns;        /* [exec_count] of the inferences that succeeded    */
    size_t                     exec_count, exec_failed;
    qnnrt_profile_event       *events;         /* [event_count] of the last inference              */
    size_t                     event_count;
    char                      *error;          /* the first one, or NULL                           */
} job;

/* Text that grows. */
typedef struct page {
    char  *data;
    size_t used, room;
} page;

typedef qnnrt_json_writer json;

typedef struct tool {
    settings       set;
    FILE          *out;                /* the own standard output            */
    int            failed, different;
    char          *error;              /* the first one, or NULL             */
    qnnrt_backend *backend;
    qnnrt         *model, *other;      /* other: the second one of --diff    */
    job           *jobs;
    size_t         job_count;
    qnnrt_power_report power;
    page           trace;              /* for --profile_out, written by trace_writer */
    json           trace_writer;
    uint64_t       trace_begin_ns;
} tool;

/* =====================================================================================
   TEXT                                                                           >>text
   Memory that cannot fail, formatted text, messages, names made fit to be shown.
   ===================================================================================== */

static void *room_for(size_t count, size_t size)
{
    void *data = calloc(count != 0 ? count : 1, size);
    if (data == NULL) {
        fputs("qnnrt-run: out of memory\n", stderr);
        exit(STATUS_FAILED);
    }
    return data;
}

/* A list with room for one item more: itself, or a longer copy, and then it is freed. */
static void *room_for_more(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room) return items;
    *room = *room != 0 ? 2 * *room : 16;
    void *longer = room_for(*room, size);
    if (count != 0) memcpy(longer, items, count * size);
    free(items);
    return longer;
}

static char *text_of(const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    const size_t bytes = length > 0 ? (size_t)length + 1 : 1;
    char *text = room_for(bytes, 1);
    vsnprintf(text, bytes, format, list);
    return text;
}

static char *text(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *made = text_of(format, list);
    va_end(list);
    return made;
}

/* Length of the valid UTF-8 sequence at s, or 0: overlong forms, surrogates and stray bytes are not. */
static size_t utf8_length(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] < 0x80) return 1;
    size_t length = 0;
    unsigned low = 0x80, high = 0xBF;            /* what the second byte may be */
    if (p[0] >= 0xC2 && p[0] <= 0xDF) length = 2;
    else if (p[0] >= 0xE0 && p[0] <= 0xEF) length = 3;
    else if (p[0] >= 0xF0 && p[0] <= 0xF4) length = 4;
    else return 0;
    if (p[0] == 0xE0) low = 0xA0;
    if (p[0] == 0xED) high = 0x9F;
    if (p[0] == 0xF0) low = 0x90;
    if (p[0] == 0xF4) high = 0x8F;
    if (p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i < length; ++i)
        if ((p[i] & 0xC0) != 0x80) return 0;
    return length;
}

/* Control characters, C1 ones (U+0080 to U+009F) included. */
static int is_control(const char *s, size_t length)
{
    const unsigned char *p = (const unsigned char *)s;
    return (length == 1 && (p[0] < 0x20 || p[0] == 0x7F)) || (length == 2 && p[0] == 0xC2 && p[1] < 0xA0);
}

/* Characters that turn or break lines in viewers, or that nobody sees: U+061C, U+200B to 200F, 2028 to 202E,
   2060 to 206F, FEFF; and FFFE, FFFF, which are no characters. */
static int is_unseen(const char *s, size_t length)
{
    const unsigned char *p = (const unsigned char *)s;
    if (length == 2) return p[0] == 0xD8 && p[1] == 0x9C;
    if (length != 3) return 0;
    if (p[0] == 0xEF) return (p[1] == 0xBB && p[2] == 0xBF) || (p[1] == 0xBF && p[2] >= 0xBE);
    if (p[0] != 0xE2) return 0;
    if (p[1] == 0x80) return (p[2] >= 0x8B && p[2] <= 0x8F) || (p[2] >= 0xA8 && p[2] <= 0xAE);
    return p[1] == 0x81 && p[2] >= 0xA0 && p[2] <= 0xAF;
}

/* A name as it may be shown on a terminal: valid UTF-8, everything else as \xNN. To be freed. */
static char *shown(const char *name)
{
    char *made = room_for(4 * strlen(name) + 1, 1);
    char *to = made;
    while (*name != '\0') {
        size_t length = utf8_length(name);
        const int as_is = length != 0 && !is_control(name, length) && !is_unseen(name, length);
        if (length == 0) length = 1;
        for (size_t i = 0; i < length; ++i, ++name) {
            if (as_is) *to++ = *name;
            else to += sprintf(to, "\\x%02X", (unsigned)(unsigned char)*name);
        }
    }
    return made;
}

/* Report a failure on standard error, and keep the first one of the job and of the tool for --json. */
static void fail(tool *t, job *j, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *message = text_of(format, list);
    va_end(list);
    fflush(t->out);
    fprintf(stderr, "qnnrt-run: %s\n", message);
    t->failed = 1;
    if (t->error == NULL) t->error = text("%s", message);
    if (j != NULL && j->error == NULL) j->error = message;
    else free(message);
}

/* The hint of an error as a last line, for "%s%s" behind its text. */
#define HINT(err) ((err).hint[0] != '\0' ? "\n  hint: " : ""), (err).hint

static int is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* Documents that were asked for on standard output. */
static int documents_on_stdout(const settings *set)
{
    return (set->json != 0) + is_stdout(set->plan_out) + is_stdout(set->json_file) + is_stdout(set->dot) +
           is_stdout(set->svg) + is_stdout(set->profile_out);
}

/* A line for people; with a document on standard output there are none. */
static void say(const tool *t, const char *format, ...)
{
    if (documents_on_stdout(&t->set) > 0) return;
    va_list list;
    va_start(list, format);
    vfprintf(t->out, format, list);
    va_end(list);
}

static uint64_t now_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static const char *role_name(qnnrt_role role)
{
    switch (role) {
    case QNNRT_ROLE_INPUT:  return "input";
    case QNNRT_ROLE_OUTPUT: return "output";
    case QNNRT_ROLE_EDGE:   return "edge";
    case QNNRT_ROLE_ANY:    break;
    }
    return "any";
}

/* Make a file name of a name from a context binary: [A-Za-z0-9._-] only, not empty, no leading dot, and
   none of used[count], whatever the case (storage cards ignore it). To be freed. */
static char *safe_name(const char *name, const char *suffix, char *const *used, size_t count)
{
    enum { LONGEST = 180 };                      /* leaves room for suffixes below the usual 255 */
    char base[LONGEST + 1];
    size_t length = 0;
    for (; name[length] != '\0' && length < LONGEST; ++length) {
        const char c = name[length];
        const int plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                          c == '_' || c == '-' || (c == '.' && length > 0);
        base[length] = plain ? c : '_';
    }
    if (length == 0) base[length++] = '_';
    base[length] = '\0';

    for (unsigned number = 0;; ++number) {
        char *made = number == 0 ? text("%s%s", base, suffix) : text("%s_%u%s", base, number, suffix);
        size_t i = 0;
        while (i < count && (used[i] == NULL || strcasecmp(used[i], made) != 0)) ++i;
        if (i == count) return made;
        free(made);
    }
}

/* =====================================================================================
   PAGE                                                                           >>page
   Text that grows, and files: what is not a pipe is written aside and renamed.
   ===================================================================================== */

static void page_bytes(page *p, const char *data, size_t bytes)
{
    if (bytes >= p->room - p->used) {
        const size_t room = 2 * (p->room + bytes) + 256;
        char *longer = room_for(room, 1);
        if (p->used != 0) memcpy(longer, p->data, p->used);
        free(p->data);
        p->data = longer;
        p->room = room;
    }
    memcpy(p->data + p->used, data, bytes);
    p->used += bytes;
    p->data[p->used] = '\0';
}

static void page_text(page *p, const char *s)
{
    page_bytes(p, s, strlen(s));
}

static void page_add(page *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *made = text_of(format, list);
    va_end(list);
    page_text(p, made);
    free(made);
}

static int is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* What is there and is no plain file (a pipe, /dev/null, a link) is written to as it is. */
static int is_special(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* Write a whole file. replace: what stands there in the way, a link or a pipe too, since its name is not
   the caller's but was made from one in a file. j may be NULL. 0 after a message. */
static int write_file(tool *t, job *j, const char *path, const void *data, size_t bytes, int replace)
{
    const int direct = !replace && is_special(path);
    char *aside = direct ? text("%s", path) : text("%s.%ld.tmp", path, (long)getpid());
    char *name = shown(path);
    const int fd = open(aside, O_WRONLY | O_CREAT | O_CLOEXEC | (direct ? O_TRUNC : O_EXCL), 0666);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    int good = 0;
    if (file == NULL) {
        fail(t, j, "cannot create %s: %s", name, strerror(errno));
        if (fd >= 0) close(fd);
    } else {
        errno = 0;
        good = fwrite(data, 1, bytes, file) == bytes;
        good = fclose(file) == 0 && good;        /* a full disk may show only now */
        good = good && (direct || rename(aside, path) == 0);
        if (!good) fail(t, j, "cannot write %s: %s", name, strerror(errno));
    }
    if (!good && !direct && fd >= 0) unlink(aside);
    free(aside);
    free(name);
    return good;
}

/* A page into a file, or to standard output for "-". */
static int write_page(tool *t, const char *path, const page *p, int replace)
{
    if (strcmp(path, "-") != 0) return write_file(t, NULL, path, p->data, p->used, replace);
    fwrite(p->data, 1, p->used, t->out);         /* main() looks at its errors */
    return 1;
}

/* The same, with a line that says so. */
static void write_named(tool *t, const char *path, const page *p, int replace)
{
    if (!write_page(t, path, p, replace) || is_stdout(path)) return;
    char *name = shown(path);
    say(t, "wrote     %s\n", name);
    free(name);
}

/* =====================================================================================
   JSON                                                                           >>json
   Members of a document in one call each. NULL for a key: an element of a list.
   ===================================================================================== */

static int json_to_page(void *user, const char *data, size_t bytes)
{
    page_bytes(user, data, bytes);
    return 1;
}

static void json_key(json *j, const char *key)
{
    if (key != NULL) qnnrt_json_write_key(j, key);
}

/* flat: it and what is in it stand on one line. */
static void json_open(json *j, const char *key, char bracket, int flat)
{
    json_key(j, key);
    if (bracket == '{') qnnrt_json_write_object(j, flat);
    else qnnrt_json_write_array(j, flat);
}

static void json_close(json *j)
{
    qnnrt_json_write_close(j);
}

static void json_string(json *j, const char *key, const char *value)
{
    json_key(j, key);
    qnnrt_json_write_string(j, value);
}

static void json_count(json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    qnnrt_json_write_u64(j, value);
}

static void json_int(json *j, const char *key, int32_t value)
{
    json_key(j, key);
    qnnrt_json_write_i64(j, value);
}

static void json_float(json *j, const char *key, float value)
{
    json_key(j, key);
    if (isfinite(value)) qnnrt_json_write_f32(j, value);
    else qnnrt_json_write_null(j);
}

static void json_bool(json *j, const char *key, int value)
{
    json_key(j, key);
    qnnrt_json_write_bool(j, value);
}

static char *version_text(qnnrt_version_info version)
{
    return text("%lu.%lu.%lu", (unsigned long)version.major, (unsigned long)version.minor,
                (unsigned long)version.patch);
}

static void json_version(json *j, const char *key, qnnrt_version_info version)
{
    char *value = version_text(version);
    json_string(j, key, value);
    free(value);
}

/* =====================================================================================
   OPTIONS                                                                     >>options
   One table for parsing and for --help.
   ===================================================================================== */

typedef enum option_id {
    OPTION_CTX_DIR, OPTION_RETRIEVE_CONTEXT, OPTION_BACKEND, OPTION_SYSTEM, OPTION_LOG_LEVEL, OPTION_ALIGN,
    OPTION_BIND_PLAN_OUT, OPTION_GRAPH, OPTION_INPUT, OPTION_INPUT_DATA_TYPE, OPTION_OUTPUT_DIR,
    OPTION_OUTPUT_DATA_TYPE, OPTION_NUM_INFERENCES, OPTION_INSPECT, OPTION_KEEP_GOING, OPTION_READ, OPTION_GUARD,
    OPTION_SOC_MODEL, OPTION_JSON, OPTION_METADATA, OPTION_JSON_FILE, OPTION_UNIFIED, OPTION_DIFF, OPTION_DOT,
    OPTION_SVG, OPTION_PROFILING_LEVEL, OPTION_PROFILE_OUT, OPTION_PERF_PROFILE, OPTION_VERSION, OPTION_HELP
} option_id;

typedef struct option {
    option_id   id;
    const char *name, *alias;          /* alias may be NULL             */
    const char *value;                 /* NULL: takes none              */
    int         repeatable;
    const char *help;                  /* lines                         */
} option;

/* The first word of the command line; without one of these it is the long way, to run. */
static const struct { const char *word; command command; } commands[] = {
    {"inspect", COMMAND_INSPECT},
    {"plan", COMMAND_PLAN}
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static const option options[] = {
    {OPTION_CTX_DIR, "ctx_dir", NULL, "DIR", 0, "folder of context binaries"},
    {OPTION_RETRIEVE_CONTEXT, "retrieve_context", NULL, "FILE", 1,
     "a context binary, instead of --ctx_dir; repeat it for shards, in order"},
    {OPTION_BACKEND, "backend_so", "backend", "FILE", 0,
     "backend library, that of the binaries: libQnnHtp.so, or libQnnRef.so for\nthose made with it (default: libQnnHtp.so beside this program, else\nby the "
     "system's search; what was loaded is printed)"},
    {OPTION_SYSTEM, "system_so", "system_library", "FILE", 0,
     "libQnnSystem.so (default: the one beside the backend library, else\nby the system's search; not needed with JSON for every binary, nor\nwith libQnnRef.so, which is both)"},
    {OPTION_SOC_MODEL, "soc_model", NULL, "N", 0,
     "chip that the HTP device is to be, such as 57 (default: the library's)"},
    {OPTION_GRAPH, "graph", NULL, "NAME", 1,
     "pipeline to run; also GRAPH or CONTEXT/GRAPH, such as 0/prefill\n(default: all pipelines; may be repeated)"},
    {OPTION_INPUT, "input", NULL, "[GRAPH:]NAME=FILE", 1,
     "content of an input; FILE is what follows the last '='. Without\nGRAPH: for every pipeline that has it. "
     "Inputs not given are zero"},
    {OPTION_INPUT_DATA_TYPE, "input_data_type", NULL, "native|float", 0,
     "what input files hold: the tensor's own type, or float32 values\n(default native; a quantized or half tensor "
     "then takes a float32\nfile too, if the size tells the two apart)"},
    {OPTION_NUM_INFERENCES, "num_inferences", NULL, "N", 0,
     "times to run each pipeline (default 1; 0: show and plan only)"},
    {OPTION_OUTPUT_DIR, "output_dir", NULL, "DIR", 0,
     "write outputs to DIR/GRAPH/TENSOR.raw, or with several inferences\nto DIR/Result_N/GRAPH/TENSOR.raw "
     "(default: written nowhere)"},
    {OPTION_OUTPUT_DATA_TYPE, "output_data_type", NULL, "native|float|both", 0,
     "what is written: the tensor's own type, float32 values, or\nTENSOR.raw in float32 and TENSOR_native.raw "
     "(default native)"},
    {OPTION_BIND_PLAN_OUT, "bind_plan_out", NULL, "FILE", 0,
     "write steps, slots, edges and memory plan as JSON; - for standard\noutput, which then holds nothing else"},
    {OPTION_JSON, "json", NULL, NULL, 0,
     "the result as JSON instead of tables: that of --bind_plan_out with\ntimes and files"},
    {OPTION_PROFILING_LEVEL, "profiling_level", NULL, "off|basic|detailed|optrace", 0,
     "print what the library measures while loading and in the last\ninference: totals, with detailed each node too; optrace (HTP)\n"
     "switches its trace on for --profile_out (default off)"},
    {OPTION_PROFILE_OUT, "profile_out", NULL, "FILE", 0,
     "write the profile of every inference: FILE.json for chrome://tracing\nand Perfetto, - for standard output, else the "
     "log that the SDK's\nqnn-profile-viewer reads"},
    {OPTION_PERF_PROFILE, "perf_profile", NULL, "NAME", 0,
     "power preset of the NPU: burst, sustained_high_performance,\nhigh_performance, balanced, low_balanced, high_power_saver,\n"
     "power_saver, low_power_saver (default: none is set)"},
    {OPTION_ALIGN, "align", NULL, "N", 0, "alignment of tensors in bytes, a power of two (default 64)"},
    {OPTION_GUARD, "guard", NULL, NULL, 0, "inaccessible pages behind every tensor"},
    {OPTION_READ, "read", NULL, NULL, 0, "read files into memory instead of mapping them"},
    {OPTION_INSPECT, "inspect", NULL, NULL, 0,
     "open no backend and run nothing: show the files, their wiring and\nplan; see also qnnrt-run inspect"},
    {OPTION_METADATA, "metadata", NULL, "all|system|json", 0,
     "where graphs and tensors are read from: libQnnSystem.so, the JSON\nbesides the binaries, or all there is, "
     "which must then agree (default)"},
    {OPTION_JSON_FILE, "json_file", NULL, "FILE", 0,
     "write the metadata as qnn-context-binary-utility does; - for standard\noutput; of several binaries FILE is a "
     "folder and gets one file for each"},
    {OPTION_UNIFIED, "unified", NULL, NULL, 0, "--json_file in the flat form of --unified_qairt_format"},
    {OPTION_DIFF, "diff", NULL, NULL, 0,
     "compare two models, each a folder or a file: one line per difference;\nexit status 0 equal, 1 different, "
     "2 could not be compared"},
    {OPTION_SVG, "svg", NULL, "FILE", 0,
     "draw the pipelines, or with plan the memory, as a picture for a\nbrowser; - for standard output"},
    {OPTION_DOT, "dot", NULL, "FILE", 0, "draw the pipelines for Graphviz; - for standard output"},
    {OPTION_KEEP_GOING, "keep_going", NULL, NULL, 0, "go on after a shard, a pipeline or an inference that failed"},
    {OPTION_LOG_LEVEL, "log_level", NULL, "LEVEL", 0,
     "print log lines up to this level to standard error (default: none):\n1 error, 2 warn, 3 info, 4 verbose, "
     "5 debug; by number or name"},
    {OPTION_VERSION, "version", NULL, NULL, 0, "print the version"},
    {OPTION_HELP, "help", NULL, NULL, 0, "print this"}
};

enum { OPTION_COUNT = sizeof(options) / sizeof(options[0]) };

static void print_help(FILE *out)
{
    fputs("Show what is in QNN context binaries, how they are wired and planned, run them and make them.\n\n"
          "  qnnrt-run inspect FILE|DIR ...     what is in there: contexts, graphs, tensors, wiring\n"
          "      qnnrt-run inspect model_dir --svg pipeline.svg\n"
          "      qnnrt-run inspect model_dir --json_file metadata/\n"
          "      qnnrt-run inspect --diff old_dir new_dir\n"
          "  qnnrt-run plan FILE|DIR ...        how much memory it takes, and what lies where\n"
          "      qnnrt-run plan model_dir --svg memory.svg\n"
          "  qnnrt-run (--ctx_dir DIR | --retrieve_context FILE ...) [options]        run it\n"
          "      qnnrt-run --ctx_dir model_dir --input x=x.raw --output_dir out\n"
          "  qnnrt-run compile A.dlc ...        make a context binary; options: qnnrt-run compile --help\n"
          "      qnnrt-run compile prompt.dlc token.dlc --graph_name prompt,token --output_dir out\n"
          "  qnnrt-run explain [CODE|TEXT ...]  what an error means: a code, a symbol, or a pasted line of a\n"
          "      qnnrt-run explain 0x1388       log, with causes and what to do; without any: the list of all\n\n"
          "inspect and plan need no backend. They take one folder, or context binaries, or the JSON that\n"
          "qnn-context-binary-utility makes of them (X_json.json belongs to X.bin); with JSON for every\n"
          "binary no library is needed.\n"
          "An option's value follows as the next word or after '='.\n\n", out);
    for (size_t i = 0; i < OPTION_COUNT; ++i) {
        const option *o = &options[i];
        fprintf(out, "  --%s%s%s", o->name, o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
        if (o->alias != NULL) fprintf(out, ", --%s %s", o->alias, o->value);
        fputs("\n        ", out);
        for (const char *c = o->help; *c != '\0'; ++c) {
            fputc(*c, out);
            if (*c == '\n') fputs("        ", out);
        }
        fputc('\n', out);
    }
    fputs("\nExit status: 0 all succeeded, 1 something failed, 2 wrong usage. A pipeline that cannot be wired\n"
          "is a failure when it is to be run or planned, and a finding for inspect.\n", out);
}

static int usage(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *message = text_of(format, list);
    va_end(list);
    fprintf(stderr, "qnnrt-run: %s; try --help\n", message);
    free(message);
    return STATUS_USAGE;
}

/* Digits only: no sign, no space, no 0x. */
static int parse_number(const char *s, uint32_t least, uint32_t most, uint32_t *out)
{
    uint64_t value = 0;
    if (*s == '\0') return 0;
    for (; *s != '\0'; ++s) {
        if (*s < '0' || *s > '9') return 0;
        value = value * 10 + (uint64_t)(*s - '0');
        if (value > most) return 0;
    }
    *out = (uint32_t)value;
    return value >= least;
}

/* Index of a word in a list that ends with NULL, or -1. */
static int parse_word(const char *s, const char *const *words)
{
    for (int i = 0; words[i] != NULL; ++i)
        if (strcmp(s, words[i]) == 0) return i;
    return -1;
}

static int parse_input(settings *set, const char *value)
{
    const char *equals = strrchr(value, '=');
    if (equals == NULL || equals == value || equals[1] == '\0')
        return usage("--input takes [GRAPH:]NAME=FILE, not \"%s\"", value);
    input_option *input = &set->inputs[set->input_count++];
    input->text = value;
    input->name = text("%.*s", (int)(equals - value), value);
    input->file = equals + 1;
    return STATUS_OK;
}

/* A preset by its name. */
static int parse_power(settings *set, const char *name, const char *value)
{
    int preset = QNNRT_POWER_CUSTOM + 1;
    const char *known;
    while ((known = qnnrt_power_preset_name((qnnrt_power_preset)preset)) != NULL && strcmp(known, value) != 0) ++preset;
    if (known != NULL) {
        set->power = (qnnrt_power_preset)preset;
        return STATUS_OK;
    }
    char *names = text("%s", qnnrt_power_preset_name(QNNRT_POWER_BURST));
    for (int i = QNNRT_POWER_BURST + 1; i < preset; ++i) {
        char *longer = text("%s%s%s", names, i + 1 < preset ? ", " : " or ", qnnrt_power_preset_name((qnnrt_power_preset)i));
        free(names);
        names = longer;
    }
    const int status = usage("--%s takes %s, not \"%s\"", name, names, value);
    free(names);
    return status;
}

static int parse_option(settings *set, const option *o, const char *name, const char *value)
{
    static const char *const profiles[] = {"off", "basic", "detailed", "optrace", NULL};
    static const char *const levels[] = {"error", "warn", "info", "verbose", "debug", NULL};
    static const char *const forms[] = {"native", "float", "both", NULL};
    static const char *const sources[] = {"all", "system", "json", NULL};
    uint32_t number = 0;
    int word = 0;
    switch (o->id) {
    case OPTION_CTX_DIR:          set->ctx_dir = value; break;
    case OPTION_RETRIEVE_CONTEXT: set->contexts[set->context_count++] = value; break;
    case OPTION_BACKEND:          set->backend = value; break;
    case OPTION_SYSTEM:           set->system = value; break;
    case OPTION_BIND_PLAN_OUT:    set->plan_out = value; break;
    case OPTION_GRAPH:            set->graphs[set->graph_count++] = value; break;
    case OPTION_INPUT:            return parse_input(set, value);
    case OPTION_OUTPUT_DIR:       set->output_dir = value; break;
    case OPTION_INSPECT:          set->inspect = 1; break;
    case OPTION_KEEP_GOING:       set->keep_going = 1; break;
    case OPTION_READ:             set->read = 1; break;
    case OPTION_GUARD:            set->guard = 1; break;
    case OPTION_JSON:             set->json = 1; break;
    case OPTION_JSON_FILE:        set->json_file = value; break;
    case OPTION_UNIFIED:          set->unified = 1; break;
    case OPTION_DIFF:             set->diff = 1; break;
    case OPTION_DOT:              set->dot = value; break;
    case OPTION_SVG:              set->svg = value; break;
    case OPTION_PROFILE_OUT:      set->profile_out = value; break;
    case OPTION_PERF_PROFILE:     return parse_power(set, name, value);
    case OPTION_PROFILING_LEVEL:
        word = parse_word(value, profiles);
        if (word < 0) return usage("--%s takes off, basic, detailed or optrace, not \"%s\"", name, value);
        set->profile = (qnnrt_profile_level)word;
        break;
    case OPTION_METADATA:
        word = parse_word(value, sources);
        if (word < 0) return usage("--%s takes all, system or json, not \"%s\"", name, value);
        set->metadata = (qnnrt_metadata)word;
        break;
    case OPTION_LOG_LEVEL:
        word = parse_word(value, levels);
        if (word >= 0) number = (uint32_t)word + 1;
        else if (!parse_number(value, 1, 5, &number))
            return usage("--%s takes error, warn, info, verbose, debug or 1 to 5, not \"%s\"", name, value);
        set->log_level = (qnnrt_log_level)number;
        break;
    case OPTION_ALIGN:
        if (!parse_number(value, 1, 1u << 20, &number) || (number & (number - 1)) != 0)
            return usage("--%s takes a power of two from 1 to 1048576, not \"%s\"", name, value);
        set->align = number;
        break;
    case OPTION_SOC_MODEL:
        if (!parse_number(value, 1, 65535, &number))
            return usage("--%s takes a number from 1 to 65535, not \"%s\"", name, value);
        set->soc_model = number;
        break;
    case OPTION_NUM_INFERENCES:
        if (!parse_number(value, 0, 1000000, &number))
            return usage("--%s takes a number from 0 to 1000000, not \"%s\"", name, value);
        set->inferences = number;
        break;
    case OPTION_INPUT_DATA_TYPE:
        word = parse_word(value, forms);
        if (word < 0 || word == FORM_BOTH) return usage("--%s takes native or float, not \"%s\"", name, value);
        set->input_form = (number_form)word;
        break;
    case OPTION_OUTPUT_DATA_TYPE:
        word = parse_word(value, forms);
        if (word < 0) return usage("--%s takes native, float or both, not \"%s\"", name, value);
        set->output_form = (number_form)word;
        break;
    case OPTION_VERSION:
    case OPTION_HELP:
        break;                                   /* the caller's */
    }
    return STATUS_OK;
}

/* What goes with what. */
static int check_options(settings *set)
{
    static const char *const words[] = {"--inspect", "inspect", "plan"};
    const char *word = words[set->command];
    const int shows = set->command != COMMAND_RUN || set->inspect;
    if (set->diff) {
        if (set->command == COMMAND_PLAN) return usage("--diff goes with inspect, not with plan");
        if (set->ctx_dir != NULL || set->context_count != 2)
            return usage("--diff takes two models: --diff A B, each a folder or a file");
        if (documents_on_stdout(set) > 0 || set->json_file != NULL || set->plan_out != NULL || set->dot != NULL ||
            set->svg != NULL)
            return usage("--diff prints differences and nothing else");
    }
    if (set->ctx_dir != NULL && set->context_count > 0)
        return usage("--ctx_dir and --retrieve_context exclude each other");
    if (set->ctx_dir == NULL && set->context_count == 0)
        return set->command == COMMAND_RUN ? usage("--ctx_dir or --retrieve_context is needed")
                                           : usage("%s takes a folder, or files", word);
    if (shows && (set->input_count > 0 || set->output_dir != NULL))
        return usage("%s runs nothing: it goes with neither --input nor --output_dir", word);
    if (shows && (set->profile != QNNRT_PROFILE_OFF || set->power != QNNRT_POWER_CUSTOM))
        return usage("%s runs nothing: it goes with neither --profiling_level nor --perf_profile", word);
    if (set->profile_out != NULL && set->profile == QNNRT_PROFILE_OFF)
        return usage("--profile_out needs --profiling_level basic, detailed or optrace");
    if (shows || set->diff) set->inspect = 1;
    if (set->inspect) set->inferences = 0;
    if (set->unified && set->json_file == NULL) return usage("--unified is a form of --json_file");
    if (set->dot != NULL && set->command == COMMAND_PLAN)
        return usage("--dot draws pipelines: it goes with inspect; plan takes --svg");
    if (set->json && is_stdout(set->plan_out))
        return usage("--json and --bind_plan_out - both want standard output");
    if (documents_on_stdout(set) > 1) return usage("two documents for standard output: write all but one to files");
    return STATUS_OK;
}

/* A word that stands alone, where a command was not given. */
static int wrong_operand(const char *word, int first)
{
    if (access(word, F_OK) == 0)
        return usage("unexpected argument \"%s\": to run it, --%s %s; to look at it, inspect or plan before it", word,
                     is_folder(word) ? "ctx_dir" : "retrieve_context", word);
    if (first) return usage("unknown command \"%s\": there are inspect, plan, compile and explain", word);
    return usage("unexpected argument \"%s\": a command is the first word", word);
}

/* Returns STATUS_OK, or STATUS_USAGE after a message. *answered is set when --help or --version has answered. */
static int parse_options(tool *t, int argc, char **argv, int *answered)
{
    settings *set = &t->set;
    const size_t most = (size_t)argc + 1;
    set->contexts = room_for(most, sizeof(*set->contexts));
    set->graphs = room_for(most, sizeof(*set->graphs));
    set->inputs = room_for(most, sizeof(*set->inputs));
    set->inferences = 1;
    int seen[OPTION_COUNT] = {0};
    int begin = 1;
    for (size_t c = 0; argc > 1 && c < COMMAND_COUNT; ++c) {
        if (strcmp(argv[1], commands[c].word) != 0) continue;
        set->command = commands[c].command;
        begin = 2;
    }
    const char *operand = NULL;                  /* the first one */

    for (int i = begin; i < argc; ++i) {
        const char *word = argv[i];
        if (strncmp(word, "--", 2) != 0) {
            if (word[0] == '\0') return usage("unexpected argument \"%s\"", word);
            if (word[0] == '-' && word[1] != '\0') return usage("unknown option \"%s\": options begin with \"--\"", word);
            if (operand == NULL) operand = word;
            set->contexts[set->context_count++] = word;
            continue;
        }
        if (word[2] == '\0') return usage("unexpected argument \"%s\"", word);
        const size_t length = strcspn(word + 2, "=");
        const char *value = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
        char *name = text("%.*s", (int)length, word + 2);
        size_t n = 0;
        while (n < OPTION_COUNT && strcmp(name, options[n].name) != 0 &&
               (options[n].alias == NULL || strcmp(name, options[n].alias) != 0)) ++n;

        int status = STATUS_OK;
        if (n == OPTION_COUNT) {
            status = usage("unknown option --%s", name);
        } else if (options[n].value == NULL && value != NULL) {
            status = usage("--%s takes no value", name);
        } else if (options[n].value != NULL) {
            if (value == NULL && i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0) value = argv[++i];
            if (value == NULL || value[0] == '\0')
                status = usage("--%s needs a value: --%s %s", name, name, options[n].value);
            else if (seen[n] && !options[n].repeatable)
                status = usage("--%s is given twice", options[n].name);
        }
        if (status == STATUS_OK) {
            seen[n] = 1;
            status = parse_option(set, &options[n], name, value);
        }
        free(name);
        if (status != STATUS_OK) return status;
        if (options[n].id == OPTION_HELP || options[n].id == OPTION_VERSION) {
            if (options[n].id == OPTION_HELP) print_help(t->out);
            else fprintf(t->out, "qnnrt-run %s\n", qnnrt_version());
            *answered = 1;
            return STATUS_OK;
        }
    }
    if (operand != NULL && set->command == COMMAND_RUN && !set->diff)
        return wrong_operand(operand, operand == argv[1]);
    const int status = check_options(set);
    if (status == STATUS_OK && set->command != COMMAND_RUN && set->context_count == 1 && is_folder(set->contexts[0])) {
        set->ctx_dir = set->contexts[0];
        set->context_count = 0;
    }
    return status;
}

#include "run_profile.h"
#include "run_open.h"
#include "run_plan.h"
#include "run_run.h"
#include "run_inspect.h"
#include "run_report.h"
#include "run_dump.h"
#include "run_diff.h"
#include "run_svg.h"
#include "run_flow.h"
#include "run_arena.h"
#include "run_explain.h"
#include "run_compile.h"

/* =====================================================================================
   MAIN                                                                           >>main
   ===================================================================================== */

/* Take descriptor 1 for this program, and give everyone else standard error in its place. */
static FILE *take_stdout(void)
{
    for (int fd = 0; fd <= 2; ++fd)              /* else the next file that is opened would be in their place */
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDWR) != fd) return NULL;
    const int own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (own == -1 || dup2(STDERR_FILENO, STDOUT_FILENO) == -1) return NULL;
    return fdopen(own, "w");
}

static void run_model(tool *t)
{
    if (!open_model(t) || !select_jobs(t)) return;
    for (size_t i = 0; i < t->job_count; ++i) {
        plan_job(t, &t->jobs[i]);
        say_job(t, &t->jobs[i]);
    }
    write_report(t, t->set.plan_out, 0);
    write_dumps(t);
    write_flow(t);
    write_dot(t);
    if (t->failed && !t->set.keep_going) return;

    const int failed_before = t->failed;
    t->failed = 0;
    for (size_t i = 0; i < t->set.input_count; ++i) place_input(t, &t->set.inputs[i]);
    const int inputs_placed = !t->failed;
    t->failed |= failed_before;
    if (!inputs_placed) return;                  /* a wrong name is a wrong command, even with --keep_going */

    name_files(t);
    begin_profile(t);
    for (size_t i = 0; i < t->job_count && t->set.inferences > 0 && (!t->failed || t->set.keep_going); ++i)
        if (t->jobs[i].plan != NULL) run_job(t, &t->jobs[i]);
    end_profile(t);
}

static void run_inspect(tool *t)
{
    if (!open_model(t)) return;
    say_model(t);
    if (select_jobs(t))
        for (size_t i = 0; i < t->job_count; ++i) say_job(t, &t->jobs[i]);
    write_report(t, t->set.plan_out, 0);
    write_dumps(t);
    write_flow(t);
    write_dot(t);
}

static void run_plan(tool *t)
{
    if (!open_model(t) || !select_jobs(t)) return;
    for (size_t i = 0; i < t->job_count; ++i) {
        plan_job(t, &t->jobs[i]);
        say_job(t, &t->jobs[i]);
        say_blocks(t, &t->jobs[i]);
    }
    write_report(t, t->set.plan_out, 0);
    write_dumps(t);
    write_arena(t);
}

/* Returns the exit status. */
static int run_all(tool *t)
{
    if (t->set.diff) return run_diff(t);
    switch (t->set.command) {
    case COMMAND_RUN:     run_model(t); break;
    case COMMAND_INSPECT: run_inspect(t); break;
    case COMMAND_PLAN:    run_plan(t); break;
    }
    write_report(t, t->set.json ? "-" : NULL, 1);
    return STATUS_OK;                            /* t->failed decides */
}

int main(int argc, char **argv)
{
    tool t;
    int answered = 0;
    memset(&t, 0, sizeof(t));
    t.out = take_stdout();
    if (t.out == NULL) {
        fprintf(stderr, "qnnrt-run: cannot copy standard output: %s\n", strerror(errno));
        return STATUS_FAILED;
    }
    const int explains = argc > 1 && strcmp(argv[1], "explain") == 0;
    const int compiles = argc > 1 && strcmp(argv[1], "compile") == 0;
    int status = explains ? explain(t.out, argc - 2, argv + 2) : compiles ? compile(&t, argc - 2, argv + 2)
                          : parse_options(&t, argc, argv, &answered);
    answered |= explains || compiles;
    if (status == STATUS_OK && !answered) {
        status = run_all(&t);
        close_all(&t);
    }
    for (size_t i = 0; i < t.set.input_count; ++i) free(t.set.inputs[i].name);
    free((void *)t.set.contexts);
    free((void *)t.set.graphs);
    free(t.set.inputs);
    free(t.error);
    const int good = !ferror(t.out);
    if (fclose(t.out) != 0 || !good) {
        fprintf(stderr, "qnnrt-run: cannot write to standard output\n");
        if (status == STATUS_OK) return STATUS_FAILED;
    }
    return status != STATUS_OK ? status : t.failed ? STATUS_FAILED : STATUS_OK;
}
