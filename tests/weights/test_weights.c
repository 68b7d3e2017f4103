/* test_weights.c - tools/qnnrt_weights.h: files of weights, in good order and hostile ones */
static unsigned long steps;
#define QNNRT_WEIGHTS__STEP() (++steps)
#define QNNRT_WEIGHTS_IMPLEMENTATION
#include "qnnrt_weights.h"
#include "counted.h"
#include "files.h"
#include "test.h"
#include <fenv.h>

enum { LINE = 1 << 20 };

/* ---- writing files ------------------------------------------------------------------------------ */

/* Put the size of a header and the header into bytes, then `values` bytes 0, 1, 2, ...; return the
   size of the file. */
static size_t make(unsigned char *file, const char *header, size_t values)
{
    size_t bytes = strlen(header), i;
    for (i = 0; i < 8; ++i) file[i] = (unsigned char)((uint64_t)bytes >> (8 * i) & 255);
    memcpy(file + 8, header, bytes);
    for (i = 0; i < values; ++i) file[8 + bytes + i] = (unsigned char)i;
    return 8 + bytes + values;
}

static int put_weights(const char *name, const char *header, size_t values)
{
    static unsigned char bytes[1 << 16];
    return put_file(name, bytes, make(bytes, header, values));
}

static int put_text(const char *name, const char *text) { return put_file(name, text, strlen(text)); }

/* ---- checking ----------------------------------------------------------------------------------- */

/* Open a file that must be refused: its error, with text and hint. */
static qnnrt_error refused;
static qnnrt_result refuse(const char *path, const qnnrt_weights_desc *desc)
{
    qnnrt_weights *w = (qnnrt_weights *)&w;
    qnnrt_result result;
    memset(&refused, 0xFF, sizeof refused);
    result = qnnrt_weights_open(path, desc, &w, &refused);
    if (result == QNNRT_OK) qnnrt_weights_close(w);
    else if (w != NULL || refused.code != result || refused.text[0] == '\0') return QNNRT_OK;
    return result;
}

static qnnrt_weights *opened(const char *path, const qnnrt_weights_desc *desc)
{
    qnnrt_weights *w = NULL;
    qnnrt_error err;
    if (qnnrt_weights_open(path, desc, &w, &err) != QNNRT_OK) printf("%s\n", err.text);
    return w;
}

#define CHECK_REFUSED(name, expected, needle)                                                      \
    do {                                                                                           \
        CHECK_EQ(refuse(path_of(name), NULL), expected);                                           \
        CHECK_STR(TEST_TOLD(refused), needle);                                                     \
    } while (0)

static unsigned byte_of(const char *hex)
{
    unsigned value = 0;
    sscanf(hex, "%2x", &value);
    return value;
}

/* Turn hex into bytes; "-" is nothing. */
static size_t from_hex(const char *hex, unsigned char *out)
{
    size_t n = 0;
    for (; hex[0] != '-' && hex[0] != '\0'; hex += 2) out[n++] = (unsigned char)byte_of(hex);
    out[n] = 0;
    return n;
}

/* ---- the oracle --------------------------------------------------------------------------------- */

static char line[LINE], part[5][LINE];
static unsigned char raw[LINE];

/* Check one line that describes the opened file. */
static void check_line(const qnnrt_weights *w, size_t *weights, size_t *pairs)
{
    const qnnrt_weights_info *info = qnnrt_weights_get_info(w);
    if (sscanf(line, "weight %s %s %s %s", part[0], part[1], part[2], part[3]) == 4) {
        const qnnrt_weight *at = &info->weights[(*weights)++];
        const char *dims = part[2];
        uint64_t count = 1;
        uint32_t rank = 0;
        CHECK(*weights <= info->count);
        from_hex(part[0], raw);
        CHECK(strcmp(at->name, (char *)raw) == 0);
        CHECK(qnnrt_weights_find(w, (char *)raw) == at);
        CHECK(strcmp(at->type, part[1]) == 0);
        for (; dims != NULL && dims[0] != '-'; ++rank) {
            CHECK(rank < at->rank);
            CHECK_EQ(at->dims[rank], (uint64_t)strtoul(dims, NULL, 10));
            count *= at->dims[rank];
            dims = strchr(dims, 'x');
            if (dims != NULL) ++dims;
        }
        CHECK_EQ(at->rank, rank);
        CHECK_EQ(at->count, count);
        CHECK_EQ(at->bytes, from_hex(part[3], raw));
        CHECK(memcmp(at->data, raw, (size_t)at->bytes) == 0);
    } else if (sscanf(line, "pair %s %s", part[0], part[1]) == 2) {
        const qnnrt_weights_pair *at = &info->metadata[(*pairs)++];
        CHECK(*pairs <= info->metadata_count);
        from_hex(part[0], raw);
        CHECK(strcmp(at->key, (char *)raw) == 0);
        from_hex(part[1], raw);
        CHECK(strcmp(at->value, (char *)raw) == 0);
    } else {
        unsigned long gap;
        CHECK(sscanf(line, "gap %lu", &gap) == 1);
        CHECK_EQ(info->gap_bytes, gap);
        CHECK_EQ(info->count, *weights);
        CHECK_EQ(info->metadata_count, *pairs);
        CHECK_EQ(info->unlisted, 0);
        CHECK_EQ(info->file_count, 1);
    }
}

TEST(weights_files_of_the_oracle_are_read_as_written)
{
    FILE *file;
    qnnrt_weights *w = NULL;
    size_t files = 0, weights = 0, pairs = 0;
    if (getenv("QNNRT_ORACLE") == NULL) SKIP("QNNRT_ORACLE does not name the table");
    file = fopen(getenv("QNNRT_ORACLE"), "r");
    CHECK(file != NULL);
    while (file != NULL && fgets(line, sizeof line, file) != NULL && line[0] != 'c') {
        if (sscanf(line, "file %s %s", part[0], part[1]) == 2) {
            qnnrt_weights_close(w);
            CHECK(put_file("oracle.safetensors", raw, from_hex(part[1], raw)));
            w = opened(path_of("oracle.safetensors"), NULL);
            CHECK(w != NULL);
            ++files;
            weights = pairs = 0;
        } else {
            TRY(check_line(w, &weights, &pairs));
        }
    }
    fclose(file);
    qnnrt_weights_close(w);
    CHECK_EQ(files, 40);
}

/* Return the type of a name as safetensors has it. */
static qnnrt_dtype dtype_of(const char *name)
{
    static const struct { const char *name; qnnrt_dtype dtype; } types[] = {
        { "F64", QNNRT_DTYPE_F64 }, { "F32", QNNRT_DTYPE_F32 }, { "F16", QNNRT_DTYPE_F16 },
        { "BF16", QNNRT_DTYPE_BF16 }, { "I64", QNNRT_DTYPE_I64 }, { "I32", QNNRT_DTYPE_I32 },
        { "I16", QNNRT_DTYPE_I16 }, { "I8", QNNRT_DTYPE_I8 }, { "U64", QNNRT_DTYPE_U64 },
        { "U32", QNNRT_DTYPE_U32 }, { "U16", QNNRT_DTYPE_U16 }, { "U8", QNNRT_DTYPE_U8 },
        { "BOOL", QNNRT_DTYPE_BOOL8 }
    };
    size_t i;
    for (i = 0; i < sizeof types / sizeof types[0]; ++i)
        if (strcmp(name, types[i].name) == 0) return types[i].dtype;
    return QNNRT_DTYPE_UNDEFINED;
}

