/* saved.c - costs as a JSON document, written and read

   ROOM     >>saved */
#include "run/show/show.h"
#include "run/model/model.h"

/* =====================================================================================
   SAVED                                                                           >>saved
   Costs as JSON, written and read again.
   ===================================================================================== */

#define COSTS_FORMAT "qnnrt-run.profile"

/* The members of a row by its kind. */
static const struct { const char *list, *name, *about, *us, *extra; } cost_keys[] = {
    {"loading", "name", "kind", "us", "metadata_us"},
    {"pipelines", "name", NULL, "us", "first_us"},
    {"steps", "name", "file", "us", "device_us"},
    {"nodes", "name", "operator", "us", "cycles"}
};

/* Write the rows of a kind that are below one another, as a list. */
static void write_cost_rows(json *j, const costs *all, size_t begin, size_t end, cost_kind kind)
{
    json_open(j, cost_keys[kind].list, '[', 0);
    for (size_t i = cost_next(all, begin, end, kind), next; i < end;
         i = cost_next(all, next, end, kind)) {
        const cost *row = &all->rows[i];
        next = cost_end(all, i);
        json_open(j, NULL, '{', kind == COST_LOAD || kind == COST_NODE);
        json_string(j, cost_keys[kind].name, row->name);
        if (cost_keys[kind].about != NULL) json_string(j, cost_keys[kind].about, row->about);
        json_value(j, cost_keys[kind].us, row->us);
        json_value(j, cost_keys[kind].extra, row->extra);
        if (kind == COST_PIPELINE || kind == COST_STEP)
            write_cost_rows(j, all, i + 1, next, kind + 1);
        json_close(j);
    }
    json_close(j);
}

void write_costs(tool *t, const char *path, const costs *all)
{
    document d;
    json *j = document_begin(&d, COSTS_FORMAT);
    json_string(j, "model", all->model);
    json_string(j, "backend", all->backend);
    json_string(j, "build_id", all->build);
    json_string(j, "level", all->level);
    json_value(j, "inferences", all->inferences);
    write_cost_rows(j, all, 0, all->count, COST_LOAD);
    write_cost_rows(j, all, 0, all->count, COST_PIPELINE);
    document_write(&d, t, path);
}

/* Read a string; any other value becomes "". The caller frees it. */
static char *read_text(qnnrt_json_reader *r)
{
    const qnnrt_json_type type = qnnrt_json_value(r);
    if (type != QNNRT_JSON_STRING) {
        qnnrt_json_skip(r);
        return cli_text("%s", "");
    }
    char *text = cli_alloc(r->value.bytes + 1, 1);
    qnnrt_json_copy(&r->value, text);
    return text;
}

/* Read a time; what is no number, or less than 0, becomes 0. */
static double read_number(qnnrt_json_reader *r)
{
    double value = 0;
    const qnnrt_json_type type = qnnrt_json_value(r);
    qnnrt_json_skip(r);
    if (type != QNNRT_JSON_NUMBER || !qnnrt_json_f64(&r->value, &value)) return 0;
    return value > 0 && value < 1e15 ? value : 0;
}

/* What a saved profile may have: work grows with the square of its pipelines. */
enum { COSTS_ROWS = 1 << 20, COSTS_PIPELINES = 1024 };

