/* aten.h - qnnrt-run: graphs in ATen operators are read, lowered, calibrated and verified

   Needs:   base cli draw io model show

   UNITS    op_map.c: >>op_map                      weight_only.c: >>weight_only
            kv.c: >>kv                              aten.c: >>aten
            onnx_file.c: >>onnx_file
            target.c: >>target                      program.c: >>program
            choices.c: >>choices                    node_map.c: >>node_map
            chart.c: >>chart                        progress.c: >>progress
            guess.c: >>guess                        step.c: >>step
            histogram.c: >>calibration >>histogram
            calibrate.c: >>calibrate
            encodings.c: >>read_encodings >>write_encodings */
#ifndef RUN_COMPILE_ATEN_H
#define RUN_COMPILE_ATEN_H

#include "run/base/base.h"
#include "run/compile/exported.h"
#include "qnnrt_cache.h"
#include "qnnrt_compile.h"
#include "qnnrt_llm_graph.h"
#include "qnnrt_onnx_graph.h"

#include <signal.h>

/* ---- settings of verbs ---- */

/* Most lengths of --context_lengths, and tokens of --eos. */
enum { COMPILE_LENGTHS = 8, COMPILE_EOS = 64 };

typedef struct compile_settings {
    const char *names, *binary_file;   /* --graph_name, --binary_file                      */
    const char *report;
    graph_choices graph;
    cli_list    weights;               /* from here: graphs in ATen operators              */
    int         io;                    /* index in io_words, -1: not given                 */
    int         fp32;
    uint32_t    rope_positions;
    int         rope_plain;
    uint32_t    shards;                /* 0: not given                                     */
    double      rope_base, tolerance;
    const char *backends;              /* --backends A,B,host                              */
    cli_list    pins, pins_inputs, speeds, host_ops;
    int         state_policy;          /* index in state_words                             */
    int         explain, no_ask, no_validate;
    uint32_t    verify;                /* runs of --verify                                 */
    int         verify_nodes;          /* index in node_words                              */
    uint32_t    weight_bits, weight_block;
    int         weight_emulate;
    int         weight_method;         /* index in method_words                            */
    cli_list    keep_weights;          /* patterns                                         */
    uint32_t    prefill, decode;       /* from here: language models; UINT32_MAX: not given */
    uint32_t    lengths[COMPILE_LENGTHS];        /* [length_count] --context_lengths      */
    size_t      length_count;
    int         embedding;             /* index in embedding_words                         */
    int         outputs;               /* a qnnrt_llm_graph_outputs                          */
    uint32_t    lora_rank;             /* --lora RANK:PROJECTIONS; 0: not given            */
    const char *lora;
    const char *cache;                 /* --cache                                          */
    uint64_t    cache_limit;           /* MiB; 0: the default                              */
    int         cache_list, cache_clear;
    int         kv_rows;
    int32_t     eos[COMPILE_EOS];      /* [eos_count]                                      */
    size_t      eos_count;
    cli_list    calibrate;
    const char *calibrate_so;
    const char *calibrate_method;      /* see range_method_of()                            */
    const char *encodings, *write_encodings;
    uint32_t    act_bits;
    const char *op_map;                /* --op_map                                         */
    cli_list    onnx_dims, onnx_shapes, onnx_binds;        /* --dim, --shape, --bind       */
} compile_settings;

/* ---- op_map.c: --op_map: operators of graphs that op packages compute ---- */

typedef struct op_map {
    const char              **names;             /* [count] operators of graphs             */
    qnnrt_lower_custom       *rows;              /* [count]                                 */
    const char              **roles;             /* [count] NULL: of every backend          */
    qnnrt_lower_custom_param **params;           /* [count] lists that rows have            */
    uint32_t                **inputs;
    size_t                    count, at[5];      /* at: the rooms of the lists              */
    char                    **texts;             /* all strings                             */
    size_t                    text_count, text_room;
} op_map;

void op_map_free(op_map *map);

