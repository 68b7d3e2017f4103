/* fuzz_json.c - arbitrary bytes through the JSON reader, and the result through the writer

   The slow reader of slow_json.h, which shares no code, makes a list of events. The header's reader
   must give the same list and the same verdict at the same byte; skipping, and any mixture of
   calls, must agree too. Random calls must never find a wrong document right. A right document is
   written and read again. */
#define QNNRT_JSON_IMPLEMENTATION
#include "../../qnnrt_json.h"
#define FUZZ_NAME "fuzz_json"
#include "fuzz.h"
#include "slow_json.h"

/* ---- the header's reader: walking through everything ---------------------------------------- */

static uint64_t chance_state;

static unsigned chance(unsigned below)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(chance_state >> 33) % below;
}

static int has_nul;                              /* 1: a string of the document has \u0000 */

/* Note a string with its escapes resolved; comparing with it must agree. */
static void walk_text(list *l, int kind, const qnnrt_json_text *t)
{
    char *copy = (char *)malloc(t->bytes + 1), *other = (char *)malloc(t->bytes + 2);
    size_t bytes;
    MUST(copy != NULL && other != NULL);
    bytes = qnnrt_json_copy(t, copy);
    MUST(bytes <= t->bytes && copy[bytes] == 0);
    MUST(t->escaped == (t->bytes > 0 && memchr(t->text, '\\', t->bytes) != NULL));
    /* It has \u0000: no literal equals it, and the writer cannot write it. */
    if (strlen(copy) < bytes) {
        MUST(t->escaped && !qnnrt_json_is(t, copy));
        has_nul = 1;
        list_text(l, kind, copy, bytes);
        free(copy);
        free(other);
        return;
    }
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

/* Note the value of a number, so that two spellings of it are equal. */
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

/* Note all events. worth: numbers by value, and numbers too large for float64 as null. A stack
   keeps the brackets, so that nothing is recursive. */
static int walk(qnnrt_json_reader *r, list *l, int worth)
{
    char close[SLOW_DEPTH + 1];
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
        MUST(r->depth == depth && depth <= SLOW_DEPTH);
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

/* Write as a program should, except for an error now and then. The first error stays. */
static int stumble(qnnrt_json_reader *r)
{
    int i, due = 1;
    for (i = 0; i < 200 && (due || r->depth > 0); ++i) {
        const char *error = r->error;
        size_t at = r->error_at;
        switch (chance(8)) {
        case 0: qnnrt_json_skip(r); due = 0; break;
        case 1: due = !due; break;
        case 2: if (chance(4) == 0) { qnnrt_json_leave(r); due = 0; break; }
        /* fall through */
        default:
            if (due) { qnnrt_json_value(r); due = 0; }
            else due = qnnrt_json_more(r);
        }
        if (error != NULL) MUST(r->error == error && r->error_at == at && !qnnrt_json_end(r));
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
    /* The block has exactly this size, so that a read past its end is found. */
    char *text = (char *)malloc(size);
    list events = { NULL, 0, 0 }, worth = { NULL, 0, 0 }, written = { NULL, 0, 0 }, again = { NULL, 0, 0 };
    qnnrt_json_reader r;
    slow s;
    int good, i;
    MUST(text != NULL || size == 0);
    has_nul = 0;
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
    /* Whatever is called, a wrong document never ends as a right one. */
    MUST(!stumble(&r) || good);

    if (good && !has_nul) {
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
