/* program.c - graphs in ATen operators become graphs of QNN

   ROOM     >>program */
#include "run/compile/aten.h"

#include "cli/stages.h"

/* =====================================================================================
   PROGRAM                                                                      >>program
   The graphs that were read become a program: passes, division over the backends, quantization,
   operators of QNN, and the libraries' work. Without --backends one library has all nodes.
   ===================================================================================== */

/* Return 1 for the tensors of adapters: they belong to the graph. */
static int aten_is_adapter(void *user, const char *name)
{
    const char *dot = strstr(name, ".lora_");
    (void)user;
    return dot != NULL && strcmp(dot + 7, ".weight") == 0;
}

/* Note how many nodes a pass left. */
static void program_passed(void *user, const char *pass, const qnnrt_ir *ir)
{
    aten *a = user;
    if (a->now == NULL || a->now->pass_count == ATEN_PASSES_MOST) return;
    a->now->passes[a->now->pass_count].name = pass;
    a->now->passes[a->now->pass_count++].nodes = ir->node_count;
}

static void program_told(void *user, const char *text)
{
    say(user, "moved     %s\n", text);
}

qnnrt_compile_desc program_desc(aten *a)
{
    const compile_settings *c = a->t->set.compile;
    qnnrt_compile_desc desc = {0};
    qnnrt_lower_desc *lower = &desc.lower;
    desc.whole = a->target.whole;
    desc.backends = a->target.backends;
    desc.backend_count = a->target.backend_count;
    desc.pins = a->target.pins;
    desc.pin_count = a->target.pin_count;
    desc.state_error = c->state_policy == 1;
    desc.state_hint = "Keep it on the host with --state_policy host.";
    desc.functions = a->custom;
    desc.function_count = a->host_op_count;
    desc.told = program_told;
    desc.told_user = a->t;
    lower->no_ask = c->no_ask || c->no_validate;
    lower->compute = c->fp32 ? QNNRT_DTYPE_F32 : c->graph.fp16 ? QNNRT_DTYPE_F16 : (qnnrt_dtype)0;
    lower->native_io = c->io >= 0 ? c->io : a->decoder != NULL || c->kv_rows;
    lower->positions = c->rope_positions;
    lower->rope_base = c->rope_base;
    lower->contexts = a->decoder != NULL && a->target.whole ? 0 : c->shards;
    lower->context.weight_sharing = c->graph.share;
    lower->graph.optimization_level = c->graph.level;
    lower->graph.vtcm_mib = c->graph.vtcm;
    lower->graph.hvx_threads = c->graph.hvx;
    lower->fast_activations = c->graph.fast;
    lower->custom = a->map.rows;
    lower->custom_count = a->map.count;
    if (c->lora_rank != 0) lower->updateable = aten_is_adapter;
    weight_only_desc(&a->weight_only, a->t, lower);
    if (quantizes(c)) lower->act_bits = c->act_bits != 0 ? c->act_bits : 16;
    lower->encodings = a->encodings;
    lower->encoding_count = a->encoding_count;
    return desc;
}

qnnrt_result program_add(const aten *a, qnnrt_compile *program, size_t number, qnnrt_ir *ir,
                         qnnrt_error *err)
{
    const aten_graph *g = &a->graphs[number];
    qnnrt_result result = QNNRT_OK;
    if (a->decoder != NULL && a->target.whole)
        result = qnnrt_compile_place(program, g->context, err);
    return result == QNNRT_OK ? qnnrt_compile_add(program, ir, g->weights, g->name, err) : result;
}

qnnrt_ir *program_read(const aten *a, const aten_graph *g, qnnrt_error *err)
{
    const qnnrt_ir_desc plain = {0};             /* without operators of --op_map */
    qnnrt_ir *ir = NULL;
    qnnrt_ir_kv_info info;
    qnnrt_result result = qnnrt_ir_copy(g->read, &plain, &ir, err);
    if (result == QNNRT_OK) result = qnnrt_ir_check(ir, NULL, NULL, err);
    if (result == QNNRT_OK && a->t->set.compile->kv_rows) result = kv_graph(ir, &info, err);
    if (result == QNNRT_OK) return ir;
    qnnrt_ir_free(ir);
    return NULL;
}

size_t program_steps(const aten *a, size_t graph)
{
    return a->program == NULL ? 0 : qnnrt_compile_get_info(a->program)->graphs[graph].step_count;
}

