/* Linear, convolution, pooling, resizing, norm and reduction operators of libQnnRef.so, each
   against a slow version in double, over all types, and each refusal by its text. */
#include "../../tools/refbackend/ref_linear.h"
#include "ref_ops.h"

static const uint32_t all_types[] = { REF_F32, REF_F16, REF_U8Q, REF_U16Q, REF_S8Q, REF_S16Q };
enum { ALL_TYPES = 6 };

static char text_of_shape[4][64];

/* Write "2,3,4" from numbers. The last four results stay valid. */
static const char *shape(uint32_t rank, const uint32_t *dims)
{
    static uint32_t next;
    char *text = text_of_shape[next++ % 4];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < rank; ++i)
        used += (size_t)snprintf(text + used, 64 - used, "%s%u", i > 0 ? "," : "",
                                 (unsigned)dims[i]);
    return text;
}

static uint64_t at4(const ref_tensor *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return ((a * t->dims[1] + b) * t->dims[2] + c) * t->dims[3] + d;
}

/* True if activations of this type may have such a weight. */
static int fits(uint32_t x, uint32_t w)
{
    if (x == REF_F32) return w == REF_F32;
    if (x == REF_F16) return w == REF_F16 || w == REF_S8Q || w == REF_U8Q;
    if (!ref_is_quantized(w)) return 0;
    return ref_type_bytes(x) == 2 || ref_type_bytes(w) == 1;
}

/* Set pad_amount, a tensor of pairs. */
static void set_pads(const char *pads)
{
    ref_tensor *t = ops_numbers("pad_amount", REF_U32, pads);
    t->rank = 2;
    t->dims[0] /= 2;
    t->dims[1] = 2;
}

enum { PER_TENSOR, PER_CHANNEL, IN_BLOCKS };

/* Make a static weight. form: see above; axis: of the channels; sum_axis: of the sum. Return 0 if
   such a weight does not exist. */
static int weight_make(ref_tensor *w, int form, uint32_t axis, uint32_t sum_axis, double high)
{
    w->fixed = 1;
    if (!ref_is_quantized(w->dtype)) {
        if (form != PER_TENSOR) return 0;
        ops_fill(w, -high, high);
        return 1;
    }
    if (form == IN_BLOCKS) {
        const uint32_t block = w->dims[sum_axis] % 4 == 0 ? 4 : 1;
        if (w->dtype != REF_S8Q || sum_axis == axis) return 0;
        ops_encode_blocks(w, axis, sum_axis, block, high);
    } else if (form == PER_CHANNEL) {
        ops_encode_channels(w, axis, high);
    } else if (w->dtype == REF_U8Q) {
        ops_encode_range(w, -high, high * 0.8);
    } else {
        const double half = ref_type_bytes(w->dtype) == 1 ? 127.0 : 32767.0;
        ops_encode(w, REF_QUANT_PER_TENSOR, 1, (float)(high / half),
                   w->dtype == REF_U16Q ? -32768 : 0);
    }
    ops_fill(w, -high, high);
    return 1;
}

/* Make a bias in one of the forms that match x and w. */
static ref_tensor *bias_make(const ref_tensor *x, const ref_tensor *w, uint32_t channels)
{
    char text[16];
    ref_tensor *bias;
    snprintf(text, sizeof text, "%u", (unsigned)channels);
    if (!ref_is_quantized(x->dtype)) {
        bias = ops_in(x->dtype, text);
    } else if (w->quant.form == REF_QUANT_PER_AXIS) {
        bias = ops_in(REF_S32Q, text);
        ops_encode_channels(bias, 0, 4.0);
    } else {
        bias = ops_in(ops_pick(2) ? REF_U8Q : REF_S32Q, text);
        if (bias->dtype == REF_S32Q) ops_encode(bias, REF_QUANT_PER_TENSOR, 1, 1.7e-5f, 0);
        else ops_encode_range(bias, -1.0, 1.5);
    }
    ops_fill(bias, -1.0, 1.0);
    return bias;
}

/* ---- MatMul ---------------------------------------------------------------------------------- */

typedef struct matmul_case { const char *a, *b, *out; int transpose_a, transpose_b; } matmul_case;

static const matmul_case matmul_cases[] = {
    { "5,7", "7,9", "5,9", 0, 0 },
    { "1,64", "64,33", "1,33", 0, 0 },
    { "17,40", "40,16", "17,16", 0, 0 },
    { "2,3,5", "2,5,4", "2,3,4", 0, 0 },
    { "2,3,5", "5,4", "2,3,4", 0, 0 },
    { "3,5", "2,5,4", "2,3,4", 0, 0 },
    { "4,1,3,8", "1,2,8,5", "4,2,3,5", 0, 0 },
    { "1,8,4,16", "1,1,9,16", "1,8,4,9", 0, 1 },
    { "5,7", "9,5", "7,9", 1, 1 },
    { "6,70", "6,18", "70,18", 1, 0 },
    { "2,1,3,1,2,1,4,6", "1,2,1,2,1,2,6,3", "2,2,3,2,2,2,4,3", 0, 0 },
    { "300,3", "3,2", "300,2", 0, 0 },
    { "2,513", "513,2", "2,2", 0, 0 },
    { "3,513", "4,513", "3,4", 0, 1 },
    { "3,1", "1,17", "3,17", 0, 0 },
    { "3,4", "4,1", "3,1", 0, 0 }
};

static void matmul_one(const matmul_case *c, uint32_t type, uint32_t weight_type, int form,
                       int with_bias)
{
    ref_tensor *a, *b, *bias = NULL, *out;
    uint32_t m, n, k;
    double *expected;
    ops_begin("MatMul");
    a = ops_in(type, c->a);
    ops_random(a, -2.0, 3.0);
    b = ops_in(weight_type, c->b);
    if (!weight_make(b, form, b->rank - 1 - (uint32_t)c->transpose_b,
                     b->rank - 2 + (uint32_t)c->transpose_b, 0.6))
        return;
    k = b->dims[b->rank - 2 + (uint32_t)c->transpose_b];
    n = b->dims[b->rank - 1 - (uint32_t)c->transpose_b];
    if (with_bias) bias = bias_make(a, b, n);
    out = ops_out(type, c->out);
    m = out->dims[out->rank - 2];
    if (c->transpose_a) ops_scalar("transpose_in0", REF_BOOL, 1);
    if (c->transpose_b) ops_scalar("transpose_in1", REF_BOOL, 1);
    expected = ops_doubles(out);
    for (uint64_t i = 0; i < out->count; ++i) {
        const uint64_t row = i / n % m, column = i % n;
        uint64_t rest = i / n / m, a_at = 0, b_at = 0, a_step = (uint64_t)m * k,
            b_step = (uint64_t)k * n;
        for (uint32_t d = 2; d < out->rank; ++d) {
            const uint64_t index = rest % out->dims[out->rank - 1 - d];
            rest /= out->dims[out->rank - 1 - d];
            if (d < a->rank) {
                a_at += (a->dims[a->rank - 1 - d] == 1 ? 0 : index) * a_step;
                a_step *= a->dims[a->rank - 1 - d];
            }
            if (d < b->rank) {
                b_at += (b->dims[b->rank - 1 - d] == 1 ? 0 : index) * b_step;
                b_step *= b->dims[b->rank - 1 - d];
            }
        }
        expected[i] = bias != NULL ? ops_real(bias, column) : 0.0;
        for (uint64_t j = 0; j < k; ++j)
            expected[i] += ops_real(a, a_at + (c->transpose_a ? j * m + row : row * k + j)) *
                           ops_real(b, b_at + (c->transpose_b ? column * k + j : j * n + column));
    }
    ops_run(expected);
}

TEST(matmul_multiplies_in_every_form_and_type)
{
    ops_seed = 11;
    for (size_t c = 0; c < sizeof matmul_cases / sizeof matmul_cases[0]; ++c)
        for (int x = 0; x < ALL_TYPES; ++x)
            for (int w = 0; w < ALL_TYPES; ++w)
                for (int form = PER_TENSOR; form <= IN_BLOCKS; ++form)
                    if (fits(all_types[x], all_types[w]) &&
                        (form != PER_CHANNEL || all_types[x] == REF_F16))
                        for (int bias = 0; bias < 2; ++bias)
                            TRY(matmul_one(&matmul_cases[c], all_types[x], all_types[w], form,
                                           bias));
}

static ref_tensor *matmul_begin(uint32_t a_type, const char *a, uint32_t b_type, const char *b,
                                const char *out)
{
    ops_begin("MatMul");
    ops_random(ops_in(a_type, a), -1.0, 1.0);
    ops_random(ops_in(b_type, b), -1.0, 1.0);
    ops_out(a_type, out);
    return &ops.tensors[1];
}

TEST(matmul_takes_a_runtime_operand_with_any_8_bit_zero_point)
{
    double *expected;
    ops_seed = 12;
    matmul_begin(REF_U16Q, "2,3,8", REF_U8Q, "2,8,5", "2,3,5");
    ops_encode_range(&ops.tensors[1], -0.3, 2.0);
    expected = ops_doubles(&ops.tensors[2]);
    for (uint64_t i = 0; i < 30; ++i)
        for (uint64_t j = 0; j < 8; ++j)
            expected[i] += ops_real(&ops.tensors[0], i / 5 * 8 + j) *
                           ops_real(&ops.tensors[1], i / 15 * 40 + j * 5 + i % 5);
    TRY(ops_run(expected));
}

/* Return 1 if all are equal, bit by bit, or both not a number. */
static int same_bits(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0 && (a[i] == a[i] || b[i] == b[i]))
            return 0;
    return 1;
}

/* Columns of floats and of halves have functions of their own for processors with wide registers,
   and halves two: for one row, and for several. */
