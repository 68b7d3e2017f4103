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

   ROOMS    >>text >>page >>json >>options     run_profile.h: >>power >>profile
            >>open >>select >>plan >>inputs >>outputs >>run
            run_inspect.h: >>facts >>inspect >>dump >>diff     >>report
            run_pictures.h: >>svg >>groups >>flow >>arena >>dot     run_compile.h: >>compile
            >>explain >>main                                                                        */
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
          "      qnnrt-run explain 0x1388       log, with causes and what helps; without any: the list of all\n\n"
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

/* =====================================================================================
   OPEN                                                                           >>open
   The backend first, so that its path is known even when the model cannot be opened.
   ===================================================================================== */

static void print_log_line(void *user, qnnrt_log_level level, const char *room, uint64_t vendor_code,
                           const char *line)
{
    static const char *const names[] = {"default", "error", "warn", "info", "verbose", "debug"};
    char code[32] = "";
    if (level > *(const qnnrt_log_level *)user) return;   /* qnnrt's own come at every level */
    if (vendor_code != 0) snprintf(code, sizeof(code), " (0x%llx)", (unsigned long long)vendor_code);
    /* One call, so that lines of the vendor's threads do not mix. */
    fprintf(stderr, "qnnrt-run: log %s %s: %s%s\n", level >= 0 && level <= QNNRT_LOG_DEBUG ? names[level] : "?",
            room != NULL ? room : "", line != NULL ? line : "", code);
}

static void say_version(const tool *t, const char *before, qnnrt_version_info version)
{
    say(t, "%s%lu.%lu.%lu", before, (unsigned long)version.major, (unsigned long)version.minor,
        (unsigned long)version.patch);
}

static void say_backend(const tool *t)
{
    const qnnrt_backend_info *info = qnnrt_backend_get_info(t->backend);
    char *path = shown(info->path), *provider = shown(info->provider), *build = shown(info->build_id);
    say(t, "backend   %s\n          provider %s, build %s", path, provider[0] != '\0' ? provider : "(not named)",
        build[0] != '\0' ? build : "(not named)");
    say_version(t, ", core API ", info->core_api);
    say_version(t, ", backend API ", info->backend_api);
    say(t, "\n          opened in %.3f ms\n", ms(info->open_ns));
    free(path);
    free(provider);
    free(build);
}

static const char *model_name(const tool *t)
{
    const settings *set = &t->set;
    return set->ctx_dir != NULL ? set->ctx_dir : set->context_count == 1 ? set->contexts[0] : "files given one by one";
}

static void say_contexts(const tool *t)
{
    size_t count = 0;
    const qnnrt_context_info *contexts = qnnrt_contexts(t->model, &count);
    const char *system_path = qnnrt_get_system_path(t->model);
    char *system_shown = shown(system_path[0] != '\0' ? system_path : "(not needed)");
    say(t, "system    %s\n", system_shown);
    free(system_shown);
    say(t, "model     %s, %lu context%s\n", model_name(t),
        (unsigned long)count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_context_info *c = &contexts[i];
        char *file = shown(c->file), *build = shown(c->build_id != NULL ? c->build_id : "");
        say(t, "  %lu  %s", (unsigned long)i, file);
        if (c->file_bytes != 0 || c->failure != NULL) say(t, "  %llu bytes", (unsigned long long)c->file_bytes);
        else say(t, "  without its binary");
        if (c->failure != NULL) {
            say(t, ", failed\n");
        } else {
            if (build[0] != '\0') say(t, ", made by %s", build);
            if (c->soc_model != 0) say(t, ", SoC %lu", (unsigned long)c->soc_model);
            if (c->dsp_arch != 0) say(t, ", v%lu", (unsigned long)c->dsp_arch);
            say(t, "; metadata %.3f ms", ms(c->metadata_ns));
            if (!t->set.inspect) say(t, ", create %.3f ms", ms(c->create_ns));
            say(t, "\n");
        }
        free(file);
        free(build);
    }
}

/* ---- what stands on the command line becomes a folder, or files with their JSON ---- */

typedef struct sources {
    const char *folder;                /* NULL: files */
    qnnrt_file *files;
    size_t      count;
    char      **siblings;              /* [count] paths that were made, or NULL */
} sources;

/* Is it named X.json, or does it begin with '{', after a byte order mark and blanks? No binary does. */
static int is_json_file(const char *path)
{
    const size_t length = strlen(path);
    if (length > 5 && strcmp(path + length - 5, ".json") == 0) return 1;
    unsigned char head[64];
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 0;                  /* opening it reports why */
    const size_t bytes = fread(head, 1, sizeof(head), file);
    fclose(file);
    size_t at = bytes >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (at < bytes && strchr(" \t\r\n", head[at]) != NULL && head[at] != '\0') ++at;
    return at < bytes && head[at] == '{';
}

/* The name of the JSON that belongs to X.bin; NULL for another name. To be freed. */
static char *json_sibling(const char *path)
{
    const size_t length = strlen(path);
    if (length <= 4 || strcmp(path + length - 4, ".bin") != 0) return NULL;
    return text("%.*s_json.json", (int)(length - 4), path);
}

/* One folder, or files: a binary X.bin and X_json.json are one context, given both or lying beside. */
static void find_sources(const settings *set, const char *const *words, size_t count, sources *from)
{
    memset(from, 0, sizeof(*from));
    from->files = room_for(count, sizeof(*from->files));
    from->siblings = room_for(count, sizeof(*from->siblings));
    if (count == 1 && is_folder(words[0])) {
        from->folder = words[0];
        return;
    }
    char *taken = room_for(count, 1);
    for (size_t i = 0; i < count; ++i) {         /* which JSON belongs to a binary that is given too */
        char *sibling = json_sibling(words[i]);
        for (size_t k = 0; sibling != NULL && k < count; ++k)
            if (strcmp(words[k], sibling) == 0) taken[k] = 1;
        free(sibling);
    }
    for (size_t i = 0; i < count; ++i) {
        qnnrt_file *file = &from->files[from->count];
        if (taken[i]) continue;
        if (set->inspect && is_json_file(words[i])) {
            file->json_path = words[i];
        } else {
            char *sibling = json_sibling(words[i]);
            file->path = words[i];
            if (sibling != NULL && access(sibling, F_OK) == 0) {
                file->json_path = from->siblings[from->count] = sibling;
            } else {
                free(sibling);
            }
        }
        ++from->count;
    }
    free(taken);
}

