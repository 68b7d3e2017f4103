/* fuzz_onnx.c - hostile .onnx files through all of qnnrt_onnx.h

   An input is a model, or a tensor alone, followed by CONTROL bytes, which choose limits and failing allocations.
   External data lie in a file "w" of 64 bytes. Whatever happens, there must be no crash, no leak, an error text
   without control characters; and after success every tensor has its bytes, every name is known where it is read,
   and nodes stand in an order in which they can run: this is checked in another way than the header does it. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_ONNX_IMPLEMENTATION
#include "qnnrt_onnx.h"
#define FUZZ_NAME "fuzz_onnx"
#include "fuzz.h"
#include <sys/stat.h>
#include <unistd.h>

enum { CONTROL = 6, NAMES = 4000 };

#include "fuzz_model.h"

static char folder[64];

static void remove_folder(void)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/w", folder);
    unlink(path);
    rmdir(folder);
}

/* Make the folder with its file. */
static void make_folder(void)
{
    char path[128];
    FILE *file;
    int i;
    if (folder[0] != '\0') return;
    snprintf(folder, sizeof(folder), "%s/qnnrt-fuzz-%ld", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
    mkdir(folder, 0700);
    atexit(remove_folder);
    snprintf(path, sizeof(path), "%s/w", folder);
    file = fopen(path, "wb");
    MUST(file != NULL);
    for (i = 0; i < 64; ++i) fputc(i, file);
    MUST(fclose(file) == 0);
}

/* ---- promises ------------------------------------------------------------------------------- */

static uint32_t sum;

static void check_tensor(const qnnrt_onnx_tensor *t)
{
    uint64_t count = 1, i;
    uint32_t d;
    int empty = 0;
    MUST(t->name != NULL && t->file != NULL);
    for (d = 0; d < t->rank; ++d) {
        MUST(t->dims[d] >= 0);
        empty |= t->dims[d] == 0;
    }
    for (d = 0; d < t->rank && !empty; ++d) count *= (uint64_t)t->dims[d];
    MUST(t->count == (empty ? 0 : count));
    if (t->type == QNNRT_ONNX_STRING) {
        for (i = 0; i < t->count; ++i) {
            MUST(t->strings[i].text[t->strings[i].bytes] == '\0');
            sum += (uint32_t)strlen(t->strings[i].text);
        }
        return;
    }
    MUST(t->bytes == (t->count * qnnrt_onnx_type_bits((int)t->type) + 7) / 8 && (t->data != NULL) == (t->bytes > 0));
    for (i = 0; i < t->bytes; ++i) sum += ((const unsigned char *)t->data)[i];
}

static void check_value(const qnnrt_onnx_value *v)
{
    uint32_t d;
    MUST(v->name != NULL && qnnrt_onnx_kind_name(v->kind)[0] != '?');
    for (d = 0; d < v->rank; ++d) MUST(v->dims[d].value >= -1 && v->dims[d].param != NULL);
    if (v->element != NULL) check_value(v->element);
}

/* The names that are known, in the order in which they became so. */
static const char *known[NAMES];
static size_t      known_count;

static void know(const char *name)
{
    MUST(known_count < NAMES);
    known[known_count++] = name;
}

static int knows(const char *name)
{
    size_t i = known_count;
    while (i > 0) if (strcmp(known[--i], name) == 0) return 1;
    return 0;
}

static void check_graph(const qnnrt_onnx_graph *g);

static void check_attr(const qnnrt_onnx_attr *a)
{
    size_t i;
    MUST(a->name[0] != '\0' && a->kind <= QNNRT_ONNX_ATTR_TYPES && a->s.text[a->s.bytes] == '\0');
    if (a->ref[0] != '\0') {
        MUST(a->count == 0);
        return;
    }
    for (i = 0; i < a->count; ++i) {
        if (a->kind == QNNRT_ONNX_ATTR_FLOATS) sum += a->floats[i] > 0;
        if (a->kind == QNNRT_ONNX_ATTR_INTS) sum += (uint32_t)a->ints[i];
        if (a->kind == QNNRT_ONNX_ATTR_STRINGS) MUST(a->strings[i].text[a->strings[i].bytes] == '\0');
        if (a->tensors != NULL) check_tensor(&a->tensors[i]);
        if (a->graphs != NULL) check_graph(&a->graphs[i]);
        if (a->types != NULL) check_value(&a->types[i]);
    }
}

static void check_nodes(const qnnrt_onnx_node *nodes, size_t count)
{
    size_t i, k;
    for (i = 0; i < count; ++i) {
        const qnnrt_onnx_node *n = &nodes[i];
        MUST(n->op[0] != '\0' && strcmp(n->domain, "ai.onnx") != 0 && n->number < count);
        for (k = 0; k < n->input_count; ++k) MUST(n->inputs[k][0] == '\0' || knows(n->inputs[k]));
        for (k = 0; k < n->attr_count; ++k) {
            check_attr(&n->attrs[k]);
            MUST(qnnrt_onnx_attr_find(n, n->attrs[k].name) == &n->attrs[k]);
        }
        for (k = 0; k < n->output_count; ++k) know(n->outputs[k]);
    }
}

static void check_graph(const qnnrt_onnx_graph *g)
{
    const size_t before = known_count;
    size_t i;
    for (i = 0; i < g->initializer_count; ++i) {
        check_tensor(&g->initializers[i]);
        know(g->initializers[i].name);
    }
    for (i = 0; i < g->input_count; ++i) {
        check_value(&g->inputs[i]);
        if (g->inputs[i].initial != NULL) MUST(strcmp(g->inputs[i].initial->name, g->inputs[i].name) == 0);
        know(g->inputs[i].name);
    }
    for (i = 0; i < g->value_count; ++i) check_value(&g->values[i]);
    check_nodes(g->nodes, g->node_count);
    for (i = 0; i < g->output_count; ++i) {
        check_value(&g->outputs[i]);
        MUST(knows(g->outputs[i].name));
    }
    known_count = before;
}

static void check_function(const qnnrt_onnx_function *f)
{
    const size_t before = known_count;
    size_t i;
    MUST(f->name[0] != '\0');
    for (i = 0; i < f->input_count; ++i) know(f->inputs[i]);
    for (i = 0; i < f->default_count; ++i) check_attr(&f->defaults[i]);
    check_nodes(f->nodes, f->node_count);
    for (i = 0; i < f->output_count; ++i) MUST(knows(f->outputs[i]));
    for (i = 0; i < f->attr_name_count; ++i) sum += (uint32_t)strlen(f->attr_names[i]);
    for (i = 0; i < f->value_count; ++i) check_value(&f->values[i]);
    known_count = before;
}

static void check(const qnnrt_onnx *onnx)
{
    size_t i;
    known_count = 0;
    for (i = 0; i < onnx->metadata_count; ++i) MUST(onnx->metadata[i].key != NULL && onnx->metadata[i].value != NULL);
    for (i = 0; i < onnx->opset_count; ++i) MUST(qnnrt_onnx_opset_find(onnx->opsets, onnx->opset_count, onnx->opsets[i].domain) == onnx->opsets[i].version);
    check_graph(onnx->graph);
    for (i = 0; i < onnx->function_count; ++i) check_function(&onnx->functions[i]);
}

static void play(const unsigned char *data, size_t size)
{
    qnnrt_onnx_desc desc;
    qnnrt_onnx *onnx = NULL;
    qnnrt_error err;
    qnnrt_result result;
    if (size < CONTROL || size > NAMES) return;  /* a name needs two bytes */
    size -= CONTROL;
    chance_begin(data + size, CONTROL);
    make_folder();
    memset(&desc, 0, sizeof(desc));
    desc.folder = control[0] >= 200 ? NULL : folder;
    desc.memory_bytes = control[1] >= 250 ? (uint64_t)1 << (control[1] - 240) : (uint64_t)1 << 26;
    desc.expand_bytes = 1 << 16;
    desc.files = chance(4) == 0 ? 1 : 0;
    desc.nodes = control[2] >= 250 ? 3 : 1000;
    desc.name_bytes = control[2] < 5 ? 3 : 0;
    desc.hooks.alloc = hook_alloc;
    desc.hooks.free = hook_free;
    desc.hooks.log = hook_log;
    alloc_count = alloc_sum = 0;
    alloc_fail_at = control[3] >= 128 ? (uint64_t)(control[3] & 15) : 0;
    alloc_fail_on = control[3] >> 6 & 1;
    result = control[0] % 8 == 7 ? qnnrt_onnx_read_tensor(data, size, &desc, &onnx, fresh(&err)) : qnnrt_onnx_read(data, size, &desc, &onnx, fresh(&err));
    if (GOOD(result, onnx, &err)) check(onnx);
    else MUST(err.hint[0] == '\0' || (strchr(err.hint, '\n') == NULL && strlen(err.hint) < sizeof(err.hint)));
    MUST(sum != 0xFFFFFFFFu);
    qnnrt_onnx_free(onnx);
    MUST(alloc_live == 0 && alloc_bytes == 0);
}

FUZZ_TARGET
