/* flow.c - pipelines as a picture (SVG)

   ROOM     >>flow */
#include "run/draw/draw.h"
#include "run/model/model.h"

/* =====================================================================================
   FLOW                                                                           >>flow
   Steps from top to bottom, or from left to right.
   ===================================================================================== */

char *stage_name(const qnnrt_pipeline_info *info, const flow_stage *m)
{
    if (m->count == 1) return graph_label(&info->steps[m->first]);
    OWNED item *items = cli_alloc(m->count, sizeof(*items));
    qnnrt_tensor_info *names = cli_alloc(m->count, sizeof(*names));
    OWNED char **labels = cli_alloc(m->count, sizeof(*labels));
    int alike = 1;
    for (size_t i = 0; i < m->count; ++i) {
        labels[i] = graph_label(&info->steps[m->first + i]);
        names[i].name = labels[i];
        items[i].tensor = &names[i];
        OWNED char *a = skeleton(labels[0]), *b = skeleton(labels[i]);
        alike &= strcmp(a, b) == 0;
    }
    char *made = alike ? group_name(items, m->count, 0)
        : cli_text("%s \xE2\x80\xA6 %s", labels[0], labels[m->count - 1]);
    for (size_t i = 0; i < m->count; ++i) free(labels[i]);
    free(names);
    return made;
}

char *stage_facts(const qnnrt_pipeline_info *info, const flow_stage *m, size_t columns)
{
    const qnnrt_step_info *s = &info->steps[m->first];
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->count; ++i)
        bytes += s[i].kind == QNNRT_STEP_GRAPH ? step_context(s + i).info->file_bytes : 0;
    OWNED char *file = step_file(s), *size = cli_bytes_text(bytes), *rest = cli_text(", %s", size);
    OWNED char *from = cli_text("%s%s", m->count > 1 ? "from " : "", file);
    char *made = named(from, bytes != 0 ? rest : "", columns);
    const size_t room = columns - columns_in(made);
    if (m->inner.group_count > 0 && room > 24) {
        char *inner = group_name(m->inner.items, m->inner.groups[1], 0),
            *fitted = named(inner, "", room - 15),
            *both = cli_text("%s; between them %s", made, fitted);
        free(inner);
        free(fitted);
        free(made);
        made = both;
    }
    return made;
}

/* Write the number of a stage into its bar. */
static void draw_number(page *p, const flow_stage *m, double x, double y, double height,
                        const char *word, const char *digits)
{
    const unsigned long first = (unsigned long)m->first, last = first + m->count - 1;
    const double middle = y + height / 2 - 26;
    svg_text(p, x + 36, middle + 22, word, 72, m->count > 1 ? "steps" : "step");
    svg_take(p, x + 36, middle + 39, digits, 72, m->count == 1 ? cli_text("%lu", first)
             : cli_text("%lu\xE2\x80\x93%lu", first, last));
}

/* Draw a graph, or several: a bar in the colour of its backend, with a shadow if there are several.
   place: what to write at its end, or NULL. */
static void draw_graph(page *p, const qnnrt_pipeline_info *info, const flow_stage *m,
                       const char *style, const char *place, double x, double y, double width)
{
    const qnnrt_step_info *s = &info->steps[m->first];
    char *mark = place != NULL ? shortened(place, PLACE_COLUMNS)
        : m->count > 1 ? cli_text("\xC3\x97 %lu", (unsigned long)m->count) : NULL;
    const double end = mark != NULL ? text_width("on bold", mark) + 14 : 0;
    const double room = width - 76 - 14 - end;
    char *graph = stage_name(info, m), *full = cli_shown(s->graph->name), *file = step_file(s);
    OWNED char *whole = stage_facts(info, m, SIZE_MAX);
    page title = {NULL, 0, 0};
    page_add(&title, "%s\n%s%s%s\n%s%s%s", full, file, m->count > 1 ? "\n" : "",
             m->count > 1 ? graph : "", whole, place != NULL ? "\n" : "",
             place != NULL ? place : "");
    for (size_t i = 0; i < GRAPH_FACTS; ++i)
        if (fact_number(&graph_facts[i], s->graph) != 0)
            page_add(&title, "\n%s %llu", graph_facts[i].label,
                     (unsigned long long)fact_number(&graph_facts[i], s->graph));
    for (int i = m->count > 1 ? 2 : 0; i > 0; --i)
        page_add(p, "<path class=\"lead\" d=\"M%.1f %.1fv%dq0 8 -8 8H%.1f\"/>\n",
                 x + width - 8 + 8 + i * 3, y + 6 + i * 3, BAR_HEIGHT - 14, x + 10 + i * 3);
    svg_card(p, style, x, y, width, BAR_HEIGHT, 8);
    title_take(p, title.data);
    draw_number(p, m, x, y, BAR_HEIGHT, "dim mid", "on bold mid");
    svg_take(p, x + 76, y + 22, "on bold", room, graph);
    svg_take(p, x + 76, y + 39, "dim", room, stage_facts(info, m, text_columns("dim", room)));
    if (mark != NULL)
        svg_take(p, x + width - 14, y + 31, "on bold end", width, mark);
    page_text(p, "</g>\n");
    free(file);
    free(full);
}

