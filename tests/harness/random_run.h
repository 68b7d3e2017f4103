/* random_run.h - a random graph with its inputs and what the evaluator computes, and the same graph run by a library */
#ifndef RANDOM_RUN_H
#define RANDOM_RUN_H

#include "test.h"
#include <math.h>
#include "random_program.h"

typedef struct random_run {
    program   p;
    qnnrt_ir *ir;                    /* checked; its notes are free to use */
    float    *inputs[2], *outputs[3];
} random_run;

static inline float *random_floats(uint64_t count)
{
    float *data = (float *)malloc((size_t)count * sizeof(float));
    if (data == NULL) abort();
    return data;
}

/* Make program number `seed`. Return 0 if it is too short to be of use. The caller ends with random_run_end(). */
static inline int random_run_make(random_run *r, uint32_t seed)
{
    qnnrt_error err;
    size_t i, k;
    memset(r, 0, sizeof(*r));
    write_program(&r->p, seed);
    if (r->p.count < 3) return 0;
    if (qnnrt_ir_read(r->p.text, r->p.used, NULL, &r->ir, &err) != QNNRT_OK ||
        qnnrt_ir_check(r->ir, NULL, NULL, &err) != QNNRT_OK) {
        printf("    program %lu: %s\n%s\n", (unsigned long)seed, err.text, r->p.text);
        abort();
    }
    for (i = 0; i < 2; ++i) {
        r->inputs[i] = random_floats(r->ir->inputs[i]->count);
        for (k = 0; k < r->ir->inputs[i]->count; ++k) r->inputs[i][k] = (float)draw(&r->p, 2001) / 1000 - 1;
    }
    for (i = 0; i < r->ir->output_count; ++i) r->outputs[i] = random_floats(r->ir->outputs[i]->count);
    if (qnnrt_ir_run(r->ir, NULL, (const void *const *)r->inputs, (void *const *)r->outputs, &err) != QNNRT_OK) {
        printf("    program %lu: %s\n%s\n", (unsigned long)seed, err.text, r->p.text);
        abort();
    }
    for (i = 0; i < r->ir->value_count; ++i) r->ir->values[i]->note = NULL;
    return 1;
}

static inline void random_run_end(random_run *r)
{
    size_t i;
    for (i = 0; i < 2; ++i) free(r->inputs[i]);
    for (i = 0; i < 3; ++i) free(r->outputs[i]);
    qnnrt_ir_free(r->ir);
}

/* Run the compiled graph. Return the largest difference from the evaluator's outputs, in parts of the largest element;
   HUGE_VAL after printing an error. */
static inline double random_run_differs(const random_run *r, qnnrt_run *run)
{
    const qnnrt_ir *ir = r->ir;
    qnnrt_result result = QNNRT_OK;
    double worst = 0;
    size_t i, k;
    for (i = 0; i < ir->input_count && result == QNNRT_OK; ++i) {
        const qnnrt_slot *slot = qnnrt_run_slot(run, ir->inputs[i]->name);
        if (slot == NULL) continue;                             /* nothing reads it */
        result = qnnrt_write_f32(run, slot, 0, r->inputs[i], (size_t)ir->inputs[i]->count);
    }
    if (result == QNNRT_OK) result = qnnrt_exec(run);
    for (i = 0; i < ir->output_count && result == QNNRT_OK; ++i) {
        const size_t count = (size_t)ir->outputs[i]->count;
        float *data = random_floats(count);
        double most = 1e-3;
        result = qnnrt_read_f32(run, qnnrt_run_slot(run, ir->outputs[i]->name), 0, data, count);
        for (k = 0; k < count; ++k) if (fabs((double)r->outputs[i][k]) > most) most = fabs((double)r->outputs[i][k]);
        for (k = 0; k < count && result == QNNRT_OK; ++k) {
            const double d = fabs((double)data[k] - (double)r->outputs[i][k]) / most;
            if (!(d <= worst)) worst = isnan(d) ? HUGE_VAL : d;
        }
        free(data);
    }
    if (result == QNNRT_OK) return worst;
    printf("    %s\n", qnnrt_run_error(run)->text);
    return HUGE_VAL;
}

#endif
