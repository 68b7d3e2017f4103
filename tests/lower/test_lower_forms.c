/* test_lower_forms.c - qnnrt_lower.h: forms of operators that ops.json does not have

   Each case is a node or a small graph. Lowered and run on libQnnRef.so, with its later inputs as inputs and as
   constants, it gives what qnnrt_ir_run() gives. LOWER_LIB=FILE in the environment tries another library. */
#include "qnnrt_lower.h"
#include "ref.h"
#include "test.h"
#include <math.h>

/* Inputs and outputs: a letter (f: floats; h: floats of several thousands; i: 0 or 1; n: -2 to 1; b: bools) and dims. */
static const struct { const char *op, *in, *attrs, *out; } cases[] = {
    /* masks of every shape, without and with heads that share keys */
    { "scaled_dot_product_attention.default", "f2,4,3,8 f2,4,5,8 f2,4,5,6 b3,5", "", "f2,4,3,6" },
    { "scaled_dot_product_attention.default", "f2,4,3,8 f2,4,5,8 f2,4,5,6 b2,1,1,5", "", "f2,4,3,6" },
    { "scaled_dot_product_attention.default", "f2,4,3,8 f2,4,5,8 f2,4,5,6 f4,3,5", "", "f2,4,3,6" },
    { "scaled_dot_product_attention.default", "f2,4,3,8 f2,4,5,8 f2,4,5,6 f2,4,3,5", "\"scale\":0.25", "f2,4,3,6" },
    { "scaled_dot_product_attention.default", "f2,6,3,8 f2,2,5,8 f2,2,5,6 b3,5", "\"enable_gqa\":true", "f2,6,3,6" },
    { "scaled_dot_product_attention.default", "f2,6,3,8 f2,2,5,8 f2,2,5,6 f2,1,1,5", "\"enable_gqa\":true", "f2,6,3,6" },
    { "scaled_dot_product_attention.default", "f2,6,3,8 f2,2,5,8 f2,2,5,6 f2,1,3,5", "\"enable_gqa\":true", "f2,6,3,6" },
    { "scaled_dot_product_attention.default", "f2,6,3,8 f2,2,5,8 f2,2,5,6 f6,3,5", "\"enable_gqa\":true", "f2,6,3,6" },
    { "scaled_dot_product_attention.default", "f2,6,3,8 f2,2,5,8 f2,2,5,6 f6,1,5", "\"enable_gqa\":true", "f2,6,3,6" },
    { "scaled_dot_product_attention.default", "f2,6,3,8 f2,2,5,8 f2,2,5,6 f2,6,3,1", "\"enable_gqa\":true", "f2,6,3,6" },
    { "scaled_dot_product_attention.default", "f2,6,3,8 f2,1,5,8 f2,1,5,6 f2,6,3,5", "\"enable_gqa\":true", "f2,6,3,6" },
    { "scaled_dot_product_attention.default", "f1,6,1,8 f1,2,5,8 f1,2,5,8 b1,1,1,5", "\"enable_gqa\":true", "f1,6,1,8" },
    { "scaled_dot_product_attention.default", "f2,6,4,8 f2,2,4,8 f2,2,4,6", "\"enable_gqa\":true,\"is_causal\":true", "f2,6,4,6" },
    { "scaled_dot_product_attention.default", "f6,4,8 f6,4,8 f6,4,8", "\"is_causal\":true", "f6,4,8" },
    { "scaled_dot_product_attention.default", "f6,4,8 f2,3,8 f2,3,8 f4,3", "\"enable_gqa\":true", "f6,4,8" },
    { "scaled_dot_product_attention.default", "f4,8 f3,8 f3,8 f4,3", "", "f4,8" },
    { "scaled_dot_product_attention.default", "f2,2,6,3,8 f2,2,2,5,8 f2,2,2,5,8 f3,5", "\"enable_gqa\":true", "f2,2,6,3,8" },
    { "addmm.default", "f1 f3,4 f4,5", "\"alpha\":0.5,\"beta\":2", "f3,5" },
    { "addmm.default", "f5 f3,4 f4,5", "\"alpha\":0.5,\"beta\":2", "f3,5" },
    /* choices, places */
    { "where.self", "b3,1 f1,4 f2,3,1", "", "f2,3,4" },
    { "where.self", "b1,1,3,4 b2,1,1,4 b2,2,3,1", "", "b2,2,3,4" },
    { "where.self", "b f3,4 f", "", "f3,4" },
    { "where.self", "b2,1 i2,3 i1,3", "", "i2,3" },
    { "masked_fill.Scalar", "f2,3,4 b3,1", "\"value\":-3.4028234663852886e+38", "f2,3,4" },
    { "masked_fill.Tensor", "f2,3 b2,3 f", "", "f2,3" },
    { "index.Tensor", "f3,4,5 n2,3", "\"_tensor_list_sizes\":[1],\"_tensor_list_none_masks\":[[true,false]]", "f3,2,3,5" },
    { "index.Tensor", "f3,4,5 n2,1 n3", "\"_tensor_list_sizes\":[2]", "f2,3,5" },
    { "index.Tensor", "f3,4,5 n2,1 n3", "\"_tensor_list_sizes\":[2],\"_tensor_list_none_masks\":[[false,true,false]]", "f2,3,4" },
    { "index.Tensor", "b3,4 n2,1 n1,3", "\"_tensor_list_sizes\":[2]", "b2,3" },
    { "index.Tensor", "i3,4 n", "\"_tensor_list_sizes\":[1]", "i4" },
    { "index_select.default", "f3,4 i2", "\"dim\":1", "f3,2" },
    { "index_select.default", "b3,4 i2", "\"dim\":-2", "b2,4" },
    { "gather.default", "f3,2,4,2 i2,2,3,2", "\"dim\":2", "f2,2,3,2" },
    { "gather.default", "b2,3 i2,3", "\"dim\":0", "b2,3" },
    { "embedding.default", "f4,6 i2,3", "", "f2,3,6" },
    /* along axes */
    { "cumsum.default", "f2,3,4,5", "\"dim\":1", "f2,3,4,5" },
    { "cumsum.default", "b2,7", "\"dim\":-1", "i2,7" },
    { "any.dim", "b2,3,4", "\"dim\":1", "b2,4" },
    { "all.dim", "f2,3,4", "\"dim\":-1,\"keepdim\":true", "b2,3,1" },
    { "argmax.default", "f2,3,4", "", "i" },
    { "max.dim", "f2,3,4", "\"dim\":1", "f2,4 i2,4" },
    { "min.dim", "f5", "\"dim\":0", "f i" },
    { "topk.default", "f2,3,7", "\"k\":3,\"dim\":2,\"largest\":false", "f2,3,3 i2,3,3" },
    { "amax.default", "i2,3", "\"dim\":[0]", "i3" },
    { "softmax.int", "f2,3,4", "\"dim\":1", "f2,3,4" },
    { "log_softmax.int", "f2,3,4", "\"dim\":0", "f2,3,4" },
    { "linalg_vector_norm.default", "h4,9", "\"dim\":[-1],\"keepdim\":true", "f4,1" },
    { "linalg_vector_norm.default", "f4,9", "\"ord\":0,\"dim\":[0]", "f9" },
    { "rms_norm.default", "f20,5 f5", "\"normalized_shape\":[5]", "f20,5" },
    { "rms_norm.default", "f8,8,5 f5", "\"normalized_shape\":[5]", "f8,8,5" },
    { "rms_norm.default", "f2,24,8 f8", "\"normalized_shape\":[8]", "f2,24,8" },
    { "rms_norm.default", "f1,9,4,8 f8", "\"normalized_shape\":[8]", "f1,9,4,8" },
    { "rms_norm.default", "h3,64 f64", "\"normalized_shape\":[64]", "f3,64" },
    /* integers and bools */
    { "floor_divide.default", "n2,3", "\"other\":3", "n2,3" },
    { "floor_divide.default", "f2,3 h3", "", "f2,3" },
    { "remainder.Scalar", "n2,3", "\"other\":3", "n2,3" },
    { "remainder.Scalar", "f2,3", "\"other\":0.5", "f2,3" },
    { "div.Tensor_mode", "n2,3", "\"other\":2,\"rounding_mode\":\"trunc\"", "n2,3" },
    { "lt.Scalar", "n2,3", "\"other\":0.5", "b2,3" },
    { "ge.Scalar", "n2,3", "\"other\":-0.5", "b2,3" },
    { "eq.Tensor", "b2,3 b3", "", "b2,3" },
    { "logical_not.default", "n2,3", "", "b2,3" },
    { "logical_and.default", "n2,3 f3", "", "b2,3" },
    { "add.Tensor", "b2,3 b3", "", "b2,3" },
    { "mul.Tensor", "b2,3 f3", "", "f2,3" },
    { "neg.default", "n2,3", "", "n2,3" },
    { "sum.dim_IntList", "b2,3", "\"dim\":[1]", "i2" },
    { "matmul.default", "n2,3 n3,4", "", "n2,4" },
    { "repeat_interleave.self_int", "f2,3,4", "\"repeats\":3,\"dim\":1", "f2,9,4" },
    { "diff.default", "b2,5", "\"dim\":1", "b2,4" },
    { "expand.default", "f", "\"size\":[2,3]", "f2,3" },
    /* a number first */
    { "add.Tensor", "f2,3", "\"self\":2.5,\"alpha\":3", "f2,3" },
    { "sub.Tensor", "f2,3", "\"self\":2.5", "f2,3" },
    { "sub.Tensor", "n2,3", "\"self\":2", "n2,3" },
    { "mul.Tensor", "f2,3", "\"self\":2.5", "f2,3" },
    { "div.Tensor", "f2,3", "\"self\":2.5", "f2,3" },
    { "split.Tensor", "f4,3", "\"split_size\":4,\"dim\":0", "f4,3" },
};

