/* test_onnx.c - qnnrt_onnx.h: what files may have is read, and what is wrong is refused with a sentence */
#include "qnnrt_onnx.h"
#include "counted.h"
#include "files.h"
#include "onnx_bytes.h"
#include "test.h"

static onnx_bytes m;                 /* the model that a test writes */
static qnnrt_onnx *onnx;             /* the one that is open */
static qnnrt_error refusal;

/* Read m. The block has its size, so that ASan sees a read beyond it. */
static void *block;
static qnnrt_result read_model(const qnnrt_onnx_desc *desc)
{
    qnnrt_onnx_free(onnx);
    onnx = NULL;
    free(block);
    block = malloc(m.bytes + (m.bytes == 0));
    if (block == NULL) return QNNRT_E_MEMORY;
    memcpy(block, m.data, m.bytes);
    memset(&refusal, 0xFF, sizeof refusal);
    return qnnrt_onnx_read(block, m.bytes, desc, &onnx, &refusal);
}

#define READ() CHECK_EQ(read_model(NULL), QNNRT_OK)
#define REFUSE(result, needle) \
    do { \
        CHECK_EQ(read_model(NULL), result); \
        CHECK(onnx == NULL && refusal.code == result); \
        CHECK_STR(refusal.text, needle); \
    } while (0)

/* Begin a model with one Relu; the caller adds to the graph and ends it. */
static size_t relu(void)
{
    const size_t graph = put_model(&m);
    put_value(&m, 11, "x", 1, "2 3");
    put_value(&m, 12, "y", 1, "2 3");
    put_node(&m, 1, "Relu", "act", "x", "y");
    return graph;
}

/* ---- what is read --------------------------------------------------------------------------------- */

TEST(onnx_reads_a_model)
{
    size_t graph, value, type;
    const qnnrt_onnx_value *x;
    m.bytes = 0;
    put_text(&m, 2, "maker");
    put_text(&m, 3, "1.2");
    put_text(&m, 4, "org");
    put_int(&m, 5, 7);
    put_text(&m, 6, "a text for readers");
    graph = put_begin(&m, 7);        /* before ir_version: any order will do */
    put_text(&m, 2, "main");
    put_text(&m, 10, "another text");
    put_node(&m, 1, "Add", "sum", "x w", "s");
    put_node(&m, 1, "Clip", "", "s - -", "y -");
    put_value(&m, 11, "x", 1, "2 batch ? -1");
    put_value(&m, 11, "n", 7, "");
    put_value(&m, 11, "u", 1, NULL);
    put_value(&m, 11, "none", 0, NULL);
    put_value(&m, 13, "s", 10, "2");
    put_value(&m, 12, "y", 1, NULL);
    value = put_tensor(&m, 5, "w", 1, "2");
    put_bytes(&m, 9, "\0\0\200\77\0\0\0\100", 8);
    put_end(&m, value);
    put_end(&m, graph);
    put_int(&m, 1, 9);
    put_opset(&m, 8, "", 21);
    put_opset(&m, 8, "com.microsoft", 1);
    put_pair(&m, 14, "stage", "test");
    put_int(&m, 99, 3);              /* not known */
    put_text(&m, 98, "skipped");
    type = put_begin(&m, 20);        /* training */
    put_end(&m, type);
    READ();
    CHECK_EQ(onnx->ir_version, 9);
    CHECK_EQ(onnx->model_version, 7);
    CHECK(strcmp(onnx->producer, "maker") == 0 && strcmp(onnx->producer_version, "1.2") == 0 && strcmp(onnx->domain, "org") == 0);
    CHECK_EQ(qnnrt_onnx_opset_find(onnx->opsets, onnx->opset_count, ""), 21);
    CHECK_EQ(qnnrt_onnx_opset_find(onnx->opsets, onnx->opset_count, "com.microsoft"), 1);
    CHECK_EQ(qnnrt_onnx_opset_find(onnx->opsets, onnx->opset_count, "ai.onnx.ml"), 0);
    CHECK(onnx->metadata_count == 1 && strcmp(onnx->metadata[0].key, "stage") == 0 && strcmp(onnx->metadata[0].value, "test") == 0);
    CHECK(strcmp(onnx->graph->name, "main") == 0);
    CHECK_EQ(onnx->graph->node_count, 2);
    CHECK(strcmp(onnx->graph->nodes[0].op, "Add") == 0 && strcmp(onnx->graph->nodes[0].name, "sum") == 0);
    CHECK(onnx->graph->nodes[1].input_count == 3 && strcmp(onnx->graph->nodes[1].inputs[1], "") == 0);
    CHECK(onnx->graph->nodes[1].output_count == 2 && strcmp(onnx->graph->nodes[1].outputs[1], "") == 0);
    CHECK(strcmp(onnx->graph->nodes[1].name, "") == 0 && strcmp(onnx->graph->nodes[1].domain, "") == 0);
    CHECK_EQ(onnx->graph->input_count, 4);
    x = onnx->graph->inputs;
    CHECK(x->kind == QNNRT_ONNX_TENSOR && x->type == QNNRT_ONNX_FLOAT && x->ranked && x->rank == 4 && x->initial == NULL);
    CHECK(x->dims[0].value == 2 && x->dims[0].param[0] == '\0');
    CHECK(x->dims[1].value == -1 && strcmp(x->dims[1].param, "batch") == 0);
    CHECK(x->dims[2].value == -1 && x->dims[2].param[0] == '\0' && x->dims[3].value == -1);
    CHECK(x[1].ranked && x[1].rank == 0 && x[1].type == QNNRT_ONNX_INT64);
    CHECK(!x[2].ranked && x[2].kind == QNNRT_ONNX_TENSOR);
    CHECK(x[3].kind == QNNRT_ONNX_NO_TYPE && strcmp(qnnrt_onnx_kind_name(x[3].kind), "no type") == 0);
    CHECK(onnx->graph->value_count == 1 && onnx->graph->values[0].type == QNNRT_ONNX_FLOAT16);
    CHECK(onnx->graph->initializer_count == 1 && onnx->graph->initializers[0].count == 2 && onnx->graph->initializers[0].bytes == 8);
    CHECK((const char *)onnx->graph->initializers[0].data > (const char *)block);      /* not copied */
    CHECK(memcmp(onnx->graph->initializers[0].data, "\0\0\200\77\0\0\0\100", 8) == 0);
}

/* A type within a type: field is that of the outer one, 4 a sequence, 9 an optional. */
static void put_holder(unsigned field, int deep)
{
    const size_t holder = put_begin(&m, field), element = put_begin(&m, 1);
    if (deep > 0) {
        put_holder(4, deep - 1);
    } else {
        const size_t tensor = put_begin(&m, 1);
        put_int(&m, 1, 7);
        put_end(&m, tensor);
    }
    put_end(&m, element);
    put_end(&m, holder);
}