static size_t size_of(const char *name)
{
    return strcmp(name, "BOOL") == 0 ? 1 : (size_t)(atoi(name + strcspn(name, "0123456789")) / 8);
}

/* Return 1 for the bits of a NaN. */
static int is_nan(const char *type, uint64_t bits)
{
    if (strcmp(type, "F16") == 0) return (bits & 0x7FFF) > 0x7C00;
    if (strcmp(type, "BF16") == 0) return (bits & 0x7FFF) > 0x7F80;
    if (strcmp(type, "F32") == 0) return (bits & 0x7FFFFFFF) > 0x7F800000;
    return (bits & INT64_MAX) > (uint64_t)0x7FF << 52;
}

/* Convert the elements of a line: into data that is not aligned, and in pieces of several sizes. */
static void check_conversion(const char *from, const char *to, uint64_t count,
                             const uint64_t expected[3], const char *in, const char *out)
{
    static unsigned char source[LINE + 1], target[LINE + 1];
    const size_t from_bytes = size_of(from), to_bytes = size_of(to);
    qnnrt_weights_loss loss = { 0, 0, 0 };
    qnnrt_weight weight;
    qnnrt_error err;
    uint64_t i, piece = 1 + count / 3;
    char *next = NULL;
    memset(&weight, 0, sizeof weight);
    weight.name = "w";
    weight.type = from;
    weight.dtype = dtype_of(from);
    weight.rank = 1;
    weight.dims = &count;
    weight.count = count;
    weight.bytes = count * from_bytes;
    weight.data = source + 1;
    for (i = 0; i < count; ++i, in = next + 1) {
        const uint64_t bits = strtoull(in, &next, 16);
        memcpy(source + 1 + i * from_bytes, &bits, from_bytes);
    }
    memset(target, 0xA5, sizeof target);
    for (i = 0; i < count; i += piece) {
        const uint64_t rows = count - i < piece ? count - i : piece;
        CHECK_EQ(qnnrt_weights_rows(&weight, i, rows, dtype_of(to), target + 1 + i * to_bytes,
                                    (size_t)rows * to_bytes, &loss, &err), QNNRT_OK);
    }
    CHECK(target[0] == 0xA5 && target[1 + count * to_bytes] == 0xA5);
    for (i = 0; i < count; ++i) {
        uint64_t bits = 0;
        memcpy(&bits, target + 1 + i * to_bytes, to_bytes);
        if (strncmp(out, "nan", 3) == 0) {
            CHECK(is_nan(to, bits));
            out += 4;
        } else {
            CHECK_EQ(bits, strtoull(out, &next, 16));
            out = next + 1;
        }
    }
    CHECK_EQ(loss.overflowed, expected[0]);
    CHECK_EQ(loss.flushed, expected[1]);
    CHECK_EQ(loss.out_of_range, expected[2]);
    CHECK_EQ(qnnrt_weights_convert(&weight, dtype_of(to), target, (size_t)count * to_bytes, NULL,
                                   &err), expected[0] + expected[2] > 0 ? QNNRT_E_MISMATCH
                                                                         : QNNRT_OK);
    if (expected[0] + expected[2] > 0) CHECK_STR(TEST_TOLD(err), "\"w\"");
}

static void check_conversions(void)
{
    FILE *file = fopen(getenv("QNNRT_ORACLE"), "r");
    size_t lines = 0;
    CHECK(file != NULL);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long count, lost[3];
        uint64_t expected[3];
        if (sscanf(line, "convert %s %s %lu %lu %lu %lu %s %s", part[0], part[1], &count, &lost[0],
                   &lost[1], &lost[2], part[2], part[3]) != 8) continue;
        expected[0] = lost[0];
        expected[1] = lost[1];
        expected[2] = lost[2];
        TRY(check_conversion(part[0], part[1], count, expected, part[2], part[3]));
        ++lines;
    }
    fclose(file);
    CHECK_EQ(lines, 4 * 3 + 9 * 8);
}

TEST(weights_conversions_of_the_oracle_are_exact)
{
    if (getenv("QNNRT_ORACLE") == NULL) SKIP("QNNRT_ORACLE does not name the table");
    TRY(check_conversions());
}

TEST(weights_rounding_mode_changes_nothing)
{
    static const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    size_t i;
    if (getenv("QNNRT_ORACLE") == NULL) SKIP("QNNRT_ORACLE does not name the table");
    for (i = 0; i < 3; ++i) {
        if (fesetround(modes[i]) != 0) continue;
        check_conversions();
        fesetround(FE_TONEAREST);
        if (test_state.state == TEST_FAILED) return;
    }
}

/* Fill a weight of one dim that has no file. */
static qnnrt_weight plain(const char *type, const void *data, const uint64_t *count)
{
    qnnrt_weight weight;
    memset(&weight, 0, sizeof weight);
    weight.name = "plain";
    weight.type = type;
    weight.dtype = dtype_of(type);
    weight.rank = 1;
    weight.dims = count;
    weight.count = *count;
    weight.bytes = *count * size_of(type);
    weight.data = data;
    return weight;
}

TEST(weights_every_half_survives_a_longer_type)
{
    static const char *const halves[] = { "F16", "BF16" }, *const longer[] = { "F32", "F64" };
    static uint16_t in[65536], back[65536];
    static uint64_t wide[65536];
    const uint64_t count = 65536;
    uint32_t i, h, l;
    for (i = 0; i < count; ++i) in[i] = (uint16_t)i;
    for (h = 0; h < 2; ++h)
        for (l = 0; l < 2; ++l) {
            const size_t bytes = (size_t)count * size_of(longer[l]);
            qnnrt_weights_loss loss = { 0, 0, 0 };
            qnnrt_weight weight = plain(halves[h], in, &count);
            CHECK_EQ(qnnrt_weights_convert(&weight, dtype_of(longer[l]), wide, bytes, &loss, NULL), QNNRT_OK);
            weight = plain(longer[l], wide, &count);
            CHECK_EQ(qnnrt_weights_convert(&weight, dtype_of(halves[h]), back, sizeof back, &loss, NULL), QNNRT_OK);
            CHECK_EQ(loss.overflowed + loss.flushed + loss.out_of_range, 0);
            for (i = 0; i < count; ++i)
                CHECK(is_nan(halves[h], i) ? is_nan(halves[h], back[i]) : back[i] == i);
        }
}

