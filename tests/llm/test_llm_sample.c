/* qnnrt_sample.h: argmax and sampling on logits as they are stored. The tokens of one seed are the same
   in every configuration of this test; distributions are compared with a slow reference in doubles. */
#define QNNRT_SAMPLE_IMPLEMENTATION
#include "qnnrt_sample.h"
#include <math.h>
#include "test.h"
#include "counted.h"

static qnnrt_error err;

/* ---- logits ---------------------------------------------------------------------------------- */

enum { MOST = 6000 };

static const qnnrt_dtype types[] = { QNNRT_DTYPE_U8Q, QNNRT_DTYPE_S8Q, QNNRT_DTYPE_U16Q,
                                     QNNRT_DTYPE_S16Q, QNNRT_DTYPE_F16, QNNRT_DTYPE_BF16,
                                     QNNRT_DTYPE_F32 };
enum { TYPES = sizeof types / sizeof types[0] };

/* A row of logits, and the tensor that it belongs to. */
static struct {
    uint32_t          dims[2];
    qnnrt_tensor_info info;
    unsigned char     data[MOST * 4];
    float             real[MOST];      /* meaning of the codes */
} row;

static uint32_t bytes_of(qnnrt_dtype dtype)
{
    return dtype == QNNRT_DTYPE_F32 ? 4 : dtype == QNNRT_DTYPE_U8Q || dtype == QNNRT_DTYPE_S8Q ? 1 : 2;
}

static void row_type(qnnrt_dtype dtype, uint32_t count)
{
    memset(&row, 0, sizeof row);
    row.dims[0] = 1;
    row.dims[1] = count;
    row.info.name = "logits";
    row.info.dtype = dtype;
    row.info.rank = 2;
    row.info.dims = row.dims;
    row.info.count = count;
    row.info.bytes = (uint64_t)count * bytes_of(dtype);
    if (dtype == QNNRT_DTYPE_F32 || dtype == QNNRT_DTYPE_F16 || dtype == QNNRT_DTYPE_BF16) return;
    row.info.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    row.info.quant.scale = bytes_of(dtype) == 1 ? 0.0625f : 0.000244140625f;
    row.info.quant.offset = dtype == QNNRT_DTYPE_U8Q ? -128 : dtype == QNNRT_DTYPE_U16Q ? -32768 : 0;
}

/* Store values, and read back the stored result. */
static void row_values(const float *values)
{
    if (qnnrt_encode_f32(&row.info, values, row.data) != QNNRT_OK ||
        qnnrt_decode_f32(&row.info, row.data, row.real) != QNNRT_OK) abort();
}

/* Write numbers in mixed order, made without libm: about as many small as large, -7 ... 7. */
static void row_mixed(uint32_t seed)
{
    static float values[MOST];
    uint64_t state = seed;
    for (uint32_t i = 0; i < row.dims[1]; ++i)
        values[i] = (float)((int)(qnnrt_sample__draw_random(&state) >> 40 & 0xFFFF) - 0x8000) / 4681.0f;
    row_values(values);
}

static qnnrt_llm_sampler *sampler_of(const qnnrt_llm_sampler_desc *desc)
{
    qnnrt_llm_sampler *sampler = NULL;
    if (qnnrt_llm_sampler_create(&row.info, desc, &sampler, &err) != QNNRT_OK) {
        printf("%s\n", err.text);
        abort();
    }
    return sampler;
}

/* ---- argmax ---------------------------------------------------------------------------------- */

static uint32_t argmax_slow(void)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < row.dims[1]; ++i)
        if (!isnan(row.real[i]) && (best == UINT32_MAX || row.real[i] > row.real[best])) best = i;
    return best;
}

TEST(argmax_finds_it_in_every_type_size_and_place)
{
    static const uint32_t sizes[] = { 1, 2, 7, 256, 2047, 2048, 2049, 4095, 4096, 4097, 5999 };
    for (size_t t = 0; t < TYPES; ++t) {
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; ++n) {
            const uint32_t count = sizes[n];
            row_type(types[t], count);
            for (uint32_t seed = 0; seed < 40; ++seed) {
                row_mixed(seed);
                CHECK_EQ(qnnrt_sample__keys_argmax(row.data, types[t], count), argmax_slow());
            }
            /* One value is larger, in every place in turn; all others are equal. */
            for (uint32_t at = 0; at < count; at += 1 + count / 50) {
                static float values[MOST];
                for (uint32_t i = 0; i < count; ++i) values[i] = -3;
                values[at] = -2;
                row_values(values);
                CHECK_EQ(qnnrt_sample__keys_argmax(row.data, types[t], count), at);
                if (at + 1 < count) {
                    values[count - 1] = -2;
                    row_values(values);
                    CHECK_EQ(qnnrt_sample__keys_argmax(row.data, types[t], count), at);
                }
            }
        }
    }
}