typedef struct spec { char kind; uint32_t rank; int64_t dims[8], count; } spec;

/* Read the next one of a list. Return what is left, NULL at its end. */
static const char *read_spec(const char *text, spec *out)
{
    memset(out, 0, sizeof(*out));
    out->count = 1;
    if (*text == '\0') return NULL;
    out->kind = *text++;
    while (*text != '\0' && *text != ' ') {
        char *end;
        out->dims[out->rank] = strtol(text, &end, 10);
        out->count *= out->dims[out->rank++];
        text = *end == ',' ? end + 1 : end;
    }
    return *text == ' ' ? text + 1 : text;
}

static size_t write_values(char *text, size_t room, const char *list, const char *prefix)
{
    size_t used = 0;
    uint32_t i, k;
    spec s;
    for (k = 0; (list = read_spec(list, &s)) != NULL; ++k) {
        used += (size_t)snprintf(text + used, room - used, "%s{\"name\":\"%s%u\",\"dtype\":\"%s\",\"shape\":[", k > 0 ? "," : "",
                                 prefix, (unsigned)k, s.kind == 'b' ? "bool" : s.kind == 'f' || s.kind == 'h' ? "float32" : "int64");
        for (i = 0; i < s.rank; ++i)
            used += (size_t)snprintf(text + used, room - used, "%s%ld", i > 0 ? "," : "", (long)s.dims[i]);
        used += (size_t)snprintf(text + used, room - used, "]}");
    }
    return k;
}