TEST(weights_parts_are_rows)
{
    static const float values[6] = { 0, 1, 2, 3, 4, 70000 };
    const uint64_t dims[3] = { 3, 1, 2 }, none[2] = { 0, 5 };
    qnnrt_weight weight = plain("F32", values, dims);
    qnnrt_weights_loss loss = { 0, 0, 0 };
    qnnrt_error err;
    uint16_t out[6];
    weight.rank = 3;
    weight.count = 6;
    CHECK_EQ(qnnrt_weights_rows(&weight, 1, 1, QNNRT_DTYPE_F16, out, 4, NULL, &err), QNNRT_OK);
    CHECK(out[0] == 0x4000 && out[1] == 0x4200);
    CHECK_EQ(qnnrt_weights_rows(&weight, 2, 1, QNNRT_DTYPE_F16, out, 4, NULL, &err), QNNRT_E_MISMATCH);
    CHECK_STR(TEST_TOLD(err), "1 of 2");
    CHECK_EQ(qnnrt_weights_rows(&weight, 2, 1, QNNRT_DTYPE_F16, out, 4, &loss, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_weights_rows(&weight, 2, 1, QNNRT_DTYPE_F16, out, 4, &loss, &err), QNNRT_OK);
    CHECK(loss.overflowed == 2 && out[1] == 0x7C00);
    CHECK_EQ(qnnrt_weights_rows(&weight, 3, 0, QNNRT_DTYPE_F16, NULL, 0, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_weights_rows(&weight, 3, 1, QNNRT_DTYPE_F16, out, 4, NULL, &err), QNNRT_E_ARG);
    CHECK_STR(TEST_TOLD(err), "\"plain\" has 3 rows");
    CHECK_EQ(qnnrt_weights_rows(&weight, 1, UINT64_MAX, QNNRT_DTYPE_F16, out, 4, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_weights_rows(&weight, 4, 0, QNNRT_DTYPE_F16, out, 0, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_weights_rows(&weight, 0, 1, QNNRT_DTYPE_F16, out, 5, NULL, &err), QNNRT_E_ARG);
    CHECK_STR(TEST_TOLD(err), "4 bytes, data has 5");
    CHECK_EQ(qnnrt_weights_rows(&weight, 0, 1, QNNRT_DTYPE_F16, NULL, 4, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_weights_convert(&weight, QNNRT_DTYPE_I32, out, 24, NULL, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(TEST_TOLD(err), "\"plain\" of type F32 cannot be converted to int32");
    CHECK_EQ(qnnrt_weights_convert(&weight, QNNRT_DTYPE_U8Q, out, 6, NULL, &err), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(qnnrt_weights_convert(NULL, QNNRT_DTYPE_F16, out, 6, NULL, &err), QNNRT_E_ARG);
    weight.rank = 0;
    weight.count = 1;
    CHECK_EQ(qnnrt_weights_convert(&weight, QNNRT_DTYPE_BF16, out, 2, NULL, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_weights_rows(&weight, 0, 2, QNNRT_DTYPE_BF16, out, 4, NULL, &err), QNNRT_E_ARG);
    weight = plain("BF16", values, none);
    weight.rank = 2;
    CHECK_EQ(qnnrt_weights_convert(&weight, QNNRT_DTYPE_F32, NULL, 0, NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_weights_rows(&weight, 0, 1, QNNRT_DTYPE_F32, out, 20, NULL, &err), QNNRT_E_ARG);
}

/* ---- one file ----------------------------------------------------------------------------------- */

static const char good_header[] =
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
    "\"half\":{\"dtype\":\"F16\",\"shape\":[1,1,1,1,1,1,1,2],\"data_offsets\":[24,28]},"
    "\"none\":{\"dtype\":\"BF16\",\"shape\":[0],\"data_offsets\":[28,28]},"
    "\"one\":{\"shape\":[],\"data_offsets\":[28,36],\"dtype\":\"I64\"}}";
enum { GOOD_VALUES = 36 };

TEST(weights_are_found_by_name)
{
    qnnrt_weights *w;
    const qnnrt_weights_info *info;
    const qnnrt_weight *at;
    CHECK(put_weights("good.safetensors", good_header, GOOD_VALUES));
    w = opened(path_of("good.safetensors"), NULL);
    CHECK(w != NULL);
    info = qnnrt_weights_get_info(w);
    CHECK(info->count == 4 && info->bytes == 36 && info->gap_bytes == 0 && info->unlisted == 0);
    CHECK(info->file_count == 1 && info->files[0].weight_count == 4 && info->index[0] == '\0');
    CHECK_STR(info->files[0].path, "good.safetensors");
    CHECK_EQ(info->files[0].bytes, 8 + strlen(good_header) + 36);
    CHECK(info->metadata_count == 1 && strcmp(info->metadata[0].value, "pt") == 0);
    at = qnnrt_weights_find(w, "half");
    CHECK(at != NULL && at->rank == 8 && at->dims[7] == 2 && at->dtype == QNNRT_DTYPE_F16);
    CHECK(((const unsigned char *)at->data)[0] == 24);
    at = qnnrt_weights_find(w, "none");
    CHECK(at != NULL && at->rank == 1 && at->dims[0] == 0 && at->count == 0 && at->bytes == 0 && at->data != NULL);
    at = qnnrt_weights_find(w, "one");
    CHECK(at != NULL && at->rank == 0 && at->count == 1 && at->bytes == 8 && strcmp(at->type, "I64") == 0);
    CHECK(qnnrt_weights_find(w, "b") == NULL && qnnrt_weights_find(w, "") == NULL);
    CHECK(qnnrt_weights_find(w, NULL) == NULL && qnnrt_weights_find(NULL, "a") == NULL);
    CHECK(qnnrt_weights_match(w, NULL) == NULL && qnnrt_weights_match(NULL, "a") == NULL);
    qnnrt_weights_close(w);
    qnnrt_weights_close(NULL);
    CHECK(qnnrt_weights_get_info(NULL) == NULL);
    CHECK(put_weights("empty.safetensors", "{}", 0));
    w = opened(path_of("empty.safetensors"), NULL);
    CHECK(w != NULL && qnnrt_weights_get_info(w)->count == 0);
    CHECK(qnnrt_weights_find(w, "a") == NULL && qnnrt_weights_match(w, "lm_head.weight") == NULL);
    qnnrt_weights_close(w);
}

TEST(weights_of_the_language_model_are_all_there)
{
    qnnrt_weights *w = opened("tests/data/llm/model", NULL);
    const qnnrt_weight *table, *head;
    CHECK(w != NULL);
    table = qnnrt_weights_find(w, "model.embed_tokens.weight");
    CHECK(table != NULL && table->rank == 2 && table->dims[0] == 256 && table->dims[1] == 128);
    CHECK(qnnrt_weights_match(w, "model.model.embed_tokens.weight") == table);
    head = qnnrt_weights_match(w, "lm_head.weight");
    CHECK(head != NULL);
    CHECK_EQ(qnnrt_weights_get_info(w)->gap_bytes, 0);
    CHECK(qnnrt_weights_get_info(w)->count > 30);
    qnnrt_weights_close(w);
}

TEST(weights_cut_at_every_byte_are_refused)
{
    unsigned char bytes[1024];
    size_t count = make(bytes, good_header, GOOD_VALUES), i;
    for (i = 0; i < count; ++i) {
        qnnrt_result result;
        CHECK(put_file("cut.safetensors", bytes, i));
        result = refuse(path_of("cut.safetensors"), NULL);
        CHECK_EQ(result, QNNRT_E_FORMAT);
        CHECK_STR(refused.text, "cut.safetensors: ");
        CHECK(refused.hint[0] != '\0');
    }
}

/* Whatever a header says, weights must lie within the file: ASan checks a read of all of them. */
TEST(weights_with_flipped_bytes_stay_within_the_file)
{
    unsigned char good[1024], bytes[1024];
    size_t count = make(good, good_header, GOOD_VALUES), i, t;
    uint32_t seed = 1, accepted = 0, sum = 0;
    int flips;
    for (i = 0; i < TEST_CASES(5000); ++i) {
        const qnnrt_weights_info *info;
        qnnrt_weights *w;
        qnnrt_error err;
        memcpy(bytes, good, count);
        for (flips = 0; flips < 1 + (int)(i % 3); ++flips) {
            seed = seed * 1664525u + 1013904223u;
            bytes[(seed >> 8) % count] ^= (unsigned char)(1u << (seed >> 5 & 7));
        }
        CHECK(put_file("flip.safetensors", bytes, count));
        if (qnnrt_weights_open(path_of("flip.safetensors"), NULL, &w, &err) != QNNRT_OK) continue;
        ++accepted;
        info = qnnrt_weights_get_info(w);
        for (t = 0; t < info->count; ++t) {
            const qnnrt_weight *at = &info->weights[t];
            uint64_t b;
            for (b = 0; b < at->bytes; ++b) sum += ((const unsigned char *)at->data)[b];
            CHECK(at->bytes <= GOOD_VALUES && at->rank <= 8);
        }
        qnnrt_weights_close(w);
    }
    CHECK(accepted > TEST_CASES(100) && accepted < TEST_CASES(5000) && sum > 0);
}

TEST(weights_that_lie_are_refused_with_a_reason)
{
    static const struct { const char *header; qnnrt_result code; const char *reason; } cases[] = {
        { "[]", QNNRT_E_FORMAT, "expected a header with a JSON object" },
        { "", QNNRT_E_FORMAT, "JSON object" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36]},}", QNNRT_E_FORMAT, "JSON, byte" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36]}} x", QNNRT_E_FORMAT, "JSON, byte" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36", QNNRT_E_FORMAT, "JSON, byte" },
        { "{\"a\":3}", QNNRT_E_FORMAT, "\"a\": expected an object" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9]}}", QNNRT_E_FORMAT, "\"a\": expected \"dtype\"" },
        { "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,36]}}", QNNRT_E_FORMAT, "\"a\": expected \"dtype\"" },
        { "{\"a\":{\"shape\":[9],\"data_offsets\":[0,36]}}", QNNRT_E_FORMAT, "\"a\": expected \"dtype\"" },
        { "{\"a\":{\"dtype\":32,\"shape\":[9],\"data_offsets\":[0,36]}}", QNNRT_E_FORMAT, "\"a\": expected \"dtype\"" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36,36]}}", QNNRT_E_FORMAT, "\"a\": expected" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[36]}}", QNNRT_E_FORMAT, "\"a\": expected" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[-9],\"data_offsets\":[0,36]}}", QNNRT_E_FORMAT, "a list of numbers" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9.0],\"data_offsets\":[0,36]}}", QNNRT_E_FORMAT, "a list of numbers" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":9,\"data_offsets\":[0,36]}}", QNNRT_E_FORMAT, "a list of numbers" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":\"x\"}}", QNNRT_E_FORMAT, "a list of numbers" },
        { "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36]}}", QNNRT_E_FORMAT, "\"a\" has \"dtype\" twice" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36],\"shape\":[9]}}", QNNRT_E_FORMAT, "\"shape\" twice" },
        { "{\"a\":{\"dtype\":\"F33\",\"shape\":[9],\"data_offsets\":[0,36]}}", QNNRT_E_UNSUPPORTED, "\"a\" has the unknown type \"F33\"" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,9],\"data_offsets\":[0,36]}}", QNNRT_E_LIMIT, "\"a\" has more than 8 dims" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[4,40]}}", QNNRT_E_FORMAT, "\"a\" ends at byte 40, the file has 36" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[0,36]}}", QNNRT_E_FORMAT, "do not hold 8 elements of F32" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,0]}}", QNNRT_E_FORMAT, "do not hold 1 elements" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[36,0]}}", QNNRT_E_FORMAT, "do not hold 9 elements" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[40,40]}}", QNNRT_E_FORMAT, "ends at byte 40" },
        { "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", QNNRT_E_FORMAT, "do not hold 3 elements of F4" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,4],\"data_offsets\":[0,0]}}", QNNRT_E_FORMAT, "does not fit into 64 bits" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", QNNRT_E_FORMAT, "64 bits" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,0]}}", QNNRT_E_FORMAT, "numbers" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[9223372036854775808,9223372036854775809]}}", QNNRT_E_FORMAT, "ends at byte 9223372036854775809" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
          "\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", QNNRT_E_FORMAT, "\"a\" occurs twice" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},"
          "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", QNNRT_E_FORMAT, "\"b\" (bytes 0 to 8) and \"a\" (4 to 12) overlap" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},"
          "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", QNNRT_E_FORMAT, "overlap" },
        { "{\"a\\u0000b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", QNNRT_E_FORMAT, "NUL" },
        { "{\"\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", QNNRT_E_FORMAT, "a name for each weight" },
        { "{\"a\x1b[31m\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,5]}}", QNNRT_E_FORMAT, "JSON, byte" },
        { "{\"\xE2\x80\xAE\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,5]}}", QNNRT_E_FORMAT, "weight \"???\"" },
        { "{\"__metadata__\":[]}", QNNRT_E_FORMAT, "\"__metadata__\" with an object" },
        { "{\"__metadata__\":{\"a\":1}}", QNNRT_E_FORMAT, "\"__metadata__\" with texts" },
        { "{\"__metadata__\":{\"a\":\"\\u0000\"}}", QNNRT_E_FORMAT, "NUL" },
        { "{\"__metadata__\":{},\"__metadata__\":{}}", QNNRT_E_FORMAT, "\"__metadata__\" once" },
    };
    unsigned char bytes[64];
    size_t i;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CHECK(put_weights("lie.safetensors", cases[i].header, 36));
        CHECK_REFUSED("lie.safetensors", cases[i].code, cases[i].reason);
        CHECK_STR(refused.text, "lie.safetensors: ");
    }
    memset(bytes, 255, sizeof bytes);                   /* a header of 2^64 - 1 bytes */
    CHECK(put_file("lie.safetensors", bytes, sizeof bytes));
    CHECK_REFUSED("lie.safetensors", QNNRT_E_FORMAT, "18446744073709551615 bytes, the file has 64");
    memset(bytes, 0, sizeof bytes);
    bytes[7] = 0x80;                                    /* 2^63 */
    CHECK(put_file("lie.safetensors", bytes, sizeof bytes));
    CHECK_REFUSED("lie.safetensors", QNNRT_E_FORMAT, "9223372036854775808 bytes, the file has 64");
}

