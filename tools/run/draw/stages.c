/* stages.c - what a picture of a pipeline shows together

   ROOM     >>stages */
#include "run/draw/draw.h"
#include "run/model/model.h"

/* =====================================================================================
   STAGES                                                                         >>stages
   Steps that repeat are one stage, inputs that several steps read are listed once, caches are in
   and out, and tensors that do not fit are marked.
   ===================================================================================== */

/* True if a name has a word in it: letters before and after do not count as a part of it. */
static int has_word(const char *name, const char *word)
{
    const size_t bytes = strlen(word);
    for (const char *at = name; (at = strstr(at, word)) != NULL; ++at) {
        const int begins = at == name || !((at[-1] >= 'a' && at[-1] <= 'z'));
        if (begins && !(at[bytes] >= 'a' && at[bytes] <= 'z')) return 1;
    }
    return 0;
}

/* Return what the names of past and present of a cache have in common: past_key_0_in,
   past_key_0_out and present_key_0 are "key 0". The caller frees it. */
static char *kv_name(const char *name)
{
    static const char *const dropped[] = {"in", "out", "input", "output", "past", "present", "new",
                                          "prev", "next", "current", "updated"};
    page p = {NULL, 0, 0};
    if (strncmp(name, "past_key_values", 15) == 0) name += 15;
    while (*name != '\0') {
        size_t bytes = 0, i = 0;
        while (is_word(name[bytes])) ++bytes;
        for (; i < sizeof(dropped) / sizeof(dropped[0]); ++i)
            if (strlen(dropped[i]) == bytes && strncmp(name, dropped[i], bytes) == 0) break;
        if (bytes > 0 && i == sizeof(dropped) / sizeof(dropped[0])) {
            page_bytes(&p, name, bytes);
            page_text(&p, " ");
        }
        name += bytes > 0 ? bytes : 1;
    }
    return p.data != NULL ? p.data : cli_text("%s", "");
}

static int is_cache(const char *name)
{
    static const char *const words[] = {"past", "present", "cache", "kv", "state", "key", "value"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i)
        if (has_word(name, words[i])) return 1;
    return 0;
}

/* A word by which tensors are found: the name of an input with its step, or the key of a cache with
   the index of an output. */
typedef struct found_name {
    const char *name;
    char       *made;                  /* what to free, or NULL                                */
    size_t      at;
    int         used;
} found_name;

static int compare_names_found(const void *a, const void *b)
{
    const found_name *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

/* Return the index of the first of these sorted names that is not less than `name`. */
static size_t first_name(const found_name *names, size_t count, const char *name)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(names[middle].name, name) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Give a list other items; what became of its own is known. */
static void replace_items(item_list *list, item_list *with)
{
    free(list->items);
    *list = *with;
    memset(with, 0, sizeof(*with));
}

/* Link the inputs and outputs of a step that are past and present of a cache. */
static void link_caches(around *all)
{
    item_list *in = &all->lists[SIDE_INPUT], *out = &all->lists[SIDE_OUTPUT];
    item_list rest = {NULL, 0, 0, NULL, 0, 0}, others = {NULL, 0, 0, NULL, 0, 0};
    OWNED found_name *keys = cli_alloc(out->count, sizeof(*keys));
    OWNED char *taken = cli_alloc(out->count, 1);
    for (size_t k = 0; k < out->count; ++k) {
        keys[k].made = kv_name(out->items[k].tensor->name);
        keys[k].name = keys[k].made;
        keys[k].at = k;
    }
    if (out->count > 1) qsort(keys, out->count, sizeof(*keys), compare_names_found);
    for (size_t i = 0; i < in->count; ++i) {
        item linked = in->items[i];
        OWNED char *key = kv_name(linked.tensor->name);
        const int wanted = linked.edge == NULL && key[0] != '\0' && is_cache(linked.tensor->name);
        size_t k = wanted ? first_name(keys, out->count, key) : out->count;
        for (; k < out->count && strcmp(keys[k].name, key) == 0; ++k) {
            const item *present = &out->items[keys[k].at];
            if (!keys[k].used && present->edge == NULL &&
                present->tensor->dtype == linked.tensor->dtype) break;
        }
        if (k < out->count && strcmp(keys[k].name, key) == 0) {
            item *present = &out->items[keys[k].at];
            keys[k].used = 1;
            taken[keys[k].at] = 1;
            linked.to = present->tensor;
            if (linked.note == NULL) linked.note = keep_note(&present->note);
            free(present->note);
            free(present->key);
            key_item(&linked);
            push_item(&all->lists[SIDE_CACHE], linked);
        } else {
            push_item(&rest, linked);
        }
    }
    for (size_t k = 0; k < out->count; ++k) {
        if (!taken[k]) push_item(&others, out->items[k]);
        free(keys[k].made);
    }
    replace_items(in, &rest);
    replace_items(out, &others);
}

/* Return "steps 1, 2 and 4"; runs of three or more are "1-4". The caller frees it. */
static char *steps_text(const size_t *steps, size_t count)
{
    page p = {NULL, 0, 0};
    page_text(&p, count > 1 ? "steps " : "step ");
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && steps[next] == steps[next - 1] + 1;) ++next;
        if (next - i == 2) --next;
        page_add(&p, "%s%lu", i > 0 ? ", " : "", (unsigned long)steps[i]);
        if (next - i > 2) page_add(&p, "-%lu", (unsigned long)steps[next - 1]);
    }
    return p.data;
}

