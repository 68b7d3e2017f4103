/* test_gguf.c - GGUF in tools/qnnrt_weights.h: files in good order and hostile ones */
static unsigned long steps;
#define QNNRT_WEIGHTS__STEP() (++steps)
#define QNNRT_WEIGHTS_IMPLEMENTATION
#include "qnnrt_weights.h"
#include "counted.h"
#include "test.h"
#include "gguf_file.h"
#include <math.h>

/* ---- reading ------------------------------------------------------------------------------------ */

static size_t small_file(void)
{
    begin();
    words("general.architecture", "llama");
    whole("llama.block_count", 7);
    pair("i8", QNNRT_WEIGHTS_I8, 0xF9, 1);
    pair("i16", QNNRT_WEIGHTS_I16, 0x8000, 2);
    pair("i64", QNNRT_WEIGHTS_I64, UINT64_MAX, 8);
    pair("u64", QNNRT_WEIGHTS_U64, UINT64_MAX, 8);
    pair("yes", QNNRT_WEIGHTS_BOOL, 1, 1);
    real("half", 0.5f);
    pair("three", QNNRT_WEIGHTS_F64, (uint64_t)0x4008 << 48, 8);
    list("texts", QNNRT_WEIGHTS_TEXT, 3);
    text("a");
    text("");
    text("long one");
    list("shorts", QNNRT_WEIGHTS_U16, 2);
    number(1, 2);
    number(65535, 2);
    list("none", QNNRT_WEIGHTS_F32, 0);
    tensor("m", 3, 2, 0, 0);
    tensor("blocks", 64, 2, 2, 32);
    tensor("odd", 64, 2, 20, 128);
    return finish(128 + 72);
}

TEST(gguf_pairs_have_types)
{
    static const struct { const char *key; int whole, real; int64_t value; double number; } cases[] = {
        { "llama.block_count", 1, 1, 7, 7 }, { "i8", 1, 1, -7, -7 }, { "i16", 1, 1, -32768, -32768 }, { "i64", 1, 1, -1, -1 },
        { "u64", 0, 1, 0, 18446744073709551616.0 }, { "yes", 1, 1, 1, 1 }, { "half", 0, 1, 0, 0.5 }, { "three", 0, 1, 0, 3 },
        { "texts", 0, 0, 0, 0 }, { "none", 0, 0, 0, 0 }, { "shorts", 1, 1, 1, 1 }, { "nowhere", 0, 0, 0, 0 },
    };
    static const char *const expected[] = { "a", "", "long one" };
    const qnnrt_weights_info *info;
    const qnnrt_weights_value *value;
    qnnrt_weights *w;
    const char *at;
    uint64_t cursor = 0;
    int64_t integer;
    double real_one;
    size_t i, bytes;
    put(small_file());
    w = open_with(NULL);
    CHECK(w != NULL);
    info = qnnrt_weights_get_info(w);
    CHECK_EQ(info->value_count, 12);
    CHECK_EQ(info->metadata_count, 0);
    CHECK(strcmp(info->values[0].key, "general.architecture") == 0 && strcmp(info->values[11].key, "none") == 0);
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        value = qnnrt_weights_get_value(w, cases[i].key);
        integer = 99;
        real_one = 99;
        CHECK_EQ(qnnrt_weights_value_i64(value, 0, &integer), cases[i].whole);
        CHECK_EQ(qnnrt_weights_value_f64(value, 0, &real_one), cases[i].real);
        CHECK_EQ(integer, cases[i].whole ? cases[i].value : 99);
        CHECK(real_one == (cases[i].real ? cases[i].number : 99));
    }
    value = qnnrt_weights_get_value(w, "texts");
    CHECK(value->list && value->count == 3 && value->kind == QNNRT_WEIGHTS_TEXT);
    for (i = 0; qnnrt_weights_value_next(value, &cursor, &at, &bytes); ++i)
        CHECK(i < 3 && bytes == strlen(expected[i]) && memcmp(at, expected[i], bytes) == 0);
    CHECK_EQ(i, 3);
    CHECK_EQ(qnnrt_weights_value_next(qnnrt_weights_get_value(w, "i8"), &cursor, &at, &bytes), 0);
    value = qnnrt_weights_get_value(w, "shorts");
    CHECK(qnnrt_weights_value_i64(value, 1, &integer) && integer == 65535 && !qnnrt_weights_value_i64(value, 2, &integer));
    CHECK_EQ(qnnrt_weights_value_i64(NULL, 0, &integer), 0);
    CHECK(qnnrt_weights_get_value(NULL, "i8") == NULL && qnnrt_weights_get_value(w, NULL) == NULL);
    qnnrt_weights_close(w);
}