TEST(onnx_reads_types_of_values)
{
    size_t graph = relu(), value, type, part, inner;
    int i;
    for (i = 0; i < 5; ++i) {
        static const char *const names[] = { "sequence", "optional", "map", "opaque", "sparse" };
        value = put_begin(&m, 11);
        put_text(&m, 1, names[i]);
        type = put_begin(&m, 2);
        if (i == 0) put_holder(4, 0);
        if (i == 1) put_holder(9, 1);
        if (i == 2) {
            part = put_begin(&m, 5);
            put_int(&m, 1, 8);
            inner = put_begin(&m, 2);
            put_holder(4, 0);
            put_end(&m, inner);
            put_end(&m, part);
        }
        if (i == 3) put_text(&m, 7, "");
        if (i == 4) {
            part = put_begin(&m, 8);
            put_int(&m, 1, 11);
            put_shape(&m, 2, "4 n");
            put_end(&m, part);
        }
        put_end(&m, type);
        put_end(&m, value);
    }
    put_end(&m, graph);
    READ();
    {
        const qnnrt_onnx_value *v = onnx->graph->inputs + 1;
        CHECK(v[0].kind == QNNRT_ONNX_SEQUENCE && v[0].element->kind == QNNRT_ONNX_TENSOR && v[0].element->type == QNNRT_ONNX_INT64);
        CHECK(v[1].kind == QNNRT_ONNX_OPTIONAL && v[1].element->kind == QNNRT_ONNX_SEQUENCE && v[1].element->element->type == QNNRT_ONNX_INT64);
        CHECK(v[2].kind == QNNRT_ONNX_MAP && v[2].type == QNNRT_ONNX_STRING && v[2].element->kind == QNNRT_ONNX_SEQUENCE);
        CHECK(v[3].kind == QNNRT_ONNX_OPAQUE);
        CHECK(v[4].kind == QNNRT_ONNX_SPARSE && v[4].rank == 2 && v[4].dims[0].value == 4 && strcmp(v[4].dims[1].param, "n") == 0);
    }
}

/* An attribute with one field; type 0: none is given. */
static size_t attr(const char *name, int type)
{
    const size_t attribute = put_begin(&m, 5);
    put_text(&m, 1, name);
    if (type != 0) put_int(&m, 20, type);
    return attribute;
}

TEST(onnx_reads_attributes)
{
    const size_t graph = put_model(&m), node = put_node_begin(&m, 1, "Op", "n", "x", "y");
    size_t a, t, type;
    int typed;
    const float floats[3] = { 1.0f, -2.0f, 0.5f };
    const qnnrt_onnx_attr *found;
    put_value(&m, 99, "skipped", 1, "");
    for (typed = 0; typed < 2; ++typed) {        /* the type may be missing */
        char name[40];
        int kind;
        for (kind = 1; kind <= 14; ++kind) {
            static const unsigned fields[15] = { 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 22, 23, 14, 15 };
            snprintf(name, sizeof name, "%d.%d", kind, typed);
            a = attr(name, typed ? kind : 0);
            if (kind == 1) put_float(&m, 2, 1.5f);
            if (kind == 2) put_int(&m, 3, -4);
            if (kind == 3) put_bytes(&m, 4, "a\0b", 3);
            if (kind == 6 && typed) put_bytes(&m, 7, floats, sizeof floats);
            if (kind == 6 && !typed) { put_float(&m, 7, 1.0f); put_float(&m, 7, -2.0f); put_float(&m, 7, 0.5f); }
            if (kind == 7 && typed) { t = put_begin(&m, 8); put_varint(&m, 300); put_varint(&m, (uint64_t)-1); put_end(&m, t); put_int(&m, 8, 5); }
            if (kind == 7 && !typed) { put_int(&m, 8, 300); put_int(&m, 8, -1); put_int(&m, 8, 5); }
            if (kind == 8) { put_bytes(&m, 9, "one", 3); put_bytes(&m, 9, "", 0); }
            if (kind == 4 || kind == 9) {
                t = put_tensor(&m, fields[kind], "", 7, "1");
                put_int(&m, 7, 9);
                put_end(&m, t);
            }
            if (kind == 5 || kind == 10) {
                t = put_begin(&m, fields[kind]);
                put_text(&m, 2, "body");
                put_node(&m, 1, "Neg", "", "x", "inner");
                put_value(&m, 12, "inner", 0, NULL);
                put_end(&m, t);
            }
            if (kind == 11 || kind == 12) {
                size_t part;
                t = put_begin(&m, fields[kind]);
                part = put_tensor(&m, 1, "", 6, "1");
                put_int(&m, 5, -3);
                put_end(&m, part);
                part = put_tensor(&m, 2, "", 7, "1");
                put_int(&m, 7, 2);
                put_end(&m, part);
                put_int(&m, 3, 4);
                put_end(&m, t);
            }
            if (kind >= 13) {
                type = put_begin(&m, fields[kind]);
                put_holder(4, 0);
                put_end(&m, type);
            }
            put_end(&m, a);
        }
    }
    a = attr("empty", QNNRT_ONNX_ATTR_INTS);     /* a list without elements has no fields */
    put_end(&m, a);
    a = attr("zero", QNNRT_ONNX_ATTR_INT);       /* proto3 leaves zeros out */
    put_end(&m, a);
    put_end(&m, node);
    put_value(&m, 11, "x", 1, "1");
    put_value(&m, 12, "y", 1, "1");
    put_end(&m, graph);
    READ();
    for (typed = 0; typed < 2; ++typed) {
        const qnnrt_onnx_attr *at = onnx->graph->nodes[0].attrs + 14 * typed;
        int kind;
        for (kind = 1; kind <= 14; ++kind) CHECK_EQ(at[kind - 1].kind, kind);
        CHECK(at[0].f == 1.5f);
        CHECK(at[1].i == -4);
        CHECK(at[2].s.bytes == 3 && memcmp(at[2].s.text, "a\0b", 4) == 0);
        CHECK(at[3].count == 1 && at[3].tensors->count == 1 && *(const char *)at[3].tensors->data == 9);
        CHECK(at[4].count == 1 && strcmp(at[4].graphs->nodes[0].op, "Neg") == 0);
        CHECK(at[5].count == 3 && memcmp(at[5].floats, floats, sizeof floats) == 0);
        CHECK(at[6].count == 3 && at[6].ints[0] == 300 && at[6].ints[1] == -1 && at[6].ints[2] == 5);
        CHECK(at[7].count == 2 && strcmp(at[7].strings[0].text, "one") == 0 && at[7].strings[1].bytes == 0);
        CHECK(at[8].count == 1 && at[8].tensors != NULL && at[9].count == 1 && at[9].graphs != NULL);
        CHECK(at[10].count == 1 && at[10].tensors->sparse && at[10].tensors->count == 4);
        CHECK(((const int32_t *)at[10].tensors->data)[2] == -3 && ((const int32_t *)at[10].tensors->data)[0] == 0);
        CHECK(at[11].count == 1 && at[11].tensors->sparse);
        CHECK(at[12].count == 1 && at[12].types->kind == QNNRT_ONNX_SEQUENCE && at[13].count == 1 && at[13].types != NULL);
    }
    found = qnnrt_onnx_attr_find(&onnx->graph->nodes[0], "empty");
    CHECK(found != NULL && found->kind == QNNRT_ONNX_ATTR_INTS && found->count == 0);
    found = qnnrt_onnx_attr_find(&onnx->graph->nodes[0], "zero");
    CHECK(found != NULL && found->i == 0 && qnnrt_onnx_attr_find(&onnx->graph->nodes[0], "absent") == NULL);
}

