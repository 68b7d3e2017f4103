/* show.h - qnnrt-run: a model, its costs, operators and errors as text and as JSON

   Needs:   base cli io model

   UNITS    inspect.c: >>facts >>inspect            report.c: >>report
            dump.c: >>dump                          describe.c: >>describe
            manifest.c: >>hashes >>manifest         diff.c: >>diff
            costs.c: >>costs                        saved.c: >>saved
            lines.c: >>lines                        op_types.c: >>op_types
            op_data.c: >>op_data                    ops.c: >>operators
            explain.c: >>explain */
#ifndef RUN_SHOW_SHOW_H
#define RUN_SHOW_SHOW_H

#include "run/base/base.h"
#include "run/show/describe.h"

/* ---- settings of verbs ---- */

typedef struct profile_settings {
    const char *against, *save, *svg;
    uint32_t    inferences, top;
    int         level;                 /* index in level_words                             */
} profile_settings;

/* ---- inspect.c: a model's metadata for people and for --json ---- */

typedef enum fact_kind { FACT_U32, FACT_U64, FACT_TEXT, FACT_VERSION } fact_kind;

typedef struct fact {
    const char *key;                   /* in --json              */
    const char *label;                 /* for people             */
    fact_kind   kind;
    size_t      at;                    /* offset in the struct   */
} fact;

enum { CONTEXT_FACTS = 9, GRAPH_FACTS = 13 };

extern const fact context_facts[CONTEXT_FACTS];

extern const fact graph_facts[GRAPH_FACTS];

uint64_t fact_number(const fact *f, const void *base);

/* Return a fact as text that is safe to print. The caller frees it. */
char *fact_text(const fact *f, const void *base);

void report_facts(json *j, const fact *facts, size_t count, const void *base);

void say_model(const tool *t);

/* ---- report.c: the document of --bind_plan_out and --json ---- */

/* role: of the backend, NULL: it is the only one */
void report_backend(const tool *t, json *j, const char *key, const qnnrt_backend *backend,
                    const char *role);

void write_report(tool *t, const char *path, int results);

/* ---- dump.c: --json_file, metadata as qnn-context-binary-utility writes it ---- */

void write_dumps(tool *t);

/* ---- manifest.c: --manifest, and the hashes of files ---- */

enum { HASH_TEXT = 65 };               /* bytes of a SHA-256 as digits, with the 0 */

/* Hash all bytes of a file. Return 0 on failure, with errno set. */
int sha256_file(const char *path, uint64_t *bytes, char text[HASH_TEXT]);

/* Return the SHA-256 of a file that a program is written for, or NULL after a message. The caller
   frees it. */
char *hash_context(tool *t, const char *path);

/* Find the SHA-256 that a folder's qnnrt.json has for a context. Return 0 if it has none. */
int hash_expected(const char *program, size_t bytes, const char *file, char text[HASH_TEXT]);

/* Return the role of contexts that were compiled for a backend, or NULL. */
const char *manifest_role_of(uint32_t backend_id);

/* Return the file of a context: of JSON alone, the binary that it describes. The caller frees
   it. */
char *manifest_file(const qnnrt_manifest_context *c);

/* Return the path of a context's file. The caller frees it. */
char *context_path(const qnnrt_manifest_info *info, const char *file);

void write_manifest(tool *t);

/* ---- diff.c: --diff, two models compared ---- */

int run_diff(tool *t);

/* ---- costs.c: what a model costs, by context, step, operator and node ---- */

typedef enum cost_kind { COST_LOAD, COST_PIPELINE, COST_STEP, COST_NODE } cost_kind;

typedef struct cost {
    cost_kind kind;
    char     *name;                    /* of the file, the pipeline, the graph, the node      */
    char     *about;                   /* LOAD: library, context; STEP: file; NODE: operator  */
    double    us;                      /* PIPELINE: mean of the faster half of the inferences */
    double    extra;                   /* LOAD: us of its metadata; PIPELINE: us of the first
                                          inference; STEP: us on the device; NODE: cycles     */
} cost;

