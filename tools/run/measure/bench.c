/* bench.c - how long a model takes

   ROOMS     >>lanes >>bench */
#include "run/measure/measure.h"
#include "run/model/model.h"
#include "run/io/io.h"

#include <pthread.h>
#include <time.h>

#include "cli/stages.h"

/* =====================================================================================
   LANES                                                                          >>lanes
   A thread that executes one pipeline of a model of its own, and what it measured. The timer runs
   from the call of qnnrt_exec() to its return.
   ===================================================================================== */

uint64_t lane_call(lane *l)
{
    const uint64_t begin = cli_now_ns();
    l->result = qnnrt_exec(l->run);
    const uint64_t took = cli_now_ns() - begin;
    return l->result != QNNRT_OK ? 0 : took > 0 ? took : 1;
}

/* Sleep until a moment of cli_now_ns(). */
static void sleep_until(uint64_t moment)
{
    struct timespec rest;
    for (uint64_t now = cli_now_ns(); now < moment; now = cli_now_ns()) {
        rest.tv_sec = (time_t)((moment - now) / 1000000000u);
        rest.tv_nsec = (long)((moment - now) % 1000000000u);
        nanosleep(&rest, NULL);
    }
}

/* Execute the calls that count: so many, or until the duration is over; at most `rate` of them in a
   second. A thread. */
static void *lane_measure(void *user)
{
    lane *l = user;
    const bench_settings *set = l->t->set.bench;
    const uint64_t most = (uint64_t)(set->duration * 1e9);
    const double step = set->rate > 0 ? 1e9 / set->rate : 0;
    l->begin_ns = l->end_ns = cli_now_ns();
    for (size_t i = 0; most > 0 ? i == 0 || l->end_ns - l->begin_ns < most : i < set->calls; ++i) {
        const uint64_t due = l->begin_ns + (uint64_t)(step * (double)i);
        if (step > 0 && i > 0 && cli_now_ns() > due) ++l->late;
        if (step > 0) sleep_until(due);
        const uint64_t took = lane_call(l);
        if (took == 0) break;
        add_sample(&l->calls, (double)took);
        l->end_ns = cli_now_ns();
    }
    return NULL;
}

void lane_fail(lane *l)
{
    const qnnrt_error *err = qnnrt_run_error(l->run);
    fail(l->t, l->j, cli_hint(err), "pipeline %s, call %lu: %s", l->j->title,
         (unsigned long)l->calls.count, cli_told(err));
}

int lane_begin(lane *l, tool *t, job *j)
{
    memset(l, 0, sizeof(*l));
    l->t = t;
    l->j = j;
    if (!start_run(t, j, &l->mem, &l->run) || !load_inputs(t, j, l->run)) return 0;
    l->first_ns = lane_call(l);
    for (uint32_t i = 0; i < t->set.bench->warmups && l->result == QNNRT_OK; ++i) lane_call(l);
    if (l->result != QNNRT_OK) lane_fail(l);
    return l->result == QNNRT_OK;
}

void lane_end(lane *l)
{
    qnnrt_run_destroy(l->run);
    qnnrt_mem_destroy(l->mem);
    free(l->calls.ns);
    memset(l, 0, sizeof(*l));
}

uint64_t process_bytes(const char *key)
{
    char line[256];
    uint64_t found = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && found == 0 && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            found = strtoull(line + strlen(key), NULL, 10) * 1024;
    if (file != NULL) fclose(file);
    return found;
}

/* =====================================================================================
   BENCH                                                                          >>bench
   One model, each pipeline after another: calls, quantiles, where the time goes, loading, memory.
   ===================================================================================== */

static const char *const part_words[PARTS] = {"backend", "accelerator", "host"};

/* Split profiled calls: the backend's time of all steps, the accelerator's, and the rest. */
static int bench_parts(lane *l, benched *b)
{
    enum { PROFILED = 20 };
    samples parts[PARTS];
    int good = qnnrt_run_profile(l->run, QNNRT_PROFILE_BASIC) == QNNRT_OK;
    memset(parts, 0, sizeof(parts));
    for (uint32_t i = 0; good && i < PROFILED && i < l->calls.count; ++i) {
        const qnnrt_profile_event *events = NULL;
        size_t count = 0;
        double sums[PARTS] = {0, 0, 0};
        const uint64_t took = lane_call(l);
        good = took > 0 && qnnrt_run_events(l->run, &events, &count) == QNNRT_OK;
        for (size_t e = 0; good && e < count; ++e) {
            if (strcmp(events[e].unit_name, "us") != 0 ||
                b->j->info->steps[events[e].step].kind != QNNRT_STEP_GRAPH) continue;
            if (events[e].type == EVENT_EXECUTE) sums[PART_BACKEND] += events[e].value * 1e3;
            if (events[e].type == EVENT_DEVICE) sums[PART_ACCELERATOR] += events[e].value * 1e3;
        }
        if (sums[PART_BACKEND] > (double)took) sums[PART_BACKEND] = (double)took;   /* whole us */
        sums[PART_HOST] = sums[PART_BACKEND] > 0 ? (double)took - sums[PART_BACKEND] : 0;
        for (size_t p = 0; p < PARTS; ++p)
            if (sums[p] > 0) add_sample(&parts[p], sums[p]);
    }
    if (!good) lane_fail(l);
    for (size_t p = 0; p < PARTS; ++p) {
        b->parts[p] = sum_up(&parts[p]);
        free(parts[p].ns);
    }
    return good;
}

