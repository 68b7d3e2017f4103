/* run_tokenizer.h - a part of qnnrt-run.c: the tokenizer of a GGUF file as tokenizer.json

   ROOM     >>tokenizer                                                                        */

/* =====================================================================================
   TOKENIZER                                                                   >>tokenizer
   Writes the tokens of a GGUF file beside the model, in the form of the package tokenizers:
   byte-level BPE, and the BPE of SentencePiece, whose merges are made of its tokens and scores.
   The chat template goes into tokenizer_config.json.
   ===================================================================================== */

/* Types of tokens in GGUF. */
enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER };

/* Most bytes of a token of SentencePiece: each may be cut at any letter, which takes the square of
   its length. Its longest ones in use are of 93 bytes: 31 blanks. */
enum { TOKEN_BYTES = 256 };

typedef struct vocab_token {
    const char *text;
    size_t      bytes;
    uint32_t    id;
    int         type;
    double      score;
} vocab_token;

typedef struct tokenizer {
    tool        *t;
    const qnnrt_weights *weights;
    vocab_token *tokens;               /* [count], by number                            */
    const vocab_token **sorted;        /* [count], by text                              */
    size_t       count;
    const char  *pattern;              /* that cuts a text into words                   */
    int          sentences;            /* 1: SentencePiece                              */
    int          ignore_merges;        /* 1: a word that is a token needs no merges     */
    int32_t      bos;                  /* -1: texts begin without one                   */
    page         word;                 /* of >>tokenizer_text()                         */
} tokenizer;

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

/* Return a copy of a text with a NUL, until the next call. */
static const char *tokenizer_text(tokenizer *k, const char *text, size_t bytes)
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
    char *why = cli_text_list(format, list), *shown = cli_shown(why);
    va_end(list);
    say(k->t, "note      no tokenizer.json is written: %s\n", shown);
    free(why);
    free(shown);
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

/* Find out which kind of tokenizer it is. Return 0 after saying that it is none of those known. */
static int tokenizer_kind(tokenizer *k)
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

/* Read the tokens. Return 0 after saying what is wrong. */
static int tokenizer_read(tokenizer *k)
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

/* Write the merges that the file lists, except those that lead to no token. */
static void merges_listed(tokenizer *k, json *j)
{
    const qnnrt_weights_value *list = qnnrt_weights_get_value(k->weights, "tokenizer.ggml.merges");
    page joined = {NULL, 0, 0};
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
    free(joined.data);
}

static int merge_order(const void *a, const void *b)
{
    const vocab_token *one = *(const vocab_token *const *)a;
    const vocab_token *other = *(const vocab_token *const *)b;
    if (one->score > other->score) return -1;
    if (one->score < other->score) return 1;
    return one->id < other->id ? -1 : one->id > other->id;
}

/* Write the merges that SentencePiece does: two neighbours become the token with the best score. */
static void merges_of_scores(tokenizer *k, json *j)
{
    const vocab_token **order = cli_alloc(k->count, sizeof(*order));
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
    free(order);
}

/* ---- tokenizer.json ---- */

static void tokenizer_member(json *j, const char *key, const char *type)
{
    json_open(j, key, '{', 1);
    json_string(j, "type", type);
}

static void tokenizer_byte_level(json *j, const char *key)
{
    tokenizer_member(j, key, "ByteLevel");
    json_bool(j, "add_prefix_space", 0);
    json_bool(j, "trim_offsets", 1);
    json_bool(j, "use_regex", 0);
    json_close(j);
}

/* Write that one text replaces another one. */
static void tokenizer_replace(json *j, const char *from, const char *to)
{
    tokenizer_member(j, NULL, "Replace");
    json_open(j, "pattern", '{', 1);
    json_string(j, "String", from);
    json_close(j);
    json_string(j, "content", to);
    json_close(j);
}