TEST(gguf_weights_are_listed)
{
    const qnnrt_weight *m, *blocks, *odd;
    float values[6];
    qnnrt_weights *w;
    put(small_file());
    w = open_with(NULL);
    m = qnnrt_weights_find(w, "m");
    blocks = qnnrt_weights_find(w, "blocks");
    odd = qnnrt_weights_find(w, "odd");
    CHECK(m->rank == 2 && m->dims[0] == 2 && m->dims[1] == 3 && m->bytes == 24 && m->block == 0 && strcmp(m->type, "F32") == 0);
    CHECK(blocks->dims[0] == 2 && blocks->dims[1] == 64 && blocks->bytes == 72 && blocks->block == 32 && blocks->dtype == QNNRT_DTYPE_F32);
    CHECK(odd->dtype == QNNRT_DTYPE_UNDEFINED && odd->bytes == 72 && strcmp(odd->type, "IQ4_NL") == 0);
    CHECK_EQ(((const unsigned char *)m->data)[1], 7);
    CHECK_EQ(((const unsigned char *)blocks->data)[0], 32 * 7 & 255);
    CHECK_EQ(qnnrt_weights_get_info(w)->gap_bytes, 128 + 72 - 24 - 72 - 72);
    CHECK_EQ(qnnrt_weights_convert(m, QNNRT_DTYPE_F32, values, 24, NULL, &told), QNNRT_OK);
    CHECK_EQ(memcmp(values, m->data, 24), 0);
    CHECK_EQ(qnnrt_weights_convert(odd, QNNRT_DTYPE_F32, values, 512, NULL, &told), QNNRT_E_UNSUPPORTED);
    CHECK_STR(told.text, "\"odd\" of type IQ4_NL");
    qnnrt_weights_close(w);
}

/* ---- blocks ------------------------------------------------------------------------------------- */

enum { BLOCKS = 40 };

/* tests/ggml/block_hashes.py compares these hashes with the package gguf. */
static const struct { const char *type; unsigned id; uint32_t values, bytes; int scales[2]; uint64_t hash; } block_types[] = {
    { "Q4_0", 2, 32, 18, { 0, 0 }, 0x639B6ED1EDA433A1 }, { "Q4_1", 3, 32, 20, { 0, 2 }, 0x59FB1F4B2154CC36 },
    { "Q5_0", 6, 32, 22, { 0, 0 }, 0x26460225B971FCC7 }, { "Q5_1", 7, 32, 24, { 0, 2 }, 0xDB55C2AC2F02912E },
    { "Q8_0", 8, 32, 34, { 0, 0 }, 0x9D46C4493BC1DB10 }, { "Q4_K", 12, 256, 144, { 0, 2 }, 0x1FFB973CDFAE4E93 },
    { "Q5_K", 13, 256, 176, { 0, 2 }, 0xC7488C972377467B }, { "Q6_K", 14, 256, 210, { 208, 208 }, 0x4AFE43B70C2C3F22 },
};
enum { BLOCK_TYPES = sizeof block_types / sizeof block_types[0] };

static uint64_t fnv(const void *data, size_t bytes)
{
    uint64_t hash = 0xCBF29CE484222325u;
    size_t i;
    for (i = 0; i < bytes; ++i) hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001B3u;
    return hash;
}

/* Write a file with BLOCKS random blocks of a type in `rows` rows, and open it. */
static qnnrt_weights *open_blocks(size_t t, uint64_t rows)
{
    uint32_t seed = 1, i, k;
    unsigned char *data;
    begin();
    tensor("w", block_types[t].values * BLOCKS / rows, rows, block_types[t].id, 0);
    data = file + finish(0);
    for (i = 0; i < BLOCKS * block_types[t].bytes; ++i) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (unsigned char)(seed >> 24);
    }
    for (i = 0; i < BLOCKS; ++i)
        for (k = 0; k < 2; ++k) data[i * block_types[t].bytes + (uint32_t)block_types[t].scales[k] + 1] &= 0xBF;
    put(used + BLOCKS * block_types[t].bytes);
    return open_with(NULL);
}

