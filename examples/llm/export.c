/* Export a Llama as a folder of context binaries, as the two families of exporters do.

       export MODEL_DIR OUT_DIR [--option VALUE ...]        export --help lists the options

   MODEL_DIR holds config.json and model.safetensors of a Llama with Hugging Face's names, such as
   tests/data/llm/model, and ranges.json as tests/llm/make_ranges.py writes it. OUT_DIR, which must
   exist, gets forward_0.bin, forward_1.bin, ..., and qnnrt.json with the theta of its positions.
   Each binary has a prefill graph and a decode graph:

       hub          prompt_ar32_cl128_1_of_2 and token_ar1_cl128_1_of_2; a tensor for the keys of
                    a layer and one for its values; the caller computes cosines and sines
       executorch   prefill_forward and kv_forward; tensors for each head; the caller gives
                    positions, and the first shard has cosines and sines for all

   It is compiled with the units of tools/cli, and linked with -ldl and -lm. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#define QNNRT_WEIGHTS_IMPLEMENTATION
#define QNNRT_IR_IMPLEMENTATION
#define QNNRT_IR_PASSES_IMPLEMENTATION
#define QNNRT_LOWER_IMPLEMENTATION
#define QNNRT_LLM_GRAPH_IMPLEMENTATION
#define QNNRT_CACHE_IMPLEMENTATION
#define QNNRT_DEVICE_IMPLEMENTATION
#define QNNRT_EXPLAIN_IMPLEMENTATION
#define QNNRT_MANIFEST_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#include "qnnrt.h"
#include "tools/qnnrt_builder.h"
#include "tools/qnnrt_cache.h"
#include "tools/qnnrt_convert.h"
#include "tools/qnnrt_device.h"
#include "tools/qnnrt_explain.h"
#include "tools/qnnrt_llm_graph.h"
#include "tools/qnnrt_lower.h"
#include "tools/qnnrt_manifest.h"

#define CLI_NAME "export"
#include "tools/cli/cli.h"
const char cli_name[] = CLI_NAME;

static const char *out_dir;
static uint32_t    saved;               /* shards in OUT_DIR */

/* Remove the shards of a model that is not whole, and end: by a signal, if one came. */
static void give_up(void)
{
    char path[512];
    while (saved > 0) {
        snprintf(path, sizeof path, "%s/forward_%u.bin", out_dir, (unsigned)--saved);
        unlink(path);
    }
    if (cli_signal != 0) cli_end(cli_signal);
    exit(1);
}

static void stop(const char *text)
{
    cli_message(text, NULL);
    give_up();
}

static void stop_error(const qnnrt_error *err)
{
    cli_message(cli_told(err), cli_hint(err));
    give_up();
}

#include "../llm_graphs.h"
#include "executorch.h"

/* ---- options --------------------------------------------------------------------------------- */

typedef struct settings {
    cli_list    folders;                        /* MODEL_DIR and OUT_DIR */
    const char *model, *out, *backend, *ranges;
    int         naming, type;                   /* indexes of the words below */
    uint32_t    shards, prefill, decode, context;
} settings;

enum { HUB, EXECUTORCH, W8A16 = 0, F32 };
static const char *const namings[] = { "hub", "executorch", NULL };
static const char *const types[] = { "w8a16", "f32", NULL };

#define FIELD(member) .field = offsetof(settings, member)
#define COUNT CLI_U32, .most = 1u << 14

static const cli_option options[] = {
    { .name = "backend_so", .value = "LIB", .kind = CLI_TEXT, FIELD(backend),
      .help = "library that builds the binaries, and that will run them (default: libQnnRef.so, "
              "the reference backend)" },
    { .name = "shards", .value = "N", .kind = COUNT, FIELD(shards),
      .help = "binaries to make, each with an equal run of layers; the first one has the table of "
              "embeddings, the last one the head (default 1)" },
    { .name = "naming", .value = "hub|executorch", .kind = CLI_WORD, .words = namings,
      FIELD(naming), .help = "names of graphs and tensors (default hub)" },
    { .name = "type", .value = "w8a16|f32", .kind = CLI_WORD, .words = types, FIELD(type),
      .help = "w8a16: quantized, with activations of 16 bits, and weights and caches of 8 "
              "(default); f32: float32 throughout" },
    { .name = "prefill", .value = "N", .kind = COUNT, FIELD(prefill),
      .help = "tokens that the prefill graph takes in a call (default 32; 0: no such graph)" },
    { .name = "decode", .value = "N", .kind = COUNT, FIELD(decode),
      .help = "tokens that the decode graph takes in a call (default 1; 0: no such graph)" },
    { .name = "context_lengths", .old = "context", .value = "N", .kind = COUNT, FIELD(context),
      .help = "tokens that the model remembers, the new ones included (default: as config.json "
              "says)" },
    { .name = "ranges", .value = "FILE", .kind = CLI_TEXT, FIELD(ranges),
      .help = "for w8a16: the range of each activation (default: MODEL_DIR/ranges.json)" },
    CLI_COMMON
};

static const char *const examples[] = { "tests/data/llm/model out --shards 4", NULL };

static const cli_table option_table = CLI_TABLE(options);
static const cli_table *const tables[] = {&option_table};

static const cli_program program = {
    .summary = "Export a Llama as a folder of QNN context binaries.",
    .usage = "MODEL_DIR OUT_DIR [options]", .examples = examples,
    .notes = "MODEL_DIR has config.json, model.safetensors and ranges.json. OUT_DIR exists; it "
             "gets forward_0.bin, forward_1.bin, ... and qnnrt.json.",
    .statuses = "Exit status: 0 the folder is written, 1 something failed, 2 wrong usage.",
    .tables = tables, .table_count = sizeof(tables) / sizeof(tables[0]),
    .operands = 1, .operand_field = offsetof(settings, folders)
};

