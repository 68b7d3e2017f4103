/* run_carriers.h - a part of qnnrt-run.c: files of others that carry context binaries

   The readers look for contexts and note where they are. They write nothing, and open nothing but
   a file that an .onnx names beside it.

   ROOMS    >>pieces >>flatbuffer >>pte >>epcontext >>dlc                                        */

/* =====================================================================================
   PIECES                                                                       >>pieces
   What was found in a file: context binaries, .dlc containers, and what is neither.
   ===================================================================================== */

/* What bytes are, by their head. */
typedef enum head_kind {
    HEAD_OTHER = 0, HEAD_CONTEXT, HEAD_REF, HEAD_WRAPPED, HEAD_PTE, HEAD_ONNX, HEAD_ZIP
} head_kind;

static const char *const head_names[] = {
    "other", "context binary", "context binary of libQnnRef.so",
    "context binary behind ExecuTorch's head", "ExecuTorch program", "ONNX model", "zip archive"};

typedef struct carried {
    char       *where;                 /* "delegate 0 of method forward"                       */
    char       *owner;                 /* "QnnBackend", or ""                                  */
    char       *problem;               /* why it cannot be taken, or NULL                      */
    char       *stem;                  /* its file name without .bin, NULL: of the file        */
    uint64_t    group;                 /* pieces of one file have the same                     */
    head_kind   kind;
    int         is_dlc;
    uint64_t    bytes;
    span        data;                  /* NULL: .packed                                        */
    zip_member  packed;                /* .name is not owned                                   */
    char       *file;                  /* the name it is written as, or NULL: it is not        */
    int         written;
} carried;

typedef struct graph_tensor {
    char    *name;
    uint32_t dtype, rank;
    uint32_t dims[8];                  /* [rank]                                               */
    int      output;
} graph_tensor;

typedef struct graph_listing {         /* a graph of a .dlc                                    */
    char         *name;
    uint64_t      node_count, tensor_count;
    graph_tensor *tensors;             /* [count] inputs and outputs                           */
    size_t        count, room;
} graph_listing;

typedef struct pieces {
    const char    *path;               /* of the file, to look beside it                       */
    carried       *list;               /* [count]                                              */
    size_t         count, room;
    graph_listing *graphs;             /* [graph_count]                                        */
    size_t         graph_count, graph_room, tensor_count;
    char          *problem;            /* why not all of the file was read, or NULL            */
    int            is_dlc;             /* the archive is a .dlc                                */
    uint64_t       groups;             /* the highest .group                                   */
    uint64_t       unpacked;           /* bytes of packed members that were held in memory     */
    uint64_t       work;               /* of unpacking that may still be done                  */
    uint64_t       others;             /* members of an archive that are of no concern         */
    span          *maps;               /* [map_count] of files beside                          */
    size_t         map_count, map_room;
    void         **owned;              /* [owned_count] members that were unpacked             */
    size_t         owned_count, owned_room;
} pieces;

enum { PIECES_MOST = 4096, PIECES_TEXT = 1024 };

/* A model of ONNX has no magic number: its first field is the version of the format, 1 to 63, and
   then comes another one of the first fields. */
static int is_onnx(span s)
{
    static const unsigned char next[] = {0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42};
    return s.bytes >= 8 && s.data[0] == 8 && s.data[1] > 0 && s.data[1] < 64 &&
           memchr(next, s.data[2], sizeof(next)) != NULL;
}

static head_kind head_of(span s)
{
    static const unsigned char context[] = {0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1};
    static const unsigned char wrapped[] = {0xCD, 0xAB, 0x78, 0x56};
    if (span_begins(s, context, sizeof(context))) return HEAD_CONTEXT;
    if (span_begins(s, "QNNRTREF", 8)) return HEAD_REF;
    if (span_begins(s, wrapped, sizeof(wrapped))) return HEAD_WRAPPED;
    if (span_begins(s, "PK\3\4", 4) || span_begins(s, "PK\5\6", 4)) return HEAD_ZIP;
    if (s.bytes >= 8 && memcmp(s.data + 4, "ET", 2) == 0 && s.data[6] >= '0' && s.data[6] <= '9' &&
        s.data[7] >= '0' && s.data[7] <= '9') return HEAD_PTE;
    return is_onnx(s) ? HEAD_ONNX : HEAD_OTHER;
}

