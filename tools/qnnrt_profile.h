/* qnnrt_profile.h - v0.5.0 - what a backend library measured, as tables and as the vendor's log

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt.h"
       #define QNNRT_PROFILE_IMPLEMENTATION         #include "qnnrt_profile.h"
       #include "qnnrt.h"
       #include "qnnrt_profile.h"
   It is a friend of qnnrt.h: both implementations stand in one file, this one after that of
   qnnrt.h, and build options of qnnrt.h, such as QNNRT_STATIC, hold for both. A run is profiled
   from one call on:

       qnnrt_run_profile(run, QNNRT_PROFILE_DETAILED);
       qnnrt_exec(run);
       qnnrt_run_events(run, &events, &count);
       for (i = 0; i < count; ++i)
           printf("%g %s %s\n", events[i].value, events[i].unit_name, events[i].name);

   HTP reports cycles of nodes, CPU microseconds. Backend, release and device decide which events
   exist: look for what you need, and expect that it may be missing. On the x86-64 emulator "VTCM
   acquire" and "power on" are not real times. Loading is profiled by a hook of the creation of
   contexts:

       qnnrt_profile_create(QNNRT_PROFILE_BASIC, NULL, &loading, &err);
       desc.context_hooks = qnnrt_profile_hook(loading);
       if (qnnrt_open("model_dir", &desc, &model, &err) != QNNRT_OK) puts(err.text);
       qnnrt_profile_events(loading, &events, &count);

   Threads  None are created. A run and its events belong to one thread at a time; so do a
            qnnrt_profile and the calls that create contexts with its hook.

   ROOMS (search for the tag), below those of qnnrt.h
       >>event_abi >>events >>measure >>loading >>export
*/
#ifndef QNNRT_PROFILE_H
#define QNNRT_PROFILE_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_profile.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum qnnrt_profile_level {
    QNNRT_PROFILE_OFF = 0,
    QNNRT_PROFILE_BASIC,                    /* totals */
    QNNRT_PROFILE_DETAILED,                 /* totals and each node */
    QNNRT_PROFILE_OPTRACE                   /* HTP: also the trace for qnnrt_run_profile_log() */
} qnnrt_profile_level;

typedef struct qnnrt_profile_event {
    const char *name;                       /* the library's, such as "QNN (execute) time", cut
                                               at 1,024 bytes; may be "" */
    const char *node;                       /* the node that was measured, or "" */
    uint32_t    type, unit;                 /* the vendor's numbers; types: 400 exec, 404 node */
    const char *unit_name;                  /* "us", "bytes", "cycles", "count"; "" for others */
    double      value;                      /* whole numbers are exact up to 2^53 */
    uint64_t    time;                       /* when it was measured, in us; 0: not known */
    uint32_t    depth;                      /* 0, or more: the event is a part of the nearest event
                                               before it with a smaller depth */
    uint32_t    vendor_code;                /* not 0: the library could not describe the event */
    size_t      step;                       /* index of the step of a run; of a qnnrt_profile: of
                                               the context */
} qnnrt_profile_event;

/* ---- of a run ---- */

/* Profile every exec from now on, or stop with QNNRT_PROFILE_OFF. Drops earlier events. Host steps
   and conversions have one event each, "host time" and "convert time".
   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (the backend has no profiles, or none of this level);
            QNNRT_E_BACKEND; QNNRT_E_MEMORY; QNNRT_E_ARG. After a failure profiling is off
   Cost     off: none, qnnrt_exec() runs the same code. On: the time that the library needs */
QNNRT_API qnnrt_result qnnrt_run_profile(qnnrt_run *run, qnnrt_profile_level level);

/* Get the events of the last exec, in the order of its steps. They are valid until the next exec,
   qnnrt_run_profile() or the end of the run. The first call after an exec reads them from the
   library.
   Returns  QNNRT_OK; QNNRT_E_STATE (profiling is off, no exec ran since it was turned on, or the
            last exec failed); QNNRT_E_BACKEND; QNNRT_E_LIMIT (more than 1,048,576 events, or nested
            deeper than 8 levels); QNNRT_E_MEMORY; QNNRT_E_ARG. After a failure *events is NULL and
            *count 0 */
QNNRT_API qnnrt_result qnnrt_run_events(qnnrt_run *run, const qnnrt_profile_event **events,
                                        size_t *count);

/* Write the events of the last exec to the log file that the SDK's qnn-profile-viewer reads,
   through libQnnSystem.so of release 2.40 or newer, except 2.44. An existing log is extended;
   that library makes missing folders.
   Returns  as qnnrt_run_events(); QNNRT_E_LIBRARY, QNNRT_E_VERSION (of libQnnSystem.so); QNNRT_E_IO
            (nothing was written) */
QNNRT_API qnnrt_result qnnrt_run_profile_log(qnnrt_run *run, const char *path);

/* ---- of loading ---- */

/* What a library measured while it created the contexts of a model. */
typedef struct qnnrt_profile qnnrt_profile;

/* Make a profile for one model.
   level    QNNRT_PROFILE_OFF: nothing is measured
   hooks    for its memory (default NULL: malloc and free)
   Returns  QNNRT_OK; QNNRT_E_MEMORY; QNNRT_E_ARG
   Frees    qnnrt_profile_destroy(), after the model was closed */
