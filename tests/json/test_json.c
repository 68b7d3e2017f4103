/* test_json.c - the reader and the writer of qnnrt_json.h

   Wrong texts are read in three ways (skipped, read value by value, skipped as a member), each time
   from a copy that ends where an inaccessible page begins. slow_json.h is the reference;
   QNNRT_ORACLE names the table of oracle_json.py. Nothing is timed: a quadratic reader would need
   hours for 5 MB, and the runner's limit would end it. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1       /* MAP_ANONYMOUS */
#endif
#define QNNRT_JSON_IMPLEMENTATION
#include "../../qnnrt_json.h"
#include "slow_json.h"
#include "test.h"
#include <fenv.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <sys/mman.h>

#define MB5 ((size_t)TEST_CASES(5000000))
#define T(literal) literal, sizeof(literal) - 1

static uint64_t rng_state = 88172645463325252u;

static uint64_t rng(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state;
}

/* ---- a page without memory after it --------------------------------------------------------- */

static unsigned char *page_end;
static size_t page_bytes;

/* Return a copy that ends at an inaccessible page. It replaces the one before. */
static const char *at_page_end(const char *text, size_t bytes)
{
    if (page_end == NULL) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        unsigned char *pages;
        page_bytes = 4 * page;
        pages = (unsigned char *)mmap(NULL, page_bytes + page, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages + page_bytes, page, PROT_NONE) != 0) abort();
        page_end = pages + page_bytes;
    }
    if (bytes > page_bytes) abort();
    if (bytes > 0) memcpy(page_end - bytes, text, bytes);
    return (const char *)page_end - bytes;
}

/* ---- ways to read --------------------------------------------------------------------------- */

static qnnrt_json_reader r;

/* Skip a document. Return 1 when it is right. */
static int skipped(const char *text, size_t bytes, const qnnrt_json_limits *limits)
{
    memset(&r, 0xFF, sizeof(r));
    qnnrt_json_begin(&r, text, bytes, limits);
    return qnnrt_json_skip(&r) && qnnrt_json_end(&r);
}

/* Read all of a document, copy its strings and convert its numbers. */
static int walked(const char *text, size_t bytes)
{
    memset(&r, 0xFF, sizeof(r));
    qnnrt_json_begin(&r, text, bytes, NULL);
    for (;;) {
        qnnrt_json_type type = qnnrt_json_value(&r);
        uint64_t u;
        int64_t i;
        double d;
        float f;
        if (type == QNNRT_JSON_NONE) return 0;
        if (type == QNNRT_JSON_STRING) {
            char *copy = (char *)malloc(r.value.bytes + 1);
            size_t length;
            if (copy == NULL) abort();
            length = qnnrt_json_copy(&r.value, copy);
            if (strlen(copy) == length && !qnnrt_json_is(&r.value, copy)) abort();
            free(copy);
        }
        if (type == QNNRT_JSON_NUMBER) {
            qnnrt_json_u64(&r.value, &u);
            qnnrt_json_i64(&r.value, &i);
            qnnrt_json_f64(&r.value, &d);
            qnnrt_json_f32(&r.value, &f);
        }
        while (r.depth > 0 && !qnnrt_json_more(&r))
            if (r.error != NULL) return 0;
        if (r.depth == 0) return qnnrt_json_end(&r);
    }
}

/* Check byte and reason of the error with every way of reading, and as the value of a skipped
   member. */
static void refused(const char *name, const char *text, size_t bytes, size_t at, const char *why)
{
    char *member = (char *)malloc(bytes + 5);
    int good;
    const char *error;
    if (member == NULL) abort();
    memcpy(member, "{\"x\":", 5);
    if (bytes > 0) memcpy(member + 5, text, bytes);
    good = skipped(at_page_end(text, bytes), bytes, NULL);
    if (good || r.error_at != at || strcmp(r.error, why) != 0)
        printf("%s: %s at %lu\n", name, r.error != NULL ? r.error : "accepted", (unsigned long)r.error_at);
    CHECK(!good);
    CHECK_STR(r.error, why);
    CHECK_EQ(r.error_at, at);
    error = r.error;
    CHECK(!walked(at_page_end(text, bytes), bytes));
    CHECK(r.error == error);
    CHECK_EQ(r.error_at, at);
    if (bytes < 3 || memcmp(text, "\xEF\xBB\xBF", 3) != 0) {
        good = skipped(at_page_end(member, bytes + 5), bytes + 5, NULL);
        if (good || r.error_at != at + 5) printf("%s: as a member at %lu\n", name, (unsigned long)r.error_at);
        CHECK(!good);
        CHECK_EQ(r.error_at, at + 5);
    }
    free(member);
}

typedef struct wrong { const char *name, *text; size_t bytes, at; const char *why; } wrong;

static void all_refused(const wrong *cases, size_t count)
{
    size_t i;
    for (i = 0; i < count; ++i)
        TRY(refused(cases[i].name, cases[i].text, cases[i].bytes, cases[i].at, cases[i].why));
}

#define ALL_REFUSED(cases) TRY(all_refused(cases, sizeof(cases) / sizeof((cases)[0])))

static void accepted(const char *text, size_t bytes)
{
    int good = skipped(at_page_end(text, bytes), bytes, NULL);
    if (!good) printf("%.*s: %s at %lu\n", (int)bytes, text, r.error, (unsigned long)r.error_at);
    CHECK(good && r.error == NULL);
    CHECK(walked(at_page_end(text, bytes), bytes));
}

/* Return 1 when the verdict and the byte are those of the slow reader. */
static int agrees(const char *text, size_t bytes)
{
    slow s;
    int good = slow_document(&s, (const unsigned char *)text, bytes);
    int same = skipped(at_page_end(text, bytes), bytes, NULL) == good && (good || r.error_at == s.wrong);
    free(s.events.data);
    if (!same) {
        printf("slow reader: %s at %lu; reader: %s at %lu: %.*s\n", good ? "right" : "wrong", (unsigned long)s.wrong,
               r.error != NULL ? r.error : "right", (unsigned long)r.error_at, (int)bytes, text);
    }
    return same;
}

/* Make `count` pieces between two others. The caller frees the text. */
static char *repeated(const char *before, const char *piece, size_t count, const char *after, size_t *bytes)
{
    const size_t head = strlen(before), body = strlen(piece), tail = strlen(after);
    char *text = (char *)malloc(head + body * count + tail + 1), *at = text;
    size_t i, some;
    if (text == NULL) abort();
    memcpy(at, before, head);
    at += head;
    if (count > 0) memcpy(at, piece, body);
    for (i = 1; i < count; i += some) {                       /* double what is there */
        some = i < count - i ? i : count - i;
        memcpy(at + i * body, at, some * body);
    }
    memcpy(at + count * body, after, tail + 1);
    *bytes = head + body * count + tail;
    return text;
}

static int repeated_skipped(const char *before, const char *piece, size_t count, const char *after)
{
    size_t bytes;
    char *text = repeated(before, piece, count, after, &bytes);
    int good = skipped(text, bytes, NULL);
    free(text);
    return good;
}

/* A document with one of each kind. */
static const char one_of_all[] =
    "{ \"a\" : [1, -2.5e+3, 0, -0.0, 10E-2, 1.25],\r\n\t\"\\u00e9\\ud83d\\ude00\\n\\\"\": {\"\": null, \"t\":true},"
    "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\": false, \"e\": [[], {}, [\"x\"], \"\", \"a long string, of many bytes\"] }\n ";

static qnnrt_json_text number(const char *text)
{
    qnnrt_json_text t;
    t.text = at_page_end(text, strlen(text));
    t.bytes = strlen(text);
    t.escaped = 0;
    return t;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static uint32_t bits32_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* ---- class 1: empty texts ---------------------------------------------------------------------- */

TEST(json_without_a_value_is_refused)
{
    static const wrong cases[] = {
        { "empty", T(""), 0, "the text ends where a value was expected" },
        { "space", T(" "), 1, "the text ends where a value was expected" },
        { "blanks", T(" \t\r\n  \n            "), 19, "the text ends where a value was expected" },
        { "bom_only", T("\xEF\xBB\xBF"), 3, "the text ends where a value was expected" },
        { "bom_and_blank", T("\xEF\xBB\xBF\n"), 4, "the text ends where a value was expected" },
    };
    ALL_REFUSED(cases);
    qnnrt_json_begin(&r, NULL, 0, NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NONE);
    CHECK_STR(r.error, "the text ends where a value was expected");
    qnnrt_json_begin(&r, NULL, 100, NULL);      /* NULL is an empty text for every size */
    CHECK(!qnnrt_json_skip(&r));
    CHECK_EQ(r.error_at, 0);
}

TEST(json_5_million_blanks_are_stepped_over)      /* spaces_5m */
{
    static const char *blanks[] = { " ", "\n", "\t", "\r", "\r\n", "\n        ", "\n       ", "\n\t" };
    size_t i, bytes;
    for (i = 0; i < sizeof(blanks) / sizeof(blanks[0]); ++i) {
        const size_t count = MB5 / strlen(blanks[i]);
        char *text = repeated("", blanks[i], count, "", &bytes);
        CHECK(!skipped(text, bytes, NULL));
        CHECK_EQ(r.error_at, bytes);
        free(text);
        CHECK(repeated_skipped("", blanks[i], count, "1"));
        CHECK(repeated_skipped("1", blanks[i], count, ""));
        CHECK(repeated_skipped("[", blanks[i], count, "]"));
        CHECK(repeated_skipped("[1", blanks[i], count, ",2]"));
        CHECK(repeated_skipped("{", blanks[i], count, "\"a\" :1}"));
        CHECK(repeated_skipped("{\"a\"", blanks[i], count, ":1}"));
        CHECK(repeated_skipped("{\"a\":", blanks[i], count, "1}"));
    }
}

/* ---- class 2: cut off ------------------------------------------------------------------------ */

TEST(json_truncated_at_every_byte_is_refused)      /* trunc_* */
{
    static const char *whys[] = { "the text ends", "\\u without four", "half of a surrogate", "not UTF-8", "a value was" };
    const size_t whole = sizeof(one_of_all) - 1, right = whole - 2;       /* a newline and a blank at the end */
    size_t i, k;
    for (i = 0; i < right; ++i) {
        CHECK(agrees(one_of_all, i));
        CHECK(r.error != NULL);
        for (k = 0; k < 5 && strstr(r.error, whys[k]) == NULL; ++k) { }
        CHECK(k < 5);
        CHECK(!walked(at_page_end(one_of_all, i), i));
    }
    for (i = right; i <= whole; ++i) TRY(accepted(one_of_all, i));
}

TEST(json_cut_within_a_word_a_number_or_a_string_is_told)
{
    static const wrong cases[] = {
        { "trunc_true", T("[tru"), 1, "a value was expected" },
        { "trunc_false", T("fals"), 0, "a value was expected" },
        { "trunc_null", T(" nul"), 1, "a value was expected" },
        { "trunc_minus", T("-"), 1, "the text ends within a number" },
        { "trunc_point", T("[1."), 3, "the text ends within a number" },
        { "trunc_e", T("1e"), 2, "the text ends within a number" },
        { "trunc_e_minus", T("1.5e-"), 5, "the text ends within a number" },
        { "trunc_string", T("\"abc"), 4, "the text ends within a string" },
        { "trunc_quote", T("\""), 1, "the text ends within a string" },
        { "trunc_backslash", T("\"a\\"), 2, "the text ends within a string" },
        { "trunc_u", T("\"\\u12"), 1, "\\u without four hexadecimal digits" },
        { "trunc_pair", T("\"\\ud800\\udc0"), 1, "half of a surrogate pair" },
        { "trunc_utf8", T("\"\xE2\x82"), 1, "a byte that is not UTF-8" },
        { "trunc_array", T("["), 1, "the text ends within an array" },
        { "trunc_array_2", T("[1 "), 3, "the text ends within an array" },
        { "trunc_array_3", T("[1,"), 3, "the text ends where a value was expected" },
        { "trunc_object", T("{"), 1, "the text ends within an object" },
        { "trunc_key", T("{\"a"), 3, "the text ends within a string" },
        { "trunc_colon", T("{\"a\""), 4, "the text ends within an object" },
        { "trunc_member", T("{\"a\":"), 5, "the text ends where a value was expected" },
        { "trunc_member_2", T("{\"a\":1"), 6, "the text ends within an object" },
        { "trunc_member_3", T("{\"a\":1,"), 7, "the text ends within an object" },
    };
    ALL_REFUSED(cases);
}

/* ---- class 3: NUL, and the end of a page ------------------------------------------------------ */

TEST(json_with_a_nul_is_refused)
{
    static const wrong cases[] = {
        { "nul_inside", T("[1,\0 2]"), 3, "a value was expected" },
        { "nul_inside_string", T("\"a\0b\""), 2, "a control character within a string" },
        { "nul_inside_key", T("{\"a\0\":1}"), 3, "a control character within a string" },
        { "nul_behind_backslash", T("\"\\\0\""), 1, "an unknown escape" },
        { "nul_first", T("\0"), 0, "a value was expected" },
        { "nul_behind_comma", T("[1\0]"), 2, "a comma or ] was expected" },
    };
    ALL_REFUSED(cases);
    CHECK(!skipped(T("{}\0"), NULL));                                       /* trailing_nul */
    CHECK_STR(r.error, "there is text after the document");
    CHECK_EQ(r.error_at, 2);
    CHECK(!skipped(T("1\0\0\0"), NULL));
    CHECK_EQ(r.error_at, 1);
}

TEST(json_is_not_read_past_its_end_at_any_alignment)
{
    static const char *before[] = { "", "[", "{\"a\":", "[\"", "{\"", "[-", "[1.", "[1e", "[\"\\u" };
    static const char *piece[] = { " ", "\n", "a", "0", "1", "\\", "\\n", "\xC3\xA9", "\xE2\x82\xAC", "\"", "[", "{" };
    static const char *after[] = { "", "\"", "]", "\"]", ":", "t", "tru", "\\", "\\u", "\\ud83d", "\xC3", "\xF0\x9F", "," };
    size_t a, p, z, count;
    for (a = 0; a < sizeof(before) / sizeof(before[0]); ++a)
        for (p = 0; p < sizeof(piece) / sizeof(piece[0]); ++p)
            for (z = 0; z < sizeof(after) / sizeof(after[0]); ++z)
                for (count = 0; count < 40; ++count) {
                    size_t bytes;
                    char *text = repeated(before[a], piece[p], count, after[z], &bytes);
                    int same = agrees(text, bytes);
                    free(text);
                    CHECK(same);
                }
}

TEST(json_numbers_and_strings_are_not_read_past_their_end)
{
    static const char *texts[] = { "1", "-1", "12345678901234567890123", "1.5", "1e5", "1e-300", "0.000000001",
                                   "9007199254740993.00000000000000000001" };
    char out[64];
    size_t i;
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        const qnnrt_json_text t = number(texts[i]);
        uint64_t u;
        int64_t s;
        double d;
        float f;
        CHECK(qnnrt_json_f64(&t, &d));
        CHECK(d == strtod(texts[i], NULL));
        CHECK(qnnrt_json_f32(&t, &f));
        qnnrt_json_u64(&t, &u);
        qnnrt_json_i64(&t, &s);
        CHECK_EQ(qnnrt_json_copy(&t, out), strlen(texts[i]));
        CHECK(strcmp(out, texts[i]) == 0 && qnnrt_json_is(&t, texts[i]) && !qnnrt_json_is(&t, "1e"));
    }
    for (i = 0; i < 40; ++i) {
        size_t bytes;
        char *text = repeated("", "\\n", i, "\\ud83d\\ude00", &bytes), *want = repeated("", "\n", i, "\xF0\x9F\x98\x80", &bytes);
        qnnrt_json_text t = number(text);
        t.escaped = 1;
        CHECK_EQ(qnnrt_json_copy(&t, out), bytes);
        CHECK(strcmp(out, want) == 0 && qnnrt_json_is(&t, want) && !qnnrt_json_is(&t, out + 1));
        want[bytes - 1] = 0;
        CHECK(!qnnrt_json_is(&t, want));
        free(text);
        free(want);
    }
}

