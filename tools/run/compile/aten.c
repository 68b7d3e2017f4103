/* aten.c - graphs in ATen operators are read, with their weights

   ROOM     >>aten */
#include "run/compile/aten.h"
#include "run/io/io.h"

#include <strings.h>

#include "cli/stages.h"

/* =====================================================================================
   ATEN                                                                           >>aten
   Graphs as torch.export gives them: read, check, find their weights. Each step looks at all
   graphs and prints all that is wrong, before the next one begins.
   ===================================================================================== */

enum { ATEN_TEXT_BYTES = 1 << 30 };    /* most bytes of a file */

int aten_is_graph(const char *path)
{
    const size_t length = strlen(path);
    return (length >= 5 && strcasecmp(path + length - 5, ".json") == 0) || onnx_is(path) ||
           exported_is(path);
}

/* Report an option for .json graphs that was given with another file. Return STATUS_USAGE. */
static int aten_not_a_graph(const char *path, const char *option)
{
    const size_t length = strlen(path);
    const int dlc = length >= 4 && strcasecmp(path + length - 4, ".dlc") == 0;
    return cli_usage(dlc ? "Leave it out."
                         : "Export the model with qnnrt.export(), and name its folder.",
                     "%s is for .json graphs, and %s is not one", option, path);
}

/* Check that a file is none of those that compile cannot read, by what it carries or by its name:
   others are containers, whatever they are called. Returns STATUS_OK, or STATUS_USAGE after a
   message. */
static int aten_foreign(const char *path)
{
    static const char *const tails[] = {".safetensors", ".tflite", ".pt", ".pth", ".pt2"};
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
        return cli_usage("Export the model with qnnrt.export(), and name its folder.",
                         "compile takes " COMPILE_SOURCES ", and %s is none of them", path);
    }
    return STATUS_OK;
}

int aten_agree(const settings *set, size_t graphs)
{
    const compile_settings *c = set->compile;
    if (c->eos_count > 0 && !c->kv_rows)
        return cli_usage("Add --kv_rows.", "--eos is for language models, compiled with --kv_rows");
    if (c->graph.fp16 && c->fp32)
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
    if (quantizes(c) && c->kv_rows)
        return cli_usage("Choose one.", "%s and --kv_rows exclude each other",
                         c->calibrate.count > 0 ? "--calibrate" : "--encodings");
    if ((c->act_bits != 0 || c->write_encodings != NULL) && !quantizes(c))
        return cli_usage("Name a list of samples with --calibrate LIST.", "%s needs ranges",
                         c->act_bits != 0 ? "--activation_bits" : "--write_encodings");
    if (c->write_encodings != NULL && graphs != 1)
        return cli_usage("Compile the graphs one after the other.",
                         "--write_encodings is for one graph");
    return weight_only_check(c);
}

