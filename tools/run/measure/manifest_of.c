/* manifest_of.c - capture.json as structs, every word checked

   ROOM     >>manifest_of */
#include "run/measure/measure.h"
#include "run/io/io.h"

/* =====================================================================================
   MANIFEST OF                                                               >>manifest_of
   capture.json as structs. The file may be hostile: everything that it says is checked here, and
   a name in it is a plain file name or an error.
   ===================================================================================== */

/* Note what is wrong, once. Return 0. */
CLI_FORMAT(2, 3) static int captured_wrong(captured *c, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (c->problem == NULL) c->problem = cli_text_list(format, list);
    va_end(list);
    return 0;
}

static int captured_string(captured *c, const char *key, char **out)
{
    const qnnrt_json_type type = qnnrt_json_value(&c->r);
    if (type != QNNRT_JSON_STRING && type != QNNRT_JSON_NULL)
        return captured_wrong(c, "\"%s\" is not a string", key);
    free(*out);
    *out = NULL;
    if (type == QNNRT_JSON_NULL) return 1;
    *out = cli_alloc(c->r.value.bytes + 1, 1);
    const size_t bytes = qnnrt_json_copy(&c->r.value, *out);
    return strlen(*out) == bytes || captured_wrong(c, "\"%s\" contains a NUL", key);
}

static int captured_number(captured *c, const char *key, uint64_t most, uint64_t *out)
{
    if (qnnrt_json_value(&c->r) == QNNRT_JSON_NUMBER && qnnrt_json_u64(&c->r.value, out) &&
        *out <= most) return 1;
    return captured_wrong(c, "\"%s\" is not a whole number up to %llu", key,
                          (unsigned long long)most);
}

static int captured_int(captured *c, const char *key, int32_t *out)
{
    int64_t value = 0;
    if (qnnrt_json_value(&c->r) != QNNRT_JSON_NUMBER || !qnnrt_json_i64(&c->r.value, &value) ||
        value < INT32_MIN || value > INT32_MAX)
        return captured_wrong(c, "\"%s\" is not a whole number of 32 bits", key);
    *out = (int32_t)value;
    return 1;
}

static int captured_scale(captured *c, const char *key, float *out)
{
    if (qnnrt_json_value(&c->r) == QNNRT_JSON_NUMBER && qnnrt_json_f32(&c->r.value, out)) return 1;
    return captured_wrong(c, "\"%s\" is not a float32", key);
}

/* Open a list or an object. */
static int captured_open(captured *c, const char *key, qnnrt_json_type type)
{
    return qnnrt_json_value(&c->r) == type ||
           captured_wrong(c, "\"%s\" is not %s", key,
                          type == QNNRT_JSON_ARRAY ? "a list" : "an object");
}

/* Return 1 while an open list or object has more, and nothing was wrong. */
static int captured_more(captured *c)
{
    return c->problem == NULL && qnnrt_json_more(&c->r);
}

static int captured_is(const captured *c, const char *key)
{
    return qnnrt_json_is(&c->r.key, key);
}

/* Make room for one more item of a list of at most CAPTURED_MOST. Return 0 beyond it. */
static int captured_grow(captured *c, void *list, size_t count, size_t *room, size_t size)
{
    void *items;
    if (count >= CAPTURED_MOST) return captured_wrong(c, "a list is too long");
    memcpy(&items, list, sizeof(items));
    items = cli_grow(items, count, room, size);
    memcpy(list, &items, sizeof(items));
    return 1;
}

/* Make room for a pipeline, a step, a tensor or a port. Return 0 if there are too many. */
static int captured_item(captured *c, void *list, size_t count, size_t *room, size_t size)
{
    if (c->items++ == CAPTURED_ITEMS)
        return captured_wrong(c, "it has more than %d items", CAPTURED_ITEMS);
    return captured_grow(c, list, count, room, size);
}

static int captured_by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Check that no two texts of a list are equal, and free it: what a small capture names again and
   again would be read again and again. */
static void captured_distinct(captured *c, const char *what, char **list, size_t count)
{
    if (count > 1) qsort(list, count, sizeof(*list), captured_by_text);
    for (size_t i = 1; i < count; ++i)
        if (strcmp(list[i - 1], list[i]) == 0)
            captured_wrong(c, "%s \"%s\" is named twice", what, list[i]);
    free(list);
}

