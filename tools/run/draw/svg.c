/* svg.c - texts that fit their place, frame and style of all pictures

   Names may be hostile: cli_shown() first, then the escapes of the format. A text is cut to the
   columns of its place, and the whole text is in the <title> that a browser shows on hover. A
   picture is one file without scripts, and it loads nothing.

   ROOM     >>svg */
#include "run/draw/draw.h"
#include "run/model/model.h"

#include <math.h>

/* =====================================================================================
   SVG                                                                             >>svg
   Texts that fit their place; frame and style of both pictures.
   ===================================================================================== */

/* Return how many columns a character of `length` bytes takes: two beyond Latin, Greek and the
   like, and beyond arrows and mathematical signs. */
static size_t columns_of(const char *s, size_t length)
{
    return length > 3 || (length == 3 && (unsigned char)s[0] != 0xE2) ? 2 : 1;
}

/* Return the bytes of the first character; a byte that is none counts as one. */
static size_t character(const char *s)
{
    const size_t length = qnnrt_utf8_length(s, NULL);
    return length != 0 ? length : 1;
}

size_t columns_in(const char *s)
{
    size_t columns = 0;
    for (size_t length; *s != '\0'; s += length) {
        length = character(s);
        columns += columns_of(s, length);
    }
    return columns;
}

/* Return the size of the font of a style. */
static double font_size(const char *style)
{
    static const struct { const char *style; double size; } sizes[] = {
        {"h1", 15}, {"meta", 11}, {"head", 11}, {"dim", 11}, {"tiny", 10}
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i)
        if (strstr(style, sizes[i].style) != NULL) return sizes[i].size;
    return 12;
}

/* A column takes what the widest of the usual fonts takes. */
static const double column_width = 0.62;

double text_width(const char *style, const char *s)
{
    return font_size(style) * column_width * (double)columns_in(s);
}

size_t text_columns(const char *style, double width)
{
    return width > 0 ? (size_t)(width / font_size(style) / column_width + 1e-6) : 0;
}

/* True for characters of numbers, and of ranges like [2..7]. */
static int is_number(char c)
{
    return c != '\0' && strchr("0123456789[.]", c) != NULL;
}

char *shortened(const char *s, size_t columns)
{
    if (columns_in(s) <= columns) return cli_text("%s", s);
    const size_t room = columns > 1 ? columns - 1 : 0, head = room * 3 / 5;
    size_t used = 0, at = 0, tail = strlen(s), back = 0;
    while (s[at] != '\0') {
        const size_t length = character(s + at), width = columns_of(s + at, length);
        if (used + width > head) break;
        used += width;
        at += length;
    }
    while (tail > at) {                          /* go back one character */
        size_t begin = tail - 1;
        while (begin > at && ((unsigned char)s[begin] & 0xC0) == 0x80) --begin;
        const size_t width = columns_of(s + begin, tail - begin);
        if (used + back + width > room) break;
        back += width;
        tail = begin;
    }
    size_t head_end = at, tail_begin = tail;     /* a part of a number would be another number */
    while (head_end > 0 && is_number(s[head_end - 1]) && is_number(s[head_end])) --head_end;
    while (tail_begin > 0 && is_number(s[tail_begin - 1]) && is_number(s[tail_begin])) ++tail_begin;
    if (head_end > 0 || s[tail_begin] != '\0') {
        at = head_end;
        tail = tail_begin;
    }
    return cli_text("%.*s\xE2\x80\xA6%s", (int)at, s, s + tail);
}

char *times_text(const char *before, size_t count)
{
    return count > 1 ? cli_text("%s\xC3\x97 %lu", before, (unsigned long)count)
                     : cli_text("%s", "");
}

char *named(const char *name, const char *rest, size_t columns)
{
    const size_t taken = columns_in(rest);
    char *fitted = shortened(name, columns > taken ? columns - taken : 0),
        *made = cli_text("%s%s", fitted, rest);
    free(fitted);
    return made;
}

/* Return the bytes of the next piece of a text that may begin a line: a word, or a part of one that
   is longer than a line and has times signs. */
static size_t next_piece(const char *s, size_t columns)
{
    const size_t bytes = strcspn(s, " \n");
    char *word = cli_text("%.*s", (int)bytes, s), *times = strstr(word, "\xC3\x97");
    const size_t piece = columns_in(word) > columns && times != NULL ? (size_t)(times - word) + 2
                                                                      : bytes;
    free(word);
    return piece;
}

char *wrapped(const char *s, size_t columns)
{
    page p = {NULL, 0, 0};
    size_t used = 0;                             /* columns of the line so far */
    page_text(&p, "");
    while (*s != '\0') {
        const size_t bytes = next_piece(s, columns);
        OWNED char *word = cli_text("%.*s", (int)bytes, s), *fitted = shortened(word, columns);
        const size_t width = columns_in(fitted);
        if (used > 0 && used + width > columns) {
            if (p.data[p.used - 1] == ' ') --p.used;
            page_text(&p, "\n");
            used = 0;
        }
        page_text(&p, fitted);
        used += width;
        s += bytes;
        if (*s == '\n' || *s == ' ') {
            page_bytes(&p, s, 1);
            used = *s == '\n' ? 0 : used + 1;
            ++s;
        }
    }
    return p.data;
}

void xml_text(page *p, const char *s)
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

/* Return what a text usually takes if another font than that of the page may have to draw it: then
   its characters have any width. Else return 0. */