TEST(weights_gaps_are_reported)
{
    qnnrt_weights *w;
    CHECK(put_weights("gap.safetensors", "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},"
                      "\"b\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[5,7]}}", 12));
    w = opened(path_of("gap.safetensors"), NULL);
    CHECK(w != NULL);
    CHECK_EQ(qnnrt_weights_get_info(w)->gap_bytes, 8);
    CHECK_EQ(qnnrt_weights_get_info(w)->files[0].gap_bytes, 8);
    CHECK_EQ(qnnrt_weights_find(w, "b")->dtype, QNNRT_DTYPE_UNDEFINED);
    CHECK_EQ(qnnrt_weights_convert(qnnrt_weights_find(w, "b"), QNNRT_DTYPE_F32, line, 8, NULL, &refused), QNNRT_E_UNSUPPORTED);
    CHECK_STR(TEST_TOLD(refused), "\"b\" of type F8_E4M3");
    qnnrt_weights_close(w);
}

TEST(weights_over_a_limit_are_refused)
{
    qnnrt_weights_desc desc;
    memset(&desc, 0, sizeof desc);
    CHECK(put_weights("good.safetensors", good_header, GOOD_VALUES));
    desc.header_bytes = strlen(good_header) - 1;
    CHECK_EQ(refuse(path_of("good.safetensors"), &desc), QNNRT_E_LIMIT);
    CHECK_STR(refused.text, "header has");
    desc.header_bytes = strlen(good_header);
    desc.tensors = 3;
    CHECK_EQ(refuse(path_of("good.safetensors"), &desc), QNNRT_E_LIMIT);
    CHECK_STR(refused.text, "more than 3 weights");
    desc.tensors = 4;
    desc.name_bytes = 3;
    CHECK_EQ(refuse(path_of("good.safetensors"), &desc), QNNRT_E_LIMIT);
    CHECK_STR(refused.text, "\"half\": its name has 4 bytes, the limit is 3");
    desc.name_bytes = 4;
    CHECK_EQ(refuse(path_of("good.safetensors"), &desc), QNNRT_OK);
    CHECK(put_weights("pairs.safetensors", "{\"__metadata__\":{\"a\":\"\",\"b\":\"\"}}", 0));
    desc.tensors = 1;
    CHECK_EQ(refuse(path_of("pairs.safetensors"), &desc), QNNRT_E_LIMIT);
    CHECK_STR(refused.text, "1 pairs");
    desc.hooks.alloc = counted_alloc;
    CHECK_EQ(refuse(path_of("pairs.safetensors"), &desc), QNNRT_E_ARG);
    CHECK_EQ(refuse(NULL, NULL), QNNRT_E_ARG);
    CHECK_EQ(refuse("", NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_weights_open("x", NULL, NULL, NULL), QNNRT_E_ARG);
}

/* ---- other kinds of files ----------------------------------------------------------------------- */

TEST(weights_of_another_kind_are_refused_with_the_way_out)
{
    static const struct { const char *name, *begin; size_t bytes; qnnrt_result code; const char *text, *hint; } cases[] = {
        { "new.pt", "PK\3\4\0\0\10\10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\20\0\0\0archive/data.pkl", 46, QNNRT_E_UNSUPPORTED,
          "found a PyTorch pickle", "torch.load(\"new.pt\"" },
        { "old.bin", "\x80\2\x8a\x0al\xfc\x9c" "F\xf9 j\xa8P\x19.", 14, QNNRT_E_UNSUPPORTED, "found a PyTorch pickle", "torch.load(\"old.bin\"" },
        { "p4.bin", "\x80\4\x95\xff\xff\0\0\0\0\0\0", 11, QNNRT_E_UNSUPPORTED, "found a PyTorch pickle", "save_file({" },
        { "x.npz", "PK\3\4\0\0\10\10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0w.npy", 35, QNNRT_E_UNSUPPORTED,
          ".npz", "numpy.load(\"x.npz\")" },
        { "x.npy", "\x93NUMPY\1\0v\0", 10, QNNRT_E_UNSUPPORTED, ".npy", "numpy.load(\"x.npy\")" },
        { "x.zip", "PK\3\4\0\0\10\10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0a.txt", 35, QNNRT_E_UNSUPPORTED, "a zip archive", "save_file()" },
        { "cut.zip", "PK\3\4\0\0\10\10\0\0", 10, QNNRT_E_UNSUPPORTED, "a zip archive", "save_file()" },
        { "name.zip", "PK\3\4\0\0\10\10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\377\377\0\0a", 31, QNNRT_E_UNSUPPORTED, "a zip archive", "" },
        { "x.gguf", "GGUF\3\0\0\0\0\0", 10, QNNRT_E_FORMAT, "byte 8: the header goes beyond", "cut short" },
        { "model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", 63, QNNRT_E_UNSUPPORTED,
          "git-lfs pointer", "git lfs pull" },
        { "x.h5", "\x89HDF\r\n\x1a\n", 8, QNNRT_E_UNSUPPORTED, "HDF5", "" },
        { "page.safetensors", "\n<!DOCTYPE html><html>", 22, QNNRT_E_UNSUPPORTED, "web page", "Download" },
        { "index.txt", " {\"weight_map\": {}}", 19, QNNRT_E_UNSUPPORTED, "JSON", ".json" },
        { "nothing.safetensors", "", 0, QNNRT_E_FORMAT, "0 bytes", "again" },
        { "short.safetensors", "abc", 3, QNNRT_E_FORMAT, "3 bytes", "again" },
        { "text.safetensors", "hello, world", 12, QNNRT_E_FORMAT, "not safetensors", "again" },
    };
    size_t i;
    qnnrt_weights_desc desc;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CHECK(put_file(cases[i].name, cases[i].begin, cases[i].bytes));
        CHECK_REFUSED(cases[i].name, cases[i].code, cases[i].text);
        CHECK_STR(refused.hint, cases[i].hint);
        CHECK_STR(refused.text, cases[i].name);
    }
    /* A header of 0x280 bytes begins as a pickle does. */
    memset(line, ' ', 0x280);
    line[0] = '{';
    line[1] = '}';
    line[0x280] = '\0';
    CHECK(put_weights("pickle.safetensors", line, 0));
    CHECK_EQ(refuse(path_of("pickle.safetensors"), NULL), QNNRT_OK);
    memset(&desc, 0, sizeof desc);
    desc.header_bytes = 100;
    CHECK_EQ(refuse(path_of("pickle.safetensors"), &desc), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(refuse(path_of("no/such/file"), NULL), QNNRT_E_NOT_FOUND);
    CHECK_STR(TEST_TOLD(refused), "no/such/file");
    CHECK(put_weights("good.safetensors", good_header, GOOD_VALUES));
    CHECK_EQ(refuse(path_of("good.safetensors/x"), NULL), QNNRT_E_NOT_FOUND);
    remove(path_of("fifo.safetensors"));
    CHECK_EQ(mkfifo(path_of("fifo.safetensors"), 0600), 0);
    CHECK_REFUSED("fifo.safetensors", QNNRT_E_IO, "fifo.safetensors: it is not a regular file");
}

/* ---- shards and folders ------------------------------------------------------------------------- */

#define SHARD(name, begin, end)                                                                    \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[" begin "," end "]}"

/* Make a folder with an index of two shards. */
static int put_shards(const char *name, const char *index)
{
    char path[600];
    int fine = 1;
    mkdir(path_of(name), 0777);
    snprintf(path, sizeof path, "%s/s1.safetensors", name);
    fine = fine && put_weights(path, "{" SHARD("a", "0", "2") "," SHARD("model.b", "2", "4") "}", 4);
    snprintf(path, sizeof path, "%s/s2.safetensors", name);
    fine = fine && put_weights(path, "{" SHARD("a", "2", "4") "," SHARD("c", "0", "2") "}", 5);
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", name);
    return fine && put_text(path, index);
}

TEST(weights_of_shards_are_one_list)
{
    qnnrt_weights *w;
    const qnnrt_weights_info *info;
    CHECK(put_shards("two", "{\"metadata\":{\"total_size\":6},\"weight_map\":{\"c\":\"s2.safetensors\",\"a\":\"s1.safetensors\","
                     "\"model.b\":\"s1.safetensors\"}}"));
    w = opened(path_of("two"), NULL);
    CHECK(w != NULL);
    info = qnnrt_weights_get_info(w);
    CHECK(info->count == 3 && info->file_count == 2 && info->bytes == 6 && info->unlisted == 1 && info->gap_bytes == 1);
    CHECK_STR(info->index, "two/model.safetensors.index.json");
    CHECK_STR(info->files[0].path, "two/s1.safetensors");
    CHECK(info->files[0].weight_count == 2 && info->files[1].weight_count == 1);
    CHECK_STR(qnnrt_weights_find(w, "a")->file, "s1.safetensors");
    CHECK(memcmp(qnnrt_weights_find(w, "a")->data, "\0\1", 2) == 0);
    CHECK(memcmp(qnnrt_weights_find(w, "c")->data, "\0\1", 2) == 0);
    CHECK(memcmp(qnnrt_weights_match(w, "b")->data, "\2\3", 2) == 0);
    qnnrt_weights_close(w);
    w = opened(path_of("two/model.safetensors.index.json"), NULL);
    CHECK(w != NULL && qnnrt_weights_get_info(w)->count == 3);
    qnnrt_weights_close(w);
}

TEST(weights_of_a_wrong_index_are_refused)
{
    static const struct { const char *index; qnnrt_result code; const char *text; } cases[] = {
        { "{\"weight_map\":{\"c\":\"s3.safetensors\"}}", QNNRT_E_NOT_FOUND, "s3.safetensors: No such file" },
        { "{\"weight_map\":{\"d\":\"s2.safetensors\"}}", QNNRT_E_FORMAT, "\"d\" is not in s2.safetensors" },
        { "{\"weight_map\":{\"c\":\"s1.safetensors\",\"a\":\"s2.safetensors\"}}", QNNRT_E_FORMAT, "\"c\" is not in s1.safetensors" },
        { "{\"weight_map\":{\"c\":\"../two/s2.safetensors\"}}", QNNRT_E_FORMAT, "\"c\": expected the name of a file beside the index" },
        { "{\"weight_map\":{\"c\":\"/etc/passwd\"}}", QNNRT_E_FORMAT, "\"/etc/passwd\"" },
        { "{\"weight_map\":{\"c\":\"..\"}}", QNNRT_E_FORMAT, "\"..\"" },
        { "{\"weight_map\":{\"c\":\".s2\"}}", QNNRT_E_FORMAT, "\".s2\"" },
        { "{\"weight_map\":{\"c\":\"a\\\\b\"}}", QNNRT_E_FORMAT, "beside the index" },
        { "{\"weight_map\":{\"c\":\"\"}}", QNNRT_E_FORMAT, "beside the index" },
        { "{\"weight_map\":{\"c\":\"s2.safetensors\\u0000\"}}", QNNRT_E_FORMAT, "beside the index" },
        { "{\"weight_map\":{\"c\":\"s2.safetensors\",\"c\":\"s2.safetensors\"}}", QNNRT_E_FORMAT, "\"c\" occurs twice" },
        { "{\"weight_map\":{\"c\":2}}", QNNRT_E_FORMAT, "\"weight_map\" with texts" },
        { "{\"weight_map\":[]}", QNNRT_E_FORMAT, "\"weight_map\" with an object" },
        { "{\"weight_map\":{}}", QNNRT_E_FORMAT, "\"weight_map\" is empty" },
        { "{\"weight_map\":{\"c\":\"s2.safetensors\"},\"weight_map\":{}}", QNNRT_E_FORMAT, "one \"weight_map\"" },
        { "{\"metadata\":{}}", QNNRT_E_FORMAT, "one \"weight_map\"" },
        { "[]", QNNRT_E_FORMAT, "a JSON object" },
        { "", QNNRT_E_FORMAT, "JSON, byte 0" },
        { "{\"weight_map\":{\"c\":\"s2.safetensors\"}", QNNRT_E_FORMAT, "JSON, byte" },
        { "{\"weight_map\":{\"c\":\"s2.safe", QNNRT_E_FORMAT, "JSON, byte" },
    };
    qnnrt_weights_desc desc;
    size_t i;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CHECK(put_shards("two", cases[i].index));
        CHECK_REFUSED("two", cases[i].code, cases[i].text);
    }
    memset(&desc, 0, sizeof desc);
    CHECK(put_shards("two", "{\"weight_map\":{\"c\":\"s2.safetensors\",\"a\":\"s1.safetensors\"}}"));
    desc.files = 1;
    CHECK_EQ(refuse(path_of("two"), &desc), QNNRT_E_LIMIT);
    CHECK_STR(refused.text, "more than 1 files");
    desc.files = 2;
    desc.tensors = 1;
    CHECK_EQ(refuse(path_of("two"), &desc), QNNRT_E_LIMIT);
    desc.tensors = 0;
    desc.header_bytes = 20;
    CHECK_EQ(refuse(path_of("two"), &desc), QNNRT_E_LIMIT);
    CHECK_STR(refused.text, "model.safetensors.index.json: it has");
    desc.header_bytes = 0;
    desc.name_bytes = 6;                                /* "model.b" has 7 */
    CHECK_EQ(refuse(path_of("two"), &desc), QNNRT_E_LIMIT);
}

