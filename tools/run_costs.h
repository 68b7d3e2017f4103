/* run_costs.h - a part of qnnrt-run.c: what a model costs, by context, step, operator and node

   ROOMS    >>costs >>saved >>lines                                                              */

/* =====================================================================================
   COSTS                                                                           >>costs
   Times in a list: each library and context that was loaded, and each pipeline with its steps and
   their nodes below it.
   ===================================================================================== */

typedef enum cost_kind { COST_LOAD, COST_PIPELINE, COST_STEP, COST_NODE } cost_kind;

typedef struct cost {
    cost_kind kind;
    char     *name;                    /* of the file, the pipeline, the graph, the node      */
    char     *about;                   /* LOAD: library, context; STEP: file; NODE: operator  */
    double    us;                      /* PIPELINE: mean of the faster half of the inferences */
    double    extra;                   /* LOAD: us of its metadata; PIPELINE: us of the first
                                          inference; STEP: us on the device; NODE: cycles     */
} cost;

typedef struct costs {
    char  *model, *backend, *build, *level;
    double inferences;
    cost  *rows;                       /* [count] a parent stands before its children         */
    size_t count, room;
    int    cut;                        /* 1: a saved profile has more rows than are read      */
} costs;

/* Add a row; it takes name and about. Return its index. */
static size_t cost_add(costs *all, cost_kind kind, char *name, char *about, double us, double extra)
{
    const cost made = {kind, name, about, us, extra};
    all->rows = cli_grow(all->rows, all->count, &all->room, sizeof(*all->rows));
    all->rows[all->count] = made;
    return all->count++;
}

static void free_costs(costs *all)
{
    for (size_t i = 0; i < all->count; ++i) {
        free(all->rows[i].name);
        free(all->rows[i].about);
    }
    free(all->rows);
    free(all->model);
    free(all->backend);
    free(all->build);
    free(all->level);
    memset(all, 0, sizeof(*all));
}

/* Return the index after a row and all below it. */
static size_t cost_end(const costs *all, size_t at)
{
    const cost_kind kind = all->rows[at].kind;
    size_t end = at + 1;
    while (kind != COST_LOAD && end < all->count && all->rows[end].kind > kind) ++end;
    return end;
}

/* Return the next row of a kind at or after an index and before `end`, or `end`. */
static size_t cost_next(const costs *all, size_t at, size_t end, cost_kind kind)
{
    while (at < end && all->rows[at].kind != kind) ++at;
    return at;
}

/* Return the name of a row for people: of a file, if ONNX Runtime made the name up. */
static const char *cost_label(const costs *all, size_t at)
{
    const cost *row = &all->rows[at];
    if (!is_made_up(row->name)) return row->name;
    if (row->kind == COST_PIPELINE && at + 1 < all->count && row[1].kind == COST_STEP) ++row;
    return row->kind == COST_STEP && row->about[0] != '\0' ? row->about : row->name;
}

/* True for letters and digits of ASCII. */
static int is_word(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Return the operator in the name of a node: from the last capital letter that begins a word of two
   letters or more to the end of that word, without digits. "other": the name has none. Compilers
   name nodes so: l0_s4_Softmax, mul_7.ElementWiseMultiply.10, Transpose_token_33, Relu5. The
   caller frees it. */
static char *operator_of(const char *node)
{
    size_t end = strlen(node);
    while (end > 0) {
        size_t begin, first, last;
        while (end > 0 && !is_word(node[end - 1])) --end;
        for (begin = end; begin > 0 && is_word(node[begin - 1]);) --begin;
        for (last = end; last > begin && node[last - 1] >= '0' && node[last - 1] <= '9';) --last;
        for (first = begin; first < last && !(node[first] >= 'A' && node[first] <= 'Z');) ++first;
        if (last - first >= 2 && strncmp(node + first, "OpId", last - first) != 0)
            return cli_text("%.*s", (int)(last - first), node + first);
        end = begin;
    }
    return cli_text("other");
}

/* Add the libraries and contexts that were loaded. */
static void cost_loading(const tool *t, costs *all)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    qnnrt_backend *list[ROLES_MOST];
    const char *roles[ROLES_MOST];
    const size_t count = list_backends(t, list, roles);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_backend_info *backend = qnnrt_backend_get_info(list[i]);
        cost_add(all, COST_LOAD, cli_text("%s", base_name(backend->path)), cli_text("library"),
                 (double)backend->open_ns / 1e3, 0);
    }
    for (size_t i = 0; i < info->context_count; ++i) {
        const qnnrt_context_info *c = info->contexts[i].info;
        cost_add(all, COST_LOAD, cli_text("%s", base_name(c->file)), cli_text("context"),
                 (double)(c->create_ns + c->metadata_ns) / 1e3, (double)c->metadata_ns / 1e3);
    }
}

/* Add the times of one step to its rows, which begin at `row`, each multiplied with `part`. values:
   of its events. Nodes that were measured in cycles share the time on the device. */