TEST(argmax_knows_all_integers_and_halves)
{
    /* Each of the 65,536 codes beside each of some: the comparison is that of the numbers. */
    for (size_t t = 0; t < TYPES; ++t) {
        static const uint32_t beside[] = { 0, 1, 0x80, 0xFF, 0x7BFF, 0x7C00, 0x7FFF, 0x8000, 0x8001,
                                           0x0400, 0x3C00, 0xBC00, 0xFBFF, 0xFC00, 0xFFFF, 0x7F80 };
        const uint32_t bytes = bytes_of(types[t]);
        row_type(types[t], 2);
        for (uint32_t code = 0; code < 0x10000; code += TEST_SHARE) {
            for (size_t k = 0; k < sizeof beside / sizeof *beside; ++k) {
                uint32_t two[2];
                two[0] = bytes == 4 ? code << 16 | code : code;
                two[1] = bytes == 4 ? beside[k] << 16 : beside[k];
                memcpy(row.data, &two[0], bytes);
                memcpy(row.data + bytes, &two[1], bytes);
                if (qnnrt_decode_f32(&row.info, row.data, row.real) != QNNRT_OK) abort();
                CHECK_EQ(qnnrt_sample__keys_argmax(row.data, types[t], 2), argmax_slow());
            }
        }
    }
}

TEST(argmax_is_never_a_nan)
{
    for (size_t t = 0; t < TYPES; ++t) {
        static float values[MOST];
        if (bytes_of(types[t]) == 1 || types[t] == QNNRT_DTYPE_U16Q || types[t] == QNNRT_DTYPE_S16Q)
            continue;
        for (uint32_t count = 1; count < MOST; count += 2500) {
            row_type(types[t], count);
            for (uint32_t i = 0; i < count; ++i) values[i] = i % 2 != 0 ? NAN : -NAN;
            row_values(values);
            CHECK_EQ(qnnrt_sample__keys_argmax(row.data, types[t], count), UINT32_MAX);
            values[count / 3] = -INFINITY;
            row_values(values);
            CHECK_EQ(qnnrt_sample__keys_argmax(row.data, types[t], count), count / 3);
            values[count / 2] = -1e4f;
            row_values(values);
            CHECK_EQ(qnnrt_sample__keys_argmax(row.data, types[t], count), count / 2);
        }
    }
}

TEST(argmax_of_zeros_is_the_first)
{
    static float values[4] = { -1.0f, -0.0f, 0.0f, -0.0f };
    row_type(QNNRT_DTYPE_F32, 4);
    row_values(values);
    CHECK_EQ(qnnrt_sample__keys_argmax(row.data, QNNRT_DTYPE_F32, 4), 1);
    row_type(QNNRT_DTYPE_F16, 4);
    row_values(values);
    CHECK_EQ(qnnrt_sample__keys_argmax(row.data, QNNRT_DTYPE_F16, 4), 1);
}

TEST(argmax_of_nothing_is_nothing)
{
    static const uint16_t codes[4] = { 3, 9, 4, 9 };
    CHECK_EQ(qnnrt_sample__keys_argmax(codes, QNNRT_DTYPE_U16, 4), 1);
    CHECK_EQ(qnnrt_sample__keys_argmax(codes, QNNRT_DTYPE_I16, 1), 0);
    CHECK_EQ(qnnrt_sample__keys_argmax(codes, QNNRT_DTYPE_U16Q, 0), UINT32_MAX);
    CHECK_EQ(qnnrt_sample__keys_argmax(NULL, QNNRT_DTYPE_U16Q, 4), UINT32_MAX);
    CHECK_EQ(qnnrt_sample__keys_argmax(codes, QNNRT_DTYPE_U4Q, 4), UINT32_MAX);
    CHECK_EQ(qnnrt_sample__keys_argmax(codes, QNNRT_DTYPE_F64, 1), UINT32_MAX);
    row_type(QNNRT_DTYPE_U16Q, 4);
    CHECK_EQ(qnnrt_sample_argmax(&row.info, codes), 1);
    CHECK_EQ(qnnrt_sample_argmax(&row.info, NULL), -1);
    CHECK_EQ(qnnrt_sample_argmax(NULL, codes), -1);
    row.info.dtype = QNNRT_DTYPE_F64;
    CHECK_EQ(qnnrt_sample_argmax(&row.info, codes), -1);
    row.info.rank = 0;
    CHECK_EQ(qnnrt_sample_argmax(&row.info, codes), -1);
}

TEST(argmax_takes_any_address)
{
    for (size_t t = 0; t < TYPES; ++t) {
        static unsigned char shifted[MOST * 4 + 8];
        row_type(types[t], 5000);
        row_mixed(11);
        for (uint32_t by = 1; by < 4; ++by) {
            memcpy(shifted + by, row.data, sizeof row.data);
            CHECK_EQ(qnnrt_sample__keys_argmax(shifted + by, types[t], 5000), argmax_slow());
        }
    }
}

/* ---- the same tokens everywhere -------------------------------------------------------------- */

