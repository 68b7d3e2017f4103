/* describe.h - a pipeline that exists as a description, for qnnrt-run and for tests

   Needs:   nothing but headers                                                                  */
#ifndef RUN_SHOW_DESCRIBE_H
#define RUN_SHOW_DESCRIBE_H

#include "qnnrt.h"
#include "qnnrt_manifest.h"

typedef struct described_pipeline {
    qnnrt_manifest_pipeline of;        /* its lists are those below, and those of the pipeline   */
    qnnrt_step_desc  *steps;
    qnnrt_edge_desc  *edges;
    qnnrt_conversion *wishes;
    qnnrt_use_desc   *uses;
} described_pipeline;

void describe_free(described_pipeline *d);

/* Describe a pipeline of a program. Return 0 without memory; describe_free() in either case. */
int describe(const qnnrt_manifest_info *info, const qnnrt_pipeline *pipeline,
             described_pipeline *d);

#endif /* RUN_SHOW_DESCRIBE_H */
