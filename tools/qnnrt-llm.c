/* qnnrt-llm - let a language model that was compiled for QNN write

       cc -std=c99 -O2 -I. -o qnnrt-llm tools/qnnrt-llm.c -ldl
       qnnrt-llm --ctx_dir DIR --backend_so libQnnHtp.so --prompt "Once upon a time" --max_gen 100
       qnnrt-llm --ctx_dir DIR --system_so libQnnSystem.so --describe

   Everything about the model goes through the public half of qnnrt_llm.h. `qnnrt-llm --help` lists
   the options.

   Standard output gets the text, piece by piece as it comes, and nothing else; warnings, errors and
   the figures at the end go to standard error. Vendor libraries print to descriptor 1, so for them
   that is standard error, too: the own output leaves through a private copy.

   ROOMS    >>text >>options >>tokens >>clock >>stats >>open >>write >>talk >>main              */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#define QNNRT_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_json.h"
#include "qnnrt_llm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_INTERRUPTED = 130 };

typedef struct settings {
    const char     *ctx_dir, *backend, *system;
    const char     *prompt, *prompt_file, *tokens_file, *stats, *dump_logits;
    uint64_t        max_gen;           /* UINT64_MAX: as many as fit */
    int64_t         seq_len;
    int             seq_len_given, describe, numbers;
    qnnrt_llm_sampler_desc sampler;
    const char     *unheard;           /* an option that only drawing listens to, or NULL */
    qnnrt_llm_kv    kv;
    double          rope_theta;        /* 0: as the files say */
    qnnrt_power_preset power;          /* QNNRT_POWER_CUSTOM: none */
    qnnrt_log_level log_level;         /* 0: no log */
} settings;

typedef struct token_list {
    int32_t *items;
    size_t   count, room;
} token_list;

typedef struct tool {
    settings           set;
    FILE              *out;            /* the own standard output */
    int                failed;
    qnnrt             *model;
    qnnrt_llm         *llm;
    qnnrt_llm_session *session;
    qnnrt_llm_cache   *cache;
    qnnrt_llm_sampler *sampler;
    const qnnrt_llm_info *info;
    int                bytes;          /* 1: a token is a byte. 0: tokens are numbers, in and out */
    uint32_t           limit;          /* tokens of a text, those of the prompt included */
    uint32_t           used;           /* tokens that the model has seen */
    int32_t            pending;        /* written, and not yet seen by the model; -1: none */
    FILE              *dump, *stats;
    float             *rows;           /* [ar][vocabulary] for the dump */

    /* What happened, for >>stats. Times are of clock_ns(), 0: not yet. */
    uint64_t load_begin, load_end, inference_begin, prompt_end, first_token, inference_end;
    uint64_t sampling;
    uint64_t prompt_tokens, generated;
    uint64_t *latencies;               /* [latency_count] of the generated tokens behind the first */
    size_t    latency_count, latency_room;
    const char *stopped;
} tool;

/* =====================================================================================
   TEXT                                                                           >>text
   Memory that cannot fail, and messages.
   ===================================================================================== */

/* A list with room for one item more: itself, or a longer copy of it. */
static void *room_for_more(void *items, size_t count, size_t *room, size_t size)
{
    void *longer;
    if (count < *room) return items;
    *room = *room != 0 ? 2 * *room : 256;
    longer = *room <= SIZE_MAX / size ? realloc(items, *room * size) : NULL;
    if (longer == NULL) {
        fputs("qnnrt-llm: out of memory\n", stderr);
        exit(STATUS_FAILED);
    }
    return longer;
}

static void say(const char *format, va_list list, const char *end)
{
    fputs("qnnrt-llm: ", stderr);
    vfprintf(stderr, format, list);
    fputs(end, stderr);
}

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static int usage(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list, "; try --help\n");
    va_end(list);
    return STATUS_USAGE;
}

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static void warn(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list, "\n");
    va_end(list);
}

/* Returns 0, so that the caller can. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int fail(tool *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list, "\n");
    va_end(list);
    t->failed = 1;
    return 0;
}

/* The hint of an error as a last line, for "%s%s" behind its text. */
#define HINT(err) ((err).hint[0] != '\0' ? "\n  hint: " : ""), (err).hint

/* =====================================================================================
   OPTIONS                                                                     >>options
   One table for parsing and for --help.
   ===================================================================================== */

typedef enum option_id {
    OPTION_CTX_DIR, OPTION_BACKEND, OPTION_SYSTEM, OPTION_PROMPT, OPTION_PROMPT_FILE, OPTION_TOKENS,
    OPTION_NUMBERS, OPTION_MAX_GEN, OPTION_SEQ_LEN, OPTION_TEMPERATURE, OPTION_TOP_K, OPTION_TOP_P,
    OPTION_MIN_P, OPTION_PENALTY, OPTION_SEED, OPTION_KV, OPTION_ROPE_THETA, OPTION_PERF_PROFILE, OPTION_STATS,
    OPTION_DUMP_LOGITS, OPTION_DESCRIBE, OPTION_LOG_LEVEL, OPTION_VERSION, OPTION_HELP
} option_id;

typedef struct option {
    option_id   id;
    const char *name, *value;          /* value NULL: takes none */
    const char *help;                  /* lines */
} option;