static void free_sources(sources *from)
{
    for (size_t i = 0; i < from->count; ++i) free(from->siblings[i]);
    free(from->siblings);
    free(from->files);
}

/* Open a folder, or files. NULL after a message. */
static qnnrt *open_sources(tool *t, const char *folder, const char *const *words, size_t count)
{
    const settings *set = &t->set;
    qnnrt_error err;
    qnnrt *model = NULL;
    sources from;
    qnnrt_desc desc = {0};
    for (size_t i = 0; i < count; ++i) {         /* before a library is looked for in vain */
        if (access(words[i], R_OK) == 0) continue;
        fail(t, NULL, "cannot open %s: %s", words[i], strerror(errno));
        return NULL;
    }
    for (size_t i = 0; count > 1 && i < count; ++i) {
        if (!is_folder(words[i])) continue;
        fail(t, NULL, "%s is a folder among %lu arguments\n  what helps: give one folder alone, or files", words[i],
             (unsigned long)count);
        return NULL;
    }
    find_sources(set, words, count, &from);
    desc.backend = t->backend;
    if (set->inspect) {
        desc.inspect = 1;
        desc.backend_desc.path = set->backend;        /* its folder is where libQnnSystem.so is looked for */
        if (set->log_level != QNNRT_LOG_DEFAULT) {
            desc.backend_desc.hooks.log = print_log_line;
            desc.backend_desc.hooks.log_user = &t->set.log_level;
        }
    }
    desc.system_path = set->system;
    desc.files = from.count != 0 ? from.files : NULL;
    desc.file_count = from.count;
    desc.metadata = set->metadata;
    desc.align = set->align;
    desc.keep_going = set->keep_going;
    desc.read = set->read;
    desc.guard = set->guard;
    desc.profile_level = set->profile;
    if (qnnrt_open(folder != NULL ? folder : from.folder, &desc, &model, &err) != QNNRT_OK)
        fail(t, NULL, "%s%s", err.text, err.code != QNNRT_E_LIBRARY ? "" :
             set->inspect ? "\n  with this tool: --system_so FILE, or JSON for every binary" : "\n  with this tool: --system_so FILE");
    free_sources(&from);
    return model;
}

static int open_model(tool *t)
{
    const settings *set = &t->set;
    qnnrt_error err;
    qnnrt_backend_desc backend_desc = {0};
    backend_desc.path = set->backend;
    backend_desc.log_level = set->log_level;
    backend_desc.soc_model = set->soc_model;
    if (set->log_level != QNNRT_LOG_DEFAULT) {
        backend_desc.hooks.log = print_log_line;
        backend_desc.hooks.log_user = &t->set.log_level;
    }
    if (!set->inspect) {
        if (qnnrt_backend_open(&backend_desc, &t->backend, &err) != QNNRT_OK) {
            fail(t, NULL, "%s%s", err.text, err.code == QNNRT_E_LIBRARY ? "\n  with this tool: --backend_so FILE" : "");
            return 0;
        }
        say_backend(t);
        if (set->power != QNNRT_POWER_CUSTOM && !set_power(t)) return 0;
    }

    t->model = open_sources(t, set->ctx_dir, set->contexts, set->context_count);
    if (t->model == NULL) return 0;
    if (set->command != COMMAND_INSPECT) say_contexts(t);

    size_t count = 0;
    if (set->profile != QNNRT_PROFILE_OFF) {
        const qnnrt_profile_event *events = qnnrt_events(t->model, &count);
        say_events(t, "of loading", "context", events, count);
    }
    const qnnrt_context_info *contexts = qnnrt_contexts(t->model, &count);
    for (size_t i = 0; i < count; ++i)
        if (contexts[i].failure != NULL) fail(t, NULL, "%s", contexts[i].failure->text);
    return 1;
}

/* =====================================================================================
   SELECT                                                                       >>select
   From --graph, or from nothing, to jobs.
   ===================================================================================== */

static void add_job(tool *t, const qnnrt_pipeline *pipeline, const char *asked)
{
    for (size_t i = 0; asked != NULL && i < t->job_count; ++i)      /* all of a model are there once */
        if (t->jobs[i].pipeline == pipeline) return;
    job *j = &t->jobs[t->job_count++];
    j->pipeline = pipeline;
    j->info = qnnrt_pipeline_get_info(pipeline);
    j->asked = asked;
    char *name = shown(j->info->name);
    const int renamed = asked != NULL && strcmp(asked, j->info->name) != 0;
    j->title = renamed ? text("\"%s\" (%s)", name, asked) : text("\"%s\"", name);
    free(name);
    const size_t slots = j->info->slot_count;
    j->blocks = room_for(slots, sizeof(*j->blocks));
    j->input_files = room_for(slots, sizeof(*j->input_files));
    j->input_floats = room_for(slots, sizeof(*j->input_floats));
    j->files = room_for(slots, sizeof(*j->files));
    j->native_files = room_for(slots, sizeof(*j->native_files));
}

/* A pipeline that is there and could not be wired: its job shows what there is, and fails when planned. */
static const qnnrt_pipeline *find_unwired(const tool *t, const char *name)
{
    for (size_t i = 0; i < qnnrt_pipeline_count(t->model); ++i) {
        const qnnrt_pipeline *pipeline = qnnrt_pipeline_get(t->model, i);
        if (strcmp(qnnrt_pipeline_get_info(pipeline)->name, name) == 0) return pipeline;
    }
    return NULL;
}

static int select_jobs(tool *t)
{
    const settings *set = &t->set;
    const size_t count = qnnrt_pipeline_count(t->model);
    t->jobs = room_for(count + set->graph_count, sizeof(*t->jobs));
    if (set->graph_count == 0)
        for (size_t i = 0; i < count; ++i) add_job(t, qnnrt_pipeline_get(t->model, i), NULL);
    for (size_t i = 0; i < set->graph_count; ++i) {
        const qnnrt_pipeline *pipeline = NULL;
        qnnrt_error err;
        if (qnnrt_pipeline_find(t->model, set->graphs[i], &pipeline, &err) != QNNRT_OK)
            pipeline = find_unwired(t, set->graphs[i]);
        if (pipeline != NULL)
            add_job(t, pipeline, set->graphs[i]);
        else
            fail(t, NULL, "--graph: %s", err.text);
    }
    if (t->job_count == 0 && !t->failed) fail(t, NULL, "the model has no graph that could be run");
    return t->job_count > 0 && (!t->failed || set->keep_going);
}

