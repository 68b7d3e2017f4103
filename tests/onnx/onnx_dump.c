/* onnx_dump.c - print all that qnnrt_onnx.h reads of files, for tests/onnx/compare.py, which prints the same from the
   package onnx

       onnx_dump FILE ...                                                                                            */
#include "qnnrt_onnx.h"
#include <stdio.h>
#include <string.h>

/* CRC-32 as zlib has it. */
static uint32_t crc(const void *data, uint64_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    uint32_t value = 0xFFFFFFFFu;
    int k;
    for (; bytes > 0; --bytes) {
        value ^= *at++;
        for (k = 0; k < 8; ++k) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
    }
    return ~value;
}

static void names(const char *what, const char *const *list, size_t count)
{
    size_t i;
    printf(" %s", what);
    for (i = 0; i < count; ++i) printf(" <%s>", list[i]);
}

static void tensor(const char *what, const qnnrt_onnx_tensor *t)
{
    uint32_t d;
    uint64_t i;
    printf("%s <%s> %d [", what, t->name, (int)t->type);
    for (d = 0; d < t->rank; ++d) printf(" %lld", (long long)t->dims[d]);
    printf(" ] %llu", (unsigned long long)t->bytes);
    if (t->type == QNNRT_ONNX_STRING)
        for (i = 0; i < t->count; ++i) printf(" %08x", (unsigned)crc(t->strings[i].text, t->strings[i].bytes));
    else printf(" %08x", (unsigned)crc(t->data, t->bytes));
    printf("%s\n", t->sparse ? " sparse" : "");
}

static void type(const qnnrt_onnx_value *v)
{
    uint32_t d;
    printf(" %s %d", qnnrt_onnx_kind_name(v->kind), (int)v->type);
    if (v->ranked) {
        printf(" [");
        for (d = 0; d < v->rank; ++d) printf(" %lld<%s>", (long long)v->dims[d].value, v->dims[d].param);
        printf(" ]");
    }
    if (v->element != NULL) type(v->element);
}

static void values(const char *what, const qnnrt_onnx_value *list, size_t count)
{
    size_t i;
    for (i = 0; i < count; ++i) {
        printf("%s <%s>", what, list[i].name);
        type(&list[i]);
        printf("\n");
    }
}

static void graph(const qnnrt_onnx_graph *g);

static void attrs(const qnnrt_onnx_attr *list, size_t count)
{
    size_t i, k;
    for (i = 0; i < count; ++i) {
        const qnnrt_onnx_attr *a = &list[i];
        printf("attr <%s> %d <%s>", a->name, (int)a->kind, a->ref);
        if (a->ref[0] == '\0' && a->kind == QNNRT_ONNX_ATTR_FLOAT) printf(" %08x", (unsigned)crc(&a->f, 4));
        if (a->ref[0] == '\0' && a->kind == QNNRT_ONNX_ATTR_INT) printf(" %lld", (long long)a->i);
        if (a->ref[0] == '\0' && a->kind == QNNRT_ONNX_ATTR_STRING) printf(" %08x", (unsigned)crc(a->s.text, a->s.bytes));
        if (a->ref[0] == '\0' && a->kind == QNNRT_ONNX_ATTR_FLOATS) printf(" %08x", (unsigned)crc(a->floats, a->count * 4));
        for (k = 0; a->kind == QNNRT_ONNX_ATTR_INTS && k < a->count; ++k) printf(" %lld", (long long)a->ints[k]);
        for (k = 0; a->kind == QNNRT_ONNX_ATTR_STRINGS && k < a->count; ++k)
            printf(" %08x", (unsigned)crc(a->strings[k].text, a->strings[k].bytes));
        for (k = 0; a->types != NULL && k < a->count; ++k) type(&a->types[k]);
        printf("\n");
        for (k = 0; a->tensors != NULL && k < a->count; ++k) tensor("tensor", &a->tensors[k]);
        for (k = 0; a->graphs != NULL && k < a->count; ++k) graph(&a->graphs[k]);
    }
}

static void nodes(const qnnrt_onnx_node *list, size_t count)
{
    size_t i;
    for (i = 0; i < count; ++i) {
        printf("node %llu <%s> <%s> <%s> <%s>", (unsigned long long)list[i].number, list[i].name, list[i].op, list[i].domain, list[i].overload);
        names("reads", list[i].inputs, list[i].input_count);
        names("writes", list[i].outputs, list[i].output_count);
        printf("\n");
        attrs(list[i].attrs, list[i].attr_count);
    }
}

static void graph(const qnnrt_onnx_graph *g)
{
    size_t i;
    printf("graph <%s>\n", g->name);
    values("input", g->inputs, g->input_count);
    values("output", g->outputs, g->output_count);
    values("value", g->values, g->value_count);
    for (i = 0; i < g->initializer_count; ++i) tensor("initializer", &g->initializers[i]);
    nodes(g->nodes, g->node_count);
}

static void opsets(const qnnrt_onnx_opset *list, size_t count)
{
    size_t i;
    for (i = 0; i < count; ++i) printf("opset <%s> %lld\n", list[i].domain, (long long)list[i].version);
}

static void model(const qnnrt_onnx *o)
{
    size_t i;
    printf("ir %lld version %lld <%s> <%s> <%s>\n", (long long)o->ir_version, (long long)o->model_version, o->producer, o->producer_version, o->domain);
    opsets(o->opsets, o->opset_count);
    for (i = 0; i < o->metadata_count; ++i) printf("metadata <%s> %08x\n", o->metadata[i].key, (unsigned)crc(o->metadata[i].value, strlen(o->metadata[i].value)));
    graph(o->graph);
    for (i = 0; i < o->function_count; ++i) {
        const qnnrt_onnx_function *f = &o->functions[i];
        printf("function <%s> <%s> <%s>", f->name, f->domain, f->overload);
        names("reads", f->inputs, f->input_count);
        names("writes", f->outputs, f->output_count);
        names("attributes", f->attr_names, f->attr_name_count);
        printf("\n");
        opsets(f->opsets, f->opset_count);
        attrs(f->defaults, f->default_count);
        values("value", f->values, f->value_count);
        nodes(f->nodes, f->node_count);
    }
}

int main(int argc, char **argv)
{
    int i;
    for (i = 1; i < argc; ++i) {
        qnnrt_onnx *onnx;
        qnnrt_error err;
        printf("file %s\n", argv[i]);
        if (qnnrt_onnx_open(argv[i], NULL, &onnx, &err) != QNNRT_OK) {
            printf("refused %s\n", err.text);
            continue;
        }
        model(onnx);
        qnnrt_onnx_free(onnx);
    }
    return 0;
}