TEST(products_have_the_same_bits_in_registers_of_any_width)
{
    enum { ROWS = 200, COLUMNS = 21, COUNT = 3 };
    static const uint16_t special[] = { 0x7C00, 0xFC00, 0x7E01, 0xFFFF, 0x7D00 };
    static uint16_t halves[ROWS * COLUMNS];
    static float floats[ROWS * COLUMNS], x[ROWS * COUNT], out[4][COLUMNS * COUNT];
    static char scratch[1 << 16];
    size_t finite = 0, other = 0;
    ops_seed = 14;
    for (size_t i = 0; i < ROWS * COLUMNS; ++i) {
        halves[i] = ref_f32_to_f16((float)ops_uniform(-1.0, 1.0));
        if (ops_pick(4) == 0)                                       /* subnormal, or 0 */
            halves[i] &= 0x83FF;
        if (ops_pick(600) == 0)
            halves[i] = special[ops_pick(sizeof special / sizeof special[0])];
        floats[i] = ref_f16_to_f32(halves[i]);
    }
    for (size_t i = 0; i < ROWS * COUNT; ++i)
        x[i] = ops_pick(9) == 0 ? 0.0f : (float)ops_uniform(-1.0, 1.0);
    for (size_t at = 2 * ROWS; at-- > 0;) {
        const size_t rows = at / 2 + 1, count = at % 2 == 0 ? 1 : COUNT;
        const uint64_t first = rows < ROWS;
        CHECK(ref_product_scratch(rows) <= sizeof scratch);
        for (int form = 0; form < 4; ++form) {
            const int half = form % 2;
            ref_tensor weight;
            memset(&weight, 0, sizeof weight);
            weight.dtype = half ? REF_F16 : REF_F32;
            weight.data = half ? (void *)halves : (void *)floats;
            const ref_matrix matrix = { &weight, first, 1, at % 3 == 0 ? rows : ROWS - first, rows,
                                        COLUMNS, 0 };
#ifdef REF_AVX2
            const int wide = ref_wide;
            ref_wide = wide && form < 2;
#endif
            ref_product(x, count, &matrix, out[form], COLUMNS, scratch);
#ifdef REF_AVX2
            ref_wide = wide;
#endif
            CHECK(same_bits(out[form], out[0], count * COLUMNS));
        }
        for (size_t i = 0; i < count * COLUMNS; ++i) {
            finite += isfinite(out[0][i]) ? 1 : 0;
            other += isfinite(out[0][i]) ? 0 : 1;
        }
    }
    CHECK(finite > 1000 && other > 1000);
}

TEST(matmul_refuses_what_is_wrong_and_says_why)
{
    ref_tensor *b;
    matmul_begin(REF_F32, "4", REF_F32, "4,5", "5");
    TRY(ops_refused("\"t0\" [4] and \"t1\" [4, 5]: each needs a rank of at least 2"));
    matmul_begin(REF_F32, "3,4", REF_F32, "5,6", "3,6");
    TRY(ops_refused("\"t0\" [3, 4] and \"t1\" [5, 6]: sums run over 4 and 5 elements"));
    matmul_begin(REF_F32, "2,3,4", REF_F32, "3,4,6", "2,3,6");
    TRY(ops_refused("2 and 3 matrices do not broadcast"));
    matmul_begin(REF_F32, "3,4", REF_F32, "4,6", "3,5");
    TRY(ops_refused("output \"t2\" is [3, 5], expected [3, 6]"));
    matmul_begin(REF_F32, "3,4", REF_F32, "4,6", "3,6");
    ops.tensors[2].dtype = REF_F16;
    TRY(ops_refused("output \"t2\" is FLOAT_16, expected FLOAT_32"));
    matmul_begin(REF_F32, "3,4", REF_F16, "4,6", "3,6");
    TRY(ops_refused("input 1 \"t1\" is FLOAT_16, with FLOAT_32 as input 0 it must be FLOAT_32"));
    matmul_begin(REF_F16, "3,4", REF_S8Q, "4,6", "3,6");
    TRY(ops_refused("with FLOAT_16 as input 0 it must be FLOAT_16, or static SFIXED_POINT_8"));
    matmul_begin(REF_U8Q, "3,4", REF_U16Q, "4,6", "3,6");
    TRY(ops_refused("with UFIXED_POINT_8 as input 0 it must be SFIXED_POINT_8 or UFIXED_POINT_8"));
    matmul_begin(REF_U16Q, "3,4", REF_F16, "4,6", "3,6");
    TRY(ops_refused("is FLOAT_16, with UFIXED_POINT_16 as input 0"));
    b = matmul_begin(REF_U16Q, "3,4", REF_U16Q, "4,6", "3,6");
    ops_encode(b, REF_QUANT_PER_TENSOR, 1, 0.1f, -32767);
    TRY(ops_refused("has offset -32767, expected -32768: 16-bit values of a second operand are"
                    " symmetric"));
    b = matmul_begin(REF_U16Q, "3,4", REF_S8Q, "4,6", "3,6");
    ops_encode_channels(b, 1, 1.0);
    TRY(ops_refused("which only a static tensor can have"));
    b->fixed = 1;
    TRY(ops_refused("MatMul takes only with FLOAT_16 as input 0 (the NPU library crashes): use"
                    " FullyConnected or Conv2d"));
    b = matmul_begin(REF_F16, "3,4", REF_S8Q, "4,6", "3,6");
    b->fixed = 1;
    ops_encode_channels(b, 0, 1.0);
    TRY(ops_refused("has its scales along axis 0, expected axis 1, the outputs"));
    matmul_begin(REF_U8Q, "3,4", REF_U8Q, "4,6", "3,6");
    bias_make(&ops.tensors[0], &ops.tensors[1], 6);
    TRY(ops_refused("needs a static input 1 (libraries compute it wrong): add it with"
                    " ElementWiseAdd"));
    matmul_begin(REF_F32, "3,4", REF_F32, "4,6", "3,6");
    ops_in(REF_F32, "1,6");
    TRY(ops_refused("input 2 \"t3\" is [1, 6], expected [6]"));
    matmul_begin(REF_I32, "3,4", REF_I32, "4,6", "3,6");
    TRY(ops_refused("input 0 \"t0\" is INT_32, MatMul takes"));
}

/* ---- FullyConnected -------------------------------------------------------------------------- */

static void fully_connected_one(const char *x_shape, uint32_t inputs, uint32_t outputs,
                                const char *out_shape, int keep, uint32_t type,
                                uint32_t weight_type, int form, int with_bias)
{
    const uint32_t dims[2] = { outputs, inputs };
    ref_tensor *x, *w, *bias = NULL, *out;
    double *expected;
    ops_begin("FullyConnected");
    x = ops_in(type, x_shape);
    ops_random(x, -2.0, 3.0);
    w = ops_in(weight_type, shape(2, dims));
    if (!weight_make(w, form, 0, 1, 0.6)) return;
    if (with_bias) bias = bias_make(x, w, outputs);
    else ops_in_absent();
    out = ops_out(type, out_shape);
    if (keep) ops_scalar("keep_dims", REF_BOOL, 1);
    expected = ops_doubles(out);
    for (uint64_t i = 0; i < out->count; ++i) {
        expected[i] = bias != NULL ? ops_real(bias, i % outputs) : 0.0;
        for (uint64_t j = 0; j < inputs; ++j)
            expected[i] += ops_real(x, i / outputs * inputs + j)
                * ops_real(w, i % outputs * inputs + j);
    }
    ops_run(expected);
}

TEST(fully_connected_flattens_and_multiplies_in_every_type)
{
    ops_seed = 21;
    for (int x = 0; x < ALL_TYPES; ++x)
        for (int w = 0; w < ALL_TYPES; ++w)
            for (int form = PER_TENSOR; form <= IN_BLOCKS; ++form)
                for (int bias = 0; bias < 2; ++bias) {
                    if (!fits(all_types[x], all_types[w])) continue;
                    TRY(fully_connected_one("3,40", 40, 7, "3,7", 0, all_types[x], all_types[w],
                                            form, bias));
                    TRY(fully_connected_one("2,3,4", 12, 5, "2,5", 0, all_types[x], all_types[w],
                                            form, bias));
                    TRY(fully_connected_one("2,3,4", 4, 5, "6,5", 0, all_types[x], all_types[w],
                                            form, bias));
                    TRY(fully_connected_one("2,3,4", 4, 5, "2,3,5", 1, all_types[x], all_types[w],
                                            form, bias));
                    TRY(fully_connected_one("9", 9, 2, "1,2", 0, all_types[x], all_types[w], form,
                                            bias));
                    TRY(fully_connected_one("300,16", 16, 3, "300,3", 0, all_types[x], all_types[w],
                                            form, bias));
                }
}

/* The sums of a decoder: 16-bit activations, 8-bit weights, up to 4096 terms. */
TEST(fully_connected_stays_within_one_code_over_4096_terms)
{
    ops_seed = 22;
    ops.compared = ops.off_by_one = 0;
    for (int i = 0; i < 4; ++i) {
        TRY(fully_connected_one("4,4096", 4096, 64, "4,64", 0, REF_U16Q, REF_S8Q,
                                i % 2 ? PER_CHANNEL : IN_BLOCKS, 1));
        TRY(fully_connected_one("4,1024", 1024, 64, "4,64", 0, REF_U16Q, REF_S8Q,
                                i % 2 ? PER_CHANNEL : PER_TENSOR, 1));
    }
    CHECK(ops.off_by_one * 200 < ops.compared);
}

static ref_tensor *linear_begin(uint32_t x_type, const char *x, uint32_t w_type, const char *w,
                                const char *out)
{
    ops_begin("FullyConnected");
    ops_random(ops_in(x_type, x), -1.0, 1.0);
    ops_random(ops_in(w_type, w), -1.0, 1.0);
    ops.tensors[1].fixed = 1;
    ops_out(x_type, out);
    return &ops.tensors[1];
}