static const option options[] = {
    {OPTION_CTX_DIR, "ctx_dir", "DIR",
     "folder of context binaries: all shards of one model. Its qnnrt.json may\n"
     "hold a role table, RoPE and end tokens, its genie_config.json the latter"},
    {OPTION_BACKEND, "backend_so", "FILE",
     "backend library, that of the binaries: libQnnHtp.so, or libQnnRef.so for\n"
     "those made with it (default: libQnnHtp.so beside this program, else by\n"
     "the system's search)"},
    {OPTION_SYSTEM, "system_so", "FILE",
     "libQnnSystem.so (default: the one beside the backend library, else by the\n"
     "system's search; not needed with libQnnRef.so, which is both)"},
    {OPTION_PROMPT, "prompt", "TEXT", "what the model goes on with, where its tokens are bytes"},
    {OPTION_PROMPT_FILE, "prompt_file", "FILE",
     "the same from a file, to its last byte; - for standard input"},
    {OPTION_TOKENS, "tokens", "FILE",
     "the prompt as numbers of tokens with blanks between them; - for standard\n"
     "input. The answer comes as numbers, too. Nothing is added before them"},
    {OPTION_NUMBERS, "numbers", NULL,
     "lines of standard input are numbers of tokens, and so are the answers,\n"
     "even where there are 256 tokens. Nothing is added before them"},
    {OPTION_MAX_GEN, "max_gen", "N",
     "most tokens to write, for each prompt (default: as many as fit; 0: only\n"
     "let the model read the prompt)"},
    {OPTION_SEQ_LEN, "seq_len", "N",
     "most tokens of a text, prompt included (default, and for 0 or less: as\n"
     "many as the model remembers)"},
    {OPTION_TEMPERATURE, "temperature", "T",
     "0: always the most probable token (default); 1: as probable as the model\n"
     "says; more is more random"},
    {OPTION_TOP_K, "top_k", "N", "draw among the N most probable tokens (default 0: all)"},
    {OPTION_TOP_P, "top_p", "P",
     "draw among the fewest whose probability adds up to P (default 1: all)"},
    {OPTION_MIN_P, "min_p", "P",
     "draw among those at least P times as probable as the first (default 0)"},
    {OPTION_PENALTY, "repetition_penalty", "P",
     "logits of the last 64 tokens are divided by P when positive, multiplied\n"
     "when negative (default 1: none)"},
    {OPTION_SEED, "seed", "N",
     "where drawing begins: the same tokens on every machine (default 0)"},
    {OPTION_KV, "kv", "smart_mask|shift_pointer",
     "how keys and values are kept (default smart_mask); same text"},
    {OPTION_ROPE_THETA, "rope_theta", "THETA",
     "base of the angles of positions, where the model takes them from here\n"
     "(default: as the files say, else 10000)"},
    {OPTION_PERF_PROFILE, "perf_profile", "NAME",
     "power preset of the NPU: burst, sustained_high_performance,\n"
     "high_performance, balanced, low_balanced, high_power_saver, power_saver,\n"
     "low_power_saver (default: none is set)"},
    {OPTION_STATS, "stats", "FILE",
     "write times and counts as JSON: ExecuTorch's keys, percentiles of the\n"
     "latency of a token, time in and outside of the backend, memory"},
    {OPTION_DUMP_LOGITS, "dump_logits", "FILE",
     "write a row of float32 logits for each token that the model reads,\n"
     "prompts included"},
    {OPTION_DESCRIBE, "describe", NULL,
     "print what each tensor is for, and why, and end. Needs no backend, only\n"
     "--system_so, or the JSON of each binary (forward_0_json.json) in its place"},
    {OPTION_LOG_LEVEL, "log_level", "LEVEL",
     "print log lines up to this level to standard error (default: none):\n"
     "1 error, 2 warn, 3 info, 4 verbose, 5 debug; by number or name"},
    {OPTION_VERSION, "version", NULL, "print the version"},
    {OPTION_HELP, "help", NULL, "print this"}
};

enum { OPTION_COUNT = sizeof(options) / sizeof(options[0]) };

static void print_help(FILE *out)
{
    fputs("Let a language model that was compiled for QNN write.\n\n"
          "  qnnrt-llm --ctx_dir DIR [--prompt TEXT | --prompt_file FILE | --tokens FILE] [options]\n"
          "      qnnrt-llm --ctx_dir model_dir --prompt 'Once upon a time' --max_gen 100\n"
          "      qnnrt-llm --ctx_dir model_dir --describe\n\n"
          "Without a prompt each line of standard input is one, and what was said before is\n"
          "remembered: an empty line lets the model go on, /reset forgets, /quit or the end of the\n"
          "input ends. Ctrl-C ends, too, with the figures; a second one at once.\n"
          "Where there are 256 tokens, they are bytes (--numbers: they are not). Of other models\n"
          "tokens go in and come out as numbers, each prompt and each answer a line;\n"
          "examples/llm/chat.py has a tokenizer for both ends.\n"
          "An option's value follows as the next word or after '='.\n\n", out);
    for (size_t i = 0; i < OPTION_COUNT; ++i) {
        const option *o = &options[i];
        fprintf(out, "  --%s%s%s\n        ", o->name, o->value != NULL ? " " : "",
                o->value != NULL ? o->value : "");
        for (const char *c = o->help; *c != '\0'; ++c) {
            fputc(*c, out);
            if (*c == '\n') fputs("        ", out);
        }
        fputc('\n', out);
    }
    fputs("\nExit status: 0 all succeeded, 1 something failed, 2 wrong usage, 130 after Ctrl-C.\n", out);
}

