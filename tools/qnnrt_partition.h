/* qnnrt_partition.h - v0.5.0 - which backend computes which node of a graph, and what moves between

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_partition.h"
       #define QNNRT_PARTITION_IMPLEMENTATION
       #include "qnnrt_partition.h"
   qnnrt.h lies beside this file or is found by the compiler.

       qnnrt_partition_desc desc = {0};            // nodes, values, backends, supports()
       qnnrt_partition *plan; const qnnrt_partition_info *info; qnnrt_error err; size_t i;
       if (qnnrt_partition_create(&desc, &plan, &err) != QNNRT_OK) puts(err.text);
       info = qnnrt_partition_get_info(plan);      // findings too, where it failed
       for (i = 0; info != NULL && i < info->step_count; ++i)
           printf("step on backend %d: %u nodes\n", (int)info->steps[i].backend,
                  (unsigned)info->steps[i].node_count);
       qnnrt_partition_free(plan);

   Uses     Of qnnrt.h the arena, errors and their types, and libc. It knows nothing of QNN, of
            ATen and of files: nodes, values and backends are numbers.
   Trust    Names may be hostile. Numbers of the description are checked before use. supports() is
            trusted.
   Memory   One allocator hook serves every allocation. A plan owns its memory and frees it as a
            whole.
   Threads  The header creates none. A finished plan may be read by several threads.
   Globals  None. The header prints nothing and never aborts.

   WORDS
       node          one call of an operator; nodes come in an order in which they can run
       value         what nodes read and produce; a constant is a value that every backend has
       view          a value in the memory of another one; the root is at the end of that chain
       class         a root with all its views; it is overwritten if a node writes one of them
       version       of a class: how often it was overwritten, in the order of the list
       state         a tensor that persists between runs, such as a KV cache
       home          the backend in whose memory an overwritten class lives
       host memory   memory of the CPU: inputs and outputs of the graph are there
       place         a memory. Backends that read and write host memory share places
       step          nodes that one backend computes at once
       transfer      the copy of one version of a value from one place to another
       finding       a fault, with its node and one sentence

   BUILD OPTIONS, to define before the header is first included
       QNNRT_PARTITION_API  replaces the storage and export prefix of all functions (default:
                            QNNRT_API)

   MANUAL

   Describing a graph
       Values have indexes, nodes read and produce them. A node that overwrites a value in place
       names it in `writes`: it reads the old content, too. An output of that node that is the value
       after the write is declared as a view of it. Declare view_of only where memory is shared: an
       operator like reshape that a backend computes as a copy makes no view.
       The values of a state are those with its index in `state`, and their views. A state may be
       overwritten in place, or be updated as a function: one value in, another one out.

   Backends and places
       A backend has memory of its own, unless is_host_memory says that it reads inputs from host
       memory and writes outputs to it. Between two such backends nothing moves, except where their
       precisions differ and the value is converted. Inputs and outputs of the graph are in host
       memory and in the types of the graph: such a backend reads and writes them directly.

   Costs
       cost = sum of work / speed + bytes / bandwidth + per_node, over nodes
            + per_byte * bytes and per_crossing, for each transfer
            + per_step, for each step
       speed, bandwidth, per_node and per_step are those of the backend. The work of a node counts
       `prefer` times where its backend is not the first one that can compute it: what costs little
       stays with the preferred backend, and a node that is pinned elsewhere takes only few of its
       neighbours along.
       The unit is the caller's; the defaults take nanoseconds. info->before is the plan that takes
       the fastest backend for each node and runs of consecutive nodes; info->after is the result.

   States
       A backend owns a state if it supports all nodes that touch it, and no pin contradicts; then
       all of them run there, and nothing of the state moves: its inputs of the graph begin with the
       owner, and its outputs end there. Otherwise the state is in host memory:
       it is transferred where a backend reads it, and new content is transferred back. The policy
       ERROR makes a finding of that.

   A second try
       supports() may be wrong: finalize refuses a node all the same. Append {node, backend, why} to
       desc.marks and plan again.

   ROOMS (search for the tag)
       >>config >>memory >>text >>input >>order >>ask                           the graph
       >>place >>border >>schedule >>move >>assign >>island >>result >>public   the plan
*/
#ifndef QNNRT_PARTITION_H
#define QNNRT_PARTITION_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_partition.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_PARTITION_API
#define QNNRT_PARTITION_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { QNNRT_PARTITION_BACKENDS = 30 };

/* Indexes that are none. */
enum {
    QNNRT_PARTITION_NONE = -1,       /* no view, no state, no pin, nothing written */
    QNNRT_PARTITION_HOST = -1,       /* instead of a backend: host memory */
    QNNRT_PARTITION_FIXED = -2       /* instead of a home: the value is never overwritten */
};

/* ----------------------------------------------------------------------------- description -- */

typedef struct qnnrt_partition_value {
    const char *name;                /* may be NULL */
    uint64_t    bytes;
    int32_t     view_of;             /* -1, or the value in whose memory it is */
    int         is_input, is_output; /* of the graph */
    int         constant;            /* 1: a weight or constant; every backend has it */
    int32_t     state;               /* -1, or the state whose content it is */
    int         exact;               /* 1: the same in every precision, such as integers */
} qnnrt_partition_value;

typedef struct qnnrt_partition_node {
    const char    *name, *op;        /* may be NULL */
    const char    *types;            /* text for findings, "f16 [1,2], i32 [1]"; may be NULL */
    const int32_t *inputs;           /* [input_count] values; -1: an absent one */
    const int32_t *outputs;          /* [output_count] values, each produced once */
    size_t         input_count, output_count;
    int32_t        writes;           /* -1, or the value that it overwrites in place */
    int32_t        pin;              /* -1, or the backend that it must run on */
    double         work;             /* its cost on a backend of speed 1 */
    double         bytes;            /* that it reads and writes, weights included (default 0) */
} qnnrt_partition_node;

typedef struct qnnrt_partition_backend {
    const char *name;                /* may be NULL */
    double      speed;               /* (default 0: 1) */
    double      bandwidth;           /* bytes in a unit of cost (default 0: bytes cost nothing) */
    double      per_node;            /* cost of each node besides (default 0) */
    double      per_step;            /* (default 0: that of the costs; negative: 0) */
    int         is_host;             /* 1: the host itself, the last resort; at most one. It is
                                        asked like any other */
    int         is_host_memory;      /* 1: reads and writes host memory; of the host always */
    int         precision;           /* backends of other numbers convert values that are not exact
                                        (default 0) */
    uint32_t    most_inputs, most_outputs;   /* of a step, without constants (default 0: any) */
} qnnrt_partition_backend;

typedef enum qnnrt_partition_policy {
    QNNRT_PARTITION_POLICY_DEFAULT,  /* of a state: the description's; of that: HOST */
    QNNRT_PARTITION_POLICY_HOST,     /* a state that no backend can own is in host memory */
    QNNRT_PARTITION_POLICY_ERROR,    /* a state that no other backend than the host can own is a
                                        finding, unless all that touches it is pinned to the host */
    QNNRT_PARTITION_POLICY_ALWAYS_HOST   /* the state is in host memory */
} qnnrt_partition_policy;

typedef struct qnnrt_partition_state {
    const char            *name;     /* may be NULL */
    qnnrt_partition_policy policy;
} qnnrt_partition_state;

/* What is known better than supports() does. */
typedef struct qnnrt_partition_mark {
    int32_t     node, backend;
    const char *why;                 /* "failed in finalize: ..."; may be NULL */
} qnnrt_partition_mark;

/* Every 0 is a default; a negative number is 0. */
typedef struct qnnrt_partition_costs {
    double per_byte;                 /* (default 0: 0.1) */
    double per_crossing;             /* for each transfer (default 0: 2,000) */
    double per_step;                 /* for each step (default 0: 50,000) */
    double prefer;                   /* (default 0, and less than 1: 1) */
} qnnrt_partition_costs;

typedef struct qnnrt_partition_desc {
    qnnrt_hooks                    hooks;      /* alloc and free are used */
    const qnnrt_partition_node    *nodes;      /* [node_count] */
    size_t                         node_count;
    const qnnrt_partition_value   *values;     /* [value_count] */
    size_t                         value_count;
    const qnnrt_partition_state   *states;     /* [state_count] */
    size_t                         state_count;
    const qnnrt_partition_backend *backends;   /* [backend_count], 1 to 30 */
    size_t                         backend_count;
    const qnnrt_partition_mark    *marks;      /* [mark_count] */
    size_t                         mark_count;
    qnnrt_partition_costs          costs;
    qnnrt_partition_policy         state_policy;
    /* Return 1 if the backend can compute the node; else 0, and set *why to a reason of one line,
       which is copied before the next call. It is called once for each pair without a mark, and
       must always give the same answer. */
    int                          (*supports)(void *user, int32_t node, int32_t backend,
                                             const char **why);
    void                          *user;
    const char                    *state_hint; /* hint where the policy ERROR refuses a state; it
                                                  must live as long as the result (default NULL: one
                                                  that names the policy) */
} qnnrt_partition_desc;

/* ---------------------------------------------------------------------------------- result -- */

typedef struct qnnrt_partition_step {
    int32_t        backend;
    const int32_t *nodes;            /* [node_count] in the order of the list */
    size_t         node_count;
    const int32_t *inputs;           /* [input_count] values read and not produced here, without
                                        constants; those that are overwritten, too */
    size_t         input_count;
    const int32_t *outputs;          /* [output_count] values produced or overwritten here that
                                        another step or the caller reads */
    size_t         output_count;
} qnnrt_partition_step;

typedef struct qnnrt_partition_transfer {
    int32_t  value;
    int32_t  from, to;               /* backends, or QNNRT_PARTITION_HOST: host memory */
    uint32_t before_step;            /* step_count: after the last one */
    uint32_t version;                /* of its class */
    uint64_t bytes;
} qnnrt_partition_transfer;

typedef enum qnnrt_partition_reason {
    QNNRT_PARTITION_PINNED,          /* by the caller */
    QNNRT_PARTITION_ONLY,            /* no other backend can */
    QNNRT_PARTITION_CHEAPEST,
    QNNRT_PARTITION_ISLAND,          /* moved with its neighbours, which made the plan cheaper */
    QNNRT_PARTITION_OF_STATE,        /* follows a state */
    QNNRT_PARTITION_OF_VIEW          /* follows the class of a view, or of what it overwrites */
} qnnrt_partition_reason;

typedef struct qnnrt_partition_choice {
    int32_t                backend;
    uint32_t               step;
    uint32_t               candidates;   /* bit b: backend b supports the node and has no mark */
    qnnrt_partition_reason reason;
    const char            *why;      /* one sentence */
} qnnrt_partition_choice;

typedef struct qnnrt_partition_placement {
    const char *name;                /* of the state */
    int32_t     owner;               /* a backend, or QNNRT_PARTITION_HOST: host memory */
    size_t      node_count;          /* that touch it */
    const char *why;
} qnnrt_partition_placement;

typedef struct qnnrt_partition_totals {
    size_t   steps, crossings;       /* crossings: transfers */
    uint64_t bytes;                  /* of all transfers */
    double   work, cost;             /* work: what all nodes cost where they are */
    double   time;                   /* the cost without `prefer` */
} qnnrt_partition_totals;

typedef struct qnnrt_partition_finding {
    qnnrt_result code;               /* ARG: a fault of the description, or a pin; UNSUPPORTED: no
                                        backend can; LIMIT */
    int32_t      node, value, state, backend;    /* -1: it concerns none */
    const char  *text, *hint;        /* one line each; hint may be "" */
} qnnrt_partition_finding;

typedef struct qnnrt_partition_info {
    const qnnrt_partition_step      *steps;      /* in the order of execution */
    size_t                           step_count;
    const qnnrt_partition_transfer  *transfers;  /* by before_step */
    size_t                           transfer_count;
    const qnnrt_partition_choice    *choices;    /* [node_count of the description] */
    size_t                           choice_count;
    const qnnrt_partition_placement *states;     /* [state_count of the description] */
    size_t                           state_count;
    const int32_t                   *homes;      /* [value_count]: the backend in whose memory an
                                                    overwritten value lives, HOST, or FIXED */
    const char *const               *refusals;   /* [node * backend_count + backend]: why a backend
                                                    cannot; NULL where it can */
    qnnrt_partition_totals           before, after;
    const qnnrt_partition_totals    *preferring; /* [backend_count of the description]: the plan
                                                    that takes this backend wherever it can */
    const qnnrt_partition_finding   *findings;
    size_t                           finding_count;
    size_t                           asked;      /* calls of supports() */
} qnnrt_partition_info;

typedef struct qnnrt_partition qnnrt_partition;

/* Make a plan.

   desc     is read during the call only, with all that it points to
   out      receives the plan; with findings, one that has them and no steps; NULL after
            QNNRT_E_MEMORY, and after QNNRT_E_ARG for a description without backends or arrays

   The same description gives the same plan. Plans are not always the cheapest: of 1,000 graphs of 3
   to 8 nodes 994 cost as little as the best of all assignments, and the worst 17 % more.
   Returns  QNNRT_OK; else the code of the first finding, and the text of err has the first
            findings, one on each line; QNNRT_E_MEMORY; QNNRT_E_ARG
   Frees    qnnrt_partition_free(), after findings too
   Cost     0.2 to 0.4 s for 20,000 nodes and 3 backends on x86-64, in proportion to the nodes */
QNNRT_PARTITION_API qnnrt_result qnnrt_partition_create(const qnnrt_partition_desc *desc,
                                                        qnnrt_partition **out, qnnrt_error *err);
QNNRT_PARTITION_API void qnnrt_partition_free(qnnrt_partition *plan);