/* Note why the file was not read to the end. The first reason stays. */
CLI_FORMAT(2, 3) static void pieces_problem(pieces *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (p->problem == NULL) p->problem = cli_text_list(format, list);
    va_end(list);
}

/* Add a piece; `where` becomes its own. Return NULL when there are too many. */
static carried *pieces_add(pieces *p, char *where, const char *owner, span data)
{
    if (p->count == PIECES_MOST) {
        pieces_problem(p, "it has more than %d pieces", PIECES_MOST);
        free(where);
        return NULL;
    }
    p->list = cli_grow(p->list, p->count, &p->room, sizeof(*p->list));
    carried *added = &p->list[p->count++];
    memset(added, 0, sizeof(*added));
    added->where = where;
    added->owner = cli_text("%s", owner);
    added->data = data;
    added->bytes = data.bytes;
    added->kind = head_of(data);
    return added;
}

/* Leave out the head that ExecuTorch puts before a context binary: a magic number, a signature, and
   the size. Up to 2026 the binary followed at byte 20, now at byte 256.
   Source: QnnCustomProtocol.h of pytorch/executorch. */
static void piece_unwrap(carried *p)
{
    static const uint64_t heads[] = {256, 20};
    static const unsigned char zeros[16] = {0};
    uint64_t size = 0;
    span inner;
    if (p->kind != HEAD_WRAPPED) return;
    if (!span_number(p->data, 12, 8, &size)) {
        p->problem = cli_text("it ends within ExecuTorch's head");
        return;
    }
    for (int pass = 0; pass < 2; ++pass)
        for (size_t i = 0; i < 2; ++i) {
            if (!span_cut(p->data, heads[i], size, &inner)) continue;
            const head_kind kind = head_of(inner);
            /* First by what is there, then by what must be there. */
            if (pass == 0 ? kind != HEAD_CONTEXT && kind != HEAD_REF
                          : heads[i] + size != p->data.bytes ||
                            span_begins(inner, zeros, sizeof(zeros))) continue;
            p->data = inner;
            p->bytes = size;
            p->kind = kind == HEAD_REF ? kind : HEAD_CONTEXT;
            return;
        }
    p->problem = cli_text("ExecuTorch's head states %llu bytes, and %llu follow",
                          (unsigned long long)size, (unsigned long long)(p->data.bytes - 20));
}

/* True if a piece can be written as a context binary. */
static int piece_is_context(const carried *p)
{
    return p->problem == NULL && (p->kind == HEAD_CONTEXT || p->kind == HEAD_REF);
}

static void pieces_free(pieces *p)
{
    for (size_t i = 0; i < p->count; ++i) {
        free(p->list[i].where);
        free(p->list[i].owner);
        free(p->list[i].problem);
        free(p->list[i].stem);
        free(p->list[i].file);
    }
    for (size_t i = 0; i < p->graph_count; ++i) {
        for (size_t k = 0; k < p->graphs[i].count; ++k) free(p->graphs[i].tensors[k].name);
        free(p->graphs[i].tensors);
        free(p->graphs[i].name);
    }
    for (size_t i = 0; i < p->map_count; ++i) span_unmap(p->maps[i]);
    for (size_t i = 0; i < p->owned_count; ++i) free(p->owned[i]);
    free(p->list);
    free(p->graphs);
    free(p->maps);
    free(p->owned);
    free(p->problem);
    memset(p, 0, sizeof(*p));
}

/* =====================================================================================
   FLATBUFFER                                                               >>flatbuffer
   Tables, lists and texts of a flatbuffer. The first fault stops all reading.
   Source: the format's public description (FlatBuffers internals).
   ===================================================================================== */

typedef struct flat {
    span        all;                   /* offsets count from its beginning                     */
    uint64_t    left;                  /* tables and texts that may still be read              */
    const char *wrong;                 /* the first fault, or NULL                             */
    uint64_t    wrong_at;
} flat;

typedef struct flat_table {
    uint64_t at, fields;               /* of the table, and of its list of fields; 0: none     */
    unsigned count;                    /* fields in that list                                  */
} flat_table;

typedef struct flat_list {
    uint64_t at, count;                /* of the first item                                    */
} flat_list;

