/* digest.c - what the outputs of a run hold, and its times as it runs

   ROOMS     >>digest >>watch */
#include "run/io/io.h"

#include <math.h>

/* =====================================================================================
   DIGEST                                                                       >>digest
   The range of an output, its first values, and its largest ones with their places.
   ===================================================================================== */

enum { DIGEST_VALUES = 5 };

typedef struct digest {
    size_t   slot;
    uint64_t count, nans, infinities;  /* values, and those that are no number             */
    double   min, max, mean;           /* of the others                                    */
    double   first[DIGEST_VALUES];
    size_t   top[DIGEST_VALUES];       /* [top_count] places of the largest, in order      */
    double   tops[DIGEST_VALUES];
    size_t   top_count;
} digest;

/* Keep a value if it is among the largest; of equal ones the first. */
static void digest_top(digest *d, size_t place, double value)
{
    size_t at = d->top_count;
    while (at > 0 && d->tops[at - 1] < value) --at;
    if (at == DIGEST_VALUES) return;
    const size_t last = d->top_count < DIGEST_VALUES ? d->top_count++ : DIGEST_VALUES - 1;
    for (size_t i = last; i > at; --i) {
        d->tops[i] = d->tops[i - 1];
        d->top[i] = d->top[i - 1];
    }
    d->tops[at] = value;
    d->top[at] = place;
}

/* Sum up the values of a tensor. */
static void digest_of(digest *d, const double *values, size_t count)
{
    double sum = 0;
    size_t numbers = 0;
    d->count = count;
    for (size_t i = 0; i < count; ++i) {
        if (i < DIGEST_VALUES) d->first[i] = values[i];
        d->nans += isnan(values[i]) != 0;
        d->infinities += isinf(values[i]) != 0;
        if (!isfinite(values[i])) continue;
        if (numbers++ == 0) d->min = d->max = values[i];
        if (values[i] < d->min) d->min = values[i];
        if (values[i] > d->max) d->max = values[i];
        sum += values[i];
        digest_top(d, i, values[i]);
    }
    d->mean = numbers > 0 ? sum / (double)numbers : 0;
}

/* Read the values of an output as they are now. Return NULL for a type without numbers. The caller
   frees them. */
static double *digest_values(qnnrt_run *run, const qnnrt_slot *slot, size_t *count)
{
    const qnnrt_tensor_info tensor = tensor_now(run, slot);
    const qnnrt_dtype stored = value_stored(tensor.dtype);
    const size_t size = value_size(stored);
    *count = (size_t)tensor.count;
    double *values = cli_alloc(*count, sizeof(*values));
    const void *data = qnnrt_data_slot(run, slot, NULL);
    int good = data != NULL && size > 0 && tensor.bytes == tensor.count * size;
    if (good && stored == tensor.dtype) {
        good = value_get(stored, data, values, tensor.count);
    } else if (good) {
        OWNED float *reals = cli_alloc(*count, sizeof(*reals));
        good = qnnrt_read_f32(run, slot, 0, reals, *count) == QNNRT_OK;
        for (size_t i = 0; i < *count && good; ++i) values[i] = (double)reals[i];
    }
    if (good) return values;
    free(values);
    return NULL;
}

void take_digests(job *j, qnnrt_run *run)
{
    j->digests = cli_alloc(j->info->slot_count, sizeof(*j->digests));
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        size_t count = 0;
        if (j->info->slots[i].role != QNNRT_ROLE_OUTPUT) continue;
        OWNED double *values = digest_values(run, &j->info->slots[i], &count);
        if (values == NULL) continue;
        j->digests[j->digest_count].slot = i;
        digest_of(&j->digests[j->digest_count++], values, count);
    }
}

