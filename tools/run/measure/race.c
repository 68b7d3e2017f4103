/* race.c - two models in turns, and the verb bench

   ROOM     >>race */
#include "run/measure/measure.h"
#include "run/model/model.h"
#include "run/io/io.h"

/* =====================================================================================
   RACE                                                                            >>race
   Rounds in turns until the answer is precise, and the verb.
   ===================================================================================== */

enum { ROUND_NS = 5000000, SITTING_ROUNDS = 25, MOST_ROUNDS = 2000 };

typedef struct heat {                  /* a pipeline of both sides                             */
    char    *name;
    uint64_t at[2], calls;             /* calls: in a round of each side                       */
    samples  ns[2];                    /* of each round                                        */
    rivals   result;
} heat;

typedef struct race {
    tool   *t;
    heat   *heats;                     /* [count]                                              */
    size_t  count, sittings;
    double  load_ns[2], peak[2];
    uint64_t seed;
} race;

/* Pair the pipelines of both sides by name; a lone pair belongs together. */
static void race_pair(race *all, const racer *sides)
{
    all->heats = cli_alloc((size_t)sides[0].count, sizeof(*all->heats));
    for (uint64_t i = 0; i < sides[0].count; ++i)
        for (uint64_t k = 0; k < sides[1].count; ++k) {
            const int lone = sides[0].count == 1 && sides[1].count == 1;
            if (!lone && strcmp(sides[0].names[i], sides[1].names[k]) != 0) continue;
            heat *h = &all->heats[all->count++];
            h->name = cli_text("%s", sides[0].names[i]);
            h->at[0] = i;
            h->at[1] = k;
            break;
        }
    if (all->count == 0)
        fail(all->t, NULL, "Choose one on each side with --graph.",
             "no pipeline of side A has the name of one of side B");
}

/* Return 0 or 1, each as often; the sequence is the same in every process. */
static int race_coin(race *all)
{
    all->seed = all->seed * 6364136223846793005u + 1442695040888963407u;
    return (int)(all->seed >> 63);
}

/* Measure one round of both sides, one right after the other. Return 0 if a side failed. */
static int race_round(race *all, heat *h, const racer *sides)
{
    const int first = race_coin(all);
    double ns[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
        const int at = i ^ first;
        ns[at] = racer_round(&sides[at], h->at[at], h->calls);
        if (!(ns[at] > 0)) return 0;
    }
    add_sample(&h->ns[0], ns[0]);
    add_sample(&h->ns[1], ns[1]);
    add_round(&h->result, ns[0], ns[1]);
    return 1;
}

/* Find how many calls make a round of about 5 ms on the slower side. */
static int race_measure(heat *h, const racer *sides)
{
    double ns = racer_round(&sides[0], h->at[0], 5);
    const double other = racer_round(&sides[1], h->at[1], 5);
    if (!(ns > 0) || !(other > 0)) return 0;
    if (other > ns) ns = other;
    h->calls = ns >= ROUND_NS ? 1 : (uint64_t)(ROUND_NS / ns) + 1;
    if (h->calls > 1000) h->calls = 1000;
    return 1;
}

/* Measure the rounds of one sitting: 25 of each pipeline, or as many as take the time of loading.
   With --rounds: the rest. */
static int race_sitting(race *all, const racer *sides, uint64_t loading)
{
    const bench_settings *set = all->t->set.bench;
    for (size_t i = 0; i < all->count; ++i) {
        heat *h = &all->heats[i];
        const uint64_t begin = cli_now_ns();
        const size_t before = h->result.count;
        const size_t most = set->rounds > 0 ? (set->rounds * (all->sittings + 1) +
                                               set->sittings - 1) / set->sittings : MOST_ROUNDS;
        if (h->calls == 0 && !race_measure(h, sides)) return 0;
        while (h->result.count < most &&
               (set->rounds > 0 || h->result.count - before < SITTING_ROUNDS ||
                cli_now_ns() - begin < loading))
            if (!race_round(all, h, sides)) return 0;
    }
    return 1;
}

