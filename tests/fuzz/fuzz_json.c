/* fuzz_json.c - arbitrary bytes through the JSON reader, and what it read through the writer

   A slow reader in this file, written on its own, takes the text byte by byte, one function for each
   kind of value, and makes a list of events: brackets, names, strings as they are meant, numbers as
   they are written. The header's reader must come to the same list and the same verdict, down to the
   byte that is wrong; so must skipping, any mixture of calls, and calls at random (which may never
   find a wrong document right). A right document is written again and read again.              */
#define QNNRT_JSON_IMPLEMENTATION
#include "../../qnnrt_json.h"
#define FUZZ_NAME "fuzz_json"
#include "fuzz.h"

/* ---- a list of events ----------------------------------------------------------------------- */

typedef struct list { unsigned char *data; size_t used, room; } list;

static void list_add(list *l, const void *data, size_t bytes)
{
    if (bytes > l->room - l->used) {
        l->room = l->room * 2 + bytes + 256;
        l->data = (unsigned char *)realloc(l->data, l->room);
        MUST(l->data != NULL);
    }
    if (bytes > 0) memcpy(l->data + l->used, data, bytes);
    l->used += bytes;
}

static void list_byte(list *l, int byte)
{
    unsigned char c = (unsigned char)byte;
    list_add(l, &c, 1);
}

static void list_text(list *l, int kind, const void *data, size_t bytes)
{
    list_byte(l, kind);
    list_add(l, &bytes, sizeof(bytes));
    list_add(l, data, bytes);
}

static int list_same(const list *a, const list *b)
{
    return a->used == b->used && (a->used == 0 || memcmp(a->data, b->data, a->used) == 0);
}

/* ---- the slow reader ------------------------------------------------------------------------ */

enum { DEPTH = 64 };

typedef struct slow {
    const unsigned char *text;
    size_t size, at, wrong;         /* wrong: the byte, when bad */
    int    bad, depth;
    list   events;
} slow;

static int slow_bad(slow *s, size_t at) { s->bad = 1; s->wrong = at; return 0; }

/* The byte that stands `ahead` of here, -1 behind the end. */
static int slow_peek(const slow *s, size_t ahead)
{
    return s->size - s->at > ahead ? s->text[s->at + ahead] : -1;
}

static void slow_blanks(slow *s)
{
    for (;;) {
        int c = slow_peek(s, 0);
        if (c != 32 && c != 10 && c != 13 && c != 9) return;
        ++s->at;
    }
}

static int slow_digit(int c) { return c >= '0' && c <= '9'; }

/* Four digits behind \u, -1 when they are not there. */
static long slow_hex(const slow *s, size_t ahead)
{
    long value = 0;
    size_t i;
    for (i = 0; i < 4; ++i) {
        int c = slow_peek(s, ahead + i);
        if (slow_digit(c)) value = value * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f') value = value * 16 + (c - 'a') + 10;
        else if (c >= 'A' && c <= 'F') value = value * 16 + (c - 'A') + 10;
        else return -1;
    }
    return value;
}

static void slow_encode(list *l, long c)
{
    if (c < 0x80) { list_byte(l, (int)c); return; }
    if (c < 0x800) list_byte(l, (int)(0xC0 + c / 64));
    else {
        if (c < 0x10000) list_byte(l, (int)(0xE0 + c / 4096));
        else {
            list_byte(l, (int)(0xF0 + c / 262144));
            list_byte(l, (int)(0x80 + c / 4096 % 64));
        }
        list_byte(l, (int)(0x80 + c / 64 % 64));
    }
    list_byte(l, (int)(0x80 + c % 64));
}

/* A sequence of UTF-8: its code, decoded first and judged then. -1 when it is none. */
static long slow_sequence(const slow *s, size_t *length)
{
    int head = slow_peek(s, 0);
    long code;
    size_t i;
    if (head >= 0xC0 && head < 0xE0) { code = head - 0xC0; *length = 2; }
    else if (head >= 0xE0 && head < 0xF0) { code = head - 0xE0; *length = 3; }
    else if (head >= 0xF0 && head < 0xF8) { code = head - 0xF0; *length = 4; }
    else return -1;
    for (i = 1; i < *length; ++i) {
        int c = slow_peek(s, i);
        if (c < 0x80 || c > 0xBF) return -1;
        code = code * 64 + (c - 0x80);
    }
    if (code < (*length == 2 ? 0x80 : *length == 3 ? 0x800 : 0x10000)) return -1;
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return -1;
    return code;
}

