/* Continue a text with a language model in shards: run the prompt, then one token after the other.

       06_generate FOLDER PROMPT COUNT [BACKEND_LIBRARY [LOGITS.raw]]

   FOLDER holds a model that 05_make_model.c wrote, or llm/export.c with 8-bit caches. It has two
   pipelines: prefill_... or prompt_..., and kv_... or token_...; each token is a byte. The program
   prints the prompt, a |, and COUNT bytes, each of which is the most probable one. It writes the
   logits of all bytes except the last as float32 to LOGITS.raw, so that you can compare backends.

   This program copies the cache: it stores new keys and values where the next call reads them,
   from left to right. 02_prefill_decode.c moves the tensors along the cache instead, and copies
   less.

   Without BACKEND_LIBRARY the graphs run on libQnnRef.so, the reference backend. Link with -lm. */
#define _POSIX_C_SOURCE 199309L                 /* for clock_gettime() */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"

enum { MOST_LAYERS = 64, MOST_TOKENS = 4096, MOST_HALF = 128, MOST_WORDS = 1024 };

/* One of the two pipelines, with the slots that each call uses, found once. */
typedef struct graph {
    qnnrt_run *run;
    const qnnrt_slot *tokens, *mask, *cosine, *sine, *logits;
    const qnnrt_slot *key_in[MOST_LAYERS], *value_in[MOST_LAYERS];
    const qnnrt_slot *key_out[MOST_LAYERS], *value_out[MOST_LAYERS];
    int        layers;
    uint32_t   ar;                              /* tokens per call */
    uint32_t   cells;                           /* of the cache that it reads: context - ar */
    uint32_t   heads, head_dim, vocabulary;
    double     seconds;                         /* spent in qnnrt_exec() */
} graph;

static void stop(const char *text)
{
    fprintf(stderr, "06_generate: %s\n", text);
    exit(1);
}

static void fail(const qnnrt_error *err)
{
    fprintf(stderr, "06_generate: %s\n", err->text);
    if (err->cause != NULL)
        fprintf(stderr, "likely cause: %s\n", err->cause);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
    exit(1);
}

static void must(const graph *g, qnnrt_result result)
{
    if (result != QNNRT_OK)
        fail(qnnrt_run_error(g->run));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const qnnrt_slot *find(const qnnrt_pipeline *p, qnnrt_role role, const char *name)
{
    qnnrt_error err;
    const qnnrt_slot *slot;
    if (qnnrt_slot_find(p, name, role, &slot, &err) != QNNRT_OK)
        fail(&err);
    return slot;
}

/* Return the name of the first pipeline that begins with one of two words. */
static const char *first_of(const qnnrt *model, const char *a, const char *b)
{
    for (size_t i = 0; i < qnnrt_get_info(model)->pipeline_count; ++i) {
        const char *name = qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[i])->name;
        if (strncmp(name, a, strlen(a)) == 0 || strncmp(name, b, strlen(b)) == 0)
            return name;
    }
    stop("FOLDER needs two pipelines: prefill_... or prompt_..., and kv_... or token_...");
    return NULL;
}