static const qnnrt_llm_sampler_desc recipes[] = {
    /* temperature, top_k, top_p, min_p, penalty, last, seed */
    { 1.0f, 0, 0, 0, 0, 0, 0, { 0 } },
    { 0.7f, 40, 0, 0, 0, 0, 42, { 0 } },
    { 0.8f, 0, 0.9f, 0, 0, 0, 1, { 0 } },
    { 1.3f, 0, 0, 0.05f, 0, 0, 7, { 0 } },
    { 0.9f, 50, 0.95f, 0.02f, 1.1f, 16, 0xFFFFFFFFFFFFFFFFu, { 0 } },
    { 0, 0, 0, 0, 1.3f, 0, 0, { 0 } }
};
enum { RECIPES = sizeof recipes / sizeof recipes[0], DRAWN = 8 };

#include "../golden/llm_sample.h"

TEST(tokens_of_a_seed_are_the_committed_ones)
{
    const char *update = test_getenv("QNNRT_UPDATE_GOLDEN");
    FILE *file = update != NULL ? fopen(update, "w") : NULL;
    if (file != NULL)
        fprintf(file, "/* Tokens by type, recipe and order, of tests/llm/test_llm_sample.c: "
                      "QNNRT_UPDATE_GOLDEN=this file */\n"
                      "static const int32_t golden[TYPES][RECIPES][DRAWN] = {\n");
    for (size_t t = 0; t < TYPES; ++t) {
        for (size_t r = 0; r < RECIPES; ++r) {
            qnnrt_llm_sampler *sampler;
            row_type(types[t], 5003);
            row_mixed(5);
            sampler = sampler_of(&recipes[r]);
            if (file != NULL) fprintf(file, "%s {", r == 0 ? "    {" : "     ");
            for (size_t i = 0; i < DRAWN; ++i) {
                int32_t token = qnnrt_llm_sample(sampler, row.data);
                qnnrt_llm_sampler_accept(sampler, token);
                if (file != NULL) fprintf(file, " %d%s", token, i + 1 < DRAWN ? "," : " }");
                else CHECK_EQ(token, golden[t][r][i]);
            }
            if (file != NULL) fprintf(file, "%s\n", r + 1 < RECIPES ? "," : t + 1 < TYPES ? " }," : " }");
            qnnrt_llm_sampler_destroy(sampler);
        }
    }
    if (file == NULL) return;
    fprintf(file, "};\n");
    fclose(file);
}

TEST(every_weight_is_the_same_everywhere)
{
    uint64_t hash = 14695981039346656037u;
    const qnnrt_llm_sampler_desc desc = { 1, 0, 0, 0, 0, 0, 0, { 0 } };
    qnnrt_llm_sampler *sampler;
    row_type(QNNRT_DTYPE_U16Q, 4);
    sampler = sampler_of(&desc);
    for (uint32_t steps = 0; steps < QNNRT_SAMPLE__DRAW_STEPS; steps += 61) {
        const uint64_t weight = qnnrt_sample__draw_weight(sampler, steps);
        CHECK(fabs((double)weight - exp(-(double)steps / 1048576.0) * 4294967296.0) < 4);
        hash = (hash ^ weight) * 1099511628211u;
    }
    CHECK_EQ(qnnrt_sample__draw_weight(sampler, 0), (uint64_t)1 << 32);
    CHECK_EQ(hash, 0x34e8ee7d72d2ccb3);
    qnnrt_llm_sampler_destroy(sampler);
}

TEST(reset_begins_again)
{
    const qnnrt_llm_sampler_desc desc = { 1.5f, 0, 0, 0, 1.2f, 3, 99, { 0 } };
    int32_t first[50];
    qnnrt_llm_sampler *sampler;
    row_type(QNNRT_DTYPE_S16Q, 1000);
    row_mixed(8);
    sampler = sampler_of(&desc);
    for (int again = 0; again < 3; ++again) {
        for (int i = 0; i < 50; ++i) {
            const int32_t token = qnnrt_llm_sample(sampler, row.data);
            qnnrt_llm_sampler_accept(sampler, token);
            if (again == 0) first[i] = token;
            else CHECK_EQ(token, first[i]);
        }
        qnnrt_llm_sampler_reset(sampler);
    }
    qnnrt_llm_sampler_destroy(sampler);
}

TEST(seeds_differ)
{
    qnnrt_llm_sampler_desc desc = { 2.0f, 0, 0, 0, 0, 0, 0, { 0 } };
    int32_t first = -1;
    int same = 0;
    row_type(QNNRT_DTYPE_F32, 3000);
    row_mixed(8);
    for (desc.seed = 0; desc.seed < 100; ++desc.seed) {
        qnnrt_llm_sampler *sampler = sampler_of(&desc);
        const int32_t token = qnnrt_llm_sample(sampler, row.data);
        if (desc.seed == 0) first = token;
        else same += token == first;
        qnnrt_llm_sampler_destroy(sampler);
    }
    CHECK(same < 5);
}

/* ---- distributions --------------------------------------------------------------------------- */

typedef struct option {
    double   level, probability;
    uint32_t token;
} option;

static int by_level(const void *a, const void *b)
{
    const option *x = (const option *)a, *y = (const option *)b;
    if (x->level != y->level) return x->level > y->level ? -1 : 1;
    return x->token < y->token ? -1 : 1;
}

/* Compute what the header documents, slowly: probabilities by token. Return how many are
   possible. */