int aten_check(const settings *set)
{
    const compile_settings *c = set->compile;
    size_t graphs = 0, models = 0;
    for (size_t i = 0; i < set->files.count; ++i) {
        if (aten_foreign(set->files.items[i]) != STATUS_OK) return STATUS_USAGE;
        graphs += aten_is_graph(set->files.items[i]) != 0;
        models += onnx_is(set->files.items[i]) != 0;
    }
    const char *sizes = c->onnx_dims.count > 0 ? "--dim" : c->onnx_shapes.count > 0 ? "--shape"
                        : c->onnx_binds.count > 0 ? "--bind" : NULL;
    if (models < set->files.count && sizes != NULL)
        return cli_usage("Leave it out.", "%s is for .onnx files, and %s is not one", sizes,
                         set->files.items[0]);
    if (models > 0 && c->weights.count > 0)
        return cli_usage("Leave it out.", "--weights is for .json graphs, and %s has its weights",
                         set->files.items[0]);
    if (graphs > 0 && graphs < set->files.count)
        return cli_usage("Compile them one after the other.",
                         "compile takes .dlc containers or .json graphs, not both at once");
    const char *given = c->weights.count > 0   ? "--weights"
                        : c->io >= 0           ? "--io"
                        : c->fp32              ? "--fp32"
                        : c->shards != 0       ? "--shards"
                        : c->op_map != NULL    ? "--op_map"
                        : c->host_ops.count > 0 ? "--host_op"
                        : c->report != NULL    ? "--report"
                        : set->svg != NULL     ? "--svg"
                        : set->dot != NULL     ? "--dot"
                        : c->verify != 0       ? "--verify"
                        : c->verify_nodes != 0 ? "--verify_nodes"
                        : c->tolerance > 0     ? "--verify_tolerance"
                        : c->rope_positions != 0 ? "--rope_positions"
                        : c->rope_base > 0     ? "--rope_base"
                        : c->rope_plain        ? "--rope_plain"
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

int aten_wants_lowering(const settings *set)
{
    return set->compile->report != NULL || set->compile->write_encodings != NULL ||
           set->svg != NULL || set->dot != NULL || set->compile->verify != 0 ||
           set->compile->verify_nodes != 0;
}

int aten_name(aten *a, const char *const *asked)
{
    for (size_t i = 0; i < a->graph_count; ++i) {
        aten_graph *g = &a->graphs[i];
        const char *slash = strrchr(g->file, '/'), *base = slash != NULL ? slash + 1 : g->file;
        g->default_name = g->folder != NULL ? exported_name(g->folder)
                                            : cli_text("%.*s", (int)(strlen(base) - 5), base);
        g->name = asked[i] != NULL ? asked[i] : g->default_name;
        for (size_t k = 0; k < i; ++k)
            if (strcmp(a->graphs[k].name, g->name) == 0)
                return cli_usage("Name the graphs with --graph_name N1,N2.",
                                 "two graphs are named \"%s\"", g->name);
    }
    return STATUS_OK;
}

uint64_t aten_spent(aten *a, int phase, uint64_t begin)
{
    const uint64_t now = cli_now_ns();
    if (a != NULL) a->ns[phase] += now - begin;
    return now;
}

/* Say which known operator is nearest to an unknown one, and how to give a function for it. */
static void aten_unknown(const aten *a, page *p, const qnnrt_ir_node *node)
{
    cli_near near = {node->op, strlen(node->op), NULL, 0};
    const qnnrt_ir_op *op;
    for (size_t i = 0; (op = qnnrt_ir_op_get(i)) != NULL; ++i) cli_near_try(&near, op->name);
    if (node->source[0] != '\0') page_add(p, "\n    %s", node->source);
    if (near.best != NULL) page_add(p, "\n    nearest known operator: %s", near.best);
    page_add(p, "\n    a function of your own can compute it: --host_op %s%s", node->op,
             a->t->set.compile->backends == NULL ? " --backends npu,cpu,host" : "");
}

int aten_check_graph(aten *a, aten_graph *g)
{
    const qnnrt_ir_finding *list = NULL;
    size_t count = 0;
    qnnrt_error err;
    page p = {NULL, 0, 0};
    g->node_count = g->read->node_count;
    if (qnnrt_ir_check(g->read, &list, &count, &err) == QNNRT_OK &&
        qnnrt_ir_copy(g->read, NULL, &g->ir, &err) == QNNRT_OK)
        return kv_rewrite(a->t, g->file, g->ir, a->kv);
    if (count == 0) {                            /* the check itself failed */
        fail(a->t, NULL, cli_hint(&err), "%s: %s", g->file, cli_told(&err));
        return 0;
    }
    int alike = 1;
    for (size_t i = 0; i < count; ++i) alike = alike && strcmp(list[i].hint, list[0].hint) == 0;
    for (size_t i = 0; i < count; ++i) {
        page_add(&p, "\n  %s", list[i].text);
        if (list[i].code == QNNRT_E_UNSUPPORTED && list[i].node != NULL &&
            list[i].node->info == NULL && list[i].node->op[0] != 'w')      /* not of a block */
            aten_unknown(a, &p, list[i].node);
        if (!alike && list[i].hint[0] != '\0') page_add(&p, "\n    %s", list[i].hint);
    }
    fail(a->t, NULL,
         alike && list[0].hint[0] != '\0' ? list[0].hint
                                         : "Export the model again with qnnrt.export().",
         "%s has %lu fault%s:%s", g->file, (unsigned long)count, cli_plural(count), p.data);
    free(p.data);
    return 0;
}

/* Say what --rope_plain states about a graph. */
static void aten_say_rope(const aten *a, const aten_graph *g)
{
    size_t blocks = 0;
    for (size_t i = 0; i < g->read->node_count; ++i)
        blocks += qnnrt_ir_is(g->read->nodes[i], "rope") != 0;
    if (blocks > 0 && a->t->set.compile->rope_plain)
        say(a->t, "note      %lu block%s under torch.no_grad() in %s %s plain rotary embeddings, as"
                  " --rope_plain states\n", (unsigned long)blocks, cli_plural(blocks), g->file,
            blocks == 1 ? "is" : "are");
}

/* Read and check the graph of a file. Return 0 after printing all that is wrong. */
static int aten_read_graph(aten *a, aten_graph *g)
{
    if (onnx_is(g->file)) return onnx_load(a, g) && aten_check_graph(a, g);
    qnnrt_ir_desc desc = {0};
    qnnrt_cache_hash hash;
    qnnrt_error err;
    size_t bytes = 0;
    char *text = cli_read_file(g->file, ATEN_TEXT_BYTES, &bytes);
    if (text == NULL) {
        fail(a->t, NULL, "Name the folder that qnnrt.export() wrote, or a .json graph.",
             "cannot read %s: %s", g->file, strerror(errno));
        return 0;
    }
    if (a->t->set.compile->cache != NULL) {
        qnnrt_cache_hash_begin(&hash);
        qnnrt_cache_hash_add(&hash, text, bytes);
        qnnrt_cache_hash_end(&hash, g->hash);
    }
    desc.plain_rope = a->t->set.compile->rope_plain;
    desc.custom = a->custom;
    desc.custom_count = a->custom_count;
    const qnnrt_result result = qnnrt_ir_read(text, bytes, &desc, &g->read, &err);
    free(text);
    if (result == QNNRT_OK) aten_say_rope(a, g);
    if (result == QNNRT_OK) return aten_check_graph(a, g);
    const char *slash = strrchr(g->file, '/');
    const int config = strcmp(slash != NULL ? slash + 1 : g->file, "config.json") == 0;
    fail(a->t, NULL,
         config ? "Name the folder of the language model, not this file." : cli_hint(&err),
         "%s: %s", g->file, cli_told(&err));
    return 0;
}

/* Open weights, for which there is room in the list. Return NULL after printing an error. */
static qnnrt_weights *aten_open_weights(aten *a, const char *path)
{
    qnnrt_weights *weights = NULL;
    qnnrt_error err;
    if (qnnrt_weights_open(path, NULL, &weights, &err) != QNNRT_OK)
        fail(a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
    a->weights[a->weights_count++] = weights;
    return weights;
}

/* List the operators that are the caller's: functions of --host_op, then rows of --op_map. */
static void aten_custom(aten *a)
{
    const cli_list *ops = &a->t->set.compile->host_ops;
    a->custom = cli_alloc(ops->count + a->map.count, sizeof(*a->custom));
    for (size_t i = 0; i < ops->count; ++i) {
        const char *op = ops->items[i];
        a->custom[a->custom_count++] = strncmp(op, "aten.", 5) == 0 ? op + 5 : op;
    }
    a->host_op_count = ops->count;
    for (size_t i = 0; i < a->map.count; ++i) a->custom[a->custom_count++] = a->map.names[i];
}

/* Check that some graph has each operator of --host_op. Return 0 after printing an error. */
static int aten_host_ops(const aten *a)
{
    for (size_t i = 0; i < a->host_op_count; ++i) {
        cli_near near = {a->custom[i], strlen(a->custom[i]), NULL, 0};
        int found = 0;
        for (size_t g = 0; g < a->graph_count; ++g)
            for (size_t k = 0; k < a->graphs[g].read->node_count; ++k) {
                const char *op = a->graphs[g].read->nodes[k]->op;
                found |= strcmp(op, a->custom[i]) == 0;
                cli_near_try(&near, op);
            }
        if (found) continue;
        OWNED char *hint = near.best != NULL ? cli_text("Name the operator %s.", near.best) : NULL;
        fail(a->t, NULL, hint, "--host_op %s: no graph has this operator", a->custom[i]);
        return 0;
    }
    return 1;
}

int aten_read(aten *a)
{
    const cli_list *paths = &a->t->set.compile->weights;
    uint64_t begin = cli_now_ns();
    int good = 1;
    a->kv = cli_alloc(1, sizeof(*a->kv));
    aten_custom(a);
    for (size_t i = 0; i < a->graph_count; ++i) good &= aten_read_graph(a, &a->graphs[i]);
    good = good && onnx_all(a) && aten_host_ops(a);
    good = good && kv_ends(a->t, a->graphs[0].file, a->kv);
    begin = aten_spent(a, ATEN_READ, begin);
    a->weights = cli_alloc(paths->count + a->graph_count, sizeof(*a->weights));
    for (size_t i = 0; i < paths->count; ++i)
        good &= aten_open_weights(a, paths->items[i]) != NULL;
    for (size_t i = 0; i < a->graph_count; ++i) {
        aten_graph *g = &a->graphs[i];
        if (paths->count > 0) g->weights = a->weights[paths->count == 1 ? 0 : i];
        if (paths->count > 0 || g->folder == NULL) continue;
        OWNED char *path = cli_text("%s/" EXPORTED_WEIGHTS, g->folder);
        good &= (g->weights = aten_open_weights(a, path)) != NULL;
    }
    aten_spent(a, ATEN_WEIGHTS, begin);
    return good;
}

char *aten_read_weights(const aten *a, size_t number)
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
        for (size_t k = 0; k < g->ir->state_count && g->weights == a->weights[number]; ++k) {
            const qnnrt_weight *weight = qnnrt_weights_match(g->weights, g->ir->states[k].name);
            if (weight != NULL) read[weight - info->weights] = 1;
        }
    }
    return read;
}