static qnnrt_error err;
static uint32_t seed;

static int draw(int most)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)most);
}

/* Make elements of a kind. */
static void *make_data(const qnnrt_ir_value *value, char kind)
{
    void *data = malloc((size_t)value->count * 8 + 1);
    uint64_t i;
    if (data == NULL) abort();
    for (i = 0; i < value->count; ++i) {
        if (kind == 'f') ((float *)data)[i] = (float)(draw(64) - 32) / 16;
        else if (kind == 'h') ((float *)data)[i] = (float)(draw(64) - 32) * 100 + 50;
        else if (kind == 'b') ((unsigned char *)data)[i] = (unsigned char)(i % 3 == 0 || draw(2));
        else ((int64_t *)data)[i] = kind == 'i' ? draw(2) : draw(4) - 2;
    }
    return data;
}

static double element(qnnrt_dtype dtype, const void *data, size_t i)
{
    return dtype == QNNRT_DTYPE_F32 ? (double)((const float *)data)[i] : dtype == QNNRT_DTYPE_I64 ? (double)((const int64_t *)data)[i]
           : dtype == QNNRT_DTYPE_I32 ? (double)((const int32_t *)data)[i] : (double)((const unsigned char *)data)[i];
}

/* Lower and run a graph. Return the largest difference, relative to the largest value. */
static double lowered(qnnrt_backend *backend, const qnnrt_ir *ir, void *const *inputs, void *const *expected)
{
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    const qnnrt_lower_graph_info *info;
    qnnrt_result result;
    double worst = 0;
    size_t i, k;
    memset(&desc, 0, sizeof(desc));
    desc.target = qnnrt_lower_target_of(qnnrt_backend_get_info(backend));
    desc.build_id = qnnrt_backend_get_info(backend)->build_id;
    result = qnnrt_lower_create(&desc, &lower, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_graph(lower, ir, "form", &err);
    if (result == QNNRT_OK) result = qnnrt_builder_create(backend, NULL, &builder, &err);
    if (result == QNNRT_OK) result = qnnrt_lower_emit(lower, builder, &err);
    if (result == QNNRT_OK) result = qnnrt_builder_finish(builder, &model, &err);
    else qnnrt_builder_destroy(builder);
    if (result == QNNRT_OK) result = qnnrt_prepare(model, NULL, &run, &err);
    info = lower != NULL ? qnnrt_lower_get_info(lower)->graphs : NULL;
    for (i = 0; i < ir->input_count && result == QNNRT_OK; ++i) {
        const qnnrt_ir_value *value = ir->inputs[i];
        const qnnrt_slot *slot = info->inputs[i] != 0 ? qnnrt_run_slot(run, value->name) : NULL;
        void *data;
        if (slot == NULL) continue;                             /* nothing reads it */
        data = qnnrt_data_slot(run, slot, NULL);
        for (k = 0; k < value->count; ++k) {
            const double v = element(value->dtype, inputs[i], k);
            if (slot->tensor->dtype == QNNRT_DTYPE_F32) ((float *)data)[k] = (float)v;
            else if (slot->tensor->dtype == QNNRT_DTYPE_I32) ((int32_t *)data)[k] = (int32_t)v;
            else ((unsigned char *)data)[k] = (unsigned char)v;
        }
    }
    if (result == QNNRT_OK && (result = qnnrt_exec(run)) != QNNRT_OK) err = *qnnrt_run_error(run);
    for (i = 0; i < ir->output_count && result == QNNRT_OK; ++i) {
        const qnnrt_slot *slot = qnnrt_run_slot(run, info->tensors[info->outputs[i]].name);
        const void *data = slot != NULL ? qnnrt_data_slot(run, slot, NULL) : NULL;
        double most = 1e-3;
        if (data == NULL) { worst = HUGE_VAL; break; }
        for (k = 0; k < ir->outputs[i]->count; ++k)
            most = fmax(most, fabs(element(ir->outputs[i]->dtype, expected[i], k)));
        if (most > 1e30) most = 1e30;
        for (k = 0; k < ir->outputs[i]->count; ++k) {
            double a = element(ir->outputs[i]->dtype, expected[i], k), b = element(slot->tensor->dtype, data, k), d;
            if (most == 1e30 && a < -1e30 && b < -60000) continue;     /* float16 ends at -65504 */
            d = fabs(a - b) / (most == 1e30 ? 1 : most);
            if (!(d <= worst)) worst = isnan(d) ? HUGE_VAL : d;
        }
    }
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    qnnrt_lower_free(lower);
    if (result == QNNRT_OK) return worst;
    printf("    %s\n", err.text);
    return HUGE_VAL;
}

/* Run a graph both ways; way 1: with the inputs from 1 on as constants. kinds: those of the inputs */
static double form(qnnrt_backend *backend, const char *text, const char *kinds, int way)
{
    void *inputs[8] = { NULL }, *outputs[8] = { NULL };
    qnnrt_ir *ir = NULL;
    double worst = HUGE_VAL;
    size_t i;
    if (qnnrt_ir_read(text, strlen(text), NULL, &ir, &err) != QNNRT_OK || qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK) {
        printf("    %s\n%s\n", err.text, text);
        qnnrt_ir_free(ir);
        return worst;
    }
    for (i = 0; i < ir->input_count; ++i) {
        spec s;
        kinds = read_spec(kinds, &s);
        inputs[i] = make_data(ir->inputs[i], s.kind);
    }
    for (i = 0; i < ir->output_count; ++i) {
        outputs[i] = malloc((size_t)ir->outputs[i]->count * 8 + 1);
        if (outputs[i] == NULL) abort();
    }
    if (qnnrt_ir_run(ir, NULL, (const void *const *)inputs, outputs, &err) != QNNRT_OK) {
        printf("    %s\n", err.text);
    } else {
        const size_t count = ir->input_count;
        for (i = 1; i < count && way == 1; ++i) {
            ir->inputs[i]->origin = QNNRT_IR_CONSTANT;
            ir->inputs[i]->data = inputs[i];
        }
        if (way == 1) ir->input_count = 1;
        worst = lowered(backend, ir, inputs, outputs);
        ir->input_count = count;
    }
    for (i = 0; i < 8; ++i) { free(inputs[i]); free(outputs[i]); }
    qnnrt_ir_free(ir);
    return worst;
}

static void open_library(qnnrt_backend **backend, double *bar)
{
    const char *path = getenv("LOWER_LIB");
    qnnrt_backend_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.path = path != NULL ? path : TEST_REF_LIB;
    CHECK_EQ(qnnrt_backend_open(&desc, backend, &err), QNNRT_OK);
    *bar = qnnrt_lower_target_of(qnnrt_backend_get_info(*backend)) == QNNRT_LOWER_HTP ? 1e-2 : 1e-5;
}

TEST(lower_forms_of_operators_are_right)
{
    double bar;
    qnnrt_backend *backend = NULL;
    static char text[20000], values[2][4096];
    size_t i;
    open_library(&backend, &bar);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        int way;
        write_values(values[0], sizeof values[0], cases[i].in, "x");
        write_values(values[1], sizeof values[1], cases[i].out, "y");
        snprintf(text, sizeof text, "{\"graph_inputs\":[%s],\"graph_outputs\":[%s],\"weights\":[],\"nodes\":[{\"name\":\"node\","
                 "\"op_type\":\"aten.%s\",\"inputs\":[%s],\"outputs\":[%s],\"attrs\":{%s}}]}", values[0], values[1], cases[i].op,
                 values[0], values[1], cases[i].attrs);
        for (way = 0; way < 2; ++way) {
            double d;
            seed = 7;
            d = form(backend, text, cases[i].in, way);
            if (!(d <= bar)) printf("    %s %s {%s} way %d: %g\n", cases[i].op, cases[i].in, cases[i].attrs, way, d);
            CHECK(d <= bar);
        }
    }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

#define IN(name, type, shape) "{\"name\":\"" name "\",\"dtype\":\"" type "\",\"shape\":" shape "}"
#define NODE(op, in, out, attrs) \
    "{\"name\":\"" out "\",\"op_type\":\"aten." op "\",\"inputs\":[" in "],\"outputs\":[" IN(out, "float32", "[2,3]") "],\"attrs\":{" attrs "}}"

TEST(lower_forms_outputs_of_every_origin)
{
    static const struct { const char *text, *kinds; } graphs[] = {
        /* an input, a value twice, a value that another node reads */
        { "{\"graph_inputs\":[" IN("x", "float32", "[2,3]") "],\"graph_outputs\":[" IN("x", "float32", "[2,3]") ","
          IN("a", "float32", "[2,3]") "," IN("a", "float32", "[2,3]") "," IN("b", "float32", "[2,3]") "],\"weights\":[],\"nodes\":["
          NODE("relu.default", IN("x", "float32", "[2,3]"), "a", "") ","
          NODE("neg.default", IN("a", "float32", "[2,3]"), "b", "") "]}", "f2,3" },
        /* a constant, and an input of integers */
        { "{\"graph_inputs\":[" IN("x", "float32", "[2,3]") "," IN("n", "int64", "[3]") "],\"graph_outputs\":["
          IN("a", "float32", "[2,3]") "," IN("n", "int64", "[3]") "],\"weights\":[],\"nodes\":["
          NODE("zeros_like.default", IN("x", "float32", "[2,3]"), "a", "") "]}", "f2,3 n3" },
        /* scalars */
        { "{\"graph_inputs\":[" IN("x", "float32", "[]") "," IN("n", "int64", "[]") "],\"graph_outputs\":["
          IN("a", "float32", "[]") "],\"weights\":[],\"nodes\":[{\"name\":\"a\",\"op_type\":\"aten.mul.Tensor\",\"inputs\":["
          IN("x", "float32", "[]") "," IN("n", "int64", "[]") "],\"outputs\":[" IN("a", "float32", "[]") "],\"attrs\":{}}]}", "f n" },
        /* elements of a view of another rank */
        { "{\"graph_inputs\":[" IN("x", "float32", "[1,2,2,3]") "," IN("n", "int64", "[4,2]") "],\"graph_outputs\":["
          IN("a", "float32", "[4,2]") "],\"weights\":[],\"nodes\":[{\"name\":\"v\",\"op_type\":\"aten.view.default\",\"inputs\":["
          IN("x", "float32", "[1,2,2,3]") "],\"outputs\":[" IN("v", "float32", "[4,3]") "],\"attrs\":{\"size\":[4,3]}},{\"name\":\"a\","
          "\"op_type\":\"aten.gather.default\",\"inputs\":[" IN("v", "float32", "[4,3]") "," IN("n", "int64", "[4,2]") "],\"outputs\":["
          IN("a", "float32", "[4,2]") "],\"attrs\":{\"dim\":1}}]}", "f1,2,2,3 i4,2" },
        { "{\"graph_inputs\":[" IN("x", "float32", "[4,3]") "," IN("n", "int64", "[1,4,2]") "],\"graph_outputs\":["
          IN("a", "float32", "[1,4,2]") "],\"weights\":[],\"nodes\":[{\"name\":\"v\",\"op_type\":\"aten.view.default\",\"inputs\":["
          IN("x", "float32", "[4,3]") "],\"outputs\":[" IN("v", "float32", "[1,4,3]") "],\"attrs\":{\"size\":[1,4,3]}},{\"name\":\"a\","
          "\"op_type\":\"aten.gather.default\",\"inputs\":[" IN("v", "float32", "[1,4,3]") "," IN("n", "int64", "[1,4,2]") "],\"outputs\":["
          IN("a", "float32", "[1,4,2]") "],\"attrs\":{\"dim\":2}}]}", "f4,3 i1,4,2" },
    };
    double bar;
    qnnrt_backend *backend = NULL;
    size_t i;
    open_library(&backend, &bar);
    for (i = 0; i < sizeof(graphs) / sizeof(graphs[0]); ++i) {
        seed = 7;
        CHECK(form(backend, graphs[i].text, graphs[i].kinds, 0) <= bar);
    }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

#define VIEW(out, shape, size) \
    "{\"name\":\"" out "\",\"op_type\":\"aten.view.default\",\"inputs\":[" IN("x", "float32", "[2,6]") "],\"outputs\":[" \
    IN(out, "float32", shape) "],\"attrs\":{\"size\":" size "}}"

/* Read a graph and lower it for a target; passes: after these. The caller frees both. */
static qnnrt_result lower_for(const char *text, int target, int passes, qnnrt_lower **lower, qnnrt_ir **ir)
{
    qnnrt_lower_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.target = (qnnrt_lower_target)target;
    if (qnnrt_ir_read(text, strlen(text), NULL, ir, &err) == QNNRT_OK && qnnrt_ir_check(*ir, NULL, NULL, &err) == QNNRT_OK &&
        qnnrt_lower_create(&desc, lower, &err) == QNNRT_OK && (!passes || qnnrt_lower_passes(*lower, *ir, &err) == QNNRT_OK))
        qnnrt_lower_graph(*lower, *ir, "g", &err);
    return err.code;
}

/* HTP computes a product wrong whose operands both repeat, where Reshape makes both: one becomes a Tile. */
TEST(lower_forms_repeat_one_operand_of_a_product)
{
    static const char text[] =
        "{\"graph_inputs\":[" IN("x", "float32", "[2,6]") "],\"graph_outputs\":[" IN("z", "float32", "[2,6,6]") "],\"weights\":[],"
        "\"nodes\":[" VIEW("a", "[2,1,6]", "[2,1,6]") "," VIEW("b", "[2,6,1]", "[2,6,1]") ","
        "{\"name\":\"z\",\"op_type\":\"aten.mul.Tensor\",\"inputs\":[" IN("a", "float32", "[2,1,6]") ","
        IN("b", "float32", "[2,6,1]") "],\"outputs\":[" IN("z", "float32", "[2,6,6]") "],\"attrs\":{}}]}";
    double bar;
    qnnrt_backend *backend = NULL;
    int htp;
    open_library(&backend, &bar);
    seed = 7;
    CHECK(form(backend, text, "f2,6", 0) <= bar);
    for (htp = 0; htp < 2; ++htp) {
        const qnnrt_lower_graph_info *graph;
        qnnrt_lower *lower = NULL;
        qnnrt_ir *ir = NULL;
        size_t i, tiles = 0;
        CHECK_EQ(lower_for(text, htp ? QNNRT_LOWER_HTP : QNNRT_LOWER_REF, 0, &lower, &ir), QNNRT_OK);
        graph = &qnnrt_lower_get_info(lower)->graphs[0];
        for (i = 0; i < graph->op_count; ++i) tiles += strcmp(graph->ops[i].type, "Tile") == 0;
        CHECK_EQ(tiles, (size_t)htp);
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
    }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* Libraries compute integers in int32: what can leave it is refused, with what it can be. */
TEST(lower_forms_refuse_what_int32_does_not_hold)
{
    static const struct { const char *op, *attrs, *range, *out; int target; const char *why; } rows[] = {
        { "mul.Tensor", "\"other\":1000", "", "[4]", QNNRT_LOWER_REF, "\"z\" can be from -1073741823000 to 1073741823000" },
        { "mul.Tensor", "\"other\":1000", "[0,3000000]", "[4]", QNNRT_LOWER_REF, "\"z\" can be from 0 to 3000000000" },
        { "mul.Tensor", "\"other\":1000", "[0,3000]", "[4]", QNNRT_LOWER_REF, NULL },
        { "add.Tensor", "\"other\":1", "", "[4]", QNNRT_LOWER_REF, NULL },
        { "neg.default", "", "[0,5000000000]", "[4]", QNNRT_LOWER_REF, "\"x\" can be from 0 to 5000000000" },
        { "sum.dim_IntList", "\"dim\":[0]", "[0,100000000]", "[]", QNNRT_LOWER_REF, NULL },
        { "sum.dim_IntList", "\"dim\":[0]", "[0,100000000]", "[]", QNNRT_LOWER_HTP, "holds -16777216 to 16777216" },
    };
    size_t i;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        char text[1500];
        qnnrt_lower *lower = NULL;
        qnnrt_ir *ir = NULL;
        snprintf(text, sizeof text, "{\"graph_inputs\":[" IN("x", "int64", "[4]") "],\"graph_outputs\":[{\"name\":\"z\",\"dtype\":"
                 "\"int64\",\"shape\":%s}],\"weights\":[],\"ranges\":{%s%s},\"nodes\":[{\"name\":\"z\",\"op_type\":\"aten.%s\","
                 "\"inputs\":[" IN("x", "int64", "[4]") "],\"outputs\":[{\"name\":\"z\",\"dtype\":\"int64\",\"shape\":%s}],"
                 "\"attrs\":{%s}}]}", rows[i].out, *rows[i].range != '\0' ? "\"x\":" : "", rows[i].range, rows[i].op, rows[i].out,
                 rows[i].attrs);
        CHECK_EQ(lower_for(text, rows[i].target, 1, &lower, &ir), rows[i].why != NULL ? QNNRT_E_UNSUPPORTED : QNNRT_OK);
        if (rows[i].why != NULL) CHECK_STR(err.text, rows[i].why);
        else {
            const qnnrt_lower_graph_info *graph = &qnnrt_lower_get_info(lower)->graphs[0];
            CHECK_EQ(graph->tensors[graph->inputs[0]].has_range, *rows[i].range != '\0');
        }
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
    }
}

/* HTP has no sine of large angles: 0.09 apart at 700. */
TEST(lower_forms_refuse_angles_that_are_inputs_times_numbers)
{
    static const struct { const char *first, *attrs; int target, refused; } rows[] = {
        { "mul.Tensor", "\"other\":30", QNNRT_LOWER_HTP, 1 },  { "mul.Tensor", "\"other\":30", QNNRT_LOWER_REF, 0 },
        { "mul.Tensor", "\"other\":30", QNNRT_LOWER_CPU, 0 },  { "div.Tensor", "\"other\":0.01", QNNRT_LOWER_HTP, 1 },
        { "tanh.default", "", QNNRT_LOWER_HTP, 0 },            { "add.Tensor", "\"other\":30", QNNRT_LOWER_HTP, 0 },
    };
    size_t i;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        char text[1500];
        qnnrt_lower *lower = NULL;
        qnnrt_ir *ir = NULL;
        snprintf(text, sizeof text, "{\"graph_inputs\":[" IN("x", "float32", "[4]") "],\"graph_outputs\":[" IN("z", "float32", "[4,1]")
                 "],\"weights\":[],\"nodes\":[{\"name\":\"y\",\"op_type\":\"aten.%s\",\"inputs\":[" IN("x", "float32", "[4]")
                 "],\"outputs\":[" IN("y", "float32", "[4]") "],\"attrs\":{%s}},{\"name\":\"v\",\"op_type\":\"aten.unsqueeze.default\","
                 "\"inputs\":[" IN("y", "float32", "[4]") "],\"outputs\":[" IN("v", "float32", "[4,1]") "],\"attrs\":{\"dim\":1}},"
                 "{\"name\":\"z\",\"op_type\":\"aten.sin.default\",\"inputs\":[" IN("v", "float32", "[4,1]") "],\"outputs\":["
                 IN("z", "float32", "[4,1]") "],\"attrs\":{}}]}", rows[i].first, rows[i].attrs);
        CHECK_EQ(lower_for(text, rows[i].target, 0, &lower, &ir), rows[i].refused ? QNNRT_E_UNSUPPORTED : QNNRT_OK);
        if (rows[i].refused) CHECK_STR(err.text, "angles that are multiples of an input can be large");
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
    }
}

/* HTP convolves one row wrong with wide padding: it gets a kernel of three rows, two of them zeros. */
TEST(lower_forms_rows_with_wide_padding_on_htp)
{
    static const struct { int target, width, kernel; uint32_t rows; } rows[] = {
        { QNNRT_LOWER_HTP, 8, 5, 3 },  { QNNRT_LOWER_REF, 8, 5, 1 }, { QNNRT_LOWER_CPU, 8, 5, 1 },
        { QNNRT_LOWER_HTP, 8, 3, 1 },  { QNNRT_LOWER_HTP, 9, 5, 1 }, { QNNRT_LOWER_HTP, 16, 5, 1 },
        { QNNRT_LOWER_HTP, 64, 33, 3 },
    };
    size_t i, k;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        const qnnrt_lower_graph_info *graph;
        char text[1500];
        qnnrt_lower *lower = NULL;
        qnnrt_ir *ir = NULL;
        uint32_t found = 0;
        snprintf(text, sizeof text, "{\"graph_inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[1,1,%d]}],\"graph_outputs\":[{\"name\":"
                 "\"z\",\"dtype\":\"float32\",\"shape\":[1,1,%d]}],\"weights\":[],\"nodes\":[{\"name\":\"t\",\"op_type\":\"aten.arange.default\","
                 "\"inputs\":[],\"outputs\":[{\"name\":\"t\",\"dtype\":\"float32\",\"shape\":[%d]}],\"attrs\":{\"end\":%d,\"dtype\":"
                 "\"torch.float32\"}},{\"name\":\"w\",\"op_type\":\"aten.view.default\",\"inputs\":[{\"name\":\"t\",\"dtype\":\"float32\",\"shape\":[%d]}],"
                 "\"outputs\":[{\"name\":\"w\",\"dtype\":\"float32\",\"shape\":[1,1,%d]}],\"attrs\":{\"size\":[1,1,%d]}},{\"name\":\"z\",\"op_type\":"
                 "\"aten.conv1d.default\",\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[1,1,%d]},{\"name\":\"w\",\"dtype\":"
                 "\"float32\",\"shape\":[1,1,%d]}],\"outputs\":[{\"name\":\"z\",\"dtype\":\"float32\",\"shape\":[1,1,%d]}],\"attrs\":{\"padding\":[%d]}}]}",
                 rows[i].width, rows[i].width, rows[i].kernel, rows[i].kernel, rows[i].kernel, rows[i].kernel, rows[i].kernel, rows[i].width,
                 rows[i].kernel, rows[i].width, rows[i].kernel / 2);
        CHECK_EQ(lower_for(text, rows[i].target, 1, &lower, &ir), QNNRT_OK);
        graph = &qnnrt_lower_get_info(lower)->graphs[0];
        for (k = 0; k < graph->op_count; ++k)
            if (strcmp(graph->ops[k].type, "Conv2d") == 0) found = graph->tensors[graph->ops[k].inputs[1]].dims[0];
        CHECK_EQ(found, rows[i].rows);
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
    }
}

