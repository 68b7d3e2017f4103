/* replay.c - the verb replay

   ROOM     >>replay */
#include "run/measure/measure.h"
#include "run/model/model.h"
#include "run/io/io.h"
#include "qnnrt_cpu_fallback.h"

#include <math.h>

#include "cli/stages.h"

/* =====================================================================================
   REPLAY                                                                         >>replay
   Executes each captured graph and host step alone, with its captured inputs, and compares what it
   writes: so that a step that differs does not change those after it.
   ===================================================================================== */

/* Return the pipeline that is the graph of a step alone: of the same context, else the only graph
   of this name, else the graph at the same place of the pipeline. NULL: the model has none. */
static const qnnrt_pipeline *replay_graph(const tool *t, const captured_pipeline *from, size_t at)
{
    const captured_step *step = &from->steps[at];
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    const qnnrt_pipeline *found = NULL;
    size_t context = info->context_count, same = 0;
    const char *graph = step->graph;
    for (size_t i = info->context_count; i > 0; --i)
        for (size_t g = 0; g < info->contexts[i - 1].info->graph_count; ++g)
            if (strcmp(info->contexts[i - 1].info->graphs[g].name, step->graph) == 0) {
                ++same;
                if (context != step->context) context = i - 1;
            }
    if (same > 1 && context != step->context) return NULL;
    for (size_t i = 0; i < info->pipeline_count && same == 0; ++i) {
        const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(info->pipelines[i]);
        if (strcmp(p->name, from->name) != 0 || p->step_count != from->step_count ||
            p->steps[at].kind != QNNRT_STEP_GRAPH) continue;
        context = step_number(&p->steps[at]);
        graph = p->steps[at].graph->name;
    }
    if (context == info->context_count) return NULL;
    OWNED char *name = cli_text("%lu/%s", (unsigned long)context, graph);
    qnnrt_manifest_find(t->model, name, &found, NULL);
    return found;
}

/* Return the slot of a captured tensor, by its name, or because both are alone. */
static const qnnrt_slot *replay_slot(const job *j, const captured_step *step, size_t port,
                                     int output)
{
    const qnnrt_role role = output ? QNNRT_ROLE_OUTPUT : QNNRT_ROLE_INPUT;
    const qnnrt_slot *found = NULL, *lone = NULL;
    size_t count = 0;
    qnnrt_slot_find(j->pipeline, step->ports[output][port].name, role, &found, NULL);
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        if (j->info->slots[i].role != role) continue;
        lone = &j->info->slots[i];
        ++count;
    }
    return found != NULL || count != 1 || step->counts[output] != 1 ? found : lone;
}

/* Put captured values into the memory of a tensor: the same bytes where the types are equal, else
   the same numbers. Return NULL, or what does not fit; the caller frees it. */
static char *replay_values(const qnnrt_tensor_info *to, const captured_tensor *from,
                           const char *data, void *out)
{
    const uint64_t count = from->info.count;
    if (to->count != count)
        return cli_text("it has %llu values in the capture and %llu here",
                        (unsigned long long)count, (unsigned long long)to->count);
    if (out == NULL) return cli_text("it has no memory");
    if (to->dtype == from->info.dtype && to->bytes == from->info.bytes &&
        qnnrt_quant_equal(&to->quant, &from->info.quant)) {
        memcpy(out, data, (size_t)to->bytes);
        return NULL;
    }
    OWNED double *wide = cli_alloc((size_t)count, sizeof(*wide));
    int good = numbers_of(&from->info, data, count, wide);
    if (good && to->quant.encoding == QNNRT_ENCODING_NONE) {
        for (uint64_t i = 0; i < count && !value_is_float(to->dtype); ++i)
            if (!(fabs(wide[i]) < 9e18)) wide[i] = 0;        /* an integer cannot hold it */
        good = value_put(to->dtype, wide, out, count);
    } else if (good) {
        OWNED float *values = cli_alloc((size_t)count, sizeof(*values));
        for (uint64_t i = 0; i < count; ++i) values[i] = (float)wide[i];
        good = qnnrt_encode_f32(to, values, out) == QNNRT_OK;
    }
    return good ? NULL : cli_text("no conversion from %s to %s",
                                  qnnrt_dtype_name(from->info.dtype),
                                  qnnrt_dtype_name(to->dtype));
}

/* Read a captured tensor, and put its values into memory. Return 0 after a message, or after noting
   what does not fit. */
