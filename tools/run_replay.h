/* run_replay.h - a part of qnnrt-run.c: the verb replay

   ROOM     >>replay                                                                             */

/* =====================================================================================
   REPLAY                                                                         >>replay
   Executes each captured graph alone, with its captured inputs, and compares what it writes: so
   that a step that differs does not change those after it.
   ===================================================================================== */

/* Return the pipeline that is the graph of a step alone: of the same context, else the only graph
   of this name, else the graph at the same place of the pipeline. NULL: the model has none. */
static const qnnrt_pipeline *replay_graph(const tool *t, const captured_pipeline *from, size_t at)
{
    const captured_step *step = &from->steps[at];
    const qnnrt_info *info = qnnrt_get_info(t->model);
    const qnnrt_pipeline *found = NULL;
    size_t context = info->context_count, same = 0;
    const char *graph = step->graph;
    for (size_t i = info->context_count; i > 0; --i)
        for (size_t g = 0; g < info->contexts[i - 1].graph_count; ++g)
            if (strcmp(info->contexts[i - 1].graphs[g].name, step->graph) == 0) {
                ++same;
                if (context != step->context) context = i - 1;
            }
    if (same > 1 && context != step->context) return NULL;
    for (size_t i = 0; i < info->pipeline_count && same == 0; ++i) {
        const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(info->pipelines[i]);
        if (strcmp(p->name, from->name) != 0 || p->step_count != from->step_count ||
            p->steps[at].kind != QNNRT_STEP_GRAPH) continue;
        context = p->steps[at].context;
        graph = p->steps[at].graph->name;
    }
    if (context == info->context_count) return NULL;
    char *name = cli_text("%lu/%s", (unsigned long)context, graph);
    qnnrt_pipeline_find(t->model, name, &found, NULL);
    free(name);
    return found;
}

/* Return the slot of a captured tensor, by its name, or because both are alone. */
static qnnrt_slot replay_slot(const job *j, const captured_step *step, size_t port, int output)
{
    const qnnrt_role role = output ? QNNRT_ROLE_OUTPUT : QNNRT_ROLE_INPUT;
    qnnrt_slot found = QNNRT_NO_SLOT, lone = QNNRT_NO_SLOT;
    size_t count = 0;
    qnnrt_slot_find(j->pipeline, step->ports[output][port].name, role, &found, NULL);
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        if (j->info->slots[i].role != role) continue;
        lone = &j->info->slots[i];
        ++count;
    }
    return found != QNNRT_NO_SLOT || count != 1 || step->counts[output] != 1 ? found : lone;
}

/* Write the captured values of an input: the same bytes where the types are equal, else the same
   numbers. Return NULL, or what does not fit; the caller frees it. */
static char *replay_fill(qnnrt_run *run, qnnrt_slot slot, const captured_tensor *from,
                         const char *data)
{
    const qnnrt_tensor_info *tensor = slot->tensor;
    const size_t count = (size_t)from->info.count;
    size_t bytes = 0;
    void *to;
    if (tensor->dynamic_dims != NULL)
        qnnrt_set_dims(run, slot, from->dims, from->info.rank);
    if (count_now(run, slot) != count)
        return cli_text("it has %llu values in the capture and %llu here",
                        (unsigned long long)count, (unsigned long long)count_now(run, slot));
    to = qnnrt_data_slot(run, slot, &bytes);
    if (tensor->dtype == from->info.dtype && bytes == from->info.bytes && to != NULL &&
        qnnrt_quant_equal(&tensor->quant, &from->info.quant)) {
        memcpy(to, data, bytes);
        return NULL;
    }
    double *wide = cli_alloc(count, sizeof(*wide));
    char *why = NULL;
    if (!numbers_of(&from->info, data, count, wide)) {
        why = cli_text("%s has no numbers", qnnrt_dtype_name(from->info.dtype));
    } else if (tensor->quant.encoding == QNNRT_ENCODING_NONE && integer_bytes(tensor->dtype) != 0) {
        int32_t *whole = cli_alloc(count, sizeof(*whole));
        for (size_t i = 0; i < count; ++i)
            whole[i] = wide[i] >= INT32_MAX ? INT32_MAX : wide[i] > INT32_MIN ? (int32_t)wide[i]
                                                                              : INT32_MIN;
        if (qnnrt_write_i32(run, slot, 0, whole, count) != QNNRT_OK)
            why = cli_text("%s", qnnrt_run_error(run)->text);
        free(whole);
    } else {
        float *values = cli_alloc(count, sizeof(*values));
        for (size_t i = 0; i < count; ++i) values[i] = (float)wide[i];
        if (qnnrt_write_f32(run, slot, 0, values, count) != QNNRT_OK)
            why = cli_text("%s", qnnrt_run_error(run)->text);
        free(values);
    }
    free(wide);
    return why;
}

