/* run_race.h - a part of qnnrt-run.c: two models in turns, and the verb bench

   ROOMS    >>racer >>race                                                                       */

/* =====================================================================================
   RACER                                                                          >>racer
   A side of a race: a child process with a model of its own. Two releases of one library may not
   share a process, each side may have its own environment, and a device gives each process its own
   memory. The parent loads nothing. It asks for one round at a time; the other side sleeps.
   ===================================================================================== */

typedef struct racer {
    pid_t    id;                       /* 0: not started                                       */
    int      wire;                     /* a socket; -1: closed                                 */
    char   **names;                    /* [count] of its pipelines                             */
    uint64_t count;
    double   load_ns, peak;            /* peak: bytes                                          */
} racer;

typedef struct race_order { uint64_t job, calls; } race_order;      /* calls 0: end            */

/* Send or receive all bytes. Return 0 if the other end is gone. */
static int wire_put(int wire, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        const ssize_t done = send(wire, at, bytes, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        at += done;
        bytes -= (size_t)done;
    }
    return 1;
}

static int wire_get(int wire, void *data, size_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        const ssize_t done = recv(wire, at, bytes, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        at += done;
        bytes -= (size_t)done;
    }
    return 1;
}

/* In the child: execute rounds until the order to end. A round is answered with the median of its
   calls, 0 after a message. */
static int racer_serve(int wire, lane *lanes, size_t count)
{
    race_order order;
    samples calls = {NULL, 0, 0};
    int good = 1;
    while (good && wire_get(wire, &order, sizeof(order)) && order.calls > 0 && order.job < count) {
        lane *l = &lanes[order.job];
        double median = 0;
        calls.count = 0;
        for (uint64_t i = 0; i < order.calls && good; ++i) {
            const uint64_t took = lane_call(l);
            good = took > 0;
            if (good) add_sample(&calls, (double)took);
            else lane_fail(l);
        }
        if (good) median = sum_up(&calls).median;
        good = wire_put(wire, &median, sizeof(median)) && good;
    }
    free(calls.ns);
    return good;
}

/* In the child: load the model, say what it has, and serve. Returns the exit status. */
static int racer_run(tool *t, int wire, char letter)
{
    const uint64_t begin = cli_now_ns();
    say(t, "%sside %c\n", letter == 'A' ? "" : "\n", letter);
    int good = open_model(t) && select_jobs(t);
    double numbers[2] = {(double)(cli_now_ns() - begin), 0};
    for (size_t i = 0; i < t->job_count && good; ++i) plan_job(t, &t->jobs[i]);
    for (size_t i = 0; i < t->set.input_count && good; ++i) place_input(t, &t->set.inputs[i]);
    if (good) place_changes(t);
    good = good && !t->failed;
    lane *lanes = cli_alloc(t->job_count, sizeof(*lanes));
    for (size_t i = 0; i < t->job_count && good; ++i) good = lane_begin(&lanes[i], t, &t->jobs[i]);
    cli_put_end(t->out);
    fflush(t->out);
    uint64_t count = good ? t->job_count : 0;
    good = wire_put(wire, &count, sizeof(count)) && good;
    for (size_t i = 0; i < t->job_count && good; ++i) {
        const uint64_t bytes = strlen(t->jobs[i].info->name);
        good = wire_put(wire, &bytes, sizeof(bytes)) &&
            wire_put(wire, t->jobs[i].info->name, (size_t)bytes);
    }
    good = good && racer_serve(wire, lanes, t->job_count);
    numbers[1] = (double)process_bytes("VmHWM:");
    wire_put(wire, numbers, sizeof(numbers));
    for (size_t i = 0; i < t->job_count; ++i) lane_end(&lanes[i]);
    free(lanes);
    close_all(t);
    fflush(t->out);
    return good && !t->failed ? STATUS_OK : STATUS_FAILED;
}

/* Set the variables of --other_env. */
static void racer_environment(const cli_list *list)
{
    for (size_t i = 0; i < list->count; ++i) {
        const char *value = strchr(list->items[i], '=');
        char *name = cli_text("%.*s", (int)(value - list->items[i]), list->items[i]);
        setenv(name, value + 1, 1);
        free(name);
    }
}

/* Start a side and wait until it is loaded. Return 0 after a message. */
static int racer_start(racer *r, tool *t, const cli_list *environment, char letter)
{
    int ends[2];
    memset(r, 0, sizeof(*r));
    r->wire = -1;
    cli_put_end(t->out);
    fflush(t->out);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || (r->id = fork()) < 0) {
        r->id = 0;
        fail(t, NULL, NULL, "cannot start a process: %s", strerror(errno));
        return 0;
    }
    if (r->id == 0) {
        close(ends[0]);
        if (environment != NULL) racer_environment(environment);
        _exit(racer_run(t, ends[1], letter));
    }
    close(ends[1]);
    r->wire = ends[0];
    int good = wire_get(r->wire, &r->count, sizeof(r->count)) && r->count > 0 &&
        r->count < 1000000;
    if (!good) r->count = 0;
    r->names = cli_alloc((size_t)r->count, sizeof(*r->names));
    for (uint64_t i = 0; i < r->count && good; ++i) {
        uint64_t bytes = 0;
        good = wire_get(r->wire, &bytes, sizeof(bytes)) && bytes < (1u << 20);
        r->names[i] = cli_alloc(good ? (size_t)bytes + 1 : 1, 1);
        good = good && wire_get(r->wire, r->names[i], (size_t)bytes);
    }
    if (!good) fail(t, NULL, NULL, "side %c cannot be measured", letter);
    return good;
}

