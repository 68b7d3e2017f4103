/* test_ref_files.c - hostile files of libQnnRef.so, opened through qnnrt.h

   Cut short at every byte, 50,000 of random changes, of newer formats, of other backends: refused
   with file and reason before their bytes are used, or opened, prepared and executed.
   tests/ref/test_ref.c tests the library in the same way without qnnrt.h. */
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "ref.h"
#include "life.h"
#include "ref_sign.h"

enum { CHANGES = 50000 };

static unsigned char *shards[2];
static size_t         shard_bytes[2];
static qnnrt_error    err;

/* Make the two files of a life, in memory. */
static void make_files(void)
{
    static life l;
    int i;
    life_begin("");
    life_start(&l, test_tmpdir());
    life_make(&l);
    for (i = 0; i < 2; ++i) {
        free(shards[i]);
        shards[i] = (unsigned char *)test_read_file(life_file(&l, i), &shard_bytes[i]);
        CHECK(shards[i] != NULL);
    }
    NOTHING_LEFT();
}

/* Open shard 0 from these bytes, with the other unchanged; execute if it opens. Return 1 if it
   opened. */
static int use(const unsigned char *data, size_t bytes, int inspect)
{
    qnnrt_file files[2];
    qnnrt_desc desc;
    qnnrt *model = NULL;
    qnnrt_result result;
    size_t i, slot;
    memset(files, 0, sizeof(files));
    files[0].path = "hostile.bin";
    files[0].data = data;
    files[0].bytes = bytes;
    files[1].path = "whole.bin";
    files[1].data = shards[1];
    files[1].bytes = shard_bytes[1];
    memset(&desc, 0, sizeof(desc));
    desc.files = files;
    desc.file_count = 2;
    desc.inspect = inspect;
    if (inspect) desc.system_path = TEST_REF_LIB;
    else desc.backend_desc.path = TEST_REF_LIB;
    desc.limits.arena_bytes = 1 << 20;
    desc.backend_desc.hooks = life_hooks();
    TEST_JUNK(err);
    result = qnnrt_open(NULL, &desc, &model, &err);
    if (result != QNNRT_OK) return 0;
    for (i = 0; i < qnnrt_get_info(model)->pipeline_count && !inspect; ++i) {
        const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[i]);
        qnnrt_run *run;
        if (qnnrt_prepare(model, info->name, &run, &err) != QNNRT_OK) continue;
        for (slot = 0; slot < info->slot_count; ++slot) {
            size_t size = 0;
            void *at = qnnrt_data_slot(run, &info->slots[slot], &size);
            if (at != NULL) memset(at, (int)slot, size);
        }
        qnnrt_exec(run);
        qnnrt_run_destroy(run);
    }
    if (qnnrt_close(model) != QNNRT_OK) abort();
    return 1;
}

/* Check that it is refused with one of these results, the name of the file and a reason. */
static int refused_well(void)
{
    static const qnnrt_result known[] = { QNNRT_E_FORMAT, QNNRT_E_VERSION, QNNRT_E_MISMATCH,
                                          QNNRT_E_BACKEND, QNNRT_E_LIMIT, QNNRT_E_UNSUPPORTED };
    size_t i = 0;
    while (i < sizeof(known) / sizeof(known[0]) && known[i] != err.code) ++i;
    return i < sizeof(known) / sizeof(known[0]) && life_text_clean(err.text)
        && (strstr(err.text, "hostile.bin") != NULL || strstr(err.text, "whole.bin") != NULL);
}

/* Copy exactly these bytes, so that ASan detects a read past them. */
static unsigned char *copy_of(const unsigned char *data, size_t bytes)
{
    unsigned char *copy = (unsigned char *)malloc(bytes > 0 ? bytes : 1);
    if (copy == NULL) abort();
    memcpy(copy, data, bytes);
    return copy;
}

TEST(a_file_cut_short_anywhere_is_refused_with_the_reason)
{
    size_t bytes;
    life_begin("");
    for (bytes = 1; bytes < shard_bytes[0]; ++bytes) {
        unsigned char *copy = copy_of(shards[0], bytes);
        const int opened = use(copy, bytes, bytes % 8 == 0);
        free(copy);
        if (opened || err.code != QNNRT_E_FORMAT || !refused_well())
            printf("%u bytes: %s\n", (unsigned)bytes, opened ? "opened" : err.text);
        CHECK(!opened && err.code == QNNRT_E_FORMAT && refused_well());
        if (bytes >= 64 && bytes % 8 != 0) CHECK_STR(err.text, "cut short: its header declares");
    }
    CHECK(use(shards[0], shard_bytes[0], 0));
    NOTHING_LEFT();
}

static uint32_t seed = 20261121;

