/* converted.h - make a pipeline whose edges ask for conversions */
#ifndef CONVERTED_H
#define CONVERTED_H

/* Make both, or neither. wishes: [desc->edge_count]. */
static inline qnnrt_result converted_make(const qnnrt_pipeline_desc *desc, const qnnrt_conversion *wishes,
                                          const qnnrt_hooks *hooks, qnnrt_conversions **conversions,
                                          qnnrt_pipeline **out, qnnrt_error *err)
{
    qnnrt_result result = qnnrt_conversions_create(desc, wishes, hooks, conversions, err);
    *out = NULL;
    if (result == QNNRT_OK) result = qnnrt_pipeline_make(qnnrt_conversions_desc(*conversions), out, err);
    if (result == QNNRT_OK) return result;
    qnnrt_conversions_free(*conversions);
    *conversions = NULL;
    return result;
}

static inline unsigned converted_is(const qnnrt_step_info *step) { return qnnrt_convert_of(step) != NULL; }

#endif
