/* run_costs.h - a part of qnnrt-run.c: what a model costs, by context, step, operator and node

   ROOMS    >>costs >>saved                                                                      */

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
    double    us;                      /* PIPELINE: mean of the middle half of the inferences */
    double    extra;                   /* LOAD: us of its metadata; PIPELINE: us of the first
                                          inference; STEP: us on the device; NODE: cycles     */
} cost;

typedef struct costs {
    char  *model, *backend, *build, *level;
    double inferences;
    cost  *rows;                       /* [count] a parent stands before its children         */
    size_t count, room;
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

static const char *file_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
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
    const qnnrt_info *info = qnnrt_get_info(t->model);
    qnnrt_backend *list[ROLES_MOST];
    const char *roles[ROLES_MOST];
    const size_t count = list_backends(t, list, roles);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_backend_info *backend = qnnrt_backend_get_info(list[i]);
        cost_add(all, COST_LOAD, cli_text("%s", file_part(backend->path)), cli_text("library"),
                 (double)backend->open_ns / 1e3, 0);
    }
    for (size_t i = 0; i < info->context_count; ++i) {
        const qnnrt_context_info *c = &info->contexts[i];
        cost_add(all, COST_LOAD, cli_text("%s", c->file), cli_text("context"),
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
   is the only one; of the others, the slowest and the fastest quarter do not. */
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
    const size_t least = runs / 4, most = runs - least;
    const double part = 1 / (double)(most - least);
    const size_t top = cost_add(all, COST_PIPELINE, cli_text("%s", j->info->name),
                                cli_text("%s", ""), 0, (double)j->exec_ns[0] / 1e3);
    for (size_t k = least; k < most; ++k) all->rows[top].us += (double)order[k].ns / 1e3 * part;
    for (size_t i = 0, next; i < j->event_count; i = next) {
        const qnnrt_step_info *step = &j->info->steps[j->events[i].step];
        const int is_graph = step->kind == QNNRT_STEP_GRAPH;
        char *text = step_text(step, "\xE2\x86\x92");
        const char *file = is_graph ? step_context(step)->file : "host";
        char *name = cli_text("%s", is_graph ? step->graph->name : text);
        const size_t row = cost_add(all, COST_STEP, name, cli_text("%s", file_part(file)), 0, 0);
        free(text);
        for (next = i; next < j->event_count && j->events[next].step == j->events[i].step; ++next)
            if (j->events[next].type == EVENT_NODE)
                cost_add(all, COST_NODE, cli_text("%s", j->events[next].node),
                         operator_of(j->events[next].node), 0, 0);
        for (size_t k = least; k < most; ++k)
            cost_step(all, row, j->events + i, j->samples + order[k].at * j->event_count + i,
                      next - i, is_graph, part);
    }
    free(order);
}

/* Take the costs of all that ran. */
static void take_costs(const tool *t, costs *all)
{
    const qnnrt_backend_info *backend =
        qnnrt_backend_get_info(t->backend != NULL ? t->backend : qnnrt_get_info(t->model)->backend);
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

/* Read a list of rows, and the lists in them. */
static void read_cost_rows(qnnrt_json_reader *r, costs *all, cost_kind kind)
{
    if (qnnrt_json_value(r) != QNNRT_JSON_ARRAY) {
        qnnrt_json_skip(r);
        return;
    }
    while (qnnrt_json_more(r)) {
        if (qnnrt_json_value(r) != QNNRT_JSON_OBJECT) {
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
    size_t bytes = 0;
    int known = 0, version = 0;
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
            version = (int)read_number(&r);
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
             "%s has version %d; this program reads version 1", path, version);
    free(text);
    return good;
}
