/* trace.c - one line per call: name(arguments) -> code

   Lines go to the file that QNNREF_TRACE names, and to memory after QnnRef_control("trace on",
   ...). Arguments are named by kind and number ("context 1"), so that two runs of one program give
   the same text; names and order of the calls are those that libQnnSaver.so writes
   ("interface.x(...)").
   Knows nothing of: the work of the calls */
#include "ref.h"

#include <stdlib.h>
#include <string.h>

static FILE  *file;
static int    looked, on;
static char  *lines;
static size_t used, room;

void ref_trace_set(int wanted) { on = wanted; }

void ref_trace_clear(void)
{
    free(lines);
    lines = NULL;
    used = room = 0;
}

size_t ref_trace_text(char *text, size_t bytes)
{
    if (bytes > 0)
        snprintf(text, bytes, "%s", lines != NULL ? lines : "");
    return used;
}

static void keep(const char *line, size_t length)
{
    if (used + length + 1 > room) {
        const size_t more = (used + length + 1) * 2;
        char *grown = realloc(lines, more);
        if (grown == NULL)
            return;
        lines = grown;
        room = more;
    }
    memcpy(lines + used, line, length + 1);
    used += length;
}

int ref_trace_wanted(void)
{
    const char *path = looked ? NULL : getenv("QNNREF_TRACE");
    looked = 1;
    if (path != NULL && path[0] != '\0') {
        file = fopen(path, "a");
        if (file == NULL)
            fprintf(stderr, "libQnnRef.so: QNNREF_TRACE: cannot write %s\n", path);
    }
    return file != NULL || on;
}

void ref_trace_line(const ref_call *call)
{
    char line[600];
    size_t length = (size_t)snprintf(line, sizeof(line), "%s(%s) -> 0x%llx%s%s\n", call->name,
                                     call->arguments, (unsigned long long)call->code,
                                     call->made[0] != '\0' ? " " : "", call->made);
    /* Names come from a caller: characters that would break a line become dots. */
    for (size_t i = 0; i + 1 < length; ++i)
        if ((unsigned char)line[i] < ' ')
            line[i] = '.';
    if (file != NULL) {
        fputs(line, file);
        fflush(file);
    }
    if (on)
        keep(line, length);
}

__attribute__((destructor)) static void at_unload(void)
{
    if (file != NULL)
        fclose(file);
    file = NULL;
    ref_trace_clear();
}
