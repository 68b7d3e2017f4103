/* test_json_cases.c - qnnrt_json.h on the cases of json_cases.h, and on deep nesting

   Each text is read in a block of exactly its size, so that the sanitizers find a read past its end.
   slow_json.h is the reference for every case and every prefix of it. */
#include "../../qnnrt_json.h"
#include "json_cases.h"
#include "slow_json.h"
#include "test.h"

enum { CASES = sizeof(json_cases) / sizeof(json_cases[0]) };

static qnnrt_json_reader r;

/* Read `before`, the text and `after` as one document. Return 1 when it is valid. */
static int reads(const char *before, const char *text, size_t bytes, const char *after)
{
    const size_t head = strlen(before), tail = strlen(after), all = head + bytes + tail;
    char *copy = (char *)malloc(all > 0 ? all : 1);
    int right;
    if (copy == NULL) abort();
    memcpy(copy, before, head);
    if (bytes > 0) memcpy(copy + head, text, bytes);
    memcpy(copy + head + bytes, after, tail);
    qnnrt_json_begin(&r, copy, all, NULL);
    right = qnnrt_json_skip(&r) && qnnrt_json_end(&r);
    free(copy);
    return right;
}

/* Check that the reader and the slow one agree, at the same byte. */
static int agrees(const char *text, size_t bytes)
{
    slow s;
    const int right = slow_document(&s, (const unsigned char *)text, bytes);
    free(s.events.data);
    return reads("", text, bytes, "") == right && (right || r.error_at == s.wrong);
}

static int has_mark(const json_case *c)
{
    return c->bytes >= 2 && (unsigned char)c->text[0] >= 0xEF && (unsigned char)c->text[1] >= 0xBB;
}

/* True if the text begins with a valid document, after which a container may end. */
static int begins_with_a_document(const json_case *c)
{
    size_t i;
    for (i = c->at; i > 0; --i)
        if (reads("", c->text, i, "")) return 1;
    return 0;
}

TEST(json_cases_are_accepted_or_refused_where_they_say)
{
    size_t i;
    for (i = 0; i < CASES; ++i) {
        const json_case *c = &json_cases[i];
        const int right = reads("", c->text, c->bytes, "");
        if (right != c->right || (!right && r.error_at != c->at)) {
            printf("%s: %s at %lu\n", c->name, right ? "accepted" : r.error, (unsigned long)r.error_at);
            CHECK_EQ(right, c->right);
            CHECK_EQ(r.error_at, c->at);
        }
        CHECK(agrees(c->text, c->bytes));
    }
}

TEST(json_cases_are_judged_the_same_within_a_document)
{
    size_t i, judged = 0;
    for (i = 0; i < CASES; ++i) {
        const json_case *c = &json_cases[i];
        int right;
        if (has_mark(c) || (!c->right && begins_with_a_document(c))) continue;
        ++judged;
        right = reads("{\"x\": [7, ", c->text, c->bytes, "], \"y\": 7}");
        if (right != c->right) printf("%s: %s\n", c->name, right ? "accepted" : r.error);
        CHECK_EQ(right, c->right);
        if (!right) CHECK(r.error_at >= c->at + 10);
    }
    CHECK(judged > CASES * 3 / 4);
}

TEST(json_cases_cut_at_every_byte_get_the_slow_readers_verdict)
{
    size_t i, bytes;
    for (i = 0; i < CASES; ++i)
        for (bytes = 0; bytes < json_cases[i].bytes; ++bytes) {
            const int same = agrees(json_cases[i].text, bytes);
            if (!same) printf("%s, %lu bytes of it\n", json_cases[i].name, (unsigned long)bytes);
            CHECK(same);
        }
}

TEST(json_cases_have_a_name_each_and_a_text_each)
{
    size_t i, k;
    for (i = 0; i < CASES; ++i)
        for (k = 0; k < i; ++k) {
            const json_case *a = &json_cases[i], *b = &json_cases[k];
            if (strcmp(a->name, b->name) == 0
                || (a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0))
                printf("%s = %s\n", a->name, b->name);
            CHECK(strcmp(a->name, b->name) != 0);
            CHECK(a->bytes != b->bytes || memcmp(a->text, b->text, a->bytes) != 0);
        }
}

/* `count` times `open`, a value, `count` times `close`; return 1 when it is valid. */
static int nested(const char *open, const char *value, const char *close, size_t count)
{
    const size_t bytes = (strlen(open) + strlen(close)) * count + strlen(value);
    char *text = (char *)malloc(bytes), *at = text;
    size_t i;
    int right;
    if (text == NULL) abort();
    for (i = 0; i < count; ++i, at += strlen(open)) memcpy(at, open, strlen(open));
    memcpy(at, value, strlen(value));
    at += strlen(value);
    for (i = 0; i < count; ++i, at += strlen(close)) memcpy(at, close, strlen(close));
    right = reads("", text, bytes, "");
    free(text);
    return right;
}

TEST(json_nesting_ends_at_the_limit_whether_closed_or_not)
{
    static const struct { const char *open, *value, *close; size_t at; } kinds[] = {
        { "[", "", "]", 64 }, { "{\"a\":", "7", "}", 64 * 5 }, { "[", "", "", 64 }, { "{\"a\":", "", "", 64 * 5 },
        { "[{\"\":", "7", "}]", 32 * 5 }, { "[{\"\":", "", "", 32 * 5 }
    };
    static const size_t counts[] = { 65, 500, 50000, 100000 };
    size_t i, k;
    CHECK(nested("[", "", "]", 64));
    CHECK(nested("{\"a\":", "7", "}", 64));
    CHECK(nested("[{\"\":", "7", "}]", 32));
    CHECK(!nested("[", "", "", 64));
    CHECK_EQ(r.error_at, 64);
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i)
        for (k = 0; k < sizeof(counts) / sizeof(counts[0]); ++k) {
            CHECK(!nested(kinds[i].open, kinds[i].value, kinds[i].close, counts[k]));
            CHECK_EQ(r.error_at, kinds[i].at);
        }
}

TEST_MAIN("json_cases")
{
    RUN(json_cases_are_accepted_or_refused_where_they_say);
    RUN(json_cases_are_judged_the_same_within_a_document);
    RUN(json_cases_cut_at_every_byte_get_the_slow_readers_verdict);
    RUN(json_cases_have_a_name_each_and_a_text_each);
    RUN(json_nesting_ends_at_the_limit_whether_closed_or_not);
}
