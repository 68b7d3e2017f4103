/* divide.c - graphs are divided over several backends, compared and calibrated

   ROOM     >>divide */
#include "run/compile/compile.h"

#include "cli/stages.h"

/* =====================================================================================
   DIVIDE                                                                       >>divide
   The graphs, compiled over the backends of --backends, with ranges from samples and compared
   with the host.
   ===================================================================================== */

/* Find out which backends have a context in the program of the folder. */
static void mixed_used(const mixed *m, char used[ROLES_MOST + 1])
{
    enum { MOST = 1 << 26 };
    char *path = cli_text("%s/qnnrt.json", m->a->t->set.output_dir);
    size_t bytes = 0;
    char *text = cli_read_file(path, MOST, &bytes);
    qnnrt_json_reader r;
    memset(used, 0, ROLES_MOST + 1);
    if (text != NULL) qnnrt_json_begin(&r, text, bytes, NULL);
    while (text != NULL) {
        const int string = qnnrt_json_value(&r) == QNNRT_JSON_STRING;
        for (size_t i = 0; string && i < m->backend_count; ++i)
            if (qnnrt_json_is(&r.key, "backend") && qnnrt_json_is(&r.value, m->backends[i].role))
                used[i] = 1;
        while (r.error == NULL && r.depth > 0 && !qnnrt_json_more(&r)) {}
        if (r.error != NULL || r.depth == 0) break;
    }
    free(text);
    free(path);
}

int mixed_verify(mixed *m)
{
    aten *a = m->a;
    tool *t = a->t;
    const qnnrt_lower_desc lowered = aten_desc(a);
    qnnrt_manifest_role roles[ROLES_MOST];
    char used[ROLES_MOST + 1];
    qnnrt_cpu_fallback *host = NULL;
    qnnrt_manifest_open_desc desc = {0};
    qnnrt_manifest *model = NULL;
    qnnrt_error err;
    int half = lowered.compute == QNNRT_DTYPE_F16;
    if (t->set.compile->verify == 0) return 0;
    memset(roles, 0, sizeof(roles));
    mixed_used(m, used);
    for (size_t i = 0; i < m->backend_count; ++i) {
        qnnrt_backend *backend = m->backends[i].backend;
        if (backend == NULL || !used[i]) continue;       /* it has no step */
        roles[desc.backend_count].role = m->backends[i].role;
        roles[desc.backend_count++].backend = backend;
        half |= qnnrt_lower_target_of(qnnrt_backend_get_info(backend)) == QNNRT_LOWER_HTP;
    }
    desc.backends = roles;
    desc.model.system_path = t->set.system;
    qnnrt_result result = qnnrt_cpu_fallback_open(t->set.output_dir, NULL, &host, &err);
    if (result == QNNRT_OK) {
        desc.host_functions = qnnrt_cpu_fallback_functions(host, &desc.host_function_count);
        result = qnnrt_manifest_open(t->set.output_dir, &desc, &model, &err);
    }
    if (result == QNNRT_OK) result = qnnrt_lower_create(&lowered, &a->lower, &err);
    if (result != QNNRT_OK) fail(t, NULL, cli_hint(&err), "--verify: %s", cli_told(&err));
    for (size_t i = 0; i < a->graph_count && result == QNNRT_OK; ++i)
        verify_graph(a, model, i, half, 1);
    qnnrt_manifest_close(model);
    qnnrt_cpu_fallback_close(host);
    return 1;
}

/* Return what all programs have in common. */
static qnnrt_compile_desc mixed_desc(const mixed *m)
{
    const compile_settings *c = m->a->t->set.compile;
    qnnrt_compile_desc desc = {0};
    desc.backends = m->backends;
    desc.backend_count = m->backend_count;
    desc.pins = m->pins;
    desc.pin_count = m->pin_count;
    desc.state_error = c->state_policy == 1;
    desc.lower = aten_desc(m->a);
    desc.lower.no_ask = c->no_ask || c->no_validate;
    desc.state_hint = "Keep it on the host with --state_policy host.";
    return desc;
}

