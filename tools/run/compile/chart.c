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

/* Return what became of a node of the graph after the passes. ops: operators of each live node. */
static chart_kind chart_became(const qnnrt_lower_info *info, const qnnrt_ir_node *node,
                             const size_t *ops)
{
    for (size_t i = 0; i < info->finding_count; ++i)
        if (info->findings[i].node == node) return CHART_REFUSED;
    if (node->dead)
        return strncmp(node->mapping, "fused", 5) == 0    ? CHART_FUSED
               : strncmp(node->mapping, "folded", 6) == 0 ? CHART_FOLDED
                                                       : CHART_REMOVED;
    return ops[node->at] == 0 ? CHART_NONE : node->mapping[0] != '\0' ? CHART_CHANGED : CHART_KEPT;
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

/* Return types of operators, as many as fit a box: "MatMul Softmax +3". Those that only move values
   are left out first. The caller frees it. */
static char *chart_types(const char *types)
{
    enum { MOST = 23 };
    const char *from = types, *end;
    unsigned long left = 0;
    if (strlen(types) <= MOST) return cli_text("%s", types);
    while ((strncmp(from, "Reshape ", 8) == 0 || strncmp(from, "Transpose ", 10) == 0))
        from = strchr(from, ' ') + 1;
    end = from + strcspn(from, " ");
    while (*end != '\0' && end + 1 + strcspn(end + 1, " ") <= from + MOST - 4)
        end += 1 + strcspn(end + 1, " ");
    for (const char *at = types; *at != '\0'; ++at) left += *at == ' ' && (at < from || at >= end);
    return left > 0 ? cli_text("%.*s +%lu", (int)(end - from), from, left) : cli_text("%s", from);
}

/* Make the box of a node. became: what it is after the passes, or NULL; types: of its operators, or
   NULL; before: the graph is drawn as it was read. */
static void chart_node(layer_box *box, const qnnrt_ir *ir, const qnnrt_ir_node *node,
                       const qnnrt_ir_node *became, chart_kind kind, const char *types, int before)
{
    page title = {NULL, 0, 0}, key = {NULL, 0, 0};
    page_add(&title, "%s = %s", node->name, node->op);
    page_add(&key, "%d %s", (int)kind, node->op);
    for (size_t k = 0; k < node->output_count; ++k) {
        char *type = chart_type(node->outputs[k]);
        page_add(&title, "\n%s", type);
        page_add(&key, "\n%s", type);
        free(type);
    }
    box->key = key.data;
    if (became != NULL && became->mapping[0] != '\0') page_add(&title, "\n%s", became->mapping);
    if (types != NULL) page_add(&title, "\n%s", types);
    chart_texts(box, kind, node->name, before || types == NULL
                ? cli_text("%.*s", (int)strcspn(node->op, "."), node->op) : chart_types(types),
                title.data);
    box->reads = cli_alloc(node->input_count, sizeof(*box->reads));
    for (size_t k = 0; k < node->input_count; ++k) chart_read(ir, box, node->inputs[k]);
}

/* Make the items of a graph. before: it is the graph as it was read, and g->ir is what became of
   it. */
static void chart_make(layers *out, const aten_graph *g, const qnnrt_lower_info *info,
                       const qnnrt_lower_graph_info *lowered, const qnnrt_ir *ir, int before)
{
    const size_t all = g->ir->node_count + g->ir->removed_count;
    const qnnrt_ir_node **now = cli_alloc(g->node_count, sizeof(*now));
    size_t *ops = cli_alloc(g->ir->node_count, sizeof(*ops));
    page *types = cli_alloc(g->ir->node_count, sizeof(*types));
    for (size_t i = 0; i < all; ++i) {
        const qnnrt_ir_node *node = i < g->ir->node_count ? g->ir->nodes[i]
                                    : g->ir->removed[i - g->ir->node_count];
        if (node->number < g->node_count) now[node->number] = node;
    }
    for (size_t i = 0; i < lowered->op_count; ++i) {
        const qnnrt_lower_op *op = &lowered->ops[i];
        if (!op->used || op->node == NULL) continue;
        if (ops[op->node->at]++ > 0) page_text(&types[op->node->at], " ");
        page_text(&types[op->node->at], op->type);
    }
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
        const chart_kind kind = became != NULL ? chart_became(info, became, ops) : CHART_REMOVED;
        const int lives = became != NULL && !became->dead && ops[became->at] != 0;
        chart_node(&out->items[i], ir, node, became, kind, lives ? types[became->at].data : NULL,
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
    for (size_t i = 0; i < g->ir->node_count; ++i) free(types[i].data);
    free(types);
    free(ops);
    free(now);
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
        char *text = cli_text("%lu %s", (unsigned long)number, chart_kinds[kind].text);
        draw_key(p, &at, chart_kinds[kind].style, text);
        free(text);
    }
    return at.y;
}

/* Draw graphs below each other as an SVG picture, which folds their repeats. */
static void chart_svg(tool *t, const char *path, layers *graphs, size_t count)
{
    page body = {NULL, 0, 0};
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
    free(body.data);
}

/* Write graphs for Graphviz, without a fold. */
static void chart_dot(tool *t, const char *path, const layers *graphs, size_t count)
{
    page p = {NULL, 0, 0};
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
    free(p.data);
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
    const qnnrt_lower_info *info = qnnrt_lower_get_info(a->lower);
    layers *graphs = cli_alloc(info->graph_count, sizeof(*graphs));
    size_t count = 0;
    for (size_t i = 0; i < info->graph_count; ++i) {
        const aten_graph *g = &a->graphs[i];
        chart_make(&graphs[count++], g, info, &info->graphs[i], before ? g->read : g->ir, before);
    }
    if (t->set.dot != NULL) {
        char *path = before ? chart_before(t->set.dot) : cli_text("%s", t->set.dot);
        chart_dot(t, path, graphs, count);
        free(path);
    }
    if (t->set.svg != NULL) {
        char *path = before ? chart_before(t->set.svg) : cli_text("%s", t->set.svg);
        chart_svg(t, path, graphs, count);
        free(path);
    }
    for (size_t i = 0; i < count; ++i) free_layers(&graphs[i]);
    free(graphs);
}

void chart_write(const aten *a)
{
    const settings *set = &a->t->set;
    if ((set->svg == NULL && set->dot == NULL) || a->lower == NULL ||
        qnnrt_lower_get_info(a->lower)->graph_count == 0) return;
    if (!is_stdout(set->svg) && !is_stdout(set->dot)) chart_all(a, 1);
    chart_all(a, 0);
}
