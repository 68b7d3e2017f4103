/* lower_case.h - lower one recorded node, build it on a backend, run it, compare with PyTorch

   tests/data/ir/ops.json has nodes with constants as inputs, and what PyTorch computed. Here some of
   these constants become inputs of a graph with that node alone. Include it first. */
#ifndef LOWER_CASE_H
#define LOWER_CASE_H

#include "qnnrt_lower.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum lower_outcome {
    LOWER_GOOD, LOWER_REFUSED,       /* no rule, or refused with a reason */
    LOWER_UNSUPPORTED,               /* the library refuses an operator */
    LOWER_FAILED                     /* anything else: finalize, a crash of the case */
} lower_outcome;

typedef struct lower_case {
    lower_outcome outcome;
    double        error;             /* largest difference / largest expected value */
    size_t        ops;               /* QNN operators */
    char          why[600];
} lower_case;

/* Describe elements in memory as a weight, so that qnnrt_weights_convert() reads them. */
static void lower_weight(qnnrt_weight *out, qnnrt_dtype dtype, uint64_t count, const void *data)
{
    static const struct { qnnrt_dtype dtype; const char *type; } types[] = {
        { QNNRT_DTYPE_F32, "F32" }, { QNNRT_DTYPE_F64, "F64" }, { QNNRT_DTYPE_F16, "F16" }, { QNNRT_DTYPE_BF16, "BF16" },
        { QNNRT_DTYPE_I64, "I64" }, { QNNRT_DTYPE_I32, "I32" }, { QNNRT_DTYPE_I16, "I16" }, { QNNRT_DTYPE_I8, "I8" },
        { QNNRT_DTYPE_U8, "U8" },   { QNNRT_DTYPE_BOOL8, "BOOL" },
    };
    size_t i = 0;
    while (i + 1 < sizeof(types) / sizeof(types[0]) && types[i].dtype != dtype) ++i;
    memset(out, 0, sizeof(*out));
    out->name = out->file = "";
    out->type = types[i].type;
    out->dtype = dtype;
    out->rank = 1;
    out->dims = &out->count;
    out->count = count;
    out->bytes = count * qnnrt_ir_dtype_bytes(dtype);
    out->data = data;
}

/* Return element i of an array of a dtype. */
static double lower_element(qnnrt_dtype dtype, const void *data, uint64_t i)
{
    double out = 0;
    const size_t size = qnnrt_ir_dtype_bytes(dtype);
    qnnrt_weight one;
    lower_weight(&one, dtype, 1, (const char *)data + i * size);
    qnnrt_weights_convert(&one, QNNRT_DTYPE_F64, &out, sizeof out, NULL, NULL);
    return out;
}

/* Compare one output with what was expected, as far as a backend can hold it: HTP has no NaN. Return
   the error relative to the largest expected value. */
static double lower_compare(const qnnrt_ir_value *expected, const qnnrt_tensor_info *tensor,
                            const void *data, double most)
{
    double largest = 0, worst = 0;
    uint64_t i;
    for (i = 0; i < expected->count; ++i) {
        double a = lower_element(expected->dtype, expected->data, i);
        double b = lower_element(tensor->dtype, data, i), d;
        if (a > most) a = most;
        if (a < -most) a = -most;
        if (b > most) b = most;
        if (b < -most) b = -most;
        if (isnan(a) && (isnan(b) || most < 1e30)) continue;
        if (fabs(a) > largest && fabs(a) < most) largest = fabs(a);
        d = fabs(a - b);
        if (!(d <= worst)) worst = isnan(d) ? HUGE_VAL : d;
    }
    return worst / (largest > 0 ? largest : 1);
}

static const qnnrt_ir_value *lower_expected(const qnnrt_ir *ir, const qnnrt_ir_value *output)
{
    char key[300];
    size_t i;
    snprintf(key, sizeof key, "expected/%s", output->name);
    for (i = 0; i < ir->value_count; ++i)
        if (ir->values[i]->key != NULL && strcmp(ir->values[i]->key, key) == 0)
            return ir->values[i];
    return NULL;
}

static const qnnrt_slot *lower_slot(qnnrt_run *run, const char *name)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    size_t i;
    for (i = 0; i < info->slot_count; ++i)
        if (strcmp(info->slots[i].tensor->name, name) == 0) return &info->slots[i];
    return NULL;
}

/* Return true for a mask that HTP, when it is an input, does not tell from one of -infinity. */
static int lower_low(const qnnrt_ir_value *mask, qnnrt_lower_target target)
{
    double least = 0;
    uint64_t i;
    for (i = 0; i < mask->count && target == QNNRT_LOWER_HTP; ++i) {
        const double x = lower_element(mask->dtype, mask->data, i);
        if (x < least) least = x;
    }
    return least > -HUGE_VAL && least < -500;
}

/* Run node `number` of the recorded graph. whole 1: every input that is not empty becomes an input;
   0: the weights of layers stay constants. */
