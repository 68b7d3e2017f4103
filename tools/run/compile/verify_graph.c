/* verify_graph.c - compiled graphs are compared with qnnrt_ir_run()

   ROOM     >>verify_graphs */
#include "run/compile/verify.h"
#include "run/io/io.h"

#include "cli/stages.h"

/* =====================================================================================
   VERIFY GRAPHS                                                         >>verify_graphs
   Runs each compiled graph on the backend and on the host, whole, or node by node.
   ===================================================================================== */

/* Compare a node, as torch or the host computed it, with the backend's tensor of the same name. */
static qnnrt_result verify_watch(void *user, const qnnrt_ir_node *node, size_t output,
                                 const void *data, qnnrt_error *err)
{
    verify *v = user;
    const qnnrt_ir_value *value = node->outputs[output];
    const qnnrt_slot *slot = qnnrt_run_slot(v->run, value->name);
    qnnrt_ir_run_desc wide = {0};
    verify_sum sum = {0};
    (void)err;
    wide.wide = 1;
    if (slot == NULL || slot->role == QNNRT_ROLE_INPUT || slot->tensor->count != value->count ||
        value->count == 0)
        return QNNRT_OK;
    OWNED double *a = cli_alloc((size_t)value->count, sizeof(*a));
    OWNED double *b = cli_alloc((size_t)value->count, sizeof(*b));
    int known = v->samples.inner
                ? exported_get(v->a->t, &v->samples, v->sample, "node", value, a) : 0;
    if (known == 0) known = value_get(qnnrt_ir_run_dtype(&wide, value), data, a, value->count);
    if (known > 0 &&
        value_get(slot->tensor->dtype, qnnrt_data(v->run, value->name, NULL), b, value->count)) {
        for (uint64_t k = 0; k < value->count; ++k) verify_one(&sum, a[k], b[k], v->most);
        const int wrong = !(verify_relative(&sum) <= v->tolerance);
        v->nodes += 1;
        if (sum.nans > 0 && v->nans++ == 0)
            say(v->a->t, "  NaN      %-24s %-28s %llu of %llu values\n", value->name, node->op,
                (unsigned long long)sum.nans, (unsigned long long)value->count);
        v->wrong += wrong != 0;
        if (v->all || (wrong && v->wrong == 1))
            say(v->a->t, "  %s %-24s %-28s largest value %.4g, difference %.3g, relative %.3g\n",
                wrong ? "differs" : "equal  ", value->name, node->op, sum.largest, sum.difference,
                verify_relative(&sum));
        if (wrong && v->wrong == 1 && node->source[0] != '\0')
            say(v->a->t, "          %s\n", node->source);
    }
    return QNNRT_OK;
}

/* Read the graph again, as it was before the passes, with its weights. notes: receives what these
   belong to. Return NULL after printing an error. */
static qnnrt_ir *verify_read(const aten *a, const aten_graph *g, qnnrt_lower **notes)
{
    qnnrt_lower_desc desc = {0};
    qnnrt_error err;
    qnnrt_ir *ir = program_read(a, g, &err);
    desc.rope_base = a->t->set.compile->rope_base;
    qnnrt_result result = ir != NULL ? qnnrt_lower_create(&desc, notes, &err) : err.code;
    if (result == QNNRT_OK) result = qnnrt_lower_weights(*notes, ir, g->weights, &err);
    if (result == QNNRT_OK) return ir;
    fail(a->t, NULL, result == QNNRT_E_UNSUPPORTED && a->map.count > 0
         ? "Leave --verify out: the host does not have the operators of op packages."
         : cli_hint(&err),
         "--verify: %s: %s", g->file, cli_told(&err));
    qnnrt_ir_free(ir);
    return NULL;
}

/* Build a step again with all its values as outputs, run it with random inputs, and compare each
   node. Return 0 after printing an error. */
static int verify_step(verify *v, const step_at *at)
{
    static const char what[] = "--verify_nodes";
    step_run s;
    qnnrt_error err;
    if (!step_open(&s, v->a, v->a->program, at, what)) return 0;
    OWNED void **none = cli_alloc(v->ir->output_count, sizeof(*none));
    if (at->step == 0)
        say(v->a->t, "\nverify    nodes of graph \"%s\"%s, tolerance %g\n", v->g->name,
            v->samples.inner ? " with torch's values of sample 0" : " with what the host computes",
            v->tolerance);
    int good = step_feed(&s, v->inputs, &err) == QNNRT_OK;
    if (!good) fail(v->a->t, NULL, cli_hint(&err), "%s: %s", what, cli_told(&err));
    good = good && step_put(&s, v->a, 0, what);
    v->run = s.run;
    if (good && verify_exec(v)) {
        const qnnrt_ir *part = s.watched.ir;
        for (size_t i = 0; i < v->ir->input_count; ++i)          /* as they were rounded */
            for (size_t k = 0; k < part->input_count; ++k)
                if (strcmp(v->ir->inputs[i]->name, part->inputs[k]->name) == 0)
                    memcpy(v->inputs[i], s.fed[k],
                           (size_t)part->inputs[k]->count * sizeof(double));
        good = verify_host(v, verify_watch, none);
    }
    v->run = NULL;
    step_close(&s);
    return good;
}