/* True if more sittings would not help, or are not wanted. */
static int race_is_over(const race *all, uint64_t begin)
{
    const bench_settings *set = all->t->set.bench;
    int precise = 1, full = 1;
    if (all->sittings < set->sittings) return 0;
    if (set->rounds > 0) return 1;
    for (size_t i = 0; i < all->count; ++i) {
        precise = precise && is_precise(&all->heats[i].result, set->least / 100);
        full = full && all->heats[i].result.count >= MOST_ROUNDS;
    }
    const double most_s = set->duration > 0 ? set->duration : 60;
    return precise || full || (double)(cli_now_ns() - begin) / 1e9 >= most_s;
}

/* Start both sides, measure, and end them. Return 0 after a message. */
static int race_sit(race *all, pairing *p)
{
    racer sides[2];
    const uint64_t begin = cli_now_ns();
    int good = 1;
    memset(sides, 0, sizeof(sides));
    for (int i = 0; i < 2; ++i) p->sides[i]->set.run.quiet |= all->sittings > 0;
    good = racer_start(&sides[0], p->sides[0], NULL, 'A') &&
        racer_start(&sides[1], p->sides[1], &all->t->set.bench->other_env, 'B');
    if (good && all->count == 0) race_pair(all, sides);
    good = good && all->count > 0;
    if (good && !race_sitting(all, sides, cli_now_ns() - begin)) {
        fail(all->t, NULL, NULL, "a side failed while it was measured");
        good = 0;
    }
    for (int i = 0; i < 2; ++i) {
        const int ended = racer_stop(&sides[i]);
        if (good && !ended) fail(all->t, NULL, NULL, "side %c failed at its end", "AB"[i]);
        good = good && ended;
        all->load_ns[i] = sides[i].load_ns;
        all->peak[i] = sides[i].peak;
    }
    ++all->sittings;
    for (size_t i = 0; i < all->count && good; ++i)
        judge(&all->heats[i].result, all->t->set.bench->least / 100);
    return good;
}

/* Return the change in percent, "+5.1 %". The caller frees it. */
static char *change_of(double ratio)
{
    return cli_text("%+.1f %%", (ratio - 1) * 100);
}

static void say_heat(const race *all, heat *h)
{
    const tool *t = all->t;
    const rivals *r = &h->result;
    OWNED char *name = cli_shown(h->name), *ratio = change_of(r->ratio), *low = change_of(r->low),
              *high = change_of(r->high);
    say(t, "\nbench \"%s\"\n", name);
    say(t, "  rounds    %lu of %lu call%s of each side in turns, %lu start%s\n",
        (unsigned long)r->count, (unsigned long)h->calls, cli_plural(h->calls),
        (unsigned long)all->sittings, cli_plural(all->sittings));
    say_summary_head(t);
    for (int i = 0; i < 2; ++i) {
        const summary s = sum_up(&h->ns[i]);
        say_summary(t, i == 0 ? "A" : "B", &s);
    }
    say(t, "  change    %s, from %s to %s with 99 percent confidence\n", ratio, low, high);
    if (r->says != NO_DIFFERENCE) say(t, "  result    B is %s\n", verdict_words[r->says]);
    else if (is_precise(r, t->set.bench->least / 100))
        say(t, "  result    no difference of %g percent\n", t->set.bench->least);
    else
        say(t, "  result    no difference was found, but the times vary too much to tell %g"
            " percent: try --duration\n", t->set.bench->least);
}

static void json_rivals(json *j, const rivals *r, double least)
{
    json_count(j, "rounds", r->count);
    json_value(j, "ratio", r->ratio);
    json_value(j, "low", r->low);
    json_value(j, "high", r->high);
    json_value(j, "confidence", 0.99);
    json_bool(j, "precise", is_precise(r, least));
    json_string(j, "verdict", verdict_words[r->says]);
}

