/* qnnrt_json.h - v0.5.0 - read and write JSON in C99, strictly, without allocating memory

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_JSON_IMPLEMENTATION            #include "qnnrt_json.h"
       #include "qnnrt_json.h"
   There is nothing to link. The file that implements qnnrt.h implements this header too: a program
   that uses both does not define QNNRT_JSON_IMPLEMENTATION.

       // {"name": "a", "scales": [0.5, 0.25], "more": {...}}
       qnnrt_json_reader r;
       qnnrt_json_begin(&r, text, bytes, NULL);
       if (qnnrt_json_value(&r) != QNNRT_JSON_OBJECT) return 0;
       while (qnnrt_json_more(&r)) {                                 // for each member
           if (!qnnrt_json_is(&r.key, "scales") || qnnrt_json_value(&r) != QNNRT_JSON_ARRAY) {
               qnnrt_json_skip(&r);                                  // of any type
               continue;
           }
           while (qnnrt_json_more(&r)) {                             // for each element
               float scale;
               if (qnnrt_json_value(&r) != QNNRT_JSON_NUMBER) return 0;
               if (!qnnrt_json_f32(&r.value, &scale)) return 0;
               use(scale);
           }
       }
       if (!qnnrt_json_end(&r)) printf("byte %u: %s\n", (unsigned)r.error_at, r.error);

   Reading  Each call reads one value from the caller's text. The text is not changed, needs no NUL
            at its end, and must stay in memory: strings and numbers point into it. No memory is
            allocated and no function is recursive; the reader keeps one bit for each open bracket.
            The text is read once, so the time is linear in its size for every content.
   Strict   RFC 8259 and nothing more: no comments, no trailing commas, no leading zeros, no NaN.
            UTF-8 is checked. Half a surrogate pair is an error in keys and values, read or skipped.
            A UTF-8 byte order mark before the text is skipped. Equal keys in one object are all
            delivered; the caller decides what they mean.
   Numbers  float32 and float64 are rounded once, half to even, from the exact decimal value, in any
            locale and rounding mode and without libm. Written numbers have the fewest digits that
            read back as the same number.
   Trust    The text may be hostile. Its size and depth are limited (64 MiB, 64 open brackets).
   Threads  There are no globals. One thread at a time uses a reader or a writer.
   Limits   The fast paths need GCC or Clang and a little-endian machine; otherwise plain loops run.

   BUILD OPTIONS, defined before this file is first included
       QNNRT_JSON_STATIC      every function is static (default: external)
       QNNRT_JSON_API         replaces the storage class and export attribute of all functions

   ROOMS (search for the tag)
       >>config >>text >>reader >>number >>decimal >>writer
*/
#ifndef QNNRT_JSON_H
#define QNNRT_JSON_H

#if defined(__cplusplus) ? __cplusplus < 201103L : !defined(__STDC_VERSION__)
#error "qnnrt_json.h needs C99 or C++11, or newer: -std=c99, -std=c++11"
#endif

#include <stddef.h>
#include <stdint.h>

#ifndef QNNRT_JSON_API
#if defined(QNNRT_JSON_STATIC) && defined(__GNUC__)
#define QNNRT_JSON_API static __attribute__((unused))
#elif defined(QNNRT_JSON_STATIC)
#define QNNRT_JSON_API static
#else
#define QNNRT_JSON_API extern
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------------- reading -- */

typedef enum qnnrt_json_type {
    QNNRT_JSON_NONE = 0,            /* no value, see reader.error */
    QNNRT_JSON_NULL, QNNRT_JSON_FALSE, QNNRT_JSON_TRUE,
    QNNRT_JSON_NUMBER, QNNRT_JSON_STRING, QNNRT_JSON_ARRAY, QNNRT_JSON_OBJECT
} qnnrt_json_type;

/* A part of the caller's text: a string without its quotes, or a number as written. */
typedef struct qnnrt_json_text {
    const char *text;
    size_t      bytes;
    int         escaped;            /* 1: contains escapes, see qnnrt_json_copy() */
} qnnrt_json_text;

/* Initializer of a qnnrt_json_text: QNNRT_JSON_TEXT("id") is { "id", 2, 0 }. */
#define QNNRT_JSON_TEXT(literal) { literal, sizeof(literal) - 1, 0 }

typedef struct qnnrt_json_limits {
    size_t   bytes;                 /* of the text (default 0: 64 MiB) */
    uint32_t depth;                 /* open brackets (default 0: 64; at most 1,024) */
} qnnrt_json_limits;

enum { QNNRT_JSON_DEPTH = 1024 };

typedef struct qnnrt_json_reader {
    qnnrt_json_text key, value;     /* key of the last member; last string or number */
    qnnrt_json_type type;           /* of the last value */
    uint32_t        depth;          /* number of open brackets */
    const char     *error;          /* NULL, or the first error */
    size_t          error_at;       /* offset of the error in the text, in bytes */
    /* private */
    const unsigned char *begin, *at, *end;
    uint32_t max_depth;
    int      state;                 /* what may come next: QNNRT_JSON__DUE, ... */
    uint64_t objects[QNNRT_JSON_DEPTH / 64];   /* bit d: the bracket at depth d is a brace */
} qnnrt_json_reader;

/* Begin to read a text. The text must stay valid until the reading ends. limits may be NULL. */
QNNRT_JSON_API void qnnrt_json_begin(qnnrt_json_reader *reader, const char *text, size_t bytes,
                                     const qnnrt_json_limits *limits);

/* Read the next value: the document, or the value that qnnrt_json_more() found. Call it once for
   each value. For an array or object it reads the opening bracket; read the content with
   qnnrt_json_more() until that returns 0.
   Returns the type of the value, or QNNRT_JSON_NONE after an error (see reader.error). */
QNNRT_JSON_API qnnrt_json_type qnnrt_json_value(qnnrt_json_reader *reader);

/* Read the next value if it is the string `expected`, a text without escapes. This is faster than
   qnnrt_json_value().
   Returns 1 when the string was read; 0 when the next value is a different one, which stays
   unread, or when expected->text is NULL. */
QNNRT_JSON_API int qnnrt_json_value_is(qnnrt_json_reader *reader, const qnnrt_json_text *expected);

/* Read the next value if it is a whole number from 0 to 10^19 - 1 without fraction and exponent.
   Returns 1 when *out received it; 0 when nothing was read and *out is 0. The value may then still
   be another kind of number. */
QNNRT_JSON_API int qnnrt_json_value_u64(qnnrt_json_reader *reader, uint64_t *out);

/* Go to the next element or member of the innermost open array or object.
   Returns 1 when there is one: read it with qnnrt_json_value() or qnnrt_json_skip() before the next
   call. In an object, reader.key is its key until a key within the value is read.
   Returns 0 after an error, or when the closing bracket was read; then the array or object around
   it is the innermost one. */
QNNRT_JSON_API int qnnrt_json_more(qnnrt_json_reader *reader);

/* Do the same as qnnrt_json_more(), but faster when the key of the next member is `expected`, a
   text without escapes. Returns 2 in that case. */
QNNRT_JSON_API int qnnrt_json_more_as(qnnrt_json_reader *reader, const qnnrt_json_text *expected);

/* Skip a value with all its content: the next one; or, after qnnrt_json_value(), the rest of the
   one that was read. Returns 0 after an error (see reader.error). */
QNNRT_JSON_API int qnnrt_json_skip(qnnrt_json_reader *reader);

/* Skip the rest of the innermost open array or object, with its closing bracket. Returns 0 after an
   error. */
QNNRT_JSON_API int qnnrt_json_leave(qnnrt_json_reader *reader);

/* Return 1 when the document was read to its end without an error, and only blanks follow it. */
QNNRT_JSON_API int qnnrt_json_end(qnnrt_json_reader *reader);

/* Return 1 when a string equals a literal. Escapes are resolved before the comparison. */
QNNRT_JSON_API int qnnrt_json_is(const qnnrt_json_text *text, const char *literal);

/* Copy a string to `out` with its escapes resolved, and end it with a NUL. out must have room for
   text->bytes + 1 bytes, which is always enough. Returns the number of bytes without that NUL. The
   escape \u0000 becomes a NUL byte, so strlen(out) is smaller in that case. */
QNNRT_JSON_API size_t qnnrt_json_copy(const qnnrt_json_text *text, char *out);

/* Convert a number. Returns 1 when *out received it; 0 when the text is not a number or does not
   fit, and *out is 0. For integers a fraction, an exponent and a value out of range do not fit. For
   floats a value that rounds to infinity does not fit; *out is that infinity.
   Cost: a float about 25 ns, some microseconds with hundreds of digits. */
QNNRT_JSON_API int qnnrt_json_u64(const qnnrt_json_text *number, uint64_t *out);
QNNRT_JSON_API int qnnrt_json_i64(const qnnrt_json_text *number, int64_t *out);
QNNRT_JSON_API int qnnrt_json_f64(const qnnrt_json_text *number, double *out);
QNNRT_JSON_API int qnnrt_json_f32(const qnnrt_json_text *number, float *out);

/* ----------------------------------------------------------------------------------- writing -- */

enum { QNNRT_JSON_BUFFER = 4096 };