/* Check that each tensor has a file of its own. */
static void captured_files(captured *c)
{
    char **files = cli_alloc(c->items + 1, sizeof(*files));
    size_t count = 0;
    for (size_t p = 0; p < c->count; ++p)
        for (size_t t = 0; t < c->pipelines[p].tensor_count; ++t)
            if (c->pipelines[p].tensors[t].file != NULL)
                files[count++] = c->pipelines[p].tensors[t].file;
    captured_distinct(c, "the file", files, count);
}

/* True for a name that means a file of the folder on every system. */
static int is_plain_name(const char *name)
{
    const size_t bytes = strlen(name);
    return bytes > 0 && bytes < 256 && name[0] != '.' &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
               bytes;
}

static int captured_quant(captured *c, captured_tensor *to)
{
    qnnrt_quant *quant = &to->info.quant;
    size_t rooms[2] = {0, 0}, counts[2] = {0, 0};
    uint64_t bits = 0;
    int axis = 0, scale = 0;
    const qnnrt_json_type type = qnnrt_json_value(&c->r);
    if (type == QNNRT_JSON_NULL) return 1;
    if (type != QNNRT_JSON_OBJECT) return captured_wrong(c, "\"quant\" is not an object");
    while (captured_more(c)) {
        if (captured_is(c, "bits")) captured_number(c, "bits", 64, &bits);
        else if (captured_is(c, "scale")) scale = captured_scale(c, "scale", &quant->scale);
        else if (captured_is(c, "offset")) captured_int(c, "offset", &quant->offset);
        else if (captured_is(c, "axis")) axis = captured_int(c, "axis", &quant->axis);
        else if (captured_is(c, "scales")) {
            captured_open(c, "scales", QNNRT_JSON_ARRAY);
            while (captured_more(c) &&
                   captured_grow(c, &to->scales, counts[0], &rooms[0], sizeof(float)))
                captured_scale(c, "scales", &to->scales[counts[0]++]);
        } else if (captured_is(c, "offsets")) {
            captured_open(c, "offsets", QNNRT_JSON_ARRAY);
            while (captured_more(c) &&
                   captured_grow(c, &to->offsets, counts[1], &rooms[1], sizeof(int32_t)))
                captured_int(c, "offsets", &to->offsets[counts[1]++]);
        } else qnnrt_json_skip(&c->r);
    }
    quant->bitwidth = (uint32_t)bits;
    quant->count = (uint32_t)counts[0];
    quant->scales = to->scales;
    quant->offsets = to->offsets;
    quant->encoding = axis ? QNNRT_ENCODING_PER_AXIS : QNNRT_ENCODING_PER_TENSOR;
    if (axis ? counts[0] == 0 || counts[1] != counts[0] : !scale)
        return captured_wrong(c, "\"quant\" lacks scale, or axis with scales and offsets");
    return 1;
}

/* Check what a tensor says about itself, and compute its count and bytes. */
static int captured_check(captured *c, captured_tensor *to, const char *dtype, uint64_t bytes)
{
    qnnrt_tensor_info *info = &to->info;
    unsigned bits;
    if (to->name == NULL) return captured_wrong(c, "a tensor lacks \"name\"");
    info->name = to->name;
    info->dims = to->dims;
    if (dtype == NULL || !dtype_of(dtype, &info->dtype))
        return captured_wrong(c, "tensor \"%s\" has no known \"dtype\"", to->name);
    bits = (unsigned)info->dtype & 0xFF;
    bits = bits == 0x26 ? 16 : 10 * (bits >> 4) + (bits & 15);
    info->count = 1;
    for (uint32_t d = 0; d < info->rank; ++d) {
        if (to->dims[d] != 0 && info->count > CAPTURED_BYTES / to->dims[d])
            return captured_wrong(c, "tensor \"%s\" is too large", to->name);
        info->count *= to->dims[d];
    }
    info->bytes = (info->count * bits + 7) / 8;
    if (info->bytes > CAPTURED_BYTES)
        return captured_wrong(c, "tensor \"%s\" is too large", to->name);
    if (info->quant.encoding == QNNRT_ENCODING_PER_AXIS &&
        (info->quant.axis < 0 || (uint32_t)info->quant.axis >= info->rank ||
         to->dims[info->quant.axis] != info->quant.count))
        return captured_wrong(c, "the scales of tensor \"%s\" do not fit its dims", to->name);
    if (to->file == NULL) return 1;
    if (!is_plain_name(to->file))
        return captured_wrong(c, "the file of tensor \"%s\" is not a plain name", to->name);
    if (strlen(to->hash) != HASH_TEXT - 1)
        return captured_wrong(c, "tensor \"%s\" lacks \"sha256\"", to->name);
    return bytes == info->bytes ||
           captured_wrong(c, "tensor \"%s\" has %llu bytes, and its dims and dtype take %llu",
                          to->name, (unsigned long long)bytes, (unsigned long long)info->bytes);
}

