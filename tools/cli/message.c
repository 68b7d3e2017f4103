/* message.c - one line that says what failed, and the hint

   ROOM     >>message */
#include "cli/text.h"
#include "qnnrt_explain.h"

/* =====================================================================================
   MESSAGE                                                                     >>message
   One line that says what failed, and the hint as the last line.
   ===================================================================================== */

static char cli_last_hint[512];        /* the last hint, which is not printed twice in a row */

void cli_message(const char *message, const char *hint)
{
    OWNED char *text = cli_shown_text(message, 1), *what = cli_shown(hint != NULL ? hint : "");
    const int hinted = hint != NULL && hint[0] != '\0' && strcmp(hint, cli_last_hint) != 0;
    snprintf(cli_last_hint, sizeof(cli_last_hint), "%s", hint != NULL ? hint : "");
    const char *bold = cli_tone_text(stderr, CLI_BOLD), *plain = cli_tone_text(stderr, CLI_PLAIN);
    OWNED char *both = cli_text("%s%s:%s %s\n%s%s%s%s%s", bold, cli_name, plain, text,
                                hinted ? bold : "", hinted ? "hint:" : "", hinted ? plain : "",
                                hinted ? " " : "", hinted ? what : "");
    /* Print both in one call, so that lines of the vendor's threads do not come between them. */
    cli_busy_end();
    cli_print(stderr, both);
}

const char *cli_told(const qnnrt_error *err)
{
    static qnnrt_error known;
    static char text[sizeof(known.text) + 256];
    known = *err;
    qnnrt_explain_error(&known);
    snprintf(text, sizeof(text), "%s%s%s", known.text,
             known.cause != NULL ? "\n  likely cause: " : "",
             known.cause != NULL ? known.cause : "");
    return text;
}

const char *cli_hint(const qnnrt_error *err)
{
    static qnnrt_error known;
    known = *err;
    qnnrt_explain_error(&known);
    return known.hint;
}

const char *cli_library_hint(const qnnrt_error *err, const char *path, const char *hint)
{
    const int looked = path != NULL && strchr(path, '/') != NULL && access(path, F_OK) == 0;
    return looked && err->hint[0] != '\0' ? err->hint : hint;
}

int cli_usage(const char *hint, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    OWNED char *message = cli_text_list(format, list);
    va_end(list);
    OWNED char *help = hint == NULL ? cli_text("Run %s --help.", cli_name) : NULL;
    cli_message(message, hint != NULL ? hint : help);
    return STATUS_USAGE;
}

void cli_log(void *user, qnnrt_log_level level, const char *room,
             uint64_t vendor_code, const char *line)
{
    static const char *const names[] = {"default", "error", "warn", "info", "verbose", "debug"};
    char code[32] = "";
    if (level > *(const qnnrt_log_level *)user) return;
    if (vendor_code != 0)
        snprintf(code, sizeof(code), " (0x%llx)", (unsigned long long)vendor_code);
    fprintf(stderr, "%s: log %s %s: %s%s\n", cli_name,
            level >= 0 && level <= QNNRT_LOG_DEBUG ? names[level] : "?", room != NULL ? room : "",
            line != NULL ? line : "", code);
}