/* Return true if a backend computes with quantized activations. */
static int mixed_is_quantized(const qnnrt_backend *backend)
{
    return backend != NULL &&
           qnnrt_lower_target_of(qnnrt_backend_get_info(backend)) != QNNRT_LOWER_CPU;
}

/* Calibrate a step of a plan. Return 0 after printing an error. */
static int mixed_calibrate_step(mixed *m, qnnrt_compile *program, size_t graph, size_t step)
{
    aten *a = m->a;
    const compile_settings *set = a->t->set.compile;
    const qnnrt_compile_graph *whole = &qnnrt_compile_get_info(program)->graphs[graph];
    const size_t backend = whole->steps[step].backend;
    const qnnrt_lower_desc lowered = aten_desc(a);
    const uint64_t begin = cli_now_ns();
    qnnrt_compile_watched watched;
    calibration c = {0};
    qnnrt_error err;
    c.a = a;
    c.g = &a->graphs[graph];
    c.list = set->calibrate.items[set->calibrate.count == 1 ? 0 : graph];
    c.ir = (qnnrt_ir *)(uintptr_t)whole->ir;
    c.name = mixed_keep(m, cli_text("%s", whole->steps[step].name));
    c.half = lowered.compute == QNNRT_DTYPE_F16 ||
             (lowered.compute == (qnnrt_dtype)0 &&
              qnnrt_lower_target_of(qnnrt_backend_get_info(m->backends[backend].backend)) ==
                  QNNRT_LOWER_HTP);
    qnnrt_result result = qnnrt_compile_watch(program, graph, step, 2, NULL, &watched, &err);
    if (result == QNNRT_OK) result = qnnrt_prepare(watched.model, c.name, &c.run, &err);
    if (result != QNNRT_OK)
        fail(a->t, NULL, cli_hint(&err), "calibration of graph \"%s\": %s", c.name, cli_told(&err));
    int good = result == QNNRT_OK;
    if (good) {
        c.part = watched.ir;
        c.lower = watched.lower;
        c.fed = cli_alloc(c.part->input_count, sizeof(*c.fed));
        for (size_t i = 0; i < c.part->input_count; ++i)
            c.fed[i] = cli_alloc((size_t)c.part->inputs[i]->count, sizeof(double));
        good = calibrate_run(&c, begin);
        for (size_t i = 0; i < c.part->input_count; ++i) free(c.fed[i]);
        free(c.fed);
    }
    qnnrt_run_destroy(c.run);
    qnnrt_compile_unwatch(&watched);
    return good;
}

/* Plan the graphs in floats, and calibrate the steps of backends that compute quantized. Return 0
   after printing an error. */
static int mixed_calibrate(mixed *m)
{
    aten *a = m->a;
    qnnrt_compile_desc desc = mixed_desc(m);
    const qnnrt_ir_desc plain = {0};             /* without operators of --op_map         */
    qnnrt_ir **graphs = cli_alloc(a->graph_count, sizeof(*graphs));
    qnnrt_compile *program = NULL;
    qnnrt_error err;
    desc.lower.act_bits = 0;
    desc.lower.encodings = NULL;
    desc.lower.encoding_count = 0;
    qnnrt_result result = qnnrt_compile_create(&desc, &program, &err);
    for (size_t i = 0; i < a->graph_count && result == QNNRT_OK; ++i) {
        const aten_graph *g = &a->graphs[i];
        result = qnnrt_ir_copy(g->read, &plain, &graphs[i], &err);
        if (result == QNNRT_OK) result = qnnrt_ir_check(graphs[i], NULL, NULL, &err);
        if (result == QNNRT_OK)
            result = qnnrt_compile_add(program, graphs[i], g->weights, g->name, &err);
    }
    if (result == QNNRT_OK) result = qnnrt_compile_plan(program, &err);
    if (result != QNNRT_OK) fail(a->t, NULL, cli_hint(&err), "calibration: %s", cli_told(&err));
    int good = result == QNNRT_OK;
    const qnnrt_compile_info *info = good ? qnnrt_compile_get_info(program) : NULL;
    for (size_t i = 0; good && i < info->graph_count; ++i)
        for (size_t k = 0; k < info->graphs[i].step_count && good; ++k)
            if (mixed_is_quantized(m->backends[info->graphs[i].steps[k].backend].backend))
                good = mixed_calibrate_step(m, program, i, k);
    qnnrt_compile_free(program);
    for (size_t i = 0; i < a->graph_count; ++i) qnnrt_ir_free(graphs[i]);
    free(graphs);
    return good;
}

