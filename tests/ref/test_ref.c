/* test_ref.c - libQnnRef.so through its own table: life cycle, checks, format, ledger, faults

   Calls the library through qnn_abi.h alone, without qnnrt.h. Operators have their own
   tests. */
#include "ref.h"
#include <math.h>
#include "ref_sign.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* ---- a context to test ---------------------------------------------------------------------- */

typedef struct world { q_handle log, backend, device, context, graph; } world;

static uint32_t dims_x[] = { 2, 8 }, dims_w[] = { 8, 4 }, dims_y[] = { 2, 4 };
static float weights[32], bias[8], input[16], output[8], expected[8];

static void fill_data(void)
{
    int i, k, n;
    for (i = 0; i < 32; ++i) weights[i] = (float)(i % 7) - 3.0f;
    for (i = 0; i < 8; ++i) bias[i] = (float)i * 0.5f - 2.0f;
    for (i = 0; i < 16; ++i) input[i] = (float)(i % 5) - 1.0f;
    for (i = 0; i < 2; ++i) {
        for (n = 0; n < 4; ++n) {
            float sum = 0.0f;
            for (k = 0; k < 8; ++k) sum += input[i * 8 + k] * weights[k * 4 + n];
            sum += bias[i * 4 + n];
            expected[i * 4 + n] = sum > 0.0f ? sum : 0.0f;
        }
    }
}

static q_tensor tensor(const char *name, uint32_t type, uint32_t dtype, uint32_t rank,
                       uint32_t *dims)
{
    q_tensor t;
    memset(&t, 0, sizeof(t));
    t.version = 1;
    t.v.name = name;
    t.v.type = type;
    t.v.dtype = dtype;
    t.v.quant.definition = t.v.quant.encoding = Q_UNDEFINED;
    t.v.rank = rank;
    t.v.dims = dims;
    return t;
}

static q_tensor with_data(q_tensor t, void *data, size_t bytes)
{
    t.v.u.buffer.data = data;
    t.v.u.buffer.bytes = (uint32_t)bytes;
    return t;
}

static q_op node(const char *name, const char *type, q_tensor *inputs, uint32_t input_count,
                 q_tensor *outputs)
{
    q_op op;
    memset(&op, 0, sizeof(op));
    op.version = 1;
    op.v1.name = name;
    op.v1.package = "qti.aisw";
    op.v1.type = type;
    op.v1.input_count = input_count;
    op.v1.inputs = inputs;
    op.v1.output_count = 1;
    op.v1.outputs = outputs;
    return op;
}

static void world_open(world *w)
{
    memset(w, 0, sizeof(*w));
    CHECK_EQ(ref.log_create(ref_logged, 3, &w->log), 0);
    CHECK_EQ(ref.backend_create(w->log, NULL, &w->backend), 0);
    CHECK_EQ(ref.device_create(w->log, NULL, &w->device), 0);
    CHECK_EQ(ref.context_create(w->backend, w->device, NULL, &w->context), 0);
    CHECK_EQ(ref.graph_create(w->context, "main", NULL, &w->graph), 0);
}

static void world_close(world *w)
{
    if (w->context != NULL) CHECK_EQ(ref.context_free(w->context, NULL), 0);
    CHECK_EQ(ref.device_free(w->device), 0);
    CHECK_EQ(ref.backend_free(w->backend), 0);
    CHECK_EQ(ref.log_free(w->log), 0);
    if (ref_ask("ledger")[0] != '\0') printf("%s", ref_ask("ledger"));
    CHECK_EQ(ref_ask("ledger")[0], '\0');
}

/* Add y = Relu(x * w + b) as three nodes; x and y receive their ids. */
static void add_layer(q_handle graph, q_tensor *x, q_tensor *y)
{
    q_tensor w = with_data(tensor("w", Q_STATIC, 0x232, 2, dims_w), weights, sizeof(weights));
    q_tensor b = with_data(tensor("b", Q_STATIC, 0x232, 2, dims_y), bias, sizeof(bias));
    q_tensor m = tensor("m", Q_NATIVE, 0x232, 2, dims_y);
    q_tensor s = tensor("s", Q_NATIVE, 0x232, 2, dims_y), in[2];
    *x = tensor("x", Q_APP_WRITE, 0x232, 2, dims_x);
    *y = tensor("y", Q_APP_READ, 0x232, 2, dims_y);
    CHECK_EQ(ref.graph_tensor(graph, x), 0);
    CHECK_EQ(ref.graph_tensor(graph, &w), 0);
    CHECK_EQ(ref.graph_tensor(graph, &b), 0);
    CHECK_EQ(ref.graph_tensor(graph, &m), 0);
    CHECK_EQ(ref.graph_tensor(graph, &s), 0);
    CHECK_EQ(ref.graph_tensor(graph, y), 0);
    CHECK(x->v.id != 0 && y->v.id != x->v.id);
    in[0] = *x; in[1] = w;
    CHECK_EQ(ref.add_node(graph, node("matmul", "MatMul", in, 2, &m)), 0);
    in[0] = m; in[1] = b;
    CHECK_EQ(ref.add_node(graph, node("add", "ElementWiseAdd", in, 2, &s)), 0);
    CHECK_EQ(ref.add_node(graph, node("relu", "Relu", &s, 1, y)), 0);
}

static void run_layer(q_handle graph, q_tensor x, q_tensor y)
{
    x = with_data(x, input, sizeof(input));
    y = with_data(y, output, sizeof(output));
    memset(output, 0xAA, sizeof(output));
    CHECK_EQ(ref.execute(graph, &x, 1, &y, 1, NULL, NULL), 0);
    CHECK_EQ(memcmp(output, expected, sizeof(output)), 0);
}

/* Make a world with a finalized graph. */
static void world_build(world *w, q_tensor *x, q_tensor *y)
{
    TRY(world_open(w));
    TRY(add_layer(w->graph, x, y));
    CHECK_EQ(ref.finalize(w->graph, NULL, NULL), 0);
}

/* Return the context as bytes, allocated exactly. */
static unsigned char *save(q_handle context, uint64_t *bytes)
{
    uint64_t written = 0;
    unsigned char *data;
    if (ref.binary_size(context, bytes) != 0
        || (data = (unsigned char *)malloc((size_t)*bytes)) == NULL) return NULL;
    if (ref.binary(context, data, *bytes, &written) == 0 && written == *bytes) return data;
    free(data);
    return NULL;
}

/* ---- life ----------------------------------------------------------------------------------- */

TEST(a_graph_is_built_run_saved_restored_and_gives_the_same_bytes)
{
    uint64_t bytes, again_bytes;
    unsigned char *data, *again;
    q_handle restored, graph, other, twice;
    q_tensor x, y;
    world w;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    TRY(run_layer(w.graph, x, y));
    data = save(w.context, &bytes);
    CHECK(data != NULL);
    CHECK_EQ(ref.load(w.backend, w.device, NULL, data, bytes, &restored, NULL), 0);
    again = save(restored, &again_bytes);
    CHECK(again != NULL && again_bytes == bytes && memcmp(again, data, (size_t)bytes) == 0);
    free(again);
    /* The library must not read the buffer any more. */
    memset(data, 0xEE, (size_t)bytes);
    free(data);
    CHECK_EQ(ref.retrieve(restored, "main", &graph), 0);
    CHECK_EQ(ref.retrieve(restored, "main", &twice), 0);
    CHECK(graph == twice);
    TRY(run_layer(graph, x, y));
    CHECK_EQ(ref.graph_create(restored, "more", NULL, &other), Q_GENERAL);
    CHECK_EQ(ref.finalize(graph, NULL, NULL), Q_NOT_SUPPORTED);
    CHECK_EQ(ref.retrieve(restored, "absent", &other), Q_GRAPH_NAME);
    CHECK_STR(ref_lines, "there is no graph \"absent\"");
    CHECK_EQ(ref.context_free(restored, NULL), 0);
    TRY(world_close(&w));
}

TEST(two_builds_give_equal_binaries_and_equal_weights_are_stored_once)
{
    uint64_t bytes[3];
    unsigned char *data[3];
    q_handle second;
    q_tensor x, y;
    world w;
    int i;
    ref_begin("");
    for (i = 0; i < 2; ++i) {
        TRY(world_build(&w, &x, &y));
        CHECK_STR(ref_ask("graph main"), "nodes 3 tensors 6 data 160 arena 128 scratch ");
        data[i] = save(w.context, &bytes[i]);
        CHECK(data[i] != NULL);
        if (i == 1) {
            CHECK_EQ(ref.graph_create(w.context, "second", NULL, &second), 0);
            TRY(add_layer(second, &x, &y));
            CHECK_EQ(ref.finalize(second, NULL, NULL), 0);
            TRY(run_layer(second, x, y));
            CHECK_STR(ref_ask("graph second"), "data 160 ");
            data[2] = save(w.context, &bytes[2]);
            CHECK(data[2] != NULL);
        }
        TRY(world_close(&w));
    }
    CHECK(bytes[0] == bytes[1] && memcmp(data[0], data[1], (size_t)bytes[0]) == 0);
    CHECK(bytes[2] > bytes[0] && bytes[2] < 2 * bytes[0]);
    for (i = 0; i < 3; ++i) free(data[i]);
}

TEST(an_execute_allocates_nothing)
{
    char before[65536];
    q_handle profile;
    q_tensor x, y;
    world w;
    int i;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    CHECK_EQ(ref.profile_create(w.backend, 2, &profile), 0);
    x = with_data(x, input, sizeof(input));
    y = with_data(y, output, sizeof(output));
    CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, profile, NULL), 0);
    snprintf(before, sizeof(before), "%s", ref_ask("counters"));
    CHECK_STR(before, "allocations ");
    for (i = 0; i < 10; ++i) {
        CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), 0);
        CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, profile, NULL), 0);
    }
    CHECK_EQ(strcmp(before, ref_ask("counters")), 0);
    CHECK_EQ(ref.profile_free(profile), 0);
    TRY(world_close(&w));
}

/* ---- dims and tensors that change ------------------------------------------------------------ */

static q_tensor with_dynamic(q_tensor t, uint8_t *flags)
{
    t.version = 2;
    t.v.dynamic = flags;
    return t;
}

/* Add y[n,4] = Relu(x[n,8] * w), n at most 2. */
static void add_rows(q_handle graph, uint32_t type_w, q_tensor *x, q_tensor *w, q_tensor *y)
{
    static uint8_t rows[] = { 1, 0 };
    q_tensor m = with_dynamic(tensor("m", Q_NATIVE, 0x232, 2, dims_y), rows), in[2];
    *w = with_data(tensor("w", type_w, 0x232, 2, dims_w), weights, sizeof(weights));
    *x = with_dynamic(tensor("x", Q_APP_WRITE, 0x232, 2, dims_x), rows);
    *y = with_dynamic(tensor("y", Q_APP_READ, 0x232, 2, dims_y), rows);
    CHECK_EQ(ref.graph_tensor(graph, x), 0);
    CHECK_EQ(ref.graph_tensor(graph, w), 0);
    CHECK_EQ(ref.graph_tensor(graph, &m), 0);
    CHECK_EQ(ref.graph_tensor(graph, y), 0);
    in[0] = *x; in[1] = *w;
    CHECK_EQ(ref.add_node(graph, node("matmul", "MatMul", in, 2, &m)), 0);
    CHECK_EQ(ref.add_node(graph, node("relu", "Relu", &m, 1, y)), 0);
}

/* Execute with n rows and room for `room` rows of output; *told receives the rows of y. */
static q_code run_rows(q_handle graph, q_tensor x, q_tensor y, uint32_t n, uint32_t room,
                       uint32_t *told)
{
    uint32_t of_x[2], of_y[2];
    q_code code;
    of_x[0] = n;
    of_x[1] = 8;
    of_y[0] = room;
    of_y[1] = 4;
    x.v.dims = of_x;
    y.v.dims = of_y;
    x = with_data(x, input, n * 32);
    y = with_data(y, output, room * 16);
    memset(output, 0xAA, sizeof(output));
    code = ref.execute(graph, &x, 1, &y, 1, NULL, NULL);
    *told = of_y[0];
    return code;
}

TEST(dims_of_a_call_are_computed_and_those_of_outputs_told)
{
    unsigned char *data;
    q_handle restored, graph;
    uint64_t bytes;
    uint32_t told, i, n;
    q_tensor x, weight, y;
    float full[8];
    world w;
    ref_begin("");
    TRY(world_open(&w));
    TRY(add_rows(w.graph, Q_STATIC, &x, &weight, &y));
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), 0);
    CHECK_EQ(run_rows(w.graph, x, y, 2, 2, &told), 0);
    memcpy(full, output, sizeof(full));
    data = save(w.context, &bytes);
    CHECK(data != NULL && data[8] == 2);                     /* the format with dynamic dims */
    CHECK_EQ(ref.load(w.backend, w.device, NULL, data, bytes, &restored, NULL), 0);
    CHECK_EQ(ref.retrieve(restored, "main", &graph), 0);
    for (i = 0; i < 4; ++i) {
        n = 1 + i % 2;
        CHECK_EQ(run_rows(i < 2 ? w.graph : graph, x, y, n, 2, &told), 0);
        CHECK_EQ(told, n);
        CHECK_EQ(memcmp(output, full, n * 16), 0);
        CHECK(n == 2 || ((unsigned char *)output)[16] == 0xAA);
    }
    CHECK_EQ(run_rows(graph, x, y, 1, 1, &told), 0);
    CHECK_EQ(run_rows(graph, x, y, 2, 1, &told), Q_GRAPH_SHAPE);
    CHECK_STR(ref_lines, "output \"y\" becomes [2, 4], 32 bytes; the call has room for 16");
    CHECK_EQ(run_rows(graph, x, y, 3, 2, &told), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "tensor \"x\" is at most [2, 8], not [3, 8]");
    CHECK_EQ(run_rows(graph, x, y, 0, 2, &told), Q_GRAPH_TENSOR);
    CHECK_EQ(run_rows(graph, x, y, 2, 2, &told), 0);
    CHECK_EQ(memcmp(output, full, sizeof(full)), 0);
    free(data);
    CHECK_EQ(ref.context_free(restored, NULL), 0);
    TRY(world_close(&w));
}

/* A graph may only be dynamic where the inputs decide the dims. */
TEST(dynamic_dims_that_no_input_decides_are_refused)
{
    static uint8_t second[] = { 0, 1, 0, 0 };
    static uint32_t image[] = { 1, 4, 4, 1 };
    q_tensor x, y;
    uint32_t told;
    world w;
    ref_begin("");
    TRY(world_open(&w));
    x = with_dynamic(tensor("x", Q_APP_WRITE, 0x232, 4, image), second);
    y = with_dynamic(tensor("y", Q_APP_READ, 0x232, 4, image), second);
    CHECK_EQ(ref.graph_tensor(w.graph, &x), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &y), 0);
    CHECK_EQ(ref.add_node(w.graph, node("n", "ResizeNearestNeighbor", &x, 1, &y)), Q_OP_REFUSED);
    CHECK_STR(ref_lines, "output \"y\": dimension 1 is dynamic, but the inputs of"
                         " ResizeNearestNeighbor do not decide it");
    /* The output's dims are fixed: only the full ones can be computed. */
    CHECK_EQ(ref.graph_create(w.context, "fixed", NULL, &w.graph), 0);
    second[0] = 1; second[1] = 0;
    x = with_dynamic(tensor("x", Q_APP_WRITE, 0x232, 2, dims_x), second);
    y = tensor("y", Q_APP_READ, 0x232, 2, dims_x);
    CHECK_EQ(ref.graph_tensor(w.graph, &x), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &y), 0);
    CHECK_EQ(ref.add_node(w.graph, node("n", "Relu", &x, 1, &y)), 0);
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), 0);
    CHECK_EQ(run_rows(w.graph, x, with_data(y, output, 32), 1, 2, &told), Q_GRAPH_TENSOR);
    y.v.dims = NULL;
    x = with_data(x, input, 32);
    x.v.dims = dims_y;
    dims_y[0] = 1; dims_y[1] = 8;
    y = with_data(y, output, 64);
    CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), Q_GRAPH_SHAPE);
    dims_y[0] = 2; dims_y[1] = 4;
    CHECK_STR(ref_lines, "node \"n\": output 0 \"y\" is [2, 8], expected [1, 8]");
    TRY(world_close(&w));
}