static void lower_run_case(qnnrt_backend *backend, qnnrt_ir *ir, size_t number, int whole,
                           lower_case *out)
{
    static const char *const layers[] = {
        "linear", "conv", "addmm", "batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm",
        "embedding", "index", "where", "masked_fill", "q.", "gather", NULL
    };
    qnnrt_ir_node *node = ir->nodes[number];
    qnnrt_ir sub = *ir, *part = NULL;
    qnnrt_ir_value *inputs[64];
    qnnrt_ir_origin origins[64];
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_error err;
    qnnrt_result result;
    size_t i, k, count = 0;
    int layer = 0;
    memset(out, 0, sizeof(*out));
    memset(&desc, 0, sizeof(desc));
    desc.target = qnnrt_lower_target_of(qnnrt_backend_get_info(backend));
    for (i = 0; layers[i] != NULL; ++i) layer |= strncmp(node->op, layers[i], strlen(layers[i])) == 0;
    for (i = 0; i < ir->value_count; ++i) ir->values[i]->note = NULL;
    for (i = 0; i < node->input_count && count < 64; ++i) {
        qnnrt_ir_value *value = node->inputs[i];
        if (value == NULL || value->origin != QNNRT_IR_CONSTANT || value->count == 0) continue;
        if (!whole && layer && i != (strncmp(node->op, "embedding", 9) == 0 ? 1u : 0u)) continue;
        if (i == 3 && strncmp(node->op, "scaled_dot", 10) == 0 && (!whole || lower_low(value, desc.target))) continue;   /* the mask */
        for (k = 0; k < count && inputs[k] != value; ++k) {}
        if (k < count) continue;
        origins[count] = value->origin;
        inputs[count++] = value;
        value->origin = QNNRT_IR_INPUT;
    }
    sub.inputs = inputs;
    sub.input_count = count;
    sub.nodes = &node;
    sub.node_count = 1;
    sub.outputs = node->outputs;
    sub.output_count = node->output_count;
    err.text[0] = '\0';
    result = qnnrt_lower_create(&desc, &lower, &err);
    if (result == QNNRT_OK && strcmp(node->op, "einsum.default") == 0)       /* what it consists of */
        result = qnnrt_ir_extract(ir, (const qnnrt_ir_node *const *)&node, 1, (const qnnrt_ir_value *const *)inputs, count,
                                  (const qnnrt_ir_value *const *)node->outputs, 1, "case", &part, &err);
    if (result == QNNRT_OK && part != NULL) result = qnnrt_ir_pass_noops(part, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_graph(lower, part != NULL ? part : &sub, "case", &err);
    out->outcome = result == QNNRT_E_UNSUPPORTED ? LOWER_REFUSED : LOWER_FAILED;
    if (result == QNNRT_OK) {
        out->ops = qnnrt_lower_get_info(lower)->graphs[0].used_ops;
        result = qnnrt_builder_create(backend, NULL, &builder, &err);
    }
    if (result == QNNRT_OK) {
        result = qnnrt_lower_emit(lower, builder, &err);
        if (result == QNNRT_E_UNSUPPORTED) out->outcome = LOWER_UNSUPPORTED;
    }
    if (result == QNNRT_OK) {
        result = qnnrt_builder_finish(builder, &model, &err);
        builder = NULL;
    }
    qnnrt_builder_destroy(builder);
    if (result == QNNRT_OK) result = qnnrt_prepare(model, NULL, &run, &err);
    if (result == QNNRT_OK) {
        for (i = 0; i < count; ++i) {
            const qnnrt_slot *slot = lower_slot(run, inputs[i]->name);
            qnnrt_weight weight;
            if (slot == NULL) continue;
            lower_weight(&weight, inputs[i]->dtype, inputs[i]->count, inputs[i]->data);
            result = qnnrt_weights_convert(&weight, slot->tensor->dtype, qnnrt_data(run, slot->tensor->name, NULL),
                                           (size_t)slot->tensor->bytes, NULL, &err);
            if (result != QNNRT_OK) break;
        }
        if (result == QNNRT_OK && qnnrt_exec(run) != QNNRT_OK) {
            err = *qnnrt_run_error(run);
            result = err.code;
        }
        for (i = 0; i < node->output_count && result == QNNRT_OK; ++i) {
            const qnnrt_ir_value *expected = lower_expected(ir, node->outputs[i]);
            const qnnrt_slot *slot = lower_slot(run, node->outputs[i]->name);
            if (expected == NULL || slot == NULL || slot->tensor->count != expected->count) {
                if (node->outputs[i]->count == 0) continue;
                snprintf(err.text, sizeof err.text, "output %s is missing", node->outputs[i]->name);
                result = QNNRT_E_MISMATCH;
                break;
            }
            {
                const double e = lower_compare(expected, slot->tensor, qnnrt_data(run, slot->tensor->name, NULL),
                                               desc.target == QNNRT_LOWER_HTP ? 60000 : 1e30);
                if (e > out->error) out->error = e;
            }
        }
    }
    if (result == QNNRT_OK) out->outcome = LOWER_GOOD;
    else snprintf(out->why, sizeof out->why, "%.590s", err.text);
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(part);
    for (i = 0; i < count; ++i) inputs[i]->origin = origins[i];
}

#endif
