/* run_summary.h - a part of qnnrt-run.c: costs as tables, and the verb profile

   ROOMS    >>lines >>summary                                                                    */

/* =====================================================================================
   LINES                                                                           >>lines
   The steps, operators or nodes of a pipeline as a sorted list, of one profile or of two.
   ===================================================================================== */

typedef enum line_kind { LINE_STEPS, LINE_OPERATORS, LINE_NODES, LINE_KINDS } line_kind;

static const char *const line_kinds[LINE_KINDS] = {"steps", "operators", "nodes"};

typedef struct cost_line {
    char       *key;                   /* lines of both profiles with equal keys are one       */
    const char *name, *about;          /* of the row                                           */
    size_t      step, count[2];        /* step of a node; nodes of a step or an operator       */
    double      us[2], extra[2];
} cost_line;

typedef struct cost_lines {
    cost_line *items;
    size_t     count, room;
} cost_lines;

static int compare_keys_of_lines(const void *a, const void *b)
{
    const cost_line *x = a, *y = b;
    return strcmp(x->key, y->key);
}

/* Sort by cost, or by change if there are two profiles; equal ones by their key. */
static int compare_cost(const void *a, const void *b)
{
    const cost_line *x = a, *y = b;
    return x->us[0] != y->us[0] ? (x->us[0] > y->us[0] ? -1 : 1) : strcmp(x->key, y->key);
}

static int compare_change(const void *a, const void *b)
{
    const cost_line *x = a, *y = b;
    const double p = fabs(x->us[1] - x->us[0]), q = fabs(y->us[1] - y->us[0]);
    return p != q ? (p > q ? -1 : 1) : compare_cost(a, b);
}

static void add_line(cost_lines *lines, char *key, const cost *row, size_t step, size_t nodes,
                     int which)
{
    lines->items = cli_grow(lines->items, lines->count, &lines->room, sizeof(*lines->items));
    cost_line *line = &lines->items[lines->count++];
    memset(line, 0, sizeof(*line));
    line->key = key;
    line->name = row->name;
    line->about = row->about;
    line->step = step;
    line->count[which] = nodes;
    line->us[which] = row->us;
    line->extra[which] = row->extra;
}

/* Put lines with equal keys together. */
static void merge_lines(cost_lines *lines)
{
    size_t used = 0;
    if (lines->count > 1)
        qsort(lines->items, lines->count, sizeof(*lines->items), compare_keys_of_lines);
    for (size_t i = 0; i < lines->count; ++i) {
        cost_line *to = used > 0 ? &lines->items[used - 1] : NULL, *from = &lines->items[i];
        if (to == NULL || strcmp(to->key, from->key) != 0) {
            lines->items[used++] = *from;
            continue;
        }
        for (int s = 0; s < 2; ++s) {
            to->us[s] += from->us[s];
            to->extra[s] += from->extra[s];
            to->count[s] += from->count[s];
        }
        free(from->key);
    }
    lines->count = used;
}

/* Add the rows of a pipeline. Nodes of a step that have the same name are one line. */
static void list_lines(cost_lines *lines, const costs *all, size_t pipeline, line_kind kind,
                       int which)
{
    const size_t end = cost_end(all, pipeline);
    const int detailed = cost_next(all, pipeline, end, COST_NODE) < end;
    size_t step = 0;
    for (size_t s = cost_next(all, pipeline + 1, end, COST_STEP); s < end; ++step) {
        const size_t next = cost_end(all, s);
        double nodes = 0;
        for (size_t n = s + 1; n < next; ++n) {
            const cost *row = &all->rows[n];
            nodes += row->us;
            if (kind == LINE_OPERATORS)
                add_line(lines, cli_text("%s", row->about), row, step, 1, which);
            if (kind == LINE_NODES)
                add_line(lines, cli_text("%s\n%06lu", row->name, (unsigned long)step), row, step, 1,
                         which);
        }
        if (kind == LINE_STEPS)
            add_line(lines, cli_text("%06lu", (unsigned long)step), &all->rows[s], step,
                     next - s - 1, which);
        /* What no node accounts for is a line of its own among the operators. */
        const cost rest = {COST_NODE, (char *)(uintptr_t)"",
                           (char *)(uintptr_t)(next > s + 1 ? "outside nodes" : "without nodes"),
                           all->rows[s].us - nodes, 0};
        if (kind == LINE_OPERATORS && detailed && rest.us > 0)
            add_line(lines, cli_text("%s", rest.about), &rest, step, 0, which);
        s = next;
    }
}