TEST(optional_inputs_may_be_left_out_where_the_operator_allows)
{
    q_tensor x, b, y, in[3], weight, inner;
    uint32_t dims_b[] = { 4 }, dims_v[] = { 4, 8 };
    world w;
    int i;
    ref_begin("");
    TRY(world_open(&w));
    x = tensor("x", Q_APP_WRITE, 0x232, 2, dims_x);
    b = tensor("b", Q_OPTIONAL_APP_WRITE, 0x232, 1, dims_b);
    weight = with_data(tensor("w", Q_STATIC, 0x232, 2, dims_v), weights, sizeof(weights));
    y = tensor("y", Q_OPTIONAL_APP_READ, 0x232, 2, dims_y);
    CHECK_EQ(ref.graph_tensor(w.graph, &x), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &b), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &weight), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &y), 0);
    inner = tensor("inner", Q_NATIVE, 0x232, 1, dims_b);
    CHECK_EQ(ref.graph_tensor(w.graph, &inner), 0);
    in[0] = b;
    CHECK_EQ(ref.add_node(w.graph, node("n", "Relu", in, 1, &inner)), Q_OP_REFUSED);
    CHECK_STR(ref_lines, "input 0 \"b\" is an optional tensor, and without it: input 0 is absent,"
                         " but Relu needs it");
    in[0] = x; in[1] = weight; in[2] = b;
    CHECK_EQ(ref.add_node(w.graph, node("n", "FullyConnected", in, 3, &y)), 0);
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), 0);
    for (i = 0; i < 4; ++i) {
        float first[2];
        in[0] = with_data(x, input, sizeof(input));
        in[1] = with_data(b, bias + 4, 16);                  /* 0 0.5 1 1.5 */
        y = with_data(y, output, sizeof(output));
        CHECK_EQ(ref.execute(w.graph, in, 1, &y, 1, NULL, NULL), 0);
        memcpy(first, output, sizeof(first));
        CHECK_EQ(ref.execute(w.graph, in, 2, &y, 1, NULL, NULL), 0);
        CHECK(output[0] == first[0] && output[1] == first[1] + 0.5f);
        CHECK_EQ(ref.execute(w.graph, in + 1, 1, &y, 1, NULL, NULL), Q_GRAPH_TENSOR);
        CHECK_STR(ref_lines, "input \"x\" of graph \"main\" is missing");
        CHECK_EQ(ref.execute(w.graph, in, 1, NULL, 0, NULL, NULL), 0);     /* an optional output */
    }
    TRY(world_close(&w));
}

TEST(updateable_data_is_replaced_and_other_updates_are_refused)
{
    static float zeros[32], other[32];
    const q_tensor *list[2];
    uint32_t told, i;
    q_tensor x, weight, y, change;
    float full[8];
    world w;
    ref_begin("");
    TRY(world_open(&w));
    TRY(add_rows(w.graph, Q_UPDATEABLE_STATIC, &x, &weight, &y));
    list[0] = &change;
    list[1] = &x;
    change = with_data(weight, zeros, sizeof(zeros));
    CHECK_EQ(ref.update(w.graph, list, 1), Q_GRAPH_NOT_FINALIZED);
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), 0);
    CHECK_EQ(run_rows(w.graph, x, y, 2, 2, &told), 0);
    memcpy(full, output, sizeof(full));
    CHECK_EQ(ref.update(w.graph, list, 1), 0);
    CHECK_EQ(run_rows(w.graph, x, y, 1, 2, &told), 0);
    CHECK(output[0] == 0.0f && output[3] == 0.0f);
    for (i = 0; i < 32; ++i) other[i] = weights[i];
    change = with_data(weight, other, sizeof(other));
    CHECK_EQ(ref.update(w.graph, list, 2), Q_TENSOR_UPDATE);     /* nothing changes */
    CHECK_STR(ref_lines, "tensor \"x\" has type 0; only UPDATEABLE_STATIC ones can be updated");
    CHECK_EQ(run_rows(w.graph, x, y, 1, 2, &told), 0);
    CHECK(output[0] == 0.0f && output[3] == 0.0f);
    CHECK_EQ(ref.update(w.graph, list, 1), 0);
    for (i = 0; i < 32; ++i) other[i] = 9.0f;                     /* it was copied */
    CHECK_EQ(run_rows(w.graph, x, y, 2, 2, &told), 0);
    CHECK_EQ(memcmp(output, full, sizeof(full)), 0);
    change = with_data(weight, other, sizeof(other) - 1);
    CHECK_EQ(ref.update(w.graph, list, 1), Q_TENSOR_PARAM);
    CHECK_STR(ref_lines, "expected as 128 bytes of plain memory, found 127");
    change = with_data(weight, other, sizeof(other));
    change.v.id = 77;
    CHECK_EQ(ref.update(w.graph, list, 1), Q_TENSOR_MISSING);
    change.v.id = weight.v.id;
    change.v.dims = dims_x;
    CHECK_EQ(ref.update(w.graph, list, 1), Q_TENSOR_UPDATE);
    CHECK_EQ(ref.update(w.graph, list, 0), Q_TENSOR_PARAM);
    CHECK_EQ(run_rows(w.graph, x, y, 2, 2, &told), 0);
    CHECK_EQ(memcmp(output, full, sizeof(full)), 0);
    TRY(world_close(&w));
}

/* ---- graphs that are refused ---------------------------------------------------------------- */

TEST(tensors_are_refused_with_the_reason)
{
    static uint32_t zero[] = { 2, 0 };
    static q_scale_offset pairs[4] = { { 1.0f, 0 }, { 0.0f, 0 }, { 1.0f, 0 }, { 1.0f, 0 } };
    static uint8_t dynamic[] = { 0, 1 };
    static const struct { const char *words; q_code code; } cases[] = {
        { "needs a name", Q_TENSOR_PARAM }, { "type 2", Q_TENSOR_UNSUPPORTED },
            { "data type 0x0304", Q_TENSOR_UNSUPPORTED },
        { "one per byte", Q_TENSOR_UNSUPPORTED }, { "rank 0", Q_TENSOR_PARAM },
            { "dimension 1 is 0", Q_TENSOR_PARAM },
        { "expected as 128 bytes", Q_TENSOR_PARAM }, { "at NULL", Q_TENSOR_PARAM },
            { "encoding 6", Q_TENSOR_UNSUPPORTED },
        { "4 scales along axis 0", Q_TENSOR_PARAM }, { "scale 1 is 0", Q_TENSOR_PARAM },
            { "bit width of 9", Q_TENSOR_PARAM },
        { "dynamic", Q_NOT_SUPPORTED }, { "data format 1", Q_TENSOR_UNSUPPORTED },
            { "block size 1", Q_TENSOR_UNSUPPORTED },
        { "value 8 of element 5", Q_TENSOR_PARAM }, { "value -9 of element 31", Q_TENSOR_PARAM },
            { "scale 3 is nan; scales must be finite", Q_TENSOR_PARAM },
            { "scale 2 is -1; scales must be above 0", Q_TENSOR_PARAM },
        { "struct version 7", Q_TENSOR_PARAM }
    };
    static q_scale_offset odd[4] = { { 1.0f, 0 }, { 0.0f, 0 }, { -1.0f, 0 }, { NAN, 0 } };
    static uint8_t multipliers[4] = { 1, 1, 1, 1 };
    static uint32_t halves[] = { 4, 2 }, dims_b[] = { 4, 8 };
    int8_t codes[32] = { 0 };
    q_expansion expansion;
    static uint32_t shared[] = { 4, 4 };       /* of [8, 4]: a scale for all channels */
    size_t i;
    world w;
    q_tensor t;
    ref_begin("");
    TRY(world_open(&w));
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        q_code code;
        t = tensor("t", Q_NATIVE, 0x408, 2, dims_w);
        switch (i) {
        case 0: t.v.name = ""; break;
        case 1: t.v.type = Q_APP_READWRITE; break;
        case 2: case 3: t.v.dtype = 0x304; break;
        case 4: t.v.rank = 0; break;
        case 5: t.v.dims = zero; break;
        case 6: t = with_data(tensor("t", Q_STATIC, 0x232, 2, dims_w), weights, 127); break;
        case 7: t = with_data(tensor("t", Q_STATIC, 0x232, 2, dims_w), NULL, 128); break;
        case 8: t.v.quant.definition = 1; t.v.quant.encoding = 6; break;
        case 9: case 10:
            t.v.quant.definition = 1;
            t.v.quant.encoding = Q_ENC_AXIS;
            t.v.quant.u.axis.axis = i == 9 ? 0 : 1;
            t.v.quant.u.axis.count = 4;
            t.v.quant.u.axis.pairs = pairs;
            break;
        case 11:
            t.v.quant.definition = 1;
            t.v.quant.encoding = Q_ENC_BW;
            t.v.quant.u.bw.bits = 9;
            t.v.quant.u.bw.scale = 1.0f;
            break;
        case 12:
            t = with_data(tensor("t", Q_STATIC, 0x232, 2, dims_w), weights, 128);
            t.version = 2;
            t.v.dynamic = dynamic;
            break;
        case 13: t.v.format = 1; break;
        case 14:
            t.v.quant.definition = 1;
            t.v.quant.encoding = Q_ENC_BLOCK;
            t.v.quant.u.block.sizes = shared;
            t.v.quant.u.block.pairs = pairs + 2;
            break;
        case 15: case 16: case 17:
            codes[5] = i == 15 ? 8 : 7;
            codes[31] = i == 16 ? -9 : -8;
            t = with_data(tensor("t", Q_STATIC, 0x308, 2, dims_b), codes, 32);
            t.v.quant.definition = 1;
            t.v.quant.encoding = Q_ENC_BLOCK;
            halves[0] = 1;
            halves[1] = 8;                                   /* a scale per channel */
            t.v.quant.u.block.sizes = halves;
            t.v.quant.u.block.pairs = i == 17 ? odd : pairs;
            break;
        case 18:
            memset(&expansion, 0, sizeof(expansion));
            expansion.pairs = odd;
            expansion.blocks = 1;
            expansion.bits = 4;
            expansion.scales.w8 = multipliers;
            odd[1].scale = 1.0f;
            t = with_data(tensor("t", Q_STATIC, 0x308, 2, dims_b), codes, 32);
            t.v.quant.definition = 1;
            t.v.quant.encoding = Q_ENC_EXPANSION;
            t.v.quant.u.expansion = &expansion;
            break;
        default: t.version = 7;
        }
        ref_line_bytes = 0;
        code = ref.graph_tensor(w.graph, &t);
        if (code != cases[i].code) printf("case %u\n", (unsigned)i);
        CHECK_EQ(code, cases[i].code);
        CHECK_STR(ref_lines, cases[i].words);
    }
    t = tensor("t", Q_NATIVE, 0x232, 2, dims_w);
    CHECK_EQ(ref.graph_tensor(w.graph, &t), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &t), Q_TENSOR_EXISTS);
    CHECK_STR(ref_lines, "tensor \"t\" already exists in graph \"main\"");
    CHECK_EQ(ref.graph_tensor(w.graph, NULL), Q_TENSOR_HANDLE);
    TRY(world_close(&w));
}

TEST(nodes_are_refused_with_the_reason)
{
    q_tensor x = tensor("x", Q_APP_WRITE, 0x232, 2, dims_y);
    q_tensor y = tensor("y", Q_APP_READ, 0x232, 2, dims_y);
    q_tensor n = tensor("n", Q_NATIVE, 0x232, 2, dims_y);
    q_tensor wide = tensor("wide", Q_NATIVE, 0x232, 2, dims_x), in[2], out, bad;
    q_param param;
    q_op op;
    world w;
    ref_begin("");
    TRY(world_open(&w));
    CHECK_EQ(ref.graph_tensor(w.graph, &x), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &y), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &n), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &wide), 0);
    in[0] = x; in[1] = n; out = y;

    op = node("a", "NoSuchOperator", in, 2, &out);
    CHECK_EQ(ref.validate(w.backend, op), Q_BACKEND_NO_PACKAGE);
    CHECK_EQ(ref.add_node(w.graph, op), Q_BACKEND_NO_PACKAGE);
    CHECK_STR(ref_lines, "no operator \"NoSuchOperator\"");
    op = node("a", "ElementWiseAdd", in, 2, &out);
    op.v1.package = "another.package";
    CHECK_EQ(ref.validate(w.backend, op), Q_BACKEND_NO_PACKAGE);

    /* validating a node and adding it give the same answer */
    op = node("a", "ElementWiseAdd", in, 2, &wide);
    CHECK_EQ(ref.validate(w.backend, op), Q_OP_REFUSED);
    CHECK_EQ(ref.add_node(w.graph, op), Q_OP_REFUSED);
    CHECK_STR(ref_lines, "[2, 8]");

    bad = x; bad.v.id = 999; in[0] = bad;
    CHECK_EQ(ref.add_node(w.graph, node("a", "ElementWiseAdd", in, 2, &out)), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "(id 999) was not created in graph \"main\"");
    bad = x; bad.v.dims = dims_x; in[0] = bad;
    CHECK_EQ(ref.add_node(w.graph, node("a", "ElementWiseAdd", in, 2, &out)), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "is [2, 4], not [2, 8]");
    bad = x; bad.v.dtype = 0x216; in[0] = bad;
    CHECK_EQ(ref.add_node(w.graph, node("a", "ElementWiseAdd", in, 2, &out)), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "is FLOAT_32, not FLOAT_16");
    bad = x; bad.v.name = "other"; in[0] = bad;
    CHECK_EQ(ref.add_node(w.graph, node("a", "ElementWiseAdd", in, 2, &out)), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "is \"x\", not \"other\"");
    in[0] = x;

    out = x;
    CHECK_EQ(ref.add_node(w.graph, node("a", "Relu", &n, 1, &out)), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "\"x\" is an input of the graph and cannot be written");
    out = n;
    CHECK_EQ(ref.add_node(w.graph, node("a", "Relu", &n, 1, &out)), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "\"n\" is input and output");
    memset(&param, 0, sizeof(param));
    param.name = "axis";
    param.u.scalar.dtype = 0x608;
    op = node("a", "Softmax", &x, 1, &y);
    op.v1.params = &param;
    op.v1.param_count = 1;
    CHECK_EQ(ref.add_node(w.graph, op), Q_GRAPH_OP);
    CHECK_STR(ref_lines, "type 0x0608, which a scalar cannot have");
    CHECK_EQ(ref.validate(w.backend, op), Q_OP_REFUSED);
    op = node(NULL, "Relu", &x, 1, &y);
    CHECK_EQ(ref.add_node(w.graph, op), Q_GRAPH_OP);
    op = node("a", "Relu", NULL, 1, &y);
    CHECK_EQ(ref.add_node(w.graph, op), Q_GRAPH_OP);
    CHECK_STR(ref_lines, "declared, but the list is NULL");

    CHECK_EQ(ref.add_node(w.graph, node("a", "Relu", &x, 1, &y)), 0);
    CHECK_EQ(ref.add_node(w.graph, node("a", "Relu", &x, 1, &n)), Q_GRAPH_OP);
    CHECK_STR(ref_lines, "node \"a\" already exists in graph \"main\"");
    CHECK_EQ(ref.add_node(w.graph, node("b", "Relu", &x, 1, &y)), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "\"y\" is already written by node \"a\"");
    TRY(world_close(&w));
}

static unsigned long long bytes_allocated(void)
{
    unsigned long long bytes = 0;
    const char *at = strstr(ref_ask("counters"), " bytes ");
    if (at == NULL || sscanf(at, " bytes %llu", &bytes) != 1) exit(1);
    return bytes;
}

/* The pages of the weights cannot be read, so nothing can copy them. */
TEST(a_validation_does_not_copy_static_data)
{
    const uint32_t dtypes[3] = { 0x232, 0x216, 0x308 };
    const size_t most = (size_t)467 << 20;
    const int file = open("/dev/zero", O_RDONLY);
    void *pages = mmap(NULL, most, PROT_NONE, MAP_PRIVATE, file, 0);
    int32_t words[9] = { 0 };
    uint32_t dims_i[] = { 8 }, dims_g[] = { 8, 4 }, i;
    q_tensor x = tensor("x", Q_APP_WRITE, 0x232, 2, dims_x), in[2], out;
    q_param axis;
    q_op gather;
    world w;
    CHECK(file >= 0 && pages != MAP_FAILED);
    CHECK_EQ(close(file), 0);
    ref_begin("");
    TRY(world_open(&w));
    for (i = 0; i < 3; ++i) {
        const uint32_t bytes = dtypes[i] == 0x232 ? 4 : dtypes[i] == 0x216 ? 2 : 1;
        uint32_t wide[2] = { 8, 0 }, made[2] = { 2, 0 };
        unsigned long long before;
        wide[1] = made[1] = (uint32_t)(most / 8 / bytes);
        in[0] = x; in[1] = with_data(tensor("w", Q_STATIC, dtypes[i], 2, wide), pages, most);
        out = tensor("y", Q_APP_READ, 0x232, 2, made);
        if (bytes < 4) in[0].v.dtype = out.v.dtype = bytes == 2 ? 0x216 : 0x408;
        if (bytes == 1) {
            /* of 4 bits, which graphTensorCreate extends to 8 */
            in[1].v.quant.definition = in[0].v.quant.definition = out.v.quant.definition = 1;
            in[1].v.quant.encoding = Q_ENC_BW;
            in[1].v.quant.u.bw.bits = 4;
            in[1].v.quant.u.bw.scale = 0.5f;
            in[0].v.quant.encoding = out.v.quant.encoding = Q_ENC_SCALE_OFFSET;
            in[0].v.quant.u.one.scale = out.v.quant.u.one.scale = 0.5f;
        }
        before = bytes_allocated();
        CHECK_EQ(ref.validate(w.backend, node("m", "MatMul", in, 2, &out)), 0);
        CHECK(bytes_allocated() - before <= 2 * 64 * 1024);
        in[1].v.u.buffer.data = NULL;                    /* data that comes later */
        in[1].v.u.buffer.bytes = 0;
        CHECK_EQ(ref.validate(w.backend, node("m", "MatMul", in, 2, &out)), 0);
    }
    /* static indices are checked where they lie, here at an odd address */
    in[0] = tensor("x", Q_APP_WRITE, 0x232, 2, dims_y);
    in[1] = with_data(tensor("indices", Q_STATIC, 0x032, 1, dims_i), (char *)words + 1, 32);
    out = tensor("y", Q_APP_READ, 0x232, 2, dims_g);
    memset(&axis, 0, sizeof(axis));
    axis.name = "axis";
    axis.u.scalar.dtype = 0x032;
    gather = node("g", "Gather", in, 2, &out);
    gather.v1.params = &axis;
    gather.v1.param_count = 1;
    CHECK_EQ(ref.validate(w.backend, gather), 0);
    i = 2;
    memcpy((char *)words + 1 + 4 * 5, &i, 4);
    CHECK_EQ(ref.validate(w.backend, gather), Q_OP_REFUSED);
    CHECK_STR(ref_lines, "input 1 \"indices\" has 2 at element 5, expected 0 to 1");
    in[1].v.u.buffer.data = NULL;                        /* not checked, not read */
    CHECK_EQ(ref.validate(w.backend, gather), 0);
    axis.kind = Q_PARAM_TENSOR;                          /* but parameters are read */
    axis.u.tensor = tensor("axis", Q_STATIC, 0x032, 1, dims_i);
    CHECK_EQ(ref.validate(w.backend, gather), Q_OP_REFUSED);
    CHECK_STR(ref_lines, "\"axis\" is not a STATIC tensor with data");
    CHECK_EQ(munmap(pages, most), 0);
    TRY(world_close(&w));
}

