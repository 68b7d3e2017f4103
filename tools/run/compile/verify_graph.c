/* verify_graph.c - compiled graphs are compared with qnnrt_ir_run()

   ROOM     >>verify_graphs */
#include "run/compile/aten.h"
#include "run/io/io.h"

#include "cli/stages.h"

/* =====================================================================================
   VERIFY GRAPHS                                                         >>verify_graphs
   Runs each compiled graph on the backend and on the host, whole, or node by node.
   ===================================================================================== */

/* Compare a node of the host with the backend's tensor of the same name. */
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
    if (slot == NULL || slot->tensor->count != value->count || value->count == 0)
        return QNNRT_OK;
    double *a = cli_alloc((size_t)value->count, sizeof(*a));
    double *b = cli_alloc((size_t)value->count, sizeof(*b));
    if (value_get(qnnrt_ir_run_dtype(&wide, value), data, a, value->count) &&
        value_get(slot->tensor->dtype, qnnrt_data(v->run, value->name, NULL), b, value->count)) {
        for (uint64_t k = 0; k < value->count; ++k) verify_one(&sum, a[k], b[k], v->most);
        const int wrong = !(verify_relative(&sum) <= v->tolerance);
        v->nodes += 1;
        if (sum.nans > 0 && v->nans++ == 0)
            say(v->a->t, "  NaN      %-24s %-28s %llu of %llu values on the host\n", value->name,
                node->op, (unsigned long long)sum.nans, (unsigned long long)value->count);
        v->wrong += wrong != 0;
        if (v->all || (wrong && v->wrong == 1))
            say(v->a->t, "  %s %-24s %-28s largest value %.4g, difference %.3g, relative %.3g\n",
                wrong ? "differs" : "equal  ", value->name, node->op, sum.largest, sum.difference,
                verify_relative(&sum));
        if (wrong && v->wrong == 1 && node->source[0] != '\0')
            say(v->a->t, "          %s\n", node->source);
    }
    free(a);
    free(b);
    return QNNRT_OK;
}

/* Copy the graph, as it was before the passes, with its weights. Return NULL after printing an
   error. */