/* =====================================================================================
   PLAN                                                                           >>plan
   Plan each job's memory, and show how the job looks.
   ===================================================================================== */

/* Columns as wide as their widest cell; numbers to the right. Cells are freed. */
enum { COLUMNS = 8 };

static size_t width_of(const char *s)
{
    size_t width = 0;
    for (; *s != '\0'; ++s)
        if (((unsigned char)*s & 0xC0) != 0x80) ++width;
    return width;
}

/* titles end with NULL or fill all columns; right: an 'r' at the columns of numbers. */
static void say_table(const tool *t, const char *const titles[COLUMNS], const char *right, char *(*cells)[COLUMNS],
                      size_t rows)
{
    size_t widths[COLUMNS], columns = 0;
    while (columns < COLUMNS && titles[columns] != NULL) ++columns;
    for (size_t c = 0; c < columns; ++c) {
        widths[c] = width_of(titles[c]);
        for (size_t r = 0; r < rows; ++r) {
            const size_t width = width_of(cells[r][c]);
            if (width > widths[c] && (c != 0 || width <= 48)) widths[c] = width;
        }
    }
    for (size_t r = 0; r <= rows; ++r) {
        for (size_t c = 0; c < columns; ++c) {
            const char *cell = r == 0 ? titles[c] : cells[r - 1][c];
            const size_t width = width_of(cell);
            const int pad = widths[c] > width ? (int)(widths[c] - width) : 0;
            if (c < strlen(right) && right[c] == 'r') say(t, "  %*s%s", pad, "", cell);
            else say(t, "  %s%*s", cell, c + 1 < columns ? pad : 0, "");
            if (r > 0) free(cells[r - 1][c]);
        }
        say(t, "\n");
    }
}

static char *dims_text(const qnnrt_tensor_info *tensor)
{
    char *made = text("%s", tensor->rank == 0 ? "scalar" : "");
    for (uint32_t d = 0; d < tensor->rank; ++d) {
        char *longer = text("%s%s%lu", made, d > 0 ? "x" : "", (unsigned long)tensor->dims[d]);
        free(made);
        made = longer;
    }
    return made;
}

/* The fewest digits that are this float; to be freed. */
static char *float_text(float value)
{
    for (int digits = 1; digits < 9; ++digits) {
        char *made = text("%.*g", digits, (double)value);
        if (strtof(made, NULL) == value) return made;
        free(made);
    }
    return text("%.9g", (double)value);
}

static char *encoding_text(const qnnrt_quant *quant)
{
    char bits[32] = "", *scale = NULL, *made = NULL;
    if (quant->bitwidth != 0) snprintf(bits, sizeof(bits), ", %lu bits", (unsigned long)quant->bitwidth);
    switch (quant->encoding) {
    case QNNRT_ENCODING_NONE:
        break;
    case QNNRT_ENCODING_PER_TENSOR:
        scale = float_text(quant->scale);
        made = text("scale %s, offset %ld%s", scale, (long)quant->offset, bits);
        free(scale);
        return made;
    case QNNRT_ENCODING_PER_AXIS:
        return text("axis %ld, %lu scales%s", (long)quant->axis, (unsigned long)quant->count, bits);
    case QNNRT_ENCODING_OTHER:
        return text("vendor's 0x%lx%s", (unsigned long)quant->vendor_encoding, bits);
    }
    return text("-");
}

static void say_slots(const tool *t, const job *j)
{
    static const char *const titles[COLUMNS] = {"tensor", "role", "dims", "dtype", "encoding", "bytes", "offset",
                                                "steps"};
    const size_t count = j->info->slot_count;
    char *(*cells)[COLUMNS] = room_for(count, sizeof(*cells));
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_slot_info *slot = &j->info->slots[i];
        const qnnrt_tensor_info *tensor = slot->tensor;
        cells[i][0] = shown(slot->address);
        cells[i][1] = text("%s", role_name(slot->role));
        cells[i][2] = dims_text(tensor);
        cells[i][3] = text("%s", qnnrt_dtype_name(tensor->dtype));
        cells[i][4] = encoding_text(&tensor->quant);
        cells[i][5] = text("%llu", (unsigned long long)tensor->bytes);
        cells[i][6] = j->blocks[i] != NULL ? text("%llu", (unsigned long long)j->blocks[i]->offset) : text("-");
        const unsigned long first = slot->first, last = slot->last;
        cells[i][7] = first == last ? text("%lu", first) : text("%lu-%lu", first, last);
    }
    say_table(t, titles, "     rr", cells, count);
    free(cells);
}

static void say_job(const tool *t, const job *j)
{
    const qnnrt_pipeline_info *info = j->info;
    say(t, "\npipeline %s, %lu step%s\n", j->title, (unsigned long)info->step_count, info->step_count == 1 ? "" : "s");
    for (size_t i = 0; i < info->step_count; ++i) {
        const qnnrt_step_info *step = &info->steps[i];
        char *file = shown(qnnrt_contexts(step->model, NULL)[step->context].file);
        char *graph = shown(step->graph->name);
        say(t, "  step %lu  %s  \"%s\"\n", (unsigned long)i, file, graph);
        free(file);
        free(graph);
    }
    if (info->failure != NULL) {
        say(t, "  not wired: %s\n", info->failure);
        return;
    }
    if (t->set.command == COMMAND_RUN) say_slots(t, j);
    for (size_t i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *edge = &info->edges[i];
        char *from = shown(edge->from->name), *to = shown(edge->to->name);
        say(t, "  step %lu \"%s\" -> step %lu \"%s\": %s\n", (unsigned long)edge->from_step, from,
            (unsigned long)edge->to_step, to, edge->reason);
        free(from);
        free(to);
    }
    if (j->plan_info != NULL)
        say(t, "  memory    peak %llu bytes, bound %llu, naive %llu, alignment %lu%s\n",
            (unsigned long long)j->plan_info->peak, (unsigned long long)j->plan_info->bound,
            (unsigned long long)j->plan_info->naive, (unsigned long)j->plan_info->align,
            t->set.guard ? "; with --guard every tensor has pages of its own" : "");
}

