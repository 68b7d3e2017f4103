/* log.c - lines to the callbacks of logCreate, and the two faults that send lines at a bad time

   A line goes to the log of the object that a call is for, or to all logs when no object is known.
   Knows nothing of: the content of lines */
#include "ref.h"

#include <string.h>
#include <time.h>

static uint64_t stamp(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t ref_now_ns(void) { return stamp(); }

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
    (callback != NULL ? callback : print)(format, level, stamp(), args);
    va_end(args);
}

void ref_log_v(ref_call *call, uint32_t level, const char *format, va_list args)
{
    static const char letters[] = "?EWIVD";
    char text[1024];
    ref_log *log;
    vsnprintf(text, sizeof(text), format, args);
    for (size_t i = 0; (log = ref_ledger_at(REF_LOG, i)) != NULL; ++i)
        if ((call == NULL || call->log == NULL || call->log == log) && level <= log->level)
            send(log->callback, level, " <%c> %s\n", letters[level], text);
}

void ref_log_write(ref_call *call, uint32_t level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ref_log_v(call, level, format, args);
    va_end(args);
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

q_code ref_log_create(ref_call *call, q_log_callback callback, uint32_t level, q_handle *out)
{
    ref_log *log;
    if (out == NULL)
        return ref_fail(call, Q_LOG_ARGUMENT, "the pointer for the handle is NULL");
    if (level < Q_LOG_ERROR || level > Q_LOG_DEBUG)
        return ref_fail(call, Q_LOG_ARGUMENT, "level %u, expected 1 to 5", (unsigned)level);
    log = ref_ledger_make(call, REF_LOG, sizeof(*log));
    if (log == NULL)
        return call->code;
    log->callback = callback;
    log->level = level;
    *out = (q_handle)(uintptr_t)log->head.handle;
    return Q_OK;
}

q_code ref_log_level(ref_call *call, q_handle handle, uint32_t level)
{
    ref_log *log = ref_ledger_get(call, REF_LOG, handle, Q_LOG_HANDLE);
    if (log == NULL)
        return call->code;
    if (level < Q_LOG_ERROR || level > Q_LOG_DEBUG)
        return ref_fail(call, Q_LOG_ARGUMENT, "level %u, expected 1 to 5", (unsigned)level);
    log->level = level;
    return Q_OK;
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

static void hostile_thread(q_log_callback callback)
{
    pthread_t thread;
    void *argument;
    if (callback == NULL)
        return;
    memcpy(&argument, &callback, sizeof(argument));
    if (pthread_create(&thread, NULL, hostile, argument) == 0)
        pthread_join(thread, NULL);
}

void ref_log_hostile(void)
{
    ref_log *log;
    for (size_t i = 0; (log = ref_ledger_at(REF_LOG, i)) != NULL; ++i)
        hostile_thread(log->callback);
}

q_code ref_log_free(ref_call *call, q_handle handle)
{
    ref_log *log = ref_ledger_get(call, REF_LOG, handle, Q_LOG_HANDLE);
    q_log_callback late;
    ref_backend *backend;
    ref_device *device;
    if (log == NULL)
        return call->code;
    for (size_t i = 0; (backend = ref_ledger_at(REF_BACKEND, i)) != NULL; ++i) {
        if (backend->log == log) {
            backend->log = NULL;
            ref_ledger_misuse(call, "log %u was freed before backend %u, which uses it",
                              (unsigned)log->head.number, (unsigned)backend->head.number);
        }
    }
    for (size_t i = 0; (device = ref_ledger_at(REF_DEVICE, i)) != NULL; ++i)
        if (device->log == log)
            device->log = NULL;
    late = log->callback;
    ref_ledger_remove(&log->head);
    ref_free(log);
    if (ref_fault.log_late)
        hostile_thread(late);
    return Q_OK;
}