/* ---- class 4: other encodings ---------------------------------------------------------------- */

TEST(json_byte_order_mark_is_stepped_over_once)      /* bom */
{
    static const wrong cases[] = {
        { "bom_twice", T("\xEF\xBB\xBF\xEF\xBB\xBF{}"), 3, "a value was expected" },
        { "bom_cut", T("\xEF\xBB{}"), 0, "a value was expected" },
        { "bom_behind_blank", T(" \xEF\xBB\xBF{}"), 1, "a value was expected" },
        { "bom_wrong_at", T("\xEF\xBB\xBF[1,]"), 6, "a comma before a closing bracket" },
    };
    TRY(accepted(T("\xEF\xBB\xBF{}")));
    TRY(accepted(T("\xEF\xBB\xBF [1, \"\xEF\xBB\xBF\"]")));
    ALL_REFUSED(cases);
}

TEST(json_utf16_is_refused)      /* utf16 */
{
    static const wrong cases[] = {
        { "utf16_le", T("\xFF\xFE{\0}\0"), 0, "the text is UTF-16; JSON is UTF-8" },
        { "utf16_be", T("\xFE\xFF\0{\0}"), 0, "the text is UTF-16; JSON is UTF-8" },
        { "utf16_le_short", T("\xFF\xFE"), 0, "the text is UTF-16; JSON is UTF-8" },
        { "utf32_le", T("\xFF\xFE\0\0{\0\0\0"), 0, "the text is UTF-16; JSON is UTF-8" },
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        CHECK(!skipped(cases[i].text, cases[i].bytes, NULL));
        CHECK_STR(r.error, cases[i].why);
        CHECK_EQ(r.error_at, 0);
        CHECK(!walked(cases[i].text, cases[i].bytes));
    }
    TRY(refused("utf16_be_no_mark", T("\0{\0}"), 0, "a value was expected"));
    TRY(refused("utf16_le_no_mark", T("{\0}\0"), 1, "a key in quotes was expected"));
    TRY(refused("utf16_one_byte", T("\xFF"), 0, "a value was expected"));
}

/* ---- class 5: strings ------------------------------------------------------------------------ */

TEST(json_wrong_strings_are_refused)
{
    static const wrong cases[] = {
        { "bad_utf8_name", T("{\"a\xFF\":1}"), 3, "a byte that is not UTF-8" },
        { "bad_utf8", T("\"\x80\""), 1, "a byte that is not UTF-8" },
        { "bad_utf8_latin1", T("\"caf\xE9\""), 4, "a byte that is not UTF-8" },
        { "bad_utf8_far", T("\"0123456789abcdef0123456789\xC3(\""), 27, "a byte that is not UTF-8" },
        { "overlong_utf8", T("\"\xC0\xAF\""), 1, "a byte that is not UTF-8" },
        { "overlong_utf8_nul", T("\"\xC0\x80\""), 1, "a byte that is not UTF-8" },
        { "overlong_utf8_3", T("\"\xE0\x9F\xBF\""), 1, "a byte that is not UTF-8" },
        { "overlong_utf8_4", T("\"\xF0\x8F\xBF\xBF\""), 1, "a byte that is not UTF-8" },
        { "utf8_surrogate", T("\"\xED\xA0\x80\""), 1, "a byte that is not UTF-8" },
        { "utf8_too_high", T("\"\xF4\x90\x80\x80\""), 1, "a byte that is not UTF-8" },
        { "utf8_five", T("\"\xF8\x88\x80\x80\x80\""), 1, "a byte that is not UTF-8" },
        { "lone_surrogate", T("\"\\ud800\""), 1, "half of a surrogate pair" },
        { "lone_surrogate_name", T("{\"\\uDFFF\":1}"), 2, "half of a surrogate pair" },
        { "lone_surrogate_low", T("\"\\udc00\\ud800\""), 1, "half of a surrogate pair" },
        { "lone_surrogate_twice", T("\"\\ud800\\ud800\""), 1, "half of a surrogate pair" },
        { "lone_surrogate_text", T("\"\\ud800abcdefgh\""), 1, "half of a surrogate pair" },
        { "lone_surrogate_n", T("\"\\ud800\\ndc00\""), 1, "half of a surrogate pair" },
        { "surrogate_no_hex", T("\"\\ud800\\udc0g\""), 1, "half of a surrogate pair" },
        { "control_in_string", T("\"a\nb\""), 2, "a control character within a string" },
        { "control_1f", T("\"0123456789\x1F\""), 11, "a control character within a string" },
        { "control_tab_name", T("{\"\t\":1}"), 2, "a control character within a string" },
        { "escape_x", T("\"\\x41\""), 1, "an unknown escape" },
        { "escape_quote", T("\"\\'\""), 1, "an unknown escape" },
        { "escape_U", T("\"\\U0041\""), 1, "an unknown escape" },
        { "escape_hex", T("\"\\u00g0\""), 1, "\\u without four hexadecimal digits" },
        { "escape_sign", T("\"\\u+041\""), 1, "\\u without four hexadecimal digits" },
    };
    ALL_REFUSED(cases);
    TRY(accepted(T("\"\x7F\"")));                      /* DEL is allowed unescaped */
    /* NUL is an ordinary character in an escape: see the next test. */
    TRY(accepted(T("{\"a\\u0000b\":\"\\u0000\"}")));
    TRY(accepted(T("\"\xC2\x80\xE2\x80\xA8\xEF\xBF\xBF\xF4\x8F\xBF\xBF\"")));
}

TEST(json_an_escaped_nul_is_a_byte_of_its_string)
{
    static const char text[] = "{\"a\\u0000b\":\"\\u0000\"}";
    char out[16];
    qnnrt_json_begin(&r, text, sizeof(text) - 1, NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
    CHECK(qnnrt_json_more(&r) && qnnrt_json_value(&r) == QNNRT_JSON_STRING);
    CHECK(qnnrt_json_copy(&r.key, out) == 3 && memcmp(out, "a\0b", 4) == 0);
    CHECK(!qnnrt_json_is(&r.key, "a") && !qnnrt_json_is(&r.key, "ab"));
    CHECK(qnnrt_json_copy(&r.value, out) == 1 && out[0] == 0 && out[1] == 0);
    CHECK(!qnnrt_json_is(&r.value, ""));
    CHECK(!qnnrt_json_more(&r) && qnnrt_json_end(&r));
}

TEST(json_control_characters_are_refused_at_every_place)
{
    char text[40];
    size_t at;
    int c;
    for (c = 0; c < 256; ++c)
        for (at = 1; at < 36; ++at) {
            memset(text, 'a', sizeof(text));
            text[0] = text[37] = '"';
            text[at] = (char)c;
            CHECK(agrees(text, 38));
        }
}

TEST(json_utf8_is_judged_as_decoding_judges_it)
{
    static const unsigned char edges[] = { 0x00, 0x22, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF };
    char text[8] = { '"', 0, 0, 0, 0, '"', 0, 0 };
    size_t c, d;
    int a, b;
    for (a = 0x80; a < 256; ++a)
        for (b = 0; b < 256; ++b)
            for (c = 0; c < sizeof(edges); ++c)
                for (d = 0; d < sizeof(edges); ++d) {
                    slow s;
                    int good;
                    text[1] = (char)a; text[2] = (char)b; text[3] = (char)edges[c]; text[4] = (char)edges[d];
                    good = slow_document(&s, (const unsigned char *)text, 6);
                    free(s.events.data);
                    CHECK_EQ(skipped(text, 6, NULL), good);
                    CHECK(good || r.error_at == s.wrong);
                }
}

TEST(json_every_character_is_read_by_escape_and_as_it_is)
{
    static const char plain[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    char text[16], copy[16], utf8[8];
    long code;
    size_t i, length;
    for (code = 1; code <= 0x10FFFF; ++code) {
        list l = { NULL, 0, 0 };
        if (code >= 0xD800 && code <= 0xDFFF) continue;
        if (code > 0x3000 && code % 61 != 0 && (code & 0xFFF) > 2) continue;
        slow_encode(&l, code);
        memcpy(utf8, l.data, l.used);
        utf8[length = l.used] = 0;
        free(l.data);
        if (code < 0x10000) snprintf(text, sizeof(text), "\"\\u%04lx\"", (unsigned long)code);
        else snprintf(text, sizeof(text), "\"\\u%04lX\\u%04lx\"", 0xD800 + (((unsigned long)code - 0x10000) >> 10),
                      0xDC00 + ((unsigned long)code & 0x3FF));
        qnnrt_json_begin(&r, text, strlen(text), NULL);
        CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_STRING);
        CHECK(qnnrt_json_end(&r));
        CHECK_EQ(r.value.escaped, 1);
        CHECK_EQ(qnnrt_json_copy(&r.value, copy), length);
        CHECK(strcmp(copy, utf8) == 0 && qnnrt_json_is(&r.value, utf8));
        if (code < 0x20 || code == '"' || code == '\\') continue;
        snprintf(text, sizeof(text), "\"%s\"", utf8);
        qnnrt_json_begin(&r, text, strlen(text), NULL);
        CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_STRING);
        CHECK(qnnrt_json_end(&r));
        CHECK_EQ(r.value.escaped, 0);
        CHECK(qnnrt_json_is(&r.value, utf8));
    }
    for (i = 0; plain[i] != 0; i += 2) {
        snprintf(text, sizeof(text), "\"a\\%c\"", plain[i]);
        qnnrt_json_begin(&r, text, strlen(text), NULL);
        CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_STRING);
        CHECK_EQ(qnnrt_json_copy(&r.value, copy), 2);
        CHECK(copy[0] == 'a' && copy[1] == plain[i + 1] && copy[2] == 0);
    }
}