static void write_race_json(race *all)
{
    static const char *const labels[2] = {"a", "b"};
    document d;
    json *j = document_result(&d, "qnnrt-run.bench-pair", all->t, !all->t->failed);
    json_string(j, "timer", TIMER_TEXT);
    json_value(j, "threshold_percent", all->t->set.bench->least);
    json_count(j, "starts", all->sittings);
    for (int i = 0; i < 2; ++i) {
        json_open(j, labels[i], '{', 1);
        json_value(j, "loading_ns", all->load_ns[i]);
        json_value(j, "peak_bytes", all->peak[i]);
        json_close(j);
    }
    json_open(j, "pipelines", '[', 0);
    for (size_t i = 0; i < all->count; ++i) {
        heat *h = &all->heats[i];
        if (h->result.count == 0) continue;
        json_open(j, NULL, '{', 0);
        json_string(j, "name", h->name);
        json_count(j, "calls", h->calls);
        json_rivals(j, &h->result, all->t->set.bench->least / 100);
        for (int k = 0; k < 2; ++k) {
            const summary s = sum_up(&h->ns[k]);
            json_summary(j, labels[k], &s);
        }
        json_close(j);
    }
    json_close(j);
    document_write(&d, all->t, "-");
}

static void write_race_csv(race *all)
{
    OWNED page p = {NULL, 0, 0};
    if (all->t->set.bench->csv == NULL) return;
    page_text(&p, "pipeline,verdict,ratio,low,high,rounds,a_median_ns,b_median_ns\n");
    for (size_t i = 0; i < all->count; ++i) {
        heat *h = &all->heats[i];
        if (h->result.count == 0) continue;
        csv_text(&p, h->name);
        page_add(&p, ",%s,%.6f,%.6f,%.6f,%lu,%.0f,%.0f\n", verdict_words[h->result.says],
                 h->result.ratio, h->result.low, h->result.high, (unsigned long)h->result.count,
                 sum_up(&h->ns[0]).median, sum_up(&h->ns[1]).median);
    }
    write_named(all->t, all->t->set.bench->csv, &p, 0);
}

static void free_heat(heat *h)
{
    free(h->name);
    free(h->ns[0].ns);
    free(h->ns[1].ns);
    free(h->result.logs);
}

/* Bench two models in turns. */
static void bench_race(tool *t)
{
    race all;
    pairing p;
    const uint64_t begin = cli_now_ns();
    int good = 1;
    memset(&all, 0, sizeof(all));
    memset(&p, 0, sizeof(p));
    all.t = t;
    all.seed = 1;
    pair_sides(&p, t);
    pair_model(&t->set, t->set.files.items);
    const int quiet = t->set.run.quiet;
    do good = race_sit(&all, &p);
    while (good && !race_is_over(&all, begin));
    t->set.run.quiet = quiet;
    pair_gather(&p);
    for (size_t i = 0; i < all.count && good; ++i) say_heat(&all, &all.heats[i]);
    if (t->set.json) write_race_json(&all);
    if (good) write_race_csv(&all);
    for (size_t i = 0; i < all.count; ++i) free_heat(&all.heats[i]);
    free(all.heats);
}

/* Sum up the times of a file. good 0: it could not be read. */
static void sum_up_file(tool *t, const char *name, samples *list, int good)
{
    const summary s = sum_up(list);
    const time_bars bars = count_bins(list, &s);
    if (good) {
        say_summary_head(t);
        say_summary(t, "samples", &s);
        say_bars(t, &s, &bars);
    }
    if (t->set.json) {
        document d;
        json *j = document_result(&d, "qnnrt-run.bench-samples", t, !t->failed);
        json_summary(j, "samples", &s);
        json_histogram(j, &s, &bars);
        document_write(&d, t, "-");
    }
    if (good && t->set.bench->csv != NULL) {
        OWNED page p = {NULL, 0, 0};
        csv_head(&p);
        csv_row(&p, name, "samples", &s);
        write_named(t, t->set.bench->csv, &p, 0);
    }
}