/* End a side. Return 0 if it failed. */
static int racer_stop(racer *r)
{
    const race_order over = {0, 0};
    double numbers[2] = {0, 0};
    int status = 0, good = 1;
    if (r->id == 0) return 1;
    if (wire_put(r->wire, &over, sizeof(over)) && wire_get(r->wire, numbers, sizeof(numbers))) {
        r->load_ns = numbers[0];
        r->peak = numbers[1];
    }
    close(r->wire);
    while (waitpid(r->id, &status, 0) < 0 && errno == EINTR) continue;
    good = WIFEXITED(status) && WEXITSTATUS(status) == STATUS_OK;
    for (uint64_t i = 0; i < r->count; ++i) free(r->names[i]);
    free(r->names);
    r->id = 0;
    r->names = NULL;
    return good;
}

/* Return the median time of a round, 0 if the side failed. */
static double racer_round(const racer *r, uint64_t at, uint64_t calls)
{
    const race_order order = {at, calls};
    double median = 0;
    if (!wire_put(r->wire, &order, sizeof(order)) || !wire_get(r->wire, &median, sizeof(median)))
        return 0;
    return median;
}

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
    const bench_settings *set = &all->t->set.bench;
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
    const bench_settings *set = &all->t->set.bench;
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
        racer_start(&sides[1], p->sides[1], &all->t->set.bench.other_env, 'B');
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
        judge(&all->heats[i].result, all->t->set.bench.least / 100);
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
    char *name = cli_shown(h->name), *ratio = change_of(r->ratio), *low = change_of(r->low),
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
    else if (is_precise(r, t->set.bench.least / 100))
        say(t, "  result    no difference of %g percent\n", t->set.bench.least);
    else
        say(t, "  result    no difference was found, but the times vary too much to tell %g"
            " percent: try --duration\n", t->set.bench.least);
    free(name);
    free(ratio);
    free(low);
    free(high);
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
    page p = {NULL, 0, 0};
    json writer, *j = &writer;
    json_document(j, &p, "qnnrt-run.bench-pair");
    json_bool(j, "ok", !all->t->failed);
    json_string(j, "error", all->t->error);
    json_string(j, "timer", TIMER_TEXT);
    json_value(j, "threshold_percent", all->t->set.bench.least);
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
        json_rivals(j, &h->result, all->t->set.bench.least / 100);
        for (int k = 0; k < 2; ++k) {
            const summary s = sum_up(&h->ns[k]);
            json_summary(j, labels[k], &s);
        }
        json_close(j);
    }
    json_close(j);
    json_document_end(j);
    write_page(all->t, "-", &p, 0);
    free(p.data);
}

static void write_race_csv(race *all)
{
    page p = {NULL, 0, 0};
    if (all->t->set.bench.csv == NULL) return;
    page_text(&p, "pipeline,verdict,ratio,low,high,rounds,a_median_ns,b_median_ns\n");
    for (size_t i = 0; i < all->count; ++i) {
        heat *h = &all->heats[i];
        if (h->result.count == 0) continue;
        csv_text(&p, h->name);
        page_add(&p, ",%s,%.6f,%.6f,%.6f,%lu,%.0f,%.0f\n", verdict_words[h->result.says],
                 h->result.ratio, h->result.low, h->result.high, (unsigned long)h->result.count,
                 sum_up(&h->ns[0]).median, sum_up(&h->ns[1]).median);
    }
    write_named(all->t, all->t->set.bench.csv, &p, 0);
    free(p.data);
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
    page p = {NULL, 0, 0};
    json writer, *j = &writer;
    if (good) {
        say_summary_head(t);
        say_summary(t, "samples", &s);
        say_bars(t, &s, &bars);
    }
    if (t->set.json) {
        json_document(j, &p, "qnnrt-run.bench-samples");
        json_bool(j, "ok", !t->failed);
        json_string(j, "error", t->error);
        json_summary(j, "samples", &s);
        json_histogram(j, &s, &bars);
        json_document_end(j);
        write_page(t, "-", &p, 0);
        free(p.data);
    }
    if (good && t->set.bench.csv != NULL) {
        memset(&p, 0, sizeof(p));
        csv_head(&p);
        csv_row(&p, name, "samples", &s);
        write_named(t, t->set.bench.csv, &p, 0);
        free(p.data);
    }
}