/* Write what a host step or a conversion does. Of a conversion only the tensor's name is shortened;
   a narrow bar has two lines, and the bytes if there is room. */
static void draw_doing(page *p, const qnnrt_step_info *s, double x, double y, double width,
                       char *text)
{
    char *types = s->kind == QNNRT_STEP_DERIVED ? strrchr(text, ':') : NULL;
    const size_t taken = types != NULL ? columns_in(types) : 0;
    if (types == NULL || taken + 24 < text_columns("bold", width)) {
        OWNED char *rest = cli_text("%s", types != NULL ? types : "");
        if (types != NULL) *types = '\0';
        svg_take(p, x, y + 4, "bold", width, named(text, rest, text_columns("bold", width)));
        return;
    }
    *types = '\0';
    types += 2;
    if (text_width("tiny", types) > width && strchr(types, ',') != NULL) *strchr(types, ',') = '\0';
    svg_text(p, x, y - 3, "tiny bold", width, text);
    svg_text(p, x, y + 11, "tiny", width, types);
}

/* Draw a host step, a bar between two rails, or a conversion, a low bar with pointed ends. */
static void draw_other(page *p, const qnnrt_step_info *s, const flow_stage *m, double left,
                       double y, double width)
{
    const int host = s->kind == QNNRT_STEP_HOST;
    const double right = left + width, height = host ? BAR_HEIGHT : BAR_HEIGHT - 12;
    OWNED char *text = step_text(s, "\xE2\x86\x92");
    svg_card(p, host ? "host" : "bare", left, y, width, height, 0);
    svg_title(p, text);
    if (host)
        page_add(p, "<path class=\"rail\" d=\"M%.1f %.1fv%.1fM%.1f %.1fv%.1f\"/>\n", left + 10,
                 y, height, right - 10, y, height);
    else
        page_add(p, "<path class=\"convert\" d=\"M%.1f %.1fl18 %.1fH%.1fl18 %.1fl-18 %.1fH%.1fz\"/>"
                 "\n", left, y + height / 2, -height / 2, right - 18, height / 2, height / 2,
                 left + 18);
    draw_number(p, m, left, y, height, "meta mid", "bold mid");
    draw_doing(p, s, left + 76, y + height / 2, width - 76 - 22, text);
    page_text(p, "</g>\n");
}

static double bar_height(const qnnrt_pipeline_info *info, const flow_stage *m)
{
    return info->steps[m->first].kind == QNNRT_STEP_DERIVED ? BAR_HEIGHT - 12 : BAR_HEIGHT;
}

static void draw_bar(page *p, const qnnrt_pipeline_info *info, const flow_stage *m,
                     const size_t *numbers, double x, double y, double width)
{
    const qnnrt_step_info *step = &info->steps[m->first];
    const int mixed = is_mixed(info);
    if (step->kind != QNNRT_STEP_GRAPH) {
        draw_other(p, step, m, x, y, width);
        return;
    }
    OWNED char *place = mixed ? step_place(step) : NULL;
    draw_graph(p, info, m, mixed ? place_style(step, numbers[m->first]) : "step", place, x, y,
               width);
}

/* Draw what lies between two bars; above the first one (above NULL); below the last one (below
   NULL). Inputs and outputs are in columns at the sides, caches below the outputs. */
