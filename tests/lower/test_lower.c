/* test_lower.c - qnnrt_lower.h: every recorded operator, lowered and run on libQnnRef.so

   The expected values are PyTorch's (tests/ir/record_ir.py). */
#include "lower_case.h"
#include "ref.h"
#include "test.h"
#include "backend.h"
#include "ir_recorded.h"

/* Play the cases of a file of operators. At least so many are lowered. */
static void computes(const char *stem, size_t least)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    qnnrt_error err;
    qnnrt_ir *ir = ir_file(stem, &err);
    size_t i, good = 0;
    int whole;
    desc = test_ref_desc();
    CHECK(ir != NULL);
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, &err), QNNRT_OK);
    for (i = 0; i < ir->node_count; ++i) {
        const qnnrt_ir_node *node = ir->nodes[i];
        int half = 0;
        size_t k;
        if (strstr(node->op, "_.") != NULL || node->input_count == 0) continue;
        for (k = 0; k < node->input_count; ++k)
            half |= node->inputs[k] != NULL && (node->inputs[k]->dtype == QNNRT_DTYPE_F16 || node->inputs[k]->dtype == QNNRT_DTYPE_BF16);
        for (k = 0; k < node->output_count; ++k)
            half |= node->outputs[k]->dtype == QNNRT_DTYPE_F16 || node->outputs[k]->dtype == QNNRT_DTYPE_BF16 || node->outputs[k]->count == 0;
        for (whole = 0; whole < 2; ++whole) {
            lower_case result;
            lower_run_case(backend, ir, i, whole, &result);
            if (result.outcome == LOWER_GOOD && !(result.error <= (half ? 1e-2 : 1e-5)))
                printf("    %s (%s): error %g\n", node->name, node->op, result.error);
            CHECK(result.outcome != LOWER_GOOD || result.error <= (half ? 1e-2 : 1e-5));
            good += result.outcome == LOWER_GOOD;
        }
    }
    printf("    %lu cases of %s are right\n", (unsigned long)good, stem);
    CHECK(good >= least);
    qnnrt_ir_free(ir);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST(lower_computes_what_pytorch_computes)
{
    size_t i;
    TRY(computes("ops", 1224));
    for (i = 1; ir_recorded(i) != NULL; ++i)             /* libraries differ in NaN and infinity */
        if (strcmp(ir_recorded(i), "edges") != 0) TRY(computes(ir_recorded(i), strcmp(ir_recorded(i), "net") == 0 ? 242 : 0));
}

/* ---- the operators of the issue ---- */

/* True if a rule lowers an operator, or a pass takes it away before. */
static int lowers(const char *op)
{
    static const char *const passes[] = { "detach_.default", "_assert_tensor_metadata.default", "getitem", "rope" };
    const qnnrt_lower_rule *rule;
    char name[100];
    const char *dot = strchr(op, '.');
    qnnrt_ir_node node;
    size_t i;
    memset(&node, 0, sizeof(node));
    for (i = 0; i < sizeof(passes) / sizeof(passes[0]); ++i) if (strcmp(passes[i], op) == 0) return 1;
    snprintf(name, sizeof name, "%s", op);
    if (dot != NULL && dot > op && dot[-1] == '_' && (dot - op < 2 || dot[-2] != '_'))   /* "relu_": qnnrt_ir_pass_inplace() */
        snprintf(name, sizeof name, "%.*s%s", (int)(dot - op) - 1, op, dot);
    for (i = 0; (rule = qnnrt_lower_rule_get(i)) != NULL; ++i) {
        const char *at = rule->op;
        size_t length;
        for (; (length = strcspn(at, " ")) > 0 && *at != '*'; at += length + (at[length] == ' ')) {
            if (strlen(name) == length && strncmp(at, name, length) == 0) return 1;
            if (at[length - 1] == '*' && strncmp(at, name, length - 1) == 0) return 1;
        }
    }
    node.op = name;                                      /* the rule of "*": operators on each element */
    node.info = qnnrt_ir_op_find(name);
    return qnnrt_ir_recipe(&node) != NULL;
}

