/* calibrate.c - ranges of activations from samples

   ROOM     >>calibrate */
#include "run/compile/aten.h"
#include "run/model/model.h"
#include "run/io/io.h"

#include <math.h>

#include "cli/stages.h"

/* =====================================================================================
   CALIBRATE                                                                  >>calibrate
   Builds the float graphs with every float tensor as an output, runs them with the samples, and
   keeps what the tensors had. Methods with histograms run the samples a second time.
   ===================================================================================== */

/* Take a sample's inputs from a line of the list. Return 0 after printing an error. */
static int calibrate_line(calibration *c, const input_list *list, const list_line *line)
{
    const size_t inputs = c->ir->input_count;
    const char **names = cli_alloc(inputs, sizeof(*names));
    const char **files = cli_alloc(inputs, sizeof(*files));
    qnnrt_error err;
    for (size_t i = 0; i < inputs; ++i) names[i] = c->ir->inputs[i]->name;
    int listed = list_place(list, line, names, inputs, c->g->name, files, &err), good = 1;
    for (size_t i = 0; i < inputs && listed; ++i)
        if (files[i] == NULL && c->ir->inputs[i]->count > 0)
            listed = list_lacks(list, line, names[i], &err);
    if (!listed) fail(c->a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
    for (size_t i = 0; i < inputs && listed && good; ++i)
        if (files[i] != NULL)
            good = sample_read(c->a->t, files[i], c->ir->inputs[i], c->inputs[i]);
    free((void *)names);
    free((void *)files);
    return listed && good;
}

/* Keep a value that the part reads. */
static qnnrt_result calibrate_watch(void *user, const qnnrt_ir_node *node, size_t output,
                                    const void *data, qnnrt_error *err)
{
    const calibration *c = user;
    const qnnrt_ir_value *value = node->outputs[output];
    qnnrt_ir_run_desc wide = {0};
    (void)err;
    wide.wide = 1;
    for (size_t i = 0; i < c->part->input_count; ++i)
        if (strcmp(c->part->inputs[i]->name, value->name) == 0)
            value_get(qnnrt_ir_run_dtype(&wide, value), data, c->fed[i], value->count);
    return QNNRT_OK;
}

/* Compute what the part reads, on the host. Return 0 after printing an error. */
static int calibrate_feed(calibration *c, size_t number)
{
    const size_t inputs = c->ir->input_count;
    const void **given = cli_alloc(inputs, sizeof(*given));
    void **room = cli_alloc(inputs, sizeof(*room));
    void **none = cli_alloc(c->ir->output_count, sizeof(*none));
    qnnrt_ir_run_desc desc = {0};
    verify loads = {0};
    qnnrt_error err;
    desc.load = verify_load;
    desc.load_user = &loads;
    desc.watch = calibrate_watch;
    desc.watch_user = c;
    desc.wide = desc.ready = 1;
    for (size_t i = 0; i < inputs; ++i) {
        const qnnrt_ir_value *value = c->ir->inputs[i];
        const qnnrt_dtype dtype = qnnrt_ir_run_dtype(&desc, value);
        given[i] = room[i] = cli_alloc((size_t)value->count, qnnrt_ir_dtype_bytes(dtype));
        value_put(dtype, c->inputs[i], room[i], value->count);
        for (size_t k = 0; k < c->part->input_count; ++k)
            if (strcmp(c->part->inputs[k]->name, value->name) == 0)
                memcpy(c->fed[k], c->inputs[i], (size_t)value->count * sizeof(double));
    }
    const int good = qnnrt_ir_run(c->ir, &desc, given, none, &err) == QNNRT_OK;
    if (!good) fail(c->a->t, NULL, cli_hint(&err), "%s, line %lu: %s", c->list,
                    (unsigned long)number, cli_told(&err));
    for (size_t i = 0; i < inputs; ++i) free(room[i]);
    free(room);
    free(none);
    free((void *)given);
    return good;
}

/* Put the inputs into the run, and execute it. Return 0 after printing an error. */
static int calibrate_exec(calibration *c, size_t number)
{
    const qnnrt_lower_graph_info *info = &qnnrt_lower_get_info(c->lower)->graphs[0];
    const qnnrt_ir *ir = c->part != NULL ? c->part : c->ir;
    double **inputs = c->part != NULL ? c->fed : c->inputs;
    if (c->part != NULL && !calibrate_feed(c, number)) return 0;
    for (size_t i = 0; i < ir->input_count; ++i) {
        const qnnrt_ir_value *value = ir->inputs[i];
        const char *name = info->tensors[info->inputs[i]].name;
        const qnnrt_slot *slot = info->inputs[i] > 0 ? qnnrt_run_slot(c->run, name) : NULL;
        const int half = c->half && value_is_float(value->dtype);
        if (slot == NULL) continue;
        if (half)                                /* as constants are */
            for (uint64_t k = 0; k < value->count; ++k) {
                if (inputs[i][k] > 65504) inputs[i][k] = 65504;
                if (inputs[i][k] < -65504) inputs[i][k] = -65504;
            }
        if (slot->tensor->count != value->count ||
            !value_put(slot->tensor->dtype, inputs[i], qnnrt_data(c->run, name, NULL),
                       value->count)) {
            fail(c->a->t, NULL, NULL, "calibration: input \"%s\" has another type", value->name);
            return 0;
        }
    }
    if (qnnrt_exec(c->run) == QNNRT_OK) return 1;
    fail(c->a->t, NULL, cli_hint(qnnrt_run_error(c->run)), "%s, line %lu: %s", c->list,
         (unsigned long)number, cli_told(qnnrt_run_error(c->run)));
    return 0;
}

/* Look at all float tensors of a run. Return 0 after printing an error. */
static int calibrate_look(calibration *c, size_t number)
{
    const qnnrt_lower_graph_info *info = &qnnrt_lower_get_info(c->lower)->graphs[0];
    uint64_t bad = 0;
    size_t tensors = 0;
    const char *first = NULL;
    for (size_t i = 1; i < info->tensor_count; ++i) {
        const qnnrt_lower_tensor *tensor = &info->tensors[i];
        if (!tensor->used || !value_is_float(tensor->dtype) ||
            (tensor->kind != QNNRT_TENSOR_INPUT && tensor->kind != QNNRT_TENSOR_OUTPUT)) continue;
        const qnnrt_slot *slot = qnnrt_run_slot(c->run, tensor->name);
        if (slot == NULL) continue;
        double *values = cli_alloc((size_t)tensor->count, sizeof(*values));
        qnnrt_lower_encoding *range = &c->ranges[i];
        uint64_t wrong = 0;
        if (!value_get(slot->tensor->dtype, qnnrt_data(c->run, tensor->name, NULL), values,
                       tensor->count)) wrong = tensor->count;
        histogram *h = c->histograms != NULL ? c->histograms[i] : NULL;
        int any = range->name != NULL;
        for (uint64_t k = 0; k < tensor->count && wrong < tensor->count; ++k) {
            if (isnan(values[k]) || values[k] > 3e38) { ++wrong; continue; }
            if (values[k] <= QNNRT_LOWER_MASKED) { range->masked = 1; continue; }
            if (h != NULL) { histogram_add(h, values[k]); continue; }
            if (!any || values[k] < range->low) range->low = values[k];
            if (!any || values[k] > range->high) range->high = values[k];
            any = 1;
        }
        range->graph = c->name;
        range->name = tensor->value != NULL ? tensor->value->name : tensor->name;
        free(values);
        if (wrong > 0 && tensors++ == 0) first = range->name;
        bad += wrong;
    }
    if (bad == 0) return 1;
    fail(c->a->t, NULL, "Leave this sample out, or repair the model.",
         "%s, line %lu: %llu values of %lu tensors are NaN or infinite, the first in \"%s\"",
         c->list, (unsigned long)number, (unsigned long long)bad, (unsigned long)tensors, first);
    return 0;
}

/* Run all samples of a list. Return 0 after printing an error. */
static int calibrate_samples(calibration *c)
{
    input_list list;
    qnnrt_error err;
    int good = list_read(c->list, &list, &err);
    if (!good) fail(c->a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
    c->samples = 0;
    for (size_t i = 0; i < list.line_count && good; ++i) {
        const size_t number = list.lines[i].number;
        cli_busy(0, "sample of line %lu of %s", (unsigned long)number, c->list);
        good = calibrate_line(c, &list, &list.lines[i]) && calibrate_exec(c, number) &&
               calibrate_look(c, number);
        c->samples += good != 0;
    }
    list_free(&list);
    return good;
}

/* Run all samples again for histograms, and cut the ranges. Return how many were cut, or -1 after
   printing an error. */
static long calibrate_cut(calibration *c, size_t tensors)
{
    const uint32_t bits = c->a->t->set.compile->act_bits == 8 ? 8 : 16;
    long cut = 0;
    c->histograms = cli_alloc(tensors, sizeof(*c->histograms));
    for (size_t i = 0; i < tensors; ++i) {
        const qnnrt_lower_encoding *range = &c->ranges[i];
        if (range->name == NULL) continue;
        histogram *h = c->histograms[i] = cli_alloc(1, sizeof(*h));
        h->low = range->low < 0 ? range->low : 0;
        h->width = ((range->high > 0 ? range->high : 0) - h->low) / HISTOGRAM_BINS;
    }
    const int good = calibrate_samples(c);
    for (size_t i = 0; i < tensors; ++i) {
        qnnrt_lower_encoding *range = &c->ranges[i];
        const double low = range->low, high = range->high;
        if (c->histograms[i] == NULL) continue;
        if (c->method == RANGE_MSE)
            histogram_mse(c->histograms[i], bits, &range->low, &range->high);
        else histogram_percentile(c->histograms[i], c->percent, &range->low, &range->high);
        cut += range->low > low || range->high < high;
        free(c->histograms[i]);
    }
    free(c->histograms);
    c->histograms = NULL;
    return good ? cut : -1;
}

/* Build the float graph with all its float tensors as outputs. Return 0 after printing an error. */
static int calibrate_build(calibration *c, qnnrt_backend *backend)
{
    qnnrt_lower_desc desc = aten_desc(c->a);
    qnnrt_builder_desc builder_desc = compile_builder(c->a->t);
    const qnnrt_ir_desc plain = {0};             /* without operators of --op_map         */
    qnnrt_builder *builder = NULL;
    qnnrt_error err;
    c->half = desc.compute == QNNRT_DTYPE_F16 ||
              (desc.compute == (qnnrt_dtype)0 && desc.target == QNNRT_LOWER_HTP);
    desc.watch = 2;
    desc.contexts = 1;
    desc.act_bits = 0;
    desc.encodings = NULL;
    desc.encoding_count = 0;
    desc.weight_bits = desc.weight_block = 0;
    desc.weight_bits_of = NULL;
    qnnrt_result result = qnnrt_lower_create(&desc, &c->lower, &err);
    if (result == QNNRT_OK) result = qnnrt_ir_copy(c->g->read, &plain, &c->ir, &err);
    if (result == QNNRT_OK) result = qnnrt_ir_check(c->ir, NULL, NULL, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_weights(c->lower, c->ir, c->g->weights, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_passes(c->lower, c->ir, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_graph(c->lower, c->ir, c->g->name, &err);
    if (result == QNNRT_OK) result = qnnrt_builder_create(backend, &builder_desc, &builder, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_emit(c->lower, builder, &err);
    if (result == QNNRT_OK) {
        result = qnnrt_builder_finish(builder, &c->model, &err);
        builder = NULL;
    }
    qnnrt_builder_destroy(builder);
    if (result == QNNRT_OK) result = qnnrt_prepare(c->model, c->g->name, &c->run, &err);
    if (result == QNNRT_OK) return 1;
    fail(c->a->t, NULL, cli_hint(&err), "calibration of graph \"%s\": %s", c->g->name,
         cli_told(&err));
    return 0;
}

int calibrate_run(calibration *c, uint64_t begin)
{
    const qnnrt_lower_graph_info *info = &qnnrt_lower_get_info(c->lower)->graphs[0];
    const size_t tensors = info->tensor_count;
    size_t count = 0;
    c->ranges = cli_alloc(tensors, sizeof(*c->ranges));
    c->inputs = cli_alloc(c->ir->input_count, sizeof(*c->inputs));
    for (size_t i = 0; i < c->ir->input_count; ++i)
        c->inputs[i] = cli_alloc((size_t)c->ir->inputs[i]->count, sizeof(double));
    range_method_of(c->a->t->set.compile->calibrate_method, &c->method, &c->percent);
    int good = calibrate_samples(c);
    long cut = 0;
    if (good && c->method != RANGE_MINMAX) cut = calibrate_cut(c, tensors);
    good = good && cut >= 0;
    for (size_t i = 0; i < tensors && good; ++i) {
        if (c->ranges[i].name == NULL) continue;
        c->a->encodings = cli_grow(c->a->encodings, c->a->encoding_count, &c->a->encoding_room,
                                sizeof(*c->a->encodings));
        c->a->encodings[c->a->encoding_count] = c->ranges[i];
        c->a->encodings[c->a->encoding_count++].name = cli_text("%s", c->ranges[i].name);
        ++count;
    }
    if (good)
        say(c->a->t, "calibrated graph \"%s\": %lu samples, ranges of %lu tensors, %ld of them"
                  " cut, %.2f s\n", c->name, (unsigned long)c->samples, (unsigned long)count,
            cut, (double)(cli_now_ns() - begin) / 1e9);
    for (size_t i = 0; i < c->ir->input_count; ++i) free(c->inputs[i]);
    free(c->inputs);
    free(c->ranges);
    return good;
}

/* Calibrate one graph, and append its ranges to a->encodings. Return 0 after printing an error. */
static int calibrate_graph(aten *a, aten_graph *g, const char *list, qnnrt_backend *backend)
{
    calibration c = {0};
    const uint64_t begin = cli_now_ns();
    c.a = a;
    c.g = g;
    c.list = list;
    c.name = g->name;
    const int good = calibrate_build(&c, backend) && calibrate_run(&c, begin);
    qnnrt_run_destroy(c.run);
    qnnrt_close(c.model);
    qnnrt_ir_free(c.ir);
    qnnrt_lower_free(c.lower);
    return good;
}

/* Ask whether the opened backend takes quantized activations. Return 0 after printing an error. */
static int calibrate_is_possible(aten *a)
{
    const qnnrt_lower_desc desc = aten_desc(a);
    qnnrt_lower *lower = NULL;
    qnnrt_error err;
    const int good = qnnrt_lower_create(&desc, &lower, &err) == QNNRT_OK;
    if (!good) fail(a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
    qnnrt_lower_free(lower);
    return good;
}

int calibrate(aten *a)
{
    const compile_settings *c = a->t->set.compile;
    qnnrt_backend_desc desc;
    qnnrt_backend *other = NULL;
    qnnrt_error err;
    int good = 1;
    if (!quantizes(c)) return 1;
    if (!calibrate_is_possible(a)) return 0;         /* before samples are run */
    if (c->calibrate.count == 0) return 1;
    backend_options(a->t, &desc);
    desc.soc_model = 0;
    if (c->calibrate_so != NULL) {
        desc.path = c->calibrate_so;
        if (qnnrt_backend_open(&desc, &other, &err) != QNNRT_OK) {
            fail_backend(a->t, &err);
            return 0;
        }
        good = register_packages(a->t, other, NULL, 1);
    }
    for (size_t i = 0; i < a->graph_count && good; ++i)
        good = calibrate_graph(a, &a->graphs[i],
                               c->calibrate.items[c->calibrate.count == 1 ? 0 : i],
                               other != NULL ? other : a->t->backend);
    qnnrt_backend_close(other);
    return good;
}
