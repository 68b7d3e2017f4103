/* qnnrt-run - show, run, measure, compare and compile QNN models, and find what is wrong with them

       cc -std=c99 -O2 -I. -o qnnrt-run tools/qnnrt-run.c -ldl -lm -pthread
       qnnrt-run inspect DIR --svg pipeline.svg
       qnnrt-run plan DIR --svg memory.svg
       qnnrt-run run DIR --backend_so libQnnHtp.so --input x=x.raw --output_dir OUT
       qnnrt-run compile A.dlc --output_dir OUT
       qnnrt-run compile model.json --weights model.safetensors --output_dir OUT
       qnnrt-run doctor libs/arm64-v8a model_dir
       qnnrt-run bench DIR OTHER_DIR --backend_so libQnnHtp.so
       qnnrt-run explain 0x1388
       qnnrt-run extract model.pte --output_dir OUT
       qnnrt-run ops Conv2d

   It uses only the public functions of qnnrt.h, qnnrt_json.h, qnnrt_weights.h, qnnrt_ir.h,
   qnnrt_lower.h and qnnrt_cache.h. `qnnrt-run --help` lists the verbs; each verb has its own
   --help with its options.

   Names in context binaries may be hostile: cli_shown() turns control characters into \xNN, JSON is
   escaped, and a name becomes a file name only after safe_name().

   ROOMS    >>text >>verbs >>main                 cli.h: messages, files, options, help
            run_options.h: >>options              run_compile.h: >>compile
            run_page.h: >>page >>json             run_profile.h: >>power >>profile
            run_open.h: >>open >>select           run_plan.h: >>plan
            run_guard.h: >>guard                  run_run.h: >>outputs >>run
            run_list.h: >>lists                   run_feed.h: >>inputs >>selections >>feed
            run_inspect.h: >>facts >>inspect      run_report.h: >>report
            run_dump.h: >>dump                    run_diff.h: >>diff
            run_svg.h: >>svg >>groups             run_stages.h: >>stages
            run_flow.h: >>flow >>dot
            run_arena.h: >>arena                  run_explain.h: >>explain
            run_elf.h: >>elf >>marks              run_libs.h: >>libs >>pairs
            run_findings.h: >>findings >>child    run_device.h: >>device
            run_health.h: >>origin >>health
            run_doctor.h: >>loaded >>execute >>report_file >>doctor
            run_change.h: >>change                run_step.h: >>steps
            run_manifest.h: >>hashes >>manifest   run_aten.h: >>aten
            run_describe.h: >>describe
            run_verify.h: >>guess >>verify        run_fate.h: >>fate
            run_calibrate.h: >>calibration >>histogram >>calibrate
            run_encodings.h: >>read_encodings >>write_encodings
            run_progress.h: >>progress            run_chart.h: >>chart
            run_small.h: >>small                  run_decoder.h: >>decoder
            run_tokenizer.h: >>tokenizer
            run_packages.h: >>packages >>op_map   run_cache.h: >>cache
            run_kv.h: >>kv                        run_mixed.h: >>mixed >>choices
            run_pair.h: >>pair                    run_measure.h: >>numbers >>measure >>limits
            run_compared.h: >>compared            run_values.h: >>values >>value_files
            run_costs.h: >>costs >>saved >>lines  run_flame.h: >>flame
            run_summary.h: >>summary              run_html.h: >>html
            run_card.h: >>card >>report_verb
            run_samples.h: >>samples >>rivals     run_bench.h: >>lanes >>bench
            run_race.h: >>racer >>race
            run_capture.h: >>ports >>capture      run_captured.h: >>manifest_of >>captured
            run_replay.h: >>replay                run_results.h: >>items >>results
            run_compare.h: >>compare              run_extract.h: >>archive >>extract
            run_zip.h: >>span >>inflate >>zip
            run_ops.h: >>operators                run_op_data.h: >>op_data
            run_carriers.h: >>pieces >>flatbuffer >>pte >>epcontext >>dlc
            run_config.h: >>config_file           run_digest.h: >>digest >>watch                  */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#define QNNRT_IMPLEMENTATION
#define QNNRT_EXPLAIN_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#define QNNRT_PROFILE_IMPLEMENTATION
#define QNNRT_DEVICE_IMPLEMENTATION
#define QNNRT_WEIGHTS_IMPLEMENTATION
#define QNNRT_IR_IMPLEMENTATION
#define QNNRT_LOWER_IMPLEMENTATION
#define QNNRT_LLM_GRAPH_IMPLEMENTATION
#define QNNRT_CACHE_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#define QNNRT_MANIFEST_IMPLEMENTATION
#define QNNRT_SHA256_IMPLEMENTATION
#define QNNRT_PARTITION_IMPLEMENTATION
#define QNNRT_CPU_FALLBACK_IMPLEMENTATION
#define QNNRT_COMPILE_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "qnnrt_json.h"
#include "qnnrt_profile.h"
#include "qnnrt_device.h"
#include "qnnrt_convert.h"
#include "qnnrt_explain.h"
#include "qnnrt_manifest.h"
#include "qnnrt_sha256.h"
#include "qnnrt_compile.h"
#include "qnnrt_llm_graph.h"
#include "qnnrt_cache.h"
#include "qnnrt_quirks.h"

#define CLI_NAME "qnnrt-run"
#include "cli.h"
const char cli_name[] = CLI_NAME;