TEST(a_graph_that_cannot_run_is_not_finalized)
{
    q_tensor x = tensor("x", Q_APP_WRITE, 0x232, 2, dims_y);
    q_tensor y = tensor("y", Q_APP_READ, 0x232, 2, dims_y), in[2];
    q_tensor m = tensor("m", Q_NATIVE, 0x232, 2, dims_y);
    q_tensor n = tensor("n", Q_NATIVE, 0x232, 2, dims_y);
    q_handle second;
    uint64_t bytes;
    world w;
    ref_begin("");
    TRY(world_open(&w));
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), Q_GRAPH_FINALIZE);
    CHECK_STR(ref_lines, "has no nodes");
    CHECK_EQ(ref.execute(w.graph, NULL, 0, NULL, 0, NULL, NULL), Q_GRAPH_NOT_FINALIZED);
    CHECK_EQ(ref.binary_size(w.context, &bytes), Q_CONTEXT_NOT_FINALIZED);
    CHECK_STR(ref_lines, "graph \"main\" is not finalized");
    CHECK_EQ(ref.graph_create(w.context, "main", NULL, &second), Q_GRAPH_NAME);
    CHECK_EQ(ref.graph_create(w.context, "", NULL, &second), Q_GRAPH_NAME);

    CHECK_EQ(ref.graph_tensor(w.graph, &x), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &y), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &m), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &n), 0);
    in[0] = x; in[1] = n;
    CHECK_EQ(ref.add_node(w.graph, node("first", "ElementWiseAdd", in, 2, &m)), 0);
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), Q_GRAPH_FINALIZE);
    CHECK_STR(ref_lines, "output \"y\" of graph \"main\" is written by no node");
    CHECK_EQ(ref.add_node(w.graph, node("last", "Relu", &m, 1, &y)), 0);
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), Q_GRAPH_FINALIZE);
    CHECK_STR(ref_lines, "node \"first\" reads tensor \"n\", which no node writes");
    CHECK_EQ(ref.add_node(w.graph, node("back", "Neg", &m, 1, &n)), Q_BACKEND_NO_PACKAGE);
    CHECK_EQ(ref.add_node(w.graph, node("back", "ElementWiseNeg", &m, 1, &n)), 0);
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), Q_GRAPH_FINALIZE);
    CHECK_STR(ref_lines, "form a cycle");
    TRY(world_close(&w));
}

/* Each with a code of its group and a line that names the graph and the reason. */
TEST(calls_in_the_wrong_order_are_told_in_words)
{
    static unsigned char room[4096];
    q_tensor x, y, late = tensor("late", Q_NATIVE, 0x232, 2, dims_y);
    q_handle again, loaded;
    uint64_t size = 0;
    world w;
    ref_begin("");
    TRY(world_open(&w));
    TRY(add_layer(w.graph, &x, &y));
    x = with_data(x, input, sizeof(input));
    y = with_data(y, output, sizeof(output));
#define TELLS(call, code, words) \
    ref_line_bytes = 0; ref_lines[0] = '\0'; \
    CHECK_EQ(call, code); CHECK_STR(ref_lines, words)
    TELLS(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), Q_GRAPH_NOT_FINALIZED,
          "graph \"main\" is not finalized");
    TELLS(ref.binary_size(w.context, &size), Q_CONTEXT_NOT_FINALIZED,
          "graph \"main\" is not finalized");
    TELLS(ref.binary(w.context, room, sizeof(room), &size), Q_CONTEXT_NOT_FINALIZED,
          "graph \"main\" is not finalized");
    TELLS(ref.graph_create(w.context, "main", NULL, &again), Q_GRAPH_NAME, "main");
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), 0);
    TELLS(ref.finalize(w.graph, NULL, NULL), Q_NOT_SUPPORTED, "graph \"main\" is already finalized");
    TELLS(ref.graph_tensor(w.graph, &late), Q_GRAPH_FINALIZED, "graph \"main\" is finalized");
    TELLS(ref.add_node(w.graph, node("late", "Relu", &x, 1, &y)), Q_GRAPH_FINALIZED,
          "graph \"main\" is finalized");
    CHECK_EQ(ref.binary(w.context, room, sizeof(room), &size), 0);
    CHECK_EQ(ref.load(w.backend, NULL, NULL, room, size, &loaded, NULL), 0);
    TELLS(ref.graph_create(loaded, "more", NULL, &again), Q_GENERAL,
          "came from a binary and takes no new graph");
    TELLS(ref.retrieve(loaded, "none", &again), Q_GRAPH_NAME, "none");
    CHECK_EQ(ref.context_free(loaded, NULL), 0);
    TELLS(ref.retrieve(loaded, "main", &again), Q_CONTEXT_HANDLE, "was freed");
    CHECK_EQ(ref.context_free(w.context, NULL), 0);
    TELLS(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), Q_GRAPH_HANDLE,
          "was freed, or its owner was");
    w.context = NULL;
    TRY(world_close(&w));
}

TEST(nodes_may_come_in_any_order)
{
    q_tensor x = tensor("x", Q_APP_WRITE, 0x232, 2, dims_y);
    q_tensor y = tensor("y", Q_APP_READ, 0x232, 2, dims_y), in[2];
    q_tensor m = tensor("m", Q_NATIVE, 0x232, 2, dims_y);
    q_tensor n = tensor("n", Q_NATIVE, 0x232, 2, dims_y);
    world w;
    ref_begin("");
    TRY(world_open(&w));
    CHECK_EQ(ref.graph_tensor(w.graph, &x), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &y), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &m), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &n), 0);
    in[0] = x; in[1] = n;
    CHECK_EQ(ref.add_node(w.graph, node("third", "ElementWiseAdd", in, 2, &y)), 0);
    CHECK_EQ(ref.add_node(w.graph, node("second", "ElementWiseNeg", &m, 1, &n)), 0);
    CHECK_EQ(ref.add_node(w.graph, node("first", "Relu", &x, 1, &m)), 0);
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), 0);
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), Q_NOT_SUPPORTED);
    CHECK_EQ(ref.add_node(w.graph, node("late", "Relu", &x, 1, &m)), Q_GRAPH_FINALIZED);
    CHECK_EQ(ref.graph_tensor(w.graph, &x), Q_GRAPH_FINALIZED);
    x = with_data(x, input, sizeof(output));
    y = with_data(y, output, sizeof(output));
    CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), 0);
    CHECK(output[0] == -1.0f && output[3] == 0.0f);            /* x - Relu(x) */
    TRY(world_close(&w));
}

TEST(every_encoding_becomes_the_same_numbers)
{
    /* 2 channels of 4 values; channel 1 has twice the scale, and with BLOCKWISE_EXPANSION its second
       half twice that. Scales of BLOCK may be negative and 0. */
    static int8_t codes[8] = { -8, -1, 0, 7, 1, 2, 3, -4 },
        nibbles[8] = { 0x08, 0x0F, 0x70, 0x07, 1, 2, 3, 0x0C };
    static q_scale_offset pairs[4] = { { 0.5f, 0 }, { -0.5f, 0 }, { 0.0f, 0 }, { 2.0f, 0 } },
        axis[2] = { { 0.5f, 0 }, { 1.0f, 0 } };
    static float scales[2] = { 0.5f, 1.0f };
    static uint32_t dims[] = { 2, 4 }, sizes[] = { 1, 2 };
    static uint8_t block_scales[] = { 1, 1, 1, 2 };
    static q_expansion expansion;
    static const float plain[8] = { -4.0f, -0.5f, 0.0f, 3.5f, 0.5f, 1.0f, 1.5f, -2.0f };
    static const float channel[8] = { -4.0f, -0.5f, 0.0f, 3.5f, 1.0f, 2.0f, 3.0f, -4.0f };
    static const float block[8] = { -4.0f, -0.5f, -0.0f, -3.5f, 0.0f, 0.0f, 6.0f, -8.0f };
    static const float expanded[8] = { -4.0f, -0.5f, 0.0f, 3.5f, 1.0f, 2.0f, 6.0f, -8.0f };
    int i;
    expansion.axis = 0;
    expansion.pairs = axis;
    expansion.blocks = 2;
    expansion.bits = 4;
    expansion.scales.w8 = block_scales;
    /* Try 6 encodings, each in a new graph and in a restored one. */
    for (i = 0; i < 12; ++i) {
        const int form = i % 6;
        const float *want = form == 0 || form == 2   ? plain
                            : form == 1 || form == 3 ? channel
                            : form == 4              ? block : expanded;
        q_tensor q = tensor("q", Q_STATIC, 0x308, 2, dims),
            y = tensor("y", Q_APP_READ, 0x232, 2, dims);
        q_handle restored = NULL, graph;
        q_quant *e = &q.v.quant;
        world w;
        ref_begin("");
        TRY(world_open(&w));
        e->definition = 1;
        e->encoding = (uint32_t)form;
        switch (form) {
        case 0: e->u.one.scale = 0.5f; break;
        case 1: e->u.axis.count = 2; e->u.axis.pairs = axis; break;
        case 2: e->u.bw.bits = 4; e->u.bw.scale = 0.5f; break;
        case 3: e->u.bw_axis.bits = 4; e->u.bw_axis.count = 2; e->u.bw_axis.scales = scales; break;
        case 4: e->u.block.sizes = sizes; e->u.block.pairs = pairs; break;
        default: e->u.expansion = &expansion;
        }
        q = with_data(q, form == 2 || form == 3 ? nibbles : codes, 8);
        CHECK_EQ(ref.graph_tensor(w.graph, &q), 0);
        CHECK_EQ(ref.graph_tensor(w.graph, &y), 0);
        CHECK_EQ(ref.validate(w.backend, node("d", "Dequantize", &q, 1, &y)), 0);
        CHECK_EQ(ref.add_node(w.graph, node("d", "Dequantize", &q, 1, &y)), 0);
        CHECK_EQ(ref.finalize(w.graph, NULL, NULL), 0);
        graph = w.graph;
        if (i >= 6) {
            uint64_t bytes;
            unsigned char *data = save(w.context, &bytes);
            CHECK(data != NULL);
            CHECK_EQ(ref.load(w.backend, w.device, NULL, data, bytes, &restored, NULL), 0);
            free(data);
            CHECK_EQ(ref.retrieve(restored, "main", &graph), 0);
        }
        y = with_data(y, output, sizeof(output));
        CHECK_EQ(ref.execute(graph, NULL, 0, &y, 1, NULL, NULL), 0);
        if (memcmp(output, want, sizeof(output)) != 0) printf("encoding %d\n", form);
        CHECK_EQ(memcmp(output, want, sizeof(output)), 0);
        if (restored != NULL) CHECK_EQ(ref.context_free(restored, NULL), 0);
        TRY(world_close(&w));
    }
}

/* ---- executes that are refused -------------------------------------------------------------- */

TEST(an_execute_checks_what_it_is_given)
{
    float twice[16];
    q_tensor x, y, in[2], out;
    world w;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    x = with_data(x, input, sizeof(input));
    y = with_data(y, output, sizeof(output));
    memcpy(output, expected, sizeof(output));
#define REFUSED(words)                                                                  \
    CHECK_EQ(ref.execute(w.graph, in, 1, &out, 1, NULL, NULL), Q_GRAPH_TENSOR);         \
    CHECK_STR(ref_lines, words);                                                        \
    in[0] = x; out = y; ref_line_bytes = 0
    in[0] = x; out = y;
    in[0].v.u.buffer.bytes = 63;      REFUSED("input \"x\": 63 bytes given, expected 64");
    in[0].v.u.buffer.bytes = 128;     REFUSED("128 bytes given");
    out.v.u.buffer.bytes = 16;        REFUSED("output \"y\": 16 bytes given, expected 32");
    in[0].v.u.buffer.data = NULL;     REFUSED("\"x\": its data is NULL");
    out.v.u.buffer.data = NULL;       REFUSED("\"y\": its data is NULL");
    in[0].v.id = 77;                  REFUSED("id 77, which is not an input");
    in[0].v.id = y.v.id;              REFUSED("which is not an input");
    out.v.id = x.v.id;                REFUSED("which is not an output");
    in[0].v.dims = dims_y;            REFUSED("is [2, 8], not [2, 4]");
    in[0].v.dtype = 0x132;            REFUSED("is FLOAT_32, not UINT_32");
    in[0].v.mem_type = 5;             REFUSED("memory type 5");
    in[0].v.mem_type = 1;             REFUSED("is not a handle of this library");
    in[0].version = 3;                REFUSED("struct version 3");
    CHECK_EQ(ref.execute(w.graph, in, 0, &out, 1, NULL, NULL), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "input \"x\" of graph \"main\" is missing: 0 of 1");
    CHECK_EQ(ref.execute(w.graph, NULL, 1, &out, 1, NULL, NULL), Q_GRAPH_ARGUMENT);
    in[1] = x;
    CHECK_EQ(ref.execute(w.graph, in, 2, &out, 1, NULL, NULL), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "\"x\" is given twice");
    CHECK_EQ(ref.execute(w.graph, in, 1, &out, 1, NULL, (q_handle)&w), Q_SIGNAL_HANDLE);
    CHECK_EQ(ref.execute(w.graph, in, 1, &out, 1, (q_handle)&w, NULL), Q_PROFILE_HANDLE);
    CHECK_EQ(memcmp(output, expected, sizeof(output)), 0);       /* the output was not written */

    /* Tensors work with only an id and memory, in struct version 2, at odd addresses, and with the
       output over the input. */
    memset(&in[0], 0, sizeof(in[0]));
    in[0].version = 2;
    in[0].v.id = x.v.id;
    in[0] = with_data(in[0], (char *)twice + 1, sizeof(input));
    memcpy((char *)twice + 1, input, sizeof(twice) - 1);         /* the last byte of input is 0 */
    {
        char *place = (char *)malloc(sizeof(input) + 3),
            *result = (char *)malloc(sizeof(output) + 1);
        memcpy(place + 3, input, sizeof(input));
        in[0] = with_data(in[0], place + 3, sizeof(input));
        out = with_data(y, result + 1, sizeof(output));
        CHECK_EQ(ref.execute(w.graph, in, 1, &out, 1, NULL, NULL), 0);
        CHECK_EQ(memcmp(result + 1, expected, sizeof(output)), 0);
        free(place);
        free(result);
    }
    memcpy(twice, input, sizeof(twice));
    in[0] = with_data(in[0], twice, sizeof(input));
    out = with_data(y, twice + 4, sizeof(output));
    CHECK_EQ(ref.execute(w.graph, in, 1, &out, 1, NULL, NULL), 0);
    CHECK_EQ(memcmp(twice + 4, expected, sizeof(output)), 0);
    TRY(world_close(&w));
}

typedef struct job { q_handle graph; q_tensor x, y; int wrong; } job;

static void *execute_often(void *argument)
{
    job *j = (job *)argument;
    float out[8];
    int i;
    q_tensor x = with_data(j->x, input, sizeof(input)), y = with_data(j->y, out, sizeof(out));
    for (i = 0; i < 200; ++i) {
        memset(out, 0, sizeof(out));
        if (ref.execute(j->graph, &x, 1, &y, 1, NULL, NULL) != 0
            || memcmp(out, expected, sizeof(out)) != 0) ++j->wrong;
    }
    return NULL;
}

