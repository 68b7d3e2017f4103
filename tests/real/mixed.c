/* mixed.c - one program over two of Qualcomm's libraries: HTP in half precision, and the CPU for an operator that
   HTP refuses

       real_mixed RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   The HTP library is that of RELEASE_FOLDER, the CPU library that of release 2.47, the only one that has it.

       first    HTP   h = relu(W1 x)                float16
       middle   CPU   p = softmax over axis 0 of h  float32; HTP has softmax over the last axis alone
       last     HTP   y = W2 (p * h)                float16

   Results are compared with plain loops in double. */
#define QNNRT_COMPOSE
#include "real.h"
#include <math.h>

static qnnrt_error err;

enum { ROWS = 8, IN = 16, MIDDLE = 32, OUT = 8 };

/* ---- the program in double -------------------------------------------------------------------- */

static double w1[MIDDLE * IN], w2[OUT * MIDDLE], x[ROWS * IN], expected[ROWS * OUT];

/* Return numbers from -1 to 1 that float16 represents exactly. */
static double number(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return ((double)(*seed >> 24) - 127.5) / 128;
}

static void product(const double *in, const double *w, size_t in_count, size_t out_count, double *out)
{
    size_t r, o, i;
    for (r = 0; r < ROWS; ++r)
        for (o = 0; o < out_count; ++o) {
            out[r * out_count + o] = 0;
            for (i = 0; i < in_count; ++i) out[r * out_count + o] += in[r * in_count + i] * w[o * in_count + i];
        }
}

/* Softmax of each column. */
static void softmax_columns(const double *in, double *out)
{
    size_t r, c;
    for (c = 0; c < MIDDLE; ++c) {
        double sum = 0;
        for (r = 0; r < ROWS; ++r) sum += exp(in[r * MIDDLE + c]);
        for (r = 0; r < ROWS; ++r) out[r * MIDDLE + c] = exp(in[r * MIDDLE + c]) / sum;
    }
}

static void compute_expected(void)
{
    double h[ROWS * MIDDLE], p[ROWS * MIDDLE];
    uint32_t seed = 1;
    size_t i;
    for (i = 0; i < MIDDLE * IN; ++i) w1[i] = number(&seed) / 2;    /* softmax multiplies errors of h */
    for (i = 0; i < OUT * MIDDLE; ++i) w2[i] = number(&seed);
    for (i = 0; i < ROWS * IN; ++i) x[i] = number(&seed);
    product(x, w1, IN, MIDDLE, h);
    for (i = 0; i < ROWS * MIDDLE; ++i)
        if (h[i] < 0) h[i] = 0;
    softmax_columns(h, p);
    for (i = 0; i < ROWS * MIDDLE; ++i) p[i] *= h[i];
    product(p, w2, MIDDLE, OUT, expected);
}

/* Return the largest error of y, relative to the largest expected value. */
static double error_of(const float *y)
{
    double worst = 0, largest = 0;
    size_t i;
    for (i = 0; i < ROWS * OUT; ++i) {
        if (fabs(expected[i]) > largest) largest = fabs(expected[i]);
        if (!(fabs(expected[i] - (double)y[i]) <= worst)) worst = fabs(expected[i] - (double)y[i]);
    }
    printf("  largest error: %.1e of the largest value, %.2f\n", worst / largest, largest);
    return worst / largest;
}

/* ---- contexts --------------------------------------------------------------------------------- */

static const char *htp_library(char path[1024]) { return real_library(path, "libQnnHtp.so"); }
static const char *cpu_library(char path[1024]) { return real_sibling(path, "2.47", "libQnnCpu.so"); }

static qnnrt_backend *open_library(const char *path)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    memset(&desc, 0, sizeof desc);
    desc.path = path;
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) printf("%s\n", err.text);
    return backend;
}

static qnnrt_tensor tensor(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind, qnnrt_dtype dtype, uint32_t d0,
                           uint32_t d1)
{
    qnnrt_tensor_desc t;
    memset(&t, 0, sizeof t);
    t.name = name;
    t.kind = kind;
    t.dtype = dtype;
    t.rank = 2;
    t.dims[0] = d0;
    t.dims[1] = d1;
    return qnnrt_builder_tensor(b, &t);
}

/* Return the bits of a number that float16 represents exactly, with an exponent of -14 to 15. */
static uint16_t half(double value)
{
    int exponent;
    double m = frexp(fabs(value), &exponent);       /* 0.5 <= m < 1 */
    if (value == 0) return 0;
    return (uint16_t)((value < 0 ? 0x8000 : 0) | ((exponent + 14) << 10) | ((int)(m * 2048) & 0x3FF));
}