static int captured_read_tensor(captured *c, captured_tensor *to)
{
    OWNED char *dtype = NULL, *hash = NULL, *role = NULL;
    uint64_t bytes = 0, dim = 0;
    captured_open(c, "tensors", QNNRT_JSON_OBJECT);
    while (captured_more(c)) {
        if (captured_is(c, "name")) captured_string(c, "name", &to->name);
        else if (captured_is(c, "role")) captured_string(c, "role", &role);
        else if (captured_is(c, "dtype")) captured_string(c, "dtype", &dtype);
        else if (captured_is(c, "file")) captured_string(c, "file", &to->file);
        else if (captured_is(c, "bytes")) captured_number(c, "bytes", CAPTURED_BYTES, &bytes);
        else if (captured_is(c, "sha256")) captured_string(c, "sha256", &hash);
        else if (captured_is(c, "quant")) captured_quant(c, to);
        else if (captured_is(c, "dims")) {
            captured_open(c, "dims", QNNRT_JSON_ARRAY);
            for (to->info.rank = 0; captured_more(c); to->dims[to->info.rank++] = (uint32_t)dim)
                if (to->info.rank == DIMS_MOST || !captured_number(c, "dims", UINT32_MAX, &dim)) {
                    captured_wrong(c, "\"dims\" has more than %d", DIMS_MOST);
                    break;
                }
        } else qnnrt_json_skip(&c->r);
    }
    if (hash != NULL && strlen(hash) < sizeof(to->hash)) strcpy(to->hash, hash);
    to->constant = role != NULL && strcmp(role, "constant") == 0;
    const int good = c->problem == NULL && captured_check(c, to, dtype, bytes);
    return good;
}

static void captured_ports(captured *c, captured_step *to, int output)
{
    const char *key = output ? "outputs" : "inputs";
    captured_open(c, key, QNNRT_JSON_ARRAY);
    while (captured_more(c) && captured_item(c, &to->ports[output], to->counts[output],
                                             &to->rooms[output], sizeof(captured_port))) {
        captured_port *port = &to->ports[output][to->counts[output]++];
        memset(port, 0, sizeof(*port));
        port->tensor = UINT64_MAX;
        captured_open(c, key, QNNRT_JSON_OBJECT);
        while (captured_more(c)) {
            if (captured_is(c, "name")) captured_string(c, "name", &port->name);
            else if (captured_is(c, "tensor"))
                captured_number(c, "tensor", CAPTURED_MOST, &port->tensor);
            else qnnrt_json_skip(&c->r);
        }
        if (port->name == NULL || port->tensor == UINT64_MAX)
            captured_wrong(c, "one of \"%s\" lacks \"name\" or \"tensor\"", key);
    }
    char **names = cli_alloc(to->counts[output] + 1, sizeof(*names));
    size_t count = 0;
    while (c->problem == NULL && count < to->counts[output]) {
        names[count] = to->ports[output][count].name;
        ++count;
    }
    captured_distinct(c, output ? "the output" : "the input", names, count);
}

static void captured_read_step(captured *c, captured_step *to)
{
    static const char *const kinds[] = {"graph", "host", "convert", NULL};
    OWNED char *kind = NULL;
    captured_open(c, "steps", QNNRT_JSON_OBJECT);
    while (captured_more(c)) {
        if (captured_is(c, "kind")) captured_string(c, "kind", &kind);
        else if (captured_is(c, "graph")) captured_string(c, "graph", &to->graph);
        else if (captured_is(c, "text")) captured_string(c, "text", &to->text);
        else if (captured_is(c, "context"))
            captured_number(c, "context", CAPTURED_MOST, &to->context);
        else if (captured_is(c, "inputs")) captured_ports(c, to, 0);
        else if (captured_is(c, "outputs")) captured_ports(c, to, 1);
        else qnnrt_json_skip(&c->r);
    }
    to->kind = kind != NULL ? cli_word(kind, kinds) : -1;
    if (to->kind < 0 || to->graph == NULL || to->text == NULL)
        captured_wrong(c, "a step lacks \"kind\", \"graph\" or \"text\"");
}

