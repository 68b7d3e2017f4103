/* bench_ops.c - libQnnRef.so beside libQnnCpu.so and ONNX Runtime's CPU provider

       bench_ops REF_LIBRARY CPU_LIBRARY ORT_LIBRARY     ("-": leave it out)

   A MatMul, a Conv2d and a layer of a decoder, in float32. Each workload is written once, as calls that add
   one node to a QNN graph and to an ONNX model at the same time. All engines live in one process, take
   turns in rounds, and work on the thread that calls them; run it on one core. Results must agree.

   The ONNX model is written here byte by byte, and ONNX Runtime is called through its table of
   functions by number (which is append-only), so that neither protobuf nor its headers are needed. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_builder.h"

#include <math.h>
#include <stdarg.h>
#include <time.h>

enum { ROUNDS = 31, IO = 8, TENSORS = 96, DIMS = 4 };

static void stop(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("bench_ops: ", stdout);
    vprintf(format, list);
    putchar('\n');
    va_end(list);
    exit(1);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- protobuf, as much as a model needs ----------------------------------------------------------- */

typedef struct bytes { unsigned char *data; size_t length, room; } bytes;

static void put(bytes *to, const void *data, size_t length)
{
    if (to->room - to->length < length) {
        to->room = to->room * 2 + length;
        if ((to->data = (unsigned char *)realloc(to->data, to->room)) == NULL) stop("out of memory");
    }
    memcpy(to->data + to->length, data, length);
    to->length += length;
}