TEST(fully_connected_refuses_what_is_wrong_and_says_why)
{
    ref_tensor *w, *bias;
    linear_begin(REF_F32, "2,8", REF_F32, "4,8,1", "2,4");
    TRY(ops_refused("input 1 \"t1\" is [4, 8, 1], expected rank 2: [outputs, inputs]"));
    linear_begin(REF_F32, "2,9", REF_F32, "4,8", "2,4");
    TRY(ops_refused("input 0 \"t0\" [2, 9] has 18 elements, which do not make rows of the 8 of"
                    " input 1"));
    linear_begin(REF_F32, "2,3,8", REF_F32, "4,8", "2,3,4");
    TRY(ops_refused("output \"t2\" is [2, 3, 4], expected [6, 4]"));
    linear_begin(REF_F32, "2,4,2", REF_F32, "4,8", "2,4,4");
    ops_scalar("keep_dims", REF_BOOL, 1);
    TRY(ops_refused("with keep_dims its last dimension must be 8 as in input 1"));
    linear_begin(REF_F32, "2,8", REF_S8Q, "4,8", "2,4");
    TRY(ops_refused("is static SFIXED_POINT_8, with FLOAT_32 as input 0 it must be FLOAT_32"));
    w = linear_begin(REF_U16Q, "2,8", REF_S8Q, "4,8", "2,4");
    ops_encode(w, REF_QUANT_PER_TENSOR, 1, 0.1f, -3);
    TRY(ops_refused("has offset -3 at channel 0, expected 0: weights of SFIXED_POINT_8 are"
                    " symmetric"));
    w = linear_begin(REF_U16Q, "2,8", REF_U8Q, "4,8", "2,4");
    ops_encode_channels(w, 0, 1.0);
    ((int32_t *)(uintptr_t)w->quant.offsets)[2] = -8;
    TRY(ops_refused("has offset -8 at channel 2, expected -128: weights of UFIXED_POINT_8 are"
                    " symmetric"));
    w = linear_begin(REF_U16Q, "2,8", REF_S8Q, "4,8", "2,4");
    ops_encode_channels(w, 1, 1.0);
    TRY(ops_refused("has its scales along axis 1, expected axis 0, the outputs"));
    ops_encode_blocks(w, 1, 0, 2, 1.0);
    TRY(ops_refused("has its scales along axis 1, expected axis 0, the outputs"));
    w = linear_begin(REF_U16Q, "2,8", REF_U8Q, "4,8", "2,4");
    ops_encode_blocks(w, 0, 1, 4, 1.0);
    TRY(ops_refused("has block-wise scales, which need SFIXED_POINT_8"));
    w = linear_begin(REF_U16Q, "2,8", REF_S8Q, "4,8", "2,4");
    ops_encode_channels(w, 0, 1.0);
    w->fixed = 0;
    TRY(ops_refused("has one scale per channel, which only a static tensor can have"));
    w = linear_begin(REF_U16Q, "2,8", REF_S8Q, "4,8", "2,4");
    ops_encode(w, REF_QUANT_PER_TENSOR, 1, 0.1f, 0);
    bias = ops_in(REF_I32, "4");
    TRY(ops_refused("input 2 \"t3\" is INT_32, expected SFIXED_POINT_32 or UFIXED_POINT_8"
                    " because input 0 is UFIXED_POINT_16"));
    bias->dtype = REF_S32Q;
    ops_encode(bias, REF_QUANT_PER_TENSOR, 1, 0.1f, 7);
    TRY(ops_refused("input 2 \"t3\" has offset 7, expected 0"));
    ops_encode(bias, REF_QUANT_PER_TENSOR, 1, 0.1f, 0);
    ops_encode_channels(w, 0, 1.0);
    TRY(ops_refused("input 2 \"t3\" has one scale, but the weight \"t1\" one per channel: give the"
                    " bias scales"));
    linear_begin(REF_F16, "2,8", REF_F16, "4,8", "2,4");
    ops_in(REF_F32, "4");
    TRY(ops_refused("input 2 \"t3\" is FLOAT_32, expected FLOAT_16"));
    linear_begin(REF_F32, "2,8", REF_F32, "4,8", "2,4");
    ops_in(REF_F32, "5");
    TRY(ops_refused("input 2 \"t3\" is [5], expected [4]"));
}

/* ---- convolutions ---------------------------------------------------------------------------- */

typedef struct conv_case {
    const char *type, *x, *w, *out, *stride, *pad, *dilation, *extra;
    uint32_t    group;
} conv_case;

static const conv_case conv_cases[] = {
    { "Conv2d", "1,6,6,4", "3,3,4,8", "1,6,6,8", "1,1", "1,1,1,1", NULL, NULL, 1 },
    { "Conv2d", "2,7,5,3", "3,2,3,5", "2,4,5,5", "2,1", "0,3,1,0", "1,1", NULL, 1 },
    { "Conv2d", "1,1,3,16", "1,1,16,20", "1,1,3,20", "1,1", "0,0,0,0", NULL, NULL, 1 },
    { "Conv2d", "1,9,8,4", "3,3,2,6", "1,5,4,6", "1,2", "0,0,1,2", "2,2", NULL, 2 },
    { "Conv2d", "1,7,9,2", "3,3,2,3", "1,3,5,3", "1,1", "0,0,0,0", "2,2", NULL, 1 },
    { "Conv2d", "1,5,5,6", "3,3,1,6", "1,5,5,6", "1,1", "1,1,1,1", NULL, NULL, 6 },
    { "Conv2d", "1,19,17,2", "2,3,2,1", "1,18,15,1", "1,1", "0,0,0,0", NULL, NULL, 1 },
    { "Conv2d", "1,2,2,4", "1,1,4,3", "1,6,4,3", "1,1", "2,2,2,0", NULL, NULL, 1 },
    { "DepthWiseConv2d", "1,6,6,4", "3,3,1,4", "1,6,6,4", "1,1", "1,1,1,1", NULL, NULL, 1 },
    { "DepthWiseConv2d", "2,7,6,3", "3,2,1,6", "2,3,6,6", "2,1", "1,0,0,1", "1,1", NULL, 1 },
    { "DepthWiseConv2d", "1,8,8,2", "3,3,1,2", "1,4,4,2", "1,1", "0,0,0,0", "2,2", NULL, 1 },
    { "TransposeConv2d", "1,4,4,4", "2,2,4,8", "1,8,8,8", "2,2", "0,0,0,0", NULL, NULL, 1 },
    { "TransposeConv2d", "2,4,3,4", "3,3,4,5", "2,7,5,5", "2,2", "1,1,1,1", NULL, NULL, 1 },
    { "TransposeConv2d", "1,4,4,4", "3,3,4,5", "1,8,9,5", "2,2", "1,1,1,0", NULL, "1,1", 1 },
    { "TransposeConv2d", "1,3,4,4", "3,2,2,6", "1,4,10,6", "1,3", "0,1,0,1", NULL, NULL, 2 },
    { "TransposeConv2d", "1,3,3,2", "1,1,2,3", "1,7,7,3", "3,3", "0,0,0,0", NULL, NULL, 1 }
};

static void numbers_read(const char *text, int count, int64_t otherwise, int64_t *numbers)
{
    char *end;
    for (int i = 0; i < count; ++i, text = text != NULL ? end + 1 : NULL)
        numbers[i] = text != NULL ? (int64_t)strtol(text, &end, 10) : otherwise;
}

/* Visit every pair of input and output pixel, and test whether a tap joins them. */
static void conv_slow(const conv_case *c, const ref_tensor *x, const ref_tensor *w,
                      const ref_tensor *out, double *expected)
{
    const int spreads = strcmp(c->type, "TransposeConv2d") == 0,
        depthwise = strcmp(c->type, "DepthWiseConv2d") == 0;
    int64_t stride[2], pad[4], dilation[2];
    numbers_read(c->stride, 2, 1, stride);
    numbers_read(c->pad, 4, 0, pad);
    numbers_read(c->dilation, 2, 1, dilation);
    for (uint64_t o = 0; o < out->count; ++o) {
        const int64_t oc = (int64_t)(o % out->dims[3]),
            ox = (int64_t)(o / out->dims[3] % out->dims[2]);
        const int64_t oy = (int64_t)(o / out->dims[3] / out->dims[2] % out->dims[1]);
        const uint64_t batch = o / out->dims[3] / out->dims[2] / out->dims[1];
        const uint32_t per_group = out->dims[3] / c->group;
        for (int64_t ky = 0; ky < w->dims[0]; ++ky)
            for (int64_t kx = 0; kx < w->dims[1]; ++kx)
                for (uint32_t ci = 0; ci < w->dims[2]; ++ci) {
                    const uint32_t channel = depthwise ? (uint32_t)oc / (out->dims[3] / x->dims[3])
                                                       : (uint32_t)oc / per_group * w->dims[2] + ci;
                    int64_t iy, ix;
                    if (spreads) {
                        iy = oy + pad[0] - ky;
                        ix = ox + pad[2] - kx;
                        if (iy % stride[0] != 0 || ix % stride[1] != 0) continue;
                        iy /= stride[0];
                        ix /= stride[1];
                    } else {
                        iy = oy * stride[0] + ky * dilation[0] - pad[0];
                        ix = ox * stride[1] + kx * dilation[1] - pad[2];
                    }
                    if (iy < 0 || ix < 0 || iy >= x->dims[1] || ix >= x->dims[2]) continue;
                    expected[o] += ops_real(x, at4(x, batch, (uint64_t)iy, (uint64_t)ix, channel)) *
                                   ops_real(w,
                                            at4(w, (uint64_t)ky, (uint64_t)kx, ci, (uint64_t)oc));
                }
    }
}

/* Make a convolution. Return 0 if such a weight does not exist. */
static int conv_make(const conv_case *c, uint32_t type, uint32_t weight_type, int form)
{
    const int depthwise = strcmp(c->type, "DepthWiseConv2d") == 0;
    ops_begin(c->type);
    ops_random(ops_in(type, c->x), -2.0, 3.0);
    if (!weight_make(ops_in(weight_type, c->w), form, 3, depthwise ? 3 : 2, 0.6)) return 0;
    ops_out(type, c->out);
    ops_numbers("stride", REF_U32, c->stride);
    set_pads(c->pad);
    if (c->dilation != NULL) ops_numbers("dilation", REF_U32, c->dilation);
    if (c->extra != NULL) ops_numbers("output_padding", REF_U32, c->extra);
    if (c->group != 1) ops_scalar("group", REF_U32, c->group);
    return 1;
}

static void conv_one(const conv_case *c, uint32_t type, uint32_t weight_type, int form,
                     int with_bias)
{
    const ref_tensor *x = &ops.tensors[0], *w = &ops.tensors[1], *out = &ops.tensors[2], *bias;
    double *expected;
    if (!conv_make(c, type, weight_type, form)) return;
    expected = ops_doubles(out);
    if (with_bias) {
        bias = bias_make(x, w, out->dims[3]);
        for (uint64_t i = 0; i < out->count; ++i)
            expected[i] = ops_real(bias, i % out->dims[3]);
    }
    conv_slow(c, x, w, out, expected);
    ops_run(expected);
}

TEST(convolutions_sum_over_their_taps_in_every_form_and_type)
{
    ops_seed = 31;
    for (size_t c = 0; c < sizeof conv_cases / sizeof conv_cases[0]; ++c)
        for (int x = 0; x < ALL_TYPES; ++x)
            for (int w = 0; w < ALL_TYPES; ++w)
                for (int form = PER_TENSOR; form <= IN_BLOCKS; ++form)
                    if (fits(all_types[x], all_types[w]))
                        TRY(conv_one(&conv_cases[c], all_types[x], all_types[w], form,
                                     (int)ops_pick(2)));
}

static void conv_refused(const char *words, const char *type, const char *x, const char *w,
                         const char *out, const char *stride, const char *pad, const char *dilation,
                         const char *extra, uint32_t group)
{
    const conv_case c = { type, x, w, out, stride, pad, dilation, extra, group };
    CHECK(conv_make(&c, REF_F32, REF_F32, PER_TENSOR));
    ops_refused(words);
}

