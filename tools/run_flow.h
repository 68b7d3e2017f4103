/* run_flow.h - a part of qnnrt-run.c: pipelines as a picture (SVG) and for Graphviz (DOT)

   ROOMS    >>flow >>dot                                                                         */

/* =====================================================================================
   FLOW                                                                             >>flow
   Pipelines from top to bottom: a bar for each step, its inputs above it, its outputs below it, and
   its edges between the bars.
   ===================================================================================== */

enum { CARD_WIDTH = 296, CARD_GAP = 16, CARD_LINES = 14, BAR_HEIGHT = 50, ARROW = 24,
       LEAST_WIDTH = 640, PLACE_COLUMNS = 24 };

typedef struct flow {
    page   body;
    double y, width;                   /* next free y; of the whole picture */
    int    columns[SIDES];             /* x of the column of each side      */
    int    mixed;                      /* 1: a pipeline is mixed            */
} flow;

/* Return the number of lines of one entry of a card. */
static size_t entry_lines(const item *first, side which)
{
    if (which != SIDE_EDGE) return first->note != NULL ? 3 : 2;
    size_t lines = 3;
    if (strcmp(first->edge->to->name, first->edge->from->name) != 0) ++lines;
    if (first->tensor->quant.encoding != QNNRT_ENCODING_NONE) ++lines;
    return lines;
}

static size_t shown_groups(const item_list *list)
{
    return list->group_count > CARD_LINES ? CARD_LINES - 1 : list->group_count;
}

static double card_height(const item_list *list, side which)
{
    if (list->count == 0) return 0;
    double height = 28;
    for (size_t g = 0; g < shown_groups(list); ++g)
        height += 7 + 14.5 * (double)entry_lines(&list->items[list->groups[g]], which);
    return height + (shown_groups(list) < list->group_count ? 20 : 0) + 6;
}

static void arrow(page *p, double x, double from, double to)
{
    page_add(p, "<path class=\"arrow\" d=\"M%.1f %.1fV%.1f\"/>", x, from, to - 7);
    page_add(p, "<path class=\"tip\" d=\"M%.1f %.1fl-4.5 -8h9z\"/>\n", x, to);
}

/* Write all tensors of a group as the text that a browser shows on hover. */
static void entry_title(page *p, const item *items, size_t count)
{
    enum { LISTED = 40 };
    page s = {NULL, 0, 0};
    for (size_t i = 0; i < count && i < LISTED; ++i) {
        char *name = cli_shown(items[i].tensor->name), *shape = shape_text(items[i].tensor);
        char *encoding = encoding_text(&items[i].tensor->quant),
            *bytes = human_bytes(items[i].tensor->bytes);
        page_add(&s, "%s%s  %s  %s", i > 0 ? "\n" : "", name, shape, bytes);
        if (items[i].tensor->quant.encoding != QNNRT_ENCODING_NONE) page_add(&s, "  %s", encoding);
        free(name);
        free(shape);
        free(encoding);
        free(bytes);
    }
    if (count > LISTED) page_add(&s, "\nand %lu more", (unsigned long)(count - LISTED));
    svg_title(p, s.data);
    free(s.data);
}