/* Check that two files have as many times, and not too many. Return 0 after a message. */
static int same_rounds(tool *t, const heat *h)
{
    const char *const *files = t->set.bench.samples.items;
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
    const cli_list *files = &t->set.bench.samples;
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
        if (all.count > 0) judge(&h.result, t->set.bench.least / 100);
        if (all.count > 0) say_heat(&all, &h);
        if (t->set.json) write_race_json(&all);
        if (all.count > 0) write_race_csv(&all);
    }
    free_heat(&h);
}

static const cli_option bench_options[] = {
    {.name = "num_inferences", .value = "N", .kind = CLI_U32, .least = 1, .most = 10000000,
     FIELD(bench.calls), .verbs = VERB_BENCH,
     .help = "calls of each pipeline and thread that count (default 100)"},
    {.name = "duration", .value = "SECONDS", .kind = CLI_REAL, .bottom = 0, .top = 1e6, .above = 1,
     FIELD(bench.duration), .verbs = VERB_BENCH,
     .help = "measure each pipeline so long, instead of --num_inferences; with two models: stop "
             "then even if the result is not precise (default 60)"},
    {.name = "warmup", .value = "N", .kind = CLI_U32, .most = 1000000, FIELD(bench.warmups),
     .verbs = VERB_BENCH,
     .help = "calls after the first one that do not count (default 3). The first call is shown "
             "alone"},
    {.name = "rate", .value = "N", .kind = CLI_REAL, .bottom = 0.01, .top = 1e6,
     FIELD(bench.rate), .verbs = VERB_BENCH,
     .help = "start at most N calls in a second and thread, as an app with a camera does; sleep "
             "in between (default: one call after the other)"},
    {.name = "threads", .value = "N", .kind = CLI_U32, .least = 1, .most = 64,
     FIELD(bench.threads), .verbs = VERB_BENCH,
     .help = "threads that execute at a time, each with a backend and a model of its own "
             "(default 1)"},
    {.name = "rounds", .value = "N", .kind = CLI_U32, .least = 1, .most = 2000,
     FIELD(bench.rounds), .verbs = VERB_BENCH,
     .help = "with two models: measure so many rounds (default: until the interval is half as "
             "wide as the threshold on each side)"},
    {.name = "starts", .value = "N", .kind = CLI_U32, .least = 1, .most = 100,
     FIELD(bench.sittings), .verbs = VERB_BENCH,
     .help = "with two models: start both sides anew at least so often, because where code and "
             "data lie in memory changes times (default 3)"},
    {.name = "threshold", .value = "PERCENT", .kind = CLI_REAL, .bottom = 0, .top = 100,
     .above = 1, FIELD(bench.least), .verbs = VERB_BENCH,
     .help = "with two models: the least difference that counts (default 2)"},
    {.name = "other_env", .value = "NAME=VALUE", .kind = CLI_LIST, FIELD(bench.other_env),
     .verbs = VERB_BENCH,
     .help = "environment of side B alone, such as ADSP_LIBRARY_PATH; repeat the option for "
             "several"},
    {.name = "samples", .value = "FILE", .kind = CLI_LIST, FIELD(bench.samples),
     .verbs = VERB_BENCH,
     .help = "run nothing: sum up the times in a text, one number of nanoseconds on each line; "
             "two files are the rounds of side A and side B"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_BENCH,
     .help = "print the result as JSON instead of tables"},
    {.name = "csv", .value = "FILE", .kind = CLI_TEXT, FIELD(bench.csv), .verbs = VERB_BENCH,
     .help = "write the result as CSV; - for standard output, which then holds nothing else"}
};

static const cli_table bench_table = CLI_TABLE(bench_options);

static const char *const bench_examples[] = {
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
    const int files = set->bench.samples.count > 0;
    if (set->json && is_stdout(set->bench.csv))
        return cli_usage("Write one of them to a file.",
                         "--json and --csv - both write to standard output");
    if (files && (set->bench.samples.count > 2 || set->files.count > 0))
        return cli_usage("Write bench --samples A.txt --samples B.txt.",
                         "--samples takes the place of models, once or twice");
    if (!files && is_given(t->parsed, "duration") && is_given(t->parsed, "num_inferences"))
        return cli_usage("Use one of them.", "--duration and --num_inferences exclude each other");
    for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); ++i)
        if (is_given(t->parsed, only[i].name) && only[i].pair != two)
            return cli_usage(two ? "Leave it out, or name one model." : "Name two models.",
                             "--%s is for %s", only[i].name, two ? "one model" : "two models");
    for (size_t i = 0; i < set->bench.other_env.count; ++i) {
        const char *text = set->bench.other_env.items[i];
        if (text[0] == '=' || strchr(text, '=') == NULL)
            return cli_usage("Write --other_env NAME=VALUE.", "--other_env takes NAME=VALUE, not "
                             "\"%s\"", text);
    }
    return STATUS_OK;
}

static int verb_bench(void *user)
{
    tool *t = user;
    settings *set = &t->set;
    const int files = set->bench.samples.count > 0;
    const int two = files ? set->bench.samples.count == 2
        : set->files.count > 1 || pair_differs(set) || set->bench.other_env.count > 0;
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