TEST(convolutions_refuse_what_is_wrong_and_say_why)
{
    const conv_case depthwise = conv_cases[8];
    TRY(conv_refused("input 0 \"t0\" is [6, 6, 4], expected rank 4: [batch, height, width,"
                     " channels]", "Conv2d", "6,6,4", "3,3,4,8", "1,6,6,8", "1,1", "1,1,1,1", NULL,
                     NULL, 1));
    TRY(conv_refused("input 1 \"t1\" is [3, 4, 8], expected rank 4: [height, width, in, out]",
                     "Conv2d", "1,6,6,4", "3,4,8", "1,6,6,8", "1,1", "1,1,1,1", NULL, NULL, 1));
    TRY(conv_refused("stride \"t3\" is [1], expected [2]", "Conv2d", "1,6,6,4", "3,3,4,8",
                     "1,6,6,8", "1", "1,1,1,1", NULL, NULL, 1));
    TRY(conv_refused("pad_amount \"t4\" is [1, 2], expected [2, 2]", "Conv2d", "1,6,6,4", "3,3,4,8",
                     "1,6,6,8", "1,1", "1,1", NULL, NULL, 1));
    TRY(conv_refused("stride 0 and dilation 1 along the width: each must be at least 1", "Conv2d",
                     "1,6,6,4", "3,3,4,8", "1,6,6,8", "1,0", "1,1,1,1", NULL, NULL, 1));
    TRY(conv_refused("stride 1 and dilation 0 along the height", "Conv2d", "1,6,6,4", "3,3,4,8",
                     "1,6,6,8", "1,1", "1,1,1,1", "0,1", NULL, 1));
    TRY(conv_refused("the kernel reaches over 7 elements of the height, but input and padding have"
                     " 6", "Conv2d", "1,4,6,4", "3,3,4,8", "1,6,6,8", "1,1", "1,1,1,1", "3,1", NULL,
                     1));
    TRY(conv_refused("output \"t2\" is [1, 6, 5, 8], expected [1, 6, 6, 8]", "Conv2d", "1,6,6,4",
                     "3,3,4,8", "1,6,5,8", "1,1", "1,1,1,1", NULL, NULL, 1));
    TRY(conv_refused("group 3 does not divide the 4 channels of \"t0\" and the 8 of \"t1\"",
                     "Conv2d", "1,6,6,4", "3,3,4,8", "1,6,6,8", "1,1", "1,1,1,1", NULL, NULL, 3));
    TRY(conv_refused("group 0 does not divide", "Conv2d", "1,6,6,4", "3,3,4,8", "1,6,6,8", "1,1",
                     "1,1,1,1", NULL, NULL, 0));
    TRY(conv_refused("input 1 \"t1\" has 4 input channels, expected 2: the 4 of \"t0\" over group"
                     " 2", "Conv2d", "1,6,6,4", "3,3,4,8", "1,6,6,8", "1,1", "1,1,1,1", NULL, NULL,
                     2));
    TRY(conv_refused("input 1 \"t1\" has 1 by 6 channels, expected 1 by a multiple of the 4 of"
                     " \"t0\"", "DepthWiseConv2d", "1,6,6,4", "3,3,1,6", "1,6,6,6", "1,1",
                     "1,1,1,1", NULL, NULL, 1));
    TRY(conv_refused("output_padding 2 along the height, expected less than the stride 2",
                     "TransposeConv2d", "1,4,4,4", "2,2,4,8", "1,8,8,8", "2,2", "0,0,0,0", NULL,
                     "2,1", 1));
    TRY(conv_refused("padding of 4 and 4 leaves nothing of a width of 8", "TransposeConv2d",
                     "1,4,4,4", "2,2,4,8", "1,8,8,8", "2,2", "0,0,4,4", NULL, NULL, 1));
    TRY(conv_refused("the output would have a height of", "Conv2d", "1,6,6,4", "3,3,4,8", "1,6,6,8",
                     "1,1", "-1,-1,1,1", NULL, NULL, 1));

    CHECK(conv_make(&depthwise, REF_U8Q, REF_S8Q, PER_CHANNEL));
    ops_encode_blocks(&ops.tensors[1], 3, 2, 1, 1.0);
    TRY(ops_refused("has block-wise scales, which need SFIXED_POINT_8 and an operator that sums"
                    " over channels"));
    CHECK(conv_make(&conv_cases[0], REF_U8Q, REF_S8Q, PER_CHANNEL));
    ops_encode_blocks(&ops.tensors[1], 3, 1, 1, 1.0);
    TRY(ops_refused("has its blocks along axis 1, expected axis 2"));
    ops_encode_channels(&ops.tensors[1], 2, 1.0);
    TRY(ops_refused("has its scales along axis 2, expected axis 3, the outputs"));
    CHECK(conv_make(&conv_cases[0], REF_U8Q, REF_S16Q, PER_TENSOR));
    TRY(ops_refused("is static SFIXED_POINT_16, with UFIXED_POINT_8 as input 0 it must be"
                    " SFIXED_POINT_8 or UFIXED_POINT_8"));
    CHECK(conv_make(&conv_cases[0], REF_F32, REF_F32, PER_TENSOR));
    ops.tensors[2].dtype = REF_F16;
    TRY(ops_refused("output \"t2\" is FLOAT_16, expected FLOAT_32"));
}

/* ---- pooling --------------------------------------------------------------------------------- */

typedef struct pool_case {
    const char *x, *out, *filter, *stride, *pad;
    int         ceil, whole;
} pool_case;

static const pool_case pool_cases[] = {
    { "1,6,6,4", "1,3,3,4", "2,2", "2,2", "0,0,0,0", 0, 0 },
    { "2,6,5,3", "2,6,5,3", "3,3", "1,1", "1,1,1,1", 0, 0 },
    { "2,6,5,3", "2,6,5,3", "3,3", "1,1", "1,1,1,1", 0, 1 },
    { "1,7,8,2", "1,3,4,2", "3,2", "2,2", "0,0,0,1", 0, 1 },
    { "1,7,7,5", "1,1,1,5", "7,7", "1,1", "0,0,0,0", 0, 0 },
    { "1,6,6,2", "1,3,3,2", "2,2", "2,2", "0,0,0,0", 1, 0 },
    { "1,6,7,2", "1,3,3,2", "3,3", "2,2", "0,0,0,0", 1, 0 }
};

static void pool_make(const char *type, uint32_t dtype, const pool_case *c)
{
    ops_begin(type);
    ops_random(ops_in(dtype, c->x), -3.0, -0.5);
    ops_out(dtype, c->out);
    ops_numbers("filter_size", REF_U32, c->filter);
    ops_numbers("stride", REF_U32, c->stride);
    set_pads(c->pad);
    if (c->ceil) ops_scalar("rounding_mode", REF_U32, c->ceil);
    if (c->whole && strcmp(type, "PoolAvg2d") == 0) ops_scalar("count_pad_for_edges", REF_BOOL, 1);
}

static void pool_one(const char *type, uint32_t dtype, const pool_case *c)
{
    const ref_tensor *x = &ops.tensors[0], *out = &ops.tensors[1];
    const int average = strcmp(type, "PoolAvg2d") == 0;
    int64_t filter[2], stride[2], pad[4];
    double *expected;
    pool_make(type, dtype, c);
    numbers_read(c->filter, 2, 1, filter);
    numbers_read(c->stride, 2, 1, stride);
    numbers_read(c->pad, 4, 0, pad);
    expected = ops_doubles(out);
    for (uint64_t o = 0; o < out->count; ++o) {
        const int64_t channel = (int64_t)(o % out->dims[3]),
            ox = (int64_t)(o / out->dims[3] % out->dims[2]);
        const int64_t oy = (int64_t)(o / out->dims[3] / out->dims[2] % out->dims[1]);
        double sum = 0.0, most = -HUGE_VAL;
        int64_t count = 0;
        for (int64_t y = oy * stride[0] - pad[0]; y < oy * stride[0] - pad[0] + filter[0]; ++y)
            for (int64_t ix = ox * stride[1] - pad[2]; ix < ox * stride[1] - pad[2] + filter[1];
                 ++ix) {
                double value;
                if (y < 0 || ix < 0 || y >= x->dims[1] || ix >= x->dims[2]) continue;
                value = ops_real(x, at4(x, o / out->dims[3] / out->dims[2] / out->dims[1],
                                        (uint64_t)y, (uint64_t)ix, (uint64_t)channel));
                sum += value;
                most = value > most ? value : most;
                ++count;
            }
        expected[o] = average ? sum / (double)(c->whole ? filter[0] * filter[1] : count) : most;
    }
    ops_run(expected);
}

TEST(pooling_looks_at_the_elements_that_are_there)
{
    ops_seed = 41;
    for (size_t c = 0; c < sizeof pool_cases / sizeof pool_cases[0]; ++c)
        for (int t = 0; t < ALL_TYPES; ++t) {
            TRY(pool_one("PoolMax2d", all_types[t], &pool_cases[c]));
            if (c != 6)   /* in case 6 a window reaches over the edge, which PoolAvg2d refuses */
                TRY(pool_one("PoolAvg2d", all_types[t], &pool_cases[c]));
        }
}

static void pool_refused(const char *words, const char *type, const char *x, const char *out,
                         const char *filter, const char *stride, const char *pad, int mode)
{
    const pool_case c = { x, out, filter, stride, pad, mode, 0 };
    pool_make(type, REF_F32, &c);
    ops_refused(words);
}

TEST(pooling_refuses_what_is_wrong_and_says_why)
{
    TRY(pool_refused("input 0 \"t0\" is [6, 6, 4], expected rank 4", "PoolMax2d", "6,6,4",
                     "1,3,3,4", "2,2", "2,2", "0,0,0,0", 0));
    TRY(pool_refused("filter_size \"t2\" is [1], expected [2]", "PoolMax2d", "1,6,6,4", "1,3,3,4",
                     "2", "2,2", "0,0,0,0", 0));
    TRY(pool_refused("pad_amount \"t4\" is [1, 2], expected [2, 2]", "PoolMax2d", "1,6,6,4",
                     "1,3,3,4", "2,2", "2,2", "0,0", 0));
    TRY(pool_refused("rounding_mode 2, expected 0 (floor) or 1 (ceil)", "PoolMax2d", "1,6,6,4",
                     "1,3,3,4", "2,2", "2,2", "0,0,0,0", 2));
    TRY(pool_refused("filter_size 2 and stride 0 along the width", "PoolAvg2d", "1,6,6,4",
                     "1,3,3,4", "2,2", "2,0", "0,0,0,0", 0));
    TRY(pool_refused("padding of 2 and 0 along the height, expected less than the filter's 2",
                     "PoolAvg2d", "1,6,6,4", "1,3,3,4", "2,2", "2,2", "2,0,0,0", 0));
    TRY(pool_refused("the filter has a width of 9, but input and padding have 6", "PoolMax2d",
                     "1,6,6,4", "1,3,3,4", "2,9", "2,2", "0,0,0,0", 0));
    TRY(pool_refused("the last window reaches 1 over the height, for which libraries return"
                     " garbage", "PoolAvg2d", "1,6,6,4", "1,3,3,4", "3,3", "2,2", "0,0,0,0", 1));
    TRY(pool_refused("the last window along the height lies in the padding: use rounding_mode 0",
                     "PoolMax2d", "1,6,6,4", "1,3,3,4", "3,3", "6,6", "0,2,0,2", 1));
    TRY(pool_refused("output \"t1\" is [1, 3, 3, 4], expected [1, 5, 5, 4]", "PoolMax2d", "1,6,6,4",
                     "1,3,3,4", "2,2", "1,1", "0,0,0,0", 0));
}

