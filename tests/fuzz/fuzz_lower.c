/* fuzz_lower.c - hostile graphs: read, check, lowered for each kind of library, emitted

   An input is the text of a graph, followed by CONTROL bytes that choose the target, the number of
   contexts, watching, failing allocations and numbers that are changed. Whatever happens, there must
   be no crash, no leak and no text without an end. */
#define QNNRT_LOWER_IMPLEMENTATION            /* to cut without a builder */
#include "qnnrt_lower.h"
#define FUZZ_NAME "fuzz_lower"
#include "fuzz.h"

enum { CONTROL = 24 };

static long live, count, fail_at;

static void *hook_alloc(void *user, size_t bytes)
{
    void *data = ++count == fail_at || bytes > (size_t)1 << 24 ? NULL : malloc(bytes);
    (void)user;
    if (data != NULL) { memset(data, 0xA5, bytes); ++live; }
    return data;
}

static void hook_free(void *user, void *data)
{
    (void)user;
    MUST(data != NULL);
    --live;
    free(data);
}

static void check_text(const char *text, size_t most)
{
    MUST(text[0] != '\0' && strlen(text) < most);
    for (; *text != '\0'; ++text) MUST((unsigned char)*text >= 32 || *text == '\n');
}

/* What holds for every lowered graph. */
static void check_graph(const qnnrt_lower_graph_info *graph)
{
    size_t i, k;
    for (i = 0; i < graph->op_count; ++i) {
        const qnnrt_lower_op *op = &graph->ops[i];
        MUST(op->type != NULL && op->output_count > 0 && op->input_count <= 64 && op->param_count <= 8);
        for (k = 0; k < op->input_count; ++k) {
            MUST(op->inputs[k] >= 0 && (size_t)op->inputs[k] < graph->tensor_count);
            MUST(graph->tensors[op->inputs[k]].op < (int32_t)i);
        }
        for (k = 0; k < op->output_count; ++k) MUST(graph->tensors[op->outputs[k]].op == (int32_t)i);
    }
    for (i = 1; i < graph->tensor_count; ++i) {
        const qnnrt_lower_tensor *tensor = &graph->tensors[i];
        uint64_t elements = 1;
        MUST(tensor->name != NULL && tensor->rank >= 1 && tensor->rank <= 8);
        for (k = 0; k < tensor->rank; ++k) elements *= tensor->dims[k];
        MUST(!tensor->used || elements == tensor->count);
        MUST(tensor->kind != QNNRT_TENSOR_STATIC || tensor->value == NULL || tensor->value->count == tensor->count);
    }
}

/* Replace a number of the text by another one. Return the new text. */
static char *change(const unsigned char *data, size_t size, const unsigned char *control, size_t *bytes)
{
    static const char *const numbers[] = {"0", "1", "-1", "2", "7", "64", "2147483648", "-2147483649", "281474976710656",
                                          "9223372036854775807", "-9223372036854775808", "1e300", "0.5", "1000000", "65536", "3"};
    const char *now = numbers[control[7] & 15];
    const size_t start = (size_t)(control[5] << 8 | control[6]) % (size + 1);
    char *text = (char *)malloc(size + 32);
    size_t i = start, end;
    MUST(text != NULL);
    memcpy(text, data, size);
    *bytes = size;
    if (control[4] < 64) return text;
    while (i < size && (data[i] < '0' || data[i] > '9')) ++i;
    for (end = i; end < size && data[end] >= '0' && data[end] <= '9';) ++end;
    if (i == size) return text;
    memcpy(text + i, now, strlen(now));
    memcpy(text + i + strlen(now), data + end, size - end);
    *bytes = size - (end - i) + strlen(now);
    return text;
}

static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 64, 65, 100, 255, 1000, 4096, 65536, 1000000, 2147483647, 2147483648, 4294967296,
                                281474976710656, 9223372036854775807, -1, -2, -3, -4, -2147483649, -9223372036854775807 - 1, 6, 12};