static int compare_blocks(const void *a, const void *b)
{
    const qnnrt_plan_block *const *x = a, *const *y = b;
    if ((*x)->offset != (*y)->offset) return (*x)->offset < (*y)->offset ? -1 : 1;
    return ((*x)->first > (*y)->first) - ((*x)->first < (*y)->first);
}

/* The rectangles of a plan from the bottom up. To be freed. */
static const qnnrt_plan_block **sorted_blocks(const qnnrt_plan_info *plan)
{
    const qnnrt_plan_block **list = room_for(plan->block_count, sizeof(*list));
    for (size_t i = 0; i < plan->block_count; ++i) list[i] = &plan->blocks[i];
    qsort((void *)list, plan->block_count, sizeof(*list), compare_blocks);
    return list;
}

static const char *block_kind(const job *j, const qnnrt_plan_block *block)
{
    if (block->entry == QNNRT_NO_ENTRY) return "buffer";
    return role_name(j->info->slots[block->slot].role);
}

static char *block_name(const job *j, const qnnrt_plan_block *block)
{
    if (block->entry == QNNRT_NO_ENTRY) return text("buffer %ld", (long)block->slot);
    return shown(j->info->slots[block->slot].address);
}

static void say_blocks(const tool *t, const job *j)
{
    static const char *const titles[COLUMNS] = {"offset", "bytes", "steps", "kind", "kept", "tensor", NULL};
    if (j->plan_info == NULL) return;
    const size_t count = j->plan_info->block_count;
    char *(*cells)[COLUMNS] = room_for(count, sizeof(*cells));
    const qnnrt_plan_block **blocks = sorted_blocks(j->plan_info);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_plan_block *block = blocks[i];
        const unsigned long first = block->first, last = block->last;
        cells[i][0] = text("%llu", (unsigned long long)block->offset);
        cells[i][1] = text("%llu", (unsigned long long)block->bytes);
        cells[i][2] = first == last ? text("%lu", first) : text("%lu-%lu", first, last);
        cells[i][3] = text("%s", block_kind(j, block));
        cells[i][4] = text("%s", block->kept ? "kept" : "-");
        cells[i][5] = block_name(j, block);
    }
    say_table(t, titles, "rr", cells, count);
    free((void *)blocks);
    free(cells);
}

static void plan_job(tool *t, job *j)
{
    if (j->info->failure != NULL) {
        fail(t, j, "pipeline %s is not wired: %s\n  its graphs run alone, as --graph CONTEXT/GRAPH", j->title,
             j->info->failure);
        return;
    }
    qnnrt_entry_desc entry = {0};
    qnnrt_plan_desc desc = {0};
    qnnrt_error err;
    entry.pipeline = j->pipeline;
    desc.entries = &entry;
    desc.entry_count = 1;
    desc.align = t->set.align;
    const uint64_t begin = now_ns();
    if (qnnrt_plan_create(&desc, &j->plan, &err) != QNNRT_OK) {
        fail(t, j, "pipeline %s: %s", j->title, err.text);
        return;
    }
    j->prepare_ns = now_ns() - begin;
    j->plan_info = qnnrt_plan_get_info(j->plan);
    for (size_t b = 0; b < j->plan_info->block_count; ++b) {
        const qnnrt_plan_block *block = &j->plan_info->blocks[b];
        if (block->entry == 0 && block->slot >= 0 && (size_t)block->slot < j->info->slot_count)
            j->blocks[block->slot] = block;
    }
}

/* =====================================================================================
   INPUTS                                                                       >>inputs
   Which file goes into which slot, and reading it.
   ===================================================================================== */

static int is_job_name(const job *j, const char *name)
{
    return strcmp(j->info->name, name) == 0 || (j->asked != NULL && strcmp(j->asked, name) == 0);
}

static int is_pipeline_name(const tool *t, const char *name)
{
    for (size_t i = 0; i < qnnrt_pipeline_count(t->model); ++i)
        if (strcmp(qnnrt_pipeline_get_info(qnnrt_pipeline_get(t->model, i))->name, name) == 0) return 1;
    for (size_t i = 0; i < t->job_count; ++i)
        if (is_job_name(&t->jobs[i], name)) return 1;
    return 0;
}

/* Is it the name of an input at all? Then a look-up that failed has found several. */
static int is_input_name(const job *j, const char *name)
{
    for (size_t i = 0; i < j->info->slot_count; ++i)
        if (j->info->slots[i].role == QNNRT_ROLE_INPUT && strcmp(j->info->slots[i].tensor->name, name) == 0) return 1;
    return 0;
}

static void place_input(tool *t, const input_option *input)
{
    const char *name = input->name;
    char *graph = NULL;
    const char *colon = strchr(name, ':');
    if (colon != NULL) {
        graph = text("%.*s", (int)(colon - name), name);
        if (is_pipeline_name(t, graph)) {
            name = colon + 1;
        } else {
            free(graph);
            graph = NULL;
        }
    }

    size_t asked = 0, placed = 0;
    char *reasons = text("%s", "");
    for (size_t i = 0; i < t->job_count; ++i) {
        job *j = &t->jobs[i];
        qnnrt_slot slot = QNNRT_NO_SLOT;
        qnnrt_error err;
        if (graph != NULL && !is_job_name(j, graph)) continue;
        ++asked;
        if (j->info->failure != NULL) continue;  /* reported, and without slots */
        if (qnnrt_slot_find(j->pipeline, name, QNNRT_ROLE_INPUT, &slot, &err) != QNNRT_OK) {
            char *longer = text("%s%s%s", reasons, reasons[0] != '\0' ? "; " : "", err.text);
            free(reasons);
            reasons = longer;
            if (is_input_name(j, name)) {
                fail(t, j, "--input %s: %s", input->text, err.text);
                ++placed;
            }
            continue;
        }
        ++placed;
        if (j->input_files[slot] != NULL)
            fail(t, j, "--input %s: this input is given twice, by %s too", input->text, j->input_files[slot]);
        j->input_files[slot] = input->file;
    }
    if (asked == 0)
        fail(t, NULL, "--input %s: pipeline \"%s\" is not among those of --graph", input->text, graph);
    else if (placed == 0)
        fail(t, NULL, "--input %s: %s", input->text, reasons[0] != '\0' ? reasons : "no pipeline can run");
    free(reasons);
    free(graph);
}