/* Digits only, at most `most`. */
static int parse_whole(const char *s, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    if (*s == '\0') return 0;
    for (; *s != '\0'; ++s) {
        const uint64_t digit = (uint64_t)(*s - '0');
        if (*s < '0' || *s > '9' || digit > most || value > (most - digit) / 10) return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return 1;
}

/* A number as JSON has it, whatever the locale, or without the 0 before the point. */
static int parse_real(const char *s, double *out)
{
    char whole[64];
    qnnrt_json_text number;
    memset(&number, 0, sizeof(number));
    if (s[0] == '.' && strlen(s) + 2 <= sizeof(whole)) {
        snprintf(whole, sizeof(whole), "0%s", s);
        s = whole;
    }
    number.text = s;
    number.bytes = strlen(s);
    return qnnrt_json_f64(&number, out);
}

/* Index of a word in a list that ends with NULL, or -1. */
static int parse_word(const char *s, const char *const *words)
{
    for (int i = 0; words[i] != NULL; ++i)
        if (strcmp(s, words[i]) == 0) return i;
    return -1;
}

static int parse_power(settings *set, const char *value)
{
    const char *known;
    int preset = QNNRT_POWER_CUSTOM + 1;
    while ((known = qnnrt_power_preset_name((qnnrt_power_preset)preset)) != NULL &&
           strcmp(known, value) != 0) ++preset;
    if (known == NULL)
        return usage("--perf_profile takes a preset (burst, balanced, power_saver or another one"
                     " that --help lists), not \"%s\"", value);
    set->power = (qnnrt_power_preset)preset;
    return STATUS_OK;
}

/* A number of the sampler's, from 0 up to `most`. */
static int parse_share(const option *o, const char *value, double most, const char *range, float *out)
{
    double real = 0;
    if (!parse_real(value, &real) || !(real >= 0 && real <= most))
        return usage("--%s takes a number %s, not \"%s\"", o->name, range, value);
    *out = (float)real;
    return STATUS_OK;
}

/* The same above 0, which would be the sampler's default. */
static int parse_part(const option *o, const char *value, double most, const char *range, float *out)
{
    const int status = parse_share(o, value, most, range, out);
    if (status != STATUS_OK || *out > 0) return status;
    return usage("--%s takes a number %s, not \"%s\"", o->name, range, value);
}

static int parse_option(settings *set, const option *o, const char *value)
{
    static const char *const levels[] = {"error", "warn", "info", "verbose", "debug", NULL};
    static const char *const ways[] = {"smart_mask", "shift_pointer", NULL};
    uint64_t number = 0;
    int word;
    switch (o->id) {
    case OPTION_CTX_DIR:     set->ctx_dir = value; break;
    case OPTION_BACKEND:     set->backend = value; break;
    case OPTION_SYSTEM:      set->system = value; break;
    case OPTION_PROMPT:      set->prompt = value; break;
    case OPTION_PROMPT_FILE: set->prompt_file = value; break;
    case OPTION_TOKENS:      set->tokens_file = value; break;
    case OPTION_STATS:       set->stats = value; break;
    case OPTION_DUMP_LOGITS: set->dump_logits = value; break;
    case OPTION_DESCRIBE:    set->describe = 1; break;
    case OPTION_NUMBERS:     set->numbers = 1; break;
    case OPTION_MAX_GEN:
        if (!parse_whole(value, INT32_MAX, &set->max_gen))
            return usage("--max_gen takes a number from 0 to 2147483647, not \"%s\"", value);
        break;
    case OPTION_SEQ_LEN:
        if (!parse_whole(value + (value[0] == '-'), INT32_MAX, &number))
            return usage("--seq_len takes a number up to 2147483647, not \"%s\"", value);
        set->seq_len = value[0] == '-' ? -(int64_t)number : (int64_t)number;
        set->seq_len_given = 1;
        break;
    case OPTION_TEMPERATURE:
        return parse_share(o, value, 1000, "from 0 to 1000", &set->sampler.temperature);
    case OPTION_TOP_K:
        if (!parse_whole(value, INT32_MAX, &number))
            return usage("--top_k takes a number from 0 to 2147483647, not \"%s\"", value);
        set->sampler.top_k = (uint32_t)number;
        set->unheard = "--top_k";
        break;
    case OPTION_TOP_P:
        set->unheard = "--top_p";
        return parse_part(o, value, 1, "above 0, up to 1", &set->sampler.top_p);
    case OPTION_MIN_P:
        set->unheard = "--min_p";
        return parse_share(o, value, 1, "from 0 to 1", &set->sampler.min_p);
    case OPTION_PENALTY:
        return parse_part(o, value, 1000, "above 0, up to 1000", &set->sampler.repetition_penalty);
    case OPTION_SEED:
        if (!parse_whole(value, UINT64_MAX, &set->sampler.seed))
            return usage("--seed takes a number from 0 to 18446744073709551615, not \"%s\"", value);
        set->unheard = "--seed";
        break;
    case OPTION_KV:
        word = parse_word(value, ways);
        if (word < 0) return usage("--kv takes smart_mask or shift_pointer, not \"%s\"", value);
        set->kv = (qnnrt_llm_kv)word;
        break;
    case OPTION_ROPE_THETA:
        if (!parse_real(value, &set->rope_theta) || !(set->rope_theta >= 1 && set->rope_theta <= 1e30))
            return usage("--rope_theta takes a number from 1 to 1e30, not \"%s\"", value);
        break;
    case OPTION_PERF_PROFILE:
        return parse_power(set, value);
    case OPTION_LOG_LEVEL:
        word = parse_word(value, levels);
        if (word >= 0) number = (uint64_t)word + 1;
        else if (!parse_whole(value, 5, &number) || number == 0)
            return usage("--log_level takes error, warn, info, verbose, debug or 1 to 5, not \"%s\"",
                         value);
        set->log_level = (qnnrt_log_level)number;
        break;
    case OPTION_VERSION:
    case OPTION_HELP:
        break;                                   /* the caller's */
    }
    return STATUS_OK;
}

static int check_options(const settings *set)
{
    const int prompts = (set->prompt != NULL) + (set->prompt_file != NULL) + (set->tokens_file != NULL);
    if (set->ctx_dir == NULL) return usage("--ctx_dir is needed");
    if (prompts > 1) return usage("--prompt, --prompt_file and --tokens exclude each other");
    if (set->numbers && prompts > 0)
        return usage("--numbers is about standard input: it goes with no other prompt");
    if (set->describe && (prompts > 0 || set->stats != NULL || set->dump_logits != NULL))
        return usage("--describe runs nothing: it goes with neither a prompt nor --stats nor"
                     " --dump_logits");
    return STATUS_OK;
}

/* Returns STATUS_OK, or STATUS_USAGE after a message. *answered: --help or --version has answered. */
static int parse_options(tool *t, int argc, char **argv, int *answered)
{
    int seen[OPTION_COUNT] = {0};
    t->set.max_gen = UINT64_MAX;
    t->set.power = QNNRT_POWER_CUSTOM;
    for (int i = 1; i < argc; ++i) {
        const char *word = argv[i];
        if (strncmp(word, "--", 2) != 0 || word[2] == '\0')
            return usage("unexpected argument \"%s\"", word);
        const size_t length = strcspn(word + 2, "=");
        const char *value = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
        size_t n = 0;
        while (n < OPTION_COUNT && (strncmp(word + 2, options[n].name, length) != 0 ||
                                    options[n].name[length] != '\0')) ++n;
        if (n == OPTION_COUNT) return usage("unknown option --%.*s", (int)length, word + 2);
        const option *o = &options[n];
        if (o->value == NULL && value != NULL) return usage("--%s takes no value", o->name);
        if (o->value != NULL && value == NULL && i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0)
            value = argv[++i];
        /* An empty prompt is a value, if only a wrong one. */
        if (o->value != NULL && (value == NULL || (value[0] == '\0' && o->id != OPTION_PROMPT)))
            return usage("--%s needs a value: --%s %s", o->name, o->name, o->value);
        if (seen[n] && o->value != NULL) return usage("--%s is given twice", o->name);
        seen[n] = 1;
        if (o->id == OPTION_HELP || o->id == OPTION_VERSION) {
            if (o->id == OPTION_HELP) print_help(t->out);
            else fprintf(t->out, "qnnrt-llm %s\n", qnnrt_version());
            *answered = 1;
            return STATUS_OK;
        }
        const int status = parse_option(&t->set, o, value);
        if (status != STATUS_OK) return status;
    }
    return check_options(&t->set);
}

/* =====================================================================================
   TOKENS                                                                       >>tokens
   Bytes or numbers become tokens, and tokens become either.
   ===================================================================================== */

static void add_token(token_list *list, int32_t token)
{
    list->items = room_for_more(list->items, list->count, &list->room, sizeof(*list->items));
    list->items[list->count++] = token;
}

/* 0 after a message. */
static int take_bytes(tool *t, const char *text, size_t bytes, token_list *list)
{
    if (!t->bytes)
        return fail(t, "the model has %lu tokens, which are no bytes: give their numbers with --tokens"
                    " FILE, or one line of them after the other without a prompt\n  what helps:"
                    " examples/llm/chat.py, which has a tokenizer", (unsigned long)t->info->vocabulary);
    for (size_t i = 0; i < bytes; ++i) add_token(list, (unsigned char)text[i]);
    return 1;
}

static int take_numbers(tool *t, const char *text, size_t bytes, token_list *list)
{
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
        if (!parse_whole(word, UINT64_MAX, &token))
            return fail(t, "token %lu is \"%s\", which is no number from 0 to %lu\n  what helps:"
                        " numbers with blanks between them; %s", (unsigned long)list->count + 1, word,
                        (unsigned long)t->info->vocabulary - 1, t->info->vocabulary == 256
                        ? "of bytes also --prompt TEXT" : "examples/llm/chat.py has a tokenizer");
        if (token >= t->info->vocabulary)
            return fail(t, "token %lu is %s: out of range, the vocabulary has 0 to %lu",
                        (unsigned long)list->count + 1, word, (unsigned long)t->info->vocabulary - 1);
        add_token(list, (int32_t)token);
    }
    return 1;
}

