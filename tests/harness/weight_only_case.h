/* weight_only_case.h - graphs with quantized weights: lowered, built, run, and compared with the evaluator on rounded weights

   A case is a graph of one or two nodes. Its weights are random, or made by the test, and lie in memory. Include it first. */
#ifndef WEIGHT_ONLY_CASE_H
#define WEIGHT_ONLY_CASE_H

#include "qnnrt_lower.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct weight_only_case {
    const char *name, *text;         /* the graph */
} weight_only_case;

#define S_T(name, shape) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"float32\"}"
#define S_W(name, shape) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"float32\"}"
#define S_NODE(name, op, in, shape, attrs)                                                                             \
    "{\"name\":\"" name "\",\"op_type\":\"aten." op "\",\"inputs\":[" in "],\"outputs\":[" S_T(name, shape) "],\"attrs\":{" attrs "}}"
#define S_GRAPH(in, out, weights, mapping, nodes)                                                                      \
    "{\"graph_inputs\":[" in "],\"graph_outputs\":[" out "],\"weights\":[" weights "],\"weight_name_mapping\":{" mapping \
    "},\"nodes\":[" nodes "]}"
#define TIED_IDS "{\"name\":\"ids\",\"shape\":[1,3],\"dtype\":\"int64\"}"
#define S_CONV "\"stride\":[1,1],\"padding\":[1,1],\"dilation\":[1,1]"

