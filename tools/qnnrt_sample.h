/* qnnrt_sample.h - v0.5.0 - a token from logits: temperature, top-k, top-p, min-p, penalty, argmax

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_sample.h"
       #define QNNRT_SAMPLE_IMPLEMENTATION
       #include "qnnrt_sample.h"

   A sampler draws tokens from logits as stored. The same seed and the same logits give the same
   tokens on every machine that computes double as double (32-bit x86: with SSE2).

       qnnrt_llm_sampler_desc how = {0};           // {0} is greedy
       how.temperature = 0.8f; how.top_k = 40; how.top_p = 0.95f; how.seed = 1;
       qnnrt_llm_sampler_create(logits, &how, &sampler, &err);     // the tensor of the logits
       next = qnnrt_llm_sample(sampler, stored);                    // one row of it
       qnnrt_llm_sampler_accept(sampler, next);    // for the repetition penalty

   Make one sampler for each text: it remembers the tokens of its text.

   Uses     Public names of qnnrt.h, and libc; no libm, no POSIX
   Trust    The caller is trusted; a tensor's type and encoding are checked.
   Memory   One allocator hook. Only making a sampler allocates.
   Threads  The header creates none. A sampler belongs to one thread at a time.

   BUILD OPTIONS, to define before the header is first included
       QNNRT_SAMPLE_API    replaces the storage and export prefix of all functions (default:
                           QNNRT_API)
       The options of qnnrt.h work here too: QNNRT_STATIC, QNNRT_API

   ROOMS (search for the tag)
       >>keys >>draw >>public
*/
#ifndef QNNRT_SAMPLE_H
#define QNNRT_SAMPLE_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_sample.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_SAMPLE_API
#define QNNRT_SAMPLE_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* {0} is greedy. The order: repetition penalty, temperature, top-k, top-p, min-p, draw. */
typedef struct qnnrt_llm_sampler_desc {
    float    temperature;          /* (default 0: greedy, the most probable token) */
    uint32_t top_k;                /* keep so many of the most probable tokens (default 0: all) */
    float    top_p;                /* keep the fewest most probable tokens whose probabilities add
                                      up to it (default 0: 1, all) */
    float    min_p;                /* keep tokens with at least this fraction of the highest
                                      probability (default 0: all) */
    float    repetition_penalty;   /* divides positive logits of recent tokens, and multiplies
                                      negative ones (default 0: 1, none) */
    uint32_t repetition_last;      /* number of recent tokens (default 0: 64) */
    uint64_t seed;                 /* any number, including 0 */
    qnnrt_hooks hooks;             /* alloc and free are used */
} qnnrt_llm_sampler_desc;

typedef struct qnnrt_llm_sampler qnnrt_llm_sampler;

/* Make a sampler for logits of this type, encoding and vocabulary, its last dimension. It
   computes in integers, so that the same seed gives the same tokens on every machine.
   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (a type or encoding of logits); QNNRT_E_ARG (a field of
            desc, named in the text); QNNRT_E_MEMORY
   Frees    qnnrt_llm_sampler_destroy(); NULL is allowed
   Threads  one thread per sampler at a time */
QNNRT_SAMPLE_API qnnrt_result qnnrt_llm_sampler_create(const qnnrt_tensor_info *logits,
                                                       const qnnrt_llm_sampler_desc *desc,
                                                       qnnrt_llm_sampler **out, qnnrt_error *err);
QNNRT_SAMPLE_API void qnnrt_llm_sampler_destroy(qnnrt_llm_sampler *sampler);

/* Draw a token from one row of logits as stored, such as qnnrt_llm_stored_logits() has it. Return
   -1 for NULL, and if all logits are NaN. Of tokens with equal logits the lower one counts as more
   probable. */
QNNRT_SAMPLE_API int32_t qnnrt_llm_sample(qnnrt_llm_sampler *sampler, const void *stored);

/* Add a token to the recent tokens of the repetition penalty. Call this for each token that was
   drawn, and for the tokens of a prompt if the penalty should include them. */
QNNRT_SAMPLE_API void qnnrt_llm_sampler_accept(qnnrt_llm_sampler *sampler, int32_t token);

/* Go back to the seed, and forget recent tokens. */
QNNRT_SAMPLE_API void qnnrt_llm_sampler_reset(qnnrt_llm_sampler *sampler);

/* Return the most probable token of one row of logits as stored, the lowest of equals, without a
   sampler. Return -1 for NULL, if all logits are NaN, and for a type that samplers refuse. Integers
   compare as they are, whatever their encoding. */
QNNRT_SAMPLE_API int32_t qnnrt_sample_argmax(const qnnrt_tensor_info *logits, const void *stored);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_SAMPLE_H, end of the declarations */

#ifdef QNNRT_SAMPLE_IMPLEMENTATION
#ifndef QNNRT_SAMPLE__IMPL_ONCE
#define QNNRT_SAMPLE__IMPL_ONCE

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   KEYS                                                                           >>keys
   Converts logits of any type to integers with the same order, and finds the largest.
   Needs: nothing     Knows nothing of: probabilities
   ===================================================================================== */