/* Types for which a float32 file is a convenience, not a change of meaning. */
static int takes_float_file(const qnnrt_tensor_info *tensor)
{
    return tensor->quant.encoding == QNNRT_ENCODING_PER_TENSOR || tensor->quant.encoding == QNNRT_ENCODING_PER_AXIS ||
           tensor->dtype == QNNRT_DTYPE_F16 || tensor->dtype == QNNRT_DTYPE_BF16;
}

/* Read all of a file, or `most` bytes and one more. Returns NULL after a message. */
static unsigned char *read_file(tool *t, job *j, const char *path, size_t most, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail(t, j, "cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    unsigned char *data = room_for(most + 1, 1);
    errno = 0;
    *bytes = fread(data, 1, most + 1, file);
    if (ferror(file)) {
        fail(t, j, "cannot read %s: %s", path, strerror(errno));
        free(data);
        data = NULL;
    }
    fclose(file);
    return data;
}

static int load_input(tool *t, job *j, qnnrt_run *run, qnnrt_slot slot)
{
    const qnnrt_tensor_info *tensor = j->info->slots[slot].tensor;
    const char *path = j->input_files[slot];
    const size_t native = (size_t)tensor->bytes, floats = (size_t)tensor->count * sizeof(float);
    const size_t most = native > floats ? native : floats;
    int loaded = 0;
    size_t bytes = 0;
    unsigned char *data = read_file(t, j, path, most, &bytes);
    if (data == NULL) return 0;

    const int wants_float = t->set.input_form == FORM_FLOAT;
    const int as_float = wants_float ? bytes == floats
                                     : bytes == floats && bytes != native && takes_float_file(tensor);
    if (as_float) {
        const float *values = (const float *)(const void *)data;
        loaded = qnnrt_write_f32_slot(run, slot, 0, values, (size_t)tensor->count) == QNNRT_OK;
        if (!loaded) fail(t, j, "%s: %s", path, qnnrt_run_error(run)->text);
        j->input_floats[slot] = 1;
    } else if (bytes == native && !wants_float) {
        void *to = qnnrt_data_slot(run, slot, NULL);
        loaded = to != NULL;
        if (loaded) memcpy(to, data, native);
        else fail(t, j, "%s: the input has no memory", path);
    } else {
        struct stat status;
        char *name = shown(j->info->slots[slot].address), *dims = dims_text(tensor);
        unsigned long long found = bytes;
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) found = (unsigned long long)status.st_size;
        fail(t, j, "%s has %llu bytes; input \"%s\" (%s %s) takes %llu bytes native%s or %llu bytes float32%s", path,
             found, name, qnnrt_dtype_name(tensor->dtype), dims, (unsigned long long)native,
             wants_float ? " (not with --input_data_type float)" : "", (unsigned long long)floats,
             wants_float || takes_float_file(tensor) ? "" : " (with --input_data_type float)");
        free(name);
        free(dims);
    }
    free(data);
    return loaded;
}

static int load_inputs(tool *t, job *j, qnnrt_run *run)
{
    enum { LISTED = 8 };
    size_t zero = 0;
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        if (j->info->slots[i].role != QNNRT_ROLE_INPUT) continue;
        if (j->input_files[i] == NULL) {
            ++zero;
            continue;
        }
        if (!load_input(t, j, run, (qnnrt_slot)i)) return 0;
        char *name = shown(j->info->slots[i].address);
        say(t, "  input     \"%s\" from %s, %s\n", name, j->input_files[i], j->input_floats[i] ? "float32" : "native");
        free(name);
    }
    if (zero == 0) return 1;
    say(t, "  inputs not given hold the code of real zero:");
    for (size_t i = 0, listed = 0; i < j->info->slot_count && listed < LISTED; ++i) {
        if (j->info->slots[i].role != QNNRT_ROLE_INPUT || j->input_files[i] != NULL) continue;
        char *name = shown(j->info->slots[i].address);
        say(t, "%s \"%s\"", listed++ > 0 ? "," : "", name);
        free(name);
    }
    if (zero > LISTED) say(t, " and %lu more", (unsigned long)(zero - LISTED));
    say(t, "\n");
    return 1;
}

/* =====================================================================================
   OUTPUTS                                                                     >>outputs
   File names, folders, and writing.
   ===================================================================================== */

/* Names for the folders of jobs and the files of outputs, before anything is written. */
static void name_files(tool *t)
{
    char **folders = room_for(t->job_count, sizeof(*folders));
    for (size_t i = 0; i < t->job_count; ++i) {
        job *j = &t->jobs[i];
        j->folder = folders[i] = safe_name(j->info->name, "", folders, i);
        const size_t slots = j->info->slot_count;
        char **used = room_for(2 * slots, sizeof(*used));
        for (size_t s = 0; s < slots; ++s)
            if (j->info->slots[s].role == QNNRT_ROLE_OUTPUT)
                j->files[s] = used[s] = safe_name(j->info->slots[s].tensor->name, ".raw", used, slots);
        /* After all others, so that a tensor called x_native keeps its name beside one called x. */
        for (size_t s = 0; s < slots && t->set.output_form == FORM_BOTH; ++s)
            if (j->files[s] != NULL)
                j->native_files[s] = used[slots + s] =
                    safe_name(j->info->slots[s].tensor->name, "_native.raw", used, 2 * slots);
        free(used);
    }
    free(folders);
}

/* Like mkdir -p. */
static int make_folders(const char *path)
{
    char *part = text("%s", path);
    struct stat there;
    int made = 1;
    for (char *c = part + 1; made && part[0] != '\0'; ++c) {
        const char kept = *c;
        if (kept != '/' && kept != '\0') continue;
        *c = '\0';
        made = mkdir(part, 0777) == 0;
        if (!made && errno == EEXIST) {
            made = stat(part, &there) == 0 && S_ISDIR(there.st_mode);
            if (!made) errno = ENOTDIR;
        }
        *c = kept;
        if (kept == '\0') break;
    }
    free(part);
    return made;
}

static void note_file(job *j, uint32_t inference, qnnrt_slot slot, number_form form, uint64_t bytes, char *path)
{
    j->written = room_for_more(j->written, j->written_count, &j->written_room, sizeof(*j->written));
    const output_file file = {inference, slot, form, bytes, path};
    j->written[j->written_count++] = file;
}

