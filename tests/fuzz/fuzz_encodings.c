/* fuzz_encodings.c - hostile files of encodings: read them as qnnrt-run compile does, and quantize a graph with them

   An input is the text of a file, followed by CONTROL bytes that choose the bits of activations and whether samples have
   given ranges, too. Whatever happens, there must be no crash and no leak; what is read has a name, a scale that is a positive
   number and an offset within its codes, and every tensor of a graph that was quantized has a scale. */
#include "run/compile/aten.h"
#include "qnnrt_lower.h"
#define FUZZ_NAME "fuzz_encodings"
#include "fuzz.h"

const char cli_name[] = "fuzz_encodings";

enum { CONTROL = 2 };

/* y = softmax(reshape(relu(x w^T + b) + m) v), where w and v are weights; m is a mask, b a bias. */
static const char graph_text[] =
"{\"graph_inputs\": [{\"name\": \"x\", \"shape\": [1, 4], \"dtype\": \"float32\"}, {\"name\": \"m\", \"shape\": [1, 6], \"dtype\": \"float32\"}],"
" \"graph_outputs\": [{\"name\": \"y\", \"shape\": [2, 5], \"dtype\": \"float32\"}],"
" \"weights\": [{\"name\": \"fc.weight\", \"shape\": [6, 4], \"dtype\": \"float32\"}, {\"name\": \"fc.bias\", \"shape\": [6], \"dtype\": \"float32\"},"
"  {\"name\": \"v\", \"shape\": [3, 5], \"dtype\": \"float32\"}],"
" \"weight_name_mapping\": {\"p_w\": \"fc.weight\", \"p_b\": \"fc.bias\", \"p_v\": \"v\"}, \"nodes\": ["
" {\"name\": \"h\", \"op_type\": \"aten.linear.default\", \"attrs\": {}, \"inputs\": [{\"name\": \"x\", \"shape\": [1, 4], \"dtype\": \"float32\","
"  \"producer_node\": \"x\"}, {\"name\": \"p_w\", \"shape\": [6, 4], \"dtype\": \"float32\"}, {\"name\": \"p_b\", \"shape\": [6], \"dtype\": \"float32\"}],"
"  \"outputs\": [{\"name\": \"h\", \"shape\": [1, 6], \"dtype\": \"float32\"}]},"
" {\"name\": \"r\", \"op_type\": \"aten.relu.default\", \"attrs\": {}, \"inputs\": [{\"name\": \"h\", \"shape\": [1, 6], \"dtype\": \"float32\","
"  \"producer_node\": \"h\"}], \"outputs\": [{\"name\": \"r\", \"shape\": [1, 6], \"dtype\": \"float32\"}]},"
" {\"name\": \"a\", \"op_type\": \"aten.add.Tensor\", \"attrs\": {}, \"inputs\": [{\"name\": \"r\", \"shape\": [1, 6], \"dtype\": \"float32\","
"  \"producer_node\": \"r\"}, {\"name\": \"m\", \"shape\": [1, 6], \"dtype\": \"float32\", \"producer_node\": \"m\"}],"
"  \"outputs\": [{\"name\": \"a\", \"shape\": [1, 6], \"dtype\": \"float32\"}]},"
" {\"name\": \"s\", \"op_type\": \"aten.reshape.default\", \"attrs\": {\"shape\": [2, 3]}, \"inputs\": [{\"name\": \"a\", \"shape\": [1, 6],"
"  \"dtype\": \"float32\", \"producer_node\": \"a\"}], \"outputs\": [{\"name\": \"s\", \"shape\": [2, 3], \"dtype\": \"float32\"}]},"
" {\"name\": \"p\", \"op_type\": \"aten.mm.default\", \"attrs\": {}, \"inputs\": [{\"name\": \"s\", \"shape\": [2, 3], \"dtype\": \"float32\","
"  \"producer_node\": \"s\"}, {\"name\": \"p_v\", \"shape\": [3, 5], \"dtype\": \"float32\"}],"
"  \"outputs\": [{\"name\": \"p\", \"shape\": [2, 5], \"dtype\": \"float32\"}]},"
" {\"name\": \"y\", \"op_type\": \"aten.softmax.int\", \"attrs\": {\"dim\": -1}, \"inputs\": [{\"name\": \"p\", \"shape\": [2, 5], \"dtype\": \"float32\","
"  \"producer_node\": \"p\"}], \"outputs\": [{\"name\": \"y\", \"shape\": [2, 5], \"dtype\": \"float32\"}]}]}";

static qnnrt_backend *backend;
static FILE *nowhere;

static void end(void)
{
    MUST(qnnrt_backend_close(backend) == QNNRT_OK);
    fclose(nowhere);
}

static void begin(void)
{
    qnnrt_backend_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_REF_LIB;
    MUST(qnnrt_backend_open(&desc, &backend, NULL) == QNNRT_OK);
    nowhere = fopen("/dev/null", "w");
    MUST(nowhere != NULL && atexit(end) == 0);
}

