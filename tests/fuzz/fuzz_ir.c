/* fuzz_ir.c - hostile graphs: read, check, write, fold, evaluate and edit them

   An input is the text of a graph, followed by CONTROL bytes that choose limits, failing allocations
   and edits. Whatever happens, there must be no crash, no leak and no text without an end; a graph
   without findings stays so after folding and ordering, and when it is written and read again; then it is written as
   the same text, and so is a copy. */
#include "qnnrt_ir_passes.h"
#include "qnnrt_json.h"
#define FUZZ_NAME "fuzz_ir"
#include "fuzz.h"
#include "sink.h"

enum { CONTROL = 4 };

static long live, count, fail_at;

static void *hook_alloc(void *user, size_t bytes)
{
    void *data = ++count == fail_at || bytes > (size_t)1 << 28 ? NULL : malloc(bytes);
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

/* What holds for every graph, with findings or without. */
static void check_graph(const qnnrt_ir *ir)
{
    size_t i, k;
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        MUST(node->at == i && node->op != NULL && node->name != NULL && node->source != NULL && node->mapping != NULL);
        for (k = 0; k < node->output_count; ++k) MUST(node->outputs[k] != NULL && node->outputs[k]->name != NULL);
        for (k = 0; k < node->attr_count; ++k) MUST(node->attrs[k].name != NULL && node->attrs[k].text != NULL);
    }
    for (i = 0; i < ir->value_count; ++i) MUST(ir->values[i]->rank <= QNNRT_IR_RANK && ir->values[i]->name != NULL);
    for (i = 0; i < ir->output_count; ++i) MUST(ir->outputs[i] != NULL && ir->outputs[i]->is_output > 0);
    for (i = 0; i < ir->input_count; ++i) MUST(ir->inputs[i] != NULL);
}

static void edit(qnnrt_ir *ir, unsigned char how)
{
    qnnrt_ir_node *node;
    qnnrt_ir_value *value;
    if (ir->node_count == 0) return;
    node = ir->nodes[how % ir->node_count];
    if (node->output_count == 0 || node->input_count == 0 || node->inputs[0] == NULL) return;
    value = qnnrt_ir_add_value(ir, node->name, node->outputs[0]->dtype, node->outputs[0]->rank, node->outputs[0]->dims);
    if (value == NULL || qnnrt_ir_add_node(ir, node, "neg.default", node->outputs, 1, &value, 1) == NULL) return;
    qnnrt_ir_replace(ir, node->inputs[0], value);
    qnnrt_ir_kill(ir, node, "edited");
}

static qnnrt_result write_graph(const qnnrt_ir *ir, sink *s)
{
    qnnrt_json_writer w;
    qnnrt_result result;
    memset(s, 0, sizeof(*s));
    qnnrt_json_write_begin(&w, sink_write, s, 0);
    result = qnnrt_ir_write(ir, &w, NULL);
    MUST(qnnrt_json_write_end(&w) || result != QNNRT_OK);
    return result;
}

/* Write a graph without findings, read it, and write it again. */
static void write_twice(const qnnrt_ir *ir)
{
    qnnrt_ir_desc desc;
    qnnrt_ir *read = NULL;
    qnnrt_result result;
    sink first, second;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = hook_alloc;
    desc.hooks.free = hook_free;
    result = write_graph(ir, &first);
    MUST(result == QNNRT_OK || result == QNNRT_E_MEMORY || result == QNNRT_E_ARG);
    if (result == QNNRT_OK) {
        result = qnnrt_ir_read(first.text, first.used, &desc, &read, NULL);
        MUST(result == QNNRT_OK || result == QNNRT_E_MEMORY);
    }
    if (read != NULL) {
        MUST(read->input_count == ir->input_count && read->output_count == ir->output_count);
        result = qnnrt_ir_check(read, NULL, NULL, NULL);
        MUST(result == QNNRT_OK || result == QNNRT_E_MEMORY);
        result = write_graph(read, &second);
        MUST(result == QNNRT_E_MEMORY ||
             (result == QNNRT_OK && first.used == second.used && memcmp(first.text, second.text, first.used) == 0));
        free(second.text);
    }
    qnnrt_ir_free(read);
    free(first.text);
}

