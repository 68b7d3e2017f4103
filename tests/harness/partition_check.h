/* partition_check.h - an oracle for the plans of qnnrt_partition.h, without knowledge of how they are made

   partition_check() checks a finished plan against its description: first what can be seen without running it, then by
   running it with versions instead of data. test_partition.c calls it, and qnnrt_compile.h for each plan where it is
   compiled for tests: the Makefile names it as QNNRT_COMPILE_PLAN_CHECK. It uses public names alone. */
#ifndef PARTITION_CHECK_H
#define PARTITION_CHECK_H

#include "qnnrt_partition.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *plan_backend_name(const qnnrt_partition_desc *desc, int32_t backend)
{
    if (backend < 0) return "host memory";
    return desc->backends[backend].name != NULL ? desc->backends[backend].name : "?";
}

static const char *plan_value_name(const qnnrt_partition_desc *desc, int32_t value)
{
    return desc->values[value].name != NULL ? desc->values[value].name : "?";
}

static const char *plan_node_name(const qnnrt_partition_desc *desc, int32_t node)
{
    return desc->nodes[node].name != NULL ? desc->nodes[node].name : "?";
}

static const char *plan_state_name(const qnnrt_partition_desc *desc, int32_t state)
{
    return desc->states[state].name != NULL ? desc->states[state].name : "?";
}

/* ---- what is seen without running it ----------------------------------------------------------------------- */

typedef struct plan_audit {
    const qnnrt_partition_desc *desc;
    const qnnrt_partition_info *info;
    qnnrt_error                *err;
    qnnrt_arena      arena;
    uint32_t  rule;                  /* the broken one, 0: none so far */
    int32_t   nodes, values, backends, host;
    int32_t  *root, *maker;          /* [values] */
    int32_t  *state;                 /* [values] by root */
    int32_t  *last;                  /* [states] the value that is produced last, or -1 */
    uint8_t  *written, *plain;       /* [values] by root: plain: in the types of the graph */
    int32_t  *set;                   /* [nodes] sets that must share a backend */
    uint32_t *set_mask;              /* [nodes] by set */
    /* of the run */
    int32_t  *copy;                  /* [values * spots] the version that a place has, or -1 */
    int32_t  *last_move;             /* [values * spots] the transfer that brought it, or -1 */
    uint8_t  *used;                  /* [transfers] */
    int32_t  *home_version;          /* [values] by root: -1: the home has nothing yet */
    int32_t  *now;                   /* [values] by root: the version after what ran */
    int32_t  *expected, *reads;      /* versions that reads expect; [nodes + 1] where they begin */
    uint8_t  *ran;                   /* [nodes] */
    uint8_t  *given;                 /* [values] 1: an output of a step so far */
    int32_t   spots;                 /* number of places */
} plan_audit;

/* Return the name of a rule of partition_check(), 1 to 14, such as "views"; else "". */
static const char *partition_rule_name(uint32_t rule)
{
    static const char *const names[] = {
        "", "last resort", "placement", "in place", "views", "totality", "edges", "freshness", "stability",
        "limits", "fallbacks", "pins", "diagnosis", "soundness", "host"
    };
    return rule < sizeof names / sizeof names[0] ? names[rule] : "";
}

/* A list of `count` times the same number. */
static int32_t *plan_numbers(qnnrt_arena *arena, uint64_t count, int32_t value)
{
    int32_t *list = (int32_t *)qnnrt_arena_get(arena, count, sizeof(int32_t));
    uint64_t i;
    for (i = 0; list != NULL && i < count; ++i) list[i] = value;
    return list;
}

/* Note that a rule is broken, and return 0. */
#if defined(__GNUC__)
__attribute__((cold, format(printf, 3, 4)))
#endif
static int plan_broken(plan_audit *a, uint32_t rule, const char *format,
                       ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    a->rule = rule;
    (void)qnnrt_error_set(a->err, QNNRT_E_MISMATCH, "rule %u (%s): %s", (unsigned)rule,
                          partition_rule_name(rule), text);
    return 0;
}

static int plan_audit_range(plan_audit *a, const char *what,
                            const void *list, size_t count, size_t wanted)
{
    if (count == wanted && (list != NULL || count == 0)) return 1;
    return plan_broken(a, 13, "there are %u %s, expected %u", (unsigned)count, what,
                       (unsigned)wanted);
}

static int plan_audit_values(plan_audit *a, const char *what, size_t number,
                             const int32_t *list, size_t count, int32_t least)
{
    size_t i;
    if (list == NULL && count > 0)
        return plan_broken(a, 13, "%s %u has no list", what, (unsigned)number);
    for (i = 0; i < count; ++i)
        if (list[i] < least || list[i] >= a->values)
            return plan_broken(a, 13, "%s %u names value %d, and there are %d", what,
                               (unsigned)number, (int)list[i], (int)a->values);
    return 1;
}