/* All of a file, or of standard input. NULL after a message. */
static char *read_all(tool *t, const char *path, size_t *bytes)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char *data = NULL;
    size_t room = 0, got = 1;
    int wrong;
    *bytes = 0;
    if (file == NULL) {
        fail(t, "cannot open %s: %s\n  what helps: %s takes the name of a file", path, strerror(errno),
             t->set.tokens_file != NULL ? "--tokens" : "--prompt_file");
        return NULL;
    }
    while (got > 0) {
        data = room_for_more(data, *bytes, &room, 1);
        got = fread(data + *bytes, 1, room - *bytes, file);
        *bytes += got;
    }
    wrong = ferror(file);
    if (file != stdin) fclose(file);
    if (!wrong) return data;
    fail(t, "cannot read %s: %s", path, strerror(errno));
    free(data);
    return NULL;
}

/* What was asked with an option. 0 after a message. */
static int take_prompt(tool *t, token_list *list)
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

/* The blank comes with the number: a reader knows at once that no digit follows. */
static void put_token(tool *t, int32_t token)
{
    if (t->bytes) fputc(token, t->out);
    else fprintf(t->out, "%ld ", (long)token);
    fflush(t->out);
}

/* =====================================================================================
   CLOCK                                                                         >>clock
   Time, and Ctrl-C.
   ===================================================================================== */