program_step program_step_of(const aten *a, size_t graph, size_t number)
{
    program_step found = {NULL, NULL, NULL};
    found.step = &qnnrt_compile_get_info(a->program)->graphs[graph].steps[number];
    if (found.step->lower == NULL) return found;
    found.info = qnnrt_lower_get_info(found.step->lower);
    if (found.step->number < found.info->graph_count)
        found.graph = &found.info->graphs[found.step->number];
    return found;
}

/* Print the findings about the graphs of the only library. Return their number. */
static size_t program_findings(const aten *a, const char *what)
{
    const qnnrt_lower_info *info = NULL;
    page p = {NULL, 0, 0};
    if (a->target.whole && program_steps(a, 0) > 0) info = program_step_of(a, 0, 0).info;
    if (info == NULL || info->finding_count == 0) return 0;
    for (size_t i = 0; i < info->finding_count; ++i) {
        page_add(&p, "\n  %s", info->findings[i].text);
        if (info->findings[i].hint != NULL && info->findings[i].hint[0] != '\0')
            page_add(&p, "\n    %s", info->findings[i].hint);
    }
    fail(a->t, NULL, NULL, "%s %lu node%s:%s", what, (unsigned long)info->finding_count,
         cli_plural(info->finding_count), p.data);
    free(p.data);
    return info->finding_count;
}

/* Print why a program was not lowered or built, and what was decided until then. Return 0. */
static int program_failed(const aten *a, const char *what, const qnnrt_error *err)
{
    static const char no_node[] = "no graph has a node \"";
    const char *node = strncmp(err->text, no_node, sizeof(no_node) - 1) == 0
        ? err->text + sizeof(no_node) - 1 : NULL;
    const char *near = node != NULL ? aten_nearest(a, node, strcspn(node, "\"")) : NULL;
    if (program_findings(a, what) > 0) return 0;
    OWNED char *hint = near != NULL ? cli_text("Name the node %s.", near)
        : node == NULL ? cli_text("%s", cli_hint(err))
        : cli_text("Name a node as the .json file does; --explain_plan without --pin lists them.");
    fail(a->t, NULL, hint, "%s", cli_told(err));
    choices(a);
    return 0;
}

/* Say which encodings of a file were not used, since passes have folded their tensors. */
static void program_say_folded(const aten *a, const qnnrt_lower_info *info)
{
    enum { SHOWN = 8 };
    if (info->folded_count == 0) return;
    say(a->t,
        "note      %lu encoding%s not used: passes have folded or fused the tensors, or another"
        " library has them%s:\n",
        (unsigned long)info->folded_count, info->folded_count == 1 ? " is" : "s are",
        info->folded_count > SHOWN ? " (--report lists all)" : "");
    for (size_t i = 0; i < info->folded_count && i < SHOWN; ++i) {
        OWNED char *name = cli_shown(info->folded[i]);
        say(a->t, "            %s\n", name);
    }
}

/* Say which operators of quantized graphs compute in floats, and why. */
static void program_say_floats(const aten *a, const qnnrt_lower_graph_info *info)
{
    enum { SHOWN = 8 };
    size_t count = 0;
    for (size_t i = 0; i < info->op_count; ++i)
        count += info->ops[i].used && info->ops[i].in_float != NULL;
    if (count == 0) return;
    say(a->t, "note      graph \"%s\": %lu operator%s in floats:\n", info->name,
        (unsigned long)count, count == 1 ? " computes" : "s compute");
    for (size_t i = 0, shown = 0; i < info->op_count && shown < SHOWN; ++i) {
        if (!info->ops[i].used || info->ops[i].in_float == NULL) continue;
        say(a->t, "            %s: %s\n", info->ops[i].name, info->ops[i].in_float);
        ++shown;
    }
    if (count > SHOWN) say(a->t, "            and %lu more\n", (unsigned long)(count - SHOWN));
}

/* Say what the graphs of the only library became. */
static void program_say(const aten *a)
{
    program_say_folded(a, program_step_of(a, 0, 0).info);
    for (size_t i = 0; i < a->graph_count; ++i) {
        const qnnrt_lower_graph_info *info = program_step_of(a, i, 0).graph;
        OWNED char *bytes = cli_grouped(info->static_bytes);
        say(a->t, "lowered   graph \"%s\": %lu nodes, %lu after the passes, %lu operators, %s bytes"
                  " of weights\n", info->name, (unsigned long)a->graphs[i].node_count,
            (unsigned long)info->ir->node_count, (unsigned long)info->used_ops, bytes);
        program_say_floats(a, info);
        for (size_t k = 0; k < info->ir->input_count; ++k)
            if (info->inputs[k] <= 0)
                say(a->t, "note      nothing reads input \"%s\" of graph \"%s\": it is left"
                          " out\n", info->ir->inputs[k]->name, info->name);
    }
}

