/* archive.c - containers in archives, and in archives within them

   ROOM     >>archive */
#include "run/io/io.h"

/* =====================================================================================
   ARCHIVE                                                                     >>archive
   Archives, whose members are contexts or files that carry them; and which reader a file gets.
   ===================================================================================== */

enum { ARCHIVE_DEPTH = 4, ARCHIVE_HEAD = 64 };

/* Packed members that must be read as a whole, because they carry contexts, are held in memory: all
   of a file's may have so many bytes. */
#define ARCHIVE_UNPACKED ((uint64_t)1 << 30)

typedef struct archive_room {          /* where bytes of a member go                           */
    unsigned char *data;
    size_t         used, room;
} archive_room;

/* Keep bytes, as far as there is room. */
static int archive_keep(void *user, const unsigned char *data, size_t bytes)
{
    archive_room *to = user;
    if (bytes > to->room - to->used) bytes = to->room - to->used;
    memcpy(to->data + to->used, data, bytes);
    to->used += bytes;
    return to->used < to->room;
}

/* Read the first bytes of a member. */
static span archive_head(const zip_member *m, uint64_t *work, unsigned char head[ARCHIVE_HEAD])
{
    archive_room to = {head, 0, ARCHIVE_HEAD};
    span out;
    if (m->method == 0) return m->packed;
    zip_unpack(m, work, archive_keep, &to);      /* damage after its head does not matter here */
    out.data = head;
    out.bytes = to.used;
    return out;
}

static int archive_skip(void *user, const unsigned char *data, size_t bytes)
{
    (void)user;
    (void)data;
    (void)bytes;
    return 1;
}

/* Return the bytes of a member; those of a packed one are owned by `out`. */
static span archive_member(const zip_member *m, pieces *out, char **problem)
{
    span data = {NULL, 0};
    if (m->method == 0) {
        const char *damage = zip_unpack(m, &out->work, archive_skip, NULL);
        if (damage == NULL) return m->packed;
        *problem = cli_text("%s", damage);
        return data;
    }
    if (m->bytes > ARCHIVE_UNPACKED - out->unpacked) {
        *problem = cli_text("it is packed and has %llu bytes, too many beside the others: unpack"
                            " the archive, and extract from what was in it",
                            (unsigned long long)m->bytes);
        return data;
    }
    out->unpacked += m->bytes;
    /* One byte more, so that the end is seen and the checksum is compared. */
    archive_room to = {cli_alloc((size_t)m->bytes + 1, 1), 0, (size_t)m->bytes + 1};
    const char *wrong = zip_unpack(m, &out->work, archive_keep, &to);
    out->owned = cli_grow(out->owned, out->owned_count, &out->owned_room, sizeof(*out->owned));
    out->owned[out->owned_count++] = to.data;
    if (wrong != NULL) {
        *problem = cli_text("%s", wrong);
        return data;
    }
    data.data = to.data;
    data.bytes = to.used;
    return data;
}

char *stem_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return cli_text("%.*s", (int)(dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name)),
                    name);
}

/* Move what was found in a member to what was found in its archive. */
static void archive_merge(pieces *out, pieces *inner, const char *name)
{
    for (size_t i = 0; i < inner->count; ++i) {
        carried *from = &inner->list[i];
        const span none = {NULL, 0};
        carried *to = pieces_add(out, cli_text("member %s, %s", name, from->where), "", none);
        if (to == NULL) break;
        char *where = to->where, *empty = to->owner;
        *to = *from;
        free(from->where);
        free(empty);
        to->where = where;
        if (to->stem == NULL) to->stem = stem_of(name);
        to->group += out->groups + 1;
        memset(from, 0, sizeof(*from));
    }
    out->groups += inner->groups + 1;
    for (size_t i = 0; i < inner->graph_count && out->graph_count < PIECES_MOST; ++i) {
        out->graphs = cli_grow(out->graphs, out->graph_count, &out->graph_room,
                               sizeof(*out->graphs));
        out->graphs[out->graph_count++] = inner->graphs[i];
        memset(&inner->graphs[i], 0, sizeof(inner->graphs[i]));
    }
    for (size_t i = 0; i < inner->owned_count; ++i) {
        out->owned = cli_grow(out->owned, out->owned_count, &out->owned_room, sizeof(*out->owned));
        out->owned[out->owned_count++] = inner->owned[i];
    }
    inner->owned_count = 0;
    out->unpacked = inner->unpacked;
    out->work = inner->work;
    if (inner->problem != NULL) pieces_problem(out, "member %s: %s", name, inner->problem);
    pieces_free(inner);
}