/* Rule 13, of the description: what everything below relies on. */
static int plan_audit_desc(plan_audit *a)
{
    const qnnrt_partition_desc *desc = a->desc;
    int32_t v, n;
    size_t i;
    for (v = 0; v < a->values; ++v) {
        const qnnrt_partition_value *value = &desc->values[v];
        if (value->view_of < -1 || value->view_of >= a->values || value->state < -1 ||
            value->state >= (int32_t)desc->state_count)
            return plan_broken(a, 13,
                "value %d: view_of or state is out of range", (int)v);
    }
    for (n = 0; n < a->nodes; ++n) {
        const qnnrt_partition_node *node = &desc->nodes[n];
        if (!plan_audit_values(a, "the inputs of node", (size_t)n, node->inputs,
                               node->input_count, -1) ||
            !plan_audit_values(a, "the outputs of node", (size_t)n, node->outputs,
                               node->output_count, 0) ||
            !plan_audit_values(a, "what is overwritten by node", (size_t)n,
            &node->writes, 1, -1)) return 0;
        for (i = 0; i < node->output_count; ++i) a->maker[node->outputs[i]] = n;
    }
    for (i = 0; i < desc->mark_count; ++i)
        if (desc->marks[i].node < 0 || desc->marks[i].node >= a->nodes ||
            desc->marks[i].backend < 0 || desc->marks[i].backend >= a->backends)
            return plan_broken(a, 13, "mark %u is out of range", (unsigned)i);
    /* Roots: a chain longer than there are values is a ring. */
    for (v = 0; v < a->values; ++v) {
        int32_t at = v, end, hops = 0;
        while (a->root[at] < 0 && desc->values[at].view_of >= 0 && hops <= a->values) {
            at = desc->values[at].view_of;
            ++hops;
        }
        if (hops > a->values)
            return plan_broken(a, 13, "value %d is a view of itself", (int)v);
        end = a->root[at] >= 0 ? a->root[at] : at;
        for (at = v; a->root[at] < 0; at = desc->values[at].view_of) {
            a->root[at] = end;
            if (at == end) break;
        }
    }
    return 1;
}

/* Rule 13, of the plan. */
static int plan_audit_sound(plan_audit *a)
{
    const qnnrt_partition_desc *desc = a->desc;
    const qnnrt_partition_info *info = a->info;
    size_t i, k;
    if (!plan_audit_range(a, "choices", info->choices, info->choice_count,
        desc->node_count) ||
        !plan_audit_range(a, "states", info->states, info->state_count,
        desc->state_count) ||
        !plan_audit_range(a, "steps", info->steps, info->step_count,
        info->step_count) ||
        !plan_audit_range(a, "transfers", info->transfers, info->transfer_count,
                          info->transfer_count)) return 0;
    if ((info->homes == NULL && a->values > 0) || (info->refusals == NULL && a->nodes > 0))
        return plan_broken(a, 13, "homes or refusals are missing");
    for (i = 0; i < info->step_count; ++i) {
        const qnnrt_partition_step *step = &info->steps[i];
        if (step->backend < 0 || step->backend >= a->backends)
            return plan_broken(a, 13,
                "step %u is on backend %d, and there are %d", (unsigned)i, (int)step->backend,
                (int)a->backends);
        if (step->nodes == NULL || step->node_count == 0)
            return plan_broken(a, 13, "step %u has no nodes", (unsigned)i);
        for (k = 0; k < step->node_count; ++k)
            if (step->nodes[k] < 0 || step->nodes[k] >= a->nodes)
                return plan_broken(a, 13,
                    "step %u names node %d, and there are %d", (unsigned)i, (int)step->nodes[k],
                    (int)a->nodes);
        if (!plan_audit_values(a, "the inputs of step", i, step->inputs,
            step->input_count, 0) ||
            !plan_audit_values(a, "the outputs of step", i, step->outputs,
                               step->output_count, 0)) return 0;
    }
    for (i = 0; i < info->transfer_count; ++i) {
        const qnnrt_partition_transfer *t = &info->transfers[i];
        if (t->value < 0 || t->value >= a->values || t->from < -1 || t->from >= a->backends ||
            t->to < -1 || t->to >= a->backends || t->before_step > info->step_count ||
            t->bytes != desc->values[t->value].bytes ||
            (i > 0 && t->before_step < info->transfers[i - 1].before_step))
            return plan_broken(a, 13,
                "transfer %u (value %d from %d to %d before step %u): out of range or out of order",
                (unsigned)i, (int)t->value, (int)t->from, (int)t->to, (unsigned)t->before_step);
    }
    for (i = 0; i < desc->node_count; ++i)
        if (info->choices[i].backend < 0 || info->choices[i].backend >= a->backends)
            return plan_broken(a, 13,
                "the choice of node %u is backend %d", (unsigned)i, (int)info->choices[i].backend);
    for (i = 0; i < desc->state_count; ++i)
        if (info->states[i].owner < -1 || info->states[i].owner >= a->backends)
            return plan_broken(a, 13,
                "the owner of state %u is backend %d", (unsigned)i, (int)info->states[i].owner);
    for (i = 0; i < desc->value_count; ++i)
        if (info->homes[i] < -2 || info->homes[i] >= a->backends)
            return plan_broken(a, 13,
                "the home of value %u is backend %d", (unsigned)i, (int)info->homes[i]);
    return 1;
}

/* What is known of classes. */
static void plan_audit_classes(plan_audit *a)
{
    int32_t v, n, b;
    size_t i;
    for (v = 0; v < a->values; ++v) {
        const qnnrt_partition_value *value = &a->desc->values[v];
        if (value->state >= 0) a->state[a->root[v]] = value->state;
        if (a->maker[v] < 0 || value->is_input || value->is_output || value->exact ||
            value->state >= 0)
            a->plain[a->root[v]] = 1;
    }
    for (n = 0; n < a->nodes; ++n) {
        const qnnrt_partition_node *node = &a->desc->nodes[n];
        if (node->writes >= 0) a->written[a->root[node->writes]] = 1;
        for (i = 0; i < node->output_count; ++i)
            if (a->state[a->root[node->outputs[i]]] >= 0)
                a->last[a->state[a->root[node->outputs[i]]]] = node->outputs[i];
    }
    for (b = 0; b < a->backends; ++b)
        if (a->desc->backends[b].is_host) a->host = b;
}

