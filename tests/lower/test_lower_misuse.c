/* test_lower_misuse.c - qnnrt_lower.h in wrong hands: wrong arguments, wrong order, hostile shapes, failing allocations */
#include "qnnrt_lower.h"
#include "counted.h"
#include "ref.h"
#include "test.h"
#include "backend.h"
#include <math.h>
#include <unistd.h>

static qnnrt_ir *misuse_read(const char *text)
{
    qnnrt_ir *ir = NULL;
    qnnrt_error err;
    if (qnnrt_ir_read(text, strlen(text), NULL, &ir, &err) != QNNRT_OK || qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK)
        printf("    %s\n", err.text);
    return ir;
}

/* One node on x. */
static qnnrt_ir *misuse_one(const char *shape, const char *op, const char *out, const char *attrs)
{
    char text[1024];
    snprintf(text, sizeof text, "{\"model_name\":\"m\",\"graph_inputs\":[{\"name\":\"x\",\"shape\":%s,\"dtype\":\"float32\"}],"
             "\"graph_outputs\":[{\"name\":\"y\",\"shape\":%s,\"dtype\":\"float32\"}],\"weights\":[],\"weight_name_mapping\":{},"
             "\"constants\":{},\"nodes\":[{\"name\":\"y\",\"op_type\":\"aten.%s\",\"inputs\":[{\"name\":\"x\",\"shape\":%s,"
             "\"dtype\":\"float32\"}],\"outputs\":[{\"name\":\"y\",\"shape\":%s,\"dtype\":\"float32\"}],\"attrs\":%s}]}",
             shape, out, op, shape, out, attrs);
    return misuse_read(text);
}