/* Return the result; NULL for NULL. It stays valid until qnnrt_partition_free(). */
QNNRT_PARTITION_API const qnnrt_partition_info *qnnrt_partition_get_info(
    const qnnrt_partition *plan);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_PARTITION_H, end of the declarations */

#ifdef QNNRT_PARTITION_IMPLEMENTATION
#ifndef QNNRT_PARTITION__IMPL_ONCE
#define QNNRT_PARTITION__IMPL_ONCE

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   Limits, for every room.
   Needs: nothing     Knows nothing of: graphs
   ===================================================================================== */

/* Nodes, values and states: their numbers, and four times as much, fit in 32 bits. */
enum { QNNRT_PARTITION__MOST = 100000000 };

/* Bytes that an arena allocates at once. */
enum { QNNRT_PARTITION__CHUNK = 65536 };

/* =====================================================================================
   MEMORY                                                                        >>memory
   Memory that is freed as a whole.
   Needs: nothing     Knows nothing of: what it holds
   ===================================================================================== */

/* QNNRT_PARTITION__NEW(&p->work, int32_t, 5) is an int32_t *, 5 zeros, or NULL. */
#define QNNRT_PARTITION__NEW(arena, type, count) \
    ((type *)qnnrt_arena_get(arena, (uint64_t)(count), sizeof(type)))

/* A list of `count` times the same number. */
static int32_t *qnnrt_partition__numbers(qnnrt_arena *arena, uint64_t count, int32_t value)
{
    int32_t *list = QNNRT_PARTITION__NEW(arena, int32_t, count);
    uint64_t i;
    for (i = 0; list != NULL && i < count; ++i) list[i] = value;
    return list;
}

/* =====================================================================================
   TEXT                                                                            >>text
   The plan as an object; names and sentences.
   Needs: nothing     Knows nothing of: costs
   ===================================================================================== */

/* One list of lists: the members of list i are item[first[i]] to item[first[i + 1] - 1]. */
typedef struct qnnrt_partition__lists {
    int32_t *first, *item;
} qnnrt_partition__lists;

/* One version of one value, and who reads it: what may have to move. */
typedef struct qnnrt_partition__passage {
    int32_t value, source;           /* source: a cluster, or -1: host memory */
    int32_t to_host;                 /* 1: it ends there */
    int32_t shared;                  /* of its class */
    int32_t stamp;                   /* of the last evaluation */
    double  unit;                    /* the cost of one transfer */
} qnnrt_partition__passage;

/* A cluster reads a passage `count` times, or is its source. */
typedef struct qnnrt_partition__touch {
    int32_t passage, count;
} qnnrt_partition__touch;

/* What became of a cluster while islands moved. */
typedef struct qnnrt_partition__set {
    int32_t color;                   /* the backend */
    int32_t from;                    /* the backend before the first move, or -1 */
    int32_t with;                    /* nodes of the largest island of the last move */
    double  gain;                    /* what the last move saved, with others of its time */
} qnnrt_partition__set;

struct qnnrt_partition {
    qnnrt_arena      keep, work;      /* of the result; until the plan is made */
    qnnrt_partition_info        info;
    qnnrt_partition_finding    *findings;
    size_t                      finding_count, finding_room;
    const qnnrt_partition_desc *desc;
    int32_t   nodes, values, states, backends;   /* counts */
    int32_t   host;                  /* the backend that is the host, or -1 */
    double    per_byte, per_crossing, prefer;
    double    per_step[QNNRT_PARTITION_BACKENDS], most_per_step;
    uint8_t   places[2][QNNRT_PARTITION_BACKENDS];   /* [shared][backend]; 0: host memory */
    /* >>input */
    int32_t  *producer, *root;       /* [values] */
    int32_t  *state_of;              /* [values] by root: the state, or -1 */
    uint8_t  *changed, *shared, *constant;       /* [values] by root: overwritten; in the types of
                                                    the graph; a constant */
    int32_t  *last;                  /* [states] the last value that is produced, or -1 */
    /* >>order */
    qnnrt_partition__lists next;     /* nodes that must run after a node */
    int32_t  *waits;                 /* [nodes] for how many edges it waits */
    /* >>ask */
    uint32_t    *can;                /* [nodes] with pins */
    uint32_t    *asked;              /* [nodes] without pins */
    const char **refusals;           /* [nodes * backends] */
    /* >>place */
    int32_t  *leader;                /* [nodes] of a set of nodes with one backend */
    uint32_t *mask;                  /* [nodes] by leader */
    int32_t  *of_state, *of_class;   /* [nodes] why it is in a set: a state, a root; or -1 */
    uint8_t  *away;                  /* [nodes] 1: overwrites what has its home elsewhere */
    int32_t  *home_node;             /* [values] by root, if changed: a node at home, or -1: host */
    int32_t  *owner_node;            /* [states] a node of the owner, or -1: host memory */
    qnnrt_partition__lists members;  /* by root: nodes that produce or overwrite its class */
    qnnrt_partition__lists touching; /* by state: nodes */
    /* >>border */
    int32_t   clusters;
    int32_t  *cluster;               /* [nodes] */
    uint32_t *cluster_mask;
    double   *cluster_work, *cluster_bytes;
    qnnrt_partition__lists    inside;    /* by cluster: nodes */
    qnnrt_partition__passage *passages;
    size_t                    passage_count, passage_room;
    qnnrt_partition__touch   *touches;
    int32_t                  *touch_first;   /* [clusters + 1] */
    int32_t                  *readers;   /* [passages * backends] reads on a backend */
    int32_t                   stamp;
    int32_t                  *color;     /* [clusters] the backend */
    /* >>schedule */
    int32_t  *step_of;               /* [nodes] */
    int32_t  *order;                 /* [nodes] by step, then as in the list */
    int32_t   steps;
    int32_t  *ready, *chain, *left, *height;
    /* >>move */
    uint64_t *have;                  /* [values] places that have a copy */
    uint32_t *have_version, *version;
    uint8_t  *at_home;
    qnnrt_partition_transfer *transfers;
    size_t    transfer_count, transfer_room;
    uint64_t  moved;
    int       record;                /* 1: transfers are stored */
    /* >>island */
    qnnrt_partition__set *sets;      /* [clusters] */
};

static const char *qnnrt_partition__backend_name(const qnnrt_partition_desc *desc, int32_t backend)
{
    if (backend < 0) return "host memory";
    return desc->backends[backend].name != NULL ? desc->backends[backend].name : "?";
}

static const char *qnnrt_partition__value_name(const qnnrt_partition_desc *desc, int32_t value)
{
    return desc->values[value].name != NULL ? desc->values[value].name : "?";
}

static const char *qnnrt_partition__node_name(const qnnrt_partition_desc *desc, int32_t node)
{
    return desc->nodes[node].name != NULL ? desc->nodes[node].name : "?";
}

static const char *qnnrt_partition__state_name(const qnnrt_partition_desc *desc, int32_t state)
{
    return desc->states[state].name != NULL ? desc->states[state].name : "?";
}

/* Copy a text into the plan, clean. Return "" when out of memory. */
static const char *qnnrt_partition__keep(qnnrt_partition *p, const char *text)
{
    char *copy = qnnrt_arena_text(&p->keep, text, strlen(text));
    if (copy == NULL) return "";
    qnnrt_text_clean(copy);
    return copy;
}

__attribute__((format(printf, 2, 3)))
static const char *qnnrt_partition__say(qnnrt_partition *p, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return qnnrt_partition__keep(p, text);
}

/* Add a finding. What it does not concern is -1. Out of memory shows in the arena. */
static void qnnrt_partition__find(qnnrt_partition *p, qnnrt_result code, int32_t node,
                                  int32_t value, int32_t state, int32_t backend, const char *text,
                                  const char *hint)
{
    qnnrt_partition_finding *finding;
    void *more = qnnrt_arena_more(&p->keep, p->findings, p->finding_count, &p->finding_room, sizeof
                                  p->findings[0]);
    if (more == NULL) return;
    p->findings = (qnnrt_partition_finding *)more;
    finding = &p->findings[p->finding_count++];
    finding->code = code;
    finding->node = node;
    finding->value = value;
    finding->state = state;
    finding->backend = backend;
    finding->text = text;
    finding->hint = hint;
}

/* =====================================================================================
   INPUT                                                                          >>input
   The description: checked, roots of views, what is overwritten, places.
   Needs: >>memory >>text     Knows nothing of: backends' answers
   ===================================================================================== */

static double qnnrt_partition__cost_of(double cost, double otherwise)
{
    return cost > 0 ? cost : cost < 0 ? 0 : otherwise;
}

/* Find fault with a node; value: which one it concerns, -1: none. */
static void qnnrt_partition__bad_node(qnnrt_partition *p, int32_t node, int32_t value,
                                      const char *what)
{
    const char *name = qnnrt_partition__node_name(p->desc, node);
    qnnrt_partition__find(p, QNNRT_E_ARG, node, value, -1, -1,
        value >= 0 ? qnnrt_partition__say(p, "node \"%s\": %s %d", name, what, (int)value)
                   : qnnrt_partition__say(p, "node \"%s\": %s", name, what), "");
}

/* Find producers and check the order of the list. */
static void qnnrt_partition__input_nodes(qnnrt_partition *p)
{
    const qnnrt_partition_desc *desc = p->desc;
    int32_t n;
    size_t i;
    for (n = 0; n < p->nodes; ++n) {
        const qnnrt_partition_node *node = &desc->nodes[n];
        for (i = 0; i <= node->input_count; ++i) {
            const int32_t v = i < node->input_count ? node->inputs[i] : node->writes;
            if (v == -1) continue;
            if (v < -1 || v >= p->values) {
                qnnrt_partition__bad_node(p, n, -1, "reads a value that is not there");
            } else if (p->producer[v] < 0 && !desc->values[v].constant) {
                p->producer[v] = -2;         /* read before any production */
            }
        }
        for (i = 0; i < node->output_count; ++i) {
            const int32_t v = node->outputs[i];
            if (v < 0 || v >= p->values)
                qnnrt_partition__bad_node(p, n, -1, "produces a value that is not there");
            else if (p->producer[v] == -2)
                qnnrt_partition__bad_node(p, n, v, "comes after a reader of its output, value");
            else if (p->producer[v] >= 0)
                qnnrt_partition__bad_node(p, n, v, "is the second one to produce value");
            else if (desc->values[v].constant || desc->values[v].is_input)
                qnnrt_partition__bad_node(p, n, v, "produces an input or a constant, value");
            else
                p->producer[v] = n;
        }
        if (node->pin < -1 || node->pin >= p->backends)
            qnnrt_partition__bad_node(p, n, -1, "is pinned to a backend that is not there");
        if (!(node->work >= 0 && node->work < 1e300))
            qnnrt_partition__bad_node(p, n, -1, "its work is not from 0 to 1e300");
        if (!(node->bytes >= 0 && node->bytes < 1e300))
            qnnrt_partition__bad_node(p, n, -1, "its bytes are not from 0 to 1e300");
    }
    for (n = 0; n < p->values; ++n)
        if (p->producer[n] == -2) p->producer[n] = -1;
}

/* Find the roots of views: no chain is followed twice. */
static void qnnrt_partition__input_roots(qnnrt_partition *p)
{
    const qnnrt_partition_desc *desc = p->desc;
    int32_t v;
    for (v = 0; v < p->values; ++v) {
        int32_t at = v, next;
        while (p->root[at] == -1) {
            const int32_t of = desc->values[at].view_of;
            if (of == -1) { p->root[at] = at; break; }
            p->root[at] = -2;
            if (of < 0 || of >= p->values || p->root[of] == -2) {
                qnnrt_partition__find(p, QNNRT_E_ARG, -1, at, -1, -1, qnnrt_partition__say(p,
                    "value \"%s\": it is a view of %s", qnnrt_partition__value_name(desc, at),
                    of < 0 || of >= p->values ? "a value that is not there" : "itself"), "");
                p->root[at] = at;
                break;
            }
            at = of;
        }
        /* The chain from v on is marked -2: give it the root at its end. */
        for (at = p->root[at], next = v; p->root[next] == -2; next = desc->values[next].view_of)
            p->root[next] = at;
    }
}

/* Collect what is known of classes. */
static void qnnrt_partition__input_classes(qnnrt_partition *p)
{
    const qnnrt_partition_desc *desc = p->desc;
    int32_t v, n;
    size_t i;
    for (v = 0; v < p->values; ++v) {
        const qnnrt_partition_value *value = &desc->values[v];
        const int32_t r = p->root[v];
        if (v == r) p->constant[r] = (uint8_t)(value->constant != 0);
        else if (value->constant)
            qnnrt_partition__find(p, QNNRT_E_ARG, -1, v, -1, -1, qnnrt_partition__say(p,
                "value \"%s\": a constant cannot be a view",
                qnnrt_partition__value_name(desc, v)), "");
        if (value->is_input || value->is_output || value->exact || value->state >= 0 ||
            p->producer[v] < 0) p->shared[r] = 1;
        if (value->state == -1) continue;
        if (value->state < -1 || value->state >= p->states)
            qnnrt_partition__find(p, QNNRT_E_ARG, -1, v, -1, -1, qnnrt_partition__say(p,
                "value \"%s\": it belongs to a state that is not there",
                qnnrt_partition__value_name(desc, v)), "");
        else if (p->state_of[r] >= 0 && p->state_of[r] != value->state)
            qnnrt_partition__find(p, QNNRT_E_ARG, -1, v, value->state, -1, qnnrt_partition__say(p,
                "value \"%s\": its memory belongs to two states, \"%s\" and \"%s\"",
                qnnrt_partition__value_name(desc, v),
                qnnrt_partition__state_name(desc, p->state_of[r]),
                qnnrt_partition__state_name(desc, value->state)), "");
        else
            p->state_of[r] = value->state;
    }
    for (n = 0; n < p->nodes; ++n) {
        const qnnrt_partition_node *node = &desc->nodes[n];
        const int32_t w = node->writes;
        if (w >= 0) {
            p->changed[p->root[w]] = 1;
            if (p->constant[p->root[w]])
                qnnrt_partition__bad_node(p, n, w, "overwrites a constant, value");
        }
        for (i = 0; i < node->output_count; ++i) {
            const int32_t v_out = node->outputs[i], of = desc->values[v_out].view_of;
            size_t k;
            if (p->state_of[p->root[v_out]] >= 0) p->last[p->state_of[p->root[v_out]]] = v_out;
            if (of < 0 || of == w) continue;
            for (k = 0; k < node->input_count && node->inputs[k] != of; ++k) {}
            if (k == node->input_count)
                qnnrt_partition__bad_node(p, n, v_out,
                                          "does not read the value of which its output is a view:"
                                          " value");
        }
    }
    for (v = 0; v < p->values; ++v)
        if (p->root[v] == v && p->constant[v] && p->state_of[v] >= 0)
            qnnrt_partition__find(p, QNNRT_E_ARG, -1, v, p->state_of[v], -1,
                qnnrt_partition__say(p, "value \"%s\": a constant cannot belong to a state",
                                     qnnrt_partition__value_name(desc, v)), "");
}