/* Marks functions that every token runs through. Compilers put them side by side: after an execute
   none of this code is in the processor's caches, and each of its pages has to be loaded again. */
#define QNNRT_SAMPLE__HOT __attribute__((hot))

/* A key is an integer that is larger for a larger logit, equal for an equal one, and the lowest for
   a NaN. Most work is done on keys, so that few logits have to become numbers. */

typedef enum qnnrt_sample__keys_kind {
    QNNRT_SAMPLE__KEYS_CODE8,
    QNNRT_SAMPLE__KEYS_CODE16,
    QNNRT_SAMPLE__KEYS_FLOAT16,
    QNNRT_SAMPLE__KEYS_FLOAT32
} qnnrt_sample__keys_kind;

typedef struct qnnrt_sample__keys_form {
    qnnrt_sample__keys_kind kind;
    uint32_t bytes;
    uint32_t flip;          /* quantized: the sign bit, inverted before comparing */
    uint32_t infinity;      /* FLOAT16: its bits, 0x7C00, or 0x7F80 for bfloat16 */
    int32_t  lowest, highest;   /* keys of numbers, infinities included */
    int32_t  bias;          /* quantized: the value is key + bias */
} qnnrt_sample__keys_form;

enum {
    QNNRT_SAMPLE__KEYS_BLOCK = 256,         /* keys per search for a maximum */
    QNNRT_SAMPLE__KEYS_NONE  = -0x7FFFFFFF - 1   /* the key of a NaN */
};

/* Find the form of a type. Return 0 if it has none. Integers without an encoding compare as
   quantized values do. */
QNNRT_SAMPLE__HOT
static int qnnrt_sample__keys_form_of(qnnrt_dtype dtype, qnnrt_sample__keys_form *form)
{
    memset(form, 0, sizeof *form);
    switch ((int)dtype) {
    case QNNRT_DTYPE_U8: case QNNRT_DTYPE_U8Q: case QNNRT_DTYPE_I8: case QNNRT_DTYPE_S8Q:
        form->kind    = QNNRT_SAMPLE__KEYS_CODE8;
        form->bytes   = 1;
        form->flip    = dtype == QNNRT_DTYPE_I8 || dtype == QNNRT_DTYPE_S8Q ? 0x80 : 0;
        form->bias    = -(int32_t)form->flip;
        form->highest = 255;
        return 1;
    case QNNRT_DTYPE_U16: case QNNRT_DTYPE_U16Q: case QNNRT_DTYPE_I16: case QNNRT_DTYPE_S16Q:
        form->kind    = QNNRT_SAMPLE__KEYS_CODE16;
        form->bytes   = 2;
        form->flip    = dtype == QNNRT_DTYPE_U16 || dtype == QNNRT_DTYPE_U16Q ? 0x8000 : 0;
        form->bias    = (int32_t)form->flip;
        form->lowest  = -32768;
        form->highest = 32767;
        return 1;
    case QNNRT_DTYPE_F16: case QNNRT_DTYPE_BF16:
        form->kind     = QNNRT_SAMPLE__KEYS_FLOAT16;
        form->bytes    = 2;
        form->infinity = dtype == QNNRT_DTYPE_F16 ? 0x7C00 : 0x7F80;
        form->highest  = (int32_t)form->infinity;
        form->lowest   = -form->highest;
        return 1;
    case QNNRT_DTYPE_F32:
        form->kind    = QNNRT_SAMPLE__KEYS_FLOAT32;
        form->bytes   = 4;
        form->highest = 0x7F800000;
        form->lowest  = -form->highest;
        return 1;
    default:
        return 0;
    }
}

/* Convert sign and magnitude to two's complement, so that both zeros are 0 and NaNs are lowest.
   Without branches, so that compilers can vectorize it. */
static int16_t qnnrt_sample__keys_of16(uint16_t bits, uint16_t infinity)
{
    const uint16_t size = (uint16_t)(bits & 0x7FFF);
    const uint16_t sign = (uint16_t)(0 - (bits >> 15));
    const uint16_t nan  = (uint16_t)(0 - (size > infinity));
    const uint16_t key  = (uint16_t)((size ^ sign) - sign);
    return (int16_t)(uint16_t)((key & ~nan) | (nan & 0x8000));
}

static int32_t qnnrt_sample__keys_of32(uint32_t bits)
{
    const uint32_t size = bits & 0x7FFFFFFF;
    const uint32_t sign = 0 - (bits >> 31);
    const uint32_t nan  = 0 - (uint32_t)(size > 0x7F800000);
    const uint32_t key  = (size ^ sign) - sign;
    return (int32_t)((key & ~nan) | (nan & 0x80000000u));
}

