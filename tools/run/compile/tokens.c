/* tokens.c - the tokens of a GGUF file, and their merges

   ROOM     >>tokens */
#include "run/compile/compile.h"

#include <math.h>

/* =====================================================================================
   TOKENS                                                                       >>tokens
   Reads the tokens of a GGUF file, and writes merges: those of the file, or those that the scores
   of SentencePiece mean.
   ===================================================================================== */

/* Most bytes of a token of SentencePiece: each may be cut at any letter, which takes the square of
   its length. Its longest ones in use are of 93 bytes: 31 blanks. */
enum { TOKEN_BYTES = 256 };

/* What cuts texts into words before byte-level BPE: the names in GGUF, and the expressions that the
   tokenizers of these models have. */
static const char words_gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
static const char words_llama3[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
static const char words_qwen2[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
/* Digits are words of their own. */
static const char words_smollm[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static const struct { const char *name, *pattern; int ignore_merges; } tokenizer_words[] = {
    {"gpt-2", words_gpt2, 0},        {"qwen2", words_qwen2, 0},
    {"llama-bpe", words_llama3, 1},  {"llama3", words_llama3, 1}, {"llama-v3", words_llama3, 1},
    {"falcon3", words_llama3, 1},    {"deepseek-r1-qwen", words_qwen2, 0},
    {"smollm", words_smollm, 0}
};

const char *tokenizer_text(tokenizer *k, const char *text, size_t bytes)
{
    k->word.used = 0;
    page_bytes(&k->word, text, bytes);
    return k->word.data;
}

static int token_compare(const vocab_token *a, const char *text, size_t bytes)
{
    const size_t less = a->bytes < bytes ? a->bytes : bytes;
    const int order = memcmp(a->text, text, less);
    return order != 0 ? order : a->bytes < bytes ? -1 : a->bytes > bytes;
}

static int token_order(const void *a, const void *b)
{
    const vocab_token *one = *(const vocab_token *const *)a;
    const vocab_token *other = *(const vocab_token *const *)b;
    const int order = token_compare(one, other->text, other->bytes);
    return order != 0 ? order : one->id < other->id ? -1 : one->id > other->id;
}

/* Find a token by its text, or NULL. */
static const vocab_token *token_find(const tokenizer *k, const char *text, size_t bytes)
{
    size_t low = 0, high = k->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = token_compare(k->sorted[middle], text, bytes);
        if (order == 0) return k->sorted[middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

/* Say why there is no tokenizer. Return 0. */
CLI_FORMAT(2, 3) static int tokenizer_none(const tokenizer *k, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    OWNED char *why = cli_text_list(format, list), *shown = cli_shown(why);
    va_end(list);
    say(k->t, "note      no tokenizer.json is written: %s\n", shown);
    return 0;
}

/* Read a short text of the metadata. */
static void tokenizer_word(const tokenizer *k, const char *key, char *out, size_t room)
{
    const qnnrt_weights_value *value = qnnrt_weights_get_value(k->weights, key);
    const char *text;
    uint64_t at = 0;
    size_t bytes;
    out[0] = '\0';
    if (value == NULL || value->list || !qnnrt_weights_value_next(value, &at, &text, &bytes))
        return;
    if (bytes >= room) bytes = room - 1;
    memcpy(out, text, bytes);
    out[bytes] = '\0';
}

int tokenizer_kind(tokenizer *k)
{
    char model[40], pre[40];
    page known = {NULL, 0, 0};
    tokenizer_word(k, "tokenizer.ggml.model", model, sizeof model);
    tokenizer_word(k, "tokenizer.ggml.pre", pre, sizeof pre);
    k->sentences = strcmp(model, "llama") == 0;
    if (k->sentences) return 1;
    if (strcmp(model, "gpt2") != 0)
        return tokenizer_none(k, "\"tokenizer.ggml.model\" is \"%s\", known are gpt2 and llama",
                              model);
    for (size_t i = 0; i < sizeof(tokenizer_words) / sizeof(tokenizer_words[0]); ++i) {
        if (strcmp(pre, tokenizer_words[i].name) == 0) {
            k->pattern = tokenizer_words[i].pattern;
            k->ignore_merges = tokenizer_words[i].ignore_merges;
        }
        page_add(&known, "%s%s", i > 0 ? ", " : "", tokenizer_words[i].name);
    }
    if (k->pattern == NULL)
        tokenizer_none(k, "\"tokenizer.ggml.pre\" is \"%s\", known are %s", pre, known.data);
    free(known.data);
    return k->pattern != NULL;
}

int tokenizer_read(tokenizer *k)
{
    const qnnrt_weights_value *list = qnnrt_weights_get_value(k->weights, "tokenizer.ggml.tokens");
    const qnnrt_weights_value *types = qnnrt_weights_get_value(k->weights,
                                                               "tokenizer.ggml.token_type");
    const qnnrt_weights_value *scores = qnnrt_weights_get_value(k->weights,
                                                                "tokenizer.ggml.scores");
    const char *text;
    uint64_t at = 0;
    size_t bytes;
    if (list == NULL || list->kind != QNNRT_WEIGHTS_TEXT || !list->list)
        return tokenizer_none(k, "\"tokenizer.ggml.tokens\" is missing");
    if (k->sentences && (scores == NULL || scores->count != list->count))
        return tokenizer_none(k, "\"tokenizer.ggml.scores\" is not a score for each token");
    k->tokens = cli_alloc((size_t)list->count, sizeof(*k->tokens));
    k->sorted = cli_alloc((size_t)list->count, sizeof(*k->sorted));
    while (qnnrt_weights_value_next(list, &at, &text, &bytes)) {
        vocab_token *one = &k->tokens[k->count];
        int64_t type = TOKEN_NORMAL;
        double score = 0;
        qnnrt_weights_value_i64(types, k->count, &type);
        qnnrt_weights_value_f64(scores, k->count, &score);
        if (bytes == 0 || memchr(text, '\0', bytes) != NULL)
            return tokenizer_none(k, "token %lu is empty or has a NUL character",
                                  (unsigned long)k->count);
        if (k->sentences && bytes > TOKEN_BYTES && type != TOKEN_CONTROL)
            return tokenizer_none(k, "token %lu has %lu bytes, expected at most %d",
                                  (unsigned long)k->count, (unsigned long)bytes, TOKEN_BYTES);
        if (k->sentences && isnan(score))
            return tokenizer_none(k, "the score of token %lu is not a number",
                                  (unsigned long)k->count);
        one->text = text;
        one->bytes = bytes;
        one->id = (uint32_t)k->count;
        one->type = (int)type;
        one->score = score;
        k->sorted[k->count++] = one;
    }
    qsort(k->sorted, k->count, sizeof(*k->sorted), token_order);
    for (size_t i = 1; i < k->count; ++i)
        if (token_compare(k->sorted[i - 1], k->sorted[i]->text, k->sorted[i]->bytes) == 0)
            return tokenizer_none(k, "tokens %lu and %lu are equal",
                                  (unsigned long)k->sorted[i - 1]->id,
                                  (unsigned long)k->sorted[i]->id);
    return 1;
}

/* ---- merges ---- */

/* Write two texts that become one. */
static void merge_write(tokenizer *k, json *j, const char *a, size_t a_bytes, const char *b,
                        size_t b_bytes)
{
    if (memchr(a, ' ', a_bytes) == NULL && memchr(b, ' ', b_bytes) == NULL) {
        k->word.used = 0;
        page_bytes(&k->word, a, a_bytes);
        page_text(&k->word, " ");
        page_bytes(&k->word, b, b_bytes);
        json_string(j, NULL, k->word.data);
        return;
    }
    json_open(j, NULL, '[', 1);
    json_string(j, NULL, tokenizer_text(k, a, a_bytes));
    json_string(j, NULL, tokenizer_text(k, b, b_bytes));
    json_close(j);
}

void merges_listed(tokenizer *k, json *j)
{
    const qnnrt_weights_value *list = qnnrt_weights_get_value(k->weights, "tokenizer.ggml.merges");
    OWNED page joined = {NULL, 0, 0};
    const char *text;
    uint64_t at = 0;
    size_t bytes;
    while (qnnrt_weights_value_next(list, &at, &text, &bytes)) {
        const char *blank = bytes > 2 ? memchr(text + 1, ' ', bytes - 1) : NULL;
        if (blank == NULL) continue;
        const size_t first = (size_t)(blank - text), second = bytes - first - 1;
        joined.used = 0;
        page_bytes(&joined, text, first);
        page_bytes(&joined, blank + 1, second);
        if (token_find(k, joined.data, joined.used) != NULL && token_find(k, text, first) != NULL &&
            token_find(k, blank + 1, second) != NULL)
            merge_write(k, j, text, first, blank + 1, second);
    }
}

static int merge_order(const void *a, const void *b)
{
    const vocab_token *one = *(const vocab_token *const *)a;
    const vocab_token *other = *(const vocab_token *const *)b;
    if (one->score > other->score) return -1;
    if (one->score < other->score) return 1;
    return one->id < other->id ? -1 : one->id > other->id;
}

void merges_of_scores(tokenizer *k, json *j)
{
    OWNED const vocab_token **order = cli_alloc(k->count, sizeof(*order));
    for (size_t i = 0; i < k->count; ++i) order[i] = &k->tokens[i];
    qsort(order, k->count, sizeof(*order), merge_order);
    for (size_t i = 0; i < k->count; ++i) {
        const vocab_token *whole = order[i];
        if (whole->type != TOKEN_NORMAL && whole->type != TOKEN_USER) continue;
        for (size_t cut = 1; cut < whole->bytes; ++cut) {
            if (((unsigned char)whole->text[cut] & 0xC0) == 0x80) continue;      /* in a letter */
            if (token_find(k, whole->text, cut) != NULL &&
                token_find(k, whole->text + cut, whole->bytes - cut) != NULL)
                merge_write(k, j, whole->text, cut, whole->text + cut, whole->bytes - cut);
        }
    }
}

/* ---- tokenizer.json ---- */