static void draw_between(flow *f, const flow_stage *above, const flow_stage *below,
                         const item_list *shared)
{
    static const item_list none = {NULL, 0, 0, NULL, 0, 0};
    const item_list *lists[SIDES] = {
        below != NULL ? &below->all.lists[SIDE_INPUT] : &none,
        below != NULL ? &below->all.lists[SIDE_EDGE] : &none,
        above != NULL ? &above->all.lists[SIDE_OUTPUT] : &none,
        below != NULL ? &below->all.lists[SIDE_CACHE] : &none
    };
    double heights[SIDES], tallest = 0, left = 0;
    for (int s = 0; s < SIDES; ++s) heights[s] = card_height(lists[s], (side)s);
    if (shared != NULL) left = card_height(shared, SIDE_INPUT);
    const double right = heights[SIDE_OUTPUT] + heights[SIDE_CACHE] +
        (heights[SIDE_OUTPUT] > 0 && heights[SIDE_CACHE] > 0 ? CARD_GAP : 0);
    for (int s = SIDE_INPUT; s <= SIDE_EDGE; ++s)
        if (heights[s] > tallest) tallest = heights[s];
    if (right > tallest) tallest = right;
    if (left > tallest) tallest = left;
    if (tallest <= 0) {
        if (above != NULL && below != NULL)
            arrow(&f->body, f->width / 2, f->y, f->y + ARROW, 0);
        f->y += above != NULL && below != NULL ? ARROW : 0;
        return;
    }
    const double top = f->y, first = above != NULL ? top + ARROW : top;
    const double bottom = first + tallest + (below != NULL ? ARROW : 0);
    const int alone = above == NULL || below == NULL;
    if (left > 0) {
        const double y = first + tallest - left, x = f->columns[SIDE_INPUT];
        draw_card(&f->body, x, y, shared, SIDE_INPUT, 1);
        page_add(&f->body, "<path class=\"arrow\" d=\"M%.1f %.1fH%dV%.1f\"/>\n", x, y + left / 2,
                 RAIL, bottom);
    }
    for (int s = 0; s < SIDES; ++s) {
        if (heights[s] <= 0) continue;
        const int centre = alone && (s == SIDE_INPUT || s == SIDE_OUTPUT);
        const double x = f->columns[centre ? (int)SIDE_EDGE : s], middle = x + CARD_WIDTH / 2.0;
        const double y = s == SIDE_INPUT || s == SIDE_CACHE ? first + tallest - heights[s]
                         : s == SIDE_OUTPUT ? first : first + (tallest - heights[s]) / 2;
        const int bad = s == SIDE_EDGE && lists[s]->items[0].bad;
        if (bad) {
            broken(&f->body, middle, top, y);
            broken(&f->body, middle, y + heights[s], bottom);
        } else {
            if (s == SIDE_EDGE || s == SIDE_OUTPUT) arrow(&f->body, middle, top, y, 0);
            if (s != SIDE_OUTPUT)
                arrow(&f->body, middle, y + heights[s], bottom, s == SIDE_CACHE);
        }
        draw_card(&f->body, x, y, lists[s], (side)s, 0);
    }
    f->y = bottom;
}

/* Draw the reason why a pipeline is not wired, in several lines. */
static void draw_failure(flow *f, const char *failure)
{
    const double width = PICTURE - 2 * MARGIN, room = width - 26;
    OWNED char *text = cli_text("not wired: %s", failure), *shown = cli_shown_text(text, 2);
    const double lines = svg_lines(NULL, 0, 0, "meta t-bad", room, shown);
    svg_card(&f->body, "bad", MARGIN, f->y, width, lines + 16, 6);
    svg_title(&f->body, shown);
    svg_lines(&f->body, MARGIN + 13, f->y + 19, "meta t-bad", room, shown);
    page_text(&f->body, "</g>\n");
    f->y += lines + 16 + 18;
}

/* Draw the name of a pipeline and what it has. */
static void draw_flow_head(flow *f, const qnnrt_pipeline_info *info)
{
    OWNED char *name = pipeline_label(info);
    size_t inputs = 0, outputs = 0;
    for (size_t i = 0; i < info->slot_count; ++i) {
        inputs += info->slots[i].role == QNNRT_ROLE_INPUT;
        outputs += info->slots[i].role == QNNRT_ROLE_OUTPUT;
    }
    OWNED page about = {NULL, 0, 0};
    const struct { const char *what; size_t count; } counts[] = {
        {"step", info->step_count}, {"input", inputs}, {"edge", info->edge_count},
        {"output", outputs}
    };
    for (size_t i = 0; i < (info->failure != NULL ? 1u : 4u); ++i)
        page_add(&about, "%s%lu %s%s", i == 0 ? "pipeline: " : ", ", (unsigned long)counts[i].count,
                 counts[i].what, cli_plural(counts[i].count));
    f->y = draw_head(&f->body, f->y, name, "meta", about.data) + 2.5;
    if (is_mixed(info)) {
        legend at = {MARGIN, f->y + 4};
        draw_places(&f->body, info, &at);
        f->y = at.y + 18;
    }
    if (info->failure != NULL) draw_failure(f, info->failure->text);
}