static int slow_string(slow *s, int kind)
{
    list out = { NULL, 0, 0 };
    ++s->at;
    for (;;) {
        static const char names[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
        int c = slow_peek(s, 0);
        if (c == '"') break;
        if (c < 0x20) goto bad;
        if (c >= 0x80) {
            size_t length;
            if (slow_sequence(s, &length) < 0) goto bad;
            list_add(&out, s->text + s->at, length);
            s->at += length;
        } else if (c != '\\') {
            list_byte(&out, c);
            ++s->at;
        } else if (slow_peek(s, 1) == 'u') {
            long code = slow_hex(s, 2), low;
            if (code <= 0 || (code >= 0xDC00 && code <= 0xDFFF)) goto bad;
            if (code >= 0xD800 && code <= 0xDBFF) {
                if (slow_peek(s, 6) != '\\' || slow_peek(s, 7) != 'u') goto bad;
                low = slow_hex(s, 8);
                if (low < 0xDC00 || low > 0xDFFF) goto bad;
                code = 0x10000 + (code - 0xD800) * 1024 + (low - 0xDC00);
                s->at += 6;
            }
            slow_encode(&out, code);
            s->at += 6;
        } else {
            int next = slow_peek(s, 1);
            size_t i;
            for (i = 0; names[i] != 0 && names[i] != next; i += 2) { }
            if (names[i] == 0) goto bad;
            list_byte(&out, names[i + 1]);
            s->at += 2;
        }
    }
    ++s->at;
    list_text(&s->events, kind, out.data, out.used);
    free(out.data);
    return 1;
bad:
    free(out.data);
    return slow_bad(s, s->at);
}

static int slow_digits(slow *s)
{
    if (!slow_digit(slow_peek(s, 0))) return slow_bad(s, s->at);
    while (slow_digit(slow_peek(s, 0))) ++s->at;
    return 1;
}

static int slow_number(slow *s)
{
    size_t from = s->at;
    if (slow_peek(s, 0) == '-') ++s->at;
    if (slow_peek(s, 0) == '0') {
        ++s->at;
        if (slow_digit(slow_peek(s, 0))) return slow_bad(s, s->at);
    } else if (!slow_digits(s)) return 0;
    if (slow_peek(s, 0) == '.') {
        ++s->at;
        if (!slow_digits(s)) return 0;
    }
    if (slow_peek(s, 0) == 'e' || slow_peek(s, 0) == 'E') {
        ++s->at;
        if (slow_peek(s, 0) == '+' || slow_peek(s, 0) == '-') ++s->at;
        if (!slow_digits(s)) return 0;
    }
    list_text(&s->events, '#', s->text + from, s->at - from);
    return 1;
}

static int slow_word(slow *s, const char *word)
{
    size_t i;
    for (i = 0; word[i] != 0; ++i)
        if (slow_peek(s, i) != word[i]) return slow_bad(s, s->at);
    s->at += i;
    list_byte(&s->events, word[0]);
    return 1;
}

static int slow_value(slow *s);

static int slow_container(slow *s, int open, int close)
{
    if (s->depth == DEPTH) return slow_bad(s, s->at);
    ++s->depth;
    ++s->at;
    list_byte(&s->events, open);
    slow_blanks(s);
    if (slow_peek(s, 0) != close) {
        for (;;) {
            slow_blanks(s);
            if (open == '{') {
                if (slow_peek(s, 0) != '"') return slow_bad(s, s->at);
                if (!slow_string(s, 'K')) return 0;
                slow_blanks(s);
                if (slow_peek(s, 0) != ':') return slow_bad(s, s->at);
                ++s->at;
            }
            if (!slow_value(s)) return 0;
            slow_blanks(s);
            if (slow_peek(s, 0) == close) break;
            if (slow_peek(s, 0) != ',') return slow_bad(s, s->at);
            ++s->at;
        }
    }
    ++s->at;
    --s->depth;
    list_byte(&s->events, close);
    return 1;
}

static int slow_value(slow *s)
{
    int c;
    slow_blanks(s);
    c = slow_peek(s, 0);
    if (c == '{') return slow_container(s, '{', '}');
    if (c == '[') return slow_container(s, '[', ']');
    if (c == '"') return slow_string(s, '"');
    if (c == 't') return slow_word(s, "true");
    if (c == 'f') return slow_word(s, "false");
    if (c == 'n') return slow_word(s, "null");
    if (c == '-' || slow_digit(c)) return slow_number(s);
    return slow_bad(s, s->at);
}

static int slow_document(slow *s, const unsigned char *text, size_t size)
{
    memset(s, 0, sizeof(*s));
    s->text = text;
    s->size = size;
    if (slow_peek(s, 0) == 0xEF && slow_peek(s, 1) == 0xBB && slow_peek(s, 2) == 0xBF) s->at = 3;
    if (!slow_value(s)) return 0;
    slow_blanks(s);
    return s->at == s->size ? 1 : slow_bad(s, s->at);
}

/* ---- the header's reader: walking through everything ---------------------------------------- */

static uint64_t chance_state;

static unsigned chance(unsigned below)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(chance_state >> 33) % below;
}

