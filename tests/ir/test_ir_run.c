/* test_ir_run.c - qnnrt_ir.h: whole graphs on the host

   Two graphs are compared with what PyTorch computes: tests/data/ir/torch_*.npz has their weights, inputs and
   outputs. Other graphs in this file are written with ' instead of ". */
#include "qnnrt_ir_passes.h"
#include "counted.h"
#include "test.h"
#include <math.h>
#include "ir_graph.h"

static qnnrt_error err;

static qnnrt_ir *graph(const char *text)
{
    return ir_graph(text, NULL, &err);
}

static qnnrt_result run(qnnrt_ir *ir, const qnnrt_ir_run_desc *desc, const void *const *inputs, void *const *outputs)
{
    TEST_JUNK(err);
    return qnnrt_ir_run(ir, desc, inputs, outputs, &err);
}

/* ---- files of numpy ---- */

static unsigned long little(const unsigned char *at, int bytes)
{
    unsigned long x = 0;
    while (bytes-- > 0) x = x << 8 | at[bytes];
    return x;
}

/* Return the elements of an array in an .npz without compression, NULL if it is not there. */
static const void *array(const unsigned char *file, size_t size, const char *name, size_t *bytes)
{
    size_t at;
    for (at = 0; at + 46 < size; ++at) {
        const unsigned char *entry = file + at, *npy;
        const size_t length = little(entry + 28, 2);
        size_t head;
        if (memcmp(entry, "PK\1\2", 4) != 0 || length != strlen(name) + 4 ||
            memcmp(entry + 46, name, length - 4) != 0) continue;
        npy = file + little(entry + 42, 4);
        npy += 30 + little(npy + 26, 2) + little(npy + 28, 2);
        head = 10 + little(npy + 8, 2);
        if (memcmp(npy, "\x93NUMPY", 6) != 0 || little(entry + 10, 2) != 0) abort();
        *bytes = little(entry + 24, 4) - head;
        return npy + head;
    }
    return NULL;
}

typedef struct { unsigned char *data; size_t size; } npz;

static qnnrt_result load_array(void *user, const qnnrt_ir_value *weight, void *data, qnnrt_error *e)
{
    const npz *file = (const npz *)user;
    char name[200];
    size_t bytes;
    const void *from;
    (void)e;
    snprintf(name, sizeof name, "sd/%s", weight->key);
    from = array(file->data, file->size, name, &bytes);
    if (from == NULL || bytes != weight->count * qnnrt_ir_dtype_bytes(weight->dtype)) return QNNRT_E_IO;
    memcpy(data, from, bytes);
    return QNNRT_OK;
}

/* Run a graph on the inputs of an .npz. Return the largest difference from its output, in parts of the largest
   element. */
static double differs(const char *stem, int passes)
{
    char path[100];
    size_t bytes = 0, i;
    qnnrt_ir *ir = ir_file(stem, &err);
    qnnrt_ir_run_desc desc;
    const void *in[4] = { NULL, NULL, NULL, NULL };
    void *copies[4] = { NULL, NULL, NULL, NULL }, *out[1];
    const float *expected;
    double most = 0, largest = 0;
    npz file;
    snprintf(path, sizeof path, "tests/data/ir/%s.npz", stem);
    file.data = (unsigned char *)test_read_file(path, &file.size);
    if (ir == NULL || file.data == NULL) abort();
    for (i = 0; i < ir->input_count; ++i) {
        const void *from;
        snprintf(path, sizeof path, "in/%lu", (unsigned long)i);
        from = array(file.data, file.size, path, &bytes);
        if (from == NULL || (copies[i] = malloc(bytes)) == NULL) abort();
        memcpy(copies[i], from, bytes);
        in[i] = copies[i];
    }
    expected = (const float *)array(file.data, file.size, "out/0", &bytes);
    out[0] = malloc(bytes);
    if (expected == NULL || out[0] == NULL || ir->output_count != 1 || bytes != ir->outputs[0]->count * 4) abort();
    memset(&desc, 0, sizeof(desc));
    desc.load = load_array;
    desc.load_user = &file;
    if (passes && (qnnrt_ir_pass_noops(ir, &err) != QNNRT_OK || qnnrt_ir_fold(ir, 0, NULL, &err) != QNNRT_OK ||
                   qnnrt_ir_pass_rms_norm(ir, &err) != QNNRT_OK || qnnrt_ir_pass_silu(ir, &err) != QNNRT_OK ||
                   qnnrt_ir_pass_matmul_transpose(ir, &err) != QNNRT_OK)) abort();
    if (run(ir, &desc, in, out) != QNNRT_OK) { printf("    %s\n", err.text); most = HUGE_VAL; }
    for (i = 0; i < bytes / 4 && most < HUGE_VAL; ++i) {
        float a, b;
        memcpy(&a, (const float *)out[0] + i, 4);
        memcpy(&b, expected + i, 4);
        if (fabs((double)b) > largest) largest = fabs((double)b);
        if (!(fabs((double)a - (double)b) <= most)) most = fabs((double)a - (double)b);
    }
    for (i = 0; i < 4; ++i) free(copies[i]);
    free(out[0]);
    free(file.data);
    qnnrt_ir_free(ir);
    return most / largest;
}

