/* chart.c - pictures of graphs before and after the passes

   ROOM     >>chart */
#include "run/compile/aten.h"
#include "run/draw/draw.h"

#include "cli/stages.h"

/* =====================================================================================
   CHART                                                                         >>chart
   A graph as boxes, named by operator and coloured by what became of them. Weights are not drawn.
   ===================================================================================== */

typedef enum chart_kind {
    CHART_END, CHART_KEPT, CHART_CHANGED, CHART_FUSED, CHART_FOLDED, CHART_REMOVED, CHART_NONE,
    CHART_REFUSED, CHART_KINDS
} chart_kind;

static const struct { const char *text, *style, *colour; } chart_kinds[CHART_KINDS] = {
    {"input or output", "step", "#24344d"},     {"lowered", "input", "#dbe9f6"},
    {"changed by a pass", "output", "#d5edd3"}, {"fused", "edge", "#fde3c4"},
    {"folded", "buffer", "#e6dbf0"},            {"removed", "gone", "#eef4fa"},
    {"no operator", "none", "#eef4fa"},         {"refused", "bad", "#fbe3e1"}
};

/* What computes a node of the graph after the passes. */
typedef struct chart_made {
    const char *role;                  /* of several backends; "": there is one          */
    page        types;                 /* of operators; .data NULL: the host computes it */
    size_t      ops;                   /* 0: nothing does                                */
} chart_made;

/* Return what became of a node of the graph after the passes. info: of the only library, or NULL;
   made: what computes each live node. */
static chart_kind chart_became(const qnnrt_lower_info *info, const qnnrt_ir_node *node,
                               const chart_made *made)
{
    for (size_t i = 0; info != NULL && i < info->finding_count; ++i)
        if (info->findings[i].node == node) return CHART_REFUSED;
    if (node->dead)
        return strncmp(node->mapping, "fused", 5) == 0    ? CHART_FUSED
               : strncmp(node->mapping, "folded", 6) == 0 ? CHART_FOLDED
                                                       : CHART_REMOVED;
    if (made[node->at].ops == 0) return CHART_NONE;
    return node->mapping[0] != '\0' ? CHART_CHANGED : CHART_KEPT;
}

/* Add what a box reads. Inputs of the graph come after its nodes. */
static void chart_read(const qnnrt_ir *ir, layer_box *box, const qnnrt_ir_value *value)
{
    size_t at = SIZE_MAX;
    if (value == NULL) return;
    if (value->origin == QNNRT_IR_NODE) at = value->node->at;
    for (size_t i = 0; value->origin == QNNRT_IR_INPUT && i < ir->input_count; ++i)
        if (ir->inputs[i] == value) at = ir->node_count + i;
    if (at != SIZE_MAX) box->reads[box->read_count++] = at;
}

/* Return "float32 1\xC3\x9764", or only the type of a scalar. The caller frees it. */
static char *chart_type(const qnnrt_ir_value *value)
{
    page p = {NULL, 0, 0};
    page_text(&p, qnnrt_ir_dtype_name(value->dtype));
    for (uint32_t d = 0; d < value->rank; ++d)
        page_add(&p, "%s%lld", d > 0 ? "\xC3\x97" : " ", (long long)value->dims[d]);
    return p.data;
}

/* Make the texts of a box, and take them but the name. */
static void chart_texts(layer_box *box, chart_kind kind, const char *name, char *head, char *title)
{
    box->style = chart_kinds[kind].style;
    box->end = kind == CHART_END;
    box->name = cli_shown(name);
    box->head = cli_shown(head);
    box->title = cli_shown_text(title, 2);
    free(head);
    free(title);
}

static void chart_end(layer_box *box, const qnnrt_ir_value *value, const char *what)
{
    char *type = chart_type(value);
    chart_texts(box, CHART_END, value->name, cli_text("%s", type),
                cli_text("%s\n%s %s", value->name, what, type));
    box->key = type;
}

