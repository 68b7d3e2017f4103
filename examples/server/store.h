/* store.h - texts on disk: what the cache holds of a text, in a file that is named by its tokens

   A prompt that was computed once need not be computed again, in this process or in a later one. A
   file holds the tokens of a text and the state of its sequence. Its name is a hash of the model's
   fingerprint and of the tokens, so that the same text has the same file.

   Trust    Files may be damaged, cut short, of another model or of another kind: each is refused
            with its name. Checksums find damage, not malice: whoever can write into the folder can
            store wrong keys and values for a text, and no more than that.
   Needs: model.h     Knows nothing of: requests, slots */
#ifndef HOST_STORE_H
#define HOST_STORE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/qnnrt_cache.h"
#include "model.h"

/* A file, all numbers little-endian:

       0  8   "qnnhost1"
       8  8   fingerprint of the model
      16  8   bytes of the state
      24  8   n: tokens
      32  4n  tokens
          8   checksum of all this
              the state of one sequence, as qnnrt_llm_sequence_state_save() writes it */
enum { STORE_HEAD = 32, STORE_SUM = 8, STORE_NAME = 32, STORE_TEXTS = 256 };

typedef struct stored {
    char     file[STORE_NAME];              /* in the folder */
    int32_t *token;
    size_t   count;
} stored;

typedef struct store {
    char        *folder;                    /* NULL: there is none, and nothing is stored */
    const model *of;
    stored       texts[STORE_TEXTS];
    size_t       count;
} store;

/* ---- bytes >>bytes --------------------------------------------------------------------------- */

static void store_put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; ++i)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t store_get(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* FNV-1a. */
static uint64_t store_hash(const unsigned char *data, size_t bytes)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < bytes; ++i)
        hash = (hash ^ data[i]) * UINT64_C(0x100000001B3);
    return hash;
}

/* Write the head of a file, with the tokens, into data [STORE_HEAD + 4 * count + STORE_SUM], and
   the name of the file. */
static void store_head(unsigned char *data, char *name, uint64_t fingerprint, const int32_t *token,
                       size_t count, uint64_t state_bytes)
{
    size_t i;
    memcpy(data, "qnnhost1", 8);
    store_put(data + 8, fingerprint, 8);
    store_put(data + 16, 0, 8);
    store_put(data + 24, count, 8);
    for (i = 0; i < count; ++i)
        store_put(data + STORE_HEAD + 4 * i, (uint32_t)token[i], 4);
    snprintf(name, STORE_NAME, "%016llx.text",
             (unsigned long long)store_hash(data, STORE_HEAD + 4 * count));
    store_put(data + 16, state_bytes, 8);
    store_put(data + STORE_HEAD + 4 * count, store_hash(data, STORE_HEAD + 4 * count), STORE_SUM);
}

/* ---- files >>files --------------------------------------------------------------------------- */

static char *store_path(const store *st, const char *name)
{
    const size_t bytes = strlen(st->folder) + strlen(name) + 2;
    char *path = (char *)malloc(bytes);
    if (path != NULL)
        snprintf(path, bytes, "%s/%s", st->folder, name);
    return path;
}

/* Open a regular file to read it; not through a link, and without waiting for a pipe's writer. */
static FILE *store_open_file(const store *st, const char *name, uint64_t *bytes, qnnrt_error *err)
{
    char *path = store_path(st, name);
    struct stat is;
    FILE *file = NULL;
    int fd;
    if (path == NULL) {
        refuse(err, QNNRT_E_MEMORY, "out of memory for a name of a file");
        return NULL;
    }
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &is) != 0)
        refuse(err, QNNRT_E_IO, "%s: %s", name, strerror(errno));
    else if (!S_ISREG(is.st_mode))
        refuse(err, QNNRT_E_FORMAT, "%s: not a regular file", name);
    else if ((file = fdopen(fd, "rb")) == NULL)
        refuse(err, QNNRT_E_IO, "%s: %s", name, strerror(errno));
    else
        *bytes = (uint64_t)is.st_size;
    if (file == NULL && fd >= 0)
        close(fd);
    free(path);
    return file;
}