static int64_t size_of(unsigned char at)
{
    return sizes[at % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* Change dims of an input of the graph, or a number of an argument. */
static void change_one(qnnrt_ir *ir, const unsigned char *how)
{
    if (how[0] < 64) return;
    if (how[0] < 160 && ir->input_count > 0) {
        qnnrt_ir_value *value = ir->inputs[how[1] % ir->input_count];
        size_t d;
        if (how[0] >= 144) {
            value->rank = how[2] % 9;
            for (d = 0; d < 8; ++d) if (value->dims[d] == 0) value->dims[d] = 1;
        } else if (value->rank > 0) {
            value->dims[how[2] % value->rank] = size_of(how[3] % 24);
        }
    } else if (ir->node_count > 0) {
        qnnrt_ir_node *node = ir->nodes[how[1] % ir->node_count];
        qnnrt_ir_attr attr;
        int64_t ints[16];
        size_t i;
        if (node->attr_count == 0) return;
        attr = node->attrs[how[2] % node->attr_count];
        if (attr.kind == QNNRT_IR_INT || attr.kind == QNNRT_IR_BOOL) {
            attr.i = attr.kind == QNNRT_IR_BOOL ? !attr.i : size_of(how[3]);
            attr.f = (double)attr.i;
        } else if (attr.kind == QNNRT_IR_FLOAT) {
            attr.f = how[3] & 1 ? (double)size_of(how[3] >> 1) : how[3] & 2 ? 1e-300 : 1e300;
        } else if (attr.kind == QNNRT_IR_INTS && attr.count <= 16) {
            for (i = 0; i < attr.count; ++i) ints[i] = attr.ints[i];
            if (attr.count > 0) ints[(how[2] >> 4) % attr.count] = size_of(how[3]);
            if (how[0] > 240) for (attr.count = how[3] % 16, i = 0; i < attr.count; ++i) ints[i] = size_of((unsigned char)(how[1] + i * how[2]));
            qnnrt_ir_set_ints(ir, node, attr.name, ints, attr.count);
            return;
        }
        qnnrt_ir_set(ir, node, &attr);
    }
}

/* Give all values the shapes that follow from those of the inputs. */
static void infer_again(qnnrt_ir *ir)
{
    size_t i, k;
    uint32_t d;
    for (i = 0; i < ir->input_count; ++i) {
        qnnrt_ir_value *value = ir->inputs[i];
        for (value->count = 1, d = 0; d < value->rank; ++d) {
            if (value->dims[d] < 0 || (value->dims[d] != 0 && value->count > ((uint64_t)1 << 48) / (uint64_t)value->dims[d])) value->dims[d] = 1;
            value->count *= (uint64_t)value->dims[d];
        }
    }
    for (i = 0; i < ir->node_count; ++i)
        for (k = 0; k < ir->nodes[i]->output_count; ++k) {
            qnnrt_ir_value *value = ir->nodes[i]->outputs[k];
            qnnrt_dtype dtype;
            uint32_t rank;
            int64_t dims[8];
            if (qnnrt_ir_infer(ir->nodes[i], k, &dtype, &rank, dims, NULL) != QNNRT_OK) continue;
            value->rank = rank;
            if (dtype != QNNRT_DTYPE_UNDEFINED) value->dtype = dtype;
            for (value->count = 1, d = 0; d < rank; ++d) value->count *= (uint64_t)(value->dims[d] = dims[d]);
        }
}

static void lower_graph(qnnrt_ir *ir, const unsigned char *control)
{
    const qnnrt_lower_info *info;
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_result result;
    qnnrt_error err;
    size_t i;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = hook_alloc;
    desc.hooks.free = hook_free;
    desc.target = (qnnrt_lower_target)(control[1] % 3);
    desc.watch = control[1] >> 4 & 1;
    desc.native_io = control[1] >> 5 & 1;
    desc.contexts = control[2] % 5;
    desc.positions = 16;
    desc.rope_base = 10000;
    if (qnnrt_lower_create(&desc, &lower, &err) != QNNRT_OK) return;
    if (control[3] & 1) {
        result = qnnrt_lower_weights(lower, ir, NULL, &err);
        if (result != QNNRT_OK) check_text(err.text, sizeof(err.text));
    }
    result = control[3] & 2 ? qnnrt_lower_passes(lower, ir, &err) : QNNRT_OK;
    if (result == QNNRT_OK) {
        result = qnnrt_lower_graph(lower, ir, "model", &err);
        MUST(result == QNNRT_OK || result == QNNRT_E_UNSUPPORTED || result == QNNRT_E_MEMORY);
        if (result != QNNRT_OK) check_text(err.text, sizeof(err.text));
        info = qnnrt_lower_get_info(lower);
        for (i = 0; i < info->graph_count; ++i) check_graph(&info->graphs[i]);
        for (i = 0; i < info->finding_count; ++i) check_text(info->findings[i].text, 1024);
        if (result == QNNRT_OK) {
            qnnrt_lower__cut_all(lower, desc.contexts + 1);
            info = qnnrt_lower_get_info(lower);
            for (i = 0; i < info->graph_count; ++i) check_graph(&info->graphs[i]);
        }
    }
    qnnrt_lower_free(lower);
}

static void play(const unsigned char *data, size_t size)
{
    const unsigned char *control;
    qnnrt_ir_desc desc;
    qnnrt_error err;
    qnnrt_ir *ir = NULL;
    char *text;
    size_t bytes, i;
    if (size < CONTROL) return;
    control = data + size - CONTROL;
    text = change(data, size - CONTROL, control, &bytes);
    memset(&desc, 0, sizeof(desc));
    desc.memory_bytes = (uint64_t)1 << 26;
    desc.plain_rope = 1;
    fail_at = count = 0;
    if (qnnrt_ir_read(text, bytes, &desc, &ir, &err) == QNNRT_OK) {
        if (qnnrt_ir_check(ir, NULL, NULL, &err) == QNNRT_OK) {
            for (i = 8; i + 4 <= CONTROL; i += 4) change_one(ir, control + i);
            infer_again(ir);
        }
        if (qnnrt_ir_check(ir, NULL, NULL, &err) == QNNRT_OK) {
            if (control[0] >= 128) fail_at = (control[0] - 127) * 3;
            lower_graph(ir, control);
        }
    }
    qnnrt_ir_free(ir);
    free(text);
    MUST(live == 0);
}

FUZZ_TARGET