/* Quantize the graph with what was read, and write all its codes. */
static void quantize(const aten *a, const unsigned char *control)
{
    static const float weights[24] = {0.5f, -1, 0.25f, 2, 0, -0.125f, 3, -2.5f, 1};
    qnnrt_lower_encoding *list = cli_alloc(a->encoding_count + 8, sizeof(*list));
    const qnnrt_lower_info *info;
    qnnrt_builder *builder = NULL;
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_ir *ir = NULL;
    qnnrt_result result;
    qnnrt_error err;
    size_t i, count = 0;
    memset(&desc, 0, sizeof(desc));
    desc.act_bits = control[0] & 1 ? 8 : 16;
    if (control[0] & 2)
        for (i = 0; i < 8; ++i) {
            static const char *const names[] = {"x", "m", "h", "r", "a", "s", "p", "y"};
            list[count].name = names[i];
            list[count].low = i == 1 ? 0 : -(double)(control[1] & 15);
            list[count].high = (double)(control[1] >> 4);
            list[count++].masked = i == 1;
        }
    for (i = 0; i < a->encoding_count; ++i) list[count++] = a->encodings[i];
    desc.encodings = list;
    desc.encoding_count = count;
    MUST(qnnrt_ir_read(graph_text, sizeof(graph_text) - 1, NULL, &ir, &err) == QNNRT_OK);
    MUST(qnnrt_ir_check(ir, NULL, NULL, &err) == QNNRT_OK);
    for (i = 0; i < ir->value_count; ++i)
        if (ir->values[i]->origin == QNNRT_IR_WEIGHT) ir->values[i]->data = weights;
    MUST(qnnrt_lower_create(&desc, &lower, &err) == QNNRT_OK && qnnrt_lower_passes(lower, ir, &err) == QNNRT_OK);
    MUST(qnnrt_lower_graph(lower, ir, "g", &err) == QNNRT_OK && qnnrt_builder_create(backend, NULL, &builder, &err) == QNNRT_OK);
    memset(&err, 0xFF, sizeof(err));
    result = qnnrt_lower_quantize(lower, builder, &err);
    MUST(result == err.code && (result == QNNRT_OK || err.text[0] != '\0'));
    qnnrt_builder_destroy(builder);
    info = qnnrt_lower_get_info(lower);
    for (i = 1; i < info->graphs[0].tensor_count && result == QNNRT_OK; ++i) {
        const qnnrt_lower_tensor *t = &info->graphs[0].tensors[i];
        const int codes = t->dtype == QNNRT_DTYPE_U8Q || t->dtype == QNNRT_DTYPE_U16Q || t->dtype == QNNRT_DTYPE_S8Q;
        if (!t->used || !codes) continue;
        if (t->quant.encoding == QNNRT_ENCODING_PER_TENSOR) MUST(t->quant.scale > 0 && t->quant.scale < 3.4e38f);
        else MUST(t->quant.encoding == QNNRT_ENCODING_PER_AXIS && t->quant.count > 0 && t->quant.scales[t->quant.count - 1] > 0);
        if (t->dtype == QNNRT_DTYPE_U8Q) MUST(t->quant.offset <= 0 && t->quant.offset >= -255);
        if (t->dtype == QNNRT_DTYPE_U16Q) MUST(t->quant.offset <= 0 && t->quant.offset >= -65535);
        if (t->kind == QNNRT_TENSOR_STATIC) {
            void *data = malloc((size_t)t->bytes);
            MUST(data != NULL && qnnrt_lower_static_data(lower, 0, i, data, (size_t)t->bytes, &err) == QNNRT_OK);
            free(data);
        }
    }
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
    free(list);
}

static void play(const unsigned char *data, size_t size)
{
    FILE *before = stderr;
    tool t;
    aten a;
    size_t i;
    int good;
    if (size < CONTROL) return;
    if (backend == NULL) begin();
    memset(&t, 0, sizeof(t));
    memset(&a, 0, sizeof(a));
    t.out = stderr = nowhere;          /* messages, but not those of sanitizers */
    a.t = &t;
    a.kv = NULL;
    good = encodings_parse(&a, "e.json", (const char *)data, size - CONTROL);
    MUST(good == !t.failed);
    for (i = 0; i < a.encoding_count; ++i) {
        const qnnrt_lower_encoding *e = &a.encodings[i];
        uint32_t k;
        MUST(e->name != NULL && e->name[0] != '\0' && (e->bits == 4 || e->bits == 8 || e->bits == 16 || e->bits == 32));
        MUST(e->bits == 32 || e->count > 0 || e->scale > 0);
        MUST(e->offset <= 0 && (e->bits == 32 || e->offset > -(int32_t)(1u << e->bits)));
        for (k = 0; k < e->count; ++k) MUST(e->scales[k] > 0);
    }
    if (good) quantize(&a, data + size - CONTROL);
    stderr = before;
    free(t.error);
    free(t.error_hint);
    aten_free(&a);
}

FUZZ_TARGET
