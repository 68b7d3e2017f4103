/* swap.h - models whose contexts come and go: desc.residency with two kinds that qnnrt_model_swap() makes

   Included after qnnrt.h. */
#ifndef SWAP_H
#define SWAP_H

#include "qnnrt_device.h"
#include <stdio.h>

#define SWAP_ONE    ((qnnrt_residency)100)               /* one context at a time */
#define SWAP_BUDGET ((qnnrt_residency)101)               /* as many as fit into swap_bytes */

static uint64_t swap_bytes;

/* Open a model as qnnrt_open() does; desc.residency may also be one of these. */
static inline qnnrt_result swap_open(const char *folder, const qnnrt_desc *desc, qnnrt **model, qnnrt_error *err)
{
    const int swaps = desc->residency == SWAP_ONE || desc->residency == SWAP_BUDGET;
    qnnrt_desc own = *desc;
    qnnrt_result result;
    if (swaps) own.residency = QNNRT_RESIDENT_CALLER;
    result = qnnrt_open(folder, &own, model, err);
    if (result != QNNRT_OK || !swaps) return result;
    result = qnnrt_model_swap(*model, desc->residency == SWAP_BUDGET ? swap_bytes : 0, err);
    if (result == QNNRT_OK) return QNNRT_OK;
    if (qnnrt_close(*model) != QNNRT_OK) printf("a model does not close\n");
    *model = NULL;
    return result;
}

#endif
