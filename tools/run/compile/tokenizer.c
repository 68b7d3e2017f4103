/* tokenizer.c - the tokenizer of a GGUF file as tokenizer.json

   ROOM     >>tokenizer */
#include "run/compile/compile.h"

/* =====================================================================================
   TOKENIZER                                                                 >>tokenizer
   Writes the tokens of a GGUF file beside the model, in the form of the package tokenizers:
   byte-level BPE, and the BPE of SentencePiece. The chat template goes into
   tokenizer_config.json.
   ===================================================================================== */

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
    OWNED char *path = cli_text("%s/%s", k->t->set.output_dir, name);
    const int good = write_page(k->t, path, p, 1);
    if (good) say_wrote(k->t, path);
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

void tokenizer_write(tool *t, const qnnrt_weights *weights, int32_t bos)
{
    tokenizer k = {0};
    OWNED page p = {NULL, 0, 0};
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
    free(k.word.data);
    free(k.tokens);
    free((void *)k.sorted);
}