/* Let all lanes execute at a time. Return 0 after a message. */
static int bench_lanes(lane *lanes, size_t count)
{
    pthread_t *threads = cli_alloc(count, sizeof(*threads));
    size_t started = 1;
    int good = 1;
    for (; started < count && good; ++started) {
        const int code = pthread_create(&threads[started], NULL, lane_measure, &lanes[started]);
        good = code == 0;
        if (good) continue;
        fail(lanes[0].t, lanes[0].j, "Ask for fewer threads.", "cannot start thread %lu: %s",
             (unsigned long)started, strerror(code));
        break;
    }
    if (good) lane_measure(&lanes[0]);
    for (size_t i = 1; i < started; ++i) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < started && good; ++i)
        if (lanes[i].result != QNNRT_OK) {
            lane_fail(&lanes[i]);
            good = 0;
        }
    free(threads);
    return good;
}

void say_summary(const tool *t, const char *what, const summary *s)
{
    const double ns[] = {s->least, s->median, s->p90, s->p99, s->p999, s->most};
    if (s->count == 0) return;
    say(t, "  %-12s", what);
    for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); ++i) {
        OWNED char *text = time_text(ns[i]);
        say(t, " %11s", text);
    }
    say(t, "\n");
}

void say_summary_head(const tool *t)
{
    static const char *const heads[] = {"min", "median", "p90", "p99", "p99.9", "max"};
    say(t, "  %-12s", "");
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); ++i) say(t, " %11s", heads[i]);
    say(t, "\n");
}

void say_bars(const tool *t, const summary *s, const time_bars *h)
{
    enum { LONGEST = 50 };
    size_t most = 1;
    for (size_t i = 0; i <= TIME_BINS; ++i) if (h->bins[i] > most) most = h->bins[i];
    for (size_t i = 0; i <= TIME_BINS; ++i) {
        const size_t length = (h->bins[i] * LONGEST + most - 1) / most;
        OWNED char *from = time_text(i < TIME_BINS ? s->least + (double)i * h->width : s->p99);
        char bar[LONGEST + 1];
        memset(bar, '#', length);
        bar[length] = '\0';
        if (h->bins[i] > 0 || (i < TIME_BINS && h->width > 0))
            say(t, "  %s %11s %8lu %s\n", i < TIME_BINS ? " " : ">", from,
                (unsigned long)h->bins[i], bar);
    }
}

static void say_benched(const tool *t, const benched *b)
{
    OWNED char *first = time_text(b->first_ns), *prepare = time_text((double)b->j->prepare_ns),
              *arena = cli_bytes_text(b->j->plan_info->peak);
    say(t, "\nbench %s\n", b->j->title);
    say(t, "  calls     %lu in %.3f s, %.1f in a second, %lu thread%s, after a first call of %s and"
        " %lu warm-up%s\n", (unsigned long)b->exec.count, b->seconds,
        b->seconds > 0 ? (double)b->exec.count / b->seconds : 0, (unsigned long)b->threads,
        cli_plural(b->threads), first, (unsigned long)t->set.bench->warmups,
        cli_plural(t->set.bench->warmups));
    if (t->set.bench->rate > 0)
        say(t, "            at most %g in a second and thread; %lu began late\n",
            t->set.bench->rate, (unsigned long)b->late);
    say(t, "  memory    arena %s, prepared in %s\n", arena, prepare);
    say_summary_head(t);
    say_summary(t, "exec", &b->exec);
    for (size_t p = 0; p < PARTS; ++p) say_summary(t, part_words[p], &b->parts[p]);
    if (b->parts[PART_BACKEND].count > 0)
        say(t, "  backend, accelerator and host are of %lu other calls, with a profile\n",
            (unsigned long)b->parts[PART_BACKEND].count);
    say_bars(t, &b->exec, &b->bars);
}

