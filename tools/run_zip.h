/* run_zip.h - a part of qnnrt-run.c: bytes of a file, and archives

   Files come from anywhere: every offset and size in them is checked before it is used.

   ROOMS    >>span >>inflate >>zip                                                               */
#include <sys/mman.h>

/* =====================================================================================
   SPAN                                                                           >>span
   Bytes that are read in place.
   ===================================================================================== */

typedef struct span {
    const unsigned char *data;
    uint64_t             bytes;
} span;

/* Cut a piece out. Return 0 if it is not all within. */
static int span_cut(span from, uint64_t at, uint64_t bytes, span *out)
{
    if (at > from.bytes || bytes > from.bytes - at) return 0;
    out->data = at > 0 ? from.data + at : from.data;       /* which is NULL if nothing is there */
    out->bytes = bytes;
    return 1;
}

/* Read a little-endian number. Return 0 if it is not all within. */
static int span_number(span from, uint64_t at, unsigned bytes, uint64_t *out)
{
    span piece;
    *out = 0;
    if (!span_cut(from, at, bytes, &piece)) return 0;
    while (bytes-- > 0) *out = *out << 8 | piece.data[bytes];
    return 1;
}

static int span_begins(span s, const void *head, size_t bytes)
{
    return s.bytes >= bytes && memcmp(s.data, head, bytes) == 0;
}

/* Return the bytes as a text. The caller frees it. */
static char *span_text(span s)
{
    char *text = cli_alloc((size_t)s.bytes + 1, 1);
    if (s.bytes != 0) memcpy(text, s.data, (size_t)s.bytes);
    return text;
}

/* Map a file. follow: whether it may be a link. Return NULL, or why it cannot be read. */
static const char *span_map(const char *path, int follow, span *out)
{
    struct stat status;
    const char *why = NULL;
    out->data = NULL;
    out->bytes = 0;
    const int fd = follow ? cli_open(path)
        : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
    if (fd < 0) return errno == ELOOP ? "it is a link" : strerror(errno);
    if (fstat(fd, &status) != 0) why = strerror(errno);
    else if (!S_ISREG(status.st_mode)) why = "it is not a file";
    else if ((uint64_t)status.st_size > SIZE_MAX) why = "it is too large for this machine";
    else if (status.st_size > 0) {
        void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            why = strerror(errno);
        } else {
            out->data = data;
            out->bytes = (uint64_t)status.st_size;
        }
    }
    close(fd);
    return why;
}

static void span_unmap(span s)
{
    if (s.data != NULL) munmap((void *)(uintptr_t)s.data, (size_t)s.bytes);
}

/* =====================================================================================
   INFLATE                                                                     >>inflate
   Decompresses deflate, and adds up CRC-32.
   Source: RFC 1951.
   ===================================================================================== */

/* Take decompressed bytes. Return 0 to stop. */
typedef int inflate_take(void *user, const unsigned char *data, size_t bytes);

enum { INFLATE_WINDOW = 32768, INFLATE_FAST = 10, INFLATE_LONGEST = 15, INFLATE_CODES = 288 };

/* Work counts as bytes that are made. So much is a stream and a block, even if it is empty: it may
   have a few bits, and tables are built for it. */
enum { INFLATE_STREAM = 1024, INFLATE_BLOCK = 256 };
static const char inflate_costs[] = "unpacking it costs more than a file of this size may";

/* A code of Huffman: symbols in order of their codes, and a table for short codes. */
typedef struct inflate_code {
    uint16_t counts[INFLATE_LONGEST + 1];        /* codes of each length                       */
    uint16_t symbols[INFLATE_CODES];
    uint16_t fast[1 << INFLATE_FAST];            /* by the next bits: length << 12 | symbol;
                                                    0: the code is longer, or there is none    */
} inflate_code;

typedef struct inflate_state {
    span          in;
    uint64_t      at;                  /* in .in                                               */
    uint64_t      held;                /* bits that were taken from .in, the next one lowest   */
    unsigned      held_count;
    unsigned char window[INFLATE_WINDOW];
    size_t        used;                /* bytes in the window that were not given to .take     */
    uint64_t      made;                /* all bytes so far                                     */
    uint64_t      most;
    uint64_t     *work;                /* that may still be done                               */
    inflate_take *take;
    void         *user;
    int           stopped;             /* 1: .take wants no more                               */
    const char   *wrong;               /* what is wrong with the input, or NULL                */
    int           is_fixed;            /* 1: the codes are those that the format fixes         */
    inflate_code  lengths, distances;
} inflate_state;