static void draw_entry(page *p, double x, double y, const item *items, size_t count, side which)
{
    enum { NAME_COLUMNS = (CARD_WIDTH - 26) * 10 / 73, META_COLUMNS = (CARD_WIDTH - 26) * 10 / 67 };
    const item *first = &items[0];
    const int joined = first->edge != NULL;
    char *name = group_name(items, count, 0), *shape = shape_text(first->tensor), *times = NULL;
    char *bytes = human_bytes(first->tensor->bytes);
    size_t room = (size_t)NAME_COLUMNS;
    page_text(p, "<g class=\"entry\">\n");
    entry_title(p, items, count);
    if (count > 1) {
        times = cli_text("\xC3\x97 %lu", (unsigned long)count);
        svg_text(p, x + CARD_WIDTH - 26, y, "bold end", 12, times);
        room -= columns_in(times) + 2;
    }
    svg_text(p, x, y, joined && which != SIDE_EDGE ? "bold t-edge" : "bold", room, name);
    if (which == SIDE_EDGE && strcmp(first->edge->to->name, first->edge->from->name) != 0) {
        char *to = group_name(items, count, 1), *line = cli_text("\xE2\x86\x92 %s", to);
        svg_text(p, x, y += 14.5, "bold", (size_t)NAME_COLUMNS, line);
        free(to);
        free(line);
    }
    char *line = cli_text("%s, %s%s", shape, bytes, count > 1 ? " each" : "");
    svg_text(p, x, y += 14.5, "meta", META_COLUMNS, line);
    free(line);
    if (which == SIDE_EDGE && first->tensor->quant.encoding != QNNRT_ENCODING_NONE) {
        char *encoding = count > 1 ? cli_text("%s", "quantized, see each")
            : encoding_text(&first->tensor->quant);
        svg_text(p, x, y += 14.5, "meta", META_COLUMNS, encoding);
        free(encoding);
    }
    if (which == SIDE_EDGE) {
        char *reason = cli_shown(first->edge->reason), *why = cli_text("wired: %s", reason);
        svg_text(p, x, y += 14.5, "meta t-edge", META_COLUMNS, why);
        free(reason);
        free(why);
    } else if (first->note != NULL) {
        char *note = cli_shown(first->note);
        svg_text(p, x, y += 14.5, "meta t-edge", META_COLUMNS, note);
        free(note);
    }
    page_text(p, "</g>\n");
    free(name);
    free(shape);
    free(times);
    free(bytes);
}

static void draw_card(page *p, double x, double y, const item_list *list, side which)
{
    const double height = card_height(list, which);
    const unsigned long all = (unsigned long)list->count;
    size_t joined = 0;                           /* number of edges that pass over a step */
    for (size_t i = 0; which != SIDE_EDGE && i < list->count; ++i)
        joined += list->items[i].edge != NULL;
    char *bytes = human_bytes(list->bytes);
    const char *far = which == SIDE_INPUT ? "from earlier steps" : "for later steps";
    char *head = joined < list->count ? cli_text("%lu %s%s", all, side_names[which],
                                                 cli_plural(all))
                                      : cli_text("%lu %s", all, far);
    char *style = cli_text("head t-%s", side_names[which]),
        *end = cli_text("head end t-%s", side_names[which]);
    svg_card(p, side_names[which], x, y, CARD_WIDTH, height, 6);
    svg_text(p, x + 13, y + 19, style, 24, head);
    svg_text(p, x + CARD_WIDTH - 13, y + 19, end, 14, bytes);
    double at = y + 28;
    for (size_t g = 0; g < shown_groups(list); ++g) {
        const size_t begin = list->groups[g], count = list->groups[g + 1] - begin;
        draw_entry(p, x + 13, at + 13, &list->items[begin], count, which);
        at += 7 + 14.5 * (double)entry_lines(&list->items[begin], which);
    }
    if (shown_groups(list) < list->group_count) {
        char *more = cli_text("and %lu more",
                              (unsigned long)(list->count - list->groups[shown_groups(list)]));
        svg_text(p, x + 13, at + 13, "meta", 30, more);
        free(more);
    }
    page_text(p, "</g>\n");
    free(bytes);
    free(head);
    free(style);
    free(end);
}

/* Write the number of a step into its bar. */
static void draw_number(flow *f, size_t step, double height, const char *word, const char *digits)
{
    char *number = cli_text("%lu", (unsigned long)step);
    const double middle = f->y + height / 2 - 25;
    svg_text(&f->body, MARGIN + 40, middle + 20, word, 6, "step");
    svg_text(&f->body, MARGIN + 40, middle + 38, digits, 8, number);
    free(number);
}