/* Number the places: 0 is host memory; 1 + b is the memory of backend b; 31 + b is host memory in
   the precision of b and its equals. */
static void qnnrt_partition__input_places(qnnrt_partition *p)
{
    const qnnrt_partition_backend *list = p->desc->backends;
    int32_t b, first;
    p->host = -1;
    for (b = 0; b < p->backends; ++b) {
        if (!(list[b].speed >= 0 && list[b].speed < 1e300))
            qnnrt_partition__find(p, QNNRT_E_ARG, -1, -1, -1, b, qnnrt_partition__say(p,
                "backend \"%s\": its speed is not a positive number",
                qnnrt_partition__backend_name(p->desc, b)), "");
        if (!(list[b].bandwidth >= 0 && list[b].bandwidth < 1e300 && list[b].per_node >= 0 &&
              list[b].per_node < 1e300 && list[b].per_step < 1e300))
            qnnrt_partition__find(p, QNNRT_E_ARG, -1, -1, -1, b, qnnrt_partition__say(p,
                "backend \"%s\": its bandwidth, per_node or per_step is not a positive number",
                qnnrt_partition__backend_name(p->desc, b)), "");
        p->per_step[b] = qnnrt_partition__cost_of(list[b].per_step, list[b].per_step < 0 ? 0 :
            qnnrt_partition__cost_of(p->desc->costs.per_step, 50000));
        if (p->per_step[b] > p->most_per_step) p->most_per_step = p->per_step[b];
        if (list[b].is_host && p->host >= 0)
            qnnrt_partition__find(p, QNNRT_E_ARG, -1, -1, -1, b, qnnrt_partition__say(p,
                "backend \"%s\": there is another host, \"%s\"",
                qnnrt_partition__backend_name(p->desc, b),
                qnnrt_partition__backend_name(p->desc, p->host)), "");
        if (list[b].is_host) p->host = b;
        p->places[0][b] = p->places[1][b] = (uint8_t)(1 + b);
        if (!list[b].is_host && !list[b].is_host_memory) continue;
        for (first = 0; first < b; ++first)
            if ((list[first].is_host || list[first].is_host_memory) &&
                list[first].precision == list[b].precision) break;
        p->places[0][b] = (uint8_t)(1 + QNNRT_PARTITION_BACKENDS + first);
        p->places[1][b] = 0;
    }
}

/* Read the description. Return 0 if there are findings or no memory. */
static int qnnrt_partition__input(qnnrt_partition *p)
{
    const qnnrt_partition_desc *desc = p->desc;
    const size_t v = desc->value_count;
    p->nodes = (int32_t)desc->node_count;
    p->values = (int32_t)v;
    p->states = (int32_t)desc->state_count;
    p->backends = (int32_t)desc->backend_count;
    p->per_byte = qnnrt_partition__cost_of(desc->costs.per_byte, 0.1);
    p->per_crossing = qnnrt_partition__cost_of(desc->costs.per_crossing, 2000);
    p->prefer = desc->costs.prefer > 1 ? desc->costs.prefer : 1;
    p->producer = qnnrt_partition__numbers(&p->work, v, -1);
    p->root = qnnrt_partition__numbers(&p->work, v, -1);
    p->state_of = qnnrt_partition__numbers(&p->work, v, -1);
    p->last = qnnrt_partition__numbers(&p->work, desc->state_count, -1);
    p->changed = QNNRT_PARTITION__NEW(&p->work, uint8_t, v);
    p->shared = QNNRT_PARTITION__NEW(&p->work, uint8_t, v);
    p->constant = QNNRT_PARTITION__NEW(&p->work, uint8_t, v);
    if (p->work.failed) return 0;
    qnnrt_partition__input_places(p);
    qnnrt_partition__input_nodes(p);
    qnnrt_partition__input_roots(p);
    if (p->finding_count == 0) qnnrt_partition__input_classes(p);
    return p->finding_count == 0 && !p->keep.failed;
}

/* =====================================================================================
   ORDER                                                                          >>order
   Which node must run before which: producers before readers, and readers of old content before
   what overwrites it.
   Needs: >>memory >>text     Knows nothing of: backends
   ===================================================================================== */

/* Pairs (key, item), until they become lists. */
typedef struct qnnrt_partition__pairs {
    int32_t *key, *item;
    size_t   count, key_room, item_room;
} qnnrt_partition__pairs;

static void qnnrt_partition__pair(qnnrt_partition *p, qnnrt_partition__pairs *pairs, int32_t key,
                                  int32_t item)
{
    pairs->key = (int32_t *)qnnrt_arena_more(&p->work, pairs->key, pairs->count, &pairs->key_room,
                                             sizeof(int32_t));
    pairs->item = (int32_t *)qnnrt_arena_more(&p->work, pairs->item, pairs->count,
                                              &pairs->item_room, sizeof(int32_t));
    if (p->work.failed) { pairs->count = 0; return; }
    pairs->key[pairs->count] = key;
    pairs->item[pairs->count++] = item;
}

/* Sort pairs by key; items of a key stay in their order. Return 0 when out of memory. */
static int qnnrt_partition__lists_of(qnnrt_partition *p, const qnnrt_partition__pairs *pairs,
                                     int32_t keys, qnnrt_partition__lists *lists)
{
    size_t i;
    int32_t k;
    lists->first = QNNRT_PARTITION__NEW(&p->work, int32_t, (uint64_t)keys + 2);
    lists->item = QNNRT_PARTITION__NEW(&p->work, int32_t, pairs->count);
    if (p->work.failed || pairs->count > INT32_MAX) { p->work.failed = QNNRT_E_MEMORY; return 0; }
    for (i = 0; i < pairs->count; ++i) ++lists->first[pairs->key[i] + 2];
    for (k = 2; k <= keys + 1; ++k) lists->first[k] += lists->first[k - 1];
    for (i = 0; i < pairs->count; ++i)
        lists->item[lists->first[pairs->key[i] + 1]++] = pairs->item[i];
    return 1;
}

/* What one node reads: input i, and after the inputs what it overwrites. -1: nothing. */
static int32_t qnnrt_partition__read(const qnnrt_partition_node *node, size_t i)
{
    return i < node->input_count ? node->inputs[i] : node->writes;
}

static int qnnrt_partition__order(qnnrt_partition *p)
{
    qnnrt_partition__pairs edges = { NULL, NULL, 0, 0, 0 }, readers = { NULL, NULL, 0, 0, 0 };
    /* Readers since the last write, a list for each class: head and next of a reader. */
    int32_t *head = qnnrt_partition__numbers(&p->work, (uint64_t)p->values, -1);
    int32_t *writer = qnnrt_partition__numbers(&p->work, (uint64_t)p->values, -1);
    int32_t n, at;
    size_t i;
    if (p->work.failed) return 0;
    for (n = 0; n < p->nodes; ++n) {
        const qnnrt_partition_node *node = &p->desc->nodes[n];
        for (i = 0; i <= node->input_count; ++i) {
            const int32_t v = qnnrt_partition__read(node, i);
            int32_t r;
            if (v < 0 || p->constant[p->root[v]]) continue;
            r = p->root[v];
            if (p->producer[v] >= 0) qnnrt_partition__pair(p, &edges, p->producer[v], n);
            if (!p->changed[r]) continue;
            if (writer[r] >= 0) qnnrt_partition__pair(p, &edges, writer[r], n);
            if (head[r] >= 0 && readers.key[head[r]] == n) continue;
            qnnrt_partition__pair(p, &readers, n, head[r]);
            if (p->work.failed) return 0;
            head[r] = (int32_t)readers.count - 1;
        }
        if (node->writes < 0) continue;
        at = p->root[node->writes];
        writer[at] = n;
        for (i = (size_t)head[at], head[at] = -1; i != (size_t)-1; i = (size_t)readers.item[i])
            if (readers.key[i] != n) qnnrt_partition__pair(p, &edges, readers.key[i], n);
    }
    p->waits = QNNRT_PARTITION__NEW(&p->work, int32_t, p->nodes);
    if (p->work.failed) return 0;
    for (i = 0; i < edges.count; ++i) ++p->waits[edges.item[i]];
    return qnnrt_partition__lists_of(p, &edges, p->nodes, &p->next);
}

/* =====================================================================================
   ASK                                                                              >>ask
   What each backend answers about each node, marks, and pins.
   Needs: >>memory >>text     Knows nothing of: views and states
   ===================================================================================== */

/* True if the caller reads a value, or the next run. */
static int qnnrt_partition__stays(const qnnrt_partition *p, int32_t v)
{
    const int32_t state = p->state_of[p->root[v]];
    return p->desc->values[v].is_output || (state >= 0 && p->last[state] == v);
}

/* Count what a step of this node alone reads and gives. is_read [values]: 1: a node reads it. */
static void qnnrt_partition__alone(const qnnrt_partition *p, int32_t n, const uint8_t *is_read,
                                   int32_t *seen, uint32_t *inputs, uint32_t *outputs)
{
    const qnnrt_partition_node *node = &p->desc->nodes[n];
    size_t i;
    *inputs = *outputs = 0;
    for (i = 0; i <= node->input_count; ++i) {
        const int32_t v = i < node->input_count ? node->inputs[i] : node->writes;
        if (v < 0 || p->constant[p->root[v]] || seen[v] == n) continue;
        seen[v] = n;
        ++*inputs;
    }
    if (node->writes >= 0) ++*outputs;
    for (i = 0; i < node->output_count; ++i)
        if (is_read[node->outputs[i]] || qnnrt_partition__stays(p, node->outputs[i])) ++*outputs;
}

/* Take away backends whose steps are too small for the node alone. */
static void qnnrt_partition__ask_limits(qnnrt_partition *p, int32_t n, uint32_t inputs,
                                        uint32_t outputs)
{
    int32_t b;
    for (b = 0; b < p->backends; ++b) {
        const qnnrt_partition_backend *backend = &p->desc->backends[b];
        if ((backend->most_inputs == 0 || inputs <= backend->most_inputs) &&
            (backend->most_outputs == 0 || outputs <= backend->most_outputs)) continue;
        p->can[n] &= ~((uint32_t)1 << b);
    }
    if (p->can[n] == 0 && p->asked[n] != 0)
        qnnrt_partition__find(p, QNNRT_E_LIMIT, n, -1, -1, -1, qnnrt_partition__say(p,
            "node \"%s\": alone it has %u inputs and %u outputs, more than a step may have on each "
            "backend that supports it", qnnrt_partition__node_name(p->desc, n), inputs, outputs),
            "Raise most_inputs and most_outputs, or add a backend.");
}

/* Return why backends cannot: "npu: no such type; cpu: marked". It is the text of `line`. */
static const char *qnnrt_partition__reasons(const qnnrt_partition *p, int32_t node,
                                            qnnrt_error *line)
{
    int32_t b;
    line->text[0] = '\0';
    for (b = 0; b < p->backends; ++b) {
        const char *why = p->refusals[(size_t)node * (size_t)p->backends + (size_t)b];
        if (why == NULL) continue;
        qnnrt_error_add(line, "%s%s: %.700s", line->text[0] == '\0' ? "" : "; ",
                        qnnrt_partition__backend_name(p->desc, b), why);
    }
    return line->text;
}

/* Copy a reason, unless the backend gave the same one before. */
static const char *qnnrt_partition__refusal(qnnrt_partition *p, const char *why,
                                            const char **before)
{
    if (why == NULL || why[0] == '\0') why = "no reason given";
    if (*before == NULL || strcmp(*before, why) != 0) *before = qnnrt_partition__keep(p, why);
    return *before;
}

