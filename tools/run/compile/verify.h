/* verify.h - qnnrt-run: compiled graphs beside torch's results, or what the host computes

   Needs:   base cli io

   UNITS    verify.c: >>verify    verify_graph.c: >>verify_graphs    overflow.c: >>overflow */
#ifndef RUN_COMPILE_VERIFY_H
#define RUN_COMPILE_VERIFY_H

#include "run/compile/aten.h"
#include "run/io/io.h"

/* ---- verify.c: outputs of a compiled graph beside those that the host computes ---- */

typedef struct verify {                /* one graph                                            */
    aten                         *a;
    const aten_graph             *g;
    qnnrt_ir                     *ir;            /* as read, with its weights                  */
    const qnnrt_lower_graph_info *info;          /* what became of it, NULL: several steps     */
    qnnrt_lower                  *lower;         /* that has it, or NULL                       */
    exported_samples              samples;       /* torch's results, or .file NULL             */
    input_list                    list;          /* else the samples of --calibrate, or empty  */
    uint32_t                      sample;        /* that is compared                           */
    const char                  **ins, **outs;   /* names of inputs and outputs; NULL: not there */
    qnnrt_run                    *run;
    double                      **inputs;        /* [ir->input_count]                          */
    double                        tolerance, most;   /* most: beyond it, values count as it    */
    size_t                        nodes, wrong, nans;    /* of --verify_nodes                  */
    int                           all;               /* 1: a line for each node                */
    int                           half, peeked;      /* half: a backend computes in float16;
                                                        peeked: a value is beyond it           */
    size_t                        beyond;            /* nodes beyond float16 as compiled       */
    page                          beyond_text;       /* the first of them, and what it has     */
    const qnnrt_ir               *lowered;           /* the graph as it was compiled           */
    page                          pins;              /* options that compute them elsewhere    */
    size_t                        pin_count;
    const qnnrt_ir_value         *chosen;            /* whose elements ->choices has           */
    double                       *choices;           /* [chosen->count] what ties are between  */
    const size_t                 *weight_only;       /* [ir->value_count] 1 + number of the weight
                                                        whose rounded values it has, or NULL   */
} verify;

typedef struct verify_sum {            /* two tensors, compared                                */
    double largest, difference;        /* the largest expected value; NaN is infinite          */
    double signal, noise;              /* squares of expected values and of differences        */
    uint64_t nans;                     /* expected values that are NaN                         */
    uint64_t beyond;                   /* expected values that float16 does not hold           */
    uint64_t ties;                     /* integers that differ, and choose equal values          */
    uint64_t rows, agreed;             /* along the last axis; whose largest values are at one
                                          place, 0: not counted                                */
} verify_sum;

/* Compare an expected value with a computed one. */
void verify_one(verify_sum *sum, double expected, double got, double most);

/* Return the largest difference as a part of the largest expected value. */
double verify_relative(const verify_sum *sum);

/* Copy the elements of a weight for qnnrt_ir_run(). */
qnnrt_result verify_load(void *user, const qnnrt_ir_value *value, void *data, qnnrt_error *err);

/* Take the names of inputs and outputs: those of the lowered graph, or of the graph itself
   (NULL). */
void verify_names(verify *v, const qnnrt_lower_graph_info *info);

/* Fill v->inputs with a sample of the folder or of --calibrate, or with random values. Return 0
   after printing an error. */
int verify_inputs(verify *v, uint32_t number);

/* The same, and fill those of the backend. Return 0 after printing an error. */
int verify_fill(verify *v, uint32_t number);

/* Run the graph on the host. outputs: [ir->output_count]. Return 0 after printing an error. */
int verify_host(verify *v, qnnrt_result (*watch)(void *user, const qnnrt_ir_node *node,
                                                 size_t output, const void *data,
                                                 qnnrt_error *err), void *const *outputs);

/* Run the graph on the backend. Return 0 after printing an error. */
int verify_exec(verify *v);

/* Compare `runs` runs with samples or random inputs, and print the largest differences of each
   output. */
void verify_outputs(verify *v, uint32_t runs);

/* ---- overflow.c: inner values beyond float16 ---- */

/* Look for values beyond float16 while the host computes the graph as it was read: v->peeked. */
qnnrt_result overflow_peek(void *user, const qnnrt_ir_node *node, size_t output, const void *data,
                           qnnrt_error *err);

/* Compute the graph with v->inputs as it was compiled, and count nodes of float16 backends with
   values beyond it: v->beyond. Return 0 after printing an error. */
int overflow_look(verify *v);

#endif
