/* qnnrt_cache.h - v0.5.0 - a folder of compiled models, each found by a hash of what it was made of

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt_cache.h"
       #define QNNRT_CACHE_IMPLEMENTATION
       #include "qnnrt_cache.h"
   qnnrt.h lies beside this file or is found by the compiler. Link with -ldl.

       qnnrt_cache_key key; char text[QNNRT_CACHE_KEY_BYTES];
       qnnrt_cache_key_begin(&key);
       qnnrt_cache_key_add(&key, "graph", graph_text, graph_bytes);
       qnnrt_cache_key_add(&key, "library", info->build_id, strlen(info->build_id));
       qnnrt_cache_key_end(&key, text);
       qnnrt_cache_open("/var/tmp/models", NULL, &cache, &err);
       if (qnnrt_cache_get(cache, text, "out", &entry, &err) != QNNRT_OK) {  // copies files to out
           compile("out/model.bin");
           qnnrt_cache_put(cache, text, "out", names, 1, &err);             // names: "model.bin"
       }
       qnnrt_cache_close(cache);

   Uses     Public names of qnnrt.h, libc and POSIX files
   Trust    Files in the folder may be damaged, cut short or foreign: a hash covers each byte, and
            nothing is given out before all hashes are right. A hash is not a signature: whoever
            can write the folder can put other models into it. The caller is trusted.
   Memory   One allocator hook serves every allocation: 1 MiB for copies, and names
   Threads  The header creates none. One qnnrt_cache belongs to one thread at a time. Any number of
            processes and threads may have the same folder open, each with its own qnnrt_cache.
   Globals  Constant tables only. The header prints nothing and never aborts.

   WORDS
       key       64 hexadecimal digits, which name an entry
       entry     the files of one compiled model, in one file of the folder: <key>.qnnrt
       used      when an entry was written or given out last

   BUILD OPTIONS, to define before the header is first included
       QNNRT_CACHE_API  replaces the storage and export prefix of all functions (default: QNNRT_API)
       The options of qnnrt.h work here too: QNNRT_STATIC, QNNRT_API

   MANUAL

   Keys
       Two fields of a key never run into each other: name and data are hashed with their lengths.
       Add all that decides about the result, and the versions of all programs that make it. The
       hash is BLAKE2b with 32 bytes (RFC 7693).

   Entries
       An entry is written aside and renamed. So a reader sees a whole entry or none, whichever
       process writes it, and two that write the same one do not disturb each other. File names in
       the folder are made of keys alone; the names of an entry's files are text in it. They are
       plain names: qnnrt_cache_put() and qnnrt_cache_get() refuse those with a slash or a control
       character, and those that begin with a dot.

   Room
       qnnrt_cache_put() removes the entries that were used the longest ago, until all together have
       at most desc.limit bytes, and what was left behind by a process that was killed.

   Files that are written aside
       qnnrt_cache_aside() serves other writers, too: it creates a file beside the one that is
       meant, which is then renamed. Its name, .qnnrt.N.tmp, has the first number that is free, or a
       large one if 1,000 are taken. A lock, not a process number or an age, says that its writer
       lives: what a killed one left is removed by the next that meets it. No link is followed, and
       files of other users stay.

   ROOMS (search for the tag)
       >>config >>hash >>disk >>aside >>entry >>folder >>public
*/
#ifndef QNNRT_CACHE_H
#define QNNRT_CACHE_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_cache.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_CACHE_API
#define QNNRT_CACHE_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------ hashes -- */

enum {
    QNNRT_CACHE_HASH = 32,               /* bytes of a hash */
    QNNRT_CACHE_KEY_BYTES = 65           /* of a key as text, with its 0 */
};

/* A hash that is being computed. */
typedef struct qnnrt_cache_hash {
    uint64_t      state[8];
    uint64_t      bytes;                 /* that went into the state */
    unsigned char block[128];
    size_t        used;                  /* of block */
} qnnrt_cache_hash;

/* Compute BLAKE2b with 32 bytes: begin, then add any number of times, then end once. data may be
   NULL if bytes is 0; other pointers must not be NULL. */
QNNRT_CACHE_API void qnnrt_cache_hash_begin(qnnrt_cache_hash *hash);
QNNRT_CACHE_API void qnnrt_cache_hash_add(qnnrt_cache_hash *hash, const void *data, uint64_t bytes);
QNNRT_CACHE_API void qnnrt_cache_hash_end(qnnrt_cache_hash *hash,
                                          unsigned char out[QNNRT_CACHE_HASH]);

/* A key that is being made of fields. */
typedef struct qnnrt_cache_key {
    qnnrt_cache_hash hash;
    int              spoilt;             /* 1: a field is missing; there will be no key */
} qnnrt_cache_key;

/* Make a key: begin, then add each field, then end once. The order of the fields counts.
   data may be NULL if bytes is 0. A field with a name or data that is NULL, or a file that cannot
   be read, spoils the key: its text is "", which qnnrt_cache_get() and qnnrt_cache_put() refuse. */
QNNRT_CACHE_API void qnnrt_cache_key_begin(qnnrt_cache_key *key);
QNNRT_CACHE_API void qnnrt_cache_key_add(qnnrt_cache_key *key, const char *name, const void *data,
                                         uint64_t bytes);
QNNRT_CACHE_API void qnnrt_cache_key_end(qnnrt_cache_key *key, char text[QNNRT_CACHE_KEY_BYTES]);

/* Add the content of a regular file as a field. Its path is not part of the key.
   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND; QNNRT_E_IO (it cannot be read, or is no regular file);
            QNNRT_E_ARG. After an error the key is spoilt
   Cost     0.6 GB/s on one core of an x86-64 server, for a file that is in memory */
QNNRT_CACHE_API qnnrt_result qnnrt_cache_key_file(qnnrt_cache_key *key, const char *name,
                                                  const char *path, qnnrt_error *err);

/* ----------------------------------------------------------------------------------- folders -- */

typedef struct qnnrt_cache_desc {
    qnnrt_hooks hooks;                   /* alloc and free are used */
    uint64_t    limit;                   /* of all entries, in bytes (default 0: 10 GiB) */
} qnnrt_cache_desc;

typedef struct qnnrt_cache qnnrt_cache;

typedef struct qnnrt_cache_file {
    const char *name;                    /* plain, UTF-8 */
    uint64_t    bytes;
} qnnrt_cache_file;

typedef struct qnnrt_cache_entry {
    char                    key[QNNRT_CACHE_KEY_BYTES];
    uint64_t                bytes;       /* on the disk */
    int64_t                 used;        /* in seconds since 1970 */
    const qnnrt_cache_file *files;       /* [file_count] in the order of qnnrt_cache_put() */
    size_t                  file_count;
    const char             *damage;      /* NULL: none was found; else what is wrong */
} qnnrt_cache_entry;

/* Open a folder. It is made if it does not exist; the folder above it must exist.
   desc     may be NULL or on the stack
   Returns  QNNRT_OK; QNNRT_E_IO (it cannot be made, or is not a folder); QNNRT_E_ARG;
            QNNRT_E_MEMORY
   Frees    qnnrt_cache_close(); NULL is allowed */
QNNRT_CACHE_API qnnrt_result qnnrt_cache_open(const char *folder, const qnnrt_cache_desc *desc,
                                              qnnrt_cache **out, qnnrt_error *err);
QNNRT_CACHE_API void qnnrt_cache_close(qnnrt_cache *cache);

