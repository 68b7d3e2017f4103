/* qnnrt_compile.h - v0.5.0 - compile graphs in ATen operators for several backends

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_compile.h"
       #define QNNRT_BUILDER_IMPLEMENTATION
       #define QNNRT_WEIGHTS_IMPLEMENTATION
       #define QNNRT_IR_IMPLEMENTATION
       #define QNNRT_IR_PASSES_IMPLEMENTATION
       #define QNNRT_LOWER_IMPLEMENTATION
       #define QNNRT_PARTITION_IMPLEMENTATION
       #define QNNRT_CPU_FALLBACK_IMPLEMENTATION
       #define QNNRT_COMPILE_IMPLEMENTATION
       #include "qnnrt_compile.h"
   The headers that it includes lie beside this file or are found by the compiler. Link with
   -ldl -lm.

       qnnrt_compile_backend backends[] = { { "npu", htp }, { "cpu", cpu }, { "host", NULL } };
       qnnrt_compile_desc desc = {0};
       desc.backends = backends;
       desc.backend_count = 3;
       qnnrt_compile_create(&desc, &program, &err);
       // ir: from qnnrt_ir_read(), without findings; weights: from qnnrt_weights_open()
       qnnrt_compile_add(program, ir, weights, "model", &err);
       if (qnnrt_compile_build(program, &err) != QNNRT_OK) puts(err.text);
       info = qnnrt_compile_get_info(program);      // contexts to save, pipelines to write

   Uses     Public names of the headers below it, libc
   Trust    Graphs and weights may be hostile, once qnnrt_ir_check() has no finding. The caller and
            the libraries are trusted.
   Memory   One allocator hook serves every allocation. Weights are converted when a library asks
            for them, one at a time.
   Threads  The header creates none. One qnnrt_compile belongs to one thread at a time.
   Globals  Constant tables only. The header prints nothing and never aborts.

   WORDS
       role       the name of a backend in the program: "npu", "cpu", "host"
       step       a part of a graph that one backend computes: a graph of a context, or a function
                  of the host
       border     a value that one step makes and another one reads
       state      an input and an output of a graph that are one tensor which persists between
                  calls, such as a cache
       move       a node that a backend accepted and then failed to compile, and that another
                  backend computes instead

   BUILD OPTIONS, to define before the header is first included
       QNNRT_COMPILE_PLAN_CHECK  the name of a function that checks each plan, with desc, info, a
                                 rule that is NULL, and err (default: none checks)

   MANUAL

   How a graph is divided
       The passes run once for the whole graph. Then each backend is asked about each
       node: is there a rule to lower it, does the library accept the operators, are they known to
       be wrong there (qnnrt_quirks.h)? The host is asked, too, with qnnrt_ir_eval_ask().
       qnnrt_partition.h chooses a backend for each node, by these answers, pins, states and costs,
       and orders the nodes in steps.

   What a library accepts may still fail
       Each context is finalized. If that fails, the failing node is found: the library's log names
       it, or else a search does, which compiles shorter and shorter parts. The node is marked, the
       plan is made again, and desc.told hears about the move. Pins are never moved: a pinned node
       that fails is an error. With desc.lower.no_ask nobody is asked beforehand, except about nodes
       that are known to end the process; with builder.no_validate a library is not asked while it
       builds, either, and finalize alone decides.

   Operators of op packages
       A row of desc.lower.custom holds for every backend, and one of backend.custom for that one
       alone. The library is asked about the operator of the row: without the package it refuses,
       and the node is another backend's. Where no row holds, the rules of qnnrt_lower.h do. The
       host computes what qnnrt_ir.h knows: a row says how a library computes an operator, not what
       the operator is.

   Functions of your own
       An operator that nobody knows can be a function of who opens the folder: desc.functions names
       it, and the graph states the shapes of its results. Each such node is a host step of its own,
       whose name is the operator's; qnnrt_manifest_open_desc.host_functions gives the function,
       beside those of qnnrt_cpu_fallback.h. Its inputs are the node's tensors in their order, each
       once, weights and constants too; then each other argument as a constant "attr.NAME": int64
       for integers, float64 for floats, bool8, and uint8 for the bytes of a text, of one dimension.
       Arguments that are None, empty, or something else are left out. Floats are float32, integers
       int32, and constants as they are stored.

   Types
       Borders have the type that the backend computes with: float16 on HTP, float32 elsewhere.
       Where they differ, the edge of the pipeline converts, on the host. Inputs and outputs of the
       whole graph are float32, as with qnnrt_lower.h. With desc.lower.native_io they are float16 if
       all steps that touch floats among them, in all graphs, compute in it: caches of language
       models have one type.

   Quantized weights
       desc.lower.weight_bits is for the backends that compute in float16. On the others the same
       weights stay float, or are rounded and stored as floats with weight_emulate; the host
       computes with them as they are. info.weight_only says it for each weight, by backend. If no
       backend can quantize any weight, the build is an error.

   Quantized activations
       desc.lower.act_bits and .encodings are for the libraries that compute quantized: all
       except libQnnCpu.so, whose steps and those of the host stay float. Each step converts its
       inputs and outputs itself. An encoding of a graph is for each step with such a tensor. For
       ranges, plan a program without act_bits; qnnrt_compile_watch() then builds one step in
       floats, with all its tensors as inputs and outputs: feed it what the evaluator has for its
       inputs. In the program that is built, encodings name the step as their graph: the same graph
       with the same options has the same steps.

   States
       An output that index_copy makes from an input, with the same shape and type, is one tensor
       with it. A backend keeps it only if it can compute every node that touches it. Otherwise it
       lives on the host, and the steps get copies; or, with desc.state_error, the build is an
       error that names the tensor, the nodes and the reason of each backend.
       States of the graph itself (qnnrt_ir_state) become those of the program: the pipeline keeps
       them between calls. Their first values are constants, from the weights.

   One backend
       With desc.whole the only backend computes all graphs as they are: nobody is asked which nodes
       it has, nothing is moved, and what it refuses is an error, with all findings in
       qnnrt_lower_get_info(step.lower). The graphs are lowered once, and the pipelines have no
       edges: contexts of a graph are wired by the names of their tensors.

   Shards
       desc.lower.contexts is how many contexts the weights are divided into: each step gets as many
       as its share of the bytes, one at least. They are cut where the fewest bytes cross, and their
       graphs have the name of the step. qnnrt_compile_place() puts graphs that are shards already
       into contexts.

   Several graphs
       A context has at most one step of each graph. Steps of several graphs share it where they
       read the same weights, the most bytes first; those without such weights where they have the
       same number on their backend: the first step on "npu" of the prefill graph and of the decode
       graph.

   ROOMS (search for the tag)
       >>config >>arena >>steps >>border >>ask >>choose >>unit >>failing >>wire >>weight_only
       >>public
*/
#ifndef QNNRT_COMPILE_H
#define QNNRT_COMPILE_H

#include "qnnrt_lower.h"
#include "qnnrt_partition.h"
#include "qnnrt_cpu_fallback.h"
#include "qnnrt_convert.h"
#include "qnnrt_manifest.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_compile.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_COMPILE_API
#define QNNRT_COMPILE_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qnnrt_compile_backend {
    const char        *role;         /* unique */
    qnnrt_backend     *backend;      /* open; NULL: the host computes, which is the last one */
    qnnrt_builder_desc builder;      /* options of its builder */
    /* What the planner compares; of each a default of its own, see >>choose. */
    double             speed;        /* operations in a microsecond, such as multiply-adds (default
                                        0: 1,000,000 for HTP, 4,000 for the host, else 20,000) */
    double             bandwidth;    /* bytes in a microsecond that nodes read and write (default 0:
                                        40,000 for HTP, 1,200 for the host, else 10,000) */
    double             per_node;     /* microseconds of each node besides (default 0: 2 for HTP,
                                        else 1) */
    double             per_step;     /* microseconds of each step (default 0: that of desc.costs,
                                        else 50 for HTP, 10 for others) */
    const qnnrt_lower_custom *custom;            /* [custom_count] operators of the op packages that
                                        are registered with it (default NULL: desc.lower.custom).
                                        The table must live as long as the program */
    size_t             custom_count;
} qnnrt_compile_backend;

typedef struct qnnrt_compile_pin {
    const char *node;                /* as in the file; one that a pass fused: the node that it is
                                        part of now */
    const char *role;
    int         with_inputs;         /* 1: and all nodes that it is computed from, except those that
                                        are pinned by name (default 0) */
} qnnrt_compile_pin;

typedef struct qnnrt_compile_desc {
    qnnrt_hooks                  hooks;          /* alloc and free are used */
    const qnnrt_compile_backend *backends;       /* [backend_count], the preferred one first */
    size_t                       backend_count;
    const qnnrt_compile_pin     *pins;           /* [pin_count] */
    size_t                       pin_count;
    int                          state_error;    /* 1: a state that no backend can keep is an error
                                                    (default 0: it lives on the host) */
    qnnrt_partition_costs        costs;          /* in microseconds; per_byte is that of a
                                                    conversion (default 0: for each step that of
                                                    the backend, 2 for each crossing, 0.001 for
                                                    each byte, 4 for prefer) */
    uint32_t                     most_moves;     /* more is QNNRT_E_LIMIT (default 0: 1,000) */
    qnnrt_lower_desc             lower;          /* options of all steps; .hooks, .target,
                                                    .build_id, .watch, .same and .io are not used,
                                                    nor .compute for libQnnCpu.so */
    void                       (*told)(void *user, const char *text);
                                                 /* is called with one line for each move (default
                                                    NULL) */
    void                        *told_user;
    const char                  *state_hint;     /* hint of the error of .state_error; it must live
                                                    as long as the program (default NULL: one that
                                                    names .state_error) */
    int                          whole;          /* 1: the only backend computes all graphs as they
                                                    are, see "One backend" (default 0) */
    const char *const           *functions;      /* [function_count] operators that functions of who
                                                    opens the folder compute, as in qnnrt_ir_desc
                                                    .custom; see "Functions of your own". They must
                                                    live as long as the program (default: none) */
    size_t                       function_count;
} qnnrt_compile_desc;

typedef struct qnnrt_compile qnnrt_compile;

typedef struct qnnrt_compile_step {
    size_t          backend;         /* in desc.backends */
    const char     *name;            /* of the graph in its context, or of the host's function */
    size_t          context;         /* in info.contexts, the first one of several; SIZE_MAX: the
                                        host computes */
    const qnnrt_ir *ir;              /* what it computes */
    const char     *function;        /* NULL, or the operator: a step of the host that is not in
                                        host.json, with .name as its name */
    size_t          plan;            /* its step in .partition */
    size_t          op_count;        /* QNN operators; 0 on the host */
    qnnrt_lower    *lower;           /* after qnnrt_compile_lower(); NULL: the host computes */
    size_t          number;          /* of the step among the graphs of .lower */
} qnnrt_compile_step;

typedef struct qnnrt_compile_graph {
    const char                 *name;
    const qnnrt_ir             *ir;              /* after the passes */
    const qnnrt_compile_step   *steps;
    size_t                      step_count;
    const qnnrt_partition_info *partition;       /* node i is ir->nodes[i], value i ir->values[i];
                                                    NULL with desc.whole */
    const qnnrt_pipeline_desc  *pipeline;        /* for qnnrt_manifest_write(), after a build */
    const qnnrt_conversion     *conversions;     /* [pipeline->edge_count] what its edges ask for */
    const qnnrt_manifest_state *states;          /* [state_count] */
    size_t                      state_count;
} qnnrt_compile_graph;

typedef struct qnnrt_compile_context {
    size_t   backend;                /* in desc.backends */
    qnnrt   *model;                  /* of this backend, to save from */
    size_t   number;                 /* in the model */
} qnnrt_compile_context;

typedef struct qnnrt_compile_constant {          /* an input of host steps, or a first value */
    const char *name;                /* unique */
    qnnrt_dtype dtype;
    uint32_t    rank, dims[8];
    uint64_t    bytes;
    const void *data;                /* its identity in pipelines; not to be read */
} qnnrt_compile_constant;

typedef struct qnnrt_compile_move {
    const char *graph, *node, *op, *role;        /* the role of the backend that failed */
    const char *why;
} qnnrt_compile_move;

/* The weights that were asked to be quantized on one backend. */
typedef struct qnnrt_compile_weight_only {
    const qnnrt_lower_weight_only *list;         /* [count]; of the host: all that its steps read */
    size_t                         count;
} qnnrt_compile_weight_only;

typedef struct qnnrt_compile_info {
    const qnnrt_compile_graph    *graphs;
    size_t                        graph_count;
    const qnnrt_compile_context  *contexts;
    size_t                        context_count;
    const qnnrt_compile_constant *constants;
    size_t                        constant_count;
    const qnnrt_compile_move     *moves;
    size_t                        move_count;
    qnnrt_partition_costs         costs;         /* of the plans, in microseconds */
    const qnnrt_compile_backend  *backends;      /* as in the description, with their speeds */
    size_t                        backend_count;
    uint64_t                      flushed, clamped;      /* as in qnnrt_lower_info */
    const qnnrt_compile_weight_only *weight_only;        /* [backend_count], of the last build */
} qnnrt_compile_info;

/* Begin. desc, its pins and its roles may be freed after the call; opened backends, custom rows and
   the lists of desc.lower must live as long as the program.
   Returns  QNNRT_OK; QNNRT_E_ARG (no backend, two of one role, a host that is not the last, a pin
            to a role that no backend has); as qnnrt_lower_create(); QNNRT_E_MEMORY
   Frees    qnnrt_compile_free(), before the backends are closed */
QNNRT_COMPILE_API qnnrt_result qnnrt_compile_create(const qnnrt_compile_desc *desc,
                                                    qnnrt_compile **out, qnnrt_error *err);
QNNRT_COMPILE_API void qnnrt_compile_free(qnnrt_compile *program);

/* Add a graph: find its weights and run the passes, which change it. ir and weights must live as
   long as the program.
   weights  may be NULL if the graph has none
   name     of the pipeline: not empty, unique; it is copied
   Returns  QNNRT_OK; as qnnrt_lower_weights() and qnnrt_lower_passes(); QNNRT_E_NOT_FOUND,
            QNNRT_E_MISMATCH (the first value of a state is missing or has another shape);
            QNNRT_E_UNSUPPORTED (states with lower.act_bits and .native_io); QNNRT_E_ARG;
            QNNRT_E_MEMORY. After an error ir may be changed; it must live all the same until the
            program is freed */
QNNRT_COMPILE_API qnnrt_result qnnrt_compile_add(qnnrt_compile *program, qnnrt_ir *ir,
                                                 const qnnrt_weights *weights, const char *name,
                                                 qnnrt_error *err);

/* Put the graphs that are added from now on, as a whole, into context number `context`, counted
   from 0; see qnnrt_lower_place().
   Returns QNNRT_OK; QNNRT_E_ARG (program is NULL or without desc.whole, context is too large) */
QNNRT_COMPILE_API qnnrt_result qnnrt_compile_place(qnnrt_compile *program, uint32_t context,
                                                   qnnrt_error *err);

/* Ask the backends about all nodes, and divide the graphs. qnnrt_compile_build() does it, too.
   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (nodes that no backend has, states that cannot be met: the
            text lists them with the reasons); QNNRT_E_ARG (a pin that cannot be met);
            QNNRT_E_NOT_FOUND (a pin for a node that does not exist); the error of a builder;
            QNNRT_E_MEMORY */
QNNRT_COMPILE_API qnnrt_result qnnrt_compile_plan(qnnrt_compile *program, qnnrt_error *err);

/* Plan, and lower all steps; move nodes that are refused, and try again. info.graphs has the steps
   with their operators, also after findings. qnnrt_compile_build() does it, too, unless it is done.
   Returns  QNNRT_OK; as qnnrt_compile_plan(), qnnrt_lower_graph() and qnnrt_lower_quantize();
            QNNRT_E_LIMIT (too many moves) */
QNNRT_COMPILE_API qnnrt_result qnnrt_compile_lower(qnnrt_compile *program, qnnrt_error *err);

/* Plan, lower and finalize all steps; move nodes that fail, and try again.
   A second call builds anew, with graphs that were added meanwhile; nodes that moved stay moved.
   Returns  QNNRT_OK; as qnnrt_compile_plan(); as qnnrt_builder_finish(), for what is not the fault
            of a node; QNNRT_E_UNSUPPORTED (no weight can be quantized); QNNRT_E_LIMIT (too many
            moves) */
QNNRT_COMPILE_API qnnrt_result qnnrt_compile_build(qnnrt_compile *program, qnnrt_error *err);

/* A step that is built alone, to look into it. */
typedef struct qnnrt_compile_watched {
    qnnrt_ir    *ir;                 /* the step */
    qnnrt_lower *lower;              /* of this graph alone */
    qnnrt       *model;              /* with a graph of the step's name */
} qnnrt_compile_watched;

/* Build a step of a plan alone, with inner tensors as outputs.
   graph, step  in info.graphs and its .steps, not of the host
   watch        1: as the step is lowered, with every value as an output; 2: in floats, with every
                float tensor, as in qnnrt_lower_desc
   on           a backend that builds it as it is lowered for its own (NULL: its own)
   out          valid as long as the program, until the next plan
   Returns      QNNRT_OK; as qnnrt_lower_graph() and qnnrt_builder_finish(); QNNRT_E_ARG
   Frees        qnnrt_compile_unwatch() */
QNNRT_COMPILE_API qnnrt_result qnnrt_compile_watch(qnnrt_compile *program, size_t graph,
                                                   size_t step, int watch, qnnrt_backend *on,
                                                   qnnrt_compile_watched *out, qnnrt_error *err);
QNNRT_COMPILE_API void qnnrt_compile_unwatch(qnnrt_compile_watched *watched);

