/* run_explain.h - a part of qnnrt-run.c: what an error code or a line of a log means

   ROOM     >>explain                                                                            */

/* =====================================================================================
   EXPLAIN                                                                     >>explain
   qnnrt-run explain: a vendor code or a line of a log, its likely causes and a remedy.
   ===================================================================================== */

/* Print "0x1388    5000  QNN_CONTEXT_ERROR_INVALID_ARGUMENT". */
static void say_code(FILE *out, const qnnrt_explanation *e)
{
    fprintf(out, "0x%04x  %5u  %s", (unsigned)e->code, (unsigned)e->code,
            e->symbol[0] != '\0' ? e->symbol : "(FastRPC)");
}

static void explain_all(FILE *out)
{
    const qnnrt_explanation *e;
    for (size_t i = 0; (e = qnnrt_explanation_get(i)) != NULL; ++i) {
        if (e->text != NULL) {
            fprintf(out, "line  \"%s\"\n", e->text);
        } else {
            say_code(out, e);
            fprintf(out, "  %s\n", e->meaning);
        }
    }
}

static void explain_one(FILE *out, const qnnrt_explanation *e)
{
    if (e->text != NULL) fprintf(out, "line  \"%s\"", e->text);
    else say_code(out, e);
    fprintf(out, "\n  %s\n", e->meaning);
    if (e->text != NULL && e->code != 0) {
        fputs("  it comes with: ", out);
        say_code(out, e);
        fputc('\n', out);
    }
    for (size_t i = 0; i < 4 && e->causes[i] != NULL; ++i)
        fprintf(out, "  %s: %s\n", i == 0 ? "likely cause" : "or", e->causes[i]);
    fprintf(out, "  hint: %s\n", e->fix);
}

/* Explain the words as one text, because a shell splits a pasted line. */
static int verb_explain(void *user)
{
    tool *t = user;
    const cli_list *words = &t->set.files;
    if (words->count == 0) {
        explain_all(t->out);
        return STATUS_OK;
    }
    char *all = cli_text("%s", words->items[0]);
    for (size_t i = 1; i < words->count; ++i) {
        char *longer = cli_text("%s %s", all, words->items[i]);
        free(all);
        all = longer;
    }
    const qnnrt_explanation *found = qnnrt_explain(all);
    if (found != NULL) {
        explain_one(t->out, found);
    } else {
        char *hex = cli_text("0x%s", all), *name = cli_shown(all);
        char *hint = qnnrt_explain(hex) != NULL ? cli_text("Write 0x%s.", name)
                                                : cli_text("Run qnnrt-run explain for the list.");
        fail(t, NULL, hint, "\"%s\" is not a known code, symbol or line", name);
        free(name);
        free(hex);
        free(hint);
    }
    free(all);
    return STATUS_OK;
}