typedef struct qnnrt_json_writer {
    const char *error;              /* NULL, or the first error; nothing is written after it */
    /* private */
    int     (*write)(void *user, const char *text, size_t bytes);
    void     *user;
    uint32_t  indent, depth, line_depth, used;
    int       filled, key, done;    /* done: 1 when the value is complete, 2 when the document is */
    uint64_t  objects[QNNRT_JSON_DEPTH / 64];
    char      buffer[QNNRT_JSON_BUFFER];
} qnnrt_json_writer;

/* Begin to write a document. `write` receives its text in pieces and returns 1 when it accepted a
   piece. indent: spaces for each level; 0: everything on one line.

   The writer cannot produce an invalid document. These are errors of the program: a key outside an
   object, a value without a key, a float that is not finite, an open bracket at the end, more than
   one document. writer.error names the first one, and nothing is written after it. */
QNNRT_JSON_API void qnnrt_json_write_begin(qnnrt_json_writer *writer,
                                           int (*write)(void *user, const char *text, size_t bytes),
                                           void *user, uint32_t indent);
/* End the document with a newline. Returns 1 when it is complete and `write` accepted all of it. */
QNNRT_JSON_API int qnnrt_json_write_end(qnnrt_json_writer *writer);

/* Open an array or object. one_line: 1 writes it and its content on one line. */
QNNRT_JSON_API void qnnrt_json_write_array(qnnrt_json_writer *writer, int one_line);
QNNRT_JSON_API void qnnrt_json_write_object(qnnrt_json_writer *writer, int one_line);
QNNRT_JSON_API void qnnrt_json_write_close(qnnrt_json_writer *writer);

/* Write the key of the next member. The text may be any bytes: each byte that is not valid UTF-8
   becomes U+FFFD. Control characters and characters that change the direction of a text, break
   lines or are invisible (U+00AD, U+061C, U+180E, U+200B-200F, U+2028-202E, U+2060-206F, U+FEFF,
   U+FFF9-FFFB, U+E0000-E007F) are escaped. */
QNNRT_JSON_API void qnnrt_json_write_key(qnnrt_json_writer *writer, const char *key);
/* Write a string value by the same rules. NULL is written as null. */
QNNRT_JSON_API void qnnrt_json_write_string(qnnrt_json_writer *writer, const char *text);
QNNRT_JSON_API void qnnrt_json_write_u64(qnnrt_json_writer *writer, uint64_t value);
QNNRT_JSON_API void qnnrt_json_write_i64(qnnrt_json_writer *writer, int64_t value);
/* Write the fewest digits that read back as the same float64 (f32: float32); 1 is written "1.0". */
QNNRT_JSON_API void qnnrt_json_write_f64(qnnrt_json_writer *writer, double value);
QNNRT_JSON_API void qnnrt_json_write_f32(qnnrt_json_writer *writer, float value);
QNNRT_JSON_API void qnnrt_json_write_bool(qnnrt_json_writer *writer, int value);
QNNRT_JSON_API void qnnrt_json_write_null(qnnrt_json_writer *writer);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_JSON_H, end of the declarations */

#ifdef QNNRT_JSON_IMPLEMENTATION
#ifndef QNNRT_JSON__IMPL_ONCE
#define QNNRT_JSON__IMPL_ONCE

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   The features of the compiler and the machine.
   Needs: nothing     Knows nothing of: everything below
   ===================================================================================== */

#include <string.h>

#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define QNNRT_JSON__WORDS 1        /* read eight bytes at a time; the first one is the lowest */
#else
#define QNNRT_JSON__WORDS 0
#endif

#if QNNRT_JSON__WORDS && defined(__SSE2__)
#include <emmintrin.h>
#define QNNRT_JSON__SSE2 1         /* read sixteen at a time; every x86-64 can do it */
#else
#define QNNRT_JSON__SSE2 0
#endif

#if defined(__GNUC__)
#define QNNRT_JSON__LIKELY(x)   __builtin_expect(!!(x), 1)
#define QNNRT_JSON__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define QNNRT_JSON__INLINE      inline __attribute__((always_inline))
#define QNNRT_JSON__APART       __attribute__((noinline))
#else
#define QNNRT_JSON__LIKELY(x)   (x)
#define QNNRT_JSON__UNLIKELY(x) (x)
#define QNNRT_JSON__INLINE      inline
#define QNNRT_JSON__APART
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   TEXT                                                                            >>text
   Finds the ends of blanks, strings and numbers. No function reads the byte at `end`.
   Needs: >>config     Knows nothing of: values, brackets
   ===================================================================================== */

#if QNNRT_JSON__WORDS
#define QNNRT_JSON__EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

static QNNRT_JSON__INLINE uint64_t qnnrt_json__word(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* Return the number of bytes before the lowest byte that is not 0. word is not 0. */
static QNNRT_JSON__INLINE size_t qnnrt_json__lowest(uint64_t word)
{
    return (size_t)__builtin_ctzll(word) / 8;
}
#endif

#if QNNRT_JSON__SSE2
/* Return bit i set for each byte i of 16 that equals c. */
static QNNRT_JSON__INLINE uint32_t qnnrt_json__equal16(const unsigned char *at, char c)
{
    return (uint32_t)_mm_movemask_epi8(
        _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)at), _mm_set1_epi8(c)));
}
#endif

/* Return 1 when two texts are equal. For texts of a few words this is faster than memcmp(). */
static QNNRT_JSON__INLINE int qnnrt_json__equal(const unsigned char *a, const char *b, size_t bytes)
{
#if QNNRT_JSON__WORDS
    const unsigned char *c = (const unsigned char *)b;
    uint64_t other = 0;
    size_t i;
    if (bytes >= 8) {
        for (i = 0; i + 8 < bytes; i += 8)
            other |= qnnrt_json__word(a + i) ^ qnnrt_json__word(c + i);
        return (other | (qnnrt_json__word(a + bytes - 8) ^ qnnrt_json__word(c + bytes - 8))) == 0;
    }
    for (i = 0; i < bytes; ++i) other |= (uint64_t)(a[i] ^ c[i]);
    return other == 0;
#else
    return memcmp(a, b, bytes) == 0;
#endif
}

