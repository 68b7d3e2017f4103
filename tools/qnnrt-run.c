/* qnnrt-run - show, plan, run and compile QNN models, and explain error codes

       cc -std=c99 -O2 -I. -o qnnrt-run tools/qnnrt-run.c -ldl
       qnnrt-run inspect DIR --svg pipeline.svg
       qnnrt-run plan DIR --svg memory.svg
       qnnrt-run run DIR --backend_so libQnnHtp.so --input x=x.raw --output_dir OUT
       qnnrt-run compile A.dlc --output_dir OUT
       qnnrt-run explain 0x1388

   It uses only the public functions of qnnrt.h and qnnrt_json.h. `qnnrt-run --help` lists the
   options; each verb has its own --help.

   Names in context binaries may be hostile: cli_shown() turns control characters into \xNN, JSON is
   escaped, and a name becomes a file name only after safe_name().

   ROOMS    >>text >>options >>verbs >>main             cli.h: messages, files, options, help
            run_page.h: >>page >>json             run_profile.h: >>power >>profile
            run_open.h: >>open >>select           run_plan.h: >>plan
            run_guard.h: >>guard                  run_run.h: >>inputs >>outputs >>run
            run_inspect.h: >>facts >>inspect      run_report.h: >>report
            run_dump.h: >>dump                    run_diff.h: >>diff
            run_svg.h: >>svg >>groups             run_flow.h: >>flow >>dot
            run_arena.h: >>arena                  run_explain.h: >>explain
            run_compile.h: >>compile                                                             */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#define QNNRT_COMPOSE
#define QNNRT_PROFILE_LOG
#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_json.h"

#define CLI_NAME "qnnrt-run"
#include "cli.h"

#include <math.h>
#include <strings.h>
#include <time.h>

typedef enum command { COMMAND_RUN = 0, COMMAND_INSPECT, COMMAND_PLAN } command;

typedef enum number_form { FORM_NATIVE = 0, FORM_FLOAT, FORM_BOTH } number_form;

/* ---- what the command line says, and what becomes of it ---- */

typedef struct input_option {          /* --input [GRAPH:]NAME=FILE                        */
    const char *text;                  /* as on the command line                           */
    char       *name;                  /* the part before the last '=', GRAPH: included    */
    const char *file;
} input_option;

typedef struct compile_settings {
    const char *names, *binary_file;   /* --graph_name, --binary_file                      */
    uint32_t    arch, vtcm, level, hvx;
    int         fp16, share;
} compile_settings;

typedef struct settings {
    command         command;
    const char     *ctx_dir, *backend, *system, *plan_out, *output_dir, *json_file, *dot, *svg;
    const char     *profile_out;
    cli_list        files;             /* operands, and values of --retrieve_context       */
    cli_list        graphs, input_texts;
    input_option   *inputs;            /* [input_count], of .input_texts                   */
    size_t          input_count;
    qnnrt_log_level log_level;         /* 0: no log                                        */
    int             metadata;          /* a qnnrt_metadata                                 */
    uint32_t        align, soc_model, inferences;
    int             inspect, diff, unified;
    int             input_form, output_form;     /* a number_form                          */
    int             keep_going, read, guard, json;
    int             profile;           /* a qnnrt_profile_level                            */
    qnnrt_power_preset power;          /* QNNRT_POWER_CUSTOM: none                         */
    compile_settings compile;
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
    cli_file       log;                /* for --profile_out, written by the library */
} tool;

/* =====================================================================================
   TEXT                                                                           >>text
   Failures, lines for people, and file names.
   ===================================================================================== */

/* Report a failure and its hint (NULL: none), and keep the first one of the job and of the tool for
   --json. j may be NULL. */
CLI_FORMAT(4, 5) static void fail(tool *t, job *j, const char *hint, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *message = cli_text_list(format, list);
    va_end(list);
    fflush(t->out);
    cli_message(message, hint);
    t->failed = 1;
    if (t->error == NULL) t->error = cli_text("%s", message);
    if (j != NULL && j->error == NULL) j->error = message;
    else free(message);
}

