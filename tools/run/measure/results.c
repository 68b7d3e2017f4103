/* results.c - two folders of values, such as run writes, compared

   ROOMS     >>items >>results */
#include "run/measure/measure.h"
#include "run/io/io.h"

#include <dirent.h>
#include <sys/stat.h>

/* =====================================================================================
   ITEMS                                                                           >>items
   The tensors in a file or a folder: every .raw, .npy and .safetensors file in it.
   ===================================================================================== */

enum { ITEM_DEPTH = 8, ITEMS_MOST = 1 << 20 };

typedef struct value_item {
    char *key;                         /* "decode/logits": path in the folder, without suffix */
    char *path;
    char *tensor;                      /* in a .safetensors file, else NULL                */
} value_item;

typedef struct value_items {
    value_item *list;                  /* [count], sorted by key                           */
    size_t count, room;
} value_items;

static const char *const item_suffixes[] = {".raw", ".npy", ".safetensors"};

static int is_value_file(const char *path)
{
    for (size_t i = 0; i < 3; ++i)
        if (value_suffix(path, item_suffixes[i])) return 1;
    return 0;
}

int is_values(const char *path)
{
    static const char *const models[] = {"qnnrt.json", "genie_config.json"};
    int model = 0;
    if (!cli_is_folder(path)) return is_value_file(path);
    for (size_t i = 0; i < 2 && !model; ++i) {
        OWNED char *file = cli_text("%s/%s", path, models[i]);
        model = access(file, F_OK) == 0;
    }
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir != NULL && !model && (entry = readdir(dir)) != NULL)
        model = value_suffix(entry->d_name, ".bin");
    if (dir != NULL) closedir(dir);
    return !model;
}

static void add_value_item(value_items *to, char *key, const char *path, char *tensor)
{
    to->list = cli_grow(to->list, to->count, &to->room, sizeof(*to->list));
    value_item *one = &to->list[to->count++];
    one->key = key;
    one->path = cli_text("%s", path);
    one->tensor = tensor;
}

/* Add the tensors of a .safetensors file. run writes them to outputs.safetensors, and otherwise to
   a file for each, so that name is left out. Return 0 after a message. */
static int add_weights(tool *t, value_items *to, const char *path, const char *key)
{
    qnnrt_weights *weights = NULL;
    qnnrt_error err;
    if (qnnrt_weights_open(path, NULL, &weights, &err) != QNNRT_OK) {
        fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        return 0;
    }
    const qnnrt_weights_info *info = qnnrt_weights_get_info(weights);
    const char *slash = strrchr(key, '/'), *stem = slash != NULL ? slash + 1 : key;
    const size_t length = strncmp(stem, "outputs", 7) == 0 ? (size_t)(stem - key) : strlen(key);
    for (size_t i = 0; i < info->count; ++i) {
        OWNED char *name = safe_name(info->weights[i].name, "", NULL, 0);
        add_value_item(to, cli_text("%.*s%s%s", (int)length, key,
                              length > 0 && length == strlen(key) ? "/" : "", name), path,
                 cli_text("%s", info->weights[i].name));
    }
    qnnrt_weights_close(weights);
    return 1;
}

/* Add a file. rel: its path in the folder. */
static int add_file(tool *t, value_items *to, const char *path, const char *rel)
{
    char *key = cli_text("%s", rel);
    int good = 1;
    for (size_t i = 0; i < 3; ++i)
        if (value_suffix(key, item_suffixes[i])) {
            key[strlen(key) - strlen(item_suffixes[i])] = '\0';
            break;
        }
    if (!value_suffix(path, ".safetensors")) {
        add_value_item(to, key, path, NULL);
        return 1;
    }
    good = add_weights(t, to, path, key);
    free(key);
    return good;
}

/* Add the files of a folder, and of those in it; links to folders are not followed. */
static int add_folder(tool *t, value_items *to, const char *path, const char *rel, int depth)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    int good = dir != NULL;
    if (!good) fail(t, NULL, "Check the name.", "cannot read %s: %s", path, strerror(errno));
    while (good && (entry = readdir(dir)) != NULL) {
        struct stat status;
        const char *name = entry->d_name;
        if (name[0] == '.') continue;
        OWNED char *inner = cli_text("%s/%s", path, name);
        OWNED char *key = cli_text("%s%s%s", rel, rel[0] != '\0' ? "/" : "", name);
        if (lstat(inner, &status) != 0) good = 1;
        else if (S_ISDIR(status.st_mode)) {
            good = depth < ITEM_DEPTH && add_folder(t, to, inner, key, depth + 1);
            if (depth == ITEM_DEPTH)
                fail(t, NULL, "Name one of the folders in it.", "%s is too deep", inner);
        } else if (is_value_file(name)) {
            good = add_file(t, to, inner, key);
        }
        if (good && to->count > ITEMS_MOST) {
            fail(t, NULL, "Name one of the folders in it.", "%s has too many files", path);
            good = 0;
        }
    }
    if (dir != NULL) closedir(dir);
    return good;
}