/* A string as it is meant; comparing with it must agree. */
static void walk_text(list *l, int kind, const qnnrt_json_text *t)
{
    char *copy = (char *)malloc(t->bytes + 1), *other = (char *)malloc(t->bytes + 2);
    size_t bytes;
    MUST(copy != NULL && other != NULL);
    bytes = qnnrt_json_copy(t, copy);
    MUST(bytes <= t->bytes && copy[bytes] == 0 && strlen(copy) == bytes);
    MUST(t->escaped == (t->bytes > 0 && memchr(t->text, '\\', t->bytes) != NULL));
    MUST(qnnrt_json_is(t, copy));
    memcpy(other, copy, bytes + 1);
    other[bytes] = 'x';
    other[bytes + 1] = 0;
    MUST(!qnnrt_json_is(t, other));
    if (bytes > 0) {
        other[bytes - 1] = (char)(copy[bytes - 1] ^ 1);
        other[bytes] = 0;
        if (other[bytes - 1] != 0) MUST(!qnnrt_json_is(t, other));
        other[bytes - 1] = 0;
        MUST(!qnnrt_json_is(t, other));
    }
    list_text(l, kind, copy, bytes);
    free(copy);
    free(other);
}

/* What a number is worth, so that two ways of writing it are equal. */
static void walk_number(list *l, const qnnrt_json_text *t)
{
    uint64_t u;
    int64_t i;
    double d;
    if (qnnrt_json_u64(t, &u)) list_text(l, 'u', &u, sizeof(u));
    else if (qnnrt_json_i64(t, &i)) list_text(l, i == 0 ? 'u' : 'i', &i, sizeof(i));
    else if (qnnrt_json_f64(t, &d)) list_text(l, 'd', &d, sizeof(d));
    else list_byte(l, 'n');
}

/* worth: numbers by value, and those too large for float64 as null. Brackets are on a stack here, as
   in a program without recursion. */
static int walk(qnnrt_json_reader *r, list *l, int worth)
{
    char close[DEPTH + 1];
    uint32_t depth = 0;
    for (;;) {
        qnnrt_json_type type = qnnrt_json_value(r);
        MUST(type == r->type && (type == QNNRT_JSON_NONE) == (r->error != NULL));
        switch (type) {
        case QNNRT_JSON_NONE: return 0;
        case QNNRT_JSON_NULL: list_byte(l, 'n'); break;
        case QNNRT_JSON_FALSE: list_byte(l, 'f'); break;
        case QNNRT_JSON_TRUE: list_byte(l, 't'); break;
        case QNNRT_JSON_STRING: walk_text(l, '"', &r->value); break;
        case QNNRT_JSON_NUMBER:
            if (worth) walk_number(l, &r->value);
            else list_text(l, '#', r->value.text, r->value.bytes);
            break;
        case QNNRT_JSON_ARRAY: list_byte(l, '['); close[depth++] = ']'; break;
        case QNNRT_JSON_OBJECT: list_byte(l, '{'); close[depth++] = '}'; break;
        }
        MUST(r->depth == depth && depth <= DEPTH);
        while (depth > 0 && !qnnrt_json_more(r)) {
            if (r->error != NULL) return 0;
            list_byte(l, close[--depth]);
            MUST(r->depth == depth);
        }
        if (depth == 0) return qnnrt_json_end(r);
        if (close[depth - 1] == '}') walk_text(l, 'K', &r->key);
    }
}

/* ---- other ways through a document ---------------------------------------------------------- */

static void wander(qnnrt_json_reader *r)
{
    qnnrt_json_type type;
    unsigned how = chance(4);
    if (how == 0) { qnnrt_json_skip(r); return; }
    type = qnnrt_json_value(r);
    if (type != QNNRT_JSON_ARRAY && type != QNNRT_JSON_OBJECT) return;
    while (qnnrt_json_more(r)) {
        if (chance(8) == 0) { qnnrt_json_leave(r); return; }
        wander(r);
        if (chance(16) == 0) { qnnrt_json_leave(r); return; }
    }
}