QNNRT_API qnnrt_result qnnrt_profile_create(qnnrt_profile_level level, const qnnrt_hooks *hooks,
                                            qnnrt_profile **out, qnnrt_error *err);

/* Return the hook for qnnrt_desc.context_hooks, NULL for NULL. It profiles the first creation of
   each context, which fails if the backend has no profiles of this level. */
QNNRT_API qnnrt_context_hook *qnnrt_profile_hook(qnnrt_profile *profile);

/* Get the events so far, in the order of creation. They are valid until another context is created,
   or the profile is destroyed. */
QNNRT_API void qnnrt_profile_events(const qnnrt_profile *profile,
                                    const qnnrt_profile_event **events, size_t *count);

/* Free a profile; NULL does nothing. */
QNNRT_API void qnnrt_profile_destroy(qnnrt_profile *profile);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_PROFILE_H, end of the declarations */

#ifdef QNNRT_PROFILE_IMPLEMENTATION
#ifndef QNNRT_PROFILE__IMPL_ONCE
#define QNNRT_PROFILE__IMPL_ONCE

#ifndef QNNRT__IMPL_ONCE
#error "define QNNRT_IMPLEMENTATION before QNNRT_PROFILE_IMPLEMENTATION: both stand in one file"
#endif

/* =====================================================================================
   VENDOR INTERFACE OF EVENTS                                                >>event_abi
   Structs of profiles and of logs that only this header reads or writes.
   Source and target: as in room >>abi of qnnrt.h.
   Needs: >>config >>abi     Knows nothing of: what the values mean to us
   ===================================================================================== */

enum {                                           /* vendor: QNN_PROFILE_..., QnnSystemProfile_... */
    QNNRT__ABI_PROFILE_BASIC = 1, QNNRT__ABI_PROFILE_DETAILED = 2,
    QNNRT__ABI_PROFILE_OPTRACE = 2,               /* option of a profile's config                 */
    QNNRT__ABI_EVENT_NODE = 404,
    QNNRT__ABI_EVENT_PLAIN = 0, QNNRT__ABI_EVENT_EXTENDED = 1,
    QNNRT__ABI_TARGET_FILE = 1, QNNRT__ABI_TARGET_HEADER = 1, QNNRT__ABI_METHOD_EXECUTE = 1
};

struct qnnrt__abi_profile_config {                /* vendor: QnnProfile_Config_t                  */
    uint32_t option;                              /*  0                                           */
    uint64_t optrace;                             /*  8  of a union; one byte                     */
};

struct qnnrt__abi_event {                         /* vendor: QnnProfile_EventData_t               */
    uint32_t    type, unit;                       /*  0, 4                                        */
    uint64_t    value;                            /*  8                                           */
    const char *name;                             /* 16                                           */
};

struct qnnrt__abi_event_extended {                /* vendor: QnnProfile_ExtendedEventData_t       */
    uint32_t    version, unused;                  /*  0  1                                        */
    uint32_t    type, unit;                       /*  8, 12                                       */
    uint32_t    dtype;                            /* 16  of a scalar; an object has 24 bytes here */
    uint64_t    value, object;                    /* 24, 32                                       */
    uint64_t    time;                             /* 40                                           */
    const char *name;                             /* 48                                           */
};

typedef struct qnnrt__abi_event_node {            /* vendor: QnnSystemProfile_ProfileEventV1_t    */
    uint32_t kind;                                /*  0  selects the member of u                  */
    union { qnnrt__abi_event plain; qnnrt__abi_event_extended extended; } u;   /* 8 */
    struct qnnrt__abi_event_node *children;       /* 64                                           */
    uint32_t count;                               /* 72                                           */
} qnnrt__abi_event_node;

struct qnnrt__abi_profile_data {                  /* vendor: QnnSystemProfile_ProfileData_t       */
    uint32_t    version;                          /*  0  1                                        */
    uint64_t    begin_us, end_us, begin_bytes, end_bytes;   /* 8, 16, 24, 32 */
    uint32_t    method, visibility;               /* 40, 44                                       */
    const char *graph;                            /* 48                                           */
    qnnrt__abi_event_node *events;                /* 56                                           */
    uint32_t    count;                            /* 64                                           */
};

struct qnnrt__abi_target {                        /* vendor: ..._SerializationTarget_t, by value  */
    uint32_t    type;                             /*  0                                           */
    const char *name, *folder;                    /*  8, 16                                       */
};

struct qnnrt__abi_target_config {                 /* vendor: ..._SerializationTargetConfig_t      */
    uint32_t    type;                             /*  0                                           */
    const char *program, *version, *backend;      /*  8                                           */
};

#if QNNRT__CAN_CALL
QNNRT__IS(profile_config, 16);     QNNRT__AT(profile_config, optrace, 8);
QNNRT__IS(event, 24);              QNNRT__AT(event, value, 8);      QNNRT__AT(event, name, 16);
QNNRT__IS(event_extended, 56);     QNNRT__AT(event_extended, type, 8);
QNNRT__AT(event_extended, dtype, 16); QNNRT__AT(event_extended, value, 24);
QNNRT__AT(event_extended, time, 40); QNNRT__AT(event_extended, name, 48);
QNNRT__IS(event_node, 80);         QNNRT__AT(event_node, u, 8);
QNNRT__AT(event_node, children, 64); QNNRT__AT(event_node, count, 72);
QNNRT__IS(profile_data, 72);       QNNRT__AT(profile_data, begin_us, 8);
QNNRT__AT(profile_data, method, 40); QNNRT__AT(profile_data, graph, 48);
QNNRT__AT(profile_data, events, 56); QNNRT__AT(profile_data, count, 64);
QNNRT__IS(target, 24);             QNNRT__AT(target, name, 8);
QNNRT__IS(target_config, 32);      QNNRT__AT(target_config, program, 8);
#endif