/* Compare each node of the graph, step by step. */
static void verify_nodes(verify *v, size_t number)
{
    const aten *a = v->a;
    int good = 1;
    good = verify_inputs(v, 0);
    for (size_t i = 0; i < program_steps(a, number) && good; ++i) {
        const step_at at = {number, i, 1, NULL};
        if (program_step_of(a, number, i).info != NULL) good = verify_step(v, &at);
    }
    if (good)
        say(a->t, "  %lu of %lu nodes compared, %lu differ, %lu have NaN\n",
            (unsigned long)v->nodes, (unsigned long)v->ir->node_count, (unsigned long)v->wrong,
            (unsigned long)v->nans);
}

/* Read the samples of --calibrate for a graph without torch's. Return 0 after printing an error. */
static int verify_list(verify *v, size_t number)
{
    const cli_list *lists = &v->a->t->set.compile->calibrate;
    qnnrt_error err;
    if (v->samples.file != NULL || lists->count == 0) return 1;
    if (list_read(lists->items[lists->count > 1 ? number : 0], &v->list, &err)) return 1;
    fail(v->a->t, NULL, cli_hint(&err), "--verify: %s", cli_told(&err));
    return 0;
}

/* Compare graph `number` of an opened model. half: a backend computes in float16. */
static void verify_graph(aten *a, qnnrt_manifest *model, size_t number, int half)
{
    const compile_settings *c = a->t->set.compile;
    const double weights = c->weight_bits == 8 ? 0.1 : c->weight_bits == 4 ? 0.5 : 0;
    qnnrt_lower *notes = NULL;
    verify v = {0};
    qnnrt_error err;
    v.a = a;
    v.g = &a->graphs[number];
    v.ir = verify_read(a, v.g, &notes);
    if (a->target.whole && program_steps(a, number) > 0) {
        const program_step step = program_step_of(a, number, 0);
        v.info = step.graph;
        v.lower = step.step->lower;
    }
    if (v.ir != NULL && exported_open(a->t, v.g->folder, &v.samples) && verify_list(&v, number)) {
        const uint32_t most = v.samples.file != NULL ? v.samples.count : v.list.line_count > 0
                              ? (uint32_t)v.list.line_count : c->verify;
        v.ins = cli_alloc(v.ir->input_count, sizeof(*v.ins));
        v.outs = cli_alloc(v.ir->output_count, sizeof(*v.outs));
        verify_names(&v, v.info);
        v.tolerance = c->tolerance > 0 ? c->tolerance : half ? 2e-2 : 1e-4;
        if (half && c->tolerance <= 0 && v.tolerance < 3 * v.samples.float16_error)
            v.tolerance = 3 * v.samples.float16_error;
        if (c->tolerance <= 0 && quantizes(c)) v.tolerance = c->act_bits == 8 ? 0.2 : 2e-2;
        /* Several backends: the weights on the host are as they were. */
        if (!a->target.whole && c->tolerance <= 0 && weights > 0) v.tolerance = weights;
        v.most = half ? 65504 : 1e38;
        v.half = half && !quantizes(c);
        v.all = c->verify_nodes == 2;
        v.inputs = cli_alloc(v.ir->input_count, sizeof(*v.inputs));
        for (size_t i = 0; i < v.ir->input_count; ++i)
            v.inputs[i] = cli_alloc((size_t)v.ir->inputs[i]->count, sizeof(double));
        if (c->verify > 0) {
            if (qnnrt_manifest_prepare(model, v.g->name, NULL, &v.run, &err) != QNNRT_OK)
                fail(a->t, NULL, cli_hint(&err), "--verify: %s", cli_told(&err));
            else if (qnnrt_manifest_reset(v.run, &err) == QNNRT_OK)      /* states can be set now */
                verify_outputs(&v, most < c->verify ? most : c->verify);
            qnnrt_run_destroy(v.run);
            v.run = NULL;
        }
        /* Nodes are compared with those of the graph as it was read, with weights as they were. */
        if (c->tolerance <= 0 && weights > 0) v.tolerance = weights;
        if (c->verify_nodes > 0) verify_nodes(&v, number);
        for (size_t i = 0; i < v.ir->input_count; ++i) free(v.inputs[i]);
        free(v.inputs);
        free(v.ins);
        free(v.outs);
    }
    free(v.beyond_text.data);
    free(v.pins.data);
    exported_close(&v.samples);
    list_free(&v.list);
    qnnrt_ir_free(v.ir);
    qnnrt_lower_free(notes);
}