/* Read the head of a file into *text, and check it. *state_bytes receives what follows. */
static qnnrt_result store_read_head(const store *st, const char *name, FILE *file, uint64_t bytes,
                                    stored *text, uint64_t *state_bytes, qnnrt_error *err)
{
    unsigned char fixed[STORE_HEAD], *data = NULL, *made = NULL;
    char expected[STORE_NAME];
    qnnrt_result result = QNNRT_OK;
    uint64_t count;
    size_t head, i;
    memset(text, 0, sizeof(*text));
    if (fread(fixed, 1, STORE_HEAD, file) != STORE_HEAD || memcmp(fixed, "qnnhost1", 8) != 0)
        return refuse(err, QNNRT_E_FORMAT, "%s: not a stored text", name);
    if (store_get(fixed + 8, 8) != st->of->info->fingerprint)
        return refuse(err, QNNRT_E_MISMATCH, "%s: a text of model %016llx, expected %016llx", name,
                      (unsigned long long)store_get(fixed + 8, 8),
                      (unsigned long long)st->of->info->fingerprint);
    count = store_get(fixed + 24, 8);
    if (count == 0 || count > st->of->info->cells)
        return refuse(err, QNNRT_E_LIMIT, "%s: a text of %llu tokens, expected 1 to %u", name,
                      (unsigned long long)count, (unsigned)st->of->info->cells);
    head = STORE_HEAD + 4 * (size_t)count + STORE_SUM;
    *state_bytes = store_get(fixed + 16, 8);
    if (bytes < head || bytes - head != *state_bytes)
        return refuse(err, QNNRT_E_FORMAT, "%s: %llu bytes, expected %lu and %llu of the state",
                      name, (unsigned long long)bytes, (unsigned long)head,
                      (unsigned long long)*state_bytes);
    if (*state_bytes >> 22 > count)         /* more than any model has: 4 MiB of each token */
        return refuse(err, QNNRT_E_LIMIT, "%s: a state of %llu bytes for %llu tokens", name,
                      (unsigned long long)*state_bytes, (unsigned long long)count);
    data = (unsigned char *)malloc(head);
    made = (unsigned char *)malloc(head);
    text->token = (int32_t *)calloc((size_t)count, sizeof(*text->token));
    if (data == NULL || made == NULL || text->token == NULL) {
        result = refuse(err, QNNRT_E_MEMORY, "%s: out of memory for its tokens", name);
    } else {
        memcpy(data, fixed, STORE_HEAD);
        text->count = (size_t)count;
        if (fread(data + STORE_HEAD, 1, head - STORE_HEAD, file) != head - STORE_HEAD)
            result = refuse(err, QNNRT_E_IO, "%s: cannot be read", name);
        for (i = 0; i < text->count; ++i)
            text->token[i] = (int32_t)(uint32_t)store_get(data + STORE_HEAD + 4 * i, 4);
        store_head(made, expected, st->of->info->fingerprint, text->token, text->count,
                   *state_bytes);
        if (result == QNNRT_OK && memcmp(data, made, head) != 0)
            result = refuse(err, QNNRT_E_FORMAT, "%s: wrong checksum", name);
        else if (result == QNNRT_OK && strcmp(name, expected) != 0)
            result = refuse(err, QNNRT_E_MISMATCH, "%s: holds the text of %s", name, expected);
    }
    free(data);
    free(made);
    if (result == QNNRT_OK) {
        snprintf(text->file, sizeof(text->file), "%s", name);
    } else {
        free(text->token);
        text->token = NULL;
    }
    return result;
}

/* ---- the store >>store ----------------------------------------------------------------------- */

static void store_close(store *st)          /* does nothing for zeros */
{
    for (size_t i = 0; i < st->count; ++i)
        free(st->texts[i].token);
    free(st->folder);
    memset(st, 0, sizeof(*st));
}