/* Calls in any order, right or not. The first error stays. */
static int stumble(qnnrt_json_reader *r)
{
    int i, end = 0;
    for (i = 0; i < 200 && !end; ++i) {
        const char *error = r->error;
        size_t at = r->error_at;
        switch (chance(error != NULL ? 5 : 16)) {
        case 0: qnnrt_json_skip(r); break;
        case 1: qnnrt_json_leave(r); break;
        case 2: end = i > 100 && qnnrt_json_end(r); break;
        case 3: case 5: case 6: case 7: case 8: case 9: qnnrt_json_more(r); break;
        default: qnnrt_json_value(r); break;
        }
        if (error != NULL) MUST(r->error == error && r->error_at == at && !end);
    }
    return qnnrt_json_end(r);
}

/* ---- writing it again ----------------------------------------------------------------------- */

static int take(void *user, const char *text, size_t bytes)
{
    list_add((list *)user, text, bytes);
    return 1;
}

static void write_again(const list *events, list *out, uint32_t indent)
{
    qnnrt_json_writer w;
    size_t at = 0;
    qnnrt_json_write_begin(&w, take, out, indent);
    while (at < events->used) {
        int kind = events->data[at++];
        size_t bytes = 0;
        uint64_t u;
        int64_t i;
        double d;
        char *text = NULL;
        if (strchr("K\"uid", kind) != NULL) {
            memcpy(&bytes, events->data + at, sizeof(bytes));
            at += sizeof(bytes);
            text = (char *)malloc(bytes + 1);
            MUST(text != NULL);
            if (bytes > 0) memcpy(text, events->data + at, bytes);
            text[bytes] = 0;
            at += bytes;
        }
        switch (kind) {
        case '[': qnnrt_json_write_array(&w, chance(4) == 0); break;
        case '{': qnnrt_json_write_object(&w, chance(4) == 0); break;
        case ']': case '}': qnnrt_json_write_close(&w); break;
        case 'K': qnnrt_json_write_key(&w, text); break;
        case '"': qnnrt_json_write_string(&w, text); break;
        case 'u': memcpy(&u, text, sizeof(u)); qnnrt_json_write_u64(&w, u); break;
        case 'i': memcpy(&i, text, sizeof(i)); qnnrt_json_write_i64(&w, i); break;
        case 'd': memcpy(&d, text, sizeof(d)); qnnrt_json_write_f64(&w, d); break;
        case 't': case 'f': qnnrt_json_write_bool(&w, kind == 't'); break;
        default: qnnrt_json_write_null(&w); break;
        }
        free(text);
    }
    MUST(qnnrt_json_write_end(&w) && w.error == NULL);
}

/* ---- one input ------------------------------------------------------------------------------ */

static void play(const unsigned char *data, size_t size)
{
    char *text = (char *)malloc(size);       /* of this size: a byte read behind it is seen */
    list events = { NULL, 0, 0 }, worth = { NULL, 0, 0 }, written = { NULL, 0, 0 }, again = { NULL, 0, 0 };
    qnnrt_json_reader r;
    slow s;
    int good, i;
    MUST(text != NULL || size == 0);
    if (size > 0) memcpy(text, data, size);
    chance_state = 1469598103934665603u;
    for (i = 0; (size_t)i < size; ++i) chance_state = (chance_state ^ data[i]) * 1099511628211u;

    good = slow_document(&s, data, size);
    qnnrt_json_begin(&r, text, size, NULL);
    MUST(walk(&r, &events, 0) == good);
    MUST((r.error == NULL) == good && (good || r.error_at == s.wrong));
    MUST(good ? list_same(&events, &s.events)
              : events.used <= s.events.used && (events.used == 0 || memcmp(events.data, s.events.data, events.used) == 0));

    qnnrt_json_begin(&r, text, size, NULL);
    MUST((qnnrt_json_skip(&r) && qnnrt_json_end(&r)) == good && (good || r.error_at == s.wrong));
    qnnrt_json_begin(&r, text, size, NULL);
    wander(&r);
    MUST(qnnrt_json_end(&r) == good && (good || r.error_at == s.wrong));
    qnnrt_json_begin(&r, text, size, NULL);
    MUST(!stumble(&r) || good);

    if (good) {
        qnnrt_json_begin(&r, text, size, NULL);
        MUST(walk(&r, &worth, 1));
        for (i = 0; i < 2; ++i) {
            written.used = again.used = 0;
            write_again(&worth, &written, i == 0 ? 0 : 1 + chance(4));
            MUST(written.used > 0 && written.data[written.used - 1] == '\n');
            if (i == 0) MUST(memchr(written.data, '\n', written.used) == written.data + written.used - 1);
            qnnrt_json_begin(&r, (const char *)written.data, written.used, NULL);
            MUST(walk(&r, &again, 1) && list_same(&worth, &again));
        }
    }
    free(text);
    free(s.events.data);
    free(events.data);
    free(worth.data);
    free(written.data);
    free(again.data);
}

FUZZ_TARGET