/* Look into a member that may carry contexts. */
static void archive_nested(const zip_member *m, head_kind kind, pieces *out, unsigned depth)
{
    char *problem = NULL;
    pieces inner;
    memset(&inner, 0, sizeof(inner));
    const span data = archive_member(m, out, &problem);
    if (problem != NULL) {
        pieces_problem(out, "member %s: %s", m->name, problem);
        free(problem);
        return;
    }
    if (kind == HEAD_WRAPPED) {
        carried *added = pieces_add(out, cli_text("member %s", m->name), "", data);
        if (added == NULL) return;
        piece_unwrap(added);
        added->stem = stem_of(m->name);
        added->group = ++out->groups;
        return;
    }
    inner.unpacked = out->unpacked;
    inner.work = out->work;
    container_read(data, kind, &inner, depth + 1);
    if (kind == HEAD_ZIP && inner.is_dlc) {
        carried *added = pieces_add(out, cli_text("member %s", m->name), "", data);
        if (added != NULL) {
            added->is_dlc = 1;
            added->stem = stem_of(m->name);
            added->group = ++out->groups;
        }
    }
    archive_merge(out, &inner, m->name);
}

/* Look at a member. */
static void archive_look(const zip_member *m, pieces *out, unsigned depth)
{
    unsigned char bytes[ARCHIVE_HEAD] = {0};
    const span head = archive_head(m, &out->work, bytes);
    const head_kind kind = head_of(head);
    const int is_model = strcmp(m->name, "model") == 0 && span_begins(head, "\xD5\x0A", 2);
    char *problem = NULL;
    if (is_model || strncmp(m->name, "dlc.metadata", 12) == 0) out->is_dlc = 1;
    if (is_model) {
        const span model = archive_member(m, out, &problem);
        if (problem == NULL) dlc_read(model, out);
        else pieces_problem(out, "member %s: %s", m->name, problem);
        free(problem);
    } else if (kind == HEAD_CONTEXT || kind == HEAD_REF) {
        const span none = {NULL, 0};
        carried *added = pieces_add(out, cli_text("member %s", m->name), "",
                                  m->method == 0 ? m->packed : none);
        if (added == NULL) return;
        added->kind = kind;
        added->bytes = m->bytes;
        added->packed = *m;
        added->packed.name = NULL;
        added->stem = stem_of(m->name);
        added->group = ++out->groups;
    } else if (kind == HEAD_WRAPPED || kind == HEAD_PTE || kind == HEAD_ZIP ||
               (kind == HEAD_ONNX && strlen(m->name) > 5 &&
                strcmp(m->name + strlen(m->name) - 5, ".onnx") == 0)) {
        if (depth + 1 < ARCHIVE_DEPTH) archive_nested(m, kind, out, depth);
        else pieces_problem(out, "member %s: archives are nested too deep", m->name);
    } else {
        ++out->others;
    }
}

/* True if a member that cannot be read is worth a word: others in an archive do not matter. */
static int archive_matters(const char *name)
{
    static const char *const ends[] = {".bin", ".pte", ".onnx", ".dlc"};
    const size_t bytes = strlen(name);
    if (strcmp(name, "model") == 0) return 1;
    for (size_t i = 0; i < 4; ++i)
        if (bytes > strlen(ends[i]) && strcmp(name + bytes - strlen(ends[i]), ends[i]) == 0)
            return 1;
    return 0;
}

static void archive_read(span file, pieces *out, unsigned depth)
{
    zip_list list;
    zip_read(file, &list);
    for (size_t i = 0; i < list.count && out->count < PIECES_MOST && out->work > 0; ++i) {
        const zip_member *m = &list.members[i];
        if (m->problem == NULL) archive_look(m, out, depth);
        else if (!archive_matters(m->name)) ++out->others;
        else pieces_problem(out, "member %s: %s", m->name, m->problem);
        if (out->work == 0) pieces_problem(out, "member %s: %s", m->name, inflate_costs);
    }
    if (list.problem != NULL) pieces_problem(out, "%s", list.problem);
    zip_free(&list);
}

void container_read(span file, head_kind kind, pieces *out, unsigned depth)
{
    if (depth == 0) out->work = ARCHIVE_WORK(file.bytes);
    if (kind == HEAD_PTE) pte_read(file, out);
    if (kind == HEAD_ONNX) onnx_read(file, out);
    if (kind == HEAD_ZIP) archive_read(file, out, depth);
}

int carries_contexts(const char *path)
{
    pieces found;
    span all;
    int has = 0;
    memset(&found, 0, sizeof(found));
    if (cli_is_folder(path) || span_map(path, 1, &all) != NULL) return 0;
    found.path = path;
    container_read(all, head_of(all), &found, 0);
    for (size_t i = 0; i < found.count; ++i) has |= piece_is_context(&found.list[i]);
    has = has && !found.is_dlc;
    pieces_free(&found);
    span_unmap(all);
    return has;
}
