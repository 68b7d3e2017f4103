/* run_verify.h - a part of qnnrt-run.c: compare compiled graphs with qnnrt_ir_run()

   ROOMS    >>guess >>verify                                                                   */

/* =====================================================================================
   GUESS                                                                          >>guess
   Random inputs that a graph can take.
   ===================================================================================== */

/* Return true if a name contains a word. */
static int guess_named(const qnnrt_ir_value *value, const char *word)
{
    return strstr(value->name, word) != NULL;
}

/* Return how many rows a value may choose from as an index, in its readers and in those of its
   views; `rows` if there is no such reader. */
static int64_t guess_rows(const qnnrt_ir *ir, const qnnrt_ir_value *value, int64_t rows, int depth)
{
    static const char *const views[] = {
        "view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "expand", "clone", "alias",
        "slice", "to", "_to_copy", "contiguous", "flatten", "select", "detach", NULL
    };
    for (size_t i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        const size_t bytes = strcspn(node->op, ".");
        size_t at = 0;
        while (at < node->input_count && node->inputs[at] != value) ++at;
        if (at == node->input_count) continue;
        int64_t limit = INT64_MAX;
        const int64_t dim = qnnrt_ir_int(node, "dim", 0);
        const qnnrt_ir_value *table = node->inputs[0];
        if (strncmp(node->op, "embedding", 9) == 0 && at == 1) {
            limit = table->dims[0];
        } else if (strncmp(node->op, "index", 5) == 0 && at > 0 && table != NULL) {
            /* index_select, index_copy: one axis; index, index_put: any, the smallest is safe */
            for (uint32_t k = 0; k < table->rank; ++k)
                if ((node->op[5] != '_' || strncmp(node->op, "index_put", 9) == 0 ||
                     (dim < 0 ? dim + (int64_t)table->rank : dim) == (int64_t)k) &&
                    table->dims[k] < limit && table->dims[k] > 1)
                    limit = table->dims[k];
        } else if (strncmp(node->op, "gather", 6) == 0 && at == 1 && table->rank > 0) {
            limit = table->dims[dim < 0 ? dim + (int64_t)table->rank : dim];
        } else if (depth > 0 && at == 0) {
            char *word = cli_text("%.*s", (int)bytes, node->op);
            if (cli_word(word, views) >= 0 && node->output_count > 0)
                limit = guess_rows(ir, node->outputs[0], INT64_MAX, depth - 1);
            free(word);
        }
        if (limit < rows) rows = limit;
    }
    return rows;
}

/* Fill an input: floats are random between -1 and 1, masks 0 (or 1, if they are not floats),
   positions 0, 1, 2, ..., and other integers random within the rows that they choose from. */
static void guess_input(const qnnrt_ir *ir, const qnnrt_ir_value *value, uint64_t seed, double *out)
{
    const int floats = value_is_float(value->dtype);
    const int64_t last = value->rank > 0 ? value->dims[value->rank - 1] : 1;
    const int64_t rows = floats ? 0 : guess_rows(ir, value, INT64_MAX, 4);
    uint64_t state = seed;
    for (uint64_t i = 0; i < value->count; ++i) {
        const uint64_t r = value_random(&state);
        if (guess_named(value, "mask") || value->dtype == QNNRT_DTYPE_BOOL8) out[i] = !floats;
        else if (floats) out[i] = (double)(r >> 11) / 4503599627370496.0 - 1;
        else if (guess_named(value, "position") || rows == INT64_MAX) {
            out[i] = (double)((int64_t)(i % (uint64_t)last) % rows);
        } else out[i] = (double)(int64_t)(r % (uint64_t)rows);
    }
}

/* =====================================================================================
   VERIFY                                                                        >>verify
   Runs graphs as they were read on the host, and what was made of them on the backend.
   ===================================================================================== */

typedef struct verify {                /* one graph                                            */
    aten                         *a;
    const aten_graph             *g;
    qnnrt_ir                     *ir;            /* as read, with its weights                  */
    const qnnrt_lower_graph_info *info;          /* what became of it, NULL: several parts     */
    const char                  **ins, **outs;   /* names of inputs and outputs; NULL: not there */
    qnnrt_run                    *run;
    double                      **inputs;        /* [ir->input_count]                          */
    double                        tolerance, most;   /* most: beyond it, values count as it    */
    size_t                        nodes, wrong, nans;    /* of --verify_nodes                  */
    int                           all;               /* 1: a line for each node                */
    const size_t                 *small;             /* [ir->value_count] 1 + number of the weight
                                                        whose rounded values it has, or NULL   */
} verify;