/* Make the program. Return 0 after printing all that is wrong. */
static int program_make(aten *a)
{
    tool *t = a->t;
    const qnnrt_backend_info *first = qnnrt_backend_get_info(t->backend);
    qnnrt_error err;
    int good = 1;
    progress_begin(&a->shown, &t->set);
    for (size_t i = 0; i < a->target.backend_count; ++i) {
        a->target.backends[i].builder.progress = progress_build;
        a->target.backends[i].builder.progress_user = &a->shown;
    }
    qnnrt_compile_desc desc = program_desc(a);
    desc.lower.passed = program_passed;
    desc.lower.passed_user = a;
    if (desc.lower.updateable != NULL && qnnrt_lower_target_of(first) != QNNRT_LOWER_REF) {
        fail(t, NULL, "Compile with libQnnRef.so, or merge the adapter into the checkpoint.",
             "--lora needs tensors that can be updated, and %s takes none", first->path);
        return 0;
    }
    if (qnnrt_compile_create(&desc, &a->program, &err) != QNNRT_OK) {
        fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        return 0;
    }
    for (size_t i = 0; i < a->weights_count; ++i) aten_surplus(a, i);
    for (size_t i = 0; i < a->graph_count; ++i) {
        aten_graph *g = a->now = &a->graphs[i];
        const qnnrt_result result = program_add(a, a->program, i, g->ir, &err);
        if (result == QNNRT_OK) continue;
        if (result == QNNRT_E_NOT_FOUND || result == QNNRT_E_MISMATCH) aten_missing(a, g, &err);
        else fail(t, NULL, cli_hint(&err), "%s: %s", g->file, cli_told(&err));
        good = 0;
    }
    return good;
}

int program_lower(aten *a)
{
    qnnrt_error err;
    uint64_t begin = cli_now_ns();
    int good = program_make(a);
    begin = aten_spent(a, ATEN_PASSES, begin);
    if (!good) return 0;
    if (qnnrt_compile_lower(a->program, &err) != QNNRT_OK)
        return program_failed(a, "there is no way to lower", &err);
    aten_spent(a, ATEN_LOWER, begin);
    if (!a->target.whole) return 1;
    if (!weight_only_kept(a->t, &a->weight_only)) return 0;
    program_say(a);
    return 1;
}

/* Say which values of a graph are float64 in PyTorch: no library has that. */
static void program_doubles(page *p, const qnnrt_lower_graph_info *info)
{
    const char *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < info->ir->node_count; ++i) {
        const qnnrt_ir_value *value = info->ir->nodes[i]->outputs[0];
        if (value->dtype == QNNRT_DTYPE_F64 && count++ == 0) first = value->name;
    }
    if (count == 0) return;
    page_add(p, "note      graph \"%s\": \"%s\"", info->name, first);
    if (count > 1) page_add(p, " and %lu more", (unsigned long)count - 1);
    page_add(p, "%s float64 in PyTorch, and computed with fewer digits and a smaller range here\n",
             count > 1 ? " are" : " is");
}

/* Return true if an index leads to entries of a table, or of other floats. depth: integers between
   them. */
static int program_leads(const qnnrt_ir *ir, const qnnrt_ir_value *index, int depth)
{
    for (size_t i = 0; i < ir->node_count && depth > 0; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        for (size_t k = 0; k < node->input_count; ++k)
            if (node->inputs[k] == index &&
                (qnnrt_ir_dtype_kind(node->outputs[0]->dtype) == 2
                     ? k > 0 && qnnrt_ir_dtype_kind(node->inputs[0]->dtype) == 2
                     : program_leads(ir, node->outputs[0], depth - 1)))
                return 1;
    }
    return 0;
}