static float decoded[BLOCKS * 256], again[BLOCKS * 256];
static uint16_t halves[BLOCKS * 256];

TEST(gguf_blocks_are_those_of_ggml)
{
    size_t t;
    for (t = 0; t < BLOCK_TYPES; ++t) {
        qnnrt_weights *w = open_blocks(t, 4);
        const qnnrt_weight *at = qnnrt_weights_find(w, "w");
        const size_t bytes = (size_t)at->count * sizeof(float);
        CHECK(strcmp(at->type, block_types[t].type) == 0);
        CHECK_EQ(at->count, BLOCKS * (uint64_t)block_types[t].values);
        CHECK_EQ(qnnrt_weights_convert(at, QNNRT_DTYPE_F32, decoded, bytes, NULL, &told), QNNRT_OK);
        if (fnv(decoded, bytes) != block_types[t].hash)
            printf("%s 0x%016llX\n", at->type, (unsigned long long)fnv(decoded, bytes));
        CHECK_EQ(fnv(decoded, bytes), block_types[t].hash);
        qnnrt_weights_close(w);
    }
}

/* Parts that begin and end anywhere are parts of the whole, in other types, too. */
TEST(gguf_parts_of_blocks_are_parts_of_the_whole)
{
    size_t t;
    for (t = 0; t < BLOCK_TYPES; ++t) {
        qnnrt_weights *w = open_blocks(t, 4);
        const qnnrt_weight *at = qnnrt_weights_find(w, "w");
        const uint64_t row = at->count / 4;
        uint64_t first;
        qnnrt_weights_loss loss = { 0, 0, 0 };
        CHECK_EQ(qnnrt_weights_convert(at, QNNRT_DTYPE_F32, decoded, (size_t)at->count * 4, NULL, &told), QNNRT_OK);
        for (first = 0; first < at->count; first += 1 + first / 3) {
            const uint64_t count = (at->count - first) / 2 + 1;
            CHECK_EQ(qnnrt_weights_part(at, first, count, QNNRT_DTYPE_F32, again, (size_t)count * 4, NULL, &told), QNNRT_OK);
            CHECK_EQ(memcmp(again, decoded + first, (size_t)count * 4), 0);
        }
        CHECK_EQ(qnnrt_weights_rows(at, 1, 2, QNNRT_DTYPE_F32, again, (size_t)row * 8, NULL, &told), QNNRT_OK);
        CHECK_EQ(memcmp(again, decoded + row, (size_t)row * 8), 0);
        CHECK_EQ(qnnrt_weights_convert(at, QNNRT_DTYPE_F16, halves, (size_t)at->count * 2, &loss, &told), QNNRT_OK);
        for (first = 0; first < at->count; ++first) {
            const double value = (double)decoded[first], e = fabs(value) < 6.2e-5 ? 3e-8 : fabs(value) / 2048;
            uint16_t half = halves[first];
            qnnrt_weight one = *at;
            float back;
            one.block = 0;
            one.dtype = QNNRT_DTYPE_F16;
            one.rank = 0;
            one.count = 1;
            one.data = &half;
            CHECK_EQ(qnnrt_weights_convert(&one, QNNRT_DTYPE_F32, &back, 4, NULL, &told), QNNRT_OK);
            CHECK(fabs((double)back - value) <= e);
        }
        CHECK_EQ(qnnrt_weights_part(at, at->count, 1, QNNRT_DTYPE_F32, again, 4, NULL, &told), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_weights_part(at, 0, 0, QNNRT_DTYPE_F32, NULL, 0, NULL, &told), QNNRT_OK);
        CHECK_EQ(qnnrt_weights_convert(at, QNNRT_DTYPE_I8, again, (size_t)at->count, NULL, &told), QNNRT_E_UNSUPPORTED);
        qnnrt_weights_close(w);
    }
}