TEST(threads_may_execute_one_graph_and_several)
{
    pthread_t threads[4];
    job jobs[4];
    q_tensor x, y;
    q_handle second;
    world w;
    int i;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    for (i = 0; i < 2; ++i) {
        jobs[i].graph = w.graph;
        jobs[i].x = x;
        jobs[i].y = y;
    }
    CHECK_EQ(ref.graph_create(w.context, "second", NULL, &second), 0);
    TRY(add_layer(second, &x, &y));
    CHECK_EQ(ref.finalize(second, NULL, NULL), 0);
    for (i = 2; i < 4; ++i) {
        jobs[i].graph = second;
        jobs[i].x = x;
        jobs[i].y = y;
    }
    for (i = 0; i < 4; ++i) {
        jobs[i].wrong = 0;
        CHECK_EQ(pthread_create(&threads[i], NULL, execute_often, &jobs[i]), 0);
    }
    for (i = 0; i < 4; ++i) {
        pthread_join(threads[i], NULL);
        CHECK_EQ(jobs[i].wrong, 0);
    }
    TRY(world_close(&w));
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Make a context with all that a file can hold: several graphs, every form of encoding,
   parameters. */
static unsigned char *rich_binary(world *w, uint64_t *bytes)
{
    static q_scale_offset axis[4] = { { 0.5f, 1 }, { 1.0f, 0 }, { 2.0f, -3 }, { 0.25f, 9 } };
    static float scales[4] = { 0.5f, 1.0f, 2.0f, 3.0f };
    static uint32_t sizes[] = { 2, 1 }, perm_dims[] = { 2 }, perm_data[] = { 1, 0 },
        turned[] = { 4, 8 };
    static uint8_t block_scales[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static q_expansion expansion = { 1, axis, 2, 4, 0, { block_scales } };
    static signed char codes[32];
    q_tensor x, y, u, f, v, t;
    q_param params[2];
    q_handle graph;
    q_op op;
    int form;
    if (world_build(w, &x, &y), test_state.state != TEST_RUNNING) return NULL;
    for (form = 0; form < 6; ++form) {
        static const char *const names[] = { "g0", "g1", "g2", "g3", "g4", "g5" };
        q_quant *e;
        if (ref.graph_create(w->context, names[form], NULL, &graph) != 0) return NULL;
        u = with_data(tensor("u", Q_STATIC, 0x308, 2, dims_w), codes, sizeof(codes));
        f = tensor("f", Q_NATIVE, 0x232, 2, dims_w);
        v = tensor("v", Q_APP_READ, 0x232, 2, turned);
        t = with_data(tensor("t", Q_STATIC, 0x132, 1, perm_dims), perm_data, sizeof(perm_data));
        e = &u.v.quant;
        e->definition = 1;
        e->encoding = (uint32_t)form;
        switch (form) {
        case 0: e->u.one.scale = 0.5f; e->u.one.offset = 3; break;
        case 1: e->u.axis.axis = 1; e->u.axis.count = 4; e->u.axis.pairs = axis; break;
        case 2: e->u.bw.bits = 4; e->u.bw.scale = 0.5f; break;
        case 3:
            e->u.bw_axis.bits = 5;
            e->u.bw_axis.axis = 1;
            e->u.bw_axis.count = 4;
            e->u.bw_axis.scales = scales;
            break;
        case 4:
            e->u.block.sizes = sizes;
            e->u.block.pairs = (q_scale_offset *)malloc(16 * sizeof(*e->u.block.pairs));
            break;
        default: e->u.expansion = &expansion;
        }
        if (form == 4) {
            int i;
            for (i = 0; i < 16; ++i) e->u.block.pairs[i] = axis[i % 4];
        }
        if (ref.graph_tensor(graph, &u) != 0 || ref.graph_tensor(graph, &f) != 0
            || ref.graph_tensor(graph, &v) != 0
            || ref.graph_tensor(graph, &t) != 0) return NULL;
        if (form == 4) free(e->u.block.pairs);
        memset(params, 0, sizeof(params));
        params[0].kind = Q_PARAM_TENSOR;
        params[0].name = "perm";
        params[0].u.tensor = t;
        op = node("turn", "Transpose", &f, 1, &v);
        op.v1.params = params;
        op.v1.param_count = 1;
        if (ref.add_node(graph, node("real", "Dequantize", &u, 1, &f)) != 0
            || ref.add_node(graph, op) != 0) return NULL;
        if (ref.finalize(graph, NULL, NULL) != 0) return NULL;
    }
    /* Make a graph with a scalar parameter, an input in u8 and one that is not used. */
    if (ref.graph_create(w->context, "soft", NULL, &graph) != 0) return NULL;
    x = tensor("x", Q_APP_WRITE, 0x232, 2, dims_y);
    y = tensor("y", Q_APP_READ, 0x232, 2, dims_y);
    if (ref.graph_tensor(graph, &x) != 0 || ref.graph_tensor(graph, &y) != 0) return NULL;
    params[0].kind = params[1].kind = Q_PARAM_SCALAR;
    params[0].name = "axis";
    params[0].u.scalar.dtype = 0x132;
    params[0].u.scalar.u.u64 = 1;
    params[1].name = "beta";
    params[1].u.scalar.dtype = 0x232;
    params[1].u.scalar.u.u64 = 0;
    params[1].u.scalar.u.f32 = 2.0f;
    op = node("softmax", "Softmax", &x, 1, &y);
    op.v1.params = params;
    op.v1.param_count = 2;
    if (ref.add_node(graph, op) != 0 || ref.finalize(graph, NULL, NULL) != 0) return NULL;
    return save(w->context, bytes);
}

/* Check that both readers refuse it. The bytes are at the end of a block of their own size. */
static int refused(const world *w, const unsigned char *data, uint64_t bytes)
{
    unsigned char *copy = (unsigned char *)malloc((size_t)bytes);
    const q_binary_info *info = NULL;
    q_handle context = NULL, system;
    q_code load, tell;
    memcpy(copy, data, (size_t)bytes);
    load = ref.load(w->backend, w->device, NULL, copy, bytes, &context, NULL);
    ref.system_create(&system);
    tell = ref.metadata(system, copy, bytes, &info);
    ref.system_free(system);
    if (load == 0) ref.context_free(context, NULL);
    free(copy);
    return load != 0 && tell != 0;
}

/* Load, and if that succeeds, use it as a client would. Return 1 if it was accepted. */
static int use_it(const world *w, unsigned char *data, uint64_t bytes)
{
    static unsigned char memory[1 << 20];
    const q_binary_info *info;
    q_handle context, system, graph;
    uint32_t g, i;
    ref.system_create(&system);
    if (ref.metadata(system, data, bytes, &info) != 0) info = NULL;
    if (ref.load(w->backend, w->device, NULL, data, bytes, &context, NULL) != 0) {
        ref.system_free(system);
        return 0;
    }
    for (g = 0; info != NULL && g < info->u.v3.graph_count; ++g) {
        q_graph_info *told = &info->u.v3.graphs[g];
        uint64_t used = 0;
        if (ref.retrieve(context, told->v.name, &graph) != 0) abort();
        for (i = 0; i < told->v.input_count + told->v.output_count; ++i) {
            q_tensor *t = i < told->v.input_count ? &told->v.inputs[i]
                : &told->v.outputs[i - told->v.input_count];
            uint64_t size = 8;
            uint32_t d;
            for (d = 0; d < t->v.rank && size < sizeof(memory); ++d) size *= t->v.dims[d];
            if (t->v.dtype % 0x100 == 0x32) size /= 2;
            else if (t->v.dtype % 0x100 == 0x16) size /= 4;
            else if (t->v.dtype % 0x100 == 0x08) size /= 8;
            if (size > sizeof(memory) - used) break;
            t->v.u.buffer.data = memory + used;
            t->v.u.buffer.bytes = (uint32_t)size;
            used += (size + 63) / 64 * 64;
        }
        if (i == told->v.input_count + told->v.output_count)
            ref.execute(graph, told->v.inputs, told->v.input_count, told->v.outputs,
                        told->v.output_count, NULL, NULL);
    }
    ref.context_free(context, NULL);
    ref.system_free(system);
    return 1;
}

TEST(a_binary_cut_short_at_every_byte_is_refused)
{
    unsigned char *data;
    uint64_t bytes, i;
    world w;
    ref_begin("");
    data = rich_binary(&w, &bytes);
    CHECK(data != NULL);
    ref.log_level(w.log, 1);
    for (i = 1; i < bytes; ++i) CHECK(refused(&w, data, i));
    /* Cut it with the new size and checksum in its head: only the structure can show the damage. */
    for (i = 64; i < bytes; ++i) {
        unsigned char *copy = (unsigned char *)malloc((size_t)i);
        uint64_t described, offset, length;
        memcpy(copy, data, (size_t)i);
        memcpy(copy + 16, &i, 8);
        memcpy(&described, copy + 32, 8);
        if (described > i - 64) described = i - 64;
        offset = (64 + described + 63) / 64 * 64;
        if (offset > i) { described = (i - 64) / 64 * 64; offset = 64 + described; }
        length = i - offset;
        memcpy(copy + 32, &described, 8);
        memcpy(copy + 40, &offset, 8);
        memcpy(copy + 48, &length, 8);
        ref_sign(copy, i);
        CHECK(refused(&w, copy, i));
        free(copy);
    }
    CHECK(!refused(&w, data, bytes));
    free(data);
    TRY(world_close(&w));
}

/* Write a file by hand, from the comment in tools/refbackend/binary.c. */
typedef struct script { unsigned char *data; size_t used; } script;

static void script_word(script *s, uint32_t word)
{
    memcpy(s->data + s->used, &word, 4);
    s->used += 4;
}

static void script_text(script *s, const char *text)
{
    const size_t bytes = strlen(text);
    script_word(s, (uint32_t)bytes);
    memcpy(s->data + s->used, text, bytes + 1);
    s->used += bytes + 1;
}

/* Write one graph of x and count intermediates, up to the number of its nodes. */
static void script_begin(script *s, uint32_t count)
{
    static const unsigned char head[64] = { 'Q', 'N', 'N', 'R', 'T', 'R', 'E', 'F', 1 };
    uint32_t i, k;
    memcpy(s->data, head, 64);
    s->used = 64;
    script_text(s, "by hand");
    /* Six numbers of versions, then no blobs. */
    for (k = 0; k < 7; ++k) script_word(s, k == 0 ? 2 : 0);
    script_word(s, 1);
    script_text(s, "main");
    script_word(s, 100);
    script_word(s, count + 1);
    for (i = 0; i <= count; ++i) {
        char name[16];
        snprintf(name, sizeof(name), "t%u", (unsigned)i);
        script_word(s, i + 1);
        script_text(s, name);
        script_word(s, i == 0 ? Q_APP_WRITE : Q_NATIVE);
        script_word(s, 0);
        script_word(s, 0x232);
        /* Dimensions [1], no encoding, no blob. */
        for (k = 0; k < 4; ++k) script_word(s, k < 2);
    }
    script_word(s, 1);
    script_text(s, "n");
    script_text(s, "qti.aisw");
    script_text(s, "Relu");
}

static uint64_t script_end(script *s)
{
    const uint64_t described = s->used - 64, bytes = (s->used + 63) / 64 * 64;
    memset(s->data + s->used, 0, (size_t)bytes - s->used);
    memcpy(s->data + 16, &bytes, 8);
    memcpy(s->data + 32, &described, 8);
    memcpy(s->data + 40, &bytes, 8);
    ref_sign(s->data, bytes);
    return bytes;
}

/* A node with all its tensors as outputs and a million inputs, one with very many parameters.
   With a linear search for each it would take 10^11 steps, and the runner's limit of time would
   end the program. */
TEST(a_binary_of_megabytes_is_refused_in_a_moment)
{
    enum { OUTPUTS = 100000, INPUTS = 1000000, PARAMETERS = 100000 };
    q_handle context = NULL;
    script s;
    uint32_t i;
    world w;
    ref_begin("");
    TRY(world_open(&w));
    s.data = (unsigned char *)malloc((size_t)16 << 20);
    script_begin(&s, OUTPUTS);
    script_word(&s, INPUTS);
    for (i = 0; i < INPUTS; ++i) script_word(&s, 1);
    script_word(&s, OUTPUTS);
    for (i = 0; i < OUTPUTS; ++i) script_word(&s, i + 2);
    script_word(&s, 0);
    CHECK_EQ(ref.load(w.backend, w.device, NULL, s.data, script_end(&s), &context, NULL),
             Q_CONTEXT_FROM_BINARY);
    CHECK_STR(ref_lines, "1000000 inputs");
    script_begin(&s, 1);
    script_word(&s, 1);
    script_word(&s, 1);
    script_word(&s, 1);
    script_word(&s, 2);
    script_word(&s, PARAMETERS);
    for (i = 0; i < PARAMETERS; ++i) {
        char name[16];
        snprintf(name, sizeof(name), "p%u", (unsigned)i);
        script_text(&s, name);
        script_word(&s, 0x232);
        script_word(&s, 0);
        script_word(&s, 0);
        script_word(&s, 0);
    }
    CHECK_EQ(ref.load(w.backend, w.device, NULL, s.data, script_end(&s), &context, NULL),
             Q_CONTEXT_FROM_BINARY);
    CHECK_STR(ref_lines, "node \"n\" has 100000 parameters; operators have at most 64");
    free(s.data);
    TRY(world_close(&w));
}

/* Write tensors of one block each that share one blob of `bytes` zeros; the last one has `last`
   elements. Return the bytes of the file. */
static uint64_t script_shared(script *s, uint32_t count, uint32_t bytes, uint32_t last)
{
    uint64_t described, offset, length;
    uint32_t i, k;
    script_begin(s, 0);
    s->used = 64;
    script_text(s, "by hand");
    for (k = 0; k < 6; ++k) script_word(s, k == 0 ? 2 : 0);
    /* One blob, at 0; one graph. */
    for (k = 0; k < 6; ++k) script_word(s, k == 0 || k == 5 ? 1 : k == 3 ? bytes : 0);
    script_text(s, "main");
    script_word(s, 100);
    script_word(s, count);
    for (i = 0; i < count; ++i) {
        const uint32_t elements = i + 1 < count ? bytes : last;
        /* Type to dimensions; encoding with one scale, 1, and offset, 0; block size; blob. */
        const uint32_t words[] = { Q_STATIC, 0, 0x308, 1, elements, 1, Q_ENC_BLOCK, 0, 0, 1,
                                   0x3F800000, 1, 0, 0, 0, elements, 1 };
        char name[16];
        snprintf(name, sizeof(name), "t%u", (unsigned)i);
        script_word(s, i + 1);
        script_text(s, name);
        for (k = 0; k < sizeof(words) / 4; ++k) script_word(s, words[k]);
    }
    script_word(s, 0);
    described = s->used - 64;
    offset = (s->used + 63) / 64 * 64;
    length = offset + bytes;
    memset(s->data + s->used, 0, (size_t)(length - s->used));
    memcpy(s->data + 16, &length, 8);
    memcpy(s->data + 32, &described, 8);
    memcpy(s->data + 40, &offset, 8);
    offset = bytes;
    memcpy(s->data + 48, &offset, 8);
    ref_sign(s->data, length);
    return length;
}

/* The codes of blocks are looked at when a file is read: not beyond their blob, and once, not for
   each of many tensors that share it, which would take 5 * 10^10 steps. */
TEST(values_of_blocks_in_a_binary_are_read_once_and_within_their_blob)
{
    q_handle context = NULL;
    script s;
    world w;
    ref_begin("");
    TRY(world_open(&w));
    s.data = (unsigned char *)malloc((size_t)16 << 20);
    CHECK_EQ(ref.load(w.backend, w.device, NULL, s.data, script_shared(&s, 2, 64, 1u << 28),
                      &context, NULL), Q_CONTEXT_FROM_BINARY);
    CHECK_STR(ref_lines, "tensor \"t1\" has 268435456 bytes, its data 64");
    CHECK_EQ(ref.load(w.backend, w.device, NULL, s.data,
                      script_shared(&s, 50000, 1u << 20, (1u << 20) - 1), &context, NULL),
             Q_CONTEXT_FROM_BINARY);
    CHECK_STR(ref_lines, "tensor \"t49999\" has 1048575 bytes, its data 1048576");
    free(s.data);
    TRY(world_close(&w));
}

static uint32_t random_next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* ---- places in memory ------------------------------------------------------------------------ */

static unsigned long long steps_of(const char *what)
{
    unsigned long long plan = 0, place = 0;
    if (sscanf(ref_ask("steps"), "plan %llu place %llu", &plan, &place) != 2) exit(1);
    return strcmp(what, "plan") == 0 ? plan : place;
}

/* Return the offset of the first gap for `bytes` among blocks sorted by offset, and insert it. */
static uint64_t first_fit(uint64_t (*blocks)[3], int *count, uint64_t bytes, uint64_t owner)
{
    uint64_t at = 0;
    int i = 0;
    for (; i < *count && blocks[i][0] - at < bytes; ++i) at = blocks[i][0] + blocks[i][1];
    memmove(blocks + i + 1, blocks + i, (size_t)(*count - i) * sizeof(*blocks));
    blocks[i][0] = at;
    blocks[i][1] = bytes;
    blocks[i][2] = owner;
    ++*count;
    return at + bytes;
}

TEST(intermediate_tensors_are_placed_by_first_fit)
{
    enum { SIZES = 8, STEPS = 400 };
    uint32_t state = 5;
    int round, i;
    ref_begin("");
    for (round = 0; round < 12; ++round) {
        static uint64_t blocks[STEPS + 1][3];
        static q_tensor made[STEPS];
        static char names[STEPS][2][16];
        uint32_t dims[SIZES][1];
        q_tensor x[SIZES];
        uint64_t most = 0;
        char text[64];
        int count = 0, living = 0;
        world w;
        TRY(world_open(&w));
        for (i = 0; i < SIZES; ++i) {
            dims[i][0] = 1 + random_next(&state) % 200;
            snprintf(names[i][0], sizeof(names[i][0]), "x%d", i);
            x[i] = tensor(names[i][0], Q_APP_WRITE, 0x232, 1, dims[i]);
            CHECK_EQ(ref.graph_tensor(w.graph, &x[i]), 0);
        }
        for (i = 0; i < STEPS; ++i) {
            const uint32_t r = random_next(&state);
            snprintf(names[i][1], sizeof(names[i][1]), "t%d", i);
            if (living > 0 && r % 100 < (i % 200 < 100 ? 40u : 60u)) {
                /* read one for the last time */
                const int k = (int)(r / 100 % (uint32_t)living);
                const uint64_t at = blocks[k][2];
                q_tensor y = tensor(names[i][1], Q_APP_READ, 0x232, 1, made[at].v.dims);
                CHECK_EQ(ref.graph_tensor(w.graph, &y), 0);
                CHECK_EQ(ref.add_node(w.graph, node(names[i][1], "Relu", &made[at], 1, &y)), 0);
                memmove(blocks + k, blocks + k + 1, (size_t)(--living - k) * sizeof(*blocks));
                count = living;
            } else {
                const uint32_t size = r / 100 % SIZES;
                uint64_t end;
                made[i] = tensor(names[i][1], Q_NATIVE, 0x232, 1, dims[size]);
                CHECK_EQ(ref.graph_tensor(w.graph, &made[i]), 0);
                CHECK_EQ(ref.add_node(w.graph, node(names[i][1], "Relu", &x[size], 1, &made[i])), 0);
                end = first_fit(blocks, &count, (dims[size][0] * 4 + 63) / 64 * 64, (uint64_t)i);
                living = count;
                if (end > most) most = end;
            }
        }
        for (; living > 0; --living) {
            const uint64_t at = blocks[living - 1][2];
            q_tensor y;
            snprintf(text, sizeof(text), "y%d", living);
            y = tensor(text, Q_APP_READ, 0x232, 1, made[at].v.dims);
            CHECK_EQ(ref.graph_tensor(w.graph, &y), 0);
            CHECK_EQ(ref.add_node(w.graph, node(text, "Relu", &made[at], 1, &y)), 0);
        }
        CHECK_EQ(ref.finalize(w.graph, NULL, NULL), 0);
        snprintf(text, sizeof(text), " arena %llu ", (unsigned long long)most);
        CHECK_STR(ref_ask("graph main"), text);
        TRY(world_close(&w));
    }
}

/* 20,000 tensors that live at the same time: a search from the first one on takes 200,000,000
   steps. The same for the memory of 20,000 outputs. */
TEST(many_tensors_are_placed_in_few_steps)
{
    enum { MANY = 20000, AT_ONCE = 1000 };
    q_tensor x = tensor("x", Q_APP_WRITE, 0x232, 2, dims_y), y;
    q_tensor *made = (q_tensor *)calloc(MANY, sizeof(*made));
    char (*names)[8] = (char (*)[8])calloc(MANY, sizeof(*names));
    float *values = (float *)calloc(MANY, 8 * sizeof(float));
    unsigned long long before;
    int outputs, i;
    if (made == NULL || names == NULL || values == NULL) exit(1);
    ref_begin("");
    for (outputs = 0; outputs < 2; ++outputs) {
        q_handle loaded, graph;
        uint64_t bytes;
        void *file;
        world w;
        TRY(world_open(&w));
        CHECK_EQ(ref.graph_tensor(w.graph, &x), 0);
        for (i = 0; i < MANY; ++i) {
            snprintf(names[i], sizeof(names[i]), "t%d", i);
            made[i] = tensor(names[i], outputs ? Q_APP_READ : Q_NATIVE, 0x232, 2, dims_y);
            CHECK_EQ(ref.graph_tensor(w.graph, &made[i]), 0);
            CHECK_EQ(ref.add_node(w.graph, node(names[i], "Relu", &x, 1, &made[i])), 0);
        }
        for (i = 0; !outputs && i < MANY; i += AT_ONCE) {
            uint32_t dims[2] = { 2 * AT_ONCE, 4 };
            q_param axis;
            q_op op;
            char name[16];
            snprintf(name, sizeof(name), "y%d", i);
            y = tensor(name, Q_APP_READ, 0x232, 2, dims);
            CHECK_EQ(ref.graph_tensor(w.graph, &y), 0);
            memset(&axis, 0, sizeof(axis));
            axis.name = "axis";
            axis.u.scalar.dtype = 0x132;
            op = node(name, "Concat", made + i, AT_ONCE, &y);
            op.v1.params = &axis;
            op.v1.param_count = 1;
            CHECK_EQ(ref.add_node(w.graph, op), 0);
        }
        before = steps_of("plan");
        CHECK_EQ(ref.finalize(w.graph, NULL, NULL), 0);
        CHECK_EQ(ref.binary_size(w.context, &bytes), 0);
        file = malloc((size_t)bytes);
        CHECK_EQ(ref.binary(w.context, file, bytes, &bytes), 0);
        CHECK_EQ(ref.load(w.backend, w.device, NULL, file, bytes, &loaded, NULL), 0);
        free(file);
        CHECK((steps_of("plan") > before) == !outputs);
        CHECK(steps_of("plan") - before < 2ull * MANY * 400);
        if (outputs) {
            before = steps_of("place");
            CHECK_EQ(ref.retrieve(loaded, "main", &graph), 0);
            x = with_data(x, input, sizeof(output));
            for (i = 0; i < MANY; ++i)
                made[i] = with_data(made[i], values + i * 7919 % MANY * 8, sizeof(output));
            CHECK_EQ(ref.execute(graph, &x, 1, made, MANY, NULL, NULL), 0);
            CHECK(values[1] == 0.0f && values[MANY * 8 - 5] == input[3]);
            CHECK(steps_of("place") > before && steps_of("place") - before < 2ull * MANY * 16);
        }
        CHECK_EQ(ref.context_free(loaded, NULL), 0);
        TRY(world_close(&w));
    }
    free(values);
    free(names);
    free(made);
}

TEST(outputs_may_overlap_inputs_and_not_each_other)
{
    enum { PAIRS = 4, FLOATS = 8, ROOM = 160 };
    static const char *const names[2][PAIRS] = { { "a", "b", "c", "d" }, { "p", "q", "r", "s" } };
    uint32_t state = 3;
    q_tensor in[PAIRS], out[PAIRS];
    int round, i, k, refused = 0, computed = 0;
    world w;
    ref_begin("");
    TRY(world_open(&w));
    for (i = 0; i < PAIRS; ++i) {
        in[i] = tensor(names[0][i], Q_APP_WRITE, 0x232, 2, dims_y);
        out[i] = tensor(names[1][i], Q_APP_READ, 0x232, 2, dims_y);
        CHECK_EQ(ref.graph_tensor(w.graph, &in[i]), 0);
        CHECK_EQ(ref.graph_tensor(w.graph, &out[i]), 0);
        CHECK_EQ(ref.add_node(w.graph, node(names[1][i], "ElementWiseNeg", &in[i], 1, &out[i])), 0);
    }
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), 0);
    for (round = 0; round < 2000; ++round) {
        float memory[ROOM], before[ROOM];
        int from[PAIRS], to[PAIRS], clash = 0;
        char text[64];
        for (i = 0; i < ROOM; ++i) memory[i] = before[i] = (float)(i + round);
        for (i = 0; i < PAIRS; ++i) {
            from[i] = (int)(random_next(&state) % (ROOM - FLOATS));
            to[i] = (int)(random_next(&state) % (ROOM - FLOATS));
            in[i] = with_data(in[i], memory + from[i], sizeof(output));
            out[i] = with_data(out[i], memory + to[i], sizeof(output));
        }
        text[0] = '\0';
        for (i = 0; i < PAIRS; ++i)
            for (k = 0; k < PAIRS; ++k)
                clash += i != k && to[i] < to[k] + FLOATS && to[k] < to[i] + FLOATS;
        ref_line_bytes = 0;
        if (clash > 0) {
            CHECK_EQ(ref.execute(w.graph, in, PAIRS, out, PAIRS, NULL, NULL), Q_GRAPH_TENSOR);
            for (i = k = 0; i < PAIRS * PAIRS; ++i) {
                snprintf(text, sizeof(text), "outputs \"%s\" and \"%s\" overlap",
                         names[1][i / PAIRS], names[1][i % PAIRS]);
                k += strstr(ref_lines, text) != NULL
                    && abs(to[i / PAIRS] - to[i % PAIRS]) < FLOATS;
            }
            CHECK_EQ(k, 1);
            CHECK_EQ(memcmp(memory, before, sizeof(memory)), 0);
            ++refused;
            continue;
        }
        CHECK_EQ(ref.execute(w.graph, in, PAIRS, out, PAIRS, NULL, NULL), 0);
        for (i = 0; i < PAIRS; ++i)
            for (k = 0; k < FLOATS; ++k) CHECK(memory[to[i] + k] == -before[from[i] + k]);
        ++computed;
    }
    CHECK(refused > 100 && computed > 100);
    TRY(world_close(&w));
}

