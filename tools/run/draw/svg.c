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

/* Return the columns of a character of `length` bytes, each 0.6 of the font size wide: what is
   beyond Latin, Greek and the like counts twice. */
static size_t columns_of(const char *s, size_t length)
{
    (void)s;
    return length > 2 ? 2 : 1;
}

size_t columns_in(const char *s)
{
    size_t columns = 0;
    while (*s != '\0') {
        const size_t length = qnnrt_utf8_length(s, NULL);
        columns += columns_of(s, length);
        s += length != 0 ? length : 1;
    }
    return columns;
}

char *shortened(const char *s, size_t columns)
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

void svg_text(page *p, double x, double y, const char *style, size_t columns, const char *s)
{
    char *fitted = shortened(s, columns);
    page_add(p, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, style);
    xml_text(p, fitted);
    page_text(p, "</text>\n");
    free(fitted);
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
    page p = {NULL, 0, 0};
    svg_picture(&p, body, width, height, 0, 1);
    write_named(t, path, &p, 0);
    free(p.data);
}

double draw_key(page *p, double x, double y, const char *style, const char *label)
{
    svg_box(p, style, x + 0.5, y - 10.5, 14, 12, 2);
    svg_text(p, x + 21, y, "meta", 40, label);
    return x + 21 + 6.8 * (double)columns_in(label) + 22;
}

const char *place_style(const qnnrt_step_info *step, size_t backend)
{
    static const char *const colours[PLACE_COLOURS] = {"place0", "place1", "place2", "place3"};
    return step->kind == QNNRT_STEP_HOST ? "host"
        : step->kind == QNNRT_STEP_DERIVED ? "convert" : colours[backend % PLACE_COLOURS];
}

void draw_places(page *p, const qnnrt_pipeline_info *info, double x, double y)
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