static void captured_read_pipeline(captured *c, captured_pipeline *to)
{
    to->failed_step = UINT64_MAX;
    captured_open(c, "pipelines", QNNRT_JSON_OBJECT);
    while (captured_more(c)) {
        if (captured_is(c, "name")) captured_string(c, "name", &to->name);
        else if (captured_is(c, "error")) captured_string(c, "error", &to->error);
        else if (captured_is(c, "failed_step")) {
            if (qnnrt_json_value(&c->r) == QNNRT_JSON_NULL) continue;
            if (!qnnrt_json_u64(&c->r.value, &to->failed_step))
                captured_wrong(c, "\"failed_step\" is not a whole number");
        } else if (captured_is(c, "steps")) {
            captured_open(c, "steps", QNNRT_JSON_ARRAY);
            while (captured_more(c) && captured_item(c, &to->steps, to->step_count, &to->step_room,
                                                     sizeof(*to->steps))) {
                memset(&to->steps[to->step_count], 0, sizeof(*to->steps));
                captured_read_step(c, &to->steps[to->step_count++]);
            }
        } else if (captured_is(c, "tensors")) {
            captured_open(c, "tensors", QNNRT_JSON_ARRAY);
            while (captured_more(c) && captured_item(c, &to->tensors, to->tensor_count,
                                                     &to->tensor_room, sizeof(*to->tensors))) {
                memset(&to->tensors[to->tensor_count], 0, sizeof(*to->tensors));
                captured_read_tensor(c, &to->tensors[to->tensor_count++]);
            }
        } else qnnrt_json_skip(&c->r);
    }
    if (to->name == NULL) captured_wrong(c, "a pipeline lacks \"name\"");
    for (size_t t = 0; t < to->tensor_count; ++t) {    /* the list has moved while it grew */
        to->tensors[t].info.dims = to->tensors[t].dims;
    }
    for (size_t s = 0; s < to->step_count; ++s)
        for (size_t end = 0; end < 2; ++end)
            for (size_t i = 0; i < to->steps[s].counts[end]; ++i)
                if (to->steps[s].ports[end][i].tensor >= to->tensor_count)
                    captured_wrong(c, "step %lu has a tensor that the pipeline lacks",
                                   (unsigned long)s);
}

static void captured_read_backends(captured *c)
{
    captured_open(c, "backends", QNNRT_JSON_ARRAY);
    while (captured_more(c)) {
        char *name = NULL, *build = NULL;
        captured_open(c, "backends", QNNRT_JSON_OBJECT);
        while (captured_more(c)) {
            if (captured_is(c, "name")) captured_string(c, "name", &name);
            else if (captured_is(c, "build")) captured_string(c, "build", &build);
            else qnnrt_json_skip(&c->r);
        }
        if (c->backend == NULL && name != NULL && build != NULL) {
            c->backend = name;
            c->build = build;
            continue;
        }
        free(name);
        free(build);
    }
}

void captured_read_document(captured *c)
{
    OWNED char *format = NULL;
    uint64_t version = 0;
    captured_open(c, "the document", QNNRT_JSON_OBJECT);
    while (captured_more(c)) {
        if (captured_is(c, "format")) captured_string(c, "format", &format);
        else if (captured_is(c, "version")) captured_number(c, "version", UINT32_MAX, &version);
        else if (captured_is(c, "backends")) captured_read_backends(c);
        else if (captured_is(c, "pipelines")) {
            captured_open(c, "pipelines", QNNRT_JSON_ARRAY);
            while (captured_more(c) && captured_item(c, &c->pipelines, c->count, &c->room,
                                                     sizeof(*c->pipelines))) {
                memset(&c->pipelines[c->count], 0, sizeof(*c->pipelines));
                captured_read_pipeline(c, &c->pipelines[c->count++]);
            }
        } else qnnrt_json_skip(&c->r);
    }
    if (c->problem == NULL && !qnnrt_json_end(&c->r))
        captured_wrong(c, "byte %lu: %s", (unsigned long)c->r.error_at,
                       c->r.error != NULL ? c->r.error : "the document does not end");
    if (c->problem == NULL && (format == NULL || strcmp(format, CAPTURE_FORMAT) != 0))
        captured_wrong(c, "\"format\" is not \"" CAPTURE_FORMAT "\"");
    if (c->problem == NULL && version != 1)
        captured_wrong(c, "\"version\" is %llu, and this program reads 1",
                       (unsigned long long)version);
    captured_files(c);
}