/* Read the table of --op_map, if there is one. Return 0 after printing an error. */
int op_map_read(tool *t, op_map *map);

/* ---- weight_only.c: weights of 8 and 4 bits ---- */

typedef struct weight_only_options {
    tool   *t;
    size_t *kept;                      /* of each --keep_weight: its weights            */
    char  **near;                      /* of each: the name nearest to it, or NULL      */
} weight_only_options;

/* Return true if activations are to be quantized. */
int quantizes(const compile_settings *c);

/* Ways from what samples show to a range. */
typedef enum range_method { RANGE_MINMAX, RANGE_PERCENTILE, RANGE_MSE } range_method;

/* Read --calibrate_method: the method, and which percentage of the values lies below the highest,
   and above the lowest value of a range. Return 0 if the text is none. */
int range_method_of(const char *text, range_method *method, double *percent);

/* Check options that depend on each other. Returns STATUS_OK, or STATUS_USAGE after a message. */
int weight_only_check(const compile_settings *c);

/* Add the options to a descriptor. */
void weight_only_desc(weight_only_options *a, tool *t, qnnrt_lower_desc *desc);

/* Check that each pattern of --keep_weight kept a weight. Return 0 after printing an error. */
int weight_only_kept(tool *t, const weight_only_options *a);

void weight_only_free(weight_only_options *a);

/* Add a line for each weight that was asked to be quantized. on: " on npu" for several backends. */
void weight_only_report(page *p, const qnnrt_lower_weight_only *list, size_t count, const char *on);

/* Print a line about all quantized weights, and notes about others and bad ones. on: as of
   weight_only_report(). */
void weight_only_say(tool *t, const qnnrt_lower_weight_only *list, size_t length, const char *on);

/* ---- kv.c: graphs of language models that update their caches ---- */

/* What all graphs have in common, and what qnnrt-llm has to know. */
typedef struct kv_facts {
    qnnrt_ir_kv_info info;             /* .caches 0: no graph was read yet             */
    qnnrt_llm_graph    tokens;         /* .bos, .eos and .eos_count                    */
} kv_facts;

/* Rewrite a graph that was read. What is constant is folded before, so that it is seen. */
qnnrt_result kv_graph(qnnrt_ir *ir, qnnrt_ir_kv_info *info, qnnrt_error *err);

/* Rewrite the graph of a file, if that is wanted. All must have the caches of the first one. Return
   0 after printing an error. */
int kv_rewrite(tool *t, const char *file, qnnrt_ir *ir, kv_facts *facts);

/* Take the begin and end tokens: those of --eos, else those of config.json beside the graph, if it
   is there. Return 0 after printing an error. */
int kv_ends(tool *t, const char *graph, kv_facts *facts);

/* Write the member "llm" of qnnrt.json. A begin token that is an end token, too, is left out:
   tokenizers do not put it before texts. */
void kv_settings(void *user, json *j);

/* ---- progress.c: how far compile is ---- */

typedef struct progress {
    int      lines;                    /* 1: --progress                                   */
    uint64_t begin_ns, last_ns;        /* last_ns: of the last line, 0: none yet          */
    int      phase;                    /* of the last line                                */
} progress;

void progress_begin(progress *p, const settings *set);

/* Print how far the builder is: qnnrt_builder_desc.progress. */
void progress_build(void *user, const qnnrt_build_progress *at);

/* ---- aten.c: graphs in ATen operators are read, with their weights ---- */

/* What compile spends its time with. */
enum { ATEN_READ, ATEN_WEIGHTS, ATEN_PASSES, ATEN_LOWER, ATEN_ASK, ATEN_BUILD, ATEN_SAVE,
       ATEN_VERIFY, ATEN_PHASES };

enum { ATEN_PASSES_MOST = 64 };

typedef struct aten_pass {
    const char *name;
    size_t      nodes;                 /* after it                                      */
} aten_pass;