/* Write the tokens that a text may name. */
static void tokenizer_added(tokenizer *k, json *j)
{
    json_open(j, "added_tokens", '[', 0);
    for (size_t i = 0; i < k->count; ++i) {
        const vocab_token *one = &k->tokens[i];
        if (one->type != TOKEN_CONTROL && one->type != TOKEN_USER && one->type != TOKEN_UNKNOWN)
            continue;
        json_open(j, NULL, '{', 1);
        json_count(j, "id", one->id);
        json_string(j, "content", tokenizer_text(k, one->text, one->bytes));
        json_bool(j, "single_word", 0);
        json_bool(j, "lstrip", 0);
        json_bool(j, "rstrip", 0);
        json_bool(j, "normalized", 0);
        json_bool(j, "special", one->type != TOKEN_USER);
        json_close(j);
    }
    json_close(j);
}

/* Write what happens to a text before and after the model. */
static void tokenizer_steps(const tokenizer *k, json *j)
{
    static const char mark[] = "\xE2\x96\x81";   /* SentencePiece writes it for a blank */
    int64_t prefix = 1;
    qnnrt_weights_value_i64(qnnrt_weights_get_value(k->weights, "tokenizer.ggml.add_space_prefix"),
                            0, &prefix);
    if (k->sentences) {
        tokenizer_member(j, "normalizer", "Sequence");
        json_open(j, "normalizers", '[', 0);
        if (prefix) {
            tokenizer_member(j, NULL, "Prepend");
            json_string(j, "prepend", mark);
            json_close(j);
        }
        tokenizer_replace(j, " ", mark);
        json_close(j);
        json_close(j);
        json_string(j, "pre_tokenizer", NULL);
    } else {
        json_string(j, "normalizer", NULL);
        tokenizer_member(j, "pre_tokenizer", "Sequence");
        json_open(j, "pretokenizers", '[', 0);
        tokenizer_member(j, NULL, "Split");
        json_open(j, "pattern", '{', 1);
        json_string(j, "Regex", k->pattern);
        json_close(j);
        json_string(j, "behavior", "Isolated");
        json_bool(j, "invert", 0);
        json_close(j);
        tokenizer_byte_level(j, NULL);
        json_close(j);
        json_close(j);
    }
    if (!k->sentences) {
        tokenizer_byte_level(j, "decoder");
        return;
    }
    tokenizer_member(j, "decoder", "Sequence");
    json_open(j, "decoders", '[', 0);
    tokenizer_replace(j, mark, " ");
    tokenizer_member(j, NULL, "ByteFallback");
    json_close(j);
    tokenizer_member(j, NULL, "Fuse");
    json_close(j);
    if (prefix) {
        tokenizer_member(j, NULL, "Strip");
        json_string(j, "content", " ");
        json_count(j, "start", 1);
        json_count(j, "stop", 0);
        json_close(j);
    }
    json_close(j);
    json_close(j);
}

/* Write that texts begin with a token. */
static void tokenizer_begin(tokenizer *k, json *j)
{
    if (k->bos < 0 || (size_t)k->bos >= k->count) {
        json_string(j, "post_processor", NULL);
        return;
    }
    const vocab_token *bos = &k->tokens[k->bos];
    const char *text = tokenizer_text(k, bos->text, bos->bytes);
    tokenizer_member(j, "post_processor", "TemplateProcessing");
    for (int pair = 0; pair < 2; ++pair) {
        json_open(j, pair ? "pair" : "single", '[', 1);
        json_open(j, NULL, '{', 1);
        json_open(j, "SpecialToken", '{', 1);
        json_string(j, "id", text);
        json_count(j, "type_id", 0);
        json_close(j);
        json_close(j);
        for (int i = 0; i <= pair; ++i) {
            json_open(j, NULL, '{', 1);
            json_open(j, "Sequence", '{', 1);
            json_string(j, "id", i == 0 ? "A" : "B");
            json_count(j, "type_id", (uint64_t)i);
            json_close(j);
            json_close(j);
        }
        json_close(j);
    }
    json_open(j, "special_tokens", '{', 1);
    json_open(j, text, '{', 1);
    json_string(j, "id", text);
    json_open(j, "ids", '[', 1);
    json_count(j, NULL, bos->id);
    json_close(j);
    json_open(j, "tokens", '[', 1);
    json_string(j, NULL, text);
    json_close(j);
    json_close(j);
    json_close(j);
    json_close(j);
}