/* =====================================================================================
   EVENTS                                                                        >>events
   What a library measured: the vendor's profile handles, and their events as a table.
   Needs: >>mem >>err >>log >>codes >>dtype >>abi >>backend >>event_abi
   Knows nothing of: runs, models, files
   ===================================================================================== */

/* Limits, because a broken library could return events without end. */
enum { QNNRT__PROFILE_DEEPEST = 8, QNNRT__PROFILE_MOST = 1048576, QNNRT__PROFILE_NAME = 1024 };

typedef struct qnnrt__profile_list {           /* a table that grows */
    qnnrt__arena         arena;                /* of all that it points to */
    qnnrt_profile_event *events;
    size_t               count, room;
    size_t               step;                 /* of the events that are read now, */
    const qnnrt_backend *backend;              /* its backend */
    qnnrt__abi_handle    handle;               /* and its handle */
    uint32_t             left;                 /* that it may still declare */
    qnnrt__abi_event_node root;                /* above those of the handle, in the vendor's form */
    qnnrt_error         *err;
} qnnrt__profile_list;

static qnnrt_result qnnrt__profile_check(qnnrt_profile_level level, qnnrt_error *err)
{
    if ((unsigned)level <= (unsigned)QNNRT_PROFILE_OPTRACE) return QNNRT_OK;
    return QNNRT__FAIL(err, QNNRT_E_ARG, "profile level %d, expected 0 to %d", (int)level,
                       (int)QNNRT_PROFILE_OPTRACE);
}

static void qnnrt__profile_close(qnnrt_backend *b, qnnrt__abi_handle handle)
{
    qnnrt__abi_code code = handle != NULL ? b->calls->profile_free(handle) : 0;
    if (code != 0)
        qnnrt_log(&b->hooks, QNNRT_LOG_ERROR, "profile", code, "profileFree answered 0x%x",
                  (unsigned)(code & 0xFFFF));
}

/* Create one vendor handle. Callers hold the lock, here and below. */
static qnnrt_result qnnrt__profile_open(qnnrt_backend *b, qnnrt_profile_level level,
                                        qnnrt__abi_handle *out, qnnrt_error *err)
{
    static const char *const names[] = { "off", "basic", "detailed", "optrace" };
    static const qnnrt__abi_profile_config config = { QNNRT__ABI_PROFILE_OPTRACE, 1 };
    const qnnrt__abi_profile_config *configs[2] = { &config, NULL };
    const qnnrt__abi_calls *calls = b->calls;
    const int trace = level == QNNRT_PROFILE_OPTRACE;
    const char *call = "profileCreate";
    const uint32_t mark = qnnrt__log_mark(b->log_slot);
    qnnrt__abi_code code;
    *out = NULL;
    if (b->backend == NULL) return qnnrt__backend_lost(b->path, err);
    if (calls->profile_create == NULL || calls->profile_free == NULL ||
        calls->profile_get_events == NULL ||
        (calls->profile_get_event == NULL && calls->profile_get_extended_event == NULL) ||
        (trace && calls->profile_set_config == NULL))
        return QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "%s has no functions for %s profiles", b->path,
                           names[level]);
    code = calls->profile_create(b->backend, level == QNNRT_PROFILE_BASIC
                                                 ? QNNRT__ABI_PROFILE_BASIC
                                                 : QNNRT__ABI_PROFILE_DETAILED, out);
    if (code != 0) *out = NULL;
    if (*out != NULL && trace) {
        call = "profileSetConfig";
        code = calls->profile_set_config(*out, configs);
    }
    if (code == 0 && *out != NULL) return QNNRT_OK;
    qnnrt__profile_close(b, *out);
    *out = NULL;
    if ((code & 0xFFFF) == QNNRT__ABI_NOT_SUPPORTED) {
        QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "%s has no %s profiles: %s answered 0x%x", b->path,
                    names[level], call, (unsigned)(code & 0xFFFF));
        if (err != NULL) err->vendor_code = code;
        return QNNRT__HINT(err, QNNRT_E_UNSUPPORTED,
                           trace ? "Use the level detailed; only HTP has traces."
                                 : "Profile on another backend.");
    }
    QNNRT__FAIL(err, QNNRT_E_BACKEND, "%s: cannot create a %s profile", b->path, names[level]);
    return qnnrt__codes_explain(err, call, code, b->log_slot, mark);
}