static void put_varint(bytes *to, uint64_t value)
{
    unsigned char byte;
    do {
        byte = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
        put(to, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

static void put_number(bytes *to, unsigned field, uint64_t value)
{
    put_varint(to, field << 3);
    put_varint(to, value);
}

static void put_block(bytes *to, unsigned field, const void *data, size_t length)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, length);
    put(to, data, length);
}

static void put_text(bytes *to, unsigned field, const char *text) { put_block(to, field, text, strlen(text)); }

/* Add a message within a message, and free the inner one. */
static void put_message(bytes *to, unsigned field, bytes *inner)
{
    put_block(to, field, inner->data, inner->length);
    free(inner->data);
    memset(inner, 0, sizeof *inner);
}

/* ---- one workload in two forms ---------------------------------------------------------------------- */

typedef struct tensor {
    char         name[24];
    uint32_t     rank, dims[DIMS];       /* in QNN's order */
    int          picture;                /* 1: NHWC in QNN, NCHW in ONNX */
    qnnrt_tensor id;
    uint32_t     count;
    float       *data;                   /* values of an input */
} tensor;

typedef struct net {
    qnnrt_builder *builder;              /* NULL: ONNX only */
    bytes          nodes, weights, values_in, values_out;
    tensor         tensors[TENSORS];
    int            count, in[IO], out[IO], in_count, out_count;
    uint32_t       random;
} net;

static float random_value(net *n)
{
    n->random = n->random * 1664525u + 1013904223u;
    return (float)(n->random >> 8) / 8388608.0f - 1;
}

/* Copy data of a picture to the order of ONNX. */
static void picture_data(const tensor *t, const float *from, float *to, int back)
{
    uint32_t n, h, w, c;
    for (n = 0; n < t->dims[0]; ++n)
        for (h = 0; h < t->dims[1]; ++h)
            for (w = 0; w < t->dims[2]; ++w)
                for (c = 0; c < t->dims[3]; ++c) {
                    size_t nhwc = ((n * (size_t)t->dims[1] + h) * t->dims[2] + w) * t->dims[3] + c;
                    size_t nchw = ((n * (size_t)t->dims[3] + c) * t->dims[1] + h) * t->dims[2] + w;
                    if (back) to[nhwc] = from[nchw];
                    else to[nchw] = from[nhwc];
                }
}

static uint32_t onnx_dim(const tensor *t, uint32_t i)
{
    static const uint32_t nchw[DIMS] = { 0, 3, 1, 2 };
    return t->dims[t->picture ? nchw[i] : i];
}

static void value_info(bytes *to, unsigned field, const tensor *t)
{
    bytes shape = { 0 }, tensor_type = { 0 }, type = { 0 }, info = { 0 };
    uint32_t i;
    for (i = 0; i < t->rank; ++i) {
        bytes dim = { 0 };
        put_number(&dim, 1, onnx_dim(t, i));
        put_message(&shape, 1, &dim);
    }
    put_number(&tensor_type, 1, 1);                       /* FLOAT */
    put_message(&tensor_type, 2, &shape);
    put_message(&type, 1, &tensor_type);
    put_text(&info, 1, t->name);
    put_message(&info, 2, &type);
    put_message(to, field, &info);
}

static int add_tensor(net *n, qnnrt_tensor_kind kind, uint32_t rank, const uint32_t *dims, const float *data)
{
    tensor *t = &n->tensors[n->count];
    qnnrt_tensor_desc desc;
    uint32_t i;
    if (n->count == TENSORS) stop("too many tensors");
    memset(t, 0, sizeof *t);
    memset(&desc, 0, sizeof desc);
    snprintf(t->name, sizeof t->name, "t%d", n->count);
    t->rank = desc.rank = rank;
    for (t->count = 1, i = 0; i < rank; ++i) t->count *= t->dims[i] = desc.dims[i] = dims[i];
    if (n->builder != NULL) {
        desc.name = t->name;
        desc.kind = kind;
        desc.dtype = QNNRT_DTYPE_F32;
        desc.data = data;
        desc.bytes = data != NULL ? t->count * sizeof(float) : 0;
        t->id = qnnrt_builder_tensor(n->builder, &desc);
    }
    return n->count++;
}

static int inner(net *n, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t dims[DIMS], rank = d > 0 ? 4 : c > 0 ? 3 : 2;
    dims[0] = a; dims[1] = b; dims[2] = c; dims[3] = d;
    return add_tensor(n, QNNRT_TENSOR_INNER, rank, dims, NULL);
}

static int input(net *n, uint32_t rank, const uint32_t *dims, int picture)
{
    int id = add_tensor(n, QNNRT_TENSOR_INPUT, rank, dims, NULL);
    tensor *t = &n->tensors[id];
    uint32_t i;
    t->picture = picture;
    t->data = (float *)malloc(t->count * sizeof(float));
    for (i = 0; i < t->count; ++i) t->data[i] = random_value(n);
    value_info(&n->values_in, 11, t);
    n->in[n->in_count++] = id;
    return id;
}

static int output(net *n, uint32_t rank, const uint32_t *dims, int picture)
{
    int id = add_tensor(n, QNNRT_TENSOR_OUTPUT, rank, dims, NULL);
    n->tensors[id].picture = picture;
    value_info(&n->values_out, 12, &n->tensors[id]);
    n->out[n->out_count++] = id;
    return id;
}

/* Add weights: the same values in the order of QNN and of ONNX. */
static int weight(net *n, uint32_t rank, const uint32_t *dims, float size, float middle)
{
    uint32_t count = 1, i;
    float *data;
    int id;
    bytes proto = { 0 };
    for (i = 0; i < rank; ++i) count *= dims[i];
    data = (float *)calloc(count, sizeof(float));
    for (i = 0; i < count; ++i) data[i] = middle + size * random_value(n);
    id = add_tensor(n, QNNRT_TENSOR_STATIC, rank, dims, data);
    if (rank == 4) {                                     /* HWIO in QNN, OIHW in ONNX */
        float *oihw = (float *)malloc(count * sizeof(float));
        for (i = 0; i < count; ++i) {
            uint32_t o = i % dims[3], c = i / dims[3] % dims[2], hw = i / dims[3] / dims[2];
            oihw[(o * dims[2] + c) * dims[0] * dims[1] + hw] = data[i];
        }
        free(data);
        data = oihw;
        put_number(&proto, 1, dims[3]);
        put_number(&proto, 1, dims[2]);
        put_number(&proto, 1, dims[0]);
        put_number(&proto, 1, dims[1]);
    } else for (i = 0; i < rank; ++i) put_number(&proto, 1, dims[i]);
    put_number(&proto, 2, 1);
    put_text(&proto, 8, n->tensors[id].name);
    put_block(&proto, 9, data, count * sizeof(float));
    put_message(&n->weights, 5, &proto);
    free(data);
    return id;
}

/* Add the same node to both. Parameters of QNN are descriptors, attributes of ONNX are a
   message. */
static void qnn_node(net *n, const char *type, int a, int b, int c, int out, const qnnrt_param_desc *params, size_t count)
{
    qnnrt_node_desc node;
    qnnrt_tensor in[3], to = n->tensors[out].id;
    if (n->builder == NULL) return;
    memset(&node, 0, sizeof node);
    in[0] = n->tensors[a].id;
    in[1] = b >= 0 ? n->tensors[b].id : 0;
    in[2] = c >= 0 ? n->tensors[c].id : 0;
    node.type = type;
    node.inputs = in;
    node.input_count = c >= 0 ? 3 : b >= 0 ? 2 : 1;
    node.outputs = &to;
    node.output_count = 1;
    node.params = params;
    node.param_count = count;
    qnnrt_builder_node(n->builder, &node);
}

static void onnx_node(net *n, const char *type, const char *a, const char *b, const char *c, const char *out, bytes *attributes)
{
    bytes node = { 0 };
    put_text(&node, 1, a);
    if (b != NULL) put_text(&node, 1, b);
    if (c != NULL) put_text(&node, 1, c);
    put_text(&node, 2, out);
    put_text(&node, 4, type);
    if (attributes != NULL) {
        put(&node, attributes->data, attributes->length);
        free(attributes->data);
    }
    put_message(&n->nodes, 1, &node);
}

static void attribute(bytes *to, const char *name, size_t count, const int64_t *values)
{
    bytes a = { 0 };
    size_t i;
    put_text(&a, 1, name);
    if (count == 0) put_number(&a, 3, (uint64_t)values[0]);
    for (i = 0; i < count; ++i) put_number(&a, 8, (uint64_t)values[i]);
    put_number(&a, 20, count == 0 ? 2 : 7);               /* ONNX's types INT and INTS */
    put_message(to, 5, &a);
}

static void plain(net *n, const char *qnn, const char *onnx, int a, int b, int out)
{
    qnn_node(n, qnn, a, b, -1, out, NULL, 0);
    onnx_node(n, onnx, n->tensors[a].name, b >= 0 ? n->tensors[b].name : NULL, NULL, n->tensors[out].name, NULL);
}

static void linear(net *n, int x, int w, int out)
{
    static const int64_t one = 1;
    bytes attributes = { 0 };
    qnn_node(n, "FullyConnected", x, w, -1, out, NULL, 0);
    attribute(&attributes, "transB", 0, &one);
    onnx_node(n, "Gemm", n->tensors[x].name, n->tensors[w].name, NULL, n->tensors[out].name, &attributes);
}

static qnnrt_param_desc uint_tensor(const char *name, const uint32_t *values, uint32_t rows, uint32_t columns)
{
    qnnrt_param_desc p;
    memset(&p, 0, sizeof p);
    p.name = name;
    p.dtype = QNNRT_DTYPE_U32;
    p.data = values;
    p.rank = rows > 0 ? 2 : 1;
    p.dims[0] = rows > 0 ? rows : columns;
    p.dims[1] = columns;
    return p;
}

static void transpose(net *n, int x, int out)             /* 0 2 1 3 */
{
    static const uint32_t perm[4] = { 0, 2, 1, 3 };
    static const int64_t same[4] = { 0, 2, 1, 3 };
    qnnrt_param_desc param = uint_tensor("perm", perm, 0, 4);
    bytes attributes = { 0 };
    qnn_node(n, "Transpose", x, -1, -1, out, &param, 1);
    attribute(&attributes, "perm", 4, same);
    onnx_node(n, "Transpose", n->tensors[x].name, NULL, NULL, n->tensors[out].name, &attributes);
}

static void reshape(net *n, int x, int out)
{
    const tensor *t = &n->tensors[out];
    bytes proto = { 0 };
    char name[32];
    int64_t dims[DIMS];
    uint32_t i;
    qnn_node(n, "Reshape", x, -1, -1, out, NULL, 0);
    for (i = 0; i < t->rank; ++i) dims[i] = t->dims[i];
    snprintf(name, sizeof name, "%s_shape", t->name);
    put_number(&proto, 1, t->rank);
    put_number(&proto, 2, 7);                              /* INT64 */
    put_text(&proto, 8, name);
    put_block(&proto, 9, dims, t->rank * sizeof dims[0]);
    put_message(&n->weights, 5, &proto);
    onnx_node(n, "Reshape", n->tensors[x].name, name, NULL, t->name, NULL);
}

static void concat(net *n, int a, int b, uint32_t axis, int out)
{
    qnnrt_param_desc param;
    bytes attributes = { 0 };
    int64_t value = axis;
    memset(&param, 0, sizeof param);
    param.name = "axis";
    param.dtype = QNNRT_DTYPE_U32;
    param.value = axis;
    qnn_node(n, "Concat", a, b, -1, out, &param, 1);
    attribute(&attributes, "axis", 0, &value);
    onnx_node(n, "Concat", n->tensors[a].name, n->tensors[b].name, NULL, n->tensors[out].name, &attributes);
}

/* ONNX has no such node in the operator sets that all releases support: use five small nodes, which
   ONNX Runtime may fuse. */
static void rms_norm(net *n, int x, uint32_t width, int out)
{
    static const uint32_t axes[1] = { 1 };
    static const int64_t last = -1;
    const uint32_t dims[1] = { width };
    qnnrt_param_desc params[2];
    bytes attributes = { 0 }, proto = { 0 };
    float epsilon = 1e-6f, *zeros = (float *)calloc(width, sizeof(float));
    int gamma = weight(n, 1, dims, 0.2f, 1), beta = add_tensor(n, QNNRT_TENSOR_STATIC, 1, dims, zeros);
    char names[6][32];
    int i;
    free(zeros);
    params[0] = uint_tensor("axes", axes, 0, 1);
    memset(&params[1], 0, sizeof params[1]);
    params[1].name = "epsilon";
    params[1].dtype = QNNRT_DTYPE_F32;
    params[1].value = (double)epsilon;
    qnn_node(n, "RmsNorm", x, gamma, beta, out, params, 2);
    for (i = 0; i < 6; ++i) snprintf(names[i], sizeof names[i], "%s_%d", n->tensors[out].name, i);
    put_number(&proto, 1, 1);
    put_number(&proto, 2, 1);
    put_text(&proto, 8, names[0]);
    put_block(&proto, 9, &epsilon, sizeof epsilon);
    put_message(&n->weights, 5, &proto);
    attribute(&attributes, "axes", 1, &last);
    onnx_node(n, "Mul", n->tensors[x].name, n->tensors[x].name, NULL, names[1], NULL);
    onnx_node(n, "ReduceMean", names[1], NULL, NULL, names[2], &attributes);
    onnx_node(n, "Add", names[2], names[0], NULL, names[3], NULL);
    onnx_node(n, "Sqrt", names[3], NULL, NULL, names[4], NULL);
    onnx_node(n, "Div", n->tensors[x].name, names[4], NULL, names[5], NULL);
    onnx_node(n, "Mul", names[5], n->tensors[gamma].name, NULL, n->tensors[out].name, NULL);
}

/* ---- workloads -------------------------------------------------------------------------------------- */

static void matmul(net *n)
{
    static const uint32_t x_dims[2] = { 64, 512 }, w_dims[2] = { 512, 512 }, y_dims[2] = { 64, 512 };
    int x = input(n, 2, x_dims, 0), w = weight(n, 2, w_dims, 0.05f, 0), y = output(n, 2, y_dims, 0);
    plain(n, "MatMul", "MatMul", x, w, y);
}

static void conv2d(net *n)
{
    static const uint32_t x_dims[4] = { 1, 28, 28, 64 }, w_dims[4] = { 3, 3, 64, 64 }, b_dims[1] = { 64 };
    static const uint32_t stride[2] = { 1, 1 }, pads[4] = { 1, 1, 1, 1 };
    static const int64_t onnx_pads[4] = { 1, 1, 1, 1 };
    qnnrt_param_desc params[2];
    bytes attributes = { 0 };
    int x = input(n, 4, x_dims, 1), w = weight(n, 4, w_dims, 0.05f, 0), b = weight(n, 1, b_dims, 0.1f, 0);
    int y = output(n, 4, x_dims, 1);
    params[0] = uint_tensor("stride", stride, 0, 2);
    params[1] = uint_tensor("pad_amount", pads, 2, 2);
    qnn_node(n, "Conv2d", x, w, b, y, params, 2);
    attribute(&attributes, "pads", 4, onnx_pads);
    onnx_node(n, "Conv", n->tensors[x].name, n->tensors[w].name, n->tensors[b].name, n->tensors[y].name, &attributes);
}

/* Build a decoder layer with `tokens` new positions after 128 old ones; 4 heads of 64, and a gated
   MLP of 768. */
static void decoder(net *n, uint32_t tokens)
{
    enum { PAST = 128, HEADS = 4, HEAD = 64, WIDTH = HEADS * HEAD, MLP = 768 };
    const uint32_t x_dims[2] = { tokens, WIDTH }, past_dims[4] = { 1, HEADS, PAST, HEAD };
    const uint32_t keys_dims[4] = { 1, HEADS, PAST, HEAD }, mask_dims[4] = { 1, 1, tokens, PAST + tokens };
    static const uint32_t square[2] = { WIDTH, WIDTH }, wide[2] = { MLP, WIDTH }, narrow[2] = { WIDTH, MLP }, single[1] = { 1 };
    static const uint32_t keys_perm[4] = { 0, 1, 3, 2 };
    static const int64_t onnx_perm[4] = { 0, 1, 3, 2 };
    const float w = 0.06f;
    int x = input(n, 2, x_dims, 0), past_k = input(n, 4, keys_dims, 0), past_v = input(n, 4, past_dims, 0);
    int mask = input(n, 4, mask_dims, 0), y = output(n, 2, x_dims, 0);
    int h = inner(n, tokens, WIDTH, 0, 0), side[3], k, v, turned, scores, scaled, masked, weights, context, i;
    qnnrt_param_desc perm = uint_tensor("perm", keys_perm, 0, 4);
    bytes attributes = { 0 };

    rms_norm(n, x, WIDTH, h);
    for (i = 0; i < 3; ++i) {
        int flat = inner(n, tokens, WIDTH, 0, 0), heads = inner(n, 1, tokens, HEADS, HEAD);
        side[i] = inner(n, 1, HEADS, tokens, HEAD);
        linear(n, h, weight(n, 2, square, w, 0), flat);
        reshape(n, flat, heads);
        transpose(n, heads, side[i]);
    }
    k = inner(n, 1, HEADS, PAST + tokens, HEAD);
    v = inner(n, 1, HEADS, PAST + tokens, HEAD);
    concat(n, past_k, side[1], 2, k);
    concat(n, past_v, side[2], 2, v);
    turned = inner(n, 1, HEADS, HEAD, PAST + tokens);
    qnn_node(n, "Transpose", k, -1, -1, turned, &perm, 1);
    attribute(&attributes, "perm", 4, onnx_perm);
    onnx_node(n, "Transpose", n->tensors[k].name, NULL, NULL, n->tensors[turned].name, &attributes);
    scores = inner(n, 1, HEADS, tokens, PAST + tokens);
    scaled = inner(n, 1, HEADS, tokens, PAST + tokens);
    masked = inner(n, 1, HEADS, tokens, PAST + tokens);
    weights = inner(n, 1, HEADS, tokens, PAST + tokens);
    plain(n, "MatMul", "MatMul", side[0], turned, scores);
    plain(n, "ElementWiseMultiply", "Mul", scores, weight(n, 1, single, 0, 0.125f), scaled);
    plain(n, "ElementWiseAdd", "Add", scaled, mask, masked);
    plain(n, "Softmax", "Softmax", masked, -1, weights);
    context = inner(n, 1, HEADS, tokens, HEAD);
    plain(n, "MatMul", "MatMul", weights, v, context);
    {
        int back = inner(n, 1, tokens, HEADS, HEAD), flat = inner(n, tokens, WIDTH, 0, 0), o = inner(n, tokens, WIDTH, 0, 0);
        int sum = inner(n, tokens, WIDTH, 0, 0), h2 = inner(n, tokens, WIDTH, 0, 0), gate = inner(n, tokens, MLP, 0, 0);
        int sigmoid = inner(n, tokens, MLP, 0, 0), silu = inner(n, tokens, MLP, 0, 0), up = inner(n, tokens, MLP, 0, 0);
        int product = inner(n, tokens, MLP, 0, 0), down = inner(n, tokens, WIDTH, 0, 0);
        transpose(n, context, back);
        reshape(n, back, flat);
        linear(n, flat, weight(n, 2, square, w, 0), o);
        plain(n, "ElementWiseAdd", "Add", x, o, sum);
        rms_norm(n, sum, WIDTH, h2);
        linear(n, h2, weight(n, 2, wide, w, 0), gate);
        linear(n, h2, weight(n, 2, wide, w, 0), up);
        plain(n, "Sigmoid", "Sigmoid", gate, -1, sigmoid);
        plain(n, "ElementWiseMultiply", "Mul", gate, sigmoid, silu);
        plain(n, "ElementWiseMultiply", "Mul", silu, up, product);
        linear(n, product, weight(n, 2, narrow, w, 0), down);
        plain(n, "ElementWiseAdd", "Add", sum, down, y);
    }
}

static void decode(net *n) { decoder(n, 1); }
static void prefill(net *n) { decoder(n, 32); }

/* ---- engines ---------------------------------------------------------------------------------------- */

enum { REF, CPU, ORT, ENGINES };
static const char *const engine_names[ENGINES] = { "Ref", "QnnCpu 2.47", "ONNX Runtime" };

typedef struct ort_base { const void *(*get_api)(uint32_t); const char *(*version)(void); } ort_base;
typedef void *(*ort_slot)(void);
enum {                                                    /* vendor: members of OrtApi, counted from 0 */
    ORT_ERROR_TEXT = 2, ORT_CREATE_ENV = 3, ORT_CREATE_SESSION_FROM_ARRAY = 8, ORT_RUN = 9, ORT_CREATE_OPTIONS = 10,
    ORT_SET_OPTIMIZATION = 23, ORT_SET_THREADS = 24, ORT_CREATE_TENSOR = 49, ORT_CREATE_MEMORY_INFO = 69, ORT_RELEASE_SESSION = 95,
    ORT_RELEASE_VALUE = 96
};
static const ort_slot *ort;
static void *ort_env, *ort_options, *ort_memory;
#define ORT_CALL(slot, ...) ((void *(*)(__VA_ARGS__))(uintptr_t)ort[slot])

static void ort_check(void *status, const char *what)
{
    if (status != NULL) stop("ONNX Runtime: %s: %s", what, ((const char *(*)(void *))(uintptr_t)ort[ORT_ERROR_TEXT])(status));
}

static void ort_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *found;
    const ort_base *(*get)(void);
    if (library == NULL) stop("%s", dlerror());
    if ((found = dlsym(library, "OrtGetApiBase")) == NULL) stop("%s exports no OrtGetApiBase", path);
    memcpy((void *)&get, (void *)&found, sizeof get);
    if ((ort = (const ort_slot *)get()->get_api(14)) == NULL) stop("%s has no API 14", path);
    ort_check(ORT_CALL(ORT_CREATE_ENV, int, const char *, void **)(3, "bench", &ort_env), "env");
    ort_check(ORT_CALL(ORT_CREATE_OPTIONS, void **)(&ort_options), "options");
    ort_check(ORT_CALL(ORT_SET_THREADS, void *, int)(ort_options, 1), "threads");
    ort_check(ORT_CALL(ORT_SET_OPTIMIZATION, void *, int)(ort_options, 99), "optimization");
    ort_check(ORT_CALL(ORT_CREATE_MEMORY_INFO, int, int, void **)(0, 0, &ort_memory), "memory");
    printf("ONNX Runtime %s\n", get()->version());
}