static void free_lines(cost_lines *lines)
{
    for (size_t i = 0; i < lines->count; ++i) free(lines->items[i].key);
    free(lines->items);
    memset(lines, 0, sizeof(*lines));
}

/* Return the pipeline of `all` that belongs to one of another profile: of the same name, or the
   only one of both; SIZE_MAX: none. */
static size_t other_pipeline(const costs *of, size_t pipeline, const costs *all)
{
    size_t found = SIZE_MAX, count = 0, own = 0;
    for (size_t i = 0; i < of->count; ++i) own += of->rows[i].kind == COST_PIPELINE;
    for (size_t i = 0; i < all->count; ++i) {
        if (all->rows[i].kind != COST_PIPELINE) continue;
        if (strcmp(all->rows[i].name, of->rows[pipeline].name) == 0) return i;
        found = i;
        ++count;
    }
    return own == 1 && count == 1 ? found : SIZE_MAX;
}

/* Make the lines of a pipeline, sorted. b: the second profile, or NULL. */
static cost_lines make_lines(const costs *a, size_t pipeline, const costs *b, line_kind kind)
{
    cost_lines lines = {NULL, 0, 0};
    const size_t other = b != NULL ? other_pipeline(a, pipeline, b) : SIZE_MAX;
    list_lines(&lines, a, pipeline, kind, 0);
    if (other != SIZE_MAX) list_lines(&lines, b, other, kind, 1);
    merge_lines(&lines);
    if (lines.count > 1)
        qsort(lines.items, lines.count, sizeof(*lines.items), b != NULL ? compare_change
              : compare_cost);
    return lines;
}

/* =====================================================================================
   SUMMARY                                                                       >>summary
   The verb profile: tables of costs, and of the difference of two profiles.
   ===================================================================================== */

/* Return "812 us", "12.3 ms" or "1.23 s" with a sign if wanted. The caller frees it. */
static char *us_text(double us, int sign)
{
    const double size = fabs(us);
    const char *plus = sign && us > 0 ? "+" : "";
    return size < 0.5 ? cli_text("0 us")
        : size < 9.95 ? cli_text("%s%.1f us", plus, us)
        : size < 999.5 ? cli_text("%s%.0f us", plus, us)
        : size < 9995 ? cli_text("%s%.2f ms", plus, us / 1e3)
        : size < 99950 ? cli_text("%s%.1f ms", plus, us / 1e3)
        : size < 999500 ? cli_text("%s%.0f ms", plus, us / 1e3)
        : cli_text("%s%.2f s", plus, us / 1e6);
}

static char *share_text(double us, double whole)
{
    return whole > 0 ? cli_text("%.1f %%", 100 * us / whole) : cli_text("-");
}

static char *change_text(double from, double to)
{
    return from > 0 && to > 0 ? cli_text("%+.1f %%", 100 * (to / from - 1))
        : from > 0 ? cli_text("gone") : to > 0 ? cli_text("new") : cli_text("-");
}

/* Return a name that is safe to print, of at most some columns. The caller frees it. */
static char *short_name(const char *name, size_t columns)
{
    char *shown = cli_shown(name), *made = shortened(shown, columns);
    free(shown);
    return made;
}