/* Return the key of one logit. */
static int32_t qnnrt_sample__keys_of(const qnnrt_sample__keys_form *form,
                                     const unsigned char *stored, uint32_t index)
{
    const unsigned char *at = stored + (size_t)index * form->bytes;
    if (form->kind == QNNRT_SAMPLE__KEYS_CODE8) {
        return (int32_t)(*at ^ form->flip);
    } else if (form->kind == QNNRT_SAMPLE__KEYS_FLOAT32) {
        uint32_t bits;
        memcpy(&bits, at, sizeof bits);
        return qnnrt_sample__keys_of32(bits);
    } else {
        uint16_t bits;
        int16_t key;
        memcpy(&bits, at, sizeof bits);
        if (form->kind == QNNRT_SAMPLE__KEYS_CODE16) return (int16_t)(bits ^ form->flip);
        key = qnnrt_sample__keys_of16(bits, (uint16_t)form->infinity);
        return key == -32768 ? (int32_t)QNNRT_SAMPLE__KEYS_NONE : key;
    }
}

/* Return the largest key of a whole block, with one function per kind. Compilers vectorize these
   loops because the number of turns is constant and all types, results included, are as narrow as
   possible: gcc -O2 requires that, and clang widens everything if the result is wider. */
static unsigned char qnnrt_sample__keys_code8(const unsigned char *at, unsigned char flip)
{
    unsigned char most = 0;
    int i;
    for (i = 0; i < QNNRT_SAMPLE__KEYS_BLOCK; ++i) {
        const unsigned char key = (unsigned char)(at[i] ^ flip);
        most = key > most ? key : most;
    }
    return most;
}

QNNRT_SAMPLE__HOT
static int16_t qnnrt_sample__keys_code16(const unsigned char *at, uint16_t flip)
{
    int16_t most = -32768;
    int i;
    for (i = 0; i < QNNRT_SAMPLE__KEYS_BLOCK; ++i) {
        uint16_t bits;
        int16_t key;
        memcpy(&bits, at + 2 * i, sizeof bits);
        key = (int16_t)(bits ^ flip);
        most = key > most ? key : most;
    }
    return most;
}

static int16_t qnnrt_sample__keys_float16(const unsigned char *at, uint16_t infinity)
{
    int16_t most = -32768;
    int i;
    for (i = 0; i < QNNRT_SAMPLE__KEYS_BLOCK; ++i) {
        uint16_t bits;
        int16_t key;
        memcpy(&bits, at + 2 * i, sizeof bits);
        key = qnnrt_sample__keys_of16(bits, infinity);
        most = key > most ? key : most;
    }
    return most;
}

static int32_t qnnrt_sample__keys_float32(const unsigned char *at)
{
    int32_t most = QNNRT_SAMPLE__KEYS_NONE;
    int i;
    for (i = 0; i < QNNRT_SAMPLE__KEYS_BLOCK; ++i) {
        uint32_t bits;
        int32_t key;
        memcpy(&bits, at + 4 * i, sizeof bits);
        key = qnnrt_sample__keys_of32(bits);
        most = key > most ? key : most;
    }
    return most;
}

/* Return the largest key of a block of any kind. */
static int32_t qnnrt_sample__keys_block(const qnnrt_sample__keys_form *form,
                                        const unsigned char *at)
{
    int32_t most;
    switch (form->kind) {
    case QNNRT_SAMPLE__KEYS_CODE8:
        return qnnrt_sample__keys_code8(at, (unsigned char)form->flip);
    case QNNRT_SAMPLE__KEYS_CODE16:
        return qnnrt_sample__keys_code16(at, (uint16_t)form->flip);
    case QNNRT_SAMPLE__KEYS_FLOAT16:
        most = qnnrt_sample__keys_float16(at, (uint16_t)form->infinity);
        return most == -32768 ? (int32_t)QNNRT_SAMPLE__KEYS_NONE : most;
    default:
        return qnnrt_sample__keys_float32(at);
    }
}

/* Continue the search for the largest key in [begin, end): change *key and *index if it has a
   larger one. Only the block that holds it is read twice. */
QNNRT_SAMPLE__HOT
static void qnnrt_sample__keys_scan(const qnnrt_sample__keys_form *form,
                                    const unsigned char *stored, uint32_t begin, uint32_t end,
                                    int32_t *key, uint32_t *index)
{
    const uint32_t size = QNNRT_SAMPLE__KEYS_BLOCK;
    uint32_t block = end;
    if (end - begin < size) {
        for (; begin < end; ++begin) {
            const int32_t one = qnnrt_sample__keys_of(form, stored, begin);
            if (one > *key) {
                *key = one;
                *index = begin;
            }
        }
        return;
    }
    while (begin < end) {
        int32_t most;
        if (end - begin < size) begin = end - size;   /* the last block overlaps the one before */
        most = qnnrt_sample__keys_block(form, stored + (size_t)begin * form->bytes);
        if (most > *key) {
            *key = most;
            block = begin;
        }
        begin += size;
    }
    if (block == end) return;
    if (form->kind == QNNRT_SAMPLE__KEYS_CODE16) {
        const uint16_t code = (uint16_t)((uint32_t)*key ^ form->flip);
        uint16_t bits;
        for (;; ++block) {
            memcpy(&bits, stored + (size_t)block * 2, sizeof bits);
            if (bits == code) break;
        }
    } else {
        while (qnnrt_sample__keys_of(form, stored, block) != *key) ++block;
    }
    *index = block;
}