/* Return types of operators, as many as fit: "MatMul Softmax +3". Those that only move values are
   left out first. The caller frees it. */
static char *chart_types(const char *types, size_t most)
{
    const char *from = types, *end;
    unsigned long left = 0;
    if (strlen(types) <= most) return cli_text("%s", types);
    while ((strncmp(from, "Reshape ", 8) == 0 || strncmp(from, "Transpose ", 10) == 0))
        from = strchr(from, ' ') + 1;
    end = from + strcspn(from, " ");
    while (*end != '\0' && end + 1 + strcspn(end + 1, " ") <= from + most - 4)
        end += 1 + strcspn(end + 1, " ");
    for (const char *at = types; *at != '\0'; ++at) left += *at == ' ' && (at < from || at >= end);
    return left > 0 ? cli_text("%.*s +%lu", (int)(end - from), from, left) : cli_text("%s", from);
}

/* Return what to write into the box of a node. The caller frees it. */
static char *chart_head(const qnnrt_ir_node *node, const chart_made *made, int before)
{
    enum { MOST = 23, ROLE = 8 };
    OWNED char *role = made == NULL || before || made->role[0] == '\0' || strlen(made->role) > ROLE
                           ? cli_text("%s", "") : cli_text("%s: ", made->role);
    OWNED char *what = before || made == NULL || made->types.data == NULL
                           ? cli_text("%.*s", (int)strcspn(node->op, "."), node->op)
                           : chart_types(made->types.data, MOST - strlen(role));
    return cli_text("%s%s", role, what);
}

/* Find out what computes each node of a graph. made: [ir->node_count]. */
static void chart_ops(const aten *a, size_t number, chart_made *made)
{
    const qnnrt_ir *ir = a->graphs[number].ir;
    size_t most = 0;
    for (size_t i = 0; i < ir->node_count; ++i)
        if (ir->nodes[i]->number > most) most = ir->nodes[i]->number;
    OWNED size_t *at = cli_alloc(most + 1, sizeof(*at));       /* a step has copies of nodes */
    for (size_t i = 0; i < ir->node_count; ++i) at[ir->nodes[i]->number] = i;
    for (size_t s = 0; s < program_steps(a, number); ++s) {
        const program_step step = program_step_of(a, number, s);
        const qnnrt_ir *host = step.info == NULL ? step.step->ir : NULL;
        const char *role = a->target.whole ? "" : a->target.backends[step.step->backend].role;
        for (size_t i = 0; host != NULL && i < host->node_count; ++i) {
            made[at[host->nodes[i]->number]].ops = 1;
            made[at[host->nodes[i]->number]].role = role;
        }
        for (size_t i = 0; step.graph != NULL && i < step.graph->op_count; ++i) {
            const qnnrt_lower_op *op = &step.graph->ops[i];
            if (!op->used || op->node == NULL) continue;
            chart_made *by = &made[at[op->node->number]];
            if (by->ops++ > 0) page_text(&by->types, " ");
            page_text(&by->types, op->type);
            by->role = role;
        }
    }
}

/* Make the box of a node. became: what it is after the passes, or NULL; made: what computes it, or
   NULL; before: the graph is drawn as it was read. */
static void chart_node(layer_box *box, const qnnrt_ir *ir, const qnnrt_ir_node *node,
                       const qnnrt_ir_node *became, chart_kind kind, const chart_made *made,
                       int before)
{
    const char *role = made != NULL ? made->role : "";
    page title = {NULL, 0, 0}, key = {NULL, 0, 0};
    page_add(&title, "%s = %s", node->name, node->op);
    page_add(&key, "%d %s%s", (int)kind, role, node->op);
    for (size_t k = 0; k < node->output_count; ++k) {
        OWNED char *type = chart_type(node->outputs[k]);
        page_add(&title, "\n%s", type);
        page_add(&key, "\n%s", type);
    }
    box->key = key.data;
    if (became != NULL && became->mapping[0] != '\0') page_add(&title, "\n%s", became->mapping);
    if (role[0] != '\0') page_add(&title, "\non %s", role);
    if (made != NULL && made->types.data != NULL) page_add(&title, "\n%s", made->types.data);
    chart_texts(box, kind, node->name, chart_head(node, made, before), title.data);
    box->reads = cli_alloc(node->input_count, sizeof(*box->reads));
    for (size_t k = 0; k < node->input_count; ++k) chart_read(ir, box, node->inputs[k]);
}