/* Print one list of a pipeline. whole: its times in both profiles. */
static void say_lines(const tool *t, const cost_lines *lines, line_kind kind, const double whole[2],
                      int two)
{
    static const char *const heads[LINE_KINDS][3] = {
        {"nodes", "on device", "step"}, {"nodes", "", "operator"}, {"step", "operator", "node"}};
    const size_t top = t->set.profiling.top, rows = lines->count < top ? lines->count : top;
    const char *titles[COLUMNS] = {"share", "time"};
    char *(*cells)[COLUMNS] = cli_alloc(rows, sizeof(*cells));
    size_t c = two ? 4 : 2;
    if (lines->count == 0) {
        free(cells);
        return;
    }
    if (two) {
        titles[0] = "before";
        titles[1] = "after";
        titles[2] = "difference";
        titles[3] = "change";
    }
    for (size_t h = 0; h < 3; ++h)
        if (heads[kind][h][0] != '\0' && !(two && kind == LINE_STEPS && h == 1))
            titles[c++] = heads[kind][h];
    for (size_t i = 0; i < rows; ++i) {
        const cost_line *line = &lines->items[i];
        char **cell = cells[i];
        c = 0;
        if (two) {
            cell[c++] = us_text(line->us[0], 0);
            cell[c++] = us_text(line->us[1], 0);
            cell[c++] = us_text(line->us[1] - line->us[0], 1);
            cell[c++] = change_text(line->us[0], line->us[1]);
        } else {
            cell[c++] = share_text(line->us[0], whole[0]);
            cell[c++] = us_text(line->us[0], 0);
        }
        cell[c++] = cli_text("%lu", (unsigned long)(kind == LINE_NODES ? line->step
                                                    : line->count[two && line->us[1] > 0]));
        if (kind == LINE_STEPS) {
            char *name = short_name(line->name, 40), *file = short_name(line->about, 24);
            if (!two) cell[c++] = line->extra[0] > 0 ? us_text(line->extra[0], 0) : cli_text("-");
            cell[c++] = cli_text("%lu  %s  %s", (unsigned long)line->step, file, name);
            free(name);
            free(file);
        } else {
            cell[c++] = short_name(line->about, 24);
            if (kind == LINE_NODES) cell[c++] = short_name(line->name, 46);
        }
    }
    say(t, "  %s", line_kinds[kind]);
    if (rows < lines->count)
        say(t, ", %s %lu of %lu", two ? "most changed" : "most expensive", (unsigned long)rows,
            (unsigned long)lines->count);
    say(t, "\n");
    say_table(t, titles, two ? "rrrrr" : kind == LINE_STEPS ? "rrrr" : "rrr", cells, rows);
    free(cells);
}

static void say_loads(const tool *t, const costs *a, const costs *b)
{
    const costs *both[2] = {a, b};
    double sums[2] = {0, 0};
    for (int s = 0; s < 2; ++s)
        for (size_t i = 0; both[s] != NULL && i < both[s]->count; ++i)
            if (both[s]->rows[i].kind == COST_LOAD) sums[s] += both[s]->rows[i].us;
    char *before = us_text(sums[0], 0), *after = us_text(sums[1], 0);
    say(t, b != NULL ? "loading   %s before, %s after\n" : "loading   %s\n", before, after);
    for (size_t i = 0; b == NULL && i < a->count; ++i) {
        const cost *row = &a->rows[i];
        if (row->kind != COST_LOAD) continue;
        char *share = share_text(row->us, sums[0]), *us = us_text(row->us, 0),
            *name = short_name(row->name, 60), *about = short_name(row->about, 12);
        say(t, "  %7s  %8s  %s %s\n", share, us, about, name);
        free(share);
        free(us);
        free(name);
        free(about);
    }
    free(before);
    free(after);
}

static void say_costs_head(const tool *t, const char *label, const costs *all)
{
    char *model = short_name(all->model, 80), *backend = short_name(all->backend, 30),
        *build = short_name(all->build, 40), *level = short_name(all->level, 12);
    say(t, "%-9s %s\n          on %s %s, level %s, %.0f inference%s after a first one\n", label,
        model, backend, build, level, all->inferences, all->inferences > 1 ? "s" : "");
    free(model);
    free(backend);
    free(build);
    free(level);
}