/* Return the index of the largest logit, the lowest index if several are equal, ignoring NaNs.
   Return UINT32_MAX if there is no such logit, or if the type has no form. */
QNNRT_SAMPLE__HOT
static uint32_t qnnrt_sample__keys_argmax(const void *stored, qnnrt_dtype dtype, uint32_t count)
{
    qnnrt_sample__keys_form form;
    int32_t key = QNNRT_SAMPLE__KEYS_NONE;
    uint32_t index = UINT32_MAX;
    if (stored == NULL || !qnnrt_sample__keys_form_of(dtype, &form)) return UINT32_MAX;
    qnnrt_sample__keys_scan(&form, (const unsigned char *)stored, 0, count, &key, &index);
    return index;
}

/* =====================================================================================
   DRAWING                                                                        >>draw
   Draws tokens from logits, in integers.
   Needs: >>keys     Knows nothing of: tensors other than logits
   ===================================================================================== */

/* ---- levels and steps ----

   A level is a logit as a number: if quantized, q + offset, in units of the scale; for floats the
   float itself. Both are exact. The distance of a token from the best one, divided by the
   temperature, is counted in steps of 2^-20 and cut towards 0. Everything after that is computed in
   integers. A token 23 or more below the best one is never drawn; its probability is below 10^-10.

   A compiler may fuse a product and the addition after it into one operation, which rounds once
   instead of twice. Therefore every product here that is added to something is exact, or is divided
   first, and all machines count the same steps. */

enum {
    QNNRT_SAMPLE__DRAW_STEPS = 23 << 20,    /* tokens with so many steps are never drawn */
    QNNRT_SAMPLE__DRAW_BINS  = 23 << 4      /* values of the upper bits of steps */
};

typedef struct qnnrt_sample__draw_one {
    uint32_t token, steps;
} qnnrt_sample__draw_one;

typedef struct qnnrt_sample__draw_recent {
    uint32_t token, times;      /* times: occurrences among the recent tokens */
    int      nan;               /* 1: its logit is a NaN */
    double   level;             /* its level after the penalty, unless nan; both set while
                                   drawing */
} qnnrt_sample__draw_recent;

struct qnnrt_llm_sampler {
    qnnrt_arena arena;          /* which holds it */
    qnnrt_sample__keys_form form;
    uint32_t vocabulary;
    double   offset;            /* level = key + offset, if quantized */
    double   unit;              /* steps per level; 0: greedy */
    uint32_t top_k;             /* 0: all */
    uint64_t top_p, min_p;      /* in 2^-32; 0: off */
    double   penalty, inverse;  /* inverse: 1 / penalty */
    uint64_t seed, state;

    /* With a penalty, `ring` has the last tokens, the oldest at `next` if it is full. `recent` has
       each of these tokens once, sorted. */
    uint32_t *ring;
    uint32_t  room, held, next, distinct;
    qnnrt_sample__draw_recent *recent;

    /* Used unless greedy: */
    qnnrt_sample__draw_one *ones;           /* [vocabulary] the candidates, by token */
    uint64_t bins[QNNRT_SAMPLE__DRAW_BINS];
    uint64_t high[QNNRT_SAMPLE__DRAW_BINS]; /* e ^ -steps for bits 16 and up, in 2^-32 */
    uint64_t middle[256], low[256];        /* for bits 8 to 15 and bits 0 to 7, in 2^-31 */
};

/* Return the level of a key that is not a NaN's. */
static double qnnrt_sample__draw_level(const qnnrt_llm_sampler *s, int32_t key)
{
    const uint32_t size = (uint32_t)(key < 0 ? -key : key);
    double level;
    if (s->form.kind == QNNRT_SAMPLE__KEYS_CODE8 || s->form.kind == QNNRT_SAMPLE__KEYS_CODE16)
        return (double)key + s->offset;
    if (s->form.kind == QNNRT_SAMPLE__KEYS_FLOAT16 && s->form.infinity == 0x7C00) {
        /* Half to float: add 112 to the exponent; subnormals are multiples of 2^-24. */
        if (size < 0x400) {
            level = (double)size / 16777216.0;
        } else {
            const uint32_t bits = size == 0x7C00 ? 0x7F800000u : (size << 13) + (112u << 23);
            float value;
            memcpy(&value, &bits, sizeof value);
            level = (double)value;
        }
    } else {
        const uint32_t bits = s->form.kind == QNNRT_SAMPLE__KEYS_FLOAT32 ? size : size << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        level = (double)value;
    }
    return key < 0 ? -level : level;
}