static int qnnrt_partition__ask(qnnrt_partition *p)
{
    const qnnrt_partition_desc *desc = p->desc;
    const char *before[QNNRT_PARTITION_BACKENDS];
    qnnrt_error line;
    uint8_t *is_read;
    int32_t *seen, n, b;
    uint32_t inputs, outputs;
    size_t i;
    memset(before, 0, sizeof before);
    p->can = QNNRT_PARTITION__NEW(&p->work, uint32_t, p->nodes);
    p->asked = QNNRT_PARTITION__NEW(&p->work, uint32_t, p->nodes);
    p->refusals = QNNRT_PARTITION__NEW(&p->keep, const char *,
                                       (uint64_t)p->nodes * (uint64_t)p->backends);
    is_read = QNNRT_PARTITION__NEW(&p->work, uint8_t, p->values);
    seen = qnnrt_partition__numbers(&p->work, (uint64_t)p->values, -1);
    if (p->work.failed || p->keep.failed) return 0;
    for (n = 0; n < p->nodes; ++n)
        for (i = 0; i <= desc->nodes[n].input_count; ++i) {
            b = i < desc->nodes[n].input_count ? desc->nodes[n].inputs[i] : desc->nodes[n].writes;
            if (b >= 0) is_read[b] = 1;
        }
    for (i = 0; i < desc->mark_count; ++i) {
        const qnnrt_partition_mark *mark = &desc->marks[i];
        const char *none = NULL;
        if (mark->node < 0 || mark->node >= p->nodes || mark->backend < 0 ||
            mark->backend >= p->backends) {
            qnnrt_partition__find(p, QNNRT_E_ARG, -1, -1, -1, -1, qnnrt_partition__say(p,
                "mark %u: node %d or backend %d is not there", (unsigned)i, (int)mark->node,
                (int)mark->backend), "");
            continue;
        }
        p->refusals[(size_t)mark->node * (size_t)p->backends + (size_t)mark->backend] =
            qnnrt_partition__refusal(p, mark->why, &none);
    }
    for (n = 0; n < p->nodes; ++n) {
        const qnnrt_partition_node *node = &desc->nodes[n];
        const char **refusals = p->refusals + (size_t)n * (size_t)p->backends;
        for (b = 0; b < p->backends; ++b) {
            const char *why = NULL;
            if (refusals[b] != NULL) continue;
            ++p->info.asked;
            if (desc->supports(desc->user, n, b, &why)) p->asked[n] |= (uint32_t)1 << b;
            else refusals[b] = qnnrt_partition__refusal(p, why, &before[b]);
        }
        p->can[n] = p->asked[n];
        qnnrt_partition__alone(p, n, is_read, seen, &inputs, &outputs);
        qnnrt_partition__ask_limits(p, n, inputs, outputs);
        if (p->asked[n] == 0)
            qnnrt_partition__find(p, QNNRT_E_UNSUPPORTED, n, -1, -1, -1, qnnrt_partition__say(p,
                "node \"%s\" (%s%s%s): no backend supports it: %s",
                qnnrt_partition__node_name(desc, n), node->op != NULL ? node->op : "?",
                node->types != NULL ? ", " : "", node->types != NULL ? node->types : "",
                qnnrt_partition__reasons(p, n, &line)),
                p->host < 0 ? "Add the host as the last backend." : "");
        if (node->pin < 0 || p->can[n] == 0) continue;
        p->can[n] &= (uint32_t)1 << node->pin;
        if (p->can[n] == 0)
            qnnrt_partition__find(p, QNNRT_E_ARG, n, -1, -1, node->pin, qnnrt_partition__say(p,
                "node \"%s\" (%s): it is pinned to \"%s\", which does not support it: %s",
                qnnrt_partition__node_name(desc, n), node->op != NULL ? node->op : "?",
                qnnrt_partition__backend_name(desc, node->pin), refusals[node->pin] != NULL ?
                refusals[node->pin] : "its steps have fewer inputs or outputs than the node"),
                "Remove the pin, or pin the node to a backend that supports it.");
    }
    return !p->keep.failed;
}

/* =====================================================================================
   PLACE                                                                          >>place
   Placement before allocation: sets of nodes that must share a backend because of states, views
   and writes in place.
   Needs: >>memory >>text >>order >>ask     Knows nothing of: costs
   ===================================================================================== */

static int32_t qnnrt_partition__leader(qnnrt_partition *p, int32_t node)
{
    while (p->leader[node] != node) {
        p->leader[node] = p->leader[p->leader[node]];
        node = p->leader[node];
    }
    return node;
}

/* Put nodes into one set, if a backend of `allowed` can do all of them. Return whether. */
static int qnnrt_partition__glue(qnnrt_partition *p, const int32_t *nodes, int32_t count,
                                 uint32_t allowed, int32_t *reasons, int32_t reason)
{
    uint32_t mask = allowed;
    int32_t i, leader;
    for (i = 0; i < count; ++i) mask &= p->mask[qnnrt_partition__leader(p, nodes[i])];
    if (mask == 0) return 0;
    leader = count > 0 ? qnnrt_partition__leader(p, nodes[0]) : -1;
    for (i = 0; i < count; ++i) {
        p->leader[qnnrt_partition__leader(p, nodes[i])] = leader;
        if (reasons[nodes[i]] < 0) reasons[nodes[i]] = reason;
    }
    if (count > 0) p->mask[leader] = mask;
    return 1;
}

/* List which nodes belong to each class, and which touch each state. */
static int qnnrt_partition__place_lists(qnnrt_partition *p)
{
    qnnrt_partition__pairs members = { NULL, NULL, 0, 0, 0 }, touching = { NULL, NULL, 0, 0, 0 };
    int32_t *seen = qnnrt_partition__numbers(&p->work, (uint64_t)p->values, -1);
    int32_t *state_seen = qnnrt_partition__numbers(&p->work, (uint64_t)p->states, -1);
    uint8_t *viewed = QNNRT_PARTITION__NEW(&p->work, uint8_t, p->values);
    int32_t n, v;
    size_t i;
    if (p->work.failed) return 0;
    for (v = 0; v < p->values; ++v)
        if (p->root[v] != v || p->changed[v]) viewed[p->root[v]] = 1;
    for (n = 0; n < p->nodes; ++n) {
        const qnnrt_partition_node *node = &p->desc->nodes[n];
        for (i = 0; i < node->output_count + node->input_count + 1; ++i) {
            const int32_t value = i < node->output_count ? node->outputs[i] :
                                  qnnrt_partition__read(node, i - node->output_count);
            int32_t r, s;
            if (value < 0 || p->constant[p->root[value]]) continue;
            r = p->root[value];
            s = p->state_of[r];
            if (s >= 0 && state_seen[s] != n) {
                state_seen[s] = n;
                qnnrt_partition__pair(p, &touching, s, n);
            }
            if (!viewed[r] || seen[r] == n) continue;
            if (i >= node->output_count && i < node->output_count + node->input_count) continue;
            seen[r] = n;
            qnnrt_partition__pair(p, &members, r, n);
        }
    }
    return !p->work.failed && qnnrt_partition__lists_of(p, &members, p->values, &p->members) &&
           qnnrt_partition__lists_of(p, &touching, p->states, &p->touching);
}

static void qnnrt_partition__state_finding(qnnrt_partition *p, int32_t s, const int32_t *nodes,
                                           int32_t count)
{
    qnnrt_error line, reasons;
    int32_t i, listed = 0;
    line.text[0] = '\0';
    for (i = 0; i < count; ++i) {
        const int32_t n = nodes[i];
        const qnnrt_partition_node *node = &p->desc->nodes[n];
        const uint32_t all = ((uint32_t)1 << p->backends) - 1;
        if (p->can[n] == all) continue;
        if (++listed > 4) continue;
        qnnrt_error_add(&line, "; \"%s\" (%s%s%s) ", qnnrt_partition__node_name(p->desc, n),
                        node->op != NULL ? node->op : "?", node->types != NULL ? ", " : "",
                        node->types != NULL ? node->types : "");
        if (node->pin >= 0)
            qnnrt_error_add(&line, "is pinned to %s",
                            qnnrt_partition__backend_name(p->desc, node->pin));
        else
            qnnrt_error_add(&line, "is not supported: %.300s",
                            qnnrt_partition__reasons(p, n, &reasons));
    }
    if (listed > 4) qnnrt_error_add(&line, "; and %d more", (int)listed - 4);
    qnnrt_partition__find(p, QNNRT_E_UNSUPPORTED, listed > 0 ? nodes[0] : -1, -1, s, -1,
        qnnrt_partition__say(p, "state \"%s\": no backend supports all %d nodes that touch it%s",
                             qnnrt_partition__state_name(p->desc, s), (int)count, line.text),
        p->desc->state_hint != NULL ? p->desc->state_hint
        : "Keep it on the host: set the policy of the state to HOST.");
}

static qnnrt_partition_policy qnnrt_partition__policy(const qnnrt_partition *p, int32_t state)
{
    const qnnrt_partition_policy own = p->desc->states[state].policy;
    return own != QNNRT_PARTITION_POLICY_DEFAULT ? own : p->desc->state_policy;
}

/* Find an owner for a state, or leave it in host memory. */
static void qnnrt_partition__place_state(qnnrt_partition *p, int32_t s)
{
    const int32_t *nodes = p->touching.item + p->touching.first[s];
    const int32_t count = p->touching.first[s + 1] - p->touching.first[s];
    const qnnrt_partition_policy policy = qnnrt_partition__policy(p, s);
    const uint32_t host = p->host >= 0 ? (uint32_t)1 << p->host : 0;
    int32_t i, pinned = 0;
    p->owner_node[s] = -1;
    if (count == 0 || policy == QNNRT_PARTITION_POLICY_ALWAYS_HOST) return;
    if (qnnrt_partition__glue(p, nodes, count, ~host, p->of_state, s)) {
        p->owner_node[s] = nodes[0];
        return;
    }
    if (policy != QNNRT_PARTITION_POLICY_ERROR) return;
    for (i = 0; i < count; ++i) pinned += p->desc->nodes[nodes[i]].pin == p->host && p->host >= 0;
    if (pinned < count && !(p->backends == 1 && p->host == 0))
        qnnrt_partition__state_finding(p, s, nodes, count);
}

/* A class that is overwritten, and no backend can do all of its nodes: it lives on the host, and
   writers that the host cannot compute get transfers. */
static void qnnrt_partition__place_on_host(qnnrt_partition *p, int32_t r)
{
    const int32_t *nodes = p->members.item + p->members.first[r];
    const int32_t count = p->members.first[r + 1] - p->members.first[r];
    const uint32_t host = p->host >= 0 ? (uint32_t)1 << p->host : 0;
    qnnrt_error line;
    int32_t i;
    p->home_node[r] = -1;
    for (i = 0; i < count; ++i) {
        const int32_t n = nodes[i], leader = qnnrt_partition__leader(p, n);
        const int32_t w = p->desc->nodes[n].writes;
        if ((p->mask[leader] & host) != 0) {
            p->mask[leader] = host;
            p->home_node[r] = n;
            if (p->of_class[n] < 0) p->of_class[n] = r;
        } else if (host != 0 && w >= 0 && p->root[w] == r) {
            p->away[n] = 1;
        } else {
            qnnrt_partition__reasons(p, n, &line);
            qnnrt_partition__find(p, QNNRT_E_UNSUPPORTED, n, r, p->state_of[r], -1,
                qnnrt_partition__say(p, "value \"%s\": no backend supports all nodes that view or "
                    "overwrite it, and \"%s\" (%s) cannot run on the host%s%s%s",
                    qnnrt_partition__value_name(p->desc, r), qnnrt_partition__node_name(p->desc, n),
                    p->desc->nodes[n].op != NULL ? p->desc->nodes[n].op : "?",
                    p->host < 0 ? ", which is no backend" : "", line.text[0] != '\0' ? ": " : "",
                    line.text),
                p->host < 0 ? "Add the host as the last backend."
                            : "Let one backend support all of them, or remove pins.");
            return;
        }
    }
}

/* Return 0 if there are findings or no memory. */
static int qnnrt_partition__place(qnnrt_partition *p)
{
    const uint32_t host = p->host >= 0 ? (uint32_t)1 << p->host : 0;
    int32_t n, r, s;
    if (!qnnrt_partition__place_lists(p)) return 0;
    p->leader = QNNRT_PARTITION__NEW(&p->work, int32_t, p->nodes);
    p->mask = QNNRT_PARTITION__NEW(&p->work, uint32_t, p->nodes);
    p->away = QNNRT_PARTITION__NEW(&p->work, uint8_t, p->nodes);
    p->of_state = qnnrt_partition__numbers(&p->work, (uint64_t)p->nodes, -1);
    p->of_class = qnnrt_partition__numbers(&p->work, (uint64_t)p->nodes, -1);
    p->home_node = qnnrt_partition__numbers(&p->work, (uint64_t)p->values, -1);
    p->owner_node = qnnrt_partition__numbers(&p->work, (uint64_t)p->states, -1);
    if (p->work.failed) return 0;
    for (n = 0; n < p->nodes; ++n) {
        p->leader[n] = n;
        p->mask[n] = p->can[n];
    }
    for (s = 0; s < p->states; ++s) qnnrt_partition__place_state(p, s);
    for (r = 0; r < p->values; ++r) {
        const int32_t *nodes = p->members.item + p->members.first[r];
        const int32_t count = p->members.first[r + 1] - p->members.first[r];
        const int32_t state = p->state_of[r];
        const int on_host = state >= 0 && p->owner_node[state] < 0;
        if (!p->changed[r] || count == 0) continue;
        if (qnnrt_partition__glue(p, nodes, count, on_host ? host : ~(uint32_t)0, p->of_class, r))
            p->home_node[r] = nodes[0];
        else
            qnnrt_partition__place_on_host(p, r);
    }
    /* A view that nothing overwrites may be a copy, if it has to. */
    for (r = 0; r < p->values; ++r)
        if (!p->changed[r])
            (void)qnnrt_partition__glue(p, p->members.item + p->members.first[r],
                                        p->members.first[r + 1] - p->members.first[r],
                                        ~(uint32_t)0, p->of_class, r);
    return p->finding_count == 0 && !p->keep.failed;
}

/* =====================================================================================
   BORDER                                                                        >>border
   What the borders between backends cost, as a function of the backend of each set.
   Needs: >>memory >>text >>order >>place     Knows nothing of: steps
   ===================================================================================== */

