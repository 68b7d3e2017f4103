/* html_report.c - the verb report, which writes a report of a model as HTML

   ROOMS     >>html_report >>report_verb */
#include "run/draw/draw.h"
#include "run/model/model.h"
#include "run/io/io.h"
#include "run/check/check.h"

/* =====================================================================================
   HTML REPORT                                                               >>html_report
   The sections of the page: sums, findings, contexts, pipelines, costs.
   ===================================================================================== */

/* Return "SM8650, v75", "SoC 99" for a chip without a name, or "-". The caller frees it. */
static char *chip_text(uint32_t soc, uint32_t arch)
{
    page p = {NULL, 0, 0};
    if (soc != 0 && cli_chip_name(soc) != NULL) page_text(&p, cli_chip_name(soc));
    else if (soc != 0) page_add(&p, "SoC %lu", (unsigned long)soc);
    if (arch != 0) page_add(&p, "%sv%lu", soc != 0 ? ", " : "", (unsigned long)arch);
    return p.data != NULL ? p.data : cli_text("-");
}

/* Write the sums at the top. */
static void html_report_sums(const tool *t, page *p, const findings *found, const costs *all)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    uint64_t bytes = 0, needed = 0, arena = 0;
    size_t graphs = 0;
    double inference = 0;
    for (size_t i = 0; i < info->context_count; ++i) {
        bytes += info->contexts[i].info->file_bytes;
        needed += info->contexts[i].info->device_bytes;
        graphs += info->contexts[i].info->graph_count;
    }
    for (size_t i = 0; i < t->job_count; ++i)
        if (t->jobs[i].plan_info != NULL && t->jobs[i].plan_info->peak > arena)
            arena = t->jobs[i].plan_info->peak;
    for (size_t i = 0; i < all->count; ++i)
        if (all->rows[i].kind == COST_PIPELINE && all->rows[i].us > inference)
            inference = all->rows[i].us;
    page_text(p, "<section id=\"sums\">\n<h2>At a glance</h2>\n<div class=\"tiles\">\n");
    html_tile(p, cli_grouped(info->context_count),
              info->context_count == 1 ? "context" : "contexts");
    html_tile(p, cli_grouped(graphs), graphs == 1 ? "graph" : "graphs");
    html_tile(p, cli_grouped(t->job_count), t->job_count == 1 ? "pipeline" : "pipelines");
    if (bytes > 0) html_tile(p, cli_bytes_text(bytes), "files");
    if (needed > 0) html_tile(p, cli_bytes_text(needed), "device memory");
    if (arena > 0) html_tile(p, cli_bytes_text(arena), "largest arena");
    if (inference > 0) html_tile(p, us_text(inference, 0), "longest inference");
    html_tile(p, cli_text("%lu / %lu", (unsigned long)found->levels[FOUND_FAULT],
                          (unsigned long)found->levels[FOUND_WARNING]), "faults / warnings");
    page_text(p, "</div>\n</section>\n");
}

/* Write what doctor_model() found; what is well is folded. */
static void html_report_findings(page *p, const findings *found)
{
    page_text(p, "<section id=\"findings\">\n<h2>Findings</h2>\n");
    for (int good = 0; good < 2; ++good) {
        size_t count = 0;
        for (size_t i = 0; i < found->count; ++i)
            count += (found->items[i].level <= FOUND_NOTE) == good;
        if (count == 0) {
            if (!good) html_item(p, "p", "soft", "No fault and no warning.");
            continue;
        }
        if (good)
            page_add(p, "<details><summary>%lu check%s without a fault</summary>\n",
                     (unsigned long)count, cli_plural(count));
        for (size_t i = 0; i < found->count; ++i) {
            const finding *one = &found->items[i];
            if ((one->level <= FOUND_NOTE) != good) continue;
            page_add(p, "<div class=\"finding\"><span class=\"level %s\">%s</span>\n",
                     finding_levels[one->level], finding_levels[one->level]);
            html_item(p, "b", "mono", one->what);
            html_item(p, "div", NULL, one->found);
            if (one->fix[0] != '\0') html_item(p, "div", "soft", one->fix);
            page_text(p, "</div>\n");
        }
        if (good) page_text(p, "</details>\n");
    }
    page_text(p, "</section>\n");
}