TEST(json_strings_are_compared_by_what_they_mean)
{
    qnnrt_json_text t;
    char out[32];
    memset(&t, 0, sizeof(t));
    /* Before its first key, a reader has this one. */
    CHECK(qnnrt_json_is(&t, ""));
    CHECK(!qnnrt_json_is(&t, "a"));
    CHECK_EQ(qnnrt_json_copy(&t, out), 0);
    CHECK_EQ(out[0], 0);
    t = number("sc\\u0061les");
    t.escaped = 1;
    CHECK(qnnrt_json_is(&t, "scales"));
    CHECK(!qnnrt_json_is(&t, "scale") && !qnnrt_json_is(&t, "scalesx") && !qnnrt_json_is(&t, "") && !qnnrt_json_is(&t, "sc\\u0061les"));
    t = number("\\u20ac");
    t.escaped = 1;
    CHECK(qnnrt_json_is(&t, "\xE2\x82\xAC"));
    CHECK(!qnnrt_json_is(&t, "\xE2\x82") && !qnnrt_json_is(&t, "\xE2\x82\xAD") && !qnnrt_json_is(&t, "\xE2\x82\xAC."));
    /* Escapes of a text that a caller made are not checked. */
    t = number("a\\x\\");
    t.escaped = 1;
    CHECK_EQ(qnnrt_json_copy(&t, out), 4);
    CHECK(strcmp(out, "a\\x\\") == 0);
}

/* ---- class 6: invalid numbers ------------------------------------------------------------------ */

static const wrong wrong_numbers[] = {
    { "scale_plus", T("+1"), 0, "a value was expected" },
    { "dim_leading_zero", T("01"), 1, "an invalid number" },
    { "dim_zeros", T("00"), 1, "an invalid number" },
    { "dim_minus_zero_one", T("-01"), 2, "an invalid number" },
    { "dim_hex", T("[0x1]"), 2, "a comma or ] was expected" },
    { "scale_no_digit", T(".5"), 0, "a value was expected" },
    { "scale_point_only", T("[1.]"), 3, "an invalid number" },
    { "scale_point_e", T("[1.e5]"), 3, "an invalid number" },
    { "scale_e_only", T("[1e]"), 3, "an invalid number" },
    { "scale_e_sign_only", T("[1e+]"), 4, "an invalid number" },
    { "scale_e_point", T("[1e5.0]"), 4, "a comma or ] was expected" },
    { "scale_e_twice", T("[1e5e5]"), 4, "a comma or ] was expected" },
    { "scale_minus", T("[-]"), 2, "an invalid number" },
    { "scale_minus_twice", T("--1"), 1, "an invalid number" },
    { "scale_minus_point", T("-.5"), 1, "an invalid number" },
    { "scale_minus_blank", T("- 1"), 1, "an invalid number" },
    { "scale_nan", T("NaN"), 0, "a value was expected" },
    { "scale_nan_small", T("nan"), 0, "a value was expected" },
    { "scale_infinity", T("Infinity"), 0, "a value was expected" },
    { "scale_minus_infinity", T("-Infinity"), 1, "an invalid number" },
    { "scale_comma", T("[\"a\",0,5,]"), 9, "a comma before a closing bracket" },
    { "scale_underscore", T("[1_000]"), 2, "a comma or ] was expected" },
    { "scale_suffix", T("[1f]"), 2, "a comma or ] was expected" },
    { "scale_wide_digit", T("\xEF\xBC\x91"), 0, "a value was expected" },
};

TEST(json_wrong_numbers_are_refused)
{
    size_t i;
    ALL_REFUSED(wrong_numbers);
    /* A decimal comma: the number is 0, and the comma is an error. */
    CHECK(!skipped(T("0,5"), NULL));
    CHECK_EQ(r.error_at, 1);
    CHECK_STR(r.error, "there is text after the document");
    for (i = 0; i < sizeof(wrong_numbers) / sizeof(wrong_numbers[0]); ++i) {
        qnnrt_json_text t = number(wrong_numbers[i].text);
        uint64_t u = 7;
        int64_t s = 7;
        double d = 7;
        float f = 7;
        CHECK(!qnnrt_json_u64(&t, &u) && !qnnrt_json_i64(&t, &s));
        CHECK(!qnnrt_json_f64(&t, &d) && !qnnrt_json_f32(&t, &f));
        CHECK(u == 0 && s == 0 && d == 0 && f == 0);
    }
}

TEST(json_a_text_that_is_no_number_gives_0)
{
    static const char *texts[] = { "", " ", "1 ", " 1", "1,", "\"1\"", "true", "-", "e5", "1..5", "1e5-", "0x10", "1a", "/", ":" };
    size_t i;
    qnnrt_json_text t;
    uint64_t u = 7;
    int64_t s = 7;
    double d = 7;
    float f = 7;
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        t = number(texts[i]);
        u = 7; s = 7; d = 7; f = 7;
        CHECK(!qnnrt_json_u64(&t, &u) && !qnnrt_json_i64(&t, &s));
        CHECK(!qnnrt_json_f64(&t, &d) && !qnnrt_json_f32(&t, &f));
        CHECK(u == 0 && s == 0 && d == 0 && f == 0);
    }
    /* Before its first number, a reader has this one. */
    memset(&t, 0, sizeof(t));
    CHECK(!qnnrt_json_u64(&t, &u) && !qnnrt_json_i64(&t, &s));
    CHECK(!qnnrt_json_f64(&t, &d) && !qnnrt_json_f32(&t, &f));
}

/* ---- class 7: long numbers --------------------------------------------------------------------- */

static int long_number(const char *before, const char *piece, size_t count, const char *after, double want64, float want32)
{
    size_t bytes;
    qnnrt_json_text t;
    uint64_t u;
    int64_t s;
    double d = 7;
    float f = 7;
    int good;
    char *text = repeated(before, piece, count, after, &bytes);
    memset(&t, 0, sizeof(t));
    t.text = text;
    t.bytes = bytes;
    good = skipped(text, bytes, NULL);
    good = good && qnnrt_json_f64(&t, &d) == (bits_of(want64) << 1 < UINT64_C(0x7FF) << 53) && bits_of(d) == bits_of(want64);
    good = good && qnnrt_json_f32(&t, &f) == (bits32_of(want32) << 1 < 0xFF000000u) && bits32_of(f) == bits32_of(want32);
    good = good && !qnnrt_json_u64(&t, &u) && u == 0 && !qnnrt_json_i64(&t, &s) && s == 0;
    free(text);
    return good;
}

TEST(json_long_numbers_neither_wrap_nor_round_twice)
{
    const double inf = HUGE_VAL;
    const float inf32 = (float)HUGE_VAL;
    CHECK(long_number("", "9", 400, "", inf, inf32));                               /* dim_400digits */
    CHECK(long_number("-", "9", 400, "", -inf, -inf32));
    CHECK(long_number("18446744073709551616", "0", 400, "", inf, inf32));
    CHECK(long_number("1", "0", 300, "", 1e300, inf32));
    CHECK(long_number("0.", "0", 400, "1", 0, 0));
    CHECK(long_number("-0.", "0", 400, "1", -0.0, -0.0f));
    CHECK(long_number("", "9", 1000000, "", inf, inf32));                           /* scale_1M_digits */
    CHECK(long_number("0.", "3", 1000000, "", 0.33333333333333331, 0.33333334f));
    CHECK(long_number("0.", "0", 1000000, "1", 0, 0));
    CHECK(long_number("0.", "0", 1000000, "5e1000000", 0.5, 0.5f));
    CHECK(long_number("25", "0", 1000000, "e-1000001", 2.5, 2.5f));
    CHECK(long_number("1.", "0", 1000000, "", 1, 1));
    CHECK(long_number("9007199254740993", "0", 0, ".0", 9007199254740992.0, 9007199254740992.0f));
    CHECK(long_number("9007199254740993.", "0", 1000000, "1", 9007199254740994.0, 9007199254740992.0f));
    CHECK(long_number("16777217.", "0", 1000000, "1", 16777217.0, 16777218.0f));
    CHECK(long_number("1e", "9", 20, "", inf, inf32));                              /* scale_exp_overflow */
    CHECK(long_number("-1e+", "9", 20, "", -inf, -inf32));
    CHECK(long_number("1e-", "9", 20, "", 0, 0));
    CHECK(long_number("-1E-", "9", 20, "", -0.0, -0.0f));
    CHECK(long_number("0e", "9", 20, "", 0, 0));
    CHECK(long_number("0.0e-", "9", 20, "", 0, 0));
    CHECK(long_number("1e18446744073709551", "6", 1, "", inf, inf32));              /* 2^64 */
    CHECK(long_number("1e-18446744073709551", "6", 1, "", 0, 0));
    CHECK(long_number("1e", "0", 1000000, "2", 100, 100));
    CHECK(long_number("1e", "9", 1000000, "", inf, inf32));
    CHECK(long_number("1e-", "9", 1000000, "", 0, 0));
}

/* ---- class 8: what others allow ---------------------------------------------------------------- */

TEST(json_extensions_are_refused)
{
    static const wrong cases[] = {
        { "comma_array", T("[1,]"), 3, "a comma before a closing bracket" },
        { "comma_array_blank", T("[1, \n ]"), 6, "a comma before a closing bracket" },
        { "comma_object", T("{\"a\":1,}"), 7, "a comma before a closing bracket" },
        { "comma_only", T("[,]"), 1, "a value was expected" },
        { "comma_first", T("[,1]"), 1, "a value was expected" },
        { "comma_first_object", T("{,\"a\":1}"), 1, "a key in quotes was expected" },
        { "comma_twice", T("[1,,2]"), 3, "a value was expected" },
        { "comma_none", T("[1 2]"), 3, "a comma or ] was expected" },
        { "comma_none_object", T("{\"a\":1 \"b\":2}"), 7, "a comma or } was expected" },
        { "colon_none", T("{\"a\" 1}"), 5, "a colon was expected" },
        { "colon_comma", T("{\"a\",1}"), 4, "a colon was expected" },
        { "colon_twice", T("{\"a\"::1}"), 5, "a value was expected" },
        { "colon_in_array", T("[\"a\":1]"), 4, "a comma or ] was expected" },
        { "value_none", T("{\"a\":}"), 5, "a value was expected" },
        { "value_only", T("{1}"), 1, "a key in quotes was expected" },
        { "key_bare", T("{a:1}"), 1, "a key in quotes was expected" },
        { "key_number", T("{1:1}"), 1, "a key in quotes was expected" },
        { "key_second_bare", T("{\"a\":1,b:1}"), 7, "a key in quotes was expected" },
        { "quotes_single", T("['a']"), 1, "a value was expected" },
        { "quotes_single_key", T("{'a':1}"), 1, "a key in quotes was expected" },
        { "comment_line", T("[1] // x\n"), 4, "there is text after the document" },
        { "comment_in", T("[1, /* x */ 2]"), 4, "a value was expected" },
        { "comment_hash", T("# x\n1"), 0, "a value was expected" },
        { "bracket_wrong", T("[1}"), 2, "a comma or ] was expected" },
        { "bracket_wrong_object", T("{\"a\":1]"), 6, "a comma or } was expected" },
        { "bracket_wrong_empty", T("[}"), 1, "a value was expected" },
        { "bracket_wrong_comma", T("[1,}"), 3, "a value was expected" },
        { "bracket_closing", T("]"), 0, "a value was expected" },
        { "word_case", T("[True]"), 1, "a value was expected" },
        { "word_none", T("[undefined]"), 1, "a value was expected" },
        { "word_long", T("[truely]"), 5, "a comma or ] was expected" },
        { "blank_vertical", T("[1,\v2]"), 3, "a value was expected" },
        { "blank_form_feed", T("\f1"), 0, "a value was expected" },
        { "blank_nbsp", T("[\xC2\xA0""1]"), 1, "a value was expected" },
        { "blank_2028", T("[1\xE2\x80\xA8]"), 2, "a comma or ] was expected" },
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        if (strstr(cases[i].why, "after the document") == NULL)
            TRY(refused(cases[i].name, cases[i].text, cases[i].bytes, cases[i].at, cases[i].why));
        CHECK(agrees(cases[i].text, cases[i].bytes));
    }
}

TEST(json_a_second_document_is_refused)
{
    static const wrong cases[] = {
        { "two_objects", T("{}{}"), 2, "" }, { "two_lines", T("1\n2\n"), 2, "" }, { "two_strings", T("\"a\"\"b\""), 3, "" },
        { "comma", T("1,"), 1, "" }, { "bracket", T("[]]"), 2, "" }, { "brace", T("{}}"), 2, "" }, { "letter", T("{} x"), 3, "" },
        { "word", T("truefalse"), 4, "" }, { "bom", T("[]\xEF\xBB\xBF"), 2, "" }, { "comment", T("1 // one"), 2, "" },
        { "sub", T("{}\x1A"), 2, "" },
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        CHECK(!skipped(at_page_end(cases[i].text, cases[i].bytes), cases[i].bytes, NULL));
        CHECK_STR(r.error, "there is text after the document");
        CHECK_EQ(r.error_at, cases[i].at);
        CHECK(!walked(cases[i].text, cases[i].bytes));
        CHECK(agrees(cases[i].text, cases[i].bytes));
    }
}

/* ---- class 9: nesting -------------------------------------------------------------------------- */

