/* dims.c - dims of dynamic tensors, and optional tensors left out

   ROOM     >>change */
#include "run/model/model.h"

/* =====================================================================================
   CHANGE                                                                       >>change
   Take --dims and --omit apart, and apply them to the runs of the pipelines that have such
   a tensor.
   ===================================================================================== */

int check_dims(settings *set)
{
    set->dims = cli_alloc(set->dims_texts.count, sizeof(*set->dims));
    for (size_t i = 0; i < set->dims_texts.count; ++i) {
        const char *text = set->dims_texts.items[i], *equals = strrchr(text, '=');
        dims_option *dims = &set->dims[set->dims_count++];
        const char *at = equals != NULL ? equals + 1 : "";
        int good = equals != NULL && equals != text;
        dims->text = text;
        while (good && dims->rank < DIMS_MOST) {
            OWNED char *number = cli_text("%.*s", (int)strcspn(at, "x"), at);
            uint64_t value = 0;
            good = cli_number(number, UINT32_MAX, &value);
            dims->dims[dims->rank++] = (uint32_t)value;
            at += strcspn(at, "x");
            if (*at == '\0') break;
            ++at;
            good = good && dims->rank < DIMS_MOST;
        }
        if (!good)
            return cli_usage("Write --dims NAME=1x5x8.", "--dims takes NAME=DIMS, not \"%s\"",
                             text);
        dims->name = cli_text("%.*s", (int)(equals - text), text);
    }
    return STATUS_OK;
}

/* Check that a pipeline has the tensor of an option. */
static void place_change(tool *t, const char *option, const char *name)
{
    const qnnrt_slot *slot;
    qnnrt_error err;
    cli_near near = {name, strlen(name), NULL, 0};
    memset(&err, 0, sizeof(err));
    for (size_t i = 0; i < t->job_count; ++i) {
        const job *j = &t->jobs[i];
        if (j->info->failure != NULL) continue;
        if (qnnrt_slot_find(j->pipeline, name, QNNRT_ROLE_ANY, &slot, &err) == QNNRT_OK) return;
        near_slots(&near, j, QNNRT_ROLE_ANY);
    }
    OWNED char *hint = cli_near_hint(&near);
    fail(t, NULL, hint != NULL ? hint : cli_hint(&err), "--%s %s: %s", option, name,
         err.text[0] != '\0' ? cli_told(&err) : "no pipeline can run");
}

void place_changes(tool *t)
{
    for (size_t i = 0; i < t->set.dims_count; ++i) place_change(t, "dims", t->set.dims[i].name);
    for (size_t i = 0; i < t->set.omits.count; ++i) place_change(t, "omit", t->set.omits.items[i]);
}

const qnnrt_slot *change_slot(const job *j, const char *name)
{
    const qnnrt_slot *slot = NULL;
    qnnrt_slot_find(j->pipeline, name, QNNRT_ROLE_ANY, &slot, NULL);
    return slot;
}

int change_run(tool *t, job *j, qnnrt_run *run)
{
    qnnrt_result result = QNNRT_OK;
    for (size_t i = 0; i < t->set.dims_count && result == QNNRT_OK; ++i) {
        const dims_option *dims = &t->set.dims[i];
        const qnnrt_slot *slot = change_slot(j, dims->name);
        if (slot != NULL) result = qnnrt_set_dims(run, slot, dims->dims, dims->rank);
    }
    for (size_t i = 0; i < t->set.omits.count && result == QNNRT_OK; ++i) {
        const qnnrt_slot *slot = change_slot(j, t->set.omits.items[i]);
        if (slot != NULL) result = qnnrt_omit(run, slot);
    }
    if (result != QNNRT_OK) fail_run(t, j, run);
    return result == QNNRT_OK;
}

size_t count_now(qnnrt_run *run, const qnnrt_slot *slot)
{
    uint32_t rank = 0;
    const uint32_t *dims = qnnrt_get_dims(run, slot, &rank);
    size_t count = 1;
    for (uint32_t i = 0; i < rank; ++i) count *= dims[i];
    return count;
}

void say_changes(const tool *t, const job *j, qnnrt_run *run)
{
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        qnnrt_tensor_info now = *j->info->slots[i].tensor;
        if (now.dynamic_dims == NULL) continue;
        now.dynamic_dims = NULL;
        now.dims = qnnrt_get_dims(run, &j->info->slots[i], NULL);
        OWNED char *name = cli_shown(j->info->slots[i].address), *dims = dims_text(&now);
        say(t, "  dims      \"%s\" %s\n", name, dims);
    }
}