/* Numbers of a list, and the bytes that they stand for. */
typedef struct list_case {
    int         type;
    unsigned    field;
    const char *dims;
    int64_t     numbers[4];
    int         count;
    const char *expected;
    size_t      bytes;
} list_case;

static const list_case lists[] = {
    { QNNRT_ONNX_FLOAT, 4, "2", { 0x3F800000, 0xBF800000 }, 2, "\0\0\200\77\0\0\200\277", 8 },
    { QNNRT_ONNX_UINT8, 5, "2", { 0, 255 }, 2, "\0\377", 2 },
    { QNNRT_ONNX_INT8, 5, "2", { -128, 127 }, 2, "\200\177", 2 },
    { QNNRT_ONNX_UINT16, 5, "1 2", { 65535, 1 }, 2, "\377\377\1\0", 4 },
    { QNNRT_ONNX_INT16, 5, "2", { -2, 258 }, 2, "\376\377\2\1", 4 },
    { QNNRT_ONNX_INT32, 5, "2", { -2, 1 << 24 }, 2, "\376\377\377\377\0\0\0\1", 8 },
    { QNNRT_ONNX_INT64, 7, "1", { -2 }, 1, "\376\377\377\377\377\377\377\377", 8 },
    { QNNRT_ONNX_INT64, 7, "", { 5 }, 1, "\5\0\0\0\0\0\0\0", 8 },
    { QNNRT_ONNX_BOOL, 5, "3", { 1, 0, 1 }, 3, "\1\0\1", 3 },
    { QNNRT_ONNX_FLOAT16, 5, "2", { 0x3C00, 0xBC00 }, 2, "\0\74\0\274", 4 },
    { QNNRT_ONNX_BFLOAT16, 5, "1", { 0x3F80 }, 1, "\200\77", 2 },
    { QNNRT_ONNX_DOUBLE, 10, "1", { 0x3FF0000000000000 }, 1, "\0\0\0\0\0\0\360\77", 8 },
    { QNNRT_ONNX_UINT32, 11, "2", { 0xFFFFFFFF, 1 }, 2, "\377\377\377\377\1\0\0\0", 8 },
    { QNNRT_ONNX_UINT64, 11, "1", { -1 }, 1, "\377\377\377\377\377\377\377\377", 8 },
    { QNNRT_ONNX_COMPLEX64, 4, "1", { 0x3F800000, 0x40000000 }, 2, "\0\0\200\77\0\0\0\100", 8 },
    { QNNRT_ONNX_COMPLEX128, 10, "1", { 0x3FF0000000000000, 0 }, 2, "\0\0\0\0\0\0\360\77\0\0\0\0\0\0\0\0", 16 },
    { QNNRT_ONNX_FLOAT8E4M3FN, 5, "1", { 0xB8 }, 1, "\270", 1 },
    { QNNRT_ONNX_FLOAT8E8M0, 5, "1", { 127 }, 1, "\177", 1 },
    { QNNRT_ONNX_UINT4, 5, "3", { 0x21, 0x03 }, 2, "\41\3", 2 },
    { QNNRT_ONNX_INT4, 5, "4", { 0xF1, 0x8E }, 2, "\361\216", 2 },
    { QNNRT_ONNX_FLOAT4E2M1, 5, "2", { 0x42 }, 1, "\102", 1 },
    { QNNRT_ONNX_UINT2, 5, "5", { 0xE4, 0x01 }, 2, "\344\1", 2 },
    { QNNRT_ONNX_FLOAT6E2M3, 5, "4", { 63, 1, 2, 48 }, 4, "\177\40\300", 3 },
    { QNNRT_ONNX_FLOAT6E3M2, 5, "1", { 33 }, 1, "\41", 1 },
    { QNNRT_ONNX_FLOAT, 4, "2 0", { 0 }, 0, "", 0 },
    { QNNRT_ONNX_INT64, 7, "0", { 0 }, 0, "", 0 }
};

static void put_number(const list_case *c, int i)
{
    if (c->field == 4) put_raw(&m, &c->numbers[i], 4);
    else if (c->field == 10) put_raw(&m, &c->numbers[i], 8);
    else put_varint(&m, (uint64_t)c->numbers[i]);
}

/* how: 0 packed, 1 each alone, 2 the first alone and the others packed, 3 raw data */
TEST(onnx_reads_data_of_every_type)
{
    size_t i;
    int how, k;
    for (i = 0; i < sizeof lists / sizeof lists[0]; ++i)
        for (how = 0; how < 4; ++how) {
            const list_case *c = &lists[i];
            const unsigned wire = c->field == 4 ? 5 : c->field == 10 ? 1 : 0;
            const qnnrt_onnx_tensor *t;
            const size_t graph = relu(), tensor = put_tensor(&m, 5, "w", c->type, c->dims);
            size_t part;
            if (how == 3) {
                put_bytes(&m, 9, c->expected, c->bytes);
            } else {
                for (k = 0; k < c->count && (how == 1 || (how == 2 && k == 0)); ++k) {
                    put_varint(&m, c->field << 3 | wire);
                    put_number(c, k);
                }
                if (k < c->count) {
                    part = put_begin(&m, c->field);
                    for (; k < c->count; ++k) put_number(c, k);
                    put_end(&m, part);
                }
            }
            put_end(&m, tensor);
            put_end(&m, graph);
            READ();
            t = onnx->graph->initializers;
            CHECK(t->type == (qnnrt_onnx_type)c->type && t->bytes == c->bytes && (t->data == NULL) == (c->bytes == 0));
            CHECK(c->bytes == 0 || memcmp(t->data, c->expected, c->bytes) == 0);
        }
    CHECK_EQ(qnnrt_onnx_type_bits(QNNRT_ONNX_FLOAT6E2M3), 6);
    CHECK(strcmp(qnnrt_onnx_type_name(QNNRT_ONNX_BFLOAT16), "bfloat16") == 0 && strcmp(qnnrt_onnx_type_name(99), "?") == 0);
}

TEST(onnx_reads_texts)
{
    size_t graph = relu(), tensor = put_tensor(&m, 5, "w", QNNRT_ONNX_STRING, "3");
    put_bytes(&m, 6, "one", 3);
    put_bytes(&m, 6, "\377\0", 2);
    put_bytes(&m, 6, "", 0);
    put_end(&m, tensor);
    put_end(&m, graph);
    READ();
    CHECK(onnx->graph->initializers->strings[1].bytes == 2 && onnx->graph->initializers->data == NULL);
    graph = relu();
    tensor = put_tensor(&m, 5, "w", QNNRT_ONNX_STRING, "2");
    put_bytes(&m, 6, "one", 3);
    put_end(&m, tensor);
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "tensor \"w\": its dims stand for 2 texts, field \"string_data\" has 1");
}

TEST(onnx_reads_a_tensor_alone)
{
    qnnrt_onnx *lone;
    qnnrt_error err;
    m.bytes = 0;
    put_int(&m, 1, 2);
    put_int(&m, 2, 1);
    put_text(&m, 8, "input");
    put_bytes(&m, 9, "\0\0\200\77\0\0\0\100", 8);
    CHECK_EQ(qnnrt_onnx_read_tensor(m.data, m.bytes, NULL, &lone, &err), QNNRT_OK);
    CHECK(lone->graph->initializer_count == 1 && lone->graph->initializers->bytes == 8 && strcmp(lone->graph->initializers->name, "input") == 0);
    qnnrt_onnx_free(lone);
    CHECK_EQ(qnnrt_onnx_read_tensor(m.data, m.bytes - 1, NULL, &lone, &err), QNNRT_E_FORMAT);
    CHECK_STR(err.text, "needs 8 bytes, 7 are left");
}