static QNNRT_JSON__INLINE int qnnrt_json__blank(unsigned char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Skip blanks. In an indented document these are a newline and many spaces. */
static QNNRT_JSON__INLINE const unsigned char *qnnrt_json__blanks(const unsigned char *at,
                                                                  const unsigned char *end)
{
    while (at < end && *at <= ' ' && qnnrt_json__blank(*at)) {
        ++at;
#if QNNRT_JSON__SSE2
        while (end - at >= 32) {      /* few indents are longer, so the branch predicts well */
            uint32_t other = ~(qnnrt_json__equal16(at, ' ') |
                               qnnrt_json__equal16(at + 16, ' ') << 16);
            if (other != 0) { at += __builtin_ctz(other); break; }
            at += 32;
        }
#elif QNNRT_JSON__WORDS
        while (end - at >= 8) {
            uint64_t other = qnnrt_json__word(at) ^ QNNRT_JSON__EACH(' ');
            if (other != 0) { at += qnnrt_json__lowest(other); break; }
            at += 8;
        }
#endif
    }
    return at;
}

/* Skip blanks after a colon, where one space is the most common case. */
static QNNRT_JSON__INLINE const unsigned char *qnnrt_json__gap(const unsigned char *at,
                                                               const unsigned char *end)
{
    if (end - at >= 2 && at[0] == ' ' && at[1] > ' ') return at + 1;
    return qnnrt_json__blanks(at, end);
}

/* Return the length of the UTF-8 sequence at `at`, 0 when it is not valid. Its first byte is 0x80
   or above. */
static size_t qnnrt_json__utf8(const unsigned char *at, const unsigned char *end)
{
    unsigned char low = 0x80, high = 0xBF;       /* range of the second byte */
    size_t length = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2, i;
    if (at[0] < 0xC2 || at[0] > 0xF4 || (size_t)(end - at) < length) return 0;
    if (at[0] == 0xE0) low = 0xA0;               /* overlong */
    if (at[0] == 0xED) high = 0x9F;              /* surrogates */
    if (at[0] == 0xF0) low = 0x90;               /* overlong */
    if (at[0] == 0xF4) high = 0x8F;              /* past U+10FFFF */
    if (at[1] < low || at[1] > high) return 0;
    for (i = 2; i < length; ++i)
        if ((at[i] & 0xC0) != 0x80) return 0;
    return length;
}

/* Return the value of four hexadecimal digits, or -1. */
static int32_t qnnrt_json__hex4(const unsigned char *at, const unsigned char *end)
{
    int32_t value = 0;
    int i;
    if (end - at < 4) return -1;
    for (i = 0; i < 4; ++i) {
        unsigned char c = at[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
                    c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* Return the length of the escape at `at`, which is a backslash, and set *code to its character.
   Return 0 and set *why when the escape is not valid. */
static size_t qnnrt_json__escape(const unsigned char *at, const unsigned char *end, uint32_t *code,
                                 const char **why)
{
    static const char plain[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    const char *found;
    int32_t high, low;
    *code = 0;
    *why = "an unknown escape";
    if (end - at < 2) { *why = "the text ends within a string"; return 0; }
    found = at[1] != 0 ? strchr(plain, (char)at[1]) : NULL;
    if (found != NULL) { *code = (unsigned char)means[found - plain]; return 2; }
    if (at[1] != 'u') return 0;
    high = qnnrt_json__hex4(at + 2, end);
    *why = "\\u without four hexadecimal digits";
    if (high < 0) return 0;
    *code = (uint32_t)high;
    if (high < 0xD800 || high > 0xDFFF) return 6;
    *why = "half of a surrogate pair";
    if (high > 0xDBFF || end - at < 12 || at[6] != '\\' || at[7] != 'u') return 0;
    low = qnnrt_json__hex4(at + 8, end);
    if (low < 0xDC00 || low > 0xDFFF) return 0;
    *code = 0x10000u + (((uint32_t)high & 0x3FFu) << 10 | ((uint32_t)low & 0x3FFu));
    return 12;
}

/* Find the closing quote of a string; `at` is the byte after the opening one. Return NULL and set
   *why when the string is not valid. *stop is the quote, or the invalid byte. */
static const unsigned char *qnnrt_json__string(const unsigned char *at, const unsigned char *end,
                                               int *escaped, const unsigned char **stop,
                                               const char **why)
{
    for (;;) {
        size_t length;
        uint32_t code;
#if QNNRT_JSON__WORDS
        while (end - at >= 8) {      /* odd: the top bit of each byte that ends a plain run */
            uint64_t word = qnnrt_json__word(at);
            uint64_t quote = word ^ QNNRT_JSON__EACH('"'), slash = word ^ QNNRT_JSON__EACH('\\');
            uint64_t odd = ((word - QNNRT_JSON__EACH(0x20)) | (quote - QNNRT_JSON__EACH(1)) |
                            (slash - QNNRT_JSON__EACH(1)) | word) & QNNRT_JSON__EACH(0x80);
            /* A borrow can wrongly mark only bytes after the first marked one, and only the first
               one is used. */
            if (odd != 0) { at += qnnrt_json__lowest(odd); break; }
            at += 8;
        }
#endif
        while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\') ++at;
        *stop = at;
        if (QNNRT_JSON__UNLIKELY(at == end)) {
            *why = "the text ends within a string";
            return NULL;
        }
        if (QNNRT_JSON__LIKELY(*at == '"')) return at;
        *why = "a control character within a string";
        if (*at < 0x20) return NULL;
        if (*at == '\\') {
            length = qnnrt_json__escape(at, end, &code, why);
            *escaped = 1;
        } else {
            length = qnnrt_json__utf8(at, end);
            *why = "a byte that is not UTF-8";
        }
        if (length == 0) return NULL;
        at += length;
    }
}

static QNNRT_JSON__INLINE const unsigned char *qnnrt_json__skip_digits(const unsigned char *at,
                                                                         const unsigned char *end)
{
    while (at < end && (unsigned char)(*at - '0') <= 9) ++at;
    return at;
}

/* Return the end of the number at `at`, or NULL when it is not valid; then *stop is the invalid
   byte. */
static QNNRT_JSON__INLINE const unsigned char *qnnrt_json__number(const unsigned char *at,
                                                                  const unsigned char *end,
                                                                  const unsigned char **stop)
{
    const unsigned char *from;
    if (at < end && *at == '-') ++at;
    from = at;
    *stop = at = qnnrt_json__skip_digits(at, end);
    if (at == from) return NULL;
    if (*from == '0' && at - from > 1) { *stop = from + 1; return NULL; }
    if (at < end && *at == '.') {
        from = at + 1;
        *stop = at = qnnrt_json__skip_digits(from, end);
        if (at == from) return NULL;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        from = at + 1;
        if (from < end && (*from == '+' || *from == '-')) ++from;
        *stop = at = qnnrt_json__skip_digits(from, end);
        if (at == from) return NULL;
    }
    return at;
}

/* =====================================================================================
   READER                                                                        >>reader
   Reads one value per call. Between calls it keeps the position, the depth, which of the
   open brackets are braces, and what may come next.
   Needs: >>config >>text     Knows nothing of: the values of numbers
   ===================================================================================== */

/* What may come next. DUE: a value. OPENED: a value, a key or the closing bracket. READ: a comma or
   the closing bracket. */
enum { QNNRT_JSON__DUE, QNNRT_JSON__OPENED, QNNRT_JSON__READ };

/* Keep the first error and end the text there, so that later calls read nothing. */
static QNNRT_JSON__APART int qnnrt_json__fail(qnnrt_json_reader *r, const unsigned char *at,
                                              const char *why)
{
    if (r->error == NULL) {
        r->error = why;
        r->error_at = (size_t)(at - r->begin);
    }
    r->type = QNNRT_JSON_NONE;
    r->end = r->at;
    return 0;
}

QNNRT_JSON_API void qnnrt_json_begin(qnnrt_json_reader *r, const char *text, size_t bytes,
                                     const qnnrt_json_limits *limits)
{
    size_t most = limits != NULL && limits->bytes != 0 ? limits->bytes : (size_t)64 << 20;
    uint32_t depth = limits != NULL && limits->depth != 0 ? limits->depth : 64;
    memset(r, 0, sizeof(*r));
    r->begin = r->at = (const unsigned char *)(text != NULL ? text : "");
    r->end = r->at + (text != NULL ? bytes : 0);
    r->max_depth = depth < QNNRT_JSON_DEPTH ? depth : (uint32_t)QNNRT_JSON_DEPTH;
    if (bytes > most) {
        qnnrt_json__fail(r, r->begin, "the text is longer than the limit");
        return;
    }
    bytes = (size_t)(r->end - r->at);
    if (bytes >= 3 && memcmp(r->at, "\xEF\xBB\xBF", 3) == 0) r->at += 3;
    else if (bytes >= 2 && (memcmp(r->at, "\xFF\xFE", 2) == 0 || memcmp(r->at, "\xFE\xFF", 2) == 0))
        qnnrt_json__fail(r, r->begin, "the text is UTF-16; JSON is UTF-8");
}

static int qnnrt_json__open(qnnrt_json_reader *r, const unsigned char *at, int brace)
{
    uint64_t bit;
    if (r->depth >= r->max_depth)
        return qnnrt_json__fail(r, at, "more open brackets than the limit");
    bit = UINT64_C(1) << (r->depth % 64);
    if (brace) r->objects[r->depth / 64] |= bit;
    else r->objects[r->depth / 64] &= ~bit;
    r->depth += 1;
    r->state = QNNRT_JSON__OPENED;
    r->at = at + 1;
    return 1;
}

static qnnrt_json_type qnnrt_json__word_of(qnnrt_json_reader *r, const unsigned char *at,
                                           const char *word, size_t length, qnnrt_json_type type)
{
    if ((size_t)(r->end - at) < length || memcmp(at, word, length) != 0) {
        qnnrt_json__fail(r, at, "a value was expected");
        return QNNRT_JSON_NONE;
    }
    r->at = at + length;
    return r->type = type;
}

QNNRT_JSON_API qnnrt_json_type qnnrt_json_value(qnnrt_json_reader *r)
{
    const unsigned char *at = qnnrt_json__gap(r->at, r->end), *stop, *after;
    const char *why;
    if (QNNRT_JSON__UNLIKELY(r->state != QNNRT_JSON__DUE || at == r->end)) {
        qnnrt_json__fail(r, at,
                         r->state != QNNRT_JSON__DUE ? "no value is due here"
                                                     : "the text ends where a value was expected");
        return QNNRT_JSON_NONE;
    }
    r->state = QNNRT_JSON__READ;
    switch (*at) {
    case '"':
        r->value.escaped = 0;
        after = qnnrt_json__string(at + 1, r->end, &r->value.escaped, &stop, &why);
        if (after == NULL) { qnnrt_json__fail(r, stop, why); return QNNRT_JSON_NONE; }
        r->value.text = (const char *)at + 1;
        r->value.bytes = (size_t)(after - at) - 1;
        r->at = after + 1;
        return r->type = QNNRT_JSON_STRING;
    case '{': return r->type = qnnrt_json__open(r, at, 1) ? QNNRT_JSON_OBJECT : QNNRT_JSON_NONE;
    case '[': return r->type = qnnrt_json__open(r, at, 0) ? QNNRT_JSON_ARRAY : QNNRT_JSON_NONE;
    case 't': return qnnrt_json__word_of(r, at, "true", 4, QNNRT_JSON_TRUE);
    case 'f': return qnnrt_json__word_of(r, at, "false", 5, QNNRT_JSON_FALSE);
    case 'n': return qnnrt_json__word_of(r, at, "null", 4, QNNRT_JSON_NULL);
    default: break;
    }
    if (*at != '-' && (unsigned char)(*at - '0') > 9) {
        qnnrt_json__fail(r, at, "a value was expected");
        return QNNRT_JSON_NONE;
    }
    after = qnnrt_json__number(at, r->end, &stop);
    if (after == NULL) {
        qnnrt_json__fail(r, stop, stop == r->end ? "the text ends within a number"
                                                 : "an invalid number");
        return QNNRT_JSON_NONE;
    }
    r->value.text = (const char *)at;
    r->value.bytes = (size_t)(after - at);
    r->value.escaped = 0;
    r->at = after;
    return r->type = QNNRT_JSON_NUMBER;
}

/* Return 1 when the expected text and a closing quote are at `at`. */
static QNNRT_JSON__INLINE int qnnrt_json__stands(const unsigned char *at, const unsigned char *end,
                                                 const qnnrt_json_text *expected)
{
    return expected->text != NULL && (size_t)(end - at) > expected->bytes &&
           at[expected->bytes] == '"' && qnnrt_json__equal(at, expected->text, expected->bytes);
}

QNNRT_JSON_API int qnnrt_json_value_is(qnnrt_json_reader *r, const qnnrt_json_text *expected)
{
    const unsigned char *at = qnnrt_json__gap(r->at, r->end);
    if (r->state != QNNRT_JSON__DUE || at == r->end || *at != '"' ||
        !qnnrt_json__stands(at + 1, r->end, expected))
        return 0;
    r->state = QNNRT_JSON__READ;
    r->value.text = (const char *)at + 1;
    r->value.bytes = expected->bytes;
    r->value.escaped = 0;
    r->at = at + expected->bytes + 2;
    r->type = QNNRT_JSON_STRING;
    return 1;
}

QNNRT_JSON_API int qnnrt_json_value_u64(qnnrt_json_reader *r, uint64_t *out)
{
    const unsigned char *at = qnnrt_json__gap(r->at, r->end), *first = at;
    uint64_t value = 0;
    *out = 0;
    while (at < r->end && (unsigned char)(*at - '0') <= 9)
        value = value * 10 + (uint64_t)(*at++ - '0');
    if (r->state != QNNRT_JSON__DUE || at == first || at - first > 19 ||
        (*first == '0' && at - first > 1) ||
        (at < r->end && (*at == '.' || *at == 'e' || *at == 'E')))
        return 0;
    r->state = QNNRT_JSON__READ;
    r->value.text = (const char *)first;
    r->value.bytes = (size_t)(at - first);
    r->value.escaped = 0;
    r->at = at;
    r->type = QNNRT_JSON_NUMBER;
    *out = value;
    return 1;
}

/* Read the key of a member, at `at`, and its colon. Return 2 when the key is the expected one: its
   length is known, so its end is not searched. */
static QNNRT_JSON__INLINE int qnnrt_json__key(qnnrt_json_reader *r, const unsigned char *at,
                                              const qnnrt_json_text *expected)
{
    const unsigned char *after, *stop;
    const char *why;
    int answer = 1;
    if (QNNRT_JSON__UNLIKELY(at == r->end))
        return qnnrt_json__fail(r, at, "the text ends within an object");
    if (QNNRT_JSON__UNLIKELY(*at != '"'))
        return qnnrt_json__fail(r, at, "a key in quotes was expected");
    ++at;
    r->key.escaped = 0;
    if (expected != NULL && qnnrt_json__stands(at, r->end, expected)) {
        after = at + expected->bytes;
        answer = 2;
    } else {
        after = qnnrt_json__string(at, r->end, &r->key.escaped, &stop, &why);
        if (QNNRT_JSON__UNLIKELY(after == NULL)) return qnnrt_json__fail(r, stop, why);
    }
    r->key.text = (const char *)at;
    r->key.bytes = (size_t)(after - at);
    at = qnnrt_json__blanks(after + 1, r->end);
    if (QNNRT_JSON__UNLIKELY(at == r->end))
        return qnnrt_json__fail(r, at, "the text ends within an object");
    if (QNNRT_JSON__UNLIKELY(*at != ':')) return qnnrt_json__fail(r, at, "a colon was expected");
    r->at = at + 1;
    return answer;
}

static QNNRT_JSON__INLINE int qnnrt_json__go_on(qnnrt_json_reader *r,
                                                const qnnrt_json_text *expected)
{
    const unsigned char *at;
    uint32_t level = r->depth - 1;
    int object;
    if (r->depth == 0) return 0;
    if (QNNRT_JSON__UNLIKELY(r->state == QNNRT_JSON__DUE))
        return qnnrt_json__fail(r, r->at, "the last value was not read");
    object = (int)(r->objects[level / 64] >> (level % 64) & 1);
    at = qnnrt_json__blanks(r->at, r->end);
    if (QNNRT_JSON__UNLIKELY(at == r->end))
        return qnnrt_json__fail(r, at, object ? "the text ends within an object"
                                              : "the text ends within an array");
    if (*at == (object ? '}' : ']')) {
        r->at = at + 1;
        r->depth -= 1;
        r->state = QNNRT_JSON__READ;
        return 0;
    }
    if (r->state != QNNRT_JSON__OPENED) {
        if (QNNRT_JSON__UNLIKELY(*at != ','))
            return qnnrt_json__fail(r, at, object ? "a comma or } was expected"
                                                  : "a comma or ] was expected");
        at = qnnrt_json__blanks(at + 1, r->end);
        if (at < r->end && *at == (object ? '}' : ']'))
            return qnnrt_json__fail(r, at, "a comma before a closing bracket");
    }
    r->state = QNNRT_JSON__DUE;
    if (object) return qnnrt_json__key(r, at, expected);
    r->at = at;
    return 1;
}

QNNRT_JSON_API int qnnrt_json_more(qnnrt_json_reader *r) { return qnnrt_json__go_on(r, NULL); }

QNNRT_JSON_API int qnnrt_json_more_as(qnnrt_json_reader *r, const qnnrt_json_text *expected)
{
    return qnnrt_json__go_on(r, expected);
}

/* Skip values until at most `depth` brackets are open. */
static int qnnrt_json__until(qnnrt_json_reader *r, uint32_t depth)
{
    while (r->depth > depth && r->error == NULL)
        if (qnnrt_json_more(r)) qnnrt_json_value(r);
    return r->error == NULL;
}

QNNRT_JSON_API int qnnrt_json_skip(qnnrt_json_reader *r)
{
    uint32_t depth = r->depth;
    if (r->state == QNNRT_JSON__DUE) qnnrt_json_value(r);
    else if (r->state == QNNRT_JSON__OPENED) depth -= 1;
    return qnnrt_json__until(r, depth);
}

QNNRT_JSON_API int qnnrt_json_leave(qnnrt_json_reader *r)
{
    uint32_t depth = r->depth;
    if (depth == 0) return r->error == NULL;
    if (r->state == QNNRT_JSON__DUE) qnnrt_json_value(r);
    return qnnrt_json__until(r, depth - 1);
}

QNNRT_JSON_API int qnnrt_json_end(qnnrt_json_reader *r)
{
    const unsigned char *at;
    if (r->error != NULL) return 0;
    if (r->depth > 0) return qnnrt_json__fail(r, r->at, "the document was not read to its end");
    if (r->type == QNNRT_JSON_NONE) return qnnrt_json__fail(r, r->at, "nothing was read");
    at = qnnrt_json__blanks(r->at, r->end);
    if (at != r->end) return qnnrt_json__fail(r, at, "there is text after the document");
    return 1;
}

/* Write the UTF-8 sequence of a character and return its length. */
static size_t qnnrt_json__encode(uint32_t code, unsigned char out[4])
{
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, i;
    static const unsigned char heads[5] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (i = length; i-- > 1; code >>= 6) out[i] = (unsigned char)(0x80 | (code & 0x3F));
    out[0] = (unsigned char)(heads[length] | code);
    return length;
}

/* Write the next character of a string, advance *at, and return the number of bytes. Strings of a
   reader are valid; an invalid escape, in a text that the caller made, is copied as it is. */
static size_t qnnrt_json__next(const unsigned char **at, const unsigned char *end,
                               unsigned char out[4])
{
    const char *why;
    uint32_t code;
    size_t length = **at == '\\' ? qnnrt_json__escape(*at, end, &code, &why) : 0;
    if (length == 0) {
        out[0] = *(*at)++;
        return 1;
    }
    *at += length;
    return qnnrt_json__encode(code, out);
}

static int qnnrt_json__is_escaped(const qnnrt_json_text *text, const char *literal)
{
    const unsigned char *at = (const unsigned char *)text->text, *end = at + text->bytes;
    size_t room = strlen(literal);
    while (at < end) {
        unsigned char piece[4];
        size_t length = qnnrt_json__next(&at, end, piece);
        if (length > room || memcmp(piece, literal, length) != 0) return 0;
        literal += length;
        room -= length;
    }
    return room == 0;
}

QNNRT_JSON_API int qnnrt_json_is(const qnnrt_json_text *text, const char *literal)
{
    size_t length;
    if (QNNRT_JSON__UNLIKELY(text->escaped)) return qnnrt_json__is_escaped(text, literal);
    length = strlen(literal);
    return text->bytes == length && (length == 0 || memcmp(text->text, literal, length) == 0);
}

QNNRT_JSON_API size_t qnnrt_json_copy(const qnnrt_json_text *text, char *out)
{
    const unsigned char *at = (const unsigned char *)text->text, *end;
    size_t used = 0;
    if (!text->escaped) {
        if (text->bytes > 0) memcpy(out, text->text, text->bytes);
        out[text->bytes] = '\0';
        return text->bytes;
    }
    for (end = at + text->bytes; at < end;) {
        unsigned char piece[4];
        size_t length = qnnrt_json__next(&at, end, piece);
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
    return used;
}

/* =====================================================================================
   NUMBER                                                                        >>number
   Converts decimal digits to binary, exactly. A number is w * 10^e, where w has at most 19
   digits (as many as a word holds) and a flag tells whether more follow. There are three
   methods; each is used when the one before it cannot decide:
     1. |e| <= 27: 5^e fits in a word, so product and quotient are exact integers of two
        words.
     2. A table of powers, rounded to 64 bits: the result has a known error, and is used when
        no rounding boundary is within that error.
     3. Long integers, compared with that boundary: exact for every number. Digits after the
        800th (767 are enough for float64) only count as "more".
   Needs: >>config     Knows nothing of: readers
   ===================================================================================== */

/* w * 10^exponent, or a little more. */
typedef struct qnnrt_json__decimal {
    uint64_t w;
    int64_t  exponent;
    int      more;                          /* 1: digits other than 0 follow those in w */
    int      negative;
    const unsigned char *digits, *end;      /* all digits, maybe with a point; with .more from the
                                               first that is not 0 */
} qnnrt_json__decimal;

/* m * 2^exponent; the top bit of m is set, or m is 0. sticky: the true value is a little larger. */
typedef struct qnnrt_json__binary {
    uint64_t m;
    int64_t  exponent;
    int      sticky;
} qnnrt_json__binary;

enum { QNNRT_JSON__DIGITS_MAX = 800 };

/* Split a number into its parts. Return 0 when the text is not a number. */
static int qnnrt_json__take(const qnnrt_json_text *number, qnnrt_json__decimal *d)
{
    const unsigned char *at = (const unsigned char *)number->text, *end, *start, *point = NULL;
    int64_t exponent = 0;
    int digits = 0, down = 0;
    memset(d, 0, sizeof(*d));
    if (number->bytes == 0) return 0;            /* text may be NULL */
    end = at + number->bytes;
    if (*at == '-') d->negative = *at++ == '-';
    for (start = at; at < end; ++at) {
        unsigned digit = (unsigned)*at - '0';
        if (digit > 9) {
            if (*at != '.' || point != NULL) break;
            point = at;
        } else if (digits < 19) {
            d->w = d->w * 10 + digit;
            digits += d->w != 0;             /* leading zeros are not counted */
        } else {
            d->more |= digit != 0;
            d->exponent += 1;
        }
    }
    if (point == NULL) point = at;
    else if (at - point == 1) return 0;
    else d->exponent -= at - point - 1;
    if (point == start || (point - start > 1 && *start == '0')) return 0;
    d->digits = start;
    d->end = at;
    if (d->more) while (*d->digits == '0' || *d->digits == '.') ++d->digits;
    if (at == end) return 1;
    if (*at != 'e' && *at != 'E') return 0;
    ++at;
    if (at < end && (*at == '-' || *at == '+')) down = *at++ == '-';
    if (at == end) return 0;
    for (; at < end; ++at) {
        if ((unsigned char)(*at - '0') > 9) return 0;
        if (exponent < INT64_C(100000000000000000)) exponent = exponent * 10 + (*at - '0');
    }
    d->exponent += down ? -exponent : exponent;
    return 1;
}

/* Multiply two words. Return the upper word of the product; *low is the lower one. */
static QNNRT_JSON__INLINE uint64_t qnnrt_json__multiply(uint64_t a, uint64_t b, uint64_t *low)
{
    uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
    uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0;
    uint64_t middle = (p00 >> 32) + (p01 & 0xFFFFFFFFu) + (p10 & 0xFFFFFFFFu);
    *low = middle << 32 | (p00 & 0xFFFFFFFFu);
    return a1 * b1 + (p01 >> 32) + (p10 >> 32) + (middle >> 32);
}

/* Divide high * 2^64 by d, where high < d and the top bit of d is set. Return the quotient; *left
   receives 1 if there is a remainder. This is long division with digits of 32 bits (Knuth, volume
   2, 4.3.1, algorithm D). */
static uint64_t qnnrt_json__divide(uint64_t high, uint64_t d, int *left)
{
    uint64_t d1 = d >> 32, d0 = d & 0xFFFFFFFFu, quotient = 0, rest = high;
    int i;
    for (i = 0; i < 2; ++i) {
        uint64_t q = rest / d1, r = rest % d1;
        while (q > 0xFFFFFFFFu || q * d0 > (r << 32)) {
            --q;
            r += d1;
            if (r > 0xFFFFFFFFu) break;
        }
        rest = (rest << 32) - q * d;         /* the result is below d, so overflows cancel out */
        quotient = quotient << 32 | q;
    }
    *left = rest != 0;
    return quotient;
}

/* Count the zero bits above the top bit of a word that is not 0. */
static int qnnrt_json__zeros(uint64_t word)
{
#if defined(__GNUC__)
    return __builtin_clzll(word);
#else
    int zeros = 0;
    while ((word >> 63) == 0) { word <<= 1; ++zeros; }
    return zeros;
#endif
}

static void qnnrt_json__normalize(qnnrt_json__binary *b)
{
    int zeros = qnnrt_json__zeros(b->m);
    b->m <<= zeros;
    b->exponent -= zeros;
}

/* Return 5^power, for 0 to 27. */
static uint64_t qnnrt_json__five(int power)
{
    static const uint64_t powers[28] = {
        UINT64_C(1), UINT64_C(5), UINT64_C(25), UINT64_C(125), UINT64_C(625), UINT64_C(3125),
        UINT64_C(15625), UINT64_C(78125), UINT64_C(390625), UINT64_C(1953125), UINT64_C(9765625),
        UINT64_C(48828125), UINT64_C(244140625), UINT64_C(1220703125), UINT64_C(6103515625),
        UINT64_C(30517578125), UINT64_C(152587890625), UINT64_C(762939453125),
        UINT64_C(3814697265625), UINT64_C(19073486328125), UINT64_C(95367431640625),
        UINT64_C(476837158203125), UINT64_C(2384185791015625), UINT64_C(11920928955078125),
        UINT64_C(59604644775390625), UINT64_C(298023223876953125), UINT64_C(1490116119384765625),
        UINT64_C(7450580596923828125)
    };
    return powers[power];
}

/* Convert w * 10^exponent by method 1. w is not 0. */
static void qnnrt_json__exact(uint64_t w, int exponent, qnnrt_json__binary *out)
{
    uint64_t high, low, d;
    int zeros, left;
    out->sticky = 0;
    if (exponent >= 0) {
        high = qnnrt_json__multiply(w, qnnrt_json__five(exponent), &low);
        out->exponent = exponent;
        if (high == 0) { out->m = low; qnnrt_json__normalize(out); return; }
        zeros = qnnrt_json__zeros(high);
        out->m = zeros == 0 ? high : high << zeros | low >> (64 - zeros);
        out->sticky = (low << zeros) != 0;
        out->exponent += 64 - zeros;
        return;
    }
    d = qnnrt_json__five(-exponent);
    zeros = qnnrt_json__zeros(w);
    out->exponent = exponent - zeros;
    w <<= zeros;
    zeros = qnnrt_json__zeros(d);
    out->exponent += zeros;
    d <<= zeros;
    /* w / d is between 1/2 and 2. From 1 on, 63 bits of the fraction are kept. */
    if (w < d) {
        out->m = qnnrt_json__divide(w, d, &left);
        out->exponent -= 64;
    } else {
        uint64_t fraction = qnnrt_json__divide(w - d, d, &left);
        out->m = UINT64_C(1) << 63 | fraction >> 1;
        left |= (int)(fraction & 1);
        out->exponent -= 63;
    }
    out->sticky = left;
}

/* 5^(27 i) for i = -14 to 11, rounded to 64 bits: m * 2^exponent. */
static const struct { uint64_t m; int32_t exponent; } qnnrt_json__powers[] = {
    { UINT64_C(0x9ECFFC31D586ABC1),  -941 }, { UINT64_C(0x8049A4AC0C5811AE),  -878 },
    { UINT64_C(0xCF42894A5DCE35EA),  -816 }, { UINT64_C(0xA76C582338ED2622),  -753 },
    { UINT64_C(0x873E4F75E2224E68),  -690 }, { UINT64_C(0xDA7F5BF590966849),  -628 },
    { UINT64_C(0xB080392CC4349DED),  -565 }, { UINT64_C(0x8E938662882AF53E),  -502 },
    { UINT64_C(0xE65829B3046B0AFA),  -440 }, { UINT64_C(0xBA121A4650E4DDEC),  -377 },
    { UINT64_C(0x964E858C91BA2655),  -314 }, { UINT64_C(0xF2D56790AB41C2A3),  -252 },
    { UINT64_C(0xC428D05AA4751E4D),  -189 }, { UINT64_C(0x9E74D1B791E07E48),  -126 },
    { UINT64_C(0x8000000000000000),   -63 }, { UINT64_C(0xCECB8F27F4200F3A),    -1 },
    { UINT64_C(0xA70C3C40A64E6C52),    62 }, { UINT64_C(0x86F0AC99B4E8DAFD),   125 },
    { UINT64_C(0xDA01EE641A708DEA),   187 }, { UINT64_C(0xB01AE745B101E9E4),   250 },
    { UINT64_C(0x8E41ADE9FBEBC27D),   313 }, { UINT64_C(0xE5D3EF282A242E82),   375 },
    { UINT64_C(0xB9A74A0637CE2EE1),   438 }, { UINT64_C(0x95F83D0A1FB69CD9),   501 },
    { UINT64_C(0xF24A01A73CF2DCD0),   563 }, { UINT64_C(0xC3B8358109E84F07),   626 }
};

/* Round to `bits` bits of a format whose smallest unit is 2^least (float64: 53 and -1074). Return
   the significand and set *exponent to the power of two of its last bit. error: the largest error
   of m, in units of its last bit; *sure is 0 when a rounding boundary is within that error. */
static uint64_t qnnrt_json__round(const qnnrt_json__binary *b, int bits, int64_t least,
                                  uint64_t error, int64_t *exponent, int *sure)
{
    int64_t shift = 64 - bits;
    uint64_t kept, rest, half, whole;
    if (b->exponent + shift < least) shift = least - b->exponent;
    *exponent = b->exponent + shift;
    *sure = 1;
    if (shift > 64) {                    /* below half of the smallest unit */
        if (shift == 65 && error != 0 && b->m > UINT64_MAX - error) *sure = 0;
        return 0;
    }
    kept = shift == 64 ? 0 : b->m >> shift;
    whole = shift == 64 ? UINT64_MAX : (UINT64_C(1) << shift) - 1;
    rest = b->m & whole;
    half = UINT64_C(1) << (shift - 1);
    if (error != 0 && (rest >= half ? rest - half : half - rest) <= error) *sure = 0;
    if (rest > half || (rest == half && (b->sticky || (kept & 1) != 0))) kept += 1;
    return kept;
}

/* Long integers for method 3 and for printing: digits of 32 bits, the lowest first. The largest is
   about 10^1143, times a few words. */
enum { QNNRT_JSON__LIMBS = 160 };
typedef struct qnnrt_json__big { uint32_t count, limb[QNNRT_JSON__LIMBS]; } qnnrt_json__big;

/* Compute n = n * factor + plus. */
static void qnnrt_json__big_times(qnnrt_json__big *n, uint32_t factor, uint32_t plus)
{
    uint64_t carry = plus;
    uint32_t i;
    for (i = 0; i < n->count; ++i) {
        carry += (uint64_t)n->limb[i] * factor;
        n->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0 && n->count < QNNRT_JSON__LIMBS) n->limb[n->count++] = (uint32_t)carry;
}

/* Compute n = n * 5^power. */
static void qnnrt_json__big_power(qnnrt_json__big *n, uint32_t power)
{
    for (; power >= 13; power -= 13) qnnrt_json__big_times(n, 1220703125u, 0);
    qnnrt_json__big_times(n, (uint32_t)qnnrt_json__five((int)power), 0);
}

/* Compute n = n * 2^bits. */
static void qnnrt_json__big_shift(qnnrt_json__big *n, uint32_t bits)
{
    uint32_t words = bits / 32, i;
    if (n->count == 0) return;
    if (n->count + words > QNNRT_JSON__LIMBS) words = QNNRT_JSON__LIMBS - n->count;
    if (words > 0) {
        for (i = n->count; i-- > 0;) n->limb[i + words] = n->limb[i];
        memset(n->limb, 0, words * sizeof(uint32_t));
        n->count += words;
    }
    qnnrt_json__big_times(n, 1u << bits % 32, 0);
}

/* Return -1, 0 or 1 for a < b, a == b, a > b. */
static int qnnrt_json__big_compare(const qnnrt_json__big *a, const qnnrt_json__big *b)
{
    uint32_t i;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (i = a->count; i-- > 0;)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* Compute a = a - b, for a >= b. */
static void qnnrt_json__big_minus(qnnrt_json__big *a, const qnnrt_json__big *b)
{
    int64_t borrow = 0;
    uint32_t i;
    for (i = 0; i < a->count; ++i) {
        int64_t digit = (int64_t)a->limb[i] - (i < b->count ? b->limb[i] : 0) + borrow;
        a->limb[i] = (uint32_t)digit;
        borrow = digit < 0 ? -1 : 0;
    }
    while (a->count > 0 && a->limb[a->count - 1] == 0) --a->count;
}

/* Convert all digits of a number to an integer and return its power of ten. *more: 1 when digits
   other than 0 were left out. */
static int64_t qnnrt_json__big_digits(const qnnrt_json__decimal *d, qnnrt_json__big *n, int *more)
{
    const unsigned char *at;
    int64_t exponent = d->exponent;
    uint32_t piece = 0, scale = 1;
    int digits = 0;
    *more = 0;
    n->count = 0;
    if (!d->more) {
        qnnrt_json__big_times(n, 1, (uint32_t)(d->w >> 32));
        qnnrt_json__big_shift(n, 32);
        qnnrt_json__big_times(n, 1, (uint32_t)d->w);
        return exponent;
    }
    for (at = d->digits; at < d->end && digits < QNNRT_JSON__DIGITS_MAX; ++at) {
        if (*at == '.') continue;
        piece = piece * 10 + (uint32_t)(*at - '0');
        scale *= 10;
        if (++digits > 19) --exponent;           /* d->exponent belongs to the 19th digit */
        if (scale == 1000000000u) { qnnrt_json__big_times(n, scale, piece); piece = 0; scale = 1; }
    }
    qnnrt_json__big_times(n, scale, piece);
    for (; at < d->end; ++at) *more |= *at != '0' && *at != '.';
    return exponent;
}

/* Compare the number with h * 2^power by method 3. Return a negative number, 0 or a positive one.
   The two are close to each other. */
static QNNRT_JSON__APART int qnnrt_json__against(const qnnrt_json__decimal *d, uint64_t h,
                                                 int64_t power)
{
    qnnrt_json__big n, boundary;
    int more, order;
    int64_t exponent = qnnrt_json__big_digits(d, &n, &more);
    boundary.count = 2;
    boundary.limb[0] = (uint32_t)h;
    boundary.limb[1] = (uint32_t)(h >> 32);
    if (boundary.limb[1] == 0) boundary.count = 1;
    if (exponent >= 0) qnnrt_json__big_power(&n, (uint32_t)exponent);
    else qnnrt_json__big_power(&boundary, (uint32_t)-exponent);
    power -= exponent;                       /* 10^exponent is 5^exponent * 2^exponent */
    if (power > 0) qnnrt_json__big_shift(&boundary, (uint32_t)power);
    else qnnrt_json__big_shift(&n, (uint32_t)-power);
    order = qnnrt_json__big_compare(&n, &boundary);
    return order != 0 ? order : more;
}

/* Compute b = b * m * 2^exponent, truncated to 64 bits. The top bits of b->m and m are set. */
static void qnnrt_json__scale(qnnrt_json__binary *b, uint64_t m, int64_t exponent)
{
    uint64_t low;
    b->m = qnnrt_json__multiply(b->m, m, &low);
    b->exponent += 64 + exponent;
    qnnrt_json__normalize(b);
}

/* Return the significand and set *exponent of the nearest number with `bits` bits. The error of way
   2, in units of the last of 64 bits: 1/2 for the table and 1 for truncation, doubled by
   normalizing: 3. One more truncation, doubled: 8. Digits that w does not hold (w is at least
   10^18) add 16, doubled twice. */
static uint64_t qnnrt_json__nearest(const qnnrt_json__decimal *d, int bits, int64_t least,
                                    int64_t *exponent)
{
    qnnrt_json__binary b, five;
    uint64_t kept;
    int sure, step, rest, side;
    *exponent = least;
    if (d->w == 0 || d->exponent < -363) return 0;              /* 10^19 * 10^-364 < 2^-1075 */
    if (d->exponent > 309) { *exponent = 4000; return 1; }
    if (!d->more && d->exponent >= -27 && d->exponent <= 27) {
        qnnrt_json__exact(d->w, (int)d->exponent, &b);
        return qnnrt_json__round(&b, bits, least, 0, exponent, &sure);
    }
    step = (int)(d->exponent + 27 * 14) / 27;               /* index in the table, rounded down */
    rest = (int)d->exponent - 27 * (step - 14);
    b.m = d->w;
    b.exponent = d->exponent;
    b.sticky = 0;
    qnnrt_json__normalize(&b);
    qnnrt_json__scale(&b, qnnrt_json__powers[step].m, qnnrt_json__powers[step].exponent);
    five.m = qnnrt_json__five(rest);
    five.exponent = 0;
    qnnrt_json__normalize(&five);
    qnnrt_json__scale(&b, five.m, five.exponent);
    kept = qnnrt_json__round(&b, bits, least, d->more ? 80 : 8, exponent, &sure);
    if (sure) return kept;
    /* The only boundary that near is half a unit above `kept`. */
    kept = *exponent - b.exponent >= 64 ? 0 : b.m >> (*exponent - b.exponent);
    side = qnnrt_json__against(d, kept * 2 + 1, *exponent - 1);
    return kept + (uint64_t)(side > 0 || (side == 0 && (kept & 1) != 0));
}

/* Return the bits of the nearest float: `bits` bits of significand, of which the first is not
   stored, and above them the exponent, which is 1 at `least`; the exponent `top` means infinity. */
static QNNRT_JSON__INLINE uint64_t qnnrt_json__pack(const qnnrt_json__decimal *d, int bits,
                                                    int64_t least, uint64_t top)
{
    int64_t exponent;
    uint64_t kept = qnnrt_json__nearest(d, bits, least, &exponent), biased;
    uint64_t first = UINT64_C(1) << (bits - 1);
    if (kept == first * 2) { kept = first; ++exponent; }
    biased = kept < first ? 0 : (uint64_t)(exponent - least + 1);
    if (exponent - least + 1 >= (int64_t)top) { biased = top; kept = first; }
    return (d->negative ? (top + 1) * first : 0) | biased * first | (kept & (first - 1));
}

static uint64_t qnnrt_json__f64_bits(const qnnrt_json__decimal *d)
{
    return qnnrt_json__pack(d, 53, -1074, 0x7FF);
}

static uint32_t qnnrt_json__f32_bits(const qnnrt_json__decimal *d)
{
    return (uint32_t)qnnrt_json__pack(d, 24, -149, 0xFF);
}

QNNRT_JSON_API int qnnrt_json_f64(const qnnrt_json_text *number, double *out)
{
    qnnrt_json__decimal d;
    uint64_t bits;
    *out = 0;
    if (!qnnrt_json__take(number, &d)) return 0;
    bits = qnnrt_json__f64_bits(&d);
    memcpy(out, &bits, sizeof(*out));
    return (bits >> 52 & 0x7FF) != 0x7FF;
}

QNNRT_JSON_API int qnnrt_json_f32(const qnnrt_json_text *number, float *out)
{
    qnnrt_json__decimal d;
    uint32_t bits;
    *out = 0;
    if (!qnnrt_json__take(number, &d)) return 0;
    if (d.exponent == 0 && d.w > 0 && d.w < (UINT64_C(1) << 24)) {      /* exact in float32 */
        *out = d.negative ? -(float)d.w : (float)d.w;
        return 1;
    }
    bits = qnnrt_json__f32_bits(&d);
    memcpy(out, &bits, sizeof(*out));
    return (bits >> 23 & 0xFF) != 0xFF;
}

/* Convert digits without a sign. Return 0 when the text has another character or the value is above
   `most`. */
static int qnnrt_json__integer(const char *at, size_t bytes, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    size_t i;
    *out = 0;
    if (bytes == 0 || (bytes > 1 && at[0] == '0')) return 0;
    for (i = 0; i < bytes; ++i) {
        unsigned digit = (unsigned)((unsigned char)at[i] - '0');
        if (digit > 9 || value > (most - digit) / 10) return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return 1;
}

QNNRT_JSON_API int qnnrt_json_u64(const qnnrt_json_text *number, uint64_t *out)
{
    return qnnrt_json__integer(number->text, number->bytes, UINT64_MAX, out);
}

QNNRT_JSON_API int qnnrt_json_i64(const qnnrt_json_text *number, int64_t *out)
{
    int negative = number->bytes > 0 && number->text[0] == '-';
    uint64_t value;
    *out = 0;
    if (number->bytes == 0) return 0;            /* text may be NULL */
    if (!qnnrt_json__integer(number->text + negative, number->bytes - (size_t)negative,
                             (uint64_t)INT64_MAX + (uint64_t)negative, &value))
        return 0;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return 1;
}

/* =====================================================================================
   DECIMAL                                                                      >>decimal
   Finds the fewest decimal digits that read back as the same number: it computes the exact
   digits with long integers and rounds them after 1, 2, 3, ... digits until they do.
   Needs: >>config >>number     Knows nothing of: writers
   ===================================================================================== */

enum { QNNRT_JSON__PRINTED = 17 };

/* Compute the first 18 digits of m * 2^exponent; m is not 0. *more: 1 when digits other than 0
   follow. *point: number of digits before the decimal point. */
static void qnnrt_json__digits(uint64_t m, int exponent,
                               unsigned char digits[QNNRT_JSON__PRINTED + 1], int *point, int *more)
{
    qnnrt_json__big n, divisor;
    int bits = 64 - qnnrt_json__zeros(m) + exponent;      /* 2^(bits - 1) <= value < 2^bits */
    int power = bits > 0 ? bits * 78913 / 262144 : -(-bits * 78913 / 262144), i;      /* log10(2) */
    n.count = 2;
    n.limb[0] = (uint32_t)m;
    n.limb[1] = (uint32_t)(m >> 32);
    while (n.count > 0 && n.limb[n.count - 1] == 0) --n.count;
    divisor.count = 1;
    divisor.limb[0] = 1;
    /* value / 10^power, which is 5^power * 2^power, is between 0.1 and 10 */
    if (power >= 0) qnnrt_json__big_power(&divisor, (uint32_t)power);
    else qnnrt_json__big_power(&n, (uint32_t)-power);
    exponent -= power;
    if (exponent >= 0) qnnrt_json__big_shift(&n, (uint32_t)exponent);
    else qnnrt_json__big_shift(&divisor, (uint32_t)-exponent);
    while (qnnrt_json__big_compare(&n, &divisor) < 0) { qnnrt_json__big_times(&n, 10, 0); --power; }
    for (i = 0; i <= QNNRT_JSON__PRINTED; ++i) {
        digits[i] = 0;
        while (qnnrt_json__big_compare(&n, &divisor) >= 0) {
            qnnrt_json__big_minus(&n, &divisor);
            ++digits[i];
        }
        qnnrt_json__big_times(&n, 10, 0);
    }
    *more = n.count != 0;
    *point = power + 1;
}

/* Round to the first `count` digits (above: always up). When a carry adds a digit in front, *point
   moves by one. */
static void qnnrt_json__cut(const unsigned char *digits, int more, int count, int above,
                            qnnrt_json__decimal *d, int *point)
{
    int i, up;
    d->w = 0;
    for (i = 0; i < count; ++i) d->w = d->w * 10 + digits[i];
    for (i = count + 1; i <= QNNRT_JSON__PRINTED; ++i) more |= digits[i] != 0;
    up = above || digits[count] > 5 || (digits[count] == 5 && (more || (d->w & 1) != 0));
    d->w += (uint64_t)up;
    d->exponent = *point - count;
    if (d->w == qnnrt_json__five(count) << count) *point += 1;       /* 10^count */
    d->more = d->negative = 0;
}

static int qnnrt_json__same(const qnnrt_json__decimal *d, int single, uint64_t bits)
{
    return (single ? (uint64_t)qnnrt_json__f32_bits(d) : qnnrt_json__f64_bits(d)) == bits;
}

/* Write a finite float as text without a NUL and return its length, at most 26 bytes. From 1e-6 to
   below 1e21 the text is plain; other values have an exponent, as in the vendor's writer. */
static size_t qnnrt_json__print(uint64_t m, int exponent, int single, uint64_t bits, int negative,
                                char out[32])
{
    unsigned char exact[QNNRT_JSON__PRINTED + 1];
    char digits[20] = { 0 };
    qnnrt_json__decimal d;
    int point = 0, first_point, more, count, i;
    size_t used = 0;
    if (negative) out[used++] = '-';
    if (m == 0) { memcpy(out + used, "0.0", 3); return used + 3; }
    qnnrt_json__digits(m, exponent, exact, &first_point, &more);
    for (count = 1; count <= QNNRT_JSON__PRINTED; ++count) {
        point = first_point;
        qnnrt_json__cut(exact, more, count, 0, &d, &point);
        if (qnnrt_json__same(&d, single, bits)) break;
        if ((m & (m - 1)) != 0) continue;
        /* Floats below a power of two are closer to each other than those above it: the nearest
           digits may read back as the float below while the next ones above read back as this. */
        point = first_point;
        qnnrt_json__cut(exact, more, count, 1, &d, &point);
        if (qnnrt_json__same(&d, single, bits)) break;
    }
    while (d.w % 10 == 0) d.w /= 10;
    for (count = 0, i = 19; d.w != 0; d.w /= 10, ++count) digits[i--] = (char)('0' + d.w % 10);
    memmove(digits, digits + i + 1, (size_t)count);
    if (point > 21 || point < -5) {              /* d.ddde-7 */
        int power = point - 1;
        out[used++] = digits[0];
        if (count > 1) {
            out[used++] = '.';
            memcpy(out + used, digits + 1, (size_t)count - 1);
            used += (size_t)count - 1;
        }
        out[used++] = 'e';
        if (power < 0) { out[used++] = '-'; power = -power; }
        if (power >= 100) out[used++] = (char)('0' + power / 100);
        if (power >= 10) out[used++] = (char)('0' + power / 10 % 10);
        out[used++] = (char)('0' + power % 10);
        return used;
    }
    if (point <= 0) { out[used++] = '0'; out[used++] = '.'; }
    for (i = point; i < 0; ++i) out[used++] = '0';
    for (i = 0; i < count || i < point; ++i) {
        if (i == point && point > 0) out[used++] = '.';
        out[used++] = i < count ? digits[i] : '0';
    }
    if (point >= count) { out[used++] = '.'; out[used++] = '0'; }
    return used;
}

/* =====================================================================================
   WRITER                                                                        >>writer
   Writes commas, quotes and line breaks; refuses calls that would make the document invalid.
   Needs: >>config >>text >>decimal     Knows nothing of: readers
   ===================================================================================== */

static void qnnrt_json__flush(qnnrt_json_writer *w)
{
    if (w->error == NULL && w->used > 0 && !w->write(w->user, w->buffer, w->used))
        w->error = "the text could not be written";
    w->used = 0;
}

static void qnnrt_json__put(qnnrt_json_writer *w, const char *text, size_t bytes)
{
    while (bytes > 0) {
        size_t room = QNNRT_JSON_BUFFER - w->used, part = bytes < room ? bytes : room;
        memcpy(w->buffer + w->used, text, part);
        w->used += (uint32_t)part;
        text += part;
        bytes -= part;
        if (w->used == QNNRT_JSON_BUFFER) qnnrt_json__flush(w);
    }
}

static void qnnrt_json__newline(qnnrt_json_writer *w)
{
    uint32_t blanks = w->depth * w->indent;
    qnnrt_json__put(w, "\n", 1);
    while (blanks-- > 0) qnnrt_json__put(w, " ", 1);
}

/* Write the comma and blanks before a value or a key. Return 0 when neither is allowed here. */
static int qnnrt_json__before(qnnrt_json_writer *w, int key)
{
    int object = w->depth > 0 &&
                 (w->objects[(w->depth - 1) / 64] >> ((w->depth - 1) % 64) & 1) != 0;
    if (w->error != NULL) return 0;
    if (w->done) { w->error = "a second document"; return 0; }
    if (key && object && w->key) { w->error = "a key without a value"; return 0; }
    if (key && !object) { w->error = "a key outside an object"; return 0; }
    if (!key && object && !w->key) { w->error = "a member without a key"; return 0; }
    if (!key && object) { w->key = 0; return 1; }
    if (w->filled) qnnrt_json__put(w, ",", 1);
    if (w->depth > 0 && w->indent > 0 && w->line_depth == 0) qnnrt_json__newline(w);
    else if (w->filled) qnnrt_json__put(w, " ", 1);
    w->filled = 1;
    return 1;
}

static void qnnrt_json__after(qnnrt_json_writer *w) { if (w->depth == 0) w->done = 1; }

/* Return the code of a character of `length` bytes when it must be escaped, else 0: controls, and
   what turns or breaks lines in viewers or is invisible. */
static uint32_t qnnrt_json__hidden(const unsigned char *at, size_t length)
{
    static const uint32_t hidden[][2] = {
        { 0, 0x1F }, { 0x7F, 0x9F }, { 0xAD, 0xAD }, { 0x61C, 0x61C }, { 0x180E, 0x180E },
        { 0x200B, 0x200F }, { 0x2028, 0x202E }, { 0x2060, 0x206F }, { 0xFEFF, 0xFEFF },
        { 0xFFF9, 0xFFFB }, { 0xE0000, 0xE007F }
    };
    uint32_t code = length == 1 ? at[0] : at[0] & (0x7Fu >> length);
    size_t i;
    for (i = 1; i < length; ++i) code = code << 6 | (at[i] & 0x3Fu);
    for (i = 0; code > hidden[i][1] && i + 1 < sizeof(hidden) / sizeof(hidden[0]);) ++i;
    return length > 0 && code >= hidden[i][0] && code <= hidden[i][1] ? code : 0;
}

/* Write \u and four digits. */
static void qnnrt_json__put_unit(qnnrt_json_writer *w, uint32_t unit)
{
    static const char hex[] = "0123456789abcdef";
    char escape[6] = { '\\', 'u', hex[unit >> 12], hex[unit >> 8 & 15], hex[unit >> 4 & 15],
                       hex[unit & 15] };
    qnnrt_json__put(w, escape, 6);
}

static void qnnrt_json__quoted(qnnrt_json_writer *w, const char *text)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    qnnrt_json__put(w, "\"", 1);
    while (at < end) {
        size_t length = *at < 0x80 ? 1 : qnnrt_json__utf8(at, end);
        uint32_t code = qnnrt_json__hidden(at, length);
        if (length == 0) {
            qnnrt_json__put(w, "\\ufffd", 6);
            length = 1;
        } else if (code > 0xFFFF) {             /* as a surrogate pair */
            qnnrt_json__put_unit(w, 0xD7C0 + (code >> 10));
            qnnrt_json__put_unit(w, 0xDC00 + (code & 0x3FF));
        } else if (code != 0) {
            qnnrt_json__put_unit(w, code);
        } else {
            if (*at == '"' || *at == '\\') qnnrt_json__put(w, "\\", 1);
            qnnrt_json__put(w, (const char *)at, length);
        }
        at += length;
    }
    qnnrt_json__put(w, "\"", 1);
}

QNNRT_JSON_API void qnnrt_json_write_begin(qnnrt_json_writer *w,
                                           int (*write)(void *user, const char *text, size_t bytes),
                                           void *user, uint32_t indent)
{
    memset(w, 0, sizeof(*w));
    w->write = write;
    w->user = user;
    w->indent = indent;
}

QNNRT_JSON_API int qnnrt_json_write_end(qnnrt_json_writer *w)
{
    if (w->error == NULL && w->depth > 0) w->error = "an open bracket at the end";
    if (w->error == NULL && !w->done) w->error = "no value was written";
    if (w->error == NULL && w->done == 1) qnnrt_json__put(w, "\n", 1);
    w->done = 2;
    qnnrt_json__flush(w);
    return w->error == NULL;
}

static void qnnrt_json__write_open(qnnrt_json_writer *w, const char *bracket, int object,
                                   int one_line)
{
    uint64_t bit = UINT64_C(1) << (w->depth % 64);
    if (!qnnrt_json__before(w, 0)) return;
    if (w->depth >= QNNRT_JSON_DEPTH) {
        w->error = "more open brackets than a reader accepts";
        return;
    }
    if (object) w->objects[w->depth / 64] |= bit;
    else w->objects[w->depth / 64] &= ~bit;
    w->depth += 1;
    if (one_line && w->line_depth == 0) w->line_depth = w->depth;
    w->filled = 0;
    qnnrt_json__put(w, bracket, 1);
}

QNNRT_JSON_API void qnnrt_json_write_array(qnnrt_json_writer *w, int one_line)
{
    qnnrt_json__write_open(w, "[", 0, one_line);
}

QNNRT_JSON_API void qnnrt_json_write_object(qnnrt_json_writer *w, int one_line)
{
    qnnrt_json__write_open(w, "{", 1, one_line);
}

QNNRT_JSON_API void qnnrt_json_write_close(qnnrt_json_writer *w)
{
    int object, line;
    if (w->error != NULL) return;
    if (w->depth == 0) { w->error = "a closing bracket without an opening one"; return; }
    if (w->key) { w->error = "a key without a value"; return; }
    object = (int)(w->objects[(w->depth - 1) / 64] >> ((w->depth - 1) % 64) & 1);
    line = w->line_depth != 0;
    if (w->line_depth == w->depth) w->line_depth = 0;
    w->depth -= 1;
    if (w->filled && !line && w->indent > 0) qnnrt_json__newline(w);
    qnnrt_json__put(w, object ? "}" : "]", 1);
    w->filled = 1;
    qnnrt_json__after(w);
}

QNNRT_JSON_API void qnnrt_json_write_key(qnnrt_json_writer *w, const char *key)
{
    if (!qnnrt_json__before(w, 1)) return;
    qnnrt_json__quoted(w, key != NULL ? key : "");
    qnnrt_json__put(w, ": ", 2);
    w->key = 1;
}

static void qnnrt_json__plain(qnnrt_json_writer *w, const char *text, size_t bytes)
{
    if (!qnnrt_json__before(w, 0)) return;
    qnnrt_json__put(w, text, bytes);
    qnnrt_json__after(w);
}

QNNRT_JSON_API void qnnrt_json_write_string(qnnrt_json_writer *w, const char *text)
{
    if (text == NULL) { qnnrt_json_write_null(w); return; }
    if (!qnnrt_json__before(w, 0)) return;
    qnnrt_json__quoted(w, text);
    qnnrt_json__after(w);
}

static void qnnrt_json__whole(qnnrt_json_writer *w, uint64_t value, int negative)
{
    char digits[24];
    size_t at = sizeof(digits);
    do digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    if (negative) digits[--at] = '-';
    qnnrt_json__plain(w, digits + at, sizeof(digits) - at);
}

QNNRT_JSON_API void qnnrt_json_write_u64(qnnrt_json_writer *w, uint64_t value)
{
    qnnrt_json__whole(w, value, 0);
}

QNNRT_JSON_API void qnnrt_json_write_i64(qnnrt_json_writer *w, int64_t value)
{
    qnnrt_json__whole(w, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

QNNRT_JSON_API void qnnrt_json_write_f64(qnnrt_json_writer *w, double value)
{
    char out[32];
    uint64_t bits, m;
    int exponent;
    memcpy(&bits, &value, sizeof(bits));
    m = bits & ((UINT64_C(1) << 52) - 1);
    exponent = (int)(bits >> 52 & 0x7FF);
    if (exponent == 0x7FF) {
        if (w->error == NULL) w->error = "a number that is not finite";
        return;
    }
    if (exponent > 0) m |= UINT64_C(1) << 52;
    exponent = (exponent > 0 ? exponent : 1) - 1075;
    qnnrt_json__plain(w, out, qnnrt_json__print(m, exponent, 0, bits & ~(UINT64_C(1) << 63),
                                                (int)(bits >> 63), out));
}

QNNRT_JSON_API void qnnrt_json_write_f32(qnnrt_json_writer *w, float value)
{
    char out[32];
    uint32_t bits, m;
    int exponent;
    memcpy(&bits, &value, sizeof(bits));
    m = bits & 0x7FFFFFu;
    exponent = (int)(bits >> 23 & 0xFF);
    if (exponent == 0xFF) {
        if (w->error == NULL) w->error = "a number that is not finite";
        return;
    }
    if (exponent > 0) m |= UINT32_C(1) << 23;
    exponent = (exponent > 0 ? exponent : 1) - 150;
    qnnrt_json__plain(w, out, qnnrt_json__print(m, exponent, 1, bits & 0x7FFFFFFFu,
                                                (int)(bits >> 31), out));
}

QNNRT_JSON_API void qnnrt_json_write_bool(qnnrt_json_writer *w, int value)
{
    qnnrt_json__plain(w, value ? "true" : "false", value ? 4 : 5);
}

QNNRT_JSON_API void qnnrt_json_write_null(qnnrt_json_writer *w) { qnnrt_json__plain(w, "null", 4); }

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_JSON__IMPL_ONCE */
#endif /* QNNRT_JSON_IMPLEMENTATION */

/* Public domain or MIT, as you like; see LICENSE. */
