/* weight_only.c - weights of 8 and 4 bits on Qualcomm's libraries

       real_weight_only RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   What is built has to equal the evaluator with rounded weights; what a library refuses has to be known before it is asked. */
#include "real.h"
#include "qnnrt_builder.h"
#include "weight_only_case.h"

static qnnrt_backend *weight_only_open(const char *name)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    qnnrt_error err;
    char path[1024];
    memset(&desc, 0, sizeof(desc));
    desc.path = real_library(path, name);
    if (access(path, R_OK) == 0 && qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) printf("    %s\n", err.text);
    return backend;
}

static const uint32_t forms[3][2] = { {8, 0}, {4, 0}, {4, 32} };

TEST(htp_computes_what_the_rounded_weights_do)
{
    qnnrt_backend *backend;
    size_t i, form, small = 0, kept = 0;
    if (real_no_device()) SKIP("needs a library that runs graphs");
    backend = weight_only_open("libQnnHtp.so");
    CHECK(backend != NULL);
    for (i = 0; i < WEIGHT_ONLY_CASES; ++i)
        for (form = 0; form < 3; ++form) {
            const int two = weight_only_is_mixed(weight_only_cases[i].name);
            const double most = !two ? 5e-3 : form == 0 ? 3e-2 : 0.4;
            weight_only_try t;
            qnnrt_result result;
            size_t k;
            CHECK(weight_only_begin(&t, weight_only_cases[i].text, NULL));
            t.desc.target = QNNRT_LOWER_HTP;
            t.desc.build_id = qnnrt_backend_get_info(backend)->build_id;
            t.desc.weight_bits = forms[form][0];
            t.desc.weight_block = forms[form][1];
            result = weight_only_lower(&t);
            if (result == QNNRT_E_UNSUPPORTED) {         /* no weight can be quantized */
                CHECK_STR(t.err.text, "no weight can have");
                kept += t.info->weight_only_count;
                weight_only_end(&t);
                continue;
            }
            if (result == QNNRT_OK) result = weight_only_run(&t, backend, !two);
            for (k = 0; k < t.info->weight_only_count; ++k) {
                if (t.info->weight_only[k].bits == 0) ++kept;
                else ++small;
            }
            if (result != QNNRT_OK || !(t.error <= most))
                printf("    %s, %u bits, block %u: error %g %s\n", weight_only_cases[i].name, (unsigned)forms[form][0],
                       (unsigned)forms[form][1], t.error, t.err.text);
            CHECK_EQ(result, QNNRT_OK);
            CHECK(t.error <= most);
            weight_only_end(&t);
        }
    printf("    %lu weights are small, %lu stay float\n", (unsigned long)small, (unsigned long)kept);
    CHECK(small >= 27 && kept > 0);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* A linear layer of a size. */
static qnnrt_result weight_only_layer(weight_only_try *t, uint32_t out, uint32_t in, uint32_t bits, uint32_t block, float size)
{
    char text[2048];
    uint64_t k;
    snprintf(text, sizeof text, S_GRAPH(S_T("x", "[4,%u]"), S_T("y", "[4,%u]"), S_W("w", "[%u,%u]"), "\"w\":\"w\"",
             S_NODE("y", "linear.default", S_T("x", "[4,%u]") "," S_W("w", "[%u,%u]"), "[4,%u]", "")),
             (unsigned)in, (unsigned)out, (unsigned)out, (unsigned)in, (unsigned)in, (unsigned)out, (unsigned)in, (unsigned)out);
    if (!weight_only_begin(t, text, NULL)) return t->err.code;
    for (k = 0; k < (uint64_t)out * in; ++k) t->weights[0][k] *= size;
    t->desc.target = QNNRT_LOWER_HTP;
    t->desc.build_id = "v2.51";
    t->desc.weight_bits = bits;
    t->desc.weight_block = block;
    return weight_only_lower(t);
}

/* Sizes at which block-wise weights in other forms are wrong without an error, and scales that float16 cannot hold. */
TEST(htp_is_right_at_every_size_and_scale)
{
    static const uint32_t sizes[][4] = {             /* out, in, bits, block */
        { 32, 64, 4, 32 }, { 64, 64, 4, 16 }, { 384, 1536, 4, 32 }, { 1536, 384, 4, 32 }, { 1536, 384, 4, 64 }, { 256, 256, 4, 64 },
        { 384, 384, 4, 128 }, { 100, 96, 4, 16 }, { 33, 64, 4, 32 }, { 7, 32, 4, 16 }, { 384, 1536, 8, 0 }, { 1536, 384, 8, 0 },
        { 384, 1536, 4, 0 }, { 33, 64, 8, 0 }, { 1, 1, 8, 0 }, { 1, 5, 4, 0 }, { 32, 65, 8, 0 }, { 33, 68, 8, 0 }, { 33, 72, 4, 0 } };
    static const float scales[] = { 1, 1e-2f, 1e-4f, 100 };
    qnnrt_backend *backend;
    size_t i, k;
    if (real_no_device()) SKIP("needs a library that runs graphs");
    backend = weight_only_open("libQnnHtp.so");
    CHECK(backend != NULL);
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i)
        for (k = 0; k < (i < 3 || i == 10 || i == 12 ? 4u : 1u); ++k) {
            /* 2.47 makes 0 of scales below the normal numbers of float16. */
            const int old = strstr(qnnrt_backend_get_info(backend)->build_id, "2.47") != NULL;
            weight_only_try t;
            qnnrt_result result;
            if (old && scales[k] < 1e-3f) continue;
            result = weight_only_layer(&t, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3], scales[k]);
            if (result == QNNRT_OK) result = weight_only_run(&t, backend, 1);
            if (result != QNNRT_OK || !(t.error <= 5e-3))
                printf("    [%u,%u], %u bits, block %u, size %g: error %g %s\n", (unsigned)sizes[i][0], (unsigned)sizes[i][1],
                       (unsigned)sizes[i][2], (unsigned)sizes[i][3], (double)scales[k], t.error, t.err.text);
            CHECK_EQ(result, QNNRT_OK);
            CHECK_EQ(t.info->weight_only[0].block, sizes[i][3]);
            CHECK(t.error <= 5e-3);
            weight_only_end(&t);
        }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* More than 32 channels, and inputs that do not fill words: garbage without an error. Such a weight stays in float16. */
