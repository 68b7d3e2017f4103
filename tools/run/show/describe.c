/* describe.c - a pipeline that exists as a description

   ROOM     >>describe */
#include "run/show/describe.h"

#include <stdlib.h>
#include <string.h>

/* =====================================================================================
   DESCRIBE                                                                     >>describe
   What qnnrt_pipeline_make() would take for a pipeline of a program: all its edges are given, and
   conversions are what edges ask for.
   ===================================================================================== */

/* Return 1 for a step that edges or states stand for: a conversion, and with states the first and
   the last one. */
static int describe_is_made(const described_pipeline *d, const qnnrt_pipeline_info *p, size_t step)
{
    return p->steps[step].kind == QNNRT_STEP_DERIVED ||
           (d->of.state_count > 0 && (step == 0 || step + 1 == p->step_count));
}

/* Return the number of a step without those that are made. */
static size_t describe_number(const described_pipeline *d, const qnnrt_pipeline_info *p,
                              size_t step)
{
    size_t i, number = 0;
    for (i = 0; i < step; ++i) number += !describe_is_made(d, p, i);
    return number;
}

/* Begin a use of a slot where the slot begins, or for what a step writes that is made, one of its
   readers. */
static qnnrt_use_desc *describe_use(described_pipeline *d, const qnnrt_pipeline_info *p,
                                    const qnnrt_slot *slot)
{
    qnnrt_use_desc *use = &d->uses[d->of.desc.use_count++];
    size_t step = slot->first, i = 0;
    use->tensor = slot->tensor->name;
    use->output = slot->role == QNNRT_ROLE_OUTPUT || slot->role == QNNRT_ROLE_EDGE;
    if (describe_is_made(d, p, step)) {
        while (i + 1 < p->edge_count && (p->edges[i].slot != slot ||
                                         describe_is_made(d, p, p->edges[i].to_step))) ++i;
        step = p->edges[i].to_step;
        use->tensor = p->edges[i].to->name;
        use->output = 0;
    }
    use->step = describe_number(d, p, step);
    return use;
}

/* Describe an edge, unless it leads into a conversion, whose readers' edges stand for it, or is one
   of a state. */
static void describe_edge(described_pipeline *d, const qnnrt_pipeline_info *p,
                          const qnnrt_edge_info *from)
{
    qnnrt_edge_desc *edge = &d->edges[d->of.desc.edge_count];
    qnnrt_conversion *wish = &d->wishes[d->of.desc.edge_count];
    size_t i = 0;
    if (describe_is_made(d, p, from->to_step) ||
        (from->from_step == 0 && describe_is_made(d, p, 0))) return;
    edge->to_step = describe_number(d, p, from->to_step);
    edge->to = from->to->name;
    if (p->steps[from->from_step].kind == QNNRT_STEP_DERIVED) {
        const qnnrt_converter_info converts = qnnrt_convert_get_info(
            qnnrt_convert_of(&p->steps[from->from_step]));
        wish->how = converts.how;
        wish->exact = converts.exact;
        while (i + 1 < p->edge_count && p->edges[i].to_step != from->from_step) ++i;
        from = &p->edges[i];
    }
    edge->from_step = describe_number(d, p, from->from_step);
    edge->from = from->from->name;
    ++d->of.desc.edge_count;
}

/* Return 1 if an input was kept apart: other inputs of its name are slots of their own. */
static int describe_is_apart(const qnnrt_pipeline_info *p, const qnnrt_slot *slot)
{
    size_t i;
    if (slot->role != QNNRT_ROLE_INPUT || slot->first != slot->last) return 0;
    for (i = 0; i < p->slot_count; ++i)
        if (&p->slots[i] != slot && p->slots[i].role == QNNRT_ROLE_INPUT &&
            strcmp(p->slots[i].tensor->name, slot->tensor->name) == 0) return 1;
    return 0;
}

/* Describe what is known about the slots. */
static void describe_slots(described_pipeline *d, const qnnrt_pipeline_info *p)
{
    qnnrt_use_desc *use;
    size_t i;
    for (i = 0; i < p->slot_count; ++i) {
        const qnnrt_slot *slot = &p->slots[i];
        const int apart = describe_is_apart(p, slot);
        if (!apart && !slot->has_range && slot->role != QNNRT_ROLE_CONSTANT) continue;
        use = describe_use(d, p, slot);
        use->apart = apart;
        use->has_range = slot->has_range;
        use->low = slot->low;
        use->high = slot->high;
        use->constant = slot->constant;
    }
    for (i = 0; i < p->name_count; ++i)
        describe_use(d, p, p->names[i].slot)->name = p->names[i].name;
    for (i = 0; i < p->place_count; ++i) {
        if (p->places[i].buffer == d->of.desc.buffer_count) continue;      /* of a state */
        use = describe_use(d, p, p->places[i].slot);
        use->in_buffer = 1;
        use->buffer = p->places[i].buffer;
        use->offset = p->places[i].offset;
    }
}

void describe_free(described_pipeline *d)
{
    free(d->steps);
    free(d->edges);
    free(d->wishes);
    free(d->uses);
}

int describe(const qnnrt_manifest_info *info, const qnnrt_pipeline *pipeline, described_pipeline *d)
{
    const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(pipeline);
    size_t i;
    memset(d, 0, sizeof(*d));
    d->steps = (qnnrt_step_desc *)calloc(p->step_count, sizeof(*d->steps));
    d->edges = (qnnrt_edge_desc *)calloc(p->edge_count + 1, sizeof(*d->edges));
    d->wishes = (qnnrt_conversion *)calloc(p->edge_count + 1, sizeof(*d->wishes));
    d->uses = (qnnrt_use_desc *)calloc(p->slot_count + p->name_count + p->place_count,
                                       sizeof(*d->uses));
    if (d->steps == NULL || d->edges == NULL || d->wishes == NULL || d->uses == NULL) return 0;
    d->of.states = qnnrt_manifest_states(pipeline, &d->of.state_count);
    d->of.desc.buffers = p->buffers;
    d->of.desc.buffer_count = p->buffer_count - (d->of.state_count > 0);
    for (i = 0; i < p->step_count; ++i) {
        qnnrt_step_desc *step = &d->steps[d->of.desc.step_count];
        if (describe_is_made(d, p, i)) continue;
        ++d->of.desc.step_count;
        step->host = p->steps[i].host;
        step->graph = p->steps[i].graph->name;
        while (step->host == NULL && step->context < info->context_count &&
               (info->contexts[step->context].model != p->steps[i].model ||
                info->contexts[step->context].context != p->steps[i].context)) ++step->context;
    }
    for (i = 0; i < p->edge_count; ++i) describe_edge(d, p, &p->edges[i]);
    describe_slots(d, p);
    d->of.desc.name = p->name;
    d->of.desc.steps = d->steps;
    d->of.desc.edges = d->edges;
    d->of.desc.edges_only = p->edge_count > 0;
    d->of.desc.uses = d->uses;
    d->of.conversions = d->wishes;
    return 1;
}