typedef struct aten_graph {
    const char    *file;
    const char    *folder;             /* of qnnrt.export() that has it, or NULL            */
    char          *own_file;           /* its graph.json, which .file is then                */
    const char    *name;               /* in the binary                                 */
    char          *default_name;       /* of the file, or NULL                          */
    uint32_t       context;            /* that it belongs to, of a decoder              */
    unsigned char  hash[QNNRT_CACHE_HASH];       /* of the file, with --cache             */
    qnnrt_ir      *read;               /* the graph as it was read, and stays           */
    qnnrt_ir      *ir;                 /* what passes change                            */
    qnnrt_weights *weights;            /* one of aten.weights, or NULL                  */
    qnnrt_onnx    *onnx;               /* of an .onnx file: it has the weights; or NULL */
    size_t         node_count;         /* as read                                       */
    aten_pass      passes[ATEN_PASSES_MOST];     /* [pass_count] that ran                 */
    size_t         pass_count;
} aten_graph;

/* What compiles: libraries by role. */
typedef struct compile_target {
    int                    whole;      /* 1: no --backends, so one library has all nodes     */
    qnnrt_compile_backend *backends;   /* [backend_count]; .backend NULL: the host           */
    qnnrt_compile_pin     *pins;       /* [pin_count]                                        */
    size_t                 backend_count, pin_count;
    char                 **words;      /* [word_count] texts of roles, pins and steps        */
    size_t                 word_count, word_room;
} compile_target;

typedef struct aten {
    tool           *t;
    aten_graph     *graphs;
    size_t          graph_count;
    qnnrt_weights **weights;           /* [weights_count], in the order of --weights    */
    size_t          weights_count;
    compile_target  target;
    qnnrt_compile  *program;           /* of all graphs, NULL: the files are cached     */
    aten_graph     *now;               /* that passes work on                           */
    weight_only_options weight_only;
    struct decoder *decoder;           /* that the graphs are made of, NULL: of files   */
    kv_facts       *kv;                /* with --kv_rows                                */
    qnnrt_lower_encoding *encodings;   /* [encoding_count] of activations               */
    size_t          encoding_count, encoding_room;
    size_t          encoding_biases;   /* of them                                       */
    uint64_t        ns[ATEN_PHASES];
    op_map          map;               /* of --op_map                                   */
    char           *onnx_seen;         /* of each --dim, --shape, --bind: 1: some model has it */
    const char    **custom;            /* [custom_count] operators of --host_op, of --op_map */
    size_t          custom_count, host_op_count;
    page            verified;          /* notes, and what --verify printed, for --report */
    progress        shown;             /* of builders                                   */
} aten;

#define COMPILE_SOURCES ".dlc containers, folders of qnnrt.export(), .json graphs of PyTorch," \
    " .onnx files, the folder of a language model, or a .gguf file"

/* ---- onnx_file.c: .onnx files become graphs in ATen operators ---- */

/* Return true for the name of an .onnx file. */
int onnx_is(const char *path);

/* Read the model of a graph: g->onnx and g->read. Return 0 after printing all that is wrong. */
int onnx_load(aten *a, aten_graph *g);

/* Check that each option for inputs was of use to some model. Return 0 after printing an error. */
int onnx_all(const aten *a);

/* Return true if a file is a graph in ATen operators, by its name, or a folder with one. */
int aten_is_graph(const char *path);

/* Check options that depend on each other. graphs: how many there are, 0: containers. Returns
   STATUS_OK, or STATUS_USAGE after a message. */
int aten_agree(const settings *set, size_t graphs);

/* Check which options go with the kind of the files. Returns STATUS_OK, or STATUS_USAGE after a
   message. */
int aten_check(const settings *set);

/* Return true if something is asked for that shows how graphs are lowered. */
int aten_wants_lowering(const settings *set);

/* Name the graphs: as asked, or after their files. Returns STATUS_OK, or STATUS_USAGE after a
   message. */
int aten_name(aten *a, const char *const *asked);

/* Add the time since `begin` to a phase, and return the time now. */
uint64_t aten_spent(aten *a, int phase, uint64_t begin);

