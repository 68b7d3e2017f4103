/* run_svg.h - a part of qnnrt-run.c: what both pictures and the graph for Graphviz share

   Names may be hostile: cli_shown() first, then the escapes of the format. A text is cut to the
   columns of its place, and the whole text is in the <title> that a browser shows on hover. A
   picture is one file without scripts, and it loads nothing.

   ROOMS    >>svg >>groups                                                                       */

/* =====================================================================================
   SVG                                                                             >>svg
   Texts that fit their place; frame and style of both pictures.
   ===================================================================================== */

/* PICTURE: the width of a picture, which is that of text in a README. */
enum { PICTURE = 830, MARGIN = 20, PLACE_COLOURS = 4 };

/* Return the columns of a character of `length` bytes, each 0.6 of the font size wide: what is
   beyond Latin, Greek and the like counts twice. */
static size_t columns_of(const char *s, size_t length)
{
    (void)s;
    return length > 2 ? 2 : 1;
}

static size_t columns_in(const char *s)
{
    size_t columns = 0;
    while (*s != '\0') {
        const size_t length = qnnrt_utf8_length(s, NULL);
        columns += columns_of(s, length);
        s += length != 0 ? length : 1;
    }
    return columns;
}

/* Shorten a text in the middle, where names differ least from each other. `s` comes from
   cli_shown(). The caller frees the result. */
static char *shortened(const char *s, size_t columns)
{
    if (columns_in(s) <= columns) return cli_text("%s", s);
    const size_t room = columns > 1 ? columns - 1 : 0, head = room * 3 / 5;
    size_t used = 0, at = 0, tail = strlen(s), back = 0;
    while (s[at] != '\0') {
        const size_t length = qnnrt_utf8_length(s + at, NULL), width = columns_of(s + at, length);
        if (used + width > head) break;
        used += width;
        at += length != 0 ? length : 1;
    }
    while (tail > at) {                          /* go back one character */
        size_t begin = tail - 1;
        while (begin > at && ((unsigned char)s[begin] & 0xC0) == 0x80) --begin;
        const size_t width = columns_of(s + begin, tail - begin);
        if (used + back + width > room) break;
        back += width;
        tail = begin;
    }
    return cli_text("%.*s\xE2\x80\xA6%s", (int)at, s, s + tail);
}

/* Write text from cli_shown() as XML. */
static void xml_text(page *p, const char *s)
{
    while (*s != '\0') {
        const size_t length = qnnrt_utf8_length(s, NULL);
        if (*s == '<') page_text(p, "&lt;");
        else if (*s == '>') page_text(p, "&gt;");
        else if (*s == '&') page_text(p, "&amp;");
        else if (*s == '"') page_text(p, "&quot;");
        else if (length == 0) page_text(p, "\xEF\xBF\xBD");
        else page_bytes(p, s, length);
        s += length != 0 ? length : 1;
    }
}

/* Write one line of at most `columns`. style: classes of the style sheet below; `s` comes from
   cli_shown(). */
static void svg_text(page *p, double x, double y, const char *style, size_t columns, const char *s)
{
    char *fitted = shortened(s, columns);
    page_add(p, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, style);
    xml_text(p, fitted);
    page_text(p, "</text>\n");
    free(fitted);
}

/* Draw a rectangle. round: radius of its corners. */
static void svg_box(page *p, const char *style, double x, double y, double width, double height,
                    double round)
{
    page_add(p, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", style, x,
             y, width, height);
    if (round > 0) page_add(p, " rx=\"%.0f\"", round);
    page_text(p, "/>\n");
}

/* Open a box with texts in it; close it with "</g>\n". */
static void svg_card(page *p, const char *style, double x, double y, double width, double height,
                     double round)
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

/* The style of all pictures, and of those in a report: what holds always, and what differs where
   the reader prefers dark pages. */