TEST(lower_refuses_wrong_arguments)
{
    qnnrt_lower_desc desc;
    qnnrt_lower *lower = NULL;
    qnnrt_ir *ir = misuse_one("[2]", "relu.default", "[2]", "{}");
    qnnrt_backend *backend = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt_lower_custom_param param;
    qnnrt_lower_custom row;
    qnnrt_lower_same same;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    CHECK_EQ(test_ref_backend(&backend, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_create(NULL, NULL, &err), QNNRT_E_ARG);
    desc.hooks.alloc = counted_alloc;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_ARG);
    CHECK(lower == NULL);
    memset(&desc, 0, sizeof(desc));
    desc.target = (qnnrt_lower_target)3;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_ARG);
    desc.target = QNNRT_LOWER_REF;
    desc.compute = QNNRT_DTYPE_I32;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_ARG);
    desc.compute = (qnnrt_dtype)0;
    desc.act_bits = 8;                           /* what libQnnCpu.so computes with codes is wrong */
    desc.target = QNNRT_LOWER_CPU;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "libQnnCpu.so cannot be trusted");
    CHECK(lower == NULL);
    desc.target = QNNRT_LOWER_HTP;
    desc.weight_bits = 4;
    desc.weight_block = 16;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "weight_block is for float activations");
    desc.weight_bits = desc.weight_block = desc.act_bits = 0;
    desc.target = QNNRT_LOWER_REF;
    desc.encoding_count = 1;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_ARG);
    desc.encoding_count = 0;
    desc.same_count = 1;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_ARG);
    desc.same_count = 0;
    desc.custom_count = 1;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "its count is not 0");
    memset(&row, 0, sizeof(row));
    desc.custom = &row;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "operator 0 of custom has no op, package, type or params");
    row.op = row.package = row.type = "a";
    row.param_count = 1;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_ARG);
    memset(&param, 0, sizeof(param));
    row.params = &param;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "a parameter of \"a\" has no name");
    memset(&same, 0, sizeof(same));
    desc.same = &same;
    desc.same_count = 1;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "pair 0 of same has no two names");
    desc.same = NULL;
    desc.same_count = 0;
    desc.custom = NULL;
    desc.custom_count = 0;
    desc.contexts = 4;
    CHECK_EQ(qnnrt_lower_create(&desc, &lower, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_weights(lower, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_lower_passes(NULL, ir, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_lower_graph(lower, ir, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_lower_emit(lower, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_lower_emit(lower, builder, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_lower_weights(lower, ir, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_graph(lower, ir, "twice", &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_graph(lower, ir, "twice", &err), QNNRT_OK);
    CHECK(qnnrt_lower_emit(lower, builder, &err) != QNNRT_OK);
    CHECK(qnnrt_lower_get_info(NULL) == NULL && qnnrt_lower_weight_of(NULL) == NULL);
    qnnrt_builder_destroy(builder);
    qnnrt_lower_free(lower);
    qnnrt_lower_free(NULL);
    qnnrt_ir_free(ir);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST(lower_gives_tensors_names_that_the_graph_does_not_have)
{
    static const char *const ops[] = { "tanh", "abs", "exp", "sigmoid", "neg", "relu", "cos", "sin" };
    static const char value[] = "{\"name\":\"%s%s\",\"shape\":[2],\"dtype\":\"float32\"}";
    char text[8192], in[100], out[100], name[8];
    qnnrt_backend *backend = NULL;
    qnnrt_builder *builder = NULL;
    qnnrt_lower *lower = NULL;
    qnnrt_ir *ir;
    qnnrt_error err;
    size_t used, i;
    used = (size_t)snprintf(text, sizeof text, "{\"graph_inputs\":[{\"name\":\"x\",\"shape\":[2],\"dtype\":\"float32\"}],"
                            "\"weights\":[],\"weight_name_mapping\":{},\"constants\":{},\"model_name\":\"m\",\"nodes\":[");
    for (i = 0; i < 9; ++i) {
        snprintf(name, sizeof name, ".%d", (int)i);
        snprintf(in, sizeof in, value, i == 0 ? "x" : "a", "");
        snprintf(out, sizeof out, value, "a", i == 0 ? "" : name);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s{\"name\":\"a%s\",\"op_type\":\"aten.%s.default\",\"inputs\":[%s],"
                                 "\"outputs\":[%s],\"attrs\":{}}", i == 0 ? "" : ",", i == 0 ? "" : name, i == 0 ? "sqrt" : ops[i - 1], in, out);
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "],\"graph_outputs\":[");
    for (i = 1; i < 9; ++i) {
        snprintf(name, sizeof name, ".%d", (int)i);
        snprintf(out, sizeof out, value, "a", name);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i == 1 ? "" : ",", out);
    }
    snprintf(text + used, sizeof text - used, "]}");
    ir = misuse_read(text);
    CHECK_EQ(test_ref_backend(&backend, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_create(NULL, &lower, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_graph(lower, ir, "m", &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_emit(lower, builder, &err), QNNRT_OK);
    qnnrt_builder_destroy(builder);
    qnnrt_lower_free(lower);
    qnnrt_ir_free(ir);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* Lower a graph for HTP, with this answer. */
static void misuse_on_htp(const qnnrt_ir *ir, qnnrt_result expected, qnnrt_lower **lower, qnnrt_error *err)
{
    qnnrt_lower_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.target = QNNRT_LOWER_HTP;
    CHECK_EQ(qnnrt_lower_create(&desc, lower, err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_graph(*lower, ir, "m", err), expected);
}

TEST(lower_names_what_is_too_large)
{
    static const struct { const char *shape, *op, *out, *attrs; } cases[] = {
        { "[16777216,16777216]", "relu.default", "[16777216,16777216]", "{}" },
        { "[4294967296]", "relu.default", "[4294967296]", "{}" },
        { "[65536]", "cumsum.default", "[65536]", "{\"dim\":0}" },
        { "[20000,20000]", "tril.default", "[20000,20000]", "{}" },
        { "[65]", "cumprod.default", "[65]", "{\"dim\":0}" },
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        qnnrt_ir *ir = misuse_one(cases[i].shape, cases[i].op, cases[i].out, cases[i].attrs);
        qnnrt_lower *lower = NULL;
        qnnrt_error err;
        TRY(misuse_on_htp(ir, QNNRT_E_UNSUPPORTED, &lower, &err));
        CHECK_STR(err.text, "y");
        CHECK(qnnrt_lower_get_info(lower)->finding_count > 0);
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
    }
}

/* On HTP, groups of channels become a dimension of their own. */
TEST(lower_groups_channels_of_as_many_dimensions_as_fit)
{
    static const char *const shapes[] = { "[1,4]", "[1,4,3,2]", "[1,4,1,1,1,1,2]", "[1,4,1,1,1,1,1,2]" };
    size_t i;
    for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) {
        const int fits = i < 3;
        qnnrt_ir *ir = misuse_one(shapes[i], "group_norm.default", shapes[i], "{\"num_groups\":2}");
        qnnrt_lower *lower = NULL;
        qnnrt_error err;
        TRY(misuse_on_htp(ir, fits ? QNNRT_OK : QNNRT_E_UNSUPPORTED, &lower, &err));
        if (!fits) {
            CHECK_STR(qnnrt_lower_get_info(lower)->findings[0].text, "groups of channels need one dimension more than 8");
            CHECK_STR(qnnrt_lower_get_info(lower)->findings[0].hint, "Reshape it to fewer dimensions.");
        }
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
    }
}

TEST(lower_survives_every_failing_allocation)
{
    size_t bytes;
    void *text = test_read_file("tests/data/ir/ops.json", &bytes);
    long at;
    int done = 0;
    CHECK(text != NULL);
    for (at = 0; !done && at < 400; ++at) {
        qnnrt_lower_desc desc;
        qnnrt_lower *lower = NULL;
        qnnrt_ir *ir = NULL;
        qnnrt_error err;
        qnnrt_result result;
        CHECK_EQ(qnnrt_ir_read((const char *)text, bytes, NULL, &ir, &err), QNNRT_OK);
        memset(&desc, 0, sizeof(desc));
        desc.hooks.alloc = counted_alloc;
        desc.hooks.free = counted_free;
        desc.watch = 1;
        allocations = live = 0;
        fail_at = at;
        result = qnnrt_lower_create(&desc, &lower, &err);
        if (result == QNNRT_OK) result = qnnrt_lower_weights(lower, ir, NULL, &err);
        if (result == QNNRT_OK) result = qnnrt_lower_graph(lower, ir, "ops", &err);
        CHECK(result == QNNRT_E_MEMORY || allocations <= at || result == QNNRT_E_UNSUPPORTED);
        done = allocations <= at;
        qnnrt_lower_free(lower);
        CHECK_EQ(live, 0);
        qnnrt_ir_free(ir);
        if (at >= 12) at += 16;
    }
    fail_at = -1;
    free(text);
}

/* The graph's operator is "aten.mylib.line": without its prefix it is no operator of PyTorch. */
TEST(lower_takes_operators_of_the_caller)
{
    static const char *const names[] = { "mylib.line" };
    static const uint32_t beyond[] = { 1 };
    qnnrt_lower_custom_param params[3] = { { "slope", "gradient", QNNRT_DTYPE_F32, 0, 0 },
                                           { "axes", NULL, QNNRT_DTYPE_U32, 0, 0 },
                                           { "bias", NULL, QNNRT_DTYPE_I32, 7, 1 } };
    qnnrt_lower_custom row = { "mylib.line", "my.package", "LineOf", NULL, 0, params, 3 };
    int i;
    for (i = 0; i < 5; ++i) {
        static const char *const words[] = { NULL, "is missing", "is not what", "is number 1", "no rule" };
        qnnrt_ir_desc read;
        qnnrt_lower_desc desc;
        qnnrt_lower *lower = NULL;
        qnnrt_ir *ir = NULL;
        qnnrt_error err;
        char text[1024];
        memset(&read, 0, sizeof(read));
        memset(&desc, 0, sizeof(desc));
        snprintf(text, sizeof text, "{\"model_name\":\"m\",\"graph_inputs\":[{\"name\":\"x\",\"shape\":[2,3],\"dtype\":\"float32\"}],"
                 "\"graph_outputs\":[{\"name\":\"y\",\"shape\":[3],\"dtype\":\"float32\"}],\"weights\":[],\"weight_name_mapping\":{},"
                 "\"constants\":{},\"nodes\":[{\"name\":\"y\",\"op_type\":\"aten.mylib.line\",\"inputs\":[{\"name\":\"x\",\"shape\":[2,3],"
                 "\"dtype\":\"float32\"}],\"outputs\":[{\"name\":\"y\",\"shape\":[3],\"dtype\":\"float32\"}],\"attrs\":{%s\"axes\":%s}}]}",
                 i == 1 ? "" : "\"gradient\":2.5,", i == 2 ? "\"x\"" : "[1,0]");
        CHECK_EQ(qnnrt_ir_read(text, strlen(text), NULL, &ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_E_UNSUPPORTED);     /* not declared */
        qnnrt_ir_free(ir);
        read.custom = names;
        read.custom_count = 1;
        CHECK_EQ(qnnrt_ir_read(text, strlen(text), &read, &ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
        row.inputs = i == 3 ? beyond : NULL;
        row.input_count = i == 3;
        desc.custom = i == 4 ? NULL : &row;
        desc.custom_count = i != 4;
        CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_weights(lower, ir, NULL, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_passes(lower, ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_graph(lower, ir, i == 0 ? "g" : "g\033[2J\n", &err), i == 0 ? QNNRT_OK : QNNRT_E_UNSUPPORTED);
        if (i == 0) {
            const qnnrt_lower_graph_info *graph = qnnrt_lower_get_info(lower)->graphs;
            const qnnrt_lower_op *op = graph->ops;
            CHECK_EQ(graph->op_count, 1);
            CHECK_STR(op->package, "my.package");
            CHECK_STR(op->type, "LineOf");
            CHECK_EQ(op->param_count, 3);
            CHECK_STR(op->params[0].name, "slope");
            CHECK(op->params[0].value == 2.5);
            CHECK_EQ(op->params[1].dims[0], 2);
            CHECK_EQ(((const uint32_t *)op->params[1].data)[0], 1);
            CHECK(op->params[2].value == 7);
            CHECK_EQ(graph->tensors[op->outputs[0]].rank, 1);
            CHECK_EQ(graph->tensors[op->outputs[0]].dims[0], 3);
        } else {
            CHECK_STR(err.text, words[i]);
            CHECK_STR(err.text, "graph \"g?[2J \"");
        }
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
    }
}

/* A Tile that ends HTP's process, and one that does not; with no_ask nobody else is asked. */
TEST(lower_refuses_what_ends_the_process)
{
    static const char *const names[] = { "mylib.tile" };
    static const qnnrt_lower_custom_param multiples = { "multiples", "times", QNNRT_DTYPE_U32, 0, 0 };
    const qnnrt_lower_custom row = { "mylib.tile", "qti.aisw", "Tile", NULL, 0, &multiples, 1 };
    int i;
    for (i = 0; i < 8; ++i) {
        const int crash = (i & 1) == 0, no_ask = (i & 2) != 0, htp = (i & 4) == 0;
        const qnnrt_lower_finding *finding;
        qnnrt_backend_desc open;
        qnnrt_backend *backend = NULL;
        qnnrt_builder *builder = NULL;
        qnnrt_ir_desc read;
        qnnrt_lower_desc desc;
        qnnrt_lower *lower = NULL;
        qnnrt_ir *ir = NULL;
        qnnrt_error err;
        char text[1024];
        memset(&open, 0, sizeof(open));
        memset(&read, 0, sizeof(read));
        memset(&desc, 0, sizeof(desc));
        snprintf(text, sizeof text, "{\"model_name\":\"m\",\"graph_inputs\":[{\"name\":\"x\",\"shape\":[1,1,1,2,3],\"dtype\":\"float32\"}],"
                 "\"graph_outputs\":[{\"name\":\"y\",\"shape\":[1,1,1,2,%d],\"dtype\":\"float32\"}],\"weights\":[],"
                 "\"weight_name_mapping\":{},\"constants\":{},\"nodes\":[{\"name\":\"y\",\"op_type\":\"aten.mylib.tile\","
                 "\"inputs\":[{\"name\":\"x\",\"shape\":[1,1,1,2,3],\"dtype\":\"float32\"}],"
                 "\"outputs\":[{\"name\":\"y\",\"shape\":[1,1,1,2,%d],\"dtype\":\"float32\"}],\"attrs\":{\"times\":[1,1,1,1,%d]}}]}",
                 crash ? 3 : 6, crash ? 3 : 6, crash ? 1 : 2);
        read.custom = names;
        read.custom_count = 1;
        CHECK_EQ(qnnrt_ir_read(text, strlen(text), &read, &ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_ir_check(ir, NULL, NULL, &err), QNNRT_OK);
        desc.custom = &row;
        desc.custom_count = 1;
        desc.target = htp ? QNNRT_LOWER_HTP : QNNRT_LOWER_REF;
        desc.no_ask = no_ask;
        desc.compute = QNNRT_DTYPE_F32;
        CHECK_EQ(qnnrt_lower_create(&desc, &lower, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_weights(lower, ir, NULL, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_passes(lower, ir, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_graph(lower, ir, "g", &err), QNNRT_OK);
        open.path = TEST_REF_LIB;
        CHECK_EQ(qnnrt_backend_open(&open, &backend, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_lower_emit(lower, builder, &err), crash && htp ? QNNRT_E_UNSUPPORTED : QNNRT_OK);
        CHECK_EQ(qnnrt_lower_get_info(lower)->finding_count, (size_t)(crash && htp));
        if (crash && htp) {
            finding = qnnrt_lower_get_info(lower)->findings;
            CHECK_STR(finding->text, "Tile is known to end the process here: with multiples of 1 alone");
            CHECK_STR(finding->hint, "Leave it out.");
        }
        qnnrt_builder_destroy(builder);
        qnnrt_lower_free(lower);
        qnnrt_ir_free(ir);
        CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    }
}

/* What was asked for in large pieces. These are never written: no weight of integers becomes float. */
static uint64_t asked;
static int held;                       /* of any size, not freed yet */

static void *large_alloc(void *user, size_t bytes)
{
    const size_t large = 1 << 20;
    (void)user;
    if (bytes > large) asked += bytes;
    ++held;
    return malloc(bytes > large ? large : bytes);
}

static void large_free(void *user, void *data)
{
    (void)user;
    held -= data != NULL;
    free(data);
}

/* Write a file of weights: a head of safetensors, and data. Return its path. */
static const char *misuse_weights(const char *head, const void *data, size_t bytes)
{
    static char path[2048];
    const uint64_t head_bytes = strlen(head);
    unsigned char file[1024];
    if (8 + strlen(head) + bytes > sizeof file) abort();
    memcpy(file, &head_bytes, 8);
    memcpy(file + 8, head, strlen(head));
    memcpy(file + 8 + strlen(head), data, bytes);
    snprintf(path, sizeof path, "%s/m.safetensors", test_tmpdir());
    return test_write_file(path, file, 8 + strlen(head) + bytes) ? path : NULL;
}

/* Make the passes of a graph with the weights of a file. */
static void misuse_passes(qnnrt_ir *ir, const char *path, qnnrt_weights **weights, qnnrt_lower **lower)
{
    qnnrt_lower_desc desc;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = large_alloc;
    desc.hooks.free = large_free;
    CHECK_EQ(qnnrt_weights_open(path, NULL, weights, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_create(&desc, lower, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_weights(*lower, ir, *weights, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_passes(*lower, ir, &err), QNNRT_OK);
}

/* One weight of 256 MiB, which five values are: copies of four fit exactly. The other weight lies aligned, and is read there. */
TEST(lower_copies_weights_with_a_norm_within_a_limit)
{
    enum { VALUES = 5 };
    static const char head[] = "{\"v\":{\"dtype\":\"I32\",\"shape\":[2,33554432],\"data_offsets\":[0,268435456]},"
                               "\"g\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[268435456,268435464]}}  ";
    const char *path = misuse_weights(head, "", 0);
    char text[8192], list[3][2048] = { "", "", "" };
    qnnrt_lower *lower = NULL;
    qnnrt_weights *weights = NULL;
    qnnrt_ir *ir;
    size_t k;
    int i;
    CHECK(path != NULL);
    CHECK_EQ(truncate(path, (off_t)(8 + strlen(head) + 268435464)), 0);
    for (i = 0; i < VALUES; ++i) {
        const char *comma = i == 0 ? "" : ",";
        snprintf(list[0] + strlen(list[0]), sizeof(list[0]) - strlen(list[0]), "%s\"v%d\":\"v\"", comma, i);
        snprintf(list[1] + strlen(list[1]), sizeof(list[1]) - strlen(list[1]),
                 "%s{\"name\":\"y%d\",\"shape\":[2,33554432],\"dtype\":\"float32\"}", comma, i);
        snprintf(list[2] + strlen(list[2]), sizeof(list[2]) - strlen(list[2]),
                 "%s{\"name\":\"y%d\",\"op_type\":\"aten._weight_norm.default\",\"inputs\":["
                 "{\"name\":\"v%d\",\"shape\":[2,33554432],\"dtype\":\"float32\"},{\"name\":\"g\",\"shape\":[2,1],\"dtype\":\"float32\"}],"
                 "\"outputs\":[{\"name\":\"y%d\",\"shape\":[2,33554432],\"dtype\":\"float32\"}],\"attrs\":{}}", comma, i, i, i);
    }
    snprintf(text, sizeof text, "{\"model_name\":\"m\",\"graph_inputs\":[],\"constants\":{},\"weights\":["
             "{\"name\":\"v\",\"shape\":[2,33554432],\"dtype\":\"float32\"},{\"name\":\"g\",\"shape\":[2,1],\"dtype\":\"float32\"}],"
             "\"weight_name_mapping\":{%s},\"graph_outputs\":[%s],\"nodes\":[%s]}", list[0], list[1], list[2]);
    ir = misuse_read(text);
    CHECK(ir != NULL && ir->node_count == VALUES);
    TRY(misuse_passes(ir, path, &weights, &lower));
    CHECK(asked > ((uint64_t)1 << 30) && asked < ((uint64_t)1 << 30) + (1 << 20));
    for (k = 0; k < ir->value_count; ++k) CHECK(ir->values[k]->origin != QNNRT_IR_WEIGHT || ir->values[k]->data == NULL);
    qnnrt_lower_free(lower);
    CHECK_EQ(held, 0);
    qnnrt_weights_close(weights);
    qnnrt_ir_free(ir);
}

/* Normalized weights are computed in the type of the graph, whatever the file's is; other weights stay in the file. */
TEST(lower_computes_weights_with_a_norm)
{
    static const char head[] = "{\"v\":{\"dtype\":\"F16\",\"shape\":[2,2],\"data_offsets\":[0,8]},"
                               "\"g\":{\"dtype\":\"F16\",\"shape\":[2,1],\"data_offsets\":[8,12]},"
                               "\"u\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[12,28]}}    ";
    static const struct { uint16_t halves[6]; float floats[4]; } data = {
        { 0x4200, 0x4400, 0x4500, 0x4A00, 0x4900, 0x4A80 }, { 1, 2, 3, 4 }       /* 3 4 5 12, 10 13 */
    };
    static const float expected[4] = { 6, 8, 5, 12 };
#define MISUSE_F32(name, shape) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"float32\"}"
    static const char text[] = "{\"model_name\":\"m\",\"graph_inputs\":[" MISUSE_F32("x", "[2,2]") "],\"constants\":{},\"weights\":["
        MISUSE_F32("v", "[2,2]") "," MISUSE_F32("g", "[2,1]") "," MISUSE_F32("u", "[2,2]") "],\"weight_name_mapping\":{},"
        "\"graph_outputs\":[" MISUSE_F32("y", "[2,2]") "," MISUSE_F32("z", "[2,2]") "],\"nodes\":["
        "{\"name\":\"w\",\"op_type\":\"aten._weight_norm.default\",\"inputs\":[" MISUSE_F32("v", "[2,2]") "," MISUSE_F32("g", "[2,1]")
        "],\"outputs\":[" MISUSE_F32("w", "[2,2]") "],\"attrs\":{}},"
        "{\"name\":\"y\",\"op_type\":\"aten.add.Tensor\",\"inputs\":[" MISUSE_F32("x", "[2,2]") "," MISUSE_F32("w", "[2,2]")
        "],\"outputs\":[" MISUSE_F32("y", "[2,2]") "],\"attrs\":{}},"
        "{\"name\":\"z\",\"op_type\":\"aten.mul.Tensor\",\"inputs\":[" MISUSE_F32("y", "[2,2]") "," MISUSE_F32("u", "[2,2]")
        "],\"outputs\":[" MISUSE_F32("z", "[2,2]") "],\"attrs\":{}}]}";
    const char *path = misuse_weights(head, &data, sizeof data);
    qnnrt_lower *lower = NULL;
    qnnrt_weights *weights = NULL;
    qnnrt_ir *ir = misuse_read(text);
    size_t i, k, found = 0;
    CHECK(ir != NULL && path != NULL);
    TRY(misuse_passes(ir, path, &weights, &lower));
    CHECK_EQ(ir->node_count, 2);
    for (i = 0; i < ir->value_count; ++i) {
        const qnnrt_ir_value *x = ir->values[i];
        if (x->origin == QNNRT_IR_WEIGHT) CHECK(x->data == NULL);
        if (strcmp(x->name, "w") != 0) continue;
        CHECK(x->origin == QNNRT_IR_CONSTANT && x->data != NULL);
        for (k = 0; k < 4; ++k) CHECK(fabs((double)((const float *)x->data)[k] - (double)expected[k]) < 1e-6);
        ++found;
    }
    CHECK_EQ(found, 1);
    qnnrt_lower_free(lower);
    qnnrt_weights_close(weights);
    qnnrt_ir_free(ir);
    CHECK_EQ(held, 0);
}

TEST_MAIN("lower_misuse")
{
    RUN(lower_computes_weights_with_a_norm);
    RUN(lower_copies_weights_with_a_norm_within_a_limit);
    RUN(lower_refuses_what_ends_the_process);
    RUN(lower_takes_operators_of_the_caller);
    RUN(lower_refuses_wrong_arguments);
    RUN(lower_gives_tensors_names_that_the_graph_does_not_have);
    RUN(lower_groups_channels_of_as_many_dimensions_as_fit);
    RUN(lower_names_what_is_too_large);
    RUN(lower_survives_every_failing_allocation);
}