/* ---- resizing -------------------------------------------------------------------------------- */

enum { RESIZE_PLAIN, RESIZE_ALIGN, RESIZE_CENTERS };

static double resize_position(uint64_t o, uint32_t in, uint32_t out, int mode)
{
    if (mode == RESIZE_ALIGN) return out > 1 ? (double)o * (in - 1) / (out - 1) : 0.0;
    if (mode == RESIZE_CENTERS) return ((double)o + 0.5) * in / out - 0.5;
    return (double)o * in / out;
}

static void resize_make(const char *type, uint32_t dtype, const char *x, const char *out, int mode)
{
    ops_begin(type);
    ops_random(ops_in(dtype, x), -3.0, 2.0);
    ops_out(dtype, out);
    if (mode == RESIZE_ALIGN) ops_scalar("align_corners", REF_BOOL, 1);
    if (mode == RESIZE_CENTERS) ops_scalar("half_pixel_centers", REF_BOOL, 1);
}

static void resize_one(const char *type, uint32_t dtype, const char *x_shape, const char *out_shape,
                       int mode)
{
    const ref_tensor *x = &ops.tensors[0], *out = &ops.tensors[1];
    const int bilinear = strcmp(type, "ResizeBilinear") == 0;
    double *expected;
    resize_make(type, dtype, x_shape, out_shape, mode);
    if (!bilinear) ops.tensors[1].quant = x->quant;
    expected = ops_doubles(out);
    for (uint64_t o = 0; o < out->count; ++o) {
        const uint64_t at[2] = { o / out->dims[3] / out->dims[2] % out->dims[1],
                                 o / out->dims[3] % out->dims[2] };
        const uint64_t batch = o / out->dims[3] / out->dims[2] / out->dims[1],
            channel = o % out->dims[3];
        double part[2];
        uint64_t low[2], high[2];
        for (int d = 0; d < 2; ++d) {
            const uint32_t in = x->dims[1 + d];
            double position = resize_position(at[d], in, out->dims[1 + d], mode);
            /* Add half a pixel, then truncate. */
            if (!bilinear && mode == RESIZE_CENTERS) position += 0.5;
            if (!bilinear && mode == RESIZE_ALIGN) position = floor(position + 0.5);
            position = position < 0.0 ? 0.0 : position > in - 1.0 ? in - 1.0 : position;
            low[d] = (uint64_t)(position + 1e-9);
            high[d] = low[d] + 1 < in ? low[d] + 1 : low[d];
            part[d] = bilinear ? position - (double)low[d] : 0.0;
        }
        for (int corner = 0; corner < 4; ++corner) {
            const int down = corner >> 1, right = corner & 1;
            const uint64_t y = down ? high[0] : low[0], left = right ? high[1] : low[1];
            expected[o] += (down ? part[0] : 1.0 - part[0]) * (right ? part[1] : 1.0 - part[1])
                * ops_real(x, at4(x, batch, y, left, channel));
        }
    }
    ops_run(expected);
}

TEST(resizing_places_pixels_by_its_flags)
{
    static const char *const shapes[][2] = {
        { "1,3,4,2", "1,6,8,2" }, { "2,5,6,3", "2,3,4,3" }, { "1,3,3,1", "1,7,5,1" },
        { "1,4,1,2", "1,1,3,2" },
        { "1,2,7,2", "1,2,7,2" }, { "1,10,9,2", "1,13,30,2" }
    };
    ops_seed = 51;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s)
        for (int mode = RESIZE_PLAIN; mode <= RESIZE_CENTERS; ++mode)
            for (int t = 0; t < ALL_TYPES; ++t) {
                TRY(resize_one("ResizeBilinear", all_types[t], shapes[s][0], shapes[s][1], mode));
                TRY(resize_one("ResizeNearestNeighbor", all_types[t], shapes[s][0], shapes[s][1],
                               mode));
            }
}