/* Draw a graph: a bar in the colour of its backend. place: what to write at its end, or NULL. */
static void draw_graph(flow *f, const qnnrt_step_info *s, size_t step, const char *style,
                       const char *place)
{
    page *p = &f->body;
    const qnnrt_context_info *context = step_context(s);
    const double width = f->width - 2 * MARGIN;
    const double end = place != NULL ? 7.9 * (double)(columns_in(place) + 2) : 0;
    const size_t columns = (size_t)((width - 84 - 14 - end) / 7.9);
    char *graph = cli_shown(s->graph->name), *file = step_file(s);
    page facts = {NULL, 0, 0}, title = {NULL, 0, 0};
    page_text(&facts, file);
    page_add(&title, "%s\n%s", graph, file);
    if (context->file_bytes != 0) {
        char *bytes = human_bytes(context->file_bytes);
        page_add(&facts, ", %s", bytes);
        free(bytes);
    }
    for (size_t i = 0; i < GRAPH_FACTS; ++i)
        if (fact_number(&graph_facts[i], s->graph) != 0)
            page_add(&title, "\n%s %llu", graph_facts[i].label,
                     (unsigned long long)fact_number(&graph_facts[i], s->graph));
    svg_card(p, style, MARGIN, f->y, width, BAR_HEIGHT, 8);
    svg_title(p, title.data);
    draw_number(f, step, BAR_HEIGHT, "dim mid", "on bold mid");
    svg_text(p, MARGIN + 84, f->y + 21, "on bold", columns, graph);
    svg_text(p, MARGIN + 84, f->y + 38, "dim", columns, facts.data);
    if (place != NULL)
        svg_text(p, MARGIN + width - 14, f->y + 30, "on bold end", PLACE_COLUMNS, place);
    page_text(p, "</g>\n");
    f->y += BAR_HEIGHT;
    free(graph);
    free(file);
    free(facts.data);
    free(title.data);
}

/* Draw a host step, a bar between two rails, or a conversion, a low bar with pointed ends. */
static void draw_other(flow *f, const qnnrt_step_info *s, size_t step)
{
    page *p = &f->body;
    const int host = s->kind == QNNRT_STEP_HOST;
    const double left = MARGIN, width = f->width - 2 * MARGIN, right = left + width;
    const double height = host ? BAR_HEIGHT : BAR_HEIGHT - 12;
    const size_t columns = (size_t)((width - 84 - 28) / 7.9);
    char *text = step_text(s, "\xE2\x86\x92");
    svg_card(p, host ? "host" : "bare", left, f->y, width, height, 0);
    svg_title(p, text);
    if (host)
        page_add(p, "<path class=\"rail\" d=\"M%.1f %.1fv%.1fM%.1f %.1fv%.1f\"/>\n", left + 10,
                 f->y, height, right - 10, f->y, height);
    else
        page_add(p, "<path class=\"convert\" d=\"M%.1f %.1fl18 %.1fH%.1fl18 %.1fl-18 %.1fH%.1fz\"/>"
                 "\n", left, f->y + height / 2, -height / 2, right - 18, height / 2, height / 2,
                 left + 18);
    draw_number(f, step, height, "meta mid", "bold mid");
    svg_text(p, left + 84, f->y + height / 2 + 4, "bold", columns, text);
    page_text(p, "</g>\n");
    f->y += height;
    free(text);
}

/* Draw what lies between two bars; above the first one (outputs NULL); below the last one (below
   NULL). */