/* The place where a backend reads a value: 0 is host memory. */
static int32_t plan_spot(const plan_audit *a, int32_t value,
                         int32_t backend)
{
    const qnnrt_partition_backend *list = a->desc->backends;
    int32_t b;
    if (backend < 0) return 0;
    if (!list[backend].is_host && !list[backend].is_host_memory) return 1 + backend;
    if (a->plain[a->root[value]]) return 0;
    for (b = 0; b < backend; ++b)
        if ((list[b].is_host || list[b].is_host_memory) &&
            list[b].precision == list[backend].precision)
            break;
    return 1 + a->backends + b;
}

/* Rules 5, 8, 1, 11, 10, 12: node by node. */
static int plan_audit_nodes(plan_audit *a)
{
    const qnnrt_partition_desc *desc = a->desc;
    const qnnrt_partition_info *info = a->info;
    uint32_t *marked = (uint32_t *)qnnrt_arena_get(&a->arena, desc->node_count, sizeof(uint32_t));
    int32_t *in_steps = (int32_t *)qnnrt_arena_get(&a->arena, desc->node_count, sizeof(int32_t));
    int32_t n, b;
    size_t i, k;
    if (a->arena.failed) return 0;
    for (i = 0; i < info->step_count; ++i)
        for (k = 0; k < info->steps[i].node_count; ++k) {
            n = info->steps[i].nodes[k];
            if (++in_steps[n] > 1)
                return plan_broken(a, 5,
                    "node \"%s\" is in two steps", plan_node_name(desc, n));
            if (info->choices[n].step != i || info->choices[n].backend != info->steps[i].backend)
                return plan_broken(a, 5,
                    "node \"%s\" is in step %u on \"%s\", and its choice is step %u on \"%s\"",
                    plan_node_name(desc, n), (unsigned)i,
                    plan_backend_name(desc, info->steps[i].backend),
                    (unsigned)info->choices[n].step,
                    plan_backend_name(desc, info->choices[n].backend));
        }
    for (i = 0; i < desc->mark_count; ++i)
        marked[desc->marks[i].node] |= (uint32_t)1 << desc->marks[i].backend;
    for (n = 0; n < a->nodes; ++n) {
        const char *name = plan_node_name(desc, n);
        const qnnrt_partition_choice *choice = &info->choices[n];
        if (in_steps[n] == 0)
            return plan_broken(a, 5, "node \"%s\" is in no step", name);
        for (b = 0; b < a->backends; ++b) {
            const size_t pair = (size_t)n * (size_t)a->backends + (size_t)b;
            const char *why = NULL, *refusal = info->refusals[pair];
            const uint32_t bit = (uint32_t)1 << b;
            const int can = (marked[n] & bit) == 0 && desc->supports(desc->user, n, b, &why) != 0;
            if (can != ((choice->candidates & bit) != 0))
                return plan_broken(a, 8,
                    "node \"%s\": \"%s\" answers %s now, and %s before", name,
                    plan_backend_name(desc, b), can ? "yes" : "no", can ? "no" : "yes");
            if (!can && (refusal == NULL || refusal[0] == '\0'))
                return plan_broken(a, 10,
                    "node \"%s\": the refusal of \"%s\" has no reason", name,
                    plan_backend_name(desc, b));
        }
        if ((choice->candidates >> choice->backend & 1) == 0)
            return plan_broken(a, 1,
                "node \"%s\" is on \"%s\", which does not support it", name,
                plan_backend_name(desc, choice->backend));
        if (desc->nodes[n].pin >= 0 && desc->nodes[n].pin != choice->backend)
            return plan_broken(a, 11,
                "node \"%s\" is pinned to backend %d and runs on \"%s\"", name,
                (int)desc->nodes[n].pin, plan_backend_name(desc, choice->backend));
        if (choice->why == NULL || choice->why[0] == '\0')
            return plan_broken(a, 12,
                "the choice of node \"%s\" has no sentence", name);
    }
    for (i = 0; i < desc->state_count; ++i)
        if (info->states[i].why == NULL || info->states[i].why[0] == '\0')
            return plan_broken(a, 12,
                "state \"%s\" has no sentence", plan_state_name(desc, (int32_t)i));
    return 1;
}