TEST(ir_run_computes_what_pytorch_computes)
{
    CHECK(differs("torch_cnn", 0) < 1e-6);
    CHECK(differs("torch_cnn", 1) < 1e-6);
    CHECK(differs("torch_llama", 0) < 1e-6);
    CHECK(differs("torch_llama", 1) < 1e-6);
}

/* ---- weights ---- */

static char events[400];
static size_t held, peak;

static void *sized_alloc(void *user, size_t bytes)
{
    size_t *data = (size_t *)malloc(bytes + 16);
    (void)user;
    if (data == NULL) abort();
    data[0] = bytes;
    held += bytes;
    if (held > peak) peak = held;
    return data + 2;
}

static void sized_free(void *user, void *data)
{
    (void)user;
    if (data == NULL) return;
    held -= ((size_t *)data)[-2];
    free((size_t *)data - 2);
}

/* Fill a weight with its number of elements; "bad" cannot be loaded. */
static qnnrt_result load_count(void *user, const qnnrt_ir_value *weight, void *data, qnnrt_error *e)
{
    uint64_t i;
    (void)user;
    if (strcmp(weight->key, "bad") == 0) {
        snprintf(e->text, sizeof e->text, "cannot read bad");
        return e->code = QNNRT_E_IO;
    }
    strcat(strcat(events, "load "), weight->key);
    strcat(events, " ");
    for (i = 0; i < weight->count; ++i) ((float *)data)[i] = (float)weight->count;
    return QNNRT_OK;
}

static qnnrt_result watch_name(void *user, const qnnrt_ir_node *node, size_t output, const void *data, qnnrt_error *e)
{
    const char *stop = (const char *)user;
    float f;
    if (node->outputs[output]->count == 0) return QNNRT_OK;
    memcpy(&f, data, 4);
    snprintf(events + strlen(events), 60, "%s=%g ", node->outputs[output]->name, (double)f);
    if (stop == NULL || strcmp(stop, node->name) != 0) return QNNRT_OK;
    snprintf(e->text, sizeof e->text, "stopped at %s", node->name);
    return e->code = QNNRT_E_STATE;
}

#define TWO_WEIGHTS \
    GRAPH(F("x", "1000"), F("d", "1000") ", " F("w2", "1000"), F("w1", "1000") ", " F("w2", "1000"), \
          NODE("a", "add.Tensor", F("x", "1000") ", " F("w1", "1000"), F("a", "1000"), "") ", " \
          NODE("b", "add.Tensor", F("a", "1000") ", " F("w1", "1000"), F("b", "1000"), "") ", " \
          NODE("c", "mul.Tensor", F("b", "1000") ", " F("w2", "1000"), F("c", "1000"), "") ", " \
          NODE("d", "neg.default", F("c", "1000"), F("d", "1000"), "")) "}"

