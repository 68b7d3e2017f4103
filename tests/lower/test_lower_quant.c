/* test_lower_quant.c - qnnrt_lower.h: activations as codes of 16 and 8 bits

   Random layers are calibrated on libQnnRef.so, lowered with codes, and run there. The same operators are computed
   here in double, slowly, each result rounded to the codes of its tensor: the codes must be equal to 1. */
#include "qnnrt_lower.h"
#include "counted.h"
#include "ref.h"
#include "test.h"
#include "backend.h"
#include <math.h>

static qnnrt_error err;

/* ---- programs ---- */

enum { ENCODINGS = 400 };

typedef struct program { uint64_t seed; } program;

static uint32_t draw(program *p, uint32_t below)
{
    p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(p->seed >> 33) % below;
}

static double real(program *p, double most) { return most * ((double)draw(p, 2000001) / 1000000 - 1); }

#define T(name, shape) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"float32\"}"
#define NODE(name, op, in, out, attrs)                                                                                           \
    "{\"name\":\"" name "\",\"op_type\":\"aten." op "\",\"inputs\":[" in "],\"outputs\":[" out "],\"attrs\":{" attrs "}}"
#define GRAPH(in, out, weights, names, nodes)                                                                                    \
    "{\"graph_inputs\":[" in "],\"graph_outputs\":[" out "],\"weights\":[" weights "],\"weight_name_mapping\":{" names           \
    "},\"nodes\":[" nodes "]}"

static const char mlp[] = GRAPH(T("x", "[5,12]"), T("y", "[5,9]"),
    T("w1", "[16,12]") "," T("b1", "[16]") "," T("w2", "[16,16]") "," T("b2", "[16]") "," T("w3", "[9,16]") "," T("m", "[16]"),
    "\"w1\":\"w1\",\"b1\":\"b1\",\"w2\":\"w2\",\"b2\":\"b2\",\"w3\":\"w3\",\"m\":\"m\"",
    NODE("h", "linear.default", T("x", "[5,12]") "," T("w1", "[16,12]") "," T("b1", "[16]"), T("h", "[5,16]"), "") ","
    NODE("r", "relu.default", T("h", "[5,16]"), T("r", "[5,16]"), "") ","
    NODE("g", "linear.default", T("r", "[5,16]") "," T("w2", "[16,16]") "," T("b2", "[16]"), T("g", "[5,16]"), "") ","
    NODE("s", "sigmoid.default", T("g", "[5,16]"), T("s", "[5,16]"), "") ","
    NODE("a", "add.Tensor", T("s", "[5,16]") "," T("r", "[5,16]"), T("a", "[5,16]"), "") ","
    NODE("k", "mul.Tensor", T("a", "[5,16]") "," T("m", "[16]"), T("k", "[5,16]"), "") ","
    NODE("y", "linear.default", T("k", "[5,16]") "," T("w3", "[9,16]"), T("y", "[5,9]"), ""));

static const char cnn[] = GRAPH(T("x", "[1,3,8,8]"), T("y", "[1,6]") "," T("c", "[1,4,8,8]"),
    T("w1", "[8,3,3,3]") "," T("b1", "[8]") "," T("w2", "[4,8,1,1]") "," T("w3", "[6,4]") "," T("b3", "[6]"),
    "\"w1\":\"w1\",\"b1\":\"b1\",\"w2\":\"w2\",\"w3\":\"w3\",\"b3\":\"b3\"",
    NODE("h", "conv2d.default", T("x", "[1,3,8,8]") "," T("w1", "[8,3,3,3]") "," T("b1", "[8]"), T("h", "[1,8,8,8]"),
         "\"stride\":[1,1],\"padding\":[1,1],\"dilation\":[1,1],\"groups\":1") ","
    NODE("r", "relu.default", T("h", "[1,8,8,8]"), T("r", "[1,8,8,8]"), "") ","
    NODE("c", "conv2d.default", T("r", "[1,8,8,8]") "," T("w2", "[4,8,1,1]"), T("c", "[1,4,8,8]"),
         "\"stride\":[1,1],\"padding\":[0,0],\"dilation\":[1,1],\"groups\":1") ","
    NODE("p", "max_pool2d.default", T("c", "[1,4,8,8]"), T("p", "[1,4,4,4]"), "\"kernel_size\":[2,2],\"stride\":[2,2]") ","
    NODE("v", "mean.dim", T("p", "[1,4,4,4]"), T("v", "[1,4]"), "\"dim\":[2,3]") ","
    NODE("l", "linear.default", T("v", "[1,4]") "," T("w3", "[6,4]") "," T("b3", "[6]"), T("l", "[1,6]"), "") ","
    NODE("y", "softmax.int", T("l", "[1,6]"), T("y", "[1,6]"), "\"dim\":-1"));

