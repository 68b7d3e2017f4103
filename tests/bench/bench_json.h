/* bench_json.h - shared by bench_json.c and its peer in C++

   A peer reads a text with its own library and passes on the content; bench_json.c puts it into
   the same vendor structs and the same table that qnnrt__read_json() fills. A peer is lenient where
   qnnrt is strict (keys twice, types it does not check), and reads the encodings that the genuine
   dumps have; both are in its favour. */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEER_INPUTS, PEER_OUTPUTS, PEER_UPDATEABLES, PEER_LISTS };
enum { PEER_SPILL, PEER_LEVEL, PEER_VTCM, PEER_DLBC, PEER_HVX, PEER_K, PEER_V, PEER_SAFE, PEER_IO, PEER_OP_DATA,
       PEER_CONST, PEER_DDR, PEER_SHARED, PEER_FACTS };

typedef struct peer_text { const char *text; size_t bytes; } peer_text;

typedef struct peer_tensor {
    peer_text name, version, type, format, dtype, definition, encoding;
    uint64_t  id, rank;
    uint32_t  count, dims[32];
    int       has_scale;
    double    scale;
    int64_t   offset;
} peer_tensor;

typedef struct peer_graph { peer_text name; uint64_t stated[PEER_LISTS], facts[PEER_FACTS]; } peer_graph;

typedef struct peer_context {
    peer_text artifact, build_id, core_api, backend_api, blob_version;
    uint64_t  backend_id, blob_bytes, tensors, graphs, soc_model, dsp_arch;
} peer_context;

typedef struct peer_build peer_build;

/* Called in this order. Each returns 1, or 0 when the table refused the content. */
int peer_graphs_begin(peer_build *build, uint64_t announced);
int peer_graph_begin(peer_build *build);
int peer_list_begin(peer_build *build, int list, uint64_t announced);
int peer_tensor_add(peer_build *build, const peer_tensor *tensor);
int peer_graph_end(peer_build *build, const peer_graph *graph);
int peer_context_end(peer_build *build, const peer_context *context);

/* In bench_simdjson.cpp. text has room for simdjson's padding after it. */
int    simdjson_read(peer_build *build, const char *text, size_t bytes, size_t room);
/* Parse with simdjson's DOM parser and keep nothing. */
int    simdjson_skip(const char *text, size_t bytes, size_t room);
size_t simdjson_padding(void);
/* Return allocations and bytes since the last call. */
void   simdjson_counters(long *allocations, double *bytes);

#ifdef __cplusplus
}
#endif
#endif
