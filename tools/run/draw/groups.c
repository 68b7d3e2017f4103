/* groups.c - tensors of a step that are drawn as one line

   ROOM     >>groups */
#include "run/draw/draw.h"
#include "run/model/model.h"

/* =====================================================================================
   GROUPS                                                                         >>groups
   Inputs and outputs of each step; tensors whose names differ only by numbers are one line.
   ===================================================================================== */

const char *const side_names[SIDES] = {"input", "edge", "output", "cache"};

enum { NUMBERS = 8 };                  /* numbers of a name that may differ within a group */

char *skeleton(const char *name)
{
    char *made = cli_alloc(strlen(name) + 1, 1), *to = made;
    for (int numbers = 0; *name != '\0';) {
        if (*name >= '0' && *name <= '9' && numbers < NUMBERS) {
            ++numbers;
            while (*name >= '0' && *name <= '9') ++name;
            *to++ = '#';
        } else {
            *to++ = *name++;
        }
    }
    return made;
}

void key_item(item *i)
{
    OWNED char *from = skeleton(i->tensor->name),
              *to = i->to != NULL ? skeleton(i->to->name) : cli_text("%s", "");
    OWNED char *dims = dims_text(i->tensor);
    free(i->key);
    i->key = cli_text("%s|%s|%s|%x|%s|%s|%d", from, to, dims, (unsigned)i->tensor->dtype,
                      i->note != NULL ? i->note : "", i->edge != NULL ? i->edge->reason : "",
                      i->bad);
}

void push_item(item_list *list, item made)
{
    list->items = cli_grow(list->items, list->count, &list->room, sizeof(*list->items));
    made.place = list->count;
    list->items[list->count++] = made;
    list->bytes += made.tensor->bytes;
}

static void add_item(item_list *list, const qnnrt_tensor_info *tensor, const qnnrt_edge_info *edge,
                     char *note)
{
    item made = {tensor, edge, edge != NULL ? edge->to : NULL, 0, note, NULL, 0};
    key_item(&made);
    push_item(list, made);
}