static void draw_between(flow *f, const item_list *outputs, const around *below)
{
    static const item_list none = {NULL, 0, 0, NULL, 0, 0};
    const item_list *lists[SIDES];
    double heights[SIDES], tallest = 0;
    lists[SIDE_INPUT] = below != NULL ? &below->lists[SIDE_INPUT] : &none;
    lists[SIDE_EDGE] = below != NULL ? &below->lists[SIDE_EDGE] : &none;
    lists[SIDE_OUTPUT] = outputs != NULL ? outputs : &none;
    for (size_t s = 0; s < SIDES; ++s) {
        heights[s] = card_height(lists[s], (side)s);
        if (heights[s] > tallest) tallest = heights[s];
    }
    if (tallest <= 0) {
        f->y += outputs != NULL && below != NULL ? ARROW : 0;
        return;
    }
    const double top = f->y, first = outputs != NULL ? top + ARROW : top;
    const double bottom = first + tallest + (below != NULL ? ARROW : 0);
    const int alone = outputs == NULL || below == NULL;
    for (size_t s = 0; s < SIDES; ++s) {
        if (heights[s] <= 0) continue;
        const double x = alone ? (f->width - CARD_WIDTH) / 2 : f->columns[s], middle = x +
            CARD_WIDTH / 2.0;
        const double y = s == SIDE_INPUT    ? first + tallest - heights[s]
                         : s == SIDE_OUTPUT ? first
                                            : first + (tallest - heights[s]) / 2;
        if (s != SIDE_INPUT) arrow(&f->body, middle, top, y);
        if (s != SIDE_OUTPUT) arrow(&f->body, middle, y + heights[s], bottom);
        draw_card(&f->body, x, y, lists[s], (side)s);
    }
    f->y = bottom;
}

/* Draw the reason why a pipeline is not wired, in several lines. */
static void draw_failure(flow *f, const char *failure)
{
    const double width = f->width - 2 * MARGIN;
    const size_t columns = (size_t)((width - 26) / 6.8);
    page lines = {NULL, 0, 0};
    double y = f->y + 19;
    size_t rows = 0;
    char *rest = cli_text("not wired: %s", failure), *at = rest;
    while (*at != '\0' && rows < 12) {
        size_t length = strcspn(at, "\n");
        char *line = cli_text("%.*s", (int)length, at), *fit = cli_shown(line);
        /* Cut at the last blank, or anywhere if there is none. */
        while (columns_in(fit) > columns) {
            size_t cut = length - 1;
            while (cut > columns / 2 && at[cut] != ' ') --cut;
            while (cut > 1 && ((unsigned char)at[cut] & 0xC0) == 0x80) --cut;
            length = cut > 0 ? cut : 1;
            free(line);
            free(fit);
            line = cli_text("%.*s", (int)length, at);
            fit = cli_shown(line);
            if (length <= columns / 2) break;
        }
        svg_text(&lines, MARGIN + 13, y, "meta t-bad", columns, fit);
        y += 15;
        ++rows;
        at += length;
        while (*at == ' ' || *at == '\n') ++at;
        free(line);
        free(fit);
    }
    svg_card(&f->body, "bad", MARGIN, f->y, width, y - f->y - 4, 6);
    page_bytes(&f->body, lines.data, lines.used);
    page_text(&f->body, "</g>\n");
    f->y = y - 4 + 18;
    free(rest);
    free(lines.data);
}