/* ---- sparse tensors ------------------------------------------------------------------------------- */

/* rank: of the indices, 1 or 2 */
static size_t sparse(const char *dims, int values, int rank, const int64_t *indices)
{
    const size_t graph = relu(), tensor = put_begin(&m, 15);
    char text[40];
    size_t part;
    int i;
    snprintf(text, sizeof text, "%d", values);
    part = put_tensor(&m, 1, "w", QNNRT_ONNX_INT16, text);
    for (i = 0; i < values; ++i) put_int(&m, 5, 7 + i);
    put_end(&m, part);
    if (rank == 2) snprintf(text, sizeof text, "%d 2", values);
    part = put_tensor(&m, 2, "", QNNRT_ONNX_INT64, text);
    for (i = 0; i < values * rank; ++i) put_int(&m, 7, indices[i]);
    put_end(&m, part);
    while (*dims != '\0') {
        put_int(&m, 3, atoll(dims));
        dims += strcspn(dims, " ");
        dims += *dims == ' ';
    }
    put_end(&m, tensor);
    put_end(&m, graph);
    return graph;
}

TEST(onnx_expands_sparse_tensors)
{
    static const int64_t linear[] = { 1, 5 }, pairs[] = { 0, 1, 1, 2 }, negative[] = { -1, 5 }, same[] = { 5, 5 }, beyond[] = { 0, 6 }, column[] = { 0, 3, 1, 0 };
    static const int16_t expected[6] = { 0, 7, 0, 0, 0, 8 };
    qnnrt_onnx_desc desc;
    sparse("2 3", 2, 1, linear);
    READ();
    CHECK(onnx->graph->initializer_count == 1 && strcmp(onnx->graph->initializers->name, "w") == 0 && onnx->graph->initializers->sparse);
    CHECK(onnx->graph->initializers->rank == 2 && memcmp(onnx->graph->initializers->data, expected, sizeof expected) == 0);
    sparse("2 3", 2, 2, pairs);
    READ();
    CHECK(memcmp(onnx->graph->initializers->data, expected, sizeof expected) == 0);
    sparse("2 3", 2, 1, negative);
    REFUSE(QNNRT_E_FORMAT, "index -1 of value 0 is out of the range of 6");
    sparse("2 3", 2, 1, beyond);
    REFUSE(QNNRT_E_FORMAT, "index 6 of value 1 is out of the range of 6");
    sparse("2 3", 2, 2, column);
    REFUSE(QNNRT_E_FORMAT, "index 3 of value 0 is out of the range of 3");
    sparse("2 3", 2, 1, same);
    REFUSE(QNNRT_E_FORMAT, "the indices of value 1 are not above those of the value before");
    sparse("2 0", 2, 1, linear);
    REFUSE(QNNRT_E_FORMAT, "its dims stand for no elements, but it has values");
    sparse("2 3 4", 2, 2, pairs);
    REFUSE(QNNRT_E_FORMAT, "its indices are not int64 of [values] or [values, rank]");
    sparse("1000000 1000000", 2, 1, linear);     /* 2 TB from 200 bytes */
    REFUSE(QNNRT_E_LIMIT, "sparse tensors need more than 1073741824 bytes");
    memset(&desc, 0, sizeof desc);
    desc.expand_bytes = 11;
    sparse("2 3", 2, 1, linear);
    CHECK_EQ(read_model(&desc), QNNRT_E_LIMIT);
}

/* ---- names ---------------------------------------------------------------------------------------- */

TEST(onnx_brings_nodes_into_order)
{
    const size_t graph = put_model(&m);
    put_node(&m, 1, "C", "c", "b x", "c");
    put_node(&m, 1, "A", "a", "x", "a");
    put_node(&m, 1, "B", "b", "a", "b");
    put_value(&m, 11, "x", 1, "1");
    put_value(&m, 12, "c", 1, "1");
    put_end(&m, graph);
    READ();
    CHECK(strcmp(onnx->graph->nodes[0].op, "A") == 0 && onnx->graph->nodes[0].number == 1);
    CHECK(strcmp(onnx->graph->nodes[1].op, "B") == 0 && strcmp(onnx->graph->nodes[2].op, "C") == 0);
}

/* If with a branch that reads `outer`, and writes `own`. */
static void put_if(const char *outer, const char *own)
{
    const size_t node = put_node_begin(&m, 1, "If", "choice", "cond", "z"), a = attr("then_branch", QNNRT_ONNX_ATTR_GRAPH), body = put_begin(&m, 6);
    put_node(&m, 1, "Neg", "inner", outer, own);
    put_value(&m, 12, own, 1, "1");
    put_end(&m, body);
    put_end(&m, a);
    put_end(&m, node);
}

TEST(onnx_subgraphs_see_outer_names)
{
    size_t graph = put_model(&m);
    put_value(&m, 11, "cond", 9, "");
    put_if("late", "cond");          /* reads what is written later, and has a name of the outer graph */
    put_node(&m, 1, "Abs", "writer", "cond", "late");
    put_value(&m, 12, "z", 1, "1");
    put_end(&m, graph);
    READ();
    CHECK(strcmp(onnx->graph->nodes[0].op, "Abs") == 0 && strcmp(onnx->graph->nodes[1].op, "If") == 0);
    graph = put_model(&m);
    put_value(&m, 11, "cond", 9, "");
    put_if("nowhere", "b");
    put_value(&m, 12, "z", 1, "1");
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "node 0 \"inner\" (Neg): input 0 \"nowhere\" is not an input, not an initializer, and no node writes it");
    graph = put_model(&m);
    put_value(&m, 11, "cond", 9, "");
    put_if("z", "b");                /* a branch that needs the result of its own If */
    put_value(&m, 12, "z", 1, "1");
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "node 0 \"choice\" (If) waits for its own output: a cycle");
    graph = put_model(&m);
    put_value(&m, 11, "cond", 9, "");
    put_if("cond", "hidden");
    put_node(&m, 1, "Neg", "n", "hidden", "w");  /* names of a branch are its own */
    put_value(&m, 12, "z", 1, "1");
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "node 1 \"n\" (Neg): input 0 \"hidden\" is not an input");
}