static const weight_only_case weight_only_cases[] = {
    { "linear", S_GRAPH(S_T("x", "[2,5,64]"), S_T("y", "[2,5,24]"), S_W("w", "[24,64]") "," S_W("b", "[24]"), "\"w\":\"w\",\"b\":\"b\"",
      S_NODE("y", "linear.default", S_T("x", "[2,5,64]") "," S_W("w", "[24,64]") "," S_W("b", "[24]"), "[2,5,24]", "")) },
    { "matmul", S_GRAPH(S_T("x", "[2,5,64]"), S_T("y", "[2,5,24]"), S_W("w", "[64,24]"), "\"w\":\"w\"",
      S_NODE("y", "matmul.default", S_T("x", "[2,5,64]") "," S_W("w", "[64,24]"), "[2,5,24]", "")) },
    { "matrices", S_GRAPH(S_T("x", "[2,5,64]"), S_T("y", "[2,5,24]"), S_W("w", "[2,64,24]") "," S_W("v", "[24,64]"),
      "\"w\":\"w\",\"v\":\"v\"",
      S_NODE("z", "matmul.default", S_T("x", "[2,5,64]") "," S_W("w", "[2,64,24]"), "[2,5,24]", "") ","
      S_NODE("u", "linear.default", S_T("x", "[2,5,64]") "," S_W("v", "[24,64]"), "[2,5,24]", "") ","
      S_NODE("y", "add.Tensor", S_T("z", "[2,5,24]") "," S_T("u", "[2,5,24]"), "[2,5,24]", "")) },
    { "addmm", S_GRAPH(S_T("x", "[5,64]"), S_T("y", "[5,24]"), S_W("w", "[64,24]") "," S_W("b", "[24]"), "\"w\":\"w\",\"b\":\"b\"",
      S_NODE("y", "addmm.default", S_W("b", "[24]") "," S_T("x", "[5,64]") "," S_W("w", "[64,24]"), "[5,24]", "\"alpha\":0.5,\"beta\":2.0")) },
    { "transposed", S_GRAPH(S_T("x", "[5,64]"), S_T("y", "[5,24]"), S_W("w", "[64,24]"), "\"w\":\"w\"",
      S_NODE("t", "t.default", S_W("w", "[64,24]"), "[24,64]", "") ","
      S_NODE("y", "linear.default", S_T("x", "[5,64]") "," S_T("t", "[24,64]"), "[5,24]", "")) },
    { "conv3x3", S_GRAPH(S_T("x", "[1,16,6,7]"), S_T("y", "[1,12,6,7]"), S_W("w", "[12,16,3,3]") "," S_W("b", "[12]"),
      "\"w\":\"w\",\"b\":\"b\"",
      S_NODE("y", "conv2d.default", S_T("x", "[1,16,6,7]") "," S_W("w", "[12,16,3,3]") "," S_W("b", "[12]"), "[1,12,6,7]", S_CONV)) },
    { "conv1x1", S_GRAPH(S_T("x", "[1,16,6,7]"), S_T("y", "[1,12,6,7]"), S_W("w", "[12,16,1,1]") "," S_W("b", "[12]"),
      "\"w\":\"w\",\"b\":\"b\"",
      S_NODE("y", "conv2d.default", S_T("x", "[1,16,6,7]") "," S_W("w", "[12,16,1,1]") "," S_W("b", "[12]"), "[1,12,6,7]",
             "\"stride\":[1,1],\"padding\":[0,0]")) },
    { "two_convs", S_GRAPH(S_T("x", "[1,16,6,7]"), S_T("y", "[1,12,6,7]"), S_W("w", "[16,16,3,3]") "," S_W("v", "[12,16,1,1]"),
      "\"w\":\"w\",\"v\":\"v\"",
      S_NODE("z", "conv2d.default", S_T("x", "[1,16,6,7]") "," S_W("w", "[16,16,3,3]"), "[1,16,6,7]", S_CONV) ","
      S_NODE("y", "conv2d.default", S_T("z", "[1,16,6,7]") "," S_W("v", "[12,16,1,1]"), "[1,12,6,7]",
             "\"stride\":[1,1],\"padding\":[0,0]")) },
    { "groups", S_GRAPH(S_T("x", "[1,32,6,7]"), S_T("y", "[1,12,6,7]"), S_W("w", "[12,16,3,3]"), "\"w\":\"w\"",
      S_NODE("y", "conv2d.default", S_T("x", "[1,32,6,7]") "," S_W("w", "[12,16,3,3]"), "[1,12,6,7]", S_CONV ",\"groups\":2")) },
    { "depthwise", S_GRAPH(S_T("x", "[1,12,6,7]"), S_T("y", "[1,12,6,7]"), S_W("w", "[12,1,3,3]"), "\"w\":\"w\"",
      S_NODE("y", "conv2d.default", S_T("x", "[1,12,6,7]") "," S_W("w", "[12,1,3,3]"), "[1,12,6,7]", S_CONV ",\"groups\":12")) },
    { "conv1d", S_GRAPH(S_T("x", "[1,16,9]"), S_T("y", "[1,12,9]"), S_W("w", "[12,16,3]"), "\"w\":\"w\"",
      S_NODE("y", "conv1d.default", S_T("x", "[1,16,9]") "," S_W("w", "[12,16,3]"), "[1,12,9]",
             "\"stride\":[1],\"padding\":[1],\"dilation\":[1]")) },
    { "tied", S_GRAPH(TIED_IDS, S_T("y", "[1,3,40]"), S_W("w", "[40,32]"), "\"w\":\"w\"",
      S_NODE("e", "embedding.default", S_W("w", "[40,32]") "," TIED_IDS, "[1,3,32]", "") ","
      S_NODE("y", "linear.default", S_T("e", "[1,3,32]") "," S_W("w", "[40,32]"), "[1,3,40]", "")) },
    { "twice", S_GRAPH(S_T("x", "[5,32]"), S_T("y", "[5,32]"), S_W("w", "[32,32]"), "\"w\":\"w\"",
      S_NODE("z", "linear.default", S_T("x", "[5,32]") "," S_W("w", "[32,32]"), "[5,32]", "") ","
      S_NODE("y", "matmul.default", S_T("z", "[5,32]") "," S_W("w", "[32,32]"), "[5,32]", "")) },
    { "batch_norm", S_GRAPH(S_T("x", "[1,16,6,7]"), S_T("y", "[1,12,6,7]"), S_W("w", "[12,16,1,1]") "," S_W("g", "[12]") "," S_W("b", "[12]")
      "," S_W("m", "[12]") "," S_W("v", "[12]"), "\"w\":\"w\",\"g\":\"g\",\"b\":\"b\",\"m\":\"m\",\"v\":\"v\"",
      S_NODE("z", "conv2d.default", S_T("x", "[1,16,6,7]") "," S_W("w", "[12,16,1,1]"), "[1,12,6,7]", "\"stride\":[1,1],\"padding\":[0,0]") ","
      S_NODE("y", "batch_norm.default", S_T("z", "[1,12,6,7]") "," S_W("g", "[12]") "," S_W("b", "[12]") "," S_W("m", "[12]") ","
             S_W("v", "[12]"), "[1,12,6,7]", "\"training\":false,\"momentum\":0.1,\"eps\":0.00001")) },
};
enum { WEIGHT_ONLY_CASES = sizeof weight_only_cases / sizeof weight_only_cases[0] };

