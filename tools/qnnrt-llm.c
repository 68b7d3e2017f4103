/* qnnrt-llm - let a language model that was compiled for QNN write text

       cc -std=c99 -O2 -I. -o qnnrt-llm tools/qnnrt-llm.c -ldl
       qnnrt-llm --ctx_dir DIR --backend_so libQnnHtp.so --prompt "Once upon a time" --max_gen 100
       qnnrt-llm --ctx_dir DIR --system_so libQnnSystem.so --describe

   Everything about the model goes through the public functions of qnnrt_llm.h. `qnnrt-llm --help`
   lists the options.

   Standard output gets the text, piece by piece as it is written, and nothing else. Warnings,
   errors and the figures at the end go to standard error.

   ROOMS    >>text >>options >>open >>main        cli.h: messages, files, options, help
            llm_text.h: >>tokens >>terminal      llm_stats.h: >>clock >>stats
            llm_talk.h: >>write >>room >>talk    llm_perplexity.h: >>perplexity
            llm_embed.h: >>adapter >>embed                                                       */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#define QNNRT_IMPLEMENTATION
#define QNNRT_EXPLAIN_IMPLEMENTATION
#define QNNRT_DEVICE_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#define QNNRT_MANIFEST_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#define QNNRT_IR_IMPLEMENTATION
#define QNNRT_CPU_FALLBACK_IMPLEMENTATION
#define QNNRT_WEIGHTS_IMPLEMENTATION
#define QNNRT_CACHE_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_json.h"
#include "qnnrt_device.h"
#include "qnnrt_manifest.h"
#include "qnnrt_explain.h"
#include "qnnrt_llm.h"
#include "qnnrt_cpu_fallback.h"
#include "qnnrt_weights.h"
#include "qnnrt_cache.h"

#define CLI_NAME "qnnrt-llm"
#include "cli.h"
const char cli_name[] = CLI_NAME;

#include <time.h>

enum { STATUS_INTERRUPTED = 130 };
enum { DSP_RESTARTED = 1007, DSP_RESTARTED_FATAL = 1011 };      /* vendor codes */

typedef struct settings {
    const char     *ctx_dir, *backend, *system;
    cli_list        folders;           /* operands: one, instead of --ctx_dir */
    uint32_t        soc_model;         /* --soc_model                  */
    cli_role        roles[CLI_ROLES];  /* --backend_so ROLE=FILE       */
    size_t          role_count;
    const char     *prompt, *prompt_file, *tokens_file, *stats, *dump_logits, *perplexity;
    const char     *embedding, *lora;
    int             pooling;           /* a qnnrt_llm_pooling            */
    int             normalize;
    double          lora_scale;        /* 0: alpha / rank of the adapter's configuration */
    uint64_t        max_gen;           /* most tokens to write; UINT64_MAX: as many as fit */
    int64_t         seq_len;
    int             seq_len_given, describe, numbers;
    double          temperature, top_p, min_p, penalty;    /* 0: the sampler's default */
    uint32_t        top_k;
    uint64_t        seed;
    int             kv;                /* a qnnrt_llm_kv                 */
    int             memory;            /* of memory_words                */
    double          rope_theta;        /* 0: the one that the files give */
    qnnrt_power_preset power;          /* QNNRT_POWER_CUSTOM: no preset  */
    qnnrt_log_level log_level;         /* 0: no log                      */
    qnnrt_residency residency;
    uint64_t        resident_bytes;    /* 0: one context                 */
    int             resident_given, share_spill_fill, progress;
} settings;

typedef struct token_list {
    int32_t *items;
    size_t   count, room;
} token_list;

