/* base.h - what all of qnnrt-run stands on: settings, the state of each pipeline, failures, text

   Needs:   cli

   UNITS    text.c: >>text                          given.c: >>given
            page.c: >>page >>json */
#ifndef RUN_BASE_BASE_H
#define RUN_BASE_BASE_H

#include "cli/cli.h"
#include "qnnrt_device.h"
#include "qnnrt_profile.h"

#define CLI_NAME "qnnrt-run"

/* ---- settings, and the state of the program ---- */

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
#define OWN(type, member) .own = 1, .field = offsetof(type, member)

typedef enum number_form { FORM_NATIVE = 0, FORM_FLOAT, FORM_BOTH } number_form;
enum { OUTPUT_RAW = 0, OUTPUT_NPY, OUTPUT_SAFETENSORS };   /* settings.output_file */

typedef struct input_option {          /* --input [GRAPH:]NAME=FILE                        */
    const char *text;                  /* as on the command line                           */
    char       *name;                  /* the part before the last '=', GRAPH: included;
                                          NULL: there is none, the only input              */
    const char *file;
} input_option;

enum { DIMS_MOST = 32 };

typedef struct dims_option {           /* --dims NAME=1x5x8                                */
    const char *text;
    char       *name;
    uint32_t    dims[DIMS_MOST], rank;
} dims_option;

enum { ROLES_MOST = CLI_ROLES };

typedef struct graph_choices {         /* what HTP compiles a graph for; 0: not given        */
    uint32_t arch, vtcm, level, hvx;
    int      fp16, fast, share;        /* fast: activations from tables of 8 bits              */
    int      one_file;                 /* 1: --config_file is one file alone: the key of a cache
                                          has the first                                      */
} graph_choices;

typedef struct run_settings {
    const char *lists;                 /* --input_list                                     */
    const char *native_inputs;         /* --native_input_tensor_names                      */
    const char *output_tensors;        /* --set_output_tensors                             */
    uint32_t    keep_outputs;          /* UINT32_MAX: all                                  */
    uint32_t    batch;                 /* --batch_multiplier; 0: not given                 */
    double      duration;              /* s; 0: not given                                  */
    const char *config;                /* --config_file                                    */
    const char *state_in, *state_out;  /* files                                            */
    int         reset;                 /* 1: states begin anew before each inference       */
    uint32_t    rpc_latency_us, rpc_polling_us;  /* of --config_file; 0: not given         */
    int         inferences_given, native_in, native_out, validate, synchronous, quiet, watch;
} run_settings;

/* Words of qnnrt_device_memory(). */
enum { MEMORY_HEAP, MEMORY_SHARED };

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
    run_settings    run;
    /* Of one verb, or a few: the header of their folder has the struct. cli_parse() makes them.  */
    struct compile_settings *compile;
    struct doctor_settings  *doctor;
    struct pair_settings    *pair;
    struct bench_settings   *bench;
    struct compare_settings *compare;
    struct profile_settings *profiling;
    struct html_report_settings *html_report;
    const char     *documents[2];      /* options of the first documents for standard output    */
    size_t          document_count;
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
    struct qnnrt_cpu_fallback *hosts[2];         /* [host_count] steps of opened folders   */
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

/* ---- text.c: failures, lines for people, and file names ---- */

/* Report a failure and its hint (NULL: none), and keep the first one of the job and of the tool for
   --json. j may be NULL. */
CLI_FORMAT(4, 5) void fail(tool *t, job *j, const char *hint, const char *format, ...);

/* Note a file, or a pipeline, that is left out; say_left() lists them. The other name is NULL. */
void leave_out(tool *t, const char *file, const char *pipeline, const char *reason);

int is_stdout(const char *path);

/* Print lines for people, in which names may be hostile. When a document goes to standard output,
   print nothing. */
void say(const tool *t, const char *format, ...);

/* Print a text as say() does, with the first `word` in a tone where colours are wanted. */
void say_marked(const tool *t, cli_tone tone, const char *word, const char *text);

/* Print an error and its hint, but do not count it as a failure. */
void say_error(const tool *t, const char *what, const qnnrt_error *err);

/* List what --keep_going left out. Without it nothing ran, and the failures say why. */
void say_left(const tool *t);

double ms(uint64_t ns);

/* Make a file name from a name in a context binary: only [A-Za-z0-9._-], not empty, without a
   leading dot, and different from used[count] also if case is ignored, as on storage cards. The
   caller frees it. */
char *safe_name(const char *name, const char *suffix, char *const *used, size_t count);

/* ---- given.c: what the command line gives ---- */

extern const char *const memory_words[];

/* Count the documents for standard output: .documents and .document_count. */
void note_documents(settings *set, const cli_parsed *parsed);

/* True if an option names a file that is written. */
int is_document(const char *name);

int take_backend(void *at, const cli_option *o, const char *value);

int is_given(const cli_parsed *parsed, const char *name);

/* ---- page.c: text that grows, files, and JSON documents ---- */

void page_bytes(page *p, const char *data, size_t bytes);

void page_text(page *p, const char *s);

void page_add(page *p, const char *format, ...);

/* Add "[2,3]". */
void page_dims(page *p, uint32_t rank, const int64_t *dims);

const char *base_name(const char *path);

/* Write a whole file. replace: see cli_create(). j may be NULL. Return 0 after printing an
   error. */
int write_file(tool *t, job *j, const char *path, const void *data, size_t bytes, int replace);

/* Write a page to a file, or to standard output for "-". */
int write_page(tool *t, const char *path, const page *p, int replace);

/* Say that a file was written, and keep its path for --json. */
void say_wrote(tool *t, const char *path);

/* Write a page to a file, and say so. */
void write_named(tool *t, const char *path, const page *p, int replace);

int json_to_page(void *user, const char *data, size_t bytes);

void json_key(json *j, const char *key);

/* Open an object or a list. flat: it stands on one line, with all that is in it. */
void json_open(json *j, const char *key, char bracket, int flat);

void json_close(json *j);

void json_string(json *j, const char *key, const char *value);

void json_count(json *j, const char *key, uint64_t value);

/* Begin a document for programs. format: "qnnrt-run.<verb>", which tools/run/JSON.md describes. */
void json_document(json *j, page *p, const char *format);

/* End it. Return 0 when not all could be written. */
int json_document_end(json *j);

/* A document with its text. */
typedef struct document {
    page text;
    json writer;
} document;

/* Begin a document; result: with "ok", and the first error of the program. */
json *document_begin(document *d, const char *format);
json *document_result(document *d, const char *format, const tool *t, int ok);

/* End it, write it to a file, or to standard output for "-", and free it. */
void document_write(document *d, tool *t, const char *path);

void json_int(json *j, const char *key, int32_t value);

void json_float(json *j, const char *key, float value);

/* Write the members of an encoding per axis. */
void json_axis(json *j, const qnnrt_quant *quant);

/* Write a number, or null for what JSON does not have. */
void json_number(json *j, const char *key, double value);

void json_bool(json *j, const char *key, int value);

char *version_text(qnnrt_version_info version);

void json_version(json *j, const char *key, qnnrt_version_info version);

#endif /* RUN_BASE_BASE_H */