typedef struct costs {
    char  *model, *backend, *build, *level;
    double inferences;
    cost  *rows;                       /* [count] a parent stands before its children         */
    size_t count, room;
    int    cut;                        /* 1: a saved profile has more rows than are read      */
} costs;

/* Add a row; it takes name and about. Return its index. */
size_t cost_add(costs *all, cost_kind kind, char *name, char *about, double us, double extra);

void free_costs(costs *all);

/* Return the index after a row and all below it. */
size_t cost_end(const costs *all, size_t at);

/* Return the next row of a kind at or after an index and before `end`, or `end`. */
size_t cost_next(const costs *all, size_t at, size_t end, cost_kind kind);

/* Return the name of a row for people: of a file, if ONNX Runtime made the name up. */
const char *cost_label(const costs *all, size_t at);

/* True for letters and digits of ASCII. */
int is_word(char c);

/* Add the libraries and contexts that were loaded. */
void cost_loading(const tool *t, costs *all);

/* Take the costs of all that ran. */
void take_costs(const tool *t, costs *all);

/* ---- saved.c: costs as a JSON document, written and read ---- */

void write_costs(tool *t, const char *path, const costs *all);

/* Read what write_costs() wrote. Return 0 after a message. */
int read_costs(tool *t, const char *path, costs *all);

/* ---- lines.c: costs added up: lines of operators, nodes and steps, sorted by time ---- */

typedef enum line_kind { LINE_STEPS, LINE_OPERATORS, LINE_NODES, LINE_KINDS } line_kind;

extern const char *const line_kinds[LINE_KINDS];

typedef struct cost_line {
    char       *key;                   /* lines of both profiles with equal keys are one       */
    const char *name, *about;          /* of the row                                           */
    size_t      step, count[2];        /* step of a node; nodes of a step or an operator       */
    double      us[2], extra[2];
} cost_line;

typedef struct cost_lines {
    cost_line *items;
    size_t     count, room;
} cost_lines;

/* Sort by cost, or by change if there are two profiles; equal ones by their key. */
int compare_cost(const void *a, const void *b);

/* Put lines with equal keys together. */
void merge_lines(cost_lines *lines);

/* Add the rows of a pipeline. Nodes of a step that have the same name are one line. */
void list_lines(cost_lines *lines, const costs *all, size_t pipeline, line_kind kind, int which);

void free_lines(cost_lines *lines);

/* Return the pipeline of `all` that belongs to one of another profile: of the same name, or the
   only one of both; SIZE_MAX: none. */
size_t other_pipeline(const costs *of, size_t pipeline, const costs *all);

/* Make the lines of a pipeline, sorted. b: the second profile, or NULL. */
cost_lines make_lines(const costs *a, size_t pipeline, const costs *b, line_kind kind);

/* Return "812 us", "12.3 ms" or "1.23 s" with a sign if wanted. The caller frees it. */
char *us_text(double us, int sign);

char *share_text(double us, double whole);

char *change_text(double from, double to);

/* ---- op_types.c: which types of which operators the libraries compute right ---- */

typedef struct op_part {
    const char *ops;                   /* those that have it, joined by blanks                 */
    char        kind;                  /* i: input, o: output, p: parameter                    */
    const char *name, *text;
} op_part;

typedef struct op_row {
    const char *name;
    const char *cpu, *htp;             /* types; "": none was right; NULL: not measured        */
} op_row;

enum { OP_ROWS = 101, OP_PARTS = 219 };

extern const op_row op_rows[OP_ROWS];

/* ---- op_data.c: what operators take ---- */

extern const op_part op_parts[OP_PARTS];

/* ---- ops.c: operators, what they take, and which library computes them ---- */

/* Return the operator that a misspelt word means: the nearest one; with parts, else the first that
   ends in it or contains it. NULL: none is near. */
const char *op_nearest(const char *word, int parts);

int verb_ops(void *user);

extern const cli_table ops_table;

/* ---- explain.c: what an error code or a line of a log means ---- */

extern const cli_table explain_table;

/* Explain the words as one text, because a shell splits a pasted line. */
int verb_explain(void *user);

#endif /* RUN_SHOW_SHOW_H */