/* Write the elements of a constant for the folder, row-major and of the constant's dtype.

   constant  number in info.constants, after a build
   data      of info.constants[constant].bytes bytes

   Returns   QNNRT_OK; QNNRT_E_ARG; QNNRT_E_NOT_FOUND (its weight has no data); QNNRT_E_MISMATCH
             (the weight has NaN or infinite values); as qnnrt_weights_convert() */
QNNRT_COMPILE_API qnnrt_result qnnrt_compile_load(const qnnrt_compile *program, size_t constant,
                                                  void *data, qnnrt_error *err);

/* Return how many numbers a node multiplies and sums up: of convolutions, products of matrices,
   attention and recurrent layers; 0 for other operators. Planning counts them as the work. */
QNNRT_COMPILE_API double qnnrt_compile_macs(const qnnrt_ir_node *node);

/* Return what was made, valid until the next call with `program`; NULL for NULL. Models belong to
   the program: do not close them. */
QNNRT_COMPILE_API const qnnrt_compile_info *qnnrt_compile_get_info(qnnrt_compile *program);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_COMPILE_H, end of the declarations */

#ifdef QNNRT_COMPILE_IMPLEMENTATION
#ifndef QNNRT_COMPILE__IMPL_ONCE
#define QNNRT_COMPILE__IMPL_ONCE

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   The state of a program, and errors, for every room.
   Needs: nothing     Knows nothing of: operators
   ===================================================================================== */

#define QNNRT_COMPILE__HOST SIZE_MAX             /* "context" of a step on the host */

enum { QNNRT_COMPILE__TEXT = 256 };              /* most bytes of a constant in host.json */

/* A weight, as several graphs know it. */
typedef struct qnnrt_compile__key {
    const void *identity;
    uint64_t    bytes;
} qnnrt_compile__key;

/* A part of a graph on one backend. */
typedef struct qnnrt_compile__part {
    struct qnnrt_compile__graph *graph;
    qnnrt_compile_step           info;
    const qnnrt_ir_node        **nodes;
    size_t                       node_count, number;     /* number: among the steps of its graph */
    const qnnrt_ir_value       **inputs, **outputs;      /* of the graph's IR */
    size_t                       input_count, output_count, outer_count;  /* outputs of the graph
                                                            come first */
    const qnnrt_ir_value       **weights;        /* [weight_count], of a part of the host */
    size_t                       weight_count;
    const qnnrt_compile__key   **keys;           /* [key_count] of all weights, sorted */
    size_t                       key_count;
    qnnrt_ir                    *ir;             /* the nodes alone */
    struct qnnrt_compile__unit  *unit;           /* NULL: the host computes it */
    const qnnrt_lower_graph_info *lowered;       /* after a build, NULL: the host computes it */
    size_t                       step;           /* first one of the pipeline that is its own */
    const qnnrt_graph_info     **shards;         /* [shard_count] its graphs in the built contexts,
                                                    one in each */
    size_t                       shard_count;
} qnnrt_compile__part;

typedef struct qnnrt_compile__graph {
    qnnrt_compile_graph     info;
    qnnrt_ir               *ir;
    const qnnrt_weights    *weights;
    const char            **refused;             /* [backend_count][node_count]: why a backend does
                                                    not compute a node, or NULL */
    size_t                  asked;               /* node_count of the answers; 0: not asked */
    size_t                 *node_at;             /* [node->number]: index in ir->nodes */
    int32_t                *pins;                /* [node_count]: a backend, or -1 */
    qnnrt_partition        *partition;
    qnnrt_compile__part    *parts;
    qnnrt_compile_step     *steps;
    qnnrt_pipeline_desc     pipeline;
    uint32_t                place;               /* of qnnrt_compile_place(), + 1; 0: none */
    struct qnnrt_compile__graph *next;
} qnnrt_compile__graph;

/* A context to build: parts of several graphs. */
typedef struct qnnrt_compile__unit {
    qnnrt_compile        *program;
    size_t                backend, ordinal;
    qnnrt_compile__part **parts;                 /* [part_count], at most one of each graph */
    size_t                part_count;
    qnnrt_lower          *lower;
    size_t                contexts;              /* in the model of its backend, after a build */
    int                   watch;                 /* as qnnrt_compile_watch() has it */
} qnnrt_compile__unit;

/* What the elements of a constant are: of a weight or constant of a graph, of the first value of a
   state, or of an argument of a function. The others are NULL. */
typedef struct qnnrt_compile__elements {
    const qnnrt_ir_value *value;
    const qnnrt_weight   *first;
    const void           *argument;              /* elements as they are */
} qnnrt_compile__elements;

struct qnnrt_compile {
    qnnrt_compile_desc      desc;
    qnnrt_compile_backend  *backends;
    qnnrt_compile_pin      *pins;
    int                    *pin_used;
    qnnrt_arena             arena;               /* .failed stays: later calls fail, too */
    qnnrt_lower            *main;                /* for weights and passes of the whole graphs */
    qnnrt_compile__graph   *first, **last;
    size_t                  graph_count;
    qnnrt_compile__unit    *units;
    size_t                  unit_count;
    qnnrt                 **models;              /* [backend_count] */
    qnnrt_compile_constant *constants;
    qnnrt_compile__elements *sources;            /* [constant_count] */
    size_t                  constant_count, constant_room;
    qnnrt_compile_context  *contexts;
    qnnrt_compile_move     *moves;
    size_t                  move_count, move_room;
    qnnrt_compile_graph    *graphs;              /* [graph_count], of info */
    size_t                  graph_room;
    qnnrt_compile_weight_only *weight_only;      /* [backend_count], of info */
    qnnrt_dtype             outer;               /* of float inputs and outputs of all graphs */
    uint32_t                place;               /* of the next graph, see there */
    int                     lowered;             /* 1: all units are, and not built yet */
    qnnrt_compile_info      info;
};

static qnnrt_lower_target qnnrt_compile__target(const qnnrt_compile *p, size_t backend)
{
    return qnnrt_lower_target_of(qnnrt_backend_get_info(p->backends[backend].backend));
}

/* =====================================================================================
   ARENA                                                                          >>arena
   Memory that is freed with the program.
   Needs: >>config     Knows nothing of: what it holds
   ===================================================================================== */

/* Return the facts about graphs that were lowered. The program remembers if memory ran out: they
   then have no graphs. */
static const qnnrt_lower_info *qnnrt_compile__facts(qnnrt_compile *p, qnnrt_lower *lower)
{
    const qnnrt_lower_info *info = qnnrt_lower_get_info(lower);
    if (info->graph_count == 0) p->arena.failed = QNNRT_E_MEMORY;
    return info;
}

/* Return a copy of a text of any length. */
static const char *qnnrt_compile__copy(qnnrt_compile *p, const char *text)
{
    const char *copy = qnnrt_arena_text(&p->arena, text, strlen(text));
    return copy != NULL ? copy : "";
}

/* Return a text made as by printf, of at most 2,399 bytes. */
__attribute__((format(printf, 2, 3)))
static const char *qnnrt_compile__text(qnnrt_compile *p, const char *format, ...)
{
    char text[2400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return qnnrt_compile__copy(p, text);
}

/* Return an array with room for one more element; the same one when out of memory. */
static void *qnnrt_compile__more(qnnrt_compile *p, void *array, size_t count, size_t *room,
                                 size_t size)
{
    void *larger = qnnrt_arena_more(&p->arena, array, count, room, size);
    return larger != NULL ? larger : array;
}

/* =====================================================================================
   STEPS                                                                          >>steps
   The nodes of a plan as parts, with what they read from each other.
   Needs: >>config >>arena     Knows nothing of: libraries
   ===================================================================================== */

/* Return true if data of a value come from a file: nothing hands them over. */
static int qnnrt_compile__is_static(const qnnrt_ir_value *value)
{
    return value->origin == QNNRT_IR_WEIGHT || value->origin == QNNRT_IR_CONSTANT;
}

/* Return true if a step of the host has the data of a value as an input: weights, and constants
   with more bytes than the text of host.json should have, or all that a function reads. */
static int qnnrt_compile__is_bound(const qnnrt_compile__part *part, const qnnrt_ir_value *value)
{
    return value->origin == QNNRT_IR_WEIGHT ||
           (value->origin == QNNRT_IR_CONSTANT &&
            (part->info.function != NULL ||
             value->count > QNNRT_COMPILE__TEXT / qnnrt_ir_dtype_bytes(value->dtype)));
}

/* Return true if a function of who opens the folder computes a node of the host. */
static int qnnrt_compile__is_function(const qnnrt_compile *p, const qnnrt_ir_node *node)
{
    size_t i = 0;
    while (i < p->desc.function_count && strcmp(p->desc.functions[i], node->op) != 0) ++i;
    return i < p->desc.function_count;
}

/* Return where the part of a step of a plan ends that begins with its node `begin`: a function is a
   part of its own. */
static size_t qnnrt_compile__part_end(const qnnrt_compile *p, const qnnrt_ir *ir,
                                      const qnnrt_partition_step *step, size_t begin)
{
    size_t end = begin + 1;
    if (p->backends[step->backend].backend != NULL) return step->node_count;
    if (qnnrt_compile__is_function(p, ir->nodes[step->nodes[begin]])) return end;
    while (end < step->node_count &&
           !qnnrt_compile__is_function(p, ir->nodes[step->nodes[end]])) ++end;
    return end;
}

/* Which part makes a value, and which parts read it. */
typedef struct qnnrt_compile__flow {
    size_t       *maker;             /* [value_count]: part + 1; 0: none */
    size_t       *seen;              /* [value_count]: part + 1 that listed it last */
    char         *crosses;           /* [value_count]: 1: another part reads it */
} qnnrt_compile__flow;

/* List what a part reads and does not make: inputs of the graph in its order, then the others. */
static void qnnrt_compile__inputs(qnnrt_compile *p, qnnrt_compile__part *part,
                                  qnnrt_compile__flow *flow)
{
    const qnnrt_ir *ir = part->graph->ir;
    const int host = p->backends[part->info.backend].backend == NULL;
    size_t i, k, count = 0, total = 0;
    for (i = 0; i < part->node_count; ++i) total += part->nodes[i]->input_count;
    part->inputs = (const qnnrt_ir_value **)qnnrt_arena_get(&p->arena, total,
                                                            sizeof(*part->inputs));
    part->weights = (const qnnrt_ir_value **)qnnrt_arena_get(&p->arena, host ? total : 0,
                                                             sizeof(*part->weights));
    if (p->arena.failed) return;
    for (i = 0; i < part->node_count; ++i)
        for (k = 0; k < part->nodes[i]->input_count; ++k) {
            const qnnrt_ir_value *value = part->nodes[i]->inputs[k];
            if (value == NULL || flow->seen[value->number] == part->number + 1 ||
                flow->maker[value->number] == part->number + 1 || value->count == 0)
                continue;
            flow->seen[value->number] = part->number + 1;
            if (!qnnrt_compile__is_static(value)) part->inputs[count++] = value;
            else if (host && qnnrt_compile__is_bound(part, value))
                part->weights[part->weight_count++] = value;
        }
    part->input_count = count;
    for (i = k = 0; i < ir->input_count && count > 0; ++i) {         /* a stable order */
        size_t at = k;
        while (at < count && part->inputs[at] != ir->inputs[i]) ++at;
        if (at == count) continue;
        memmove(part->inputs + k + 1, part->inputs + k, (at - k) * sizeof(*part->inputs));
        part->inputs[k++] = ir->inputs[i];
    }
}

/* List what a part makes for others: outputs of the graph, then borders. A value that is both is
   listed twice: an edge hides its output. */
static void qnnrt_compile__outputs(qnnrt_compile *p, qnnrt_compile__part *part,
                                   const qnnrt_compile__flow *flow)
{
    const qnnrt_ir *ir = part->graph->ir;
    size_t i, k, total = 0;
    for (i = 0; i < part->node_count; ++i) total += part->nodes[i]->output_count;
    part->outputs = (const qnnrt_ir_value **)qnnrt_arena_get(&p->arena, total + ir->output_count,
                                                             sizeof(*part->outputs));
    if (part->outputs == NULL) return;
    for (i = 0; i < ir->output_count; ++i)
        if (flow->maker[ir->outputs[i]->number] == part->number + 1 && ir->outputs[i]->count > 0)
            part->outputs[part->output_count++] = ir->outputs[i];
    part->outer_count = part->output_count;
    for (i = 0; i < part->node_count; ++i)
        for (k = 0; k < part->nodes[i]->output_count; ++k) {
            const qnnrt_ir_value *value = part->nodes[i]->outputs[k];
            if (flow->crosses[value->number] && value->count > 0)
                part->outputs[part->output_count++] = value;
        }
}

/* Return the name of step i of a graph with several: GRAPH.i, or GRAPH.i_N if that is the name of
   another graph, or of a step of one whose name has the same beginning. */
static const char *qnnrt_compile__step_name(qnnrt_compile *p, const char *name, size_t i)
{
    const char *text = qnnrt_compile__text(p, "%.900s.%lu", name, (unsigned long)i);
    const qnnrt_compile__graph *graph = p->first;
    size_t k, number = 0;
    while (graph != NULL && text != NULL) {
        const int near = graph->info.name != name && strncmp(graph->info.name, name, 900) == 0;
        int taken = strcmp(graph->info.name, text) == 0;
        for (k = 0; near && graph->parts != NULL && k < graph->info.step_count && !taken; ++k)
            taken = graph->parts[k].info.name != NULL &&
                    strcmp(graph->parts[k].info.name, text) == 0;
        if (taken)
            text = qnnrt_compile__text(p, "%.900s.%lu_%lu", name, (unsigned long)i,
                                       (unsigned long)++number);
        graph = taken ? p->first : graph->next;
    }
    return text;
}

/* Let the only backend have all of a graph. */
static qnnrt_result qnnrt_compile__whole(qnnrt_compile *p, qnnrt_compile__graph *graph,
                                         qnnrt_error *err)
{
    const qnnrt_ir *ir = graph->ir;
    qnnrt_compile__part *part = (qnnrt_compile__part *)qnnrt_arena_get(&p->arena, 1, sizeof(*part));
    graph->steps = (qnnrt_compile_step *)qnnrt_arena_get(&p->arena, 1, sizeof(*graph->steps));
    if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    part->graph = graph;
    part->info.name = graph->info.name;
    part->nodes = (const qnnrt_ir_node **)(uintptr_t)ir->nodes;
    part->node_count = ir->node_count;
    part->inputs = (const qnnrt_ir_value **)(uintptr_t)ir->inputs;
    part->input_count = ir->input_count;
    part->outputs = (const qnnrt_ir_value **)(uintptr_t)ir->outputs;
    part->output_count = part->outer_count = ir->output_count;
    graph->parts = part;
    graph->info.step_count = 1;
    return QNNRT_OK;
}

/* Return true if a node makes no elements. */
static int qnnrt_compile__is_empty(const qnnrt_ir_node *node)
{
    size_t i = 0;
    while (i < node->output_count && node->outputs[i]->count == 0) ++i;
    return i == node->output_count;
}

/* Leave out the parts that make no elements: nobody reads them. */
static void qnnrt_compile__leave_out(qnnrt_compile__graph *graph)
{
    size_t i, count = 0;
    for (i = 0; i < graph->info.step_count; ++i)
        if (graph->parts[i].output_count > 0) graph->parts[count++] = graph->parts[i];
    graph->info.step_count = count;
}

/* Let a part have nodes of a step of the plan. Return 0 when out of memory. */
static int qnnrt_compile__take(qnnrt_compile *p, qnnrt_compile__graph *graph,
                               qnnrt_compile__part *part, size_t plan, size_t begin, size_t end)
{
    const qnnrt_partition_step *step = &graph->info.partition->steps[plan];
    const size_t number = (size_t)(part - graph->parts);
    size_t i;
    part->graph = graph;
    part->info.plan = plan;
    part->info.backend = (size_t)step->backend;
    part->info.context = QNNRT_COMPILE__HOST;
    part->node_count = end - begin;
    part->nodes = (const qnnrt_ir_node **)qnnrt_arena_get(&p->arena, part->node_count,
                                                          sizeof(*part->nodes));
    for (i = begin; i < end && part->nodes != NULL; ++i)
        part->nodes[i - begin] = graph->ir->nodes[step->nodes[i]];
    if (part->nodes != NULL && p->backends[part->info.backend].backend == NULL &&
        qnnrt_compile__is_function(p, part->nodes[0]))
        part->info.name = part->info.function = part->nodes[0]->op;
    else
        part->info.name = graph->info.step_count == 1 ? graph->info.name
                          : qnnrt_compile__step_name(p, graph->info.name, number);
    return !p->arena.failed;
}

/* Cut a graph in parts, as its plan says. */
static qnnrt_result qnnrt_compile__cut(qnnrt_compile *p, qnnrt_compile__graph *graph,
                                       qnnrt_error *err)
{
    const qnnrt_partition_info *plan = graph->info.partition;
    const qnnrt_ir *ir = graph->ir;
    qnnrt_compile__flow flow;
    size_t *part_of = (size_t *)qnnrt_arena_get(&p->arena, ir->node_count, sizeof(*part_of));
    size_t i, k, begin, count;
    flow.maker = (size_t *)qnnrt_arena_get(&p->arena, ir->value_count, sizeof(*flow.maker));
    flow.seen = (size_t *)qnnrt_arena_get(&p->arena, ir->value_count, sizeof(*flow.seen));
    flow.crosses = (char *)qnnrt_arena_get(&p->arena, ir->value_count, 1);
    for (i = 0, count = 0; i < plan->step_count; ++i)
        for (begin = 0; begin < plan->steps[i].node_count; ++count)
            begin = qnnrt_compile__part_end(p, ir, &plan->steps[i], begin);
    graph->parts = (qnnrt_compile__part *)qnnrt_arena_get(&p->arena, count, sizeof(*graph->parts));
    graph->steps = (qnnrt_compile_step *)qnnrt_arena_get(&p->arena, count, sizeof(*graph->steps));
    if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    graph->info.step_count = count;
    for (i = 0, count = 0; i < plan->step_count; ++i)
        for (begin = 0; begin < plan->steps[i].node_count; ++count) {
            const size_t end = qnnrt_compile__part_end(p, ir, &plan->steps[i], begin);
            if (!qnnrt_compile__take(p, graph, &graph->parts[count], i, begin, end))
                return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
            graph->parts[count].number = count;
            for (; begin < end; ++begin) {
                const size_t node = (size_t)plan->steps[i].nodes[begin];
                part_of[node] = count;
                for (k = 0; k < ir->nodes[node]->output_count; ++k)
                    flow.maker[ir->nodes[node]->outputs[k]->number] = count + 1;
            }
        }
    for (i = 0; i < ir->node_count; ++i)
        for (k = 0; k < ir->nodes[i]->input_count; ++k) {
            const qnnrt_ir_value *value = ir->nodes[i]->inputs[k];
            if (value != NULL && !qnnrt_compile__is_empty(ir->nodes[i]) &&
                flow.maker[value->number] != 0 &&
                flow.maker[value->number] != part_of[i] + 1)
                flow.crosses[value->number] = 1;
        }
    for (i = 0; i < count; ++i) {
        qnnrt_compile__inputs(p, &graph->parts[i], &flow);
        qnnrt_compile__outputs(p, &graph->parts[i], &flow);
    }
    if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    qnnrt_compile__leave_out(graph);
    if (graph->info.step_count == 0)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "graph \"%.200s\" has no output with "
                               "elements", graph->info.name);
    return QNNRT_OK;
}

