/* diff.c - --diff, two models compared

   ROOM     >>diff */
#include "run/show/show.h"
#include "run/model/model.h"

/* =====================================================================================
   DIFF                                                                           >>diff
   Two models: contexts are compared in their order, graphs and tensors by name, or if
   they are alone, and all bytes of the binaries. One line for each difference, and for
   what was not compared.
   ===================================================================================== */

typedef struct differ {
    tool *t;
    char *where;                       /* "context 0, graph "forward"" */
} differ;

static void differs(const differ *d, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    OWNED char *what = cli_text_list(format, list);
    va_end(list);
    say(d->t, "%s: %s\n", d->where, what);
    d->t->different = 1;
}

/* Compare two texts and free them. */
static void diff_texts(const differ *d, const char *label, char *a, char *b)
{
    if (strcmp(a, b) != 0)
        differs(d, "%s %s -> %s", label, a[0] != '\0' ? a : "\"\"", b[0] != '\0' ? b : "\"\"");
    free(a);
    free(b);
}

static void diff_facts(const differ *d, const fact *facts, size_t count, const void *a,
                       const void *b)
{
    for (size_t i = 0; i < count; ++i)
        diff_texts(d, facts[i].label, fact_text(&facts[i], a), fact_text(&facts[i], b));
}

static void diff_axis(const differ *d, const qnnrt_quant *a, const qnnrt_quant *b)
{
    for (uint32_t i = 0; i < a->count; ++i) {
        const int32_t x = a->offsets != NULL ? a->offsets[i] : 0, y = b->offsets != NULL
            ? b->offsets[i] : 0;
        if (memcmp(&a->scales[i], &b->scales[i], sizeof(float)) == 0 && x == y) continue;
        differs(d, "encoding at index %lu: scale %.9g, offset %ld -> scale %.9g, offset %ld",
                (unsigned long)i,
                (double)a->scales[i], (long)x, (double)b->scales[i], (long)y);
        return;                                  /* the first difference is enough */
    }
}

static char *vendor_text(qnnrt_vendor_enum which, uint32_t value)
{
    const char *name = qnnrt_vendor_name(which, value);
    return name != NULL ? cli_text("%s", name) : cli_text("0x%lx", (unsigned long)value);
}

static char *dynamic_text(const qnnrt_tensor_info *tensor)
{
    char *made = cli_text("%s", tensor->dynamic_dims == NULL ? "none" : "");
    for (uint32_t i = 0; tensor->dynamic_dims != NULL && i < tensor->rank; ++i) {
        char *longer = cli_text("%s%c", made, tensor->dynamic_dims[i] != 0 ? '1' : '0');
        free(made);
        made = longer;
    }
    return made;
}

static void diff_tensor(const differ *d, const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    diff_texts(d, "id", cli_text("%lu", (unsigned long)a->id),
               cli_text("%lu", (unsigned long)b->id));
    diff_texts(d, "dtype", vendor_text(QNNRT_VENDOR_DTYPE, (uint32_t)a->dtype),
               vendor_text(QNNRT_VENDOR_DTYPE, (uint32_t)b->dtype));
    diff_texts(d, "dims", dims_text(a), dims_text(b));
    diff_texts(d, "dynamic dims", dynamic_text(a), dynamic_text(b));
    diff_texts(d, "type", vendor_text(QNNRT_VENDOR_TENSOR_TYPE, a->vendor_type),
               vendor_text(QNNRT_VENDOR_TENSOR_TYPE, b->vendor_type));
    diff_texts(d, "format", vendor_text(QNNRT_VENDOR_FORMAT, a->vendor_format),
               vendor_text(QNNRT_VENDOR_FORMAT, b->vendor_format));
    diff_texts(d, "encoding", encoding_text(&a->quant), encoding_text(&b->quant));
    if (a->quant.encoding != b->quant.encoding) return;
    if (a->quant.encoding != QNNRT_ENCODING_NONE)
        diff_texts(d, "kind of encoding", vendor_text(QNNRT_VENDOR_ENCODING,
                                                      a->quant.vendor_encoding),
                   vendor_text(QNNRT_VENDOR_ENCODING, b->quant.vendor_encoding));
    if (a->quant.encoding == QNNRT_ENCODING_PER_AXIS && a->quant.count == b->quant.count)
        diff_axis(d, &a->quant, &b->quant);
}

