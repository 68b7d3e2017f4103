/* layers.c - a graph as boxes in layers, with repeated layers drawn once

   ROOM     >>layers */
#include "run/draw/draw.h"

#include <math.h>

/* =====================================================================================
   LAYERS                                                                        >>layers
   Each box stands below those that it reads. Nodes that repeat are drawn once, long rows are
   wrapped, and long graphs have several columns. Time and text grow with boxes and edges.
   ===================================================================================== */

enum { BOX_WIDTH = 172, BOX_TEXT = BOX_WIDTH - 12, BOX_STEP = 196, ROW_BOXES = 6, ROW_GAP = 22,
       COLUMN_HEIGHT = 2400, COLUMN_PAD = 44, LONGEST_REPEAT = 256, FEWEST_SAVED = 8 };

/* ---- repeats ------------------------------------------------------------------ */

/* True if two inputs of the graph are the same but for the numbers in their names. */
static int same_input(const layer_box *a, const layer_box *b)
{
    OWNED char *x = skeleton(a->name), *y = skeleton(b->name);
    return strcmp(x, y) == 0 && strcmp(a->key, b->key) == 0;
}

/* True if node i and the one a period later do the same in a repeat that begins at `begin`: each
   reads what the other one does, or its neighbour of the same kind. */
static int repeats_node(const layers *g, size_t i, size_t begin, size_t period)
{
    const layer_box *a = &g->items[i], *b = &g->items[i + period];
    int same = a->read_count == b->read_count && strcmp(a->key, b->key) == 0;
    for (size_t k = 0; k < a->read_count && same; ++k) {
        const size_t x = a->reads[k], y = b->reads[k];
        const int inside = x >= begin && x < g->nodes;
        const int carried = i < begin + period && y >= begin && y < begin + period;
        same = inside ? y == x + period
            : x == y || carried || (x >= g->nodes && y >= g->nodes &&
                                    same_input(&g->items[x], &g->items[y]));
    }
    return same;
}

/* Find the longest repeat that begins at a node. Return how many nodes need not be drawn. */
static size_t find_repeat(const layers *g, size_t begin, layer_repeat *out)
{
    size_t best = 0;
    for (size_t period = 1; period <= LONGEST_REPEAT && begin + 2 * period <= g->nodes; ++period) {
        size_t run = 0;
        while (begin + run + period < g->nodes && repeats_node(g, begin + run, begin, period))
            ++run;
        const size_t saved = run / period * period;
        if (saved <= best || saved < FEWEST_SAVED) continue;
        out->first = begin;
        out->count = period;
        out->times = run / period + 1;
        best = saved;
    }
    return best;
}

static void free_box(layer_box *box)
{
    free(box->key);
    free(box->head);
    free(box->name);
    free(box->title);
    free(box->reads);
}

/* Take over the boxes that stay: stands[i] is the box that is drawn for box i. */
static void keep_boxes(layers *g, const size_t *stands)
{
    size_t *now = cli_alloc(g->count, sizeof(*now)), used = 0, nodes = 0;
    for (size_t i = 0; i < g->count; ++i)
        if (stands[i] == i) now[i] = used++;
        else ++g->items[stands[i]].times;
    for (size_t i = 0, next = 0; i < g->count; ++i) {
        layer_box box = g->items[i];
        if (stands[i] != i) {
            free_box(&box);
            continue;
        }
        for (size_t k = 0; k < box.read_count; ++k) box.reads[k] = now[stands[box.reads[k]]];
        nodes += i < g->nodes;
        g->items[next++] = box;
    }
    for (size_t r = 0; r < g->repeat_count; ++r) g->repeats[r].first = now[g->repeats[r].first];
    g->count = used;
    g->nodes = nodes;
    free(now);
}

