/* samples.c - statistics of measured times

   ROOMS     >>samples >>rivals */
#include "run/measure/measure.h"

#include <math.h>

/* =====================================================================================
   SAMPLES                                                                       >>samples
   Quantiles and a histogram of a list of times in nanoseconds, and files that hold such a list.
   ===================================================================================== */

void add_sample(samples *list, double ns)
{
    list->ns = cli_grow(list->ns, list->count, &list->room, sizeof(*list->ns));
    list->ns[list->count++] = ns;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Return the quantile `part` of sorted values: the least one that part * count values do not
   exceed ("nearest rank"), so that it is a value that was measured. */
static double quantile(const double *sorted, size_t count, double part)
{
    size_t rank = (size_t)ceil(part * (double)count - 1e-9);
    if (rank < 1) rank = 1;
    return sorted[(rank < count ? rank : count) - 1];
}

static double median_of(const double *sorted, size_t count)
{
    return count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

summary sum_up(samples *list)
{
    summary s = {0, 0, 0, 0, 0, 0, 0, 0};
    double sum = 0;
    if (list->count == 0) return s;
    qsort(list->ns, list->count, sizeof(*list->ns), compare_doubles);
    for (size_t i = 0; i < list->count; ++i) sum += list->ns[i];
    s.count = list->count;
    s.least = list->ns[0];
    s.median = median_of(list->ns, list->count);
    s.p90 = quantile(list->ns, list->count, 0.9);
    s.p99 = quantile(list->ns, list->count, 0.99);
    s.p999 = quantile(list->ns, list->count, 0.999);
    s.most = list->ns[list->count - 1];
    s.mean = sum / (double)list->count;
    return s;
}

time_bars count_bins(const samples *list, const summary *s)
{
    time_bars h;
    memset(&h, 0, sizeof(h));
    h.width = (s->p99 - s->least) / TIME_BINS;
    for (size_t i = 0; i < list->count; ++i) {
        const double ns = list->ns[i];
        size_t bin = 0;
        while (bin + 1 < TIME_BINS && ns >= s->least + (double)(bin + 1) * h.width) ++bin;
        if (h.width <= 0) bin = 0;
        ++h.bins[ns > s->p99 ? TIME_BINS : bin];
    }
    return h;
}

int read_samples(tool *t, const char *path, samples *list)
{
    char line[128];
    FILE *file = fopen(path, "r");
    size_t number = 0;
    int good = file != NULL;
    if (!good) fail(t, NULL, NULL, "cannot read %s: %s", path, strerror(errno));
    while (good && fgets(line, sizeof(line), file) != NULL) {
        double ns = 0;
        ++number;
        line[strcspn(line, " \t\r\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0') continue;
        good = cli_real(line, &ns) && ns > 0 && ns < 1e18;
        if (good) add_sample(list, ns);
        else
            fail(t, NULL, "Write one time in nanoseconds on each line.",
                 "%s, line %lu: expected a number greater than 0", path, (unsigned long)number);
    }
    if (good && ferror(file)) {
        fail(t, NULL, NULL, "cannot read %s: %s", path, strerror(errno));
        good = 0;
    }
    if (good && list->count == 0) {
        fail(t, NULL, NULL, "%s has no times", path);
        good = 0;
    }
    if (file != NULL) fclose(file);
    return good;
}

char *time_text(double ns)
{
    return ns < 1e4 ? cli_text("%.0f ns", ns) : ns < 1e6 ? cli_text("%.2f us", ns / 1e3)
        : ns < 1e9 ? cli_text("%.3f ms", ns / 1e6) : cli_text("%.3f s", ns / 1e9);
}

/* =====================================================================================
   RIVALS                                                                         >>rivals
   Which of two sides is faster, from times that were measured in turns.

   Every round has one time of each side, measured one right after the other in random order, so
   that a load that comes and goes meets both. The estimate is that of Hodges and Lehmann: the
   median of the means of all pairs of log ratios. Its interval comes from the ranks that Wilcoxon's
   signed-rank test accepts, by the normal approximation (Hollander, Wolfe, Chicken: Nonparametric
   Statistical Methods, 3rd ed., sections 3.2 and 3.3). Neither needs a normal distribution, and a
   few wild rounds move them little. A side is slower only if the interval leaves 1 out and the
   estimate is at least the least difference that counts: with enough rounds, differences show that
   nobody would notice, and which the place of code in memory can make.
   ===================================================================================== */

const char *const verdict_words[] = {"no difference", "faster", "slower"};

#define CONFIDENCE_Z 2.5758293035489004    /* of 99 percent, two-sided                         */

void add_round(rivals *r, double a_ns, double b_ns)
{
    r->logs = cli_grow(r->logs, r->count, &r->room, sizeof(*r->logs));
    r->logs[r->count++] = log(b_ns / a_ns);
}

void judge(rivals *r, double least)
{
    const size_t n = r->count, all = n * (n + 1) / 2;
    const double N = (double)n, expected = N * (N + 1) / 4;
    const double spread = sqrt(N * (N + 1) * (2 * N + 1) / 24);
    const double at = floor(expected - CONFIDENCE_Z * spread);
    const size_t rank = at < 1 ? 1 : (size_t)at;
    OWNED double *means = cli_alloc(all, sizeof(*means));
    for (size_t i = 0, k = 0; i < n; ++i)
        for (size_t j = i; j < n; ++j) means[k++] = (r->logs[i] + r->logs[j]) / 2;
    qsort(means, all, sizeof(*means), compare_doubles);
    r->ratio = exp(median_of(means, all));
    r->low = exp(means[rank - 1]);
    r->high = exp(means[all - rank]);
    r->says = r->low > 1 && r->ratio >= 1 + least       ? B_IS_SLOWER
              : r->high < 1 && r->ratio <= 1 / (1 + least) ? B_IS_FASTER : NO_DIFFERENCE;
}

int is_precise(const rivals *r, double least)
{
    return log(r->high / r->low) / 2 <= log(1 + least) / 2;
}