/* Rule 2: what touches a state. */
static int plan_audit_states(plan_audit *a)
{
    const qnnrt_partition_desc *desc = a->desc;
    int32_t n;
    size_t i;
    for (i = 0; i < desc->state_count; ++i) {
        const qnnrt_partition_policy own = desc->states[i].policy;
        if ((own != QNNRT_PARTITION_POLICY_DEFAULT ? own : desc->state_policy) ==
            QNNRT_PARTITION_POLICY_ALWAYS_HOST && a->info->states[i].owner >= 0)
            return plan_broken(a, 2,
                "state \"%s\" is to be in host memory, and \"%s\" owns it",
                plan_state_name(desc, (int32_t)i),
                plan_backend_name(desc, a->info->states[i].owner));
    }
    for (n = 0; n < a->nodes; ++n) {
        const qnnrt_partition_node *node = &desc->nodes[n];
        const int32_t b = a->info->choices[n].backend;
        for (i = 0; i < node->input_count + node->output_count + 1; ++i) {
            const int32_t v = i < node->input_count ? node->inputs[i] :
                i < node->input_count + node->output_count ? node->outputs[i - node->input_count] :
                node->writes;
            const int32_t s = v >= 0 ? a->state[a->root[v]] : -1;
            qnnrt_partition_policy policy;
            if (s < 0) continue;
            if (a->info->states[s].owner >= 0 && a->info->states[s].owner != b)
                return plan_broken(a, 2,
                    "\"%s\" owns state \"%s\", and node \"%s\", which touches it, is on \"%s\"",
                    plan_backend_name(desc, a->info->states[s].owner),
                    plan_state_name(desc, s), plan_node_name(desc, n),
                    plan_backend_name(desc, b));
            policy = desc->states[s].policy != QNNRT_PARTITION_POLICY_DEFAULT ?
                desc->states[s].policy :
                     desc->state_policy;
            if (a->info->states[s].owner < 0 && policy == QNNRT_PARTITION_POLICY_ERROR &&
                b != a->host)
                return plan_broken(a, 2,
                    "no backend owns state \"%s\", its policy is ERROR, and node \"%s\" on \"%s\" "
                    "touches it", plan_state_name(desc, s),
                    plan_node_name(desc, n), plan_backend_name(desc, b));
        }
    }
    return 1;
}

static int32_t plan_audit_set(plan_audit *a, int32_t node)
{
    while (a->set[node] != node) {
        a->set[node] = a->set[a->set[node]];
        node = a->set[node];
    }
    return node;
}

/* Take from a node the backends whose steps are smaller than it. readers [values]: nodes that read
   a value. */
static void plan_audit_fits(plan_audit *a, int32_t n,
                            const uint8_t *readers)
{
    const qnnrt_partition_node *node = &a->desc->nodes[n];
    uint32_t in = 0, out = node->writes >= 0, limits = 0, b;
    size_t i, k;
    for (b = 0; b < (uint32_t)a->backends; ++b)
        limits |= a->desc->backends[b].most_inputs | a->desc->backends[b].most_outputs;
    if (limits == 0) return;
    for (i = 0; i < node->input_count; ++i) {
        const int32_t v = node->inputs[i];
        for (k = 0; k < i && node->inputs[k] != v; ++k) {}
        if (v >= 0 && k == i && v != node->writes && !a->desc->values[a->root[v]].constant) ++in;
    }
    if (node->writes >= 0) ++in;
    for (i = 0; i < node->output_count; ++i) {
        const int32_t v = node->outputs[i], s = a->state[a->root[v]];
        if (readers[v] || a->desc->values[v].is_output || (s >= 0 && a->last[s] == v)) ++out;
    }
    for (b = 0; b < (uint32_t)a->backends; ++b) {
        const qnnrt_partition_backend *backend = &a->desc->backends[b];
        if ((backend->most_inputs > 0 && in > backend->most_inputs) ||
            (backend->most_outputs > 0 && out > backend->most_outputs))
            a->set_mask[n] &= ~((uint32_t)1 << b);
    }
}

