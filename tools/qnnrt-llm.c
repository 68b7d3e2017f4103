/* qnnrt-llm - let a language model that was compiled for QNN write text

       cc -std=c99 -O2 -I. -o qnnrt-llm tools/qnnrt-llm.c -ldl
       qnnrt-llm --ctx_dir DIR --backend_so libQnnHtp.so --prompt "Once upon a time" --max_gen 100
       qnnrt-llm --ctx_dir DIR --system_so libQnnSystem.so --describe

   Everything about the model goes through the public functions of qnnrt_llm.h. `qnnrt-llm --help`
   lists the options.

   Standard output gets the text, piece by piece as it is written, and nothing else. Warnings, errors
   and the figures at the end go to standard error.

   ROOMS    >>text >>options >>tokens >>clock >>stats >>open >>write >>talk >>main
            cli.h: messages, files, options, help                                                */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#define QNNRT_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_json.h"
#include "qnnrt_llm.h"

#define CLI_NAME "qnnrt-llm"
#include "cli.h"

#include <time.h>

enum { STATUS_INTERRUPTED = 130 };

typedef struct settings {
    const char     *ctx_dir, *backend, *system;
    const char     *prompt, *prompt_file, *tokens_file, *stats, *dump_logits;
    uint64_t        max_gen;           /* UINT64_MAX: as many as fit     */
    int64_t         seq_len;
    int             seq_len_given, describe, numbers;
    double          temperature, top_p, min_p, penalty;    /* 0: the sampler's default */
    uint32_t        top_k;
    uint64_t        seed;
    int             kv;                /* a qnnrt_llm_kv                 */
    double          rope_theta;        /* 0: as the files say            */
    qnnrt_power_preset power;          /* QNNRT_POWER_CUSTOM: none       */
    qnnrt_log_level log_level;         /* 0: no log                      */
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
   Warnings and failures.
   ===================================================================================== */

CLI_FORMAT(1, 2) static void warn(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *message = cli_text_list(format, list);
    va_end(list);
    cli_message(message, NULL);
    free(message);
}

/* Report a failure and its hint (NULL: none). Returns 0, so that the caller can. */
CLI_FORMAT(3, 4) static int fail(tool *t, const char *hint, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *message = cli_text_list(format, list);
    va_end(list);
    cli_message(message, hint);
    free(message);
    t->failed = 1;
    return 0;
}

static int fail_error(tool *t, const qnnrt_error *err)
{
    return fail(t, err->hint, "%s", err->text);
}

/* =====================================================================================
   OPTIONS                                                                     >>options
   One table for the command line and for --help.
   ===================================================================================== */

static const char *const kv_words[] = {"smart_mask", "shift_pointer", NULL};

/* Read --seq_len: a whole number, which may be negative. */
static int take_seq_len(void *at, const cli_option *o, const char *value)
{
    settings *set = (settings *)at;
    uint64_t number = 0;
    if (!cli_number(value + (value[0] == '-'), INT32_MAX, &number))
        return cli_wrong_value(o, value, "a number up to 2147483647");
    set->seq_len = value[0] == '-' ? -(int64_t)number : (int64_t)number;
    set->seq_len_given = 1;
    return STATUS_OK;
}

#define FIELD(member) .field = offsetof(settings, member)

static const cli_option options[] = {
    {.name = "ctx_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(ctx_dir),
     .help = "folder of context binaries: all shards of one model. Its qnnrt.json may hold a role "
             "table, RoPE and end tokens; its genie_config.json may hold RoPE and end tokens"},
    {.name = "backend_so", .value = "FILE", .kind = CLI_TEXT, FIELD(backend),
     .help = "backend library that the binaries were made for: libQnnHtp.so, or libQnnRef.so for "
             "binaries made with it (default: libQnnHtp.so beside this program, else by the "
             "system's search)"},
    {.name = "system_so", .value = "FILE", .kind = CLI_TEXT, FIELD(system),
     .help = "libQnnSystem.so, which reads context binaries (default: the one beside the backend "
             "library, else by the system's search). It is not needed with libQnnRef.so"},
    {.name = "prompt", .value = "TEXT", .kind = CLI_TEXT, FIELD(prompt), .empty = 1,
     .help = "text that the model continues, if its tokens are bytes"},
    {.name = "prompt_file", .value = "FILE", .kind = CLI_TEXT, FIELD(prompt_file),
     .help = "the same text from a file, to its last byte; - for standard input"},
    {.name = "tokens", .value = "FILE", .kind = CLI_TEXT, FIELD(tokens_file),
     .help = "the prompt as token numbers, separated by blanks; - for standard input. The answer is "
             "written as numbers, too. Nothing is put before them"},
    {.name = "numbers", .kind = CLI_FLAG, FIELD(numbers),
     .help = "read token numbers from the lines of standard input and write numbers, even for a "
             "model with 256 tokens. Nothing is put before them"},
    {.name = "max_gen", .value = "N", .kind = CLI_U64, .most = INT32_MAX, FIELD(max_gen),
     .help = "most tokens to write for each prompt (default: as many as fit; 0: only let the model "
             "read the prompt)"},
    {.name = "seq_len", .value = "N", .kind = CLI_OWN, .take = take_seq_len,
     .help = "most tokens of a text, prompt included (default, and for 0 or less: as many as the "
             "model remembers)"},
    {.name = "temperature", .value = "T", .kind = CLI_REAL, .top = 1000, FIELD(temperature),
     .help = "0: always choose the most probable token (default); 1: choose by the model's "
             "probabilities; a higher value makes the choice more random"},
    {.name = "top_k", .value = "N", .kind = CLI_U32, .most = INT32_MAX, FIELD(top_k),
     .help = "choose among the N most probable tokens (default 0: all)"},
    {.name = "top_p", .value = "P", .kind = CLI_REAL, .top = 1, .above = 1, FIELD(top_p),
     .help = "choose among the fewest tokens whose probabilities add up to P (default 1: all)"},
    {.name = "min_p", .value = "P", .kind = CLI_REAL, .top = 1, FIELD(min_p),
     .help = "choose among tokens at least P times as probable as the most probable one (default 0)"},
    {.name = "repetition_penalty", .value = "P", .kind = CLI_REAL, .top = 1000, .above = 1,
     FIELD(penalty),
     .help = "divide the logits of the last 64 tokens by P if they are positive, multiply them if "
             "they are negative (default 1: no change)"},
    {.name = "seed", .value = "N", .kind = CLI_U64, .most = UINT64_MAX, FIELD(seed),
     .help = "start of the random numbers: the same seed chooses the same tokens on every machine "
             "(default 0)"},
    {.name = "kv", .value = "smart_mask|shift_pointer", .kind = CLI_WORD, .words = kv_words, FIELD(kv),
     .help = "how keys and values are stored (default smart_mask); the text is the same"},
    {.name = "rope_theta", .value = "THETA", .kind = CLI_REAL, .bottom = 1, .top = 1e30,
     FIELD(rope_theta),
     .help = "base of the angles of positions, for models that get the angles from outside "
             "(default: as the files say, else 10000)"},
    {.name = "perf_profile", .value = "NAME", .kind = CLI_POWER, FIELD(power),
     .help = "power preset of the NPU: burst, sustained_high_performance, high_performance, "
             "balanced, low_balanced, high_power_saver, power_saver or low_power_saver (default: "
             "no preset is set)"},
    {.name = "stats", .value = "FILE", .kind = CLI_TEXT, FIELD(stats),
     .help = "write times and counts as JSON: ExecuTorch's keys, percentiles of the latency of a "
             "token, time inside and outside of the backend, memory"},
    {.name = "dump_logits", .value = "FILE", .kind = CLI_TEXT, FIELD(dump_logits),
     .help = "write a row of float32 logits for each token that the model reads, prompts included"},
    {.name = "describe", .kind = CLI_FLAG, FIELD(describe),
     .help = "print what each tensor is for, and why, and end. This needs no backend, only "
             "--system_so, or the JSON of each binary (forward_0_json.json) instead"},
    {.name = "log_level", .value = "LEVEL", .kind = CLI_LEVEL, FIELD(log_level),
     .help = "print log lines up to this level to standard error: 1 error, 2 warn, 3 info, "
             "4 verbose, 5 debug; by number or name (default: no log)"},
    {.name = "version", .kind = CLI_VERSION, .help = "print the version"},
    {.name = "help", .kind = CLI_HELP, .help = "print this help"}
};

static const char *const examples[] = {
    "--ctx_dir model_dir --prompt 'Once upon a time' --max_gen 100", "--ctx_dir model_dir --describe",
    NULL};

static const cli_program program = {
    .summary = "Let a language model that was compiled for QNN write text.",
    .usage = "--ctx_dir DIR [--prompt TEXT | --prompt_file FILE | --tokens FILE] [options]",
    .examples = examples,
    .notes = "Without a prompt, each line of standard input is a prompt in one conversation: an "
             "empty line lets the model continue, /reset forgets all that was said, and /quit or "
             "the end of the input ends the program. When the model's memory is full, the oldest "
             "turns are dropped, and a message says so. Ctrl-C ends the program, too, after it has "
             "printed its figures; a second Ctrl-C ends it at once. A model with 256 tokens reads "
             "and writes bytes, unless --numbers is given. Other models read and write token "
             "numbers, a line for each prompt and each answer; examples/llm/chat.py puts a "
             "tokenizer at both ends.",
    .statuses = "Exit status: 0 everything succeeded, 1 something failed, 2 wrong usage, 130 after "
                "Ctrl-C.",
    .options = options, .option_count = sizeof(options) / sizeof(options[0])
};

/* Check options that depend on each other. */
static int check_options(const settings *set)
{
    const int prompts = (set->prompt != NULL) + (set->prompt_file != NULL) + (set->tokens_file != NULL);
    if (set->ctx_dir == NULL)
        return cli_usage("Name the folder of the model with --ctx_dir DIR.", "--ctx_dir is missing");
    if (prompts > 1)
        return cli_usage("Use one of them.", "--prompt, --prompt_file and --tokens exclude each other");
    if (set->numbers && prompts > 0)
        return cli_usage("Use --tokens FILE for a prompt of numbers.",
                         "--numbers is about standard input: it excludes --prompt, --prompt_file and"
                         " --tokens");
    if (set->describe && (prompts > 0 || set->stats != NULL || set->dump_logits != NULL))
        return cli_usage("Leave it out.", "--describe runs nothing: it does not take %s",
                         prompts > 0 ? "a prompt" : set->stats != NULL ? "--stats" : "--dump_logits");
    return STATUS_OK;
}

/* Return an option that changes nothing without a temperature, or NULL. */
static const char *unused_option(const settings *set)
{
    if (set->temperature > 0) return NULL;
    return set->top_k != 0 ? "--top_k" : set->top_p > 0 ? "--top_p" : set->min_p > 0 ? "--min_p"
           : set->seed != 0 ? "--seed" : NULL;
}

/* =====================================================================================
   TOKENS                                                                       >>tokens
   Bytes or numbers become tokens, and tokens become either.
   ===================================================================================== */

static void add_token(token_list *list, int32_t token)
{
    list->items = cli_grow(list->items, list->count, &list->room, sizeof(*list->items));
    list->items[list->count++] = token;
}

/* 0 after a message. */
static int take_bytes(tool *t, const char *text, size_t bytes, token_list *list)
{
    if (!t->bytes)
        return fail(t, "Use --tokens FILE, or examples/llm/chat.py, which has a tokenizer.",
                    "the model has %lu tokens, so its tokens are not bytes", (unsigned long)t->info->vocabulary);
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
        if (!cli_number(word, UINT64_MAX, &token))
            return fail(t, t->info->vocabulary == 256
                           ? "Separate the numbers by blanks, or use --prompt TEXT."
                           : "Separate the numbers by blanks, or use the tokenizer of examples/llm/chat.py.",
                        "token %lu is \"%s\", not a number from 0 to %lu",
                        (unsigned long)list->count + 1, word, (unsigned long)t->info->vocabulary - 1);
        if (token >= t->info->vocabulary)
            return fail(t, NULL, "token %lu is %s: out of range, the vocabulary has 0 to %lu",
                        (unsigned long)list->count + 1, word, (unsigned long)t->info->vocabulary - 1);
        add_token(list, (int32_t)token);
    }
    return 1;
}

