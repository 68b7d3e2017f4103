/* flame.c - costs as a picture (SVG)

   ROOM     >>flame */
#include "run/draw/draw.h"

#include <time.h>

/* =====================================================================================
   FLAME                                                                           >>flame
   A bar for a pipeline, below it its steps, below them their nodes, as wide as their times and
   coloured by operator; then bars of the operators and of the most expensive nodes.
   ===================================================================================== */

enum { FLAME_WIDTH = PICTURE - 2 * MARGIN, FLAME_ROW = 30, FLAME_OPERATORS = 7, FLAME_BARS = 8 };

/* Return the style of an operator. */
static const char *operator_style(const flame *f, const char *name)
{
    static const char *const styles[FLAME_OPERATORS + 1] = {"op0", "op1", "op2", "op3", "op4",
                                                            "op5", "op6", "op7"};
    size_t colour = 0;
    for (size_t i = 0; i < f->operators.count && colour < FLAME_OPERATORS; ++i) {
        const char *other = f->operators.items[i].about;
        if (f->operators.items[i].count[0] == 0 || strcmp(other, "other") == 0) continue;
        if (strcmp(other, name) == 0) return styles[colour];
        ++colour;
    }
    return styles[FLAME_OPERATORS];
}

/* Draw a bar with its name and time, if there is room. */
static void flame_bar(page *p, const char *style, double x, double y, double width,
                      const char *name, const char *more, double us)
{
    const double inset = width > 3 ? 0.5 : 0;
    const double room = width - 10;
    OWNED char *shown = cli_shown(name[0] != '\0' ? name : "(no name)"), *about = cli_shown(more);
    OWNED char *time = us_text(us, 0), *both = cli_text("%s  %s", shown, time);
    const char *ink = strncmp(style, "op", 2) == 0 ? "meta ink" : "meta on";
    svg_card(p, style, x + inset, y, width - 2 * inset > 0.1 ? width - 2 * inset : 0.1,
             FLAME_ROW - 3, 0);
    title_take(p, cli_text("%s\n%s%s%s", shown, about, about[0] != '\0' ? ", " : "", time));
    if (text_columns(ink, room) >= 4)
        svg_text(p, x + 5, y + 18, ink, room, text_width(ink, both) <= room ? both : shown);
    page_text(p, "</g>\n");
}

/* Return the time of a row, or what the rows of the next kind below it take if that is more. */
static double flame_length(const costs *all, size_t at)
{
    const cost *row = &all->rows[at];
    double sum = 0;
    const size_t end = cost_end(all, at);
    for (size_t i = at + 1; i < end; ++i)
        if ((int)all->rows[i].kind == (int)row->kind + 1) sum += all->rows[i].us;
    return sum > row->us ? sum : row->us;
}

/* Draw nodes from left to right; neighbours of less than a pixel are one bar. */
static void flame_nodes(flame *f, const costs *all, size_t begin, size_t end, double x, double y)
{
    for (size_t i = begin, next; i < end; i = next) {
        const cost *row = &all->rows[i];
        double us = row->us;
        for (next = i + 1; us * f->scale < 1 && next < end &&
             all->rows[next].us * f->scale < 1; ++next) us += all->rows[next].us;
        if (next - i > 1) {
            OWNED char *name = cli_text("%lu nodes", (unsigned long)(next - i));
            flame_bar(&f->body, "op7", x, y, us * f->scale, name, "", us);
        } else {
            flame_bar(&f->body, operator_style(f, row->about), x, y, us * f->scale, row->name,
                      row->about, us);
        }
        x += us * f->scale;
    }
}

/* Draw one pipeline as bars below each other. label: NULL, or which profile it is of. */
static void flame_pipeline(flame *f, const costs *all, size_t pipeline, const char *label)
{
    const size_t end = cost_end(all, pipeline);
    const cost *top = &all->rows[pipeline];
    double x = MARGIN;
    char *file = NULL;
    flame_bar(&f->body, "step", x, f->y, top->us * f->scale, label != NULL ? label : "inference",
              "", top->us);
    for (size_t s = cost_next(all, pipeline + 1, end, COST_STEP); s < end; s = cost_end(all, s)) {
        const cost *step = &all->rows[s];
        file = cli_shown(step->about);
        flame_bar(&f->body, "place1", x, f->y + FLAME_ROW, step->us * f->scale, cost_label(all, s),
                  file, step->us);
        const double whole = f->scale, length = flame_length(all, s);
        if (length > step->us) f->scale *= step->us / length;
        flame_nodes(f, all, s + 1, cost_end(all, s), x, f->y + 2 * FLAME_ROW);
        f->scale = whole;
        x += step->us * f->scale;
        free(file);
    }
    f->y += 3 * FLAME_ROW + 10;
}