/* Return the steps from the best level down to a level. */
static uint32_t qnnrt_sample__draw_steps(const qnnrt_llm_sampler *s, double top, double level)
{
    const uint32_t most = QNNRT_SAMPLE__DRAW_STEPS;
    double steps;
    if (level >= top) return 0;
    steps = (top - level) * s->unit;
    return steps < (double)most ? (uint32_t)steps : most;
}

/* Find the lowest key that can be drawn if `top` is the best level. */
static int32_t qnnrt_sample__draw_bound(const qnnrt_llm_sampler *s, double top)
{
    int64_t low = s->form.lowest, high = (int64_t)s->form.highest + 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (qnnrt_sample__draw_steps(s, top, qnnrt_sample__draw_level(s, (int32_t)middle)) <
            QNNRT_SAMPLE__DRAW_STEPS)
            high = middle;
        else
            low = middle + 1;
    }
    return (int32_t)low;
}

/* Return e ^ -steps in 2^-32, at most 2^32. */
static uint64_t qnnrt_sample__draw_weight(const qnnrt_llm_sampler *s, uint32_t steps)
{
    const uint64_t half = (uint64_t)1 << 30;
    const uint64_t rest = (s->middle[steps >> 8 & 255] * s->low[steps & 255] + half) >> 31;
    return (s->high[steps >> 16] * rest + half) >> 31;
}

/* ---- choosing ---- */