void fold_layers(layers *g)
{
    OWNED size_t *stands = cli_alloc(g->count, sizeof(*stands));
    /* of a node that stays: 1 + box */
    OWNED size_t *outputs = cli_alloc(g->nodes, sizeof(*outputs));
    size_t room = 0;
    for (size_t i = 0; i < g->count; ++i) stands[i] = i;
    for (size_t i = 0, saved; i < g->nodes; i += saved + 1) {
        layer_repeat found = {0, 0, 0};
        saved = find_repeat(g, i, &found);
        if (saved == 0) continue;
        g->repeats = cli_grow(g->repeats, g->repeat_count, &room, sizeof(*g->repeats));
        g->repeats[g->repeat_count++] = found;
        saved += found.count - 1;
        for (size_t k = found.count; k <= saved; ++k) stands[i + k] = i + k % found.count;
    }
    /* Inputs and outputs of nodes that are left out, if nothing else reads them. */
    for (size_t i = 0; i < g->nodes; ++i)
        for (size_t k = 0; stands[i] != i && k < g->items[i].read_count; ++k)
            if (g->items[i].reads[k] >= g->nodes)
                stands[g->items[i].reads[k]] = g->items[stands[i]].reads[k];
    for (size_t i = 0; i < g->nodes; ++i)
        for (size_t k = 0; stands[i] == i && k < g->items[i].read_count; ++k)
            if (g->items[i].reads[k] >= g->nodes) stands[g->items[i].reads[k]] =
                g->items[i].reads[k];
    for (size_t i = g->nodes; i < g->count; ++i) {
        const size_t from = g->items[i].read_count != 0 ? g->items[i].reads[0] : g->nodes;
        if (from >= g->nodes) continue;
        if (stands[from] == from && outputs[from] == 0) outputs[from] = i + 1;
        else if (stands[from] != from && outputs[stands[from]] != 0)
            stands[i] = outputs[stands[from]] - 1;
    }
    if (g->repeat_count > 0) keep_boxes(g, stands);
}

void free_layers(layers *g)
{
    for (size_t i = 0; i < g->count; ++i) free_box(&g->items[i]);
    free(g->items);
    free(g->repeats);
    free(g->rows);
    free(g->title);
    free(g->about);
}

/* ---- places ------------------------------------------------------------------- */

static size_t repeat_end(const layer_repeat *of)
{
    return of->first + of->count;
}

/* Give each box a layer below all that it reads. A repeat has layers of its own. What reads nothing
   stands above its first reader. Return the number of layers. */
static size_t find_layers(layers *g)
{
    /* Layer of the first reader, or 0; 1: an output reads it. */
    OWNED size_t *first = cli_alloc(g->count, sizeof(*first));
    OWNED char *leaves = cli_alloc(g->count, 1);
    size_t begin = 0, end = 0, next = 0;
    for (size_t i = g->nodes; i < g->count; ++i)
        if (g->items[i].read_count != 0) leaves[g->items[i].reads[0]] = 1;
    for (size_t i = 0; i < g->nodes; ++i) {
        layer_box *box = &g->items[i];
        while (next < g->repeat_count && i >= repeat_end(&g->repeats[next])) ++next;
        if (next < g->repeat_count && i == g->repeats[next].first) begin = end;
        if (next > 0 && i == repeat_end(&g->repeats[next - 1])) begin = end;
        box->repeat = next < g->repeat_count && i >= g->repeats[next].first ? next + 1 : 0;
        box->layer = begin;
        for (size_t k = 0; k < box->read_count; ++k) {
            const size_t from = box->reads[k] < g->nodes ? g->items[box->reads[k]].layer : begin;
            if (from + 1 > box->layer) box->layer = from + 1;
        }
        if (box->layer + 1u + (size_t)leaves[i] > end) end = box->layer + 1u + (size_t)leaves[i];
    }
    for (size_t i = g->nodes; i < g->count; ++i)
        if (g->items[i].read_count != 0) {
            const layer_box *from = &g->items[g->items[i].reads[0]];
            g->items[i].layer = from->layer + 1;
            g->items[i].repeat = from->repeat;
        }
    for (size_t i = 0; i < g->count; ++i)
        for (size_t k = 0; k < g->items[i].read_count; ++k) {
            const size_t from = g->items[i].reads[k];
            if (first[from] != 0 && first[from] <= g->items[i].layer) continue;
            first[from] = g->items[i].layer;
            if (from >= g->nodes) g->items[from].repeat = g->items[i].repeat;
        }
    for (size_t i = 0; i < g->count; ++i) {
        layer_box *box = &g->items[i];
        if (box->read_count == 0 && first[i] != 0 && (i >= g->nodes || g->repeat_count == 0))
            box->layer = first[i] - 1;
        if (box->layer >= end) end = box->layer + 1;
    }
    return end;
}