static int compare_value_items(const void *a, const void *b)
{
    return strcmp(((const value_item *)a)->key, ((const value_item *)b)->key);
}

/* List the tensors of a side. Return 0 after a message. */
static int find_value_items(tool *t, const char *path, value_items *to)
{
    const char *slash = strrchr(path, '/');
    const int good = cli_is_folder(path) ? add_folder(t, to, path, "", 0)
                                         : add_file(t, to, path, slash != NULL ? slash + 1 : path);
    if (to->count > 0) qsort(to->list, to->count, sizeof(*to->list), compare_value_items);
    return good;
}

static void free_value_items(value_items *of)
{
    for (size_t i = 0; i < of->count; ++i) {
        free(of->list[i].key);
        free(of->list[i].path);
        free(of->list[i].tensor);
    }
    free(of->list);
}

/* =====================================================================================
   RESULTS                                                                       >>results
   Compare the items of two sides, with the types that the files, the model of --ctx_dir or --dtype
   give them.
   ===================================================================================== */

typedef struct result {                /* the tensor of an item                            */
    value_file        file;
    qnnrt_tensor_info info;            /* dtype UNDEFINED: not known                       */
    uint32_t          dims[VALUE_RANK];
} result;

/* Return the output that a file is named after: TENSOR.raw or TENSOR_native.raw in a folder of the
   pipeline's name, or anywhere if the model has one pipeline. NULL: none. */
static const qnnrt_slot *result_slot(const tool *t, const char *key)
{
    const char *slash = strrchr(key, '/'), *stem = slash != NULL ? slash + 1 : key;
    for (size_t i = 0; i < t->job_count; ++i) {
        const job *j = &t->jobs[i];
        const size_t folder = strlen(j->folder);
        const int inside = slash != NULL && (size_t)(slash - key) >= folder &&
                           strncmp(slash - folder, j->folder, folder) == 0 &&
                           (slash - folder == key || slash[-1 - (long)folder] == '/');
        for (size_t s = 0; s < j->info->slot_count && (inside || t->job_count == 1); ++s)
            for (size_t form = 0; form < 2; ++form) {
                const char *name = form == 0 ? j->files[s] : j->native_files[s];
                if (name != NULL && strlen(name) == strlen(stem) + 4 &&
                    strncmp(name, stem, strlen(stem)) == 0) return &j->info->slots[s];
            }
    }
    return NULL;
}

/* Return the type of --dtype for an item, UNDEFINED without one. */
static qnnrt_dtype result_dtype(const tool *t, const char *key)
{
    const cli_list *texts = &t->set.compare->dtypes;
    const char *slash = strrchr(key, '/'), *stem = slash != NULL ? slash + 1 : key;
    qnnrt_dtype dtype = QNNRT_DTYPE_UNDEFINED;
    for (int own = 0; own < 2; ++own)            /* one with a name wins */
        for (size_t i = 0; i < texts->count; ++i) {
            const char *text = texts->items[i], *equals = strrchr(text, '=');
            if ((equals != NULL) != own) continue;
            OWNED char *name = cli_text("%.*s", (int)(own ? equals - text : 0), text);
            if (!own || strcmp(name, key) == 0 || strcmp(name, stem) == 0)
                dtype_of(own ? equals + 1 : text, &dtype);
        }
    return dtype;
}

int check_dtypes(const settings *set)
{
    for (size_t i = 0; i < set->compare->dtypes.count; ++i) {
        const char *text = set->compare->dtypes.items[i], *equals = strrchr(text, '=');
        qnnrt_dtype dtype = QNNRT_DTYPE_UNDEFINED;
        if (equals != text && dtype_of(equals != NULL ? equals + 1 : text, &dtype) &&
            value_size(dtype) != 0) continue;
        return cli_usage("Write --dtype float32, or --dtype NAME=ufixed8.",
                         "--dtype takes [NAME=]TYPE, not \"%s\"", text);
    }
    return STATUS_OK;
}

/* Give raw bytes a type: that of --dtype, else of the model's output, whose file is of its own type
   or of float32. */
