/* chart.c - pictures of graphs before and after the passes

   ROOM     >>chart */
#include "run/compile/aten.h"
#include "run/draw/draw.h"

#include "cli/stages.h"

/* =====================================================================================
   CHART                                                                         >>chart
   A graph in layers: each node below those that it reads, coloured by what became of it. Weights
   are not drawn. Time and text grow with the number of nodes and edges.
   ===================================================================================== */

enum { CHART_WIDTH = 172, CHART_HEIGHT = 36, CHART_STEP_X = 196, CHART_STEP_Y = 58,
       CHART_COLUMNS = 22 };

typedef enum chart_kind {
    CHART_END, CHART_KEPT, CHART_CHANGED, CHART_FUSED, CHART_FOLDED, CHART_REMOVED, CHART_NONE,
    CHART_REFUSED, CHART_KINDS
} chart_kind;

static const struct { const char *text, *style, *colour; } chart_kinds[CHART_KINDS] = {
    {"input or output", "step", "#24344d"},     {"lowered", "input", "#dbe9f6"},
    {"changed by a pass", "output", "#d5edd3"}, {"fused", "edge", "#fde3c4"},
    {"folded", "buffer", "#e6dbf0"},            {"removed", "gone", "#eef4fa"},
    {"no operator", "gone", "#eef4fa"},         {"refused", "bad", "#fbe3e1"}
};

typedef struct chart_box {             /* a node, an input or an output                     */
    const char *name;
    char       *line, *title;          /* below the name; on hover                          */
    chart_kind  kind;
    size_t     *reads;                 /* [read_count] items                                */
    size_t      read_count;
    size_t      layer, readers;        /* readers: how many items read it                   */
    double      x, y;
} chart_box;

typedef struct chart_graph {
    char      *title;
    chart_box *items;                  /* nodes, inputs, outputs                            */
    size_t     count, layers;
    double     left, right, height;    /* x of the leftmost and the rightmost edge          */
} chart_graph;