static int is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* Count the documents that are to be written to standard output. names: the options, or NULL. */
static int documents_on_stdout(const settings *set, const char *names[6])
{
    const struct { const char *name; int wanted; } documents[6] = {
        {"--json", set->json}, {"--bind_plan_out -", is_stdout(set->plan_out)},
        {"--json_file -", is_stdout(set->json_file)}, {"--dot -", is_stdout(set->dot)},
        {"--svg -", is_stdout(set->svg)}, {"--profile_out -", is_stdout(set->profile_out)}
    };
    int count = 0;
    for (size_t i = 0; i < 6; ++i) {
        if (!documents[i].wanted) continue;
        if (names != NULL) names[count] = documents[i].name;
        ++count;
    }
    return count;
}

/* Print a line for people. With a document on standard output there are none. */
static void say(const tool *t, const char *format, ...)
{
    if (documents_on_stdout(&t->set, NULL) > 0) return;
    va_list list;
    va_start(list, format);
    vfprintf(t->out, format, list);
    va_end(list);
}

/* Print an error that is a finding, not a failure, and its hint. */
static void say_error(const tool *t, const char *what, const qnnrt_error *err)
{
    say(t, "  %s: %s\n", what, err->text);
    if (err->hint[0] != '\0') say(t, "  hint: %s\n", err->hint);
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
        char *made = number == 0 ? cli_text("%s%s", base, suffix) : cli_text("%s_%u%s", base, number, suffix);
        size_t i = 0;
        while (i < count && (used[i] == NULL || strcasecmp(used[i], made) != 0)) ++i;
        if (i == count) return made;
        free(made);
    }
}

#include "run_page.h"
#include "run_profile.h"
#include "run_open.h"
#include "run_plan.h"
#include "run_guard.h"
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
   OPTIONS                                                                     >>options
   All options of all verbs in one table. A verb lists some of them in its help.
   ===================================================================================== */

enum { VERB_RUN = 1, VERB_INSPECT = 2, VERB_PLAN = 4, VERB_COMPILE = 8,
       VERBS_LOOK = VERB_INSPECT | VERB_PLAN, VERBS_MODEL = VERB_RUN | VERBS_LOOK };

static const char *const profile_words[] = {"off", "basic", "detailed", "optrace", NULL};
static const char *const metadata_words[] = {"all", "system", "json", NULL};
static const char *const form_words[] = {"native", "float", "both", NULL};
static const char *const input_form_words[] = {"native", "float", NULL};

/* Read --align: a power of two. */
static int take_align(void *at, const cli_option *o, const char *value)
{
    uint64_t number = 0;
    settings *set = at;
    if (!cli_number(value, 1u << 20, &number) || number == 0 || (number & (number - 1)) != 0)
        return cli_wrong_value(o, value, "a power of two from 1 to 1048576");
    set->align = (uint32_t)number;
    return STATUS_OK;
}

#define FIELD(member) .field = offsetof(settings, member)