static qnnrt_ir *verify_copy(const aten *a, const aten_graph *g, qnnrt_lower *lower)
{
    const qnnrt_ir_desc plain = {0};             /* the host has no operators of --op_map */
    qnnrt_ir *ir = NULL;
    qnnrt_error err;
    qnnrt_result result = qnnrt_ir_copy(g->read, &plain, &ir, &err);
    qnnrt_ir_kv_info info;
    if (result == QNNRT_OK) result = qnnrt_ir_check(ir, NULL, NULL, &err);
    if (result == QNNRT_OK && a->t->set.compile->kv_rows) result = kv_graph(ir, &info, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_weights(lower, ir, g->weights, &err);
    if (result == QNNRT_OK) return ir;
    fail(a->t, NULL, result == QNNRT_E_UNSUPPORTED && a->map.count > 0
         ? "Leave --verify out: the host does not have the operators of op packages."
         : cli_hint(&err),
         "--verify: %s: %s", g->file, cli_told(&err));
    qnnrt_ir_free(ir);
    return NULL;
}

/* Build the graph again with all its values as outputs, and compare each node. */
static void verify_nodes(verify *v)
{
    aten *a = v->a;
    qnnrt_lower_desc desc = aten_desc(a);
    qnnrt_builder_desc builder_desc = compile_builder(a->t);
    qnnrt_lower *lower = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt_run *before = v->run;
    qnnrt_ir *ir = NULL;
    qnnrt *model = NULL;
    qnnrt_error err;
    desc.watch = 1;
    desc.contexts = 1;
    v->run = NULL;
    qnnrt_result result = qnnrt_lower_create(&desc, &lower, &err);
    if (result == QNNRT_OK) ir = verify_copy(a, v->g, lower);
    if (ir != NULL) {
        result = qnnrt_lower_passes(lower, ir, &err);
        if (result == QNNRT_OK) result = qnnrt_lower_graph(lower, ir, v->g->name, &err);
        if (result == QNNRT_OK && desc.act_bits != 0 && !aten_quantize(a, lower)) {
            qnnrt_ir_free(ir);
            qnnrt_lower_free(lower);
            v->run = before;
            return;
        }
        if (result == QNNRT_OK)
            result = qnnrt_builder_create(a->t->backend, &builder_desc, &builder, &err);
        if (result == QNNRT_OK) result = qnnrt_lower_emit(lower, builder, &err);
        if (result == QNNRT_OK) {
            result = qnnrt_builder_finish(builder, &model, &err);
            builder = NULL;
        }
        qnnrt_builder_destroy(builder);
        if (result == QNNRT_OK) result = qnnrt_prepare(model, v->g->name, &v->run, &err);
    }
    if (result != QNNRT_OK) fail(a->t, NULL, cli_hint(&err), "--verify_nodes: %s", cli_told(&err));
    if (v->run != NULL) {
        verify_names(v, &qnnrt_lower_get_info(lower)->graphs[0]);
        say(a->t, "\nverify    nodes of graph \"%s\", tolerance %g\n", v->g->name, v->tolerance);
        void **none = cli_alloc(v->ir->output_count, sizeof(*none));
        if (verify_fill(v, 1) && verify_exec(v) && verify_host(v, verify_watch, none))
            say(a->t, "  %lu of %lu nodes compared, %lu differ, %lu have NaN\n",
                (unsigned long)v->nodes, (unsigned long)v->ir->node_count, (unsigned long)v->wrong,
                (unsigned long)v->nans);
        free(none);
    }
    qnnrt_run_destroy(v->run);
    qnnrt_close(model);
    qnnrt_ir_free(ir);
    qnnrt_lower_free(lower);
    v->run = before;
}

void verify_graph(aten *a, qnnrt_manifest *model, size_t number, int half, int by_name)
{
    const compile_settings *c = a->t->set.compile;
    verify v = {0};
    qnnrt_error err;
    v.a = a;
    v.g = &a->graphs[number];
    v.ir = verify_copy(a, v.g, a->lower);
    if (v.ir == NULL) return;
    v.ins = cli_alloc(v.ir->input_count, sizeof(*v.ins));
    v.outs = cli_alloc(v.ir->output_count, sizeof(*v.outs));
    v.info = by_name ? NULL : &qnnrt_lower_get_info(a->lower)->graphs[number];
    verify_names(&v, v.info);
    v.tolerance = c->tolerance > 0 ? c->tolerance : half ? 2e-2 : 1e-4;
    if (c->tolerance <= 0 && quantizes(c)) v.tolerance = c->act_bits == 8 ? 0.2 : 2e-2;
    /* Several backends: the weights on the host are as they were. */
    if (by_name && c->tolerance <= 0 && c->weight_bits == 8) v.tolerance = 0.1;
    if (by_name && c->tolerance <= 0 && c->weight_bits == 4) v.tolerance = 0.5;
    v.most = half ? 65504 : 1e38;
    v.all = c->verify_nodes == 2;
    v.inputs = cli_alloc(v.ir->input_count, sizeof(*v.inputs));
    for (size_t i = 0; i < v.ir->input_count; ++i)
        v.inputs[i] = cli_alloc((size_t)v.ir->inputs[i]->count, sizeof(double));
    if (c->verify > 0) {
        if (qnnrt_manifest_prepare(model, v.g->name, NULL, &v.run, &err) != QNNRT_OK)
            fail(a->t, NULL, cli_hint(&err), "--verify: %s", cli_told(&err));
        else verify_outputs(&v, c->verify);
        qnnrt_run_destroy(v.run);
        v.run = NULL;
    }
    /* Nodes are compared with those of the graph as it was read, before weights were rounded. */
    if (c->tolerance <= 0 && c->weight_bits == 8) v.tolerance = 0.1;
    if (c->tolerance <= 0 && c->weight_bits == 4) v.tolerance = 0.5;
    if (c->verify_nodes > 0) verify_nodes(&v);
    for (size_t i = 0; i < v.ir->input_count; ++i) free(v.inputs[i]);
    free(v.inputs);
    free(v.ins);
    free(v.outs);
    qnnrt_ir_free(v.ir);
}

int verify_files(aten *a, char *const *paths)
{
    tool *t = a->t;
    const compile_settings *c = t->set.compile;
    const qnnrt_lower_desc lowered = aten_desc(a);
    /* HTP computes with float32 tensors as exactly as with float16. */
    const int half = lowered.compute == QNNRT_DTYPE_F16 || lowered.target == QNNRT_LOWER_HTP;
    qnnrt_file *files;
    qnnrt_manifest_open_desc desc = {0};
    qnnrt_error err;
    qnnrt_manifest *model = NULL;
    size_t count = 0;
    if (c->verify == 0 && c->verify_nodes == 0) return 0;
    while (paths[count] != NULL) ++count;
    files = cli_alloc(count, sizeof(*files));
    for (size_t i = 0; i < count; ++i) files[i].path = paths[i];
    desc.model.backend = t->backend;
    desc.model.system_path = t->set.system;
    desc.model.files = files;
    desc.model.file_count = count;
    desc.model.metadata = QNNRT_METADATA_SYSTEM;
    /* Shards of a decoder are compared one by one: wired, they would not take random inputs. */
    if (a->decoder != NULL) desc.model.file_count = 1;
    for (size_t first = 0; first < count;
         first += desc.model.file_count, desc.model.files += desc.model.file_count) {
        if (c->verify > 0 && qnnrt_manifest_open(NULL, &desc, &model, &err) != QNNRT_OK) {
            fail(t, NULL, cli_hint(&err), "--verify: %s", cli_told(&err));
            break;
        }
        for (size_t i = 0; i < a->graph_count; ++i)
            if (a->decoder == NULL || a->graphs[i].context == first)
                verify_graph(a, model, i, half, 0);
        qnnrt_manifest_close(model);
        model = NULL;
    }
    free(files);
    return 1;
}