static void draw_flow(flow *f, const qnnrt_pipeline_info *info, const around *all)
{
    const size_t columns = (size_t)((f->width - 2 * MARGIN) / 9.3);
    char *name = cli_shown(info->name);
    size_t inputs = 0, outputs = 0;
    for (size_t i = 0; i < info->slot_count; ++i) {
        inputs += info->slots[i].role == QNNRT_ROLE_INPUT;
        outputs += info->slots[i].role == QNNRT_ROLE_OUTPUT;
    }
    svg_text(&f->body, MARGIN, f->y + 16, "h1", columns, name);
    page about = {NULL, 0, 0};
    const struct { const char *what; size_t count; } counts[] = {
        {"step", info->step_count}, {"input", inputs}, {"edge", info->edge_count},
            {"output", outputs}
    };
    for (size_t i = 0; i < (info->failure != NULL ? 1u : 4u); ++i)
        page_add(&about, "%s%lu %s%s", i == 0 ? "pipeline: " : ", ", (unsigned long)counts[i].count,
                 counts[i].what,
                 cli_plural(counts[i].count));
    svg_text(&f->body, MARGIN, f->y + 35, "meta", 90, about.data);
    f->y += 52;
    const int mixed = is_mixed(info);
    size_t backends = 0, *numbers = number_backends(info, &backends);
    if (mixed) {
        draw_places(&f->body, info, MARGIN, f->y + 4);
        f->y += 22;
        f->mixed = 1;
    }
    if (info->failure != NULL) draw_failure(f, info->failure->text);
    for (size_t s = 0; s < info->step_count; ++s) {
        draw_between(f, s > 0 ? &all[s - 1].lists[SIDE_OUTPUT] : NULL, &all[s]);
        const qnnrt_step_info *step = &info->steps[s];
        if (step->kind != QNNRT_STEP_GRAPH) {
            draw_other(f, step, s);
            continue;
        }
        char *place = mixed ? step_place(step) : NULL,
            *fitted = mixed ? shortened(place, PLACE_COLUMNS) : NULL;
        draw_graph(f, step, s, mixed ? place_style(step, numbers[s]) : "step", fitted);
        free(place);
        free(fitted);
    }
    if (info->step_count > 0) draw_between(f, &all[info->step_count - 1].lists[SIDE_OUTPUT], NULL);
    free(name);
    free(numbers);
    free(about.data);
}

static around *look_at(const qnnrt_pipeline_info *info)
{
    around *all = cli_alloc(info->step_count, sizeof(*all));
    for (size_t s = 0; s < info->step_count; ++s) look_around(info, s, &all[s]);
    return all;
}

static void free_around(around *all, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        for (size_t s = 0; s < SIDES; ++s) free_items(&all[i].lists[s]);
    free(all);
}

static void write_flow(tool *t)
{
    flow f = {{NULL, 0, 0}, MARGIN, 0, {0, 0, 0}, 0};
    int used[SIDES] = {0, 1, 0}, x = MARGIN;
    if (t->set.svg == NULL) return;
    around **all = cli_alloc(t->job_count, sizeof(*all));
    for (size_t i = 0; i < t->job_count; ++i) {  /* find the columns that have cards */
        const qnnrt_pipeline_info *info = t->jobs[i].info;
        all[i] = look_at(info);
        for (size_t s = 0; s < info->step_count; ++s) {
            if (s > 0 && all[i][s].lists[SIDE_INPUT].count > 0) used[SIDE_INPUT] = 1;
            if (s + 1 < info->step_count && all[i][s].lists[SIDE_OUTPUT].count > 0)
                used[SIDE_OUTPUT] = 1;
        }
    }
    const int columns = used[SIDE_INPUT] + used[SIDE_EDGE] + used[SIDE_OUTPUT];
    const int wide = columns * CARD_WIDTH + (columns - 1) * CARD_GAP;
    f.width = wide + 2 * MARGIN > LEAST_WIDTH ? wide + 2 * MARGIN : LEAST_WIDTH;
    x = ((int)f.width - wide) / 2;
    for (size_t s = 0; s < SIDES; ++s) {
        f.columns[s] = x;
        if (used[s]) x += CARD_WIDTH + CARD_GAP;
    }
    for (size_t i = 0; i < t->job_count; ++i) {
        if (i > 0) f.y += 40;
        draw_flow(&f, t->jobs[i].info, all[i]);
        free_around(all[i], t->jobs[i].info->step_count);
    }
    svg_write(t, t->set.svg, &f.body, f.width, f.y + MARGIN, f.mixed);
    free(all);
    free(f.body.data);
}

/* =====================================================================================
   DOT                                                                               >>dot
   Draws the same pipelines for Graphviz.
   ===================================================================================== */