TEST(weights_of_a_folder_are_chosen)
{
    char path[64];
    qnnrt_weights *w;
    mkdir(path_of("f"), 0777);
    CHECK_REFUSED("f", QNNRT_E_NOT_FOUND, "f: the folder has no *.safetensors");
    CHECK(refused.hint[0] == '\0');
    CHECK(put_text("f/readme.txt", "") && put_text("f/pytorch_model.bin", "") && put_text("f/.safetensors", ""));
    CHECK_REFUSED("f", QNNRT_E_NOT_FOUND, "it has pytorch_model.bin");
    CHECK_STR(refused.hint, "torch.load(\"pytorch_model.bin\"");
    CHECK(put_weights("f/x.safetensors", "{" SHARD("x", "0", "2") "}", 2));
    w = opened(path_of("f"), NULL);
    CHECK(w != NULL && qnnrt_weights_find(w, "x") != NULL);
    qnnrt_weights_close(w);
    CHECK(put_weights("f/w.safetensors", "{" SHARD("w", "0", "2") "}", 2) && put_weights("f/y.safetensors", "{}", 0));
    CHECK_REFUSED("f", QNNRT_E_MISMATCH, "3 files may be the weights: \"w.safetensors\", \"x.safetensors\", ...");
    CHECK_STR(refused.hint, "one file");
    CHECK(put_text("f/z.safetensors.index.json", "{\"weight_map\":{\"w\":\"w.safetensors\"}}"));
    w = opened(path_of("f"), NULL);
    CHECK(w != NULL && qnnrt_weights_find(w, "w") != NULL && qnnrt_weights_get_info(w)->count == 1);
    qnnrt_weights_close(w);
    CHECK(put_text("f/q.safetensors.index.json", "{}"));
    CHECK_REFUSED("f", QNNRT_E_MISMATCH, "\"q.safetensors.index.json\", \"z.safetensors.index.json\"");
    CHECK(put_text("f/model.safetensors.index.json", "{\"weight_map\":{\"x\":\"x.safetensors\"}}"));
    w = opened(path_of("f"), NULL);
    CHECK(w != NULL && qnnrt_weights_find(w, "x") != NULL);
    qnnrt_weights_close(w);
    CHECK(put_weights("f/model.safetensors", "{" SHARD("m", "0", "2") "}", 2));
    snprintf(path, sizeof path, "f/");
    w = opened(path_of(path), NULL);
    CHECK(w != NULL && qnnrt_weights_find(w, "m") != NULL);
    CHECK_STR(qnnrt_weights_find(w, "m")->file, "f/model.safetensors");
    qnnrt_weights_close(w);
}