static qnnrt_tensor half_weights(qnnrt_builder *b, const char *name, const double *w, uint32_t d0, uint32_t d1)
{
    uint16_t bits[MIDDLE * IN];
    qnnrt_tensor_desc t;
    size_t i;
    for (i = 0; i < d0 * d1; ++i) bits[i] = half(w[i]);
    memset(&t, 0, sizeof t);
    t.name = name;
    t.kind = QNNRT_TENSOR_STATIC;
    t.dtype = QNNRT_DTYPE_F16;
    t.rank = 2;
    t.dims[0] = d0;
    t.dims[1] = d1;
    t.data = bits;
    t.bytes = d0 * d1 * sizeof *bits;
    return qnnrt_builder_tensor(b, &t);
}

static void node(qnnrt_builder *b, const char *type, qnnrt_tensor in, qnnrt_tensor in2, qnnrt_tensor out,
                 const qnnrt_param_desc *param)
{
    qnnrt_tensor inputs[2];
    qnnrt_node_desc desc;
    memset(&desc, 0, sizeof desc);
    inputs[0] = in;
    inputs[1] = in2;
    desc.type = type;
    desc.inputs = inputs;
    desc.input_count = in2 == QNNRT_NO_TENSOR ? 1 : 2;
    desc.outputs = &out;
    desc.output_count = 1;
    desc.params = param;
    desc.param_count = param != NULL;
    qnnrt_builder_node(b, &desc);
}

static void graph(qnnrt_builder *b, const char *name)
{
    qnnrt_graph_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = name;
    qnnrt_builder_graph(b, &desc);
}

static void describe_first(qnnrt_builder *b)
{
    const qnnrt_dtype f16 = QNNRT_DTYPE_F16;
    const qnnrt_tensor in = tensor(b, "x", QNNRT_TENSOR_INPUT, f16, ROWS, IN);
    const qnnrt_tensor sum = tensor(b, "sum", QNNRT_TENSOR_INNER, f16, ROWS, MIDDLE);
    const qnnrt_tensor out = tensor(b, "h", QNNRT_TENSOR_OUTPUT, f16, ROWS, MIDDLE);
    node(b, "FullyConnected", in, half_weights(b, "w1", w1, MIDDLE, IN), sum, NULL);
    node(b, "Relu", sum, QNNRT_NO_TENSOR, out, NULL);
}

static void describe_softmax(qnnrt_builder *b, qnnrt_dtype dtype)
{
    const qnnrt_tensor in = tensor(b, "h32", QNNRT_TENSOR_INPUT, dtype, ROWS, MIDDLE);
    const qnnrt_tensor out = tensor(b, "p32", QNNRT_TENSOR_OUTPUT, dtype, ROWS, MIDDLE);
    qnnrt_param_desc axis;
    memset(&axis, 0, sizeof axis);
    axis.name = "axis";
    axis.dtype = QNNRT_DTYPE_U32;
    axis.value = 0;
    node(b, "Softmax", in, QNNRT_NO_TENSOR, out, &axis);
}

static void describe_middle(qnnrt_builder *b) { describe_softmax(b, QNNRT_DTYPE_F32); }

static void describe_last(qnnrt_builder *b)
{
    const qnnrt_dtype f16 = QNNRT_DTYPE_F16;
    const qnnrt_tensor p = tensor(b, "p", QNNRT_TENSOR_INPUT, f16, ROWS, MIDDLE);
    const qnnrt_tensor h = tensor(b, "h", QNNRT_TENSOR_INPUT, f16, ROWS, MIDDLE);
    const qnnrt_tensor both = tensor(b, "both", QNNRT_TENSOR_INNER, f16, ROWS, MIDDLE);
    const qnnrt_tensor out = tensor(b, "y", QNNRT_TENSOR_OUTPUT, f16, ROWS, OUT);
    node(b, "ElementWiseMultiply", p, h, both, NULL);
    node(b, "FullyConnected", both, half_weights(b, "w2", w2, OUT, MIDDLE), out, NULL);
}

/* Write a context binary with one graph. */
static void save(qnnrt_backend *backend, const char *folder, const char *name, void (*describe)(qnnrt_builder *))
{
    qnnrt_builder *b;
    qnnrt *built;
    char path[1024], file[64];
    REAL_OK(qnnrt_builder_create(backend, NULL, &b, &err), &err);
    graph(b, name);
    describe(b);
    REAL_OK(qnnrt_builder_finish(b, &built, &err), &err);
    snprintf(file, sizeof file, "%s.bin", name);
    REAL_OK(qnnrt_save(built, 0, real_join(path, folder, file), &err), &err);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
}

/* Open one file on a backend. */
static qnnrt *open_file(qnnrt_backend *backend, const char *folder, const char *name)
{
    char path[1024], file[64];
    qnnrt_desc desc;
    qnnrt_file one;
    qnnrt *model = NULL;
    memset(&desc, 0, sizeof desc);
    memset(&one, 0, sizeof one);
    snprintf(file, sizeof file, "%s.bin", name);
    one.path = real_join(path, folder, file);
    desc.backend = backend;
    desc.files = &one;
    desc.file_count = 1;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    return model;
}