static int compare_keys(const void *a, const void *b)
{
    const item *x = a, *y = b;
    const int order = strcmp(x->key, y->key);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

void group_items(item_list *list)
{
    enum { FEWEST = 2 };
    item *items = list->items;
    OWNED size_t *place = cli_alloc(list->count, sizeof(*place));
    if (list->count > 1) qsort(items, list->count, sizeof(*items), compare_keys);
    for (size_t i = 0, next = 0; i < list->count; i = next) {
        next = i + 1;
        while (next < list->count && strcmp(items[next].key, items[i].key) == 0) ++next;
        for (size_t k = i; next - i >= FEWEST && k < next; ++k) place[k] = items[i].place + 1;
    }
    /* place: 0, or 1 + the index of the first item of its group. */
    OWNED size_t *order = cli_alloc(list->count, sizeof(*order));
    item *sorted = cli_alloc(list->count, sizeof(*sorted));
    for (size_t i = 0; i < list->count; ++i) order[items[i].place] = i;
    list->groups = cli_alloc(list->count + 1, sizeof(*list->groups));
    size_t used = 0;
    for (size_t p = 0; p < list->count; ++p) {
        const size_t i = order[p];
        /* skip items of an earlier group */
        if (place[i] != 0 && place[i] - 1 != p) continue;
        list->groups[list->group_count++] = used;
        sorted[used++] = items[i];
        for (size_t k = i + 1; place[i] != 0 && k < list->count && place[k] == place[i]; ++k)
            sorted[used++] = items[k];
    }
    list->groups[list->group_count] = used;
    free(list->items);
    list->items = sorted;
    list->room = list->count;
}

void free_items(item_list *list)
{
    for (size_t i = 0; i < list->count; ++i) {
        free(list->items[i].note);
        free(list->items[i].key);
    }
    free(list->items);
    free(list->groups);
    memset(list, 0, sizeof(*list));
}

static const char *item_name(const item *i, int to)
{
    return to && i->to != NULL ? i->to->name : i->tensor->name;
}

char *group_name(const item *items, size_t count, int to)
{
    OWNED page p = {NULL, 0, 0};
    const char *first = item_name(&items[0], to);
    size_t number = 0;
    for (const char *s = first; *s != '\0';) {
        if (*s < '0' || *s > '9' || number >= NUMBERS) {
            page_bytes(&p, s++, 1);
            continue;
        }
        const char *begin = s;
        while (*s >= '0' && *s <= '9') ++s;
        uint64_t least = UINT64_MAX, most = 0;
        for (size_t i = 0; i < count; ++i) {     /* the same number in each name */
            const char *other = item_name(&items[i], to);
            uint64_t value = 0;
            for (size_t n = 0;; ++n) {
                while (*other < '0' || *other > '9') ++other;
                for (value = 0; *other >= '0' && *other <= '9'; ++other)
                    value = value < UINT64_MAX / 16 ? value * 10 + (uint64_t)(*other - '0') : value;
                if (n == number) break;
            }
            if (value < least) least = value;
            if (value > most) most = value;
        }
        if (least == most) page_bytes(&p, begin, (size_t)(s - begin));
        else page_add(&p, "[%llu..%llu]", (unsigned long long)least, (unsigned long long)most);
        ++number;
    }
    return cli_shown(p.data != NULL ? p.data : "");
}

/* True if a tensor lies in this list, by its address. */
static int is_of(const qnnrt_tensor_info *tensor, const qnnrt_tensor_info *list, size_t count)
{
    return count != 0 && (uintptr_t)tensor >= (uintptr_t)list &&
        (uintptr_t)tensor <= (uintptr_t)&list[count - 1];
}

/* Keep what a program says about a tensor of a step. */
static void note_tensor(const qnnrt_graph_info *g, const qnnrt_tensor_info *tensor, char **in,
                        char **out, char *text)
{
    char **note = is_of(tensor, g->inputs, g->input_count) ? &in[tensor - g->inputs]
        : is_of(tensor, g->outputs, g->output_count) ? &out[tensor - g->outputs] : NULL;
    if (note == NULL) {
        free(text);
        return;
    }
    char *both = *note == NULL ? text : cli_text("%s, %s", *note, text);
    if (*note != NULL) free(text);
    free(*note);
    *note = both;
}

/* Note which tensors of a step are constants, have a name of the program, or lie in a buffer. */
static void note_tensors(const qnnrt_pipeline_info *info, size_t step, char **in, char **out)
{
    const qnnrt_graph_info *g = info->steps[step].graph;
    for (size_t i = 0; i < info->slot_count; ++i) {
        const qnnrt_slot *slot = &info->slots[i];
        if (slot->role != QNNRT_ROLE_CONSTANT || step < slot->first || step > slot->last) continue;
        for (size_t k = 0; k < g->input_count; ++k)
            if (in[k] == NULL && strcmp(g->inputs[k].name, slot->tensor->name) == 0)
                in[k] = cli_text("constant");
    }
    for (size_t i = 0; i < info->name_count; ++i)
        note_tensor(g, info->names[i].slot->tensor, in, out,
                    cli_text("called %s", info->names[i].name));
    for (size_t i = 0; i < info->place_count; ++i) {
        const qnnrt_place_desc *place = &info->places[i];
        OWNED char *name = buffer_name(info, place->buffer);
        note_tensor(g, place->slot->tensor, in, out,
                    cli_text("in %s+%llu", name, (unsigned long long)place->offset));
    }
}

char *keep_note(char **note)
{
    char *given = *note;
    *note = NULL;
    return given;
}

void look_around(const qnnrt_pipeline_info *info, size_t step, around *out)
{
    const qnnrt_graph_info *g = info->steps[step].graph;
    OWNED const qnnrt_edge_info **into = cli_alloc(g->input_count, sizeof(*into));
    OWNED const qnnrt_edge_info **from = cli_alloc(g->output_count, sizeof(*from));
    /* 1 where the next step reads the output. */
    OWNED int *near = cli_alloc(g->output_count, sizeof(*near));
    OWNED char **readers = cli_alloc(g->output_count, sizeof(*readers));
    char **notes = cli_alloc(g->input_count, sizeof(*notes));
    char **out_notes = cli_alloc(g->output_count, sizeof(*out_notes));
    memset(out, 0, sizeof(*out));
    note_tensors(info, step, notes, out_notes);
    for (size_t e = 0; e < info->edge_count; ++e) {
        const qnnrt_edge_info *edge = &info->edges[e];
        if (edge->to_step == step && is_of(edge->to, g->inputs, g->input_count))
            into[edge->to - g->inputs] = edge;
        if (edge->from_step != step || !is_of(edge->from, g->outputs, g->output_count)) continue;
        const size_t at = (size_t)(edge->from - g->outputs);
        from[at] = edge;
        if (edge->to_step == step + 1) near[at] = 1;
        char *longer = readers[at] == NULL ? cli_text("to step %lu", (unsigned long)edge->to_step)
                                           : cli_text("%s, %lu", readers[at],
                                                      (unsigned long)edge->to_step);
        free(readers[at]);
        readers[at] = longer;
    }
    for (size_t i = 0; i < g->input_count; ++i) {
        const qnnrt_edge_info *edge = into[i];
        const qnnrt_tensor_info *tensor = &g->inputs[i];
        if (edge == NULL)
            add_item(&out->lists[SIDE_INPUT], tensor, NULL, keep_note(&notes[i]));
        else if (edge->from_step + 1 == step)
            add_item(&out->lists[SIDE_EDGE], edge->from, edge, NULL);
        else
            add_item(&out->lists[SIDE_INPUT], tensor, edge,
                     cli_text("from step %lu: %s", (unsigned long)edge->from_step, edge->reason));
    }
    for (size_t i = 0; i < g->output_count; ++i) {
        if (from[i] == NULL) {
            add_item(&out->lists[SIDE_OUTPUT], &g->outputs[i], NULL, keep_note(&out_notes[i]));
        } else if (!near[i] || strchr(readers[i], ',') != NULL) {
            add_item(&out->lists[SIDE_OUTPUT], &g->outputs[i], from[i], readers[i]);
            readers[i] = NULL;
        }
    }
    for (size_t i = 0; i < g->output_count; ++i) free(readers[i]);
    for (size_t i = 0; i < g->output_count; ++i) free(out_notes[i]);
    for (size_t i = 0; i < g->input_count; ++i) free(notes[i]);
    free(notes);
    free(out_notes);
}

char *shape_text(const qnnrt_tensor_info *tensor)
{
    page p = {NULL, 0, 0};
    if (tensor->rank == 0) page_text(&p, "scalar");
    for (uint32_t d = 0; d < tensor->rank; ++d)
        page_add(&p, "%s%lu", d > 0 ? "\xC3\x97" : "", (unsigned long)tensor->dims[d]);
    page_add(&p, " %s", qnnrt_dtype_name(tensor->dtype));
    return p.data;
}
