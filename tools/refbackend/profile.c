/* profile.c - events of the last call with a profile handle

   An event id is the number of its profile, shifted, plus its index plus 1. Ids and lists of ids
   are valid until the next call with the same handle, which replaces all events, or until the
   handle is freed. The memory is kept, so only the first execute allocates.
   Knows nothing of: what is measured */
#include "ref.h"

#include <stdlib.h>
#include <string.h>

enum { ID_SHIFT = 32 };

q_code ref_profile_create(ref_call *call, q_handle handle, uint32_t level, q_handle *out)
{
    ref_backend *backend = ref_ledger_get(call, REF_BACKEND, handle, Q_BACKEND_HANDLE);
    ref_profile *profile;
    if (backend == NULL)
        return call->code;
    if (out == NULL || level < 1 || level > 2)
        return ref_fail(call, Q_ARGUMENT, out == NULL ? "the pointer for the handle is NULL"
                        : "level %u, expected 1 (basic) or 2 (detailed)", (unsigned)level);
    profile = ref_ledger_make(call, REF_PROFILE, sizeof(*profile), out);
    if (profile == NULL)
        return call->code;
    profile->backend = backend;
    profile->level = level;
    return Q_OK;
}

q_code ref_profile_config(ref_call *call, q_handle handle, const q_config **configs)
{
    ref_profile *profile = ref_ledger_get(call, REF_PROFILE, handle, Q_PROFILE_HANDLE);
    if (profile == NULL)
        return call->code;
    for (; configs != NULL && *configs != NULL; ++configs)
        if ((*configs)->option != 1)
            return ref_fail(call, Q_NOT_SUPPORTED, "profile option %u is not supported",
                            (unsigned)(*configs)->option);
    return Q_OK;
}

q_code ref_profile_get(ref_call *call, q_handle handle, const ref_backend *backend,
                       ref_profile **out)
{
    *out = NULL;
    if (handle == NULL)
        return Q_OK;
    *out = ref_ledger_get(call, REF_PROFILE, handle, Q_PROFILE_HANDLE);
    if (*out == NULL)
        return call->code;
    if ((*out)->backend != backend) {
        const unsigned number = (unsigned)(*out)->head.number;
        *out = NULL;
        return ref_fail(call, Q_PROFILE_HANDLE, "profile %u belongs to another backend", number);
    }
    return Q_OK;
}

void ref_profile_clear(ref_profile *profile)
{
    if (profile != NULL)
        profile->count = 0;
}

int ref_profile_add(ref_profile *profile, int parent, uint32_t type, uint32_t unit, uint64_t value,
                    const char *name)
{
    ref_event *event;
    if (profile == NULL)
        return REF_NONE;
    if (profile->count == profile->room) {
        const size_t old = (size_t)profile->room, room = old > 0 ? old * 2 : 16;
        ref_event *events = ref_grow(profile->events, old * sizeof(*events),
                                     room * sizeof(*events));
        uint64_t *ids;
        if (events == NULL)
            return REF_NONE;
        profile->events = events;
        ids = ref_grow(profile->ids, old * sizeof(*ids), room * sizeof(*ids));
        if (ids == NULL)
            return REF_NONE;
        profile->ids = ids;
        profile->room = (int)room;
    }
    event = &profile->events[profile->count];
    if (event->name == NULL || strcmp(event->name, name) != 0) {
        ref_free(event->name);
        event->name = ref_alloc(strlen(name) + 1);
        if (event->name == NULL)
            return REF_NONE;
        strcpy(event->name, name);
    }
    event->type = type;
    event->unit = unit;
    event->value = value;
    event->parent = parent;
    return profile->count++;
}

void ref_profile_time(ref_profile *profile, uint32_t type, uint64_t began, const char *name)
{
    ref_profile_add(profile, REF_NONE, type, Q_UNIT_MICROSEC, (ref_now_ns() - began) / 1000, name);
}