/* Rule 4, and of rule 3 what concerns homes. */
static int plan_audit_views(plan_audit *a)
{
    const qnnrt_partition_desc *desc = a->desc;
    const qnnrt_partition_info *info = a->info;
    int32_t *first = (int32_t *)qnnrt_arena_get(&a->arena, (uint64_t)a->values, sizeof(int32_t));
    int32_t *owner_first = (int32_t *)qnnrt_arena_get(&a->arena, desc->state_count,
                                                      sizeof(int32_t));
    uint8_t *viewed = (uint8_t *)qnnrt_arena_get(&a->arena, (uint64_t)a->values, 1);
    uint8_t *readers = (uint8_t *)qnnrt_arena_get(&a->arena, (uint64_t)a->values, 1);
    int32_t v, n;
    size_t i;
    if (a->arena.failed) return 0;
    for (n = 0; n < a->nodes; ++n) {
        for (i = 0; i < desc->nodes[n].input_count; ++i)
            if (desc->nodes[n].inputs[i] >= 0) readers[desc->nodes[n].inputs[i]] = 1;
        if (desc->nodes[n].writes >= 0) readers[desc->nodes[n].writes] = 1;
    }
    for (v = 0; v < a->values; ++v) {
        first[v] = -1;
        if (a->root[v] != v) viewed[a->root[v]] = 1;
        if (a->written[a->root[v]] != (info->homes[v] != QNNRT_PARTITION_FIXED) ||
            info->homes[v] != info->homes[a->root[v]])
            return plan_broken(a, 3,
                "value \"%s\": its home is backend %d, which cannot be",
                plan_value_name(desc, v), (int)info->homes[v]);
    }
    for (i = 0; i < desc->state_count; ++i) owner_first[i] = -1;
    for (n = 0; n < a->nodes; ++n) {
        a->set[n] = n;
        a->set_mask[n] = info->choices[n].candidates;
        if (desc->nodes[n].pin >= 0) a->set_mask[n] &= (uint32_t)1 << desc->nodes[n].pin;
        plan_audit_fits(a, n, readers);
    }
    for (n = 0; n < a->nodes; ++n) {
        const qnnrt_partition_node *node = &desc->nodes[n];
        const int32_t b = info->choices[n].backend;
        for (i = 0; i < node->output_count + node->input_count + 1; ++i) {
            const int out = i < node->output_count;
            int32_t r, *with, x, y;
            v = out ? node->outputs[i] : i < node->output_count + node->input_count ?
                node->inputs[i - node->output_count] : node->writes;
            if (v < 0) continue;
            r = a->root[v];
            if (a->state[r] >= 0 && info->states[a->state[r]].owner >= 0) {
                with = &owner_first[a->state[r]];
                a->set_mask[plan_audit_set(a, n)] &= (uint32_t)1 << b;
            } else if (a->written[r] && (out || v == node->writes)) {
                /* What makes, views or overwrites it is at home, but for writers: see plan_replay_write(). */
                if (!(node->writes >= 0 && a->root[node->writes] == r) &&
                    (info->homes[r] < 0 || info->homes[r] != b))
                    return plan_broken(a, 4,
                        "node \"%s\" makes \"%s\" on \"%s\", and the memory is on \"%s\"",
                        plan_node_name(desc, n), plan_value_name(desc, v),
                        plan_backend_name(desc, b),
                        plan_backend_name(desc, info->homes[r]));
                a->set_mask[plan_audit_set(a, n)] &= (uint32_t)1 << b;
                continue;
            } else if (out && viewed[r] && !desc->values[r].constant) {
                with = &first[r];
            } else {
                continue;
            }
            if (*with < 0) { *with = n; continue; }
            x = plan_audit_set(a, *with);
            y = plan_audit_set(a, n);
            if (x == y) continue;
            a->set[y] = x;
            a->set_mask[x] &= a->set_mask[y];
        }
    }
    /* Where a backend can do all that hangs together, it does. */
    for (n = 0; n < a->nodes; ++n) {
        const int32_t set = plan_audit_set(a, n);
        if (a->set_mask[set] != 0 && info->choices[n].backend != info->choices[set].backend)
            return plan_broken(a, 4,
                "nodes \"%s\" and \"%s\" share memory, and are on \"%s\" and \"%s\"",
                plan_node_name(desc, set), plan_node_name(desc, n),
                plan_backend_name(desc, info->choices[set].backend),
                plan_backend_name(desc, info->choices[n].backend));
    }
    return 1;
}

/* ---- run with versions ------------------------------------------------------------------------------------- */

static int32_t *plan_copy_of(const plan_audit *a, int32_t value,
                             int32_t spot)
{
    return &a->copy[(size_t)value * (size_t)a->spots + (size_t)spot];
}

/* Set up: versions that reads expect in the order of the list, and what is where before all. */
static int plan_replay_begin(plan_audit *a)
{
    const qnnrt_partition_desc *desc = a->desc;
    const uint64_t values = (uint64_t)a->values;
    uint64_t cells, c;
    int32_t v, n, count = 0;
    size_t i, reads = 0;
    for (n = 0; n < a->nodes; ++n) reads += desc->nodes[n].input_count + 1;
    a->spots = 1 + 2 * a->backends;
    cells = values * (uint64_t)a->spots;
    a->copy = (int32_t *)qnnrt_arena_get(&a->arena, cells, sizeof(int32_t));
    a->last_move = (int32_t *)qnnrt_arena_get(&a->arena, cells, sizeof(int32_t));
    a->used = (uint8_t *)qnnrt_arena_get(&a->arena, a->info->transfer_count, 1);
    a->home_version = (int32_t *)qnnrt_arena_get(&a->arena, values, sizeof(int32_t));
    a->now = (int32_t *)qnnrt_arena_get(&a->arena, values, sizeof(int32_t));
    a->expected = (int32_t *)qnnrt_arena_get(&a->arena, reads, sizeof(int32_t));
    a->reads = (int32_t *)qnnrt_arena_get(&a->arena, (uint64_t)a->nodes + 1, sizeof(int32_t));
    a->ran = (uint8_t *)qnnrt_arena_get(&a->arena, (uint64_t)a->nodes, 1);
    if (a->arena.failed) return 0;
    for (c = 0; c < cells; ++c) a->copy[c] = a->last_move[c] = -1;
    for (n = 0; n < a->nodes; ++n) {
        const qnnrt_partition_node *node = &desc->nodes[n];
        a->reads[n] = count;
        for (i = 0; i <= node->input_count; ++i) {
            v = i < node->input_count ? node->inputs[i] : node->writes;
            a->expected[count++] = v >= 0 ? a->now[a->root[v]] : 0;
        }
        if (node->writes >= 0) ++a->now[a->root[node->writes]];
    }
    for (v = 0; v < a->values; ++v) { a->now[v] = 0; a->home_version[v] = -1; }
    for (v = 0; v < a->values; ++v) {
        const int32_t r = a->root[v], s = a->state[r];
        const int32_t spot = plan_spot(a, v, s >= 0 ? a->info->states[s].owner : -1);
        if (a->maker[v] >= 0 || desc->values[v].constant) continue;
        *plan_copy_of(a, v, spot) = 0;
        if (a->written[r] && plan_spot(a, v, a->info->homes[r]) == spot)
            a->home_version[r] = 0;
    }
    return 1;
}