static void flat_fail(flat *f, const char *wrong, uint64_t at)
{
    if (f->wrong != NULL) return;
    f->wrong = wrong;
    f->wrong_at = at;
}

static uint64_t flat_number(flat *f, uint64_t at, unsigned bytes)
{
    uint64_t value = 0;
    if (f->wrong == NULL && !span_number(f->all, at, bytes, &value))
        flat_fail(f, "a number is outside", at);
    return value;
}

/* Return where the offset at this place leads. Offsets lead forward, so nothing contains itself; a
   file in which many lead to the same place is refused, because each is read once. */
static uint64_t flat_follow(flat *f, uint64_t at)
{
    const uint64_t offset = flat_number(f, at, 4);
    if (f->wrong == NULL && (offset < 4 || offset > f->all.bytes - at))
        flat_fail(f, "an offset leads outside", at);
    if (f->wrong == NULL && f->left-- == 0)
        flat_fail(f, "it refers to the same data too often", at);
    return f->wrong == NULL ? at + offset : 0;
}

static flat_table flat_table_at(flat *f, uint64_t at)
{
    flat_table table = {0, 0, 0};
    const int64_t back = (int32_t)(uint32_t)flat_number(f, at, 4);
    if (f->wrong != NULL) return table;
    const int64_t fields = (int64_t)at - back;
    if (fields < 0 || (uint64_t)fields > f->all.bytes) {
        flat_fail(f, "the fields of a table are outside", at);
        return table;
    }
    const uint64_t bytes = flat_number(f, (uint64_t)fields, 2);
    if (f->wrong == NULL && (bytes < 4 || bytes % 2 != 0 ||
                             bytes > f->all.bytes - (uint64_t)fields))
        flat_fail(f, "the fields of a table are damaged", (uint64_t)fields);
    if (f->wrong != NULL) return table;
    table.at = at;
    table.fields = (uint64_t)fields;
    table.count = (unsigned)(bytes - 4) / 2;
    return table;
}

/* Begin. A root offset is the first number. */
static flat_table flat_root(flat *f, span all)
{
    f->all = all;
    f->left = all.bytes / 4 + 1;
    f->wrong = NULL;
    f->wrong_at = 0;
    return flat_table_at(f, flat_follow(f, 0));
}

/* Return the place of a field, or 0: it has its default. */
static uint64_t flat_place(flat *f, flat_table t, unsigned field)
{
    if (f->wrong != NULL || t.at == 0 || field >= t.count) return 0;
    const uint64_t offset = flat_number(f, t.fields + 4 + 2 * (uint64_t)field, 2);
    return offset != 0 ? t.at + offset : 0;
}

static uint64_t flat_field(flat *f, flat_table t, unsigned field, unsigned bytes)
{
    const uint64_t at = flat_place(f, t, field);
    return at != 0 ? flat_number(f, at, bytes) : 0;
}

static flat_table flat_child(flat *f, flat_table t, unsigned field)
{
    const flat_table none = {0, 0, 0};
    const uint64_t at = flat_place(f, t, field);
    return at != 0 ? flat_table_at(f, flat_follow(f, at)) : none;
}

/* Return a list whose items have so many bytes. */
static flat_list flat_items(flat *f, flat_table t, unsigned field, unsigned item_bytes)
{
    flat_list list = {0, 0};
    const uint64_t place = flat_place(f, t, field);
    if (place == 0) return list;
    const uint64_t at = flat_follow(f, place), count = flat_number(f, at, 4);
    if (f->wrong == NULL && count > (f->all.bytes - at - 4) / item_bytes)
        flat_fail(f, "a list ends outside", at);
    if (f->wrong != NULL) return list;
    list.at = at + 4;
    list.count = count;
    return list;
}

static flat_table flat_item(flat *f, flat_list list, uint64_t i)
{
    return flat_table_at(f, flat_follow(f, list.at + 4 * i));
}

static span flat_bytes(flat *f, flat_table t, unsigned field)
{
    span out = {NULL, 0};
    const flat_list list = flat_items(f, t, field, 1);
    if (list.at != 0) span_cut(f->all, list.at, list.count, &out);
    return out;
}

/* Return a text, up to its first zero byte, and not all of a very long one: many places may refer
   to the same. The caller frees it. */