static int32_t qnnrt_partition__passage_add(qnnrt_partition *p, int32_t value, int32_t source)
{
    qnnrt_partition__passage *passage;
    p->passages = (qnnrt_partition__passage *)qnnrt_arena_more(&p->work, p->passages,
                                                               p->passage_count, &p->passage_room,
                                                               sizeof p->passages[0]);
    if (p->work.failed) { p->passage_count = 0; return -1; }
    passage = &p->passages[p->passage_count++];
    passage->value = value;
    passage->source = source;
    passage->to_host = passage->stamp = 0;
    passage->shared = p->shared[p->root[value]];
    passage->unit = (double)p->desc->values[value].bytes * p->per_byte + p->per_crossing;
    return (int32_t)p->passage_count - 1;
}

/* Return where a value without producer begins: a cluster that owns its state, or -1. */
static int32_t qnnrt_partition__begins(const qnnrt_partition *p, int32_t value)
{
    const int32_t state = p->state_of[p->root[value]];
    return state >= 0 && p->owner_node[state] >= 0 ? p->cluster[p->owner_node[state]] : -1;
}

/* True if the caller reads a value in host memory after the last step. */
static int qnnrt_partition__ends_on_host(const qnnrt_partition *p, int32_t value)
{
    const int32_t state = p->state_of[p->root[value]];
    if (state >= 0) return p->owner_node[state] < 0 && (p->last[state] == value ||
                                                        p->desc->values[value].is_output);
    return p->desc->values[value].is_output;
}

/* Number the sets of nodes. */
static int qnnrt_partition__border_clusters(qnnrt_partition *p)
{
    qnnrt_partition__pairs inside = { NULL, NULL, 0, 0, 0 };
    int32_t n;
    p->cluster = qnnrt_partition__numbers(&p->work, (uint64_t)p->nodes, -1);
    p->cluster_mask = QNNRT_PARTITION__NEW(&p->work, uint32_t, p->nodes);
    p->cluster_work = QNNRT_PARTITION__NEW(&p->work, double, p->nodes);
    p->cluster_bytes = QNNRT_PARTITION__NEW(&p->work, double, p->nodes);
    if (p->work.failed) return 0;
    for (n = 0; n < p->nodes; ++n) {
        const int32_t leader = qnnrt_partition__leader(p, n);
        if (p->cluster[leader] < 0) {
            p->cluster_mask[p->clusters] = p->mask[leader];
            p->cluster[leader] = p->clusters++;
        }
        p->cluster[n] = p->cluster[leader];
        p->cluster_work[p->cluster[n]] += p->desc->nodes[n].work;
        p->cluster_bytes[p->cluster[n]] += p->desc->nodes[n].bytes;
        qnnrt_partition__pair(p, &inside, p->cluster[n], n);
    }
    return !p->work.failed && qnnrt_partition__lists_of(p, &inside, p->clusters, &p->inside);
}

/* List passages, and which clusters read them. */
static int qnnrt_partition__border(qnnrt_partition *p)
{
    qnnrt_partition__pairs reads = { NULL, NULL, 0, 0, 0 };
    qnnrt_partition__lists lists;
    int32_t *now, *at, *version, n, v, c;
    size_t i, count = 0;
    if (!qnnrt_partition__border_clusters(p)) return 0;
    now = qnnrt_partition__numbers(&p->work, (uint64_t)p->values, -1);
    at = qnnrt_partition__numbers(&p->work, (uint64_t)p->values, 0);
    version = qnnrt_partition__numbers(&p->work, (uint64_t)p->values, 0);
    if (p->work.failed) return 0;
    for (n = 0; n < p->nodes; ++n) {
        const qnnrt_partition_node *node = &p->desc->nodes[n];
        for (i = 0; i <= node->input_count; ++i) {
            const int32_t value = qnnrt_partition__read(node, i);
            int32_t r, source;
            if (value < 0 || p->constant[p->root[value]]) continue;
            r = p->root[value];
            if (now[value] < 0 || at[value] != version[r]) {
                if (!p->changed[r] || (version[r] == 0 && p->producer[r] < 0)) {
                    source = p->producer[value] >= 0 ? p->cluster[p->producer[value]] :
                             qnnrt_partition__begins(p, value);
                } else {
                    source = p->home_node[r] >= 0 ? p->cluster[p->home_node[r]] : -1;
                }
                now[value] = qnnrt_partition__passage_add(p, value, source);
                at[value] = version[r];
                if (now[value] < 0) return 0;
            }
            if (p->passages[now[value]].source != p->cluster[n])
                qnnrt_partition__pair(p, &reads, p->cluster[n], now[value]);
        }
        if (node->writes >= 0) ++version[p->root[node->writes]];
    }
    for (v = 0; v < p->values; ++v) {
        if (!qnnrt_partition__ends_on_host(p, v) || p->producer[v] < 0) continue;
        if (now[v] < 0 || at[v] != version[p->root[v]])
            now[v] = qnnrt_partition__passage_add(p, v, !p->changed[p->root[v]] ?
                p->cluster[p->producer[v]] : p->home_node[p->root[v]] >= 0 ?
                p->cluster[p->home_node[p->root[v]]] : -1);
        if (now[v] < 0) return 0;
        p->passages[now[v]].to_host = 1;
    }
    for (i = 0; i < p->passage_count; ++i)
        if (p->passages[i].source >= 0)
            qnnrt_partition__pair(p, &reads, p->passages[i].source, (int32_t)i);
    p->touches = QNNRT_PARTITION__NEW(&p->work, qnnrt_partition__touch, reads.count);
    p->touch_first = QNNRT_PARTITION__NEW(&p->work, int32_t, p->clusters + 1);
    p->readers = QNNRT_PARTITION__NEW(&p->work, int32_t,
                                      (uint64_t)p->passage_count * (uint64_t)p->backends);
    p->color = qnnrt_partition__numbers(&p->work, (uint64_t)p->clusters, -1);
    if (p->work.failed || !qnnrt_partition__lists_of(p, &reads, p->clusters, &lists)) return 0;
    for (c = 0; c < p->clusters; ++c) {
        int32_t k;
        p->touch_first[c] = (int32_t)count;
        for (k = lists.first[c]; k < lists.first[c + 1]; ++k) {
            const int32_t passage = lists.item[k];
            const int reads_it = p->passages[passage].source != c;
            if (count > (size_t)p->touch_first[c] && p->touches[count - 1].passage == passage) {
                p->touches[count - 1].count += reads_it;
            } else {
                p->touches[count].passage = passage;
                p->touches[count++].count = reads_it;
            }
        }
    }
    p->touch_first[p->clusters] = (int32_t)count;
    return 1;
}

static double qnnrt_partition__passage_cost(const qnnrt_partition *p, int32_t index)
{
    const qnnrt_partition__passage *passage = &p->passages[index];
    const uint8_t *places = p->places[passage->shared];
    const int32_t *readers = p->readers + (size_t)index * (size_t)p->backends;
    const uint64_t source = (uint64_t)1 << (passage->source < 0 ? 0 :
                                            places[p->color[passage->source]]);
    uint64_t seen = source;
    double cost = 0;
    int32_t b;
    for (b = 0; b < p->backends; ++b) {
        const uint64_t place = (uint64_t)1 << places[b];
        if (readers[b] == 0 || (seen & place) != 0) continue;
        seen |= place;
        cost += passage->unit;
    }
    if (passage->to_host && (seen & 1) == 0) cost += passage->unit;
    return cost;
}

static double qnnrt_partition__work_on(const qnnrt_partition *p, int32_t cluster, int32_t backend)
{
    const qnnrt_partition_backend *b = &p->desc->backends[backend];
    const int32_t nodes = p->inside.first[cluster + 1] - p->inside.first[cluster];
    return p->cluster_work[cluster] / (b->speed > 0 ? b->speed : 1) + b->per_node * nodes +
           (b->bandwidth > 0 ? p->cluster_bytes[cluster] / b->bandwidth : 0);
}

/* Return what that counts: more than it is, where another backend is preferred. */
static double qnnrt_partition__counts(const qnnrt_partition *p, int32_t cluster, int32_t backend)
{
    const uint32_t before = ((uint32_t)1 << backend) - 1;
    return qnnrt_partition__work_on(p, cluster, backend) *
           ((p->cluster_mask[cluster] & before) != 0 ? p->prefer : 1);
}

/* Move a cluster to another backend. Return by how much work and borders become dearer. */
static double qnnrt_partition__recolor(qnnrt_partition *p, int32_t cluster, int32_t backend)
{
    const int32_t from = p->color[cluster];
    const qnnrt_partition__touch *touch = p->touches + p->touch_first[cluster];
    const qnnrt_partition__touch *end = p->touches + p->touch_first[cluster + 1], *t;
    double cost = 0;
    if (from == backend) return 0;
    for (t = touch; t < end; ++t) {
        int32_t *readers = p->readers + (size_t)t->passage * (size_t)p->backends;
        if (from >= 0) {
            cost -= qnnrt_partition__passage_cost(p, t->passage);
            readers[from] -= t->count;
        }
        readers[backend] += t->count;
        if (from < 0) continue;
        p->color[cluster] = backend;
        cost += qnnrt_partition__passage_cost(p, t->passage);
        p->color[cluster] = from;
    }
    if (from >= 0)
        cost += qnnrt_partition__counts(p, cluster, backend) -
                qnnrt_partition__counts(p, cluster, from);
    p->color[cluster] = backend;
    return cost;
}

/* =====================================================================================
   SCHEDULE                                                                    >>schedule
   Steps: as few as the order of nodes allows, with the backends as they are.
   Needs: >>text     Knows nothing of: costs
   ===================================================================================== */

static int32_t qnnrt_partition__backend_of(const qnnrt_partition *p, int32_t node)
{
    return p->color[p->cluster[node]];
}

/* True if a node overwrites a value whose memory is elsewhere: it gets a step of its own. */
static int qnnrt_partition__is_away(const qnnrt_partition *p, int32_t node)
{
    int32_t r, b;
    if (!p->away[node]) return 0;
    r = p->root[p->desc->nodes[node].writes];
    b = qnnrt_partition__backend_of(p, node);
    return p->places[p->shared[r]][b] != p->places[p->shared[r]][p->host];
}

/* Sort nodes by step. */
static void qnnrt_partition__schedule_order(qnnrt_partition *p)
{
    int32_t *count = p->height, n, s, sum = 0;   /* the heights are not needed any more */
    for (s = 0; s <= p->steps; ++s) count[s] = 0;
    for (n = 0; n < p->nodes; ++n) ++count[p->step_of[n]];
    for (s = 0; s < p->steps; ++s) {
        const int32_t own = count[s];
        count[s] = sum;
        sum += own;
    }
    for (n = 0; n < p->nodes; ++n) p->order[count[p->step_of[n]]++] = n;
}

/* Run all that is ready on one backend, then choose the next one: the one whose nodes have the most
   changes of backend after them. first: the backend to begin with, if it has ready nodes. */
static void qnnrt_partition__schedule_from(qnnrt_partition *p, int32_t first)
{
    /* The queue of backend b; the last one is for nodes with steps of their own. */
    int32_t head[QNNRT_PARTITION_BACKENDS + 1], tail[QNNRT_PARTITION_BACKENDS + 1];
    int32_t high[QNNRT_PARTITION_BACKENDS + 1];
    const int32_t alone = p->backends;
    int32_t n, b, left = p->nodes;
    for (b = 0; b <= alone; ++b) { head[b] = tail[b] = -1; high[b] = -1; }
    memcpy(p->left, p->waits, sizeof(int32_t) * (size_t)p->nodes);
    p->steps = 0;
#define QNNRT_PARTITION__PUSH(node)                                                                \
    do {                                                                                           \
        const int32_t n_ = (node);                                                                 \
        const int32_t q_ = qnnrt_partition__is_away(p, n_) ? alone                                 \
                                                           : qnnrt_partition__backend_of(p, n_);   \
        p->chain[n_] = -1;                                                                         \
        if (head[q_] < 0) head[q_] = n_;                                                           \
        else p->chain[tail[q_]] = n_;                                                              \
        tail[q_] = n_;                                                                             \
        if (p->height[n_] > high[q_]) high[q_] = p->height[n_];                                    \
    } while (0)
    for (n = 0; n < p->nodes; ++n)
        if (p->left[n] == 0) QNNRT_PARTITION__PUSH(n);
    while (left > 0) {
        int32_t q = -1;
        if (first >= 0 && head[first] >= 0) q = first;
        first = -1;
        for (b = 0; b <= alone && q < 0; ++b)
            if (head[b] >= 0) q = b;
        for (b = 0; b <= alone && left < p->nodes; ++b)
            if (head[b] >= 0 && high[b] > high[q]) q = b;
        while (head[q] >= 0) {
            int32_t k;
            n = head[q];
            head[q] = p->chain[n];
            p->step_of[n] = p->steps;
            --left;
            for (k = p->next.first[n]; k < p->next.first[n + 1]; ++k)
                if (--p->left[p->next.item[k]] == 0) QNNRT_PARTITION__PUSH(p->next.item[k]);
            if (q == alone) break;
        }
        if (head[q] < 0) high[q] = -1;
        ++p->steps;
    }
#undef QNNRT_PARTITION__PUSH
}