static uint64_t clock_ns(void *user)
{
    struct timespec now = {0, 0};
    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double ms(uint64_t ns) { return (double)ns / 1e6; }

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* The first Ctrl-C sets the flag and breaks off waiting for a line; the second has its usual effect. */
static void catch_interrupt(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_interrupt;
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

/* =====================================================================================
   STATS                                                                         >>stats
   How long it took.
   ===================================================================================== */

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The smallest latency that `percent` of all do not exceed. */
static double percentile(const tool *t, size_t percent)
{
    const size_t rank = (t->latency_count * percent + 99) / 100;
    return t->latency_count != 0 ? ms(t->latencies[rank > 0 ? rank - 1 : 0]) : 0;
}

static void say_stats(const tool *t)
{
    const qnnrt_llm_session_info info = qnnrt_llm_session_get_info(t->session);
    const double total = ms(info.exec_ns + info.host_ns);
    char latency[96] = "";
    double writing = 0;
    for (size_t i = 0; i < t->latency_count; ++i) writing += ms(t->latencies[i]);
    if (t->latency_count != 0)
        snprintf(latency, sizeof(latency), ", each behind the first in %.3f ms, 99 %% of them within"
                 " %.3f ms", writing / (double)t->latency_count, percentile(t, 99));
    warn("loaded in %.1f ms; prompts of %llu token%s, %s %.1f ms",
         ms(t->load_end - t->load_begin), (unsigned long long)t->prompt_tokens,
         t->prompt_tokens == 1 ? "" : "s",
         t->first_token != 0 ? "the first answer began after" : "the first was read in",
         ms((t->first_token != 0 ? t->first_token : t->prompt_end) - t->inference_begin));
    warn("%llu token%s written%s; %.1f %% of the time in the backend",
         (unsigned long long)t->generated, t->generated == 1 ? "" : "s", latency,
         total > 0 ? 100 * ms(info.exec_ns) / total : 0.0);
}

static int write_piece(void *user, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, (FILE *)user) == bytes;
}

static void stat_count(qnnrt_json_writer *j, const char *key, uint64_t value)
{
    qnnrt_json_write_key(j, key);
    qnnrt_json_write_u64(j, value);
}

static void stat_real(qnnrt_json_writer *j, const char *key, double value)
{
    qnnrt_json_write_key(j, key);
    qnnrt_json_write_f64(j, value);
}

static void write_stats(tool *t)
{
    const qnnrt_llm_session_info info = qnnrt_llm_session_get_info(t->session);
    const uint64_t now = clock_ns(NULL);
    uint64_t wall_ns;
    struct timespec wall = {0, 0};
    qnnrt_json_writer j;
    int good;
    struct { const char *key; uint64_t ns; } times[] = {
        {"model_load_start_ms", t->load_begin}, {"model_load_end_ms", t->load_end},
        {"inference_start_ms", t->inference_begin}, {"inference_end_ms", t->inference_end},
        {"prompt_eval_end_ms", t->prompt_end}, {"first_token_ms", t->first_token}
    };

    clock_gettime(CLOCK_REALTIME, &wall);
    wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
    qnnrt_json_write_begin(&j, write_piece, t->stats, 2);
    qnnrt_json_write_object(&j, 0);
    /* ExecuTorch's, in its order: times in ms since 1970, 0 for what never happened. */
    stat_count(&j, "prompt_tokens", t->prompt_tokens);
    stat_count(&j, "generated_tokens", t->generated);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); ++i) {
        const uint64_t ns = wall_ns - (now - times[i].ns);
        stat_count(&j, times[i].key, times[i].ns != 0 ? ns / 1000000u : 0);
    }
    stat_count(&j, "aggregate_sampling_time_ms", t->sampling / 1000000u);
    stat_count(&j, "SCALING_FACTOR_UNITS_PER_SECOND", 1000);
    /* Ours. */
    qnnrt_json_write_key(&j, "stopped");
    qnnrt_json_write_string(&j, t->stopped);
    qnnrt_json_write_key(&j, "token_latency_ms");
    qnnrt_json_write_object(&j, 1);
    stat_count(&j, "count", t->latency_count);
    stat_real(&j, "p50", percentile(t, 50));
    stat_real(&j, "p90", percentile(t, 90));
    stat_real(&j, "p99", percentile(t, 99));
    stat_real(&j, "max", percentile(t, 100));
    qnnrt_json_write_close(&j);
    stat_real(&j, "load_ms", ms(t->load_end - t->load_begin));
    stat_real(&j, "prompt_ms", ms(t->prompt_end - t->inference_begin));
    stat_real(&j, "sampling_ms", ms(t->sampling));
    stat_real(&j, "backend_ms", ms(info.exec_ns));
    stat_real(&j, "host_ms", ms(info.host_ns));
    stat_count(&j, "steps", info.steps);
    stat_count(&j, "executes", info.executes);
    stat_count(&j, "arena_bytes", info.arena_bytes);
    stat_count(&j, "naive_bytes", info.naive_bytes);
    stat_count(&j, "cache_bytes", info.cache_bytes);
    stat_count(&j, "seq_len", t->limit);
    qnnrt_json_write_close(&j);
    good = qnnrt_json_write_end(&j);
    if (fclose(t->stats) != 0 || !good) fail(t, "cannot write %s: %s", t->set.stats, strerror(errno));
    t->stats = NULL;
}

/* =====================================================================================
   OPEN                                                                           >>open
   The model, what its tensors are for, and a session with its cache.
   ===================================================================================== */

