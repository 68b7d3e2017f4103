/* measure.h - qnnrt-run: how long models take, and how far their results are apart

   Needs:   base cli draw io model show

   UNITS    pair.c: >>pair                          measure.c: >>numbers >>measure >>limits
            compared.c: >>compared                  capture.c: >>ports >>capture
            manifest_of.c: >>manifest_of            captured.c: >>captured
            replay.c: >>replay                      results.c: >>items >>results
            compare.c: >>compare                    samples.c: >>samples >>rivals
            bench.c: >>lanes >>bench                racer.c: >>racer
            race.c: >>race                          summary.c: >>summary */
#ifndef RUN_MEASURE_MEASURE_H
#define RUN_MEASURE_MEASURE_H

#include "run/show/show.h"

/* ---- settings of verbs ---- */

typedef struct pair_settings {         /* what side B has instead; 0: as side A            */
    const char *backend, *system;
    cli_role    roles[ROLES_MOST];     /* [role_count] --other_backend_so ROLE=FILE        */
    size_t      role_count;
    uint32_t    soc_model;
} pair_settings;

typedef struct bench_settings {
    uint32_t warmups, calls, threads, rounds, sittings;      /* rounds 0: not given            */
    double   duration, rate, least;    /* least: percent; 0: not given                         */
    const char *csv;
    cli_list samples, other_env;
} bench_settings;

typedef struct compare_settings {
    cli_list tolerances, dtypes;       /* --tolerance, --dtype                             */
    int      histogram;
} compare_settings;

/* ---- pair.c: two models side by side ---- */

typedef struct paired {                /* a pipeline of both sides, or of one              */
    job        *jobs[2];               /* NULL: the side has none that belongs to it       */
    const qnnrt_slot **slots;          /* [slot_count of A] the slot of B, NULL: none */
} paired;

typedef struct pairing {
    tool   *sides[2];                  /* A is the program's, B is .other                  */
    tool    other;
    paired *list;                      /* [count], those of A first                        */
    size_t  count;
} pairing;

extern const cli_table pair_table;

/* True if side B differs from side A by an option. */
int pair_differs(const settings *set);

/* Check the operands: two models, or one and an option for side B. Returns STATUS_OK, or
   STATUS_USAGE after a message. */
int check_pair(const settings *set, const char *verb);

/* Make a word of the command line the model of a side: a folder or a file. */
void pair_model(settings *set, const char *const *word);

/* Fill the settings of both sides. */
void pair_sides(pairing *p, tool *t);

int pair_taken(const paired *p, const qnnrt_slot *slot);

/* Keep what went wrong on side B for the program. */
void pair_gather(pairing *p);

/* Open both sides, plan their pipelines, and pair; place the files of --input, which are for side
   A. The settings of t become those of side A. Return 0 after a message; call pair_close() in any
   case, and close_all(t) after it. */
int pair_open(pairing *p, tool *t);

void pair_close(pairing *p);

/* Fill the inputs of A from the files of --input, and give those of B the same values. Return 0
   after a message. */
int pair_inputs(pairing *p, const paired *one, qnnrt_run *const runs[2]);

/* ---- measure.c: how far two tensors are from each other ---- */

/* Return the integer at an index, as it is stored. 64 bits unsigned end at 2^63. */
int64_t integer_at(qnnrt_dtype dtype, const void *data, uint64_t index);

/* Read a tensor as real numbers: [count]. Return 0 if its type has none. */
int numbers_of(const qnnrt_tensor_info *tensor, const void *data, uint64_t count, double *out);

/* True if equal integers of two tensors mean equal numbers, so that they can be compared. */
int same_encoding(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b);

enum { MEASURE_BINS = 10 };            /* differences of 0; below 1e-6, 1e-5, ... 1 times the
                                          largest reference value; others; wild pairs           */

typedef struct measure {
    uint64_t count, unequal, wild, nans;         /* nans: pairs of NaN and NaN              */
    double   largest;                  /* largest magnitude of the finite reference values  */
    double   max_abs, mean_abs, rmse;
    double   cosine;                   /* 1 if all are 0 on both sides; 0 if on one side    */
    double   sqnr_db;                  /* INFINITY if nothing differs; -INFINITY if the reference
                                          is 0 and something differs                        */
    uint64_t worst, first_bad;         /* indices; UINT64_MAX: none                         */
    uint64_t bins[MEASURE_BINS];
    int      quantized;                /* 1: the figures below exist                        */
    uint64_t quantized_max;
    double   quantized_mean;
} measure;