/* Print costs, or their change from a to b. */
static void say_costs(const tool *t, const costs *a, const costs *b)
{
    say(t, "\n");
    say_costs_head(t, b != NULL ? "before" : "profile", a);
    if (b != NULL) say_costs_head(t, "after", b);
    say_loads(t, a, b);
    for (size_t i = 0; i < a->count; ++i) {
        const cost *row = &a->rows[i];
        if (row->kind != COST_PIPELINE) continue;
        const size_t other = b != NULL ? other_pipeline(a, i, b) : SIZE_MAX;
        const double whole[2] = {row->us, other != SIZE_MAX ? b->rows[other].us : 0};
        char *name = short_name(row->name, 60), *us = us_text(whole[0], 0),
            *first = us_text(row->extra, 0), *after = us_text(whole[1], 0),
            *change = change_text(whole[0], whole[1]);
        if (b == NULL) say(t, "\npipeline \"%s\"  %s, the first time %s\n", name, us, first);
        else if (other == SIZE_MAX)
            say(t, "\npipeline \"%s\"  %s before, missing after\n", name, us);
        else say(t, "\npipeline \"%s\"  %s before, %s after, %s\n", name, us, after, change);
        for (int kind = 0; kind < LINE_KINDS && (b == NULL || other != SIZE_MAX); ++kind) {
            cost_lines lines = make_lines(a, i, b, (line_kind)kind);
            say_lines(t, &lines, (line_kind)kind, whole, b != NULL);
            free_lines(&lines);
        }
        free(name);
        free(us);
        free(first);
        free(after);
        free(change);
    }
    for (size_t i = 0; b != NULL && i < b->count; ++i) {
        if (b->rows[i].kind != COST_PIPELINE || other_pipeline(b, i, a) != SIZE_MAX) continue;
        char *name = short_name(b->rows[i].name, 60), *us = us_text(b->rows[i].us, 0);
        say(t, "\npipeline \"%s\"  %s after, missing before\n", name, us);
        free(name);
        free(us);
    }
}

/* Write the change from a to b as JSON. */
static void write_change(tool *t, const char *path, const costs *a, const costs *b)
{
    const char *const labels[2] = {"before", "after"};
    const costs *const both[2] = {a, b};
    page p = {NULL, 0, 0};
    json writer, *j = &writer;
    json_document(j, &p, "qnnrt-run.profile-change");
    for (int s = 0; s < 2; ++s) {
        json_open(j, labels[s], '{', 1);
        json_string(j, "model", both[s]->model);
        json_string(j, "backend", both[s]->backend);
        json_string(j, "build_id", both[s]->build);
        json_value(j, "inferences", both[s]->inferences);
        json_close(j);
    }
    json_open(j, "pipelines", '[', 0);
    for (size_t i = 0; i < a->count; ++i) {
        const size_t other = a->rows[i].kind == COST_PIPELINE ? other_pipeline(a, i, b) : SIZE_MAX;
        if (other == SIZE_MAX) continue;
        json_open(j, NULL, '{', 0);
        json_string(j, "name", a->rows[i].name);
        json_value(j, "before_us", a->rows[i].us);
        json_value(j, "after_us", b->rows[other].us);
        for (int kind = 0; kind < LINE_KINDS; ++kind) {
            cost_lines lines = make_lines(a, i, b, (line_kind)kind);
            json_open(j, line_kinds[kind], '[', 0);
            for (size_t k = 0; k < lines.count; ++k) {
                const cost_line *line = &lines.items[k];
                json_open(j, NULL, '{', 1);
                if (kind != LINE_OPERATORS) json_string(j, "name", line->name);
                json_string(j, kind == LINE_STEPS ? "file" : "operator", line->about);
                if (kind != LINE_OPERATORS) json_count(j, "step", line->step);
                json_value(j, "before_us", line->us[0]);
                json_value(j, "after_us", line->us[1]);
                json_close(j);
            }
            json_close(j);
            free_lines(&lines);
        }
        json_close(j);
    }
    json_close(j);
    json_close(j);
    qnnrt_json_write_end(j);
    write_page(t, path, &p, 0);
    free(p.data);
}

