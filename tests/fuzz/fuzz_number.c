/* fuzz_number.c - numbers against exact arithmetic: read, printed, and read again

   The text is the input. A float that is read must be the nearest to the decimal, ties to even: the
   decimal is compared with the points halfway to both neighbors, by long integers in base 10^9 that
   share nothing with the header. The floats that were read, their neighbors, and the last eight
   bytes of the input are printed: the text must be a number that is nearest to that float, with as
   few digits as such a number can have, and the closest one of its length. */
#define QNNRT_JSON_IMPLEMENTATION
#include "../../qnnrt_json.h"
#define FUZZ_NAME "fuzz_number"
#include "fuzz.h"

enum { DIGITS_MOST = 4096, LIMBS = 1200, BASE = 1000000000 };

/* ---- long integers: little-endian, base 10^9, no zeros on top ---------------------------------- */

typedef struct big { int count; uint32_t limb[LIMBS]; } big;

static void big_times(big *n, uint32_t factor)
{
    uint64_t carry = 0;
    int i;
    for (i = 0; i < n->count; ++i) {
        carry += (uint64_t)n->limb[i] * factor;
        n->limb[i] = (uint32_t)(carry % BASE);
        carry /= BASE;
    }
    while (carry > 0) {
        MUST(n->count < LIMBS);
        n->limb[n->count++] = (uint32_t)(carry % BASE);
        carry /= BASE;
    }
}

static void big_power(big *n, int64_t ten, int64_t two)          /* n * 10^ten * 2^two */
{
    int limbs = (int)(ten / 9), i;
    MUST(ten >= 0 && two >= 0 && n->count + limbs < LIMBS);
    for (; two >= 29; two -= 29) big_times(n, 1u << 29);
    big_times(n, 1u << two);
    for (ten %= 9; ten > 0; --ten) big_times(n, 10);
    if (n->count == 0 || limbs == 0) return;
    for (i = n->count; i-- > 0;) n->limb[i + limbs] = n->limb[i];
    for (i = 0; i < limbs; ++i) n->limb[i] = 0;
    n->count += limbs;
}

static void big_of(big *n, uint64_t value)
{
    for (n->count = 0; value > 0; value /= BASE) n->limb[n->count++] = (uint32_t)(value % BASE);
}

