/* choices.c - which backend computes which node, and why

   ROOM     >>choices */
#include "run/compile/aten.h"

/* =====================================================================================
   CHOICES                                                                      >>choices
   What --backends decided: steps for everyone, each node with --explain_plan.
   ===================================================================================== */

/* Return the role of a backend of a plan; -1: memory of the host. */
static const char *choice_role(const aten *a, int32_t backend)
{
    return backend >= 0 ? a->target.backends[backend].role : "host";
}

/* Say in one paragraph why the nodes are where they are. */
static void choice_why(page *out, const aten *a, const qnnrt_partition_info *plan)
{
    static const char *const words[] = {
        "pinned to it", "that only it can compute", "by cost", "by cost", "with a state",
        "on memory that is there"
    };
    const char *end = "";
    page_text(out, "why       ");
    for (size_t b = 0; b < a->target.backend_count; ++b) {
        size_t counts[6] = {0}, all = 0;
        const char *comma = " (";
        for (size_t i = 0; i < plan->choice_count; ++i) {
            const qnnrt_partition_choice *choice = &plan->choices[i];
            if (choice->backend != (int32_t)b) continue;
            ++all;
            ++counts[choice->reason == QNNRT_PARTITION_ISLAND ? QNNRT_PARTITION_CHEAPEST
                                                              : choice->reason];
        }
        if (all == 0) continue;
        page_add(out, "%s%s computes %lu node%s", end, a->target.backends[b].role,
                 (unsigned long)all, cli_plural(all));
        for (size_t k = 0; k < 6; ++k) {
            if (counts[k] == 0) continue;
            page_add(out, "%s%lu %s", comma, (unsigned long)counts[k], words[k]);
            comma = ", ";
        }
        end = "), ";
    }
    page_text(out, "). ");
    page_add(out, "The plan is estimated at %.4g us", plan->after.time);
    for (size_t b = 0; b < a->target.backend_count; ++b)
        page_add(out, "; with %s wherever it can compute, %.4g us",
                 a->target.backends[b].role, plan->preferring[b].time);
    page_text(out, ".\n");
}

/* Say how many multiply-adds there are, and which share each backend has. */
static void choice_macs(page *out, const aten *a, const qnnrt_compile_graph *graph)
{
    const qnnrt_partition_info *plan = graph->partition;
    const char *comma = "; ";
    double all = 0;
    for (size_t i = 0; i < plan->choice_count; ++i) all += qnnrt_compile_macs(graph->ir->nodes[i]);
    page_add(out, "          %.0f multiply-adds", all);
    for (size_t b = 0; b < a->target.backend_count && all > 0; ++b) {
        double own = 0;
        for (size_t i = 0; i < plan->choice_count; ++i)
            if (plan->choices[i].backend == (int32_t)b)
                own += qnnrt_compile_macs(graph->ir->nodes[i]);
        if (own <= 0) continue;
        page_add(out, "%s%s %.2f %%", comma, a->target.backends[b].role, 100 * own / all);
        comma = ", ";
    }
    page_text(out, "\n");
}

/* Add each node with its candidates, and why it is where it is; a reason that many share stands at
   the first of them. */
static void choice_nodes(page *out, const aten *a, const qnnrt_compile_graph *graph)
{
    const qnnrt_partition_info *plan = graph->partition;
    const char *before = "";
    for (size_t i = 0; i < plan->choice_count; ++i) {
        const qnnrt_partition_choice *choice = &plan->choices[i];
        const char *reason = strcmp(choice->why, before) == 0 ? "" : choice->why;
        OWNED page p = {NULL, 0, 0};
        page_text(&p, "");
        for (size_t b = 0; b < a->target.backend_count; ++b)
            if (choice->candidates >> b & 1)
                page_add(&p, "%s%s", p.used > 0 ? "," : "", a->target.backends[b].role);
        page_add(out, "  %-28s %-34s step %-3lu %-6s of %-14s %s\n", graph->ir->nodes[i]->name,
            graph->ir->nodes[i]->op, (unsigned long)choice->step, choice_role(a, choice->backend),
            p.data, reason);
        before = choice->why;
        for (size_t b = 0; b < a->target.backend_count; ++b) {
            const char *why = plan->refusals[i * a->target.backend_count + b];
            if (why != NULL) page_add(out, "    not %s: %s\n", a->target.backends[b].role, why);
        }
    }
}