static void print_log_line(void *user, qnnrt_log_level level, const char *room, uint64_t vendor_code,
                           const char *line)
{
    static const char *const names[] = {"default", "error", "warn", "info", "verbose", "debug"};
    char code[32] = "";
    if (level > *(const qnnrt_log_level *)user) return;   /* qnnrt's own come at every level */
    if (vendor_code != 0) snprintf(code, sizeof(code), " (0x%llx)", (unsigned long long)vendor_code);
    /* One call, so that lines of the vendor's threads do not mix. */
    fprintf(stderr, "qnnrt-llm: log %s %s: %s%s\n",
            level >= 0 && level <= QNNRT_LOG_DEBUG ? names[level] : "?", room != NULL ? room : "",
            line != NULL ? line : "", code);
}

/* A refusal is a failure: times would be those of other clocks. A backend without clocks is none. */
static int set_power(tool *t)
{
    qnnrt_power_desc desc;
    qnnrt_power_report report;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    if (t->set.power == QNNRT_POWER_CUSTOM) return 1;
    desc.preset = t->set.power;
    if (qnnrt_power_set(qnnrt_get_info(t->model)->backend, &desc, &report, &err) != QNNRT_OK)
        return fail(t, "%s%s%s", err.text, HINT(err));
    for (int i = 0; i < QNNRT_POWER_SETTINGS; ++i) {
        if (report.settings[i].answer == QNNRT_POWER_REFUSED)
            return fail(t, "--perf_profile %s: the backend refused %s with 0x%llx\n  what helps:"
                        " another profile, or none", qnnrt_power_preset_name(desc.preset),
                        report.settings[i].name,
                        (unsigned long long)(report.settings[i].vendor_code & 0xFFFF));
        if (report.settings[i].answer == QNNRT_POWER_NOT_AVAILABLE)
            warn("--perf_profile %s: this backend has no %s to set",
                 qnnrt_power_preset_name(desc.preset), report.settings[i].name);
    }
    return 1;
}

static int open_model(tool *t)
{
    const settings *set = &t->set;
    qnnrt_desc desc;
    qnnrt_llm_desc llm;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    memset(&llm, 0, sizeof(llm));
    desc.backend_desc.path = set->backend;
    desc.system_path = set->system;
    desc.inspect = set->describe;
    desc.backend_desc.log_level = set->log_level;
    if (set->log_level != QNNRT_LOG_DEFAULT) {
        desc.backend_desc.hooks.log = print_log_line;
        desc.backend_desc.hooks.log_user = &t->set.log_level;
    }
    if (qnnrt_open(set->ctx_dir, &desc, &t->model, &err) != QNNRT_OK)
        return fail(t, "%s%s%s%s", err.text, HINT(err), err.code != QNNRT_E_LIBRARY ? "" :
                    set->describe ? "\n  with this tool: --system_so FILE; of binaries that were made"
                                    " with libQnnRef.so, that library"
                                  : "\n  with this tool: --backend_so FILE, the library that the"
                                    " binaries were made for (libQnnHtp.so, or libQnnRef.so);"
                                    " --system_so FILE");
    llm.rope.theta = set->rope_theta;
    if (qnnrt_llm_open(t->model, &llm, &t->llm, &err) != QNNRT_OK) return fail(t, "%s%s%s", err.text, HINT(err));
    t->info = qnnrt_llm_get_info(t->llm);
    return 1;
}

/* Most tokens of a text. The last one is written and never read, so it needs no cell. */
static void choose_limit(tool *t)
{
    const settings *set = &t->set;
    const uint32_t most = t->info->cells < t->info->context ? t->info->cells + 1 : t->info->context;
    t->limit = most;
    if (!set->seq_len_given) return;
    if (set->seq_len > 0 && set->seq_len <= (int64_t)most) {
        t->limit = (uint32_t)set->seq_len;
        return;
    }
    warn("--seq_len %lld is %s: taken for %lu, the most of this model", (long long)set->seq_len,
         set->seq_len <= 0 ? "not above 0" : "too much", (unsigned long)most);
}

static int open_files(tool *t)
{
    const settings *set = &t->set;
    if (set->stats != NULL && (t->stats = fopen(set->stats, "w")) == NULL)
        return fail(t, "cannot write %s: %s", set->stats, strerror(errno));
    if (set->dump_logits == NULL) return 1;
    t->dump = fopen(set->dump_logits, "wb");
    if (t->dump == NULL) return fail(t, "cannot write %s: %s", set->dump_logits, strerror(errno));
    t->rows = calloc((size_t)t->info->ar * t->info->vocabulary, sizeof(*t->rows));
    return t->rows != NULL || fail(t, "no memory for logits");
}

static int open_session(tool *t)
{
    qnnrt_llm_session_desc desc;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    desc.kv = t->set.kv;
    desc.clock_ns = clock_ns;
    if (qnnrt_llm_session_create(&t->llm, 1, &desc, &t->session, &err) != QNNRT_OK)
        return fail(t, "%s%s%s%s", err.text, HINT(err), err.code == QNNRT_E_NOT_FOUND
                    ? "\n  with this tool: --describe shows each tensor" : "");
    t->cache = qnnrt_llm_cache_get(t->session, 0, 0);
    if (qnnrt_llm_sampler_create(t->info->logits, &t->set.sampler, &t->sampler, &err) != QNNRT_OK)
        return fail(t, "%s%s%s", err.text, HINT(err));
    if (t->set.unheard != NULL && !(t->set.sampler.temperature > 0))
        warn("%s changes nothing with --temperature 0, which always takes the most probable token",
             t->set.unheard);
    if (t->info->rope.theta != 0 && strcmp(t->info->rope_source, "the default") == 0)
        warn("no file says how positions turn this model's queries and keys: RoPE theta is taken for"
             " %g; --rope_theta gives another", t->info->rope.theta);
    if (t->set.rope_theta != 0 && t->info->rope.theta == 0)
        warn("--rope_theta changes nothing: the angles of positions are in this model's graphs");
    t->bytes = t->info->vocabulary == 256 && t->set.tokens_file == NULL && !t->set.numbers;
    choose_limit(t);
    return 1;
}