int mixed_ranges(mixed *m)
{
    aten *a = m->a;
    size_t i = 0;
    if (!quantizes(a->t->set.compile)) return 1;
    while (i < m->backend_count && !mixed_is_quantized(m->backends[i].backend)) ++i;
    if (i == m->backend_count) {
        fail(a->t, NULL, "Name a library that computes quantized, such as libQnnHtp.so.",
             "none of the --backends computes with quantized activations");
        return 0;
    }
    return encodings_read(a) &&
           (a->t->set.compile->calibrate.count == 0 || mixed_calibrate(m));
}

int mixed_compile(mixed *m, const char *path)
{
    aten *a = m->a;
    tool *t = a->t;
    qnnrt_compile_desc desc;
    progress shown;
    qnnrt_error err;
    int good = 1;
    progress_begin(&shown, &t->set);
    for (size_t i = 0; i < m->backend_count; ++i) {
        m->backends[i].builder.progress = progress_build;
        m->backends[i].builder.progress_user = &shown;
    }
    desc = mixed_desc(m);
    desc.told = mixed_told;
    desc.told_user = t;
    if (qnnrt_compile_create(&desc, &m->program, &err) != QNNRT_OK) {
        fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        return 0;
    }
    for (size_t i = 0; i < a->weights_count; ++i) aten_surplus(a, i);
    for (size_t i = 0; i < a->graph_count; ++i) {
        aten_graph *g = &a->graphs[i];
        const qnnrt_result result = qnnrt_compile_add(m->program, g->ir, g->weights, g->name, &err);
        if (result == QNNRT_E_NOT_FOUND || result == QNNRT_E_MISMATCH) aten_missing(a, g, &err);
        else if (result != QNNRT_OK)
            fail(t, NULL, cli_hint(&err), "%s: %s", g->file, cli_told(&err));
        if (result != QNNRT_OK) good = 0;
    }
    if (!good) return 0;
    const uint64_t begin = cli_now_ns();
    const qnnrt_result result = qnnrt_compile_build(m->program, &err);
    cli_busy_end();
    aten_spent(a, ATEN_BUILD, begin);
    if (result != QNNRT_OK) {
        static const char no_node[] = "no graph has a node \"";
        const char *node = strncmp(err.text, no_node, sizeof(no_node) - 1) == 0
            ? err.text + sizeof(no_node) - 1 : NULL;
        const char *near = node != NULL ? aten_nearest(a, node, strcspn(node, "\"")) : NULL;
        char *hint = near != NULL ? cli_text("Name the node %s.", near)
            : cli_text("%s", node == NULL ? err.hint : "Name a node as the .json file does;"
                                            " --explain_plan without --pin lists them.");
        fail(t, NULL, hint, "%s", cli_told(&err));
        free(hint);
        choices(m);
        return 0;
    }
    choices(m);
    return weight_only_kept(t, &a->weight_only) && mixed_save(m, path);
}

void mixed_free(mixed *m)
{
    qnnrt_compile_free(m->program);
    for (size_t i = 0; i < m->backend_count; ++i) {
        qnnrt_backend_close(m->backends[i].backend);
        free((void *)(uintptr_t)m->backends[i].custom);
    }
    for (size_t i = 0; i < m->path_count; ++i) free(m->paths[i]);
    for (size_t i = 0; i < m->word_count; ++i) free(m->words[i]);
    free(m->paths);
    free(m->words);
    free(m->pins);
    free(m->backends);
}