TEST(onnx_refuses_wrong_names)
{
    size_t graph = put_model(&m), tensor;
    put_node(&m, 1, "A", "first", "c", "a");
    put_node(&m, 1, "B", "second", "a", "b");
    put_node(&m, 1, "C", "third", "b", "c");
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "(A) waits for its own output: a cycle");
    graph = relu();
    put_node(&m, 1, "Neg", "other", "x", "y");
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "\"y\" is written twice, by node 0 \"act\" (Relu) and by node 1 \"other\" (Neg)");
    graph = relu();
    put_node(&m, 1, "Neg", "other", "y", "x");
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "\"x\" is written twice, by input 0 and by node 1 \"other\" (Neg)");
    graph = relu();
    put_value(&m, 11, "x", 1, "1");
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "\"x\" is written twice, by input 0 and by input 1");
    graph = relu();
    put_value(&m, 12, "absent", 1, "1");
    put_node(&m, 1, "Neg", "other", "missing", "w");
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "node 1 \"other\" (Neg): input 0 \"missing\" is not an input, not an initializer, and no node writes it");
    CHECK_STR(refusal.text, "\noutput 1 \"absent\" is not an input, not an initializer, and no node writes it");
    graph = relu();
    put_value(&m, 11, "", 1, "1");
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "input 1 has no name");
    graph = relu();
    tensor = put_tensor(&m, 5, "y", 1, "0");
    put_end(&m, tensor);
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "\"y\" is written twice, by initializer 0 and by node 0 \"act\" (Relu)");
    graph = relu();
    tensor = put_tensor(&m, 5, "x", 1, "0");     /* a default */
    put_end(&m, tensor);
    put_end(&m, graph);
    READ();
    CHECK(onnx->graph->inputs[0].initial == &onnx->graph->initializers[0]);
}

/* A function "f" that calls `calls`. */
static void put_function(const char *name, const char *calls, const char *reads)
{
    const size_t function = put_begin(&m, 25);
    size_t node, a;
    put_text(&m, 1, name);
    put_text(&m, 10, "own");
    put_words(&m, 4, "in");
    put_words(&m, 5, "out");
    put_words(&m, 6, "alpha");
    put_opset(&m, 9, "", 18);
    node = put_node_begin(&m, 7, calls, "body", reads, "out");
    put_text(&m, 7, "own");
    a = attr("slope", QNNRT_ONNX_ATTR_FLOAT);
    put_text(&m, 21, "alpha");
    put_end(&m, a);
    put_end(&m, node);
    put_end(&m, function);
}

TEST(onnx_reads_functions)
{
    size_t graph = relu();
    const qnnrt_onnx_function *f;
    put_end(&m, graph);
    put_function("f", "Leaky", "in");
    put_function("g", "f", "in");
    READ();
    f = onnx->functions;
    CHECK(onnx->function_count == 2 && strcmp(f->name, "f") == 0 && strcmp(f->domain, "own") == 0);
    CHECK(f->input_count == 1 && f->output_count == 1 && f->attr_name_count == 1 && strcmp(f->attr_names[0], "alpha") == 0);
    CHECK(f->node_count == 1 && strcmp(f->nodes[0].attrs[0].ref, "alpha") == 0 && f->nodes[0].attrs[0].kind == QNNRT_ONNX_ATTR_FLOAT);
    CHECK_EQ(qnnrt_onnx_opset_find(f->opsets, f->opset_count, ""), 18);
    put_function("h", "h", "in");
    REFUSE(QNNRT_E_FORMAT, "function \"h\" calls itself");
    put_end(&m, relu());
    put_function("f", "g", "in");
    put_function("g", "f", "in");
    REFUSE(QNNRT_E_FORMAT, "calls itself, perhaps by others");
    put_end(&m, relu());
    put_function("f", "Leaky", "in");
    put_function("f", "Leaky", "in");
    REFUSE(QNNRT_E_FORMAT, "function \"f\" of domain \"own\" is defined twice");
    put_end(&m, relu());
    put_function("f", "Leaky", "elsewhere");
    REFUSE(QNNRT_E_FORMAT, "function \"f\": node 0 \"body\" (Leaky): input 0 \"elsewhere\" is not an input");
}

/* ---- external data -------------------------------------------------------------------------------- */

/* A model with a float tensor [4] in a file; NULL: the key is left out. */
static void external(const char *location, const char *offset, const char *length)
{
    const size_t graph = relu(), tensor = put_tensor(&m, 5, "w", 1, "4");
    if (location != NULL) put_pair(&m, 13, "location", location);
    if (offset != NULL) put_pair(&m, 13, "offset", offset);
    if (length != NULL) put_pair(&m, 13, "length", length);
    put_int(&m, 14, 1);
    put_end(&m, tensor);
    put_end(&m, graph);
}

static qnnrt_result open_model(void)
{
    qnnrt_onnx_free(onnx);
    onnx = NULL;
    if (!put_file("model.onnx", m.data, m.bytes)) return QNNRT_E_STATE;
    memset(&refusal, 0xFF, sizeof refusal);
    return qnnrt_onnx_open(path_of("model.onnx"), NULL, &onnx, &refusal);
}

#define REFUSE_OPEN(result, needle) \
    do { \
        CHECK_EQ(open_model(), result); \
        CHECK(onnx == NULL); \
        CHECK_STR(refusal.text, "model.onnx: "); \
        CHECK_STR(refusal.text, needle); \
    } while (0)

TEST(onnx_maps_external_data)
{
    unsigned char bytes[64];
    size_t i, graph, tensor;
    for (i = 0; i < sizeof bytes; ++i) bytes[i] = (unsigned char)i;
    CHECK(put_file("w.bin", bytes, sizeof bytes));
    external("w.bin", NULL, NULL);
    CHECK_EQ(open_model(), QNNRT_OK);
    CHECK(memcmp(onnx->graph->initializers->data, bytes, 16) == 0 && strcmp(onnx->graph->initializers->file, "w.bin") == 0);
    external("./w.bin", "3", "16");
    CHECK_EQ(open_model(), QNNRT_OK);
    CHECK(memcmp(onnx->graph->initializers->data, bytes + 3, 16) == 0);
    external("w.bin", "48", NULL);
    CHECK_EQ(open_model(), QNNRT_OK);
    CHECK(mkdir(path_of("sub"), 0700) == 0 || errno == EEXIST);
    CHECK(put_file("sub/v.bin", bytes, sizeof bytes));
    external("sub//v.bin", "0", "16");
    CHECK_EQ(open_model(), QNNRT_OK);
    graph = relu();                  /* two files, and two tensors side by side */
    for (i = 0; i < 3; ++i) {
        const char *const names[] = { "a", "b", "c" };
        tensor = put_tensor(&m, 5, names[i], 1, "4");
        put_pair(&m, 13, "location", i == 2 ? "sub/v.bin" : "w.bin");
        put_pair(&m, 13, "offset", i == 1 ? "16" : "0");
        put_pair(&m, 13, "checksum", "unchecked");
        put_int(&m, 14, 1);
        put_end(&m, tensor);
    }
    put_end(&m, graph);
    CHECK_EQ(open_model(), QNNRT_OK);
    CHECK(memcmp(onnx->graph->initializers[1].data, bytes + 16, 16) == 0);
}