static double foreign_width(const char *style, const char *s)
{
    static const char *const ours[] = {"\xE2\x80\xA6", "\xE2\x80\x93", "\xE2\x86\x92",
                                       "\xE2\x87\x84", "\xE2\x89\xA0"};
    double width = 0;
    int foreign = 0;
    for (size_t length; *s != '\0'; s += length) {
        size_t i = 0;
        length = character(s);
        width += columns_of(s, length) == 2 ? 1 : 0.6;
        while (i < sizeof(ours) / sizeof(ours[0]) && strncmp(s, ours[i], length) != 0) ++i;
        foreign |= (unsigned char)*s >= 0xCD && i == sizeof(ours) / sizeof(ours[0]);
    }
    return foreign ? font_size(style) * width : 0;
}

void svg_text(page *p, double x, double y, const char *style, double width, const char *s)
{
    OWNED char *fitted = shortened(s, text_columns(style, width));
    page_add(p, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\"", x, y, style);
    if (foreign_width(style, fitted) > 0)
        page_add(p, " textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\"",
                 foreign_width(style, fitted));
    page_text(p, ">");
    xml_text(p, fitted);
    page_text(p, "</text>\n");
}

void svg_take(page *p, double x, double y, const char *style, double width, char *s)
{
    svg_text(p, x, y, style, width, s);
    free(s);
}

double svg_lines(page *p, double x, double y, const char *style, double width, const char *s)
{
    char *lines = wrapped(s, text_columns(style, width));
    for (char *at = lines, *next; at != NULL; at = next) {
        next = strchr(at, '\n');
        if (next != NULL) *next++ = '\0';
        if (p != NULL && *at != '\0') svg_text(p, x, y, style, width, at);
        y += LINE_HEIGHT;
    }
    free(lines);
    return y;
}

void svg_box(page *p, const char *style, double x, double y, double width, double height,
             double round)
{
    page_add(p, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", style, x,
             y, width, height);
    if (round > 0) page_add(p, " rx=\"%.0f\"", round);
    page_text(p, "/>\n");
}

void svg_card(page *p, const char *style, double x, double y, double width, double height,
              double round)
{
    page_text(p, "<g class=\"card\">\n");
    svg_box(p, style, x, y, width, height, round);
}

void svg_title(page *p, const char *s)
{
    page_text(p, "<title>");
    xml_text(p, s);
    page_text(p, "</title>\n");
}

void title_take(page *p, char *s)
{
    svg_title(p, s);
    free(s);
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
    {".ink", "fill: #1d2733", "fill: #f0f4f8"},
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
    {".none", "fill: #f7f9fb; stroke: #b9c6d6; stroke-dasharray: 3 2",
     "fill: #10171f; stroke: #4a5866"},
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
    {".bare", "fill: none", "fill: none"}
};

void svg_style(page *p)
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

void svg_picture(page *p, const page *body, double width, double height, double top, int styled)
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

void svg_write(tool *t, const char *path, const page *body, double width, double height)
{
    OWNED page p = {NULL, 0, 0};
    svg_picture(&p, body, width, height, 0, 1);
    write_named(t, path, &p, 0);
}

double draw_head(page *p, double y, const char *name, const char *style, const char *about)
{
    const double width = PICTURE - 2 * MARGIN;
    page_text(p, "<g>\n");
    svg_title(p, name);
    svg_text(p, MARGIN, y + 16, "h1", width, name);
    page_text(p, "</g>\n");
    return svg_lines(p, MARGIN, y + 35, style, width, about);
}

void draw_key(page *p, legend *at, const char *style, const char *label)
{
    const double most = PICTURE - 2 * MARGIN - 21, whole = text_width("meta", label);
    const double width = whole < most ? whole : most;
    if (at->x > MARGIN && at->x + 21 + width > PICTURE - MARGIN) {
        at->x = MARGIN;
        at->y += 22;
    }
    page_text(p, "<g>\n");
    svg_title(p, label);
    svg_box(p, style, at->x + 0.5, at->y - 10.5, 14, 12, 2);
    svg_text(p, at->x + 21, at->y, "meta", width, label);
    page_text(p, "</g>\n");
    at->x += 21 + width + 22;
}

const char *place_style(const qnnrt_step_info *step, size_t backend)
{
    static const char *const colours[PLACE_COLOURS] = {"place0", "place1", "place2", "place3"};
    return step->kind == QNNRT_STEP_HOST ? "host"
        : step->kind == QNNRT_STEP_DERIVED ? "convert" : colours[backend % PLACE_COLOURS];
}

void draw_places(page *p, const qnnrt_pipeline_info *info, legend *at)
{
    size_t count = 0, next = 0, *numbers = number_backends(info, &count);
    int host = 0, convert = 0;
    for (size_t i = 0; i < info->step_count; ++i) {
        const qnnrt_step_info *step = &info->steps[i];
        host |= step->kind == QNNRT_STEP_HOST;
        convert |= step->kind == QNNRT_STEP_DERIVED;
        if (step->kind != QNNRT_STEP_GRAPH || numbers[i] != next || next >= PLACE_COLOURS) continue;
        OWNED char *place = step_place(step);
        draw_key(p, at, place_style(step, next++), place);
    }
    if (host) draw_key(p, at, "host", "host");
    if (convert) draw_key(p, at, "convert", "conversion");
    free(numbers);
}