#include <math.h>
#include <pthread.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

typedef enum command { COMMAND_RUN = 0, COMMAND_INSPECT, COMMAND_PLAN } command;

/* Bits of the verbs, for cli_option.verbs. VERBS_PAIR take two models; VERBS_FEED fill the inputs
   of a model and execute it; VERBS_OPEN open one on its backend. */
enum { VERB_RUN = 1, VERB_INSPECT = 2, VERB_PLAN = 4, VERB_COMPILE = 8,
       VERB_DOCTOR = 32, VERB_BENCH = 64, VERB_COMPARE = 128, VERB_CAPTURE = 256,
       VERB_REPLAY = 512, VERB_PROFILE = 1024, VERB_EXTRACT = 2048, VERB_REPORT = 4096,
       VERB_OPS = 8192, VERB_EXPLAIN = 16384,
       VERBS_LOOK = VERB_INSPECT | VERB_PLAN, VERBS_MODEL = VERB_RUN | VERBS_LOOK,
       VERBS_PAIR = VERB_BENCH | VERB_COMPARE,
       VERBS_FEED = VERB_RUN | VERBS_PAIR | VERB_CAPTURE | VERB_PROFILE | VERB_REPORT,
       VERBS_OPEN = VERBS_FEED | VERB_REPLAY };

#define FIELD(member) .field = offsetof(settings, member)

typedef enum number_form { FORM_NATIVE = 0, FORM_FLOAT, FORM_BOTH } number_form;
enum { OUTPUT_RAW = 0, OUTPUT_NPY, OUTPUT_SAFETENSORS };   /* settings.output_file */

/* ---- settings, and the state of each pipeline ------------------- */

typedef struct input_option {          /* --input [GRAPH:]NAME=FILE                        */
    const char *text;                  /* as on the command line                           */
    char       *name;                  /* the part before the last '=', GRAPH: included;
                                          NULL: there is none, the only input              */
    const char *file;
} input_option;

enum { COMPILE_LENGTHS = 8 };          /* most lengths of --context */

typedef struct compile_settings {
    const char *names, *binary_file;   /* --graph_name, --binary_file                      */
    const char *report;
    uint32_t    arch, vtcm, level, hvx;
    int         fp16, share;
    cli_list    weights;               /* from here: graphs in ATen operators              */
    int         io;                    /* index in io_words, -1: not given                 */
    int         fp32;
    uint32_t    positions, contexts;
    double      rope_base, tolerance;
    const char *backends;              /* --backends A,B,host                              */
    cli_list    pins, speeds;
    int         state_policy;          /* index in state_words                             */
    int         explain, no_ask, no_validate;
    uint32_t    verify;                /* runs of --verify                                 */
    int         verify_nodes;          /* index in node_words                              */
    uint32_t    weight_bits, weight_block;
    int         weight_emulate;
    int         weight_method;         /* index in method_words                            */
    cli_list    keep_weights;          /* patterns                                         */
    uint32_t    prefill, decode;       /* from here: language models; UINT32_MAX: not given */
    uint32_t    shards;                /* 0: not given                                     */
    uint32_t    lengths[COMPILE_LENGTHS];        /* [length_count] --context              */
    size_t      length_count;
    int         embedding;             /* index in embedding_words                         */
    int         outputs;               /* a qnnrt_llm_graph_outputs                          */
    uint32_t    lora_rank;             /* --lora RANK:PROJECTIONS; 0: not given            */
    const char *lora;
    const char *cache;                 /* --cache                                          */
    uint64_t    cache_limit;           /* MiB; 0: the default                              */
    int         cache_list, cache_clear;
    int         kv_rows;
    int32_t     eos[QNNRT_LLM_GRAPH_EOS];        /* [eos_count]                            */
    size_t      eos_count;
    cli_list    calibrate;
    const char *calibrate_so;
    const char *calibrate_method;      /* see range_method_of()                            */
    const char *encodings, *write_encodings;
    uint32_t    act_bits;
    const char *op_map;                /* --op_map                                         */
} compile_settings;

enum { DIMS_MOST = 32 };
typedef struct dims_option {           /* --dims NAME=1x5x8                                */
    const char *text;
    char       *name;
    uint32_t    dims[DIMS_MOST], rank;
} dims_option;

typedef struct doctor_settings {
    uint32_t    arch, page_size;       /* 0: not given                                     */
    uint32_t    limit_s;               /* of a child; 0: not given                         */
    int         platform;              /* index in platform_words                          */
    int         no_load, run;
    const char *root, *report;
} doctor_settings;

typedef struct profile_settings {
    const char *against, *save, *svg;
    uint32_t    inferences, top;
    int         level;                 /* index in level_words                             */
} profile_settings;

typedef struct card_settings {
    const char *output, *costs;
    int         run;
} card_settings;

enum { ROLES_MOST = CLI_ROLES };

typedef struct bench_settings {
    uint32_t warmups, calls, threads, rounds, sittings;      /* rounds 0: not given            */
    double   duration, rate, least;    /* least: percent; 0: not given                         */
    const char *csv;
    cli_list samples, other_env;
} bench_settings;