static char *flat_text(flat *f, flat_table t, unsigned field)
{
    span text = flat_bytes(f, t, field);
    if (text.bytes > PIECES_TEXT) text.bytes = PIECES_TEXT;
    return span_text(text);
}

/* =====================================================================================
   PTE                                                                             >>pte
   ExecuTorch's programs: delegates, whose bytes are in the flatbuffer or in segments behind it.
   Source: schema/program.fbs, schema/extended_header.h and pte-file-format.md of
   pytorch/executorch; qc_binary_info.fbs of its releases of 2024 for the wrapper of that time.
   ===================================================================================== */

/* Fields of the tables, by their numbers in the schema. */
enum { PTE_PLANS = 1, PTE_INLINE = 3, PTE_SEGMENTS = 4, PTE_PLAN_NAME = 0, PTE_PLAN_DELEGATES = 7,
       PTE_DELEGATE_ID = 0, PTE_DELEGATE_DATA = 1, PTE_DATA_PLACE = 0, PTE_DATA_INDEX = 1,
       PTE_SEGMENT_AT = 0, PTE_SEGMENT_BYTES = 1 };

typedef struct pte {
    flat      f;
    span      file, segments;          /* segments: what follows the program                   */
    flat_list inlined, placed;
    size_t    delegates;               /* that were read                                       */
} pte;

/* Find the bytes of a delegate. Return 0 if they are not in the file. */
static int pte_data(pte *p, flat_table reference, uint64_t *key, span *out)
{
    const uint64_t in_segment = flat_field(&p->f, reference, PTE_DATA_PLACE, 1);
    const uint64_t index = flat_field(&p->f, reference, PTE_DATA_INDEX, 4);
    const flat_list list = in_segment ? p->placed : p->inlined;
    *key = index << 1 | (in_segment != 0);
    if (p->f.wrong != NULL || index >= list.count) return 0;
    const flat_table entry = flat_item(&p->f, list, index);
    if (!in_segment) {
        *out = flat_bytes(&p->f, entry, 0);
        return p->f.wrong == NULL;
    }
    const uint64_t at = flat_field(&p->f, entry, PTE_SEGMENT_AT, 8);
    const uint64_t bytes = flat_field(&p->f, entry, PTE_SEGMENT_BYTES, 8);
    return p->f.wrong == NULL && span_cut(p->segments, at, bytes, out);
}

/* Take a context binary out of the flatbuffer that was around it for two months of 2024. */
static void pte_unwrap_2024(carried *p)
{
    flat f;
    const flat_table root = flat_root(&f, p->data);
    const span inner = flat_bytes(&f, root, 1);
    const head_kind kind = head_of(inner);
    if (f.wrong != NULL || (kind != HEAD_CONTEXT && kind != HEAD_REF)) return;
    p->data = inner;
    p->bytes = inner.bytes;
    p->kind = kind;
}

/* Say of a piece of QnnBackend what it is, if it is not a context binary. */
static void pte_judge(carried *p)
{
    static const unsigned char qcir[] = {0xCD, 0xAB, 0x34, 0x12};
    if (p->kind == HEAD_OTHER && !span_begins(p->data, qcir, sizeof(qcir))) pte_unwrap_2024(p);
    piece_unwrap(p);
    if (p->kind == HEAD_ZIP) p->is_dlc = 1;
    else if (span_begins(p->data, qcir, sizeof(qcir)))
        p->problem = cli_text("it is a graph to compile on the device, not a context binary");
    /* The layout is not documented: what the backend owns is taken in any case. */
    else if (p->problem == NULL && p->kind != HEAD_REF) p->kind = HEAD_CONTEXT;
}