/* Return a scalar of up to 64 bits; 0 for an object, which only the vendor's tools read. */
static double qnnrt__profile_value(uint32_t dtype, uint64_t bits)
{
    const qnnrt__dtype_kind kind = qnnrt__dtype_kind_of((qnnrt_dtype)dtype);
    const uint32_t unused = 64 - qnnrt_dtype_bits((qnnrt_dtype)dtype);
    float single;
    double value;
    memcpy(&single, &bits, sizeof(single));
    memcpy(&value, &bits, sizeof(value));
    if (dtype == QNNRT_DTYPE_F32) return (double)single;
    if (dtype == QNNRT_DTYPE_F64) return value;
    if (unused == 64) return 0;
    if (kind == QNNRT__DTYPE_INT) return (double)((int64_t)(bits << unused) >> unused);
    return kind == QNNRT__DTYPE_UINT || kind == QNNRT__DTYPE_BOOL
               ? (double)(bits << unused >> unused) : 0;
}

/* Copy the node's name from the name of an event of type 404. After it come " (cycles)", or
   ":OpId_17" or " OpId_2" before that. */
static const char *qnnrt__profile_node(const char *name, uint32_t backend_id, qnnrt__arena *arena)
{
    size_t length = strlen(name), at = length;
    if (at > 0 && name[at - 1] == ')') {
        for (--at; at > 0 && name[at - 1] >= 'a' && name[at - 1] <= 'z';) --at;
        if (at >= 2 && name[at - 1] == '(' && name[at - 2] == ' ') length = at - 2;
    }
    for (at = length; at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9';) --at;
    if (at < length && at >= 6 && memcmp(name + at - 5, "OpId_", 5) == 0 &&
        (name[at - 6] == ':' || name[at - 6] == ' ')) {
        length = at - 6;
    } else if (backend_id == QNNRT__ABI_BACKEND_CPU && name[0] == '_' && length > 1) {
        ++name;                                /* CPU puts "_" before every name */
        --length;
    }
    return qnnrt_arena_text(arena, name, length);
}

/* Append a row. Return NULL when out of memory. */
static qnnrt_profile_event *qnnrt__profile_row(qnnrt__profile_list *list)
{
    qnnrt_profile_event *row = (qnnrt_profile_event *)qnnrt__arena_grow(
        &list->arena, list->events, list->count, sizeof(*row), (uint64_t)list->count + 1,
        &list->room);
    if (row == NULL) return NULL;
    list->events = row;
    row += list->count++;
    memset(row, 0, sizeof(*row));
    row->step = list->step;
    row->node = "";
    return row;
}

/* Read an event into the vendor's form and into a row. If the plain form fails, try the extended
   form, the only one of the CPU backend; if that fails, too, keep the code. node: of the event
   above; receives its own. Return 0 when out of memory. */
static int qnnrt__profile_take(qnnrt__profile_list *list, uint64_t id, uint32_t depth,
                               qnnrt__abi_event_node *from, const char **node)
{
    static const char *const units[] = { "", "us", "bytes", "cycles", "count" };
    const qnnrt__abi_calls *calls = list->backend->calls;
    qnnrt__abi_event *plain = &from->u.plain;
    qnnrt__abi_event_extended *extended = &from->u.extended;
    qnnrt__abi_code code = QNNRT__ABI_NOT_SUPPORTED;
    qnnrt_profile_event *row = qnnrt__profile_row(list);
    size_t length = 0;
    if (row == NULL) return 0;
    if (calls->profile_get_event != NULL) code = calls->profile_get_event(id, plain);
    if (code != 0 && calls->profile_get_extended_event != NULL) {
        memset(&from->u, 0, sizeof(from->u));
        code = calls->profile_get_extended_event(id, extended);
        if (code == 0 && extended->version != 1) code = QNNRT__ABI_NOT_SUPPORTED;
        if (code == 0) from->kind = QNNRT__ABI_EVENT_EXTENDED;
    }
    if (code != 0) memset(&from->u, 0, sizeof(from->u));
    row->vendor_code = (uint32_t)(code & 0xFFFF);
    if (from->kind == QNNRT__ABI_EVENT_EXTENDED) {
        row->type = extended->type;
        row->unit = extended->unit;
        row->time = extended->time;
        row->value = qnnrt__profile_value(extended->dtype, extended->value);
        row->name = extended->name = extended->name != NULL ? extended->name : "";
    } else {
        row->type = plain->type;
        row->unit = plain->unit;
        row->value = (double)plain->value;
        row->name = plain->name = plain->name != NULL ? plain->name : "";
    }
    while (length < QNNRT__PROFILE_NAME && row->name[length] != '\0') ++length;
    row->name = qnnrt_arena_text(&list->arena, row->name, length);
    row->unit_name = units[row->unit < sizeof(units) / sizeof(units[0]) ? row->unit : 0];
    row->depth = depth;
    if (row->name != NULL && row->type == QNNRT__ABI_EVENT_NODE && row->vendor_code == 0)
        *node = qnnrt__profile_node(row->name, list->backend->info.id, &list->arena);
    row->node = *node;
    return row->name != NULL && row->node != NULL;
}

/* Read the events of one level, below an event unless depth is 0, and all below them. node: theirs.
   above receives them in the vendor's form, whose names belong to the handle. */
static qnnrt_result qnnrt__profile_level(qnnrt__profile_list *list, uint64_t event, uint32_t depth,
                                         const char *node, qnnrt__abi_event_node *above)
{
    const qnnrt__abi_calls *calls = list->backend->calls;
    qnnrt_result result = QNNRT_OK;
    qnnrt__abi_event_node *to;
    const uint64_t *ids = NULL;
    uint32_t found = 0, i;
    qnnrt__abi_code code = 0;
    if (depth == 0) code = calls->profile_get_events(list->handle, &ids, &found);
    else if (calls->profile_get_sub_events != NULL)
        code = calls->profile_get_sub_events(event, &ids, &found);
    if (depth > 0 && (code & 0xFFFF) == QNNRT__ABI_NOT_SUPPORTED) return QNNRT_OK;
    if (code != 0) {
        QNNRT__FAIL(list->err, QNNRT_E_BACKEND, "%s: could not read the profile's events",
                    list->backend->path);
        return qnnrt__codes_explain(list->err, depth == 0 ? "profileGetEvents"
                                                          : "profileGetSubEvents", code, -1, 0);
    }
    if (found == 0) return QNNRT_OK;
    if (found > list->left)
        return QNNRT__FAIL(list->err, QNNRT_E_LIMIT, "the profile has more than %d events",
                           (int)QNNRT__PROFILE_MOST);
    if (depth == QNNRT__PROFILE_DEEPEST)
        return QNNRT__FAIL(list->err, QNNRT_E_LIMIT,
                           "the profile's events are nested deeper than %d levels", (int)depth);
    if (ids == NULL)
        return QNNRT__FAIL(list->err, QNNRT_E_BACKEND, "the profile declares %u events, but the"
                           " list is missing", (unsigned)found);
    list->left -= found;
    to = (qnnrt__abi_event_node *)qnnrt__arena_alloc(&list->arena, found, sizeof(*to));
    if (to == NULL) return qnnrt__fail_memory(list->err, "events");
    /* The next call may reuse the library's list. */
    for (i = 0; i < found; ++i) to[i].u.plain.value = ids[i];
    for (i = 0; i < found && result == QNNRT_OK; ++i) {
        const uint64_t id = to[i].u.plain.value;
        const char *own = node;
        if (!qnnrt__profile_take(list, id, depth, &to[i], &own))
            return qnnrt__fail_memory(list->err, "events");
        result = qnnrt__profile_level(list, id, depth + 1, own, &to[i]);
    }
    above->children = to;
    above->count = found;
    return result;
}

/* Append the events of a handle to the list, as those of a step. */
static qnnrt_result qnnrt__profile_read(qnnrt__profile_list *list, const qnnrt_backend *b,
                                        qnnrt__abi_handle handle, size_t step, qnnrt_error *err)
{
    const size_t before = list->count;
    qnnrt_result result;
    list->backend = b;
    list->handle = handle;
    list->step = step;
    list->left = (uint32_t)(QNNRT__PROFILE_MOST - before);
    list->err = err;
    memset(&list->root, 0, sizeof(list->root));
    result = qnnrt__profile_level(list, 0, 0, "", &list->root);
    if (result != QNNRT_OK) list->count = before;
    return result;
}

/* =====================================================================================
   MEASURE                                                                      >>measure
   The profile of a run, which is a hook of it. The next use of a vendor's handle replaces its
   events, so every step has a handle of its own.
   Needs: >>os >>mem >>err >>abi >>backend (its struct) >>friends >>wiring (its struct) >>run >>exec
          >>event_abi >>events
   Knows nothing of: how contexts are created, files
   ===================================================================================== */

typedef struct qnnrt__profile_step {
    qnnrt__abi_handle     handle;              /* NULL: it has no backend */
    uint64_t              begin_ns, end_ns;    /* of the last execute */
    qnnrt__abi_event_node root;                /* above its events, once they were read */
} qnnrt__profile_step;

typedef enum qnnrt__profile_state {
    QNNRT__PROFILE_FRESH = 0,                  /* no exec yet */
    QNNRT__PROFILE_FAILED,
    QNNRT__PROFILE_DONE,                       /* the library has events */
    QNNRT__PROFILE_READ                        /* they are in the table too */
} qnnrt__profile_state;

typedef struct qnnrt__profile {                /* of a run */
    qnnrt__run_hook       hook;                /* first */
    const qnnrt_pipeline *pipeline;
    qnnrt__profile_state  state;
    qnnrt__profile_list   list;
    qnnrt__profile_step   steps[1];            /* [step_count] */
} qnnrt__profile;

/* Hold the lock of a backend instead of that of *held; either may be NULL. */
static void qnnrt__profile_hold(qnnrt_backend **held, qnnrt_backend *b)
{
    if (*held == b) return;
    if (*held != NULL) qnnrt__hooks_unlock(&(*held)->hooks);
    if (b != NULL) qnnrt__hooks_lock(&b->hooks);
    *held = b;
}

static qnnrt_result qnnrt__profile_before(qnnrt__run_hook *hook, size_t at,
                                          qnnrt__abi_handle *handle)
{
    qnnrt__profile_step *step = &((qnnrt__profile *)hook)->steps[at];
    if (step->handle != NULL) *handle = step->handle;
    step->begin_ns = qnnrt__os_clock_ns();
    return QNNRT_OK;
}

static qnnrt_result qnnrt__profile_after(qnnrt__run_hook *hook, size_t at)
{
    ((qnnrt__profile *)hook)->steps[at].end_ns = qnnrt__os_clock_ns();
    return QNNRT_OK;
}

static void qnnrt__profile_end(qnnrt__run_hook *hook, qnnrt_result result)
{
    ((qnnrt__profile *)hook)->state = result == QNNRT_OK ? QNNRT__PROFILE_DONE
                                                         : QNNRT__PROFILE_FAILED;
}

/* Free a profile, which is no longer a hook of the run. */
static void qnnrt__profile_destroyed(qnnrt__run_hook *hook)
{
    qnnrt__profile *profile = (qnnrt__profile *)hook;
    const qnnrt_pipeline *p = profile->pipeline;
    const qnnrt_hooks hooks = profile->list.arena.hooks;
    qnnrt_backend *held = NULL;
    size_t i;
    for (i = 0; i < p->info.step_count; ++i) {
        if (profile->steps[i].handle == NULL) continue;
        qnnrt__profile_hold(&held, p->steps[i].backend);
        qnnrt__profile_close(held, profile->steps[i].handle);
    }
    qnnrt__profile_hold(&held, NULL);
    qnnrt_arena_free(&profile->list.arena);
    qnnrt__mem_free(&hooks, profile);
}

/* The handles die with the backend. */
static void qnnrt__profile_lost(qnnrt__run_hook *hook, qnnrt_run *run)
{
    qnnrt__exec_unhook(run, hook);
    qnnrt__profile_destroyed(hook);
}

/* Return the profile of a run, NULL: it has none. */
static qnnrt__profile *qnnrt__profile_of(const qnnrt_run *run)
{
    qnnrt__run_hook *hook = run->hooks;
    while (hook != NULL && hook->destroyed != qnnrt__profile_destroyed) hook = hook->next;
    return (qnnrt__profile *)hook;
}

QNNRT_API qnnrt_result qnnrt_run_profile(qnnrt_run *run, qnnrt_profile_level level)
{
    const qnnrt_pipeline *p;
    const qnnrt_hooks *hooks;
    qnnrt__profile *profile;
    qnnrt_backend *held = NULL;
    qnnrt_result result;
    size_t i;
    if (run == NULL) return QNNRT_E_ARG;
    p = run->pipeline;
    hooks = run->common;
    result = qnnrt__profile_check(level, qnnrt__run_err(run));
    if (result != QNNRT_OK) return result;
    profile = qnnrt__profile_of(run);
    if (profile != NULL) qnnrt__profile_lost(&profile->hook, run);
    if (level == QNNRT_PROFILE_OFF) return QNNRT_OK;
    profile = (qnnrt__profile *)qnnrt__mem_alloc(
        hooks, sizeof(*profile) + (uint64_t)p->info.step_count * sizeof(profile->steps[0]));
    if (profile == NULL) return qnnrt__fail_memory(&run->error, "a profile");
    profile->hook.before = qnnrt__profile_before;
    profile->hook.after = qnnrt__profile_after;
    profile->hook.end = qnnrt__profile_end;
    profile->hook.lost = qnnrt__profile_lost;
    profile->hook.destroyed = qnnrt__profile_destroyed;
    profile->pipeline = p;
    profile->list.arena.hooks = *hooks;
    qnnrt__exec_hook(run, &profile->hook);
    for (i = 0; i < p->info.step_count && result == QNNRT_OK; ++i) {
        if (p->steps[i].backend == NULL) continue;
        qnnrt__profile_hold(&held, p->steps[i].backend);
        result = qnnrt__profile_open(held, level, &profile->steps[i].handle, &run->error);
    }
    qnnrt__profile_hold(&held, NULL);
    if (result != QNNRT_OK) qnnrt__profile_lost(&profile->hook, run);
    return result;
}

/* Find the profile of a run, and read the events of the last exec into its table, unless it has
   them already. */
static qnnrt_result qnnrt__profile_events(qnnrt_run *run, qnnrt__profile **out)
{
    qnnrt__profile *profile = *out = qnnrt__profile_of(run);
    qnnrt_error *err = qnnrt__run_err(run);
    const char *why = profile == NULL                            ? ": profiling is off"
                      : profile->state == QNNRT__PROFILE_FRESH  ? " yet"
                      : profile->state == QNNRT__PROFILE_FAILED ? ": the last exec failed"
                                                                : NULL;
    const qnnrt_pipeline *p = run->pipeline;
    qnnrt_result result = QNNRT_OK;
    qnnrt_backend *held = NULL;
    size_t i;
    if (why != NULL)
        return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_STATE, "there are no events%s", why), "%s",
                           profile == NULL ? "Call qnnrt_run_profile() before qnnrt_exec()."
                                           : "Call qnnrt_exec() first.");
    if (profile->state == QNNRT__PROFILE_READ) return QNNRT_OK;
    qnnrt_arena_free(&profile->list.arena);
    profile->list.events = NULL;
    profile->list.count = profile->list.room = 0;
    for (i = 0; i < p->info.step_count && result == QNNRT_OK; ++i) {
        qnnrt__profile_step *step = &profile->steps[i];
        qnnrt_profile_event *row;
        if (p->steps[i].backend != NULL) {
            qnnrt__profile_hold(&held, p->steps[i].backend);
            result = qnnrt__profile_read(&profile->list, held, step->handle, i, err);
            step->root = profile->list.root;
            continue;
        }
        profile->list.step = i;
        row = qnnrt__profile_row(&profile->list);
        if (row == NULL) {
            result = qnnrt__fail_memory(err, "events");
            continue;
        }
        row->name = p->steps[i].kind == QNNRT_STEP_DERIVED ? "convert time" : "host time";
        row->unit = 1;
        row->unit_name = "us";
        row->value = (double)(step->end_ns - step->begin_ns) / 1000;
    }
    qnnrt__profile_hold(&held, NULL);
    if (result == QNNRT_OK) profile->state = QNNRT__PROFILE_READ;
    return result;
}