TEST(lower_has_a_rule_for_each_operator_of_the_contract)
{
    static const char *const ops[] = {
        /* the 41 of the contract */
        "conv2d.default", "relu.default", "relu_.default", "batch_norm.default", "max_pool2d.default",
        "adaptive_avg_pool2d.default", "linear.default", "matmul.default", "addmm.default", "t.default", "add.Tensor", "add_.Tensor",
        "mul.Tensor", "div.Tensor", "silu.default", "neg.default", "rsqrt.default", "cos.default", "sin.default",
        "pow.Tensor_Scalar", "embedding.default", "transpose.int", "cat.default", "slice.Tensor", "expand.default",
        "index_copy.default", "softmax.int", "mean.dim", "full.default", "reshape.default", "view.default", "flatten.using_ints",
        "contiguous.default", "unsqueeze.default", "alias.default", "detach_.default", "to.dtype", "dropout.default", "getitem",
        "_assert_tensor_metadata.default", "rope",
        /* what 62 public architectures need besides */
        "scaled_dot_product_attention.default", "tanh.default", "avg_pool2d.default", "chunk.default", "hardtanh_.default",
        "hardsigmoid.default", "hardswish.default", "hardswish_.default", "upsample_nearest2d.vec", "upsample_bilinear2d.vec",
        "gelu.default", "layer_norm.default", "permute.default", "select.int", "unbind.int", "sigmoid.default", "conv1d.default",
        "sub.Tensor", "group_norm.default", "to.dtype_layout", "silu_.default", "split.Tensor", "split_with_sizes.default",
        "type_as.default", "pad.default", "roll.default", "reshape_as.default", "clamp_min.default", "expand_as.default",
        "linalg_vector_norm.default", "__and__.Tensor", "index.Tensor", "to.device", "where.ScalarOther",
    };
    size_t i;
    for (i = 0; i < sizeof(ops) / sizeof(ops[0]); ++i) {
        if (!lowers(ops[i])) printf("    no rule for %s\n", ops[i]);
        CHECK(lowers(ops[i]));
    }
    CHECK(!lowers("conv9d.default"));
}

/* ---- graphs of a few nodes ---- */

#define T(name, shape) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"float32\"}"
#define NODE(name, op, in, out, attrs)                                                                                           \
    "{\"name\":\"" name "\",\"op_type\":\"aten." op "\",\"inputs\":[" in "],\"outputs\":[" out "],\"attrs\":{" attrs "}}"
#define GRAPH(in, out, nodes)                                                                                                    \
    "{\"graph_inputs\":[" in "],\"graph_outputs\":[" out "],\"weights\":[],\"weight_name_mapping\":{},\"nodes\":[" nodes "]}"

/* Lower a graph. The caller frees both. Return NULL after an error. */
static qnnrt_lower *lower_text(const char *text, qnnrt_dtype compute, qnnrt_ir **ir)
{
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    desc.compute = compute;
    if (qnnrt_ir_read(text, strlen(text), NULL, ir, &err) != QNNRT_OK || qnnrt_ir_check(*ir, NULL, NULL, &err) != QNNRT_OK ||
        qnnrt_lower_create(&desc, &lower, &err) != QNNRT_OK || qnnrt_lower_passes(lower, *ir, &err) != QNNRT_OK ||
        qnnrt_lower_graph(lower, *ir, "g", &err) != QNNRT_OK) {
        printf("    %s\n", err.text);
        return NULL;
    }
    return lower;
}

/* Lower attention with a mask that `nodes` compute from "on", for a backend. */
static qnnrt_lower *lower_masked(const char *nodes, const char *attrs, qnnrt_lower_target target, qnnrt_ir **ir,
                                 qnnrt_error *err)
{
    char text[2400];
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    memset(&desc, 0, sizeof(desc));
    desc.target = target;
    snprintf(text, sizeof text, GRAPH(T("q", "[1,2,3,4]") "," T("on", "[3,3]"), T("y", "[1,2,3,4]"), "%s" NODE("y",
             "scaled_dot_product_attention.default", T("q", "[1,2,3,4]") "," T("q", "[1,2,3,4]") "," T("q", "[1,2,3,4]") ","
             T("m", "[3,3]"), T("y", "[1,2,3,4]"), "%s")), nodes, attrs);
    *ir = NULL;
    if (qnnrt_ir_read(text, strlen(text), NULL, ir, err) == QNNRT_OK && qnnrt_ir_check(*ir, NULL, NULL, err) == QNNRT_OK &&
        qnnrt_lower_create(&desc, &lower, err) == QNNRT_OK && qnnrt_lower_passes(lower, *ir, err) == QNNRT_OK)
        qnnrt_lower_graph(lower, *ir, "g", err);
    return lower;
}