static const struct { const char *selector, *light, *dark; } svg_styles[] = {
    {"text", "font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', "
     "monospace; fill: #1d2733; white-space: pre", "fill: #e6edf3"},
    {".paper", "fill: #ffffff", "fill: #0d1117"},
    {".h1", "font-size: 15px; font-weight: bold", NULL},
    {".meta", "font-size: 11px; fill: #55636f", "fill: #9dabb9"},
    {".tiny", "font-size: 10px; fill: #55636f", "fill: #9dabb9"},
    {".head", "font-size: 11px; font-weight: bold", NULL},
    {".end", "text-anchor: end", NULL},
    {".mid", "text-anchor: middle", NULL},
    {".bold", "font-weight: bold", NULL},
    {".on", "fill: #ffffff", "fill: #ffffff"},
    {".dim", "fill: #cfd9e4; font-size: 11px", "fill: #cfd9e4"},
    {".step", "fill: #24344d", "fill: #2b4468"},
    {".input", "fill: #dbe9f6; stroke: #5b8db8", "fill: #12283d; stroke: #4c82b3"},
    {".t-input", "fill: #24557f", "fill: #8cc3f0"},
    {".edge", "fill: #fde3c4; stroke: #d98324", "fill: #38250d; stroke: #c4802c"},
    {".t-edge", "fill: #8f4b06", "fill: #f2b56b"},
    {".output", "fill: #d5edd3; stroke: #55a257", "fill: #12301a; stroke: #4b9a54"},
    {".t-output", "fill: #25682a", "fill: #84d490"},
    {".buffer", "fill: #e6dbf0; stroke: #8e6bb0", "fill: #291c38; stroke: #8d6bb3"},
    {".t-buffer", "fill: #5a3980", "fill: #cbaeea"},
    {".cache", "fill: #e6dbf0; stroke: #8e6bb0", "fill: #291c38; stroke: #8d6bb3"},
    {".t-cache", "fill: #5a3980", "fill: #cbaeea"},
    {".rest", "fill: #eef4fa", "fill: #15202b"},
    {".gone", "fill: #eef4fa; stroke: #b9c6d6", "fill: #15202b; stroke: #4a5866"},
    {".bad", "fill: #fbe3e1; stroke: #c9433a", "fill: #3b1614; stroke: #e0564c"},
    {".t-bad", "fill: #a32820", "fill: #ff968e"},
    {".broken", "stroke: #c9433a; stroke-width: 2; stroke-dasharray: 5 4; fill: none",
     "stroke: #e0564c"},
    {".thin", "stroke: none", NULL},
    {".thin.input", "fill: #5b8db8; stroke: none", "fill: #4c82b3"},
    {".thin.edge", "fill: #d98324; stroke: none", "fill: #c4802c"},
    {".thin.output", "fill: #55a257; stroke: none", "fill: #4b9a54"},
    {".thin.buffer", "fill: #8e6bb0; stroke: none", "fill: #8d6bb3"},
    {".arrow", "stroke: #66788c; stroke-width: 1.5; fill: none", "stroke: #8494a5"},
    {".tip", "fill: #66788c", "fill: #8494a5"},
    {".lead", "stroke: #9aa8b6; fill: none", "stroke: #66788c"},
    {".wire", "stroke: #66788c; fill: none; opacity: 0.6", "stroke: #8494a5"},
    {".window", "fill: none; stroke: #66788c; stroke-dasharray: 3 3", "stroke: #8494a5"},
    {".grid", "stroke: #e3e9ee", "stroke: #242c35"},
    {".axis", "stroke: #66788c", "stroke: #8494a5"},
    {".peak", "stroke: #1d2733; stroke-width: 1.5", "stroke: #e6edf3"},
    {".bound", "stroke: #c9433a; stroke-width: 1.5; stroke-dasharray: 6 4", "stroke: #e0564c"},
    {".place0", "fill: #24344d", "fill: #2b4468"},
    {".place1", "fill: #0c5c5c", "fill: #0f6262"},
    {".place2", "fill: #5b2f63", "fill: #67386f"},
    {".place3", "fill: #6b4a1b", "fill: #74521f"},
    {".host", "fill: #f4efdc; stroke: #a08a3c", "fill: #2e2810; stroke: #a08a3c"},
    {".rail", "stroke: #a08a3c; fill: none", "stroke: #a08a3c"},
    {".convert", "fill: #fbe2ec; stroke: #b8487a", "fill: #361523; stroke: #c0507f"},
    {".op0", "fill: #a9d0f2", "fill: #1d4f7c"},
    {".op1", "fill: #f8cf98", "fill: #7a4a12"},
    {".op2", "fill: #aee0ac", "fill: #24602c"},
    {".op3", "fill: #d8c5ee", "fill: #553478"},
    {".op4", "fill: #f5bcbc", "fill: #7c2b2b"},
    {".op5", "fill: #aee3e2", "fill: #155c5b"},
    {".op6", "fill: #e9e2a4", "fill: #625a12"},
    {".op7", "fill: #d9dfe5", "fill: #38424d"},
    {".n-step", "fill: #ffffff", "fill: #ffffff"},
    {".n-place1", "fill: #ffffff", "fill: #ffffff"},
    {".n-op0", "fill: #1d2733", "fill: #f0f4f8"},
    {".n-op1", "fill: #1d2733", "fill: #f0f4f8"},
    {".n-op2", "fill: #1d2733", "fill: #f0f4f8"},
    {".n-op3", "fill: #1d2733", "fill: #f0f4f8"},
    {".n-op4", "fill: #1d2733", "fill: #f0f4f8"},
    {".n-op5", "fill: #1d2733", "fill: #f0f4f8"},
    {".n-op6", "fill: #1d2733", "fill: #f0f4f8"},
    {".n-op7", "fill: #1d2733", "fill: #f0f4f8"},
    {".bare", "fill: none", "fill: none"}
};