static void html_report_contexts(const tool *t, page *p)
{
    static const char *const heads[] = {"", "file", ">size", "made by", "for", "backend", ">graphs",
                                        ">loaded in", NULL};
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    page_text(p, "<section id=\"contexts\">\n<h2>Contexts</h2>\n");
    html_table(p, heads);
    for (size_t i = 0; i < info->context_count; ++i) {
        const qnnrt_manifest_context *in = &info->contexts[i];
        const qnnrt_context_info *c = in->info;
        page_text(p, "<tr>");
        html_take(p, "td", "n soft", cli_grouped(i));
        html_item(p, "td", "name", base_name(in->file));
        html_take(p, "td", "n", c->file_bytes != 0 ? cli_bytes_text(c->file_bytes)
                  : cli_text("no binary"));
        html_item(p, "td", "mono", c->build_id != NULL && c->build_id[0] != '\0' ? c->build_id
                  : "-");
        html_take(p, "td", "one", chip_text(c->soc_model, c->dsp_arch));
        html_take(p, "td", NULL, in->role[0] != '\0'
                  ? cli_text("%s (%s)", in->role, cli_backend_name(c->backend_id))
                  : cli_text("%s", cli_backend_name(c->backend_id)));
        html_take(p, "td", "n", cli_grouped(c->graph_count));
        html_take(p, "td", "n", c->create_ns != 0
                  ? us_text((double)(c->create_ns + c->metadata_ns) / 1e3, 0) : cli_text("-"));
        page_text(p, "</tr>\n");
        if (in->failure == NULL) continue;
        page_text(p, "<tr><td></td><td colspan=\"7\" class=\"fault\">");
        html_text(p, in->failure->text);
        page_text(p, "</td></tr>\n");
    }
    html_table_end(p);
    page_text(p, "</section>\n");
}

/* Write all tensors of a pipeline, folded. */
static void html_report_tensors(page *p, const job *j)
{
    static const char *const heads[] = {"tensor", "role", "dims", "type", "encoding", ">size",
                                        ">offset", ">steps", NULL};
    page_add(p, "<details><summary>%lu tensor%s</summary>\n", (unsigned long)j->info->slot_count,
             cli_plural(j->info->slot_count));
    html_table(p, heads);
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        const qnnrt_slot *slot = &j->info->slots[i];
        const qnnrt_tensor_info *tensor = slot->tensor;
        const unsigned long first = slot->first, last = slot->last;
        page_text(p, "<tr>");
        html_item(p, "td", "name", slot->address);
        html_item(p, "td", NULL, qnnrt_role_name(slot->role));
        html_take(p, "td", "one mono", dims_text(tensor));
        html_item(p, "td", "mono", qnnrt_dtype_name(tensor->dtype));
        html_take(p, "td", "mono", encoding_text(&tensor->quant));
        html_take(p, "td", "n", cli_bytes_text(tensor->bytes));
        html_take(p, "td", "n", offset_text(j, i));
        html_take(p, "td", "n", first == last ? cli_text("%lu", first)
                  : cli_text("%lu\xE2\x80\x93%lu", first, last));
        page_text(p, "</tr>\n");
    }
    html_table_end(p);
    page_text(p, "</details>\n");
}

static void html_report_edges(page *p, const qnnrt_pipeline_info *info)
{
    static const char *const heads[] = {">from step", "output", ">to step", "input", ">size",
                                        "wired because of", NULL};
    if (info->edge_count == 0) return;
    page_add(p, "<details><summary>%lu edge%s</summary>\n", (unsigned long)info->edge_count,
             cli_plural(info->edge_count));
    html_table(p, heads);
    for (size_t i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *edge = &info->edges[i];
        page_text(p, "<tr>");
        html_take(p, "td", "n", cli_grouped(edge->from_step));
        html_item(p, "td", "name", edge->from->name);
        html_take(p, "td", "n", cli_grouped(edge->to_step));
        html_item(p, "td", "name", edge->to->name);
        html_take(p, "td", "n", cli_bytes_text(edge->from->bytes));
        html_item(p, "td", NULL, edge->reason);
        page_text(p, "</tr>\n");
    }
    html_table_end(p);
    page_text(p, "</details>\n");
}

enum { UNTITLED = MARGIN + 20 };       /* below the name of a pipeline in a picture */

/* Write a pipeline: its wiring, its tensors, its memory. */
static void html_report_pipeline(page *p, const job *j, size_t index)
{
    flow f = {{NULL, 0, 0}, MARGIN, PICTURE, {0, 0, 0, 0}};
    OWNED page arena = {NULL, 0, 0};
    char *label = pipeline_label(j->info);
    page_add(p, "<section id=\"p%lu\">\n", (unsigned long)index);
    html_take(p, "h2", NULL, label);
    if (is_made_up(j->info->name)) html_item(p, "p", "soft mono", j->info->name);
    draw_flow(&f, j->info, 0);
    html_item(p, "h3", NULL, "Wiring");
    html_picture(p, &f.body, f.width, f.y + MARGIN, UNTITLED);
    html_report_edges(p, j->info);
    html_report_tensors(p, j);
    if (j->plan_info != NULL) {
        const double height = draw_arena(&arena, j, MARGIN);
        html_item(p, "h3", NULL, "Memory");
        html_picture(p, &arena, PICTURE, height + MARGIN - 8, UNTITLED);
    } else if (j->info->failure == NULL) {
        html_item(p, "p", "failure", j->error != NULL ? j->error : "not planned");
    }
    page_text(p, "</section>\n");
    free(f.body.data);
}