/* Read the delegates of a method. seen: [PIECES_MOST] what each piece was read from. */
static void pte_plan(pte *p, pieces *out, flat_table plan, uint64_t *seen)
{
    char *method = flat_text(&p->f, plan, PTE_PLAN_NAME);
    const flat_list delegates = flat_items(&p->f, plan, PTE_PLAN_DELEGATES, 4);
    for (uint64_t i = 0; i < delegates.count && p->f.wrong == NULL && out->problem == NULL; ++i) {
        const flat_table delegate = flat_item(&p->f, delegates, i);
        char *owner = flat_text(&p->f, delegate, PTE_DELEGATE_ID);
        const flat_table reference = flat_child(&p->f, delegate, PTE_DELEGATE_DATA);
        span data = {NULL, 0};
        uint64_t key = 0;
        const int good = pte_data(p, reference, &key, &data);
        size_t k = 0;
        while (k < out->count && seen[k] != key) ++k;
        if (++p->delegates > PIECES_MOST) {
            pieces_problem(out, "it has more than %d delegates", PIECES_MOST);
        } else if (p->f.wrong == NULL && k < out->count) {
            char *longer = cli_text("%.*s, %llu of %s", PIECES_TEXT, out->list[k].where,
                                    (unsigned long long)i, method);
            free(out->list[k].where);
            out->list[k].where = longer;
        } else if (p->f.wrong == NULL) {
            if (k < PIECES_MOST) seen[k] = key;
            carried *added = pieces_add(out, cli_text("delegate %llu of method %s",
                                                    (unsigned long long)i, method), owner, data);
            if (added != NULL && !good) added->problem = cli_text("its bytes are not in the file");
            else if (added != NULL && strcmp(owner, "QnnBackend") == 0) pte_judge(added);
            else if (added != NULL) added->kind = HEAD_OTHER;
        }
        free(owner);
    }
    free(method);
}

static void pte_read(span file, pieces *out)
{
    pte p;
    span program = file;
    uint64_t length, bytes, base;
    memset(&p, 0, sizeof(p));
    p.file = file;
    if (file.bytes >= 32 && memcmp(file.data + 8, "eh", 2) == 0 &&
        span_number(file, 12, 4, &length) && length >= 24) {
        span_number(file, 16, 8, &bytes);
        span_number(file, 24, 8, &base);
        if (!span_cut(file, 0, bytes, &program) || base > file.bytes) {
            pieces_problem(out, "it was cut short: its head states a program of %llu bytes and"
                           " segments from byte %llu, and it has %llu bytes",
                           (unsigned long long)bytes, (unsigned long long)base,
                           (unsigned long long)file.bytes);
            return;
        }
        if (base != 0) span_cut(file, base, file.bytes - base, &p.segments);
    }
    const flat_table root = flat_root(&p.f, program);
    const flat_list plans = flat_items(&p.f, root, PTE_PLANS, 4);
    uint64_t *seen = cli_alloc(PIECES_MOST, sizeof(*seen));
    p.inlined = flat_items(&p.f, root, PTE_INLINE, 4);
    p.placed = flat_items(&p.f, root, PTE_SEGMENTS, 4);
    for (uint64_t i = 0; i < plans.count && p.f.wrong == NULL && out->problem == NULL; ++i)
        pte_plan(&p, out, flat_item(&p.f, plans, i), seen);
    if (p.f.wrong != NULL)
        pieces_problem(out, "it is damaged at byte %llu: %s", (unsigned long long)p.f.wrong_at,
                       p.f.wrong);
    free(seen);
}

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
    char *plain = span_text(name);
    const char *slash = out->path != NULL ? strrchr(out->path, '/') : NULL;
    if (strlen(plain) != name.bytes || plain[0] == '\0' || strchr(plain, '/') != NULL ||
        strchr(plain, '\\') != NULL || strcmp(plain, ".") == 0 || strcmp(plain, "..") == 0) {
        *problem = cli_text("the file it names, \"%.200s\", is not a plain name beside the model",
                            plain);
    } else if (out->path == NULL) {
        *problem = cli_text("it is in the file \"%.200s\" beside the model", plain);
    } else {
        char *path = slash != NULL ? cli_text("%.*s/%s", (int)(slash - out->path), out->path, plain)
                                   : cli_text("%s", plain);
        const char *why = span_map(path, 0, &data);
        if (why != NULL)
            *problem = cli_text("the file it names, \"%.200s\", cannot be read: %s", plain, why);
        free(path);
    }
    if (data.data != NULL) {
        out->maps = cli_grow(out->maps, out->map_count, &out->map_room, sizeof(*out->maps));
        out->maps[out->map_count++] = data;
    }
    free(plain);
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