/* =====================================================================================
   BORDER                                                                        >>border
   The types of what parts read and make.
   Needs: >>config     Knows nothing of: libraries
   ===================================================================================== */

static int qnnrt_compile__is_float(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_F16 || dtype == QNNRT_DTYPE_BF16 || dtype == QNNRT_DTYPE_F32 ||
           dtype == QNNRT_DTYPE_F64;
}

/* Return the type in which a backend computes floats. */
static qnnrt_dtype qnnrt_compile__compute(const qnnrt_compile *p, size_t backend)
{
    const qnnrt_dtype asked = p->desc.lower.compute;
    qnnrt_lower_target target;
    if (p->backends[backend].backend == NULL) return QNNRT_DTYPE_F32;
    target = qnnrt_compile__target(p, backend);
    if (target == QNNRT_LOWER_CPU) return QNNRT_DTYPE_F32;
    if (asked != (qnnrt_dtype)0) return asked;
    return target == QNNRT_LOWER_HTP ? QNNRT_DTYPE_F16 : QNNRT_DTYPE_F32;
}

/* Return the type of a value at the border of a part: input (output 0) or output `index`. */
static qnnrt_dtype qnnrt_compile__border(const qnnrt_compile *p, const qnnrt_compile__part *part,
                                         const qnnrt_ir_value *value, int output, size_t index)
{
    const int outer = output ? index < part->outer_count : value->origin == QNNRT_IR_INPUT;
    /* Only hosts read and make integers that may not fit. */
    if (qnnrt_ir_is_wide(value)) return QNNRT_DTYPE_I64;
    if (!qnnrt_compile__is_float(value->dtype))
        return value->dtype == QNNRT_DTYPE_BOOL8 ? QNNRT_DTYPE_BOOL8 : QNNRT_DTYPE_I32;
    return outer ? p->outer : qnnrt_compile__compute(p, part->info.backend);
}

/* Return true if a part reads floats that are inputs of its graph, or makes such outputs. */
static int qnnrt_compile__is_outer(const qnnrt_compile__part *part)
{
    size_t i;
    for (i = 0; i < part->input_count; ++i)
        if (part->inputs[i]->origin == QNNRT_IR_INPUT &&
            qnnrt_compile__is_float(part->inputs[i]->dtype))
            return 1;
    for (i = 0; i < part->outer_count; ++i)
        if (qnnrt_compile__is_float(part->outputs[i]->dtype)) return 1;
    return 0;
}

/* Choose the type of float inputs and outputs of all graphs, which are cut. */
static void qnnrt_compile__choose_outer(qnnrt_compile *p)
{
    const qnnrt_compile__graph *graph;
    size_t i;
    p->outer = p->desc.lower.native_io ? QNNRT_DTYPE_F16 : QNNRT_DTYPE_F32;
    for (graph = p->first; graph != NULL; graph = graph->next)
        for (i = 0; i < graph->info.step_count; ++i)
            if (qnnrt_compile__is_outer(&graph->parts[i]) &&
                qnnrt_compile__compute(p, graph->parts[i].info.backend) != QNNRT_DTYPE_F16)
                p->outer = QNNRT_DTYPE_F32;
}

/* =====================================================================================
   ASK                                                                              >>ask
   Which nodes each backend computes.
   Needs: >>config >>arena >>steps >>border     Knows nothing of: plans
   ===================================================================================== */

/* Refuse a node on a backend, unless it is refused already. */
static void qnnrt_compile__refuse(qnnrt_compile *p, qnnrt_compile__graph *graph, size_t backend,
                                  size_t node, const char *why)
{
    const char **refused = &graph->refused[backend * graph->asked + node];
    if (*refused == NULL) *refused = qnnrt_compile__text(p, "%.2000s", why);
}

/* Let activations stay floats. */
static void qnnrt_compile__in_floats(qnnrt_lower_desc *desc)
{
    desc->act_bits = 0;
    desc->encodings = NULL;
    desc->encoding_count = 0;
}

/* Return the options to lower parts for a backend. */
static qnnrt_lower_desc qnnrt_compile__options(const qnnrt_compile *p, size_t backend)
{
    const qnnrt_backend_info *info = qnnrt_backend_get_info(p->backends[backend].backend);
    qnnrt_lower_desc desc = p->desc.lower;
    desc.hooks = p->desc.hooks;
    desc.target = qnnrt_lower_target_of(info);
    desc.build_id = info->build_id;
    desc.watch = 0;
    desc.same_count = 0;
    if (p->backends[backend].custom != NULL) {
        desc.custom = p->backends[backend].custom;
        desc.custom_count = p->backends[backend].custom_count;
    }
    if (p->desc.whole) return desc;
    desc.compute = qnnrt_compile__compute(p, backend);
    desc.contexts = 0;
    desc.passed = NULL;
    desc.weight_optional = 1;                    /* another backend may quantize them */
    if (desc.target == QNNRT_LOWER_CPU) qnnrt_compile__in_floats(&desc);
    return desc;
}

/* Refuse the nodes of all findings. Those about inputs and outputs of the whole graph concern no
   node: if a part has them, too, lowering it is an error. */
static void qnnrt_compile__take_findings(qnnrt_compile *p, qnnrt_compile__graph *graph,
                                         size_t backend, const qnnrt_lower_info *info)
{
    size_t i;
    for (i = 0; i < info->finding_count; ++i)
        if (info->findings[i].node != NULL)
            qnnrt_compile__refuse(p, graph, backend, graph->node_at[info->findings[i].node->number],
                                  info->findings[i].text);
}

/* Ask a library about all nodes of a graph. */
static qnnrt_result qnnrt_compile__ask_library(qnnrt_compile *p, qnnrt_compile__graph *graph,
                                               size_t backend, qnnrt_error *err)
{
    qnnrt_lower_desc desc = qnnrt_compile__options(p, backend);
    qnnrt_lower *lower = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt_ir *copy = NULL;
    const qnnrt_ir *ir = graph->ir;
    qnnrt_result result;
    desc.native_io = 1;                          /* borders are asked about when they are known */
    qnnrt_compile__in_floats(&desc);             /* what it refuses to quantize stays float */
    result = qnnrt_ir_extract(ir, (const qnnrt_ir_node *const *)ir->nodes, ir->node_count,
                              (const qnnrt_ir_value *const *)ir->inputs, ir->input_count,
                              (const qnnrt_ir_value *const *)ir->outputs, ir->output_count,
                              ir->name, &copy, err);
    if (result == QNNRT_OK) result = qnnrt_lower_create(&desc, &lower, err);
    if (result == QNNRT_OK) result = qnnrt_lower_weights(lower, copy, graph->weights, err);
    if (result == QNNRT_OK) result = qnnrt_lower_graph(lower, copy, graph->info.name, err);
    if (result == QNNRT_OK || result == QNNRT_E_UNSUPPORTED)
        result = qnnrt_builder_create(p->backends[backend].backend, &p->backends[backend].builder,
                                      &builder, err);
    if (result == QNNRT_OK && !desc.no_ask) result = qnnrt_lower_ask(lower, builder, err);
    if (result == QNNRT_OK)
        qnnrt_compile__take_findings(p, graph, backend, qnnrt_compile__facts(p, lower));
    qnnrt_builder_destroy(builder);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(copy);
    return result;
}

/* Ask whether the host computes a node. */
static void qnnrt_compile__ask_host(qnnrt_compile *p, qnnrt_compile__graph *graph, size_t backend,
                                    size_t number)
{
    const qnnrt_ir_node *node = graph->ir->nodes[number];
    qnnrt_error err;
    if (qnnrt_compile__is_function(p, node)) return;
    if (node->info == NULL)
        qnnrt_compile__refuse(p, graph, backend, number, "the host does not have this operator");
    else if (qnnrt_ir_eval_ask(node, &err) != QNNRT_OK)
        qnnrt_compile__refuse(p, graph, backend, number, err.text);
}

/* Return the name of the node that a node became part of, or its own. */
static const char *qnnrt_compile__became(const qnnrt_ir *ir, const char *name)
{
    static const char fused[] = "fused into ";
    size_t i, hops;
    for (hops = 0; hops < ir->removed_count; ++hops) {
        for (i = 0; i < ir->removed_count && (strcmp(ir->removed[i]->name, name) != 0 ||
             strncmp(ir->removed[i]->mapping, fused, sizeof(fused) - 1) != 0); ++i) {}
        if (i == ir->removed_count) break;
        name = ir->removed[i]->mapping + sizeof(fused) - 1;
    }
    return name;
}

/* Pin all nodes that pinned node `at` is computed from, except those that are pinned already.
   needed: [node_count] */
static void qnnrt_compile__pin_inputs(qnnrt_compile__graph *graph, size_t at, char *needed)
{
    size_t i, k;
    memset(needed, 0, at + 1);
    needed[at] = 1;
    for (i = at + 1; i-- > 0;) {
        const qnnrt_ir_node *node = graph->ir->nodes[i];
        if (!needed[i]) continue;
        if (graph->pins[i] < 0) graph->pins[i] = graph->pins[at];
        for (k = 0; k < node->input_count; ++k) {
            const qnnrt_ir_node *maker = qnnrt_ir_producer(node->inputs[k]);
            if (maker != NULL) needed[graph->node_at[maker->number]] = 1;
        }
    }
}

/* Give the nodes of a graph their numbers and pins. */
static qnnrt_result qnnrt_compile__number(qnnrt_compile *p, qnnrt_compile__graph *graph,
                                          qnnrt_error *err)
{
    const qnnrt_ir *ir = graph->ir;
    size_t i, k, b, most = 0;
    char *needed;
    for (i = 0; i < ir->node_count; ++i)
        if (ir->nodes[i]->number > most) most = ir->nodes[i]->number;
    graph->asked = ir->node_count;
    graph->node_at = (size_t *)qnnrt_arena_get(&p->arena, most + 1, sizeof(*graph->node_at));
    graph->pins = (int32_t *)qnnrt_arena_get(&p->arena, ir->node_count, sizeof(*graph->pins));
    graph->refused = (const char **)qnnrt_arena_get(
        &p->arena, ir->node_count * p->desc.backend_count, sizeof(*graph->refused));
    needed = (char *)qnnrt_arena_get(&p->arena, ir->node_count, 1);
    if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    for (i = 0; i < ir->node_count; ++i) {
        graph->node_at[ir->nodes[i]->number] = i;
        graph->pins[i] = -1;
    }
    for (k = 0; k < p->desc.pin_count; ++k) {
        const char *name = qnnrt_compile__became(ir, p->pins[k].node);
        for (b = 0; strcmp(p->pins[k].role, p->backends[b].role) != 0; ++b) {}
        for (i = 0; i < ir->node_count; ++i) {
            if (strcmp(name, ir->nodes[i]->name) != 0) continue;
            if (graph->pins[i] >= 0 && graph->pins[i] != (int32_t)b)
                return qnnrt_error_set(err, QNNRT_E_ARG, "node \"%.200s\" is pinned to \"%.100s\" "
                                       "and to \"%.100s\"", name,
                                       p->backends[graph->pins[i]].role,
                                       p->pins[k].role);
            p->pin_used[k] = 1;
            graph->pins[i] = (int32_t)b;
        }
    }
    for (k = 0; k < p->desc.pin_count; ++k)
        for (i = 0; i < ir->node_count && p->pins[k].with_inputs; ++i)
            if (strcmp(qnnrt_compile__became(ir, p->pins[k].node), ir->nodes[i]->name) == 0)
                qnnrt_compile__pin_inputs(graph, i, needed);
    return QNNRT_OK;
}

/* Ask all backends about all nodes of a graph, once. */
static qnnrt_result qnnrt_compile__ask(qnnrt_compile *p, qnnrt_compile__graph *graph,
                                       qnnrt_error *err)
{
    qnnrt_result result;
    size_t b, i;
    if (graph->asked != 0 || graph->ir->node_count == 0) return QNNRT_OK;
    result = qnnrt_compile__number(p, graph, err);
    for (b = 0; b < p->desc.backend_count && result == QNNRT_OK; ++b) {
        if (p->backends[b].backend != NULL) {
            result = qnnrt_compile__ask_library(p, graph, b, err);
        } else {
            for (i = 0; i < graph->ir->node_count && !p->arena.failed; ++i)
                qnnrt_compile__ask_host(p, graph, b, i);
        }
    }
    if (result == QNNRT_OK && p->arena.failed)
        result = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    if (result != QNNRT_OK) graph->asked = 0;
    return result;
}

/* =====================================================================================
   CHOOSE                                                                        >>choose
   A graph as the planner sees it: values, states, and the work of nodes.
   Needs: >>config >>steps >>border     Knows nothing of: parts
   ===================================================================================== */

/* Return the node that makes a value, if it overwrites a part of its first input. */
static const qnnrt_ir_node *qnnrt_compile__writer(const qnnrt_ir_value *value)
{
    static const char *const ops[] = {
        "index_copy.", "index_put.", "scatter.", "slice_scatter.", "select_scatter.",
        "masked_scatter.", "alias."
    };
    size_t i;
    for (i = 0; value->node != NULL && i < sizeof(ops) / sizeof(ops[0]); ++i)
        if (strncmp(value->node->op, ops[i], strlen(ops[i])) == 0) return value->node;
    return NULL;
}

/* Return the input of the graph that an output is a newer version of, or NULL. */
static const qnnrt_ir_value *qnnrt_compile__state(const qnnrt_ir_value *output)
{
    const qnnrt_ir_value *value = output;
    const qnnrt_ir_node *node;
    int written = 0;
    while ((node = qnnrt_compile__writer(value)) != NULL && node->inputs[0] != NULL) {
        written |= strcmp(node->op, "alias.default") != 0;
        value = node->inputs[0];
    }
    if (!written || value->origin != QNNRT_IR_INPUT || value->dtype != output->dtype ||
        value->rank != output->rank || value->rank == 0 ||
        memcmp(value->dims, output->dims, value->rank * sizeof(value->dims[0])) != 0)
        return NULL;
    return value;
}

/* Return the bytes that a node reads and writes, in the types of the graph. */
static double qnnrt_compile__bytes(const qnnrt_ir_node *node)
{
    double bytes = 0;
    size_t i;
    for (i = 0; i < node->input_count + node->output_count; ++i) {
        const qnnrt_ir_value *value = i < node->input_count ? node->inputs[i]
                                                            : node->outputs[i - node->input_count];
        if (value != NULL)
            bytes += (double)value->count * (double)qnnrt_ir_dtype_bytes(value->dtype);
    }
    return bytes;
}

QNNRT_COMPILE_API double qnnrt_compile_macs(const qnnrt_ir_node *node)
{
    static const struct { const char *op; int kind; } table[] = {
        { "convolution.", 'c' }, { "conv_transpose", 't' }, { "conv", 'c' },
        { "torchvision.deform_conv", 'c' }, { "deform_conv", 'c' },
        { "linear.", 'm' }, { "matmul.", 'm' }, { "mm.", 'm' }, { "bmm.", 'm' }, { "mv.", 'm' },
        { "_grouped_mm", 'm' }, { "addmm.", 'a' }, { "baddbmm.", 'a' }, { "addbmm.", 'a' },
        { "scaled_dot_product", 's' }, { "lstm", 'r' }, { "gru", 'r' }, { "rnn_", 'r' }
    };
    const qnnrt_ir_value *a = qnnrt_ir_input(node, 0), *b = qnnrt_ir_input(node, 1);
    const double out = node->output_count > 0 ? (double)node->outputs[0]->count : 0;
    double all = 0, rows;
    int kind = 0;
    size_t i;
    for (i = 0; kind == 0 && i < sizeof(table) / sizeof(table[0]); ++i)
        if (strncmp(node->op, table[i].op, strlen(table[i].op)) == 0) kind = table[i].kind;
    if (a == NULL || b == NULL || a->rank == 0 || b->rank == 0 || a->count == 0 || b->count == 0)
        return 0;
    if (kind == 'c' && qnnrt_ir_int(node, "transposed", 0) != 0) kind = 't';
    rows = (double)a->count / (double)a->dims[a->rank - 1];
    switch (kind) {
    case 'c': return out * ((double)b->count / (double)b->dims[0]);
    case 't': return (double)a->count * ((double)b->count / (double)b->dims[0]);
    case 'm': return out * (double)a->dims[a->rank - 1];
    case 'a': return out * (double)b->dims[b->rank - 1];
    case 's': return b->rank < 2 ? 0 : 2 * (double)a->count * (double)b->dims[b->rank - 2];
    case 'r':                                        /* every matrix, once for each row of a */
        for (i = 1; i < node->input_count; ++i)
            if (node->inputs[i] != NULL && node->inputs[i]->rank == 2)
                all += (double)node->inputs[i]->count * rows;
        return all;
    default: return 0;
    }
}