static size_t count_ops(qnnrt_lower *lower, const char *type)
{
    const qnnrt_lower_graph_info *graph = &qnnrt_lower_get_info(lower)->graphs[0];
    size_t i, count = 0;
    for (i = 0; i < graph->op_count; ++i) count += graph->ops[i].used && strcmp(graph->ops[i].type, type) == 0;
    return count;
}

/* A row of -infinity becomes 0; a row of a number that float16 does not have becomes the mean. */
TEST(lower_attention_of_rows_whose_mask_leaves_nothing)
{
    static const char fill[] = NODE("z", "mul.Tensor", T("on", "[3,3]"), T("z", "[3,3]"), "\"other\":0.0") ","
        "{\"name\":\"b\",\"op_type\":\"aten.ge.Scalar\",\"inputs\":[" T("on", "[3,3]") "],\"outputs\":"
        "[{\"name\":\"b\",\"shape\":[3,3],\"dtype\":\"bool\"}],\"attrs\":{\"other\":1}},"
        "{\"name\":\"m\",\"op_type\":\"aten.masked_fill.Scalar\",\"inputs\":[" T("z", "[3,3]") ",{\"name\":\"b\","
        "\"shape\":[3,3],\"dtype\":\"bool\"}],\"outputs\":[" T("m", "[3,3]") "],\"attrs\":{\"value\":%s}},";
    static const struct { const char *low, *attrs; qnnrt_lower_target target; size_t counts[4]; } cases[] = {
        /* ReduceMax, Maximum, Subtract, Multiply */
        { "-Infinity", "", QNNRT_LOWER_REF, { 1, 1, 0, 3 } },
        { "-Infinity", "", QNNRT_LOWER_CPU, { 1, 1, 0, 3 } },
        { "-Infinity", "", QNNRT_LOWER_HTP, { 1, 1, 0, 3 } },
        { "-Infinity", "\"nan_rows\":true", QNNRT_LOWER_REF, { 0, 0, 0, 2 } },
        { "-Infinity", "\"nan_rows\":true", QNNRT_LOWER_HTP, { 0, 0, 0, 2 } },
        { "-3.4028234663852886e+38", "", QNNRT_LOWER_REF, { 1, 1, 0, 3 } },       /* "on" may be -infinity */
        { "-3.4028234663852886e+38", "", QNNRT_LOWER_HTP, { 0, 1, 0, 2 } },
        { "-3.4028234663852886e+38", "\"nan_rows\":true", QNNRT_LOWER_HTP, { 0, 1, 0, 2 } },
        { "-10000.0", "\"nan_rows\":true", QNNRT_LOWER_REF, { 1, 0, 1, 2 } },
        { "-1e9", "", QNNRT_LOWER_REF, { 1, 0, 1, 2 } },
        { "-1e9", "", QNNRT_LOWER_HTP, { 1, 0, 1, 2 } },
        { "-10000.0", "", QNNRT_LOWER_HTP, { 1, 0, 1, 2 } },
        { "-100.0", "\"nan_rows\":true", QNNRT_LOWER_HTP, { 0, 0, 0, 2 } },
    };
    static const char *const types[] = { "ReduceMax", "ElementWiseMaximum", "ElementWiseSubtract", "ElementWiseMultiply" };
    qnnrt_error err;
    qnnrt_ir *ir;
    size_t i, k;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        char nodes[1400];
        qnnrt_lower *lower;
        snprintf(nodes, sizeof nodes, fill, cases[i].low);
        lower = lower_masked(nodes, cases[i].attrs, cases[i].target, &ir, &err);
        if (err.code != QNNRT_OK) printf("    %s\n", err.text);
        CHECK_EQ(err.code, QNNRT_OK);
        CHECK_EQ(qnnrt_lower_get_info(lower)->graphs[0].no_nan_count,
                 cases[i].target != QNNRT_LOWER_REF && cases[i].attrs[0] != '\0' && cases[i].low[1] == 'I' ? 1u : 0u);
        for (k = 0; k < 4; ++k) {
            if (count_ops(lower, types[k]) != cases[i].counts[k]) printf("    case %lu, %s\n", (unsigned long)i, types[k]);
            CHECK_EQ(count_ops(lower, types[k]), cases[i].counts[k]);
        }
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
    }
}