static uint32_t reference(const qnnrt_llm_sampler_desc *desc, const unsigned char *recent,
                          double *probabilities)
{
    static option options[MOST];
    const uint32_t count = row.dims[1];
    uint32_t left = count;
    double sum, add = 0;
    for (uint32_t i = 0; i < count; ++i) {
        double level = row.real[i];
        if (recent != NULL && recent[i] != 0)
            level = level > 0 ? level / (double)desc->repetition_penalty
                              : level * (double)desc->repetition_penalty;
        options[i].level = level / (double)desc->temperature;
        options[i].token = i;
        probabilities[i] = 0;
    }
    qsort(options, count, sizeof *options, by_level);
    if (desc->top_k != 0 && desc->top_k < left) left = desc->top_k;
    sum = 0;
    for (uint32_t i = 0; i < left; ++i)
        sum += options[i].probability = exp(options[i].level - options[0].level);
    if (desc->top_p > 0 && desc->top_p < 1) {
        for (uint32_t i = 0; i < left; ++i) {
            add += options[i].probability / sum;
            if (add >= (double)desc->top_p - 1e-9) left = i + 1;
        }
    }
    while (left > 1 && options[left - 1].probability < (double)desc->min_p * (1 - 1e-7)) --left;
    sum = 0;
    for (uint32_t i = 0; i < left; ++i) sum += options[i].probability;
    for (uint32_t i = 0; i < left; ++i) probabilities[options[i].token] = options[i].probability / sum;
    return left;
}

/* Draw often; impossible tokens never occur, and the sum of squares is within the range of
   chance. */
static void compare(const qnnrt_llm_sampler_desc *desc, const int32_t *text, size_t length,
                    uint32_t possible)
{
    static double probabilities[MOST];
    static uint32_t drawn[MOST];
    static unsigned char recent[MOST];
    const uint32_t draws = 4000;
    double chi = 0, rare = 0, rare_drawn = 0, degrees = 0;
    const uint32_t last = desc->repetition_last != 0 ? desc->repetition_last : 64;
    qnnrt_llm_sampler *sampler = sampler_of(desc);
    uint32_t left;

    memset(drawn, 0, sizeof drawn);
    memset(recent, 0, sizeof recent);
    for (size_t i = 0; i < length; ++i) {
        qnnrt_llm_sampler_accept(sampler, text[i]);
        if (length - i <= last) recent[text[i]] = 1;
    }
    left = reference(desc, desc->repetition_penalty != 0 ? recent : NULL, probabilities);
    if (possible != 0) CHECK_EQ(left, possible);
    for (uint32_t i = 0; i < draws; ++i) {
        const int32_t token = qnnrt_llm_sample(sampler, row.data);
        CHECK(token >= 0 && (uint32_t)token < row.dims[1]);
        if (probabilities[token] == 0) printf("token %d is not possible\n", token);
        CHECK(probabilities[token] > 0);
        ++drawn[token];
    }
    for (uint32_t i = 0; i < row.dims[1]; ++i) {
        const double want = probabilities[i] * draws, got = drawn[i];
        if (want >= 8) {
            chi += (got - want) * (got - want) / want;
            ++degrees;
        } else {
            rare += want;
            rare_drawn += got;
        }
    }
    if (rare >= 8) {
        chi += (rare_drawn - rare) * (rare_drawn - rare) / rare;
        ++degrees;
    }
    if (chi > degrees + 4 * sqrt(2 * degrees) + 2) printf("chi %g, %g degrees\n", chi, degrees);
    CHECK(chi <= degrees + 4 * sqrt(2 * degrees) + 2);
    qnnrt_llm_sampler_destroy(sampler);
}

TEST(temperature_alone)
{
    static const float temperatures[] = { 0.1f, 0.5f, 1, 2, 100 };
    for (size_t t = 0; t < TYPES; ++t) {
        for (size_t k = 0; k < sizeof temperatures / sizeof *temperatures; ++k) {
            qnnrt_llm_sampler_desc desc = { 0 };
            desc.temperature = temperatures[k];
            desc.seed = k;
            row_type(types[t], 300);
            row_mixed(3);
            TRY(compare(&desc, NULL, 0, 0));
        }
    }
}

TEST(top_k_alone)
{
    for (size_t t = 0; t < TYPES; ++t) {
        static const uint32_t ks[] = { 1, 2, 40, 299, 300, 301, 4000000000u };
        row_type(types[t], 300);
        row_mixed(4);
        for (size_t k = 0; k < sizeof ks / sizeof *ks; ++k) {
            qnnrt_llm_sampler_desc desc = { 0 };
            desc.temperature = 3;
            desc.top_k = ks[k];
            TRY(compare(&desc, NULL, 0, ks[k] < 300 ? ks[k] : 300));
        }
    }
}

TEST(top_p_alone)
{
    for (size_t t = 0; t < TYPES; ++t) {
        static const float ps[] = { 1e-30f, 0.01f, 0.5f, 0.9f, 0.999f, 1 };
        row_type(types[t], 300);
        row_mixed(5);
        for (size_t k = 0; k < sizeof ps / sizeof *ps; ++k) {
            qnnrt_llm_sampler_desc desc = { 0 };
            desc.temperature = 2;
            desc.top_p = ps[k];
            TRY(compare(&desc, NULL, 0, ps[k] < 1e-6f ? 1 : ps[k] == 1 ? 300 : 0));
        }
    }
}