/* Copy the files of an entry into a folder, where they replace files of these names. They are
   written aside, and renamed when the hashes of all of them are right.

   key      as qnnrt_cache_key_end() makes it
   folder   exists
   entry    receives what was copied, valid until the next call with this cache; may be NULL

   Returns  QNNRT_OK
            QNNRT_E_NOT_FOUND  no such entry
            QNNRT_E_FORMAT     it is damaged, cut short or foreign: text says how. It was removed,
                               and no file was written
            QNNRT_E_IO         it cannot be read, or a file cannot be written; none is left then
            QNNRT_E_ARG; QNNRT_E_MEMORY
   Cost     reads, hashes and writes each byte once: about 0.4 GB/s */
QNNRT_CACHE_API qnnrt_result qnnrt_cache_get(qnnrt_cache *cache, const char *key,
                                             const char *folder, const qnnrt_cache_entry **entry,
                                             qnnrt_error *err);

/* Write an entry with files of a folder, and remove old entries, see "Room". An entry with this key
   is replaced.

   names    [count], 1 to 4,096 plain names, no two of them equal

   Returns  QNNRT_OK
            QNNRT_E_LIMIT  the files have more than desc.limit bytes; nothing was removed
            QNNRT_E_IO     a file cannot be read, or the entry cannot be written
            QNNRT_E_NOT_FOUND (a file does not exist); QNNRT_E_ARG; QNNRT_E_MEMORY
   After an error there is no such entry, or the one of before. */
QNNRT_CACHE_API qnnrt_result qnnrt_cache_put(qnnrt_cache *cache, const char *key,
                                             const char *folder, const char *const *names,
                                             size_t count, qnnrt_error *err);

/* Call visit with each entry, the one that was used the longest ago first. Heads are checked, the
   hashes of files are not. An entry is valid during the call, in which this cache must not be used.
   Returns  QNNRT_OK; QNNRT_E_IO; QNNRT_E_MEMORY; QNNRT_E_ARG */
QNNRT_CACHE_API qnnrt_result qnnrt_cache_list(qnnrt_cache *cache,
                                              void (*visit)(void *user,
                                                            const qnnrt_cache_entry *entry),
                                              void *user, qnnrt_error *err);

/* Remove all entries, and what killed processes left. Other files in the folder stay.
   count, bytes   receive what was removed; may be NULL
   Returns  QNNRT_OK; QNNRT_E_IO (some are still there); QNNRT_E_MEMORY; QNNRT_E_ARG */
QNNRT_CACHE_API qnnrt_result qnnrt_cache_clear(qnnrt_cache *cache, size_t *count, uint64_t *bytes,
                                               qnnrt_error *err);

/* -------------------------------------------------------------- files that are written aside -- */

enum { QNNRT_CACHE_PATH = 4096 };        /* bytes of a path, with its 0 */

/* Create a file in the folder of `path`, which is to be renamed to it. It is locked until it is
   closed: rename it before. What a killed writer of this user left with its number is removed.
   path     of the file that is meant; FOLDER/ if there is none
   mode     as open() takes it
   aside    receives the path of the new file
   Returns  the open file, to write; or -1, with errno (EINVAL: path or aside is NULL) */
QNNRT_CACHE_API int qnnrt_cache_aside(const char *path, unsigned mode,
                                      char aside[QNNRT_CACHE_PATH]);

/* Make a folder beside such a file, which belongs to it. One that is there is emptied, with folders
   in it, but not with folders in those.
   fd, aside   what qnnrt_cache_aside() returned and wrote
   folder      receives its path
   Returns     1; or 0, with errno (EINVAL: fd is -1, or aside or folder NULL) */
QNNRT_CACHE_API int qnnrt_cache_aside_folder(int fd, const char *aside,
                                             char folder[QNNRT_CACHE_PATH]);

/* Remove such a file, which was not renamed, with its folder; and close it. errno is kept. An fd of
   -1, or NULL, is allowed. */
QNNRT_CACHE_API void qnnrt_cache_aside_end(int fd, const char *aside);

/* Remove what killed writers of this user left in a folder. NULL is allowed. */
QNNRT_CACHE_API void qnnrt_cache_sweep(const char *folder);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_CACHE_H, end of the declarations */

#ifdef QNNRT_CACHE_IMPLEMENTATION
#ifndef QNNRT_CACHE__IMPL_ONCE
#define QNNRT_CACHE__IMPL_ONCE

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   The objects of every room.
   Needs: nothing     Knows nothing of: files, hashes
   ===================================================================================== */

enum {
    QNNRT_CACHE__MOST_FILES = 4096, QNNRT_CACHE__MOST_NAME = 255,
    QNNRT_CACHE__COPY = 1 << 20
};

typedef struct qnnrt_cache__found {      /* an entry of the folder */
    char     key[QNNRT_CACHE_KEY_BYTES];
    uint64_t bytes;
    int64_t  used;
} qnnrt_cache__found;

struct qnnrt_cache {
    qnnrt_hooks         hooks;
    uint64_t            limit;
    qnnrt_arena         kept, last, listed;      /* memory of what follows */
    const char         *folder;          /* kept */
    unsigned char      *copy;            /* [QNNRT_CACHE__COPY] */
    unsigned char      *head;            /* of the entry that was read last; names are in it */
    qnnrt_cache_file   *files;           /* of that entry */
    qnnrt_cache_entry   entry;
    const qnnrt_cache__found **found;    /* [found_count] listed, the longest unused first */
    size_t              found_count;
};

/* =====================================================================================
   HASH                                                                            >>hash
   BLAKE2b, from RFC 7693, without a key.
   Needs: >>config     Knows nothing of: files
   ===================================================================================== */

static const uint64_t qnnrt_cache__start[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b), UINT64_C(0x3c6ef372fe94f82b),
    UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179)
};