/* ---- lists are compared by name ---- */

typedef struct named {
    const char *name;
    const void *thing;
    size_t      place;
} named;

static int compare_named(const void *a, const void *b)
{
    const named *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* Sort `count` structs of `size` bytes that begin with their name. The caller frees the list. */
static named *by_name(const void *things, size_t count, size_t size)
{
    named *list = cli_alloc(count, sizeof(*list));
    for (size_t i = 0; i < count; ++i) {
        list[i].thing = (const char *)things + i * size;
        memcpy((void *)&list[i].name, list[i].thing, sizeof(list[i].name));
        list[i].place = i;
    }
    qsort(list, count, sizeof(*list), compare_named);
    return list;
}

typedef void (*diff_pair)(const differ *d, const void *a, const void *b);

/* Two items that are alone in their lists are one thing, whatever they are called. Return 0 if the
   names are equal, 1 after comparing the items. */
static int diff_lone(const differ *d, const char *kind, const void *a, const void *b,
                     diff_pair pair)
{
    const char *before = NULL, *after = NULL;
    memcpy((void *)&before, a, sizeof(before));
    memcpy((void *)&after, b, sizeof(after));
    if (strcmp(before, after) == 0) return 0;
    OWNED char *from = cli_shown(before), *to = cli_shown(after);
    OWNED char *where = cli_text("%s, %s \"%s\"", d->where, kind, from);
    differ inner = {d->t, where};
    differs(&inner, "is called \"%s\" in the second model", to);
    pair(&inner, a, b);
    return 1;
}

/* Report items of one list only, call `pair` for items of both, and report a different order. */
static void diff_lists(const differ *d, const char *kind, size_t size, const void *a,
                       size_t a_count, const void *b,
                       size_t b_count, diff_pair pair)
{
    if (a_count == 1 && b_count == 1 && diff_lone(d, kind, a, b, pair)) return;
    OWNED named *left = by_name(a, a_count, size), *right = by_name(b, b_count, size);
    size_t i = 0, k = 0, only = 0, moved = 0;
    while (i < a_count || k < b_count) {
        const int order = i == a_count ? 1 : k == b_count ? -1
            : strcmp(left[i].name, right[k].name);
        OWNED char *name = cli_shown(order <= 0 ? left[i].name : right[k].name);
        differ inner = {d->t, cli_text("%s, %s \"%s\"", d->where, kind, name)};
        if (order == 0) {
            moved += left[i].place != right[k].place;
            pair(&inner, left[i].thing, right[k].thing);
        } else {
            differs(&inner, "only in the %s model", order < 0 ? "first" : "second");
            ++only;
        }
        if (order <= 0) ++i;
        if (order >= 0) ++k;
        free(inner.where);
    }
    if (moved > 0 && only == 0) differs(d, "the order of the %ss", kind);
}

static void diff_tensor_pair(const differ *d, const void *a, const void *b)
{
    diff_tensor(d, a, b);
}

static void diff_graph_pair(const differ *d, const void *a, const void *b)
{
    const qnnrt_graph_info *x = a, *y = b;
    const size_t size = sizeof(qnnrt_tensor_info);
    diff_facts(d, graph_facts, GRAPH_FACTS, x, y);
    diff_lists(d, "input", size, x->inputs, x->input_count, y->inputs, y->input_count,
               diff_tensor_pair);
    diff_lists(d, "output", size, x->outputs, x->output_count, y->outputs, y->output_count,
               diff_tensor_pair);
    diff_lists(d, "updateable tensor", size, x->updateables, x->updateable_count, y->updateables,
               y->updateable_count, diff_tensor_pair);
}

/* Compare all bytes of two binaries. Return 0 after a message. */
static int diff_bytes(const differ *d, const char *a, const char *b)
{
    enum { PIECE = 1 << 16 };
    const int left = cli_open(a), right = cli_open(b);
    OWNED char *mine = cli_alloc(PIECE, 1), *other = cli_alloc(PIECE, 1);
    uint64_t at = 0, differing = 0, first = 0, sizes[2] = {0, 0};
    size_t got[2] = {1, 1};
    const char *bad = left < 0 ? a : right < 0 ? b : NULL;
    while (bad == NULL && (got[0] > 0 || got[1] > 0)) {
        if (cli_read(left, mine, PIECE, &got[0]) != 0) bad = a;
        else if (cli_read(right, other, PIECE, &got[1]) != 0) bad = b;
        for (size_t i = 0; i < got[0] && i < got[1]; ++i)
            if (mine[i] != other[i] && differing++ == 0) first = at + i;
        at += PIECE;
        sizes[0] += got[0];
        sizes[1] += got[1];
    }
    if (bad != NULL) fail(d->t, NULL, NULL, "cannot read %s: %s", bad, strerror(errno));
    else if (sizes[0] != sizes[1])
        differs(d, "bytes of the binary %llu -> %llu", (unsigned long long)sizes[0],
                (unsigned long long)sizes[1]);
    else if (differing > 0)
        differs(d, "%llu of %llu bytes of the binary differ, the first at %llu",
                (unsigned long long)differing, (unsigned long long)sizes[0],
                (unsigned long long)first);
    if (left >= 0) close(left);
    if (right >= 0) close(right);
    return bad == NULL;
}

/* Compare the binaries of context i of both models. Return 0 after a message; *without counts pairs
   that lack one. */
static int diff_binaries(const differ *d, size_t i, size_t *without)
{
    const qnnrt_manifest_info *a = qnnrt_manifest_get_info(d->t->model),
        *b = qnnrt_manifest_get_info(d->t->other);
    if (a->contexts[i].info->file_bytes == 0 || b->contexts[i].info->file_bytes == 0) {
        ++*without;
        return 1;
    }
    OWNED char *mine = context_path(a, a->contexts[i].file);
    OWNED char *other = context_path(b, b->contexts[i].file);
    return diff_bytes(d, mine, other);
}

int run_diff(tool *t)
{
    const char *const *words = t->set.files.items;
    size_t counts[2] = {0, 0}, without = 0;
    int good = 1;
    t->model = open_sources(t, NULL, &words[0], 1);
    if (t->model != NULL) t->other = open_sources(t, NULL, &words[1], 1);
    if (t->model == NULL || t->other == NULL) return STATUS_USAGE;
    const qnnrt_manifest_context *a = qnnrt_manifest_get_info(t->model)->contexts,
        *b = qnnrt_manifest_get_info(t->other)->contexts;
    counts[0] = qnnrt_manifest_get_info(t->model)->context_count;
    counts[1] = qnnrt_manifest_get_info(t->other)->context_count;
    for (size_t i = 0; good && (i < counts[0] || i < counts[1]); ++i) {
        differ d = {t, cli_text("context %lu", (unsigned long)i)};
        if (i < counts[0] && i < counts[1]) {
            diff_facts(&d, context_facts, CONTEXT_FACTS, a[i].info, b[i].info);
            diff_lists(&d, "graph", sizeof(qnnrt_graph_info), a[i].info->graphs,
                       a[i].info->graph_count, b[i].info->graphs, b[i].info->graph_count,
                       diff_graph_pair);
            good = diff_binaries(&d, i, &without);
        } else {
            OWNED char *file = cli_shown(i < counts[0] ? a[i].file : b[i].file);
            differs(&d, "%s, only in the %s model", file, i < counts[0] ? "first" : "second");
        }
        free(d.where);
    }
    if (!good) return STATUS_USAGE;
    if (without > 0)
        say(t, "not compared: weights of %lu context%s, because one side has no binary\n",
            (unsigned long)without, cli_plural(without));
    if (qnnrt_manifest_get_info(t->model)->program || qnnrt_manifest_get_info(t->other)->program)
        say(t, "not compared: pipelines and constants of qnnrt.json\n");
    return t->different ? STATUS_FAILED : STATUS_OK;
}