typedef struct run_settings {
    const char *lists;                 /* --input_list                                     */
    const char *native_inputs;         /* --native_input_tensor_names                      */
    const char *output_tensors;        /* --set_output_tensors                             */
    uint32_t    keep_outputs;          /* UINT32_MAX: all                                  */
    uint32_t    batch;                 /* --batch_multiplier; 0: not given                 */
    double      duration;              /* s; 0: not given                                  */
    const char *config;                /* --config_file                                    */
    uint32_t    rpc_latency_us, rpc_polling_us;  /* of --config_file; 0: not given         */
    int         inferences_given, native_in, native_out, validate, synchronous, quiet, watch;
} run_settings;

typedef struct pair_settings {         /* what side B has instead; 0: as side A            */
    const char *backend, *system;
    cli_role    roles[ROLES_MOST];     /* [role_count] --other_backend_so ROLE=FILE        */
    size_t      role_count;
    uint32_t    soc_model;
} pair_settings;

typedef struct compare_settings {
    cli_list tolerances, dtypes;       /* --tolerance, --dtype                             */
    int      histogram;
} compare_settings;

/* Words of qnnrt_device_memory(). */
enum { MEMORY_HEAP, MEMORY_SHARED };
static const char *const memory_words[] = {"heap", "shared", "rpcmem", "dmabuf", "memfd", NULL};

typedef struct settings {
    command         command;
    const char     *ctx_dir, *backend, *system, *plan_out, *output_dir, *json_file, *dot, *svg;
    const char     *profile_out;
    cli_role        roles[ROLES_MOST]; /* --backend_so ROLE=FILE                           */
    size_t          role_count;
    cli_list        packages;          /* --op_package                                     */
    cli_list        files;             /* operands, and values of --retrieve_context       */
    cli_list        graphs, input_texts;
    input_option   *inputs;            /* [input_count], of .input_texts                   */
    const char     *input_others;      /* "random:7", for inputs without a file; or NULL   */
    size_t          input_count;
    cli_list        dims_texts, omits;
    dims_option    *dims;              /* [dims_count], of .dims_texts                     */
    size_t          dims_count;
    qnnrt_log_level log_level;         /* 0: no log                                        */
    int             metadata;          /* a qnnrt_metadata                                 */
    uint32_t        align, soc_model, inferences;
    int             inspect, diff, unified, svg_layout;
    int             input_form, output_form;     /* a number_form                          */
    int             output_file;       /* OUTPUT_RAW, ...                                  */
    int             keep_going, read, guard, no_zero, per_tensor, json, manifest, no_manifest;
    int             memory;            /* of memory_words */
    int             profile;           /* a qnnrt_profile_level                            */
    qnnrt_power_preset power;          /* QNNRT_POWER_CUSTOM: none                         */
    qnnrt_residency residency;
    uint64_t        resident_bytes;    /* 0: one context                                   */
    int             resident_given, share_spill_fill, progress;
    compile_settings compile;
    doctor_settings  doctor;
    run_settings     run;
    pair_settings    pair;
    bench_settings   bench;
    compare_settings compare;
    profile_settings profiling;
    card_settings    card;
} settings;

typedef struct output_file {
    uint32_t    inference;
    const qnnrt_slot *slot;
    number_form form;
    uint64_t    bytes;
    char       *path;
} output_file;

typedef struct lost_values {           /* of a conversion */
    size_t   step;
    uint64_t lost, lost_ever;
} lost_values;

typedef struct job {                   /* one pipeline that is to run */
    const qnnrt_pipeline      *pipeline;
    const qnnrt_pipeline_info *info;
    const char                *asked;          /* the text of --graph, or NULL */
    char                      *title;          /* for messages: the name, and the text of --graph */
    qnnrt_plan                *plan;           /* NULL: the pipeline cannot run, .error says why */
    const qnnrt_plan_info     *plan_info;
    const qnnrt_plan_block   **blocks;         /* [slot_count], NULL: not planned */
    const char               **names;          /* [slot_count] the program's, NULL: none */
    const qnnrt_place_desc   **places;         /* [slot_count], NULL: in no buffer */
    const char               **input_files;    /* [slot_count], NULL: not given */
    int                       *input_floats;   /* [slot_count], 1: the file was float32 */
    char                      *folder;         /* file name made of the pipeline's name */
    char                     **files;          /* [slot_count] <tensor>.raw of each output */
    char                     **native_files;   /* [slot_count] <tensor>_native.raw, with "both" */
    output_file               *written;
    size_t                     written_count, written_room;
    uint64_t                   prepare_ns;
    const char                *memory;         /* kind of its memory; NULL: --memory is not given */
    char                      *memory_reason;  /* why it is not shared, or "" */
    size_t                     tensor_count, registered_count;
    lost_values               *conversions;    /* [conversion_count] */
    size_t                     conversion_count;
    uint64_t                  *exec_ns;        /* [exec_count] of the inferences that succeeded */
    size_t                     exec_count, exec_room, exec_failed;
    struct input_list         *list;           /* of --input_list, NULL: none */
    unsigned char             *native_slots;   /* [slot_count] 1: its files are native */
    unsigned char             *written_slots;  /* [slot_count] 1: written though it is no output */
    struct digest             *digests;        /* [digest_count] of the last inference */
    size_t                     digest_count;
    uint64_t                   watched_ns;     /* when --watch printed last; 0: not yet */
    char                     **gathered;       /* [slot_count] outputs of --batch_multiplier */
    qnnrt_profile_event       *events;         /* [event_count] of the last inference */
    size_t                     event_count;
    double                    *samples;        /* [sample_count][event_count] of every inference */
    size_t                     sample_count;
    char                      *error;          /* the first error, or NULL */
} job;