/* Open a folder and read which texts it holds. complain() gets each file that is refused. */
static qnnrt_result store_open(store *st, const char *folder, const model *of,
                               void (*complain)(const qnnrt_error *), qnnrt_error *err)
{
    struct dirent *entry;
    DIR *dir;
    memset(st, 0, sizeof(*st));
    dir = opendir(folder);
    if (dir == NULL)
        return refuse(err, QNNRT_E_IO, "%s: %s", folder, strerror(errno));
    st->of = of;
    st->folder = (char *)malloc(strlen(folder) + 1);
    if (st->folder == NULL) {
        closedir(dir);
        return refuse(err, QNNRT_E_MEMORY, "out of memory for the name of a folder");
    }
    strcpy(st->folder, folder);
    qnnrt_cache_sweep(folder);
    while ((entry = readdir(dir)) != NULL) {
        const size_t length = strlen(entry->d_name);
        uint64_t bytes, state_bytes;
        qnnrt_error why;
        FILE *file;
        if (length < 5 || length >= STORE_NAME || strcmp(entry->d_name + length - 5, ".text") != 0)
            continue;
        if (st->count == STORE_TEXTS) {
            refuse(&why, QNNRT_E_LIMIT, "%s: only the first %d texts are used", folder,
                   STORE_TEXTS);
            complain(&why);
            break;
        }
        file = store_open_file(st, entry->d_name, &bytes, &why);
        if (file != NULL && store_read_head(st, entry->d_name, file, bytes, &st->texts[st->count],
                                            &state_bytes, &why) == QNNRT_OK)
            ++st->count;
        else
            complain(&why);
        if (file != NULL)
            fclose(file);
    }
    closedir(dir);
    return QNNRT_OK;
}

/* Return how many tokens of this text the store has at most, and in which of its texts. */
static size_t store_find(const store *st, const int32_t *token, size_t count, size_t *which)
{
    size_t best = 0;
    for (size_t i = 0; i < st->count; ++i) {
        const size_t n = common(st->texts[i].token, st->texts[i].count, token, count);
        if (n > best) {
            best = n;
            *which = i;
        }
    }
    return best;
}

/* Forget a text whose file turned out to be of no use. */
static void store_forget(store *st, size_t which)
{
    free(st->texts[which].token);
    st->texts[which] = st->texts[--st->count];
}

/* Return 1 if a sequence of `count` cells of its own has one for each position below count. It is
   empty afterwards. */
static int store_is_plain(qnnrt_llm_cache *cache, size_t sequence, size_t count)
{
    const size_t others = qnnrt_llm_cache_get_info(cache).used - count;
    for (; qnnrt_llm_cache_get_info(cache).used == others + count && count > 0; --count)
        qnnrt_llm_sequence_remove(cache, (int)sequence, (int32_t)count - 1, -1);
    qnnrt_llm_sequence_remove(cache, (int)sequence, -1, -1);
    return count == 0 && qnnrt_llm_cache_get_info(cache).used == others;
}

/* Restore a text into an empty sequence of the cache, which has room. The slot counts a cell for
   each token, so that a state with others is refused: it would take the cells of other texts. */
static qnnrt_result store_restore(const store *st, size_t which, qnnrt_llm_cache *cache,
                                  size_t sequence, qnnrt_error *err)
{
    const stored *const text = &st->texts[which];
    unsigned char *state = NULL;
    uint64_t bytes, state_bytes;
    qnnrt_result result;
    stored again;
    FILE *file = store_open_file(st, text->file, &bytes, err);
    if (file == NULL)
        return err->code;
    result = store_read_head(st, text->file, file, bytes, &again, &state_bytes, err);
    if (result == QNNRT_OK) {               /* as many bytes as the file has */
        free(again.token);
        state = state_bytes < SIZE_MAX ? (unsigned char *)malloc((size_t)state_bytes) : NULL;
        if (state == NULL)
            result = refuse(err, QNNRT_E_MEMORY, "%s: out of memory for %llu bytes", text->file,
                            (unsigned long long)state_bytes);
        else if (fread(state, 1, (size_t)state_bytes, file) != state_bytes)
            result = refuse(err, QNNRT_E_IO, "%s: cannot be read", text->file);
    }
    if (result == QNNRT_OK) {               /* once to look at it, which removes it */
        const size_t before = qnnrt_llm_cache_get_info(cache).used;
        result = qnnrt_llm_sequence_state_restore(cache, (int)sequence, state, (size_t)state_bytes);
        if (result == QNNRT_OK &&
            (qnnrt_llm_cache_get_info(cache).used != before + text->count ||
             !store_is_plain(cache, sequence, text->count))) {
            qnnrt_llm_sequence_remove(cache, (int)sequence, -1, -1);
            result = refuse(err, QNNRT_E_MISMATCH, "%s: its state is not that of its tokens",
                            text->file);
        } else {
            if (result == QNNRT_OK)
                result = qnnrt_llm_sequence_state_restore(cache, (int)sequence, state,
                                                          (size_t)state_bytes);
            if (result != QNNRT_OK)
                result = refuse(err, result, "%s: %s", text->file, qnnrt_llm_error(cache)->text);
        }
    }
    free(state);
    fclose(file);
    return result;
}