typedef struct tool {
    settings           set;
    FILE              *out;            /* standard output, without the output of libraries */
    int                failed;
    qnnrt_manifest    *model;
    cli_choice         choice;         /* of the libraries */
    qnnrt_cpu_fallback        *host;   /* steps of the model's folder */
    qnnrt_host_step *functions;    /* these, and those of qnnrt_llm.h */
    qnnrt_llm         *llm;
    qnnrt_llm_adapter *adapter;        /* of --lora, or NULL */
    qnnrt_llm_session *session;
    qnnrt_llm_cache   *cache;
    qnnrt_llm_sampler *sampler;
    const qnnrt_llm_info *info;
    int                bytes;          /* 1: a token is a byte. 0: tokens are numbers, in and out */
    uint32_t           limit;          /* most tokens of a text, prompt included */
    token_list         said;           /* tokens that the model has read                        */
    int                begun;          /* 1: the first of them is the model's begin token       */
    size_t            *turns;          /* [turn_count] where turns of a conversation begin      */
    size_t             turn_count, turn_room;
    /* A token that was written, but not yet read by the model; -1: none. */
    int32_t            pending;
    int                terminal;       /* 1: standard output is a terminal                      */
    char               held[5];        /* [held_count] bytes of a character that is not complete */
    size_t             held_count;
    cli_file           dump, stats;
    float             *rows;           /* [ar][vocabulary] for the dump */

    /* Used by >>stats. Times come from clock_ns(); 0: it has not happened. */
    uint64_t load_begin, load_end, inference_begin, prompt_end, first_token, inference_end;
    uint64_t sampling;
    uint64_t prompt_tokens, generated;
    uint64_t *latencies;               /* [latency_count] of the generated tokens after the first */
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

/* Report a failure and its hint (NULL: none). Returns 0, so that the caller can return it. */
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
    return fail(t, cli_hint(err), "%s", cli_told(err));
}

/* =====================================================================================
   OPTIONS                                                                     >>options
   One table for the command line and for --help.
   ===================================================================================== */

static const char *const memory_words[] = {"heap", "shared", "rpcmem", "dmabuf", "memfd", NULL};
static const char *const pooling_words[] = {"mean", "last", NULL};
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

static int take_backend(void *at, const cli_option *o, const char *value)
{
    settings *set = (settings *)at;
    return cli_take_backend(o, value, &set->backend, set->roles, &set->role_count);
}

static int take_resident(void *at, const cli_option *o, const char *value)
{
    settings *set = (settings *)at;
    set->resident_given = 1;
    return cli_resident(o, value, &set->residency, &set->resident_bytes);
}

#define FIELD(member) .field = offsetof(settings, member)

