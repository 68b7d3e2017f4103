/* op_map.c - --op_map: operators of graphs that op packages compute

   ROOM     >>op_map */
#include "run/compile/aten.h"

/* =====================================================================================
   OP MAP                                                                         >>op_map
   --op_map FILE: which operators of graphs become which ones of op packages.
       { "mylib.line.default": { "package": "my.package", "type": "LineOf", "inputs": [0],
                                 "params": { "slope": { "attr": "slope", "dtype": "float32",
                                                        "default": 1 } },
                                 "role": "npu" } }
   Without "inputs" all are taken in their order, without "attr" the argument has the name of the
   parameter, and without "default" it must be there. With "role" the row is for one of the
   --backends: the others lower the operator by their own rules, if they have one. A list of such
   objects is possible, too.
   ===================================================================================== */

enum { OP_MAP_BYTES = 1 << 24, OP_MAP_ROWS = 4096, OP_MAP_PARAMS = 8, OP_MAP_INPUTS = 64 };

/* Copy a string of the file; what has a 0 in it is cut there. */
static const char *op_map_text(op_map *map, const qnnrt_json_text *from)
{
    char *text = cli_alloc(from->bytes + 1, 1);
    qnnrt_json_copy(from, text);
    map->texts = cli_grow(map->texts, map->text_count, &map->text_room, sizeof(*map->texts));
    return map->texts[map->text_count++] = text;
}

/* Read the string that comes next. Return NULL if it is something else, or empty. */
static const char *op_map_string(op_map *map, qnnrt_json_reader *r)
{
    if (qnnrt_json_value(r) != QNNRT_JSON_STRING || r->value.bytes == 0) return NULL;
    return op_map_text(map, &r->value);
}

/* Read what a parameter is made of. Return what is wrong, or NULL. */
static const char *op_map_param(op_map *map, qnnrt_json_reader *r, qnnrt_lower_custom_param *param)
{
    static const struct { const char *name; qnnrt_dtype dtype; } dtypes[] = {
        {"float32", QNNRT_DTYPE_F32}, {"int32", QNNRT_DTYPE_I32}, {"uint32", QNNRT_DTYPE_U32},
        {"int16", QNNRT_DTYPE_I16}, {"uint16", QNNRT_DTYPE_U16}, {"int8", QNNRT_DTYPE_I8},
        {"uint8", QNNRT_DTYPE_U8}, {"bool", QNNRT_DTYPE_BOOL8}
    };
    param->dtype = QNNRT_DTYPE_UNDEFINED;
    if (qnnrt_json_value(r) != QNNRT_JSON_OBJECT) return "a parameter is not an object";
    while (qnnrt_json_more(r)) {
        if (qnnrt_json_is(&r->key, "attr")) {
            param->attr = op_map_string(map, r);
            if (param->attr == NULL) return "\"attr\" is not a name";
        } else if (qnnrt_json_is(&r->key, "dtype")) {
            const int text = qnnrt_json_value(r) == QNNRT_JSON_STRING;
            param->dtype = QNNRT_DTYPE_UNDEFINED;
            for (size_t i = 0; text && i < sizeof(dtypes) / sizeof(dtypes[0]); ++i)
                if (qnnrt_json_is(&r->value, dtypes[i].name)) param->dtype = dtypes[i].dtype;
            if (param->dtype == QNNRT_DTYPE_UNDEFINED)
                return "\"dtype\" is not float32, bool, or an integer such as int32 or uint8";
        } else if (qnnrt_json_is(&r->key, "default")) {
            const qnnrt_json_type type = qnnrt_json_value(r);
            const int number = type == QNNRT_JSON_NUMBER &&
                qnnrt_json_f64(&r->value, &param->value);
            if (!number && type != QNNRT_JSON_TRUE && type != QNNRT_JSON_FALSE)
                return "\"default\" is not a number or a bool";
            if (!number) param->value = type == QNNRT_JSON_TRUE;
            param->optional = 1;
        } else return "a parameter has another key than attr, dtype and default";
    }
    return param->dtype == QNNRT_DTYPE_UNDEFINED ? "a parameter has no \"dtype\"" : NULL;
}

/* Return a new row for an operator. */
static size_t op_map_add(op_map *map, const char *op)
{
    const size_t i = map->count++;
    map->names = cli_grow((void *)(uintptr_t)map->names, i, &map->at[0], sizeof(*map->names));
    map->rows = cli_grow(map->rows, i, &map->at[1], sizeof(*map->rows));
    map->params = cli_grow(map->params, i, &map->at[2], sizeof(*map->params));
    map->inputs = cli_grow(map->inputs, i, &map->at[3], sizeof(*map->inputs));
    map->roles = cli_grow((void *)(uintptr_t)map->roles, i, &map->at[4], sizeof(*map->roles));
    map->params[i] = cli_alloc(OP_MAP_PARAMS, sizeof(**map->params));
    map->inputs[i] = cli_alloc(OP_MAP_INPUTS, sizeof(**map->inputs));
    map->names[i] = map->rows[i].op = op;
    return i;
}