/* Run the model and take its costs. Return 0 after a message. */
static int measure_costs(tool *t, costs *all)
{
    t->sampling = 1;
    t->set.inferences = t->set.profiling.inferences + 1;
    if (!open_model(t) || !select_jobs(t)) return 0;
    for (size_t i = 0; i < t->job_count; ++i) plan_job(t, &t->jobs[i]);
    if (!t->failed || t->set.keep_going) run_jobs(t);
    if (t->failed && !t->set.keep_going) return 0;
    take_costs(t, all);
    return 1;
}

/* True for a file in JSON, which profile takes for a saved profile. */
static int is_saved(const char *path)
{
    return strcmp(path, "-") == 0 || (!cli_is_folder(path) && is_json_file(path));
}

static int run_profile(tool *t)
{
    costs a, b;
    const settings *set = &t->set;
    const char *later = NULL, *earlier = set->profiling.against;
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    if (set->files.count > 0 && is_saved(set->files.items[0])) {
        later = set->files.items[set->files.count - 1];
        if (set->files.count == 2) earlier = set->files.items[0];
        if (set->files.count > 2 || (set->files.count == 2 && set->profiling.against != NULL))
            return cli_usage("Name two profiles, or one with --against.",
                             "profile compares two saved profiles");
    } else {
        static const qnnrt_profile_level levels[] = {QNNRT_PROFILE_DETAILED, QNNRT_PROFILE_BASIC,
                                                     QNNRT_PROFILE_OPTRACE};
        t->set.profile = levels[set->profiling.level];
        const int status = check_model(&t->set, t->parsed);
        if (status != STATUS_OK) return status;
    }
    int good = later != NULL ? read_costs(t, later, &b) : measure_costs(t, &b);
    if (good && earlier != NULL) good = read_costs(t, earlier, &a);
    if (good) {
        say_costs(t, earlier != NULL ? &a : &b, earlier != NULL ? &b : NULL);
        if (set->json && earlier != NULL) write_change(t, "-", &a, &b);
        else if (set->json) write_costs(t, "-", &b);
        if (set->profiling.save != NULL) {
            write_costs(t, set->profiling.save, &b);
            say(t, "wrote     %s\n", set->profiling.save);
        }
    }
    free_costs(&a);
    free_costs(&b);
    return STATUS_OK;
}

static const char *const level_words[] = {"detailed", "basic", "optrace", NULL};

static const cli_option profile_options[] = {
    {.name = "profiling_level", .value = "basic|detailed|optrace", .kind = CLI_WORD,
     .words = level_words, FIELD(profiling.level), .verbs = VERB_PROFILE,
     .help = "what the library measures: steps with basic, their nodes too with detailed "
             "(default); optrace (HTP) adds its trace to --profile_out"},
    {.name = "num_inferences", .value = "N", .kind = CLI_U32, .least = 1, .most = 10000,
     FIELD(profiling.inferences), .verbs = VERB_PROFILE,
     .help = "inferences that are measured, after a first one that is not (default 10). Times are "
             "the mean of all but the slowest and the fastest quarter"},
    {.name = "against", .value = "FILE", .kind = CLI_TEXT, FIELD(profiling.against),
     .verbs = VERB_PROFILE,
     .help = "compare with an earlier profile, which --save or --json wrote"},
    {.name = "save", .value = "FILE", .kind = CLI_TEXT, FIELD(profiling.save),
     .verbs = VERB_PROFILE, .help = "write the profile as JSON, to compare others with it"},
    {.name = "top", .value = "N", .kind = CLI_U32, .least = 1, .most = 1000000,
     FIELD(profiling.top), .verbs = VERB_PROFILE,
     .help = "most lines of each table (default 15)"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_PROFILE,
     .help = "print the profile, or the differences, as JSON instead of tables"}
};