/* Bench one pipeline in all threads. Return 0 after a message. */
static int bench_pipeline(bench *all, size_t at)
{
    const size_t count = all->t->set.bench->threads;
    lane *lanes = cli_alloc(count, sizeof(*lanes));
    benched *b = &all->list[all->count];
    OWNED samples calls = {NULL, 0, 0};
    uint64_t begin = UINT64_MAX, end = 0;
    int good = 1;
    memset(b, 0, sizeof(*b));
    b->j = &all->t->jobs[at];
    b->threads = count;
    for (size_t i = 0; i < count && good; ++i) {
        tool *t = i == 0 ? all->t : &all->others[i - 1];
        good = lane_begin(&lanes[i], t, &t->jobs[at]);
    }
    good = good && bench_lanes(lanes, count);
    for (size_t i = 0; i < count && good; ++i) {
        const lane *l = &lanes[i];
        for (size_t k = 0; k < l->calls.count; ++k) add_sample(&calls, l->calls.ns[k]);
        if (l->begin_ns < begin) begin = l->begin_ns;
        if (l->end_ns > end) end = l->end_ns;
        b->late += l->late;
    }
    if (good) {
        b->first_ns = (double)lanes[0].first_ns;
        b->seconds = (double)(end - begin) / 1e9;
        b->exec = sum_up(&calls);
        b->bars = count_bins(&calls, &b->exec);
        good = bench_parts(&lanes[0], b);
    }
    if (good) {
        ++all->count;
        say_benched(all->t, b);
    }
    for (size_t i = 0; i < count; ++i) lane_end(&lanes[i]);
    free(lanes);
    return good;
}

/* Open the model of each thread, with a backend of its own. Return 0 after a message. */
static int bench_open(bench *all)
{
    tool *t = all->t;
    const size_t count = t->set.bench->threads;
    all->others = cli_alloc(count, sizeof(*all->others));
    for (size_t i = 0; i < count; ++i) {
        tool *one = i == 0 ? t : &all->others[i - 1];
        const uint64_t begin = cli_now_ns();
        if (i > 0) {
            one->out = t->out;
            one->set = t->set;
            one->set.run.quiet = 1;
            one->given = t->given;
            one->given_count = t->given_count;
        }
        if (!open_model(one) || !select_jobs(one)) return 0;
        if (i == 0) all->load_ns = cli_now_ns() - begin;
        for (size_t k = 0; k < one->job_count; ++k) plan_job(one, &one->jobs[k]);
        for (size_t k = 0; k < one->set.input_count; ++k) place_input(one, &one->set.inputs[k]);
        place_changes(one);
        if (one->failed) return 0;
    }
    all->list = cli_alloc(t->job_count, sizeof(*all->list));
    return 1;
}

void json_summary(json *j, const char *key, const summary *s)
{
    if (s->count == 0) {
        json_string(j, key, NULL);
        return;
    }
    json_open(j, key, '{', 1);
    json_count(j, "count", s->count);
    json_value(j, "min_ns", s->least);
    json_value(j, "median_ns", s->median);
    json_value(j, "p90_ns", s->p90);
    json_value(j, "p99_ns", s->p99);
    json_value(j, "p999_ns", s->p999);
    json_value(j, "max_ns", s->most);
    json_value(j, "mean_ns", s->mean);
    json_close(j);
}

void json_histogram(json *j, const summary *s, const time_bars *h)
{
    json_open(j, "histogram", '{', 1);
    json_value(j, "from_ns", s->least);
    json_value(j, "to_ns", s->p99);
    json_open(j, "counts", '[', 1);
    for (size_t i = 0; i < TIME_BINS; ++i) json_count(j, NULL, h->bins[i]);
    json_close(j);
    json_count(j, "above", h->bins[TIME_BINS]);
    json_close(j);
}

/* Write what loading took: the libraries, and each context. */
static void json_loading(const bench *all, json *j)
{
    costs loading;
    memset(&loading, 0, sizeof(loading));
    cost_loading(all->t, &loading);
    json_open(j, "loading", '{', 0);
    json_count(j, "ns", all->load_ns);
    json_open(j, "stages", '[', 0);
    for (size_t i = 0; i < loading.count; ++i) {
        json_open(j, NULL, '{', 1);
        json_string(j, "name", loading.rows[i].name);
        json_string(j, "kind", loading.rows[i].about);
        json_value(j, "ns", loading.rows[i].us * 1e3);
        json_value(j, "metadata_ns", loading.rows[i].extra * 1e3);
        json_close(j);
    }
    json_close(j);
    json_close(j);
    free_costs(&loading);
}

