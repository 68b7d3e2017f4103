/* Build a graph in C, save it as a context binary, open that in the same program and run it.

       03_compose BACKEND_LIBRARY OUT.bin

   such as

       build/examples/03_compose build/libQnnRef.so build/layer.bin

   y = relu(x * w + b), for x of 1 x 4, on whatever backend is named. It is printed twice: as the built graph computes
   it, and as the opened file does. */
#include <stdio.h>

#define QNNRT_COMPOSE
#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"

static const float weights[4 * 2] = { 1, -1, 2, -2, 3, -3, 4, -4 };   /* [4, 2]: input x output */
static const float bias[2] = { 0.5f, 0.5f };

/* One graph: tensors first, then the nodes between them. No result is looked at here: the first error sticks,
   and qnnrt_builder_finish() reports it. */
static void build(qnnrt_builder *b)
{
    qnnrt_graph_desc graph = {0};
    qnnrt_tensor_desc t = {0};
    qnnrt_node_desc node = {0};
    qnnrt_tensor x, w, c, product, sum, y;

    graph.name = "layer";
    qnnrt_builder_graph(b, &graph);

    t.dtype = QNNRT_DTYPE_F32;
    t.rank = 2;
    t.dims[0] = 1;
    t.name = "x";       t.kind = QNNRT_TENSOR_INPUT;   t.dims[1] = 4;    x = qnnrt_builder_tensor(b, &t);
    t.name = "product"; t.kind = QNNRT_TENSOR_INNER;   t.dims[1] = 2;    product = qnnrt_builder_tensor(b, &t);
    t.name = "sum";                                                      sum = qnnrt_builder_tensor(b, &t);
    t.name = "y";       t.kind = QNNRT_TENSOR_OUTPUT;                    y = qnnrt_builder_tensor(b, &t);
    t.kind = QNNRT_TENSOR_STATIC;
    t.name = "w"; t.dims[0] = 4; t.data = weights; t.bytes = sizeof weights;          w = qnnrt_builder_tensor(b, &t);
    t.name = "b"; t.dims[0] = 2; t.rank = 1; t.data = bias; t.bytes = sizeof bias;    c = qnnrt_builder_tensor(b, &t);

    node.type = "MatMul";
    {
        const qnnrt_tensor in[2] = { x, w };
        node.inputs = in; node.input_count = 2; node.outputs = &product; node.output_count = 1;
        qnnrt_builder_node(b, &node);
    }
    node.type = "ElementWiseAdd";
    {
        const qnnrt_tensor in[2] = { product, c };
        node.inputs = in; node.input_count = 2; node.outputs = &sum; node.output_count = 1;
        qnnrt_builder_node(b, &node);
    }
    node.type = "Relu";
    node.inputs = &sum; node.input_count = 1; node.outputs = &y; node.output_count = 1;
    qnnrt_builder_node(b, &node);
}

static int run(qnnrt *model, qnnrt_error *err)
{
    const float x[4] = { 1, 2, 3, 4 };
    float y[2];
    qnnrt_run *r;
    if (qnnrt_prepare(model, "layer", &r, err) != QNNRT_OK) return 0;
    if (qnnrt_write_f32(r, qnnrt_run_slot(r, "x"), 0, x, 4) != QNNRT_OK || qnnrt_exec(r) != QNNRT_OK ||
        qnnrt_read_f32(r, qnnrt_run_slot(r, "y"), 0, y, 2) != QNNRT_OK) {
        *err = *qnnrt_run_error(r);
        qnnrt_run_destroy(r);
        return 0;
    }
    printf("y = %g %g\n", (double)y[0], (double)y[1]);
    qnnrt_run_destroy(r);
    return 1;
}

int main(int argc, char **argv)
{
    qnnrt_error err = {0};
    qnnrt_backend_desc backend_desc = {0};
    qnnrt_desc desc = {0};
    qnnrt_file file = {0};
    qnnrt_backend *backend = NULL;
    qnnrt_builder *builder;
    qnnrt *built = NULL, *opened = NULL;
    int ok = 0;

    if (argc != 3) { fprintf(stderr, "usage: 03_compose BACKEND_LIBRARY OUT.bin\n"); return 2; }
    backend_desc.path = argv[1];
    if (qnnrt_backend_open(&backend_desc, &backend, &err) != QNNRT_OK) goto done;
    if (qnnrt_builder_create(backend, NULL, &builder, &err) != QNNRT_OK) goto done;
    build(builder);
    if (qnnrt_builder_finish(builder, &built, &err) != QNNRT_OK) goto done;
    if (!run(built, &err)) goto done;                                 /* a built model is like an opened one */
    if (qnnrt_save(built, 0, argv[2], &err) != QNNRT_OK) goto done;

    file.path = argv[2];
    desc.backend = backend;
    desc.files = &file;
    desc.file_count = 1;
    if (qnnrt_open(NULL, &desc, &opened, &err) != QNNRT_OK) goto done;
    ok = run(opened, &err);
done:
    if (!ok) fprintf(stderr, "%s\n%s\n", err.text, err.hint);
    qnnrt_close(opened);
    qnnrt_close(built);
    qnnrt_backend_close(backend);
    return ok ? 0 : 1;
}
