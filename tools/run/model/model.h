/* model.h - qnnrt-run: backends and a model are opened, pipelines selected and planned

   Needs:   base cli

   UNITS    step.c: >>steps                         profile.c: >>power >>profile
            packages.c: >>packages                  backend.c: >>backend
            sources.c: >>sources                    open.c: >>open
            select.c: >>select                      plan.c: >>plan
            dims.c: >>change */
#ifndef RUN_MODEL_MODEL_H
#define RUN_MODEL_MODEL_H

#include "run/base/base.h"

/* ---- step.c: what a step is, and where it runs ---- */

void step_add_program(const qnnrt_manifest *program);

void step_drop_program(const qnnrt_manifest *program);

/* Return the context of a graph; .info is NULL for a step of another kind. */
qnnrt_manifest_context step_context(const qnnrt_step_info *step);

/* Return the number of the context of a graph, in its program. */
size_t step_number(const qnnrt_step_info *step);

/* Return "npu (HTP)", or "HTP" where the backend has no role; "host" for a step without a backend.
   The caller frees it. */
char *step_place(const qnnrt_step_info *step);

/* True if two graphs run on different backends. */
int is_elsewhere(const qnnrt_step_info *a, const qnnrt_step_info *b);

/* Return for each graph the number of its backend, counted from 0 in the order of the steps, and in
   *count how many there are. A step of another kind has 0. The caller frees the list. */
size_t *number_backends(const qnnrt_pipeline_info *info, size_t *count);

/* True if not all steps are graphs on one backend. Only then do tables and pictures name places. */
int is_mixed(const qnnrt_pipeline_info *info);

/* Return what a step without a backend does, with an arrow of its own between the types:
   host "embedding", convert hidden: float16 -> float32, 131,072 bytes. The caller frees it. */
char *step_text(const qnnrt_step_info *step, const char *arrow);

/* Return the file name of a graph without folders, for a label; for another step, what it does.
   The caller frees it. */
char *step_file(const qnnrt_step_info *step);

/* True for the name that ONNX Runtime gives a graph: it is long, and says nothing. */
int is_made_up(const char *name);

/* Return the name of a graph for a picture: its own, or that of its file if it is made up. Safe to
   print. The caller frees it. */
char *graph_label(const qnnrt_step_info *step);

/* Return the name of a pipeline for a picture: its own, or those of its first and last graph. Safe
   to print. The caller frees it. */
char *pipeline_label(const qnnrt_pipeline_info *info);

/* ---- profile.c: power presets, and what the library measures ---- */

/* True if a preset or a single setting is to be set. */
int wants_power(const settings *set);

/* Set the power preset. It is a failure when the backend refuses it, because times would be
   measured with other clocks, but not when the backend has no clocks. */
int set_power(tool *t, qnnrt_backend *backend);

void report_power(const tool *t, json *j);

/* The vendor's types of events. */
enum { EVENT_EXECUTE = 400, EVENT_NODE = 404, EVENT_DEVICE = 3004 };

extern const char *const profile_words[];

void json_value(json *j, const char *key, double value);

/* Print events as a table. info: of the pipeline whose steps they belong to; NULL: they belong to
   contexts. */
void say_events(const tool *t, const char *title, const qnnrt_pipeline_info *info,
                const qnnrt_profile_event *events, size_t count);

void free_events(job *j);

void report_events(json *j, const char *what, const qnnrt_profile_event *events, size_t count);

void fail_run(tool *t, job *j, const qnnrt_run *run);

/* Prepare --profile_out before the first inference. */
void begin_profile(tool *t);

void end_profile(tool *t);

/* Take the events of an inference that succeeded. Return 0 after printing an error. */
int take_events(tool *t, job *j, qnnrt_run *run, uint32_t inference, uint64_t begin_ns,
                uint64_t ns);

extern const int profile_levels[];

/* ---- packages.c: op packages that are named on the command line ---- */

typedef struct op_package {
    char *text;                        /* holds all of them; free it              */
    char *role;                        /* NULL: the first backend                 */
    char *path, *provider, *target;    /* target: NULL, the library chooses       */
} op_package;

/* Cut [ROLE=]PATH:PROVIDER[:TARGET]. Return 0 if it is something else; text is NULL then. What is
   before '=' is a role only if it looks like one, as with --backend_so. */
int package_split(const char *text, op_package *out);

/* Check how --op_package is written. Returns STATUS_OK, or STATUS_USAGE after a message. */
int check_packages(const settings *set);

/* Check that each role of --op_package is one of `roles`. Returns STATUS_OK, or STATUS_USAGE after
   a message. */
int check_package_roles(const settings *set, const char *const *roles, size_t count,
                        const char *hint);

/* Register packages with a backend: those of its role (NULL: all packages have none), and with
   `first` those without a role. Return 0 after printing an error. */
int register_packages(tool *t, qnnrt_backend *backend, const char *role, int first);

/* ---- backend.c: backends and contexts: their options, and what is said about them ---- */

enum { NPU = 6 };                      /* qnnrt_context_info.backend_id of HTP */

#define HOST_HINT "Run it with a program that has this function; qnnrt-run has those of the" \
    " folder's host.json alone, so it can only inspect and plan the folder."