/* Return the work of a node in operations: multiplications of products, else elements. */
static double qnnrt_compile__work(const qnnrt_ir_node *node)
{
    double most = qnnrt_compile_macs(node);
    size_t i;
    if (most > 0) return most;
    for (i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != NULL && !qnnrt_compile__is_static(node->inputs[i]) &&
            (double)node->inputs[i]->count > most)
            most = (double)node->inputs[i]->count;
    for (i = 0; i < node->output_count; ++i)
        if ((double)node->outputs[i]->count > most) most = (double)node->outputs[i]->count;
    return most;
}

/* Describe the values of a graph. Return the number of states. */
static size_t qnnrt_compile__values(qnnrt_compile *p, const qnnrt_compile__graph *graph,
                                    qnnrt_partition_value *values, qnnrt_partition_state *states)
{
    const qnnrt_ir *ir = graph->ir;
    size_t i, count = 0;
    for (i = 0; i < ir->value_count; ++i) {
        const qnnrt_ir_value *value = ir->values[i];
        values[i].name = value->name;
        values[i].bytes = value->count * qnnrt_ir_dtype_bytes(value->dtype);
        values[i].view_of = values[i].state = -1;
        values[i].is_input = value->origin == QNNRT_IR_INPUT;
        values[i].is_output = value->is_output != 0;
        values[i].constant = qnnrt_compile__is_static(value);
        values[i].exact = !qnnrt_compile__is_float(value->dtype);
    }
    for (i = 0; i < ir->output_count; ++i) {
        const qnnrt_ir_value *value = ir->outputs[i], *root = qnnrt_compile__state(value);
        if (root == NULL || values[root->number].state >= 0) continue;
        states[count].name = root->name;
        states[count].policy = p->desc.state_error ? QNNRT_PARTITION_POLICY_ERROR
                                                     : QNNRT_PARTITION_POLICY_HOST;
        while (value != root) {
            values[value->number].state = (int32_t)count;
            value = value->node->inputs[0];
        }
        values[root->number].state = (int32_t)count++;
    }
    return count;
}

static void qnnrt_compile__nodes(qnnrt_compile *p, const qnnrt_compile__graph *graph,
                                 qnnrt_partition_node *nodes)
{
    const qnnrt_ir *ir = graph->ir;
    size_t i, k;
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        int32_t *list = (int32_t *)qnnrt_arena_get(
            &p->arena, node->input_count + node->output_count, sizeof(*list));
        size_t count = 0;
        if (list == NULL) return;
        nodes[i].name = node->name;
        nodes[i].op = node->op;
        nodes[i].inputs = list;
        for (k = 0; k < node->input_count; ++k)
            if (node->inputs[k] != NULL && node->inputs[k]->count > 0)
                list[count++] = (int32_t)node->inputs[k]->number;
        nodes[i].input_count = count;
        nodes[i].outputs = list + count;
        for (k = 0; k < node->output_count; ++k) list[count++] = (int32_t)node->outputs[k]->number;
        nodes[i].output_count = node->output_count;
        nodes[i].writes = -1;
        nodes[i].pin = graph->pins[i];
        nodes[i].work = qnnrt_compile__work(node);
        nodes[i].bytes = qnnrt_compile__bytes(node);
    }
}

/* Fill in what a backend costs where the caller has not said it. kind: a row of the table.
   Measured on x86-64, one core, as the least of 100 calls of chains of equal nodes: libQnnCpu.so
   2.47 makes 4,000 (FullyConnected, 128 rows) to 62,000 (Conv2d) multiply-adds in a microsecond,
   reads and writes 1,000 (Tanh) to 85,000 bytes (Multiply), and takes 0.7 us for a node of 8
   elements; the host makes 4,000, moves 1,600, and takes less. The row of HTP is stated, not
   measured: there is no NPU here. */
static void qnnrt_compile__calibrate(qnnrt_compile_backend *backend, double per_step, int kind)
{
    static const double table[3][4] = {
        { 1000000, 40000, 2, 50 },       /* HTP */
        { 20000, 10000, 1, 10 },         /* other libraries */
        { 4000, 1200, 1, 10 }            /* the host */
    };
    if (backend->speed <= 0) backend->speed = table[kind][0];
    if (backend->bandwidth <= 0) backend->bandwidth = table[kind][1];
    if (backend->per_node <= 0) backend->per_node = table[kind][2];
    if (backend->per_step == 0) backend->per_step = per_step != 0 ? per_step : table[kind][3];
}

static int qnnrt_compile__supports(void *user, int32_t node, int32_t backend, const char **why)
{
    const qnnrt_compile__graph *graph = (const qnnrt_compile__graph *)user;
    *why = graph->refused[(size_t)backend * graph->asked + (size_t)node];
    return *why == NULL;
}

/* True if a plan has steps of the host alone. */
static int qnnrt_compile__all_on_host(const qnnrt_compile *p, const qnnrt_partition_info *plan)
{
    size_t i = 0;
    while (i < plan->step_count && p->backends[plan->steps[i].backend].backend == NULL) ++i;
    return i == plan->step_count;
}

/* Plan a graph. */
static qnnrt_result qnnrt_compile__choose(qnnrt_compile *p, qnnrt_compile__graph *graph,
                                          qnnrt_error *err)
{
    const qnnrt_ir *ir = graph->ir;
    qnnrt_partition_desc desc;
    qnnrt_partition_value *values = (qnnrt_partition_value *)qnnrt_arena_get(
        &p->arena, ir->value_count, sizeof(*values));
    qnnrt_partition_state *states = (qnnrt_partition_state *)qnnrt_arena_get(
        &p->arena, ir->output_count, sizeof(*states));
    qnnrt_partition_node *nodes = (qnnrt_partition_node *)qnnrt_arena_get(&p->arena, ir->node_count,
                                                                          sizeof(*nodes));
    qnnrt_partition_backend *backends = (qnnrt_partition_backend *)qnnrt_arena_get(
        &p->arena, p->desc.backend_count, sizeof(*backends));
    qnnrt_result result;
    size_t b;
    if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    memset(&desc, 0, sizeof(desc));
    for (b = 0; b < p->desc.backend_count; ++b) {
        const qnnrt_compile_backend *backend = &p->backends[b];
        backends[b].name = backend->role;
        backends[b].is_host = backend->backend == NULL;
        backends[b].is_host_memory = 1;
        backends[b].speed = backend->speed;
        backends[b].bandwidth = backend->bandwidth;
        backends[b].per_node = backend->per_node;
        backends[b].per_step = backend->per_step;
        backends[b].precision = qnnrt_compile__compute(p, b) == QNNRT_DTYPE_F16;
    }
    desc.hooks = p->desc.hooks;
    desc.backends = backends;
    desc.backend_count = p->desc.backend_count;
    desc.values = values;
    desc.value_count = ir->value_count;
    desc.states = states;
    desc.state_count = qnnrt_compile__values(p, graph, values, states);
    qnnrt_compile__nodes(p, graph, nodes);
    desc.nodes = nodes;
    desc.node_count = ir->node_count;
    desc.costs = p->info.costs;
    desc.supports = qnnrt_compile__supports;
    desc.user = graph;
    desc.state_hint = p->desc.state_hint != NULL ? p->desc.state_hint
                      : "Keep it on the host: set state_error to 0.";
    if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    for (;;) {
        qnnrt_partition_free(graph->partition);
        graph->partition = NULL;
        result = qnnrt_partition_create(&desc, &graph->partition, err);
        if (result != QNNRT_OK || desc.costs.prefer >= 1e9) break;
        if (!qnnrt_compile__all_on_host(p, qnnrt_partition_get_info(graph->partition))) break;
        desc.costs.prefer = 1e9;     /* a program needs a graph, if any backend has a node */
    }
    graph->info.partition = graph->partition != NULL ? qnnrt_partition_get_info(graph->partition)
                                                     : NULL;
#ifdef QNNRT_COMPILE_PLAN_CHECK
    if (result == QNNRT_OK)
        result = QNNRT_COMPILE_PLAN_CHECK(&desc, graph->info.partition, NULL, err);
#endif
    return result;
}

/* =====================================================================================
   UNIT                                                                            >>unit
   Contexts: the parts of all graphs that one library compiles together.
   Needs: >>config >>arena >>steps >>border >>ask     Knows nothing of: plans
   ===================================================================================== */

static qnnrt_dtype qnnrt_compile__io(void *user, const qnnrt_ir *ir, const qnnrt_ir_value *value,
                                     int output, size_t index)
{
    const qnnrt_compile__unit *unit = (const qnnrt_compile__unit *)user;
    size_t i;
    for (i = 0; i < unit->part_count; ++i)
        if (unit->parts[i]->ir == ir) {
            const qnnrt_compile__part *part = unit->parts[i];
            /* An input of the part may be a border; the graph's value says so. */
            if (!output && index < part->input_count) value = part->inputs[index];
            return qnnrt_compile__border(unit->program, part, value, output, index);
        }
    return (qnnrt_dtype)0;
}

/* Let a node copy output `index` of a graph, and give the copy away. Return 0 when out of
   memory. */
static int qnnrt_compile__copy_output(qnnrt_ir *ir, size_t index, const char *name, const char *op)
{
    qnnrt_ir_value *value = ir->outputs[index];
    qnnrt_ir_value *copy = qnnrt_ir_add_value(ir, name, value->dtype, value->rank, value->dims);
    if (copy == NULL || qnnrt_ir_add_node(ir, NULL, op, &value, 1, &copy, 1) == NULL) return 0;
    ir->outputs[index] = copy;
    copy->is_output += 1;
    copy->users += 1;
    value->is_output -= 1;
    value->users -= 1;
    return 1;
}

/* Return a name that no value of a graph has. */
static const char *qnnrt_compile__new_name(qnnrt_compile *p, const qnnrt_ir *ir, const char *name)
{
    const char *text = name;
    size_t i, number = 0;
    for (i = 0; i < ir->value_count && !p->arena.failed; ++i)
        if (strcmp(ir->values[i]->name, text) == 0) {
            text = qnnrt_compile__text(p, "%.200s.%lu", name, (unsigned long)++number);
            i = SIZE_MAX;                        /* begin again */
        }
    return text;
}

/* Let a part of the host give away a value twice under two names: the second one is a copy, whose
   name no value of the whole graph has. */
static int qnnrt_compile__copy_outputs(qnnrt_compile *p, const qnnrt_ir *whole, qnnrt_ir *ir)
{
    size_t i, k;
    for (i = 0; i < ir->output_count; ++i) {
        for (k = 0; k < i && ir->outputs[k] != ir->outputs[i]; ++k) {}
        if (k == i) continue;
        if (!qnnrt_compile__copy_output(ir, i, qnnrt_compile__new_name(p, whole,
                                                                       ir->outputs[i]->name),
                                        "alias.default"))
            return 0;
    }
    return 1;
}

/* Let constants of a part of the host that are inputs of its step be weights. Return 0 when out of
   memory. */
static int qnnrt_compile__bind(const qnnrt_compile__part *part)
{
    qnnrt_ir *ir = part->ir;
    size_t i;
    for (i = 0; i < ir->value_count; ++i) {
        qnnrt_ir_value *value = ir->values[i];
        if (value->origin != QNNRT_IR_CONSTANT || !qnnrt_compile__is_bound(part, value)) continue;
        value->origin = QNNRT_IR_WEIGHT;         /* a key that no other shape has: */
        value->key = qnnrt_ir_text(ir, value->name);
        if (value->key == NULL) return 0;
    }
    return 1;
}

/* Let a node make each output of a graph, once: one that is an input, a weight or a constant is
   copied, under the name that qnnrt_lower_graph() gives it, and one of a function that is read. */
static int qnnrt_compile__make_outputs(qnnrt_compile *p, qnnrt_ir *ir)
{
    size_t i;
    for (i = 0; i < ir->output_count; ++i) {
        qnnrt_ir_value *value = ir->outputs[i];
        const char *name = value->name;
        if (value->count == 0 ||
            (value->origin == QNNRT_IR_NODE && (value->users == 1 || value->node == NULL ||
                                                !qnnrt_compile__is_function(p, value->node))))
            continue;
        if (!qnnrt_compile__copy_output(ir, i, qnnrt_compile__text(p, "%.200s.%lu", name,
                                                                   (unsigned long)i),
                                        "clone.default"))
            return 0;
        if (value->origin == QNNRT_IR_INPUT) continue;
        value->name = ir->outputs[i]->name;      /* the output has the name, not its content */
        ir->outputs[i]->name = name;
    }
    return !p->arena.failed;
}

/* Release what the units of the last attempt hold. */
static void qnnrt_compile__drop(qnnrt_compile *p)
{
    qnnrt_compile__graph *graph;
    size_t i;
    for (i = 0; p->models != NULL && i < p->desc.backend_count; ++i) {
        qnnrt_close(p->models[i]);
        p->models[i] = NULL;
    }
    for (i = 0; i < p->unit_count && !p->desc.whole; ++i) qnnrt_lower_free(p->units[i].lower);
    p->unit_count = 0;
    p->lowered = 0;
    for (graph = p->first; graph != NULL; graph = graph->next) {
        for (i = 0; graph->parts != NULL && i < graph->info.step_count && !p->desc.whole; ++i)
            qnnrt_ir_free(graph->parts[i].ir);
        graph->parts = NULL;
        graph->info.step_count = 0;
        graph->info.pipeline = NULL;
        graph->info.conversions = NULL;
    }
    p->info.contexts = NULL;
    p->info.context_count = p->constant_count = 0;
    p->info.flushed = p->info.clamped = 0;
    p->weight_only = NULL;
}

/* Return what identifies a weight in all graphs. */
static const void *qnnrt_compile__identity(const qnnrt_ir_value *value)
{
    const qnnrt_weight *weight = qnnrt_lower_weight_of(value);
    return weight != NULL ? (const void *)weight : value->data != NULL ? value->data : value;
}

static int qnnrt_compile__key_order(const void *left, const void *right)
{
    const uintptr_t a = (uintptr_t)((const qnnrt_compile__key *)left)->identity;
    const uintptr_t b = (uintptr_t)((const qnnrt_compile__key *)right)->identity;
    return a < b ? -1 : a > b;
}

/* List the weights that a part reads, each once. */
static void qnnrt_compile__keys(qnnrt_compile *p, qnnrt_compile__part *part)
{
    const qnnrt_compile__key **keys;
    qnnrt_compile__key *list;
    size_t i, k, total = 0, count = 0, kept = 0;
    for (i = 0; i < part->node_count; ++i) total += part->nodes[i]->input_count;
    list = (qnnrt_compile__key *)qnnrt_arena_get(&p->arena, total, sizeof(*list));
    keys = (const qnnrt_compile__key **)qnnrt_arena_get(&p->arena, total, sizeof(*keys));
    for (i = 0; i < part->node_count && keys != NULL; ++i)
        for (k = 0; k < part->nodes[i]->input_count; ++k) {
            const qnnrt_ir_value *value = part->nodes[i]->inputs[k];
            if (value == NULL || value->origin != QNNRT_IR_WEIGHT || value->count == 0) continue;
            list[count].identity = qnnrt_compile__identity(value);
            list[count].bytes = value->count * qnnrt_ir_dtype_bytes(value->dtype);
            keys[count] = &list[count];
            ++count;
        }
    qnnrt_sort((const void **)keys, count, qnnrt_compile__key_order);
    for (i = 0; i < count; ++i)
        if (kept == 0 || keys[kept - 1]->identity != keys[i]->identity) keys[kept++] = keys[i];
    part->keys = keys;
    part->key_count = kept;
}

/* Return how many bytes of weights two parts share. */
static uint64_t qnnrt_compile__shared(const qnnrt_compile__part *a, const qnnrt_compile__part *b)
{
    uint64_t bytes = 0;
    size_t i = 0, k = 0;
    while (i < a->key_count && k < b->key_count) {
        const int order = qnnrt_compile__key_order(a->keys[i], b->keys[k]);
        if (order == 0) bytes += a->keys[i]->bytes;
        i += order <= 0;
        k += order >= 0;
    }
    return bytes;
}

/* Return the unit that a part belongs to, p->unit_count if that is a new one. */
static size_t qnnrt_compile__unit_of(const qnnrt_compile *p, const qnnrt_compile__part *part,
                                     size_t ordinal)
{
    size_t best = p->unit_count, i, k;
    uint64_t most = 0;
    for (i = 0; i < p->unit_count; ++i) {
        const qnnrt_compile__unit *unit = &p->units[i];
        uint64_t bytes = unit->ordinal == ordinal;       /* decides where no weight does */
        int has = unit->backend != part->info.backend;
        if (p->desc.whole) return i;
        for (k = 0; k < unit->part_count && !has; ++k) {
            has = unit->parts[k]->graph == part->graph;
            bytes += 2 * qnnrt_compile__shared(unit->parts[k], part);
        }
        if (has || bytes <= most) continue;
        most = bytes;
        best = i;
    }
    return best;
}

/* Make a graph of a part. whole: it is that of all nodes. */
static qnnrt_result qnnrt_compile__extract(qnnrt_compile__part *part, int whole, qnnrt_error *err)
{
    part->ir = part->graph->ir;
    return whole ? QNNRT_OK
                 : qnnrt_ir_extract(part->graph->ir, part->nodes, part->node_count, part->inputs,
                                    part->input_count, part->outputs, part->output_count,
                                    part->info.name, &part->ir, err);
}