typedef struct verify_sum {            /* two tensors, compared                                */
    double largest, difference;        /* the largest expected value; NaN is infinite          */
    double signal, noise;              /* squares of expected values and of differences        */
    uint64_t nans;                     /* expected values that are NaN                         */
    uint64_t rows, agreed;             /* along the last axis; whose largest values are at one
                                          place, 0: not counted                                */
} verify_sum;

/* Compare an expected value with a computed one. */
static void verify_one(verify_sum *sum, double expected, double got, double most)
{
    sum->nans += isnan(expected) != 0;
    if (isnan(expected) && isnan(got)) return;
    if (expected > most) expected = most;
    if (expected < -most) expected = -most;
    if (got > most) got = most;
    if (got < -most) got = -most;
    const double difference = fabs(expected - got);
    if (fabs(expected) > sum->largest && fabs(expected) < most) sum->largest = fabs(expected);
    if (fabs(expected) < most) {
        sum->signal += expected * expected;
        sum->noise += difference * difference;
    }
    if (!(difference <= sum->difference)) sum->difference = isnan(difference) ? HUGE_VAL
                                                                              : difference;
}

/* Return the largest difference as a part of the largest expected value. */
static double verify_relative(const verify_sum *sum)
{
    return sum->largest > 0 ? sum->difference / sum->largest : sum->difference;
}

/* Return the SNR in dB, at most 999. */
static double verify_snr(const verify_sum *sum)
{
    const double db = sum->noise > 0 ? 4.3429448190325182 * log(sum->signal / sum->noise) : 999;
    return db < 999 ? db : 999;
}

/* Copy the elements of a weight for qnnrt_ir_run(). */
static qnnrt_result verify_load(void *user, const qnnrt_ir_value *value, void *data,
                                qnnrt_error *err)
{
    const verify *v = user;
    const qnnrt_weight *weight = qnnrt_lower_weight_of(value);
    qnnrt_weights_loss loss = {0, 0, 0};
    if (value->count == 0) return QNNRT_OK;
    if (v->small != NULL && v->small[value->number] > 0)
        return qnnrt_lower_small_values(v->a->lower, v->small[value->number] - 1, data, err);
    if (weight == NULL) {
        memset(err, 0, sizeof(*err));
        err->code = QNNRT_E_NOT_FOUND;
        snprintf(err->text, sizeof(err->text), "weight %.200s is missing", value->name);
        return err->code;
    }
    return qnnrt_weights_convert(weight, value->dtype, data,
                                 (size_t)(value->count * qnnrt_ir_dtype_bytes(value->dtype)), &loss,
                                 err);
}

/* Return the place of a tensor of the compiled graph and its facts, or NULL. */
static void *verify_tensor(const verify *v, const char *name, const qnnrt_tensor_info **facts)
{
    const qnnrt_slot *slot = name != NULL ? qnnrt_run_slot(v->run, name) : NULL;
    if (slot == NULL) return NULL;
    *facts = slot->tensor;
    return qnnrt_data(v->run, name, NULL);
}

/* Take the names of inputs and outputs: those of the lowered graph, or of the graph itself
   (NULL). */
static void verify_names(verify *v, const qnnrt_lower_graph_info *info)
{
    for (size_t i = 0; i < v->ir->input_count; ++i)
        v->ins[i] = info == NULL ? v->ir->inputs[i]->name
                    : info->inputs[i] > 0 ? info->tensors[info->inputs[i]].name : NULL;
    for (size_t i = 0; i < v->ir->output_count; ++i)
        v->outs[i] = info == NULL ? v->ir->outputs[i]->name
                     : info->outputs[i] > 0 ? info->tensors[info->outputs[i]].name : NULL;
}