static const cli_option options[] = {
    {.name = "ctx_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(ctx_dir), .verbs = VERB_RUN,
     .help = "folder of context binaries"},
    {.name = "retrieve_context", .value = "FILE", .kind = CLI_LIST, FIELD(files), .verbs = VERB_RUN,
     .help = "a context binary, instead of --ctx_dir; repeat the option for shards, in their order"},
    {.name = "backend_so", .alias = "backend", .value = "FILE", .kind = CLI_TEXT, FIELD(backend),
     .verbs = VERB_RUN,
     .help = "backend library that the binaries were made for: libQnnHtp.so, or libQnnRef.so for "
             "binaries made with it (default: libQnnHtp.so beside this program, else by the "
             "system's search). The first line of the output names the library that was loaded"},
    {.name = "system_so", .alias = "system_library", .value = "FILE", .kind = CLI_TEXT, FIELD(system),
     .verbs = VERBS_MODEL,
     .help = "libQnnSystem.so, which reads context binaries (default: the one beside the backend "
             "library, else by the system's search). It is not needed when every binary has its "
             "JSON. For binaries made with libQnnRef.so, name that library"},
    {.name = "soc_model", .value = "N", .kind = CLI_U32, .least = 1, .most = 65535, FIELD(soc_model),
     .verbs = VERB_RUN,
     .help = "chip that the HTP device is created for, such as 57 for SM8650 (default: the "
             "library's choice)"},
    {.name = "graph", .value = "NAME", .kind = CLI_LIST, FIELD(graphs), .verbs = VERBS_MODEL,
     .help = "pipeline, or GRAPH or CONTEXT/GRAPH, such as 0/prefill (default: all pipelines); "
             "repeat the option for several"},
    {.name = "input", .value = "[GRAPH:]NAME=FILE", .kind = CLI_LIST, FIELD(input_texts),
     .verbs = VERB_RUN,
     .help = "content of an input; FILE is the part after the last '='. Without GRAPH: it is for "
             "every pipeline that has this input. Inputs without a file are zero"},
    {.name = "input_data_type", .value = "native|float", .kind = CLI_WORD, .words = input_form_words,
     FIELD(input_form), .verbs = VERB_RUN,
     .help = "what input files hold: the tensor's own type, or float32 values (default native; a "
             "quantized or half-precision tensor then takes a float32 file too, if the sizes "
             "differ)"},
    {.name = "num_inferences", .value = "N", .kind = CLI_U32, .most = 1000000, FIELD(inferences),
     .verbs = VERB_RUN, .help = "how often to run each pipeline (default 1; 0: only show and plan)"},
    {.name = "output_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(output_dir), .verbs = VERB_RUN,
     .help = "write outputs to DIR/GRAPH/TENSOR.raw, or with several inferences to "
             "DIR/Result_N/GRAPH/TENSOR.raw (default: outputs are not written)"},
    {.name = "output_data_type", .value = "native|float|both", .kind = CLI_WORD, .words = form_words,
     FIELD(output_form), .verbs = VERB_RUN,
     .help = "what output files hold: the tensor's own type, float32 values, or both as "
             "TENSOR_native.raw and TENSOR.raw (default native)"},
    {.name = "bind_plan_out", .value = "FILE", .kind = CLI_TEXT, FIELD(plan_out), .verbs = VERBS_MODEL,
     .help = "write steps, slots, edges and the memory plan as JSON; - for standard output, which "
             "then holds nothing else"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERBS_MODEL,
     .help = "print the result as JSON instead of tables: the document of --bind_plan_out with "
             "times and files"},
    {.name = "profiling_level", .value = "off|basic|detailed|optrace", .kind = CLI_WORD,
     .words = profile_words, FIELD(profile), .verbs = VERB_RUN,
     .help = "print what the library measures while it loads and in the last inference: totals "
             "with basic, every node too with detailed; optrace (HTP) adds its trace to "
             "--profile_out (default off)"},
    {.name = "profile_out", .value = "FILE", .kind = CLI_TEXT, FIELD(profile_out), .verbs = VERB_RUN,
     .help = "write the profile of every inference: FILE.json for chrome://tracing and Perfetto, "
             "- for standard output, any other name for the log that the SDK's qnn-profile-viewer "
             "reads"},
    {.name = "perf_profile", .value = "NAME", .kind = CLI_POWER, FIELD(power), .verbs = VERB_RUN,
     .help = "power preset of the NPU: burst, sustained_high_performance, high_performance, "
             "balanced, low_balanced, high_power_saver, power_saver or low_power_saver (default: "
             "no preset is set)"},
    {.name = "align", .value = "N", .kind = CLI_OWN, .take = take_align,
     .verbs = VERB_RUN | VERB_PLAN,
     .help = "alignment of tensors in bytes, a power of two (default 64)"},
    {.name = "guard", .kind = CLI_FLAG, FIELD(guard), .verbs = VERB_RUN,
     .help = "put inaccessible pages around every tensor; when the backend reads or writes there, "
             "a message names the tensor and the program ends"},
    {.name = "read", .kind = CLI_FLAG, FIELD(read), .verbs = VERBS_MODEL,
     .help = "read files into memory instead of mapping them"},
    {.name = "inspect", .kind = CLI_FLAG, FIELD(inspect), .verbs = VERB_RUN,
     .help = "open no backend and run nothing: show the files, their wiring and the memory plan; "
             "see also qnnrt-run inspect"},
    {.name = "metadata", .value = "all|system|json", .kind = CLI_WORD, .words = metadata_words,
     FIELD(metadata), .verbs = VERBS_MODEL,
     .help = "where to read graphs and tensors from: libQnnSystem.so, the JSON beside the "
             "binaries, or both where both exist; then they must agree (default all)"},
    {.name = "json_file", .value = "FILE", .kind = CLI_TEXT, FIELD(json_file), .verbs = VERBS_MODEL,
     .help = "write the metadata as qnn-context-binary-utility does; - for standard output. For "
             "several binaries, FILE is a folder, which gets one file for each"},
    {.name = "unified", .kind = CLI_FLAG, FIELD(unified), .verbs = VERBS_MODEL,
     .help = "write --json_file in the flat form of --unified_qairt_format"},
    {.name = "diff", .kind = CLI_FLAG, FIELD(diff), .verbs = VERB_INSPECT,
     .help = "compare two models, each a folder or a file, and print a line for each difference; "
             "exit status 0: equal, 1: different, 2: a model could not be opened"},
    {.name = "svg", .value = "FILE", .kind = CLI_TEXT, FIELD(svg), .verbs = VERBS_MODEL,
     .help = "draw the pipelines, or with plan the memory, as a picture for a browser; - for "
             "standard output"},
    {.name = "dot", .value = "FILE", .kind = CLI_TEXT, FIELD(dot), .verbs = VERB_RUN | VERB_INSPECT,
     .help = "draw the pipelines for Graphviz; - for standard output"},
    {.name = "keep_going", .kind = CLI_FLAG, FIELD(keep_going), .verbs = VERBS_MODEL,
     .help = "continue after a shard, a pipeline or an inference has failed"},

    {.name = "output_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(output_dir), .verbs = VERB_COMPILE,
     .help = "folder for the files; it is created if it does not exist"},
    {.name = "graph_name", .value = "N1,N2", .kind = CLI_TEXT, FIELD(compile.names),
     .verbs = VERB_COMPILE,
     .help = "names of the graphs, in the order of the containers (default: the names in the "
             "containers); an empty name keeps the container's name: N1,,N3"},
    {.name = "binary_file", .value = "NAME", .kind = CLI_TEXT, FIELD(compile.binary_file),
     .verbs = VERB_COMPILE,
     .help = "name of the binary without .bin (default: the name of the first container)"},
    {.name = "backend_so", .alias = "backend", .value = "FILE", .kind = CLI_TEXT, FIELD(backend),
     .verbs = VERB_COMPILE,
     .help = "library that compiles, and that will run the binary (default: libQnnHtp.so beside "
             "this program, else by the system's search)"},
    {.name = "system_so", .value = "FILE", .kind = CLI_TEXT, FIELD(system), .verbs = VERB_COMPILE,
     .help = "libQnnSystem.so, which reads .dlc (default: the one beside the backend library). "
             "With libQnnRef.so it must be named"},
    {.name = "soc_model", .value = "N", .kind = CLI_U32, .least = 1, .most = 65535, FIELD(soc_model),
     .verbs = VERB_COMPILE,
     .help = "HTP: chip to compile for, such as 57 for SM8650 (default on x86-64: 57)"},
    {.name = "dsp_arch", .value = "N", .kind = CLI_U32, .least = 1, .most = 65535,
     FIELD(compile.arch), .verbs = VERB_COMPILE,
     .help = "HTP: NPU generation, such as 75 (default: that of the chip)"},
    {.name = "fp16", .kind = CLI_FLAG, FIELD(compile.fp16), .verbs = VERB_COMPILE,
     .help = "HTP: compute float32 graphs in half precision"},
    {.name = "optimization_level", .value = "N", .kind = CLI_U32, .least = 1, .most = 3,
     FIELD(compile.level), .verbs = VERB_COMPILE,
     .help = "HTP: 1 to 3 (default: the library's choice)"},
    {.name = "vtcm_mib", .value = "N", .kind = CLI_U32, .least = 1, .most = 1024,
     FIELD(compile.vtcm), .verbs = VERB_COMPILE,
     .help = "HTP: fast memory that a graph may use, in MiB (default: the library's choice)"},
    {.name = "hvx_threads", .value = "N", .kind = CLI_U32, .least = 1, .most = 64,
     FIELD(compile.hvx), .verbs = VERB_COMPILE,
     .help = "HTP: vector threads of a graph (default: the library's choice)"},
    {.name = "weight_sharing", .kind = CLI_FLAG, FIELD(compile.share), .verbs = VERB_COMPILE,
     .help = "HTP: store weights that graphs have in common once. Such a file runs on a device, "
             "but not on the x86-64 emulator"},

    {.name = "log_level", .value = "LEVEL", .kind = CLI_LEVEL, FIELD(log_level),
     .verbs = VERBS_MODEL | VERB_COMPILE,
     .help = "print log lines up to this level to standard error: 1 error, 2 warn, 3 info, "
             "4 verbose, 5 debug; by number or name (default: no log)"},
    {.name = "version", .kind = CLI_VERSION, .help = "print the version"},
    {.name = "help", .kind = CLI_HELP, .help = "print this help"}
};

