/* run_aten.h - a part of qnnrt-run.c: compile graphs in ATen operators, with their weights

   ROOM     >>aten                                                                             */

/* =====================================================================================
   ATEN                                                                           >>aten
   Graphs as torch.export gives them: read, check, find their weights, lower, add to a builder.
   Each step looks at all graphs and prints all that is wrong, before the next one begins.
   ===================================================================================== */

enum { ATEN_TEXT_BYTES = 1 << 30 };    /* most bytes of a file */

/* What compile spends its time with. */
enum { ATEN_READ, ATEN_WEIGHTS, ATEN_PASSES, ATEN_LOWER, ATEN_ASK, ATEN_BUILD, ATEN_SAVE,
       ATEN_VERIFY, ATEN_PHASES };

enum { ATEN_PASSES_MOST = 64 };

typedef struct aten_pass {
    const char *name;
    size_t      nodes;                 /* after it                                      */
} aten_pass;

typedef struct aten_graph {
    const char    *file;
    const char    *name;               /* in the binary                                 */
    char          *default_name;       /* of the file, or NULL                          */
    uint32_t       context;            /* that it belongs to, of a decoder              */
    char          *text;               /* of the file, or made                          */
    size_t         bytes;
    qnnrt_ir      *ir;
    qnnrt_weights *weights;            /* one of aten.weights, or NULL                  */
    size_t         node_count;         /* as read                                       */
    aten_pass      passes[ATEN_PASSES_MOST];     /* [pass_count] that ran                 */
    size_t         pass_count;
} aten_graph;

typedef struct aten {
    tool           *t;
    aten_graph     *graphs;
    size_t          graph_count;
    qnnrt_weights **weights;           /* [weights_count], in the order of --weights    */
    size_t          weights_count;
    qnnrt_lower    *lower;
    aten_graph     *now;               /* that passes work on                           */
    small_options   small;
    struct decoder *decoder;           /* that the graphs are made of, NULL: of files   */
    kv_facts       *kv;                /* with --kv_rows                                */
    qnnrt_lower_encoding *encodings;   /* [encoding_count] of activations               */
    size_t          encoding_count, encoding_room;
    size_t          encoding_biases;   /* of them                                       */
    uint64_t        ns[ATEN_PHASES];
    op_map          map;               /* of --op_map                                   */
    page            verified;          /* what --verify has printed, for --report       */
} aten;

#define COMPILE_SOURCES ".dlc containers, .json graphs of PyTorch, the folder of a language" \
    " model, or a .gguf file"

/* Return true if a file is a graph in ATen operators, by its name. */
static int aten_is_graph(const char *path)
{
    const size_t length = strlen(path);
    return length >= 5 && strcasecmp(path + length - 5, ".json") == 0;
}

/* Report an option for .json graphs that was given with another file. Return STATUS_USAGE. */
static int aten_not_a_graph(const char *path, const char *option)
{
    const size_t length = strlen(path);
    const int dlc = length >= 4 && strcasecmp(path + length - 4, ".dlc") == 0;
    return cli_usage(dlc ? "Leave it out."
                         : "Export the model to a .json file with pytorch-ir, and name that file.",
                     "%s is for .json graphs, and %s is not one", option, path);
}

/* Check that a file is none of those that compile cannot read, by what it carries or by its name:
   others are containers, whatever they are called. Returns STATUS_OK, or STATUS_USAGE after a
   message. */
static int aten_foreign(const char *path)
{
    static const char *const tails[] = {".safetensors", ".onnx", ".tflite", ".pt", ".pth", ".pt2"};
    const size_t length = strlen(path);
    if (carries_contexts(path))
        return cli_usage("Take them out with qnnrt-run extract FILE --output_dir DIR and run them.",
                         "%s carries context binaries, which are compiled already", path);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); ++i) {
        const size_t bytes = strlen(tails[i]);
        if (length <= bytes || strcasecmp(path + length - bytes, tails[i]) != 0) continue;
        if (i == 0)
            return cli_usage("Name a .json graph and --weights, or the folder of a language model.",
                             "compile needs a graph, and %s has weights alone", path);
        return cli_usage("Export the model to a .json file with pytorch-ir, and name that file.",
                         "compile takes " COMPILE_SOURCES ", and %s is none of them", path);
    }
    return STATUS_OK;
}

