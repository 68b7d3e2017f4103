/* verify.c - outputs of a compiled graph beside those that the host computes

   ROOM     >>verify */
#include "run/compile/verify.h"
#include "run/io/io.h"

#include <math.h>

#include "cli/stages.h"

/* =====================================================================================
   VERIFY                                                                        >>verify
   Runs graphs as they were read on the host, and what was made of them on the backend.
   ===================================================================================== */

void verify_one(verify_sum *sum, double expected, double got, double most)
{
    sum->nans += isnan(expected) != 0;
    if (expected > most || (expected < -most && expected > -1e8)) sum->beyond += !isinf(expected);
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

double verify_relative(const verify_sum *sum)
{
    return sum->largest > 0 ? sum->difference / sum->largest : sum->difference;
}

/* Return the SNR in dB, at most 999. */
static double verify_snr(const verify_sum *sum)
{
    const double db = sum->noise > 0 ? 4.3429448190325182 * log(sum->signal / sum->noise) : 999;
    return db < 999 ? db : 999;
}

qnnrt_result verify_load(void *user, const qnnrt_ir_value *value, void *data, qnnrt_error *err)
{
    const verify *v = user;
    const qnnrt_weight *weight = qnnrt_lower_weight_of(value);
    qnnrt_weights_loss loss = {0, 0, 0};
    if (value->count == 0) return QNNRT_OK;
    if (v->weight_only != NULL && v->weight_only[value->number] > 0)
        return qnnrt_lower_weight_only_values(v->lower, v->weight_only[value->number] - 1,
                                              data, err);
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

void verify_names(verify *v, const qnnrt_lower_graph_info *info)
{
    for (size_t i = 0; i < v->ir->input_count; ++i)
        v->ins[i] = info == NULL ? v->ir->inputs[i]->name
                    : info->inputs[i] > 0 ? info->tensors[info->inputs[i]].name : NULL;
    for (size_t i = 0; i < v->ir->output_count; ++i)
        v->outs[i] = info == NULL ? v->ir->outputs[i]->name
                     : info->outputs[i] > 0 ? info->tensors[info->outputs[i]].name : NULL;
}

int verify_inputs(verify *v, uint32_t number)
{
    v->sample = number;
    if (v->list.line_count > 0)
        return sample_line(v->a->t, &v->list, &v->list.lines[number % v->list.line_count], v->ir,
                           v->g->name, v->inputs);
    for (size_t i = 0; i < v->ir->input_count; ++i) {
        const qnnrt_ir_value *value = v->ir->inputs[i];
        const int there = v->samples.file == NULL ? 0
            : exported_get(v->a->t, &v->samples, number, "input", value, v->inputs[i]);
        if (v->samples.file == NULL)
            guess_input(v->ir, value, ((uint64_t)number + 1) * 1000 + i, v->inputs[i]);
        else if (there == 0)
            fail(v->a->t, NULL, "Export the model again.", "--verify: sample %lu has no input "
                 "\"%s\"", (unsigned long)number, value->name);
        if (v->samples.file != NULL && there <= 0) return 0;
    }
    return 1;
}

int verify_fill(verify *v, uint32_t number)
{
    const qnnrt_tensor_info *facts = NULL;
    if (!verify_inputs(v, number)) return 0;
    for (size_t i = 0; i < v->ir->input_count; ++i) {
        const qnnrt_ir_value *value = v->ir->inputs[i];
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

int verify_host(verify *v, qnnrt_result (*watch)(void *user, const qnnrt_ir_node *node,
                                                 size_t output, const void *data,
                                                 qnnrt_error *err), void *const *outputs)
{
    OWNED const void **inputs = cli_alloc(v->ir->input_count, sizeof(*inputs));
    OWNED void **room = cli_alloc(v->ir->input_count, sizeof(*room));
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
    return good;
}

int verify_exec(verify *v)
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
    OWNED char *text = cli_text_list(format, list);
    va_end(list);
    say(a->t, "%s", text);
    page_text(&a->verified, text);
}

/* Read what an output has to be: a result of torch, or the elements that the host computed. Return
   0 after printing an error. */
static int verify_expected(verify *v, size_t i, qnnrt_dtype dtype, const void *host, double *out)
{
    const qnnrt_ir_value *value = v->ir->outputs[i];
    if (host != NULL) return value_get(dtype, host, out, value->count);
    const int there = exported_get(v->a->t, &v->samples, v->sample, "output", value, out);
    if (there == 0)
        fail(v->a->t, NULL, "Export the model again.", "--verify: sample %lu has no output \"%s\"",
             (unsigned long)v->sample, value->name);
    return there > 0;
}

/* Keep the elements that places of an output are places in. */
static qnnrt_result verify_choices(void *user, const qnnrt_ir_node *node, size_t output,
                                   const void *data, qnnrt_error *err)
{
    const verify *v = user;
    qnnrt_ir_run_desc wide = {0};
    (void)err;
    wide.wide = 1;
    if (node->outputs[output] == v->chosen)
        value_get(qnnrt_ir_run_dtype(&wide, v->chosen), data, v->choices, v->chosen->count);
    return QNNRT_OK;
}

/* Return the node whose result is places in the elements of its first input, or NULL. */
static const qnnrt_ir_node *verify_places(const qnnrt_ir_value *value)
{
    static const char *const ops[] = {"argmax.default", "argmin.default", "max.dim", "min.dim",
                                      "topk.default", "sort.default", "sort.stable",
                                      "argsort.default", "argsort.stable"};
    const qnnrt_ir_node *node = value->node;
    if (value_is_float(value->dtype) || node == NULL) return NULL;
    if (qnnrt_ir_is(node, "getitem")) node = node->inputs[0]->node;
    for (size_t i = 0; node != NULL && i < sizeof(ops) / sizeof(ops[0]); ++i)
        if (strcmp(node->op, ops[i]) == 0) return node;
    return NULL;
}

/* Let places that differ be equal where the values that they choose are, within the tolerance.
   Return 0 after printing an error. */
static int verify_ties(verify *v, size_t i, const double *expected, double *got, verify_sum *sum)
{
    const qnnrt_ir_value *value = v->ir->outputs[i], *x;
    const qnnrt_ir_node *node = verify_places(value);
    uint64_t inner = 1, length, most = 0;
    double largest = 0;
    int good = 1;
    if (node == NULL || memcmp(expected, got, (size_t)value->count * sizeof(*got)) == 0) return 1;
    x = v->chosen = node->inputs[0];
    OWNED double *choices = v->choices = cli_alloc((size_t)x->count, sizeof(*choices));
    OWNED void **none = cli_alloc(v->ir->output_count, sizeof(*none));
    if (x->origin == QNNRT_IR_NODE) good = verify_host(v, verify_choices, none);
    for (size_t k = 0; k < v->ir->input_count; ++k)
        if (v->ir->inputs[k] == x)
            memcpy(choices, v->inputs[k], (size_t)x->count * sizeof(*choices));
    const qnnrt_ir_attr *attr = qnnrt_ir_attr_find(node, "dim");
    const int all = strncmp(node->op, "argm", 4) == 0 &&
                    (attr == NULL || attr->kind == QNNRT_IR_NULL);
    const int64_t given = qnnrt_ir_int(node, "dim", -1);
    const int64_t dim = given < 0 ? given + (int64_t)x->rank : given;
    if (!all)
        for (int64_t d = dim + 1; d < (int64_t)x->rank; ++d) inner *= (uint64_t)x->dims[d];
    length = all || x->rank == 0 ? x->count : (uint64_t)x->dims[dim];
    const uint64_t outer = length > 0 ? x->count / (length * inner) : 0;
    if (outer > 0) most = value->count / (outer * inner);        /* places of a row */
    for (uint64_t k = 0; k < x->count; ++k)
        if (fabs(choices[k]) > largest && !isinf(choices[k])) largest = fabs(choices[k]);
    for (uint64_t k = 0; k < value->count && most > 0 && good; ++k) {
        const double *row = choices + k / (most * inner) * length * inner + k % inner;
        if (expected[k] == got[k] || !(expected[k] >= 0 && expected[k] < (double)length) ||
            !(got[k] >= 0 && got[k] < (double)length)) continue;
        const double a = row[(uint64_t)expected[k] * inner], b = row[(uint64_t)got[k] * inner];
        if (!(a == b || fabs(a - b) <= v->tolerance * largest)) continue;
        got[k] = expected[k];
        sum->ties += 1;
    }
    return good;
}

/* Add the differences of one output to its sum. host: elements, NULL: torch has computed it. Return
   0 after printing an error. */
static int verify_output(verify *v, size_t i, qnnrt_dtype dtype, const void *host,
                         verify_sum *sum)
{
    const qnnrt_ir_value *value = v->ir->outputs[i];
    const qnnrt_tensor_info *facts = NULL;
    const void *data = verify_tensor(v, v->outs[i], &facts);
    double *a = cli_alloc((size_t)value->count, sizeof(*a));
    OWNED double *b = cli_alloc((size_t)value->count, sizeof(*b));
    const int there = data != NULL && facts->count == value->count &&
                      value_get(facts->dtype, data, b, value->count);
    const int good = there && verify_expected(v, i, dtype, host, a) &&
                     verify_ties(v, i, a, b, sum);
    const double most = value_is_float(value->dtype) ? v->most : HUGE_VAL;
    for (uint64_t k = 0; k < value->count && good; ++k) verify_one(sum, a[k], b[k], most);
    if (good) verify_top(sum, value, a, b);
    free(a);
    if (!there)
        fail(v->a->t, NULL, NULL, "--verify: output \"%s\" is not in the compiled graph",
             value->name);
    return good;
}

/* Print what is compared. */
static void verify_head(const verify *v, uint32_t runs, int quantized)
{
    if (v->samples.file != NULL)
        verify_say(v->a, "\nverify    graph \"%s\", %lu sample%s, torch's results in %s, tolerance "
                   "%.3g%s\n", v->g->name, (unsigned long)runs, cli_plural(runs),
                   v->samples.computed_in, v->tolerance,
                   quantized ? ", with rounded weights on the host" : "");
    else
        verify_say(v->a, "\nverify    graph \"%s\", %lu %s%s, tolerance %g%s\n", v->g->name,
                   (unsigned long)runs, v->list.line_count > 0 ? "sample" : "run",
                   cli_plural(runs), v->tolerance,
                   quantized ? " with rounded weights on the host" : "");
    if (v->samples.file == NULL && v->a->decoder == NULL)
        verify_say(v->a, "  compared with what the host computes from the graph: it has no"
                   " results of torch, as qnnrt.export() adds them\n");
}

/* A weight of a node whose place a copy with rounded values has. */
typedef struct verify_swap {
    qnnrt_ir_node  *node;
    size_t          input;
    qnnrt_ir_value *old;
} verify_swap;

/* Let each node of the lowered graph that multiplies with quantized weights read rounded values;
   another node may read the same weight as it is. swaps: [info->op_count]. Return how many were
   swapped; *numbers receives what verify.weight_only is, and the caller frees it. */
static size_t verify_round(const verify *v, verify_swap *swaps, size_t **numbers)
{
    const qnnrt_lower_graph_info *info = v->info;
    qnnrt_ir *ir = v->g->ir;
    size_t count = 0;
    *numbers = cli_alloc(ir->value_count + info->op_count, sizeof(**numbers));
    for (size_t i = 0; i < info->op_count; ++i) {
        const qnnrt_lower_op *op = &info->ops[i];
        if (!op->used || op->node == NULL || op->input_count < 2) continue;
        const qnnrt_lower_tensor *tensor = &info->tensors[op->inputs[1]];
        qnnrt_ir_node *node = ir->nodes[op->node->at];
        for (size_t k = 0; k < node->input_count && tensor->weight_only > 0; ++k) {
            qnnrt_ir_value *old = node->inputs[k];
            if (old == NULL || old != tensor->value) continue;
            qnnrt_ir_value *now = qnnrt_ir_add_value(ir, old->name, QNNRT_DTYPE_F32, old->rank,
                                                     old->dims);
            if (now == NULL || !qnnrt_ir_set_input(ir, node, k, now)) return count;
            now->origin = QNNRT_IR_WEIGHT;
            now->key = old->key;
            (*numbers)[now->number] = tensor->weight_only;
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
    OWNED verify_swap *swaps = cli_alloc(v->info->op_count, sizeof(*swaps));
    qnnrt_ir *before = v->ir;
    size_t *numbers = NULL;
    const size_t count = verify_round(v, swaps, &numbers);
    v->weight_only = numbers;
    v->ir = v->g->ir;
    const int good = verify_host(v, NULL, outputs);
    v->ir = before;
    v->weight_only = NULL;
    for (size_t i = 0; i < count; ++i)
        qnnrt_ir_set_input(v->g->ir, swaps[i].node, swaps[i].input, swaps[i].old);
    free(numbers);
    return good;
}

/* Return what to do about outputs that differ. The caller frees it. */
static char *verify_way(const verify *v)
{
    if (v->beyond == 0)
        return cli_text("Find the first node that differs with --verify_nodes first.");
    return cli_text("Compute these nodes in float32, with --backends npu,cpu,host%s, or scale what "
                    "they read.", v->pins.data);
}

void verify_outputs(verify *v, uint32_t runs)
{
    const size_t count = v->ir->output_count;
    tool *t = v->a->t;
    const int quantized = v->info != NULL && v->a->t->set.compile->weight_bits != 0 &&
                      qnnrt_lower_get_info(v->lower)->weight_only_count > 0;
    verify_sum *sums = cli_alloc(2 * count, sizeof(*sums));
    verify_sum *checked = quantized ? sums + count : sums;
    OWNED void **outputs = cli_alloc(count, sizeof(*outputs));
    qnnrt_ir_run_desc wide = {0};
    int good = 1;
    wide.wide = 1;
    for (size_t i = 0; i < count; ++i)
        outputs[i] = cli_alloc((size_t)v->ir->outputs[i]->count, sizeof(double));
    for (uint32_t run = 0; run < runs && good; ++run) {
        cli_busy(0, "run %lu of %lu of --verify", (unsigned long)run + 1, (unsigned long)runs);
        good = verify_fill(v, run) && verify_exec(v);
        for (int rounded = 0; rounded <= quantized && good; ++rounded) {
            const qnnrt_ir *ir = rounded ? v->g->ir : v->ir;
            const int torch = !rounded && v->samples.file != NULL;
            good = rounded ? verify_host_small(v, outputs)
                   : torch || verify_host(v, v->half ? overflow_peek : NULL, outputs);
            for (size_t i = 0; i < count && good; ++i)
                if (v->ir->outputs[i]->count > 0)
                    good = verify_output(v, i, qnnrt_ir_run_dtype(&wide, ir->outputs[i]),
                                         torch ? NULL : outputs[i],
                                         &sums[(size_t)rounded * count + i]);
        }
    }
    if (good && v->half && (v->peeked || v->samples.file != NULL)) good = overflow_look(v);
    if (good) verify_head(v, runs, quantized);
    for (int rounded = quantized; rounded >= 0 && good; --rounded) {
        if (quantized && !rounded) verify_say(v->a, "  and from the weights as they were:\n");
        for (size_t i = 0; i < count; ++i) {
            const verify_sum *sum = &sums[(size_t)rounded * count + i];
            verify_say(v->a,
                       "  %-24s largest value %.4g, difference %.3g, relative %.3g, SNR %.1f dB",
                       v->ir->outputs[i]->name, sum->largest, sum->difference,
                       verify_relative(sum), verify_snr(sum));
            if (sum->rows > 0)
                verify_say(v->a, ", top-1 equal in %llu of %llu", (unsigned long long)sum->agreed,
                           (unsigned long long)sum->rows);
            if (sum->ties > 0)
                verify_say(v->a, ", %llu tie%s: other places of values that are equal within the"
                           " tolerance", (unsigned long long)sum->ties, cli_plural(sum->ties));
            verify_say(v->a, "\n");
        }
    }
    if (good && v->beyond > 0)
        verify_say(v->a, "  float16     %lu node%s with values beyond 65504, its largest; %s\n",
                   (unsigned long)v->beyond, cli_plural(v->beyond), v->beyond_text.data);
    OWNED char *way = verify_way(v);
    for (size_t i = 0; i < count && good; ++i)
        if (checked[i].nans > 0 && (quantized || v->samples.file == NULL))
            fail(t, NULL, "Find where they come from with --verify_nodes first.",
                 "graph \"%s\": %llu values of output \"%s\" are NaN on the host, in %lu run%s",
                 v->g->name, (unsigned long long)checked[i].nans, v->ir->outputs[i]->name,
                 (unsigned long)runs, cli_plural(runs));
        else if (checked[i].beyond > 0 && v->half)
            fail(t, NULL, way, "graph \"%s\": output \"%s\" has %llu values beyond 65504, the "
                 "largest number of float16, in %lu run%s", v->g->name, v->ir->outputs[i]->name,
                 (unsigned long long)checked[i].beyond, (unsigned long)runs, cli_plural(runs));
        else if (!(verify_relative(&checked[i]) <= v->tolerance))
            fail(t, NULL, way,
                 "graph \"%s\": output \"%s\" differs by %.3g of its largest value, more than %g",
                 v->g->name, v->ir->outputs[i]->name, verify_relative(&checked[i]), v->tolerance);
    for (size_t i = 0; i < count; ++i) free(outputs[i]);
    free(sums);
}
