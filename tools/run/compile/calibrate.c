/* calibrate.c - ranges of activations from samples

   ROOM     >>calibrate */
#include "run/compile/aten.h"
#include "run/compile/exported.h"
#include "run/model/model.h"
#include "run/io/io.h"

#include <math.h>

#include "cli/stages.h"

/* =====================================================================================
   CALIBRATE                                                                  >>calibrate
   Builds the float graphs with every float tensor as an output, runs them with the samples, and
   keeps what the tensors had. Methods with histograms run the samples a second time.
   ===================================================================================== */

/* What the places of a list are: lines of a file, or samples of an exported folder. */
static const char *calibrate_place(const calibration *c)
{
    return exported_is(c->list) ? "sample" : "line";
}

/* Put the inputs into the run, and execute it. Return 0 after printing an error. */
static int calibrate_exec(calibration *c, size_t number)
{
    qnnrt_error err;
    if (step_feed(&c->step, c->inputs, &err) != QNNRT_OK) {
        fail(c->a->t, NULL, cli_hint(&err), "%s, %s %lu: %s", c->list, calibrate_place(c),
             (unsigned long)number, cli_told(&err));
        return 0;
    }
    if (!step_put(&c->step, c->a, c->half, "calibration")) return 0;
    if (qnnrt_exec(c->step.run) == QNNRT_OK) return 1;
    fail(c->a->t, NULL, cli_hint(qnnrt_run_error(c->step.run)), "%s, %s %lu: %s", c->list,
         calibrate_place(c), (unsigned long)number, cli_told(qnnrt_run_error(c->step.run)));
    return 0;
}

/* Look at all float tensors of a run. Return 0 after printing an error. */
static int calibrate_look(calibration *c, size_t number)
{
    const qnnrt_lower_graph_info *info = c->step.info;
    uint64_t bad = 0, beyond = 0;
    size_t tensors = 0;
    const char *first = NULL, *left = NULL;
    for (size_t i = 1; i < info->tensor_count; ++i) {
        const qnnrt_lower_tensor *tensor = &info->tensors[i];
        if (!tensor->used || !value_is_float(tensor->dtype) ||
            (tensor->kind != QNNRT_TENSOR_INPUT && tensor->kind != QNNRT_TENSOR_OUTPUT)) continue;
        const qnnrt_slot *slot = qnnrt_run_slot(c->step.run, tensor->name);
        if (slot == NULL) continue;
        OWNED double *values = cli_alloc((size_t)tensor->count, sizeof(*values));
        qnnrt_lower_encoding *range = &c->ranges[i];
        uint64_t wrong = 0;
        if (!value_get(slot->tensor->dtype, qnnrt_data(c->step.run, tensor->name, NULL), values,
                       tensor->count)) wrong = tensor->count;
        histogram *h = c->histograms != NULL ? c->histograms[i] : NULL;
        int any = range->name != NULL;
        for (uint64_t k = 0; k < tensor->count && wrong < tensor->count; ++k) {
            if (isnan(values[k]) || values[k] > 3e38) { ++wrong; continue; }
            if (values[k] <= QNNRT_LOWER_MASKED) { range->masked = 1; continue; }
            if (c->narrow && values[k] >= 65504 && beyond++ == 0)
                left = tensor->value != NULL ? tensor->value->name : tensor->name;
            if (h != NULL) { histogram_add(h, values[k]); continue; }
            if (!any || values[k] < range->low) range->low = values[k];
            if (!any || values[k] > range->high) range->high = values[k];
            any = 1;
        }
        range->graph = c->name;
        range->name = tensor->value != NULL ? tensor->value->name : tensor->name;
        if (wrong > 0 && tensors++ == 0) first = range->name;
        bad += wrong;
    }
    if (bad == 0 && beyond == 0) return 1;
    if (bad == 0)
        fail(c->a->t, NULL, "Calibrate in float32, with --calibrate_so libQnnRef.so.",
             "%s, %s %lu: %llu values are 65504, the largest number of float16, or beyond, the "
             "first in \"%s\"", c->list, calibrate_place(c), (unsigned long)number,
             (unsigned long long)beyond, left);
    else fail(c->a->t, NULL, "Leave this sample out, or repair the model.",
         "%s, %s %lu: %llu values of %lu tensors are NaN or infinite, the first in \"%s\"",
         c->list, calibrate_place(c), (unsigned long)number, (unsigned long long)bad,
         (unsigned long)tensors, first);
    return 0;
}