/* ---- casts of weights ----------------------------------------------------------------------- */

enum { FOLD_IN, FOLD_STATIC, FOLD_UPDATE, FOLD_FULL, FOLD_ROWS, FOLD_BOTH, FOLD_OUT, FOLDS };
enum { FOLD_M = 2, FOLD_K = 40, FOLD_N = 24, FOLD_W = FOLD_K * FOLD_N };

static uint32_t fold_x[] = { FOLD_M, FOLD_K }, fold_y[] = { FOLD_M, FOLD_N };
static uint32_t fold_w[] = { FOLD_N, FOLD_K }, fold_rows[] = { FOLD_K, FOLD_N };

/* Add y = x * w, with w = Cast(h), and when it is read by another node: z = -w. */
static void add_fold(q_handle graph, int form, int read, void *halves, q_tensor in[2],
                     q_tensor out[2])
{
    const uint32_t type = form == FOLD_STATIC ? Q_STATIC
                        : form == FOLD_UPDATE ? Q_UPDATEABLE_STATIC : Q_APP_WRITE;
    uint32_t *shape = form == FOLD_ROWS ? fold_rows : fold_w, square[] = { FOLD_N, FOLD_N };
    q_tensor h = tensor("h", type, 0x216, 2, shape), z = tensor("z", Q_APP_READ, 0x232, 2, shape);
    q_tensor w = tensor("w", form == FOLD_OUT ? Q_APP_READ : Q_NATIVE, 0x232, 2, shape), both[2];
    q_param param;
    q_op op;
    if (type != Q_APP_WRITE) h = with_data(h, halves, FOLD_W * 2);
    in[0] = tensor("x", Q_APP_WRITE, 0x232, 2, fold_x);
    out[0] = tensor("y", Q_APP_READ, 0x232, 2, form == FOLD_BOTH ? square : fold_y);
    CHECK_EQ(ref.graph_tensor(graph, &in[0]), 0);
    CHECK_EQ(ref.graph_tensor(graph, &h), 0);
    CHECK_EQ(ref.graph_tensor(graph, &w), 0);
    CHECK_EQ(ref.graph_tensor(graph, &out[0]), 0);
    CHECK_EQ(ref.add_node(graph, node("cast", "Cast", &h, 1, &w)), 0);
    both[0] = form == FOLD_BOTH ? w : in[0];
    both[1] = w;
    memset(&param, 0, sizeof(param));
    param.name = form == FOLD_FULL ? "keep_dims" : "transpose_in1";
    param.u.scalar.dtype = 0x508;
    param.u.scalar.u.u8 = form != FOLD_ROWS;
    op = node("product", form == FOLD_FULL ? "FullyConnected" : "MatMul", both, 2, out);
    op.v1.params = &param;
    op.v1.param_count = 1;
    CHECK_EQ(ref.add_node(graph, op), 0);
    if (read) {
        CHECK_EQ(ref.graph_tensor(graph, &z), 0);
        CHECK_EQ(ref.add_node(graph, node("neg", "ElementWiseNeg", &w, 1, &z)), 0);
    }
    CHECK_EQ(ref.finalize(graph, NULL, NULL), 0);
    in[1] = h;
    out[1] = z;
}

/* Execute, check what the profile says about the Cast, and that the node which reads it gets it. */
static void run_fold(const world *w, q_handle graph, q_tensor in[2], q_tensor out[2], int read)
{
    static float z[FOLD_W];
    const uint64_t *ids, *subs;
    const uint32_t inputs = in[1].v.type == Q_APP_WRITE ? 2 : 1;
    uint32_t count;
    q_handle profile;
    q_event event;
    out[1] = with_data(out[1], z, sizeof(z));
    CHECK_EQ(ref.profile_create(w->backend, 2, &profile), 0);
    CHECK_EQ(ref.execute(graph, in, inputs, out, read ? 2 : 1, profile, NULL), 0);
    CHECK_EQ(ref.profile_events(profile, &ids, &count), 0);
    CHECK_EQ(ref.profile_sub(ids[0], &subs, &count), 0);
    CHECK_EQ(count, read ? 3 : 2);
    CHECK_EQ(ref.profile_data(subs[0], &event), 0);
    CHECK(strcmp(event.name, "cast:OpId_0 (us)") == 0 && (read || event.value == 0));
    CHECK_EQ(ref.profile_free(profile), 0);
    if (read) CHECK(z[0] == -0.5f && z[1] == 0.25f);
}

static int folds(void)
{
    const char *answer = ref_ask("graph main"), *at = strstr(answer, " folded ");
    return at != NULL ? atoi(at + 8) : -1;
}

/* A Cast that another node reads is executed; the product has the same bits. */
TEST(products_read_halves_where_a_cast_serves_them_alone)
{
    static const uint16_t special[] = { 0x7C00, 0xFC00, 0x7E00, 0x0001, 0x83FF, 0x8000, 0x7BFF };
    static uint16_t halves[FOLD_W], zeros[FOLD_W];
    static float x[FOLD_M * FOLD_K], y[3][FOLD_M * FOLD_N];
    const q_tensor *list;
    q_tensor in[2], out[2];
    unsigned char *data;
    q_handle restored, graph;
    uint64_t bytes;
    uint32_t state = 5;
    int form, read, i;
    world w;
    ref_begin("");
    for (i = 0; i < FOLD_W; ++i)
        halves[i] = (uint16_t)(0x3000 + random_next(&state) % 0x0C00 + (i % 3 == 0 ? 0x8000 : 0));
    for (i = 0; i < 7; ++i) halves[(i + 1) * 101] = special[i];
    halves[0] = 0x3800;
    halves[1] = 0xB400;
    for (i = 0; i < FOLD_M * FOLD_K; ++i)
        x[i] = (float)(random_next(&state) % 4096) / 4096.0f - 0.5f;
    for (form = 0; form < FOLDS; ++form) {
        const int products = form == FOLD_BOTH || form == FOLD_OUT;
        for (read = products ? 0 : 1; read >= 0; --read) {
            TRY(world_open(&w));
            TRY(add_fold(w.graph, form, read, form == FOLD_UPDATE ? zeros : halves, in, out));
            CHECK_EQ(folds(), !products && !read);
            in[0] = with_data(in[0], x, sizeof(x));
            in[1] = with_data(in[1], halves, sizeof(halves));
            list = &in[1];
            if (form == FOLD_UPDATE) CHECK_EQ(ref.update(w.graph, &list, 1), 0);
            out[0] = with_data(out[0], y[read], sizeof(y[read]));
            if (!products) TRY(run_fold(&w, w.graph, in, out, read));
            if (!products && !read) {
                CHECK(strstr(ref_ask("graph main"), " arena 0 ") != NULL);
                data = save(w.context, &bytes);
                CHECK(data != NULL);
                CHECK_EQ(ref.load(w.backend, w.device, NULL, data, bytes, &restored, NULL), 0);
                free(data);
                CHECK_EQ(ref.retrieve(restored, "main", &graph), 0);
                if (form == FOLD_UPDATE) CHECK_EQ(ref.update(graph, &list, 1), 0);
                out[0] = with_data(out[0], y[2], sizeof(y[2]));
                TRY(run_fold(&w, graph, in, out, 0));
                CHECK_EQ(memcmp(y[1], y[0], sizeof(y[0])), 0);
                CHECK_EQ(memcmp(y[2], y[0], sizeof(y[0])), 0);
                CHECK(isfinite(y[0][0]) && !isfinite(y[0][form == FOLD_ROWS ? 5 : 2]));
                CHECK_EQ(ref.context_free(restored, NULL), 0);
            }
            TRY(world_close(&w));
        }
    }
}

TEST(fifty_thousand_flips_do_no_harm)
{
    unsigned char *data, *copy;
    uint64_t bytes, described;
    uint32_t state = 20261121;
    unsigned i, accepted = 0;
    world w;
    ref_begin("");
    data = rich_binary(&w, &bytes);
    CHECK(data != NULL);
    ref.log_level(w.log, 1);
    memcpy(&described, data + 32, 8);
    copy = (unsigned char *)malloc((size_t)bytes);
    for (i = 0; i < 50000; ++i) {
        const int signed_again = i % 2 != 0;
        unsigned k, flips = 1 + random_next(&state) % 3;
        memcpy(copy, data, (size_t)bytes);
        for (k = 0; k < flips; ++k) {
            /* Most changes are in the structure. */
            const uint64_t room = random_next(&state) % 8 != 0 ? 64 + described : bytes;
            const uint64_t at = random_next(&state) % room;
            const uint32_t bit = 1u << random_next(&state) % 8;
            const uint32_t any = 1 + random_next(&state) % 255;
            copy[at] ^= (unsigned char)(random_next(&state) % 2 != 0 ? bit : any);
        }
        if (memcmp(copy, data, (size_t)bytes) == 0) continue;
        if (signed_again) {
            ref_sign(copy, bytes);
            accepted += (unsigned)use_it(&w, copy, bytes);
        } else if (!refused(&w, copy, bytes)) {
            printf("flip %u was not noticed\n", i);
            CHECK(0);
        }
    }
    /* names, scales and weights may differ; most other values may not */
    CHECK(accepted > 1000 && accepted < 24000);
    free(copy);
    free(data);
    TRY(world_close(&w));
}