/* Check options that depend on each other. graphs: how many there are, 0: containers. Returns
   STATUS_OK, or STATUS_USAGE after a message. */
static int aten_agree(const settings *set, size_t graphs)
{
    const compile_settings *c = &set->compile;
    if (c->eos_count > 0 && !c->kv_rows)
        return cli_usage("Add --kv_rows.", "--eos is for language models, compiled with --kv_rows");
    if (c->fp16 && c->fp32)
        return cli_usage("Choose one.", "--fp16 and --fp32 exclude each other");
    if (graphs > 0 && c->weights.count > 1 && c->weights.count != graphs)
        return cli_usage("Name --weights once for all graphs, or once for each.",
                         "%lu graph%s and %lu --weights", (unsigned long)graphs, cli_plural(graphs),
                         (unsigned long)c->weights.count);
    if (c->calibrate.count > 1 && c->calibrate.count != graphs)
        return cli_usage("Name --calibrate once for all graphs, or once for each.",
                         "%lu graph%s and %lu --calibrate", (unsigned long)graphs,
                         cli_plural(graphs), (unsigned long)c->calibrate.count);
    if (c->calibrate_so != NULL && c->calibrate.count == 0)
        return cli_usage("Name a list of samples with --calibrate LIST.",
                         "--calibrate_so needs samples");
    if (codes_wanted(c) && c->kv_rows)
        return cli_usage("Choose one.", "%s and --kv_rows exclude each other",
                         c->calibrate.count > 0 ? "--calibrate" : "--encodings");
    if ((c->act_bits != 0 || c->write_encodings != NULL) && !codes_wanted(c))
        return cli_usage("Name a list of samples with --calibrate LIST.", "%s needs ranges",
                         c->act_bits != 0 ? "--activation_bits" : "--write_encodings");
    if (c->write_encodings != NULL && graphs != 1)
        return cli_usage("Compile the graphs one after the other.",
                         "--write_encodings is for one graph");
    return small_check(c);
}

/* Check which options go with the kind of the files. Returns STATUS_OK, or STATUS_USAGE after a
   message. */
static int aten_check(const settings *set)
{
    const compile_settings *c = &set->compile;
    size_t graphs = 0;
    for (size_t i = 0; i < set->files.count; ++i) {
        if (aten_foreign(set->files.items[i]) != STATUS_OK) return STATUS_USAGE;
        graphs += aten_is_graph(set->files.items[i]) != 0;
    }
    if (graphs > 0 && graphs < set->files.count)
        return cli_usage("Compile them one after the other.",
                         "compile takes .dlc containers or .json graphs, not both at once");
    const char *given = c->weights.count > 0   ? "--weights"
                        : c->io >= 0           ? "--io"
                        : c->fp32              ? "--fp32"
                        : c->contexts != 0     ? "--contexts"
                        : c->op_map != NULL    ? "--op_map"
                        : c->report != NULL    ? "--report"
                        : set->svg != NULL     ? "--svg"
                        : set->dot != NULL     ? "--dot"
                        : c->verify != 0       ? "--verify"
                        : c->verify_nodes != 0 ? "--verify_nodes"
                        : c->tolerance > 0     ? "--verify_tolerance"
                        : c->positions != 0    ? "--positions"
                        : c->rope_base > 0     ? "--rope_base"
                        : c->weight_bits != 0  ? "--weight_bits"
                        : c->kv_rows           ? "--kv_rows"
                        : c->calibrate.count > 0 ? "--calibrate"
                        : c->encodings != NULL ? "--encodings"
                        : c->write_encodings != NULL ? "--write_encodings"
                        : c->act_bits != 0     ? "--activation_bits"
                                               : NULL;
    if (graphs == 0 && given != NULL)
        return aten_not_a_graph(set->files.items[0], given);
    return aten_agree(set, graphs);
}

/* Return true if something is asked for that shows how graphs are lowered. */
static int aten_wants_lowering(const settings *set)
{
    return set->compile.report != NULL || set->compile.write_encodings != NULL ||
           set->svg != NULL || set->dot != NULL || set->compile.verify != 0 ||
           set->compile.verify_nodes != 0;
}

