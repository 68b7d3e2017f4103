/* programs.h - for tests that open a folder as a program

   Include it after qnnrt_manifest.h and qnnrt_llm.h. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

/* Open the language model of a program. desc: NULL, or what else is wanted. */
static inline qnnrt_result programs_llm(const qnnrt_manifest *program, const qnnrt_llm_desc *desc, qnnrt_llm **out,
                                        qnnrt_error *err)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(program);
    qnnrt_llm_desc with;
    memset(&with, 0, sizeof(with));
    if (desc != NULL) with = *desc;
    if (with.folder == NULL) with.folder = info->folder;
    with.made = info->pipelines;
    with.made_count = info->pipeline_count;
    with.models = info->models;
    with.model_count = info->model_count;
    return qnnrt_llm_open(NULL, &with, out, err);
}

#endif