/* Read a whole file, or standard input. NULL after a message. */
static char *read_all(tool *t, const char *path, size_t *bytes)
{
    enum { MOST = 1 << 28 };                     /* more than any model remembers */
    char *data = cli_read_file(path, MOST, bytes);
    if (data != NULL) return data;
    char *shown = cli_shown(path);
    const char *option = t->set.tokens_file != NULL ? "tokens" : "prompt_file";
    char *hint = cli_text("Name a file with --%s FILE.", option);
    fail(t, hint, "cannot read %s: %s", shown, strerror(errno));
    free(shown);
    free(hint);
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
    if (fclose(t->stats) != 0 || !good) fail(t, NULL, "cannot write %s: %s", t->set.stats, strerror(errno));
    t->stats = NULL;
}

/* =====================================================================================
   OPEN                                                                           >>open
   The model, what its tensors are for, and a session with its cache.
   ===================================================================================== */

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
        return fail_error(t, &err);
    for (int i = 0; i < QNNRT_POWER_SETTINGS; ++i) {
        if (report.settings[i].answer == QNNRT_POWER_REFUSED)
            return fail(t, "Use another profile, or none.", "--perf_profile %s: the backend refused %s"
                        " with 0x%llx", qnnrt_power_preset_name(desc.preset), report.settings[i].name,
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
        desc.backend_desc.hooks.log = cli_log;
        desc.backend_desc.hooks.log_user = &t->set.log_level;
    }
    if (qnnrt_open(set->ctx_dir, &desc, &t->model, &err) != QNNRT_OK)
        return fail(t, err.code != QNNRT_E_LIBRARY ? err.hint : set->describe
                       ? "Name libQnnSystem.so with --system_so FILE; for binaries made with libQnnRef.so,"
                         " name that library."
                       : "Name the library that the binaries were made for with --backend_so FILE,"
                         " libQnnHtp.so or libQnnRef.so.", "%s", err.text);
    llm.rope.theta = set->rope_theta;
    if (qnnrt_llm_open(t->model, &llm, &t->llm, &err) != QNNRT_OK) return fail_error(t, &err);
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
        return fail(t, NULL, "cannot write %s: %s", set->stats, strerror(errno));
    if (set->dump_logits == NULL) return 1;
    t->dump = fopen(set->dump_logits, "wb");
    if (t->dump == NULL) return fail(t, NULL, "cannot write %s: %s", set->dump_logits, strerror(errno));
    t->rows = calloc((size_t)t->info->ar * t->info->vocabulary, sizeof(*t->rows));
    return t->rows != NULL || fail(t, NULL, "no memory for logits");
}