/* Name the graphs: as asked, or after their files. Returns STATUS_OK, or STATUS_USAGE after a
   message. */
static int aten_name(aten *a, const char *const *asked)
{
    for (size_t i = 0; i < a->graph_count; ++i) {
        aten_graph *g = &a->graphs[i];
        const char *slash = strrchr(g->file, '/'), *base = slash != NULL ? slash + 1 : g->file;
        g->default_name = cli_text("%.*s", (int)(strlen(base) - 5), base);
        g->name = asked[i] != NULL ? asked[i] : g->default_name;
        for (size_t k = 0; k < i; ++k)
            if (strcmp(a->graphs[k].name, g->name) == 0)
                return cli_usage("Name the graphs with --graph_name N1,N2.",
                                 "two graphs are named \"%s\"", g->name);
    }
    return STATUS_OK;
}

/* Add the time since `begin` to a phase, and return the time now. */
static uint64_t aten_spent(aten *a, int phase, uint64_t begin)
{
    const uint64_t now = cli_now_ns();
    if (a != NULL) a->ns[phase] += now - begin;
    return now;
}

/* Read and check one graph. Return 0 after printing all that is wrong. */
static int aten_read_graph(aten *a, aten_graph *g)
{
    const qnnrt_ir_finding *list = NULL;
    qnnrt_ir_desc desc = {0};
    size_t count = 0;
    qnnrt_error err;
    page p = {NULL, 0, 0};
    if (g->text == NULL) g->text = cli_read_file(g->file, ATEN_TEXT_BYTES, &g->bytes);
    if (g->text == NULL) {
        fail(a->t, NULL, "Name the .json file that pytorch-ir wrote.", "cannot read %s: %s",
             g->file, strerror(errno));
        return 0;
    }
    desc.custom = a->map.names;
    desc.custom_count = a->map.count;
    if (qnnrt_ir_read(g->text, g->bytes, &desc, &g->ir, &err) != QNNRT_OK) {
        const char *slash = strrchr(g->file, '/');
        const int config = strcmp(slash != NULL ? slash + 1 : g->file, "config.json") == 0;
        fail(a->t, NULL,
             config ? "Name the folder of the language model, not this file." : cli_hint(&err),
             "%s: %s", g->file, cli_told(&err));
        return 0;
    }
    g->node_count = g->ir->node_count;
    if (qnnrt_ir_check(g->ir, &list, &count, &err) == QNNRT_OK)
        return kv_rewrite(a->t, g->file, g->ir, a->kv);
    if (count == 0) {                            /* the check itself failed */
        fail(a->t, NULL, cli_hint(&err), "%s: %s", g->file, cli_told(&err));
        return 0;
    }
    int unsupported = 1;
    for (size_t i = 0; i < count; ++i) {
        page_add(&p, "\n  %s", list[i].text);
        unsupported = unsupported && list[i].code == QNNRT_E_UNSUPPORTED;
    }
    fail(a->t, NULL,
         unsupported ? "Change these parts of the model, and export it again."
                     : "Export the model again, or correct the file.",
         "%s has %lu fault%s:%s", g->file, (unsigned long)count, cli_plural(count), p.data);
    free(p.data);
    return 0;
}