/* Form steps, the fewest over all backends to begin with. */
static void qnnrt_partition__schedule(qnnrt_partition *p)
{
    int32_t n, b, best = -1, fewest = INT32_MAX;
    uint32_t begin = 0;
    for (n = p->nodes - 1; n >= 0; --n) {
        const int32_t own = qnnrt_partition__backend_of(p, n);
        const int alone = qnnrt_partition__is_away(p, n);
        int32_t k, height = 0;
        for (k = p->next.first[n]; k < p->next.first[n + 1]; ++k) {
            const int32_t m = p->next.item[k];
            const int32_t more = p->height[m] +
                (alone || own != qnnrt_partition__backend_of(p, m) ||
                 qnnrt_partition__is_away(p, m));
            if (more > height) height = more;
        }
        p->height[n] = height;
        if (p->waits[n] == 0 && !alone) begin |= (uint32_t)1 << own;
    }
    for (b = 0; b < p->backends; ++b) {
        if ((begin >> b & 1) == 0) continue;
        qnnrt_partition__schedule_from(p, b);
        if (p->steps < fewest) { fewest = p->steps; best = b; }
    }
    if (best < 0 || (begin & (begin - 1)) != 0) qnnrt_partition__schedule_from(p, best);
    qnnrt_partition__schedule_order(p);
}

/* Runs of consecutive nodes. */
static void qnnrt_partition__schedule_runs(qnnrt_partition *p)
{
    int32_t n;
    p->steps = 0;
    for (n = 0; n < p->nodes; ++n) {
        if (n == 0 || qnnrt_partition__is_away(p, n) || qnnrt_partition__is_away(p, n - 1) ||
            qnnrt_partition__backend_of(p, n) != qnnrt_partition__backend_of(p, n - 1)) ++p->steps;
        p->step_of[n] = p->steps - 1;
        p->order[n] = n;
    }
}

/* =====================================================================================
   MOVE                                                                            >>move
   Transfers: what each step needs and is not where it can read it, or is stale there.
   Needs: >>text >>order >>border >>schedule     Knows nothing of: why
   ===================================================================================== */

static void qnnrt_partition__transfer(qnnrt_partition *p, int32_t value, int32_t from, int32_t to,
                                      int32_t step, uint32_t version)
{
    const uint64_t bytes = p->desc->values[value].bytes;
    p->moved = bytes > UINT64_MAX - p->moved ? UINT64_MAX : p->moved + bytes;
    if (p->record) {
        qnnrt_partition_transfer *transfer;
        void *more = qnnrt_arena_more(&p->keep, p->transfers, p->transfer_count, &p->transfer_room,
                                      sizeof p->transfers[0]);
        if (more == NULL) return;
        p->transfers = (qnnrt_partition_transfer *)more;
        transfer = &p->transfers[p->transfer_count];
        transfer->value = value;
        transfer->from = from;
        transfer->to = to;
        transfer->before_step = (uint32_t)step;
        transfer->version = version;
        transfer->bytes = bytes;
    }
    ++p->transfer_count;
}

static int32_t qnnrt_partition__home(const qnnrt_partition *p, int32_t root)
{
    const int32_t node = p->home_node[root];
    return node >= 0 ? qnnrt_partition__backend_of(p, node) : -1;
}

static int qnnrt_partition__place_of(const qnnrt_partition *p, int32_t root, int32_t backend)
{
    return backend < 0 ? 0 : p->places[p->shared[root]][backend];
}

/* Return the backend where a value is before anything runs, or after its producer. */
static int32_t qnnrt_partition__source(const qnnrt_partition *p, int32_t value)
{
    int32_t cluster;
    if (p->producer[value] >= 0) return qnnrt_partition__backend_of(p, p->producer[value]);
    cluster = qnnrt_partition__begins(p, value);
    return cluster >= 0 ? p->color[cluster] : -1;
}

/* Bring the present content of a value to where a backend reads it; -1: to host memory. */
static void qnnrt_partition__fetch(qnnrt_partition *p, int32_t value, int32_t backend, int32_t step)
{
    const int32_t r = p->root[value];
    const int place = qnnrt_partition__place_of(p, r, backend);
    const uint64_t bit = (uint64_t)1 << place;
    int32_t source;
    if (p->constant[r]) return;
    if (p->changed[r]) {
        source = qnnrt_partition__home(p, r);
        if (place == qnnrt_partition__place_of(p, r, source)) {
            if (p->at_home[r]) return;
            p->at_home[r] = 1;
            source = qnnrt_partition__source(p, r);
            if (qnnrt_partition__place_of(p, r, source) != place)
                qnnrt_partition__transfer(p, r, source, backend, step, 0);
            return;
        }
        if (!p->at_home[r]) source = qnnrt_partition__source(p, r);
        if (p->have_version[value] != p->version[r]) {
            p->have_version[value] = p->version[r];
            p->have[value] = 0;
        }
    } else {
        source = qnnrt_partition__source(p, value);
    }
    if ((p->have[value] & bit) != 0) return;
    p->have[value] |= bit;
    if (qnnrt_partition__place_of(p, r, source) != place)
        qnnrt_partition__transfer(p, value, source, backend, step, p->version[r]);
}

/* Find the transfers for the steps as they are. */
static void qnnrt_partition__move(qnnrt_partition *p)
{
    int32_t at, v;
    size_t i;
    p->transfer_count = 0;
    p->moved = 0;
    memset(p->at_home, 0, (size_t)p->values);
    memset(p->version, 0, sizeof(uint32_t) * (size_t)p->values);
    memset(p->have_version, 0, sizeof(uint32_t) * (size_t)p->values);
    for (v = 0; v < p->values; ++v) p->have[v] = p->producer[v] >= 0 ? 0 : (uint64_t)1 <<
        qnnrt_partition__place_of(p, p->root[v], qnnrt_partition__source(p, v));
    for (at = 0; at < p->nodes; ++at) {
        const int32_t n = p->order[at], b = qnnrt_partition__backend_of(p, n);
        const qnnrt_partition_node *node = &p->desc->nodes[n];
        for (i = 0; i <= node->input_count; ++i) {
            v = qnnrt_partition__read(node, i);
            if (v >= 0) qnnrt_partition__fetch(p, v, b, p->step_of[n]);
        }
        if (node->writes >= 0) {
            const int32_t r = p->root[node->writes];
            ++p->version[r];
            if (qnnrt_partition__is_away(p, n)) {
                qnnrt_partition__transfer(p, node->writes, b, qnnrt_partition__home(p, r),
                                          p->step_of[n] + 1, p->version[r]);
                p->have_version[node->writes] = p->version[r];
                p->have[node->writes] = (uint64_t)1 << qnnrt_partition__place_of(p, r, b);
            }
        }
        for (i = 0; i < node->output_count; ++i) {
            const int32_t r = p->root[node->outputs[i]];
            const int place = qnnrt_partition__place_of(p, r, b);
            if (!p->changed[r])
                p->have[node->outputs[i]] |= (uint64_t)1 << place;
            else if (place == qnnrt_partition__place_of(p, r, qnnrt_partition__home(p, r)))
                p->at_home[r] = 1;
        }
    }
    for (v = 0; v < p->values; ++v)
        if (qnnrt_partition__ends_on_host(p, v)) qnnrt_partition__fetch(p, v, -1, p->steps);
}

/* Return totals of the steps as they are. */
static qnnrt_partition_totals qnnrt_partition__totals(qnnrt_partition *p)
{
    qnnrt_partition_totals totals;
    int32_t c, n;
    qnnrt_partition__move(p);
    totals.steps = (size_t)p->steps;
    totals.crossings = p->transfer_count;
    totals.bytes = p->moved;
    totals.work = 0;
    totals.cost = p->per_byte * (double)p->moved + p->per_crossing * (double)p->transfer_count;
    for (n = 0; n < p->nodes; ++n)
        if (n == 0 || p->step_of[p->order[n]] != p->step_of[p->order[n - 1]])
            totals.cost += p->per_step[qnnrt_partition__backend_of(p, p->order[n])];
    totals.time = totals.cost;
    for (c = 0; c < p->clusters; ++c) {
        totals.work += qnnrt_partition__work_on(p, c, p->color[c]);
        totals.cost += qnnrt_partition__counts(p, c, p->color[c]);
    }
    totals.time += totals.work;
    return totals;
}

/* =====================================================================================
   ASSIGN                                                                        >>assign
   A backend for each set of nodes: several beginnings, each improved set by set.
   Needs: >>text >>border     Knows nothing of: steps
   ===================================================================================== */

/* Take the preferred backend where it is possible, else the fastest one; -1: always the fastest. */
static void qnnrt_partition__begin(qnnrt_partition *p, int32_t preferred)
{
    int32_t c, b, best;
    memset(p->readers, 0, sizeof(int32_t) * p->passage_count * (size_t)p->backends);
    for (c = 0; c < p->clusters; ++c) p->color[c] = -1;
    for (c = 0; c < p->clusters; ++c) {
        best = -1;
        for (b = 0; b < p->backends; ++b) {
            if ((p->cluster_mask[c] >> b & 1) == 0) continue;
            if (best < 0 || b == preferred || (best != preferred &&
                qnnrt_partition__counts(p, c, b) < qnnrt_partition__counts(p, c, best))) best = b;
        }
        (void)qnnrt_partition__recolor(p, c, best);
    }
}

/* Move a set to the backend where it and its borders are cheapest. Return whether it moved. */
static int qnnrt_partition__improve_one(qnnrt_partition *p, int32_t c)
{
    const int32_t from = p->color[c];
    const uint32_t mask = p->cluster_mask[c];
    double least = -1e-9;
    int32_t b, best = from;
    if ((mask & (mask - 1)) == 0) return 0;
    for (b = 0; b < p->backends; ++b) {
        double cost;
        if (b == from || (mask >> b & 1) == 0) continue;
        cost = qnnrt_partition__recolor(p, c, b);
        (void)qnnrt_partition__recolor(p, c, from);
        if (cost < least) { least = cost; best = b; }
    }
    (void)qnnrt_partition__recolor(p, c, best);
    return best != from;
}

/* Improve set by set, forwards and backwards. */
static void qnnrt_partition__improve(qnnrt_partition *p)
{
    int32_t pass, c, moved = 1;
    for (pass = 0; pass < 12 && moved; ++pass)
        for (moved = 0, c = 0; c < p->clusters; ++c)
            moved |= qnnrt_partition__improve_one(p, pass % 2 == 0 ? c : p->clusters - 1 - c);
}

/* =====================================================================================
   ISLAND                                                                        >>island
   Whole islands, connected nodes of one step, move to another backend where the plan as a whole
   becomes cheaper.
   Needs: >>text >>order >>border >>schedule >>move >>assign
   Knows nothing of: why
   ===================================================================================== */

/* One of the plans that are compared. */
typedef struct qnnrt_partition__best {
    qnnrt_partition__set  *sets;     /* [clusters] */
    qnnrt_partition_totals totals;
} qnnrt_partition__best;

/* Schedule, and keep the plan if it is cheaper, or the first one. Sets that moved were in an island
   of `with` nodes. Return whether. */
static int qnnrt_partition__try(qnnrt_partition *p, qnnrt_partition__best *best, int first,
                                int32_t with)
{
    qnnrt_partition_totals totals;
    double gain;
    int32_t c;
    qnnrt_partition__schedule(p);
    totals = qnnrt_partition__totals(p);
    gain = first ? 0 : best->totals.cost - totals.cost;
    if (!first && !(gain > 1e-9 * (1 + best->totals.cost))) return 0;
    best->totals = totals;
    for (c = 0; c < p->clusters; ++c) {
        qnnrt_partition__set *set = &best->sets[c];
        if (first) {
            set->from = -1;
        } else if (set->color != p->color[c]) {
            if (set->from < 0) set->from = set->color;
            set->with = with;
            set->gain = gain;
        }
        set->color = p->color[c];
    }
    return 1;
}

static void qnnrt_partition__restore(qnnrt_partition *p, const qnnrt_partition__best *best)
{
    int32_t c;
    for (c = 0; c < p->clusters; ++c) (void)qnnrt_partition__recolor(p, c, best->sets[c].color);
}

/* The islands of the present steps: lists of nodes, the smallest first. */
static int qnnrt_partition__islands(qnnrt_partition *p, int32_t *leader, int32_t *number,
                                    qnnrt_partition__lists *islands, int32_t *count)
{
    qnnrt_partition__pairs pairs = { NULL, NULL, 0, 0, 0 };
    int32_t n, k, sizes = 0;
    for (n = 0; n < p->nodes; ++n) leader[n] = n;
    for (n = 0; n < p->nodes; ++n)
        for (k = p->next.first[n]; k < p->next.first[n + 1]; ++k) {
            int32_t a = n, b = p->next.item[k];
            if (p->step_of[a] != p->step_of[b]) continue;
            while (leader[a] != a) { leader[a] = leader[leader[a]]; a = leader[a]; }
            while (leader[b] != b) { leader[b] = leader[leader[b]]; b = leader[b]; }
            if (a < b) leader[b] = a;
            else leader[a] = b;
        }
    for (n = 0; n < p->nodes; ++n) number[n] = 0;
    for (n = 0; n < p->nodes; ++n) {
        int32_t a = n;
        while (leader[a] != a) a = leader[a];
        leader[n] = a;
        if (++number[a] > sizes) sizes = number[a];
    }
    /* Sorted by size: islands by their sizes, then nodes by the numbers that islands have then. */
    for (n = 0; n < p->nodes; ++n)
        if (leader[n] == n) qnnrt_partition__pair(p, &pairs, number[n], n);
    *count = (int32_t)pairs.count;
    if (p->work.failed || !qnnrt_partition__lists_of(p, &pairs, sizes + 1, islands)) return 0;
    for (k = 0; k < *count; ++k) number[islands->item[k]] = k;
    pairs.count = 0;
    for (n = 0; n < p->nodes; ++n) qnnrt_partition__pair(p, &pairs, number[leader[n]], n);
    return !p->work.failed && qnnrt_partition__lists_of(p, &pairs, *count, islands);
}

/* Return which backends can do all nodes of an island. */
static uint32_t qnnrt_partition__island_mask(const qnnrt_partition *p, const int32_t *nodes,
                                             int32_t count)
{
    uint32_t mask = ((uint32_t)1 << p->backends) - 1;
    int32_t i;
    for (i = 0; i < count && mask != 0; ++i) mask &= p->cluster_mask[p->cluster[nodes[i]]];
    return mask;
}