/* Text that grows. */
typedef struct page {
    char  *data;
    size_t used, room;
} page;

typedef qnnrt_json_writer json;

typedef struct left_out {              /* what --keep_going leaves out, and why            */
    char *file, *pipeline;             /* one of them is NULL                              */
    char *reason;
} left_out;

typedef struct tool {
    settings       set;
    const cli_parsed *parsed;          /* the command line */
    int            sampling;           /* 1: keep the events of every inference */
    const cli_given *given;            /* [given_count] options on the command line */
    size_t         given_count;
    FILE          *out;                /* standard output, without libraries */
    int            failed, different;
    char          *error, *error_hint; /* the first error, or NULL           */
    qnnrt_backend *backend;            /* NULL: the model opens its own      */
    qnnrt_backend *roles[ROLES_MOST];  /* of set.roles, likewise             */
    qnnrt_manifest *model, *other;     /* other: the second model of --diff  */
    qnnrt_profile *loading;            /* of both, NULL: not measured        */
    qnnrt_cpu_fallback    *hosts[2];   /* [host_count] steps of the folders that were opened */
    size_t         host_count;
    job           *jobs;
    size_t         job_count;
    struct input_list *lists;          /* [list_count] of --input_list       */
    size_t         list_count;
    left_out      *left;
    size_t         left_count, left_room;
    qnnrt_power_report power;
    cli_choice     choice;             /* of the libraries                   */
    const char    *backend_option;     /* that names its library; NULL: --backend_so */
    page           trace;              /* for --profile_out, written by trace_writer */
    json           trace_writer;
    uint64_t       trace_begin_ns;
    char         **wrote;              /* [wrote_count] files that were written */
    size_t         wrote_count, wrote_room;
    cli_file       log;                /* for --profile_out, written by the library */
    int            folder;             /* compile: --output_dir, open and locked; or 0 */
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
    cli_put_end(t->out);
    cli_message(message, hint);
    t->failed = 1;
    if (t->error == NULL) {
        t->error = cli_text("%s", message);
        t->error_hint = cli_text("%s", hint != NULL ? hint : "");
    }
    if (j != NULL && j->error == NULL) j->error = message;
    else free(message);
}

/* Note a file, or a pipeline, that is left out; say_left() lists them. The other name is NULL. */
static void leave_out(tool *t, const char *file, const char *pipeline, const char *reason)
{
    t->left = cli_grow(t->left, t->left_count, &t->left_room, sizeof(*t->left));
    left_out *left = &t->left[t->left_count++];
    left->file = file != NULL ? cli_text("%s", file) : NULL;
    left->pipeline = pipeline != NULL ? cli_text("%s", pipeline) : NULL;
    left->reason = cli_text("%s", reason);
}

static int is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

enum { DOCUMENTS = 13 };               /* that may go to standard output */

/* Count the documents for standard output. names receives their options; it may be NULL. */
static int documents_on_stdout(const settings *set, const char *names[DOCUMENTS])
{
    const struct { const char *name; int wanted; } documents[DOCUMENTS] = {
        {"--json", set->json}, {"--bind_plan_out -", is_stdout(set->plan_out)},
        {"--json_file -", is_stdout(set->json_file)}, {"--dot -", is_stdout(set->dot)},
        {"--svg -", is_stdout(set->svg)}, {"--profile_out -", is_stdout(set->profile_out)},
        {"--manifest", set->manifest}, {"--report -", is_stdout(set->compile.report)},
        {"--svg -", is_stdout(set->profiling.svg)}, {"--save -", is_stdout(set->profiling.save)},
        {"--output -", is_stdout(set->card.output)},
        {"--report -", is_stdout(set->doctor.report)}, {"--csv -", is_stdout(set->bench.csv)}
    };
    int count = 0;
    for (size_t i = 0; i < DOCUMENTS; ++i) {
        if (!documents[i].wanted) continue;
        if (names != NULL) names[count] = documents[i].name;
        ++count;
    }
    return count;
}

/* Print lines for people, in which names may be hostile. When a document goes to standard output,
   print nothing. */
static void say(const tool *t, const char *format, ...)
{
    if (t->set.run.quiet || documents_on_stdout(&t->set, NULL) > 0) return;
    va_list list;
    va_start(list, format);
    char *text = cli_text_list(format, list), *shown = cli_shown_text(text, 2);
    va_end(list);
    cli_put(t->out, shown);
    free(text);
    free(shown);
}

/* Print a text as say() does, with the first `word` in a tone where colours are wanted. */
static void say_marked(const tool *t, cli_tone tone, const char *word, const char *text)
{
    if (t->set.run.quiet || documents_on_stdout(&t->set, NULL) > 0) return;
    char *shown = cli_shown_text(text, 2), *at = tone != CLI_PLAIN ? strstr(shown, word) : NULL;
    const size_t bytes = at != NULL ? (size_t)(at - shown) : strlen(shown);
    char *whole = cli_text("%.*s%s%s%s%s", (int)bytes, shown,
                           at != NULL ? cli_tone_text(t->out, tone) : "", at != NULL ? word : "",
                           at != NULL ? cli_tone_text(t->out, CLI_PLAIN) : "",
                           at != NULL ? at + strlen(word) : "");
    cli_put(t->out, whole);
    free(shown);
    free(whole);
}