/* ---- both libraries --------------------------------------------------------------------------- */

typedef struct libraries {
    qnnrt_backend *htp, *cpu;
    qnnrt         *first, *middle, *last;
} libraries;

/* Open both libraries, and make, save and load the three contexts. */
static void begin(libraries *l, const char *cpu)
{
    char path[1024];
    const char *folder = test_tmpdir();
    memset(l, 0, sizeof *l);
    compute_expected();
    l->htp = open_library(htp_library(path));
    l->cpu = open_library(cpu);
    CHECK(l->htp != NULL && l->cpu != NULL);
    TRY(save(l->htp, folder, "first", describe_first));
    TRY(save(l->cpu, folder, "middle", describe_middle));
    TRY(save(l->htp, folder, "last", describe_last));
    l->first = open_file(l->htp, folder, "first");
    l->middle = open_file(l->cpu, folder, "middle");
    l->last = open_file(l->htp, folder, "last");
    CHECK(l->first != NULL && l->middle != NULL && l->last != NULL);
}

static void end(libraries *l)
{
    CHECK_EQ(qnnrt_close(l->first), QNNRT_OK);
    CHECK_EQ(qnnrt_close(l->middle), QNNRT_OK);
    CHECK_EQ(qnnrt_close(l->last), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(l->htp), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(l->cpu), QNNRT_OK);
}

/* ---- tests ------------------------------------------------------------------------------------- */

TEST(the_htp_refuses_softmax_over_the_first_axis)
{
    char path[1024];
    qnnrt_backend *htp = open_library(htp_library(path));
    qnnrt_builder *b;
    qnnrt *built;
    CHECK(htp != NULL);
    REAL_OK(qnnrt_builder_create(htp, NULL, &b, &err), &err);
    graph(b, "middle");
    describe_softmax(b, QNNRT_DTYPE_F16);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "Softmax");
    CHECK_EQ(qnnrt_backend_close(htp), QNNRT_OK);
}

/* Copy the values of a slot to another run, through float32. */
static void carry(qnnrt_run *from, const char *output, qnnrt_run *to, const char *input)
{
    float values[ROWS * MIDDLE];
    CHECK_EQ(qnnrt_read_f32(from, qnnrt_run_slot(from, output), 0, values, ROWS * MIDDLE), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(to, qnnrt_run_slot(to, input), 0, values, ROWS * MIDDLE), QNNRT_OK);
}

/* The contexts of both libraries live in one process. The caller carries the values: what pipelines are measured
   against. */
static void run_side_by_side(const char *cpu)
{
    libraries l;
    qnnrt_run *first, *middle, *last;
    float values[ROWS * IN], y[ROWS * OUT];
    size_t i;
    TRY(begin(&l, cpu));
    REAL_OK(qnnrt_prepare(l.first, NULL, &first, &err), &err);
    REAL_OK(qnnrt_prepare(l.middle, NULL, &middle, &err), &err);
    REAL_OK(qnnrt_prepare(l.last, NULL, &last, &err), &err);
    for (i = 0; i < ROWS * IN; ++i) values[i] = (float)x[i];
    CHECK_EQ(qnnrt_write_f32(first, qnnrt_run_slot(first, "x"), 0, values, ROWS * IN), QNNRT_OK);
    REAL_OK(qnnrt_exec(first), qnnrt_run_error(first));
    TRY(carry(first, "h", middle, "h32"));
    REAL_OK(qnnrt_exec(middle), qnnrt_run_error(middle));
    TRY(carry(middle, "p32", last, "p"));
    TRY(carry(first, "h", last, "h"));
    REAL_OK(qnnrt_exec(last), qnnrt_run_error(last));
    CHECK_EQ(qnnrt_read_f32(last, qnnrt_run_slot(last, "y"), 0, y, ROWS * OUT), QNNRT_OK);
    CHECK(error_of(y) < 1e-3);
    qnnrt_run_destroy(first);
    qnnrt_run_destroy(middle);
    qnnrt_run_destroy(last);
    TRY(end(&l));
}

TEST(contexts_of_both_libraries_run_side_by_side)
{
    char path[1024];
    TRY(run_side_by_side(cpu_library(path)));
}

TEST(the_htp_and_the_reference_backend_run_side_by_side) { TRY(run_side_by_side(TEST_REF_LIB)); }

TEST_MAIN_ARGS("real_mixed", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    char path[1024];
    if (real_no_device() || !real_exists(cpu_library(path))) {
        printf("this needs an NPU or its emulator, and libQnnCpu.so of release 2.47\n");
        return;
    }
    RUN(the_htp_refuses_softmax_over_the_first_axis);
    RUN(contexts_of_both_libraries_run_side_by_side);
    RUN(the_htp_and_the_reference_backend_run_side_by_side);
}