static const char attention[] = GRAPH(T("x", "[1,6,16]") "," T("mask", "[1,1,6,6]"), T("y", "[1,6,16]"),
    T("wq", "[16,16]") "," T("wk", "[16,16]") "," T("wv", "[16,16]") "," T("wo", "[16,16]"),
    "\"wq\":\"wq\",\"wk\":\"wk\",\"wv\":\"wv\",\"wo\":\"wo\"",
    NODE("q", "linear.default", T("x", "[1,6,16]") "," T("wq", "[16,16]"), T("q", "[1,6,16]"), "") ","
    NODE("k", "linear.default", T("x", "[1,6,16]") "," T("wk", "[16,16]"), T("k", "[1,6,16]"), "") ","
    NODE("v", "linear.default", T("x", "[1,6,16]") "," T("wv", "[16,16]"), T("v", "[1,6,16]"), "") ","
    NODE("q4", "view.default", T("q", "[1,6,16]"), T("q4", "[1,6,2,8]"), "\"size\":[1,6,2,8]") ","
    NODE("k4", "view.default", T("k", "[1,6,16]"), T("k4", "[1,6,2,8]"), "\"size\":[1,6,2,8]") ","
    NODE("v4", "view.default", T("v", "[1,6,16]"), T("v4", "[1,6,2,8]"), "\"size\":[1,6,2,8]") ","
    NODE("qt", "transpose.int", T("q4", "[1,6,2,8]"), T("qt", "[1,2,6,8]"), "\"dim0\":1,\"dim1\":2") ","
    NODE("kt", "permute.default", T("k4", "[1,6,2,8]"), T("kt", "[1,2,8,6]"), "\"dims\":[0,2,3,1]") ","
    NODE("vt", "transpose.int", T("v4", "[1,6,2,8]"), T("vt", "[1,2,6,8]"), "\"dim0\":1,\"dim1\":2") ","
    NODE("s", "matmul.default", T("qt", "[1,2,6,8]") "," T("kt", "[1,2,8,6]"), T("s", "[1,2,6,6]"), "") ","
    NODE("sm", "add.Tensor", T("s", "[1,2,6,6]") "," T("mask", "[1,1,6,6]"), T("sm", "[1,2,6,6]"), "") ","
    NODE("p", "softmax.int", T("sm", "[1,2,6,6]"), T("p", "[1,2,6,6]"), "\"dim\":-1") ","
    NODE("o", "matmul.default", T("p", "[1,2,6,6]") "," T("vt", "[1,2,6,8]"), T("o", "[1,2,6,8]"), "") ","
    NODE("ot", "transpose.int", T("o", "[1,2,6,8]"), T("ot", "[1,6,2,8]"), "\"dim0\":1,\"dim1\":2") ","
    NODE("of", "reshape.default", T("ot", "[1,6,2,8]"), T("of", "[1,6,16]"), "\"shape\":[1,6,16]") ","
    NODE("y", "linear.default", T("of", "[1,6,16]") "," T("wo", "[16,16]"), T("y", "[1,6,16]"), ""));

/* Read a graph, and give its weights random data, some channels larger than others. */
static qnnrt_ir *read_graph(const char *text, uint64_t seed)
{
    qnnrt_ir *ir = NULL;
    program p;
    size_t i;
    uint64_t k;
    memset(&p, 0, sizeof(p));
    if (qnnrt_ir_read(text, strlen(text), NULL, &ir, &err) != QNNRT_OK || qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK) {
        printf("    %s\n", err.text);
        exit(1);
    }
    for (i = 0; i < ir->value_count; ++i) {
        qnnrt_ir_value *value = ir->values[i];
        float *data;
        double most = 1;
        if (value->origin != QNNRT_IR_WEIGHT) continue;
        p.seed = seed * 977 + i * 131 + 7;
        data = (float *)calloc((size_t)value->count, sizeof(float));
        for (k = 0; k < value->count; ++k) {
            if (value->rank > 1 && k % (value->count / (uint64_t)value->dims[0]) == 0)
                most = (0.1 + draw(&p, 100) / 50.0) / sqrt((double)value->count / (double)value->dims[0]);
            data[k] = (float)real(&p, most);
        }
        value->data = data;
    }
    return ir;
}

static void free_graph(qnnrt_ir *ir)
{
    size_t i;
    for (i = 0; i < ir->value_count; ++i)
        if (ir->values[i]->origin == QNNRT_IR_WEIGHT) free((void *)(uintptr_t)ir->values[i]->data);
    qnnrt_ir_free(ir);
}

/* Make sample number n of an input. */
static void sample(const qnnrt_ir_value *value, uint64_t seed, float *out)
{
    program p;
    uint64_t k;
    memset(&p, 0, sizeof(p));
    p.seed = seed * 31 + value->count;
    for (k = 0; k < value->count; ++k)
        out[k] = strcmp(value->name, "mask") != 0 ? (float)real(&p, 2)
                 : k % (uint64_t)value->dims[3] > k / (uint64_t)value->dims[3] ? -65504.0f : 0.0f;
}