TEST(onnx_refuses_wrong_external_data)
{
    unsigned char bytes[64] = { 0 };
    qnnrt_onnx_desc desc;
    size_t graph, tensor, i;
    CHECK(put_file("w.bin", bytes, sizeof bytes));
    CHECK(mkdir(path_of("sub"), 0700) == 0 || errno == EEXIST);
    external("../w.bin", NULL, NULL);
    REFUSE_OPEN(QNNRT_E_FORMAT, "tensor \"w\": its external data: location \"../w.bin\" leaves the folder by \"..\"");
    CHECK_STR(refusal.hint, "Put the file itself, no link, into the folder of the model");
    external("sub/../w.bin", NULL, NULL);
    REFUSE_OPEN(QNNRT_E_FORMAT, "leaves the folder by \"..\"");
    external("/etc/passwd", NULL, NULL);
    REFUSE_OPEN(QNNRT_E_FORMAT, "location \"/etc/passwd\" is an absolute path");
    external("", NULL, NULL);
    REFUSE_OPEN(QNNRT_E_FORMAT, "location \"\" is empty");
    external("./.", NULL, NULL);
    REFUSE_OPEN(QNNRT_E_FORMAT, "names the folder itself");
    external(NULL, "0", NULL);
    REFUSE_OPEN(QNNRT_E_FORMAT, "its external data have no location");
    external("sub", NULL, NULL);
    REFUSE_OPEN(QNNRT_E_IO, "location \"sub\" cannot be used: it is a folder");
    external("absent.bin", NULL, NULL);
    REFUSE_OPEN(QNNRT_E_NOT_FOUND, "location \"absent.bin\" does not exist");
    remove(path_of("link.bin"));
    CHECK(symlink("w.bin", path_of("link.bin")) == 0);
    external("link.bin", NULL, NULL);
    REFUSE_OPEN(QNNRT_E_IO, "location \"link.bin\" is a symbolic link");
    remove(path_of("way"));
    CHECK(symlink("sub", path_of("way")) == 0);
    external("way/v.bin", NULL, NULL);
    REFUSE_OPEN(QNNRT_E_NOT_FOUND, "location \"way/v.bin\" does not exist, or a part of it is a link");
    remove(path_of("hard.bin"));
    CHECK(link(path_of("w.bin"), path_of("hard.bin")) == 0);
    external("hard.bin", NULL, NULL);
    REFUSE_OPEN(QNNRT_E_IO, "location \"hard.bin\" cannot be used: it has several names (hard links)");
    remove(path_of("hard.bin"));
    external("w.bin", "49", NULL);
    REFUSE_OPEN(QNNRT_E_FORMAT, "\"w.bin\" has 64 bytes, 16 from byte 49 on are needed");
    external("w.bin", "18446744073709551615", NULL);
    REFUSE_OPEN(QNNRT_E_FORMAT, "16 from byte 18446744073709551615 on are needed");
    external("w.bin", "18446744073709551616", NULL);
    REFUSE_OPEN(QNNRT_E_FORMAT, "offset \"18446744073709551616\" is not a number of 64 bits");
    external("w.bin", "-4", NULL);
    REFUSE_OPEN(QNNRT_E_FORMAT, "offset \"-4\" is not a number");
    external("w.bin", "12x", NULL);
    REFUSE_OPEN(QNNRT_E_FORMAT, "offset \"12x\" is not a number");
    external("w.bin", "0", "12");
    REFUSE_OPEN(QNNRT_E_FORMAT, "its external data have length 12, type and dims stand for 16 bytes");
    graph = relu();
    for (i = 0; i < 2; ++i) {
        tensor = put_tensor(&m, 5, i == 0 ? "w" : "v", 1, "4");
        put_pair(&m, 13, "location", i == 0 ? "w.bin" : "./w.bin");
        put_pair(&m, 13, "offset", i == 0 ? "0" : "12");
        put_int(&m, 14, 1);
        put_end(&m, tensor);
    }
    put_end(&m, graph);
    REFUSE_OPEN(QNNRT_E_FORMAT, "tensors \"w\" and \"v\" share external data: bytes 12 to 16 of \"w.bin\"");
    graph = relu();
    tensor = put_tensor(&m, 5, "w", 1, "4");
    put_pair(&m, 13, "location", "w.bin");
    put_pair(&m, 13, "location", "v.bin");
    put_int(&m, 14, 1);
    put_end(&m, tensor);
    put_end(&m, graph);
    REFUSE_OPEN(QNNRT_E_FORMAT, "the key \"location\" occurs twice");
    graph = relu();
    tensor = put_tensor(&m, 5, "w", 1, "4");
    put_pair(&m, 13, "__class__", "w.bin");
    put_int(&m, 14, 1);
    put_end(&m, tensor);
    put_end(&m, graph);
    REFUSE_OPEN(QNNRT_E_FORMAT, "the key \"__class__\" is not known");
    graph = relu();
    tensor = put_tensor(&m, 5, "w", 1, "4");
    put_pair(&m, 13, "location", "w.bin");
    put_end(&m, tensor);
    put_end(&m, graph);
    REFUSE_OPEN(QNNRT_E_FORMAT, "it has the field \"external_data\", but data_location is not EXTERNAL");
    external("w.bin", NULL, NULL);
    REFUSE(QNNRT_E_UNSUPPORTED, "location \"w.bin\" has no folder: the model was read from memory, or its folder cannot be opened");
    memset(&desc, 0, sizeof desc);
    desc.folder = folder();
    CHECK_EQ(read_model(&desc), QNNRT_OK);
}

/* ---- damage --------------------------------------------------------------------------------------- */

TEST(onnx_refuses_wrong_tensors)
{
    static const struct {
        int         type;
        const char *dims;
        unsigned    field;           /* 9: raw data of `bytes` bytes; 0: none; else one number */
        int64_t     number;
        size_t      bytes;
        qnnrt_result result;
        const char *text;
    } cases[] = {
        { 1, "2", 9, 0, 7, QNNRT_E_FORMAT, "tensor \"w\": type and dims stand for 8 bytes, field \"raw_data\" has 7" },
        { 1, "2", 9, 0, 9, QNNRT_E_FORMAT, "stand for 8 bytes, field \"raw_data\" has 9" },
        { 7, "2", 7, 1, 0, QNNRT_E_FORMAT, "type and dims stand for 2 numbers, field \"int64_data\" has 1" },
        { 7, "2", 0, 0, 0, QNNRT_E_FORMAT, "tensor \"w\": it has no data" },
        { 1, "1", 7, 1, 0, QNNRT_E_FORMAT, "its type is float32, but it has the field \"int64_data\"" },
        { 1, "-4", 9, 0, 4, QNNRT_E_FORMAT, "field \"dims\" has -4" },
        { 1, "1099511627776 1099511627776", 9, 0, 4, QNNRT_E_LIMIT, "its dims stand for more elements than 2^56" },
        { 1, "9223372036854775807 4", 9, 0, 4, QNNRT_E_LIMIT, "its dims stand for more elements than 2^56" },
        { 1, "1099511627776", 9, 0, 4, QNNRT_E_FORMAT, "stand for 4398046511104 bytes, field \"raw_data\" has 4" },
        { 99, "1", 9, 0, 4, QNNRT_E_UNSUPPORTED, "data_type 99 is not known" },
        { 0, "1", 9, 0, 4, QNNRT_E_FORMAT, "field \"data_type\" is missing, or 0" },
        { 2, "1", 5, 256, 0, QNNRT_E_FORMAT, "number 0 of its data is 256, which is not of the type uint8" },
        { 10, "1", 5, -1, 0, QNNRT_E_FORMAT, "number 0 of its data is -1, which is not of the type float16" },
        { 12, "1", 11, (int64_t)1 << 32, 0, QNNRT_E_FORMAT, "number 0 of its data is 4294967296, which is not of the type uint32" },
        { 9, "1", 5, 2, 0, QNNRT_E_FORMAT, "number 0 of its data is 2, which is not of the type bool" },
        { 9, "4", 9, 0, 4, QNNRT_E_FORMAT, "element 0 of type bool is 32" },
        { 8, "1", 9, 0, 4, QNNRT_E_FORMAT, "its type is string, but its data are numbers" }
    };
    size_t i, graph, tensor;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        graph = relu();
        tensor = put_tensor(&m, 5, "w", cases[i].type, cases[i].dims);
        if (cases[i].field == 9) put_bytes(&m, 9, "         ", cases[i].bytes);
        else if (cases[i].field != 0) put_int(&m, cases[i].field, cases[i].number);
        put_end(&m, tensor);
        put_end(&m, graph);
        REFUSE(cases[i].result, cases[i].text);
    }
    graph = relu();
    tensor = put_tensor(&m, 5, "w", 1, "1");
    put_bytes(&m, 9, "abcd", 4);
    put_bytes(&m, 4, "abcd", 4);
    put_end(&m, tensor);
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "tensor \"w\": it has data twice, in two fields");
    graph = relu();
    tensor = put_tensor(&m, 5, "w", 1, "1");
    put_bytes(&m, 3, "", 0);
    put_end(&m, tensor);
    put_end(&m, graph);
    REFUSE(QNNRT_E_UNSUPPORTED, "it is a segment of a larger tensor");
}

