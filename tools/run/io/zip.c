/* zip.c - members of a zip archive

   ROOM     >>zip */
#include "run/io/io.h"

/* =====================================================================================
   ZIP                                                                             >>zip
   The members of an archive: zip, zip64, stored and deflated.
   Source: PKWARE's APPNOTE 6.3.
   ===================================================================================== */

enum { ZIP_MOST = 1 << 20, ZIP_END = 22, ZIP_LOCATOR = 20, ZIP_END_64 = 56, ZIP_ENTRY = 46,
       ZIP_LOCAL = 30 };

/* Find the record at the end of an archive, after which there may be a comment. */
static int zip_end(span all, uint64_t *at)
{
    if (all.bytes < ZIP_END) return 0;
    const uint64_t least = all.bytes > ZIP_END + 65535 ? all.bytes - ZIP_END - 65535 : 0;
    for (*at = all.bytes - ZIP_END;; --*at) {
        uint64_t comment;
        if (memcmp(all.data + *at, "PK\5\6", 4) == 0 &&
            span_number(all, *at + 20, 2, &comment) && comment == all.bytes - *at - ZIP_END)
            return 1;
        if (*at == least) return 0;
    }
}

/* Find the list of members: the bytes that hold it, and how many there are. */
static int zip_directory(span all, span *directory, uint64_t *count)
{
    uint64_t end, at, bytes, end_64, have;
    span record;
    if (!zip_end(all, &end)) return 0;
    span_number(all, end + 10, 2, count);
    span_number(all, end + 12, 4, &bytes);
    span_number(all, end + 16, 4, &at);
    if (end >= ZIP_LOCATOR && memcmp(all.data + end - ZIP_LOCATOR, "PK\6\7", 4) == 0) {
        span_number(all, end - ZIP_LOCATOR + 8, 8, &end_64);
        if (!span_cut(all, end_64, ZIP_END_64, &record) ||
            memcmp(record.data, "PK\6\6", 4) != 0) return 0;
        span_number(record, 32, 8, count);
        span_number(record, 40, 8, &bytes);
        span_number(record, 48, 8, &at);
        end = end_64;
    }
    have = end;                        /* the list is before the record */
    if (at > have || bytes > have - at) return 0;
    return span_cut(all, at, bytes, directory);
}

/* Take the numbers that did not fit into 32 bits from the extra fields of an entry. */
static int zip_large(span extra, uint64_t *bytes, uint64_t *packed, uint64_t *at)
{
    uint64_t *const numbers[] = {bytes, packed, at};
    uint64_t kind, length, place = 0;
    span field;
    if (*bytes != UINT32_MAX && *packed != UINT32_MAX && *at != UINT32_MAX) return 1;
    while (span_number(extra, place, 2, &kind) && span_number(extra, place + 2, 2, &length)) {
        place += 4;
        if (!span_cut(extra, place, length, &field)) return 0;
        place += length;
        if (kind != 1) continue;
        uint64_t next = 0;
        for (size_t i = 0; i < 3; ++i) {
            if (*numbers[i] != UINT32_MAX) continue;
            if (!span_number(field, next, 8, numbers[i])) return 0;
            next += 8;
        }
        return 1;
    }
    return 1;
}

/* Read an entry of the list, and the header of its member. Return its length, or 0. */
static uint64_t zip_entry(span all, span directory, uint64_t place, zip_member *m)
{
    uint64_t flags, crc, packed, name_bytes, extra_bytes, comment_bytes, method, near_name, near;
    span entry, name, extra, local;
    if (!span_cut(directory, place, ZIP_ENTRY, &entry) || memcmp(entry.data, "PK\1\2", 4) != 0)
        return 0;
    span_number(entry, 8, 2, &flags);
    span_number(entry, 10, 2, &method);
    span_number(entry, 16, 4, &crc);
    span_number(entry, 20, 4, &packed);
    span_number(entry, 24, 4, &m->bytes);
    span_number(entry, 28, 2, &name_bytes);
    span_number(entry, 30, 2, &extra_bytes);
    span_number(entry, 32, 2, &comment_bytes);
    span_number(entry, 42, 4, &m->at);
    if (!span_cut(directory, place + ZIP_ENTRY, name_bytes, &name) ||
        !span_cut(directory, place + ZIP_ENTRY + name_bytes, extra_bytes, &extra)) return 0;
    m->name = span_text(name);
    m->crc = (uint32_t)crc;
    m->method = (unsigned)method;
    if (!zip_large(extra, &m->bytes, &packed, &m->at)) m->problem = "its sizes are damaged";
    else if (flags & 1) m->problem = "it is encrypted";
    else if (method != 0 && method != 8) m->problem = "it is packed in a way other than deflate";
    else if (!span_cut(all, m->at, ZIP_LOCAL, &local) || memcmp(local.data, "PK\3\4", 4) != 0 ||
             !span_number(local, 26, 2, &near_name) || !span_number(local, 28, 2, &near) ||
             !span_cut(all, m->at + ZIP_LOCAL + near_name + near, packed, &m->packed))
        m->problem = "it is not where the archive says";
    else if (method == 0 && m->bytes != packed) m->problem = "its two sizes differ";
    /* A byte of deflate makes at most 1,032. */
    else if (method == 8 && m->bytes / 1032 > packed)
        m->problem = "it is too small for the size that is stated";
    return ZIP_ENTRY + name_bytes + extra_bytes + comment_bytes;
}