/* ---- ranges ---- */

typedef struct ranges {
    qnnrt_lower_encoding list[ENCODINGS];
    char                 names[ENCODINGS][100];
    size_t               count;
} ranges;

/* Lower and build. Return the run, or NULL with err. */
static qnnrt_run *built(qnnrt_backend *backend, qnnrt_ir *ir, const qnnrt_lower_desc *desc, qnnrt_lower **lower, qnnrt **model)
{
    qnnrt_builder *builder = NULL, *scratch = NULL;
    qnnrt_run *run = NULL;
    qnnrt_result result = qnnrt_lower_create(desc, lower, &err);
    *model = NULL;
    if (result == QNNRT_OK) result = qnnrt_lower_passes(*lower, ir, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_graph(*lower, ir, "g", &err);
    if (result == QNNRT_OK && desc->act_bits != 0) {
        result = qnnrt_builder_create(backend, NULL, &scratch, &err);
        if (result == QNNRT_OK) result = qnnrt_lower_quantize(*lower, scratch, &err);
        qnnrt_builder_destroy(scratch);
    }
    if (result == QNNRT_OK) result = qnnrt_builder_create(backend, NULL, &builder, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_emit(*lower, builder, &err);
    if (result == QNNRT_OK) result = qnnrt_builder_finish(builder, model, &err);
    else qnnrt_builder_destroy(builder);
    if (result == QNNRT_OK) result = qnnrt_prepare(*model, NULL, &run, &err);
    return run;
}

static int fill(qnnrt_run *run, const qnnrt_ir *ir, uint64_t seed)
{
    float values[4096];
    size_t i;
    for (i = 0; i < ir->input_count; ++i) {
        sample(ir->inputs[i], seed, values);
        if (qnnrt_write_f32(run, qnnrt_run_slot(run, ir->inputs[i]->name), 0, values, (size_t)ir->inputs[i]->count) != QNNRT_OK)
            return 0;
    }
    return qnnrt_exec(run) == QNNRT_OK;
}

/* Run a graph in floats with every tensor as an output, and keep what they had. outputs: NULL, or receives the last
   outputs. */
static int calibrated(qnnrt_backend *backend, const char *text, uint64_t seed, size_t samples, ranges *out, float *outputs)
{
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt *model = NULL;
    qnnrt_ir *ir = read_graph(text, seed);
    qnnrt_run *run;
    const qnnrt_lower_graph_info *info;
    size_t s, i, k;
    int good = 0;
    memset(&desc, 0, sizeof(desc));
    memset(out, 0, sizeof(*out));
    desc.target = qnnrt_lower_target_of(qnnrt_backend_get_info(backend));
    desc.watch = 2;
    run = built(backend, ir, &desc, &lower, &model);
    for (s = 0; s < samples && run != NULL; ++s) {
        good = fill(run, ir, s);
        info = &qnnrt_lower_get_info(lower)->graphs[0];
        out->count = 0;
        for (i = 1; i < info->tensor_count && good; ++i) {
            const qnnrt_lower_tensor *tensor = &info->tensors[i];
            qnnrt_lower_encoding *e = &out->list[out->count];
            float values[8192];
            if (!tensor->used || (tensor->kind != QNNRT_TENSOR_INPUT && tensor->kind != QNNRT_TENSOR_OUTPUT)) continue;
            if (qnnrt_read_f32(run, qnnrt_run_slot(run, tensor->name), 0, values, (size_t)tensor->count) != QNNRT_OK) good = 0;
            for (k = 0; k < tensor->count; ++k) {
                if ((double)values[k] <= QNNRT_LOWER_MASKED) { e->masked = 1; continue; }
                if ((double)values[k] < e->low) e->low = (double)values[k];
                if ((double)values[k] > e->high) e->high = (double)values[k];
            }
            snprintf(out->names[out->count], 100, "%s", tensor->name);
            e->name = out->names[out->count++];
        }
        for (i = 0, k = 0; i < ir->output_count && good && outputs != NULL; ++i) {
            good = qnnrt_read_f32(run, qnnrt_run_slot(run, ir->outputs[i]->name), 0, outputs + k,
                                  (size_t)ir->outputs[i]->count) == QNNRT_OK;
            k += (size_t)ir->outputs[i]->count;
        }
    }
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    qnnrt_lower_free(lower);
    free_graph(ir);
    return good;
}

/* ---- a slow and obvious simulation ---- */

static const void *param(const qnnrt_lower_op *op, const char *name, double *scalar)
{
    size_t i;
    *scalar = 0;
    for (i = 0; i < op->param_count; ++i)
        if (strcmp(op->params[i].name, name) == 0) { *scalar = op->params[i].value; return op->params[i].data; }
    return NULL;
}

static int is_codes(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_U8Q || dtype == QNNRT_DTYPE_U16Q || dtype == QNNRT_DTYPE_S8Q || dtype == QNNRT_DTYPE_S32Q;
}

/* Round real numbers to what a tensor can hold; codes: NULL, or receives them. */
static void hold(const qnnrt_lower_tensor *t, double *values, double *codes)
{
    const int axes = t->quant.encoding == QNNRT_ENCODING_PER_AXIS;
    double low = 0, high = 65535;
    size_t i, inner = 1, k;
    if (!is_codes(t->dtype)) return;
    if (t->dtype == QNNRT_DTYPE_U8Q) high = 255;
    if (t->dtype == QNNRT_DTYPE_S8Q) { low = -128; high = 127; }
    if (t->dtype == QNNRT_DTYPE_S32Q) { low = -2147483648.0; high = 2147483647.0; }
    for (k = t->rank; axes && k-- > (size_t)t->quant.axis + 1;) inner *= t->dims[k];
    for (i = 0; i < t->count; ++i) {
        const double scale = (double)(axes ? t->quant.scales[i / inner % t->quant.count] : t->quant.scale);
        const double offset = axes ? 0 : t->quant.offset;
        double code = round(values[i] / scale) - offset;
        if (code < low) code = low;
        if (code > high) code = high;
        if (codes != NULL) codes[i] = code;
        values[i] = (code + offset) * scale;
    }
}

/* Read the data of a static tensor: a weight, that of a convolution as HWIO. */
static void read_static(const qnnrt_lower_tensor *t, double *out)
{
    const float *data = (const float *)t->value->data;
    const int64_t *d = t->value->dims;
    int64_t o, i, k;
    if (t->value->rank != 4) {
        for (k = 0; k < (int64_t)t->count; ++k) out[k] = (double)data[k];
        return;
    }
    for (o = 0; o < d[0]; ++o)
        for (i = 0; i < d[1]; ++i)
            for (k = 0; k < d[2] * d[3]; ++k) out[(k * d[1] + i) * d[0] + o] = (double)data[(o * d[1] + i) * d[2] * d[3] + k];
}

/* Return where element i of `out` is in a broadcast input. */
static size_t broadcast(const qnnrt_lower_tensor *out, const qnnrt_lower_tensor *in, size_t i)
{
    size_t at = 0, step = 1, k;
    for (k = 0; k < out->rank; ++k) {
        const size_t d = out->dims[out->rank - 1 - k], c = i % d;
        i /= d;
        if (k >= in->rank) continue;
        if (in->dims[in->rank - 1 - k] != 1) at += c * step;
        step *= in->dims[in->rank - 1 - k];
    }
    return at;
}

/* Compute one operator. Return 0 for one that is not known here. */
static int compute(const qnnrt_lower_graph_info *g, const qnnrt_lower_op *op, double *const *v)
{
    const qnnrt_lower_tensor *x = &g->tensors[op->inputs[0]], *y = &g->tensors[op->outputs[0]];
    const qnnrt_lower_tensor *w = op->input_count > 1 ? &g->tensors[op->inputs[1]] : NULL;
    const double *a = v[op->inputs[0]], *b = w != NULL ? v[op->inputs[1]] : NULL;
    const double *bias = op->input_count > 2 ? v[op->inputs[2]] : NULL;
    double *out = v[op->outputs[0]], scalar;
    size_t i, k, n;
    if (strcmp(op->type, "Quantize") == 0 || strcmp(op->type, "Dequantize") == 0 || strcmp(op->type, "Convert") == 0 ||
        strcmp(op->type, "Reshape") == 0) {
        memcpy(out, a, (size_t)y->count * sizeof(double));
    } else if (strcmp(op->type, "Relu") == 0) {
        for (i = 0; i < y->count; ++i) out[i] = a[i] > 0 ? a[i] : 0;
    } else if (strcmp(op->type, "Sigmoid") == 0) {
        for (i = 0; i < y->count; ++i) out[i] = 1 / (1 + exp(-a[i]));
    } else if (strcmp(op->type, "ElementWiseAdd") == 0 || strcmp(op->type, "ElementWiseMultiply") == 0) {
        for (i = 0; i < y->count; ++i) {
            const double p = a[broadcast(y, x, i)], q = b[broadcast(y, w, i)];
            out[i] = op->type[11] == 'A' ? p + q : p * q;
        }
    } else if (strcmp(op->type, "FullyConnected") == 0) {
        const size_t in = w->dims[1];
        for (i = 0; i < y->count; ++i) {
            const size_t row = i / w->dims[0], column = i % w->dims[0];
            out[i] = bias != NULL ? bias[column] : 0;
            for (k = 0; k < in; ++k) out[i] += a[row * in + k] * b[column * in + k];
        }
    } else if (strcmp(op->type, "MatMul") == 0) {
        const size_t K = x->dims[x->rank - 1], M = x->dims[x->rank - 2], N = y->dims[y->rank - 1];
        (void)param(op, "transpose_in1", &scalar);
        for (i = 0; i < y->count; ++i) {
            const size_t batch = i / N / M, row = i / N % M, column = i % N;
            out[i] = 0;
            for (k = 0; k < K; ++k)
                out[i] += a[(batch * M + row) * K + k] * b[batch * K * N + (scalar != 0 ? column * K + k : k * N + column)];
        }
    } else if (strcmp(op->type, "Softmax") == 0) {
        n = y->dims[y->rank - 1];
        for (i = 0; i < y->count; i += n) {
            double most = a[i], sum = 0;
            for (k = 0; k < n; ++k) if (a[i + k] > most) most = a[i + k];
            for (k = 0; k < n; ++k) sum += exp(a[i + k] - most);
            for (k = 0; k < n; ++k) out[i + k] = exp(a[i + k] - most) / sum;
        }
    } else if (strcmp(op->type, "Transpose") == 0) {
        const uint32_t *perm = (const uint32_t *)param(op, "perm", &scalar);
        for (i = 0; i < y->count; ++i) {
            size_t rest = i, at = 0, step;
            for (k = y->rank; k-- > 0;) {
                step = 1;
                for (n = perm[k] + 1; n < x->rank; ++n) step *= x->dims[n];
                at += rest % y->dims[k] * step;
                rest /= y->dims[k];
            }
            out[i] = a[at];
        }
    } else if (strcmp(op->type, "Conv2d") == 0 || strcmp(op->type, "PoolMax2d") == 0) {
        const int pool = op->type[0] == 'P';
        const uint32_t *stride = (const uint32_t *)param(op, "stride", &scalar);
        const uint32_t *pad = (const uint32_t *)param(op, "pad_amount", &scalar);
        const uint32_t *size = pool ? (const uint32_t *)param(op, "filter_size", &scalar) : w->dims;
        const size_t C = x->dims[3], O = y->dims[3];
        for (i = 0; i < y->count; ++i) {
            const size_t o = i % O, ox = i / O % y->dims[2], oy = i / O / y->dims[2];
            size_t ky, kx, c;
            out[i] = pool ? -1e30 : bias != NULL ? bias[o] : 0;
            for (ky = 0; ky < size[0]; ++ky)
                for (kx = 0; kx < size[1]; ++kx) {
                    const size_t iy = oy * stride[0] + ky - pad[0], ix = ox * stride[1] + kx - pad[2];
                    if (iy >= x->dims[1] || ix >= x->dims[2]) continue;
                    if (pool) { if (a[(iy * x->dims[2] + ix) * C + o] > out[i]) out[i] = a[(iy * x->dims[2] + ix) * C + o]; }
                    else
                        for (c = 0; c < C; ++c)
                            out[i] += a[(iy * x->dims[2] + ix) * C + c] * b[((ky * size[1] + kx) * C + c) * O + o];
                }
        }
    } else if (strcmp(op->type, "PoolAvg2d") == 0 || strcmp(op->type, "ReduceMean") == 0) {   /* of whole images */
        const size_t C = x->dims[x->rank - 1], area = (size_t)x->count / C;
        if (y->count != C) return 0;
        for (i = 0; i < C; ++i) {
            out[i] = 0;
            for (k = 0; k < area; ++k) out[i] += a[k * C + i];
            out[i] /= (double)area;
        }
    } else {
        return 0;
    }
    return 1;
}

/* Compute a quantized graph for a sample. Return the values of all tensors, NULL after an operator that is not known. */
static double **simulated(const qnnrt_lower_graph_info *g, uint64_t seed)
{
    double **v = (double **)calloc(g->tensor_count, sizeof(*v));
    size_t i, k;
    for (i = 1; i < g->tensor_count; ++i) {
        const qnnrt_lower_tensor *t = &g->tensors[i];
        v[i] = (double *)calloc((size_t)t->count, sizeof(double));
        if (t->used && t->kind == QNNRT_TENSOR_STATIC) {
            if (t->value == NULL || t->value->data == NULL) { printf("    static %s has no data here\n", t->name); return NULL; }
            read_static(t, v[i]);
            hold(t, v[i], NULL);
        }
    }
    for (i = 0; i < g->ir->input_count; ++i) {
        float values[4096];
        sample(g->ir->inputs[i], seed, values);
        for (k = 0; k < g->ir->inputs[i]->count; ++k) v[g->inputs[i]][k] = (double)values[k];
        hold(&g->tensors[g->inputs[i]], v[g->inputs[i]], NULL);
    }
    for (i = 0; i < g->op_count; ++i) {
        if (!g->ops[i].used) continue;
        if (!compute(g, &g->ops[i], v)) { printf("    %s is not known here\n", g->ops[i].type); return NULL; }
        hold(&g->tensors[g->ops[i].outputs[0]], v[g->ops[i].outputs[0]], NULL);
    }
    return v;
}

/* Calibrate a graph, run it on codes, and compare all outputs with the simulation, in codes, and with the floats. Return
   the largest difference in codes; *relative receives the difference from the floats as a part of the largest one. */
static double codes_differ(qnnrt_backend *backend, const char *text, uint64_t seed, uint32_t bits, double *relative)
{
    ranges *r = (ranges *)malloc(sizeof(*r));
    float floats[4096];
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt *model = NULL;
    qnnrt_run *run;
    qnnrt_ir *ir;
    double worst = 1e9, most = 0, far = 0;
    size_t i, k, n = 0;
    *relative = 1e9;
    if (!calibrated(backend, text, seed, 8, r, floats)) return worst;
    ir = read_graph(text, seed);
    memset(&desc, 0, sizeof(desc));
    desc.target = qnnrt_lower_target_of(qnnrt_backend_get_info(backend));
    desc.act_bits = bits;
    desc.native_io = 1;
    desc.encodings = r->list;
    desc.encoding_count = r->count;
    run = built(backend, ir, &desc, &lower, &model);
    if (run == NULL) printf("    %s\n", err.text);
    if (run != NULL && fill(run, ir, 7)) {
        const qnnrt_lower_graph_info *g = &qnnrt_lower_get_info(lower)->graphs[0];
        double **v = simulated(g, 7);
        if (v != NULL) worst = 0;
        for (i = 0; i < ir->output_count; ++i) {
            const qnnrt_lower_tensor *t = &g->tensors[g->outputs[i]];
            const void *data = qnnrt_data(run, t->name, NULL);
            double codes[4096];
            if (v != NULL) hold(t, v[g->outputs[i]], codes);
            for (k = 0; k < t->count; ++k, ++n) {
                const double code = bits == 8 ? ((const uint8_t *)data)[k] : ((const uint16_t *)data)[k];
                const double value = (code + t->quant.offset) * (double)t->quant.scale;
                if (v != NULL && fabs(code - codes[k]) > worst) worst = fabs(code - codes[k]);
                if (fabs((double)floats[n]) > most) most = fabs((double)floats[n]);
                if (fabs(value - (double)floats[n]) > far) far = fabs(value - (double)floats[n]);
            }
        }
        *relative = far / most;
        for (i = 0; i < g->op_count; ++i)
            if (g->ops[i].used && g->ops[i].in_float != NULL) { printf("    %s: %s\n", g->ops[i].name, g->ops[i].in_float); worst = 1e9; }
        for (i = 1; i < g->tensor_count && v != NULL; ++i) free(v[i]);
        free(v);
    }
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    qnnrt_lower_free(lower);
    free_graph(ir);
    free(r);
    return worst;
}

static qnnrt_backend *opened(void)
{
    qnnrt_backend *backend = NULL;
    if (test_ref_backend(&backend, &err) != QNNRT_OK) { printf("    %s\n", err.text); exit(1); }
    return backend;
}

TEST(lower_quantized_values_are_those_of_a_slow_simulation)
{
    static const struct { const char *name, *text; double codes, within[2]; } cases[] = {
        { "mlp", mlp, 1, { 0.02, 0.05 } }, { "cnn", cnn, 1, { 0.02, 0.06 } },
        { "attention", attention, 2, { 0.03, 0.12 } },           /* 1 in the scores moves the result by another one */
    };
    qnnrt_backend *backend = opened();
    uint64_t seed;
    size_t i;
    uint32_t bits;
    for (i = 0; i < 3; ++i)
        for (bits = 16; bits >= 8; bits -= 8) {
            double worst = 0, far = 0;
            for (seed = 1; seed <= 20; ++seed) {
                double relative, differ = codes_differ(backend, cases[i].text, seed, bits, &relative);
                if (differ > worst) worst = differ;
                if (relative > far) far = relative;
            }
            printf("    %s, %u bits: at most %g codes from the simulation, %.2g of the largest value from the floats\n",
                   cases[i].name, (unsigned)bits, worst, far);
            CHECK(worst <= cases[i].codes);
            CHECK(far <= cases[i].within[bits == 8]);
        }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* A mask covers what Softmax makes 0 in so many bits and no more: 12 below the scores in 8 bits, 32 in 16. Ranges do
   not say their bits. */
TEST(lower_masks_cost_no_more_steps_than_softmax_needs)
{
    static const char text[] = GRAPH(T("x", "[4]") "," T("mask", "[4]"), T("y", "[4]"), "", "",
        NODE("s", "add.Tensor", T("x", "[4]") "," T("mask", "[4]"), T("s", "[4]"), "") ","
        NODE("y", "softmax.int", T("s", "[4]"), T("y", "[4]"), "\"dim\":-1"));
    qnnrt_backend *backend = opened();
    uint32_t bits;
    for (bits = 8; bits <= 16; bits += 8) {
        const double margin = bits == 8 ? 12 : 32, most = bits == 8 ? 255 : 65535;
        qnnrt_lower_encoding given[3];
        qnnrt_lower_desc desc;
        qnnrt_lower *lower = NULL;
        qnnrt_builder *builder = NULL;
        qnnrt_ir *ir = NULL;
        const qnnrt_lower_graph_info *info;
        size_t t, found = 0;
        memset(&desc, 0, sizeof(desc));
        memset(given, 0, sizeof(given));
        given[0].name = "x";
        given[1].name = "mask";
        given[2].name = "s";
        given[0].low = given[2].low = -4;
        given[0].high = given[2].high = 4;
        given[1].masked = given[2].masked = 1;
        desc.act_bits = bits;
        desc.encodings = given;
        desc.encoding_count = 3;
        CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_weights(lower, ir, NULL, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_graph(lower, ir, "g", &err), QNNRT_OK);
        CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_quantize(lower, builder, &err), QNNRT_OK);
        info = &qnnrt_lower_get_info(lower)->graphs[0];
        for (t = 1; t < info->tensor_count; ++t) {
            const qnnrt_lower_tensor *tensor = &info->tensors[t];
            if (tensor->quant.encoding != QNNRT_ENCODING_PER_TENSOR || tensor->value == NULL ||
                strcmp(tensor->value->name, "mask") != 0) continue;
            CHECK(fabs(tensor->quant.scale * most - (margin + 8)) < 1e-3);
            ++found;
        }
        CHECK(found > 0);
        qnnrt_builder_destroy(builder);
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
    }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* Operators that move integers have one input, and no codes. */
TEST(lower_quantizing_leaves_views_of_integers_alone)
{
#define IDS(name, shape) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"int64\"}"
    static const char text[] = GRAPH(T("x", "[4]") "," IDS("i", "[2,3]"), T("y", "[4]") "," IDS("v", "[6]"), "", "",
        NODE("y", "sigmoid.default", T("x", "[4]"), T("y", "[4]"), "") ","
        NODE("v", "reshape.default", IDS("i", "[2,3]"), IDS("v", "[6]"), "\"shape\":[6]"));
    qnnrt_backend *backend = opened();
    qnnrt_lower_encoding given;
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt_ir *ir = NULL;
    memset(&desc, 0, sizeof(desc));
    memset(&given, 0, sizeof(given));
    given.name = "x";
    given.low = -4;
    given.high = 4;
    desc.act_bits = 16;
    desc.encodings = &given;
    desc.encoding_count = 1;
    CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_weights(lower, ir, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_graph(lower, ir, "g", &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_quantize(lower, builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_get_info(lower)->graphs[0].tensors[qnnrt_lower_get_info(lower)->graphs[0].outputs[1]].dtype,
             QNNRT_DTYPE_I32);
    qnnrt_builder_destroy(builder);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* A cache of 8 bits between activations of 16: what is moved into it is converted, and what is read with it has 8 bits.
   The encodings are given once the graph was lowered. */
TEST(lower_quantizing_keeps_caches_apart)
{
    static const char text[] = GRAPH(T("x", "[2,2]") "," T("past", "[2,3]") "," T("w", "[2,2]"),
        T("now", "[2,2]") "," T("y", "[2,5]"), "", "",
        NODE("s", "sigmoid.default", T("x", "[2,2]"), T("s", "[2,2]"), "") ","
        NODE("now", "permute.default", T("s", "[2,2]"), T("now", "[2,2]"), "\"dims\":[1,0]") ","
        NODE("all", "cat.default", T("past", "[2,3]") "," T("now", "[2,2]"), T("all", "[2,5]"), "\"dim\":1") ","
        NODE("y", "matmul.default", T("w", "[2,2]") "," T("all", "[2,5]"), T("y", "[2,5]"), ""));
    static const char *const eight[3] = { "past", "now", "all" };
    qnnrt_backend *backend = opened();
    qnnrt_lower_encoding given[5];
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt_ir *ir = NULL;
    const qnnrt_lower_graph_info *info;
    size_t i, t, found = 0, sixteen = 0;
    memset(&desc, 0, sizeof(desc));
    memset(given, 0, sizeof(given));
    given[0].name = "x";
    given[1].name = "w";
    given[2].name = "s";
    given[3].name = "y";
    for (i = 0; i < 4; ++i) { given[i].low = -4; given[i].high = 4; }
    given[4].name = "now";
    given[4].bits = 8;
    given[4].scale = 1.0f / 64;
    given[4].offset = -128;
    given[4].apart = 1;
    desc.act_bits = 16;
    desc.native_io = 1;
    CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_weights(lower, ir, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_graph(lower, ir, "g", &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_encode(lower, NULL, 5, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_lower_encode(NULL, given, 5, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_lower_encode(lower, given, 5, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_quantize(lower, builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_encode(lower, given, 5, &err), QNNRT_E_ARG);
    info = &qnnrt_lower_get_info(lower)->graphs[0];
    for (t = 1; t < info->tensor_count; ++t) {
        const qnnrt_lower_tensor *tensor = &info->tensors[t];
        if (!tensor->used || tensor->value == NULL) continue;
        if (strcmp(tensor->value->name, "s") == 0) {             /* with 16 bits, and converted */
            sixteen += tensor->dtype == QNNRT_DTYPE_U16Q;
            continue;
        }
        for (i = 0; i < 3 && strcmp(tensor->value->name, eight[i]) != 0; ++i) {}
        CHECK_EQ(tensor->dtype, i < 3 ? QNNRT_DTYPE_U8Q : QNNRT_DTYPE_U16Q);
        if (i < 3) CHECK(tensor->quant.scale == given[4].scale && tensor->quant.offset == -128);
        found += i < 3;
    }
    CHECK(found >= 3 && sixteen == 1);
    qnnrt_builder_destroy(builder);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_emit(lower, builder, &err), QNNRT_OK);
    qnnrt_builder_destroy(builder);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* Every allocation fails once: an error that says so, or none is needed, and nothing is lost. */
TEST(lower_quantizing_without_memory_is_an_error)
{
    static const char *const texts[3] = { mlp, cnn, attention };
    qnnrt_backend *backend = opened();
    ranges *r = (ranges *)malloc(sizeof(*r));
    float floats[4096];
    long at, failed = 0;
    size_t i;
    for (i = 0; i < 3; ++i) {
        CHECK(calibrated(backend, texts[i], 3, 2, r, floats));
        for (at = 0; ; ++at) {
            qnnrt_ir *ir = read_graph(texts[i], 3);
            qnnrt_builder *scratch = NULL, *builder = NULL;
            qnnrt_lower_desc desc;
            qnnrt_lower *lower = NULL;
            qnnrt *model = NULL;
            qnnrt_result result;
            memset(&desc, 0, sizeof(desc));
            desc.hooks.alloc = counted_alloc;
            desc.hooks.free = counted_free;
            desc.act_bits = 8;
            desc.encodings = r->list;
            desc.encoding_count = r->count;
            allocations = live = 0;
            fail_at = at;
            CHECK_EQ(qnnrt_builder_create(backend, NULL, &scratch, &err), QNNRT_OK);
            CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
            TEST_JUNK(err);
            result = qnnrt_lower_create(&desc, &lower, &err);
            if (result == QNNRT_OK) result = qnnrt_lower_weights(lower, ir, NULL, &err);
            if (result == QNNRT_OK) result = qnnrt_lower_passes(lower, ir, &err);
            if (result == QNNRT_OK) result = qnnrt_lower_graph(lower, ir, "g", &err);
            if (result == QNNRT_OK) result = qnnrt_lower_quantize(lower, scratch, &err);
            if (result == QNNRT_OK) result = qnnrt_lower_emit(lower, builder, &err);
            if (result == QNNRT_OK) result = qnnrt_builder_finish(builder, &model, &err);
            else qnnrt_builder_destroy(builder);
            qnnrt_builder_destroy(scratch);
            if (result != QNNRT_OK) {
                if (result != QNNRT_E_MEMORY) printf("    graph %u, allocation %ld: %s\n", (unsigned)i, at, err.text);
                CHECK_EQ(result, QNNRT_E_MEMORY);
                CHECK_EQ(err.code, QNNRT_E_MEMORY);
                ++failed;
            }
            fail_at = -1;
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            qnnrt_lower_free(lower);
            free_graph(ir);
            CHECK_EQ(live, 0);
            if (result == QNNRT_OK && allocations <= at) break;
        }
    }
    printf("    %ld allocations failed\n", failed);
    CHECK(failed > 50);
    free(r);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST_MAIN("lower_quant")
{
    RUN(lower_quantized_values_are_those_of_a_slow_simulation);
    RUN(lower_masks_cost_no_more_steps_than_softmax_needs);
    RUN(lower_quantizing_leaves_views_of_integers_alone);
    RUN(lower_quantizing_keeps_caches_apart);
    RUN(lower_quantizing_without_memory_is_an_error);
}