/* Move an island; backend -1: back to the best plan. Return by how much it becomes dearer. */
static double qnnrt_partition__island_move(qnnrt_partition *p, const qnnrt_partition__best *best,
                                           const int32_t *nodes, int32_t count, int32_t backend)
{
    double cost = 0;
    int32_t i;
    for (i = 0; i < count; ++i) {
        const int32_t c = p->cluster[nodes[i]];
        cost += qnnrt_partition__recolor(p, c, backend >= 0 ? backend : best->sets[c].color);
    }
    return cost;
}

/* Move islands one by one, each tried as a whole plan. Return how many moved. */
static int32_t qnnrt_partition__island_each(qnnrt_partition *p, qnnrt_partition__best *best,
                                            const qnnrt_partition__lists *islands, int32_t count,
                                            int32_t *trials)
{
    int32_t i, b, moved = 0;
    for (i = 0; i < count; ++i) {
        const int32_t *nodes = islands->item + islands->first[i];
        const int32_t size = islands->first[i + 1] - islands->first[i];
        const uint32_t mask = qnnrt_partition__island_mask(p, nodes, size);
        for (b = 0; b < p->backends && *trials > 0; ++b) {
            /* At most two steps are saved: its own, and one where its neighbours merge. */
            const double saved = best->totals.steps > 2 ? 2 : (double)best->totals.steps - 1;
            double cost;
            if ((mask >> b & 1) == 0 || p->color[p->cluster[nodes[0]]] == b) continue;
            cost = qnnrt_partition__island_move(p, best, nodes, size, b);
            if (cost < saved * p->most_per_step) {
                --*trials;
                if (qnnrt_partition__try(p, best, 0, size)) { ++moved; continue; }
            }
            (void)qnnrt_partition__island_move(p, best, nodes, size, -1);
        }
    }
    return moved;
}

/* Move all islands that cost less than `saved` to where they are cheapest, and try the plan. */
static int qnnrt_partition__island_all(qnnrt_partition *p, qnnrt_partition__best *best,
                                       const qnnrt_partition__lists *islands, int32_t count,
                                       double saved)
{
    int32_t i, b, largest = 0;
    for (i = 0; i < count; ++i) {
        const int32_t *nodes = islands->item + islands->first[i];
        const int32_t size = islands->first[i + 1] - islands->first[i];
        const int32_t from = p->color[p->cluster[nodes[0]]];
        const uint32_t mask = qnnrt_partition__island_mask(p, nodes, size);
        double least = saved;
        int32_t to = -1;
        for (b = 0; b < p->backends; ++b) {
            double cost;
            if ((mask >> b & 1) == 0 || from == b) continue;
            cost = qnnrt_partition__island_move(p, best, nodes, size, b);
            if (cost < least) { least = cost; to = b; }
            (void)qnnrt_partition__island_move(p, best, nodes, size, -1);
        }
        if (to < 0) continue;
        (void)qnnrt_partition__island_move(p, best, nodes, size, to);
        if (size > largest) largest = size;
    }
    if (largest > 0 && qnnrt_partition__try(p, best, 0, largest)) return 1;
    qnnrt_partition__restore(p, best);
    return 0;
}

/* Improve a plan by islands, in at most *trials trials. Return 0 when out of memory. */
static int qnnrt_partition__island(qnnrt_partition *p, qnnrt_partition__best *best, int32_t *trials,
                                   int32_t *leader, int32_t *number)
{
    qnnrt_partition__lists islands;
    int32_t round, count, moved = 1;
    for (round = 0; round < 8 && moved > 0; ++round) {
        double saved;
        qnnrt_partition__restore(p, best);
        qnnrt_partition__schedule(p);
        if (!qnnrt_partition__islands(p, leader, number, &islands, &count)) return 0;
        moved = 0;
        for (saved = 0; saved <= 2; saved += 1)
            moved += qnnrt_partition__island_all(p, best, &islands, count,
                                                saved * p->most_per_step);
        moved += qnnrt_partition__island_each(p, best, &islands, count, trials);
        /* Sets of nodes alone, too: steps cost more than qnnrt_partition__improve() saw. */
        moved += qnnrt_partition__island_each(p, best, &p->inside, p->clusters, trials);
    }
    return 1;
}

/* Return a number that differs where colors differ, with near certainty. */
static uint64_t qnnrt_partition__colors(const qnnrt_partition *p)
{
    uint64_t hash = 0;
    int32_t c;
    for (c = 0; c < p->clusters; ++c)
        hash = (hash ^ (uint64_t)(uint32_t)p->color[c]) * 0x9E3779B97F4A7C15u + 1;
    return hash;
}

/* Choose the best plan; color and steps are its. */
static int qnnrt_partition__choose(qnnrt_partition *p)
{
    enum { STARTS = 6 };
    const size_t size = (size_t)p->next.first[p->nodes] + (size_t)p->nodes + (size_t)p->values + 1;
    int32_t *leader = QNNRT_PARTITION__NEW(&p->work, int32_t, p->nodes);
    int32_t *number = QNNRT_PARTITION__NEW(&p->work, int32_t, p->nodes);
    qnnrt_partition_totals *preferring = QNNRT_PARTITION__NEW(&p->keep, qnnrt_partition_totals,
                                                              p->backends);
    qnnrt_partition__best best, start;
    uint64_t seen[STARTS + 1];
    int32_t b, k, trials, own;
    best.sets = QNNRT_PARTITION__NEW(&p->work, qnnrt_partition__set, p->clusters);
    start.sets = QNNRT_PARTITION__NEW(&p->work, qnnrt_partition__set, p->clusters);
    p->step_of = QNNRT_PARTITION__NEW(&p->work, int32_t, p->nodes);
    p->order = QNNRT_PARTITION__NEW(&p->work, int32_t, p->nodes);
    p->chain = QNNRT_PARTITION__NEW(&p->work, int32_t, p->nodes);
    p->left = QNNRT_PARTITION__NEW(&p->work, int32_t, p->nodes);
    p->height = QNNRT_PARTITION__NEW(&p->work, int32_t, (uint64_t)p->nodes + 1);
    p->have = QNNRT_PARTITION__NEW(&p->work, uint64_t, p->values);
    p->have_version = QNNRT_PARTITION__NEW(&p->work, uint32_t, p->values);
    p->version = QNNRT_PARTITION__NEW(&p->work, uint32_t, p->values);
    p->at_home = QNNRT_PARTITION__NEW(&p->work, uint8_t, p->values);
    if (p->work.failed || preferring == NULL) return 0;
    qnnrt_partition__begin(p, -1);
    qnnrt_partition__schedule_runs(p);
    p->info.before = qnnrt_partition__totals(p);
    p->info.preferring = preferring;
    for (b = 0; b < p->backends; ++b) {
        qnnrt_partition__begin(p, b);
        qnnrt_partition__schedule(p);
        preferring[b] = qnnrt_partition__totals(p);
    }
    /* Bounded by work, so that large graphs take as long as they are large: one trial takes as long
       as the graph has nodes and edges. */
    trials = size < 2500 ? 1000 : (int32_t)(2500000 / size) + 1;
    memset(&best.totals, 0, sizeof best.totals);
    for (b = -1; b < p->backends && b < STARTS; ++b) {
        qnnrt_partition__begin(p, b);
        qnnrt_partition__improve(p);
        seen[b + 1] = qnnrt_partition__colors(p);
        for (k = -1; k < b && seen[k + 1] != seen[b + 1]; ++k) {}
        if (k < b) continue;         /* the same plan again */
        (void)qnnrt_partition__try(p, &start, 1, 0);
        own = trials;
        if (size < 20000 && !qnnrt_partition__island(p, &start, &own, leader, number)) return 0;
        if (b >= 0 && start.totals.cost >= best.totals.cost) continue;
        best.totals = start.totals;
        if (p->clusters > 0) memcpy(best.sets, start.sets,
            sizeof start.sets[0] * (size_t)p->clusters);
    }
    if (size >= 20000 && !qnnrt_partition__island(p, &best, &trials, leader, number)) return 0;
    qnnrt_partition__restore(p, &best);
    qnnrt_partition__schedule(p);
    p->sets = best.sets;
    return 1;
}

/* =====================================================================================
   RESULT                                                                        >>result
   Steps with inputs and outputs, limits, and a sentence for each choice.
   Needs: >>memory >>text >>order >>ask >>place >>border >>schedule >>move
   Knows nothing of: how the plan was chosen
   ===================================================================================== */

/* Mark values that are read in another step. */
static void qnnrt_partition__outside(const qnnrt_partition *p, uint8_t *outside)
{
    int32_t n;
    size_t i;
    memset(outside, 0, (size_t)p->values);
    for (n = 0; n < p->nodes; ++n) {
        const qnnrt_partition_node *node = &p->desc->nodes[n];
        for (i = 0; i <= node->input_count; ++i) {
            const int32_t v = qnnrt_partition__read(node, i);
            if (v >= 0 && p->producer[v] >= 0 && p->step_of[p->producer[v]] != p->step_of[n])
                outside[v] = 1;
        }
    }
}

/* Count inputs and outputs of a step with the nodes order[from] to order[to - 1], and store them
   unless the arrays are NULL. seen [values] has neither `stamp` nor stamp + 1 yet. */
static void qnnrt_partition__ports(const qnnrt_partition *p, const uint8_t *outside, int32_t from,
                                   int32_t to, int32_t *seen, int32_t stamp, int32_t *inputs,
                                   size_t *input_count, int32_t *outputs, size_t *output_count)
{
    int32_t at;
    size_t i;
    *input_count = *output_count = 0;
    for (at = from; at < to; ++at) {
        const int32_t n = p->order[at];
        const qnnrt_partition_node *node = &p->desc->nodes[n];
        for (i = 0; i <= node->input_count; ++i) {
            const int32_t v = qnnrt_partition__read(node, i);
            if (v < 0 || p->constant[p->root[v]]) continue;
            if (seen[v] == stamp || seen[v] == stamp + 1) continue;
            seen[v] = stamp;
            if (inputs != NULL) inputs[*input_count] = v;
            ++*input_count;
        }
        for (i = 0; i < node->output_count; ++i) {
            const int32_t v = node->outputs[i];
            seen[v] = stamp + 1;
            if (!outside[v] && !qnnrt_partition__stays(p, v)) continue;
            if (outputs != NULL) outputs[*output_count] = v;
            ++*output_count;
        }
        if (node->writes < 0 || seen[node->writes] != stamp) continue;
        seen[node->writes] = stamp + 1;      /* an input and an output, once */
        if (outputs != NULL) outputs[*output_count] = node->writes;
        ++*output_count;
    }
}

/* Where a value stands while a step is cut: seen is 3 * (begin of the piece) + one of these. */
enum { QNNRT_PARTITION__IN, QNNRT_PARTITION__OUT, QNNRT_PARTITION__DONE };

/* Cut steps that have more inputs or outputs than their backends take. Return 0 without memory. */
static int qnnrt_partition__limits(qnnrt_partition *p)
{
    enum { AHEAD = 256 };            /* nodes after which no fitting piece is looked for */
    int32_t *step_of = QNNRT_PARTITION__NEW(&p->work, int32_t, p->nodes);
    int32_t *seen = qnnrt_partition__numbers(&p->work, (uint64_t)p->values, -1);
    int32_t *reader = qnnrt_partition__numbers(&p->work, (uint64_t)p->values, -1);
    int32_t at, from, end, step = 0;
    size_t i;
    if (p->work.failed) return 0;
    /* The last reader of each value in the order of execution. */
    for (at = 0; at < p->nodes; ++at) {
        const qnnrt_partition_node *node = &p->desc->nodes[p->order[at]];
        for (i = 0; i <= node->input_count; ++i)
            if (qnnrt_partition__read(node, i) >= 0) reader[qnnrt_partition__read(node, i)] = at;
    }
    for (from = 0; from < p->nodes; from = end) {
        const int32_t s = p->step_of[p->order[from]];
        const int32_t b = qnnrt_partition__backend_of(p, p->order[from]);
        const uint32_t most_in = p->desc->backends[b].most_inputs;
        const uint32_t most_out = p->desc->backends[b].most_outputs;
        const int32_t mark = 3 * from;
        size_t inputs = 0, outputs = 0;
        int32_t good = from, ahead = 0;
        for (end = from; end < p->nodes && p->step_of[p->order[end]] == s; ++end) {
            const qnnrt_partition_node *node = &p->desc->nodes[p->order[end]];
            if (most_in == 0 && most_out == 0) continue;
            for (i = 0; i <= node->input_count; ++i) {
                const int32_t v = qnnrt_partition__read(node, i);
                if (v < 0 || p->constant[p->root[v]]) continue;
                if (seen[v] < mark) { seen[v] = mark + QNNRT_PARTITION__IN; ++inputs; }
                /* It was an output as long as a reader was to come. */
                if (seen[v] != mark + QNNRT_PARTITION__OUT || reader[v] != end ||
                    qnnrt_partition__stays(p, v)) continue;
                seen[v] = mark + QNNRT_PARTITION__DONE;
                --outputs;
            }
            if (node->writes >= 0 && seen[node->writes] == mark + QNNRT_PARTITION__IN) {
                seen[node->writes] = mark + QNNRT_PARTITION__DONE;
                ++outputs;
            }
            for (i = 0; i < node->output_count; ++i) {
                const int32_t v = node->outputs[i];
                const int out = reader[v] > end || qnnrt_partition__stays(p, v);
                seen[v] = mark + (out ? QNNRT_PARTITION__OUT : QNNRT_PARTITION__DONE);
                outputs += (size_t)out;
            }
            if (most_in != 0 && inputs > most_in) break;
            if (most_out == 0 || outputs <= most_out) { good = end + 1; ahead = 0; }
            else if (++ahead > AHEAD) break;
        }
        if (most_in == 0 && most_out == 0) good = end;
        if (good == from) good = from + 1;   /* cannot be: see qnnrt_partition__ask_limits() */
        end = good;
        for (at = from; at < end; ++at) step_of[p->order[at]] = step;
        ++step;
    }
    memcpy(p->step_of, step_of, sizeof(int32_t) * (size_t)p->nodes);
    p->steps = step;
    return 1;
}

