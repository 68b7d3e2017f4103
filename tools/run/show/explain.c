/* explain.c - what an error code or a line of a log means

   ROOM     >>explain */
#include "run/show/show.h"
#include "qnnrt_explain.h"

/* =====================================================================================
   EXPLAIN                                                                     >>explain
   qnnrt-run explain: a vendor code or a line of a log, its likely causes and a remedy.
   ===================================================================================== */

static const cli_option explain_options[] = {
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_EXPLAIN,
     .help = "print JSON instead of text; it stands before the code or the line"}
};

const cli_table explain_table = CLI_TABLE(explain_options);

/* Print "0x1388    5000  QNN_CONTEXT_ERROR_INVALID_ARGUMENT". */
static void say_code(const tool *t, const qnnrt_explanation *e)
{
    say(t, "0x%04x  %5u  %s", (unsigned)e->code, (unsigned)e->code,
        e->symbol[0] != '\0' ? e->symbol : "(FastRPC)");
}

static void say_all(const tool *t)
{
    const qnnrt_explanation *e;
    for (size_t i = 0; (e = qnnrt_explain_get(i)) != NULL; ++i) {
        if (e->text != NULL) {
            say(t, "line  \"%s\"\n", e->text);
        } else {
            say_code(t, e);
            say(t, "  %s\n", e->meaning);
        }
    }
}

static void say_one(const tool *t, const qnnrt_explanation *e)
{
    if (e->text != NULL) say(t, "line  \"%s\"", e->text);
    else say_code(t, e);
    say(t, "\n  %s\n", e->meaning);
    if (e->text != NULL && e->code != 0) {
        say(t, "  it comes with: ");
        say_code(t, e);
        say(t, "\n");
    }
    for (size_t i = 0; i < 4 && e->causes[i] != NULL; ++i)
        say(t, "  %s: %s\n", i == 0 ? "likely cause" : "or", e->causes[i]);
    say(t, "  hint: %s\n", e->fix);
}

static void report_code(json *j, const qnnrt_explanation *e)
{
    json_open(j, NULL, '{', 0);
    json_count(j, "code", e->code);
    json_string(j, "symbol", e->symbol[0] != '\0' ? e->symbol : NULL);
    json_string(j, "line", e->text);
    json_string(j, "meaning", e->meaning);
    json_open(j, "causes", '[', 0);
    for (size_t i = 0; i < 4 && e->causes[i] != NULL; ++i) json_string(j, NULL, e->causes[i]);
    json_close(j);
    json_string(j, "hint", e->fix);
    json_close(j);
}

/* Write what is known about one code; all codes: everything. */
static void report_codes(tool *t, const qnnrt_explanation *one, int all)
{
    const qnnrt_explanation *e;
    document d;
    json *j = document_result(&d, "qnnrt-run.explain", t, !t->failed);
    json_open(j, "codes", '[', 0);
    if (one != NULL) report_code(j, one);
    for (size_t i = 0; all && (e = qnnrt_explain_get(i)) != NULL; ++i) report_code(j, e);
    json_close(j);
    document_write(&d, t, "-");
}

int verb_explain(void *user)
{
    tool *t = user;
    const cli_list *words = &t->set.files;
    if (words->count == 0) {
        if (t->set.json) report_codes(t, NULL, 1);
        else say_all(t);
        return STATUS_OK;
    }
    OWNED char *all = cli_text("%s", words->items[0]);
    for (size_t i = 1; i < words->count; ++i) {
        char *longer = cli_text("%s %s", all, words->items[i]);
        free(all);
        all = longer;
    }
    const qnnrt_explanation *found = qnnrt_explain(all);
    if (found == NULL) {
        OWNED char *hex = cli_text("0x%s", all), *name = cli_shown(all);
        const char *op = op_nearest(all, 0);
        OWNED char *hint = qnnrt_explain(hex) != NULL ? cli_text("Write 0x%s.", name)
                  : op != NULL ? cli_text("Run qnnrt-run ops %s: that is an operator.", op)
                               : cli_text("Run qnnrt-run explain for the list.");
        fail(t, NULL, hint, "\"%s\" is not a known code, symbol or line", name);
    }
    if (t->set.json) report_codes(t, found, 0);
    else if (found != NULL) say_one(t, found);
    return STATUS_OK;
}