TEST(resizing_refuses_what_is_wrong_and_says_why)
{
    resize_make("ResizeBilinear", REF_F32, "3,4,2", "1,6,8,2", RESIZE_PLAIN);
    TRY(ops_refused("input 0 \"t0\" is [3, 4, 2], expected rank 4"));
    resize_make("ResizeBilinear", REF_F32, "1,3,4,2", "1,6,8,3", RESIZE_PLAIN);
    TRY(ops_refused("output \"t1\" is [1, 6, 8, 3], expected [1, any height, any width, 2]"));
    resize_make("ResizeNearestNeighbor", REF_F32, "1,3,4,2", "1,6,8,2", RESIZE_ALIGN);
    ops_scalar("half_pixel_centers", REF_BOOL, 1);
    TRY(ops_refused("align_corners and half_pixel_centers exclude each other"));
    resize_make("ResizeBilinear", REF_F32, "1,3,4,2", "1,6,8,2", RESIZE_PLAIN);
    ops_scalar("antialias", REF_BOOL, 1);
    TRY(ops_refused("antialias is not computed here: pass 0"));
    resize_make("ResizeNearestNeighbor", REF_U8Q, "1,3,4,2", "1,6,8,2", RESIZE_PLAIN);
    TRY(ops_refused("output \"t1\" has a different encoding than input 0 \"t0\": libraries"
                    " copy the values"));
    resize_make("ResizeBilinear", REF_F32, "1,3,4,2", "1,6,8,2", RESIZE_PLAIN);
    ops.tensors[1].dtype = REF_F16;
    TRY(ops_refused("output \"t1\" is FLOAT_16, expected FLOAT_32"));
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* Return the row of element i when rows run along the axes in `bits`, and its index in that row. */
static void row_of(const ref_tensor *x, uint64_t i, uint32_t bits, uint64_t *row, uint64_t *within)
{
    uint64_t row_step = 1, within_step = 1;
    *row = *within = 0;
    for (uint32_t d = x->rank; d-- > 0; i /= x->dims[d]) {
        const int along = (bits >> d & 1u) != 0;
        uint64_t *number = along ? within : row, *step = along ? &within_step : &row_step;
        *number += i % x->dims[d] * *step;
        *step *= x->dims[d];
    }
}

/* Compute expected = x minus the mean of its row (centre), divided by the root of the mean of the
   squares (mean) or of their sum, plus epsilon. */
static void normalize_slow(const ref_tensor *x, const uint64_t *rows, uint64_t row_count,
                           int centre, int mean, double epsilon, double *expected)
{
    for (uint64_t row = 0; row < row_count; ++row) {
        double middle = 0.0, squares = 0.0, count = 0.0;
        for (uint64_t i = 0; i < x->count; ++i)
            if (rows[i] == row) {
                middle += ops_real(x, i);
                count += 1.0;
            }
        middle = centre ? middle / count : 0.0;
        for (uint64_t i = 0; i < x->count; ++i)
            squares += rows[i] == row ? (ops_real(x, i) - middle) * (ops_real(x, i) - middle) : 0.0;
        for (uint64_t i = 0; i < x->count; ++i)
            if (rows[i] == row)
                expected[i] = (ops_real(x, i) - middle)
                    / sqrt((mean ? squares / count : squares) + epsilon);
    }
}

/* Return the type of gamma for an activation: the same type, or a narrower one. */
static uint32_t gain_type(uint32_t type, int narrow)
{
    if (!ref_is_quantized(type)) return type;
    if (narrow) return REF_U8Q;
    return type == REF_U16Q ? REF_S16Q : type;
}

/* Add gamma and beta of this shape. several: 0 none, 1 gamma, 2 both. */
static void gain_make(uint32_t type, const char *gain_shape, int several)
{
    ref_tensor *beta;
    if (several > 0) ops_random(ops_in(gain_type(type, (int)ops_pick(2)), gain_shape), 0.5, 1.5);
    if (several < 2) return;
    beta = ops_in(ref_is_quantized(type) && ops_pick(2) ? REF_S32Q : gain_type(type, 1),
                  gain_shape);
    if (beta->dtype == REF_S32Q) ops_encode(beta, REF_QUANT_PER_TENSOR, 1, 2.3e-5f, 0);
    else if (ref_is_quantized(beta->dtype)) ops_encode_range(beta, -1.0, 1.0);
    ops_fill(beta, -1.0, 1.0);
}

static void axes_norm_one(const char *type, uint32_t dtype, const char *x_shape, const char *axes,
                          uint32_t bits, const char *gain_shape, int several, double epsilon)
{
    ref_tensor *x, *out;
    uint64_t *rows, row_count = 1;
    double *expected;
    ops_begin(type);
    x = ops_in(dtype, x_shape);
    ops_random(x, -2.0, 3.0);
    gain_make(dtype, gain_shape, several);
    out = ops_out(dtype, x_shape);
    ops_numbers("axes", REF_U32, axes);
    ops_scalar("epsilon", REF_F32, epsilon);
    expected = ops_doubles(out);
    rows = (uint64_t *)ops_alloc((size_t)x->count * sizeof *rows);
    for (uint64_t i = 0; i < x->count; ++i) {
        uint64_t within;
        row_of(x, i, bits, &rows[i], &within);
        row_count = rows[i] + 1 > row_count ? rows[i] + 1 : row_count;
    }
    normalize_slow(x, rows, row_count, strcmp(type, "LayerNorm") == 0, 1, epsilon, expected);
    for (uint64_t i = 0; i < x->count; ++i) {
        uint64_t row, within;
        row_of(x, i, bits, &row, &within);
        if (several > 0) expected[i] *= ops_real(&ops.tensors[1], within);
        if (several > 1) expected[i] += ops_real(&ops.tensors[2], within);
    }
    ops_run(expected);
}

TEST(rms_and_layer_norm_work_along_any_axes)
{
    static const char *const types[] = { "RmsNorm", "LayerNorm" };
    ops_seed = 61;
    for (int n = 0; n < 2; ++n)
        for (int t = 0; t < ALL_TYPES; ++t)
            for (int several = 1 - n; several < 3; ++several) {
                TRY(axes_norm_one(types[n], all_types[t], "2,3,16", "2", 4, "16", several, 1e-5));
                TRY(axes_norm_one(types[n], all_types[t], "1,1,2,128", "3", 8, "128", several,
                                  0.5));
                TRY(axes_norm_one(types[n], all_types[t], "2,3,16", "2,1", 6, "3,16", several,
                                  1e-5));
                TRY(axes_norm_one(types[n], all_types[t], "4,5,3", "0", 1, "4", several, 1e-5));
                TRY(axes_norm_one(types[n], all_types[t], "4,5,1,3", "0,3", 9, "4,3", several,
                                  1e-5));
            }
}

static void image_norm_one(const char *type, uint32_t dtype, const char *x_shape, uint32_t group)
{
    const double epsilon = 1e-5;
    ref_tensor *x, *out;
    char channels[16];
    uint64_t *rows, positions;
    uint32_t c;
    double *expected;
    ops_begin(type);
    x = ops_in(dtype, x_shape);
    c = x->dims[x->rank - 1];
    positions = x->count / x->dims[0] / c;
    ops_random(x, -2.0, 3.0);
    snprintf(channels, sizeof channels, "%u", (unsigned)c);
    gain_make(dtype, channels, 2);
    out = ops_out(dtype, x_shape);
    expected = ops_doubles(out);
    rows = (uint64_t *)ops_alloc((size_t)x->count * sizeof *rows);
    if (group > 0) {
        ops_scalar("epsilon", REF_F32, epsilon);
        if (strcmp(type, "GroupNorm") == 0) ops_scalar("group", REF_U32, group);
        for (uint64_t i = 0; i < x->count; ++i)
            rows[i] = i / c / positions * group + i % c / (c / group);
        normalize_slow(x, rows, x->dims[0] * group, 1, 1, epsilon, expected);
    } else {
        for (uint64_t i = 0; i < x->count; ++i)
            expected[i] = ops_real(x, i);
    }
    for (uint64_t i = 0; i < x->count; ++i)
        expected[i] = expected[i] * ops_real(&ops.tensors[1], i % c)
            + ops_real(&ops.tensors[2], i % c);
    ops_run(expected);
}

TEST(norms_of_images_work_by_channel_and_group)
{
    ops_seed = 62;
    for (int t = 0; t < ALL_TYPES; ++t) {
        TRY(image_norm_one("Batchnorm", all_types[t], "2,3,4,8", 0));
        TRY(image_norm_one("Batchnorm", all_types[t], "5,7", 0));
        TRY(image_norm_one("InstanceNorm", all_types[t], "2,4,4,8", 8));
        TRY(image_norm_one("InstanceNorm", all_types[t], "2,9,3", 3));
        TRY(image_norm_one("GroupNorm", all_types[t], "2,4,3,8", 2));
        TRY(image_norm_one("GroupNorm", all_types[t], "1,5,5,6", 1));
        TRY(image_norm_one("GroupNorm", all_types[t], "1,5,5,6", 6));
    }
}

/* Test L2Norm, Softmax and LogSoftmax. */
static void row_norm_one(const char *type, uint32_t dtype, const char *x_shape, int axis,
                         double beta)
{
    ref_tensor *x, *out;
    uint64_t *rows, row_count = 1;
    double *expected;
    uint32_t bits;
    ops_begin(type);
    x = ops_in(dtype, x_shape);
    ops_random(x, -2.0, 3.0);
    out = ops_out(dtype, x_shape);
    bits = 1u << (axis >= 0 ? (uint32_t)axis : x->rank - 1);
    if (axis >= 0 && strcmp(type, "L2Norm") == 0 && ops_pick(2)) {
        char text[16];
        snprintf(text, sizeof text, "%d", axis);
        ops_numbers("axes", REF_U32, text);
    } else if (axis >= 0) {
        ops_scalar("axis", REF_U32, axis);
    }
    if (beta != 1.0) ops_scalar("beta", REF_F32, beta);
    expected = ops_doubles(out);
    rows = (uint64_t *)ops_alloc((size_t)x->count * sizeof *rows);
    for (uint64_t i = 0; i < x->count; ++i) {
        uint64_t within;
        row_of(x, i, bits, &rows[i], &within);
        row_count = rows[i] + 1 > row_count ? rows[i] + 1 : row_count;
    }
    if (strcmp(type, "L2Norm") == 0) {
        normalize_slow(x, rows, row_count, 0, 0, 0.0, expected);
    } else {
        for (uint64_t row = 0; row < row_count; ++row) {
            double sum = 0.0;
            for (uint64_t i = 0; i < x->count; ++i)
                sum += rows[i] == row ? exp(beta * ops_real(x, i)) : 0.0;
            for (uint64_t i = 0; i < x->count; ++i)
                if (rows[i] == row)
                    expected[i] = type[0] == 'L' ? beta * ops_real(x, i) - log(sum)
                        : exp(beta * ops_real(x, i)) / sum;
        }
    }
    ops_run(expected);
}

TEST(l2_norm_and_softmax_work_along_any_axis)
{
    ops_seed = 63;
    for (int t = 0; t < ALL_TYPES; ++t)
        for (int axis = 0; axis < 3; ++axis) {
            TRY(row_norm_one("L2Norm", all_types[t], "3,4,17", axis, 1.0));
            TRY(row_norm_one("Softmax", all_types[t], "3,4,17", axis - 1, axis == 1 ? 2.0 : 1.0));
            TRY(row_norm_one("LogSoftmax", all_types[t], "3,4,17", axis, axis == 1 ? 0.5 : 1.0));
        }
}

TEST(l2_norm_of_little_divides_by_the_root_of_epsilon)
{
    const double expected[4] = { 0.0, 0.02, -0.04, 0.0 };
    float *values;
    ops_begin("L2Norm");
    values = (float *)ops_in(REF_F32, "1,4")->data;
    values[1] = 0.01f;
    values[2] = -0.02f;
    ops_out(REF_F32, "1,4");
    ops_scalar("axis", REF_U32, 1);
    ops_scalar("epsilon", REF_F32, 0.25);
    TRY(ops_run(expected));
}

/* Values so small that epsilon determines the result: 1e-6 for RmsNorm and LayerNorm, 1e-12 for
   the others. */
TEST(an_absent_epsilon_is_the_documented_one)
{
    static const struct {
        const char *type, *shape, *gain;
        int         gains, with_axes;
        double      value, expected;
    } cases[] = {
        { "RmsNorm", "1,4", "4", 1, 1, 1e-3, 0.70710678 },
        { "LayerNorm", "1,4", "4", 1, 1, 1e-3, 0.70710678 },
        { "InstanceNorm", "1,2,2,1", "1", 2, 0, 1e-6, 0.70710678 },
        { "L2Norm", "1,4", NULL, 0, 1, 2.5e-7, 0.25 }
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        double expected[4];
        float *values;
        ops_begin(cases[c].type);
        values = (float *)ops_in(REF_F32, cases[c].shape)->data;
        for (int i = 0; i < 4; ++i) {
            values[i] = (float)(i % 2 == 0 ? cases[c].value : -cases[c].value);
            expected[i] = i % 2 == 0 ? cases[c].expected : -cases[c].expected;
        }
        for (int g = 0; g < cases[c].gains; ++g)
            ops_fill(ops_in(REF_F32, cases[c].gain), 1.0 - g, 1.0 - g);
        ops_out(REF_F32, cases[c].shape);
        if (cases[c].with_axes) ops_numbers("axes", REF_U32, "1");
        TRY(ops_run(expected));
    }
}

TEST(softmax_is_not_upset_by_large_numbers)
{
    const double expected[4] = { 0.5, 0.5, 0.0, 0.0 };
    float *values;
    ops_begin("Softmax");
    values = (float *)ops_in(REF_F32, "4")->data;
    values[0] = values[1] = 1e4f;
    values[2] = -1e4f;
    values[3] = -HUGE_VALF;
    ops_out(REF_F32, "4");
    TRY(ops_run(expected));
}

static void norm_begin(const char *type, uint32_t dtype, const char *x, uint32_t gain,
                       const char *gain_shape, const char *axes)
{
    ops_begin(type);
    ops_random(ops_in(dtype, x), -1.0, 1.0);
    if (gain_shape != NULL) ops_random(ops_in(gain, gain_shape), 0.5, 1.5);
    ops_out(dtype, x);
    if (axes != NULL) ops_numbers("axes", REF_U32, axes);
}

TEST(norms_refuse_what_is_wrong_and_say_why)
{
    norm_begin("RmsNorm", REF_F32, "2,8", REF_F32, "8", "2");
    TRY(ops_refused("parameter \"axes\" has axis 2, input 0 \"t0\" has rank 2"));
    norm_begin("RmsNorm", REF_F32, "2,8", REF_F32, "8", "1,1");
    TRY(ops_refused("parameter \"axes\" has axis 1 twice"));
    norm_begin("RmsNorm", REF_F32, "2,8", REF_F32, "8", "1");
    ops.tensors[3].rank = ops.tensors[3].dims[1] = 2;
    ops.tensors[3].count = 2;
    TRY(ops_refused("axes \"t3\" is [1, 2], expected [1]"));
    norm_begin("RmsNorm", REF_F32, "2,8", REF_F32, "2", "1");
    TRY(ops_refused("input 1 \"t1\" is [2], expected [8]"));
    norm_begin("RmsNorm", REF_F32, "2,8", REF_F32, NULL, "1");
    TRY(ops_refused("1 inputs, RmsNorm has 2 to 3"));
    norm_begin("RmsNorm", REF_F16, "2,8", REF_F32, "8", "1");
    TRY(ops_refused("input 1 \"t1\" is FLOAT_32, expected FLOAT_16"));
    norm_begin("RmsNorm", REF_U8Q, "2,8", REF_U16Q, "8", "1");
    TRY(ops_refused("input 1 \"t1\" is UFIXED_POINT_16, with UFIXED_POINT_8 as input 0 it must"
                    " be a fixed-point type of at most 8"));
    norm_begin("RmsNorm", REF_U8Q, "2,8", REF_U8Q, "8", "1");
    ops_random(ops_in(REF_U16Q, "8"), -1.0, 1.0);
    TRY(ops_refused("input 2 \"t4\" is UFIXED_POINT_16, with UFIXED_POINT_8 as input 0 it must"
                    " be a fixed-point type of at most 8 bits or SFIXED_POINT_32"));
    norm_begin("LayerNorm", REF_U16Q, "2,8", REF_U16Q, "8", "1");
    TRY(ops_refused("with which the NPU library computes LayerNorm wrong: give it UFIXED_POINT_8 or"
                    " SFIXED_POINT_16"));
    norm_begin("LayerNorm", REF_F32, "2,8", REF_F32, "8", "1");
    ops_scalar("epsilon", REF_F32, -1.0);
    TRY(ops_refused("epsilon -1, expected a number of at least 0"));
    norm_begin("LayerNorm", REF_F32, "2,8", REF_F32, "8", "1");
    ops.tensors[2].dims[0] = 1;
    ops.tensors[2].count = 8;
    TRY(ops_refused("output \"t2\" is [1, 8], expected [2, 8]"));
    norm_begin("Batchnorm", REF_F32, "2,8", REF_F32, "8", NULL);
    ops_in(REF_F32, "7");
    TRY(ops_refused("input 2 \"t3\" is [7], expected [8]"));
    norm_begin("InstanceNorm", REF_F32, "2,8", REF_F32, "8", NULL);
    ops_in(REF_F32, "8");
    TRY(ops_refused("input 0 \"t0\" is [2, 8], expected at least rank 3: [batch, ..., channels]"));
    ops_scalar("mode", REF_U32, 1);
    TRY(ops_refused("mode 1: libraries only compute mode 0 (MU_SIGMA)"));
    ops.params[0].name = "region";
    TRY(ops_refused("region 1: libraries only compute region 0 (ACROSS_SPATIAL)"));
    ops.node.param_count = 0;
    ops_scalar("normalize_variance", REF_BOOL, 0);
    TRY(ops_refused("normalize_variance 0 is not computed here: pass 1"));
    norm_begin("GroupNorm", REF_F32, "2,3,3,8", REF_F32, "8", NULL);
    ops_in(REF_F32, "8");
    ops_scalar("epsilon", REF_F32, 0.1);
    TRY(ops_refused("parameter \"group\" is missing"));
    ops_scalar("group", REF_U32, 3);
    TRY(ops_refused("group 3 does not divide the 8 channels of input 0 \"t0\""));
    norm_begin("L2Norm", REF_F32, "2,8", 0, NULL, NULL);
    TRY(ops_refused("parameters \"axis\" and \"axes\": expected one of them"));
    ops_scalar("axis", REF_U32, 2);
    TRY(ops_refused("axis 2, input 0 \"t0\" has rank 2"));
    ops_numbers("axes", REF_U32, "1");
    TRY(ops_refused("parameters \"axis\" and \"axes\": expected one of them"));
    norm_begin("Softmax", REF_F32, "2,8", 0, NULL, NULL);
    ops_scalar("axis", REF_U32, 4294967295.0);
    TRY(ops_refused("axis 4294967295, input 0 \"t0\" has rank 2"));
    norm_begin("Softmax", REF_F32, "2,8", 0, NULL, NULL);
    ops_scalar("beta", REF_F32, HUGE_VAL);
    TRY(ops_refused("beta inf, expected a number"));
    norm_begin("LogSoftmax", REF_F32, "2,8", 0, NULL, NULL);
    TRY(ops_refused("parameter \"axis\" is missing"));
}

/* ---- reductions ------------------------------------------------------------------------------ */

static const char *const reduce_names[] = { "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin",
                                            "ReduceProd",
                                            "ReduceSumSquare" };
enum { REDUCE_NAMES = 6 };

static double reduce_step(int kind, double a, double b)
{
    switch (kind) {
    case 2: return b > a ? b : a;
    case 3: return b < a ? b : a;
    case 4: return a * b;
    case 5: return a + b * b;
    default: return a + b;
    }
}

static void reduce_one(int kind, uint32_t dtype, const char *x_shape, const char *axes,
                       uint32_t bits, const char *out_shape, int keep)
{
    ref_tensor *x, *out;
    double *expected;
    int *seen;
    ops_begin(reduce_names[kind]);
    x = ops_in(dtype, x_shape);
    ops_random(x, dtype == REF_I32 ? -9.0 : -1.5, dtype == REF_I32 ? 10.0 : 2.0);
    out = ops_out(dtype, out_shape);
    ops_numbers("axes", REF_U32, axes);
    if (keep) ops_scalar("keep_dims", REF_BOOL, 1);
    expected = ops_doubles(out);
    seen = (int *)ops_alloc((size_t)out->count * sizeof *seen);
    for (uint64_t i = 0; i < x->count; ++i) {
        uint64_t o, within;
        row_of(x, i, bits, &o, &within);
        if (!seen[o])
            expected[o] = kind == 4 ? 1.0 : kind == 2 ? -HUGE_VAL : kind == 3 ? HUGE_VAL : 0.0;
        seen[o] = 1;
        expected[o] = reduce_step(kind, expected[o], ops_real(x, i));
    }
    for (uint64_t o = 0; o < out->count; ++o) {
        if (kind == 0) expected[o] /= (double)x->count / (double)out->count;
        if (dtype == REF_I32)
            expected[o] = (double)(int32_t)(uint32_t)(int64_t)fmod(expected[o], 4294967296.0);
    }
    ops_run(expected);
}

TEST(reductions_reduce_any_axes_in_every_type)
{
    ops_seed = 71;
    for (int kind = 0; kind < REDUCE_NAMES; ++kind)
        for (int t = 0; t <= ALL_TYPES; ++t) {
            const uint32_t type = t < ALL_TYPES ? all_types[t] : REF_I32;
            if (kind == 0 && type == REF_I32) continue;
            TRY(reduce_one(kind, type, "2,3,16", "2", 4, "2,3,1", 1));
            TRY(reduce_one(kind, type, "2,3,6", "2", 4, "2,3", 0));
            TRY(reduce_one(kind, type, "2,3,4,5", "2,1", 6, "2,1,1,5", 1));
            TRY(reduce_one(kind, type, "2,3,2,5", "0,2", 5, "3,5", 0));
            TRY(reduce_one(kind, type, "2,3,2", "0,1,2", 7, "1,1,1", 1));
            TRY(reduce_one(kind, type, "7", "0", 1, "1", 1));
            TRY(reduce_one(kind, type, "2,1,2,1,2,3,1,2", "1,4,7", 0x92, "2,2,1,3,1", 0));
            if (kind != 4) TRY(reduce_one(kind, type, "3,200", "1", 2, "3,1", 1));
        }
}

TEST(reductions_of_int32_are_exact_and_wrap)
{
    static const int32_t sums[6] = { 0, INT32_MIN, INT32_MAX, 1, 2, INT32_MIN + 1 };
    for (int kind = 1; kind < REDUCE_NAMES; ++kind) {
        int32_t *values, *out;
        ops_begin(reduce_names[kind]);
        values = (int32_t *)ops_in(REF_I32, "3")->data;
        out = (int32_t *)ops_out(REF_I32, "1")->data;
        ops_numbers("axes", REF_U32, "0");
        ops_scalar("keep_dims", REF_BOOL, 1);
        values[0] = INT32_MAX;                                     /* beyond what float32 holds */
        values[1] = kind == 5 ? 32768 : kind == 4 ? INT32_MAX : kind == 1 ? -1 : 16777217;
        values[2] = kind == 5 ? 32768 : kind == 4 ? 2 : kind == 1 ? 2 : 1;
        TRY(ops_run_node());
        CHECK_EQ(out[0], sums[kind]);
    }
}

TEST(reductions_refuse_what_is_wrong_and_say_why)
{
    norm_begin("ReduceSum", REF_F32, "2,8", 0, NULL, "2");
    TRY(ops_refused("parameter \"axes\" has axis 2, input 0 \"t0\" has rank 2"));
    norm_begin("ReduceSum", REF_F32, "2,8", 0, NULL, "0");
    ops.tensors[2].rank = 2;
    ops.tensors[2].dims[1] = 1;
    TRY(ops_refused("axes \"t2\" is [1, 1], expected [1]"));
    norm_begin("ReduceSum", REF_F32, "2,8", 0, NULL, "0,0");
    TRY(ops_refused("parameter \"axes\" has axis 0 twice"));
    norm_begin("ReduceSum", REF_F32, "2,8", 0, NULL, "0,1");
    TRY(ops_refused("nothing is left of input 0 \"t0\", and a tensor of rank 0 makes libraries"
                    " crash: pass keep_dims"));
    norm_begin("ReduceSum", REF_F32, "2,8", 0, NULL, "0");
    TRY(ops_refused("output \"t1\" is [2, 8], expected [8]"));
    ops_scalar("keep_dims", REF_BOOL, 1);
    TRY(ops_refused("output \"t1\" is [2, 8], expected [1, 8]"));
    norm_begin("ReduceMax", REF_F32, "1,8", 0, NULL, "0");
    ops_scalar("keep_dims", REF_BOOL, 1);
    ops.tensors[1].dtype = REF_I32;
    TRY(ops_refused("output \"t1\" is INT_32, expected FLOAT_32"));
    norm_begin("ReduceMean", REF_I32, "2,8", 0, NULL, "0");
    TRY(ops_refused("input 0 \"t0\" is INT_32, ReduceMean takes"));
}

/* ---- Argmax, Argmin, TopK, CumulativeSum ----------------------------------------------------- */

static void arg_one(const char *type, uint32_t dtype, uint32_t index_type, const char *x_shape,
                    uint32_t axis, const char *out_shape, int keep)
{
    const int most = strcmp(type, "Argmax") == 0;
    ref_tensor *x, *out;
    double *expected, *best;
    ops_begin(type);
    x = ops_in(dtype, x_shape);
    ops_random(x, -3.0, 3.0);
    out = ops_out(index_type, out_shape);
    ops_scalar("axis", REF_U32, axis);
    if (keep) ops_scalar("keep_dims", REF_BOOL, 1);
    expected = ops_doubles(out);
    best = ops_doubles(out);
    for (uint64_t i = 0; i < x->count; ++i) {
        uint64_t o, within;
        row_of(x, i, 1u << axis, &o, &within);
        if (within == 0 || (most ? ops_real(x, i) > best[o] : ops_real(x, i) < best[o])) {
            best[o] = ops_real(x, i);
            expected[o] = (double)within;
        }
    }
    ops_run(expected);
}

TEST(argmax_and_argmin_name_the_first_of_equals)
{
    ops_seed = 81;
    for (int t = 0; t <= ALL_TYPES; ++t) {
        const uint32_t type = t < ALL_TYPES ? all_types[t] : REF_I32;
        for (int most = 0; most < 2; ++most) {
            TRY(arg_one(most ? "Argmax" : "Argmin", type, REF_I32, "3,9", 1, "3", 0));
            TRY(arg_one(most ? "Argmax" : "Argmin", type, REF_U32, "3,9,2", 1, "3,1,2", 1));
            TRY(arg_one(most ? "Argmax" : "Argmin", type, REF_I32, "40,3", 0, "3", 0));
            TRY(arg_one(most ? "Argmax" : "Argmin", type, REF_I32, "5", 0, "1", 1));
        }
    }
}

TEST(argmax_of_int32_sees_every_bit)
{
    int32_t *values, *out;
    ops_begin("Argmax");
    values = (int32_t *)ops_in(REF_I32, "3")->data;
    out = (int32_t *)ops_out(REF_I32, "1")->data;
    ops_scalar("axis", REF_U32, 0);
    ops_scalar("keep_dims", REF_BOOL, 1);
    values[0] = INT32_MAX - 2;
    values[1] = INT32_MAX - 1;
    values[2] = INT32_MAX - 2;
    TRY(ops_run_node());
    CHECK_EQ(out[0], 1);
}

static void topk_one(uint32_t dtype, uint32_t index_type, uint32_t rows, uint32_t width, uint32_t k,
                     int largest)
{
    const uint32_t x_dims[2] = { rows, width }, out_dims[2] = { rows, k };
    ref_tensor *x, *values, *indices;
    char *taken;
    double *expected, *places;
    ops_begin("TopK");
    x = ops_in(dtype, shape(2, x_dims));
    ops_random(x, -9.0, 9.0);
    values = ops_out(dtype, shape(2, out_dims));
    values->quant = x->quant;
    indices = ops_out(index_type, shape(2, out_dims));
    ops_scalar("k", REF_U32, k);
    if (!largest) ops_scalar("largest", REF_BOOL, 0);
    expected = ops_doubles(values);
    places = ops_doubles(values);
    taken = (char *)ops_alloc((size_t)x->count);
    for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t place = 0; place < k; ++place) {
            uint32_t best = width;
            for (uint32_t i = 0; i < width; ++i) {
                const double value = ops_real(x, row * width + i);
                const double other = best < width ? ops_real(x, row * width + best) : 0.0;
                if (taken[row * width + i]) continue;
                if (best == width || (largest ? value > other : value < other))
                    best = i;
            }
            taken[row * width + best] = 1;
            expected[row * k + place] = ops_real(x, row * width + best);
            places[row * k + place] = best;
        }
    TRY(ops_run(expected));
    ops_compare(indices, places);
}

