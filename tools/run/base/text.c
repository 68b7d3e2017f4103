/* text.c - failures, lines for people, and file names

   ROOM     >>text */
#include "run/base/base.h"

#include <strings.h>

/* ---- settings, and the state of each pipeline ------------------- */

/* =====================================================================================
   TEXT                                                                           >>text
   Failures, lines for people, and file names.
   ===================================================================================== */

void fail(tool *t, job *j, const char *hint, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *message = cli_text_list(format, list);
    va_end(list);
    cli_put_end(t->out);
    cli_message(message, hint);
    t->failed = 1;
    if (t->error == NULL) {
        t->error = cli_text("%s", message);
        t->error_hint = cli_text("%s", hint != NULL ? hint : "");
    }
    if (j != NULL && j->error == NULL) j->error = message;
    else free(message);
}

void leave_out(tool *t, const char *file, const char *pipeline, const char *reason)
{
    t->left = cli_grow(t->left, t->left_count, &t->left_room, sizeof(*t->left));
    left_out *left = &t->left[t->left_count++];
    left->file = file != NULL ? cli_text("%s", file) : NULL;
    left->pipeline = pipeline != NULL ? cli_text("%s", pipeline) : NULL;
    left->reason = cli_text("%s", reason);
}

int is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

void say(const tool *t, const char *format, ...)
{
    if (t->set.run.quiet || t->set.document_count > 0) return;
    va_list list;
    va_start(list, format);
    OWNED char *text = cli_text_list(format, list), *shown = cli_shown_text(text, 2);
    va_end(list);
    cli_put(t->out, shown);
}

void say_marked(const tool *t, cli_tone tone, const char *word, const char *text)
{
    if (t->set.run.quiet || t->set.document_count > 0) return;
    OWNED char *shown = cli_shown_text(text, 2);
    const char *at = tone != CLI_PLAIN ? strstr(shown, word) : NULL;
    const size_t bytes = at != NULL ? (size_t)(at - shown) : strlen(shown);
    OWNED char *whole = cli_text("%.*s%s%s%s%s", (int)bytes, shown,
                                 at != NULL ? cli_tone_text(t->out, tone) : "",
                                 at != NULL ? word : "",
                                 at != NULL ? cli_tone_text(t->out, CLI_PLAIN) : "",
                                 at != NULL ? at + strlen(word) : "");
    cli_put(t->out, whole);
}

void say_error(const tool *t, const char *what, const qnnrt_error *err)
{
    say(t, "  %s: %s\n", what, cli_told(err));
    if (err->hint[0] != '\0') say(t, "  hint: %s\n", cli_hint(err));
}

void say_left(const tool *t)
{
    if (!t->set.keep_going || t->left_count == 0) return;
    say(t, "\nleft out\n");
    for (size_t i = 0; i < t->left_count; ++i) {
        const left_out *left = &t->left[i];
        OWNED char *name = cli_shown(left->file != NULL ? left->file : left->pipeline);
        say(t, left->file != NULL ? "  file %s: %s\n" : "  pipeline \"%s\": %s\n", name,
            left->reason);
    }
}

double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* Return N of a name that is base_N with the suffix, 0 of base with the suffix, SIZE_MAX of others;
   case is ignored. */
static size_t name_number(const char *name, const char *base, const char *suffix)
{
    const size_t length = strlen(base);
    size_t number = 0;
    if (strncasecmp(name, base, length) != 0) return SIZE_MAX;
    name += length;
    if (name[0] == '_' && name[1] >= '1' && name[1] <= '9')
        for (++name; *name >= '0' && *name <= '9' && number < 100000000; ++name)
            number = 10 * number + (size_t)(*name - '0');
    return strcasecmp(name, suffix) == 0 ? number : SIZE_MAX;
}

char *safe_name(const char *name, const char *suffix, char *const *used, size_t count)
{
    enum { LONGEST = 180 };                      /* with suffixes, below the usual limit of 255 */
    char base[LONGEST + 1];
    size_t length = 0;
    for (; name[length] != '\0' && length < LONGEST; ++length) {
        const char c = name[length];
        const int plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                          (c == '.' && length > 0);
        base[length] = plain ? c : '_';
    }
    if (length == 0) base[length++] = '_';
    base[length] = '\0';

    /* All numbers in one pass: thousands of hostile names may be equal. */
    OWNED unsigned char *taken = cli_alloc(count + 1, 1);
    size_t number = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t other = used[i] != NULL ? name_number(used[i], base, suffix) : SIZE_MAX;
        if (other <= count) taken[other] = 1;
    }
    while (taken[number]) ++number;
    return number == 0 ? cli_text("%s%s", base, suffix)
                       : cli_text("%s_%lu%s", base, (unsigned long)number, suffix);
}