/* Fill all inputs of a step. Return 0 after a message, or after noting what does not fit. */
static int replay_inputs(comparison *c, const captured *from, const captured_pipeline *pipeline,
                         uint32_t at, job *j, qnnrt_run *run)
{
    const captured_step *step = &pipeline->steps[at];
    char *filled = cli_alloc(j->info->slot_count, 1);
    int good = 1;
    for (size_t i = 0; i < step->counts[0] && good; ++i) {
        const captured_tensor *tensor = &pipeline->tensors[step->ports[0][i].tensor];
        const qnnrt_slot slot = replay_slot(j, step, i, 0);
        char *why = NULL, *data = NULL;
        if (slot == QNNRT_NO_SLOT) why = cli_text("the graph has no input of this name");
        else if (tensor->file == NULL) why = cli_text("it was not captured");
        else {
            data = captured_data(c->t, from, tensor);
            good = data != NULL;
            if (good) why = replay_fill(run, slot, tensor, data);
            filled[slot - j->info->slots] = 1;
        }
        if (why != NULL) compare_problem(c, pipeline->name, at, step->ports[0][i].name, why);
        good = good && why == NULL;
        free(why);
        free(data);
    }
    for (size_t i = 0; i < j->info->slot_count && good; ++i) {
        const qnnrt_slot slot = &j->info->slots[i];
        if (slot->role != QNNRT_ROLE_INPUT || filled[i] || slot->tensor->optional) continue;
        compare_problem(c, pipeline->name, at, slot->tensor->name, "the capture lacks this input");
        good = 0;
    }
    for (size_t i = 0; i < j->info->slot_count && good; ++i)
        if (j->info->slots[i].role == QNNRT_ROLE_INPUT && !filled[i])
            qnnrt_omit(run, &j->info->slots[i]);
    free(filled);
    return good;
}

/* Compare what a step has written. */
static void replay_outputs(comparison *c, const captured *from, const captured_pipeline *pipeline,
                           uint32_t at, job *j, qnnrt_run *run)
{
    const captured_step *step = &pipeline->steps[at];
    for (size_t i = 0; i < step->counts[1]; ++i) {
        const captured_tensor *tensor = &pipeline->tensors[step->ports[1][i].tensor];
        const char *name = step->ports[1][i].name;
        const qnnrt_slot slot = replay_slot(j, step, i, 1);
        if (tensor->file == NULL) continue;
        if (slot == QNNRT_NO_SLOT) {
            compare_problem(c, pipeline->name, at, name, "the graph has no output of this name");
            continue;
        }
        char *data = captured_data(c->t, from, tensor);
        const qnnrt_tensor_info now = tensor_now(run, slot);
        if (data != NULL)
            compare_tensors(c, pipeline->name, at, name, &tensor->info, data, &now,
                            qnnrt_data_slot(run, slot, NULL));
        free(data);
    }
}

/* Replay a step. */
static void replay_step(comparison *c, const captured *from, const captured_pipeline *pipeline,
                        uint32_t at)
{
    tool *t = c->t;
    const captured_step *step = &pipeline->steps[at];
    const size_t first = c->count;
    qnnrt_mem *mem = NULL;
    qnnrt_run *run = NULL;
    const int expected = pipeline->error != NULL && pipeline->failed_step == at;
    say(t, "\nstep %lu   %s\n", (unsigned long)at, step->text);
    if (step->kind != QNNRT_STEP_GRAPH) {
        say(t, "  not replayed: only graphs are\n");
        return;
    }
    const qnnrt_pipeline *graph = replay_graph(t, pipeline, at);
    if (graph == NULL) {
        compare_problem(c, pipeline->name, at, step->graph, "the model has no such graph");
    } else {
        add_job(t, graph, NULL);
        job *j = &t->jobs[t->job_count - 1];
        if (!capture_plan(t, j) || !start_run(t, j, &mem, &run)) goto done;
        if (!replay_inputs(c, from, pipeline, at, j, run)) goto say;
        cli_busy(1, "step %lu is executed", (unsigned long)at);
        if (qnnrt_exec(run) != QNNRT_OK) {
            if (expected) say(t, "  failed    as it did when it was captured\n");
            fail_run(t, j, run);
            compare_problem(c, pipeline->name, at, step->graph, qnnrt_run_error(run)->text);
        } else {
            if (expected) say(t, "  succeeded here; when it was captured it failed\n");
            replay_outputs(c, from, pipeline, at, j, run);
        }
    }
say:
    if (c->count > first) compare_say(c, first);
    for (size_t i = first; i < c->count; ++i) compare_first(c, &c->rows[i], step->text);
done:
    qnnrt_run_destroy(run);
    qnnrt_mem_destroy(mem);
}

/* Return the tolerance that holds without an option, and say why. */
static double replay_tolerance(const tool *t, const captured *from)
{
    const qnnrt_backend_info *here =
        qnnrt_backend_get_info(qnnrt_get_info(t->model)->backend);
    const char *name = here != NULL ? cli_backend_name(here->id) : "";
    const int same = from->backend != NULL && here != NULL &&
                     strcmp(from->backend, name) == 0 && strcmp(from->build, here->build_id) == 0;
    say(t, "capture   %s, of %s %s\n", from->folder,
        from->backend != NULL ? from->backend : "no backend",
        from->build != NULL ? from->build : "");
    return same ? 0 : 0.02;
}

static int verb_replay(void *user)
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
    if (status == STATUS_OK) status = compare_begin(&c, t, 0);
    if (status != STATUS_OK) return status;
    if (!captured_open_folder(t, t->set.files.items[0], &from)) goto done;
    own = cli_text("%s/model", from.folder);
    const char *word = t->set.files.count == 2 ? t->set.files.items[1] : own;
    t->set.files.items[0] = word;
    pair_model(&t->set, t->set.files.items);
    if (!open_model(t)) goto done;
    for (size_t p = 0; p < from.count; ++p) steps += from.pipelines[p].step_count;
    t->jobs = cli_alloc(steps, sizeof(*t->jobs));
    const double otherwise = replay_tolerance(t, &from);
    if (!c.given) c.limits[0].value = otherwise;
    for (size_t p = 0; p < from.count; ++p) {
        const captured_pipeline *pipeline = &from.pipelines[p];
        say(t, "\nreplay \"%s\"\n", pipeline->name);
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
