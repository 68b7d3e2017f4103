/* step.c - a step of a program is built and run alone

   ROOM     >>step */
#include "run/compile/verify.h"
#include "run/io/io.h"

#include "cli/stages.h"

/* =====================================================================================
   STEP                                                                            >>step
   A step whose inner tensors can be read. It gets what its graph gets, and what the host computes
   for it.
   ===================================================================================== */

int step_open(step_run *s, aten *a, qnnrt_compile *program, const step_at *at, const char *what)
{
    const qnnrt_compile_graph *graph = &qnnrt_compile_get_info(program)->graphs[at->graph];
    const char *name = graph->steps[at->step].name;
    qnnrt_error err;
    memset(s, 0, sizeof(*s));
    s->ir = (qnnrt_ir *)(uintptr_t)graph->ir;
    qnnrt_result result = qnnrt_compile_watch(program, at->graph, at->step, at->watch, at->on,
                                              &s->watched, &err);
    if (result == QNNRT_OK) result = qnnrt_prepare(s->watched.model, name, &s->run, &err);
    if (result != QNNRT_OK) {
        if (at->watch == 2)
            fail(a->t, NULL, cli_hint(&err), "%s of graph \"%s\": %s", what, name, cli_told(&err));
        else fail(a->t, NULL, cli_hint(&err), "%s: %s", what, cli_told(&err));
        step_close(s);
        return 0;
    }
    s->info = &qnnrt_lower_get_info(s->watched.lower)->graphs[0];
    s->fed = cli_alloc(s->watched.ir->input_count, sizeof(*s->fed));
    for (size_t i = 0; i < s->watched.ir->input_count; ++i)
        s->fed[i] = cli_alloc((size_t)s->watched.ir->inputs[i]->count, sizeof(double));
    return 1;
}

void step_close(step_run *s)
{
    for (size_t i = 0; s->fed != NULL && i < s->watched.ir->input_count; ++i) free(s->fed[i]);
    free(s->fed);
    qnnrt_run_destroy(s->run);
    qnnrt_compile_unwatch(&s->watched);
    memset(s, 0, sizeof(*s));
}

/* Keep a value that the step reads. */
static qnnrt_result step_watch(void *user, const qnnrt_ir_node *node, size_t output,
                               const void *data, qnnrt_error *err)
{
    const step_run *s = user;
    const qnnrt_ir_value *value = node->outputs[output];
    const qnnrt_ir *part = s->watched.ir;
    qnnrt_ir_run_desc wide = {0};
    (void)err;
    wide.wide = 1;
    for (size_t i = 0; i < part->input_count; ++i)
        if (strcmp(part->inputs[i]->name, value->name) == 0)
            value_get(qnnrt_ir_run_dtype(&wide, value), data, s->fed[i], value->count);
    return QNNRT_OK;
}

qnnrt_result step_feed(step_run *s, double *const *inputs, qnnrt_error *err)
{
    const qnnrt_ir *part = s->watched.ir;
    const size_t count = s->ir->input_count;
    OWNED const void **given = cli_alloc(count, sizeof(*given));
    OWNED void **room = cli_alloc(count, sizeof(*room));
    OWNED void **none = cli_alloc(s->ir->output_count, sizeof(*none));
    qnnrt_result result = QNNRT_OK;
    qnnrt_ir_run_desc desc = {0};
    verify loads = {0};
    size_t known = 0;
    desc.load = verify_load;
    desc.load_user = &loads;
    desc.watch = step_watch;
    desc.watch_user = s;
    desc.wide = desc.ready = 1;
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_ir_value *value = s->ir->inputs[i];
        const qnnrt_dtype dtype = qnnrt_ir_run_dtype(&desc, value);
        given[i] = room[i] = cli_alloc((size_t)value->count, qnnrt_ir_dtype_bytes(dtype));
        value_put(dtype, inputs[i], room[i], value->count);
        for (size_t k = 0; k < part->input_count; ++k)
            if (strcmp(part->inputs[k]->name, value->name) == 0) {
                memcpy(s->fed[k], inputs[i], (size_t)value->count * sizeof(double));
                ++known;
            }
    }
    if (known < part->input_count) result = qnnrt_ir_run(s->ir, &desc, given, none, err);
    for (size_t i = 0; i < count; ++i) free(room[i]);
    return result;
}

int step_put(step_run *s, aten *a, int half, const char *what)
{
    const qnnrt_ir *ir = s->watched.ir;
    for (size_t i = 0; i < ir->input_count; ++i) {
        const qnnrt_ir_value *value = ir->inputs[i];
        const char *name = s->info->tensors[s->info->inputs[i]].name;
        const qnnrt_slot *slot = s->info->inputs[i] > 0 ? qnnrt_run_slot(s->run, name) : NULL;
        if (slot == NULL) continue;              /* nothing reads it */
        for (uint64_t k = 0; k < value->count && half && value_is_float(value->dtype); ++k) {
            if (s->fed[i][k] > 65504) s->fed[i][k] = 65504;      /* as constants are */
            if (s->fed[i][k] < -65504) s->fed[i][k] = -65504;
        }
        void *data = qnnrt_data(s->run, name, NULL);
        if (slot->tensor->count == value->count &&
            value_put(slot->tensor->dtype, s->fed[i], data, value->count) &&
            value_get(slot->tensor->dtype, data, s->fed[i], value->count)) continue;
        fail(a->t, NULL, NULL, "%s: input \"%s\" has another type", what, value->name);
        return 0;
    }
    return 1;
}