TEST(min_p_alone)
{
    for (size_t t = 0; t < TYPES; ++t) {
        static const float ps[] = { 1e-30f, 0.003f, 0.1f, 0.7f };
        row_type(types[t], 300);
        row_mixed(6);
        for (size_t k = 0; k < sizeof ps / sizeof *ps; ++k) {
            qnnrt_llm_sampler_desc desc = { 0 };
            desc.temperature = 2;
            desc.min_p = ps[k];
            TRY(compare(&desc, NULL, 0, 0));
        }
    }
}

TEST(penalty_alone_and_all_together)
{
    for (size_t t = 0; t < TYPES; ++t) {
        int32_t text[100];
        qnnrt_llm_sampler_desc desc = { 0 };
        row_type(types[t], 300);
        row_mixed(7);
        for (int i = 0; i < 100; ++i) text[i] = i * 37 % 150;
        desc.temperature = 2;
        desc.repetition_penalty = 1.7f;
        TRY(compare(&desc, text, 100, 0));
        desc.repetition_last = 10;
        TRY(compare(&desc, text, 100, 0));
        desc.repetition_last = 1;
        TRY(compare(&desc, text, 100, 0));
        desc.repetition_last = 1000;
        TRY(compare(&desc, text, 100, 0));
        desc.repetition_penalty = 0.6f;      /* a penalty below 1 prefers recent tokens */
        TRY(compare(&desc, text, 100, 0));
        desc.repetition_penalty = 1.2f;
        desc.top_k = 60;
        desc.top_p = 0.95f;
        desc.min_p = 0.01f;
        TRY(compare(&desc, text, 100, 0));
    }
}

TEST(equal_logits_are_equally_probable_and_cut_from_behind)
{
    for (size_t t = 0; t < TYPES; ++t) {
        static float values[MOST];
        qnnrt_llm_sampler_desc desc = { 0 };
        qnnrt_llm_sampler *sampler;
        row_type(types[t], 100);
        for (int i = 0; i < 100; ++i) values[i] = 1.5f;
        row_values(values);
        desc.temperature = 1;
        TRY(compare(&desc, NULL, 0, 100));
        desc.top_k = 7;
        TRY(compare(&desc, NULL, 0, 7));
        desc.top_k = 0;
        desc.top_p = 0.25f;                  /* exactly 25 of 100 equal tokens are possible */
        TRY(compare(&desc, NULL, 0, 25));
        desc.top_p = 0;
        desc.min_p = 1;
        TRY(compare(&desc, NULL, 0, 100));
        desc.min_p = 0;
        desc.temperature = 0;
        sampler = sampler_of(&desc);
        CHECK_EQ(qnnrt_llm_sample(sampler, row.data), 0);
        qnnrt_llm_sampler_destroy(sampler);
    }
}

/* ---- greedy ---------------------------------------------------------------------------------- */

TEST(greedy_is_the_argmax)
{
    for (size_t t = 0; t < TYPES; ++t) {
        for (uint32_t seed = 0; seed < 30; ++seed) {
            qnnrt_llm_sampler *sampler;
            row_type(types[t], 4999);
            row_mixed(seed);
            sampler = sampler_of(seed % 2 != 0 ? &recipes[0] + RECIPES - 1 : NULL);
            for (int i = 0; i < 3; ++i) CHECK_EQ(qnnrt_llm_sample(sampler, row.data), argmax_slow());
            qnnrt_llm_sampler_destroy(sampler);
        }
    }
}

TEST(greedy_with_a_penalty_is_the_best_that_is_left)
{
    for (size_t t = 0; t < TYPES; ++t) {
        qnnrt_llm_sampler_desc desc = { 0 };
        qnnrt_llm_sampler *sampler;
        static unsigned char seen[MOST];
        desc.repetition_penalty = 1.5f;
        desc.repetition_last = 20;
        row_type(types[t], 3000);
        row_mixed(2);
        memset(seen, 0, sizeof seen);
        sampler = sampler_of(&desc);
        for (int i = 0; i < 20; ++i) {
            double most = -1e30;
            int32_t best = -1, token = qnnrt_llm_sample(sampler, row.data);
            for (int32_t k = 0; k < 3000; ++k) {
                const double real = row.real[k];
                const double level = !seen[k] ? real : real > 0 ? real / 1.5 : real * 1.5;
                if (level > most) {
                    most = level;
                    best = k;
                }
            }
            CHECK_EQ(token, best);
            seen[token] = 1;
            qnnrt_llm_sampler_accept(sampler, token);
        }
        qnnrt_llm_sampler_destroy(sampler);
    }
}

