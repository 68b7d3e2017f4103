/* node_map.c - --report of compile, node by node

   ROOM     >>node_map */
#include "run/compile/aten.h"

#include <sys/stat.h>

/* =====================================================================================
   NODE MAP                                                                   >>node_map
   What became of each node of a graph. Lists are in a fixed order; times come last.
   ===================================================================================== */

typedef struct node_map_item {         /* something to sort                               */
    uint64_t    key;                   /* the largest first, or the smallest              */
    const char *name;                  /* for equal keys                                  */
    const char *role;                  /* of an operator: of its backend                  */
    const void *what;
    size_t      index;
} node_map_item;

static int node_map_rising(const void *left, const void *right)
{
    const node_map_item *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int node_map_falling(const void *left, const void *right)
{
    const node_map_item *a = left, *b = right;
    if (a->key != b->key) return a->key > b->key ? -1 : 1;
    const int order = strcmp(a->name, b->name);
    return order != 0 ? order : a->index < b->index ? -1 : a->index > b->index;
}

/* Sort, unless the list is empty. */
static void node_map_sort(node_map_item *items, size_t count,
                          int (*order)(const void *, const void *))
{
    if (count > 1) qsort(items, count, sizeof(*items), order);
}

/* Return what a step computes on; "" if one library has all nodes. */
static const char *node_map_role(const aten *a, const program_step *step)
{
    return a->target.whole ? "" : a->target.backends[step->step->backend].role;
}

/* Add one input or output: as the file has it, and as the binary has it. */
static void node_map_end(page *p, const char *kind, const qnnrt_ir_value *value,
                         const qnnrt_lower_graph_info *info, int32_t tensor)
{
    page_add(p, "  %-11s %s %s ", kind, value->name, qnnrt_ir_dtype_name(value->dtype));
    page_dims(p, value->rank, value->dims);
    if (tensor <= 0) {
        page_text(p, kind[0] == 'i' ? ": nothing reads it, it is left out\n" : ": is left out\n");
        return;
    }
    const qnnrt_lower_tensor *t = &info->tensors[tensor];
    int64_t dims[8];
    for (uint32_t i = 0; i < t->rank; ++i) dims[i] = t->dims[i];
    page_add(p, " as %s %s ", t->name, qnnrt_ir_dtype_name(t->dtype));
    page_dims(p, t->rank, dims);
    page_text(p, "\n");
}

/* Add the operators of one node; items are those of all nodes, sorted. Return the first of the next
   node. */
static size_t node_map_ops(page *p, const node_map_item *items, size_t count, size_t at,
                           uint64_t number, const char *before)
{
    while (at < count && items[at].key < number) ++at;
    const char *role = at < count ? items[at].role : "";
    for (; at < count && items[at].key == number; ++at, before = ", ", role = "")
        page_add(p, "%s%s%s%s", before, role,
                 role[0] != '\0' && items[at].name[0] != '\0' ? ": " : "", items[at].name);
    return at;
}

/* Get the operators of all steps of a graph, by node, and the nodes of host steps, which have none.
   The caller frees them. */
static node_map_item *node_map_made(const aten *a, size_t number, size_t *count)
{
    node_map_item *ops = NULL;
    size_t room = 0;
    *count = 0;
    for (size_t s = 0; s < program_steps(a, number); ++s) {
        const program_step step = program_step_of(a, number, s);
        const qnnrt_ir *host = step.info == NULL ? step.step->ir : NULL;
        const size_t most = step.graph != NULL ? step.graph->op_count
                                               : host != NULL ? host->node_count : 0;
        for (size_t i = 0; i < most; ++i) {
            const qnnrt_lower_op *op = step.graph != NULL ? &step.graph->ops[i] : NULL;
            const qnnrt_ir_node *node = op != NULL ? op->node : host->nodes[i];
            if (node == NULL || (op != NULL && !op->used)) continue;
            ops = cli_grow(ops, *count, &room, sizeof(*ops));
            ops[*count] = (node_map_item){node->number, op != NULL ? op->name : "",
                                          node_map_role(a, &step), NULL, *count};
            *count += 1;
        }
    }
    node_map_sort(ops, *count, node_map_rising);
    return ops;
}

/* Add a line for each node, in the order of the file; those that passes added come last. */
static void node_map_nodes(page *p, const aten *a, size_t number)
{
    const qnnrt_ir *ir = a->graphs[number].ir;
    const size_t count = ir->node_count + ir->removed_count;
    OWNED node_map_item *nodes = cli_alloc(count, sizeof(*nodes));
    size_t op_count, at = 0;
    OWNED node_map_item *ops = node_map_made(a, number, &op_count);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_ir_node *node = i < ir->node_count ? ir->nodes[i]
                                                       : ir->removed[i - ir->node_count];
        nodes[i].key = node->number;
        nodes[i].what = node;
    }
    node_map_sort(nodes, count, node_map_rising);
    page_text(p, "\n  nodes\n");
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_ir_node *node = nodes[i].what;
        const char *mark = node->mapping[0] != '\0' ? ": " : "";
        const size_t before = at;
        page_add(p, "    %s = %s%s%s", node->name, node->op, mark, node->mapping);
        at = node_map_ops(p, ops, op_count, at, nodes[i].key,
                          mark[0] != '\0' ? "; " : ": ");
        if (at == before && !node->dead) page_text(p, mark[0] != '\0' ? "; no operator"
                                                                        : ": no operator");
        page_text(p, "\n");
        if (node->source[0] != '\0') page_add(p, "        %s\n", node->source);
    }
}

