/* bind.h - bind a slot, whatever its role */
#ifndef BIND_H
#define BIND_H

/* Bind as qnnrt_bind_input() and qnnrt_bind_output() do, by the role of the slot. */
static inline qnnrt_result bind_slot(qnnrt_run *run, const qnnrt_slot *slot, void *data, size_t bytes)
{
    return slot != NULL && slot->role == QNNRT_ROLE_INPUT ? qnnrt_bind_input(run, slot, data, bytes)
                                                                   : qnnrt_bind_output(run, slot, data, bytes);
}

#endif
