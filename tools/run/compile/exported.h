/* exported.h - qnnrt-run: folders that qnnrt.export() writes

   Needs:   base cli

   UNITS    exported.c: >>exported */
#ifndef RUN_COMPILE_EXPORTED_H
#define RUN_COMPILE_EXPORTED_H

#include "run/base/base.h"
#include "qnnrt_ir.h"
#include "qnnrt_weights.h"

#define EXPORTED_GRAPH   "graph.json"
#define EXPORTED_WEIGHTS "weights.safetensors"
#define EXPORTED_SAMPLES "samples.safetensors"

/* Return true for a folder with graph.json. */
int exported_is(const char *path);

/* Return the name of a folder without those above it, "graph" if it has none. The caller frees
   it. */
char *exported_name(const char *path);

/* Sample inputs of a model, and torch's results. */
typedef struct exported_samples {
    qnnrt_weights *file;               /* NULL: there are none                            */
    uint32_t       count;
    int            inner;              /* 1: with the values of nodes                     */
    const char    *computed_in;        /* "float64", "float32", or ""                     */
    double         float16_error;      /* of torch, relative to the largest value, or 0   */
} exported_samples;

/* Open the samples of a folder, if it has some. folder: may be NULL. Return 0 after printing an
   error. */
int exported_open(tool *t, const char *folder, exported_samples *s);
void exported_close(exported_samples *s);

/* Read a tensor of a sample: kind is "input", "output" or "node". Return 0 if it is not there, -1
   after printing an error. */
int exported_get(tool *t, const exported_samples *s, uint32_t number, const char *kind,
                const qnnrt_ir_value *value, double *out);

#endif /* RUN_COMPILE_EXPORTED_H */