/* Known rows of NaN: HTP has none. */
TEST(lower_refuses_rows_of_nan_in_float16)
{
    static const char nodes[] = NODE("m", "full.default", "", T("m", "[3,3]"), "\"size\":[3,3],\"fill_value\":-Infinity") ",";
    qnnrt_error err;
    qnnrt_ir *ir;
    qnnrt_lower *lower = lower_masked(nodes, "\"nan_rows\":true", QNNRT_LOWER_HTP, &ir, &err);
    CHECK_EQ(err.code, QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "node y (scaled_dot_product_attention.default)");
    CHECK_STR(err.text, "rows of -infinity, where softmax is NaN");
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
    lower = lower_masked(nodes, "\"nan_rows\":true", QNNRT_LOWER_REF, &ir, &err);
    CHECK_EQ(err.code, QNNRT_OK);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
    lower = lower_masked(nodes, "", QNNRT_LOWER_HTP, &ir, &err);
    CHECK_EQ(err.code, QNNRT_OK);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
}

/* Queries, keys and values of attention: what a permutation moved to the front is sliced there. */
TEST(lower_transposes_once_before_slices_of_the_first_axis)
{
    static const char text[] = GRAPH(T("x", "[1,4,18]"), T("q", "[1,2,4,3]") "," T("k", "[1,2,4,3]") "," T("v", "[1,2,4,3]"),
        NODE("r", "reshape.default", T("x", "[1,4,18]"), T("r", "[1,4,3,2,3]"), "\"shape\":[1,4,3,2,3]") ","
        NODE("p", "permute.default", T("r", "[1,4,3,2,3]"), T("p", "[3,1,2,4,3]"), "\"dims\":[2,0,3,1,4]") ","
        NODE("u", "unbind.int", T("p", "[3,1,2,4,3]"), T("q", "[1,2,4,3]") "," T("k", "[1,2,4,3]") "," T("v", "[1,2,4,3]"), ""));
    qnnrt_ir *ir = NULL;
    qnnrt_lower *lower = lower_text(text, QNNRT_DTYPE_F32, &ir);
    CHECK(lower != NULL);
    CHECK_EQ(count_ops(lower, "Transpose"), 1);
    CHECK_EQ(count_ops(lower, "StridedSlice"), 3);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
}

/* One of several in the middle: HTP 2.51 cannot finalize that slice before Transpose and Reshape. */
TEST(lower_slices_the_last_axis_on_htp)
{
    static const char text[] = GRAPH(T("x", "[2,5,4,3,6]"), T("y", "[2,5,4,6]"), NODE("y", "select.int", T("x", "[2,5,4,3,6]"),
        T("y", "[2,5,4,6]"), "\"dim\":3,\"index\":1"));
    static const struct { qnnrt_lower_target target; uint32_t rank, last; } rows[] = {
        { QNNRT_LOWER_REF, 4, 6 }, { QNNRT_LOWER_CPU, 4, 6 }, { QNNRT_LOWER_HTP, 3, 18 },
    };
    size_t i, k;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        const qnnrt_lower_graph_info *graph;
        const qnnrt_lower_tensor *x = NULL;
        qnnrt_lower_desc desc;
        qnnrt_lower *lower = NULL;
        qnnrt_ir *ir = NULL;
        qnnrt_error err;
        memset(&desc, 0, sizeof(desc));
        desc.target = rows[i].target;
        CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_graph(lower, ir, "g", &err), QNNRT_OK);
        graph = &qnnrt_lower_get_info(lower)->graphs[0];
        for (k = 0; k < graph->op_count; ++k)
            if (strcmp(graph->ops[k].type, "StridedSlice") == 0) x = &graph->tensors[graph->ops[k].inputs[0]];
        CHECK(x != NULL);
        CHECK_EQ(x->rank, rows[i].rank);
        CHECK_EQ(x->dims[x->rank - 1], rows[i].last);
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
    }
}

/* A graph whose inputs are read as indices in every way. */
#define TYPED(name, shape, dtype) "{\"name\": \"" name "\", \"shape\": " shape ", \"dtype\": \"" dtype "\"}"
#define N(name, op, attrs, inputs, output) "{\"name\": \"" name "\", \"op_type\": \"aten." op "\", \"attrs\": {" attrs "}," \
    " \"inputs\": [" inputs "], \"outputs\": [" output "]}"