static int write_output(tool *t, job *j, qnnrt_run *run, uint32_t inference, qnnrt_slot slot, number_form form,
                        const char *folder, const char *name)
{
    const qnnrt_tensor_info *tensor = j->info->slots[slot].tensor;
    const size_t count = (size_t)tensor->count;
    float *values = NULL;
    const void *data = NULL;
    size_t bytes = 0;
    int written = 0;
    char *path = text("%s/%s", folder, name);
    if (form == FORM_FLOAT) {
        values = room_for(count, sizeof(*values));
        bytes = count * sizeof(*values);
        if (qnnrt_read_f32_slot(run, slot, 0, values, count) == QNNRT_OK) data = values;
        else fail(t, j, "%s: %s", path, qnnrt_run_error(run)->text);
    } else {
        data = qnnrt_data_slot(run, slot, &bytes);
        if (data == NULL) fail(t, j, "%s: the output has no memory", path);
    }
    if (data != NULL) written = write_file(t, j, path, data, bytes, 1);
    if (written) note_file(j, inference, slot, form, bytes, path);
    else free(path);
    free(values);
    return written;
}

static int write_outputs(tool *t, job *j, qnnrt_run *run, uint32_t inference)
{
    const settings *set = &t->set;
    if (set->output_dir == NULL) return 1;
    char *folder = set->inferences > 1
                       ? text("%s/Result_%lu/%s", set->output_dir, (unsigned long)inference, j->folder)
                       : text("%s/%s", set->output_dir, j->folder);
    int good = make_folders(folder);
    if (!good) fail(t, j, "cannot make the folder %s: %s", folder, strerror(errno));
    for (size_t i = 0; good && i < j->info->slot_count; ++i) {
        if (j->files[i] == NULL) continue;
        const number_form first = set->output_form == FORM_NATIVE ? FORM_NATIVE : FORM_FLOAT;
        /* The native file first: it is there even for a type that has no float form. */
        if (set->output_form == FORM_BOTH)
            good = write_output(t, j, run, inference, (qnnrt_slot)i, FORM_NATIVE, folder, j->native_files[i]);
        good = write_output(t, j, run, inference, (qnnrt_slot)i, first, folder, j->files[i]) && good;
    }
    free(folder);
    return good;
}

/* =====================================================================================
   RUN                                                                             >>run
   Memory, inputs, inferences, outputs of one job.
   ===================================================================================== */

static int compare_ns(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void min_and_median(const job *j, uint64_t *min, uint64_t *median)
{
    const size_t count = j->exec_count;
    uint64_t *sorted = room_for(count, sizeof(*sorted));
    memcpy(sorted, j->exec_ns, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_ns);
    *min = sorted[0];
    *median = count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
    free(sorted);
}

static void say_result(const tool *t, const job *j)
{
    say(t, "  time      prepare %.3f ms", ms(j->prepare_ns));
    if (j->exec_count > 0) {
        uint64_t min = 0, median = 0;
        min_and_median(j, &min, &median);
        say(t, ", exec min %.3f ms, median %.3f ms over %lu inference%s", ms(min), ms(median),
            (unsigned long)j->exec_count, j->exec_count == 1 ? "" : "s");
    }
    if (j->exec_failed > 0) say(t, ", %lu failed", (unsigned long)j->exec_failed);
    say(t, "\n");
    /* Files of one inference stand for those of all: they differ in Result_<n> only. */
    for (size_t i = 0; i < j->written_count && j->written[i].inference == j->written[0].inference; ++i)
        say(t, "  output    %s, %llu bytes, %s\n", j->written[i].path, (unsigned long long)j->written[i].bytes,
            j->written[i].form == FORM_FLOAT ? "float32" : "native");
    if (j->exec_count > 1 && j->written_count > 0) say(t, "            likewise for every other inference\n");
}

static void run_job(tool *t, job *j)
{
    const settings *set = &t->set;
    qnnrt_mem *mem = NULL;
    qnnrt_run *run = NULL;
    qnnrt_mem_desc mem_desc = {0};
    qnnrt_error err;
    mem_desc.guard = set->guard;
    say(t, "\nrun %s\n", j->title);

    const uint64_t begin = now_ns();
    if (qnnrt_mem_create(j->plan, &mem_desc, &mem, &err) != QNNRT_OK ||
        qnnrt_run_create(mem, 0, &run, &err) != QNNRT_OK) {
        fail(t, j, "pipeline %s: %s", j->title, err.text);
        goto done;
    }
    j->prepare_ns += now_ns() - begin;
    if (!load_inputs(t, j, run)) goto done;
    if (qnnrt_run_profile(run, set->profile) != QNNRT_OK) {
        fail(t, j, "pipeline %s: %s", j->title, qnnrt_run_error(run)->text);
        goto done;
    }

    j->exec_ns = room_for(set->inferences, sizeof(*j->exec_ns));
    for (uint32_t n = 0; n < set->inferences; ++n) {
        const uint64_t start = now_ns();
        const qnnrt_result result = qnnrt_exec(run);
        const uint64_t took = now_ns() - start;
        int good = result == QNNRT_OK;
        if (good) {
            j->exec_ns[j->exec_count++] = took;
            good = write_outputs(t, j, run, n);
            if (set->profile != QNNRT_PROFILE_OFF) good = take_events(t, j, run, n, start, took) && good;
        } else {
            ++j->exec_failed;
            fail(t, j, "pipeline %s, inference %lu: %s", j->title, (unsigned long)n, qnnrt_run_error(run)->text);
        }
        if (!good && !set->keep_going) break;
    }
    say_result(t, j);
    if (set->profile != QNNRT_PROFILE_OFF && j->exec_count > 0)
        say_events(t, "of the last inference", "step", j->events, j->event_count);

done:
    qnnrt_run_destroy(run);
    qnnrt_mem_destroy(mem);
}

/* =====================================================================================
   REPORT                                                                       >>report
   The document of --bind_plan_out and --json.
   ===================================================================================== */

static void report_backend(const tool *t, json *j)
{
    if (t->backend == NULL) {
        json_string(j, "backend", NULL);
        return;
    }
    const qnnrt_backend_info *info = qnnrt_backend_get_info(t->backend);
    json_open(j, "backend", '{', 0);
    json_string(j, "path", info->path);
    json_string(j, "provider", info->provider);
    json_string(j, "build_id", info->build_id);
    json_count(j, "id", info->id);
    json_version(j, "core_api", info->core_api);
    json_version(j, "backend_api", info->backend_api);
    json_count(j, "open_ns", info->open_ns);
    report_power(t, j);
    json_close(j);
}

static void report_quant(json *j, const qnnrt_quant *quant)
{
    if (quant->encoding == QNNRT_ENCODING_NONE) {
        json_string(j, "quantization", NULL);
        return;
    }
    json_open(j, "quantization", '{', 1);
    if (quant->encoding == QNNRT_ENCODING_PER_TENSOR) {
        json_string(j, "encoding", "per_tensor");
        json_float(j, "scale", quant->scale);
        json_int(j, "offset", quant->offset);
    } else if (quant->encoding == QNNRT_ENCODING_PER_AXIS) {
        json_string(j, "encoding", "per_axis");
        json_int(j, "axis", quant->axis);
        json_open(j, "scales", '[', 1);
        for (uint32_t i = 0; i < quant->count; ++i) json_float(j, NULL, quant->scales[i]);
        json_close(j);
        json_open(j, "offsets", '[', 1);
        for (uint32_t i = 0; i < quant->count; ++i) json_int(j, NULL, quant->offsets != NULL ? quant->offsets[i] : 0);
        json_close(j);
    } else {
        json_string(j, "encoding", "other");
    }
    json_count(j, "vendor_encoding", quant->vendor_encoding);
    json_count(j, "bitwidth", quant->bitwidth);
    json_close(j);
}

#include "run_inspect.h"

static void report_model(const tool *t, json *j)
{
    if (t->model == NULL) {
        json_string(j, "model", NULL);
        return;
    }
    size_t count = 0;
    const qnnrt_context_info *contexts = qnnrt_contexts(t->model, &count);
    json_open(j, "model", '{', 0);
    json_string(j, "ctx_dir", t->set.ctx_dir);
    json_string(j, "system", qnnrt_get_system_path(t->model));
    json_open(j, "contexts", '[', 0);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_context_info *c = &contexts[i];
        json_open(j, NULL, '{', 0);
        json_string(j, "file", c->file);
        json_count(j, "bytes", c->file_bytes);
        json_string(j, "build_id", c->build_id);
        json_count(j, "backend_id", c->backend_id);
        json_count(j, "soc_model", c->soc_model);
        json_count(j, "dsp_arch", c->dsp_arch);
        json_open(j, "graphs", '[', 0);
        for (size_t g = 0; g < c->graph_count; ++g) json_string(j, NULL, c->graphs[g].name);
        json_close(j);
        if (t->set.command == COMMAND_INSPECT) report_metadata(j, c);
        json_count(j, "metadata_ns", c->metadata_ns);
        json_count(j, "create_ns", c->create_ns);
        json_string(j, "failure", c->failure != NULL ? c->failure->text : NULL);
        json_close(j);
    }
    json_close(j);
    if (t->set.profile != QNNRT_PROFILE_OFF) {
        const qnnrt_profile_event *events = qnnrt_events(t->model, &count);
        report_events(j, "context", events, count);
    }
    json_close(j);
}