void say_digests(const tool *t, const job *j)
{
    enum { LISTED = 8 };
    for (size_t i = 0; i < j->digest_count && i < LISTED; ++i) {
        const digest *d = &j->digests[i];
        OWNED char *name = cli_shown(j->info->slots[d->slot].address);
        say(t, "  values    \"%s\" %llu value%s: min %.6g, max %.6g, mean %.6g", name,
            (unsigned long long)d->count, cli_plural(d->count), d->min, d->max, d->mean);
        if (d->nans > 0) say(t, ", %llu NaN", (unsigned long long)d->nans);
        if (d->infinities > 0) say(t, ", %llu infinite", (unsigned long long)d->infinities);
        say(t, "\n            first");
        for (size_t k = 0; k < DIGEST_VALUES && k < d->count; ++k) say(t, " %.6g", d->first[k]);
        if (d->count > DIGEST_VALUES) say(t, " ...");
        say(t, "\n            largest");
        for (size_t k = 0; k < d->top_count; ++k)
            say(t, " [%lu] %.6g", (unsigned long)d->top[k], d->tops[k]);
        say(t, "\n");
    }
    if (j->digest_count > LISTED)
        say(t, "            and %lu more output%s\n", (unsigned long)(j->digest_count - LISTED),
            cli_plural(j->digest_count - LISTED));
}

void report_digests(json *j, const job *from)
{
    json_open(j, "values", '[', 0);
    for (size_t i = 0; i < from->digest_count; ++i) {
        const digest *d = &from->digests[i];
        json_open(j, NULL, '{', 1);
        json_count(j, "slot", d->slot);
        json_count(j, "count", d->count);
        json_count(j, "nan", d->nans);
        json_count(j, "infinite", d->infinities);
        json_number(j, "min", d->min);
        json_number(j, "max", d->max);
        json_number(j, "mean", d->mean);
        json_open(j, "first", '[', 1);
        for (size_t k = 0; k < DIGEST_VALUES && k < d->count; ++k)
            json_number(j, NULL, d->first[k]);
        json_close(j);
        json_open(j, "largest", '[', 1);
        for (size_t k = 0; k < d->top_count; ++k) json_number(j, NULL, d->tops[k]);
        json_close(j);
        json_open(j, "largest_at", '[', 1);
        for (size_t k = 0; k < d->top_count; ++k) json_count(j, NULL, d->top[k]);
        json_close(j);
        json_close(j);
    }
    json_close(j);
}

/* =====================================================================================
   WATCH                                                                         >>watch
   --watch: a line to standard error with the times of the steps, which changes on a terminal and
   is printed every second elsewhere.
   ===================================================================================== */

enum { WATCH_EXEC = 400 };             /* the vendor's type of an execution's time in us   */

/* Return "step 0 1.20 ms, step 1 3.40 ms" of the last inference. The caller frees it. */
static char *watch_steps(const job *j)
{
    page p = {NULL, 0, 0};
    page_text(&p, "");
    for (size_t s = 0; s < j->info->step_count; ++s) {
        double us = 0;
        int found = 0;
        for (size_t i = 0; i < j->event_count; ++i) {
            const qnnrt_profile_event *event = &j->events[i];
            if (event->step != s || event->type != WATCH_EXEC ||
                strcmp(event->unit_name, "us") != 0) continue;
            us += event->value;
            found = 1;
        }
        if (found)
            page_add(&p, "%sstep %lu %.3f ms", p.used > 0 ? ", " : "; ", (unsigned long)s,
                     us / 1e3);
    }
    return p.data;
}

void show_watch(const tool *t, job *j, int last)
{
    static const uint64_t pause = 1000000000u;
    const uint64_t now = cli_now_ns();
    if (!t->set.run.watch || j->exec_count == 0) return;
    if (!last && now - j->watched_ns < (cli_is_terminal(stderr) ? pause / 10 : pause)) return;
    j->watched_ns = now;
    OWNED char *steps = watch_steps(j);
    const uint64_t took = j->exec_ns[j->exec_count - 1];
    if (cli_is_terminal(stderr) && !last)
        cli_busy(1, "%lu inferences, the last %.3f ms%s", (unsigned long)j->exec_count, ms(took),
                 steps);
    else
        fprintf(stderr, CLI_NAME ": %lu inference%s, the last %.3f ms%s\n",
                (unsigned long)j->exec_count, cli_plural(j->exec_count), ms(took), steps);
}