static const cli_option options[] = {
    {.name = "ctx_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(ctx_dir),
     .help = "folder of context binaries, the same as DIR: all shards of one model. Its qnnrt.json "
             "may hold a role table, RoPE and end tokens; its genie_config.json may hold RoPE and "
             "end tokens"},
    {.name = "backend_so", .value = "[ROLE=]FILE", .kind = CLI_OWN, .take = take_backend,
     .repeat = 1,
     .help = "backend library that the binaries were made for: libQnnHtp.so, or libQnnRef.so for "
             "binaries made with it (default: " CLI_BACKEND_DEFAULT "). For a folder whose "
             "qnnrt.json names several backends, cpu=FILE is the library of the role cpu; repeat "
             "the option for others. FILE alone is that of the first role"},
    {.name = "system_so", .value = "FILE", .kind = CLI_TEXT, FIELD(system),
     .help = "libQnnSystem.so, which reads context binaries (default: QNNRT_SYSTEM of the "
             "environment, or the one beside the backend library, or by the system's search). It "
             "is not needed with libQnnRef.so"},
    {.name = "soc_model", .value = "CHIP", .kind = CLI_CHIP, FIELD(soc_model),
     .help = "chip that the HTP device is created for: SM8650, \"8 Gen 3\" or 57; help lists all "
             "(default: the library's choice)"},
    {.name = "prompt", .value = "TEXT", .kind = CLI_TEXT, FIELD(prompt), .empty = 1,
     .help = "text that the model continues, if its tokens are bytes"},
    {.name = "prompt_file", .value = "FILE", .kind = CLI_TEXT, FIELD(prompt_file),
     .help = "the same text from a file, to its last byte; - for standard input"},
    {.name = "tokens", .value = "FILE", .kind = CLI_TEXT, FIELD(tokens_file),
     .help = "the prompt as token numbers, separated by blanks; - for standard input. The answer "
             "is written as numbers, too. No begin token is added"},
    {.name = "numbers", .kind = CLI_FLAG, FIELD(numbers),
     .help = "read token numbers from the lines of standard input and write numbers, even for a "
             "model with 256 tokens. No begin token is added"},
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
     .help = "choose among tokens at least P times as probable as the most probable one (default "
             "0)"},
    {.name = "repetition_penalty", .value = "P", .kind = CLI_REAL, .top = 1000, .above = 1,
     FIELD(penalty),
     .help = "divide the logits of the last 64 tokens by P if they are positive, multiply them if "
             "they are negative (default 1: no change)"},
    {.name = "seed", .value = "N", .kind = CLI_U64, .most = UINT64_MAX, FIELD(seed),
     .help = "start of the random numbers: the same seed chooses the same tokens on every machine "
             "(default 0)"},
    {.name = "kv", .value = "smart_mask|shift_pointer", .kind = CLI_WORD, .words = kv_words,
     FIELD(kv),
     .help = "how keys and values are stored (default smart_mask); the text is the same"},
    {.name = "memory", .value = "heap|shared|rpcmem|dmabuf|memfd", .kind = CLI_WORD,
     .words = memory_words, FIELD(memory),
     .help = "memory of the tensors: heap (default) is plain; shared is used in place by the "
             "device: rpcmem of libcdsprpc.so, a kernel's heap, or with libQnnRef.so an anonymous "
             "file, whichever works first, else plain memory; the others are one of them. "
             "A line at the end says what it is"},
    {.name = "rope_theta", .value = "THETA", .kind = CLI_REAL, .bottom = 1, .top = 1e30,
     FIELD(rope_theta),
     .help = "base of the rotary angles (RoPE), for models that take them as inputs "
             "(default: the one in the files, else 10000)"},
    {.name = "resident", .value = "all|one|BYTES", .kind = CLI_OWN, .take = take_resident,
     .help = CLI_RESIDENT_HELP},
    {.name = "share_spill_fill", .kind = CLI_FLAG, FIELD(share_spill_fill),
     .help = CLI_SHARE_HELP},
    {.name = "progress", .kind = CLI_FLAG, FIELD(progress),
     .help = "print a line for each file that is loaded to standard error"},
    {.name = "perf_profile", .value = "NAME", .kind = CLI_POWER, FIELD(power),
     .help = "power preset of the NPU: burst, sustained_high_performance, high_performance, "
             "balanced, low_balanced, high_power_saver, power_saver or low_power_saver (default: "
             "no preset is set)"},
    {.name = "stats", .value = "FILE", .kind = CLI_TEXT, FIELD(stats),
     .help = "write times and counts as JSON: ExecuTorch's keys, percentiles of the latency of a "
             "token, time inside and outside of the backend, memory"},
    {.name = "dump_logits", .value = "FILE", .kind = CLI_TEXT, FIELD(dump_logits),
     .help = "write a row of float32 logits for each token that the model reads, prompts included"},
    {.name = "perplexity", .value = "FILE", .kind = CLI_TEXT, FIELD(perplexity),
     .help = "print how well the model predicts a text, and end: the perplexity is exp(m), where m "
             "is the mean of -log of the probability of each token. FILE holds bytes; with "
             "--numbers, and for models that do not have 256 tokens, it holds token numbers. The "
             "model reads windows of as many tokens as it remembers, or of --seq_len, each with an "
             "empty memory; the first token of a window is not counted"},
    {.name = "embedding", .value = "FILE", .kind = CLI_TEXT, FIELD(embedding),
     .help = "write a vector for the prompt, or one for each line of standard input, and end: "
             "float32 [texts, width] if FILE ends in .npy, else JSON; - for JSON on standard "
             "output. The model must give its last hidden state (qnnrt-run compile --outputs "
             "hidden)"},
    {.name = "pooling", .value = "mean|last", .kind = CLI_WORD, .words = pooling_words,
     FIELD(pooling),
     .help = "for --embedding: the mean of all tokens (default), or the last one"},
    {.name = "normalize", .kind = CLI_FLAG, FIELD(normalize),
     .help = "for --embedding: make the length of each vector 1"},
    {.name = "lora", .value = "PATH", .kind = CLI_TEXT, FIELD(lora),
     .help = "adapter to compute with: a folder of PEFT, with adapter_model.safetensors and "
             "adapter_config.json, or such a file. The model must have room for it (qnnrt-run "
             "compile --lora), and the library updates: libQnnRef.so has them, libQnnHtp.so does "
             "not"},
    {.name = "lora_scale", .value = "X", .kind = CLI_REAL, .top = 1e9, .above = 1,
     FIELD(lora_scale),
     .help = "how much of the adapter to add (default: alpha / rank of adapter_config.json)"},
    {.name = "describe", .kind = CLI_FLAG, FIELD(describe),
     .help = "print the role of each tensor and the reason for it, and end. This opens no backend: "
             "it needs --system_so, or the JSON of each binary (forward_0_json.json)"},
    {.name = "log_level", .value = "LEVEL", .kind = CLI_LEVEL, FIELD(log_level),
     .help = "print log lines up to this level to standard error: 0 off, 1 error, 2 warn, "
             "3 info, 4 verbose, 5 debug; by number or name (default off)"},
    CLI_COMMON
};