/* Return the version of a value that a place has, -1: none. Note that it was used. */
static int32_t plan_seen_at(plan_audit *a, int32_t value, int32_t spot)
{
    const int32_t r = a->root[value];
    int32_t move;
    if (a->written[r] && plan_spot(a, value, a->info->homes[r]) == spot) {
        move = a->last_move[(size_t)r * (size_t)a->spots + (size_t)spot];
        if (move >= 0) a->used[move] = 1;
        return a->home_version[r];
    }
    move = a->last_move[(size_t)value * (size_t)a->spots + (size_t)spot];
    if (move >= 0) a->used[move] = 1;
    return *plan_copy_of(a, value, spot);
}

static int plan_replay_transfer(plan_audit *a, size_t index)
{
    const qnnrt_partition_desc *desc = a->desc;
    const qnnrt_partition_transfer *t = &a->info->transfers[index];
    const int32_t v = t->value, r = a->root[v];
    const int32_t from = plan_spot(a, v, t->from);
    const int32_t to = plan_spot(a, v, t->to);
    const int home = a->written[r] && plan_spot(a, v, a->info->homes[r]) == to;
    const int32_t there = home ? a->home_version[r] : *plan_copy_of(a, v, to);
    int32_t has;
    if (desc->values[v].constant || from == to)
        return plan_broken(a, 6,
            "transfer %u moves \"%s\", which is there already", (unsigned)index,
            plan_value_name(desc, v));
    has = plan_seen_at(a, v, from);
    if (has < 0)
        return plan_broken(a, a->maker[v] < 0 ? 14 : 6,
            "transfer %u reads \"%s\" from %s, where it %s", (unsigned)index,
            plan_value_name(desc, v), plan_backend_name(desc, t->from),
            a->maker[v] < 0 ? "is not: it begins in host memory" : "is not");
    if (has != a->now[r] || t->version != (uint32_t)a->now[r])
        return plan_broken(a, 7,
            "transfer %u moves version %u of \"%s\", %s has %d, and the present one is %d",
            (unsigned)index, (unsigned)t->version, plan_value_name(desc, v),
            plan_backend_name(desc, t->from), (int)has, (int)a->now[r]);
    if (there == a->now[r])
        return plan_broken(a, 6,
            "transfer %u: version %u of \"%s\" is on %s already", (unsigned)index,
            (unsigned)t->version, plan_value_name(desc, v),
            plan_backend_name(desc, t->to));
    if (home) {
        /* The root begins there, or what was overwritten elsewhere comes back. */
        if (v != r && there < 0)
            return plan_broken(a, 3,
                "transfer %u brings \"%s\" home, and its root is not there", (unsigned)index,
                plan_value_name(desc, v));
        a->home_version[r] = a->now[r];
        if (there < 0) a->last_move[(size_t)r * (size_t)a->spots + (size_t)to] = (int32_t)index;
        else a->used[index] = 1;
        return 1;
    }
    *plan_copy_of(a, v, to) = a->now[r];
    a->last_move[(size_t)v * (size_t)a->spots + (size_t)to] = (int32_t)index;
    return 1;
}

/* Rules 3, 6 and 7 for what a node reads. */
static int plan_replay_read(plan_audit *a, int32_t n, int32_t v,
                            int32_t expected)
{
    const qnnrt_partition_desc *desc = a->desc;
    const int32_t b = a->info->choices[n].backend, r = a->root[v];
    int32_t has;
    if (desc->values[r].constant) return 1;
    if (a->maker[v] >= 0 && !a->ran[a->maker[v]])
        return plan_broken(a, 6,
            "node \"%s\" reads \"%s\" before \"%s\" made it", plan_node_name(desc, n),
            plan_value_name(desc, v), plan_node_name(desc, a->maker[v]));
    if (a->now[r] != expected)
        return plan_broken(a, 3,
            "node \"%s\" runs when \"%s\" was overwritten %d times, and reads it after %d",
            plan_node_name(desc, n), plan_value_name(desc, v),
            (int)a->now[r], (int)expected);
    has = plan_seen_at(a, v, plan_spot(a, v, b));
    if (has < 0)
        return plan_broken(a, 6,
            "node \"%s\" reads \"%s\" on \"%s\", and no transfer brought it",
            plan_node_name(desc, n), plan_value_name(desc, v),
            plan_backend_name(desc, b));
    if (has != expected)
        return plan_broken(a, 7,
            "node \"%s\" reads version %d of \"%s\" on \"%s\", and the present one is %d",
            plan_node_name(desc, n), (int)has, plan_value_name(desc, v),
            plan_backend_name(desc, b), (int)expected);
    return 1;
}

/* Rule 3: what a node overwrites. t: the first transfer that is still to come. */
static int plan_replay_write(plan_audit *a, int32_t n, size_t step,
                             size_t t)
{
    const qnnrt_partition_desc *desc = a->desc;
    const qnnrt_partition_info *info = a->info;
    const int32_t w = desc->nodes[n].writes, r = a->root[w], b = info->choices[n].backend;
    const int32_t spot = plan_spot(a, w, b);
    ++a->now[r];
    if (spot == plan_spot(a, w, info->homes[r])) {
        a->home_version[r] = a->now[r];
        return 1;
    }
    *plan_copy_of(a, w, spot) = a->now[r];
    if (info->steps[step].node_count != 1)
        return plan_broken(a, 3,
            "node \"%s\" overwrites \"%s\", which is not on \"%s\", and is not alone in its step",
            plan_node_name(desc, n), plan_value_name(desc, w),
            plan_backend_name(desc, b));
    for (; t < info->transfer_count && info->transfers[t].before_step == step + 1; ++t) {
        const qnnrt_partition_transfer *move = &info->transfers[t];
        if (move->value == w && move->from == b && move->to == info->homes[r]) return 1;
    }
    return plan_broken(a, 3,
        "node \"%s\" overwrites \"%s\" on \"%s\", and no transfer brings it back to \"%s\"",
        plan_node_name(desc, n), plan_value_name(desc, w),
        plan_backend_name(desc, b),
        plan_backend_name(desc, info->homes[r]));
}