/* Write the style sheet; every selector is below `svg`, because a report has other texts too. */
static void svg_style(page *p)
{
    const size_t count = sizeof(svg_styles) / sizeof(svg_styles[0]);
    for (size_t i = 0; i < count; ++i)
        page_add(p, "svg %s { %s }\n", svg_styles[i].selector, svg_styles[i].light);
    page_text(p, "@media (prefers-color-scheme: dark) {\n");
    for (size_t i = 0; i < count; ++i)
        if (svg_styles[i].dark != NULL)
            page_add(p, "svg %s { %s }\n", svg_styles[i].selector, svg_styles[i].dark);
    page_text(p, "}\n");
}

/* Write a picture from y = top on. styled: 0: within a page that has the style. */
static void svg_picture(page *p, const page *body, double width, double height, double top,
                        int styled)
{
    page_add(p, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\"", width,
             height - top);
    page_add(p, " viewBox=\"0 %.0f %.0f %.0f\">\n", top, width, height - top);
    if (styled) {
        page_text(p, "<style>\n");
        svg_style(p);
        page_text(p, "</style>\n");
        page_add(p, "<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height);
    }
    page_bytes(p, body->data != NULL ? body->data : "", body->used);
    page_text(p, "</svg>\n");
}

static void svg_write(tool *t, const char *path, const page *body, double width, double height)
{
    page p = {NULL, 0, 0};
    svg_picture(&p, body, width, height, 0, 1);
    write_named(t, path, &p, 0);
    free(p.data);
}

/* Draw one colour of a legend. Return where the next one begins. */
static double draw_key(page *p, double x, double y, const char *style, const char *label)
{
    svg_box(p, style, x + 0.5, y - 10.5, 14, 12, 2);
    svg_text(p, x + 21, y, "meta", 40, label);
    return x + 21 + 6.8 * (double)columns_in(label) + 22;
}

/* Return the style of a step in the picture of a mixed pipeline: the colour of its backend, or that
   of its kind. backend: from number_backends() */
static const char *place_style(const qnnrt_step_info *step, size_t backend)
{
    static const char *const colours[PLACE_COLOURS] = {"place0", "place1", "place2", "place3"};
    return step->kind == QNNRT_STEP_HOST ? "host"
        : step->kind == QNNRT_STEP_DERIVED ? "convert" : colours[backend % PLACE_COLOURS];
}

/* Draw the legend of a mixed pipeline: its backends, and its other kinds of steps. */
static void draw_places(page *p, const qnnrt_pipeline_info *info, double x, double y)
{
    size_t count = 0, next = 0, *numbers = number_backends(info, &count);
    int host = 0, convert = 0;
    for (size_t i = 0; i < info->step_count; ++i) {
        const qnnrt_step_info *step = &info->steps[i];
        host |= step->kind == QNNRT_STEP_HOST;
        convert |= step->kind == QNNRT_STEP_DERIVED;
        if (step->kind != QNNRT_STEP_GRAPH || numbers[i] != next || next >= PLACE_COLOURS) continue;
        char *place = step_place(step);
        x = draw_key(p, x, y, place_style(step, next++), place);
        free(place);
    }
    if (host) x = draw_key(p, x, y, "host", "host");
    if (convert) draw_key(p, x, y, "convert", "conversion");
    free(numbers);
}

/* =====================================================================================
   GROUPS                                                                         >>groups
   Inputs and outputs of each step; tensors whose names differ only by numbers are one line.
   ===================================================================================== */

typedef enum side { SIDE_INPUT, SIDE_EDGE, SIDE_OUTPUT, SIDE_CACHE, SIDES } side;

static const char *const side_names[SIDES] = {"input", "edge", "output", "cache"};

typedef struct item {                  /* a tensor that a step reads or writes */
    const qnnrt_tensor_info *tensor;
    const qnnrt_edge_info   *edge;     /* the edge that begins or ends here, or NULL */
    const qnnrt_tensor_info *to;       /* what the edge ends at, or what a cache becomes; or NULL */
    int                      bad;      /* 1: it is why the pipeline is not wired */
    char                    *note;     /* "from step 0", or NULL             */
    char                    *key;      /* items with equal keys form a group */
    size_t                   place;
} item;

typedef struct item_list {
    item  *items;
    size_t count, room;
    /* [group_count + 1] where each begins, after group_items() */
    size_t *groups;
    size_t group_count;
    uint64_t bytes;
} item_list;

enum { NUMBERS = 8 };                  /* numbers of a name that may differ within a group */

/* Return a name with '#' for its first numbers. The caller frees it. */
static char *skeleton(const char *name)
{
    char *made = cli_alloc(strlen(name) + 1, 1), *to = made;
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

/* Make the key of an item again. */
static void key_item(item *i)
{
    char *from = skeleton(i->tensor->name),
        *to = i->to != NULL ? skeleton(i->to->name) : cli_text("%s", "");
    char *dims = dims_text(i->tensor);
    free(i->key);
    i->key = cli_text("%s|%s|%s|%x|%s|%s|%d", from, to, dims, (unsigned)i->tensor->dtype,
                      i->note != NULL ? i->note : "", i->edge != NULL ? i->edge->reason : "",
                      i->bad);
    free(from);
    free(to);
    free(dims);
}

/* Add an item, which is taken. */
static void push_item(item_list *list, item made)
{
    list->items = cli_grow(list->items, list->count, &list->room, sizeof(*list->items));
    made.place = list->count;
    list->items[list->count++] = made;
    list->bytes += made.tensor->bytes;
}

static void add_item(item_list *list, const qnnrt_tensor_info *tensor, const qnnrt_edge_info *edge,
                     char *note)
{
    item made = {tensor, edge, edge != NULL ? edge->to : NULL, 0, note, NULL, 0};
    key_item(&made);
    push_item(list, made);
}

static int compare_keys(const void *a, const void *b)
{
    const item *x = a, *y = b;
    const int order = strcmp(x->key, y->key);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* Put equal items together, at the place of the first one. */
static void group_items(item_list *list)
{
    enum { FEWEST = 2 };
    item *items = list->items;
    size_t *place = cli_alloc(list->count, sizeof(*place));
    if (list->count > 1) qsort(items, list->count, sizeof(*items), compare_keys);
    for (size_t i = 0, next = 0; i < list->count; i = next) {
        next = i + 1;
        while (next < list->count && strcmp(items[next].key, items[i].key) == 0) ++next;
        for (size_t k = i; next - i >= FEWEST && k < next; ++k) place[k] = items[i].place + 1;
    }
    /* place: 0, or 1 + the index of the first item of its group. */
    size_t *order = cli_alloc(list->count, sizeof(*order));
    item *sorted = cli_alloc(list->count, sizeof(*sorted));
    for (size_t i = 0; i < list->count; ++i) order[items[i].place] = i;
    list->groups = cli_alloc(list->count + 1, sizeof(*list->groups));
    size_t used = 0;
    for (size_t p = 0; p < list->count; ++p) {
        const size_t i = order[p];
        /* skip items of an earlier group */
        if (place[i] != 0 && place[i] - 1 != p) continue;
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
    return to && i->to != NULL ? i->to->name : i->tensor->name;
}

/* Return "past_key_[8..11]_in" for a group, safe to print. The caller frees it. */
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
    char *made = cli_shown(p.data != NULL ? p.data : "");
    free(p.data);
    return made;
}

/* Tensors of a step, not grouped yet: from the caller or an earlier step, from the step before, to
   the caller or a later step, and caches, which are in and out. */
typedef struct around { item_list lists[SIDES]; } around;

/* True if a tensor lies in this list, by its address. */
static int is_of(const qnnrt_tensor_info *tensor, const qnnrt_tensor_info *list, size_t count)
{
    return count != 0 && (uintptr_t)tensor >= (uintptr_t)list &&
        (uintptr_t)tensor <= (uintptr_t)&list[count - 1];
}

/* Keep what a program says about a tensor of a step. */
static void note_tensor(const qnnrt_graph_info *g, const qnnrt_tensor_info *tensor, char **in,
                        char **out, char *text)
{
    char **note = is_of(tensor, g->inputs, g->input_count) ? &in[tensor - g->inputs]
        : is_of(tensor, g->outputs, g->output_count) ? &out[tensor - g->outputs] : NULL;
    if (note == NULL) {
        free(text);
        return;
    }
    char *both = *note == NULL ? text : cli_text("%s, %s", *note, text);
    if (*note != NULL) free(text);
    free(*note);
    *note = both;
}

/* Note which tensors of a step are constants, have a name of the program, or lie in a buffer. */
static void note_tensors(const qnnrt_pipeline_info *info, size_t step, char **in, char **out)
{
    const qnnrt_graph_info *g = info->steps[step].graph;
    for (size_t i = 0; i < info->slot_count; ++i) {
        const qnnrt_slot *slot = &info->slots[i];
        if (slot->role != QNNRT_ROLE_CONSTANT || step < slot->first || step > slot->last) continue;
        for (size_t k = 0; k < g->input_count; ++k)
            if (in[k] == NULL && strcmp(g->inputs[k].name, slot->tensor->name) == 0)
                in[k] = cli_text("constant");
    }
    for (size_t i = 0; i < info->name_count; ++i)
        note_tensor(g, info->names[i].slot->tensor, in, out,
                    cli_text("called %s", info->names[i].name));
    for (size_t i = 0; i < info->place_count; ++i) {
        const qnnrt_place_desc *place = &info->places[i];
        char *name = buffer_name(info, place->buffer);
        note_tensor(g, place->slot->tensor, in, out,
                    cli_text("in %s+%llu", name, (unsigned long long)place->offset));
        free(name);
    }
}

/* Give a note away. */
static char *keep_note(char **note)
{
    char *given = *note;
    *note = NULL;
    return given;
}

static void look_around(const qnnrt_pipeline_info *info, size_t step, around *out)
{
    const qnnrt_graph_info *g = info->steps[step].graph;
    const qnnrt_edge_info **into = cli_alloc(g->input_count, sizeof(*into));
    const qnnrt_edge_info **from = cli_alloc(g->output_count, sizeof(*from));
    /* 1 where the next step reads the output. */
    int *near = cli_alloc(g->output_count, sizeof(*near));
    char **readers = cli_alloc(g->output_count, sizeof(*readers));
    char **notes = cli_alloc(g->input_count, sizeof(*notes));
    char **out_notes = cli_alloc(g->output_count, sizeof(*out_notes));
    memset(out, 0, sizeof(*out));
    note_tensors(info, step, notes, out_notes);
    for (size_t e = 0; e < info->edge_count; ++e) {
        const qnnrt_edge_info *edge = &info->edges[e];
        if (edge->to_step == step && is_of(edge->to, g->inputs, g->input_count))
            into[edge->to - g->inputs] = edge;
        if (edge->from_step != step || !is_of(edge->from, g->outputs, g->output_count)) continue;
        const size_t at = (size_t)(edge->from - g->outputs);
        from[at] = edge;
        if (edge->to_step == step + 1) near[at] = 1;
        char *longer = readers[at] == NULL ? cli_text("to step %lu", (unsigned long)edge->to_step)
                                           : cli_text("%s, %lu", readers[at],
                                                      (unsigned long)edge->to_step);
        free(readers[at]);
        readers[at] = longer;
    }
    for (size_t i = 0; i < g->input_count; ++i) {
        const qnnrt_edge_info *edge = into[i];
        const qnnrt_tensor_info *tensor = &g->inputs[i];
        if (edge == NULL)
            add_item(&out->lists[SIDE_INPUT], tensor, NULL, keep_note(&notes[i]));
        else if (edge->from_step + 1 == step)
            add_item(&out->lists[SIDE_EDGE], edge->from, edge, NULL);
        else
            add_item(&out->lists[SIDE_INPUT], tensor, edge,
                     cli_text("from step %lu: %s", (unsigned long)edge->from_step, edge->reason));
    }
    for (size_t i = 0; i < g->output_count; ++i) {
        if (from[i] == NULL) {
            add_item(&out->lists[SIDE_OUTPUT], &g->outputs[i], NULL, keep_note(&out_notes[i]));
        } else if (!near[i] || strchr(readers[i], ',') != NULL) {
            add_item(&out->lists[SIDE_OUTPUT], &g->outputs[i], from[i], readers[i]);
            readers[i] = NULL;
        }
    }
    for (size_t i = 0; i < g->output_count; ++i) free(readers[i]);
    for (size_t i = 0; i < g->output_count; ++i) free(out_notes[i]);
    for (size_t i = 0; i < g->input_count; ++i) free(notes[i]);
    free((void *)into);
    free((void *)from);
    free(near);
    free(notes);
    free(out_notes);
    free(readers);
}

/* Return "1x8x48 ufixed16", with times signs. The caller frees it. */
static char *shape_text(const qnnrt_tensor_info *tensor)
{
    page p = {NULL, 0, 0};
    if (tensor->rank == 0) page_text(&p, "scalar");
    for (uint32_t d = 0; d < tensor->rank; ++d)
        page_add(&p, "%s%lu", d > 0 ? "\xC3\x97" : "", (unsigned long)tensor->dims[d]);
    page_add(&p, " %s", qnnrt_dtype_name(tensor->dtype));
    return p.data;
}