static const char *const examples[] = {
    "model_dir --prompt 'Once upon a time' --max_gen 100", "model_dir --describe",
    "model_dir --embedding vectors.npy --normalize < texts", NULL};

static const cli_table table = CLI_TABLE(options);
static const cli_table *const tables[] = {&table};

static const cli_program program = {
    .summary = "Let a language model that was compiled for QNN write text.",
    .usage = "DIR [--prompt TEXT | --prompt_file FILE | --tokens FILE] [options]",
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
    .tables = tables, .table_count = 1,
    .operands = 1, .operand_field = offsetof(settings, folders)
};

/* Check options that depend on each other, and take the folder. */
static int check_options(settings *set)
{
    const int prompts = (set->prompt != NULL) + (set->prompt_file != NULL) +
        (set->tokens_file != NULL);
    const size_t folders = set->folders.count + (set->ctx_dir != NULL);
    if (folders == 0)
        return cli_usage("Write qnnrt-llm DIR, or run qnnrt-llm --help.",
                         "the folder of the model is missing");
    if (folders > 1)
        return cli_usage("Name one folder, as DIR or --ctx_dir DIR; a prompt is --prompt TEXT.",
                         "%lu folders are named, the last one is %s", (unsigned long)folders,
                         set->folders.items[set->folders.count - 1]);
    if (set->ctx_dir == NULL) set->ctx_dir = set->folders.items[0];
    if (prompts > 1)
        return cli_usage("Use one of them.",
                         "--prompt, --prompt_file and --tokens exclude each other");
    if (set->numbers && prompts > 0)
        return cli_usage("Use --tokens FILE for a prompt of numbers.",
                         "--numbers is about standard input: it excludes --prompt, --prompt_file"
                         " and --tokens");
    if (set->perplexity != NULL && (prompts > 0 || set->describe))
        return cli_usage("Leave it out.", "--perplexity writes no text: it does not take %s",
                         prompts > 0 ? "a prompt" : "--describe");
    if (set->embedding == NULL && (set->pooling != 0 || set->normalize))
        return cli_usage("Add --embedding FILE.", "%s is for embeddings",
                         set->pooling != 0 ? "--pooling" : "--normalize");
    if (set->lora == NULL && set->lora_scale != 0)
        return cli_usage("Name the adapter with --lora PATH.", "--lora_scale needs an adapter");
    if (set->embedding != NULL && (set->perplexity != NULL || set->dump_logits != NULL ||
                                   set->stats != NULL || set->describe))
        return cli_usage("Leave it out.", "--embedding writes vectors alone: it does not take %s",
                         set->perplexity != NULL    ? "--perplexity"
                         : set->dump_logits != NULL ? "--dump_logits"
                         : set->stats != NULL       ? "--stats" : "--describe");
    if (set->describe && (prompts > 0 || set->stats != NULL || set->dump_logits != NULL))
        return cli_usage("Leave it out.", "--describe runs nothing: it does not take %s",
                         prompts > 0 ? "a prompt" : set->stats != NULL ? "--stats"
                         : "--dump_logits");
    return STATUS_OK;
}

/* Return an option that has no effect without a temperature, or NULL. */
static const char *unused_option(const settings *set)
{
    if (set->temperature > 0) return NULL;
    return set->top_k != 0 ? "--top_k" : set->top_p > 0 ? "--top_p" : set->min_p > 0 ? "--min_p"
           : set->seed != 0 ? "--seed" : NULL;
}