/* Write the tokens and their merges. */
static void tokenizer_model(tokenizer *k, json *j)
{
    const vocab_token *unknown = NULL;
    for (size_t i = 0; i < k->count; ++i)
        if (k->tokens[i].type == TOKEN_UNKNOWN) unknown = &k->tokens[i];
    tokenizer_member(j, "model", "BPE");
    json_string(j, "dropout", NULL);
    json_string(j, "unk_token", unknown != NULL ? tokenizer_text(k, unknown->text, unknown->bytes)
                                                : NULL);
    json_string(j, "continuing_subword_prefix", NULL);
    json_string(j, "end_of_word_suffix", NULL);
    json_bool(j, "fuse_unk", k->sentences);
    json_bool(j, "byte_fallback", k->sentences);
    json_bool(j, "ignore_merges", k->ignore_merges);
    json_open(j, "vocab", '{', 0);
    for (size_t i = 0; i < k->count; ++i)
        json_count(j, tokenizer_text(k, k->tokens[i].text, k->tokens[i].bytes), k->tokens[i].id);
    json_close(j);
    json_open(j, "merges", '[', 0);
    if (k->sentences) merges_of_scores(k, j);
    else merges_listed(k, j);
    json_close(j);
    json_close(j);
}

/* Write a document into the folder. Return 0 after printing an error. */
static int tokenizer_file(tokenizer *k, const char *name, const page *p)
{
    char *path = cli_text("%s/%s", k->t->set.output_dir, name);
    const int good = write_page(k->t, path, p, 1);
    if (good) say_wrote(k->t, path);
    free(path);
    return good;
}

/* Write tokenizer_config.json: the chat template, and the tokens that it names. Return 0 after
   printing an error. */
static int tokenizer_template(tokenizer *k)
{
    static const char *const names[] = {"bos", "eos", "pad"};
    const qnnrt_weights_value *value = qnnrt_weights_get_value(k->weights,
                                                               "tokenizer.chat_template");
    const char *text;
    uint64_t at = 0;
    size_t bytes;
    page p = {NULL, 0, 0};
    json j;
    if (value == NULL || !qnnrt_weights_value_next(value, &at, &text, &bytes)) return 1;
    qnnrt_json_write_begin(&j, json_to_page, &p, 2);
    json_open(&j, NULL, '{', 0);
    json_bool(&j, "add_bos_token", k->bos >= 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        char key[64];
        int64_t id = -1;
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", names[i]);
        qnnrt_weights_value_i64(qnnrt_weights_get_value(k->weights, key), 0, &id);
        if (id < 0 || (uint64_t)id >= k->count) continue;
        snprintf(key, sizeof key, "%s_token", names[i]);
        json_string(&j, key, tokenizer_text(k, k->tokens[id].text, k->tokens[id].bytes));
    }
    json_string(&j, "chat_template", tokenizer_text(k, text, bytes));
    json_close(&j);
    const int good = qnnrt_json_write_end(&j) && tokenizer_file(k, "tokenizer_config.json", &p);
    free(p.data);
    return good;
}

/* Write the tokenizer of a GGUF file beside the model; a kind that is not known is only said. */
static void tokenizer_write(tool *t, const qnnrt_weights *weights, int32_t bos)
{
    tokenizer k = {0};
    page p = {NULL, 0, 0};
    json j;
    k.t = t;
    k.weights = weights;
    k.bos = bos;
    if (tokenizer_kind(&k) && tokenizer_read(&k)) {
        qnnrt_json_write_begin(&j, json_to_page, &p, 1);
        json_open(&j, NULL, '{', 0);
        json_string(&j, "version", "1.0");
        json_string(&j, "truncation", NULL);
        json_string(&j, "padding", NULL);
        tokenizer_added(&k, &j);
        tokenizer_steps(&k, &j);
        tokenizer_begin(&k, &j);
        tokenizer_model(&k, &j);
        json_close(&j);
        if (!qnnrt_json_write_end(&j))
            fail(t, NULL, NULL, "cannot write tokenizer.json: %s", j.error);
        else if (tokenizer_file(&k, "tokenizer.json", &p))
            tokenizer_template(&k);
    }
    free(p.data);
    free(k.word.data);
    free(k.tokens);
    free((void *)k.sorted);
}
