/* run_kv.h - a part of qnnrt-run.c: graphs of language models that update their caches

   ROOM     >>kv                                                                               */

/* =====================================================================================
   KEYS AND VALUES                                                                  >>kv
   --kv_rows: graphs read caches of past rows and return new ones, inputs and outputs get the names
   of Qualcomm's hub, and DIR/qnnrt.json says which tokens end a text.
   ===================================================================================== */

/* Rewrite a graph that was read. Masks of constants are folded before, so that they are seen. */
static qnnrt_result kv_graph(qnnrt_ir *ir, qnnrt_ir_kv_info *info, qnnrt_error *err)
{
    qnnrt_result result = qnnrt_ir_pass_noops(ir, err);
    if (result == QNNRT_OK) result = qnnrt_ir_fold(ir, 0, NULL, err);
    if (result == QNNRT_OK) result = qnnrt_ir_pass_noops(ir, err);
    return result == QNNRT_OK ? qnnrt_ir_pass_kv_rows(ir, 1, info, err) : result;
}

/* Rewrite one of the graphs; the first one says how many caches and columns all have. Return 0
   after printing an error. */
static int kv_rewrite(aten *a, aten_graph *g)
{
    qnnrt_ir_kv_info info;
    qnnrt_error err;
    if (!a->t->set.compile.kv_rows) return 1;
    if (kv_graph(g->ir, &info, &err) != QNNRT_OK) {
        fail(a->t, NULL, err.hint, "--kv_rows: %s: %s", g->file, err.text);
        return 0;
    }
    if (info.caches == 0) {
        fail(a->t, NULL, "Export a step that reads caches, and writes or returns new rows.",
             "--kv_rows: %s has no cache of keys and values", g->file);
        return 0;
    }
    if (a->kv.caches == 0) a->kv = info;
    if (info.caches != a->kv.caches || info.context != a->kv.context) {
        fail(a->t, NULL, "Export all graphs with the same layers and the same context.",
             "--kv_rows: %s has %lu caches and context %u, %s has %lu and %u", g->file,
             (unsigned long)info.caches, (unsigned)info.context, a->graphs[0].file,
             (unsigned long)a->kv.caches, (unsigned)a->kv.context);
        return 0;
    }
    say(a->t, "kv_rows   %s: %lu layers, %u tokens per call, reads %u past rows%s\n", g->file,
        (unsigned long)(info.caches / 2), (unsigned)info.ar, (unsigned)(info.context - info.ar),
        info.written ? "" : ", returned new rows already");
    return 1;
}

/* Read --eos: "0", or "1,2". */
static int take_eos(void *at, const cli_option *o, const char *value)
{
    compile_settings *set = &((settings *)at)->compile;
    const char *word = value;
    set->eos_count = 0;
    for (;;) {
        uint64_t token = 0;
        char *number = cli_text("%.*s", (int)strcspn(word, ","), word);
        const int good = set->eos_count < EOS_MOST && cli_number(number, INT32_MAX, &token);
        free(number);
        if (!good) return cli_wrong_value(o, value, "tokens, joined by commas");
        set->eos[set->eos_count++] = (int32_t)token;
        word += strcspn(word, ",");
        if (*word++ == '\0') return STATUS_OK;
    }
}