TEST(topk_sorts_the_best_and_keeps_the_order_of_equals)
{
    ops_seed = 82;
    for (int t = 0; t <= ALL_TYPES; ++t)
        for (int largest = 0; largest < 2; ++largest) {
            const uint32_t type = t < ALL_TYPES ? all_types[t] : REF_I32;
            TRY(topk_one(type, REF_U32, 3, 16, 4, largest));
            TRY(topk_one(type, REF_I32, 2, 300, 40, largest));
            TRY(topk_one(type, REF_I32, 1, 17, 17, largest));
            TRY(topk_one(type, REF_I32, 4, 1, 1, largest));
        }
}

static void cumulative_one(uint32_t dtype, const char *x_shape, uint32_t axis, int exclusive,
                           int reverse)
{
    ref_tensor *x, *out;
    double *expected;
    ops_begin("CumulativeSum");
    x = ops_in(dtype, x_shape);
    ops_random(x, -2.0, 3.0);
    out = ops_out(dtype, x_shape);
    ops_scalar("axis", REF_U32, axis);
    if (exclusive) ops_scalar("exclusive", REF_BOOL, 1);
    if (reverse) ops_scalar("reverse", REF_BOOL, 1);
    expected = ops_doubles(out);
    for (uint64_t i = 0; i < x->count; ++i)
        for (uint64_t j = 0; j < x->count; ++j) {
            uint64_t row_i, row_j, at_i, at_j;
            row_of(x, i, 1u << axis, &row_i, &at_i);
            row_of(x, j, 1u << axis, &row_j, &at_j);
            if (row_i == row_j &&
                (reverse ? at_j > at_i : at_j < at_i)) expected[i] += ops_real(x, j);
            if (i == j && !exclusive) expected[i] += ops_real(x, j);
        }
    ops_run(expected);
}

