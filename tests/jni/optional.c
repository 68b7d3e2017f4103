/* optional.c - makes a context binary of y = x * w + b, where b may be left out, for OptionsTest.java

       optional BACKEND_LIBRARY OUT.bin */
#include <stdio.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_builder.h"

static const float weights[2 * 4] = { 1, 2, 3, 4, -1, -2, -3, -4 };    /* output x input */

static qnnrt_tensor add(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind, uint32_t d0,
                        uint32_t d1)
{
    qnnrt_tensor_desc desc = {0};
    desc.name = name;
    desc.kind = kind;
    desc.dtype = QNNRT_DTYPE_F32;
    desc.rank = d1 == 0 ? 1 : 2;
    desc.dims[0] = d0;
    desc.dims[1] = d1;
    if (kind == QNNRT_TENSOR_STATIC) {
        desc.data = weights;
        desc.bytes = sizeof weights;
    }
    return qnnrt_builder_tensor(b, &desc);
}

int main(int argc, char **argv)
{
    qnnrt_error err = {0};
    qnnrt_backend_desc desc = {0};
    qnnrt_graph_desc graph = {0};
    qnnrt_node_desc node = {0};
    qnnrt_backend *backend = NULL;
    qnnrt_builder *b = NULL;
    qnnrt *model = NULL;
    qnnrt_tensor in[3], y;
    if (argc != 3)
        return 2;
    desc.path = argv[1];
    graph.name = "optional";
    if (qnnrt_backend_open(&desc, &backend, &err) == QNNRT_OK &&
        qnnrt_builder_create(backend, NULL, &b, &err) == QNNRT_OK) {
        qnnrt_builder_graph(b, &graph);
        in[0] = add(b, "x", QNNRT_TENSOR_INPUT, 1, 4);
        in[1] = add(b, "w", QNNRT_TENSOR_STATIC, 2, 4);
        in[2] = add(b, "b", QNNRT_TENSOR_OPTIONAL_INPUT, 2, 0);
        y = add(b, "y", QNNRT_TENSOR_OUTPUT, 1, 2);
        node.type = "FullyConnected";
        node.inputs = in;
        node.input_count = 3;
        node.outputs = &y;
        node.output_count = 1;
        qnnrt_builder_node(b, &node);
        if (qnnrt_builder_finish(b, &model, &err) == QNNRT_OK)
            qnnrt_save(model, 0, argv[2], &err);
    }
    if (err.code != QNNRT_OK)
        fprintf(stderr, "%s\n", err.text);
    qnnrt_close(model);
    qnnrt_backend_close(backend);
    return err.code != QNNRT_OK;
}