void aten_surplus(const aten *a, size_t number)
{
    enum { SHOWN = 5 };
    const cli_list *paths = &a->t->set.compile->weights;
    const qnnrt_weights_info *info = qnnrt_weights_get_info(a->weights[number]);
    OWNED char *read = aten_read_weights(a, number);
    OWNED page p = {NULL, 0, 0};
    size_t surplus = 0;
    for (size_t i = 0; i < info->count; ++i) {
        if (read[i]) continue;
        if (surplus++ >= SHOWN) continue;
        page_add(&p, "%s%s", surplus > 1 ? ", " : "", info->weights[i].name);
    }
    if (surplus > 0)
        say(a->t, "note      no graph reads %lu of the %lu weights in %s: %s%s\n",
            (unsigned long)surplus, (unsigned long)info->count,
            number < paths->count ? paths->items[number] : info->files[0].path, p.data,
            surplus > SHOWN ? ", ..." : "");
}

const char *aten_nearest(const aten *a, const char *name, size_t bytes)
{
    cli_near near = {name, bytes, NULL, 0};
    for (size_t g = 0; g < a->graph_count; ++g) {
        const qnnrt_ir *ir = a->graphs[g].ir;
        for (size_t i = 0; i < ir->node_count; ++i) cli_near_try(&near, ir->nodes[i]->name);
        for (size_t i = 0; i < ir->removed_count; ++i)
            if (strncmp(ir->removed[i]->mapping, "fused into ", 11) == 0)
                cli_near_try(&near, ir->removed[i]->name);
    }
    return near.best;
}