/* Read the command line; end the program when there is nothing to do. */
static void read_options(settings *o, int argc, char **argv)
{
    cli_parsed parsed;
    int status;
    o->backend = "libQnnRef.so";
    o->shards = 1;
    o->prefill = 32;
    o->decode = 1;
    status = cli_parse(&program, argc, argv, o, stdout, &parsed);
    if (status == STATUS_OK && !parsed.answered && o->folders.count != 2)
        status = cli_usage(NULL, "MODEL_DIR and OUT_DIR are needed, got %lu folders",
                           (unsigned long)o->folders.count);
    if (status != STATUS_OK || parsed.answered) exit(status);
    o->model = o->folders.items[0];
    o->out = o->folders.items[1];
}

/* Check that the options fit what config.json says. */
static void check_options(settings *o, const qnnrt_llm_graph *is)
{
    const uint32_t most = o->prefill > o->decode ? o->prefill : o->decode;
    char error[256];
    if (o->context == 0) o->context = is->positions;
    snprintf(error, sizeof error,
             "--context_lengths %u is more than config.json has, a context of %u",
             (unsigned)o->context, (unsigned)is->positions);
    if (o->context > is->positions) stop(error);
    snprintf(error, sizeof error, "a graph of %u tokens needs a context of more than %u, got %u",
             (unsigned)most, (unsigned)most, (unsigned)o->context);
    if (most == 0) stop("neither a prefill graph nor a decode graph is to be made");
    if (most >= o->context) stop(error);
    snprintf(error, sizeof error, "cannot cut %u layers into %u shards", (unsigned)is->layers,
             (unsigned)o->shards);
    if (o->shards == 0 || o->shards > is->layers) stop(error);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Describe the context of a shard. */
static void describe(const settings *o, uint32_t shard, llm_part *part)
{
    static const char *const words[2][2] = { { "prompt", "prefill" }, { "token", "kv" } };
    memset(part, 0, sizeof *part);
    part->graph.context = o->context;
    part->graph.part = shard;
    part->graph.parts = o->shards;
    part->tokens[0] = o->prefill;
    part->tokens[1] = o->decode;
    if (o->naming == EXECUTORCH) part->edit = to_executorch;
    for (int g = 0; g < 2; ++g)
        if (o->naming == EXECUTORCH)
            snprintf(part->names[g], sizeof part->names[g], "%s_forward", words[g][1]);
        else
            snprintf(part->names[g], sizeof part->names[g], "%s_ar%u_cl%u_%u_of_%u", words[g][0],
                     (unsigned)part->tokens[g], (unsigned)o->context, (unsigned)shard + 1,
                     (unsigned)o->shards);
}

/* Refuse a folder with a longer model: its last shards would be read as shards of this one. */
static void refuse_more(const settings *o)
{
    char path[512], error[640];
    snprintf(path, sizeof path, "%s/forward_%u.bin", o->out, (unsigned)o->shards);
    if (access(path, F_OK) != 0) return;
    snprintf(error, sizeof error, "%s belongs to another model", path);
    cli_message(error, "Remove it first.");
    exit(1);
}

/* Write what is in no tensor and runtimes have to know; qnnrt_llm.h looks for it in this file. */
static void write_settings(const llm_model *m, const settings *o)
{
    char path[512], text[128], error[640];
    snprintf(path, sizeof path, "%s/qnnrt.json", o->out);
    snprintf(text, sizeof text, "{ \"llm\": { \"rope\": { \"theta\": %.17g, \"pairs\": \"half\" } } }\n",
             m->is.theta);
    if (cli_write_file(path, text, strlen(text), 0)) return;
    snprintf(error, sizeof error, "cannot write %s: %s", path, strerror(errno));
    stop(error);
}

int main(int argc, char **argv)
{
    qnnrt_backend_desc backend_desc = {0};
    qnnrt_backend *backend;
    qnnrt_error err;
    llm_model m;
    settings o = {0};
    char path[512];

    read_options(&o, argc, argv);
    snprintf(path, sizeof path, "%s/ranges.json", o.model);
    llm_open(o.model, o.type == F32 ? NULL : o.ranges != NULL ? o.ranges : path, &m);
    check_options(&o, &m.is);
    refuse_more(&o);

    backend_desc.path = o.backend;
    if (qnnrt_backend_open(&backend_desc, &backend, &err) != QNNRT_OK) {
        cli_message(err.text, "Name the library with --backend_so LIB.");
        return 1;
    }
    cli_catch_signals();
    cli_hold();                                 /* a signal does not leave half a model */
    out_dir = o.out;
    while (saved < o.shards) {
        qnnrt *model;
        llm_part part;
        describe(&o, saved, &part);
        model = llm_build(&m, backend, &part);
        snprintf(path, sizeof path, "%s/forward_%u.bin", o.out, (unsigned)saved);
        if (qnnrt_save(model, 0, path, &err) != QNNRT_OK) stop_error(&err);
        ++saved;
        qnnrt_close(model);
        if (cli_signal != 0) give_up();
    }
    write_settings(&m, &o);
    cli_release();
    printf("%u layers, %s, %s names, %u context binar%s in %s, built with %s\n",
           (unsigned)m.is.layers, types[o.type], namings[o.naming], (unsigned)o.shards,
           o.shards == 1 ? "y" : "ies", o.out, qnnrt_backend_get_info(backend)->path);
    qnnrt_backend_close(backend);
    llm_close(&m);
    free((void *)o.folders.items);
    return 0;
}
