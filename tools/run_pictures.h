/* Part of qnnrt-run.c, which includes it once: pipelines and plans as pictures, for a browser (SVG: one
   file, no script, nothing loaded) and for Graphviz (DOT).

   Names may be hostile: shown() first, then the escapes of the format; a text is cut to the columns that
   its place has, and the whole of it is in the <title> that a browser shows on hover.

   ROOMS    >>svg >>groups >>flow >>arena >>dot                                                     */

/* =====================================================================================
   SVG                                                                             >>svg
   Texts that fit their place, frame and style of both pictures.
   ===================================================================================== */

enum { MARGIN = 24 };

/* A text whose place is `columns` wide, at 0.6 of the font size each: other scripts count twice. */
static size_t columns_of(const char *s, size_t length)
{
    (void)s;
    return length > 1 ? 2 : 1;
}

static size_t columns_in(const char *s)
{
    size_t columns = 0;
    while (*s != '\0') {
        const size_t length = utf8_length(s);
        columns += columns_of(s, length);
        s += length != 0 ? length : 1;
    }
    return columns;
}

/* Cut in the middle, where names of tensors differ least. `s` is shown() text; to be freed. */
static char *shortened(const char *s, size_t columns)
{
    if (columns_in(s) <= columns) return text("%s", s);
    const size_t room = columns > 1 ? columns - 1 : 0, head = room * 3 / 5;
    size_t used = 0, at = 0, tail = strlen(s), back = 0;
    while (s[at] != '\0') {
        const size_t length = utf8_length(s + at), width = columns_of(s + at, length);
        if (used + width > head) break;
        used += width;
        at += length != 0 ? length : 1;
    }
    while (tail > at) {                          /* one character back */
        size_t begin = tail - 1;
        while (begin > at && ((unsigned char)s[begin] & 0xC0) == 0x80) --begin;
        const size_t width = columns_of(s + begin, tail - begin);
        if (used + back + width > room) break;
        back += width;
        tail = begin;
    }
    return text("%.*s\xE2\x80\xA6%s", (int)at, s, s + tail);
}

/* shown() text as XML. */
static void xml_text(page *p, const char *s)
{
    while (*s != '\0') {
        const size_t length = utf8_length(s);
        if (*s == '<') page_text(p, "&lt;");
        else if (*s == '>') page_text(p, "&gt;");
        else if (*s == '&') page_text(p, "&amp;");
        else if (*s == '"') page_text(p, "&quot;");
        else if (length == 0) page_text(p, "\xEF\xBF\xBD");
        else page_bytes(p, s, length);
        s += length != 0 ? length : 1;
    }
}

/* One line of at most `columns`; style names classes of the sheet below. `s` is shown() text. */
static void svg_text(page *p, double x, double y, const char *style, size_t columns, const char *s)
{
    char *fitted = shortened(s, columns);
    page_add(p, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, style);
    xml_text(p, fitted);
    page_text(p, "</text>\n");
    free(fitted);
}

/* A rectangle; round: radius of its corners. */
static void svg_box(page *p, const char *style, double x, double y, double width, double height, double round)
{
    page_add(p, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", style, x, y, width, height);
    if (round > 0) page_add(p, " rx=\"%.0f\"", round);
    page_text(p, "/>\n");
}

/* A box with texts in it: to be closed with "</g>\n". */
static void svg_card(page *p, const char *style, double x, double y, double width, double height, double round)
{
    page_text(p, "<g class=\"card\">\n");
    svg_box(p, style, x, y, width, height, round);
}

static void svg_title(page *p, const char *s)
{
    page_text(p, "<title>");
    xml_text(p, s);
    page_text(p, "</title>\n");
}

static void svg_write(tool *t, const char *path, const page *body, double width, double height)
{
    page p = {NULL, 0, 0};
    page_add(&p, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\"", width, height);
    page_add(&p, " viewBox=\"0 0 %.0f %.0f\">\n", width, height);
    page_text(&p,
        "<style>\n"
        "text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace }\n"
        "text { fill: #1d2733; white-space: pre }\n"
        ".h1 { font-size: 15px; font-weight: bold }\n"
        ".meta { font-size: 11px; fill: #5d6b7a }\n"
        ".tiny { font-size: 10px; fill: #5d6b7a }\n"
        ".head { font-size: 11px; font-weight: bold }\n"
        ".end { text-anchor: end } .mid { text-anchor: middle }\n"
        ".on { fill: #ffffff } .dim { fill: #b9c6d6; font-size: 11px } .bold { font-weight: bold }\n"
        ".step { fill: #24344d }\n"
        ".input { fill: #dbe9f6; stroke: #5b8db8 } .t-input { fill: #2f6391 }\n"
        ".edge { fill: #fde3c4; stroke: #d98324 } .t-edge { fill: #a85b0c }\n"
        ".output { fill: #d5edd3; stroke: #55a257 } .t-output { fill: #2f7a33 }\n"
        ".buffer { fill: #e6dbf0; stroke: #8e6bb0 } .t-buffer { fill: #65418a }\n"
        ".rest { fill: #eef4fa }\n"
        ".bad { fill: #fbe3e1; stroke: #c9433a } .t-bad { fill: #a32820 }\n"
        ".thin.input { fill: #5b8db8 } .thin.edge { fill: #d98324 } .thin.output { fill: #55a257 } "
        ".thin.buffer { fill: #8e6bb0 } .thin { stroke: none }\n"
        ".arrow { stroke: #66788c; stroke-width: 1.5; fill: none } .tip { fill: #66788c }\n"
        ".grid { stroke: #e6ebf0 } .axis { stroke: #66788c }\n"
        ".peak { stroke: #1d2733; stroke-width: 1.5 }\n"
        ".bound { stroke: #c9433a; stroke-width: 1.5; stroke-dasharray: 6 4 }\n"
        "</style>\n");
    page_add(&p, "<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n", width, height);
    page_bytes(&p, body->data != NULL ? body->data : "", body->used);
    page_text(&p, "</svg>\n");
    write_named(t, path, &p, 0);
    free(p.data);
}

/* "1,856 bytes", "26.8 MiB"; to be freed. */
static char *human_bytes(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 10000) {
        char *number = grouped(bytes), *made = text("%s byte%s", number, bytes == 1 ? "" : "s");
        free(number);
        return made;
    }
    for (; value >= 1023.95 && unit < 5; ++unit) value /= 1024;
    return text("%.1f %s", value, units[unit]);
}