/* Check g->read, and make g->ir of it. Return 0 after printing all that is wrong. */
int aten_check_graph(aten *a, aten_graph *g);

/* Read the graphs and open the weights. Return 0 after printing all that is wrong. */
int aten_read(aten *a);

/* Return for each weight of a file whether a graph reads it. The caller frees the list. */
char *aten_read_weights(const aten *a, size_t number);

/* Say which weights of a file no graph reads. */
void aten_surplus(const aten *a, size_t number);

/* Return the node nearest to a name, or NULL: one that is there, or that was fused into another. */
const char *aten_nearest(const aten *a, const char *name, size_t bytes);

/* Print all weights that are missing or have another shape, after qnnrt_lower_weights() failed. */
void aten_missing(const aten *a, const aten_graph *g, const qnnrt_error *err);

/* ---- target.c: which libraries compile ---- */

/* Keep a text until the end. */
char *target_keep(aten *a, char *text);

/* Check the options of several backends, without --backends that there are none. Returns STATUS_OK,
   or STATUS_USAGE after a message. */
int target_check(aten *a);

/* Give each backend the rows of --op_map that are for its role or for all. Return 0 after printing
   an error. */
int target_map(aten *a);

/* Return for which chip binaries are compiled. */
qnnrt_builder_desc compile_builder(const tool *t);

/* Open the backends. Return 0 after printing an error. */
int target_open(aten *a);

/* Return true if a backend computes in float16, or as exactly. */
int target_is_half(const aten *a, size_t backend);

void target_free(compile_target *target);

/* ---- program.c: graphs in ATen operators become graphs of QNN ---- */

/* Return how programs of the graphs are made. */
qnnrt_compile_desc program_desc(aten *a);

/* Give a graph to a program. ir: a->graphs[number].ir, or a copy of what was read. */
qnnrt_result program_add(const aten *a, qnnrt_compile *program, size_t number, qnnrt_ir *ir,
                         qnnrt_error *err);

/* Read a graph again, as it was before the passes. Return NULL after filling the error. */
qnnrt_ir *program_read(const aten *a, const aten_graph *g, qnnrt_error *err);

/* Make the program, and lower its graphs. Return 0 after printing all that is wrong. */
int program_lower(aten *a);

/* Compile the program that was lowered. Return 0 after printing all that is wrong. */
int program_build(aten *a);

/* A step of the program. */
typedef struct program_step {
    const qnnrt_compile_step     *step;
    const qnnrt_lower_info       *info;          /* NULL: the host computes it                 */
    const qnnrt_lower_graph_info *graph;         /* NULL: so, or it was not lowered            */
} program_step;

/* Return how many steps a graph has, 0 before it is divided. */
size_t program_steps(const aten *a, size_t graph);

program_step program_step_of(const aten *a, size_t graph, size_t number);

/* Free what was read and made. */
void aten_free(aten *a);

/* ---- choices.c: which backend computes which node, and why ---- */

/* Print what was decided. */
void choices(const aten *a);

/* Add what was decided for each node to a report. */
void choices_report(const aten *a, page *p);

/* ---- node_map.c: --report of compile, node by node ---- */

/* Write the report, of a compilation that failed, too. paths: [path_count] what was written. */
void node_map_write(const aten *a, char *const *paths, size_t path_count);

/* ---- chart.c: pictures of graphs before and after the passes ---- */

/* Write the pictures that were asked for, also of a compilation that failed. */
void chart_write(const aten *a);

/* ---- guess.c: random inputs that a graph can take ---- */

/* Fill an input: floats are random between -1 and 1, masks 0 (or 1, if they are not floats),
   positions 0, 1, 2, ..., and other integers random within the rows that they choose from. */
void guess_input(const qnnrt_ir *ir, const qnnrt_ir_value *value, uint64_t seed, double *out);

/* ---- step.c: a step of a program is built and run alone ---- */

typedef struct step_at {
    size_t         graph, step;
    int            watch;              /* as qnnrt_compile_watch() has it                 */
    qnnrt_backend *on;
} step_at;

