/* llm_raw.c - the vendor's interface called by hand, as a peer of bench-llm

       llm_raw LIBQNNHTP LIBQNNSYSTEM CONTEXT.bin PROMPT COUNT

   A program for one model whose tensors are known, with only the necessary checks:
   build/data/llm/w8a16_one, its names, its types, bytes as tokens. Decoding, each step sets one
   more column of the mask, copies the rows of the position, stores the new keys and values in the
   inputs of the decode graph and takes the largest logit. */
#include "llm_peer.h"
#include "qnn_raw.h"

#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

enum { MOST_LAYERS = 8, MOST_TOKENS = 4096 };

typedef struct graph {
    raw_handle  handle;
    raw_tensor *inputs, *outputs;
    uint32_t    input_count, output_count, ar, context, cells, heads, head_dim, vocabulary, layers;
    int32_t    *tokens;
    uint16_t   *mask, *cosine, *sine, *logits;
    uint8_t    *key_in[MOST_LAYERS], *value_in[MOST_LAYERS];
    uint8_t    *key_out[MOST_LAYERS], *value_out[MOST_LAYERS];
} graph;

static raw_graph_execute execute;
static uint16_t         *cosines, *sines;      /* [context][head_dim / 2] as codes */

#define MUST(call) do { if ((call) != 0) stop("failed", #call); } while (0)
#define SLOT(table, index, type) ((type)(table)->slots[index])

static void *symbol_of(void *library, const char *path, const char *name)
{
    void *symbol = library != NULL ? dlsym(library, name) : NULL;
    if (symbol == NULL) stop(path, dlerror());
    return symbol;
}

/* Allocate every tensor, fill keys and values with their zero point, and note the known names. */
static void bind(graph *g, const raw_graph_info *info, const raw_provider *api, raw_handle context)
{
    uint32_t i, d, layer;
    MUST(SLOT(api, RAW_GRAPH_RETRIEVE, raw_graph_retrieve)(context, info->v.name, &g->handle));
    g->inputs = info->v.inputs;
    g->outputs = info->v.outputs;
    g->input_count = info->v.input_count;
    g->output_count = info->v.output_count;
    for (i = 0; i < g->input_count + g->output_count; ++i) {
        raw_tensor *t = i < g->input_count ? &g->inputs[i] : &g->outputs[i - g->input_count];
        const char *name = t->v.name;
        size_t bytes = (t->v.dtype & 0xFF) / 8;
        void *data = NULL;
        char way = 0;
        for (d = 0; d < t->v.rank; ++d) bytes *= t->v.dims[d];
        if (posix_memalign(&data, 64, bytes) != 0) stop(name, "no memory");
        memset(data, bytes > 0 && (t->v.dtype & 0xFF) == 8 ? 128 : 0, bytes);
        t->v.mem_type = 0;
        t->v.data = data;
        t->v.data_size = (uint32_t)bytes;
        if (sscanf(name, "past_key_%u_%c", &layer, &way) == 2 && layer < MOST_LAYERS) {
            *(way == 'i' ? &g->key_in[layer] : &g->key_out[layer]) = (uint8_t *)data;
            g->heads = t->v.dims[0];
            g->head_dim = t->v.dims[2];
            if (layer >= g->layers) g->layers = layer + 1;
        } else if (sscanf(name, "past_value_%u_%c", &layer, &way) == 2 && layer < MOST_LAYERS) {
            *(way == 'i' ? &g->value_in[layer] : &g->value_out[layer]) = (uint8_t *)data;
        } else if (strcmp(name, "attention_mask") == 0) {
            g->mask = (uint16_t *)data;
            g->ar = t->v.dims[2];
            g->context = t->v.dims[3];
        } else if (strcmp(name, "input_ids") == 0) g->tokens = (int32_t *)data;
        else if (strcmp(name, "position_ids_cos") == 0) g->cosine = (uint16_t *)data;
        else if (strcmp(name, "position_ids_sin") == 0) g->sine = (uint16_t *)data;
        else if (strcmp(name, "logits") == 0) {
            g->logits = (uint16_t *)data;
            g->vocabulary = t->v.dims[2];
        } else stop(name, "is not a tensor of the model");
    }
    if (g->ar == 0 || g->layers == 0 || g->vocabulary == 0)
        stop(info->v.name, "lacks a tensor of the model");
    g->cells = g->context - g->ar;
}

/* Fill the mask: columns [0, past) and the triangle of the new tokens. */
static void fill_mask(graph *g, uint32_t past, uint32_t count)
{
    uint32_t row, column;
    for (row = 0; row < g->ar; ++row)
        for (column = 0; column < g->context; ++column)
            if (row < count && (column < past || (column >= g->cells && column <= g->cells + row)))
                g->mask[row * g->context + column] = 65535;
}

/* Copy the first `count` new keys and values of `from` after `past` others in the inputs of
   `to`. */
static void keep(const graph *from, const graph *to, uint32_t count, uint32_t past)
{
    const size_t d = to->head_dim, rows = to->heads * d;
    size_t l, h, i, c;
    for (l = 0; l < to->layers; ++l) {
        for (i = 0; i < rows; ++i)
            for (c = 0; c < count; ++c)
                to->key_in[l][i * to->cells + past + c] = from->key_out[l][i * from->ar + c];
        for (h = 0; h < to->heads; ++h)
            memcpy(to->value_in[l] + (h * to->cells + past) * d,
                   from->value_out[l] + h * from->ar * d, count * d);
    }
}

