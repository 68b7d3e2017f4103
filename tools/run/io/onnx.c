/* onnx.c - context binaries in .onnx with EPContext nodes, and beside them

   ROOM     >>epcontext */
#include "run/io/io.h"

/* =====================================================================================
   EPCONTEXT                                                                 >>epcontext
   Nodes of ONNX Runtime that hold a compiled model, or name the file beside that does.
   Source: onnx.proto, and ONNX Runtime's page about EPContext.
   ===================================================================================== */

/* Fields of the messages, by their numbers. */
enum { ONNX_MODEL_GRAPH = 7, ONNX_GRAPH_NODE = 1, ONNX_NODE_NAME = 3, ONNX_NODE_TYPE = 4,
       ONNX_NODE_ATTRIBUTE = 5, ONNX_ATTRIBUTE_NAME = 1, ONNX_ATTRIBUTE_NUMBER = 3,
       ONNX_ATTRIBUTE_TEXT = 4, ONNX_ATTRIBUTE_GRAPH = 6, ONNX_DEPTH = 16 };

typedef struct onnx_field {
    uint64_t number, value;
    unsigned type;                     /* 0: a number in .value, 2: .bytes                     */
    span     bytes;
} onnx_field;

/* Read a number of 7 bits a byte. Return 0 if it is cut short or too long. */
static int onnx_number(span *at, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && at->bytes > 0; shift += 7) {
        const unsigned char byte = *at->data++;
        --at->bytes;
        if (shift == 63 && byte > 1) return 0;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return 1;
    }
    return 0;
}

/* Read the next field of a message. Return 0 at the end, and if it is damaged: then some bytes are
   left. */
static int onnx_next(span *at, onnx_field *field)
{
    span rest = *at;
    uint64_t key, length = 0;
    memset(field, 0, sizeof(*field));
    if (rest.bytes == 0 || !onnx_number(&rest, &key)) return 0;
    field->number = key >> 3;
    field->type = key & 7;
    if (field->number == 0) return 0;
    if (field->type == 0) {
        if (!onnx_number(&rest, &field->value)) return 0;
    } else if (field->type == 1 || field->type == 5) {
        length = field->type == 1 ? 8 : 4;
    } else if (field->type != 2 || !onnx_number(&rest, &length)) {
        return 0;
    }
    if (!span_cut(rest, 0, length, &field->bytes)) return 0;
    rest.data += length;
    rest.bytes -= length;
    *at = rest;
    return 1;
}

static int span_is(span s, const char *text)
{
    return s.bytes == strlen(text) && memcmp(s.data, text, (size_t)s.bytes) == 0;
}

/* What an EPContext node states. */
typedef struct onnx_context {
    char    *name, *source;
    span     cache;
    uint64_t main_context, embedded;
    int      is_context;
} onnx_context;

/* Map the file that a node names. It is a plain name, of a file in the same folder. */
static span onnx_beside(pieces *out, span name, char **problem)
{
    span data = {NULL, 0};
    OWNED char *plain = span_text(name);
    const char *slash = out->path != NULL ? strrchr(out->path, '/') : NULL;
    if (strlen(plain) != name.bytes || plain[0] == '\0' || strchr(plain, '/') != NULL ||
        strchr(plain, '\\') != NULL || strcmp(plain, ".") == 0 || strcmp(plain, "..") == 0) {
        *problem = cli_text("the file it names, \"%.200s\", is not a plain name beside the model",
                            plain);
    } else if (out->path == NULL) {
        *problem = cli_text("it is in the file \"%.200s\" beside the model", plain);
    } else {
        OWNED char *path = slash != NULL
            ? cli_text("%.*s/%s", (int)(slash - out->path), out->path, plain)
            : cli_text("%s", plain);
        const char *why = span_map(path, 0, &data);
        if (why != NULL)
            *problem = cli_text("the file it names, \"%.200s\", cannot be read: %s", plain, why);
    }
    if (data.data != NULL) {
        out->maps = cli_grow(out->maps, out->map_count, &out->map_room, sizeof(*out->maps));
        out->maps[out->map_count++] = data;
    }
    return data;
}