static void prepare(graph *g, qnnrt *model, const char *name)
{
    const qnnrt_pipeline *p;
    const qnnrt_tensor_info *mask, *key, *logits;
    qnnrt_error err;
    char tensor[64];

    if (qnnrt_prepare(model, name, &g->run, &err) != QNNRT_OK)
        fail(&err);
    p = qnnrt_run_pipeline(g->run);
    g->tokens = find(p, QNNRT_ROLE_INPUT, "input_ids");
    g->mask = find(p, QNNRT_ROLE_INPUT, "attention_mask");
    g->cosine = find(p, QNNRT_ROLE_INPUT, "position_ids_cos");
    g->sine = find(p, QNNRT_ROLE_INPUT, "position_ids_sin");
    g->logits = find(p, QNNRT_ROLE_OUTPUT, "logits");
    for (g->layers = 0; g->layers < MOST_LAYERS; ++g->layers) {
        int l = g->layers;
        snprintf(tensor, sizeof tensor, "past_key_%d_in", l);
        if (qnnrt_slot_find(p, tensor, QNNRT_ROLE_INPUT, &g->key_in[l], NULL) != QNNRT_OK)
            break;
        snprintf(tensor, sizeof tensor, "past_value_%d_in", l);
        g->value_in[l] = find(p, QNNRT_ROLE_INPUT, tensor);
        snprintf(tensor, sizeof tensor, "past_key_%d_out", l);
        g->key_out[l] = find(p, QNNRT_ROLE_OUTPUT, tensor);
        snprintf(tensor, sizeof tensor, "past_value_%d_out", l);
        g->value_out[l] = find(p, QNNRT_ROLE_OUTPUT, tensor);
    }
    if (g->layers == 0)
        stop("the model has no input \"past_key_0_in\"");
    mask = g->mask->tensor;               /* [1, 1, ar, context length] */
    key = g->key_in[0]->tensor;           /* [heads, 1, head_dim, cells] */
    logits = g->logits->tensor;           /* [1, ar, vocabulary] */
    if (mask->rank != 4 || key->rank != 4 || logits->rank != 3 || key->dtype != QNNRT_DTYPE_U8Q ||
        mask->dims[3] > MOST_TOKENS || key->dims[2] > 2 * MOST_HALF || logits->dims[2] > MOST_WORDS)
        stop("the tensors differ from those of a model that 05_make_model writes");
    g->ar = mask->dims[2];
    g->cells = mask->dims[3] - g->ar;
    g->heads = key->dims[0];
    g->head_dim = key->dims[2];
    g->vocabulary = logits->dims[2];
}

/* Write the mask: each token attends to the `past` tokens in the cache, to the tokens before it in
   this call, and to itself. The values are real numbers, so the type and scale of the mask do not
   matter. */
static void fill_mask(graph *g, uint32_t past)
{
    uint32_t width = g->cells + g->ar;
    float values[MOST_TOKENS];
    for (uint32_t row = 0; row < g->ar; ++row) {
        for (uint32_t column = 0; column < width; ++column)
            values[column] = column < past || (column >= g->cells && column - g->cells <= row)
                                 ? 0.0f : -50.0f;
        must(g, qnnrt_write_f32(g->run, g->mask, (uint64_t)row * width, values, width));
    }
}

/* Write cosine and sine of the angles that rotate queries and keys at the tokens' positions. */
static void fill_positions(graph *g, uint32_t past)
{
    uint32_t half = g->head_dim / 2;
    float cosine[MOST_HALF], sine[MOST_HALF];
    for (uint32_t row = 0; row < g->ar; ++row) {
        for (uint32_t i = 0; i < half; ++i) {
            double angle = (past + row) * pow(10000.0, -(double)i / half);
            cosine[i] = (float)cos(angle);
            sine[i] = (float)sin(angle);
        }
        must(g, qnnrt_write_f32(g->run, g->cosine, (uint64_t)row * half, cosine, half));
        must(g, qnnrt_write_f32(g->run, g->sine, (uint64_t)row * half, sine, half));
    }
}

/* Run `count` tokens (at most g->ar) that follow `past` others. No token attends to the rows after
   them, and the results of those rows are ignored. */
static void step(graph *g, const int32_t *tokens, uint32_t count, uint32_t past)
{
    double begin;
    if (past > g->cells)
        stop("the text is longer than the model's context");
    must(g, qnnrt_write_i32(g->run, g->tokens, 0, tokens, count));
    fill_mask(g, past);
    fill_positions(g, past);
    begin = now();
    must(g, qnnrt_exec(g->run));
    g->seconds += now() - begin;
}

/* Copy the keys and values of the first `count` tokens that `from` has just computed to the cache
   that `to` reads, after the `past` tokens there. Keys have a column for each token, values a
   row. */
static void keep(const graph *from, const graph *to, uint32_t count, uint32_t past)
{
    size_t d = from->head_dim;
    if (past + count > to->cells)
        stop("the text is longer than the model's context");
    for (int l = 0; l < from->layers; ++l) {
        const char *keys = (const char *)qnnrt_data_slot(from->run, from->key_out[l], NULL);
        const char *values = (const char *)qnnrt_data_slot(from->run, from->value_out[l], NULL);
        char *to_keys = (char *)qnnrt_data_slot(to->run, to->key_in[l], NULL);
        char *to_values = (char *)qnnrt_data_slot(to->run, to->value_in[l], NULL);
        for (size_t i = 0; i < from->heads * d; ++i)
            memcpy(to_keys + i * to->cells + past, keys + i * from->ar, count);
        for (size_t h = 0; h < from->heads; ++h)
            memcpy(to_values + (h * to->cells + past) * d, values + h * from->ar * d, count * d);
    }
}

