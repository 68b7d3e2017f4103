/* costs.c - what a model costs, by context, step, operator and node

   ROOM     >>costs */
#include "run/show/show.h"
#include "run/model/model.h"

/* =====================================================================================
   COSTS                                                                           >>costs
   Times in a list: each library and context that was loaded, and each pipeline with its steps and
   their nodes below it.
   ===================================================================================== */

size_t cost_add(costs *all, cost_kind kind, char *name, char *about, double us, double extra)
{
    const cost made = {kind, name, about, us, extra};
    all->rows = cli_grow(all->rows, all->count, &all->room, sizeof(*all->rows));
    all->rows[all->count] = made;
    return all->count++;
}

void free_costs(costs *all)
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

size_t cost_end(const costs *all, size_t at)
{
    const cost_kind kind = all->rows[at].kind;
    size_t end = at + 1;
    while (kind != COST_LOAD && end < all->count && all->rows[end].kind > kind) ++end;
    return end;
}

size_t cost_next(const costs *all, size_t at, size_t end, cost_kind kind)
{
    while (at < end && all->rows[at].kind != kind) ++at;
    return at;
}

const char *cost_label(const costs *all, size_t at)
{
    const cost *row = &all->rows[at];
    if (!is_made_up(row->name)) return row->name;
    if (row->kind == COST_PIPELINE && at + 1 < all->count && row[1].kind == COST_STEP) ++row;
    return row->kind == COST_STEP && row->about[0] != '\0' ? row->about : row->name;
}

int is_word(char c)
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

void cost_loading(const tool *t, costs *all)
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
    OWNED timed *order = cli_alloc(runs, sizeof(*order));
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
        OWNED char *text = step_text(step, "\xE2\x86\x92");
        const char *file = is_graph ? step_context(step).file : "host";
        char *name = cli_text("%s", is_graph ? step->graph->name : text);
        const size_t row = cost_add(all, COST_STEP, name, cli_text("%s", base_name(file)), 0, 0);
        for (next = i; next < j->event_count && j->events[next].step == j->events[i].step; ++next)
            if (j->events[next].type == EVENT_NODE)
                cost_add(all, COST_NODE, cli_text("%s", j->events[next].node),
                         operator_of(j->events[next].node), 0, 0);
        for (size_t k = 0; k < most; ++k)
            cost_step(all, row, j->events + i, j->samples + order[k].at * j->event_count + i,
                      next - i, is_graph, part);
    }
}

void take_costs(const tool *t, costs *all)
{
    const qnnrt_backend_info *backend =
        qnnrt_backend_get_info(t->backend != NULL ? t->backend
                               : qnnrt_manifest_get_info(t->model)->backend);
    memset(all, 0, sizeof(*all));
    all->model = cli_text("%s", model_name(t));
    all->backend = cli_text("%s", backend != NULL ? backend->provider : "");
    all->build = cli_text("%s", backend != NULL ? backend->build_id : "");
    all->level = cli_text("%s", profile_words[t->set.profile]);
    all->inferences = t->set.profiling->inferences;
    cost_loading(t, all);
    for (size_t i = 0; i < t->job_count; ++i) cost_pipeline(all, &t->jobs[i]);
}