/* Add bytes to a CRC-32, which begins with 0. */
static uint32_t crc_add(uint32_t crc, const unsigned char *data, size_t bytes)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; ++i) {
        table[i] = i;
        for (int bit = 0; bit < 8; ++bit)
            table[i] = table[i] >> 1 ^ ((table[i] & 1) ? 0xEDB88320u : 0);
    }
    crc = ~crc;
    for (size_t i = 0; i < bytes; ++i) crc = crc >> 8 ^ table[(crc ^ data[i]) & 255];
    return ~crc;
}

/* Hold at least `count` bits, at most 32, or all that are left. */
static void inflate_fill(inflate_state *s, unsigned count)
{
    while (s->held_count < count && s->at < s->in.bytes) {
        s->held |= (uint64_t)s->in.data[s->at++] << s->held_count;
        s->held_count += 8;
    }
}

/* Take bits. After the end they are 0, and s->wrong says so. */
static unsigned inflate_bits(inflate_state *s, unsigned count)
{
    inflate_fill(s, count);
    if (s->held_count < count) {
        if (s->wrong == NULL) s->wrong = "the compressed data ends early";
        return 0;
    }
    const unsigned bits = (unsigned)(s->held & ((1u << count) - 1));
    s->held >>= count;
    s->held_count -= count;
    return bits;
}

/* Make a code from the lengths of its symbols' codes. Return 0 if there is no such code. whole: it
   must use all words; else it may have a single one, of 1 bit. */
static int inflate_make(inflate_code *c, const unsigned char *lengths, unsigned count, int whole)
{
    unsigned first[INFLATE_LONGEST + 2], next[INFLATE_LONGEST + 2], code = 0, place = 0;
    int left = 1;
    memset(c, 0, sizeof(*c));
    for (unsigned i = 0; i < count; ++i) ++c->counts[lengths[i]];
    const unsigned none = c->counts[0];
    c->counts[0] = 0;
    for (unsigned bits = 1; bits <= INFLATE_LONGEST; ++bits) {
        left = 2 * left - c->counts[bits];
        if (left < 0) return 0;
        code = (code + (bits > 1 ? c->counts[bits - 1] : 0)) << 1;
        next[bits] = code;
        first[bits] = place;
        place += c->counts[bits];
    }
    if (left > 0 && count > none && (whole || count - none > 1 || c->counts[1] == 0)) return 0;
    for (unsigned i = 0; i < count; ++i) {
        const unsigned bits = lengths[i];
        if (bits == 0) continue;
        c->symbols[first[bits]++] = (uint16_t)i;
        unsigned word = next[bits]++, mirrored = 0;
        if (bits > INFLATE_FAST) continue;
        for (unsigned b = 0; b < bits; ++b) mirrored |= (word >> b & 1) << (bits - 1 - b);
        for (; mirrored < 1u << INFLATE_FAST; mirrored += 1u << bits)
            c->fast[mirrored] = (uint16_t)(bits << 12 | i);
    }
    return 1;
}

/* Take a symbol. */
static unsigned inflate_symbol(inflate_state *s, const inflate_code *c)
{
    inflate_fill(s, INFLATE_LONGEST);
    const unsigned fast = c->fast[s->held & ((1u << INFLATE_FAST) - 1)];
    if (fast != 0 && fast >> 12 <= s->held_count) {
        s->held >>= fast >> 12;
        s->held_count -= fast >> 12;
        return fast & 0xFFF;
    }
    unsigned code = 0, first = 0, place = 0;
    for (unsigned bits = 1; bits <= INFLATE_LONGEST; ++bits) {
        code |= inflate_bits(s, 1);
        if (s->wrong != NULL) return 0;
        if (code < first + c->counts[bits]) return c->symbols[place + (code - first)];
        place += c->counts[bits];
        first = (first + c->counts[bits]) << 1;
        code <<= 1;
    }
    s->wrong = "the compressed data has a code that means nothing";
    return 0;
}

