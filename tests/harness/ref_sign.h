/* ref_sign.h - compute the checksum of a Ref binary again, so that the library reads a changed file

   Written from the comment in tools/refbackend/binary.c, not with its code. */
#ifndef REF_SIGN_H
#define REF_SIGN_H

#include <stdint.h>
#include <string.h>

/* bytes: at least 64 */
static inline void ref_sign(unsigned char *data, size_t bytes)
{
    uint64_t sum = 0x9E3779B97F4A7C15u ^ (uint64_t)(bytes - 32);
    for (size_t at = 32; at < bytes; at += 8) {
        uint64_t word = 0;
        memcpy(&word, data + at, bytes - at < 8 ? bytes - at : 8);
        sum = (sum ^ word) * 0xD6E8FEB86659FD93u;
        sum ^= sum >> 32;
    }
    memcpy(data + 24, &sum, 8);
}

#endif
