/* options.c - the options, and which need each other

   ROOM     >>options */
#include "llm/llm.h"

/* =====================================================================================
   OPTIONS                                                                     >>options
   One table for the command line and for --help.
   ===================================================================================== */

const char *const memory_words[] = {"heap", "shared", "rpcmem", "dmabuf", "memfd", NULL};
const char *const pooling_words[] = {"mean", "last", NULL};
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

const cli_program program = {
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

int check_options(settings *set)
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

const char *unused_option(const settings *set)
{
    if (set->temperature > 0) return NULL;
    return set->top_k != 0 ? "--top_k" : set->top_p > 0 ? "--top_p" : set->min_p > 0 ? "--min_p"
           : set->seed != 0 ? "--seed" : NULL;
}