typedef struct step_run {
    qnnrt_compile_watched         watched;
    const qnnrt_lower_graph_info *info;          /* of the step                           */
    qnnrt_ir                     *ir;            /* the whole graph, after the passes     */
    qnnrt_run                    *run;
    double                      **fed;           /* [watched.ir->input_count]             */
} step_run;

/* Build a step. what: begins the error. Return 0 after printing one. */
int step_open(step_run *s, aten *a, qnnrt_compile *program, const step_at *at, const char *what);
void step_close(step_run *s);

/* Compute what the step reads, on the host. inputs: of the whole graph. */
qnnrt_result step_feed(step_run *s, double *const *inputs, qnnrt_error *err);

/* Put that into the run, and keep it as rounded there. half: floats are those of float16. Return 0
   after printing an error. */
int step_put(step_run *s, aten *a, int half, const char *what);

/* ---- verify_graph.c: compiled graphs are compared with qnnrt_ir_run() ---- */

/* Open the written files on the backends that compiled them, and compare all graphs. paths:
   [count] the binaries. Return 0 if that is not wanted. */
int verify_files(aten *a, char *const *paths, size_t count);

/* ---- histogram.c: samples of calibration, and a histogram of the values of a tensor ---- */

/* Read the elements of an input from a file: [value->count]. Return 0 after printing an error. */
int sample_read(const tool *t, const char *path, const qnnrt_ir_value *value, double *out);

struct input_list;
struct list_line;

/* Read all inputs of a graph from the files that a line of a list names. inputs: [input_count].
   Return 0 after printing an error. */
int sample_line(tool *t, const struct input_list *list, const struct list_line *line,
                const qnnrt_ir *ir, const char *graph, double *const *inputs);

enum { HISTOGRAM_BINS = 4096, HISTOGRAM_CUTS = 161 };

typedef struct histogram {
    double   low, width;               /* of the first bin: its lower edge; of each bin   */
    uint64_t zeros;                    /* values in .bins that are 0                      */
    uint64_t bins[HISTOGRAM_BINS];
} histogram;

/* Count a value. One that no earlier run had counts as the nearest. */
void histogram_add(histogram *h, double value);

/* Move the limits of a range inwards, so that the values beyond each are at most so many of 100. */
void histogram_percentile(const histogram *h, double percent, double *low, double *high);

/* Choose the limits with the least square error of values of so many bits: among pairs of cuts,
   then one limit after the other among all edges. */
void histogram_mse(const histogram *h, uint32_t bits, double *low, double *high);

/* ---- calibrate.c: ranges of activations from samples ---- */

/* What the runs of one graph have shown. */
typedef struct calibration {
    aten                 *a;
    aten_graph           *g;
    const char           *list;        /* path                                            */
    step_run              step;        /* that is calibrated                              */
    const char           *name;        /* of it                                           */
    double              **inputs;      /* [step.ir->input_count]                          */
    qnnrt_lower_encoding *ranges;      /* [tensor_count], of tensors; .name NULL: of none */
    range_method          method;
    double                percent;     /* of RANGE_PERCENTILE                             */
    histogram           **histograms;  /* [tensor_count] of the second run, NULL: first   */
    size_t                samples;
    int                   half;        /* 1: the step computes in float16                 */
    int                   narrow;      /* 1: so does the library that runs the samples    */
} calibration;

/* Calibrate all graphs, if that is wanted. Return 0 after printing an error. */
int calibrate(aten *a);

/* ---- encodings.c: files of encodings, as AIMET writes them ---- */

/* Read the text of a file of encodings into a->encodings. Return 0 after printing an error. */
int encodings_parse(aten *a, const char *path, const char *text, size_t bytes);

/* Read --encodings into a->encodings, if it is given. Return 0 after printing an error. */
int encodings_read(aten *a);

/* Write --write_encodings, if it is given. Return 0 after printing an error. */
int encodings_write(aten *a);

#endif /* RUN_COMPILE_ATEN_H */