static void describe_line(void *user, const char *text)
{
    fprintf((FILE *)user, "%s\n", text);
}

/* =====================================================================================
   WRITE                                                                         >>write
   A prompt goes in, an answer comes out.
   ===================================================================================== */

/* Let the model read some tokens, at most as many as one step takes. 0 after a message. */
static int read_step(tool *t, const int32_t *tokens, size_t count)
{
    static const unsigned char all[1] = {1};
    unsigned char *wanted = NULL;
    qnnrt_llm_batch batch;
    size_t values = 0;
    memset(&batch, 0, sizeof(batch));
    batch.tokens = tokens;
    batch.count = count;
    if (t->dump != NULL) {
        wanted = count > 1 ? malloc(count) : NULL;
        if (count > 1 && wanted == NULL) return fail(t, "no memory for a step");
        if (wanted != NULL) memset(wanted, 1, count);
        batch.wanted = wanted != NULL ? wanted : all;
        batch.logits = t->rows;
        values = count * t->info->vocabulary;
    }
    if (qnnrt_llm_decode(t->cache, &batch) != QNNRT_OK) {
        free(wanted);
        return fail(t, "%s%s%s", qnnrt_llm_error(t->cache)->text, HINT(*qnnrt_llm_error(t->cache)));
    }
    free(wanted);
    t->used += (uint32_t)count;
    for (size_t i = 0; i < count; ++i) qnnrt_llm_sampler_accept(t->sampler, tokens[i]);
    if (values > 0 && fwrite(t->rows, sizeof(*t->rows), values, t->dump) != values)
        return fail(t, "cannot write %s: %s", t->set.dump_logits, strerror(errno));
    return 1;
}

/* The token behind row `row` of the last step, -1 after a message. */
static int32_t next_token(tool *t, size_t row)
{
    const uint64_t begin = clock_ns(NULL);
    const void *codes = qnnrt_llm_codes(t->cache, row);
    const int32_t token = qnnrt_llm_sample(t->sampler, codes);
    t->sampling += clock_ns(NULL) - begin;
    if (token < 0)
        fail(t, "%s%s%s", codes != NULL ? "the model says nothing: all logits are NaN"
                                        : qnnrt_llm_error(t->cache)->text,
             HINT(*qnnrt_llm_error(t->cache)));
    return token;
}

/* Read a prompt, in steps that Ctrl-C can come between. *last receives the row of the last token. */
static int read_prompt(tool *t, const token_list *prompt, size_t *last)
{
    const size_t most = t->info->ar;
    size_t at = 0;
    while (at < prompt->count) {
        const size_t count = prompt->count - at < most ? prompt->count - at : most;
        if (interrupted) return 0;
        if (!read_step(t, prompt->items + at, count)) return 0;
        at += count;
        *last = count - 1;
    }
    return 1;
}

/* Why nothing more is written behind this many tokens, NULL: go on. The last token is not read. */
static const char *stop_reason(const tool *t, uint64_t written)
{
    if (interrupted) return "interrupted";
    if (written >= t->set.max_gen) return "max_gen";
    return t->used + 1 >= t->limit ? "seq_len" : NULL;
}

/* Does a prompt fit behind what is there, with an answer? 0 after a message, and nothing changed. */
static int prompt_fits(tool *t, size_t count)
{
    const uint64_t most = (uint64_t)t->limit - (t->set.max_gen != 0);
    const uint64_t cells = t->info->cells;
    const uint64_t room = (most < cells ? most : cells) - t->used;
    const uint64_t written = t->pending >= 0;    /* the first of the prompt, and no new one */
    if (count == 0) return fail(t, "the prompt is empty, and there is no text yet to go on with");
    if (count <= room) return 1;
    if (count == written)
        return fail(t, "nothing more fits: %llu of %llu tokens are taken\n  what helps: /reset, which"
                    " forgets them", (unsigned long long)(t->used + written),
                    (unsigned long long)t->limit);
    return fail(t, "the prompt has %llu tokens, and there is room for %llu: %llu of %llu are taken%s%s",
                (unsigned long long)(count - written),
                (unsigned long long)(room > written ? room - written : 0),
                (unsigned long long)(t->used + written), (unsigned long long)t->limit,
                t->set.max_gen != 0 && room > written ? ", and one is for the answer" : "",
                t->used != 0 ? "\n  what helps: /reset, which forgets those" : "");
}

/* Let the model answer a prompt that fits. 0 after a message; the text may then end anywhere. */
static int answer(tool *t, const token_list *prompt)
{
    uint64_t written = 0, since = clock_ns(NULL);
    size_t last = 0;
    if (t->inference_begin == 0) t->inference_begin = since;
    t->prompt_tokens += prompt->count - (t->pending >= 0);
    t->pending = -1;
    t->stopped = t->set.max_gen == 0 ? "max_gen" : NULL;
    if (!read_prompt(t, prompt, &last)) t->stopped = t->failed ? "failed" : "interrupted";
    since = clock_ns(NULL);
    if (t->prompt_end == 0) t->prompt_end = since;
    while (t->stopped == NULL) {
        const int32_t token = next_token(t, last);
        const uint64_t now = clock_ns(NULL);
        if (token < 0) {
            t->stopped = "failed";
            break;
        }
        t->pending = token;
        ++t->generated;
        if (t->first_token == 0) t->first_token = now;
        if (written++ > 0) {
            t->latencies = room_for_more(t->latencies, t->latency_count, &t->latency_room,
                                         sizeof(*t->latencies));
            t->latencies[t->latency_count++] = now - since;
        }
        since = now;
        if (qnnrt_llm_is_eos(t->llm, token)) {
            t->stopped = "end token";
            break;
        }
        put_token(t, token);
        t->stopped = stop_reason(t, written);
        if (t->stopped != NULL) break;
        if (!read_step(t, &token, 1)) t->stopped = "failed";
        t->pending = -1;
        last = 0;
    }
    t->inference_end = clock_ns(NULL);
    fputc('\n', t->out);
    fflush(t->out);
    if (ferror(t->out)) return fail(t, "cannot write to standard output");
    return strcmp(t->stopped, "failed") != 0;
}