QNNRT_API qnnrt_result qnnrt_run_events(qnnrt_run *run, const qnnrt_profile_event **events,
                                        size_t *count)
{
    qnnrt__profile *profile;
    qnnrt_result result;
    if (events != NULL) *events = NULL;
    if (count != NULL) *count = 0;
    if (run == NULL) return QNNRT_E_ARG;
    if (events == NULL || count == NULL)
        return QNNRT__FAIL(qnnrt__run_err(run), QNNRT_E_ARG,
                           "qnnrt_run_events: events or count is NULL");
    result = qnnrt__profile_events(run, &profile);
    if (result != QNNRT_OK) return result;
    *events = profile->list.events;
    *count = profile->list.count;
    return QNNRT_OK;
}

/* =====================================================================================
   LOADING                                                                      >>loading
   The profile of a model's contexts, which is a hook of their creation.
   Needs: >>mem >>err >>abi >>backend >>friends >>events
   Knows nothing of: runs, files
   ===================================================================================== */

struct qnnrt_profile {
    qnnrt_context_hook  hook;                  /* first */
    qnnrt_profile_level level;
    qnnrt__abi_handle   handle;                /* of the creation that is under way */
    qnnrt__profile_list list;
};

static qnnrt_result qnnrt__loading_before(qnnrt_context_hook *hook, qnnrt__creation *creation,
                                          qnnrt_error *err)
{
    qnnrt_profile *profile = (qnnrt_profile *)hook;
    qnnrt_result result;
    if (profile->level == QNNRT_PROFILE_OFF || creation->renewed) return QNNRT_OK;
    result = qnnrt__profile_open(creation->backend, profile->level, &profile->handle, err);
    creation->profile = profile->handle;
    return result;
}