/* Read a row for an operator, whose value is of the given type. Return what is wrong, or NULL. */
static const char *op_map_row(op_map *map, qnnrt_json_reader *r, const char *op,
                              qnnrt_json_type type)
{
    if (map->count == OP_MAP_ROWS) return "the table has more than 4096 rows";
    const size_t at = op_map_add(map, op);
    qnnrt_lower_custom *row = &map->rows[at];
    qnnrt_lower_custom_param *params = map->params[at];
    uint32_t *inputs = map->inputs[at];
    const char *wrong = NULL;
    if (type != QNNRT_JSON_OBJECT) return "an operator is not an object";
    while (wrong == NULL && qnnrt_json_more(r)) {
        if (qnnrt_json_is(&r->key, "package")) {
            row->package = op_map_string(map, r);
            if (row->package == NULL) wrong = "\"package\" is not a name";
        } else if (qnnrt_json_is(&r->key, "type")) {
            row->type = op_map_string(map, r);
            if (row->type == NULL) wrong = "\"type\" is not a name";
        } else if (qnnrt_json_is(&r->key, "role")) {
            map->roles[at] = op_map_string(map, r);
            if (map->roles[at] == NULL) wrong = "\"role\" is not a name";
        } else if (qnnrt_json_is(&r->key, "inputs")) {
            row->inputs = inputs;
            if (qnnrt_json_value(r) != QNNRT_JSON_ARRAY) return "\"inputs\" is not a list";
            while (wrong == NULL && qnnrt_json_more(r)) {
                uint64_t number = 0;
                if (!qnnrt_json_value_u64(r, &number) || number >= OP_MAP_INPUTS ||
                    row->input_count == OP_MAP_INPUTS)
                    return "\"inputs\" is not a list of up to 64 numbers below 64";
                inputs[row->input_count++] = (uint32_t)number;
            }
        } else if (qnnrt_json_is(&r->key, "params")) {
            row->params = params;
            if (qnnrt_json_value(r) != QNNRT_JSON_OBJECT) return "\"params\" is not an object";
            while (wrong == NULL && qnnrt_json_more(r)) {
                if (row->param_count == OP_MAP_PARAMS) return "\"params\" has more than 8";
                qnnrt_lower_custom_param *param = &params[row->param_count++];
                param->name = op_map_text(map, &r->key);
                wrong = op_map_param(map, r, param);
            }
        } else wrong = "an operator has another key than package, type, inputs, params and role";
    }
    if (wrong != NULL) return wrong;
    return row->package == NULL || row->type == NULL ? "an operator has no \"package\" or no"
                                                       " \"type\"" : NULL;
}

void op_map_free(op_map *map)
{
    for (size_t i = 0; i < map->count; ++i) {
        free(map->params[i]);
        free(map->inputs[i]);
    }
    for (size_t i = 0; i < map->text_count; ++i) free(map->texts[i]);
    free((void *)map->names);
    free(map->rows);
    free((void *)map->roles);
    free(map->params);
    free(map->inputs);
    free(map->texts);
    memset(map, 0, sizeof(*map));
}

/* Return the number of a row of an operator and a backend that have an earlier one; count: none. */
static size_t op_map_twice(const op_map *map)
{
    for (size_t i = 0; i < map->count; ++i)
        for (size_t k = 0; k < i; ++k)
            if (strcmp(map->names[i], map->names[k]) == 0 &&
                (map->roles[i] == NULL || map->roles[k] == NULL ||
                 strcmp(map->roles[i], map->roles[k]) == 0)) return i;
    return map->count;
}

int op_map_read(tool *t, op_map *map)
{
    const char *path = t->set.compile->op_map, *wrong = NULL;
    qnnrt_json_reader r;
    size_t bytes = 0;
    if (path == NULL) return 1;
    char *text = cli_read_file(path, OP_MAP_BYTES, &bytes);
    if (text == NULL) {
        fail(t, NULL, "Name the table of operators.", "cannot read %s: %s", path, strerror(errno));
        return 0;
    }
    qnnrt_json_begin(&r, text, bytes, NULL);
    if (qnnrt_json_value(&r) != QNNRT_JSON_OBJECT && r.error == NULL) wrong = "it is not an object";
    while (wrong == NULL && qnnrt_json_more(&r)) {
        const char *op = op_map_text(map, &r.key);
        const qnnrt_json_type type = qnnrt_json_value(&r);
        if (type != QNNRT_JSON_ARRAY) wrong = op_map_row(map, &r, op, type);
        else
            while (wrong == NULL && qnnrt_json_more(&r))
                wrong = op_map_row(map, &r, op, qnnrt_json_value(&r));
    }
    if (r.error != NULL || (wrong == NULL && !qnnrt_json_end(&r)))
        fail(t, NULL, "Correct the table of operators.", "%s: byte %lu: %s", path,
             (unsigned long)r.error_at, r.error != NULL ? r.error : "expected the end");
    else if (wrong != NULL)
        fail(t, NULL, "Correct the table of operators; qnnrt-run compile --help shows one.",
             "%s: operator \"%s\": %s", path, map->count > 0 ? map->names[map->count - 1] : "",
             wrong);
    const size_t twice = op_map_twice(map);
    if (!t->failed && twice < map->count)
        fail(t, NULL, "Leave one of them out, or give each a \"role\".",
             "%s: operator \"%s\": there are two rows for %s", path, map->names[twice],
             map->roles[twice] != NULL ? map->roles[twice] : "one backend");
    const int good = !t->failed;
    free(text);
    return good;
}