/* Fill the inputs of one run, on the host and on the backend. Return 0 after printing an error. */
static int verify_fill(verify *v, uint64_t seed)
{
    const qnnrt_tensor_info *facts = NULL;
    for (size_t i = 0; i < v->ir->input_count; ++i) {
        const qnnrt_ir_value *value = v->ir->inputs[i];
        guess_input(v->ir, value, seed * 1000 + i, v->inputs[i]);
        void *data = verify_tensor(v, v->ins[i], &facts);
        if (data == NULL) continue;              /* nothing reads this input */
        if (facts->count == value->count &&
            value_put(facts->dtype, v->inputs[i], data, value->count) &&
            value_get(facts->dtype, data, v->inputs[i], value->count)) continue;
        fail(v->a->t, NULL, NULL, "--verify: input \"%s\" has another type", value->name);
        return 0;
    }
    return 1;
}

/* Run the graph on the host. outputs: [ir->output_count]. Return 0 after printing an error. */
static int verify_host(verify *v, qnnrt_result (*watch)(void *user, const qnnrt_ir_node *node,
                                                        size_t output, const void *data,
                                                        qnnrt_error *err), void *const *outputs)
{
    const void **inputs = cli_alloc(v->ir->input_count, sizeof(*inputs));
    void **room = cli_alloc(v->ir->input_count, sizeof(*room));
    qnnrt_ir_run_desc desc = {0};
    qnnrt_error err;
    desc.load = verify_load;
    desc.load_user = v;
    desc.watch = watch;
    desc.watch_user = v;
    desc.wide = 1;
    for (size_t i = 0; i < v->ir->input_count; ++i) {
        const qnnrt_ir_value *value = v->ir->inputs[i];
        const qnnrt_dtype dtype = qnnrt_ir_run_dtype(&desc, value);
        inputs[i] = room[i] = cli_alloc((size_t)value->count, qnnrt_ir_dtype_bytes(dtype));
        value_put(dtype, v->inputs[i], room[i], value->count);
    }
    const int good = qnnrt_ir_run(v->ir, &desc, inputs, outputs, &err) == QNNRT_OK;
    if (!good)
        fail(v->a->t, NULL, cli_hint(&err), "--verify: %s: %s", v->g->file, cli_told(&err));
    for (size_t i = 0; i < v->ir->input_count; ++i) free(room[i]);
    free(room);
    free(inputs);
    return good;
}

/* Run the graph on the backend. Return 0 after printing an error. */
static int verify_exec(verify *v)
{
    if (qnnrt_exec(v->run) == QNNRT_OK) return 1;
    const qnnrt_error *err = qnnrt_run_error(v->run);
    fail(v->a->t, NULL, cli_hint(err), "--verify: %s", cli_told(err));
    return 0;
}

/* Count the rows whose largest values are at one place, if they have at least VERIFY_CLASSES: such
   a row may be scores of a vocabulary. */
static void verify_top(verify_sum *sum, const qnnrt_ir_value *value, const double *expected,
                       const double *got)
{
    enum { VERIFY_CLASSES = 10 };
    const uint64_t last = value->rank > 0 ? (uint64_t)value->dims[value->rank - 1] : 0;
    if (last < VERIFY_CLASSES || !value_is_float(value->dtype)) return;
    for (uint64_t row = 0; row < value->count / last; ++row) {
        const double *a = expected + row * last, *b = got + row * last;
        uint64_t top[2] = {0, 0};
        for (uint64_t k = 1; k < last; ++k) {
            if (a[k] > a[top[0]]) top[0] = k;
            if (b[k] > b[top[1]]) top[1] = k;
        }
        sum->rows += 1;
        sum->agreed += top[0] == top[1];
    }
}

/* Print a line of --verify, and keep it for --report. */
CLI_FORMAT(2, 3) static void verify_say(aten *a, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = cli_text_list(format, list);
    va_end(list);
    say(a->t, "%s", text);
    page_text(&a->verified, text);
    free(text);
}

/* Add the differences of one output to its sum. Return 0 after printing an error. */
static int verify_output(verify *v, size_t i, qnnrt_dtype dtype, const void *expected,
                         verify_sum *sum)
{
    const qnnrt_ir_value *value = v->ir->outputs[i];
    const qnnrt_tensor_info *facts = NULL;
    const void *data = verify_tensor(v, v->outs[i], &facts);
    double *a = cli_alloc((size_t)value->count, sizeof(*a));
    double *b = cli_alloc((size_t)value->count, sizeof(*b));
    const int good = data != NULL && facts->count == value->count &&
                     value_get(dtype, expected, a, value->count) &&
                     value_get(facts->dtype, data, b, value->count);
    for (uint64_t k = 0; k < value->count && good; ++k) verify_one(sum, a[k], b[k], v->most);
    if (good) verify_top(sum, value, a, b);
    free(a);
    free(b);
    if (!good)
        fail(v->a->t, NULL, NULL, "--verify: output \"%s\" is not in the compiled graph",
             value->name);
    return good;
}