static qnnrt_result qnnrt__loading_after(qnnrt_context_hook *hook, const qnnrt__creation *creation,
                                         qnnrt_error *err)
{
    qnnrt_profile *profile = (qnnrt_profile *)hook;
    qnnrt_result result = QNNRT_OK;
    if (creation->created && profile->handle != NULL)
        result = qnnrt__profile_read(&profile->list, creation->backend, profile->handle,
                                     creation->context, err);
    qnnrt__profile_close(creation->backend, profile->handle);
    profile->handle = NULL;
    return result;
}

QNNRT_API qnnrt_result qnnrt_profile_create(qnnrt_profile_level level, const qnnrt_hooks *hooks,
                                            qnnrt_profile **out, qnnrt_error *err)
{
    qnnrt_profile *profile;
    qnnrt_result result;
    if (hooks == NULL) hooks = &qnnrt__hooks_none;
    result = qnnrt__err_begin("qnnrt_profile_create", "hooks", hooks, out, err);
    if (result == QNNRT_OK) result = qnnrt__profile_check(level, err);
    if (result == QNNRT_OK) result = qnnrt__backend_hooks(hooks, err);
    if (result != QNNRT_OK) return result;
    profile = (qnnrt_profile *)qnnrt__mem_alloc(hooks, sizeof(*profile));
    if (profile == NULL) return qnnrt__fail_memory(err, "a profile");
    profile->hook.before = qnnrt__loading_before;
    profile->hook.after = qnnrt__loading_after;
    profile->level = level;
    profile->list.arena.hooks = *hooks;
    *out = profile;
    return QNNRT_OK;
}