/* Add how many operators of each type there are. */
static void node_map_types(page *p, const qnnrt_lower_graph_info *info)
{
    OWNED node_map_item *types = cli_alloc(info->op_count, sizeof(*types));
    size_t count = 0;
    for (size_t i = 0; i < info->op_count; ++i) {
        size_t k = 0;
        if (!info->ops[i].used) continue;
        while (k < count && strcmp(types[k].name, info->ops[i].type) != 0) ++k;
        if (k == count) types[count++].name = info->ops[i].type;
        types[k].key += 1;
    }
    node_map_sort(types, count, node_map_falling);
    page_text(p, "\n  operators\n");
    for (size_t i = 0; i < count; ++i)
        page_add(p, "    %5llu %s\n", (unsigned long long)types[i].key, types[i].name);
}

/* Add the static tensors, the largest first. */
static void node_map_statics(page *p, const qnnrt_lower_graph_info *info)
{
    OWNED node_map_item *items = cli_alloc(info->tensor_count, sizeof(*items));
    size_t count = 0;
    for (size_t i = 1; i < info->tensor_count; ++i) {
        const qnnrt_lower_tensor *t = &info->tensors[i];
        if (!t->used || t->kind != QNNRT_TENSOR_STATIC) continue;
        items[count].key = t->bytes;
        items[count].name = t->name;
        items[count].what = t;
        items[count++].index = i;
    }
    node_map_sort(items, count, node_map_falling);
    page_add(p, "\n  static tensors: %lu with %llu bytes\n", (unsigned long)count,
             (unsigned long long)info->static_bytes);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_lower_tensor *t = items[i].what;
        int64_t dims[8];
        for (uint32_t k = 0; k < t->rank; ++k) dims[k] = t->dims[k];
        page_add(p, "    %12llu %s %s ", (unsigned long long)t->bytes, t->name,
                 qnnrt_ir_dtype_name(t->dtype));
        page_dims(p, t->rank, dims);
        page_text(p, "\n");
    }
}

/* Return what the library of a step made; NULL for a step of the host. Before it comes the step's
   name, if there are several backends. */
static const qnnrt_lower_graph_info *node_map_step(page *p, const aten *a, size_t number, size_t at)
{
    const program_step step = program_step_of(a, number, at);
    if (step.graph != NULL && !a->target.whole)
        page_add(p, "\n  step %lu on %s\n", (unsigned long)at, node_map_role(a, &step));
    return step.graph;
}

static void node_map_graph(page *p, const aten *a, size_t number)
{
    const aten_graph *g = &a->graphs[number];
    const size_t steps = program_steps(a, number);
    size_t before = g->node_count, ops = 0;
    for (size_t s = 0; s < steps; ++s) {
        const qnnrt_lower_graph_info *info = program_step_of(a, number, s).graph;
        ops += info != NULL ? info->used_ops : 0;
    }
    page_add(p, "\ngraph \"%s\" from %s\n", g->name, g->file);
    page_add(p, "  %lu nodes as read, %lu after the passes, %lu operators\n",
             (unsigned long)g->node_count, (unsigned long)g->ir->node_count, (unsigned long)ops);
    for (size_t s = 0; s < steps; ++s) {
        const qnnrt_lower_graph_info *info = node_map_step(p, a, number, s);
        for (size_t i = 0; info != NULL && i < info->ir->input_count; ++i)
            node_map_end(p, "input", info->ir->inputs[i], info, info->inputs[i]);
        for (size_t i = 0; info != NULL && i < info->ir->output_count; ++i)
            node_map_end(p, "output", info->ir->outputs[i], info, info->outputs[i]);
    }
    page_text(p, "\n  passes\n");
    for (size_t i = 0; i < g->pass_count; ++i) {
        page_add(p, "    %-18s %6lu nodes to %6lu\n", g->passes[i].name, (unsigned long)before,
                 (unsigned long)g->passes[i].nodes);
        before = g->passes[i].nodes;
    }
    node_map_nodes(p, a, number);
    for (size_t s = 0; s < steps; ++s) {
        const qnnrt_lower_graph_info *info = node_map_step(p, a, number, s);
        if (info == NULL) continue;
        node_map_types(p, info);
        node_map_statics(p, info);
    }
}