typedef struct layer_place { double wish; size_t layer, box; } layer_place;

static int compare_places(const void *left, const void *right)
{
    const layer_place *a = left, *b = right;
    if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
    if (a->wish != b->wish) return a->wish < b->wish ? -1 : 1;
    return a->box < b->box ? -1 : a->box > b->box;
}

static void sort_places(layer_place *places, size_t count)
{
    if (count > 1) qsort(places, count, sizeof(*places), compare_places);
}

/* Place the boxes of a layer in rows, each in the order of the middle of what its boxes read. */
static void place_layer(layers *g, layer_place *places, size_t count)
{
    const size_t rows = (count + ROW_BOXES - 1) / ROW_BOXES, each = (count + rows - 1) / rows;
    for (size_t i = 0; i < count; ++i) {
        const layer_box *box = &g->items[places[i].box];
        size_t known = 0;
        places[i].wish = 0;
        for (size_t k = 0; k < box->read_count; ++k)
            if (g->items[box->reads[k]].layer < box->layer) {
                places[i].wish += g->items[box->reads[k]].x;
                ++known;
            }
        if (known != 0) places[i].wish /= (double)known;
    }
    sort_places(places, count);
    for (size_t i = 0; i < count; i += each) {
        const size_t boxes = count - i < each ? count - i : each;
        layer_row *row = &g->rows[g->row_count];
        row->repeat = g->items[places[i].box].repeat;
        row->height = 0;
        row->width = (double)(boxes - 1) * BOX_STEP + BOX_WIDTH;
        for (size_t k = 0; k < boxes; ++k) {
            layer_box *box = &g->items[places[i + k].box];
            box->height = 7 + LINE_HEIGHT +
                (box->end ? svg_lines(NULL, 0, 0, "dim", BOX_TEXT, box->head) : LINE_HEIGHT);
            box->x = ((double)k - (double)(boxes - 1) / 2) * BOX_STEP;
            box->row = g->row_count;
            if (box->height > row->height) row->height = box->height;
        }
        ++g->row_count;
    }
}

/* Place the rows below each other, in as many columns as make the picture about a square. */
static void place_rows(layers *g)
{
    double all = 0, widest = 0, most, x = 0, y = 0, width = 0;
    size_t begin = 0, columns;
    for (size_t r = 0; r < g->row_count; ++r) {
        layer_row *row = &g->rows[r];
        const int opens = row->repeat != 0 && (r == 0 || row[-1].repeat != row->repeat);
        const int closes = r > 0 && row[-1].repeat != 0 && row[-1].repeat != row->repeat;
        row->above = (opens ? 30 : 0) + (closes ? 12 : 0);
        all += row->above + row->height + ROW_GAP;
        if (row->width > widest) widest = row->width;
    }
    most = sqrt(all * (widest + 2 * COLUMN_PAD));
    if (most < COLUMN_HEIGHT) most = COLUMN_HEIGHT;
    columns = (size_t)ceil(all / most);
    most = columns > 1 ? all / (double)columns : all;
    for (size_t r = 0; r <= g->row_count; ++r) {
        if (r == g->row_count || y >= most) {    /* the column is full: centre its rows */
            for (size_t k = begin; k < r; ++k) g->rows[k].x = x + COLUMN_PAD + width / 2;
            for (size_t k = begin; k < r; ++k) g->rows[k].column_width = width;
            begin = r;
            x += width + 2 * COLUMN_PAD;
            y = width = 0;
        }
        if (r == g->row_count) break;
        layer_row *row = &g->rows[r];
        if (r == begin && row->repeat != 0 && row->above < 30) row->above = 30;
        row->column = begin;
        row->y = y += row->above;
        y += row->height + ROW_GAP;
        if (row->width > width) width = row->width;
        if (y > g->height) g->height = y;
    }
    g->width = x;
}

void place_layers(layers *g)
{
    const size_t count = find_layers(g);
    layer_place *places = cli_alloc(g->count, sizeof(*places));
    g->rows = cli_alloc(g->count, sizeof(*g->rows));
    for (size_t i = 0; i < g->count; ++i) {
        places[i].layer = g->items[i].layer;
        places[i].box = i;
    }
    sort_places(places, g->count);
    for (size_t i = 0, next; i < g->count && count > 0; i = next) {
        for (next = i; next < g->count && places[next].layer == places[i].layer;) ++next;
        place_layer(g, &places[i], next - i);
    }
    place_rows(g);
    free(places);
}

