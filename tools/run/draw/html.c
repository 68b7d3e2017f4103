/* html.c - a page of HTML, made of escaped texts, tables and pictures

   ROOM     >>html */
#include "run/draw/draw.h"

/* =====================================================================================
   HTML                                                                             >>html
   A page that is one file: it has no scripts, and loads nothing. It is well-formed XML, too. Every
   name goes through html_text().
   ===================================================================================== */

static const char html_style[] =
    ":root { color-scheme: light dark; --ink: #1d2733; --soft: #55636f; --line: #d9e0e6;\n"
    "  --paper: #ffffff; --card: #f5f8fa; --head: #24344d; --link: #1f5f99; --ok: #25682a;\n"
    "  --note: #24557f; --warn: #8f4b06; --bad: #a32820 }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9dabb9;\n"
    "  --line: #2a323b; --paper: #0d1117; --card: #151b23; --head: #dfe7f0; --link: #79b8f0;\n"
    "  --ok: #84d490; --note: #8cc3f0; --warn: #f2b56b; --bad: #ff968e } }\n"
    "* { box-sizing: border-box }\n"
    "body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.45;\n"
    "  font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif;\n"
    "  font-size: 15px; overflow-wrap: anywhere }\n"
    "header { padding: 28px 24px 20px; border-bottom: 1px solid var(--line) }\n"
    "header p { margin: 4px 0 0 }\n"
    "h1 { font-size: 24px; margin: 0; color: var(--head) }\n"
    "h2 { font-size: 19px; margin: 40px 0 12px; color: var(--head) }\n"
    "h3 { font-size: 15px; margin: 24px 0 8px; color: var(--soft); font-weight: 600 }\n"
    "section:first-child h2 { margin-top: 24px }\n"
    "a { color: var(--link); text-decoration: none } a:hover { text-decoration: underline }\n"
    ".soft { color: var(--soft) }\n"
    ".mono, td.name { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas,\n"
    "  'DejaVu Sans Mono', monospace; font-size: 13px }\n"
    ".layout { display: block; padding: 0 24px 48px; margin: 0 auto; max-width: 1180px }\n"
    "nav { font-size: 14px; padding-top: 16px } nav a { display: inline-block;\n"
    "  margin: 0 14px 4px 0; max-width: 100%; overflow: hidden; text-overflow: ellipsis;\n"
    "  white-space: nowrap; vertical-align: bottom }\n"
    "main { min-width: 0 }\n"
    "@media (min-width: 1120px) { .layout { display: grid; grid-template-columns: 220px\n"
    "  minmax(0, 1fr); gap: 40px } nav { position: sticky; top: 0; align-self: start;\n"
    "  padding-top: 28px; max-height: 100vh; overflow: auto } nav a { display: block;\n"
    "  margin: 0 0 8px } header { padding-left: max(24px, calc(50vw - 566px)) } }\n"
    ".tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr));\n"
    "  gap: 12px }\n"
    ".tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px;\n"
    "  padding: 12px 14px }\n"
    ".tile b { display: block; font-size: 20px; font-weight: 600; color: var(--head) }\n"
    ".tile span { color: var(--soft); font-size: 13px }\n"
    ".scroll { overflow-x: auto; margin: 0 0 4px }\n"
    "table { border-collapse: collapse; width: 100%; font-size: 14px }\n"
    "th { text-align: left; font-weight: 600; color: var(--soft); font-size: 13px;\n"
    "  white-space: nowrap }\n"
    "th, td { padding: 6px 14px 6px 0; border-bottom: 1px solid var(--line);\n"
    "  vertical-align: top; overflow-wrap: normal }\n"
    "td.name { overflow-wrap: anywhere; min-width: 130px }\n"
    "th.n, td.n { text-align: right; white-space: nowrap;\n"
    "  font-variant-numeric: tabular-nums }\n"
    "td.one { white-space: nowrap }\n"
    ".finding { border-bottom: 1px solid var(--line); padding: 10px 0 }\n"
    ".finding div { margin-top: 4px } .finding b { margin-left: 8px }\n"
    ".level { display: inline-block; min-width: 62px; padding: 1px 8px; border-radius: 10px;\n"
    "  border: 1px solid currentColor; font-size: 12px; text-align: center }\n"
    ".ok { color: var(--ok) } .note { color: var(--note) } .warning { color: var(--warn) }\n"
    ".fault { color: var(--bad) }\n"
    ".failure { border-left: 4px solid var(--bad); background: var(--card); padding: 10px 14px }\n"
    ".picture { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px }\n"
    ".picture svg { display: block; width: 100%; min-width: 700px; max-width: 830px;\n"
    "  height: auto; margin: 8px auto 0 }\n"
    "details { margin: 12px 0 } summary { cursor: pointer; color: var(--link) }\n"
    "footer { margin-top: 48px; color: var(--soft); font-size: 13px }\n"
    "@media print { nav { display: none } .picture, .scroll { overflow: visible } }\n";

void html_text(page *p, const char *text)
{
    OWNED char *shown = cli_shown(text);
    xml_text(p, shown);
}

void html_item(page *p, const char *tag, const char *style, const char *text)
{
    page_add(p, "<%s", tag);
    if (style != NULL) page_add(p, " class=\"%s\"", style);
    page_text(p, ">");
    html_text(p, text);
    page_add(p, "</%s>\n", tag);
}

void html_take(page *p, const char *tag, const char *style, char *text)
{
    html_item(p, tag, style, text);
    free(text);
}

void html_table(page *p, const char *const *heads)
{
    page_text(p, "<div class=\"scroll\"><table>\n<thead><tr>\n");
    for (; *heads != NULL; ++heads)
        html_item(p, "th", (*heads)[0] == '>' ? "n" : NULL, *heads + ((*heads)[0] == '>'));
    page_text(p, "</tr></thead>\n<tbody>\n");
}

void html_table_end(page *p)
{
    page_text(p, "</tbody></table></div>\n");
}

void html_tile(page *p, char *number, const char *what)
{
    page_text(p, "<div class=\"tile\">");
    html_take(p, "b", NULL, number);
    html_item(p, "span", NULL, what);
    page_text(p, "</div>\n");
}

void html_picture(page *p, const page *body, double width, double height, double top)
{
    page_text(p, "<div class=\"picture\">\n");
    svg_picture(p, body, width, height, top, 0);
    page_text(p, "</div>\n");
}

void html_begin(page *p, const char *title)
{
    page_text(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "style-src 'unsafe-inline'\"/>\n");
    html_item(p, "title", NULL, title);
    page_text(p, "<style>\n");
    page_text(p, html_style);
    svg_style(p);
    page_text(p, "</style>\n</head>\n<body>\n");
}

void html_end(page *p)
{
    page_text(p, "</body>\n</html>\n");
}