/* Draw the first lines of a list as bars, with their shares. Return the height. */
static double flame_list(flame *f, const cost_lines *lines, line_kind kind, double whole, double x,
                         double y)
{
    const double width = FLAME_WIDTH / 2.0 - 10, names = 160;
    const size_t rows = lines->count < FLAME_BARS ? lines->count : FLAME_BARS;
    const double most = rows > 0 && lines->items[0].us[0] > 0 ? lines->items[0].us[0] : 1;
    char *numbers[FLAME_BARS];
    double taken = 0;                            /* by the widest of the numbers */
    page *p = &f->body;
    if (rows == 0) return 0;
    svg_text(p, x, y + 10, "head", names, kind == LINE_OPERATORS ? "operators" : "nodes");
    for (size_t i = 0; i < rows; ++i) {
        OWNED char *share = share_text(lines->items[i].us[0], whole),
                  *us = us_text(lines->items[i].us[0], 0);
        numbers[i] = cli_text("%s  %s", us, share);
        if (text_width("tiny end", numbers[i]) > taken) taken = text_width("tiny end", numbers[i]);
    }
    for (size_t i = 0; i < rows; ++i) {
        const cost_line *line = &lines->items[i];
        const double at = y + 18 + 19 * (double)i, room = width - names - taken - 16;
        const double bar = room > 0 ? room * line->us[0] / most : 0;
        const char *label = kind == LINE_OPERATORS ? line->about : line->name;
        char *name = cli_shown(label[0] != '\0' ? label : "(no name)");
        OWNED char *about = cli_shown(line->about);
        page_text(p, "<g>\n");
        title_take(p, cli_text("%s\n%s\n%s", name, about, numbers[i]));
        svg_take(p, x, at + 12, "meta", names, name);
        svg_box(p, operator_style(f, line->about), x + names + 8, at + 2, bar > 1 ? bar : 1, 12, 2);
        svg_take(p, x + width, at + 12, "tiny end", taken, numbers[i]);
        page_text(p, "</g>\n");
    }
    return 18 + 19 * (double)rows;
}

/* Draw what was loaded as one row. */
static void flame_loading(flame *f, const costs *all)
{
    double sum = 0, x = MARGIN;
    for (size_t i = 0; i < all->count; ++i)
        if (all->rows[i].kind == COST_LOAD) sum += all->rows[i].us;
    if (sum <= 0) return;
    OWNED char *us = us_text(sum, 0);
    svg_take(&f->body, MARGIN, f->y + 10, "head", FLAME_WIDTH, cli_text("loading  %s", us));
    f->y += 18;
    for (size_t i = 0; i < all->count; ++i) {
        const cost *row = &all->rows[i];
        if (row->kind != COST_LOAD) continue;
        const double width = FLAME_WIDTH * row->us / sum;
        flame_bar(&f->body, strcmp(row->about, "library") == 0 ? "op7" : "op0", x, f->y, width,
                  row->name, row->about, row->us);
        x += width;
    }
    f->y += FLAME_ROW + 16;
}

void draw_flame(flame *f, const costs *all, const costs *before)
{
    for (size_t i = 0; i < all->count; ++i)
        if (all->rows[i].kind == COST_PIPELINE)
            list_lines(&f->operators, all, i, LINE_OPERATORS, 0);
    merge_lines(&f->operators);
    if (f->operators.count > 1)
        qsort(f->operators.items, f->operators.count, sizeof(*f->operators.items), compare_cost);
    flame_loading(f, all);
    for (size_t i = 0; i < all->count; ++i) {
        const cost *row = &all->rows[i];
        if (row->kind != COST_PIPELINE) continue;
        const size_t other = before != NULL ? other_pipeline(all, i, before) : SIZE_MAX;
        const double then = other != SIZE_MAX ? before->rows[other].us : 0;
        const double now = flame_length(all, i),
            earlier = other != SIZE_MAX ? flame_length(before, other) : 0;
        const double longest = now > earlier ? now : earlier;
        OWNED char *name = cli_shown(cost_label(all, i)), *us = us_text(row->us, 0),
                  *first = us_text(row->extra, 0), *was = us_text(then, 0),
                  *change = change_text(then, row->us);
        OWNED char *about = other != SIZE_MAX ? cli_text("%s, before %s: %s", us, was, change)
                  : cli_text("%s, the first time %s", us, first);
        f->scale = longest > 0 ? FLAME_WIDTH / longest : 0;
        f->y = draw_head(&f->body, f->y, name, "meta", about) - 3.5;
        if (other != SIZE_MAX) flame_pipeline(f, before, other, "before");
        flame_pipeline(f, all, i, other != SIZE_MAX ? "after" : NULL);
        cost_lines operators = make_lines(all, i, NULL, LINE_OPERATORS),
            nodes = make_lines(all, i, NULL, LINE_NODES);
        const double left = flame_list(f, &operators, LINE_OPERATORS, row->us, MARGIN, f->y),
            right = flame_list(f, &nodes, LINE_NODES, row->us, PICTURE / 2 + 10, f->y);
        f->y += (left > right ? left : right) + 30;
        free_lines(&operators);
        free_lines(&nodes);
    }
    free_lines(&f->operators);
}

void write_flame(tool *t, const costs *all, const costs *before)
{
    flame f = {{NULL, 0, 0}, MARGIN, 0, {NULL, 0, 0}};
    draw_flame(&f, all, before);
    svg_write(t, t->set.profiling->svg, &f.body, PICTURE, f.y);
    free(f.body.data);
}
