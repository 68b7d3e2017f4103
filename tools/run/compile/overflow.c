/* overflow.c - inner values beyond float16

   ROOM     >>overflow */
#include "run/compile/verify.h"
#include "run/io/io.h"

#include <math.h>

#include "cli/stages.h"

/* =====================================================================================
   OVERFLOW                                                                    >>overflow
   Computes a graph on the host as it was compiled, and names nodes that leave float16.
   ===================================================================================== */

enum { OVERFLOW_MOST = 65504 };

/* Return the largest size of elements that float16 does not hold, or 0. What masks hide with, -1e8
   and less, is not one of them: float16 has another number for it. */
static double overflow_most(const qnnrt_ir_value *value, const void *data)
{
    qnnrt_ir_run_desc wide = {0};
    double most = 0;
    wide.wide = 1;
    if (!value_is_float(value->dtype) || value->count == 0) return 0;
    OWNED double *x = cli_alloc((size_t)value->count, sizeof(*x));
    if (!value_get(qnnrt_ir_run_dtype(&wide, value), data, x, value->count)) return 0;
    for (uint64_t i = 0; i < value->count; ++i)
        if (fabs(x[i]) > OVERFLOW_MOST && x[i] > -1e8 && !isinf(x[i]) && fabs(x[i]) > most)
            most = fabs(x[i]);
    return most;
}

/* Return true if a node is computed in float16. */
static int overflow_is_half(const verify *v, const qnnrt_ir_node *node)
{
    const aten *a = v->a;
    const qnnrt_compile_graph *graph =
        &qnnrt_compile_get_info(a->program)->graphs[v->g - a->graphs];
    size_t i = 0;
    if (graph->partition == NULL) return 1;
    while (i < graph->ir->node_count && graph->ir->nodes[i] != node) ++i;
    if (i == graph->ir->node_count || i >= graph->partition->choice_count) return 0;
    const int32_t backend = graph->partition->choices[i].backend;
    return backend >= 0 && a->target.backends[backend].backend != NULL &&
           target_is_half(a, (size_t)backend);
}

/* Add a node to those that have to be elsewhere. */
static void overflow_pin(verify *v, const char *name)
{
    OWNED char *pin = cli_text(" --pin %s=cpu", name);
    enum { PINS_MOST = 8 };
    if (v->pins.data != NULL && strstr(v->pins.data, pin) != NULL) return;
    if (v->pin_count++ < PINS_MOST) page_text(&v->pins, pin);
    else if (v->pin_count == PINS_MOST + 1) page_text(&v->pins, " ...");
}

/* Look at an output of a node of the graph as it was compiled. */
static qnnrt_result overflow_watch(void *user, const qnnrt_ir_node *node, size_t output,
                                   const void *data, qnnrt_error *err)
{
    verify *v = user;
    const double most = overflow_most(node->outputs[output], data);
    (void)err;
    if (most == 0 || !overflow_is_half(v, node)) return QNNRT_OK;
    overflow_pin(v, node->name);
    for (size_t i = 0; i < v->lowered->node_count; ++i)      /* that read it */
        for (size_t k = 0; k < v->lowered->nodes[i]->input_count; ++k)
            if (v->lowered->nodes[i]->inputs[k] == node->outputs[output])
                overflow_pin(v, v->lowered->nodes[i]->name);
    if (v->beyond++ > 0) return QNNRT_OK;
    page_add(&v->beyond_text, "\"%.250s\" (%.100s) has up to %.4g", node->name, node->op, most);
    if (node->source[0] != '\0') page_add(&v->beyond_text, "\n            %s", node->source);
    return QNNRT_OK;
}

qnnrt_result overflow_peek(void *user, const qnnrt_ir_node *node, size_t output, const void *data,
                           qnnrt_error *err)
{
    verify *v = user;
    (void)err;
    if (!v->peeked && overflow_most(node->outputs[output], data) > 0) v->peeked = 1;
    return QNNRT_OK;
}

int overflow_look(verify *v)
{
    const aten *a = v->a;
    const qnnrt_ir *ir = qnnrt_compile_get_info(a->program)->graphs[v->g - a->graphs].ir;
    OWNED const void **inputs = cli_alloc(ir->input_count, sizeof(*inputs));
    OWNED void **room = cli_alloc(ir->input_count, sizeof(*room));
    OWNED void **none = cli_alloc(ir->output_count, sizeof(*none));
    verify loads = {0};
    qnnrt_ir_run_desc desc = {0};
    qnnrt_error err;
    v->lowered = ir;
    desc.load = verify_load;
    desc.load_user = &loads;
    desc.watch = overflow_watch;
    desc.watch_user = v;
    desc.wide = desc.ready = 1;
    for (size_t i = 0; i < ir->input_count; ++i) {
        const qnnrt_ir_value *value = ir->inputs[i];
        const qnnrt_dtype dtype = qnnrt_ir_run_dtype(&desc, value);
        inputs[i] = room[i] = cli_alloc((size_t)value->count, qnnrt_ir_dtype_bytes(dtype));
        value_put(dtype, v->inputs[i], room[i], value->count);
    }
    const int good = qnnrt_ir_run((qnnrt_ir *)(uintptr_t)ir, &desc, inputs, none, &err) == QNNRT_OK;
    if (!good)
        fail(a->t, NULL, cli_hint(&err), "--verify: %s: %s", v->g->file, cli_told(&err));
    for (size_t i = 0; i < ir->input_count; ++i) free(room[i]);
    return good;
}