TEST(ir_run_loads_weights_for_their_readers)
{
    qnnrt_ir *ir = graph(TWO_WEIGHTS);
    static float x[1000], d[1000], w2[1000], given[1000];
    const void *in[1] = { x };
    void *out[2] = { d, w2 };
    qnnrt_ir_run_desc desc;
    qnnrt_ir_value *second;
    CHECK(ir != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = sized_alloc;
    desc.hooks.free = sized_free;
    desc.load = load_count;
    desc.watch = watch_name;
    events[0] = '\0';
    held = peak = 0;
    CHECK_EQ(run(ir, &desc, in, out), QNNRT_OK);
    CHECK_EQ(err.code, QNNRT_OK);
    CHECK(strcmp(events, "load w1 a=1000 b=2000 load w2 c=2e+06 d=-2e+06 ") == 0);
    CHECK(d[999] <= -2e6f && w2[0] >= 1000);
    CHECK_EQ(held, 0);
    /* Data that a weight has is not loaded. Outputs that are not wanted load nothing. */
    second = ir->outputs[1];
    given[0] = 3;
    second->data = given;
    out[1] = NULL;
    events[0] = '\0';
    CHECK_EQ(run(ir, &desc, in, out), QNNRT_OK);
    CHECK(strcmp(events, "load w1 a=1000 b=2000 c=6000 d=-6000 ") == 0);
    CHECK_EQ(held, 0);
    desc.watch_user = (void *)"b";
    CHECK_EQ(run(ir, &desc, in, out), QNNRT_E_STATE);
    CHECK_STR(err.text, "stopped at b");
    CHECK_EQ(held, 0);
    desc.load = NULL;
    CHECK_EQ(run(ir, &desc, in, out), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"w1\"");
    in[0] = NULL;
    CHECK_EQ(run(ir, &desc, in, out), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"x\"");
    CHECK_EQ(held, 0);
    CHECK_EQ(run(ir, NULL, NULL, out), QNNRT_E_ARG);
    CHECK_EQ(run(ir, NULL, in, NULL), QNNRT_E_ARG);
    CHECK_EQ(run(NULL, NULL, in, out), QNNRT_E_ARG);
    qnnrt_ir_free(ir);
}

TEST(ir_run_holds_one_weight_at_a_time)
{
    /* 6 products of 64 x 64 matrices: the peak is that of one product. */
    char text[6000] = "{'graph_inputs': [" F("x0", "64, 64") "], 'graph_outputs': [" F("x6", "64, 64") "], 'weights': [";
    qnnrt_ir *ir;
    qnnrt_ir_run_desc desc;
    static float x[4096], y[4096];
    const void *in[1] = { x };
    void *out[1] = { y };
    size_t used, one = 0;
    int i, last;
    for (i = 0; i < 6; ++i)
        snprintf(text + strlen(text), 100, "%s{'name': 'w%d', 'shape': [64, 64], 'dtype': 'float32'}", i ? ", " : "", i);
    strcat(text, "], 'nodes': [");
    for (i = 0; i < 6; ++i)
        snprintf(text + strlen(text), 500, "%s{'name': 'x%d', 'op_type': 'aten.mm.default', 'inputs': [{'name': 'x%d', 'shape': "
                 "[64, 64], 'dtype': 'float32'}, {'name': 'w%d', 'shape': [64, 64], 'dtype': 'float32'}], 'outputs': [{'name': "
                 "'x%d', 'shape': [64, 64], 'dtype': 'float32'}]}", i ? ", " : "", i + 1, i, i, i + 1);
    used = strlen(text);
    for (last = 1; last >= 0; --last) {
        memcpy(strstr(text, last ? "'x6'" : "'x1'"), last ? "'x1'" : "'x6'", 4);
        strcpy(text + used, "]}");
        ir = graph(text);
        CHECK(ir != NULL);
        memset(&desc, 0, sizeof(desc));
        desc.hooks.alloc = sized_alloc;
        desc.hooks.free = sized_free;
        desc.load = load_count;
        events[0] = '\0';
        held = peak = 0;
        CHECK_EQ(run(ir, &desc, in, out), QNNRT_OK);
        CHECK_EQ(held, 0);
        if (last) one = peak;
        else CHECK(peak < one + 2 * 16384);
        qnnrt_ir_free(ir);
    }
}

/* ---- values ---- */

TEST(ir_run_overwrites_inputs_as_pytorch_does)
{
    /* relu_(x) and add_(b, b) change what later nodes read, the graph's input excepted. */
    qnnrt_ir *ir = graph(GRAPH(F("x", "2"), F("z", "2") ", " F("y", "2"), "",
        NODE("b", "neg.default", F("x", "2"), F("b", "2"), "") ", "
        NODE("r", "relu_.default", F("b", "2"), F("r", "2"), "") ", "
        NODE("s", "add_.Tensor", F("b", "2") ", " F("x", "2"), F("s", "2"), "") ", "
        NODE("y", "mul.Tensor", F("r", "2") ", " F("x", "2"), F("y", "2"), "") ", "
        NODE("z", "add.Tensor", F("b", "2") ", " F("y", "2"), F("z", "2"), "")) "}");
    const float x[2] = { 3, -5 };
    float y[2], z[2];
    const void *in[1] = { x };
    void *out[2] = { z, y };
    int again;
    CHECK(ir != NULL);
    for (again = 0; again < 2; ++again) {
        CHECK_EQ(run(ir, NULL, in, out), QNNRT_OK);              /* b = max(-x, 0) + x, y = b * x, z = b + y */
        CHECK(y[0] >= 9 && y[0] <= 9 && y[1] >= 0 && y[1] <= 0);
        CHECK(z[0] >= 12 && z[0] <= 12 && z[1] >= 0 && z[1] <= 0);
    }
    CHECK(x[1] <= -5);
    qnnrt_ir_free(ir);
}

TEST(ir_run_gives_every_kind_of_output)
{
    /* outputs: an input, a constant, a node twice, an empty value, indices of a node whose values nobody reads */
    qnnrt_ir *ir = graph(GRAPH(F("x", "3") ", " F("none", "0"), F("x", "3") ", " V("c_k", "int64", "2") ", " F("y", "3") ", "
                               F("y", "3") ", " F("e", "0") ", " V("m_1", "int64", ""), "",
        NODE("y", "neg.default", F("x", "3"), F("y", "3"), "") ", "
        NODE("e", "neg.default", F("none", "0"), F("e", "0"), "") ", "
        NODE("m", "max.dim", F("x", "3"), F("m_0", "") ", " V("m_1", "int64", ""), "'dim': 0"))
        ", 'weight_name_mapping': {'c_k': 'k'}, 'constants': {'k': {'data': [7, 8], 'dtype': 'int64'}}}");
    const float x[3] = { 1, 9, 4 };
    const void *in[2] = { x, NULL };
    float same[3], y[3], again[3];
    int64_t k[2], best = 0;
    void *out[6];
    CHECK(ir != NULL);
    out[0] = same;
    out[1] = k;
    out[2] = y;
    out[3] = again;
    out[4] = &best;
    out[5] = &best;
    CHECK_EQ(run(ir, NULL, in, out), QNNRT_OK);
    CHECK(memcmp(x, same, sizeof(x)) == 0 && memcmp(y, again, sizeof(y)) == 0);
    CHECK(k[1] == 8 && best == 1 && y[2] <= -4 && y[2] >= -4);
    qnnrt_ir_free(ir);
}

TEST(ir_run_can_keep_narrow_floats_wide)
{
    /* y = (x + w) * 3 in bfloat16, with a weight of 1 + 2^-7: x is 2^-9, which bfloat16 loses. */
    qnnrt_ir *ir = graph(GRAPH(V("x", "bfloat16", "2"), V("y", "bfloat16", "2") ", " V("w", "bfloat16", "2"),
                               V("w", "bfloat16", "2"),
        NODE("s", "add.Tensor", V("x", "bfloat16", "2") ", " V("w", "bfloat16", "2"), V("s", "bfloat16", "2"), "") ", "
        NODE("y", "mul.Tensor", V("s", "bfloat16", "2"), V("y", "bfloat16", "2"), "'other': 3")) "}");
    static const uint16_t w[2] = { 0x3F81, 0x3F81 }, narrow[2] = { 0x3B00, 0x3B00 };
    static const float plain[2] = { 0.001953125f, 0.001953125f };
    const void *in[1] = { narrow };
    uint16_t rounded[2], same[2];
    float exact[2];
    void *out[2];
    qnnrt_ir_run_desc desc;
    CHECK(ir != NULL);
    ir->outputs[1]->data = w;
    out[0] = rounded;
    out[1] = same;
    memset(&desc, 0, sizeof(desc));
    CHECK_EQ(qnnrt_ir_run_dtype(NULL, ir->outputs[0]), QNNRT_DTYPE_BF16);
    CHECK_EQ(qnnrt_ir_run_dtype(&desc, ir->inputs[0]), QNNRT_DTYPE_BF16);
    CHECK_EQ(run(ir, &desc, in, out), QNNRT_OK);
    CHECK_EQ(rounded[0], 0x4042);                                    /* 3.03125: 3 * 1.0078125 = 3.0234375 */
    desc.wide = 1;
    CHECK_EQ(qnnrt_ir_run_dtype(&desc, ir->inputs[0]), QNNRT_DTYPE_F32);
    CHECK_EQ(qnnrt_ir_run_dtype(&desc, ir->outputs[0]), QNNRT_DTYPE_F32);
    CHECK_EQ(qnnrt_ir_run_dtype(&desc, ir->outputs[1]), QNNRT_DTYPE_BF16);
    in[0] = plain;
    out[0] = exact;
    CHECK_EQ(run(ir, &desc, in, out), QNNRT_OK);
    CHECK(fabs((double)exact[1] - 3 * (1.0078125 + 0.001953125)) < 1e-6);
    CHECK_EQ(same[1], 0x3F81);
    qnnrt_ir_free(ir);
}

TEST(ir_run_loads_no_weight_without_elements)
{
    /* Exporters write such weights; a cat with one is a copy. */
    qnnrt_ir *ir = graph(GRAPH(F("x", "2"), F("y", "2"), F("bad", "0"),
        NODE("y", "cat.default", F("bad", "0") ", " F("x", "2"), F("y", "2"), "")) "}");
    const float x[2] = { 4, 5 };
    float y[2] = { 0, 0 };
    const void *in[1] = { x };
    void *out[1] = { y };
    qnnrt_ir_run_desc desc;
    CHECK(ir != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.load = load_count;
    CHECK_EQ(run(ir, &desc, in, out), QNNRT_OK);
    CHECK(memcmp(x, y, sizeof(x)) == 0);
    qnnrt_ir_free(ir);
}

TEST(ir_run_names_what_it_cannot_compute)
{
    static const int64_t ids[1] = { 9 };
    const void *in[1] = { ids };
    float y[4];
    void *out[1] = { y };
    qnnrt_ir_run_desc desc;
    qnnrt_ir *ir = graph(GRAPH(V("ids", "int64", "1"), F("y", "1, 4"), F("table", "3, 4"),
        NODE("y", "embedding.default", F("table", "3, 4") ", " V("ids", "int64", "1"), F("y", "1, 4"), "")) "}");
    CHECK(ir != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.load = load_count;
    CHECK_EQ(run(ir, &desc, in, out), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "\"y\" (embedding.default)");
    qnnrt_ir_free(ir);
    ir = graph(GRAPH("", F("y", "2"), F("bad", "2"), NODE("y", "neg.default", F("bad", "2"), F("y", "2"), "")) "}");
    CHECK(ir != NULL);
    CHECK_EQ(run(ir, &desc, in, out), QNNRT_E_IO);
    CHECK(err.code == QNNRT_E_IO && strcmp(err.text, "cannot read bad") == 0);
    qnnrt_ir_free(ir);
}

TEST(ir_run_survives_every_failing_allocation)
{
    qnnrt_ir *ir = graph(TWO_WEIGHTS);
    static float x[1000], d[1000], w2[1000];
    const void *in[1] = { x };
    void *out[2] = { d, w2 };
    qnnrt_ir_run_desc desc;
    qnnrt_result result = QNNRT_E_MEMORY;
    long failed = 0;
    CHECK(ir != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    desc.load = load_count;
    for (fail_at = 0; result != QNNRT_OK; ++fail_at) {
        allocations = 0;
        events[0] = '\0';
        result = run(ir, &desc, in, out);
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && err.code == result));
        failed += result != QNNRT_OK;
        CHECK_EQ(live, 0);
    }
    CHECK(failed > 6);
    qnnrt_ir_free(ir);
}

/* ---- products in blocks ---- */

/* Fill with made-up numbers between -1 and 1. */
static void fill(float *data, size_t elements)
{
    uint32_t seed = 15;
    size_t i;
    for (i = 0; i < elements; ++i) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)((double)(seed >> 8) / 8388608.0 - 1);
    }
}