/* =====================================================================================
   TALK                                                                           >>talk
   Line by line, with what was said before.
   ===================================================================================== */

static void forget(tool *t)
{
    qnnrt_llm_clear(t->cache);
    qnnrt_llm_sampler_reset(t->sampler);
    t->used = 0;
    t->pending = -1;
}

/* Each line but the two commands gets an answer that ends with a newline, if only that. */
static void talk(tool *t)
{
    const int shown = isatty(STDIN_FILENO);
    char *line = NULL;
    size_t room = 0;
    token_list prompt = {NULL, 0, 0};
    for (;;) {
        ssize_t bytes;
        int good = 1;
        if (shown) fputs("> ", stderr);
        bytes = interrupted ? -1 : getline(&line, &room, stdin);
        if (bytes < 0) {
            if (shown) fputc('\n', stderr);
            break;
        }
        if (bytes > 0 && line[bytes - 1] == '\n') line[--bytes] = '\0';
        if (strcmp(line, "/quit") == 0) break;
        if (strcmp(line, "/reset") == 0) {
            forget(t);
            continue;
        }
        prompt.count = 0;
        if (t->pending >= 0) add_token(&prompt, t->pending);
        if (t->bytes && t->used == 0 && prompt.count == 0 && t->info->bos >= 0)
            add_token(&prompt, t->info->bos);
        good = t->bytes ? take_bytes(t, line, (size_t)bytes, &prompt)
                        : take_numbers(t, line, (size_t)bytes, &prompt);
        if (!good || !prompt_fits(t, prompt.count)) {
            fputc('\n', t->out);
            fflush(t->out);
            continue;
        }
        if (!answer(t, &prompt) || interrupted) break;
    }
    if (interrupted) t->stopped = "interrupted";
    else if (t->stopped == NULL || strcmp(t->stopped, "failed") != 0) t->stopped = "end of input";
    free(prompt.items);
    free(line);
}

/* =====================================================================================
   MAIN                                                                           >>main
   ===================================================================================== */

/* Take descriptor 1 for this program, and give everyone else standard error in its place. */
static FILE *take_stdout(void)
{
    int own;
    for (int fd = 0; fd <= 2; ++fd)              /* else the next file that is opened would be there */
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDWR) != fd) return NULL;
    own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (own == -1 || dup2(STDERR_FILENO, STDOUT_FILENO) == -1) return NULL;
    return fdopen(own, "w");
}

static void run(tool *t)
{
    token_list prompt = {NULL, 0, 0};
    const settings *set = &t->set;
    t->pending = -1;
    t->load_begin = clock_ns(NULL);
    if (!open_model(t)) return;
    if (set->describe) {
        qnnrt_llm_describe(t->llm, describe_line, t->out);
        return;
    }
    if (!set_power(t) || !open_session(t) || !open_files(t)) return;
    t->load_end = clock_ns(NULL);
    catch_interrupt();
    if (set->prompt == NULL && set->prompt_file == NULL && set->tokens_file == NULL) talk(t);
    else if (take_prompt(t, &prompt) && prompt_fits(t, prompt.count)) answer(t, &prompt);
    free(prompt.items);
    if (t->inference_begin == 0) return;
    if (t->latency_count > 1)
        qsort(t->latencies, t->latency_count, sizeof(*t->latencies), by_size);
    say_stats(t);
}

static void close_all(tool *t)
{
    if (t->stats != NULL && t->session != NULL) write_stats(t);
    if (t->stats != NULL) fclose(t->stats);
    if (t->dump != NULL && fclose(t->dump) != 0) fail(t, "cannot write %s", t->set.dump_logits);
    qnnrt_llm_sampler_destroy(t->sampler);
    qnnrt_llm_session_destroy(t->session);
    qnnrt_llm_close(t->llm);
    if (qnnrt_close(t->model) != QNNRT_OK) fail(t, "the model could not be closed cleanly");
    free(t->rows);
    free(t->latencies);
}

int main(int argc, char **argv)
{
    tool t;
    int answered = 0, status, good;
    memset(&t, 0, sizeof(t));
    t.out = take_stdout();
    if (t.out == NULL) {
        fprintf(stderr, "qnnrt-llm: cannot copy standard output: %s\n", strerror(errno));
        return STATUS_FAILED;
    }
    status = parse_options(&t, argc, argv, &answered);
    if (status == STATUS_OK && !answered) {
        run(&t);
        close_all(&t);
    }
    good = !ferror(t.out);
    if (fclose(t.out) != 0 || !good) {
        if (!t.failed) fprintf(stderr, "qnnrt-llm: cannot write to standard output\n");
        t.failed = 1;
    }
    if (status != STATUS_OK) return status;
    return t.failed ? STATUS_FAILED : interrupted ? STATUS_INTERRUPTED : STATUS_OK;
}