#define FLOATS(name, shape) TYPED(name, shape, "float32")
#define INTS(name, shape) TYPED(name, shape, "int64")
static const char *const range_graph[2] = {
    "{\"model_name\": \"ranges\", \"pytorch_version\": \"2.9\", \"weights\": [], \"weight_name_mapping\": {}, \"graph_inputs\": ["
    FLOATS("ten", "[10, 4]") ", " FLOATS("six", "[3, 6]") ", " INTS("ids", "[2]") ", " INTS("both", "[2]") ", " INTS("viewed", "[2]") ", "
    INTS("below", "[2]") ", " INTS("moved", "[2]") ", " INTS("part", "[2]") ", " INTS("place", "[1]") ", " INTS("each", "[3, 2]") ", "
    TYPED("as_float", "[2]", "float32") "], \"graph_outputs\": ["
    FLOATS("a", "[2, 4]") ", " FLOATS("b", "[2, 4]") ", " FLOATS("c", "[3, 2]") ", " FLOATS("d", "[1, 3, 2, 4]") ", " FLOATS("e", "[2, 6]") ", "
    FLOATS("f", "[2, 4]") ", " FLOATS("g", "[1, 4]") ", " FLOATS("h", "[3, 6]") ", " FLOATS("i", "[3, 2]") ", " FLOATS("j", "[2, 4]") "], \"nodes\": ["
    N("a", "embedding.default", "", FLOATS("ten", "[10, 4]") ", " INTS("ids", "[2]"), FLOATS("a", "[2, 4]")) ", "
    N("b", "embedding.default", "", FLOATS("ten", "[10, 4]") ", " INTS("both", "[2]"), FLOATS("b", "[2, 4]")) ", "
    N("c", "index_select.default", "\"dim\": -1", FLOATS("six", "[3, 6]") ", " INTS("both", "[2]"), FLOATS("c", "[3, 2]")) ", "
    N("v1", "to.dtype", "\"dtype\": \"torch.int32\"", INTS("viewed", "[2]"), TYPED("v1", "[2]", "int32")) ", "
    N("v2", "unsqueeze.default", "\"dim\": 0", TYPED("v1", "[2]", "int32"), TYPED("v2", "[1, 2]", "int32")) ", "
    N("v3", "expand.default", "\"size\": [1, 3, 2]", TYPED("v2", "[1, 2]", "int32"), TYPED("v3", "[1, 3, 2]", "int32")) ", "
    N("d", "embedding.default", "", FLOATS("ten", "[10, 4]") ", " TYPED("v3", "[1, 3, 2]", "int32"), FLOATS("d", "[1, 3, 2, 4]")) ", ",
    N("e", "index.Tensor", "", FLOATS("six", "[3, 6]") ", " INTS("below", "[2]"), FLOATS("e", "[2, 6]")) ", "
    N("m1", "add.Tensor", "\"other\": 1", INTS("moved", "[2]"), INTS("m1", "[2]")) ", "
    N("f", "embedding.default", "", FLOATS("ten", "[10, 4]") ", " INTS("m1", "[2]"), FLOATS("f", "[2, 4]")) ", "
    N("p1", "slice.Tensor", "\"dim\": 0, \"start\": 1, \"end\": 2", INTS("part", "[2]"), INTS("p1", "[1]")) ", "
    N("g", "embedding.default", "", FLOATS("ten", "[10, 4]") ", " INTS("p1", "[1]"), FLOATS("g", "[1, 4]")) ", "
    N("s1", "index_select.default", "\"dim\": 1", FLOATS("six", "[3, 6]") ", " INTS("place", "[1]"), FLOATS("s1", "[3, 1]")) ", "
    N("h", "index_copy.default", "\"dim\": 1", FLOATS("six", "[3, 6]") ", " INTS("place", "[1]") ", " FLOATS("s1", "[3, 1]"), FLOATS("h", "[3, 6]")) ", "
    N("i", "gather.default", "\"dim\": 1", FLOATS("six", "[3, 6]") ", " INTS("each", "[3, 2]"), FLOATS("i", "[3, 2]")) ", "
    N("f1", "to.dtype", "\"dtype\": \"torch.int64\"", FLOATS("as_float", "[2]"), INTS("f1", "[2]")) ", "
    N("j", "embedding.default", "", FLOATS("ten", "[10, 4]") ", " INTS("f1", "[2]"), FLOATS("j", "[2, 4]")) "]}"
};