#include "llm_text.h"
#include "llm_stats.h"

/* =====================================================================================
   OPEN                                                                           >>open
   Open the model, its session and its cache.
   ===================================================================================== */

/* Set the power preset. It is a failure when the backend refuses it, because times would be
   measured with other clocks, but not when the backend has no clocks. */
static int set_power(tool *t)
{
    qnnrt_power_desc desc;
    qnnrt_power_report report;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    if (t->set.power == QNNRT_POWER_CUSTOM) return 1;
    desc.preset = t->set.power;
    if (qnnrt_power_set(qnnrt_manifest_get_info(t->model)->backend, &desc, &report, &err) !=
        QNNRT_OK)
        return fail_error(t, &err);
    for (int i = 0; i < QNNRT_POWER_SETTINGS; ++i) {
        if (report.settings[i].answer == QNNRT_POWER_REFUSED)
            return fail(t, "Use another profile, or none.",
                        "--perf_profile %s: the backend refused %s"
                        " with 0x%llx", qnnrt_power_preset_name(desc.preset),
                        report.settings[i].name,
                        (unsigned long long)(report.settings[i].vendor_code & 0xFFFF));
        if (report.settings[i].answer == QNNRT_POWER_NOT_AVAILABLE)
            warn("--perf_profile %s: this backend has no %s to set",
                 qnnrt_power_preset_name(desc.preset), report.settings[i].name);
    }
    return 1;
}

/* Give the functions that host steps call: those of the folder's host.json, then "embedding" for
   models whose table of embeddings is on the host. */
static int open_host(tool *t, qnnrt_manifest_open_desc *desc)
{
    static const qnnrt_host_step embedding = { .name = "embedding", .exec = qnnrt_llm_embedding };
    qnnrt_error err;
    size_t count = 0;
    if (t->set.ctx_dir != NULL &&
        qnnrt_cpu_fallback_open(t->set.ctx_dir, NULL, &t->host, &err) != QNNRT_OK)
        return fail_error(t, &err);
    const qnnrt_host_step *functions = qnnrt_cpu_fallback_functions(t->host, &count);
    t->functions = cli_alloc(count + 1, sizeof(*t->functions));
    if (count > 0) memcpy(t->functions, functions, count * sizeof(*t->functions));
    t->functions[count] = embedding;
    desc->host_functions = t->functions;
    desc->host_function_count = count + 1;
    return 1;
}

/* Choose the libraries that no option names, and say which ones. */
static void choose_libraries(tool *t)
{
    settings *set = &t->set;
    const int named = set->backend != NULL;
    const char *none = "";
    if (set->role_count > 0) return;
    cli_choose(&t->choice, set->ctx_dir, set->describe ? &none : &set->backend, &set->system);
    if (!set->describe && !named) {
        char *path = cli_shown(set->backend);
        fprintf(stderr, CLI_NAME ": backend %s: %s\n", path, t->choice.why);
        free(path);
    }
}

