/* slots.c - names of the slots

   Knows nothing of: the functions in the slots */
#include "ref.h"
#include "ref_slots.h"

#include <string.h>

#define NAME(name) #name,
static const char *const names[] = {
    CORE_SLOTS(NAME, NAME) SYSTEM_SLOTS(NAME, NAME) POWER_SLOTS(NAME, NAME)
};
typedef char slots_are_counted[(int)AT_systemContextCreate == (int)Q_CORE_SLOTS
                               && (int)AT_createPowerConfigId == (int)Q_CORE_SLOTS + Q_SYSTEM_SLOTS
                               ? 1 : -1];

const char *ref_slot_name(int slot) { return names[slot]; }

int ref_slot_find(const char *name)
{
    for (int i = 0; i < REF_SLOTS; ++i)
        if (strcmp(names[i], name) == 0)
            return i;
    return REF_NONE;
}