/* Print an error and its hint, but do not count it as a failure. */
static void say_error(const tool *t, const char *what, const qnnrt_error *err)
{
    say(t, "  %s: %s\n", what, cli_told(err));
    if (err->hint[0] != '\0') say(t, "  hint: %s\n", cli_hint(err));
}

/* List what --keep_going left out. Without it nothing ran, and the failures say why. */
static void say_left(const tool *t)
{
    if (!t->set.keep_going || t->left_count == 0) return;
    say(t, "\nleft out\n");
    for (size_t i = 0; i < t->left_count; ++i) {
        const left_out *left = &t->left[i];
        char *name = cli_shown(left->file != NULL ? left->file : left->pipeline);
        say(t, left->file != NULL ? "  file %s: %s\n" : "  pipeline \"%s\": %s\n", name,
            left->reason);
        free(name);
    }
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* Return N of a name that is base_N with the suffix, 0 of base with the suffix, SIZE_MAX of others;
   case is ignored. */
static size_t name_number(const char *name, const char *base, const char *suffix)
{
    const size_t length = strlen(base);
    size_t number = 0;
    if (strncasecmp(name, base, length) != 0) return SIZE_MAX;
    name += length;
    if (name[0] == '_' && name[1] >= '1' && name[1] <= '9')
        for (++name; *name >= '0' && *name <= '9' && number < 100000000; ++name)
            number = 10 * number + (size_t)(*name - '0');
    return strcasecmp(name, suffix) == 0 ? number : SIZE_MAX;
}

/* Make a file name from a name in a context binary: only [A-Za-z0-9._-], not empty, without a
   leading dot, and different from used[count] also if case is ignored, as on storage cards. The
   caller frees it. */
static char *safe_name(const char *name, const char *suffix, char *const *used, size_t count)
{
    enum { LONGEST = 180 };                      /* with suffixes, below the usual limit of 255 */
    char base[LONGEST + 1];
    size_t length = 0;
    for (; name[length] != '\0' && length < LONGEST; ++length) {
        const char c = name[length];
        const int plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                          (c == '.' && length > 0);
        base[length] = plain ? c : '_';
    }
    if (length == 0) base[length++] = '_';
    base[length] = '\0';

    /* All numbers in one pass: thousands of hostile names may be equal. */
    unsigned char *taken = cli_alloc(count + 1, 1);
    size_t number = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t other = used[i] != NULL ? name_number(used[i], base, suffix) : SIZE_MAX;
        if (other <= count) taken[other] = 1;
    }
    while (taken[number]) ++number;
    free(taken);
    return number == 0 ? cli_text("%s%s", base, suffix)
                       : cli_text("%s_%lu%s", base, (unsigned long)number, suffix);
}

/* The parts, each after those whose functions it calls. A verb has its table of options in its own
   part; those of run, inspect, plan, compile and doctor are in run_options.h. A new verb needs rows
   in verbs[] and tables[] below, and a VERB_ bit and its settings above: options are offsets in the
   one struct settings, which is therefore complete before the first part. */
#include "run_page.h"
#include "run_step.h"
#include "run_profile.h"
#include "run_packages.h"
#include "run_open.h"
#include "run_plan.h"
#include "run_guard.h"
#include "run_values.h"
#include "run_change.h"
#include "run_list.h"
#include "run_feed.h"
#include "run_digest.h"
#include "run_run.h"
#include "run_pair.h"
#include "run_inspect.h"
#include "run_report.h"
#include "run_dump.h"
#include "run_describe.h"
#include "run_manifest.h"
#include "run_diff.h"
#include "run_costs.h"
#include "run_svg.h"
#include "run_stages.h"
#include "run_flow.h"
#include "run_arena.h"
#include "run_flame.h"
#include "run_html.h"
#include "run_op_data.h"
#include "run_ops.h"
#include "run_explain.h"
#include "run_findings.h"
#include "run_elf.h"
#include "run_libs.h"
#include "run_device.h"
#include "run_health.h"
#include "run_doctor.h"
#include "run_zip.h"
#include "run_carriers.h"
#include "run_extract.h"
#include "run_small.h"
#include "run_kv.h"
#include "run_aten.h"
#include "run_tokenizer.h"
#include "run_decoder.h"
#include "run_fate.h"
#include "run_chart.h"
#include "run_progress.h"
#include "run_verify.h"
#include "run_calibrate.h"
#include "run_encodings.h"
#include "run_mixed.h"
#include "run_compile.h"
#include "run_measure.h"
#include "run_compared.h"
#include "run_capture.h"
#include "run_captured.h"
#include "run_replay.h"
#include "run_results.h"
#include "run_compare.h"
#include "run_config.h"
#include "run_options.h"
#include "run_samples.h"
#include "run_bench.h"
#include "run_race.h"
#include "run_summary.h"
#include "run_card.h"

/* =====================================================================================
   VERBS                                                                         >>verbs
   What each verb does. Each returns the exit status; t->failed counts as well.
   ===================================================================================== */

