/* text.c - tokens that come in and go out

   ROOMS     >>tokens >>terminal */
#include "llm/llm.h"

/* =====================================================================================
   TOKENS                                                                       >>tokens
   Turns bytes or numbers into the tokens of a prompt.
   ===================================================================================== */

void add_token(token_list *list, int32_t token)
{
    list->items = (int32_t *)cli_grow(list->items, list->count, &list->room, sizeof(*list->items));
    list->items[list->count++] = token;
}

int take_bytes(tool *t, const char *text, size_t bytes, token_list *list)
{
    if (!t->bytes)
        return fail(t, "Use --tokens FILE, or examples/llm/chat.py, which has a tokenizer.",
                    "the model has %lu tokens, so its tokens are not bytes",
                    (unsigned long)t->info->words);
    for (size_t i = 0; i < bytes; ++i) add_token(list, (unsigned char)text[i]);
    return 1;
}

int take_numbers(tool *t, const char *text, size_t bytes, token_list *list)
{
    const uint64_t most = t->info->words > 0 ? t->info->words - 1 : INT32_MAX;
    size_t at = 0;
    while (at < bytes) {
        char word[24];
        size_t length = 0;
        uint64_t token = 0;
        if (strchr(" \t\r\n\v\f", text[at]) != NULL && text[at] != '\0') {
            ++at;
            continue;
        }
        while (at < bytes && length + 1 < sizeof(word) &&
               (text[at] == '\0' || strchr(" \t\r\n\v\f", text[at]) == NULL)) {
            word[length++] = text[at] >= ' ' && text[at] <= '~' ? text[at] : '?';
            ++at;
        }
        word[length] = '\0';
        if (!cli_number(word, UINT64_MAX, &token))
            return fail(t, t->info->words == 256
                           ? "Separate the numbers by blanks, or use --prompt TEXT."
                           : "Separate the numbers by blanks, or use examples/llm/chat.py.",
                        "token %lu is \"%s\", not a number from 0 to %lu",
                        (unsigned long)list->count + 1, word, (unsigned long)most);
        if (token > most)
            return fail(t, NULL, "token %lu is %s: out of range, the vocabulary has 0 to %lu",
                        (unsigned long)list->count + 1, word, (unsigned long)most);
        add_token(list, (int32_t)token);
    }
    return 1;
}

char *read_all(tool *t, const char *path, size_t *bytes)
{
    /* Bytes: longer than any prompt that a model takes. */
    enum { MOST = 1 << 28 };
    char *data = cli_read_file(path, MOST, bytes);
    if (data != NULL) return data;
    OWNED char *shown = cli_shown(path);
    const char *option = t->set.perplexity != NULL    ? "perplexity"
                         : t->set.tokens_file != NULL ? "tokens" : "prompt_file";
    OWNED char *hint = cli_text("Name a file with --%s FILE.", option);
    fail(t, hint, "cannot read %s: %s", shown, strerror(errno));
    return NULL;
}

int take_prompt(tool *t, token_list *list)
{
    const settings *set = &t->set;
    const char *path = set->prompt_file != NULL ? set->prompt_file : set->tokens_file;
    size_t bytes = 0;
    char *data;
    int good;
    if (set->tokens_file == NULL && t->info->bos >= 0) add_token(list, t->info->bos);
    if (set->prompt != NULL) return take_bytes(t, set->prompt, strlen(set->prompt), list);
    data = read_all(t, path, &bytes);
    if (data == NULL) return 0;
    good = set->tokens_file != NULL ? take_numbers(t, data, bytes, list)
                                    : take_bytes(t, data, bytes, list);
    free(data);
    return good;
}

/* =====================================================================================
   TERMINAL                                                                     >>terminal
   Prints tokens as they come. On a terminal, bytes that would control it are shown as text.
   ===================================================================================== */

/* Return how many bytes a UTF-8 character has that begins with this byte; 1 for any other byte. */
static size_t character_bytes(unsigned char first)
{
    return first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 && first <= 0xEF ? 3
           : first >= 0xC2 && first <= 0xDF ? 2 : 1;
}

/* Print the held bytes of a character: as they are, or as \xNN. */
static void put_held(tool *t)
{
    int plain = 0;
    const size_t length = t->held[0] != '\0' ? qnnrt_utf8_length(t->held, &plain) : 0;
    if (strcmp(t->held, "\n") == 0 || strcmp(t->held, "\t") == 0) plain = 1;
    for (size_t i = 0; i < t->held_count; ++i) {
        if (plain && length == t->held_count) fputc((unsigned char)t->held[i], t->out);
        else fprintf(t->out, "\\x%02X", (unsigned)(unsigned char)t->held[i]);
    }
    t->held_count = 0;
}

/* Print a byte on a terminal, once its character is complete. */
static void put_byte(tool *t, int32_t byte)
{
    const int continues = (byte & 0xC0) == 0x80;
    if (!continues && t->held_count > 0) put_held(t);
    t->held[t->held_count++] = (char)(unsigned char)byte;
    t->held[t->held_count] = '\0';
    if (t->held_count >= character_bytes((unsigned char)t->held[0])) put_held(t);
}

void put_token(tool *t, int32_t token)
{
    /* Write the blank with the number, so that a reader knows at once that no digit follows. */
    if (!t->bytes) fprintf(t->out, "%ld ", (long)token);
    else if (t->terminal) put_byte(t, token);
    else fputc(token, t->out);
    fflush(t->out);
}

void end_line(tool *t)
{
    if (t->held_count > 0) put_held(t);
    fputc('\n', t->out);
    fflush(t->out);
}