/* Say which nodes of a step choose entries by numbers of float16, and how float32 chooses. */
static void program_choices(const aten *a, page *p, size_t graph, const program_step *step)
{
    enum { STEPS = 4 };
    const qnnrt_compile_graph *whole = &qnnrt_compile_get_info(a->program)->graphs[graph];
    const compile_target *m = &a->target;
    size_t other = 0;
    if (!target_is_half(a, step->step->backend)) return;
    while (other < m->backend_count && !m->whole && m->backends[other].backend != NULL &&
           target_is_half(a, other))
        ++other;
    for (size_t i = 0; i < whole->ir->node_count; ++i) {
        const qnnrt_ir_node *node = whole->ir->nodes[i];
        size_t k = 0;
        if ((!qnnrt_ir_is(node, "argmin.default") && !qnnrt_ir_is(node, "argmax.default")) ||
            qnnrt_ir_dtype_kind(node->inputs[0]->dtype) != 2 ||
            !program_leads(whole->ir, node->outputs[0], STEPS))
            continue;
        while (k < step->step->ir->node_count &&
               strcmp(step->step->ir->nodes[k]->name, node->name) != 0)
            ++k;
        if (k == step->step->ir->node_count) continue;
        page_add(p, "note      graph \"%s\": \"%s\" chooses entries by numbers of float16: where"
                 " two are nearly equal, PyTorch may choose the other one\n", whole->name,
                 node->name);
        if (!m->whole && other < m->backend_count)
            page_add(p, "          --pin_inputs %s=%s computes them in float32\n", node->name,
                     m->backends[other].role);
    }
}

/* Say what differs from PyTorch: numbers in place of NaN, and of float64, and choices by float16;
   in --report, too. */
static void program_say_other(aten *a)
{
    page p = {NULL, 0, 0};
    for (size_t i = 0; i < a->graph_count; ++i)
        for (size_t k = 0; k < program_steps(a, i); ++k) {
            const program_step step = program_step_of(a, i, k);
            const qnnrt_lower_graph_info *info = step.graph;
            if (info == NULL) continue;
            program_doubles(&p, info);
            program_choices(a, &p, i, &step);
            if (info->no_nan == NULL) continue;
            page_add(&p, "note      graph \"%s\": where a mask of -infinity leaves nothing of a"
                     " row, \"%s\"", info->name, info->no_nan->name);
            if (info->no_nan_count > 1)
                page_add(&p, " and %lu more", (unsigned long)info->no_nan_count - 1);
            page_add(&p, " give%s NaN in PyTorch, and numbers here\n",
                     cli_plural(info->no_nan_count > 1 ? 1 : 2));
        }
    if (p.data == NULL) return;
    say(a->t, "%s", p.data);
    page_text(&a->verified, "\n");
    page_text(&a->verified, p.data);
    free(p.data);
}

/* Say what float16 changed, and which weights were quantized. */
static void program_loss(const aten *a)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(a->program);
    if (info->flushed > 0)
        say(a->t, "note      %llu values of weights are 0 in float16\n",
            (unsigned long long)info->flushed);
    if (info->clamped > 0)
        say(a->t, "note      %llu values of constants are too large for float16 and became its"
                  " largest number\n", (unsigned long long)info->clamped);
    if (info->weight_only != NULL)
        weight_only_say(a->t, info->weight_only[0].list, info->weight_only[0].count, "");
}

int program_build(aten *a)
{
    const uint64_t begin = cli_now_ns();
    qnnrt_error err;
    const qnnrt_result result = qnnrt_compile_build(a->program, &err);
    cli_busy_end();
    aten_spent(a, ATEN_BUILD, begin);
    if (result != QNNRT_OK)
        return program_failed(a, "the library refuses operators of", &err);
    if (a->target.whole) program_loss(a);
    else choices(a);
    program_say_other(a);
    return a->target.whole || weight_only_kept(a->t, &a->weight_only);
}

void aten_free(aten *a)
{
    qnnrt_compile_free(a->program);
    target_free(&a->target);
    op_map_free(&a->map);
    free((void *)(uintptr_t)a->custom);
    for (size_t i = 0; i < a->graph_count; ++i) {
        qnnrt_ir_free(a->graphs[i].ir);
        qnnrt_ir_free(a->graphs[i].read);
        qnnrt_onnx_free(a->graphs[i].onnx);      /* that they borrow weights of */
        free(a->graphs[i].default_name);
        free(a->graphs[i].own_file);
    }
    for (size_t i = 0; i < a->weights_count; ++i) qnnrt_weights_close(a->weights[i]);
    weight_only_free(&a->weight_only);
    for (size_t i = 0; i < a->encoding_count; ++i) {
        free((char *)(uintptr_t)a->encodings[i].name);
        free((float *)(uintptr_t)a->encodings[i].scales);
    }
    free(a->encodings);
    free(a->verified.data);
    free(a->weights);
    free(a->onnx_seen);
    free(a->graphs);
    free(a->kv);
}