TEST(inputs_have_the_range_of_their_indices)
{
    static const struct { const char *name; int has; int32_t low, high; } wanted[] = {
        { "ten", 0, 0, 0 }, { "six", 0, 0, 0 }, { "ids", 1, 0, 9 }, { "both", 1, 0, 5 }, { "viewed", 1, 0, 9 }, { "below", 1, -3, 2 },
        { "moved", 0, 0, 0 }, { "part", 0, 0, 0 }, { "place", 1, 0, 5 }, { "each", 1, 0, 5 }, { "as_float", 0, 0, 0 },
    };
    const qnnrt_lower_graph_info *graph;
    const qnnrt_ir_finding *findings = NULL;
    qnnrt_lower *lower = NULL;
    qnnrt_ir *ir = NULL;
    qnnrt_error err;
    size_t i, count = 0;
    char text[8192];
    int twice;
    snprintf(text, sizeof(text), "%s%s", range_graph[0], range_graph[1]);
    memset(&err, 0, sizeof(err));
    CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
    if (qnnrt_ir_check(ir, &findings, &count, &err) != QNNRT_OK) printf("%s\n", count > 0 ? findings[0].text : err.text);
    CHECK_EQ(count, 0);
    CHECK_EQ(qnnrt_lower_create(NULL, &lower, &err), QNNRT_OK);
    for (twice = 0; twice < 2; ++twice) {                /* as read, and after the passes */
        if (twice) CHECK_EQ(qnnrt_lower_passes(lower, ir, &err), QNNRT_OK);
        if (qnnrt_lower_graph(lower, ir, twice ? "again" : "first", &err) != QNNRT_OK) printf("%s\n", err.text);
        CHECK_EQ(err.code, QNNRT_OK);
        graph = &qnnrt_lower_get_info(lower)->graphs[twice];
        for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); ++i) {
            const qnnrt_lower_tensor *tensor = &graph->tensors[graph->inputs[i]];
            CHECK_STR(tensor->name, wanted[i].name);
            if (tensor->has_range != wanted[i].has || tensor->low != wanted[i].low || tensor->high != wanted[i].high)
                printf("    %s: %d to %d\n", tensor->name, (int)tensor->low, (int)tensor->high);
            CHECK(tensor->has_range == wanted[i].has && tensor->low == wanted[i].low && tensor->high == wanted[i].high);
        }
    }
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
}

/* float16 ends at 6e-8: an epsilon below it must not become 0. */
TEST(lower_keeps_an_epsilon_in_float16)
{
    static const char text[] = GRAPH(T("x", "[2]"), T("y", "[2]"),
        NODE("e", "add.Scalar", T("x", "[2]"), T("e", "[2]"), "\"other\":1e-12") ","
        NODE("y", "rsqrt.default", T("e", "[2]"), T("y", "[2]"), ""));
    const float x[2] = { 0, 4 };
    float y[2] = { 0, 0 };
    qnnrt_backend *backend = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_ir *ir = NULL;
    qnnrt_lower *lower = lower_text(text, QNNRT_DTYPE_F16, &ir);
    qnnrt_error err;
    CHECK(lower != NULL);
    CHECK_EQ(test_ref_backend(&backend, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_emit(lower, builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_finish(builder, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, 2), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, 2), QNNRT_OK);
    CHECK(y[0] > 1000 && y[0] < 65504);
    CHECK(fabs(y[1] - 0.5) < 1e-3);
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* ---- inputs without elements ---- */

TEST(lower_refuses_inputs_without_elements)
{
    /* joined with others, read for its dtype alone, or to fill others: nothing of them is left */
    static const struct { const char *op, *inputs, *attrs, *why; } rows[] = {
        { "cat.default", T("x", "[4]") "," T("w", "[0]"), "\"dim\":0", NULL },
        { "type_as.default", T("x", "[4]") "," T("w", "[0]"), "", NULL },
        { "new_zeros.default", T("w", "[0]"), "\"size\":[4]", NULL },
        { "index_copy.default", T("x", "[4]") ",{\"name\":\"i\",\"shape\":[0],\"dtype\":\"int64\"}," T("w", "[0]"), "\"dim\":0",
          "input 1 has no elements" },
        { "pad.default", T("w", "[0]"), "\"pad\":[1,3]", "input 0 has no elements" },
    };
    size_t i;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        char text[2000];
        qnnrt_lower *lower = NULL;
        qnnrt_ir *ir = NULL;
        qnnrt_error err;
        qnnrt_result result;
        snprintf(text, sizeof text, "{\"constants\":{\"w\":{\"data\":[],\"dtype\":\"float32\"},"
                 "\"i\":{\"data\":[],\"dtype\":\"int64\"}},\"nodes\":["
                 NODE("y", "%s", "%s", T("y", "[4]"), "%s") "],\"graph_inputs\":[" T("x", "[4]") "],\"graph_outputs\":[" T("y", "[4]") "],"
                 "\"weights\":[]}", rows[i].op, rows[i].inputs, rows[i].attrs);
        CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_create(NULL, &lower, &err), QNNRT_OK);
        result = qnnrt_lower_graph(lower, ir, "g", &err);
        if ((result == QNNRT_OK) != (rows[i].why == NULL)) printf("    row %lu: %s\n", (unsigned long)i, err.text);
        CHECK_EQ(result, rows[i].why == NULL ? QNNRT_OK : QNNRT_E_UNSUPPORTED);
        if (rows[i].why != NULL) {
            CHECK_EQ(qnnrt_lower_get_info(lower)->finding_count, 1);
            CHECK_STR(qnnrt_lower_get_info(lower)->findings[0].text, rows[i].why);
            CHECK_STR(qnnrt_lower_get_info(lower)->findings[0].hint, "Compute it on the host.");
        }
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
    }
}