/* The file of a step without the folders before it, for a label; to be freed. */
static char *step_file(const qnnrt_step_info *step)
{
    const char *file = qnnrt_contexts(step->model, NULL)[step->context].file, *slash = strrchr(file, '/');
    return shown(slash != NULL ? slash + 1 : file);
}

/* =====================================================================================
   GROUPS                                                                         >>groups
   What enters and leaves each step; tensors whose names differ by numbers are one line.
   ===================================================================================== */

typedef enum side { SIDE_INPUT, SIDE_EDGE, SIDE_OUTPUT, SIDES } side;

static const char *const side_names[SIDES] = {"input", "edge", "output"};

typedef struct item {                  /* a tensor at a step */
    const qnnrt_tensor_info *tensor;
    const qnnrt_edge_info   *edge;     /* that begins or ends there, or NULL */
    char                    *note;     /* "from step 0", or NULL             */
    char                    *key;      /* equal keys are one group           */
    size_t                   place;
} item;

typedef struct item_list {
    item  *items;
    size_t count, room;
    size_t *groups;                    /* [group_count + 1] where each begins, once grouped */
    size_t group_count;
    uint64_t bytes;
} item_list;

enum { NUMBERS = 8 };                  /* of a name that may differ within a group */

/* A name with its first numbers as '#'. */
static char *skeleton(const char *name)
{
    char *made = room_for(strlen(name) + 1, 1), *to = made;
    for (int numbers = 0; *name != '\0';) {
        if (*name >= '0' && *name <= '9' && numbers < NUMBERS) {
            ++numbers;
            while (*name >= '0' && *name <= '9') ++name;
            *to++ = '#';
        } else {
            *to++ = *name++;
        }
    }
    return made;
}

static void add_item(item_list *list, const qnnrt_tensor_info *tensor, const qnnrt_edge_info *edge, char *note)
{
    list->items = room_for_more(list->items, list->count, &list->room, sizeof(*list->items));
    char *from = skeleton(tensor->name), *to = edge != NULL ? skeleton(edge->to->name) : text("%s", "");
    char *dims = dims_text(tensor);
    const item made = {tensor, edge, note, text("%s|%s|%s|%x|%s|%s", from, to, dims, (unsigned)tensor->dtype,
                       note != NULL ? note : "", edge != NULL ? edge->reason : ""), list->count};
    list->items[list->count++] = made;
    list->bytes += tensor->bytes;
    free(from);
    free(to);
    free(dims);
}