/* Copy a graph. same: it is written as the same text */
static void copy(const qnnrt_ir *ir, int same)
{
    qnnrt_ir *made = NULL;
    sink first, second;
    const qnnrt_result result = qnnrt_ir_copy(ir, NULL, &made, NULL);
    MUST((result == QNNRT_OK) == (made != NULL));
    MUST(result == QNNRT_OK || result == QNNRT_E_MEMORY || result == QNNRT_E_LIMIT || (!same && result == QNNRT_E_ARG));
    if (made == NULL) return;
    check_graph(made);
    MUST(made->input_count == ir->input_count && made->output_count == ir->output_count);
    if (write_graph(ir, &first) == QNNRT_OK && same && write_graph(made, &second) == QNNRT_OK) {
        MUST(first.used == second.used && memcmp(first.text, second.text, first.used) == 0);
        free(second.text);
    }
    free(first.text);
    qnnrt_ir_free(made);
}

/* Take every other node. */
static void extract(const qnnrt_ir *ir)
{
    const qnnrt_ir_node *nodes[64];
    qnnrt_ir *part = NULL;
    qnnrt_result result;
    size_t i, taken = 0;
    for (i = 0; i < ir->node_count && taken < 64; i += 2) nodes[taken++] = ir->nodes[i];
    result = qnnrt_ir_extract(ir, nodes, taken, NULL, 0, (const qnnrt_ir_value *const *)ir->outputs, ir->output_count, NULL,
                              &part, NULL);
    MUST((result == QNNRT_OK) == (part != NULL));
    MUST(result == QNNRT_OK || result == QNNRT_E_MEMORY || result == QNNRT_E_UNSUPPORTED || result == QNNRT_E_LIMIT);
    if (part != NULL) {
        result = qnnrt_ir_check(part, NULL, NULL, NULL);
        MUST(result == QNNRT_OK || result == QNNRT_E_MEMORY);
        check_graph(part);
    }
    qnnrt_ir_free(part);
}

static void play(const unsigned char *data, size_t size)
{
    const qnnrt_ir_finding *list;
    const unsigned char *control;
    qnnrt_ir_desc desc;
    qnnrt_error err;
    qnnrt_ir *ir = NULL;
    qnnrt_result result;
    size_t found, i;
    if (size < CONTROL) return;
    control = data + size - CONTROL;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = hook_alloc;
    desc.hooks.free = hook_free;
    desc.memory_bytes = (uint64_t)1 << 26;
    desc.nodes = control[1] < 20 ? control[1] : 0;
    desc.findings = control[2] < 4 ? control[2] : 0;
    count = 0;
    fail_at = control[0] >= 200 ? control[0] - 199 : 0;
    memset(&err, 0xFF, sizeof(err));
    result = qnnrt_ir_read((const char *)data, size - CONTROL, &desc, &ir, &err);
    MUST((result == QNNRT_OK) == (ir != NULL) && result == err.code);
    if (result != QNNRT_OK) {
        check_text(err.text, sizeof(err.text));
    } else {
        check_graph(ir);
        result = qnnrt_ir_check(ir, &list, &found, &err);
        if (result != QNNRT_OK) check_text(err.text, sizeof(err.text));
        for (i = 0; result != QNNRT_E_MEMORY && i < found; ++i) check_text(list[i].text, 1024);
        if (result == QNNRT_OK) {
            MUST(found == 0);
            write_twice(ir);
            copy(ir, 1);
            extract(ir);
            result = qnnrt_ir_fold(ir, 4096, NULL, &err);
            MUST(result == QNNRT_OK || result == QNNRT_E_MEMORY || result == QNNRT_E_UNSUPPORTED);
            check_graph(ir);
            if (result == QNNRT_OK) {
                result = qnnrt_ir_check(ir, NULL, NULL, &err);
                MUST(result == QNNRT_OK || result == QNNRT_E_MEMORY);
                if (result == QNNRT_OK) write_twice(ir);
            }
        }
        if (control[3] < 128) edit(ir, control[3]);
        copy(ir, 0);
        (void)qnnrt_ir_tidy(ir, &err);
        (void)qnnrt_ir_check(ir, NULL, NULL, &err);
        check_graph(ir);
    }
    qnnrt_ir_free(ir);
    MUST(live == 0);
}

FUZZ_TARGET
