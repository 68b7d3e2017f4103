/* ledger.c - every living handle of libQnnRef.so, its one lock, and the count of allocations

   A handle is a number: 0x0EF0 in the upper bits, then a serial number that no handle had before,
   then the index in the table. So stale and invented handles are recognized, and a program that
   dereferences one crashes at once.

   Environment  QNNREF_LEDGER=strict: at unload, a ledger that is not empty is printed to stderr and
                the process ends with status 99
   Knows nothing of: what the objects are */
#include "ref.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INDEX_BITS = 20, SERIAL_BITS = 28, STRICT_STATUS = 99 };
#define HANDLE_MARK ((uint64_t)0x0EF0 << (INDEX_BITS + SERIAL_BITS))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t allocations, allocated;

static ref_object **table;               /* NULL: a free place */
static size_t   table_room;
static uint32_t serial, numbers[REF_KINDS];
static char     misuse[1024];

void ref_lock(void)   { pthread_mutex_lock(&lock); }
void ref_unlock(void) { pthread_mutex_unlock(&lock); }

static void count_allocation(size_t bytes)
{
    pthread_mutex_lock(&count_lock);
    ++allocations;
    allocated += bytes;
    pthread_mutex_unlock(&count_lock);
}

uint64_t ref_allocations(uint64_t *bytes)
{
    uint64_t now;
    pthread_mutex_lock(&count_lock);
    now = allocations;
    *bytes = allocated;
    pthread_mutex_unlock(&count_lock);
    return now;
}

void *ref_alloc(size_t bytes)
{
    count_allocation(bytes);
    return calloc(1, bytes > 0 ? bytes : 1);
}

void *ref_grow(void *block, size_t old_bytes, size_t bytes)
{
    unsigned char *more;
    count_allocation(bytes);
    more = realloc(block, bytes);
    if (more != NULL && bytes > old_bytes)
        memset(more + old_bytes, 0, bytes - old_bytes);
    return more;
}

void ref_free(void *block) { free(block); }

const char *ref_kind_name(ref_kind kind)
{
    static const char *const names[REF_KINDS] = {
        "object", "log", "backend", "device", "context", "graph", "memory", "profile",
        "system context", "power id"
    };
    return names[kind];
}

int ref_ledger_add(ref_call *call, ref_object *object, ref_kind kind, q_handle *out)
{
    size_t i = 0;
    while (i < table_room && table[i] != NULL)
        ++i;
    if (i == table_room) {
        const size_t room = table_room > 0 ? table_room * 2 : 64;
        ref_object **more;
        if (room > (size_t)1 << INDEX_BITS)
            return 0;
        more = ref_grow(table, table_room * sizeof(*table), room * sizeof(*table));
        if (more == NULL)
            return 0;
        table = more;
        table_room = room;
    }
    serial = (serial + 1) & ((1u << SERIAL_BITS) - 1);
    object->kind = kind;
    object->index = (uint32_t)i;
    object->number = ++numbers[kind];
    object->handle = HANDLE_MARK | (uint64_t)serial << INDEX_BITS | i;
    object->log = call->log;
    table[i] = object;
    if (out != NULL)
        *out = (q_handle)(uintptr_t)object->handle;
    return 1;
}

void *ref_ledger_make(ref_call *call, ref_kind kind, size_t bytes, q_handle *out)
{
    ref_object *object = ref_alloc(bytes);
    if (object != NULL && ref_ledger_add(call, object, kind, out))
        return object;
    ref_free(object);
    ref_fail(call, Q_MEMORY, "no memory for a %s", ref_kind_name(kind));
    return NULL;
}

void ref_ledger_drop(ref_object *object)
{
    table[object->index] = NULL;
    ref_free(object);
}

void ref_ledger_mute(const ref_log *log)
{
    for (size_t i = 0; i < table_room; ++i)
        if (table[i] != NULL && table[i]->log == log)
            table[i]->log = NULL;
}

