/* cards.c - the cards of a picture of a pipeline: a list of tensors each

   ROOM     >>cards */
#include "run/draw/draw.h"
#include "run/model/model.h"

/* =====================================================================================
   CARDS                                                                         >>cards
   Lists of tensors beside the steps, with groups in one line.
   ===================================================================================== */

enum { ENTRY_WIDTH = CARD_WIDTH - 26, ENTRY_LINES = 5, ENTRY_GAP = 7 };

typedef struct entry {                 /* what a card says about a group of tensors */
    const char *styles[ENTRY_LINES];
    char       *texts[ENTRY_LINES];    /* [count] of one line or several */
    size_t      count;
    double      height;
} entry;

/* Return the text that follows an arrow in an entry: the other end of an edge, or the present of a
   cache. NULL: none. The caller frees it. */
static char *entry_end(const item *items, size_t count, side which)
{
    const item *first = &items[0];
    if (first->to == NULL || (which != SIDE_EDGE && which != SIDE_CACHE)) return NULL;
    if (which == SIDE_EDGE && strcmp(first->to->name, first->tensor->name) == 0 && !first->bad)
        return NULL;
    char *to = group_name(items, count, 1),
        *made = cli_text("%s %s", which == SIDE_CACHE ? "\xE2\x87\x84" : first->bad
                         ? "\xE2\x89\xA0" : "\xE2\x86\x92", to);
    free(to);
    return made;
}

/* Return the last line of an entry: why the edge is there, what the file says, or NULL. The caller
   frees it. */
static char *entry_note(const item *first, side which)
{
    if (which == SIDE_CACHE || (which == SIDE_EDGE && first->bad)) {
        OWNED char *shape = shape_text(first->to),
                  *note = cli_shown(first->note != NULL ? first->note : "");
        char *made = cli_text("%s %s%s%s", which == SIDE_CACHE ? "writes" : "but", shape,
                              note[0] != '\0' ? ", " : "", note);
        return made;
    }
    if (which != SIDE_EDGE) return first->note != NULL ? cli_shown(first->note) : NULL;
    char *reason = cli_shown(first->edge->reason), *made = cli_text("wired: %s", reason);
    free(reason);
    return made;
}

/* Add a text to an entry, which takes it. A name takes one line. */
static void add_text(entry *e, const char *style, int is_name, char *text)
{
    if (text == NULL) return;
    const size_t columns = text_columns(style, ENTRY_WIDTH);
    char *made = is_name ? shortened(text, columns) : wrapped(text, columns);
    e->styles[e->count] = style;
    e->texts[e->count++] = made;
    e->height = svg_lines(NULL, 0, e->height, style, ENTRY_WIDTH, made);
    free(text);
}

static entry make_entry(const item *items, size_t count, side which)
{
    entry e = {{NULL}, {NULL}, 0, 0};
    const item *first = &items[0];
    const int bad = first->bad, edge = which == SIDE_EDGE;
    const char *strong = bad ? "bold t-bad" : first->edge != NULL && !edge ? "bold t-edge" : "bold";
    OWNED char *shape = shape_text(first->tensor), *bytes = cli_bytes_text(first->tensor->bytes);
    OWNED char *name = group_name(items, count, 0);
    OWNED char *times = times_text("  ", count);
    add_text(&e, strong, 1, named(name, times, text_columns(strong, ENTRY_WIDTH)));
    add_text(&e, strong, 1, entry_end(items, count, which));
    const size_t taken = columns_in(shape) + columns_in(bytes) + (count > 1 ? 7u : 2u);
    add_text(&e, "meta", 0, cli_text("%s,%s%s%s", shape,
                                     taken > text_columns("meta", ENTRY_WIDTH) ? "\n" : " ", bytes,
                                     count > 1 ? " each" : ""));
    if (edge && first->tensor->quant.encoding != QNNRT_ENCODING_NONE)
        add_text(&e, "meta", 0, count > 1 ? cli_text("%s", "quantized, see each")
                 : encoding_text(&first->tensor->quant));
    add_text(&e, bad ? "meta t-bad" : which == SIDE_CACHE ? "meta t-cache" : "meta t-edge", 0,
             entry_note(first, which));
    return e;
}

static void free_entry(entry *e)
{
    for (size_t i = 0; i < e->count; ++i) free(e->texts[i]);
}

static size_t shown_groups(const item_list *list)
{
    return list->group_count > CARD_LINES ? CARD_LINES - 1 : list->group_count;
}

double card_height(const item_list *list, side which)
{
    if (list->count == 0) return 0;
    double height = 28;
    for (size_t g = 0; g < shown_groups(list); ++g) {
        const size_t begin = list->groups[g];
        entry e = make_entry(&list->items[begin], list->groups[g + 1] - begin, which);
        height += ENTRY_GAP + e.height;
        free_entry(&e);
    }
    return height + (shown_groups(list) < list->group_count ? 20 : 0) + 6;
}