/* Read the inputs of a sample of an exported folder. Return 0 after printing an error. */
static int calibrate_inputs(calibration *c, const exported_samples *samples, uint32_t number)
{
    int there = 1;
    for (size_t i = 0; i < c->step.ir->input_count && there == 1; ++i) {
        const qnnrt_ir_value *value = c->step.ir->inputs[i];
        there = exported_get(c->a->t, samples, number, "input", value, c->inputs[i]);
        if (there == 0)
            fail(c->a->t, NULL, "Export the model again.", "%s, sample %lu has no input \"%s\"",
                 c->list, (unsigned long)number, value->name);
    }
    return there == 1;
}

/* Run all samples of an exported folder. Return 0 after printing an error. */
static int calibrate_exported(calibration *c)
{
    exported_samples samples = {0};
    int good = exported_open(c->a->t, c->list, &samples);
    if (good && samples.file == NULL) {
        fail(c->a->t, NULL, "Name a list of samples with --calibrate LIST.", "%s has no samples",
             c->list);
        good = 0;
    }
    c->samples = 0;
    for (uint32_t number = 0; number < samples.count && good; ++number) {
        cli_busy(0, "sample %lu of %s", (unsigned long)number, c->list);
        good = calibrate_inputs(c, &samples, number) && calibrate_exec(c, number) &&
               calibrate_look(c, number);
        c->samples += good != 0;
    }
    exported_close(&samples);
    return good;
}