/* Return the next number of SplitMix64 (Steele, Lea and Flood), which works with every seed. */
static uint64_t qnnrt_sample__draw_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Return the upper half of a * b. */
static uint64_t qnnrt_sample__draw_times(uint64_t a, uint64_t b)
{
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    const uint64_t other  = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

/* Return the sum of the weights of all candidates. */
static uint64_t qnnrt_sample__draw_sum(const qnnrt_llm_sampler *s, uint32_t count)
{
    uint64_t sum = 0;      /* below 2^63: fewer than 2^31 weights of at most 2^32 */
    uint32_t i;
    for (i = 0; i < count; ++i) sum += qnnrt_sample__draw_weight(s, s->ones[i].steps);
    return sum;
}

/* Keep the fewest best candidates whose weights add up to `want` or more; of equal candidates
   prefer the lower token. Without `weighted` keep the best `want` candidates. Find the cut by the
   upper bits of the steps, then by the middle bits, then by the lower bits. */
static uint32_t qnnrt_sample__draw_best(qnnrt_llm_sampler *s, uint32_t count, int weighted,
                                        uint64_t want)
{
    uint32_t cut = 0, kept = 0;
    uint32_t shift, i;
    for (shift = 16; ; shift -= 8) {
        const uint32_t bins = shift == 16 ? QNNRT_SAMPLE__DRAW_BINS : 256;
        uint32_t bin = 0;
        memset(s->bins, 0, sizeof *s->bins * bins);
        for (i = 0; i < count; ++i) {
            const uint32_t steps = s->ones[i].steps, upper = steps >> shift;
            if (shift != 16 && upper >> 8 != cut) continue;
            s->bins[shift == 16 ? upper : upper & 255] +=
                weighted ? qnnrt_sample__draw_weight(s, steps) : 1;
        }
        while (s->bins[bin] < want && bin + 1 < bins) want -= s->bins[bin++];
        cut = cut << 8 | bin;
        if (shift == 0) break;
    }
    for (i = 0; i < count; ++i) {
        const qnnrt_sample__draw_one one = s->ones[i];
        if (one.steps > cut || (one.steps == cut && want == 0)) continue;
        if (one.steps == cut) {
            const uint64_t weight = weighted ? qnnrt_sample__draw_weight(s, cut) : 1;
            want = want > weight ? want - weight : 0;
        }
        s->ones[kept++] = one;
    }
    return kept;
}

/* Apply the penalty to the levels of recent tokens. It divides by the inverse instead of
   multiplying, so that a compiler has no product to fuse with a sum. */
static void qnnrt_sample__draw_penalize(qnnrt_llm_sampler *s, const unsigned char *stored)
{
    uint32_t i;
    for (i = 0; i < s->distinct; ++i) {
        qnnrt_sample__draw_recent *recent = &s->recent[i];
        const int32_t key = qnnrt_sample__keys_of(&s->form, stored, recent->token);
        recent->nan = key == QNNRT_SAMPLE__KEYS_NONE;
        if (recent->nan) continue;
        recent->level = qnnrt_sample__draw_level(s, key);
        recent->level /= recent->level > 0 ? s->penalty : s->inverse;
    }
}

/* Find the best token and its level. Return -1 if all logits are NaN. */
static int64_t qnnrt_sample__draw_top(const qnnrt_llm_sampler *s, const unsigned char *stored,
                                      double *top)
{
    int32_t key = QNNRT_SAMPLE__KEYS_NONE;
    uint32_t index = 0, begin = 0;
    int64_t best = -1;
    uint32_t i;
    for (i = 0; i < s->distinct; ++i) {
        qnnrt_sample__keys_scan(&s->form, stored, begin, s->recent[i].token, &key, &index);
        begin = s->recent[i].token + 1;
    }
    qnnrt_sample__keys_scan(&s->form, stored, begin, s->vocabulary, &key, &index);
    if (key != QNNRT_SAMPLE__KEYS_NONE) {
        best = index;
        *top = qnnrt_sample__draw_level(s, key);
    }
    for (i = 0; i < s->distinct; ++i) {
        const qnnrt_sample__draw_recent *recent = &s->recent[i];
        if (recent->nan) continue;
        if (best < 0 || recent->level > *top || (recent->level == *top && recent->token < best)) {
            best = recent->token;
            *top = recent->level;
        }
    }
    return best;
}

/* Add the tokens of [begin, end) that can be drawn to the candidates. Return the new count. */
static uint32_t qnnrt_sample__draw_collect(qnnrt_llm_sampler *s, const unsigned char *stored,
                                           uint32_t begin, uint32_t end, int32_t bound, double top,
                                           uint32_t count)
{
    for (; begin < end; ++begin) {
        const int32_t key = qnnrt_sample__keys_of(&s->form, stored, begin);
        if (key < bound) continue;
        s->ones[count].token   = begin;
        s->ones[count++].steps = qnnrt_sample__draw_steps(s, top, qnnrt_sample__draw_level(s, key));
    }
    return count;
}

/* Draw a token. */
static int32_t qnnrt_sample__draw_token(qnnrt_llm_sampler *s, const unsigned char *stored)
{
    double top = 0;
    int64_t best;
    int32_t bound;
    uint32_t count = 0, begin = 0, kept;
    uint64_t at;
    uint32_t i;

    qnnrt_sample__draw_penalize(s, stored);
    best = qnnrt_sample__draw_top(s, stored, &top);
    if (best < 0 || s->unit == 0) return (int32_t)best;
    bound = qnnrt_sample__draw_bound(s, top);
    for (i = 0; i < s->distinct; ++i) {
        const qnnrt_sample__draw_recent *recent = &s->recent[i];
        uint32_t steps;
        count = qnnrt_sample__draw_collect(s, stored, begin, recent->token, bound, top, count);
        begin = recent->token + 1;
        if (recent->nan) continue;
        steps = qnnrt_sample__draw_steps(s, top, recent->level);
        if (steps == QNNRT_SAMPLE__DRAW_STEPS) continue;
        s->ones[count].token   = recent->token;
        s->ones[count++].steps = steps;
    }
    count = qnnrt_sample__draw_collect(s, stored, begin, s->vocabulary, bound, top, count);

    if (s->top_k != 0 && s->top_k < count) count = qnnrt_sample__draw_best(s, count, 0, s->top_k);
    if (s->top_p != 0) {
        at = qnnrt_sample__draw_times(qnnrt_sample__draw_sum(s, count), s->top_p << 32);
        count = qnnrt_sample__draw_best(s, count, 1, at != 0 ? at : 1);
    }
    if (s->min_p != 0) {
        kept = 0;
        for (i = 0; i < count; ++i)
            if (qnnrt_sample__draw_weight(s, s->ones[i].steps) >= s->min_p)
                s->ones[kept++] = s->ones[i];
        count = kept;
    }
    at = qnnrt_sample__draw_times(qnnrt_sample__draw_random(&s->state),
                                  qnnrt_sample__draw_sum(s, count));
    /* `at` is below the sum, so the loop ends at the last candidate at the latest. */
    for (begin = 0; begin + 1 < count; ++begin) {
        const uint64_t weight = qnnrt_sample__draw_weight(s, s->ones[begin].steps);
        if (at < weight) break;
        at -= weight;
    }
    return (int32_t)s->ones[begin].token;
}

/* ---- recent tokens ---- */

/* Return the index of a token among the distinct recent tokens, or the index to insert it at. */
static uint32_t qnnrt_sample__draw_find(const qnnrt_llm_sampler *s, uint32_t token)
{
    uint32_t low = 0, high = s->distinct;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (s->recent[middle].token < token) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Add a recent token; if the ring is full, forget the oldest. */
static void qnnrt_sample__draw_remember(qnnrt_llm_sampler *s, uint32_t token)
{
    qnnrt_sample__draw_recent *recent;
    uint32_t at;
    if (s->room == 0) return;
    if (s->held == s->room) {
        at = qnnrt_sample__draw_find(s, s->ring[s->next]);
        recent = &s->recent[at];
        if (--recent->times == 0)
            memmove(recent, recent + 1, sizeof *recent * (--s->distinct - at));
    } else {
        ++s->held;
    }
    s->ring[s->next] = token;
    s->next = s->next + 1 < s->room ? s->next + 1 : 0;
    at = qnnrt_sample__draw_find(s, token);
    recent = &s->recent[at];
    if (at == s->distinct || recent->token != token) {
        memmove(recent + 1, recent, sizeof *recent * (s->distinct++ - at));
        memset(recent, 0, sizeof *recent);
        recent->token = token;
    }
    ++recent->times;
}

/* Go back to the seed, and forget recent tokens. */
static void qnnrt_sample__draw_reset(qnnrt_llm_sampler *s)
{
    s->state = s->seed;
    s->held = s->next = s->distinct = 0;
}

/* ---- making a sampler ---- */

static void qnnrt_sample__draw_free(qnnrt_llm_sampler *s)
{
    qnnrt_arena arena = s->arena;
    qnnrt_arena_free(&arena);
}

/* Check a descriptor. The conditions refuse a NaN too. */
static qnnrt_result qnnrt_sample__draw_check(const qnnrt_llm_sampler_desc *desc, qnnrt_error *err)
{
    size_t i;
    const struct { const char *name, *range; float value, high; } fields[] = {
        { "temperature",        "0 to 1e30", desc->temperature,        1e30f },
        { "top_p",              "0 to 1",    desc->top_p,              1.0f  },
        { "min_p",              "0 to 1",    desc->min_p,              1.0f  },
        { "repetition_penalty", "0 to 1e30", desc->repetition_penalty, 1e30f }
    };
    for (i = 0; i < sizeof fields / sizeof fields[0]; ++i)
        if (!(fields[i].value >= 0 && fields[i].value <= fields[i].high))
            return qnnrt_error_set(err, QNNRT_E_ARG, "%s is %g, expected %s", fields[i].name,
                                   (double)fields[i].value, fields[i].range);
    if ((desc->hooks.alloc == NULL) != (desc->hooks.free == NULL))
        return qnnrt_error_set(err, QNNRT_E_ARG, "hooks: expected both alloc and free, or neither");
    return QNNRT_OK;
}

/* Take type, encoding and vocabulary of the logits. */
static qnnrt_result qnnrt_sample__draw_take_logits(qnnrt_llm_sampler *s,
                                                   const qnnrt_tensor_info *logits, double *scale,
                                                   qnnrt_error *err)
{
    const char *name = logits->name != NULL ? logits->name : "";
    const qnnrt_quant *quant = &logits->quant;
    *scale = 1.0;
    if (logits->rank == 0 || logits->dims == NULL || logits->dims[logits->rank - 1] == 0)
        return qnnrt_error_set(err, QNNRT_E_ARG, "tensor \"%s\" lacks a dimension for the "
                               "vocabulary", name);
    s->vocabulary = logits->dims[logits->rank - 1];
    if (s->vocabulary > 0x7FFFFFFFu)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": vocabulary %u, expected "
                               "at most 2147483647", name, s->vocabulary);
    if (!qnnrt_sample__keys_form_of(logits->dtype, &s->form))
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": cannot sample from logits "
                               "of type %s", name, qnnrt_dtype_name(logits->dtype));
    if (s->form.kind == QNNRT_SAMPLE__KEYS_FLOAT16 || s->form.kind == QNNRT_SAMPLE__KEYS_FLOAT32)
        return QNNRT_OK;
    if (quant->encoding != QNNRT_ENCODING_PER_TENSOR)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": expected an encoding with "
                               "one scale for logits of type %s", name,
                               qnnrt_dtype_name(logits->dtype));
    if (quant->bitwidth != 0 && quant->bitwidth != s->form.bytes * 8)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": cannot sample from logits "
                               "with %u bits of %u", name, quant->bitwidth, s->form.bytes * 8);
    if (!(quant->scale > 0 && quant->scale <= 3.4e38f))
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "tensor \"%s\": scale %g, expected a "
                               "number above 0", name, (double)quant->scale);
    *scale = (double)quant->scale;
    s->offset = (double)s->form.bias + (double)quant->offset;
    return QNNRT_OK;
}

