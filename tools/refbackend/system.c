/* system.c - the system interface: what a context binary of libQnnRef.so holds

   Strings and arrays belong to the system context and are valid until it is freed or used again.
   Knows nothing of: backends, contexts that run */
#include "ref.h"

#include <string.h>

typedef struct ref_system {
    ref_object head;
    ref_model *model;
    ref_arena  arena;
} ref_system;

q_code ref_system_create(ref_call *call, q_handle *out)
{
    if (out == NULL)
        return ref_fail(call, Q_SYSTEM_ARGUMENT, "the pointer for the handle is NULL");
    return ref_ledger_make(call, REF_SYSTEM, sizeof(ref_system), out) != NULL ? Q_OK : call->code;
}

static void empty(ref_system *system)
{
    ref_model_free(system->model);
    system->model = NULL;
    ref_arena_free(&system->arena);
}

static int type_is_updateable(uint32_t type) { return type == Q_UPDATEABLE_STATIC; }

/* Describe the tensors of a graph whose type passes. Return 0 when there is no memory. */
static int tensors_tell(ref_arena *arena, const ref_body *body, int (*passes)(uint32_t type),
                        uint32_t *count, q_tensor **out)
{
    size_t most = 0;
    q_tensor *list;
    for (int i = 0; i < body->value_count; ++i)
        most += passes(body->values[i]->type) != 0;
    list = ref_arena_alloc(arena, most * sizeof(*list));
    *count = 0;
    *out = list;
    if (list == NULL)
        return 0;
    for (int i = 0; i < body->value_count; ++i) {
        const ref_value *value = body->values[i];
        if (passes(value->type) && !ref_value_tell(value, ref_fault.tensor, arena,
                                                   &list[(*count)++]))
            return 0;
    }
    return 1;
}

static q_graph_info *graphs_tell(ref_arena *arena, const ref_model *model)
{
    /* The HTP's graph blob, version 1: version, spill-fill, VTCM and level, DLBC, threads. */
    enum { BLOB = 40, BLOB_SPILL_FILL = 8 };
    q_graph_info *graphs = ref_arena_alloc(arena, (size_t)model->body_count * sizeof(*graphs));
    unsigned char *blob = ref_fault.spill_fill != 0 ? ref_arena_alloc(arena, BLOB) : NULL;
    if (blob != NULL) {
        memset(blob, 0, BLOB);
        blob[0] = 1;
        memcpy(blob + BLOB_SPILL_FILL, &ref_fault.spill_fill, sizeof(ref_fault.spill_fill));
    }
    for (int i = 0; graphs != NULL && i < model->body_count; ++i) {
        q_graph_info *info = &graphs[i];
        info->version = ref_fault.graph_info;
        info->v.name = model->bodies[i]->name;
        if (info->version >= 3 && blob != NULL) {
            info->v.blob = blob;
            info->v.blob_bytes = BLOB;
        }
        if (!tensors_tell(arena, model->bodies[i], ref_type_is_input, &info->v.input_count,
                          &info->v.inputs)
            || !tensors_tell(arena, model->bodies[i], ref_type_is_output, &info->v.output_count,
                             &info->v.outputs)
            || (info->version >= 2
                && !tensors_tell(arena, model->bodies[i], type_is_updateable,
                                 &info->v.updateable_count, &info->v.updateable)))
            return NULL;
    }
    if (graphs == NULL)
        return NULL;
    if (ref_fault.counts == REF_LIE_INPUTS)
        graphs[0].v.input_count = Q_UNDEFINED;
    if (ref_fault.pointers == REF_LIE_INPUTS)
        graphs[0].v.inputs = NULL;
    if (ref_fault.pointers == REF_LIE_NAME)
        graphs[0].v.name = NULL;
    return graphs;
}

static q_binary_info *info_tell(ref_arena *arena, const ref_model *model)
{
    static const q_version format = { 1, 0, 0 };
    q_binary_info *info = ref_arena_alloc(arena, sizeof(*info));
    q_graph_info *graphs = graphs_tell(arena, model);
    const uint32_t count = ref_fault.counts == REF_LIE_GRAPHS ? (uint32_t)Q_UNDEFINED
        : (uint32_t)model->body_count;
    if (info == NULL || graphs == NULL)
        return NULL;
    if (ref_fault.pointers == REF_LIE_GRAPHS)
        graphs = NULL;
    info->version = ref_fault.info;
    /* The versions are equal up to soc. */
    info->u.v3.backend_id = ref_fault.spill_fill != 0 ? Q_HTP_BACKEND_ID : REF_BACKEND_ID;
    info->u.v3.build_id = model->build;
    info->u.v3.core = model->core;
    info->u.v3.backend = model->backend;
    info->u.v3.soc = "";
    if (ref_fault.info == 3) {
        info->u.v3.blob_version = format;
        info->u.v3.blob_bytes = model->file_bytes;
        info->u.v3.graph_count = count;
        info->u.v3.graphs = graphs;
        info->u.v3.platform = ref_platform();
    } else {
        info->u.v1.blob_version = format;
        info->u.v1.blob_bytes = model->file_bytes;
        info->u.v1.graph_count = count;
        info->u.v1.graphs = graphs;
        if (ref_fault.info == 2)
            info->u.v1.platform = ref_platform();
    }
    return info;
}

q_code ref_system_info(ref_call *call, q_handle handle, const void *data, uint64_t bytes,
                       const q_binary_info **out)
{
    ref_system *system = ref_ledger_get(call, REF_SYSTEM, handle, Q_SYSTEM_HANDLE);
    ref_why why;
    q_code code;
    if (system == NULL)
        return call->code;
    if (data == NULL || bytes == 0 || out == NULL)
        return ref_fail(call, Q_SYSTEM_ARGUMENT,
                        out == NULL ? "the pointer for the information is NULL"
                                    : "the binary is empty");
    empty(system);
    system->model = ref_binary_read(data, bytes, REF_BINARY_TELL, &why, &code);
    if (system->model == NULL)
        return ref_fail(call, code == Q_MEMORY ? Q_MEMORY : Q_SYSTEM_MALFORMED, "%s", why.text);
    *out = info_tell(&system->arena, system->model);
    return *out != NULL ? Q_OK : ref_fail(call, Q_MEMORY, "no memory");
}

q_code ref_system_free(ref_call *call, q_handle handle)
{
    ref_system *system = ref_ledger_get(call, REF_SYSTEM, handle, Q_SYSTEM_HANDLE);
    if (system == NULL)
        return call->code;
    empty(system);
    ref_ledger_drop(&system->head);
    return Q_OK;
}