/* Note a context. */
static void onnx_note(pieces *out, const onnx_context *c)
{
    char *problem = NULL, *where = c->embedded ? cli_text("node %.*s", PIECES_TEXT, c->name)
        : cli_text("node %.*s, file %.*s", PIECES_TEXT, c->name,
                   c->cache.bytes < PIECES_TEXT ? (int)c->cache.bytes : PIECES_TEXT,
                   c->cache.bytes > 0 ? (const char *)c->cache.data : "");
    const span data = c->embedded ? c->cache : onnx_beside(out, c->cache, &problem);
    carried *added = pieces_add(out, where, c->source, data);
    if (added == NULL) {
        free(problem);
        return;
    }
    if (problem == NULL && data.bytes == 0) problem = cli_text("it has no bytes");
    added->problem = problem;
    if (problem == NULL) piece_unwrap(added);
    /* Of the QNN provider it is a context binary, whatever its head. */
    if (added->kind != HEAD_REF && (strncmp(c->source, "QNN", 3) == 0 ||
                                    strncmp(c->source, "Qnn", 3) == 0))
        added->kind = HEAD_CONTEXT;
}

static void onnx_graph(pieces *out, span graph, unsigned depth);

static void onnx_attribute(pieces *out, span message, onnx_context *c, unsigned depth)
{
    onnx_field field, name, text;
    uint64_t number = 0;
    memset(&name, 0, sizeof(name));
    memset(&text, 0, sizeof(text));
    while (onnx_next(&message, &field)) {
        if (field.number == ONNX_ATTRIBUTE_NAME && field.type == 2) name = field;
        if (field.number == ONNX_ATTRIBUTE_TEXT && field.type == 2) text = field;
        if (field.number == ONNX_ATTRIBUTE_NUMBER && field.type == 0) number = field.value;
        if (field.number == ONNX_ATTRIBUTE_GRAPH && field.type == 2)
            onnx_graph(out, field.bytes, depth + 1);
    }
    if (message.bytes > 0) pieces_problem(out, "an attribute of a node is damaged");
    if (span_is(name.bytes, "main_context")) c->main_context = number;
    if (span_is(name.bytes, "embed_mode")) c->embedded = number;
    if (span_is(name.bytes, "ep_cache_context")) c->cache = text.bytes;
    if (span_is(name.bytes, "source")) {
        free(c->source);
        c->source = span_text(text.bytes);
    }
}

static void onnx_node(pieces *out, span message, unsigned depth)
{
    onnx_context c;
    onnx_field field;
    memset(&c, 0, sizeof(c));
    c.main_context = c.embedded = 1;
    c.name = cli_text("%s", "");
    c.source = cli_text("%s", "");
    while (onnx_next(&message, &field)) {
        if (field.type != 2) continue;
        if (field.number == ONNX_NODE_TYPE) c.is_context = span_is(field.bytes, "EPContext");
        if (field.number == ONNX_NODE_ATTRIBUTE) onnx_attribute(out, field.bytes, &c, depth);
        if (field.number != ONNX_NODE_NAME) continue;
        free(c.name);
        c.name = span_text(field.bytes);
    }
    if (message.bytes > 0) pieces_problem(out, "a node is damaged");
    if (c.is_context && c.main_context != 0) onnx_note(out, &c);
    free(c.name);
    free(c.source);
}

static void onnx_graph(pieces *out, span graph, unsigned depth)
{
    onnx_field field;
    if (depth == ONNX_DEPTH) {
        pieces_problem(out, "its graphs are nested too deep");
        return;
    }
    while (out->problem == NULL && onnx_next(&graph, &field))
        if (field.number == ONNX_GRAPH_NODE && field.type == 2) onnx_node(out, field.bytes, depth);
    if (graph.bytes > 0) pieces_problem(out, "a graph is damaged");
}

void onnx_read(span file, pieces *out)
{
    onnx_field field;
    span rest = file;
    while (out->problem == NULL && onnx_next(&rest, &field))
        if (field.number == ONNX_MODEL_GRAPH && field.type == 2) onnx_graph(out, field.bytes, 0);
    if (rest.bytes > 0)
        pieces_problem(out, "it is damaged at byte %llu, or was cut short",
                       (unsigned long long)(file.bytes - rest.bytes));
}
