/* summary.c - costs as tables, and the verb profile

   ROOM     >>summary */
#include "run/measure/measure.h"
#include "run/model/model.h"
#include "run/io/io.h"
#include "run/draw/draw.h"

/* =====================================================================================
   SUMMARY                                                                       >>summary
   The verb profile: tables of costs, and of the difference of two profiles.
   ===================================================================================== */

/* Return a name that is safe to print, of at most some columns. The caller frees it. */
static char *short_name(const char *name, size_t columns)
{
    OWNED char *shown = cli_shown(name);
    return shortened(shown, columns);
}

/* Print one list of a pipeline. whole: its times in both profiles. */
static void say_lines(const tool *t, const cost_lines *lines, line_kind kind, const double whole[2],
                      int two)
{
    static const char *const heads[LINE_KINDS][3] = {
        {"nodes", "on device", "step"}, {"nodes", "", "operator"}, {"step", "operator", "node"}};
    const size_t top = t->set.profiling->top, rows = lines->count < top ? lines->count : top;
    const char *titles[COLUMNS] = {"share", "time"};
    OWNED char *(*cells)[COLUMNS] = cli_alloc(rows, sizeof(*cells));
    size_t c = two ? 4 : 2;
    if (lines->count == 0) return;
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
            OWNED char *name = short_name(line->name, 40), *file = short_name(line->about, 24);
            if (!two) cell[c++] = line->extra[0] > 0 ? us_text(line->extra[0], 0) : cli_text("-");
            cell[c++] = cli_text("%lu  %s  %s", (unsigned long)line->step, file,
                                 is_made_up(line->name) ? "" : name);
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
}

static void say_loads(const tool *t, const costs *a, const costs *b)
{
    const costs *both[2] = {a, b};
    double sums[2] = {0, 0};
    for (int s = 0; s < 2; ++s)
        for (size_t i = 0; both[s] != NULL && i < both[s]->count; ++i)
            if (both[s]->rows[i].kind == COST_LOAD) sums[s] += both[s]->rows[i].us;
    OWNED char *before = us_text(sums[0], 0), *after = us_text(sums[1], 0);
    say(t, b != NULL ? "loading   %s before, %s after\n" : "loading   %s\n", before, after);
    for (size_t i = 0; b == NULL && i < a->count; ++i) {
        const cost *row = &a->rows[i];
        if (row->kind != COST_LOAD) continue;
        OWNED char *share = share_text(row->us, sums[0]), *us = us_text(row->us, 0),
                  *name = short_name(row->name, 60), *about = short_name(row->about, 12);
        say(t, "  %7s  %8s  %s %s\n", share, us, about, name);
    }
}

static void say_costs_head(const tool *t, const char *label, const costs *all)
{
    OWNED char *model = short_name(all->model, 80), *backend = short_name(all->backend, 30),
              *build = short_name(all->build, 40), *level = short_name(all->level, 12);
    say(t, "%-9s %s\n          on %s %s, level %s, %.0f inference%s after a first one\n", label,
        model, backend, build, level, all->inferences, all->inferences > 1 ? "s" : "");
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
        OWNED char *name = short_name(cost_label(a, i), 60), *us = us_text(whole[0], 0),
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
    }
    for (size_t i = 0; b != NULL && i < b->count; ++i) {
        if (b->rows[i].kind != COST_PIPELINE || other_pipeline(b, i, a) != SIZE_MAX) continue;
        OWNED char *name = short_name(cost_label(b, i), 60), *us = us_text(b->rows[i].us, 0);
        say(t, "\npipeline \"%s\"  %s after, missing before\n", name, us);
    }
}

/* Write the change from a to b as JSON. */
static void write_change(tool *t, const char *path, const costs *a, const costs *b)
{
    const char *const labels[2] = {"before", "after"};
    const costs *const both[2] = {a, b};
    document d;
    json *j = document_begin(&d, "qnnrt-run.profile-change");
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
    document_write(&d, t, path);
}

