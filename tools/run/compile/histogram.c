/* histogram.c - samples of calibration, and a histogram of the values of a tensor

   ROOMS     >>calibration >>histogram */
#include "run/compile/aten.h"
#include "run/io/io.h"
#include "run/show/show.h"

#include <math.h>

/* =====================================================================================
   CALIBRATION SAMPLES                                                      >>calibration
   Inputs of a graph from the files that a line of a list names: .raw, .npy or .safetensors.
   ===================================================================================== */

/* Print that a file is not usable for an input. */
static void sample_fail(const tool *t, const char *path, const qnnrt_ir_value *value,
                        const qnnrt_error *err)
{
    OWNED page p = {NULL, 0, 0};
    page_dims(&p, value->rank, value->dims);
    fail((tool *)(uintptr_t)t, NULL, cli_hint(err),
         "calibration data %s for input \"%s\", %s %s: %s", path, value->name,
         qnnrt_ir_dtype_name(value->dtype), p.data, cli_told(err));
}

int sample_read(const tool *t, const char *path, const qnnrt_ir_value *value, double *out)
{
    static const char hint[] = "Write the samples with the shapes of the graph's inputs.";
    const qnnrt_dtype outer = value_is_float(value->dtype) ? QNNRT_DTYPE_F32 : QNNRT_DTYPE_I32;
    const qnnrt_dtype types[] = {value->dtype, outer};
    uint32_t dims[QNNRT_IR_RANK];
    value_file file;
    qnnrt_error err;
    int good = value_open(path, value->name, VALUE_BYTES, &file, &err);
    for (uint32_t i = 0; i < value->rank; ++i) dims[i] = (uint32_t)value->dims[i];
    if (!good) {
        if (file.room == NULL && file.weights == NULL)
            snprintf(err.hint, sizeof(err.hint),
                     "Name the files of samples as they are found from the current folder.");
    } else if (file.dtype == QNNRT_DTYPE_UNDEFINED) {
        good = 0;
        for (size_t i = 0; i < 2 && !good; ++i)
            good = file.bytes == value->count * qnnrt_ir_dtype_bytes(types[i]) &&
                   value_get(types[i], file.data, out, value->count);
        if (!good)
            value_fail(&err, hint, "it has %lu bytes, expected %llu", (unsigned long)file.bytes,
                       (unsigned long long)(value->count * qnnrt_ir_dtype_bytes(value->dtype)));
    } else if (file.count != value->count || !value_fits(&file, value->rank, dims)) {
        OWNED char *found = value_dims(&file);
        good = value_fail(&err, hint, "it has %s", found);
    } else {
        good = value_get(file.dtype, file.data, out, file.count);
        if (!good) value_fail(&err, hint, "its type cannot be read");
    }
    if (!good) sample_fail(t, path, value, &err);
    value_close(&file);
    return good;
}

int sample_line(tool *t, const input_list *list, const list_line *line, const qnnrt_ir *ir,
                const char *graph, double *const *inputs)
{
    OWNED const char **names = cli_alloc(ir->input_count, sizeof(*names));
    OWNED const char **files = cli_alloc(ir->input_count, sizeof(*files));
    qnnrt_error err;
    for (size_t i = 0; i < ir->input_count; ++i) names[i] = ir->inputs[i]->name;
    int listed = list_place(list, line, names, ir->input_count, graph, files, &err), good = 1;
    for (size_t i = 0; i < ir->input_count && listed; ++i)
        if (files[i] == NULL && ir->inputs[i]->count > 0)
            listed = list_lacks(list, line, names[i], &err);
    if (!listed) fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
    for (size_t i = 0; i < ir->input_count && listed && good; ++i)
        if (files[i] != NULL) good = sample_read(t, files[i], ir->inputs[i], inputs[i]);
    return listed && good;
}

/* =====================================================================================
   HISTOGRAM                                                                  >>histogram
   The values of a tensor in bins of equal width, and the ranges that leave outliers out. Limits of
   ranges are edges of bins: a tensor takes 32 KiB, and no range is finer than 1/4096 of what was
   measured.
   ===================================================================================== */

/* Sums over the bins below an edge, or above it. */
typedef struct histogram_sums {
    double count[HISTOGRAM_BINS + 1], cost[HISTOGRAM_BINS + 1];
} histogram_sums;

/* Return the edge number i. */
static double histogram_edge(const histogram *h, size_t i)
{
    return h->low + h->width * (double)i;
}

void histogram_add(histogram *h, double value)
{
    const double at = h->width > 0 ? (value - h->low) / h->width : 0;
    h->zeros += value == 0;
    h->bins[!(at > 0) ? 0 : at < HISTOGRAM_BINS ? (size_t)at : HISTOGRAM_BINS - 1] += 1;
}