/* Fill everything except what is counted in integers, and first_bad. */
void measure_numbers(measure *m, const double *a, const double *b, uint64_t count);

/* Fill what is counted in integers. */
void measure_quantized(measure *m, const qnnrt_tensor_info *tensor, const void *a, const void *b);

typedef enum limit_kind { LIMIT_RELATIVE = 0, LIMIT_ABS, LIMIT_QUANTIZED } limit_kind;

typedef struct limit {                 /* one --tolerance                                  */
    char      *tensor;                 /* NULL: every tensor without one of its own        */
    double     value;
    limit_kind kind;
} limit;

#define TOLERANCE_HELP \
    "largest difference that counts as equal, as a part of the largest magnitude in the tensor " \
    "of side A: 0.01 is one percent; 0.5:abs is a difference of values, 2:quantized one of the " \
    "integers that a quantized tensor stores. NAME=T is for the tensor NAME alone; repeat the " \
    "option for several (default of compare: 0)"

/* Read one --tolerance. Return 0 if it is something else. */
int limit_read(const char *text, limit *out);

/* Find the first element beyond a limit. a and b: integers for a limit of them, else numbers. */
void limit_apply(const limit *l, measure *m, const double *a, const double *b,
                 const qnnrt_tensor_info *tensor, const void *a_data, const void *b_data);

/* ---- compared.c: tensors that were compared, as a table and as JSON ---- */

#define NO_STEP UINT32_MAX             /* compared.step: not known */

typedef struct compared {              /* a tensor of both sides                           */
    char       *where, *name;          /* pipeline or folder; tensor                       */
    uint32_t    step;                  /* NO_STEP: not known                               */
    char       *problem;               /* why it cannot be compared, or NULL               */
    qnnrt_dtype dtypes[2];
    uint32_t    rank, dims[DIMS_MOST];
    measure     m;
    double      bad[2];                /* the values at m.first_bad                        */
    int64_t     bad_quantized[2];      /* with m.quantized                                 */
    limit       most;                  /* borrowed from the list                           */
} compared;

typedef struct comparison {
    tool     *t;
    limit    *limits;                  /* [limit_count]                                    */
    int      *limits_used;
    size_t    limit_count;
    int       given;                   /* 1: the first one is an option's                  */
    char     *first;                   /* the first step that differs, or NULL             */
    struct { char *model, *backend, *build; } sides[2];          /* NULL: there is none   */
    compared *rows;                    /* [count]                                          */
    size_t    count, room, bad;        /* bad: rows that differ or cannot be compared      */
} comparison;

/* Read --tolerance. Returns STATUS_OK, or STATUS_USAGE after a message. */
int compare_begin(comparison *c, tool *t, double otherwise);

void compare_end(comparison *c);

/* Note what a side is; backend and build may be NULL. */
void compare_side(comparison *c, size_t which, const char *model, const char *backend,
                  const char *build);

/* Note that a side is an opened model. */
void compare_model(comparison *c, size_t which, const tool *t);

/* Note a tensor that cannot be compared. */
void compare_problem(comparison *c, const char *where, uint32_t step, const char *name,
                     const char *problem);

/* Compare the elements of a tensor, of the dims that it has now. */
void compare_tensors(comparison *c, const char *where, uint32_t step, const char *name,
                     const qnnrt_tensor_info *a, const void *a_data,
                     const qnnrt_tensor_info *b, const void *b_data);

/* Note a row as the first step that differs, if it does and none came before it. */
void compare_first(comparison *c, const compared *row, const char *step);

/* Print a table of the rows from `first` on, and more about those that differ. */
void compare_say(const comparison *c, size_t first);

/* Say how it ended, and fail for a --tolerance that names no tensor. Return the exit status. */
int compare_verdict(comparison *c, const char *format);

/* ---- capture.c: the verb capture ---- */

#define CAPTURE_FILE "capture.json"
#define CAPTURE_FORMAT "qnnrt-run.capture"

extern const cli_table capture_table;

/* Plan each slot in memory of its own, so that every tensor can be read after the exec: not in the
   buffers of the pipeline. Return 0 after a message. */