/* Count work. At its end nothing is left, and s->wrong says so. */
static void inflate_spend(inflate_state *s, uint64_t work)
{
    if (work > *s->work && s->wrong == NULL) s->wrong = inflate_costs;
    *s->work -= work < *s->work ? work : *s->work;
}

static void inflate_flush(inflate_state *s)
{
    inflate_spend(s, s->used);
    if (s->used > 0 && !s->stopped && !s->take(s->user, s->window, s->used)) s->stopped = 1;
    s->used = 0;
}

static void inflate_put(inflate_state *s, unsigned char byte)
{
    if (s->made == s->most) {
        if (s->wrong == NULL) s->wrong = "there is more compressed data than the archive states";
        return;
    }
    s->window[s->used++] = byte;
    ++s->made;
    if (s->used == INFLATE_WINDOW) inflate_flush(s);
}

/* Copy what was made `distance` bytes ago. The window is a ring: it keeps bytes that were given. */
static void inflate_copy(inflate_state *s, unsigned distance, unsigned length)
{
    if (distance > s->made) {
        s->wrong = "the compressed data refers to bytes before its beginning";
        return;
    }
    while (length-- > 0 && s->wrong == NULL)
        inflate_put(s, s->window[(s->used + INFLATE_WINDOW - distance) % INFLATE_WINDOW]);
}