static uint64_t id_of(const ref_profile *profile, int index)
{
    return (uint64_t)profile->head.number << ID_SHIFT | (uint64_t)(index + 1);
}

/* Return the ids of the events below one. Each list is stored after the lists of earlier parents,
   so that one request does not change another list. */
static void children(ref_profile *profile, int parent, const uint64_t **ids, uint32_t *count)
{
    uint64_t *list = profile->ids;
    *count = 0;
    for (int i = 0; i < profile->count; ++i)
        list += profile->events[i].parent < parent;
    for (int i = 0; i < profile->count; ++i)
        if (profile->events[i].parent == parent)
            list[(*count)++] = id_of(profile, i);
    *ids = *count > 0 ? list : NULL;
}

q_code ref_profile_events(ref_call *call, q_handle handle, const uint64_t **ids, uint32_t *count)
{
    ref_profile *profile = ref_ledger_get(call, REF_PROFILE, handle, Q_PROFILE_HANDLE);
    if (profile == NULL)
        return call->code;
    if (ids == NULL || count == NULL)
        return ref_fail(call, Q_ARGUMENT, "the pointer for the list is NULL");
    children(profile, REF_NONE, ids, count);
    return Q_OK;
}

static ref_event *event_get(ref_call *call, uint64_t id, ref_profile **out)
{
    ref_profile *profile;
    for (size_t i = 0; (profile = ref_ledger_at(REF_PROFILE, i)) != NULL; ++i) {
        const uint64_t index = id & 0xFFFFFFFFu;
        if (profile->head.number == id >> ID_SHIFT && index > 0
            && index <= (uint64_t)profile->count) {
            *out = profile;
            return &profile->events[index - 1];
        }
    }
    ref_fail(call, Q_PROFILE_HANDLE, "there is no event 0x%llx", (unsigned long long)id);
    return NULL;
}

q_code ref_profile_sub(ref_call *call, uint64_t id, const uint64_t **ids, uint32_t *count)
{
    ref_profile *profile;
    const ref_event *event = event_get(call, id, &profile);
    if (event == NULL)
        return call->code;
    if (ids == NULL || count == NULL)
        return ref_fail(call, Q_ARGUMENT, "the pointer for the list is NULL");
    children(profile, (int)(event - profile->events), ids, count);
    return Q_OK;
}

q_code ref_profile_data(ref_call *call, uint64_t id, q_event *out)
{
    ref_profile *profile;
    const ref_event *event = event_get(call, id, &profile);
    if (event == NULL)
        return call->code;
    if (out == NULL)
        return ref_fail(call, Q_ARGUMENT, "the pointer for the event is NULL");
    memset(out, 0, sizeof(*out));
    out->type = event->type;
    out->unit = event->unit;
    out->value = event->value;
    out->name = event->name;
    return Q_OK;
}

q_code ref_profile_extended(ref_call *call, uint64_t id, q_extended_event *out)
{
    ref_profile *profile;
    const ref_event *event = event_get(call, id, &profile);
    if (event == NULL)
        return call->code;
    if (out == NULL)
        return ref_fail(call, Q_ARGUMENT, "the pointer for the event is NULL");
    memset(out, 0, sizeof(*out));
    out->version = 1;
    out->v1.type = event->type;
    out->v1.unit = event->unit;
    out->v1.u.value.dtype = REF_U64;
    out->v1.u.value.u.u64 = event->value;
    out->v1.name = event->name;
    return Q_OK;
}

void ref_profile_drop(ref_profile *profile)
{
    for (int i = 0; i < profile->room; ++i)
        ref_free(profile->events[i].name);
    ref_free(profile->events);
    ref_free(profile->ids);
    ref_ledger_drop(&profile->head);
}

q_code ref_profile_free(ref_call *call, q_handle handle)
{
    ref_profile *profile = ref_ledger_get_dead(call, REF_PROFILE, handle, Q_PROFILE_HANDLE);
    if (profile == NULL)
        return call->code;
    ref_profile_drop(profile);
    return Q_OK;
}