static int nested(const char *before, const char *open, const char *inside, const char *close, size_t depth,
                  const char *after, uint32_t limit)
{
    size_t head, tail, bytes;
    char *first = repeated(before, open, depth, inside, &head), *second = repeated("", close, depth, after, &tail), *text;
    qnnrt_json_limits limits;
    int good;
    text = repeated(first, second, 1, "", &bytes);
    memset(&limits, 0, sizeof(limits));
    limits.depth = limit;
    good = skipped(text, bytes, &limits);
    free(first);
    free(second);
    free(text);
    return good;
}

TEST(json_nesting_of_100000_ends_at_the_limit)
{
    static const uint32_t given[] = { 0, 64, 1, 2, 63, 65, 128, 1023, 1024, 1025, 100000, UINT32_MAX };
    static const uint32_t means[] = { 64, 64, 1, 2, 63, 65, 128, 1023, 1024, 1024, 1024, 1024 };
    size_t i;
    for (i = 0; i < sizeof(given) / sizeof(given[0]); ++i) {
        CHECK(nested("", "[", "", "]", means[i], "", given[i]));
        CHECK(!nested("", "[", "", "]", means[i] + 1, "", given[i]));
        CHECK_STR(r.error, "more open brackets than the limit");
        CHECK_EQ(r.error_at, means[i]);
        CHECK_EQ(r.depth, means[i]);
        CHECK(!nested("", "[", "", "]", 100000, "", given[i]));
        CHECK_EQ(r.error_at, means[i]);
        CHECK(nested("", "{\"a\":", "1", "}", means[i], "", given[i]));
        CHECK(!nested("", "{\"a\":", "1", "}", 100000, "", given[i]));
        CHECK_EQ(r.error_at, 5 * means[i]);
        CHECK(!nested("", "[{\"a\":", "1", "}]", 50000, "", given[i]));
        CHECK(!nested("", "[", "", "", 100000, "", given[i]));
        CHECK_STR(r.error, "more open brackets than the limit");
    }
    CHECK(!nested("{\"unknown\": ", "[", "", "]", 100000, ", \"graphs\": []}", 0));   /* inside a skipped key */
    CHECK_EQ(r.error_at, 12 + 63);
    CHECK(!nested("{\"info\": ", "{\"info\": ", "{}", "}", 100000, "}", 0));           /* info in info */
    CHECK_EQ(r.error_at, 9 * 64);
}

TEST(json_the_kind_of_every_open_bracket_is_known)
{
    /* Brackets and braces in a random order, 1,024 deep, closed correctly, or with one closed
       wrongly. */
    static char text[16384];
    char close[1024];
    qnnrt_json_limits limits;
    int round;
    memset(&limits, 0, sizeof(limits));
    limits.depth = 1024;
    for (round = 0; round < 200; ++round) {
        size_t bytes = 0, depth, wrong_one = (size_t)(rng() % 1024), wrong_at = 0;
        for (depth = 0; depth < 1024; ++depth) {
            const int brace = (int)(rng() & 1);
            close[depth] = brace ? '}' : ']';
            memcpy(text + bytes, brace ? "{\"\":" : "[", brace ? 4 : 1);
            bytes += brace ? 4 : 1;
        }
        memcpy(text + bytes, "1", 1);
        ++bytes;
        while (depth-- > 0) {
            if (depth == wrong_one) wrong_at = bytes;
            text[bytes++] = close[depth];
            if (depth > 0 && rng() % 3 == 0) {
                memcpy(text + bytes, close[depth - 1] == '}' ? ",\"\":[]" : ", {}  ", 6);
                bytes += 6;
            }
        }
        CHECK(skipped(text, bytes, &limits));
        text[wrong_at] = text[wrong_at] == '}' ? ']' : '}';
        CHECK(!skipped(text, bytes, &limits));
        CHECK_EQ(r.error_at, wrong_at);
        CHECK_EQ(r.depth, wrong_one + 1);
    }
}

/* ---- class 10: many ---------------------------------------------------------------------------- */

TEST(json_200000_members_and_a_million_elements_are_read)
{
    size_t bytes, count = 0, known = 0;
    char *text = repeated("{\"known\":1,", "\"unknown_key\":[1,{\"a\":null}],", 200000, "\"known\":2}", &bytes);   /* many_unknown_keys */
    qnnrt_json_begin(&r, text, bytes, NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
    while (qnnrt_json_more(&r)) {
        known += (size_t)qnnrt_json_is(&r.key, "known");
        CHECK(qnnrt_json_skip(&r));
        ++count;
    }
    CHECK(qnnrt_json_end(&r));
    CHECK_EQ(count, 200002);
    CHECK_EQ(known, 2);
    free(text);
    text = repeated("[", "1,", 999999, "1]", &bytes);                                                           /* rank_1m */
    qnnrt_json_begin(&r, text, bytes, NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_ARRAY);
    for (count = 0; qnnrt_json_more(&r); ++count) {
        uint64_t u;
        CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NUMBER);
        CHECK(qnnrt_json_u64(&r.value, &u));
        CHECK_EQ(u, 1);
    }
    CHECK(qnnrt_json_end(&r));
    CHECK_EQ(count, 1000000);
    free(text);
}

TEST(json_5_megabytes_of_anything_end)
{
    static const char *pieces[] = { "a", "\\n", "\\u0041", "\\ud83d\\ude00", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "a\\", "\\\\" };
    size_t i;
    for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); ++i) {
        const size_t count = MB5 / strlen(pieces[i]);
        CHECK_EQ(repeated_skipped("\"", pieces[i], count, "\""), i != 7);
        CHECK_EQ(repeated_skipped("{\"", pieces[i], count, "\":1}"), i != 7);
        CHECK(!repeated_skipped("\"", pieces[i], count, ""));
        CHECK(!repeated_skipped("\"", pieces[i], count, "\x01\""));
    }
    CHECK(repeated_skipped("[", "\"\",", MB5 / 3, "1]"));
    CHECK(repeated_skipped("[", "[],", MB5 / 3, "1]"));
    CHECK(repeated_skipped("[", "true,", MB5 / 5, "1]"));
    CHECK(repeated_skipped("{", "\"\":{},", MB5 / 6, "\"\":0}"));
    CHECK(repeated_skipped("", "7", MB5, ""));
    {
        size_t bytes;
        char *text = repeated("\"", "\\u0041", MB5 / 6, "\"", &bytes), *out = (char *)malloc(bytes);
        CHECK(out != NULL);
        qnnrt_json_begin(&r, text, bytes, NULL);
        CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_STRING);
        CHECK(!qnnrt_json_is(&r.value, "A"));
        CHECK_EQ(qnnrt_json_copy(&r.value, out), MB5 / 6);
        CHECK(memcmp(out, "AAAAAAA", 7) == 0 && out[MB5 / 6] == 0 && out[MB5 / 6 - 1] == 'A');
        CHECK(qnnrt_json_is(&r.value, out));
        free(out);
        free(text);
    }
}

/* ---- class 11: repeated names ------------------------------------------------------------------ */

TEST(json_equal_keys_are_both_delivered)
{
    static const char *texts[] = { "{\"id\":1,\"id\":2}", "{\"id\":1,\"i\\u0064\":2}", "{\"\\u0069d\":1,\"id\":2}" };   /* dup_key_* */
    size_t i;
    for (i = 0; i < 3; ++i) {
        uint64_t want = 1, got;
        qnnrt_json_begin(&r, texts[i], strlen(texts[i]), NULL);
        CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
        while (qnnrt_json_more(&r)) {
            CHECK(qnnrt_json_is(&r.key, "id"));
            CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NUMBER);
            CHECK(qnnrt_json_u64(&r.value, &got));
            CHECK_EQ(got, want);
            ++want;
        }
        CHECK_EQ(want, 3);
        CHECK(qnnrt_json_end(&r));
    }
}

/* ---- class 12: what must be accepted ----------------------------------------------------------- */

/* Run the program of the manual. */
static int manual_example(const char *text, size_t bytes, float *sum)
{
    qnnrt_json_begin(&r, text, bytes, NULL);
    if (qnnrt_json_value(&r) != QNNRT_JSON_OBJECT) return 0;
    while (qnnrt_json_more(&r)) {
        if (!qnnrt_json_is(&r.key, "scales")) { qnnrt_json_skip(&r); continue; }
        if (qnnrt_json_value(&r) != QNNRT_JSON_ARRAY) return 0;
        while (qnnrt_json_more(&r)) {
            float scale;
            if (qnnrt_json_value(&r) != QNNRT_JSON_NUMBER) return 0;
            if (!qnnrt_json_f32(&r.value, &scale)) return 0;
            *sum += scale;
        }
    }
    return qnnrt_json_end(&r);
}

TEST(json_files_of_any_layout_are_accepted)
{
    static const char *texts[] = {
        "{\"name\": \"a\", \"scales\": [0.5, 0.25], \"more\": {\"scales\": [9]}}",            /* ok_manual */
        "{\"name\":\"a\",\"scales\":[0.5,0.25],\"more\":{\"scales\":[9]}}",                   /* ok_compact */
        "{\r\n\t\"scales\" : [\r\n\t\t0.5 ,\r\n\t\t0.25\r\n\t]\r\n}\r\n",                     /* ok_crlf, ok_tabs */
        "\xEF\xBB\xBF{ \"scales\": [ 0.5, 0.25 ] }",                                          /* ok_bom */
        "{\"sc\\u0061le\\u0073\": [5e-1, 25E-2]}",                                            /* ok_escaped_known_key */
        /* ok_unknown_* */
        "{\"a\":null,\"b\":true,\"d\":-0.0e0,\"e\":\"\",\"f\":[],\"g\":{},\"h\":[[[{\"i\":[1]}]]],\"scales\":[0.50,0.250],\"scale\":1}",
        "{\"scales\":[],\"x\":0,\"scales\":[0.75]}",
    };
    size_t i;
    float sum;
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        sum = 0;
        CHECK(manual_example(at_page_end(texts[i], strlen(texts[i])), strlen(texts[i]), &sum));
        CHECK(sum == 0.75f);
        TRY(accepted(texts[i], strlen(texts[i])));
    }
    sum = 0;
    CHECK(!manual_example(T("{\"scales\": 5, \"b\": 1}"), &sum));
    CHECK(!manual_example(T("{\"scales\": [\"x\", 1], \"b\": 1}"), &sum));
    CHECK(!manual_example(T("{\"scales\": {\"scales\": [1]}}"), &sum));
    CHECK(sum == 0);
}

/* ---- against the slow reader ------------------------------------------------------------------- */

TEST(json_every_flipped_bit_and_changed_byte_gives_the_slow_readers_verdict)
{
    static char text[sizeof(one_of_all) + 1];
    const size_t bytes = sizeof(one_of_all) - 1;
    size_t i;
    int c;
    for (i = 0; i < bytes; ++i) {
        for (c = 0; c < 256; ++c) {                                /* every value of the byte */
            memcpy(text, one_of_all, bytes);
            text[i] = (char)c;
            CHECK(agrees(text, bytes));
        }
        /* Without this byte; below, with this byte twice. */
        memcpy(text, one_of_all, i);
        memcpy(text + i, one_of_all + i + 1, bytes - i - 1);
        CHECK(agrees(text, bytes - 1));
        memcpy(text, one_of_all, i + 1);
        memcpy(text + i + 1, one_of_all + i, bytes - i);
        CHECK(agrees(text, bytes + 1));
    }
}

TEST(json_every_text_of_few_tokens_gives_the_slow_readers_verdict)
{
    static const char *tokens[] = { "[", "]", "{", "}", ",", ":", "\"a\"", "1", "null", " " };
    const uint64_t count = 10;
    char text[64];
    uint64_t number_of, rest, all = count * count * count * count * count;
    for (number_of = 0; number_of < all; ++number_of) {
        size_t bytes = 0;
        for (rest = number_of; rest > 0; rest /= count) {
            const char *token = tokens[rest % count];
            memcpy(text + bytes, token, strlen(token));
            bytes += strlen(token);
        }
        CHECK(agrees(text, bytes));
    }
}

/* ---- limits, steps, misuse --------------------------------------------------------------------- */

TEST(json_text_over_the_limit_of_bytes_is_refused)
{
    qnnrt_json_limits limits;
    static const char nothing[1] = { 0 };
    memset(&limits, 0, sizeof(limits));
    limits.bytes = 4;
    CHECK(skipped(T("[12]"), &limits));
    CHECK(!skipped(T("[12] "), &limits));
    CHECK_STR(r.error, "the text is longer than the limit");
    CHECK_EQ(r.error_at, 0);
    qnnrt_json_begin(&r, nothing, ((size_t)64 << 20) + 1, NULL);       /* a size above 64 MiB: no byte is read */
    CHECK_STR(r.error, "the text is longer than the limit");
    CHECK(!qnnrt_json_skip(&r) && !qnnrt_json_more(&r) && !qnnrt_json_leave(&r) && !qnnrt_json_end(&r));
    CHECK_STR(r.error, "the text is longer than the limit");
    limits.bytes = SIZE_MAX;
    CHECK(skipped(T("[12] "), &limits));
}