static int open_model(tool *t)
{
    settings *set = &t->set;
    qnnrt_manifest_role roles[CLI_ROLES];
    size_t named, at;
    qnnrt_manifest_open_desc desc;
    qnnrt_llm_desc llm;
    qnnrt_error err, first;
    memset(&desc, 0, sizeof(desc));
    memset(&llm, 0, sizeof(llm));
    memset(roles, 0, sizeof(roles));
    memset(&first, 0, sizeof(first));
    choose_libraries(t);
    desc.model.backend_desc.path = set->backend;
    desc.model.backend_desc.soc_model = set->soc_model;
    desc.model.system_path = set->system;
    desc.model.inspect = set->describe;
    desc.model.residency = set->residency;
    const int swap = !set->describe && set->residency == QNNRT_RESIDENT_CALLER;
    const int share = cli_share(set->share_spill_fill, &desc.model);
    desc.model.progress = cli_progress;
    desc.model.progress_user = &t->set.progress;
    desc.model.backend_desc.log_level = set->log_level;
    if (set->log_level != QNNRT_LOG_DEFAULT) {
        desc.model.backend_desc.hooks.log = cli_log;
        desc.model.backend_desc.hooks.log_user = &t->set.log_level;
    }
    if (!open_host(t, &desc)) return 0;
    do {
        named = set->role_count;
        for (size_t i = 0; i < named; ++i) {
            roles[i].role = set->roles[i].role;
            roles[i].backend = NULL;
            roles[i].desc = desc.model.backend_desc;
            roles[i].desc.path = set->roles[i].file;
        }
        desc.backends = named > 0 ? roles : NULL;
        desc.backend_count = named;
        if (qnnrt_manifest_open(set->ctx_dir, &desc, &t->model, &err) == QNNRT_OK) {
            cli_settle(&t->model, share, swap, set->resident_bytes, &err);
            break;
        }
        char *note = cli_leave_role(&err, set->roles, &set->role_count, set->backend, &at);
        if (note != NULL) fprintf(stderr, CLI_NAME ": %s\n", note);
        free(note);
        if (first.text[0] == '\0') first = err;
        else err = first;                        /* the role may be misspelt */
    } while (set->role_count < named);
    if (t->model == NULL)
        return fail(t, err.code != QNNRT_E_LIBRARY ? cli_hint(&err) : cli_library_hint(&err,
                           set->describe ? set->system : set->backend, set->describe
                       ? "Name libQnnSystem.so with --system_so FILE; for binaries made with"
                         " libQnnRef.so, name that library."
                       : "Name the library that the binaries were made for with --backend_so FILE,"
                         " libQnnHtp.so or libQnnRef.so."), "%s", cli_told(&err));
    llm.rope.theta = set->rope_theta;
    llm.update = qnnrt_update;
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    llm.folder = info->folder;
    llm.made = info->pipelines;
    llm.made_count = info->pipeline_count;
    llm.models = info->models;
    llm.model_count = info->model_count;
    if (qnnrt_llm_open(NULL, &llm, &t->llm, &err) != QNNRT_OK) return fail_error(t, &err);
    t->info = qnnrt_llm_get_info(t->llm);
    return 1;
}

/* Choose the maximum length of a text. Its last token is written but not read, so it needs no
   cell. */
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
    warn("--seq_len %lld is %s: using %lu, the maximum of this model", (long long)set->seq_len,
         set->seq_len <= 0 ? "not above 0" : "too large", (unsigned long)most);
}

static int open_file(tool *t, cli_file *file, const char *path)
{
    if (path == NULL || cli_create(file, path, 0)) return 1;
    return fail(t, CLI_WRITE_HINT, "cannot write %s: %s", path,
                strerror(errno));
}

static int open_files(tool *t)
{
    const settings *set = &t->set;
    if (!open_file(t, &t->stats, set->stats) || !open_file(t, &t->dump, set->dump_logits)) return 0;
    if (set->dump_logits == NULL && set->perplexity == NULL) return 1;
    t->rows = calloc((size_t)t->info->ar * t->info->vocabulary, sizeof(*t->rows));
    return t->rows != NULL || fail(t, NULL, "no memory for logits");
}

/* Close a file and give it its name, or remove it when it is not complete. */
static void close_file(tool *t, cli_file *file, const char *path, int good)
{
    if (file->file != NULL && !cli_finish(file, good))
        fail(t, CLI_WRITE_HINT, "cannot write %s: %s", path,
                strerror(errno));
}

