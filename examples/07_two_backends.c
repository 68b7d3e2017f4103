/* Run one pipeline on two backends and on this CPU, and save it as a folder.

       07_two_backends NPU_LIBRARY CPU_LIBRARY [FOLDER]

   For example:

       build/examples/07_two_backends build/libQnnRef.so build/libQnnRef.so build/mixed

   The first graph runs on the NPU: y = relu(x * w), in float16. The second one runs on the other
   backend: a softmax over the rows, which HTP refuses. It takes float32, so the edge between them
   asks for a conversion, which becomes a step. The last step is a C function of this program: it
   finds the best row of each column. One qnnrt_exec() runs all four steps.

   With FOLDER, the two context binaries and the program (qnnrt.json) are written to it; then
   qnnrt_manifest_open() opens it, with a library for each role, and the same pipeline runs again. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#define QNNRT_MANIFEST_IMPLEMENTATION
#include "qnnrt.h"
#include "tools/qnnrt_builder.h"
#include "qnnrt_json.h"
#include "tools/qnnrt_convert.h"
#include "tools/qnnrt_manifest.h"

enum { ROWS = 4, COLUMNS = 3, DEPTH = 2 };

static const uint32_t shape[2] = { ROWS, COLUMNS }, row[2] = { 1, COLUMNS };

static qnnrt_tensor add_tensor(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind,
                               qnnrt_dtype dtype, uint32_t rows, uint32_t columns,
                               const void *data, size_t bytes)
{
    qnnrt_tensor_desc desc = {0};
    desc.name = name;
    desc.kind = kind;
    desc.dtype = dtype;
    desc.rank = 2;
    desc.dims[0] = rows;
    desc.dims[1] = columns;
    desc.data = data;
    desc.bytes = bytes;
    return qnnrt_builder_tensor(b, &desc);
}

static void add_node(qnnrt_builder *b, const char *type, const qnnrt_tensor *inputs, size_t count,
                     const qnnrt_tensor *output, const qnnrt_param_desc *param)
{
    qnnrt_node_desc desc = {0};
    desc.type = type;
    desc.inputs = inputs;
    desc.input_count = count;
    desc.outputs = output;
    desc.output_count = 1;
    desc.params = param;
    desc.param_count = param != NULL;
    qnnrt_builder_node(b, &desc);
}

/* y [4, 3] = relu(x [4, 2] * w), float16. FullyConnected takes w as [3, 2]. */
static void npu_graph(qnnrt_builder *b)
{
    static const uint16_t w[COLUMNS * DEPTH] = { 0x3C00, 0x0000, 0x0000, 0x3C00, 0xBC00, 0x3C00 };
    qnnrt_graph_desc graph = {0};
    qnnrt_tensor in[2], product, y;
    graph.name = "project";
    qnnrt_builder_graph(b, &graph);
    in[0] = add_tensor(b, "x", QNNRT_TENSOR_INPUT, QNNRT_DTYPE_F16, ROWS, DEPTH, NULL, 0);
    in[1] = add_tensor(b, "w", QNNRT_TENSOR_STATIC, QNNRT_DTYPE_F16, COLUMNS, DEPTH, w, sizeof w);
    product = add_tensor(b, "product", QNNRT_TENSOR_INNER, QNNRT_DTYPE_F16, ROWS, COLUMNS, NULL, 0);
    y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT, QNNRT_DTYPE_F16, ROWS, COLUMNS, NULL, 0);
    add_node(b, "FullyConnected", in, 2, &product, NULL);
    add_node(b, "Relu", &product, 1, &y, NULL);
}

/* z = softmax(y) over axis 0, float32. */
static void cpu_graph(qnnrt_builder *b)
{
    qnnrt_graph_desc graph = {0};
    qnnrt_param_desc axis = {0};
    qnnrt_tensor y, z;
    graph.name = "softmax";
    axis.name = "axis";
    axis.dtype = QNNRT_DTYPE_U32;
    axis.value = 0;
    qnnrt_builder_graph(b, &graph);
    y = add_tensor(b, "y", QNNRT_TENSOR_INPUT, QNNRT_DTYPE_F32, ROWS, COLUMNS, NULL, 0);
    z = add_tensor(b, "z", QNNRT_TENSOR_OUTPUT, QNNRT_DTYPE_F32, ROWS, COLUMNS, NULL, 0);
    add_node(b, "Softmax", &y, 1, &z, &axis);
}

