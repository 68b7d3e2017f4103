/* llm.h - what the units of qnnrt-llm share: settings, the state of the program, functions

   Needs:   cli

   UNITS    message.c: >>text                       options.c: >>options
            open.c: >>open                          main.c: >>main
            text.c: >>tokens >>terminal             stats.c: >>clock >>stats
            talk.c: >>write >>room >>talk           perplexity.c: >>perplexity
            embed.c: >>adapter >>embed */
#ifndef LLM_LLM_H
#define LLM_LLM_H

#include "cli/cli.h"
#include "qnnrt_cpu_fallback.h"
#include "qnnrt_llm.h"

#include <signal.h>

#define CLI_NAME "qnnrt-llm"

/* ---- settings, and the state of the program ---- */

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

/* ---- message.c: warnings and failures ---- */

CLI_FORMAT(1, 2) void warn(const char *format, ...);

/* Report a failure and its hint (NULL: none). Returns 0, so that the caller can return it. */
CLI_FORMAT(3, 4) int fail(tool *t, const char *hint, const char *format, ...);

int fail_error(tool *t, const qnnrt_error *err);

/* ---- options.c: the options, and which need each other ---- */

extern const char *const memory_words[];
extern const char *const pooling_words[];

extern const cli_program program;

/* Check options that depend on each other, and take the folder. */
int check_options(settings *set);

/* Return an option that has no effect without a temperature, or NULL. */
const char *unused_option(const settings *set);

/* ---- open.c: the model, its session, and the files that are written ---- */

/* Set the power preset. It is a failure when the backend refuses it, because times would be
   measured with other clocks, but not when the backend has no clocks. */
int set_power(tool *t);

int open_model(tool *t);

int open_file(tool *t, cli_file *file, const char *path);

int open_files(tool *t);

/* Close a file and give it its name, or remove it when it is not complete. */
void close_file(tool *t, cli_file *file, const char *path, int good);

int open_session(tool *t);

void describe_line(void *user, const char *text);

/* ---- text.c: tokens that come in and go out ---- */

void add_token(token_list *list, int32_t token);

/* Add the bytes of a text to a prompt. Return 0 after printing an error. */
int take_bytes(tool *t, const char *text, size_t bytes, token_list *list);

/* Add the numbers of a text to a prompt. Return 0 after printing an error. */
int take_numbers(tool *t, const char *text, size_t bytes, token_list *list);

/* Read a whole file, or standard input. Return NULL after a message. */
char *read_all(tool *t, const char *path, size_t *bytes);

/* Read the prompt that an option names. Return 0 after printing an error. */
int take_prompt(tool *t, token_list *list);

void put_token(tool *t, int32_t token);

/* End the line of an answer. */
void end_line(tool *t);

/* ---- stats.c: times, Ctrl-C, and the figures at the end ---- */

uint64_t clock_ns(void *user);

double ms(uint64_t ns);

extern volatile sig_atomic_t interrupted;

/* Remember the first Ctrl-C, which also ends waiting for a line. The second one ends the
   program. */
void on_interrupt(int number);

int by_size(const void *a, const void *b);

void say_stats(const tool *t);

/* Write a row of logits for each token of the last step. Return 0 after printing an error. */
int write_rows(tool *t, size_t count);

void add_latency(tool *t, uint64_t ns);

/* Write the figures as JSON. Returns 0 when not all could be written. */
int write_stats(tool *t);

/* ---- talk.c: prompts, answers and conversations ---- */

/* Let the model read a batch. After a restart of the DSP recover the model, and try once more: a
   step that fails leaves the cache as it was. */
qnnrt_result decode(tool *t, const qnnrt_llm_batch *batch);

/* Let the model answer a prompt that fits; `known` of its tokens were read before. Return 0
   after printing an error; the text may then end anywhere. */
int answer(tool *t, const token_list *prompt, size_t known);

/* Check that a prompt of `count` tokens fits into the model's memory when that is empty. `before`
   of them were written in earlier turns. Return 0 after printing an error. */
int prompt_fits(tool *t, size_t count, size_t before);

/* Read lines, and answer each one except the two commands; an answer is a line, too, which may be
   empty. */
void talk(tool *t);

/* ---- perplexity.c: how well a model predicts a text ---- */

typedef struct perplexity {
    double   nats;                     /* sum of -log p(token | tokens before it) */
    uint64_t counted, best;            /* tokens; those that were the most probable */
} perplexity;

/* Read the text of --perplexity. Return 0 after printing an error. */
int take_text(tool *t, token_list *list);

/* Print the perplexity of the tokens of a text. */
void perplexity_text(tool *t, const token_list *text);

/* ---- embed.c: embeddings of texts, and adapters ---- */

/* Read the adapter of --lora, and apply it. Return 0 after printing an error. */
int adapter_open(tool *t);

void adapter_close(tool *t);

/* Compute and write the embeddings of --embedding. */
void embed(tool *t);

#endif /* LLM_LLM_H */
