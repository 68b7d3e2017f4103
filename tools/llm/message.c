/* message.c - warnings and failures

   ROOM     >>text */
#include "llm/llm.h"

/* =====================================================================================
   TEXT                                                                           >>text
   Warnings and failures.
   ===================================================================================== */

void warn(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    OWNED char *message = cli_text_list(format, list);
    va_end(list);
    cli_message(message, NULL);
}

int fail(tool *t, const char *hint, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    OWNED char *message = cli_text_list(format, list);
    va_end(list);
    cli_message(message, hint);
    t->failed = 1;
    return 0;
}

int fail_error(tool *t, const qnnrt_error *err)
{
    return fail(t, cli_hint(err), "%s", cli_told(err));
}