/* The host step: the memory of its tensors comes in the order of their lists. */
static qnnrt_result find_best(void *user, const qnnrt_graph_info *step, const void *const *inputs,
                              void *const *outputs, qnnrt_error *err)
{
    const float *z = (const float *)inputs[0];
    int32_t *best = (int32_t *)outputs[0];
    int r, c;
    (void)user; (void)step; (void)err;
    for (c = 0; c < COLUMNS; ++c)
        for (best[c] = 0, r = 1; r < ROWS; ++r)
            if (z[r * COLUMNS + c] > z[best[c] * COLUMNS + c]) best[c] = r;
    return QNNRT_OK;
}

/* Open a backend and build its graph. */
static int make_model(const char *library, void (*add_graph)(qnnrt_builder *),
                      qnnrt_backend **backend, qnnrt **model, qnnrt_error *err)
{
    qnnrt_backend_desc desc = {0};
    qnnrt_builder *b;
    desc.path = library;
    if (qnnrt_backend_open(&desc, backend, err) != QNNRT_OK) return 0;
    if (qnnrt_builder_create(*backend, NULL, &b, err) != QNNRT_OK) return 0;
    add_graph(b);
    return qnnrt_builder_finish(b, model, err) == QNNRT_OK;
}

/* The description of the pipeline, and what it points to. */
typedef struct program {
    qnnrt_pipeline_desc desc;
    qnnrt_step_desc     steps[3];
    qnnrt_edge_desc     edges[2];
    qnnrt_conversion    wishes[2];              /* what the edges ask for */
    qnnrt_host_step     host;
    qnnrt_tensor_info   z, best;
} program;

/* Describe three steps and the two edges between them. */
static void describe(qnnrt *npu, qnnrt *cpu, program *p)
{
    memset(p, 0, sizeof *p);
    p->z.name = "z";
    p->z.dtype = QNNRT_DTYPE_F32;
    p->z.rank = 2;
    p->z.dims = shape;
    p->best.name = "best";
    p->best.dtype = QNNRT_DTYPE_I32;
    p->best.rank = 2;
    p->best.dims = row;
    p->host.name = "find_best";
    p->host.inputs = &p->z;
    p->host.outputs = &p->best;
    p->host.input_count = p->host.output_count = 1;
    p->host.exec = find_best;

    p->steps[0].model = npu;
    p->steps[0].graph = "project";
    p->steps[1].model = cpu;
    p->steps[1].graph = "softmax";
    p->steps[2].host = &p->host;
    p->edges[0].from_step = 0;
    p->edges[0].from = "y";
    p->edges[0].to_step = 1;
    p->edges[0].to = "y";
    p->wishes[0].how = QNNRT_CONVERT_VALUES;        /* float16 -> float32, a step of its own */
    p->edges[1].from_step = 1;
    p->edges[1].from = "z";
    p->edges[1].to_step = 2;
    p->edges[1].to = "z";                           /* equal tensors: one memory, no copy */
    p->desc.name = "mixed";
    p->desc.steps = p->steps;
    p->desc.step_count = 3;
    p->desc.edges = p->edges;
    p->desc.edge_count = 2;
}

static int run(const qnnrt_pipeline *pipeline, qnnrt_error *err)
{
    static const float x[ROWS * DEPTH] = { 1, 0, 0, 3, 2, -1, -1, 2 };
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(pipeline);
    qnnrt_entry_desc entry = {0};
    qnnrt_plan_desc plan_desc = {0};
    qnnrt_plan *plan = NULL;
    qnnrt_mem *mem = NULL;
    qnnrt_run *r = NULL;
    int32_t best[COLUMNS];
    char text[512];
    size_t i;
    int ok = 0;

    for (i = 0; i < info->step_count; ++i)
        printf("step %u: %s\n", (unsigned)i, qnnrt_step_text(&info->steps[i], text, sizeof text));
    entry.pipeline = pipeline;
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    if (qnnrt_plan_create(&plan_desc, &plan, err) == QNNRT_OK &&
        qnnrt_mem_create(plan, NULL, &mem, err) == QNNRT_OK &&
        qnnrt_run_create(mem, 0, &r, err) == QNNRT_OK) {
        ok = qnnrt_write_f32(r, qnnrt_run_slot(r, "x"), 0, x, ROWS * DEPTH) == QNNRT_OK &&
             qnnrt_exec(r) == QNNRT_OK &&
             qnnrt_read_i32(r, qnnrt_run_slot(r, "best"), 0, best, COLUMNS) == QNNRT_OK;
        if (!ok) *err = *qnnrt_run_error(r);
    }
    if (ok) printf("best rows: %d %d %d\n", (int)best[0], (int)best[1], (int)best[2]);
    qnnrt_run_destroy(r);
    qnnrt_mem_destroy(mem);
    qnnrt_plan_destroy(plan);
    return ok;
}