static const unsigned char qnnrt_cache__order[10][16] = {
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
    { 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
    { 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
    { 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
    { 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
    { 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
    { 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
    { 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
    { 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
    { 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 }
};

/* Mix four words of v, which are rotated by fixed numbers of bits, with words x and y of row r. */
#define QNNRT_CACHE__MIX(a, b, c, d, r, x) \
    v[a] += v[b] + m[qnnrt_cache__order[r][x]];     v[d] ^= v[a]; v[d] = v[d] >> 32 | v[d] << 32; \
    v[c] += v[d];                                   v[b] ^= v[c]; v[b] = v[b] >> 24 | v[b] << 40; \
    v[a] += v[b] + m[qnnrt_cache__order[r][x + 1]]; v[d] ^= v[a]; v[d] = v[d] >> 16 | v[d] << 48; \
    v[c] += v[d];                                   v[b] ^= v[c]; v[b] = v[b] >> 63 | v[b] << 1

/* A round, written out, so that the numbers of the words are constants. */
#define QNNRT_CACHE__ROUND(r) \
    QNNRT_CACHE__MIX(0, 4, 8, 12, r, 0);  QNNRT_CACHE__MIX(1, 5, 9, 13, r, 2); \
    QNNRT_CACHE__MIX(2, 6, 10, 14, r, 4); QNNRT_CACHE__MIX(3, 7, 11, 15, r, 6); \
    QNNRT_CACHE__MIX(0, 5, 10, 15, r, 8); QNNRT_CACHE__MIX(1, 6, 11, 12, r, 10); \
    QNNRT_CACHE__MIX(2, 7, 8, 13, r, 12); QNNRT_CACHE__MIX(3, 4, 9, 14, r, 14)

/* Read 8 bytes, the lowest first. */
static uint64_t qnnrt_cache__u64_read(const unsigned char *from)
{
    return (uint64_t)from[0] | (uint64_t)from[1] << 8 | (uint64_t)from[2] << 16 |
           (uint64_t)from[3] << 24 | (uint64_t)from[4] << 32 | (uint64_t)from[5] << 40 |
           (uint64_t)from[6] << 48 | (uint64_t)from[7] << 56;
}

/* Take a block of 128 bytes into the state. */
static void qnnrt_cache__hash_block(qnnrt_cache_hash *hash, const unsigned char *block, int last)
{
    uint64_t m[16], v[16];
    int i;
    for (i = 0; i < 16; ++i) m[i] = qnnrt_cache__u64_read(block + 8 * i);
    for (i = 0; i < 8; ++i) {
        v[i] = hash->state[i];
        v[i + 8] = qnnrt_cache__start[i];
    }
    v[12] ^= hash->bytes;
    if (last) v[14] = ~v[14];
    QNNRT_CACHE__ROUND(0); QNNRT_CACHE__ROUND(1); QNNRT_CACHE__ROUND(2); QNNRT_CACHE__ROUND(3);
    QNNRT_CACHE__ROUND(4); QNNRT_CACHE__ROUND(5); QNNRT_CACHE__ROUND(6); QNNRT_CACHE__ROUND(7);
    QNNRT_CACHE__ROUND(8); QNNRT_CACHE__ROUND(9); QNNRT_CACHE__ROUND(0); QNNRT_CACHE__ROUND(1);
    for (i = 0; i < 8; ++i) hash->state[i] ^= v[i] ^ v[i + 8];
}

QNNRT_CACHE_API void qnnrt_cache_hash_begin(qnnrt_cache_hash *hash)
{
    memset(hash, 0, sizeof(*hash));
    memcpy(hash->state, qnnrt_cache__start, sizeof(hash->state));
    hash->state[0] ^= 0x01010000u ^ QNNRT_CACHE_HASH;    /* bytes of the result, no key */
}

QNNRT_CACHE_API void qnnrt_cache_hash_add(qnnrt_cache_hash *hash, const void *data, uint64_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    while (bytes > 0) {
        const uint64_t room = sizeof(hash->block) - hash->used;
        const size_t part = (size_t)(bytes < room ? bytes : room);
        if (hash->used == sizeof(hash->block)) { /* the last block waits for its end */
            hash->bytes += sizeof(hash->block);
            qnnrt_cache__hash_block(hash, hash->block, 0);
            hash->used = 0;
            /* Whole blocks, except the last one, need no copy. */
            for (; bytes > sizeof(hash->block); at += 128, bytes -= 128) {
                hash->bytes += 128;
                qnnrt_cache__hash_block(hash, at, 0);
            }
            continue;
        }
        memcpy(hash->block + hash->used, at, part);
        hash->used += part;
        at += part;
        bytes -= part;
    }
}

QNNRT_CACHE_API void qnnrt_cache_hash_end(qnnrt_cache_hash *hash,
                                          unsigned char out[QNNRT_CACHE_HASH])
{
    int i;
    hash->bytes += hash->used;
    memset(hash->block + hash->used, 0, sizeof(hash->block) - hash->used);
    qnnrt_cache__hash_block(hash, hash->block, 1);
    for (i = 0; i < QNNRT_CACHE_HASH; ++i)
        out[i] = (unsigned char)(hash->state[i / 8] >> (8 * (i % 8)));
}

/* Write 8 bytes, the lowest first. */
static void qnnrt_cache__u64_write(unsigned char out[8], uint64_t value)
{
    int i;
    for (i = 0; i < 8; ++i) out[i] = (unsigned char)(value >> (8 * i));
}

QNNRT_CACHE_API void qnnrt_cache_key_begin(qnnrt_cache_key *key)
{
    qnnrt_cache_hash_begin(&key->hash);
    key->spoilt = 0;
}

/* Begin a field: the lengths of its name and its data, and its name. */
static void qnnrt_cache__key_field(qnnrt_cache_key *key, const char *name, uint64_t bytes)
{
    unsigned char sizes[16];
    qnnrt_cache__u64_write(sizes, strlen(name));
    qnnrt_cache__u64_write(sizes + 8, bytes);
    qnnrt_cache_hash_add(&key->hash, sizes, sizeof(sizes));
    qnnrt_cache_hash_add(&key->hash, name, strlen(name));
}

QNNRT_CACHE_API void qnnrt_cache_key_add(qnnrt_cache_key *key, const char *name, const void *data,
                                         uint64_t bytes)
{
    if (name == NULL || (data == NULL && bytes > 0)) {
        key->spoilt = 1;
        return;
    }
    qnnrt_cache__key_field(key, name, bytes);
    qnnrt_cache_hash_add(&key->hash, data, bytes);
}

QNNRT_CACHE_API void qnnrt_cache_key_end(qnnrt_cache_key *key, char text[QNNRT_CACHE_KEY_BYTES])
{
    unsigned char hash[QNNRT_CACHE_HASH];
    int i;
    qnnrt_cache_hash_end(&key->hash, hash);
    for (i = 0; i < QNNRT_CACHE_HASH; ++i)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)hash[i]);
    if (key->spoilt) text[0] = '\0';
}

/* =====================================================================================
   DISK                                                                            >>disk
   Reads and writes regular files.
   Needs: >>hash     Knows nothing of: entries
   ===================================================================================== */

/* O_CLOEXEC of Linux (all architectures that QNN exists for): -std=c99 hides it. */
#define QNNRT_CACHE__CLOEXEC 02000000

#define QNNRT_CACHE__ROOM "Choose a folder that exists, has room, and is writable."

/* Read exactly so many bytes. Return 0 on failure, with errno set: 0 if the file ends before. */
static int qnnrt_cache__read(int fd, void *into, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        const ptrdiff_t got = read(fd, (char *)into + done, bytes - done);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = 0;
        if (got <= 0) return 0;
        done += (size_t)got;
    }
    return 1;
}

static int qnnrt_cache__write(int fd, const void *from, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        const ptrdiff_t put = write(fd, (const char *)from + done, bytes - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return 0;
        done += (size_t)put;
    }
    return 1;
}

/* Join a folder and a name. Return 0 if the path is too long. */
static int qnnrt_cache__path(char path[QNNRT_CACHE_PATH], const char *folder, const char *name)
{
    if (snprintf(path, QNNRT_CACHE_PATH, "%s/%s", folder, name) < QNNRT_CACHE_PATH) return 1;
    errno = ENAMETOOLONG;
    return 0;
}

/* Open a file of a folder to read, and write its path. */
static qnnrt_result qnnrt_cache__file(char path[QNNRT_CACHE_PATH], const char *folder,
                                      const char *name, int *fd, uint64_t *bytes, qnnrt_error *err)
{
    *fd = -1;
    if (qnnrt_cache__path(path, folder, name)) return qnnrt_file_open(path, fd, bytes, err);
    return qnnrt_error_set(err, QNNRT_E_IO, "cannot read %.600s: %s", path, strerror(errno));
}

/* Create a file that is not there yet. Return -1, with errno set. */
static int qnnrt_cache__create(const char *path, unsigned mode)
{
    int fd;
    do fd = open(path, O_WRONLY | O_CREAT | O_EXCL | QNNRT_CACHE__CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

QNNRT_CACHE_API qnnrt_result qnnrt_cache_key_file(qnnrt_cache_key *key, const char *name,
                                                  const char *path, qnnrt_error *err)
{
    unsigned char part[16384];
    uint64_t bytes, done = 0;
    qnnrt_result result;
    int fd;
    if (key != NULL) key->spoilt += 1;           /* until the whole file was read */
    if (key == NULL || name == NULL || path == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_cache_key_file: an argument is NULL");
    result = qnnrt_file_open(path, &fd, &bytes, err);
    if (result != QNNRT_OK) return result;
    qnnrt_cache__key_field(key, name, bytes);
    while (done < bytes) {
        const size_t size = bytes - done < sizeof part ? (size_t)(bytes - done) : sizeof part;
        if (!qnnrt_cache__read(fd, part, size)) break;
        qnnrt_cache_hash_add(&key->hash, part, size);
        done += size;
    }
    if (done < bytes)
        qnnrt_error_set(err, QNNRT_E_IO, "cannot read %.600s: %s", path, errno != 0 ?
                        strerror(errno) : "it became shorter while it was read");
    close(fd);
    if (done < bytes) return QNNRT_E_IO;
    key->spoilt -= 1;
    return qnnrt_error_clear(err);
}

/* =====================================================================================
   ASIDE                                                                          >>aside
   Files that are written beside those that they replace, each with a folder if it needs one.
   Needs: >>disk     Knows nothing of: entries
   ===================================================================================== */

/* Functions of POSIX.1-2008 and flags of Linux (all architectures that QNN exists for), which
   -std=c99 hides. */
#ifndef AT_FDCWD
#define QNNRT_CACHE__HERE (-100)
#define QNNRT_CACHE__AT_FOLDER 0x200
int openat(int folder, const char *name, int flags, ...);
int unlinkat(int folder, const char *name, int flags);
DIR *fdopendir(int folder);
#else
#define QNNRT_CACHE__HERE AT_FDCWD
#define QNNRT_CACHE__AT_FOLDER AT_REMOVEDIR
#endif
#if defined(__arm__) || defined(__aarch64__)
#define QNNRT_CACHE__FOLDER 040000               /* O_DIRECTORY, O_NOFOLLOW */
#define QNNRT_CACHE__NOFOLLOW 0100000
#else
#define QNNRT_CACHE__FOLDER 0200000
#define QNNRT_CACHE__NOFOLLOW 0400000
#endif

enum { QNNRT_CACHE__TRIES = 1000, QNNRT_CACHE__MORE = 10, QNNRT_CACHE__NESTED = 1 };

static const char qnnrt_cache__aside_begin[] = ".qnnrt.", qnnrt_cache__aside_end[] = ".tmp",
                  qnnrt_cache__aside_more[] = ".d";

/* Remove a folder of the owner of `lock`, with what is in it, and in folders in it down to `depth`.
   Links are removed, never followed: a name is opened below its folder, which is open, and only
   after the system called it a folder. Return 1 if it is gone. */
static int qnnrt_cache__remove(int at, const char *name, int lock, int depth)
{
    const int folder = openat(at, name, O_RDONLY | QNNRT_CACHE__CLOEXEC | QNNRT_CACHE__FOLDER |
                                        QNNRT_CACHE__NOFOLLOW);
    struct stat facts, owner;
    const struct dirent *item;
    DIR *dir = folder >= 0 && fstat(folder, &facts) == 0 && fstat(lock, &owner) == 0 &&
               facts.st_uid == owner.st_uid ? fdopendir(folder) : NULL;
    if (dir == NULL && folder >= 0) close(folder);
    if (dir == NULL) return 0;
    while ((item = readdir(dir)) != NULL) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
        if (unlinkat(folder, item->d_name, 0) != 0 && errno == EISDIR && depth > 0)
            qnnrt_cache__remove(folder, item->d_name, lock, depth - 1);
    }
    closedir(dir);
    return unlinkat(at, name, QNNRT_CACHE__AT_FOLDER) == 0;
}

/* Remove what lies at the place of an aside's folder. Return 1 if nothing is there now, and the
   path in `folder`; or 0, with errno. */
static int qnnrt_cache__aside_bare(int fd, const char *aside, char folder[QNNRT_CACHE_PATH])
{
    if (snprintf(folder, QNNRT_CACHE_PATH, "%s%s", aside, qnnrt_cache__aside_more) >=
        QNNRT_CACHE_PATH) {
        errno = ENAMETOOLONG;
        return 0;
    }
    return unlink(folder) == 0 || errno == ENOENT ||
           (errno == EISDIR && qnnrt_cache__remove(QNNRT_CACHE__HERE, folder, fd,
                                                   QNNRT_CACHE__NESTED));
}

/* Lock an open file, and see that it still has its name: who sweeps may have been faster. A file
   system without locks has no sweeping, either. */
static int qnnrt_cache__aside_hold(int fd, const char *aside, int must)
{
    struct stat opened, named;
    return (flock(fd, LOCK_EX | LOCK_NB) == 0 || (!must && errno != EWOULDBLOCK)) &&
           fstat(fd, &opened) == 0 && stat(aside, &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/* Remove a file that a killed writer of this user left. Return 1 if it was one, and is gone. */
static int qnnrt_cache__aside_left(const char *aside)
{
    char folder[QNNRT_CACHE_PATH];
    struct stat facts;
    const int fd = open(aside, O_RDWR | O_NONBLOCK | QNNRT_CACHE__NOFOLLOW | QNNRT_CACHE__CLOEXEC);
    const int gone = fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
                     facts.st_uid == geteuid() && qnnrt_cache__aside_hold(fd, aside, 1) &&
                     qnnrt_cache__aside_bare(fd, aside, folder) && unlink(aside) == 0;
    if (fd >= 0) close(fd);
    return gone;
}

/* Return a number that nobody foresees: where others may write, they may have taken all small ones.
   0 if the system has none. */
static uint64_t qnnrt_cache__aside_random(void)
{
    uint64_t number = 0;
    const int fd = open("/dev/urandom", O_RDONLY | QNNRT_CACHE__CLOEXEC);
    if (fd >= 0) {
        qnnrt_cache__read(fd, &number, sizeof number);
        close(fd);
    }
    return number;
}

QNNRT_CACHE_API int qnnrt_cache_aside(const char *path, unsigned mode, char aside[QNNRT_CACHE_PATH])
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    const size_t bytes = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char folder[QNNRT_CACHE_PATH];
    int i, fd;
    if (path == NULL || aside == NULL || bytes > QNNRT_CACHE_PATH - 32) {
        errno = path == NULL || aside == NULL ? EINVAL : ENAMETOOLONG;
        return -1;
    }
    memcpy(aside, path, bytes);
    for (i = 0; i < QNNRT_CACHE__TRIES + QNNRT_CACHE__MORE; ++i) {
        const uint64_t number = i < QNNRT_CACHE__TRIES ? (uint64_t)i : qnnrt_cache__aside_random();
        snprintf(aside + bytes, QNNRT_CACHE_PATH - bytes, "%s%llu%s", qnnrt_cache__aside_begin,
                 (unsigned long long)number, qnnrt_cache__aside_end);
        fd = qnnrt_cache__create(aside, mode);
        if (fd < 0 && errno == EEXIST) {
            if (qnnrt_cache__aside_left(aside)) fd = qnnrt_cache__create(aside, mode);
            else errno = EEXIST;
        }
        if (fd < 0 && errno != EEXIST) return -1;
        if (fd < 0) continue;
        if (qnnrt_cache__aside_hold(fd, aside, 0)) {
            if (qnnrt_cache__aside_bare(fd, aside, folder)) return fd;
            unlink(aside);                       /* beside a folder of another user */
        }
        close(fd);
    }
    errno = EEXIST;
    return -1;
}

QNNRT_CACHE_API int qnnrt_cache_aside_folder(int fd, const char *aside,
                                             char folder[QNNRT_CACHE_PATH])
{
    if (fd < 0 || aside == NULL || folder == NULL) {
        errno = EINVAL;
        return 0;
    }
    return qnnrt_cache__aside_bare(fd, aside, folder) && mkdir(folder, 0700) == 0;
}

QNNRT_CACHE_API void qnnrt_cache_aside_end(int fd, const char *aside)
{
    const int why = errno;
    char folder[QNNRT_CACHE_PATH];
    if (fd < 0 || aside == NULL) return;         /* the name would be that of another writer */
    qnnrt_cache__aside_bare(fd, aside, folder);
    unlink(aside);
    close(fd);
    errno = why;
}

QNNRT_CACHE_API void qnnrt_cache_sweep(const char *folder)
{
    DIR *dir = folder != NULL ? opendir(folder) : NULL;
    const struct dirent *item;
    char path[QNNRT_CACHE_PATH];
    while (dir != NULL && (item = readdir(dir)) != NULL) {
        const size_t begin = sizeof qnnrt_cache__aside_begin - 1;
        const char *name = item->d_name;
        if (strncmp(name, qnnrt_cache__aside_begin, begin) == 0 &&
            strcmp(name + begin + strspn(name + begin, "0123456789"), qnnrt_cache__aside_end) == 0
            && qnnrt_cache__path(path, folder, name))
            qnnrt_cache__aside_left(path);
    }
    if (dir != NULL) closedir(dir);
}

/* =====================================================================================
   ENTRY                                                                          >>entry
   The format of an entry: a head with names, sizes and hashes, and the files one after the other.
       16 bytes "QNNRT CACHE 1", a line feed and zeros; 64 the key; 8 the number of files; 8 the
       bytes of the head without its hash
       of each file: 8 its size, 32 its hash, 8 the length of its name, the name, a 0
       32 the hash of all bytes before
   Needs: >>config >>hash >>disk     Knows nothing of: folders
   ===================================================================================== */

enum {
    QNNRT_CACHE__FIXED = 16 + 64 + 8 + 8, QNNRT_CACHE__ROW = 8 + QNNRT_CACHE_HASH + 8,
    QNNRT_CACHE__MOST_HEAD = QNNRT_CACHE__FIXED + QNNRT_CACHE_HASH
                             + QNNRT_CACHE__MOST_FILES * (QNNRT_CACHE__ROW + QNNRT_CACHE__MOST_NAME
                                                          + 1)
};
static const char qnnrt_cache__magic[16] = "QNNRT CACHE 1\n";

/* Return true if a name can be that of a file beside others. */
static int qnnrt_cache__name_good(const char *name, size_t bytes)
{
    size_t at = 0;
    if (bytes == 0 || bytes > QNNRT_CACHE__MOST_NAME || name[0] == '.') return 0;
    while (at < bytes) {
        int shown;
        const size_t length = qnnrt_utf8_length(name + at, &shown);
        if (!shown || length == 0 || length > bytes - at || name[at] == '/' || name[at] == '\\')
            return 0;
        at += length;
    }
    return 1;
}

static int qnnrt_cache__key_good(const char *key)
{
    size_t i;
    for (i = 0; key != NULL && i < QNNRT_CACHE_KEY_BYTES - 1; ++i)
        if (!((key[i] >= '0' && key[i] <= '9') || (key[i] >= 'a' && key[i] <= 'f'))) return 0;
    return key != NULL && key[i] == '\0';
}

/* Forget the entry that was read last. */
static void qnnrt_cache__entry_free(qnnrt_cache *cache)
{
    qnnrt_arena_free(&cache->last);
    memset(&cache->entry, 0, sizeof(cache->entry));
}

/* Read the rows of a head, which has `bytes` bytes without its hash, for files of `rest` bytes.
   Names in it end in 0. Return what is wrong, or NULL. */
static const char *qnnrt_cache__entry_rows(qnnrt_cache *cache, size_t bytes, uint64_t rest)
{
    unsigned char *at = cache->head + QNNRT_CACHE__FIXED, *end = cache->head + bytes;
    size_t i, k;
    for (i = 0; i < cache->entry.file_count; ++i) {
        qnnrt_cache_file *file = &cache->files[i];
        uint64_t name_bytes;
        if ((size_t)(end - at) < QNNRT_CACHE__ROW) return "its list of files is cut short";
        file->bytes = qnnrt_cache__u64_read(at);
        name_bytes = qnnrt_cache__u64_read(at + 8 + QNNRT_CACHE_HASH);
        at += QNNRT_CACHE__ROW;
        if (name_bytes >= (uint64_t)(end - at) || at[name_bytes] != 0)
            return "its list of files is cut short";
        file->name = (const char *)at;
        if (strlen(file->name) != name_bytes || !qnnrt_cache__name_good(file->name,
                                                                        (size_t)name_bytes))
            return "it has a name that is not that of a file";
        for (k = 0; k < i; ++k)
            if (strcmp(cache->files[k].name, file->name) == 0) return "it has a name twice";
        if (file->bytes > rest) return "it is cut short";
        rest -= file->bytes;
        at += name_bytes + 1;
    }
    if (at != end) return "its list of files has no end";
    return rest != 0 ? "it has more bytes than its files" : NULL;
}

/* Read the head of an entry with this key from a file of `bytes` bytes. Return QNNRT_E_FORMAT with
   entry.damage if it is wrong, QNNRT_E_IO with errno, or QNNRT_E_MEMORY. */
static qnnrt_result qnnrt_cache__entry_read(qnnrt_cache *cache, int fd, const char *key,
                                            uint64_t bytes)
{
    unsigned char fixed[QNNRT_CACHE__FIXED], hash[QNNRT_CACHE_HASH];
    qnnrt_cache_entry *entry = &cache->entry;
    qnnrt_cache_hash sum;
    uint64_t count, head;
    qnnrt_cache__entry_free(cache);
    memcpy(entry->key, key, QNNRT_CACHE_KEY_BYTES - 1);
    entry->bytes = bytes;
    entry->damage = "it is cut short";
    if (bytes < QNNRT_CACHE__FIXED + QNNRT_CACHE_HASH) return QNNRT_E_FORMAT;
    if (!qnnrt_cache__read(fd, fixed, sizeof fixed)) return QNNRT_E_IO;
    entry->damage = "it is another kind of file";
    if (memcmp(fixed, qnnrt_cache__magic, sizeof qnnrt_cache__magic) != 0) return QNNRT_E_FORMAT;
    entry->damage = "it is the entry of another key";
    if (memcmp(fixed + 16, key, 64) != 0) return QNNRT_E_FORMAT;
    entry->damage = "the hash of its head is wrong";
    count = qnnrt_cache__u64_read(fixed + 80);
    head = qnnrt_cache__u64_read(fixed + 88);
    if (count == 0 || count > QNNRT_CACHE__MOST_FILES || head > QNNRT_CACHE__MOST_HEAD ||
        head < sizeof fixed || head > bytes - QNNRT_CACHE_HASH)
        return QNNRT_E_FORMAT;
    cache->head = (unsigned char *)qnnrt_arena_get(&cache->last, head + QNNRT_CACHE_HASH, 1);
    cache->files = (qnnrt_cache_file *)qnnrt_arena_get(&cache->last, count, sizeof(*cache->files));
    if (cache->last.failed != QNNRT_OK) return QNNRT_E_MEMORY;
    memcpy(cache->head, fixed, sizeof fixed);
    if (!qnnrt_cache__read(fd, cache->head + sizeof fixed,
                           (size_t)head + QNNRT_CACHE_HASH - sizeof fixed)) return QNNRT_E_IO;
    qnnrt_cache_hash_begin(&sum);
    qnnrt_cache_hash_add(&sum, cache->head, head);
    qnnrt_cache_hash_end(&sum, hash);
    if (memcmp(hash, cache->head + head, sizeof hash) != 0) return QNNRT_E_FORMAT;
    entry->file_count = (size_t)count;
    entry->damage = qnnrt_cache__entry_rows(cache, (size_t)head,
                                            bytes - head - QNNRT_CACHE_HASH);
    if (entry->damage != NULL) entry->file_count = 0;
    entry->files = cache->files;
    return entry->damage != NULL ? QNNRT_E_FORMAT : QNNRT_OK;
}

/* Copy file i of an entry, which fd is at, to a new file. Return QNNRT_E_FORMAT with entry.damage,
   or QNNRT_E_IO with errno. */
static qnnrt_result qnnrt_cache__entry_copy(qnnrt_cache *cache, int fd, size_t i, int to)
{
    unsigned char hash[QNNRT_CACHE_HASH];
    qnnrt_cache_hash sum;
    uint64_t left = cache->files[i].bytes;
    qnnrt_cache_hash_begin(&sum);
    while (left > 0) {
        const size_t part = left < QNNRT_CACHE__COPY ? (size_t)left : (size_t)QNNRT_CACHE__COPY;
        if (!qnnrt_cache__read(fd, cache->copy, part)) return QNNRT_E_IO;
        qnnrt_cache_hash_add(&sum, cache->copy, part);
        if (!qnnrt_cache__write(to, cache->copy, part)) return QNNRT_E_IO;
        left -= part;
    }
    qnnrt_cache_hash_end(&sum, hash);
    /* In the head, the hash and 8 bytes stand before the name. */
    if (memcmp(hash, cache->files[i].name - 8 - sizeof hash, sizeof hash) == 0) return QNNRT_OK;
    cache->entry.damage = "the hash of a file is wrong";
    return QNNRT_E_FORMAT;
}

/* Report that an entry cannot be written, for errno. */
static qnnrt_result qnnrt_cache__unwritten(const qnnrt_cache *cache, qnnrt_error *err)
{
    qnnrt_error_set(err, QNNRT_E_IO, "cannot write an entry of the cache %.600s: %s", cache->folder,
                    strerror(errno));
    return qnnrt_error_hint(err, QNNRT_E_IO, "%s", QNNRT_CACHE__ROOM);
}

/* Write an entry to a new file: first a head without hashes, then the files, then the head again.
   Return 0 after filling the error. */
static int qnnrt_cache__entry_write(qnnrt_cache *cache, int to, unsigned char *head,
                                    size_t head_bytes, const char *folder, const char *const *names,
                                    size_t count, qnnrt_error *err)
{
    char path[QNNRT_CACHE_PATH];
    unsigned char *row = head + QNNRT_CACHE__FIXED;
    qnnrt_cache_hash sum;
    size_t i;
    if (!qnnrt_cache__write(to, head, head_bytes + QNNRT_CACHE_HASH)) goto full;
    for (i = 0; i < count; ++i) {
        uint64_t bytes = 0, left;
        int fd, good;
        if (qnnrt_cache__file(path, folder, names[i], &fd, &bytes, err) != QNNRT_OK) return 0;
        good = bytes == qnnrt_cache__u64_read(row);
        qnnrt_cache_hash_begin(&sum);
        for (left = bytes; good && left > 0;) {
            const size_t part = left < QNNRT_CACHE__COPY ? (size_t)left
                                                         : (size_t)QNNRT_CACHE__COPY;
            good = qnnrt_cache__read(fd, cache->copy, part);
            if (!good) break;
            qnnrt_cache_hash_add(&sum, cache->copy, part);
            left -= part;
            if (qnnrt_cache__write(to, cache->copy, part)) continue;
            close(fd);
            goto full;
        }
        close(fd);
        if (!good) {
            qnnrt_error_set(err, QNNRT_E_IO, "cannot read %.600s: it changed while it was read",
                            path);
            return 0;
        }
        qnnrt_cache_hash_end(&sum, row + 8);
        row += QNNRT_CACHE__ROW + strlen(names[i]) + 1;
    }
    qnnrt_cache_hash_begin(&sum);
    qnnrt_cache_hash_add(&sum, head, head_bytes);
    qnnrt_cache_hash_end(&sum, head + head_bytes);
    if (lseek(to, 0, SEEK_SET) == 0 && qnnrt_cache__write(to, head, head_bytes + QNNRT_CACHE_HASH))
        return 1;
full:
    qnnrt_cache__unwritten(cache, err);
    return 0;
}

/* =====================================================================================
   FOLDER                                                                        >>folder
   The entries of a folder, by the time of their last use.
   Needs: >>config >>disk >>aside >>entry     Knows nothing of: hashes, what files hold
   ===================================================================================== */

static const char qnnrt_cache__tail[] = ".qnnrt";

/* Write the path of an entry. */
static int qnnrt_cache__folder_path(const qnnrt_cache *cache, const char *key,
                                    char path[QNNRT_CACHE_PATH])
{
    char name[QNNRT_CACHE_KEY_BYTES + sizeof qnnrt_cache__tail];
    snprintf(name, sizeof name, "%.64s%s", key, qnnrt_cache__tail);
    return qnnrt_cache__path(path, cache->folder, name);
}

/* Return 1 for the name of an entry, whose key is set. */
static int qnnrt_cache__folder_is(const char *name, char key[QNNRT_CACHE_KEY_BYTES])
{
    enum { KEY = QNNRT_CACHE_KEY_BYTES - 1 };
    if (strlen(name) < KEY || strcmp(name + KEY, qnnrt_cache__tail) != 0) return 0;
    memcpy(key, name, KEY);
    key[KEY] = '\0';
    return qnnrt_cache__key_good(key);
}

/* Order by last use, then by key. */
static int qnnrt_cache__folder_order(const void *a, const void *b)
{
    const qnnrt_cache__found *x = (const qnnrt_cache__found *)a, *y = (const qnnrt_cache__found *)b;
    if (x->used != y->used) return x->used < y->used ? -1 : 1;
    return strcmp(x->key, y->key);
}

/* List the entries of the folder. */
static qnnrt_result qnnrt_cache__folder_scan(qnnrt_cache *cache, qnnrt_error *err)
{
    DIR *folder = opendir(cache->folder);
    const struct dirent *item;
    size_t room = 0;
    qnnrt_arena_free(&cache->listed);
    cache->found = NULL;
    cache->found_count = 0;
    if (folder == NULL)
        return qnnrt_error_set(err, QNNRT_E_IO, "cannot list the cache %.600s: %s", cache->folder,
                               strerror(errno));
    while (cache->listed.failed == QNNRT_OK && (item = readdir(folder)) != NULL) {
        qnnrt_cache__found *found;
        char key[QNNRT_CACHE_KEY_BYTES], path[QNNRT_CACHE_PATH];
        struct stat facts;
        if (!qnnrt_cache__folder_is(item->d_name, key) ||
            !qnnrt_cache__path(path, cache->folder, item->d_name) || stat(path, &facts) != 0)
            continue;
        cache->found = (const qnnrt_cache__found **)qnnrt_arena_more(
            &cache->listed, (void *)cache->found, cache->found_count, &room, sizeof(found));
        found = (qnnrt_cache__found *)qnnrt_arena_get(&cache->listed, 1, sizeof(*found));
        if (found == NULL) continue;
        memcpy(found->key, key, sizeof(key));
        found->bytes = facts.st_size > 0 ? (uint64_t)facts.st_size : 0;
        found->used = (int64_t)facts.st_mtime;
        cache->found[cache->found_count++] = found;
    }
    closedir(folder);
    if (cache->listed.failed != QNNRT_OK)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a cache");
    qnnrt_sort((const void **)cache->found, cache->found_count, qnnrt_cache__folder_order);
    return QNNRT_OK;
}

/* Open an entry, and write its path. */
static qnnrt_result qnnrt_cache__folder_open(const qnnrt_cache *cache, const char *key,
                                            char path[QNNRT_CACHE_PATH], int *fd, uint64_t *bytes,
                                            qnnrt_error *err)
{
    char name[QNNRT_CACHE_KEY_BYTES + sizeof qnnrt_cache__tail];
    snprintf(name, sizeof name, "%.64s%s", key, qnnrt_cache__tail);
    return qnnrt_cache__file(path, cache->folder, name, fd, bytes, err);
}

static int qnnrt_cache__folder_remove(const qnnrt_cache *cache, const char *key)
{
    char path[QNNRT_CACHE_PATH];
    return qnnrt_cache__folder_path(cache, key, path) &&
           (unlink(path) == 0 || errno == ENOENT);       /* another process was faster */
}

/* Remove what was used the longest ago, except this key, and what killed processes left. */
static void qnnrt_cache__folder_trim(qnnrt_cache *cache, const char *key)
{
    uint64_t all = 0;
    size_t i;
    qnnrt_cache_sweep(cache->folder);
    if (qnnrt_cache__folder_scan(cache, NULL) != QNNRT_OK) return;
    for (i = 0; i < cache->found_count; ++i) all += cache->found[i]->bytes;
    for (i = 0; i < cache->found_count && all > cache->limit; ++i) {
        const qnnrt_cache__found *found = cache->found[i];
        if (strcmp(found->key, key) == 0) continue;
        if (qnnrt_cache__folder_remove(cache, found->key)) all -= found->bytes;
    }
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   Folders of entries: open, get, put, list and clear.
   Needs: >>config >>hash >>disk >>aside >>entry >>folder     Knows nothing of: what files hold
   ===================================================================================== */

QNNRT_CACHE_API qnnrt_result qnnrt_cache_open(const char *folder, const qnnrt_cache_desc *desc,
                                              qnnrt_cache **out, qnnrt_error *err)
{
    qnnrt_hooks hooks;
    qnnrt_cache *cache;
    struct stat facts;
    memset(&hooks, 0, sizeof(hooks));
    if (desc != NULL) hooks = desc->hooks;
    if (out != NULL) *out = NULL;
    if (folder == NULL || folder[0] == '\0' || out == NULL ||
        (hooks.alloc == NULL) != (hooks.free == NULL))
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_cache_open: folder is NULL or empty, out "
                               "is NULL, or only one of hooks.alloc and hooks.free is set");
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_IO, "cannot make the cache %.600s: %s",
                                                folder, strerror(errno)), "%s", QNNRT_CACHE__ROOM);
    if (stat(folder, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_IO, "the cache %.600s is not a folder",
                                                folder), "%s", QNNRT_CACHE__ROOM);
    cache = (qnnrt_cache *)qnnrt_hooks_alloc(&hooks, 1, sizeof(*cache));
    if (cache == NULL) return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a cache");
    cache->hooks = cache->kept.hooks = cache->last.hooks = cache->listed.hooks = hooks;
    cache->limit = desc != NULL && desc->limit != 0 ? desc->limit : UINT64_C(10) << 30;
    cache->folder = qnnrt_arena_text(&cache->kept, folder, strlen(folder));
    cache->copy = (unsigned char *)qnnrt_arena_get(&cache->kept, QNNRT_CACHE__COPY, 1);
    if (cache->kept.failed != QNNRT_OK) {
        qnnrt_cache_close(cache);
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a cache");
    }
    *out = cache;
    return qnnrt_error_clear(err);
}

QNNRT_CACHE_API void qnnrt_cache_close(qnnrt_cache *cache)
{
    qnnrt_hooks hooks;
    if (cache == NULL) return;
    hooks = cache->hooks;
    qnnrt_arena_free(&cache->last);
    qnnrt_arena_free(&cache->listed);
    qnnrt_arena_free(&cache->kept);
    qnnrt_hooks_free(&hooks, cache);
}

/* Write the path of file i of an entry until all are right. */
static int qnnrt_cache__part(const char *scratch, size_t i, char path[QNNRT_CACHE_PATH])
{
    char name[24];
    snprintf(name, sizeof name, "%lu", (unsigned long)i);
    return qnnrt_cache__path(path, scratch, name);
}

/* Copy the files of an entry into an empty folder. Return QNNRT_E_FORMAT with entry.damage, or
   QNNRT_E_IO with errno. */
static qnnrt_result qnnrt_cache__copy_all(qnnrt_cache *cache, int fd, const char *scratch)
{
    char path[QNNRT_CACHE_PATH];
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < cache->entry.file_count && result == QNNRT_OK; ++i) {
        const int to = qnnrt_cache__part(scratch, i, path) ? qnnrt_cache__create(path, 0666) : -1;
        if (to < 0) return QNNRT_E_IO;
        result = qnnrt_cache__entry_copy(cache, fd, i, to);
        if (close(to) != 0 && result == QNNRT_OK) result = QNNRT_E_IO;
    }
    return result;
}

QNNRT_CACHE_API qnnrt_result qnnrt_cache_get(qnnrt_cache *cache, const char *key,
                                             const char *folder, const qnnrt_cache_entry **entry,
                                             qnnrt_error *err)
{
    char path[QNNRT_CACHE_PATH], aside[QNNRT_CACHE_PATH], scratch[QNNRT_CACHE_PATH],
         part[QNNRT_CACHE_PATH];
    uint64_t bytes = 0;
    size_t renamed = 0;
    qnnrt_result result;
    int fd, lock = -1;
    if (entry != NULL) *entry = NULL;
    if (cache == NULL || !qnnrt_cache__key_good(key) || folder == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_cache_get: an argument is NULL, or the key "
                               "is not one");
    result = qnnrt_cache__folder_open(cache, key, path, &fd, &bytes, err);
    if (result != QNNRT_OK) return result;
    result = qnnrt_cache__entry_read(cache, fd, key, bytes);
    if (result == QNNRT_E_MEMORY) qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a cache");
    if (result == QNNRT_E_IO)
        qnnrt_error_set(err, result, "cannot read the entry %s of the cache: %s", key, errno != 0 ?
                        strerror(errno) : "it became shorter while it was read");
    if (result == QNNRT_OK) {
        if (qnnrt_cache__path(path, folder, "")) lock = qnnrt_cache_aside(path, 0600, aside);
        result = lock >= 0 && qnnrt_cache_aside_folder(lock, aside, scratch)
               ? qnnrt_cache__copy_all(cache, fd, scratch) : QNNRT_E_IO;
        if (result == QNNRT_E_IO)
            qnnrt_error_hint(err,
                             qnnrt_error_set(err, result, "cannot copy an entry of the cache to "
                                             "%.600s: %s", folder, errno != 0 ? strerror(errno) :
                                             "it became shorter"), "%s", QNNRT_CACHE__ROOM);
    }
    for (; result == QNNRT_OK && renamed < cache->entry.file_count; ++renamed) {
        if (qnnrt_cache__part(scratch, renamed, part) &&
            qnnrt_cache__path(path, folder, cache->files[renamed].name) &&
            rename(part, path) == 0) continue;
        result = qnnrt_error_set(err, QNNRT_E_IO, "cannot write %.600s: %s", path, strerror(errno));
        qnnrt_error_hint(err, QNNRT_E_IO, "%s", QNNRT_CACHE__ROOM);
        break;
    }
    qnnrt_cache_aside_end(lock, aside);
    close(fd);
    /* Used now; in a folder that is read-only nothing happens. */
    if (result == QNNRT_OK && qnnrt_cache__folder_path(cache, key, path)) utime(path, NULL);
    if (result == QNNRT_E_FORMAT) {
        qnnrt_error_set(err, result, "the entry %s of the cache is damaged: %s", key,
                        cache->entry.damage);
        if (qnnrt_cache__folder_path(cache, key, path)) unlink(path);
    }
    for (; result != QNNRT_OK && renamed > 0; --renamed)
        if (qnnrt_cache__path(path, folder, cache->files[renamed - 1].name)) unlink(path);
    if (result != QNNRT_OK) return result;
    cache->entry.used = (int64_t)time(NULL);
    if (entry != NULL) *entry = &cache->entry;
    return qnnrt_error_clear(err);
}

/* Make the head of an entry, without hashes. Return NULL after filling the error. */
static unsigned char *qnnrt_cache__head(const qnnrt_cache *cache, const char *key,
                                        const char *folder, const char *const *names, size_t count,
                                        size_t *bytes, qnnrt_error *err)
{
    char path[QNNRT_CACHE_PATH];
    unsigned char *head, *at;
    uint64_t all = 0;
    size_t i, k;
    *bytes = QNNRT_CACHE__FIXED;
    for (i = 0; i < count; ++i) {
        for (k = 0; k < i && names[i] != NULL && strcmp(names[k], names[i]) != 0; ++k) {}
        if (k < i || names[i] == NULL || !qnnrt_cache__name_good(names[i], strlen(names[i]))) {
            qnnrt_error_set(err, QNNRT_E_ARG, "a file of a cache entry cannot be named \"%.300s\"",
                            names[i] != NULL ? names[i] : "");
            return NULL;
        }
        *bytes += QNNRT_CACHE__ROW + strlen(names[i]) + 1;
    }
    head = (unsigned char *)qnnrt_hooks_alloc(&cache->hooks, 1, *bytes + QNNRT_CACHE_HASH);
    if (head == NULL) {
        qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a cache");
        return NULL;
    }
    memcpy(head, qnnrt_cache__magic, sizeof qnnrt_cache__magic);
    memcpy(head + 16, key, 64);
    qnnrt_cache__u64_write(head + 80, count);
    qnnrt_cache__u64_write(head + 88, *bytes);
    at = head + QNNRT_CACHE__FIXED;
    for (i = 0; i < count; ++i) {
        uint64_t size = 0;
        int fd;
        qnnrt_result result = qnnrt_cache__file(path, folder, names[i], &fd, &size, err);
        if (result == QNNRT_OK) close(fd);
        if (result == QNNRT_OK && (size > cache->limit || (all += size) > cache->limit)) {
            result = qnnrt_error_set(err, QNNRT_E_LIMIT, "the files have more than the %llu bytes "
                                     "of the cache", (unsigned long long)cache->limit);
            qnnrt_error_hint(err, QNNRT_E_LIMIT, "Raise the limit of the cache.");
        }
        if (result != QNNRT_OK) {
            qnnrt_hooks_free(&cache->hooks, head);
            return NULL;
        }
        qnnrt_cache__u64_write(at, size);
        qnnrt_cache__u64_write(at + 8 + QNNRT_CACHE_HASH, strlen(names[i]));
        memcpy(at + QNNRT_CACHE__ROW, names[i], strlen(names[i]));
        at += QNNRT_CACHE__ROW + strlen(names[i]) + 1;
    }
    return head;
}

QNNRT_CACHE_API qnnrt_result qnnrt_cache_put(qnnrt_cache *cache, const char *key,
                                             const char *folder, const char *const *names,
                                             size_t count, qnnrt_error *err)
{
    char path[QNNRT_CACHE_PATH], aside[QNNRT_CACHE_PATH];
    qnnrt_error own;
    unsigned char *head;
    size_t bytes;
    int to = -1, good = 0;
    if (err == NULL) err = &own;
    if (cache == NULL || !qnnrt_cache__key_good(key) || folder == NULL || names == NULL ||
        count == 0 || count > QNNRT_CACHE__MOST_FILES)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_cache_put: an argument is NULL, the key is "
                               "not one, or there are 0 or too many files");
    head = qnnrt_cache__head(cache, key, folder, names, count, &bytes, err);
    if (head == NULL) return err->code;
    if (qnnrt_cache__folder_path(cache, key, path)) to = qnnrt_cache_aside(path, 0666, aside);
    if (to >= 0)
        good = qnnrt_cache__entry_write(cache, to, head, bytes, folder, names, count, err);
    qnnrt_hooks_free(&cache->hooks, head);
    if (to < 0 || (good && rename(aside, path) != 0)) {
        qnnrt_cache__unwritten(cache, err);
        good = 0;
    }
    if (!good) {
        qnnrt_cache_aside_end(to, aside);
        return err->code;
    }
    if (close(to) != 0) {                        /* of a disk that is full, as late as now */
        qnnrt_cache__unwritten(cache, err);
        unlink(path);
        return QNNRT_E_IO;
    }
    qnnrt_cache__folder_trim(cache, key);
    return qnnrt_error_clear(err);
}

QNNRT_CACHE_API qnnrt_result qnnrt_cache_list(qnnrt_cache *cache,
                                              void (*visit)(void *user,
                                                            const qnnrt_cache_entry *entry),
                                              void *user, qnnrt_error *err)
{
    qnnrt_result result;
    size_t i;
    if (cache == NULL || visit == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_cache_list: an argument is NULL");
    result = qnnrt_cache__folder_scan(cache, err);
    if (result != QNNRT_OK) return result;
    for (i = 0; i < cache->found_count; ++i) {
        const qnnrt_cache__found *found = cache->found[i];
        char path[QNNRT_CACHE_PATH];
        uint64_t bytes = 0;
        int fd;
        result = qnnrt_cache__folder_open(cache, found->key, path, &fd, &bytes, NULL);
        if (result == QNNRT_E_NOT_FOUND) continue;       /* another process removed it */
        if (result == QNNRT_OK) result = qnnrt_cache__entry_read(cache, fd, found->key, bytes);
        if (fd >= 0) close(fd);
        if (result == QNNRT_E_MEMORY)
            return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for a cache");
        if (fd < 0) {
            qnnrt_cache__entry_free(cache);
            memcpy(cache->entry.key, found->key, sizeof(found->key));
            cache->entry.bytes = found->bytes;
        }
        if (result == QNNRT_E_IO) cache->entry.damage = "it cannot be read";
        cache->entry.used = found->used;
        visit(user, &cache->entry);
    }
    return qnnrt_error_clear(err);
}

QNNRT_CACHE_API qnnrt_result qnnrt_cache_clear(qnnrt_cache *cache, size_t *count, uint64_t *bytes,
                                               qnnrt_error *err)
{
    qnnrt_result result;
    size_t i, left = 0;
    if (count != NULL) *count = 0;
    if (bytes != NULL) *bytes = 0;
    if (cache == NULL)
        return qnnrt_error_set(err, QNNRT_E_ARG, "qnnrt_cache_clear: the cache is NULL");
    qnnrt_cache_sweep(cache->folder);
    result = qnnrt_cache__folder_scan(cache, err);
    if (result != QNNRT_OK) return result;
    for (i = 0; i < cache->found_count; ++i) {
        const qnnrt_cache__found *found = cache->found[i];
        if (!qnnrt_cache__folder_remove(cache, found->key)) ++left;
        else {
            if (count != NULL) *count += 1;
            if (bytes != NULL) *bytes += found->bytes;
        }
    }
    if (left == 0) return qnnrt_error_clear(err);
    qnnrt_error_set(err, QNNRT_E_IO, "cannot remove %lu files of the cache %.600s",
                    (unsigned long)left, cache->folder);
    return qnnrt_error_hint(err, QNNRT_E_IO, "Make the folder writable.");
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_CACHE__IMPL_ONCE */
#endif /* QNNRT_CACHE_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   API: qnnrt_cache_put() of a file that does not exist is QNNRT_E_NOT_FOUND.
   0.4.0   First version.
   --------------------------------------------------------------------------------------------- */