/* True if the verb only looks at models. */
static int only_looks(const settings *set)
{
    return set->command != COMMAND_RUN || set->inspect;
}

/* Take "[GRAPH:]NAME=FILE" apart. */
static int check_inputs(settings *set)
{
    set->inputs = cli_alloc(set->input_texts.count, sizeof(*set->inputs));
    for (size_t i = 0; i < set->input_texts.count; ++i) {
        const char *text = set->input_texts.items[i], *equals = strrchr(text, '=');
        if (equals == NULL || equals == text || equals[1] == '\0')
            return cli_usage("Write --input NAME=FILE.", "--input takes [GRAPH:]NAME=FILE, not \"%s\"",
                             text);
        input_option *input = &set->inputs[set->input_count++];
        input->text = text;
        input->name = cli_text("%.*s", (int)(equals - text), text);
        input->file = equals + 1;
    }
    return STATUS_OK;
}

static int check_diff(const settings *set)
{
    if (set->command == COMMAND_PLAN)
        return cli_usage("Use qnnrt-run inspect --diff A B.", "--diff is not an option of plan");
    if (set->ctx_dir != NULL || set->files.count != 2)
        return cli_usage("Use qnnrt-run inspect --diff A B.",
                         "--diff takes two models, each a folder or a file");
    if (documents_on_stdout(set, NULL) > 0 || set->json_file != NULL || set->plan_out != NULL ||
        set->dot != NULL || set->svg != NULL)
        return cli_usage("Leave out the options that write documents.",
                         "--diff prints differences and nothing else");
    return STATUS_OK;
}