void histogram_percentile(const histogram *h, double percent, double *low, double *high)
{
    double total = 0, left = 0;
    size_t i = 0;
    for (size_t k = 0; k < HISTOGRAM_BINS; ++k) total += (double)h->bins[k];
    const double most = floor(total * (100 - percent) / 100);
    for (; i < HISTOGRAM_BINS && left + (double)h->bins[i] <= most; ++i) left += (double)h->bins[i];
    if (histogram_edge(h, i) > *low) *low = histogram_edge(h, i);
    for (i = HISTOGRAM_BINS, left = 0; i > 0 && left + (double)h->bins[i - 1] <= most; --i)
        left += (double)h->bins[i - 1];
    if (histogram_edge(h, i) < *high) *high = histogram_edge(h, i);
}

/* Sum up what clipping at each edge costs: below: of the values below the edge, else above it. */
static void histogram_costs(const histogram *h, int below, histogram_sums *sums)
{
    double count = 0, first = 0, second = 0;     /* of distances to the edge, in bins */
    for (size_t i = 0; i <= HISTOGRAM_BINS; ++i) {
        const size_t edge = below ? i : HISTOGRAM_BINS - i;
        if (i > 0) {                             /* all are a bin farther; those of one bin more */
            const double more = (double)h->bins[below ? i - 1 : HISTOGRAM_BINS - i];
            second += 2 * first + count + more / 4;
            first += count + more / 2;
            count += more;
        }
        sums->count[edge] = count;
        sums->cost[edge] = second * h->width * h->width;
    }
}

/* Return the square error of values from edge `from` to edge `to`: a 12th of a step for values
   between them, except 0, and the distance of those beyond. */
static double histogram_error(const histogram *h, const histogram_sums *below,
                              const histogram_sums *above, size_t from, size_t to, double most)
{
    const double step = (double)(to - from) * h->width / most;
    const double inside = below->count[HISTOGRAM_BINS] - below->count[from] - above->count[to] -
                          (double)h->zeros;
    return inside * step * step / 12 + below->cost[from] + above->cost[to];
}

/* List edges between which a limit may lie, from the outermost at a distance of `bins` from 0 to
   the one next to 0, in steps of 2^(1/16). Return how many. */
static size_t histogram_cuts(double bins, size_t cuts[HISTOGRAM_CUTS])
{
    size_t count = 0;
    for (size_t i = 0; i < HISTOGRAM_CUTS; ++i) {
        const size_t cut = (size_t)-floor(-bins * pow(2, -(double)i / 16));
        if (count == 0 || cut < cuts[count - 1]) cuts[count++] = cut;
    }
    return count;
}

void histogram_mse(const histogram *h, uint32_t bits, double *low, double *high)
{
    const double most = bits == 8 ? 255 : 65535;
    const size_t zero = h->width > 0 ? (size_t)floor(-h->low / h->width) : 0;
    const size_t lowest = zero < HISTOGRAM_BINS ? zero : HISTOGRAM_BINS;     /* edges around 0 */
    const size_t highest = histogram_edge(h, lowest) < 0 ? lowest + 1 : lowest;
    OWNED histogram_sums *below = cli_alloc(1, sizeof(*below));
    OWNED histogram_sums *above = cli_alloc(1, sizeof(*above));
    size_t lows[HISTOGRAM_CUTS], highs[HISTOGRAM_CUTS];
    size_t from = 0, to = HISTOGRAM_BINS;
    histogram_costs(h, 1, below);
    histogram_costs(h, 0, above);
    const size_t low_count = histogram_cuts((double)lowest, lows);
    const size_t high_count = histogram_cuts((double)(HISTOGRAM_BINS - highest), highs);
    double best = histogram_error(h, below, above, from, to, most), before;
    for (size_t i = 0; i < low_count; ++i)
        for (size_t k = 0; k < high_count; ++k) {
            const size_t a = lowest - lows[i], b = highest + highs[k];
            const double error = histogram_error(h, below, above, a, b, most);
            if (!(error < best)) continue;
            best = error;
            from = a;
            to = b;
        }
    do {
        before = best;
        for (int upper = 0; upper < 2; ++upper)
            for (size_t i = upper ? highest : 0; i <= (upper ? HISTOGRAM_BINS : lowest); ++i) {
                const size_t a = upper ? from : i, b = upper ? i : to;
                const double error = histogram_error(h, below, above, a, b, most);
                if (!(error < best)) continue;
                best = error;
                from = a;
                to = b;
            }
    } while (best < before);
    if (from > 0 && histogram_edge(h, from) > *low) *low = histogram_edge(h, from);
    if (to < HISTOGRAM_BINS && histogram_edge(h, to) < *high) *high = histogram_edge(h, to);
}