/* Return into how many contexts the parts of a unit are cut: their share of all weights. */
static uint32_t qnnrt_compile__shards(const qnnrt_compile *p, const qnnrt_compile__unit *unit)
{
    double all = 0, own = 0, count;
    size_t i, k;
    if (unit->watch || p->desc.lower.contexts <= 1) return 1;
    for (i = 0; i < p->unit_count; ++i)
        for (k = 0; k < p->units[i].parts[0]->key_count; ++k) {
            const double bytes = (double)p->units[i].parts[0]->keys[k]->bytes;
            all += bytes;
            own += unit == &p->units[i] ? bytes : 0;
        }
    count = all > 0 ? own * (double)p->desc.lower.contexts / all + 0.5 : 1;
    return count >= 1 ? (uint32_t)count : 1;
}

/* Put the parts of all graphs in units, and make a graph of each. */
static qnnrt_result qnnrt_compile__units(qnnrt_compile *p, qnnrt_error *err)
{
    qnnrt_compile__graph *graph;
    size_t i, k, most = 0;
    for (graph = p->first; graph != NULL; graph = graph->next) most += graph->info.step_count;
    p->units = (qnnrt_compile__unit *)qnnrt_arena_get(&p->arena, most, sizeof(*p->units));
    if (p->units == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    for (graph = p->first; graph != NULL; graph = graph->next)
        for (i = 0; i < graph->info.step_count; ++i) {
            qnnrt_compile__part *part = &graph->parts[i];
            qnnrt_compile__unit *unit;
            size_t ordinal = 0;
            const qnnrt_result result = qnnrt_compile__extract(part, p->desc.whole, err);
            if (result != QNNRT_OK) return result;
            part->info.ir = part->ir;
            if (p->backends[part->info.backend].backend == NULL) {
                if (!qnnrt_compile__copy_outputs(p, graph->ir, part->ir) ||
                    !qnnrt_compile__bind(part))
                    return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
                continue;
            }
            for (k = 0; k < i; ++k)
                ordinal += graph->parts[k].info.backend == part->info.backend;
            qnnrt_compile__keys(p, part);
            if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
            k = qnnrt_compile__unit_of(p, part, ordinal);
            unit = &p->units[k];
            if (k == p->unit_count) {
                p->unit_count += 1;
                unit->program = p;
                unit->backend = part->info.backend;
                unit->ordinal = ordinal;
                unit->parts = (qnnrt_compile__part **)qnnrt_arena_get(&p->arena, p->graph_count,
                                                                      sizeof(*unit->parts));
                if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
            }
            part->unit = unit;
            part->info.number = unit->part_count;
            unit->parts[unit->part_count++] = part;
        }
    return QNNRT_OK;
}

/* Move a node away from a backend that accepted it: the next plan gives it to another one. */
static void qnnrt_compile__move(qnnrt_compile *p, qnnrt_compile__graph *graph, size_t backend,
                                size_t node, const char *why)
{
    qnnrt_compile_move *move;
    if (graph->refused[backend * graph->asked + node] != NULL) return;
    p->moves = (qnnrt_compile_move *)qnnrt_compile__more(p, p->moves, p->move_count, &p->move_room,
                                                         sizeof(*p->moves));
    if (p->arena.failed) return;
    qnnrt_compile__refuse(p, graph, backend, node, why);
    move = &p->moves[p->move_count++];
    move->graph = graph->info.name;
    move->node = graph->ir->nodes[node]->name;
    move->op = graph->ir->nodes[node]->op;
    move->role = p->backends[backend].role;
    move->why = graph->refused[backend * graph->asked + node];
    if (p->desc.told != NULL) {
        char text[2400];
        snprintf(text, sizeof text, "graph \"%.200s\": node \"%.200s\" (%.100s) moves away from"
                 " \"%.60s\": %.1500s", move->graph, move->node, move->op, move->role, move->why);
        qnnrt_text_clean(text);
        p->desc.told(p->desc.told_user, text);
    }
}

/* Move the nodes of all findings of a unit. Return how many there are. */
static size_t qnnrt_compile__move_findings(qnnrt_compile *p, const qnnrt_compile__unit *unit)
{
    const qnnrt_lower_info *info = qnnrt_compile__facts(p, unit->lower);
    size_t i, k, at, moved = 0;
    for (k = 0; k < info->finding_count && !p->desc.whole; ++k) {
        const qnnrt_ir_node *node = info->findings[k].node;
        for (i = 0; i < unit->part_count && node != NULL; ++i) {
            const qnnrt_compile__part *part = unit->parts[i];
            for (at = 0; at < part->ir->node_count && part->ir->nodes[at] != node; ++at) {}
            if (at == part->ir->node_count) continue;
            qnnrt_compile__move(p, part->graph, unit->backend,
                                part->graph->node_at[node->number], info->findings[k].text);
            moved += 1;
        }
    }
    return moved;
}

/* Return true if a graph has the value of an encoding, under its name, its key, or that of a tensor
   that is made of it: NAME.NUMBER. */
static int qnnrt_compile__has_value(const qnnrt_ir *ir, const char *name)
{
    const size_t bytes = strlen(name);
    size_t i, dot = bytes;           /* of the last one, if only digits follow it */
    while (dot > 0 && name[dot - 1] >= '0' && name[dot - 1] <= '9') --dot;
    dot = dot > 1 && dot < bytes && name[dot - 1] == '.' ? dot - 1 : 0;
    for (i = 0; i < ir->value_count; ++i) {
        const qnnrt_ir_value *value = ir->values[i];
        if (strcmp(value->name, name) == 0 ||
            (value->key != NULL && strcmp(value->key, name) == 0) ||
            (dot > 0 && strncmp(value->name, name, dot) == 0 && value->name[dot] == '\0'))
            return 1;
    }
    return 0;
}

/* Return true if an encoding is for a part. */
static int qnnrt_compile__is_meant(const qnnrt_compile__part *part, const qnnrt_lower_encoding *e)
{
    if (e->graph != NULL && strcmp(e->graph, part->info.name) == 0) return 1;
    if (e->graph != NULL && strcmp(e->graph, part->graph->info.name) != 0) return 0;
    return qnnrt_compile__has_value(part->ir, e->name);
}

/* Give a unit the encodings of its parts, with their names as graphs. */
static qnnrt_result qnnrt_compile__encodings(qnnrt_compile *p, const qnnrt_compile__unit *unit,
                                             qnnrt_lower_desc *desc, qnnrt_error *err)
{
    const size_t most = desc->encoding_count;
    qnnrt_lower_encoding *list = NULL;
    size_t i, k, count = 0, room = 0;
    if (most == 0) return QNNRT_OK;
    for (k = 0; k < unit->part_count; ++k)
        for (i = 0; i < most; ++i) {
            if (!qnnrt_compile__is_meant(unit->parts[k], &desc->encodings[i])) continue;
            list = (qnnrt_lower_encoding *)qnnrt_compile__more(p, list, count, &room,
                                                               sizeof(*list));
            if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
            list[count] = desc->encodings[i];
            list[count++].graph = unit->parts[k]->info.name;
        }
    desc->encodings = list;
    desc->encoding_count = count;
    return QNNRT_OK;
}

/* Quantize the activations of a unit, if that is wanted. */
static qnnrt_result qnnrt_compile__quantize(qnnrt_compile *p, const qnnrt_compile__unit *unit,
                                            qnnrt_error *err)
{
    const qnnrt_compile_backend *backend = &p->backends[unit->backend];
    qnnrt_builder *scratch = NULL;
    qnnrt_result result;
    if (p->desc.lower.act_bits == 0) return QNNRT_OK;
    result = qnnrt_builder_create(backend->backend, &backend->builder, &scratch, err);
    if (result == QNNRT_OK) result = qnnrt_lower_quantize(unit->lower, scratch, err);
    qnnrt_builder_destroy(scratch);
    return result;
}

/* Make what lowers a unit. With desc.whole it is what ran the passes, which knows their removed
   nodes. */
static qnnrt_result qnnrt_compile__lowers(qnnrt_compile *p, qnnrt_compile__unit *unit,
                                          qnnrt_error *err)
{
    qnnrt_lower_desc desc = qnnrt_compile__options(p, unit->backend);
    qnnrt_result result;
    unit->lower = p->main;
    if (p->desc.whole && !unit->watch) return QNNRT_OK;
    unit->lower = NULL;
    desc.passed = NULL;
    if (!p->desc.whole) desc.io = qnnrt_compile__io;
    desc.io_user = unit;
    desc.contexts = qnnrt_compile__shards(p, unit);
    desc.watch = unit->watch;
    if (unit->watch == 2) {
        qnnrt_compile__in_floats(&desc);
        desc.weight_bits = desc.weight_block = 0;
        desc.weight_emulate = 0;
        desc.weight_bits_of = NULL;
    }
    result = qnnrt_compile__encodings(p, unit, &desc, err);
    return result == QNNRT_OK ? qnnrt_lower_create(&desc, &unit->lower, err) : result;
}

/* Lower the parts of a unit. *moved receives how many nodes are refused; then the result is
   QNNRT_E_UNSUPPORTED. */
static qnnrt_result qnnrt_compile__lower(qnnrt_compile *p, qnnrt_compile__unit *unit, size_t *moved,
                                         qnnrt_error *err)
{
    qnnrt_result result = qnnrt_compile__lowers(p, unit, err), worst = QNNRT_OK;
    const int whole = result == QNNRT_OK && unit->lower == p->main;
    qnnrt_error first;
    size_t i;
    for (i = 0; i < unit->part_count && result == QNNRT_OK; ++i) {
        qnnrt_compile__part *part = unit->parts[i];
        if (!whole) result = qnnrt_lower_weights(unit->lower, part->ir, part->graph->weights, err);
        else if (part->graph->place != 0)
            result = qnnrt_lower_place(unit->lower, part->graph->place - 1, err);
        if (result != QNNRT_OK) break;
        result = qnnrt_lower_graph(unit->lower, part->ir, part->info.name, &first);
        if (result == QNNRT_OK) continue;
        if (err != NULL) *err = first;
        if (result != QNNRT_E_UNSUPPORTED) break;
        worst = result;
        result = QNNRT_OK;
    }
    for (i = 0; i < unit->part_count; ++i) unit->parts[i]->info.lower = unit->lower;
    if (result == QNNRT_OK) result = worst;
    if (result == QNNRT_OK) result = qnnrt_compile__quantize(p, unit, err);
    if (result == QNNRT_E_UNSUPPORTED && unit->lower != NULL)
        *moved += qnnrt_compile__move_findings(p, unit);
    return result;
}

/* Add a unit to a builder. *moved as above, for what the library refuses there. */
static qnnrt_result qnnrt_compile__emit(qnnrt_compile *p, qnnrt_compile__unit *unit,
                                        qnnrt_builder *builder, size_t *moved, qnnrt_error *err)
{
    const qnnrt_result result = qnnrt_lower_emit(unit->lower, builder, err);
    if (result == QNNRT_E_UNSUPPORTED) *moved += qnnrt_compile__move_findings(p, unit);
    return result;
}

/* Count the operators of each part of a unit, and what float16 changed. */
static void qnnrt_compile__count(qnnrt_compile__unit *unit)
{
    const qnnrt_lower_info *info = qnnrt_compile__facts(unit->program, unit->lower);
    size_t i;
    for (i = 0; i < unit->part_count && i < info->graph_count; ++i) {
        unit->parts[i]->info.op_count = info->graphs[i].used_ops;
        unit->parts[i]->lowered = &info->graphs[i];
    }
    unit->contexts = info->contexts;
    unit->program->info.flushed += info->flushed;
    unit->program->info.clamped += info->clamped;
}

/* =====================================================================================
   FAILING NODE                                                                 >>failing
   Which node makes a library fail to compile a part: the one that its log names, else the last
   node of the shortest beginning of the part that fails.
   Needs: >>config >>unit     Knows nothing of: plans
   ===================================================================================== */

/* Compile the first `count` nodes of a part alone. */
static qnnrt_result qnnrt_compile__try(qnnrt_compile *p, const qnnrt_compile__part *whole,
                                       size_t count, qnnrt_error *err)
{
    const size_t backend = whole->info.backend;
    qnnrt_compile__part part = *whole, *list = &part;
    qnnrt_compile__unit unit;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_result result;
    size_t i, k, o, room = 0, moved = 0;
    memset(&unit, 0, sizeof(unit));
    unit.program = p;
    unit.backend = backend;
    unit.parts = &list;
    unit.part_count = 1;
    part.ir = NULL;
    part.node_count = count;
    part.outer_count = part.output_count = 0;
    for (i = 0; i < count; ++i) room += whole->nodes[i]->output_count;
    part.outputs = (const qnnrt_ir_value **)qnnrt_arena_get(&p->arena, room, sizeof(*part.outputs));
    if (part.outputs == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    for (i = 0; i < count; ++i)                  /* what later nodes read, or the part gives away */
        for (o = 0; o < whole->nodes[i]->output_count; ++o) {
            const qnnrt_ir_value *value = whole->nodes[i]->outputs[o];
            int wanted = 0;
            for (k = 0; k < whole->output_count && !wanted; ++k)
                wanted = whole->outputs[k] == value;
            for (k = count; k < whole->node_count && !wanted; ++k) {
                size_t n;
                for (n = 0; n < whole->nodes[k]->input_count && !wanted; ++n)
                    wanted = whole->nodes[k]->inputs[n] == value;
            }
            if (wanted && value->count > 0) part.outputs[part.output_count++] = value;
        }
    result = qnnrt_ir_extract(whole->graph->ir, part.nodes, count, part.inputs, part.input_count,
                              part.outputs, part.output_count, part.info.name, &part.ir, err);
    if (result == QNNRT_OK)
        result = qnnrt_builder_create(p->backends[backend].backend, &p->backends[backend].builder,
                                      &builder, err);
    if (result == QNNRT_OK) result = qnnrt_compile__lower(p, &unit, &moved, err);
    if (result == QNNRT_OK) result = qnnrt_compile__emit(p, &unit, builder, &moved, err);
    if (result == QNNRT_OK) result = qnnrt_builder_finish(builder, &model, err);
    qnnrt_builder_destroy(builder);
    qnnrt_close(model);
    qnnrt_lower_free(unit.lower);
    qnnrt_ir_free(part.ir);
    return result;
}

/* Return true if an error may be the fault of a node. */
static int qnnrt_compile__is_fault(qnnrt_result result)
{
    return result == QNNRT_E_BACKEND || result == QNNRT_E_UNSUPPORTED;
}

/* Find the node of a part that fails, and move it. Return 0 if the part compiles alone. */
static int qnnrt_compile__search(qnnrt_compile *p, const qnnrt_compile__part *part)
{
    size_t good = 0, bad = part->node_count;
    qnnrt_error err, last;
    memset(&last, 0, sizeof(last));
    if (!qnnrt_compile__is_fault(qnnrt_compile__try(p, part, bad, &last))) return 0;
    while (bad - good > 1) {
        const size_t middle = good + (bad - good) / 2;
        if (qnnrt_compile__is_fault(qnnrt_compile__try(p, part, middle, &err))) {
            bad = middle;
            last = err;
        } else {
            good = middle;
        }
    }
    qnnrt_compile__move(p, part->graph, part->info.backend,
                        part->graph->node_at[part->nodes[bad - 1]->number], last.text);
    return 1;
}

/* Move the node that made a library fail. Return 0 if no node is found. */
static int qnnrt_compile__failing(qnnrt_compile *p, size_t backend, const qnnrt_builder *builder,
                                  const qnnrt_error *err)
{
    const char *graph = qnnrt_builder_failed_graph(builder);
    const char *op = qnnrt_builder_failed_node(builder);
    const size_t before = p->move_count;
    size_t i, k;
    for (i = 0; i < p->unit_count && graph != NULL && op != NULL; ++i) {
        const qnnrt_compile__unit *unit = &p->units[i];
        const qnnrt_ir_node *node = unit->backend == backend && unit->lower != NULL
                                        ? qnnrt_lower_node_of(unit->lower, graph, op) : NULL;
        for (k = 0; k < unit->part_count && node != NULL; ++k)
            if (strcmp(unit->parts[k]->info.name, graph) == 0)
                qnnrt_compile__move(p, unit->parts[k]->graph, backend,
                                    unit->parts[k]->graph->node_at[node->number], err->text);
    }
    for (i = 0; i < p->unit_count && p->move_count == before; ++i)
        for (k = 0; k < p->units[i].part_count && p->move_count == before; ++k) {
            const qnnrt_compile__part *part = p->units[i].parts[k];
            if (part->info.backend == backend &&
                (graph == NULL || strcmp(part->info.name, graph) == 0))
                qnnrt_compile__search(p, part);
        }
    return p->move_count > before;
}

/* Build the contexts of one backend. *moved receives how many nodes move. */
static qnnrt_result qnnrt_compile__compile(qnnrt_compile *p, size_t backend, size_t *moved,
                                           qnnrt_error *err)
{
    const size_t before = p->move_count;
    qnnrt_builder *builder = NULL;
    qnnrt_result result = QNNRT_OK, worst = QNNRT_OK;
    qnnrt_error first, own;
    size_t i, units = 0;
    if (err == NULL) err = &own;
    memset(&first, 0, sizeof(first));
    for (i = 0; i < p->unit_count; ++i) units += p->units[i].backend == backend;
    if (units == 0) return QNNRT_OK;
    result = qnnrt_builder_create(p->backends[backend].backend, &p->backends[backend].builder,
                                  &builder, err);
    for (i = 0; i < p->unit_count && result == QNNRT_OK; ++i) {
        if (p->units[i].backend != backend) continue;
        result = qnnrt_compile__emit(p, &p->units[i], builder, moved, err);
        if (result != QNNRT_E_UNSUPPORTED) continue;
        if (worst == QNNRT_OK) { worst = result; first = *err; }
        result = QNNRT_OK;                       /* the other units may have findings, too */
    }
    if (result == QNNRT_OK && worst != QNNRT_OK) { result = worst; *err = first; }
    if (result != QNNRT_OK) {
        qnnrt_builder_destroy(builder);
        return result;
    }
    result = qnnrt_builder_finish(builder, &p->models[backend], err);
    if (qnnrt_compile__is_fault(result) && !p->desc.whole) {
        first = *err;
        if (qnnrt_compile__failing(p, backend, builder, &first)) *moved += p->move_count - before;
        *err = first;
    }
    if (result == QNNRT_OK)
        for (i = 0; i < p->unit_count; ++i)
            if (p->units[i].backend == backend) qnnrt_compile__count(&p->units[i]);
    return result;
}

/* =====================================================================================
   WIRE                                                                            >>wire
   The pipelines of the parts: steps, edges with conversions, constants, ranges.
   Needs: >>config >>arena >>border     Knows nothing of: plans, files
   ===================================================================================== */

/* Return the name of output `index` of a part, as qnnrt_lower_graph() names it. */
static const char *qnnrt_compile__output_name(qnnrt_compile *p, const qnnrt_compile__part *part,
                                              size_t index)
{
    size_t k = 0;
    if (p->backends[part->info.backend].backend == NULL) return part->ir->outputs[index]->name;
    while (k < index && part->outputs[k] != part->outputs[index]) ++k;
    return k == index ? part->outputs[index]->name
                      : qnnrt_compile__text(p, "%.200s.%lu", part->outputs[index]->name,
                                            (unsigned long)index);
}

/* Return a constant that is added, with its source. Its data are its identity. name: begins it */
static qnnrt_compile_constant *qnnrt_compile__add_constant(qnnrt_compile *p, const char *name,
                                                           const void *data, qnnrt_dtype dtype,
                                                           uint64_t count)
{
    size_t room = p->constant_room;
    qnnrt_compile_constant *constant;
    p->constants = (qnnrt_compile_constant *)qnnrt_compile__more(
        p, p->constants, p->constant_count, &room, sizeof(*p->constants));
    p->sources = (qnnrt_compile__elements *)qnnrt_compile__more(
        p, p->sources, p->constant_count, &p->constant_room, sizeof(*p->sources));
    if (p->arena.failed) return NULL;
    memset(&p->sources[p->constant_count], 0, sizeof(*p->sources));
    constant = &p->constants[p->constant_count];
    constant->name = qnnrt_compile__text(p, "%.200s.%lu", name, (unsigned long)p->constant_count);
    constant->dtype = dtype;
    constant->rank = 1;
    constant->dims[0] = 1;                       /* of a scalar */
    constant->bytes = count * qnnrt_ir_dtype_bytes(dtype);
    constant->data = data;
    p->constant_count += 1;
    return constant;
}

/* Return the constant of a weight, which is added unless it is there. tensor: as the host reads
   it. */
static const qnnrt_compile_constant *
qnnrt_compile__constant(qnnrt_compile *p, const qnnrt_ir_value *value,
                        const qnnrt_cpu_fallback_tensor *tensor)
{
    const qnnrt_weight *weight = qnnrt_lower_weight_of(value);
    const void *identity = weight != NULL ? (const void *)weight : (const void *)value;
    qnnrt_compile_constant *constant;
    size_t i;
    for (i = 0; i < p->constant_count; ++i)
        if (p->constants[i].data == identity && p->constants[i].dtype == tensor->dtype)
            return &p->constants[i];
    constant = qnnrt_compile__add_constant(p, value->name, identity, tensor->dtype, value->count);
    if (constant == NULL) return NULL;
    constant->rank = tensor->rank;
    for (i = 0; i < tensor->rank; ++i) constant->dims[i] = tensor->dims[i];
    p->sources[p->constant_count - 1].value = value;
    return constant;
}

/* Return the tensors of the step of the host that a part is; *count receives their number. */
static const qnnrt_cpu_fallback_tensor *qnnrt_compile__tensors(qnnrt_compile *p,
                                                               const qnnrt_compile__part *part,
                                                               int outputs, size_t *count)
{
    qnnrt_cpu_fallback_tensor *list;
    *count = qnnrt_cpu_fallback_tensors(part->ir, outputs, NULL, 0);
    list = (qnnrt_cpu_fallback_tensor *)qnnrt_arena_get(&p->arena, *count, sizeof(*list));
    if (list == NULL) *count = 0;
    else qnnrt_cpu_fallback_tensors(part->ir, outputs, list, *count);
    return list;
}

/* Describe tensors of a step, with room for `more` others. */
static qnnrt_tensor_info *qnnrt_compile__infos(qnnrt_compile *p,
                                               const qnnrt_cpu_fallback_tensor *list, size_t count,
                                               size_t more)
{
    qnnrt_tensor_info *infos = (qnnrt_tensor_info *)qnnrt_arena_get(&p->arena, count + more,
                                                                    sizeof(*infos));
    size_t i;
    for (i = 0; i < count && infos != NULL; ++i) {
        infos[i].name = list[i].value->name;
        infos[i].dtype = list[i].dtype;
        infos[i].rank = list[i].rank;
        infos[i].dims = list[i].dims;
    }
    return infos;
}

/* Return the step of the pipeline, one of the first `count` of a part, that makes a tensor;
   SIZE_MAX: none does. */
static size_t qnnrt_compile__maker(const qnnrt_compile__part *part, const char *name, size_t count)
{
    size_t i, k;
    if (part->unit == NULL) return part->step;
    for (i = 0; i < count; ++i)
        for (k = 0; k < part->shards[i]->output_count; ++k)
            if (strcmp(part->shards[i]->outputs[k].name, name) == 0) return part->step + i;
    return SIZE_MAX;
}

/* Return the graph of a part in a context of the program, or NULL. */
static const qnnrt_graph_info *qnnrt_compile__graph_of(const qnnrt_compile *p,
                                                       const qnnrt_compile__part *part,
                                                       size_t context)
{
    const qnnrt_info *model = qnnrt_get_info(p->models[part->info.backend]);
    const qnnrt_context_info *at = &model->contexts[p->contexts[context].number];
    size_t i;
    for (i = 0; i < at->graph_count; ++i)
        if (strcmp(at->graphs[i].name, part->info.name) == 0) return &at->graphs[i];
    return NULL;
}

/* Return true if step `shard` of a part reads a tensor. */
static int qnnrt_compile__reads(const qnnrt_compile__part *part, size_t shard, const char *name)
{
    size_t k;
    for (k = 0; k < part->shards[shard]->input_count; ++k)
        if (strcmp(part->shards[shard]->inputs[k].name, name) == 0) return 1;
    return 0;
}

/* Find the part that makes a value for others, and its output. Return 0 if none does. */
static int qnnrt_compile__source(const qnnrt_compile__graph *graph, const qnnrt_ir_value *value,
                                 size_t *part, size_t *output)
{
    size_t i, k;
    for (i = 0; i < graph->info.step_count; ++i)
        for (k = graph->parts[i].outer_count; k < graph->parts[i].output_count; ++k)
            if (graph->parts[i].outputs[k] == value) {
                *part = i;
                *output = k;
                return 1;
            }
    return 0;
}

/* What the pipeline of a graph grows. */
typedef struct qnnrt_compile__wires {
    qnnrt_edge_desc     *edges;
    qnnrt_conversion    *conversions;
    qnnrt_use_desc      *uses;
} qnnrt_compile__wires;

/* Return an edge that is added. */
static qnnrt_edge_desc *qnnrt_compile__edge(qnnrt_compile__graph *graph,
                                            qnnrt_compile__wires *wires, size_t from_step,
                                            const char *from, size_t to_step, const char *to)
{
    qnnrt_edge_desc *edge = &wires->edges[graph->pipeline.edge_count++];
    edge->from_step = from_step;
    edge->from = from;
    edge->to_step = to_step;
    edge->to = to;
    return edge;
}

/* Wire input `index` of a part, which step `shard` of the part may read. */
static void qnnrt_compile__wire_input(qnnrt_compile *p, qnnrt_compile__graph *graph,
                                      const qnnrt_compile__part *part, size_t shard, size_t index,
                                      qnnrt_compile__wires *wires)
{
    const qnnrt_lower_graph_info *lowered = part->lowered;
    const qnnrt_ir_value *value = part->inputs[index];
    const qnnrt_lower_tensor *tensor = NULL;
    const char *name = value->name;
    size_t from, output;
    if (lowered != NULL) {
        tensor = &lowered->tensors[lowered->inputs[index]];
        name = tensor->name;
        if (lowered->inputs[index] <= 0 || !qnnrt_compile__reads(part, shard, name)) return;
    }
    if (qnnrt_compile__source(graph, value, &from, &output)) {
        const qnnrt_compile__part *source = &graph->parts[from];
        const char *made = qnnrt_compile__output_name(p, source, output);
        qnnrt_conversion *converts = &wires->conversions[graph->pipeline.edge_count];
        qnnrt_compile__edge(graph, wires, qnnrt_compile__maker(source, made, source->shard_count),
                            made, part->step + shard, name);
        if (qnnrt_compile__border(p, source, value, 1, output) !=
            qnnrt_compile__border(p, part, value, 0, index))
            converts->how = QNNRT_CONVERT_VALUES;
    } else if (tensor != NULL && tensor->has_range) {
        qnnrt_use_desc *wire = &wires->uses[graph->pipeline.use_count++];
        wire->step = part->step + shard;
        wire->tensor = name;
        wire->has_range = 1;
        wire->low = tensor->low;
        wire->high = tensor->high;
    }
}

/* Add the steps of the pipeline that a part on a backend has, and wire them. With desc.whole and
   without states nothing but ranges is said. */
static void qnnrt_compile__wire_shards(qnnrt_compile *p, qnnrt_compile__graph *graph,
                                       const qnnrt_compile__part *part, qnnrt_step_desc *steps,
                                       qnnrt_compile__wires *wires)
{
    const size_t last = part->info.context + part->unit->contexts;
    size_t i, k, context = part->info.context, from;
    for (i = 0; i < part->shard_count && context < last; ++i, ++context) {
        const qnnrt_graph_info *shard = part->shards[i];
        while (qnnrt_compile__graph_of(p, part, context) != shard) ++context;
        steps[part->step + i].context = context;
        steps[part->step + i].graph = part->info.name;
        for (k = 0; k < part->input_count && !p->arena.failed; ++k)
            qnnrt_compile__wire_input(p, graph, part, i, k, wires);
        for (k = 0; k < shard->input_count && i > 0 && graph->pipeline.edges_only; ++k) {
            from = qnnrt_compile__maker(part, shard->inputs[k].name, i);
            if (from != SIZE_MAX)
                qnnrt_compile__edge(graph, wires, from, shard->inputs[k].name, part->step + i,
                                    shard->inputs[k].name);
        }
    }
    graph->pipeline.step_count += part->shard_count;
}

/* Bind an input of a step of the host to a constant. */
static void qnnrt_compile__use(qnnrt_compile__graph *graph, qnnrt_compile__wires *wires,
                               size_t step, const char *tensor,
                               const qnnrt_compile_constant *constant)
{
    qnnrt_use_desc *wire = &wires->uses[graph->pipeline.use_count++];
    wire->step = step;
    wire->tensor = tensor;
    wire->constant = constant->data;
    wire->constant_bytes = (size_t)constant->bytes;
}

/* Give the tensors of a function the order of its node's inputs. */
static void qnnrt_compile__in_order(const qnnrt_compile__part *part, qnnrt_tensor_info *list,
                                    size_t count)
{
    const qnnrt_ir_node *node = part->ir->nodes[0];
    size_t i, k, done = 0;
    for (i = 0; i < node->input_count; ++i)
        for (k = done; node->inputs[i] != NULL && k < count; ++k)
            if (strcmp(list[k].name, node->inputs[i]->name) == 0) {
                const qnnrt_tensor_info found = list[k];
                memmove(&list[done + 1], &list[done], (k - done) * sizeof(*list));
                list[done++] = found;
                break;
            }
}

/* Return the elements of an argument of a function, their number and type; NULL: it is left out. */
static const void *qnnrt_compile__argument(qnnrt_compile *p, const qnnrt_ir_attr *attr,
                                           qnnrt_dtype *dtype, uint64_t *count)
{
    unsigned char *truth;
    *count = 1;
    *dtype = QNNRT_DTYPE_I64;
    switch (attr->kind) {
    case QNNRT_IR_INT: return &attr->i;
    case QNNRT_IR_BOOL:
        *dtype = QNNRT_DTYPE_BOOL8;
        truth = (unsigned char *)qnnrt_arena_get(&p->arena, 1, 1);
        if (truth != NULL) *truth = attr->i != 0;
        return truth;
    case QNNRT_IR_FLOAT:
        *dtype = QNNRT_DTYPE_F64;
        return &attr->f;
    case QNNRT_IR_TEXT:
        *dtype = QNNRT_DTYPE_U8;
        *count = strlen(attr->text);
        return *count > 0 ? attr->text : NULL;
    case QNNRT_IR_INTS:
        *count = attr->count;
        return *count > 0 ? attr->ints : NULL;
    case QNNRT_IR_FLOATS:
        *dtype = QNNRT_DTYPE_F64;
        *count = attr->count;
        return attr->floats;
    default: return NULL;
    }
}

/* Add the other arguments of a node to the step that its function computes. list: has room. */
static void qnnrt_compile__arguments(qnnrt_compile *p, qnnrt_compile__graph *graph,
                                     const qnnrt_compile__part *part, qnnrt_host_step *step,
                                     qnnrt_tensor_info *list, qnnrt_compile__wires *wires)
{
    const qnnrt_ir_node *node = part->ir->nodes[0];
    size_t i;
    for (i = 0; i < node->attr_count && !p->arena.failed; ++i) {
        qnnrt_dtype dtype;
        uint64_t count;
        const void *data = qnnrt_compile__argument(p, &node->attrs[i], &dtype, &count);
        qnnrt_tensor_info *info = &list[step->input_count];
        uint32_t *dims = (uint32_t *)qnnrt_arena_get(&p->arena, 1, sizeof(*dims));
        qnnrt_compile_constant *constant;
        if (data == NULL || dims == NULL) continue;
        info->name = qnnrt_compile__text(p, "attr.%.200s", node->attrs[i].name);
        constant = qnnrt_compile__add_constant(p, node->attrs[i].name, data, dtype, count);
        if (constant == NULL) return;
        constant->dims[0] = dims[0] = (uint32_t)count;
        p->sources[p->constant_count - 1].argument = data;
        info->dtype = dtype;
        info->rank = 1;
        info->dims = dims;
        step->input_count += 1;
        qnnrt_compile__use(graph, wires, part->step, info->name, constant);
    }
}

/* Describe the step of the host that a part is, and bind its weights. */
static const qnnrt_host_step *qnnrt_compile__wire_host(qnnrt_compile *p,
                                                       qnnrt_compile__graph *graph,
                                                       const qnnrt_compile__part *part,
                                                       qnnrt_compile__wires *wires)
{
    const size_t more = part->info.function != NULL ? part->ir->nodes[0]->attr_count : 0;
    qnnrt_host_step *step = (qnnrt_host_step *)qnnrt_arena_get(&p->arena, 1, sizeof(*step));
    const qnnrt_cpu_fallback_tensor *inputs, *outputs;
    qnnrt_tensor_info *list;
    size_t i, k;
    if (step == NULL) return NULL;
    step->name = part->info.name;
    inputs = qnnrt_compile__tensors(p, part, 0, &step->input_count);
    outputs = qnnrt_compile__tensors(p, part, 1, &step->output_count);
    step->inputs = list = qnnrt_compile__infos(p, inputs, step->input_count, more);
    step->outputs = qnnrt_compile__infos(p, outputs, step->output_count, 0);
    for (i = 0; i < step->input_count && !p->arena.failed; ++i) {
        const qnnrt_compile_constant *constant;
        if (inputs[i].value->origin != QNNRT_IR_WEIGHT) continue;
        for (k = 0; k < part->weight_count &&
                    strcmp(part->weights[k]->name, inputs[i].value->name) != 0; ++k) {}
        if (k == part->weight_count) continue;
        constant = qnnrt_compile__constant(p, part->weights[k], &inputs[i]);
        if (constant == NULL) break;
        qnnrt_compile__use(graph, wires, part->step, inputs[i].value->name, constant);
    }
    if (part->info.function == NULL || list == NULL) return step;
    qnnrt_compile__in_order(part, list, step->input_count);
    qnnrt_compile__arguments(p, graph, part, step, list, wires);
    return step;
}

/* Let the name of an output of the graph find it, where an edge has the same name. */
static void qnnrt_compile__wire_outputs(qnnrt_compile *p, qnnrt_compile__graph *graph,
                                        const qnnrt_compile__part *part,
                                        qnnrt_compile__wires *wires)
{
    size_t i, from, output;
    for (i = 0; i < part->outer_count; ++i) {
        qnnrt_use_desc *name = &wires->uses[graph->pipeline.use_count];
        if (!qnnrt_compile__source(graph, part->outputs[i], &from, &output)) continue;
        name->name = name->tensor = qnnrt_compile__output_name(p, part, i);
        name->step = qnnrt_compile__maker(part, name->name, part->shard_count);
        name->output = 1;
        graph->pipeline.use_count += 1;
    }
}

/* Find the graphs of a part in the contexts of its unit. Return how many tensors they read. */
static size_t qnnrt_compile__find_shards(qnnrt_compile *p, qnnrt_compile__part *part)
{
    size_t i, inputs = 0;
    if (part->unit == NULL) return 0;
    part->shards = (const qnnrt_graph_info **)qnnrt_arena_get(&p->arena, part->unit->contexts,
                                                              sizeof(*part->shards));
    part->shard_count = 0;
    for (i = 0; i < part->unit->contexts && part->shards != NULL; ++i) {
        const qnnrt_graph_info *shard = qnnrt_compile__graph_of(p, part, part->info.context + i);
        if (shard == NULL) continue;
        part->shards[part->shard_count++] = shard;
        inputs += shard->input_count;
    }
    return inputs;
}

/* Find the output of a part that is output `index` of the graph. Return 0 if the part does not make
   it. */
static int qnnrt_compile__made(const qnnrt_compile__graph *graph, const qnnrt_compile__part *part,
                               size_t index, size_t *output)
{
    size_t i, at = 0;
    for (i = 0; i < index && at < part->outer_count; ++i)
        at += part->outputs[at] == graph->ir->outputs[i];
    *output = at;
    return at < part->outer_count && part->outputs[at] == graph->ir->outputs[index];
}

/* Return the type of an output of a part, as the pipeline has it. */
static qnnrt_dtype qnnrt_compile__made_as(const qnnrt_compile *p, const qnnrt_compile__part *part,
                                          size_t output, const char *name)
{
    size_t i, k;
    for (i = 0; part->unit != NULL && i < part->shard_count; ++i)
        for (k = 0; k < part->shards[i]->output_count; ++k)
            if (strcmp(part->shards[i]->outputs[k].name, name) == 0)
                return part->shards[i]->outputs[k].dtype;
    return qnnrt_compile__border(p, part, part->outputs[output], 1, output);
}

/* List the inputs of steps that read an input of the graph. */
static void qnnrt_compile__readers(qnnrt_compile__graph *graph, const qnnrt_ir_value *value,
                                   qnnrt_manifest_end *list, size_t *count)
{
    size_t i, k, shard;
    for (i = 0; i < graph->info.step_count; ++i) {
        const qnnrt_compile__part *part = &graph->parts[i];
        for (k = 0; k < part->input_count && part->inputs[k] != value;) ++k;
        if (k == part->input_count) continue;
        if (part->unit == NULL) {
            list[*count].step = part->step;
            list[(*count)++].tensor = value->name;
            continue;
        }
        if (part->lowered->inputs[k] <= 0) continue;
        for (shard = 0; shard < part->shard_count; ++shard) {
            const char *name = part->lowered->tensors[part->lowered->inputs[k]].name;
            if (!qnnrt_compile__reads(part, shard, name)) continue;
            list[*count].step = part->step + shard;
            list[(*count)++].tensor = name;
        }
    }
}

/* Return the constant that a state begins with, which is added. */
static const qnnrt_compile_constant *
qnnrt_compile__first(qnnrt_compile *p, const qnnrt_weight *weight, const char *name,
                     const qnnrt_ir_value *value, qnnrt_dtype dtype)
{
    qnnrt_compile_constant *constant =
        qnnrt_compile__add_constant(p, name, weight, dtype, value->count);
    size_t i;
    if (constant == NULL) return NULL;
    if (value->rank > 0) constant->rank = value->rank;
    for (i = 0; i < value->rank; ++i) constant->dims[i] = (uint32_t)value->dims[i];
    p->sources[p->constant_count - 1].first = weight;
    return constant;
}

/* Describe the states of a graph. */
static void qnnrt_compile__states(qnnrt_compile *p, qnnrt_compile__graph *graph)
{
    const qnnrt_ir *ir = graph->ir;
    const size_t steps = graph->pipeline.step_count;
    qnnrt_manifest_state *list = (qnnrt_manifest_state *)qnnrt_arena_get(
        &p->arena, ir->state_count, sizeof(*list));
    size_t i, k, output;
    graph->info.states = list;
    graph->info.state_count = 0;
    for (i = 0; i < ir->state_count && !p->arena.failed; ++i) {
        const qnnrt_ir_value *value = ir->inputs[ir->states[i].input];
        qnnrt_manifest_state *state = &list[graph->info.state_count];
        qnnrt_manifest_end *to = (qnnrt_manifest_end *)qnnrt_arena_get(&p->arena, steps,
                                                                       sizeof(*to));
        const qnnrt_compile_constant *constant;
        for (k = 0; k < graph->info.step_count; ++k)
            if (qnnrt_compile__made(graph, &graph->parts[k], ir->states[i].output, &output)) break;
        if (k == graph->info.step_count || to == NULL) continue;     /* it has no elements */
        state->name = ir->states[i].name;
        state->from.tensor = qnnrt_compile__output_name(p, &graph->parts[k], output);
        state->from.step = qnnrt_compile__maker(&graph->parts[k], state->from.tensor,
                                                graph->parts[k].shard_count);
        state->to = to;
        qnnrt_compile__readers(graph, value, to, &state->to_count);
        constant = qnnrt_compile__first(p, qnnrt_weights_match(graph->weights, state->name),
                                        state->name, value,
                                        qnnrt_compile__made_as(p, &graph->parts[k], output,
                                                               state->from.tensor));
        if (constant != NULL) state->constant = constant->data;
        ++graph->info.state_count;
    }
}

/* Describe the pipeline of a graph. */
static void qnnrt_compile__wire(qnnrt_compile *p, qnnrt_compile__graph *graph)
{
    qnnrt_pipeline_desc *desc = &graph->pipeline;
    qnnrt_compile__wires wires;
    qnnrt_step_desc *steps;
    size_t i, k, inputs = 0, count = 0;
    for (i = 0; i < graph->info.step_count; ++i) {
        qnnrt_compile__part *part = &graph->parts[i];
        inputs += part->input_count + part->weight_count + qnnrt_compile__find_shards(p, part);
        if (part->info.function != NULL) inputs += part->ir->nodes[0]->attr_count;
        part->step = count;
        count += part->unit != NULL ? part->shard_count : 1;
    }
    memset(desc, 0, sizeof(*desc));
    steps = (qnnrt_step_desc *)qnnrt_arena_get(&p->arena, count, sizeof(*steps));
    wires.edges = (qnnrt_edge_desc *)qnnrt_arena_get(&p->arena, inputs, sizeof(*wires.edges));
    wires.conversions = (qnnrt_conversion *)qnnrt_arena_get(&p->arena, inputs,
                                                            sizeof(*wires.conversions));
    wires.uses = (qnnrt_use_desc *)qnnrt_arena_get(&p->arena, 2 * inputs + graph->ir->output_count,
                                                   sizeof(*wires.uses));
    if (p->arena.failed) return;
    desc->name = graph->info.name;
    desc->steps = steps;
    desc->edges = wires.edges;
    desc->uses = wires.uses;
    desc->edges_only = !p->desc.whole || graph->ir->state_count > 0;
    for (i = 0; i < graph->info.step_count; ++i) {
        qnnrt_compile__part *part = &graph->parts[i];
        if (part->unit == NULL) {
            steps[part->step].host = qnnrt_compile__wire_host(p, graph, part, &wires);
            for (k = 0; k < part->input_count && !p->arena.failed; ++k)
                qnnrt_compile__wire_input(p, graph, part, 0, k, &wires);
            desc->step_count += 1;
        } else {
            qnnrt_compile__wire_shards(p, graph, part, steps, &wires);
        }
        qnnrt_compile__wire_outputs(p, graph, part, &wires);
    }
    qnnrt_compile__states(p, graph);
    graph->info.pipeline = desc;
    graph->info.conversions = wires.conversions;
}

/* Number the contexts of all models, and describe all pipelines. */
static qnnrt_result qnnrt_compile__finish(qnnrt_compile *p, qnnrt_error *err)
{
    qnnrt_compile__graph *graph;
    size_t b, i, k, count = 0;
    for (i = 0; i < p->unit_count; ++i) count += p->units[i].contexts;
    p->contexts = (qnnrt_compile_context *)qnnrt_arena_get(&p->arena, count, sizeof(*p->contexts));
    count = 0;
    p->constant_count = 0;
    if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    for (b = 0; b < p->desc.backend_count; ++b) {
        size_t number = 0;
        for (i = 0; i < p->unit_count; ++i) {
            if (p->units[i].backend != b) continue;
            for (k = 0; k < p->units[i].part_count; ++k)
                p->units[i].parts[k]->info.context = count;
            for (k = 0; k < p->units[i].contexts; ++k) {
                p->contexts[count].backend = b;
                p->contexts[count].model = p->models[b];
                p->contexts[count++].number = number++;
            }
        }
    }
    p->info.contexts = p->contexts;
    p->info.context_count = count;
    for (graph = p->first; graph != NULL && !p->arena.failed; graph = graph->next)
        qnnrt_compile__wire(p, graph);
    if (!p->arena.failed) return qnnrt_error_clear(err);
    p->info.contexts = NULL;
    p->info.context_count = 0;
    return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
}

/* =====================================================================================
   WEIGHT ONLY                                                              >>weight_only
   What became of the weights that were asked to be quantized.
   Needs: >>config >>arena >>border     Knows nothing of: plans, operators
   ===================================================================================== */

/* List what the units of a backend did. */
static void qnnrt_compile__weight_only_of(qnnrt_compile *p, size_t backend)
{
    qnnrt_lower_weight_only *list;
    size_t i, total = 0, count = 0;
    for (i = 0; i < p->unit_count; ++i)
        if (p->units[i].backend == backend && p->units[i].lower != NULL)
            total += qnnrt_compile__facts(p, p->units[i].lower)->weight_only_count;
    list = (qnnrt_lower_weight_only *)qnnrt_arena_get(&p->arena, total, sizeof(*list));
    for (i = 0; i < p->unit_count && list != NULL; ++i)
        if (p->units[i].backend == backend && p->units[i].lower != NULL) {
            const qnnrt_lower_info *info = qnnrt_compile__facts(p, p->units[i].lower);
            if (info->weight_only_count > 0)
                memcpy(list + count, info->weight_only, info->weight_only_count * sizeof(*list));
            count += info->weight_only_count;
        }
    if (count != total) p->arena.failed = QNNRT_E_MEMORY;
    p->weight_only[backend].list = list;
    p->weight_only[backend].count = count;
}

/* List the float matrices that steps of the host read: they stay as they are. */
static void qnnrt_compile__weight_only_host(qnnrt_compile *p, size_t backend)
{
    const size_t room = p->constant_count;
    qnnrt_lower_weight_only *list =
        (qnnrt_lower_weight_only *)qnnrt_arena_get(&p->arena, room, sizeof(*list));
    size_t i, k, count = 0;
    for (i = 0; i < room && list != NULL; ++i) {
        const qnnrt_compile_constant *constant = &p->constants[i];
        const qnnrt_ir_value *value = p->sources[i].value;
        const qnnrt_weight *weight = qnnrt_lower_weight_of(value);
        qnnrt_lower_weight_only *w = &list[count];
        if (value == NULL || value->origin != QNNRT_IR_WEIGHT ||
            !qnnrt_compile__is_float(value->dtype) || value->rank < 2) continue;
        w->name = weight != NULL && weight->name[0] != '\0' ? weight->name : value->name;
        w->type = "host steps";
        w->weight = weight;
        w->rank = constant->rank;
        for (k = 0; k < constant->rank; ++k) w->dims[k] = constant->dims[k];
        w->kept = p->desc.lower.weight_bits_of != NULL &&
                      p->desc.lower.weight_bits_of(p->desc.lower.weight_user, value, w->type,
                                                   p->desc.lower.weight_bits) == 0;
        w->why = w->kept ? "it is kept" : "the host computes with floats";
        w->float_bytes = w->bytes = constant->bytes;
        count += 1;
    }
    p->weight_only[backend].list = list;
    p->weight_only[backend].count = count;
}

/* List all weights that were asked to be quantized. Fail if none of them is. */
static qnnrt_result qnnrt_compile__weight_only(qnnrt_compile *p, qnnrt_error *err)
{
    const qnnrt_lower_weight_only *first = NULL;
    size_t b, i, role = 0, made = 0;
    if (p->desc.lower.weight_bits == 0 && p->desc.lower.weight_bits_of == NULL) return QNNRT_OK;
    p->weight_only = (qnnrt_compile_weight_only *)qnnrt_arena_get(&p->arena, p->desc.backend_count,
                                                                  sizeof(*p->weight_only));
    for (b = 0; b < p->desc.backend_count && !p->arena.failed; ++b) {
        if (p->backends[b].backend != NULL) qnnrt_compile__weight_only_of(p, b);
        else qnnrt_compile__weight_only_host(p, b);
    }
    if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    for (b = 0; b < p->desc.backend_count; ++b)
        for (i = 0; i < p->weight_only[b].count; ++i) {
            const qnnrt_lower_weight_only *w = &p->weight_only[b].list[i];
            made += w->bits != 0;
            if (first != NULL || w->kept) continue;
            first = w;
            role = b;
        }
    /* A node that moved took its weight to a backend that keeps it as it is: that was told. */
    if (made > 0 || first == NULL || p->move_count > 0) return QNNRT_OK;
    qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "no weight can have %lu bits: on \"%.100s\" "
                    "\"%.200s\" of %.60s stays in floating point: %.900s",
                    (unsigned long)p->desc.lower.weight_bits, p->backends[role].role,
                    first->name, first->type, first->why);
    qnnrt_error_hint(err, QNNRT_OK, "Let a backend that computes in float16 have the nodes, leave "
                     "weight_bits out, or round the weights alone with weight_emulate.");
    return QNNRT_E_UNSUPPORTED;
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   Public functions.
   Needs: >>config >>arena >>steps >>border >>ask >>choose >>unit >>failing >>wire >>weight_only
   Knows nothing of: operators
   ===================================================================================== */

/* Check a description. */
static qnnrt_result qnnrt_compile__check_desc(const qnnrt_compile_desc *desc, qnnrt_error *err)
{
    size_t i, k;
    if (desc == NULL || desc->backends == NULL || desc->backend_count == 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_compile_create: there is no backend");
    if ((desc->hooks.alloc == NULL) != (desc->hooks.free == NULL))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_compile_create: hooks need alloc and free");
    for (i = 0; i < desc->backend_count; ++i) {
        const qnnrt_compile_backend *backend = &desc->backends[i];
        if (backend->role == NULL || backend->role[0] == '\0')
            return qnnrt_error_set(err, QNNRT_E_ARG, "backend %lu has no role", (unsigned long)i);
        if (backend->backend == NULL && i + 1 < desc->backend_count)
            return qnnrt_error_set(err, QNNRT_E_ARG, "role \"%.100s\" has no backend: the host "
                                   "comes last", backend->role);
        for (k = 0; k < i; ++k)
            if (strcmp(backend->role, desc->backends[k].role) == 0)
                return qnnrt_error_set(err, QNNRT_E_ARG, "two backends have the role \"%.100s\"",
                                       backend->role);
    }
    if (desc->whole && (desc->backend_count > 1 || desc->pin_count > 0 ||
                        desc->backends[0].backend == NULL))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_compile_create: whole is for one backend, "
                               "without pins, which is not the host");
    if (desc->pin_count > 0 && desc->pins == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_compile_create: pins is NULL");
    for (i = 0; i < desc->pin_count; ++i) {
        if (desc->pins[i].node == NULL || desc->pins[i].role == NULL)
            return qnnrt_error_set(err, QNNRT_E_ARG, "pin %lu has no node or no role",
                                   (unsigned long)i);
        for (k = 0; k < desc->backend_count &&
                    strcmp(desc->pins[i].role, desc->backends[k].role) != 0; ++k) {}
        if (k == desc->backend_count)
            return qnnrt_error_set(err, QNNRT_E_ARG, "the pin of node \"%.200s\" names \"%.100s\", "
                                   "which no backend has", desc->pins[i].node, desc->pins[i].role);
    }
    return QNNRT_OK;
}

QNNRT_COMPILE_API qnnrt_result qnnrt_compile_create(const qnnrt_compile_desc *desc,
                                                    qnnrt_compile **out, qnnrt_error *err)
{
    qnnrt_compile *p;
    qnnrt_lower_desc options;
    qnnrt_result result;
    size_t i;
    int htp = 0;
    if (out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_compile_create: out is NULL");
    *out = NULL;
    result = qnnrt_compile__check_desc(desc, err);
    if (result != QNNRT_OK) return result;
    p = (qnnrt_compile *)qnnrt_hooks_alloc(&desc->hooks, 1, sizeof(*p));
    if (p == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    p->desc = *desc;
    p->arena.hooks = desc->hooks;
    p->arena.chunk = 32768;
    p->last = &p->first;
    if (p->desc.most_moves == 0) p->desc.most_moves = 1000;
    p->backends = (qnnrt_compile_backend *)qnnrt_arena_get(&p->arena, desc->backend_count,
                                                           sizeof(*p->backends));
    p->pins = (qnnrt_compile_pin *)qnnrt_arena_get(&p->arena, desc->pin_count, sizeof(*p->pins));
    p->pin_used = (int *)qnnrt_arena_get(&p->arena, desc->pin_count, sizeof(*p->pin_used));
    p->models = (qnnrt **)qnnrt_arena_get(&p->arena, desc->backend_count, sizeof(*p->models));
    for (i = 0; i < desc->pin_count && !p->arena.failed; ++i) {
        p->pins[i].node = qnnrt_compile__copy(p, desc->pins[i].node);
        p->pins[i].role = qnnrt_compile__copy(p, desc->pins[i].role);
        p->pins[i].with_inputs = desc->pins[i].with_inputs;
    }
    for (i = 0; i < desc->backend_count && !p->arena.failed; ++i) {
        qnnrt_compile_backend *backend = &p->backends[i];
        *backend = desc->backends[i];
        backend->role = qnnrt_compile__copy(p, backend->role);
        if (backend->backend != NULL && qnnrt_compile__target(p, i) == QNNRT_LOWER_HTP) htp = 1;
        qnnrt_compile__calibrate(backend, desc->costs.per_step, backend->backend == NULL ? 2 :
                                 qnnrt_compile__target(p, i) == QNNRT_LOWER_HTP ? 0 : 1);
    }
    if (p->arena.failed) {
        qnnrt_compile_free(p);
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    }
    p->info.costs = desc->costs;
    if (p->info.costs.per_crossing == 0) p->info.costs.per_crossing = 2;
    if (p->info.costs.per_byte == 0) p->info.costs.per_byte = 0.001;
    if (p->info.costs.prefer == 0) p->info.costs.prefer = 4;
    p->info.backends = p->backends;
    p->info.backend_count = p->desc.backend_count;
    options = p->desc.whole ? qnnrt_compile__options(p, 0) : p->desc.lower;
    if (!p->desc.whole) {            /* what HTP needs fused is lowered in parts elsewhere */
        options.hooks = p->desc.hooks;
        options.target = htp ? QNNRT_LOWER_HTP
                         : p->backends[0].backend == NULL ? QNNRT_LOWER_REF
                                                          : qnnrt_compile__target(p, 0);
        options.contexts = 0;
        qnnrt_compile__in_floats(&options);
    }
    result = qnnrt_lower_create(&options, &p->main, err);
    if (result != QNNRT_OK) {
        qnnrt_compile_free(p);
        return result;
    }
    *out = p;
    return qnnrt_error_clear(err);
}

QNNRT_COMPILE_API void qnnrt_compile_free(qnnrt_compile *p)
{
    qnnrt_compile__graph *graph;
    qnnrt_hooks hooks;
    if (p == NULL) return;
    qnnrt_compile__drop(p);
    for (graph = p->first; graph != NULL; graph = graph->next)
        qnnrt_partition_free(graph->partition);
    qnnrt_lower_free(p->main);
    hooks = p->desc.hooks;
    qnnrt_arena_free(&p->arena);
    qnnrt_hooks_free(&hooks, p);
}

/* Check that the weights have the first value of each state. */
static qnnrt_result qnnrt_compile__check_states(const qnnrt_compile *p, const qnnrt_ir *ir,
                                                const qnnrt_weights *weights, qnnrt_error *err)
{
    size_t i;
    uint32_t k;
    if (ir->state_count > 0 && p->desc.lower.act_bits != 0 && p->desc.lower.native_io) {
        qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "state \"%.200s\" would have two encodings, that"
                        " of an input and that of an output", ir->states[0].name);
        return qnnrt_error_hint(err, QNNRT_E_UNSUPPORTED, "Quantize a graph with states with inputs"
                                " and outputs in float32.");
    }
    for (i = 0; i < ir->state_count; ++i) {
        const qnnrt_ir_value *value = ir->inputs[ir->states[i].input];
        const qnnrt_weight *weight = weights != NULL ? qnnrt_weights_match(weights,
                                                                           ir->states[i].name)
                                                     : NULL;
        int same = weight != NULL && weight->rank == value->rank;
        for (k = 0; same && k < value->rank; ++k)
            same = weight->dims[k] == (uint64_t)value->dims[k];
        if (same) continue;
        qnnrt_error_set(err, weight != NULL ? QNNRT_E_MISMATCH : QNNRT_E_NOT_FOUND,
                        "state \"%.200s\" begins with a tensor of this name, which the weights %s",
                        ir->states[i].name, weight != NULL ? "have in another shape"
                                                           : "do not have");
        return qnnrt_error_hint(err, weight != NULL ? QNNRT_E_MISMATCH : QNNRT_E_NOT_FOUND,
                                "Take graph and weights from one export.");
    }
    return QNNRT_OK;
}

QNNRT_COMPILE_API qnnrt_result qnnrt_compile_add(qnnrt_compile *p, qnnrt_ir *ir,
                                                 const qnnrt_weights *weights, const char *name,
                                                 qnnrt_error *err)
{
    qnnrt_compile__graph *graph;
    qnnrt_result result;
    if (p == NULL || ir == NULL || name == NULL || name[0] == '\0')
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_compile_add: an argument is NULL, or the "
                               "name is empty");
    for (graph = p->first; graph != NULL; graph = graph->next)
        if (graph->ir == ir)
            return qnnrt_error_set(err, QNNRT_E_ARG, "graph \"%.200s\" was added as \"%.200s\", "
                                   "and is changed by that: read it twice", name, graph->info.name);
    for (graph = p->first; graph != NULL; graph = graph->next)
        if (strcmp(graph->info.name, name) == 0)
            return qnnrt_error_set(err, QNNRT_E_ARG, "two graphs are named \"%.200s\"", name);
    result = qnnrt_lower_weights(p->main, ir, weights, err);
    if (result == QNNRT_OK) result = qnnrt_compile__check_states(p, ir, weights, err);
    if (result == QNNRT_OK) result = qnnrt_lower_passes(p->main, ir, err);
    if (result != QNNRT_OK) return result;
    if (!p->desc.whole && !qnnrt_compile__make_outputs(p, ir))
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    graph = (qnnrt_compile__graph *)qnnrt_arena_get(&p->arena, 1, sizeof(*graph));
    p->graphs = (qnnrt_compile_graph *)qnnrt_compile__more(p, p->graphs, p->graph_count,
                                                           &p->graph_room, sizeof(*p->graphs));
    if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    graph->info.name = qnnrt_compile__copy(p, name);
    graph->info.ir = graph->ir = ir;
    graph->weights = weights;
    graph->place = p->place;
    *p->last = graph;
    p->last = &graph->next;
    p->graph_count += 1;
    if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    return qnnrt_error_clear(err);
}

QNNRT_COMPILE_API qnnrt_result qnnrt_compile_place(qnnrt_compile *p, uint32_t context,
                                                   qnnrt_error *err)
{
    if (p == NULL || !p->desc.whole || context >= 65535)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_compile_place: program is NULL or without "
                               "whole, or context %u is too large", (unsigned)context);
    p->place = context + 1;
    return qnnrt_error_clear(err);
}

/* Check that each pin met a node. */
static qnnrt_result qnnrt_compile__check_pins(const qnnrt_compile *p, qnnrt_error *err)
{
    const qnnrt_compile__graph *graph;
    size_t i, k;
    for (i = 0; i < p->desc.pin_count; ++i) {
        if (p->pin_used[i]) continue;
        for (graph = p->first; graph != NULL; graph = graph->next)
            for (k = 0; k < graph->ir->removed_count; ++k)
                if (strcmp(graph->ir->removed[k]->name, p->pins[i].node) == 0) {
                    qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "node \"%.200s\" of graph \"%.200s\" "
                                    "cannot be pinned: it was %.200s", p->pins[i].node,
                                    graph->info.name, graph->ir->removed[k]->mapping[0] != '\0' ?
                                    graph->ir->removed[k]->mapping : "unused");
                    qnnrt_error_hint(err, QNNRT_OK, "Pin the node that it became.");
                    return QNNRT_E_NOT_FOUND;
                }
        qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "no graph has a node \"%.200s\", which is pinned "
                        "to \"%.100s\"", p->pins[i].node, p->pins[i].role);
        qnnrt_error_hint(err, QNNRT_OK, "Name a node as the .json file does.");
        return QNNRT_E_NOT_FOUND;
    }
    return QNNRT_OK;
}

