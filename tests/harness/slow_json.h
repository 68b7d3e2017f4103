/* slow_json.h - a slow and simple JSON reader

   It reads a text byte by byte, with one recursive function for each kind of value, and makes a list
   of events: brackets, names, strings with escapes resolved, numbers as written. It was written from
   RFC 8259 and the manual of qnnrt_json.h and shares nothing with that file; tests/json/test_json.c,
   tests/json/test_json_cases.c and tests/fuzz/fuzz_json.c compare the two. It has the manual's rules: lone
   surrogates are errors, a UTF-8 byte order mark is skipped, 64 brackets may be open.

   The place of an error is defined as in that manual: the first byte that cannot follow the bytes
   before it; of escapes, UTF-8 sequences and words their first byte. */
#ifndef SLOW_JSON_H
#define SLOW_JSON_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- a list of events ----------------------------------------------------------------------- */

typedef struct list { unsigned char *data; size_t used, room; } list;

static void list_add(list *l, const void *data, size_t bytes)
{
    if (bytes > l->room - l->used) {
        l->room = l->room * 2 + bytes + 256;
        l->data = (unsigned char *)realloc(l->data, l->room);
        if (l->data == NULL) abort();
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

static inline int list_same(const list *a, const list *b)
{
    return a->used == b->used && (a->used == 0 || memcmp(a->data, b->data, a->used) == 0);
}

/* ---- the slow reader ------------------------------------------------------------------------ */

enum { SLOW_DEPTH = 64 };

typedef struct slow {
    const unsigned char *text;
    size_t size, at, wrong;         /* wrong: the byte, when bad */
    int    bad, depth;
    list   events;
} slow;

static int slow_bad(slow *s, size_t at) { s->bad = 1; s->wrong = at; return 0; }

/* Return the byte `ahead` bytes further, -1 after the end. */
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

/* Return the value of the four digits after \u, -1 when they are missing. */
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

/* Decode a UTF-8 sequence, then check its code. Return -1 when it is not valid. */
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
            if (code < 0 || (code >= 0xDC00 && code <= 0xDFFF)) goto bad;
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
    if (s->depth == SLOW_DEPTH) return slow_bad(s, s->at);
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

static inline int slow_document(slow *s, const unsigned char *text, size_t size)
{
    memset(s, 0, sizeof(*s));
    s->text = text;
    s->size = size;
    if (slow_peek(s, 0) == 0xEF && slow_peek(s, 1) == 0xBB && slow_peek(s, 2) == 0xBF) s->at = 3;
    if (!slow_value(s)) return 0;
    slow_blanks(s);
    return s->at == s->size ? 1 : slow_bad(s, s->at);
}

#endif /* SLOW_JSON_H */
