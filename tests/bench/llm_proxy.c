/* llm_proxy.c - a libQnnHtp.so that forwards to the genuine one and records when it computes

   Put it as libQnnHtp.so where a program searches that library, for example beside a copy of
   libGenie.so. The provider is the genuine one, with two of its functions replaced. What a program
   does between two executes is its own work on the host, and is what bench-llm compares.

       LLM_PROXY_LIBRARY   path of the genuine library
       LLM_PROXY_LOG       file that each contextFree rewrites: a line for every execute with the
                           graph's number, begin and end in ns, and the hash of the logits or 0
       LLM_PROXY_SKIP=N    executes after the Nth return at once: memory stays as it was, and the
                           caller's code and data stay in the processor's caches
       LLM_PROXY_HASH=1    hash the output "logits"; the time of it counts as execute's

   One thread at a time, as the vendor's contexts require. */
#include "qnn_raw.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_RECORDS = 4096, MOST_GRAPHS = 16, LAST_MINOR = 40, RAW_MEMORY = 0 };

typedef struct record {
    uint64_t begin, end;                  /* ns */
    uint32_t graph, hash;
} record;

static raw_provider      provider;
static raw_graph_execute genuine_execute;
static raw_context_free  genuine_free;
static record            records[MOST_RECORDS];
static raw_handle        graphs[MOST_GRAPHS];
static uint32_t          count, graph_count, skip_after, hashes;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t graph_number(raw_handle graph)
{
    uint32_t g = 0;
    while (g < graph_count && graphs[g] != graph) ++g;
    if (g == graph_count && g < MOST_GRAPHS) graphs[graph_count++] = graph;
    return g;
}

/* Compute FNV-1a over the tensor's own bytes: data_size may be larger. Types have 1, 2 or 4
   bytes. */
static uint32_t hash_logits(const raw_tensor *outputs, uint32_t output_count)
{
    uint32_t i, d, hash = 2166136261u;
    for (i = 0; i < output_count; ++i) {
        const raw_tensor *t = &outputs[i];
        const unsigned char *data = (const unsigned char *)t->v.data;
        size_t bytes = (t->v.dtype & 0xFF) / 8, b;
        if (t->v.mem_type != RAW_MEMORY || data == NULL || t->v.name == NULL ||
            strcmp(t->v.name, "logits") != 0) continue;
        for (d = 0; d < t->v.rank; ++d) bytes *= t->v.dims[d];
        for (b = 0; b < bytes && b < t->v.data_size; ++b) hash = (hash ^ data[b]) * 16777619u;
        return hash;
    }
    return 0;
}

static raw_code execute(raw_handle graph, const raw_tensor *inputs, uint32_t input_count,
                        raw_tensor *outputs, uint32_t output_count, raw_handle profile,
                        raw_handle signal)
{
    const uint64_t begin = now_ns();
    record *r = &records[count < MOST_RECORDS ? count : MOST_RECORDS - 1];
    raw_code code = 0;
    if (skip_after == 0 || count < skip_after)
        code = genuine_execute(graph, inputs, input_count, outputs, output_count, profile, signal);
    if (count < MOST_RECORDS) ++count;
    r->begin = begin;
    r->graph = graph_number(graph);
    r->hash = hashes ? hash_logits(outputs, output_count) : 0;
    r->end = now_ns();
    return code;
}

static void write_log(void)
{
    const char *path = getenv("LLM_PROXY_LOG");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    uint32_t i;
    if (path != NULL && file == NULL) {
        fprintf(stderr, "llm_proxy: cannot write %s\n", path);
        return;
    }
    for (i = 0; i < count && file != NULL; ++i)
        fprintf(file, "%u %llu %llu %08x\n", (unsigned)records[i].graph,
                (unsigned long long)records[i].begin, (unsigned long long)records[i].end,
                (unsigned)records[i].hash);
    if (file != NULL) fclose(file);
}

static raw_code context_free(raw_handle context, raw_handle profile)
{
    write_log();
    return genuine_free(context, profile);
}

raw_code QnnInterface_getProviders(const raw_provider ***list, uint32_t *list_count);

raw_code QnnInterface_getProviders(const raw_provider ***list, uint32_t *list_count)
{
    static const raw_provider *all[1] = { &provider };
    if (genuine_execute == NULL) {
        const char *path = getenv("LLM_PROXY_LIBRARY"), *skip = getenv("LLM_PROXY_SKIP");
        void *library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL, *symbol;
        const raw_provider **theirs = NULL;
        uint32_t their_count = 0;
        raw_get_providers get;
        if (library == NULL) {
            fprintf(stderr, "llm_proxy: %s\n",
                    path != NULL ? dlerror() : "LLM_PROXY_LIBRARY is not set");
            return 1;
        }
        symbol = dlsym(library, "QnnInterface_getProviders");
        memcpy(&get, &symbol, sizeof get);
        if (symbol == NULL || get(&theirs, &their_count) != 0 || their_count != 1) {
            fprintf(stderr, "llm_proxy: %s has not one provider\n", path);
            return 1;
        }
        /* The length of a later version's table is not known here. */
        if (theirs[0]->core.major != 2 || theirs[0]->core.minor > LAST_MINOR) {
            fprintf(stderr, "llm_proxy: %s has core API %u.%u; at most 2.%u is known\n", path,
                    (unsigned)theirs[0]->core.major, (unsigned)theirs[0]->core.minor,
                    (unsigned)LAST_MINOR);
            return 1;
        }
        provider = *theirs[0];
        genuine_free = (raw_context_free)provider.slots[RAW_CONTEXT_FREE];
        provider.slots[RAW_CONTEXT_FREE] = (raw_slot)context_free;
        genuine_execute = (raw_graph_execute)provider.slots[RAW_GRAPH_EXECUTE];
        provider.slots[RAW_GRAPH_EXECUTE] = (raw_slot)execute;
        skip_after = skip != NULL ? (uint32_t)strtoul(skip, NULL, 10) : 0;
        hashes = getenv("LLM_PROXY_HASH") != NULL;
        /* Touch all pages now, so that no page fault is measured. */
        memset(records, 0xFF, sizeof records);
    }
    *list = all;
    *list_count = 1;
    return 0;
}