int capture_plan(tool *t, job *j);

int verb_capture(void *user);

/* ---- manifest_of.c: capture.json as structs, every word checked ---- */

/* Values of a list; pipelines, steps, tensors and ports together, because work grows with the
   square of their number; bytes of capture.json. */
enum { CAPTURED_MOST = 1 << 20, CAPTURED_ITEMS = 1 << 16, CAPTURED_JSON = 1 << 26 };
#define CAPTURED_BYTES ((uint64_t)1 << 32)                       /* of a tensor, as qnnrt has it */

typedef struct captured_tensor {
    char             *name, *file;     /* file: NULL, it was not written                   */
    char              hash[HASH_TEXT];
    int               constant;
    qnnrt_tensor_info info;            /* .name is name                                    */
    uint32_t          dims[DIMS_MOST];
    int               was_read;        /* the file was compared with .hash, or refused     */
    char             *data;            /* [info.bytes] mapped, NULL: not read, or refused  */
    float            *scales;
    int32_t          *offsets;
} captured_tensor;

typedef struct captured_port { char *name; uint64_t tensor; } captured_port;

typedef struct captured_step {
    int            kind;               /* a qnnrt_step_kind                                */
    uint64_t       context;
    char          *graph, *text;
    captured_port *ports[2];           /* [counts] inputs, outputs                         */
    size_t         counts[2], rooms[2];
} captured_step;

typedef struct captured_pipeline {
    char            *name, *error;     /* error: NULL, every step succeeded                */
    uint64_t         failed_step;      /* with error                                       */
    captured_step   *steps;
    captured_tensor *tensors;
    size_t           step_count, step_room, tensor_count, tensor_room;
} captured_pipeline;

typedef struct captured {
    const char        *folder;
    int                dir;            /* descriptor of the folder, -1: not open           */
    char              *text;           /* of capture.json                                  */
    char              *backend, *build;          /* of the first backend                   */
    captured_pipeline *pipelines;
    size_t             count, room, items;       /* items: all that CAPTURED_ITEMS counts  */
    qnnrt_json_reader  r;
    char              *problem;        /* the first one, or NULL                           */
} captured;

void captured_read_document(captured *c);

/* ---- captured.c: reads what the verb capture wrote ---- */

/* Close a capture. */
void captured_close(captured *c);

/* Open the folder of a capture. Return 0 after a message; captured_close() frees it in any case. */
int captured_open_folder(tool *t, const char *folder, captured *c);

/* Return the bytes of a tensor, which the capture owns. Size and hash are compared the first time:
   many steps may read one tensor. Return NULL if they are wrong, after a message. */
const char *captured_data(tool *t, const captured *c, captured_tensor *tensor);

/* ---- replay.c: the verb replay ---- */

int verb_replay(void *user);

/* ---- results.c: two folders of values, such as run writes, compared ---- */

/* True for what compare takes as values: a file of them, or a folder that is no model. */
int is_values(const char *path);

/* Check how --dtype is written. Returns STATUS_OK, or STATUS_USAGE after a message. */
int check_dtypes(const settings *set);

/* Compare the items of two files or folders by their keys. Two lone items belong together. */
void compare_folders(comparison *c, const char *a_path, const char *b_path);

/* Compare two captures, pipeline by pipeline. */
void compare_captures(comparison *c, const char *const *words);

/* ---- compare.c: the verb compare ---- */

extern const cli_table compare_table;

int verb_compare(void *user);

/* ---- samples.c: statistics of measured times ---- */

typedef struct samples {
    double *ns;                        /* [count]                                              */
    size_t  count, room;
} samples;

typedef struct summary {               /* of a list; all times in ns                           */
    size_t count;
    double least, median, p90, p99, p999, most, mean;
} summary;

enum { TIME_BINS = 12 };

typedef struct time_bars {             /* bins of equal width from the least value to p99;     */
    double width;                      /* the last one has all that is above                   */
    size_t bins[TIME_BINS + 1];
} time_bars;

void add_sample(samples *list, double ns);

/* Sort the list and sum it up; an empty one has zeros. */
summary sum_up(samples *list);

/* Count a list that sum_up() has sorted. */
time_bars count_bins(const samples *list, const summary *s);

/* Read a text with one time in nanoseconds on each line; lines with # are comments. Return 0 after
   a message. */