static int replay_input(comparison *c, const captured *from, const captured_pipeline *pipeline,
                        uint32_t at, size_t port, const qnnrt_tensor_info *to, void *out)
{
    const captured_port *name = &pipeline->steps[at].ports[0][port];
    captured_tensor *tensor = &pipeline->tensors[name->tensor];
    const char *data = NULL;
    OWNED char *why = NULL;
    int good = 1;
    if (to == NULL) why = cli_text("the step has no input of this name");
    else if (tensor->file == NULL) why = cli_text("it was not captured");
    else {
        data = captured_data(c->t, from, tensor);
        good = data != NULL;
        if (good) why = replay_values(to, tensor, data, out);
    }
    if (why != NULL) compare_problem(c, pipeline->name, at, name->name, why);
    good = good && why == NULL;
    return good;
}

/* Compare an output of a step with what was captured; data is NULL if the step has none of this
   name. */
static void replay_output(comparison *c, const captured *from, const captured_pipeline *pipeline,
                          uint32_t at, size_t port, const qnnrt_tensor_info *now, const void *data)
{
    const captured_port *name = &pipeline->steps[at].ports[1][port];
    captured_tensor *tensor = &pipeline->tensors[name->tensor];
    if (tensor->file == NULL) return;
    if (data == NULL) {
        compare_problem(c, pipeline->name, at, name->name, "the step has no output of this name");
        return;
    }
    const char *before = captured_data(c->t, from, tensor);
    if (before != NULL)
        compare_tensors(c, pipeline->name, at, name->name, &tensor->info, before, now, data);
}

/* Fill all inputs of a graph. Return 0 after a message, or after noting what does not fit. */
static int replay_inputs(comparison *c, const captured *from, const captured_pipeline *pipeline,
                         uint32_t at, const job *j, qnnrt_run *run)
{
    const captured_step *step = &pipeline->steps[at];
    OWNED char *filled = cli_alloc(j->info->slot_count, 1);
    int good = 1;
    for (size_t i = 0; i < step->counts[0] && good; ++i) {
        const captured_tensor *tensor = &pipeline->tensors[step->ports[0][i].tensor];
        const qnnrt_slot *slot = replay_slot(j, step, i, 0);
        qnnrt_tensor_info now;
        if (slot != NULL) {
            if (slot->tensor->dynamic_dims != NULL)
                qnnrt_set_dims(run, slot, tensor->dims, tensor->info.rank);
            now = tensor_now(run, slot);
            filled[slot - j->info->slots] = 1;
        }
        good = replay_input(c, from, pipeline, at, i, slot != NULL ? &now : NULL,
                            slot != NULL ? qnnrt_data_slot(run, slot, NULL) : NULL);
    }
    for (size_t i = 0; i < j->info->slot_count && good; ++i) {
        const qnnrt_slot *slot = &j->info->slots[i];
        if (slot->role != QNNRT_ROLE_INPUT || filled[i]) continue;
        if (slot->tensor->optional && qnnrt_omit(run, slot) == QNNRT_OK) continue;
        compare_problem(c, pipeline->name, at, slot->tensor->name, "the capture lacks this input");
        good = 0;
    }
    return good;
}

/* Execute a graph alone. expected: 1: it failed when it was captured. */
static void replay_graph_step(comparison *c, const captured *from,
                              const captured_pipeline *pipeline, uint32_t at,
                              const qnnrt_pipeline *graph, int expected)
{
    tool *t = c->t;
    const captured_step *step = &pipeline->steps[at];
    qnnrt_mem *mem = NULL;
    qnnrt_run *run = NULL;
    add_job(t, graph, NULL);
    job *j = &t->jobs[t->job_count - 1];
    if (capture_plan(t, j) && start_run(t, j, &mem, &run) &&
        replay_inputs(c, from, pipeline, at, j, run)) {
        if (qnnrt_exec(run) != QNNRT_OK) {
            if (expected) say(t, "  failed    as it did when it was captured\n");
            fail_run(t, j, run);
            compare_problem(c, pipeline->name, at, step->graph, qnnrt_run_error(run)->text);
        } else {
            if (expected) say(t, "  succeeded here; when it was captured it failed\n");
            for (size_t i = 0; i < step->counts[1]; ++i) {
                const qnnrt_slot *slot = replay_slot(j, step, i, 1);
                qnnrt_tensor_info now;
                if (slot != NULL) now = tensor_now(run, slot);
                replay_output(c, from, pipeline, at, i, &now, slot != NULL
                              ? qnnrt_data_slot(run, slot, NULL) : NULL);
            }
        }
    }
    qnnrt_run_destroy(run);
    qnnrt_mem_destroy(mem);
}