TEST(weights_match_the_names_of_graphs)
{
    static const struct { const char *names[4], *key; int found; } cases[] = {
        { { "a.weight" }, "a.weight", 0 },
        { { "a.weight" }, "model.a.weight", 0 },
        { { "a.weight" }, "model.model.a.weight", 0 },
        { { "a.weight" }, "model.model.model.a.weight", -1 },
        { { "model.a" }, "a", 0 },
        { { "model.a" }, "model.model.a", 0 },
        { { "model.model.a" }, "a", 0 },
        { { "model.model.a" }, "model.a", 0 },
        { { "model.a", "a", "model.model.a" }, "a", 1 },
        { { "model.a", "a", "model.model.a" }, "model.model.a", 2 },
        { { "model.a", "a" }, "model.model.a", 0 },
        { { "model.a", "model.model.a" }, "a", 0 },
        { { "b", "ab" }, "a", -1 },
        { { "model.embed_tokens.weight" }, "lm_head.weight", 0 },
        { { "embed_tokens.weight" }, "model.lm_head.weight", 0 },
        { { "model.decoder.embed_tokens.weight" }, "lm_head.weight", 0 },
        { { "model.embed_tokens.weight", "lm_head.weight" }, "lm_head.weight", 1 },
        { { "decoder.embed_tokens.weight", "encoder.embed_tokens.weight" }, "lm_head.weight", -1 },
        { { "not_embed_tokens.weight" }, "lm_head.weight", -1 },
        { { "transformer.wte.weight" }, "lm_head.weight", 0 },
        { { "transformer.wte.weight", "embed_tokens.weight" }, "lm_head.weight", 1 },
        { { "lm_head.weight" }, "model.model.embed_tokens.weight", 0 },
        { { "model.lm_head.weight" }, "embed_tokens.weight", 0 },
        { { "lm_head.weight" }, "transformer.wte.weight", 0 },
        { { "lm_head.weight" }, "not_embed_tokens.weight", -1 },
        { { "lm_head.bias" }, "embed_tokens.bias", -1 },
        { { "a" }, "model.", -1 },
        { { "a" }, "", -1 },
    };
    size_t i, n;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        qnnrt_weights *w;
        const qnnrt_weight *found;
        size_t at = 0;
        for (n = 0; n < 4 && cases[i].names[n] != NULL; ++n)
            at += (size_t)snprintf(line + at, sizeof line - at, "%c\"%s\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                                   n == 0 ? '{' : ',', cases[i].names[n]);
        snprintf(line + at, sizeof line - at, "}");
        CHECK(put_weights("match.safetensors", line, 0));
        w = opened(path_of("match.safetensors"), NULL);
        CHECK(w != NULL);
        found = qnnrt_weights_match(w, cases[i].key);
        if (found == NULL ? cases[i].found >= 0 : cases[i].found < 0 || strcmp(found->name, cases[i].names[cases[i].found]) != 0)
            printf("%s: %s\n", cases[i].key, found != NULL ? found->name : "not found");
        CHECK(found == NULL ? cases[i].found < 0 : cases[i].found >= 0 && strcmp(found->name, cases[i].names[cases[i].found]) == 0);
        qnnrt_weights_close(w);
    }
}