/* Check that two files have as many times, and not too many. Return 0 after a message. */
static int same_rounds(tool *t, const heat *h)
{
    const char *const *files = t->set.bench->samples.items;
    if (h->ns[0].count != h->ns[1].count)
        fail(t, NULL, "Give both files one line for each round.",
             "%s has %lu times and %s has %lu", files[0], (unsigned long)h->ns[0].count, files[1],
             (unsigned long)h->ns[1].count);
    else if (h->ns[0].count > MOST_ROUNDS)
        fail(t, NULL, "Leave some rounds out.", "%s has %lu times, at most %d rounds are compared",
             files[0], (unsigned long)h->ns[0].count, MOST_ROUNDS);
    return !t->failed;
}

/* Sum up the times of files, instead of running a model; two files are two sides. */
static void bench_samples(tool *t)
{
    const cli_list *files = &t->set.bench->samples;
    heat h;
    race all;
    int good = 1;
    memset(&h, 0, sizeof(h));
    memset(&all, 0, sizeof(all));
    h.name = cli_text("%s", files->items[0]);
    h.calls = 1;
    all.t = t;
    all.heats = &h;
    for (size_t i = 0; i < files->count && good; ++i)
        good = read_samples(t, files->items[i], &h.ns[i]);
    if (files->count == 1) {
        sum_up_file(t, h.name, &h.ns[0], good);
    } else {
        all.count = good && same_rounds(t, &h);
        for (size_t i = 0; all.count > 0 && i < h.ns[0].count; ++i)
            add_round(&h.result, h.ns[0].ns[i], h.ns[1].ns[i]);
        if (all.count > 0) judge(&h.result, t->set.bench->least / 100);
        if (all.count > 0) say_heat(&all, &h);
        if (t->set.json) write_race_json(&all);
        if (all.count > 0) write_race_csv(&all);
    }
    free_heat(&h);
}

/* An option of this verb alone. */
#define BENCH(member) OWN(bench_settings, member), .verbs = VERB_BENCH

static const cli_option bench_options[] = {
    {.name = "num_inferences", .value = "N", .kind = CLI_U32, .least = 1, .most = 10000000,
     BENCH(calls),
     .help = "calls of each pipeline and thread that count (default 100)"},
    {.name = "duration", .value = "SECONDS", .kind = CLI_REAL, .bottom = 0, .top = 1e6, .above = 1,
     BENCH(duration),
     .help = "measure each pipeline so long, instead of --num_inferences; with two models: stop "
             "then even if the result is not precise (default 60)"},
    {.name = "warmup", .value = "N", .kind = CLI_U32, .most = 1000000, BENCH(warmups),
     .help = "calls after the first one that do not count (default 3). The first call is shown "
             "alone"},
    {.name = "rate", .value = "N", .kind = CLI_REAL, .bottom = 0.01, .top = 1e6, BENCH(rate),
     .help = "start at most N calls in a second and thread, as an app with a camera does; sleep "
             "in between (default: one call after the other)"},
    {.name = "threads", .value = "N", .kind = CLI_U32, .least = 1, .most = 64, BENCH(threads),
     .help = "threads that execute at a time, each with a backend and a model of its own "
             "(default 1)"},
    {.name = "rounds", .value = "N", .kind = CLI_U32, .least = 1, .most = 2000, BENCH(rounds),
     .help = "with two models: measure so many rounds (default: until the interval is half as "
             "wide as the threshold on each side)"},
    {.name = "starts", .value = "N", .kind = CLI_U32, .least = 1, .most = 100, BENCH(sittings),
     .help = "with two models: start both sides anew at least so often, because where code and "
             "data lie in memory changes times (default 3)"},
    {.name = "threshold", .value = "PERCENT", .kind = CLI_REAL, .bottom = 0, .top = 100, .above = 1,
     BENCH(least),
     .help = "with two models: the least difference that counts (default 2)"},
    {.name = "other_env", .value = "NAME=VALUE", .kind = CLI_LIST, BENCH(other_env),
     .help = "environment of side B alone, such as ADSP_LIBRARY_PATH; repeat the option for "
             "several"},
    {.name = "samples", .value = "FILE", .kind = CLI_LIST, BENCH(samples),
     .help = "run nothing: sum up the times in a text, one number of nanoseconds on each line; "
             "two files are the rounds of side A and side B"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_BENCH,
     .help = "print the result as JSON instead of tables"},
    {.name = "csv", .value = "FILE", .kind = CLI_TEXT, BENCH(csv),
     .help = "write the result as CSV; - for standard output, which then holds nothing else"}
};