/* Compute the only node of a graph of inputs x, w, b (b optional); y receives the output. */
static int compute(const char *text, const float *x, const float *w, const float *b, float *y)
{
    qnnrt_ir *ir = graph(text);
    const void *in[3];
    void *out[1];
    int ok;
    in[0] = x;
    in[1] = w;
    in[2] = b;
    out[0] = y;
    ok = ir != NULL && run(ir, NULL, in, out) == QNNRT_OK;
    if (!ok) printf("    %s\n", err.text);
    qnnrt_ir_free(ir);
    return ok;
}

static int same(const float *a, const float *b, size_t elements)
{
    size_t i;
    for (i = 0; i < elements; ++i) {
        if (a[i] >= b[i] && a[i] <= b[i]) continue;
        printf("    element %lu is %.9g, expected %.9g\n", (unsigned long)i, (double)a[i], (double)b[i]);
        return 0;
    }
    return 1;
}

/* One node y of inputs x, w, b with their shapes. */
static const char *one_node(const char *op, const char *x, const char *w, const char *b, const char *y, const char *attrs)
{
    static char text[2000];
    char tensors[600];
    snprintf(tensors, sizeof tensors, "{'name': 'x', 'shape': [%s], 'dtype': 'float32'}, {'name': 'w', 'shape': [%s], 'dtype': "
             "'float32'}, {'name': 'b', 'shape': [%s], 'dtype': 'float32'}", x, w, b);
    snprintf(text, sizeof text, "{'graph_inputs': [%s], 'graph_outputs': [{'name': 'y', 'shape': [%s], 'dtype': 'float32'}], "
             "'weights': [], 'nodes': [{'name': 'y', 'op_type': 'aten.%s', 'inputs': [%s], 'outputs': [{'name': 'y', 'shape': [%s], "
             "'dtype': 'float32'}], 'attrs': {%s}}]}", tensors, y, op, tensors, y, attrs);
    return text;
}