/* Check that each encoding of a whole graph has a tensor. */
static qnnrt_result qnnrt_compile__check_encodings(const qnnrt_compile *p, qnnrt_error *err)
{
    const qnnrt_lower_desc *desc = &p->desc.lower;
    const qnnrt_compile__graph *graph;
    size_t i;
    for (i = 0; i < desc->encoding_count; ++i) {
        const qnnrt_lower_encoding *e = &desc->encodings[i];
        int met = e->graph != NULL;              /* steps are checked when they are lowered */
        for (graph = p->first; graph != NULL && !met; graph = graph->next)
            met = qnnrt_compile__has_value(graph->ir, e->name);
        if (met) continue;
        qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "an encoding is of the tensor \"%.200s\", which no "
                        "graph has", e->name);
        qnnrt_error_hint(err, QNNRT_OK, "Use the names of the graph's values or weights; samples "
                         "give the ranges of tensors inside of operators.");
        return QNNRT_E_NOT_FOUND;
    }
    return QNNRT_OK;
}

QNNRT_COMPILE_API qnnrt_result qnnrt_compile_plan(qnnrt_compile *p, qnnrt_error *err)
{
    qnnrt_compile__graph *graph;
    qnnrt_result result = QNNRT_OK;
    if (p == NULL || p->first == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_compile_plan: there is no graph");
    if (p->desc.whole && p->unit_count > 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_compile_plan: with whole, graphs are "
                               "lowered once");
    qnnrt_compile__drop(p);
    for (graph = p->first; graph != NULL && p->desc.whole && result == QNNRT_OK;
         graph = graph->next)
        result = qnnrt_compile__whole(p, graph, err);
    if (p->desc.whole) return result == QNNRT_OK ? qnnrt_error_clear(err) : result;
    for (graph = p->first; graph != NULL && result == QNNRT_OK; graph = graph->next)
        result = qnnrt_compile__ask(p, graph, err);
    if (result == QNNRT_OK) result = qnnrt_compile__check_pins(p, err);
    if (result == QNNRT_OK) result = qnnrt_compile__check_encodings(p, err);
    for (graph = p->first; graph != NULL && result == QNNRT_OK; graph = graph->next) {
        result = qnnrt_compile__choose(p, graph, err);
        if (result == QNNRT_OK) result = qnnrt_compile__cut(p, graph, err);
    }
    if (result == QNNRT_OK) qnnrt_compile__choose_outer(p);
    return result == QNNRT_OK ? qnnrt_error_clear(err) : result;
}

/* Return the error of too many moves, if there are. */
static qnnrt_result qnnrt_compile__limit(qnnrt_compile *p, qnnrt_result result, size_t moved,
                                         qnnrt_error *err)
{
    if (result == QNNRT_OK || moved == 0 || p->move_count <= p->desc.most_moves) return result;
    qnnrt_compile__drop(p);
    return qnnrt_error_set(err, QNNRT_E_LIMIT, "%lu nodes failed to compile, more than the limit",
                           (unsigned long)p->move_count);
}

QNNRT_COMPILE_API qnnrt_result qnnrt_compile_lower(qnnrt_compile *p, qnnrt_error *err)
{
    qnnrt_result result;
    size_t i, moved;
    do {
        qnnrt_result worst = QNNRT_OK;
        qnnrt_error first;
        result = qnnrt_compile_plan(p, err);
        if (result == QNNRT_OK) result = qnnrt_compile__units(p, err);
        moved = 0;
        for (i = 0; result == QNNRT_OK && i < p->unit_count; ++i) {
            result = qnnrt_compile__lower(p, &p->units[i], &moved, &first);
            if (result == QNNRT_OK) continue;
            if (err != NULL && (worst == QNNRT_OK || result != QNNRT_E_UNSUPPORTED)) *err = first;
            if (result != QNNRT_E_UNSUPPORTED) break;
            worst = result;
            result = QNNRT_OK;                   /* the other units may have findings, too */
        }
        if (result == QNNRT_OK) result = worst;
        if (p != NULL) result = qnnrt_compile__limit(p, result, moved, err);
    } while (result != QNNRT_OK && result != QNNRT_E_LIMIT && moved > 0);
    if (p != NULL) p->lowered = result == QNNRT_OK;
    return result;
}

QNNRT_COMPILE_API qnnrt_result qnnrt_compile_build(qnnrt_compile *p, qnnrt_error *err)
{
    qnnrt_result result;
    size_t b, moved;
    do {
        result = p != NULL && p->lowered ? QNNRT_OK : qnnrt_compile_lower(p, err);
        moved = 0;
        for (b = 0; result == QNNRT_OK && b < p->desc.backend_count; ++b)
            result = qnnrt_compile__compile(p, b, &moved, err);
        if (p == NULL) return result;
        p->lowered = 0;
        result = qnnrt_compile__limit(p, result, moved, err);
    } while (result != QNNRT_OK && result != QNNRT_E_LIMIT && moved > 0);
    if (result == QNNRT_OK) result = qnnrt_compile__finish(p, err);
    if (result != QNNRT_OK) return result;
    result = qnnrt_compile__weight_only(p, err);
    if (result != QNNRT_OK) qnnrt_compile__drop(p);
    return result;
}

QNNRT_COMPILE_API qnnrt_result qnnrt_compile_watch(qnnrt_compile *p, size_t number, size_t step,
                                                   int watch, qnnrt_backend *on,
                                                   qnnrt_compile_watched *out, qnnrt_error *err)
{
    qnnrt_compile__graph *graph = p != NULL ? p->first : NULL;
    qnnrt_compile__part *part, **list;
    qnnrt_compile__unit *unit;
    qnnrt_builder *builder = NULL;
    qnnrt_result result;
    size_t moved = 0;
    if (out != NULL) memset(out, 0, sizeof(*out));
    for (; graph != NULL && number > 0; --number) graph = graph->next;
    if (out == NULL || graph == NULL || graph->parts == NULL || step >= graph->info.step_count ||
        watch < 1 || watch > 2 || p->backends[graph->parts[step].info.backend].backend == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_compile_watch: there is no such step on a "
                               "backend, watch is not 1 or 2, or out is NULL");
    part = (qnnrt_compile__part *)qnnrt_arena_get(&p->arena, 1, sizeof(*part));
    list = (qnnrt_compile__part **)qnnrt_arena_get(&p->arena, 1, sizeof(*list));
    unit = (qnnrt_compile__unit *)qnnrt_arena_get(&p->arena, 1, sizeof(*unit));
    if (p->arena.failed) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory");
    *part = graph->parts[step];
    part->ir = NULL;
    list[0] = part;
    unit->program = p;
    unit->backend = part->info.backend;
    unit->parts = list;
    unit->part_count = 1;
    unit->watch = watch;
    result = qnnrt_compile__extract(part, 0, err);
    if (result == QNNRT_OK)
        result = qnnrt_builder_create(on != NULL ? on : p->backends[unit->backend].backend,
                                      &p->backends[unit->backend].builder, &builder, err);
    if (result == QNNRT_OK) result = qnnrt_compile__lower(p, unit, &moved, err);
    if (result == QNNRT_OK) result = qnnrt_lower_emit(unit->lower, builder, err);
    if (result == QNNRT_OK) {
        result = qnnrt_builder_finish(builder, &out->model, err);
        builder = NULL;
    }
    qnnrt_builder_destroy(builder);
    out->ir = part->ir;
    out->lower = unit->lower;
    if (result != QNNRT_OK) qnnrt_compile_unwatch(out);
    return result;
}

QNNRT_COMPILE_API void qnnrt_compile_unwatch(qnnrt_compile_watched *watched)
{
    if (watched == NULL) return;
    qnnrt_close(watched->model);
    qnnrt_lower_free(watched->lower);
    qnnrt_ir_free(watched->ir);
    memset(watched, 0, sizeof(*watched));
}

QNNRT_COMPILE_API qnnrt_result qnnrt_compile_load(const qnnrt_compile *p, size_t constant,
                                                  void *data, qnnrt_error *err)
{
    const qnnrt_ir_value *value;
    const qnnrt_weight *weight;
    if (p == NULL || constant >= p->constant_count || data == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_compile_load: there is no such constant, "
                               "or data is NULL");
    if (p->sources[constant].first != NULL)
        return qnnrt_weights_convert(p->sources[constant].first, p->constants[constant].dtype, data,
                                     (size_t)p->constants[constant].bytes, NULL, err);
    if (p->sources[constant].argument != NULL) {
        memcpy(data, p->sources[constant].argument, (size_t)p->constants[constant].bytes);
        return qnnrt_error_clear(err);
    }
    value = p->sources[constant].value;
    weight = qnnrt_lower_weight_of(value);
    if (value->data == NULL && weight != NULL) {
        const qnnrt_result result = qnnrt_lower_check_weight(weight, err);
        if (result != QNNRT_OK) return result;
        return qnnrt_weights_convert(weight, value->dtype, data,
                                     (size_t)p->constants[constant].bytes, NULL, err);
    }
    if (value->data == NULL)
        return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "weight \"%.200s\" has no data",
                               value->name);
    memcpy(data, value->data, (size_t)p->constants[constant].bytes);
    return qnnrt_error_clear(err);
}