/* Where a value stands in the lists of step s: 8 * s + one of these. */
enum {
    PLAN_READ = 1, PLAN_MADE, PLAN_LISTED, PLAN_GIVEN
};

/* Rules 6 and 9: the lists of a step. mark [values]: see above. */
static int plan_replay_lists(plan_audit *a, size_t s, int32_t *mark)
{
    const qnnrt_partition_desc *desc = a->desc;
    const qnnrt_partition_step *step = &a->info->steps[s];
    const qnnrt_partition_backend *backend = &desc->backends[step->backend];
    const int32_t base = 8 * (int32_t)s;
    size_t i, k, read = 0;
    for (k = 0; k < step->node_count; ++k) {
        const qnnrt_partition_node *node = &desc->nodes[step->nodes[k]];
        for (i = 0; i <= node->input_count; ++i) {
            const int32_t v = i < node->input_count ? node->inputs[i] : node->writes;
            if (v < 0 || desc->values[a->root[v]].constant || mark[v] > base) continue;
            mark[v] = base + PLAN_READ;
            ++read;
            if (a->maker[v] >= 0 && !a->given[v])
                return plan_broken(a, 6,
                    "step %u reads \"%s\", which is no output of the step before", (unsigned)s,
                    plan_value_name(desc, v));
        }
        for (i = 0; i < node->output_count; ++i)
            mark[node->outputs[i]] = base + PLAN_MADE;
    }
    for (i = 0; i < step->input_count; ++i) {
        const int32_t v = step->inputs[i];
        if (mark[v] != base + PLAN_READ)
            return plan_broken(a, 6,
                "input \"%s\" of step %u is listed twice, or not read there",
                plan_value_name(desc, v), (unsigned)s);
        mark[v] = base + PLAN_LISTED;
    }
    if (read != step->input_count)
        return plan_broken(a, 6,
            "step %u reads %u values and lists %u", (unsigned)s, (unsigned)read,
            (unsigned)step->input_count);
    /* What is overwritten is an output, too, but for what is made in the step itself. */
    for (k = 0; k < step->node_count; ++k) {
        const int32_t w = desc->nodes[step->nodes[k]].writes;
        if (w < 0 || mark[w] != base + PLAN_LISTED) continue;
        mark[w] = base + PLAN_MADE;
        ++read;                      /* from here on: how many must be given, beside others */
    }
    read -= step->input_count;
    for (i = 0; i < step->output_count; ++i) {
        const int32_t v = step->outputs[i];
        if (mark[v] != base + PLAN_MADE)
            return plan_broken(a, 6,
                "output \"%s\" of step %u is listed twice, or not made there",
                plan_value_name(desc, v), (unsigned)s);
        mark[v] = base + PLAN_GIVEN;
        a->given[v] = 1;
        if (a->maker[v] < 0 || a->info->choices[a->maker[v]].step != s) --read;
    }
    if (read != 0)
        return plan_broken(a, 6,
            "step %u overwrites %u values that are no outputs of it", (unsigned)s, (unsigned)read);
    if ((backend->most_inputs > 0 && step->input_count > backend->most_inputs) ||
        (backend->most_outputs > 0 && step->output_count > backend->most_outputs))
        return plan_broken(a, 9,
            "step %u has %u inputs and %u outputs, and \"%s\" takes %u and %u", (unsigned)s,
            (unsigned)step->input_count, (unsigned)step->output_count,
            plan_backend_name(desc, step->backend), (unsigned)backend->most_inputs,
            (unsigned)backend->most_outputs);
    return 1;
}

static int plan_replay_step(plan_audit *a, size_t s, size_t t)
{
    const qnnrt_partition_step *step = &a->info->steps[s];
    size_t i, k;
    for (k = 0; k < step->node_count; ++k) {
        const int32_t n = step->nodes[k];
        const qnnrt_partition_node *node = &a->desc->nodes[n];
        for (i = 0; i <= node->input_count; ++i) {
            const int32_t v = i < node->input_count ? node->inputs[i] : node->writes;
            if (v >= 0 && !plan_replay_read(a, n, v,
                a->expected[a->reads[n] + (int32_t)i]))
                return 0;
        }
        if (node->writes >= 0 && !plan_replay_write(a, n, s, t)) return 0;
        for (i = 0; i < node->output_count; ++i) {
            const int32_t v = node->outputs[i], r = a->root[v];
            const int32_t spot = plan_spot(a, v, step->backend);
            if (!a->written[r]) *plan_copy_of(a, v, spot) = 0;
            else if (v == r && plan_spot(a, v, a->info->homes[r]) == spot)
                a->home_version[r] = a->now[r];
        }
        a->ran[n] = 1;
    }
    return 1;
}

