/* help.c - --help and --man, from the tables of a program

   ROOMS     >>help >>manual */
#include "cli/cli.h"

#include <limits.h>

/* =====================================================================================
   HELP                                                                           >>help
   ===================================================================================== */

/* Return the width of a help: that of the terminal, as far as lines stay readable. */
static int cli_help_width(FILE *out)
{
    const int columns = cli_columns(out, CLI_HELP_WIDTH);
    return columns < CLI_HELP_MOST ? columns : CLI_HELP_MOST;
}

void cli_paragraph(FILE *out, int indent, const char *text)
{
    const int width = cli_help_width(out);
    int column = 0;
    if (indent > width / 4) indent = width / 4;
    while (*text != '\0') {
        const int length = (int)strcspn(text, " \n");
        if (column > 0 && column + 1 + length > width) {
            fputc('\n', out);
            column = 0;
        }
        column += fprintf(out, "%*s%.*s", column == 0 ? indent : 1, "", length, text);
        text += length;
        while (*text == ' ' || *text == '\n') ++text;
    }
    fputc('\n', out);
}

/* Print one line of a help that stands out. */
static void cli_help_line(FILE *out, const char *line)
{
    fputs(cli_tone_text(out, CLI_BOLD), out);
    cli_fold(out, line, strlen(line), cli_help_width(out), "");
    fprintf(out, "%s\n", cli_tone_text(out, CLI_PLAIN));
}

/* Return "--name VALUE, --alias VALUE". before: the mark of an option. The caller frees it. */
static char *cli_option_text(const cli_option *o, const char *before)
{
    const char *blank = o->value != NULL ? " " : "", *value = o->value != NULL ? o->value : "";
    if (o->alias == NULL) return cli_text("%s%s%s%s", before, o->name, blank, value);
    return cli_text("%s%s%s%s, %s%s%s%s", before, o->name, blank, value, before, o->alias, blank,
                    value);
}

int cli_is_listed(const cli_option *o, unsigned lists)
{
    return o->verbs == 0 || (o->verbs & lists) != 0;
}

static void cli_help_options(FILE *out, const cli_program *p, unsigned lists)
{
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i) {
        if (!cli_is_listed(o, lists)) continue;
        OWNED char *text = cli_option_text(o, "--"), *line = cli_text("  %s", text);
        cli_help_line(out, line);
        cli_paragraph(out, 8, o->help);
    }
}

static void cli_help_usage(FILE *out, const char *verb, const char *usage)
{
    OWNED char *line = cli_text("  %s%s%s%s%s", cli_name, verb != NULL ? " " : "",
                                verb != NULL ? verb : "", usage[0] != '\0' ? " " : "", usage);
    cli_help_line(out, line);
}

static void cli_help_examples(FILE *out, const char *const *examples)
{
    for (size_t i = 0; examples != NULL && examples[i] != NULL; ++i) {
        OWNED char *line = cli_text("      %s %s", cli_name, examples[i]);
        cli_fold(out, line, strlen(line), cli_columns(out, INT_MAX), " \\");
        fputc('\n', out);
    }
}

/* Print the verbs, each with the first sentence of its summary. */
static void cli_help_verbs(FILE *out, const cli_program *p)
{
    for (size_t i = 0; i < p->verb_count; ++i) {
        const cli_verb *v = &p->verbs[i];
        const char *stop = strstr(v->summary, ". ");
        const int bytes = (int)(stop != NULL ? (size_t)(stop - v->summary) + 1
                                             : strlen(v->summary));
        OWNED char *first = cli_text("%.*s", bytes, v->summary);
        cli_help_usage(out, v->name, v->usage);
        cli_paragraph(out, 6, first);
    }
}

void cli_help(FILE *out, const cli_program *p, const cli_verb *verb)
{
    const char *const *examples = verb != NULL ? verb->examples : p->examples;
    cli_paragraph(out, 0, verb != NULL ? verb->summary : p->summary);
    fputc('\n', out);
    if (verb != NULL) cli_help_usage(out, verb->name, verb->usage);
    else if (p->verb_count == 0) cli_help_usage(out, NULL, p->usage);
    else cli_help_verbs(out, p);
    if (verb == NULL && p->verb_count > 0 && examples != NULL) {
        fputc('\n', out);
        cli_paragraph(out, 0, "To begin:");
    }
    cli_help_examples(out, examples);
    const char *notes = verb != NULL ? verb->notes : p->notes;
    if (notes != NULL) {
        fputc('\n', out);
        cli_paragraph(out, 0, notes);
    }
    fputc('\n', out);
    cli_paragraph(out, 0, "Options; a value follows as the next word or after '=':");
    fputc('\n', out);
    cli_help_options(out, p, verb != NULL ? verb->lists : 0);
    if (p->statuses != NULL) fputc('\n', out);
    if (p->statuses != NULL) cli_paragraph(out, 0, p->statuses);
}