typedef struct engine {
    qnnrt     *model;
    qnnrt_run *run;
    void      *session, *values[2 * IO];
    const char *names[2 * IO];
    float     *out[IO], *data[2 * IO];
    double     us[ROUNDS];
} engine;

static void net_build(net *n, void (*workload)(net *), qnnrt_builder *builder)
{
    memset(n, 0, sizeof *n);
    n->builder = builder;
    n->random = 12345;
    workload(n);
}

static void net_free(net *n)
{
    int i;
    for (i = 0; i < n->in_count; ++i) free(n->tensors[n->in[i]].data);
    free(n->nodes.data);
    free(n->weights.data);
    free(n->values_in.data);
    free(n->values_out.data);
}

static void qnn_make(engine *e, qnnrt_backend *backend, void (*workload)(net *), net *n, const char *what)
{
    qnnrt_error err;
    qnnrt_builder *builder;
    qnnrt_graph_desc graph;
    int i;
    memset(&graph, 0, sizeof graph);
    graph.name = "graph";
    if (qnnrt_builder_create(backend, NULL, &builder, &err) != QNNRT_OK) stop("%s: %s", what, err.text);
    qnnrt_builder_graph(builder, &graph);
    net_build(n, workload, builder);
    if (qnnrt_builder_finish(builder, &e->model, &err) != QNNRT_OK || qnnrt_prepare(e->model, NULL, &e->run, &err) != QNNRT_OK)
        stop("%s: %s", what, err.text);
    for (i = 0; i < n->in_count; ++i) {
        const tensor *t = &n->tensors[n->in[i]];
        if (qnnrt_bind(e->run, t->name, t->data, t->count * sizeof(float)) != QNNRT_OK)
            stop("%s: %s", what, qnnrt_run_error(e->run)->text);
    }
    for (i = 0; i < n->out_count; ++i) e->out[i] = (float *)qnnrt_data(e->run, n->tensors[n->out[i]].name, NULL);
}

