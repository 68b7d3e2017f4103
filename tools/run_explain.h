/* run_explain.h - a part of qnnrt-run.c: what an error code or a line of a log means

   ROOM     >>explain                                                                            */

/* =====================================================================================
   EXPLAIN                                                                     >>explain
   qnnrt-run explain: what is known about a vendor code or a line of a log.
   ===================================================================================== */

/* "0x1388    5000  QNN_CONTEXT_ERROR_INVALID_ARGUMENT" */
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

/* The words are one text: a shell takes a pasted line apart. Returns the exit status. */
static int explain(FILE *out, int count, char **words)
{
    if (count == 0) {
        explain_all(out);
        return STATUS_OK;
    }
    if (count == 1 && strcmp(words[0], "--help") == 0) {
        print_help(out);
        return STATUS_OK;
    }
    char *all = text("%s", words[0]);
    for (int i = 1; i < count; ++i) {
        char *longer = text("%s %s", all, words[i]);
        free(all);
        all = longer;
    }
    const qnnrt_explanation *found = qnnrt_explain(all);
    if (found != NULL) {
        explain_one(out, found);
    } else {
        char *hex = text("0x%s", all), *name = shown(all);
        if (qnnrt_explain(hex) != NULL) fprintf(stderr, "qnnrt-run: there is no code %s, but 0x%s\n", name, name);
        else fprintf(stderr, "qnnrt-run: nothing is known about \"%s\"; \"qnnrt-run explain\" lists what is\n", name);
        free(name);
        free(hex);
    }
    free(all);
    return found != NULL ? STATUS_OK : STATUS_FAILED;
}
