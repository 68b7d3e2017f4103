/* test_lower_weight_only.c - qnnrt_lower.h: weights of 8 and 4 bits, on libQnnRef.so */
#include "weight_only_case.h"
#include "counted.h"
#include "ref.h"
#include "test.h"
#include "backend.h"

static qnnrt_backend *weight_only_backend(void)
{
    qnnrt_backend *backend = NULL;
    qnnrt_error err;
    if (test_ref_backend(&backend, &err) != QNNRT_OK) printf("    %s\n", err.text);
    return backend;
}

/* Every operator that takes quantized weights computes what the evaluator does with the rounded weights. */
TEST(quantized_weights_compute_what_their_rounded_values_do)
{
    static const uint32_t forms[3][2] = { {8, 0}, {4, 0}, {4, 16} };
    qnnrt_backend *backend = weight_only_backend();
    size_t i, form;
    CHECK(backend != NULL);
    for (i = 0; i < WEIGHT_ONLY_CASES; ++i)
        for (form = 0; form < 3; ++form) {
            /* Their weight has two forms, or one of two readers takes it as it is: near the float graph, then. */
            const int two = weight_only_is_mixed(weight_only_cases[i].name);
            const double most = !two ? 5e-3 : form == 0 ? 2e-2 : 0.4;
            weight_only_try t;
            qnnrt_result result;
            CHECK(weight_only_begin(&t, weight_only_cases[i].text, NULL));
            t.desc.compute = QNNRT_DTYPE_F16;
            t.desc.weight_bits = forms[form][0];
            t.desc.weight_block = forms[form][1];
            result = weight_only_lower(&t);
            if (result == QNNRT_OK) result = weight_only_run(&t, backend, !two);
            if (result != QNNRT_OK || !(t.error <= most))
                printf("    %s, %u bits, block %u: error %g %s\n", weight_only_cases[i].name, (unsigned)forms[form][0], (unsigned)forms[form][1],
                       t.error, t.err.text);
            CHECK_EQ(result, QNNRT_OK);
            CHECK(t.error <= most);
            CHECK(t.info->weight_only_count > 0 && t.info->weight_only[0].bits == forms[form][0] && t.info->weight_only[0].measured);
            if (strcmp(weight_only_cases[i].name, "twice") == 0) CHECK_EQ(t.info->weight_only_count, 2);
            weight_only_end(&t);
        }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* ---- codes and scales ---- */

/* Return the small static tensor number `skip` of graph 0, 0 if there is none. */
static size_t weight_only_static(const weight_only_try *t, size_t skip)
{
    const qnnrt_lower_graph_info *graph = &t->info->graphs[0];
    size_t i;
    for (i = 1; i < graph->tensor_count; ++i)
        if (graph->tensors[i].used && graph->tensors[i].dtype == QNNRT_DTYPE_S8Q && skip-- == 0) return i;
    return 0;
}

/* A slow and obvious version of 8 bits: w[out][in] in the file; `turned`: the file has w[in][out]. */
TEST(quantized_weights_are_those_of_a_slow_and_obvious_version)
{
    static const struct { const char *name; uint32_t out, in; int turned; } cases[] = { {"linear", 24, 64, 0}, {"matmul", 24, 64, 1} };
    size_t i;
    for (i = 0; i < 2; ++i) {
        weight_only_try t;
        size_t k, at;
        uint32_t o, e;
        signed char codes[24 * 64];
        for (k = 0; strcmp(weight_only_cases[k].name, cases[i].name) != 0;) ++k;
        CHECK(weight_only_begin(&t, weight_only_cases[k].text, NULL));
        t.desc.compute = QNNRT_DTYPE_F16;
        t.desc.weight_bits = 8;
        CHECK_EQ(weight_only_lower(&t), QNNRT_OK);
        at = weight_only_static(&t, 0);
        CHECK(at != 0 && weight_only_static(&t, 1) == 0);
        CHECK_EQ(qnnrt_lower_static_data(t.lower, 0, at, codes, sizeof codes, &t.err), QNNRT_OK);
        {
            const qnnrt_lower_tensor *tensor = &t.info->graphs[0].tensors[at];
            CHECK_EQ(tensor->quant.count, cases[i].out);
            CHECK_EQ(tensor->quant.axis, cases[i].turned ? 1 : 0);
            CHECK_EQ(tensor->bytes, sizeof codes);
            for (o = 0; o < cases[i].out; ++o) {
                float largest = 0;
                const uint32_t row = cases[i].turned ? 1 : cases[i].in, step = cases[i].turned ? cases[i].out : 1;
                for (e = 0; e < cases[i].in; ++e) {
                    const float size = fabsf(t.weights[0][o * row + e * step]);
                    if (size > largest) largest = size;
                }
                CHECK(fabs(tensor->quant.scales[o] * 127.0 - largest) <= largest / 2048);
                CHECK(tensor->quant.scales[o] <= ldexp(floor(ldexp((double)tensor->quant.scales[o], 24)), -24));   /* a float16 */
                for (e = 0; e < cases[i].in; ++e) {
                    const double exact = (double)t.weights[0][o * row + e * step] / tensor->quant.scales[o];
                    CHECK_EQ(codes[o * row + e * step], (signed char)(exact < 0 ? -(int)(0.5 - exact) : (int)(0.5 + exact)));
                }
            }
        }
        weight_only_end(&t);
    }
}

/* Return the square error of codes up to `most` with a scale. */
static double square_error(const float *w, uint32_t count, double scale, int most)
{
    double sum = 0;
    uint32_t i;
    for (i = 0; i < count; ++i) {
        double code = floor(w[i] / scale + 0.5);
        code = code > most ? most : code < -most ? -most : code;
        sum += (w[i] - code * scale) * (w[i] - code * scale);
    }
    return sum;
}

/* The scales of 4 bits: their error is within 3 % of the best of 4000 scales, channel by channel. */
TEST(weight_only_scales_of_4_bits_are_nearly_the_best)
{
    weight_only_try t;
    size_t at;
    uint32_t o, i;
    CHECK(weight_only_begin(&t, weight_only_cases[0].text, NULL));
    t.weights[0][3 * 64] = 2.5f;                         /* an outlier, which a good scale clips or not */
    t.desc.compute = QNNRT_DTYPE_F16;
    t.desc.weight_bits = 4;
    CHECK_EQ(weight_only_lower(&t), QNNRT_OK);
    at = weight_only_static(&t, 0);
    CHECK(at != 0);
    CHECK_EQ(t.info->graphs[0].tensors[at].quant.bitwidth, 4);
    for (o = 0; o < 24; ++o) {
        const float *w = t.weights[0] + o * 64;
        const double own = square_error(w, 64, t.info->graphs[0].tensors[at].quant.scales[o], 7);
        double best = HUGE_VAL, largest = 0, plain;
        for (i = 0; i < 64; ++i) if (fabs(w[i]) > largest) largest = fabs(w[i]);
        plain = square_error(w, 64, largest / 7, 7);
        for (i = 1; i <= 4000; ++i) {
            const double error = square_error(w, 64, largest / 7 * i / 4000, 7);
            if (error < best) best = error;
        }
        if (own > 1.15 * best) printf("    channel %u: %g, best %g, unclipped %g\n", (unsigned)o, own, best, plain);
        CHECK(own <= 1.15 * best && own <= plain * 1.0001);
    }
    weight_only_end(&t);
}

/* Scales by each method: min-max has the largest value as its largest code, and the error by mse is never larger than
   that; with 4 bits and an outlier it is a quarter smaller. */
TEST(weight_only_scales_by_mse_are_better_than_by_min_max)
{
    double errors[2][2][24];                             /* [8 or 4 bits][method][channel] */
    uint32_t bits, method, o, i;
    for (bits = 0; bits < 2; ++bits)
        for (method = 0; method < 2; ++method) {
            const int most = bits ? 7 : 127;
            weight_only_try t;
            size_t at;
            CHECK(weight_only_begin(&t, weight_only_cases[0].text, NULL));
            for (i = 0; i < 64; ++i)                     /* an outlier, and values between codes of its scale */
                t.weights[0][5 * 64 + i] = i == 7 ? 1.0f : (i % 2 ? 0.45f : -0.45f) / (float)most;
            t.desc.compute = QNNRT_DTYPE_F16;
            t.desc.weight_bits = bits ? 4 : 8;
            t.desc.weight_method = method ? QNNRT_LOWER_MSE : QNNRT_LOWER_MINMAX;
            CHECK_EQ(weight_only_lower(&t), QNNRT_OK);
            at = weight_only_static(&t, 0);
            CHECK(at != 0);
            for (o = 0; o < 24; ++o) {
                const float *w = t.weights[0] + o * 64, scale = t.info->graphs[0].tensors[at].quant.scales[o];
                float largest = 0;
                for (i = 0; i < 64; ++i) if (fabsf(w[i]) > largest) largest = fabsf(w[i]);
                if (method == 0) CHECK(fabs((double)scale * most - largest) <= largest / 2048);
                errors[bits][method][o] = square_error(w, 64, scale, most);
            }
            weight_only_end(&t);
        }
    for (bits = 0; bits < 2; ++bits) {
        for (o = 0; o < 24; ++o) CHECK(errors[bits][1][o] <= errors[bits][0][o] * 1.01);
    }
    CHECK(errors[1][1][5] < errors[1][0][5] * 0.75);      /* 8 bits have too many codes for that */
}

/* ---- bad weights ---- */

static void spoil_nan(const qnnrt_ir_value *value, float *data)
{
    if (strcmp(value->name, "w") == 0) data[5] = data[9] = (float)HUGE_VAL - (float)HUGE_VAL;
}

static void spoil_infinite(const qnnrt_ir_value *value, float *data)
{
    if (strcmp(value->name, "w") == 0) data[5] = -(float)HUGE_VAL;
}

static void spoil_large(const qnnrt_ir_value *value, float *data)
{
    if (strcmp(value->name, "w") == 0) data[5] = 70000;
}

/* A channel of zeros, one of tiny values. */
static void spoil_zeros(const qnnrt_ir_value *value, float *data)
{
    size_t i;
    if (strcmp(value->name, "w") != 0) return;
    for (i = 0; i < 64; ++i) { data[i] = 0; data[64 + i] *= 1e-38f; }
}

TEST(quantized_weights_that_are_no_numbers_are_refused)
{
    static void (*const spoils[3])(const qnnrt_ir_value *, float *) = { spoil_nan, spoil_infinite, spoil_large };
    static const char *const texts[3] = {
        "has 2 values that are infinite or not a number", "has 1 values that are infinite or not a number",
        "has 1 values that are too large for float16" };
    size_t i;
    for (i = 0; i < 6; ++i) {
        weight_only_try t;
        CHECK(weight_only_begin(&t, weight_only_cases[0].text, spoils[i / 2]));
        t.desc.compute = QNNRT_DTYPE_F16;
        t.desc.weight_bits = i % 2 == 0 ? 8 : 4;
        CHECK_EQ(weight_only_lower(&t), QNNRT_E_UNSUPPORTED);
        CHECK_STR(t.err.text, "weight \"w\"");
        CHECK_STR(t.err.text, texts[i / 2]);
        weight_only_end(&t);
    }
}

TEST(quantized_weights_of_zeros_have_scales)
{
    uint32_t bits;
    for (bits = 4; bits <= 8; bits += 4) {
        weight_only_try t;
        size_t at, i;
        signed char codes[24 * 64];
        CHECK(weight_only_begin(&t, weight_only_cases[0].text, spoil_zeros));
        t.desc.compute = QNNRT_DTYPE_F16;
        t.desc.weight_bits = bits;
        CHECK_EQ(weight_only_lower(&t), QNNRT_OK);
        at = weight_only_static(&t, 0);
        CHECK(t.info->graphs[0].tensors[at].quant.scales[0] > 0 && t.info->graphs[0].tensors[at].quant.scales[1] >= 1.17549435e-38f);
        CHECK_EQ(qnnrt_lower_static_data(t.lower, 0, at, codes, sizeof codes, &t.err), QNNRT_OK);
        for (i = 0; i < 64; ++i) CHECK_EQ(codes[i], 0);
        weight_only_end(&t);
    }
}

/* ---- what is asked for, and what a library takes ---- */

static uint32_t weight_only_keep(void *user, const qnnrt_ir_value *weight, const char *type, uint32_t bits)
{
    const char *const *keep = (const char *const *)user;
    return strcmp(weight->name, keep[0]) == 0 && strcmp(type, keep[1]) == 0 ? (uint32_t)atoi(keep[2]) : bits;
}

TEST(quantized_weights_can_be_kept_one_by_one)
{
    static const char *const keep[] = { "w", "MatMul", "0" }, *const odd[] = { "w", "FullyConnected", "5" };
    weight_only_try t;
    size_t i;
    for (i = 0; strcmp(weight_only_cases[i].name, "twice") != 0;) ++i;
    CHECK(weight_only_begin(&t, weight_only_cases[i].text, NULL));
    t.desc.compute = QNNRT_DTYPE_F16;
    t.desc.weight_bits = 8;
    t.desc.weight_bits_of = weight_only_keep;
    t.desc.weight_user = (void *)(uintptr_t)keep;
    CHECK_EQ(weight_only_lower(&t), QNNRT_OK);
    CHECK_EQ(t.info->weight_only_count, 2);
    CHECK(t.info->weight_only[0].bits == 8 && t.info->weight_only[1].bits == 0);
    CHECK(weight_only_static(&t, 0) != 0 && weight_only_static(&t, 1) == 0);
    CHECK_EQ(t.info->graphs[0].static_bytes, 32u * 32u * (1 + 2));
    weight_only_end(&t);
    CHECK(weight_only_begin(&t, weight_only_cases[i].text, NULL));
    t.desc.compute = QNNRT_DTYPE_F16;
    t.desc.weight_bits_of = weight_only_keep;
    t.desc.weight_user = (void *)(uintptr_t)odd;
    CHECK_EQ(weight_only_lower(&t), QNNRT_E_UNSUPPORTED);
    CHECK_STR(t.err.text, "is to have 5 bits");
    weight_only_end(&t);
    memset(&t, 0, sizeof(t));
    t.desc.weight_bits = 3;
    CHECK_EQ(qnnrt_lower_create(&t.desc, &t.lower, &t.err), QNNRT_E_ARG);
}

/* float32 takes no quantized weights on any library: an error, or rounded values in float32. */
TEST(quantized_weights_beside_float32_are_an_error_or_emulated)
{
    qnnrt_backend *backend = weight_only_backend();
    int target;
    CHECK(backend != NULL);
    for (target = QNNRT_LOWER_REF; target <= QNNRT_LOWER_HTP; ++target) {
        weight_only_try t;
        CHECK(weight_only_begin(&t, weight_only_cases[0].text, NULL));
        t.desc.compute = QNNRT_DTYPE_F32;
        t.desc.target = (qnnrt_lower_target)target;
        t.desc.weight_bits = 8;
        CHECK_EQ(weight_only_lower(&t), QNNRT_E_UNSUPPORTED);
        CHECK_STR(t.err.text, "no weight can have 8 bits: libraries take quantized weights beside float16");
        weight_only_end(&t);
        CHECK(weight_only_begin(&t, weight_only_cases[0].text, NULL));
        t.desc.compute = QNNRT_DTYPE_F32;
        t.desc.target = (qnnrt_lower_target)target;
        t.desc.weight_bits = 8;
        t.desc.weight_emulate = 1;
        CHECK_EQ(weight_only_lower(&t), QNNRT_OK);
        CHECK(t.info->weight_only[0].emulated && t.info->weight_only[0].bytes == 24 * 64 * 4);
        if (target == QNNRT_LOWER_REF) CHECK_EQ(weight_only_run(&t, backend, 1), QNNRT_OK);
        CHECK(t.error <= 1e-5);
        weight_only_end(&t);
    }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* What libQnnHtp.so refuses stays in float16, and the reason is told. */
TEST(quantized_weights_that_htp_refuses_stay_float)
{
    /* no_ask skips what is refused, and not what would crash. */
    static const struct { const char *name, *build, *why; uint32_t bits, block, got_bits, got_block; int no_ask; } rows[] = {
        { "linear", "v2.51.0", "", 8, 0, 8, 0, 0 },
        { "linear", "v2.51.0", "", 4, 16, 4, 16, 0 },
        { "linear", "v2.51.0", "does not divide", 4, 48, 4, 0, 0 },
        { "matmul", "v2.51.0", "", 8, 0, 8, 0, 0 },
        { "matmul", "v2.51.0", "would crash", 4, 16, 4, 0, 0 },
        { "matrices", "v2.51.0", "several matrices", 8, 0, 0, 0, 0 },
        { "conv1x1", "v2.51.0", "", 8, 0, 8, 0, 0 },
        { "conv1x1", "v2.51.0", "", 4, 8, 4, 8, 0 },
        { "two_convs", "v2.51.0", "no convolution of float16", 4, 8, 0, 0, 0 },
        { "two_convs", "v2.51.0", "no convolution of float16", 8, 0, 0, 0, 0 },
        { "batch_norm", "v2.51.0", "", 8, 0, 8, 0, 0 },
        { "matmul", "v2.51.0", "would crash", 4, 16, 4, 0, 1 },
        { "matrices", "v2.51.0", "", 8, 0, 8, 0, 1 },
        { "linear", "v2.51.0", "", 8, 0, 8, 0, 2 },          /* 2: in float32, too */
        { "linear", "v2.51.0", "", 4, 16, 4, 16, 2 },
    };
    size_t i, k;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        weight_only_try t;
        for (k = 0; strcmp(weight_only_cases[k].name, rows[i].name) != 0;) ++k;
        CHECK(weight_only_begin(&t, weight_only_cases[k].text, NULL));
        t.desc.target = QNNRT_LOWER_HTP;
        t.desc.build_id = rows[i].build;
        t.desc.weight_bits = rows[i].bits;
        t.desc.weight_block = rows[i].block;
        t.desc.no_ask = rows[i].no_ask;
        if (rows[i].no_ask == 2) t.desc.compute = QNNRT_DTYPE_F32;
        if (weight_only_lower(&t) != QNNRT_OK) printf("    %s: %s\n", rows[i].name, t.err.text);
        CHECK(t.info->weight_only_count > 0);
        if (t.info->weight_only[0].bits != rows[i].got_bits) printf("    %s: %s\n", rows[i].name, t.info->weight_only[0].why);
        CHECK_EQ(t.info->weight_only[0].bits, rows[i].got_bits);
        CHECK_EQ(t.info->weight_only[0].block, rows[i].got_block);
        CHECK_STR(t.info->weight_only[0].why, rows[i].why);
        weight_only_end(&t);
    }
}

/* Two graphs that share a weight share its scales: they are computed once, and listed once. */
TEST(quantized_weights_of_two_graphs_are_one)
{
    weight_only_try t;
    CHECK(weight_only_begin(&t, weight_only_cases[0].text, NULL));
    t.desc.compute = QNNRT_DTYPE_F16;
    t.desc.weight_bits = 8;
    CHECK_EQ(weight_only_lower(&t), QNNRT_OK);
    CHECK_EQ(qnnrt_lower_graph(t.lower, t.ir, "h", &t.err), QNNRT_OK);
    t.info = qnnrt_lower_get_info(t.lower);
    CHECK_EQ(t.info->weight_only_count, 1);
    CHECK_EQ(t.info->graph_count, 2);
    CHECK(t.info->graphs[0].static_bytes == t.info->graphs[1].static_bytes && t.info->graphs[0].static_bytes < 24 * 64 * 2);
    weight_only_end(&t);
}

/* ---- memory ---- */

/* Every allocation fails once: an error that says so, or none is needed, and nothing is lost. */
TEST(quantized_weights_without_memory_are_an_error)
{
    static const struct { const char *name; uint32_t bits, block; } forms[] = { {"linear", 8, 0}, {"linear", 4, 16}, {"matmul", 4, 0}, {"conv", 8, 0} };
    qnnrt_backend *backend = weight_only_backend();
    long at, failed = 0;
    size_t i, k;
    CHECK(backend != NULL);
    for (i = 0; i < sizeof(forms) / sizeof(forms[0]); ++i)
        for (at = 0; ; ++at) {
            qnnrt_builder *builder = NULL;
            qnnrt *model = NULL;
            float *values;
            weight_only_try t;
            qnnrt_result result;
            for (k = 0; k + 1 < WEIGHT_ONLY_CASES && strcmp(weight_only_cases[k].name, forms[i].name) != 0;) ++k;
            CHECK(weight_only_begin(&t, weight_only_cases[k].text, NULL));
            t.desc.hooks.alloc = counted_alloc;
            t.desc.hooks.free = counted_free;
            t.desc.compute = QNNRT_DTYPE_F16;
            t.desc.weight_bits = forms[i].bits;
            t.desc.weight_block = forms[i].block;
            allocations = live = 0;
            fail_at = at;
            TEST_JUNK(t.err);
            result = weight_only_lower(&t);
            if (result == QNNRT_OK) CHECK_EQ(qnnrt_builder_create(backend, NULL, &builder, &t.err), QNNRT_OK);
            if (result == QNNRT_OK) result = qnnrt_lower_emit(t.lower, builder, &t.err);
            if (result == QNNRT_OK) result = qnnrt_builder_finish(builder, &model, &t.err);
            else qnnrt_builder_destroy(builder);
            if (result == QNNRT_OK) {
                t.info = qnnrt_lower_get_info(t.lower);
                CHECK(t.info->weight_only_count > 0 || allocations > at);
                if (t.info->weight_only_count > 0) {
                    values = (float *)malloc((size_t)t.info->weight_only[0].weight->count * sizeof(float));
                    result = qnnrt_lower_weight_only_values(t.lower, 0, values, &t.err);
                    free(values);
                }
            }
            if (result != QNNRT_OK) {
                if (result != QNNRT_E_MEMORY) printf("    %s, allocation %ld: %s\n", forms[i].name, at, t.err.text);
                CHECK_EQ(result, QNNRT_E_MEMORY);
                CHECK_EQ(t.err.code, QNNRT_E_MEMORY);
                ++failed;
            }
            fail_at = -1;
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            weight_only_end(&t);
            CHECK_EQ(live, 0);
            if (result == QNNRT_OK && allocations <= at) break;
        }
    printf("    %ld allocations failed\n", failed);
    CHECK(failed > 20);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST_MAIN("lower_weight_only")
{
    RUN(quantized_weights_compute_what_their_rounded_values_do);
    RUN(quantized_weights_are_those_of_a_slow_and_obvious_version);
    RUN(weight_only_scales_of_4_bits_are_nearly_the_best);
    RUN(weight_only_scales_by_mse_are_better_than_by_min_max);
    RUN(quantized_weights_that_are_no_numbers_are_refused);
    RUN(quantized_weights_of_zeros_have_scales);
    RUN(quantized_weights_can_be_kept_one_by_one);
    RUN(quantized_weights_beside_float32_are_an_error_or_emulated);
    RUN(quantized_weights_that_htp_refuses_stay_float);
    RUN(quantized_weights_of_two_graphs_are_one);
    RUN(quantized_weights_without_memory_are_an_error);
}