static void draw_down(flow *f, const qnnrt_pipeline_info *info, const stages *of)
{
    size_t backends = 0, *numbers = number_backends(info, &backends);
    const double width = f->width - 2 * MARGIN;
    double rail = 0;
    for (size_t i = 0; i < of->count; ++i) {
        const flow_stage *m = &of->items[i];
        draw_between(f, i > 0 ? &of->items[i - 1] : NULL, m,
                     i == 0 && of->shared.count > 0 ? &of->shared : NULL);
        if (i == 0) rail = f->y;
        const double height = bar_height(info, m), middle = f->y + height / 2;
        if (m->shares) {                         /* a branch of the rail of shared inputs */
            page_add(&f->body, "<path class=\"arrow\" d=\"M%d %.1fV%.1fH%d\"/>", RAIL, rail, middle,
                     MARGIN - 6);
            page_add(&f->body, "<path class=\"tip\" d=\"M%d %.1fl-7 -4v8z\"/>\n", MARGIN, middle);
            rail = middle;
        }
        draw_bar(&f->body, info, m, numbers, MARGIN, f->y, width);
        f->y += height;
    }
    if (of->count > 0) draw_between(f, &of->items[of->count - 1], NULL, NULL);
    free(numbers);
}

/* ---- from left to right ------------------------------------------------------ */

enum { STEP_X = CARD_WIDTH + 20, EDGE_GAP = 40 };

/* Return the height of what stands above a stage, or below it. */
static double side_height(const flow_stage *m, int below)
{
    static const side above[2] = {SIDE_INPUT, SIDE_CACHE};
    double height = 0;
    if (below) return card_height(&m->all.lists[SIDE_OUTPUT], SIDE_OUTPUT);
    for (int i = 0; i < 2; ++i) {
        const double card = card_height(&m->all.lists[above[i]], above[i]);
        height += card > 0 ? card + (height > 0 ? CARD_GAP : 0) : 0;
    }
    return height;
}

/* Draw the inputs and caches of a stage above its bar, which is at `top`. */
static void draw_above(page *p, const flow_stage *m, double x, double top)
{
    static const side up[2] = {SIDE_CACHE, SIDE_INPUT};      /* from the bar upwards */
    double y = top - ARROW;
    for (int k = 0; k < 2; ++k) {
        const item_list *list = &m->all.lists[up[k]];
        const double height = card_height(list, up[k]), at = x + CARD_WIDTH / 2.0;
        if (height <= 0) continue;
        y -= height;
        /* The arrow of inputs passes the card of the caches. */
        const int around_it = up[k] == SIDE_INPUT && y + height < top - ARROW;
        arrow(p, around_it ? x + CARD_WIDTH + 10 : at, y + height, top, up[k] == SIDE_CACHE);
        if (around_it)
            page_add(p, "<path class=\"arrow\" d=\"M%.1f %.1fH%.1fV%.1f\"/>\n", x + CARD_WIDTH,
                     y + height / 2, x + CARD_WIDTH + 10, y + height);
        draw_card(p, x, y, list, up[k], 0);
        y -= CARD_GAP;
    }
}