/* ---- memory, size, time ------------------------------------------------------------------------- */

TEST(weights_survive_every_failing_allocation)
{
    const char *paths[2];
    qnnrt_weights_desc desc;
    long failed;
    int i, t;
    CHECK(put_shards("two", "{\"weight_map\":{\"c\":\"s2.safetensors\",\"a\":\"s1.safetensors\"}}"));
    CHECK(put_weights("good.safetensors", good_header, GOOD_VALUES));
    memset(&desc, 0, sizeof desc);
    desc.hooks.alloc = counted_alloc;
    desc.hooks.free = counted_free;
    paths[0] = path_of("two");
    paths[1] = path_of("good.safetensors");
    for (i = 0; i < 2; ++i) {
        for (failed = 0, t = 1; t && failed < 100; ++failed) {
            qnnrt_weights *w = NULL;
            qnnrt_error err;
            qnnrt_result result;
            allocations = 0;
            fail_at = failed;
            result = qnnrt_weights_open(paths[i], &desc, &w, &err);
            t = allocations > fail_at;
            CHECK_EQ(result, t ? QNNRT_E_MEMORY : QNNRT_OK);
            CHECK((w == NULL) == t);
            if (t) CHECK_STR(TEST_TOLD(err), "out of memory");
            CHECK((live > 0) == !t);
            qnnrt_weights_close(w);
            CHECK_EQ(live, 0);
        }
        CHECK(failed > 1 && failed < 100);
    }
    fail_at = -1;
}