/* Return the function of a host step of the folder, NULL if it has none of this name. */
static const qnnrt_host_step *replay_function(const tool *t, const char *name)
{
    for (size_t h = 0; h < t->host_count; ++h) {
        size_t count = 0;
        const qnnrt_host_step *list = qnnrt_cpu_fallback_functions(t->hosts[h], &count);
        for (size_t i = 0; i < count; ++i)
            if (strcmp(list[i].name, name) == 0) return &list[i];
    }
    return NULL;
}

/* Return the host step of this name, and its pipeline and number; NULL: the model has none. */
static const qnnrt_graph_info *replay_host(const tool *t, const char *name,
                                           const qnnrt_pipeline **pipeline, size_t *at)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    for (size_t i = 0; i < info->pipeline_count; ++i) {
        const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(info->pipelines[i]);
        for (size_t s = 0; s < p->step_count && p->failure == NULL; ++s) {
            if (p->steps[s].kind != QNNRT_STEP_HOST || strcmp(p->steps[s].graph->name, name) != 0)
                continue;
            *pipeline = info->pipelines[i];
            *at = s;
            return p->steps[s].graph;
        }
    }
    return NULL;
}

static size_t replay_port(const captured_step *step, int output, const char *name)
{
    size_t i = 0;
    while (i < step->counts[output] && strcmp(step->ports[output][i].name, name) != 0) ++i;
    return i;
}

/* Call the function of a host step; constants are those of the model. */
static void replay_host_step(comparison *c, const captured *from,
                             const captured_pipeline *pipeline, uint32_t at)
{
    const captured_step *step = &pipeline->steps[at];
    const qnnrt_pipeline *owner = NULL;
    size_t place = 0;
    const qnnrt_host_step *function = replay_function(c->t, step->graph);
    const qnnrt_graph_info *graph = replay_host(c->t, step->graph, &owner, &place);
    if (function == NULL || graph == NULL) {
        compare_problem(c, pipeline->name, at, step->graph, "the model has no such host step");
        return;
    }
    OWNED void **ins = cli_alloc(graph->input_count, sizeof(*ins));
    OWNED void **owned = cli_alloc(graph->input_count, sizeof(*owned));
    OWNED void **outs = cli_alloc(graph->output_count, sizeof(*outs));
    int good = 1;
    qnnrt_error err = {QNNRT_OK, 0, "", "", NULL};
    for (size_t i = 0; i < graph->input_count && good; ++i) {
        const qnnrt_slot *slot = NULL;
        const size_t port = replay_port(step, 0, graph->inputs[i].name);
        OWNED char *address = cli_text("%lu/%s", (unsigned long)place, graph->inputs[i].name);
        qnnrt_slot_find(owner, address, QNNRT_ROLE_CONSTANT, &slot, NULL);
        if (slot != NULL) {
            ins[i] = (void *)(uintptr_t)slot->constant;
            continue;
        }
        ins[i] = owned[i] = cli_alloc((size_t)graph->inputs[i].bytes, 1);
        if (port < step->counts[0])
            good = replay_input(c, from, pipeline, at, port, &graph->inputs[i], ins[i]);
        else {
            compare_problem(c, pipeline->name, at, graph->inputs[i].name,
                            "the capture lacks this input");
            good = 0;
        }
    }
    for (size_t i = 0; i < graph->output_count; ++i)
        outs[i] = cli_alloc((size_t)graph->outputs[i].bytes, 1);
    if (good && function->exec(function->user, graph, (const void *const *)ins, outs, &err) !=
                    QNNRT_OK) {
        fail(c->t, NULL, cli_hint(&err), "host step \"%s\": %s", step->graph, cli_told(&err));
        compare_problem(c, pipeline->name, at, step->graph, err.text);
        good = 0;
    }
    for (size_t i = 0; i < step->counts[1] && good; ++i) {
        size_t k = 0;
        while (k < graph->output_count &&
               strcmp(graph->outputs[k].name, step->ports[1][i].name) != 0) ++k;
        replay_output(c, from, pipeline, at, i, &graph->outputs[k < graph->output_count ? k : 0],
                      k < graph->output_count ? outs[k] : NULL);
    }
    for (size_t i = 0; i < graph->input_count; ++i) free(owned[i]);
    for (size_t i = 0; i < graph->output_count; ++i) free(outs[i]);
}