static void ort_make(engine *e, void (*workload)(net *), net *n)
{
    bytes graph = { 0 }, model = { 0 }, set = { 0 };
    int i;
    net_build(n, workload, NULL);
    put(&graph, n->nodes.data, n->nodes.length);
    put_text(&graph, 2, "graph");
    put(&graph, n->weights.data, n->weights.length);
    put(&graph, n->values_in.data, n->values_in.length);
    put(&graph, n->values_out.data, n->values_out.length);
    put_number(&model, 1, 8);                              /* IR version */
    put_message(&model, 7, &graph);
    put_text(&set, 1, "");
    put_number(&set, 2, 13);                               /* operator set */
    put_message(&model, 8, &set);
    ort_check(ORT_CALL(ORT_CREATE_SESSION_FROM_ARRAY, void *, const void *, size_t, void *, void **)
              (ort_env, model.data, model.length, ort_options, &e->session), "model");
    free(model.data);
    for (i = 0; i < n->in_count + n->out_count; ++i) {
        const tensor *t = &n->tensors[i < n->in_count ? n->in[i] : n->out[i - n->in_count]];
        int64_t dims[DIMS];
        uint32_t k;
        for (k = 0; k < t->rank; ++k) dims[k] = onnx_dim(t, k);
        e->names[i] = t->name;
        e->data[i] = (float *)calloc(t->count, sizeof(float));
        if (t->data != NULL && t->picture) picture_data(t, t->data, e->data[i], 0);
        else if (t->data != NULL) memcpy(e->data[i], t->data, t->count * sizeof(float));
        ort_check(ORT_CALL(ORT_CREATE_TENSOR, void *, void *, size_t, const int64_t *, size_t, int, void **)
                  (ort_memory, e->data[i], t->count * sizeof(float), dims, t->rank, 1, &e->values[i]), "tensor");
    }
}