/* Run the model and take its costs. Return 0 after a message. */
static int measure_costs(tool *t, costs *all)
{
    t->sampling = 1;
    t->set.inferences = t->set.profiling->inferences + 1;
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

static const char *const level_words[] = {"detailed", "basic", "optrace", NULL};

/* Refuse options about a run: a saved profile has been measured. Returns STATUS_OK, or STATUS_USAGE
   after a message. */
static int check_saved(const tool *t)
{
    static const char *const shows[] = {"against", "save", "top", "json", "svg", "log_level",
                                        "quiet", NULL};
    for (size_t i = 0; i < t->parsed->given_count; ++i)
        if (cli_word(t->parsed->given[i].option->name, shows) < 0)
            return cli_usage("Leave it out.", "%s is a saved profile, which --%s is not for",
                             t->set.files.items[0], t->parsed->given[i].option->name);
    return STATUS_OK;
}

int run_profile(tool *t)
{
    costs a, b;
    const settings *set = &t->set;
    const char *later = NULL, *earlier = set->profiling->against;
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    if (set->files.count > 0 && is_saved(set->files.items[0])) {
        later = set->files.items[set->files.count - 1];
        if (set->files.count == 2) earlier = set->files.items[0];
        if (set->files.count > 2 || (set->files.count == 2 && set->profiling->against != NULL))
            return cli_usage("Name two profiles, or one with --against.",
                             "profile compares two saved profiles");
        const int status = check_saved(t);
        if (status != STATUS_OK) return status;
    } else {
        t->set.profile = profile_levels[set->profiling->level];
        const int status = check_model(&t->set, t->parsed);
        if (status != STATUS_OK) return status;
    }
    int good = later != NULL ? read_costs(t, later, &b) : measure_costs(t, &b);
    if (good && earlier != NULL) good = read_costs(t, earlier, &a);
    if (good) {
        say_costs(t, earlier != NULL ? &a : &b, earlier != NULL ? &b : NULL);
        if (set->json && earlier != NULL) write_change(t, "-", &a, &b);
        else if (set->json) write_costs(t, "-", &b);
        if (set->profiling->save != NULL) {
            write_costs(t, set->profiling->save, &b);
            say(t, "wrote     %s\n", set->profiling->save);
        }
        if (set->profiling->svg != NULL) write_flame(t, &b, earlier != NULL ? &a : NULL);
    }
    free_costs(&a);
    free_costs(&b);
    return STATUS_OK;
}

/* An option of this verb alone. */
#define PROFILE(member) OWN(profile_settings, member), .verbs = VERB_PROFILE

static const cli_option profile_options[] = {
    {.name = "profiling_level", .value = "basic|detailed|optrace", .kind = CLI_WORD,
     .words = level_words, OWN(profile_settings, level), .verbs = VERB_PROFILE | VERB_REPORT,
     .help = "what the library measures: steps with basic, their nodes too with detailed "
             "(default); optrace (HTP) adds its trace to --profile_out"},
    {.name = "num_inferences", .value = "N", .kind = CLI_U32, .least = 1, .most = 10000,
     OWN(profile_settings, inferences), .verbs = VERB_PROFILE | VERB_REPORT,
     .help = "inferences that are measured, after a first one that is not (default 10). Times are "
             "the mean of the faster half"},
    {.name = "against", .value = "FILE", .kind = CLI_TEXT, PROFILE(against),
     .help = "compare with an earlier profile, which --save or --json wrote"},
    {.name = "save", .value = "FILE", .kind = CLI_TEXT, PROFILE(save),
     .help = "write the profile as JSON, to compare others with it"},
    {.name = "top", .value = "N", .kind = CLI_U32, .least = 1, .most = 1000000, PROFILE(top),
     .help = "most lines of each table (default 15)"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_PROFILE,
     .help = "print the profile, or the differences, as JSON instead of tables"},
    {.name = "svg", .value = "FILE", .kind = CLI_TEXT, PROFILE(svg),
     .help = "draw the costs as a picture for a browser: pipelines, below them their steps and "
             "nodes, as wide as their times; - for standard output"}
};

static const profile_settings profile_defaults = {.inferences = 10, .top = 15};

const cli_table profile_table =
    CLI_TABLE_OF(profile_options, profile_settings, offsetof(settings, profiling),
                 &profile_defaults);
