/* lower.c - graphs in ATen operators become graphs of QNN

   ROOM     >>aten_lower */
#include "run/compile/aten.h"

#include "cli/stages.h"

/* =====================================================================================
   LOWER                                                                    >>aten_lower
   The graphs that were read: passes, quantization, operators of QNN, and a builder.
   ===================================================================================== */

qnnrt_builder_desc compile_builder(const tool *t)
{
    qnnrt_builder_desc desc = {0};
    desc.soc_model = t->set.soc_model;
    desc.dsp_arch = t->set.compile->graph.arch;
    desc.system_path = t->set.system;
    return desc;
}

/* Return 1 for the tensors of adapters: they belong to the graph. */
static int aten_is_adapter(void *user, const char *name)
{
    const char *dot = strstr(name, ".lora_");
    (void)user;
    return dot != NULL && strcmp(dot + 7, ".weight") == 0;
}

qnnrt_lower_desc aten_desc(aten *a)
{
    const compile_settings *c = a->t->set.compile;
    const qnnrt_backend_info *backend = qnnrt_backend_get_info(a->t->backend);
    qnnrt_lower_desc desc = {0};
    desc.target = qnnrt_lower_target_of(backend);
    desc.build_id = backend->build_id;
    desc.compute = c->fp32 ? QNNRT_DTYPE_F32 : c->graph.fp16 ? QNNRT_DTYPE_F16 : (qnnrt_dtype)0;
    desc.native_io = c->io >= 0 ? c->io : a->decoder != NULL || c->kv_rows;
    desc.positions = c->rope_positions;
    desc.rope_base = c->rope_base;
    desc.contexts = a->decoder != NULL ? 0 : c->shards;
    desc.context.weight_sharing = c->graph.share;
    desc.graph.optimization_level = c->graph.level;
    desc.graph.vtcm_mib = c->graph.vtcm;
    desc.graph.hvx_threads = c->graph.hvx;
    desc.custom = a->map.rows;
    desc.custom_count = a->map.count;
    if (c->lora_rank != 0) desc.updateable = aten_is_adapter;
    weight_only_desc(&a->weight_only, a->t, &desc);
    if (quantizes(c)) desc.act_bits = c->act_bits != 0 ? c->act_bits : 16;
    desc.encodings = a->encodings;
    desc.encoding_count = a->encoding_count;
    return desc;
}

/* Note how many nodes a pass left. */
static void aten_passed(void *user, const char *pass, const qnnrt_ir *ir)
{
    aten *a = user;
    if (a->now->pass_count == ATEN_PASSES_MOST) return;
    a->now->passes[a->now->pass_count].name = pass;
    a->now->passes[a->now->pass_count++].nodes = ir->node_count;
}