/* True for a case whose weight has two forms, or of whose two readers one takes it as it is. */
static inline int weight_only_is_mixed(const char *name)
{
    return strcmp(name, "tied") == 0 || strcmp(name, "twice") == 0;
}

/* Return the next of a sequence of numbers between -1 and 1, more of them near 0. */
static float weight_only_random(uint64_t *state)
{
    float sum = 0;
    int i;
    for (i = 0; i < 3; ++i) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (float)((double)(*state >> 11) / 9007199254740992.0 * 2 - 1);
    }
    return sum / 3;
}

/* A graph while it is tried. */
typedef struct weight_only_try {
    qnnrt_ir        *ir;
    float           *weights[16];    /* of the graph, as they were made */
    float           *rounded[16];
    qnnrt_lower_desc desc;
    qnnrt_lower     *lower;
    const qnnrt_lower_info *info;
    qnnrt_error      err;
    double           error;          /* largest difference / largest value, after weight_only_run() */
} weight_only_try;

/* Read a graph and make its weights. spoil, NULL or a function that changes them, gets each. */
static int weight_only_begin(weight_only_try *t, const char *text, void (*spoil)(const qnnrt_ir_value *value, float *data))
{
    uint64_t state = 7;
    size_t i, k;
    memset(t, 0, sizeof(*t));
    if (qnnrt_ir_read(text, strlen(text), NULL, &t->ir, &t->err) != QNNRT_OK ||
        qnnrt_ir_check(t->ir, NULL, NULL, &t->err) != QNNRT_OK) return 0;
    for (i = 0, k = 0; i < t->ir->value_count && k < 16; ++i) {
        qnnrt_ir_value *value = t->ir->values[i];
        uint64_t e;
        if (value->origin != QNNRT_IR_WEIGHT || value->count == 0) continue;
        t->weights[k] = (float *)malloc((size_t)value->count * sizeof(float));
        for (e = 0; e < value->count; ++e) {
            t->weights[k][e] = weight_only_random(&state) * 0.3f;
            if (strcmp(value->name, "v") == 0 && value->rank == 1) t->weights[k][e] = 1 + t->weights[k][e];   /* a variance */
        }
        if (spoil != NULL) spoil(value, t->weights[k]);
        value->data = t->weights[k++];
    }
    return 1;
}

/* Lower it. t->desc has the options. */
static qnnrt_result weight_only_lower(weight_only_try *t)
{
    qnnrt_result result = qnnrt_lower_create(&t->desc, &t->lower, &t->err);
    if (result == QNNRT_OK) result = qnnrt_lower_weights(t->lower, t->ir, NULL, &t->err);
    if (result == QNNRT_OK) result = qnnrt_lower_passes(t->lower, t->ir, &t->err);
    if (result == QNNRT_OK) result = qnnrt_lower_graph(t->lower, t->ir, "g", &t->err);
    t->info = qnnrt_lower_get_info(t->lower);
    return result;
}

static void weight_only_end(weight_only_try *t)
{
    size_t i;
    qnnrt_lower_free(t->lower);
    qnnrt_ir_free(t->ir);
    for (i = 0; i < 16; ++i) { free(t->weights[i]); free(t->rounded[i]); }
}