/* The same for the format with dynamic dims, an updateable and an optional tensor. */
TEST(flips_of_dynamic_dims_do_no_harm)
{
    unsigned char *data, *copy;
    uint64_t bytes, described;
    uint32_t state = 7, dims_b[] = { 2, 4 };
    q_tensor x, weight, y, b, in[2], out;
    unsigned i, accepted = 0;
    world w;
    ref_begin("");
    TRY(world_open(&w));
    TRY(add_rows(w.graph, Q_UPDATEABLE_STATIC, &x, &weight, &y));
    b = tensor("b", Q_OPTIONAL_APP_WRITE, 0x232, 1, dims_b + 1);
    out = tensor("out", Q_OPTIONAL_APP_READ, 0x232, 2, dims_b);
    weight = with_data(tensor("v", Q_STATIC, 0x232, 2, dims_w), weights, sizeof(weights));
    CHECK_EQ(ref.graph_tensor(w.graph, &b), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &out), 0);
    in[0] = b;
    in[1] = b;
    CHECK_EQ(ref.add_node(w.graph, node("no", "ElementWiseAdd", in, 2, &out)), Q_OP_REFUSED);
    in[0] = tensor("c", Q_APP_WRITE, 0x232, 2, dims_b);
    in[1] = tensor("d", Q_APP_WRITE, 0x232, 2, dims_b);
    CHECK_EQ(ref.graph_tensor(w.graph, &in[0]), 0);
    CHECK_EQ(ref.graph_tensor(w.graph, &in[1]), 0);
    CHECK_EQ(ref.add_node(w.graph, node("add", "ElementWiseAdd", in, 2, &out)), 0);
    CHECK_EQ(ref.finalize(w.graph, NULL, NULL), 0);
    data = save(w.context, &bytes);
    CHECK(data != NULL && data[8] == 2);
    ref.log_level(w.log, 1);
    memcpy(&described, data + 32, 8);
    copy = (unsigned char *)malloc((size_t)bytes);
    for (i = 0; i < 20000; ++i) {
        memcpy(copy, data, (size_t)bytes);
        copy[8 + random_next(&state) % (56 + described)] ^=
            (unsigned char)(1 + random_next(&state) % 255);
        ref_sign(copy, bytes);
        accepted += (unsigned)use_it(&w, copy, bytes);
    }
    CHECK(accepted > 100 && accepted < 15000);
    free(copy);
    free(data);
    TRY(world_close(&w));
}

TEST(binaries_of_others_are_refused_by_name)
{
    static const unsigned char vendor[64] = { 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1 };
    const q_binary_info *info;
    unsigned char *data;
    uint64_t bytes;
    q_tensor x, y;
    q_handle context, system;
    world w;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    data = save(w.context, &bytes);
    CHECK(data != NULL);
    CHECK_EQ(ref.load(w.backend, NULL, NULL, vendor, sizeof(vendor), &context, NULL),
             Q_CONTEXT_FROM_BINARY);
    CHECK_STR(ref_lines, "of another backend");
    CHECK_EQ(ref.load(w.backend, NULL, NULL, "{\"a\": 1}", 8, &context, NULL),
             Q_CONTEXT_FROM_BINARY);
    CHECK_EQ(ref.load(w.backend, NULL, NULL, NULL, 8, &context, NULL), Q_CONTEXT_ARGUMENT);
    CHECK_EQ(ref.load(w.backend, NULL, NULL, data, 0, &context, NULL), Q_CONTEXT_ARGUMENT);
    CHECK_EQ(ref.validate_binary(w.backend, NULL, NULL, data, bytes), 0);
    CHECK_EQ(ref.validate_binary(w.backend, NULL, NULL, data, bytes - 1), Q_CONTEXT_FROM_BINARY);
    data[8] = 3;                                                 /* a newer format */
    ref_sign(data, bytes);
    CHECK_EQ(ref.load(w.backend, NULL, NULL, data, bytes, &context, NULL), Q_CONTEXT_ARGUMENT);
    CHECK_STR(ref_lines, "format 3; this library reads 1");
    CHECK_EQ(ref.system_create(&system), 0);
    CHECK_EQ(ref.metadata(system, data, bytes, &info), Q_SYSTEM_MALFORMED);
    data[8] = 1;
    ref_sign(data, bytes);
    CHECK_EQ(ref.metadata(system, data, bytes, &info), 0);
    CHECK_EQ(ref.context_free(w.context, NULL), 0);
    w.context = NULL;
    /* an older library refuses this file */
    CHECK_EQ(ref.control("faults core=2.39", NULL, 0), 0);
    CHECK_EQ(ref.load(w.backend, NULL, NULL, data, bytes, &context, NULL), Q_CONTEXT_ARGUMENT);
    CHECK_STR(ref_lines, "core interface 2.40");
    CHECK_EQ(ref.metadata(system, data, bytes, &info), 0);       /* its version is still reported */
    CHECK_EQ(ref.system_free(system), 0);
    free(data);
    TRY(world_close(&w));
}

TEST(metadata_tells_what_the_graphs_are_in_every_struct_version)
{
    unsigned char *data;
    const q_binary_info *info;
    const q_graph_info *graph;
    uint64_t bytes, size = 7;
    q_tensor x, y;
    q_handle system;
    char rules[64];
    world w;
    uint32_t v;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    data = save(w.context, &bytes);
    CHECK(data != NULL);
    CHECK_EQ(ref.system_create(&system), 0);
    for (v = 1; v <= 3; ++v) {
        snprintf(rules, sizeof(rules), "faults info=v%u; graphs=v%u; tensors=v%u", (unsigned)v,
                 (unsigned)v, v == 1 ? 1u : 2u);
        CHECK_EQ(ref.control(rules, NULL, 0), 0);
        CHECK_EQ(ref.system_info(system, data, bytes, &info, &size), 0);
        CHECK_EQ(size, 0);
        CHECK_EQ(info->version, v);
        CHECK_EQ(info->u.v1.backend_id, 0x524546);
        CHECK_EQ(strcmp(info->u.v1.build_id, "v0.1.0"), 0);
        CHECK_EQ(info->u.v1.core.minor, 40);
        CHECK_EQ(v == 3 ? info->u.v3.graph_count : info->u.v1.graph_count, 1);
        graph = v == 3 ? info->u.v3.graphs : info->u.v1.graphs;
        CHECK_EQ(graph->version, v);
        CHECK_EQ(strcmp(graph->v.name, "main"), 0);
        CHECK_EQ(graph->v.input_count, 1);
        CHECK_EQ(graph->v.output_count, 1);
        CHECK_EQ(graph->v.inputs[0].version, v == 1 ? 1 : 2);
        CHECK_EQ(graph->v.inputs[0].v.id, x.v.id);
        CHECK_EQ(strcmp(graph->v.inputs[0].v.name, "x"), 0);
        CHECK_EQ(graph->v.inputs[0].v.rank, 2);
        CHECK_EQ(graph->v.inputs[0].v.dims[1], 8);
        CHECK_EQ(graph->v.outputs[0].v.id, y.v.id);
        CHECK_EQ(graph->v.outputs[0].v.type, Q_APP_READ);
    }
    CHECK_EQ(ref.metadata(system, NULL, 0, &info), Q_SYSTEM_ARGUMENT);
    CHECK_EQ(ref.metadata(w.backend, data, bytes, &info), Q_SYSTEM_HANDLE);
    CHECK_EQ(ref.system_free(system), 0);
    CHECK_EQ(ref.system_free(system), Q_SYSTEM_HANDLE);
    CHECK_EQ(ref.control("faults", NULL, 0), 0);
    free(data);
    TRY(world_close(&w));
}

TEST(a_short_buffer_gets_no_binary)
{
    unsigned char *data;
    uint64_t bytes, written;
    q_tensor x, y;
    world w;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    CHECK_EQ(ref.binary_size(w.context, &bytes), 0);
    data = (unsigned char *)malloc((size_t)bytes - 1);
    CHECK_EQ(ref.binary(w.context, data, bytes - 1, &written), Q_CONTEXT_GET_BINARY);
    CHECK_EQ(ref.binary(w.context, NULL, bytes, &written), Q_CONTEXT_ARGUMENT);
    CHECK_EQ(ref.binary_size(w.context, NULL), Q_CONTEXT_ARGUMENT);
    free(data);
    TRY(world_close(&w));
}

/* ---- handles -------------------------------------------------------------------------------- */

TEST(unknown_freed_and_foreign_handles_are_refused)
{
    q_handle bogus = (q_handle)&ref, other_backend, profile, context, out;
    q_tensor x, y;
    const uint64_t *ids;
    uint32_t count;
    uint64_t bytes;
    world w;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    x = with_data(x, input, sizeof(input));
    y = with_data(y, output, sizeof(output));
    CHECK_EQ(ref.backend_create(bogus, NULL, &out), Q_BACKEND_ARGUMENT);
    CHECK_STR(ref_lines, "is not a handle of this library; expected a log");
    CHECK_EQ(ref.backend_create(w.device, NULL, &out), Q_BACKEND_ARGUMENT);
    CHECK_STR(ref_lines, "; expected a log");
    CHECK_EQ(ref.context_create(NULL, NULL, NULL, &out), Q_CONTEXT_HANDLE);
    CHECK_EQ(ref.context_create(w.backend, bogus, NULL, &out), Q_CONTEXT_ARGUMENT);
    CHECK_EQ(ref.context_create(w.backend, NULL, NULL, NULL), Q_CONTEXT_ARGUMENT);
    CHECK_EQ(ref.graph_create(w.graph, "g", NULL, &out), Q_CONTEXT_HANDLE);
    CHECK_EQ(ref.retrieve(bogus, "main", &out), Q_CONTEXT_HANDLE);
    CHECK_EQ(ref.finalize(w.context, NULL, NULL), Q_GRAPH_HANDLE);
    CHECK_EQ(ref.execute(NULL, &x, 1, &y, 1, NULL, NULL), Q_GRAPH_HANDLE);
    CHECK_EQ(ref.binary_size(w.graph, &bytes), Q_CONTEXT_HANDLE);
    CHECK_EQ(ref.profile_events(w.graph, &ids, &count), Q_PROFILE_HANDLE);
    CHECK_EQ(ref.mem_deregister(&w.graph, 1), Q_MEM_HANDLE);
    CHECK_EQ(ref.log_free(w.backend), Q_LOG_HANDLE);
    CHECK_EQ(ref.log_level(bogus, 1), Q_LOG_HANDLE);
    CHECK_EQ(ref.device_free(w.log), Q_DEVICE_HANDLE);
    CHECK_EQ(ref.backend_free(NULL), Q_BACKEND_HANDLE);

    /* A profile of another backend. */
    CHECK_EQ(ref.backend_create(w.log, NULL, &other_backend), 0);
    CHECK_EQ(ref.profile_create(other_backend, 1, &profile), 0);
    CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, profile, NULL), Q_PROFILE_HANDLE);
    CHECK_STR(ref_lines, "belongs to another backend");
    CHECK_EQ(ref.profile_free(profile), 0);
    CHECK_EQ(ref.profile_free(profile), Q_PROFILE_HANDLE);
    CHECK_STR(ref_lines, "was freed");
    CHECK_EQ(ref.backend_free(other_backend), 0);
    CHECK_EQ(ref.backend_free(other_backend), Q_BACKEND_HANDLE);

    CHECK_EQ(ref.device_free(w.device), Q_DEVICE_IN_USE);
    CHECK_STR(ref_lines, "free the context first");
    context = w.context;
    CHECK_EQ(ref.context_free(context, NULL), 0);
    CHECK_EQ(ref.context_free(context, NULL), Q_CONTEXT_HANDLE);
    CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), Q_GRAPH_HANDLE);
    w.context = NULL;
    TRY(world_close(&w));
}

/* Check in a child what a process that leaves objects behind prints and returns. */
static int leave(void (*what)(void))
{
    int status = 0;
    pid_t child;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        dup2(null, 2);
        setenv("QNNREF_LEDGER", "strict", 1);
        what();
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

static void leave_nothing(void)
{
    world w;
    ref_begin("");
    world_open(&w);
    world_close(&w);
}

static void leave_a_log(void)
{
    q_handle log;
    ref_begin("");
    ref.log_create(ref_logged, 1, &log);
}

static void leave_in_wrong_order(void)
{
    world w;
    ref_begin("");
    world_open(&w);
    ref.backend_free(w.backend);
    if (strstr(ref_ask("ledger"), "backend 1 was freed while 1 contexts") == NULL) _exit(1);
    ref.device_free(w.device);
    ref.log_free(w.log);
}

TEST(a_strict_ledger_ends_a_process_that_leaves_things_behind)
{
    CHECK_EQ(leave(leave_nothing), 0);
    CHECK_EQ(leave(leave_a_log), 99);
    CHECK_EQ(leave(leave_in_wrong_order), 99);
}

/* ---- configs, properties, texts ------------------------------------------------------------- */

TEST(configs_that_are_known_are_taken_and_others_refused)
{
    static const char *const graphs[] = { "main", NULL }, *const wrong[] = { "nain", NULL };
    q_config config;
    const q_config *list[2] = { &config, NULL };
    unsigned char *data;
    uint64_t bytes;
    q_tensor x, y;
    q_handle out;
    world w;
    uint32_t option;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    data = save(w.context, &bytes);
    CHECK(data != NULL);
    for (option = 0; option <= 10; ++option) {
        memset(&config, 0, sizeof(config));
        config.option = option;
        if (option == 1) config.u.word = 200;
        CHECK_EQ(ref.context_create(w.backend, w.device, list, &out), 0);
        CHECK_EQ(ref.context_free(out, NULL), 0);
    }
    CHECK_STR(ref_lines, "vendor-specific context option is ignored");
    config.option = 11;
    CHECK_EQ(ref.context_create(w.backend, w.device, list, &out), Q_CONTEXT_CONFIG);
    config.option = 1;
    config.u.word = 123;
    CHECK_EQ(ref.context_create(w.backend, w.device, list, &out), Q_CONTEXT_CONFIG);
    CHECK_STR(ref_lines, "priority 123");
    config.option = 5;
    config.u.custom = (void *)(uintptr_t)graphs;
    CHECK_EQ(ref.load(w.backend, w.device, list, data, bytes, &out, NULL), 0);
    CHECK_EQ(ref.context_free(out, NULL), 0);
    config.u.custom = (void *)(uintptr_t)wrong;
    CHECK_EQ(ref.load(w.backend, w.device, list, data, bytes, &out, NULL), Q_CONTEXT_CONFIG);
    CHECK_STR(ref_lines, "no graph \"nain\"");
    config.option = 3;
    config.u.word = 300;
    CHECK_EQ(ref.graph_config(w.graph, list), 0);
    config.u.word = 1;
    CHECK_EQ(ref.graph_config(w.graph, list), Q_GRAPH_ARGUMENT);
    config.option = 0;
    CHECK_EQ(ref.graph_config(w.graph, list), Q_GRAPH_FINALIZED);
    config.option = 9;
    CHECK_EQ(ref.graph_config(w.graph, list), Q_GRAPH_ARGUMENT);
    CHECK_EQ(ref.device_create(w.log, list, &out), Q_DEVICE_CONFIG);
    CHECK_EQ(ref.backend_create(w.log, list, &out), Q_BACKEND_CONFIG);
    free(data);
    TRY(world_close(&w));
}

TEST(properties_say_what_the_calls_do)
{
    static const struct { uint32_t key; q_code code; } keys[] = {
        { 202, 0 }, { 210, 0 }, { 212, Q_NOT_SUPPORTED }, { 304, Q_NOT_SUPPORTED }, { 306, 0 },
            { 311, 0 }, { 502, 0 },
        { 504, 0 }, { 505, Q_NOT_SUPPORTED }, { 506, 0 }, { 507, Q_NOT_SUPPORTED }, { 517, 0 },
        { 518, 0 }, { 519, Q_NOT_SUPPORTED }, { 514, 0 }, { 515, Q_NOT_SUPPORTED }, { 1102, 0 }, { 1103, 0 },
            { 1104, 0 },
        { 1202, Q_NOT_SUPPORTED }, { 1404, 0 }, { 1405, Q_NOT_SUPPORTED }, { 1502, 0 },
            { 5, Q_UNKNOWN_KEY }, { 99999, Q_UNKNOWN_KEY }
    };
    const q_op_name *names;
    const char *text;
    q_handle out;
    uint32_t count, i;
    int matmul = 0;
    world w;
    ref_begin("");
    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i)
        CHECK_EQ(ref.property(keys[i].key), keys[i].code);
    TRY(world_open(&w));
    CHECK_EQ(ref.signal_create(w.backend, NULL, &out), Q_NOT_SUPPORTED);
    CHECK_EQ(ref.op_package(w.backend, "libX.so", "provider", NULL), Q_NOT_SUPPORTED);
    CHECK_EQ(ref.operations(w.backend, &count, &names), 0);
    CHECK(count > 40);
    for (i = 0; i < count; ++i)
        matmul += strcmp(names[i].name, "MatMul") == 0
                  && strcmp(names[i].package, "qti.aisw") == 0;
    CHECK_EQ(matmul, 1);
    CHECK_EQ(ref.error_message(Q_GRAPH_TENSOR, &text), 0);
    CHECK_STR(text, "QNN_GRAPH_ERROR_INVALID_TENSOR: ");
    CHECK_EQ(ref.error_message(((q_code)7 << 32) | Q_MEMORY, &text), 0);
    CHECK_STR(text, "MEM_ALLOC");
    CHECK_EQ(ref.error_message(0xFFFF, &text), Q_ERROR_HANDLE);
    CHECK(text == NULL);
    CHECK_EQ(ref.log_level(w.log, 99), Q_LOG_ARGUMENT);
    CHECK_EQ(ref.log_level(w.log, 1), 0);
    TRY(world_close(&w));
}