static int compare_keys(const void *a, const void *b)
{
    const item *x = a, *y = b;
    const int order = strcmp(x->key, y->key);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* Bring groups of two and more together, at the place of their first; all others stay alone. */
static void group_items(item_list *list)
{
    enum { FEWEST = 2 };
    item *items = list->items;
    size_t *place = room_for(list->count, sizeof(*place));
    if (list->count > 1) qsort(items, list->count, sizeof(*items), compare_keys);
    for (size_t i = 0, next = 0; i < list->count; i = next) {
        next = i + 1;
        while (next < list->count && strcmp(items[next].key, items[i].key) == 0) ++next;
        for (size_t k = i; next - i >= FEWEST && k < next; ++k) place[k] = items[i].place + 1;
    }
    /* place: 0, or one more than the place of the group's first. */
    size_t *order = room_for(list->count, sizeof(*order));
    item *sorted = room_for(list->count, sizeof(*sorted));
    for (size_t i = 0; i < list->count; ++i) order[items[i].place] = i;
    list->groups = room_for(list->count + 1, sizeof(*list->groups));
    size_t used = 0;
    for (size_t p = 0; p < list->count; ++p) {
        const size_t i = order[p];
        if (place[i] != 0 && place[i] - 1 != p) continue;        /* within a group that came before */
        list->groups[list->group_count++] = used;
        sorted[used++] = items[i];
        for (size_t k = i + 1; place[i] != 0 && k < list->count && place[k] == place[i]; ++k)
            sorted[used++] = items[k];
    }
    list->groups[list->group_count] = used;
    free(list->items);
    free(order);
    free(place);
    list->items = sorted;
    list->room = list->count;
}

static void free_items(item_list *list)
{
    for (size_t i = 0; i < list->count; ++i) {
        free(list->items[i].note);
        free(list->items[i].key);
    }
    free(list->items);
    free(list->groups);
    memset(list, 0, sizeof(*list));
}

static const char *item_name(const item *i, int to)
{
    return to && i->edge != NULL ? i->edge->to->name : i->tensor->name;
}

/* "past_key_[8..11]_in" for a group, shown(). */
static char *group_name(const item *items, size_t count, int to)
{
    page p = {NULL, 0, 0};
    const char *first = item_name(&items[0], to);
    size_t number = 0;
    for (const char *s = first; *s != '\0';) {
        if (*s < '0' || *s > '9' || number >= NUMBERS) {
            page_bytes(&p, s++, 1);
            continue;
        }
        const char *begin = s;
        while (*s >= '0' && *s <= '9') ++s;
        uint64_t least = UINT64_MAX, most = 0;
        for (size_t i = 0; i < count; ++i) {     /* the same number in each name */
            const char *other = item_name(&items[i], to);
            uint64_t value = 0;
            for (size_t n = 0;; ++n) {
                while (*other < '0' || *other > '9') ++other;
                for (value = 0; *other >= '0' && *other <= '9'; ++other)
                    value = value < UINT64_MAX / 16 ? value * 10 + (uint64_t)(*other - '0') : value;
                if (n == number) break;
            }
            if (value < least) least = value;
            if (value > most) most = value;
        }
        if (least == most) page_bytes(&p, begin, (size_t)(s - begin));
        else page_add(&p, "[%llu..%llu]", (unsigned long long)least, (unsigned long long)most);
        ++number;
    }
    char *made = shown(p.data != NULL ? p.data : "");
    free(p.data);
    return made;
}

/* What is around a step of a pipeline: [0] from the caller or an earlier step, [1] from the step before,
   [2] to the caller or a later step. */
typedef struct around { item_list lists[SIDES]; } around;

/* Is it one of this list? The addresses tell, however long it is. */
static int is_of(const qnnrt_tensor_info *tensor, const qnnrt_tensor_info *list, size_t count)
{
    return count != 0 && (uintptr_t)tensor >= (uintptr_t)list && (uintptr_t)tensor <= (uintptr_t)&list[count - 1];
}

static void look_around(const qnnrt_pipeline_info *info, size_t step, around *out)
{
    const qnnrt_graph_info *g = info->steps[step].graph;
    const qnnrt_edge_info **into = room_for(g->input_count, sizeof(*into));
    const qnnrt_edge_info **from = room_for(g->output_count, sizeof(*from));
    int *near = room_for(g->output_count, sizeof(*near));        /* 1: the next step reads it */
    char **readers = room_for(g->output_count, sizeof(*readers));
    memset(out, 0, sizeof(*out));
    for (size_t e = 0; e < info->edge_count; ++e) {
        const qnnrt_edge_info *edge = &info->edges[e];
        if (edge->to_step == step && is_of(edge->to, g->inputs, g->input_count)) into[edge->to - g->inputs] = edge;
        if (edge->from_step != step || !is_of(edge->from, g->outputs, g->output_count)) continue;
        const size_t at = (size_t)(edge->from - g->outputs);
        from[at] = edge;
        if (edge->to_step == step + 1) near[at] = 1;
        char *longer = readers[at] == NULL ? text("to step %lu", (unsigned long)edge->to_step)
                                           : text("%s, %lu", readers[at], (unsigned long)edge->to_step);
        free(readers[at]);
        readers[at] = longer;
    }
    for (size_t i = 0; i < g->input_count; ++i) {
        const qnnrt_edge_info *edge = into[i];
        const qnnrt_tensor_info *tensor = &g->inputs[i];
        if (edge == NULL)
            add_item(&out->lists[SIDE_INPUT], tensor, NULL, NULL);
        else if (edge->from_step + 1 == step)
            add_item(&out->lists[SIDE_EDGE], edge->from, edge, NULL);
        else
            add_item(&out->lists[SIDE_INPUT], tensor, edge,
                     text("from step %lu: %s", (unsigned long)edge->from_step, edge->reason));
    }
    for (size_t i = 0; i < g->output_count; ++i) {
        if (from[i] == NULL) {
            add_item(&out->lists[SIDE_OUTPUT], &g->outputs[i], NULL, NULL);
        } else if (!near[i] || strchr(readers[i], ',') != NULL) {
            add_item(&out->lists[SIDE_OUTPUT], &g->outputs[i], from[i], readers[i]);
            readers[i] = NULL;
        }
    }
    for (size_t i = 0; i < g->output_count; ++i) free(readers[i]);
    for (size_t s = 0; s < SIDES; ++s) group_items(&out->lists[s]);
    free((void *)into);
    free((void *)from);
    free(near);
    free(readers);
}

/* "1x8x48 ufixed16", with a times sign. To be freed. */
static char *shape_text(const qnnrt_tensor_info *tensor)
{
    page p = {NULL, 0, 0};
    if (tensor->rank == 0) page_text(&p, "scalar");
    for (uint32_t d = 0; d < tensor->rank; ++d)
        page_add(&p, "%s%lu", d > 0 ? "\xC3\x97" : "", (unsigned long)tensor->dims[d]);
    page_add(&p, " %s", qnnrt_dtype_name(tensor->dtype));
    return p.data;
}

/* =====================================================================================
   FLOW                                                                             >>flow
   Pipelines from top to bottom: a bar for each step; above it what it takes, below it what
   it gives, between two bars what goes from one to the other.
   ===================================================================================== */

enum { CARD_WIDTH = 296, CARD_GAP = 16, CARD_LINES = 14, BAR_HEIGHT = 50, ARROW = 24, LEAST_WIDTH = 640 };

typedef struct flow {
    page   body;
    double y, width;                   /* next free y; of the whole picture */
    int    columns[SIDES];             /* x of the column of each side      */
} flow;

/* Lines of one entry of a card. */
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

/* The whole of a group, for hover. */
static void entry_title(page *p, const item *items, size_t count)
{
    enum { LISTED = 40 };
    page s = {NULL, 0, 0};
    for (size_t i = 0; i < count && i < LISTED; ++i) {
        char *name = shown(items[i].tensor->name), *shape = shape_text(items[i].tensor);
        char *encoding = encoding_text(&items[i].tensor->quant), *bytes = human_bytes(items[i].tensor->bytes);
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
        times = text("\xC3\x97 %lu", (unsigned long)count);
        svg_text(p, x + CARD_WIDTH - 26, y, "bold end", 12, times);
        room -= columns_in(times) + 2;
    }
    svg_text(p, x, y, joined && which != SIDE_EDGE ? "bold t-edge" : "bold", room, name);
    if (which == SIDE_EDGE && strcmp(first->edge->to->name, first->edge->from->name) != 0) {
        char *to = group_name(items, count, 1), *line = text("\xE2\x86\x92 %s", to);
        svg_text(p, x, y += 14.5, "bold", (size_t)NAME_COLUMNS, line);
        free(to);
        free(line);
    }
    char *line = text("%s, %s%s", shape, bytes, count > 1 ? " each" : "");
    svg_text(p, x, y += 14.5, "meta", META_COLUMNS, line);
    free(line);
    if (which == SIDE_EDGE && first->tensor->quant.encoding != QNNRT_ENCODING_NONE) {
        char *encoding = count > 1 ? text("%s", "quantized, see each") : encoding_text(&first->tensor->quant);
        svg_text(p, x, y += 14.5, "meta", META_COLUMNS, encoding);
        free(encoding);
    }
    if (which == SIDE_EDGE) {
        char *reason = shown(first->edge->reason), *why = text("wired: %s", reason);
        svg_text(p, x, y += 14.5, "meta t-edge", META_COLUMNS, why);
        free(reason);
        free(why);
    } else if (first->note != NULL) {
        char *note = shown(first->note);
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
    size_t joined = 0;                           /* edges over more than one step */
    for (size_t i = 0; which != SIDE_EDGE && i < list->count; ++i) joined += list->items[i].edge != NULL;
    char *bytes = human_bytes(list->bytes);
    const char *far = which == SIDE_INPUT ? "from earlier steps" : "for later steps";
    char *head = joined < list->count ? text("%lu %s%s", all, side_names[which], all == 1 ? "" : "s")
                                      : text("%lu %s", all, far);
    char *style = text("head t-%s", side_names[which]), *end = text("head end t-%s", side_names[which]);
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
        char *more = text("and %lu more", (unsigned long)(list->count - list->groups[shown_groups(list)]));
        svg_text(p, x + 13, at + 13, "meta", 30, more);
        free(more);
    }
    page_text(p, "</g>\n");
    free(bytes);
    free(head);
    free(style);
    free(end);
}

static void draw_bar(flow *f, const qnnrt_pipeline_info *info, size_t step)
{
    page *p = &f->body;
    const qnnrt_step_info *s = &info->steps[step];
    const qnnrt_context_info *context = &qnnrt_contexts(s->model, NULL)[s->context];
    const double width = f->width - 2 * MARGIN;
    const size_t columns = (size_t)((width - 84 - 14) / 7.9);
    char *graph = shown(s->graph->name), *file = step_file(s), *number = text("%lu", (unsigned long)step);
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
    svg_card(p, "step", MARGIN, f->y, width, BAR_HEIGHT, 8);
    svg_title(p, title.data);
    svg_text(p, MARGIN + 40, f->y + 20, "dim mid", 6, "step");
    svg_text(p, MARGIN + 40, f->y + 38, "on bold mid", 8, number);
    svg_text(p, MARGIN + 84, f->y + 21, "on bold", columns, graph);
    svg_text(p, MARGIN + 84, f->y + 38, "dim", columns, facts.data);
    page_text(p, "</g>\n");
    f->y += BAR_HEIGHT;
    free(graph);
    free(file);
    free(number);
    free(facts.data);
    free(title.data);
}

/* What lies between two bars, above the first (above NULL), or below the last (below NULL). */
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
        const double x = alone ? (f->width - CARD_WIDTH) / 2 : f->columns[s], middle = x + CARD_WIDTH / 2.0;
        const double y = s == SIDE_INPUT    ? first + tallest - heights[s]
                         : s == SIDE_OUTPUT ? first
                                            : first + (tallest - heights[s]) / 2;
        if (s != SIDE_INPUT) arrow(&f->body, middle, top, y);
        if (s != SIDE_OUTPUT) arrow(&f->body, middle, y + heights[s], bottom);
        draw_card(&f->body, x, y, lists[s], (side)s);
    }
    f->y = bottom;
}

