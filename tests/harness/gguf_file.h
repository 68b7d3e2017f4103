/* gguf_file.h - writing GGUF files for tests: pairs, weights, and data of a pattern

   One file at a time is in file[0 ... used). */
#include "files.h"

static unsigned char file[1 << 20];
static size_t used;
static unsigned pairs, tensors;

static void number(uint64_t value, size_t bytes)
{
    for (; bytes-- > 0; value >>= 8) file[used++] = (unsigned char)(value & 255);
}

static void text(const char *value)
{
    number(strlen(value), 8);
    memcpy(file + used, value, strlen(value));
    used += strlen(value);
}

static void begin(void)
{
    memset(file, 0, sizeof file);
    used = pairs = tensors = 0;
    memcpy(file, "GGUF", 4);
    used = 4;
    number(3, 4);
    used += 16;
}

static void pair(const char *key, int kind, uint64_t value, size_t bytes)
{
    text(key);
    number((uint64_t)kind, 4);
    number(value, bytes);
    ++pairs;
}

static void whole(const char *key, uint64_t value) { pair(key, QNNRT_WEIGHTS_U32, value, 4); }

static void real(const char *key, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    pair(key, QNNRT_WEIGHTS_F32, bits, 4);
}

static void words(const char *key, const char *value)
{
    pair(key, QNNRT_WEIGHTS_TEXT, 0, 0);
    text(value);
}

/* Begin a list; its elements follow. */
static void list(const char *key, int kind, uint64_t count)
{
    pair(key, QNNRT_WEIGHTS_LIST, 0, 0);
    number((uint64_t)kind, 4);
    number(count, 8);
}

/* Describe a weight: the fastest dim first; b 0: a vector. */
static void tensor(const char *name, uint64_t a, uint64_t b, unsigned type, uint64_t offset)
{
    text(name);
    number(b != 0 ? 2 : 1, 4);
    number(a, 8);
    if (b != 0) number(b, 8);
    number(type, 4);
    number(offset, 8);
    ++tensors;
}

/* Write the counts into the head, pad it, and add `bytes` bytes of data. */
static size_t finish(size_t bytes)
{
    const size_t end = used;
    size_t i;
    used = 8;
    number(tensors, 8);
    number(pairs, 8);
    used = (end + 31) / 32 * 32;
    for (i = 0; i < bytes; ++i) file[used++] = (unsigned char)(i * 7);
    return used;
}

static void put(size_t bytes)
{
    remove(path_of("x.gguf"));
    CHECK(test_write_file(path_of("x.gguf"), file, bytes));
}

static qnnrt_error told;

static qnnrt_weights *open_with(const qnnrt_weights_desc *desc)
{
    qnnrt_weights *w = NULL;
    memset(&told, 0xFF, sizeof told);
    return qnnrt_weights_open(path_of("x.gguf"), desc, &w, &told) == QNNRT_OK ? w : NULL;
}