TEST(ir_products_are_sums_in_double)
{
    /* Rows, columns and terms around the blocks of 64, 512 and 256, and of 4. */
    static const int sizes[][3] = { { 63, 2, 5 }, { 64, 3, 4 }, { 65, 4, 3 }, { 129, 5, 1 }, { 2, 511, 3 }, { 3, 512, 2 },
                                    { 1, 513, 3 }, { 5, 3, 255 }, { 4, 4, 256 }, { 3, 5, 257 }, { 66, 514, 2 } };
    static float x[4 * 66 * 260], w[4 * 66 * 260], b[520], y[66 * 520], expected[66 * 520];
    size_t i;
    int r, c, k;
    fill(x, sizeof(x) / 4);
    fill(w, sizeof(w) / 4);
    fill(b, 520);
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        const int rows = sizes[i][0], columns = sizes[i][1], depth = sizes[i][2];
        char xs[40], ws[40], bs[40], ys[40];
        snprintf(xs, 40, "%d, %d", rows, depth);
        snprintf(ws, 40, "%d, %d", columns, depth);
        snprintf(bs, 40, "%d", columns);
        snprintf(ys, 40, "%d, %d", rows, columns);
        for (r = 0; r < rows; ++r)
            for (c = 0; c < columns; ++c) {
                double sum = 0;
                for (k = 0; k < depth; ++k) sum += (double)x[r * depth + k] * (double)w[c * depth + k];
                expected[r * columns + c] = (float)(sum + (double)b[c]);
            }
        CHECK(compute(one_node("linear.default", xs, ws, bs, ys, ""), x, w, b, y));
        CHECK(same(y, expected, (size_t)(rows * columns)));
        /* b - 2 * x * w, where w is not turned */
        snprintf(ws, 40, "%d, %d", depth, columns);
        for (r = 0; r < rows; ++r)
            for (c = 0; c < columns; ++c) {
                double sum = 0;
                for (k = 0; k < depth; ++k) sum += (double)x[r * depth + k] * (double)w[k * columns + c];
                expected[r * columns + c] = (float)(-2 * sum + 0.5 * (double)b[c]);
            }
        CHECK(compute(one_node("addmm.default", bs, xs, ws, ys, "'alpha': -2, 'beta': 0.5"), b, x, w, y));
        CHECK(same(y, expected, (size_t)(rows * columns)));
    }
}