TEST(htp_gets_no_odd_rows)
{
    static const uint32_t odd[][3] = { { 33, 65, 8 }, { 33, 66, 8 }, { 34, 1, 8 }, { 33, 68, 4 }, { 100, 1001, 4 } };
    size_t i;
    for (i = 0; i < sizeof(odd) / sizeof(odd[0]); ++i) {
        weight_only_try t;
        CHECK_EQ(weight_only_layer(&t, odd[i][0], odd[i][1], odd[i][2], 0, 1), QNNRT_E_UNSUPPORTED);
        CHECK_EQ(t.info->weight_only[0].bits, 0);
        CHECK_STR(t.info->weight_only[0].why, "are garbage for more than 32 channels");
        weight_only_end(&t);
    }
}

/* libQnnCpu.so takes none: an error that says so, or rounded values in float32. */
TEST(cpu_emulates_quantized_weights)
{
    qnnrt_backend *backend;
    size_t i;
    if (real_no_device()) SKIP("needs a library that runs graphs");
    backend = weight_only_open("libQnnCpu.so");
    if (backend == NULL) return;                 /* this release has no libQnnCpu.so; 2.47 has */
    for (i = 0; i < WEIGHT_ONLY_CASES; ++i) {
        const int two = weight_only_is_mixed(weight_only_cases[i].name);
        weight_only_try t;
        CHECK(weight_only_begin(&t, weight_only_cases[i].text, NULL));
        t.desc.target = QNNRT_LOWER_CPU;
        t.desc.build_id = qnnrt_backend_get_info(backend)->build_id;
        t.desc.weight_bits = 8;
        CHECK_EQ(weight_only_lower(&t), QNNRT_E_UNSUPPORTED);
        weight_only_end(&t);
        CHECK(weight_only_begin(&t, weight_only_cases[i].text, NULL));
        t.desc.target = QNNRT_LOWER_CPU;
        t.desc.build_id = qnnrt_backend_get_info(backend)->build_id;
        t.desc.weight_bits = 8;
        t.desc.weight_emulate = 1;
        CHECK_EQ(weight_only_lower(&t), QNNRT_OK);
        CHECK_EQ(weight_only_run(&t, backend, !two), QNNRT_OK);
        if (!(t.error <= (two ? 3e-2 : 1e-5))) printf("    %s: error %g\n", weight_only_cases[i].name, t.error);
        CHECK(t.error <= (two ? 3e-2 : 1e-5));
        weight_only_end(&t);
    }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

TEST_MAIN_ARGS("real_weight_only", 2, "RELEASE DATA")
{
    RUN(htp_computes_what_the_rounded_weights_do);
    RUN(htp_is_right_at_every_size_and_scale);
    RUN(htp_gets_no_odd_rows);
    RUN(cpu_emulates_quantized_weights);
}