TEST(json_text_of_64_mib_is_read)
{
    const size_t bytes = (size_t)64 << 20;
    char *text = (char *)malloc(bytes);
    CHECK(text != NULL);
    memset(text, ' ', bytes);
    text[bytes - 1] = '1';
    CHECK(skipped(text, bytes, NULL));
    text[bytes - 1] = 'x';
    CHECK(!skipped(text, bytes, NULL));
    CHECK_EQ(r.error_at, bytes - 1);
    free(text);
}

TEST(json_values_are_told_with_their_depth_and_text)
{
    const char text[] = " {\"a\": [\"x\\n\", -1.5e3, true, false, null, {}], \"b\": 2}";
    qnnrt_json_begin(&r, text, sizeof(text) - 1, NULL);
    CHECK_EQ(r.depth, 0);
    CHECK_EQ(r.type, QNNRT_JSON_NONE);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
    CHECK_EQ(r.depth, 1);
    CHECK(qnnrt_json_more(&r) && qnnrt_json_is(&r.key, "a") && r.key.text == text + 3 && r.key.bytes == 1);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_ARRAY);
    CHECK_EQ(r.depth, 2);
    CHECK(qnnrt_json_more(&r));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_STRING);
    CHECK_EQ(r.value.bytes, 3);
    CHECK_EQ(r.value.escaped, 1);
    CHECK(qnnrt_json_more(&r));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NUMBER);
    CHECK(r.value.bytes == 6 && memcmp(r.value.text, "-1.5e3", 6) == 0 && !r.value.escaped);
    CHECK(qnnrt_json_more(&r));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_TRUE);
    CHECK(qnnrt_json_more(&r));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_FALSE);
    CHECK(qnnrt_json_more(&r));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NULL);
    CHECK_EQ(r.type, QNNRT_JSON_NULL);
    CHECK(qnnrt_json_more(&r));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
    CHECK_EQ(r.depth, 3);
    CHECK(!qnnrt_json_more(&r));
    CHECK_EQ(r.depth, 2);
    /* Called too early: an error of the caller. */
    CHECK(!qnnrt_json_end(&r));
    CHECK_STR(r.error, "the document was not read to its end");
    CHECK(!qnnrt_json_more(&r));
    CHECK_EQ(r.depth, 2);
    qnnrt_json_begin(&r, T("{\"\\u0061\": \"\\n\", \"b\": \"c\"}"), NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
    CHECK(qnnrt_json_more(&r) && r.key.escaped == 1 && qnnrt_json_value(&r) == QNNRT_JSON_STRING && r.value.escaped == 1);
    CHECK(qnnrt_json_more(&r) && r.key.escaped == 0 && qnnrt_json_value(&r) == QNNRT_JSON_STRING && r.value.escaped == 0);
}

/* Make a reader within an array whose first element is `value`, at the end of a page. */
static void before_value(const char *value)
{
    static char text[200];
    const int bytes = snprintf(text, sizeof(text), "[%s", value);
    memset(&r, 0xFF, sizeof(r));
    qnnrt_json_begin(&r, at_page_end(text, (size_t)bytes), (size_t)bytes, NULL);
    if (qnnrt_json_value(&r) != QNNRT_JSON_ARRAY) abort();
}

static qnnrt_json_text text_of(const char *text)
{
    qnnrt_json_text t;
    t.text = text;
    t.bytes = text != NULL ? strlen(text) : 0;
    t.escaped = 0;
    return t;
}

TEST(json_value_is_reads_the_expected_string_and_nothing_else)
{
    static const char letters[] = "QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER";
    static const struct { const char *value, *expected; } others[] = {
        { "\"ab\"]", "a" }, { "\"ab\"]", "abc" }, { "\"ab\"]", "ac" }, { "\"ab\"]", "b" }, { "\"ab\"]", "" },
        { "\"\"]", "a" }, { "7]", "7" }, { "null]", "null" }, { "\"a", "a" }, { "\"", "" }, { "\"abcdefgh", "abcdefgh" },
        { "\"\\u0061\"]", "a" }, { "[\"a\"]]", "a" }, { "\"abcdefgX\"]", "abcdefgh" }, { "\"Xbcdefgh\"]", "abcdefgh" },
        { "\"abcdefghijklmnopX\"]", "abcdefghijklmnopq" }, { "\"abcdefgXijklmnopq\"]", "abcdefghijklmnopq" }
    };
    qnnrt_json_text expected;
    char value[100], name[50];
    size_t i, length;
    /* Names of every length, with and without a blank after them. */
    for (length = 0; length < sizeof(letters); ++length) {
        memcpy(name, letters, length);
        name[length] = '\0';
        snprintf(value, sizeof(value), "%s\"%s\" ]", length % 2 == 0 ? " " : "", name);
        before_value(value);
        CHECK(qnnrt_json_more(&r));
        expected = text_of(name);
        CHECK_EQ(qnnrt_json_value_is(&r, &expected), 1);
        CHECK_EQ(r.type, QNNRT_JSON_STRING);
        CHECK(r.value.bytes == length && memcmp(r.value.text, name, length) == 0 && !r.value.escaped);
        /* The value was read, and no other follows. */
        CHECK_EQ(qnnrt_json_value_is(&r, &expected), 0);
        CHECK(!qnnrt_json_more(&r) && qnnrt_json_end(&r));
        CHECK_EQ(qnnrt_json_value_is(&r, &expected), 0);            /* the text is at its end */
        CHECK(r.error == NULL);
    }
    for (i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        before_value(others[i].value);
        CHECK(qnnrt_json_more(&r));
        expected = text_of(others[i].expected);
        CHECK_EQ(qnnrt_json_value_is(&r, &expected), 0);
        CHECK(r.error == NULL);
        expected = text_of(NULL);
        CHECK_EQ(qnnrt_json_value_is(&r, &expected), 0);
        (void)qnnrt_json_value(&r);  /* the value was not read: read it now */
        CHECK(r.error == NULL || strchr(others[i].value, ']') == NULL);
    }
    qnnrt_json_begin(&r, "", 0, NULL);
    expected = text_of("");
    CHECK_EQ(qnnrt_json_value_is(&r, &expected), 0);
}

TEST(json_value_u64_reads_plain_whole_numbers_and_nothing_else)
{
    static const struct { const char *value; uint64_t number; } right[] = {
        { "0", 0 }, { " 7 ", 7 }, { "10", 10 }, { "4294967295", 4294967295u }, { "9007199254740993", UINT64_C(9007199254740993) },
        { "1000000000000000000", UINT64_C(1000000000000000000) }, { "9999999999999999999", UINT64_C(9999999999999999999) }
    };
    static const char *const others[] = {
        "10000000000000000000", "00", "01", "-1", "-", "1.0", "1.", "1e3", "1E3", "0.5", "0e1", "+1", "\"1\"", "null", "[1", "x"
    };
    uint64_t number;
    size_t i, cut;
    for (i = 0; i < sizeof(right) / sizeof(right[0]); ++i)
        for (cut = 0; cut < 2; ++cut) {                             /* the text ends after it, or continues */
            char value[60];
            snprintf(value, sizeof(value), "%s%s", right[i].value, cut == 0 ? "" : "]");
            before_value(value);
            CHECK(qnnrt_json_more(&r));
            number = 77;
            CHECK_EQ(qnnrt_json_value_u64(&r, &number), 1);
            CHECK(number == right[i].number);
            CHECK_EQ(r.type, QNNRT_JSON_NUMBER);
            CHECK(qnnrt_json_u64(&r.value, &number) && number == right[i].number && !r.value.escaped);
            number = 77;
            /* The value was read, and no other follows. */
            CHECK_EQ(qnnrt_json_value_u64(&r, &number), 0);
            CHECK_EQ(number, 0);
            CHECK(!qnnrt_json_more(&r));
            CHECK_EQ(qnnrt_json_end(&r), cut);
        }
    for (i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        before_value(others[i]);
        CHECK(qnnrt_json_more(&r));
        number = 77;
        CHECK_EQ(qnnrt_json_value_u64(&r, &number), 0);
        CHECK_EQ(number, 0);
        CHECK(r.error == NULL && r.type == QNNRT_JSON_ARRAY);       /* the value was not read */
    }
}

TEST(json_more_as_says_2_for_the_expected_key_only)
{
    static const char *const keys[] = { "", "a", "id", "name", "dataType", "dimensions", "quantizationEncoding" };
    enum { KEYS = sizeof(keys) / sizeof(keys[0]) };
    char text[100];
    size_t i, k;
    for (i = 0; i < KEYS; ++i)
        for (k = 0; k < KEYS; ++k) {
            const qnnrt_json_text expected = text_of(keys[k]);
            const int bytes = snprintf(text, sizeof(text), "{\"%s\" : 7, \"%s\": 8}", keys[i], keys[i]);
            int member;
            qnnrt_json_begin(&r, at_page_end(text, (size_t)bytes), (size_t)bytes, NULL);
            CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
            for (member = 0; member < 2; ++member) {
                CHECK_EQ(qnnrt_json_more_as(&r, &expected), i == k ? 2 : 1);
                CHECK(r.key.bytes == strlen(keys[i]) && qnnrt_json_is(&r.key, keys[i]));
                CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NUMBER);
            }
            CHECK_EQ(qnnrt_json_more_as(&r, &expected), 0);
            CHECK(qnnrt_json_end(&r));
        }
    {
        const qnnrt_json_text none = text_of(NULL), name = text_of("a");
        static const char *const ends[] = { "{\"a", "{\"a\"", "{\"a\" ", "{\"a\" 7" };
        qnnrt_json_begin(&r, T("{\"a\":[7]}"), NULL);
        CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
        CHECK_EQ(qnnrt_json_more_as(&r, &none), 1);
        CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_ARRAY);
        CHECK_EQ(qnnrt_json_more_as(&r, &name), 1);                 /* an element has no key */
        for (i = 0; i < sizeof(ends) / sizeof(ends[0]); ++i) {
            qnnrt_json_begin(&r, at_page_end(ends[i], strlen(ends[i])), strlen(ends[i]), NULL);
            CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
            CHECK_EQ(qnnrt_json_more_as(&r, &name), 0);
            CHECK(r.error != NULL);
        }
        qnnrt_json_begin(&r, T("{\"\\u0061\":7}"), NULL);           /* escapes make a different text */
        CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
        CHECK_EQ(qnnrt_json_more_as(&r, &name), 1);
        CHECK(qnnrt_json_is(&r.key, "a"));
    }
}

TEST(json_leave_reads_the_rest_and_closes)
{
    static const char text[] = "[[1, [2, {\"a\": [3]}], 4], {\"b\": [5, 6], \"c\": 7}, 8]";
    qnnrt_json_begin(&r, text, sizeof(text) - 1, NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_ARRAY);
    CHECK(qnnrt_json_more(&r));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_ARRAY);
    CHECK(qnnrt_json_more(&r));
    /* Leave the object before its value is read. */
    CHECK(qnnrt_json_leave(&r));
    CHECK_EQ(r.depth, 1);
    CHECK(qnnrt_json_more(&r));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
    /* Leave the object before any member is read. */
    CHECK(qnnrt_json_leave(&r));
    CHECK_EQ(r.depth, 1);
    CHECK(qnnrt_json_more(&r));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NUMBER);
    CHECK(r.value.text[0] == '8');
    CHECK(qnnrt_json_leave(&r));
    CHECK_EQ(r.depth, 0);
    /* Without an open bracket the call does nothing. */
    CHECK(qnnrt_json_leave(&r));
    CHECK(qnnrt_json_end(&r) && qnnrt_json_end(&r));
    qnnrt_json_begin(&r, T("[1, [2, x], 3]"), NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_ARRAY);
    CHECK(!qnnrt_json_leave(&r));
    CHECK_EQ(r.error_at, 8);
}

TEST(json_calls_that_are_not_due_are_named)
{
    /* The second value is not read, because the comma is missing. */
    qnnrt_json_begin(&r, T("[1 2]"), NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_ARRAY);
    CHECK(qnnrt_json_more(&r));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NUMBER);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NONE);
    CHECK_STR(r.error, "no value is due here");
    CHECK_EQ(r.error_at, 3);

    /* Read an element without a call of qnnrt_json_more(). */
    qnnrt_json_begin(&r, T("[1]"), NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_ARRAY);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NONE);
    CHECK_STR(r.error, "no value is due here");

    qnnrt_json_begin(&r, T("{\"a\":1}"), NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
    CHECK(qnnrt_json_skip(&r) && qnnrt_json_end(&r));       /* skip what is left of the document */
    CHECK(qnnrt_json_skip(&r) && qnnrt_json_end(&r));

    qnnrt_json_begin(&r, T("1 2"), NULL);                   /* a second document */
    CHECK(qnnrt_json_skip(&r));
    CHECK(qnnrt_json_skip(&r) && !qnnrt_json_end(&r));
    CHECK_STR(r.error, "there is text after the document");
    CHECK_EQ(r.error_at, 2);

    qnnrt_json_begin(&r, T("{\"a\":,\"b\":1}"), NULL);  /* the value is missing before the comma */
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
    CHECK(qnnrt_json_more(&r));
    CHECK(!qnnrt_json_more(&r));
    CHECK_STR(r.error, "the last value was not read");

    qnnrt_json_begin(&r, T("[]"), NULL);                    /* depth 0 has no further values */
    CHECK(!qnnrt_json_more(&r) && r.error == NULL);
    CHECK(qnnrt_json_leave(&r) && r.error == NULL);
    CHECK(!qnnrt_json_end(&r));
    CHECK_STR(r.error, "nothing was read");
    CHECK_EQ(r.error_at, 0);

    qnnrt_json_begin(&r, T("[]"), NULL);
    CHECK(qnnrt_json_skip(&r) && !qnnrt_json_more(&r) && qnnrt_json_leave(&r) && qnnrt_json_end(&r));
    CHECK(qnnrt_json_skip(&r) && qnnrt_json_end(&r));       /* already past the end */
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NONE);
}