/* Read a list of rows, and the lists in them. Rows beyond COSTS_ROWS are left out. */
static void read_cost_rows(qnnrt_json_reader *r, costs *all, cost_kind kind)
{
    if (qnnrt_json_value(r) != QNNRT_JSON_ARRAY) {
        qnnrt_json_skip(r);
        return;
    }
    while (qnnrt_json_more(r)) {
        const int is_row = qnnrt_json_value(r) == QNNRT_JSON_OBJECT;
        if (!is_row || all->count == COSTS_ROWS) {
            all->cut |= is_row;
            qnnrt_json_skip(r);
            continue;
        }
        const size_t at = cost_add(all, kind, NULL, NULL, 0, 0);
        while (qnnrt_json_more(r)) {
            const char *about = cost_keys[kind].about;
            const int below = kind == COST_PIPELINE || kind == COST_STEP;
            char **text = qnnrt_json_is(&r->key, cost_keys[kind].name) ? &all->rows[at].name
                : about != NULL && qnnrt_json_is(&r->key, about) ? &all->rows[at].about : NULL;
            double *number = qnnrt_json_is(&r->key, cost_keys[kind].us) ? &all->rows[at].us
                : qnnrt_json_is(&r->key, cost_keys[kind].extra) ? &all->rows[at].extra : NULL;
            if (text != NULL) {
                free(*text);
                *text = read_text(r);
            } else if (number != NULL) {
                *number = read_number(r);
            } else if (below && qnnrt_json_is(&r->key, cost_keys[kind + 1].list)) {
                read_cost_rows(r, all, kind + 1);
            } else {
                qnnrt_json_skip(r);
            }
        }
        if (all->rows[at].name == NULL) all->rows[at].name = cli_text("%s", "");
        if (all->rows[at].about == NULL) all->rows[at].about = cli_text("%s", "");
    }
}

int read_costs(tool *t, const char *path, costs *all)
{
    enum { MOST = 256 << 20 };
    size_t bytes = 0, pipelines = 0;
    int known = 0;
    double version = 0;
    qnnrt_json_reader r;
    memset(all, 0, sizeof(*all));
    char *text = cli_read_file(path, MOST, &bytes);
    if (text == NULL) {
        fail(t, NULL, "Check the name.", "cannot read %s: %s", path, strerror(errno));
        return 0;
    }
    const qnnrt_json_limits limits = {MOST, 0};
    const struct { const char *key; char **to; } texts[] = {
        {"model", &all->model}, {"backend", &all->backend}, {"build_id", &all->build},
        {"level", &all->level}
    };
    qnnrt_json_begin(&r, text, bytes, &limits);
    const int is_object = qnnrt_json_value(&r) == QNNRT_JSON_OBJECT;
    while (is_object && qnnrt_json_more(&r)) {
        size_t i = 0;
        while (i < 4 && !qnnrt_json_is(&r.key, texts[i].key)) ++i;
        if (i < 4) {
            free(*texts[i].to);
            *texts[i].to = read_text(&r);
        } else if (qnnrt_json_is(&r.key, "format")) {
            known = qnnrt_json_value(&r) == QNNRT_JSON_STRING &&
                qnnrt_json_is(&r.value, COSTS_FORMAT);
            if (!known) break;
        } else if (qnnrt_json_is(&r.key, "version")) {
            version = read_number(&r);
        } else if (qnnrt_json_is(&r.key, "inferences")) {
            all->inferences = read_number(&r);
        } else if (qnnrt_json_is(&r.key, "loading")) {
            read_cost_rows(&r, all, COST_LOAD);
        } else if (qnnrt_json_is(&r.key, "pipelines")) {
            read_cost_rows(&r, all, COST_PIPELINE);
        } else {
            qnnrt_json_skip(&r);
        }
    }
    const int good = known && version == 1 && qnnrt_json_end(&r);
    for (size_t i = 0; i < 4; ++i)
        if (*texts[i].to == NULL) *texts[i].to = cli_text("%s", "");
    if (!known)
        fail(t, NULL, "Write one with qnnrt-run profile DIR --json.",
             "%s is not a saved profile: it has no \"format\": \"" COSTS_FORMAT "\"", path);
    else if (r.error != NULL)
        fail(t, NULL, "Write it again with qnnrt-run profile DIR --json.",
             "%s, byte %lu: %s", path, (unsigned long)r.error_at, r.error);
    else if (!good)
        fail(t, NULL, "Write it again with qnnrt-run profile DIR --json.",
             "%s has version %.0f; this program reads version 1", path, version);
    for (size_t i = 0; i < all->count; ++i) pipelines += all->rows[i].kind == COST_PIPELINE;
    const int fits = !all->cut && pipelines <= COSTS_PIPELINES;
    if (good && !fits)
        fail(t, NULL, "Write it again with qnnrt-run profile DIR --json.",
             "%s has more than %d pipelines, or %d rows", path, COSTS_PIPELINES, COSTS_ROWS);
    free(text);
    return good && fits;
}