TEST(ir_convolutions_are_sums_in_double)
{
    /* 2 images of 2 groups of 3 channels, 9 x 11; 5 outputs each; kernel 3 x 2; stride 1 x 2, padding 2 x 1, dilation 2 x 3 */
    static float x[2 * 6 * 99], w[10 * 3 * 6], b[10], y[2 * 10 * 9 * 5], expected[2 * 10 * 9 * 5];
    int n, o, i, j, c, u, v;
    fill(x, sizeof(x) / 4);
    fill(w, sizeof(w) / 4);
    fill(b, 10);
    for (n = 0; n < 2; ++n) for (o = 0; o < 10; ++o) for (i = 0; i < 9; ++i) for (j = 0; j < 5; ++j) {
        double sum = 0;
        for (c = 0; c < 3; ++c) for (u = 0; u < 3; ++u) for (v = 0; v < 2; ++v) {
            const int row = i - 2 + 2 * u, column = 2 * j - 1 + 3 * v;
            if (row < 0 || row > 8 || column < 0 || column > 10) continue;
            sum += (double)x[((n * 6 + o / 5 * 3 + c) * 9 + row) * 11 + column] * (double)w[((o * 3 + c) * 3 + u) * 2 + v];
        }
        expected[((n * 10 + o) * 9 + i) * 5 + j] = (float)(sum + (double)b[o]);
    }
    CHECK(compute(one_node("conv2d.default", "2, 6, 9, 11", "10, 3, 3, 2", "10", "2, 10, 9, 5",
                           "'stride': [1, 2], 'padding': [2, 1], 'dilation': [2, 3], 'groups': 2"), x, w, b, y));
    CHECK(same(y, expected, 2 * 10 * 9 * 5));
}

TEST(ir_attention_has_shares_of_all_cells)
{
    /* 2 heads of 70 rows, which share 1 head of 70 cells of 3; values of 2; row r sees r + 1 cells */
    static float q[2 * 70 * 3], k[70 * 3], v[70 * 2], y[2 * 70 * 2];
    int r, c, d;
    fill(q, sizeof(q) / 4);
    fill(k, sizeof(k) / 4);
    fill(v, sizeof(v) / 4);
    CHECK(compute(one_node("scaled_dot_product_attention.default", "1, 2, 70, 3", "1, 1, 70, 3", "1, 1, 70, 2", "1, 2, 70, 2",
                           "'is_causal': true, 'scale': 2.0, 'enable_gqa': true"), q, k, v, y));
    for (r = 0; r < 140; ++r) {
        double shares[70], sum = 0, f[2] = { 0, 0 };
        for (c = 0; c <= r % 70; ++c) {
            double dot = 0;
            for (d = 0; d < 3; ++d) dot += (double)q[r * 3 + d] * (double)k[c * 3 + d];
            sum += shares[c] = exp(2 * dot);
        }
        for (c = 0; c <= r % 70; ++c) for (d = 0; d < 2; ++d) f[d] += shares[c] / sum * (double)v[c * 2 + d];
        for (d = 0; d < 2; ++d) CHECK(fabs(f[d] - (double)y[r * 2 + d]) < 1e-7);
    }
}

