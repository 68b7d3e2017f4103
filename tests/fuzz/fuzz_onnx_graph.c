/* fuzz_onnx_graph.c - hostile models of ONNX become graphs of qnnrt_ir.h, and are run on the host

   An input is a model, followed by CONTROL bytes, which choose sizes of named dimensions, bound inputs, budgets and
   failing allocations. Whatever happens, there must be no crash, no leak and no long wait, an error has a text without
   control characters, and a graph has no finding and computes without a crash. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_IR_IMPLEMENTATION
#define QNNRT_ONNX_IMPLEMENTATION
#define QNNRT_ONNX_GRAPH_IMPLEMENTATION
#include "qnnrt_onnx_graph.h"
#define FUZZ_NAME "fuzz_onnx_graph"
#include "fuzz.h"

enum { CONTROL = 6, LARGE = 20000 };

#include "fuzz_model.h"

/* Run a small graph with zeros and ones. */
static void run_graph(qnnrt_ir *ir)
{
    static unsigned char room[LARGE * 8];
    static unsigned char out[64][LARGE];
    const void *inputs[64];
    void *outputs[64];
    qnnrt_ir_run_desc desc;
    qnnrt_error err;
    size_t i;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = hook_alloc;
    desc.hooks.free = hook_free;
    if (ir->input_count > 64 || ir->output_count > 64 || ir->node_count > 200) return;
    for (i = 0; i < ir->value_count; ++i) if (ir->values[i]->count > LARGE) return;
    for (i = 0; i < ir->output_count; ++i)
        if (ir->outputs[i]->count * qnnrt_ir_dtype_bytes(ir->outputs[i]->dtype) > LARGE) return;
    for (i = 0; i < sizeof(room); ++i) room[i] = control[5] & 1 ? i % 8 == 0 : 0;
    for (i = 0; i < ir->input_count; ++i) inputs[i] = room;
    for (i = 0; i < ir->output_count; ++i) outputs[i] = out[i];
    (void)qnnrt_ir_run(ir, &desc, inputs, outputs, fresh(&err));
}

static void play(const unsigned char *data, size_t size)
{
    static const char *const names[] = { "batch", "n", "N", "seq", "b" };
    static const int64_t zero[4] = { 0, 0, 0, 0 };
    qnnrt_onnx_dim_is dims[5];
    qnnrt_onnx_graph_desc desc;
    qnnrt_onnx_desc read;
    qnnrt_onnx_bind bind;
    qnnrt_onnx *onnx = NULL;
    qnnrt_ir *ir = NULL;
    qnnrt_error err;
    size_t i;
    if (size < CONTROL) return;
    size -= CONTROL;
    chance_begin(data + size, CONTROL);
    memset(&desc, 0, sizeof(desc));
    memset(&read, 0, sizeof(read));
    memset(&bind, 0, sizeof(bind));
    for (i = 0; i < 5; ++i) {
        dims[i].name = names[i];
        dims[i].value = control[0] >= 250 ? (int64_t)1 << (control[0] - 240) : control[0] % 4;
    }
    desc.dims = dims;
    desc.dim_count = control[1] >= 240 ? 0 : 5;
    desc.fold_bytes = control[1] < 10 ? 100 : 1 << 20;
    desc.nodes = 2000;
    read.memory_bytes = read.expand_bytes = 1 << 24;
    read.nodes = 1000;
    read.hooks.alloc = desc.hooks.alloc = hook_alloc;
    read.hooks.free = desc.hooks.free = hook_free;
    read.hooks.log = desc.hooks.log = hook_log;
    alloc_count = alloc_sum = alloc_fail_at = 0;
    if (qnnrt_onnx_read(data, size, &read, &onnx, &err) != QNNRT_OK) return;
    if (control[2] >= 192 && onnx->graph->input_count > 0) {
        bind.input = onnx->graph->inputs[control[2] % onnx->graph->input_count].name;
        bind.data = zero;
        bind.bytes = (uint64_t)1 << control[2] % 6;
        desc.binds = &bind;
        desc.bind_count = 1;
    }
    alloc_count = 0;
    alloc_fail_at = control[3] >= 200 ? (uint64_t)chance(60) : 0;
    alloc_fail_on = control[3] & 1;
    if (GOOD(qnnrt_onnx_to_ir(onnx, &desc, &ir, fresh(&err)), ir, &err)) {
        alloc_fail_at = 0;
        MUST(qnnrt_ir_check(ir, NULL, NULL, &err) == QNNRT_OK);
        run_graph(ir);
    }
    qnnrt_ir_free(ir);
    qnnrt_onnx_free(onnx);
    MUST(alloc_live == 0 && alloc_bytes == 0);
}

FUZZ_TARGET