TEST(weights_give_back_whole_pages_and_keep_their_data)
{
    static const char header[] = "{\"small\":{\"dtype\":\"U8\",\"shape\":[100],\"data_offsets\":[0,100]},"
                                 "\"large\":{\"dtype\":\"U8\",\"shape\":[300000],\"data_offsets\":[100,300100]}}";
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned char *bytes = (unsigned char *)malloc(400000);
    const qnnrt_weight *small, *large;
    qnnrt_weight other;
    qnnrt_weights *w;
    uint64_t begin, end, i;
    size_t size;
    int again;
    CHECK(bytes != NULL);
    size = make(bytes, header, 300100);
    for (i = 0; i < 300100; ++i) bytes[size - 300100 + i] = (unsigned char)(i * 7 >> 3);
    CHECK(put_file("pages.safetensors", bytes, size));
    w = opened(path_of("pages.safetensors"), NULL);
    CHECK(w != NULL);
    small = qnnrt_weights_find(w, "small");
    large = qnnrt_weights_find(w, "large");
    begin = ((uintptr_t)large->data + page - 1) / page * page;
    end = ((uintptr_t)large->data + 300000) / page * page;
    for (again = 0; again < 2; ++again) {
        CHECK(memcmp(large->data, bytes + size - 300000, 300000) == 0);
        CHECK_EQ(qnnrt_weights_done(w, large), end - begin);
        CHECK(end - begin > 300000 - 2 * page || page > 100000);
        CHECK_EQ(qnnrt_weights_done(w, small), 0);
    }
    CHECK(memcmp(small->data, bytes + size - 300100, 100) == 0);
    CHECK(memcmp(large->data, bytes + size - 300000, 300000) == 0);
    other = *large;
    other.data = bytes;                                  /* not mapped: must stay as it is */
    CHECK_EQ(qnnrt_weights_done(w, &other), 0);
    CHECK(memcmp(bytes + size - 300000, large->data, 300000) == 0);
    CHECK_EQ(qnnrt_weights_done(NULL, large), 0);
    CHECK_EQ(qnnrt_weights_done(w, NULL), 0);
    qnnrt_weights_close(w);
    free(bytes);
    remove(path_of("pages.safetensors"));
}

/* Weights beyond 4 GiB, in a file with holes. */
TEST(weights_of_5_gib_are_mapped)
{
    static const char header[] =
        "{\"first\":{\"dtype\":\"U8\",\"shape\":[5,1073741824],\"data_offsets\":[0,5368709120]},"
        "\"last\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[5368709120,5368709124]}}";
    unsigned char head[256];
    const int32_t number = -5;
    int32_t out = 0;
    qnnrt_weights *w;
    FILE *file;
    if (sizeof(size_t) < 8 || sizeof(off_t) < 8) SKIP("32 bits");
    CHECK(put_file("huge.safetensors", head, make(head, header, 0)));
    file = fopen(path_of("huge.safetensors"), "r+b");
    CHECK(file != NULL);
    CHECK(fseeko(file, (off_t)(8 + strlen(header) + 5368709120u), SEEK_SET) == 0);
    if (fwrite(&number, 1, sizeof number, file) != sizeof number || fflush(file) != 0) {
        fclose(file);
        remove(path_of("huge.safetensors"));
        SKIP("the file system has no files of 5 GiB");
    }
    fclose(file);
    w = opened(path_of("huge.safetensors"), NULL);
    CHECK(w != NULL);
    CHECK(qnnrt_weights_get_info(w)->bytes == 5368709124u);
    CHECK(qnnrt_weights_find(w, "first")->count == 5368709120u);
    CHECK_EQ(qnnrt_weights_convert(qnnrt_weights_find(w, "last"), QNNRT_DTYPE_I32, &out, 4, NULL, NULL), QNNRT_OK);
    CHECK_EQ(out, -5);
    CHECK(qnnrt_weights_done(w, qnnrt_weights_find(w, "first")) > 5368709120u - 131072);
    qnnrt_weights_close(w);
    CHECK_EQ(truncate(path_of("huge.safetensors"), (off_t)(8 + strlen(header) + 5368709123u)), 0);
    CHECK_REFUSED("huge.safetensors", QNNRT_E_FORMAT, "\"last\" ends at byte 5368709124, the file has 5368709123");
    remove(path_of("huge.safetensors"));
}

/* Sorting takes count * log(count) steps for names and bytes in any order. */
TEST(weights_in_any_order_are_sorted_in_time)
{
    enum { COUNT = 4096 };
    static char text[COUNT * 100];
    static unsigned char file[COUNT * 100 + 8];
    int order, i;
    for (order = 0; order < 4; ++order) {
        qnnrt_weights *w;
        size_t at = 0;
        for (i = 0; i < COUNT; ++i) {
            const int n = order == 0 ? i : order == 1 ? COUNT - 1 - i : order == 2 ? i * 1237 % COUNT : i % 2 ? i : COUNT - 2 - i;
            at += (size_t)snprintf(text + at, sizeof text - at, "%c\"w%04d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
                                   i == 0 ? '{' : ',', n, n, n + 1);
        }
        snprintf(text + at, sizeof text - at, "}");
        CHECK(put_file("many.safetensors", file, make(file, text, COUNT)));
        steps = 0;
        w = opened(path_of("many.safetensors"), NULL);
        CHECK(w != NULL);
        CHECK(steps > COUNT && steps < COUNT * 2 + 2 * COUNT * 16);
        for (i = 0; i < COUNT; ++i) {
            char name[8];
            snprintf(name, sizeof name, "w%04d", i);
            CHECK(qnnrt_weights_find(w, name) != NULL);
            CHECK_EQ(*(const unsigned char *)qnnrt_weights_find(w, name)->data, i & 255);
        }
        qnnrt_weights_close(w);
    }
}

TEST_MAIN("weights")
{
    fail_at = -1;
    RUN(weights_files_of_the_oracle_are_read_as_written);
    RUN(weights_conversions_of_the_oracle_are_exact);
    RUN(weights_rounding_mode_changes_nothing);
    RUN(weights_every_half_survives_a_longer_type);
    RUN(weights_parts_are_rows);
    RUN(weights_are_found_by_name);
    RUN(weights_of_the_language_model_are_all_there);
    RUN(weights_cut_at_every_byte_are_refused);
    RUN(weights_with_flipped_bytes_stay_within_the_file);
    RUN(weights_that_lie_are_refused_with_a_reason);
    RUN(weights_gaps_are_reported);
    RUN(weights_over_a_limit_are_refused);
    RUN(weights_of_another_kind_are_refused_with_the_way_out);
    RUN(weights_of_shards_are_one_list);
    RUN(weights_of_a_wrong_index_are_refused);
    RUN(weights_of_a_folder_are_chosen);
    RUN(weights_match_the_names_of_graphs);
    RUN(weights_survive_every_failing_allocation);
    RUN(weights_give_back_whole_pages_and_keep_their_data);
    RUN(weights_of_5_gib_are_mapped);
    RUN(weights_in_any_order_are_sorted_in_time);
}