/* Rule 14: what the caller and the next run read. */
static int plan_replay_end(plan_audit *a)
{
    const qnnrt_partition_desc *desc = a->desc;
    int32_t v;
    size_t i;
    for (v = 0; v < a->values; ++v) {
        const int32_t r = a->root[v], s = a->state[r];
        const int32_t where = s >= 0 ? a->info->states[s].owner : -1;
        if (desc->values[r].constant) continue;
        if (!desc->values[v].is_output && !(s >= 0 && a->last[s] == v) &&
            !(s >= 0 && r == v && a->maker[v] < 0 && a->written[v])) continue;
        if (a->maker[v] >= 0 && !a->given[v])
            return plan_broken(a, 14,
                "\"%s\" is read after the run and is no output of its step",
                plan_value_name(desc, v));
        if (plan_seen_at(a, v, plan_spot(a, v, where)) != a->now[r])
            return plan_broken(a, 14,
                "\"%s\" is not in %s at the end, or an old version",
                plan_value_name(desc, v), plan_backend_name(desc, where));
    }
    for (i = 0; i < a->info->transfer_count; ++i)
        if (!a->used[i])
            return plan_broken(a, 6,
                "transfer %u: nothing reads \"%s\" on %s", (unsigned)i,
                plan_value_name(desc, a->info->transfers[i].value),
                plan_backend_name(desc, a->info->transfers[i].to));
    return 1;
}

static int plan_replay(plan_audit *a)
{
    int32_t *mark = (int32_t *)qnnrt_arena_get(&a->arena, (uint64_t)a->values, sizeof(int32_t));
    size_t s, t = 0;
    a->given = (uint8_t *)qnnrt_arena_get(&a->arena, (uint64_t)a->values, 1);
    if (a->arena.failed || !plan_replay_begin(a)) return 0;
    for (s = 0; s <= a->info->step_count; ++s) {
        for (; t < a->info->transfer_count && a->info->transfers[t].before_step == s; ++t)
            if (!plan_replay_transfer(a, t)) return 0;
        if (s == a->info->step_count) break;
        if (!plan_replay_step(a, s, t)) return 0;
    }
    for (s = 0; s < a->info->step_count; ++s)
        if (!plan_replay_lists(a, s, mark)) return 0;
    return plan_replay_end(a);
}

/* Check a plan against its description, without knowledge of how it was made.

   rule     receives the number of the broken rule, 0: none; may be NULL
      1  last resort    each node is on a backend that supports it; nothing supports by default
      2  placement      the owner of a state supports all that touches it, and runs it
      3  in place       what overwrites a value does so in its home, or is surrounded by transfers;
                        earlier readers of the list run before it, later ones after it
      4  views          a view is on the backend of its root
      5  totality       each node is in exactly one step, on the backend of its choice
      6  edges          one transfer for each value, destination and version, before the use
      7  freshness      no stale copy is read, and nothing moves that did not change
      8  stability      supports() gives the same answers again
      9  limits         inputs and outputs of each step
     10  fallbacks      each refusal has a reason, also where supports() gave none
     11  pins           are met
     12  diagnosis      each choice and each state has a sentence
     13  soundness      every index is in range, so that nothing has to abort
     14  host           inputs start in host memory, outputs and states end where they are read

   Returns  QNNRT_OK; QNNRT_E_MISMATCH, and the text names the rule, what breaks it and where;
            QNNRT_E_MEMORY; QNNRT_E_ARG (NULL, or a plan with findings) */
static qnnrt_result partition_check(const qnnrt_partition_desc *desc, const qnnrt_partition_info *info,
                                    uint32_t *rule, qnnrt_error *err)
{
    plan_audit a;
    qnnrt_result result;
    qnnrt_error_clear(err);
    if (rule != NULL) *rule = 0;
    if (desc == NULL || info == NULL) return qnnrt_error_set(err, QNNRT_E_ARG, "desc or info is NULL");
    if (info->finding_count > 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "a plan with findings has nothing to check");
    memset(&a, 0, sizeof a);
    a.desc = desc;
    a.info = info;
    a.err = err;
    a.arena.hooks = desc->hooks;
    a.arena.chunk = 65536;
    a.nodes = (int32_t)desc->node_count;
    a.values = (int32_t)desc->value_count;
    a.backends = (int32_t)desc->backend_count;
    a.host = -1;
    a.root = plan_numbers(&a.arena, desc->value_count, -1);
    a.maker = plan_numbers(&a.arena, desc->value_count, -1);
    a.state = plan_numbers(&a.arena, desc->value_count, -1);
    a.last = plan_numbers(&a.arena, desc->state_count, -1);
    a.written = (uint8_t *)qnnrt_arena_get(&a.arena, desc->value_count, sizeof(uint8_t));
    a.plain = (uint8_t *)qnnrt_arena_get(&a.arena, desc->value_count, sizeof(uint8_t));
    a.set = (int32_t *)qnnrt_arena_get(&a.arena, desc->node_count, sizeof(int32_t));
    a.set_mask = (uint32_t *)qnnrt_arena_get(&a.arena, desc->node_count, sizeof(uint32_t));
    if (!a.arena.failed && plan_audit_desc(&a) && plan_audit_sound(&a)) {
        plan_audit_classes(&a);
        if (plan_audit_nodes(&a) && plan_audit_states(&a) &&
            plan_audit_views(&a)) (void)plan_replay(&a);
    }
    result = a.rule != 0 ? QNNRT_E_MISMATCH : QNNRT_OK;
    if (a.rule == 0 && a.arena.failed)
        result = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a plan");
    qnnrt_arena_free(&a.arena);
    if (rule != NULL) *rule = a.rule;
    return result;
}

#endif