static void result_type(const tool *t, const char *key, result *r)
{
    const uint64_t bytes = r->file.bytes;
    const qnnrt_slot *slot = t->model != NULL ? result_slot(t, key) : NULL;
    const qnnrt_dtype dtype = result_dtype(t, key);
    if (slot != NULL &&
        (bytes == slot->tensor->bytes || bytes == slot->tensor->count * sizeof(float))) {
        r->info = *slot->tensor;
        if (dtype == QNNRT_DTYPE_UNDEFINED && bytes == slot->tensor->bytes) return;
        memset(&r->info.quant, 0, sizeof(r->info.quant));
        r->info.dtype = QNNRT_DTYPE_F32;
        r->info.bytes = bytes;
        if (dtype == QNNRT_DTYPE_UNDEFINED) return;
    }
    r->info.dtype = dtype;
    const size_t size = dtype != QNNRT_DTYPE_UNDEFINED ? value_size(dtype) : 0;
    if (size == 0 || bytes % size != 0) {
        r->info.dtype = QNNRT_DTYPE_UNDEFINED;
        return;
    }
    if (r->info.dims != NULL && r->info.count == bytes / size) return;
    r->info.rank = 1;
    r->info.dims = r->dims;
    r->dims[0] = (uint32_t)(bytes / size);
    r->info.count = bytes / size;
    r->info.bytes = bytes;
}

/* The last .safetensors file of a side: to open it for each of its tensors takes hours. */
typedef struct kept_weights {
    const char    *path;               /* NULL: none                                       */
    qnnrt_weights *weights;            /* owned                                            */
} kept_weights;

static int open_item(kept_weights *kept, const value_item *from, value_file *file, qnnrt_error *err)
{
    if (from->tensor == NULL) return value_open(from->path, "", VALUE_BYTES, file, err);
    if (kept->path == NULL || strcmp(kept->path, from->path) != 0) {
        qnnrt_weights_close(kept->weights);
        memset(kept, 0, sizeof(*kept));
        if (qnnrt_weights_open(from->path, NULL, &kept->weights, err) != QNNRT_OK) return 0;
        kept->path = from->path;
    }
    return value_find(kept->weights, from->tensor, file, err);
}

/* Read an item. Return 0 after a message; the caller closes r->file in any case. */
static int read_result(tool *t, kept_weights *kept, const value_item *from, result *r)
{
    qnnrt_error err;
    memset(r, 0, sizeof(*r));
    if (!open_item(kept, from, &r->file, &err)) {
        fail(t, NULL, cli_hint(&err), "%s: %s", from->path, cli_told(&err));
        return 0;
    }
    r->info.name = from->key;
    r->info.dtype = r->file.dtype;
    r->info.bytes = r->file.bytes;
    if (r->file.dtype == QNNRT_DTYPE_UNDEFINED) {
        result_type(t, from->key, r);
        r->info.name = from->key;
        return 1;
    }
    r->info.rank = r->file.rank;
    r->info.dims = r->dims;
    r->info.count = r->file.count;
    for (uint32_t d = 0; d < r->file.rank; ++d) r->dims[d] = (uint32_t)r->file.dims[d];
    const qnnrt_slot *slot = t->model != NULL ? result_slot(t, from->key) : NULL;
    if (slot != NULL && slot->tensor->count == r->info.count &&
        slot->tensor->dtype != r->info.dtype &&
        value_stored(slot->tensor->dtype) == r->info.dtype) {
        r->info = *slot->tensor;                 /* as stored, in a file that has integers alone */
        r->info.name = from->key;
    }
    return 1;
}

/* Give raw bytes the type of the other side, if that has as many. */
static void share_type(result *r, const result *other)
{
    if (r->info.dtype != QNNRT_DTYPE_UNDEFINED || other->info.dtype == QNNRT_DTYPE_UNDEFINED ||
        r->file.bytes != other->info.bytes) return;
    const char *name = r->info.name;
    r->info = other->info;
    r->info.name = name;
}

static void compare_results(comparison *c, kept_weights kept[2], const value_item *a,
                            const value_item *b)
{
    result sides[2];
    int good = read_result(c->t, &kept[0], a, &sides[0]);
    memset(&sides[1], 0, sizeof(sides[1]));
    good = good && read_result(c->t, &kept[1], b, &sides[1]);
    if (good) {
        share_type(&sides[0], &sides[1]);
        share_type(&sides[1], &sides[0]);
        const char *untyped = NULL;
        for (size_t i = 0; i < 2 && untyped == NULL; ++i)
            if (sides[i].info.dtype == QNNRT_DTYPE_UNDEFINED)
                untyped = "its type is not known: add --dtype or --ctx_dir";
        const uint64_t bytes = sides[0].file.bytes;
        if (untyped != NULL && bytes == sides[1].file.bytes &&
            (bytes == 0 || memcmp(sides[0].file.data, sides[1].file.data, (size_t)bytes) == 0)) {
            for (size_t i = 0; i < 2; ++i) {     /* equal bytes are equal in every type */
                sides[i].info.dtype = QNNRT_DTYPE_U8;
                sides[i].info.rank = 1;
                sides[i].info.dims = sides[i].dims;
                sides[i].dims[0] = (uint32_t)bytes;
                sides[i].info.count = sides[i].info.bytes = bytes;
            }
            untyped = NULL;
        }
        if (untyped != NULL) compare_problem(c, "", NO_STEP, a->key, untyped);
        else compare_tensors(c, "", NO_STEP, a->key, &sides[0].info, sides[0].file.data,
                             &sides[1].info, sides[1].file.data);
    }
    value_close(&sides[0].file);
    value_close(&sides[1].file);
}

