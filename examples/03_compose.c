/* Build a graph in C, save it as a context binary, open the file in the same program and run it.

       03_compose BACKEND_LIBRARY OUT.bin

   For example:

       build/examples/03_compose build/libQnnRef.so build/layer.bin

   The graph computes y = relu(x * w + b) for x of 1 x 4, on the backend that you name. The program
   prints y twice: from the graph that it built, and from the file that it saved and opened. */
#include <stdio.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#include "qnnrt.h"
#include "tools/qnnrt_builder.h"

static const float weights[4 * 2] = { 1, -1, 2, -2, 3, -3, 4, -4 };   /* [4, 2]: input x output */
static const float bias[2] = { 0.5f, 0.5f };

static qnnrt_tensor add_tensor(qnnrt_builder *b, qnnrt_tensor_kind kind, const char *name,
                               uint32_t rank, uint32_t d0, uint32_t d1)
{
    qnnrt_tensor_desc desc = {0};
    desc.name = name;
    desc.kind = kind;
    desc.dtype = QNNRT_DTYPE_F32;
    desc.rank = rank;
    desc.dims[0] = d0;
    desc.dims[1] = d1;
    if (kind == QNNRT_TENSOR_STATIC) {
        desc.data = rank == 2 ? weights : bias;
        desc.bytes = rank == 2 ? sizeof weights : sizeof bias;
    }
    return qnnrt_builder_tensor(b, &desc);
}

static void add_node(qnnrt_builder *b, const char *type, const qnnrt_tensor *inputs, size_t count,
                     qnnrt_tensor output)
{
    qnnrt_node_desc desc = {0};
    desc.type = type;
    desc.inputs = inputs;
    desc.input_count = count;
    desc.outputs = &output;
    desc.output_count = 1;
    qnnrt_builder_node(b, &desc);
}

/* Describe one graph: first the tensors, then the nodes between them. These calls need no checks:
   the builder keeps the first error, and qnnrt_builder_finish() returns it. */
static void build(qnnrt_builder *b)
{
    qnnrt_graph_desc graph = {0};
    qnnrt_tensor product_of[2], sum_of[2], product, sum, y;

    graph.name = "layer";
    qnnrt_builder_graph(b, &graph);

    product_of[0] = add_tensor(b, QNNRT_TENSOR_INPUT, "x", 2, 1, 4);
    product_of[1] = add_tensor(b, QNNRT_TENSOR_STATIC, "w", 2, 4, 2);
    product = add_tensor(b, QNNRT_TENSOR_INNER, "product", 2, 1, 2);
    sum_of[0] = product;
    sum_of[1] = add_tensor(b, QNNRT_TENSOR_STATIC, "b", 1, 2, 0);
    sum = add_tensor(b, QNNRT_TENSOR_INNER, "sum", 2, 1, 2);
    y = add_tensor(b, QNNRT_TENSOR_OUTPUT, "y", 2, 1, 2);

    add_node(b, "MatMul", product_of, 2, product);
    add_node(b, "ElementWiseAdd", sum_of, 2, sum);
    add_node(b, "Relu", &sum, 1, y);
}

/* Run the graph once and print y; return 1 on success, or 0 and *err. */
static int run(qnnrt *model, qnnrt_error *err)
{
    const float x[4] = { 1, 2, 3, 4 };
    float y[2];
    qnnrt_run *r;
    if (qnnrt_prepare(model, "layer", &r, err) != QNNRT_OK)
        return 0;
    if (qnnrt_write_f32(r, qnnrt_run_slot(r, "x"), 0, x, 4) != QNNRT_OK ||
        qnnrt_exec(r) != QNNRT_OK ||
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

    if (argc != 3) {
        fprintf(stderr, "usage: 03_compose BACKEND_LIBRARY OUT.bin\n");
        return 2;
    }
    backend_desc.path = argv[1];
    if (qnnrt_backend_open(&backend_desc, &backend, &err) != QNNRT_OK)
        goto done;
    if (qnnrt_builder_create(backend, NULL, &builder, &err) != QNNRT_OK)
        goto done;
    build(builder);
    if (qnnrt_builder_finish(builder, &built, &err) != QNNRT_OK)
        goto done;
    if (!run(built, &err))          /* a built model runs like an opened one */
        goto done;
    if (qnnrt_save(built, 0, argv[2], &err) != QNNRT_OK)
        goto done;

    file.path = argv[2];
    desc.backend = backend;
    desc.files = &file;
    desc.file_count = 1;
    if (qnnrt_open(NULL, &desc, &opened, &err) != QNNRT_OK)
        goto done;
    ok = run(opened, &err);
done:
    if (!ok)
        fprintf(stderr, "%s\n", err.text);
    if (!ok && err.cause != NULL)
        fprintf(stderr, "likely cause: %s\n", err.cause);
    if (!ok && err.hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err.hint);
    qnnrt_close(opened);
    qnnrt_close(built);
    qnnrt_backend_close(backend);
    return ok ? 0 : 1;
}