static int open_session(tool *t)
{
    qnnrt_llm_session_desc desc;
    qnnrt_llm_sampler_desc sampling;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    memset(&sampling, 0, sizeof(sampling));
    desc.kv = (qnnrt_llm_kv)t->set.kv;
    desc.clock_ns = clock_ns;
    if (qnnrt_llm_session_create(&t->llm, 1, &desc, &t->session, &err) != QNNRT_OK)
        return fail(t, err.code == QNNRT_E_NOT_FOUND ? "Look at each tensor with --describe." : err.hint,
                    "%s", err.text);
    t->cache = qnnrt_llm_cache_get(t->session, 0, 0);
    sampling.temperature = (float)t->set.temperature;
    sampling.top_k = t->set.top_k;
    sampling.top_p = (float)t->set.top_p;
    sampling.min_p = (float)t->set.min_p;
    sampling.repetition_penalty = (float)t->set.penalty;
    sampling.seed = t->set.seed;
    if (qnnrt_llm_sampler_create(t->info->logits, &sampling, &t->sampler, &err) != QNNRT_OK)
        return fail_error(t, &err);
    if (unused_option(&t->set) != NULL)
        warn("%s changes nothing with --temperature 0, which always takes the most probable token",
             unused_option(&t->set));
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
        if (count > 1 && wanted == NULL) return fail(t, NULL, "no memory for a step");
        if (wanted != NULL) memset(wanted, 1, count);
        batch.wanted = wanted != NULL ? wanted : all;
        batch.logits = t->rows;
        values = count * t->info->vocabulary;
    }
    if (qnnrt_llm_decode(t->cache, &batch) != QNNRT_OK) {
        free(wanted);
        return fail_error(t, qnnrt_llm_error(t->cache));
    }
    free(wanted);
    t->used += (uint32_t)count;
    for (size_t i = 0; i < count; ++i) qnnrt_llm_sampler_accept(t->sampler, tokens[i]);
    if (values > 0 && fwrite(t->rows, sizeof(*t->rows), values, t->dump) != values)
        return fail(t, NULL, "cannot write %s: %s", t->set.dump_logits, strerror(errno));
    return 1;
}