int read_samples(tool *t, const char *path, samples *list);

/* Return "1.234 ms", with the unit that fits. The caller frees it. */
char *time_text(double ns);

typedef enum verdict { NO_DIFFERENCE, B_IS_FASTER, B_IS_SLOWER } verdict;

extern const char *const verdict_words[];

typedef struct rivals {
    double *logs;                      /* [count] log(b / a) of each round                     */
    size_t  count, room;
    double  ratio, low, high;          /* time of B / time of A, and its interval              */
    verdict says;
} rivals;

void add_round(rivals *r, double a_ns, double b_ns);

/* Estimate the ratio of all rounds; at least one. least: the difference that counts, 0.02. */
void judge(rivals *r, double least);

/* True if the interval is narrow enough to tell the least difference from none. */
int is_precise(const rivals *r, double least);

/* ---- bench.c: how long a model takes ---- */

typedef struct lane {
    tool       *t;
    job        *j;
    qnnrt_mem  *mem;
    qnnrt_run  *run;
    uint64_t    first_ns;              /* of the first call                                    */
    samples     calls;                 /* ns of the calls that count                           */
    uint64_t    begin_ns, end_ns;      /* of these calls                                       */
    size_t      late;                  /* calls that began later than --rate asks for          */
    qnnrt_result result;
} lane;

/* Execute once. Return its time in ns; 0: it failed, and .result says how. */
uint64_t lane_call(lane *l);

/* Report that the last call of a lane failed. */
void lane_fail(lane *l);

/* Prepare a lane: memory, inputs, the first call and the warm-ups. Return 0 after a message. */
int lane_begin(lane *l, tool *t, job *j);

void lane_end(lane *l);

/* Return a number of bytes that the kernel tells about this process ("VmHWM:", "VmRSS:"); 0: not
   known. */
uint64_t process_bytes(const char *key);

enum { PART_BACKEND = 0, PART_ACCELERATOR, PART_HOST, PARTS };

typedef struct benched {               /* a pipeline                                           */
    const job *j;
    summary    exec, parts[PARTS];     /* .count 0: not known                                  */
    time_bars  bars;
    double     first_ns, seconds;
    size_t     threads, late;
} benched;

typedef struct bench {
    tool     *t;
    tool     *others;                  /* [threads - 1] of the other threads                   */
    benched  *list;                    /* [count]                                              */
    size_t    count;
    uint64_t  load_ns, before;         /* before: resident bytes before the model was loaded   */
    uint64_t  resident, peak;
} bench;

void say_summary(const tool *t, const char *what, const summary *s);

void say_summary_head(const tool *t);

void say_bars(const tool *t, const summary *s, const time_bars *h);

void json_summary(json *j, const char *key, const summary *s);

void json_histogram(json *j, const summary *s, const time_bars *h);

#define TIMER_TEXT "from the call of qnnrt_exec() to its return: all steps of the pipeline, with" \
    " conversions and host steps between them; not reading inputs or writing outputs"

/* Add a field of CSV in quotes: a quote is doubled, control characters are shown. */
void csv_text(page *p, const char *text);

void csv_head(page *p);

void csv_row(page *p, const char *name, const char *what, const summary *s);

/* Bench one model. */
void bench_model(tool *t);

/* ---- racer.c: a side of a race: a process with a model of its own ---- */

typedef struct racer {
    pid_t    id;                       /* 0: not started                                       */
    int      wire;                     /* a socket; -1: closed                                 */
    char   **names;                    /* [count] of its pipelines                             */
    uint64_t count;
    double   load_ns, peak;            /* peak: bytes                                          */
} racer;

/* Start a side and wait until it is loaded. Return 0 after a message. */
int racer_start(racer *r, tool *t, const cli_list *environment, char letter);

/* End a side. Return 0 if it failed. */
int racer_stop(racer *r);

/* Return the median time of a round, 0 if the side failed. */
double racer_round(const racer *r, uint64_t at, uint64_t calls);

/* ---- race.c: two models in turns, and the verb bench ---- */

extern const cli_table bench_table;

extern const char *const bench_examples[];

int verb_bench(void *user);

/* ---- summary.c: costs as tables, and the verb profile ---- */

int run_profile(tool *t);

extern const cli_table profile_table;

#endif /* RUN_MEASURE_MEASURE_H */