static void engine_exec(engine *e, const net *n)
{
    if (e->run != NULL) {
        if (qnnrt_exec(e->run) != QNNRT_OK) stop("%s", qnnrt_run_error(e->run)->text);
        return;
    }
    ort_check(ORT_CALL(ORT_RUN, void *, const void *, const char *const *, void *const *, size_t, const char *const *, size_t, void **)
              (e->session, NULL, e->names, e->values, (size_t)n->in_count, e->names + n->in_count, (size_t)n->out_count,
               e->values + n->in_count), "run");
}

/* Return the distance of an engine's first output from Ref's, relative to the largest value. */
static double apart(const engine *ref, const engine *other, const net *n)
{
    const tensor *t = &n->tensors[n->out[0]];
    double largest = 0, worst = 0;
    float *turned = NULL;
    const float *got = other->out[0];
    uint32_t i;
    if (other->run == NULL) {
        got = other->data[n->in_count];
        if (t->picture) {
            turned = (float *)malloc(t->count * sizeof(float));
            picture_data(t, got, turned, 1);
            got = turned;
        }
    }
    for (i = 0; i < t->count; ++i) {
        double d = fabs((double)ref->out[0][i] - (double)got[i]);
        if (fabs((double)ref->out[0][i]) > largest) largest = fabs((double)ref->out[0][i]);
        if (!(d <= worst)) worst = d;
    }
    free(turned);
    return worst / largest;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench(const char *name, double flops, void (*workload)(net *), qnnrt_backend *const *backends)
{
    engine engines[ENGINES];
    static net nets[ENGINES];
    double ref_us[ROUNDS];
    int there[ENGINES], calls = 1, round, i, k;
    memset(engines, 0, sizeof engines);
    for (i = 0; i < ENGINES; ++i) {
        there[i] = i == ORT ? ort != NULL : backends[i] != NULL;
        if (!there[i]) continue;
        if (i == ORT) ort_make(&engines[i], workload, &nets[i]);
        else qnn_make(&engines[i], backends[i], workload, &nets[i], engine_names[i]);
        engine_exec(&engines[i], &nets[i]);
        if (i > REF) {
            double d = apart(&engines[REF], &engines[i], &nets[i]);
            if (!(d < 1e-4)) stop("%s: %s differs from Ref by %.1e of the largest value", name, engine_names[i], d);
        }
    }
    for (;; calls *= 2) {                                  /* as many calls a round as the slowest engine makes in 2 ms */
        double start = now_us();
        for (k = 0; k < calls; ++k) engine_exec(&engines[REF], &nets[REF]);
        if (now_us() - start > 2000) break;
    }
    for (round = 0; round < ROUNDS; ++round)
        for (i = 0; i < ENGINES; ++i) {
            double start = now_us();
            if (!there[i]) continue;
            for (k = 0; k < calls; ++k) engine_exec(&engines[i], &nets[i]);
            engines[i].us[round] = (now_us() - start) / calls;
        }
    /* A copy in the order of the rounds, before the times are sorted. */
    memcpy(ref_us, engines[REF].us, sizeof ref_us);
    for (i = 0; i < ENGINES; ++i) {
        double ratio[ROUNDS], minimum;
        if (!there[i]) { printf("%-28s %-13s not there\n", i == 0 ? name : "", engine_names[i]); continue; }
        for (round = 0; round < ROUNDS; ++round) ratio[round] = ref_us[round] / engines[i].us[round];
        qsort(ratio, ROUNDS, sizeof ratio[0], by_value);
        qsort(engines[i].us, ROUNDS, sizeof engines[i].us[0], by_value);
        minimum = engines[i].us[0];
        printf("%-28s %-13s %9.1f %9.1f %7.1f", i == REF ? name : "", engine_names[i], minimum,
               engines[i].us[ROUNDS / 2], flops / minimum / 1e3);
        if (i > REF) printf("   %5.2f  %5.2f", ratio[0], ratio[ROUNDS / 2]);
        putchar('\n');
    }
    for (i = 0; i < ENGINES; ++i) {
        if (!there[i]) continue;
        if (engines[i].run != NULL) qnnrt_run_destroy(engines[i].run);
        qnnrt_close(engines[i].model);
        for (k = 0; k < 2 * IO && engines[i].session != NULL; ++k) {
            if (engines[i].values[k] != NULL) ORT_CALL(ORT_RELEASE_VALUE, void *)(engines[i].values[k]);
            free(engines[i].data[k]);
        }
        if (engines[i].session != NULL) ORT_CALL(ORT_RELEASE_SESSION, void *)(engines[i].session);
        net_free(&nets[i]);
    }
}

int main(int argc, char **argv)
{
    qnnrt_backend *backends[2] = { NULL, NULL };
    int i;
    if (argc != 4) stop("usage: bench_ops REF_LIBRARY CPU_LIBRARY ORT_LIBRARY (\"-\": without)");
    for (i = 0; i < 2; ++i) {
        qnnrt_backend_desc desc;
        qnnrt_error err;
        memset(&desc, 0, sizeof desc);
        desc.path = argv[1 + i];
        if (strcmp(argv[1 + i], "-") != 0 && qnnrt_backend_open(&desc, &backends[i], &err) != QNNRT_OK) stop("%s", err.text);
    }
    if (backends[REF] == NULL) stop("the others are compared with Ref: it must be there");
    if (strcmp(argv[3], "-") != 0) ort_open(argv[3]);
    printf("%-28s %-13s %9s %9s %7s   %s\n%-28s %-13s %9s %9s %7s   %5s  %s\n", "", "", "us", "us", "GFLOP/s", "Ref's time to it",
           "workload", "engine", "minimum", "median", "", "min", "median");
    bench("MatMul 64x512x512", 2.0 * 64 * 512 * 512, matmul, backends);
    bench("Conv2d 28x28x64, 3x3x64", 2.0 * 28 * 28 * 9 * 64 * 64, conv2d, backends);
    bench("decoder layer, 1 token", 2.0 * (4 * 256 * 256 + 3 * 256 * 768 + 2 * 256 * 129), decode, backends);
    bench("decoder layer, 32 tokens", 2.0 * 32 * (4 * 256 * 256 + 3 * 256 * 768 + 2 * 256 * 160), prefill, backends);
    for (i = 0; i < 2; ++i)
        if (backends[i] != NULL) qnnrt_backend_close(backends[i]);
    return 0;
}