static int verb_run(void *user)
{
    tool *t = user;
    if (t->set.diff) return run_diff(t);
    if (!read_lists(t) || !check_before_loading(t)) return STATUS_OK;
    if (!open_model(t) || !select_jobs(t)) return STATUS_OK;
    if (t->set.run.validate) say_valid(t);
    for (size_t i = 0; i < t->job_count; ++i) {
        plan_job(t, &t->jobs[i]);
        say_job(t, &t->jobs[i]);
    }
    write_report(t, t->set.plan_out, 0);
    write_dumps(t);
    write_flow(t);
    write_dot(t);
    if (t->failed && !t->set.keep_going) return STATUS_OK;

    run_jobs(t);
    if (t->set.resident_given) say_device(t);
    return STATUS_OK;
}

static int verb_profile(void *user)
{
    return run_profile(user);
}

static int verb_inspect(void *user)
{
    tool *t = user;
    if (t->set.diff) return run_diff(t);
    if (!open_model(t)) return STATUS_OK;
    say_model(t);
    if (select_jobs(t))
        for (size_t i = 0; i < t->job_count; ++i) say_job(t, &t->jobs[i]);
    if (t->set.manifest) write_manifest(t);
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
    "inspect --diff old_dir new_dir", "inspect model_dir --manifest >program.json", NULL};
static const char *const plan_examples[] = {"plan model_dir --svg memory.svg", NULL};
static const char *const compile_examples[] = {
    "compile prompt.dlc token.dlc --graph_name prompt,token --output_dir out --soc_model 57",
    "compile model.json --weights model.safetensors --backend_so libQnnHtp.so --output_dir out",
    "compile Qwen3-0.6B --context 1024 --shards 2 --output_dir out",
    NULL};
static const char *const report_examples[] = {
    "report model_dir --output report.html",
    "report model_dir --output report.html --run --backend_so libQnnHtp.so", NULL};
static const char *const profile_examples[] = {
    "profile model_dir --backend_so libQnnHtp.so --save before.json --svg costs.svg",
    "profile model_dir --against before.json", "profile before.json after.json", NULL};
static const char *const doctor_examples[] = {
    "doctor model_dir --backend_so libs/libQnnHtp.so --report doctor.txt",
    "doctor app/src/main/jniLibs/arm64-v8a model_dir --platform android", NULL};
static const char *const compare_examples[] = {
    "compare old_dir new_dir --backend_so libQnnHtp.so --input x=x.raw --tolerance 0.01",
    "compare model_dir --backend_so 2.47/libQnnHtp.so --other_backend_so 2.51/libQnnHtp.so",
    "compare out_dir expected_dir --ctx_dir model_dir", NULL};
static const char *const capture_examples[] = {
    "capture model_dir --backend_so libQnnHtp.so --input x=x.raw --output_dir captured", NULL};
static const char *const replay_examples[] = {
    "replay captured model_dir --backend_so libQnnRef.so --tolerance 0.02", NULL};
static const char *const ops_examples[] = {"ops", "ops Conv2d", NULL};
static const char *const extract_examples[] = {
    "extract model.pte", "extract model_ctx.onnx --output_dir model_dir", NULL};
static const char *const explain_examples[] = {"explain 0x1388", "explain --json", NULL};