static void *find(ref_call *call, ref_kind kind, const void *handle, q_code code, int dead_too)
{
    const uint64_t value = (uint64_t)(uintptr_t)handle;
    const size_t i = (size_t)(value & (((uint64_t)1 << INDEX_BITS) - 1));
    const char *name = ref_kind_name(kind);
    ref_object *object;
    if (handle == NULL) {
        ref_fail(call, code, "the %s handle is NULL", name);
        return NULL;
    }
    if (value >> (INDEX_BITS + SERIAL_BITS) != HANDLE_MARK >> (INDEX_BITS + SERIAL_BITS)) {
        ref_fail(call, code, "0x%llx is not a handle of this library; expected a %s",
                 (unsigned long long)value, name);
        return NULL;
    }
    object = i < table_room ? table[i] : NULL;
    if (object == NULL || object->handle != value) {
        ref_fail(call, code, "the %s handle 0x%llx was freed, or its owner was", name,
                 (unsigned long long)value);
        return NULL;
    }
    if (object->kind != kind) {
        ref_fail(call, code, "0x%llx is %s %u; expected a %s", (unsigned long long)value,
                 ref_kind_name(object->kind), (unsigned)object->number, name);
        return NULL;
    }
    if (object->dead && !dead_too) {
        ref_fail(call, Q_DEVICE_LOST, "%s %u is dead: the subsystem restarted; free all and create "
                 "again",
                 name, (unsigned)object->number);
        return NULL;
    }
    if (call->log == NULL)
        call->log = object->log;
    return object;
}

void *ref_ledger_get(ref_call *call, ref_kind kind, const void *handle, q_code code)
{
    return find(call, kind, handle, code, 0);
}

void *ref_ledger_get_dead(ref_call *call, ref_kind kind, const void *handle, q_code code)
{
    return find(call, kind, handle, code, 1);
}

void ref_ledger_name(const void *handle, char *text, size_t bytes)
{
    const uint64_t value = (uint64_t)(uintptr_t)handle;
    const size_t i = (size_t)(value & (((uint64_t)1 << INDEX_BITS) - 1));
    const ref_object *object = i < table_room ? table[i] : NULL;
    if (handle == NULL)
        snprintf(text, bytes, "NULL");
    else if (object == NULL || object->handle != value)
        snprintf(text, bytes, "?");
    else
        snprintf(text, bytes, "%s %u", ref_kind_name(object->kind), (unsigned)object->number);
}

void *ref_ledger_at(ref_kind kind, size_t n)
{
    for (size_t i = 0; i < table_room; ++i)
        if (table[i] != NULL && table[i]->kind == kind && n-- == 0)
            return table[i];
    return NULL;
}

void ref_ledger_misuse(ref_call *call, const char *format, ...)
{
    const size_t used = strlen(misuse);
    va_list args;
    va_start(args, format);
    vsnprintf(misuse + used, sizeof(misuse) - used, format, args);
    va_end(args);
    ref_log_write(call, Q_LOG_ERROR, "%s: %s", call->name, misuse + used);
    if (strlen(misuse) + 1 < sizeof(misuse))
        strcat(misuse, "\n");
}

/* Logs and system contexts are not part of the subsystem: they survive its restart. */
void ref_ledger_restart(void)
{
    for (size_t i = 0; i < table_room; ++i)
        if (table[i] != NULL && table[i]->kind != REF_LOG && table[i]->kind != REF_SYSTEM)
            table[i]->dead = 1;
}

size_t ref_ledger_report(char *text, size_t bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < table_room; ++i) {
        if (table[i] == NULL)
            continue;
        used += (size_t)snprintf(used < bytes ? text + used : NULL, used < bytes ? bytes - used : 0,
                                 "%s %u is alive\n", ref_kind_name(table[i]->kind),
                                 (unsigned)table[i]->number);
    }
    used += (size_t)snprintf(used < bytes ? text + used : NULL, used < bytes ? bytes - used : 0,
                             "%s", misuse);
    return used;
}

__attribute__((destructor)) static void at_unload(void)
{
    const char *mode = getenv("QNNREF_LEDGER");
    char text[4096];
    if (ref_ledger_report(text, sizeof(text)) > 0 && mode != NULL && strcmp(mode, "strict") == 0) {
        fprintf(stderr, "libQnnRef.so: the ledger is not empty at unload\n%s", text);
        fflush(NULL);
        _exit(STRICT_STATUS);
    }
    free(table);
    table = NULL;
    table_room = 0;
}