TEST(a_device_and_its_power_are_there)
{
    const q_platform_info *info;
    q_infrastructure *infra = NULL;
    q_power_config dcvs, polling;
    const q_power_config *list[3] = { &dcvs, &polling, NULL };
    q_memory_config grow = { 1, 4096 };
    const q_memory_config *memory[2] = { &grow, NULL };
    uint32_t id, second;
    world w;
    ref_begin("");
    TRY(world_open(&w));
    CHECK_EQ(ref.platform_info(w.log, &info), 0);
    CHECK_EQ(info->v1.count, 1);
    CHECK_EQ(info->v1.devices[0].v1.core_count, 1);
    CHECK_EQ(ref.platform_free(w.log, info), 0);
    CHECK_EQ(ref.device_info(w.device, &info), 0);
    CHECK_EQ(ref.infrastructure(&infra), 0);
    CHECK_EQ(infra->type, 0);
    CHECK_EQ(infra->power_create(0, 0, &id), 0);
    CHECK_EQ(infra->power_create(0, 0, &second), 0);
    CHECK(id > 0x80000000u && second != id);
    CHECK_EQ(infra->power_create(9, 0, &second), Q_POWER_INPUT);
    memset(&dcvs, 0, sizeof(dcvs));
    memset(&polling, 0, sizeof(polling));
    dcvs.option = Q_POWER_DCVS_V3;
    dcvs.words[0] = id;
    dcvs.words[1] = 1;
    dcvs.words[3] = 0x10;
    dcvs.words[8] = dcvs.words[12] = 1;
    dcvs.words[9] = dcvs.words[10] = dcvs.words[11] = 0xA0;
    dcvs.words[13] = 0x60; dcvs.words[14] = 0x70; dcvs.words[15] = 0x80;
    polling.option = Q_POWER_RPC_POLLING;
    polling.words[0] = 9999;
    ref_ask("trace clear");
    ref_ask("trace on");
    CHECK_EQ(infra->power_set(id, list), 0);
    CHECK_STR(ref_ask("trace"), "setPowerConfig(");
    CHECK_STR(ref_ask("trace"), "1 160 160 160 1 96 112 128, 3: 9999) -> 0x0");
    ref_ask("trace off");
    ref_ask("trace clear");
    polling.words[0] = 10000;
    CHECK_EQ(infra->power_set(id, list), Q_POWER_INPUT);
    CHECK_STR(ref_lines, "polling time of 10000");
    polling.words[0] = 1;
    dcvs.words[14] = 0x61;
    CHECK_EQ(infra->power_set(id, list), Q_POWER_INPUT);
    dcvs.words[14] = 0x50;
    CHECK_EQ(infra->power_set(id, list), Q_POWER_INPUT);
    CHECK_STR(ref_lines, "do not ascend");
    dcvs.words[14] = 0x70;
    dcvs.words[3] = 3;
    CHECK_EQ(infra->power_set(id, list), Q_POWER_INPUT);
    dcvs.option = 77;
    CHECK_EQ(infra->power_set(id, list), Q_POWER_CONFIG);
    CHECK_EQ(infra->power_set(12345, list), Q_POWER_INPUT);
    CHECK_EQ(infra->memory_set(0, 0, memory), 0);
    CHECK_STR(ref_ask("ledger"), "power id");
    CHECK_EQ(infra->power_destroy(id), 0);
    CHECK_EQ(infra->power_destroy(id), Q_POWER_INPUT);
    CHECK_EQ(infra->power_destroy(second), 0);
    CHECK_EQ(infra->power_create(0xFFFFFFFFu, 0xFFFFFFFFu, &id), 0);
    CHECK_EQ(infra->power_destroy(id), 0);
    ref_begin("fail=setPowerConfig:2:0x32c9; fail=createPowerConfigId:13006");
    CHECK_EQ(infra->power_create(0, 0, &id), 13006);
    TRY(world_close(&w));
}

/* ---- profile, memory ------------------------------------------------------------------------ */

TEST(a_profile_holds_the_events_of_the_last_call)
{
    static const struct { uint32_t type; const char *name; } basic[] = {
        { 3004, "Accelerator (execute) time" }, { 400, "QNN (execute) time" }
    };
    q_extended_event extended;
    q_event event;
    const uint64_t *ids, *subs, *none;
    uint32_t count, level, i;
    q_handle profile, restored;
    unsigned char *data;
    uint64_t bytes, top;
    q_tensor x, y;
    world w;
    ref_begin("");
    TRY(world_open(&w));
    TRY(add_layer(w.graph, &x, &y));
    CHECK_EQ(ref.profile_create(w.backend, 9, &profile), Q_ARGUMENT);
    for (level = 1; level <= 2; ++level) {
        CHECK_EQ(ref.profile_create(w.backend, level, &profile), 0);
        CHECK_EQ(ref.profile_events(profile, &ids, &count), 0);
        CHECK_EQ(count, 0);
        if (level == 1) {
            CHECK_EQ(ref.finalize(w.graph, profile, NULL), 0);
            CHECK_EQ(ref.profile_events(profile, &ids, &count), 0);
            CHECK_EQ(count, 1);
            CHECK_EQ(ref.profile_data(ids[0], &event), 0);
            CHECK(event.type == 300 && event.unit == Q_UNIT_MICROSEC
                  && strcmp(event.name, "QNN (finalize) time") == 0);
        }
        x = with_data(x, input, sizeof(input));
        y = with_data(y, output, sizeof(output));
        CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, profile, NULL), 0);
        CHECK_EQ(ref.profile_events(profile, &ids, &count), 0);
        CHECK_EQ(count, 2);
        top = ids[0];
        for (i = 0; i < 2; ++i) {
            CHECK_EQ(ref.profile_data(ids[i], &event), 0);
            CHECK_EQ(event.type, basic[i].type);
            CHECK_EQ(strcmp(event.name, basic[i].name), 0);
            CHECK_EQ(ref.profile_extended(ids[i], &extended), 0);
            CHECK(extended.v1.type == event.type && extended.v1.u.value.u.u64 == event.value
                  && extended.v1.u.value.dtype == 0x164 && extended.v1.name == event.name);
        }
        CHECK_EQ(ref.profile_sub(top, &subs, &count), 0);
        CHECK_EQ(count, level == 1 ? 0 : 3);
        if (level == 2) {
            CHECK_EQ(ref.profile_sub(subs[0], &none, &count), 0);
            CHECK_EQ(count, 0);
            CHECK_EQ(ref.profile_data(subs[0], &event), 0);
            CHECK(event.type == 404 && strcmp(event.name, "matmul:OpId_0 (us)") == 0);
        }
        /* Later lists do not change this one. */
        CHECK_EQ(ids[0], top);
        CHECK_EQ(ref.profile_data(ids[1], &event), 0);
        CHECK_EQ(event.type, 400);
        CHECK_EQ(ref.profile_data(top + 100, &event), Q_PROFILE_HANDLE);
        data = save(w.context, &bytes);
        CHECK(data != NULL);
        CHECK_EQ(ref.load(w.backend, w.device, NULL, data, bytes, &restored, profile), 0);
        free(data);
        CHECK_EQ(ref.profile_events(profile, &ids, &count), 0);
        CHECK_EQ(count, 2);
        CHECK_EQ(ref.profile_data(ids[0], &event), 0);
        CHECK_EQ(event.type, 1004);
        CHECK_EQ(ref.context_free(restored, profile), 0);
        CHECK_EQ(ref.profile_events(profile, &ids, &count), 0);
        CHECK_EQ(ref.profile_data(ids[1], &event), 0);
        CHECK_EQ(event.type, 500);
        CHECK_EQ(ref.profile_free(profile), 0);
    }
    TRY(world_close(&w));
}

/* Make a shared memory whose name is unique. */
static int shared_memory(size_t bytes)
{
    char name[2048];
    int fd;
    snprintf(name, sizeof(name), "%s/shared", test_tmpdir());
    fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) abort();
    return fd;
}

TEST(registered_memory_is_used_in_place_and_checked)
{
    enum { X_AT = 4096, Y_AT = 8192, BYTES = 12288 };
    q_mem_htp places[2];
    q_mem_descriptor descriptors[2], one;
    q_handle mems[2], more, context;
    unsigned char *map;
    q_tensor x, y, t;
    world w;
    int fd;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    fd = shared_memory(BYTES);
    CHECK(fd >= 0);
    map = (unsigned char *)mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(map != MAP_FAILED);
    memset(places, 0, sizeof(places));
    memset(descriptors, 0, sizeof(descriptors));
    places[0].type = places[1].type = Q_HTP_MEM_SHARED_BUFFER;
    places[0].bytes = places[1].bytes = BYTES;
    places[0].shared.fd = places[1].shared.fd = fd;
    places[0].shared.offset = X_AT;
    places[1].shared.offset = Y_AT;
    descriptors[0].shape.rank = descriptors[1].shape.rank = 2;
    descriptors[0].shape.dims = dims_x;
    descriptors[1].shape.dims = dims_y;
    descriptors[0].dtype = descriptors[1].dtype = 0x232;
    descriptors[0].type = descriptors[1].type = Q_MEM_TYPE_CUSTOM;
    descriptors[0].u.custom = &places[0];
    descriptors[1].u.custom = &places[1];
    CHECK_EQ(ref.mem_register(w.context, descriptors, 2, mems), 0);
    memcpy(map + X_AT, input, sizeof(input));
    x.v.mem_type = y.v.mem_type = Q_MEM_MEMHANDLE;
    x.v.u.mem = mems[0];
    y.v.u.mem = mems[1];
    CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), 0);
    CHECK_EQ(memcmp(map + Y_AT, expected, sizeof(expected)), 0);

    t = x;
    /* Memory that was registered with another shape. */
    t.v.u.mem = mems[1];
    CHECK_EQ(ref.execute(w.graph, &t, 1, &y, 1, NULL, NULL), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "was registered as FLOAT_32 [2, 4], the tensor is FLOAT_32 [2, 8]");
    t.v.u.mem = NULL;
    CHECK_EQ(ref.execute(w.graph, &t, 1, &y, 1, NULL, NULL), Q_GRAPH_TENSOR);
    CHECK_EQ(ref.context_create(w.backend, w.device, NULL, &context), 0);
    CHECK_EQ(ref.mem_register(context, descriptors, 1, &more), 0);  /* in another context too */
    t.v.u.mem = more;
    CHECK_EQ(ref.execute(w.graph, &t, 1, &y, 1, NULL, NULL), Q_GRAPH_TENSOR);
    CHECK_STR(ref_lines, "was registered with context");
    CHECK_EQ(ref.mem_deregister(&more, 1), 0);
    CHECK_EQ(ref.context_free(context, NULL), 0);

    CHECK_EQ(ref.mem_register(w.context, descriptors, 1, &more), Q_MEM_REGISTERED);
    one = descriptors[0];
    /* the same bytes in another shape */
    one.shape.dims = dims_w;
    CHECK_EQ(ref.mem_register(w.context, &one, 1, &more), 0);
    CHECK_EQ(ref.mem_deregister(&more, 1), 0);
    CHECK_EQ(ref.mem_deregister(&more, 1), Q_MEM_HANDLE);
    places[0].shared.offset = BYTES - 32;
    CHECK_EQ(ref.mem_register(w.context, descriptors, 1, &more), Q_MEM_SHAPE);
    CHECK_STR(ref_lines, "64 bytes at offset 12256; the memory has 12288");
    places[0].shared.offset = UINT64_MAX - 8;
    CHECK_EQ(ref.mem_register(w.context, descriptors, 1, &more), Q_MEM_SHAPE);
    places[0].shared.offset = 2;
    CHECK_EQ(ref.mem_register(w.context, descriptors, 1, &more), Q_MEM_ARGUMENT);
    places[0].shared.fd = -1;
    CHECK_EQ(ref.mem_register(w.context, descriptors, 1, &more), Q_MEM_ARGUMENT);
    CHECK_STR(ref_lines, "not an open file descriptor");
    places[0].type = 0;
    CHECK_EQ(ref.mem_register(w.context, descriptors, 1, &more), Q_MEM_TYPE);
    one = descriptors[0];
    one.type = Q_MEM_TYPE_ION;
    one.u.ion_fd = fd;
    CHECK_EQ(ref.mem_register(w.context, &one, 1, &more), 0);
    CHECK_EQ(ref.mem_deregister(&more, 1), 0);
    one.type = Q_MEM_TYPE_DMA_BUF;
    one.u.dma.fd = fd;
    one.u.dma.data = map;
    CHECK_EQ(ref.mem_register(w.context, &one, 1, &more), 0);
    CHECK_EQ(ref.mem_deregister(&more, 1), 0);
    one.type = 9;
    CHECK_EQ(ref.mem_register(w.context, &one, 1, &more), Q_MEM_TYPE);

    /* the registration keeps its own mapping */
    close(fd);
    memset(map + Y_AT, 0, sizeof(expected));
    CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), 0);
    CHECK_EQ(memcmp(map + Y_AT, expected, sizeof(expected)), 0);
    CHECK_EQ(ref.mem_deregister(mems, 2), 0);
    munmap(map, BYTES);
    TRY(world_close(&w));
}

/* ---- faults --------------------------------------------------------------------------------- */

TEST(rules_that_are_no_rules_are_refused_loudly)
{
    static const char *const wrong[] = {
        "fial=graphExecute:1", "fail=graphExecute", "fail=noSuchCall:1", "fail=graphExecute:x",
            "fail=graphExecute:0:5",
        "fail=graphExecute:1:2:3", "null", "null=graphRetrieve:x", "delay=graphExecute:20",
            "delay=graphExecute:ms",
        "overwrite=contextFree", "restart=logCreate", "restart=noSuchCall", "core=2", "core=2.x", "providers=3",
            "info=v4", "tensors=v3",
        "counts=name", "pointers=all", "log_thread=kind", "keep_binary=2", "id=",
            "no_slot=graphexecute"
    };
    const q_core_provider **core;
    const q_system_provider **system;
    char answer[300];
    uint32_t count;
    size_t i;
    ref_begin("");
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        char command[200];
        snprintf(command, sizeof(command), "faults delay=graphExecute:1ms ;%s", wrong[i]);
        if (ref.control(command, answer, sizeof(answer)) != -1) printf("%s\n", wrong[i]);
        CHECK_EQ(ref.control(command, answer, sizeof(answer)), -1);
        CHECK_STR(answer, wrong[i]);
    }
    CHECK_EQ(ref.control("nonsense", answer, sizeof(answer)), -1);
    CHECK_EQ(ref.control(NULL, NULL, 0), -1);

    {
        int keep = dup(2), null = open("/dev/null", O_WRONLY);
        q_code core_code, system_code;
        setenv("QNNREF_FAULTS", "surprise=1", 1);
        fflush(stderr);
        dup2(null, 2);
        core_code = ref.get_core(&core, &count);
        system_code = ref.get_system(&system, &count);
        dup2(keep, 2);
        close(keep);
        close(null);
        CHECK_EQ(core_code, Q_ARGUMENT);
        CHECK_EQ(system_code, Q_ARGUMENT);
    }
    setenv("QNNREF_FAULTS", "core=2.30", 1);
    CHECK_EQ(ref.get_core(&core, &count), 0);
    CHECK_EQ(core[0]->api.core.minor, 30);
    unsetenv("QNNREF_FAULTS");
    ref_begin("");
    CHECK_EQ(ref.get_core(&core, &count), 0);
    CHECK_EQ(core[0]->api.core.minor, 40);
    CHECK_EQ(ref.get_core(NULL, &count), Q_ARGUMENT);
    CHECK_EQ(ref.get_core(&core, NULL), Q_ARGUMENT);
}