/* Find out which backends have a context in the program of the folder. */
static void verify_used(const aten *a, char used[ROLES_MOST + 1])
{
    enum { MOST = 1 << 26 };
    OWNED char *path = cli_text("%s/qnnrt.json", a->t->set.output_dir);
    size_t bytes = 0;
    OWNED char *text = cli_read_file(path, MOST, &bytes);
    qnnrt_json_reader r;
    memset(used, 0, ROLES_MOST + 1);
    if (text != NULL) qnnrt_json_begin(&r, text, bytes, NULL);
    while (text != NULL) {
        const int string = qnnrt_json_value(&r) == QNNRT_JSON_STRING;
        for (size_t i = 0; string && i < a->target.backend_count; ++i)
            if (qnnrt_json_is(&r.key, "backend") &&
                qnnrt_json_is(&r.value, a->target.backends[i].role))
                used[i] = 1;
        while (r.error == NULL && r.depth > 0 && !qnnrt_json_more(&r)) {}
        if (r.error != NULL || r.depth == 0) break;
    }
}

/* Name the backends that have a step. Return true if one computes in float16. */
static int verify_roles(const aten *a, qnnrt_manifest_role *roles, qnnrt_manifest_open_desc *desc)
{
    const compile_settings *c = a->t->set.compile;
    char used[ROLES_MOST + 1];
    int half = !c->fp32 && c->graph.fp16;
    verify_used(a, used);
    desc->backends = roles;
    for (size_t i = 0; i < a->target.backend_count; ++i) {
        if (a->target.backends[i].backend == NULL || !used[i]) continue;
        roles[desc->backend_count].role = a->target.backends[i].role;
        roles[desc->backend_count++].backend = a->target.backends[i].backend;
        half |= target_is_half(a, i);
    }
    return half;
}

int verify_files(aten *a, char *const *paths, size_t count)
{
    tool *t = a->t;
    const int whole = a->target.whole;
    qnnrt_manifest_role roles[ROLES_MOST];
    qnnrt_manifest_open_desc desc = {0};
    qnnrt_cpu_fallback *host = NULL;
    qnnrt_manifest *model = NULL;
    qnnrt_error err;
    size_t first = 0;
    if (t->set.compile->verify == 0 && t->set.compile->verify_nodes == 0) return 0;
    qnnrt_file *files = cli_alloc(count, sizeof(*files));
    for (size_t i = 0; i < count; ++i) files[i].path = paths[i];
    memset(roles, 0, sizeof(roles));
    desc.model.system_path = t->set.system;
    const int half = whole ? target_is_half(a, 0) : verify_roles(a, roles, &desc);
    qnnrt_result result = QNNRT_OK;
    if (whole) {
        desc.model.backend = t->backend;
        desc.model.files = files;
        /* Shards of a decoder are compared one by one: wired, they would not take random inputs. */
        desc.model.file_count = a->decoder != NULL ? 1 : count;
        desc.model.metadata = QNNRT_METADATA_SYSTEM;
    } else {
        result = qnnrt_cpu_fallback_open(t->set.output_dir, NULL, &host, &err);
        if (result == QNNRT_OK)
            desc.host_functions = qnnrt_cpu_fallback_functions(host, &desc.host_function_count);
    }
    do {
        if (result == QNNRT_OK && t->set.compile->verify > 0)
            result = qnnrt_manifest_open(whole ? NULL : t->set.output_dir, &desc, &model, &err);
        for (size_t i = 0; i < a->graph_count && result == QNNRT_OK; ++i)
            if (!whole || a->decoder == NULL || a->graphs[i].context == first)
                verify_graph(a, model, i, half);
        qnnrt_manifest_close(model);
        model = NULL;
        first += desc.model.file_count;
        desc.model.files += desc.model.file_count;
    } while (whole && first < count && result == QNNRT_OK);
    if (result != QNNRT_OK) fail(t, NULL, cli_hint(&err), "--verify: %s", cli_told(&err));
    qnnrt_cpu_fallback_close(host);
    free(files);
    return 1;
}