/* Add the plan of a graph, with each node or without. */
static void choice_graph(page *out, const aten *a, const qnnrt_compile_graph *graph, int nodes)
{
    const qnnrt_partition_info *plan = graph->partition;
    if (plan == NULL) return;
    page_add(out, "\nplan      graph \"%s\": %lu nodes in %lu step%s, %lu transfer%s, %llu bytes\n",
        graph->name, (unsigned long)graph->ir->node_count, (unsigned long)plan->step_count,
        cli_plural(plan->step_count), (unsigned long)plan->transfer_count,
        cli_plural(plan->transfer_count), (unsigned long long)plan->after.bytes);
    page_add(out, "          estimated %.6g us, %.6g of it work; in the order of the nodes: %lu"
             " steps, %.6g us\n", plan->after.time, plan->after.work,
             (unsigned long)plan->before.steps, plan->before.time);
    choice_macs(out, a, graph);
    for (size_t i = 0; i < plan->step_count; ++i) {
        const qnnrt_partition_step *step = &plan->steps[i];
        for (size_t k = 0; k < plan->transfer_count; ++k) {
            const qnnrt_partition_transfer *move = &plan->transfers[k];
            if (move->before_step != i) continue;
            page_add(out, "           \"%s\" from %s to %s, %llu bytes\n",
                     graph->ir->values[move->value]->name, choice_role(a, move->from),
                     choice_role(a, move->to), (unsigned long long)move->bytes);
        }
        page_add(out, "  step %-3lu %-6s %lu nodes, \"%s\" to \"%s\"", (unsigned long)i,
            choice_role(a, step->backend), (unsigned long)step->node_count,
            graph->ir->nodes[step->nodes[0]]->name,
            graph->ir->nodes[step->nodes[step->node_count - 1]]->name);
        size_t functions = 0;
        for (size_t k = 0; k < graph->step_count; ++k) {
            const qnnrt_compile_step *part = &graph->steps[k];
            if (part->plan != i) continue;
            if (part->op_count > 0)
                page_add(out, ", %lu operators", (unsigned long)part->op_count);
            functions += part->function != NULL;
        }
        if (functions > 0)
            page_add(out, ", %lu of your function%s", (unsigned long)functions,
                     cli_plural(functions));
        page_add(out, "\n");
    }
    for (size_t i = 0; i < plan->state_count; ++i)
        page_add(out, "  state    %s: %s: %s\n", choice_role(a, plan->states[i].owner),
            plan->states[i].name, plan->states[i].why);
    if (plan->step_count > 0) choice_why(out, a, plan);
    if (nodes) choice_nodes(out, a, graph);
}

/* Add the costs, and the plans of all graphs. */
static void choice_all(page *out, const aten *a, int nodes)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(a->program);
    page_add(out, "\ncosts     a transfer %g us and %g us for a byte; work counts %g times where a"
                  " preferred backend can do it\n", info->costs.per_crossing,
             info->costs.per_byte, info->costs.prefer);
    for (size_t i = 0; i < info->backend_count; ++i) {
        const qnnrt_compile_backend *backend = &info->backends[i];
        page_add(out, "  %-7s %g operations and %g bytes in a us, %g us for a node, %g us for a"
                 " step\n", backend->role, backend->speed, backend->bandwidth, backend->per_node,
                 backend->per_step);
    }
    for (size_t i = 0; i < info->graph_count; ++i)
        choice_graph(out, a, &info->graphs[i], nodes);
    if (info->flushed > 0)
        page_add(out, "note      %llu values of weights are 0 in float16\n",
                 (unsigned long long)info->flushed);
    if (info->clamped > 0)
        page_add(out, "note      %llu values of constants are too large for float16 and became its"
                      " largest number\n", (unsigned long long)info->clamped);
}

void choices(const aten *a)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(a->program);
    page p = {NULL, 0, 0};
    if (a->target.whole) return;
    choice_all(&p, a, a->t->set.compile->explain);
    say(a->t, "%s", p.data);
    free(p.data);
    for (size_t i = 0; i < info->backend_count && info->weight_only != NULL; ++i) {
        OWNED char *on = cli_text(" on %s", info->backends[i].role);
        weight_only_say(a->t, info->weight_only[i].list, info->weight_only[i].count, on);
    }
}

void choices_report(const aten *a, page *p)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(a->program);
    for (size_t i = 0; i < info->backend_count; ++i) {
        const qnnrt_backend_info *backend = info->backends[i].backend == NULL ? NULL
                                    : qnnrt_backend_get_info(info->backends[i].backend);
        if (backend == NULL) page_add(p, "%s: computes in float32\n", info->backends[i].role);
        else page_add(p, "%s: %s, build %s\n", info->backends[i].role, backend->provider,
                      backend->build_id);
    }
    choice_all(p, a, 1);
    if (info->move_count > 0) page_text(p, "\nmoved\n");
    for (size_t i = 0; i < info->move_count; ++i)
        page_add(p, "  graph \"%s\": node \"%s\" (%s) away from %s: %s\n", info->moves[i].graph,
                 info->moves[i].node, info->moves[i].op, info->moves[i].role, info->moves[i].why);
    for (size_t i = 0; i < info->backend_count && info->weight_only != NULL; ++i) {
        OWNED char *on = cli_text(" on %s", info->backends[i].role);
        weight_only_report(p, info->weight_only[i].list, info->weight_only[i].count, on);
    }
}