/* Check a word that is neither an option nor a verb. */
static int check_operand(const char *word, int first)
{
    static const char *const names[] = {"run", "inspect", "plan", "compile", "explain"};
    cli_near near = {word, strlen(word), NULL, 0};
    char *shown = cli_shown(word), *hint = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) cli_near_try(&near, names[i]);
    if (access(word, F_OK) == 0)
        hint = cli_text("Run it with qnnrt-run --%s %s, or look at it with qnnrt-run inspect %s.",
                        cli_is_folder(word) ? "ctx_dir" : "retrieve_context", shown, shown);
    else if (first && near.best != NULL)
        hint = cli_text("Use qnnrt-run %s.", near.best);
    if (first && access(word, F_OK) != 0)
        cli_usage(hint, "unknown verb \"%s\": known are run, inspect, plan, compile and explain", shown);
    else if (near.best != NULL && near.distance == 0)
        cli_usage("Write the verb as the first word.", "unexpected argument \"%s\"", shown);
    else
        cli_usage(hint, "unexpected argument \"%s\"", shown);
    free(shown);
    free(hint);
    return STATUS_USAGE;
}

/* Check options that depend on each other, for run, inspect and plan. */
static int check_model(settings *set, const cli_parsed *parsed, int first)
{
    static const char *const words[] = {"--inspect", "inspect", "plan"};
    const char *word = words[set->command], *documents[6];
    int status = check_inputs(set);
    if (status != STATUS_OK) return status;
    if (parsed->operand != NULL && !parsed->named && !set->diff) return check_operand(parsed->operand, first);
    if (set->diff) status = check_diff(set);
    if (status != STATUS_OK) return status;
    if (set->ctx_dir != NULL && set->files.count > 0)
        return cli_usage("Name the model once.", "--ctx_dir excludes --retrieve_context and other files");
    if (set->ctx_dir == NULL && set->files.count == 0)
        return set->command != COMMAND_RUN ? cli_usage(NULL, "%s takes a folder or files", word)
               : cli_usage("Name the model with --ctx_dir DIR.",
                           "the model is missing: --ctx_dir or --retrieve_context");
    if (only_looks(set)) {
        const char *given = set->input_count > 0                       ? "--input"
                            : set->output_dir != NULL                  ? "--output_dir"
                            : set->profile != QNNRT_PROFILE_OFF        ? "--profiling_level"
                            : set->power != QNNRT_POWER_CUSTOM         ? "--perf_profile"
                                                                       : NULL;
        if (given != NULL)
            return cli_usage("Use it with qnnrt-run run.", "%s runs nothing: it does not take %s", word,
                             given);
    }
    if (set->profile_out != NULL && set->profile == QNNRT_PROFILE_OFF)
        return cli_usage("Add --profiling_level basic, detailed or optrace.",
                         "--profile_out needs --profiling_level");
    if (only_looks(set) || set->diff) set->inspect = 1;
    if (set->inspect) set->inferences = 0;
    if (set->unified && set->json_file == NULL)
        return cli_usage("Add --json_file FILE.", "--unified needs --json_file");
    if (set->dot != NULL && set->command == COMMAND_PLAN)
        return cli_usage("Use --svg.", "--dot is not an option of plan");
    if (documents_on_stdout(set, documents) > 1)
        return cli_usage("Write one of them to a file.", "%s and %s both write to standard output",
                         documents[0], documents[1]);
    if (parsed->operand != NULL && set->files.count == 1 && cli_is_folder(set->files.items[0])) {
        set->ctx_dir = set->files.items[0];
        set->files.count = 0;
    }
    return STATUS_OK;
}