TEST(cumulative_sum_runs_along_its_axis_both_ways)
{
    ops_seed = 83;
    for (int t = 0; t <= ALL_TYPES; ++t)
        for (int flags = 0; flags < 4; ++flags) {
            const uint32_t type = t < ALL_TYPES ? all_types[t] : REF_I32;
            TRY(cumulative_one(type, "3,7", 1, flags & 1, flags >> 1));
            TRY(cumulative_one(type, "5,2,3", 0, flags & 1, flags >> 1));
            TRY(cumulative_one(type, "9", 0, flags & 1, flags >> 1));
        }
}

TEST(cumulative_sum_of_int32_wraps)
{
    int32_t *values, *out;
    ops_begin("CumulativeSum");
    values = (int32_t *)ops_in(REF_I32, "2")->data;
    out = (int32_t *)ops_out(REF_I32, "2")->data;
    ops_scalar("axis", REF_U32, 0);
    values[0] = INT32_MAX;
    values[1] = 1;
    TRY(ops_run_node());
    CHECK_EQ(out[0], INT32_MAX);
    CHECK_EQ(out[1], INT32_MIN);
}

TEST(index_operators_refuse_what_is_wrong_and_say_why)
{
    ops_begin("Argmax");
    ops_in(REF_F32, "2,8");
    ops_out(REF_I64, "2");
    ops_scalar("axis", REF_U32, 1);
    TRY(ops_refused("output \"t1\" is INT_64, expected INT_32 or UINT_32"));
    ops.params[0].value = 2.0;
    TRY(ops_refused("axis 2, input 0 \"t0\" has rank 2"));
    ops_begin("Argmin");
    ops_in(REF_F32, "8");
    ops_out(REF_I32, "1");
    ops_scalar("axis", REF_U32, 0);
    TRY(ops_refused("nothing is left of input 0 \"t0\""));
    ops_begin("TopK");
    ops_random(ops_in(REF_U8Q, "2,8"), -1.0, 1.0);
    ops_out(REF_U8Q, "2,3");
    ops_out(REF_I32, "2,3");
    ops_scalar("k", REF_U32, 3);
    ops_encode(&ops.tensors[1], REF_QUANT_PER_TENSOR, 1, 9.0f, 0);
    TRY(ops_refused("output 0 \"t1\" has a different encoding than input 0 \"t0\": libraries"
                    " copy the values"));
    ops.tensors[1].quant = ops.tensors[0].quant;
    ops.tensors[2].dtype = REF_F32;
    TRY(ops_refused("output 1 \"t2\" is FLOAT_32, expected INT_32 or UINT_32"));
    ops.params[0].value = 2.0;
    TRY(ops_refused("output 0 \"t1\" is [2, 3], expected [2, 2]"));
    ops.params[0].value = 9.0;
    TRY(ops_refused("k 9, expected 1 to 8, the last dimension of input 0 \"t0\""));
    ops.params[0].value = 0.0;
    TRY(ops_refused("k 0, expected 1 to 8"));
    norm_begin("CumulativeSum", REF_F32, "2,8", 0, NULL, NULL);
    ops_scalar("axis", REF_U32, 5);
    TRY(ops_refused("axis 5, input 0 \"t0\" has rank 2"));
    ops.params[0].value = 1.0;
    ops.tensors[1].dtype = REF_F16;
    TRY(ops_refused("output \"t1\" is FLOAT_16, expected FLOAT_32"));
}

/* NaN, inf and extreme codes: with any data, all reads and writes stay within bounds (checked by
   ASan and UBSan). */
TEST(any_data_is_safe)
{
    static const char *const row_ops[] = { "Softmax", "LogSoftmax", "L2Norm", "Argmax",
                                           "CumulativeSum" };
    for (int o = 0; o < 5; ++o)
        for (int t = 0; t < 2; ++t) {
            ref_tensor *x;
            ops_begin(row_ops[o]);
            x = ops_in(t == 0 ? REF_F32 : REF_F16, "4,6");
            for (uint64_t i = 0; i < x->count; ++i) {
                const float values[4] = { NAN, HUGE_VALF, -HUGE_VALF, 0.0f };
                if (t == 0) ((float *)x->data)[i] = values[(i * 7 + i / 6) % 4];
                else ((uint16_t *)x->data)[i] = ref_f32_to_f16(values[(i * 7 + i / 6) % 4]);
            }
            ops_out(o == 3 ? REF_I32 : x->dtype, o == 3 ? "4" : "4,6");
            ops_scalar("axis", REF_U32, 1);
            TRY(ops_run_node());
        }
    ops_begin("TopK");
    ops_in(REF_F32, "1,8");
    for (int i = 0; i < 8; ++i)
        ((float *)ops.tensors[0].data)[i] = i % 3 == 0 ? NAN : (float)i;
    ops_out(REF_F32, "1,6");
    ops_out(REF_I32, "1,6");
    ops_scalar("k", REF_U32, 6);
    TRY(ops_run_node());
    for (int i = 0; i < 5; ++i)
        CHECK(((float *)ops.tensors[1].data)[i] > 0.0f);
    /* NaN comes after all numbers; this is the first one. */
    CHECK_EQ(((int32_t *)ops.tensors[2].data)[5], 0);
}

TEST_MAIN("ref_ops_b")
{
    RUN(matmul_multiplies_in_every_form_and_type);
    RUN(matmul_takes_a_runtime_operand_with_any_8_bit_zero_point);
    RUN(products_have_the_same_bits_in_registers_of_any_width);
    RUN(matmul_refuses_what_is_wrong_and_says_why);
    RUN(fully_connected_flattens_and_multiplies_in_every_type);
    RUN(fully_connected_stays_within_one_code_over_4096_terms);
    RUN(fully_connected_refuses_what_is_wrong_and_says_why);
    RUN(convolutions_sum_over_their_taps_in_every_form_and_type);
    RUN(convolutions_refuse_what_is_wrong_and_say_why);
    RUN(pooling_looks_at_the_elements_that_are_there);
    RUN(pooling_refuses_what_is_wrong_and_says_why);
    RUN(resizing_places_pixels_by_its_flags);
    RUN(resizing_refuses_what_is_wrong_and_says_why);
    RUN(rms_and_layer_norm_work_along_any_axes);
    RUN(norms_of_images_work_by_channel_and_group);
    RUN(l2_norm_and_softmax_work_along_any_axis);
    RUN(l2_norm_of_little_divides_by_the_root_of_epsilon);
    RUN(an_absent_epsilon_is_the_documented_one);
    RUN(softmax_is_not_upset_by_large_numbers);
    RUN(norms_refuse_what_is_wrong_and_say_why);
    RUN(reductions_reduce_any_axes_in_every_type);
    RUN(reductions_of_int32_are_exact_and_wrap);
    RUN(reductions_refuse_what_is_wrong_and_say_why);
    RUN(argmax_and_argmin_name_the_first_of_equals);
    RUN(argmax_of_int32_sees_every_bit);
    RUN(topk_sorts_the_best_and_keeps_the_order_of_equals);
    RUN(cumulative_sum_runs_along_its_axis_both_ways);
    RUN(cumulative_sum_of_int32_wraps);
    RUN(index_operators_refuse_what_is_wrong_and_say_why);
    RUN(any_data_is_safe);
    ops_end();
}