TEST(json_the_first_error_stays)
{
    qnnrt_json_begin(&r, T("{\"a\":[1,tru],\"b\":2}"), NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
    CHECK(qnnrt_json_more(&r));
    CHECK(!qnnrt_json_skip(&r));
    CHECK_STR(r.error, "a value was expected");
    CHECK_EQ(r.error_at, 8);
    CHECK(!qnnrt_json_more(&r) && !qnnrt_json_leave(&r) && !qnnrt_json_skip(&r) && !qnnrt_json_end(&r));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_NONE);
    CHECK_EQ(r.type, QNNRT_JSON_NONE);
    CHECK_STR(r.error, "a value was expected");
    CHECK_EQ(r.error_at, 8);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

TEST(json_integers_are_exact_to_their_borders)
{
    static const struct { const char *text; int u_ok; uint64_t u; int i_ok; int64_t i; } cases[] = {
        { "0", 1, 0, 1, 0 },
        { "-0", 0, 0, 1, 0 },
        { "1", 1, 1, 1, 1 },
        { "-1", 0, 0, 1, -1 },
        { "9223372036854775807", 1, (uint64_t)INT64_MAX, 1, INT64_MAX },
        { "9223372036854775808", 1, (uint64_t)1 << 63, 0, 0 },
        { "-9223372036854775808", 0, 0, 1, INT64_MIN },
        { "-9223372036854775809", 0, 0, 0, 0 },
        { "18446744073709551615", 1, UINT64_MAX, 0, 0 },
        { "18446744073709551616", 0, 0, 0, 0 },
        { "18446744073709551620", 0, 0, 0, 0 },
        { "99999999999999999999", 0, 0, 0, 0 },
        { "184467440737095516150", 0, 0, 0, 0 },
        { "1.0", 0, 0, 0, 0 },
        { "1e0", 0, 0, 0, 0 },
        { "1E2", 0, 0, 0, 0 },
        { "-", 0, 0, 0, 0 },
        { "--1", 0, 0, 0, 0 },
        { "-01", 0, 0, 0, 0 },
        { "4294967296", 1, (uint64_t)1 << 32, 1, (int64_t)1 << 32 },
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        const qnnrt_json_text t = number(cases[i].text);
        uint64_t u = 7;
        int64_t s = 7;
        CHECK_EQ(qnnrt_json_u64(&t, &u), cases[i].u_ok);
        CHECK_EQ(u, cases[i].u);
        CHECK_EQ(qnnrt_json_i64(&t, &s), cases[i].i_ok);
        CHECK_EQ(s, cases[i].i);
    }
}

typedef struct sample { const char *text; uint64_t f64; uint32_t f32; } sample;

static const sample samples[] = {
    { "0", 0, 0 },
    { "-0", UINT64_C(0x8000000000000000), 0x80000000u },
    { "1", UINT64_C(0x3FF0000000000000), 0x3F800000u },
    { "0.1", UINT64_C(0x3FB999999999999A), 0x3DCCCCCDu },
    { "-0.1", UINT64_C(0xBFB999999999999A), 0xBDCCCCCDu },
    { "1.1", UINT64_C(0x3FF199999999999A), 0x3F8CCCCDu },
    { "1e23", UINT64_C(0x44B52D02C7E14AF6), 0x65A96816u },
    { "8388608.5", UINT64_C(0x4160000010000000), 0x4B000000u },             /* halfway: to even */
    { "8388609.5", UINT64_C(0x4160000030000000), 0x4B000002u },
    { "16777217", UINT64_C(0x4170000010000000), 0x4B800000u },
    { "9007199254740993", UINT64_C(0x4340000000000000), 0x5A000000u },
    { "9007199254740995", UINT64_C(0x4340000000000002), 0x5A000000u },
    { "9007199254740993.0000000000000001", UINT64_C(0x4340000000000001), 0x5A000000u },
    { "1.7976931348623157e308", UINT64_C(0x7FEFFFFFFFFFFFFF), 0x7F800000u },
    { "1.7976931348623158e308", UINT64_C(0x7FEFFFFFFFFFFFFF), 0x7F800000u },
    { "1.7976931348623159e308", UINT64_C(0x7FF0000000000000), 0x7F800000u },
    { "1.8e308", UINT64_C(0x7FF0000000000000), 0x7F800000u },
    { "3e308", UINT64_C(0x7FF0000000000000), 0x7F800000u },                 /* below 2^1025 */
    { "-1e309", UINT64_C(0xFFF0000000000000), 0xFF800000u },
    { "5e38", UINT64_C(0x47F78287F49C4A1D), 0x7F800000u },                  /* below 2^129 */
    { "340282356779733661637539395458142568448", UINT64_C(0x47EFFFFFF0000000), 0x7F800000u },    /* halfway to infinity */
    { "340282356779733661637539395458142568447", UINT64_C(0x47EFFFFFF0000000), 0x7F7FFFFFu },
    { "2.2250738585072014e-308", UINT64_C(0x0010000000000000), 0 },
    { "2.2250738585072011e-308", UINT64_C(0x000FFFFFFFFFFFFF), 0 },
    { "4.9e-324", 1, 0 },
    { "2.4703282292062328e-324", 1, 0 },
    { "2.4703282292062327e-324", 0, 0 },
    { "-1e-400", UINT64_C(0x8000000000000000), 0x80000000u },
    { "1.1754943508222875e-38", UINT64_C(0x3810000000000000), 0x00800000u },
    { "1.401298464324817e-45", UINT64_C(0x36A0000000000000), 1 },
    { "7.006492321624086e-46", UINT64_C(0x3690000000000000), 1 },           /* one float64, but not one float32 */
    { "7.006492321624085e-46", UINT64_C(0x3690000000000000), 0 },
    { "5.684341886080802e-14", UINT64_C(0x3D30000000000000), 0x29800000u },
};

static int samples_read(void)
{
    size_t i;
    int good = 1;
    for (i = 0; i < sizeof(samples) / sizeof(samples[0]); ++i) {
        const qnnrt_json_text t = number(samples[i].text);
        double d = 7;
        float f = 7;
        const int ok64 = qnnrt_json_f64(&t, &d), ok32 = qnnrt_json_f32(&t, &f);
        if (bits_of(d) != samples[i].f64 || bits32_of(f) != samples[i].f32 ||
            ok64 != ((samples[i].f64 >> 52 & 0x7FF) != 0x7FF) || ok32 != ((samples[i].f32 >> 23 & 0xFF) != 0xFF)) {
            printf("%s: %d %016llx, %d %08lx\n", samples[i].text, ok64, (unsigned long long)bits_of(d), ok32,
                   (unsigned long)bits32_of(f));
            good = 0;
        }
    }
    return good;
}

TEST(json_floats_are_rounded_once_to_the_nearest)
{
    CHECK(samples_read());
}

TEST(json_division_and_product_of_words_are_exact)
{
    int i;
    for (i = 0; i < 20000; ++i) {
        uint64_t d = rng() | (uint64_t)1 << 63, high, quotient, low, slow_low = 0, slow_high = 0, rest, a, b;
        int left, bit;
        if (i % 4 == 1) d = ((uint64_t)1 << 63) + rng() % 4;
        if (i % 4 == 2) d = UINT64_MAX - rng() % 4;
        if (i % 4 == 3) d &= ~(uint64_t)0xFFFFFFFFu;
        high = i % 3 == 0 ? d - 1 - rng() % 4 : rng() % d;
        quotient = qnnrt_json__divide(high, d, &left);
        /* The reference: long division, bit by bit. */
        for (bit = 0, rest = high, a = 0; bit < 64; ++bit) {
            const int carry = (int)(rest >> 63);
            rest <<= 1;
            a <<= 1;
            if (carry || rest >= d) { rest -= d; a |= 1; }
        }
        CHECK_EQ(quotient, a);
        CHECK_EQ(left, rest != 0);
        a = rng() >> rng() % 64;
        b = rng() >> rng() % 64;
        high = qnnrt_json__multiply(a, b, &low);
        for (bit = 64; bit-- > 0;) {
            slow_high = slow_high << 1 | slow_low >> 63;
            slow_low <<= 1;
            if (b >> bit & 1) { slow_low += a; slow_high += slow_low < a; }
        }
        CHECK_EQ(high, slow_high);
        CHECK_EQ(low, slow_low);
    }
}

TEST(json_the_nearest_float_lies_between_its_boundaries)
{
    int i;
    for (i = 0; i < 20000; ++i) {
        qnnrt_json__decimal d;
        int way;
        memset(&d, 0, sizeof(d));
        d.w = (rng() >> rng() % 64) % UINT64_C(10000000000000000000);
        if (d.w == 0) d.w = 1;
        d.exponent = (int64_t)(rng() % (i % 2 == 0 ? 672 : 56)) - (i % 2 == 0 ? 363 : 28);
        for (way = 0; way < 2; ++way) {
            int64_t e;
            uint64_t kept = qnnrt_json__nearest(&d, way == 0 ? 53 : 24, way == 0 ? -1074 : -149, &e);
            int above = qnnrt_json__against(&d, kept * 2 + 1, e - 1);
            int below = kept > 0 ? qnnrt_json__against(&d, kept * 2 - 1, e - 1) : 1;
            CHECK(above < 0 || (above == 0 && (kept & 1) == 0));
            CHECK(below > 0 || (below == 0 && (kept & 1) == 0));
        }
    }
}

/* ---- the writer -------------------------------------------------------------------------------- */

static struct { char text[65536]; size_t used, calls, fail_at; } sink;

static int sink_write(void *user, const char *text, size_t bytes)
{
    if (user != (void *)&sink || bytes == 0 || sink.used + bytes >= sizeof(sink.text)) abort();
    if (++sink.calls == sink.fail_at) return 0;
    memcpy(sink.text + sink.used, text, bytes);
    sink.used += bytes;
    sink.text[sink.used] = 0;
    return 1;
}

static qnnrt_json_writer w;

static void begin(uint32_t indent)
{
    memset(&sink, 0, sizeof(sink));
    memset(&w, 0xFF, sizeof(w));
    qnnrt_json_write_begin(&w, sink_write, &sink, indent);
}

#define WRITTEN(want) \
    do { \
        CHECK(qnnrt_json_write_end(&w) && w.error == NULL); \
        CHECK_STR(sink.text, want); \
        CHECK_EQ(sink.used, strlen(want)); \
    } while (0)

/* Check an error of the program: it is named, later calls write nothing, and it stays. */
#define MISTAKE(want) \
    do { \
        const size_t before = sink.used; \
        CHECK_STR(w.error, want); \
        qnnrt_json_write_close(&w); \
        qnnrt_json_write_key(&w, "k"); \
        qnnrt_json_write_string(&w, "s"); \
        qnnrt_json_write_u64(&w, 1); \
        qnnrt_json_write_i64(&w, -1); \
        qnnrt_json_write_f64(&w, 1); \
        qnnrt_json_write_f32(&w, HUGE_VALF); \
        qnnrt_json_write_bool(&w, 1); \
        qnnrt_json_write_null(&w); \
        qnnrt_json_write_array(&w, 0); \
        qnnrt_json_write_object(&w, 1); \
        CHECK(!qnnrt_json_write_end(&w)); \
        CHECK_STR(w.error, want); \
        CHECK_EQ(sink.used, before); \
    } while (0)

/* Write an object with some of everything, and close it. */
static void write_some(void)
{
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_key(&w, "a");
    qnnrt_json_write_u64(&w, 1);
    qnnrt_json_write_key(&w, "b");
    qnnrt_json_write_array(&w, 1);
    qnnrt_json_write_f32(&w, 0.5f);
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_key(&w, "in");
    qnnrt_json_write_array(&w, 0);
    qnnrt_json_write_close(&w);
    qnnrt_json_write_key(&w, "one");
    qnnrt_json_write_i64(&w, -1);
    qnnrt_json_write_close(&w);
    qnnrt_json_write_array(&w, 1);
    qnnrt_json_write_null(&w);
    qnnrt_json_write_close(&w);
    qnnrt_json_write_close(&w);
    qnnrt_json_write_key(&w, "c");
    qnnrt_json_write_array(&w, 0);
    qnnrt_json_write_bool(&w, 1);
    qnnrt_json_write_bool(&w, 0);
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_close(&w);
    qnnrt_json_write_array(&w, 0);
    qnnrt_json_write_close(&w);
    qnnrt_json_write_string(&w, NULL);
    qnnrt_json_write_close(&w);
    qnnrt_json_write_key(&w, NULL);
    qnnrt_json_write_string(&w, "");
    qnnrt_json_write_close(&w);
}

TEST(json_written_layout_follows_indent_and_one_line)
{
    begin(2);
    write_some();
    WRITTEN("{\n"
            "  \"a\": 1,\n"
            "  \"b\": [0.5, {\"in\": [], \"one\": -1}, [null]],\n"
            "  \"c\": [\n"
            "    true,\n"
            "    false,\n"
            "    {},\n"
            "    [],\n"
            "    null\n"
            "  ],\n"
            "  \"\": \"\"\n"
            "}\n");
    TRY(accepted(sink.text, sink.used));
    begin(0);
    write_some();
    WRITTEN("{\"a\": 1, \"b\": [0.5, {\"in\": [], \"one\": -1}, [null]], \"c\": [true, false, {}, [], null], \"\": \"\"}\n");
    TRY(accepted(sink.text, sink.used));
    begin(1);
    qnnrt_json_write_array(&w, 0);
    qnnrt_json_write_array(&w, 0);
    qnnrt_json_write_array(&w, 1);
    qnnrt_json_write_close(&w);
    qnnrt_json_write_u64(&w, 1);
    qnnrt_json_write_close(&w);
    qnnrt_json_write_close(&w);
    WRITTEN("[\n [\n  [],\n  1\n ]\n]\n");
    begin(4);
    qnnrt_json_write_bool(&w, 7);
    WRITTEN("true\n");
    CHECK(qnnrt_json_write_end(&w));                   /* a second call writes nothing */
    CHECK_STR(sink.text, "true\n");
    CHECK_EQ(sink.used, 5);
    qnnrt_json_write_null(&w);
    MISTAKE("a second document");
}

TEST(json_writer_names_every_mistake_and_stops)
{
    begin(0);
    CHECK(!qnnrt_json_write_end(&w));
    MISTAKE("no value was written");
    begin(0);
    qnnrt_json_write_key(&w, "a");
    MISTAKE("a key outside an object");
    begin(0);
    qnnrt_json_write_array(&w, 0);
    qnnrt_json_write_key(&w, "a");
    MISTAKE("a key outside an object");
    begin(0);
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_key(&w, "a");
    qnnrt_json_write_key(&w, "b");
    MISTAKE("a key without a value");
    begin(0);
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_key(&w, "a");
    qnnrt_json_write_close(&w);
    MISTAKE("a key without a value");
    begin(0);
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_u64(&w, 1);
    MISTAKE("a member without a key");
    begin(0);
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_object(&w, 0);
    MISTAKE("a member without a key");
    begin(0);
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_string(&w, NULL);
    MISTAKE("a member without a key");
    begin(0);
    qnnrt_json_write_close(&w);
    MISTAKE("a closing bracket without an opening one");
    begin(0);
    qnnrt_json_write_array(&w, 0);
    qnnrt_json_write_close(&w);
    qnnrt_json_write_close(&w);
    MISTAKE("a closing bracket without an opening one");
    begin(0);
    qnnrt_json_write_array(&w, 0);
    CHECK(!qnnrt_json_write_end(&w));
    MISTAKE("an open bracket at the end");
    begin(0);
    qnnrt_json_write_u64(&w, 1);
    qnnrt_json_write_string(&w, "a");
    MISTAKE("a second document");
    begin(0);
    qnnrt_json_write_array(&w, 0);
    qnnrt_json_write_close(&w);
    qnnrt_json_write_array(&w, 0);
    MISTAKE("a second document");
    begin(0);
    qnnrt_json_write_f64(&w, HUGE_VAL);
    MISTAKE("a number that is not finite");
    begin(0);
    qnnrt_json_write_f64(&w, (double)NAN);
    MISTAKE("a number that is not finite");
    begin(0);
    qnnrt_json_write_f32(&w, -HUGE_VALF);
    MISTAKE("a number that is not finite");
    begin(0);
    qnnrt_json_write_f32(&w, NAN);
    MISTAKE("a number that is not finite");
}

TEST(json_writer_opens_as_many_brackets_as_a_reader_can)
{
    qnnrt_json_limits limits;
    int i;
    memset(&limits, 0, sizeof(limits));
    limits.depth = QNNRT_JSON_DEPTH;
    begin(0);
    for (i = 0; i < QNNRT_JSON_DEPTH; ++i) {
        if (i % 3 == 1) { qnnrt_json_write_object(&w, 0); qnnrt_json_write_key(&w, "k"); }
        else qnnrt_json_write_array(&w, i == 1000);
    }
    if (i % 3 != 2) qnnrt_json_write_u64(&w, 1);
    else qnnrt_json_write_null(&w);
    for (i = 0; i < QNNRT_JSON_DEPTH; ++i) qnnrt_json_write_close(&w);
    CHECK(qnnrt_json_write_end(&w));
    CHECK(skipped(sink.text, sink.used, &limits));
    begin(0);
    for (i = 0; i <= QNNRT_JSON_DEPTH; ++i) {
        CHECK(w.error == NULL);
        qnnrt_json_write_array(&w, 0);
    }
    MISTAKE("more open brackets than a reader accepts");
}

TEST(json_writer_stops_when_the_text_is_not_taken)
{
    size_t fail_at, calls;
    int i;
    for (fail_at = 1; fail_at <= 4; ++fail_at) {
        begin(0);
        sink.fail_at = fail_at;
        qnnrt_json_write_array(&w, 0);
        for (i = 0; i < 1000; ++i) qnnrt_json_write_string(&w, "0123456789");
        qnnrt_json_write_close(&w);
        calls = sink.calls;
        CHECK(fail_at == 4 ? w.error == NULL : w.error != NULL);
        CHECK(!qnnrt_json_write_end(&w));
        CHECK_STR(w.error, "the text could not be written");
        CHECK_EQ(sink.calls, fail_at);
        CHECK(calls <= fail_at);
        CHECK(sink.used <= (fail_at - 1) * QNNRT_JSON_BUFFER);
        MISTAKE("the text could not be written");
    }
    /* After an error past the first full buffer, the next buffer is not written. */
    begin(0);
    qnnrt_json_write_array(&w, 0);
    for (i = 0; i < 500; ++i) qnnrt_json_write_string(&w, "0123456789");
    CHECK_EQ(sink.calls, 1);
    qnnrt_json_write_f64(&w, HUGE_VAL);
    MISTAKE("a number that is not finite");
    CHECK_EQ(sink.calls, 1);
    CHECK_EQ(sink.used, QNNRT_JSON_BUFFER);
}

TEST(json_written_strings_are_valid_whatever_they_hold)
{
    char text[300], want[2000];
    size_t used = 0;
    int c;
    begin(0);
    qnnrt_json_write_array(&w, 0);
    qnnrt_json_write_string(&w, "\"\\/ \b\f\n\r\t\x01\x1F\x7F");
    qnnrt_json_write_string(&w, "\xC2\x80\xC2\x9F\xC2\xA0\xC3\xA9\xE2\x82\xAC\xEF\xBF\xBF\xF0\x9F\x98\x80");
    qnnrt_json_write_string(&w, "a\x80" "b\xFF\xC0\xAF");
    qnnrt_json_write_string(&w, "\xED\xA0\x80\xE2\x82");
    qnnrt_json_write_string(&w, "\xF4\x90\x80\x80\xC3");
    qnnrt_json_write_close(&w);
    WRITTEN("[\"\\\"\\\\/ \\u0008\\u000c\\u000a\\u000d\\u0009\\u0001\\u001f\\u007f\", "
            "\"\\u0080\\u009f\xC2\xA0\xC3\xA9\xE2\x82\xAC\xEF\xBF\xBF\xF0\x9F\x98\x80\", "
            "\"a\\ufffdb\\ufffd\\ufffd\\ufffd\", \"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\", "
            "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"]\n");
    TRY(accepted(sink.text, sink.used));

    /* Every byte, as a key and as a value. */
    for (c = 1; c < 256; ++c) text[c - 1] = (char)c;
    text[255] = 0;
    begin(0);
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_key(&w, text);
    qnnrt_json_write_string(&w, text);
    qnnrt_json_write_close(&w);
    CHECK(qnnrt_json_write_end(&w));
    for (used = 0, c = 1; c < 256; ++c) {
        if (c < 0x80) want[used++] = (char)c;
        else { memcpy(want + used, "\xEF\xBF\xBD", 3); used += 3; }
    }
    want[used] = 0;
    TRY(accepted(sink.text, sink.used));
    qnnrt_json_begin(&r, sink.text, sink.used, NULL);
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_OBJECT);
    CHECK(qnnrt_json_more(&r));
    CHECK(qnnrt_json_is(&r.key, want));
    CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_STRING);
    CHECK(qnnrt_json_is(&r.value, want));
    for (used = 0; used < sink.used - 1; ++used) CHECK((unsigned char)sink.text[used] >= 0x20 && (unsigned char)sink.text[used] < 0x7F);
}