/* Write all bytes to a new file beside the one that is meant, and put it in its place. */
static qnnrt_result store_write_file(const char *path, const unsigned char *data, size_t bytes,
                                     qnnrt_error *err)
{
    char aside[QNNRT_CACHE_PATH];
    const int fd = qnnrt_cache_aside(path, 0600, aside);
    ssize_t n;
    if (fd < 0)
        return refuse(err, QNNRT_E_IO, "%s: %s", path, strerror(errno));
    for (errno = 0; bytes > 0; data += n, bytes -= (size_t)n) {
        n = write(fd, data, bytes);
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n <= 0)
            break;
    }
    if (bytes > 0 || fsync(fd) != 0 || rename(aside, path) != 0) {
        qnnrt_cache_aside_end(fd, aside);
        return refuse(err, QNNRT_E_IO, "%s: %s", path, strerror(errno));
    }
    if (close(fd) == 0)
        return QNNRT_OK;
    unlink(path);
    return refuse(err, QNNRT_E_IO, "%s: %s", path, strerror(errno));
}

/* Store a sequence of the cache, whose tokens these are. A text that is the beginning of a stored
   one is there already. */
static qnnrt_result store_save(store *st, qnnrt_llm_cache *cache, size_t sequence,
                               const int32_t *token, size_t count, qnnrt_error *err)
{
    const size_t head = STORE_HEAD + 4 * count + STORE_SUM;
    size_t bytes = qnnrt_llm_sequence_state_bytes(cache, (int)sequence), which;
    qnnrt_result result = QNNRT_OK;
    unsigned char *data = NULL;
    char *path = NULL;
    stored *to = &st->texts[st->count];
    if (count == 0 || store_find(st, token, count, &which) == count)
        return QNNRT_OK;
    if (st->count == STORE_TEXTS)
        return refuse(err, QNNRT_E_LIMIT, "%s: has %d texts already", st->folder, STORE_TEXTS);
    memset(to, 0, sizeof(*to));
    data = bytes > 0 && bytes < SIZE_MAX - head ? (unsigned char *)malloc(head + bytes) : NULL;
    to->token = (int32_t *)malloc(count * sizeof(*token));
    if (data == NULL || to->token == NULL) {
        result = refuse(err, QNNRT_E_MEMORY, "out of memory for a state of %lu bytes",
                        (unsigned long)bytes);
    } else if (qnnrt_llm_sequence_state_save(cache, (int)sequence, data + head, bytes,
                                             &bytes) != QNNRT_OK) {
        result = refuse(err, qnnrt_llm_error(cache)->code, "%s", qnnrt_llm_error(cache)->text);
    } else {
        store_head(data, to->file, st->of->info->fingerprint, token, count, bytes);
        path = store_path(st, to->file);
        if (path == NULL)
            result = refuse(err, QNNRT_E_MEMORY, "out of memory for a name of a file");
        else
            result = store_write_file(path, data, head + bytes, err);
    }
    if (result == QNNRT_OK) {
        memcpy(to->token, token, count * sizeof(*token));
        to->count = count;
        ++st->count;
    } else {
        free(to->token);
    }
    free(path);
    free(data);
    return result;
}

#endif