/* Name a weight with the shape of one that is missing: they may be tied, and stored once. */
static void aten_same_shape(page *p, const aten_graph *g, const qnnrt_ir_value *value)
{
    const qnnrt_weights_info *info = qnnrt_weights_get_info(g->weights);
    const qnnrt_weight *found = NULL;
    for (size_t i = 0; info != NULL && value->rank > 1 && i < info->count; ++i) {
        const qnnrt_weight *weight = &info->weights[i];
        int same = weight->rank == value->rank;
        for (uint32_t k = 0; k < weight->rank && same; ++k)
            same = weight->dims[k] == (uint64_t)value->dims[k];
        if (same && found != NULL) return;
        if (same) found = weight;
    }
    if (found != NULL) page_add(p, ": \"%s\" alone has its shape, and may be tied to it",
                                found->name);
}

void aten_missing(const aten *a, const aten_graph *g, const qnnrt_error *err)
{
    OWNED page p = {NULL, 0, 0};
    size_t count = 0, computable = 0, buffers = 0, wrong = 0;
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
        wrong += weight != NULL;
        if (weight == NULL) {
            const int buffer = strncmp(value->name, "b_", 2) == 0 ||
                               strncmp(value->name, "c_", 2) == 0;
            buffers += buffer != 0;
            page_text(&p, " is missing");
            if (buffer) page_text(&p, ": a buffer, which checkpoints need not have");
            else aten_same_shape(&p, g, value);
            continue;
        }
        int64_t dims[QNNRT_WEIGHTS_RANK];
        for (uint32_t k = 0; k < weight->rank; ++k) dims[k] = (int64_t)weight->dims[k];
        page_text(&p, " is ");
        page_dims(&p, weight->rank, dims);
        page_add(&p, " in %s", weight->file);
    }
    const char *hint = g->folder != NULL ? "Export the model again."
                       : g->weights == NULL ? "Name the checkpoint with --weights PATH."
                       : count == computable
                         ? "Export the model with qnnrt.export(), which stores every buffer; or,"
                           " if config.json has no rope_scaling, add --rope_base X, its rope_theta."
                       : wrong == 0 && buffers == count
                         ? "Export the model with qnnrt.export(), which stores every buffer."
                         : err->hint;
    if (count == 0) fail(a->t, NULL, cli_hint(err), "%s: %s", g->file, cli_told(err));
    else
        fail(a->t, NULL, hint, "%s: %lu weight%s another shape:%s", g->file, (unsigned long)count,
             count == 1 ? " is missing or has" : "s are missing or have", p.data);
}