/* Fill info->steps. */
static int qnnrt_partition__result_steps(qnnrt_partition *p)
{
    qnnrt_partition_step *steps = QNNRT_PARTITION__NEW(&p->keep, qnnrt_partition_step, p->steps);
    int32_t *order = QNNRT_PARTITION__NEW(&p->keep, int32_t, p->nodes);
    int32_t *seen = qnnrt_partition__numbers(&p->work, (uint64_t)p->values, -1);
    uint8_t *outside = QNNRT_PARTITION__NEW(&p->work, uint8_t, p->values);
    int32_t from, to, s;
    if (p->keep.failed || p->work.failed) return 0;
    if (p->nodes > 0) memcpy(order, p->order, sizeof(int32_t) * (size_t)p->nodes);
    qnnrt_partition__outside(p, outside);
    for (from = 0, s = 0; s < p->steps; from = to, ++s) {
        qnnrt_partition_step *step = &steps[s];
        int32_t *inputs, *outputs;
        for (to = from; to < p->nodes && p->step_of[order[to]] == s; ++to) {}
        step->backend = qnnrt_partition__backend_of(p, order[from]);
        step->nodes = order + from;
        step->node_count = (size_t)(to - from);
        qnnrt_partition__ports(p, outside, from, to, seen, 4 * s, NULL, &step->input_count, NULL,
                               &step->output_count);
        inputs = QNNRT_PARTITION__NEW(&p->keep, int32_t, step->input_count);
        outputs = QNNRT_PARTITION__NEW(&p->keep, int32_t, step->output_count);
        if (p->keep.failed) return 0;
        qnnrt_partition__ports(p, outside, from, to, seen, 4 * s + 2, inputs, &step->input_count,
                               outputs, &step->output_count);
        step->inputs = inputs;
        step->outputs = outputs;
    }
    p->info.steps = steps;
    p->info.step_count = (size_t)p->steps;
    return 1;
}

/* Say why a cluster is where it is, if it had a choice. */
static const char *qnnrt_partition__cheapest(qnnrt_partition *p, int32_t c)
{
    const int32_t own = p->color[c];
    qnnrt_error line;
    int32_t b;
    if (p->sets[c].from >= 0 && p->sets[c].from != own)
        return qnnrt_partition__say(p,
            "moved from %s in an island of up to %d nodes: the plan costs %.4g less",
            qnnrt_partition__backend_name(p->desc, p->sets[c].from), (int)p->sets[c].with,
            p->sets[c].gain);
    line.text[0] = '\0';
    qnnrt_error_add(&line, "cheapest on %s", qnnrt_partition__backend_name(p->desc, own));
    for (b = 0; b < p->backends; ++b) {
        double more;
        if (b == own || (p->cluster_mask[c] >> b & 1) == 0) continue;
        more = qnnrt_partition__recolor(p, c, b);
        (void)qnnrt_partition__recolor(p, c, own);
        qnnrt_error_add(&line, ", %s costs %.4g %s%s", qnnrt_partition__backend_name(p->desc, b),
                        more < 0 ? -more : more, more < 0 ? "less" : "more",
                        more < 0 ? " but makes more steps" : "");
    }
    return qnnrt_partition__keep(p, line.text);
}

static void qnnrt_partition__reason_of(qnnrt_partition *p, int32_t n, const char **cheapest,
                                       qnnrt_partition_choice *choice)
{
    const qnnrt_partition_desc *desc = p->desc;
    const qnnrt_partition_node *node = &desc->nodes[n];
    const int32_t c = p->cluster[n], state = p->of_state[n], r = p->of_class[n];
    const uint32_t own = p->asked[n], set = p->cluster_mask[c];
    const char *name = qnnrt_partition__backend_name(desc, choice->backend);
    qnnrt_error line;
    if (node->pin >= 0) {
        choice->reason = QNNRT_PARTITION_PINNED;
        choice->why = qnnrt_partition__say(p, "pinned to %s", name);
    } else if ((own & (own - 1)) == 0) {
        choice->reason = QNNRT_PARTITION_ONLY;
        choice->why = p->backends == 1 ? qnnrt_partition__say(p, "%s is the only backend", name) :
                      qnnrt_partition__say(p, "only %s supports it: %s", name,
                                           qnnrt_partition__reasons(p, n, &line));
    } else if (state >= 0) {
        choice->reason = QNNRT_PARTITION_OF_STATE;
        choice->why = qnnrt_partition__say(p, "touches the state \"%s\", which %s owns",
                                           qnnrt_partition__state_name(desc, state), name);
    } else if (r >= 0 &&
               ((set & (set - 1)) == 0 || p->inside.first[c + 1] - p->inside.first[c] > 1)) {
        const int writes = node->writes >= 0 && p->root[node->writes] == r;
        choice->reason = QNNRT_PARTITION_OF_VIEW;
        choice->why = qnnrt_partition__say(p, "%s \"%s\", which is on %s%s%s%s",
            writes ? "overwrites" : "produces or views", qnnrt_partition__value_name(desc, r), name,
            p->state_of[r] >= 0 ? " as the state \"" : "",
            p->state_of[r] >= 0 ? qnnrt_partition__state_name(desc, p->state_of[r]) : "",
            p->state_of[r] >= 0 ? "\"" : "");
    } else {
        choice->reason = p->sets[c].from >= 0 && p->sets[c].from != choice->backend ?
                         QNNRT_PARTITION_ISLAND : QNNRT_PARTITION_CHEAPEST;
        if (cheapest[c] == NULL) cheapest[c] = qnnrt_partition__cheapest(p, c);
        choice->why = cheapest[c];
    }
}

/* Fill choices, states and homes. */
static int qnnrt_partition__result(qnnrt_partition *p)
{
    qnnrt_partition_choice *choices = QNNRT_PARTITION__NEW(&p->keep, qnnrt_partition_choice,
                                                           p->nodes);
    qnnrt_partition_placement *states = QNNRT_PARTITION__NEW(&p->keep, qnnrt_partition_placement,
                                                             p->states);
    int32_t *homes = qnnrt_partition__numbers(&p->keep, (uint64_t)p->values, QNNRT_PARTITION_FIXED);
    const char **cheapest = QNNRT_PARTITION__NEW(&p->work, const char *, p->clusters);
    int32_t n, s, v;
    if (p->keep.failed || p->work.failed || !qnnrt_partition__result_steps(p)) return 0;
    for (n = 0; n < p->nodes; ++n) {
        choices[n].backend = qnnrt_partition__backend_of(p, n);
        choices[n].step = (uint32_t)p->step_of[n];
        choices[n].candidates = p->asked[n];
        qnnrt_partition__reason_of(p, n, cheapest, &choices[n]);
    }
    for (s = 0; s < p->states; ++s) {
        const int32_t owner = p->owner_node[s];
        states[s].name = qnnrt_partition__say(p, "%s", qnnrt_partition__state_name(p->desc, s));
        states[s].node_count = (size_t)(p->touching.first[s + 1] - p->touching.first[s]);
        states[s].owner = owner >= 0 ? qnnrt_partition__backend_of(p, owner) : QNNRT_PARTITION_HOST;
        states[s].why = owner >= 0 ? qnnrt_partition__say(p,
            "%s supports all %u nodes that touch it",
            qnnrt_partition__backend_name(p->desc, states[s].owner),
            (unsigned)states[s].node_count) :
            qnnrt_partition__say(p, "in host memory: %s (%u nodes)", states[s].node_count == 0 ?
            "nothing touches it" : qnnrt_partition__policy(p, s) ==
            QNNRT_PARTITION_POLICY_ALWAYS_HOST ? "its policy says so" :
            "no other backend supports all that touches it", (unsigned)states[s].node_count);
    }
    for (v = 0; v < p->values; ++v)
        if (p->changed[p->root[v]]) homes[v] = qnnrt_partition__home(p, p->root[v]);
    p->info.choices = choices;
    p->info.choice_count = (size_t)p->nodes;
    p->info.states = states;
    p->info.state_count = (size_t)p->states;
    p->info.homes = homes;
    p->record = 1;
    p->info.after = qnnrt_partition__totals(p);
    p->info.transfers = p->transfers;
    p->info.transfer_count = p->transfer_count;
    return !p->keep.failed;
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   Needs: >>config >>text >>input >>order >>ask >>place >>border >>island >>result
   Knows nothing of: how a plan is found
   ===================================================================================== */

/* True if the arrays of a description are there, and not too large. */
static int qnnrt_partition__complete(const qnnrt_partition_desc *desc)
{
    size_t n;
    for (n = 0; desc->nodes != NULL && n < desc->node_count; ++n)
        if ((desc->nodes[n].inputs == NULL && desc->nodes[n].input_count > 0) ||
            (desc->nodes[n].outputs == NULL && desc->nodes[n].output_count > 0)) return 0;
    return (desc->nodes != NULL || desc->node_count == 0) &&
           (desc->values != NULL || desc->value_count == 0) &&
           (desc->states != NULL || desc->state_count == 0) &&
           (desc->marks != NULL || desc->mark_count == 0) && desc->backends != NULL &&
           desc->backend_count > 0 && desc->backend_count <= QNNRT_PARTITION_BACKENDS &&
           desc->node_count <= QNNRT_PARTITION__MOST &&
           desc->value_count <= QNNRT_PARTITION__MOST &&
           desc->state_count <= QNNRT_PARTITION__MOST;
}

QNNRT_PARTITION_API void qnnrt_partition_free(qnnrt_partition *plan)
{
    qnnrt_arena keep;
    if (plan == NULL) return;
    qnnrt_arena_free(&plan->work);
    keep = plan->keep;               /* the plan itself is in it */
    qnnrt_arena_free(&keep);
}

QNNRT_PARTITION_API const qnnrt_partition_info *qnnrt_partition_get_info(
    const qnnrt_partition *plan)
{
    return plan != NULL ? &plan->info : NULL;
}

QNNRT_PARTITION_API qnnrt_result qnnrt_partition_create(const qnnrt_partition_desc *desc,
                                                        qnnrt_partition **out, qnnrt_error *err)
{
    qnnrt_arena keep;
    qnnrt_partition *p;
    size_t i;
    int failed;
    qnnrt_error_clear(err);
    if (out == NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "out is NULL");
    *out = NULL;
    if (desc == NULL || desc->supports == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "desc or desc->supports is NULL");
    if ((desc->hooks.alloc == NULL) != (desc->hooks.free == NULL))
        return qnnrt_error_set(err, QNNRT_E_ARG, "hooks need alloc and free");
    if (!qnnrt_partition__complete(desc))
        return qnnrt_error_set(err, QNNRT_E_ARG, "an array is NULL, there are more than %d nodes, "
                               "values or states, or there are %u backends, expected 1 to %d",
                               (int)QNNRT_PARTITION__MOST, (unsigned)desc->backend_count,
                               (int)QNNRT_PARTITION_BACKENDS);
    memset(&keep, 0, sizeof keep);
    keep.hooks = desc->hooks;
    keep.chunk = QNNRT_PARTITION__CHUNK;
    p = QNNRT_PARTITION__NEW(&keep, qnnrt_partition, 1);
    if (p == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a plan");
    p->keep = keep;
    p->work.hooks = keep.hooks;
    p->work.chunk = keep.chunk;
    p->desc = desc;
    if (qnnrt_partition__input(p) && qnnrt_partition__order(p) && qnnrt_partition__ask(p) &&
        qnnrt_partition__place(p) && qnnrt_partition__border(p) && qnnrt_partition__choose(p) &&
        qnnrt_partition__limits(p)) (void)qnnrt_partition__result(p);
    failed = p->work.failed != QNNRT_OK || p->keep.failed != QNNRT_OK;
    qnnrt_arena_free(&p->work);
    p->desc = NULL;
    if (failed) {
        qnnrt_partition_free(p);
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a plan");
    }
    p->info.refusals = p->refusals;
    p->info.findings = p->findings;
    p->info.finding_count = p->finding_count;
    *out = p;
    if (p->finding_count == 0) return QNNRT_OK;
    (void)qnnrt_error_set(err, p->findings[0].code, "%s", p->findings[0].text);
    for (i = 1; err != NULL && i < p->finding_count && strlen(err->text) + 100 < sizeof err->text;
         ++i)
        qnnrt_error_add(err, "\n%s", p->findings[i].text);
    return qnnrt_error_hint(err, p->findings[0].code, "%s", p->findings[0].hint);
}

#undef QNNRT_PARTITION__NEW

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_PARTITION__IMPL_ONCE */
#endif /* QNNRT_PARTITION_IMPLEMENTATION */

/* ---------------------------------------------------------------------------------------------
   HISTORY
   0.5.0   API: .bytes of nodes; .bandwidth, .per_node and .per_step of backends; .prefer of costs;
           .time of totals; .preferring. No qnnrt_partition_check() and
           qnnrt_partition_rule_name(). The check that does not know how a plan is made is
           tests/harness/partition_check.h; QNNRT_COMPILE_PLAN_CHECK of qnnrt_compile.h names a
           function that checks each plan.
   --------------------------------------------------------------------------------------------- */