void arrow(page *p, double x, double from, double to, int both)
{
    page_add(p, "<path class=\"arrow\" d=\"M%.1f %.1fV%.1f\"/>", x, both ? from + 7 : from, to - 7);
    if (both) page_add(p, "<path class=\"tip\" d=\"M%.1f %.1fl-4.5 8h9z\"/>", x, from);
    page_add(p, "<path class=\"tip\" d=\"M%.1f %.1fl-4.5 -8h9z\"/>\n", x, to);
}

void arrow_right(page *p, double y, double from, double to)
{
    page_add(p, "<path class=\"arrow\" d=\"M%.1f %.1fH%.1f\"/>", from, y, to - 7);
    page_add(p, "<path class=\"tip\" d=\"M%.1f %.1fl-8 -4.5v9z\"/>\n", to, y);
}

void broken(page *p, double x, double from, double to)
{
    const double y = (from + to) / 2;
    page_add(p, "<path class=\"broken\" d=\"M%.1f %.1fV%.1f\"/>", x, from, to);
    page_add(p, "<path class=\"broken\" style=\"stroke-dasharray: none\" d=\"M%.1f %.1fl10 10m0 "
             "-10l-10 10\"/>\n", x - 5, y - 5);
}

/* Write all tensors of a group as the text that a browser shows on hover. */
static void entry_title(page *p, const item *items, size_t count, side which)
{
    enum { LISTED = 40 };
    page s = {NULL, 0, 0};
    OWNED char *all = group_name(items, count, 0), *end = entry_end(items, count, which);
    OWNED char *note = entry_note(&items[0], which), *times = times_text("  ", count);
    if (count > 1 || end != NULL) page_add(&s, "%s%s %s\n", all, times, end != NULL ? end : "");
    for (size_t i = 0; i < count && i < LISTED; ++i) {
        OWNED char *name = cli_shown(items[i].tensor->name), *shape = shape_text(items[i].tensor);
        OWNED char *encoding = encoding_text(&items[i].tensor->quant),
                  *bytes = cli_bytes_text(items[i].tensor->bytes);
        page_add(&s, "%s%s  %s  %s", i > 0 ? "\n" : "", name, shape, bytes);
        if (items[i].tensor->quant.encoding != QNNRT_ENCODING_NONE) page_add(&s, "  %s", encoding);
    }
    if (count > LISTED) page_add(&s, "\nand %lu more", (unsigned long)(count - LISTED));
    if (note != NULL) page_add(&s, "\n%s", note);
    title_take(p, s.data);
}

/* Draw an entry. Return the y below it. */
static double draw_entry(page *p, double x, double y, const item *items, size_t count, side which)
{
    entry e = make_entry(items, count, which);
    page_text(p, "<g class=\"entry\">\n");
    entry_title(p, items, count, which);
    y += 13;                                     /* of the first baseline */
    for (size_t i = 0; i < e.count; ++i)
        y = svg_lines(p, x, y, e.styles[i], ENTRY_WIDTH, e.texts[i]);
    page_text(p, "</g>\n");
    free_entry(&e);
    return y - 13 + ENTRY_GAP;
}

/* Return the heading of a card. The caller frees it. */
static char *card_head(const item_list *list, side which, int shared)
{
    const unsigned long all = (unsigned long)list->count;
    size_t joined = 0;                           /* number of edges that pass over a step */
    for (size_t i = 0; which != SIDE_EDGE && i < list->count; ++i)
        joined += list->items[i].edge != NULL;
    if (shared) return cli_text("%lu shared input%s", all, cli_plural(all));
    if (which == SIDE_EDGE && list->count > 0 && list->items[0].bad)
        return cli_text("%lu broken edge%s", all, cli_plural(all));
    return joined < list->count ? cli_text("%lu %s%s", all, side_names[which], cli_plural(all))
        : cli_text("%lu %s", all, which == SIDE_INPUT ? "from earlier steps" : "for later steps");
}

void draw_card(page *p, double x, double y, const item_list *list, side which, int shared)
{
    const double height = card_height(list, which);
    int bad = 0;
    for (size_t i = 0; i < list->count; ++i) bad |= list->items[i].bad && which == SIDE_EDGE;
    const char *kind = bad ? "bad" : side_names[which];
    OWNED char *style = cli_text("head t-%s", kind), *end = cli_text("head end t-%s", kind);
    svg_card(p, kind, x, y, CARD_WIDTH, height, 6);
    svg_take(p, x + 13, y + 19, style, ENTRY_WIDTH, card_head(list, which, shared));
    svg_take(p, x + CARD_WIDTH - 13, y + 19, end, ENTRY_WIDTH, cli_bytes_text(list->bytes));
    double at = y + 28;
    for (size_t g = 0; g < shown_groups(list); ++g) {
        const size_t begin = list->groups[g], count = list->groups[g + 1] - begin;
        at = draw_entry(p, x + 13, at, &list->items[begin], count, which);
    }
    const size_t shown = shown_groups(list), rest = list->count - list->groups[shown];
    if (shown < list->group_count)
        svg_take(p, x + 13, at + 13, "meta", ENTRY_WIDTH,
                 cli_text("and %lu more", (unsigned long)rest));
    page_text(p, "</g>\n");
}