/* Write a character as UTF-8, with a NUL. */
static void utf8_of(uint32_t code, char text[5])
{
    const size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char first[5] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    size_t i;
    for (i = length; i-- > 1; code >>= 6) text[i] = (char)(0x80 | (code & 0x3F));
    text[0] = (char)(first[length] | code);
    text[length] = '\0';
}

TEST(json_written_characters_that_are_not_seen_are_escaped)
{
    static const uint32_t hidden[][2] = {
        { 0x01, 0x1F }, { 0x7F, 0x9F }, { 0xAD, 0xAD }, { 0x61C, 0x61C }, { 0x180E, 0x180E }, { 0x200B, 0x200F }, { 0x2028, 0x202E },
        { 0x2060, 0x206F }, { 0xFEFF, 0xFEFF }, { 0xFFF9, 0xFFFB }, { 0xE0000, 0xE007F }
    };
    uint32_t code;
    size_t i;
    for (code = 1; code <= 0x10FFFF; code += code < 0x20000 || code >> 8 == 0xE00 ? 1 : 0xFF) {
        char text[5], want[16];
        int hide = 0;
        if (code >= 0xD800 && code <= 0xDFFF) continue;
        for (i = 0; i < sizeof(hidden) / sizeof(hidden[0]); ++i)
            hide |= code >= hidden[i][0] && code <= hidden[i][1];
        utf8_of(code, text);
        if (hide && code > 0xFFFF)
            snprintf(want, sizeof(want), "\"\\u%04x\\u%04x\"\n", (unsigned)(0xD800 + ((code - 0x10000) >> 10)),
                     (unsigned)(0xDC00 + ((code - 0x10000) & 0x3FF)));
        else if (hide) snprintf(want, sizeof(want), "\"\\u%04x\"\n", (unsigned)code);
        else snprintf(want, sizeof(want), "\"%s%s\"\n", code == '"' || code == '\\' ? "\\" : "", text);
        begin(0);
        qnnrt_json_write_string(&w, text);
        WRITTEN(want);
        qnnrt_json_begin(&r, sink.text, sink.used, NULL);
        CHECK_EQ(qnnrt_json_value(&r), QNNRT_JSON_STRING);
        CHECK(qnnrt_json_is(&r.value, text));
    }
    begin(0);
    qnnrt_json_write_object(&w, 0);
    qnnrt_json_write_key(&w, "a\xE2\x80\xAE" "b\xD8\x9C");
    qnnrt_json_write_string(&w, "\xE2\x81\xA6x\xE2\x81\xA9\xEF\xBB\xBF");
    qnnrt_json_write_close(&w);
    WRITTEN("{\"a\\u202eb\\u061c\": \"\\u2066x\\u2069\\ufeff\"}\n");
}

TEST(json_written_strings_pass_the_buffers_border_at_any_place)
{
    size_t length, i;
    static char text[9000];
    for (length = 4080; length < 4110; ++length) {
        memset(text, 'x', length);
        memcpy(text + length, "\xE2\x82\xAC\n\"\xFF", 7);
        begin(0);
        qnnrt_json_write_string(&w, text);
        CHECK(qnnrt_json_write_end(&w));
        CHECK_EQ(sink.used, 1 + length + 3 + 6 + 2 + 6 + 2);
        TRY(accepted(sink.text, sink.used));
        for (i = 0; i < length; ++i) CHECK(sink.text[i + 1] == 'x');
        CHECK_STR(sink.text + 1 + length, "\xE2\x82\xAC\\u000a\\\"\\ufffd\"\n");
    }
}