QNNRT_API qnnrt_context_hook *qnnrt_profile_hook(qnnrt_profile *profile)
{
    return profile != NULL ? &profile->hook : NULL;
}

QNNRT_API void qnnrt_profile_events(const qnnrt_profile *profile,
                                    const qnnrt_profile_event **events, size_t *count)
{
    *events = profile != NULL ? profile->list.events : NULL;
    *count = profile != NULL ? profile->list.count : 0;
}

QNNRT_API void qnnrt_profile_destroy(qnnrt_profile *profile)
{
    qnnrt_hooks hooks;
    if (profile == NULL) return;
    hooks = profile->list.arena.hooks;
    qnnrt_arena_free(&profile->list.arena);
    qnnrt__mem_free(&hooks, profile);
}

/* =====================================================================================
   EXPORT                                                                       >>export
   Writes the events of a run through libQnnSystem.so as the log of the vendor's viewer.
   Needs: >>os >>err >>mem >>codes >>abi >>system >>backend (its struct) >>wiring (its struct) >>run
          >>version >>event_abi >>measure
   Knows nothing of: how events were read
   ===================================================================================== */

/* Write the events of every step to a target of the library. *call receives the call that
   answered. */
static qnnrt__abi_code qnnrt__export_steps(const qnnrt__profile *profile, const char *backend,
                                           const qnnrt__abi_system_calls *calls,
                                           const qnnrt__abi_target *target, const char **call)
{
    const qnnrt__abi_target_config config = { QNNRT__ABI_TARGET_HEADER, "qnnrt", qnnrt_version(),
                                              backend };
    qnnrt__abi_handle handle = NULL;
    qnnrt__abi_code code, freed;
    size_t i;
    *call = "systemProfileCreateSerializationTarget";
    code = calls->profile_create_target(*target, &config, 1, &handle);
    if (handle == NULL) return code != 0 ? code : (qnnrt__abi_code)QNNRT__ABI_NOT_SUPPORTED;
    for (i = 0; i < profile->pipeline->info.step_count && code == 0; ++i) {
        const qnnrt__profile_step *step = &profile->steps[i];
        qnnrt__abi_profile_data data;
        const qnnrt__abi_profile_data *list = &data;
        if (step->handle == NULL) continue;        /* the vendor's viewer knows graphs only */
        memset(&data, 0, sizeof(data));
        data.version = 1;
        data.begin_us = step->begin_ns / 1000;
        data.end_us = step->end_ns / 1000;
        data.method = QNNRT__ABI_METHOD_EXECUTE;
        data.graph = profile->pipeline->steps[i].graph->name;
        data.events = step->root.children;
        data.count = step->root.count;
        *call = "systemProfileSerializeEventData";
        code = calls->profile_write(handle, &list, 1);
    }
    freed = calls->profile_free_target(handle);
    if (code == 0) *call = "systemProfileFreeSerializationTarget";
    return code != 0 ? code : freed;
}