TEST(onnx_refuses_wrong_nodes)
{
    size_t graph, node, a;
    int i;
    for (i = 0; i < 7; ++i) {
        static const char *const texts[] = {
            "node \"n\" (Op) at byte ", "attribute \"k\": its type is 1, but it has the field \"i\"", "attribute \"k\": its type 15 is not known",
            "attribute \"k\": it has neither type nor data", "attribute \"k\" occurs twice", "attribute \"k\": it has no data", "attribute \"\": it has no name"
        };
        graph = put_model(&m);
        node = put_node_begin(&m, 1, "Op", "n", "", "y");
        a = attr(i == 6 ? "" : "k", i <= 1 ? 1 : i == 2 ? 15 : i == 5 ? 4 : 0);
        if (i != 3 && i != 5) put_int(&m, 3, 4);
        put_end(&m, a);
        if (i == 4) { a = attr("k", 0); put_int(&m, 3, 5); put_end(&m, a); }
        put_end(&m, node);
        put_end(&m, graph);
        REFUSE(QNNRT_E_FORMAT, texts[i]);
    }
    graph = put_model(&m);
    node = put_begin(&m, 1);
    put_end(&m, node);
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "node \"\" () at byte ");
    CHECK_STR(refusal.text, "it has no op_type");
    graph = relu();
    node = put_begin(&m, 11);
    put_bytes(&m, 1, "a\0b", 3);
    put_end(&m, node);
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "field \"name\" of a message \"value\" has a NUL character");
}

TEST(onnx_refuses_wrong_models)
{
    size_t graph;
    m.bytes = 0;
    REFUSE(QNNRT_E_FORMAT, "field \"ir_version\" is missing, or 0: this is no ONNX model");
    put_int(&m, 1, 8);
    REFUSE(QNNRT_E_FORMAT, "it has no graph");
    m.bytes = 0;
    put_int(&m, 1, 15);
    put_end(&m, put_begin(&m, 7));
    REFUSE(QNNRT_E_VERSION, "ir_version is 15, the newest one that is read is 14");
    CHECK_STR(refusal.hint, "older version of ONNX");
    graph = relu();
    put_end(&m, graph);
    graph = put_begin(&m, 7);
    put_end(&m, graph);
    REFUSE(QNNRT_E_FORMAT, "field \"graph\" of a message \"model\" occurs twice");
    graph = relu();
    put_end(&m, graph);
    put_opset(&m, 8, "ai.onnx", 9);
    REFUSE(QNNRT_E_FORMAT, "field \"opset_import\" has versions 17 and 9 of domain \"\"");
}

TEST(onnx_refuses_damage)
{
    static const struct { const char *bytes; size_t count; const char *text; } cases[] = {
        { "\10", 1, "field 1 of a message \"model\" has a number without an end" },
        { "\10\377\377\377\377\377\377\377\377\377\2", 11, "has a number without an end" },
        { "\10\200\200\200\200\200\200\200\200\200\200\1", 12, "has a number without an end" },
        { "\0\0", 2, "byte 0: no field of protobuf begins here, in a message \"model\"" },
        { "\10\10\72\200", 4, "byte 2: field 7 of a message \"model\" has a length without an end" },
        { "\10\10\72\377\377\377\377\377\377\377\377\177", 12, "byte 2: field 7 of a message \"model\" needs 9223372036854775807 bytes, 0 are left" },
        { "\10\10\72\377\377\377\377\377\377\377\377\377\1", 13, "needs 18446744073709551615 bytes, 0 are left" },
        { "\10\10\72\5\1", 5, "byte 2: field 7 of a message \"model\" needs 5 bytes, 1 are left" },
        { "\10\10\70\1", 4, "byte 2: field \"graph\" of a message \"model\" has a value of another kind" },
        { "\12\1\1", 3, "byte 0: field \"ir_version\" of a message \"model\" has a value of another kind" },
        { "\10\10\233\6\1\234\6", 7, "has a wire type that ONNX does not use" },
        { "\10\10\72\3\62\1\60\17", 8, "has a wire type that ONNX does not use" }
    };
    size_t i, whole;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        m.bytes = 0;
        put_raw(&m, cases[i].bytes, cases[i].count);
        REFUSE(QNNRT_E_FORMAT, cases[i].text);
    }
    sparse("2 3", 2, 1, (const int64_t[2]){ 1, 5 });       /* every beginning of a file */
    put_function("f", "Leaky", "in");
    whole = m.bytes;
    for (i = 0; i < whole; ++i) {
        m.bytes = i;
        if (read_model(NULL) == QNNRT_OK) continue;         /* it ends between two fields */
        CHECK(refusal.code == QNNRT_E_FORMAT && refusal.text[0] != '\0');
    }
    for (i = 0; i < 8 * whole; ++i) {                       /* every flipped bit */
        m.bytes = whole;
        m.data[i / 8] ^= (unsigned char)(1 << i % 8);
        if (read_model(NULL) != QNNRT_OK) CHECK(refusal.text[0] != '\0' && onnx == NULL);
        m.data[i / 8] ^= (unsigned char)(1 << i % 8);
    }
}

/* ---- limits --------------------------------------------------------------------------------------- */

/* A graph with If within If; each is 3 messages deeper. */
static void nested(unsigned field, int levels)
{
    const size_t graph = put_begin(&m, field);
    if (levels > 0) {
        const size_t node = put_node_begin(&m, 1, "If", "deep", "cond", "z"), a = attr("then_branch", QNNRT_ONNX_ATTR_GRAPH);
        nested(6, levels - 1);
        put_end(&m, a);
        put_end(&m, node);
    } else {
        put_node(&m, 1, "Neg", "n", "cond", "z");
    }
    if (field == 7) put_value(&m, 11, "cond", 9, "");
    put_value(&m, 12, "z", 1, "1");
    put_end(&m, graph);
}