static void onnx_read(span file, pieces *out)
{
    onnx_field field;
    span rest = file;
    while (out->problem == NULL && onnx_next(&rest, &field))
        if (field.number == ONNX_MODEL_GRAPH && field.type == 2) onnx_graph(out, field.bytes, 0);
    if (rest.bytes > 0)
        pieces_problem(out, "it is damaged at byte %llu, or was cut short",
                       (unsigned long long)(file.bytes - rest.bytes));
}

/* =====================================================================================
   DLC                                                                             >>dlc
   The graphs of a .dlc: names of inputs and outputs, types and dimensions.
   Source: tools/dlc.fbs of lutzroeder/netron; what its tensors' kinds mean was compared with what
   libQnnSystem.so 2.51 composes of the same files.
   ===================================================================================== */

/* Fields of the tables, by their numbers. */
enum { DLC_GRAPHS = 0, DLC_GRAPH_NAME = 0, DLC_GRAPH_NODES = 1, DLC_GRAPH_TENSORS = 2,
       DLC_TENSOR_NAME = 1, DLC_TENSOR_KIND = 2, DLC_TENSOR_DIMS = 3, DLC_TENSOR_TYPE = 6,
       DLC_INPUT = 0, DLC_OUTPUT = 1, DLC_PREFIX = 8 };

static void dlc_tensor(flat *f, flat_table from, graph_listing *graph, pieces *out)
{
    const uint64_t kind = flat_field(f, from, DLC_TENSOR_KIND, 4);
    const flat_list dims = flat_items(f, from, DLC_TENSOR_DIMS, 4);
    if (f->wrong != NULL || (kind != DLC_INPUT && kind != DLC_OUTPUT)) return;
    if (out->tensor_count++ == PIECES_MOST) {
        flat_fail(f, "it has more than 4,096 inputs and outputs", from.at);
        return;
    }
    graph->tensors = cli_grow(graph->tensors, graph->count, &graph->room, sizeof(*graph->tensors));
    graph_tensor *tensor = &graph->tensors[graph->count++];
    memset(tensor, 0, sizeof(*tensor));
    tensor->name = flat_text(f, from, DLC_TENSOR_NAME);
    tensor->dtype = (uint32_t)flat_field(f, from, DLC_TENSOR_TYPE, 4);
    tensor->output = kind == DLC_OUTPUT;
    tensor->rank = dims.count < 8 ? (uint32_t)dims.count : 8;
    for (uint32_t i = 0; i < tensor->rank; ++i)
        tensor->dims[i] = (uint32_t)flat_number(f, dims.at + 4 * (uint64_t)i, 4);
}

/* Read the member "model" of a .dlc. */
static void dlc_read(span model, pieces *out)
{
    static const unsigned char prefix[] = {0xD5, 0x0A, 4, 0};
    flat f;
    span body;
    if (!span_begins(model, prefix, sizeof(prefix)) ||
        !span_cut(model, DLC_PREFIX, model.bytes - DLC_PREFIX, &body) || body.bytes < 8 ||
        memcmp(body.data + 4, "NETD", 4) != 0) {
        pieces_problem(out, "its graphs are of a version that is not known");
        return;
    }
    const flat_list graphs = flat_items(&f, flat_root(&f, body), DLC_GRAPHS, 4);
    for (uint64_t i = 0; i < graphs.count && i < PIECES_MOST && f.wrong == NULL; ++i) {
        const flat_table from = flat_item(&f, graphs, i);
        const flat_list tensors = flat_items(&f, from, DLC_GRAPH_TENSORS, 4);
        out->graphs = cli_grow(out->graphs, out->graph_count, &out->graph_room,
                               sizeof(*out->graphs));
        graph_listing *graph = &out->graphs[out->graph_count++];
        memset(graph, 0, sizeof(*graph));
        graph->name = flat_text(&f, from, DLC_GRAPH_NAME);
        graph->node_count = flat_items(&f, from, DLC_GRAPH_NODES, 4).count;
        graph->tensor_count = tensors.count;
        for (uint64_t k = 0; k < tensors.count && f.wrong == NULL; ++k)
            dlc_tensor(&f, flat_item(&f, tensors, k), graph, out);
    }
    if (graphs.count > PIECES_MOST)
        pieces_problem(out, "it has more than %d graphs", PIECES_MOST);
    if (f.wrong != NULL)
        pieces_problem(out, "its graphs are damaged at byte %llu: %s",
                       (unsigned long long)f.wrong_at, f.wrong);
}