/* A text of several lines, cut at blanks. */
static void draw_failure(flow *f, const char *failure)
{
    const double width = f->width - 2 * MARGIN;
    const size_t columns = (size_t)((width - 26) / 6.8);
    page lines = {NULL, 0, 0};
    double y = f->y + 19;
    size_t rows = 0;
    char *rest = text("not wired: %s", failure), *at = rest;
    while (*at != '\0' && rows < 12) {
        size_t length = strcspn(at, "\n");
        char *line = text("%.*s", (int)length, at), *fit = shown(line);
        while (columns_in(fit) > columns) {      /* back to the last blank, or cut */
            size_t cut = length - 1;
            while (cut > columns / 2 && at[cut] != ' ') --cut;
            while (cut > 1 && ((unsigned char)at[cut] & 0xC0) == 0x80) --cut;
            length = cut > 0 ? cut : 1;
            free(line);
            free(fit);
            line = text("%.*s", (int)length, at);
            fit = shown(line);
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
    char *name = shown(info->name);
    size_t inputs = 0, outputs = 0;
    for (size_t i = 0; i < info->slot_count; ++i) {
        inputs += info->slots[i].role == QNNRT_ROLE_INPUT;
        outputs += info->slots[i].role == QNNRT_ROLE_OUTPUT;
    }
    svg_text(&f->body, MARGIN, f->y + 16, "h1", columns, name);
    page about = {NULL, 0, 0};
    const struct { const char *what; size_t count; } counts[] = {
        {"step", info->step_count}, {"input", inputs}, {"edge", info->edge_count}, {"output", outputs}
    };
    for (size_t i = 0; i < (info->failure != NULL ? 1u : 4u); ++i)
        page_add(&about, "%s%lu %s%s", i == 0 ? "pipeline: " : ", ", (unsigned long)counts[i].count, counts[i].what,
                 counts[i].count == 1 ? "" : "s");
    svg_text(&f->body, MARGIN, f->y + 35, "meta", 90, about.data);
    f->y += 52;
    if (info->failure != NULL) draw_failure(f, info->failure);
    for (size_t s = 0; s < info->step_count; ++s) {
        draw_between(f, s > 0 ? &all[s - 1].lists[SIDE_OUTPUT] : NULL, &all[s]);
        draw_bar(f, info, s);
    }
    if (info->step_count > 0) draw_between(f, &all[info->step_count - 1].lists[SIDE_OUTPUT], NULL);
    free(name);
    free(about.data);
}

static around *look_at(const qnnrt_pipeline_info *info)
{
    around *all = room_for(info->step_count, sizeof(*all));
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
    flow f = {{NULL, 0, 0}, MARGIN, 0, {0, 0, 0}};
    int used[SIDES] = {0, 1, 0}, x = MARGIN;
    if (t->set.svg == NULL) return;
    around **all = room_for(t->job_count, sizeof(*all));
    for (size_t i = 0; i < t->job_count; ++i) {  /* which columns there are between bars */
        const qnnrt_pipeline_info *info = t->jobs[i].info;
        all[i] = look_at(info);
        for (size_t s = 0; s < info->step_count; ++s) {
            if (s > 0 && all[i][s].lists[SIDE_INPUT].count > 0) used[SIDE_INPUT] = 1;
            if (s + 1 < info->step_count && all[i][s].lists[SIDE_OUTPUT].count > 0) used[SIDE_OUTPUT] = 1;
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
    svg_write(t, t->set.svg, &f.body, f.width, f.y + MARGIN);
    free(all);
    free(f.body.data);
}

/* =====================================================================================
   ARENA                                                                           >>arena
   A plan: steps to the right, offsets upwards, a rectangle for each block.
   ===================================================================================== */

enum { ARENA_WIDTH = 960, PLOT_LEFT = 104, PLOT_WIDTH = 690 };

/* Higher for many blocks. */
static double plot_height(const qnnrt_plan_info *plan)
{
    return plan->block_count <= 24 ? 400 : 600;
}

/* Distance of the marks of the axis: a power of two, at most seven of them. */
static uint64_t tick_of(uint64_t peak)
{
    uint64_t tick = 1;
    while (peak / tick > 6 && tick < UINT64_MAX / 4) tick *= 2;
    return tick;
}

/* "1.5 KiB": exact, as ticks are powers of two. To be freed. */
static char *tick_text(uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit < 6; ++unit) value /= 1024;
    return bytes == 0 ? text("0") : text("%.4g %s", value, units[unit]);
}

static double arena_y(const qnnrt_plan_info *plan, double bottom, uint64_t offset)
{
    return bottom - (double)offset / (double)(plan->peak != 0 ? plan->peak : 1) * plot_height(plan);
}

static void draw_block(page *p, const job *j, const qnnrt_plan_block *block, double column, double bottom)
{
    const char *kind = block_kind(j, block);
    const double x = PLOT_LEFT + column * block->first, width = column * (block->last - block->first + 1);
    const double top = arena_y(j->plan_info, bottom, block->offset + block->bytes);
    const double height = arena_y(j->plan_info, bottom, block->offset) - top;
    const double inset = height >= 3 ? 0.5 : 0;
    const size_t columns = width > 16 ? (size_t)((width - 14) / (height >= 17 ? 7.3 : 6.1)) : 0;
    char *name = block_name(j, block), *bytes = human_bytes(block->bytes), *exact = grouped(block->bytes);
    char *offset = grouped(block->offset);
    const char *kept = block->kept ? ", kept between calls" : "";
    char *title = text("%s\n%s%s, %s bytes at %s, steps %lu to %lu", name, kind, kept, exact, offset,
                       (unsigned long)block->first, (unsigned long)block->last);
    /* What keeps its content stays taken after its last step. */
    const size_t left = j->info->step_count > block->last + 1u ? j->info->step_count - block->last - 1 : 0;
    if (block->kept && left > 0)
        svg_box(p, "rest", x + width, top + inset, column * (double)left - 1, height - 2 * inset, 0);
    char *style = text("block %s%s", inset > 0 ? "" : "thin ", kind);
    svg_card(p, style, x + 1, top + inset, width - 2 > 0.5 ? width - 2 : 0.5, height - 2 * inset, height >= 8 ? 2 : 0);
    free(style);
    svg_title(p, title);
    if (height >= 14 && (columns_in(name) <= columns || columns >= 10)) {
        const int two = height >= 34 && columns_in(bytes) <= columns;
        const double middle = top + height / 2;
        style = text("%s t-%s", height >= 17 ? "bold" : "tiny", kind);
        svg_text(p, x + 8, two ? middle - 3 : middle + (height >= 17 ? 4 : 3.5), style, columns, name);
        if (two) svg_text(p, x + 8, middle + 12, "meta", columns, bytes);
        free(style);
    }
    page_text(p, "</g>\n");
    free(name);
    free(bytes);
    free(exact);
    free(offset);
    free(title);
}

static void draw_axes(page *p, const job *j, double column, double top, double bottom)
{
    const qnnrt_plan_info *plan = j->plan_info;
    const size_t steps = j->info->step_count;
    const uint64_t tick = tick_of(plan->peak);
    for (uint64_t at = 0; at <= plan->peak; at += tick) {
        const double y = arena_y(plan, bottom, at);
        char *label = tick_text(at);
        page_add(p, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", PLOT_LEFT, y, PLOT_LEFT + PLOT_WIDTH);
        svg_text(p, PLOT_LEFT - 8, y + 4, "meta end", 10, label);
        free(label);
        if (plan->peak - at < tick) break;
    }
    const size_t every = (size_t)(34 / column) + 1;      /* numbers that do not touch */
    for (size_t s = 0; s < steps; ++s) {
        const double x = PLOT_LEFT + column * (double)s;
        if (s > 0 && column >= 4) page_add(p, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x, top, bottom);
        if (s % every != 0) continue;
        const qnnrt_step_info *step = &j->info->steps[s];
        char *file = step_file(step);
        char *number = text("%lu", (unsigned long)s), *both = text("%s  %s", number, file);
        const int fits = (double)columns_in(both) * 6.8 + 8 < column;
        svg_text(p, x + column / 2, bottom + 17, "meta mid", fits ? 100 : 6, fits ? both : number);
        free(file);
        free(number);
        free(both);
    }
    page_add(p, "<path class=\"axis\" fill=\"none\" d=\"M%d %.1fV%.1fH%d\"/>\n", PLOT_LEFT, top, bottom,
             PLOT_LEFT + PLOT_WIDTH);
    svg_text(p, PLOT_LEFT + PLOT_WIDTH / 2.0, bottom + 35, "meta mid", 60, "step of the pipeline");
    page_add(p, "<text class=\"meta mid\" transform=\"translate(22 %.1f) rotate(-90)\">", (top + bottom) / 2);
    page_text(p, "offset in the arena</text>\n");
}

/* Peak and bound, with their labels at the right; one line when they are equal. */
static void draw_limits(page *p, const qnnrt_plan_info *plan, double bottom)
{
    const double right = PLOT_LEFT + PLOT_WIDTH, peak = arena_y(plan, bottom, plan->peak);
    const double bound = arena_y(plan, bottom, plan->bound);
    const int equal = plan->peak == plan->bound;
    char *peak_bytes = human_bytes(plan->peak), *bound_bytes = human_bytes(plan->bound);
    if (!equal) page_add(p, "<path class=\"peak\" d=\"M%d %.1fH%.1f\"/>\n", PLOT_LEFT, peak, right + 8);
    page_add(p, "<path class=\"bound\" d=\"M%d %.1fH%.1f\"/>\n", PLOT_LEFT, bound, right + 8);
    svg_text(p, right + 14, peak + 4, equal ? "head t-bad" : "head", 20, equal ? "peak = lower bound" : "peak");
    svg_text(p, right + 14, peak + 19, "meta", 20, peak_bytes);
    if (!equal) {
        const double y = bound > peak + 34 ? bound : peak + 34;
        svg_text(p, right + 14, y + 4, "head t-bad", 20, "lower bound");
        svg_text(p, right + 14, y + 19, "meta", 20, bound_bytes);
    }
    free(peak_bytes);
    free(bound_bytes);
}

/* One colour of the legend; returns where the next one begins. */
static double draw_key(page *p, double x, double y, const char *style, const char *label)
{
    svg_box(p, style, x + 0.5, y - 10.5, 14, 12, 2);
    svg_text(p, x + 21, y, "meta", 40, label);
    return x + 21 + 6.8 * (double)strlen(label) + 22;
}

static void draw_legend(page *p, const job *j, double y)
{
    static const struct { const char *kind, *label; int kept; } kinds[] = {
        {"input", "input, stays between calls", 1}, {"input", "input", 0}, {"edge", "edge between steps", 0},
        {"output", "output", 0}, {"buffer", "buffer", 1}
    };
    double x = PLOT_LEFT;
    int rest = 0;                                /* does a block stay after its last step? */
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); ++k) {
        int there = 0;
        for (size_t b = 0; b < j->plan_info->block_count; ++b) {
            const qnnrt_plan_block *block = &j->plan_info->blocks[b];
            const int kept = block->kept != 0;
            there |= strcmp(block_kind(j, block), kinds[k].kind) == 0 && kept == kinds[k].kept;
            rest |= kept && block->last + 1u < j->info->step_count;
        }
        if (there) x = draw_key(p, x, y, kinds[k].kind, kinds[k].label);
    }
    if (rest) draw_key(p, x, y, "rest", "kept after its last use");
}

/* One panel; returns the y below it. */
static double draw_arena(page *p, const job *j, double y)
{
    const qnnrt_plan_info *plan = j->plan_info;
    char *name = shown(j->info->name);
    svg_text(p, MARGIN, y + 16, "h1", (ARENA_WIDTH - 2 * MARGIN) * 10 / 93, name);
    free(name);
    if (plan == NULL) {
        char *line = text("%.*s", (int)strcspn(j->error != NULL ? j->error : "no plan", "\n"),
                          j->error != NULL ? j->error : "no plan");
        char *reason = shown(line);
        svg_text(p, MARGIN, y + 35, "meta t-bad", (size_t)((ARENA_WIDTH - 2 * MARGIN) * 10 / 68), reason);
        free(line);
        free(reason);
        return y + 60;
    }
    const size_t steps = j->info->step_count;
    const double column = (double)PLOT_WIDTH / (double)(steps != 0 ? steps : 1);
    const double top = y + 92, bottom = top + plot_height(plan);
    char *peak = human_bytes(plan->peak), *bound = human_bytes(plan->bound), *naive = human_bytes(plan->naive);
    size_t thin = 0;
    for (size_t b = 0; b < plan->block_count; ++b)
        thin += (double)plan->blocks[b].bytes / (double)(plan->peak != 0 ? plan->peak : 1) * plot_height(plan) < 1;
    page about = {NULL, 0, 0};
    page_add(&about, "memory plan: %lu block%s in %s; lower bound %s, one after another %s", (unsigned long)plan->block_count,
             plan->block_count == 1 ? "" : "s", peak, bound, naive);
    if (thin > 0) page_add(&about, "; %lu of them under 1 px high", (unsigned long)thin);
    svg_text(p, MARGIN, y + 35, "meta", (size_t)((ARENA_WIDTH - 2 * MARGIN) * 10 / 68), about.data);
    draw_legend(p, j, y + 62);
    draw_axes(p, j, column, top - 10, bottom);
    const qnnrt_plan_block **blocks = sorted_blocks(plan);
    for (size_t b = 0; b < plan->block_count; ++b) draw_block(p, j, blocks[b], column, bottom);
    draw_limits(p, plan, bottom);
    free((void *)blocks);
    free(peak);
    free(bound);
    free(naive);
    free(about.data);
    return bottom + 44;
}

static void write_arena(tool *t)
{
    page body = {NULL, 0, 0};
    double y = MARGIN;
    if (t->set.svg == NULL) return;
    for (size_t i = 0; i < t->job_count; ++i) y = draw_arena(&body, &t->jobs[i], i > 0 ? y + 36 : y);
    svg_write(t, t->set.svg, &body, ARENA_WIDTH, y + MARGIN - 8);
    free(body.data);
}

/* =====================================================================================
   DOT                                                                               >>dot
   The same pipelines for Graphviz.
   ===================================================================================== */

/* Within quotes. Graphviz knows escapes and entities there: both are taken from the name. */
static void dot_text(page *p, const char *s)
{
    for (; *s != '\0'; ++s) {
        if (*s == '"' || *s == '\\') page_add(p, "\\%c", *s);
        else if (*s == '&') page_text(p, "&amp;");
        else page_bytes(p, s, 1);
    }
}

/* The label of a group of tensors. */
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

static void dot_pipeline(page *p, const qnnrt_pipeline_info *info, size_t index)
{
    static const char *const colors[SIDES] = {"#dbe9f6", "#fde3c4", "#d5edd3"};
    char *name = shown(info->name);
    around *all = look_at(info);
    page_add(p, "  subgraph cluster_%lu {\n    label=\"", (unsigned long)index);
    dot_text(p, name);
    if (info->failure != NULL) {
        char *failure = shown(info->failure);
        page_text(p, "\\nnot wired: ");
        dot_text(p, failure);
        free(failure);
    }
    page_text(p, "\";\n");
    for (size_t s = 0; s < info->step_count; ++s) {
        const qnnrt_step_info *step = &info->steps[s];
        char *file = step_file(step), *graph = shown(step->graph->name);
        char *node = text("p%lu_s%lu", (unsigned long)index, (unsigned long)s);
        page_add(p, "    %s [fillcolor=\"#24344d\", fontcolor=white, label=\"step %lu\\n", node, (unsigned long)s);
        dot_text(p, graph);
        page_text(p, "\\n");
        dot_text(p, file);
        page_text(p, "\"];\n");
        for (size_t k = 0; k < SIDES; ++k) {
            const item_list *list = &all[s].lists[k];
            for (size_t g = 0; g < list->group_count; ++g) {
                const item *items = &list->items[list->groups[g]];
                const size_t count = list->groups[g + 1] - list->groups[g];
                const qnnrt_edge_info *edge = items[0].edge;
                if (k == SIDE_OUTPUT && edge != NULL) continue;          /* drawn where it is read */
                if (edge != NULL) {
                    page_add(p, "    p%lu_s%lu -> %s [label=\"", (unsigned long)index, (unsigned long)edge->from_step,
                             node);
                    dot_label(p, items, count);
                    page_text(p, "\"];\n");
                    continue;
                }
                page_add(p, "    %s_%s%lu [fillcolor=\"%s\", label=\"", node, side_names[k], (unsigned long)g,
                         colors[k]);
                dot_label(p, items, count);
                page_text(p, "\"];\n");
                if (k == SIDE_INPUT) page_add(p, "    %s_input%lu -> %s;\n", node, (unsigned long)g, node);
                else page_add(p, "    %s -> %s_output%lu;\n", node, node, (unsigned long)g);
            }
        }
        free(file);
        free(graph);
        free(node);
    }
    page_text(p, "  }\n");
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