/* Return x in units of 1 / one, a power of two, rounded to nearest. */
static uint64_t qnnrt_sample__draw_fixed(double x, double one) { return (uint64_t)(x * one + 0.5); }

/* Return e ^ -x for x of 0 to 23 in these units, with a relative error below 1e-14: the power
   series of x / 32 < 0.72, whose first missing term is below 1e-20, squared five times. */
static uint64_t qnnrt_sample__draw_exp(double x, double one)
{
    double sum = 1.0;
    int i;
    x /= -32.0;
    for (i = 20; i > 0; --i) sum = 1.0 + x * sum / (double)i;
    for (i = 0; i < 5; ++i) sum *= sum;
    return qnnrt_sample__draw_fixed(sum, one);
}

/* Make a sampler. */
static qnnrt_result qnnrt_sample__draw_make(const qnnrt_tensor_info *logits,
                                            const qnnrt_llm_sampler_desc *desc,
                                            qnnrt_llm_sampler **out, qnnrt_error *err)
{
    const double one32 = 4294967296.0, one31 = 2147483648.0;
    double scale;
    qnnrt_arena arena = { desc->hooks, 0, 1, 0, QNNRT_OK, NULL };    /* a block for each object */
    qnnrt_llm_sampler *s;
    qnnrt_result result = qnnrt_sample__draw_check(desc, err);
    int i;
    if (result != QNNRT_OK) return result;
    s = (qnnrt_llm_sampler *)qnnrt_arena_get(&arena, 1, sizeof *s);
    if (s == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a sampler");
    result = qnnrt_sample__draw_take_logits(s, logits, &scale, err);
    if (result != QNNRT_OK) {
        qnnrt_arena_free(&arena);
        return result;
    }

    s->top_k = desc->top_k;
    s->top_p = desc->top_p < 1.0f ? qnnrt_sample__draw_fixed((double)desc->top_p, one32) : 0;
    if (desc->top_p > 0 && desc->top_p < 1.0f && s->top_p == 0) s->top_p = 1;
    s->min_p = qnnrt_sample__draw_fixed((double)desc->min_p, one32);
    s->seed = desc->seed;
    s->penalty = desc->repetition_penalty != 0 ? (double)desc->repetition_penalty : 1.0;
    s->inverse = 1.0 / s->penalty;
    if (s->penalty != 1.0) {
        s->room = desc->repetition_last != 0 ? desc->repetition_last : 64;
        s->ring = (uint32_t *)qnnrt_arena_get(&arena, s->room, sizeof *s->ring);
        s->recent = (qnnrt_sample__draw_recent *)qnnrt_arena_get(&arena, s->room,
                                                                 sizeof *s->recent);
    }
    if (desc->temperature > 0) {
        s->unit = 1048576.0 * scale / (double)desc->temperature;
        s->ones = (qnnrt_sample__draw_one *)qnnrt_arena_get(&arena, s->vocabulary, sizeof *s->ones);
        for (i = 0; i < QNNRT_SAMPLE__DRAW_BINS; ++i)
            s->high[i] = qnnrt_sample__draw_exp((double)i / 16.0, one32);
        for (i = 0; i < 256; ++i) {
            s->middle[i] = qnnrt_sample__draw_exp((double)i / 4096.0, one31);
            s->low[i] = qnnrt_sample__draw_exp((double)i / 1048576.0, one31);
        }
    }
    if (arena.failed) {
        qnnrt_arena_free(&arena);
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a sampler");
    }
    qnnrt_sample__draw_reset(s);
    s->arena = arena;
    *out = s;
    return QNNRT_OK;
}

/* =====================================================================================
   PUBLIC                                                                       >>public
   Checks arguments and calls the rooms above.
   Needs: >>keys >>draw     Knows nothing of: how they work
   ===================================================================================== */

QNNRT_SAMPLE_API qnnrt_result qnnrt_llm_sampler_create(const qnnrt_tensor_info *logits,
                                                       const qnnrt_llm_sampler_desc *desc,
                                                       qnnrt_llm_sampler **out, qnnrt_error *err)
{
    const qnnrt_llm_sampler_desc greedy = { 0, 0, 0, 0, 0, 0, 0, { 0, 0, 0, 0, 0, 0, 0, 0 } };
    qnnrt_error_clear(err);
    if (out != NULL) *out = NULL;
    if (logits == NULL || out == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "%s is NULL", logits == NULL ? "logits" : "out");
    return qnnrt_sample__draw_make(logits, desc != NULL ? desc : &greedy, out, err);
}

QNNRT_SAMPLE_API void qnnrt_llm_sampler_destroy(qnnrt_llm_sampler *sampler)
{
    if (sampler != NULL) qnnrt_sample__draw_free(sampler);
}

QNNRT_SAMPLE_API int32_t qnnrt_llm_sample(qnnrt_llm_sampler *sampler, const void *stored)
{
    if (sampler == NULL || stored == NULL) return -1;
    return qnnrt_sample__draw_token(sampler, (const unsigned char *)stored);
}

QNNRT_SAMPLE_API void qnnrt_llm_sampler_accept(qnnrt_llm_sampler *sampler, int32_t token)
{
    if (sampler == NULL || token < 0 || (uint32_t)token >= sampler->vocabulary) return;
    qnnrt_sample__draw_remember(sampler, (uint32_t)token);
}

QNNRT_SAMPLE_API void qnnrt_llm_sampler_reset(qnnrt_llm_sampler *sampler)
{
    if (sampler != NULL) qnnrt_sample__draw_reset(sampler);
}

QNNRT_SAMPLE__HOT
QNNRT_SAMPLE_API int32_t qnnrt_sample_argmax(const qnnrt_tensor_info *logits, const void *stored)
{
    if (logits == NULL || logits->rank == 0 || logits->dims == NULL) return -1;
    return (int32_t)qnnrt_sample__keys_argmax(stored, logits->dtype,
                                              logits->dims[logits->rank - 1]);
}

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_SAMPLE__IMPL_ONCE */
#endif /* QNNRT_SAMPLE_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   First version: what qnnrt_llm.h 0.4 had. Added: qnnrt_sample_argmax().
   --------------------------------------------------------------------------------------------- */