TEST(recent_tokens_are_forgotten_in_their_order)
{
    static const float values[4] = { 4, 3.9f, 3.8f, -10 };
    static const int32_t wanted[10] = { 0, 1, 2, 0, 1, 2, 0, 1, 2, 0 };
    qnnrt_llm_sampler_desc desc = { 0 };
    qnnrt_llm_sampler *sampler;
    desc.repetition_penalty = 2;
    desc.repetition_last = 2;
    row_type(QNNRT_DTYPE_F32, 4);
    row_values(values);
    sampler = sampler_of(&desc);
    for (int i = 0; i < 10; ++i) {
        CHECK_EQ(qnnrt_llm_sample(sampler, row.data), wanted[i]);
        qnnrt_llm_sampler_accept(sampler, wanted[i]);
        qnnrt_llm_sampler_accept(sampler, -1);      /* -1 is not a token: the call has no effect */
        qnnrt_llm_sampler_accept(sampler, 4);
    }
    /* A token that was accepted twice counts once, as long as one of the two is recent. */
    qnnrt_llm_sampler_reset(sampler);
    qnnrt_llm_sampler_accept(sampler, 0);
    qnnrt_llm_sampler_accept(sampler, 0);
    CHECK_EQ(qnnrt_llm_sample(sampler, row.data), 1);
    qnnrt_llm_sampler_accept(sampler, 1);
    CHECK_EQ(qnnrt_llm_sample(sampler, row.data), 2);
    qnnrt_llm_sampler_accept(sampler, 1);
    CHECK_EQ(qnnrt_llm_sample(sampler, row.data), 0);
    qnnrt_llm_sampler_destroy(sampler);
}

/* ---- extreme settings ------------------------------------------------------------------------ */

TEST(one_logit_is_always_it)
{
    for (size_t t = 0; t < TYPES; ++t) {
        for (size_t r = 0; r < RECIPES; ++r) {
            qnnrt_llm_sampler *sampler;
            row_type(types[t], 1);
            row_mixed(1);
            sampler = sampler_of(&recipes[r]);
            for (int i = 0; i < 5; ++i) {
                CHECK_EQ(qnnrt_llm_sample(sampler, row.data), 0);
                qnnrt_llm_sampler_accept(sampler, 0);
            }
            qnnrt_llm_sampler_destroy(sampler);
        }
    }
}

TEST(extreme_scales_and_temperatures)
{
    static const float scales[] = { 1e-45f, 1e-30f, 1, 1e30f, 3e38f };
    static const float temperatures[] = { 1e-45f, 1e-20f, 1, 1e20f, 1e30f };
    for (size_t t = 0; t < TYPES; ++t) {
        for (size_t a = 0; a < 5; ++a) {
            for (size_t b = 0; b < 5; ++b) {
                qnnrt_llm_sampler_desc desc = { 0 };
                qnnrt_llm_sampler *sampler;
                double unit;
                int32_t token = -1;
                int others = 0;
                row_type(types[t], 200);
                row_mixed(9);
                unit = 1.0 / (double)temperatures[b];
                if (row.info.quant.encoding != QNNRT_ENCODING_NONE) {
                    row.info.quant.scale = scales[a];
                    unit *= (double)scales[a];
                }
                desc.temperature = temperatures[b];
                desc.repetition_penalty = 1.5f;
                sampler = sampler_of(&desc);
                qnnrt_llm_sampler_accept(sampler, 150);
                for (int i = 0; i < 40; ++i) {
                    token = qnnrt_llm_sample(sampler, row.data);
                    CHECK(token >= 0 && token < 200);
                    others += token != (int32_t)argmax_slow();
                }
                if (unit > 1e8) CHECK_EQ(others, 0);       /* frozen */
                /* Nearly all draws differ from the best token. */
                if (unit < 1e-8) CHECK(others > 30);
                qnnrt_llm_sampler_destroy(sampler);
            }
        }
    }
}

TEST(large_offsets_stay_exact)
{
    static const int32_t offsets[] = { INT32_MIN, -1000000000, 0, 1000000000, INT32_MAX };
    for (size_t k = 0; k < 5; ++k) {
        qnnrt_llm_sampler_desc desc = { 0 };
        row_type(QNNRT_DTYPE_U16Q, 300);
        row_mixed(3);
        row.info.quant.offset = offsets[k];
        desc.temperature = 1.5f;
        TRY(compare(&desc, NULL, 0, 0));        /* adding the same value to all has no effect */
    }
}

