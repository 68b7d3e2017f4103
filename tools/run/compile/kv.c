/* kv.c - graphs of language models that update their caches

   ROOM     >>kv */
#include "run/compile/aten.h"

/* =====================================================================================
   KEYS AND VALUES                                                                  >>kv
   --kv_rows: graphs read caches of past rows and return new ones, inputs and outputs get the names
   of Qualcomm's hub, and DIR/qnnrt.json says which tokens end a text.
   ===================================================================================== */

qnnrt_result kv_graph(qnnrt_ir *ir, qnnrt_ir_kv_info *info, qnnrt_error *err)
{
    qnnrt_result result = qnnrt_ir_pass_noops(ir, err);
    if (result == QNNRT_OK) result = qnnrt_ir_fold(ir, 0, NULL, err);
    if (result == QNNRT_OK) result = qnnrt_ir_pass_noops(ir, err);
    return result == QNNRT_OK ? qnnrt_ir_pass_kv_rows(ir, 1, info, err) : result;
}

int kv_rewrite(tool *t, const char *file, qnnrt_ir *ir, kv_facts *facts)
{
    qnnrt_ir_kv_info info, *all;
    qnnrt_error err;
    if (!t->set.compile->kv_rows) return 1;
    all = &facts->info;
    if (kv_graph(ir, &info, &err) != QNNRT_OK) {
        fail(t, NULL, cli_hint(&err), "--kv_rows: %s: %s", file, cli_told(&err));
        return 0;
    }
    if (info.caches == 0) {
        fail(t, NULL, "Export a step that reads caches, and that writes or returns their new rows.",
             "--kv_rows: %s has no caches of keys and values", file);
        return 0;
    }
    if (all->caches == 0) *all = info;
    if (info.caches != all->caches || info.context != all->context) {
        fail(t, NULL, "Export all graphs with the same layers and the same context.",
             "--kv_rows: %s has %lu caches and context %u, the graph before it has %lu and %u",
             file, (unsigned long)info.caches, (unsigned)info.context, (unsigned long)all->caches,
             (unsigned)all->context);
        return 0;
    }
    say(t, "kv_rows   %s: %lu layer%s, %u token%s per call, %u past row%s%s\n", file,
        (unsigned long)(info.caches / 2), cli_plural(info.caches / 2), (unsigned)info.ar,
        cli_plural(info.ar), (unsigned)(info.context - info.ar),
        cli_plural(info.context - info.ar), info.written ? "" : "; returned new rows already");
    return 1;
}

int kv_ends(tool *t, const char *graph, kv_facts *facts)
{
    enum { MOST = 1 << 24 };
    const compile_settings *c = t->set.compile;
    const char *slash = strrchr(graph, '/');
    qnnrt_llm_graph *model = &facts->tokens;
    qnnrt_error err;
    size_t bytes = 0;
    model->bos = -1;
    if (!c->kv_rows) return 1;
    const int folder = slash != NULL ? (int)(slash + 1 - graph) : 0;
    OWNED char *path = cli_text("%.*sconfig.json", folder, graph);
    OWNED char *text = cli_read_file(path, MOST, &bytes);
    int good = text != NULL || errno == ENOENT;
    if (!good) fail(t, NULL, NULL, "cannot read %s: %s", path, strerror(errno));
    model->vocabulary = UINT32_MAX;              /* tokens are checked by who reads them */
    if (text != NULL && qnnrt_llm_graph_read_generation(text, bytes, model, &err) != QNNRT_OK) {
        fail(t, NULL, cli_hint(&err), "%s: %s", path, cli_told(&err));
        good = 0;
    }
    if (c->eos_count > 0) {
        model->eos_count = (uint32_t)c->eos_count;
        memcpy(model->eos, c->eos, c->eos_count * sizeof(*c->eos));
    }
    return good;
}

void kv_settings(void *user, json *j)
{
    const qnnrt_llm_graph *model = &((const kv_facts *)user)->tokens;
    int ends = 0;
    for (uint32_t i = 0; i < model->eos_count; ++i) ends |= model->eos[i] == model->bos;
    qnnrt_json_write_key(j, "llm");
    qnnrt_json_write_object(j, 1);
    if (model->bos >= 0 && !ends) {
        qnnrt_json_write_key(j, "bos");
        qnnrt_json_write_i64(j, model->bos);
    }
    if (model->eos_count > 0) {
        qnnrt_json_write_key(j, "eos");
        qnnrt_json_write_array(j, 1);
        for (uint32_t i = 0; i < model->eos_count; ++i) qnnrt_json_write_i64(j, model->eos[i]);
        qnnrt_json_write_close(j);
    }
    qnnrt_json_write_close(j);
}