static int big_compare(const big *a, const big *b)
{
    int i;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (i = a->count; i-- > 0;)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* ---- decimals ---------------------------------------------------------------------------------- */

typedef struct decimal { big digits; int64_t exponent; int negative; } decimal;    /* digits * 10^exponent */

/* Read a JSON number by the grammar. Return 0 when it is not one. Exponents are limited to
   10^15. */
static int decimal_read(decimal *d, const unsigned char *at, size_t size)
{
    static unsigned char digits[DIGITS_MOST];
    const unsigned char *end = at + size;
    int64_t exponent = 0, after = 0;
    size_t used = 0, i, whole = 0;
    int down = 0;
    d->negative = at < end && *at == '-';
    if (d->negative) ++at;
    if (at < end && *at == '0' && end - at > 1 && at[1] >= '0' && at[1] <= '9') return 0;
    for (; at < end && *at >= '0' && *at <= '9'; ++at, ++whole) digits[used++] = (unsigned char)(*at - '0');
    if (whole == 0) return 0;
    if (at < end && *at == '.') {
        for (++at; at < end && *at >= '0' && *at <= '9'; ++at, ++after) digits[used++] = (unsigned char)(*at - '0');
        if (after == 0) return 0;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        const unsigned char *first;
        ++at;
        if (at < end && (*at == '-' || *at == '+')) down = *at++ == '-';
        for (first = at; at < end && *at >= '0' && *at <= '9'; ++at)
            if (exponent < INT64_C(1000000000000000)) exponent = exponent * 10 + (*at - '0');
        if (at == first) return 0;
    }
    if (at != end) return 0;
    d->exponent = (down ? -exponent : exponent) - after;
    d->digits.count = (int)((used + 8) / 9);
    for (i = 0; i < (size_t)d->digits.count; ++i) {
        size_t from = used > 9 * (i + 1) ? used - 9 * (i + 1) : 0, k;
        uint32_t limb = 0;
        for (k = from; k < used - 9 * i; ++k) limb = limb * 10 + digits[k];
        d->digits.limb[i] = limb;
    }
    while (d->digits.count > 0 && d->digits.limb[d->digits.count - 1] == 0) --d->digits.count;
    return 1;
}

static void decimal_of(decimal *d, uint64_t digits, int64_t exponent)
{
    big_of(&d->digits, digits);
    d->exponent = exponent;
    d->negative = 0;
}

/* Compare |decimal| with m * 2^q. Far outside of float64 no long integers are needed: -1200 <=
   q. */
static int decimal_compare(const decimal *d, uint64_t m, int64_t q)
{
    static big a, b;
    int64_t top = d->digits.count * (int64_t)9 + d->exponent;            /* value < 10^top */
    if (d->digits.count == 0) return m == 0 ? 0 : -1;
    if (m == 0 || top - 9 > 400) return 1;                                /* 10^(top - 9) <= value */
    if (top < -400) return -1;
    a = d->digits;
    big_of(&b, m);
    big_power(&a, d->exponent > 0 ? d->exponent : 0, q < 0 ? -q : 0);
    big_power(&b, d->exponent < 0 ? -d->exponent : 0, q > 0 ? q : 0);
    return big_compare(&a, &b);
}

/* ---- floats ------------------------------------------------------------------------------------ */

/* Bits of the significand, and of the exponent. */
typedef struct format { int bits, field; } format;
static const format f64_format = { 53, 11 }, f32_format = { 24, 8 };

static uint64_t format_infinity(const format *f) { return ((UINT64_C(1) << f->field) - 1) << (f->bits - 1); }

/* Split bits without a sign into m * 2^q. Infinity gives the number after the largest. */
static uint64_t format_split(const format *f, uint64_t bits, int64_t *q)
{
    uint64_t field = bits >> (f->bits - 1), m = bits & ((UINT64_C(1) << (f->bits - 1)) - 1);
    /* -1074 for float64, -149 for float32. */
    int64_t least = 3 - (INT64_C(1) << (f->field - 1)) - f->bits;
    *q = least + (field > 0 ? (int64_t)field - 1 : 0);
    return field > 0 ? m | UINT64_C(1) << (f->bits - 1) : m;
}

/* Return 1 when this is the nearest to the decimal: between the points halfway to its neighbors, or
   at one of them and even. */
static int format_nearest(const format *f, const decimal *d, uint64_t bits)
{
    int64_t q, below;
    uint64_t m = format_split(f, bits, &q), under;
    int side;
    if (bits != 0) {
        under = format_split(f, bits - 1, &below);  /* it may have a smaller exponent */
        MUST(below == q ? under == m - 1 : below == q - 1 && under == 2 * m - 1);
        side = below == q ? decimal_compare(d, 2 * m - 1, q - 1) : decimal_compare(d, 4 * m - 1, q - 2);
        if (side < 0 || (side == 0 && (bits & 1) != 0)) return 0;
    }
    if (bits == format_infinity(f)) return 1;
    side = decimal_compare(d, 2 * m + 1, q - 1);
    return side < 0 || (side == 0 && (bits & 1) == 0);
}

/* ---- printing ---------------------------------------------------------------------------------- */

typedef struct page { char text[64]; size_t used; } page;

static int take(void *user, const char *text, size_t bytes)
{
    page *p = (page *)user;
    MUST(p->used + bytes < sizeof(p->text));
    memcpy(p->text + p->used, text, bytes);
    p->used += bytes;
    return 1;
}

static void print_check(const format *f, uint64_t bits)      /* bits: with the sign */
{
    static decimal d;
    uint64_t sign = UINT64_C(1) << (f->bits + f->field - 1), digits = 0, m, back;
    int64_t exponent = 0, q;
    qnnrt_json_writer w;
    qnnrt_json_text t;
    page p;
    size_t i;
    int point = 0, ok;
    double f64;
    float f32;
    uint32_t bits32 = (uint32_t)bits, back32;
    if ((bits & ~sign) >= format_infinity(f)) return;
    p.used = 0;
    qnnrt_json_write_begin(&w, take, &p, 0);
    if (f == &f64_format) { memcpy(&f64, &bits, sizeof(f64)); qnnrt_json_write_f64(&w, f64); }
    else { memcpy(&f32, &bits32, sizeof(f32)); qnnrt_json_write_f32(&w, f32); }
    MUST(qnnrt_json_write_end(&w));
    MUST(p.used >= 4 && p.used <= 27 && p.text[p.used - 1] == '\n');
    --p.used;
    MUST(memchr(p.text, '.', p.used) != NULL || memchr(p.text, 'e', p.used) != NULL);
    MUST(decimal_read(&d, (const unsigned char *)p.text, p.used) && d.negative == ((bits & sign) != 0));
    MUST(format_nearest(f, &d, bits & ~sign));
    memset(&t, 0, sizeof(t));
    t.text = p.text;
    t.bytes = p.used;
    if (f == &f64_format) { ok = qnnrt_json_f64(&t, &f64); memcpy(&back, &f64, sizeof(back)); }
    else { ok = qnnrt_json_f32(&t, &f32); memcpy(&back32, &f32, sizeof(back32)); back = back32; }
    MUST(ok && back == bits);
    if ((bits & ~sign) == 0) return;

    /* Split it into digits without zeros at either end: digits * 10^exponent. */
    for (i = d.negative ? 1 : 0; i < p.used && p.text[i] != 'e'; ++i) {
        if (p.text[i] == '.') { point = 1; continue; }
        if (digits > UINT64_C(100000000000000000)) MUST(p.text[i] == '0');
        else { digits = digits * 10 + (uint64_t)(p.text[i] - '0'); exponent -= point; continue; }
        exponent += !point;
    }
    if (i < p.used) exponent += atoi(p.text + i + 1);
    while (digits % 10 == 0) { digits /= 10; ++exponent; }
    MUST(digits < UINT64_C(100000000000000000));
    bits &= ~sign;
    m = format_split(f, bits, &q);
    /* Check that fewer digits are not enough: with one digit less there are two candidates. */
    if (digits >= 10) {
        decimal_of(&d, digits / 10, exponent + 1);
        MUST(!format_nearest(f, &d, bits));
        decimal_of(&d, digits / 10 + 1, exponent + 1);
        MUST(!format_nearest(f, &d, bits));
    }
    /* Check that it is the closest: a neighbor with as many digits is farther away, or is another
       float. */
    decimal_of(&d, digits + 1, exponent);
    if (format_nearest(f, &d, bits)) {
        decimal_of(&d, digits * 10 + 5, exponent - 1);
        MUST(decimal_compare(&d, m, q) >= 0);
    }
    decimal_of(&d, digits - 1, exponent);
    if (format_nearest(f, &d, bits)) {
        decimal_of(&d, digits * 10 - 5, exponent - 1);
        MUST(decimal_compare(&d, m, q) <= 0);
    }
}

/* ---- integers ---------------------------------------------------------------------------------- */

/* Compare digits without leading zeros with a limit, as text. */
static int whole_fits(const char *text, size_t bytes, const char *most)
{
    size_t i;
    if (bytes == 0 || (bytes > 1 && text[0] == '0')) return 0;
    for (i = 0; i < bytes; ++i)
        if (text[i] < '0' || text[i] > '9') return 0;
    return bytes < strlen(most) || (bytes == strlen(most) && memcmp(text, most, bytes) <= 0);
}

static void whole_check(const char *text, size_t bytes)
{
    qnnrt_json_text t;
    uint64_t u = 1;
    int64_t i = 1;
    char copy[32];
    size_t minus = bytes > 0 && text[0] == '-';
    int fits_u = whole_fits(text, bytes, "18446744073709551615");
    int fits_i = whole_fits(text + minus, bytes - minus, minus ? "9223372036854775808" : "9223372036854775807");
    memset(&t, 0, sizeof(t));
    t.text = text;
    t.bytes = bytes;
    MUST(qnnrt_json_u64(&t, &u) == fits_u && qnnrt_json_i64(&t, &i) == fits_i);
    memset(copy, 0, sizeof(copy));
    if (fits_u || fits_i) memcpy(copy, text, bytes);
    MUST(u == (fits_u ? strtoull(copy, NULL, 10) : 0));
    MUST(i == (fits_i ? strtoll(copy, NULL, 10) : 0));
}

/* ---- one input --------------------------------------------------------------------------------- */

static void around(const format *f, uint64_t bits)
{
    print_check(f, bits);
    print_check(f, bits + 1);
    print_check(f, bits - 1);
}

static void play(const unsigned char *data, size_t size)
{
    static decimal d;
    /* The block has exactly this size, so that a read past its end is found. */
    char *text = (char *)malloc(size);
    qnnrt_json_text t;
    uint64_t bits64 = 0;
    uint32_t bits32 = 0;
    double f64 = 1;
    float f32 = 1;
    int ok64, ok32;
    if (size > DIGITS_MOST) size = DIGITS_MOST;
    MUST(text != NULL || size == 0);
    if (size > 0) memcpy(text, data, size);
    memset(&t, 0, sizeof(t));
    t.text = text;
    t.bytes = size;
    ok64 = qnnrt_json_f64(&t, &f64);
    ok32 = qnnrt_json_f32(&t, &f32);
    memcpy(&bits64, &f64, sizeof(bits64));
    memcpy(&bits32, &f32, sizeof(bits32));
    if (decimal_read(&d, data, size)) {
        MUST(d.negative == (int)(bits64 >> 63) && d.negative == (int)(bits32 >> 31));
        bits64 &= ~(UINT64_C(1) << 63);
        bits32 &= 0x7FFFFFFFu;
        MUST(bits64 <= format_infinity(&f64_format) && ok64 == (bits64 < format_infinity(&f64_format)));
        MUST(bits32 <= format_infinity(&f32_format) && ok32 == (bits32 < format_infinity(&f32_format)));
        MUST(format_nearest(&f64_format, &d, bits64));
        MUST(format_nearest(&f32_format, &d, bits32));
        around(&f64_format, bits64);
        around(&f32_format, bits32);
    } else {
        MUST(!ok64 && !ok32 && bits64 == 0 && bits32 == 0);
    }
    if (size >= sizeof(bits64)) {
        memcpy(&bits64, data + size - sizeof(bits64), sizeof(bits64));
        print_check(&f64_format, bits64);
        print_check(&f64_format, bits64 & ~((UINT64_C(1) << 52) - 1));       /* a power of two */
        print_check(&f32_format, bits64 >> 32);
        print_check(&f32_format, bits64 & 0xFF800000u);
    }
    whole_check(text, size);
    free(text);
}

FUZZ_TARGET