/* Move inputs that several steps read to the list of shared ones. reads: [step] set to 1. */
static void share_inputs(around *all, size_t count, item_list *shared, int *reads)
{
    size_t total = 0, used = 0;
    for (size_t s = 0; s < count; ++s) total += all[s].lists[SIDE_INPUT].count;
    OWNED found_name *names = cli_alloc(total, sizeof(*names));
    OWNED size_t *steps = cli_alloc(count, sizeof(*steps));
    for (size_t s = 0; s < count; ++s)
        for (size_t i = 0; i < all[s].lists[SIDE_INPUT].count; ++i) {
            const item *one = &all[s].lists[SIDE_INPUT].items[i];
            if (one->edge != NULL) continue;
            names[used].name = one->tensor->name;
            names[used++].at = s;
        }
    if (used > 1) qsort(names, used, sizeof(*names), compare_names_found);
    for (size_t s = 0; s < count; ++s) {
        item_list *list = &all[s].lists[SIDE_INPUT], rest = {NULL, 0, 0, NULL, 0, 0};
        for (size_t i = 0; i < list->count; ++i) {
            item one = list->items[i];
            size_t at = first_name(names, used, one.tensor->name), readers = 0;
            for (; one.edge == NULL && at < used && readers < count &&
                 strcmp(names[at].name, one.tensor->name) == 0; ++at)
                if (readers == 0 || steps[readers - 1] != names[at].at)
                    steps[readers++] = names[at].at;
            if (readers < 2) {
                push_item(&rest, one);
                continue;
            }
            reads[s] = 1;
            if (steps[0] != s) {                 /* listed at the first step */
                free(one.note);
                free(one.key);
                continue;
            }
            char *who = steps_text(steps, readers),
                *note = one.note != NULL ? cli_text("%s, read by %s", one.note, who)
                : cli_text("read by %s", who);
            free(who);
            free(one.note);
            one.note = note;
            key_item(&one);
            push_item(shared, one);
        }
        replace_items(list, &rest);
    }
}

/* Mark the tensors that the failure of a pipeline names, and join each output to the input. */
static void mark_broken(const qnnrt_pipeline_info *info, around *all)
{
    for (size_t s = 0; s < info->step_count; ++s) {
        for (int k = SIDE_INPUT; k <= SIDE_OUTPUT; k += SIDE_OUTPUT) {
            item_list *list = &all[s].lists[k];
            for (size_t i = 0; i < list->count; ++i) {
                OWNED char *words = cli_text("%s \"%s\" of step %lu", side_names[k],
                                             list->items[i].tensor->name, (unsigned long)s);
                list->items[i].bad = strstr(info->failure->text, words) != NULL;
                key_item(&list->items[i]);
            }
        }
        item_list *in = &all[s].lists[SIDE_INPUT];
        for (size_t i = 0; s > 0 && i < in->count; ++i) {
            const item_list *out = &all[s - 1].lists[SIDE_OUTPUT];
            for (size_t k = 0; k < out->count && in->items[i].bad; ++k) {
                item joined = {out->items[k].tensor, NULL, in->items[i].tensor, 1, NULL, NULL, 0};
                if (!out->items[k].bad) continue;
                key_item(&joined);
                push_item(&all[s].lists[SIDE_EDGE], joined);
            }
        }
    }
}