/* Write a text within quotes, where Graphviz reads escapes and entities. */
static void dot_text(page *p, const char *s)
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
    char *name = group_name(items, count, 0), *shape = shape_text(items[0].tensor);
    dot_text(p, name);
    if (count > 1) page_add(p, " (%lu)", (unsigned long)count);
    page_text(p, "\\n");
    dot_text(p, shape);
    free(name);
    free(shape);
}

/* Write the node of a step. colour: of its backend in a mixed pipeline, else NULL */
static void dot_step(page *p, const qnnrt_step_info *step, size_t number, const char *node,
                     const char *colour)
{
    char *text = step_file(step), *graph = cli_shown(step->graph->name), *place = step_place(step);
    const int is_graph = step->kind == QNNRT_STEP_GRAPH;
    page_add(p, "    %s [fillcolor=\"%s\", %s, label=\"step %lu\\n", node,
             step->kind == QNNRT_STEP_HOST ? "#f4efdc" : step->kind == QNNRT_STEP_CONVERT
             ? "#fbe2ec" : colour != NULL ? colour : "#24344d",
             is_graph ? "fontcolor=white" : step->kind == QNNRT_STEP_HOST ? "peripheries=2"
             : "shape=hexagon, style=filled", (unsigned long)number);
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
    free(text);
    free(graph);
    free(place);
}

static void dot_pipeline(page *p, const qnnrt_pipeline_info *info, size_t index)
{
    static const char *const colors[SIDES] = {"#dbe9f6", "#fde3c4", "#d5edd3"};
    static const char *const colours[PLACE_COLOURS] = {"#24344d", "#0c5c5c", "#5b2f63", "#6b4a1b"};
    const int mixed = is_mixed(info);
    size_t backends = 0, *numbers = number_backends(info, &backends);
    char *name = cli_shown(info->name);
    around *all = look_at(info);
    page_add(p, "  subgraph cluster_%lu {\n    label=\"", (unsigned long)index);
    dot_text(p, name);
    if (info->failure != NULL) {
        char *failure = cli_shown(info->failure->text);
        page_text(p, "\\nnot wired: ");
        dot_text(p, failure);
        free(failure);
    }
    page_text(p, "\";\n");
    for (size_t s = 0; s < info->step_count; ++s) {
        const qnnrt_step_info *step = &info->steps[s];
        char *node = cli_text("p%lu_s%lu", (unsigned long)index, (unsigned long)s);
        dot_step(p, step, s, node, mixed ? colours[numbers[s] % PLACE_COLOURS] : NULL);
        for (size_t k = 0; k < SIDES; ++k) {
            const item_list *list = &all[s].lists[k];
            for (size_t g = 0; g < list->group_count; ++g) {
                const item *items = &list->items[list->groups[g]];
                const size_t count = list->groups[g + 1] - list->groups[g];
                const qnnrt_edge_info *edge = items[0].edge;
                /* drawn where it is read */
                if (k == SIDE_OUTPUT && edge != NULL) continue;
                if (edge != NULL) {
                    page_add(p, "    p%lu_s%lu -> %s [label=\"", (unsigned long)index,
                             (unsigned long)edge->from_step,
                             node);
                    dot_label(p, items, count);
                    page_text(p, "\"];\n");
                    continue;
                }
                page_add(p, "    %s_%s%lu [fillcolor=\"%s\", label=\"", node, side_names[k],
                         (unsigned long)g,
                         colors[k]);
                dot_label(p, items, count);
                page_text(p, "\"];\n");
                if (k == SIDE_INPUT)
                    page_add(p, "    %s_input%lu -> %s;\n", node, (unsigned long)g, node);
                else page_add(p, "    %s -> %s_output%lu;\n", node, node, (unsigned long)g);
            }
        }
        free(node);
    }
    page_text(p, "  }\n");
    free(numbers);
    free_around(all, info->step_count);
    free(name);
}

static void write_dot(tool *t)
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