/* =====================================================================================
   MANUAL                                                                       >>manual
   The same text as a page for man(1), in the macros of man(7).
   ===================================================================================== */

/* Print a text of one line, in which roff must find no commands. */
static void cli_roff(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    for (; *text != '\0'; ++text) {
        if (*text == '\\') fputs("\\e", out);
        else if (*text == '-') fputs("\\-", out);
        else if (*text == '\'') fputs("\\(aq", out);
        else if (*text == '"') fputs("\\(dq", out);
        else if (*text == '^') fputs("\\(ha", out);
        else if (*text == '~') fputs("\\(ti", out);
        else fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputc('\n', out);
}

/* Print a macro and the text that it is for. */
static void cli_roff_part(FILE *out, const char *macro, const char *text)
{
    if (text == NULL) return;
    fprintf(out, "%s\n", macro);
    cli_roff(out, text);
}

static void cli_man_options(FILE *out, const cli_program *p, unsigned lists)
{
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i) {
        if (lists != 0 ? (o->verbs & lists) == 0 : o->verbs != 0) continue;
        OWNED char *text = cli_option_text(o, "--"), *help = cli_text("%s.", o->help);
        cli_roff_part(out, ".TP\n.B", text);
        cli_roff(out, help);
    }
}

/* begins: they are the first of a section. */
static void cli_man_examples(FILE *out, const char *const *examples, int begins)
{
    for (size_t i = 0; examples != NULL && examples[i] != NULL; ++i) {
        OWNED char *line = cli_text("%s %s", cli_name, examples[i]);
        fputs(begins && i == 0 ? ".RS 4\n.nf\n" : ".PP\n.RS 4\n.nf\n", out);
        cli_roff(out, line);
        fputs(".fi\n.RE\n", out);
    }
}

static void cli_man_usage(FILE *out, const char *verb, const char *usage)
{
    fprintf(out, ".HP\n.B %s", cli_name);
    if (verb != NULL) fprintf(out, " %s", verb);
    fputc('\n', out);
    if (usage[0] != '\0') cli_roff(out, usage);
}

void cli_manual(FILE *out, const cli_program *p)
{
    OWNED char *summary = cli_text("%s", p->summary);
    const size_t bytes = strlen(summary);
    if (bytes > 0 && summary[bytes - 1] == '.') summary[bytes - 1] = '\0';
    fprintf(out, ".\\\" made by %s --man\n.TH \"%s\" 1 \"\" \"qnnrt %s\" "
            "\"qnnrt\"\n.nh\n.ad l\n.SH NAME\n%s \\- ", cli_name, cli_name, qnnrt_version(),
            cli_name);
    cli_roff(out, summary);
    fputs(".SH SYNOPSIS\n", out);
    if (p->verb_count == 0) cli_man_usage(out, NULL, p->usage);
    for (size_t i = 0; i < p->verb_count; ++i)
        cli_man_usage(out, p->verbs[i].name, p->verbs[i].usage);
    cli_roff_part(out, ".SH DESCRIPTION", p->notes != NULL ? p->notes : p->summary);
    if (p->verb_count > 0) fputs(".SH VERBS\n", out);
    for (size_t i = 0; i < p->verb_count; ++i) {
        const cli_verb *v = &p->verbs[i];
        fprintf(out, ".SS %s\n", v->name);
        cli_roff(out, v->summary);
        cli_roff_part(out, ".PP", v->notes);
        cli_man_examples(out, v->examples, 0);
        if (v->lists != 0) cli_man_options(out, p, v->lists);
    }
    cli_roff_part(out, ".SH OPTIONS", "A value follows as the next word or after '='.");
    cli_man_options(out, p, 0);
    if (p->verb_count == 0) fputs(".SH EXAMPLES\n", out);
    if (p->verb_count == 0) cli_man_examples(out, p->examples, 1);
    cli_roff_part(out, ".SH \"EXIT STATUS\"", p->statuses);
}