TEST(gguf_rows_of_heads_are_put_in_order)
{
    enum { ROWS = 24, COLUMNS = 64 };
    const uint32_t heads = 3, size = ROWS / 3;
    qnnrt_weights *w;
    const qnnrt_weight *at;
    uint32_t row, i;
    begin();
    tensor("w", COLUMNS, ROWS, 8, 0);
    tensor("b", ROWS, 0, 0, 64 * ((ROWS * COLUMNS / 32 * 34 + 63) / 64));
    put(finish(64 * ((ROWS * COLUMNS / 32 * 34 + 63) / 64) + ROWS * 4));
    w = open_with(NULL);
    CHECK(w != NULL);
    at = qnnrt_weights_find(w, "w");
    CHECK_EQ(qnnrt_weights_convert(at, QNNRT_DTYPE_F32, decoded, ROWS * COLUMNS * 4, NULL, &told), QNNRT_OK);
    CHECK_EQ(qnnrt_weights_unpair(w, "w", heads, &told), QNNRT_OK);
    CHECK_EQ(at->heads, heads);
    CHECK_EQ(qnnrt_weights_convert(at, QNNRT_DTYPE_F32, again, ROWS * COLUMNS * 4, NULL, &told), QNNRT_OK);
    for (row = 0; row < ROWS; ++row) {
        const uint32_t place = row / size * size + row % size % (size / 2) * 2 + (row % size >= size / 2);
        CHECK_EQ(memcmp(again + row * COLUMNS, decoded + place * COLUMNS, COLUMNS * 4), 0);
    }
    CHECK_EQ(qnnrt_weights_part(at, 3 * COLUMNS + 5, 2 * COLUMNS, QNNRT_DTYPE_F32, decoded, 2 * COLUMNS * 4, NULL, &told), QNNRT_OK);
    CHECK_EQ(memcmp(decoded, again + 3 * COLUMNS + 5, 2 * COLUMNS * 4), 0);
    {
        uint64_t bytes = 0;
        const char *data = (const char *)qnnrt_weights_row(at, 9, &bytes);
        CHECK(bytes == COLUMNS / 32 * 34 && data == (const char *)at->data + 10 * bytes);      /* pair 1 of head 1 */
        CHECK(qnnrt_weights_row(at, ROWS, &bytes) == NULL && bytes == 0);
        CHECK(qnnrt_weights_row(NULL, 0, &bytes) == NULL);
    }
    CHECK_EQ(qnnrt_weights_unpair(w, "b", heads, &told), QNNRT_OK);
    at = qnnrt_weights_find(w, "b");
    CHECK_EQ(qnnrt_weights_convert(at, QNNRT_DTYPE_F32, again, ROWS * 4, NULL, &told), QNNRT_OK);
    for (i = 0; i < size; ++i) CHECK_EQ(memcmp(&again[i], (const char *)at->data + (i % 4 * 2 + i / 4) * 4, 4), 0);
    CHECK_EQ(qnnrt_weights_unpair(w, "b", 0, &told), QNNRT_OK);
    CHECK_EQ(at->heads, 0);
    CHECK_EQ(qnnrt_weights_unpair(w, "w", 5, &told), QNNRT_E_MISMATCH);
    CHECK_STR(told.text, "\"w\": expected rows for 5 heads, a multiple of 10");
    CHECK_EQ(qnnrt_weights_unpair(w, "nowhere", 1, &told), QNNRT_E_NOT_FOUND);
    CHECK_EQ(qnnrt_weights_unpair(NULL, "w", 1, &told), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_weights_unpair(w, NULL, 1, &told), QNNRT_E_ARG);
    qnnrt_weights_close(w);
}

/* ---- hostile files ------------------------------------------------------------------------------ */

TEST(gguf_cut_at_every_byte_is_refused)
{
    const size_t bytes = small_file();
    size_t i;
    for (i = 4; i < bytes; ++i) {
        put(i);
        CHECK(open_with(NULL) == NULL);
        CHECK_EQ(told.code, QNNRT_E_FORMAT);
        CHECK_STR(told.hint, "cut short");
    }
}