#define LOOK_NOTES \
    "It takes one folder, or context binaries, or the JSON that qnn-context-binary-utility makes " \
    "of them (X_json.json belongs to X.bin). It opens no backend; with JSON for every binary it " \
    "needs no library at all."

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
    {.name = "compile", .usage = "A.dlc|A.json ...|MODEL_DIR|MODEL.gguf --output_dir DIR [options]",
     .examples = compile_examples,
     .summary = "Compile .dlc containers, or graphs of PyTorch in .json files with their weights, "
                "into one context binary with all their graphs, DIR/A.bin, and write its metadata "
                "to DIR/A_json.json.",
     .notes = "A .json file is a graph in ATen operators, as pytorch-ir writes it from "
              "torch.export. All graphs are .dlc containers, or all are .json files. MODEL_DIR is "
              "the folder of a language model, with config.json and .safetensors; MODEL.gguf is a "
              "file of llama.cpp (llama, qwen2, qwen3; F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, "
              "Q8_0, Q4_K, Q5_K, Q6_K): DIR is then a model for qnnrt-llm, with the tokenizer of a "
              "GGUF file as tokenizer.json. What is said here about folders is true of GGUF files. "
              "Blocks of quantized weights become floats; --weight_bits makes them small again.",
     .lists = VERB_COMPILE, .takes = VERB_COMPILE, .run = verb_compile},
    {.name = "doctor", .usage = "[DIR ...] [options]", .examples = doctor_examples,
     .summary = "Look for what keeps a model from running: in folders of Qualcomm's libraries and "
                "of context binaries, in the backend library as it is loaded, and in the device. "
                "Each finding says what was looked at, what was found, and what to do.",
     .notes = "Each DIR is taken by what it holds: libraries, a model, or both; libraries of "
              "several folders are taken together. Nothing is executed without --run. Findings are "
              "ok, note (a fact, or a check that could not be made), warning (it may be intended) "
              "or fault (it keeps the model from running). Exit status: 0 no fault and no warning, "
              "1 a fault, 3 warnings only, 2 wrong usage.",
     .lists = VERB_DOCTOR, .takes = VERB_DOCTOR, .run = verb_doctor},
    {.name = "bench", .usage = "A [B] [options]", .examples = bench_examples,
     .summary = "Measure how long a model takes: each call, where its time goes, loading, memory. "
                "With two models, or one on two libraries, say whether B is faster, slower, or "
                "there is no difference.",
     .notes = "Times are those of qnnrt_exec(): all steps of a pipeline with conversions and host "
              "steps, but not reading inputs or writing outputs. A quantile is the least time that "
              "so many percent of the calls do not exceed, so p99.9 of fewer than 1,000 calls is "
              "their maximum; the median of an even number is between the two in the middle. Two "
              "sides are processes of their own and take turns in random order, in rounds of about "
              "5 ms whose median counts. The change is the Hodges-Lehmann estimate of the ratios, "
              "its interval that of the Wilcoxon signed-rank test with 99 percent confidence. "
              "\"No difference\" means: the interval has 0 percent, or the change is below "
              "--threshold.",
     .lists = VERB_BENCH, .takes = VERB_BENCH, .run = verb_bench},
    {.name = "profile", .usage = "DIR|FILE ... [options]", .examples = profile_examples,
     .summary = "Show what a model costs: what is loaded, and each pipeline with its steps, "
                "operators and nodes, sorted by time; or compare two such profiles.",
     .notes = "FILE.json is a saved profile: one is shown again, two are compared. Operators are "
              "read from the names of nodes. Nodes that the library measures in cycles share the "
              "time that the step took on the device.",
     .lists = VERB_PROFILE, .takes = VERB_PROFILE, .run = verb_profile},
    {.name = "compare", .usage = "A [B] [options]", .examples = compare_examples,
     .summary = "Execute two models, or one on two libraries, with equal inputs, and print how far "
                "each tensor of B is from that of A. Or compare two folders of values, or two "
                "captures.",
     .notes = "Pipelines and tensors are paired by name; one that is alone on both sides is paired "
              "whatever its name is. Inputs without a file are zero. The sums leave out pairs in "
              "which a value is NaN or infinite: they are equal if both are NaN or the same "
              "infinity, else beyond every tolerance. Without --resident the contexts of one side "
              "are freed before those of the other are created.",
     .lists = VERB_COMPARE, .takes = VERB_COMPARE, .run = verb_compare},
    {.name = "capture", .usage = "DIR|FILE --output_dir OUT [options]",
     .examples = capture_examples,
     .summary = "Execute each pipeline once, and write the inputs and outputs of every step, as "
                "files of raw bytes with a capture.json that describes them.",
     .notes = "When a step fails, its inputs and all that came before are written, and the exit "
              "status is 1. Constants of the model are not written.",
     .lists = VERB_CAPTURE, .takes = VERB_CAPTURE, .run = verb_capture},
    {.name = "replay", .usage = "CAPTURE [DIR|FILE] [options]", .examples = replay_examples,
     .summary = "Execute each captured graph alone with its captured inputs, on any backend that "
                "has a graph of this name, and name the first step that differs.",
     .notes = "The model is CAPTURE/model unless another is named. Where types differ, real "
              "values are compared. Without --tolerance nothing may differ on the library that "
              "was captured, and on another one 2 percent of the largest value of a tensor.",
     .lists = VERB_REPLAY, .takes = VERB_REPLAY, .run = verb_replay},
    {.name = "report", .usage = "DIR|FILE ... --output FILE [options]",
     .examples = report_examples,
     .summary = "Write the card of a model as one page of HTML: findings, contexts, wiring, "
                "tensors and memory of each pipeline, and with --run or --costs its times.",
     .notes = "The page has no scripts and loads nothing. Without --run no backend is opened.",
     .lists = VERB_REPORT, .takes = VERB_REPORT, .run = verb_report},
    {.name = "extract", .usage = "FILE ... [options]", .examples = extract_examples,
     .summary = "List the context binaries that a file carries, and write them with --output_dir: "
                "ExecuTorch's .pte, .onnx with EPContext nodes, and apk, aar, zip or .dlc with "
                "such files in them. Of a .dlc it lists the graphs.",
     .notes = "The parts of a model are named so that qnnrt-run run DIR takes them in their order. "
              "A file that an .onnx names must lie beside it. No file that exists is replaced.",
     .lists = VERB_EXTRACT, .takes = VERB_EXTRACT, .run = verb_extract},
    {.name = "ops", .usage = "[NAME ...] [options]", .examples = ops_examples,
     .summary = "Show operators: inputs, outputs and parameters with their types, which libraries "
                "compute them right for which types, and which nodes are known to go wrong. "
                "Without a name it lists all.",
     .lists = VERB_OPS, .takes = VERB_OPS, .run = verb_ops},
    {.name = "explain", .usage = "[CODE|SYMBOL|LINE]", .examples = explain_examples,
     .summary = "Explain an error: a code, its symbol, or a pasted line of a log, with likely "
                "causes and a remedy. Without a word it lists all that it knows.",
     .lists = VERB_EXPLAIN, .takes = VERB_EXPLAIN, .raw = 1, .run = verb_explain}
};

static const cli_table *const tables[] = {
    &model_table, &compile_table, &doctor_table, &pair_table, &compare_table, &explain_table,
    &profile_table, &card_table, &bench_table, &capture_table, &extract_table, &ops_table,
    &common_table
};

static const char *const program_examples[] = {
    "inspect model_dir", "run model_dir --input x=random:7", "doctor model_dir", NULL};

