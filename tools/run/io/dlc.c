/* dlc.c - the graphs that a .dlc container holds

   ROOM     >>dlc */
#include "run/io/io.h"

/* =====================================================================================
   DLC                                                                             >>dlc
   The graphs of a .dlc: names of inputs and outputs, types and dimensions.
   Source: tools/dlc.fbs of lutzroeder/netron; what its tensors' kinds mean was compared with what
   libQnnSystem.so 2.51 composes of the same files.
   ===================================================================================== */

/* Fields of the tables, by their numbers. */
enum { DLC_GRAPHS = 0, DLC_GRAPH_NAME = 0, DLC_GRAPH_NODES = 1, DLC_GRAPH_TENSORS = 2,
       DLC_TENSOR_NAME = 1, DLC_TENSOR_KIND = 2, DLC_TENSOR_DIMS = 3, DLC_TENSOR_TYPE = 6,
       DLC_INPUT = 0, DLC_OUTPUT = 1, DLC_PREFIX = 8 };

static void dlc_tensor(flat *f, flat_table from, graph_listing *graph, pieces *out)
{
    const uint64_t kind = flat_field(f, from, DLC_TENSOR_KIND, 4);
    const flat_list dims = flat_items(f, from, DLC_TENSOR_DIMS, 4);
    if (f->wrong != NULL || (kind != DLC_INPUT && kind != DLC_OUTPUT)) return;
    if (out->tensor_count++ == PIECES_MOST) {
        flat_fail(f, "it has more than 4,096 inputs and outputs", from.at);
        return;
    }
    graph->tensors = cli_grow(graph->tensors, graph->count, &graph->room, sizeof(*graph->tensors));
    graph_tensor *tensor = &graph->tensors[graph->count++];
    memset(tensor, 0, sizeof(*tensor));
    tensor->name = flat_text(f, from, DLC_TENSOR_NAME);
    tensor->dtype = (uint32_t)flat_field(f, from, DLC_TENSOR_TYPE, 4);
    tensor->output = kind == DLC_OUTPUT;
    tensor->rank = dims.count < 8 ? (uint32_t)dims.count : 8;
    for (uint32_t i = 0; i < tensor->rank; ++i)
        tensor->dims[i] = (uint32_t)flat_number(f, dims.at + 4 * (uint64_t)i, 4);
}

void dlc_read(span model, pieces *out)
{
    static const unsigned char prefix[] = {0xD5, 0x0A, 4, 0};
    flat f;
    span body;
    if (!span_begins(model, prefix, sizeof(prefix)) ||
        !span_cut(model, DLC_PREFIX, model.bytes - DLC_PREFIX, &body) || body.bytes < 8 ||
        memcmp(body.data + 4, "NETD", 4) != 0) {
        pieces_problem(out, "its graphs are of a version that is not known");
        return;
    }
    const flat_list graphs = flat_items(&f, flat_root(&f, body), DLC_GRAPHS, 4);
    for (uint64_t i = 0; i < graphs.count && i < PIECES_MOST && f.wrong == NULL; ++i) {
        const flat_table from = flat_item(&f, graphs, i);
        const flat_list tensors = flat_items(&f, from, DLC_GRAPH_TENSORS, 4);
        out->graphs = cli_grow(out->graphs, out->graph_count, &out->graph_room,
                               sizeof(*out->graphs));
        graph_listing *graph = &out->graphs[out->graph_count++];
        memset(graph, 0, sizeof(*graph));
        graph->name = flat_text(&f, from, DLC_GRAPH_NAME);
        graph->node_count = flat_items(&f, from, DLC_GRAPH_NODES, 4).count;
        graph->tensor_count = tensors.count;
        for (uint64_t k = 0; k < tensors.count && f.wrong == NULL; ++k)
            dlc_tensor(&f, flat_item(&f, tensors, k), graph, out);
    }
    if (graphs.count > PIECES_MOST)
        pieces_problem(out, "it has more than %d graphs", PIECES_MOST);
    if (f.wrong != NULL)
        pieces_problem(out, "its graphs are damaged at byte %llu: %s",
                       (unsigned long long)f.wrong_at, f.wrong);
}