static int zip_by_place(const void *a, const void *b)
{
    const zip_member *x = *(zip_member *const *)a, *y = *(zip_member *const *)b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x < y ? -1 : x > y;         /* both are in one list */
}

/* Mark members whose bytes another one uses too: so a small archive becomes a huge one. */
static void zip_overlaps(span all, zip_list *list)
{
    OWNED zip_member **order = cli_alloc(list->count, sizeof(*order));
    uint64_t end = 0;
    for (size_t i = 0; i < list->count; ++i) order[i] = &list->members[i];
    if (list->count > 1) qsort(order, list->count, sizeof(*order), zip_by_place);
    for (size_t i = 0; i < list->count; ++i) {
        if (order[i]->packed.data == NULL) continue;
        if (order[i]->at < end) order[i]->problem = "it overlaps another member";
        else end = (uint64_t)(order[i]->packed.data - all.data) + order[i]->packed.bytes;
    }
}

void zip_read(span all, zip_list *list)
{
    uint64_t count, place = 0;
    size_t room = 0;
    span directory;
    memset(list, 0, sizeof(*list));
    if (!zip_directory(all, &directory, &count)) {
        list->problem = "its list of members is missing: it was cut short";
        return;
    }
    while (place < directory.bytes && list->count < count && list->count < ZIP_MOST) {
        list->members = cli_grow(list->members, list->count, &room, sizeof(*list->members));
        zip_member *m = &list->members[list->count];
        memset(m, 0, sizeof(*m));
        const uint64_t length = zip_entry(all, directory, place, m);
        if (length == 0) break;
        place += length;
        ++list->count;
    }
    if (list->count < count)
        list->problem = list->count == ZIP_MOST ? "it has more than 1,048,576 members"
                                                : "its list of members is damaged";
    zip_overlaps(all, list);
}

void zip_free(zip_list *list)
{
    for (size_t i = 0; i < list->count; ++i) free(list->members[i].name);
    free(list->members);
    memset(list, 0, sizeof(*list));
}

/* The bytes of a member on their way. */
typedef struct zip_flow {
    inflate_take *take;
    void         *user;
    uint32_t      crc;
    int           stopped;
} zip_flow;

static int zip_pass(void *user, const unsigned char *data, size_t bytes)
{
    zip_flow *to = user;
    to->crc = crc_add(to->crc, data, bytes);
    to->stopped = !to->take(to->user, data, bytes);
    return !to->stopped;
}

const char *zip_unpack(const zip_member *m, uint64_t *work, inflate_take *take, void *user)
{
    enum { BLOCK = 1 << 20 };
    zip_flow to = {take, user, 0, 0};
    const char *wrong = m->problem;
    uint64_t made = 0;
    if (wrong != NULL) return wrong;
    if (m->method == 8) wrong = inflate(m->packed, m->bytes, work, zip_pass, &to, &made);
    for (; m->method == 0 && made < m->bytes && !to.stopped; made += BLOCK)
        zip_pass(&to, m->packed.data + made,
                 m->bytes - made < BLOCK ? (size_t)(m->bytes - made) : BLOCK);
    if (wrong != NULL || to.stopped) return wrong;
    if (m->method == 8 && made != m->bytes) return "it has fewer bytes than the archive states";
    if (m->crc != 0 && m->crc != to.crc) return "its checksum is wrong";
    return NULL;
}