/* ---- weights that are missing ---- */

TEST(lower_lists_weights_that_are_missing)
{
    /* Long names with line breaks and shapes of eight dimensions: the text is cut, and counts the others. */
    enum { WEIGHTS = 12 };
    char text[20000], name[260];
    size_t used = 0, i;
    qnnrt_ir *ir = NULL;
    qnnrt_lower *lower = NULL;
    qnnrt_error err;
    used += (size_t)snprintf(text, sizeof text, "{\"graph_inputs\":[],\"graph_outputs\":[{\"name\":\"y\",\"shape\":"
                             "[12,1,1,1,1,1,1,1],\"dtype\":\"float32\"}],\"weights\":[");
    for (i = 0; i < WEIGHTS; ++i) {
        memset(name, 'a', sizeof name);
        snprintf(name + 200, sizeof name - 200, "_%lu", (unsigned long)i);
        memcpy(name, "a\\nb", 4);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s{\"name\":\"%s\",\"shape\":[1,1,1,1,1,1,1,1],"
                                 "\"dtype\":\"float32\"}", i > 0 ? "," : "", name);
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "],\"nodes\":[{\"name\":\"y\",\"op_type\":\"aten.cat.default\","
                             "\"inputs\":[");
    for (i = 0; i < WEIGHTS; ++i) {
        memset(name, 'a', sizeof name);
        snprintf(name + 200, sizeof name - 200, "_%lu", (unsigned long)i);
        memcpy(name, "a\\nb", 4);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s{\"name\":\"%s\",\"shape\":[1,1,1,1,1,1,1,1],"
                                 "\"dtype\":\"float32\"}", i > 0 ? "," : "", name);
    }
    snprintf(text + used, sizeof text - used, "],\"outputs\":[{\"name\":\"y\",\"shape\":[12,1,1,1,1,1,1,1],"
             "\"dtype\":\"float32\"}],\"attrs\":{\"dim\":0}}]}");
    CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_create(NULL, &lower, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_weights(lower, ir, NULL, &err), QNNRT_E_NOT_FOUND);
    CHECK_STR(err.text, "12 weights of the graph are missing, 0 have another shape:\n  \"a b");
    CHECK_STR(err.text, " more");
    CHECK(strlen(err.text) < sizeof err.text - 1);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
}

TEST_MAIN("lower")
{
    RUN(lower_lists_weights_that_are_missing);
    RUN(lower_refuses_inputs_without_elements);
    RUN(lower_attention_of_rows_whose_mask_leaves_nothing);
    RUN(lower_refuses_rows_of_nan_in_float16);
    RUN(lower_transposes_once_before_slices_of_the_first_axis);
    RUN(lower_slices_the_last_axis_on_htp);
    RUN(lower_keeps_an_epsilon_in_float16);
    RUN(lower_has_a_rule_for_each_operator_of_the_contract);
    RUN(lower_computes_what_pytorch_computes);
    RUN(inputs_have_the_range_of_their_indices);
}