/* Masks that hide rows entirely, once or twice: rows of the lowest float give the mean of the cells that are hidden least,
   rows of -10000 are rows without a mask. The scores are added in any order, and may be replaced, too. */
TEST(lower_forms_masks_that_hide_rows)
{
#define S4 "[1,2,3,4]"
#define OP(op, in, out, shape, attrs) \
    ",{\"name\":\"" out "\",\"op_type\":\"aten." op "\",\"inputs\":[" in "],\"outputs\":[" shape "],\"attrs\":{" attrs "}}"
#define SCORES(op, a, b, out) OP(op, IN(a, "float32", S4) "," b, out, IN(out, "float32", S4), "")
    static const char *const forms[] = {
        SCORES("add.Tensor", "s", IN("m", "float32", "[3,4]"), "t") SCORES("add.Tensor", "t", IN("n", "float32", "[1,1,1,4]"), "z"),
        OP("add.Tensor", IN("m", "float32", "[3,4]") "," IN("n", "float32", "[1,1,1,4]"), "t", IN("t", "float32", "[1,1,3,4]"), "")
            SCORES("add.Tensor", "s", IN("t", "float32", "[1,1,3,4]"), "z"),
        SCORES("add.Tensor", "s", IN("n", "float32", "[1,1,1,4]"), "z"),
        SCORES("add.Tensor", "s", IN("n", "float32", "[1,1,1,4]"), "t")
            OP("masked_fill.Scalar", IN("t", "float32", S4) "," IN("b", "bool", "[3,4]"), "z", IN("z", "float32", S4), "\"value\":%s"),
        OP("where.ScalarOther", IN("b", "bool", "[3,4]") "," IN("s", "float32", S4), "t", IN("t", "float32", S4), "\"other\":%s")
            SCORES("add.Tensor", "t", IN("n", "float32", "[1,1,1,4]"), "z"),
        OP("where.ScalarSelf", IN("b", "bool", "[3,4]") "," IN("s", "float32", S4), "t", IN("t", "float32", S4), "\"self\":%s")
            SCORES("add.Tensor", "t", IN("n", "float32", "[1,1,1,4]"), "z"),
    };
    static const char *const lows[] = { "-3.4028234663852886e38", "-10000.0" };
    double bar;
    qnnrt_backend *backend = NULL;
    static char text[8000];
    size_t i, k;
    int turn;
    open_library(&backend, &bar);
    for (i = 0; i < sizeof(forms) / sizeof(forms[0]); ++i)
        for (k = 0; k < 2; ++k)
            for (turn = 0; turn < 4; ++turn) {
                char form_of[2000];
                double d;
                snprintf(form_of, sizeof form_of, forms[i], lows[k]);
                snprintf(text, sizeof text, "{\"graph_inputs\":[" IN("x", "float32", S4) "," IN("b", "bool", "[3,4]") ","
                         IN("p", "bool", "[1,1,1,4]") "],\"graph_outputs\":[" IN("y", "float32", S4) "],\"weights\":[],\"nodes\":["
                         "{\"name\":\"s\",\"op_type\":\"aten.tanh.default\",\"inputs\":[" IN("x", "float32", S4) "],\"outputs\":["
                         IN("s", "float32", S4) "],\"attrs\":{}}" OP("to.dtype", IN("b", "bool", "[3,4]"), "c",
                         IN("c", "float32", "[3,4]"), "\"dtype\":\"torch.float32\"") OP("to.dtype", IN("p", "bool", "[1,1,1,4]"), "d",
                         IN("d", "float32", "[1,1,1,4]"), "\"dtype\":\"torch.float32\"") OP("mul.Tensor", IN("c", "float32", "[3,4]"),
                         "m", IN("m", "float32", "[3,4]"), "\"other\":%s") OP("mul.Tensor", IN("d", "float32", "[1,1,1,4]"), "n",
                         IN("n", "float32", "[1,1,1,4]"), "\"other\":%s") "%s" OP("softmax.int", IN("z", "float32", S4), "y",
                         IN("y", "float32", S4), "\"dim\":-1") "]}", lows[k], lows[k], form_of);
                seed = (unsigned)turn + 1;
                d = form(backend, text, "f1,2,3,4 b3,4 b1,1,1,4", 0);
                if (!(d <= (k == 0 ? bar : 4e-3))) printf("    form %lu, %s, turn %d: %g\n", (unsigned long)i, lows[k], turn, d);
                CHECK(d <= (k == 0 ? bar : 4e-3));     /* float32 of what is right has 4 digits left there */
            }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST_MAIN("lower_forms")
{
    RUN(lower_forms_masks_that_hide_rows);
    RUN(lower_forms_rows_with_wide_padding_on_htp);
    RUN(lower_forms_refuse_angles_that_are_inputs_times_numbers);
    RUN(lower_forms_of_operators_are_right);
    RUN(lower_forms_outputs_of_every_origin);
    RUN(lower_forms_repeat_one_operand_of_a_product);
    RUN(lower_forms_refuse_what_int32_does_not_hold);
}