/* Build and run it on random inputs, and compare its outputs with those of the evaluator. rounded 1: the evaluator has rounded
   weights; 0: those of the graph, for weights that several operators read in several forms. */
static qnnrt_result weight_only_run(weight_only_try *t, qnnrt_backend *backend, int rounded)
{
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_ir_run_desc wide;
    const void *inputs[4];
    void *outputs[4];
    size_t i, k;
    uint64_t state = 11, e;
    qnnrt_result result = qnnrt_builder_create(backend, NULL, &builder, &t->err);
    memset(&wide, 0, sizeof(wide));
    memset(inputs, 0, sizeof(inputs));
    memset(outputs, 0, sizeof(outputs));
    t->error = HUGE_VAL;
    if (result == QNNRT_OK) result = qnnrt_lower_emit(t->lower, builder, &t->err);
    if (result == QNNRT_OK) {
        result = qnnrt_builder_finish(builder, &model, &t->err);
        builder = NULL;
    }
    qnnrt_builder_destroy(builder);
    if (result == QNNRT_OK) result = qnnrt_prepare(model, NULL, &run, &t->err);
    for (i = 0; i < t->ir->input_count && result == QNNRT_OK; ++i) {
        const qnnrt_ir_value *value = t->ir->inputs[i];
        void *data = qnnrt_data(run, value->name, NULL);
        const size_t size = qnnrt_ir_dtype_bytes(value->dtype);
        char *own = (char *)malloc((size_t)value->count * size);
        for (e = 0; e < value->count; ++e) {
            if (value->dtype == QNNRT_DTYPE_F32) {
                const float x = weight_only_random(&state);
                memcpy(own + 4 * e, &x, 4);
                memcpy((char *)data + 4 * e, &x, 4);
            } else {
                const int64_t id = (int64_t)(e * 13 % 40);
                const int32_t low = (int32_t)id;
                memcpy(own + size * e, &id, size);
                memcpy((char *)data + 4 * e, &low, 4);
            }
        }
        inputs[i] = own;
    }
    if (result == QNNRT_OK && qnnrt_exec(run) != QNNRT_OK) {
        t->err = *qnnrt_run_error(run);
        result = t->err.code;
    }
    t->info = qnnrt_lower_get_info(t->lower);
    for (i = 0; i < t->info->weight_only_count && result == QNNRT_OK; ++i) {
        const qnnrt_lower_weight_only *small = &t->info->weight_only[i];
        if (small->bits == 0) continue;
        t->rounded[i] = (float *)malloc((size_t)small->weight->count * sizeof(float));
        result = qnnrt_lower_weight_only_values(t->lower, i, t->rounded[i], &t->err);
        for (k = 0; k < t->ir->value_count; ++k)
            if (rounded && qnnrt_lower_weight_of(t->ir->values[k]) == small->weight)
                t->ir->values[k]->data = t->rounded[i];
    }
    for (i = 0; i < t->ir->output_count; ++i) outputs[i] = malloc((size_t)t->ir->outputs[i]->count * sizeof(float));
    if (result == QNNRT_OK) result = qnnrt_ir_run(t->ir, &wide, inputs, outputs, &t->err);
    t->error = 0;
    for (i = 0; i < t->ir->output_count && result == QNNRT_OK; ++i) {
        const float *a = (const float *)outputs[i];
        const float *b = (const float *)qnnrt_data(run, t->ir->outputs[i]->name, NULL);
        double largest = 0, worst = 0;
        for (e = 0; e < t->ir->outputs[i]->count; ++e) {
            if (fabs((double)a[e]) > largest) largest = fabs((double)a[e]);
            if (!(fabs((double)a[e] - b[e]) <= worst)) worst = fabs((double)a[e] - b[e]);
        }
        if (!(worst / largest <= t->error)) t->error = worst / largest;
    }
    for (i = 0; i < 4; ++i) { free((void *)(uintptr_t)inputs[i]); free(outputs[i]); }
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    return result;
}

#endif