static void cost_step(costs *all, size_t row, const qnnrt_profile_event *events,
                      const double *values, size_t count, int is_graph, double part)
{
    double whole = 0, device = 0, cycles = 0;
    for (size_t i = 0; i < count; ++i) {
        const int us = strcmp(events[i].unit_name, "us") == 0;
        if (us && (events[i].type == EVENT_EXECUTE || !is_graph)) whole = values[i];
        if (us && events[i].type == EVENT_DEVICE) device = values[i];
        if (events[i].type == EVENT_NODE && !us && values[i] > 0) cycles += values[i];
    }
    all->rows[row].us += whole * part;
    all->rows[row].extra += device * part;
    for (size_t i = 0, node = row + 1; i < count; ++i) {
        if (events[i].type != EVENT_NODE) continue;
        const double value = values[i] > 0 ? values[i] : 0;
        if (strcmp(events[i].unit_name, "us") == 0) {
            all->rows[node++].us += value * part;
        } else {
            all->rows[node].extra += value * part;
            all->rows[node++].us += cycles > 0 ? (device > 0 ? device : whole) * value / cycles
                * part : 0;
        }
    }
}

typedef struct timed {                 /* an inference, by its time */
    uint64_t ns;
    size_t   at;
} timed;

static int compare_timed(const void *a, const void *b)
{
    const timed *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

/* Add a pipeline that ran, with its steps and nodes. The first inference does not count, unless it
   is the only one, and of the others the slower half does not: what disturbs an inference makes it
   slower. */
static void cost_pipeline(costs *all, const job *j)
{
    const size_t first = j->exec_count > 1 ? 1 : 0, runs = j->exec_count - first;
    if (j->exec_count == 0 || j->sample_count != j->exec_count) return;
    timed *order = cli_alloc(runs, sizeof(*order));
    for (size_t i = 0; i < runs; ++i) {
        order[i].ns = j->exec_ns[i + first];
        order[i].at = i + first;
    }
    qsort(order, runs, sizeof(*order), compare_timed);
    const size_t most = (runs + 1) / 2;
    const double part = 1 / (double)most;
    const size_t top = cost_add(all, COST_PIPELINE, cli_text("%s", j->info->name),
                                cli_text("%s", ""), 0, (double)j->exec_ns[0] / 1e3);
    for (size_t k = 0; k < most; ++k) all->rows[top].us += (double)order[k].ns / 1e3 * part;
    for (size_t i = 0, next; i < j->event_count; i = next) {
        const qnnrt_step_info *step = &j->info->steps[j->events[i].step];
        const int is_graph = step->kind == QNNRT_STEP_GRAPH;
        char *text = step_text(step, "\xE2\x86\x92");
        const char *file = is_graph ? step_context(step).file : "host";
        char *name = cli_text("%s", is_graph ? step->graph->name : text);
        const size_t row = cost_add(all, COST_STEP, name, cli_text("%s", base_name(file)), 0, 0);
        free(text);
        for (next = i; next < j->event_count && j->events[next].step == j->events[i].step; ++next)
            if (j->events[next].type == EVENT_NODE)
                cost_add(all, COST_NODE, cli_text("%s", j->events[next].node),
                         operator_of(j->events[next].node), 0, 0);
        for (size_t k = 0; k < most; ++k)
            cost_step(all, row, j->events + i, j->samples + order[k].at * j->event_count + i,
                      next - i, is_graph, part);
    }
    free(order);
}

/* Take the costs of all that ran. */
static void take_costs(const tool *t, costs *all)
{
    const qnnrt_backend_info *backend =
        qnnrt_backend_get_info(t->backend != NULL ? t->backend
                               : qnnrt_manifest_get_info(t->model)->backend);
    memset(all, 0, sizeof(*all));
    all->model = cli_text("%s", model_name(t));
    all->backend = cli_text("%s", backend != NULL ? backend->provider : "");
    all->build = cli_text("%s", backend != NULL ? backend->build_id : "");
    all->level = cli_text("%s", profile_words[t->set.profile]);
    all->inferences = t->set.profiling.inferences;
    cost_loading(t, all);
    for (size_t i = 0; i < t->job_count; ++i) cost_pipeline(all, &t->jobs[i]);
}

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

static void write_costs(tool *t, const char *path, const costs *all)
{
    page p = {NULL, 0, 0};
    json writer, *j = &writer;
    json_document(j, &p, COSTS_FORMAT);
    json_string(j, "model", all->model);
    json_string(j, "backend", all->backend);
    json_string(j, "build_id", all->build);
    json_string(j, "level", all->level);
    json_value(j, "inferences", all->inferences);
    write_cost_rows(j, all, 0, all->count, COST_LOAD);
    write_cost_rows(j, all, 0, all->count, COST_PIPELINE);
    json_document_end(j);
    write_page(t, path, &p, 0);
    free(p.data);
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

/* Read what write_costs() wrote. Return 0 after a message. */
static int read_costs(tool *t, const char *path, costs *all)
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