static uint32_t pick(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % below;
}

/* Change a random byte, or write a number that breaks counts. */
static void change(unsigned char *data, size_t bytes)
{
    static const uint32_t hard[] = { 0, 1, 2, 0x7FFFFFFF, 0x80000000u, 0xFFFFFFFFu, 0xFFFFFFFEu,
                                     0x10000, 9, 64 };
    const size_t at = pick((uint32_t)bytes);
    if (pick(4) != 0) data[at] ^= (unsigned char)(1 + pick(255));
    else if (at + 4 <= bytes) memcpy(data + at, &hard[pick(sizeof(hard) / sizeof(hard[0]))], 4);
}

TEST(fifty_thousand_changes_do_no_harm)
{
    unsigned i, k, opened = 0, told = 0;
    life_begin("");
    for (i = 0; i < CHANGES; ++i) {
        unsigned char *copy = copy_of(shards[0], shard_bytes[0]);
        const int with_sum = i % 2 != 0;
        int open;
        for (k = 1 + pick(3); k > 0; --k) change(copy, shard_bytes[0]);
        if (with_sum) ref_sign(copy, shard_bytes[0]);
        if (memcmp(copy, shards[0], shard_bytes[0]) == 0) { free(copy); continue; }
        open = use(copy, shard_bytes[0], i % 16 == 0);
        free(copy);
        opened += (unsigned)open;
        told += !open;
        if ((open && !with_sum) || (!open && !refused_well()))
            printf("change %u: %s\n", i, open ? "opened" : err.text);
        CHECK(!open || with_sum);
        CHECK(open || refused_well());
        if (i % 64 == 0) NOTHING_LEFT();
    }
    NOTHING_LEFT();
    printf("  %u refused, %u opened and executed\n", told, opened);
    CHECK(opened > CHANGES / 20 && told > CHANGES / 2);
}

TEST(a_newer_format_is_told_with_both_numbers)
{
    unsigned char *copy = copy_of(shards[0], shard_bytes[0]);
    const uint32_t format = 7;
    life_begin("");
    memcpy(copy + 8, &format, 4);
    ref_sign(copy, shard_bytes[0]);
    CHECK(!use(copy, shard_bytes[0], 0));
    free(copy);
    CHECK_EQ(err.code, QNNRT_E_FORMAT);
    CHECK_STR(err.text, "hostile.bin");
    CHECK_STR(err.text, "format 7; this library reads 1");
    CHECK_STR(err.text, "use a newer one");
    NOTHING_LEFT();
}

TEST(files_of_others_are_told_for_what_they_are)
{
    static const struct { const char *data; size_t bytes; const char *words, *cure; } others[] = {
        { "PK\3\4", 4, "zip archive", "qnnrt-run extract" },
        { "\30\0\0\0ET12", 8, "ExecuTorch program", "qnnrt-run extract" },
        { "\10\12\22\3abc", 8, "ONNX model", "qnnrt-run extract" },
        { "\177ELF", 4, "ELF file", "another kind" },
        { "{\"info\": {", 10, "probably JSON", "another kind" }
    };
    unsigned char block[256];
    unsigned char *genuine;
    size_t bytes, i;
    life_begin("");
    genuine = (unsigned char *)test_read_file("tests/data/ctx/qairt2.51/mlp_u8/forward_0.bin",
                                              &bytes);
    CHECK(genuine != NULL);
    CHECK(!use(genuine, bytes, 0));
    CHECK_EQ(err.code, QNNRT_E_FORMAT);
    CHECK_STR(err.text, "of another backend");
    CHECK_STR(err.text, "it looks like a context binary of Qualcomm's libraries");
    /* This hint is better than the one of the code, to copy the file again. */
    CHECK_STR(err.hint, "libQnnHtp.so");
    CHECK(!use(genuine, bytes, 1));
    CHECK_EQ(err.code, QNNRT_E_FORMAT);
    CHECK_STR(err.text, "context binary of Qualcomm's libraries");
    free(genuine);
    for (i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        memset(block, ' ', sizeof(block));
        memcpy(block, others[i].data, others[i].bytes);
        CHECK(!use(block, sizeof(block), 0));
        CHECK_EQ(err.code, QNNRT_E_FORMAT);
        CHECK_STR(err.hint, others[i].cure);
        CHECK_STR(err.text, others[i].words);
    }
    NOTHING_LEFT();
}

TEST_MAIN("ref_files")
{
    make_files();
    RUN(a_file_cut_short_anywhere_is_refused_with_the_reason);
    RUN(fifty_thousand_changes_do_no_harm);
    RUN(a_newer_format_is_told_with_both_numbers);
    RUN(files_of_others_are_told_for_what_they_are);
}