/* Read the graphs and open the weights. Return 0 after printing all that is wrong. */
static int aten_read(aten *a)
{
    const cli_list *paths = &a->t->set.compile.weights;
    uint64_t begin = cli_now_ns();
    int good = 1;
    a->kv = cli_alloc(1, sizeof(*a->kv));
    for (size_t i = 0; i < a->graph_count; ++i) good &= aten_read_graph(a, &a->graphs[i]);
    good = good && kv_ends(a->t, a->graphs[0].file, a->kv);
    begin = aten_spent(a, ATEN_READ, begin);
    a->weights = cli_alloc(paths->count, sizeof(*a->weights));
    a->weights_count = paths->count;
    for (size_t i = 0; i < paths->count; ++i) {
        qnnrt_error err;
        if (qnnrt_weights_open(paths->items[i], NULL, &a->weights[i], &err) == QNNRT_OK) continue;
        fail(a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
        good = 0;
    }
    for (size_t i = 0; i < a->graph_count && paths->count > 0; ++i)
        a->graphs[i].weights = a->weights[paths->count == 1 ? 0 : i];
    aten_spent(a, ATEN_WEIGHTS, begin);
    return good;
}

/* Return for each weight of a file whether a graph reads it. The caller frees the list. */
static char *aten_read_weights(const aten *a, size_t number)
{
    const qnnrt_weights_info *info = qnnrt_weights_get_info(a->weights[number]);
    char *read = cli_alloc(info->count, 1);
    for (size_t i = 0; i < a->graph_count; ++i) {
        const aten_graph *g = &a->graphs[i];
        for (size_t k = 0; k < g->ir->value_count && g->weights == a->weights[number]; ++k) {
            const qnnrt_ir_value *value = g->ir->values[k];
            const qnnrt_weight *weight = value->key == NULL || value->users == 0 ? NULL
                                         : qnnrt_weights_match(g->weights, value->key);
            if (weight != NULL) read[weight - info->weights] = 1;
        }
    }
    return read;
}

/* Say which weights of a file no graph reads. */
static void aten_surplus(const aten *a, size_t number)
{
    enum { SHOWN = 5 };
    const qnnrt_weights_info *info = qnnrt_weights_get_info(a->weights[number]);
    char *read = aten_read_weights(a, number);
    page p = {NULL, 0, 0};
    size_t surplus = 0;
    for (size_t i = 0; i < info->count; ++i) {
        if (read[i]) continue;
        if (surplus++ >= SHOWN) continue;
        page_add(&p, "%s%s", surplus > 1 ? ", " : "", info->weights[i].name);
    }
    if (surplus > 0)
        say(a->t, "note      no graph reads %lu of the %lu weights in %s: %s%s\n",
            (unsigned long)surplus, (unsigned long)info->count,
            a->t->set.compile.weights.items[number], p.data, surplus > SHOWN ? ", ..." : "");
    free(p.data);
    free(read);
}

/* Return the node nearest to a name, or NULL: one that is there, or that was fused into another. */
static const char *aten_nearest(const aten *a, const char *name, size_t bytes)
{
    cli_near near = {name, bytes, NULL, 0};
    for (size_t g = 0; g < a->graph_count; ++g) {
        const qnnrt_ir *ir = a->graphs[g].ir;
        for (size_t i = 0; i < ir->node_count; ++i) cli_near_try(&near, ir->nodes[i]->name);
        for (size_t i = 0; i < ir->removed_count; ++i)
            if (strncmp(ir->removed[i]->fate, "fused into ", 11) == 0)
                cli_near_try(&near, ir->removed[i]->name);
    }
    return near.best;
}

/* Print all weights that are missing or have another shape, after qnnrt_lower_weights() failed. */
static void aten_missing(const aten *a, const aten_graph *g, const qnnrt_error *err)
{
    page p = {NULL, 0, 0};
    size_t count = 0, computable = 0;
    for (size_t i = 0; i < g->ir->value_count; ++i) {
        const qnnrt_ir_value *value = g->ir->values[i];
        if (value->origin != QNNRT_IR_WEIGHT || value->users == 0 || value->count == 0 ||
            value->data != NULL || qnnrt_lower_weight_of(value) != NULL) continue;
        const qnnrt_weight *weight = g->weights != NULL
                                     ? qnnrt_weights_match(g->weights, value->key) : NULL;
        count += 1;
        computable += weight == NULL && strstr(value->key, "inv_freq") != NULL;
        page_add(&p, "\n  \"%s\" ", value->key);
        page_dims(&p, value->rank, value->dims);
        if (weight == NULL) {
            page_text(&p, " is missing");
            continue;
        }
        int64_t dims[QNNRT_WEIGHTS_RANK];
        for (uint32_t k = 0; k < weight->rank; ++k) dims[k] = (int64_t)weight->dims[k];
        page_text(&p, " is ");
        page_dims(&p, weight->rank, dims);
        page_add(&p, " in %s", weight->file);
    }
    const char *hint = g->weights == NULL ? "Name the checkpoint with --weights PATH."
                       : count == computable
                         ? "Add --rope_base X, where X is rope_theta in the model's config.json."
                         : err->hint;
    if (count == 0) fail(a->t, NULL, cli_hint(err), "%s: %s", g->file, cli_told(err));
    else
        fail(a->t, NULL, hint, "%s: %lu weight%s another shape:%s", g->file, (unsigned long)count,
             count == 1 ? " is missing or has" : "s are missing or have", p.data);
    free(p.data);
}

/* Print the findings of lowering from number `first` on, and return their number. */
static size_t aten_findings(const aten *a, size_t first, const char *what)
{
    const qnnrt_lower_info *info = qnnrt_lower_get_info(a->lower);
    const size_t count = info->finding_count - first;
    page p = {NULL, 0, 0};
    if (count == 0) return 0;
    for (size_t i = first; i < info->finding_count; ++i) {
        page_add(&p, "\n  %s", info->findings[i].text);
        if (info->findings[i].hint != NULL && info->findings[i].hint[0] != '\0')
            page_add(&p, "\n    %s", info->findings[i].hint);
    }
    fail(a->t, NULL, NULL, "%s %lu node%s:%s", what, (unsigned long)count, cli_plural(count),
         p.data);
    free(p.data);
    return count;
}

/* Return for which chip binaries are compiled. */
static qnnrt_builder_desc compile_builder(const tool *t)
{
    qnnrt_builder_desc desc = {0};
    desc.soc_model = t->set.soc_model;
    desc.dsp_arch = t->set.compile.arch;
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

/* Return how graphs are lowered for the opened backend. */
static qnnrt_lower_desc aten_desc(aten *a)
{
    const compile_settings *c = &a->t->set.compile;
    const qnnrt_backend_info *backend = qnnrt_backend_get_info(a->t->backend);
    qnnrt_lower_desc desc = {0};
    desc.target = qnnrt_lower_target_of(backend);
    desc.build_id = backend->build_id;
    desc.compute = c->fp32 ? QNNRT_DTYPE_F32 : c->fp16 ? QNNRT_DTYPE_F16 : (qnnrt_dtype)0;
    desc.native_io = c->io >= 0 ? c->io : a->decoder != NULL || c->kv_rows;
    desc.positions = c->positions;
    desc.rope_base = c->rope_base;
    desc.contexts = c->contexts;
    desc.context.weight_sharing = c->share;
    desc.graph.optimization_level = c->level;
    desc.graph.vtcm_mib = c->vtcm;
    desc.graph.hvx_threads = c->hvx;
    desc.custom = a->map.rows;
    desc.custom_count = a->map.count;
    if (c->lora_rank != 0) desc.updateable = aten_is_adapter;
    small_desc(&a->small, a->t, &desc);
    if (codes_wanted(c)) desc.act_bits = c->act_bits != 0 ? c->act_bits : 16;
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

/* Make activations codes, if that is wanted, and say what stays float. Return 0 after printing an
   error. */
static int aten_quantize(aten *a, qnnrt_lower *lower)
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

/* Lower all graphs for an opened backend. Return 0 after printing all that is wrong. */
static int aten_lower(aten *a)
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
    if (!small_kept(a->t, &a->small)) return 0;
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

/* Add the lowered graphs to a builder. Return 0 after printing all that is wrong. */
static int aten_emit(aten *a, qnnrt_builder *builder)
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

/* Say what float16 changed, after the weights were read. */
static void aten_loss(const aten *a)
{
    const qnnrt_lower_info *info = qnnrt_lower_get_info(a->lower);
    if (info->flushed > 0)
        say(a->t, "note      %llu values of weights are 0 in float16\n",
            (unsigned long long)info->flushed);
    if (info->clamped > 0)
        say(a->t, "note      %llu values of constants are too large for float16 and became its"
                  " largest number\n", (unsigned long long)info->clamped);
}

/* Free what was read and made. */
static void aten_free(aten *a)
{
    qnnrt_lower_free(a->lower);
    op_map_free(&a->map);
    for (size_t i = 0; i < a->graph_count; ++i) {
        qnnrt_ir_free(a->graphs[i].ir);
        free(a->graphs[i].text);
        free(a->graphs[i].default_name);
    }
    for (size_t i = 0; i < a->weights_count; ++i) qnnrt_weights_close(a->weights[i]);
    small_free(&a->small);
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