/* True if two lists look equal: names may differ by numbers, and those of edges in all. */
static int same_list(const item_list *a, const item_list *b, int edges)
{
    int same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; ++i) {
        const item *x = &a->items[i], *y = &b->items[i];
        OWNED char *p = edges ? dims_text(x->tensor) : skeleton(x->key),
                  *q = edges ? dims_text(y->tensor) : skeleton(y->key);
        same = strcmp(p, q) == 0 && x->tensor->dtype == y->tensor->dtype;
    }
    return same;
}

/* True if a step repeats the one before it: equal tensors, on the same backend. */
static int repeats(const qnnrt_pipeline_info *info, const around *all, const int *reads, size_t s)
{
    const qnnrt_step_info *step = &info->steps[s], *before = &info->steps[s - 1];
    int same = info->failure == NULL && step->kind == QNNRT_STEP_GRAPH &&
        before->kind == step->kind && reads[s] == reads[s - 1] && !is_elsewhere(step, before);
    for (int k = 0; k < SIDES && same; ++k)
        same = same_list(&all[s].lists[k], &all[s - 1].lists[k], k == SIDE_EDGE);
    return same && all[s].lists[SIDE_EDGE].count > 0;
}

/* Move all items of a list to the end of another one. */
static void move_items(item_list *to, item_list *from)
{
    for (size_t i = 0; i < from->count; ++i) push_item(to, from->items[i]);
    free(from->items);
    memset(from, 0, sizeof(*from));
}

stages make_stages(const qnnrt_pipeline_info *info)
{
    stages made = {NULL, 0, {NULL, 0, 0, NULL, 0, 0}};
    const size_t count = info->step_count;
    around *all = cli_alloc(count, sizeof(*all));
    OWNED int *reads = cli_alloc(count, sizeof(*reads));
    OWNED int *same = cli_alloc(count, sizeof(*same));      /* 1: it repeats the step before */
    made.items = cli_alloc(count, sizeof(*made.items));
    for (size_t s = 0; s < count; ++s) look_around(info, s, &all[s]);
    if (info->failure != NULL) mark_broken(info, all);
    for (size_t s = 0; s < count; ++s) link_caches(&all[s]);
    share_inputs(all, count, &made.shared, reads);
    for (size_t s = 1; s < count; ++s) same[s] = repeats(info, all, reads, s);
    for (size_t s = 0; s < count; ++s) {
        if (!same[s]) made.items[made.count++].first = s;
        flow_stage *last = &made.items[made.count - 1];
        last->shares |= reads[s];
        if (++last->count > 1) move_items(&last->inner, &all[s].lists[SIDE_EDGE]);
    }
    for (size_t i = 0; i < made.count; ++i) {
        flow_stage *m = &made.items[i];
        for (size_t s = m->first; s < m->first + m->count; ++s)
            for (int k = 0; k < SIDES; ++k)
                move_items(&m->all.lists[k], &all[s].lists[k]);
        for (int k = 0; k < SIDES; ++k) group_items(&m->all.lists[k]);
        group_items(&m->inner);
    }
    group_items(&made.shared);
    free(all);
    return made;
}

void free_stages(stages *of)
{
    for (size_t i = 0; i < of->count; ++i) {
        for (int k = 0; k < SIDES; ++k) free_items(&of->items[i].all.lists[k]);
        free_items(&of->items[i].inner);
    }
    free_items(&of->shared);
    free(of->items);
}

size_t stage_of(const stages *of, size_t step)
{
    size_t i = 0;
    while (i + 1 < of->count && of->items[i + 1].first <= step) ++i;
    return i;
}