QNNRT_COMPILE_API const qnnrt_compile_info *qnnrt_compile_get_info(qnnrt_compile *p)
{
    qnnrt_compile__graph *graph;
    size_t i = 0, k;
    if (p == NULL) return NULL;
    for (graph = p->first; graph != NULL; graph = graph->next) {
        for (k = 0; graph->parts != NULL && k < graph->info.step_count; ++k)
            graph->steps[k] = graph->parts[k].info;
        graph->info.steps = graph->steps;
        if (graph->parts == NULL) graph->info.step_count = 0;
        p->graphs[i++] = graph->info;
    }
    p->info.graphs = p->graphs;
    p->info.graph_count = p->graph_count;
    p->info.constants = p->constants;
    p->info.constant_count = p->constant_count;
    p->info.moves = p->moves;
    p->info.move_count = p->move_count;
    p->info.weight_only = p->weight_only;
    return &p->info;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_COMPILE__IMPL_ONCE */
#endif /* QNNRT_COMPILE_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   Added  desc.whole, qnnrt_compile_place(), qnnrt_compile_lower(), step.lower and .number;
                  desc.lower.contexts cuts steps.
           API:   qnnrt_compile_watch() takes `watch` (2: as before) and `on` (NULL: as before).
                  qnnrt_compile_smalls is qnnrt_compile_weight_only, info.smalls .weight_only.
           API:   costs of backends: .bandwidth, .per_node, .per_step; .costs.prefer.
           Added  QNNRT_COMPILE_PLAN_CHECK. Without it, plans are no longer checked a second time.
           Added  qnnrt_compile_macs(), qnnrt_compile_pin.with_inputs.
           Needs QNNRT_IR_PASSES_IMPLEMENTATION.
           Added  desc.functions, step.function and .plan.
           Changed: the host may be the only backend, and compute all nodes of a program. Constants
           with more than 256 bytes are in info.constants.
   0.4.0   First version.
   --------------------------------------------------------------------------------------------- */