/* Draw the stages beside each other: inputs and caches above, outputs below, edges between. */
static void draw_right(flow *f, const qnnrt_pipeline_info *info, const stages *of)
{
    size_t backends = 0, *numbers = number_backends(info, &backends);
    page *p = &f->body;
    double x = MARGIN, tallest = 0, below = 0, right = MARGIN;
    const double shared = card_height(&of->shared, SIDE_INPUT);
    for (size_t i = 0; i < of->count; ++i) {
        const flow_stage *m = &of->items[i];
        const double edge = card_height(&m->all.lists[SIDE_EDGE], SIDE_EDGE) / 2 - BAR_HEIGHT / 2.0;
        const double up = side_height(m, 0), down = side_height(m, 1);
        if (up > tallest) tallest = up;
        if (down + ARROW > below) below = down + ARROW;
        if (edge > tallest) tallest = edge;
        if (edge > below) below = edge;
    }
    if (shared > 0) {                            /* above all, with a line along the stages */
        draw_card(p, MARGIN, f->y, &of->shared, SIDE_INPUT, 1);
        f->y += shared + 14;
    }
    const double line = f->y, top = f->y + (shared > 0 ? 14 : 0) + tallest + ARROW,
        middle = top + BAR_HEIGHT / 2.0;
    double last = MARGIN + 8;
    if (shared > 0)
        page_add(p, "<path class=\"arrow\" d=\"M%.1f %.1fV%.1f\"/>\n", last, line - 14, line);
    for (size_t i = 0; i < of->count; ++i) {
        const flow_stage *m = &of->items[i];
        const item_list *edges = &m->all.lists[SIDE_EDGE];
        const double card = card_height(edges, SIDE_EDGE);
        if (i > 0 && card > 0) {
            const int bad = edges->items[0].bad;
            if (!bad) arrow_right(p, middle, x, x + EDGE_GAP / 2.0);
            x += EDGE_GAP / 2.0;
            draw_card(p, x, middle - card / 2, edges, SIDE_EDGE, 0);
            x += CARD_WIDTH;
            if (!bad) arrow_right(p, middle, x, x + EDGE_GAP / 2.0);
            x += EDGE_GAP / 2.0;
        } else if (i > 0) {
            arrow_right(p, middle, x, x + EDGE_GAP);
            x += EDGE_GAP;
        }
        draw_above(p, m, x, top);
        if (m->shares) {
            page_add(p, "<path class=\"arrow\" d=\"M%.1f %.1fH%.1fV%.1f\"/>", last, line, x - 8,
                     middle);
            page_add(p, "<path class=\"arrow\" d=\"M%.1f %.1fh4\"/>", x - 8, middle);
            last = x - 8;
        }
        const double height = bar_height(info, m);
        draw_bar(p, info, m, numbers, x, middle - height / 2, STEP_X);
        const item_list *outputs = &m->all.lists[SIDE_OUTPUT];
        if (outputs->count > 0) {
            arrow(p, x + CARD_WIDTH / 2.0, middle + height / 2, top + BAR_HEIGHT + ARROW, 0);
            draw_card(p, x, top + BAR_HEIGHT + ARROW, outputs, SIDE_OUTPUT, 0);
        }
        x += STEP_X;
        if (x > right) right = x;
    }
    if (right + MARGIN + 8 > f->width) f->width = right + MARGIN + 8;
    f->y = top + BAR_HEIGHT + below;
    free(numbers);
}

/* Place the columns of the sides that have cards in a pipeline. */
static void flow_columns(flow *f, const stages *of)
{
    int used[3] = {of->shared.count > 0, 1, 0}, x;
    for (size_t i = 0; i < of->count; ++i) {
        const around *all = &of->items[i].all;
        used[0] |= i > 0 && all->lists[SIDE_INPUT].count > 0;
        used[2] |= (i + 1 < of->count && all->lists[SIDE_OUTPUT].count > 0) ||
            all->lists[SIDE_CACHE].count > 0;
    }
    const int columns = used[0] + used[1] + used[2];
    x = (PICTURE - columns * CARD_WIDTH - (columns - 1) * CARD_GAP) / 2;
    for (int s = 0; s < 3; ++s) {
        f->columns[s] = x;
        if (used[s]) x += CARD_WIDTH + CARD_GAP;
    }
    f->columns[SIDE_CACHE] = f->columns[SIDE_OUTPUT];
}

void draw_flow(flow *f, const qnnrt_pipeline_info *info, int to_right)
{
    stages of = make_stages(info);
    flow_columns(f, &of);
    draw_flow_head(f, info);
    if (to_right) draw_right(f, info, &of);
    else draw_down(f, info, &of);
    free_stages(&of);
}

void write_flow(tool *t)
{
    flow f = {{NULL, 0, 0}, MARGIN, PICTURE, {0, 0, 0, 0}};
    if (t->set.svg == NULL) return;
    for (size_t i = 0; i < t->job_count; ++i) {
        if (i > 0) f.y += 40;
        draw_flow(&f, t->jobs[i].info, t->set.svg_layout);
    }
    svg_write(t, t->set.svg, &f.body, f.width, f.y + MARGIN);
    free(f.body.data);
}