static const cli_program program = {
    .summary = "Show, run, measure, compare and compile models for QNN, and find what keeps them "
               "from running.",
    .examples = program_examples,
    .notes = "Each verb has its own options and examples: qnnrt-run VERB --help.",
    .statuses = "Exit status: 0 everything succeeded, 1 something failed, 2 wrong usage. A "
                "pipeline that cannot be wired is a failure for run and plan, and a finding for "
                "inspect.",
    .verbs = verbs, .verb_count = sizeof(verbs) / sizeof(verbs[0]),
    .tables = tables, .table_count = sizeof(tables) / sizeof(tables[0]),
    .operands = 1, .operand_field = offsetof(settings, files)
};

/* =====================================================================================
   MAIN                                                                           >>main
   ===================================================================================== */

/* Report a word where the program expects a verb or an option. Returns STATUS_USAGE. */
static int wrong_operand(const char *word, int first)
{
    if (strcmp(word, "libs") == 0)
        return cli_usage("Use qnnrt-run doctor DIR.", "unknown verb \"libs\"");
    if (access(word, F_OK) != 0 || cli_is_verb(&program, word))
        return cli_unknown_verb(&program, word, first);
    char *shown = cli_shown(word);
    char *hint = cli_text("Run it with qnnrt-run run %s, or look at it with qnnrt-run inspect %s.",
                          shown, shown);
    cli_usage(hint, "unexpected argument \"%s\"", shown);
    free(shown);
    free(hint);
    return STATUS_USAGE;
}

/* Choose the libraries that no option names, for the model of the command line. */
static void choose_for_verb(tool *t, unsigned lists)
{
    const settings *set = &t->set;
    const size_t at = lists == VERB_REPLAY && set->files.count > 1;
    const char *word = set->ctx_dir != NULL ? set->ctx_dir
                       : set->files.count > at ? set->files.items[at] : NULL;
    char *model = lists == VERB_REPLAY && at == 0 && word != NULL ? cli_text("%s/model", word)
                  : word != NULL ? cli_text("%s", word) : NULL;
    const char *none = "";
    if (lists == VERB_COMPILE ? set->compile.backends == NULL
                              : (lists & VERBS_OPEN) != 0 && !set->inspect)
        choose_libraries(t, lists == VERB_COMPILE ? NULL : model);
    else if ((lists & VERBS_MODEL) != 0) cli_choose(&t->choice, NULL, &none, &t->set.system);
    free(model);
}

/* Check the options and do what the verb says. Returns the exit status; t->failed counts as
   well. */
static int perform(tool *t, const cli_parsed *parsed, int first)
{
    int status = STATUS_OK;
    const unsigned lists = parsed->verb->lists;
    const int model = (lists & VERBS_MODEL) != 0;
    if (parsed->operand != NULL && !parsed->named && !t->set.diff)
        return wrong_operand(parsed->operand, first);
    if (!parsed->named && parsed->given_count == 0)
        return cli_usage("Look at a model with qnnrt-run inspect DIR, or run qnnrt-run --help.",
                         "a verb and a model are missing");
    t->set.command = lists == VERB_INSPECT ? COMMAND_INSPECT : lists == VERB_PLAN ? COMMAND_PLAN
        : COMMAND_RUN;
    if (model) status = check_model(&t->set, parsed);
    if (status == STATUS_OK) status = check_written(&t->set, parsed);
    if (status != STATUS_OK) return status;
    if (read_config(t, lists == VERB_COMPILE)) {
        choose_for_verb(t, lists);
        status = parsed->verb->run(t);
    }
    say_left(t);
    if (model && !t->set.diff) write_report(t, t->set.json ? "-" : NULL, 1);
    close_all(t);
    free_lists(t);
    cli_free_choice(&t->choice);
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
    t.trace_begin_ns = cli_now_ns();
    t.set.inferences = 1;
    t.set.profiling.inferences = 10;
    t.set.bench.calls = 100;
    t.set.bench.warmups = 3;
    t.set.bench.threads = 1;
    t.set.bench.sittings = 3;
    t.set.bench.least = 2;
    t.set.profiling.top = 15;
    t.set.run.keep_outputs = UINT32_MAX;
    t.set.compile.io = -1;
    t.set.compile.prefill = t.set.compile.decode = UINT32_MAX;
    int status = cli_parse(&program, argc, argv, &t.set, t.out, &parsed);
    t.parsed = &parsed;
    t.given = parsed.given;
    t.given_count = parsed.given_count;
    if (status == STATUS_OK && !parsed.answered)
        status = perform(&t, &parsed, parsed.operand != NULL && parsed.operand == argv[1]);
    for (size_t i = 0; i < t.set.input_count; ++i) free(t.set.inputs[i].name);
    free(t.set.inputs);
    for (size_t i = 0; i < t.set.dims_count; ++i) free(t.set.dims[i].name);
    free(t.set.dims);
    cli_free(&program, &t.set, &parsed);
    for (size_t i = 0; i < t.left_count; ++i) {
        free(t.left[i].file);
        free(t.left[i].pipeline);
        free(t.left[i].reason);
    }
    free(t.left);
    for (size_t i = 0; i < t.wrote_count; ++i) free(t.wrote[i]);
    free(t.wrote);
    free(t.error);
    free(t.error_hint);
    cli_begin(&cli_stage_end);                  /* their destructors */
    if (!cli_close_stdout(t.out) && status != STATUS_USAGE) status = STATUS_FAILED;
    return status != STATUS_OK ? status : t.failed ? STATUS_FAILED : STATUS_OK;
}