static void write_bench_json(const bench *all)
{
    document d;
    const tool *t = all->t;
    json *j = document_result(&d, "qnnrt-run.bench", t, !t->failed);
    json_string(j, "model", model_name(t));
    json_string(j, "timer", TIMER_TEXT);
    report_power(t, j);
    if (t->model != NULL) json_loading(all, j);
    else json_string(j, "loading", NULL);
    json_open(j, "memory", '{', 1);
    json_count(j, "before_bytes", all->before);
    json_count(j, "resident_bytes", all->resident);
    json_count(j, "peak_bytes", all->peak);
    json_close(j);
    json_open(j, "pipelines", '[', 0);
    for (size_t i = 0; i < all->count; ++i) {
        const benched *b = &all->list[i];
        json_open(j, NULL, '{', 0);
        json_string(j, "name", b->j->info->name);
        json_count(j, "threads", b->threads);
        json_count(j, "warmups", t->set.bench->warmups);
        json_count(j, "late", b->late);
        json_value(j, "seconds", b->seconds);
        json_value(j, "first_call_ns", b->first_ns);
        json_count(j, "prepare_ns", b->j->prepare_ns);
        json_count(j, "arena_bytes", b->j->plan_info->peak);
        json_summary(j, "exec", &b->exec);
        for (size_t k = 0; k < PARTS; ++k) json_summary(j, part_words[k], &b->parts[k]);
        json_histogram(j, &b->exec, &b->bars);
        json_close(j);
    }
    json_close(j);
    document_write(&d, all->t, "-");
}

void csv_text(page *p, const char *text)
{
    OWNED char *shown = cli_shown(text);
    page_text(p, "\"");
    for (const char *c = shown; *c != '\0'; ++c) page_bytes(p, *c == '"' ? "\"\"" : c,
                                                            *c == '"' ? 2 : 1);
    page_text(p, "\"");
}

void csv_head(page *p)
{
    page_text(p, "pipeline,what,count,min_ns,median_ns,p90_ns,p99_ns,p999_ns,max_ns,mean_ns\n");
}

void csv_row(page *p, const char *name, const char *what, const summary *s)
{
    if (s->count == 0) return;
    csv_text(p, name);
    page_add(p, ",%s,%lu,%.0f,%.1f,%.0f,%.0f,%.0f,%.0f,%.1f\n", what, (unsigned long)s->count,
             s->least, s->median, s->p90, s->p99, s->p999, s->most, s->mean);
}

static void write_bench_csv(const bench *all)
{
    OWNED page p = {NULL, 0, 0};
    if (all->t->set.bench->csv == NULL) return;
    csv_head(&p);
    for (size_t i = 0; i < all->count; ++i) {
        const benched *b = &all->list[i];
        const summary first = {1, b->first_ns, b->first_ns, b->first_ns, b->first_ns, b->first_ns,
                               b->first_ns, b->first_ns};
        csv_row(&p, b->j->info->name, "exec", &b->exec);
        for (size_t k = 0; k < PARTS; ++k)
            csv_row(&p, b->j->info->name, part_words[k], &b->parts[k]);
        csv_row(&p, b->j->info->name, "first_call", &first);
    }
    write_named(all->t, all->t->set.bench->csv, &p, 0);
}

void bench_model(tool *t)
{
    bench all;
    memset(&all, 0, sizeof(all));
    all.t = t;
    all.before = process_bytes("VmRSS:");
    int good = bench_open(&all);
    if (good) {
        OWNED char *text = time_text((double)all.load_ns);
        say(t, "loaded    in %s\n", text);
        if (t->set.power == QNNRT_POWER_CUSTOM)
            say(t, "power     not set: clocks are the system's (--perf_profile)\n");
        say(t, "timer     %s\n", TIMER_TEXT);
    }
    for (size_t i = 0; good && i < t->job_count; ++i) good = bench_pipeline(&all, i);
    all.resident = process_bytes("VmRSS:");
    all.peak = process_bytes("VmHWM:");
    OWNED char *before = cli_bytes_text(all.before), *now = cli_bytes_text(all.resident),
              *peak = cli_bytes_text(all.peak);
    if (good)
        say(t, "\nmemory    of the process: %s before loading, %s resident, %s at its peak\n",
            before, now, peak);
    if (t->set.json) write_bench_json(&all);
    if (good) write_bench_csv(&all);
    for (size_t i = 0; all.others != NULL && i + 1 < t->set.bench->threads; ++i) {
        close_all(&all.others[i]);
        t->failed |= all.others[i].failed;
        free(all.others[i].error);
    }
    free(all.others);
    free(all.list);
}