static void report_slots(json *j, const job *from)
{
    json_open(j, "slots", '[', 0);
    for (size_t i = 0; i < from->info->slot_count; ++i) {
        const qnnrt_slot_info *slot = &from->info->slots[i];
        const qnnrt_tensor_info *tensor = slot->tensor;
        json_open(j, NULL, '{', 0);
        json_count(j, "slot", i);
        json_string(j, "address", slot->address);
        json_string(j, "name", tensor->name);
        json_string(j, "role", role_name(slot->role));
        json_string(j, "dtype", qnnrt_dtype_name(tensor->dtype));
        json_open(j, "dims", '[', 1);
        for (uint32_t d = 0; d < tensor->rank; ++d) json_count(j, NULL, tensor->dims[d]);
        json_close(j);
        json_count(j, "count", tensor->count);
        json_count(j, "bytes", tensor->bytes);
        report_quant(j, &tensor->quant);
        if (from->blocks[i] != NULL) json_count(j, "offset", from->blocks[i]->offset);
        else json_string(j, "offset", NULL);
        json_bool(j, "kept", from->blocks[i] != NULL && from->blocks[i]->kept);
        json_count(j, "first_step", slot->first);
        json_count(j, "last_step", slot->last);
        json_close(j);
    }
    json_close(j);
}

static void report_edges(json *j, const qnnrt_pipeline_info *info)
{
    json_open(j, "edges", '[', 0);
    for (size_t i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *edge = &info->edges[i];
        json_open(j, NULL, '{', 1);
        json_count(j, "from_step", edge->from_step);
        json_string(j, "from", edge->from->name);
        json_count(j, "to_step", edge->to_step);
        json_string(j, "to", edge->to->name);
        json_int(j, "slot", edge->slot);
        json_string(j, "reason", edge->reason);
        json_close(j);
    }
    json_close(j);
}

/* What --json has and --bind_plan_out has not. */
static void report_results(json *j, const job *from)
{
    json_open(j, "inputs", '[', 0);
    for (size_t i = 0; i < from->info->slot_count; ++i) {
        if (from->info->slots[i].role != QNNRT_ROLE_INPUT) continue;
        json_open(j, NULL, '{', 1);
        json_count(j, "slot", i);
        json_string(j, "file", from->input_files[i]);
        json_string(j, "data_type", from->input_files[i] == NULL ? NULL : from->input_floats[i] ? "float" : "native");
        json_close(j);
    }
    json_close(j);
    json_count(j, "prepare_ns", from->prepare_ns);
    json_count(j, "inferences_failed", from->exec_failed);
    if (from->exec_count > 0) {
        uint64_t min = 0, median = 0;
        min_and_median(from, &min, &median);
        json_count(j, "exec_min_ns", min);
        json_count(j, "exec_median_ns", median);
    } else {
        json_string(j, "exec_min_ns", NULL);
        json_string(j, "exec_median_ns", NULL);
    }
    json_open(j, "exec_ns", '[', 1);
    for (size_t i = 0; i < from->exec_count; ++i) json_count(j, NULL, from->exec_ns[i]);
    json_close(j);
    json_open(j, "outputs", '[', 0);
    for (size_t i = 0; i < from->written_count; ++i) {
        const output_file *file = &from->written[i];
        json_open(j, NULL, '{', 1);
        json_count(j, "inference", file->inference);
        json_int(j, "slot", file->slot);
        json_string(j, "data_type", file->form == FORM_FLOAT ? "float" : "native");
        json_count(j, "bytes", file->bytes);
        json_string(j, "file", file->path);
        json_close(j);
    }
    json_close(j);
}