/* Whatever a header says, weights and texts lie within the file: ASan checks a read of all of them. */
TEST(gguf_with_flipped_bytes_stays_within_the_file)
{
    const size_t bytes = small_file();
    static unsigned char good[1 << 12];
    uint32_t seed = 1, accepted = 0, sum = 0, i;
    size_t k;
    CHECK(bytes < sizeof good);
    memcpy(good, file, bytes);
    for (i = 0; i < TEST_CASES(4000); ++i) {
        const qnnrt_weights_info *info;
        qnnrt_weights *w;
        memcpy(file, good, bytes);
        for (k = 0; k < 1 + i % 3; ++k) {
            seed = seed * 1664525u + 1013904223u;
            file[(seed >> 8) % (bytes - 128 - 72)] ^= (unsigned char)(1u << (seed >> 5 & 7));
        }
        put(bytes);
        w = open_with(NULL);
        if (w == NULL) continue;
        ++accepted;
        info = qnnrt_weights_get_info(w);
        for (k = 0; k < info->count; ++k) {
            uint64_t b;
            for (b = 0; b < info->weights[k].bytes; ++b) sum += ((const unsigned char *)info->weights[k].data)[b];
        }
        for (k = 0; k < info->value_count; ++k) {
            const char *at;
            uint64_t cursor = 0, index;
            size_t length;
            double real_one;
            for (index = 0; index < 4; ++index) qnnrt_weights_value_f64(&info->values[k], index, &real_one);
            while (qnnrt_weights_value_next(&info->values[k], &cursor, &at, &length))
                while (length > 0) sum += (unsigned char)at[--length];
        }
        qnnrt_weights_close(w);
    }
    CHECK(accepted > TEST_CASES(100) && accepted < TEST_CASES(4000) && sum > 0);
}

/* Write number at a place of the file that was built last. */
static void patch(size_t at, uint64_t value, size_t bytes)
{
    const size_t end = used;
    used = at;
    number(value, bytes);
    used = end;
}

enum { LIES = 22 };

/* Build lie number `which`, and return what its error says; *code receives its result. */
static const char *lie(int which, qnnrt_result *code)
{
    const char *says = "";
    *code = QNNRT_E_FORMAT;
    begin();
    switch (which) {
    case 0: *code = QNNRT_E_UNSUPPORTED; says = "GGUF of version 1"; break;
    case 1: *code = QNNRT_E_UNSUPPORTED; says = "unknown version"; break;
    case 2: *code = QNNRT_E_UNSUPPORTED; says = "big-endian GGUF"; break;
    case 3: says = "a key is empty"; break;
    case 4: says = "the name of a weight is empty"; break;
    case 5: pair("k", 13, 0, 4); *code = QNNRT_E_UNSUPPORTED; says = "\"k\" has the unknown type 13"; break;
    case 6: list("k", QNNRT_WEIGHTS_LIST, 1); *code = QNNRT_E_UNSUPPORTED; says = "\"k\": expected a list of texts or numbers"; break;
    case 7: list("k", QNNRT_WEIGHTS_F64, UINT64_MAX / 8 + 2); says = "a list of numbers goes beyond"; break;
    case 8: list("k", QNNRT_WEIGHTS_TEXT, UINT64_MAX); says = "a text goes beyond"; break;
    case 9: whole("general.alignment", 0); says = "\"general.alignment\": expected a power of two, found 0"; break;
    case 10: whole("general.alignment", 48); says = "power of two, found 48"; break;
    case 11: pair("split.count", QNNRT_WEIGHTS_U16, 3, 2); *code = QNNRT_E_UNSUPPORTED; says = "it is one of 3 files"; break;
    case 12: whole("k", 1); whole("k", 2); says = "key \"k\" occurs twice"; break;
    case 13: tensor("w", 4, 0, 0, 0); tensor("w", 4, 0, 0, 32); says = "weight \"w\" occurs twice"; break;
    case 14: tensor("w", 4, 0, 0, 0); tensor("v", 12, 0, 0, 32); tensor("u", 4, 0, 0, 64); says = "overlap"; break;
    case 15: tensor("w", 4, 0, 0, 1024); says = "\"w\" ends at byte 1040"; break;
    case 16: tensor("w", 4, 0, 0, 16); says = "\"w\" begins at byte 16 of the data, expected a multiple of 32"; break;
    case 17: tensor("w", 33, 2, 2, 0); says = "\"w\": its last dim is 33, expected a multiple of 32 for the blocks of Q4_0"; break;
    case 18: tensor("w", (uint64_t)1 << 40, (uint64_t)1 << 40, 0, 0); says = "\"w\": the product of its dims"; break;
    case 19: tensor("w", 4, 0, 77, 0); *code = QNNRT_E_UNSUPPORTED; says = "\"w\" has the unknown type 77"; break;
    case 20: tensor("w", 16, 0, 0, UINT64_MAX - 31); says = "\"w\": bytes"; break;
    default: tensor("", 4, 0, 0, 0); says = "the name of a weight is empty"; break;
    }
    finish(128);
    if (which < 3) patch(4, which == 0 ? 1 : which == 1 ? 4 : (uint64_t)3 << 24, 4);
    if (which == 3) patch(16, UINT64_MAX, 8);
    if (which == 4) patch(8, (uint64_t)1 << 60, 8);
    return says;
}