/* ---- drawing ------------------------------------------------------------------ */

/* Draw the edges; those that pass rows go beside the boxes of these rows, those to another column
   between the columns. */
static void draw_wires(page *p, const layers *g, double x, double y)
{
    for (size_t i = 0; i < g->count; ++i) {
        const layer_box *to = &g->items[i];
        const layer_row *below = &g->rows[to->row];
        for (size_t k = 0; k < to->read_count; ++k) {
            const layer_box *from = &g->items[to->reads[k]];
            const layer_row *above = &g->rows[from->row];
            const double x1 = x + above->x + from->x, y1 = y + above->y + from->height;
            const double x2 = x + below->x + to->x, y2 = y + below->y;
            const double bow = to->row > from->row + 1 ? BOX_STEP * 0.75 : 0;
            const double bend = bow > 0 ? y2 - y1 < 100 ? (y2 - y1) / 2 : 50 : (y2 - y1) / 2;
            if (above->column != below->column)
                page_add(p, "<path class=\"wire\" d=\"M%.0f %.0fV%.0fH%.0fV%.0fH%.0fV%.0f\"/>\n",
                         x1, y1, y + above->y + above->height + 8,
                         x + below->x - below->column_width / 2 - COLUMN_PAD, y2 - 8, x2, y2);
            else
                page_add(p, "<path class=\"wire\" d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"/>"
                         "\n", x1, y1, x1 + bow, y1 + bend, x2 + bow, y2 - bend, x2, y2);
        }
    }
}

/* Draw a frame around the rows of each repeat, in each of its columns. */
static void draw_frames(page *p, const layers *g, double x, double y)
{
    for (size_t r = 0, next; r < g->row_count; r = next) {
        const layer_row *row = &g->rows[r], *last = row;
        for (next = r; next < g->row_count && g->rows[next].repeat == row->repeat &&
             g->rows[next].column == row->column; ++next) last = &g->rows[next];
        if (row->repeat == 0) continue;
        const layer_repeat *of = &g->repeats[row->repeat - 1];
        const double width = row->column_width + 64, left = x + row->x - width / 2;
        const double top = y + row->y - 26;
        char *text = cli_text("layer \xC3\x97 %lu: %lu node%s each", (unsigned long)of->times,
                              (unsigned long)of->count, cli_plural(of->count));
        page_text(p, "<g>\n");
        title_take(p, cli_text("%s\n%s to %s", text, g->items[of->first].name,
                               g->items[of->first + of->count - 1].name));
        svg_box(p, "window", left, top, width, y + last->y + last->height + 8 - top, 8);
        svg_take(p, left + 12, top + 16, "head", width - 24, text);
        page_text(p, "</g>\n");
    }
}

void draw_layers(page *p, const layers *g, double x, double y)
{
    draw_frames(p, g, x, y);
    draw_wires(p, g, x, y);
    for (size_t i = 0; i < g->count; ++i) {
        const layer_box *box = &g->items[i];
        const layer_row *row = &g->rows[box->row];
        const double middle = x + row->x + box->x, top = y + row->y;
        const int several = box->end && box->times > 0;
        OWNED char *stem = several ? skeleton(box->name) : cli_text("%s", box->name);
        OWNED char *times = times_text(" ", several ? box->times + 1 : 1);
        const char *font = box->end ? "on mid" : "tiny mid";
        svg_card(p, box->style, middle - BOX_WIDTH / 2.0, top, BOX_WIDTH, box->height,
                 box->end ? 16 : 4);
        title_take(p, cli_text("%s%s%s%s", several ? stem : "", times, several ? "\n" : "",
                               box->title));
        if (box->end) svg_lines(p, middle, top + 29, "dim mid", BOX_TEXT, box->head);
        else svg_text(p, middle, top + 15, "head mid", BOX_TEXT, box->head);
        svg_take(p, middle, top + (box->end ? 15 : 29), font, BOX_TEXT,
                 named(stem, times, text_columns(font, BOX_TEXT)));
        page_text(p, "</g>\n");
    }
}