/* Write the most expensive lines of a pipeline as a table. */
static void html_report_lines(page *p, const costs *all, size_t pipeline, line_kind kind)
{
    enum { MOST = 20 };
    static const char *const heads[LINE_KINDS][6] = {
        {">share", ">time", ">nodes", "file", "step", NULL},
        {">share", ">time", ">nodes", "operator", NULL},
        {">share", ">time", ">step", "operator", "node", NULL}
    };
    static const char *const titles[LINE_KINDS] = {"Steps", "Operators", "Nodes"};
    cost_lines lines = make_lines(all, pipeline, NULL, kind);
    if (lines.count > 0) {
        page_text(p, "<details>");
        html_take(p, "summary", NULL, lines.count > MOST
                  ? cli_text("%s: %d of %lu", titles[kind], MOST, (unsigned long)lines.count)
                  : cli_text("%s", titles[kind]));
        html_table(p, heads[kind]);
        for (size_t i = 0; i < lines.count && i < MOST; ++i) {
            const cost_line *line = &lines.items[i];
            page_text(p, "<tr>");
            html_take(p, "td", "n", share_text(line->us[0], all->rows[pipeline].us));
            html_take(p, "td", "n", us_text(line->us[0], 0));
            html_take(p, "td", "n", cli_grouped(kind == LINE_NODES ? line->step : line->count[0]));
            html_item(p, "td", "name", line->about);
            if (kind != LINE_OPERATORS)
                html_item(p, "td", "name", is_made_up(line->name) ? "" : line->name);
            page_text(p, "</tr>\n");
        }
        html_table_end(p);
        page_text(p, "</details>\n");
    }
    free_lines(&lines);
}

static void html_report_costs(page *p, const costs *all)
{
    flame f = {{NULL, 0, 0}, MARGIN, 0, {NULL, 0, 0}};
    page_text(p, "<section id=\"costs\">\n<h2>Times</h2>\n");
    html_take(p, "p", "soft", cli_text("On %s %s, level %s, %.0f inference%s after a first one; the"
                                       " mean of the faster half.",
                                       all->backend, all->build, all->level, all->inferences,
                                       all->inferences > 1 ? "s" : ""));
    draw_flame(&f, all, NULL);
    html_picture(p, &f.body, PICTURE, f.y, 8);
    for (size_t i = 0; i < all->count; ++i) {
        if (all->rows[i].kind != COST_PIPELINE) continue;
        html_item(p, "h3", "mono", cost_label(all, i));
        for (int kind = 0; kind < LINE_KINDS; ++kind) html_report_lines(p, all, i, (line_kind)kind);
    }
    page_text(p, "</section>\n");
    free(f.body.data);
}

static void html_report_links(const tool *t, page *p, int measured)
{
    page_text(p, "<nav>\n");
    if (t->model != NULL) page_text(p, "<a href=\"#sums\">At a glance</a>\n");
    page_text(p, "<a href=\"#findings\">Findings</a>\n");
    if (t->model != NULL) page_text(p, "<a href=\"#contexts\">Contexts</a>\n");
    for (size_t i = 0; i < t->job_count; ++i) {
        OWNED char *label = pipeline_label(t->jobs[i].info);
        page_add(p, "<a href=\"#p%lu\">", (unsigned long)i);
        html_text(p, label);
        page_text(p, "</a>\n");
    }
    if (measured) page_text(p, "<a href=\"#costs\">Times</a>\n");
    page_text(p, "</nav>\n");
}

/* Write the whole page. all: no rows: nothing was measured */
static void write_html_report(tool *t, const char *path, const findings *found, const costs *all)
{
    OWNED page p = {NULL, 0, 0};
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    const qnnrt_backend_info *backend = info != NULL ? qnnrt_backend_get_info(info->backend) : NULL;
    const char *name = base_name(model_name(t));
    if (name[0] == '\0') name = model_name(t);
    html_begin(&p, name);
    page_text(&p, "<header>\n");
    html_item(&p, "h1", NULL, name);
    html_take(&p, "p", "soft", backend != NULL
              ? cli_text("model for QNN, on %s %s", backend->provider, backend->build_id)
              : info == NULL ? cli_text("model for QNN, which could not be opened")
              : cli_text("model for QNN, looked at without a backend"));
    page_text(&p, "</header>\n<div class=\"layout\">\n");
    html_report_links(t, &p, all->count > 0);
    page_text(&p, "<main>\n");
    if (info != NULL) html_report_sums(t, &p, found, all);
    html_report_findings(&p, found);
    if (info != NULL) html_report_contexts(t, &p);
    for (size_t i = 0; i < t->job_count; ++i) html_report_pipeline(&p, &t->jobs[i], i);
    if (all->count > 0) html_report_costs(&p, all);
    html_take(&p, "footer", NULL, cli_text("Made by qnnrt-run %s.", qnnrt_version()));
    page_text(&p, "</main>\n</div>\n");
    html_end(&p);
    write_named(t, path, &p, 0);
}