/* Write a log of events that were read. */
static qnnrt_result qnnrt__export_write(const qnnrt__profile *profile, qnnrt_backend *b,
                                        const qnnrt__abi_system_calls *calls, const char *path,
                                        qnnrt_error *err)
{
    const char *slash = strrchr(path, '/'), *call, *why;
    const size_t length = slash == NULL || slash == path ? 1 : (size_t)(slash - path);
    char folder[QNNRT__PATH_MAX];
    const qnnrt__abi_target target = { QNNRT__ABI_TARGET_FILE, slash != NULL ? slash + 1 : path,
                                       folder };
    qnnrt__abi_code code;
    uint64_t before, after;
    int missing;
    if (length >= sizeof(folder) || path[strlen(path) - 1] == '/')
        return QNNRT__FAIL(err, QNNRT_E_ARG, "%.200s is not the path of a file, or is too long",
                           path);
    memcpy(folder, slash == NULL ? "." : path, length);
    folder[length] = '\0';
    qnnrt__os_file_head(path, NULL, 0, &before, &missing);
    qnnrt__hooks_lock(&b->hooks);
    code = qnnrt__export_steps(profile, b->build_id, calls, &target, &call);
    qnnrt__hooks_unlock(&b->hooks);
    if (code != 0) {
        QNNRT__FAIL(err, QNNRT_E_BACKEND, "cannot write the profile log %.400s", path);
        return qnnrt__codes_explain(err, call, code, -1, 0);
    }
    /* The genuine libraries answer success even when they could not write. */
    why = qnnrt__os_file_head(path, NULL, 0, &after, &missing);
    if (after > before) return QNNRT_OK;
    QNNRT__FAIL(err, QNNRT_E_IO, "the profile log %.400s was not written: %s", path,
                why != NULL ? why : "it has not grown");
    return QNNRT__HINT(err, QNNRT_E_IO, "Give the path of a plain file, in a folder that this"
                       " process may write to.");
}

QNNRT_API qnnrt_result qnnrt_run_profile_log(qnnrt_run *run, const char *path)
{
    qnnrt__profile *profile;
    const qnnrt__abi_system_calls *calls;
    const char *system_path;
    qnnrt__system system;
    qnnrt_backend *b;
    qnnrt_result result;
    if (run == NULL) return QNNRT_E_ARG;
    if (path == NULL || path[0] == '\0')
        return QNNRT__FAIL(qnnrt__run_err(run), QNNRT_E_ARG,
                           "qnnrt_run_profile_log: path is NULL or empty");
    result = qnnrt__profile_events(run, &profile);
    if (result != QNNRT_OK) return result;
    b = run->parts[0].backend;                     /* whose tools read the log */
    if (b == NULL)
        return QNNRT__FAIL(&run->error, QNNRT_E_UNSUPPORTED, "no step runs on a backend");
    system_path = run->pipeline->model->system_path;
    result = qnnrt__system_open(system_path[0] != '\0' ? system_path : NULL, b->path,
                                QNNRT__SYSTEM_OWN_NEVER, &b->hooks, &system, &run->error);
    if (result != QNNRT_OK) return result;
    calls = &system.provider->calls;
    if (qnnrt__system_is_whole(&system) && calls->profile_create_target != NULL &&
        calls->profile_write != NULL && calls->profile_free_target != NULL)
        result = qnnrt__export_write(profile, b, calls, path, &run->error);
    else
        result = QNNRT__FAIL(&run->error, QNNRT_E_VERSION,
                             "%s has system interface %u.%u, which cannot write profile logs;"
                             " that of release 2.40 or newer can, but 2.44 cannot", system.path,
                             (unsigned)system.provider->version.major,
                             (unsigned)system.provider->version.minor);
    if (b->unload) qnnrt__system_close(&system);
    return result;
}

#endif /* QNNRT_PROFILE__IMPL_ONCE */
#endif /* QNNRT_PROFILE_IMPLEMENTATION */

/* Licence and history: at the end of qnnrt.h. */