/* The token behind row `row` of the last step, -1 after a message. */
static int32_t next_token(tool *t, size_t row)
{
    const uint64_t begin = clock_ns(NULL);
    const void *codes = qnnrt_llm_codes(t->cache, row);
    const int32_t token = qnnrt_llm_sample(t->sampler, codes);
    t->sampling += clock_ns(NULL) - begin;
    if (token < 0) {
        if (codes == NULL) fail_error(t, qnnrt_llm_error(t->cache));
        else fail(t, NULL, "the model returned NaN for all logits");
    }
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
    if (count == 0) return fail(t, NULL, "the prompt is empty, and there is no text to continue");
    if (count <= room) return 1;
    if (count == written)
        return fail(t, "Write /reset, which forgets them.", "nothing more fits: %llu of %llu tokens are taken",
                    (unsigned long long)(t->used + written),
                    (unsigned long long)t->limit);
    return fail(t, t->used != 0 ? "Write /reset, which forgets those." : NULL,
                "the prompt has %llu tokens, and there is room for %llu: %llu of %llu are taken%s",
                (unsigned long long)(count - written),
                (unsigned long long)(room > written ? room - written : 0),
                (unsigned long long)(t->used + written), (unsigned long long)t->limit,
                t->set.max_gen != 0 && room > written ? ", and one is for the answer" : "");
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
            t->latencies = cli_grow(t->latencies, t->latency_count, &t->latency_room,
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
    if (ferror(t->out)) return fail(t, NULL, "cannot write to standard output");
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
    if (t->dump != NULL && fclose(t->dump) != 0) fail(t, NULL, "cannot write %s", t->set.dump_logits);
    qnnrt_llm_sampler_destroy(t->sampler);
    qnnrt_llm_session_destroy(t->session);
    qnnrt_llm_close(t->llm);
    if (qnnrt_close(t->model) != QNNRT_OK) fail(t, "Add --log_level error for the library's messages.", "closing the model failed");
    free(t->rows);
    free(t->latencies);
}

int main(int argc, char **argv)
{
    tool t;
    cli_parsed parsed;
    memset(&t, 0, sizeof(t));
    t.out = cli_take_stdout();
    if (t.out == NULL) {
        perror(CLI_NAME ": cannot copy standard output");
        return STATUS_FAILED;
    }
    cli_catch_signals();
    t.set.max_gen = UINT64_MAX;
    t.set.power = QNNRT_POWER_CUSTOM;
    int status = cli_parse(&program, argc, argv, &t.set, t.out, &parsed);
    if (status == STATUS_OK && !parsed.answered) status = check_options(&t.set);
    if (status == STATUS_OK && !parsed.answered) {
        run(&t);
        close_all(&t);
    }
    if (!cli_close_stdout(t.out)) t.failed = 1;
    if (status != STATUS_OK) return status;
    return t.failed ? STATUS_FAILED : interrupted ? STATUS_INTERRUPTED : STATUS_OK;
}