/* =====================================================================================
   REPORT VERB                                                               >>report_verb
   ===================================================================================== */

/* Check that options for an execution come with --run. */
static int check_html_report(const tool *t)
{
    static const char *const looks[] = {
        "output", "costs", "ctx_dir", "retrieve_context", "system_so", "graph", "align", "read",
        "metadata", "no_manifest", "keep_going", "log_level", "quiet"};
    if (t->set.html_report->output == NULL)
        return cli_usage("Add --output report.html.", "report: --output FILE is missing");
    for (size_t i = 0; i < t->given_count && !t->set.html_report->run; ++i) {
        const char *name = t->given[i].option->name;
        size_t k = 0;
        while (k < sizeof(looks) / sizeof(looks[0]) && strcmp(looks[k], name) != 0) ++k;
        if (k == sizeof(looks) / sizeof(looks[0]))
            return cli_usage("Add --run.", "--%s needs --run", name);
    }
    if (t->set.html_report->run && t->set.html_report->costs != NULL)
        return cli_usage("Leave one of them out.", "--run excludes --costs");
    return STATUS_OK;
}

/* Write the page of a model that cannot be opened: what doctor finds in its folder, and the error
   if it finds no fault. */
static void write_broken_report(tool *t, const costs *none)
{
    findings found;
    doctor d;
    memset(&found, 0, sizeof(found));
    memset(&d, 0, sizeof(d));
    d.t = t;
    d.at = model_name(t);
    if (cli_is_folder(d.at)) work_model(&d, &found);
    if (found.levels[FOUND_FAULT] == 0)
        add_finding(&found, AREA_MODEL, FOUND_FAULT, base_name(d.at), t->error_hint, "%s",
                    t->error != NULL ? t->error : "cannot be opened");
    write_html_report(t, t->set.html_report->output, &found, none);
    free_findings(&found);
}

int verb_report(void *user)
{
    tool *t = user;
    settings *set = &t->set;
    costs all;
    findings found;
    int status = check_html_report(t);
    memset(&all, 0, sizeof(all));
    memset(&found, 0, sizeof(found));
    if (status != STATUS_OK) return status;
    set->inspect = !set->html_report->run;
    if (set->html_report->run) set->profile = profile_levels[set->profiling->level];
    status = check_model(set, t->parsed);
    if (status != STATUS_OK) return status;
    t->sampling = 1;
    if (set->html_report->run) set->inferences = set->profiling->inferences + 1;
    if (!check_sources(t, set->ctx_dir, set->files.items, set->files.count)) return STATUS_OK;
    if (!open_model(t)) {
        write_broken_report(t, &all);
        return STATUS_OK;
    }
    if (!select_jobs(t)) return STATUS_OK;
    for (size_t i = 0; i < t->job_count; ++i)    /* what is not wired is a finding */
        if (t->jobs[i].info->failure == NULL) plan_job(t, &t->jobs[i]);
    doctor_model(t, &found);
    if (set->html_report->run) {
        run_jobs(t);
        take_costs(t, &all);
    }
    if (set->html_report->costs == NULL || read_costs(t, set->html_report->costs, &all))
        write_html_report(t, set->html_report->output, &found, &all);
    free_costs(&all);
    free_findings(&found);
    return STATUS_OK;
}

static const cli_option html_report_options[] = {
    {.name = "output", .value = "FILE", .kind = CLI_TEXT, OWN(html_report_settings, output),
     .verbs = VERB_REPORT,
     .help = "file to write, such as report.html; - for standard output"},
    {.name = "run", .kind = CLI_FLAG, OWN(html_report_settings, run), .verbs = VERB_REPORT,
     .help = "execute the pipelines as profile does, and add the times"},
    {.name = "costs", .value = "FILE", .kind = CLI_TEXT, OWN(html_report_settings, costs),
     .verbs = VERB_REPORT,
     .help = "add the times of a profile that profile --save wrote, such as one of a phone"}
};

const cli_table html_report_table =
    CLI_TABLE_OF(html_report_options, html_report_settings, offsetof(settings, html_report), NULL);