static void report(const tool *t, page *p, int results)
{
    json writer;
    json *j = &writer;
    qnnrt_json_write_begin(j, json_to_page, p, 2);
    json_open(j, NULL, '{', 0);
    json_string(j, "qnnrt", qnnrt_version());
    if (results) {
        json_bool(j, "ok", !t->failed);
        json_string(j, "error", t->error);
    }
    report_backend(t, j);
    report_model(t, j);
    json_open(j, "pipelines", '[', 0);
    for (size_t i = 0; i < t->job_count; ++i) {
        const job *from = &t->jobs[i];
        json_open(j, NULL, '{', 0);
        json_string(j, "name", from->info->name);
        json_string(j, "asked", from->asked);
        json_string(j, "failure", from->info->failure);
        if (results) json_string(j, "error", from->error);
        json_open(j, "steps", '[', 0);
        for (size_t s = 0; s < from->info->step_count; ++s) {
            const qnnrt_step_info *step = &from->info->steps[s];
            json_open(j, NULL, '{', 1);
            json_count(j, "context", step->context);
            json_string(j, "file", qnnrt_contexts(step->model, NULL)[step->context].file);
            json_string(j, "graph", step->graph->name);
            json_close(j);
        }
        json_close(j);
        report_slots(j, from);
        report_edges(j, from->info);
        if (from->plan_info != NULL) {
            json_open(j, "plan", '{', 1);
            json_count(j, "peak", from->plan_info->peak);
            json_count(j, "bound", from->plan_info->bound);
            json_count(j, "naive", from->plan_info->naive);
            json_count(j, "align", from->plan_info->align);
            json_close(j);
        } else {
            json_string(j, "plan", NULL);
        }
        if (results) report_results(j, from);
        if (results && t->set.profile != QNNRT_PROFILE_OFF) report_events(j, "step", from->events, from->event_count);
        json_close(j);
    }
    json_close(j);
    json_close(j);
    qnnrt_json_write_end(j);
}

static void write_report(tool *t, const char *path, int results)
{
    page p = {NULL, 0, 0};
    if (path == NULL) return;
    report(t, &p, results);
    write_page(t, path, &p, 0);
    free(p.data);
}

#include "run_pictures.h"

/* =====================================================================================
   EXPLAIN                                                                     >>explain
   qnnrt-run explain: what is known about a vendor code or a line of a log.
   ===================================================================================== */

/* "0x1388    5000  QNN_CONTEXT_ERROR_INVALID_ARGUMENT" */
static void say_code(FILE *out, const qnnrt_explanation *e)
{
    fprintf(out, "0x%04x  %5u  %s", (unsigned)e->code, (unsigned)e->code,
            e->symbol[0] != '\0' ? e->symbol : "(FastRPC)");
}

static void explain_all(FILE *out)
{
    const qnnrt_explanation *e;
    for (size_t i = 0; (e = qnnrt_explanation_get(i)) != NULL; ++i) {
        if (e->text != NULL) {
            fprintf(out, "line  \"%s\"\n", e->text);
        } else {
            say_code(out, e);
            fprintf(out, "  %s\n", e->meaning);
        }
    }
}

static void explain_one(FILE *out, const qnnrt_explanation *e)
{
    if (e->text != NULL) fprintf(out, "line  \"%s\"", e->text);
    else say_code(out, e);
    fprintf(out, "\n  %s\n", e->meaning);
    if (e->text != NULL && e->code != 0) {
        fputs("  it comes with: ", out);
        say_code(out, e);
        fputc('\n', out);
    }
    for (size_t i = 0; i < 4 && e->causes[i] != NULL; ++i)
        fprintf(out, "  %s: %s\n", i == 0 ? "likely cause" : "or", e->causes[i]);
    fprintf(out, "  what helps: %s\n", e->fix);
}

/* The words are one text: a shell takes a pasted line apart. Returns the exit status. */
static int explain(FILE *out, int count, char **words)
{
    if (count == 0) {
        explain_all(out);
        return STATUS_OK;
    }
    if (count == 1 && strcmp(words[0], "--help") == 0) {
        print_help(out);
        return STATUS_OK;
    }
    char *all = text("%s", words[0]);
    for (int i = 1; i < count; ++i) {
        char *longer = text("%s %s", all, words[i]);
        free(all);
        all = longer;
    }
    const qnnrt_explanation *found = qnnrt_explain(all);
    if (found != NULL) {
        explain_one(out, found);
    } else {
        char *hex = text("0x%s", all), *name = shown(all);
        if (qnnrt_explain(hex) != NULL) fprintf(stderr, "qnnrt-run: there is no code %s, but 0x%s\n", name, name);
        else fprintf(stderr, "qnnrt-run: nothing is known about \"%s\"; \"qnnrt-run explain\" lists what is\n", name);
        free(name);
        free(hex);
    }
    free(all);
    return found != NULL ? STATUS_OK : STATUS_FAILED;
}

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

static void free_jobs(tool *t)
{
    for (size_t i = 0; i < t->job_count; ++i) {
        job *j = &t->jobs[i];
        for (size_t s = 0; s < j->info->slot_count; ++s) {
            free(j->files[s]);
            free(j->native_files[s]);
        }
        for (size_t w = 0; w < j->written_count; ++w) free(j->written[w].path);
        free(j->files);
        free(j->native_files);
        free(j->written);
        free((void *)j->blocks);
        free((void *)j->input_files);
        free(j->input_floats);
        free(j->folder);
        free(j->title);
        free(j->exec_ns);
        free_events(j);
        free(j->error);
        qnnrt_plan_destroy(j->plan);
    }
    free(t->jobs);
    t->jobs = NULL;
    t->job_count = 0;
}

static void close_all(tool *t)
{
    free_jobs(t);
    qnnrt_close(t->other);
    const qnnrt_result model = qnnrt_close(t->model);
    if (model != QNNRT_OK)
        fail(t, NULL, "closing the model: %s (--log_level error shows more)", qnnrt_result_name(model));
    const qnnrt_result backend = qnnrt_backend_close(t->backend);
    if (backend != QNNRT_OK)
        fail(t, NULL, "closing the backend: %s (--log_level error shows more)", qnnrt_result_name(backend));
}

#include "run_compile.h"

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