static const bench_settings bench_defaults = {
    .calls = 100, .warmups = 3, .threads = 1, .sittings = 3, .least = 2};

const cli_table bench_table =
    CLI_TABLE_OF(bench_options, bench_settings, offsetof(settings, bench), &bench_defaults);

const char *const bench_examples[] = {
    "bench model_dir --backend_so libQnnHtp.so --perf_profile burst",
    "bench old_dir new_dir --backend_so libQnnHtp.so",
    "bench model_dir --backend_so 2.47/libQnnHtp.so --other_backend_so 2.51/libQnnHtp.so", NULL};

/* Check options that depend on each other. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int check_bench(const tool *t, int two)
{
    static const struct { const char *name; int pair; } only[] = {
        {"num_inferences", 0}, {"rate", 0}, {"threads", 0}, {"rounds", 1}, {"starts", 1},
        {"threshold", 1}, {"other_env", 1}
    };
    const settings *set = &t->set;
    const int files = set->bench->samples.count > 0;
    if (set->json && is_stdout(set->bench->csv))
        return cli_usage("Write one of them to a file.",
                         "--json and --csv - both write to standard output");
    if (files && (set->bench->samples.count > 2 || set->files.count > 0))
        return cli_usage("Write bench --samples A.txt --samples B.txt.",
                         "--samples takes the place of models, once or twice");
    if (!files && is_given(t->parsed, "duration") && is_given(t->parsed, "num_inferences"))
        return cli_usage("Use one of them.", "--duration and --num_inferences exclude each other");
    for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); ++i)
        if (is_given(t->parsed, only[i].name) && only[i].pair != two)
            return cli_usage(two ? "Leave it out, or name one model." : "Name two models.",
                             "--%s is for %s", only[i].name, two ? "one model" : "two models");
    for (size_t i = 0; i < set->bench->other_env.count; ++i) {
        const char *text = set->bench->other_env.items[i];
        if (text[0] == '=' || strchr(text, '=') == NULL)
            return cli_usage("Write --other_env NAME=VALUE.", "--other_env takes NAME=VALUE, not "
                             "\"%s\"", text);
    }
    return STATUS_OK;
}

int verb_bench(void *user)
{
    tool *t = user;
    settings *set = &t->set;
    const int files = set->bench->samples.count > 0;
    const int two = files ? set->bench->samples.count == 2
        : set->files.count > 1 || pair_differs(set) || set->bench->other_env.count > 0;
    int status = check_bench(t, two);
    if (status == STATUS_OK && !files) status = check_feed(set);
    if (status != STATUS_OK) return status;
    if (files) {
        bench_samples(t);
        return STATUS_OK;
    }
    if (set->files.count == 0 || set->files.count > 2)
        return cli_usage("Write qnnrt-run bench DIR, or run qnnrt-run bench --help.",
                         "bench takes a model, or two of them");
    if (two) {
        bench_race(t);
        return STATUS_OK;
    }
    pair_model(set, set->files.items);
    bench_model(t);
    return STATUS_OK;
}