TEST(infinities_and_nans)
{
    static float values[6] = { NAN, -INFINITY, 2, INFINITY, INFINITY, NAN };
    const qnnrt_dtype floats[] = { QNNRT_DTYPE_F16, QNNRT_DTYPE_BF16, QNNRT_DTYPE_F32 };
    for (int t = 0; t < 3; ++t) {
        for (int greedy = 0; greedy < 2; ++greedy) {
            qnnrt_llm_sampler_desc desc = { 0 };
            qnnrt_llm_sampler *sampler;
            int both[2] = { 0, 0 };
            desc.temperature = greedy ? 0 : 1;
            desc.repetition_penalty = 1.1f;
            desc.top_p = 0.99f;
            row_type(floats[t], 6);
            row_values(values);
            sampler = sampler_of(&desc);
            qnnrt_llm_sampler_accept(sampler, 0);
            qnnrt_llm_sampler_accept(sampler, 1);
            qnnrt_llm_sampler_accept(sampler, 2);
            for (int i = 0; i < 50; ++i) {
                const int32_t token = qnnrt_llm_sample(sampler, row.data);
                CHECK(token == 3 || token == 4);
                ++both[token - 3];
            }
            CHECK(greedy ? both[1] == 0 : both[0] > 5 && both[1] > 5);
            /* With only NaN and minus infinity, minus infinity is the best. With only NaN, there
               is no best. */
            row_type(floats[t], 2);
            row_values(values);
            CHECK_EQ(qnnrt_llm_sample(sampler, row.data) < 6, 1);
            qnnrt_llm_sampler_destroy(sampler);
            sampler = sampler_of(&desc);
            CHECK_EQ(qnnrt_llm_sample(sampler, row.data), 1);
            qnnrt_llm_sampler_accept(sampler, 1);
            qnnrt_llm_sampler_accept(sampler, 0);
            CHECK_EQ(qnnrt_llm_sample(sampler, row.data), 1);
            qnnrt_llm_sampler_destroy(sampler);
            row_type(floats[t], 1);
            row_values(values);
            sampler = sampler_of(&desc);
            CHECK_EQ(qnnrt_llm_sample(sampler, row.data), -1);
            qnnrt_llm_sampler_accept(sampler, 0);
            CHECK_EQ(qnnrt_llm_sample(sampler, row.data), -1);
            qnnrt_llm_sampler_destroy(sampler);
        }
    }
}

TEST(null_is_harmless)
{
    qnnrt_llm_sampler *sampler;
    row_type(QNNRT_DTYPE_F32, 3);
    sampler = sampler_of(NULL);
    CHECK_EQ(qnnrt_llm_sample(NULL, row.data), -1);
    CHECK_EQ(qnnrt_llm_sample(sampler, NULL), -1);
    qnnrt_llm_sampler_accept(NULL, 1);
    qnnrt_llm_sampler_reset(NULL);
    qnnrt_llm_sampler_destroy(NULL);
    qnnrt_llm_sampler_destroy(sampler);
}

/* ---- refusals and memory --------------------------------------------------------------------- */

static qnnrt_result refused(const qnnrt_llm_sampler_desc *desc)
{
    qnnrt_llm_sampler *sampler = (qnnrt_llm_sampler *)&err;
    qnnrt_result result;
    TEST_JUNK(err);
    result = qnnrt_llm_sampler_create(&row.info, desc, &sampler, &err);
    if (sampler != NULL || result != err.code) return QNNRT_OK;
    return result;
}

TEST(wrong_fields_are_named)
{
    static const float wrong[] = { -0.5f, NAN, INFINITY, -INFINITY, 2e30f };
    qnnrt_llm_sampler *sampler;
    row_type(QNNRT_DTYPE_U16Q, 10);
    for (size_t k = 0; k < 5; ++k) {
        qnnrt_llm_sampler_desc desc = { 0 };
        desc.temperature = wrong[k];
        CHECK_EQ(refused(&desc), QNNRT_E_ARG);
        CHECK_STR(err.text, "temperature is ");
        desc.temperature = 0;
        desc.top_p = wrong[k];
        CHECK_EQ(refused(&desc), QNNRT_E_ARG);
        CHECK_STR(err.text, "top_p is ");
        desc.top_p = 0;
        desc.min_p = wrong[k];
        CHECK_EQ(refused(&desc), QNNRT_E_ARG);
        CHECK_STR(err.text, "min_p is ");
        desc.min_p = 0;
        desc.repetition_penalty = wrong[k];
        CHECK_EQ(refused(&desc), QNNRT_E_ARG);
        CHECK_STR(err.text, "repetition_penalty is ");
    }
    {
        qnnrt_llm_sampler_desc desc = { 0 };
        desc.top_p = 1.0001f;
        CHECK_EQ(refused(&desc), QNNRT_E_ARG);
        CHECK_STR(err.text, "top_p is 1.0001, expected 0 to 1");
        desc.top_p = 0;
        desc.min_p = 1.5f;
        CHECK_EQ(refused(&desc), QNNRT_E_ARG);
        CHECK_STR(err.text, "min_p is 1.5");
        desc.min_p = 0;
        desc.hooks.free = (void (*)(void *, void *))NULL;
        CHECK_EQ(qnnrt_llm_sampler_create(NULL, &desc, &sampler, &err), QNNRT_E_ARG);
        CHECK(sampler == NULL);
        CHECK_STR(err.text, "logits is NULL");
        CHECK_EQ(qnnrt_llm_sampler_create(&row.info, &desc, NULL, &err), QNNRT_E_ARG);
        CHECK_STR(err.text, "out is NULL");
        CHECK_EQ(qnnrt_llm_sampler_create(&row.info, &desc, NULL, NULL), QNNRT_E_ARG);
    }
}

