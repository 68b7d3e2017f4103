/* dot.c - pipelines as a graph for Graphviz

   ROOM     >>dot */
#include "run/draw/draw.h"
#include "run/model/model.h"

/* =====================================================================================
   DOT                                                                               >>dot
   Draws the same pipelines for Graphviz.
   ===================================================================================== */

void dot_text(page *p, const char *s)
{
    for (; *s != '\0'; ++s) {
        if (*s == '"' || *s == '\\') page_add(p, "\\%c", *s);
        else if (*s == '&') page_text(p, "&amp;");
        else page_bytes(p, s, 1);
    }
}

/* Write the label of a group of tensors. */
static void dot_label(page *p, const item *items, size_t count)
{
    OWNED char *name = group_name(items, count, 0), *shape = shape_text(items[0].tensor);
    dot_text(p, name);
    if (count > 1) page_add(p, " (%lu)", (unsigned long)count);
    page_text(p, "\\n");
    dot_text(p, shape);
}

/* Write the node of a stage. colour: of its backend in a mixed pipeline, else NULL */
static void dot_stage(page *p, const qnnrt_pipeline_info *info, const flow_stage *m,
                      const char *node, const char *colour)
{
    const qnnrt_step_info *step = &info->steps[m->first];
    OWNED char *text = stage_facts(info, m, SIZE_MAX), *graph = stage_name(info, m);
    OWNED char *place = step_place(step);
    const int is_graph = step->kind == QNNRT_STEP_GRAPH;
    page_add(p, "    %s [fillcolor=\"%s\", %s, label=\"", node,
             step->kind == QNNRT_STEP_HOST ? "#f4efdc" : step->kind == QNNRT_STEP_DERIVED
             ? "#fbe2ec" : colour != NULL ? colour : "#24344d",
             is_graph ? "fontcolor=white" : step->kind == QNNRT_STEP_HOST ? "peripheries=2"
             : "shape=hexagon, style=filled");
    if (m->count > 1)
        page_add(p, "steps %lu-%lu\\n", (unsigned long)m->first,
                 (unsigned long)(m->first + m->count - 1));
    else page_add(p, "step %lu\\n", (unsigned long)m->first);
    if (is_graph) {
        dot_text(p, graph);
        page_text(p, "\\n");
    }
    dot_text(p, text);
    if (is_graph && colour != NULL) {
        page_text(p, "\\n");
        dot_text(p, place);
    }
    page_text(p, "\"];\n");
}

/* True if a graph of a stage has an input of this name. */
static int reads_input(const qnnrt_pipeline_info *info, const flow_stage *m, const char *name)
{
    for (size_t s = m->first; s < m->first + m->count; ++s)
        for (size_t i = 0; i < info->steps[s].graph->input_count; ++i)
            if (strcmp(info->steps[s].graph->inputs[i].name, name) == 0) return 1;
    return 0;
}

/* Write the groups of a side of a stage: edges from other stages, or nodes of their own. */
static void dot_side(page *p, const stages *of, size_t at, side which, size_t index,
                     const char *node)
{
    static const char *const colors[SIDES] = {"#dbe9f6", "#fde3c4", "#d5edd3", "#e6dbf0"};
    const item_list *list = &of->items[at].all.lists[which];
    for (size_t g = 0; g < list->group_count; ++g) {
        const item *items = &list->items[list->groups[g]];
        const size_t count = list->groups[g + 1] - list->groups[g];
        const qnnrt_edge_info *edge = items[0].edge;
        if (which == SIDE_OUTPUT && edge != NULL) continue;      /* drawn where it is read */
        if (edge != NULL || which == SIDE_EDGE) {
            const size_t from = edge != NULL ? stage_of(of, edge->from_step) : at - 1;
            page_add(p, "    p%lu_s%lu -> %s [%slabel=\"", (unsigned long)index,
                     (unsigned long)from, node,
                     items[0].bad ? "color=red, fontcolor=red, style=dashed, " : "");
            dot_label(p, items, count);
            page_text(p, "\"];\n");
            continue;
        }
        page_add(p, "    %s_%s%lu [fillcolor=\"%s\", %slabel=\"", node, side_names[which],
                 (unsigned long)g, colors[which], items[0].bad ? "color=red, fontcolor=red, " : "");
        dot_label(p, items, count);
        page_text(p, "\"];\n");
        if (which == SIDE_OUTPUT)
            page_add(p, "    %s -> %s_output%lu;\n", node, node, (unsigned long)g);
        else
            page_add(p, "    %s_%s%lu -> %s%s;\n", node, side_names[which], (unsigned long)g, node,
                     which == SIDE_CACHE ? " [dir=both]" : "");
    }
}

static void dot_pipeline(page *p, const qnnrt_pipeline_info *info, size_t index)
{
    static const char *const colours[PLACE_COLOURS] = {"#24344d", "#0c5c5c", "#5b2f63", "#6b4a1b"};
    const int mixed = is_mixed(info);
    size_t backends = 0, *numbers = number_backends(info, &backends);
    OWNED char *name = pipeline_label(info);
    stages of = make_stages(info);
    page_add(p, "  subgraph cluster_%lu {\n    label=\"", (unsigned long)index);
    dot_text(p, name);
    if (info->failure != NULL) {
        OWNED char *failure = cli_shown(info->failure->text);
        page_text(p, "\\nnot wired: ");
        dot_text(p, failure);
    }
    page_text(p, "\";\n");
    for (size_t i = 0; i < of.count; ++i) {
        const flow_stage *m = &of.items[i];
        OWNED char *node = cli_text("p%lu_s%lu", (unsigned long)index, (unsigned long)i);
        dot_stage(p, info, m, node, mixed ? colours[numbers[m->first] % PLACE_COLOURS] : NULL);
        for (int k = 0; k < SIDES; ++k) dot_side(p, &of, i, (side)k, index, node);
    }
    for (size_t g = 0; g < of.shared.group_count; ++g) {
        const item *items = &of.shared.items[of.shared.groups[g]];
        page_add(p, "    p%lu_shared%lu [fillcolor=\"#dbe9f6\", label=\"", (unsigned long)index,
                 (unsigned long)g);
        dot_label(p, items, of.shared.groups[g + 1] - of.shared.groups[g]);
        page_text(p, "\"];\n");
        for (size_t i = 0; i < of.count; ++i)
            if (reads_input(info, &of.items[i], items[0].tensor->name))
                page_add(p, "    p%lu_shared%lu -> p%lu_s%lu;\n", (unsigned long)index,
                         (unsigned long)g, (unsigned long)index, (unsigned long)i);
    }
    page_text(p, "  }\n");
    free(numbers);
    free_stages(&of);
}

void write_dot(tool *t)
{
    page p = {NULL, 0, 0};
    if (t->set.dot == NULL) return;
    page_text(&p, "digraph qnnrt {\n"
                  "  rankdir=TB;\n"
                  "  node [shape=box, style=\"rounded,filled\", fillcolor=white];\n"
                  "  node [fontname=\"monospace\", fontsize=10];\n"
                  "  edge [fontname=\"monospace\", fontsize=10];\n");
    for (size_t i = 0; i < t->job_count; ++i) dot_pipeline(&p, t->jobs[i].info, i);
    page_text(&p, "}\n");
    write_named(t, t->set.dot, &p, 0);
    free(p.data);
}