/* Return what became of a node of the graph after the passes. ops: operators of each live node. */
static chart_kind chart_mapping(const qnnrt_lower_info *info, const qnnrt_ir_node *node,
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
static void chart_read(const qnnrt_ir *ir, chart_box *box, const qnnrt_ir_value *value)
{
    size_t at = SIZE_MAX;
    if (value == NULL) return;
    if (value->origin == QNNRT_IR_NODE) at = value->node->at;
    for (size_t i = 0; value->origin == QNNRT_IR_INPUT && i < ir->input_count; ++i)
        if (ir->inputs[i] == value) at = ir->node_count + i;
    if (at != SIZE_MAX) box->reads[box->read_count++] = at;
}

static void chart_end(chart_box *box, const qnnrt_ir_value *value, const char *what)
{
    page p = {NULL, 0, 0};
    box->name = value->name;
    box->kind = CHART_END;
    page_add(&p, "%s %s ", what, qnnrt_ir_dtype_name(value->dtype));
    page_dims(&p, value->rank, value->dims);
    box->line = p.data;
    box->title = cli_text("%s %s", value->name, p.data);
}

/* Make the items of a graph. before: it is the graph as it was read, and g->ir is what became of
   it. */
static void chart_make(chart_graph *out, const aten_graph *g, const qnnrt_lower_info *info,
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
    out->title = cli_text("graph \"%s\" %s: %lu nodes", g->name,
                          before ? "as it was read" : "after the passes",
                          (unsigned long)ir->node_count);
    out->count = ir->node_count + ir->input_count + ir->output_count;
    out->items = cli_alloc(out->count, sizeof(*out->items));
    for (size_t i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        const qnnrt_ir_node *mapping = !before ? node
                                    : node->number < g->node_count ? now[node->number] : NULL;
        chart_box *box = &out->items[i];
        page p = {NULL, 0, 0};
        box->name = node->name;
        box->kind = mapping != NULL ? chart_mapping(info, mapping, ops) : CHART_REMOVED;
        box->line = cli_text("%s", before || ops[i] == 0 ? node->op : types[i].data);
        page_add(&p, "%s = %s", node->name, node->op);
        for (size_t k = 0; k < node->output_count; ++k) {
            page_add(&p, "\n%s ", qnnrt_ir_dtype_name(node->outputs[k]->dtype));
            page_dims(&p, node->outputs[k]->rank, node->outputs[k]->dims);
        }
        if (mapping != NULL && mapping->mapping[0] != '\0') page_add(&p, "\n%s", mapping->mapping);
        if (mapping != NULL && !mapping->dead && ops[mapping->at] != 0)
            page_add(&p, "\n%s", types[mapping->at].data);
        box->title = p.data;
        box->reads = cli_alloc(node->input_count, sizeof(*box->reads));
        for (size_t k = 0; k < node->input_count; ++k) chart_read(ir, box, node->inputs[k]);
    }
    for (size_t i = 0; i < ir->input_count; ++i)
        chart_end(&out->items[ir->node_count + i], ir->inputs[i], "input");
    for (size_t i = 0; i < ir->output_count; ++i) {
        chart_box *box = &out->items[ir->node_count + ir->input_count + i];
        chart_end(box, ir->outputs[i], "output");
        box->reads = cli_alloc(1, sizeof(*box->reads));
        chart_read(ir, box, ir->outputs[i]);
    }
    for (size_t i = 0; i < g->ir->node_count; ++i) free(types[i].data);
    free(types);
    free(ops);
    free(now);
}

typedef struct chart_place { double wish; size_t box; } chart_place;

static int chart_order(const void *left, const void *right)
{
    const chart_place *a = left, *b = right;
    if (a->wish != b->wish) return a->wish < b->wish ? -1 : 1;
    return a->box < b->box ? -1 : a->box > b->box;
}

/* Give each box a layer below all that it reads; what reads nothing stands above its first
   reader. nodes: number of nodes, which are in an order in which they can run. */
static void chart_layers(chart_graph *g, size_t nodes)
{
    size_t *first = cli_alloc(g->count, sizeof(*first));     /* layer of the first reader, or 0 */
    for (size_t i = 0; i < nodes; ++i) {
        chart_box *box = &g->items[i];
        box->layer = 1;
        for (size_t k = 0; k < box->read_count; ++k)
            if (g->items[box->reads[k]].layer >= box->layer)
                box->layer = g->items[box->reads[k]].layer + 1;
    }
    for (size_t i = nodes; i < g->count; ++i) {
        chart_box *box = &g->items[i];
        if (box->read_count != 0) box->layer = g->items[box->reads[0]].layer + 1;
    }
    for (size_t i = 0; i < g->count; ++i)
        for (size_t k = 0; k < g->items[i].read_count; ++k) {
            const size_t from = g->items[i].reads[k];
            g->items[from].readers += 1;
            if (first[from] == 0 || g->items[i].layer < first[from])
                first[from] = g->items[i].layer;
        }
    for (size_t i = 0; i < g->count; ++i) {
        chart_box *box = &g->items[i];
        if (box->read_count == 0 && first[i] != 0) box->layer = first[i] - 1;
        if (box->layer >= g->layers) g->layers = box->layer + 1;
    }
    free(first);
}

/* Place the items: each layer in the order of the middle of what its items read. */
static void chart_place_all(chart_graph *g, size_t nodes)
{
    size_t *begin, *next;
    chart_place *places = cli_alloc(g->count, sizeof(*places));
    size_t *order = cli_alloc(g->count, sizeof(*order));
    chart_layers(g, nodes);
    begin = cli_alloc(g->layers + 1, sizeof(*begin));
    next = cli_alloc(g->layers + 1, sizeof(*next));
    for (size_t i = 0; i < g->count; ++i) begin[g->items[i].layer + 1 <= g->layers
                                                ? g->items[i].layer + 1 : g->layers] += 1;
    for (size_t i = 1; i <= g->layers; ++i) begin[i] += begin[i - 1];
    memcpy(next, begin, (g->layers + 1) * sizeof(*next));
    for (size_t i = 0; i < g->count; ++i) order[next[g->items[i].layer]++] = i;
    for (size_t layer = 0; layer < g->layers; ++layer) {
        const size_t count = begin[layer + 1] - begin[layer];
        for (size_t i = 0; i < count; ++i) {
            const size_t at = order[begin[layer] + i];
            const chart_box *box = &g->items[at];
            size_t known = 0;
            places[i].box = at;
            places[i].wish = 0;
            for (size_t k = 0; k < box->read_count; ++k)
                if (g->items[box->reads[k]].layer < layer) {
                    places[i].wish += g->items[box->reads[k]].x;
                    ++known;
                }
            if (known != 0) places[i].wish /= (double)known;
        }
        if (count > 1) qsort(places, count, sizeof(*places), chart_order);
        for (size_t i = 0; i < count; ++i) {
            chart_box *box = &g->items[places[i].box];
            box->x = ((double)i - (double)(count - 1) / 2) * CHART_STEP_X;
            box->y = (double)layer * CHART_STEP_Y;
            if (box->x - CHART_WIDTH / 2 < g->left) g->left = box->x - CHART_WIDTH / 2;
            if (box->x + CHART_WIDTH / 2 > g->right) g->right = box->x + CHART_WIDTH / 2;
        }
    }
    g->left -= CHART_WIDTH / 2;                   /* room for edges that pass nodes */
    g->right += CHART_WIDTH / 2;
    g->height = (double)g->layers * CHART_STEP_Y;
    free(places);
    free(order);
    free(begin);
    free(next);
}

/* Draw the edges of a graph, those that pass layers beside the nodes of these layers. */
static void chart_edges(page *p, const chart_graph *g, double x, double y)
{
    for (size_t i = 0; i < g->count; ++i) {
        const chart_box *to = &g->items[i];
        for (size_t k = 0; k < to->read_count; ++k) {
            const chart_box *from = &g->items[to->reads[k]];
            const double x1 = x + from->x, y1 = y + from->y + CHART_HEIGHT;
            const double x2 = x + to->x, y2 = y + to->y;
            const double bow = to->layer > from->layer + 1 ? CHART_STEP_X * 0.75 : 0;
            const double bend = bow > 0 ? CHART_STEP_Y : (y2 - y1) / 2;
            page_add(p, "<path class=\"wire\" d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n",
                     x1, y1, x1 + bow, y1 + bend, x2 + bow, y2 - bend, x2, y2);
        }
    }
}

static void chart_boxes(page *p, const chart_graph *g, double x, double y)
{
    for (size_t i = 0; i < g->count; ++i) {
        const chart_box *box = &g->items[i];
        const double left = x + box->x - CHART_WIDTH / 2, top = y + box->y;
        char *name = cli_shown(box->name), *line = cli_shown(box->line);
        char *title = cli_shown_text(box->title, 2);
        const int end = box->kind == CHART_END;
        page_text(p, "<g>\n");
        svg_title(p, title);
        svg_box(p, chart_kinds[box->kind].style, left, top, CHART_WIDTH, CHART_HEIGHT,
                end ? 16 : 4);
        svg_text(p, left + CHART_WIDTH / 2, top + 15, end ? "on mid" : "mid", CHART_COLUMNS, name);
        svg_text(p, left + CHART_WIDTH / 2, top + 29, end ? "dim mid" : "tiny mid",
                 CHART_COLUMNS + 4, line);
        page_text(p, "</g>\n");
        free(name);
        free(line);
        free(title);
    }
}

/* Say what the colours mean, and how many items have each. Return the width. */
static double chart_legend(page *p, const chart_graph *graphs, size_t count, double y)
{
    double x = MARGIN;
    for (int kind = CHART_KEPT; kind < CHART_KINDS; ++kind) {
        size_t number = 0;
        for (size_t i = 0; i < count; ++i)
            for (size_t k = 0; k < graphs[i].count; ++k)
                number += (int)graphs[i].items[k].kind == kind;
        if (number == 0) continue;
        char *text = cli_text("%lu %s", (unsigned long)number, chart_kinds[kind].text);
        svg_box(p, chart_kinds[kind].style, x, y - 11, 14, 14, 3);
        svg_text(p, x + 20, y, "meta", 40, text);
        x += 20 + 7 * (double)strlen(text) + 16;
        free(text);
    }
    return x;
}

/* Draw graphs beside each other as an SVG picture. */
static void chart_svg(tool *t, const char *path, const chart_graph *graphs, size_t count)
{
    page body = {NULL, 0, 0};
    double x = MARGIN, height = 0;
    double width = chart_legend(&body, graphs, count, MARGIN + 12);
    for (size_t i = 0; i < count; ++i) {
        const chart_graph *g = &graphs[i];
        char *title = cli_shown(g->title);
        svg_text(&body, x, MARGIN + 40, "h1", 200, title);
        chart_edges(&body, g, x - g->left, MARGIN + 60);
        chart_boxes(&body, g, x - g->left, MARGIN + 60);
        const double end = x + 9.3 * (double)columns_in(title) + MARGIN;
        if (end > width) width = end;
        x += g->right - g->left + MARGIN;
        if (g->height > height) height = g->height;
        free(title);
    }
    svg_write(t, path, &body, x > width ? x : width, height + 2 * MARGIN + 60);
    free(body.data);
}

/* Write graphs for Graphviz. */
static void chart_dot(tool *t, const char *path, const chart_graph *graphs, size_t count)
{
    page p = {NULL, 0, 0};
    page_text(&p, "digraph model {\n  node [shape=box, style=filled, fontsize=10];\n");
    for (size_t i = 0; i < count; ++i) {
        const chart_graph *g = &graphs[i];
        char *title = cli_shown(g->title);
        page_add(&p, "  subgraph cluster_%lu {\n    label=\"", (unsigned long)i);
        dot_text(&p, title);
        page_text(&p, "\";\n");
        free(title);
        for (size_t k = 0; k < g->count; ++k) {
            const chart_box *box = &g->items[k];
            char *name = cli_shown(box->name), *line = cli_shown(box->line);
            page_add(&p, "    g%lu_%lu [fillcolor=\"%s\"%s, label=\"", (unsigned long)i,
                     (unsigned long)k, chart_kinds[box->kind].colour,
                     box->kind == CHART_END ? ", shape=ellipse, fontcolor=white" : "");
            dot_text(&p, name);
            page_text(&p, "\\n");
            dot_text(&p, line);
            page_text(&p, "\"];\n");
            free(name);
            free(line);
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
    chart_graph *graphs = cli_alloc(info->graph_count, sizeof(*graphs));
    qnnrt_ir **read = cli_alloc(info->graph_count, sizeof(*read));
    size_t count = 0;
    for (size_t i = 0; i < info->graph_count; ++i) {
        const aten_graph *g = &a->graphs[i];
        const qnnrt_ir *ir = g->ir;
        if (before && qnnrt_ir_read(g->text, g->bytes, NULL, &read[i], NULL) != QNNRT_OK) continue;
        if (before) ir = read[i];
        chart_make(&graphs[count], g, info, &info->graphs[i], ir, before);
        chart_place_all(&graphs[count++], ir->node_count);
    }
    if (t->set.svg != NULL) {
        char *path = before ? chart_before(t->set.svg) : cli_text("%s", t->set.svg);
        chart_svg(t, path, graphs, count);
        free(path);
    }
    if (t->set.dot != NULL) {
        char *path = before ? chart_before(t->set.dot) : cli_text("%s", t->set.dot);
        chart_dot(t, path, graphs, count);
        free(path);
    }
    for (size_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < graphs[i].count; ++k) {
            free(graphs[i].items[k].line);
            free(graphs[i].items[k].title);
            free(graphs[i].items[k].reads);
        }
        free(graphs[i].items);
        free(graphs[i].title);
    }
    for (size_t i = 0; i < info->graph_count; ++i) qnnrt_ir_free(read[i]);
    free(read);
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