/* Run `count` tokens after `past` others and return the most probable next one. */
static int32_t step(graph *g, const int32_t *tokens, uint32_t count, uint32_t past)
{
    const size_t half = g->head_dim / 2;
    const uint16_t *row;
    uint32_t i, best = 0;
    memcpy(g->tokens, tokens, count * sizeof *tokens);
    memcpy(g->cosine, cosines + past * half, count * half * sizeof *cosines);
    memcpy(g->sine, sines + past * half, count * half * sizeof *sines);
    MUST(execute(g->handle, g->inputs, g->input_count, g->outputs, g->output_count, NULL, NULL));
    row = g->logits + (count - 1) * g->vocabulary;
    for (i = 1; i < g->vocabulary; ++i) if (row[i] > row[best]) best = i;
    return (int32_t)best;
}

static void make_tables(const graph *g)
{
    const uint32_t half = g->head_dim / 2;
    uint32_t p, i;
    cosines = (uint16_t *)malloc(g->context * half * sizeof *cosines);
    sines = (uint16_t *)malloc(g->context * half * sizeof *sines);
    if (cosines == NULL || sines == NULL) stop("tables", "no memory");
    for (p = 0; p < g->context; ++p)
        /* Codes of scale 1/32768 and offset -32768 are rounded down, as in Genie. */
        for (i = 0; i < half; ++i) {
            const double angle = p * pow(10000.0, -(double)i / half);
            cosines[p * half + i] = (uint16_t)fmin(floor(cos(angle) * 32768.0) + 32768.0, 65535.0);
            sines[p * half + i] = (uint16_t)fmin(floor(sin(angle) * 32768.0) + 32768.0, 65535.0);
        }
}

int main(int argc, char **argv)
{
    const double begin = now_us();
    double ready, done;
    void *library, *system_library, *symbol, *data;
    const raw_provider **apis;
    const raw_system_provider **systems;
    raw_get_providers get;
    raw_system_get_providers get_system;
    raw_handle log = NULL, backend = NULL, device = NULL, context = NULL, reader = NULL;
    const void *found = NULL;
    const raw_binary_info *info;
    uint32_t n = 0, i, length, count, past;
    uint64_t info_bytes = 0;
    static int32_t tokens[MOST_TOKENS];
    static char text[MOST_TOKENS];
    graph graphs[2], *prefill, *decode;
    FILE *file;
    long bytes;
    if (argc != 6) stop("usage", "llm_raw LIBQNNHTP LIBQNNSYSTEM CONTEXT.bin PROMPT COUNT");
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    symbol = symbol_of(library, argv[1], "QnnInterface_getProviders");
    memcpy(&get, &symbol, sizeof get);
    system_library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    symbol = symbol_of(system_library, argv[2], "QnnSystemInterface_getProviders");
    memcpy(&get_system, &symbol, sizeof get_system);
    MUST(get(&apis, &n));
    MUST(get_system(&systems, &n));

    file = fopen(argv[3], "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) <= 0)
        stop(argv[3], "cannot be read");
    rewind(file);
    data = malloc((size_t)bytes);
    if (data == NULL || fread(data, 1, (size_t)bytes, file) != (size_t)bytes)
        stop(argv[3], "cannot be read");
    fclose(file);
    MUST(SLOT(systems[0], RAW_SYSTEM_CREATE, raw_system_create)(&reader));
    MUST(SLOT(systems[0], RAW_SYSTEM_BINARY_INFO, raw_system_binary_info)(
        reader, data, (uint64_t)bytes, &found, &info_bytes));
    info = (const raw_binary_info *)found;
    if (info->version != 3 || info->v.graph_count != 2) stop(argv[3], "is not the model's");

    MUST(SLOT(apis[0], RAW_LOG_CREATE, raw_log_create)(NULL, 1, &log));
    MUST(SLOT(apis[0], RAW_BACKEND_CREATE, raw_backend_create)(log, NULL, &backend));
    MUST(SLOT(apis[0], RAW_DEVICE_CREATE, raw_device_create)(log, NULL, &device));
    MUST(SLOT(apis[0], RAW_CONTEXT_FROM_BINARY, raw_context_from_binary)(
        backend, device, NULL, data, (uint64_t)bytes, &context, NULL));
    execute = SLOT(apis[0], RAW_GRAPH_EXECUTE, raw_graph_execute);
    memset(graphs, 0, sizeof graphs);
    for (i = 0; i < 2; ++i) bind(&graphs[i], &info->v.graphs[i], apis[0], context);
    free(data);
    prefill = &graphs[graphs[0].ar < graphs[1].ar];
    decode = &graphs[graphs[0].ar >= graphs[1].ar];
    make_tables(decode);
    ready = now_us();

    length = (uint32_t)strlen(argv[4]);
    count = (uint32_t)strtoul(argv[5], NULL, 10);
    if (length == 0 || length > prefill->ar || count == 0 || length + count > decode->cells)
        stop(argv[4], "is not of a fit length");
    for (i = 0; i < length; ++i) tokens[i] = (unsigned char)argv[4][i];
    fill_mask(prefill, 0, length);
    tokens[length] = step(prefill, tokens, length, 0);
    keep(prefill, decode, length, 0);
    fill_mask(decode, length, 1);
    for (past = length; past + 1 < length + count; ++past) {
        tokens[past + 1] = step(decode, tokens + past, 1, past);
        keep(decode, decode, 1, past);
        decode->mask[past] = 65535;
    }
    done = now_us();
    for (i = 0; i < count; ++i) text[i] = (char)tokens[length + i];
    report(ready - begin, done - ready, text, count);
    SLOT(apis[0], RAW_CONTEXT_FREE, raw_context_free)(context, NULL);
    SLOT(apis[0], RAW_DEVICE_FREE, raw_free)(device);
    SLOT(apis[0], RAW_BACKEND_FREE, raw_free)(backend);
    SLOT(apis[0], RAW_LOG_FREE, raw_free)(log);
    _exit(0);
}