TEST(ir_data_may_have_any_alignment)
{
    qnnrt_ir *ir = graph(GRAPH(F("x", "3") ", " V("i", "int64", "2"), F("y", "2"), "",
        NODE("y", "index_select.default", F("x", "3") ", " V("i", "int64", "2"), F("y", "2"), "'dim': 0")) "}");
    static const float x[3] = { 5, 6, 7 };
    static const int64_t i[2] = { 2, 0 };
    char from_x[16], from_i[24], to[12];
    const void *in[2] = { from_x + 1, from_i + 3 };
    void *out[1] = { to + 1 };
    float y[2];
    CHECK(ir != NULL);
    memcpy(from_x + 1, x, sizeof(x));
    memcpy(from_i + 3, i, sizeof(i));
    CHECK_EQ(qnnrt_ir_eval_node(NULL, ir->nodes[0], in, out, &err), QNNRT_OK);
    memcpy(y, to + 1, sizeof(y));
    CHECK(y[0] >= 7 && y[0] <= 7 && y[1] >= 5 && y[1] <= 5);
    qnnrt_ir_free(ir);
}

TEST(ir_indices_are_those_of_pytorch)
{
    /* Only index.Tensor counts from the end. */
    static const struct { const char *text; int64_t index; const char *why; } c[] = {
        { NODE("y", "index_select.default", F("x", "3") ", " V("i", "int64", "1"), F("y", "1"), "'dim': 0"), -1,
          "index -1 is out of range: it may be 0 to 2" },
        { NODE("y", "gather.default", F("x", "3") ", " V("i", "int64", "1"), F("y", "1"), "'dim': 0"), -1,
          "index -1 is out of range: it may be 0 to 2" },
        { NODE("y", "index_select.default", F("x", "3") ", " V("i", "int64", "1"), F("y", "1"), "'dim': 0"), 3,
          "node \"y\" (index_select.default): index 3 is out of range: it may be 0 to 2" },
        { NODE("y", "index.Tensor", F("x", "3") ", " V("i", "int64", "1"), F("y", "1"), "'_tensor_list_sizes': [1]"), -4,
          "index -4 is out of range: it may be -3 to 2" },
        { NODE("y", "index.Tensor", F("x", "3") ", " V("i", "int64", "1"), F("y", "1"), "'_tensor_list_sizes': [1]"), -3, NULL },
    };
    static const float x[3] = { 5, 6, 7 };
    size_t k;
    for (k = 0; k < sizeof(c) / sizeof(c[0]); ++k) {
        char text[1000];
        float y = 0;
        const void *in[2];
        void *out[1];
        qnnrt_ir *ir;
        snprintf(text, sizeof text, GRAPH(F("x", "3") ", " V("i", "int64", "1"), F("y", "1"), "", "%s") "}", c[k].text);
        ir = graph(text);
        CHECK(ir != NULL);
        in[0] = x;
        in[1] = &c[k].index;
        out[0] = &y;
        CHECK_EQ(run(ir, NULL, in, out), c[k].why == NULL ? QNNRT_OK : QNNRT_E_UNSUPPORTED);
        if (c[k].why == NULL) CHECK(y >= 5 && y <= 5);
        else CHECK_STR(err.text, c[k].why);
        qnnrt_ir_free(ir);
    }
}

static const void *lent(void *user, const qnnrt_ir_value *weight)
{
    return weight->count == 4 ? user : NULL;
}