/* Make the items of a graph. before: it is the graph as it was read, and g->ir is what became of
   it. */
static void chart_make(layers *out, const aten *a, size_t number, int before)
{
    const aten_graph *g = &a->graphs[number];
    const qnnrt_ir *ir = before ? g->read : g->ir;
    const qnnrt_lower_info *info = a->target.whole ? program_step_of(a, 0, 0).info : NULL;
    const size_t all = g->ir->node_count + g->ir->removed_count;
    OWNED const qnnrt_ir_node **now = cli_alloc(g->node_count, sizeof(*now));
    chart_made *made = cli_alloc(g->ir->node_count, sizeof(*made));
    for (size_t i = 0; i < all; ++i) {
        const qnnrt_ir_node *node = i < g->ir->node_count ? g->ir->nodes[i]
                                    : g->ir->removed[i - g->ir->node_count];
        if (node->number < g->node_count) now[node->number] = node;
    }
    chart_ops(a, number, made);
    out->title = cli_shown(g->name);
    out->about = cli_text("graph %s: %lu node%s", before ? "as it was read" : "after the passes",
                          (unsigned long)ir->node_count, cli_plural(ir->node_count));
    out->nodes = ir->node_count;
    out->count = ir->node_count + ir->input_count + ir->output_count;
    out->items = cli_alloc(out->count, sizeof(*out->items));
    for (size_t i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        const qnnrt_ir_node *became = !before ? node
                                    : node->number < g->node_count ? now[node->number] : NULL;
        const chart_kind kind = became != NULL ? chart_became(info, became, made) : CHART_REMOVED;
        const int lives = became != NULL && !became->dead && made[became->at].ops != 0;
        chart_node(&out->items[i], ir, node, became, kind, lives ? &made[became->at] : NULL,
                   before);
    }
    for (size_t i = 0; i < ir->input_count; ++i)
        chart_end(&out->items[ir->node_count + i], ir->inputs[i], "input");
    for (size_t i = 0; i < ir->output_count; ++i) {
        layer_box *box = &out->items[ir->node_count + ir->input_count + i];
        chart_end(box, ir->outputs[i], "output");
        box->reads = cli_alloc(1, sizeof(*box->reads));
        chart_read(ir, box, ir->outputs[i]);
    }
    for (size_t i = 0; i < g->ir->node_count; ++i) free(made[i].types.data);
    free(made);
}

/* Say what the colours mean, and how many boxes have each. Return the y of the last row. */
static double chart_legend(page *p, const layers *graphs, size_t count)
{
    legend at = {MARGIN, MARGIN + 12};
    for (int kind = CHART_KEPT; kind < CHART_KINDS; ++kind) {
        size_t number = 0;
        for (size_t i = 0; i < count; ++i)
            for (size_t k = 0; k < graphs[i].count; ++k)
                number += strcmp(graphs[i].items[k].style, chart_kinds[kind].style) == 0;
        if (number == 0) continue;
        OWNED char *text = cli_text("%lu %s", (unsigned long)number, chart_kinds[kind].text);
        draw_key(p, &at, chart_kinds[kind].style, text);
    }
    return at.y;
}

