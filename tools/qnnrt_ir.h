/* qnnrt_ir.h - v0.5.0 - graphs in ATen operators, as torch.export gives them: read, check, compute

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_ir.h"
       #define QNNRT_IR_IMPLEMENTATION
       #include "qnnrt_ir.h"
   qnnrt.h and qnnrt_json.h lie beside this file or are found by the compiler. Link with -ldl -lm.

       qnnrt_ir *ir; qnnrt_error err; const qnnrt_ir_finding *list; size_t count, i;
       if (qnnrt_ir_read(text, bytes, NULL, &ir, &err) != QNNRT_OK) { puts(err.text); return 1; }
       if (qnnrt_ir_check(ir, &list, &count, &err) != QNNRT_OK)
           for (i = 0; i < count; ++i) puts(list[i].text);       // all that is wrong, not the first
       for (i = 0; i < ir->node_count; ++i)
           printf("%s = %s\n", ir->nodes[i]->name, ir->nodes[i]->op);
       qnnrt_ir_free(ir);

   Uses     Public names of qnnrt.h and qnnrt_json.h, libc and libm. It knows nothing of QNN.
   Trust    The text may be hostile. Sizes, counts and depths are limited, arithmetic is checked.
            The caller is trusted.
   Memory   One allocator hook serves every allocation. A graph owns its memory and frees it as a
            whole.
   Threads  The header creates none. One graph belongs to one thread at a time.
   Globals  Constant tables only. The header prints nothing and never aborts, except with
            QNNRT_IR_DEBUG.
   Pointers Functions that return QNNRT_E_ARG check theirs for NULL. Those that look up or edit a
            part of a graph do not: graph, node and value must be there, and belong together.

   WORDS
       value         a tensor of the graph: an input, a weight, a constant, or an output of a node
       node          one call of an operator, "add.Tensor"; the prefix "aten." is left out
       placeholder   the name under which nodes read a weight: "p_linear_weight"
       key           the name of a weight in the checkpoint: "linear.weight"
       finding       one fault of a graph, with its node, its line and one sentence

   BUILD OPTIONS, to define before the header is first included
       QNNRT_IR_API     replaces the storage and export prefix of all functions (default: QNNRT_API)
       QNNRT_IR_DEBUG   aborts where the evaluator would leave a tensor; on with AddressSanitizer
       The options of qnnrt.h work here too:
       QNNRT_STATIC     makes every function static: both implementations and all calls in one file
       QNNRT_API        sets the prefix of all functions, for example for hidden visibility
       QNNRT_NO_JSON    builds qnnrt.h without qnnrt_json.h. This header includes it all the same

   MANUAL

   Files
       A graph is the graph.json of qnnrt.export(), or the JSON that the exporter pytorch-ir writes
       from torch.export: graph inputs and outputs, weights with shapes but without data, nodes in
       the order of execution, and the names that weights have in the checkpoint. Python writes NaN
       and Infinity into it, which are not JSON; they are read all the same.
       Files of qnnrt.export() say "format": "qnnrt.graph" and "version": 1, and the ranges of
       integer inputs: "ranges": {"ids": [0, 31999]}.

   Reading and checking
       qnnrt_ir_read() fails only where reading cannot go on: text that is not JSON, another kind of
       file, a limit. Every other fault is a finding: names that are missing, defined twice or
       unknown, cycles, a wrong order, symbolic shapes, unknown dtypes. qnnrt_ir_check() lists these
       findings, and adds those of the operators: unknown ones, wrong arguments, and shapes and
       dtypes that differ from those that follow from the inputs.
       Evaluation, and the passes of qnnrt_ir_passes.h, need a graph without findings.

   Arguments
       Nodes carry only the arguments that were written down. qnnrt_ir_int() and its relatives
       return the default of the operator for the others.

   Editing
       These functions keep qnnrt_ir_value.users true; do not change the arrays of a node yourself.
           value = qnnrt_ir_add_value(ir, "norm", x->dtype, x->rank, x->dims);
           node  = qnnrt_ir_add_node(ir, before, "q.rms_norm", inputs, 2, &value, 1);
           qnnrt_ir_set_float(ir, node, "eps", 1e-6);
           qnnrt_ir_replace(ir, last->outputs[0], value);       // in all readers and graph outputs
           qnnrt_ir_kill(ir, last, "fused into norm");
           qnnrt_ir_tidy(ir, &err);                     // order, and what nothing reads
       A node that is killed or unused stays in ir->removed, with its mapping, for reports.

   Computing
       qnnrt_ir_eval_node() computes one node on the host: what no backend can do, or the expected
       result of what one did.
       qnnrt_ir_run() computes a whole graph, with weights that are loaded one by one:
           qnnrt_ir_run_desc desc = {0};
           desc.load = load;                            // copies the elements of one weight
           qnnrt_ir_run(ir, &desc, inputs, outputs, &err);

   ROOMS (search for the tag)
       >>config >>symbol >>dtype >>attr                                     the floor
       >>shape >>shape_math >>shape_strided >>shape_view >>shape_net >>shape_index          shapes
       >>shape_seq >>shape_image >>shape_make >>ops >>infer                         operators
       >>graph >>find >>check >>number >>text >>parse >>document >>resolve          graphs
       >>wide >>eval_math >>elements >>eval_move >>eval_index >>gemm >>eval_net     values
       >>fourier >>eval_image >>eval_sample >>recurrence >>eval >>fold >>public      a node
       >>einsum >>inplace >>run >>extract >>write                       a run, parts and files
*/
#ifndef QNNRT_IR_H
#define QNNRT_IR_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_ir.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_IR_API
#define QNNRT_IR_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { QNNRT_IR_RANK = 8 };

/* ------------------------------------------------------------------------------------ graphs -- */

typedef enum qnnrt_ir_origin {
    QNNRT_IR_NODE,                   /* an output of a node */
    QNNRT_IR_INPUT,                  /* an input of the graph */
    QNNRT_IR_WEIGHT,                 /* data in the checkpoint */
    QNNRT_IR_CONSTANT                /* data in the graph */
} qnnrt_ir_origin;

struct qnnrt_ir_node;

typedef struct qnnrt_ir_value {
    const char           *name;
    qnnrt_dtype           dtype;
    uint32_t              rank;                  /* 0: a scalar */
    int64_t               dims[QNNRT_IR_RANK];   /* a dimension may be 0 */
    uint64_t              count;                 /* elements */
    qnnrt_ir_origin       origin;
    struct qnnrt_ir_node *node;                  /* NODE: its producer, else NULL */
    uint32_t              index;                 /* NODE: the output of the producer */
    const char           *key;                   /* WEIGHT, CONSTANT: its name in the checkpoint;
                                                    else NULL */
    const void           *data;                  /* CONSTANT: row-major, aligned to 16; WEIGHT:
                                                    NULL until a layer above sets it; else NULL */
    uint32_t              users;                 /* inputs of nodes that read it, and 1 for each
                                                    output of the graph */
    uint32_t              is_output;             /* outputs of the graph that are this value */
    int                   unknown;               /* 1: a finding concerns its shape or dtype */
    void                 *note;                  /* of a layer above, NULL at first */
    size_t                number;                /* index in ir->values */
    int                   ranged;                /* 1: an input of integers, which are from .low to
                                                    .high as "ranges" of the file says; 2 and 3:
                                                    see qnnrt_ir_pass_ranges(); 0: not known */
    int64_t               low, high;
} qnnrt_ir_value;

typedef enum qnnrt_ir_attr_kind {
    QNNRT_IR_NULL, QNNRT_IR_INT, QNNRT_IR_FLOAT, QNNRT_IR_BOOL, QNNRT_IR_TEXT,
    QNNRT_IR_INTS,                   /* integers only, or booleans only; also an empty list */
    QNNRT_IR_FLOATS,                 /* numbers, at least one of them a float */
    QNNRT_IR_OTHER                   /* anything else: only this is known of it */
} qnnrt_ir_attr_kind;

typedef struct qnnrt_ir_attr {
    const char        *name;
    qnnrt_ir_attr_kind kind;
    int64_t            i;            /* INT, BOOL; FLOAT: 0 */
    double             f;            /* FLOAT, INT, BOOL */
    const char        *text;         /* TEXT; else "" */
    const int64_t     *ints;         /* INTS [count] */
    const double      *floats;       /* FLOATS, INTS [count] */
    size_t             count;
} qnnrt_ir_attr;

/* What is known about an operator: see >>ops. */
typedef struct qnnrt_ir_op {
    const char *name;                /* "conv2d.default" */
    uint32_t    least, most;         /* number of its inputs; most 255: any number */
    const char *args;                /* its other arguments, as in ATen's schema:
                                        "ints stride=1, int? dim, Scalar other" */
} qnnrt_ir_op;

typedef struct qnnrt_ir_node {
    const char        *name;
    const char        *op;           /* "add.Tensor"; "getitem" for the name "<built-in function
                                        getitem>"; "view.default" for "_unsafe_view.default" and
                                        the like */
    const qnnrt_ir_op *info;         /* of "add_.Tensor" that of "add.Tensor"; NULL: unknown */
    qnnrt_ir_value   **inputs;       /* [input_count], NULL: an optional one that is absent */
    size_t             input_count;
    qnnrt_ir_value   **outputs;      /* [output_count] */
    size_t             output_count;
    qnnrt_ir_attr     *attrs;        /* [attr_count], as written; see qnnrt_ir_int() for defaults */
    size_t             attr_count;
    const char        *source;       /* the exporter's line, or "" */
    const char        *mapping;      /* "", or what became of it: "fused into norm" */
    int                dead;         /* 1: killed, or unused when qnnrt_ir_tidy() ran */
    size_t             number;       /* index in the file; of an added node: a larger number */
    size_t             line, byte;   /* of its beginning in the file; 0, 0 for an added node */
    size_t             at;           /* index in ir->nodes, or in ir->removed when dead */
} qnnrt_ir_node;

/* A value that a call leaves for the next one: a buffer that the model changes. */
typedef struct qnnrt_ir_state {
    const char *name;                /* its name in the checkpoint, which has the first value */
    size_t      input, output;       /* in ir->inputs its value, in ir->outputs the next one */
} qnnrt_ir_state;

typedef struct qnnrt_ir {
    const char       *name;          /* of the model, or "" */
    const char       *version;       /* of PyTorch, or "" */
    qnnrt_ir_value  **inputs, **outputs;
    size_t            input_count, output_count;
    qnnrt_ir_node   **nodes;         /* in an order in which they can run */
    size_t            node_count;
    qnnrt_ir_node   **removed;       /* dead ones, in the order in which they died */
    size_t            removed_count;
    qnnrt_ir_value  **values;        /* all of them: inputs, weights, constants, outputs of nodes */
    size_t            value_count;
    const qnnrt_ir_state *states;    /* as read; a pass that moves inputs or outputs does not know
                                        them */
    size_t            state_count;
    struct qnnrt_ir__own *own;       /* private */
} qnnrt_ir;

/* ----------------------------------------------------------------------------------- reading -- */

/* Options and limits; every 0 is a default. More than a limit is QNNRT_E_LIMIT. */
typedef struct qnnrt_ir_desc {
    qnnrt_hooks hooks;               /* alloc and free are used */
    uint64_t    text_bytes;          /* of the file (default 0: 1 GiB) */
    uint64_t    memory_bytes;        /* of one graph, with constants (default 0: 4 GiB) */
    uint32_t    nodes;               /* (default 0: 1,000,000) */
    uint32_t    findings;            /* that are kept; the others are counted (default 0: 1,000) */
    const char *const *custom;       /* [custom_count] operators of the caller, such as
                                        "mylib.line.default": they are not findings; their arguments
                                        and the shapes of their outputs are taken as written. Copied
                                        (default NULL) */
    size_t      custom_count;
    uint64_t    fold_bytes;          /* of new constants, in all calls that fold (default 0:
                                        1 GiB) */
    uint64_t    fold_operations;     /* for them: about 1 for each product that is summed up, 16 for
                                        each element that is read or written otherwise (default 0:
                                        2^33, some seconds) */
    int         plain_rope;          /* 1: blocks "wrap_with_set_grad_enabled" of torch.no_grad()
                                        are read as "rope", cos and sin of positions * inv_freq.
                                        Files of pytorch-ir do not have their bodies, so only who
                                        knows the model can tell (default 0: each is a finding) */
} qnnrt_ir_desc;

/* Read a graph.

   text     JSON; may be freed after the call
   desc     may be NULL
   out      receives the graph, NULL on failure

   The graph may have findings: call qnnrt_ir_check() before anything else.
   Returns  QNNRT_OK; QNNRT_E_FORMAT (not JSON, or another kind of file: text says the line);
            QNNRT_E_VERSION (a newer version of "qnnrt.graph"); QNNRT_E_LIMIT; QNNRT_E_MEMORY;
            QNNRT_E_ARG
   Frees    qnnrt_ir_free()
   Cost     5 ms for 2,144 nodes in 1.5 MB */
QNNRT_IR_API qnnrt_result qnnrt_ir_read(const char *text, size_t bytes, const qnnrt_ir_desc *desc,
                                        qnnrt_ir **out, qnnrt_error *err);
QNNRT_IR_API void qnnrt_ir_free(qnnrt_ir *ir);

/* Make an empty graph, to which the functions of "editing" add inputs, weights, nodes and outputs.

   name     of the graph; it is copied
   desc     may be NULL; .text_bytes and .nodes are not used
   out      receives the graph, NULL on failure

   Returns  QNNRT_OK; QNNRT_E_MEMORY; QNNRT_E_ARG
   Frees    qnnrt_ir_free() */
QNNRT_IR_API qnnrt_result qnnrt_ir_create(const char *name, const qnnrt_ir_desc *desc,
                                          qnnrt_ir **out, qnnrt_error *err);

/* Copy a graph, so that passes may change one of the two.

   ir       a graph that qnnrt_ir_read() read without findings, or that has no other findings than
            those of operators. The copy does not need it: only the data of weights are borrowed
   desc     hooks, limits and operators of the caller for the copy, as for qnnrt_ir_create(); NULL:
            those of `ir`
   out      receives the graph, NULL on failure

   The copy has the same inputs, outputs, states, nodes in the same order, values, names, arguments,
   keys and constants. Left out are dead and removed nodes, outputs of these that nothing reads,
   mappings, and notes.
   Returns  QNNRT_OK; QNNRT_E_ARG (reading `ir` had findings); QNNRT_E_LIMIT; QNNRT_E_MEMORY
   Frees    qnnrt_ir_free() */
QNNRT_IR_API qnnrt_result qnnrt_ir_copy(const qnnrt_ir *ir, const qnnrt_ir_desc *desc,
                                        qnnrt_ir **out, qnnrt_error *err);

typedef struct qnnrt_ir_finding {
    const qnnrt_ir_node *node;       /* NULL: it concerns the graph as a whole */
    qnnrt_result         code;       /* FORMAT: damaged; MISMATCH: a shape or dtype differs;
                                        UNSUPPORTED: an operator, argument or dtype is unknown;
                                        ARG: an argument is wrong; LIMIT: too large */
    size_t               line, byte; /* in the file; 0, 0: unknown */
    const char          *text;       /* one line */
    const char          *hint;       /* what to do, one sentence, or "" */
} qnnrt_ir_finding;

/* Check a graph, as read or after edits.

   list     receives all findings, those of reading first; may be NULL. They stay valid until the
            next check, edit or free
   count    receives their number; may be NULL

   Returns  QNNRT_OK without findings; else the code of the first one, and the text of err has the
            first findings, one a line. QNNRT_E_MEMORY; QNNRT_E_ARG */
QNNRT_IR_API qnnrt_result qnnrt_ir_check(qnnrt_ir *ir, const qnnrt_ir_finding **list, size_t *count,
                                         qnnrt_error *err);

/* --------------------------------------------------------------------------------- operators -- */

/* Return what is known about an operator, or NULL. name: "conv2d.default", without "aten.". */
QNNRT_IR_API const qnnrt_ir_op *qnnrt_ir_op_find(const char *name);
/* Return the operators one by one, then NULL. */
QNNRT_IR_API const qnnrt_ir_op *qnnrt_ir_op_get(size_t index);

/* Compute shape and dtype of one output of a node from its inputs and arguments. dims receives 8
   numbers. *dtype is QNNRT_DTYPE_UNDEFINED if inputs and arguments do not decide it.
   Returns QNNRT_OK; MISMATCH, ARG or UNSUPPORTED as a finding; QNNRT_E_LIMIT (more than 2^48
   elements) */
QNNRT_IR_API qnnrt_result qnnrt_ir_infer(const qnnrt_ir_node *node, size_t output,
                                         qnnrt_dtype *dtype, uint32_t *rank, int64_t *dims,
                                         qnnrt_error *err);

/* Return how many bytes of node->source are its file and line, "model.py:12"; 0: it has no such
   form. */
QNNRT_IR_API size_t qnnrt_ir_source_place(const qnnrt_ir_node *node);

/* Return input i of a node, or NULL if it is absent. */
QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_input(const qnnrt_ir_node *node, size_t i);

/* Return an argument as written, or NULL if it is absent. */
QNNRT_IR_API const qnnrt_ir_attr *qnnrt_ir_attr_find(const qnnrt_ir_node *node, const char *name);

/* Return an argument as a number: as written, else the operator's default, else `otherwise`. Null
   counts as absent. A bool is 0 or 1; a float as an integer is truncated. */
QNNRT_IR_API int64_t qnnrt_ir_int(const qnnrt_ir_node *node, const char *name, int64_t otherwise);
QNNRT_IR_API double qnnrt_ir_float(const qnnrt_ir_node *node, const char *name, double otherwise);

/* Get a list of integers, as written or by default. One number is a list of one.
   Returns how many there are, 0 if it is absent, null or not such a list; out receives the first 8,
   and 0 where there are fewer. */
QNNRT_IR_API size_t qnnrt_ir_ints(const qnnrt_ir_node *node, const char *name,
                                  int64_t out[QNNRT_IR_RANK]);

/* Get one number for each of `count` (at most 8) spatial dimensions, as for strides: one number
   stands for all. Returns 1; 0 if the list is absent or has another length, and out is not set. */
QNNRT_IR_API int qnnrt_ir_each(const qnnrt_ir_node *node, const char *name, size_t count,
                               int64_t *out);

/* Return a dtype argument ("torch.float32" or "float32"), `otherwise` if it is absent or null,
   QNNRT_DTYPE_UNDEFINED if its name is unknown. */
QNNRT_IR_API qnnrt_dtype qnnrt_ir_dtype(const qnnrt_ir_node *node, const char *name,
                                        qnnrt_dtype otherwise);

/* Return the name that graphs use for a dtype, "bfloat16", or "?"; the dtype of a name, with or
   without "torch.", or UNDEFINED; the bytes of an element, 0 for dtypes that graphs do not have. */
QNNRT_IR_API const char *qnnrt_ir_dtype_name(qnnrt_dtype dtype);
QNNRT_IR_API qnnrt_dtype qnnrt_ir_dtype_from(const char *name);
QNNRT_IR_API size_t qnnrt_ir_dtype_bytes(qnnrt_dtype dtype);
/* Return 0 for bool, 1 for integers, 2 for floats, -1 for others. */
QNNRT_IR_API int qnnrt_ir_dtype_kind(qnnrt_dtype dtype);

/* Read an element of a constant, of any alignment: a float, an integer or bool. */
QNNRT_IR_API double qnnrt_ir_element_float(const void *at, qnnrt_dtype dtype);
QNNRT_IR_API int64_t qnnrt_ir_element_int(const void *at, qnnrt_dtype dtype);
/* Write an element: of integers and bools i, of floats f, rounded to the nearest, ties to even. */
QNNRT_IR_API void qnnrt_ir_element_put(void *at, qnnrt_dtype dtype, int64_t i, double f);

/* ----------------------------------------------------------------------------------- looking -- */

/* Return true if a node has an operator, or one of a list that ends with NULL. */
QNNRT_IR_API int qnnrt_ir_is(const qnnrt_ir_node *node, const char *op);
QNNRT_IR_API int qnnrt_ir_is_in(const qnnrt_ir_node *node, const char *const *list);
/* Return the live node that computes a value; NULL if there is none, or for NULL. */
QNNRT_IR_API qnnrt_ir_node *qnnrt_ir_producer(const qnnrt_ir_value *value);
QNNRT_IR_API int qnnrt_ir_same_shape(const qnnrt_ir_value *a, const qnnrt_ir_value *b);
/* Return the input that a node gives back unchanged, or NULL. copies: 1: also of those that give
   other memory with the same elements. */
QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_unchanged(const qnnrt_ir_node *node, int copies);
/* Begin an arena with the allocator and the limits of a graph, for what a pass needs meanwhile. */
QNNRT_IR_API qnnrt_arena qnnrt_ir_arena(const qnnrt_ir *ir);

/* -------------------------------------------------------------------------------- evaluation -- */

/* Compute one node on the host. Floats are computed in double and rounded once, to the dtype of the
   output; integers and bools are exact, with the wrap of two's complement.

   hooks    alloc and free are used; may be NULL
   inputs   [node->input_count] elements as stored, of the dtypes and shapes of node->inputs, of any
            alignment; NULL for an absent one
   outputs  [node->output_count] receive the elements, and overlap no input; after an error the
            elements are undefined; NULL: not wanted

   Returns  QNNRT_OK; as qnnrt_ir_infer(); QNNRT_E_UNSUPPORTED (what cannot be computed, such as
            dropout in training, or an index out of range: text says which); QNNRT_E_MEMORY;
            QNNRT_E_ARG */
QNNRT_IR_API qnnrt_result qnnrt_ir_eval_node(const qnnrt_hooks *hooks, const qnnrt_ir_node *node,
                                             const void *const *inputs, void *const *outputs,
                                             qnnrt_error *err);

/* Return QNNRT_OK if qnnrt_ir_eval_node() computes a node whatever its data are, except indices out
   of range; or else what it would return. No data are needed or touched: the cost does not depend
   on sizes. */
QNNRT_IR_API qnnrt_result qnnrt_ir_eval_ask(const qnnrt_ir_node *node, qnnrt_error *err);

/* Return what an operator on each element computes, as words in postfix order, "a a sigmoid *" for
   silu; NULL for others. A word that names no operation is an operand: see
   qnnrt_ir_recipe_operand(). c y n ?: y where c is not 0, else n. */
QNNRT_IR_API const char *qnnrt_ir_recipe(const qnnrt_ir_node *node);

/* Read an operand of a recipe. a, b, c: inputs 0, 1, 2; where one is absent, the number in the
   first argument of the schema. A number as argument "self", unless the word .self reads it, is
   before the inputs. .name: a number among the arguments. After "|": the number if that is not
   given. inf; most: the largest number of the dtype of the result; digits.
   number   receives a number, as FLOAT or INT
   Returns  the input, -1 for a number */
QNNRT_IR_API int qnnrt_ir_recipe_operand(const qnnrt_ir_node *node, const char *word,
                                         qnnrt_ir_attr *number);

/* Averages and resizing treat each axis alone: describe what a node with right shapes does along
   one of them, as a matrix [size of the output, size of the input].

   matrix  is all 0 and receives the factors; NULL: only ask

   Returns 1, or 0 if the node is none of avg_pool, adaptive_avg_pool and upsample, or leaves the
   axis as it is */
QNNRT_IR_API int qnnrt_ir_axis_matrix(const qnnrt_ir_node *node, uint32_t axis, double *matrix);

/* Describe pixel_shuffle, pixel_unshuffle and channel_shuffle of right shapes: their input, seen as
   dims [6], with its axes in another order [6]. Return the rank of that view. */
QNNRT_IR_API uint32_t qnnrt_ir_blocks(const qnnrt_ir_node *node, int64_t *dims, uint32_t *order);

/* How a graph is computed; every 0 is a default. */
typedef struct qnnrt_ir_run_desc {
    qnnrt_hooks  hooks;              /* alloc and free are used */
    qnnrt_result (*load)(void *user, const qnnrt_ir_value *weight, void *data, qnnrt_error *err);
                                     /* copies the elements of a weight that has no data, but has
                                        elements; data is aligned to 16, of its dtype and
                                        row-major. Another result than QNNRT_OK ends the run with
                                        it (default NULL: weights have data) */
    void        *load_user;
    qnnrt_result (*watch)(void *user, const qnnrt_ir_node *node, size_t output, const void *data,
                          qnnrt_error *err);
                                     /* is called with each output of each node, in order. Another
                                        result than QNNRT_OK ends the run with it (default: none) */
    void        *watch_user;
    int          wide;               /* 1: float16 and bfloat16 are computed in float32, see
                                        qnnrt_ir_run_dtype() (default 0: as the graph states) */
    const void *(*data)(void *user, const qnnrt_ir_value *weight);
                                     /* returns the elements of a weight without data where they
                                        lie, in any alignment, until the run ends; NULL: load() is
                                        called (default: none) */
    void        *data_user;
    int          ready;              /* 1: qnnrt_ir_pass_inplace() was called for the graph, which
                                        this run then does not change: several threads may run it at
                                        once, if the allocator and functions can (default 0: the run
                                        calls it) */
} qnnrt_ir_run_desc;

/* Return the dtype of the elements that a run has for a value: the value's own; with desc->wide,
   float32 for float16 and bfloat16, except for weights and constants. desc may be NULL. */
QNNRT_IR_API qnnrt_dtype qnnrt_ir_run_dtype(const qnnrt_ir_run_desc *desc,
                                            const qnnrt_ir_value *value);

/* Return true if a value is int64 and its range is not within int32, which libraries have. */
QNNRT_IR_API int qnnrt_ir_is_wide(const qnnrt_ir_value *value);

/* Turn "relu_", "add_" and others that overwrite their input into "relu", "add": later readers of
   the input read the result instead, and a result that would become wider is converted. "einsum"
   becomes what it consists of: diagonals, sums, products of two matrices.
   Returns also QNNRT_E_UNSUPPORTED if a later node or the graph's outputs read the memory through
   another value: text names both; and if a weight is overwritten, which the next call would see. */
QNNRT_IR_API qnnrt_result qnnrt_ir_pass_inplace(qnnrt_ir *ir, qnnrt_error *err);

/* Compute a graph without findings on the host: the expected result of what a backend computes.

   ir       is changed as by qnnrt_ir_pass_inplace(), so that operators that overwrite their input
            mean what they do in PyTorch; not with desc->ready
   desc     may be NULL
   inputs   [ir->input_count] elements of the dtypes of qnnrt_ir_run_dtype()
   outputs  [ir->output_count] receive the elements, of these dtypes; NULL: not wanted

   A value is freed after its last reader. A weight is loaded before its first reader and freed
   after its last one. Data are read and written as they are stored, without copies.
   Returns  QNNRT_OK; as qnnrt_ir_eval_node(), qnnrt_ir_pass_inplace(), load and watch;
            QNNRT_E_ARG (an input or the data of a weight is missing: text names it)
   Cost     one core: 1.6 s for ResNet-50 and 0.55 s for ViT-tiny of 224 x 224 pixels (AMD EPYC, gcc
            -O2) */
QNNRT_IR_API qnnrt_result qnnrt_ir_run(qnnrt_ir *ir, const qnnrt_ir_run_desc *desc,
                                       const void *const *inputs, void *const *outputs,
                                       qnnrt_error *err);

/* ----------------------------------------------------------------------------------- editing -- */

/* Add a value that a new node will produce. Its name is made unique: "norm", "norm_1", ...
   Returns NULL when out of memory, or if rank, a dimension or the element count is too large. */
QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_add_value(qnnrt_ir *ir, const char *name, qnnrt_dtype dtype,
                                                uint32_t rank, const int64_t *dims);
/* Add an input of the graph, the last one. Returns NULL as qnnrt_ir_add_value(). */
QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_add_input(qnnrt_ir *ir, const char *name, qnnrt_dtype dtype,
                                                uint32_t rank, const int64_t *dims);
/* Add an output of the graph, the last one. Returns 0 when out of memory. */
QNNRT_IR_API int qnnrt_ir_add_output(qnnrt_ir *ir, qnnrt_ir_value *value);
/* Add a weight without data. name: the placeholder. Returns NULL as qnnrt_ir_add_value(). */
QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_add_weight(qnnrt_ir *ir, const char *name, const char *key,
                                                 qnnrt_dtype dtype, uint32_t rank,
                                                 const int64_t *dims);
/* Add a constant. Its data is copied; with NULL it is zero, and *room receives it to be filled.
   room may be NULL. */
QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_add_constant(qnnrt_ir *ir, const char *name,
                                                   qnnrt_dtype dtype, uint32_t rank,
                                                   const int64_t *dims, const void *data,
                                                   void **room);
/* Add a node before another one; NULL: at the end. Inputs may contain NULL. The outputs are values
   of qnnrt_ir_add_value() that no node produces yet, or outputs of a killed node. The node takes
   the name of its first output.
   Returns NULL when out of memory. */
QNNRT_IR_API qnnrt_ir_node *qnnrt_ir_add_node(qnnrt_ir *ir, const qnnrt_ir_node *before,
                                              const char *op, qnnrt_ir_value *const *inputs,
                                              size_t input_count, qnnrt_ir_value *const *outputs,
                                              size_t output_count);
/* Set an argument of a node; its name, text and lists are copied. Returns 0 when out of memory. */
QNNRT_IR_API int qnnrt_ir_set(qnnrt_ir *ir, qnnrt_ir_node *node, const qnnrt_ir_attr *attr);
QNNRT_IR_API int qnnrt_ir_set_int(qnnrt_ir *ir, qnnrt_ir_node *node, const char *name,
                                  int64_t value);
QNNRT_IR_API int qnnrt_ir_set_float(qnnrt_ir *ir, qnnrt_ir_node *node, const char *name,
                                    double value);
QNNRT_IR_API int qnnrt_ir_set_ints(qnnrt_ir *ir, qnnrt_ir_node *node, const char *name,
                                   const int64_t *values, size_t count);
QNNRT_IR_API int qnnrt_ir_set_bool(qnnrt_ir *ir, qnnrt_ir_node *node, const char *name, int value);
QNNRT_IR_API int qnnrt_ir_set_text(qnnrt_ir *ir, qnnrt_ir_node *node, const char *name,
                                   const char *text);
/* Set the operator of a node. Returns 0 when out of memory. */
QNNRT_IR_API int qnnrt_ir_set_op(qnnrt_ir *ir, qnnrt_ir_node *node, const char *op);
/* Set input i of a node, an existing one or the next. Returns 0 when out of memory. */
QNNRT_IR_API int qnnrt_ir_set_input(qnnrt_ir *ir, qnnrt_ir_node *node, size_t i,
                                    qnnrt_ir_value *value);
/* Change a node to another operator with other inputs, without arguments; its mapping says so. Its
   outputs, and so the names of the graph's outputs, stay. Returns 0 when out of memory. */
QNNRT_IR_API int qnnrt_ir_become(qnnrt_ir *ir, qnnrt_ir_node *node, const char *op,
                                 qnnrt_ir_value *const *inputs, size_t count);
/* Add "to.dtype" before a node (NULL: at the end), which makes `to` from `from`. Returns 0 when out
   of memory. */
QNNRT_IR_API int qnnrt_ir_convert(qnnrt_ir *ir, const qnnrt_ir_node *before, qnnrt_ir_value *from,
                                  qnnrt_ir_value *to);
/* Convert the result of a changed node, if it has another dtype now, to that of its output.
   Returns QNNRT_OK; as qnnrt_ir_infer(); QNNRT_E_MEMORY */
QNNRT_IR_API qnnrt_result qnnrt_ir_round(qnnrt_ir *ir, qnnrt_ir_node *node, qnnrt_error *err);
/* Compute a node whose inputs have data: its outputs become constants, and it is killed with the
   mapping "folded". What it takes counts for qnnrt_ir_desc.fold_bytes and .fold_operations.
   Returns QNNRT_OK; as qnnrt_ir_eval_node(); QNNRT_E_LIMIT (text names the node, what it takes and
   what is left). Without QNNRT_OK the node is as before */
QNNRT_IR_API qnnrt_result qnnrt_ir_fold_node(qnnrt_ir *ir, qnnrt_ir_node *node, qnnrt_error *err);
/* Set dtype and shape of a value, such as an input that readers want smaller. Returns 0 if rank, a
   dimension or the element count is too large. */
QNNRT_IR_API int qnnrt_ir_set_shape(qnnrt_ir_value *value, qnnrt_dtype dtype, uint32_t rank,
                                    const int64_t *dims);
/* Give a value a name; another value that has it gets a new one. Returns 0 when out of memory. */
QNNRT_IR_API int qnnrt_ir_set_name(qnnrt_ir *ir, qnnrt_ir_value *value, const char *name);
/* Let all readers of a value, and the outputs of the graph, read another one. */
QNNRT_IR_API void qnnrt_ir_replace(qnnrt_ir *ir, const qnnrt_ir_value *old, qnnrt_ir_value *now);
/* Take a node out of use. It stops reading its inputs; qnnrt_ir_tidy() removes it. Its mapping
   is set to a text, which is copied; NULL: it stays. */
QNNRT_IR_API void qnnrt_ir_kill(qnnrt_ir *ir, qnnrt_ir_node *node, const char *mapping);
/* Copy a text to the memory of the graph. Returns NULL when out of memory. */
QNNRT_IR_API const char *qnnrt_ir_text(qnnrt_ir *ir, const char *text);
/* Remove dead nodes and nodes whose outputs nothing reads, except those that overwrite their input;
   order the others so that each runs after those that it reads, and otherwise as before; count
   users.
   Returns QNNRT_OK; QNNRT_E_FORMAT (a cycle: text names a node on it); QNNRT_E_MEMORY */
QNNRT_IR_API qnnrt_result qnnrt_ir_tidy(qnnrt_ir *ir, qnnrt_error *err);

/* --------------------------------------------------------------------------- parts and files -- */

/* Make a graph of some nodes of another one.

   ir        a graph without findings whose nodes overwrite no input (qnnrt_ir_pass_noops() and all
             other passes see to that). It must outlive the new graph, which borrows the data of its
             constants and weights, and may be changed meanwhile
   nodes     in any order, each once; they keep the order of ir->nodes
   inputs    of the new graph, in this order, each once: any values that no node of `nodes`
             computes, also weights and constants. May be NULL
   outputs   of the new graph, in this order: any values, also of ir->inputs, weights and constants
   name      of the new graph (NULL: that of `ir`); it is copied
   out       receives the graph, NULL on failure

   What the nodes read, and what `outputs` has, is computed inside, or one of `inputs`; else weights
   and constants stay what they are, with name, key and data, and other values become inputs after
   those of `inputs`, in the order of their first use. Values keep their names. Nodes keep name,
   operator, arguments, source, line and number, so that a node of the new graph has the number of
   the one in `ir`; nodes that are added later have larger ones. Findings and mappings stay behind.
   Returns  QNNRT_OK; QNNRT_E_ARG (a node that is dead or occurs twice, an input that is computed
            inside or occurs twice: text names it; one that is NULL or of another graph);
            QNNRT_E_UNSUPPORTED (a node overwrites its
            input); QNNRT_E_LIMIT; QNNRT_E_MEMORY
   Frees    qnnrt_ir_free()
   Cost     time for the nodes, and a little for each value of `ir` */
QNNRT_IR_API qnnrt_result qnnrt_ir_extract(const qnnrt_ir *ir, const qnnrt_ir_node *const *nodes,
                                           size_t node_count, const qnnrt_ir_value *const *inputs,
                                           size_t input_count, const qnnrt_ir_value *const *outputs,
                                           size_t output_count, const char *name, qnnrt_ir **out,
                                           qnnrt_error *err);

struct qnnrt_json_writer;

/* Write a graph without findings as JSON that qnnrt_ir_read() reads, as one value: of the document,
   or of a member of a larger one.

   writer   of qnnrt_json.h; the caller begins and ends it

   The graph that is read back has the same inputs, outputs, nodes in the same order, arguments,
   names, keys and constants, to the bit. Left out are removed and dead nodes, weights and constants
   that nothing reads, the data of weights, arguments of the kind QNNRT_IR_OTHER (which no operator
   has), mappings and lines. A node whose name another one has gets a number behind it.
   Other readers of the format understand the text, except for floats that are not finite,
   constants without elements, and absent inputs.
   Returns  QNNRT_OK; QNNRT_E_ARG (two values have one name, a constant has no data); QNNRT_E_IO
            (writer->error says why); QNNRT_E_MEMORY */
QNNRT_IR_API qnnrt_result qnnrt_ir_write(const qnnrt_ir *ir, struct qnnrt_json_writer *writer,
                                         qnnrt_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_IR_H, end of the declarations */

#ifdef QNNRT_IR_IMPLEMENTATION
#ifndef QNNRT_IR__IMPL_ONCE
#define QNNRT_IR__IMPL_ONCE

/* qnnrt.h includes the functions of qnnrt_json.h, unless QNNRT_NO_JSON is defined. */
#if defined(QNNRT_NO_JSON) && !defined(QNNRT_JSON_IMPLEMENTATION)
#define QNNRT_JSON_IMPLEMENTATION
#endif
#include "qnnrt_json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   Errors and checked arithmetic, for every room.
   Needs: nothing     Knows nothing of: graphs
   ===================================================================================== */

/* With AddressSanitizer, or with QNNRT_IR_DEBUG, the evaluator aborts where it would leave a
   tensor: every place follows from shapes that were checked, so this finds a wrong check. */
#if defined(__SANITIZE_ADDRESS__) && !defined(QNNRT_IR_DEBUG)
#define QNNRT_IR_DEBUG
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(QNNRT_IR_DEBUG)
#define QNNRT_IR_DEBUG
#endif
#endif
#ifdef QNNRT_IR_DEBUG
#define QNNRT_IR__MUST(cond) ((cond) ? (void)0 : abort())
#else
#define QNNRT_IR__MUST(cond) ((void)0)
#endif

/* Bounds of a dimension and of the elements of a value: sums of a few dimensions, and bytes of a
   value, fit in 64 bits. */
#define QNNRT_IR__MOST ((int64_t)1 << 48)

static qnnrt_result qnnrt_ir__fail_memory(qnnrt_error *err)
{
    return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a graph");
}

/* Fail because an arena did. */
static qnnrt_result qnnrt_ir__fail_arena(qnnrt_error *err, qnnrt_result failed)
{
    if (failed != QNNRT_E_LIMIT) return qnnrt_ir__fail_memory(err);
    return qnnrt_error_set(err, failed, "the graph needs more memory than "
                           "qnnrt_ir_desc.memory_bytes allows");
}

/* Begin an arena with the hooks and limits of another one. */
static qnnrt_arena qnnrt_ir__arena_like(const qnnrt_arena *other)
{
    qnnrt_arena arena;
    memset(&arena, 0, sizeof(arena));
    arena.hooks = other->hooks;
    arena.limit = other->limit;
    arena.chunk = other->chunk;
    return arena;
}

/* Bring a number of the file into the range in which sums of a few of them are exact. */
static int64_t qnnrt_ir__near(int64_t value)
{
    if (value > 4 * QNNRT_IR__MOST) return 4 * QNNRT_IR__MOST;
    return value < -4 * QNNRT_IR__MOST ? -4 * QNNRT_IR__MOST : value;
}

/* Multiply. What is out of the range of qnnrt_ir__near() becomes its end. */
static int64_t qnnrt_ir__times(int64_t a, int64_t b)
{
    const int64_t end = 4 * QNNRT_IR__MOST;
    const uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    const uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    const int minus = (a < 0) != (b < 0);
    if (x != 0 && y > (uint64_t)end / x) return minus ? -end : end;
    return minus ? -(int64_t)(x * y) : (int64_t)(x * y);
}

QNNRT_IR_API int qnnrt_ir_same_shape(const qnnrt_ir_value *a, const qnnrt_ir_value *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims)) == 0;
}

/* Count the elements of a shape. Return 0 if a dimension is negative or too large, or if there are
   too many elements. */
static int qnnrt_ir__count(uint32_t rank, const int64_t *dims, uint64_t *count)
{
    uint64_t product = 1;
    uint32_t i;
    int empty = 0;
    *count = 0;
    if (rank > QNNRT_IR_RANK) return 0;
    for (i = 0; i < rank; ++i) {
        if (dims[i] < 0 || dims[i] > QNNRT_IR__MOST) return 0;
        if (dims[i] == 0) empty = 1;
    }
    for (i = 0; i < rank && !empty; ++i) {
        if ((uint64_t)dims[i] > (uint64_t)QNNRT_IR__MOST / product) return 0;
        product *= (uint64_t)dims[i];
    }
    *count = empty ? 0 : product;
    return 1;
}

/* =====================================================================================
   SYMBOL                                                                        >>symbol
   The names of a graph, each stored once, in a trie over their hashes.
   Needs: nothing     Knows nothing of: shapes
   ===================================================================================== */

/* A tensor as the file states it. */
typedef struct qnnrt_ir__ref {
    struct qnnrt_ir__symbol *name, *producer;  /* NULL: not given */
    uint32_t     index, rank;
    qnnrt_dtype  dtype;
    int64_t      dims[QNNRT_IR_RANK];
    qnnrt_result code;                       /* of `fault` */
    const char  *fault;                      /* NULL, or what is wrong with it */
    const void  *data;                       /* of a constant */
    int          stated;                     /* 1: a constant with a shape of its own */
} qnnrt_ir__ref;

typedef struct qnnrt_ir__symbol {
    struct qnnrt_ir__symbol *child[4];
    const char              *text;
    size_t                   bytes;
    uint64_t                 hash;
    qnnrt_ir_value          *value;          /* of this name */
    qnnrt_ir_node           *node;           /* of this name */
    struct qnnrt_ir__symbol *key;            /* of a placeholder: the name in the checkpoint */
    qnnrt_ir__ref           *weight;         /* the entry of "weights" with this name */
    qnnrt_ir__ref           *constant;       /* the entry of "constants" with this name */
    size_t                   nodes;          /* of the unknown operator of this name */
    uint32_t                 suffix;         /* the next number that makes a new name of this one */
} qnnrt_ir__symbol;

/* Return the symbol of a text, NULL when out of memory; or, if `make` is 0, when there is none. */
static qnnrt_ir__symbol *qnnrt_ir__symbol_get(qnnrt_arena *arena, qnnrt_ir__symbol **root,
                                              const char *text, size_t bytes, int make)
{
    qnnrt_ir__symbol **at = root, *symbol;
    uint64_t hash = UINT64_C(14695981039346656037), bits;
    size_t i;
    for (i = 0; i < bytes; ++i) hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    for (bits = hash; *at != NULL; bits <<= 2) {
        symbol = *at;
        if (symbol->hash == hash && symbol->bytes == bytes &&
            memcmp(symbol->text, text, bytes) == 0)
            return symbol;
        at = &symbol->child[bits >> 62];
    }
    if (!make) return NULL;
    symbol = (qnnrt_ir__symbol *)qnnrt_arena_get(arena, 1, sizeof(*symbol));
    if (symbol == NULL) return NULL;
    symbol->text = qnnrt_arena_text(arena, text, bytes);
    if (symbol->text == NULL) return NULL;
    symbol->bytes = bytes;
    symbol->hash = hash;
    *at = symbol;
    return symbol;
}

/* =====================================================================================
   DTYPE                                                                          >>dtype
   Names and sizes of element types, and the type of an operation on several of them.
   Needs: nothing     Knows nothing of: graphs
   ===================================================================================== */

/* In the order of promotion: kind 0 bool, 1 integer, 2 float. */
static const struct qnnrt_ir__dtype {
    const char *name;
    qnnrt_dtype dtype;
    int         kind, bytes;
} qnnrt_ir__dtypes[] = {
    { "bool", QNNRT_DTYPE_BOOL8, 0, 1 },     { "uint8", QNNRT_DTYPE_U8, 1, 1 },
    { "int8", QNNRT_DTYPE_I8, 1, 1 },        { "int16", QNNRT_DTYPE_I16, 1, 2 },
    { "int32", QNNRT_DTYPE_I32, 1, 4 },      { "int64", QNNRT_DTYPE_I64, 1, 8 },
    { "float16", QNNRT_DTYPE_F16, 2, 2 },    { "bfloat16", QNNRT_DTYPE_BF16, 2, 2 },
    { "float32", QNNRT_DTYPE_F32, 2, 4 },    { "float64", QNNRT_DTYPE_F64, 2, 8 },
};
enum { QNNRT_IR__DTYPES = sizeof(qnnrt_ir__dtypes) / sizeof(qnnrt_ir__dtypes[0]) };

/* Return the row of a dtype, -1 for one that graphs do not have. */
static int qnnrt_ir__dtype_row(qnnrt_dtype dtype)
{
    int i = 0;
    while (i < QNNRT_IR__DTYPES && qnnrt_ir__dtypes[i].dtype != dtype) ++i;
    return i < QNNRT_IR__DTYPES ? i : -1;
}

/* Return 0 for bool, 1 for integers, 2 for floats, -1 for others. */
QNNRT_IR_API int qnnrt_ir_dtype_kind(qnnrt_dtype dtype)
{
    const int row = qnnrt_ir__dtype_row(dtype);
    return row < 0 ? -1 : qnnrt_ir__dtypes[row].kind;
}

static qnnrt_dtype qnnrt_ir__dtype_parse(const char *name, size_t bytes)
{
    int i;
    if (bytes > 6 && memcmp(name, "torch.", 6) == 0) { name += 6; bytes -= 6; }
    for (i = 0; i < QNNRT_IR__DTYPES; ++i)
        if (strlen(qnnrt_ir__dtypes[i].name) == bytes &&
            memcmp(qnnrt_ir__dtypes[i].name, name, bytes) == 0)
            return qnnrt_ir__dtypes[i].dtype;
    return QNNRT_DTYPE_UNDEFINED;
}

QNNRT_IR_API const char *qnnrt_ir_dtype_name(qnnrt_dtype dtype)
{
    const int row = qnnrt_ir__dtype_row(dtype);
    return row < 0 ? "?" : qnnrt_ir__dtypes[row].name;
}

QNNRT_IR_API qnnrt_dtype qnnrt_ir_dtype_from(const char *name)
{
    return name != NULL ? qnnrt_ir__dtype_parse(name, strlen(name)) : QNNRT_DTYPE_UNDEFINED;
}

QNNRT_IR_API size_t qnnrt_ir_dtype_bytes(qnnrt_dtype dtype)
{
    const int row = qnnrt_ir__dtype_row(dtype);
    return row < 0 ? 0 : (size_t)qnnrt_ir__dtypes[row].bytes;
}

/* Return the dtype that can hold both. UNDEFINED stands for no operand. */
static qnnrt_dtype qnnrt_ir__dtype_join(qnnrt_dtype a, qnnrt_dtype b)
{
    const int x = qnnrt_ir__dtype_row(a), y = qnnrt_ir__dtype_row(b);
    if (x < 0 || y < 0) return x < 0 ? b : a;
    /* Neither of these two holds the other. */
    if (x + y == 3 && x != 0 && y != 0) return QNNRT_DTYPE_I16;
    if (x + y == 13 && x != y && x > 5 && y > 5) return QNNRT_DTYPE_F32;
    return x > y ? a : b;
}

/* Join operands of different rank as PyTorch does: a tensor with dimensions decides, unless the
   other operand (`weak`: a scalar tensor, or a number) is of a higher kind. */
static qnnrt_dtype qnnrt_ir__dtype_weak(qnnrt_dtype strong, qnnrt_dtype weak)
{
    const int a = qnnrt_ir_dtype_kind(strong), b = qnnrt_ir_dtype_kind(weak);
    if (a < 0 || b < 0) return a < 0 ? weak : strong;
    return a == 2 || (a == 1 && b < 2) ? strong : qnnrt_ir__dtype_join(strong, weak);
}

/* =====================================================================================
   ATTRIBUTES                                                                      >>attr
   Inputs and arguments of nodes, and defaults of these in the schema of the operator.
   Needs: >>config >>dtype     Knows nothing of: what an operator computes
   ===================================================================================== */

QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_input(const qnnrt_ir_node *node, size_t i)
{
    return i < node->input_count ? node->inputs[i] : NULL;
}

/* One argument of a schema such as "ints stride=1, int? dim, Scalar other". */
typedef struct qnnrt_ir__arg {
    const char     *type, *name;
    size_t          type_bytes, name_bytes;
    int             optional;                /* may be absent or null */
    qnnrt_json_text value;                   /* its default; text NULL: none */
} qnnrt_ir__arg;

/* Get the next argument. *at is the rest of the schema. Return 0 at its end. */
static int qnnrt_ir__attr_next(const char **at, qnnrt_ir__arg *arg)
{
    const char *p = *at;
    memset(arg, 0, sizeof(*arg));
    while (*p == ' ' || *p == ',') ++p;
    if (*p == '\0') return 0;
    arg->type = p;
    while (*p != ' ' && *p != '?') ++p;
    arg->type_bytes = (size_t)(p - arg->type);
    if (*p == '?') { arg->optional = 1; ++p; }
    while (*p == ' ') ++p;
    arg->name = p;
    while (*p != '\0' && *p != ',' && *p != '=') ++p;
    arg->name_bytes = (size_t)(p - arg->name);
    if (*p == '=') {
        arg->value.text = ++p;
        while (*p != '\0' && *p != ',') ++p;
        arg->value.bytes = (size_t)(p - arg->value.text);
    }
    *at = p;
    return 1;
}

/* Find an argument of an operator. Return 0 if it has none of this name. */
static int qnnrt_ir__attr_arg(const qnnrt_ir_op *op, const char *name, qnnrt_ir__arg *arg)
{
    const char *at = op != NULL ? op->args : "";
    const size_t bytes = strlen(name);
    while (qnnrt_ir__attr_next(&at, arg))
        if (arg->name_bytes == bytes && memcmp(arg->name, name, bytes) == 0) return 1;
    return 0;
}

/* Read a default that is one number or a word. Return 0 if there is none. */
static int qnnrt_ir__attr_default(const qnnrt_ir__arg *arg, int64_t *i, double *f)
{
    *i = 0;
    *f = 0;
    if (arg->value.text == NULL) return 0;
    if (arg->value.bytes == 4 && memcmp(arg->value.text, "true", 4) == 0) *i = 1;
    else if (arg->value.bytes == 5 && memcmp(arg->value.text, "false", 5) == 0) *i = 0;
    else if (!qnnrt_json_i64(&arg->value, i) && qnnrt_json_f64(&arg->value, f)) return 1;
    *f = (double)*i;
    return 1;
}

/* Return true if a text means that the argument was left out: Python's None, written as a text. */
static int qnnrt_ir__attr_absent(const qnnrt_ir_attr *attr)
{
    return attr == NULL || attr->kind == QNNRT_IR_NULL ||
           (attr->kind == QNNRT_IR_TEXT && strcmp(attr->text, "None") == 0);
}

QNNRT_IR_API const qnnrt_ir_attr *qnnrt_ir_attr_find(const qnnrt_ir_node *node, const char *name)
{
    size_t i;
    for (i = 0; i < node->attr_count; ++i)
        if (strcmp(node->attrs[i].name, name) == 0) return &node->attrs[i];
    return NULL;
}

/* Return true if an argument is written down and not null. */
static int qnnrt_ir__attr_has(const qnnrt_ir_node *node, const char *name)
{
    return !qnnrt_ir__attr_absent(qnnrt_ir_attr_find(node, name));
}

/* Convert a float to an integer, toward 0; what does not fit becomes the end of the range. */
static int64_t qnnrt_ir__attr_whole(double f)
{
    if (!(f > -9e18)) return f < 0 ? INT64_MIN : 0;
    return f < 9e18 ? (int64_t)f : INT64_MAX;
}

static void qnnrt_ir__attr_number(const qnnrt_ir_node *node, const char *name, int64_t *i,
                                  double *f)
{
    const qnnrt_ir_attr *attr = qnnrt_ir_attr_find(node, name);
    qnnrt_ir__arg arg;
    int64_t default_i;
    double default_f;
    if (!qnnrt_ir__attr_absent(attr)) {
        if (attr->kind == QNNRT_IR_FLOAT) { *f = attr->f; *i = qnnrt_ir__attr_whole(attr->f); }
        if (attr->kind == QNNRT_IR_INT || attr->kind == QNNRT_IR_BOOL) {
            *i = attr->i;
            *f = attr->f;
        }
        if (attr->kind == QNNRT_IR_INTS && attr->count == 1) {
            *i = attr->ints[0];
            *f = attr->floats[0];
        }
    } else if (qnnrt_ir__attr_arg(node->info, name, &arg) &&
               qnnrt_ir__attr_default(&arg, &default_i, &default_f)) {
        *i = default_i;
        *f = default_f;
    }
}

QNNRT_IR_API int64_t qnnrt_ir_int(const qnnrt_ir_node *node, const char *name, int64_t otherwise)
{
    double f;
    qnnrt_ir__attr_number(node, name, &otherwise, &f);
    return otherwise;
}

QNNRT_IR_API double qnnrt_ir_float(const qnnrt_ir_node *node, const char *name, double otherwise)
{
    int64_t i;
    qnnrt_ir__attr_number(node, name, &i, &otherwise);
    return otherwise;
}

QNNRT_IR_API size_t qnnrt_ir_ints(const qnnrt_ir_node *node, const char *name,
                                  int64_t out[QNNRT_IR_RANK])
{
    const qnnrt_ir_attr *attr = qnnrt_ir_attr_find(node, name);
    qnnrt_ir__arg arg;
    size_t i;
    double f;
    memset(out, 0, QNNRT_IR_RANK * sizeof(*out));
    if (qnnrt_ir__attr_absent(attr))
        return qnnrt_ir__attr_arg(node->info, name, &arg) && qnnrt_ir__attr_default(&arg, out, &f);
    if (attr->kind == QNNRT_IR_INT) { out[0] = attr->i; return 1; }
    if (attr->kind != QNNRT_IR_INTS) return 0;
    for (i = 0; i < attr->count && i < QNNRT_IR_RANK; ++i) out[i] = attr->ints[i];
    return attr->count;
}

QNNRT_IR_API int qnnrt_ir_each(const qnnrt_ir_node *node, const char *name, size_t count,
                               int64_t *out)
{
    int64_t list[QNNRT_IR_RANK];
    const size_t given = qnnrt_ir_ints(node, name, list);
    size_t i;
    if (count > QNNRT_IR_RANK || (given != count && given != 1)) return 0;
    for (i = 0; i < count; ++i) out[i] = qnnrt_ir__near(list[given == 1 ? 0 : i]);
    return 1;
}

QNNRT_IR_API qnnrt_dtype qnnrt_ir_dtype(const qnnrt_ir_node *node, const char *name,
                                        qnnrt_dtype otherwise)
{
    const qnnrt_ir_attr *attr = qnnrt_ir_attr_find(node, name);
    if (qnnrt_ir__attr_absent(attr)) return otherwise;
    return attr->kind == QNNRT_IR_TEXT ? qnnrt_ir__dtype_parse(attr->text, strlen(attr->text))
                                       : QNNRT_DTYPE_UNDEFINED;
}

/* Return the number of dimensions in the name of an operator, "conv2d"; 0: it has none. */
static uint32_t qnnrt_ir__attr_spatial(const qnnrt_ir_node *node)
{
    const char *const digit = strpbrk(node->op, "123");
    return digit != NULL ? (uint32_t)(*digit - '0') : 0;
}

/* Return the dtype of a number argument as an operand. */
static qnnrt_dtype qnnrt_ir__attr_scalar(const qnnrt_ir_node *node, const char *name)
{
    const qnnrt_ir_attr *attr = qnnrt_ir_attr_find(node, name);
    if (qnnrt_ir__attr_absent(attr)) return QNNRT_DTYPE_UNDEFINED;
    return attr->kind == QNNRT_IR_FLOAT ? QNNRT_DTYPE_F32 :
           attr->kind == QNNRT_IR_INT ? QNNRT_DTYPE_I64 :
           attr->kind == QNNRT_IR_BOOL ? QNNRT_DTYPE_BOOL8 : QNNRT_DTYPE_UNDEFINED;
}

/* =====================================================================================
   SHAPE                                                                          >>shape
   Helpers of the functions that infer shape and dtype of an output.
   Needs: >>config >>dtype >>attr     Knows nothing of: operators
   ===================================================================================== */

/* A shape function fills dtype, rank and dims of output `index`, sets `outputs` if there is not
   exactly one, and returns 1; or it returns qnnrt_ir__shape_fail(). Inputs below op->least are
   there. */
typedef struct qnnrt_ir__shape {
    const qnnrt_ir_node *node;
    size_t               index, outputs;
    qnnrt_dtype          dtype;              /* UNDEFINED: not known */
    uint32_t             rank;
    int64_t              dims[QNNRT_IR_RANK];
    int64_t              begin, stride[QNNRT_IR_RANK];   /* of a view: where input 0 has them */
    uint32_t             group, place;       /* of indices: see qnnrt_ir__shape_indexed() */
    qnnrt_result         code;               /* of a failure */
    char                 why[256];
    char                 said[2][100];
} qnnrt_ir__shape;

__attribute__((cold, format(printf, 3, 4)))
static int qnnrt_ir__shape_fail(qnnrt_ir__shape *s, qnnrt_result code, const char *format, ...)
{
    va_list args;
    s->code = code;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    return 0;
}

static int qnnrt_ir__shape_copy(qnnrt_ir__shape *s, const qnnrt_ir_value *x)
{
    s->dtype = x->dtype;
    s->rank = x->rank;
    memcpy(s->dims, x->dims, sizeof(s->dims));
    return 1;
}

static const char *qnnrt_ir__shape_text(char *out, size_t room, uint32_t rank, const int64_t *dims)
{
    uint32_t i;
    snprintf(out, room, "[");
    for (i = 0; i < rank && i < QNNRT_IR_RANK && strlen(out) + 24 < room; ++i)
        qnnrt_text_append(out, room, i == 0 ? "%lld" : ", %lld", (long long)dims[i]);
    qnnrt_text_append(out, room, "]");
    return out;
}

/* Write a shape for the text of a failure, which may have two. */
static const char *qnnrt_ir__shape_say(qnnrt_ir__shape *s, int k, uint32_t rank,
                                       const int64_t *dims)
{
    return qnnrt_ir__shape_text(s->said[k], sizeof s->said[k], rank, dims);
}

/* Get a dimension argument, counted from the end if negative. `rank` of a scalar counts as 1. */
static int qnnrt_ir__shape_wrap(qnnrt_ir__shape *s, const char *name, int64_t dim, uint32_t rank,
                                uint32_t *out)
{
    const int64_t whole = rank == 0 ? 1 : rank;
    *out = 0;
    if (dim < -whole || dim >= whole)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%s is %lld, expected -%u to %u", name,
                                    (long long)dim, (unsigned)whole, (unsigned)whole - 1);
    *out = (uint32_t)(dim < 0 ? dim + whole : dim);
    return 1;
}

static int qnnrt_ir__shape_axis(qnnrt_ir__shape *s, const char *name, uint32_t rank, uint32_t *out)
{
    return qnnrt_ir__shape_wrap(s, name, qnnrt_ir_int(s->node, name, 0), rank, out);
}

/* Take the shape of input 0, which must have dimensions, and its argument dim. */
static int qnnrt_ir__shape_dim(qnnrt_ir__shape *s, uint32_t *axis)
{
    const qnnrt_ir_value *x = s->node->inputs[0];
    qnnrt_ir__shape_copy(s, x);
    if (x->rank == 0) return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "input 0 has no dimensions");
    return qnnrt_ir__shape_axis(s, "dim", s->rank, axis);
}

/* Get a list of dimensions as a set of bits; an absent or empty list is all of them. */
static int qnnrt_ir__shape_axes(qnnrt_ir__shape *s, const char *name, uint32_t rank, uint32_t *bits)
{
    int64_t list[QNNRT_IR_RANK];
    const size_t count = qnnrt_ir_ints(s->node, name, list);
    size_t i;
    uint32_t axis;
    *bits = count == 0 ? ((uint32_t)1 << rank) - 1 : 0;
    if (count > QNNRT_IR_RANK) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%s is too long", name);
    for (i = 0; i < count; ++i) {
        if (!qnnrt_ir__shape_wrap(s, name, list[i], rank, &axis)) return 0;
        if (*bits >> axis & 1)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%s names dimension %u twice", name,
                                        (unsigned)axis);
        *bits |= (uint32_t)1 << axis;
    }
    return 1;
}

/* Broadcast the shape so far with another one. */
static int qnnrt_ir__shape_broadcast(qnnrt_ir__shape *s, uint32_t rank, const int64_t *dims)
{
    const uint32_t most = s->rank > rank ? s->rank : rank;
    int64_t out[QNNRT_IR_RANK];
    uint32_t i;
    for (i = 0; i < most; ++i) {             /* from the last dimension */
        const int64_t x = i < s->rank ? s->dims[s->rank - 1 - i] : 1;
        const int64_t y = i < rank ? dims[rank - 1 - i] : 1;
        if (x != y && x != 1 && y != 1)
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "%s and %s do not broadcast",
                                        qnnrt_ir__shape_say(s, 0, s->rank, s->dims),
                                        qnnrt_ir__shape_say(s, 1, rank, dims));
        out[most - 1 - i] = x == 1 ? y : x;
    }
    s->rank = most;
    memcpy(s->dims, out, most * sizeof(*out));
    return 1;
}

/* Require that a value broadcasts to the shape of the result. */
static int qnnrt_ir__shape_fits(qnnrt_ir__shape *s, const qnnrt_ir_value *x)
{
    int64_t dims[QNNRT_IR_RANK];
    const uint32_t rank = s->rank;
    memcpy(dims, s->dims, sizeof(dims));
    if (x->rank <= rank && !qnnrt_ir__shape_broadcast(s, x->rank, x->dims)) return 0;
    if (x->rank > rank || memcmp(dims, s->dims, rank * sizeof(*dims)) != 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "%s does not broadcast to %s",
                                    qnnrt_ir__shape_say(s, 0, x->rank, x->dims),
                                    qnnrt_ir__shape_say(s, 1, rank, dims));
    return 1;
}

/* Return the dtype of an operation on inputs from..to-1 and the number argument `name`. */
static qnnrt_dtype qnnrt_ir__shape_join(const qnnrt_ir__shape *s, size_t from, size_t to,
                                        const char *name)
{
    qnnrt_dtype strong = QNNRT_DTYPE_UNDEFINED, weak = QNNRT_DTYPE_UNDEFINED;
    size_t i;
    for (i = from; i < to; ++i) {
        const qnnrt_ir_value *x = qnnrt_ir_input(s->node, i);
        if (x == NULL) continue;
        if (x->rank > 0) strong = qnnrt_ir__dtype_join(strong, x->dtype);
        else weak = qnnrt_ir__dtype_join(weak, x->dtype);
    }
    weak = qnnrt_ir__dtype_weak(weak, qnnrt_ir__attr_scalar(s->node, name));
    return qnnrt_ir__dtype_weak(strong, weak);
}

static int qnnrt_ir__shape_rank(qnnrt_ir__shape *s, size_t i, uint32_t least, uint32_t most)
{
    const qnnrt_ir_value *x = s->node->inputs[i];
    if (x->rank >= least && x->rank <= most) return 1;
    return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH,
                                "input %u has %u dimensions, expected %u to %u",
                                (unsigned)i, (unsigned)x->rank, (unsigned)least, (unsigned)most);
}

/* Require input i, if present, to be [size]. */
static int qnnrt_ir__shape_vector(qnnrt_ir__shape *s, size_t i, int64_t size)
{
    const qnnrt_ir_value *x = qnnrt_ir_input(s->node, i);
    if (x == NULL || (x->rank == 1 && x->dims[0] == size)) return 1;
    return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "input %u is %s, expected [%lld]", (unsigned)i,
                                qnnrt_ir__shape_say(s, 0, x->rank, x->dims), (long long)size);
}

static int qnnrt_ir__shape_floats(qnnrt_ir__shape *s, const qnnrt_ir_value *x)
{
    if (qnnrt_ir_dtype_kind(x->dtype) == 2) return 1;
    return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "an input is %s, expected a float type",
                                qnnrt_dtype_name(x->dtype));
}

static int qnnrt_ir__shape_indices(qnnrt_ir__shape *s, const qnnrt_ir_value *x)
{
    if (x->dtype == QNNRT_DTYPE_I64 || x->dtype == QNNRT_DTYPE_I32) return 1;
    return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the indices are %s, expected int64 or int32",
                                qnnrt_dtype_name(x->dtype));
}

/* Set the dtype that a dtype argument names, or another one. */
static int qnnrt_ir__shape_dtype(qnnrt_ir__shape *s, qnnrt_dtype otherwise)
{
    const qnnrt_ir_attr *attr = qnnrt_ir_attr_find(s->node, "dtype");
    s->dtype = qnnrt_ir_dtype(s->node, "dtype", otherwise);
    if (s->dtype != QNNRT_DTYPE_UNDEFINED || otherwise == QNNRT_DTYPE_UNDEFINED) return 1;
    return qnnrt_ir__shape_fail(s, QNNRT_E_UNSUPPORTED, "dtype is \"%.100s\"",
                                attr->kind == QNNRT_IR_TEXT ? attr->text : "not a text");
}

/* =====================================================================================
   SHAPE OF MATHEMATICS                                                      >>shape_math
   Elementwise operators, comparisons, reductions.
   Needs: >>dtype >>attr >>shape     Knows nothing of: layouts
   ===================================================================================== */

static int qnnrt_ir__shape_same(qnnrt_ir__shape *s)
{
    return qnnrt_ir__shape_copy(s, s->node->inputs[0]);
}

static int qnnrt_ir__shape_copied(qnnrt_ir__shape *s)
{
    return qnnrt_ir__shape_same(s) && qnnrt_ir__shape_fits(s, s->node->inputs[1]);
}

static int qnnrt_ir__shape_triangle(qnnrt_ir__shape *s)
{
    return qnnrt_ir__shape_same(s) && qnnrt_ir__shape_rank(s, 0, 2, QNNRT_IR_RANK);
}

/* glu: half of a dimension times the sigmoid of the other half. */
static int qnnrt_ir__shape_glu(qnnrt_ir__shape *s)
{
    uint32_t axis;
    if (!qnnrt_ir__shape_same(s) || !qnnrt_ir__shape_floats(s, s->node->inputs[0]) ||
        !qnnrt_ir__shape_rank(s, 0, 1, QNNRT_IR_RANK) ||
        !qnnrt_ir__shape_axis(s, "dim", s->rank, &axis)) return 0;
    if (s->dims[axis] % 2 != 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "a dimension of %lld has no halves",
                                    (long long)s->dims[axis]);
    s->dims[axis] /= 2;
    return 1;
}

/* Up to three tensors, or a tensor and a number. */
static int qnnrt_ir__shape_binary(qnnrt_ir__shape *s)
{
    static const char *const numbers[] = { "other", "exponent", "self" };
    const qnnrt_ir_value *x;
    const char *number = "";
    size_t i, given = 0;
    for (i = 0; i < 3; ++i) if (qnnrt_ir__attr_has(s->node, numbers[i])) number = numbers[i];
    qnnrt_ir__shape_same(s);
    for (i = 1; i < 3; ++i) {
        x = qnnrt_ir_input(s->node, i);
        given += x != NULL;
        if (x != NULL && !qnnrt_ir__shape_broadcast(s, x->rank, x->dims)) return 0;
    }
    if (given == 0 && *number == '\0')
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "the second operand is missing");
    s->dtype = qnnrt_ir__shape_join(s, 0, 3, given == 0 ? number : "");
    return 1;
}

/* Return the dtype of operands on each element: the result's, but of comparisons their own. */
static qnnrt_dtype qnnrt_ir__operands(const qnnrt_ir_node *node)
{
    qnnrt_ir__shape s;
    memset(&s, 0, sizeof(s));
    s.node = node;
    return node->outputs[0]->dtype != QNNRT_DTYPE_BOOL8 ? node->outputs[0]->dtype
                                                        : qnnrt_ir__shape_join(&s, 0, 3, "other");
}

/* prelu: one weight, or one for each channel. */
static int qnnrt_ir__shape_prelu(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *weight = s->node->inputs[1];
    return qnnrt_ir__shape_same(s) && qnnrt_ir__shape_floats(s, x) &&
           (weight->count == 1 || qnnrt_ir__shape_vector(s, 1, x->rank > 1 ? x->dims[1] : 1));
}

static int qnnrt_ir__shape_clamp(qnnrt_ir__shape *s)
{
    const char *const low = qnnrt_ir__attr_has(s->node, "min") ? "min" : "max";
    qnnrt_ir__shape_same(s);
    s->dtype = qnnrt_ir__shape_join(s, 0, 1, low);
    if (qnnrt_ir__attr_has(s->node, "max"))
        s->dtype = qnnrt_ir__dtype_weak(s->dtype, qnnrt_ir__attr_scalar(s->node, "max"));
    return 1;
}

static int qnnrt_ir__shape_where(qnnrt_ir__shape *s)
{
    const size_t count = s->node->input_count;
    const qnnrt_ir_value *c = s->node->inputs[0];
    qnnrt_dtype number = qnnrt_ir__attr_scalar(s->node, "self");
    size_t i, given = count - 1;
    if (c->dtype != QNNRT_DTYPE_BOOL8 && c->dtype != QNNRT_DTYPE_U8)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the condition is %s, expected bool",
                                    qnnrt_dtype_name(c->dtype));
    given += qnnrt_ir__attr_has(s->node, "self") != 0;
    given += qnnrt_ir__attr_has(s->node, "other") != 0;
    if (given != 2)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%u values, expected 2", (unsigned)given);
    qnnrt_ir__shape_same(s);
    for (i = 1; i < count; ++i) {
        const qnnrt_ir_value *x = s->node->inputs[i];
        if (x == NULL)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "input %u is missing", (unsigned)i);
        if (!qnnrt_ir__shape_broadcast(s, x->rank, x->dims)) return 0;
    }
    s->dtype = qnnrt_ir__shape_join(s, 1, count, "other");
    s->dtype = qnnrt_ir__dtype_weak(s->dtype, number);
    return 1;
}

/* masked_fill: the value is a number or a scalar. */
static int qnnrt_ir__shape_mask(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *mask = s->node->inputs[1];
    const qnnrt_ir_value *value = qnnrt_ir_input(s->node, 2);
    if (mask->dtype != QNNRT_DTYPE_BOOL8)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the mask is %s, expected bool",
                                    qnnrt_dtype_name(mask->dtype));
    if (value == NULL && !qnnrt_ir__attr_has(s->node, "value"))
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "value is missing");
    qnnrt_ir__shape_same(s);
    s->dtype = x->dtype;
    return qnnrt_ir__shape_broadcast(s, mask->rank, mask->dims) &&
           (value == NULL || qnnrt_ir__shape_fits(s, value));
}

/* Remove the dimensions of a set of bits, or make them 1. */
static void qnnrt_ir__shape_drop(qnnrt_ir__shape *s, uint32_t bits, int keep)
{
    uint32_t i, rank = 0;
    for (i = 0; i < s->rank; ++i) {
        if (bits >> i & 1) { if (keep) s->dims[rank++] = 1; }
        else s->dims[rank++] = s->dims[i];
    }
    s->rank = rank;
}

static int qnnrt_ir__shape_reduce(qnnrt_ir__shape *s)
{
    uint32_t bits;
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_axes(s, "dim", s->rank, &bits)) return 0;
    qnnrt_ir__shape_drop(s, bits, qnnrt_ir_int(s->node, "keepdim", 0) != 0);
    return qnnrt_ir__shape_dtype(s, s->dtype);
}

/* Give the result the dtype of a rule. 'b': bool; 't': bool, of uint8 that; 'i': int64; 'p': int64
   of a second output, of places; 'f': float32 in place of integers; 'w': int64 in place of others,
   unless "dtype" is given; 'q': int64 in place of bool. 'F': input 0 must be of floats; 'm': that,
   and there are two outputs; 'n': the operands must not be floats. */
static int qnnrt_ir__shape_made(qnnrt_ir__shape *s, char rule)
{
    const int kind = qnnrt_ir_dtype_kind(s->dtype);
    if (rule == 'p' || rule == 'm') s->outputs = 2;
    if (rule == 'F' || rule == 'm') return qnnrt_ir__shape_floats(s, s->node->inputs[0]);
    if (rule == 'n' && kind == 2)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "bits of floats have no meaning");
    if (rule == 'b' || (rule == 't' && s->dtype != QNNRT_DTYPE_U8)) s->dtype = QNNRT_DTYPE_BOOL8;
    if (rule == 'f' && kind < 2 && !qnnrt_ir__attr_has(s->node, "rounding_mode"))
        s->dtype = QNNRT_DTYPE_F32;
    if (rule == 'i' || (rule == 'p' && s->index == 1) || (rule == 'q' && kind == 0) ||
        (rule == 'w' && kind < 2 && !qnnrt_ir__attr_has(s->node, "dtype")))
        s->dtype = QNNRT_DTYPE_I64;
    return 1;
}

/* Shape functions that are another one with a dtype: qnnrt_ir__shape_real() is that of
   qnnrt_ir__shape_same() and rule 'f'. */
#define QNNRT_IR__RULE(name, shape, dtype) static int qnnrt_ir__shape_##name(qnnrt_ir__shape *s) \
    { return qnnrt_ir__shape_##shape(s) && qnnrt_ir__shape_made(s, dtype); }
QNNRT_IR__RULE(real, same, 'f')                  /* functions of floats and integers */
QNNRT_IR__RULE(float, same, 'F')                 /* activations, which are of floats only */
QNNRT_IR__RULE(test, same, 'b')
QNNRT_IR__RULE(square, same, 'q')                /* as a power with an integer */
QNNRT_IR__RULE(divide, binary, 'f')
QNNRT_IR__RULE(compare, binary, 'b')
QNNRT_IR__RULE(bits, binary, 'n')
QNNRT_IR__RULE(sum, reduce, 'w')
QNNRT_IR__RULE(any, reduce, 't')
QNNRT_IR__RULE(best, reduce, 'i')
QNNRT_IR__RULE(extreme, reduce, 'p')             /* max.dim, min.dim: values and places */
QNNRT_IR__RULE(norm, reduce, 'F')
QNNRT_IR__RULE(moments, reduce, 'm')             /* var_mean, std_mean */
QNNRT_IR__RULE(logsumexp, reduce, 'f')

static int qnnrt_ir__shape_mean(qnnrt_ir__shape *s)
{
    if (!qnnrt_ir__shape_reduce(s)) return 0;
    return qnnrt_ir_dtype_kind(s->dtype) == 2 ||
           qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the mean of integers has no dtype");
}

static int qnnrt_ir__shape_cumulate(qnnrt_ir__shape *s)
{
    uint32_t axis;
    qnnrt_ir__shape_same(s);
    if (qnnrt_ir_dtype_kind(s->dtype) < 2) s->dtype = QNNRT_DTYPE_I64;
    return qnnrt_ir__shape_axis(s, "dim", s->rank, &axis) && qnnrt_ir__shape_dtype(s, s->dtype);
}

static int qnnrt_ir__shape_softmax(qnnrt_ir__shape *s)
{
    uint32_t axis;
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_axis(s, "dim", s->rank, &axis) || !qnnrt_ir__shape_dtype(s, s->dtype))
        return 0;
    return qnnrt_ir_dtype_kind(s->dtype) == 2 ||
           qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the result is %s, expected a float type",
                                qnnrt_dtype_name(s->dtype));
}

/* to.*, _to_copy: another dtype, or the same. */
static int qnnrt_ir__shape_to(qnnrt_ir__shape *s)
{
    qnnrt_ir__shape_same(s);
    return qnnrt_ir__shape_dtype(s, s->dtype);
}

static int qnnrt_ir__shape_type_as(qnnrt_ir__shape *s)
{
    qnnrt_ir__shape_same(s);
    s->dtype = s->node->inputs[1]->dtype;
    return 1;
}

/* =====================================================================================
   SHAPE OF STRIDES                                                       >>shape_strided
   Views whose elements lie at even distances in their input, and where they are.
   Needs: >>config >>attr >>shape >>shape_math     Knows nothing of: arithmetic
   ===================================================================================== */

/* Begin a view of input 0 with its shape and the distances of its neighbours. */
static void qnnrt_ir__shape_whole(qnnrt_ir__shape *s)
{
    int64_t step = 1;
    uint32_t d;
    qnnrt_ir__shape_same(s);
    for (d = s->rank; d-- > 0; step = qnnrt_ir__times(step, s->dims[d])) s->stride[d] = step;
}

static void qnnrt_ir__shape_order(qnnrt_ir__shape *s, const uint32_t *order)
{
    const qnnrt_ir__shape was = *s;
    uint32_t i;
    for (i = 0; i < s->rank; ++i) {
        s->dims[i] = was.dims[order[i]];
        s->stride[i] = was.stride[order[i]];
    }
}

static void qnnrt_ir__shape_swap(qnnrt_ir__shape *s, uint32_t a, uint32_t b)
{
    uint32_t order[QNNRT_IR_RANK], i;
    for (i = 0; i < s->rank; ++i) order[i] = i == a ? b : i == b ? a : i;
    qnnrt_ir__shape_order(s, order);
}

/* Remove a dimension of a view. */
static void qnnrt_ir__shape_remove(qnnrt_ir__shape *s, uint32_t axis)
{
    const size_t after = s->rank - axis - 1;
    memmove(s->dims + axis, s->dims + axis + 1, after * sizeof(*s->dims));
    memmove(s->stride + axis, s->stride + axis + 1, after * sizeof(*s->stride));
    --s->rank;
}

static int qnnrt_ir__shape_permute(qnnrt_ir__shape *s)
{
    int64_t list[QNNRT_IR_RANK];
    const size_t count = qnnrt_ir_ints(s->node, "dims", list);
    uint32_t order[QNNRT_IR_RANK], i, bits;
    qnnrt_ir__shape_whole(s);
    if (count != s->rank)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "dims has %u numbers, expected %u",
                                    (unsigned)count, (unsigned)s->rank);
    if (!qnnrt_ir__shape_axes(s, "dims", s->rank, &bits)) return 0;
    for (i = 0; i < s->rank; ++i)
        if (!qnnrt_ir__shape_wrap(s, "dims", list[i], s->rank, &order[i])) return 0;
    qnnrt_ir__shape_order(s, order);
    return 1;
}

static int qnnrt_ir__shape_transpose(qnnrt_ir__shape *s)
{
    const int axes = qnnrt_ir__attr_has(s->node, "axis0");
    uint32_t a, b;
    qnnrt_ir__shape_whole(s);
    if (!qnnrt_ir__shape_axis(s, axes ? "axis0" : "dim0", s->rank, &a) ||
        !qnnrt_ir__shape_axis(s, axes ? "axis1" : "dim1", s->rank, &b)) return 0;
    qnnrt_ir__shape_swap(s, a, b);
    return 1;
}

/* t, mT, numpy_T of at most two dimensions */
static int qnnrt_ir__shape_t(qnnrt_ir__shape *s)
{
    const uint32_t most = s->node->op[0] == 'm' ? QNNRT_IR_RANK : 2;
    qnnrt_ir__shape_whole(s);
    if (!qnnrt_ir__shape_rank(s, 0, most > 2 ? 2 : 0, most)) return 0;
    if (s->rank > 1) qnnrt_ir__shape_swap(s, s->rank - 2, s->rank - 1);
    return 1;
}

static int qnnrt_ir__shape_movedim(qnnrt_ir__shape *s)
{
    int64_t from[QNNRT_IR_RANK], to[QNNRT_IR_RANK];
    const size_t count = qnnrt_ir_ints(s->node, "source", from);
    uint32_t order[QNNRT_IR_RANK], used = 0, placed = 0, a, b, k = 0, i;
    qnnrt_ir__shape_whole(s);
    if (count != qnnrt_ir_ints(s->node, "destination", to) || count > QNNRT_IR_RANK)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "source and destination differ in length");
    for (i = 0; i < count; ++i) {
        if (!qnnrt_ir__shape_wrap(s, "source", from[i], s->rank, &a) ||
            !qnnrt_ir__shape_wrap(s, "destination", to[i], s->rank, &b)) return 0;
        if ((used >> a | placed >> b) & 1)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "a dimension is named twice");
        used |= (uint32_t)1 << a;
        placed |= (uint32_t)1 << b;
        order[b] = a;
    }
    for (i = 0; i < s->rank; ++i) {
        if (placed >> i & 1) continue;
        while (used >> k & 1) ++k;
        order[i] = k++;
    }
    qnnrt_ir__shape_order(s, order);
    return 1;
}

static int qnnrt_ir__shape_slice(qnnrt_ir__shape *s)
{
    int64_t size, begin, end, step;
    uint32_t axis;
    if (!qnnrt_ir__shape_dim(s, &axis)) return 0;
    qnnrt_ir__shape_whole(s);
    size = s->dims[axis];
    begin = qnnrt_ir__near(qnnrt_ir_int(s->node, "start", 0));
    end = qnnrt_ir__near(qnnrt_ir_int(s->node, "end", INT64_MAX));
    step = qnnrt_ir_int(s->node, "step", 1);
    if (step < 1) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "step is %lld", (long long)step);
    if (begin < 0) begin += size;
    if (end < 0) end += size;
    begin = begin < 0 ? 0 : begin > size ? size : begin;
    end = end < begin ? begin : end > size ? size : end;
    s->dims[axis] = end == begin ? 0 : (end - begin - 1) / step + 1;
    s->begin = qnnrt_ir__times(begin, s->stride[axis]);
    if (s->dims[axis] > 1) s->stride[axis] = qnnrt_ir__times(step, s->stride[axis]);
    return 1;
}

static int qnnrt_ir__shape_narrow(qnnrt_ir__shape *s)
{
    int64_t begin, length;
    uint32_t axis;
    if (!qnnrt_ir__shape_dim(s, &axis)) return 0;
    qnnrt_ir__shape_whole(s);
    begin = qnnrt_ir__near(qnnrt_ir_int(s->node, "start", 0));
    length = qnnrt_ir__near(qnnrt_ir_int(s->node, "length", 0));
    if (begin < 0) begin += s->dims[axis];
    if (begin < 0 || length < 0 || begin + length > s->dims[axis])
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG,
                                    "start %lld and length %lld are not within %lld",
                                    (long long)begin, (long long)length, (long long)s->dims[axis]);
    s->dims[axis] = length;
    s->begin = qnnrt_ir__times(begin, s->stride[axis]);
    return 1;
}

static int qnnrt_ir__shape_select(qnnrt_ir__shape *s)
{
    int64_t index = qnnrt_ir_int(s->node, "index", 0);
    uint32_t axis;
    if (!qnnrt_ir__shape_dim(s, &axis)) return 0;
    qnnrt_ir__shape_whole(s);
    if (index < -s->dims[axis] || index >= s->dims[axis])
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "index is %lld, the dimension has %lld",
                                    (long long)index, (long long)s->dims[axis]);
    if (index < 0) index += s->dims[axis];
    s->begin = qnnrt_ir__times(index, s->stride[axis]);
    qnnrt_ir__shape_remove(s, axis);
    return 1;
}

/* Let the last dimension be a diagonal of two others. */
static int qnnrt_ir__shape_diagonal(qnnrt_ir__shape *s)
{
    const int64_t offset = qnnrt_ir__near(qnnrt_ir_int(s->node, "offset", 0));
    int64_t count, step, other;
    uint32_t a, b;
    qnnrt_ir__shape_whole(s);
    if (!qnnrt_ir__shape_rank(s, 0, 2, QNNRT_IR_RANK) ||
        !qnnrt_ir__shape_axis(s, "dim1", s->rank, &a) ||
        !qnnrt_ir__shape_wrap(s, "dim2", qnnrt_ir_int(s->node, "dim2", 1), s->rank, &b)) return 0;
    if (a == b) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "dim1 and dim2 are the same");
    count = s->dims[a] + (offset < 0 ? offset : 0);
    other = s->dims[b] - (offset > 0 ? offset : 0);
    if (other < count) count = other;
    if (count > 0)
        s->begin = qnnrt_ir__times(offset < 0 ? -offset : offset, s->stride[offset < 0 ? a : b]);
    step = s->stride[a] + s->stride[b];
    qnnrt_ir__shape_remove(s, a > b ? a : b);
    qnnrt_ir__shape_remove(s, a > b ? b : a);
    s->stride[s->rank] = step;
    s->dims[s->rank++] = count > 0 ? count : 0;
    return 1;
}

/* unfold: windows of a dimension, whose elements come last */
static int qnnrt_ir__shape_unfold(qnnrt_ir__shape *s)
{
    const int64_t size = qnnrt_ir_int(s->node, "size", 0), step = qnnrt_ir_int(s->node, "step", 0);
    int64_t apart;
    uint32_t axis;
    qnnrt_ir__shape_whole(s);
    if (!qnnrt_ir__shape_axis(s, "dimension", s->rank, &axis)) return 0;
    if (s->rank == 0) { s->dims[0] = s->stride[0] = 1; s->rank = 1; }
    if (size < 0 || size > s->dims[axis] || step < 1 || s->rank == QNNRT_IR_RANK)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "size %lld and step %lld do not fit %lld",
                                    (long long)size, (long long)step, (long long)s->dims[axis]);
    apart = s->stride[axis];
    s->dims[axis] = (s->dims[axis] - size) / step + 1;
    if (s->dims[axis] > 1) s->stride[axis] = qnnrt_ir__times(step, s->stride[axis]);
    s->stride[s->rank] = apart;
    s->dims[s->rank++] = size;
    if (s->node->inputs[0]->rank == 0) qnnrt_ir__shape_remove(s, 0);
    return 1;
}

static int qnnrt_ir__shape_strided(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0];
    const size_t rank = qnnrt_ir_ints(s->node, "size", s->dims);
    int64_t last = qnnrt_ir__near(qnnrt_ir_int(s->node, "storage_offset", 0));
    uint64_t count;
    size_t i;
    s->rank = (uint32_t)rank;
    s->dtype = x->dtype;
    s->begin = last;
    if (rank > QNNRT_IR_RANK || qnnrt_ir_ints(s->node, "stride", s->stride) != rank ||
        !qnnrt_ir__count(s->rank, s->dims, &count))
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "size and stride do not fit");
    for (i = 0; i < rank; ++i) {
        if (s->stride[i] < 0) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "a stride is negative");
        if (s->dims[i] > 0)
            last = qnnrt_ir__near(last + qnnrt_ir__times(s->dims[i] - 1, s->stride[i]));
    }
    if (count > 0 && (s->begin < 0 || last >= (int64_t)x->count))
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the last element is %lld of %lld",
                                    (long long)last + 1, (long long)x->count);
    return 1;
}

/* flip and rot90; k turns from the first to the second dimension */
static int qnnrt_ir__shape_flip(qnnrt_ir__shape *s)
{
    const int turns = qnnrt_ir__attr_has(s->node, "k");
    const int64_t k = turns ? (qnnrt_ir_int(s->node, "k", 1) % 4 + 4) % 4 : 0;
    int64_t list[QNNRT_IR_RANK];
    const size_t count = qnnrt_ir_ints(s->node, "dims", list);
    uint32_t axis[2] = { 0, 1 };
    size_t i;
    qnnrt_ir__shape_whole(s);
    if (count > QNNRT_IR_RANK || (turns && (count != 2 || s->rank < 2)))
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "dims has %u numbers", (unsigned)count);
    for (i = 0; i < count; ++i) {
        uint32_t *const d = &axis[i % 2];
        if (!qnnrt_ir__shape_wrap(s, "dims", list[i], s->rank, d)) return 0;
        if (s->rank == 0 || (turns && k != 2 && (k == 0 || (k == 1) != (i == 1)))) continue;
        if (s->dims[*d] > 0) s->begin += qnnrt_ir__times(s->dims[*d] - 1, s->stride[*d]);
        s->stride[*d] = -s->stride[*d];
    }
    if (turns && axis[0] == axis[1])
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "dims names one dimension twice");
    if (k % 2 == 1) qnnrt_ir__shape_swap(s, axis[0], axis[1]);
    return 1;
}

/* slice_scatter and its like: self, and what replaces a view of it */
static int qnnrt_ir__shape_view_scatter(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *from = s->node->inputs[1];
    const char first = s->node->op[0], second = s->node->op[1];
    if (!(first == 'd' ? qnnrt_ir__shape_diagonal(s) : first == 'a' ? qnnrt_ir__shape_strided(s) :
          second == 'e' ? qnnrt_ir__shape_select(s) : qnnrt_ir__shape_slice(s))) return 0;
    if (from->rank != s->rank || memcmp(from->dims, s->dims, s->rank * sizeof(*s->dims)) != 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the source is %s, expected %s",
                                    qnnrt_ir__shape_say(s, 0, from->rank, from->dims),
                                    qnnrt_ir__shape_say(s, 1, s->rank, s->dims));
    return qnnrt_ir__shape_same(s);
}

/* =====================================================================================
   SHAPE OF VIEWS                                                            >>shape_view
   Operators that move, select, repeat and join elements.
   Needs: >>config >>attr >>shape >>shape_math >>shape_strided     Knows nothing of: arithmetic
   ===================================================================================== */

/* view, reshape: one dimension may be -1. */
static int qnnrt_ir__shape_view(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0];
    const char *const name = qnnrt_ir__attr_has(s->node, "shape") ? "shape" : "size";
    int64_t list[QNNRT_IR_RANK];
    const size_t rank = qnnrt_ir_ints(s->node, name, list);
    uint64_t known = 1, count;
    size_t i, open = QNNRT_IR_RANK;
    if (rank > QNNRT_IR_RANK) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%s is too long", name);
    s->dtype = x->dtype;
    s->rank = (uint32_t)rank;
    for (i = 0; i < rank; ++i) {
        s->dims[i] = list[i];
        if (list[i] != -1) continue;
        if (open != QNNRT_IR_RANK)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%s has -1 twice", name);
        open = i;
        s->dims[i] = 1;
    }
    if (!qnnrt_ir__count(s->rank, s->dims, &known))
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%s is %s", name,
                                    qnnrt_ir__shape_say(s, 0, s->rank, list));
    count = x->count;
    if (open != QNNRT_IR_RANK && known != 0) {
        s->dims[open] = (int64_t)(count / known);
        known *= count / known;
    }
    if (known != count)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "%s %s does not hold the elements of %s",
                                    name, qnnrt_ir__shape_say(s, 0, s->rank, list),
                                    qnnrt_ir__shape_say(s, 1, x->rank, x->dims));
    return 1;
}

static int qnnrt_ir__shape_view_as(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *like = s->node->inputs[1];
    qnnrt_ir__shape_copy(s, like);
    s->dtype = x->dtype;
    return x->count == like->count ||
           qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH,
                                "the two inputs have other numbers of elements");
}

static int qnnrt_ir__shape_expand(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0];
    int64_t list[QNNRT_IR_RANK];
    const size_t rank = qnnrt_ir_ints(s->node, "size", list);
    uint64_t count;
    size_t i;
    if (rank > QNNRT_IR_RANK || rank < x->rank)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "size has %u dimensions, the input has %u",
                                    (unsigned)rank, (unsigned)x->rank);
    s->dtype = x->dtype;
    s->rank = (uint32_t)rank;
    for (i = 0; i < rank; ++i) {
        const size_t lead = rank - x->rank;
        s->dims[i] = list[i] == -1 && i >= lead ? x->dims[i - lead] : list[i];
    }
    if (!qnnrt_ir__count(s->rank, s->dims, &count))
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "size is %s",
                                    qnnrt_ir__shape_say(s, 0, s->rank, list));
    return qnnrt_ir__shape_fits(s, x);
}

static int qnnrt_ir__shape_expand_as(qnnrt_ir__shape *s)
{
    qnnrt_ir__shape_copy(s, s->node->inputs[1]);
    s->dtype = s->node->inputs[0]->dtype;
    return qnnrt_ir__shape_fits(s, s->node->inputs[0]);
}

static int qnnrt_ir__shape_flatten(qnnrt_ir__shape *s)
{
    uint32_t first, last, i;
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_axis(s, "start_dim", s->rank, &first) ||
        !qnnrt_ir__shape_axis(s, "end_dim", s->rank, &last)) return 0;
    if (first > last) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "start_dim is after end_dim");
    if (s->rank == 0) { s->rank = 1; s->dims[0] = 1; return 1; }
    for (i = first + 1; i <= last; ++i)
        s->dims[first] = qnnrt_ir__times(s->dims[first], s->dims[i]);
    for (i = last + 1; i < s->rank; ++i) s->dims[first + i - last] = s->dims[i];
    s->rank -= last - first;
    return 1;
}

static int qnnrt_ir__shape_unflatten(qnnrt_ir__shape *s)
{
    int64_t list[QNNRT_IR_RANK], after[QNNRT_IR_RANK], known = 1;
    const size_t count = qnnrt_ir_ints(s->node, "sizes", list);
    size_t i, open = QNNRT_IR_RANK;
    uint32_t axis, rest;
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_axis(s, "dim", s->rank, &axis)) return 0;
    if (count == 0 || s->rank == 0 || s->rank - 1 + count > QNNRT_IR_RANK)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "sizes has %u numbers", (unsigned)count);
    for (i = 0; i < count; ++i) {
        if (list[i] == -1) { open = i; continue; }
        if (list[i] < 0) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "sizes has a negative number");
        known = qnnrt_ir__times(known, list[i]);
    }
    if (open != QNNRT_IR_RANK && known > 0) {
        list[open] = s->dims[axis] / known;
        known *= list[open];
    }
    if (known != s->dims[axis])
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "sizes does not make %lld",
                                    (long long)s->dims[axis]);
    rest = s->rank - axis - 1;
    memcpy(after, s->dims + axis + 1, rest * sizeof(*after));
    memcpy(s->dims + axis, list, count * sizeof(*list));
    memcpy(s->dims + axis + count, after, rest * sizeof(*after));
    s->rank += (uint32_t)count - 1;
    return 1;
}

/* Put a dimension into the shape of input 0. */
static int qnnrt_ir__shape_insert(qnnrt_ir__shape *s, int64_t size)
{
    uint32_t axis, i;
    qnnrt_ir__shape_same(s);
    if (s->rank == QNNRT_IR_RANK)
        return qnnrt_ir__shape_fail(s, QNNRT_E_LIMIT, "too many dimensions");
    if (!qnnrt_ir__shape_axis(s, "dim", s->rank + 1, &axis)) return 0;
    for (i = s->rank++; i > axis; --i) s->dims[i] = s->dims[i - 1];
    s->dims[axis] = size;
    return 1;
}

static int qnnrt_ir__shape_unsqueeze(qnnrt_ir__shape *s)
{
    return qnnrt_ir__shape_insert(s, 1);
}

static int qnnrt_ir__shape_squeeze(qnnrt_ir__shape *s)
{
    int64_t list[QNNRT_IR_RANK];
    uint32_t bits, i;
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_axes(s, "dim", s->rank, &bits)) return 0;
    if (strcmp(s->node->op, "squeeze.dims") == 0 && qnnrt_ir_ints(s->node, "dim", list) == 0)
        bits = 0;
    for (i = 0; i < s->rank; ++i) if (s->dims[i] != 1) bits &= ~((uint32_t)1 << i);
    for (i = s->rank; i-- > 0;) {
        if (!(bits >> i & 1)) continue;
        memmove(s->dims + i, s->dims + i + 1, (s->rank - i - 1) * sizeof(*s->dims));
        --s->rank;
    }
    return 1;
}

/* cat: [0] is left out, whatever the rank of the others. */
static int qnnrt_ir__shape_cat(qnnrt_ir__shape *s)
{
    const qnnrt_ir_node *node = s->node;
    const qnnrt_ir_value *first = NULL;
    uint32_t axis = 0, i;
    size_t k;
    for (k = 0; k < node->input_count; ++k) {
        const qnnrt_ir_value *x = node->inputs[k];
        if (x == NULL)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "input %u is missing", (unsigned)k);
        if (x->rank == 1 && x->dims[0] == 0) continue;
        if (first == NULL) {
            first = x;
            qnnrt_ir__shape_copy(s, x);
            if (!qnnrt_ir__shape_rank(s, k, 1, QNNRT_IR_RANK)) return 0;
            if (!qnnrt_ir__shape_axis(s, "dim", x->rank, &axis)) return 0;
            continue;
        }
        for (i = 0; i < x->rank && x->rank == first->rank; ++i)
            if (i != axis && x->dims[i] != first->dims[i]) break;
        if (x->rank != first->rank || i < x->rank)
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "%s and %s do not join at dimension "
                                        "%u", qnnrt_ir__shape_say(s, 0, first->rank, first->dims),
                                        qnnrt_ir__shape_say(s, 1, x->rank, x->dims),
                                        (unsigned)axis);
        s->dims[axis] = qnnrt_ir__near(s->dims[axis] + x->dims[axis]);
    }
    if (first == NULL) qnnrt_ir__shape_copy(s, node->inputs[0]);
    s->dtype = qnnrt_ir__shape_join(s, 0, node->input_count, "");
    return 1;
}

/* diff: of neighbours, n times. Inputs 1 and 2 are put before and after the first one; the exporter
   does not say which one a single input is: it counts as the one before. */
static int qnnrt_ir__shape_diff(qnnrt_ir__shape *s)
{
    const int64_t n = qnnrt_ir_int(s->node, "n", 1);
    uint32_t axis, i;
    size_t k;
    if (!qnnrt_ir__shape_dim(s, &axis)) return 0;
    if (n != 1) return qnnrt_ir__shape_fail(s, QNNRT_E_UNSUPPORTED, "n is %lld", (long long)n);
    for (k = 1; k < s->node->input_count; ++k) {
        const qnnrt_ir_value *x = qnnrt_ir_input(s->node, k);
        if (x == NULL) continue;
        for (i = 0; i < s->rank && x->rank == s->rank; ++i)
            if (i != axis && x->dims[i] != s->dims[i]) break;
        if (x->rank != s->rank || i < s->rank || x->dtype != s->dtype)
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "input %u does not join input 0",
                                        (unsigned)k);
        s->dims[axis] += x->dims[axis];
    }
    if (s->dims[axis] > 0) --s->dims[axis];
    return 1;
}

static int qnnrt_ir__shape_stack(qnnrt_ir__shape *s)
{
    size_t k;
    for (k = 1; k < s->node->input_count; ++k)
        if (s->node->inputs[k] == NULL ||
            !qnnrt_ir_same_shape(s->node->inputs[k], s->node->inputs[0]))
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH,
                                        "input %u has another shape than input 0", (unsigned)k);
    if (!qnnrt_ir__shape_insert(s, (int64_t)s->node->input_count)) return 0;
    s->dtype = qnnrt_ir__shape_join(s, 0, s->node->input_count, "");
    return 1;
}

/* Cut a dimension into pieces of `size`; the last one may be smaller. */
static int qnnrt_ir__shape_pieces(qnnrt_ir__shape *s, uint32_t axis, int64_t size)
{
    const int64_t whole = s->dims[axis];
    const int64_t pieces = whole == 0 || size == 0 ? 1 : (whole - 1) / size + 1;
    s->outputs = (size_t)pieces;
    if (s->index + 1 < (size_t)pieces) s->dims[axis] = size;
    else if (s->index + 1 == (size_t)pieces) s->dims[axis] = whole - (pieces - 1) * size;
    return 1;
}

static int qnnrt_ir__shape_split(qnnrt_ir__shape *s)
{
    const int64_t size = qnnrt_ir_int(s->node, "split_size", 0);
    uint32_t axis;
    if (!qnnrt_ir__shape_dim(s, &axis)) return 0;
    if (size < 0 || (size == 0 && s->dims[axis] != 0))
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "split_size is %lld", (long long)size);
    return qnnrt_ir__shape_pieces(s, axis, size);
}

static int qnnrt_ir__shape_chunk(qnnrt_ir__shape *s)
{
    const int64_t chunks = qnnrt_ir_int(s->node, "chunks", 0);
    uint32_t axis;
    if (!qnnrt_ir__shape_dim(s, &axis)) return 0;
    if (chunks < 1 || chunks > QNNRT_IR__MOST)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "chunks is %lld", (long long)chunks);
    if (s->dims[axis] == 0) { s->outputs = (size_t)chunks; return 1; }
    return qnnrt_ir__shape_pieces(s, axis, (s->dims[axis] - 1) / chunks + 1);
}

static int qnnrt_ir__shape_split_sizes(qnnrt_ir__shape *s)
{
    const qnnrt_ir_attr *sizes = qnnrt_ir_attr_find(s->node, "split_sizes");
    int64_t sum = 0;
    uint32_t axis;
    size_t i;
    if (sizes == NULL) sizes = qnnrt_ir_attr_find(s->node, "split_size");
    if (!qnnrt_ir__shape_dim(s, &axis)) return 0;
    if (sizes == NULL || sizes->kind != QNNRT_IR_INTS)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "the list of sizes is missing");
    for (i = 0; i < sizes->count; ++i) {
        if (sizes->ints[i] < 0) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "a size is negative");
        sum = qnnrt_ir__near(sum + qnnrt_ir__near(sizes->ints[i]));
    }
    if (sum != s->dims[axis])
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH,
                                    "the sizes add to %lld, the dimension has %lld",
                                    (long long)sum, (long long)s->dims[axis]);
    s->outputs = sizes->count;
    if (s->index < sizes->count) s->dims[axis] = sizes->ints[s->index];
    return 1;
}

/* tensor_split: into a number of pieces, the first ones larger by 1, or before each of `indices` */
static int qnnrt_ir__shape_tensor_split(qnnrt_ir__shape *s)
{
    const qnnrt_ir_attr *list = qnnrt_ir_attr_find(s->node, "indices");
    const int64_t parts = qnnrt_ir_int(s->node, "sections", 0);
    int64_t size, ends[2];
    uint32_t axis;
    size_t i;
    if (!qnnrt_ir__shape_dim(s, &axis)) return 0;
    size = s->dims[axis];
    if (list == NULL ? parts < 1 || parts > QNNRT_IR__MOST : list->kind != QNNRT_IR_INTS)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "the places to split at are missing");
    s->outputs = list == NULL ? (size_t)parts : list->count + 1;
    for (i = 0; i < 2; ++i) {                /* of the piece: its begin and its end */
        const size_t at = s->index + i;
        if (list == NULL) {
            ends[i] = (int64_t)at * (size / parts) +
                      ((int64_t)at < size % parts ? (int64_t)at : size % parts);
        } else {
            ends[i] = at == 0 ? 0 : at > list->count ? size : list->ints[at - 1];
            if (ends[i] < 0) ends[i] += size;
            ends[i] = ends[i] < 0 ? 0 : ends[i] > size ? size : ends[i];
        }
    }
    s->dims[axis] = ends[1] - ends[0];
    return ends[1] >= ends[0] ||
           qnnrt_ir__shape_fail(s, QNNRT_E_UNSUPPORTED, "indices do not rise");
}

static int qnnrt_ir__shape_unbind(qnnrt_ir__shape *s)
{
    uint32_t axis;
    if (!qnnrt_ir__shape_dim(s, &axis)) return 0;
    s->outputs = (size_t)s->dims[axis];
    qnnrt_ir__shape_remove(s, axis);
    return 1;
}

static int qnnrt_ir__shape_repeat(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0];
    int64_t list[QNNRT_IR_RANK];
    const size_t rank = qnnrt_ir_ints(s->node, "repeats", list);
    size_t i;
    if (rank > QNNRT_IR_RANK || rank < x->rank)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "repeats has %u numbers, the input has %u",
                                    (unsigned)rank, (unsigned)x->rank);
    s->dtype = x->dtype;
    s->rank = (uint32_t)rank;
    for (i = 0; i < rank; ++i) {
        const size_t lead = rank - x->rank;
        if (list[i] < 0)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "repeats has a negative number");
        s->dims[i] = i < lead ? list[i] : qnnrt_ir__times(x->dims[i - lead], list[i]);
    }
    return 1;
}

/* pad: pairs from the last dimension on */
static int qnnrt_ir__shape_pad(qnnrt_ir__shape *s)
{
    int64_t list[QNNRT_IR_RANK * 2];
    const qnnrt_ir_attr *pad = qnnrt_ir_attr_find(s->node, "pad");
    size_t i;
    qnnrt_ir__shape_same(s);
    if (pad == NULL || pad->kind != QNNRT_IR_INTS || pad->count % 2 != 0 ||
        pad->count > 2 * s->rank)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "pad is not a list of pairs");
    for (i = 0; i < pad->count; ++i) list[i] = qnnrt_ir__near(pad->ints[i]);
    for (i = 0; i < pad->count; i += 2) {
        int64_t *const dim = &s->dims[s->rank - 1 - i / 2];
        if ((list[i] < 0 ? list[i] : 0) + (list[i + 1] < 0 ? list[i + 1] : 0) + *dim < 0)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "pad removes more than there is");
        *dim += list[i] + list[i + 1];
    }
    return 1;
}

/* repeat_interleave: each element several times in a row; without dim of a list of all */
static int qnnrt_ir__shape_interleave(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0];
    const int64_t repeats = qnnrt_ir_int(s->node, "repeats", 0);
    uint32_t axis = 0;
    qnnrt_ir__shape_same(s);
    if (repeats < 0) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "repeats is negative");
    if (!qnnrt_ir__attr_has(s->node, "dim")) {
        s->rank = 1;
        s->dims[0] = (int64_t)x->count;
    } else if (!qnnrt_ir__shape_axis(s, "dim", s->rank, &axis)) {
        return 0;
    }
    if (s->rank > 0) s->dims[axis] = qnnrt_ir__times(s->dims[axis], repeats);
    return s->rank > 0 || repeats == 1 ||
           qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "input 0 has no dimensions");
}

/* roll: a shift for each of dims, and one without them */
static int qnnrt_ir__shape_roll(qnnrt_ir__shape *s)
{
    int64_t list[QNNRT_IR_RANK], shifts[QNNRT_IR_RANK];
    const size_t count = qnnrt_ir_ints(s->node, "dims", list);
    const size_t shifted = qnnrt_ir_ints(s->node, "shifts", shifts);
    uint32_t axis;
    size_t i;
    qnnrt_ir__shape_same(s);
    if (count > QNNRT_IR_RANK) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "dims is too long");
    if (shifted != (count != 0 ? count : 1))
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "shifts and dims differ");
    for (i = 0; i < count; ++i)
        if (!qnnrt_ir__shape_wrap(s, "dims", list[i], s->rank, &axis)) return 0;
    return 1;
}

/* =====================================================================================
   SHAPE OF LAYERS                                                            >>shape_net
   Products, norms, attention.
   Needs: >>config >>dtype >>attr >>shape >>shape_math     Knows nothing of: views
   ===================================================================================== */

static int qnnrt_ir__shape_inner(qnnrt_ir__shape *s, int64_t a, int64_t b)
{
    return a == b || qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH,
                                          "the inner dimensions are %lld and %lld", (long long)a,
                                          (long long)b);
}

/* matmul, mm, bmm, mv: the dtype is that of the first operand. transpose_b (of a pass): the last
   two dimensions of the second operand change places. */
static int qnnrt_ir__shape_matmul(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *a = s->node->inputs[0], *b = s->node->inputs[1];
    const uint32_t ra = a->rank, rb = b->rank;
    const uint32_t turned = rb > 1 && qnnrt_ir_int(s->node, "transpose_b", 0) != 0;
    if (!qnnrt_ir__shape_rank(s, 0, 1, QNNRT_IR_RANK) ||
        !qnnrt_ir__shape_rank(s, 1, 1, QNNRT_IR_RANK))
        return 0;
    if (!qnnrt_ir__shape_inner(s, a->dims[ra - 1], b->dims[rb == 1 ? 0 : rb - 2 + turned]))
        return 0;
    s->dtype = a->dtype;
    s->rank = ra < 2 ? 0 : ra - 2;
    memcpy(s->dims, a->dims, s->rank * sizeof(*s->dims));
    if (!qnnrt_ir__shape_broadcast(s, rb < 2 ? 0 : rb - 2, b->dims)) return 0;
    if (ra > 1) s->dims[s->rank++] = a->dims[ra - 2];
    if (rb > 1) s->dims[s->rank++] = b->dims[rb - 1 - turned];
    return 1;
}

/* An equation of einsum. Each dimension of a term has a letter; those of "..." have digits, and '7'
   is the last one. */
typedef struct qnnrt_ir__einsum {
    const char *at;                          /* the rest of the equation */
    char        term[QNNRT_IR_RANK + 2], out[QNNRT_IR_RANK + 2];
    int64_t     size['z' + 1];               /* 1 if it is 1 in all operands */
    size_t      seen['z' + 1];               /* how often operands have the letter */
    qnnrt_ir      *ir;                       /* of the rest: see >>einsum */
    qnnrt_ir_node *node;
    int            full;                     /* 1: a step has too many dimensions or elements */
} qnnrt_ir__einsum;

static int qnnrt_ir__einsum_wrong(qnnrt_ir__shape *s, const char *why, const char *at)
{
    return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "equation: %s before \"%.20s\"", why, at);
}

/* Read the next term, of an operand of a rank; UINT32_MAX: of the result, whose "..." has some
   dimensions. */
static int qnnrt_ir__einsum_term(qnnrt_ir__shape *s, qnnrt_ir__einsum *m, uint32_t rank,
                                 uint32_t dots)
{
    uint32_t n = 0, k;
    char *dot = NULL;
    memset(m->term, 0, sizeof(m->term));
    for (; *m->at != '\0' && *m->at != ',' && *m->at != '-'; ++m->at) {
        const char c = *m->at;
        if (dot == NULL && strncmp(m->at, "...", 3) == 0) {
            *(dot = m->term + n) = '.';
            m->at += 2;
        } else if (c != ' ') {
            if (n == QNNRT_IR_RANK || !((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')))
                return qnnrt_ir__einsum_wrong(s, "expected up to 8 letters, one \"...\"", m->at);
            m->term[n++ + (dot != NULL)] = c;
        }
    }
    if (rank == UINT32_MAX) rank = n + (dot != NULL ? dots : 0);
    if (rank > QNNRT_IR_RANK || (dot != NULL ? n > rank : n != rank))
        return qnnrt_ir__einsum_wrong(s, "a term has another rank than its tensor", m->at);
    if (dot != NULL) memmove(dot + rank - n, dot + 1, strlen(dot));
    for (k = n; dot != NULL && k < rank; ++k) dot[k - n] = (char)('8' - rank + k);
    return 1;
}

/* Read the terms of the operands and the result; m->at is the begin again. Without an arrow, the
   result has "..." and the letters that occur once, in the order of their codes. */
static int qnnrt_ir__einsum_plan(qnnrt_ir__shape *s, qnnrt_ir__einsum *m)
{
    const qnnrt_ir_node *node = s->node;
    uint32_t dots = 0, n = 0, d;
    size_t i, k;
    memset(m, 0, sizeof(*m));
    m->at = qnnrt_ir_attr_find(node, "equation")->text;
    for (k = 0; k <= 'z'; ++k) m->size[k] = 1;
    for (i = 0; i < node->input_count; ++i) {
        const qnnrt_ir_value *x = node->inputs[i];
        if (i > 0 && *m->at++ != ',')
            return qnnrt_ir__einsum_wrong(s, "there are too few terms", m->at - 1);
        if (x == NULL || x->dtype != node->inputs[0]->dtype ||
            (qnnrt_ir_dtype_kind(x->dtype) < 2 && x->dtype != QNNRT_DTYPE_I64))
            return qnnrt_ir__einsum_wrong(s, "operands must be of one float type, or int64", m->at);
        if (!qnnrt_ir__einsum_term(s, m, x->rank, 0)) return 0;
        for (d = 0; d < x->rank; ++d) {
            const int64_t dim = x->dims[d], first = x->dims[strchr(m->term, m->term[d]) - m->term];
            k = (size_t)m->term[d];
            if (dim != first || (dim != 1 && m->size[k] != 1 && dim != m->size[k]))
                return qnnrt_ir__einsum_wrong(s, "a letter has two sizes", m->at);
            if (dim != 1) m->size[k] = dim;
            ++m->seen[k];
        }
    }
    for (k = '0'; k <= 'z'; ++k) {
        dots += k < '8' && m->seen[k] > 0;
        if (n <= QNNRT_IR_RANK && m->seen[k] > 0 && (k < '8' || m->seen[k] == 1))
            m->out[n++] = (char)k;
    }
    if (strncmp(m->at, "->", 2) == 0) {
        m->at += 2;
        if (!qnnrt_ir__einsum_term(s, m, UINT32_MAX, dots)) return 0;
        memcpy(m->out, m->term, sizeof(m->out));
    }
    for (d = 0; m->out[d] != '\0'; ++d)
        if (m->seen[(size_t)m->out[d]] == 0 || strchr(m->out, m->out[d]) != m->out + d)
            return qnnrt_ir__einsum_wrong(s, "the result has a letter twice, or of no operand",
                                          m->at);
    if (*m->at != '\0' || d > QNNRT_IR_RANK)
        return qnnrt_ir__einsum_wrong(s, "there are too many terms or letters", m->at);
    m->at = qnnrt_ir_attr_find(node, "equation")->text;
    return 1;
}

/* Get the sizes of some letters. Return how many. */
static uint32_t qnnrt_ir__einsum_dims(const qnnrt_ir__einsum *m, const char *labels, int64_t *dims)
{
    uint32_t k;
    for (k = 0; labels[k] != '\0'; ++k) dims[k] = m->size[(size_t)labels[k]];
    return k;
}

static int qnnrt_ir__shape_einsum(qnnrt_ir__shape *s)
{
    qnnrt_ir__einsum m;
    if (!qnnrt_ir__einsum_plan(s, &m)) return 0;
    s->dtype = s->node->inputs[0]->dtype;
    s->rank = qnnrt_ir__einsum_dims(&m, m.out, s->dims);
    return 1;
}

static int qnnrt_ir__shape_linear(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *w = s->node->inputs[1];
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_rank(s, 0, 1, QNNRT_IR_RANK) || !qnnrt_ir__shape_rank(s, 1, 1, 2))
        return 0;
    if (!qnnrt_ir__shape_inner(s, x->dims[x->rank - 1], w->dims[w->rank - 1])) return 0;
    if (w->rank == 1) {                                  /* PyTorch's bias is then a scalar */
        const qnnrt_ir_value *bias = qnnrt_ir_input(s->node, 2);
        --s->rank;
        return (bias != NULL && bias->rank == 0) || qnnrt_ir__shape_vector(s, 2, 1);
    }
    s->dims[s->rank - 1] = w->dims[0];
    return qnnrt_ir__shape_vector(s, 2, w->dims[0]);
}

/* addmm, baddbmm: bias, a, b */
static int qnnrt_ir__shape_addmm(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *bias = s->node->inputs[0], *a = s->node->inputs[1];
    const qnnrt_ir_value *b = s->node->inputs[2];
    int64_t dims[QNNRT_IR_RANK];
    uint32_t i;
    if (!qnnrt_ir__shape_rank(s, 1, 2, 3) || !qnnrt_ir__shape_rank(s, 2, a->rank, a->rank))
        return 0;
    if (!qnnrt_ir__shape_inner(s, a->dims[a->rank - 1], b->dims[b->rank - 2])) return 0;
    if (a->rank == 3 && a->dims[0] != b->dims[0])
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the batches are %lld and %lld",
                                    (long long)a->dims[0], (long long)b->dims[0]);
    qnnrt_ir__shape_copy(s, a);
    s->dims[s->rank - 1] = b->dims[b->rank - 1];
    memcpy(dims, s->dims, sizeof(dims));
    if (bias->rank > s->rank || !qnnrt_ir__shape_broadcast(s, bias->rank, bias->dims))
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH,
                                    "the bias does not broadcast to the product");
    for (i = 0; i < s->rank; ++i)
        if (s->dims[i] != dims[i])
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the bias is larger than the product");
    return 1;
}

/* batch_norm, instance_norm: vectors of the size of dimension 1 */
static int qnnrt_ir__shape_batch_norm(qnnrt_ir__shape *s)
{
    size_t i;
    if (!qnnrt_ir__shape_rank(s, 0, 2, QNNRT_IR_RANK) || !qnnrt_ir__shape_float(s)) return 0;
    for (i = 1; i < 5; ++i) if (!qnnrt_ir__shape_vector(s, i, s->dims[1])) return 0;
    return 1;
}

/* _weight_norm: a weight, and the length that it gets at each place of dim; dim -1: as a whole. */
static int qnnrt_ir__shape_weight_norm(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *v = s->node->inputs[0], *g = s->node->inputs[1];
    const int whole = qnnrt_ir_int(s->node, "dim", 0) == -1;
    int good = g->dtype == v->dtype && (whole ? g->rank <= v->rank && g->count == 1
                                              : g->rank == v->rank);
    uint32_t axis = QNNRT_IR_RANK, d;
    if (!qnnrt_ir__shape_float(s) ||
        (!whole && !qnnrt_ir__shape_axis(s, "dim", s->rank, &axis))) return 0;
    for (d = 0; d < v->rank && good && !whole; ++d)
        good = g->dims[d] == (d == axis ? v->dims[d] : 1);
    return good || qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "input 1 is %s, expected one length "
                                        "for each place of dim, of the weight's dtype",
                                        qnnrt_ir__shape_say(s, 0, g->rank, g->dims));
}

static int qnnrt_ir__shape_group_norm(qnnrt_ir__shape *s)
{
    const int64_t groups =
        qnnrt_ir_int(s->node, s->node->op[0] == 'n' ? "group" : "num_groups", 0);
    if (!qnnrt_ir__shape_rank(s, 0, 2, QNNRT_IR_RANK) || !qnnrt_ir__shape_float(s)) return 0;
    if (groups < 1 || s->dims[1] % groups != 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "num_groups is %lld", (long long)groups);
    return qnnrt_ir__shape_vector(s, 1, s->dims[1]) && qnnrt_ir__shape_vector(s, 2, s->dims[1]);
}

/* layer_norm, rms_norm: weights of the shape of the last dimensions */
static int qnnrt_ir__shape_layer_norm(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0];
    int64_t last[QNNRT_IR_RANK];
    const size_t n = qnnrt_ir_ints(s->node, "normalized_shape", last);
    size_t i;
    if (!qnnrt_ir__shape_float(s)) return 0;
    if (n == 0 || n > x->rank || memcmp(last, x->dims + x->rank - n, n * sizeof(*last)) != 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "normalized_shape is %s, the input %s",
                                    qnnrt_ir__shape_say(s, 0, (uint32_t)n, last),
                                    qnnrt_ir__shape_say(s, 1, x->rank, x->dims));
    for (i = 1; i < s->node->input_count; ++i) {
        const qnnrt_ir_value *w = s->node->inputs[i];
        if (w != NULL && (w->rank != n || memcmp(w->dims, last, n * sizeof(*last)) != 0))
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "input %u is %s, expected %s",
                                        (unsigned)i, qnnrt_ir__shape_say(s, 0, w->rank, w->dims),
                                        qnnrt_ir__shape_say(s, 1, (uint32_t)n, last));
    }
    return 1;
}

/* native_layer_norm, native_group_norm. Outputs: the result, mean, 1 / deviation. */
static int qnnrt_ir__shape_native_norm(qnnrt_ir__shape *s)
{
    const int grouped = strstr(s->node->op, "group_norm") != NULL;
    int64_t last[QNNRT_IR_RANK];
    const size_t n = grouped ? 0 : qnnrt_ir_ints(s->node, "normalized_shape", last);
    size_t i;
    if (!(grouped ? qnnrt_ir__shape_group_norm(s) : qnnrt_ir__shape_layer_norm(s))) return 0;
    s->outputs = 3;
    if (s->index == 0) return 1;
    for (i = 0; i < n; ++i) s->dims[s->rank - 1 - i] = 1;
    if (grouped) { s->rank = 2; s->dims[1] = qnnrt_ir_int(s->node, "group", 1); }
    if (s->dtype != QNNRT_DTYPE_F32) s->dtype = QNNRT_DTYPE_UNDEFINED;   /* devices differ */
    return 1;
}

/* Outputs: the result, and statistics of the batch, which are empty without training. */
static int qnnrt_ir__shape_native_batch_norm(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *y;
    if (!qnnrt_ir__shape_batch_norm(s)) return 0;
    s->outputs = 3;
    if (s->index == 0) return 1;
    y = s->index < s->node->output_count ? s->node->outputs[s->index] : NULL;
    /* Exports of models on the device "meta" have places for them all the same. */
    s->dims[0] = y != NULL && y->rank == 1 && y->dims[0] == s->dims[1] ? s->dims[1] : 0;
    s->rank = 1;
    if (s->dtype != QNNRT_DTYPE_F32) s->dtype = QNNRT_DTYPE_UNDEFINED;
    return 1;
}

/* The fused norms of passes: over the last dimension, weights of its size. */
static int qnnrt_ir__shape_last_norm(qnnrt_ir__shape *s)
{
    size_t i;
    if (!qnnrt_ir__shape_rank(s, 0, 1, QNNRT_IR_RANK) || !qnnrt_ir__shape_float(s)) return 0;
    for (i = 1; i < 3; ++i)
        if (!qnnrt_ir__shape_vector(s, i, s->dims[s->rank - 1])) return 0;
    return 1;
}

/* query, key, value, mask */
static int qnnrt_ir__shape_attention(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *q = s->node->inputs[0], *k = s->node->inputs[1], *v = s->node->inputs[2];
    const qnnrt_ir_value *mask = qnnrt_ir_input(s->node, 3);
    const uint32_t r = q->rank;
    int64_t scores[QNNRT_IR_RANK];
    uint32_t i;
    if (!qnnrt_ir__shape_rank(s, 0, 2, QNNRT_IR_RANK) || !qnnrt_ir__shape_rank(s, 1, r, r) ||
        !qnnrt_ir__shape_rank(s, 2, r, r)) return 0;
    if (!qnnrt_ir__shape_inner(s, q->dims[r - 1], k->dims[r - 1]) ||
        !qnnrt_ir__shape_inner(s, k->dims[r - 2], v->dims[r - 2])) return 0;
    if (r > 2 && (k->dims[r - 3] != v->dims[r - 3] || k->dims[r - 3] < 1 ||
                  q->dims[r - 3] % k->dims[r - 3] != 0))
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH,
                                    "%lld heads of keys and %lld of values do not "
                                    "divide %lld", (long long)k->dims[r - 3],
                                    (long long)v->dims[r - 3], (long long)q->dims[r - 3]);
    for (i = 0; i + 3 < r; ++i)
        if (q->dims[i] != k->dims[i] || q->dims[i] != v->dims[i])
            return qnnrt_ir__shape_fail(s, QNNRT_E_UNSUPPORTED,
                                        "query, key and value differ in dimension %u", (unsigned)i);
    if (r > 2 && q->dims[r - 3] != k->dims[r - 3] && k->dims[r - 3] != 1 &&
        qnnrt_ir_int(s->node, "enable_gqa", 0) == 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH,
                                    "%lld heads of keys for %lld need enable_gqa",
                                    (long long)k->dims[r - 3], (long long)q->dims[r - 3]);
    qnnrt_ir__shape_same(s);
    if (mask != NULL) {
        memcpy(scores, q->dims, sizeof(scores));
        scores[r - 1] = k->dims[r - 2];
        s->rank = mask->rank;
        memcpy(s->dims, mask->dims, sizeof(s->dims));
        if (!qnnrt_ir__shape_broadcast(s, r, scores)) return 0;
        if (s->rank != r || memcmp(s->dims, scores, r * sizeof(*scores)) != 0)
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the mask is larger than the scores");
        qnnrt_ir__shape_same(s);
    }
    s->dims[r - 1] = v->dims[r - 1];
    return 1;
}

/* Products of rows with one matrix each: those of group g end at offs[g]. */
static int qnnrt_ir__shape_grouped(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *w = s->node->inputs[1];
    const qnnrt_ir_value *ends = qnnrt_ir_input(s->node, 2);
    if (!qnnrt_ir__shape_rank(s, 0, 2, 2) || !qnnrt_ir__shape_rank(s, 1, 3, 3)) return 0;
    if (ends == NULL || x->dims[1] != w->dims[1] || x->dtype != w->dtype)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "offs is missing, or %s and %s do not fit",
                                    qnnrt_ir__shape_say(s, 0, x->rank, x->dims),
                                    qnnrt_ir__shape_say(s, 1, w->rank, w->dims));
    qnnrt_ir__shape_same(s);
    s->dims[1] = w->dims[2];
    return qnnrt_ir__shape_vector(s, 2, w->dims[0]) && qnnrt_ir__shape_indices(s, ends) &&
           qnnrt_ir__shape_floats(s, x) &&
           (!qnnrt_ir__attr_has(s->node, "out_dtype") ||
            qnnrt_ir_dtype(s->node, "out_dtype", s->dtype) == s->dtype ||
            qnnrt_ir__shape_fail(s, QNNRT_E_UNSUPPORTED, "out_dtype is another dtype"));
}

/* =====================================================================================
   SHAPE OF PLACES                                                          >>shape_index
   Operators that read and write places given by indices, and those that find places.
   Needs: >>config >>dtype >>attr >>shape >>shape_math     Knows nothing of: layers, views
   ===================================================================================== */

static int qnnrt_ir__shape_topk(qnnrt_ir__shape *s)
{
    const int64_t k = qnnrt_ir_int(s->node, "k", 0);
    uint32_t axis;
    if (!qnnrt_ir__shape_same(s) || !qnnrt_ir__shape_axis(s, "dim", s->rank, &axis)) return 0;
    if (k < 0 || k > (s->rank == 0 ? 1 : s->dims[axis]))
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "k is %lld", (long long)k);
    if (s->rank > 0) s->dims[axis] = k;
    return qnnrt_ir__shape_made(s, 'p');
}

/* sort, cummax and cummin: values and places; argsort: places; msort: values */
static int qnnrt_ir__shape_ranked(qnnrt_ir__shape *s)
{
    uint32_t axis;
    if (!qnnrt_ir__shape_same(s) || !qnnrt_ir__shape_axis(s, "dim", s->rank, &axis)) return 0;
    s->outputs = strncmp(s->node->op, "argsort", 7) == 0 || s->node->op[0] == 'm' ? 1 : 2;
    if (s->index == 1 || s->node->op[0] == 'a') s->dtype = QNNRT_DTYPE_I64;
    return 1;
}

/* kthvalue, median and mode along a dimension: values and places */
static int qnnrt_ir__shape_kth(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0];
    const int64_t dim = qnnrt_ir_int(s->node, "dim", 0), k = qnnrt_ir_int(s->node, "k", 1);
    if (!qnnrt_ir__shape_extreme(s)) return 0;
    if (k < 1 || k > (x->rank == 0 ? 1 : x->dims[dim < 0 ? dim + x->rank : dim]))
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "k is %lld", (long long)k);
    return 1;
}

/* one_hot: a dimension of 0 and 1 */
static int qnnrt_ir__shape_one_hot(qnnrt_ir__shape *s)
{
    const int64_t size = qnnrt_ir_int(s->node, "num_classes", -1);
    qnnrt_ir__shape_same(s);
    if (size < 1 || size > QNNRT_IR__MOST || s->rank == QNNRT_IR_RANK)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "num_classes is %lld", (long long)size);
    s->dims[s->rank++] = size;
    return qnnrt_ir__shape_indices(s, s->node->inputs[0]);
}

/* histc and bincount: how many elements there are of each kind, whose number is fixed */
static int qnnrt_ir__shape_counts(qnnrt_ir__shape *s)
{
    const int floats = s->node->op[0] == 'h';
    const qnnrt_ir_value *x = s->node->inputs[0], *weight = qnnrt_ir_input(s->node, 1);
    const int64_t size = qnnrt_ir_int(s->node, floats ? "bins" : "minlength", 100);
    if (size < 1 || size > QNNRT_IR__MOST)
        return qnnrt_ir__shape_fail(s, QNNRT_E_UNSUPPORTED, "the number of counts depends on data");
    s->rank = 1;
    s->dims[0] = size;
    s->dtype = floats ? x->dtype : weight == NULL ? QNNRT_DTYPE_I64 :
               weight->dtype == QNNRT_DTYPE_F32 ? QNNRT_DTYPE_F32 : QNNRT_DTYPE_F64;
    if (weight != NULL && !qnnrt_ir__shape_vector(s, 1, (int64_t)x->count)) return 0;
    return floats ? qnnrt_ir__shape_floats(s, x)
                  : qnnrt_ir__shape_rank(s, 0, 1, 1) &&
                    (qnnrt_ir_dtype_kind(x->dtype) == 1 || qnnrt_ir__shape_indices(s, x));
}

/* searchsorted and bucketize: places in rows, or in one row */
static int qnnrt_ir__shape_search(qnnrt_ir__shape *s)
{
    const size_t of = s->node->op[0] == 'b';
    const qnnrt_ir_value *row = s->node->inputs[of], *x = s->node->inputs[1 - of];
    const qnnrt_ir_value *sorter = qnnrt_ir_input(s->node, 2);
    qnnrt_ir__shape_copy(s, x);
    s->dtype = qnnrt_ir_int(s->node, "out_int32", 0) != 0 ? QNNRT_DTYPE_I32 : QNNRT_DTYPE_I64;
    if (sorter != NULL && !qnnrt_ir_same_shape(sorter, row))
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the sorter has another shape");
    if (row->rank == 1) return sorter == NULL || qnnrt_ir__shape_indices(s, sorter);
    if (of || row->rank != x->rank || row->rank == 0 ||
        memcmp(row->dims, x->dims, (x->rank - 1) * sizeof(*x->dims)) != 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the rows are %s, expected 1 row, or one "
                                    "for each of %s",
                                    qnnrt_ir__shape_say(s, 0, row->rank, row->dims),
                                    qnnrt_ir__shape_say(s, 1, x->rank, x->dims));
    return sorter == NULL || qnnrt_ir__shape_indices(s, sorter);
}

static int qnnrt_ir__shape_masked_scatter(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *mask = s->node->inputs[1];
    const qnnrt_ir_value *source = s->node->inputs[2];
    if (mask->dtype != QNNRT_DTYPE_BOOL8 || source->dtype != x->dtype)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "mask and source are %s and %s, expected "
                                    "bool and %s", qnnrt_dtype_name(mask->dtype),
                                    qnnrt_dtype_name(source->dtype), qnnrt_dtype_name(x->dtype));
    qnnrt_ir__shape_same(s);
    return qnnrt_ir__shape_broadcast(s, mask->rank, mask->dims);
}

static int qnnrt_ir__shape_embedding(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *w = s->node->inputs[0], *ids = s->node->inputs[1];
    if (!qnnrt_ir__shape_rank(s, 0, 2, 2) || !qnnrt_ir__shape_rank(s, 1, 0, QNNRT_IR_RANK - 1))
        return 0;
    qnnrt_ir__shape_copy(s, ids);
    s->dtype = w->dtype;
    s->dims[s->rank++] = w->dims[1];
    return qnnrt_ir__shape_indices(s, ids);
}

static int qnnrt_ir__shape_index_select(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *ids = s->node->inputs[1];
    uint32_t axis;
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_rank(s, 1, 0, 1) || !qnnrt_ir__shape_axis(s, "dim", s->rank, &axis))
        return 0;
    if (s->rank > 0) s->dims[axis] = (int64_t)ids->count;
    return qnnrt_ir__shape_indices(s, ids);
}

static int qnnrt_ir__shape_gather(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *ids = s->node->inputs[1];
    uint32_t axis, i;
    if (!qnnrt_ir__shape_rank(s, 1, x->rank, x->rank)) return 0;
    if (!qnnrt_ir__shape_axis(s, "dim", x->rank, &axis)) return 0;
    qnnrt_ir__shape_copy(s, ids);
    s->dtype = x->dtype;
    for (i = 0; i < x->rank; ++i)
        if (i != axis && ids->dims[i] > x->dims[i])
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH,
                                        "dimension %u of the indices is larger than "
                                        "that of the input", (unsigned)i);
    return qnnrt_ir__shape_indices(s, ids);
}

/* How an element joins the one that is there: '=' in its place, '+', '*', '<' and '>' the least and
   the largest, '/' the mean; 0: unknown. */
static char qnnrt_ir__shape_join_by(const qnnrt_ir_node *node)
{
    static const struct { char name[10], way; } ways[] = {
        { "sum", '+' }, { "add", '+' }, { "prod", '*' }, { "multiply", '*' }, { "mean", '/' },
        { "amax", '>' }, { "amin", '<' },
    };
    const qnnrt_ir_attr *attr = qnnrt_ir_attr_find(node, "reduce");
    size_t i;
    if (attr == NULL || attr->kind != QNNRT_IR_TEXT)
        return strstr(node->op, "_add") != NULL || qnnrt_ir_int(node, "accumulate", 0) != 0 ? '+'
                                                                                            : '=';
    for (i = 0; i < sizeof(ways) / sizeof(ways[0]); ++i)
        if (strcmp(ways[i].name, attr->text) == 0) return ways[i].way;
    return 0;
}

static int qnnrt_ir__shape_way(qnnrt_ir__shape *s)
{
    return qnnrt_ir__shape_join_by(s->node) != 0 ||
           qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "reduce has an unknown value");
}

/* self, index, and a source unless a value is given */
static int qnnrt_ir__shape_scatter(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *ids = s->node->inputs[1];
    const qnnrt_ir_value *source = qnnrt_ir_input(s->node, 2);
    uint32_t axis, i;
    if (!qnnrt_ir__shape_rank(s, 1, x->rank, x->rank) || !qnnrt_ir__shape_way(s) ||
        (source != NULL && !qnnrt_ir__shape_rank(s, 2, x->rank, x->rank))) return 0;
    if (source != NULL && source->dtype != x->dtype)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the source is %s, expected %s",
                                    qnnrt_dtype_name(source->dtype), qnnrt_dtype_name(x->dtype));
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_axis(s, "dim", x->rank, &axis)) return 0;
    for (i = 0; i < x->rank; ++i)
        if ((i != axis && ids->dims[i] > x->dims[i]) ||
            (source != NULL && ids->dims[i] > source->dims[i]))
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "dimension %u of the indices is "
                                        "larger than that of the input or the source",
                                        (unsigned)i);
    return qnnrt_ir__shape_indices(s, ids);
}

/* index_copy, index_add, index_reduce, index_fill: self, index, and a source or a number */
static int qnnrt_ir__shape_rows(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *ids = s->node->inputs[1];
    const qnnrt_ir_value *src = qnnrt_ir_input(s->node, 2);
    const int fills = strncmp(s->node->op, "index_fill", 10) == 0;
    uint32_t axis, i;
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_rank(s, 1, 0, 1) || !qnnrt_ir__shape_way(s) ||
        !qnnrt_ir__shape_axis(s, "dim", x->rank, &axis)) return 0;
    if (src != NULL && !qnnrt_ir__shape_rank(s, 2, fills ? 0 : x->rank, fills ? 0 : x->rank))
        return 0;
    for (i = 0; src != NULL && !fills && i < x->rank; ++i)
        if (src->dims[i] != (i == axis ? (int64_t)ids->count : x->dims[i]))
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "dimension %u of the source is %lld",
                                        (unsigned)i, (long long)src->dims[i]);
    if (x->rank == 0 && ids->count != 1)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "a number has one place");
    return qnnrt_ir__shape_indices(s, ids);
}

/* put: elements for places in all of self; take: those at places in it */
static int qnnrt_ir__shape_put(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *ids = s->node->inputs[1];
    const qnnrt_ir_value *from = qnnrt_ir_input(s->node, 2);
    qnnrt_ir__shape_copy(s, from != NULL ? x : ids);
    s->dtype = x->dtype;
    if (from != NULL && (from->count != ids->count || from->dtype != x->dtype))
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "source is not an element for each index");
    return qnnrt_ir__shape_indices(s, ids);
}

/* take_along_dim: like gather, with dimensions of 1 repeated; without dim of all elements */
static int qnnrt_ir__shape_along(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *ids = s->node->inputs[1];
    uint32_t axis;
    if (!qnnrt_ir__attr_has(s->node, "dim")) {
        s->dtype = x->dtype;
        s->dims[0] = (int64_t)ids->count;
        s->rank = 1;
        return qnnrt_ir__shape_indices(s, ids);
    }
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_rank(s, 1, x->rank, x->rank) ||
        !qnnrt_ir__shape_axis(s, "dim", x->rank, &axis)) return 0;
    if (x->rank > 0) s->dims[axis] = 1;
    if (!qnnrt_ir__shape_broadcast(s, ids->rank, ids->dims)) return 0;
    if (x->rank > 0) s->dims[axis] = ids->dims[axis];
    return qnnrt_ir__shape_indices(s, ids);
}

/* What a list of indices selects: one for each dimension, NULL for all of it. The indexed
   dimensions become one group, s->group of them at s->place: there if they are adjacent, else in
   front. */
static int qnnrt_ir__shape_indexed(qnnrt_ir__shape *s, size_t count)
{
    const qnnrt_ir_node *node = s->node;
    const qnnrt_ir_value *x = node->inputs[0];
    uint32_t first = 0, last = 0, found = 0, i, k;
    int64_t dims[QNNRT_IR_RANK];
    if (count > x->rank)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "%u indices, the input has %u dimensions",
                                    (unsigned)count, (unsigned)x->rank);
    s->rank = 0;
    s->dtype = x->dtype;
    for (i = 0; i < count; ++i) {
        const qnnrt_ir_value *ids = node->inputs[i + 1];
        if (ids == NULL) continue;
        if (ids->dtype == QNNRT_DTYPE_BOOL8 || ids->dtype == QNNRT_DTYPE_U8)
            return qnnrt_ir__shape_fail(s, QNNRT_E_UNSUPPORTED,
                                        "an index is a mask: the shape depends on its values");
        if (!qnnrt_ir__shape_indices(s, ids)) return 0;
        if (!qnnrt_ir__shape_broadcast(s, ids->rank, ids->dims)) return 0;
        if (found++ == 0) first = i;
        last = i;
    }
    if (found == 0) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "there is no index");
    if (s->rank + x->rank - found > QNNRT_IR_RANK)
        return qnnrt_ir__shape_fail(s, QNNRT_E_LIMIT, "too many dimensions");
    memcpy(dims, s->dims, sizeof(dims));
    s->group = s->rank;
    s->place = last - first + 1 == found ? first : 0;
    for (i = 0, s->rank = 0; i <= x->rank; ++i) {
        for (k = 0; k < s->group && s->rank == s->place + k; ++k) s->dims[s->rank++] = dims[k];
        if (i < x->rank && (i >= count || node->inputs[i + 1] == NULL))
            s->dims[s->rank++] = x->dims[i];
    }
    return 1;
}

/* index.Tensor: x, then the indices */
static int qnnrt_ir__shape_index(qnnrt_ir__shape *s)
{
    return qnnrt_ir__shape_indexed(s, s->node->input_count - 1);
}

/* index_put: self, the indices, then values that are broadcast to what they select */
static int qnnrt_ir__shape_index_put(qnnrt_ir__shape *s)
{
    const size_t last = s->node->input_count - 1;
    const qnnrt_ir_value *from = s->node->inputs[last];
    uint32_t i;
    if (from == NULL) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "there are no values");
    if (!qnnrt_ir__shape_indexed(s, last - 1)) return 0;
    if (from->dtype != s->dtype)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the values are %s, expected %s",
                                    qnnrt_dtype_name(from->dtype), qnnrt_dtype_name(s->dtype));
    for (i = 0; i < from->rank; ++i) {
        const int64_t dim = from->dims[from->rank - 1 - i];
        if (dim != 1 && (i >= s->rank || dim != s->dims[s->rank - 1 - i]))
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the values do not have the shape of"
                                                             " what the indices select");
    }
    qnnrt_ir__shape_same(s);
    return 1;
}

/* =====================================================================================
   SHAPE OF SEQUENCES                                                        >>shape_seq
   Fourier transforms and recurrent layers.
   Needs: >>config >>attr >>shape     Knows nothing of: how they are computed
   ===================================================================================== */

/* qnnrt.fft: x[.., 1] is real, x[.., 2] complex, the result too. length: the size of each dimension
   that is transformed, before; a shorter input is filled with zeros, a longer one is cut. onesided:
   of the last of them half of the values, which say the other half, are made, or (inverse) read. */
static int qnnrt_ir__shape_fft(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0];
    const int inverse = qnnrt_ir_int(s->node, "inverse", 0) != 0;
    const int half = qnnrt_ir_int(s->node, "onesided", 0) != 0;
    int64_t axes[QNNRT_IR_RANK], length[QNNRT_IR_RANK];
    const size_t count = qnnrt_ir_ints(s->node, "dim", axes);
    uint32_t seen = 0;
    size_t i;
    qnnrt_ir__shape_copy(s, x);
    if (!qnnrt_ir__shape_rank(s, 0, 2, QNNRT_IR_RANK) || !qnnrt_ir__shape_floats(s, x)) return 0;
    if (x->dims[x->rank - 1] != 2 && (x->dims[x->rank - 1] != 1 || (half && inverse)))
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the last dimension is %lld, expected 1 or"
                                    " 2, real and imaginary", (long long)x->dims[x->rank - 1]);
    if (half && !inverse && x->dims[x->rank - 1] != 1)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "onesided of complex numbers");
    if (count == 0 || count >= x->rank || qnnrt_ir_ints(s->node, "length", length) != count)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "dim and length do not name 1 to %u dimensions",
                                    (unsigned)x->rank - 1);
    for (i = 0; i < count; ++i) {
        if (axes[i] < 0 || axes[i] >= x->rank - 1 || (seen >> axes[i] & 1) || length[i] < 1)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "dim is %lld with length %lld",
                                        (long long)axes[i], (long long)length[i]);
        if (length[i] > (int64_t)1 << 30)    /* its square fits in 64 bits */
            return qnnrt_ir__shape_fail(s, QNNRT_E_LIMIT, "length is %lld", (long long)length[i]);
        seen |= (uint32_t)1 << axes[i];
        s->dims[axes[i]] = length[i];
    }
    s->dims[x->rank - 1] = half && inverse ? 1 : 2;
    if (half && !inverse) s->dims[axes[count - 1]] = length[count - 1] / 2 + 1;
    return 1;
}

/* lstm, gru, rnn_tanh, rnn_relu: x, h, (c of lstm,) then of each layer and direction the weights
   of x [gates * width, in] and of h [gates * width, out], their biases, and of lstm that of a
   projection [out, width]. */
typedef struct qnnrt_ir__recurrent {
    int64_t gates, layers, ways, width, out, steps, batch;
    size_t  first, per;                      /* the first weight; how many each direction has */
    int     biased, projected, swapped; /* swapped: the batch is first */
} qnnrt_ir__recurrent;

/* Read what a node says, without a check. */
static void qnnrt_ir__recurrent_read(const qnnrt_ir_node *node, qnnrt_ir__recurrent *r)
{
    const qnnrt_ir_value *x = node->inputs[0], *h = node->inputs[1];
    const int64_t both = qnnrt_ir_int(node, "bidirectional", 0) != 0;
    memset(r, 0, sizeof(*r));
    r->gates = node->op[0] == 'l' ? 4 : node->op[0] == 'g' ? 3 : 1;
    r->first = node->op[0] == 'l' ? 3 : 2;
    r->layers = qnnrt_ir_int(node, "num_layers", 1);
    r->ways = 1 + both;
    r->biased = qnnrt_ir_int(node, "has_biases", 1) != 0;
    r->swapped = qnnrt_ir_int(node, "batch_first", 0) != 0;
    r->steps = x->dims[r->swapped];
    r->batch = x->dims[!r->swapped];
    r->out = h != NULL && h->rank > 0 ? h->dims[h->rank - 1] : 0;
    r->per = r->biased ? 4 : 2;
    r->projected = r->gates == 4 && r->layers > 0 && r->layers <= (int64_t)node->input_count &&
                   node->input_count == 3 + (r->per + 1) * (size_t)(r->layers * r->ways);
    r->per += (size_t)r->projected;
}

/* Require input i to be a float tensor of these dims. */
static int qnnrt_ir__recurrent_is(qnnrt_ir__shape *s, size_t i, uint32_t rank, int64_t a, int64_t b,
                                  int64_t c)
{
    const qnnrt_ir_value *x = qnnrt_ir_input(s->node, i);
    int64_t dims[3];
    dims[0] = a;
    dims[1] = b;
    dims[2] = c;
    if (x == NULL) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "input %u is missing", (unsigned)i);
    if (x->rank == rank && memcmp(x->dims, dims, rank * sizeof(*dims)) == 0)
        return qnnrt_ir__shape_floats(s, x);
    return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "input %u is %s, expected %s", (unsigned)i,
                                qnnrt_ir__shape_say(s, 0, x->rank, x->dims),
                                qnnrt_ir__shape_say(s, 1, rank, dims));
}

static int qnnrt_ir__shape_recurrent(qnnrt_ir__shape *s)
{
    const qnnrt_ir_node *node = s->node;
    const qnnrt_ir_value *x = node->inputs[0], *w;
    qnnrt_ir__recurrent r;
    int64_t k;
    size_t i;
    if (!qnnrt_ir__shape_rank(s, 0, 3, 3) || !qnnrt_ir__shape_floats(s, x)) return 0;
    qnnrt_ir__recurrent_read(node, &r);
    if (r.layers < 1 || r.layers > (int64_t)node->input_count ||
        node->input_count != r.first + r.per * (size_t)(r.layers * r.ways))
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%u tensors are not those of %lld layers",
                                    (unsigned)node->input_count, (long long)r.layers);
    w = node->inputs[r.first];
    r.width = w != NULL && w->rank > 0 ? w->dims[0] / r.gates : 0;
    for (i = 1; i < r.first; ++i) {
        if (!qnnrt_ir__recurrent_is(s, i, 3, r.layers * r.ways, r.batch, i == 2 ? r.width : r.out))
            return 0;
    }
    for (k = 0; k < r.layers * r.ways; ++k) {
        const int64_t in = k < r.ways ? x->dims[x->rank - 1] : r.ways * r.out;
        const int64_t rows = r.gates * r.width;
        const size_t at = r.first + (size_t)k * r.per;
        if (!qnnrt_ir__recurrent_is(s, at, 2, rows, in, 0) ||
            !qnnrt_ir__recurrent_is(s, at + 1, 2, rows, r.out, 0) ||
            (r.biased && (!qnnrt_ir__recurrent_is(s, at + 2, 1, rows, 0, 0) ||
                          !qnnrt_ir__recurrent_is(s, at + 3, 1, rows, 0, 0))) ||
            (r.projected && !qnnrt_ir__recurrent_is(s, at + r.per - 1, 2, r.out, r.width, 0)))
            return 0;
    }
    if (!r.projected && r.out != r.width)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the state has %lld elements, expected "
                                    "%lld", (long long)r.out, (long long)r.width);
    s->outputs = r.first;
    qnnrt_ir__shape_copy(s, s->index == 0 || s->index >= r.first ? x : node->inputs[s->index]);
    s->dtype = x->dtype;
    if (s->index == 0) s->dims[s->rank - 1] = r.ways * r.out;
    return 1;
}

/* =====================================================================================
   SHAPE OF IMAGES                                                          >>shape_image
   Convolutions, pools, resizing, sampling: images of 1 to 3 dimensions.
   Needs: >>config >>attr >>shape >>shape_math >>shape_net     Knows nothing of: views
   ===================================================================================== */

/* Get a number for each of `n` dimensions. */
static int qnnrt_ir__shape_each(qnnrt_ir__shape *s, const char *name, uint32_t n, int64_t *out)
{
    return qnnrt_ir_each(s->node, name, n, out) ||
           qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%s does not have %u numbers", name, (unsigned)n);
}

/* Get the arguments of one window: kernel, stride, padding and dilation of `n` dimensions. */
typedef struct qnnrt_ir__window {
    int64_t kernel[3], stride[3], pad[3], dilation[3];
} qnnrt_ir__window;

static int qnnrt_ir__shape_window(qnnrt_ir__shape *s, uint32_t n, qnnrt_ir__window *w)
{
    uint32_t i;
    if (!qnnrt_ir_each(s->node, "stride", n, w->stride))
        for (i = 0; i < n; ++i) w->stride[i] = w->kernel[i];
    if (!qnnrt_ir__shape_each(s, "padding", n, w->pad)) return 0;
    if (!qnnrt_ir_each(s->node, "dilation", n, w->dilation))
        for (i = 0; i < n; ++i) w->dilation[i] = 1;
    for (i = 0; i < n; ++i) {
        if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1 || w->pad[i] < 0)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG,
                                        "kernel %lld, stride %lld, dilation %lld or "
                                        "padding %lld is too small", (long long)w->kernel[i],
                                        (long long)w->stride[i], (long long)w->dilation[i],
                                        (long long)w->pad[i]);
    }
    return 1;
}

/* Slide a window over the last `n` dimensions. */
static int qnnrt_ir__shape_slide(qnnrt_ir__shape *s, uint32_t n, const qnnrt_ir__window *w,
                                 int ceil)
{
    uint32_t i;
    for (i = 0; i < n; ++i) {
        int64_t *const dim = &s->dims[s->rank - n + i];
        const int64_t size = *dim;
        int64_t room = size + 2 * w->pad[i] - qnnrt_ir__times(w->dilation[i], w->kernel[i] - 1) - 1;
        if (ceil) room += w->stride[i] - 1;
        if (room < 0)
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH,
                                        "the window is larger than dimension %u",
                                        (unsigned)(s->rank - n + i));
        *dim = room / w->stride[i] + 1;
        if (ceil && (*dim - 1) * w->stride[i] >= size + w->pad[i]) --*dim;
    }
    return 1;
}

/* Return the number of spatial dimensions of a convolution: in the name, or of the weight. */
static uint32_t qnnrt_ir__shape_spatial(const qnnrt_ir__shape *s)
{
    const uint32_t n = qnnrt_ir__attr_spatial(s->node);
    return n != 0 ? n : s->node->inputs[1]->rank - 2;
}

/* Begin a convolution of n dimensions: check its input and weight, and get the kernel's size. */
static int qnnrt_ir__shape_kernel(qnnrt_ir__shape *s, uint32_t n, int transposed,
                                  qnnrt_ir__window *win)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *w = s->node->inputs[1];
    const int64_t groups = qnnrt_ir_int(s->node, "groups", 1);
    int64_t channels;
    uint32_t i;
    memset(win, 0, sizeof(*win));
    if (n > 3 || !qnnrt_ir__shape_rank(s, 0, n + 1, n + 2) ||
        !qnnrt_ir__shape_rank(s, 1, n + 2, n + 2)) return 0;
    qnnrt_ir__shape_same(s);
    channels = x->dims[s->rank - n - 1];
    if (groups < 1 || w->dims[0] % groups != 0 || (!transposed && channels % groups != 0))
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "groups is %lld", (long long)groups);
    for (i = 0; i < n; ++i) win->kernel[i] = w->dims[2 + i];
    s->dims[s->rank - n - 1] = transposed ? qnnrt_ir__times(w->dims[1], groups) : w->dims[0];
    return transposed ? qnnrt_ir__shape_inner(s, channels, w->dims[0])
                      : qnnrt_ir__shape_inner(s, channels / groups, w->dims[1]);
}

static int qnnrt_ir__shape_conv(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *w = s->node->inputs[1];
    const qnnrt_ir_attr *padding = qnnrt_ir_attr_find(s->node, "padding");
    const uint32_t n = qnnrt_ir__shape_spatial(s);
    qnnrt_ir__window win;
    uint32_t i;
    if (!qnnrt_ir__shape_kernel(s, n, 0, &win)) return 0;
    if (padding != NULL && padding->kind == QNNRT_IR_TEXT) {
        const int same = strcmp(padding->text, "same") == 0;
        if (!same && strcmp(padding->text, "valid") != 0)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "padding is \"%.100s\"", padding->text);
        for (i = 0; i < n; ++i) { win.stride[i] = win.dilation[i] = 1; win.pad[i] = 0; }
        qnnrt_ir_each(s->node, "stride", n, win.stride);
        qnnrt_ir_each(s->node, "dilation", n, win.dilation);
        for (i = 0; i < n; ++i)
            if (win.stride[i] < 1 || win.dilation[i] < 1 || win.kernel[i] < 1)
                return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "a stride or dilation is too small");
            else if (qnnrt_ir__times(win.dilation[i], win.kernel[i]) > QNNRT_IR__MOST)
                return qnnrt_ir__shape_fail(s, QNNRT_E_LIMIT, "a dilation is too large");
        if (same) return qnnrt_ir__shape_vector(s, 2, w->dims[0]);
    } else if (!qnnrt_ir__shape_window(s, n, &win)) {
        return 0;
    }
    return qnnrt_ir__shape_slide(s, n, &win, 0) && qnnrt_ir__shape_vector(s, 2, w->dims[0]);
}

static int qnnrt_ir__shape_deconv(qnnrt_ir__shape *s)
{
    const uint32_t n = qnnrt_ir__shape_spatial(s);
    qnnrt_ir__window win;
    int64_t more[3] = { 0, 0, 0 };
    uint32_t i;
    if (!qnnrt_ir__shape_kernel(s, n, 1, &win) || !qnnrt_ir__shape_window(s, n, &win) ||
        !qnnrt_ir__shape_each(s, "output_padding", n, more)) return 0;
    for (i = 0; i < n; ++i) {
        int64_t *const dim = &s->dims[s->rank - n + i];
        *dim = qnnrt_ir__near(qnnrt_ir__times(*dim - 1, win.stride[i]) - 2 * win.pad[i]) +
               qnnrt_ir__near(qnnrt_ir__times(win.dilation[i], win.kernel[i] - 1) + more[i]) + 1;
        if (*dim < 0)
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the padding removes everything");
    }
    return qnnrt_ir__shape_vector(s, 2, s->dims[s->rank - n - 1]);
}

static int qnnrt_ir__shape_convolution(qnnrt_ir__shape *s)
{
    if (!qnnrt_ir__shape_rank(s, 1, 3, 5)) return 0;
    return qnnrt_ir_int(s->node, "transposed", 0) != 0 ? qnnrt_ir__shape_deconv(s)
                                                              : qnnrt_ir__shape_conv(s);
}

static int qnnrt_ir__shape_pool(qnnrt_ir__shape *s)
{
    const uint32_t n = qnnrt_ir__attr_spatial(s->node);
    qnnrt_ir__window win;
    memset(&win, 0, sizeof(win));
    if (n > 3 || !qnnrt_ir__shape_rank(s, 0, n + 1, n + 2)) return 0;
    qnnrt_ir__shape_same(s);
    return qnnrt_ir__shape_each(s, "kernel_size", n, win.kernel) &&
           qnnrt_ir__shape_window(s, n, &win) &&
           qnnrt_ir__shape_slide(s, n, &win, qnnrt_ir_int(s->node, "ceil_mode", 0) != 0) &&
           (strstr(s->node->op, "indices") == NULL || qnnrt_ir__shape_made(s, 'p'));
}

static int qnnrt_ir__shape_adaptive(qnnrt_ir__shape *s)
{
    const uint32_t n = qnnrt_ir__attr_spatial(s->node);
    int64_t size[3] = { 0, 0, 0 };
    uint32_t i;
    if (n > 3 || !qnnrt_ir__shape_rank(s, 0, n + 1, n + 2)) return 0;
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_each(s, "output_size", n, size)) return 0;
    for (i = 0; i < n; ++i) {
        if (size[i] < 0) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "output_size is negative");
        s->dims[s->rank - n + i] = size[i];
    }
    return s->node->op[9] == 'a' || qnnrt_ir__shape_made(s, 'p');      /* adaptive_avg, _max */
}

/* upsample_*: a size, or factors */
static int qnnrt_ir__shape_upsample(qnnrt_ir__shape *s)
{
    const qnnrt_ir_attr *factors = qnnrt_ir_attr_find(s->node, "scale_factors");
    int64_t size[3];
    const uint32_t n = qnnrt_ir__attr_spatial(s->node);
    uint32_t i;
    if (!qnnrt_ir__shape_rank(s, 0, n + 2, n + 2)) return 0;
    qnnrt_ir__shape_same(s);
    if (qnnrt_ir_each(s->node, "output_size", n, size)) {
        for (i = 0; i < n; ++i) s->dims[2 + i] = size[i];
    } else {
        if (factors == NULL || factors->count != n || factors->floats == NULL)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG,
                                        "neither output_size nor scale_factors is given");
        for (i = 0; i < n; ++i)
            s->dims[2 + i] =
                qnnrt_ir__near(qnnrt_ir__attr_whole((double)s->dims[2 + i] * factors->floats[i]));
    }
    for (i = 0; i < n; ++i)
        if (s->dims[2 + i] < 1)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "the size is not positive");
    return strstr(s->node->op, "nearest") != NULL || qnnrt_ir__shape_floats(s, s->node->inputs[0]);
}

/* pixel_shuffle: [N, C * r * r, H, W] to [N, C, H * r, W * r]; pixel_unshuffle: back */
static int qnnrt_ir__shape_pixels(qnnrt_ir__shape *s)
{
    const int back = s->node->op[6] == 'u';
    const char *name = back ? "downscale_factor" : "upscale_factor";
    const int64_t r = qnnrt_ir_int(s->node, name, 0);
    int64_t *dims;
    if (!qnnrt_ir__shape_rank(s, 0, 3, QNNRT_IR_RANK)) return 0;
    qnnrt_ir__shape_same(s);
    dims = s->dims + (s->rank - 3);
    if (r < 1 || r > 65536 || (back ? dims[1] % r + dims[2] % r : dims[0] % (r * r)) != 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%s is %lld", name, (long long)r);
    dims[0] = back ? qnnrt_ir__times(dims[0], r * r) : dims[0] / (r * r);
    dims[1] = back ? dims[1] / r : qnnrt_ir__times(dims[1], r);
    dims[2] = back ? dims[2] / r : qnnrt_ir__times(dims[2], r);
    return 1;
}

/* channel_shuffle: [N, groups * C, ..] to [N, C * groups, ..] */
static int qnnrt_ir__shape_channels(qnnrt_ir__shape *s)
{
    const int64_t groups = qnnrt_ir_int(s->node, "groups", 0);
    if (!qnnrt_ir__shape_rank(s, 0, 3, QNNRT_IR_RANK - 1)) return 0;
    qnnrt_ir__shape_same(s);
    return (groups > 0 && s->dims[1] % groups == 0) ||
           qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "groups is %lld", (long long)groups);
}

/* im2col: [N, C, H, W] to [N, C * kernel, places of the kernel]; col2im: back */
static int qnnrt_ir__shape_fold(qnnrt_ir__shape *s)
{
    const int back = s->node->op[0] == 'c';
    const qnnrt_ir_value *x = s->node->inputs[0];
    const uint32_t less = back ? 1 : 0;
    qnnrt_ir__window win;
    int64_t size[2] = { 0, 0 }, area, places;
    memset(&win, 0, sizeof(win));
    if (!qnnrt_ir__shape_rank(s, 0, 3 - less, 4 - less)) return 0;
    qnnrt_ir__shape_same(s);
    if (!qnnrt_ir__shape_each(s, "kernel_size", 2, win.kernel) ||
        (back && !qnnrt_ir__shape_each(s, "output_size", 2, size))) return 0;
    s->rank = x->rank + less;
    if (back) memcpy(s->dims + s->rank - 2, size, sizeof(size));
    memcpy(size, s->dims + s->rank - 2, sizeof(size));
    if (size[0] < 1 || size[1] < 1)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the image is empty");
    if (!qnnrt_ir__shape_window(s, 2, &win) || !qnnrt_ir__shape_slide(s, 2, &win, 0)) return 0;
    area = qnnrt_ir__times(win.kernel[0], win.kernel[1]);
    places = qnnrt_ir__times(s->dims[s->rank - 2], s->dims[s->rank - 1]);
    if (!back) {
        s->rank -= 1;
        s->dims[s->rank - 2] = qnnrt_ir__times(s->dims[s->rank - 2], area);
        s->dims[s->rank - 1] = places;
        return 1;
    }
    if (x->dims[x->rank - 1] != places || x->dims[x->rank - 2] % area != 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the input is %s, expected C * %lld "
                                    "channels and %lld places",
                                    qnnrt_ir__shape_say(s, 0, x->rank, x->dims),
                                    (long long)area, (long long)places);
    s->dims[s->rank - 3] = x->dims[x->rank - 2] / area;
    memcpy(s->dims + s->rank - 2, size, sizeof(size));
    return 1;
}

/* grid_sampler: an image, and for each place of the result where it is taken from */
static int qnnrt_ir__shape_grid(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *grid = s->node->inputs[1];
    const int64_t mode = qnnrt_ir_int(s->node, "interpolation_mode", 0);
    const int64_t padding = qnnrt_ir_int(s->node, "padding_mode", 0);
    if (!qnnrt_ir__shape_rank(s, 0, 4, 5) || !qnnrt_ir__shape_rank(s, 1, x->rank, x->rank))
        return 0;
    if (mode < 0 || mode > (x->rank == 4 ? 2 : 1) || padding < 0 || padding > 2)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "interpolation_mode is %lld, padding_mode %lld",
                                    (long long)mode, (long long)padding);
    if (grid->dims[x->rank - 1] != x->rank - 2 || grid->dims[0] != x->dims[0])
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the grid is %s for an input %s",
                                    qnnrt_ir__shape_say(s, 0, grid->rank, grid->dims),
                                    qnnrt_ir__shape_say(s, 1, x->rank, x->dims));
    if (!qnnrt_ir__shape_float(s) || !qnnrt_ir__shape_floats(s, grid)) return 0;
    memcpy(s->dims + 2, grid->dims + 1, (x->rank - 2) * sizeof(*s->dims));
    return 1;
}

/* roi_align, roi_pool: an image, and regions: the image of the batch, then two corners */
static int qnnrt_ir__shape_regions(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0], *rois = s->node->inputs[1];
    const int64_t h = qnnrt_ir_int(s->node, "pooled_height", 0);
    const int64_t w = qnnrt_ir_int(s->node, "pooled_width", 0);
    if (!qnnrt_ir__shape_rank(s, 0, 4, 4) || !qnnrt_ir__shape_rank(s, 1, 2, 2) ||
        !qnnrt_ir__shape_float(s) || !qnnrt_ir__shape_floats(s, rois)) return 0;
    if (rois->dims[1] != 5 || h < 1 || w < 1)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "regions are %s, pooled to %lld x %lld",
                                    qnnrt_ir__shape_say(s, 0, 2, rois->dims), (long long)h,
                                    (long long)w);
    s->dims[0] = rois->dims[0];
    s->dims[1] = x->dims[1];
    s->dims[2] = qnnrt_ir__near(h);
    s->dims[3] = qnnrt_ir__near(w);
    if (strstr(s->node->op, "roi_pool") == NULL) return 1;
    s->outputs = 2;
    if (s->index == 1) s->dtype = QNNRT_DTYPE_I32;
    return 1;
}

static int qnnrt_ir__shape_expect(qnnrt_ir__shape *s, size_t i, uint32_t d, int64_t size)
{
    const qnnrt_ir_value *x = s->node->inputs[i];
    return x->dims[d] == size ||
           qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "dimension %u of input %u is %lld, expected "
                                "%lld", (unsigned)d, (unsigned)i, (long long)x->dims[d],
                                (long long)size);
}

/* deform_conv2d: input, weight, offset, mask, bias */
static int qnnrt_ir__shape_deform(qnnrt_ir__shape *s)
{
    static const char *const names[3][2] = {
        { "stride_h", "stride_w" }, { "pad_h", "pad_w" }, { "dilation_h", "dilation_w" } };
    const qnnrt_ir_node *node = s->node;
    const qnnrt_ir_value *x = node->inputs[0], *w = node->inputs[1];
    const int64_t groups = qnnrt_ir_int(node, "groups", 1);
    const int64_t parts = qnnrt_ir_int(node, "offset_groups", 1);
    const int masked = qnnrt_ir_int(node, "use_mask", 0) != 0;
    qnnrt_ir__window win;
    uint32_t i, d;
    int64_t area;
    memset(&win, 0, sizeof(win));
    for (i = 0; i < 4; ++i) if (!qnnrt_ir__shape_rank(s, i, i < 3 || masked ? 4 : 0, 4)) return 0;
    if (!qnnrt_ir__shape_float(s)) return 0;
    for (i = 0; i < 2; ++i) {
        win.kernel[i] = w->dims[2 + i];
        win.stride[i] = qnnrt_ir_int(node, names[0][i], 1);
        win.pad[i] = qnnrt_ir__near(qnnrt_ir_int(node, names[1][i], 0));
        win.dilation[i] = qnnrt_ir_int(node, names[2][i], 1);
        if (win.kernel[i] < 1 || win.stride[i] < 1 || win.pad[i] < 0 || win.dilation[i] < 1)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "a size of the window is too small");
    }
    if (groups < 1 || parts < 1 || w->dims[0] % groups != 0 || x->dims[1] % parts != 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "groups is %lld, offset_groups %lld",
                                    (long long)groups, (long long)parts);
    area = qnnrt_ir__times(parts, qnnrt_ir__times(win.kernel[0], win.kernel[1]));
    if (!qnnrt_ir__shape_slide(s, 2, &win, 0) ||
        !qnnrt_ir__shape_inner(s, x->dims[1], qnnrt_ir__times(w->dims[1], groups))) return 0;
    for (i = 2; i < 4; ++i)
        for (d = 0; d < 4 && (i == 2 || masked); ++d)
            if (!qnnrt_ir__shape_expect(s, i, d, d == 1 ? area * (4 - i) : s->dims[d])) return 0;
    s->dims[1] = w->dims[0];
    return qnnrt_ir__shape_vector(s, 4, w->dims[0]);
}

/* =====================================================================================
   SHAPE OF NEW VALUES                                                      >>shape_make
   Operators that make values, and those that are no operators of ATen.
   Needs: >>config >>dtype >>attr >>shape     Knows nothing of: arithmetic
   ===================================================================================== */

static int qnnrt_ir__shape_sizes(qnnrt_ir__shape *s)
{
    const size_t rank = qnnrt_ir_ints(s->node, "size", s->dims);
    uint64_t count;
    if (rank > QNNRT_IR_RANK) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "size is too long");
    s->rank = (uint32_t)rank;
    return qnnrt_ir__count(s->rank, s->dims, &count) ||
           qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "size is negative or too large");
}

/* full: without dtype, that of the number */
static int qnnrt_ir__shape_full(qnnrt_ir__shape *s)
{
    const qnnrt_dtype number = qnnrt_ir__attr_scalar(s->node, "fill_value");
    return qnnrt_ir__shape_sizes(s) &&
           qnnrt_ir__shape_dtype(s, number == QNNRT_DTYPE_UNDEFINED ? QNNRT_DTYPE_F32 : number);
}

/* new_ones, new_zeros, new_full: the dtype of the input */
static int qnnrt_ir__shape_new(qnnrt_ir__shape *s)
{
    return qnnrt_ir__shape_sizes(s) && qnnrt_ir__shape_dtype(s, s->node->inputs[0]->dtype);
}

static int qnnrt_ir__shape_scalar(qnnrt_ir__shape *s)
{
    s->rank = 0;
    return qnnrt_ir__shape_dtype(s, QNNRT_DTYPE_F32);
}

static int qnnrt_ir__shape_arange(qnnrt_ir__shape *s)
{
    static const char *const names[] = { "start", "end", "step" };
    double f[3], count;
    int64_t n[3] = { 0, 0, 1 };
    int whole = 1;
    size_t i;
    for (i = 0; i < 3; ++i) {
        const qnnrt_ir_attr *attr = qnnrt_ir_attr_find(s->node, names[i]);
        if (attr != NULL && attr->kind == QNNRT_IR_FLOAT) whole = 0;
        n[i] = qnnrt_ir__near(qnnrt_ir_int(s->node, names[i], n[i]));
        f[i] = qnnrt_ir_float(s->node, names[i], (double)n[i]);
    }
    if (!(f[2] < 0 || f[2] > 0)) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "step is 0");
    s->rank = 1;
    if (whole) {
        const int64_t span = n[2] > 0 ? n[1] - n[0] : n[0] - n[1], step = n[2] > 0 ? n[2] : -n[2];
        if (span < 0) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "end is before start");
        s->dims[0] = span == 0 ? 0 : (span - 1) / step + 1;
    } else {
        count = (f[1] - f[0]) / f[2];
        if (!(count >= 0) || count > (double)QNNRT_IR__MOST)
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "end is before start, or too far");
        s->dims[0] = (int64_t)count;
        if ((double)s->dims[0] < count) ++s->dims[0];
    }
    return qnnrt_ir__shape_dtype(s, whole ? QNNRT_DTYPE_I64 : QNNRT_DTYPE_F32);
}

static int qnnrt_ir__shape_steps(qnnrt_ir__shape *s)
{
    s->rank = 1;
    s->dims[0] = qnnrt_ir_int(s->node, "steps", 0);
    if (s->dims[0] < 0 || s->dims[0] > QNNRT_IR__MOST)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "steps is %lld", (long long)s->dims[0]);
    return qnnrt_ir__shape_dtype(s, QNNRT_DTYPE_F32);
}

static int qnnrt_ir__shape_eye(qnnrt_ir__shape *s)
{
    s->rank = 2;
    s->dims[0] = qnnrt_ir_int(s->node, "n", 0);
    s->dims[1] = qnnrt_ir_int(s->node, "m", s->dims[0]);
    if (s->dims[0] < 0 || s->dims[1] < 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "the size is negative");
    return qnnrt_ir__shape_dtype(s, QNNRT_DTYPE_F32);
}

static int qnnrt_ir__shape_none(qnnrt_ir__shape *s)
{
    s->outputs = 0;
    return 1;
}

/* getitem: its inputs are all outputs of one node. */
static int qnnrt_ir__shape_getitem(qnnrt_ir__shape *s)
{
    const int64_t count = (int64_t)s->node->input_count;
    int64_t index = qnnrt_ir_int(s->node, "index", 0);
    if (index < 0) index += count;
    if (index < 0 || index >= count || s->node->inputs[index] == NULL)
        return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "index is %lld, there are %lld inputs",
                                    (long long)index, (long long)count);
    return qnnrt_ir__shape_copy(s, s->node->inputs[index]);
}

/* rope: inv_freq [n] and positions [.., S]; cos and sin are [.., S, 2 n]. */
static int qnnrt_ir__shape_rope(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *freq = s->node->inputs[0], *positions = s->node->inputs[1];
    if (!qnnrt_ir__shape_rank(s, 0, 1, 1) || !qnnrt_ir__shape_rank(s, 1, 1, QNNRT_IR_RANK - 1) ||
        qnnrt_ir_dtype_kind(freq->dtype) != 2 || qnnrt_ir_dtype_kind(positions->dtype) != 1)
        return qnnrt_ir__shape_fail(s, QNNRT_E_UNSUPPORTED,
                                    "not a rotary embedding of inv_freq [n] and positions [.., S]");
    qnnrt_ir__shape_copy(s, positions);
    s->dims[s->rank++] = qnnrt_ir__times(2, freq->dims[0]);
    s->dtype = QNNRT_DTYPE_UNDEFINED;
    s->outputs = 2;
    return 1;
}

/* =====================================================================================
   OPERATORS                                                                        >>ops
   The operators, each once: its inputs, its arguments with ATen's defaults, its shape.
   Needs: >>config >>shape >>shape_math >>shape_strided >>shape_view >>shape_net
   >>shape_index >>shape_make, and the functions that its table names     Knows nothing of: files
   ===================================================================================== */

/* X(name, least inputs, most inputs (255: any), arguments, function of shape, of evaluation). A
   type with "?" may be null; without a default and without "?" it must be given. Names of ATen
   without "aten."; "q." are those that passes make. */
#define QNNRT_IR__CONV "ints stride=1, ints padding=0, ints dilation=1, int groups=1"
#define QNNRT_IR__CONV_SAME "ints stride=1, str padding=valid, ints dilation=1, int groups=1"
#define QNNRT_IR__DECONV "ints stride=1, ints padding=0, ints output_padding=0, int groups=1, " \
    "ints dilation=1"
#define QNNRT_IR__MAX_POOL "ints kernel_size, ints? stride, ints padding=0, ints dilation=1, " \
    "bool ceil_mode=false"
#define QNNRT_IR__AVG_POOL "ints kernel_size, ints? stride, ints padding=0, " \
    "bool ceil_mode=false, bool count_include_pad=true"
#define QNNRT_IR__GRID "int interpolation_mode, int padding_mode, bool align_corners"
#define QNNRT_IR__RECURRENT "bool has_biases=true, int num_layers=1, float dropout=0, " \
    "bool train=false, bool bidirectional=false, bool batch_first=false"
/* Rows that are alike: operators of n inputs without arguments; of a tensor and a tensor or number;
   of 1 to 3 dimensions; over some dimensions or all; with a size, or with factors beside it. */
#define QNNRT_IR__TWO(X, a, b, n, args, shape, eval) \
    X(a, n, n, args, shape, eval) X(b, n, n, args, shape, eval)
#define QNNRT_IR__THREE(X, n, shape, eval, a, b, c) X(a ".default", n, n, "", shape, eval) \
    X(b ".default", n, n, "", shape, eval) X(c ".default", n, n, "", shape, eval)
#define QNNRT_IR__SIX(X, n, shape, eval, a, b, c, d, e, f) \
    QNNRT_IR__THREE(X, n, shape, eval, a, b, c) QNNRT_IR__THREE(X, n, shape, eval, d, e, f)
#define QNNRT_IR__OTHER(X, name, shape) \
    X(name ".Tensor", 1, 2, "Scalar? other", shape, element) \
    X(name ".Scalar", 1, 1, "Scalar other", shape, element)
#define QNNRT_IR__ADDING(X, name) \
    X(name ".Tensor", 1, 2, "Scalar? other, Scalar alpha=1, Scalar? self", binary, element) \
    X(name ".Scalar", 1, 1, "Scalar other, Scalar alpha=1", binary, element)
#define QNNRT_IR__DIMS(X, name, rest, least, most, args, shape, eval) \
    X(name "1" rest, least, most, args, shape, eval) \
    X(name "2" rest, least, most, args, shape, eval) \
    X(name "3" rest, least, most, args, shape, eval)
#define QNNRT_IR__SPREAD(X, name, shape) \
    X(name ".correction", 1, 1, "ints? dim, Scalar? correction=1, bool keepdim=false", shape, \
      reduce) \
    X(name ".dim", 1, 1, "ints? dim, bool unbiased=true, bool keepdim=false", shape, reduce) \
    X(name ".default", 1, 1, "bool unbiased=true", shape, reduce)
#define QNNRT_IR__TRUTH(X, name) \
    X(name ".default", 1, 1, "", any, reduce) \
    X(name ".dim", 1, 1, "int dim, bool keepdim=false", any, reduce) \
    X(name ".dims", 1, 1, "ints? dim, bool keepdim=false", any, reduce)
#define QNNRT_IR__RESIZE(X, name, corners) \
    X(name ".vec", 1, 1, corners "ints? output_size, floats? scale_factors", upsample, bands) \
    X(name ".default", 1, 1, corners "ints output_size, float? scales, float? scales_d, " \
      "float? scales_h, float? scales_w", upsample, bands)
#define QNNRT_IR__OPS(X) \
    /* one input, element by element */ \
    QNNRT_IR__SIX(X, 1, same, element, "relu", "relu6", "neg", "abs", "sign", "sgn") \
    QNNRT_IR__THREE(X, 1, same, element, "floor", "ceil", "round") \
    X("trunc.default", 1, 1, "", same, element) \
    X("bitwise_not.default", 1, 1, "", same, element) \
    QNNRT_IR__THREE(X, 1, float, element, "silu", "mish", "frac") \
    QNNRT_IR__THREE(X, 1, float, element, "hardsigmoid", "hardswish", "log_sigmoid") \
    QNNRT_IR__SIX(X, 1, real, element, "sigmoid", "tanh", "rsqrt", "sqrt", "reciprocal", "exp") \
    QNNRT_IR__SIX(X, 1, real, element, "log", "log2", "log10", "log1p", "exp2", "expm1") \
    QNNRT_IR__SIX(X, 1, real, element, "cos", "sin", "tan", "acos", "asin", "atan") \
    QNNRT_IR__SIX(X, 1, real, element, "cosh", "sinh", "acosh", "asinh", "atanh", "sinc") \
    QNNRT_IR__SIX(X, 1, real, element, "erf", "erfc", "erfinv", "lgamma", "deg2rad", "rad2deg") \
    QNNRT_IR__THREE(X, 1, test, element, "logical_not", "isnan", "isinf") \
    QNNRT_IR__THREE(X, 1, test, element, "isfinite", "isposinf", "isneginf") \
    X("gelu.default", 1, 1, "str approximate=none", float, element) \
    X("hardtanh.default", 1, 1, "Scalar min_val=-1, Scalar max_val=1", same, element) \
    X("leaky_relu.default", 1, 1, "Scalar negative_slope=0.01", float, element) \
    X("elu.default", 1, 1, "Scalar alpha=1, Scalar scale=1, Scalar input_scale=1", float, element) \
    X("softplus.default", 1, 1, "Scalar beta=1, Scalar threshold=20", float, element) \
    X("selu.default", 1, 1, "", float, element) \
    X("glu.default", 1, 1, "int dim=-1", glu, glu) \
    X("celu.default", 1, 1, "Scalar alpha=1", float, element) \
    X("hardshrink.default", 1, 1, "Scalar lambd=0.5", float, element) \
    X("softshrink.default", 1, 1, "Scalar lambd=0.5", float, element) \
    X("threshold.default", 1, 1, "Scalar threshold, Scalar value", same, element) \
    X("prelu.default", 2, 2, "", prelu, element) \
    X("_prelu_kernel.default", 2, 2, "", binary, element) \
    X("round.decimals", 1, 1, "int decimals=0", same, element) \
    X("square.default", 1, 1, "", square, element) \
    X("logit.default", 1, 1, "float? eps", real, element) \
    X("nan_to_num.default", 1, 1, "float? nan=0, float? posinf, float? neginf", same, element) \
    X("clamp.default", 1, 1, "Scalar? min, Scalar? max", clamp, element) \
    X("clamp.Tensor", 1, 3, "", binary, element) \
    QNNRT_IR__TWO(X, "clamp_min.Tensor", "clamp_max.Tensor", 2, "", binary, element) \
    X("clamp_min.default", 1, 1, "Scalar min", clamp, element) \
    X("clamp_max.default", 1, 1, "Scalar max", clamp, element) \
    QNNRT_IR__TWO(X, "tril.default", "triu.default", 1, "int diagonal=0", triangle, triangle) \
    X("dropout.default", 1, 1, "float p, bool train", same, copy) \
    X("feature_dropout.default", 1, 1, "float p, bool train", same, copy) \
    /* two inputs, or one and a number */ \
    QNNRT_IR__ADDING(X, "add") QNNRT_IR__ADDING(X, "sub") QNNRT_IR__ADDING(X, "rsub") \
    X("mul.Tensor", 1, 2, "Scalar? other, Scalar? self", binary, element) \
    X("mul.Scalar", 1, 1, "Scalar other", binary, element) \
    X("div.Tensor", 1, 2, "Scalar? other, Scalar? self", divide, element) \
    X("div.Scalar", 1, 1, "Scalar other", divide, element) \
    X("div.Tensor_mode", 1, 2, "Scalar? other, str? rounding_mode", divide, element) \
    X("div.Scalar_mode", 1, 1, "Scalar other, str? rounding_mode", divide, element) \
    X("floor_divide.default", 1, 2, "Scalar? other", binary, element) \
    X("floor_divide.Scalar", 1, 1, "Scalar other", binary, element) \
    QNNRT_IR__OTHER(X, "remainder", binary) QNNRT_IR__OTHER(X, "fmod", binary) \
    X("remainder.Scalar_Tensor", 1, 1, "Scalar self", binary, element) \
    X("pow.Tensor_Scalar", 1, 1, "Scalar exponent", binary, element) \
    X("pow.Tensor_Tensor", 1, 2, "Scalar? exponent", binary, element) \
    X("pow.Scalar", 1, 1, "Scalar self", binary, element) \
    QNNRT_IR__SIX(X, 2, binary, element, "maximum", "minimum", "fmax", "fmin", "hypot", \
                  "heaviside") \
    X("logaddexp.default", 2, 2, "", binary, element) \
    QNNRT_IR__TWO(X, "max.other", "min.other", 2, "", binary, element) \
    X("atan2.default", 2, 2, "", divide, element) \
    QNNRT_IR__OTHER(X, "copysign", divide) \
    X("xlogy.Tensor", 1, 2, "Scalar? other", divide, element) \
    X("xlogy.Scalar_Other", 1, 1, "Scalar other", divide, element) \
    X("xlogy.Scalar_Self", 1, 1, "Scalar self", divide, element) \
    X("lerp.Scalar", 2, 2, "Scalar weight", binary, element) \
    X("lerp.Tensor", 3, 3, "", binary, element) \
    X("addcmul.default", 3, 3, "Scalar value=1", binary, element) \
    X("addcdiv.default", 3, 3, "Scalar value=1", divide, element) \
    QNNRT_IR__OTHER(X, "eq", compare) QNNRT_IR__OTHER(X, "ne", compare) \
    QNNRT_IR__OTHER(X, "lt", compare) QNNRT_IR__OTHER(X, "le", compare) \
    QNNRT_IR__OTHER(X, "gt", compare) QNNRT_IR__OTHER(X, "ge", compare) \
    QNNRT_IR__THREE(X, 2, compare, element, "logical_and", "logical_or", "logical_xor") \
    QNNRT_IR__OTHER(X, "__and__", bits) QNNRT_IR__OTHER(X, "bitwise_and", bits) \
    QNNRT_IR__OTHER(X, "__or__", bits) QNNRT_IR__OTHER(X, "bitwise_or", bits) \
    QNNRT_IR__OTHER(X, "__xor__", bits) QNNRT_IR__OTHER(X, "bitwise_xor", bits) \
    QNNRT_IR__OTHER(X, "__lshift__", bits) QNNRT_IR__OTHER(X, "__rshift__", bits) \
    X("bitwise_left_shift.Tensor", 1, 2, "Scalar? other", bits, element) \
    X("bitwise_left_shift.Tensor_Scalar", 1, 1, "Scalar other", bits, element) \
    X("bitwise_right_shift.Tensor", 1, 2, "Scalar? other", bits, element) \
    X("bitwise_right_shift.Tensor_Scalar", 1, 1, "Scalar other", bits, element) \
    X("where.self", 3, 3, "", where, element) \
    X("where.ScalarOther", 2, 2, "Scalar other", where, element) \
    X("where.ScalarSelf", 2, 2, "Scalar self", where, element) \
    X("where.Scalar", 1, 1, "Scalar self, Scalar other", where, element) \
    X("masked_fill.Scalar", 2, 2, "Scalar value", mask, element) \
    X("masked_fill.Tensor", 2, 3, "Scalar? value", mask, element) \
    /* over dimensions */ \
    X("mean.default", 1, 1, "dtype? dtype", mean, reduce) \
    X("mean.dim", 1, 1, "ints? dim, bool keepdim=false, dtype? dtype", mean, reduce) \
    X("sum.default", 1, 1, "dtype? dtype", sum, reduce) \
    X("sum.dim_IntList", 1, 1, "ints? dim, bool keepdim=false, dtype? dtype", sum, reduce) \
    X("prod.default", 1, 1, "dtype? dtype", sum, reduce) \
    X("prod.dim_int", 1, 1, "int dim, bool keepdim=false, dtype? dtype", sum, reduce) \
    X("amax.default", 1, 1, "ints? dim, bool keepdim=false", reduce, reduce) \
    X("amin.default", 1, 1, "ints? dim, bool keepdim=false", reduce, reduce) \
    QNNRT_IR__TWO(X, "max.default", "min.default", 1, "", reduce, reduce) \
    QNNRT_IR__TWO(X, "max.dim", "min.dim", 1, "int dim, bool keepdim=false", extreme, reduce) \
    QNNRT_IR__TRUTH(X, "any") QNNRT_IR__TRUTH(X, "all") \
    X("argmax.default", 1, 1, "int? dim, bool keepdim=false", best, reduce) \
    X("argmin.default", 1, 1, "int? dim, bool keepdim=false", best, reduce) \
    X("topk.default", 1, 1, "int k, int dim=-1, bool largest=true, bool sorted=true", topk, \
      order) \
    X("sort.default", 1, 1, "int dim=-1, bool descending=false", ranked, order) \
    X("sort.stable", 1, 1, "bool? stable, int dim=-1, bool descending=false", ranked, order) \
    X("argsort.default", 1, 1, "int dim=-1, bool descending=false", ranked, order) \
    X("argsort.stable", 1, 1, "bool stable, int dim=-1, bool descending=false", ranked, order) \
    X("msort.default", 1, 1, "int dim=0", ranked, order) \
    X("kthvalue.default", 1, 1, "int k, int dim=-1, bool keepdim=false", kth, order) \
    QNNRT_IR__TWO(X, "median.default", "nanmedian.default", 1, "", reduce, order) \
    QNNRT_IR__TWO(X, "median.dim", "nanmedian.dim", 1, "int dim, bool keepdim=false", kth, order) \
    X("mode.default", 1, 1, "int dim=-1, bool keepdim=false", kth, order) \
    QNNRT_IR__TWO(X, "cummax.default", "cummin.default", 1, "int dim", ranked, scan) \
    X("logcumsumexp.default", 1, 1, "int dim", softmax, scan) \
    X("searchsorted.Tensor", 2, 3, "bool out_int32=false, bool right=false, str? side", search, \
      search) \
    X("bucketize.Tensor", 2, 2, "bool out_int32=false, bool right=false", search, search) \
    X("histc.default", 1, 1, "int bins=100, Scalar min=0, Scalar max=0", counts, counts) \
    X("bincount.default", 1, 2, "int minlength=0", counts, counts) \
    QNNRT_IR__SPREAD(X, "var", norm) QNNRT_IR__SPREAD(X, "var_mean", moments) \
    QNNRT_IR__SPREAD(X, "std", norm) QNNRT_IR__SPREAD(X, "std_mean", moments) \
    X("logsumexp.default", 1, 1, "ints? dim, bool keepdim=false", logsumexp, reduce) \
    X("linalg_vector_norm.default", 1, 1, \
      "Scalar ord=2, ints? dim, bool keepdim=false, dtype? dtype", norm, reduce) \
    X("cumsum.default", 1, 1, "int dim, dtype? dtype", cumulate, scan) \
    X("cumprod.default", 1, 1, "int dim, dtype? dtype", cumulate, scan) \
    X("softmax.int", 1, 1, "int dim, dtype? dtype", softmax, softmax) \
    X("_softmax.default", 1, 1, "int dim, bool half_to_float=false", softmax, softmax) \
    X("log_softmax.int", 1, 1, "int dim, dtype? dtype", softmax, softmax) \
    X("_safe_softmax.default", 1, 1, "int dim, dtype? dtype", softmax, softmax) \
    /* copies and casts */ \
    QNNRT_IR__THREE(X, 1, same, copy, "alias", "detach", "clone") \
    QNNRT_IR__THREE(X, 1, same, copy, "contiguous", "lift_fresh_copy", "lift_fresh") \
    QNNRT_IR__TWO(X, "to.dtype", "to.device", 1, "dtype dtype", to, copy) \
    QNNRT_IR__TWO(X, "to.dtype_layout", "_to_copy.default", 1, "dtype? dtype", to, copy) \
    QNNRT_IR__TWO(X, "to.other", "type_as.default", 2, "", type_as, copy) \
    X("copy.default", 2, 2, "", copied, expand) \
    /* views and moves */ \
    X("view.default", 1, 1, "ints size", view, copy) \
    X("reshape.default", 1, 1, "ints shape", view, copy) \
    QNNRT_IR__TWO(X, "view_as.default", "reshape_as.default", 2, "", view_as, copy) \
    X("expand.default", 1, 1, "ints size, bool implicit=false", expand, expand) \
    X("expand_as.default", 2, 2, "", expand_as, expand) \
    X("flatten.using_ints", 1, 1, "int start_dim=0, int end_dim=-1", flatten, copy) \
    X("unflatten.int", 1, 1, "int dim, ints sizes", unflatten, copy) \
    X("unsqueeze.default", 1, 1, "int dim", unsqueeze, copy) \
    X("squeeze.default", 1, 1, "", squeeze, copy) \
    X("squeeze.dim", 1, 1, "int dim", squeeze, copy) \
    X("squeeze.dims", 1, 1, "ints dim", squeeze, copy) \
    X("permute.default", 1, 1, "ints dims", permute, strided) \
    X("transpose.int", 1, 1, "int dim0, int dim1", transpose, strided) \
    X("swapaxes.default", 1, 1, "int axis0, int axis1", transpose, strided) \
    QNNRT_IR__THREE(X, 1, t, strided, "t", "mT", "numpy_T") \
    X("movedim.int", 1, 1, "int source, int destination", movedim, strided) \
    X("movedim.intlist", 1, 1, "ints source, ints destination", movedim, strided) \
    X("slice.Tensor", 1, 1, "int dim=0, int? start, int? end, int step=1", slice, strided) \
    X("narrow.default", 1, 1, "int dim, int start, int length", narrow, strided) \
    X("select.int", 1, 1, "int dim, int index", select, strided) \
    X("diagonal.default", 1, 1, "int offset=0, int dim1=0, int dim2=1", diagonal, strided) \
    X("unfold.default", 1, 1, "int dimension, int size, int step", unfold, strided) \
    X("as_strided.default", 1, 1, "ints size, ints stride, int? storage_offset", strided, \
      strided) \
    X("rot90.default", 1, 1, "int k=1, ints dims", flip, strided) \
    X("cat.default", 1, 255, "int dim=0", cat, join) \
    X("stack.default", 1, 255, "int dim=0", stack, join) \
    X("split.Tensor", 1, 1, "int split_size, int dim=0", split, split) \
    X("split.sizes", 1, 1, "ints split_size, int dim=0", split_sizes, split) \
    X("split_with_sizes.default", 1, 1, "ints split_sizes, int dim=0", split_sizes, split) \
    X("chunk.default", 1, 1, "int chunks, int dim=0", chunk, split) \
    X("tensor_split.sections", 1, 1, "int sections, int dim=0", tensor_split, split) \
    X("tensor_split.indices", 1, 1, "ints indices, int dim=0", tensor_split, split) \
    X("unbind.int", 1, 1, "int dim=0", unbind, split) \
    X("repeat.default", 1, 1, "ints repeats", repeat, places) \
    X("repeat_interleave.self_int", 1, 1, "int repeats, int? dim, int? output_size", interleave, \
      interleave) \
    X("pad.default", 1, 1, "ints pad, str mode=constant, float? value", pad, places) \
    X("constant_pad_nd.default", 1, 1, "ints pad, Scalar value=0", pad, places) \
    X("diff.default", 1, 3, "int n=1, int dim=-1", diff, diff) \
    X("roll.default", 1, 1, "ints shifts, ints? dims", roll, places) \
    X("flip.default", 1, 1, "ints dims", flip, strided) \
    X("index.Tensor", 2, 255, "", index, index) \
    X("index_select.default", 2, 2, "int dim", index_select, select) \
    X("gather.default", 2, 2, "int dim, bool sparse_grad=false", gather, gather) \
    X("take_along_dim.default", 2, 2, "int? dim", along, gather) \
    X("take.default", 2, 2, "", put, gather) \
    X("put.default", 3, 3, "bool accumulate=false", put, scatter) \
    X("scatter.src", 3, 3, "int dim", scatter, scatter) \
    X("scatter.value", 2, 2, "int dim, Scalar value", scatter, scatter) \
    X("scatter.reduce", 3, 3, "int dim, str reduce", scatter, scatter) \
    X("scatter.value_reduce", 2, 2, "int dim, Scalar value, str reduce", scatter, scatter) \
    X("scatter_add.default", 3, 3, "int dim", scatter, scatter) \
    X("scatter_reduce.two", 3, 3, "int dim, str reduce, bool include_self=true", scatter, \
      scatter) \
    X("masked_scatter.default", 3, 3, "", masked_scatter, masked_scatter) \
    X("index_put.default", 3, 255, "bool accumulate=false", index_put, index) \
    X("slice_scatter.default", 2, 2, "int dim=0, int? start, int? end, int step=1", \
      view_scatter, strided) \
    X("select_scatter.default", 2, 2, "int dim, int index", view_scatter, strided) \
    X("diagonal_scatter.default", 2, 2, "int offset=0, int dim1=0, int dim2=1", view_scatter, \
      strided) \
    X("as_strided_scatter.default", 2, 2, "ints size, ints stride, int? storage_offset", \
      view_scatter, strided) \
    X("index_copy.default", 3, 3, "int dim", rows, scatter) \
    X("index_add.default", 3, 3, "int dim, Scalar alpha=1", rows, scatter) \
    X("index_reduce.default", 3, 3, "int dim, str reduce, bool include_self=true", rows, \
      scatter) \
    X("index_fill.int_Scalar", 2, 2, "int dim, Scalar value", rows, scatter) \
    X("index_fill.int_Tensor", 3, 3, "int dim", rows, scatter) \
    X("one_hot.default", 1, 1, "int num_classes=-1", one_hot, one_hot) \
    X("embedding.default", 2, 2, \
      "int padding_idx=-1, bool scale_grad_by_freq=false, bool sparse=false", embedding, select) \
    /* layers */ \
    X("linear.default", 2, 3, "", linear, linear) \
    X("matmul.default", 2, 2, "bool transpose_b=false", matmul, matmul) \
    QNNRT_IR__THREE(X, 2, matmul, matmul, "mm", "bmm", "mv") \
    X("einsum.default", 1, 255, "str equation, ints? path", einsum, nothing) \
    X("_grouped_mm.default", 3, 3, "dtype? out_dtype", grouped, grouped) \
    X("transformers.grouped_mm_fallback.default", 3, 3, "", grouped, grouped) \
    X("addmm.default", 3, 3, "Scalar beta=1, Scalar alpha=1", addmm, addmm) \
    X("baddbmm.default", 3, 3, "Scalar beta=1, Scalar alpha=1", addmm, addmm) \
    QNNRT_IR__DIMS(X, "conv", "d.default", 2, 3, QNNRT_IR__CONV, conv, conv) \
    QNNRT_IR__DIMS(X, "conv", "d.padding", 2, 3, QNNRT_IR__CONV_SAME, conv, conv) \
    X("conv_transpose1d.default", 2, 3, QNNRT_IR__DECONV, deconv, deconv) \
    X("conv_transpose2d.input", 2, 3, QNNRT_IR__DECONV, deconv, deconv) \
    X("conv_transpose3d.input", 2, 3, QNNRT_IR__DECONV, deconv, deconv) \
    X("convolution.default", 2, 3, "ints stride, ints padding, ints dilation, bool transposed, " \
      "ints output_padding, int groups", convolution, convolution) \
    X("torchvision.deform_conv2d.default", 5, 5, "int stride_h, int stride_w, int pad_h, " \
      "int pad_w, int dilation_h, int dilation_w, int groups, int offset_groups, bool use_mask", \
      deform, deform) \
    QNNRT_IR__DIMS(X, "max_pool", "d.default", 1, 1, QNNRT_IR__MAX_POOL, pool, most) \
    QNNRT_IR__DIMS(X, "max_pool", "d_with_indices.default", 1, 1, QNNRT_IR__MAX_POOL, pool, most) \
    X("avg_pool1d.default", 1, 1, QNNRT_IR__AVG_POOL, pool, bands) \
    X("avg_pool2d.default", 1, 1, QNNRT_IR__AVG_POOL ", int? divisor_override", pool, bands) \
    X("avg_pool3d.default", 1, 1, QNNRT_IR__AVG_POOL ", int? divisor_override", pool, bands) \
    QNNRT_IR__DIMS(X, "adaptive_avg_pool", "d.default", 1, 1, "ints output_size", adaptive, bands) \
    QNNRT_IR__DIMS(X, "adaptive_max_pool", "d.default", 1, 1, "ints output_size", adaptive, most) \
    QNNRT_IR__RESIZE(X, "upsample_nearest1d", "") \
    QNNRT_IR__RESIZE(X, "upsample_nearest2d", "") \
    QNNRT_IR__RESIZE(X, "upsample_nearest3d", "") \
    QNNRT_IR__RESIZE(X, "_upsample_nearest_exact1d", "") \
    QNNRT_IR__RESIZE(X, "_upsample_nearest_exact2d", "") \
    QNNRT_IR__RESIZE(X, "_upsample_nearest_exact3d", "") \
    QNNRT_IR__RESIZE(X, "upsample_linear1d", "bool align_corners, ") \
    QNNRT_IR__RESIZE(X, "upsample_bilinear2d", "bool align_corners, ") \
    QNNRT_IR__RESIZE(X, "upsample_trilinear3d", "bool align_corners, ") \
    QNNRT_IR__RESIZE(X, "upsample_bicubic2d", "bool align_corners, ") \
    QNNRT_IR__RESIZE(X, "_upsample_bilinear2d_aa", "bool align_corners, ") \
    QNNRT_IR__RESIZE(X, "_upsample_bicubic2d_aa", "bool align_corners, ") \
    X("grid_sampler.default", 2, 2, QNNRT_IR__GRID, grid, grid) \
    X("grid_sampler_2d.default", 2, 2, QNNRT_IR__GRID, grid, grid) \
    X("grid_sampler_3d.default", 2, 2, QNNRT_IR__GRID, grid, grid) \
    X("torchvision.roi_align.default", 2, 2, "float spatial_scale, int pooled_height, " \
      "int pooled_width, int sampling_ratio, bool aligned", regions, regions) \
    X("torchvision.roi_pool.default", 2, 2, "float spatial_scale, int pooled_height, " \
      "int pooled_width", regions, regions) \
    X("im2col.default", 1, 1, "ints kernel_size, ints dilation, ints padding, ints stride", fold, \
      fold) \
    X("col2im.default", 1, 1, "ints output_size, ints kernel_size, ints dilation, " \
      "ints padding, ints stride", fold, fold) \
    X("pixel_shuffle.default", 1, 1, "int upscale_factor", pixels, blocks) \
    X("pixel_unshuffle.default", 1, 1, "int downscale_factor", pixels, blocks) \
    X("channel_shuffle.default", 1, 1, "int groups", channels, blocks) \
    X("native_channel_shuffle.default", 1, 1, "int groups", channels, blocks) \
    X("batch_norm.default", 1, 5, "bool training, float momentum, float eps", batch_norm, \
      batch_norm) \
    X("native_batch_norm.default", 1, 5, "bool training, float momentum, float eps", \
      native_batch_norm, batch_norm) \
    X("_native_batch_norm_legit_no_training.default", 1, 5, "float momentum, float eps", \
      native_batch_norm, batch_norm) \
    X("instance_norm.default", 1, 5, "bool use_input_stats, float momentum, float eps", \
      batch_norm, norm) \
    X("layer_norm.default", 1, 3, "ints normalized_shape, float eps=1e-5", layer_norm, norm) \
    X("native_layer_norm.default", 1, 3, "ints normalized_shape, float eps", native_norm, norm) \
    X("rms_norm.default", 1, 2, "ints normalized_shape, float? eps", layer_norm, norm) \
    X("group_norm.default", 1, 3, "int num_groups, float eps=1e-5", group_norm, norm) \
    X("native_group_norm.default", 1, 3, "int N, int C, int HxW, int group, float eps", \
      native_norm, norm) \
    X("_weight_norm.default", 2, 2, "int dim=0", weight_norm, weight_norm) \
    X("scaled_dot_product_attention.default", 3, 4, "float dropout_p=0, bool is_causal=false, " \
      "float? scale, bool enable_gqa=false, bool nan_rows=false", attention, attention) \
    /* sequences; transforms are of the exporter */ \
    X("lstm.input", 5, 255, QNNRT_IR__RECURRENT, recurrent, recurrent) \
    X("gru.input", 4, 255, QNNRT_IR__RECURRENT, recurrent, recurrent) \
    X("rnn_tanh.input", 4, 255, QNNRT_IR__RECURRENT, recurrent, recurrent) \
    X("rnn_relu.input", 4, 255, QNNRT_IR__RECURRENT, recurrent, recurrent) \
    X("qnnrt.fft.default", 1, 1, "ints dim, ints length, bool inverse=false, " \
      "bool onesided=false, float scale=1", fft, fft) \
    /* new values */ \
    X("full.default", 0, 0, "ints size, Scalar fill_value, dtype? dtype", full, fill) \
    QNNRT_IR__TWO(X, "ones.default", "zeros.default", 0, "ints size, dtype? dtype", full, fill) \
    X("empty.memory_format", 0, 0, "ints size, dtype? dtype", full, fill) \
    X("full_like.default", 1, 1, "Scalar fill_value, dtype? dtype", to, fill) \
    QNNRT_IR__TWO(X, "ones_like.default", "zeros_like.default", 1, "dtype? dtype", to, fill) \
    X("empty_like.default", 1, 1, "dtype? dtype", to, fill) \
    X("new_full.default", 1, 1, "ints size, Scalar fill_value, dtype? dtype", new, fill) \
    X("new_ones.default", 1, 1, "ints size, dtype? dtype", new, fill) \
    X("new_zeros.default", 1, 1, "ints size, dtype? dtype", new, fill) \
    X("fill.Scalar", 1, 1, "Scalar value", same, fill) \
    X("fill.Tensor", 2, 2, "", copied, expand) \
    X("zero.default", 1, 1, "", same, fill) \
    X("scalar_tensor.default", 0, 0, "Scalar s, dtype? dtype", scalar, fill) \
    X("arange.default", 0, 0, "Scalar end, dtype? dtype", arange, arange) \
    X("arange.start", 0, 0, "Scalar start, Scalar end, dtype? dtype", arange, arange) \
    X("arange.start_step", 0, 0, "Scalar start, Scalar end, Scalar step=1, dtype? dtype", \
      arange, arange) \
    X("linspace.default", 0, 0, "Scalar start, Scalar end, int steps, dtype? dtype", steps, \
      arange) \
    X("logspace.default", 0, 0, "Scalar start, Scalar end, int steps, float base=10, " \
      "dtype? dtype", steps, arange) \
    X("eye.default", 0, 0, "int n, dtype? dtype", eye, eye) \
    X("eye.m", 0, 0, "int n, int m, dtype? dtype", eye, eye) \
    /* not of ATen */ \
    X("_assert_tensor_metadata.default", 1, 1, "ints? size, ints? stride, dtype? dtype", none, \
      nothing) \
    X("getitem", 1, 255, "int index", getitem, copy) \
    X("rope", 2, 2, "", rope, rope) \
    X("q.rms_norm", 1, 3, "float eps=1e-6", last_norm, norm) \
    X("q.layer_norm", 1, 3, "float eps=1e-5", last_norm, norm) \
    X("q.silu", 1, 1, "", float, element) \
    X("q.gelu", 1, 1, "str approximate=none", float, element)

static const qnnrt_ir_op qnnrt_ir__ops[] = {
#define QNNRT_IR_X(name, least, most, args, shape, eval) { name, least, most, args },
    QNNRT_IR__OPS(QNNRT_IR_X)
#undef QNNRT_IR_X
};
static int (*const qnnrt_ir__ops_shape[])(qnnrt_ir__shape *s) = {
#define QNNRT_IR_X(name, least, most, args, shape, eval) qnnrt_ir__shape_##shape,
    QNNRT_IR__OPS(QNNRT_IR_X)
#undef QNNRT_IR_X
};
enum { QNNRT_IR__OP_COUNT = sizeof(qnnrt_ir__ops) / sizeof(qnnrt_ir__ops[0]) };

/* Rules whose inputs may be without elements though the result has some. Sums and products of
   nothing are 0, joined and written is nothing, and of some operands the shape alone counts. */
static int (*const qnnrt_ir__ops_empty[])(qnnrt_ir__shape *s) = {
    qnnrt_ir__shape_mean, qnnrt_ir__shape_sum, qnnrt_ir__shape_any, qnnrt_ir__shape_norm,
    qnnrt_ir__shape_moments, qnnrt_ir__shape_logsumexp,
    qnnrt_ir__shape_linear, qnnrt_ir__shape_matmul, qnnrt_ir__shape_addmm, qnnrt_ir__shape_pad,
    qnnrt_ir__shape_cat, qnnrt_ir__shape_diff, qnnrt_ir__shape_getitem,
    qnnrt_ir__shape_rows, qnnrt_ir__shape_scatter, qnnrt_ir__shape_masked_scatter,
    qnnrt_ir__shape_index_put, qnnrt_ir__shape_view_scatter, qnnrt_ir__shape_type_as,
    qnnrt_ir__shape_put, qnnrt_ir__shape_counts, qnnrt_ir__shape_search,
    qnnrt_ir__shape_new, qnnrt_ir__shape_einsum,
};

/* Other spellings of operators, and whether these overwrite their first input. */
static const struct qnnrt_ir__spelling {
    const char *name, *op;
    int         overwrites;
} qnnrt_ir__ops_spellings[] = {
    { "_adaptive_avg_pool2d.default", "adaptive_avg_pool2d.default", 0 },
    { "_adaptive_avg_pool3d.default", "adaptive_avg_pool3d.default", 0 },
    { "detach_.default", "detach.default", 0 },
    { "_unsafe_view.default", "view.default", 0 },
    { "concat.default", "cat.default", 0 },
    { "pow_.Scalar", "pow.Tensor_Scalar", 1 },
    { "pow_.Tensor", "pow.Tensor_Tensor", 1 },
    { "concatenate.default", "cat.default", 0 },
    { "swapdims.default", "transpose.int", 0 },
    { "moveaxis.int", "movedim.int", 0 },
    { "moveaxis.intlist", "movedim.intlist", 0 },
    { "broadcast_to.default", "expand.default", 0 },
    { "_unsafe_index.Tensor", "index.Tensor", 0 },
    { "_unsafe_index_put.default", "index_put.default", 0 },
};

/* Find an operator by one of its names: that in the table of operators, another spelling, or one
   with "_" before its overload, which overwrites its first input. */
static const qnnrt_ir_op *qnnrt_ir__ops_find(const char *name)
{
    const char *const dot = strchr(name, '.');
    char plain[80];
    size_t i;
    for (i = 0; i < sizeof(qnnrt_ir__ops_spellings) / sizeof(qnnrt_ir__ops_spellings[0]); ++i)
        if (strcmp(qnnrt_ir__ops_spellings[i].name, name) == 0)
            name = qnnrt_ir__ops_spellings[i].op;
    for (i = 0; i < QNNRT_IR__OP_COUNT; ++i)
        if (qnnrt_ir__ops[i].name[0] == name[0] && strcmp(qnnrt_ir__ops[i].name, name) == 0)
            return &qnnrt_ir__ops[i];
    if (dot == NULL || dot - name < 2 || dot[-1] != '_' || strlen(name) >= sizeof plain)
        return NULL;
    snprintf(plain, sizeof plain, "%.*s%s", (int)(dot - name - 1), name, dot);
    return qnnrt_ir__ops_find(plain);
}

QNNRT_IR_API const qnnrt_ir_op *qnnrt_ir_op_find(const char *name)
{
    return name != NULL ? qnnrt_ir__ops_find(name) : NULL;
}

static int qnnrt_ir__ops_overwrites(const qnnrt_ir_node *node)
{
    return node->info != NULL && strcmp(node->op, node->info->name) != 0;
}

QNNRT_IR_API const qnnrt_ir_op *qnnrt_ir_op_get(size_t index)
{
    return index < QNNRT_IR__OP_COUNT ? &qnnrt_ir__ops[index] : NULL;
}

/* =====================================================================================
   INFERENCE                                                                      >>infer
   Checks a node against the row of its operator, and infers its outputs.
   Needs: >>config >>dtype >>attr >>shape >>shape_net >>ops     Knows nothing of: files
   ===================================================================================== */

/* Return true for arguments that every operator may have, and that change no result. */
static int qnnrt_ir__ops_ignored(const char *name)
{
    static const char *const names[] = {
        "device", "layout", "pin_memory", "non_blocking", "copy", "memory_format", "cudnn_enabled",
        "cudnn_enable", "requires_grad", "inplace",
    };
    size_t i;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
        if (strcmp(names[i], name) == 0) return 1;
    return name[0] == '_';
}

static int qnnrt_ir__ops_type(const qnnrt_ir__arg *arg, const qnnrt_ir_attr *attr)
{
    const qnnrt_ir_attr_kind kind = attr->kind;
    if (arg->optional && qnnrt_ir__attr_absent(attr)) return 1;
    switch (arg->type[0]) {
    case 'i':                                                   /* int, ints */
        if (arg->type_bytes == 3) return kind == QNNRT_IR_INT;
        return kind == QNNRT_IR_INT || kind == QNNRT_IR_INTS;
    case 'f':                                                   /* float, floats */
        if (arg->type_bytes == 6) return kind == QNNRT_IR_INTS || kind == QNNRT_IR_FLOATS;
        return kind == QNNRT_IR_INT || kind == QNNRT_IR_FLOAT;
    case 'S':                                                   /* Scalar */
        return kind == QNNRT_IR_INT || kind == QNNRT_IR_FLOAT || kind == QNNRT_IR_BOOL;
    case 'b': return kind == QNNRT_IR_BOOL;
    default: return kind == QNNRT_IR_TEXT;                      /* str, dtype */
    }
}

/* Return how many of the first inputs must have elements if the result has some. */
static size_t qnnrt_ir__ops_filled(int (*shape)(qnnrt_ir__shape *s))
{
    size_t i;
    if (shape == qnnrt_ir__shape_attention) return 1;            /* the queries */
    for (i = 0; i < sizeof(qnnrt_ir__ops_empty) / sizeof(qnnrt_ir__ops_empty[0]); ++i)
        if (qnnrt_ir__ops_empty[i] == shape) return 0;
    return SIZE_MAX;
}

/* Decide about inputs without elements of a node whose result has some: no function of evaluation
   divides by their dimensions, or looks for a place in them. */
static int qnnrt_ir__ops_full(qnnrt_ir__shape *s, int (*shape)(qnnrt_ir__shape *s))
{
    const qnnrt_ir_node *node = s->node;
    const size_t filled = qnnrt_ir__ops_filled(shape);
    size_t i;
    for (i = 0; i < node->input_count && i < filled; ++i)
        if (node->inputs[i] != NULL && node->inputs[i]->count == 0)
            return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "input %u is empty", (unsigned)i);
    return 1;
}

/* In place: the result has the shape and dtype of the first operand. */
static int qnnrt_ir__ops_inplace(qnnrt_ir__shape *s)
{
    const qnnrt_ir_value *x = s->node->inputs[0];
    if (s->rank != x->rank || memcmp(s->dims, x->dims, s->rank * sizeof(*s->dims)) != 0)
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH,
                                    "the result is larger than the operand that it overwrites");
    if (qnnrt_ir_dtype_kind(s->dtype) > qnnrt_ir_dtype_kind(x->dtype))
        return qnnrt_ir__shape_fail(s, QNNRT_E_MISMATCH, "the result is %s and overwrites %s",
                                    qnnrt_ir_dtype_name(s->dtype), qnnrt_ir_dtype_name(x->dtype));
    s->dtype = x->dtype;
    return 1;
}

/* Check the inputs and arguments of a node, then infer the shape of output s->index. */
static int qnnrt_ir__ops_infer(const qnnrt_ir_node *node, size_t index, qnnrt_ir__shape *s)
{
    const qnnrt_ir_op *op = node->info;
    const char *at = op != NULL ? op->args : "";
    qnnrt_ir__arg arg;
    uint64_t count;
    size_t i;
    memset(s, 0, sizeof(*s));
    s->node = node;
    s->index = index;
    s->outputs = 1;
    s->dtype = QNNRT_DTYPE_UNDEFINED;
    if (op == NULL) return qnnrt_ir__shape_fail(s, QNNRT_E_UNSUPPORTED, "the operator is unknown");
    if (node->input_count < op->least || (op->most != 255 && node->input_count > op->most)) {
        qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "reads %u tensor%s, expected %s%u",
                             (unsigned)node->input_count, node->input_count == 1 ? "" : "s",
                             op->most == 255 ? "at least " : "", (unsigned)op->least);
        if (op->most != 255 && op->most != op->least)
            qnnrt_text_append(s->why, sizeof s->why, " to %u", (unsigned)op->most);
        return 0;
    }
    for (i = 0; i < op->least && i < node->input_count; ++i)
        if (node->inputs[i] == NULL && !(i > 0 && op->most == 255))
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "input %u is missing", (unsigned)i);
    for (i = 0; i < node->input_count; ++i)      /* an edit may have changed them */
        if (node->inputs[i] != NULL &&
            !qnnrt_ir__count(node->inputs[i]->rank, node->inputs[i]->dims, &count))
            return qnnrt_ir__shape_fail(s, QNNRT_E_LIMIT, "input %u has too many elements",
                                        (unsigned)i);
    while (qnnrt_ir__attr_next(&at, &arg)) {
        char name[64];
        const qnnrt_ir_attr *attr;
        snprintf(name, sizeof name, "%.*s", (int)arg.name_bytes, arg.name);
        attr = qnnrt_ir_attr_find(node, name);
        if (attr == NULL && (arg.optional || arg.value.text != NULL)) continue;
        if (attr == NULL) return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%s is missing", name);
        if (!qnnrt_ir__ops_type(&arg, attr))
            return qnnrt_ir__shape_fail(s, QNNRT_E_ARG, "%s is not of type %.*s", name,
                                        (int)arg.type_bytes, arg.type);
    }
    if (!qnnrt_ir__ops_shape[op - qnnrt_ir__ops](s)) return 0;
    if (qnnrt_ir__ops_overwrites(node) && !qnnrt_ir__ops_inplace(s)) return 0;
    if (s->outputs <= index) return 1;
    if (!qnnrt_ir__count(s->rank, s->dims, &count))
        return qnnrt_ir__shape_fail(s, QNNRT_E_LIMIT, "the result has too many elements");
    return count == 0 || qnnrt_ir__ops_full(s, qnnrt_ir__ops_shape[op - qnnrt_ir__ops]);
}

/* =====================================================================================
   GRAPH                                                                          >>graph
   Values and nodes, and how they change.
   Needs: >>config >>symbol >>ops     Knows nothing of: files, findings
   ===================================================================================== */

typedef struct qnnrt_ir__own {
    qnnrt_arena   arena;
    qnnrt_ir__symbol *names;
    size_t            value_room, node_room, removed_room, number;
    size_t            input_room, output_room;
    qnnrt_ir_finding *findings;              /* the first `kept` ones are of reading */
    size_t            kept, found, finding_room, most;
    size_t            lost, lost_kept;       /* findings over the limit; those of reading */
    const char      **custom;                /* [custom_count] operators of the caller */
    size_t            custom_count;
    double            fold_bytes, fold_operations;       /* that are left */
    int               exported;              /* 1: by qnnrt.export() */
} qnnrt_ir__own;

QNNRT_IR_API const char *qnnrt_ir_text(qnnrt_ir *ir, const char *text)
{
    return qnnrt_arena_text(&ir->own->arena, text, strlen(text));
}

QNNRT_IR_API void qnnrt_ir_free(qnnrt_ir *ir)
{
    qnnrt_arena arena;
    if (ir == NULL) return;
    arena = ir->own->arena;                          /* which holds itself */
    qnnrt_arena_free(&arena);
}

/* Make an empty graph with the limits and the operators of a descriptor. Return NULL when out of
   memory. */
static qnnrt_ir *qnnrt_ir__graph_make(const char *name, const qnnrt_ir_desc *desc)
{
    qnnrt_arena arena;
    qnnrt_ir__own *own;
    qnnrt_ir *ir;
    int good;
    size_t i;
    memset(&arena, 0, sizeof(arena));
    arena.hooks = desc->hooks;
    arena.limit = desc->memory_bytes != 0 ? desc->memory_bytes : UINT64_C(4) << 30;
    arena.chunk = 65536;
    ir = (qnnrt_ir *)qnnrt_arena_get(&arena, 1, sizeof(*ir));
    own = (qnnrt_ir__own *)qnnrt_arena_get(&arena, 1, sizeof(*own));
    if (ir == NULL || own == NULL) { qnnrt_arena_free(&arena); return NULL; }
    own->arena = arena;
    own->most = desc->findings != 0 ? desc->findings : 1000;
    own->fold_bytes = desc->fold_bytes != 0 ? (double)desc->fold_bytes : 1073741824.0;
    own->fold_operations = desc->fold_operations != 0 ? (double)desc->fold_operations
                                                      : 8589934592.0;
    ir->own = own;
    ir->version = "";
    ir->name = qnnrt_ir_text(ir, name);
    own->custom_count = desc->custom_count;
    own->custom = (const char **)qnnrt_arena_get(&own->arena, desc->custom_count + 1,
                                                 sizeof(*own->custom));
    good = ir->name != NULL && own->custom != NULL;
    for (i = 0; good && i < desc->custom_count; ++i)
        good = (own->custom[i] = qnnrt_ir_text(ir, desc->custom[i])) != NULL;
    if (good) return ir;
    qnnrt_ir_free(ir);
    return NULL;
}

/* Make an empty graph like another one. desc: its hooks, limits and operators, NULL: those of `ir`,
   with what is left for folding. Return NULL when out of memory. */
static qnnrt_ir *qnnrt_ir__graph_like(const qnnrt_ir *ir, const char *name,
                                      const qnnrt_ir_desc *desc)
{
    const qnnrt_ir__own *own = ir->own;
    qnnrt_ir_desc like;
    qnnrt_ir *to;
    memset(&like, 0, sizeof(like));
    like.hooks = own->arena.hooks;
    like.memory_bytes = own->arena.limit;
    like.findings = (uint32_t)own->most;
    like.custom = own->custom;
    like.custom_count = own->custom_count;
    to = qnnrt_ir__graph_make(name, desc != NULL ? desc : &like);
    if (to == NULL) return NULL;
    to->own->number = own->number;
    to->own->exported = own->exported;
    if (desc == NULL) {
        to->own->fold_bytes = own->fold_bytes;
        to->own->fold_operations = own->fold_operations;
    }
    to->version = qnnrt_ir_text(to, ir->version);
    if (to->version != NULL) return to;
    qnnrt_ir_free(to);
    return NULL;
}

QNNRT_IR_API qnnrt_arena qnnrt_ir_arena(const qnnrt_ir *ir)
{
    return qnnrt_ir__arena_like(&ir->own->arena);
}

static qnnrt_ir__symbol *qnnrt_ir__graph_symbol(qnnrt_ir *ir, const char *text, size_t bytes)
{
    return qnnrt_ir__symbol_get(&ir->own->arena, &ir->own->names, text, bytes, 1);
}

/* Append a value to a list of the graph. Return 0 when out of memory. */
static int qnnrt_ir__graph_push(qnnrt_ir *ir, qnnrt_ir_value ***list, size_t *count, size_t *room,
                                qnnrt_ir_value *value)
{
    void *more = qnnrt_arena_more(&ir->own->arena, *list, *count, room, sizeof(value));
    if (more == NULL) return 0;
    *list = (qnnrt_ir_value **)more;
    (*list)[(*count)++] = value;
    return 1;
}

static int qnnrt_ir__graph_list(qnnrt_ir *ir, qnnrt_ir_value *value)
{
    value->number = ir->value_count;
    return qnnrt_ir__graph_push(ir, &ir->values, &ir->value_count, &ir->own->value_room, value);
}

QNNRT_IR_API int qnnrt_ir_set_shape(qnnrt_ir_value *value, qnnrt_dtype dtype, uint32_t rank,
                                    const int64_t *dims)
{
    value->dtype = dtype;
    value->rank = rank <= QNNRT_IR_RANK ? rank : 0;
    if (rank <= QNNRT_IR_RANK && rank > 0) memcpy(value->dims, dims, rank * sizeof(*dims));
    return qnnrt_ir__count(rank, value->dims, &value->count);
}

/* Return a symbol that no value and no node has: the name itself, or with a number. */
static qnnrt_ir__symbol *qnnrt_ir__graph_unique(qnnrt_ir *ir, const char *name)
{
    qnnrt_ir__symbol *base = qnnrt_ir__graph_symbol(ir, name, strlen(name)), *symbol = base;
    char text[1100];
    while (symbol != NULL && (symbol->value != NULL || symbol->node != NULL)) {
        snprintf(text, sizeof text, "%.1000s_%u", name, (unsigned)++base->suffix);
        symbol = qnnrt_ir__graph_symbol(ir, text, strlen(text));
    }
    return symbol;
}

QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_add_value(qnnrt_ir *ir, const char *name, qnnrt_dtype dtype,
                                                uint32_t rank, const int64_t *dims)
{
    qnnrt_ir_value *value =
        (qnnrt_ir_value *)qnnrt_arena_get(&ir->own->arena, 1, sizeof(*value));
    qnnrt_ir__symbol *symbol = value != NULL ? qnnrt_ir__graph_unique(ir, name) : NULL;
    if (symbol == NULL || !qnnrt_ir_set_shape(value, dtype, rank, dims) ||
        !qnnrt_ir__graph_list(ir, value)) return NULL;
    value->name = symbol->text;
    value->origin = QNNRT_IR_NODE;
    symbol->value = value;
    return value;
}

/* Add a user of a value, or with -1 take one away. */
static void qnnrt_ir__graph_use(qnnrt_ir_value *value, int by)
{
    if (value != NULL) value->users = (uint32_t)((int64_t)value->users + by);
}

QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_add_input(qnnrt_ir *ir, const char *name, qnnrt_dtype dtype,
                                                uint32_t rank, const int64_t *dims)
{
    qnnrt_ir_value *value = qnnrt_ir_add_value(ir, name, dtype, rank, dims);
    if (value == NULL || !qnnrt_ir__graph_push(ir, &ir->inputs, &ir->input_count,
                                               &ir->own->input_room, value)) return NULL;
    value->origin = QNNRT_IR_INPUT;
    return value;
}

QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_add_weight(qnnrt_ir *ir, const char *name, const char *key,
                                                 qnnrt_dtype dtype, uint32_t rank,
                                                 const int64_t *dims)
{
    qnnrt_ir_value *value = qnnrt_ir_add_value(ir, name, dtype, rank, dims);
    const char *copy = value != NULL ? qnnrt_ir_text(ir, key) : NULL;
    if (copy == NULL) return NULL;
    value->key = copy;
    value->origin = QNNRT_IR_WEIGHT;
    return value;
}

QNNRT_IR_API int qnnrt_ir_add_output(qnnrt_ir *ir, qnnrt_ir_value *value)
{
    if (!qnnrt_ir__graph_push(ir, &ir->outputs, &ir->output_count, &ir->own->output_room, value))
        return 0;
    ++value->is_output;
    ++value->users;
    return 1;
}

static qnnrt_ir_value **qnnrt_ir__graph_values(qnnrt_ir *ir, size_t count)
{
    return (qnnrt_ir_value **)qnnrt_arena_get(&ir->own->arena, count + 1, sizeof(qnnrt_ir_value *));
}

static qnnrt_ir_value **qnnrt_ir__graph_copy(qnnrt_ir *ir, qnnrt_ir_value *const *list,
                                             size_t count)
{
    qnnrt_ir_value **copy = qnnrt_ir__graph_values(ir, count);
    if (copy != NULL && count > 0) memcpy(copy, list, count * sizeof(*copy));
    return copy;
}

static int qnnrt_ir__graph_append(qnnrt_ir *ir, qnnrt_ir_node *node)
{
    void *list = qnnrt_arena_more(&ir->own->arena, ir->nodes, ir->node_count,
                                  &ir->own->node_room, sizeof(node));
    if (list == NULL) return 0;
    ir->nodes = (qnnrt_ir_node **)list;
    node->at = ir->node_count;
    ir->nodes[ir->node_count++] = node;
    return 1;
}

/* Return the name of the operator of a node: that of the table; but an operator that overwrites its
   first input keeps its own, which tells it apart until qnnrt_ir_pass_inplace(). Return NULL when
   out of memory. */
static const char *qnnrt_ir__graph_op_name(qnnrt_ir *ir, const qnnrt_ir_op *op,
                                           const char *name)
{
    size_t i;
    for (i = 0; i < sizeof(qnnrt_ir__ops_spellings) / sizeof(qnnrt_ir__ops_spellings[0]); ++i)
        if (!qnnrt_ir__ops_spellings[i].overwrites &&
            strcmp(qnnrt_ir__ops_spellings[i].name, name) == 0) return op->name;
    return op != NULL && strcmp(op->name, name) == 0 ? op->name : qnnrt_ir_text(ir, name);
}

QNNRT_IR_API qnnrt_ir_node *qnnrt_ir_add_node(qnnrt_ir *ir, const qnnrt_ir_node *before,
                                              const char *op, qnnrt_ir_value *const *inputs,
                                              size_t input_count, qnnrt_ir_value *const *outputs,
                                              size_t output_count)
{
    qnnrt_ir_node *node = (qnnrt_ir_node *)qnnrt_arena_get(&ir->own->arena, 1, sizeof(*node));
    size_t i;
    if (node == NULL) return NULL;
    node->info = qnnrt_ir__ops_find(op);
    node->op = qnnrt_ir__graph_op_name(ir, node->info, op);
    node->inputs = qnnrt_ir__graph_copy(ir, inputs, input_count);
    node->outputs = qnnrt_ir__graph_copy(ir, outputs, output_count);
    if (node->op == NULL || node->inputs == NULL || node->outputs == NULL ||
        !qnnrt_ir__graph_append(ir, node)) return NULL;
    node->name = output_count > 0 ? outputs[0]->name : node->op;
    node->input_count = input_count;
    node->output_count = output_count;
    node->source = node->mapping = "";
    node->number = ir->own->number++;
    for (i = 0; i < input_count; ++i) qnnrt_ir__graph_use(inputs[i], 1);
    for (i = 0; i < output_count; ++i) {
        outputs[i]->origin = QNNRT_IR_NODE;
        outputs[i]->node = node;
        outputs[i]->index = (uint32_t)i;
    }
    if (before != NULL && before->at < node->at && ir->nodes[before->at] == before) {
        const size_t at = before->at;
        memmove(ir->nodes + at + 1, ir->nodes + at, (node->at - at) * sizeof(node));
        ir->nodes[at] = node;
        for (i = at; i < ir->node_count; ++i) ir->nodes[i]->at = i;
    }
    return node;
}

static int qnnrt_ir__graph_attr(qnnrt_ir *ir, const qnnrt_ir_attr *from, qnnrt_ir_attr *to)
{
    qnnrt_arena *arena = &ir->own->arena;
    const int list = from->kind == QNNRT_IR_INTS || from->kind == QNNRT_IR_FLOATS;
    int64_t *ints = NULL;
    double *floats = NULL;
    size_t i;
    *to = *from;
    to->ints = NULL;
    to->floats = NULL;
    if (!list) to->count = 0;
    to->name = qnnrt_ir_text(ir, from->name);
    to->text = from->text != NULL ? qnnrt_ir_text(ir, from->text) : "";
    if (to->name == NULL || to->text == NULL) return 0;
    if (!list) return 1;
    floats = (double *)qnnrt_arena_get(arena, from->count + 1, sizeof(*floats));
    if (floats == NULL) return 0;
    for (i = 0; i < from->count; ++i)
        floats[i] = from->kind == QNNRT_IR_INTS ? (double)from->ints[i] : from->floats[i];
    to->floats = floats;
    if (from->kind == QNNRT_IR_FLOATS) return 1;
    ints = (int64_t *)qnnrt_arena_get(arena, from->count + 1, sizeof(*ints));
    if (ints == NULL) return 0;
    if (from->count > 0) memcpy(ints, from->ints, from->count * sizeof(*ints));
    to->ints = ints;
    return 1;
}

QNNRT_IR_API int qnnrt_ir_set(qnnrt_ir *ir, qnnrt_ir_node *node, const qnnrt_ir_attr *attr)
{
    qnnrt_ir_attr copy, *list;
    size_t i = 0;
    if (!qnnrt_ir__graph_attr(ir, attr, &copy)) return 0;
    while (i < node->attr_count && strcmp(node->attrs[i].name, attr->name) != 0) ++i;
    if (i == node->attr_count) {
        list = (qnnrt_ir_attr *)qnnrt_arena_get(&ir->own->arena, i + 1, sizeof(*list));
        if (list == NULL) return 0;
        if (i > 0) memcpy(list, node->attrs, i * sizeof(*list));
        node->attrs = list;
        ++node->attr_count;
    }
    node->attrs[i] = copy;
    return 1;
}

QNNRT_IR_API int qnnrt_ir_set_input(qnnrt_ir *ir, qnnrt_ir_node *node, size_t i,
                                    qnnrt_ir_value *value)
{
    qnnrt_ir_value **list;
    if (i > node->input_count) return 0;
    if (i == node->input_count) {
        list = qnnrt_ir__graph_values(ir, i);
        if (list == NULL) return 0;
        if (i > 0) memcpy(list, node->inputs, i * sizeof(*list));
        node->inputs = list;
        ++node->input_count;
    }
    if (!node->dead) {
        qnnrt_ir__graph_use(node->inputs[i], -1);
        qnnrt_ir__graph_use(value, 1);
    }
    node->inputs[i] = value;
    return 1;
}

QNNRT_IR_API void qnnrt_ir_replace(qnnrt_ir *ir, const qnnrt_ir_value *old, qnnrt_ir_value *now)
{
    size_t i = old->node != NULL ? old->node->at : 0, k;
    uint32_t left = old->users;
    qnnrt_ir_value *from = NULL;
    if (old == now) return;
    for (k = 0; k < ir->output_count && left > 0; ++k) {
        if (ir->outputs[k] != old) continue;
        from = ir->outputs[k];
        ir->outputs[k] = now;
        --from->is_output;
        ++now->is_output;
        ++now->users;
        --left;
    }
    for (; i < ir->node_count && left > 0; ++i) {
        qnnrt_ir_node *node = ir->nodes[i];
        for (k = 0; k < node->input_count && left > 0 && !node->dead; ++k) {
            if (node->inputs[k] != old) continue;
            from = node->inputs[k];
            node->inputs[k] = now;
            ++now->users;
            --left;
        }
    }
    if (from != NULL) from->users = left;
}

QNNRT_IR_API void qnnrt_ir_kill(qnnrt_ir *ir, qnnrt_ir_node *node, const char *mapping)
{
    const char *copy = mapping != NULL ? qnnrt_ir_text(ir, mapping) : NULL;
    size_t i;
    if (copy != NULL) node->mapping = copy;
    if (node->dead) return;
    node->dead = 1;
    for (i = 0; i < node->input_count; ++i) qnnrt_ir__graph_use(node->inputs[i], -1);
}

QNNRT_IR_API int qnnrt_ir_set_name(qnnrt_ir *ir, qnnrt_ir_value *value, const char *name)
{
    const char *text = qnnrt_ir_text(ir, name);
    qnnrt_ir__symbol *symbol;
    size_t i;
    if (text == NULL) return 0;
    for (i = 0; i < ir->value_count; ++i) {
        if (ir->values[i] == value || strcmp(ir->values[i]->name, name) != 0) continue;
        symbol = qnnrt_ir__graph_unique(ir, name);
        if (symbol == NULL) return 0;
        symbol->value = ir->values[i];
        ir->values[i]->name = symbol->text;
    }
    symbol = qnnrt_ir__graph_symbol(ir, name, strlen(name));
    if (symbol == NULL) return 0;
    symbol->value = value;
    value->name = text;
    return 1;
}

/* Count all users again. */
static void qnnrt_ir__graph_users(qnnrt_ir *ir)
{
    size_t i, k;
    for (i = 0; i < ir->value_count; ++i) ir->values[i]->users = ir->values[i]->is_output = 0;
    for (i = 0; i < ir->output_count; ++i) {
        ++ir->outputs[i]->users;
        ++ir->outputs[i]->is_output;
    }
    for (i = 0; i < ir->node_count; ++i)
        for (k = 0; k < ir->nodes[i]->input_count && !ir->nodes[i]->dead; ++k)
            qnnrt_ir__graph_use(ir->nodes[i]->inputs[k], 1);
}

/* Order the nodes: each after the producers that it reads, and otherwise as before. `mark` has a
   byte for each node: 1 waiting, 2 placed. Return a node on a cycle, or NULL. */
static qnnrt_ir_node *qnnrt_ir__graph_sort(const qnnrt_ir *ir, qnnrt_ir_node **out,
                                           qnnrt_ir_node **stack, size_t *next, unsigned char *mark,
                                           size_t *placed)
{
    size_t i, depth;
    for (i = 0; i < ir->node_count; ++i) {
        depth = 0;
        if (mark[i] == 2 || ir->nodes[i]->dead) continue;
        stack[depth] = ir->nodes[i];
        next[depth++] = 0;
        mark[i] = 1;
        while (depth > 0) {
            qnnrt_ir_node *node = stack[depth - 1], *from = NULL;
            while (next[depth - 1] < node->input_count) {
                const qnnrt_ir_value *x = node->inputs[next[depth - 1]++];
                from = x != NULL && x->origin == QNNRT_IR_NODE ? x->node : NULL;
                if (from != NULL && !from->dead && mark[from->at] != 2) break;
                from = NULL;
            }
            if (from == NULL) {
                mark[node->at] = 2;
                out[(*placed)++] = node;
                --depth;
            } else {
                if (mark[from->at] == 1) return from;
                mark[from->at] = 1;
                stack[depth] = from;
                next[depth++] = 0;
            }
        }
    }
    return NULL;
}

/* Move dead nodes to ir->removed. Return 0 when out of memory; then nothing has moved. */
static int qnnrt_ir__graph_sweep(qnnrt_ir *ir)
{
    qnnrt_ir__own *own = ir->own;
    qnnrt_ir_node **list;
    size_t i, kept = 0, dead = 0;
    for (i = 0; i < ir->node_count; ++i) dead += ir->nodes[i]->dead != 0;
    if (ir->removed_count + dead > own->removed_room) {
        const size_t room = 2 * (ir->removed_count + dead);
        list = (qnnrt_ir_node **)qnnrt_arena_get(&own->arena, room, sizeof(*list));
        if (list == NULL) return 0;
        if (ir->removed_count > 0) memcpy(list, ir->removed, ir->removed_count * sizeof(*list));
        ir->removed = list;
        own->removed_room = room;
    }
    for (i = 0; i < ir->node_count; ++i) {
        qnnrt_ir_node *node = ir->nodes[i];
        if (node->dead) ir->removed[node->at = ir->removed_count++] = node;
        else ir->nodes[node->at = kept++] = node;
    }
    ir->node_count = kept;
    return 1;
}

/* Order the nodes. *cycle receives a node on a cycle, or NULL; then the order has changed if
   `move`. Return 0 when out of memory. */
static int qnnrt_ir__graph_order(qnnrt_ir *ir, int move, qnnrt_ir_node **cycle)
{
    qnnrt_arena scratch = qnnrt_ir__arena_like(&ir->own->arena);
    qnnrt_ir_node **out, **stack;
    unsigned char *mark;
    size_t *next, i, placed = 0;
    *cycle = NULL;
    out = (qnnrt_ir_node **)qnnrt_arena_get(&scratch, ir->node_count + 1, sizeof(*out));
    stack = (qnnrt_ir_node **)qnnrt_arena_get(&scratch, ir->node_count + 1, sizeof(*stack));
    next = (size_t *)qnnrt_arena_get(&scratch, ir->node_count + 1, sizeof(*next));
    mark = (unsigned char *)qnnrt_arena_get(&scratch, ir->node_count + 1, 1);
    if (out != NULL && stack != NULL && next != NULL && mark != NULL) {
        *cycle = qnnrt_ir__graph_sort(ir, out, stack, next, mark, &placed);
        for (i = 0; i < placed && move && *cycle == NULL; ++i) ir->nodes[out[i]->at = i] = out[i];
    }
    qnnrt_arena_free(&scratch);
    return mark != NULL && next != NULL && stack != NULL && out != NULL;
}

QNNRT_IR_API int qnnrt_ir_is(const qnnrt_ir_node *node, const char *op)
{
    return strcmp(node->op, op) == 0;
}

QNNRT_IR_API int qnnrt_ir_is_in(const qnnrt_ir_node *node, const char *const *list)
{
    while (*list != NULL && !qnnrt_ir_is(node, *list)) ++list;
    return *list != NULL;
}

QNNRT_IR_API qnnrt_ir_node *qnnrt_ir_producer(const qnnrt_ir_value *value)
{
    if (value == NULL || value->origin != QNNRT_IR_NODE || value->node == NULL) return NULL;
    return value->node->dead ? NULL : value->node;
}

/* Return the operator without its "_" if a node overwrites its first input, else NULL. */
static const qnnrt_ir_op *qnnrt_ir__graph_plain(const qnnrt_ir_node *node)
{
    if (!qnnrt_ir__ops_overwrites(node) || node->input_count == 0 || node->inputs[0] == NULL ||
        node->output_count != 1) return NULL;
    return node->info;
}

QNNRT_IR_API qnnrt_result qnnrt_ir_tidy(qnnrt_ir *ir, qnnrt_error *err)
{
    qnnrt_ir_node *cycle;
    size_t i, k;
    qnnrt_error_clear(err);
    if (ir == NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "ir is NULL");
    if (!qnnrt_ir__graph_sweep(ir) || !qnnrt_ir__graph_order(ir, 1, &cycle))
        return qnnrt_ir__fail_memory(err);
    if (cycle != NULL)
        return qnnrt_error_set(err, QNNRT_E_FORMAT, "node \"%.200s\" is on a cycle", cycle->name);
    /* From the last node to the first, so that nodes which only unused ones read are unused too. */
    qnnrt_ir__graph_users(ir);
    for (i = ir->node_count; i-- > 0;) {
        qnnrt_ir_node *node = ir->nodes[i];
        int used = node->output_count == 0 || qnnrt_ir__graph_plain(node) != NULL;
        for (k = 0; k < node->output_count && !used; ++k) used = node->outputs[k]->users > 0;
        if (!used) qnnrt_ir_kill(ir, node, node->mapping[0] == '\0' ? "unused" : NULL);
    }
    return qnnrt_ir__graph_sweep(ir) ? QNNRT_OK : qnnrt_ir__fail_memory(err);
}

/* =====================================================================================
   FINDINGS                                                                        >>find
   The list of all that is wrong with a graph.
   Needs: >>config >>graph     Knows nothing of: operators, files
   ===================================================================================== */

QNNRT_IR_API size_t qnnrt_ir_source_place(const qnnrt_ir_node *node)
{
    enum { MOST = 200 };
    const char *const text = node->source;
    size_t i = 0, digits;
    for (; text[i] != '\0' && text[i] != '\n' && i < MOST; ++i) {
        for (digits = 0; text[i] == ':' && text[i + 1 + digits] >= '0' &&
                         text[i + 1 + digits] <= '9' && digits < 9; ++digits) {}
        if (digits > 0 && (text[i + 1 + digits] == ':' || text[i + 1 + digits] == '\0'))
            return i + 1 + digits;
    }
    return 0;
}

/* Add a finding. hint: a constant. Return 0 when out of memory. */
__attribute__((cold, format(printf, 5, 6)))
static int qnnrt_ir__find(qnnrt_ir *ir, const qnnrt_ir_node *node, qnnrt_result code,
                          const char *hint, const char *format, ...)
{
    qnnrt_ir__own *own = ir->own;
    qnnrt_ir_finding *list, *finding;
    char text[1024];
    size_t used, place;
    va_list args;
    if (own->found >= own->most) { ++own->lost; return 1; }
    text[0] = '\0';
    place = node != NULL ? qnnrt_ir_source_place(node) : 0;
    if (node != NULL && node->line > 1 && place == 0)        /* a file of one line says nothing */
        qnnrt_text_append(text, sizeof text, "line %lu: ", (unsigned long)node->line);
    if (node != NULL && node->name[0] != '\0')
        qnnrt_text_append(text, sizeof text, "node \"%.200s\" (%.100s)%s%.*s: ", node->name,
                          node->op, place > 0 ? " at " : "", (int)place, node->source);
    used = strlen(text);
    va_start(args, format);
    vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
    qnnrt_text_clean(text);
    list = (qnnrt_ir_finding *)qnnrt_arena_more(&own->arena, own->findings, own->found,
                                                &own->finding_room, sizeof(*list));
    if (list == NULL) return 0;
    own->findings = list;
    finding = &list[own->found];
    finding->node = node;
    finding->code = code;
    finding->line = node != NULL ? node->line : 0;
    finding->byte = node != NULL ? node->byte : 0;
    finding->text = qnnrt_ir_text(ir, text);
    finding->hint = hint;
    if (finding->text == NULL) return 0;
    ++own->found;
    return 1;
}

/* Fill an error with the first findings, one a line, and return the code of the first one. */
static qnnrt_result qnnrt_ir__find_error(const qnnrt_ir *ir, qnnrt_error *err)
{
    const qnnrt_ir__own *own = ir->own;
    const size_t count = own->found + own->lost;
    const qnnrt_result code = own->found > 0 ? own->findings[0].code : QNNRT_E_FORMAT;
    size_t i;
    if (count == 0) return QNNRT_OK;
    qnnrt_error_set(err, code, "%s", own->found > 0 ? own->findings[0].text : "");
    if (own->found > 0 && own->findings[0].hint[0] != '\0')
        qnnrt_error_hint(err, code, "%s", own->findings[0].hint);
    for (i = own->found > 0; i < own->found && err != NULL; ++i) {
        if (strlen(err->text) + strlen(own->findings[i].text) + 60 > sizeof err->text) break;
        qnnrt_error_add(err, "\n%s", own->findings[i].text);
    }
    if (i < count) qnnrt_error_add(err, "\nand %lu more findings", (unsigned long)(count - i));
    return code;
}

/* =====================================================================================
   CHECK                                                                          >>check
   Compares what a graph states with what its operators compute.
   Needs: >>symbol >>dtype >>attr >>shape >>infer >>graph >>find     Knows nothing of: files
   ===================================================================================== */

/* Write "[1, 128] float32". */
static const char *qnnrt_ir__check_text(char *out, size_t room, qnnrt_dtype dtype, uint32_t rank,
                                        const int64_t *dims)
{
    qnnrt_ir__shape_text(out, room - 20, rank, dims);
    qnnrt_text_append(out, room, " %s", qnnrt_ir_dtype_name(dtype));
    return out;
}

/* Write the shapes of the first inputs of a node. */
static const char *qnnrt_ir__check_inputs(char *out, size_t room, const qnnrt_ir_node *node)
{
    size_t i;
    char text[240];
    out[0] = '\0';
    for (i = 0; i < node->input_count && strlen(out) + 260 < room; ++i) {
        const qnnrt_ir_value *x = node->inputs[i];
        qnnrt_text_append(out, room, "%s%s", i == 0 ? "" : ", ",
                         x == NULL ? "-" : qnnrt_ir__check_text(text, sizeof text, x->dtype,
                                                                x->rank, x->dims));
    }
    if (i < node->input_count) qnnrt_text_append(out, room, ", ...");
    return out;
}

/* Return what to do about an operator that is not known in this form. */
static const char *qnnrt_ir__check_hint(const qnnrt_ir *ir)
{
    return ir->own->exported
           ? "Write this line of the model with other operators."
           : "Export the model with qnnrt.export(), which writes such operators in other ones.";
}

static int qnnrt_ir__check_outputs(qnnrt_ir *ir, const qnnrt_ir_node *node)
{
    qnnrt_ir__shape s;
    char a[240], b[240], inputs[600];
    size_t k = 0;
    do {
        const qnnrt_ir_value *y = k < node->output_count ? node->outputs[k] : NULL;
        if (!qnnrt_ir__ops_infer(node, k, &s))
            return qnnrt_ir__find(ir, node, s.code, s.code == QNNRT_E_UNSUPPORTED
                                  ? qnnrt_ir__check_hint(ir) : "", "%s; inputs %s", s.why,
                                  qnnrt_ir__check_inputs(inputs, sizeof inputs, node));
        if (s.outputs != node->output_count)
            return qnnrt_ir__find(ir, node, QNNRT_E_MISMATCH, "", "%lu outputs, expected %lu",
                                  (unsigned long)node->output_count, (unsigned long)s.outputs);
        if (y == NULL || y->unknown) continue;
        if (s.dtype == QNNRT_DTYPE_UNDEFINED) s.dtype = y->dtype;
        if (s.dtype == y->dtype && s.rank == y->rank &&
            memcmp(s.dims, y->dims, s.rank * sizeof(*s.dims)) == 0) continue;
        if (!qnnrt_ir__find(ir, node, QNNRT_E_MISMATCH, "",
                            "output \"%.200s\" is %s, expected %s; inputs %s", y->name,
                            qnnrt_ir__check_text(a, sizeof a, y->dtype, y->rank, y->dims),
                            qnnrt_ir__check_text(b, sizeof b, s.dtype, s.rank, s.dims),
                            qnnrt_ir__check_inputs(inputs, sizeof inputs, node))) return 0;
    } while (++k < node->output_count);
    return 1;
}

/* Find arguments that the operator does not have: they could change its result. */
static int qnnrt_ir__check_args(qnnrt_ir *ir, const qnnrt_ir_node *node)
{
    qnnrt_ir__arg arg;
    size_t i;
    for (i = 0; i < node->attr_count; ++i) {
        const qnnrt_ir_attr *attr = &node->attrs[i];
        if (qnnrt_ir__attr_absent(attr) || qnnrt_ir__ops_ignored(attr->name) ||
            qnnrt_ir__attr_arg(node->info, attr->name, &arg)) continue;
        if (!qnnrt_ir__find(ir, node, QNNRT_E_UNSUPPORTED, qnnrt_ir__check_hint(ir),
                            strcmp(attr->name, "self") == 0 ?
                            "its first operand is a number, not a tensor (\"%.100s\")" :
                            "this operator has no argument \"%.100s\"", attr->name)) return 0;
    }
    return 1;
}

/* Check that a node reads what is computed before it. *known receives 0 if the shape of an input is
   not known. */
static int qnnrt_ir__check_inputs_of(qnnrt_ir *ir, const qnnrt_ir_node *node, int *known)
{
    size_t i;
    *known = 1;
    for (i = 0; i < node->input_count; ++i) {
        const qnnrt_ir_value *x = node->inputs[i];
        if (x == NULL) continue;
        if (x->unknown) *known = 0;
        if (x->origin != QNNRT_IR_NODE) continue;
        if (x->node == NULL || x->node->dead) {
            if (!qnnrt_ir__find(ir, node, QNNRT_E_FORMAT, "",
                                "reads \"%.200s\", which no node computes", x->name)) return 0;
        } else if (x->node->at >= node->at) {
            if (!qnnrt_ir__find(ir, node, QNNRT_E_FORMAT, "",
                                "reads \"%.200s\", which node \"%.200s\" "
                                "computes later", x->name, x->node->name)) return 0;
        }
    }
    return 1;
}

static int qnnrt_ir__check_custom(const qnnrt_ir *ir, const char *op)
{
    size_t i = 0;
    while (i < ir->own->custom_count && strcmp(ir->own->custom[i], op) != 0) ++i;
    return i < ir->own->custom_count;
}

/* Find an unknown operator, each once: its symbol counts the nodes. */
static int qnnrt_ir__check_unknown(qnnrt_ir *ir, const qnnrt_ir_node *node)
{
    /* Blocks with statements of their own, such as those under torch.no_grad(). */
    static const char *const blocks[] = { "wrap_with_set_grad_enabled", "wrap_with_autocast" };
    qnnrt_ir__symbol *op = qnnrt_ir__graph_symbol(ir, node->op, strlen(node->op));
    unsigned long nodes;
    if (op == NULL) return 0;
    nodes = (unsigned long)op->nodes;
    op->nodes = 0;
    if (nodes == 0) return 1;
    if (strcmp(node->op, blocks[0]) == 0 || strcmp(node->op, blocks[1]) == 0)
        return qnnrt_ir__find(ir, node, QNNRT_E_UNSUPPORTED,
                              "Export the model with qnnrt.export(), which writes what such blocks "
                              "compute.", "the file does not have what this block under %s "
                              "computes; blocks of this kind: %lu",
                              strcmp(node->op, blocks[0]) == 0 ? "torch.no_grad()"
                                                               : "torch.autocast()", nodes);
    return qnnrt_ir__find(ir, node, QNNRT_E_UNSUPPORTED, qnnrt_ir__check_hint(ir), "the operator "
                          "is unknown; nodes with it: %lu", nodes);
}

static int qnnrt_ir__check_all(qnnrt_ir *ir)
{
    qnnrt_ir_node *cycle;
    size_t i;
    int known;
    if (!qnnrt_ir__graph_order(ir, 0, &cycle)) return 0;
    if (cycle != NULL && !qnnrt_ir__find(ir, cycle, QNNRT_E_FORMAT, "", "is on a cycle"))
        return 0;
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        qnnrt_ir__symbol *op;
        if (node->dead || node->info != NULL) continue;
        op = qnnrt_ir__graph_symbol(ir, node->op, strlen(node->op));
        if (op == NULL) return 0;
        ++op->nodes;
    }
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        if (node->dead) continue;
        if (!qnnrt_ir__check_inputs_of(ir, node, &known)) return 0;
        if (node->info == NULL && qnnrt_ir__check_custom(ir, node->op)) continue;
        if (node->info == NULL) {
            if (!qnnrt_ir__check_unknown(ir, node)) return 0;
        } else if (!qnnrt_ir__check_args(ir, node) ||
                   (known && !qnnrt_ir__check_outputs(ir, node))) {
            return 0;
        }
    }
    return 1;
}

/* =====================================================================================
   NUMBER                                                                        >>number
   Elements of constants.
   Needs: nothing     Knows nothing of: graphs
   ===================================================================================== */

/* Round to a float of `exponent` and `mantissa` bits, ties to even, and return its bits. */
static uint32_t qnnrt_ir__number_narrow(double f, int exponent, int mantissa)
{
    const int bias = (1 << (exponent - 1)) - 1;
    const uint32_t infinity = (((uint32_t)1 << exponent) - 1) << mantissa;
    uint64_t bits, m, rest;
    uint32_t sign, q;
    int e, shift;
    memcpy(&bits, &f, sizeof(bits));
    sign = (uint32_t)(bits >> 63) << (exponent + mantissa);
    e = (int)(bits >> 52 & 0x7FF) - 1023;
    m = bits & (((uint64_t)1 << 52) - 1);
    if (e == 1024) return sign | infinity | (m != 0 ? (uint32_t)1 << (mantissa - 1) : 0);
    if (e > bias) return sign | infinity;
    m |= (uint64_t)1 << 52;
    shift = 52 - mantissa + (e < 1 - bias ? 1 - bias - e : 0);
    if (shift > 53) return sign;
    q = (uint32_t)(m >> shift);
    rest = m & (((uint64_t)1 << shift) - 1);
    if (rest > (uint64_t)1 << (shift - 1) || (rest == (uint64_t)1 << (shift - 1) && (q & 1))) ++q;
    if (e >= 1 - bias) q += (uint32_t)(e + bias - 1) << mantissa;
    return sign | (q > infinity ? infinity : q);
}

/* Write an element: of integers i, of floats f. */
QNNRT_IR_API void qnnrt_ir_element_put(void *at, qnnrt_dtype dtype, int64_t i, double f)
{
    const float f32 = (float)f;
    const int32_t i32 = (int32_t)i;
    const int16_t i16 = (int16_t)i;
    const unsigned char u8 = (unsigned char)i;
    uint16_t half;
    switch (dtype) {
    case QNNRT_DTYPE_F64: memcpy(at, &f, 8); break;
    case QNNRT_DTYPE_F32: memcpy(at, &f32, 4); break;
    case QNNRT_DTYPE_F16:
    case QNNRT_DTYPE_BF16:
        half = (uint16_t)(dtype == QNNRT_DTYPE_F16 ? qnnrt_ir__number_narrow(f, 5, 10)
                                                   : qnnrt_ir__number_narrow(f, 8, 7));
        memcpy(at, &half, 2);
        break;
    case QNNRT_DTYPE_I64: memcpy(at, &i, 8); break;
    case QNNRT_DTYPE_I32: memcpy(at, &i32, 4); break;
    case QNNRT_DTYPE_I16: memcpy(at, &i16, 2); break;
    case QNNRT_DTYPE_BOOL8: *(unsigned char *)at = i != 0; break;
    default: *(unsigned char *)at = u8; break;
    }
}

/* Return the value of a float of `exponent` and `mantissa` bits. */
static double qnnrt_ir__number_widen(uint32_t bits, int exponent, int mantissa)
{
    const uint32_t ones = ((uint32_t)1 << exponent) - 1;
    const uint32_t e = bits >> mantissa & ones, m = bits & (((uint32_t)1 << mantissa) - 1);
    const int bias = (int)(ones >> 1);
    double f = (double)m / (double)((uint32_t)1 << mantissa);
    uint64_t wide;
    if (e == ones) {
        wide = (uint64_t)0x7FF << 52 | (m != 0 ? (uint64_t)1 << 51 : 0);
        memcpy(&f, &wide, sizeof(f));
    } else {
        double scale;
        wide = (uint64_t)(1023 + (e == 0 ? 1 : (int)e) - bias) << 52;
        memcpy(&scale, &wide, sizeof(scale));
        f = (e == 0 ? f : 1 + f) * scale;
    }
    return bits >> (exponent + mantissa) & 1 ? -f : f;
}

/* Read an element, as a float or as an integer. */
QNNRT_IR_API double qnnrt_ir_element_float(const void *at, qnnrt_dtype dtype)
{
    double f64 = 0;
    float f32 = 0;
    uint16_t half = 0;
    uint32_t bits;
    switch (dtype) {
    case QNNRT_DTYPE_F64: memcpy(&f64, at, 8); return f64;
    case QNNRT_DTYPE_F32: memcpy(&f32, at, 4); return (double)f32;
    case QNNRT_DTYPE_F16: memcpy(&half, at, 2); return qnnrt_ir__number_widen(half, 5, 10);
    default:                                             /* the upper half of a float32 */
        memcpy(&half, at, 2);
        bits = (uint32_t)half << 16;
        memcpy(&f32, &bits, 4);
        return (double)f32;
    }
}

QNNRT_IR_API int64_t qnnrt_ir_element_int(const void *at, qnnrt_dtype dtype)
{
    int64_t i64 = 0;
    int32_t i32 = 0;
    int16_t i16 = 0;
    signed char i8 = 0;
    switch (dtype) {
    case QNNRT_DTYPE_I64: memcpy(&i64, at, 8); return i64;
    case QNNRT_DTYPE_I32: memcpy(&i32, at, 4); return i32;
    case QNNRT_DTYPE_I16: memcpy(&i16, at, 2); return i16;
    case QNNRT_DTYPE_I8: memcpy(&i8, at, 1); return i8;
    case QNNRT_DTYPE_BOOL8: return *(const unsigned char *)at != 0;
    default: return *(const unsigned char *)at;
    }
}

static int qnnrt_ir__number_fits(qnnrt_dtype dtype, int64_t i)
{
    switch (dtype) {
    case QNNRT_DTYPE_I32: return i >= INT32_MIN && i <= INT32_MAX;
    case QNNRT_DTYPE_I16: return i >= INT16_MIN && i <= INT16_MAX;
    case QNNRT_DTYPE_I8: return i >= INT8_MIN && i <= INT8_MAX;
    case QNNRT_DTYPE_U8: return i >= 0 && i <= UINT8_MAX;
    case QNNRT_DTYPE_BOOL8: return i == 0 || i == 1;
    default: return 1;
    }
}

/* =====================================================================================
   TEXT                                                                            >>text
   What Python writes and JSON does not have.
   Needs: nothing     Knows nothing of: graphs
   ===================================================================================== */

/* Find NaN, Infinity and -Infinity outside strings, and write JSON of the same length to out (NULL:
   only count): "N" for NaN, and numbers that are too large. Return how many there are. */
static size_t qnnrt_ir__text_python(const char *text, size_t bytes, char *out)
{
    size_t i = 0, count = 0;
    while (i < bytes) {
        if (text[i] == '"') {
            for (++i; i < bytes && text[i] != '"'; ++i) if (text[i] == '\\') ++i;
            ++i;
        } else if (text[i] == 'N' && bytes - i >= 3 && memcmp(text + i, "NaN", 3) == 0) {
            if (out != NULL) memcpy(out + i, "\"N\"", 3);
            i += 3;
            ++count;
        } else if (text[i] == 'I' && bytes - i >= 8 && memcmp(text + i, "Infinity", 8) == 0) {
            if (out != NULL) memcpy(out + i, "1e999999", 8);
            i += 8;
            ++count;
        } else {
            ++i;
        }
    }
    return count;
}

/* =====================================================================================
   PARSE                                                                          >>parse
   Reads the JSON of a graph: tensors as stated, and nodes without their inputs.
   Needs: >>config >>symbol >>dtype >>ops >>graph     Knows nothing of: what is stated twice
   ===================================================================================== */

typedef struct qnnrt_ir__list {              /* of pointers */
    void **at;
    size_t count, room;
} qnnrt_ir__list;

typedef struct qnnrt_ir__pair {              /* of weight_name_mapping */
    qnnrt_ir__symbol *placeholder, *key;
} qnnrt_ir__pair;

typedef struct qnnrt_ir__range {             /* one of "ranges" */
    qnnrt_ir__symbol *name;
    int64_t           ends[2];
    int               count, whole;          /* numbers, and those that are integers */
} qnnrt_ir__range;

typedef struct qnnrt_ir__kept {              /* one of "states" */
    qnnrt_ir__symbol *name, *input, *output;
} qnnrt_ir__kept;

typedef struct qnnrt_ir__entry {             /* a node, with the tensors that the file states */
    qnnrt_ir_node  *node;
    qnnrt_ir__ref **inputs, **outputs;
    size_t          input_count, output_count;
    const char     *absent;                  /* "", or a letter for each input: - absent, x there */
} qnnrt_ir__entry;

typedef struct qnnrt_ir__parse {
    qnnrt_ir         *ir;
    qnnrt_arena   scratch;               /* freed after reading */
    qnnrt_json_reader json;
    const char       *text, *original;       /* original: before qnnrt_ir__text_python(), or NULL */
    size_t            bytes, line, line_at;  /* line: of the byte line_at */
    uint32_t          most_nodes;
    int               plain_rope;            /* as qnnrt_ir_desc has it */
    qnnrt_result      result;
    qnnrt_error      *err;
    qnnrt_ir__list    inputs, outputs, weights, constants, nodes, pairs, ranges, states;
    qnnrt_ir__list    refs;                  /* of the list that is read */
    qnnrt_ir_attr    *attrs;                 /* of the node that is read */
    size_t            attr_count, attr_room;
    double           *numbers;               /* of the list that is read */
    int64_t          *wholes;
    size_t            number_count, number_room, whole_room;
} qnnrt_ir__parse;

/* End with an error at a byte of the text. Return 0. */
__attribute__((cold, format(printf, 4, 5)))
static int qnnrt_ir__parse_fail(qnnrt_ir__parse *p, qnnrt_result code, size_t at,
                                const char *format, ...)
{
    char why[600];
    va_list args;
    size_t i, line = 1;
    if (p->result != QNNRT_OK) return 0;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    qnnrt_text_clean(why);
    if (at > p->bytes) at = p->bytes;
    for (i = 0; i < at; ++i) line += p->text[i] == '\n';
    p->result = qnnrt_error_set(p->err, code, "line %lu, byte %lu: %s", (unsigned long)line,
                                (unsigned long)at, why);
    return 0;
}

static int qnnrt_ir__parse_memory(qnnrt_ir__parse *p)
{
    if (p->result == QNNRT_OK)
        p->result = qnnrt_ir__fail_arena(p->err, p->scratch.failed == QNNRT_E_LIMIT
                                                 ? QNNRT_E_LIMIT : p->ir->own->arena.failed);
    return 0;
}

/* Return 0 after an error of the JSON. */
static int qnnrt_ir__parse_good(qnnrt_ir__parse *p)
{
    if (p->json.error == NULL) return p->result == QNNRT_OK;
    return qnnrt_ir__parse_fail(p, QNNRT_E_FORMAT, p->json.error_at, "not JSON: %s", p->json.error);
}

static int qnnrt_ir__parse_push(qnnrt_ir__parse *p, qnnrt_ir__list *list, void *item)
{
    void *at = qnnrt_arena_more(&p->scratch, list->at, list->count, &list->room, sizeof(item));
    if (at == NULL) return qnnrt_ir__parse_memory(p);
    list->at = (void **)at;
    list->at[list->count++] = item;
    return 1;
}

/* Return the offset of a string, a number or a key. */
static size_t qnnrt_ir__parse_at(const qnnrt_ir__parse *p, const qnnrt_json_text *text)
{
    return text->text == NULL ? 0 : (size_t)(text->text - p->text);
}

/* Copy a string to an arena. *bytes may be NULL. */
static char *qnnrt_ir__parse_copy(qnnrt_ir__parse *p, qnnrt_arena *arena,
                                  const qnnrt_json_text *text, size_t *bytes)
{
    char *copy = (char *)qnnrt_arena_get(arena, (uint64_t)text->bytes + 1, 1);
    size_t used = 0;
    if (copy == NULL) { qnnrt_ir__parse_memory(p); return NULL; }
    if (text->escaped) used = qnnrt_json_copy(text, copy);
    else if (text->bytes > 0) memcpy(copy, text->text, used = text->bytes);
    if (bytes != NULL) *bytes = used;
    return copy;
}

static qnnrt_ir__symbol *qnnrt_ir__parse_symbol(qnnrt_ir__parse *p, const qnnrt_json_text *text)
{
    qnnrt_ir__symbol *symbol;
    const char *name = text->text;
    size_t bytes = text->bytes;
    if (text->escaped && (name = qnnrt_ir__parse_copy(p, &p->scratch, text, &bytes)) == NULL)
        return NULL;
    symbol = qnnrt_ir__graph_symbol(p->ir, name, bytes);
    if (symbol == NULL) qnnrt_ir__parse_memory(p);
    return symbol;
}

/* Read a string as a symbol. *out stays as it was for null. */
static int qnnrt_ir__parse_name(qnnrt_ir__parse *p, qnnrt_ir__symbol **out)
{
    const qnnrt_json_type type = qnnrt_json_value(&p->json);
    if (type == QNNRT_JSON_NULL) return 1;
    if (type == QNNRT_JSON_STRING)
        return (*out = qnnrt_ir__parse_symbol(p, &p->json.value)) != NULL;
    if (!qnnrt_ir__parse_good(p)) return 0;
    return qnnrt_ir__parse_fail(p, QNNRT_E_FORMAT, qnnrt_ir__parse_at(p, &p->json.key),
                                "\"%.*s\" is not a string", (int)(p->json.key.bytes & 63),
                                p->json.key.text);
}

/* Begin to read a list or an object that must be one. */
static int qnnrt_ir__parse_open(qnnrt_ir__parse *p, qnnrt_json_type type, const char *what)
{
    const size_t at = qnnrt_ir__parse_at(p, &p->json.key);
    if (qnnrt_json_value(&p->json) == type) return 1;
    if (!qnnrt_ir__parse_good(p)) return 0;
    return qnnrt_ir__parse_fail(p, QNNRT_E_FORMAT, at, "\"%s\" is not %s", what,
                                type == QNNRT_JSON_ARRAY ? "a list" : "an object");
}

/* Remember the first fault of a tensor. */
static void qnnrt_ir__parse_fault(qnnrt_ir__ref *ref, qnnrt_result code, const char *fault)
{
    if (ref->fault != NULL) return;
    ref->code = code;
    ref->fault = fault;
}

static int qnnrt_ir__parse_shape(qnnrt_ir__parse *p, qnnrt_ir__ref *ref)
{
    qnnrt_json_type type = qnnrt_json_value(&p->json);
    uint64_t dim;
    ref->rank = 0;
    if (type != QNNRT_JSON_ARRAY) {
        qnnrt_ir__parse_fault(ref, QNNRT_E_FORMAT, "its shape is not a list");
        return qnnrt_json_skip(&p->json) || qnnrt_ir__parse_good(p);
    }
    while (qnnrt_json_more(&p->json)) {
        if (!qnnrt_json_value_u64(&p->json, &dim)) {
            type = qnnrt_json_value(&p->json);
            qnnrt_ir__parse_fault(ref, QNNRT_E_UNSUPPORTED, type == QNNRT_JSON_NUMBER
                                      ? "a dimension is negative or not a whole number"
                                      : "a dimension is not a number: export with static shapes");
            qnnrt_json_skip(&p->json);
            continue;
        }
        if (ref->rank == QNNRT_IR_RANK) {
            qnnrt_ir__parse_fault(ref, QNNRT_E_LIMIT, "it has more than 8 dimensions");
            continue;
        }
        if (dim > (uint64_t)QNNRT_IR__MOST) {
            qnnrt_ir__parse_fault(ref, QNNRT_E_LIMIT, "a dimension is larger than 2^48");
            dim = 0;
        }
        ref->dims[ref->rank++] = (int64_t)dim;
    }
    return qnnrt_ir__parse_good(p);
}

static int qnnrt_ir__parse_dtype(qnnrt_ir__parse *p, qnnrt_ir__ref *ref)
{
    char text[200];
    if (qnnrt_json_value(&p->json) == QNNRT_JSON_STRING) {
        ref->dtype = qnnrt_ir__dtype_parse(p->json.value.text, p->json.value.bytes);
        if (ref->dtype != QNNRT_DTYPE_UNDEFINED) return 1;
        snprintf(text, sizeof text, "its dtype \"%.*s\" is not supported",
                 (int)(p->json.value.bytes > 100 ? 100 : p->json.value.bytes), p->json.value.text);
        qnnrt_ir__parse_fault(ref, QNNRT_E_UNSUPPORTED,
                              qnnrt_arena_text(&p->scratch, text, strlen(text)));
        return ref->fault != NULL || qnnrt_ir__parse_memory(p);
    }
    qnnrt_ir__parse_fault(ref, QNNRT_E_FORMAT, "its dtype is not a string");
    return qnnrt_json_skip(&p->json) || qnnrt_ir__parse_good(p);
}

/* Read one tensor. Return NULL after an error. */
static qnnrt_ir__ref *qnnrt_ir__parse_ref(qnnrt_ir__parse *p)
{
    qnnrt_ir__ref *ref = (qnnrt_ir__ref *)qnnrt_arena_get(&p->scratch, 1, sizeof(*ref));
    int shape = 0;
    uint64_t index;
    if (ref == NULL) { qnnrt_ir__parse_memory(p); return NULL; }
    ref->dtype = QNNRT_DTYPE_UNDEFINED;
    if (qnnrt_json_value(&p->json) != QNNRT_JSON_OBJECT) {
        qnnrt_ir__parse_fault(ref, QNNRT_E_FORMAT, "it is not an object");
        qnnrt_json_skip(&p->json);
        return qnnrt_ir__parse_good(p) ? ref : NULL;
    }
    while (qnnrt_json_more(&p->json)) {
        const qnnrt_json_text *const key = &p->json.key;
        if (qnnrt_json_is(key, "name")) {
            if (!qnnrt_ir__parse_name(p, &ref->name)) return NULL;
        } else if (qnnrt_json_is(key, "shape")) {
            shape = 1;
            if (!qnnrt_ir__parse_shape(p, ref)) return NULL;
        } else if (qnnrt_json_is(key, "dtype")) {
            if (!qnnrt_ir__parse_dtype(p, ref)) return NULL;
        } else if (qnnrt_json_is(key, "producer_node")) {
            if (!qnnrt_ir__parse_name(p, &ref->producer)) return NULL;
        } else if (qnnrt_json_is(key, "producer_output_idx")) {
            if (!qnnrt_json_value_u64(&p->json, &index)) {
                index = UINT32_MAX;
                qnnrt_json_skip(&p->json);
            }
            ref->index = index > UINT32_MAX ? UINT32_MAX : (uint32_t)index;
        } else {
            qnnrt_json_skip(&p->json);
        }
    }
    if (!qnnrt_ir__parse_good(p)) return NULL;
    if (ref->name == NULL) qnnrt_ir__parse_fault(ref, QNNRT_E_FORMAT, "its name is missing");
    if (!shape) qnnrt_ir__parse_fault(ref, QNNRT_E_FORMAT, "its shape is missing");
    if (ref->dtype == QNNRT_DTYPE_UNDEFINED)
        qnnrt_ir__parse_fault(ref, QNNRT_E_FORMAT, "its dtype is missing");
    return ref;
}

static int qnnrt_ir__parse_refs(qnnrt_ir__parse *p, qnnrt_ir__list *list, const char *what)
{
    list->count = 0;
    if (!qnnrt_ir__parse_open(p, QNNRT_JSON_ARRAY, what)) return 0;
    while (qnnrt_json_more(&p->json)) {
        qnnrt_ir__ref *ref = qnnrt_ir__parse_ref(p);
        if (ref == NULL || !qnnrt_ir__parse_push(p, list, ref)) return 0;
    }
    return qnnrt_ir__parse_good(p);
}

/* Return true if a string stands for Python's NaN. */
static int qnnrt_ir__parse_nan(const qnnrt_ir__parse *p, const qnnrt_json_text *text)
{
    return p->original != NULL && text->bytes == 1 && text->text[0] == 'N' &&
           p->original[text->text - p->text] == 'a';
}

/* Convert a number. Return QNNRT_IR_INT, or QNNRT_IR_FLOAT; then *i is 0. */
static qnnrt_ir_attr_kind qnnrt_ir__parse_number(const qnnrt_json_text *text, int64_t *i, double *f)
{
    if (qnnrt_json_i64(text, i)) { *f = (double)*i; return QNNRT_IR_INT; }
    (void)qnnrt_json_f64(text, f);                   /* what is too large becomes infinity */
    *i = 0;
    return QNNRT_IR_FLOAT;
}

static int qnnrt_ir__parse_put(qnnrt_ir__parse *p, int64_t i, double f)
{
    void *at = qnnrt_arena_more(&p->scratch, p->numbers, p->number_count, &p->number_room,
                                sizeof(f));
    if (at == NULL) return qnnrt_ir__parse_memory(p);
    p->numbers = (double *)at;
    at = qnnrt_arena_more(&p->scratch, p->wholes, p->number_count, &p->whole_room, sizeof(i));
    if (at == NULL) return qnnrt_ir__parse_memory(p);
    p->wholes = (int64_t *)at;
    p->numbers[p->number_count] = f;
    p->wholes[p->number_count++] = i;
    return 1;
}

/* What a list of numbers turned out to be. */
typedef struct qnnrt_ir__nest {
    uint32_t rank;
    int64_t  dims[QNNRT_IR_RANK];
    int      floats;                         /* not all are integers or booleans */
    int      even;                           /* lists of one depth have one length */
    int      numbers;                        /* it has nothing else */
} qnnrt_ir__nest;

/* Read the rest of a list, with the lists in it, into p->numbers. */
static int qnnrt_ir__parse_nest(qnnrt_ir__parse *p, qnnrt_ir__nest *nest)
{
    int64_t count[QNNRT_IR_RANK + 1], i;
    uint32_t depth = 1, leaf = 0, k;
    double f;
    memset(nest, 0, sizeof(*nest));
    memset(count, 0, sizeof(count));
    for (k = 0; k < QNNRT_IR_RANK; ++k) nest->dims[k] = -1;
    nest->even = nest->numbers = 1;
    nest->rank = 1;
    p->number_count = 0;
    while (depth > 0) {
        if (!qnnrt_json_more(&p->json)) {
            if (!qnnrt_ir__parse_good(p)) return 0;
            if (nest->dims[depth - 1] < 0) nest->dims[depth - 1] = count[depth - 1];
            if (nest->dims[depth - 1] != count[depth - 1]) nest->even = 0;
            --depth;
            continue;
        }
        ++count[depth - 1];
        switch (qnnrt_json_value(&p->json)) {
        case QNNRT_JSON_ARRAY:
            if (depth == QNNRT_IR_RANK) {
                nest->even = nest->numbers = 0;
                qnnrt_json_skip(&p->json);
                continue;
            }
            count[depth++] = 0;
            if (depth > nest->rank) nest->rank = depth;
            continue;
        case QNNRT_JSON_NUMBER:
            if (qnnrt_ir__parse_number(&p->json.value, &i, &f) == QNNRT_IR_FLOAT) nest->floats = 1;
            break;
        case QNNRT_JSON_TRUE: i = 1; f = 1; break;
        case QNNRT_JSON_FALSE: i = 0; f = 0; break;
        case QNNRT_JSON_STRING:
            if (qnnrt_ir__parse_nan(p, &p->json.value)) {
                f = NAN;
                i = 0;
                nest->floats = 1;
                break;
            }
            /* fall through */
        default:
            nest->numbers = nest->even = 0;
            qnnrt_json_skip(&p->json);
            continue;
        }
        if (leaf != 0 && leaf != depth) nest->even = 0;
        leaf = depth;
        if (!qnnrt_ir__parse_put(p, i, f)) return 0;
    }
    if (leaf != 0 && leaf != nest->rank) nest->even = 0;
    return qnnrt_ir__parse_good(p);
}

/* Copy the numbers of a list to an argument. */
static int qnnrt_ir__parse_lists(qnnrt_ir__parse *p, qnnrt_ir_attr *attr, int wholes)
{
    qnnrt_arena *arena = &p->ir->own->arena;
    double *floats = (double *)qnnrt_arena_get(arena, p->number_count + 1, sizeof(*floats));
    int64_t *ints =
        wholes ? (int64_t *)qnnrt_arena_get(arena, p->number_count + 1, sizeof(*ints)) : NULL;
    if (floats == NULL || (wholes && ints == NULL)) return qnnrt_ir__parse_memory(p);
    if (p->number_count > 0) {
        memcpy(floats, p->numbers, p->number_count * sizeof(*floats));
        if (wholes) memcpy(ints, p->wholes, p->number_count * sizeof(*ints));
    }
    attr->floats = floats;
    attr->ints = ints;
    attr->count = p->number_count;
    return 1;
}

/* Decode digits that qnnrt_ir_write() writes: two for each byte. Return 0 if they are something
   else. */
static int qnnrt_ir__parse_hex(const qnnrt_json_text *text, unsigned char *out)
{
    size_t i;
    for (i = 0; i < text->bytes; ++i) {
        const char c = text->text[i];
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return 0;
        out[i / 2] = (unsigned char)(i % 2 == 0 ? digit << 4 : out[i / 2] | digit);
    }
    return text->bytes % 2 == 0;
}

/* Read the rest of an object as an argument: {"float": digits} or {"floats": digits}; other objects
   stay QNNRT_IR_OTHER. */
static int qnnrt_ir__parse_floats(qnnrt_ir__parse *p, qnnrt_ir_attr *attr)
{
    double *floats;
    attr->kind = QNNRT_IR_OTHER;
    while (qnnrt_json_more(&p->json)) {
        const int one = qnnrt_json_is(&p->json.key, "float");
        if ((!one && !qnnrt_json_is(&p->json.key, "floats")) || attr->kind != QNNRT_IR_OTHER ||
            qnnrt_json_value(&p->json) != QNNRT_JSON_STRING) {
            qnnrt_json_skip(&p->json);
            continue;
        }
        if (p->json.value.bytes == 0 || p->json.value.bytes % 16 != 0 ||
            (one && p->json.value.bytes != 16)) continue;
        floats = (double *)qnnrt_arena_get(&p->ir->own->arena, p->json.value.bytes / 16,
                                           sizeof(*floats));
        if (floats == NULL) return qnnrt_ir__parse_memory(p);
        if (!qnnrt_ir__parse_hex(&p->json.value, (unsigned char *)floats)) continue;
        attr->kind = one ? QNNRT_IR_FLOAT : QNNRT_IR_FLOATS;
        if (one) { attr->f = floats[0]; continue; }
        attr->floats = floats;
        attr->count = p->json.value.bytes / 16;
    }
    return qnnrt_ir__parse_good(p);
}

static int qnnrt_ir__parse_attr(qnnrt_ir__parse *p)
{
    qnnrt_ir__symbol *name = qnnrt_ir__parse_symbol(p, &p->json.key);
    qnnrt_ir_attr *attr;
    qnnrt_ir__nest nest;
    void *at;
    if (name == NULL) return 0;
    at = qnnrt_arena_more(&p->scratch, p->attrs, p->attr_count, &p->attr_room, sizeof(*attr));
    if (at == NULL) return qnnrt_ir__parse_memory(p);
    p->attrs = (qnnrt_ir_attr *)at;
    attr = &p->attrs[p->attr_count++];
    memset(attr, 0, sizeof(*attr));
    attr->name = name->text;
    attr->text = "";
    switch (qnnrt_json_value(&p->json)) {
    case QNNRT_JSON_NONE: return qnnrt_ir__parse_good(p);
    case QNNRT_JSON_NULL: attr->kind = QNNRT_IR_NULL; return 1;
    case QNNRT_JSON_TRUE: attr->i = 1; attr->f = 1; attr->kind = QNNRT_IR_BOOL; return 1;
    case QNNRT_JSON_FALSE: attr->kind = QNNRT_IR_BOOL; return 1;
    case QNNRT_JSON_NUMBER:
        attr->kind = qnnrt_ir__parse_number(&p->json.value, &attr->i, &attr->f);
        return 1;
    case QNNRT_JSON_STRING:
        if (qnnrt_ir__parse_nan(p, &p->json.value)) {
            attr->f = NAN;
            attr->kind = QNNRT_IR_FLOAT;
            return 1;
        }
        attr->kind = QNNRT_IR_TEXT;
        attr->text = qnnrt_ir__parse_copy(p, &p->ir->own->arena, &p->json.value, NULL);
        return attr->text != NULL;
    case QNNRT_JSON_ARRAY:
        if (!qnnrt_ir__parse_nest(p, &nest)) return 0;
        attr->kind = !nest.numbers || nest.rank != 1 ? QNNRT_IR_OTHER :
                     nest.floats ? QNNRT_IR_FLOATS : QNNRT_IR_INTS;
        return !nest.numbers || qnnrt_ir__parse_lists(p, attr, !nest.floats);
    default: return qnnrt_ir__parse_floats(p, attr);
    }
}

static int qnnrt_ir__parse_attrs(qnnrt_ir__parse *p, qnnrt_ir_node *node)
{
    const qnnrt_json_type type = qnnrt_json_value(&p->json);
    p->attr_count = 0;
    if (type == QNNRT_JSON_NULL) return 1;
    if (type != QNNRT_JSON_OBJECT)
        return qnnrt_ir__parse_good(p) &&
               qnnrt_ir__parse_fail(p, QNNRT_E_FORMAT, node->byte, "\"attrs\" is not an object");
    while (qnnrt_json_more(&p->json)) if (!qnnrt_ir__parse_attr(p)) return 0;
    if (!qnnrt_ir__parse_good(p)) return 0;
    node->attrs = (qnnrt_ir_attr *)qnnrt_arena_get(&p->ir->own->arena, p->attr_count + 1,
                                                   sizeof(*node->attrs));
    if (node->attrs == NULL) return qnnrt_ir__parse_memory(p);
    if (p->attr_count > 0) memcpy(node->attrs, p->attrs, p->attr_count * sizeof(*node->attrs));
    node->attr_count = p->attr_count;
    return 1;
}

static qnnrt_ir__ref **qnnrt_ir__parse_keep(qnnrt_ir__parse *p, size_t *count)
{
    void *copy = qnnrt_arena_get(&p->scratch, p->refs.count + 1, sizeof(void *));
    *count = p->refs.count;
    if (copy == NULL) { qnnrt_ir__parse_memory(p); return NULL; }
    if (p->refs.count > 0) memcpy(copy, p->refs.at, p->refs.count * sizeof(void *));
    return (qnnrt_ir__ref **)copy;
}

/* Set the operator of a node from its name in the file. */
static int qnnrt_ir__parse_op(qnnrt_ir__parse *p, qnnrt_ir_node *node, const char *op)
{
    if (strncmp(op, "aten.", 5) == 0) op += 5;
    else if (strncmp(op, "aten::", 6) == 0) op += 6;
    else if (strcmp(op, "<built-in function getitem>") == 0) op = "getitem";
    else if (p->plain_rope && strcmp(op, "wrap_with_set_grad_enabled") == 0) op = "rope";
    node->info = qnnrt_ir__ops_find(op);
    node->op = qnnrt_ir__graph_op_name(p->ir, node->info, op);
    return node->op != NULL || qnnrt_ir__parse_memory(p);
}

/* Set where a node begins in the file: at its first key. */
static void qnnrt_ir__parse_place(qnnrt_ir__parse *p, qnnrt_ir_node *node)
{
    node->byte = qnnrt_ir__parse_at(p, &p->json.key);
    while (p->line_at < node->byte) {
        const char *next =
            (const char *)memchr(p->text + p->line_at, '\n', node->byte - p->line_at);
        p->line_at = next != NULL ? (size_t)(next - p->text) + 1 : node->byte;
        p->line += next != NULL;
    }
    node->line = p->line;
}

static int qnnrt_ir__parse_node(qnnrt_ir__parse *p)
{
    qnnrt_ir_node *node =
        (qnnrt_ir_node *)qnnrt_arena_get(&p->ir->own->arena, 1, sizeof(*node));
    qnnrt_ir__entry *entry = (qnnrt_ir__entry *)qnnrt_arena_get(&p->scratch, 1, sizeof(*entry));
    qnnrt_ir__symbol *name = NULL, *op = NULL, *source = NULL, *absent = NULL;
    if (node == NULL || entry == NULL) return qnnrt_ir__parse_memory(p);
    if (p->nodes.count >= p->most_nodes)
        return qnnrt_ir__parse_fail(p, QNNRT_E_LIMIT, p->line_at, "more than %u nodes",
                                    (unsigned)p->most_nodes);
    if (!qnnrt_ir__parse_open(p, QNNRT_JSON_OBJECT, "nodes[]")) return 0;
    while (qnnrt_json_more(&p->json)) {
        const qnnrt_json_text *const key = &p->json.key;
        qnnrt_ir__symbol **const text = qnnrt_json_is(key, "name") ? &name :
            qnnrt_json_is(key, "op_type") ? &op : qnnrt_json_is(key, "source") ||
            qnnrt_json_is(key, "stack_trace") ? &source :
            qnnrt_json_is(key, "inputs_there") ? &absent : NULL;
        int good;
        if (node->line == 0) qnnrt_ir__parse_place(p, node);
        if (text != NULL) {
            good = qnnrt_ir__parse_name(p, text);
        } else if (qnnrt_json_is(key, "inputs")) {
            good = qnnrt_ir__parse_refs(p, &p->refs, "inputs") &&
                   (entry->inputs = qnnrt_ir__parse_keep(p, &entry->input_count)) != NULL;
        } else if (qnnrt_json_is(key, "outputs")) {
            good = qnnrt_ir__parse_refs(p, &p->refs, "outputs") &&
                   (entry->outputs = qnnrt_ir__parse_keep(p, &entry->output_count)) != NULL;
        } else if (qnnrt_json_is(key, "attrs")) {
            good = qnnrt_ir__parse_attrs(p, node);
        } else {
            good = qnnrt_json_skip(&p->json);
        }
        if (!good) return qnnrt_ir__parse_good(p);
    }
    if (!qnnrt_ir__parse_good(p)) return 0;
    node->name = name != NULL ? name->text : "";
    node->source = source != NULL ? source->text : "";
    node->mapping = "";
    node->number = p->ir->own->number++;
    entry->node = node;
    entry->absent = absent != NULL ? absent->text : "";
    return qnnrt_ir__parse_op(p, node, op != NULL ? op->text : "") &&
           qnnrt_ir__parse_push(p, &p->nodes, entry);
}

/* =====================================================================================
   DOCUMENT                                                                    >>document
   Reads the whole of a file: constants, names of weights, and the lists around the nodes.
   Needs: >>config >>symbol >>dtype >>graph >>number >>parse     Knows nothing of: operators
   ===================================================================================== */

/* Read the data of a constant; the reader stands before them. */
static int qnnrt_ir__document_data(qnnrt_ir__parse *p, qnnrt_ir__ref *ref)
{
    const size_t size = qnnrt_ir_dtype_bytes(ref->dtype);
    const int floats = qnnrt_ir_dtype_kind(ref->dtype) == 2;
    qnnrt_ir__nest nest;
    qnnrt_json_type type = qnnrt_json_value(&p->json);
    unsigned char *data;
    size_t i;
    memset(&nest, 0, sizeof(nest));
    if (type == QNNRT_JSON_ARRAY) {
        if (!qnnrt_ir__parse_nest(p, &nest)) return 0;
    } else {
        int64_t whole = type == QNNRT_JSON_TRUE;
        double f = (double)whole;
        nest.even = nest.numbers = type == QNNRT_JSON_NUMBER || type == QNNRT_JSON_TRUE ||
                                   type == QNNRT_JSON_FALSE;
        if (type == QNNRT_JSON_NUMBER)
            nest.floats = qnnrt_ir__parse_number(&p->json.value, &whole, &f) == QNNRT_IR_FLOAT;
        p->number_count = 0;
        if (!qnnrt_json_skip(&p->json)) return qnnrt_ir__parse_good(p);
        if (nest.numbers && !qnnrt_ir__parse_put(p, whole, f)) return 0;
    }
    if (!nest.numbers || !nest.even) {
        qnnrt_ir__parse_fault(ref, QNNRT_E_FORMAT, "its data is not an array of numbers");
        return 1;
    }
    if (nest.floats && !floats)
        qnnrt_ir__parse_fault(ref, QNNRT_E_MISMATCH, "its data has fractions, its dtype has none");
    for (i = 0; i < p->number_count && !floats && size > 0; ++i)
        if (!qnnrt_ir__number_fits(ref->dtype, p->wholes[i]))
            qnnrt_ir__parse_fault(ref, QNNRT_E_MISMATCH,
                                  "a number of its data does not fit its dtype");
    if (ref->fault != NULL) return 1;
    data = (unsigned char *)qnnrt_arena_get(&p->ir->own->arena, p->number_count + 1, size);
    if (data == NULL) return qnnrt_ir__parse_memory(p);
    for (i = 0; i < p->number_count; ++i)
        qnnrt_ir_element_put(data + i * size, ref->dtype, p->wholes[i], p->numbers[i]);
    ref->rank = nest.rank;
    memcpy(ref->dims, nest.dims, sizeof(ref->dims));
    ref->data = data;
    return 1;
}

/* Decode the data of a constant that are written as digits, with a shape. */
static int qnnrt_ir__document_hex(qnnrt_ir__parse *p, qnnrt_ir__ref *ref,
                                  const qnnrt_ir__ref *shape, const qnnrt_json_text *digits)
{
    const size_t size = qnnrt_ir_dtype_bytes(ref->dtype);
    uint64_t count = 0;
    unsigned char *data;
    if (ref->fault == NULL && shape->fault != NULL)
        qnnrt_ir__parse_fault(ref, shape->code, shape->fault);
    if (ref->fault != NULL) return 1;
    if (!qnnrt_ir__count(shape->rank, shape->dims, &count) ||
        digits->bytes / 2 / size != count || digits->bytes % (2 * size) != 0) {
        qnnrt_ir__parse_fault(ref, QNNRT_E_MISMATCH, "its hex digits do not fit its shape");
        return 1;
    }
    data = (unsigned char *)qnnrt_arena_get(&p->ir->own->arena, digits->bytes / 2 + 1, 1);
    if (data == NULL) return qnnrt_ir__parse_memory(p);
    if (!qnnrt_ir__parse_hex(digits, data))
        qnnrt_ir__parse_fault(ref, QNNRT_E_FORMAT, "its hex digits have another character");
    ref->rank = shape->rank;
    memcpy(ref->dims, shape->dims, sizeof(ref->dims));
    ref->data = data;
    ref->stated = 1;
    return 1;
}

/* Read one constant, whose key was read. */
static int qnnrt_ir__document_constant(qnnrt_ir__parse *p)
{
    qnnrt_ir__ref *ref = (qnnrt_ir__ref *)qnnrt_arena_get(&p->scratch, 1, sizeof(*ref));
    qnnrt_ir__ref shape;
    qnnrt_json_text digits = { NULL, 0, 0 };
    qnnrt_json_reader before;
    int found = 0;
    memset(&shape, 0, sizeof(shape));
    if (ref == NULL) return qnnrt_ir__parse_memory(p);
    ref->dtype = QNNRT_DTYPE_UNDEFINED;
    ref->name = qnnrt_ir__parse_symbol(p, &p->json.key);
    if (ref->name == NULL || !qnnrt_ir__parse_open(p, QNNRT_JSON_OBJECT, "constants{}")) return 0;
    while (qnnrt_json_more(&p->json)) {
        if (qnnrt_json_is(&p->json.key, "dtype")) {
            if (!qnnrt_ir__parse_dtype(p, ref)) return 0;
        } else if (qnnrt_json_is(&p->json.key, "data")) {
            before = p->json;                        /* the dtype may follow */
            found = 1;
            qnnrt_json_skip(&p->json);
        } else if (qnnrt_json_is(&p->json.key, "shape")) {
            if (!qnnrt_ir__parse_shape(p, &shape)) return 0;
        } else if (qnnrt_json_is(&p->json.key, "hex")) {
            if (qnnrt_json_value(&p->json) == QNNRT_JSON_STRING) digits = p->json.value;
            else qnnrt_json_skip(&p->json);
        } else {
            qnnrt_json_skip(&p->json);
        }
    }
    if (!qnnrt_ir__parse_good(p)) return 0;
    if (ref->dtype == QNNRT_DTYPE_UNDEFINED)
        qnnrt_ir__parse_fault(ref, QNNRT_E_FORMAT, "its dtype is missing");
    if (digits.text != NULL && !found) {
        if (!qnnrt_ir__document_hex(p, ref, &shape, &digits)) return 0;
    } else if (found) {
        const qnnrt_json_reader after = p->json;
        p->json = before;
        if (!qnnrt_ir__document_data(p, ref)) return 0;
        p->json = after;
    } else {
        qnnrt_ir__parse_fault(ref, QNNRT_E_FORMAT, "its data is missing");
    }
    return qnnrt_ir__parse_push(p, &p->constants, ref);
}

/* Read one pair of weight_name_mapping, whose key was read. */
static int qnnrt_ir__document_pair(qnnrt_ir__parse *p)
{
    qnnrt_ir__pair *pair = (qnnrt_ir__pair *)qnnrt_arena_get(&p->scratch, 1, sizeof(*pair));
    if (pair == NULL) return qnnrt_ir__parse_memory(p);
    pair->placeholder = qnnrt_ir__parse_symbol(p, &p->json.key);
    if (pair->placeholder == NULL || !qnnrt_ir__parse_name(p, &pair->key)) return 0;
    return pair->key == NULL || qnnrt_ir__parse_push(p, &p->pairs, pair);
}

/* Read one of "ranges", whose key was read. */
static int qnnrt_ir__document_range(qnnrt_ir__parse *p)
{
    qnnrt_ir__range *range = (qnnrt_ir__range *)qnnrt_arena_get(&p->scratch, 1, sizeof(*range));
    if (range == NULL) return qnnrt_ir__parse_memory(p);
    range->name = qnnrt_ir__parse_symbol(p, &p->json.key);
    if (range->name == NULL || !qnnrt_ir__parse_open(p, QNNRT_JSON_ARRAY, "ranges")) return 0;
    while (qnnrt_json_more(&p->json)) {
        int64_t end = 0;
        if (qnnrt_json_value(&p->json) != QNNRT_JSON_NUMBER) {
            if (!qnnrt_json_skip(&p->json)) return qnnrt_ir__parse_good(p);
        } else {
            range->whole += qnnrt_json_i64(&p->json.value, &end);
        }
        if (range->count < 2) range->ends[range->count] = end;
        if (range->count < 3) ++range->count;
    }
    return qnnrt_ir__parse_good(p) && qnnrt_ir__parse_push(p, &p->ranges, range);
}

/* Read the members of an object, or of a list, with `one`. */
static int qnnrt_ir__document_each(qnnrt_ir__parse *p, qnnrt_json_type type, const char *what,
                                   int (*one)(qnnrt_ir__parse *p))
{
    if (!qnnrt_ir__parse_open(p, type, what)) return 0;
    while (qnnrt_json_more(&p->json)) if (!one(p)) return 0;
    return qnnrt_ir__parse_good(p);
}

/* Read what only qnnrt.export() writes, or skip a member. */
static int qnnrt_ir__document_more(qnnrt_ir__parse *p)
{
    const size_t at = qnnrt_ir__parse_at(p, &p->json.key);
    int64_t version = 0;
    qnnrt_ir__symbol *text = NULL;
    if (qnnrt_json_is(&p->json.key, "ranges"))
        return qnnrt_ir__document_each(p, QNNRT_JSON_OBJECT, "ranges",
                                       qnnrt_ir__document_range);
    if (qnnrt_json_is(&p->json.key, "format")) {
        if (!qnnrt_ir__parse_name(p, &text)) return 0;
        if (text == NULL) return 1;
        p->ir->own->exported = strcmp(text->text, "qnnrt.graph") == 0;
        if (p->ir->own->exported) return 1;
        return qnnrt_ir__parse_fail(p, QNNRT_E_FORMAT, at, "not an exported graph: its format is "
                                    "\"%.100s\"", text->text);
    }
    if (!qnnrt_json_is(&p->json.key, "version"))
        return qnnrt_json_skip(&p->json) || qnnrt_ir__parse_good(p);
    if (qnnrt_json_value(&p->json) == QNNRT_JSON_NUMBER) {
        if (qnnrt_json_i64(&p->json.value, &version) && version == 1) return 1;
        qnnrt_ir__parse_fail(p, QNNRT_E_VERSION, at, "a graph of version %.*s, known is 1",
                             (int)(p->json.value.bytes & 31), p->json.value.text);
        qnnrt_error_hint(p->err, QNNRT_OK, "Use the release of qnnrt that exported the model.");
        return 0;
    }
    return qnnrt_json_skip(&p->json) || qnnrt_ir__parse_good(p);
}

static int qnnrt_ir__document_state(qnnrt_ir__parse *p)
{
    qnnrt_ir__kept *state = (qnnrt_ir__kept *)qnnrt_arena_get(&p->scratch, 1, sizeof(*state));
    if (state == NULL) return qnnrt_ir__parse_memory(p);
    if (!qnnrt_ir__parse_open(p, QNNRT_JSON_OBJECT, "states")) return 0;
    while (qnnrt_json_more(&p->json)) {
        qnnrt_ir__symbol **to = qnnrt_json_is(&p->json.key, "name") ? &state->name
                                : qnnrt_json_is(&p->json.key, "input") ? &state->input
                                : qnnrt_json_is(&p->json.key, "output") ? &state->output : NULL;
        if (to != NULL ? !qnnrt_ir__parse_name(p, to) : !qnnrt_json_skip(&p->json))
            return qnnrt_ir__parse_good(p) && p->result == QNNRT_OK;
    }
    return qnnrt_ir__parse_good(p) && qnnrt_ir__parse_push(p, &p->states, state);
}

static int qnnrt_ir__document_member(qnnrt_ir__parse *p, uint32_t *seen)
{
    static const char *const names[] = { "nodes", "graph_inputs", "graph_outputs", "weights",
                                         "weight_name_mapping", "constants", "states",
                                         "model_name", "pytorch_version" };
    const qnnrt_json_type list = QNNRT_JSON_ARRAY, object = QNNRT_JSON_OBJECT;
    qnnrt_ir__symbol *text = NULL;
    uint32_t i = 0;
    while (i < 9 && !qnnrt_json_is(&p->json.key, names[i])) ++i;
    if (i < 7 && (*seen >> i & 1))
        return qnnrt_ir__parse_fail(p, QNNRT_E_FORMAT, qnnrt_ir__parse_at(p, &p->json.key),
                                    "\"%s\" occurs twice", names[i]);
    *seen |= (uint32_t)1 << i;
    switch (i) {
    case 0: return qnnrt_ir__document_each(p, list, names[i], qnnrt_ir__parse_node);
    case 1: return qnnrt_ir__parse_refs(p, &p->inputs, names[i]);
    case 2: return qnnrt_ir__parse_refs(p, &p->outputs, names[i]);
    case 3: return qnnrt_ir__parse_refs(p, &p->weights, names[i]);
    case 4: return qnnrt_ir__document_each(p, object, names[i], qnnrt_ir__document_pair);
    case 5: return qnnrt_ir__document_each(p, object, names[i], qnnrt_ir__document_constant);
    case 6: return qnnrt_ir__document_each(p, list, names[i], qnnrt_ir__document_state);
    case 7:
    case 8:
        if (!qnnrt_ir__parse_name(p, &text)) return 0;
        *(i == 7 ? &p->ir->name : &p->ir->version) = text != NULL ? text->text : "";
        return 1;
    default: return qnnrt_ir__document_more(p);
    }
}

static int qnnrt_ir__document_once(qnnrt_ir__parse *p)
{
    static const char *const needed[] = { "nodes", "graph_inputs", "graph_outputs", "weights" };
    qnnrt_json_limits limits;
    uint32_t seen = 0, i;
    memset(&limits, 0, sizeof(limits));
    limits.bytes = p->bytes;
    qnnrt_json_begin(&p->json, p->text, p->bytes, &limits);
    p->line = 1;
    p->line_at = 0;
    if (qnnrt_json_value(&p->json) != QNNRT_JSON_OBJECT)
        return qnnrt_ir__parse_good(p) &&
               qnnrt_ir__parse_fail(p, QNNRT_E_FORMAT, 0, "not an exported graph: not an object");
    while (qnnrt_json_more(&p->json)) if (!qnnrt_ir__document_member(p, &seen)) return 0;
    if (!qnnrt_ir__parse_good(p)) return 0;
    for (i = 0; i < 4; ++i) {
        if (seen >> i & 1) continue;
        qnnrt_ir__parse_fail(p, QNNRT_E_FORMAT, 0, "not an exported graph: \"%s\" is missing",
                             needed[i]);
        qnnrt_error_hint(p->err, QNNRT_OK, "Export the model with qnnrt.export().");
        return 0;
    }
    return qnnrt_json_end(&p->json) || qnnrt_ir__parse_good(p);
}

/* =====================================================================================
   RESOLVE                                                                      >>resolve
   Makes values of the tensors that the file states, each once, and finds what does not fit.
   Needs: >>config >>symbol >>dtype >>attr >>graph >>find >>check >>parse
   Knows nothing of: JSON
   ===================================================================================== */

/* Find a fault of a tensor, outside the nodes (node NULL) or in one. */
#define QNNRT_IR__FIND(p, node, code, ...) \
    (qnnrt_ir__find((p)->ir, node, code, "", __VA_ARGS__) || qnnrt_ir__parse_memory(p))

/* Return the name of a tensor, for texts. */
static const char *qnnrt_ir__resolve_name(const qnnrt_ir__ref *ref)
{
    return ref->name != NULL ? ref->name->text : "?";
}

/* Make the value of a symbol as `ref` states it. Return NULL when out of memory. */
static qnnrt_ir_value *qnnrt_ir__resolve_make(qnnrt_ir__parse *p, qnnrt_ir__symbol *name,
                                              const qnnrt_ir__ref *ref, qnnrt_ir_origin origin)
{
    qnnrt_ir_value *value =
        (qnnrt_ir_value *)qnnrt_arena_get(&p->ir->own->arena, 1, sizeof(*value));
    if (value == NULL || !qnnrt_ir__graph_list(p->ir, value)) {
        qnnrt_ir__parse_memory(p);
        return NULL;
    }
    value->name = name != NULL ? name->text : "";
    value->origin = origin;
    value->unknown = ref->fault != NULL;
    if (!qnnrt_ir_set_shape(value, ref->dtype, ref->rank, ref->dims)) value->unknown = 1;
    if (name != NULL && name->value == NULL) name->value = value;
    return value;
}

static int qnnrt_ir__resolve_fault(qnnrt_ir__parse *p, const qnnrt_ir_node *node, const char *what,
                                   const qnnrt_ir__ref *ref)
{
    uint64_t count;
    if (ref->fault != NULL)
        return QNNRT_IR__FIND(p, node, ref->code, "%s \"%.200s\": %s", what,
                              qnnrt_ir__resolve_name(ref), ref->fault);
    return qnnrt_ir__count(ref->rank, ref->dims, &count) ||
           QNNRT_IR__FIND(p, node, QNNRT_E_LIMIT, "%s \"%.200s\": it has more than 2^48 elements",
                          what, qnnrt_ir__resolve_name(ref));
}

static int qnnrt_ir__resolve_same(const qnnrt_ir_value *x, const qnnrt_ir__ref *ref)
{
    return x->dtype == ref->dtype && x->rank == ref->rank &&
           memcmp(x->dims, ref->dims, x->rank * sizeof(*x->dims)) == 0;
}

static int qnnrt_ir__resolve_compare(qnnrt_ir__parse *p, const qnnrt_ir_node *node,
                                     const char *what,
                                     const qnnrt_ir_value *x, const qnnrt_ir__ref *ref)
{
    char a[240], b[240];
    if (ref->fault != NULL || x->unknown || qnnrt_ir__resolve_same(x, ref)) return 1;
    return QNNRT_IR__FIND(p, node, QNNRT_E_MISMATCH, "%s \"%.200s\" is stated as %s, but it is %s",
                          what, x->name,
                          qnnrt_ir__check_text(a, sizeof a, ref->dtype, ref->rank, ref->dims),
                          qnnrt_ir__check_text(b, sizeof b, x->dtype, x->rank, x->dims));
}

/* ---- what the graph has without nodes ---- */

static int qnnrt_ir__resolve_inputs(qnnrt_ir__parse *p)
{
    qnnrt_ir *ir = p->ir;
    size_t i;
    ir->inputs = qnnrt_ir__graph_values(ir, p->inputs.count);
    if (ir->inputs == NULL) return qnnrt_ir__parse_memory(p);
    for (i = 0; i < p->inputs.count; ++i) {
        const qnnrt_ir__ref *ref = (const qnnrt_ir__ref *)p->inputs.at[i];
        if (!qnnrt_ir__resolve_fault(p, NULL, "graph input", ref)) return 0;
        if (ref->name != NULL && ref->name->value != NULL &&
            !QNNRT_IR__FIND(p, NULL, QNNRT_E_FORMAT, "graph input \"%.200s\" occurs twice",
                            ref->name->text)) return 0;
        ir->inputs[i] = qnnrt_ir__resolve_make(p, ref->name, ref, QNNRT_IR_INPUT);
        if (ir->inputs[i] == NULL) return 0;
        ++ir->input_count;
    }
    return 1;
}

static int qnnrt_ir__resolve_ranges(qnnrt_ir__parse *p)
{
    size_t i;
    for (i = 0; i < p->ranges.count; ++i) {
        const qnnrt_ir__range *range = (const qnnrt_ir__range *)p->ranges.at[i];
        qnnrt_ir_value *value = range->name->value;
        const char *why = NULL;
        if (value == NULL || value->origin != QNNRT_IR_INPUT) why = "it is no input of the graph";
        else if (qnnrt_ir_dtype_kind(value->dtype) != 1) why = "the input has no integers";
        else if (range->count != 2 || range->whole != 2 || range->ends[0] > range->ends[1])
            why = "expected the lowest and the highest integer";
        if (why != NULL) {
            if (QNNRT_IR__FIND(p, NULL, QNNRT_E_FORMAT, "range of \"%.200s\": %s",
                               range->name->text, why)) continue;
            return 0;
        }
        value->ranged = 1;
        value->low = range->ends[0];
        value->high = range->ends[1];
    }
    return 1;
}

/* Enter weights, constants and the names of weights at their symbols. */
static int qnnrt_ir__resolve_names(qnnrt_ir__parse *p)
{
    size_t i;
    for (i = 0; i < p->weights.count; ++i) {
        qnnrt_ir__ref *ref = (qnnrt_ir__ref *)p->weights.at[i], *other;
        if (!qnnrt_ir__resolve_fault(p, NULL, "weight", ref)) return 0;
        if (ref->name == NULL) continue;
        other = ref->name->weight;                   /* tied weights may be listed twice */
        if (other != NULL && other->fault == NULL && ref->fault == NULL &&
            (other->dtype != ref->dtype || other->rank != ref->rank ||
             memcmp(other->dims, ref->dims, sizeof(ref->dims)) != 0) &&
            !QNNRT_IR__FIND(p, NULL, QNNRT_E_FORMAT,
                            "weight \"%.200s\" occurs twice, with different "
                            "shapes", ref->name->text)) return 0;
        if (other == NULL) ref->name->weight = ref;
    }
    for (i = 0; i < p->constants.count; ++i) {
        qnnrt_ir__ref *ref = (qnnrt_ir__ref *)p->constants.at[i];
        if (!qnnrt_ir__resolve_fault(p, NULL, "constant", ref)) return 0;
        if (ref->name->constant != NULL &&
            !QNNRT_IR__FIND(p, NULL, QNNRT_E_FORMAT, "constant \"%.200s\" occurs twice",
                            ref->name->text)) return 0;
        ref->name->constant = ref;
    }
    for (i = 0; i < p->pairs.count; ++i) {
        const qnnrt_ir__pair *pair = (const qnnrt_ir__pair *)p->pairs.at[i];
        if (pair->placeholder->key != NULL && pair->placeholder->key != pair->key &&
            !QNNRT_IR__FIND(p, NULL, QNNRT_E_FORMAT,
                            "\"%.200s\" has two names in weight_name_mapping: "
                            "\"%.200s\" and \"%.200s\"", pair->placeholder->text,
                            pair->placeholder->key->text, pair->key->text)) return 0;
        pair->placeholder->key = pair->key;
    }
    return 1;
}

static int qnnrt_ir__resolve_empty(const qnnrt_ir__ref *ref)
{
    uint64_t count;
    return qnnrt_ir__count(ref->rank, ref->dims, &count) && count == 0;
}

/* Return the value of a weight or constant, NULL if there is none of this name, or when out of
   memory. `used`: a tensor of this name as a node states it, or NULL. */
static qnnrt_ir_value *qnnrt_ir__resolve_weight(qnnrt_ir__parse *p, qnnrt_ir__symbol *name,
                                                const qnnrt_ir__ref *used)
{
    qnnrt_ir__symbol *key = name->key != NULL ? name->key : name;
    const qnnrt_ir__ref *weight = key->weight != NULL ? key->weight : name->weight;
    const qnnrt_ir__ref *constant = key->constant != NULL ? key->constant : name->constant;
    const qnnrt_ir__ref *shape = constant != NULL ? constant : weight != NULL ? weight : used;
    qnnrt_ir_value *value;
    if (name->value != NULL) return name->value;
    /* Nested lists without elements do not say the dimensions after the first 0. */
    if (constant != NULL && constant->fault == NULL && !constant->stated &&
        qnnrt_ir__resolve_empty(constant)) {
        shape = weight != NULL ? weight : used;
        if (shape != NULL && (shape->fault != NULL || !qnnrt_ir__resolve_empty(shape)))
            shape = constant;
    }
    if (shape == NULL || (shape == used && constant == NULL && name->key == NULL)) return NULL;
    value = qnnrt_ir__resolve_make(p, name, shape,
                                   constant != NULL ? QNNRT_IR_CONSTANT : QNNRT_IR_WEIGHT);
    if (value == NULL) return NULL;
    value->key = key->text;
    if (constant != NULL) value->data = constant->data;
    if (constant != NULL && weight != NULL && weight->fault == NULL)
        qnnrt_ir__resolve_compare(p, NULL, "constant", value, weight);
    return p->result == QNNRT_OK ? value : NULL;
}

/* Make values of all weights and constants whose shape is stated, so that unused ones are known. */
static int qnnrt_ir__resolve_weights(qnnrt_ir__parse *p)
{
    size_t i;
    for (i = 0; i < p->pairs.count; ++i) {
        const qnnrt_ir__pair *pair = (const qnnrt_ir__pair *)p->pairs.at[i];
        if (qnnrt_ir__resolve_weight(p, pair->placeholder, NULL) == NULL && p->result != QNNRT_OK)
            return 0;
        if (pair->key->weight != NULL) pair->key->weight->index = 1;        /* has a placeholder */
        if (pair->key->constant != NULL) pair->key->constant->index = 1;
    }
    for (i = 0; i < p->weights.count + p->constants.count; ++i) {
        const qnnrt_ir__ref *ref = (const qnnrt_ir__ref *)
            (i < p->weights.count ? p->weights.at[i] : p->constants.at[i - p->weights.count]);
        if (ref->name == NULL || ref->index == 1) continue;
        if (qnnrt_ir__resolve_weight(p, ref->name, NULL) == NULL && p->result != QNNRT_OK) return 0;
    }
    return 1;
}

/* ---- nodes ---- */

/* Name the outputs of a node, and make their values. */
static int qnnrt_ir__resolve_outputs(qnnrt_ir__parse *p, const qnnrt_ir__entry *entry)
{
    qnnrt_ir_node *node = entry->node;
    size_t i;
    node->outputs = qnnrt_ir__graph_values(p->ir, entry->output_count);
    if (node->outputs == NULL || !qnnrt_ir__graph_append(p->ir, node))
        return qnnrt_ir__parse_memory(p);
    for (i = 0; i < entry->output_count; ++i) {
        const qnnrt_ir__ref *ref = entry->outputs[i];
        qnnrt_ir_value *value;
        if (!qnnrt_ir__resolve_fault(p, node, "output", ref)) return 0;
        if (ref->name != NULL && ref->name->value != NULL &&
            !QNNRT_IR__FIND(p, node, QNNRT_E_FORMAT,
                            "its output \"%.200s\" has the name of another value",
                            ref->name->text)) return 0;
        value = qnnrt_ir__resolve_make(p, ref->name, ref, QNNRT_IR_NODE);
        if (value == NULL) return 0;
        value->node = node;
        value->index = (uint32_t)i;
        node->outputs[node->output_count++] = value;
    }
    return 1;
}

static int qnnrt_ir__resolve_node(qnnrt_ir__parse *p, const qnnrt_ir__entry *entry)
{
    qnnrt_ir_node *node = entry->node;
    qnnrt_ir__symbol *name;
    if (node->name[0] == '\0') {
        if (!QNNRT_IR__FIND(p, node, QNNRT_E_FORMAT, "a node has no name")) return 0;
    } else {
        name = qnnrt_ir__graph_symbol(p->ir, node->name, strlen(node->name));
        if (name == NULL) return qnnrt_ir__parse_memory(p);
        if (name->node != NULL) {
            if (!QNNRT_IR__FIND(p, node, QNNRT_E_FORMAT, "line %lu has a node of the same name",
                                (unsigned long)name->node->line)) return 0;
        } else {
            name->node = node;
        }
    }
    if (node->op[0] == '\0' && !QNNRT_IR__FIND(p, node, QNNRT_E_FORMAT, "op_type is missing"))
        return 0;
    return qnnrt_ir__resolve_outputs(p, entry);
}

/* Return the value that a node reads; a stand-in after a finding; NULL when out of memory. */
static qnnrt_ir_value *qnnrt_ir__resolve_read(qnnrt_ir__parse *p, const qnnrt_ir_node *node,
                                              const qnnrt_ir__ref *ref)
{
    const char *name = qnnrt_ir__resolve_name(ref);
    qnnrt_ir_value *value = NULL;
    const qnnrt_ir_node *from = ref->producer != NULL ? ref->producer->node : NULL;
    qnnrt_ir__ref none = *ref;
    if (from != NULL && ref->index < from->output_count) {
        value = from->outputs[ref->index];
        if (strcmp(value->name, name) != 0 && ref->name != NULL &&
            !QNNRT_IR__FIND(p, node, QNNRT_E_FORMAT,
                            "reads \"%.200s\" as output %u of \"%.200s\", which "
                            "is \"%.200s\"", name, (unsigned)ref->index, from->name, value->name))
            return NULL;
    } else if (from != NULL) {
        if (!QNNRT_IR__FIND(p, node, QNNRT_E_FORMAT, "reads output %u of \"%.200s\", which has %u",
                            (unsigned)ref->index, from->name, (unsigned)from->output_count))
            return NULL;
    } else {
        /* Without a producer, or a graph input that names itself. */
        if (ref->name != NULL) value = qnnrt_ir__resolve_weight(p, ref->name, ref);
        if (value == NULL && ref->producer != NULL) value = ref->producer->value;
        if (p->result != QNNRT_OK) return NULL;
        if (value != NULL && ref->producer != NULL && ref->producer->value == NULL &&
            !QNNRT_IR__FIND(p, node, QNNRT_E_FORMAT,
                            "reads \"%.200s\" of node \"%.200s\", which does "
                            "not exist", name, ref->producer->text)) return NULL;
        if (value == NULL &&
            !QNNRT_IR__FIND(p, node, QNNRT_E_FORMAT, "reads \"%.200s\", which is neither "
                                             "an input, a weight, nor an output of a node", name))
            return NULL;
    }
    if (value == NULL) {
        none.fault = "";
        value = qnnrt_ir__resolve_make(p, NULL, &none, QNNRT_IR_INPUT);
        if (value != NULL) value->name = name;
        return value;
    }
    return qnnrt_ir__resolve_compare(p, node, "its input", value, ref) ? value : NULL;
}

/* Put absent inputs where the operator expects them. */
static int qnnrt_ir__resolve_absent(qnnrt_ir__parse *p, const qnnrt_ir__entry *entry)
{
    qnnrt_ir_node *node = entry->node;
    const qnnrt_ir_attr *mask = qnnrt_ir_attr_find(node, "_tensor_list_none_masks");
    qnnrt_ir_value **list;
    size_t i, from = 1, to = 1;
    if (entry->absent[0] != '\0') {              /* as qnnrt_ir_write() writes it */
        const size_t count = strlen(entry->absent);
        list = qnnrt_ir__graph_values(p->ir, node->input_count + count);
        if (list == NULL) return qnnrt_ir__parse_memory(p);
        for (from = to = 0; to < count; ++to)
            if (entry->absent[to] != '-' && from < node->input_count)
                list[to] = node->inputs[from++];
        while (from < node->input_count) list[to++] = node->inputs[from++];
        node->inputs = list;
        node->input_count = to;
        return 1;
    }
    if ((strcmp(node->op, "index.Tensor") == 0 || strncmp(node->op, "index_put", 9) == 0) &&
        mask != NULL && mask->ints != NULL) {
        list = qnnrt_ir__graph_values(p->ir, node->input_count + mask->count);
        if (list == NULL) return qnnrt_ir__parse_memory(p);
        if (node->input_count > 0) list[0] = node->inputs[0];
        for (i = 0; i < mask->count; ++i)
            list[to++] = mask->ints[i] == 0 &&
                from < node->input_count ? node->inputs[from++] : NULL;
        while (from < node->input_count) list[to++] = node->inputs[from++];
        if (node->input_count > 0) node->input_count = to;
        node->inputs = list;
    }
    /* Exports differ in the order of the two: inv_freq first, then positions. */
    if (strcmp(node->op, "rope") == 0 && node->input_count == 2 && node->inputs[1]->rank == 1 &&
        qnnrt_ir_dtype_kind(node->inputs[0]->dtype) == 1) {
        qnnrt_ir_value *const positions = node->inputs[0];
        node->inputs[0] = node->inputs[1];
        node->inputs[1] = positions;
    }
    /* Files of pytorch-ir do not say which bound is there, so none is. */
    if (strcmp(node->op, "clamp.Tensor") == 0 && node->input_count == 2 && !p->ir->own->exported)
        node->input_count = 1;
    /* Without weights, the two running statistics alone. */
    if (strstr(node->op, "batch_norm") != NULL && node->input_count == 3) {
        list = qnnrt_ir__graph_values(p->ir, 5);
        if (list == NULL) return qnnrt_ir__parse_memory(p);
        list[0] = node->inputs[0];
        list[3] = node->inputs[1];
        list[4] = node->inputs[2];
        node->inputs = list;
        node->input_count = 5;
    }
    return 1;
}

static int qnnrt_ir__resolve_reads(qnnrt_ir__parse *p, const qnnrt_ir__entry *entry)
{
    qnnrt_ir_node *node = entry->node;
    size_t i;
    node->inputs = qnnrt_ir__graph_values(p->ir, entry->input_count);
    if (node->inputs == NULL) return qnnrt_ir__parse_memory(p);
    for (i = 0; i < entry->input_count; ++i) {
        const qnnrt_ir__ref *ref = entry->inputs[i];
        if (!qnnrt_ir__resolve_fault(p, node, "its input", ref)) return 0;
        node->inputs[i] = qnnrt_ir__resolve_read(p, node, ref);
        if (node->inputs[i] == NULL) return 0;
        ++node->input_count;
    }
    return qnnrt_ir__resolve_absent(p, entry);
}

static int qnnrt_ir__resolve_results(qnnrt_ir__parse *p)
{
    qnnrt_ir *ir = p->ir;
    size_t i;
    ir->outputs = qnnrt_ir__graph_values(ir, p->outputs.count);
    if (ir->outputs == NULL) return qnnrt_ir__parse_memory(p);
    for (i = 0; i < p->outputs.count; ++i) {
        const qnnrt_ir__ref *ref = (const qnnrt_ir__ref *)p->outputs.at[i];
        qnnrt_ir_value *value = NULL;
        if (!qnnrt_ir__resolve_fault(p, NULL, "graph output", ref)) return 0;
        if (ref->name != NULL) value = qnnrt_ir__resolve_weight(p, ref->name, ref);
        if (p->result != QNNRT_OK) return 0;
        if (value == NULL) {
            if (!QNNRT_IR__FIND(p, NULL, QNNRT_E_FORMAT,
                                "graph output \"%.200s\" is neither an input, a "
                                "weight, nor an output of a node", qnnrt_ir__resolve_name(ref)))
                return 0;
            value = qnnrt_ir__resolve_make(p, NULL, ref, QNNRT_IR_INPUT);
            if (value == NULL) return 0;
            value->name = qnnrt_ir__resolve_name(ref);
            value->unknown = 1;
        }
        if (!qnnrt_ir__resolve_compare(p, NULL, "graph output", value, ref)) return 0;
        ir->outputs[ir->output_count++] = value;
    }
    if (ir->output_count == 0)
        return QNNRT_IR__FIND(p, NULL, QNNRT_E_FORMAT, "the graph has no outputs");
    return 1;
}

/* Find a name of a state among the inputs or the outputs of the graph: an output that occurs twice
   at its last place, after those of the user. Return their number if it is not there. */
static size_t qnnrt_ir__resolve_place(qnnrt_ir_value *const *list, size_t count,
                                      const qnnrt_ir__symbol *name)
{
    size_t i = count;
    while (i > 0 && (name == NULL || strcmp(list[i - 1]->name, name->text) != 0)) --i;
    return i > 0 ? i - 1 : count;
}

static int qnnrt_ir__resolve_state(qnnrt_ir__parse *p, const qnnrt_ir_state *list, size_t count)
{
    const qnnrt_ir *const ir = p->ir;
    const qnnrt_ir_state *state = &list[count];
    const qnnrt_ir_value *from, *to;
    char a[240], b[240];
    size_t i;
    if (state->name[0] == '\0')
        return QNNRT_IR__FIND(p, NULL, QNNRT_E_FORMAT, "a state has no name");
    if (state->input == ir->input_count || state->output == ir->output_count)
        return QNNRT_IR__FIND(p, NULL, QNNRT_E_FORMAT, "state \"%.200s\": its \"%s\" is not one of"
                              " the graph", state->name,
                              state->input == ir->input_count ? "input" : "output");
    for (i = 0; i < count; ++i)
        if (list[i].input == state->input || list[i].output == state->output ||
            strcmp(list[i].name, state->name) == 0)
            return QNNRT_IR__FIND(p, NULL, QNNRT_E_FORMAT, "state \"%.200s\" has the name, the"
                                  " input or the output of another one", state->name);
    from = ir->inputs[state->input];
    to = ir->outputs[state->output];
    if (from->unknown || to->unknown ||
        (from->dtype == to->dtype && qnnrt_ir_same_shape(from, to))) return 1;
    return QNNRT_IR__FIND(p, NULL, QNNRT_E_MISMATCH, "state \"%.200s\" is %s, but its next value is"
                          " %s", state->name,
                          qnnrt_ir__check_text(a, sizeof a, from->dtype, from->rank, from->dims),
                          qnnrt_ir__check_text(b, sizeof b, to->dtype, to->rank, to->dims));
}

static int qnnrt_ir__resolve_states(qnnrt_ir__parse *p)
{
    qnnrt_ir *ir = p->ir;
    qnnrt_ir_state *list = (qnnrt_ir_state *)qnnrt_arena_get(&ir->own->arena, p->states.count + 1,
                                                             sizeof(*list));
    size_t i;
    if (list == NULL) return qnnrt_ir__parse_memory(p);
    for (i = 0; i < p->states.count; ++i) {
        const qnnrt_ir__kept *kept = (const qnnrt_ir__kept *)p->states.at[i];
        list[i].name = kept->name != NULL ? kept->name->text : "";
        list[i].input = qnnrt_ir__resolve_place(ir->inputs, ir->input_count, kept->input);
        list[i].output = qnnrt_ir__resolve_place(ir->outputs, ir->output_count, kept->output);
        if (!qnnrt_ir__resolve_state(p, list, i)) return 0;
    }
    ir->states = list;
    ir->state_count = p->states.count;
    return 1;
}

static int qnnrt_ir__resolve_all(qnnrt_ir__parse *p)
{
    size_t i;
    if (!qnnrt_ir__resolve_inputs(p) || !qnnrt_ir__resolve_ranges(p) ||
        !qnnrt_ir__resolve_names(p)) return 0;
    for (i = 0; i < p->nodes.count; ++i)
        if (!qnnrt_ir__resolve_node(p, (const qnnrt_ir__entry *)p->nodes.at[i])) return 0;
    if (!qnnrt_ir__resolve_weights(p)) return 0;
    for (i = 0; i < p->nodes.count; ++i)
        if (!qnnrt_ir__resolve_reads(p, (const qnnrt_ir__entry *)p->nodes.at[i])) return 0;
    if (!qnnrt_ir__resolve_results(p) || !qnnrt_ir__resolve_states(p)) return 0;
    qnnrt_ir__graph_users(p->ir);
    p->ir->own->kept = p->ir->own->found;
    p->ir->own->lost_kept = p->ir->own->lost;
    return 1;
}

/* =====================================================================================
   WIDE                                                                            >>wide
   Tensors of the evaluator, as they are stored. Floats are read as double, integers and bools as
   int64.
   Needs: >>config >>dtype >>number     Knows nothing of: operators
   ===================================================================================== */

typedef struct qnnrt_ir__wide {
    uint32_t             rank;
    int64_t              dims[QNNRT_IR_RANK];
    int64_t              count;
    qnnrt_dtype          dtype;
    size_t               bytes;              /* of an element; 0: the tensor is absent */
    int                  whole;              /* 1: of integers or bools */
    const unsigned char *data;               /* of any alignment */
    unsigned char       *room;               /* data of a tensor that is written, else NULL */
} qnnrt_ir__wide;

/* The place of an element. */
static const unsigned char *qnnrt_ir__wide_at(const qnnrt_ir__wide *x, int64_t at)
{
    QNNRT_IR__MUST(x->bytes > 0 && at >= 0 && at < x->count);
    return x->data + (size_t)at * x->bytes;
}

static unsigned char *qnnrt_ir__wide_room(const qnnrt_ir__wide *x, int64_t at)
{
    QNNRT_IR__MUST(at >= 0 && at < x->count);
    return x->room + (size_t)at * x->bytes;
}

static double qnnrt_ir__wide_f(const qnnrt_ir__wide *x, int64_t at)
{
    const unsigned char *const from = qnnrt_ir__wide_at(x, at);
    float f32;
    if (x->dtype == QNNRT_DTYPE_F32) {
        memcpy(&f32, from, sizeof f32);
        return (double)f32;
    }
    return x->whole ? (double)qnnrt_ir_element_int(from, x->dtype)
                    : qnnrt_ir_element_float(from, x->dtype);
}

/* Convert to an integer; what is too large becomes the end of the range. */
static int64_t qnnrt_ir__wide_round(double f)
{
    return f > -9.2e18 && f < 9.2e18 ? (int64_t)f : f < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t qnnrt_ir__wide_i(const qnnrt_ir__wide *x, int64_t at)
{
    if (x->whole) return qnnrt_ir_element_int(qnnrt_ir__wide_at(x, at), x->dtype);
    return qnnrt_ir__wide_round(qnnrt_ir__wide_f(x, at));
}

/* Return an element as an integer that becomes a dtype. */
static int64_t qnnrt_ir__wide_as(const qnnrt_ir__wide *x, int64_t at, qnnrt_dtype dtype)
{
    const double f = x->whole || dtype != QNNRT_DTYPE_BOOL8 ? 0 : qnnrt_ir__wide_f(x, at);
    return f < 0 || f > 0 || f != f ? 1 : qnnrt_ir__wide_i(x, at);
}

static void qnnrt_ir__wide_put(qnnrt_ir__wide *x, int64_t at, double f)
{
    const float f32 = (float)f;
    unsigned char *const to = qnnrt_ir__wide_room(x, at);
    if (x->dtype == QNNRT_DTYPE_F32) memcpy(to, &f32, sizeof f32);
    else qnnrt_ir_element_put(to, x->dtype, x->dtype == QNNRT_DTYPE_BOOL8 ? !(f >= 0 && f <= 0)
                                                                         : qnnrt_ir__wide_round(f),
                              f);
}

static void qnnrt_ir__wide_set(qnnrt_ir__wide *x, int64_t at, int64_t i)
{
    qnnrt_ir_element_put(qnnrt_ir__wide_room(x, at), x->dtype, i, (double)i);
}

/* Copy one element, converted. */
static void qnnrt_ir__wide_move(qnnrt_ir__wide *to, int64_t at, const qnnrt_ir__wide *x,
                                int64_t from)
{
    if (to->whole && x->whole) qnnrt_ir__wide_set(to, at, qnnrt_ir__wide_i(x, from));
    else qnnrt_ir__wide_put(to, at, qnnrt_ir__wide_f(x, from));
}

/* Return the dtype in which a value is stored: its own, but float32 for narrower floats that a run
   with `widen` makes. */
static qnnrt_dtype qnnrt_ir__wide_dtype(const qnnrt_ir_value *value, int widen)
{
    const int narrow = value->dtype == QNNRT_DTYPE_F16 || value->dtype == QNNRT_DTYPE_BF16;
    const int made = value->origin == QNNRT_IR_NODE || value->origin == QNNRT_IR_INPUT;
    return widen && narrow && made ? QNNRT_DTYPE_F32 : value->dtype;
}

/* Begin a tensor without data. Return 0 if its dtype or shape is wrong. */
static int qnnrt_ir__wide_begin(qnnrt_ir__wide *x, qnnrt_dtype dtype, uint32_t rank,
                                const int64_t *dims)
{
    const int row = qnnrt_ir__dtype_row(dtype);
    uint64_t count;
    memset(x, 0, sizeof(*x));
    if (row < 0 || !qnnrt_ir__count(rank, dims, &count)) return 0;
    x->rank = rank;
    if (rank > 0) memcpy(x->dims, dims, rank * sizeof(*dims));
    x->count = (int64_t)count;
    x->dtype = dtype;
    x->bytes = (size_t)qnnrt_ir__dtypes[row].bytes;
    x->whole = qnnrt_ir__dtypes[row].kind < 2;
    return 1;
}

/* Let a tensor be written to `room`, or with NULL to new memory. Return 0 when out of memory. */
static int qnnrt_ir__wide_make(qnnrt_arena *arena, qnnrt_ir__wide *x, void *room)
{
    if (room == NULL) room = qnnrt_arena_get(arena, (uint64_t)x->count + 1, x->bytes);
    x->data = x->room = (unsigned char *)room;
    return room != NULL;
}

/* A walk over the elements of a shape, with the place in each of up to 4 tensors. */
typedef struct qnnrt_ir__walk {
    uint32_t rank;
    int64_t  dims[QNNRT_IR_RANK], at[QNNRT_IR_RANK];
    int64_t  stride[4][QNNRT_IR_RANK], place[4];
} qnnrt_ir__walk;

static void qnnrt_ir__walk_begin(qnnrt_ir__walk *w, uint32_t rank, const int64_t *dims)
{
    memset(w, 0, sizeof(*w));
    w->rank = rank;
    if (rank > 0) memcpy(w->dims, dims, rank * sizeof(*dims));
}

/* Get the distances of neighbours in a tensor. */
static void qnnrt_ir__walk_strides(const qnnrt_ir__wide *x, int64_t stride[QNNRT_IR_RANK])
{
    int64_t step = 1;
    uint32_t d;
    for (d = x->rank; d-- > 0; step *= x->dims[d]) stride[d] = step;
}

/* Let tensor k take part, broadcast to the shape of the walk. */
static void qnnrt_ir__walk_add(qnnrt_ir__walk *w, int k, const qnnrt_ir__wide *x)
{
    int64_t stride[QNNRT_IR_RANK];
    uint32_t d;
    qnnrt_ir__walk_strides(x, stride);
    for (d = 0; d < x->rank; ++d) {
        const int64_t dim = x->dims[x->rank - 1 - d];
        QNNRT_IR__MUST(dim == 1 || (d < w->rank && dim == w->dims[w->rank - 1 - d]));
        if (dim != 1 && d < w->rank) w->stride[k][w->rank - 1 - d] = stride[x->rank - 1 - d];
    }
}

static void qnnrt_ir__walk_next(qnnrt_ir__walk *w)
{
    uint32_t d;
    int k;
    for (d = w->rank; d-- > 0;) {
        for (k = 0; k < 4; ++k) w->place[k] += w->stride[k][d];
        if (++w->at[d] < w->dims[d]) return;
        for (k = 0; k < 4; ++k) w->place[k] -= w->stride[k][d] * w->dims[d];
        w->at[d] = 0;
    }
}

/* Take the last dimensions of a walk from it where they are as one: elements `step` apart in each
   tensor. Return how many. */
static int64_t qnnrt_ir__walk_run(qnnrt_ir__walk *w, int64_t step[4])
{
    int64_t run = 1;
    int k, one = 1;
    memset(step, 0, 4 * sizeof(*step));
    for (; w->rank > 0 && one; w->rank -= (uint32_t)one) {
        const uint32_t d = w->rank - 1;
        for (k = 0; k < 4 && run > 1 && w->dims[d] > 1; ++k)
            one &= w->stride[k][d] == step[k] * run;
        if (!one) break;
        for (k = 0; k < 4 && run == 1; ++k) step[k] = w->stride[k][d];
        run *= w->dims[d];
    }
    return run;
}

/* The elements of a tensor before, in and after one dimension: [outer, size, inner]. */
static void qnnrt_ir__wide_split(const qnnrt_ir__wide *x, uint32_t axis, int64_t *outer,
                                 int64_t *size, int64_t *inner)
{
    uint32_t d;
    *outer = *inner = 1;
    *size = x->rank == 0 ? 1 : x->dims[axis];
    for (d = 0; d < axis; ++d) *outer *= x->dims[d];
    for (d = axis + 1; d < x->rank; ++d) *inner *= x->dims[d];
}

/* =====================================================================================
   EVALUATION: MATHEMATICS                                                   >>eval_math
   Operators over dimensions.
   Needs: >>attr >>wide     Knows nothing of: layouts
   ===================================================================================== */

/* One node with its tensors. The functions below fill the outputs, whose shapes are right, and
   return 1; or they return qnnrt_ir__eval_no(). */
typedef struct qnnrt_ir__eval {
    const qnnrt_ir_node *node;
    qnnrt_arena         *arena;
    qnnrt_ir__wide      *in, *out;           /* in[k].bytes 0: absent */
    size_t               in_count, out_count;
    int                  widen;              /* 1: see qnnrt_ir__wide_dtype() */
    const char          *why;
} qnnrt_ir__eval;

static int qnnrt_ir__eval_no(qnnrt_ir__eval *e, const char *why)
{
    e->why = why;
    return 0;
}

/* Get memory for the node. Return NULL when out of memory, with e->why. */
static void *qnnrt_ir__eval_get(qnnrt_ir__eval *e, int64_t count, size_t size)
{
    void *data = qnnrt_arena_get(e->arena, (uint64_t)count + 1, size);
    if (data == NULL) e->why = "out of memory";
    return data;
}

static const qnnrt_ir__wide *qnnrt_ir__eval_in(const qnnrt_ir__eval *e, size_t k)
{
    return k < e->in_count && e->in[k].bytes > 0 ? &e->in[k] : NULL;
}

/* Return true if an operator has this name, without its overload and the "_" of in-place ones. */
static int qnnrt_ir__eval_is(const qnnrt_ir_node *node, const char *stem)
{
    const size_t bytes = strlen(stem);
    if (strncmp(node->op, stem, bytes) != 0) return 0;
    return node->op[bytes] == '.' || node->op[bytes] == '\0' ||
           (node->op[bytes] == '_' && node->op[bytes + 1] == '.');
}

static int qnnrt_ir__eval_text(const qnnrt_ir_node *node, const char *name, const char *text)
{
    const qnnrt_ir_attr *attr = qnnrt_ir_attr_find(node, name);
    return attr != NULL && attr->kind == QNNRT_IR_TEXT && strcmp(attr->text, text) == 0;
}

/* Make a tensor of one number argument. */
static int qnnrt_ir__eval_scalar(qnnrt_ir__eval *e, const char *name, qnnrt_ir__wide *x)
{
    const qnnrt_dtype dtype = qnnrt_ir__attr_scalar(e->node, name);
    if (!qnnrt_ir__wide_begin(x, dtype == QNNRT_DTYPE_F32 ? QNNRT_DTYPE_F64 : QNNRT_DTYPE_I64, 0,
                              NULL) || !qnnrt_ir__wide_make(e->arena, x, NULL))
        return qnnrt_ir__eval_no(e, "out of memory");
    if (!x->whole) qnnrt_ir__wide_put(x, 0, qnnrt_ir_float(e->node, name, 0));
    else qnnrt_ir__wide_set(x, 0, qnnrt_ir_int(e->node, name, 0));
    return 1;
}

enum qnnrt_ir__fold {
    QNNRT_IR__MEAN, QNNRT_IR__SUM, QNNRT_IR__PROD, QNNRT_IR__FOLD_MAX, QNNRT_IR__FOLD_MIN,
    QNNRT_IR__ANY, QNNRT_IR__ALL, QNNRT_IR__ARGMAX, QNNRT_IR__ARGMIN, QNNRT_IR__VAR, QNNRT_IR__STD,
    QNNRT_IR__NORM, QNNRT_IR__LOG_SUM
};
static const struct { const char *name; int what; } qnnrt_ir__fold_names[] = {
    { "mean", QNNRT_IR__MEAN }, { "sum", QNNRT_IR__SUM }, { "prod", QNNRT_IR__PROD },
    { "amax", QNNRT_IR__FOLD_MAX }, { "max", QNNRT_IR__FOLD_MAX }, { "amin", QNNRT_IR__FOLD_MIN },
    { "min", QNNRT_IR__FOLD_MIN }, { "any", QNNRT_IR__ANY }, { "all", QNNRT_IR__ALL },
    { "argmax", QNNRT_IR__ARGMAX }, { "argmin", QNNRT_IR__ARGMIN }, { "var", QNNRT_IR__VAR },
    { "std", QNNRT_IR__STD }, { "var_mean", QNNRT_IR__VAR }, { "std_mean", QNNRT_IR__STD },
    { "linalg_vector_norm", QNNRT_IR__NORM }, { "logsumexp", QNNRT_IR__LOG_SUM },
};

/* What a reduction has seen so far. */
typedef struct qnnrt_ir__sum {
    double  f, mean;                         /* mean, and sum of squares around it: Welford */
    int64_t i, n, best;
} qnnrt_ir__sum;

static void qnnrt_ir__fold_add(int what, double order, qnnrt_ir__sum *s, double f, int64_t i,
                               int64_t at)
{
    const double delta = f - s->mean;
    const int first = s->n++ == 0;
    switch (what) {
    case QNNRT_IR__MEAN: s->f += f; break;
    case QNNRT_IR__SUM: s->f += f; s->i = (int64_t)((uint64_t)s->i + (uint64_t)i); break;
    case QNNRT_IR__PROD:
        s->f = first ? f : s->f * f;
        s->i = first ? i : (int64_t)((uint64_t)s->i * (uint64_t)i);
        break;
    case QNNRT_IR__FOLD_MAX:
    case QNNRT_IR__ARGMAX:
        if (first || f > s->f || i > s->i || (f != f && s->f == s->f))
            { s->f = f; s->i = i; s->best = at; }
        break;
    case QNNRT_IR__FOLD_MIN:
    case QNNRT_IR__ARGMIN:
        if (first || f < s->f || i < s->i || (f != f && s->f == s->f))
            { s->f = f; s->i = i; s->best = at; }
        break;
    case QNNRT_IR__ANY: if (f < 0 || f > 0 || f != f) s->i = 1; break;
    case QNNRT_IR__ALL: if (first) s->i = 1; if (!(f < 0 || f > 0 || f != f)) s->i = 0; break;
    case QNNRT_IR__NORM:
        f = fabs(f);
        if (order > 1e308) s->f = f > s->f ? f : s->f;
        else if (order < -1e308) s->f = first || f < s->f ? f : s->f;
        else s->f += order <= 0 && order >= 0 ? f > 0 : pow(f, order);
        break;
    case QNNRT_IR__LOG_SUM:                                    /* mean: the largest so far */
        if (first || f > s->mean) {
            s->f = first ? 1 : s->f * exp(s->mean - f) + 1;
            s->mean = f;
        } else {
            s->f += f < s->mean || f != f ? exp(delta) : 1;
        }
        break;
    default:                                                            /* VAR, STD */
        s->mean += delta / (double)s->n;
        s->f += delta * (f - s->mean);
    }
}

static double qnnrt_ir__fold_end(int what, double order, double correction, const qnnrt_ir__sum *s)
{
    const double divisor = (double)s->n > correction ? (double)s->n - correction : 0;
    switch (what) {
    case QNNRT_IR__MEAN: return s->f / (double)s->n;
    case QNNRT_IR__VAR: return s->f / divisor;
    case QNNRT_IR__STD: return sqrt(s->f / divisor);
    case QNNRT_IR__LOG_SUM: return s->n == 0 ? -HUGE_VAL : s->mean + log(s->f);
    case QNNRT_IR__NORM:
        return order > 1e308 || order < -1e308 || (order <= 0 && order >= 0) ? s->f
                                                                            : pow(s->f, 1 / order);
    default: return s->f;
    }
}

static int qnnrt_ir__eval_reduce(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0];
    const double order = qnnrt_ir_float(e->node, "ord", 2);
    const double correction = qnnrt_ir__attr_has(e->node, "unbiased")
                                  ? qnnrt_ir_float(e->node, "unbiased", 1)
                                  : qnnrt_ir_float(e->node, "correction", 1);
    const int one = qnnrt_ir__attr_has(e->node, "dim") &&
                    qnnrt_ir_attr_find(e->node, "dim")->kind == QNNRT_IR_INT;
    qnnrt_ir__sum *sums;
    int64_t list[QNNRT_IR_RANK], k, step = 1, flat = 0;
    const size_t given = qnnrt_ir_ints(e->node, "dim", list);
    qnnrt_ir__walk w;
    uint32_t bits = 0, d;
    size_t row = 0;
    int what, cut;                                       /* cut: floats become integers first */
    while (!qnnrt_ir__eval_is(e->node, qnnrt_ir__fold_names[row].name)) ++row;
    what = qnnrt_ir__fold_names[row].what;
    cut = e->out->whole && (what == QNNRT_IR__SUM || what == QNNRT_IR__PROD);
    for (k = 0; k < (int64_t)given && k < QNNRT_IR_RANK; ++k)
        bits |= (uint32_t)1 << (list[k] < 0 ? list[k] + (x->rank == 0 ? 1 : x->rank) : list[k]);
    if (given == 0) bits = UINT32_MAX;
    sums = (qnnrt_ir__sum *)qnnrt_ir__eval_get(e, e->out->count, sizeof(*sums));
    if (sums == NULL) return 0;
    qnnrt_ir__walk_begin(&w, x->rank, x->dims);
    for (d = x->rank; d-- > 0;) {                        /* the reduced dimensions stay in place */
        if (bits >> d & 1) continue;
        w.stride[0][d] = step;
        step *= x->dims[d];
    }
    for (k = 0; k < x->count; ++k, qnnrt_ir__walk_next(&w)) {
        flat = k;
        for (d = 0; one && d < x->rank; ++d) if (bits >> d & 1) flat = w.at[d];
        qnnrt_ir__fold_add(what, order, &sums[w.place[0]], qnnrt_ir__wide_f(x, k),
                           x->whole || cut ? qnnrt_ir__wide_as(x, k, e->out->dtype) : 0, flat);
    }
    for (k = 0; k < e->out->count; ++k) {
        const qnnrt_ir__sum *s = &sums[k];
        if (what == QNNRT_IR__ARGMAX || what == QNNRT_IR__ARGMIN)
            qnnrt_ir__wide_set(e->out, k, s->best);
        else if (!e->out->whole)
            qnnrt_ir__wide_put(e->out, k, qnnrt_ir__fold_end(what, order, correction, s));
        else qnnrt_ir__wide_set(e->out, k, s->i);
        if (e->out_count == 2 && what >= QNNRT_IR__VAR)                 /* var_mean, std_mean */
            qnnrt_ir__wide_put(&e->out[1], k, s->n == 0 ? NAN : s->mean);
        else if (e->out_count == 2)                                     /* max.dim, min.dim */
            qnnrt_ir__wide_set(&e->out[1], k, s->best);
        if (s->n == 0 && (what == QNNRT_IR__PROD || what == QNNRT_IR__ALL))
            qnnrt_ir__wide_put(e->out, k, 1);
    }
    return 1;
}

static uint32_t qnnrt_ir__eval_axis(const qnnrt_ir__eval *e, const char *name, uint32_t rank)
{
    const int64_t dim = qnnrt_ir_int(e->node, name, 0);
    return (uint32_t)(dim < 0 ? dim + (rank == 0 ? 1 : rank) : dim);
}

/* Get the element of inputs 1, 0 and 2, joined along a dimension, at one place of it. */
static const qnnrt_ir__wide *qnnrt_ir__eval_joined(const qnnrt_ir__eval *e, uint32_t axis,
                                                   int64_t o, int64_t at, int64_t inner, int64_t k,
                                                   int64_t *place)
{
    static const size_t order[3] = { 1, 0, 2 };
    size_t i;
    for (i = 0; i < 3; ++i) {
        const qnnrt_ir__wide *x = qnnrt_ir__eval_in(e, order[i]);
        if (x == NULL) continue;
        if (at < x->dims[axis]) { *place = (o * x->dims[axis] + at) * inner + k; return x; }
        at -= x->dims[axis];
    }
    return NULL;
}

static int qnnrt_ir__eval_diff(qnnrt_ir__eval *e)
{
    const uint32_t axis = qnnrt_ir__eval_axis(e, "dim", e->out->rank);
    int64_t outer, size, inner, n, a = 0, b = 0;
    qnnrt_ir__wide_split(e->out, axis, &outer, &size, &inner);
    for (n = 0; n < e->out->count; ++n) {
        const int64_t o = n / inner / size, at = n / inner % size, k = n % inner;
        const qnnrt_ir__wide *x = qnnrt_ir__eval_joined(e, axis, o, at, inner, k, &a);
        const qnnrt_ir__wide *y = qnnrt_ir__eval_joined(e, axis, o, at + 1, inner, k, &b);
        if (x == NULL || y == NULL) return qnnrt_ir__eval_no(e, "the inputs are too short");
        if (!e->out->whole)
            qnnrt_ir__wide_put(e->out, n, qnnrt_ir__wide_f(y, b) - qnnrt_ir__wide_f(x, a));
        else                                             /* of bools: whether they differ */
            qnnrt_ir__wide_set(e->out, n, (int64_t)((uint64_t)qnnrt_ir__wide_i(y, b) -
                                                    (uint64_t)qnnrt_ir__wide_i(x, a)));
    }
    return 1;
}

static int qnnrt_ir__eval_softmax(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0];
    const int logarithm = strncmp(e->node->op, "log_", 4) == 0;
    const int safe = strncmp(e->node->op, "_safe_", 6) == 0;   /* rows of -infinity become 0 */
    int64_t outer, size, inner, o, n;
    qnnrt_ir__wide_split(x, qnnrt_ir__eval_axis(e, "dim", x->rank), &outer, &size, &inner);
    for (o = 0; o < outer * inner; ++o) {
        const int64_t begin = o / inner * size * inner + o % inner;
        double most = -HUGE_VAL, sum = 0, t;
        int seen = !safe;
        for (n = 0; n < size; ++n) {
            t = qnnrt_ir__wide_f(x, begin + n * inner);
            if (t > most) most = t;
            if (!(t <= -HUGE_VAL)) seen = 1;
        }
        for (n = 0; n < size; ++n) sum += exp(qnnrt_ir__wide_f(x, begin + n * inner) - most);
        for (n = 0; n < size; ++n) {
            t = qnnrt_ir__wide_f(x, begin + n * inner) - most;
            t = logarithm ? t - log(sum) : exp(t) / sum;
            qnnrt_ir__wide_put(e->out, begin + n * inner, seen ? t : 0);
        }
    }
    return 1;
}

/* =====================================================================================
   ELEMENTS                                                                    >>elements
   Operators on each element, as recipes: words in postfix order.
   Needs: >>dtype >>attr >>shape_math >>number >>wide >>eval_math     Knows nothing of: layouts
   ===================================================================================== */

/* What qnnrt_ir_recipe() returns, behind the names of operators. A name with its overload goes
   before others; "name/text": with this text among the arguments. */
#define QNNRT_IR__WORD(name) name ": a " name
static const char *const qnnrt_ir__recipes[] = {
    "relu: a 0 max", "relu6: a 0 max 6 min", "hardtanh: a .min_val max .max_val min",
    "clamp.default: a .min|-inf max .max|inf min", "clamp.Tensor: a b|-inf max c|inf min",
    "clamp_min maximum max.other: a b max", "clamp_max minimum min.other: a b min",
    "silu q.silu: a a sigmoid *",
    "gelu/tanh q.gelu/tanh: a a a a * * 0.044715 * a + 0.7978845608028654 * tanh 1 + * 0.5 *",
    "gelu q.gelu: a a 0.7071067811865475 * erf 1 + * 0.5 *", "hardsigmoid: a 3 + 0 max 6 min 6 /",
    "hardswish: a a 3 + 0 max 6 min 6 / *", "leaky_relu: a 0 > a a .negative_slope * ?",
    "prelu _prelu_kernel: a 0 > a a b * ?",
    "elu: a 0 max a 0 min .input_scale * expm1 .alpha * + .scale *",
    "celu: a 0 max a 0 min .alpha / expm1 .alpha * +",
    "selu: a 0 max a 0 min expm1 1.6732632423543772 * + 1.0507009873554805 *",
    "softplus: a .beta * .threshold > a a .beta * softplus .beta / ?", "mish: a a softplus tanh *",
    "log_sigmoid: a 0 min a abs -1 * exp log1p -", "hardshrink: a a abs .lambd > *",
    "softshrink: a a .lambd -1 * max .lambd min -", "threshold: a .threshold <= .value a ?",
    "neg: a -1 *", "sgn: a sign", "square: a a *", "rsqrt: 1 a sqrt /", "reciprocal: 1 a /",
    "round.decimals: a 10 .decimals pow * round 10 .decimals pow /", "frac: a a trunc -",
    "deg2rad: a 0.017453292519943295 *", "rad2deg: a 57.29577951308232 *",
    "sinc: a 0 == 1 a 3.141592653589793 * sin a 3.141592653589793 * / ?",
    "logit: a .eps|-inf max 1 .eps|-inf - min 1 a .eps|-inf max 1 .eps|-inf - min - / log",
    "logical_not: a 0 ==", "isnan: a a !=", "isinf: a abs most >", "isfinite: a abs most <=",
    "isposinf: a most >", "isneginf: a -most <",
    "nan_to_num: a a == a most > .posinf|most a -most < .neginf|-most a ? ? .nan ?",
    "bitwise_not: a ~", "add: a b .alpha * +", "sub: a b .alpha * -", "rsub: b a .alpha * -",
    "mul: a b *", "div/floor floor_divide: a b //", "div/trunc: a b quotient", "div: a b /",
    "remainder: a b %", "fmod: a b fmod", "pow: a b pow", "fmax: b b == a a == a b max b ? a ?",
    "fmin: b b == a a == a b min b ? a ?", "atan2: a b atan2", "hypot: a b hypot",
    "copysign: a b copysign", "xlogy: a 0 == b b == * 0 a b log * ?",
    "logaddexp: a b == a 0.6931471805599453 + a b max a b - abs -1 * exp log1p + ?",
    "heaviside: a 0 == b a 0 > ?", "lerp: a b a - c * +", "addcmul: a .value b * c * +",
    "addcdiv: a .value b * c / +", "eq: a b ==", "ne: a b !=", "lt: a b <", "le: a b <=",
    "gt: a b >", "ge: a b >=", "logical_and: a 0 != b 0 != *", "logical_or: a 0 != b 0 != max",
    "logical_xor: a 0 != b 0 != !=", "__and__ bitwise_and: a b &", "__or__ bitwise_or: a b or",
    "__xor__ bitwise_xor: a b ^", "__lshift__ bitwise_left_shift: a b <<",
    "__rshift__ bitwise_right_shift: a b >>", "where.ScalarSelf: a .self b ?",
    "where.Scalar: a .self .other ?", "where: a b c ?", "masked_fill: b c a ?",
    QNNRT_IR__WORD("sigmoid"), QNNRT_IR__WORD("tanh"), QNNRT_IR__WORD("abs"),
    QNNRT_IR__WORD("sign"), QNNRT_IR__WORD("floor"), QNNRT_IR__WORD("ceil"),
    QNNRT_IR__WORD("round"), QNNRT_IR__WORD("trunc"), QNNRT_IR__WORD("sqrt"), QNNRT_IR__WORD("exp"),
    QNNRT_IR__WORD("exp2"), QNNRT_IR__WORD("expm1"), QNNRT_IR__WORD("log"), QNNRT_IR__WORD("log2"),
    QNNRT_IR__WORD("log10"), QNNRT_IR__WORD("log1p"), QNNRT_IR__WORD("erf"), QNNRT_IR__WORD("erfc"),
    QNNRT_IR__WORD("erfinv"), QNNRT_IR__WORD("sin"), QNNRT_IR__WORD("cos"), QNNRT_IR__WORD("tan"),
    QNNRT_IR__WORD("asin"), QNNRT_IR__WORD("acos"), QNNRT_IR__WORD("atan"), QNNRT_IR__WORD("sinh"),
    QNNRT_IR__WORD("cosh"), QNNRT_IR__WORD("asinh"), QNNRT_IR__WORD("acosh"),
    QNNRT_IR__WORD("atanh"), QNNRT_IR__WORD("lgamma"),
};

/* Return true if a node has the operator and the text of a name before a recipe. */
static int qnnrt_ir__recipe_is(const qnnrt_ir_node *node, const char *name)
{
    const size_t bytes = strcspn(name, " :/"), all = strcspn(name, " :");
    size_t i;
    if (strncmp(node->info->name, name, bytes) != 0 ||
        (node->info->name[bytes] != '.' && node->info->name[bytes] != '\0')) return 0;
    for (i = 0; i < node->attr_count && all > bytes; ++i)
        if (node->attrs[i].kind == QNNRT_IR_TEXT &&
            strlen(node->attrs[i].text) == all - bytes - 1 &&
            memcmp(node->attrs[i].text, name + bytes + 1, all - bytes - 1) == 0) return 1;
    return all == bytes;
}

QNNRT_IR_API const char *qnnrt_ir_recipe(const qnnrt_ir_node *node)
{
    size_t i;
    if (node == NULL || node->info == NULL) return NULL;
    for (i = 0; i < sizeof(qnnrt_ir__recipes) / sizeof(qnnrt_ir__recipes[0]); ++i) {
        const char *name = qnnrt_ir__recipes[i];
        do {
            if (*name == *node->info->name && qnnrt_ir__recipe_is(node, name))
                return strchr(name, ':') + 2;
            while (*name != ' ' && *name != ':') ++name;
        } while (*name++ == ' ');
    }
    return NULL;
}

static double qnnrt_ir__word_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double qnnrt_ir__word_softplus(double x) { return x > 30 ? x : log1p(exp(x)); }
static double qnnrt_ir__word_sign(double x) { return (x > 0) - (x < 0); }

/* The inverse of erf: a first guess, then steps of Newton. */
static double qnnrt_ir__word_erfinv(double x)
{
    const double rest = log((1 - x) * (1 + x)), part = 4.330746750799873 + rest / 2;
    double y = copysign(sqrt(sqrt(part * part - rest / 0.147) - part), x);
    int i;
    if (!(x > -1 && x < 1)) return x > 1 || x < -1 || x != x ? NAN : x * HUGE_VAL;
    for (i = 0; i < 3; ++i) y -= (erf(y) - x) / (1.1283791670955126 * exp(-y * y));
    return y;
}

enum qnnrt_ir__words {
    QNNRT_IR__CALL, QNNRT_IR__ADD, QNNRT_IR__SUB, QNNRT_IR__MUL, QNNRT_IR__DIV, QNNRT_IR__FLOOR_DIV,
    QNNRT_IR__TRUNC_DIV, QNNRT_IR__REMAINDER, QNNRT_IR__FMOD, QNNRT_IR__POW, QNNRT_IR__MAX,
    QNNRT_IR__MIN, QNNRT_IR__EQ, QNNRT_IR__NE, QNNRT_IR__LT, QNNRT_IR__LE, QNNRT_IR__GT,
    QNNRT_IR__GE, QNNRT_IR__BITS_AND, QNNRT_IR__BITS_OR, QNNRT_IR__BITS_XOR, QNNRT_IR__LEFT,
    QNNRT_IR__RIGHT, QNNRT_IR__ATAN2, QNNRT_IR__HYPOT, QNNRT_IR__COPYSIGN, QNNRT_IR__ABS,
    QNNRT_IR__SIGN, QNNRT_IR__BITS_NOT, QNNRT_IR__SELECT, QNNRT_IR__INPUT, QNNRT_IR__NUMBER
};
/* Words; .call: of one operand. Rounding does nothing to integers. */
typedef struct qnnrt_ir__word {
    const char *name;
    int         code;
    double    (*call)(double x);
} qnnrt_ir__word;
#define QNNRT_IR__LIBM(name) { #name, QNNRT_IR__CALL, name }
static const qnnrt_ir__word qnnrt_ir__word_list[] = {
    { "+", QNNRT_IR__ADD, NULL }, { "-", QNNRT_IR__SUB, NULL }, { "*", QNNRT_IR__MUL, NULL },
    { "/", QNNRT_IR__DIV, NULL }, { "//", QNNRT_IR__FLOOR_DIV, NULL },
    { "quotient", QNNRT_IR__TRUNC_DIV, NULL }, { "%", QNNRT_IR__REMAINDER, NULL },
    { "fmod", QNNRT_IR__FMOD, NULL }, { "pow", QNNRT_IR__POW, NULL },
    { "max", QNNRT_IR__MAX, NULL }, { "min", QNNRT_IR__MIN, NULL }, { "==", QNNRT_IR__EQ, NULL },
    { "!=", QNNRT_IR__NE, NULL }, { "<", QNNRT_IR__LT, NULL }, { "<=", QNNRT_IR__LE, NULL },
    { ">", QNNRT_IR__GT, NULL }, { ">=", QNNRT_IR__GE, NULL }, { "&", QNNRT_IR__BITS_AND, NULL },
    { "or", QNNRT_IR__BITS_OR, NULL }, { "^", QNNRT_IR__BITS_XOR, NULL },
    { "<<", QNNRT_IR__LEFT, NULL }, { ">>", QNNRT_IR__RIGHT, NULL },
    { "atan2", QNNRT_IR__ATAN2, NULL }, { "hypot", QNNRT_IR__HYPOT, NULL },
    { "copysign", QNNRT_IR__COPYSIGN, NULL }, { "~", QNNRT_IR__BITS_NOT, NULL },
    { "?", QNNRT_IR__SELECT, NULL }, { "abs", QNNRT_IR__ABS, fabs },
    { "sign", QNNRT_IR__SIGN, qnnrt_ir__word_sign },
    { "sigmoid", QNNRT_IR__CALL, qnnrt_ir__word_sigmoid },
    { "softplus", QNNRT_IR__CALL, qnnrt_ir__word_softplus },
    { "erfinv", QNNRT_IR__CALL, qnnrt_ir__word_erfinv }, QNNRT_IR__LIBM(floor),
    QNNRT_IR__LIBM(ceil), { "round", QNNRT_IR__CALL, rint }, QNNRT_IR__LIBM(trunc),
    QNNRT_IR__LIBM(sqrt), QNNRT_IR__LIBM(exp), QNNRT_IR__LIBM(exp2), QNNRT_IR__LIBM(expm1),
    QNNRT_IR__LIBM(log), QNNRT_IR__LIBM(log2), QNNRT_IR__LIBM(log10), QNNRT_IR__LIBM(log1p),
    QNNRT_IR__LIBM(erf), QNNRT_IR__LIBM(erfc), QNNRT_IR__LIBM(lgamma), QNNRT_IR__LIBM(sin),
    QNNRT_IR__LIBM(cos), QNNRT_IR__LIBM(tan), QNNRT_IR__LIBM(asin), QNNRT_IR__LIBM(acos),
    QNNRT_IR__LIBM(atan), QNNRT_IR__LIBM(sinh), QNNRT_IR__LIBM(cosh), QNNRT_IR__LIBM(tanh),
    QNNRT_IR__LIBM(asinh), QNNRT_IR__LIBM(acosh), QNNRT_IR__LIBM(atanh),
};

enum { QNNRT_IR__WORDS = sizeof(qnnrt_ir__word_list) / sizeof(qnnrt_ir__word_list[0]) };

static double qnnrt_ir__word_floats(int what, double x, double y)
{
    double t, rest;
    switch (what) {
    case QNNRT_IR__ADD: return x + y;
    case QNNRT_IR__SUB: return x - y;
    case QNNRT_IR__MUL: return x * y;
    case QNNRT_IR__DIV: return x / y;
    case QNNRT_IR__FLOOR_DIV:                            /* as Python: without the rest, and near */
        if (y == 0) return x / y;
        rest = fmod(x, y);
        t = (x - rest) / y - (rest != 0 && (y < 0) != (rest < 0));
        return t == 0 ? copysign(0, x / y) : floor(t) + (t - floor(t) > 0.5);
    case QNNRT_IR__TRUNC_DIV: return trunc(x / y);
    case QNNRT_IR__REMAINDER: t = fmod(x, y); return t != 0 && (t < 0) != (y < 0) ? t + y : t;
    case QNNRT_IR__FMOD: return fmod(x, y);
    case QNNRT_IR__POW: return pow(x, y);
    case QNNRT_IR__MAX: return x != x ? x : y != y ? y : x > y ? x : y;
    case QNNRT_IR__MIN: return x != x ? x : y != y ? y : x < y ? x : y;
    case QNNRT_IR__EQ: return x == y;
    case QNNRT_IR__NE: return x != y;
    case QNNRT_IR__LT: return x < y;
    case QNNRT_IR__LE: return x <= y;
    case QNNRT_IR__GT: return x > y;
    case QNNRT_IR__GE: return x >= y;
    case QNNRT_IR__ATAN2: return atan2(x, y);
    case QNNRT_IR__HYPOT: return hypot(x, y);
    case QNNRT_IR__COPYSIGN: return copysign(x, y);
    default: return NAN;                                 /* bits: only of integers */
    }
}

/* Integers exactly, with the wrap of two's complement. Division by 0 gives 0. */
static int64_t qnnrt_ir__word_integers(int what, int64_t x, int64_t y)
{
    const uint64_t a = (uint64_t)x, b = (uint64_t)y;
    uint64_t power = 1, base = a;
    int64_t n;
    switch (what) {
    case QNNRT_IR__ADD: return (int64_t)(a + b);
    case QNNRT_IR__SUB: return (int64_t)(a - b);
    case QNNRT_IR__MUL: return (int64_t)(a * b);
    case QNNRT_IR__DIV:
    case QNNRT_IR__FLOOR_DIV:
    case QNNRT_IR__TRUNC_DIV:
        if (y == 0) return 0;
        if (y == -1) return (int64_t)(0 - a);
        n = x / y;
        return what == QNNRT_IR__FLOOR_DIV && x % y != 0 && (x < 0) != (y < 0) ? n - 1 : n;
    case QNNRT_IR__REMAINDER:
    case QNNRT_IR__FMOD:
        if (y == 0 || y == -1) return 0;
        n = x % y;
        return what == QNNRT_IR__REMAINDER && n != 0 && (n < 0) != (y < 0) ? n + y : n;
    case QNNRT_IR__POW:
        if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
        for (n = y; n > 0; n >>= 1, base *= base) if (n & 1) power *= base;
        return (int64_t)power;
    case QNNRT_IR__MAX: return x > y ? x : y;
    case QNNRT_IR__MIN: return x < y ? x : y;
    case QNNRT_IR__EQ: return x == y;
    case QNNRT_IR__NE: return x != y;
    case QNNRT_IR__LT: return x < y;
    case QNNRT_IR__LE: return x <= y;
    case QNNRT_IR__GT: return x > y;
    case QNNRT_IR__GE: return x >= y;
    case QNNRT_IR__BITS_AND: return x & y;
    case QNNRT_IR__BITS_OR: return x | y;
    case QNNRT_IR__BITS_XOR: return x ^ y;
    case QNNRT_IR__LEFT: return b < 64 ? (int64_t)(a << b) : 0;
    case QNNRT_IR__RIGHT: return b < 64 ? x >> b : x < 0 ? -1 : 0;
    case QNNRT_IR__ABS: return x < 0 ? (int64_t)(0 - a) : x;
    case QNNRT_IR__SIGN: return (x > 0) - (x < 0);
    default: return x ^ y;                               /* ~: of bools, y is 1, else -1 */
    }
}

/* A recipe of one node, and one block of elements on its stack. */
enum { QNNRT_IR__COOKED = 64, QNNRT_IR__DEEP = 8, QNNRT_IR__STEPS = 32 };
typedef union qnnrt_ir__lane {
    double  f;
    int64_t i;
} qnnrt_ir__lane;
typedef struct qnnrt_ir__cook {
    const qnnrt_ir__word *steps[QNNRT_IR__STEPS];        /* NULL: an operand */
    int            operand[QNNRT_IR__STEPS];             /* an input; -1: a number */
    double         f[QNNRT_IR__STEPS];                   /* the number */
    int64_t        i[QNNRT_IR__STEPS];
    size_t         count;
    int            whole;                                /* 1: all are integers or bools */
    qnnrt_ir__lane stack[QNNRT_IR__DEEP][QNNRT_IR__COOKED], in[3][QNNRT_IR__COOKED];
} qnnrt_ir__cook;

/* Read a number of a recipe: "inf", "most", or its digits. Whole numbers are integers. */
static void qnnrt_ir__cook_literal(const char *word, qnnrt_dtype dtype, qnnrt_ir_attr *number)
{
    static const struct { qnnrt_dtype dtype; double most; } ends[] = {
        { QNNRT_DTYPE_F16, 65504 }, { QNNRT_DTYPE_BF16, 3.3895313892515355e38 },
        { QNNRT_DTYPE_F32, 3.4028234663852886e38 },
    };
    const int minus = word[0] == '-', most = strcmp(word + minus, "most") == 0;
    qnnrt_json_text text;
    double f = most ? 1.7976931348623157e308 : HUGE_VAL;
    size_t i;
    for (i = 0; most && i < 3; ++i) if (ends[i].dtype == dtype) f = ends[i].most;
    text.text = word + minus;
    text.bytes = strlen(text.text);
    if (!most && text.text[0] != 'i') (void)qnnrt_json_f64(&text, &f);
    number->kind = QNNRT_IR_INT;
    number->f = minus ? -f : f;
    number->i = qnnrt_ir__wide_round(number->f);
}

/* Return an integer as an operand of a dtype: it wraps. */
static int64_t qnnrt_ir__cook_wrap(int64_t i, qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_U8 ? (int64_t)(uint8_t)i : dtype == QNNRT_DTYPE_I8 ? (int8_t)i :
           dtype == QNNRT_DTYPE_I16 ? (int16_t)i : dtype == QNNRT_DTYPE_I32 ? (int32_t)i : i;
}

/* Return a float as an operand of a dtype. */
static double qnnrt_ir__cook_round(double f, qnnrt_dtype dtype)
{
    unsigned char bytes[8];
    if (dtype == QNNRT_DTYPE_F32) return (double)(float)f;
    qnnrt_ir_element_put(bytes, dtype, 0, f);
    return qnnrt_ir_element_float(bytes, dtype);
}

/* Give a number the dtype of the operands, as PyTorch does. Limits of integers do not wrap. */
static void qnnrt_ir__cook_number(const qnnrt_ir_node *node, qnnrt_ir_attr *number)
{
    const qnnrt_dtype dtype = qnnrt_ir__operands(node);
    const int limits = strncmp(node->op, "clamp", 5) == 0 || strncmp(node->op, "hardt", 5) == 0;
    const int test = node->outputs[0]->dtype == QNNRT_DTYPE_BOOL8;
    if (qnnrt_ir_dtype_kind(dtype) == 1) {
        number->kind = QNNRT_IR_INT;
        if (!limits) number->i = qnnrt_ir__cook_wrap(number->i, dtype);
        number->f = (double)number->i;
    } else if (dtype == QNNRT_DTYPE_F32 || (test && qnnrt_ir_dtype_kind(dtype) == 2)) {
        if (fabs(number->f) < 3.4e38) number->f = qnnrt_ir__cook_round(number->f, dtype);
    }
}

QNNRT_IR_API int qnnrt_ir_recipe_operand(const qnnrt_ir_node *node, const char *word,
                                         qnnrt_ir_attr *number)
{
    const char *at = node->info->args, *const recipe = qnnrt_ir_recipe(node);
    const size_t bytes = strcspn(word, " |"), all = strcspn(word, " ");
    char name[64] = "self", rest[64];
    const qnnrt_ir_attr *attr;
    qnnrt_ir__arg arg;
    memset(number, 0, sizeof(*number));
    snprintf(rest, sizeof rest, "%.*s", (int)all, word);
    if (bytes == 1 && word[0] >= 'a' && word[0] <= 'c') {
        const int turned = qnnrt_ir__attr_has(node, "self") && recipe != NULL &&
                           strstr(recipe, ".self") == NULL;
        const int input = word[0] - 'a' - turned;
        if (input >= 0 && qnnrt_ir_input(node, (size_t)input) != NULL) return input;
        if (input >= 0 && qnnrt_ir__attr_next(&at, &arg))
            snprintf(name, sizeof name, "%.*s", (int)arg.name_bytes, arg.name);
    } else if (word[0] == '.') {
        snprintf(name, sizeof name, "%.*s", (int)bytes - 1, word + 1);
    } else {
        qnnrt_ir__cook_literal(rest, node->outputs[0]->dtype, number);
        return -1;
    }
    attr = qnnrt_ir_attr_find(node, name);
    if (bytes < all && qnnrt_ir__attr_absent(attr) &&
        !(qnnrt_ir__attr_arg(node->info, name, &arg) && arg.value.text != NULL)) {
        qnnrt_ir__cook_literal(rest + bytes + 1, node->outputs[0]->dtype, number);
        return -1;
    }
    number->kind = !qnnrt_ir__attr_absent(attr) && attr->kind == QNNRT_IR_FLOAT ? QNNRT_IR_FLOAT
                                                                                : QNNRT_IR_INT;
    number->f = qnnrt_ir_float(node, name, 0);
    number->i = number->kind == QNNRT_IR_INT ? qnnrt_ir_int(node, name, 0)
                                             : qnnrt_ir__wide_round(number->f);
    qnnrt_ir__cook_number(node, number);
    return -1;
}

static void qnnrt_ir__cook_read(qnnrt_ir__cook *cook, const qnnrt_ir_node *node)
{
    const char *words = qnnrt_ir_recipe(node);
    size_t bytes, i;
    cook->count = 0;
    for (; *words != '\0'; words += words[bytes] == ' ' ? bytes + 1 : bytes) {
        const size_t at = cook->count++;
        qnnrt_ir_attr number;
        QNNRT_IR__MUST(at < QNNRT_IR__STEPS);
        bytes = strcspn(words, " ");
        for (i = 0; i < QNNRT_IR__WORDS; ++i)
            if (strncmp(qnnrt_ir__word_list[i].name, words, bytes) == 0 &&
                qnnrt_ir__word_list[i].name[bytes] == '\0') break;
        cook->steps[at] = i < QNNRT_IR__WORDS ? &qnnrt_ir__word_list[i] : NULL;
        if (i < QNNRT_IR__WORDS && qnnrt_ir__word_list[i].code == QNNRT_IR__MUL &&
            cook->steps[at - 1] == NULL && cook->operand[at - 1] < 0 && cook->i[at - 1] == 1 &&
            cook->f[at - 1] == 1)
            cook->count -= 2;                                    /* times alpha, which is 1 */
        if (i < QNNRT_IR__WORDS) continue;
        cook->operand[at] = qnnrt_ir_recipe_operand(node, words, &number);
        cook->f[at] = number.f;
        cook->i[at] = number.i;
        if (number.kind == QNNRT_IR_FLOAT) cook->whole = 0;
    }
}

/* Compute a word for n elements. x: the first operand, which becomes the result; y: the next. */
static void qnnrt_ir__cook_word(const qnnrt_ir__cook *cook, const qnnrt_ir__word *word,
                                qnnrt_ir__lane (*stack)[QNNRT_IR__COOKED], int64_t n, int64_t ones)
{
    qnnrt_ir__lane *const x = stack[0], *const y = stack[1], *const z = stack[2];
    const int what = word->code;
    int64_t k;
    if (what == QNNRT_IR__SELECT && cook->whole)
        for (k = 0; k < n; ++k) x[k] = x[k].i != 0 ? y[k] : z[k];
    else if (what == QNNRT_IR__SELECT)
        for (k = 0; k < n; ++k) x[k] = x[k].f != 0 ? y[k] : z[k];
    else if (cook->whole && (word->call != NULL || what == QNNRT_IR__BITS_NOT))
        for (k = 0; k < n && what != QNNRT_IR__CALL; ++k)
            x[k].i = qnnrt_ir__word_integers(what, x[k].i, ones);
    else if (cook->whole)
        for (k = 0; k < n; ++k) x[k].i = qnnrt_ir__word_integers(what, x[k].i, y[k].i);
    else if (word->call != NULL)
        for (k = 0; k < n; ++k) x[k].f = word->call(x[k].f);
    else switch (what) {
    case QNNRT_IR__ADD:
        for (k = 0; k < n; ++k) x[k].f += y[k].f;
        break;
    case QNNRT_IR__SUB:
        for (k = 0; k < n; ++k) x[k].f -= y[k].f;
        break;
    case QNNRT_IR__MUL:
        for (k = 0; k < n; ++k) x[k].f *= y[k].f;
        break;
    case QNNRT_IR__DIV:
        for (k = 0; k < n; ++k) x[k].f /= y[k].f;
        break;
    case QNNRT_IR__MAX:
        for (k = 0; k < n; ++k) x[k].f = x[k].f > y[k].f || x[k].f != x[k].f ? x[k].f : y[k].f;
        break;
    case QNNRT_IR__MIN:
        for (k = 0; k < n; ++k) x[k].f = x[k].f < y[k].f || x[k].f != x[k].f ? x[k].f : y[k].f;
        break;
    default: for (k = 0; k < n; ++k) x[k].f = qnnrt_ir__word_floats(what, x[k].f, y[k].f);
    }
}

/* Compute a block of n elements; the result is the lowest of the stack. */
static void qnnrt_ir__cook_run(qnnrt_ir__cook *cook, int64_t n, int64_t ones)
{
    size_t s, top = 0;
    int64_t k;
    for (s = 0; s < cook->count; ++s) {
        const qnnrt_ir__word *word = cook->steps[s];
        if (word != NULL) {
            const size_t operands = word->call != NULL || word->code == QNNRT_IR__BITS_NOT ? 1 :
                                    word->code == QNNRT_IR__SELECT ? 3 : 2;
            QNNRT_IR__MUST(top >= operands);
            top -= operands;
            qnnrt_ir__cook_word(cook, word, &cook->stack[top++], n, ones);
            continue;
        }
        QNNRT_IR__MUST(top + 1 < QNNRT_IR__DEEP);
        if (cook->operand[s] >= 0)
            memcpy(cook->stack[top], cook->in[cook->operand[s]], sizeof cook->stack[top]);
        else if (cook->whole)
            for (k = 0; k < n; ++k) cook->stack[top][k].i = cook->i[s];
        else
            for (k = 0; k < n; ++k) cook->stack[top][k].f = cook->f[s];
        ++top;
    }
    QNNRT_IR__MUST(top == 1);
}

/* Read n elements, at their places or from `at` on, as operands of a dtype: integers and float64
   beside narrower floats are rounded to these. */
static void qnnrt_ir__cook_load(const qnnrt_ir__cook *cook, qnnrt_ir__lane *to, int64_t n,
                                const qnnrt_ir__wide *x, const int64_t *places, int64_t at,
                                qnnrt_dtype dtype)
{
    const int rounds = qnnrt_ir_dtype_kind(dtype) == 2 && dtype != QNNRT_DTYPE_F64 &&
                       (x->whole || x->dtype == QNNRT_DTYPE_F64);
    int64_t k;
    float f;
    if (places == NULL && x->dtype == QNNRT_DTYPE_F32) {
        QNNRT_IR__MUST(at >= 0 && at + n <= x->count);
        for (k = 0; k < n; ++k) {
            memcpy(&f, x->data + (size_t)(at + k) * sizeof f, sizeof f);
            to[k].f = (double)f;
        }
    } else if (x->dtype == QNNRT_DTYPE_F32) {
        for (k = 0; k < n; ++k) {
            memcpy(&f, qnnrt_ir__wide_at(x, places[k]), sizeof f);
            to[k].f = (double)f;
        }
    } else for (k = 0; k < n; ++k) {
        const int64_t place = places != NULL ? places[k] : at + k;
        if (cook->whole) to[k].i = qnnrt_ir__cook_wrap(qnnrt_ir__wide_i(x, place), dtype);
        else if (rounds) to[k].f = qnnrt_ir__cook_round(qnnrt_ir__wide_f(x, place), dtype);
        else to[k].f = qnnrt_ir__wide_f(x, place);
    }
}

static int qnnrt_ir__eval_glu(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0];
    int64_t outer, size, inner, n;
    qnnrt_ir__wide_split(e->out, qnnrt_ir__eval_axis(e, "dim", x->rank), &outer, &size, &inner);
    for (n = 0; n < e->out->count; ++n) {
        const int64_t at = n + n / (size * inner) * size * inner;
        qnnrt_ir__wide_put(e->out, n, qnnrt_ir__wide_f(x, at) * qnnrt_ir__word_sigmoid(
                                          qnnrt_ir__wide_f(x, at + size * inner)));
    }
    return 1;
}

static int qnnrt_ir__eval_element(qnnrt_ir__eval *e)
{
    const int64_t count = e->out->count;
    int64_t at, k, n;
    qnnrt_ir__wide x[3];
    qnnrt_ir__walk w;
    qnnrt_ir__cook cook;
    const qnnrt_dtype dtype = e->out->dtype != QNNRT_DTYPE_BOOL8 ? e->out->dtype
                                                                 : qnnrt_ir__operands(e->node);
    const int channels = strncmp(e->node->op, "prelu", 5) == 0 && e->in[1].rank == 1;
    int64_t places[3][QNNRT_IR__COOKED], step[4], run = 1, done = 0;
    int i, used, walks = 0, flat[3];
    cook.whole = e->out->whole;
    qnnrt_ir__walk_begin(&w, e->out->rank, e->out->dims);
    memset(x, 0, sizeof(x));
    used = e->in_count < 3 ? (int)e->in_count : 3;
    for (i = 0; i < used; ++i) {
        x[i] = e->in[i];
        if (x[i].bytes == 0) continue;
        cook.whole &= x[i].whole;
        if (i == 1 && channels)
            while (x[1].rank + 1 < x->rank) x[1].dims[x[1].rank++] = 1;
        flat[i] = x[i].count == count;
        qnnrt_ir__walk_add(&w, i, &x[i]);
        walks |= !flat[i];
    }
    qnnrt_ir__cook_read(&cook, e->node);
    if (walks) run = qnnrt_ir__walk_run(&w, step);
    for (at = 0; at < count; at += n) {
        n = count - at < QNNRT_IR__COOKED ? count - at : (int64_t)QNNRT_IR__COOKED;
        for (k = 0; walks && k < n; ++k) {
            for (i = 0; i < used; ++i) places[i][k] = w.place[i] + done * step[i];
            if (++done == run) { done = 0; qnnrt_ir__walk_next(&w); }
        }
        for (i = 0; i < used; ++i)
            if (x[i].bytes > 0)
                qnnrt_ir__cook_load(&cook, cook.in[i], n, &x[i], flat[i] ? NULL : places[i], at,
                                    dtype);
        qnnrt_ir__cook_run(&cook, n, e->out->dtype == QNNRT_DTYPE_BOOL8 ? 1 : -1);
        if (cook.whole)
            for (k = 0; k < n; ++k) qnnrt_ir__wide_set(e->out, at + k, cook.stack[0][k].i);
        else if (e->out->dtype != QNNRT_DTYPE_F32)
            for (k = 0; k < n; ++k) qnnrt_ir__wide_put(e->out, at + k, cook.stack[0][k].f);
        else for (k = 0; k < n; ++k) {
            const float f = (float)cook.stack[0][k].f;
            memcpy(qnnrt_ir__wide_room(e->out, at + k), &f, sizeof f);
        }
    }
    return 1;
}

/* =====================================================================================
   EVALUATION: MOVES                                                         >>eval_move
   Operators that copy, select, repeat and make elements.
   Needs: >>attr >>shape >>infer >>wide >>eval_math >>elements     Knows nothing of: arithmetic
   ===================================================================================== */

/* Copy elements that are `step` apart, one after another. */
static void qnnrt_ir__move_run(qnnrt_ir__wide *to, int64_t at, const qnnrt_ir__wide *x,
                               int64_t from, int64_t step, int64_t count)
{
    const int same = to->dtype == x->dtype && x->dtype != QNNRT_DTYPE_BOOL8 && count > 0;
    unsigned char *y = same ? qnnrt_ir__wide_room(to, at) : NULL;
    const unsigned char *data = same ? qnnrt_ir__wide_at(x, from) : NULL;
    int64_t k;
    QNNRT_IR__MUST(count == 0 || (at + count <= to->count && from + (count - 1) * step < x->count));
    if (same && step == 1)
        memcpy(y, data, (size_t)count * x->bytes);
    else if (same && x->bytes == 4)
        for (k = 0; k < count; ++k) memcpy(y + 4 * k, data + 4 * k * step, 4);
    else if (same && x->bytes == 8)
        for (k = 0; k < count; ++k) memcpy(y + 8 * k, data + 8 * k * step, 8);
    else
        for (k = 0; k < count; ++k) qnnrt_ir__wide_move(to, at + k, x, from + k * step);
}

/* Fill a tensor from the elements of a walk over its shape. */
static void qnnrt_ir__move_walk(qnnrt_ir__wide *to, qnnrt_ir__walk *w, const qnnrt_ir__wide *x,
                                int64_t begin)
{
    int64_t step[4], n;
    const int64_t run = qnnrt_ir__walk_run(w, step);
    for (n = 0; n < to->count; n += run, qnnrt_ir__walk_next(w))
        qnnrt_ir__move_run(to, n, x, begin + w->place[0], step[0], run);
}

/* Copy all elements in their order: casts, views, getitem. */
static int qnnrt_ir__eval_copy(qnnrt_ir__eval *e)
{
    const int64_t index = qnnrt_ir__eval_is(e->node, "getitem") ? qnnrt_ir_int(e->node, "index", 0)
                                                                : 0;
    const qnnrt_ir__wide *x = &e->in[index < 0 ? index + (int64_t)e->in_count : index];
    const int test = e->node->outputs[0]->dtype == QNNRT_DTYPE_BOOL8;
    int64_t k;
    if (!test) qnnrt_ir__move_run(e->out, 0, x, 0, 1, e->out->count);
    else for (k = 0; k < e->out->count; ++k) {
        const double f = !x->whole ? qnnrt_ir__wide_f(x, k) : 0;
        qnnrt_ir__wide_set(e->out, k, x->whole ? qnnrt_ir__wide_i(x, k) != 0
                                               : !(f >= 0 && f <= 0));
    }
    return 1;
}

/* Fill an output with x, broadcast: expand, copy. */
static int qnnrt_ir__eval_expand(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[strncmp(e->node->op, "expand", 6) == 0 ? 0 : 1];
    qnnrt_ir__walk w;
    qnnrt_ir__walk_begin(&w, e->out->rank, e->out->dims);
    qnnrt_ir__walk_add(&w, 0, x);
    qnnrt_ir__move_walk(e->out, &w, x, 0);
    return 1;
}

/* Fill output `k` from x with given distances, starting at an element. */
static void qnnrt_ir__move_strided(qnnrt_ir__eval *e, size_t k, const qnnrt_ir__wide *x,
                                   int64_t begin, const int64_t *stride)
{
    qnnrt_ir__wide *out = &e->out[k];
    qnnrt_ir__walk w;
    qnnrt_ir__walk_begin(&w, out->rank, out->dims);
    if (out->rank > 0) memcpy(w.stride[0], stride, out->rank * sizeof(*stride));
    qnnrt_ir__move_walk(out, &w, x, begin);
}

/* split, chunk, tensor_split, unbind: pieces of one dimension, one after another */
static int qnnrt_ir__eval_split(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0];
    const uint32_t axis = qnnrt_ir__eval_axis(e, "dim", x->rank);
    const int gone = qnnrt_ir__eval_is(e->node, "unbind");
    int64_t stride[QNNRT_IR_RANK], rest[QNNRT_IR_RANK], begin = 0;
    size_t k;
    memset(stride, 0, sizeof(stride));
    qnnrt_ir__walk_strides(x, stride);
    memcpy(rest, stride, sizeof(rest));
    if (gone) memmove(rest + axis, rest + axis + 1, (x->rank - axis - 1) * sizeof(*rest));
    for (k = 0; k < e->out_count; ++k) {
        qnnrt_ir__move_strided(e, k, x, begin, rest);
        begin += stride[axis] * (gone ? 1 : e->out[k].dims[axis]);
    }
    return 1;
}

/* cat, stack: the inputs fill the output along one dimension. */
static int qnnrt_ir__eval_join(qnnrt_ir__eval *e)
{
    const int stack = qnnrt_ir__eval_is(e->node, "stack");
    const uint32_t axis = qnnrt_ir__eval_axis(e, "dim", e->out->rank);
    int64_t outer, size, inner, at = 0, o;
    size_t n;
    qnnrt_ir__wide_split(e->out, axis, &outer, &size, &inner);
    for (n = 0; n < e->in_count; ++n) {
        const qnnrt_ir__wide *x = &e->in[n];
        const int64_t part = stack ? inner : x->rank == e->out->rank ? x->dims[axis] * inner : 0;
        if (x->count == 0) continue;
        for (o = 0; o < outer; ++o)
            qnnrt_ir__move_run(e->out, o * size * inner + at, x, o * part, 1, part);
        at += part;
    }
    return 1;
}

static int qnnrt_ir__eval_interleave(qnnrt_ir__eval *e)
{
    const int64_t repeats = qnnrt_ir_int(e->node, "repeats", 0);
    int64_t outer = 1, size = e->out->count, inner = 1, k;
    if (qnnrt_ir__attr_has(e->node, "dim") && e->out->rank > 0)
        qnnrt_ir__wide_split(e->out, qnnrt_ir__eval_axis(e, "dim", e->out->rank), &outer, &size,
                             &inner);
    for (k = 0; k < e->out->count; ++k)
        qnnrt_ir__wide_move(e->out, k, &e->in[0], k / inner / repeats * inner + k % inner);
    return 1;
}

/* Return where a padded place comes from, -1: from the pad value. */
static int64_t qnnrt_ir__move_pad(int64_t at, int64_t size, char mode)
{
    if (at >= 0 && at < size) return at;
    if (mode == 'c' || size == 0) return -1;
    if (mode == 'r') return at < 0 ? -at : 2 * size - 2 - at;           /* reflect */
    if (mode == 'w') return (at % size + size) % size;                  /* circular */
    return at < 0 ? 0 : size - 1;                                       /* replicate */
}

/* repeat, roll, pad: each place comes from one place of the input. */
static int qnnrt_ir__eval_places(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0];
    const qnnrt_ir_attr *pad = qnnrt_ir_attr_find(e->node, "pad");
    const int rolls = qnnrt_ir__eval_is(e->node, "roll");
    const double value = qnnrt_ir_float(e->node, "value", 0);
    const char mode = qnnrt_ir__eval_text(e->node, "mode", "reflect") ? 'r' :
                      qnnrt_ir__eval_text(e->node, "mode", "circular") ? 'w' :
                      qnnrt_ir__eval_text(e->node, "mode", "replicate") ? 'e' : 'c';
    int64_t stride[QNNRT_IR_RANK], shift[QNNRT_IR_RANK], list[QNNRT_IR_RANK], dims[QNNRT_IR_RANK];
    const uint32_t lead = e->out->rank - x->rank;
    qnnrt_ir__walk w;
    size_t count, named, i;
    int64_t k;
    uint32_t d;
    memset(shift, 0, sizeof(shift));
    memset(stride, 0, sizeof(stride));
    qnnrt_ir__walk_strides(x, stride);
    if (rolls) {
        count = qnnrt_ir_ints(e->node, "shifts", list);
        named = qnnrt_ir_ints(e->node, "dims", dims);
        if (named == 0) {                                               /* of all elements */
            const int64_t by = (list[0] % x->count + x->count) % x->count;
            for (k = 0; k < x->count; ++k) qnnrt_ir__wide_move(e->out, (k + by) % x->count, x, k);
            return 1;
        }
        if (named != count || count > QNNRT_IR_RANK)
            return qnnrt_ir__eval_no(e, "shifts and dims differ");
        for (i = 0; i < count; ++i) {
            const int64_t at = dims[i] < 0 ? dims[i] + x->rank : dims[i];
            if (at < 0 || at >= (int64_t)x->rank) return qnnrt_ir__eval_no(e, "dims is wrong");
            if (x->dims[at] > 0) shift[at] = (shift[at] + list[i] % x->dims[at]) % x->dims[at];
        }
    }
    for (i = 0; pad != NULL &&
         i + 1 < pad->count; i += 2) shift[x->rank - 1 - i / 2] = pad->ints[i];
    qnnrt_ir__walk_begin(&w, e->out->rank, e->out->dims);
    for (k = 0; k < e->out->count; ++k, qnnrt_ir__walk_next(&w)) {
        int64_t from = 0, at;
        for (d = 0; d < x->rank && from >= 0; ++d) {
            at = w.at[lead + d] - shift[d];
            if (pad != NULL) at = qnnrt_ir__move_pad(at, x->dims[d], mode);
            else at = (at % x->dims[d] + x->dims[d]) % x->dims[d];
            from = at < 0 ? -1 : from + at * stride[d];
        }
        if (from >= 0) qnnrt_ir__wide_move(e->out, k, x, from);
        else qnnrt_ir__wide_put(e->out, k, value);
    }
    return 1;
}

static int qnnrt_ir__eval_triangle(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0];
    const int64_t diagonal = qnnrt_ir_int(e->node, "diagonal", 0);
    const int upper = qnnrt_ir__eval_is(e->node, "triu");
    int64_t k, rows, columns;
    rows = x->dims[x->rank - 2];
    columns = x->dims[x->rank - 1];
    for (k = 0; k < x->count; ++k) {
        const int64_t distance = k % columns - k / columns % rows;
        if (upper ? distance >= diagonal : distance <= diagonal)
            qnnrt_ir__wide_move(e->out, k, x, k);
        else qnnrt_ir__wide_put(e->out, k, 0);
    }
    return 1;
}

/* full, ones, zeros, fill, scalar_tensor: one number */
static int qnnrt_ir__eval_fill(qnnrt_ir__eval *e)
{
    static const char *const names[] = { "fill_value", "value", "s" };
    qnnrt_ir__wide number;
    int64_t k;
    size_t i;
    memset(&number, 0, sizeof(number));
    for (i = 0; i < 3; ++i)
        if (qnnrt_ir__attr_has(e->node, names[i]) && !qnnrt_ir__eval_scalar(e, names[i], &number))
            return 0;
    for (k = 0; k < e->out->count; ++k) {
        if (number.bytes > 0) qnnrt_ir__wide_move(e->out, k, &number, 0);
        else qnnrt_ir__wide_put(e->out, k, strstr(e->node->op, "ones") != NULL);
    }
    return 1;
}

static int qnnrt_ir__eval_arange(qnnrt_ir__eval *e)
{
    double begin = qnnrt_ir_float(e->node, "start", 0), step = qnnrt_ir_float(e->node, "step", 1);
    double end = qnnrt_ir_float(e->node, "end", 0);
    const int64_t last = e->out->count - 1;
    const double base = qnnrt_ir_float(e->node, "base", 10);
    const int steps = qnnrt_ir__attr_has(e->node, "steps");
    int64_t k;
    if (e->out->whole) {                                 /* they become integers first */
        begin = (double)qnnrt_ir__cook_wrap(qnnrt_ir__wide_round(begin), e->out->dtype);
        end = (double)qnnrt_ir__cook_wrap(qnnrt_ir__wide_round(end), e->out->dtype);
        modf(step, &step);
    }
    for (k = 0; k <= last; ++k) {
        double f = begin + (double)k * step;
        if (steps)                                       /* linspace, logspace: from both ends */
            f = last == 0 ? begin : k <= last / 2 ? begin + (end - begin) / (double)last * (double)k
                                    : end - (end - begin) / (double)last * (double)(last - k);
        qnnrt_ir__wide_put(e->out, k, e->node->op[1] == 'o' ? pow(base, f) : f);
    }
    return 1;
}

/* Operators whose shape function says where elements are in input 0: views, and self with a view of
   it replaced. */
static int qnnrt_ir__eval_strided(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0], *from = qnnrt_ir__eval_in(e, 1);
    qnnrt_ir__shape s;
    qnnrt_ir__walk w;
    int64_t k;
    if (!qnnrt_ir__ops_infer(e->node, 0, &s)) return qnnrt_ir__eval_no(e, "its shape is wrong");
    if (from == NULL) {
        qnnrt_ir__move_strided(e, 0, x, s.begin, s.stride);
        return 1;
    }
    for (k = 0; k < x->count; ++k) qnnrt_ir__wide_move(e->out, k, x, k);
    qnnrt_ir__walk_begin(&w, from->rank, from->dims);
    memcpy(w.stride[0], s.stride, sizeof(s.stride));
    for (k = 0; k < from->count; ++k, qnnrt_ir__walk_next(&w))
        qnnrt_ir__wide_move(e->out, s.begin + w.place[0], from, k);
    return 1;
}

static int qnnrt_ir__eval_eye(qnnrt_ir__eval *e)
{
    int64_t k;
    for (k = 0; k < e->out->count; ++k)
        qnnrt_ir__wide_set(e->out, k, k / e->out->dims[1] == k % e->out->dims[1]);
    return 1;
}

static int qnnrt_ir__eval_nothing(qnnrt_ir__eval *e)
{
    (void)e;
    return 1;
}

/* =====================================================================================
   EVALUATION: PLACES                                                       >>eval_index
   Operators that read and write places given by indices, and those that find places.
   Needs: >>attr >>shape >>shape_index >>wide >>eval_math     Knows nothing of: layers
   ===================================================================================== */

/* Refuse an index. Return 0. */
static int qnnrt_ir__move_no(qnnrt_ir__eval *e, int64_t index, int64_t least, int64_t size)
{
    char text[120], *why;
    snprintf(text, sizeof text, "index %lld is out of range: it may be %lld to %lld",
             (long long)index, (long long)least, (long long)size - 1);
    why = qnnrt_arena_text(e->arena, text, strlen(text));
    return qnnrt_ir__eval_no(e, why != NULL ? why : "an index is out of range");
}

/* Check an index that may be counted from the end. Return 0 if it is out of range. */
static int qnnrt_ir__move_index(qnnrt_ir__eval *e, int64_t *index, int64_t size)
{
    if (*index < -size || *index >= size) return qnnrt_ir__move_no(e, *index, -size, size);
    if (*index < 0) *index += size;
    return 1;
}

/* embedding, index_select: rows of one dimension */
static int qnnrt_ir__eval_select(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0], *ids = &e->in[1];
    const uint32_t axis =
        qnnrt_ir__eval_is(e->node, "embedding") ? 0 : qnnrt_ir__eval_axis(e, "dim", x->rank);
    int64_t outer, size, inner, o, n, k;
    qnnrt_ir__wide_split(x, axis, &outer, &size, &inner);
    for (o = 0; o < outer; ++o) {
        for (n = 0; n < ids->count; ++n) {
            const int64_t index = qnnrt_ir__wide_i(ids, n);
            if (index < 0 || index >= size) return qnnrt_ir__move_no(e, index, 0, size);
            for (k = 0; k < inner; ++k)
                qnnrt_ir__wide_move(e->out, (o * ids->count + n) * inner + k, x,
                                    (o * size + index) * inner + k);
        }
    }
    return 1;
}

static qnnrt_ir__wide qnnrt_ir__move_flat(const qnnrt_ir__wide *x)
{
    qnnrt_ir__wide flat = *x;
    flat.rank = 1;
    flat.dims[0] = x->count;
    return flat;
}

/* Let tensor k take part in a walk along its own dimensions, those of 1 repeated. */
static void qnnrt_ir__move_along(qnnrt_ir__walk *w, int k, const qnnrt_ir__wide *x)
{
    uint32_t d;
    qnnrt_ir__walk_strides(x, w->stride[k]);
    for (d = 0; d < x->rank; ++d) if (x->dims[d] == 1) w->stride[k][d] = 0;
}

/* gather, take_along_dim, take: an element for each index */
static int qnnrt_ir__eval_gather(qnnrt_ir__eval *e)
{
    const int takes = qnnrt_ir__eval_is(e->node, "take");
    const int flat = !qnnrt_ir__attr_has(e->node, "dim") || e->in[0].rank == 0;
    const qnnrt_ir__wide x = flat ? qnnrt_ir__move_flat(&e->in[0]) : e->in[0];
    const qnnrt_ir__wide ids = flat ? qnnrt_ir__move_flat(&e->in[1]) : e->in[1];
    const uint32_t axis = flat ? 0 : qnnrt_ir__eval_axis(e, "dim", x.rank);
    int64_t k, index, stride[QNNRT_IR_RANK];
    qnnrt_ir__walk w;
    qnnrt_ir__walk_begin(&w, ids.rank, flat ? ids.dims : e->out->dims);
    qnnrt_ir__walk_strides(&x, stride);
    qnnrt_ir__move_along(&w, 0, &ids);
    qnnrt_ir__move_along(&w, 1, &x);
    w.stride[1][axis] = 0;
    for (k = 0; k < e->out->count; ++k, qnnrt_ir__walk_next(&w)) {
        index = qnnrt_ir__wide_i(&ids, w.place[0]);
        if (!takes && index < 0) return qnnrt_ir__move_no(e, index, 0, x.dims[axis]);
        if (!qnnrt_ir__move_index(e, &index, x.dims[axis])) return 0;
        qnnrt_ir__wide_move(e->out, k, &x, w.place[1] + index * stride[axis]);
    }
    return 1;
}

/* Join an element of x, times a factor, with one that is there. */
static void qnnrt_ir__move_join(qnnrt_ir__wide *out, int64_t at, const qnnrt_ir__wide *x,
                                int64_t from, char by, double factor)
{
    if (out->dtype == QNNRT_DTYPE_BOOL8) factor = factor < 0 || factor > 0;
    if (by == '=') {
        qnnrt_ir__wide_move(out, at, x, from);
    } else if (out->whole && x->whole) {
        const int64_t a = qnnrt_ir__wide_i(out, at), i = qnnrt_ir__wide_i(x, from);
        const int64_t b = (int64_t)((uint64_t)i * (uint64_t)qnnrt_ir__wide_round(factor));
        qnnrt_ir__wide_set(out, at, by == '*' ? (int64_t)((uint64_t)a * (uint64_t)b) :
                                    by == '>' ? (a > b ? a : b) : by == '<' ? (a < b ? a : b) :
                                    (int64_t)((uint64_t)a + (uint64_t)b));
    } else {
        const double a = qnnrt_ir__wide_f(out, at), b = factor * qnnrt_ir__wide_f(x, from);
        qnnrt_ir__wide_put(out, at, by == '*' ? a * b : by == '>' ? (a > b || a != a ? a : b) :
                                    by == '<' ? (a < b || a != a ? a : b) : a + b);
    }
}

/* scatter, put, index_copy and their like: each element of the source, or a number, goes where its
   index says. */
static int qnnrt_ir__eval_scatter(qnnrt_ir__eval *e)
{
    const char by = qnnrt_ir__shape_join_by(e->node);
    const int puts = qnnrt_ir__eval_is(e->node, "put"), fills =
        qnnrt_ir__eval_is(e->node, "index_fill"), whole = puts || e->in[0].rank == 0;
    const int rows = whole || strncmp(e->node->op, "index_", 6) == 0;
    const int self = qnnrt_ir_int(e->node, "include_self", 1) != 0;
    const double factor = qnnrt_ir_float(e->node, "alpha", 1);
    const qnnrt_ir__wide x = whole ? qnnrt_ir__move_flat(&e->in[0]) : e->in[0], *ids = &e->in[1];
    const uint32_t axis = whole ? 0 : qnnrt_ir__eval_axis(e, "dim", x.rank);
    int64_t k, index, step, total = 1, *seen = NULL;
    qnnrt_ir__wide value;
    qnnrt_ir__walk w;
    uint32_t d;
    if (qnnrt_ir__eval_in(e, 2) != NULL) value = e->in[2];
    else if (!qnnrt_ir__eval_scalar(e, "value", &value)) return 0;
    else if (e->out->whole && !value.whole && e->out->dtype != QNNRT_DTYPE_BOOL8) {
        index = qnnrt_ir__wide_i(&value, 0);             /* the number becomes an integer first */
        value.dtype = QNNRT_DTYPE_I64;
        value.whole = 1;
        qnnrt_ir__wide_set(&value, 0, index);
    }
    if (by == '/' || !self) {
        seen = (int64_t *)qnnrt_ir__eval_get(e, x.count, sizeof(*seen));
        if (seen == NULL) return 0;
    }
    for (k = 0; k < x.count; ++k) qnnrt_ir__wide_move(e->out, k, &x, k);
    qnnrt_ir__walk_begin(&w, x.rank, rows ? x.dims : ids->dims);
    if (rows) w.dims[axis] = ids->count;
    for (d = 0; d < w.rank; ++d) total *= w.dims[d];
    qnnrt_ir__walk_strides(&x, w.stride[0]);
    step = w.stride[0][axis];
    w.stride[0][axis] = 0;
    if (rows) w.stride[1][axis] = 1;
    else qnnrt_ir__walk_strides(ids, w.stride[1]);
    if (whole) w.stride[2][0] = value.count > 1;
    else if (value.rank == x.rank) qnnrt_ir__walk_strides(&value, w.stride[2]);
    for (k = 0; k < total; ++k, qnnrt_ir__walk_next(&w)) {
        index = qnnrt_ir__wide_i(ids, w.place[1]);
        if (!puts && !fills && index < 0) return qnnrt_ir__move_no(e, index, 0, x.dims[axis]);
        if (!qnnrt_ir__move_index(e, &index, x.dims[axis])) return 0;
        index = w.place[0] + index * step;
        qnnrt_ir__move_join(e->out, index, &value, w.place[2],
                            seen != NULL && !self && seen[index] == 0 ? '=' : by, factor);
        if (seen != NULL) ++seen[index];
    }
    for (k = 0; by == '/' && k < x.count; ++k) {
        const double f = qnnrt_ir__wide_f(e->out, k) / (double)(seen[k] + self);
        if (seen[k] > 0) qnnrt_ir__wide_put(e->out, k, e->out->whole ? floor(f) : f);
    }
    return 1;
}

/* masked_scatter: elements under the mask are those of the source, one after the other. */
static int qnnrt_ir__eval_masked_scatter(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *source = &e->in[2];
    qnnrt_ir__walk w;
    int64_t k, next = 0;
    qnnrt_ir__walk_begin(&w, e->out->rank, e->out->dims);
    qnnrt_ir__walk_add(&w, 0, &e->in[0]);
    qnnrt_ir__walk_add(&w, 1, &e->in[1]);
    for (k = 0; k < e->out->count; ++k, qnnrt_ir__walk_next(&w)) {
        if (qnnrt_ir__wide_i(&e->in[1], w.place[1]) == 0) {
            qnnrt_ir__wide_move(e->out, k, &e->in[0], w.place[0]);
        } else {
            if (next == source->count)
                return qnnrt_ir__eval_no(e, "the mask has more elements than the source");
            qnnrt_ir__wide_move(e->out, k, source, next++);
        }
    }
    return 1;
}

/* Return an integer in the order of an element. NaN counts as the largest. */
static int64_t qnnrt_ir__move_key(const qnnrt_ir__wide *x, int64_t at)
{
    double f;
    int64_t bits;
    if (x->whole) return qnnrt_ir__wide_i(x, at);
    f = qnnrt_ir__wide_f(x, at);
    memcpy(&bits, &f, sizeof bits);
    return f != f ? INT64_MAX : bits < 0 ? -(bits & INT64_MAX) : bits;
}

/* Sort places by their keys: merge runs of 1, 2, 4, ... elements, of which `most` are needed; equal
   ones keep their order. Return the one of two rooms that has them. */
static int64_t *qnnrt_ir__move_sort(const int64_t *keys, int64_t size, int64_t most, int64_t *now,
                                    int64_t *next)
{
    int64_t n, run;
    for (n = 0; n < size; ++n) now[n] = n;
    for (run = 1; run < size; run *= 2) {
        int64_t *const was = now;
        for (n = 0; n < size; n += 2 * run) {
            const int64_t middle = n + run < size ? n + run : size;
            const int64_t last = middle + run < size ? middle + run : size;
            const int64_t end = last - n < most ? last : n + most;
            int64_t a = n, b = middle, to = n;
            while (to < end)
                next[to++] = b == last || b - middle >= most ||
                             (a < middle && keys[now[a]] <= keys[now[b]]) ? now[a++] : now[b++];
        }
        now = next;
        next = was;
    }
    return now;
}

/* Return which of sorted places is the result of kthvalue, median or mode; 0 of others. */
static int64_t qnnrt_ir__move_kth(const qnnrt_ir__eval *e, const int64_t *keys,
                                  const int64_t *order, int64_t size)
{
    const int nan = qnnrt_ir__eval_is(e->node, "nanmedian");
    int64_t n, begin = 0, best = 0, most = 0, whole = size;
    if (qnnrt_ir__eval_is(e->node, "kthvalue")) return qnnrt_ir_int(e->node, "k", 1) - 1;
    if (nan || qnnrt_ir__eval_is(e->node, "median")) {
        while (!e->in[0].whole && whole > 0 && keys[order[whole - 1]] == INT64_MAX) --whole;
        return whole < size && !nan ? whole : whole > 0 ? (whole - 1) / 2 : 0;
    }
    for (n = 0; qnnrt_ir__eval_is(e->node, "mode") && n < size; ++n) {
        if (keys[order[n]] != keys[order[begin]]) begin = n;
        if (n - begin >= most) { most = n - begin + 1; best = n; }
    }
    return best;
}

/* sort, argsort, msort, topk, kthvalue, median, mode: some of the sorted elements, with their
   places */
static int qnnrt_ir__eval_order(qnnrt_ir__eval *e)
{
    const int whole = e->node->info->args[0] == '\0';   /* median.default */
    const qnnrt_ir__wide x = whole ? qnnrt_ir__move_flat(&e->in[0]) : e->in[0];
    const int places = qnnrt_ir__eval_is(e->node, "argsort");
    const int top = qnnrt_ir__eval_is(e->node, "topk");
    const int descending = qnnrt_ir_int(e->node, top ? "largest" : "descending", top) != 0;
    int64_t outer, size, inner, o, n, count, first, *keys, *rooms[2], *order;
    qnnrt_ir__wide_split(&x, whole ? 0 : qnnrt_ir__eval_axis(e, "dim", x.rank), &outer, &size,
                         &inner);
    keys = (int64_t *)qnnrt_ir__eval_get(e, size, sizeof(*keys));
    rooms[0] = (int64_t *)qnnrt_ir__eval_get(e, size, sizeof(**rooms));
    rooms[1] = (int64_t *)qnnrt_ir__eval_get(e, size, sizeof(**rooms));
    if (keys == NULL || rooms[0] == NULL || rooms[1] == NULL) return 0;
    count = e->out->count / (outer * inner);
    for (o = 0; o < outer * inner; ++o) {
        const int64_t from = o / inner * size * inner + o % inner;
        const int64_t to = o / inner * count * inner + o % inner;
        for (n = 0; n < size; ++n) {
            const int64_t key = qnnrt_ir__move_key(&x, from + n * inner);
            keys[n] = descending ? ~key : key;
        }
        order = qnnrt_ir__move_sort(keys, size, top ? count : size, rooms[0], rooms[1]);
        first = qnnrt_ir__move_kth(e, keys, order, size);
        for (n = 0; n < count; ++n) {
            const int64_t at = order[first + n];
            if (!places) qnnrt_ir__wide_move(e->out, to + n * inner, &x, from + at * inner);
            if (places || e->out_count > 1)
                qnnrt_ir__wide_set(&e->out[!places], to + n * inner, at);
        }
    }
    return 1;
}

/* cumsum, cumprod; cummax, cummin: the best so far, and its last place; logcumsumexp: the logarithm
   of a sum */
static int qnnrt_ir__eval_scan(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0];
    const int least = qnnrt_ir__eval_is(e->node, "cummin");
    const char what = e->node->op[3];        /* s, p, m, or c of log c umsumexp */
    int64_t outer, size, inner, o, n, best = 0, top = 0;
    qnnrt_ir__wide_split(x, qnnrt_ir__eval_axis(e, "dim", x->rank), &outer, &size, &inner);
    for (o = 0; o < outer * inner; ++o) {
        const int64_t from = o / inner * size * inner + o % inner;
        double sum = what == 'c' ? -HUGE_VAL : what == 'p';
        uint64_t whole = what == 'p';
        for (n = 0; n < size; ++n) {
            const int64_t at = from + n * inner;
            if (what == 'm') {
                int64_t key = qnnrt_ir__move_key(x, at);
                if (least && (x->whole || key != INT64_MAX)) key = ~key;
                if (n == 0 || key >= top) { top = key; best = n; }
                qnnrt_ir__wide_move(e->out, at, x, from + best * inner);
                qnnrt_ir__wide_set(&e->out[1], at, best);
            } else if (e->out->whole) {
                const uint64_t i = (uint64_t)qnnrt_ir__wide_as(x, at, e->out->dtype);
                whole = what == 'p' ? whole * i : whole + i;
                qnnrt_ir__wide_set(e->out, at, (int64_t)whole);
            } else {
                const double f = qnnrt_ir__wide_f(x, at), far = fabs(f - sum);
                if (what != 'c') sum = what == 'p' ? sum * f : sum + f;
                else if (f == sum && far != far) sum = f;
                else sum = (f > sum || f != f ? f : sum) + log1p(exp(-far));
                qnnrt_ir__wide_put(e->out, at, sum);
            }
        }
    }
    return 1;
}

/* searchsorted, bucketize: the first place whose element is not below, or with `right` above */
static int qnnrt_ir__eval_search(qnnrt_ir__eval *e)
{
    const size_t of = e->node->op[0] == 'b';
    const qnnrt_ir__wide *row = &e->in[of], *x = &e->in[1 - of], *sorter = qnnrt_ir__eval_in(e, 2);
    const int right = qnnrt_ir_int(e->node, "right", 0) != 0 ||
                      qnnrt_ir__eval_text(e->node, "side", "right");
    const int64_t size = row->dims[row->rank - 1];
    const int64_t each = row->rank == 1 || x->rank == 0 ? x->count : x->dims[x->rank - 1];
    int64_t k;
    for (k = 0; k < x->count; ++k) {
        const int64_t begin = row->rank == 1 ? 0 : k / each * size;
        int64_t low = 0, high = size;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            int64_t at = begin + middle, i, j;
            int above;
            if (sorter != NULL) {
                at = qnnrt_ir__wide_i(sorter, at);
                if (!qnnrt_ir__move_index(e, &at, size)) return 0;
                at += begin;
            }
            if (row->whole && x->whole) {
                i = qnnrt_ir__wide_i(row, at);
                j = qnnrt_ir__wide_i(x, k);
                above = right ? i > j : i >= j;
            } else {
                const double f = qnnrt_ir__wide_f(row, at), g = qnnrt_ir__wide_f(x, k);
                above = right ? f > g : f >= g;
            }
            if (above) high = middle;
            else low = middle + 1;
        }
        qnnrt_ir__wide_set(e->out, k, low);
    }
    return 1;
}

/* histc: how many elements are in each part from min to max. bincount: sums of weights, or 1 */
static int qnnrt_ir__eval_counts(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0], *weight = qnnrt_ir__eval_in(e, 1);
    const int64_t size = e->out->count;
    double low = qnnrt_ir_float(e->node, "min", 0), high = qnnrt_ir_float(e->node, "max", 0);
    const int open = low >= high && low <= high;
    double *sums = (double *)qnnrt_ir__eval_get(e, size, sizeof(*sums));
    int64_t k, at;
    if (sums == NULL) return 0;
    for (k = 0; open && k < x->count; ++k) {
        const double f = qnnrt_ir__wide_f(x, k);
        if (k == 0 || f < low) low = f;
        if (k == 0 || f > high) high = f;
    }
    if (low >= high && low <= high) { low -= 1; high += 1; }
    for (k = 0; k < x->count; ++k) {
        if (!x->whole) {
            const double f = qnnrt_ir__wide_f(x, k);
            if (!(f >= low && f <= high)) continue;
            at = (int64_t)((f - low) * (double)size / (high - low));
            if (at >= size) at = size - 1;
        } else {
            at = qnnrt_ir__wide_i(x, k);
            if (at < 0 || at >= size) return qnnrt_ir__move_no(e, at, 0, size);
        }
        sums[at] += weight != NULL ? qnnrt_ir__wide_f(weight, k) : 1;
    }
    for (k = 0; k < size; ++k) qnnrt_ir__wide_put(e->out, k, sums[k]);
    return 1;
}

static int qnnrt_ir__eval_one_hot(qnnrt_ir__eval *e)
{
    const int64_t size = e->out->dims[e->out->rank - 1];
    int64_t k, index;
    for (k = 0; k < e->out->count; ++k) {
        index = qnnrt_ir__wide_i(&e->in[0], k / size);
        if (index < 0 || index >= size) return qnnrt_ir__move_no(e, index, 0, size);
        qnnrt_ir__wide_set(e->out, k, index == k % size);
    }
    return 1;
}

/* index.Tensor, index_put: one writes where the other reads. */
static int qnnrt_ir__eval_index(qnnrt_ir__eval *e)
{
    const int puts = qnnrt_ir__eval_is(e->node, "index_put");
    const qnnrt_ir__wide *x = &e->in[0], *from = puts ? &e->in[e->in_count - 1] : NULL;
    const size_t count = e->in_count - 1 - (size_t)puts;
    int64_t stride[QNNRT_IR_RANK], total = 1, k;
    qnnrt_ir__shape s;
    qnnrt_ir__walk w, g;
    uint32_t d, r;
    memset(&s, 0, sizeof(s));
    s.node = e->node;
    if (!qnnrt_ir__shape_indexed(&s, count)) return qnnrt_ir__eval_no(e, "its shape is wrong");
    qnnrt_ir__walk_strides(x, stride);
    for (d = 0; d < s.rank; ++d) total *= s.dims[d];
    for (k = 0; puts && k < x->count; ++k) qnnrt_ir__wide_move(e->out, k, x, k);
    qnnrt_ir__walk_begin(&w, s.rank, s.dims);
    if (puts) qnnrt_ir__walk_add(&w, 0, from);
    for (k = 0; k < total; ++k, qnnrt_ir__walk_next(&w)) {
        int64_t to = 0, index;
        uint32_t at = 0;
        for (d = 0; d < x->rank; ++d) {
            const qnnrt_ir__wide *ids = d < count ? qnnrt_ir__eval_in(e, d + 1) : NULL;
            if (ids == NULL) {
                if (at == s.place) at += s.group;
                to += w.at[at++] * stride[d];
                continue;
            }
            qnnrt_ir__walk_begin(&g, s.group, s.dims + s.place);
            qnnrt_ir__walk_add(&g, 0, ids);
            for (index = 0, r = 0; r < s.group; ++r) index += w.at[s.place + r] * g.stride[0][r];
            index = qnnrt_ir__wide_i(ids, index);
            if (!qnnrt_ir__move_index(e, &index, x->dims[d])) return 0;
            to += index * stride[d];
        }
        if (puts) qnnrt_ir__move_join(e->out, to, from, w.place[0],
                                      qnnrt_ir__shape_join_by(e->node), 1);
        else qnnrt_ir__wide_move(e->out, k, x, to);
    }
    return 1;
}

/* =====================================================================================
   EVALUATION: PRODUCTS                                                            >>gemm
   Products of matrices, convolutions and attention, with sums in double.
   Needs: >>attr >>wide >>eval_math     Knows nothing of: views
   ===================================================================================== */

/* A window over up to 3 spatial dimensions; fewer ones are filled with 1 in front. */
typedef struct qnnrt_ir__slide {
    int64_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
} qnnrt_ir__slide;

static void qnnrt_ir__net_slide(const qnnrt_ir__eval *e, uint32_t n, const int64_t *kernel,
                                qnnrt_ir__slide *s)
{
    const qnnrt_ir__wide *x = &e->in[0], *y = e->out;
    int64_t list[3];
    uint32_t i, k;
    for (i = 0; i < 3; ++i) {
        s->in[i] = s->out[i] = s->kernel[i] = s->stride[i] = s->dilation[i] = 1;
        s->pad[i] = 0;
    }
    for (i = 0; i < n; ++i) {
        k = 3 - n + i;
        s->in[k] = x->dims[x->rank - n + i];
        s->out[k] = y->dims[y->rank - n + i];
        s->kernel[k] = s->stride[k] = kernel[i];
    }
    if (qnnrt_ir_each(e->node, "stride", n, list)) memcpy(s->stride + 3 - n, list, n * 8);
    if (qnnrt_ir_each(e->node, "padding", n, list)) memcpy(s->pad + 3 - n, list, n * 8);
    if (qnnrt_ir_each(e->node, "dilation", n, list)) memcpy(s->dilation + 3 - n, list, n * 8);
    if (qnnrt_ir__eval_text(e->node, "padding", "same"))            /* the larger half at the end */
        for (i = 3 - n; i < 3; ++i) s->pad[i] = s->dilation[i] * (s->kernel[i] - 1) / 2;
}

/* Return the place in a plane of kernel element k under output element o, -1: in the padding. */
static int64_t qnnrt_ir__net_place(const qnnrt_ir__slide *s, int64_t o, int64_t k)
{
    int64_t at[3], i;
    for (i = 3; i-- > 0; o /= s->out[i], k /= s->kernel[i]) {
        const int64_t p =
            o % s->out[i] * s->stride[i] - s->pad[i] + k % s->kernel[i] * s->dilation[i];
        if (p < 0 || p >= s->in[i]) return -1;
        at[i] = p;
    }
    return (at[0] * s->in[1] + at[1]) * s->in[2] + at[2];
}

static int64_t qnnrt_ir__net_area(const int64_t *size) { return size[0] * size[1] * size[2]; }

/* A matrix in a tensor; or, with a slide, one whose rows are the windows of a convolution. */
typedef struct qnnrt_ir__matrix {
    const qnnrt_ir__wide  *x;                /* NULL: zeros */
    int64_t                at, row, step;    /* the first element; from row to row, in a row */
    const qnnrt_ir__slide *slide;            /* row: an output element; step: from channel to
                                                channel */
    int64_t               *offsets;          /* [depth]: from the first element of a window */
} qnnrt_ir__matrix;

/* out = alpha * a * b^T + beta * plus, in blocks that fit in the caches: QNNRT_IR__ROWS rows,
   QNNRT_IR__COLUMNS columns, QNNRT_IR__DEPTH terms of each sum. Tiles of 4 x 8 sums are added up
   from copies in double, rows side by side. Terms are added in their order, products of float32
   are exact in double: the error of a sum of n terms is at most n * 2^-53 of the sum of their
   magnitudes. */
enum { QNNRT_IR__TILE = 4, QNNRT_IR__BROAD = 8, QNNRT_IR__ROWS = 128, QNNRT_IR__COLUMNS = 256,
       QNNRT_IR__DEPTH = 256 };
typedef struct qnnrt_ir__gemm {
    qnnrt_ir__matrix  a, b, plus;            /* [rows, depth], [columns, depth], [rows, columns] */
    int64_t           rows, columns, depth;
    double            alpha, beta;
    qnnrt_ir__wide   *out;
    int64_t           at, row, step;         /* the place of the product in out */
    double           *pack_a, *pack_b, *sums; /* copies of a block of a, of 8 rows of b; tiles */
    void            (*tile)(const double *a, const double *b, int64_t count, int more,
                            double *sums, unsigned char *floats, size_t row);
} qnnrt_ir__gemm;

static int64_t qnnrt_ir__gemm_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Copy elements, `apart` from each other: at `offsets`, or NULL: `step` from each other. */
static void qnnrt_ir__gemm_copy(const qnnrt_ir__wide *x, int64_t at, const int64_t *offsets,
                                int64_t step, int64_t count, int apart, double *to)
{
    int64_t k;
    float f;
    if (count == 0) return;
    if (x->dtype == QNNRT_DTYPE_F32) {
        const unsigned char *const data = x->data + (size_t)at * sizeof f;
        QNNRT_IR__MUST(at + (offsets != NULL ? offsets[count - 1] : (count - 1) * step) < x->count);
        for (k = 0; k < count && offsets != NULL; ++k, to += apart) {
            memcpy(&f, data + (size_t)offsets[k] * sizeof f, sizeof f);
            *to = (double)f;
        }
        for (; k < count; ++k, to += apart) {
            memcpy(&f, data + (size_t)(k * step) * sizeof f, sizeof f);
            *to = (double)f;
        }
    } else if (x->dtype == QNNRT_DTYPE_F64 && offsets == NULL) {
        const unsigned char *const data = x->data + (size_t)at * sizeof *to;
        QNNRT_IR__MUST(at + (count - 1) * step < x->count);
        for (k = 0; k < count; ++k, to += apart)
            memcpy(to, data + (size_t)(k * step) * sizeof *to, sizeof *to);
    } else for (k = 0; k < count; ++k, to += apart)
        *to = qnnrt_ir__wide_f(x, at + (offsets != NULL ? offsets[k] : k * step));
}

/* Copy terms of a window that is partly in the padding: of each row of it those that are inside. */
static void qnnrt_ir__gemm_border(const qnnrt_ir__matrix *m, const int64_t *window, int64_t first,
                                  int64_t count, int apart, double *to)
{
    const qnnrt_ir__slide *s = m->slide;
    const int64_t z = window[2], far = s->dilation[2];
    const int64_t from = z < 0 ? (far - 1 - z) / far : 0;
    const int64_t end = z < s->in[2] ? (s->in[2] - 1 - z) / far + 1 : 0;
    int64_t c = first % s->kernel[2], row = first / s->kernel[2], n, k;
    for (; count > 0; c = 0, ++row, count -= n) {
        const int64_t x = window[0] + row / s->kernel[1] % s->kernel[0] * s->dilation[0];
        const int64_t y = window[1] + row % s->kernel[1] * s->dilation[1];
        n = qnnrt_ir__gemm_least(s->kernel[2] - c, count);
        for (k = 0; k < n; ++k) to[k * apart] = 0;
        k = from > c ? from - c : 0;
        if (x >= 0 && x < s->in[0] && y >= 0 && y < s->in[1] && end - c > k && n > k)
            qnnrt_ir__gemm_copy(m->x, m->at + row / s->kernel[1] / s->kernel[0] * m->step +
                                          (x * s->in[1] + y) * s->in[2] + z + (c + k) * far, NULL,
                                far, qnnrt_ir__gemm_least(end - c, n) - k, apart, to + k * apart);
        to += n * apart;
    }
}

/* Copy terms of a row, `apart` from each other: a row of the tensor, or a window. */
static void qnnrt_ir__gemm_row(const qnnrt_ir__matrix *m, int64_t row, int64_t begin,
                               int64_t count, int apart, double *to)
{
    const qnnrt_ir__slide *s = m->slide;
    int64_t at = m->at + row * m->row + begin * m->step, window[3];
    int inside = 1, i;
    for (i = 3; i-- > 0 && s != NULL; row /= s->out[i]) {
        window[i] = row % s->out[i] * s->stride[i] - s->pad[i];
        inside &= window[i] >= 0 && window[i] + (s->kernel[i] - 1) * s->dilation[i] < s->in[i];
    }
    if (!inside) {
        qnnrt_ir__gemm_border(m, window, begin, count, apart, to);
        return;
    }
    if (s != NULL) at = m->at + (window[0] * s->in[1] + window[1]) * s->in[2] + window[2];
    qnnrt_ir__gemm_copy(m->x, at, s != NULL ? m->offsets + begin : NULL, m->step, count, apart, to);
}

/* Copy `apart` rows of a matrix, zeros where there are fewer. */
static void qnnrt_ir__gemm_pack(const qnnrt_ir__matrix *m, int64_t row, int64_t rows,
                                int64_t begin, int64_t count, int apart, double *to)
{
    int64_t i, k;
    float f;
    if (m->slide == NULL && m->row == 1 && row + apart <= rows && count > 0 &&
        m->x->dtype == QNNRT_DTYPE_F32) {
        const unsigned char *data = qnnrt_ir__wide_at(m->x, m->at + row + begin * m->step);
        for (k = 0; k < count; ++k, data += (size_t)m->step * sizeof f)
            for (i = 0; i < apart; ++i) {
                memcpy(&f, data + (size_t)i * sizeof f, sizeof f);
                to[k * apart + i] = (double)f;
            }
        return;
    }
    for (i = 0; i < apart; ++i) {
        if (row + i < rows) qnnrt_ir__gemm_row(m, row + i, begin, count, apart, to + i);
        else for (k = 0; k < count; ++k) to[k * apart + i] = 0;
    }
}

/* Compute a tile of sums, or with `more` add to it. floats: where its rows go as float32 then. */
static __inline__ __attribute__((always_inline)) void qnnrt_ir__gemm_terms(
    const double *a, const double *b, int64_t count, int more, double *sums,
    unsigned char *floats, size_t row)
{
    typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
    typedef float narrow __attribute__((vector_size(16), aligned(1), may_alias));
    const four zero = {0, 0, 0, 0};
    four *const to = (four *)(void *)sums;
    four s0 = more ? to[0] : zero, s1 = more ? to[1] : zero, s2 = more ? to[2] : zero;
    four s3 = more ? to[3] : zero, s4 = more ? to[4] : zero, s5 = more ? to[5] : zero;
    four s6 = more ? to[6] : zero, s7 = more ? to[7] : zero;
    int64_t k;
    for (k = 0; k < count; ++k, a += QNNRT_IR__TILE, b += QNNRT_IR__BROAD) {
        const four x = *(const four *)(const void *)b, y = *(const four *)(const void *)(b + 4);
        const four a0 = {a[0], a[0], a[0], a[0]}, a1 = {a[1], a[1], a[1], a[1]};
        const four a2 = {a[2], a[2], a[2], a[2]}, a3 = {a[3], a[3], a[3], a[3]};
        s0 += a0 * x;
        s1 += a0 * y;
        s2 += a1 * x;
        s3 += a1 * y;
        s4 += a2 * x;
        s5 += a2 * y;
        s6 += a3 * x;
        s7 += a3 * y;
    }
    if (floats == NULL) {
        to[0] = s0;
        to[1] = s1;
        to[2] = s2;
        to[3] = s3;
        to[4] = s4;
        to[5] = s5;
        to[6] = s6;
        to[7] = s7;
        return;
    }
    *(narrow *)(void *)floats = __builtin_convertvector(s0, narrow);
    *(narrow *)(void *)(floats + 16) = __builtin_convertvector(s1, narrow);
    *(narrow *)(void *)(floats + row) = __builtin_convertvector(s2, narrow);
    *(narrow *)(void *)(floats + row + 16) = __builtin_convertvector(s3, narrow);
    *(narrow *)(void *)(floats + 2 * row) = __builtin_convertvector(s4, narrow);
    *(narrow *)(void *)(floats + 2 * row + 16) = __builtin_convertvector(s5, narrow);
    *(narrow *)(void *)(floats + 3 * row) = __builtin_convertvector(s6, narrow);
    *(narrow *)(void *)(floats + 3 * row + 16) = __builtin_convertvector(s7, narrow);
}

static void qnnrt_ir__gemm_tile(const double *a, const double *b, int64_t count, int more,
                                double *sums, unsigned char *floats, size_t row)
{
    qnnrt_ir__gemm_terms(a, b, count, more, sums, floats, row);
}

#if defined(__x86_64__)
/* Return true where the processor multiplies and adds 4 numbers at a time. */
static int qnnrt_ir__gemm_fuses(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* The same there: the products of float32 are exact, so that the sums are the same. */
__attribute__((target("avx2,fma")))
static void qnnrt_ir__gemm_tile_wide(const double *a, const double *b, int64_t count, int more,
                                     double *sums, unsigned char *floats, size_t row)
{
    qnnrt_ir__gemm_terms(a, b, count, more, sums, floats, row);
}
#endif

/* Write a tile of sums, where `rows` and `columns` are left. */
static void qnnrt_ir__gemm_write(const qnnrt_ir__gemm *p, int64_t i, int64_t rows, int64_t j,
                                 int64_t columns, const double *sums)
{
    int64_t r, c;
    for (r = 0; r < rows && r < QNNRT_IR__TILE; ++r)
        for (c = 0; c < columns && c < QNNRT_IR__BROAD; ++c) {
            double f = p->alpha * sums[r * QNNRT_IR__BROAD + c];
            if (p->plus.x != NULL)
                f += p->beta * qnnrt_ir__wide_f(p->plus.x, p->plus.at + (i + r) * p->plus.row +
                                                               (j + c) * p->plus.step);
            qnnrt_ir__wide_put(p->out, p->at + (i + r) * p->row + (j + c) * p->step, f);
        }
}

/* Compute a block of sums: rows from i, columns from j, terms from k. The last ones are written. */
static void qnnrt_ir__gemm_block(const qnnrt_ir__gemm *p, int64_t i, int64_t rows, int64_t j,
                                 int64_t columns, int64_t k, int64_t count)
{
    const int last = k + count == p->depth, plain = last && p->plus.x == NULL && p->step == 1 &&
        p->alpha >= 1 && p->alpha <= 1 && p->out->dtype == QNNRT_DTYPE_F32;
    double *sums = p->sums;
    int64_t r, c;
    for (r = 0; r < rows; r += QNNRT_IR__TILE)
        qnnrt_ir__gemm_pack(&p->a, i + r, p->rows, k, count, QNNRT_IR__TILE,
                            p->pack_a + r * count);
    for (c = 0; c < columns; c += QNNRT_IR__BROAD) {
        qnnrt_ir__gemm_pack(&p->b, j + c, p->columns, k, count, QNNRT_IR__BROAD, p->pack_b);
        for (r = 0; r < rows; r += QNNRT_IR__TILE) {
            const int whole = plain && r + QNNRT_IR__TILE <= rows && c + QNNRT_IR__BROAD <= columns;
            unsigned char *const floats = !whole ? NULL :
                qnnrt_ir__wide_room(p->out, p->at + (i + r) * p->row + j + c);
            p->tile(p->pack_a + r * count, p->pack_b, count, k > 0, sums, floats,
                    (size_t)p->row * sizeof(float));
            if (last && !whole)
                qnnrt_ir__gemm_write(p, i + r, rows - r, j + c, columns - c, sums);
            if (count < p->depth) sums += QNNRT_IR__TILE * QNNRT_IR__BROAD;
        }
    }
}

/* Begin products of at most these sizes. Return 0 when out of memory. */
static int qnnrt_ir__gemm_begin(qnnrt_ir__eval *e, qnnrt_ir__gemm *p, qnnrt_ir__wide *out,
                                int64_t rows, int64_t columns, int64_t depth)
{
    const int64_t deep = qnnrt_ir__gemm_least(depth, QNNRT_IR__DEPTH);
    const int64_t tiles = depth <= deep ? 1 :
        (qnnrt_ir__gemm_least(rows, QNNRT_IR__ROWS) / QNNRT_IR__TILE + 1) *
        (qnnrt_ir__gemm_least(columns, QNNRT_IR__COLUMNS) / QNNRT_IR__BROAD + 1);
    memset(p, 0, sizeof(*p));
    p->rows = rows;
    p->columns = columns;
    p->depth = depth;
    p->alpha = p->beta = 1;
    p->tile = qnnrt_ir__gemm_tile;
#if defined(__x86_64__)
    if (qnnrt_ir__gemm_fuses()) p->tile = qnnrt_ir__gemm_tile_wide;
#endif
    p->out = out;
    rows = qnnrt_ir__gemm_least(rows, QNNRT_IR__ROWS) + QNNRT_IR__TILE;
    p->pack_a = (double *)qnnrt_ir__eval_get(e, rows * deep, sizeof(double));
    p->pack_b = (double *)qnnrt_ir__eval_get(e, QNNRT_IR__BROAD * deep, sizeof(double));
    p->sums = (double *)qnnrt_ir__eval_get(e, tiles * QNNRT_IR__TILE * QNNRT_IR__BROAD,
                                           sizeof(double));
    return p->pack_a != NULL && p->pack_b != NULL && p->sums != NULL;
}

static void qnnrt_ir__gemm_run(const qnnrt_ir__gemm *p)
{
    int64_t i, j, k;
    for (i = 0; i < p->rows; i += QNNRT_IR__ROWS) {
        const int64_t rows = qnnrt_ir__gemm_least(p->rows - i, QNNRT_IR__ROWS);
        for (j = 0; j < p->columns; j += QNNRT_IR__COLUMNS) {
            const int64_t columns = qnnrt_ir__gemm_least(p->columns - j, QNNRT_IR__COLUMNS);
            k = 0;
            do {                             /* sums without terms are written, too */
                const int64_t count = qnnrt_ir__gemm_least(p->depth - k, QNNRT_IR__DEPTH);
                qnnrt_ir__gemm_block(p, i, rows, j, columns, k, count);
                k += count;
            } while (k < p->depth);
        }
    }
}

static int qnnrt_ir__eval_linear(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0], *w = &e->in[1];
    const int64_t inner = x->dims[x->rank - 1], columns = w->rank == 1 ? 1 : w->dims[0];
    qnnrt_ir__gemm p;
    if (!qnnrt_ir__gemm_begin(e, &p, e->out, e->out->count / columns, columns, inner)) return 0;
    p.a.x = x;
    p.b.x = w;
    p.plus.x = qnnrt_ir__eval_in(e, 2);
    p.a.row = p.b.row = inner;
    p.a.step = p.b.step = p.plus.step = p.step = 1;
    p.row = p.columns;
    qnnrt_ir__gemm_run(&p);
    return 1;
}

/* matmul, mm, bmm, mv, and with `first` 1 the product of addmm and baddbmm. */
static int qnnrt_ir__gemm_matmul(qnnrt_ir__eval *e, size_t first)
{
    qnnrt_ir__wide a = e->in[first], b = e->in[first + 1];
    const int turned = qnnrt_ir_int(e->node, "transpose_b", 0) != 0;
    int64_t dims[QNNRT_IR_RANK], i;
    uint32_t rank = 0, d;
    qnnrt_ir__gemm p;
    qnnrt_ir__walk w;
    if (a.rank == 1) { a.rank = 2; a.dims[1] = a.dims[0]; a.dims[0] = 1; }
    if (b.rank == 1) { b.rank = 2; b.dims[1] = 1; }
    if (!qnnrt_ir__gemm_begin(e, &p, e->out, a.dims[a.rank - 2],
                              b.dims[turned ? b.rank - 2 : b.rank - 1], a.dims[a.rank - 1]))
        return 0;
    p.a.x = &a;
    p.b.x = &b;
    p.a.row = p.depth;
    p.b.row = turned ? p.depth : 1;
    p.b.step = turned ? 1 : p.columns;
    p.row = p.columns;
    p.a.step = p.step = 1;
    rank = a.rank > b.rank ? a.rank - 2 : b.rank - 2;
    for (d = 0; d < rank; ++d) dims[d] = e->out->dims[d];
    /* Walk over the products of the batch. */
    qnnrt_ir__walk_begin(&w, rank, dims);
    a.rank -= 2;
    b.rank -= 2;
    qnnrt_ir__walk_add(&w, 0, &a);
    qnnrt_ir__walk_add(&w, 1, &b);
    if (first == 1) {
        qnnrt_ir__walk all;
        qnnrt_ir__walk_begin(&all, e->out->rank, e->out->dims);
        qnnrt_ir__walk_add(&all, 2, &e->in[0]);
        memcpy(w.stride[2], all.stride[2], rank * sizeof(*dims));
        p.plus.x = &e->in[0];
        p.plus.row = all.stride[2][rank];
        p.plus.step = all.stride[2][rank + 1];
        p.alpha = qnnrt_ir_float(e->node, "alpha", 1);
        p.beta = qnnrt_ir_float(e->node, "beta", 1);
        if (p.beta == 0) p.plus.x = NULL;                /* not read: not even NaN */
        if (p.alpha == 0 && e->node->op[0] == 'a') p.depth = 0;
    }
    for (i = 0; i < e->out->count; i += p.rows * p.columns, qnnrt_ir__walk_next(&w)) {
        p.a.at = w.place[0] * p.rows * p.depth;
        p.b.at = w.place[1] * p.depth * p.columns;
        p.plus.at = w.place[2];
        p.at = i;
        qnnrt_ir__gemm_run(&p);
    }
    return 1;
}

/* Rows up to ends[g] times matrix g. Rows after the last end are 0. */
static int qnnrt_ir__eval_grouped(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0], *w = &e->in[1], *ends = &e->in[2];
    int64_t g, begin = 0, end, k;
    qnnrt_ir__gemm p;
    if (!qnnrt_ir__gemm_begin(e, &p, e->out, x->dims[0], w->dims[2], x->dims[1])) return 0;
    for (k = 0; k < e->out->count; ++k) qnnrt_ir__wide_put(e->out, k, 0);
    p.a.x = x;
    p.b.x = w;
    p.a.row = p.depth;
    p.row = p.b.step = p.columns;
    p.a.step = p.b.row = p.step = 1;
    for (g = 0; g < w->dims[0]; ++g, begin = end) {
        end = qnnrt_ir__wide_i(ends, g);
        if (end < begin || end > x->dims[0])
            return qnnrt_ir__eval_no(e, "offs does not rise, or leaves the rows");
        p.rows = end - begin;
        p.a.at = begin * p.a.row;
        p.b.at = g * p.depth * p.columns;
        p.at = begin * p.row;
        qnnrt_ir__gemm_run(&p);
    }
    return 1;
}

static int qnnrt_ir__eval_matmul(qnnrt_ir__eval *e) { return qnnrt_ir__gemm_matmul(e, 0); }
static int qnnrt_ir__eval_addmm(qnnrt_ir__eval *e) { return qnnrt_ir__gemm_matmul(e, 1); }

/* Of each group of channels: the weight times windows of the input. */
static int qnnrt_ir__eval_conv(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0], *w = &e->in[1];
    const int64_t groups = qnnrt_ir_int(e->node, "groups", 1), channels = w->dims[0];
    int64_t area_in, part, batch, group, count, k;
    qnnrt_ir__slide s;
    qnnrt_ir__gemm p;
    qnnrt_ir__net_slide(e, w->rank - 2, w->dims + 2, &s);
    area_in = qnnrt_ir__net_area(s.in);
    part = w->dims[1] * area_in;
    if (!qnnrt_ir__gemm_begin(e, &p, e->out, channels / groups, qnnrt_ir__net_area(s.out),
                              w->dims[1] * qnnrt_ir__net_area(s.kernel))) return 0;
    p.row = p.columns;
    p.a.row = p.depth;
    p.b.offsets = (int64_t *)qnnrt_ir__eval_get(e, p.depth, sizeof(int64_t));
    if (p.b.offsets == NULL) return 0;
    for (k = 0; k < p.depth; ++k) {          /* wraps where no window is inside */
        const int64_t row = k / s.kernel[2], plane = row / s.kernel[1];
        const uint64_t x2 = (uint64_t)(k % s.kernel[2]) * (uint64_t)s.dilation[2];
        const uint64_t x1 = (uint64_t)(row % s.kernel[1]) * (uint64_t)s.dilation[1];
        const uint64_t x0 = (uint64_t)(plane % s.kernel[0]) * (uint64_t)s.dilation[0];
        p.b.offsets[k] = (int64_t)(((uint64_t)(plane / s.kernel[0] * s.in[0]) + x0) *
                                       (uint64_t)(s.in[1] * s.in[2]) +
                                   x1 * (uint64_t)s.in[2] + x2);
    }
    p.a.x = w;
    p.b.x = x;
    p.b.slide = &s;
    p.b.step = area_in;
    p.plus.x = qnnrt_ir__eval_in(e, 2);
    p.a.step = p.plus.row = p.step = 1;
    count = e->out->count / (p.columns * channels);
    for (batch = 0; batch < count; ++batch) {
        for (group = 0; group < groups; ++group) {
            p.b.at = (batch * groups + group) * part;
            p.plus.at = group * p.rows;
            p.a.at = p.plus.at * p.depth;
            p.at = (batch * channels + p.plus.at) * p.columns;
            qnnrt_ir__gemm_run(&p);
        }
    }
    return 1;
}

/* Turn a row of scores into shares: mask, softmax. `at`: the place of its mask. A row of -infinity
   becomes 0, as in PyTorch 2.5 and later; `nan`: NaN, as from softmax. */
static void qnnrt_ir__gemm_shares(double *scores, int64_t count, const qnnrt_ir__wide *mask,
                                     int64_t at, int64_t step, int64_t seen, int nan)
{
    double most = -HUGE_VAL, sum = 0;
    int64_t c;
    for (c = 0; c < count; ++c) {
        if (mask != NULL && !mask->whole) scores[c] += qnnrt_ir__wide_f(mask, at + c * step);
        else if (mask != NULL && qnnrt_ir__wide_i(mask, at + c * step) == 0) scores[c] = -HUGE_VAL;
        if (c >= seen) scores[c] = -HUGE_VAL;
        if (scores[c] > most) most = scores[c];
        if (!(scores[c] <= -HUGE_VAL)) nan = 1;
    }
    for (c = 0; c < count; ++c) sum += scores[c] = exp(scores[c] - most);
    for (c = 0; c < count; ++c) scores[c] = nan ? scores[c] / sum : 0;
}

/* Of each head, for some rows at a time: query times keys, then shares times values. */
static int qnnrt_ir__eval_attention(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *q = &e->in[0], *key = &e->in[1], *v = &e->in[2], *mask =
        qnnrt_ir__eval_in(e, 3);
    const uint32_t r = q->rank;
    const int64_t rows = q->dims[r - 2], width = q->dims[r - 1], cells = key->dims[r - 2];
    const int64_t values = v->dims[r - 1];
    const int64_t heads = r > 2 ? q->dims[r - 3] : 1, shared = r > 2 ? heads / key->dims[r - 3] : 1;
    const int causal = qnnrt_ir_int(e->node, "is_causal", 0) != 0;
    const int nan = qnnrt_ir_int(e->node, "nan_rows", 0) != 0;
    int64_t dims[QNNRT_IR_RANK], count, head, row, k;
    qnnrt_ir__wide scores;
    qnnrt_ir__gemm to, from;
    qnnrt_ir__walk w;
    dims[0] = qnnrt_ir__gemm_least(rows, QNNRT_IR__ROWS);
    dims[1] = cells;
    if (!qnnrt_ir__wide_begin(&scores, QNNRT_DTYPE_F64, 2, dims) ||
        !qnnrt_ir__wide_make(e->arena, &scores, NULL)) return qnnrt_ir__eval_no(e, "out of memory");
    if (!qnnrt_ir__gemm_begin(e, &to, &scores, dims[0], cells, width) ||
        !qnnrt_ir__gemm_begin(e, &from, e->out, dims[0], values, cells)) return 0;
    to.a.x = q;
    to.b.x = key;
    to.a.row = to.b.row = width;
    to.row = from.a.row = cells;
    to.alpha = qnnrt_ir_float(e->node, "scale", 1 / sqrt((double)width));
    from.a.x = &scores;
    from.b.x = v;
    from.b.step = from.row = values;
    to.a.step = to.b.step = to.step = from.a.step = from.b.row = from.step = 1;
    memcpy(dims, q->dims, sizeof(dims));
    dims[r - 1] = cells;
    qnnrt_ir__walk_begin(&w, r, dims);
    if (mask != NULL) qnnrt_ir__walk_add(&w, 0, mask);
    w.rank = r - 2;                                      /* the mask of each head */
    count = e->out->count / (rows * values);
    for (head = 0; head < count; ++head, qnnrt_ir__walk_next(&w)) {
        const int64_t kv = head / heads * (heads / shared) + head % heads / shared;
        to.b.at = kv * cells * width;
        from.b.at = kv * cells * values;
        for (row = 0; row < rows; row += QNNRT_IR__ROWS) {
            to.rows = from.rows = qnnrt_ir__gemm_least(rows - row, QNNRT_IR__ROWS);
            to.a.at = (head * rows + row) * width;
            from.at = (head * rows + row) * values;
            qnnrt_ir__gemm_run(&to);
            for (k = 0; k < to.rows; ++k)
                qnnrt_ir__gemm_shares((double *)(void *)scores.room + k * cells, cells, mask,
                                         w.place[0] + (row + k) * w.stride[0][r - 2],
                                         w.stride[0][r - 1], causal ? row + k + 1 : cells, nan);
            qnnrt_ir__gemm_run(&from);
        }
    }
    return 1;
}

/* =====================================================================================
   EVALUATION: LAYERS                                                         >>eval_net
   Other convolutions, and norms, in double.
   Needs: >>attr >>wide >>eval_math >>gemm     Knows nothing of: views
   ===================================================================================== */

/* Each input element is added to the places of its window. */
static int qnnrt_ir__eval_deconv(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0], *w = &e->in[1], *bias = qnnrt_ir__eval_in(e, 2);
    const uint32_t n = w->rank - 2;
    const int64_t groups = qnnrt_ir_int(e->node, "groups", 1), part = w->dims[1];
    const int64_t channels = w->dims[0], per = channels / groups;
    int64_t area_in, area_out, area_kernel, k, c, t;
    qnnrt_ir__slide s, back;
    double *sums = (double *)qnnrt_ir__eval_get(e, e->out->count, sizeof(*sums));
    if (sums == NULL) return 0;
    qnnrt_ir__net_slide(e, n, w->dims + 2, &s);
    back = s;                                            /* input and output change places */
    memcpy(back.in, s.out, sizeof(back.in));
    memcpy(back.out, s.in, sizeof(back.out));
    area_in = qnnrt_ir__net_area(s.in);
    area_out = qnnrt_ir__net_area(s.out);
    area_kernel = qnnrt_ir__net_area(s.kernel);
    for (k = 0; k < x->count; ++k) {
        const int64_t o = k % area_in, channel = k / area_in % channels, batch =
            k / area_in / channels;
        for (t = 0; t < area_kernel; ++t) {
            const int64_t place = qnnrt_ir__net_place(&back, o, t);
            for (c = 0; c < part && place >= 0; ++c) {
                const int64_t at =
                    (batch * part * groups + channel / per * part + c) * area_out + place;
                sums[at] += qnnrt_ir__wide_f(x, k) *
                            qnnrt_ir__wide_f(w, (channel * part + c) * area_kernel + t);
            }
        }
    }
    for (k = 0; k < e->out->count; ++k)
        qnnrt_ir__wide_put(e->out, k, bias != NULL ? sums[k] + qnnrt_ir__wide_f(
                                          bias, k / area_out % (part * groups)) : sums[k]);
    return 1;
}

static int qnnrt_ir__eval_convolution(qnnrt_ir__eval *e)
{
    return qnnrt_ir_int(e->node, "transposed", 0) != 0 ? qnnrt_ir__eval_deconv(e)
                                                              : qnnrt_ir__eval_conv(e);
}

/* Set an element to f times input 1 plus input 2, where they are: [size], each for `inner`
   elements. */
static void qnnrt_ir__net_affine(qnnrt_ir__eval *e, int64_t k, double f, int64_t size,
                                 int64_t inner)
{
    const qnnrt_ir__wide *w = qnnrt_ir__eval_in(e, 1), *b = qnnrt_ir__eval_in(e, 2);
    const int64_t at = w != NULL || b != NULL ? k / inner % size : 0;
    if (w != NULL) f *= qnnrt_ir__wide_f(w, at);
    if (b != NULL) f += qnnrt_ir__wide_f(b, at);
    qnnrt_ir__wide_put(e->out, k, f);
}

/* Normalize `count` elements from `begin` to mean 0 (if `centre`) and variance 1. Outputs 1 and 2,
   of native_layer_norm and native_group_norm, are the mean and 1 / deviation. */
static void qnnrt_ir__net_normal(qnnrt_ir__eval *e, int64_t begin, int64_t count, int centre,
                                 double eps, int64_t size, int64_t inner)
{
    const qnnrt_ir__wide *x = &e->in[0];
    double mean = 0, square = 0, scale;
    int64_t k;
    for (k = 0; k < count && centre; ++k) mean += qnnrt_ir__wide_f(x, begin + k);
    mean /= (double)count;
    for (k = 0; k < count; ++k) {
        const double f = qnnrt_ir__wide_f(x, begin + k) - mean;
        square += f * f;
    }
    scale = 1 / sqrt(square / (double)count + eps);
    if (e->out_count == 3) qnnrt_ir__wide_put(&e->out[1], begin / count, mean);
    if (e->out_count == 3) qnnrt_ir__wide_put(&e->out[2], begin / count, scale);
    for (k = begin; k < begin + count; ++k)
        qnnrt_ir__net_affine(e, k, (qnnrt_ir__wide_f(x, k) - mean) * scale, size, inner);
}

/* layer_norm, rms_norm, group_norm, instance_norm, their native forms, q.rms_norm, q.layer_norm */
static int qnnrt_ir__eval_norm(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0];
    const int rms = strstr(e->node->op, "rms_norm") != NULL;
    const int groups = strstr(e->node->op, "group_norm") != NULL ||
        qnnrt_ir__eval_is(e->node, "instance_norm");
    const char *name = e->node->op[0] == 'n' ? "group" : "num_groups";
    int64_t last[QNNRT_IR_RANK], count = 1, inner = 1, k;
    /* Without eps: the distance from 1 to the next number of the dtype. */
    const int wide = e->node->outputs[0]->dtype == QNNRT_DTYPE_F64;
    const double eps = qnnrt_ir_float(e->node, "eps", wide ? 2.220446049250313e-16
                                                                 : 1.1920928955078125e-7);
    size_t n = qnnrt_ir_ints(e->node, "normalized_shape", last), i;
    if (groups) {
        for (i = 2; i < x->rank; ++i) inner *= x->dims[i];
        count = qnnrt_ir__attr_has(e->node, name)
                    ? x->dims[1] / qnnrt_ir_int(e->node, name, 1) * inner : inner;
    } else {
        if (n == 0) n = 1;                               /* q.rms_norm: the last dimension */
        for (i = 0; i < n; ++i) count *= x->dims[x->rank - 1 - i];
    }
    for (k = 0; k < x->count; k += count)
        qnnrt_ir__net_normal(e, k, count, !rms, eps, groups ? x->dims[1] : count, inner);
    return 1;
}

/* v * (g / length of v): the length is of all elements with the same place of dim. */
static int qnnrt_ir__eval_weight_norm(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *v = &e->in[0];
    int64_t outer = 1, size = 1, inner = v->count, n, k;
    if (qnnrt_ir_int(e->node, "dim", 0) != -1)
        qnnrt_ir__wide_split(v, qnnrt_ir__eval_axis(e, "dim", v->rank), &outer, &size, &inner);
    for (n = 0; n < size; ++n) {
        double squares = 0, scale;
        for (k = 0; k < outer * inner; ++k) {
            const double f = qnnrt_ir__wide_f(v, (k / inner * size + n) * inner + k % inner);
            squares += f * f;
        }
        scale = qnnrt_ir__wide_f(&e->in[1], n) / sqrt(squares);
        for (k = 0; k < outer * inner; ++k) {
            const int64_t at = (k / inner * size + n) * inner + k % inner;
            qnnrt_ir__wide_put(e->out, at, qnnrt_ir__wide_f(v, at) * scale);
        }
    }
    return 1;
}

static int qnnrt_ir__eval_batch_norm(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0], *mean = qnnrt_ir__eval_in(e, 3), *var =
        qnnrt_ir__eval_in(e, 4);
    const double eps = qnnrt_ir_float(e->node, "eps", 0);
    int64_t inner = 1, k;
    uint32_t d;
    for (d = 2; d < x->rank; ++d) inner *= x->dims[d];
    for (k = 0; k < x->count; ++k) {
        const int64_t c = k / inner % x->dims[1];
        qnnrt_ir__net_affine(e, k, (qnnrt_ir__wide_f(x, k) - qnnrt_ir__wide_f(mean, c)) /
                                       sqrt(qnnrt_ir__wide_f(var, c) + eps), x->dims[1], inner);
    }
    return 1;
}

/* cos and sin of position * inv_freq, twice side by side */
static int qnnrt_ir__eval_rope(qnnrt_ir__eval *e)
{
    const int64_t n = e->in[0].count;
    int64_t row, k;
    for (row = 0; row < e->in[1].count; ++row)
        for (k = 0; k < n; ++k) {                        /* both halves are equal */
            const double angle = qnnrt_ir__wide_f(&e->in[1], row) * qnnrt_ir__wide_f(&e->in[0], k);
            const double c = cos(angle), d = sin(angle);
            qnnrt_ir__wide_put(&e->out[0], 2 * n * row + k, c);
            qnnrt_ir__wide_put(&e->out[1], 2 * n * row + k, d);
            qnnrt_ir__wide_put(&e->out[0], 2 * n * row + n + k, c);
            qnnrt_ir__wide_put(&e->out[1], 2 * n * row + n + k, d);
        }
    return 1;
}

/* =====================================================================================
   EVALUATION: TRANSFORMS                                                      >>fourier
   Discrete Fourier transforms of any length: mixed radix, or a convolution (Bluestein).
   Needs: >>attr >>wide >>eval_math >>gemm     Knows nothing of: layouts
   ===================================================================================== */

/* QNNRT_IR__LANES lines are transformed side by side. A prime factor above QNNRT_IR__PRIME makes
   the transform a convolution, whose length is a power of 2. */
enum { QNNRT_IR__LANES = 8, QNNRT_IR__PRIME = 31 };

/* Before a loop over lanes, whose results are apart from what it reads. */
#if defined(__GNUC__) && !defined(__clang__)
#define QNNRT_IR__APART _Pragma("GCC ivdep")
#else
#define QNNRT_IR__APART
#endif
#define QNNRT_IR__INLINE static __inline__ __attribute__((always_inline))

/* Real and imaginary parts: [length][lanes] of each. */
typedef struct qnnrt_ir__lines {
    double *re, *im;
} qnnrt_ir__lines;

typedef struct qnnrt_ir__dft {
    int64_t           n;
    int               radix[64], stages;     /* stages 0: a convolution */
    qnnrt_ir__lines   turns;                 /* [n]: exp(-2 pi i k / n) */
    qnnrt_ir__lines   work;                  /* [n][lanes] */
    qnnrt_ir__lines   chirp, filter, wide;   /* [n], [m], [m][lanes] of a convolution */
    struct qnnrt_ir__dft *inner;             /* of length m */
} qnnrt_ir__dft;

static int qnnrt_ir__dft_get(qnnrt_ir__eval *e, qnnrt_ir__lines *lines, int64_t count)
{
    lines->re = (double *)qnnrt_ir__eval_get(e, count, sizeof(double));
    lines->im = (double *)qnnrt_ir__eval_get(e, count, sizeof(double));
    return lines->re != NULL && lines->im != NULL;
}

/* Set element k to exp(-2 pi i at / n). */
static void qnnrt_ir__dft_turn(qnnrt_ir__lines *lines, int64_t k, int64_t at, int64_t n)
{
    const double angle = -6.283185307179586476925 * ((double)at / (double)n);
    lines->re[k] = cos(angle);
    lines->im[k] = sin(angle);
}

/* One butterfly: the transform of r elements, an odd number, of `lanes` lines, `far` apart, each
   result turned. The roots of elements k and r - k differ in a sign: their sums and differences are
   added. */
QNNRT_IR__INLINE void qnnrt_ir__dft_fly(const qnnrt_ir__dft *d, int r, int lanes, const double *xr,
                                        const double *xi, int64_t far, double *yr, double *yi,
                                        int64_t next, int64_t turn)
{
    enum { PAIRS = QNNRT_IR__PRIME / 2 + 1 };
    const double *const wr = d->turns.re, *const wi = d->turns.im;
    double sr[PAIRS][QNNRT_IR__LANES], si[PAIRS][QNNRT_IR__LANES];
    double dr[PAIRS][QNNRT_IR__LANES], di[PAIRS][QNNRT_IR__LANES];
    double ur[QNNRT_IR__LANES], ui[QNNRT_IR__LANES];         /* what results j and r - j have, */
    double vr[QNNRT_IR__LANES], vi[QNNRT_IR__LANES];         /* and what one has more, one less */
    const int64_t unit = d->n / r;           /* from root to root */
    int j, k, l, root;
    for (l = 0; l < lanes; ++l) {
        ur[l] = xr[l];
        ui[l] = xi[l];
    }
    for (k = 1; 2 * k < r; ++k) {
        const double *const ar = xr + k * far, *const ai = xi + k * far;
        const double *const br = xr + (r - k) * far, *const bi = xi + (r - k) * far;
        for (l = 0; l < lanes; ++l) {
            sr[k][l] = ar[l] + br[l];
            si[k][l] = ai[l] + bi[l];
            dr[k][l] = ar[l] - br[l];
            di[k][l] = ai[l] - bi[l];
            ur[l] += sr[k][l];
            ui[l] += si[k][l];
        }
    }
    QNNRT_IR__APART
    for (l = 0; l < lanes; ++l) {
        yr[l] = ur[l];
        yi[l] = ui[l];
    }
    for (j = 1; 2 * j < r; ++j) {
        const double ar = wr[j * turn], ai = wi[j * turn];
        const double br = wr[(r - j) * turn], bi = wi[(r - j) * turn];
        double *const pr = yr + j * next, *const pi = yi + j * next;
        double *const qr = yr + (r - j) * next, *const qi = yi + (r - j) * next;
        for (l = 0; l < lanes; ++l) {
            ur[l] = xr[l];
            ui[l] = xi[l];
            vr[l] = vi[l] = 0;
        }
        for (k = 1, root = j; 2 * k < r; ++k, root = root + j < r ? root + j : root + j - r) {
            const double c = wr[root * unit], s = wi[root * unit];
            for (l = 0; l < lanes; ++l) {
                ur[l] += sr[k][l] * c;
                ui[l] += si[k][l] * c;
                vr[l] -= di[k][l] * s;
                vi[l] += dr[k][l] * s;
            }
        }
        QNNRT_IR__APART
        for (l = 0; l < lanes; ++l) {
            const double re = ur[l] + vr[l], im = ui[l] + vi[l];
            const double less = ur[l] - vr[l], lower = ui[l] - vi[l];
            pr[l] = re * ar - im * ai;
            pi[l] = re * ai + im * ar;
            qr[l] = less * br - lower * bi;
            qi[l] = less * bi + lower * br;
        }
    }
}

/* The same for 2 elements. */
QNNRT_IR__INLINE void qnnrt_ir__dft_fly2(const qnnrt_ir__dft *d, int lanes, const double *xr,
                                         const double *xi, int64_t far, double *yr, double *yi,
                                         int64_t next, int64_t turn)
{
    const double wr = d->turns.re[turn], wi = d->turns.im[turn];
    int l;
    QNNRT_IR__APART
    for (l = 0; l < lanes; ++l) {
        const double re = xr[l] - xr[l + far], im = xi[l] - xi[l + far];
        yr[l] = xr[l] + xr[l + far];
        yi[l] = xi[l] + xi[l + far];
        yr[l + next] = re * wr - im * wi;
        yi[l + next] = re * wi + im * wr;
    }
}

/* And for 4 elements, whose roots are 1, -i, -1 and i. */
QNNRT_IR__INLINE void qnnrt_ir__dft_fly4(const qnnrt_ir__dft *d, int lanes, const double *xr,
                                         const double *xi, int64_t far, double *yr, double *yi,
                                         int64_t next, int64_t turn)
{
    const double *const wr = d->turns.re, *const wi = d->turns.im;
    const double ar = wr[turn], ai = wi[turn], br = wr[2 * turn], bi = wi[2 * turn];
    const double cr = wr[3 * turn], ci = wi[3 * turn];
    int l;
    QNNRT_IR__APART
    for (l = 0; l < lanes; ++l) {
        const double pr = xr[l] + xr[l + 2 * far], pi = xi[l] + xi[l + 2 * far];
        const double mr = xr[l] - xr[l + 2 * far], mi = xi[l] - xi[l + 2 * far];
        const double qr = xr[l + far] + xr[l + 3 * far], qi = xi[l + far] + xi[l + 3 * far];
        const double nr = xr[l + far] - xr[l + 3 * far], ni = xi[l + far] - xi[l + 3 * far];
        const double s1 = mr + ni, t1 = mi - nr, s2 = pr - qr, t2 = pi - qi;
        const double s3 = mr - ni, t3 = mi + nr;
        yr[l] = pr + qr;
        yi[l] = pi + qi;
        yr[l + next] = s1 * ar - t1 * ai;
        yi[l + next] = s1 * ai + t1 * ar;
        yr[l + 2 * next] = s2 * br - t2 * bi;
        yi[l + 2 * next] = s2 * bi + t2 * br;
        yr[l + 3 * next] = s3 * cr - t3 * ci;
        yi[l + 3 * next] = s3 * ci + t3 * cr;
    }
}

/* Transform lines in place, stage by stage (Stockham). */
QNNRT_IR__INLINE void qnnrt_ir__dft_stages(const qnnrt_ir__dft *d, int lanes, qnnrt_ir__lines *x)
{
    qnnrt_ir__lines from = *x, to = d->work;
    int64_t left = d->n, step = 1, p, q;
    int i;
    for (i = 0; i < d->stages; ++i) {
        const int r = d->radix[i];
        const qnnrt_ir__lines other = from;
        left /= r;
        for (p = 0; p < left; ++p)
            for (q = 0; q < step; ++q) {
                const int64_t at = (q + step * p) * lanes, far = step * left * lanes;
                const int64_t y = (q + step * r * p) * lanes, next = step * lanes;
                const double *const re = from.re + at, *const im = from.im + at;
                if (r == 4) qnnrt_ir__dft_fly4(d, lanes, re, im, far, to.re + y, to.im + y, next,
                                               p * step);
                else if (r == 2) qnnrt_ir__dft_fly2(d, lanes, re, im, far, to.re + y, to.im + y,
                                                    next, p * step);
                else qnnrt_ir__dft_fly(d, r, lanes, re, im, far, to.re + y, to.im + y, next,
                                       p * step);
            }
        step *= r;
        from = to;
        to = other;
    }
    if (d->stages % 2 == 0) return;
    memcpy(x->re, from.re, (size_t)(d->n * lanes) * sizeof(double));
    memcpy(x->im, from.im, (size_t)(d->n * lanes) * sizeof(double));
}

static void qnnrt_ir__dft_lanes(const qnnrt_ir__dft *d, qnnrt_ir__lines *x)
{
    qnnrt_ir__dft_stages(d, QNNRT_IR__LANES, x);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma")))
static void qnnrt_ir__dft_lanes_wide(const qnnrt_ir__dft *d, qnnrt_ir__lines *x)
{
    qnnrt_ir__dft_stages(d, QNNRT_IR__LANES, x);
}
#endif

/* Set y to lines times the numbers of one. */
static void qnnrt_ir__dft_times(const qnnrt_ir__lines *x, const qnnrt_ir__lines *by, int64_t n,
                                int lanes, qnnrt_ir__lines *y)
{
    int64_t k, at;
    for (k = 0, at = 0; k < n; ++k) {
        const double r = by->re[k], i = by->im[k];
        const int64_t end = at + lanes;
        QNNRT_IR__APART
        for (; at < end; ++at) {
            const double re = x->re[at], im = x->im[at];
            y->re[at] = re * r - im * i;
            y->im[at] = re * i + im * r;
        }
    }
}

static void qnnrt_ir__dft_run(const qnnrt_ir__dft *d, int lanes, qnnrt_ir__lines *x)
{
    const size_t rest = d->inner != NULL ? (size_t)((d->inner->n - d->n) * lanes) : 0;
    qnnrt_ir__lines wide = d->wide, turned;
    if (d->inner != NULL) {
        qnnrt_ir__dft_times(x, &d->chirp, d->n, lanes, &wide);
        memset(wide.re + d->n * lanes, 0, rest * sizeof(double));
        memset(wide.im + d->n * lanes, 0, rest * sizeof(double));
        qnnrt_ir__dft_run(d->inner, lanes, &wide);
        qnnrt_ir__dft_times(&wide, &d->filter, d->inner->n, lanes, &wide);
        turned.re = wide.im;                 /* with the parts exchanged it is the inverse one */
        turned.im = wide.re;
        qnnrt_ir__dft_run(d->inner, lanes, &turned);
        qnnrt_ir__dft_times(&wide, &d->chirp, d->n, lanes, x);
    } else if (lanes == 1) {
        qnnrt_ir__dft_stages(d, 1, x);
#if defined(__x86_64__)
    } else if (qnnrt_ir__gemm_fuses()) {
        qnnrt_ir__dft_lanes_wide(d, x);
#endif
    } else {
        qnnrt_ir__dft_lanes(d, x);
    }
}

/* Find the stages of a length. Return 0 if it has a large prime factor. */
static int qnnrt_ir__dft_factors(qnnrt_ir__dft *d)
{
    int64_t left = d->n;
    int r = 4;
    while (left > 1) {
        while (left % r != 0 && r <= QNNRT_IR__PRIME) r = r == 4 ? 2 : r == 2 ? 3 : r + 2;
        if (r > QNNRT_IR__PRIME) return 0;
        d->radix[d->stages++] = r;
        left /= r;
    }
    return 1;
}

/* Plan transforms of a length. Return NULL when out of memory. */
static qnnrt_ir__dft *qnnrt_ir__dft_plan(qnnrt_ir__eval *e, int64_t n, int lanes)
{
    qnnrt_ir__dft *d = (qnnrt_ir__dft *)qnnrt_ir__eval_get(e, 1, sizeof(*d));
    int64_t m = 1, k;
    if (d == NULL) return NULL;
    d->n = n;
    if (qnnrt_ir__dft_factors(d)) {
        if (!qnnrt_ir__dft_get(e, &d->turns, n) || !qnnrt_ir__dft_get(e, &d->work, n * lanes))
            return NULL;
        for (k = 0; k < n; ++k) qnnrt_ir__dft_turn(&d->turns, k, k, n);
        return d;
    }
    d->stages = 0;
    while (m < 2 * n - 1) m *= 2;
    if (!qnnrt_ir__dft_get(e, &d->chirp, n) || !qnnrt_ir__dft_get(e, &d->filter, m) ||
        !qnnrt_ir__dft_get(e, &d->wide, m * lanes)) return NULL;
    d->inner = qnnrt_ir__dft_plan(e, m, lanes);
    if (d->inner == NULL) return NULL;
    for (k = 0; k < n; ++k) {
        qnnrt_ir__dft_turn(&d->chirp, k, k * k % (2 * n), 2 * n);
        d->filter.re[k] = d->filter.re[(m - k) % m] = d->chirp.re[k] / (double)m;
        d->filter.im[k] = d->filter.im[(m - k) % m] = -d->chirp.im[k] / (double)m;
    }
    qnnrt_ir__dft_stages(d->inner, 1, &d->filter);
    return d;
}

/* A transform along one dimension, [outer, size, inner], of tensors [.., 1] or [.., 2]. */
typedef struct qnnrt_ir__along {
    const qnnrt_ir__wide *x;
    qnnrt_ir__wide  *y;
    double           scale;
    int64_t          n, have, make;          /* the length; sizes in x and y */
    int64_t          inner, count;           /* elements behind the dimension, lines */
    int              mirror;                 /* 1: the second half of the input says the first */
    qnnrt_ir__lines  pairs;                  /* exp(-2 pi i k / n), where real numbers are read or
                                                made in pairs, as a transform of half the length;
                                                else NULL */
} qnnrt_ir__along;

/* Turn the transform of pairs of real numbers, [n / 2], into that of the numbers, [n / 2 + 1];
   `back`: or the other way, twice as large. */
static void qnnrt_ir__dft_pairs(const qnnrt_ir__along *a, int lanes, qnnrt_ir__lines *x, int back)
{
    const int64_t half = a->n / 2;
    const double scale = back ? 1 : 0.5;
    int64_t k, l;
    for (l = 0; l < lanes && !back; ++l) {
        x->re[half * lanes + l] = x->re[l];
        x->im[half * lanes + l] = x->im[l];
    }
    for (l = 0; l < lanes && back; ++l) x->im[l] = x->im[half * lanes + l] = 0;
    for (k = 0; 2 * k <= half; ++k) {
        double *const ar = x->re + k * lanes, *const ai = x->im + k * lanes;
        double *const br = x->re + (half - k) * lanes, *const bi = x->im + (half - k) * lanes;
        const double wr = a->pairs.re[k], wi = back ? -a->pairs.im[k] : a->pairs.im[k];
        for (l = 0; l < lanes; ++l) {
            const double er = scale * (ar[l] + br[l]), ei = scale * (ai[l] - bi[l]);
            const double dr = scale * (ar[l] - br[l]), di = scale * (ai[l] + bi[l]);
            const double pr = dr * wr - di * wi, pi = dr * wi + di * wr;
            ar[l] = back ? er - pi : er + pi;
            ai[l] = back ? ei + pr : ei - pr;
            br[l] = back ? er + pi : er - pi;
            bi[l] = back ? pr - ei : -ei - pr;
        }
    }
}

/* Read lines, from `line` on, into `to`. */
static void qnnrt_ir__dft_read(const qnnrt_ir__along *a, int64_t line, int lanes,
                               qnnrt_ir__lines *to)
{
    const int64_t parts = a->x->dims[a->x->rank - 1], step = a->inner * parts, n = a->n;
    const int paired = a->pairs.re != NULL && !a->mirror;
    const int64_t size = a->pairs.re != NULL ? n / 2 + 1 : n;
    const int64_t most = qnnrt_ir__gemm_least(a->have, a->mirror ? n / 2 + 1 : n);
    int64_t k, l;
    if (most < n || parts == 1) memset(to->re, 0, (size_t)(size * lanes) * sizeof(double));
    if (most < n || parts == 1) memset(to->im, 0, (size_t)(size * lanes) * sizeof(double));
    for (l = 0; l < lanes; ++l) {
        const int64_t at =
            ((line + l) / a->inner * a->have * a->inner + (line + l) % a->inner) * parts;
        const int64_t next = paired ? at + step : at + 1, far = paired ? 2 * step : step;
        qnnrt_ir__gemm_copy(a->x, at, NULL, far, paired ? (most + 1) / 2 : most, lanes, to->re + l);
        qnnrt_ir__gemm_copy(a->x, next, NULL, far, paired ? most / 2 : parts == 2 ? most : 0, lanes,
                            to->im + l);
    }
    for (k = n / 2 + 1; k < n && a->mirror && a->pairs.re == NULL; ++k)
        for (l = 0; l < lanes; ++l) {
            to->re[k * lanes + l] = to->re[(n - k) * lanes + l];
            to->im[k * lanes + l] = -to->im[(n - k) * lanes + l];
        }
}

/* Write elements of one line, at `step` from each other. */
static void qnnrt_ir__dft_put(const qnnrt_ir__along *a, int64_t at, int64_t step, int64_t count,
                              int lanes, const double *from)
{
    const int narrow = a->y->dtype == QNNRT_DTYPE_F32;
    int64_t k;
    float f;
    for (k = 0; k < count && narrow; ++k, at += step, from += lanes) {
        f = (float)(a->scale * *from);
        memcpy(qnnrt_ir__wide_room(a->y, at), &f, sizeof f);
    }
    for (; k < count; ++k, at += step, from += lanes)
        qnnrt_ir__wide_put(a->y, at, a->scale * *from);
}

static void qnnrt_ir__dft_write(const qnnrt_ir__along *a, int64_t line, int lanes,
                                const qnnrt_ir__lines *from)
{
    const int64_t parts = a->y->dims[a->y->rank - 1], step = a->inner * parts;
    const int paired = a->pairs.re != NULL && a->mirror;
    int64_t l;
    for (l = 0; l < lanes; ++l) {
        const int64_t at =
            ((line + l) / a->inner * a->make * a->inner + (line + l) % a->inner) * parts;
        const int64_t next = paired ? at + step : at + 1, far = paired ? 2 * step : step;
        qnnrt_ir__dft_put(a, at, far, paired ? a->make / 2 : a->make, lanes, from->re + l);
        qnnrt_ir__dft_put(a, next, far, paired ? a->make / 2 : parts == 2 ? a->make : 0, lanes,
                          from->im + l);
    }
}

/* Transform all lines. */
static int qnnrt_ir__dft_along(qnnrt_ir__eval *e, qnnrt_ir__along *a, int inverse, int paired)
{
    const int lanes = a->count < QNNRT_IR__LANES ? 1 : QNNRT_IR__LANES;
    const qnnrt_ir__dft *d = qnnrt_ir__dft_plan(e, paired ? a->n / 2 : a->n, lanes);
    qnnrt_ir__lines x, turned;
    int64_t line = 0, k;
    memset(&a->pairs, 0, sizeof(a->pairs));
    if (d == NULL || !qnnrt_ir__dft_get(e, &x, (a->n + 1) * lanes)) return 0;
    if (paired && !qnnrt_ir__dft_get(e, &a->pairs, a->n / 4 + 1)) return 0;
    for (k = 0; k <= a->n / 4 && paired; ++k) qnnrt_ir__dft_turn(&a->pairs, k, k, a->n);
    turned.re = x.im;
    turned.im = x.re;
    while (line < a->count) {
        /* The last ones are computed twice, beside others. */
        if (line > a->count - lanes) line = a->count - lanes;
        qnnrt_ir__dft_read(a, line, lanes, &x);
        if (paired && inverse) qnnrt_ir__dft_pairs(a, lanes, &x, 1);
        qnnrt_ir__dft_run(d, lanes, inverse ? &turned : &x);
        if (paired && !inverse) qnnrt_ir__dft_pairs(a, lanes, &x, 0);
        qnnrt_ir__dft_write(a, line, lanes, &x);
        line += lanes;
    }
    return 1;
}

/* qnnrt.fft. Of a transform to half of its values the last dimension is the first: the others have
   fewer lines then. */
static int qnnrt_ir__eval_fft(qnnrt_ir__eval *e)
{
    const int inverse = qnnrt_ir_int(e->node, "inverse", 0) != 0;
    const int half = qnnrt_ir_int(e->node, "onesided", 0) != 0;
    int64_t axes[QNNRT_IR_RANK], length[QNNRT_IR_RANK], outer;
    const size_t n = qnnrt_ir_ints(e->node, "dim", axes);
    qnnrt_ir__wide from = e->in[0], to, flat;
    qnnrt_ir__along a;
    size_t i;
    qnnrt_ir_ints(e->node, "length", length);
    memset(&a, 0, sizeof(a));
    for (i = 0; i < n; ++i, from = to) {
        const size_t at = inverse ? i : n - 1 - i;
        const uint32_t axis = (uint32_t)axes[at];
        const int halves = half && at == n - 1;
        flat = from;
        flat.dims[flat.rank - 1] = 1;
        qnnrt_ir__wide_split(&flat, axis, &outer, &a.have, &a.inner);
        a.n = length[at];
        a.count = outer * a.inner;
        a.make = halves && !inverse ? a.n / 2 + 1 : a.n;
        a.mirror = halves && inverse;
        flat.dims[axis] = a.make;
        flat.dims[flat.rank - 1] = 2;
        to = *e->out;
        if (i < n - 1 && (!qnnrt_ir__wide_begin(&to, QNNRT_DTYPE_F64, flat.rank, flat.dims) ||
                          !qnnrt_ir__wide_make(e->arena, &to, NULL)))
            return qnnrt_ir__eval_no(e, "out of memory");
        a.x = &from;
        a.y = &to;
        a.scale = i < n - 1 ? 1 : qnnrt_ir_float(e->node, "scale", 1);
        if (!qnnrt_ir__dft_along(e, &a, inverse, halves && a.n % 2 == 0)) return 0;
    }
    return 1;
}

/* =====================================================================================
   EVALUATION: IMAGES                                                       >>eval_image
   Pools, resizing and folding of images of 1 to 3 dimensions, in double.
   Needs: >>config >>attr >>wide >>eval_math >>gemm     Knows nothing of: graphs
   ===================================================================================== */

/* Resizing and averaging treat each axis alone: an output is the sum of neighbours, each times a
   factor. */
typedef struct qnnrt_ir__band {
    char    kind;                            /* window, adaptive, nearest, exact, linear, cubic */
    int     corners, smooth, counted;
    int64_t in, out, kernel, stride, pad, divisor, most;     /* most: neighbours of an output */
    double  scale;
} qnnrt_ir__band;

/* Get the step between the places that a resized axis reads: the inverse of a given factor, or the
   ratio of the sizes. */
static double qnnrt_ir__image_step(const qnnrt_ir_node *node, uint32_t spatial, uint32_t axis,
                                   int64_t in, int64_t out)
{
    static const char *const names[3] = { "scales_d", "scales_h", "scales_w" };
    const qnnrt_ir_attr *factors = qnnrt_ir_attr_find(node, "scale_factors");
    double factor = qnnrt_ir_float(node, spatial == 1 ? "scales" : names[3 - spatial + axis], 0);
    if (factors != NULL && factors->floats != NULL && factors->count == spatial)
        factor = factors->floats[axis];
    return factor > 0 ? 1 / factor : (double)in / (double)out;
}

/* Describe what a node does along one of its spatial axes. Return 0 if it is no such node. */
static int qnnrt_ir__band_begin(const qnnrt_ir_node *node, uint32_t axis, int64_t in, int64_t out,
                                qnnrt_ir__band *b)
{
    static const char *const kinds[] = {
        "avg_pool", "adaptive_avg", "upsample_nearest", "_upsample_nearest_exact",
        "upsample_linear", "upsample_bilinear", "upsample_trilinear", "_upsample_bilinear",
        "upsample_bicubic", "_upsample_bicubic" };
    int64_t list[3] = {0}, one[3] = {1, 1, 1};
    const uint32_t spatial = qnnrt_ir__attr_spatial(node);
    size_t i = 0;
    memset(b, 0, sizeof(*b));
    while (i < 10 && strncmp(node->op, kinds[i], strlen(kinds[i])) != 0) ++i;
    if (i == 10 || axis >= spatial) return 0;
    b->kind = "wanelllLcC"[i];
    b->smooth = strstr(node->op, "_aa.") != NULL;
    b->kind = b->kind == 'L' ? 'l' : b->kind == 'C' ? 'c' : b->kind;
    b->in = in;
    b->out = out;
    b->most = b->kind == 'l' ? 2 : b->kind == 'c' ? 4 : b->kind == 'a' ? in / out + 2 : 1;
    if (b->kind == 'w') {
        qnnrt_ir_each(node, "kernel_size", spatial, list);
        b->most = b->kernel = b->stride = list[axis];
        if (qnnrt_ir_each(node, "stride", spatial, one)) b->stride = one[axis];
        memset(list, 0, sizeof(list));
        qnnrt_ir_each(node, "padding", spatial, list);
        b->pad = list[axis];
        b->counted = qnnrt_ir_int(node, "count_include_pad", 1) != 0;
        b->divisor = qnnrt_ir_int(node, "divisor_override", 0);
        if (b->divisor != 0 && axis + 1 < spatial) b->divisor = 1;
    } else if (b->kind != 'a') {
        b->corners = qnnrt_ir_int(node, "align_corners", 0) != 0;
        b->scale = qnnrt_ir__image_step(node, spatial, axis, in, out);
        if (b->corners) b->scale = out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
        if (b->smooth && b->scale > 1)
            b->most = b->scale < 1e9 ? (int64_t)(b->scale * (double)b->most) + 2 : in;
    }
    if (b->most > in) b->most = in;
    return 1;
}

/* Return a number within bounds; the lower one for NaN. */
static double qnnrt_ir__image_clip(double x, double low, double high)
{
    return !(x > low) ? low : x > high ? high : x;
}

/* The cubic convolution of Keys, with parameter a, at distance x. */
static double qnnrt_ir__image_cubic(double x, double a)
{
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Antialiased: a filter that is as wide as the step. Return the number of neighbours. */
static int64_t qnnrt_ir__band_smooth(const qnnrt_ir__band *b, int64_t o, int64_t *begin,
                                     double *factors)
{
    const double wide = b->scale > 1 ? b->scale : 1, n = (double)b->in;
    const double centre = b->scale * ((double)o + 0.5);
    const double reach = (b->kind == 'l' ? 1 : 2) * wide;
    const int64_t end = (int64_t)qnnrt_ir__image_clip(centre + reach + 0.5, 0, n);
    int64_t count, k;
    double sum = 0;
    *begin = (int64_t)qnnrt_ir__image_clip(centre - reach + 0.5, 0, n);
    count = end - *begin < b->most ? end - *begin : b->most;
    for (k = 0; k < count; ++k) {
        const double x = ((double)(*begin + k) - centre + 0.5) / wide;
        factors[k] = b->kind == 'c' ? qnnrt_ir__image_cubic(x, -0.5)
                                    : fabs(x) < 1 ? 1 - fabs(x) : 0;
        sum += factors[k];
    }
    for (k = 0; k < count && (sum > 0 || sum < 0); ++k) factors[k] /= sum;
    return count;
}

/* Get what output o reads: `count` neighbours from *begin on, and their factors [b->most]. Return
   count. */
static int64_t qnnrt_ir__band_at(const qnnrt_ir__band *b, int64_t o, int64_t *begin,
                                 double *factors)
{
    const double last = (double)(b->in - 1);
    int64_t first, end, k;
    double at;
    if (b->kind == 'w' || b->kind == 'a') {
        first = b->kind == 'w' ? o * b->stride - b->pad : o * b->in / b->out;
        end = b->kind == 'w' ? first + b->kernel : ((o + 1) * b->in + b->out - 1) / b->out;
        if (end > b->in + b->pad) end = b->in + b->pad;
        at = (double)(end - first);
        *begin = first < 0 ? 0 : first < b->in ? first : b->in;
        if (end > b->in) end = b->in;
        end = end < *begin ? 0 : end - *begin;
        if (b->divisor != 0) at = (double)b->divisor;
        else if (!b->counted) at = (double)end;
        for (k = 0; k < end; ++k) factors[k] = 1 / at;
        return end;
    }
    if (b->smooth) return qnnrt_ir__band_smooth(b, o, begin, factors);
    factors[0] = 1;
    if (b->kind == 'n' || b->kind == 'e') {      /* in float, as in PyTorch */
        const float step = (float)b->scale;
        at = b->kind == 'n' ? (double)((float)o * step)
                            : (double)(float)(((double)o + 0.5) * (double)step);
        *begin = (int64_t)qnnrt_ir__image_clip(at, 0, last);
        return 1;
    }
    at = b->corners ? b->scale * (double)o : b->scale * ((double)o + 0.5) - 0.5;
    if (b->in == b->out && b->kind == 'l') at = (double)o;
    if (b->kind == 'l') {
        at = qnnrt_ir__image_clip(at, 0, last);
        *begin = (int64_t)at;
        if (*begin == b->in - 1 || b->in == b->out) return 1;
        factors[1] = at - (double)*begin;
        factors[0] = 1 - factors[1];
        return 2;
    }
    at = qnnrt_ir__image_clip(at, -1, last + 1);
    first = (int64_t)floor(at) > b->in - 1 ? b->in - 1 : (int64_t)floor(at);
    at = qnnrt_ir__image_clip(at - (double)first, 0, 1);
    *begin = first < 1 ? 0 : first - 1;
    end = first + 2 < b->in ? first + 2 : b->in - 1;
    for (k = 0; k < b->most; ++k) factors[k] = 0;
    for (k = -1; k < 3; ++k) {
        const int64_t place = first + k < 0 ? 0 : first + k < b->in ? first + k : b->in - 1;
        factors[place - *begin] += qnnrt_ir__image_cubic(at - (double)k, -0.75);
    }
    return end - *begin + 1;
}

QNNRT_IR_API int qnnrt_ir_axis_matrix(const qnnrt_ir_node *node, uint32_t axis, double *matrix)
{
    const qnnrt_ir_value *x = node->inputs[0], *y = node->outputs[0];
    const uint32_t spatial = qnnrt_ir__attr_spatial(node);
    const uint32_t first = spatial != 0 ? y->rank - spatial : 0;
    const int64_t in = x->dims[axis], out = y->dims[axis];
    qnnrt_ir__band b;
    int64_t o, begin, count;
    if (axis < first || !qnnrt_ir__band_begin(node, axis - first, in, out, &b)) return 0;
    for (o = 0; o < out && matrix != NULL; ++o) {
        double *row = matrix + o * in;           /* a row begins with what lies at `begin` */
        count = qnnrt_ir__band_at(&b, o, &begin, row);
        if (begin == 0) continue;
        memmove(row + begin, row, (size_t)count * sizeof(*row));
        memset(row, 0, (size_t)(begin < count ? begin : count) * sizeof(*row));
    }
    return 1;
}

/* avg_pool, adaptive_avg_pool, upsample: bands along each spatial axis. */
static int qnnrt_ir__eval_bands(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0], *y = e->out;
    const uint32_t spatial = qnnrt_ir__attr_spatial(e->node);
    int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, most[3] = {1, 1, 1}, *begin[3], *count[3];
    double *factors[3];
    int64_t plane, i, a, b, c, o[3];
    uint32_t d;
    for (d = 0; d < 3; ++d) {
        const uint32_t at = x->rank + d - 3;
        qnnrt_ir__band band;
        if (d + spatial >= 3) {
            in[d] = x->dims[at];
            out[d] = y->dims[at];
            if (!qnnrt_ir__band_begin(e->node, d + spatial - 3, in[d], out[d], &band)) return 0;
            most[d] = band.most;
        }
        begin[d] = (int64_t *)qnnrt_ir__eval_get(e, 2 * out[d], sizeof(**begin));
        factors[d] = (double *)qnnrt_ir__eval_get(e, out[d] * most[d], sizeof(**factors));
        if (begin[d] == NULL || factors[d] == NULL) return 0;
        count[d] = begin[d] + out[d];
        begin[d][0] = 0;
        count[d][0] = 1;
        factors[d][0] = 1;
        for (i = 0; i < out[d] && d + spatial >= 3; ++i)
            count[d][i] = qnnrt_ir__band_at(&band, i, &begin[d][i], factors[d] + i * most[d]);
    }
    for (i = 0, plane = 0; i < y->count; plane += in[0] * in[1] * in[2])
        for (o[0] = 0; o[0] < out[0]; ++o[0])
            for (o[1] = 0; o[1] < out[1]; ++o[1])
                for (o[2] = 0; o[2] < out[2]; ++o[2], ++i) {
                    const double *f[3];
                    double sum = 0;
                    for (d = 0; d < 3; ++d) f[d] = factors[d] + o[d] * most[d];
                    for (a = 0; a < count[0][o[0]]; ++a)
                        for (b = 0; b < count[1][o[1]]; ++b) {
                            const int64_t row = plane + ((begin[0][o[0]] + a) * in[1] +
                                                begin[1][o[1]] + b) * in[2] + begin[2][o[2]];
                            const double part = f[0][a] * f[1][b];
                            for (c = 0; c < count[2][o[2]]; ++c)
                                sum += part * f[2][c] * qnnrt_ir__wide_f(x, row + c);
                        }
                    qnnrt_ir__wide_put(e->out, i, sum);
                }
    return 1;
}

/* max_pool, adaptive_max_pool: the largest value, and its place in the plane. */
static int qnnrt_ir__eval_most(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0];
    const int adaptive = e->node->op[0] == 'a';
    const uint32_t n = qnnrt_ir__attr_spatial(e->node);
    int64_t kernel[3] = {1, 1, 1}, from[3], to[3], at[3], area_in, area_out, k, i;
    qnnrt_ir__slide s;
    if (!adaptive) qnnrt_ir_each(e->node, "kernel_size", n, kernel);
    qnnrt_ir__net_slide(e, n, kernel, &s);
    area_in = qnnrt_ir__net_area(s.in);
    area_out = qnnrt_ir__net_area(s.out);
    for (k = 0; k < e->out->count; ++k) {
        const int64_t plane = k / area_out * area_in;
        int64_t o = k % area_out, best = -1;
        double most = -HUGE_VAL;
        for (i = 3; i-- > 0; o /= s.out[i]) {
            const int64_t p = o % s.out[i];
            from[i] = adaptive ? p * s.in[i] / s.out[i] : p * s.stride[i] - s.pad[i];
            to[i] = adaptive ? ((p + 1) * s.in[i] + s.out[i] - 1) / s.out[i]
                             : from[i] + (s.kernel[i] - 1) * s.dilation[i] + 1;
            if (from[i] < 0)
                from[i] += (s.dilation[i] - 1 - from[i]) / s.dilation[i] * s.dilation[i];
            if (to[i] > s.in[i]) to[i] = s.in[i];
        }
        for (at[0] = from[0]; at[0] < to[0]; at[0] += s.dilation[0])
            for (at[1] = from[1]; at[1] < to[1]; at[1] += s.dilation[1])
                for (at[2] = from[2]; at[2] < to[2]; at[2] += s.dilation[2]) {
                    const int64_t place = (at[0] * s.in[1] + at[1]) * s.in[2] + at[2];
                    const double f = qnnrt_ir__wide_f(x, plane + place);
                    if (best >= 0 && !(f > most) && !(f != f)) continue;
                    most = f;
                    best = place;
                }
        if (best < 0) qnnrt_ir__wide_put(e->out, k, most);
        else qnnrt_ir__wide_move(e->out, k, x, plane + best);
        if (best < 0) best = (from[0] * s.in[1] + from[1]) * s.in[2] + from[2];
        if (e->out_count > 1) qnnrt_ir__wide_set(&e->out[1], k, best);
    }
    return 1;
}

/* im2col: the windows of an image as columns; col2im: the sum of columns, each in its place. */
static int qnnrt_ir__eval_fold(qnnrt_ir__eval *e)
{
    const int back = e->node->op[0] == 'c';
    const qnnrt_ir__wide *x = &e->in[0], *image = back ? e->out : x;
    int64_t kernel[3] = {1, 1, 1}, area, places, elements, plane, t, o;
    double *sums = NULL;
    qnnrt_ir__slide s;
    uint32_t i;
    qnnrt_ir_each(e->node, "kernel_size", 2, kernel);
    qnnrt_ir__net_slide(e, 2, kernel, &s);
    for (i = 1; i < 3; ++i) {
        s.in[i] = image->dims[image->rank + i - 3];
        s.out[i] = s.in[i] + 2 * s.pad[i] - s.dilation[i] * (s.kernel[i] - 1) - 1;
        s.out[i] = s.out[i] / s.stride[i] + 1;
    }
    area = qnnrt_ir__net_area(s.in);
    places = qnnrt_ir__net_area(s.out);
    elements = qnnrt_ir__net_area(s.kernel);
    if (back) sums = (double *)qnnrt_ir__eval_get(e, image->count, sizeof(*sums));
    if (back && sums == NULL) return 0;
    for (plane = 0; plane < image->count / area; ++plane)
        for (t = 0; t < elements; ++t)
            for (o = 0; o < places; ++o) {
                const int64_t at = (plane * elements + t) * places + o;
                const int64_t place = qnnrt_ir__net_place(&s, o, t);
                if (back && place >= 0) sums[plane * area + place] += qnnrt_ir__wide_f(x, at);
                else if (!back && place >= 0)
                    qnnrt_ir__wide_move(e->out, at, x, plane * area + place);
                else if (!back) qnnrt_ir__wide_put(e->out, at, 0);
            }
    for (o = 0; o < e->out->count && back; ++o) qnnrt_ir__wide_put(e->out, o, sums[o]);
    return 1;
}

QNNRT_IR_API uint32_t qnnrt_ir_blocks(const qnnrt_ir_node *node, int64_t *dims, uint32_t *order)
{
    const qnnrt_ir_value *x = node->inputs[0];
    const int back = strstr(node->op, "unshuffle") != NULL;
    const int64_t r = qnnrt_ir_int(node, back ? "downscale_factor" : "upscale_factor", 1);
    uint32_t i;
    for (i = 0; i < 6; ++i) order[i] = i;
    if (strstr(node->op, "channel") != NULL) {   /* [N, g, C / g, ..], the two change places */
        const int64_t groups = qnnrt_ir_int(node, "groups", 1);
        dims[0] = x->dims[0];
        dims[1] = groups;
        dims[2] = x->dims[1] / groups;
        order[1] = 2;
        order[2] = 1;
        for (dims[3] = 1, i = 2; i < x->rank; ++i) dims[3] *= x->dims[i];
        return 4;
    }
    for (dims[0] = 1, i = 0; i + 3 < x->rank; ++i) dims[0] *= x->dims[i];
    dims[1] = back ? x->dims[i] : x->dims[i] / (r * r);
    dims[2] = back ? x->dims[i + 1] / r : r;
    dims[3] = r;
    dims[4] = back ? x->dims[i + 2] / r : x->dims[i + 1];
    dims[5] = back ? r : x->dims[i + 2];
    order[2] = back ? 3 : 4;                     /* [C, H, r, W, r] to [C, r, r, H, W] */
    order[3] = back ? 5 : 2;                     /* [C, r, r, H, W] to [C, H, r, W, r] */
    order[4] = back ? 2 : 5;
    order[5] = back ? 4 : 3;
    return 6;
}

/* pixel_shuffle, pixel_unshuffle, channel_shuffle: axes of axes change places. */
static int qnnrt_ir__eval_blocks(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *x = &e->in[0];
    int64_t dims[6], stride[6], n;
    uint32_t order[6], d;
    const uint32_t rank = qnnrt_ir_blocks(e->node, dims, order);
    qnnrt_ir__walk w;
    int64_t moved[6] = {0}, step = 1;
    for (d = rank; d-- > 0; step *= dims[d]) stride[d] = step;
    for (d = 0; d < rank; ++d) moved[d] = dims[order[d]];
    qnnrt_ir__walk_begin(&w, rank, moved);
    for (d = 0; d < rank; ++d) w.stride[0][d] = stride[order[d]];
    for (n = 0; n < e->out->count; ++n, qnnrt_ir__walk_next(&w))
        qnnrt_ir__wide_move(e->out, n, x, w.place[0]);
    return 1;
}

/* =====================================================================================
   EVALUATION: SAMPLES                                                     >>eval_sample
   Sums of a few places of an image that depend on data: grids, regions, moved windows.
   Needs: >>config >>attr >>wide >>eval_math >>gemm >>eval_image     Knows nothing of: graphs
   ===================================================================================== */

/* The places of a plane that a sample is the sum of, and their factors: those of up to 3 axes. */
enum { QNNRT_IR__TAPS = 16 };
typedef struct qnnrt_ir__taps {
    int64_t count, place[QNNRT_IR__TAPS];
    double  factor[QNNRT_IR__TAPS];
} qnnrt_ir__taps;

/* Begin with nothing but the first element, whole. */
static void qnnrt_ir__taps_begin(qnnrt_ir__taps *t)
{
    t->count = 1;
    t->place[0] = 0;
    t->factor[0] = 1;
}

/* Go on to the next axis, of `size`, with its own places and factors. A negative place is left
   out. */
static void qnnrt_ir__taps_axis(qnnrt_ir__taps *t, int64_t size, const int64_t *place,
                                const double *factor, int64_t count)
{
    const qnnrt_ir__taps was = *t;
    int64_t i, k;
    t->count = 0;
    for (i = 0; i < was.count; ++i)
        for (k = 0; k < count; ++k) {
            if (place[k] < 0) continue;
            t->place[t->count] = was.place[i] * size + place[k];
            t->factor[t->count++] = was.factor[i] * factor[k];
        }
}

/* Go on linearly between two neighbours; what lies outside of the axis counts as 0. */
static void qnnrt_ir__taps_linear(qnnrt_ir__taps *t, int64_t size, double at)
{
    const double low = floor(qnnrt_ir__image_clip(at, -2, (double)size + 1));
    int64_t place[2];
    double factor[2];
    place[0] = (int64_t)low;
    place[1] = place[0] + 1;
    factor[1] = at - low;
    factor[0] = 1 - factor[1];
    if (place[0] >= size) place[0] = -1;
    if (place[1] >= size) place[1] = -1;
    qnnrt_ir__taps_axis(t, size, place, factor, 2);
}

/* Return the sum that taps describe, in the plane at `plane`. */
static double qnnrt_ir__taps_sum(const qnnrt_ir__taps *t, const qnnrt_ir__wide *x, int64_t plane)
{
    double sum = 0;
    int64_t k;
    for (k = 0; k < t->count; ++k)
        sum += t->factor[k] * qnnrt_ir__wide_f(x, plane + t->place[k]);
    return sum;
}

/* Move a coordinate into an axis: padding 1, to its border; 2, reflected at it. */
static double qnnrt_ir__grid_inside(double at, int64_t size, int64_t padding, int corners)
{
    const double low = corners ? 0 : -0.5;
    const double span = corners ? (double)(size - 1) : (double)size;
    if (padding == 2 && span > 0) {
        const double from = fabs(at - low), times = floor(from / span);
        const double rest = fmod(from, span);
        at = fmod(times, 2) < 1 ? rest + low : span - rest + low;
    } else if (padding == 2) {
        at = 0;
    }
    return padding == 0 ? at : qnnrt_ir__image_clip(at, 0, (double)(size - 1));
}

/* How a grid is read. */
typedef struct qnnrt_ir__grid {
    int64_t taps_mode, padding;              /* 0: linear, 1: nearest, 2: cubic; 0: zeros */
    int     corners, flat;                   /* flat: of two dimensions, where NaN stays NaN */
} qnnrt_ir__grid;

/* Go on to the next axis of a grid, at a coordinate from -1 to 1. */
static void qnnrt_ir__grid_axis(const qnnrt_ir__grid *g, qnnrt_ir__taps *t, int64_t size, double at)
{
    const double n = (double)size;
    int64_t place[4], k;
    double factor[4], low;
    at = g->corners ? (at + 1) / 2 * (n - 1) : ((at + 1) * n - 1) / 2;
    if (g->taps_mode != 2) at = qnnrt_ir__grid_inside(at, size, g->padding, g->corners);
    low = floor(at);
    if (g->flat && g->taps_mode != 1 && !(at - at <= 0)) {
        place[0] = 0;
        factor[0] = at - at;
        qnnrt_ir__taps_axis(t, size, place, factor, 1);
    } else if (g->taps_mode == 0) {
        qnnrt_ir__taps_linear(t, size, at);
    } else if (g->taps_mode == 1) {                   /* a half goes to the even neighbour */
        if (at - low > 0.5 || (at - low >= 0.5 && fmod(low, 2) != 0)) low += 1;
        place[0] = low >= 0 && low < n ? (int64_t)low : -1;
        factor[0] = 1;
        qnnrt_ir__taps_axis(t, size, place, factor, 1);
    } else {
        for (k = 0; k < 4; ++k) {
            const double x = qnnrt_ir__grid_inside(low + (double)(k - 1), size, g->padding,
                                                   g->corners);
            place[k] = x >= 0 && x < n ? (int64_t)x : -1;
            factor[k] = qnnrt_ir__image_cubic(at - low - (double)(k - 1), -0.75);
        }
        qnnrt_ir__taps_axis(t, size, place, factor, 4);
    }
}

/* grid_sampler: the numbers of a place are those of the last axis, of the one before, .. For some
   places at a time, so that a plane is read again while it is near. */
static int qnnrt_ir__eval_grid(qnnrt_ir__eval *e)
{
    enum { BLOCK = 256 };
    const qnnrt_ir__wide *x = &e->in[0], *grid = &e->in[1];
    const uint32_t n = x->rank - 2;
    const int64_t area = grid->count / (grid->dims[0] * n), planes = x->dims[0] * x->dims[1];
    const int64_t in = x->count / planes;
    qnnrt_ir__taps *t = (qnnrt_ir__taps *)qnnrt_ir__eval_get(e, BLOCK, sizeof(*t));
    qnnrt_ir__grid g;
    int64_t image, first, k, c;
    uint32_t d;
    if (t == NULL) return 0;
    g.taps_mode = qnnrt_ir_int(e->node, "interpolation_mode", 0);
    g.padding = qnnrt_ir_int(e->node, "padding_mode", 0);
    g.corners = qnnrt_ir_int(e->node, "align_corners", 0) != 0;
    g.flat = n == 2;
    for (image = 0; image < x->dims[0]; ++image)
        for (first = 0; first < area; first += BLOCK) {
            const int64_t count = qnnrt_ir__gemm_least(area - first, BLOCK);
            for (k = 0; k < count; ++k) {
                const int64_t at = (image * area + first + k + 1) * n - 1;
                qnnrt_ir__taps_begin(&t[k]);
                for (d = 0; d < n; ++d)
                    qnnrt_ir__grid_axis(&g, &t[k], x->dims[2 + d], qnnrt_ir__wide_f(grid, at - d));
            }
            for (c = image * x->dims[1]; c < (image + 1) * x->dims[1]; ++c)
                for (k = 0; k < count; ++k)
                    qnnrt_ir__wide_put(e->out, c * area + first + k,
                                       qnnrt_ir__taps_sum(&t[k], x, c * in));
        }
    return 1;
}

/* Sample the middle of each part of a bin of a region: roi_align. Where the region leaves the image
   by more than a pixel nothing is added. */
static void qnnrt_ir__regions_bin(qnnrt_ir__eval *e, int64_t roi, int64_t image, int64_t bin,
                                  const double *begin, const double *size, const int64_t *parts)
{
    const qnnrt_ir__wide *x = &e->in[0];
    const int64_t area = x->dims[2] * x->dims[3], bins = e->out->dims[2] * e->out->dims[3];
    const int64_t row = bin / e->out->dims[3], column = bin % e->out->dims[3];
    const double share = 1 / (double)(parts[0] * parts[1] > 1 ? parts[0] * parts[1] : 1);
    int64_t i, k, c;
    for (c = 0; c < x->dims[1]; ++c) {
        double sum = 0;
        for (i = 0; i < parts[0]; ++i)
            for (k = 0; k < parts[1]; ++k) {
                double at[2];
                qnnrt_ir__taps t;
                uint32_t d;
                at[0] = begin[0] + size[0] * ((double)row + ((double)i + 0.5) / (double)parts[0]);
                at[1] = begin[1] + size[1] * ((double)column +
                                              ((double)k + 0.5) / (double)parts[1]);
                qnnrt_ir__taps_begin(&t);
                for (d = 0; d < 2; ++d) {
                    const double n = (double)x->dims[2 + d];
                    if (!(at[d] >= -1 && at[d] <= n)) t.count = 0;
                    qnnrt_ir__taps_linear(&t, x->dims[2 + d],
                                          qnnrt_ir__image_clip(at[d], 0, n - 1));
                }
                sum += qnnrt_ir__taps_sum(&t, x, (image * x->dims[1] + c) * area);
            }
        qnnrt_ir__wide_put(e->out, (roi * x->dims[1] + c) * bins + bin, sum * share);
    }
}

/* The largest value of a bin of a region, and its place: roi_pool. */
static void qnnrt_ir__regions_most(qnnrt_ir__eval *e, int64_t roi, int64_t image, int64_t bin,
                                   const double *begin, const double *size)
{
    const qnnrt_ir__wide *x = &e->in[0];
    const int64_t bins = e->out->dims[2] * e->out->dims[3];
    int64_t from[2], to[2], place[2], c, a, b;
    int d;
    place[0] = bin / e->out->dims[3];
    place[1] = bin % e->out->dims[3];
    for (d = 0; d < 2; ++d) {
        const double n = (double)x->dims[2 + d], at = (double)place[d];
        from[d] = (int64_t)qnnrt_ir__image_clip(floor(at * size[d]) + begin[d], 0, n);
        to[d] = (int64_t)qnnrt_ir__image_clip(ceil((at + 1) * size[d]) + begin[d], 0, n);
    }
    for (c = 0; c < x->dims[1]; ++c) {
        const int64_t plane = (image * x->dims[1] + c) * x->dims[2] * x->dims[3];
        const int64_t to_at = (roi * x->dims[1] + c) * bins + bin;
        int64_t best = -1;
        double most = to[0] > from[0] && to[1] > from[1] ? -3.4028234663852886e38 : 0;
        for (a = from[0]; a < to[0]; ++a)
            for (b = from[1]; b < to[1]; ++b) {
                const double f = qnnrt_ir__wide_f(x, plane + a * x->dims[3] + b);
                if (!(f > most)) continue;
                most = f;
                best = a * x->dims[3] + b;
            }
        qnnrt_ir__wide_put(e->out, to_at, most);
        qnnrt_ir__wide_set(&e->out[1], to_at, best);
    }
}

/* roi_align, roi_pool: bins of regions of images. PARTS: of a bin along an axis, at most. */
enum { QNNRT_IR__PARTS = 1 << 10 };
static int qnnrt_ir__eval_regions(qnnrt_ir__eval *e)
{
    const qnnrt_ir__wide *rois = &e->in[1];
    const int pool = e->out_count > 1;
    const double scale = qnnrt_ir_float(e->node, "spatial_scale", 1);
    const int64_t sampling = qnnrt_ir_int(e->node, "sampling_ratio", 0);
    const int aligned = qnnrt_ir_int(e->node, "aligned", 0) != 0;
    int64_t roi, bin, parts[2];
    uint32_t d;
    for (roi = 0; roi < rois->dims[0]; ++roi) {
        const double image = qnnrt_ir__wide_f(rois, roi * 5);
        double begin[2], size[2];
        if (!(image >= 0 && image < (double)e->in[0].dims[0]))
            return qnnrt_ir__eval_no(e, "a region is of an image that the batch does not have");
        for (d = 0; d < 2; ++d) {
            const double bins = (double)e->out->dims[2 + d];
            double from = qnnrt_ir__wide_f(rois, roi * 5 + 2 - d) * scale;
            double to = qnnrt_ir__wide_f(rois, roi * 5 + 4 - d) * scale, wide;
            begin[d] = pool ? floor(fabs(from) + 0.5) * (from < 0 ? -1 : 1) : from - aligned * 0.5;
            wide = pool ? floor(fabs(to) + 0.5) * (to < 0 ? -1 : 1) - begin[d] + 1 : to - from;
            if (!aligned && !(wide > 1)) wide = 1;
            size[d] = wide / bins;
            parts[d] = sampling > 0 ? sampling :
                       (int64_t)qnnrt_ir__image_clip(ceil(size[d]), 0, QNNRT_IR__PARTS + 1);
            if (!pool && parts[d] > QNNRT_IR__PARTS)
                return qnnrt_ir__eval_no(e, "a region has too many parts");
        }
        for (bin = 0; bin < e->out->dims[2] * e->out->dims[3]; ++bin) {
            if (pool) qnnrt_ir__regions_most(e, roi, (int64_t)image, bin, begin, size);
            else qnnrt_ir__regions_bin(e, roi, (int64_t)image, bin, begin, size, parts);
        }
    }
    return 1;
}

/* Fill columns [C * kernel, ROWS] with samples of an image for the places from `first` on. */
static void qnnrt_ir__deform_columns(const qnnrt_ir__eval *e, const qnnrt_ir__slide *s,
                                     int64_t image, int64_t first, int64_t rows, double *columns)
{
    const qnnrt_ir__wide *x = &e->in[0], *offset = &e->in[2];
    const qnnrt_ir__wide *mask =
        qnnrt_ir_int(e->node, "use_mask", 0) != 0 ? &e->in[3] : NULL;
    const int64_t parts = qnnrt_ir_int(e->node, "offset_groups", 1), channels = x->dims[1] / parts;
    const int64_t kernel = qnnrt_ir__net_area(s->kernel), area = qnnrt_ir__net_area(s->out);
    int64_t part, k, r, c;
    for (part = 0; part < parts; ++part)
        for (k = 0; k < kernel; ++k)
            for (r = 0; r < rows; ++r) {
                const int64_t o = first + r, at = (image * parts + part) * kernel + k;
                const double factor = mask != NULL ? qnnrt_ir__wide_f(mask, at * area + o) : 1;
                const int64_t y = o / s->out[2] * s->stride[1] - s->pad[1] +
                                  k / s->kernel[2] * s->dilation[1];
                const int64_t z = o % s->out[2] * s->stride[2] - s->pad[2] +
                                  k % s->kernel[2] * s->dilation[2];
                qnnrt_ir__taps t;
                qnnrt_ir__taps_begin(&t);
                qnnrt_ir__taps_linear(&t, s->in[1], (double)y +
                                      qnnrt_ir__wide_f(offset, 2 * at * area + o));
                qnnrt_ir__taps_linear(&t, s->in[2], (double)z +
                                      qnnrt_ir__wide_f(offset, (2 * at + 1) * area + o));
                for (c = 0; c < channels; ++c)
                    columns[((part * channels + c) * kernel + k) * QNNRT_IR__ROWS + r] =
                        factor * qnnrt_ir__taps_sum(&t, x, (image * x->dims[1] + part * channels +
                                                            c) * s->in[1] * s->in[2]);
            }
}

/* deform_conv2d: a convolution whose window is moved, element by element. */
static int qnnrt_ir__eval_deform(qnnrt_ir__eval *e)
{
    static const char *const names[3][2] = {
        { "stride_h", "stride_w" }, { "pad_h", "pad_w" }, { "dilation_h", "dilation_w" } };
    const qnnrt_ir__wide *x = &e->in[0], *w = &e->in[1];
    const int64_t groups = qnnrt_ir_int(e->node, "groups", 1), channels = w->dims[0];
    int64_t dims[2], image, group, area;
    qnnrt_ir__wide columns;
    qnnrt_ir__slide s;
    qnnrt_ir__gemm p;
    uint32_t d;
    qnnrt_ir__net_slide(e, 2, w->dims + 2, &s);
    for (d = 1; d < 3; ++d) {
        s.stride[d] = qnnrt_ir_int(e->node, names[0][d - 1], 1);
        s.pad[d] = qnnrt_ir_int(e->node, names[1][d - 1], 0);
        s.dilation[d] = qnnrt_ir_int(e->node, names[2][d - 1], 1);
    }
    dims[0] = x->dims[1] * qnnrt_ir__net_area(s.kernel);
    dims[1] = QNNRT_IR__ROWS;
    if (!qnnrt_ir__wide_begin(&columns, QNNRT_DTYPE_F64, 2, dims) ||
        !qnnrt_ir__wide_make(e->arena, &columns, NULL))
        return qnnrt_ir__eval_no(e, "out of memory");
    if (!qnnrt_ir__gemm_begin(e, &p, e->out, QNNRT_IR__ROWS, channels / groups, dims[0] / groups))
        return 0;
    area = qnnrt_ir__net_area(s.out);
    p.a.x = &columns;
    p.a.step = QNNRT_IR__ROWS;
    p.b.x = w;
    p.b.row = p.depth;
    p.plus.x = &e->in[4];
    p.a.row = p.b.step = p.plus.step = p.row = 1;
    p.step = area;
    for (image = 0; image < x->dims[0]; ++image) {
        int64_t first;
        for (first = 0; first < area; first += QNNRT_IR__ROWS) {
            p.rows = qnnrt_ir__gemm_least(area - first, QNNRT_IR__ROWS);
            qnnrt_ir__deform_columns(e, &s, image, first, p.rows, (double *)(void *)columns.room);
            for (group = 0; group < groups; ++group) {
                p.plus.at = group * p.columns;
                p.a.at = group * p.depth * QNNRT_IR__ROWS;
                p.b.at = p.plus.at * p.depth;
                p.at = (image * channels + p.plus.at) * area + first;
                qnnrt_ir__gemm_run(&p);
            }
        }
    }
    return 1;
}

/* =====================================================================================
   EVALUATION: RECURRENCE                                                    >>recurrence
   Recurrent layers, in double.
   Needs: >>config >>shape_seq >>wide >>eval_math >>elements >>gemm
   Knows nothing of: convolutions
   ===================================================================================== */

/* Rows of results that are computed side by side. */
enum { QNNRT_IR__SIDE = 8 };

/* What one layer computes with in one direction. Weights are [rows / 8][columns][8]. */
typedef struct qnnrt_ir__layer {
    qnnrt_ir__recurrent r;
    double *x, *y;                           /* [steps][batch][in], [steps][batch][ways * out] */
    double *h, *c, *raw;                     /* [batch][out], [batch][width] of c and unprojected */
    double *from_x, *from_h, *turn;          /* weights */
    double *bias_x, *bias_h;                 /* [gates * width], 0 without biases */
    double *gates, *more;                    /* of all steps, of one: [rows][gates * width] */
    int64_t in;
} qnnrt_ir__layer;

/* Copy a matrix so that 8 rows are side by side; those that are missing are 0. */
static void qnnrt_ir__layer_pack(const qnnrt_ir__wide *w, double *to)
{
    const int64_t columns = w->dims[1];
    int64_t i, k;
    for (i = 0; i < w->dims[0]; ++i)
        for (k = 0; k < columns; ++k)
            to[(i / QNNRT_IR__SIDE * columns + k) * QNNRT_IR__SIDE + i % QNNRT_IR__SIDE] =
                qnnrt_ir__wide_f(w, i * columns + k);
}

/* y = x w^T + bias; bias NULL: 0. */
static inline void qnnrt_ir__layer_sums(const double *x, int64_t rows, int64_t depth,
                                        const double *w, const double *bias, int64_t columns,
                                        double *y)
{
    int64_t i, j, k;
    int l;
    for (j = 0; j < columns; j += QNNRT_IR__SIDE, w += depth * QNNRT_IR__SIDE)
        for (i = 0; i < rows; ++i) {
            const double *const row = x + i * depth;
            double s[QNNRT_IR__SIDE] = { 0 };
            for (k = 0; k < depth; ++k)
                for (l = 0; l < QNNRT_IR__SIDE; ++l) s[l] += row[k] * w[k * QNNRT_IR__SIDE + l];
            for (l = 0; l < QNNRT_IR__SIDE && j + l < columns; ++l)
                y[i * columns + j + l] = s[l] + (bias != NULL ? bias[j + l] : 0);
        }
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma")))
static void qnnrt_ir__layer_sums_wide(const double *x, int64_t rows, int64_t depth, const double *w,
                                      const double *bias, int64_t columns, double *y)
{
    qnnrt_ir__layer_sums(x, rows, depth, w, bias, columns, y);
}
#endif

static void qnnrt_ir__layer_product(const double *x, int64_t rows, int64_t depth, const double *w,
                                    const double *bias, int64_t columns, double *y)
{
#if defined(__x86_64__)
    if (qnnrt_ir__gemm_fuses()) {
        qnnrt_ir__layer_sums_wide(x, rows, depth, w, bias, columns, y);
        return;
    }
#endif
    qnnrt_ir__layer_sums(x, rows, depth, w, bias, columns, y);
}

/* Compute the new state of one row from its gates: of x in `a`, of h in `b`. */
static void qnnrt_ir__layer_state(const qnnrt_ir__layer *l, int relu, const double *a,
                                  const double *b, double *h, double *c, double *raw)
{
    const int64_t n = l->r.width;
    int64_t k;
    for (k = 0; k < n; ++k) {
        const double x = a[k] + b[k];
        if (l->r.gates == 4) {               /* in, forget, cell, out */
            const double in = qnnrt_ir__word_sigmoid(x);
            const double keep = qnnrt_ir__word_sigmoid(a[n + k] + b[n + k]);
            const double out = qnnrt_ir__word_sigmoid(a[3 * n + k] + b[3 * n + k]);
            c[k] = keep * c[k] + in * tanh(a[2 * n + k] + b[2 * n + k]);
            raw[k] = out * tanh(c[k]);
        } else if (l->r.gates == 3) {        /* reset, update, new */
            const double now = tanh(a[2 * n + k] + qnnrt_ir__word_sigmoid(x) * b[2 * n + k]);
            const double keep = qnnrt_ir__word_sigmoid(a[n + k] + b[n + k]);
            h[k] = now + keep * (h[k] - now);
        } else {
            h[k] = relu ? (x < 0 ? 0 : x) : tanh(x);
        }
    }
}

/* Run one layer in one direction. The gates of x are computed for all steps at once. */
static void qnnrt_ir__layer_run(const qnnrt_ir__layer *l, int64_t way, int relu)
{
    const qnnrt_ir__recurrent *r = &l->r;
    const int64_t columns = r->gates * r->width;
    int64_t step, b;
    qnnrt_ir__layer_product(l->x, r->steps * r->batch, l->in, l->from_x, l->bias_x, columns,
                            l->gates);
    for (step = 0; step < r->steps; ++step) {
        const int64_t t = way != 0 ? r->steps - 1 - step : step;
        qnnrt_ir__layer_product(l->h, r->batch, r->out, l->from_h, l->bias_h, columns, l->more);
        for (b = 0; b < r->batch; ++b)
            qnnrt_ir__layer_state(l, relu, l->gates + (t * r->batch + b) * columns,
                                  l->more + b * columns, l->h + b * r->out, l->c + b * r->width,
                                  r->projected ? l->raw + b * r->width : l->h + b * r->out);
        if (r->projected)
            qnnrt_ir__layer_product(l->raw, r->batch, r->width, l->turn, NULL, r->out, l->h);
        for (b = 0; b < r->batch; ++b)
            memcpy(l->y + ((t * r->batch + b) * r->ways + way) * r->out, l->h + b * r->out,
                   (size_t)r->out * sizeof(double));
    }
}

/* Get the memory of all layers. Return 0 when out of memory. */
static int qnnrt_ir__layer_begin(qnnrt_ir__eval *e, qnnrt_ir__layer *l)
{
    const qnnrt_ir__recurrent *r = &l->r;
    const int64_t rows = (r->gates * r->width + QNNRT_IR__SIDE - 1) / QNNRT_IR__SIDE *
                         QNNRT_IR__SIDE;
    const int64_t most = l->in > r->ways * r->out ? l->in : r->ways * r->out;
    const int64_t turned = (r->out + QNNRT_IR__SIDE - 1) / QNNRT_IR__SIDE * QNNRT_IR__SIDE;
    struct { double **to; int64_t count; } all[12];
    size_t i;
    const int64_t cells = r->steps * r->batch;
    all[0].to = &l->x;       all[0].count = qnnrt_ir__times(cells, most);
    all[1].to = &l->y;       all[1].count = qnnrt_ir__times(cells, most);
    all[2].to = &l->h;       all[2].count = r->batch * r->out;
    all[3].to = &l->c;       all[3].count = r->batch * r->width;
    all[4].to = &l->raw;     all[4].count = r->batch * r->width;
    all[5].to = &l->from_x;  all[5].count = qnnrt_ir__times(rows, most);
    all[6].to = &l->from_h;  all[6].count = rows * r->out;
    all[7].to = &l->turn;    all[7].count = turned * r->width;
    all[8].to = &l->bias_x;  all[8].count = rows;
    all[9].to = &l->bias_h;  all[9].count = rows;
    all[10].to = &l->gates;  all[10].count = qnnrt_ir__times(cells, rows);
    all[11].to = &l->more;   all[11].count = r->batch * rows;
    for (i = 0; i < 12; ++i)
        if ((*all[i].to = (double *)qnnrt_ir__eval_get(e, all[i].count, sizeof(double))) == NULL)
            return 0;
    return 1;
}

/* Copy a part of a tensor to or from doubles. */
static void qnnrt_ir__layer_read(const qnnrt_ir__wide *x, int64_t at, int64_t count, double *to)
{
    int64_t k;
    for (k = 0; k < count; ++k) to[k] = qnnrt_ir__wide_f(x, at + k);
}

static void qnnrt_ir__layer_write(qnnrt_ir__wide *y, int64_t at, int64_t count, const double *from)
{
    int64_t k;
    for (k = 0; k < count; ++k) qnnrt_ir__wide_put(y, at + k, from[k]);
}

static int qnnrt_ir__eval_recurrent(qnnrt_ir__eval *e)
{
    const int relu = strncmp(e->node->op, "rnn_relu", 8) == 0;
    qnnrt_ir__layer l;
    qnnrt_ir__recurrent *r = &l.r;
    int64_t k, t, b;
    memset(&l, 0, sizeof(l));
    qnnrt_ir__recurrent_read(e->node, r);
    r->width = e->in[r->first].dims[0] / r->gates;
    l.in = e->in[0].dims[e->in[0].rank - 1];
    if (!qnnrt_ir__layer_begin(e, &l)) return 0;
    for (t = 0; t < r->steps; ++t)
        for (b = 0; b < r->batch; ++b)
            qnnrt_ir__layer_read(&e->in[0], (r->swapped ? b * r->steps + t : t * r->batch + b) *
                                 l.in, l.in, l.x + (t * r->batch + b) * l.in);
    for (k = 0; k < r->layers * r->ways; ++k) {
        const qnnrt_ir__wide *w = &e->in[r->first + (size_t)k * r->per];
        const int64_t way = k % r->ways, h = r->batch * r->out, c = r->batch * r->width;
        qnnrt_ir__layer_pack(&w[0], l.from_x);
        qnnrt_ir__layer_pack(&w[1], l.from_h);
        if (r->biased) qnnrt_ir__layer_read(&w[2], 0, w[2].count, l.bias_x);
        if (r->biased) qnnrt_ir__layer_read(&w[3], 0, w[3].count, l.bias_h);
        if (r->projected) qnnrt_ir__layer_pack(&w[r->per - 1], l.turn);
        qnnrt_ir__layer_read(&e->in[1], k * h, h, l.h);
        if (r->gates == 4) qnnrt_ir__layer_read(&e->in[2], k * c, c, l.c);
        qnnrt_ir__layer_run(&l, way, relu);
        qnnrt_ir__layer_write(&e->out[1], k * h, h, l.h);
        if (r->gates == 4) qnnrt_ir__layer_write(&e->out[2], k * c, c, l.c);
        if (way + 1 == r->ways) {
            double *const other = l.x;
            l.x = l.y;
            l.y = other;
            l.in = r->ways * r->out;
        }
    }
    for (t = 0; t < r->steps; ++t)
        for (b = 0; b < r->batch; ++b)
            qnnrt_ir__layer_write(&e->out[0], (r->swapped ? b * r->steps + t : t * r->batch + b) *
                                  l.in, l.in, l.x + (t * r->batch + b) * l.in);
    return 1;
}

/* =====================================================================================
   EVALUATION                                                                      >>eval
   Computes nodes and graphs.
   Needs: >>config >>attr >>dtype >>shape >>ops >>infer >>wide >>eval_math >>eval_move
   >>gemm >>eval_net >>recurrence     Knows nothing of: files
   ===================================================================================== */

static int (*const qnnrt_ir__eval_of[])(qnnrt_ir__eval *e) = {
#define QNNRT_IR_X(name, least, most, args, shape, eval) qnnrt_ir__eval_##eval,
    QNNRT_IR__OPS(QNNRT_IR_X)
#undef QNNRT_IR_X
};

/* Return true if a pad takes more from the input than it has. */
static int qnnrt_ir__eval_pads_too_far(const qnnrt_ir_node *node)
{
    const qnnrt_ir_attr *pad = qnnrt_ir_attr_find(node, "pad");
    const qnnrt_ir_value *x = node->inputs[0];
    const int reflects = qnnrt_ir__eval_text(node, "mode", "reflect");
    size_t i;
    if (qnnrt_ir__eval_text(node, "mode", "replicate") && x->count == 0) return 1;
    if (pad == NULL || (!reflects && !qnnrt_ir__eval_text(node, "mode", "circular"))) return 0;
    for (i = 0; i < pad->count; ++i)
        if (pad->ints[i] > x->dims[x->rank - 1 - i / 2] - reflects) return 1;
    return 0;
}

/* Return why a node with right shapes is not computed, or NULL: nothing depends on data. */
static const char *qnnrt_ir__eval_refusal(const qnnrt_ir_node *node)
{
    int (*const eval)(qnnrt_ir__eval *e) = qnnrt_ir__eval_of[node->info - qnnrt_ir__ops];
    const qnnrt_ir_value *in[5];
    size_t k;
    for (k = 0; k < 5; ++k) in[k] = k < node->input_count ? node->inputs[k] : NULL;
    if (eval == qnnrt_ir__eval_copy && qnnrt_ir_int(node, "train", 0) != 0 &&
        qnnrt_ir_float(node, "p", 0) > 0)
        return "dropout in training is random";
    if (strcmp(node->info->name, "einsum.default") == 0)
        return "qnnrt_ir_pass_inplace() was not called, or its steps have too many dimensions";
    if (eval == qnnrt_ir__eval_attention && qnnrt_ir_float(node, "dropout_p", 0) > 0)
        return "dropout is random";
    if (eval == qnnrt_ir__eval_recurrent && qnnrt_ir_int(node, "train", 0) != 0 &&
        qnnrt_ir_float(node, "dropout", 0) > 0)
        return "dropout in training is random";
    if (eval == qnnrt_ir__eval_places && qnnrt_ir__eval_pads_too_far(node))
        return "pad is larger than the input";
    if (eval == qnnrt_ir__eval_norm && in[3] != NULL &&
        qnnrt_ir_int(node, "use_input_stats", 1) == 0)
        return "running statistics are not evaluated";
    if (eval == qnnrt_ir__eval_batch_norm &&
        (in[3] == NULL || in[4] == NULL || qnnrt_ir_int(node, "training", 0) != 0 ||
         (node->output_count > 2 && node->outputs[1]->count > 0 &&
          node->outputs[1]->users + node->outputs[2]->users > 0)))
        return "statistics of the batch are not evaluated";
    return NULL;
}

QNNRT_IR_API qnnrt_result qnnrt_ir_eval_ask(const qnnrt_ir_node *node, qnnrt_error *err)
{
    qnnrt_ir__shape s;
    const char *why;
    size_t k;
    qnnrt_error_clear(err);
    if (node == NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "node is NULL");
    for (k = 0; k < node->output_count || k == 0; ++k) {
        const qnnrt_ir_value *y = k < node->output_count ? node->outputs[k] : NULL;
        if (!qnnrt_ir__ops_infer(node, k, &s))
            return qnnrt_error_set(err, s.code, "node \"%.200s\" (%.100s): %s", node->name,
                                   node->op, s.why);
        if (s.outputs != node->output_count)
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "node \"%.200s\" (%.100s) has %u "
                                   "outputs, expected %u", node->name, node->op,
                                   (unsigned)node->output_count, (unsigned)s.outputs);
        if (y == NULL) break;
        if (s.rank != y->rank || memcmp(s.dims, y->dims, s.rank * sizeof(*s.dims)) != 0 ||
            qnnrt_ir__dtype_row(y->dtype) < 0 ||
                (s.dtype != y->dtype && s.dtype != QNNRT_DTYPE_UNDEFINED))
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "node \"%.200s\" (%.100s): output %u has "
                                   "another shape or dtype than the operator computes", node->name,
                                   node->op, (unsigned)k);
    }
    why = qnnrt_ir__eval_refusal(node);
    return why == NULL ? QNNRT_OK
                       : qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "node \"%.200s\" (%.100s): %s",
                                         node->name, node->op, why);
}

/* Make the tensors of a node, and compute it. */
static qnnrt_result qnnrt_ir__eval_run(qnnrt_ir__eval *e, const void *const *inputs,
                                       void *const *outputs, qnnrt_error *err)
{
    const qnnrt_ir_node *node = e->node;
    qnnrt_result result;
    int64_t elements = 0;
    size_t k;
    e->in = (qnnrt_ir__wide *)qnnrt_arena_get(e->arena, node->input_count + 1, sizeof(*e->in));
    e->out =
        (qnnrt_ir__wide *)qnnrt_arena_get(e->arena, node->output_count + 1, sizeof(*e->out));
    if (e->in == NULL || e->out == NULL) return qnnrt_ir__fail_memory(err);
    e->in_count = node->input_count;
    e->out_count = node->output_count;
    for (k = 0; k < node->input_count; ++k) {
        const qnnrt_ir_value *x = node->inputs[k];
        if (x == NULL) continue;
        if (qnnrt_ir__dtype_row(x->dtype) < 0 || (inputs[k] == NULL && x->count > 0))
            return qnnrt_error_set(err, QNNRT_E_ARG, "node \"%.200s\" (%.100s): input %u has no "
                                   "data", node->name, node->op, (unsigned)k);
        if (!qnnrt_ir__wide_begin(&e->in[k], qnnrt_ir__wide_dtype(x, e->widen), x->rank, x->dims))
            return qnnrt_ir__fail_memory(err);
        e->in[k].data = (const unsigned char *)inputs[k];
    }
    result = qnnrt_ir_eval_ask(node, err);
    if (result != QNNRT_OK) return result;
    for (k = 0; k < node->output_count; ++k) {
        const qnnrt_ir_value *y = node->outputs[k];
        if (!qnnrt_ir__wide_begin(&e->out[k], qnnrt_ir__wide_dtype(y, e->widen), y->rank, y->dims))
            return qnnrt_ir__fail_memory(err);
        elements |= e->out[k].count;
    }
    if (elements == 0) return QNNRT_OK;
    for (k = 0; k < node->output_count; ++k)
        if (!qnnrt_ir__wide_make(e->arena, &e->out[k], outputs[k]))
            return qnnrt_ir__fail_memory(err);
    if (!qnnrt_ir__eval_of[node->info - qnnrt_ir__ops](e))
        return e->arena->failed ? qnnrt_ir__fail_memory(err)
                                : qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "node \"%.200s\" "
                                                  "(%.100s): %s", node->name, node->op, e->why);
    return QNNRT_OK;
}

static qnnrt_result qnnrt_ir__eval_node(const qnnrt_hooks *hooks, const qnnrt_ir_node *node,
                                        int widen, const void *const *inputs, void *const *outputs,
                                        qnnrt_error *err)
{
    qnnrt_arena arena;
    qnnrt_ir__eval e;
    qnnrt_result result;
    memset(&arena, 0, sizeof(arena));
    memset(&e, 0, sizeof(e));
    if (hooks != NULL) arena.hooks = *hooks;
    e.node = node;
    e.arena = &arena;
    e.widen = widen;
    e.why = "";
    result = qnnrt_ir__eval_run(&e, inputs, outputs, err);
    qnnrt_arena_free(&arena);
    return result;
}

/* =====================================================================================
   FOLD                                                                            >>fold
   What a node takes, and one whose outputs become constants.
   Needs: >>config >>attr >>dtype >>ops >>graph >>eval_math >>eval_index >>gemm >>eval_net
   >>eval_image >>eval_sample >>fourier >>recurrence
   >>eval     Knows nothing of: files
   ===================================================================================== */

/* Return about how many operations a product takes: tiles of 4 x 8 sums, and copies of both sides
   for each block of the other one. */
static double qnnrt_ir__fold_product(double batch, double rows, double columns, double depth)
{
    return batch * depth * ((rows + 3) * (columns + 7) +
                            16 * rows * (columns / (double)QNNRT_IR__COLUMNS + 1) +
                            16 * columns * (rows / (double)QNNRT_IR__ROWS + 1));
}

/* Return how often b is in a; 0 for empty tensors. */
static double qnnrt_ir__fold_ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* Return the size of a dimension, counted from the last one, 1; 1 if there are fewer. */
static double qnnrt_ir__fold_size(const qnnrt_ir_value *x, uint32_t last)
{
    return x->rank >= last ? (double)x->dims[x->rank - last] : 1;
}

/* The same for images: for each output element, what it is computed from. */
static double qnnrt_ir__fold_image(const qnnrt_ir_node *node, int (*eval)(qnnrt_ir__eval *e),
                                   const qnnrt_ir_value *x, const qnnrt_ir_value *w, double made)
{
    const uint32_t n = qnnrt_ir__attr_spatial(node);
    const qnnrt_ir_value *y = node->outputs[0];
    int64_t kernel[3] = { 1, 1, 1 };
    double area = 1;
    uint32_t d;
    if (eval == qnnrt_ir__eval_grid) return 16 * 16 * (made + (double)w->count);
    if (eval == qnnrt_ir__eval_regions) {
        const int64_t parts = qnnrt_ir_int(node, "sampling_ratio", 0);
        area = parts > 0 ? (double)parts : (double)QNNRT_IR__PARTS;
        return 64 * made * area * area;
    }
    if (eval == qnnrt_ir__eval_deform) {
        const double channels = (double)w->dims[0], batch = (double)y->dims[0];
        const double groups = (double)qnnrt_ir_int(node, "groups", 1);
        const double each = qnnrt_ir__fold_ratio((double)w->count, channels);
        const double places = qnnrt_ir__fold_ratio(made, batch * channels);
        return qnnrt_ir__fold_product(batch * groups, places, channels / groups, each) +
               64 * batch * groups * each * places;
    }
    qnnrt_ir_each(node, "kernel_size", n, kernel);
    for (d = 0; d < n; ++d) {
        const uint32_t at = y->rank - n + d;
        qnnrt_ir__band b;
        if (y->dims[at] < 1 || qnnrt_ir__attr_has(node, "kernel_size"))
            area *= (double)kernel[d];
        else if (qnnrt_ir__band_begin(node, d, x->dims[at], y->dims[at], &b))
            area *= (double)b.most;
        else
            area *= qnnrt_ir__fold_ratio((double)x->dims[at], (double)y->dims[at]) + 2;
    }
    return 16 * made * area;
}

/* Return what a node of inputs x and w takes beside its elements, if its work is no multiple of
   them. */
static double qnnrt_ir__fold_inner(const qnnrt_ir_node *node, const qnnrt_ir_value *x,
                                   const qnnrt_ir_value *w, double made)
{
    int (*const eval)(qnnrt_ir__eval *e) = qnnrt_ir__eval_of[node->info - qnnrt_ir__ops];
    const int turned = qnnrt_ir_int(node, "transposed", 0) != 0;
    const double depth = qnnrt_ir__fold_size(x, 1);
    double rows = qnnrt_ir__fold_size(x, 2), columns, area;
    if (eval == qnnrt_ir__eval_linear) {
        columns = qnnrt_ir__fold_size(w, 2);
        return qnnrt_ir__fold_product(1, qnnrt_ir__fold_ratio(made, columns), columns, depth);
    }
    if (eval == qnnrt_ir__eval_matmul || eval == qnnrt_ir__eval_addmm) {
        const int other = qnnrt_ir_int(node, "transpose_b", 0) != 0;
        columns = w->rank < 2 ? 1 : qnnrt_ir__fold_size(w, other ? 2 : 1);
        return qnnrt_ir__fold_product(qnnrt_ir__fold_ratio(made, rows * columns), rows, columns,
                                      depth);
    }
    if (eval == qnnrt_ir__eval_deconv || (eval == qnnrt_ir__eval_convolution && turned))
        return 16 * (double)x->count * qnnrt_ir__fold_ratio((double)w->count, (double)w->dims[0]);
    if (eval == qnnrt_ir__eval_conv || eval == qnnrt_ir__eval_convolution) {
        const double channels = (double)w->dims[0];
        const double groups = (double)qnnrt_ir_int(node, "groups", 1);
        const double batch = qnnrt_ir__fold_size(x, w->rank);
        columns = qnnrt_ir__fold_ratio(made, batch * channels);
        return qnnrt_ir__fold_product(batch * groups, channels / groups, columns,
                                      qnnrt_ir__fold_ratio((double)w->count, channels));
    }
    if (eval == qnnrt_ir__eval_attention) {
        const double heads = qnnrt_ir__fold_ratio((double)x->count, rows * depth);
        const double cells = qnnrt_ir__fold_size(w, 2), values =
            qnnrt_ir__fold_ratio(made, heads * rows);
        return qnnrt_ir__fold_product(heads, rows, cells, depth) +
               qnnrt_ir__fold_product(heads, rows, values, cells) + 32 * heads * rows * cells;
    }
    if (eval == qnnrt_ir__eval_bands || eval == qnnrt_ir__eval_most ||
        eval == qnnrt_ir__eval_grid || eval == qnnrt_ir__eval_regions ||
        eval == qnnrt_ir__eval_deform)
        return qnnrt_ir__fold_image(node, eval, x, w, made);
    if (eval == qnnrt_ir__eval_recurrent) {              /* each weight for each row of x */
        size_t k;
        for (k = 1, area = 0; k < node->input_count; ++k)
            area += node->inputs[k] != NULL ? (double)node->inputs[k]->count : 0;
        return 16 * area * (qnnrt_ir__fold_ratio((double)x->count, depth) + 4) + 64 * made;
    }
    if (eval == qnnrt_ir__eval_fft) return 1024 * (double)x->rank * (made + (double)x->count);
    if (eval == qnnrt_ir__eval_grouped)
        return qnnrt_ir__fold_product(1, made, 1, depth) + (double)w->count * 16;
    if (eval == qnnrt_ir__eval_search) return 16 * 64 * made;
    if (eval == qnnrt_ir__eval_order) return 16 * 32 * (double)x->count;
    if (eval == qnnrt_ir__eval_index) return 64 * (made + (double)x->count) * (double)x->rank;
    return 0;
}

/* Return about how many operations a node takes that qnnrt_ir_eval_ask() finds right, as
   qnnrt_ir_desc.fold_operations counts them. */
static double qnnrt_ir__fold_cost(const qnnrt_ir_node *node)
{
    const size_t first = qnnrt_ir__eval_of[node->info - qnnrt_ir__ops] == qnnrt_ir__eval_addmm;
    const qnnrt_ir_value *x = qnnrt_ir_input(node, first);
    const double made = (double)node->outputs[0]->count;
    double elements = 0;
    size_t k;
    for (k = 0; k < node->input_count; ++k)
        if (node->inputs[k] != NULL) elements += (double)node->inputs[k]->count;
    for (k = 0; k < node->output_count; ++k) elements += (double)node->outputs[k]->count;
    return 16 * elements +
           (x == NULL ? 0 : qnnrt_ir__fold_inner(node, x, qnnrt_ir_input(node, first + 1), made));
}

/* Take what a node needs from what is left of the graph's limits, whether it can be computed or
   not: the bytes of its outputs; a reduction has as many sums. */
static qnnrt_result qnnrt_ir__fold_spend(qnnrt_ir *ir, const qnnrt_ir_node *node,
                                         qnnrt_error *err)
{
    const int reduces = qnnrt_ir__eval_of[node->info - qnnrt_ir__ops] == qnnrt_ir__eval_reduce;
    const double operations = qnnrt_ir__fold_cost(node);
    double bytes = reduces ? (double)node->outputs[0]->count * (double)sizeof(qnnrt_ir__sum) : 0;
    qnnrt_ir__own *own = ir->own;
    size_t k;
    int large;
    for (k = 0; k < node->output_count; ++k)
        bytes += (double)node->outputs[k]->count *
                 (double)qnnrt_ir_dtype_bytes(node->outputs[k]->dtype);
    large = bytes > own->fold_bytes;
    if (large || operations > own->fold_operations) {
        qnnrt_error_set(err, QNNRT_E_LIMIT, "node \"%.200s\" (%.100s): it is constant, and folding "
                        "it takes %.0f %s: %.0f are left of qnnrt_ir_desc.%s", node->name, node->op,
                        large ? bytes : operations, large ? "bytes" : "operations", large ?
                        own->fold_bytes : own->fold_operations, large ? "fold_bytes" :
                        "fold_operations");
        qnnrt_error_hint(err, QNNRT_OK, "Export the model with this as a weight or an input.");
        return QNNRT_E_LIMIT;
    }
    own->fold_bytes -= bytes;
    own->fold_operations -= operations;
    return QNNRT_OK;
}

QNNRT_IR_API qnnrt_result qnnrt_ir_fold_node(qnnrt_ir *ir, qnnrt_ir_node *node, qnnrt_error *err)
{
    qnnrt_arena *arena;
    const void **in;
    void **out;
    qnnrt_result result;
    size_t k;
    qnnrt_error_clear(err);
    if (ir == NULL || node == NULL || node->dead || node->output_count == 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "ir or node is NULL, or the node is dead or has "
                               "no output");
    result = qnnrt_ir_eval_ask(node, err);
    if (result == QNNRT_OK) result = qnnrt_ir__fold_spend(ir, node, err);
    if (result != QNNRT_OK) return result;
    arena = &ir->own->arena;
    in = (const void **)qnnrt_arena_get(arena, node->input_count + 1, sizeof(*in));
    out = (void **)qnnrt_arena_get(arena, node->output_count + 1, sizeof(*out));
    if (in == NULL || out == NULL) return qnnrt_ir__fail_memory(err);
    for (k = 0; k < node->input_count; ++k)
        in[k] = node->inputs[k] != NULL ? node->inputs[k]->data : NULL;
    for (k = 0; k < node->output_count; ++k) {
        const qnnrt_ir_value *y = node->outputs[k];
        out[k] = qnnrt_arena_get(arena, y->count + 1, qnnrt_ir_dtype_bytes(y->dtype));
        if (out[k] == NULL) return qnnrt_ir__fail_memory(err);
    }
    result = qnnrt_ir__eval_node(&arena->hooks, node, 0, in, out, err);
    if (result != QNNRT_OK) return result;
    for (k = 0; k < node->output_count; ++k) {
        qnnrt_ir_value *y = node->outputs[k];
        y->origin = QNNRT_IR_CONSTANT;
        y->node = NULL;
        y->index = 0;
        y->key = y->name;
        y->data = out[k];
    }
    qnnrt_ir_kill(ir, node, "folded");
    return QNNRT_OK;
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   The functions of the header.
   Needs: >>config >>dtype >>shape >>ops >>graph >>find >>check >>text >>parse >>document >>resolve
          >>infer >>eval     Knows nothing of: JSON
   ===================================================================================== */

/* ---- reading ---- */

/* Replace what Python writes and JSON does not have, in a copy. Return 0 if there is nothing to
   replace, or when out of memory. */
static int qnnrt_ir__public_python(qnnrt_ir__parse *p)
{
    char *copy;
    if (qnnrt_ir__text_python(p->text, p->bytes, NULL) == 0) return 0;
    copy = (char *)qnnrt_arena_get(&p->scratch, p->bytes, 1);
    if (copy == NULL) { p->result = QNNRT_OK; return qnnrt_ir__parse_memory(p); }
    memcpy(copy, p->text, p->bytes);
    qnnrt_ir__text_python(p->text, p->bytes, copy);
    p->original = p->text;
    p->text = copy;
    return 1;
}

/* Begin a call that makes a graph: check its arguments. desc NULL: plain defaults */
static qnnrt_result qnnrt_ir__public_begin(const void *from, const char *what,
                                           const qnnrt_ir_desc *desc, qnnrt_ir_desc *plain,
                                           qnnrt_ir **out, qnnrt_error *err)
{
    memset(plain, 0, sizeof(*plain));
    if (out != NULL) *out = NULL;
    if (from == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "%s is NULL", from == NULL ? what : "out");
    if (desc != NULL) *plain = *desc;
    if ((plain->hooks.alloc == NULL) != (plain->hooks.free == NULL) ||
        (plain->custom == NULL && plain->custom_count > 0))
        return qnnrt_error_set(err, QNNRT_E_ARG, "hooks need alloc and free, and custom its list");
    return qnnrt_error_clear(err);
}

QNNRT_IR_API qnnrt_result qnnrt_ir_create(const char *name, const qnnrt_ir_desc *desc,
                                          qnnrt_ir **out, qnnrt_error *err)
{
    qnnrt_ir_desc plain;
    const qnnrt_result result = qnnrt_ir__public_begin(name, "name", desc, &plain, out, err);
    if (result != QNNRT_OK) return result;
    *out = qnnrt_ir__graph_make(name, &plain);
    return *out != NULL ? QNNRT_OK : qnnrt_ir__fail_memory(err);
}

QNNRT_IR_API qnnrt_result qnnrt_ir_read(const char *text, size_t bytes, const qnnrt_ir_desc *desc,
                                        qnnrt_ir **out, qnnrt_error *err)
{
    qnnrt_ir_desc plain;
    qnnrt_ir__parse p;
    const qnnrt_result result = qnnrt_ir__public_begin(text, "text", desc, &plain, out, err);
    if (result != QNNRT_OK) return result;
    memset(&p, 0, sizeof(p));
    if (bytes > (plain.text_bytes != 0 ? plain.text_bytes : UINT64_C(1) << 30))
        return qnnrt_error_set(err, QNNRT_E_LIMIT, "the graph has %llu bytes, more than "
                               "qnnrt_ir_desc.text_bytes", (unsigned long long)bytes);
    p.text = text;
    p.bytes = bytes;
    p.err = err;
    p.plain_rope = plain.plain_rope;
    p.most_nodes = plain.nodes != 0 ? plain.nodes : 1000000;
    p.ir = qnnrt_ir__graph_make("", &plain);
    if (p.ir == NULL) return qnnrt_ir__fail_memory(err);
    p.scratch = qnnrt_ir__arena_like(&p.ir->own->arena);
    if (!qnnrt_ir__document_once(&p) && p.result == QNNRT_E_FORMAT && p.json.error != NULL &&
        qnnrt_ir__public_python(&p)) {
        /* Begin again: the JSON had numbers that only Python writes. */
        qnnrt_ir_free(p.ir);
        p.ir = qnnrt_ir__graph_make("", &plain);
        p.result = p.ir != NULL ? QNNRT_OK : qnnrt_ir__fail_memory(err);
        qnnrt_error_clear(p.result == QNNRT_OK ? err : NULL);
        p.inputs.count = p.outputs.count = p.weights.count = p.constants.count = 0;
        p.nodes.count = p.pairs.count = p.ranges.count = 0;
        if (p.ir != NULL) qnnrt_ir__document_once(&p);
    }
    if (p.result == QNNRT_OK) qnnrt_ir__resolve_all(&p);
    qnnrt_arena_free(&p.scratch);
    if (p.result != QNNRT_OK) {
        qnnrt_ir_free(p.ir);
        return p.result;
    }
    *out = p.ir;
    return QNNRT_OK;
}

QNNRT_IR_API qnnrt_result qnnrt_ir_check(qnnrt_ir *ir, const qnnrt_ir_finding **list, size_t *count,
                                         qnnrt_error *err)
{
    qnnrt_error_clear(err);
    if (list != NULL) *list = NULL;
    if (count != NULL) *count = 0;
    if (ir == NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "ir is NULL");
    ir->own->found = ir->own->kept;
    ir->own->lost = ir->own->lost_kept;
    if (!qnnrt_ir__check_all(ir)) return qnnrt_ir__fail_memory(err);
    if (list != NULL) *list = ir->own->findings;
    if (count != NULL) *count = ir->own->found;
    return qnnrt_ir__find_error(ir, err);
}

/* ---- operators ---- */

QNNRT_IR_API qnnrt_result qnnrt_ir_infer(const qnnrt_ir_node *node, size_t output,
                                         qnnrt_dtype *dtype, uint32_t *rank, int64_t *dims,
                                         qnnrt_error *err)
{
    qnnrt_ir__shape s;
    qnnrt_error_clear(err);
    if (node == NULL || dtype == NULL || rank == NULL || dims == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "node, dtype, rank or dims is NULL");
    *dtype = QNNRT_DTYPE_UNDEFINED;
    *rank = 0;
    memset(dims, 0, QNNRT_IR_RANK * sizeof(*dims));
    if (!qnnrt_ir__ops_infer(node, output, &s))
        return qnnrt_error_set(err, s.code, "node \"%.200s\" (%.100s): %s", node->name, node->op,
                               s.why);
    if (output >= s.outputs)
        return qnnrt_error_set(err, QNNRT_E_ARG, "node \"%.200s\" (%.100s) has %lu outputs",
                               node->name, node->op, (unsigned long)s.outputs);
    *dtype = s.dtype;
    *rank = s.rank;
    memcpy(dims, s.dims, s.rank * sizeof(*dims));
    return QNNRT_OK;
}

/* ---- evaluation ---- */

QNNRT_IR_API qnnrt_result qnnrt_ir_eval_node(const qnnrt_hooks *hooks, const qnnrt_ir_node *node,
                                             const void *const *inputs, void *const *outputs,
                                             qnnrt_error *err)
{
    qnnrt_error_clear(err);
    if (node == NULL || inputs == NULL || outputs == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "node, inputs or outputs is NULL");
    return qnnrt_ir__eval_node(hooks, node, 0, inputs, outputs, err);
}

/* ---- editing ---- */

QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_add_constant(qnnrt_ir *ir, const char *name,
                                                   qnnrt_dtype dtype, uint32_t rank,
                                                   const int64_t *dims, const void *data,
                                                   void **room)
{
    qnnrt_ir_value *value = qnnrt_ir_add_value(ir, name, dtype, rank, dims);
    const size_t bytes = qnnrt_ir_dtype_bytes(dtype);
    void *copy;
    if (room != NULL) *room = NULL;
    if (value == NULL || bytes == 0) return NULL;
    copy = qnnrt_arena_get(&ir->own->arena, value->count + 1, bytes);
    if (copy == NULL) return NULL;
    if (data != NULL && value->count > 0) memcpy(copy, data, (size_t)value->count * bytes);
    value->origin = QNNRT_IR_CONSTANT;
    value->key = value->name;
    value->data = copy;
    if (room != NULL) *room = copy;
    return value;
}

/* Begin an argument of a kind. */
static qnnrt_ir_attr qnnrt_ir__public_attr(const char *name, qnnrt_ir_attr_kind kind)
{
    qnnrt_ir_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.name = name;
    attr.kind = kind;
    return attr;
}

QNNRT_IR_API int qnnrt_ir_set_int(qnnrt_ir *ir, qnnrt_ir_node *node, const char *name,
                                  int64_t value)
{
    qnnrt_ir_attr attr = qnnrt_ir__public_attr(name, QNNRT_IR_INT);
    attr.i = value;
    attr.f = (double)value;
    return qnnrt_ir_set(ir, node, &attr);
}

QNNRT_IR_API int qnnrt_ir_set_float(qnnrt_ir *ir, qnnrt_ir_node *node, const char *name,
                                    double value)
{
    qnnrt_ir_attr attr = qnnrt_ir__public_attr(name, QNNRT_IR_FLOAT);
    attr.f = value;
    return qnnrt_ir_set(ir, node, &attr);
}

QNNRT_IR_API int qnnrt_ir_set_ints(qnnrt_ir *ir, qnnrt_ir_node *node, const char *name,
                                   const int64_t *values, size_t count)
{
    qnnrt_ir_attr attr = qnnrt_ir__public_attr(name, QNNRT_IR_INTS);
    attr.ints = values;
    attr.count = count;
    return qnnrt_ir_set(ir, node, &attr);
}

QNNRT_IR_API int qnnrt_ir_set_bool(qnnrt_ir *ir, qnnrt_ir_node *node, const char *name, int value)
{
    qnnrt_ir_attr attr = qnnrt_ir__public_attr(name, QNNRT_IR_BOOL);
    attr.f = (double)(attr.i = value != 0);
    return qnnrt_ir_set(ir, node, &attr);
}

QNNRT_IR_API int qnnrt_ir_set_text(qnnrt_ir *ir, qnnrt_ir_node *node, const char *name,
                                   const char *text)
{
    qnnrt_ir_attr attr = qnnrt_ir__public_attr(name, QNNRT_IR_TEXT);
    attr.text = text;
    return qnnrt_ir_set(ir, node, &attr);
}

QNNRT_IR_API int qnnrt_ir_set_op(qnnrt_ir *ir, qnnrt_ir_node *node, const char *op)
{
    const qnnrt_ir_op *info = qnnrt_ir__ops_find(op);
    const char *name = qnnrt_ir__graph_op_name(ir, info, op);
    if (name == NULL) return 0;
    node->op = name;
    node->info = info;
    return 1;
}

/* Set an operator and what the mapping says of it. Return 0 when out of memory. */
static int qnnrt_ir__public_op(qnnrt_ir *ir, qnnrt_ir_node *node, const char *op)
{
    char mapping[160];
    const char *text;
    snprintf(mapping, sizeof mapping, "became %.60s, was %.60s", op, node->op);
    text = qnnrt_ir_text(ir, mapping);
    if (text == NULL || !qnnrt_ir_set_op(ir, node, op)) return 0;
    node->mapping = text;
    return 1;
}

QNNRT_IR_API int qnnrt_ir_become(qnnrt_ir *ir, qnnrt_ir_node *node, const char *op,
                                 qnnrt_ir_value *const *inputs, size_t count)
{
    qnnrt_ir_value **copy = qnnrt_ir__graph_copy(ir, inputs, count);
    size_t i;
    if (copy == NULL || !qnnrt_ir__public_op(ir, node, op)) return 0;
    for (i = 0; i < count; ++i) qnnrt_ir__graph_use(copy[i], 1);
    for (i = 0; i < node->input_count; ++i) qnnrt_ir__graph_use(node->inputs[i], -1);
    node->inputs = copy;
    node->input_count = count;
    node->attrs = NULL;
    node->attr_count = 0;
    return 1;
}

QNNRT_IR_API int qnnrt_ir_convert(qnnrt_ir *ir, const qnnrt_ir_node *before, qnnrt_ir_value *from,
                                  qnnrt_ir_value *to)
{
    qnnrt_ir_node *node = qnnrt_ir_add_node(ir, before, "to.dtype", &from, 1, &to, 1);
    char text[40];
    snprintf(text, sizeof text, "torch.%s", qnnrt_ir_dtype_name(to->dtype));
    return node != NULL && qnnrt_ir_set_text(ir, node, "dtype", text);
}

QNNRT_IR_API qnnrt_result qnnrt_ir_round(qnnrt_ir *ir, qnnrt_ir_node *node, qnnrt_error *err)
{
    qnnrt_ir_value *y = node->outputs[0], *wide;
    qnnrt_dtype dtype;
    uint32_t rank;
    int64_t dims[QNNRT_IR_RANK];
    const qnnrt_result result = qnnrt_ir_infer(node, 0, &dtype, &rank, dims, err);
    if (result != QNNRT_OK) return result;
    if (dtype == QNNRT_DTYPE_UNDEFINED || dtype == y->dtype) return QNNRT_OK;
    wide = qnnrt_ir_add_value(ir, node->name, dtype, y->rank, y->dims);
    if (wide == NULL) return qnnrt_ir__fail_memory(err);
    node->outputs[0] = wide;
    wide->node = node;
    return qnnrt_ir_convert(ir, node->at + 1 < ir->node_count ? ir->nodes[node->at + 1] : NULL,
                            wide, y) ? QNNRT_OK : qnnrt_ir__fail_memory(err);
}

/* =====================================================================================
   EINSUM                                                                         >>einsum
   einsum becomes products of two matrices, with what must be moved and added up before.
   Needs: >>config >>shape >>shape_net >>infer >>graph >>public     Knows nothing of: patterns
   ===================================================================================== */

typedef struct qnnrt_ir__term {
    qnnrt_ir_value *x;
    char            labels[QNNRT_IR_RANK + 2];   /* of its dimensions, none of which is 1 */
} qnnrt_ir__term;

/* Let t->x be what an operator with a list as argument makes of it, and of y unless that is NULL.
   Return the node, NULL: out of memory. */
static qnnrt_ir_node *qnnrt_ir__einsum_step(qnnrt_ir__einsum *p, qnnrt_ir__term *t, const char *op,
                                            qnnrt_ir_value *y, uint32_t rank, const int64_t *dims,
                                            const char *name, const int64_t *list, size_t length)
{
    qnnrt_ir_value *in[2], *out = NULL;
    qnnrt_ir_node *node = NULL;
    char text[300];
    uint64_t count;
    in[0] = t->x;
    in[1] = y;
    snprintf(text, sizeof text, "%.250s_part", p->node->name);
    if (!qnnrt_ir__count(rank, dims, &count)) p->full = 1;
    else out = qnnrt_ir_add_value(p->ir, text, t->x->dtype, rank, dims);
    if (out != NULL) node = qnnrt_ir_add_node(p->ir, p->node, op, in, y != NULL ? 2 : 1, &out, 1);
    if (node != NULL) t->x = out;
    return node == NULL || name == NULL || qnnrt_ir_set_ints(p->ir, node, name, list, length)
               ? node : NULL;
}

/* Bring the dimensions in the order of some letters, then give them another shape, or their own. */
static int qnnrt_ir__einsum_order(qnnrt_ir__einsum *p, qnnrt_ir__term *t, const char *labels,
                                  uint32_t rank, const int64_t *dims)
{
    int64_t order[QNNRT_IR_RANK], now[QNNRT_IR_RANK];
    const uint32_t n = qnnrt_ir__einsum_dims(p, labels, now);
    uint32_t d;
    for (d = 0; d < n; ++d) order[d] = strchr(t->labels, labels[d]) - t->labels;
    if (dims == NULL) { dims = now; rank = n; }
    return (strcmp(t->labels, labels) == 0 ||
            qnnrt_ir__einsum_step(p, t, "permute.default", NULL, n, now, "dims", order, n)) &&
           ((t->x->rank == rank && memcmp(t->x->dims, dims, rank * sizeof(*dims)) == 0) ||
            qnnrt_ir__einsum_step(p, t, "reshape.default", NULL, rank, dims, "shape", dims, rank));
}

/* Return true if the result has a letter, or a later operand may have it. */
static int qnnrt_ir__einsum_needs(const qnnrt_ir__einsum *m, char label)
{
    return strchr(m->out, label) != NULL || strchr(m->at, label < 'A' ? '.' : label) != NULL;
}

/* Add up over the letters that neither another tensor has nor the rest of the equation. */
static int qnnrt_ir__einsum_sum(qnnrt_ir__einsum *p, qnnrt_ir__term *t, const char *other)
{
    int64_t dims[QNNRT_IR_RANK], sum[QNNRT_IR_RANK];
    uint32_t d, n = 0, summed = 0;
    for (d = 0; t->labels[d] != '\0'; ++d) {
        if (strchr(other, t->labels[d]) == NULL && !qnnrt_ir__einsum_needs(p, t->labels[d]))
            sum[summed++] = d;
        else t->labels[n++] = t->labels[d];
    }
    memset(t->labels + n, 0, sizeof(t->labels) - n);
    n = qnnrt_ir__einsum_dims(p, t->labels, dims);
    return summed == 0 ||
           qnnrt_ir__einsum_step(p, t, "sum.dim_IntList", NULL, n, dims, "dim", sum, summed);
}

/* Begin with the next operand, without dimensions of 1. A letter that it has twice is a diagonal,
   every (n + 1)th of n * n elements; meanwhile the second one has the code of its place. */
static int qnnrt_ir__einsum_load(qnnrt_ir__einsum *p, qnnrt_ir__term *t, qnnrt_ir_value *x)
{
    int64_t dims[QNNRT_IR_RANK];
    char order[QNNRT_IR_RANK + 2], base[QNNRT_IR_RANK + 1], *to;
    qnnrt_ir__shape s;
    qnnrt_ir_node *node;
    uint32_t d, n = 0, k;
    if (!qnnrt_ir__einsum_term(&s, p, x->rank, 0)) return 0;
    memset(t, 0, sizeof(*t));
    for (t->x = x, d = 0; d < x->rank; ++d) {
        const char label = p->term[d];
        if (x->dims[d] == 1) continue;
        base[n] = strchr(t->labels, label) != NULL ? label : '\0';
        t->labels[n] = base[n] != '\0' ? (char)(n + 1) : label;
        p->size[++n] = x->dims[d];
    }
    if (!qnnrt_ir__einsum_order(p, t, t->labels, 0, NULL)) return 0;
    for (k = n; k-- > 0;) {
        if (base[k] == '\0') continue;
        memset(order, 0, sizeof(order));
        for (to = order, d = 0; d < n; ++d)
            if (t->labels[d] != base[k] && t->labels[d] != (char)(k + 1)) *to++ = t->labels[d];
        *to++ = base[k];
        *to = (char)(k + 1);
        n = qnnrt_ir__einsum_dims(p, order, dims) - 1;
        dims[n - 1] = qnnrt_ir__times(dims[n - 1], dims[n]);
        if (!qnnrt_ir__einsum_order(p, t, order, n, dims)) return 0;
        dims[n - 1] = p->size[k + 1];
        *to = '\0';
        memcpy(t->labels, order, sizeof(order));
        node = qnnrt_ir__einsum_step(p, t, "slice.Tensor", NULL, n, dims, NULL, NULL, 0);
        if (node == NULL || !qnnrt_ir_set_int(p->ir, node, "dim", (int64_t)n - 1) ||
            !qnnrt_ir_set_int(p->ir, node, "step", dims[n - 1] + 1)) return 0;
    }
    return 1;
}

/* Let a be its product with b: [batch, rows, inner] times [batch, inner, columns]. If nothing is
   added up, inner is 1. */
static int qnnrt_ir__einsum_pair(qnnrt_ir__einsum *p, qnnrt_ir__term *a, qnnrt_ir__term *b)
{
    enum { BATCH, ROWS, INNER, COLUMNS };
    static const unsigned char parts[3][2] = {
        { ROWS, INNER }, { INNER, COLUMNS }, { ROWS, COLUMNS } };
    char part[4][QNNRT_IR_RANK + 2] = { "", "", "", "" }, order[3 * QNNRT_IR_RANK + 6];
    int64_t size[4] = { 1, 1, 1, 1 }, dims[QNNRT_IR_RANK];
    const char *label;
    uint32_t k, flat, n[4] = { 0, 0, 0, 0 };
    for (k = 0; k < 2; ++k) {
        for (label = (k == 0 ? a : b)->labels; *label != '\0'; ++label) {
            const int both = strchr((k == 0 ? b : a)->labels, *label) != NULL;
            const int to = !both ? (k == 0 ? ROWS : COLUMNS)
                                 : qnnrt_ir__einsum_needs(p, *label) ? BATCH : INNER;
            if (both && k == 1) continue;
            part[to][n[to]++] = *label;
            size[to] = qnnrt_ir__times(size[to], p->size[(size_t)*label]);
        }
    }
    p->full |= n[BATCH] + n[ROWS] + n[COLUMNS] > QNNRT_IR_RANK;
    flat = n[BATCH] == 0;                                /* matrices without a batch */
    for (k = 0; k < 3; ++k) {
        snprintf(order, sizeof order, "%s%s%s", part[BATCH], part[parts[k][0]], part[parts[k][1]]);
        dims[0] = size[BATCH];
        dims[1] = size[parts[k][0]];
        dims[2] = size[parts[k][1]];
        if (p->full || (k < 2 && !qnnrt_ir__einsum_order(p, k == 0 ? a : b, order, 3 - flat,
                                                         dims + flat))) return 0;
    }
    if (qnnrt_ir__einsum_step(p, a, n[INNER] > 0 ? "matmul.default" : "mul.Tensor", b->x, 3 - flat,
                              dims + flat, NULL, NULL, 0) == NULL) return 0;
    memcpy(a->labels, order, sizeof(a->labels));
    return qnnrt_ir__einsum_order(p, a, a->labels, 0, NULL);
}

/* Split a node without findings, from the first operand to the last. One with a step that is too
   large stays, and qnnrt_ir_tidy() removes what was added. */
static qnnrt_result qnnrt_ir__einsum_node(qnnrt_ir *ir, qnnrt_ir_node *node, qnnrt_error *err)
{
    qnnrt_ir__einsum p;
    qnnrt_ir__shape s;
    qnnrt_ir__term a, b;
    char order[QNNRT_IR_RANK + 2] = "";
    uint32_t n = 0, d;
    size_t i;
    int good;
    if (!qnnrt_ir_is(node, "einsum.default") || !qnnrt_ir__ops_infer(node, 0, &s)) return QNNRT_OK;
    good = qnnrt_ir__einsum_plan(&s, &p);
    p.ir = ir;
    p.node = node;
    good = good && qnnrt_ir__einsum_load(&p, &a, node->inputs[0]);
    for (i = 1; i < node->input_count && good; ++i) {
        ++p.at;                                          /* the comma */
        good = qnnrt_ir__einsum_load(&p, &b, node->inputs[i]) &&
               qnnrt_ir__einsum_sum(&p, &a, b.labels) && qnnrt_ir__einsum_sum(&p, &b, a.labels) &&
               qnnrt_ir__einsum_pair(&p, &a, &b);
    }
    for (d = 0; p.out[d] != '\0'; ++d)
        if (p.size[(size_t)p.out[d]] != 1) order[n++] = p.out[d];
    good = good && qnnrt_ir__einsum_sum(&p, &a, "") &&
           qnnrt_ir__einsum_order(&p, &a, order, 0, NULL) &&
           qnnrt_ir_become(ir, node, "reshape.default", &a.x, 1) &&
           qnnrt_ir_set_ints(ir, node, "shape", s.dims, s.rank);
    return good || p.full ? QNNRT_OK : qnnrt_ir__fail_memory(err);
}

/* =====================================================================================
   IN PLACE                                                                      >>inplace
   Operators that overwrite their input become those that do not.
   Needs: >>config >>attr >>graph >>public >>einsum     Knows nothing of: patterns
   ===================================================================================== */

/* Views, which may have the shape of their input. */
static const char *const qnnrt_ir__inplace_views[] = {
    "alias.default", "detach.default", "lift_fresh.default", "view.default", "view_as.default",
    "expand.default", "expand_as.default", "flatten.using_ints", "unflatten.int",
    "squeeze.default", "squeeze.dim", "squeeze.dims", "slice.Tensor", "narrow.default", NULL
};

/* Return the value that owns the memory of a value, as far as is known: the input of views, and of
   operators that may return their input. */
static const qnnrt_ir_value *qnnrt_ir__inplace_owner(const qnnrt_ir_value *value)
{
    static const char *const more[] = {
        "contiguous.default", "reshape.default", "reshape_as.default", "unsqueeze.default",
        "permute.default", "transpose.int", "t.default", "numpy_T.default", "movedim.int",
        "select.int", "split.Tensor", "split.sizes", "split_with_sizes.default", "chunk.default",
        "unbind.int", "dropout.default", "feature_dropout.default", NULL
    };
    static const char *const same[] = {
        "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as.default", NULL
    };
    for (;;) {
        const qnnrt_ir_node *node = qnnrt_ir_producer(value);
        size_t at = 0;
        if (node == NULL) return value;
        if (qnnrt_ir_is(node, "getitem")) {
            const int64_t index = qnnrt_ir_int(node, "index", -1);
            if (index < 0 || (uint64_t)index >= node->input_count) return value;
            at = (size_t)index;
        } else if (!qnnrt_ir_is_in(node, qnnrt_ir__inplace_views) &&
                   !qnnrt_ir_is_in(node, more) && !qnnrt_ir_is_in(node, same)) {
            return value;
        }
        if (at >= node->input_count || node->inputs[at] == NULL) return value;
        if (qnnrt_ir_is_in(node, same) && node->inputs[at]->dtype != value->dtype) return value;
        value = node->inputs[at];
    }
}

/* Return true if only one chain of views leads to a value: nothing else reads its memory. */
static int qnnrt_ir__inplace_alone(const qnnrt_ir_value *value)
{
    const qnnrt_ir_value *owner = qnnrt_ir__inplace_owner(value);
    while (value->users == 1 && value != owner) {
        const qnnrt_ir_node *node = value->node;
        const int64_t index = qnnrt_ir_is(node, "getitem") ? qnnrt_ir_int(node, "index", 0)
                                                                 : 0;
        value = node->inputs[(size_t)index];
    }
    return value->users == 1;
}

QNNRT_IR_API qnnrt_ir_value *qnnrt_ir_unchanged(const qnnrt_ir_node *node, int copies)
{
    static const char *const copying[] = {
        "clone.default", "contiguous.default", "lift_fresh_copy.default", "reshape.default",
        "reshape_as.default", "to.dtype", "to.dtype_layout", "to.device", "_to_copy.default",
        "to.other", "type_as.default", NULL
    };
    static const char *const dropouts[] = {
        "dropout.default", "feature_dropout.default", NULL
    };
    qnnrt_ir_value *x = qnnrt_ir_input(node, 0), *y = NULL;
    size_t i, full = 0;
    if (node->output_count != 1) return NULL;
    y = node->outputs[0];
    if (qnnrt_ir_is(node, "getitem")) {
        const int64_t index = qnnrt_ir_int(node, "index", -1);
        x = index < 0 ? NULL : qnnrt_ir_input(node, (size_t)index);
    } else if (copies && qnnrt_ir_is(node, "cat.default")) {
        for (i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] == NULL || node->inputs[i]->count == 0) continue;
            x = node->inputs[i];
            ++full;
        }
        if (full != 1) return NULL;
    } else if (copies && qnnrt_ir_is_in(node, dropouts)) {
        if (qnnrt_ir_int(node, "train", 1) != 0 &&
            !(qnnrt_ir_float(node, "p", 1) <= 0)) return NULL;
    } else if (!qnnrt_ir_is_in(node, qnnrt_ir__inplace_views) &&
               !(copies && qnnrt_ir_is_in(node, copying))) {
        return NULL;
    }
    if (x == NULL || x->dtype != y->dtype || !qnnrt_ir_same_shape(x, y)) return NULL;
    return x;
}

/* Return the value of which a value is another name. */
static const qnnrt_ir_value *qnnrt_ir__inplace_named(const qnnrt_ir_value *value)
{
    for (;;) {
        const qnnrt_ir_node *node = qnnrt_ir_producer(value);
        const qnnrt_ir_value *x = node != NULL ? qnnrt_ir_unchanged(node, 0) : NULL;
        if (x == NULL) return value;
        value = x;
    }
}

static qnnrt_result qnnrt_ir__inplace_shared(const qnnrt_ir_node *node, const qnnrt_ir_value *other,
                                             const char *reader, qnnrt_error *err)
{
    qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "node \"%.100s\" (%.60s) overwrites the memory of "
                    "\"%.100s\", which \"%.100s\" reads later", node->name, node->op, other->name,
                    reader);
    qnnrt_error_hint(err, QNNRT_OK, "Export the model with functions that do not overwrite their "
                     "input.");
    return QNNRT_E_UNSUPPORTED;
}

/* Let nodes after one that overwrites x read its result y. */
static qnnrt_result qnnrt_ir__inplace_later(qnnrt_ir *ir, const qnnrt_ir_node *node,
                                            const qnnrt_ir_value *x, qnnrt_ir_value *y,
                                            qnnrt_error *err)
{
    const qnnrt_ir_value *owner = qnnrt_ir__inplace_owner(x), *name = qnnrt_ir__inplace_named(x);
    size_t i, k;
    if (qnnrt_ir__inplace_alone(x)) return QNNRT_OK;
    for (i = node->at + 1; i < ir->node_count; ++i) {
        qnnrt_ir_node *reader = ir->nodes[i];
        for (k = 0; k < reader->input_count && !reader->dead; ++k) {
            const qnnrt_ir_value *value = reader->inputs[k];
            if (value == NULL) continue;
            if (qnnrt_ir__inplace_named(value) == name) qnnrt_ir_set_input(ir, reader, k, y);
            else if (reader->output_count > 0 && qnnrt_ir__inplace_owner(value) == owner)
                return qnnrt_ir__inplace_shared(node, value, reader->name, err);
        }
    }
    for (i = 0; i < ir->output_count; ++i)
        if (qnnrt_ir__inplace_owner(ir->outputs[i]) == owner)
            return qnnrt_ir__inplace_shared(node, ir->outputs[i], "the end of the graph", err);
    return QNNRT_OK;
}

/* Refuse a node that changes data of the checkpoint: the next call would have to see the change. */
static qnnrt_result qnnrt_ir__inplace_state(const qnnrt_ir_node *node, const qnnrt_ir_value *owner,
                                            qnnrt_error *err)
{
    qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "node \"%.100s\" (%.60s) changes \"%.200s\", which is"
                    " a weight or a buffer of the checkpoint", node->name, node->op,
                    owner->key != NULL ? owner->key : owner->name);
    if (node->source[0] != '\0') qnnrt_error_add(err, ": %.200s", node->source);
    qnnrt_error_hint(err, QNNRT_OK, "Export the model with qnnrt.export(), which makes it a state"
                     " of the program.");
    return QNNRT_E_UNSUPPORTED;
}

static qnnrt_result qnnrt_ir__inplace_node(qnnrt_ir *ir, qnnrt_ir_node *node, qnnrt_error *err)
{
    const qnnrt_ir_op *op = qnnrt_ir__graph_plain(node);
    const qnnrt_ir_value *owner;
    qnnrt_result result;
    if (op == NULL) return QNNRT_OK;
    owner = qnnrt_ir__inplace_owner(node->inputs[0]);
    if (owner->origin == QNNRT_IR_WEIGHT) return qnnrt_ir__inplace_state(node, owner, err);
    result = qnnrt_ir__inplace_later(ir, node, node->inputs[0], node->outputs[0], err);
    if (result != QNNRT_OK) return result;
    if (!qnnrt_ir__public_op(ir, node, op->name)) return qnnrt_ir__fail_memory(err);
    /* add_ of bfloat16 and float32 gives bfloat16, add gives float32. */
    return qnnrt_ir_round(ir, node, err);
}

QNNRT_IR_API qnnrt_result qnnrt_ir_pass_inplace(qnnrt_ir *ir, qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    size_t i;
    qnnrt_error_clear(err);
    if (ir == NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "ir is NULL");
    for (i = 0; i < ir->node_count && result == QNNRT_OK; ++i)
        if (!ir->nodes[i]->dead) result = qnnrt_ir__inplace_node(ir, ir->nodes[i], err);
    for (i = 0; i < ir->node_count && result == QNNRT_OK; ++i)
        if (!ir->nodes[i]->dead) result = qnnrt_ir__einsum_node(ir, ir->nodes[i], err);
    return result == QNNRT_OK ? qnnrt_ir_tidy(ir, err) : result;
}

/* =====================================================================================
   RUN                                                                              >>run
   Computes a whole graph. Values live from their producer to their last reader.
   Needs: >>config >>dtype >>wide >>eval >>inplace     Knows nothing of: operators
   ===================================================================================== */

/* One value while a graph runs. */
typedef struct qnnrt_ir__cell {
    const void *data;                        /* NULL: not there yet, or not any more */
    void       *own;                         /* memory of this run, or NULL */
    uint32_t    left;                        /* readers to come, outputs of the graph included */
} qnnrt_ir__cell;

typedef struct qnnrt_ir__run {
    qnnrt_ir          *ir;
    qnnrt_ir_run_desc  desc;
    qnnrt_arena    arena;                /* of the run itself, without elements */
    qnnrt_ir__cell    *cells;                /* [ir->value_count] */
    const void       **in;                   /* for the node with the most of them */
    void             **out;
    qnnrt_error       *err;
} qnnrt_ir__run;

QNNRT_IR_API qnnrt_dtype qnnrt_ir_run_dtype(const qnnrt_ir_run_desc *desc,
                                            const qnnrt_ir_value *value)
{
    return qnnrt_ir__wide_dtype(value, desc != NULL && desc->wide);
}

QNNRT_IR_API int qnnrt_ir_is_wide(const qnnrt_ir_value *value)
{
    return value != NULL && value->dtype == QNNRT_DTYPE_I64 && value->ranged &&
           (value->low < INT32_MIN || value->high > INT32_MAX);
}

static size_t qnnrt_ir__run_bytes(const qnnrt_ir__run *r, const qnnrt_ir_value *value)
{
    return (size_t)value->count * qnnrt_ir_dtype_bytes(qnnrt_ir_run_dtype(&r->desc, value));
}

/* Make room for the elements of a value. */
static qnnrt_result qnnrt_ir__run_make(qnnrt_ir__run *r, const qnnrt_ir_value *value)
{
    qnnrt_ir__cell *cell = &r->cells[value->number];
    if (value->count < SIZE_MAX / 16)
        cell->own = qnnrt_hooks_alloc(&r->desc.hooks, 1, qnnrt_ir__run_bytes(r, value) + 16);
    return cell->own != NULL ? QNNRT_OK : qnnrt_ir__fail_memory(r->err);
}

static void qnnrt_ir__run_drop(qnnrt_ir__run *r, qnnrt_ir__cell *cell)
{
    qnnrt_hooks_free(&r->desc.hooks, cell->own);
    cell->own = NULL;
    cell->data = NULL;
}

/* Note that one reader of a value is done. */
static void qnnrt_ir__run_done(qnnrt_ir__run *r, const qnnrt_ir_value *value)
{
    qnnrt_ir__cell *cell = &r->cells[value->number];
    if (--cell->left == 0) qnnrt_ir__run_drop(r, cell);
}

/* Get the elements of a value; a weight may be loaded. */
static qnnrt_result qnnrt_ir__run_read(qnnrt_ir__run *r, const qnnrt_ir_value *value,
                                       const void **data)
{
    qnnrt_ir__cell *cell = &r->cells[value->number];
    qnnrt_result result;
    if (cell->data == NULL) cell->data = value->data;
    if (cell->data == NULL && value->origin == QNNRT_IR_WEIGHT && r->desc.data != NULL)
        cell->data = r->desc.data(r->desc.data_user, value);
    if (cell->data == NULL && value->origin == QNNRT_IR_WEIGHT && value->count > 0 &&
        r->desc.load != NULL) {
        result = qnnrt_ir__run_make(r, value);
        if (result == QNNRT_OK)
            result = r->desc.load(r->desc.load_user, value, cell->own, r->err);
        if (result != QNNRT_OK) return result;
        cell->data = cell->own;
    }
    if (cell->data == NULL && value->count > 0)
        return qnnrt_error_set(r->err, QNNRT_E_ARG, "value \"%.200s\" (%.200s) has no data",
                               value->name, value->key != NULL ? value->key : "an input");
    *data = cell->data;
    return QNNRT_OK;
}

/* Compute one node, show its outputs, and free what nothing else reads. */
static qnnrt_result qnnrt_ir__run_node(qnnrt_ir__run *r, const qnnrt_ir_node *node)
{
    qnnrt_result result = QNNRT_OK;
    size_t k;
    for (k = 0; k < node->input_count && result == QNNRT_OK; ++k) {
        r->in[k] = NULL;
        if (node->inputs[k] != NULL) result = qnnrt_ir__run_read(r, node->inputs[k], &r->in[k]);
    }
    for (k = 0; k < node->output_count && result == QNNRT_OK; ++k) {
        const qnnrt_ir_value *y = node->outputs[k];
        r->out[k] = NULL;
        if (y->users == 0 && r->desc.watch == NULL) continue;
        result = qnnrt_ir__run_make(r, y);
        r->cells[y->number].data = r->out[k] = r->cells[y->number].own;
    }
    if (result == QNNRT_OK)
        result = qnnrt_ir__eval_node(&r->desc.hooks, node, r->desc.wide, r->in, r->out, r->err);
    for (k = 0; k < node->output_count && result == QNNRT_OK && r->desc.watch != NULL; ++k)
        result = r->desc.watch(r->desc.watch_user, node, k, r->out[k], r->err);
    if (result != QNNRT_OK) return result;
    for (k = 0; k < node->input_count; ++k)
        if (node->inputs[k] != NULL) qnnrt_ir__run_done(r, node->inputs[k]);
    for (k = 0; k < node->output_count; ++k)
        if (node->outputs[k]->users == 0)
            qnnrt_ir__run_drop(r, &r->cells[node->outputs[k]->number]);
    return QNNRT_OK;
}

/* Make the cells; inputs of the graph have their data. */
static int qnnrt_ir__run_begin(qnnrt_ir__run *r, const void *const *inputs)
{
    const qnnrt_ir *ir = r->ir;
    size_t i, most_in = 0, most_out = 0;
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        if (node->input_count > most_in) most_in = node->input_count;
        if (node->output_count > most_out) most_out = node->output_count;
    }
    r->cells = (qnnrt_ir__cell *)qnnrt_arena_get(&r->arena, ir->value_count + 1, sizeof(*r->cells));
    r->in = (const void **)qnnrt_arena_get(&r->arena, most_in + 1, sizeof(*r->in));
    r->out = (void **)qnnrt_arena_get(&r->arena, most_out + 1, sizeof(*r->out));
    if (r->cells == NULL || r->in == NULL || r->out == NULL) return 0;
    for (i = 0; i < ir->value_count; ++i) r->cells[i].left = ir->values[i]->users;
    for (i = 0; i < ir->input_count; ++i) r->cells[ir->inputs[i]->number].data = inputs[i];
    return 1;
}

/* Run all nodes, then copy the outputs. */
static qnnrt_result qnnrt_ir__run_all(qnnrt_ir__run *r, void *const *outputs)
{
    qnnrt_result result = QNNRT_OK;
    const void *data = NULL;
    size_t i;
    for (i = 0; i < r->ir->node_count && result == QNNRT_OK; ++i)
        result = qnnrt_ir__run_node(r, r->ir->nodes[i]);
    for (i = 0; i < r->ir->output_count && result == QNNRT_OK; ++i) {
        const qnnrt_ir_value *y = r->ir->outputs[i];
        if (outputs[i] != NULL) result = qnnrt_ir__run_read(r, y, &data);
        if (outputs[i] != NULL && result == QNNRT_OK && y->count > 0)
            memcpy(outputs[i], data, qnnrt_ir__run_bytes(r, y));
        qnnrt_ir__run_done(r, y);
    }
    return result;
}

QNNRT_IR_API qnnrt_result qnnrt_ir_run(qnnrt_ir *ir, const qnnrt_ir_run_desc *desc,
                                       const void *const *inputs, void *const *outputs,
                                       qnnrt_error *err)
{
    qnnrt_ir__run r;
    qnnrt_result result;
    size_t i;
    qnnrt_error_clear(err);
    if (ir == NULL || inputs == NULL || outputs == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "ir, inputs or outputs is NULL");
    result = desc != NULL && desc->ready ? QNNRT_OK : qnnrt_ir_pass_inplace(ir, err);
    if (result != QNNRT_OK) return result;
    memset(&r, 0, sizeof(r));
    if (desc != NULL) r.desc = *desc;
    r.ir = ir;
    r.err = err;
    r.arena.hooks = r.desc.hooks;
    result = qnnrt_ir__run_begin(&r, inputs) ? qnnrt_ir__run_all(&r, outputs)
                                             : qnnrt_ir__fail_memory(err);
    for (i = 0; r.cells != NULL && i < ir->value_count; ++i) qnnrt_ir__run_drop(&r, &r.cells[i]);
    qnnrt_arena_free(&r.arena);
    return result;
}

/* =====================================================================================
   EXTRACT                                                                      >>extract
   Makes a graph of some nodes of another one, or of all.
   Needs: >>config >>symbol >>dtype >>graph >>public     Knows nothing of: operators, passes
   ===================================================================================== */

typedef struct qnnrt_ir__extract {
    const qnnrt_ir   *from;
    qnnrt_ir         *to;
    qnnrt_arena   scratch;
    qnnrt_ir_value  **copies;                /* [from->value_count], NULL: not copied yet */
    unsigned char    *taken;                 /* [from->node_count], 1: in the new graph */
    qnnrt_error      *err;
} qnnrt_ir__extract;

/* Begin a new graph. desc may be NULL. */
static qnnrt_result qnnrt_ir__extract_begin(qnnrt_ir__extract *x, const qnnrt_ir *ir,
                                            const char *name, const qnnrt_ir_desc *desc,
                                            qnnrt_error *err)
{
    memset(x, 0, sizeof(*x));
    x->from = ir;
    x->err = err;
    x->scratch = qnnrt_ir__arena_like(&ir->own->arena);
    x->to = qnnrt_ir__graph_like(ir, name != NULL ? name : ir->name, desc);
    x->copies = (qnnrt_ir_value **)qnnrt_arena_get(&x->scratch, ir->value_count + 1,
                                                   sizeof(*x->copies));
    x->taken = (unsigned char *)qnnrt_arena_get(&x->scratch, ir->node_count + 1, 1);
    return x->to != NULL && x->copies != NULL && x->taken != NULL ? QNNRT_OK
                                                                  : qnnrt_ir__fail_memory(err);
}

/* End with a graph, or without one. good: 0 when out of memory */
static qnnrt_result qnnrt_ir__extract_end(qnnrt_ir__extract *x, qnnrt_result result, int good,
                                          qnnrt_ir **out)
{
    if (result == QNNRT_OK && !good)
        result = qnnrt_ir__fail_arena(x->err, x->to->own->arena.failed);
    qnnrt_arena_free(&x->scratch);
    if (result == QNNRT_OK) *out = x->to;
    else qnnrt_ir_free(x->to);
    return result;
}

/* Copy a value; its data are shared. Return NULL when out of memory. */
static qnnrt_ir_value *qnnrt_ir__extract_copy(qnnrt_ir__extract *x, const qnnrt_ir_value *from,
                                              qnnrt_ir_origin origin)
{
    qnnrt_ir_value *value =
        (qnnrt_ir_value *)qnnrt_arena_get(&x->to->own->arena, 1, sizeof(*value));
    qnnrt_ir__symbol *symbol = qnnrt_ir__graph_symbol(x->to, from->name, strlen(from->name));
    const int data = origin == QNNRT_IR_WEIGHT || origin == QNNRT_IR_CONSTANT;
    if (value == NULL || symbol == NULL || !qnnrt_ir__graph_list(x->to, value) ||
        !qnnrt_ir_set_shape(value, from->dtype, from->rank, from->dims)) return NULL;
    value->name = symbol->text;
    value->origin = origin;
    value->unknown = from->unknown;
    value->ranged = from->ranged;
    value->low = from->low;
    value->high = from->high;
    symbol->value = value;
    x->copies[from->number] = value;
    if (!data) return value;
    value->data = from->data;
    value->key = from->key == NULL ? NULL : qnnrt_ir_text(x->to, from->key);
    return value->key == NULL && from->key != NULL ? NULL : value;
}

/* Add an input of the new graph. */
static qnnrt_ir_value *qnnrt_ir__extract_input(qnnrt_ir__extract *x, const qnnrt_ir_value *from)
{
    qnnrt_ir_value *value = qnnrt_ir__extract_copy(x, from, QNNRT_IR_INPUT);
    return value != NULL && qnnrt_ir__graph_push(x->to, &x->to->inputs, &x->to->input_count,
                                                 &x->to->own->input_room, value) ? value : NULL;
}

/* Return the copy of a value that a node or the end of the graph reads; NULL when out of memory. */
static qnnrt_ir_value *qnnrt_ir__extract_read(qnnrt_ir__extract *x, const qnnrt_ir_value *from)
{
    if (x->copies[from->number] != NULL) return x->copies[from->number];
    return from->origin == QNNRT_IR_WEIGHT || from->origin == QNNRT_IR_CONSTANT
           ? qnnrt_ir__extract_copy(x, from, from->origin) : qnnrt_ir__extract_input(x, from);
}

/* Copy a node with its outputs; what it reads follows. Return NULL when out of memory. */
static qnnrt_ir_node *qnnrt_ir__extract_node(qnnrt_ir__extract *x, const qnnrt_ir_node *from)
{
    qnnrt_arena *const arena = &x->to->own->arena;
    qnnrt_ir_node *node = (qnnrt_ir_node *)qnnrt_arena_get(arena, 1, sizeof(*node));
    qnnrt_ir__symbol *symbol = qnnrt_ir__graph_symbol(x->to, from->name, strlen(from->name));
    size_t i;
    if (node == NULL || symbol == NULL) return NULL;
    node->name = symbol->text;
    if (symbol->node == NULL) symbol->node = node;
    node->info = from->info;
    node->op = qnnrt_ir__graph_op_name(x->to, from->info, from->op);
    node->source = qnnrt_ir_text(x->to, from->source);
    node->mapping = "";
    node->number = from->number;
    node->line = from->line;
    node->byte = from->byte;
    node->inputs = qnnrt_ir__graph_values(x->to, from->input_count);
    node->outputs = qnnrt_ir__graph_values(x->to, from->output_count);
    node->attrs = (qnnrt_ir_attr *)qnnrt_arena_get(arena, from->attr_count + 1,
                                                   sizeof(*node->attrs));
    if (node->op == NULL || node->source == NULL || node->inputs == NULL ||
        node->outputs == NULL || node->attrs == NULL || !qnnrt_ir__graph_append(x->to, node))
        return NULL;
    for (i = 0; i < from->attr_count; ++i, ++node->attr_count)
        if (!qnnrt_ir__graph_attr(x->to, &from->attrs[i], &node->attrs[i])) return NULL;
    for (i = 0; i < from->output_count; ++i, ++node->output_count) {
        qnnrt_ir_value *y = x->copies[from->outputs[i]->number];
        if (y == NULL) y = qnnrt_ir__extract_copy(x, from->outputs[i], QNNRT_IR_NODE);
        if (y == NULL) return NULL;
        y->node = node;
        y->index = (uint32_t)i;
        node->outputs[i] = y;
    }
    return node;
}

static int qnnrt_ir__extract_owns(const qnnrt_ir *ir, const qnnrt_ir_value *value)
{
    return value != NULL && value->number < ir->value_count && ir->values[value->number] == value;
}

static qnnrt_result qnnrt_ir__extract_outputs(const qnnrt_ir__extract *x,
                                              const qnnrt_ir_value *const *outputs, size_t count)
{
    size_t i;
    for (i = 0; i < count; ++i)
        if (!qnnrt_ir__extract_owns(x->from, outputs[i]))
            return qnnrt_error_set(x->err, QNNRT_E_ARG, "output %lu is no value of the graph",
                                   (unsigned long)i);
    return QNNRT_OK;
}

/* Take the inputs that were asked for. */
static qnnrt_result qnnrt_ir__extract_inputs(qnnrt_ir__extract *x,
                                             const qnnrt_ir_value *const *inputs, size_t count)
{
    size_t i;
    for (i = 0; i < count; ++i) {
        const qnnrt_ir_value *from = inputs[i];
        if (!qnnrt_ir__extract_owns(x->from, from))
            return qnnrt_error_set(x->err, QNNRT_E_ARG, "input %lu is no value of the graph",
                                   (unsigned long)i);
        if (from->origin == QNNRT_IR_NODE && from->node != NULL && !from->node->dead &&
            x->taken[from->node->at])
            return qnnrt_error_set(x->err, QNNRT_E_ARG, "input \"%.200s\" is computed inside, by "
                                   "node \"%.200s\"", from->name, from->node->name);
        if (x->copies[from->number] != NULL)
            return qnnrt_error_set(x->err, QNNRT_E_ARG, "input \"%.200s\" occurs twice",
                                   from->name);
        if (qnnrt_ir__extract_input(x, from) == NULL) return qnnrt_ir__fail_memory(x->err);
    }
    return QNNRT_OK;
}

static qnnrt_result qnnrt_ir__extract_take(qnnrt_ir__extract *x, const qnnrt_ir_node *const *nodes,
                                           size_t count)
{
    size_t i;
    for (i = 0; i < count; ++i) {
        const qnnrt_ir_node *node = nodes[i];
        if (node == NULL || (!node->dead && (node->at >= x->from->node_count ||
                                             x->from->nodes[node->at] != node)))
            return qnnrt_error_set(x->err, QNNRT_E_ARG, "node %lu is no node of the graph",
                                   (unsigned long)i);
        if (node->dead || x->taken[node->at])
            return qnnrt_error_set(x->err, QNNRT_E_ARG, "node \"%.200s\" (%.100s) %s", node->name,
                                   node->op, node->dead ? "is dead" : "occurs twice");
        if (qnnrt_ir__graph_plain(node) != NULL) {
            qnnrt_error_set(x->err, QNNRT_E_UNSUPPORTED, "node \"%.200s\" (%.100s) overwrites its "
                            "input", node->name, node->op);
            qnnrt_error_hint(x->err, QNNRT_OK, "Call qnnrt_ir_pass_inplace() for the whole graph "
                             "first.");
            return QNNRT_E_UNSUPPORTED;
        }
        x->taken[node->at] = 1;
    }
    return QNNRT_OK;
}

/* Copy all nodes, then what they and the end of the graph read. Return 0 when out of memory. */
static int qnnrt_ir__extract_all(qnnrt_ir__extract *x, const qnnrt_ir_value *const *outputs,
                                 size_t count)
{
    const qnnrt_ir *const from = x->from;
    size_t i, k, at = 0;
    for (i = 0; i < from->node_count; ++i)
        if (x->taken[i] && qnnrt_ir__extract_node(x, from->nodes[i]) == NULL) return 0;
    for (i = 0; i < from->node_count; ++i) {
        const qnnrt_ir_node *const old = from->nodes[i];
        qnnrt_ir_node *node;
        if (!x->taken[i]) continue;
        node = x->to->nodes[at++];
        for (k = 0; k < old->input_count; ++k, ++node->input_count)
            if (old->inputs[k] != NULL &&
                (node->inputs[k] = qnnrt_ir__extract_read(x, old->inputs[k])) == NULL) return 0;
    }
    x->to->outputs = qnnrt_ir__graph_values(x->to, count);
    if (x->to->outputs == NULL) return 0;
    for (i = 0; i < count; ++i, ++x->to->output_count)
        if ((x->to->outputs[i] = qnnrt_ir__extract_read(x, outputs[i])) == NULL) return 0;
    qnnrt_ir__graph_users(x->to);
    return 1;
}

QNNRT_IR_API qnnrt_result qnnrt_ir_extract(const qnnrt_ir *ir, const qnnrt_ir_node *const *nodes,
                                           size_t node_count, const qnnrt_ir_value *const *inputs,
                                           size_t input_count, const qnnrt_ir_value *const *outputs,
                                           size_t output_count, const char *name, qnnrt_ir **out,
                                           qnnrt_error *err)
{
    qnnrt_ir__extract x;
    qnnrt_result result;
    int good = 1;
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (ir == NULL || out == NULL || (nodes == NULL && node_count > 0) ||
        (inputs == NULL && input_count > 0) || (outputs == NULL && output_count > 0))
        return qnnrt_error_set(err, QNNRT_E_ARG, "ir, nodes, inputs, outputs or out is NULL");
    result = qnnrt_ir__extract_begin(&x, ir, name, NULL, err);
    if (result == QNNRT_OK) result = qnnrt_ir__extract_take(&x, nodes, node_count);
    if (result == QNNRT_OK) result = qnnrt_ir__extract_inputs(&x, inputs, input_count);
    if (result == QNNRT_OK) result = qnnrt_ir__extract_outputs(&x, outputs, output_count);
    if (result == QNNRT_OK) good = qnnrt_ir__extract_all(&x, outputs, output_count);
    return qnnrt_ir__extract_end(&x, result, good, out);
}

/* Give the copies of constants data of their own. Those of one key that share them, share them
   again. Return 0 when out of memory. */
static int qnnrt_ir__extract_data(qnnrt_ir__extract *x)
{
    qnnrt_ir__symbol *keys = NULL, *symbol;
    size_t i;
    for (i = 0; i < x->from->value_count; ++i) {
        qnnrt_ir_value *from = x->from->values[i], *to = x->copies[i];
        const size_t size = qnnrt_ir_dtype_bytes(from->dtype);
        void *room;
        if (to == NULL || from->origin != QNNRT_IR_CONSTANT || from->data == NULL) continue;
        symbol = qnnrt_ir__symbol_get(&x->scratch, &keys, from->key, strlen(from->key), 1);
        if (symbol == NULL) return 0;
        if (symbol->value != NULL && symbol->value->data == from->data) {
            to->data = x->copies[symbol->value->number]->data;
            continue;
        }
        if (symbol->value == NULL) symbol->value = from;
        room = qnnrt_arena_get(&x->to->own->arena, from->count + 1, size);
        if (room == NULL) return 0;
        memcpy(room, from->data, (size_t)from->count * size);
        to->data = room;
    }
    return 1;
}

static int qnnrt_ir__extract_states(qnnrt_ir__extract *x)
{
    const size_t count = x->from->state_count;
    qnnrt_ir_state *list = (qnnrt_ir_state *)qnnrt_arena_get(&x->to->own->arena, count + 1,
                                                             sizeof(*list));
    size_t i;
    for (i = 0; i < count && list != NULL; ++i) {
        list[i] = x->from->states[i];
        list[i].name = qnnrt_ir_text(x->to, list[i].name);
        if (list[i].name == NULL) return 0;
    }
    x->to->states = list;
    x->to->state_count = count;
    return list != NULL;
}

/* Copy all that lives. Return 0 when out of memory. */
static int qnnrt_ir__extract_copies(qnnrt_ir__extract *x)
{
    const qnnrt_ir *const from = x->from;
    size_t i;
    for (i = 0; i < from->value_count; ++i) {
        const qnnrt_ir_value *const v = from->values[i];
        const int lives = v->origin != QNNRT_IR_NODE || qnnrt_ir_producer(v) != NULL;
        if ((lives || v->users > 0) && qnnrt_ir__extract_copy(x, v, v->origin) == NULL) return 0;
    }
    for (i = 0; i < from->input_count; ++i)
        if (!qnnrt_ir__graph_push(x->to, &x->to->inputs, &x->to->input_count,
                                  &x->to->own->input_room, x->copies[from->inputs[i]->number]))
            return 0;
    for (i = 0; i < from->node_count; ++i) x->taken[i] = !from->nodes[i]->dead;
    return qnnrt_ir__extract_states(x) && qnnrt_ir__extract_data(x) &&
           qnnrt_ir__extract_all(x, (const qnnrt_ir_value *const *)from->outputs,
                                 from->output_count);
}

QNNRT_IR_API qnnrt_result qnnrt_ir_copy(const qnnrt_ir *ir, const qnnrt_ir_desc *desc,
                                        qnnrt_ir **out, qnnrt_error *err)
{
    qnnrt_ir__extract x;
    qnnrt_ir_desc plain;
    qnnrt_result result = qnnrt_ir__public_begin(ir, "ir", desc, &plain, out, err);
    if (result != QNNRT_OK) return result;
    if (ir->own->kept + ir->own->lost_kept > 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "a graph with findings cannot be copied");
    result = qnnrt_ir__extract_begin(&x, ir, NULL, desc, err);
    return qnnrt_ir__extract_end(&x, result, result == QNNRT_OK && qnnrt_ir__extract_copies(&x),
                                 out);
}

/* =====================================================================================
   WRITE                                                                          >>write
   Writes a graph as JSON.
   Needs: >>config >>symbol >>dtype >>graph >>number
   Knows nothing of: operators, passes
   ===================================================================================== */

typedef struct qnnrt_ir__write {
    const qnnrt_ir    *ir;
    qnnrt_json_writer *json;
    qnnrt_arena    scratch;
    qnnrt_ir__symbol  *nodes, *values, *keys;    /* that are taken */
    const char       **names;                /* [ir->node_count], unique */
    qnnrt_ir__symbol **as;                   /* [ir->value_count], unique keys of constants; their
                                                value is the first of those that share the data */
    qnnrt_error       *err;
} qnnrt_ir__write;

/* Return true if a value is written: what dead nodes make, and data that nothing reads, are not. */
static int qnnrt_ir__write_has(const qnnrt_ir_value *value)
{
    if (value->origin == QNNRT_IR_NODE) return value->node != NULL && !value->node->dead;
    return value->origin == QNNRT_IR_INPUT || value->users > 0;
}

/* Return the symbol of a name that is not taken: the name itself, or with a number behind it. NULL
   when out of memory. */
static qnnrt_ir__symbol *qnnrt_ir__write_unique(qnnrt_ir__write *w, qnnrt_ir__symbol **root,
                                                const char *name)
{
    qnnrt_ir__symbol *base =
        qnnrt_ir__symbol_get(&w->scratch, root, name, strlen(name), 1), *symbol = base;
    char text[1100];
    while (symbol != NULL && symbol->nodes > 0) {
        snprintf(text, sizeof text, "%.1000s_%u", name, (unsigned)++base->suffix);
        symbol = qnnrt_ir__symbol_get(&w->scratch, root, text, strlen(text), 1);
    }
    if (symbol != NULL) symbol->nodes = 1;
    return symbol;
}

/* Return true if two constants are the same data. */
static int qnnrt_ir__write_shares(const qnnrt_ir_value *a, const qnnrt_ir_value *b)
{
    return a != NULL && a->data == b->data && a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims)) == 0;
}

static qnnrt_result qnnrt_ir__write_names(qnnrt_ir__write *w)
{
    const qnnrt_ir *const ir = w->ir;
    qnnrt_ir__symbol *symbol;
    size_t i;
    w->names =
        (const char **)qnnrt_arena_get(&w->scratch, ir->node_count + 1, sizeof(*w->names));
    w->as = (qnnrt_ir__symbol **)qnnrt_arena_get(&w->scratch, ir->value_count + 1, sizeof(*w->as));
    if (w->names == NULL || w->as == NULL) return qnnrt_ir__fail_memory(w->err);
    for (i = 0; i < ir->node_count; ++i) {
        if (ir->nodes[i]->dead) continue;
        symbol = qnnrt_ir__write_unique(w, &w->nodes, ir->nodes[i]->name);
        if (symbol == NULL) return qnnrt_ir__fail_memory(w->err);
        w->names[i] = symbol->text;
    }
    for (i = 0; i < ir->value_count; ++i) {
        const qnnrt_ir_value *const v = ir->values[i];
        if (!qnnrt_ir__write_has(v)) continue;
        symbol = qnnrt_ir__symbol_get(&w->scratch, &w->values, v->name, strlen(v->name), 1);
        if (symbol == NULL) return qnnrt_ir__fail_memory(w->err);
        if (symbol->nodes > 0)
            return qnnrt_error_set(w->err, QNNRT_E_ARG, "two values are named \"%.200s\"", v->name);
        symbol->nodes = 1;
        if (v->origin != QNNRT_IR_WEIGHT) continue;              /* weights may share a key */
        symbol = qnnrt_ir__symbol_get(&w->scratch, &w->keys, v->key, strlen(v->key), 1);
        if (symbol == NULL) return qnnrt_ir__fail_memory(w->err);
        symbol->nodes = 1;
    }
    for (i = 0; i < ir->value_count; ++i) {
        const qnnrt_ir_value *const v = ir->values[i];
        if (!qnnrt_ir__write_has(v) || v->origin != QNNRT_IR_CONSTANT) continue;
        if (v->data == NULL && v->count > 0)
            return qnnrt_error_set(w->err, QNNRT_E_ARG, "constant \"%.200s\" has no data", v->name);
        symbol = qnnrt_ir__symbol_get(&w->scratch, &w->keys, v->key, strlen(v->key), 0);
        if (symbol == NULL || !qnnrt_ir__write_shares(symbol->value, v))
            symbol = qnnrt_ir__write_unique(w, &w->keys, v->key);
        if (symbol == NULL) return qnnrt_ir__fail_memory(w->err);
        if (symbol->value == NULL) symbol->value = ir->values[i];
        w->as[i] = symbol;
    }
    return QNNRT_OK;
}

static void qnnrt_ir__write_text(qnnrt_ir__write *w, const char *key, const char *text)
{
    qnnrt_json_write_key(w->json, key);
    qnnrt_json_write_string(w->json, text);
}

static void qnnrt_ir__write_open(qnnrt_ir__write *w, const char *key, char what, int compact)
{
    qnnrt_json_write_key(w->json, key);
    if (what == '[') qnnrt_json_write_array(w->json, compact);
    else qnnrt_json_write_object(w->json, compact);
}

static void qnnrt_ir__write_shape(qnnrt_ir__write *w, const qnnrt_ir_value *v)
{
    uint32_t d;
    qnnrt_ir__write_open(w, "shape", '[', 1);
    for (d = 0; d < v->rank; ++d) qnnrt_json_write_i64(w->json, v->dims[d]);
    qnnrt_json_write_close(w->json);
}

static void qnnrt_ir__write_tensor(qnnrt_ir__write *w, const qnnrt_ir_value *v, const char *name)
{
    qnnrt_json_write_object(w->json, 1);
    qnnrt_ir__write_text(w, "name", name);
    qnnrt_ir__write_shape(w, v);
    qnnrt_ir__write_text(w, "dtype", qnnrt_ir_dtype_name(v->dtype));
    if (v->origin == QNNRT_IR_NODE) {
        qnnrt_ir__write_text(w, "producer_node", w->names[v->node->at]);
        qnnrt_json_write_key(w->json, "producer_output_idx");
        qnnrt_json_write_u64(w->json, v->index);
    }
    qnnrt_json_write_close(w->json);
}

static void qnnrt_ir__write_tensors(qnnrt_ir__write *w, const char *key,
                                    qnnrt_ir_value *const *list, size_t count)
{
    size_t i;
    qnnrt_ir__write_open(w, key, '[', 0);
    for (i = 0; i < count; ++i)
        if (list[i] != NULL) qnnrt_ir__write_tensor(w, list[i], list[i]->name);
    qnnrt_json_write_close(w->json);
}

/* Write bytes as a string of digits. Return 0 when out of memory. */
static int qnnrt_ir__write_hex(qnnrt_ir__write *w, const void *data, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *const from = (const unsigned char *)data;
    char *text;
    size_t i;
    if (bytes > SIZE_MAX / 4) return 0;
    text = (char *)qnnrt_hooks_alloc(&w->scratch.hooks, 2 * bytes + 1, 1);
    if (text == NULL) return 0;
    for (i = 0; i < bytes; ++i) {
        text[2 * i] = digits[from[i] >> 4];
        text[2 * i + 1] = digits[from[i] & 15];
    }
    qnnrt_json_write_string(w->json, text);
    qnnrt_hooks_free(&w->scratch.hooks, text);
    return 1;
}

static int qnnrt_ir__write_finite(double f)
{
    return f - f >= 0;
}

static void qnnrt_ir__write_list(qnnrt_ir__write *w, const qnnrt_ir_value *v)
{
    const size_t size = qnnrt_ir_dtype_bytes(v->dtype);
    const int kind = qnnrt_ir_dtype_kind(v->dtype);
    uint64_t i;
    uint32_t d;
    for (i = 0; i < v->count; ++i) {
        const unsigned char *const at = (const unsigned char *)v->data + (size_t)i * size;
        uint64_t part = 1;
        for (d = v->rank; d-- > 0;) {                    /* as many as begin here */
            part *= (uint64_t)v->dims[d];
            if (i % part != 0) break;
            qnnrt_json_write_array(w->json, 1);
        }
        if (kind == 2) qnnrt_json_write_f64(w->json, qnnrt_ir_element_float(at, v->dtype));
        else if (kind == 0) qnnrt_json_write_bool(w->json, *at != 0);
        else qnnrt_json_write_i64(w->json, qnnrt_ir_element_int(at, v->dtype));
        for (d = v->rank, part = 1; d-- > 0;) {
            part *= (uint64_t)v->dims[d];
            if ((i + 1) % part != 0) break;
            qnnrt_json_write_close(w->json);
        }
    }
}

/* Write a constant: as lists of numbers, if they are numbers of JSON. */
static int qnnrt_ir__write_constant(qnnrt_ir__write *w, const qnnrt_ir_value *v)
{
    const size_t size = qnnrt_ir_dtype_bytes(v->dtype);
    int lists = v->count > 0, good = 1;
    uint64_t i;
    for (i = 0; i < v->count && lists && qnnrt_ir_dtype_kind(v->dtype) == 2; ++i)
        lists = qnnrt_ir__write_finite(qnnrt_ir_element_float((const unsigned char *)v->data +
                                                              (size_t)i * size, v->dtype));
    qnnrt_json_write_object(w->json, 1);
    qnnrt_ir__write_text(w, "dtype", qnnrt_ir_dtype_name(v->dtype));
    if (lists) {
        qnnrt_json_write_key(w->json, "data");
        qnnrt_ir__write_list(w, v);
    } else {
        qnnrt_ir__write_shape(w, v);
        qnnrt_json_write_key(w->json, "hex");
        good = qnnrt_ir__write_hex(w, v->data, (size_t)v->count * size);
    }
    qnnrt_json_write_close(w->json);
    return good;
}

/* Write floats that JSON does not have. */
static int qnnrt_ir__write_bits(qnnrt_ir__write *w, const char *key, const double *f, size_t count)
{
    int good;
    qnnrt_json_write_object(w->json, 1);
    qnnrt_json_write_key(w->json, key);
    good = qnnrt_ir__write_hex(w, f, count * sizeof(*f));
    qnnrt_json_write_close(w->json);
    return good;
}

static int qnnrt_ir__write_attr(qnnrt_ir__write *w, const qnnrt_ir_attr *a)
{
    int finite = 1, good = 1;
    size_t i;
    if (a->kind == QNNRT_IR_OTHER) return 1;
    qnnrt_json_write_key(w->json, a->name);
    switch (a->kind) {
    case QNNRT_IR_INT: qnnrt_json_write_i64(w->json, a->i); break;
    case QNNRT_IR_BOOL: qnnrt_json_write_bool(w->json, a->i != 0); break;
    case QNNRT_IR_TEXT: qnnrt_json_write_string(w->json, a->text); break;
    case QNNRT_IR_FLOAT:
        if (qnnrt_ir__write_finite(a->f)) qnnrt_json_write_f64(w->json, a->f);
        else good = qnnrt_ir__write_bits(w, "float", &a->f, 1);
        break;
    case QNNRT_IR_FLOATS:
        for (i = 0; i < a->count; ++i) finite = finite && qnnrt_ir__write_finite(a->floats[i]);
        if (!finite) { good = qnnrt_ir__write_bits(w, "floats", a->floats, a->count); break; }
        qnnrt_json_write_array(w->json, 1);
        for (i = 0; i < a->count; ++i) qnnrt_json_write_f64(w->json, a->floats[i]);
        qnnrt_json_write_close(w->json);
        break;
    case QNNRT_IR_INTS:
        qnnrt_json_write_array(w->json, 1);
        for (i = 0; i < a->count; ++i) qnnrt_json_write_i64(w->json, a->ints[i]);
        qnnrt_json_write_close(w->json);
        break;
    default: qnnrt_json_write_null(w->json); break;
    }
    return good;
}

static int qnnrt_ir__write_op(qnnrt_ir__write *w, const char *op)
{
    const size_t bytes = strlen(op) + 6;
    char *text;
    if (strcmp(op, "getitem") == 0) op = "<built-in function getitem>";
    else if (strcmp(op, "rope") != 0 && strncmp(op, "q.", 2) != 0) {
        text = (char *)qnnrt_arena_get(&w->scratch, bytes, 1);
        if (text == NULL) return 0;
        snprintf(text, bytes, "aten.%s", op);
        op = text;
    }
    qnnrt_ir__write_text(w, "op_type", op);
    return 1;
}

static int qnnrt_ir__write_node(qnnrt_ir__write *w, const qnnrt_ir_node *node)
{
    size_t i, absent = 0;
    char *there;
    qnnrt_json_write_object(w->json, 0);
    qnnrt_ir__write_text(w, "name", w->names[node->at]);
    if (!qnnrt_ir__write_op(w, node->op)) return 0;
    qnnrt_ir__write_tensors(w, "inputs", node->inputs, node->input_count);
    for (i = 0; i < node->input_count; ++i) absent += node->inputs[i] == NULL;
    if (absent > 0) {
        there = (char *)qnnrt_arena_get(&w->scratch, node->input_count + 1, 1);
        if (there == NULL) return 0;
        for (i = 0; i < node->input_count; ++i) there[i] = node->inputs[i] == NULL ? '-' : 'x';
        qnnrt_ir__write_text(w, "inputs_there", there);
    }
    qnnrt_ir__write_tensors(w, "outputs", node->outputs, node->output_count);
    qnnrt_ir__write_open(w, "attrs", '{', 1);
    for (i = 0; i < node->attr_count; ++i)
        if (!qnnrt_ir__write_attr(w, &node->attrs[i])) return 0;
    qnnrt_json_write_close(w->json);
    if (node->source[0] != '\0') {
        qnnrt_ir__write_text(w, "source", node->source);
    }
    qnnrt_json_write_close(w->json);
    return 1;
}

/* Write what weights and constants are. Return 0 when out of memory. */
static int qnnrt_ir__write_data(qnnrt_ir__write *w)
{
    const qnnrt_ir *const ir = w->ir;
    size_t i;
    qnnrt_ir__write_open(w, "weights", '[', 0);
    for (i = 0; i < ir->value_count; ++i)
        if (ir->values[i]->origin == QNNRT_IR_WEIGHT && qnnrt_ir__write_has(ir->values[i]))
            qnnrt_ir__write_tensor(w, ir->values[i], ir->values[i]->key);
    qnnrt_json_write_close(w->json);
    qnnrt_ir__write_open(w, "weight_name_mapping", '{', 0);
    for (i = 0; i < ir->value_count; ++i) {
        const qnnrt_ir_value *const v = ir->values[i];
        if (!qnnrt_ir__write_has(v) || v->key == NULL) continue;
        qnnrt_ir__write_text(w, v->name, w->as[i] != NULL ? w->as[i]->text : v->key);
    }
    qnnrt_json_write_close(w->json);
    qnnrt_ir__write_open(w, "constants", '{', 0);
    for (i = 0; i < ir->value_count; ++i) {
        if (w->as[i] == NULL || w->as[i]->value != ir->values[i]) continue;
        qnnrt_json_write_key(w->json, w->as[i]->text);
        if (!qnnrt_ir__write_constant(w, ir->values[i])) return 0;
    }
    qnnrt_json_write_close(w->json);
    return 1;
}

static void qnnrt_ir__write_ranges(qnnrt_ir__write *w)
{
    size_t i, count = 0;
    for (i = 0; i < w->ir->input_count; ++i) {
        const qnnrt_ir_value *const v = w->ir->inputs[i];
        if (v->ranged != 1) continue;
        if (count++ == 0) {
            qnnrt_ir__write_open(w, "ranges", '{', 0);
        }
        qnnrt_ir__write_open(w, v->name, '[', 1);
        qnnrt_json_write_i64(w->json, v->low);
        qnnrt_json_write_i64(w->json, v->high);
        qnnrt_json_write_close(w->json);
    }
    if (count > 0) qnnrt_json_write_close(w->json);
}

static void qnnrt_ir__write_states(qnnrt_ir__write *w)
{
    size_t i;
    qnnrt_ir__write_open(w, "states", '[', 0);
    for (i = 0; i < w->ir->state_count; ++i) {
        const qnnrt_ir_state *state = &w->ir->states[i];
        qnnrt_json_write_object(w->json, 1);
        qnnrt_ir__write_text(w, "name", state->name);
        qnnrt_ir__write_text(w, "input", w->ir->inputs[state->input]->name);
        qnnrt_ir__write_text(w, "output", w->ir->outputs[state->output]->name);
        qnnrt_json_write_close(w->json);
    }
    qnnrt_json_write_close(w->json);
}

static int qnnrt_ir__write_all(qnnrt_ir__write *w)
{
    const qnnrt_ir *const ir = w->ir;
    size_t i;
    qnnrt_json_write_object(w->json, 0);
    qnnrt_ir__write_text(w, "model_name", ir->name);
    qnnrt_ir__write_text(w, "pytorch_version", ir->version);
    qnnrt_ir__write_ranges(w);
    qnnrt_ir__write_tensors(w, "graph_inputs", ir->inputs, ir->input_count);
    qnnrt_ir__write_tensors(w, "graph_outputs", ir->outputs, ir->output_count);
    if (ir->state_count > 0) qnnrt_ir__write_states(w);
    if (!qnnrt_ir__write_data(w)) return 0;
    qnnrt_ir__write_open(w, "nodes", '[', 0);
    for (i = 0; i < ir->node_count; ++i)
        if (!ir->nodes[i]->dead && !qnnrt_ir__write_node(w, ir->nodes[i])) return 0;
    qnnrt_json_write_close(w->json);
    qnnrt_json_write_close(w->json);
    return 1;
}

QNNRT_IR_API qnnrt_result qnnrt_ir_write(const qnnrt_ir *ir, struct qnnrt_json_writer *writer,
                                         qnnrt_error *err)
{
    qnnrt_ir__write w;
    qnnrt_result result;
    qnnrt_error_clear(err);
    if (ir == NULL || writer == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "ir or writer is NULL");
    memset(&w, 0, sizeof(w));
    w.ir = ir;
    w.json = writer;
    w.err = err;
    w.scratch = qnnrt_ir__arena_like(&ir->own->arena);
    result = qnnrt_ir__write_names(&w);
    if (result == QNNRT_OK && !qnnrt_ir__write_all(&w)) result = qnnrt_ir__fail_memory(err);
    qnnrt_arena_free(&w.scratch);
    if (result == QNNRT_OK && writer->error != NULL)
        result = qnnrt_error_set(err, QNNRT_E_IO, "the graph could not be written: %s",
                                 writer->error);
    return result;
}

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_IR__IMPL_ONCE */
#endif /* QNNRT_IR_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   Added  qnnrt_ir_axis_matrix(), qnnrt_ir_blocks(); pools, resizing and convolutions in 1
           to 3 dimensions, grid_sampler, roi_align, deform_conv2d, im2col, and others.
           API: "wrap_with_set_grad_enabled" is a finding; "rope" with qnnrt_ir_desc.plain_rope.
           Added  qnnrt_ir_finding.hint, qnnrt_ir_value.ranged, .low and .high; files of
           qnnrt.export().
           Added  qnnrt_ir_create(), qnnrt_ir_copy(), qnnrt_ir_add_weight(), qnnrt_ir_add_output();
           qnnrt_ir_recipe() and qnnrt_ir_recipe_operand(), for operators on each element.
           Fixed  Attention has 0 in rows whose mask leaves nothing, as in PyTorch, and NaN with the
           argument nan_rows, which qnnrt_ir_pass_attention() gives to what softmax computed.
           API: "_unsafe_view", "concat" and "detach_" are read as "view", "cat" and "detach". Of
           operators that overwrite their input, such as "relu_", node->info is that of "relu";
           any operator may be spelled so.
           qnnrt_ir_node.fate is .mapping.
           The passes and qnnrt_ir_fold*() are in qnnrt_ir_passes.h. What they do to a graph is
           public: looking at it, _become(), _convert(), _round(), _fold_node(), _add_input(),
           _set_bool(), _set_text(), _set_shape(), _set_name(), elements, _arena().
   0.4.0   First version.
   --------------------------------------------------------------------------------------------- */
