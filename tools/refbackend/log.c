/* log.c - lines to the callbacks of all logs, and lines that are hard to handle

   A line goes to the log of the object that a call is for, or to all logs when no object is known.
   Knows nothing of: the content of lines */
#include "ref.h"

#include <string.h>
#include <time.h>

static ref_log *logs;                    /* in the order of their creation */

void ref_log_join(ref_log *log)
{
    ref_log **last = &logs;
    while (*last != NULL)
        last = &(*last)->next;
    *last = log;
}

void ref_log_leave(ref_log *log)
{
    ref_log **at = &logs;
    while (*at != log)
        at = &(*at)->next;
    *at = log->next;
}

/* Return a moment in ns. Not the time of the thread: asking for that is a call of the kernel, which
   on a busy machine gives the core to another process at once. */
uint64_t ref_now_ns(void)
{
    struct timespec now = { 0, 0 };
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Without a callback the library prints the line, as the genuine ones do. */
static void print(const char *format, uint32_t level, uint64_t time, va_list args)
{
    (void)level; (void)time;
    fputs("QnnRef: ", stdout);
    vprintf(format, args);
}

static void send(q_log_callback callback, uint32_t level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (callback != NULL ? callback : print)(format, level, ref_now_ns(), args);
    va_end(args);
}

void ref_log_write(ref_call *call, uint32_t level, const char *format, ...)
{
    static const char letters[] = "?EWIVD";
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (const ref_log *log = logs; log != NULL; log = log->next)
        if ((call == NULL || call->log == NULL || call->log == log) && level <= log->level)
            send(log->callback, level, " <%c> %s\n", letters[level], text);
}

q_code ref_fail(ref_call *call, q_code code, const char *format, ...)
{
    char text[900];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ref_log_write(call, Q_LOG_ERROR, "%s: %s", call->name, text);
    call->code = code;
    return code;
}

/* Send lines that are hard to handle: long ones, broken UTF-8, directives and control characters in
   the text. Format and arguments agree, so a callback may format them. */
static void *hostile(void *argument)
{
    static char wide[5000];
    q_log_callback callback;
    memcpy(&callback, &argument, sizeof(callback));
    memset(wide, 'w', sizeof(wide) - 1);
    send(callback, Q_LOG_ERROR, "%s", "%s%n%1000000d\x1b[2J\x01\xff\xfe\r\n");
    send(callback, Q_LOG_ERROR, "%s\n", wide);
    send(callback, Q_LOG_WARN, "%4000d %% %%n %-3000s|%c\n", 7, "x", 0);
    send(callback, 0, "%s", "");
    send(callback, 0xFFFFFFFFu, "a level that does not exist\n");
    return NULL;
}

void ref_log_hostile(q_log_callback callback)
{
    pthread_t thread;
    void *argument;
    if (callback == NULL)
        return;
    memcpy(&argument, &callback, sizeof(argument));
    if (pthread_create(&thread, NULL, hostile, argument) == 0)
        pthread_join(thread, NULL);
}

void ref_log_hostile_all(void)
{
    for (const ref_log *log = logs; log != NULL; log = log->next)
        ref_log_hostile(log->callback);
}
