/* model.h - models that run in one session, batches for them, and the tokenizer

   A text is a list of numbers. Here a token is a byte; an engine with a tokenizer of its own
   replaces the functions of >>tokens and keeps the rest.

   ROOMS (search for the tag)    >>errors >>tokens >>models >>batch
   Needs: qnnrt_llm.h            Knows nothing of: requests, slots, files of texts */
#ifndef HOST_MODEL_H
#define HOST_MODEL_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qnnrt.h"
#include "tools/qnnrt_llm.h"
#include "tools/qnnrt_manifest.h"

/* ---- errors >>errors ------------------------------------------------------------------------- */

/* Fill an error and return its code. */
__attribute__((format(printf, 3, 4)))
static qnnrt_result refuse(qnnrt_error *err, qnnrt_result code, const char *format, ...)
{
    va_list args;
    memset(err, 0, sizeof(*err));
    err->code = code;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    return code;
}

/* Return what llama_decode() returns in this case: 0, 1 (no room in the context), 2 (ended by the
   caller), -1 (invalid), -2 (no memory), -3 (everything else). */
static int code_of(qnnrt_result result)
{
    switch (result) {
    case QNNRT_OK:          return 0;
    case QNNRT_E_LIMIT:     return 1;
    case QNNRT_E_CANCELLED: return 2;
    case QNNRT_E_ARG:       return -1;
    case QNNRT_E_MEMORY:    return -2;
    default:                return -3;
    }
}

/* ---- a token is a byte >>tokens -------------------------------------------------------------- */

enum { VOCABULARY = 256 };

static void encode(int32_t *token, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i)
        token[i] = (unsigned char)text[i];
}

static char decode(int32_t token)
{
    return (char)token;
}

/* Return how many tokens two texts have in common at their beginning. */
static size_t common(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count)
{
    size_t n = 0;
    while (n < a_count && n < b_count && a[n] == b[n])
        ++n;
    return n;
}

/* ---- models in one session >>models ---------------------------------------------------------- */

typedef struct model {
    qnnrt_manifest       *program;
    qnnrt_llm            *llm;
    const qnnrt_llm_info *info;
    qnnrt_llm_cache      *cache;            /* of the session, which is made after the models */
} model;

/* Open a folder. On failure nothing stays open. */
static qnnrt_result model_open(model *m, const char *folder, qnnrt_manifest_open_desc *desc,
                               qnnrt_error *err)
{
    static const qnnrt_host_step look_up = { .name = "embedding", .exec = qnnrt_llm_embedding };
    const qnnrt_manifest_info *info;
    qnnrt_llm_desc llm = {0};
    qnnrt_result result;
    memset(m, 0, sizeof(*m));
    desc->host_functions = &look_up;        /* for models with their embeddings on the host */
    desc->host_function_count = 1;
    result = qnnrt_manifest_open(folder, desc, &m->program, err);
    if (result != QNNRT_OK)
        return result;
    info = qnnrt_manifest_get_info(m->program);
    llm.folder = info->folder;
    llm.made = info->pipelines;
    llm.made_count = info->pipeline_count;
    llm.models = info->models;
    llm.model_count = info->model_count;
    result = qnnrt_llm_open(NULL, &llm, &m->llm, err);
    if (result == QNNRT_OK) {
        m->info = qnnrt_llm_get_info(m->llm);
        if (m->info->vocabulary != VOCABULARY)
            result = refuse(err, QNNRT_E_UNSUPPORTED, "%s: %u tokens, expected %d: this engine's"
                            " tokens are bytes", folder, m->info->vocabulary, VOCABULARY);
    }
    if (result != QNNRT_OK) {
        qnnrt_llm_close(m->llm);
        qnnrt_manifest_close(m->program);
        memset(m, 0, sizeof(*m));
    }
    return result;
}

static void model_close(model *m)           /* does nothing for zeros */
{
    qnnrt_llm_close(m->llm);
    qnnrt_manifest_close(m->program);
}

/* ---- batches in the form of engines >>batch -------------------------------------------------- */

typedef struct batch {
    size_t         count, most;
    int32_t       *token, *position;        /* [most] */
    uint64_t      *sequences;               /* [most] bit s for sequence s */
    unsigned char *wanted;                  /* [most] 1: the logits after this token are wanted */
    uint32_t      *row;                     /* [most] row of those logits in stored */
    unsigned char *keep;                    /* [most] after an eval: 1 for tokens to keep */
    uint32_t      *rows_kept;               /* [most] their indices, ascending */
    unsigned char *stored;                  /* [rows_most][row_bytes] logits as stored */
    size_t         rows, rows_most, row_bytes;
} batch;

static void batch_free(batch *b)
{
    free(b->token);
    free(b->position);
    free(b->sequences);
    free(b->wanted);
    free(b->row);
    free(b->keep);
    free(b->rows_kept);
    free(b->stored);
    memset(b, 0, sizeof(*b));
}

/* Allocate a batch of up to `most` tokens, of which up to `rows` are wanted. */
static int batch_make(batch *b, const model *m, size_t most, size_t rows)
{
    memset(b, 0, sizeof(*b));
    b->most = most;
    b->rows_most = rows;
    b->row_bytes = m->info->logits_bytes;
    b->token = (int32_t *)calloc(most, sizeof(*b->token));
    b->position = (int32_t *)calloc(most, sizeof(*b->position));
    b->sequences = (uint64_t *)calloc(most, sizeof(*b->sequences));
    b->wanted = (unsigned char *)calloc(most, sizeof(*b->wanted));
    b->row = (uint32_t *)calloc(most, sizeof(*b->row));
    b->keep = (unsigned char *)calloc(most, sizeof(*b->keep));
    b->rows_kept = (uint32_t *)calloc(most, sizeof(*b->rows_kept));
    b->stored = (unsigned char *)calloc(rows, b->row_bytes);
    if (b->token != NULL && b->position != NULL && b->sequences != NULL && b->wanted != NULL &&
        b->row != NULL && b->keep != NULL && b->rows_kept != NULL && b->stored != NULL)
        return 1;
    batch_free(b);
    return 0;
}

static void batch_clear(batch *b)
{
    b->count = b->rows = 0;
}

/* Add a token of one sequence. Return its index. The caller has counted: there is room. */
static size_t batch_add(batch *b, int32_t token, size_t position, size_t sequence, int wanted)
{
    const size_t i = b->count++;
    b->token[i] = token;
    b->position[i] = (int32_t)position;
    b->sequences[i] = (uint64_t)1 << sequence;
    b->wanted[i] = (unsigned char)wanted;
    b->row[i] = (uint32_t)b->rows;
    if (wanted)
        ++b->rows;
    return i;
}

/* Return the logits after token i, which was wanted. */
static const void *batch_codes(const batch *b, size_t i)
{
    return b->stored + b->row[i] * b->row_bytes;
}

/* Compute a batch. `call` is qnnrt_llm_decode, which takes any length and keeps all tokens, or
   qnnrt_llm_eval, which takes one step's and keeps none before qnnrt_llm_accept(). */
static qnnrt_result batch_compute(batch *b, qnnrt_llm_cache *cache,
                                  qnnrt_result (*call)(qnnrt_llm_cache *, const qnnrt_llm_batch *))
{
    qnnrt_llm_batch to = {0};
    to.tokens = b->token;
    to.count = b->count;
    to.sequences = b->sequences;
    to.positions = b->position;
    to.wanted = b->wanted;
    to.stored = b->rows > 0 ? b->stored : NULL;
    return call(cache, &to);
}

#endif