static int to_file(void *user, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, (FILE *)user) == bytes;
}

/* Write two context binaries and the program. The contexts of the folder have the numbers 0 and 1,
   so the second step, of context 0 in its own model, becomes a step of context 1. */
static int save(const char *folder, qnnrt *npu, qnnrt *cpu, program *p, qnnrt_error *err)
{
    qnnrt_manifest_context contexts[2] = {{0}};
    qnnrt_manifest_desc desc = {0};
    qnnrt_manifest_pipeline pipeline = {{0}, NULL};
    char path[3][1024];
    FILE *file;
    int ok;
    mkdir(folder, 0777);
    snprintf(path[0], sizeof path[0], "%s/npu.bin", folder);
    snprintf(path[1], sizeof path[1], "%s/cpu.bin", folder);
    snprintf(path[2], sizeof path[2], "%s/qnnrt.json", folder);
    if (qnnrt_save(npu, 0, path[0], err) != QNNRT_OK || qnnrt_save(cpu, 0, path[1], err) != QNNRT_OK)
        return 0;
    contexts[0].file = "npu.bin";
    contexts[0].role = "npu";
    contexts[1].file = "cpu.bin";
    contexts[1].role = "cpu";
    p->steps[1].context = 1;
    desc.contexts = contexts;
    desc.context_count = 2;
    pipeline.desc = p->desc;
    pipeline.conversions = p->wishes;
    desc.pipelines = &pipeline;
    desc.pipeline_count = 1;
    file = fopen(path[2], "w");
    ok = file != NULL && qnnrt_manifest_write(&desc, to_file, file, err) == QNNRT_OK;
    return file != NULL && fclose(file) == 0 && ok;
}

/* Open the folder: a library for each role, and the function that its host step names. */
static int open_and_run(const char *folder, const char *npu, const char *cpu, qnnrt_error *err)
{
    qnnrt_manifest_role roles[2] = {{0}};
    qnnrt_host_step function = {0};
    qnnrt_manifest_open_desc desc = {0};
    const qnnrt_pipeline *pipeline;
    qnnrt_manifest *opened;
    int ok;
    roles[0].role = "npu";
    roles[0].desc.path = npu;
    roles[1].role = "cpu";
    roles[1].desc.path = cpu;
    function.name = "find_best";
    function.exec = find_best;
    desc.backends = roles;
    desc.backend_count = 2;
    desc.host_functions = &function;
    desc.host_function_count = 1;
    if (qnnrt_manifest_open(folder, &desc, &opened, err) != QNNRT_OK) return 0;
    ok = qnnrt_manifest_find(opened, "mixed", &pipeline, err) == QNNRT_OK && run(pipeline, err);
    qnnrt_manifest_close(opened);
    return ok;
}

int main(int argc, char **argv)
{
    qnnrt_error err = {0};
    qnnrt_backend *backends[2] = { NULL, NULL };
    qnnrt *npu = NULL, *cpu = NULL;
    qnnrt_conversions *conversions = NULL;
    qnnrt_pipeline *pipeline = NULL;
    program p;
    int ok;

    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: 07_two_backends NPU_LIBRARY CPU_LIBRARY [FOLDER]\n");
        return 2;
    }
    ok = make_model(argv[1], npu_graph, &backends[0], &npu, &err) &&
         make_model(argv[2], cpu_graph, &backends[1], &cpu, &err);
    if (ok) {
        describe(npu, cpu, &p);
        ok = qnnrt_conversions_create(&p.desc, p.wishes, NULL, &conversions, &err) == QNNRT_OK &&
             qnnrt_pipeline_make(qnnrt_conversions_desc(conversions), &pipeline, &err) ==
                 QNNRT_OK && run(pipeline, &err);
    }
    if (ok && argc == 4) ok = save(argv[3], npu, cpu, &p, &err);
    qnnrt_pipeline_destroy(pipeline);
    qnnrt_conversions_free(conversions);
    qnnrt_close(cpu);
    qnnrt_close(npu);
    qnnrt_backend_close(backends[1]);
    qnnrt_backend_close(backends[0]);
    if (ok && argc == 4) ok = open_and_run(argv[3], argv[1], argv[2], &err);
    if (!ok) fprintf(stderr, "%s\n", err.text);
    if (!ok && err.cause != NULL)
        fprintf(stderr, "likely cause: %s\n", err.cause);
    if (!ok && err.hint[0] != '\0') fprintf(stderr, "hint: %s\n", err.hint);
    return ok ? 0 : 1;
}