/* Draw graphs below each other as an SVG picture, which folds their repeats. */
static void chart_svg(tool *t, const char *path, layers *graphs, size_t count)
{
    OWNED page body = {NULL, 0, 0};
    double y = chart_legend(&body, graphs, count) + 4, width = PICTURE;
    for (size_t i = 0; i < count; ++i) {
        layers *g = &graphs[i];
        fold_layers(g);
        place_layers(g);
        y = draw_head(&body, y + 20, g->title, "meta", g->about);
        draw_layers(&body, g, MARGIN, y + 8);
        y += 8 + g->height;
        if (g->width + 2 * MARGIN > width) width = g->width + 2 * MARGIN;
    }
    svg_write(t, path, &body, width, y + MARGIN);
}

/* Write graphs for Graphviz, without a fold. */
static void chart_dot(tool *t, const char *path, const layers *graphs, size_t count)
{
    OWNED page p = {NULL, 0, 0};
    page_text(&p, "digraph model {\n  node [shape=box, style=filled, fontsize=10];\n");
    for (size_t i = 0; i < count; ++i) {
        const layers *g = &graphs[i];
        page_add(&p, "  subgraph cluster_%lu {\n    label=\"", (unsigned long)i);
        dot_text(&p, g->title);
        page_text(&p, "\\n");
        dot_text(&p, g->about);
        page_text(&p, "\";\n");
        for (size_t k = 0; k < g->count; ++k) {
            const layer_box *box = &g->items[k];
            int kind = CHART_KINDS;
            while (kind > 0 && strcmp(chart_kinds[--kind].style, box->style) != 0) {}
            page_add(&p, "    g%lu_%lu [fillcolor=\"%s\"%s, label=\"", (unsigned long)i,
                     (unsigned long)k, chart_kinds[kind].colour,
                     box->end ? ", shape=ellipse, fontcolor=white" : "");
            dot_text(&p, box->head);
            page_text(&p, "\\n");
            dot_text(&p, box->name);
            page_text(&p, "\", tooltip=\"");
            dot_text(&p, box->title);
            page_text(&p, "\"];\n");
        }
        for (size_t k = 0; k < g->count; ++k)
            for (size_t r = 0; r < g->items[k].read_count; ++r)
                page_add(&p, "    g%lu_%lu -> g%lu_%lu;\n", (unsigned long)i,
                         (unsigned long)g->items[k].reads[r], (unsigned long)i, (unsigned long)k);
        page_text(&p, "  }\n");
    }
    page_text(&p, "}\n");
    write_named(t, path, &p, 0);
}

/* Return "x.before.svg" for "x.svg". The caller frees it. */
static char *chart_before(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');
    const int length = (int)(dot != NULL ? (size_t)(dot - path) : strlen(path));
    return cli_text("%.*s.before%s", length, path, dot != NULL ? dot : "");
}

/* Draw all graphs once. before: as they were read. */
static void chart_all(const aten *a, int before)
{
    tool *t = a->t;
    layers *graphs = cli_alloc(a->graph_count, sizeof(*graphs));
    const size_t count = a->graph_count;
    for (size_t i = 0; i < count; ++i) chart_make(&graphs[i], a, i, before);
    if (t->set.dot != NULL) {
        OWNED char *path = before ? chart_before(t->set.dot) : cli_text("%s", t->set.dot);
        chart_dot(t, path, graphs, count);
    }
    if (t->set.svg != NULL) {
        OWNED char *path = before ? chart_before(t->set.svg) : cli_text("%s", t->set.svg);
        chart_svg(t, path, graphs, count);
    }
    for (size_t i = 0; i < count; ++i) free_layers(&graphs[i]);
    free(graphs);
}

void chart_write(const aten *a)
{
    const settings *set = &a->t->set;
    if ((set->svg == NULL && set->dot == NULL) || program_steps(a, 0) == 0) return;
    if (!is_stdout(set->svg) && !is_stdout(set->dot)) chart_all(a, 1);
    chart_all(a, 0);
}
