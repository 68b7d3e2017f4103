/* inflate.c - bytes that were packed by deflate, unpacked piece by piece

   ROOM     >>inflate */
#include "run/io/io.h"

/* =====================================================================================
   INFLATE                                                                     >>inflate
   Decompresses deflate, and adds up CRC-32.
   Source: RFC 1951.
   ===================================================================================== */

enum { INFLATE_WINDOW = 32768, INFLATE_FAST = 10, INFLATE_LONGEST = 15, INFLATE_CODES = 288 };

/* Work counts as bytes that are made. So much is a stream and a block, even if it is empty: it may
   have a few bits, and tables are built for it. */
enum { INFLATE_STREAM = 1024, INFLATE_BLOCK = 256 };
const char inflate_costs[] = "unpacking it costs more than a file of this size may";

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

uint32_t crc_add(uint32_t crc, const unsigned char *data, size_t bytes)
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

const char *inflate(span in, uint64_t most, uint64_t *work, inflate_take *take, void *user,
                    uint64_t *made)
{
    OWNED inflate_state *s = cli_alloc(1, sizeof(*s));
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
    return wrong;
}