/* A weight of a node whose place a copy with rounded values has. */
typedef struct verify_swap {
    qnnrt_ir_node  *node;
    size_t          input;
    qnnrt_ir_value *old;
} verify_swap;

/* Let each node of the lowered graph that multiplies with a small weight read the rounded values;
   another node may read the same weight as it is. swaps: [info->op_count]. Return how many were
   swapped; *small receives what verify.small is, and the caller frees it. */
static size_t verify_round(const verify *v, verify_swap *swaps, size_t **small)
{
    const qnnrt_lower_graph_info *info = v->info;
    qnnrt_ir *ir = v->g->ir;
    size_t count = 0;
    *small = cli_alloc(ir->value_count + info->op_count, sizeof(**small));
    for (size_t i = 0; i < info->op_count; ++i) {
        const qnnrt_lower_op *op = &info->ops[i];
        if (!op->used || op->node == NULL || op->input_count < 2) continue;
        const qnnrt_lower_tensor *tensor = &info->tensors[op->inputs[1]];
        qnnrt_ir_node *node = ir->nodes[op->node->at];
        for (size_t k = 0; k < node->input_count && tensor->small > 0; ++k) {
            qnnrt_ir_value *old = node->inputs[k];
            if (old == NULL || old != tensor->value) continue;
            qnnrt_ir_value *now = qnnrt_ir_add_value(ir, old->name, QNNRT_DTYPE_F32, old->rank,
                                                     old->dims);
            if (now == NULL || !qnnrt_ir_set_input(ir, node, k, now)) return count;
            now->origin = QNNRT_IR_WEIGHT;
            now->key = old->key;
            (*small)[now->number] = tensor->small;
            swaps[count].node = node;
            swaps[count].input = k;
            swaps[count++].old = old;
        }
    }
    return count;
}

/* Run the lowered graph on the host with rounded weights. Return 0 after printing an error. */
static int verify_host_small(verify *v, void *const *outputs)
{
    verify_swap *swaps = cli_alloc(v->info->op_count, sizeof(*swaps));
    qnnrt_ir *before = v->ir;
    size_t *small = NULL;
    const size_t count = verify_round(v, swaps, &small);
    v->small = small;
    v->ir = v->g->ir;
    const int good = verify_host(v, NULL, outputs);
    v->ir = before;
    v->small = NULL;
    for (size_t i = 0; i < count; ++i)
        qnnrt_ir_set_input(v->g->ir, swaps[i].node, swaps[i].input, swaps[i].old);
    free(small);
    free(swaps);
    return good;
}