/* Return the most probable token after row `row` of the last call; append the logits to `save`. */
static int32_t best(graph *g, uint32_t row, FILE *save)
{
    float logits[MOST_WORDS];
    uint32_t at = 0, n = g->vocabulary;
    must(g, qnnrt_read_f32(g->run, g->logits, (uint64_t)row * n, logits, n));
    for (uint32_t i = 1; i < n; ++i)
        if (logits[i] > logits[at])
            at = i;
    if (save != NULL && fwrite(logits, sizeof(float), n, save) != n)
        stop("could not write LOGITS.raw");
    return (int32_t)at;
}

int main(int argc, char **argv)
{
    qnnrt_desc desc = {0};
    qnnrt *model;
    qnnrt_error err;
    static graph prefill, decode;
    int32_t tokens[MOST_TOKENS];
    uint32_t length, count, total, i;
    FILE *save = NULL;

    if (argc < 4 || argc > 6) {
        fprintf(stderr, "usage: 06_generate FOLDER PROMPT COUNT [BACKEND_LIBRARY [LOGITS.raw]]\n");
        return 2;
    }
    desc.backend_desc.path = argc > 4 ? argv[4] : "libQnnRef.so";
    if (argc == 4) {
        printf("no backend was named: using libQnnRef.so, the reference backend\n");
        /* Flush, so that the text comes before an error message, in a pipe too. */
        fflush(stdout);
    }
    if (argv[2][0] == '\0' || strlen(argv[2]) >= MOST_TOKENS)
        stop("PROMPT: expected 1 to 4095 bytes of text");
    length = (uint32_t)strlen(argv[2]);
    count = (uint32_t)strtoul(argv[3], NULL, 10);
    if (count == 0 || count >= MOST_TOKENS - length)
        stop("COUNT: expected a number from 1 to 4095 less the bytes of PROMPT");
    if (argc == 6 && (save = fopen(argv[5], "wb")) == NULL)
        stop("could not create LOGITS.raw");
    total = length + count;
    for (i = 0; i < length; ++i)
        tokens[i] = (unsigned char)argv[2][i];

    if (qnnrt_open(argv[1], &desc, &model, &err) != QNNRT_OK)
        fail(&err);
    prepare(&prefill, model, first_of(model, "prefill_", "prompt_"));
    prepare(&decode, model, first_of(model, "kv_", "token_"));
    if (total > decode.cells + 1)
        stop("PROMPT and COUNT are longer than the model's context");

    /* Run the prompt in pieces; both pipelines read the keys and values of the earlier ones. */
    for (uint32_t done = 0; done < length; done += i) {
        i = length - done < prefill.ar ? length - done : prefill.ar;
        step(&prefill, tokens + done, i, done);
        keep(&prefill, &decode, i, done);
        if (done + i < length)
            keep(&prefill, &prefill, i, done);
        else
            tokens[length] = best(&prefill, i - 1, save);
    }
    /* Then run one token after the other; each call chooses the next one. */
    for (uint32_t done = length; done + 1 < total; ++done) {
        step(&decode, tokens + done, 1, done);
        keep(&decode, &decode, 1, done);
        tokens[done + 1] = best(&decode, 0, save);
    }

    printf("%s|", argv[2]);
    for (i = length; i < total; ++i)
        putchar(tokens[i]);
    printf("\n");
    fprintf(stderr, "prefill %.1f ms for %u bytes; then %u bytes in %.1f ms\n",
            prefill.seconds * 1e3, (unsigned)length, (unsigned)count - 1, decode.seconds * 1e3);
    if (save != NULL && fclose(save) != 0)
        stop("could not write LOGITS.raw");
    qnnrt_run_destroy(prefill.run);
    qnnrt_run_destroy(decode.run);
    qnnrt_close(model);
    return 0;
}