/* =====================================================================================
   VERBS                                                                         >>verbs
   What each verb does. Each returns the exit status; t->failed counts as well.
   ===================================================================================== */

static int verb_run(void *user)
{
    tool *t = user;
    if (t->set.diff) return run_diff(t);
    if (!open_model(t) || !select_jobs(t)) return STATUS_OK;
    for (size_t i = 0; i < t->job_count; ++i) {
        plan_job(t, &t->jobs[i]);
        say_job(t, &t->jobs[i]);
    }
    write_report(t, t->set.plan_out, 0);
    write_dumps(t);
    write_flow(t);
    write_dot(t);
    if (t->failed && !t->set.keep_going) return STATUS_OK;

    const int failed_before = t->failed;
    t->failed = 0;
    for (size_t i = 0; i < t->set.input_count; ++i) place_input(t, &t->set.inputs[i]);
    const int inputs_placed = !t->failed;
    t->failed |= failed_before;
    if (!inputs_placed) return STATUS_OK;        /* a wrong name is a wrong command, even with --keep_going */

    name_files(t);
    begin_profile(t);
    for (size_t i = 0; i < t->job_count && t->set.inferences > 0 && (!t->failed || t->set.keep_going); ++i)
        if (t->jobs[i].plan != NULL) run_job(t, &t->jobs[i]);
    end_profile(t);
    return STATUS_OK;
}

static int verb_inspect(void *user)
{
    tool *t = user;
    if (t->set.diff) return run_diff(t);
    if (!open_model(t)) return STATUS_OK;
    say_model(t);
    if (select_jobs(t))
        for (size_t i = 0; i < t->job_count; ++i) say_job(t, &t->jobs[i]);
    write_report(t, t->set.plan_out, 0);
    write_dumps(t);
    write_flow(t);
    write_dot(t);
    return STATUS_OK;
}

static int verb_plan(void *user)
{
    tool *t = user;
    if (!open_model(t) || !select_jobs(t)) return STATUS_OK;
    for (size_t i = 0; i < t->job_count; ++i) {
        plan_job(t, &t->jobs[i]);
        say_job(t, &t->jobs[i]);
        say_blocks(t, &t->jobs[i]);
    }
    write_report(t, t->set.plan_out, 0);
    write_dumps(t);
    write_arena(t);
    return STATUS_OK;
}

static const char *const run_examples[] = {
    "run model_dir --backend_so libQnnHtp.so --input x=x.raw --output_dir out",
    "--ctx_dir model_dir --input x=x.raw --output_dir out", NULL};
static const char *const inspect_examples[] = {
    "inspect model_dir --svg pipeline.svg", "inspect model_dir --json_file metadata/",
    "inspect --diff old_dir new_dir", NULL};
static const char *const plan_examples[] = {"plan model_dir --svg memory.svg", NULL};
static const char *const compile_examples[] = {
    "compile prompt.dlc token.dlc --graph_name prompt,token --output_dir out --soc_model 57", NULL};
static const char *const explain_examples[] = {"explain 0x1388", NULL};