TEST(onnx_limits)
{
    qnnrt_onnx_desc desc;
    size_t graph, i;
    m.bytes = 0;
    put_int(&m, 1, 8);
    nested(7, 31);
    READ();
    m.bytes = 0;
    put_int(&m, 1, 8);
    nested(7, 33);
    REFUSE(QNNRT_E_LIMIT, "more than 100 messages within each other");
    m.bytes = 0;
    put_int(&m, 1, 8);
    graph = put_begin(&m, 7);
    { const size_t value = put_begin(&m, 11), type = put_begin(&m, 2); put_holder(4, 60); put_end(&m, type); put_end(&m, value); }
    put_end(&m, graph);
    REFUSE(QNNRT_E_LIMIT, "more than 100 messages within each other");
    memset(&desc, 0, sizeof desc);
    graph = put_model(&m);
    for (i = 0; i < 100000; ++i) put_end(&m, put_begin(&m, 1));
    put_end(&m, graph);
    desc.nodes = 99999;
    CHECK_EQ(read_model(&desc), QNNRT_E_LIMIT);
    CHECK_STR(refusal.text, "the model has more nodes than 99999, the limit");
    desc.nodes = 0;
    desc.memory_bytes = 1 << 20;
    CHECK_EQ(read_model(&desc), QNNRT_E_LIMIT);
    CHECK_STR(refusal.text, "the model needs more memory than 1048576 bytes, the limit");
    memset(&desc, 0, sizeof desc);
    put_end(&m, relu());
    {
        char text[5001];
        memset(text, 'a', 5000);
        text[5000] = '\0';
        put_pair(&m, 14, "characters", text);    /* values of metadata may be long */
        READ();
        CHECK_EQ(strlen(onnx->metadata[0].value), 5000);
    }
    put_end(&m, relu());
    desc.name_bytes = 4;
    CHECK_EQ(read_model(&desc), QNNRT_E_LIMIT);
    CHECK_STR(refusal.text, "field \"name\" of a message \"graph\" has 5 bytes, the limit is 4");
    CHECK(put_file("w.bin", "0123456789abcdef", 16) && put_file("v.bin", "0123456789abcdef", 16));
    graph = relu();
    for (i = 0; i < 2; ++i) {
        const size_t tensor = put_tensor(&m, 5, i == 0 ? "w" : "v", 1, "4");
        put_pair(&m, 13, "location", i == 0 ? "w.bin" : "v.bin");
        put_int(&m, 14, 1);
        put_end(&m, tensor);
    }
    put_end(&m, graph);
    memset(&desc, 0, sizeof desc);
    desc.folder = folder();
    desc.files = 1;
    CHECK_EQ(read_model(&desc), QNNRT_E_LIMIT);
    CHECK_STR(refusal.text, "location \"v.bin\" is one file more than the limit");
}

TEST(onnx_survives_failing_allocations)
{
    qnnrt_onnx_desc desc;
    qnnrt_result result = QNNRT_E_MEMORY;
    size_t graph, tensor;
    memset(&desc, 0, sizeof desc);
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    CHECK(put_file("w.bin", "0123456789abcdef", 16));
    graph = relu();
    tensor = put_tensor(&m, 5, "w", 1, "4");
    put_pair(&m, 13, "location", "w.bin");
    put_int(&m, 14, 1);
    put_end(&m, tensor);
    tensor = put_tensor(&m, 5, "large", 7, "40000");
    { size_t i; const size_t list = put_begin(&m, 7); for (i = 0; i < 40000; ++i) put_varint(&m, i); put_end(&m, list); }
    put_end(&m, tensor);
    put_if("x", "b");
    put_value(&m, 11, "cond", 9, "");
    put_end(&m, graph);
    put_function("f", "Leaky", "in");
    CHECK(put_file("model.onnx", m.data, m.bytes));
    for (fail_at = 0; result == QNNRT_E_MEMORY; ++fail_at) {
        allocations = 0;
        result = qnnrt_onnx_open(path_of("model.onnx"), &desc, &onnx, &refusal);
        qnnrt_onnx_free(onnx);
        onnx = NULL;
        CHECK_EQ(live, 0);
        CHECK(fail_at < 1000);
    }
    CHECK_EQ(result, QNNRT_OK);
    CHECK(fail_at > 3);
}

TEST(onnx_names_other_files)
{
    static const struct { const char *begin; const char *text, *hint; } cases[] = {
        { "version https://git-lfs.github.com/spec/v1\n", "expected an ONNX model, found a git-lfs pointer", "git lfs pull" },
        { "PK\3\4 and so on", "found a zip archive", "Unpack it" }, { "    ORTM    ", "found a model in ONNX Runtime's own format", "made from" },
        { "    TFL3    ", "found a TensorFlow Lite model", "tf2onnx" }, { "GGUF    ", "found a GGUF file", "qnnrt-llm" },
        { "<html>", "found a web page or XML", "Download" }, { "{\"a\": 1}", "found a JSON text", "onnx.save" }
    };
    size_t i;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CHECK(put_file("other", cases[i].begin, strlen(cases[i].begin)));
        CHECK_EQ(qnnrt_onnx_open(path_of("other"), NULL, &onnx, &refusal), QNNRT_E_UNSUPPORTED);
        CHECK_STR(refusal.text, cases[i].text);
        CHECK_STR(refusal.hint, cases[i].hint);
    }
    CHECK(put_file("other", "", 0));
    CHECK_EQ(qnnrt_onnx_open(path_of("other"), NULL, &onnx, &refusal), QNNRT_E_FORMAT);
    CHECK_STR(refusal.text, "this is no ONNX model");
    CHECK_EQ(qnnrt_onnx_open(path_of("absent"), NULL, &onnx, &refusal), QNNRT_E_NOT_FOUND);
    CHECK_EQ(qnnrt_onnx_open(folder(), NULL, &onnx, &refusal), QNNRT_E_IO);
    CHECK_EQ(qnnrt_onnx_open(NULL, NULL, &onnx, &refusal), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_onnx_open("x", NULL, NULL, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_onnx_read(NULL, 4, NULL, &onnx, &refusal), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_onnx_read_tensor(NULL, 4, NULL, &onnx, NULL), QNNRT_E_ARG);
    qnnrt_onnx_free(NULL);
}

TEST_MAIN("onnx")
{
    RUN(onnx_reads_a_model);
    RUN(onnx_reads_types_of_values);
    RUN(onnx_reads_attributes);
    RUN(onnx_reads_data_of_every_type);
    RUN(onnx_reads_texts);
    RUN(onnx_reads_a_tensor_alone);
    RUN(onnx_expands_sparse_tensors);
    RUN(onnx_brings_nodes_into_order);
    RUN(onnx_subgraphs_see_outer_names);
    RUN(onnx_refuses_wrong_names);
    RUN(onnx_reads_functions);
    RUN(onnx_maps_external_data);
    RUN(onnx_refuses_wrong_external_data);
    RUN(onnx_refuses_wrong_tensors);
    RUN(onnx_refuses_wrong_nodes);
    RUN(onnx_refuses_wrong_models);
    RUN(onnx_refuses_damage);
    RUN(onnx_limits);
    RUN(onnx_survives_failing_allocations);
    RUN(onnx_names_other_files);
    qnnrt_onnx_free(onnx);
    free(block);
}