/* Replay a step. */
static void replay_step(comparison *c, const captured *from, const captured_pipeline *pipeline,
                        uint32_t at)
{
    const captured_step *step = &pipeline->steps[at];
    const size_t first = c->count;
    const int expected = pipeline->error != NULL && pipeline->failed_step == at;
    const qnnrt_pipeline *graph = step->kind == QNNRT_STEP_GRAPH
                                      ? replay_graph(c->t, pipeline, at) : NULL;
    char room[1024];
    OWNED char *was = cli_shown(step->text);
    const char *here = graph == NULL ? step->text
        : qnnrt_step_text(&qnnrt_pipeline_get_info(graph)->steps[0], room, sizeof(room));
    OWNED char *text = cli_shown(here);
    say(c->t, "\nstep %lu   %s\n", (unsigned long)at, text);
    if (strcmp(text, was) != 0) say(c->t, "  captured  %s\n", was);
    if (step->kind == QNNRT_STEP_DERIVED) {
        say(c->t, "  not replayed: conversions are qnnrt's own\n");
    } else if (step->kind == QNNRT_STEP_HOST) {
        replay_host_step(c, from, pipeline, at);
    } else {
        if (graph != NULL) replay_graph_step(c, from, pipeline, at, graph, expected);
        else compare_problem(c, pipeline->name, at, step->graph, "the model has no such graph");
    }
    if (c->count > first) compare_say(c, first);
    for (size_t i = first; i < c->count; ++i) compare_first(c, &c->rows[i], here);
}

/* Return the tolerance that holds without an option. Say what is compared, and how closely. */
static double replay_tolerance(const tool *t, const captured *from, int given)
{
    const qnnrt_backend_info *here =
        qnnrt_backend_get_info(qnnrt_manifest_get_info(t->model)->backend);
    const char *name = here != NULL ? cli_backend_name(here->id) : "";
    const int same = from->backend != NULL && here != NULL &&
                     strcmp(from->backend, name) == 0 && strcmp(from->build, here->build_id) == 0;
    OWNED char *folder = cli_shown(from->folder),
              *backend = cli_shown(from->backend != NULL ? from->backend : "no backend"),
              *build = cli_shown(from->build != NULL ? from->build : "");
    say(t, "capture   %s, of %s %s\n", folder, backend, build);
    say(t, "tolerance %s\n", given ? "that of --tolerance"
        : same ? "nothing may differ: this is the library that was captured"
        : "2 percent of the largest value of a tensor: another library was captured");
    return same ? 0 : 0.02;
}

/* True if --graph names a captured pipeline, or nothing. */
static int replay_asked(const settings *set, const char *name)
{
    for (size_t i = 0; i < set->graphs.count; ++i)
        if (strcmp(set->graphs.items[i], name) == 0) return 1;
    return set->graphs.count == 0;
}

int verb_replay(void *user)
{
    tool *t = user;
    captured from;
    comparison c;
    size_t steps = 0;
    char *own = NULL;
    if (t->set.files.count < 1 || t->set.files.count > 2)
        return cli_usage("Write qnnrt-run replay CAPTURE DIR.",
                         "replay takes a capture and a model, not %lu words",
                         (unsigned long)t->set.files.count);
    int status = check_packages(&t->set);
    memset(&c, 0, sizeof(c));
    if (status == STATUS_OK) status = compare_begin(&c, t, 0);
    if (status != STATUS_OK) {
        compare_end(&c);
        return status;
    }
    if (!captured_open_folder(t, t->set.files.items[0], &from)) goto done;
    own = cli_text("%s/model", from.folder);
    if (t->set.files.count == 1 && !cli_is_folder(own)) {
        fail(t, NULL, "Write qnnrt-run replay CAPTURE DIR.",
             "the model is missing: it is named after the capture, or lies in %s", own);
        goto done;
    }
    const char *word = t->set.files.count == 2 ? t->set.files.items[1] : own;
    t->set.files.items[0] = word;
    pair_model(&t->set, t->set.files.items);
    if (!open_model(t)) goto done;
    for (size_t p = 0; p < from.count; ++p) steps += from.pipelines[p].step_count;
    t->jobs = cli_alloc(steps, sizeof(*t->jobs));
    const double otherwise = replay_tolerance(t, &from, c.given);
    compare_side(&c, 0, from.folder, from.backend, from.build);
    compare_model(&c, 1, t);
    if (!c.given) c.limits[0].value = otherwise;
    for (size_t p = 0; p < from.count; ++p) {
        const captured_pipeline *pipeline = &from.pipelines[p];
        if (!replay_asked(&t->set, pipeline->name)) continue;
        OWNED char *title = cli_shown(pipeline->name);
        say(t, "\nreplay \"%s\"\n", title);
        for (uint32_t s = 0; s < pipeline->step_count; ++s)
            if (pipeline->error == NULL || s <= pipeline->failed_step)
                replay_step(&c, &from, pipeline, s);
    }
done:
    captured_close(&from);
    free(own);
    status = compare_verdict(&c, "qnnrt-run.replay");
    compare_end(&c);
    return status;
}