TEST(versions_slots_and_providers_are_as_told)
{
    static const struct { unsigned minor; int slots, system_minor, system_slots; } versions[] = {
        { 40, 72, 12, 27 }, { 36, 71, 11, 16 }, { 32, 71, 7, 16 }, { 29, 69, 5, 16 },
            { 23, 64, 2, 4 }, { 17, 59, 2, 4 }
    };
    const q_core_provider **core;
    const q_system_provider **system;
    const char *build;
    q_versions api;
    uint32_t count;
    char rules[64];
    size_t i;
    int k;
    for (i = 0; i < sizeof(versions) / sizeof(versions[0]); ++i) {
        snprintf(rules, sizeof(rules), "core=2.%u", versions[i].minor);
        ref_begin(rules);
        CHECK_EQ(ref.get_core(&core, &count), 0);
        CHECK_EQ(count, 1);
        CHECK_EQ(core[0]->api.core.minor, versions[i].minor);
        CHECK_EQ(core[0]->backend_id, 0x524546);
        CHECK_EQ(strcmp(core[0]->name, "REF_QNNRT"), 0);
        for (k = 0; k < Q_CORE_SLOTS; ++k) CHECK((core[0]->slots[k] != NULL) == (k <
        versions[i].slots)); CHECK_EQ(ref.get_system(&system, &count), 0);
        CHECK_EQ(system[0]->api.major, 1);
        CHECK_EQ(system[0]->api.minor, versions[i].system_minor);
        for (k = 0; k < Q_SYSTEM_SLOTS; ++k) CHECK((system[0]->slots[k] != NULL) == (k <
        versions[i].system_slots)); CHECK_EQ(ref.api_version(&api), 0);
        CHECK_EQ(api.core.minor, versions[i].minor);
    }
    ref_begin("no_slot=graphRetrieve; no_slot=systemContextFree;build=v2.99.1;id=6;name=null");
    CHECK_EQ(ref.get_core(&core, &count), 0);
    CHECK(core[0]->slots[20] == NULL && core[0]->slots[21] != NULL && core[0]->name == NULL
          && core[0]->backend_id == 6);
    CHECK_EQ(ref.get_system(&system, &count), 0);
    CHECK(system[0]->slots[3] == NULL && system[0]->slots[2] != NULL);
    CHECK_EQ(ref.build_id(&build), 0);
    CHECK_EQ(strcmp(build, "v2.99.1"), 0);
    ref_begin("build=null");
    CHECK_EQ(ref.build_id(&build), 0);
    CHECK(build == NULL);
    ref_begin("");
    CHECK_EQ(ref.control("faults providers=0; system_providers=2", NULL, 0), 0);
    CHECK_EQ(ref.get_core(&core, &count), 0);
    CHECK_EQ(count, 0);
    CHECK_EQ(ref.get_system(&system, &count), 0);
    CHECK_EQ(count, 2);
    CHECK(system[0]->api.major == 3 && system[1]->api.major == 1);
    CHECK_EQ(ref.control("faults providers=null; system_providers=null", NULL, 0), 0);
    CHECK_EQ(ref.get_core(&core, &count), 0);
    CHECK(core == NULL && count == 1);
    CHECK_EQ(ref.get_system(&system, &count), 0);
    CHECK(system == NULL && count == 1);
    ref_begin("");
}

TEST(calls_fail_at_their_nth_time_or_give_nothing)
{
    q_tensor x, y;
    q_handle out, context;
    world w;
    int i;
    ref_begin("fail=graphExecute:3:0x1770; null=contextCreate:2; fail=contextFree:2:0x138a; "
              "fail=logCreate:2:1003");
    TRY(world_build(&w, &x, &y));
    x = with_data(x, input, sizeof(input));
    y = with_data(y, output, sizeof(output));
    for (i = 1; i <= 5; ++i)
        CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), i == 3 ? 0x1770 : 0);
    CHECK_STR(ref_lines, "graphExecute: fails on demand with 0x1770");
    out = (q_handle)&w;
    CHECK_EQ(ref.context_create(w.backend, NULL, NULL, &out), 0);
    CHECK(out == NULL);
    out = NULL;
    CHECK_EQ(ref.log_create(ref_logged, 1, &out), 1003);
    /* the handle is bogus: calls that use it fail */
    CHECK(out != NULL);
    CHECK_EQ(ref.log_free(out), Q_LOG_HANDLE);
    CHECK_EQ(ref.context_create(w.backend, NULL, NULL, &context), 0);
    CHECK_EQ(ref.context_free(context, NULL), 0);
    /* The call that failed has freed all of them. */
    CHECK_EQ(ref.context_free(w.context, NULL), 0x138a);
    w.context = NULL;
    TRY(world_close(&w));
}

TEST(metadata_lies_on_demand)
{
    static const char *const rules[] = { "counts=graphs", "counts=inputs", "pointers=graphs",
                                         "pointers=inputs", "pointers=name" };
    const q_binary_info *info;
    unsigned char *data;
    uint64_t bytes;
    q_tensor x, y;
    q_handle system;
    world w;
    size_t i;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    data = save(w.context, &bytes);
    CHECK(data != NULL);
    CHECK_EQ(ref.system_create(&system), 0);
    for (i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i) {
        ref_begin(rules[i]);
        CHECK_EQ(ref.metadata(system, data, bytes, &info), 0);
        CHECK((info->u.v3.graph_count == Q_UNDEFINED) == (i == 0));
        CHECK((info->u.v3.graphs == NULL) == (i == 2));
        if (i == 2) continue;
        CHECK((info->u.v3.graphs[0].v.input_count == Q_UNDEFINED) == (i == 1));
        CHECK((info->u.v3.graphs[0].v.inputs == NULL) == (i == 3));
        CHECK((info->u.v3.graphs[0].v.name == NULL) == (i == 4));
    }
    ref_begin("null=systemContextGetMetaData");
    CHECK_EQ(ref.metadata(system, data, bytes, &info), 0);
    CHECK(info == NULL);
    ref_begin("");
    CHECK_EQ(ref.system_free(system), 0);
    free(data);
    TRY(world_close(&w));
}

TEST(an_execute_that_gives_nothing_computes_nothing)
{
    float room[8], before[8];
    q_tensor x, y;
    world w;
    ref_begin("null=graphExecute:1");
    TRY(world_build(&w, &x, &y));
    CHECK(sizeof(output) <= sizeof(room));
    x = with_data(x, input, sizeof(input));
    y = with_data(y, room, sizeof(output));
    memset(room, 0x11, sizeof(room));
    memcpy(before, room, sizeof(room));
    CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), 0);
    CHECK_EQ(memcmp(room, before, sizeof(room)), 0);
    CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), 0);
    CHECK_EQ(memcmp(room, expected, sizeof(expected)), 0);
    TRY(world_close(&w));
}

TEST(an_execute_is_late_or_writes_too_far_on_demand)
{
    unsigned long long delayed;
    float room[9];
    unsigned char before;
    q_tensor x, y;
    world w;
    ref_begin("delay=graphExecute:1:30ms; overwrite=graphExecute:2");
    TRY(world_build(&w, &x, &y));
    x = with_data(x, input, sizeof(input));
    y = with_data(y, room, sizeof(output));
    memset(room, 0x11, sizeof(room));
    before = ((unsigned char *)room)[sizeof(output)];
    delayed = ref_delayed_ms();
    CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), 0);
    CHECK_EQ(ref_delayed_ms() - delayed, 30);
    CHECK_EQ(((unsigned char *)room)[sizeof(output)], before);
    CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), 0);
    CHECK(((unsigned char *)room)[sizeof(output)] != before);
    CHECK_EQ(memcmp(room, expected, sizeof(expected)), 0);
    TRY(world_close(&w));
}

static unsigned hostile_lines;
static void count_lines(const char *format, uint32_t level, uint64_t time, va_list args)
{
    char text[8192];
    (void)level; (void)time;
    vsnprintf(text, sizeof(text), format, args);
    hostile_lines += strstr(text, "%1000000d") != NULL;
}

TEST(hostile_lines_come_from_another_thread_and_after_the_end)
{
    q_tensor x, y;
    q_handle log;
    world w;
    ref_begin("log_thread=hostile; log_late=1");
    TRY(world_build(&w, &x, &y));
    CHECK_EQ(ref.log_create(count_lines, 1, &log), 0);
    TRY(run_layer(w.graph, x, y));
    CHECK_EQ(hostile_lines, 1);
    CHECK_EQ(ref.log_free(log), 0);
    CHECK_EQ(hostile_lines, 2);
    TRY(world_close(&w));
}

TEST(a_kept_binary_is_missed_when_it_changes_or_goes)
{
    unsigned char *data, *map;
    uint64_t bytes;
    q_handle context, graph;
    q_tensor x, y;
    world w;
    int round;
    ref_begin("keep_binary=1");
    TRY(world_build(&w, &x, &y));
    data = save(w.context, &bytes);
    CHECK(data != NULL);
    for (round = 0; round < 2; ++round) {
        int fd = shared_memory((size_t)bytes);
        CHECK(fd >= 0);
        map = (unsigned char *)mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(map != MAP_FAILED);
        close(fd);
        memcpy(map, data, (size_t)bytes);
        CHECK_EQ(ref.load(w.backend, NULL, NULL, map, bytes, &context, NULL), 0);
        CHECK_EQ(ref.retrieve(context, "main", &graph), 0);
        TRY(run_layer(graph, x, y));
        if (round == 0) map[bytes - 1] ^= 1;
        else munmap(map, (size_t)bytes);
        x = with_data(x, input, sizeof(input));
        y = with_data(y, output, sizeof(output));
        CHECK_EQ(ref.execute(graph, &x, 1, &y, 1, NULL, NULL), Q_GRAPH_HANDLE);
        CHECK_STR(ref_lines, "has changed or is gone");
        CHECK_EQ(ref.context_free(context, NULL), 0);
        if (round == 0) munmap(map, (size_t)bytes);
    }
    free(data);
    TRY(world_close(&w));
}

TEST(a_restart_kills_every_handle_until_it_is_made_again)
{
    q_tensor x, y;
    q_handle out;
    uint64_t bytes;
    world w;
    int round;
    ref_begin("restart=graphExecute:2");
    for (round = 0; round < 2; ++round) {
        TRY(world_build(&w, &x, &y));
        TRY(run_layer(w.graph, x, y));
        if (round == 1) {
            TRY(world_close(&w));
            continue;
        }
        x = with_data(x, input, sizeof(input));
        y = with_data(y, output, sizeof(output));
        CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), Q_DEVICE_LOST);
        CHECK_STR(ref_lines, "the subsystem restarted while graph \"main\" was executing");
        CHECK_EQ(ref.execute(w.graph, &x, 1, &y, 1, NULL, NULL), Q_DEVICE_LOST);
        CHECK_EQ(ref.binary_size(w.context, &bytes), Q_DEVICE_LOST);
        CHECK_EQ(ref.context_create(w.backend, NULL, NULL, &out), Q_DEVICE_LOST);
        CHECK_STR(ref_lines, "free all and create again");
        TRY(world_close(&w));                                    /* calls that free still work */
    }
}

/* Load data with the custom config of a spill-fill group. */
static q_code load_grouped(const world *w, const unsigned char *data, uint64_t bytes,
                           q_handle first, uint64_t group_bytes, q_handle *out)
{
    q_htp_config custom;
    q_config config;
    const q_config *configs[2] = { &config, NULL };
    memset(&custom, 0, sizeof(custom));
    memset(&config, 0, sizeof(config));
    custom.option = Q_HTP_MULTI_CONTEXTS;
    custom.group.first = first;
    custom.group.bytes = group_bytes;
    config.u.custom = &custom;
    return ref.load(w->backend, w->device, configs, data, bytes, out, NULL);
}

TEST(a_restart_comes_with_a_load_and_with_a_free)
{
    q_tensor x, y;
    q_handle loaded = NULL;
    uint64_t bytes;
    unsigned char *data;
    world w;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    data = save(w.context, &bytes);
    CHECK(data != NULL);
    ref_begin("restart=contextCreateFromBinary:2");
    CHECK_EQ(ref.load(w.backend, w.device, NULL, data, bytes, &loaded, NULL), 0);
    CHECK_EQ(ref.context_free(loaded, NULL), 0);
    CHECK_EQ(ref.load(w.backend, w.device, NULL, data, bytes, &loaded, NULL), Q_DEVICE_LOST);
    CHECK_EQ(ref.load(w.backend, w.device, NULL, data, bytes, &loaded, NULL), Q_DEVICE_LOST);
    TRY(world_close(&w));
    TRY(world_build(&w, &x, &y));
    ref_begin("restart=contextFree:1");
    CHECK_EQ(ref.load(w.backend, w.device, NULL, data, bytes, &loaded, NULL), 0);
    /* The object is freed nevertheless. */
    CHECK_EQ(ref.context_free(loaded, NULL), Q_DEVICE_LOST);
    TRY(world_close(&w));
    free(data);
}

TEST(a_spill_fill_group_is_traced_and_checked)
{
    q_tensor x, y;
    q_handle first = NULL, second = NULL, other = NULL;
    uint64_t bytes;
    unsigned char *data;
    world w;
    ref_begin("");
    TRY(world_build(&w, &x, &y));
    data = save(w.context, &bytes);
    CHECK(data != NULL);
    ref_ask("trace clear");
    ref_ask("trace on");
    CHECK_EQ(load_grouped(&w, data, bytes, NULL, 4096, &first), 0);
    CHECK_EQ(load_grouped(&w, data, bytes, first, 4096, &second), 0);
    ref_ask("trace off");
    CHECK_STR(ref_ask("trace"), "spill-fill group of NULL with 4096 bytes) -> 0x0 context ");
    CHECK_STR(ref_ask("trace"), "spill-fill group of context ");
    CHECK_EQ(load_grouped(&w, data, bytes, second, 4096, &other), Q_CONTEXT_CONFIG);
    CHECK_EQ(load_grouped(&w, data, bytes, first, 8192, &other), Q_CONTEXT_CONFIG);
    CHECK_EQ(load_grouped(&w, data, bytes, w.graph, 4096, &other), Q_CONTEXT_CONFIG);
    CHECK_EQ(ref.context_free(first, NULL), 0);
    CHECK_STR(ref_lines, "of its spill-fill group");
    CHECK_EQ(ref.context_free(second, NULL), 0);
    CHECK_STR(ref_ask("ledger"), "of its spill-fill group");     /* a misuse stays in the report */
    CHECK_EQ(ref.context_free(w.context, NULL), 0);
    CHECK_EQ(ref.device_free(w.device), 0);
    CHECK_EQ(ref.backend_free(w.backend), 0);
    CHECK_EQ(ref.log_free(w.log), 0);
    free(data);
}

TEST(a_trace_has_a_line_per_call)
{
    q_tensor x, y;
    world w;
    ref_begin("");
    ref_ask("trace clear");
    ref_ask("trace on");
    TRY(world_open(&w));
    TRY(add_layer(w.graph, &x, &y));
    CHECK_EQ(ref.finalize(w.backend, NULL, NULL), Q_GRAPH_HANDLE);
    TRY(world_close(&w));
    ref_ask("trace off");
    CHECK_STR(ref_ask("trace"), ", main, 0 configs) -> 0x0 graph ");
    CHECK_STR(ref_ask("trace"), "MatMul matmul) -> 0x0\ngraphAddNode(");
    CHECK_STR(ref_ask("trace"), ", NULL) -> 0x1771\ncontextFree(context ");
    CHECK_STR(ref_ask("trace"), "\nlogFree(log ");
    ref_ask("trace clear");
    CHECK_EQ(ref_ask("trace")[0], '\0');
}

TEST_MAIN("ref")
{
    fill_data();
    ref_open();
    RUN(a_strict_ledger_ends_a_process_that_leaves_things_behind);
    RUN(a_graph_is_built_run_saved_restored_and_gives_the_same_bytes);
    RUN(two_builds_give_equal_binaries_and_equal_weights_are_stored_once);
    RUN(an_execute_allocates_nothing);
    RUN(dims_of_a_call_are_computed_and_those_of_outputs_told);
    RUN(dynamic_dims_that_no_input_decides_are_refused);
    RUN(optional_inputs_may_be_left_out_where_the_operator_allows);
    RUN(updateable_data_is_replaced_and_other_updates_are_refused);
    RUN(tensors_are_refused_with_the_reason);
    RUN(nodes_are_refused_with_the_reason);
    RUN(a_validation_does_not_copy_static_data);
    RUN(a_graph_that_cannot_run_is_not_finalized);
    RUN(calls_in_the_wrong_order_are_told_in_words);
    RUN(nodes_may_come_in_any_order);
    RUN(every_encoding_becomes_the_same_numbers);
    RUN(an_execute_checks_what_it_is_given);
    RUN(threads_may_execute_one_graph_and_several);
    RUN(a_binary_cut_short_at_every_byte_is_refused);
    RUN(a_binary_of_megabytes_is_refused_in_a_moment);
    RUN(values_of_blocks_in_a_binary_are_read_once_and_within_their_blob);
    RUN(intermediate_tensors_are_placed_by_first_fit);
    RUN(many_tensors_are_placed_in_few_steps);
    RUN(outputs_may_overlap_inputs_and_not_each_other);
    RUN(products_read_halves_where_a_cast_serves_them_alone);
    RUN(fifty_thousand_flips_do_no_harm);
    RUN(flips_of_dynamic_dims_do_no_harm);
    RUN(binaries_of_others_are_refused_by_name);
    RUN(metadata_tells_what_the_graphs_are_in_every_struct_version);
    RUN(a_short_buffer_gets_no_binary);
    RUN(unknown_freed_and_foreign_handles_are_refused);
    RUN(configs_that_are_known_are_taken_and_others_refused);
    RUN(properties_say_what_the_calls_do);
    RUN(a_device_and_its_power_are_there);
    RUN(a_profile_holds_the_events_of_the_last_call);
    RUN(registered_memory_is_used_in_place_and_checked);
    RUN(rules_that_are_no_rules_are_refused_loudly);
    RUN(versions_slots_and_providers_are_as_told);
    RUN(calls_fail_at_their_nth_time_or_give_nothing);
    RUN(metadata_lies_on_demand);
    RUN(an_execute_that_gives_nothing_computes_nothing);
    RUN(an_execute_is_late_or_writes_too_far_on_demand);
    RUN(hostile_lines_come_from_another_thread_and_after_the_end);
    RUN(a_kept_binary_is_missed_when_it_changes_or_goes);
    RUN(a_restart_kills_every_handle_until_it_is_made_again);
    RUN(a_restart_comes_with_a_load_and_with_a_free);
    RUN(a_trace_has_a_line_per_call);
    RUN(a_spill_fill_group_is_traced_and_checked);    /* the last one: its misuse stays in the ledger */
}