void compare_folders(comparison *c, const char *a_path, const char *b_path)
{
    value_items a = {NULL, 0, 0}, b = {NULL, 0, 0};
    kept_weights kept[2] = {{NULL, NULL}, {NULL, NULL}};
    size_t i = 0, k = 0;
    int good = find_value_items(c->t, a_path, &a) && find_value_items(c->t, b_path, &b);
    const int lone = a.count == 1 && b.count == 1;
    if (good && lone && strcmp(a.list[0].key, b.list[0].key) != 0)
        say(c->t, "\"%s\" of side A and \"%s\" of side B are compared: each is alone\n",
            a.list[0].key, b.list[0].key);
    while (good && (i < a.count || k < b.count)) {
        const int order = lone ? 0 : i == a.count ? 1 : k == b.count ? -1
            : strcmp(a.list[i].key, b.list[k].key);
        if (order == 0) compare_results(c, kept, &a.list[i], &b.list[k]);
        else compare_problem(c, "", NO_STEP, order < 0 ? a.list[i].key : b.list[k].key,
                             order < 0 ? "only on side A" : "only on side B");
        if (order <= 0) ++i;
        if (order >= 0) ++k;
    }
    if (c->count > 0) compare_say(c, 0);
    qnnrt_weights_close(kept[0].weights);
    qnnrt_weights_close(kept[1].weights);
    free_value_items(&a);
    free_value_items(&b);
}

/* ---- captures ---- */

/* Return the step that writes a captured tensor, NO_STEP for an input. */
static uint32_t captured_writer(const captured_pipeline *p, size_t tensor)
{
    for (size_t s = 0; s < p->step_count; ++s)
        for (size_t i = 0; i < p->steps[s].counts[1]; ++i)
            if (p->steps[s].ports[1][i].tensor == tensor) return (uint32_t)s;
    return NO_STEP;
}

static void compare_pipelines(comparison *c, const captured from[2], const captured_pipeline *a,
                              const captured_pipeline *b)
{
    const size_t first = c->count;
    char *names[2] = {cli_shown(a->name), cli_shown(b->name)};
    say(c->t, "\ncompare \"%s\" with \"%s\"\n", names[0], names[1]);
    free(names[0]);
    free(names[1]);
    for (size_t i = 0; i < a->tensor_count; ++i) {
        captured_tensor *x = &a->tensors[i], *y = NULL;
        const uint32_t step = captured_writer(a, i);
        for (size_t k = 0; k < b->tensor_count && y == NULL; ++k)
            if (strcmp(x->name, b->tensors[k].name) == 0 &&
                (captured_writer(b, k) == NO_STEP) == (step == NO_STEP)) y = &b->tensors[k];
        if (x->file == NULL && (y == NULL || y->file == NULL)) continue;
        if (y == NULL || y->file == NULL || x->file == NULL) {
            compare_problem(c, a->name, step, x->name, x->file != NULL ? "only on side A"
                                                                      : "only on side B");
            continue;
        }
        const char *data[2] = {captured_data(c->t, &from[0], x),
                               captured_data(c->t, &from[1], y)};
        if (data[0] != NULL && data[1] != NULL)
            compare_tensors(c, a->name, step, x->name, &x->info, data[0], &y->info, data[1]);
    }
    compare_say(c, first);
    for (size_t i = first; i < c->count; ++i)
        if (c->rows[i].step != NO_STEP)
            compare_first(c, &c->rows[i], a->steps[c->rows[i].step].text);
}

void compare_captures(comparison *c, const char *const *words)
{
    captured from[2];
    memset(from, 0, sizeof(from));
    from[0].dir = from[1].dir = -1;
    if (captured_open_folder(c->t, words[0], &from[0]) &&
        captured_open_folder(c->t, words[1], &from[1])) {
        const int lone = from[0].count == 1 && from[1].count == 1;
        for (size_t i = 0; i < from[0].count; ++i) {
            const captured_pipeline *a = &from[0].pipelines[i], *b = NULL;
            for (size_t k = 0; k < from[1].count && b == NULL; ++k)
                if (lone || strcmp(a->name, from[1].pipelines[k].name) == 0)
                    b = &from[1].pipelines[k];
            if (b != NULL) compare_pipelines(c, from, a, b);
            else compare_problem(c, a->name, NO_STEP, "", "this pipeline is only on side A");
        }
    }
    captured_close(&from[0]);
    captured_close(&from[1]);
}