int aten_quantize(aten *a, qnnrt_lower *lower)
{
    qnnrt_builder_desc desc = compile_builder(a->t);
    qnnrt_builder *scratch = NULL;
    qnnrt_error err;
    qnnrt_result result = qnnrt_builder_create(a->t->backend, &desc, &scratch, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_quantize(lower, scratch, &err);
    qnnrt_builder_destroy(scratch);
    if (result == QNNRT_OK) return 1;
    fail(a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
    return 0;
}

/* Say which encodings of a file were not used, since passes have folded their tensors. */
static void aten_say_folded(const aten *a)
{
    enum { SHOWN = 8 };
    const qnnrt_lower_info *info = qnnrt_lower_get_info(a->lower);
    if (info->folded_count == 0) return;
    say(a->t,
        "note      %lu encoding%s not used: passes have folded or fused the tensors, or another"
        " library has them%s:\n",
        (unsigned long)info->folded_count, info->folded_count == 1 ? " is" : "s are",
        info->folded_count > SHOWN ? " (--report lists all)" : "");
    for (size_t i = 0; i < info->folded_count && i < SHOWN; ++i) {
        char *name = cli_shown(info->folded[i]);
        say(a->t, "            %s\n", name);
        free(name);
    }
}

/* Say which operators of quantized graphs compute in floats, and why. */
static void aten_say_floats(const aten *a, const qnnrt_lower_graph_info *info)
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

int aten_lower(aten *a)
{
    qnnrt_lower_desc desc = aten_desc(a);
    qnnrt_error err;
    uint64_t begin = cli_now_ns();
    int good = 1;
    desc.passed = aten_passed;
    desc.passed_user = a;
    if (desc.updateable != NULL && desc.target != QNNRT_LOWER_REF) {
        fail(a->t, NULL, "Compile with libQnnRef.so, or merge the adapter into the checkpoint.",
             "--lora needs tensors that can be updated, and %s takes none",
             qnnrt_backend_get_info(a->t->backend)->path);
        return 0;
    }
    if (qnnrt_lower_create(&desc, &a->lower, &err) != QNNRT_OK) {
        fail(a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
        return 0;
    }
    for (size_t i = 0; i < a->weights_count; ++i) aten_surplus(a, i);
    for (size_t i = 0; i < a->graph_count; ++i) {
        aten_graph *g = &a->graphs[i];
        if (qnnrt_lower_weights(a->lower, g->ir, g->weights, &err) == QNNRT_OK) continue;
        aten_missing(a, g, &err);
        good = 0;
    }
    begin = aten_spent(a, ATEN_WEIGHTS, begin);
    for (size_t i = 0; i < a->graph_count && good; ++i) {
        aten_graph *g = a->now = &a->graphs[i];
        if (qnnrt_lower_passes(a->lower, g->ir, &err) == QNNRT_OK) continue;
        fail(a->t, NULL, cli_hint(&err), "%s: %s", g->file, cli_told(&err));
        good = 0;
    }
    begin = aten_spent(a, ATEN_PASSES, begin);
    for (size_t i = 0; i < a->graph_count && good; ++i) {
        if (a->decoder != NULL) qnnrt_lower_place(a->lower, a->graphs[i].context, NULL);
        const qnnrt_result result = qnnrt_lower_graph(a->lower, a->graphs[i].ir, a->graphs[i].name,
                                                      &err);
        if (result == QNNRT_OK || result == QNNRT_E_UNSUPPORTED) continue;
        fail(a->t, NULL, cli_hint(&err), "%s: %s", a->graphs[i].file, cli_told(&err));
        good = 0;
    }
    if (!good || aten_findings(a, 0, "there is no way to lower") != 0) return 0;
    if (!weight_only_kept(a->t, &a->weight_only)) return 0;
    if (desc.act_bits != 0 && !aten_quantize(a, a->lower)) return 0;
    aten_say_folded(a);
    aten_spent(a, ATEN_LOWER, begin);
    for (size_t i = 0; i < a->graph_count; ++i) {
        const qnnrt_lower_graph_info *info = &qnnrt_lower_get_info(a->lower)->graphs[i];
        char *bytes = cli_grouped(info->static_bytes);
        say(a->t, "lowered   graph \"%s\": %lu nodes, %lu after the passes, %lu operators, %s bytes"
                  " of weights\n", info->name, (unsigned long)a->graphs[i].node_count,
            (unsigned long)info->ir->node_count, (unsigned long)info->used_ops, bytes);
        free(bytes);
        aten_say_floats(a, info);
        for (size_t k = 0; k < info->ir->input_count; ++k)
            if (info->inputs[k] <= 0)
                say(a->t, "note      nothing reads input \"%s\" of graph \"%s\": it is left out\n",
                    info->ir->inputs[k]->name, info->name);
    }
    return 1;
}

int aten_emit(aten *a, qnnrt_builder *builder)
{
    const size_t first = qnnrt_lower_get_info(a->lower)->finding_count;
    const uint64_t begin = cli_now_ns();
    qnnrt_error err;
    const qnnrt_result result = qnnrt_lower_emit(a->lower, builder, &err);
    aten_spent(a, ATEN_ASK, begin);
    if (result == QNNRT_OK) return 1;
    if (aten_findings(a, first, "the library refuses operators of") == 0)
        fail(a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
    return 0;
}

void aten_loss(const aten *a)
{
    const qnnrt_lower_info *info = qnnrt_lower_get_info(a->lower);
    if (info->flushed > 0)
        say(a->t, "note      %llu values of weights are 0 in float16\n",
            (unsigned long long)info->flushed);
    if (info->clamped > 0)
        say(a->t, "note      %llu values of constants are too large for float16 and became its"
                  " largest number\n", (unsigned long long)info->clamped);
}

void aten_free(aten *a)
{
    qnnrt_lower_free(a->lower);
    op_map_free(&a->map);
    for (size_t i = 0; i < a->graph_count; ++i) {
        qnnrt_ir_free(a->graphs[i].ir);
        qnnrt_ir_free(a->graphs[i].read);
        free(a->graphs[i].default_name);
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
    free(a->graphs);
    free(a->kv);
}
