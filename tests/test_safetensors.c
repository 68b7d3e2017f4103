/* test_safetensors.c - examples/safetensors.h reads files that may be hostile */
#include "../qnnrt_json.h"
#include "../examples/safetensors.h"
#include "test.h"

static const char good_header[] =
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
    "\"half\":{\"dtype\":\"F16\",\"shape\":[1,1,1,1,1,2],\"data_offsets\":[24,28]},"
    "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[28,36]}}";
enum { GOOD_VALUES = 36 };

/* Write a file of this header and the values 0, 1, 2, ...; return its size. */
static size_t make(unsigned char *file, const char *header, size_t values)
{
    size_t bytes = strlen(header), i;
    for (i = 0; i < 8; ++i) file[i] = (unsigned char)((uint64_t)bytes >> (8 * i) & 255);
    memcpy(file + 8, header, bytes);
    for (i = 0; i < values / 4; ++i) {
        float value = (float)i;
        memcpy(file + 8 + bytes + 4 * i, &value, 4);
    }
    return 8 + bytes + values;
}

static int read_bytes(const unsigned char *bytes, size_t count, safetensors *file, char *error)
{
    static const char *folder;
    char path[1100];
    if (folder == NULL) folder = test_tmpdir();
    snprintf(path, sizeof path, "%s/x.safetensors", folder);
    remove(path);               /* writing over a file waits for the disk on some systems */
    return test_write_file(path, bytes, count) && safetensors_read(path, file, error);
}

TEST(safetensors_of_float32_are_found_by_name_and_shape)
{
    static const uint64_t a[2] = { 2, 3 }, b[1] = { 2 }, turned[2] = { 3, 2 };
    unsigned char bytes[1024];
    char error[SAFETENSORS_ERROR];
    safetensors file;
    size_t count = make(bytes, good_header, GOOD_VALUES);
    const float *values;
    CHECK(read_bytes(bytes, count, &file, error));
    CHECK_EQ(file.count, 2);
    values = safetensors_find(&file, "a", 2, a, error);
    CHECK(values != NULL && values[5] >= 5 && values[5] <= 5);
    values = safetensors_find(&file, "b", 1, b, error);
    CHECK(values != NULL && values[0] >= 7 && values[0] <= 7);
    CHECK(safetensors_find(&file, "a", 2, turned, error) == NULL);
    CHECK_STR(error, "tensor \"a\" has another shape");
    CHECK(safetensors_find(&file, "a", 1, a, error) == NULL);
    CHECK(safetensors_find(&file, "half", 1, b, error) == NULL);
    CHECK_STR(error, "no float32 tensor \"half\"");
    safetensors_free(&file);
    CHECK(!safetensors_read("/no/such/file", &file, error));
    CHECK_STR(error, "/no/such/file: it cannot be opened");
}

TEST(safetensors_cut_at_every_byte_is_refused)
{
    unsigned char bytes[1024];
    char error[SAFETENSORS_ERROR];
    safetensors file;
    size_t count = make(bytes, good_header, GOOD_VALUES), i;
    for (i = 0; i < count; ++i) {
        memset(error, 0, sizeof error);
        CHECK(!read_bytes(bytes, i, &file, error));
        CHECK_STR(error, "x.safetensors: ");
        CHECK(file.header == NULL && file.values == NULL && file.tensors == NULL);
    }
}

/* Whatever offsets a tensor has, its values must lie within the file: ASan checks a read of all
   of them. */
TEST(safetensors_with_flipped_bytes_stay_within_the_file)
{
    unsigned char good[1024], bytes[1024];
    char error[SAFETENSORS_ERROR];
    safetensors file;
    size_t count = make(good, good_header, GOOD_VALUES), t;
    uint32_t seed = 1, accepted = 0;
    int i, flips;
    for (i = 0; i < 5000; ++i) {
        memcpy(bytes, good, count);
        for (flips = 0; flips < 1 + i % 3; ++flips) {
            seed = seed * 1664525u + 1013904223u;
            bytes[(seed >> 8) % count] ^= (unsigned char)(1u << (seed >> 5 & 7));
        }
        if (!read_bytes(bytes, count, &file, error)) continue;
        ++accepted;
        for (t = 0; t < file.count; ++t) {
            const safetensors_tensor *tensor = &file.tensors[t];
            uint64_t elements = 1, e;
            uint32_t d;
            for (d = 0; d < tensor->rank; ++d) elements *= tensor->shape[d];
            for (e = 0; e < elements; ++e) CHECK(tensor->values + e < file.values + GOOD_VALUES / 4);
        }
        safetensors_free(&file);
    }
    CHECK(accepted > 100 && accepted < 5000);
}

TEST(safetensors_that_lie_are_refused_with_a_reason)
{
    static const struct { const char *header, *reason; } cases[] = {
        { "[]", "not a JSON object" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36]},}", "header, byte" },
        { "{\"a\":3}", "\"a\" is not an object" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9]}}", "expected two data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36,36]}}", "expected two data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,9],\"data_offsets\":[0,36]}}", "more than 4 dims" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[-9],\"data_offsets\":[0,36]}}", "a list of numbers" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":\"x\"}}", "a list of numbers" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[4,40]}}", "do not hold 9 values" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[0,36]}}", "do not hold 8 values" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[2,34]}}", "do not hold 8 values" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[36,0]}}", "do not hold 9 values" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,4],\"data_offsets\":[0,0]}}",
          "more than 1 GiB" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
          "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", "\"a\" occurs twice" },
    };
    unsigned char bytes[1024];
    char error[SAFETENSORS_ERROR];
    safetensors file;
    size_t i;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        size_t count = make(bytes, cases[i].header, 36);
        CHECK(!read_bytes(bytes, count, &file, error));
        CHECK_STR(error, cases[i].reason);
    }
    memset(bytes, 255, 8);                              /* a header of 2^64 - 1 bytes */
    CHECK(!read_bytes(bytes, 64, &file, error));
    CHECK_STR(error, "18446744073709551615 bytes, the file has 64");
}

TEST_MAIN("safetensors")
{
    RUN(safetensors_of_float32_are_found_by_name_and_shape);
    RUN(safetensors_cut_at_every_byte_is_refused);
    RUN(safetensors_with_flipped_bytes_stay_within_the_file);
    RUN(safetensors_that_lie_are_refused_with_a_reason);
}
