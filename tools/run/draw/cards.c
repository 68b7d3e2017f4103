/* cards.c - the cards of a picture of a pipeline: a list of tensors each

   ROOM     >>cards */
#include "run/draw/draw.h"
#include "run/model/model.h"

/* =====================================================================================
   CARDS                                                                         >>cards
   Lists of tensors beside the steps, with groups in one line.
   ===================================================================================== */

enum { NAME_COLUMNS = (CARD_WIDTH - 26) * 10 / 73, META_COLUMNS = (CARD_WIDTH - 26) * 10 / 67 };

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
        char *shape = shape_text(first->to),
            *note = cli_shown(first->note != NULL ? first->note : "");
        char *made = cli_text("%s %s%s%s", which == SIDE_CACHE ? "writes" : "but", shape,
                              note[0] != '\0' ? ", " : "", note);
        free(shape);
        free(note);
        return made;
    }
    if (which != SIDE_EDGE) return first->note != NULL ? cli_shown(first->note) : NULL;
    char *reason = cli_shown(first->edge->reason), *made = cli_text("wired: %s", reason);
    free(reason);
    return made;
}

/* Return the number of lines of one entry of a card. */
static size_t entry_lines(const item *first, side which)
{
    char *end = entry_end(first, 1, which), *note = entry_note(first, which);
    size_t lines = 2u + (end != NULL) + (note != NULL);
    lines += which == SIDE_EDGE && first->tensor->quant.encoding != QNNRT_ENCODING_NONE;
    free(end);
    free(note);
    return lines;
}

static size_t shown_groups(const item_list *list)
{
    return list->group_count > CARD_LINES ? CARD_LINES - 1 : list->group_count;
}

double card_height(const item_list *list, side which)
{
    if (list->count == 0) return 0;
    double height = 28;
    for (size_t g = 0; g < shown_groups(list); ++g)
        height += 7 + 14.5 * (double)entry_lines(&list->items[list->groups[g]], which);
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
static void entry_title(page *p, const item *items, size_t count)
{
    enum { LISTED = 40 };
    page s = {NULL, 0, 0};
    for (size_t i = 0; i < count && i < LISTED; ++i) {
        char *name = cli_shown(items[i].tensor->name), *shape = shape_text(items[i].tensor);
        char *encoding = encoding_text(&items[i].tensor->quant),
            *bytes = cli_bytes_text(items[i].tensor->bytes);
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
    const item *first = &items[0];
    const char *strong = first->bad ? "bold t-bad" : first->edge != NULL && which != SIDE_EDGE
        ? "bold t-edge" : "bold";
    char *name = group_name(items, count, 0), *shape = shape_text(first->tensor);
    char *bytes = cli_bytes_text(first->tensor->bytes), *end = entry_end(items, count, which),
        *note = entry_note(first, which);
    size_t room = NAME_COLUMNS;
    page_text(p, "<g class=\"entry\">\n");
    entry_title(p, items, count);
    if (count > 1) {
        char *times = cli_text("\xC3\x97 %lu", (unsigned long)count);
        svg_text(p, x + CARD_WIDTH - 26, y, "bold end", 12, times);
        room -= columns_in(times) + 2;
        free(times);
    }
    svg_text(p, x, y, strong, room, name);
    if (end != NULL) svg_text(p, x, y += 14.5, strong, NAME_COLUMNS, end);
    char *line = cli_text("%s, %s%s", shape, bytes, count > 1 ? " each" : "");
    svg_text(p, x, y += 14.5, "meta", META_COLUMNS, line);
    free(line);
    if (which == SIDE_EDGE && first->tensor->quant.encoding != QNNRT_ENCODING_NONE) {
        char *encoding = count > 1 ? cli_text("%s", "quantized, see each")
            : encoding_text(&first->tensor->quant);
        svg_text(p, x, y += 14.5, "meta", META_COLUMNS, encoding);
        free(encoding);
    }
    if (note != NULL)
        svg_text(p, x, y + 14.5, first->bad ? "meta t-bad" : which == SIDE_CACHE ? "meta t-cache"
                 : "meta t-edge", META_COLUMNS, note);
    page_text(p, "</g>\n");
    free(name);
    free(shape);
    free(bytes);
    free(end);
    free(note);
}

/* Return the heading of a card. The caller frees it. */
static char *card_head(const item_list *list, side which)
{
    const unsigned long all = (unsigned long)list->count;
    size_t joined = 0;                           /* number of edges that pass over a step */
    for (size_t i = 0; which != SIDE_EDGE && i < list->count; ++i)
        joined += list->items[i].edge != NULL;
    if (which == SIDE_EDGE && list->count > 0 && list->items[0].bad)
        return cli_text("%lu broken edge%s", all, cli_plural(all));
    return joined < list->count ? cli_text("%lu %s%s", all, side_names[which], cli_plural(all))
        : cli_text("%lu %s", all, which == SIDE_INPUT ? "from earlier steps" : "for later steps");
}

void draw_card(page *p, double x, double y, const item_list *list, side which, const char *head)
{
    const double height = card_height(list, which);
    int bad = 0;
    for (size_t i = 0; i < list->count; ++i) bad |= list->items[i].bad && which == SIDE_EDGE;
    const char *kind = bad ? "bad" : side_names[which];
    char *bytes = cli_bytes_text(list->bytes), *usual = card_head(list, which);
    char *style = cli_text("head t-%s", kind), *end = cli_text("head end t-%s", kind);
    svg_card(p, kind, x, y, CARD_WIDTH, height, 6);
    svg_text(p, x + 13, y + 19, style, 24, head != NULL ? head : usual);
    svg_text(p, x + CARD_WIDTH - 13, y + 19, end, 12, bytes);
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
    free(usual);
    free(style);
    free(end);
}