/* Read the data of a block with codes. */
static void inflate_block(inflate_state *s)
{
    static const uint16_t lengths[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35,
        43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const unsigned char more_length[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3,
        3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t distances[] = {1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193,
        257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    while (s->wrong == NULL && !s->stopped) {
        const unsigned symbol = inflate_symbol(s, &s->lengths);
        if (s->wrong != NULL || symbol == 256) return;
        if (symbol < 256) {
            inflate_put(s, (unsigned char)symbol);
            continue;
        }
        if (symbol > 285) {
            s->wrong = "the compressed data has a length that does not exist";
            return;
        }
        const unsigned length = lengths[symbol - 257] + inflate_bits(s, more_length[symbol - 257]);
        const unsigned place = inflate_symbol(s, &s->distances);
        if (s->wrong == NULL && place > 29)
            s->wrong = "the compressed data has a distance that does not exist";
        if (s->wrong != NULL) return;
        const unsigned more = place < 2 ? 0 : (place - 2) / 2;
        const unsigned distance = distances[place] + inflate_bits(s, more);
        if (s->wrong == NULL) inflate_copy(s, distance, length);
    }
}

/* Read the codes of a block: their lengths are compressed with a code of their own. */
static void inflate_codes(inflate_state *s)
{
    static const unsigned char order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14,
        1, 15};
    unsigned char lengths[INFLATE_CODES + 32] = {0};
    const unsigned count = 257 + inflate_bits(s, 5), distances = 1 + inflate_bits(s, 5);
    const unsigned words = 4 + inflate_bits(s, 4);
    s->is_fixed = 0;
    if (count > 286 || distances > 30) s->wrong = "the compressed data has too many codes";
    for (unsigned i = 0; i < words; ++i) lengths[order[i]] = (unsigned char)inflate_bits(s, 3);
    if (s->wrong == NULL && !inflate_make(&s->lengths, lengths, 19, 1))
        s->wrong = "the compressed data has a wrong code";
    memset(lengths, 0, sizeof(lengths));
    for (unsigned i = 0; i < count + distances && s->wrong == NULL;) {
        const unsigned symbol = inflate_symbol(s, &s->lengths);
        unsigned repeat = 1, value = symbol;
        if (symbol == 16 && i == 0) s->wrong = "the compressed data repeats nothing";
        if (symbol >= 16) {
            value = symbol == 16 && i > 0 ? lengths[i - 1] : 0;
            repeat = symbol == 16   ? 3 + inflate_bits(s, 2)
                     : symbol == 17 ? 3 + inflate_bits(s, 3)
                                    : 11 + inflate_bits(s, 7);
        }
        if (repeat > count + distances - i) s->wrong = "the compressed data has too many codes";
        while (repeat-- > 0 && s->wrong == NULL) lengths[i++] = (unsigned char)value;
    }
    if (s->wrong == NULL && (lengths[256] == 0 || !inflate_make(&s->lengths, lengths, count, 0) ||
                             !inflate_make(&s->distances, lengths + count, distances, 0)))
        s->wrong = "the compressed data has a wrong code";
}

/* Use the codes that the format fixes. */
static void inflate_fixed(inflate_state *s)
{
    unsigned char lengths[INFLATE_CODES];
    if (s->is_fixed) return;
    s->is_fixed = 1;
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    inflate_make(&s->lengths, lengths, INFLATE_CODES, 1);
    memset(lengths, 5, 32);
    inflate_make(&s->distances, lengths, 32, 1);
}

/* Copy a block that is not compressed. */
static void inflate_stored(inflate_state *s)
{
    inflate_bits(s, s->held_count % 8);
    const unsigned count = inflate_bits(s, 16), inverse = inflate_bits(s, 16);
    if (s->wrong == NULL && (count ^ inverse) != 0xFFFF)
        s->wrong = "the compressed data has a damaged block";
    for (unsigned i = 0; i < count && s->wrong == NULL && !s->stopped; ++i) {
        const unsigned byte = inflate_bits(s, 8);
        if (s->wrong == NULL) inflate_put(s, (unsigned char)byte);
    }
}

/* Decompress at most `most` bytes and give them to `take`, which may stop before the end. *work is
   what may be done, and receives what is left of it. Return NULL, or what is wrong. *made (may be
   NULL) receives how many bytes there were. */
static const char *inflate(span in, uint64_t most, uint64_t *work, inflate_take *take, void *user,
                           uint64_t *made)
{
    inflate_state *s = cli_alloc(1, sizeof(*s));
    unsigned last = 0;
    s->in = in;
    s->most = most;
    s->work = work;
    s->take = take;
    s->user = user;
    inflate_spend(s, INFLATE_STREAM);
    while (!last && s->wrong == NULL && !s->stopped) {
        inflate_spend(s, INFLATE_BLOCK);
        last = inflate_bits(s, 1);
        const unsigned kind = inflate_bits(s, 2);
        if (s->wrong != NULL) break;
        if (kind == 0) {
            inflate_stored(s);
            continue;
        }
        if (kind == 1) inflate_fixed(s);
        else if (kind == 2) inflate_codes(s);
        else s->wrong = "the compressed data has a block of an unknown kind";
        if (s->wrong == NULL) inflate_block(s);
    }
    inflate_flush(s);
    const char *wrong = s->wrong;
    if (made != NULL) *made = s->made;
    free(s);
    return wrong;
}

/* =====================================================================================
   ZIP                                                                             >>zip
   The members of an archive: zip, zip64, stored and deflated.
   Source: PKWARE's APPNOTE 6.3.
   ===================================================================================== */

typedef struct zip_member {
    char    *name;
    span     packed;                   /* as it is in the archive                              */
    uint64_t bytes;                    /* when it is unpacked                                  */
    uint64_t at;                       /* of its header in the archive                         */
    uint32_t crc;                      /* 0: the archive does not state it, as .dlc do         */
    unsigned method;                   /* 0: stored, 8: deflated                               */
    const char *problem;               /* why it cannot be unpacked, or NULL                   */
} zip_member;

typedef struct zip_list {
    zip_member *members;               /* [count], in the order of the archive                 */
    size_t      count;
    const char *problem;               /* why there are no more, or NULL                       */
} zip_list;

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
    zip_member **order = cli_alloc(list->count, sizeof(*order));
    uint64_t end = 0;
    for (size_t i = 0; i < list->count; ++i) order[i] = &list->members[i];
    if (list->count > 1) qsort(order, list->count, sizeof(*order), zip_by_place);
    for (size_t i = 0; i < list->count; ++i) {
        if (order[i]->packed.data == NULL) continue;
        if (order[i]->at < end) order[i]->problem = "it overlaps another member";
        else end = (uint64_t)(order[i]->packed.data - all.data) + order[i]->packed.bytes;
    }
    free(order);
}

/* Read the list of members. The caller says zip_free(). */
static void zip_read(span all, zip_list *list)
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

static void zip_free(zip_list *list)
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

/* Unpack a member and give its bytes to `take`. work: see inflate(). Return NULL, or what is
   wrong. */
static const char *zip_unpack(const zip_member *m, uint64_t *work, inflate_take *take, void *user)
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