/* Run all samples of a list. Return 0 after printing an error. */
static int calibrate_samples(calibration *c)
{
    if (exported_is(c->list)) return calibrate_exported(c);
    input_list list;
    qnnrt_error err;
    int good = list_read(c->list, &list, &err);
    if (!good) fail(c->a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
    c->samples = 0;
    for (size_t i = 0; i < list.line_count && good; ++i) {
        const size_t number = list.lines[i].number;
        cli_busy(0, "sample of line %lu of %s", (unsigned long)number, c->list);
        good = sample_line(c->a->t, &list, &list.lines[i], c->step.ir, c->g->name, c->inputs) &&
               calibrate_exec(c, number) && calibrate_look(c, number);
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

/* Run the samples, and append what they show to the encodings. Return 0 after printing an error. */
static int calibrate_run(calibration *c, uint64_t begin)
{
    const qnnrt_lower_graph_info *info = c->step.info;
    const size_t tensors = info->tensor_count;
    size_t count = 0;
    c->ranges = cli_alloc(tensors, sizeof(*c->ranges));
    c->inputs = cli_alloc(c->step.ir->input_count, sizeof(*c->inputs));
    for (size_t i = 0; i < c->step.ir->input_count; ++i)
        c->inputs[i] = cli_alloc((size_t)c->step.ir->inputs[i]->count, sizeof(double));
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
    for (size_t i = 0; i < c->step.ir->input_count; ++i) free(c->inputs[i]);
    free(c->inputs);
    free(c->ranges);
    return good;
}

/* Return true if a backend computes with quantized activations. */
static int calibrate_quantizes(const aten *a, size_t backend)
{
    const qnnrt_backend *library = a->target.backends[backend].backend;
    return library != NULL &&
           qnnrt_lower_target_of(qnnrt_backend_get_info(library)) != QNNRT_LOWER_CPU;
}

/* Calibrate a step of a plan. on: the library of --calibrate_so, or NULL. Return 0 after printing
   an error. */
static int calibrate_step(aten *a, qnnrt_compile *program, size_t graph, size_t step,
                          qnnrt_backend *on)
{
    const cli_list *lists = &a->t->set.compile->calibrate;
    const qnnrt_compile_step *planned =
        &qnnrt_compile_get_info(program)->graphs[graph].steps[step];
    const step_at at = {graph, step, 2, on};
    const uint64_t begin = cli_now_ns();
    calibration c = {0};
    c.a = a;
    c.g = &a->graphs[graph];
    c.list = lists->items[lists->count == 1 ? 0 : graph];
    c.name = target_keep(a, cli_text("%s", planned->name));
    c.half = !a->t->set.compile->fp32 && target_is_half(a, planned->backend);
    c.narrow = on == NULL ? target_is_half(a, planned->backend)
               : qnnrt_lower_target_of(qnnrt_backend_get_info(on)) == QNNRT_LOWER_HTP;
    const int good = step_open(&c.step, a, program, &at, "calibration") && calibrate_run(&c, begin);
    step_close(&c.step);
    return good;
}

/* Plan the graphs in floats, and calibrate the steps of backends that compute quantized. Return 0
   after printing an error. */
static int calibrate_all(aten *a, qnnrt_backend *on)
{
    qnnrt_compile_desc desc = program_desc(a);
    OWNED qnnrt_ir **graphs = cli_alloc(a->graph_count, sizeof(*graphs));
    qnnrt_compile *program = NULL;
    qnnrt_error err;
    desc.told = NULL;
    desc.lower.act_bits = 0;
    desc.lower.encodings = NULL;
    desc.lower.encoding_count = 0;
    qnnrt_result result = qnnrt_compile_create(&desc, &program, &err);
    for (size_t i = 0; i < a->graph_count && result == QNNRT_OK; ++i) {
        graphs[i] = program_read(a, &a->graphs[i], &err);
        result = graphs[i] != NULL ? program_add(a, program, i, graphs[i], &err) : err.code;
    }
    if (result == QNNRT_OK) result = qnnrt_compile_plan(program, &err);
    if (result != QNNRT_OK) fail(a->t, NULL, cli_hint(&err), "calibration: %s", cli_told(&err));
    int good = result == QNNRT_OK;
    const qnnrt_compile_info *info = good ? qnnrt_compile_get_info(program) : NULL;
    for (size_t i = 0; good && i < info->graph_count; ++i)
        for (size_t k = 0; k < info->graphs[i].step_count && good; ++k)
            if (calibrate_quantizes(a, info->graphs[i].steps[k].backend))
                good = calibrate_step(a, program, i, k, on);
    qnnrt_compile_free(program);
    for (size_t i = 0; i < a->graph_count; ++i) qnnrt_ir_free(graphs[i]);
    return good;
}

/* Find out whether a backend takes quantized activations, before samples are run. Return 0 after
   printing an error. */
static int calibrate_is_possible(aten *a)
{
    const qnnrt_compile_desc desc = program_desc(a);
    qnnrt_compile *program = NULL;
    qnnrt_error err;
    size_t i = 0;
    while (i < a->target.backend_count && !calibrate_quantizes(a, i)) ++i;
    if (i < a->target.backend_count) return 1;
    if (!a->target.whole)
        fail(a->t, NULL, "Name a library that computes quantized, such as libQnnHtp.so.",
             "none of the --backends computes with quantized activations");
    else if (qnnrt_compile_create(&desc, &program, &err) != QNNRT_OK)
        fail(a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
    qnnrt_compile_free(program);
    return !a->t->failed;
}

int calibrate(aten *a)
{
    const compile_settings *c = a->t->set.compile;
    qnnrt_backend_desc desc;
    qnnrt_backend *other = NULL;
    qnnrt_error err;
    if (!quantizes(c)) return 1;
    if (!calibrate_is_possible(a)) return 0;
    if (c->calibrate.count == 0) return 1;
    if (c->calibrate_so == NULL) return calibrate_all(a, NULL);
    backend_options(a->t, &desc);
    desc.soc_model = 0;
    desc.path = c->calibrate_so;
    if (qnnrt_backend_open(&desc, &other, &err) != QNNRT_OK) {
        fail_backend(a->t, &err);
        return 0;
    }
    const int good = register_packages(a->t, other, NULL, 1) && calibrate_all(a, other);
    qnnrt_backend_close(other);
    return good;
}
