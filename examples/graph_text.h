/* graph_text.h - add tensors and nodes to a graph by short texts, for examples

   A tensor is a text "name dim dim ...", where a dim of 0 stands for `tokens`. When it occurs again
   in the same graph, its name is enough. Its first letter tells its kind: i is an input, o an
   output, w a weight, and any other letter a tensor between nodes. All are float32. Include it
   after qnnrt.h. */
#ifndef GRAPH_TEXT_H
#define GRAPH_TEXT_H

#include <string.h>

typedef struct graph_text {
    qnnrt_builder *builder;
    const float   *weights;              /* numbers for all weights */
    uint32_t       tokens;
    size_t         count;                /* number of tensors in the present graph */
    struct { char name[16]; qnnrt_tensor id; } known[32];
} graph_text;

/* Begin a graph that takes so many tokens. */
static void graph_begin(graph_text *g, const char *name, uint32_t tokens)
{
    qnnrt_graph_desc desc = {0};
    desc.name = name;
    qnnrt_builder_graph(g->builder, &desc);
    g->tokens = tokens;
    g->count = 0;
}

/* Return the tensor of a text, which ends at a comma or a 0 byte: a known one, or a new one. The
   letter after "w_" chooses where a weight begins in the numbers. */
static qnnrt_tensor graph_tensor(graph_text *g, const char *text)
{
    char *name = g->known[g->count].name;
    qnnrt_tensor_desc t = {0};
    const int found = sscanf(text, "%15[^ ,]%u%u%u%u", name, &t.dims[0], &t.dims[1], &t.dims[2],
                             &t.dims[3]);
    for (size_t i = 0; i < g->count; ++i)
        if (strcmp(g->known[i].name, name) == 0) return g->known[i].id;
    t.name = name;
    t.dtype = QNNRT_DTYPE_F32;
    t.rank = (uint32_t)found - 1;
    t.kind = *name == 'i' ? QNNRT_TENSOR_INPUT : *name == 'o' ? QNNRT_TENSOR_OUTPUT :
             *name == 'w' ? QNNRT_TENSOR_STATIC : QNNRT_TENSOR_INNER;
    t.bytes = *name == 'w' ? sizeof(float) : 0;
    t.data = *name == 'w' ? g->weights + 32 * (name[2] - 'a') : NULL;
    for (uint32_t i = 0; i < t.rank; ++i) {
        if (t.dims[i] == 0) t.dims[i] = g->tokens;
        t.bytes *= t.dims[i];
    }
    g->known[g->count].id = qnnrt_builder_tensor(g->builder, &t);
    return g->known[g->count++].id;
}

/* Add a node. in: its inputs, separated by commas; params: a list that ends with name NULL, or
   NULL. */
static void graph_node(graph_text *g, const char *type, const char *out, const char *in,
                       const qnnrt_param_desc *params)
{
    qnnrt_tensor from[4], to;
    qnnrt_node_desc node = {0};
    for (; in != NULL; in = strchr(in + 1, ','))
        from[node.input_count++] = graph_tensor(g, in + (*in == ','));
    to = graph_tensor(g, out);
    node.type = type;
    node.inputs = from;
    node.outputs = &to;
    node.output_count = 1;
    node.params = params;
    while (params != NULL && params[node.param_count].name != NULL) ++node.param_count;
    qnnrt_builder_node(g->builder, &node);
}
#endif