/* Add the most memory that the program had, where the system says it. */
static void node_map_memory(page *p)
{
    size_t bytes = 0;
    OWNED char *text = cli_read_file("/proc/self/status", 1 << 20, &bytes);
    const char *line = text != NULL ? strstr(text, "VmHWM:") : NULL;
    if (line != NULL) page_add(p, "  %-28s %10lu KiB\n", "most memory",
                               strtoul(line + 6, NULL, 10));
}

/* Add what --verify found, the files that were written, the times, and the memory; and write the
   report. */
static void node_map_end_page(const aten *a, page *p, char *const *paths, size_t path_count)
{
    static const char *const phases[ATEN_PHASES] = {
        "read and check", "open weights", "passes", "lower", "ask the library", "build", "save",
        "verify"
    };
    if (a->verified.data != NULL) page_text(p, a->verified.data);
    if (path_count > 0) page_text(p, "\nfiles\n");
    for (size_t i = 0; i < path_count; ++i) {
        struct stat status;
        if (stat(paths[i], &status) == 0)
            page_add(p, "  %12llu %s\n", (unsigned long long)status.st_size, paths[i]);
    }
    page_text(p, "\ntimes\n");
    for (size_t i = 0; i < ATEN_PHASES; ++i)
        if (a->ns[i] != 0) page_add(p, "  %-28s %10.3f ms\n", phases[i], ms(a->ns[i]));
    node_map_memory(p);
    OWNED char *shown = cli_shown_text(p->data, 2);    /* names in files may be hostile */
    page out = {shown, strlen(shown), 0};
    write_named(a->t, a->t->set.compile->report, &out, 0);
    free(p->data);
}

/* Add what became of the graphs of the only library. */
static void node_map_all(const aten *a, page *p)
{
    const qnnrt_lower_info *info = program_step_of(a, 0, 0).info;
    const qnnrt_backend_info *backend = qnnrt_backend_get_info(a->t->backend);
    page_add(p, "compiled for %s, build %s\n", backend->provider, backend->build_id);
    if (info == NULL) return;
    for (size_t i = 0; i < info->graph_count; ++i) node_map_graph(p, a, i);
    if (info->finding_count > 0) page_text(p, "\nfindings\n");
    for (size_t i = 0; i < info->finding_count; ++i)
        page_add(p, "  %s\n%s%s%s", info->findings[i].text,
                 info->findings[i].hint[0] != '\0' ? "    " : "", info->findings[i].hint,
                 info->findings[i].hint[0] != '\0' ? "\n" : "");
    if (info->flushed + info->clamped > 0)
        page_add(p, "\nfloat16\n  %llu values of weights became 0, %llu of constants the largest"
                 " number\n", (unsigned long long)info->flushed, (unsigned long long)info->clamped);
    if (info->folded_count > 0) page_text(p, "\nencodings that are not used\n");
    for (size_t i = 0; i < info->folded_count; ++i) page_add(p, "  %s\n", info->folded[i]);
    weight_only_report(p, info->weight_only, info->weight_only_count, "");
}

/* Add the inputs of integers of which only a range that was assumed is known. */
static void node_map_assumed(const aten *a, page *p)
{
    for (size_t i = 0; i < a->graph_count; ++i) {
        const qnnrt_ir *ir = a->graphs[i].ir;
        for (size_t k = 0; ir != NULL && k < ir->input_count; ++k)
            if (ir->inputs[k]->ranged == 3 && ir->inputs[k]->users > 0)
                page_add(p, "\nrange\n  no range of input \"%s\" of graph \"%s\" is stated: it is"
                         " taken for %lld to %lld\n", ir->inputs[k]->name, a->graphs[i].name,
                         (long long)ir->inputs[k]->low, (long long)ir->inputs[k]->high);
    }
}

void node_map_write(const aten *a, char *const *paths, size_t path_count)
{
    page p = {NULL, 0, 0};
    if (a->t->set.compile->report == NULL || a->program == NULL) return;
    if (!a->target.whole) {
        choices_report(a, &p);
        for (size_t i = 0; i < a->graph_count; ++i)
            if (program_steps(a, i) > 0) node_map_graph(&p, a, i);
    } else if (program_steps(a, 0) > 0) node_map_all(a, &p);
    else return;
    node_map_assumed(a, &p);
    node_map_end_page(a, &p, paths, path_count);
}