#define LOOK_NOTES \
    "It takes one folder, or context binaries, or the JSON that qnn-context-binary-utility makes of " \
    "them (X_json.json belongs to X.bin). It opens no backend; with JSON for every binary it needs " \
    "no library at all."

static const cli_verb verbs[] = {
    {.name = "run", .usage = "DIR|FILE ... [options]", .examples = run_examples,
     .summary = "Run the pipelines of a model. The word run may be left out when --ctx_dir or "
                "--retrieve_context names the model.",
     .lists = VERB_RUN, .takes = VERBS_MODEL, .run = verb_run},
    {.name = "inspect", .usage = "FILE|DIR ... [options]", .examples = inspect_examples,
     .summary = "Show contexts, graphs, tensors, and how the graphs are wired.",
     .notes = LOOK_NOTES, .lists = VERB_INSPECT, .takes = VERBS_MODEL, .run = verb_inspect},
    {.name = "plan", .usage = "FILE|DIR ... [options]", .examples = plan_examples,
     .summary = "Show how much memory the tensors take, and where each one lies.",
     .notes = LOOK_NOTES, .lists = VERB_PLAN, .takes = VERBS_MODEL, .run = verb_plan},
    {.name = "compile", .usage = "A.dlc ... --output_dir DIR [options]", .examples = compile_examples,
     .summary = "Compile .dlc containers into one context binary with all their graphs, DIR/A.bin, "
                "and write its metadata to DIR/A_json.json.",
     .lists = VERB_COMPILE, .takes = VERB_COMPILE, .run = verb_compile},
    {.name = "explain", .usage = "[CODE|SYMBOL|LINE]", .examples = explain_examples,
     .summary = "Explain an error: a code, its symbol, or a pasted line of a log, with likely "
                "causes and a remedy. Without a word it lists all that it knows.",
     .raw = 1, .run = verb_explain}
};

static const cli_program program = {
    .summary = "Show, plan, run and compile models for QNN, and explain error codes.",
    .notes = "Each verb has its own help: qnnrt-run VERB --help.",
    .statuses = "Exit status: 0 everything succeeded, 1 something failed, 2 wrong usage. A pipeline "
                "that cannot be wired is a failure for run and plan, and a finding for inspect.",
    .verbs = verbs, .verb_count = sizeof(verbs) / sizeof(verbs[0]),
    .options = options, .option_count = sizeof(options) / sizeof(options[0]),
    .operands = 1, .operand_field = offsetof(settings, files)
};

/* =====================================================================================
   MAIN                                                                           >>main
   ===================================================================================== */

/* Check the options and do what the verb says. Returns the exit status; t->failed counts as well. */
static int perform(tool *t, const cli_parsed *parsed, int first)
{
    int status = STATUS_OK;
    const unsigned lists = parsed->verb->lists;
    if ((lists & VERBS_MODEL) != 0) {
        t->set.command = lists == VERB_INSPECT ? COMMAND_INSPECT : lists == VERB_PLAN ? COMMAND_PLAN : COMMAND_RUN;
        status = check_model(&t->set, parsed, first);
    }
    if (status != STATUS_OK) return status;
    status = parsed->verb->run(t);
    if ((lists & VERBS_MODEL) != 0 && !t->set.diff) write_report(t, t->set.json ? "-" : NULL, 1);
    close_all(t);
    return status;
}

int main(int argc, char **argv)
{
    tool t;
    cli_parsed parsed;
    memset(&t, 0, sizeof(t));
    t.out = cli_take_stdout();
    if (t.out == NULL) {
        perror(CLI_NAME ": cannot copy standard output");
        return STATUS_FAILED;
    }
    cli_catch_signals();
    t.set.inferences = 1;
    int status = cli_parse(&program, argc, argv, &t.set, t.out, &parsed);
    if (status == STATUS_OK && !parsed.answered)
        status = perform(&t, &parsed, parsed.operand != NULL && parsed.operand == argv[1]);
    for (size_t i = 0; i < t.set.input_count; ++i) free(t.set.inputs[i].name);
    free(t.set.inputs);
    free((void *)t.set.files.items);
    free((void *)t.set.graphs.items);
    free((void *)t.set.input_texts.items);
    free(t.error);
    if (!cli_close_stdout(t.out) && status == STATUS_OK) status = STATUS_FAILED;
    return status != STATUS_OK ? status : t.failed ? STATUS_FAILED : STATUS_OK;
}
