/* lines.c - costs added up: lines of operators, nodes and steps, sorted by time

   ROOM     >>lines */
#include "run/show/show.h"

#include <math.h>

/* =====================================================================================
   LINES                                                                           >>lines
   The steps, operators or nodes of a pipeline as a sorted list, of one profile or of two.
   ===================================================================================== */

const char *const line_kinds[LINE_KINDS] = {"steps", "operators", "nodes"};

static int compare_keys_of_lines(const void *a, const void *b)
{
    const cost_line *x = a, *y = b;
    return strcmp(x->key, y->key);
}

int compare_cost(const void *a, const void *b)
{
    const cost_line *x = a, *y = b;
    return x->us[0] != y->us[0] ? (x->us[0] > y->us[0] ? -1 : 1) : strcmp(x->key, y->key);
}

static int compare_change(const void *a, const void *b)
{
    const cost_line *x = a, *y = b;
    const double p = fabs(x->us[1] - x->us[0]), q = fabs(y->us[1] - y->us[0]);
    return p != q ? (p > q ? -1 : 1) : compare_cost(a, b);
}

static void add_line(cost_lines *lines, char *key, const cost *row, size_t step, size_t nodes,
                     int which)
{
    lines->items = cli_grow(lines->items, lines->count, &lines->room, sizeof(*lines->items));
    cost_line *line = &lines->items[lines->count++];
    memset(line, 0, sizeof(*line));
    line->key = key;
    line->name = row->name;
    line->about = row->about;
    line->step = step;
    line->count[which] = nodes;
    line->us[which] = row->us;
    line->extra[which] = row->extra;
}

void merge_lines(cost_lines *lines)
{
    size_t used = 0;
    if (lines->count > 1)
        qsort(lines->items, lines->count, sizeof(*lines->items), compare_keys_of_lines);
    for (size_t i = 0; i < lines->count; ++i) {
        cost_line *to = used > 0 ? &lines->items[used - 1] : NULL, *from = &lines->items[i];
        if (to == NULL || strcmp(to->key, from->key) != 0) {
            lines->items[used++] = *from;
            continue;
        }
        for (int s = 0; s < 2; ++s) {
            to->us[s] += from->us[s];
            to->extra[s] += from->extra[s];
            to->count[s] += from->count[s];
        }
        free(from->key);
    }
    lines->count = used;
}

void list_lines(cost_lines *lines, const costs *all, size_t pipeline, line_kind kind, int which)
{
    const size_t end = cost_end(all, pipeline);
    const int detailed = cost_next(all, pipeline, end, COST_NODE) < end;
    size_t step = 0;
    for (size_t s = cost_next(all, pipeline + 1, end, COST_STEP); s < end; ++step) {
        const size_t next = cost_end(all, s);
        double nodes = 0;
        for (size_t n = s + 1; n < next; ++n) {
            const cost *row = &all->rows[n];
            nodes += row->us;
            if (kind == LINE_OPERATORS)
                add_line(lines, cli_text("%s", row->about), row, step, 1, which);
            if (kind == LINE_NODES)
                add_line(lines, cli_text("%s\n%06lu", row->name, (unsigned long)step), row, step, 1,
                         which);
        }
        if (kind == LINE_STEPS)
            add_line(lines, cli_text("%06lu", (unsigned long)step), &all->rows[s], step,
                     next - s - 1, which);
        /* What no node accounts for is a line of its own among the operators. */
        const cost rest = {COST_NODE, (char *)(uintptr_t)"",
                           (char *)(uintptr_t)(next > s + 1 ? "outside nodes" : "without nodes"),
                           all->rows[s].us - nodes, 0};
        if (kind == LINE_OPERATORS && detailed && rest.us > 0)
            add_line(lines, cli_text("%s", rest.about), &rest, step, 0, which);
        s = next;
    }
}

void free_lines(cost_lines *lines)
{
    for (size_t i = 0; i < lines->count; ++i) free(lines->items[i].key);
    free(lines->items);
    memset(lines, 0, sizeof(*lines));
}

size_t other_pipeline(const costs *of, size_t pipeline, const costs *all)
{
    size_t found = SIZE_MAX, count = 0, own = 0;
    for (size_t i = 0; i < of->count; ++i) own += of->rows[i].kind == COST_PIPELINE;
    for (size_t i = 0; i < all->count; ++i) {
        if (all->rows[i].kind != COST_PIPELINE) continue;
        if (strcmp(all->rows[i].name, of->rows[pipeline].name) == 0) return i;
        found = i;
        ++count;
    }
    return own == 1 && count == 1 ? found : SIZE_MAX;
}

cost_lines make_lines(const costs *a, size_t pipeline, const costs *b, line_kind kind)
{
    cost_lines lines = {NULL, 0, 0};
    const size_t other = b != NULL ? other_pipeline(a, pipeline, b) : SIZE_MAX;
    list_lines(&lines, a, pipeline, kind, 0);
    if (other != SIZE_MAX) list_lines(&lines, b, other, kind, 1);
    merge_lines(&lines);
    if (lines.count > 1)
        qsort(lines.items, lines.count, sizeof(*lines.items), b != NULL ? compare_change
              : compare_cost);
    return lines;
}

char *us_text(double us, int sign)
{
    const double size = fabs(us);
    const char *plus = sign && us > 0 ? "+" : "";
    return size < 0.5 ? cli_text("0 us")
        : size < 9.95 ? cli_text("%s%.1f us", plus, us)
        : size < 999.5 ? cli_text("%s%.0f us", plus, us)
        : size < 9995 ? cli_text("%s%.2f ms", plus, us / 1e3)
        : size < 99950 ? cli_text("%s%.1f ms", plus, us / 1e3)
        : size < 999500 ? cli_text("%s%.0f ms", plus, us / 1e3)
        : cli_text("%s%.2f s", plus, us / 1e6);
}

char *share_text(double us, double whole)
{
    return whole > 0 ? cli_text("%.1f %%", 100 * us / whole) : cli_text("-");
}

char *change_text(double from, double to)
{
    return from > 0 && to > 0 ? cli_text("%+.1f %%", 100 * (to / from - 1))
        : from > 0 ? cli_text("gone") : to > 0 ? cli_text("new") : cli_text("-");
}