/* Compare `runs` runs with random inputs, and print the largest differences of each output. */
static void verify_outputs(verify *v, uint32_t runs)
{
    const size_t count = v->ir->output_count;
    tool *t = v->a->t;
    const int small = v->info != NULL && v->a->t->set.compile.weight_bits != 0 &&
                      qnnrt_lower_get_info(v->a->lower)->small_count > 0;
    verify_sum *sums = cli_alloc(2 * count, sizeof(*sums)), *checked = small ? sums + count : sums;
    void **outputs = cli_alloc(count, sizeof(*outputs));
    qnnrt_ir_run_desc wide = {0};
    int good = 1;
    wide.wide = 1;
    for (size_t i = 0; i < count; ++i)
        outputs[i] = cli_alloc((size_t)v->ir->outputs[i]->count, sizeof(double));
    for (uint32_t run = 0; run < runs && good; ++run) {
        cli_busy(0, "run %lu of %lu of --verify", (unsigned long)run + 1, (unsigned long)runs);
        good = verify_fill(v, run + 1) && verify_exec(v);
        for (int rounded = 0; rounded <= small && good; ++rounded) {
            const qnnrt_ir *ir = rounded ? v->g->ir : v->ir;
            good = rounded ? verify_host_small(v, outputs) : verify_host(v, NULL, outputs);
            for (size_t i = 0; i < count && good; ++i)
                if (v->ir->outputs[i]->count > 0)
                    good = verify_output(v, i, qnnrt_ir_run_dtype(&wide, ir->outputs[i]),
                                         outputs[i], &sums[(size_t)rounded * count + i]);
        }
    }
    if (good)
        verify_say(v->a, "\nverify    graph \"%s\", %lu run%s, tolerance %g%s\n", v->g->name,
                   (unsigned long)runs, cli_plural(runs), v->tolerance,
                   small ? " with rounded weights on the host" : "");
    for (int rounded = small; rounded >= 0 && good; --rounded) {
        if (small && !rounded) verify_say(v->a, "  and from the weights as they were:\n");
        for (size_t i = 0; i < count; ++i) {
            const verify_sum *sum = &sums[(size_t)rounded * count + i];
            verify_say(v->a,
                       "  %-24s largest value %.4g, difference %.3g, relative %.3g, SNR %.1f dB",
                       v->ir->outputs[i]->name, sum->largest, sum->difference,
                       verify_relative(sum), verify_snr(sum));
            if (sum->rows > 0)
                verify_say(v->a, ", top-1 equal in %llu of %llu", (unsigned long long)sum->agreed,
                           (unsigned long long)sum->rows);
            verify_say(v->a, "\n");
        }
    }
    for (size_t i = 0; i < count && good; ++i)
        if (checked[i].nans > 0)
            fail(t, NULL, "Find where they come from with --verify_nodes first.",
                 "graph \"%s\": %llu values of output \"%s\" are NaN on the host, in %lu run%s",
                 v->g->name, (unsigned long long)checked[i].nans, v->ir->outputs[i]->name,
                 (unsigned long)runs, cli_plural(runs));
        else if (!(verify_relative(&checked[i]) <= v->tolerance))
            fail(t, NULL, "Find the first node that differs with --verify_nodes first.",
                 "graph \"%s\": output \"%s\" differs by %.3g of its largest value, more than %g",
                 v->g->name, v->ir->outputs[i]->name, verify_relative(&checked[i]), v->tolerance);
    for (size_t i = 0; i < count; ++i) free(outputs[i]);
    free(outputs);
    free(sums);
}

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

/* Read the graph again, as it was before the passes, with its weights. Return NULL after printing
   an error. */
static qnnrt_ir *verify_read(const aten *a, const aten_graph *g, qnnrt_lower *lower)
{
    qnnrt_ir *ir = NULL;
    qnnrt_error err;
    qnnrt_result result = qnnrt_ir_read(g->text, g->bytes, NULL, &ir, &err);
    qnnrt_ir_kv_info info;
    if (result == QNNRT_OK) result = qnnrt_ir_check(ir, NULL, NULL, &err);
    if (result == QNNRT_OK && a->t->set.compile.kv_rows) result = kv_graph(ir, &info, &err);
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
    if (result == QNNRT_OK) ir = verify_read(a, v->g, lower);
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

/* Compare graph `number` of an opened model. half: a backend computes in float16; by_name: inputs
   and outputs have the names of the graph. */
static void verify_graph(aten *a, qnnrt_manifest *model, size_t number, int half, int by_name)
{
    const compile_settings *c = &a->t->set.compile;
    verify v = {0};
    qnnrt_error err;
    v.a = a;
    v.g = &a->graphs[number];
    v.ir = verify_read(a, v.g, a->lower);
    if (v.ir == NULL) return;
    v.ins = cli_alloc(v.ir->input_count, sizeof(*v.ins));
    v.outs = cli_alloc(v.ir->output_count, sizeof(*v.outs));
    v.info = by_name ? NULL : &qnnrt_lower_get_info(a->lower)->graphs[number];
    verify_names(&v, v.info);
    v.tolerance = c->tolerance > 0 ? c->tolerance : half ? 2e-2 : 1e-4;
    if (c->tolerance <= 0 && codes_wanted(c)) v.tolerance = c->act_bits == 8 ? 0.2 : 2e-2;
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

/* Open the written files on the backend that compiled them, and compare all graphs. Return 0 if
   that is not wanted. */
static int verify_files(aten *a, char *const *paths)
{
    tool *t = a->t;
    const compile_settings *c = &t->set.compile;
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