TEST(ir_run_reads_weights_in_place_and_leaves_a_ready_graph)
{
    qnnrt_ir *ir = graph(GRAPH(F("x", "4"), F("y", "4"), F("w", "4") ", " F("v", "1"),
        NODE("a", "add.Tensor", F("x", "4") ", " F("w", "4"), F("a", "4"), "") ", "
        NODE("b", "relu_.default", F("a", "4"), F("b", "4"), "") ", "
        NODE("y", "mul.Tensor", F("a", "4") ", " F("v", "1"), F("y", "4"), "")) "}");
    static const float x[4] = { 1, -2, 3, -4 }, w[4] = { 0, 0, 1, 1 };
    float y[4];
    const void *in[1] = { x };
    void *out[1] = { y };
    qnnrt_ir_run_desc desc;
    int i;
    CHECK(ir != NULL);
    memset(&desc, 0, sizeof(desc));
    desc.data = lent;
    desc.data_user = (void *)(uintptr_t)w;
    CHECK_EQ(run(ir, &desc, in, out), QNNRT_E_ARG);             /* nobody has v */
    CHECK_STR(err.text, "value \"v\" (v) has no data");
    desc.load = load_count;
    for (i = 0; i < 2; ++i) {
        const qnnrt_ir_node *const *nodes = (const qnnrt_ir_node *const *)ir->nodes;
        const uint32_t users = ir->nodes[0]->outputs[0]->users;
        desc.ready = i;
        events[0] = '\0';
        CHECK_EQ(run(ir, &desc, in, out), QNNRT_OK);
        CHECK(y[1] >= 0 && y[1] <= 0);
        CHECK(strstr(events, "v") != NULL && strstr(events, "w") == NULL);
        if (i == 1) CHECK(nodes == (const qnnrt_ir_node *const *)ir->nodes && users == ir->nodes[0]->outputs[0]->users);
    }
    CHECK_STR(ir->nodes[1]->op, "relu.default");
    qnnrt_ir_free(ir);
}

/* ---- einsum: the nodes that it becomes compute what PyTorch computes ---- */

static const qnnrt_ir_value *expected_of(const qnnrt_ir *ir, const char *output)
{
    char name[100];
    size_t i;
    snprintf(name, sizeof name, "expected/%s", output);
    for (i = 0; i < ir->value_count; ++i) if (strcmp(ir->values[i]->name, name) == 0) return ir->values[i];
    return NULL;
}

TEST(ir_run_splits_einsum)
{
    qnnrt_ir *ir = ir_file("net", &err);
    void *out[1000] = { NULL };
    char wanted[1000] = "";
    size_t i, k, cases = 0;
    CHECK(ir != NULL && ir->output_count < 1000);
    for (i = 0; i < ir->output_count; ++i) {
        wanted[i] = ir->outputs[i]->node != NULL && qnnrt_ir_is(ir->outputs[i]->node, "einsum.default");
        if (wanted[i]) out[i] = malloc((size_t)ir->outputs[i]->count * 8 + 1);
    }
    CHECK_EQ(run(ir, NULL, (const void *const *)out, out), QNNRT_OK);
    for (i = 0; i < ir->output_count; ++i) {
        const qnnrt_ir_value *y = ir->outputs[i], *expected = expected_of(ir, y->name);
        const size_t size = qnnrt_ir_dtype_bytes(y->dtype);
        if (!wanted[i]) continue;
        ++cases;
        CHECK(expected != NULL && !qnnrt_ir_is(y->node, "einsum.default"));
        for (k = 0; k < y->count; ++k) {
            const char *at = (const char *)out[i] + k * size, *right = (const char *)expected->data + k * size;
            const double a = y->dtype == QNNRT_DTYPE_I64 ? (double)qnnrt_ir_element_int(at, y->dtype) : qnnrt_ir_element_float(at, y->dtype);
            const double b = y->dtype == QNNRT_DTYPE_I64 ? (double)qnnrt_ir_element_int(right, y->dtype) : qnnrt_ir_element_float(right, y->dtype);
            CHECK(fabs(a - b) <= (y->dtype == QNNRT_DTYPE_F16 ? 1e-2 : 1e-5) * (1 + fabs(b)));
        }
        free(out[i]);
    }
    CHECK_EQ(cases, 27);
    qnnrt_ir_free(ir);
}

TEST_MAIN("ir_run")
{
    RUN(ir_run_computes_what_pytorch_computes);
    RUN(ir_run_loads_weights_for_their_readers);
    RUN(ir_run_holds_one_weight_at_a_time);
    RUN(ir_run_overwrites_inputs_as_pytorch_does);
    RUN(ir_run_gives_every_kind_of_output);
    RUN(ir_run_can_keep_narrow_floats_wide);
    RUN(ir_run_loads_no_weight_without_elements);
    RUN(ir_run_names_what_it_cannot_compute);
    RUN(ir_run_survives_every_failing_allocation);
    RUN(ir_products_are_sums_in_double);
    RUN(ir_convolutions_are_sums_in_double);
    RUN(ir_attention_has_shares_of_all_cells);
    RUN(ir_data_may_have_any_alignment);
    RUN(ir_indices_are_those_of_pytorch);
    RUN(ir_run_reads_weights_in_place_and_leaves_a_ready_graph);
    RUN(ir_run_splits_einsum);
}