#define LOG_HINT "Add --log_level error for the library's messages."

/* Fill the options of the backend. */
void backend_options(tool *t, qnnrt_backend_desc *desc);

/* Return the hint for a backend that cannot be opened: where its name comes from, or another. */
const char *backend_hint(const tool *t, const char *otherwise);

void fail_backend(tool *t, const qnnrt_error *err);

/* Report that a model was made for another backend than the one that is open. Return 0 if it was
   not. */
int fail_if_foreign(tool *t, const char *model);

/* List the backends of the model, each with its role, "" without one. Return their number. */
size_t list_backends(const tool *t, qnnrt_backend *list[ROLES_MOST], const char *roles[ROLES_MOST]);

/* Show a backend. first: the model has no other before it, and it may have been chosen. */
void say_backend(const tool *t, const qnnrt_backend *backend, const char *role, int first);

const char *model_name(const tool *t);

/* Say what the contexts took. */
void say_device(const tool *t);

void say_contexts(const tool *t);

/* Say which binaries the backend has accepted: --validate_binary. */
void say_valid(const tool *t);

typedef struct sources {
    const char *folder;                /* NULL: .files are given */
    qnnrt_file *files;
    size_t      count;
    char      **siblings;              /* [count] names of JSON files, or NULL     */
} sources;

/* ---- sources.c: the words of the command line become a folder, or files ---- */

/* True if a file is named X.json, or begins with '{' after a byte order mark and blanks; no context
   binary begins so. */
int is_json_file(const char *path);

/* Open a folder, or files. NULL with an error, or with none after a message. */
qnnrt_manifest *try_sources(tool *t, const char *folder, const char *const *words,
                            size_t count, qnnrt_error *err);

/* Check that a folder, or files, can be read. Return 0 after a message. */
int check_sources(tool *t, const char *folder, const char *const *words, size_t count);

/* Check that --output_dir is a folder, or free to become one. Return 0 after a message. */
int check_output_dir(tool *t);

/* Open a folder, or files. NULL after a message. */
qnnrt_manifest *open_sources(tool *t, const char *folder, const char *const *words, size_t count);

/* ---- open.c: the backends and the model that the command line names ---- */

/* Choose the libraries that no option names, by what the model was made for; and those of the other
   roles of a program. */
void choose_libraries(tool *t, const char *model);

int open_model(tool *t);

/* ---- select.c: the pipelines that the command line names ---- */

void add_job(tool *t, const qnnrt_pipeline *pipeline, const char *asked);

/* Compare a misspelt name with those of a pipeline's tensors. */
void near_slots(cli_near *near, const job *j, qnnrt_role role);

int select_jobs(tool *t);

void free_jobs(tool *t);

void close_all(tool *t);

/* ---- plan.c: memory plans, and the tables that show pipelines ---- */

/* Most columns of a table. */
enum { COLUMNS = 8 };

int width_of(const char *s);

/* Return cli_bytes_text() with a short unit. The caller frees it. */
char *bytes_cell(uint64_t bytes);

/* Print a table with columns as wide as their widest cell, and free the cells. titles end with NULL
   or fill all columns; right has an 'r' for each column that is aligned to the right. A table that
   does not fit gives first cells lines of their own; one that still does not fit becomes a list. */
void say_table(const tool *t, const char *const titles[COLUMNS], const char *right,
               char *(*cells)[COLUMNS], size_t rows);

char *dims_text(const qnnrt_tensor_info *tensor);

char *encoding_text(const qnnrt_quant *quant);

/* Return the name of a buffer of a pipeline, safe to print. The caller frees it. */
char *buffer_name(const qnnrt_pipeline_info *info, size_t buffer);

/* Return where a slot lies: its offset, or its buffer and the offset in that. The caller frees
   it. */
char *offset_text(const job *j, size_t slot);

void say_job(const tool *t, const job *j);

/* Return the blocks of a plan, sorted by offset. The caller frees the list. */
const qnnrt_plan_block **sorted_blocks(const qnnrt_plan_info *plan);

const char *block_kind(const qnnrt_plan_block *block);

char *block_name(const job *j, const qnnrt_plan_block *block);

void say_blocks(const tool *t, const job *j);

/* Plan the memory of a pipeline alone, with its buffers. */
qnnrt_result make_plan(const tool *t, const qnnrt_pipeline *pipeline, qnnrt_plan **out,
                       qnnrt_error *err);

void plan_job(tool *t, job *j);

/* ---- dims.c: dims of dynamic tensors, and optional tensors left out ---- */

/* Take "NAME=1x5x8" apart. */
int check_dims(settings *set);

void place_changes(tool *t);

const qnnrt_slot *change_slot(const job *j, const char *name);

/* Apply the options to a run. Return 0 after a message. */
int change_run(tool *t, job *j, qnnrt_run *run);

/* Return the number of elements that a slot has now. */
size_t count_now(qnnrt_run *run, const qnnrt_slot *slot);

/* Say which dims the last inference had, where they can change. */
void say_changes(const tool *t, const job *j, qnnrt_run *run);

#endif /* RUN_MODEL_MODEL_H */