static int open_session(tool *t)
{
    qnnrt_llm_session_desc desc;
    qnnrt_llm_sampler_desc sampling;
    qnnrt_mem_desc memory = {0};
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    memset(&sampling, 0, sizeof(sampling));
    desc.kv = (qnnrt_llm_kv)t->set.kv;
    qnnrt_device_memory(memory_words[t->set.memory], &memory);
    desc.mem_kind = memory.kind;
    desc.mem_provider = memory.provider;
    desc.clock_ns = clock_ns;
    if (qnnrt_llm_session_create(&t->llm, 1, &desc, &t->session, &err) != QNNRT_OK)
        return fail(t, err.code == QNNRT_E_NOT_FOUND ? "Look at each tensor with --describe."
                    : cli_hint(&err),
                    "%s", cli_told(&err));
    t->cache = qnnrt_llm_cache_get(t->session, 0, 0);
    sampling.temperature = (float)t->set.temperature;
    sampling.top_k = t->set.top_k;
    sampling.top_p = (float)t->set.top_p;
    sampling.min_p = (float)t->set.min_p;
    sampling.repetition_penalty = (float)t->set.penalty;
    sampling.seed = t->set.seed;
    if (t->info->embeddings != NULL)
        return fail(t, "Open all shards, and the table of embeddings if it is on the host; look at"
                       " each tensor with --describe.", "the graphs take a hidden state"
                       " (embeddings), and nothing looks tokens up");
    if (t->set.embedding != NULL && t->info->hidden == NULL)
        return fail(t, "Compile the model with --outputs hidden or both.", "the model does not give"
                    " its last hidden state, which --embedding needs");
    if (t->set.embedding == NULL && t->info->logits == NULL)
        return fail(t, "Use --embedding FILE, or compile the model with --outputs both.",
                    "the model has no logits: it writes no text");
    if (t->set.embedding == NULL &&
        qnnrt_llm_sampler_create(t->info->logits, &sampling, &t->sampler, &err) != QNNRT_OK)
        return fail_error(t, &err);
    if (unused_option(&t->set) != NULL)
        warn("%s has no effect with --temperature 0, which always takes the most probable token",
             unused_option(&t->set));
    if (t->info->rope.theta != 0 && strcmp(t->info->rope_source, "the default") == 0)
        warn("no file gives the RoPE theta of this model: using %g; --rope_theta sets another one",
             t->info->rope.theta);
    if (t->set.rope_theta != 0 && t->info->rope.theta == 0)
        warn("--rope_theta has no effect: the angles of positions are in this model's graphs");
    t->bytes = t->info->words == 256 && t->set.tokens_file == NULL && !t->set.numbers;
    choose_limit(t);
    return 1;
}

static void describe_line(void *user, const char *text)
{
    fprintf((FILE *)user, "%s\n", text);
}

#include "llm_talk.h"
#include "llm_perplexity.h"
#include "llm_embed.h"

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
    if (!set_power(t) || !open_session(t) || !open_files(t) || !adapter_open(t)) return;
    t->load_end = clock_ns(NULL);
    cli_catch(SIGINT, on_interrupt);
    if (set->embedding != NULL) {
        embed(t);
        return;
    }
    if (set->perplexity != NULL) {
        if (take_text(t, &prompt)) perplexity_text(t, &prompt);
        free(prompt.items);
        return;
    }
    if (set->prompt == NULL && set->prompt_file == NULL && set->tokens_file == NULL) talk(t);
    else if (take_prompt(t, &prompt) && prompt_fits(t, prompt.count, 0)) answer(t, &prompt, 0);
    free(prompt.items);
    if (t->inference_begin == 0) return;
    if (t->latency_count > 1)
        qsort(t->latencies, t->latency_count, sizeof(*t->latencies), by_size);
    say_stats(t);
}

static void close_all(tool *t)
{
    if (t->stats.file != NULL) close_file(t, &t->stats, t->set.stats, write_stats(t));
    close_file(t, &t->dump, t->set.dump_logits, 1);
    qnnrt_llm_sampler_destroy(t->sampler);
    qnnrt_llm_session_destroy(t->session);
    adapter_close(t);
    qnnrt_llm_close(t->llm);
    cli_free_choice(&t->choice);
    if (qnnrt_manifest_close(t->model) != QNNRT_OK)
        fail(t, "Add --log_level error for the library's messages.", "closing the model failed");
    qnnrt_cpu_fallback_close(t->host);
    free(t->functions);
    free(t->said.items);
    free(t->turns);
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
    t.terminal = isatty(fileno(t.out));
    t.set.max_gen = UINT64_MAX;
    t.set.power = QNNRT_POWER_CUSTOM;
    int status = cli_parse(&program, argc, argv, &t.set, t.out, &parsed);
    if (status == STATUS_OK && !parsed.answered) status = check_options(&t.set);
    cli_free(&program, &t.set, &parsed);
    if (status == STATUS_OK && !parsed.answered) {
        run(&t);
        close_all(&t);
    }
    cli_begin(&cli_stage_end);                  /* their destructors */
    if (!cli_close_stdout(t.out)) t.failed = 1;
    if (status != STATUS_OK) return status;
    return t.failed ? STATUS_FAILED : interrupted ? STATUS_INTERRUPTED : STATUS_OK;
}