TEST(gguf_that_lies_is_refused_with_a_reason)
{
    int i;
    for (i = 0; i < LIES; ++i) {
        qnnrt_result code;
        const char *says = lie(i, &code);
        put(used);
        CHECK(open_with(NULL) == NULL);
        if (told.code != code || strstr(told.text, says) == NULL) printf("%d: %s\n", i, told.text);
        CHECK_EQ(told.code, code);
        CHECK_STR(told.text, says);
    }
    CHECK_EQ(i, LIES);
}

TEST(gguf_over_a_limit_is_refused)
{
    qnnrt_weights_desc desc;
    int i;
    for (i = 0; i < 4; ++i) {
        memset(&desc, 0, sizeof desc);
        if (i == 0) desc.header_bytes = 100;
        if (i == 1) desc.tensors = 2;
        if (i == 2) desc.name_bytes = 3;
        put(small_file());
        if (i == 3) {
            begin();
            text("w");
            number(9, 4);
            tensors = 1;
            put(finish(200));
        }
        CHECK(open_with(&desc) == NULL);
        CHECK_EQ(told.code, QNNRT_E_LIMIT);
    }
}

TEST(gguf_survives_every_failing_allocation)
{
    qnnrt_weights_desc desc;
    long failed;
    int t;
    put(small_file());
    memset(&desc, 0, sizeof desc);
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    for (failed = 0, t = 1; t && failed < 100; ++failed) {
        qnnrt_weights *w;
        allocations = 0;
        fail_at = failed;
        w = open_with(&desc);
        t = allocations > fail_at;
        CHECK((w == NULL) == t);
        if (t) CHECK_EQ(told.code, QNNRT_E_MEMORY);
        CHECK((live > 0) == !t);
        qnnrt_weights_close(w);
        CHECK_EQ(live, 0);
    }
    fail_at = -1;
    CHECK(failed > 1 && failed < 100);
}

/* Reading takes time by the size of the file, not by what it claims. */
TEST(gguf_reading_takes_steps_by_its_size)
{
    qnnrt_weights *w;
    int i;
    begin();
    list("texts", QNNRT_WEIGHTS_TEXT, 20000);
    for (i = 0; i < 20000; ++i) text("x");
    put(finish(0));
    steps = 0;
    w = open_with(NULL);
    CHECK(w != NULL && steps < 5 * 20000);
    qnnrt_weights_close(w);
}

TEST_MAIN("gguf")
{
    fail_at = -1;
    RUN(gguf_pairs_have_types);
    RUN(gguf_weights_are_listed);
    RUN(gguf_blocks_are_those_of_ggml);
    RUN(gguf_parts_of_blocks_are_parts_of_the_whole);
    RUN(gguf_rows_of_heads_are_put_in_order);
    RUN(gguf_cut_at_every_byte_is_refused);
    RUN(gguf_with_flipped_bytes_stays_within_the_file);
    RUN(gguf_that_lies_is_refused_with_a_reason);
    RUN(gguf_over_a_limit_is_refused);
    RUN(gguf_survives_every_failing_allocation);
    RUN(gguf_reading_takes_steps_by_its_size);
}