static const struct { double value; const char *text; } printed64[] = {
    { 0, "0.0" }, { -0.0, "-0.0" }, { 1, "1.0" }, { -1, "-1.0" }, { 10, "10.0" }, { 0.1, "0.1" }, { 0.5, "0.5" },
    { 123456.789, "123456.789" }, { 1e15, "1000000000000000.0" }, { 1e20, "100000000000000000000.0" },
    { 123456789012345680000.0, "123456789012345680000.0" }, { 1e21, "1e21" }, { 1.5e300, "1.5e300" }, { 1e-6, "0.000001" },
    { 1.25e-6, "0.00000125" }, { 1e-7, "1e-7" }, { -1.5e-10, "-1.5e-10" }, { 1e100, "1e100" }, { 1e-100, "1e-100" },
    { DBL_MAX, "1.7976931348623157e308" }, { -DBL_MAX, "-1.7976931348623157e308" }, { DBL_MIN, "2.2250738585072014e-308" },
    { 4.9406564584124654e-324, "5e-324" }, { 0.30000000000000004, "0.30000000000000004" },
    { 9007199254740992.0, "9007199254740992.0" }, { 5.684341886080802e-14, "5.684341886080802e-14" },
    { 1125899906842624.25, "1125899906842624.2" }, { -1.2345678901234567e-6, "-0.0000012345678901234567" },
    { 999999999999999900000.0, "999999999999999900000.0" }, { 0.3, "0.3" }, { 9.5, "9.5" },
};
static const struct { float value; const char *text; } printed32[] = {
    { 0, "0.0" }, { -0.0f, "-0.0" }, { 0.1f, "0.1" }, { 0.003921569f, "0.003921569" }, { 16777216.0f, "16777216.0" },
    { FLT_MAX, "3.4028235e38" }, { FLT_MIN, "1.1754944e-38" }, { 1.4e-45f, "1e-45" }, { 1e21f, "1e21" }, { 1e20f, "100000000000000000000.0" },
    { 3.1415927f, "3.1415927" }, { 1e-6f, "0.000001" }, { 1e-7f, "1e-7" }, { 9.8607613e-32f, "9.8607613e-32" },
};

/* Write each number as a document. Return 1 when all are right. */
static int printed_right(void)
{
    size_t i;
    int good = 1;
    for (i = 0; i < sizeof(printed64) / sizeof(printed64[0]); ++i) {
        begin(0);
        qnnrt_json_write_f64(&w, printed64[i].value);
        good &= qnnrt_json_write_end(&w) && sink.used == strlen(printed64[i].text) + 1 &&
                memcmp(sink.text, printed64[i].text, sink.used - 1) == 0;
        if (!good) { printf("%s: %s", printed64[i].text, sink.text); return 0; }
    }
    for (i = 0; i < sizeof(printed32) / sizeof(printed32[0]); ++i) {
        begin(0);
        qnnrt_json_write_f32(&w, printed32[i].value);
        good &= qnnrt_json_write_end(&w) && sink.used == strlen(printed32[i].text) + 1 &&
                memcmp(sink.text, printed32[i].text, sink.used - 1) == 0;
        if (!good) { printf("%s: %s", printed32[i].text, sink.text); return 0; }
    }
    return good;
}

TEST(json_written_numbers_are_short_and_exact)
{
    CHECK(printed_right());
    begin(0);
    qnnrt_json_write_array(&w, 0);
    qnnrt_json_write_u64(&w, 0);
    qnnrt_json_write_u64(&w, UINT64_MAX);
    qnnrt_json_write_i64(&w, 0);
    qnnrt_json_write_i64(&w, INT64_MIN);
    qnnrt_json_write_i64(&w, INT64_MAX);
    qnnrt_json_write_i64(&w, -10);
    qnnrt_json_write_close(&w);
    WRITTEN("[0, 18446744073709551615, 0, -9223372036854775808, 9223372036854775807, -10]\n");
}

/* Return 1 when our reader and the C library read a float back from its text with every bit. */
static int reads_back(uint64_t bits, int single)
{
    qnnrt_json_text t;
    uint32_t bits32 = (uint32_t)bits, back32;
    uint64_t back;
    double d;
    float f;
    begin(0);
    if (single) { memcpy(&f, &bits32, sizeof(f)); qnnrt_json_write_f32(&w, f); }
    else { memcpy(&d, &bits, sizeof(d)); qnnrt_json_write_f64(&w, d); }
    if (!qnnrt_json_write_end(&w) || sink.used > 27) return 0;
    memset(&t, 0, sizeof(t));
    t.text = sink.text;
    t.bytes = sink.used - 1;
    if (single) {
        if (!qnnrt_json_f32(&t, &f)) return 0;
        back32 = bits32_of(f);
        return back32 == bits32 && bits32_of(strtof(sink.text, NULL)) == bits32;
    }
    if (!qnnrt_json_f64(&t, &d)) return 0;
    back = bits_of(d);
    return back == bits && bits_of(strtod(sink.text, NULL)) == bits;
}

TEST(json_written_floats_read_back_with_every_bit)
{
    uint64_t i;
    int power;
    for (power = 0; power < 0x7FF; ++power) {
        CHECK(reads_back((uint64_t)power << 52, 0));
        CHECK(reads_back(((uint64_t)power << 52) + 1, 0));
        CHECK(reads_back(((uint64_t)(power + 1) << 52) - 1, 0));
    }
    for (power = 0; power < 0xFF; ++power) {
        CHECK(reads_back((uint64_t)power << 23, 1));
        CHECK(reads_back(((uint64_t)power << 23) + 1, 1));
        CHECK(reads_back(((uint64_t)(power + 1) << 23) - 1, 1));
    }
    for (i = 0; i < 20000; ++i) {
        uint64_t bits = rng();
        if ((bits >> 52 & 0x7FF) != 0x7FF) CHECK(reads_back(bits, 0));
        bits &= 0xFFFFFFFFu;
        if ((bits >> 23 & 0xFF) != 0xFF) CHECK(reads_back(bits, 1));
    }
    for (i = 1; i < 20000; ++i) CHECK(reads_back(i, 1) && reads_back(i, 0));       /* the smallest */
}

/* ---- what the process may have set --------------------------------------------------------------- */

TEST(json_no_rounding_mode_changes_a_number)
{
    static const int modes[] = {
#ifdef FE_UPWARD
        FE_UPWARD,
#endif
#ifdef FE_DOWNWARD
        FE_DOWNWARD,
#endif
#ifdef FE_TOWARDZERO
        FE_TOWARDZERO,
#endif
        FE_TONEAREST
    };
    const int before = fegetround();
    size_t i;
    for (i = 0; i < sizeof(modes) / sizeof(modes[0]); ++i) {
        int read_right, print_right;
        if (fesetround(modes[i]) != 0) continue;
        read_right = samples_read();
        print_right = printed_right();
        fesetround(before);
        CHECK(read_right && print_right);
    }
}

TEST(json_no_locale_changes_a_number)      /* a decimal comma */
{
    static const char *names[] = { "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR", "ru_RU.UTF-8" };
    int found = 0, read_right, print_right;
    size_t i, refused_right = 0;
    for (i = 0; i < sizeof(names) / sizeof(names[0]) && !found; ++i)
        found = setlocale(LC_ALL, names[i]) != NULL && localeconv()->decimal_point[0] == ',';
    if (!found) {
        setlocale(LC_ALL, "C");
        SKIP("no locale with a decimal comma is installed");
    }
    read_right = samples_read();
    print_right = printed_right();
    for (i = 0; i < sizeof(wrong_numbers) / sizeof(wrong_numbers[0]); ++i)
        refused_right += !skipped(wrong_numbers[i].text, wrong_numbers[i].bytes, NULL);
    setlocale(LC_ALL, "C");
    CHECK(read_right && print_right);
    CHECK_EQ(refused_right, i);
}

/* ---- the oracle ---------------------------------------------------------------------------------- */

TEST(json_numbers_agree_with_exact_fractions)
{
    const char *path = getenv("QNNRT_ORACLE");
    static char line[65536], text[65536];
    size_t read = 0, printed = 0;
    FILE *file;
    if (path == NULL) SKIP("QNNRT_ORACLE does not name the table");
    file = fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned long long want, want32;
        if (sscanf(line, "r %60000s %llx %llx", text, &want, &want32) == 3) {
            qnnrt_json_text t = number(text);
            double d = 7;
            float f = 7;
            const int ok64 = qnnrt_json_f64(&t, &d), ok32 = qnnrt_json_f32(&t, &f);
            if (bits_of(d) != want || bits32_of(f) != want32) fputs(line, stdout);
            CHECK_EQ(bits_of(d), want);
            CHECK_EQ(bits32_of(f), want32);
            CHECK_EQ(ok64, (want >> 52 & 0x7FF) != 0x7FF);
            CHECK_EQ(ok32, (want32 >> 23 & 0xFF) != 0xFF);
            ++read;
        } else if (sscanf(line, "d %llx %60000s", &want, text) == 2) {
            double d;
            uint64_t bits = want;
            memcpy(&d, &bits, sizeof(d));
            begin(0);
            qnnrt_json_write_f64(&w, d);
            strcat(text, "\n");
            CHECK(qnnrt_json_write_end(&w));
            if (strcmp(sink.text, text) != 0) printf("%s printed as %s", line, sink.text);
            CHECK(strcmp(sink.text, text) == 0);
            ++printed;
        } else if (sscanf(line, "f %llx %60000s", &want32, text) == 2) {
            float f;
            uint32_t bits = (uint32_t)want32;
            memcpy(&f, &bits, sizeof(f));
            begin(0);
            qnnrt_json_write_f32(&w, f);
            strcat(text, "\n");
            CHECK(qnnrt_json_write_end(&w));
            if (strcmp(sink.text, text) != 0) printf("%s printed as %s", line, sink.text);
            CHECK(strcmp(sink.text, text) == 0);
            ++printed;
        } else {
            CHECK_STR(line, "a kind that is known");
        }
    }
    fclose(file);
    CHECK(read > 10000 && printed > 8000);
}

TEST_MAIN("json")
{
    RUN(json_an_escaped_nul_is_a_byte_of_its_string);
    RUN(json_without_a_value_is_refused);
    RUN(json_5_million_blanks_are_stepped_over);
    RUN(json_truncated_at_every_byte_is_refused);
    RUN(json_cut_within_a_word_a_number_or_a_string_is_told);
    RUN(json_with_a_nul_is_refused);
    RUN(json_is_not_read_past_its_end_at_any_alignment);
    RUN(json_numbers_and_strings_are_not_read_past_their_end);
    RUN(json_byte_order_mark_is_stepped_over_once);
    RUN(json_utf16_is_refused);
    RUN(json_wrong_strings_are_refused);
    RUN(json_control_characters_are_refused_at_every_place);
    RUN(json_utf8_is_judged_as_decoding_judges_it);
    RUN(json_every_character_is_read_by_escape_and_as_it_is);
    RUN(json_strings_are_compared_by_what_they_mean);
    RUN(json_wrong_numbers_are_refused);
    RUN(json_a_text_that_is_no_number_gives_0);
    RUN(json_long_numbers_neither_wrap_nor_round_twice);
    RUN(json_extensions_are_refused);
    RUN(json_a_second_document_is_refused);
    RUN(json_nesting_of_100000_ends_at_the_limit);
    RUN(json_the_kind_of_every_open_bracket_is_known);
    RUN(json_200000_members_and_a_million_elements_are_read);
    RUN(json_5_megabytes_of_anything_end);
    RUN(json_equal_keys_are_both_delivered);
    RUN(json_files_of_any_layout_are_accepted);
    RUN(json_every_flipped_bit_and_changed_byte_gives_the_slow_readers_verdict);
    RUN(json_every_text_of_few_tokens_gives_the_slow_readers_verdict);
    RUN(json_text_over_the_limit_of_bytes_is_refused);
    RUN(json_text_of_64_mib_is_read);
    RUN(json_values_are_told_with_their_depth_and_text);
    RUN(json_value_is_reads_the_expected_string_and_nothing_else);
    RUN(json_value_u64_reads_plain_whole_numbers_and_nothing_else);
    RUN(json_more_as_says_2_for_the_expected_key_only);
    RUN(json_leave_reads_the_rest_and_closes);
    RUN(json_calls_that_are_not_due_are_named);
    RUN(json_the_first_error_stays);
    RUN(json_integers_are_exact_to_their_borders);
    RUN(json_floats_are_rounded_once_to_the_nearest);
    RUN(json_division_and_product_of_words_are_exact);
    RUN(json_the_nearest_float_lies_between_its_boundaries);
    RUN(json_written_layout_follows_indent_and_one_line);
    RUN(json_writer_names_every_mistake_and_stops);
    RUN(json_writer_opens_as_many_brackets_as_a_reader_can);
    RUN(json_writer_stops_when_the_text_is_not_taken);
    RUN(json_written_strings_are_valid_whatever_they_hold);
    RUN(json_written_characters_that_are_not_seen_are_escaped);
    RUN(json_written_strings_pass_the_buffers_border_at_any_place);
    RUN(json_written_numbers_are_short_and_exact);
    RUN(json_written_floats_read_back_with_every_bit);
    RUN(json_no_rounding_mode_changes_a_number);
    RUN(json_no_locale_changes_a_number);
    RUN(json_numbers_agree_with_exact_fractions);
}