TEST(logits_that_cannot_be_sampled_are_refused)
{
    static const qnnrt_dtype others[] = { QNNRT_DTYPE_U4Q, QNNRT_DTYPE_S32Q, QNNRT_DTYPE_F64,
                                          QNNRT_DTYPE_F8, QNNRT_DTYPE_I32, QNNRT_DTYPE_UNDEFINED };
    static const float scales[] = { 0, -1, NAN, INFINITY };
    row_type(QNNRT_DTYPE_F32, 10);
    for (size_t k = 0; k < sizeof others / sizeof *others; ++k) {
        row.info.dtype = others[k];
        CHECK_EQ(refused(NULL), QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, "tensor \"logits\"");
        CHECK_STR(err.text, qnnrt_dtype_name(others[k]));
    }
    row.info.dtype = QNNRT_DTYPE_U16;       /* codes are ordered, but have no scale */
    CHECK_EQ(refused(NULL), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "uint16");
    row_type(QNNRT_DTYPE_S8Q, 10);
    for (size_t k = 0; k < 4; ++k) {
        row.info.quant.scale = scales[k];
        CHECK_EQ(refused(NULL), QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, "scale");
    }
    row_type(QNNRT_DTYPE_S8Q, 10);
    row.info.quant.encoding = QNNRT_ENCODING_PER_AXIS;
    CHECK_EQ(refused(NULL), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "one scale");
    row_type(QNNRT_DTYPE_S8Q, 10);
    row.info.quant.bitwidth = 4;
    CHECK_EQ(refused(NULL), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "4 bits of 8");
    row_type(QNNRT_DTYPE_S8Q, 10);
    row.dims[1] = 0;
    CHECK_EQ(refused(NULL), QNNRT_E_ARG);
    row.info.rank = 0;
    CHECK_EQ(refused(NULL), QNNRT_E_ARG);
    CHECK_STR(err.text, "vocabulary");
    row_type(QNNRT_DTYPE_S8Q, 10);
    row.dims[1] = 0x80000000u;
    CHECK_EQ(refused(NULL), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "2147483648");
}

TEST(memory_is_taken_once_and_given_back)
{
    qnnrt_llm_sampler_desc desc = recipes[4];
    qnnrt_llm_sampler *sampler;
    desc.hooks.alloc = counted_alloc;
    row_type(QNNRT_DTYPE_F16, 5000);
    row_mixed(1);
    CHECK_EQ(refused(&desc), QNNRT_E_ARG);
    CHECK_STR(err.text, "alloc and free");
    desc.hooks.free = counted_free;
    for (fail_at = 0; fail_at < 4; ++fail_at) {
        allocations = 0;
        CHECK_EQ(refused(&desc), QNNRT_E_MEMORY);
        CHECK_STR(err.text, "memory for");
        CHECK_EQ(live, 0);
    }
    fail_at = -1;
    desc.repetition_last = 0xFFFFFFFFu;
    CHECK_EQ(refused(&desc), QNNRT_E_MEMORY);
    desc.repetition_last = 0;
    row.dims[1] = 0x7FFFFFFFu;
    CHECK_EQ(refused(&desc), QNNRT_E_MEMORY);       /* 16 GiB of candidates */
    CHECK_EQ(live, 0);
    row.dims[1] = 5000;
    allocations = 0;
    sampler = sampler_of(&desc);
    CHECK_EQ(allocations, 4);
    for (int i = 0; i < 300; ++i)
        qnnrt_llm_sampler_accept(sampler, qnnrt_llm_sample(sampler, row.data));
    qnnrt_llm_sampler_reset(sampler);
    CHECK_EQ(allocations, 4);
    qnnrt_llm_sampler_destroy(sampler);
    CHECK_EQ(live, 0);
    /* Greedy needs almost no memory, however large the vocabulary is. */
    desc.temperature = 0;
    row.dims[1] = 0x7FFFFFFFu;
    sampler = sampler_of(&desc);
    qnnrt_llm_sampler_destroy(sampler);
    CHECK_EQ(live, 0);
}

TEST_MAIN("llm_sample")
{
    RUN(argmax_finds_it_in_every_type_size_and_place);
    RUN(argmax_knows_all_integers_and_halves);
    RUN(argmax_is_never_a_nan);
    RUN(argmax_of_zeros_is_the_first);
    RUN(argmax_of_nothing_is_nothing);
    RUN(argmax_takes_any_address);
    RUN(tokens_of_a_seed_are_the_committed_ones);
    RUN(every_weight_is_the_same_everywhere);
    RUN(reset_begins_again);
    RUN(seeds_differ);
    RUN(temperature_alone);
    RUN(top_k_alone);
    RUN(top_p_alone);
    RUN(min_p_alone);
    RUN(penalty_alone_and_all_together);
    RUN(equal_logits_are_equally_probable_and_cut_from_behind);
    RUN(greedy_is_the_argmax);
    RUN(greedy_with_a_penalty_is_the_best_that_is_left);
    RUN(recent_tokens_are_forgotten_in_their_order);
    RUN(one_logit_is_always_it);
    RUN(extreme_scales_and_temperatures);
    RUN(large_offsets_stay_exact);
    RUN(infinities_and_nans);
    RUN(null_is_harmless);
    RUN(wrong_fields_are_named);
    RUN(logits_that_cannot_be_sampled_are_refused);
    RUN(memory_is_taken_once_and_given_back);
}
