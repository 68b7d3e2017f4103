/* qnnrt_sha256.h - part of qnnrt v0.5.0 - SHA-256

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt.h"
       #define QNNRT_SHA256_IMPLEMENTATION          #include "qnnrt_sha256.h"
       #include "qnnrt.h"
       #include "qnnrt_sha256.h"

   With it, qnnrt_manifest_open() compares all bytes of the files of a program with the sums in its
   qnnrt.json:

       qnnrt_manifest_open_desc desc = {0};
       desc.sha256 = qnnrt_sha256_text;
       qnnrt_manifest_open("model_dir", &desc, &program, &err);

   BUILD OPTIONS, to define before the header is first included
       QNNRT_SHA256_API    replaces the storage and export prefix of all functions (default:
                           QNNRT_API)
       The options of qnnrt.h work here too: QNNRT_STATIC, QNNRT_API
*/
#ifndef QNNRT_SHA256_H
#define QNNRT_SHA256_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_sha256.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_SHA256_API
#define QNNRT_SHA256_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* SHA-256 that is being computed. */
typedef struct qnnrt_sha256 {
    uint32_t      state[8];
    uint64_t      bytes;                /* that were added */
    unsigned char block[64];            /* the last bytes of them that fill no block */
} qnnrt_sha256;

/* Compute SHA-256 (FIPS 180-4): begin, then add any number of times, then end once; text does it in
   one call. data may be NULL if bytes is 0; sum must not be NULL.

   out    receives the hash, may be NULL
   text   receives it as 64 small hexadecimal digits, may be NULL

   Cost   0.29 GB/s on one core of an x86-64 server */
QNNRT_SHA256_API void qnnrt_sha256_begin(qnnrt_sha256 *sum);
QNNRT_SHA256_API void qnnrt_sha256_add(qnnrt_sha256 *sum, const void *data, uint64_t bytes);
QNNRT_SHA256_API void qnnrt_sha256_end(qnnrt_sha256 *sum, unsigned char out[32], char text[65]);
QNNRT_SHA256_API void qnnrt_sha256_text(const void *data, uint64_t bytes, char text[65]);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_SHA256_H, end of the declarations */

#ifdef QNNRT_SHA256_IMPLEMENTATION
#ifndef QNNRT_SHA256__IMPL_ONCE
#define QNNRT_SHA256__IMPL_ONCE

#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

static const uint32_t qnnrt_sha256__start[8] = {
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19
};

static const uint32_t qnnrt_sha256__adds[64] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2
};

/* Eight rounds are written out, so that the words change places without being moved. */
static void qnnrt_sha256__blocks(uint32_t *state, const unsigned char *at, uint64_t count)
{
    const uint32_t *words = qnnrt_sha256__adds;
#define QNNRT_SHA256__RT(x, n) ((x) >> (n) | (x) << (32 - (n)))
#define QNNRT_SHA256__XR(x, a, b, c) \
    (QNNRT_SHA256__RT(x, a) ^ QNNRT_SHA256__RT(x, b) ^ QNNRT_SHA256__RT(x, c))
#define QNNRT_SHA256__ROUND(a, b, c, d, e, f, g, h, n) \
    h += QNNRT_SHA256__XR(e, 6, 11, 25) + (g ^ (e & (f ^ g))) + words[i + n] + w[i + n]; \
    d += h; \
    h += QNNRT_SHA256__XR(a, 2, 13, 22) + ((a & b) | (c & (a | b)))
    for (; count > 0; --count, at += 64) {
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7], w[64], i;
        for (i = 0; i < 16; ++i)
            w[i] = (uint32_t)at[4 * i] << 24 | (uint32_t)at[4 * i + 1] << 16 |
                   (uint32_t)at[4 * i + 2] << 8 | at[4 * i + 3];
        for (; i < 64; ++i)
            w[i] = w[i - 16] + w[i - 7] +
                   (QNNRT_SHA256__RT(w[i - 15], 7) ^ QNNRT_SHA256__RT(w[i - 15], 18) ^
                    w[i - 15] >> 3) +
                   (QNNRT_SHA256__RT(w[i - 2], 17) ^ QNNRT_SHA256__RT(w[i - 2], 19) ^
                    w[i - 2] >> 10);
        for (i = 0; i < 64; i += 8) {
            QNNRT_SHA256__ROUND(a, b, c, d, e, f, g, h, 0);
            QNNRT_SHA256__ROUND(h, a, b, c, d, e, f, g, 1);
            QNNRT_SHA256__ROUND(g, h, a, b, c, d, e, f, 2);
            QNNRT_SHA256__ROUND(f, g, h, a, b, c, d, e, 3);
            QNNRT_SHA256__ROUND(e, f, g, h, a, b, c, d, 4);
            QNNRT_SHA256__ROUND(d, e, f, g, h, a, b, c, 5);
            QNNRT_SHA256__ROUND(c, d, e, f, g, h, a, b, 6);
            QNNRT_SHA256__ROUND(b, c, d, e, f, g, h, a, 7);
        }
        state[0] += a; state[1] += b; state[2] += c; state[3] += d;
        state[4] += e; state[5] += f; state[6] += g; state[7] += h;
    }
#undef QNNRT_SHA256__RT
#undef QNNRT_SHA256__XR
#undef QNNRT_SHA256__ROUND
}

QNNRT_SHA256_API void qnnrt_sha256_begin(qnnrt_sha256 *sum)
{
    memset(sum, 0, sizeof(*sum));
    memcpy(sum->state, qnnrt_sha256__start, sizeof(sum->state));
}

QNNRT_SHA256_API void qnnrt_sha256_add(qnnrt_sha256 *sum, const void *data, uint64_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    const size_t used = (size_t)(sum->bytes % 64);
    size_t part = bytes < 64 - used ? (size_t)bytes : 64 - used;
    if (bytes == 0) return;
    sum->bytes += bytes;
    if (used > 0) {
        memcpy(sum->block + used, at, part);
        if (used + part < 64) return;
        qnnrt_sha256__blocks(sum->state, sum->block, 1);
        at += part;
        bytes -= part;
    }
    qnnrt_sha256__blocks(sum->state, at, bytes / 64);
    memcpy(sum->block, at + bytes / 64 * 64, (size_t)(bytes % 64));
}

QNNRT_SHA256_API void qnnrt_sha256_end(qnnrt_sha256 *sum, unsigned char out[32], char text[65])
{
    static const unsigned char pad[64] = { 0x80 };
    const uint64_t bits = sum->bytes * 8;
    unsigned char size[8];
    int i;
    for (i = 0; i < 8; ++i) size[i] = (unsigned char)(bits >> (56 - 8 * i));
    qnnrt_sha256_add(sum, pad, 1 + (119 - sum->bytes % 64) % 64);
    qnnrt_sha256_add(sum, size, 8);
    for (i = 0; i < 32; ++i) {
        const unsigned char byte = (unsigned char)(sum->state[i / 4] >> (24 - i % 4 * 8));
        if (out != NULL) out[i] = byte;
        if (text != NULL) snprintf(text + 2 * i, 3, "%02x", (unsigned)byte);
    }
}

QNNRT_SHA256_API void qnnrt_sha256_text(const void *data, uint64_t bytes, char text[65])
{
    qnnrt_sha256 sum;
    qnnrt_sha256_begin(&sum);
    qnnrt_sha256_add(&sum, data, bytes);
    qnnrt_sha256_end(&sum, NULL, text);
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_SHA256__IMPL_ONCE */
#endif /* QNNRT_SHA256_IMPLEMENTATION */
