/* test_files.c - rooms >>scan >>table >>system >>context: what can be wrong with folders, files and
   metadata.

   Files are text for the fake library (tests/fake/README). Every open that must fail is made twice:
   with an error filled with 0xFF, and with error NULL. Afterwards no handle of the fake, no
   allocation and no descriptor may be left. */
#include "../../qnnrt.h"
#include "qnnrt_device.h"
#include "qnnrt_manifest.h"
#include "test.h"
#include "opens.h"
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

static size_t count_of(const char *text, const char *needle)
{
    size_t count = 0;
    for (text = strstr(text, needle); text != NULL; text = strstr(text + 1, needle)) ++count;
    return count;
}

/* Copy a text to a memory block of exactly its size, so that a read past its end is detected. */
typedef struct text_block { qnnrt_file file; char *data; } text_block;

static void block_begin(text_block *block, const char *name, const char *text, size_t bytes)
{
    block->data = (char *)malloc(bytes > 0 ? bytes : 1);
    if (block->data == NULL) abort();
    memcpy(block->data, text, bytes);
    memset(&block->file, 0, sizeof(block->file));
    block->file.path = name;
    block->file.data = block->data;
    block->file.bytes = bytes;
}

static void text_fails(int line, const qnnrt_limits *limits, const char *text, qnnrt_result code, ...)
{
    qnnrt_desc desc = new_desc();
    text_block block;
    va_list needles;
    block_begin(&block, "shard.bin", text, strlen(text));
    desc.files = &block.file;
    desc.file_count = 1;
    if (limits != NULL) desc.limits = *limits;
    va_start(needles, code);
    fails_in(NULL, &desc, code, needles);
    va_end(needles);
    if (test_state.state == TEST_FAILED) printf("    called from line %d; the error says: %.*s\n", line, 1000, error.text);
    free(block.data);
}

static void text_opens(int line, const qnnrt_limits *limits, const char *text, qnnrt **model)
{
    qnnrt_desc desc = new_desc();
    text_block block;
    block_begin(&block, "shard.bin", text, strlen(text));
    desc.files = &block.file;
    desc.file_count = 1;
    if (limits != NULL) desc.limits = *limits;
    opens(line, NULL, &desc, model);
    free(block.data);
}

#define TEXT_FAILS(...) TRY(text_fails(__LINE__, NULL, __VA_ARGS__, (const char *)NULL))
#define TEXT_FAILS_WITHIN(limits, ...) TRY(text_fails(__LINE__, limits, __VA_ARGS__, (const char *)NULL))
#define TEXT_OPENS(text, model) TRY(text_opens(__LINE__, NULL, text, model))
#define TEXT_OPENS_WITHIN(limits, text, model) TRY(text_opens(__LINE__, limits, text, model))
#define TEXT_IS_FINE(text) do { qnnrt *model_ = NULL; TEXT_OPENS(text, &model_); CLOSE(model_); } while (0)

/* Prepare an opened model; the call must be refused. */
static void prepare_fails(int line, qnnrt *model, const char *name, qnnrt_result code, const char *needle, const char *needle2)
{
    qnnrt_run *run = (qnnrt_run *)&error;
    left now = left_now(), after;
    qnnrt_result result;
    TEST_JUNK(error);
    result = qnnrt_prepare(model, name, &run, &error);
    after = left_now();
    if (result != code || error.code != code || run != NULL || !text_is_clean(error.text) ||
        memcmp(&now, &after, sizeof(now)) != 0) {
        test_where(__FILE__, line);
        printf("qnnrt_prepare answered %s, not %s, or left something; the error says: %.1000s\n", qnnrt_result_name(result),
               qnnrt_result_name(code), error.text);
        return;
    }
    if (!test_check_str(error.text, needle, __FILE__, line) || !test_check_str(error.text, needle2, __FILE__, line)) return;
    run = (qnnrt_run *)&error;
    if (qnnrt_prepare(model, name, &run, NULL) != code || run != NULL) {
        test_where(__FILE__, line);
        printf("qnnrt_prepare without an error answers something else\n");
    }
}

#define PREPARE_FAILS(model, name, code, needle, needle2) TRY(prepare_fails(__LINE__, model, name, code, needle, needle2))

/* ---- models and folders --------------------------------------------------------------------- */

#define PAD  "# a context binary has at least 64 bytes, and so has this one by this line\n"
#define HEAD "FAKEQNN 1\n" PAD
#define ONE  HEAD "graph fwd\nin ids 1 0032 2 1 4 -\nout logits 2 0232 2 1 8 -\n"
#define GRAPH(tensors) HEAD "graph fwd\n" tensors "out logits 99 0232 2 1 8 -\n"

static int file_write(const char *folder, const char *name, const void *data, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return test_write_file(path, data, bytes);
}

static int text_write(const char *folder, const char *name, const char *text)
{
    return file_write(folder, name, text, strlen(text));
}

#define WRITE(folder, name, text) CHECK(text_write(folder, name, text))

/* Make a folder with one file of these bytes. */
static const char *folder_of(const char *name, const void *data, size_t bytes)
{
    const char *folder = test_tmpdir();
    file_write(folder, name, data, bytes);
    return folder;
}

/* Return the names of the contexts, "a.bin b.bin ". */
static const char *files_of(const qnnrt *model)
{
    static char text[4096];
    size_t count, i;
    const qnnrt_context_info *infos = qnnrt_get_info(model)->contexts;
    count = qnnrt_get_info(model)->context_count;
    text[0] = '\0';
    for (i = 0; i < count; ++i) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", infos[i].file);
    return text;
}

#define FILES_ARE(model, names) \
    do { \
        if (strcmp(files_of(model), names) != 0) printf("files: %s\n", files_of(model)); \
        CHECK(strcmp(files_of(model), names) == 0); \
    } while (0)

/* Write a shard whose graph is joined with those of its neighbours: h<i> -> h<i+1>. */
static int shard_write(const char *folder, const char *name, unsigned shard)
{
    char text[1024];
    snprintf(text, sizeof(text), HEAD "graph fwd\nin h%u %u 0232 2 1 8 -\nout h%u %u 0232 2 1 8 -\n", shard, 2 * shard + 1,
             shard + 1, 2 * shard + 2);
    return text_write(folder, name, text);
}

/* Write forward_0.bin and so on. */
static int shards_write(const char *folder, unsigned count)
{
    char name[32];
    unsigned i;
    for (i = 0; i < count; ++i) {
        snprintf(name, sizeof(name), "forward_%u.bin", i);
        if (!shard_write(folder, name, i)) return 0;
    }
    return 1;
}

/* ---- folders -------------------------------------------------------------------------------- */

TEST(folder_missing_is_an_error_with_its_path)
{
    char path[2048];
    qnnrt_desc desc = new_desc();
    fake_begin("");
    snprintf(path, sizeof(path), "%s/not_there", test_tmpdir());
    FAILS(path, &desc, QNNRT_E_NOT_FOUND, path, "folder", strerror(ENOENT));
    CHECK(strstr(fake_trace(), "backendCreate") == NULL);
}

TEST(folder_that_is_a_file_is_an_io_error)
{
    char path[2048];
    qnnrt_desc desc = new_desc();
    fake_begin("");
    snprintf(path, sizeof(path), "%s/forward_0.bin", folder_of("forward_0.bin", ONE, strlen(ONE)));
    FAILS(path, &desc, QNNRT_E_IO, path, strerror(ENOTDIR), "  hint: Give the folder");
}

TEST(folder_with_an_empty_name_is_an_argument_error)
{
    qnnrt_desc desc = new_desc();
    fake_begin("");
    FAILS("", &desc, QNNRT_E_ARG, "folder", "empty");
}

TEST(folder_empty_says_what_a_model_folder_holds)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, folder, "no *.bin", "forward_0.bin");
    CHECK(strstr(fake_trace(), "backendCreate") == NULL);
}

TEST(folder_without_bin_files_is_like_an_empty_one)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    WRITE(folder, "config.json", "{}");
    WRITE(folder, "forward_0.bin.part", ONE);
    WRITE(folder, "forward_0.BIN", ONE);
    WRITE(folder, ".bin", ONE);
    WRITE(folder, ".hidden.bin", ONE);
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, folder, "no *.bin");
}

TEST(folder_with_a_slash_behind_its_name_opens)
{
    char path[2048];
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    fake_begin("");
    snprintf(path, sizeof(path), "%s/", folder_of("forward_0.bin", ONE, strlen(ONE)));
    OPENS(path, &desc, &model);
    FILES_ARE(model, "forward_0.bin ");
    CLOSE(model);
}

TEST(folder_path_too_long_is_refused)
{
    char *path = (char *)malloc(8192);
    qnnrt_desc desc = new_desc();
    size_t i;
    CHECK(path != NULL);
    fake_begin("");
    strcpy(path, folder_of("forward_0.bin", ONE, strlen(ONE)));
    for (i = strlen(path); i + 2 < 5000; i += 2) memcpy(path + i, "/.", 3);
    memset(&error, 0, sizeof(error));
    fails(__LINE__, path, &desc, QNNRT_E_IO, (const char *)NULL);
    free(path);
}

/* ---- short files ---------------------------------------------------------------------------- */

TEST(file_under_64_bytes_gives_its_size)
{
    static const size_t sizes[] = { 0, 1, 8, 63 };
    size_t i;
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        char says[32];
        qnnrt_desc desc = new_desc();
        const char *folder = folder_of("forward_0.bin", ONE, sizes[i]);
        fake_begin("");
        snprintf(says, sizeof(says), "has %u bytes", (unsigned)sizes[i]);
        FAILS(folder, &desc, QNNRT_E_FORMAT, "forward_0.bin", says, "at least 64");
        CHECK(strstr(fake_trace(), "GetBinaryInfo") == NULL);
        desc.read = 1;
        FAILS(folder, &desc, QNNRT_E_FORMAT, "forward_0.bin", says, "at least 64");
    }
}

TEST(block_under_64_bytes_gives_its_size)
{
    qnnrt_desc desc = new_desc();
    qnnrt_file file;
    memset(&file, 0, sizeof(file));
    fake_begin("");
    memset(&file, 0, sizeof(file));
    file.data = ONE;
    file.bytes = 63;
    desc.files = &file;
    desc.file_count = 1;
    FAILS(NULL, &desc, QNNRT_E_FORMAT, "(memory)", "has 63 bytes");
    file.path = "tiny";
    file.bytes = 0;
    FAILS(NULL, &desc, QNNRT_E_FORMAT, "tiny", "has 0 bytes");
}

TEST(file_truncated_at_every_byte_opens_or_fails_cleanly)
{
    static const char text[] = HEAD "build v2.50.0.1\ncore 2 39 0\ngraph fwd\nin ids 1 0416 2 1 4 s 0.5 -3\n"
                               "in w 2 0408 2 2 2 a 1 2 0.5 1 0.25 2\nupd u 3 0232 1 2 -\nout logits 4 0232 2 1 8 -\nshared 0\n";
    size_t length, opened = 0, failed = 0;
    for (length = 0; length <= strlen(text); ++length) {
        qnnrt_desc desc = new_desc();
        const char *folder = NULL;
        text_block block;
        qnnrt *model = NULL;
        qnnrt_result result;
        block_begin(&block, "cut.bin", text, length);
        desc.files = &block.file;
        desc.file_count = 1;
        if (length % 16 == 0) {
            folder = folder_of("forward_0.bin", text, length);
            desc.files = NULL;
            desc.file_count = 0;
            desc.read = length % 32 == 0;
        }
        fake_begin("");
        TEST_JUNK(error);
        result = qnnrt_open(folder, &desc, &model, &error);
        CHECK_EQ(error.code, result);
        if (result == QNNRT_OK) {
            ++opened;
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        } else {
            ++failed;
            CHECK(model == NULL && result == QNNRT_E_FORMAT);
            CHECK(text_is_clean(error.text));
            CHECK_STR(error.text, folder != NULL ? "forward_0.bin" : "cut.bin");
        }
        free(block.data);
        TRY(nothing_left());
    }
    CHECK(opened > 0 && failed > 100);
}

/* ---- files that are something else ---------------------------------------------------------- */

typedef struct foreign { const char *what, *says, *begin; size_t bytes; } foreign;

static const foreign foreigners[] = {
    { "ELF",     "ELF",       "\177ELF\2\1\1\0",                                                     8 },
    { "JSON",    "JSON",      " \n{\"model\": [1, 2]}",                                              19 },
    { "array",   "JSON",      "[1, 2, 3]",                                                           9 },
    { "zip",     "zip",       "PK\3\4\24\0",                                                         6 },
    { "git-lfs", "git-lfs",   "version https://git-lfs.github.com/spec/v1\noid sha256:0123\n",       58 },
    { "pte",     "ExecuTorch", "\30\0\0\0ET12",                                                      8 },
    { "gguf",    "a language model as GGUF", "GGUF\3\0\0\0",                                          8 },
    { "zeros",   "does not begin", "\0",                                                             1 }
};

enum { FOREIGNERS = sizeof(foreigners) / sizeof(foreigners[0]), FOREIGN_BYTES = 200 };

static void foreign_make(const foreign *from, char out[FOREIGN_BYTES])
{
    memset(out, from->begin[0] == 'v' || strchr(" [", from->begin[0]) != NULL ? ' ' : 0, FOREIGN_BYTES);
    memcpy(out, from->begin, from->bytes);
    if (from->begin[0] == '\0') memset(out, 0, FOREIGN_BYTES);
}

TEST(foreign_forward_0_is_an_error_that_says_what_it_looks_like)
{
    size_t i;
    for (i = 0; i < FOREIGNERS; ++i) {
        char bytes[FOREIGN_BYTES];
        qnnrt_desc desc = new_desc();
        const char *folder;
        foreign_make(&foreigners[i], bytes);
        folder = folder_of("forward_0.bin", bytes, sizeof(bytes));
        fake_begin("");
        FAILS(folder, &desc, QNNRT_E_FORMAT, "forward_0.bin", foreigners[i].says);
        CHECK(strstr(fake_trace(), "contextCreateFromBinary") == NULL);
        desc.read = 1;
        FAILS(folder, &desc, QNNRT_E_FORMAT, "forward_0.bin", foreigners[i].says);
    }
}

/* What the file is comes first, then what the library answered; nothing calls it damaged. */
TEST(foreign_kind_leads_the_error)
{
    size_t i;
    for (i = 0; i < FOREIGNERS; ++i) {
        static const char first[] = "forward_0.bin is no context binary";
        char bytes[FOREIGN_BYTES];
        qnnrt_desc desc = new_desc();
        const char *folder, *line, *answer;
        if (strcmp(foreigners[i].says, "does not begin") == 0) continue;
        foreign_make(&foreigners[i], bytes);
        folder = folder_of("forward_0.bin", bytes, sizeof(bytes));
        fake_begin("");
        FAILS(folder, &desc, QNNRT_E_FORMAT, "forward_0.bin", "is no context binary", ": it looks like ");
        CHECK(strncmp(error.text, first, sizeof(first) - 1) == 0);
        line = strchr(error.text, '\n');
        answer = strstr(error.text, "systemContextGetBinaryInfo answered 0x");
        CHECK(line != NULL && answer != NULL && line < answer);
        CHECK(line != NULL && strstr(error.text, foreigners[i].says) < line);
        CHECK(strstr(error.text, "likely cause") == NULL);
        CHECK_EQ(count_of(error.text, "forward_0.bin"), 2);            /* once in each line */
        CHECK(error.vendor_code != 0);
    }
}

TEST(foreign_block_is_an_error_that_says_what_it_looks_like)
{
    size_t i;
    for (i = 0; i < FOREIGNERS; ++i) {
        char bytes[FOREIGN_BYTES];
        qnnrt_desc desc = new_desc();
        text_block block;
        foreign_make(&foreigners[i], bytes);
        block_begin(&block, foreigners[i].what, bytes, sizeof(bytes));
        desc.files = &block.file;
        desc.file_count = 1;
        fake_begin("");
        FAILS(NULL, &desc, QNNRT_E_FORMAT, foreigners[i].what, foreigners[i].says);
        free(block.data);
    }
}

/* The error names the kind of very small files too: a pointer of git-lfs, or a JSON of a few
   bytes. */
TEST(foreign_short_file_says_what_it_looks_like)
{
    qnnrt_desc desc = new_desc();
    fake_begin("");
    FAILS(folder_of("forward_0.bin", "{\"a\": 1}\n", 9), &desc, QNNRT_E_FORMAT, "has 9 bytes", "JSON");
}

TEST(foreign_beside_a_good_one_is_skipped_with_a_log_line)
{
    qnnrt_desc desc = new_desc();
    const char *folder = folder_of("model.bin", ONE, strlen(ONE));
    qnnrt *model = NULL;
    size_t i;
    for (i = 0; i < FOREIGNERS; ++i) {
        char bytes[FOREIGN_BYTES], name[64];
        foreign_make(&foreigners[i], bytes);
        snprintf(name, sizeof(name), "%s.bin", foreigners[i].what);
        CHECK(file_write(folder, name, bytes, sizeof(bytes)));
    }
    fake_begin("");
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "model.bin ");
    for (i = 0; i < FOREIGNERS; ++i) {
        char line[64];
        snprintf(line, sizeof(line), "%s.bin is left out", foreigners[i].what);
        CHECK_STR(log_text, line);
    }
    CHECK_STR(log_text, "git-lfs pointer");
    CHECK_EQ(count_of(log_text, "is left out"), FOREIGNERS);
    CLOSE(model);
}

/* From 64 bytes on the vendor decides what a file is; below, it may be the beginning of a shard. */
TEST(foreign_begins_at_64_bytes)
{
    qnnrt_desc desc = new_desc();
    const char *folder = folder_of("model.bin", ONE, strlen(ONE));
    char bytes[FOREIGN_BYTES];
    qnnrt *model = NULL;
    foreign_make(&foreigners[0], bytes);
    for (desc.read = 0; desc.read < 2; ++desc.read) {
        fake_begin("");
        CHECK(file_write(folder, "other.bin", bytes, 64));
        OPENS(folder, &desc, &model);
        FILES_ARE(model, "model.bin ");
        CHECK_STR(log_text, "other.bin is left out");
        CHECK_EQ(count_of(log_text, "is left out"), 1);
        CLOSE(model);
        fake_begin("");
        CHECK(file_write(folder, "other.bin", bytes, 63));
        FAILS(folder, &desc, QNNRT_E_FORMAT, "other.bin", "has 63 bytes", "ELF");
        CHECK(strstr(log_text, "is left out") == NULL);
    }
}

/* A missing shard must be reported: a file that may be a shard is an error, also beside a good
   one. */
typedef struct no_foreign { const char *what, *bytes; size_t count; qnnrt_result code; const char *says; } no_foreign;

/* Check with bad.bin beside model.bin: it fails the open; with keep_going it is listed with its
   failure. */
static void bad_is_no_foreign(const char *folder, qnnrt_result code, const char *says)
{
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    fake_begin("");
    WRITE(folder, "model.bin", ONE);
    for (desc.read = 0; desc.read < 2; ++desc.read) {
        desc.keep_going = 0;
        FAILS(folder, &desc, code, "bad.bin", says);
        desc.keep_going = 1;
        OPENS(folder, &desc, &model);
        FILES_ARE(model, "bad.bin model.bin ");
        CHECK(qnnrt_get_info(model)->contexts[0].failure != NULL && qnnrt_get_info(model)->contexts[1].failure == NULL && qnnrt_get_info(model)->context_count == 2);
        CHECK_EQ(qnnrt_get_info(model)->contexts[0].failure->code, code);
        CHECK_STR(qnnrt_get_info(model)->contexts[0].failure->text, "bad.bin");
        CHECK_STR(TEST_TOLD(*qnnrt_get_info(model)->contexts[0].failure), says);
        CLOSE(model);
    }
    CHECK(strstr(log_text, "is left out") == NULL);
}

TEST(short_and_refused_files_beside_a_good_one_are_errors)
{
    static const no_foreign cases[] = {
        { "empty",                "",          0,  QNNRT_E_FORMAT, "has 0 bytes" },
        { "1 byte",               "x",         1,  QNNRT_E_FORMAT, "has 1 bytes" },
        { "JSON under 64",        "{\"a\": 1}", 8, QNNRT_E_FORMAT, "has 8 bytes" },
        { "63 of a good one",     ONE,         63, QNNRT_E_FORMAT, "has 63 bytes" },
        { "dimension of 0",       HEAD "graph fwd\nin x 1 0232 1 0 -\nout y 2 0232 1 1 -\n", 0, QNNRT_E_FORMAT, "dimension of 0" },
        { "no graph",             HEAD, 0, QNNRT_E_FORMAT, "no graph" },
        { "two of one id",        HEAD "graph fwd\nin a 1 0232 1 1 -\nin b 1 0232 1 1 -\nout y 2 0232 1 1 -\n", 0, QNNRT_E_FORMAT, "same id" },
        { "rank 9",               HEAD "graph fwd\nin x 1 0232 9 1 1 1 1 1 1 1 1 1 -\nout y 2 0232 1 1 -\n", 0, QNNRT_E_LIMIT, "rank 9" },
        { "newer",                HEAD "build v9.9\ngraph fwd\nin x 1 0232 1 1 -\nout y 2 0232 1 1 -\n", 0, QNNRT_E_VERSION, "v9.9" },
        { "another backend",      HEAD "backend 3\ngraph fwd\nin x 1 0232 1 1 -\nout y 2 0232 1 1 -\n", 0, QNNRT_E_MISMATCH, "backend 3" }
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        size_t bytes = cases[i].count > 0 || cases[i].bytes[0] == '\0' ? cases[i].count : strlen(cases[i].bytes);
        bad_is_no_foreign(folder_of("bad.bin", cases[i].bytes, bytes), cases[i].code, cases[i].says);
        if (test_state.state != TEST_RUNNING) { printf("    case: %s\n", cases[i].what); return; }
    }
}

/* The vendor refuses it, but it begins as a context binary: damaged or cut short. */
TEST(what_begins_like_a_context_binary_beside_a_good_one_is_an_error)
{
    static const unsigned char begin[16] = { 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1 };
    char bytes[FOREIGN_BYTES];
    uint64_t announced = 1000;
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes, begin, sizeof(begin));
    memcpy(bytes + 32, &announced, 8);
    TRY(bad_is_no_foreign(folder_of("bad.bin", bytes, sizeof(bytes)), QNNRT_E_FORMAT, "binary of Qualcomm's"));
    TRY(bad_is_no_foreign(folder_of("bad.bin", bytes, 64), QNNRT_E_FORMAT, "binary of Qualcomm's"));
}

TEST(links_to_nothing_beside_a_good_one_are_errors)
{
    const char *folder = test_tmpdir();
    char path[2048];
    snprintf(path, sizeof(path), "%s/bad.bin", folder);
    CHECK_EQ(symlink("gone", path), 0);
    TRY(bad_is_no_foreign(folder, QNNRT_E_NOT_FOUND, strerror(ENOENT)));
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(symlink("bad.bin", path), 0);
    TRY(bad_is_no_foreign(folder, QNNRT_E_IO, strerror(ELOOP)));
}

TEST(foreign_only_is_an_error_with_the_count)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    char bytes[FOREIGN_BYTES];
    fake_begin("");
    foreign_make(&foreigners[1], bytes);
    CHECK(file_write(folder, "a.bin", bytes, sizeof(bytes)));
    foreign_make(&foreigners[0], bytes);
    CHECK(file_write(folder, "b.bin", bytes, sizeof(bytes)));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "none of the 2", "b.bin", "ELF");
    desc.keep_going = 1;
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "none of the 2", "b.bin", "ELF");
    /* When a file may be a shard, the error is about that file. */
    desc.keep_going = 0;
    CHECK(file_write(folder, "a.bin", "{\"a\": 1}", 8));
    FAILS(folder, &desc, QNNRT_E_FORMAT, "a.bin has 8 bytes", "JSON");
    desc.keep_going = 1;
    FAILS(folder, &desc, QNNRT_E_FORMAT, "a.bin has 8 bytes", "JSON");
}

TEST(folder_only_is_an_error_with_the_count)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    char path[2048];
    fake_begin("");
    snprintf(path, sizeof(path), "%s/a.bin", folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "none of the 1", "a.bin", "folder");
}

TEST(foreign_shard_1_of_1_is_an_error)
{
    qnnrt_desc desc = new_desc();
    char bytes[FOREIGN_BYTES];
    fake_begin("");
    foreign_make(&foreigners[0], bytes);
    FAILS(folder_of("m_1_of_1.bin", bytes, sizeof(bytes)), &desc, QNNRT_E_FORMAT, "m_1_of_1.bin", "ELF");
}

TEST(hostile_file_names_do_not_forge_lines)
{
    static const char name[] = "x\033[2J\n  it looks like a good file\r\xc2\x9b.bin";
    qnnrt_desc desc = new_desc();
    char bytes[FOREIGN_BYTES];
    const char *folder;
    qnnrt *model = NULL;
    fake_begin("");
    foreign_make(&foreigners[0], bytes);
    folder = folder_of(name, bytes, sizeof(bytes));
    FAILS(folder, &desc, QNNRT_E_FORMAT, "x?[2J   it looks like a good file", ".bin");
    CHECK_EQ(count_of(error.text, "\n  it looks like"), 0);
    CHECK_EQ(count_of(error.text, ": it looks like"), 1);
    WRITE(folder, "good.bin", ONE);
    OPENS(folder, &desc, &model);
    CHECK_STR(log_text, "x?[2J   it looks like");
    CLOSE(model);
}

TEST(fifo_named_like_a_shard_does_not_hang)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    char path[2048];
    fake_begin("");
    snprintf(path, sizeof(path), "%s/forward_0.bin", folder);
    CHECK_EQ(mkfifo(path, 0600), 0);
    alarm(20);
    FAILS(folder, &desc, QNNRT_E_IO, "forward_0.bin", "not a regular file");
    desc.read = 1;
    FAILS(folder, &desc, QNNRT_E_IO, "forward_0.bin", "not a regular file");
    alarm(0);
}

TEST(folder_named_like_a_shard_is_an_error)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    char path[2048];
    fake_begin("");
    snprintf(path, sizeof(path), "%s/forward_0.bin", folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    FAILS(folder, &desc, QNNRT_E_IO, "forward_0.bin", "folder");
    desc.read = 1;
    FAILS(folder, &desc, QNNRT_E_IO, "forward_0.bin", "folder");
}

TEST(symbolic_links_are_followed_and_loops_are_errors)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir(), *other = folder_of("real", ONE, strlen(ONE));
    char path[2048], target[2048];
    qnnrt *model = NULL;
    fake_begin("");
    snprintf(path, sizeof(path), "%s/forward_0.bin", folder);
    CHECK_EQ(symlink("forward_0.bin", path), 0);
    FAILS(folder, &desc, QNNRT_E_IO, "forward_0.bin", strerror(ELOOP));
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(symlink("gone", path), 0);
    FAILS(folder, &desc, QNNRT_E_NOT_FOUND, "forward_0.bin", strerror(ENOENT));
    CHECK_EQ(unlink(path), 0);
    target[0] = '\0';
    if (other[0] != '/') CHECK(getcwd(target, sizeof(target) / 2) != NULL);
    snprintf(target + strlen(target), sizeof(target) - strlen(target), "/%s/real", other);
    CHECK_EQ(symlink(target, path), 0);
    OPENS(folder, &desc, &model);
    CLOSE(model);
}

/* "*.bin: whatever is a context binary; the others are skipped with a line in the log" */
TEST(folders_fifos_and_sockets_beside_a_good_one_are_skipped_with_a_log_line)
{
    qnnrt_desc desc = new_desc();
    const char *folder = folder_of("good.bin", ONE, strlen(ONE));
    char path[2048];
    qnnrt *model = NULL;
    struct sockaddr_un address;
    int fd, bound;
    fake_begin("");
    snprintf(path, sizeof(path), "%s/assets.bin", folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/pipe.bin", folder);
    CHECK_EQ(mkfifo(path, 0600), 0);
    memset(&address, 0, sizeof(address));
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, "socket.bin");          /* from within: the name of a socket must be short */
    CHECK(getcwd(path, sizeof(path)) != NULL);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    CHECK_EQ(chdir(folder), 0);
    bound = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    CHECK_EQ(chdir(path), 0);
    CHECK_EQ(close(fd), 0);
    CHECK_EQ(bound, 0);
    alarm(20);
    OPENS(folder, &desc, &model);
    alarm(0);
    FILES_ARE(model, "good.bin ");
    CHECK_STR(log_text, "assets.bin is left out");
    CHECK_STR(log_text, "pipe.bin is left out");
    CHECK_STR(log_text, "socket.bin is left out");
    CHECK_EQ(count_of(log_text, "is left out"), 3);
    CLOSE(model);
}

/* ---- numbering ------------------------------------------------------------------------------ */

TEST(forward_with_a_gap_names_the_missing_shard)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    CHECK(shards_write(folder, 2));
    CHECK(shard_write(folder, "forward_2.bin", 2) && shard_write(folder, "forward_10.bin", 3));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "shard 3 is missing", "forward_10.bin");
    CHECK(strstr(fake_trace(), "backendCreate") == NULL);
}

TEST(forward_without_0_names_the_missing_shard)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    CHECK(shard_write(folder, "forward_1.bin", 0));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "shard 0 is missing", "forward_1.bin");
}

TEST(forward_0_to_10_are_in_numeric_order)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    qnnrt *model = NULL;
    unsigned i;
    fake_begin("");
    for (i = 0; i <= 10; ++i) {
        char name[32];
        snprintf(name, sizeof(name), "forward_%u.bin", (i * 7) % 11);
        CHECK(shard_write(folder, name, (i * 7) % 11));
    }
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "forward_0.bin forward_1.bin forward_2.bin forward_3.bin forward_4.bin forward_5.bin forward_6.bin "
                     "forward_7.bin forward_8.bin forward_9.bin forward_10.bin ");
    CHECK_EQ(qnnrt_get_info(model)->pipeline_count, 1);
    CHECK(qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[0])->failure == NULL);
    CHECK_EQ(qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[0])->edge_count, 10);
    CLOSE(model);
}

TEST(forward_twice_the_same_number_names_both)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    CHECK(shards_write(folder, 2));
    CHECK(shard_write(folder, "forward_01.bin", 1));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "forward_1.bin", "forward_01.bin", "same shard");
    folder = test_tmpdir();
    CHECK(shard_write(folder, "forward_0.bin", 0) && shard_write(folder, "forward_000.bin", 1));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "forward_0.bin", "forward_000.bin", "same shard");
}

TEST(forward_with_leading_zeros_opens)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    qnnrt *model = NULL;
    fake_begin("");
    CHECK(shard_write(folder, "forward_00.bin", 0) && shard_write(folder, "forward_01.bin", 1));
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "forward_00.bin forward_01.bin ");
    CLOSE(model);
}

TEST(forward_files_leave_others_out_with_a_log_line)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    qnnrt *model = NULL;
    fake_begin("");
    CHECK(shards_write(folder, 2));
    WRITE(folder, "embedding.bin", "not a context binary, and never looked at");
    WRITE(folder, "forward_1234567890.bin", "ten digits: not a number of a shard");
    WRITE(folder, "forward_x.bin", "no number");
    WRITE(folder, "forward_1.bin.bin", "nor this");
    WRITE(folder, "model_1_of_2.bin", "another way of numbering");
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "forward_0.bin forward_1.bin ");
    CHECK_STR(log_text, "embedding.bin is left out");
    CHECK_STR(log_text, "model_1_of_2.bin is left out");
    CHECK_EQ(count_of(log_text, "is left out"), 5);
    CLOSE(model);
}

TEST(i_of_n_complete_opens_in_order)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    qnnrt *model = NULL;
    unsigned i;
    fake_begin("");
    for (i = 1; i <= 11; ++i) {
        char name[64];
        snprintf(name, sizeof(name), "llama_v3_8b_%u_of_11.bin", i);
        CHECK(shard_write(folder, name, i - 1));
    }
    WRITE(folder, "other.bin", "left out");
    OPENS(folder, &desc, &model);
    CHECK_EQ(strncmp(files_of(model), "llama_v3_8b_1_of_11.bin llama_v3_8b_2_of_11.bin llama_v3_8b_3_of_11.bin ", 72), 0);
    CHECK_STR(files_of(model), "llama_v3_8b_10_of_11.bin llama_v3_8b_11_of_11.bin ");
    CHECK_STR(log_text, "other.bin is left out");
    CLOSE(model);
}

TEST(i_of_n_with_one_missing_names_it)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    CHECK(shard_write(folder, "m_1_of_3.bin", 0) && shard_write(folder, "m_3_of_3.bin", 2));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "shard 2 is missing", "m_3_of_3.bin");
    folder = test_tmpdir();
    CHECK(shard_write(folder, "m_1_of_3.bin", 0) && shard_write(folder, "m_2_of_3.bin", 1));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "m_1_of_3.bin", "3 shards", " 2");
    folder = test_tmpdir();
    CHECK(shard_write(folder, "m_2_of_2.bin", 1));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "shard 1 is missing", "m_2_of_2.bin");
}

TEST(i_of_n_of_two_models_names_one_of_each)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    CHECK(shard_write(folder, "a_1_of_2.bin", 0) && shard_write(folder, "a_2_of_2.bin", 1));
    CHECK(shard_write(folder, "b_1_of_2.bin", 0) && shard_write(folder, "b_2_of_2.bin", 1));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "more than one model", "a_1_of_2.bin", "b_1_of_2.bin");
    folder = test_tmpdir();
    CHECK(shard_write(folder, "a_1_of_2.bin", 0) && shard_write(folder, "b_2_of_2.bin", 1));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "more than one model", "a_1_of_2.bin", "b_2_of_2.bin");
}

TEST(i_of_n_with_a_wrong_total_is_refused)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    CHECK(shard_write(folder, "m_1_of_2.bin", 0) && shard_write(folder, "m_2_of_3.bin", 1));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "m_1_of_2.bin", "m_2_of_3.bin");
    folder = test_tmpdir();
    CHECK(shard_write(folder, "m_1_of_2.bin", 0) && shard_write(folder, "m_2_of_2.bin", 1) && shard_write(folder, "m_3_of_2.bin", 2));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "m_1_of_2.bin", "2 shards", " 3");
}

/* The text must not name a file "numbering from 1". */
TEST(i_of_n_from_0_says_where_numbering_begins)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    CHECK(shard_write(folder, "m_0_of_2.bin", 0) && shard_write(folder, "m_1_of_2.bin", 1));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "m_0_of_2.bin", "at 1");
    CHECK(strstr(error.text, "are the same shard") == NULL);
}

TEST(i_of_n_twice_the_same_number_names_both)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    CHECK(shard_write(folder, "m_1_of_2.bin", 0) && shard_write(folder, "m_01_of_2.bin", 0) && shard_write(folder, "m_2_of_2.bin", 1));
    FAILS(folder, &desc, QNNRT_E_FORMAT, folder, "m_1_of_2.bin", "m_01_of_2.bin", "same shard");
}

TEST(any_names_are_in_natural_order)
{
    static const char *const names[] = { "part_10.bin", "part_2.bin", "Part_3.bin", "part_1_b.bin", "part_1.bin", "part_002.bin",
                                         "a.bin", "part_99999999999999999999999.bin", "part_100000000000000000000000.bin" };
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    qnnrt *model = NULL;
    unsigned i;
    fake_begin("");
    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) CHECK(shard_write(folder, names[i], i));
    OPENS(folder, &desc, &model);
    CHECK_EQ(strncmp(files_of(model), "Part_3.bin a.bin part_1.bin part_1_b.bin ", 41), 0);
    CHECK(strstr(files_of(model), "part_2.bin ") < strstr(files_of(model), "part_10.bin "));
    CHECK(strstr(files_of(model), "part_002.bin ") < strstr(files_of(model), "part_10.bin "));
    CHECK_STR(files_of(model), "part_10.bin part_99999999999999999999999.bin part_100000000000000000000000.bin ");
    CLOSE(model);
}

/* The order matches the comment of the comparison. */
TEST(equal_numbers_are_ordered_by_digits_first)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    qnnrt *model = NULL;
    fake_begin("");
    CHECK(shard_write(folder, "part_002.bin", 2) && shard_write(folder, "part_02.bin", 1) && shard_write(folder, "part_2.bin", 0));
    OPENS(folder, &desc, &model);
    FILES_ARE(model, "part_2.bin part_02.bin part_002.bin ");
    CLOSE(model);
}

/* ---- releases and backends ------------------------------------------------------------------ */

#define ONE_WITH(facts) HEAD facts "graph fwd\nin ids 1 0032 2 1 4 -\nout logits 2 0232 2 1 8 -\n"

TEST(binary_of_another_backend_names_both)
{
    fake_begin("");
    TEXT_FAILS(ONE_WITH("backend 3\n"), QNNRT_E_MISMATCH, "shard.bin", "compiled for backend 3", "is backend 6");
    TEXT_FAILS(ONE_WITH("backend 4\n"), QNNRT_E_MISMATCH, "shard.bin", "compiled for backend 4", "3 CPU, 4 GPU, 6 HTP");
    CHECK(strstr(fake_trace(), "contextCreateFromBinary") == NULL);
    fake_begin("id=3");
    TEXT_FAILS(ONE, QNNRT_E_MISMATCH, "shard.bin", "compiled for backend 6", "is backend 3");
    TEXT_IS_FINE(ONE_WITH("backend 3\n"));
}

TEST(binary_that_states_no_backend_opens)
{
    fake_begin("");
    TEXT_IS_FINE(ONE_WITH("backend 0\n"));
}

TEST(binary_newer_by_core_version_names_both_releases)
{
    fake_begin("core=2.35,build=v2.46.0.1");
    TEXT_FAILS(ONE_WITH("build v2.47.0.260101\ncore 2 36 0\n"), QNNRT_E_VERSION, "shard.bin", "v2.47.0.260101", "2.36", "v2.46.0.1",
               "2.35", "newer");
    TEXT_FAILS(ONE_WITH("build -\ncore 2 36 0\n"), QNNRT_E_VERSION, "shard.bin", "2.36", "2.35");
    CHECK(strstr(error.text, "release  (") == NULL);
    TEXT_FAILS(ONE_WITH("build v2.46.0.1\ncore 3 0 0\n"), QNNRT_E_VERSION, "shard.bin", "3.0", "2.35");
    TEXT_FAILS(ONE_WITH("build v2.46.0.1\ncore 4294967295 4294967295 0\n"), QNNRT_E_VERSION, "4294967295.4294967295");
    CHECK(strstr(fake_trace(), "contextCreateFromBinary") == NULL);
    TEXT_IS_FINE(ONE_WITH("build v2.46.0.1\ncore 2 35 99\n"));
    TEXT_IS_FINE(ONE_WITH("build v2.45.0.1\ncore 2 34 0\n"));
}

TEST(binary_newer_by_build_id_only_names_both_releases)
{
    fake_begin("");
    TEXT_FAILS(ONE_WITH("build v2.52.0.270101\n"), QNNRT_E_VERSION, "shard.bin", "v2.52.0.270101", "v2.51.0.260929181845");
    TEXT_FAILS(ONE_WITH("build v3.0.0\n"), QNNRT_E_VERSION, "v3.0.0");
    TEXT_FAILS(ONE_WITH("build 2.100\n"), QNNRT_E_VERSION, "2.100");
    CHECK(strstr(fake_trace(), "contextCreateFromBinary") == NULL);
    TEXT_IS_FINE(ONE_WITH("build v2.51.1.270101\n"));
    TEXT_IS_FINE(ONE_WITH("build v1.99\n"));
    fake_begin("build=null");
    TEXT_IS_FINE(ONE_WITH("build v2.52.0\n"));
}

TEST(build_ids_that_are_none_are_no_reason_to_refuse)
{
    static const char *const ids[] = { "-", "null", "v", "garbage", "v2", "v2.", "v2.x", "2_52", "v99999999999999999999.1", "..", "v-3.1" };
    size_t i;
    fake_begin("");
    for (i = 0; i < sizeof(ids) / sizeof(ids[0]); ++i) {
        char text[512];
        qnnrt *model = NULL;
        snprintf(text, sizeof(text), ONE_WITH("build %s\n"), ids[i]);
        TEXT_OPENS(text, &model);
        CHECK(strcmp(qnnrt_get_info(model)->contexts->build_id, i < 2 ? "" : ids[i]) == 0);
        CLOSE(model);
    }
}

TEST(build_id_with_control_characters_is_cleaned_in_errors)
{
    fake_begin("");
    TEXT_FAILS(ONE_WITH("build v2.99.%1b[2J%0aforged\n"), QNNRT_E_VERSION, "v2.99.?[2J forged");
}

TEST(weight_shared_htp_binary_is_refused_on_x86_64_before_the_vendor_sees_it)
{
    static const char text[] = HEAD "backend 6\ngraph a\nin x 1 0232 1 4 -\nout y 2 0232 1 4 -\ngraph b\nshared 5\nin x 3 0232 1 4 -\n"
                               "out y 4 0232 1 4 -\n";
#if defined(__x86_64__)
    fake_begin("");
    TEXT_FAILS(text, QNNRT_E_UNSUPPORTED, "shard.bin", "graph \"b\"", "shares its weights", "emulator", "device");
    CHECK(strstr(fake_trace(), "contextCreateFromBinary") == NULL);
    CHECK_STR(fake_trace(), "systemContextGetBinaryInfo");
#else
    fake_begin("");
    TEXT_IS_FINE(text);
#endif
}

TEST(weight_sharing_of_another_backend_is_none_of_ours)
{
    qnnrt *model = NULL;
    fake_begin("id=3");
    TEXT_OPENS(ONE_WITH("backend 3\n") "shared 5\n", &model);
    CHECK_EQ(qnnrt_get_info(model)->contexts->graphs[0].shared_weights_bytes, 0);
    CHECK_STR(fake_trace(), "contextCreateFromBinary");
    CLOSE(model);
}

/* The blob of a graph is HTP's own; in the binary of another backend these bytes mean something
   else. */
TEST(htp_facts_are_read_of_htp_binaries_only)
{
    unsigned id;
    fake_begin("");
    for (id = 0; id <= 9; ++id) {
        char text[1024];
        qnnrt_desc desc = new_desc();
        text_block block;
        qnnrt *model = NULL;
        const qnnrt_graph_info *g;
        snprintf(text, sizeof(text), ONE_WITH("backend %u\n") "spill 11\nvtcm 12\nopt 3\nhvx 4\nconst 15\nshared 16\n", id);
        block_begin(&block, "shard.bin", text, strlen(text));
        desc.files = &block.file;
        desc.file_count = 1;
        desc.inspect = 1;
        OPENS(NULL, &desc, &model);
        free(block.data);
        g = qnnrt_get_info(model)->contexts->graphs;
        CHECK_EQ(qnnrt_get_info(model)->contexts->backend_id, id);
        CHECK_EQ(g->spill_fill_bytes, id == 6 ? 11 : 0);
        CHECK_EQ(g->vtcm_bytes, id == 6 ? 12 : 0);
        CHECK_EQ(g->optimization_level, id == 6 ? 3 : 0);
        CHECK_EQ(g->hvx_threads, id == 6 ? 4 : 0);
        CHECK_EQ(g->const_bytes, id == 6 ? 15 : 0);
        CHECK_EQ(g->shared_weights_bytes, id == 6 ? 16 : 0);
        CLOSE(model);
    }
}

/* ---- ExecuTorch's head ---------------------------------------------------------------------- */

/* Write the head, then a text; return the bytes. */
static size_t head_make(char *out, uint64_t announced, const char *text)
{
    static const unsigned char magic[4] = { 0xCD, 0xAB, 0x78, 0x56 };
    uint64_t signature = 0x1122334455667788u;
    memset(out, 0, 256);
    memcpy(out, magic, 4);
    memcpy(out + 4, &signature, 8);
    memcpy(out + 12, &announced, 8);
    memcpy(out + 256, text, strlen(text));
    return 256 + strlen(text);
}

TEST(executorch_head_is_stepped_over)
{
    char bytes[2048];
    int how;
    for (how = 0; how < 3; ++how) {
        size_t size = head_make(bytes, strlen(ONE), ONE);
        qnnrt_desc desc = new_desc();
        text_block block;
        qnnrt *model = NULL;
        const char *folder = how < 2 ? folder_of("forward_0.bin", bytes, size) : NULL;
        block_begin(&block, NULL, bytes, size);
        desc.read = how == 1;
        if (how == 2) { desc.files = &block.file; desc.file_count = 1; }
        fake_begin("");
        OPENS(folder, &desc, &model);
        CHECK_EQ(qnnrt_get_info(model)->contexts->blob_bytes, strlen(ONE));
        CHECK_EQ(qnnrt_get_info(model)->contexts->file_bytes, size);
        free(block.data);
        CLOSE(model);
    }
}

/* Equal from a map, a read and a block of memory; different when a byte of the signature in the
   head (which no code reads) or the size differs. */
TEST(context_fingerprint_tells_files_apart)
{
    char bytes[2048];
    uint64_t prints[5];
    int how;
    for (how = 0; how < 5; ++how) {
        size_t size = head_make(bytes, strlen(ONE), how == 4 ? ONE "more\n" : ONE);
        qnnrt_desc desc = new_desc();
        text_block block;
        qnnrt *model = NULL;
        const char *folder;
        if (how == 3) bytes[5] ^= 1;
        folder = how != 2 ? folder_of("forward_0.bin", bytes, size) : NULL;
        block_begin(&block, NULL, bytes, size);
        desc.read = how == 1;
        if (how == 2) { desc.files = &block.file; desc.file_count = 1; }
        fake_begin("");
        OPENS(folder, &desc, &model);
        prints[how] = qnnrt_get_info(model)->contexts->fingerprint;
        CHECK(strcmp(qnnrt_get_info(model)->folder, folder != NULL ? folder : "") == 0);
        free(block.data);
        CLOSE(model);
    }
    CHECK(prints[0] != 0 && prints[0] == prints[1] && prints[0] == prints[2]);
    CHECK(prints[3] != prints[0] && prints[4] != prints[0] && prints[3] != prints[4]);
}

TEST(executorch_head_may_announce_less_than_follows)
{
    static const char more[] = ONE "this is not part of the binary\n";
    char bytes[2048];
    size_t size = head_make(bytes, strlen(ONE), more);
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    fake_begin("");
    OPENS(folder_of("forward_0.bin", bytes, size), &desc, &model);
    CLOSE(model);
}

TEST(executorch_head_that_announces_too_much_is_refused)
{
    static const uint64_t more[] = { 1, 0x100000000u, UINT64_MAX / 2, UINT64_MAX - 256 };
    char bytes[2048];
    size_t i;
    for (i = 0; i < 4; ++i) {
        size_t size = head_make(bytes, strlen(ONE) + more[i], ONE);
        char expected[32];
        qnnrt_desc desc = new_desc();
        fake_begin("");
        snprintf(expected, sizeof(expected), "%llu bytes", (unsigned long long)(strlen(ONE) + more[i]));
        FAILS(folder_of("forward_0.bin", bytes, size), &desc, QNNRT_E_FORMAT, "forward_0.bin", "ExecuTorch head", expected);
        CHECK(strstr(fake_trace(), "GetBinaryInfo") == NULL);
    }
}

/* The minimum of 64 bytes is our own check, because the vendor has none: it must count after the
   head. */
TEST(executorch_head_alone_or_with_under_64_bytes_is_refused_before_the_vendor_sees_it)
{
    static const size_t follow[] = { 0, 1, 8, 63 };
    char bytes[2048];
    size_t i;
    for (i = 0; i < 4; ++i) {
        qnnrt_desc desc = new_desc();
        head_make(bytes, follow[i], ONE);
        fake_begin("");
        FAILS(folder_of("forward_0.bin", bytes, 256 + follow[i]), &desc, QNNRT_E_FORMAT, "forward_0.bin", "at least 64");
        CHECK(strstr(fake_trace(), "GetBinaryInfo") == NULL);
        desc.read = 1;
        FAILS(folder_of("forward_0.bin", bytes, 256 + strlen(ONE)), &desc, QNNRT_E_FORMAT, "forward_0.bin", "at least 64");
        CHECK(strstr(fake_trace(), "GetBinaryInfo") == NULL);
    }
}

TEST(executorch_head_cut_short_is_refused)
{
    char bytes[2048];
    qnnrt_desc desc = new_desc();
    head_make(bytes, strlen(ONE), ONE);
    fake_begin("");
    FAILS(folder_of("forward_0.bin", bytes, 255), &desc, QNNRT_E_FORMAT, "forward_0.bin");
    FAILS(folder_of("forward_0.bin", bytes, 64), &desc, QNNRT_E_FORMAT, "forward_0.bin");
}

/* A file with that head is treated as a context binary, however little of it is left. */
TEST(executorch_head_before_anything_beside_a_good_one_is_an_error)
{
    char bytes[2048], text[1024];
    size_t size;
    memset(text, 'x', 300);
    text[300] = '\0';
    size = head_make(bytes, 300, text);
    TRY(bad_is_no_foreign(folder_of("bad.bin", bytes, size), QNNRT_E_FORMAT, "metadata"));
    size = head_make(bytes, strlen(ONE) + 1, ONE);
    TRY(bad_is_no_foreign(folder_of("bad.bin", bytes, size), QNNRT_E_FORMAT, "ExecuTorch head"));
    head_make(bytes, 8, ONE);
    TRY(bad_is_no_foreign(folder_of("bad.bin", bytes, 256 + 8), QNNRT_E_FORMAT, "ExecuTorch head"));
}

/* Cut within the head. */
TEST(executorch_head_cut_short_beside_a_good_one_is_an_error)
{
    char bytes[2048];
    head_make(bytes, strlen(ONE), ONE);
    TRY(bad_is_no_foreign(folder_of("bad.bin", bytes, 255), QNNRT_E_FORMAT, "bad.bin"));
    TRY(bad_is_no_foreign(folder_of("bad.bin", bytes, 64), QNNRT_E_FORMAT, "bad.bin"));
}

/* ---- desc.files ----------------------------------------------------------------------------- */

TEST(files_and_blocks_mixed_keep_their_order_and_names)
{
    char paths[2][2048];
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    qnnrt_file files[4];
    memset(files, 0, sizeof(files));
    qnnrt *model = NULL;
    char expected[8192];
    fake_begin("");
    CHECK(shard_write(folder, "z.bin", 0) && shard_write(folder, "a", 1));
    snprintf(paths[0], sizeof(paths[0]), "%s/z.bin", folder);
    snprintf(paths[1], sizeof(paths[1]), "%s/a", folder);
    memset(files, 0, sizeof(files));
    files[0].path = paths[0];
    files[1].path = paths[1];
    files[2].data = HEAD "graph fwd\nin h2 5 0232 2 1 8 -\nout h3 6 0232 2 1 8 -\n";
    files[2].bytes = strlen((const char *)files[2].data);
    files[3].path = "a name that is no path";
    files[3].data = HEAD "graph fwd\nin h3 7 0232 2 1 8 -\nout h4 8 0232 2 1 8 -\n";
    files[3].bytes = strlen((const char *)files[3].data);
    desc.files = files;
    desc.file_count = 4;
    OPENS(NULL, &desc, &model);
    snprintf(expected, sizeof(expected), "%s %s (memory 2) a name that is no path ", paths[0], paths[1]);
    FILES_ARE(model, expected);
    CHECK_EQ(qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[0])->edge_count, 3);
    CLOSE(model);
}

TEST(files_that_are_missing_are_errors_with_their_path)
{
    qnnrt_desc desc = new_desc();
    qnnrt_file files[2];
    memset(files, 0, sizeof(files));
    char path[2048];
    fake_begin("");
    memset(files, 0, sizeof(files));
    snprintf(path, sizeof(path), "%s/gone.bin", test_tmpdir());
    files[0].data = ONE;
    files[0].bytes = strlen(ONE);
    files[1].path = path;
    desc.files = files;
    desc.file_count = 2;
    FAILS(NULL, &desc, QNNRT_E_NOT_FOUND, path, strerror(ENOENT));
    files[1].path = "";
    FAILS(NULL, &desc, QNNRT_E_NOT_FOUND, strerror(ENOENT));
}

TEST(files_that_are_foreign_are_errors_and_not_skipped)
{
    qnnrt_desc desc = new_desc();
    qnnrt_file files[2];
    memset(files, 0, sizeof(files));
    char elf[FOREIGN_BYTES];
    fake_begin("");
    foreign_make(&foreigners[0], elf);
    memset(files, 0, sizeof(files));
    files[0].data = ONE;
    files[0].bytes = strlen(ONE);
    files[1].path = "lib.so";
    files[1].data = elf;
    files[1].bytes = sizeof(elf);
    desc.files = files;
    desc.file_count = 2;
    FAILS(NULL, &desc, QNNRT_E_FORMAT, "lib.so", "ELF");
}

TEST(files_without_path_and_data_are_argument_errors)
{
    qnnrt_desc desc = new_desc();
    qnnrt_file files[2];
    memset(files, 0, sizeof(files));
    fake_begin("");
    memset(files, 0, sizeof(files));
    files[0].data = ONE;
    files[0].bytes = strlen(ONE);
    desc.files = files;
    desc.file_count = 2;
    FAILS(NULL, &desc, QNNRT_E_ARG, "files[1]", "neither path nor data");
    desc.file_count = 0;
    FAILS(NULL, &desc, QNNRT_E_ARG, "file_count is 0");
    CHECK(strstr(fake_trace(), "backendCreate") == NULL);
}

TEST(folder_and_files_both_or_neither_are_argument_errors)
{
    qnnrt_desc desc = new_desc();
    const char *folder = folder_of("forward_0.bin", ONE, strlen(ONE));
    qnnrt_file file;
    memset(&file, 0, sizeof(file));
    qnnrt *model = (qnnrt *)&error;
    fake_begin("");
    memset(&file, 0, sizeof(file));
    file.data = ONE;
    file.bytes = strlen(ONE);
    FAILS(NULL, &desc, QNNRT_E_ARG, "folder", "desc.files", "one of the two");
    FAILS(NULL, NULL, QNNRT_E_ARG, "folder", "desc.files");
    desc.files = &file;
    desc.file_count = 1;
    FAILS(folder, &desc, QNNRT_E_ARG, "folder", "desc.files", "one of the two");
    desc.files = NULL;
    FAILS(NULL, &desc, QNNRT_E_ARG, "desc.files");
    TEST_JUNK(error);
    CHECK_EQ(qnnrt_open(folder, &desc, NULL, &error), QNNRT_E_ARG);
    CHECK_STR(error.text, "out is NULL");
    CHECK_EQ(qnnrt_open(folder, &desc, NULL, NULL), QNNRT_E_ARG);
    (void)model;
    TRY(nothing_left());
}

TEST(file_count_beside_a_folder_does_not_matter)
{
    qnnrt_desc desc = new_desc();
    const char *folder = folder_of("forward_0.bin", ONE, strlen(ONE));
    qnnrt *model = NULL;
    fake_begin("");
    desc.file_count = 7;
    OPENS(folder, &desc, &model);
    CLOSE(model);
}

/* ---- metadata ------------------------------------------------------------------------------- */

#define RICH                                                                                                     \
    HEAD "backend 6\nbuild v2.50.1.7\ncore 2 39 3\nbackendapi 5 50 2\nblob 4 1 2\nsoc 57\narch 75\n"             \
    "ctxtensor c0 90 0232 1 4 -\nctxtensor c1 91 0232 1 4 -\n"                                                   \
    "graph prefill\n"                                                                                            \
    "in ids 1 0032 2 1 128 -\n"                                                                                  \
    "in mask 2 0416 4 1 1 128 128 s 0.001 -65535\n"                                                              \
    "in axis 3 0408 2 3 2 a 0 3 0.5 1 0.25 -2 2 3\n"                                                             \
    "in bits 4 0304 1 5 b 4 0.125 -1\n"                                                                          \
    "in both 5 0308 2 2 3 w 4 1 3 1 0 2 0 4 -1\n"                                                                \
    "in nooff 6 0308 1 2 w 8 0 2 1 0 2 0 nulloffsets\n"                                                          \
    "in odd 7 0416 1 3 e 9\n"                                                                                    \
    "in scalar 8 0232 0 -\n"                                                                                     \
    "out logits 10 0416 3 1 1 32000 s 0.01 -100\n"                                                               \
    "out flag 11 0508 1 1 -\n"                                                                                   \
    "upd lora_a 20 0316 2 8 16 s 0.5 0\n"                                                                        \
    "upd lora_b 21 0216 2 16 8 -\n"                                                                              \
    "spill 1000000\nvtcm 8388608\nopt 3\nhvx 4\nio 77\nopdata 78\nconst 12345\nddr 79\n"                         \
    "graph moves\n"                                                                                              \
    "in t 30 0232 2 4 8 - dyn=1,0\n"                                                                             \
    "in o 31 0232 1 2 - type=11\n"                                                                               \
    "out y 32 0232 2 4 8 - dyn=0,0\n"

static int floats_same(const float *a, const float *b, size_t count)
{
    return (a == NULL) == (b == NULL) && (a == NULL || memcmp(a, b, count * sizeof(float)) == 0);
}

static void same_tensor(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    uint32_t i;
    CHECK(strcmp(a->name, b->name) == 0);
    CHECK_EQ(a->id, b->id);
    CHECK_EQ(a->dtype, b->dtype);
    CHECK_EQ(a->rank, b->rank);
    for (i = 0; i < a->rank; ++i) CHECK_EQ(a->dims[i], b->dims[i]);
    CHECK_EQ(a->count, b->count);
    CHECK_EQ(a->bytes, b->bytes);
    CHECK_EQ(a->quant.encoding, b->quant.encoding);
    CHECK_EQ(a->quant.bitwidth, b->quant.bitwidth);
    CHECK(memcmp(&a->quant.scale, &b->quant.scale, sizeof(float)) == 0);
    CHECK_EQ(a->quant.offset, b->quant.offset);
    CHECK_EQ(a->quant.axis, b->quant.axis);
    CHECK_EQ(a->quant.count, b->quant.count);
    CHECK(floats_same(a->quant.scales, b->quant.scales, a->quant.count));
    CHECK_EQ(a->quant.offsets == NULL, b->quant.offsets == NULL);
    for (i = 0; a->quant.offsets != NULL && i < a->quant.count; ++i) CHECK_EQ(a->quant.offsets[i], b->quant.offsets[i]);
    CHECK_EQ(a->quant.vendor_encoding, b->quant.vendor_encoding);
    CHECK_EQ(a->vendor_type, b->vendor_type);
    CHECK_EQ(a->vendor_format, b->vendor_format);
    CHECK_EQ(a->optional, b->optional);
    CHECK_EQ(a->updateable, b->updateable);
    if (a->vendor_version != b->vendor_version) return;
    CHECK_EQ(a->dynamic_dims == NULL, b->dynamic_dims == NULL);
    for (i = 0; a->dynamic_dims != NULL && i < a->rank; ++i) CHECK_EQ(a->dynamic_dims[i], b->dynamic_dims[i]);
}

static void same_tensors(const qnnrt_tensor_info *a, size_t a_count, const qnnrt_tensor_info *b, size_t b_count)
{
    size_t i;
    CHECK_EQ(a_count, b_count);
    for (i = 0; i < a_count; ++i) TRY(same_tensor(&a[i], &b[i]));
}

/* Read a and b through these versions of the structs (info, ginfo). */
static void same_table(const qnnrt_context_info *a, int a_info, int a_ginfo, const qnnrt_context_info *b, int b_info, int b_ginfo)
{
    size_t g;
    CHECK(strcmp(a->build_id, b->build_id) == 0);
    CHECK_EQ(a->file_bytes, b->file_bytes);
    CHECK_EQ(a->backend_id, b->backend_id);
    CHECK(memcmp(&a->core_api, &b->core_api, sizeof(a->core_api)) == 0);
    CHECK(memcmp(&a->backend_api, &b->backend_api, sizeof(a->backend_api)) == 0);
    CHECK(memcmp(&a->blob_version, &b->blob_version, sizeof(a->blob_version)) == 0);
    CHECK_EQ(a->blob_bytes, b->blob_bytes);
    CHECK_EQ(a->context_tensor_count, b->context_tensor_count);
    if (a_info == b_info || (a_info < 3 && b_info < 3)) {
        CHECK_EQ(a->soc_model, b->soc_model);
        CHECK_EQ(a->dsp_arch, b->dsp_arch);
    }
    CHECK_EQ(a->graph_count, b->graph_count);
    for (g = 0; g < a->graph_count; ++g) {
        const qnnrt_graph_info *x = &a->graphs[g], *y = &b->graphs[g];
        CHECK(strcmp(x->name, y->name) == 0);
        TRY(same_tensors(x->inputs, x->input_count, y->inputs, y->input_count));
        TRY(same_tensors(x->outputs, x->output_count, y->outputs, y->output_count));
        if ((a_ginfo < 2) == (b_ginfo < 2))
            TRY(same_tensors(x->updateables, x->updateable_count, y->updateables, y->updateable_count));
        if ((a_ginfo < 3) != (b_ginfo < 3)) continue;
        CHECK_EQ(x->spill_fill_bytes, y->spill_fill_bytes);
        CHECK_EQ(x->vtcm_bytes, y->vtcm_bytes);
        CHECK_EQ(x->shared_weights_bytes, y->shared_weights_bytes);
        CHECK_EQ(x->const_bytes, y->const_bytes);
        CHECK_EQ(x->optimization_level, y->optimization_level);
        CHECK_EQ(x->hvx_threads, y->hvx_threads);
    }
}

TEST(metadata_reads_the_same_through_all_struct_versions)
{
    qnnrt *best = NULL;
    int info, ginfo, tensor;
    const qnnrt_context_info *b;
    fake_begin("info=3,ginfo=3,tensor=2");
    TEXT_OPENS(RICH, &best);
    b = qnnrt_get_info(best)->contexts;
    for (info = 1; info <= 3; ++info)
        for (ginfo = 1; ginfo <= 3; ++ginfo)
            for (tensor = 1; tensor <= 2; ++tensor) {
                char knobs[64];
                qnnrt *model = NULL;
                const qnnrt_context_info *a;
                snprintf(knobs, sizeof(knobs), "info=%d,ginfo=%d,tensor=%d", info, ginfo, tensor);
                fake_begin(knobs);
                TEXT_OPENS(RICH, &model);
                a = qnnrt_get_info(model)->contexts;
                TRY(same_table(a, info, ginfo, b, 3, 3));
                CHECK_EQ(a->graphs[0].inputs[0].vendor_version, tensor);
                /* A field that a version lacks reads as absent. */
                if (info < 3) CHECK(a->soc_model == 0 && a->dsp_arch == 0);
                if (ginfo < 2) CHECK(a->graphs[0].updateable_count == 0 && a->graphs[0].updateables == NULL);
                if (ginfo < 3) CHECK(a->graphs[0].vtcm_bytes == 0 && a->graphs[0].const_bytes == 0 && a->graphs[0].spill_fill_bytes == 0);
                if (tensor < 2) CHECK(a->graphs[1].inputs[0].dynamic_dims == NULL);
                CLOSE(model);
            }
    CHECK_EQ(qnnrt_close(best), QNNRT_OK);
}

/* Compare the table with the text, number by number. */
TEST(metadata_is_what_the_text_says)
{
    qnnrt *model = NULL;
    const qnnrt_context_info *c;
    const qnnrt_tensor_info *in, *t;
    fake_begin("info=3,ginfo=3,tensor=2");
    TEXT_OPENS(RICH, &model);
    c = qnnrt_get_info(model)->contexts;
    CHECK(strcmp(c->file, "shard.bin") == 0 && strcmp(c->build_id, "v2.50.1.7") == 0);
    CHECK(c->backend_id == 6 && c->core_api.major == 2 && c->core_api.minor == 39 && c->core_api.patch == 3);
    CHECK(c->backend_api.major == 5 && c->backend_api.minor == 50 && c->backend_api.patch == 2);
    CHECK(c->blob_version.major == 4 && c->blob_version.minor == 1 && c->blob_version.patch == 2);
    CHECK(c->soc_model == 57 && c->dsp_arch == 75 && c->context_tensor_count == 2 && c->graph_count == 2);
    CHECK(c->file_bytes == strlen(RICH) && c->blob_bytes == strlen(RICH) && c->failure == NULL);
    CHECK(c->graphs[0].input_count == 8 && c->graphs[0].output_count == 2 && c->graphs[0].updateable_count == 2);
    CHECK(c->graphs[0].spill_fill_bytes == 1000000 && c->graphs[0].vtcm_bytes == 8388608 && c->graphs[0].optimization_level == 3);
    CHECK(c->graphs[0].hvx_threads == 4 && c->graphs[0].const_bytes == 12345 && c->graphs[0].shared_weights_bytes == 0);
    CHECK(c->graphs[0].unsupported == NULL);
    CHECK(c->graphs[1].vtcm_bytes == 0 && c->graphs[1].updateable_count == 0);
    in = c->graphs[0].inputs;
    CHECK(in[0].id == 1 && in[0].dtype == QNNRT_DTYPE_I32 && in[0].rank == 2 && in[0].dims[1] == 128 && in[0].bytes == 512);
    CHECK(in[0].quant.encoding == QNNRT_ENCODING_NONE && in[0].vendor_type == 0 && in[0].vendor_version == 2);
    CHECK(in[0].dynamic_dims == NULL && !in[0].optional && !in[0].updateable);
    CHECK(in[1].count == 16384 && in[1].bytes == 32768 && in[1].quant.encoding == QNNRT_ENCODING_PER_TENSOR);
    CHECK(in[1].quant.offset == -65535 && in[1].quant.scale == 0.001f && in[1].quant.vendor_encoding == 0);
    t = &in[2];
    CHECK(t->quant.encoding == QNNRT_ENCODING_PER_AXIS && t->quant.axis == 0 && t->quant.count == 3 && t->quant.vendor_encoding == 1);
    CHECK(t->quant.scales[0] == 0.5f && t->quant.scales[1] == 0.25f && t->quant.scales[2] == 2.0f);
    CHECK(t->quant.offsets[0] == 1 && t->quant.offsets[1] == -2 && t->quant.offsets[2] == 3);
    CHECK(in[3].quant.encoding == QNNRT_ENCODING_PER_TENSOR && in[3].quant.bitwidth == 4 && in[3].quant.scale == 0.125f);
    CHECK(in[3].bytes == 3 && in[3].count == 5 && in[3].quant.vendor_encoding == 2);
    CHECK(in[4].quant.encoding == QNNRT_ENCODING_PER_AXIS && in[4].quant.bitwidth == 4 && in[4].quant.axis == 1);
    CHECK(in[4].quant.scales[2] == 4.0f && in[4].quant.offsets[2] == -1 && in[4].quant.vendor_encoding == 3);
    CHECK(in[5].quant.encoding == QNNRT_ENCODING_PER_AXIS && in[5].quant.offsets == NULL && in[5].quant.scales[1] == 2.0f);
    CHECK(in[6].quant.encoding == QNNRT_ENCODING_OTHER && in[6].quant.vendor_encoding == 9);
    CHECK(in[7].rank == 0 && in[7].count == 1 && in[7].bytes == 4);
    CHECK(c->graphs[0].outputs[0].vendor_type == 1 && c->graphs[0].outputs[1].dtype == QNNRT_DTYPE_BOOL8);
    CHECK(c->graphs[0].updateables[0].updateable && strcmp(c->graphs[0].updateables[1].name, "lora_b") == 0);
    CHECK(c->graphs[1].inputs[0].dynamic_dims != NULL && c->graphs[1].inputs[0].dynamic_dims[0] && !c->graphs[1].inputs[0].dynamic_dims[1]);
    CHECK(c->graphs[1].inputs[1].optional && c->graphs[1].outputs[0].dynamic_dims == NULL);
    CLOSE(model);
}

TEST(metadata_outlives_the_block_it_was_read_from)
{
    qnnrt *model = NULL, *again = NULL;
    fake_begin("");
    TEXT_OPENS(RICH, &model);              /* text_opens() freed the block */
    CHECK_EQ(fake_live(), before.handles + 4);         /* log, backend, device, context; no system context */
    TEXT_OPENS(RICH, &again);
    TRY(same_table(qnnrt_get_info(model)->contexts, 3, 3, qnnrt_get_info(again)->contexts, 3, 3));
    CHECK_EQ(qnnrt_close(again), QNNRT_OK);
    CLOSE(model);
}

TEST(reading_gives_the_same_table_as_mapping)
{
    const char *folder = folder_of("forward_0.bin", RICH, strlen(RICH));
    qnnrt_desc desc = new_desc();
    qnnrt *mapped = NULL, *read = NULL;
    fake_begin("tensor=2");
    OPENS(folder, &desc, &mapped);
    desc.read = 1;
    OPENS(folder, &desc, &read);
    TRY(same_table(qnnrt_get_info(mapped)->contexts, 3, 3, qnnrt_get_info(read)->contexts, 3, 3));
    CHECK_EQ(open_fds(), before.fds);
    CHECK_EQ(qnnrt_close(read), QNNRT_OK);
    CLOSE(mapped);
}

TEST(struct_versions_that_are_unknown_are_refused_with_the_number)
{
    fake_begin("info=9");
    TEXT_FAILS(ONE, QNNRT_E_FORMAT, "shard.bin", "version 9", "1 to 3");
    fake_begin("info=0");
    TEXT_FAILS(ONE, QNNRT_E_FORMAT, "shard.bin", "version 0");
    fake_begin("ginfo=9");
    TEXT_FAILS(ONE, QNNRT_E_FORMAT, "shard.bin", "graph 0", "version 9", "1 to 3");
    fake_begin("ginfo=4294967295");
    TEXT_FAILS(ONE, QNNRT_E_FORMAT, "shard.bin", "version 4294967295");
    fake_begin("tensor=3");
    TEXT_FAILS(ONE, QNNRT_E_FORMAT, "shard.bin", "graph \"fwd\"", "input 0", "version 3", "1 or 2");
    fake_begin("tensor=0");
    TEXT_FAILS(ONE, QNNRT_E_FORMAT, "shard.bin", "input 0", "version 0");
}

TEST(counts_that_are_absurd_are_refused_before_anything_is_read)
{
    fake_begin("");
    TEXT_FAILS(ONE "lie numgraphs 4294967295\n", QNNRT_E_LIMIT, "shard.bin", "4294967295 more");
    TEXT_FAILS(ONE "lie numgraphs 1000001\n", QNNRT_E_LIMIT, "shard.bin", "1000001 more");
    TEXT_FAILS(ONE "lie numinputs 4294967295\n", QNNRT_E_LIMIT, "shard.bin", "graph \"fwd\"", "exceed 1000000 graphs and tensors");
    TEXT_FAILS(ONE "lie numoutputs 4294967295\n", QNNRT_E_LIMIT, "shard.bin", "graph \"fwd\"", "exceed 1000000 graphs and tensors");
    TEXT_FAILS(ONE "lie numupd 4294967295\n", QNNRT_E_LIMIT, "shard.bin", "graph \"fwd\"", "exceed 1000000 graphs and tensors");
    TEXT_FAILS(ONE "lie numoutputs 1000000\n", QNNRT_E_LIMIT, "limits.tensors");
    TEXT_FAILS(ONE "lie numgraphs 0\n", QNNRT_E_FORMAT, "shard.bin", "no graph");
    TEXT_IS_FINE(ONE "lie numctx 4294967295\n");
}

TEST(arrays_that_are_null_are_refused_with_their_count)
{
    fake_begin("");
    TEXT_FAILS(ONE "lie nullgraphs\n", QNNRT_E_FORMAT, "shard.bin", "1 graphs declared");
    TEXT_FAILS(ONE "lie nullinputs\n", QNNRT_E_FORMAT, "shard.bin", "graph \"fwd\"", "1 inputs declared");
    TEXT_FAILS(ONE "lie nulloutputs\n", QNNRT_E_FORMAT, "shard.bin", "graph \"fwd\"", "1 outputs declared");
    TEXT_FAILS(ONE "lie numupd 3\nlie nullupd\n", QNNRT_E_FORMAT, "shard.bin", "3 updateable tensors declared");
    TEXT_IS_FINE(ONE "lie nullupd\n");
    TEXT_IS_FINE(ONE "ctxtensor c 5 0232 1 1 -\nlie nullctx\n");
}

TEST(no_graph_is_an_error)
{
    fake_begin("");
    TEXT_FAILS(HEAD, QNNRT_E_FORMAT, "shard.bin", "no graph");
}

TEST(graph_without_inputs_or_outputs_opens_and_is_refused_at_prepare)
{
    static const char *const texts[] = { HEAD "graph g\n", HEAD "graph g\nin x 1 0232 1 1 -\n", HEAD "graph g\nout x 1 0232 1 1 -\n" };
    size_t i;
    fake_begin("");
    for (i = 0; i < 3; ++i) {
        qnnrt *model = NULL;
        TEXT_OPENS(texts[i], &model);
        CHECK_STR(qnnrt_get_info(model)->contexts->graphs[0].unsupported, "no inputs or no outputs");
        PREPARE_FAILS(model, NULL, QNNRT_E_UNSUPPORTED, "\"g\"", "no inputs or no outputs");
        CLOSE(model);
    }
}

TEST(duplicate_graph_names_are_refused_by_name)
{
    fake_begin("");
    TEXT_FAILS(ONE "graph other\nin x 1 0232 1 1 -\nout y 2 0232 1 1 -\ngraph fwd\nin x 1 0232 1 1 -\nout y 2 0232 1 1 -\n", QNNRT_E_FORMAT,
               "shard.bin", "graphs \"fwd\" and \"fwd\" have the same name");
}

TEST(duplicate_tensor_names_are_refused_by_name)
{
    fake_begin("");
    TEXT_FAILS(GRAPH("in a 1 0232 1 1 -\nin b 2 0232 1 1 -\nin a 3 0232 1 1 -\n"), QNNRT_E_FORMAT, "shard.bin", "graph \"fwd\"",
               "inputs \"a\" and \"a\" have the same name");
    TEXT_FAILS(GRAPH("out a 1 0232 1 1 -\nout a 3 0232 1 1 -\n"), QNNRT_E_FORMAT, "graph \"fwd\"", "outputs \"a\" and \"a\" have the same name");
    TEXT_FAILS(GRAPH("upd a 1 0232 1 1 -\nupd a 3 0232 1 1 -\n"), QNNRT_E_FORMAT, "graph \"fwd\"", "updateable tensors \"a\" and \"a\" have the same name");
    /* An input and an output of the same name are two tensors: the output replaces the input. */
    TEXT_IS_FINE(GRAPH("in a 1 0232 1 1 -\nout a 2 0232 1 1 -\n"));
}

/* Up to 128 names are compared through a small table, more are sorted. */
TEST(duplicate_names_among_many_are_refused_by_name)
{
    static const unsigned counts[] = { 128, 129, 600 };
    static char text[32768];
    size_t c;
    unsigned i;
    fake_begin("");
    for (c = 0; c < sizeof(counts) / sizeof(counts[0]); ++c) {
        size_t used = (size_t)snprintf(text, sizeof(text), "%s", HEAD "graph fwd\nout y 5000 0232 1 1 -\n");
        for (i = 0; i < counts[c]; ++i)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "in t%u %u 0232 1 1 -\n",
                                     i == counts[c] - 1 ? 7 : i, i + 1);
        CHECK(used < sizeof(text));
        TEXT_FAILS(text, QNNRT_E_FORMAT, "graph \"fwd\"", "inputs \"t7\" and \"t7\" have the same name");
    }
}

/* The vendor matches by id and returns 0x1774 when an id occurs twice: such a graph can never
   run. */
TEST(duplicate_tensor_ids_are_refused_by_name)
{
    fake_begin("");
    TEXT_FAILS(GRAPH("in a 1 0232 1 1 -\nin b 1 0232 1 1 -\n"), QNNRT_E_FORMAT, "shard.bin", "graph \"fwd\"",
               "inputs \"b\" and \"a\" have the same id");
    TEXT_FAILS(GRAPH("out a 7 0232 1 1 -\nout b 7 0232 1 1 -\nin c 1 0232 1 1 -\n"), QNNRT_E_FORMAT, "shard.bin", "graph \"fwd\"",
               "outputs \"b\" and \"a\" have the same id");
    TEXT_FAILS(GRAPH("in x 5 0232 1 1 -\nin a 4294967295 0232 1 1 -\nin y 0 0232 1 1 -\nin b 4294967295 0232 1 1 -\nin z 6 0232 1 1 -\n"),
               QNNRT_E_FORMAT, "inputs \"b\" and \"a\" have the same id");
    /* Names must differ only within one kind and one graph. */
    TEXT_IS_FINE(GRAPH("in a 1 0232 1 1 -\nin b 2 0232 1 1 -\nout c 1 0232 1 1 -\n") "graph other\nin d 1 0232 1 1 -\nout e 2 0232 1 1 -\n");
}

/* ---- names ---------------------------------------------------------------------------------- */

TEST(names_that_are_null_or_empty_are_refused_with_their_place)
{
    fake_begin("");
    TEXT_FAILS(HEAD "graph fwd nullname\nin x 1 0232 1 1 -\nout y 2 0232 1 1 -\n", QNNRT_E_FORMAT, "shard.bin", "graph 0 has no name");
    TEXT_FAILS(ONE "graph %\n", QNNRT_E_FORMAT, "shard.bin", "graph 1 has no name");
    TEXT_FAILS(GRAPH("in a 1 0232 1 1 -\nin b 2 0232 1 1 - nullname\n"), QNNRT_E_FORMAT, "shard.bin", "graph \"fwd\"", "input 1 has no name");
    TEXT_FAILS(GRAPH("in a 1 0232 1 1 -\nin % 2 0232 1 1 -\n"), QNNRT_E_FORMAT, "graph \"fwd\"", "input 1 has no name");
    TEXT_FAILS(GRAPH("out b 2 0232 1 1 - nullname\n"), QNNRT_E_FORMAT, "graph \"fwd\"", "output 0 has no name");
    TEXT_FAILS(GRAPH("upd b 2 0232 1 1 - nullname\n"), QNNRT_E_FORMAT, "graph \"fwd\"", "updateable tensor 0 has no name");
}

/* Make a text with one long name: kind 0 a graph, 1 an input, 2 an output, 3 an updateable. */
static void long_name(char out[20000], int kind, size_t bytes)
{
    char name[4096];
    if (bytes >= sizeof(name)) abort();
    memset(name, 'n', bytes);
    name[bytes] = '\0';
    snprintf(out, 20000, HEAD "graph %s\nin %s 1 0232 1 1 -\nout %s 2 0232 1 1 -\nupd %s 3 0232 1 1 -\n", kind == 0 ? name : "g",
             kind == 1 ? name : "i", kind == 2 ? name : "o", kind == 3 ? name : "u");
}

TEST(names_of_1024_bytes_are_taken_and_of_1025_refused)
{
    char text[20000];
    int kind;
    fake_begin("");
    for (kind = 0; kind < 4; ++kind) {
        qnnrt *model = NULL;
        const qnnrt_graph_info *g;
        const char *name;
        long_name(text, kind, 1024);
        TEXT_OPENS(text, &model);
        g = qnnrt_get_info(model)->contexts->graphs;
        name = kind == 0 ? g->name : kind == 1 ? g->inputs[0].name : kind == 2 ? g->outputs[0].name : g->updateables[0].name;
        CHECK_EQ(strlen(name), 1024);
        CLOSE(model);
        long_name(text, kind, 1025);
        TEXT_FAILS(text, QNNRT_E_LIMIT, "shard.bin", "longer than 1024 bytes", "limits.name_bytes");
        long_name(text, kind, 4000);
        TEXT_FAILS(text, QNNRT_E_LIMIT, "longer than 1024 bytes");
    }
}

TEST(limit_name_bytes_holds_at_its_edge)
{
    qnnrt_limits limits;
    char text[20000];
    qnnrt *model = NULL;
    int kind;
    fake_begin("");
    memset(&limits, 0, sizeof(limits));
    for (kind = 0; kind < 4; ++kind) {
        limits.name_bytes = 3;
        long_name(text, kind, 3);
        TEXT_OPENS_WITHIN(&limits, text, &model);
        CLOSE(model);
        long_name(text, kind, 4);
        TEXT_FAILS_WITHIN(&limits, text, QNNRT_E_LIMIT, "longer than 3 bytes", "limits.name_bytes");
        limits.name_bytes = UINT32_MAX;
        long_name(text, kind, 4000);
        TEXT_OPENS_WITHIN(&limits, text, &model);
        CLOSE(model);
    }
}

/* A hostile name imitates a line of our own, in every place from which names reach error texts. */
#define HOSTILE "%1b]0;x%07%1b[31m%0a%20%20it%20looks%20like%20gold%0d%c2%9b%c2%85%7f%ff%c0%af"
#define CLEANED "?]0;x??[31m   it looks like gold?"

TEST(hostile_names_are_cleaned_in_error_texts)
{
    static const char *const texts[] = {
        HEAD "graph " HOSTILE "\nin x 1 0232 1 0 -\nout y 2 0232 1 1 -\n",
        HEAD "graph g\nin x 1 0232 1 1 -\nout " HOSTILE " 2 0232 1 0 -\n",
        HEAD "graph g\nin " HOSTILE " 1 0232 1 1 -\nin b 1 0232 1 1 -\nout y 2 0232 1 1 -\n",
        HEAD "graph g\nin a 1 0232 1 1 -\nin " HOSTILE " 1 0232 1 1 -\nout y 2 0232 1 1 -\n",
        HEAD "graph g\nin " HOSTILE " 1 0232 2 1 0 -\nout y 2 0232 1 1 -\n",
        HEAD "graph g\nin " HOSTILE " 1 0232 2 1 1 - nulldims\nout y 2 0232 1 1 -\n",
        HEAD "graph g\nin " HOSTILE " 1 0232 9 1 1 1 1 1 1 1 1 1 -\nout y 2 0232 1 1 -\n",
        HEAD "graph g\nin " HOSTILE " 1 0408 1 2 s 0 0\nout y 2 0232 1 1 -\n",
        HEAD "graph g\nin " HOSTILE " 1 0408 1 2 a 4 1 1 0\nout y 2 0232 1 1 -\n",
        HEAD "graph g\nin " HOSTILE " 1 0408 1 2 a 0 1 1 0\nout y 2 0232 1 1 -\n",
        HEAD "graph g\nin " HOSTILE " 1 0232 5 65536 65536 65536 65536 2 -\nout y 2 0232 1 1 -\n",
        HEAD "graph g\nin " HOSTILE " 1 0232 1 1 -\nin " HOSTILE " 2 0232 1 1 -\nout y 3 0232 1 1 -\n",
        HEAD "graph " HOSTILE "\nin x 1 0232 1 1 -\nout y 2 0232 1 1 -\ngraph " HOSTILE "\nin x 1 0232 1 1 -\nout y 2 0232 1 1 -\n",
#if defined(__x86_64__)
        HEAD "graph " HOSTILE "\nshared 5\nin x 1 0232 1 1 -\nout y 2 0232 1 1 -\n",
#endif
    };
    size_t i;
    fake_begin("");
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        qnnrt_desc desc = new_desc();
        text_block block;
        qnnrt *model = NULL;
        block_begin(&block, "shard.bin", texts[i], strlen(texts[i]));
        desc.files = &block.file;
        desc.file_count = 1;
        TEST_JUNK(error);
        CHECK(qnnrt_open(NULL, &desc, &model, &error) != QNNRT_OK);
        free(block.data);
        CHECK(text_is_clean(error.text));
        CHECK_STR(error.text, CLEANED);
        CHECK_EQ(count_of(error.text, "\n  it looks like gold"), 0);
        TRY(nothing_left());
    }
}

TEST(hostile_names_are_cleaned_at_graph_retrieve_and_at_prepare)
{
    qnnrt *model = NULL;
    fake_begin("fail=graphRetrieve:0x1773");
    TEXT_FAILS(HEAD "graph " HOSTILE "\nin x 1 0232 1 1 -\nout y 2 0232 1 1 -\n", QNNRT_E_BACKEND, "shard.bin", CLEANED, "0x1773");
    CHECK_EQ(error.vendor_code, 0x1773);
    fake_begin("tensor=2");
    TEXT_OPENS(HEAD "graph " HOSTILE "\nin " HOSTILE " 1 0232 1 1 - type=11\nout y 2 0232 1 1 -\n", &model);
    PREPARE_FAILS(model, NULL, QNNRT_E_UNSUPPORTED, CLEANED, "is optional");
    PREPARE_FAILS(model, "\033[2J\nno such", QNNRT_E_NOT_FOUND, "?[2J no such", CLEANED);
    CLOSE(model);
    TEXT_OPENS(HEAD "graph " HOSTILE "\nin " HOSTILE " 1 9999 1 1 -\nout y 2 0232 1 1 -\n", &model);
    PREPARE_FAILS(model, NULL, QNNRT_E_UNSUPPORTED, "\"" CLEANED, "0x9999");
    CHECK_EQ(count_of(error.text, "\n  it looks like gold"), 0);
    CHECK_EQ(count_of(error.text, CLEANED), 2);
    CLOSE(model);
}

/* Names in the table are as in the file; a text that we make from them is cleaned. */
TEST(hostile_names_are_cleaned_in_unsupported_and_in_failure)
{
    qnnrt *model = NULL;
    qnnrt_file files[2];
    memset(files, 0, sizeof(files));
    qnnrt_desc desc = new_desc();
    const qnnrt_pipeline_info *info;
    fake_begin("");
    memset(files, 0, sizeof(files));
    files[0].path = files[1].path = "s\033[2J.bin";
    files[0].data = HEAD "graph fwd\nin x 1 0232 1 1 -\nout h" HOSTILE " 2 0232 1 3 -\n";
    files[1].data = HEAD "graph fwd\nin h" HOSTILE " 3 0232 1 4 -\nout y 4 0232 1 1 -\n";
    files[0].bytes = strlen((const char *)files[0].data);
    files[1].bytes = strlen((const char *)files[1].data);
    desc.files = files;
    desc.file_count = 2;
    OPENS(NULL, &desc, &model);
    info = qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[0]);
    CHECK(info->failure != NULL && text_is_clean(info->failure->text));
    CHECK_STR(info->failure->text, CLEANED);
    PREPARE_FAILS(model, NULL, QNNRT_E_MISMATCH, CLEANED, "wired");
    CLOSE(model);
    TEXT_OPENS(HEAD "graph g\nin " HOSTILE " 1 0232 1 1 - type=11\nout y 2 0232 1 1 -\n", &model);
    CHECK_STR(qnnrt_get_info(model)->contexts->graphs[0].unsupported, "is optional");
    CHECK(text_is_clean(qnnrt_get_info(model)->contexts->graphs[0].unsupported));
    CLOSE(model);
    TEXT_OPENS(HEAD "graph g\nin " HOSTILE " 1 9999 1 1 -\nout y 2 0232 1 1 -\n", &model);
    CHECK_STR(qnnrt_get_info(model)->contexts->graphs[0].unsupported, "input \"" CLEANED);
    CHECK_STR(qnnrt_get_info(model)->contexts->graphs[0].unsupported, "(unknown, 0x9999)");
    CHECK(text_is_clean(qnnrt_get_info(model)->contexts->graphs[0].unsupported));
    CLOSE(model);
}

TEST(names_with_percent_slash_and_dots_are_harmless)
{
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    fake_begin("");
    TEXT_OPENS(HEAD "graph %25s%25n%25d/../../etc/passwd\nin ../x%25n 1 0232 1 1 -\nout ../../%25s 2 0232 1 1 -\n", &model);
    CHECK(strcmp(qnnrt_get_info(model)->contexts->graphs[0].name, "%s%n%d/../../etc/passwd") == 0);
    CHECK_EQ(qnnrt_prepare(model, "%s%n%d/../../etc/passwd", &run, &error), QNNRT_OK);
    CHECK(qnnrt_data(run, "../x%n", NULL) != NULL && qnnrt_data(run, "../../%s", NULL) != NULL);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "%n%s", run, 4), QNNRT_E_NOT_FOUND);
    CHECK_STR(qnnrt_run_error(run)->text, "%n%s");
    qnnrt_run_destroy(run);
    PREPARE_FAILS(model, "%n%n%s", QNNRT_E_NOT_FOUND, "%n%n%s", "%s%n%d/../../etc/passwd");
    CLOSE(model);
    fake_begin("");
    TEXT_FAILS(HEAD "graph %25s%25n\nin %25n%25s%25d%25c 1 0232 1 0 -\nout y 2 0232 1 1 -\n", QNNRT_E_FORMAT, "\"%s%n\"", "\"%n%s%d%c\"",
               "dimension of 0");
    TEXT_OPENS(HEAD "graph %25s%25n\nin %25n%25s%25d%25c 1 9999 1 1 -\nout y 2 0232 1 1 -\n", &model);
    CHECK_STR(qnnrt_get_info(model)->contexts->graphs[0].unsupported, "input \"%n%s%d%c\"");
    PREPARE_FAILS(model, NULL, QNNRT_E_UNSUPPORTED, "\"%s%n\"", "\"%n%s%d%c\"");
    CLOSE(model);
}

TEST(names_in_utf8_are_kept)
{
    qnnrt *model = NULL;
    fake_begin("");
    TEXT_FAILS(HEAD "graph g%c3%bc%e4%bd%a0%f0%9f%98%80\nin \xc3\xb6%e2%82%ac 1 0232 1 0 -\nout y 2 0232 1 1 -\n", QNNRT_E_FORMAT,
               "g\xc3\xbc\xe4\xbd\xa0\xf0\x9f\x98\x80", "\xc3\xb6\xe2\x82\xac", "dimension of 0");
    TEXT_OPENS(HEAD "graph g%c3%bc%e4%bd%a0%f0%9f%98%80\nin \xc3\xb6%e2%82%ac 1 9999 1 1 -\nout y 2 0232 1 1 -\n", &model);
    CHECK_STR(qnnrt_get_info(model)->contexts->graphs[0].unsupported, "\"\xc3\xb6\xe2\x82\xac\"");
    PREPARE_FAILS(model, NULL, QNNRT_E_UNSUPPORTED, "g\xc3\xbc\xe4\xbd\xa0\xf0\x9f\x98\x80", "\xc3\xb6\xe2\x82\xac");
    CLOSE(model);
}

/* Every place cuts a name at 200 bytes or the whole text at its end. At whatever byte the cut
   falls, the text stays UTF-8. */
TEST(names_in_utf8_that_are_cut_stay_utf8)
{
    size_t shift, i;
    fake_begin("");
    for (shift = 0; shift < 4; ++shift) {
        char text[8192], name[2048];
        qnnrt *model = NULL;
        memset(name, 'x', shift);
        for (i = shift; i + 4 < 1000; i += 4) memcpy(name + i, "\xf0\x9f\x98\x80", 4);
        name[i] = '\0';
        snprintf(text, sizeof(text), HEAD "graph %s\nin %s 1 0232 1 0 -\nout y 2 0232 1 1 -\n", name, name);
        TEXT_FAILS(text, QNNRT_E_FORMAT, "\xf0\x9f\x98\x80", "dimension of 0");
        snprintf(text, sizeof(text), HEAD "graph %s\nin %s 1 9999 1 1 -\nout y 2 0232 1 1 -\n", name, name);
        TEXT_OPENS(text, &model);
        PREPARE_FAILS(model, NULL, QNNRT_E_UNSUPPORTED, "\xf0\x9f\x98\x80", "0x9999");
        CHECK(text_is_clean(qnnrt_get_info(model)->contexts->graphs[0].unsupported));
        CLOSE(model);
        snprintf(text, sizeof(text), HEAD "graph %s\nin %s 1 0232 1 1 - type=11\nout y 2 0232 1 1 -\n", name, name);
        TEXT_OPENS(text, &model);
        PREPARE_FAILS(model, NULL, QNNRT_E_UNSUPPORTED, "\xf0\x9f\x98\x80", "is optional");
        CHECK(text_is_clean(qnnrt_get_info(model)->contexts->graphs[0].unsupported));
        CLOSE(model);
    }
}

TEST(error_text_cut_at_its_end_stays_utf8)
{
    size_t shift, i;
    fake_begin("");
    for (shift = 0; shift < 4; ++shift) {
        char name[3000];
        qnnrt_desc desc = new_desc();
        qnnrt_file file;
        memset(&file, 0, sizeof(file));
        memset(name, 'x', shift);
        for (i = shift; i + 4 < sizeof(name); i += 4) memcpy(name + i, "\xf0\x9f\x98\x80", 4);
        name[i] = '\0';
        memset(&file, 0, sizeof(file));
        file.path = name;
        file.data = "tiny";
        file.bytes = 4;
        desc.files = &file;
        desc.file_count = 1;
        FAILS(NULL, &desc, QNNRT_E_FORMAT, "\xf0\x9f\x98\x80");
    }
}

/* ---- dimensions and types ------------------------------------------------------------------- */

TEST(rank_0_is_a_scalar)
{
    qnnrt *model = NULL;
    const qnnrt_tensor_info *t;
    qnnrt_run *run = NULL;
    size_t bytes;
    fake_begin("");
    TEXT_OPENS(GRAPH("in s 1 0232 0 -\n"), &model);
    t = qnnrt_get_info(model)->contexts->graphs[0].inputs;
    CHECK(t->rank == 0 && t->count == 1 && t->bytes == 4);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &error), QNNRT_OK);
    CHECK(qnnrt_data(run, "s", &bytes) != NULL && bytes == 4);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CLOSE(model);
}

TEST(rank_8_is_taken_and_rank_9_needs_the_limit)
{
    qnnrt_limits limits;
    qnnrt *model = NULL;
    memset(&limits, 0, sizeof(limits));
    fake_begin("");
    TEXT_IS_FINE(GRAPH("in x 1 0232 8 1 2 1 2 1 2 1 2 -\n"));
    TEXT_FAILS(GRAPH("in x 1 0232 9 1 2 1 2 1 2 1 2 1 -\n"), QNNRT_E_LIMIT, "shard.bin", "graph \"fwd\"", "\"x\"", "rank 9", "more than 8",
               "limits.rank");
    limits.rank = 16;
    TEXT_OPENS_WITHIN(&limits, GRAPH("in x 1 0232 9 1 2 1 2 1 2 1 2 3 -\n"), &model);
    CHECK_EQ(qnnrt_get_info(model)->contexts->graphs[0].inputs[0].count, 48);
    CHECK_EQ(qnnrt_get_info(model)->contexts->graphs[0].inputs[0].dims[8], 3);
    CLOSE(model);
    TEXT_OPENS_WITHIN(&limits, GRAPH("in x 1 0232 16 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 -\n"), &model);
    CLOSE(model);
    TEXT_FAILS_WITHIN(&limits, GRAPH("in x 1 0232 17 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 -\n"), QNNRT_E_LIMIT, "rank 17", "more than 16");
    limits.rank = 2;
    TEXT_FAILS_WITHIN(&limits, GRAPH("in x 1 0232 3 1 1 1 -\n"), QNNRT_E_LIMIT, "rank 3", "more than 2");
}

TEST(rank_that_is_absurd_is_refused_before_dims_are_read)
{
    fake_begin("");
    TEXT_FAILS(GRAPH("in x 1 0232 1 1 - rank=4294967295\n"), QNNRT_E_LIMIT, "\"x\"", "rank 4294967295");
    TEXT_FAILS(GRAPH("upd x 1 0232 1 1 - rank=4294967295\n"), QNNRT_E_LIMIT, "\"x\"", "rank 4294967295");
}

TEST(dims_that_are_null_are_refused)
{
    fake_begin("");
    TEXT_FAILS(GRAPH("in x 1 0232 2 1 4 - nulldims\n"), QNNRT_E_FORMAT, "shard.bin", "graph \"fwd\"", "\"x\"", "rank 2", "no dimensions");
}

TEST(dimension_0_is_refused_wherever_it_stands)
{
    fake_begin("");
    TEXT_FAILS(GRAPH("in x 1 0232 1 0 -\n"), QNNRT_E_FORMAT, "shard.bin", "graph \"fwd\"", "\"x\"", "dimension of 0");
    TEXT_FAILS(GRAPH("in x 1 0232 3 4 0 4 -\n"), QNNRT_E_FORMAT, "\"x\"", "dimension of 0");
    /* The error is the same when the product of the other dimensions exceeds 64 bits. */
    TEXT_FAILS(GRAPH("in x 1 0232 5 4294967295 4294967295 4294967295 4294967295 0 -\n"), QNNRT_E_FORMAT, "\"x\"", "dimension of 0");
    TEXT_FAILS(GRAPH("upd x 1 0232 1 0 -\n"), QNNRT_E_FORMAT, "\"x\"", "dimension of 0");
}

TEST(tensor_over_4_gib_opens_and_is_refused_at_prepare_by_name)
{
    static const char *const over[] = { "in big 1 0408 3 2 65536 65536 s 1 0\n", "in big 1 0232 2 32768 32768 -\n",
                                        "in big 1 0408 1 4294967295 s 1 0\nin x 3 0408 2 2 2147483648 s 1 0\n",
                                        "in big 1 0408 2 4294967295 2147483648 s 1 0\n" };
    size_t i;
    fake_begin("");
    for (i = 0; i < 4; ++i) {
        char text[512];
        qnnrt *model = NULL;
        const char *name = i == 2 ? "input \"x\"" : "input \"big\"";
        snprintf(text, sizeof(text), GRAPH("%s"), over[i]);
        TEXT_OPENS(text, &model);
        CHECK_STR(qnnrt_get_info(model)->contexts->graphs[0].unsupported, name);
        PREPARE_FAILS(model, NULL, QNNRT_E_UNSUPPORTED, name, "4 GiB");
        CLOSE(model);
    }
}

TEST(tensor_of_4_gib_less_1_is_supported)
{
    qnnrt *model = NULL;
    fake_begin("");
    TEXT_OPENS(GRAPH("in big 1 0408 2 65535 65537 s 1 0\n"), &model);
    CHECK_EQ(qnnrt_get_info(model)->contexts->graphs[0].inputs[0].bytes, 4294967295u);
    CHECK(qnnrt_get_info(model)->contexts->graphs[0].unsupported == NULL);
    CLOSE(model);
}

TEST(product_past_the_address_space_is_refused_by_name)
{
    static const char says[] = "\"x\": the product of its dimensions";
    fake_begin("");
    TEXT_FAILS(GRAPH("in x 1 0408 4 65536 65536 65536 65536 s 1 0\n"), QNNRT_E_LIMIT, "shard.bin", "graph \"fwd\"", says);
    TEXT_FAILS(GRAPH("in x 1 0264 2 4294967295 4294967295 -\n"), QNNRT_E_LIMIT, says);
    TEXT_FAILS(GRAPH("in x 1 0408 2 4294967295 4294967295 s 1 0\n"), QNNRT_E_LIMIT, says);
    TEXT_FAILS(GRAPH("in x 1 0304 8 4294967295 4294967295 4294967295 4294967295 4294967295 4294967295 4294967295 4294967295 s 1 0\n"),
               QNNRT_E_LIMIT, says);
    TEXT_FAILS(GRAPH("upd x 1 0408 4 65536 65536 65536 65536 s 1 0\n"), QNNRT_E_LIMIT, says);
}

TEST(dtypes_that_are_known_have_their_bytes)
{
    static const struct { const char *code; uint64_t bytes; const char *name; } types[] = {
        { "0002", 3, "int2" },     { "0004", 5, "int4" },     { "0008", 9, "int8" },     { "0016", 18, "int16" },   { "0032", 36, "int32" },
        { "0064", 72, "int64" },   { "0102", 3, "uint2" },    { "0104", 5, "uint4" },    { "0108", 9, "uint8" },    { "0116", 18, "uint16" },
        { "0132", 36, "uint32" },  { "0164", 72, "uint64" },  { "0204", 5, "float4" },   { "0208", 9, "float8" },   { "0216", 18, "float16" },
        { "0226", 18, "bfloat16" }, { "0232", 36, "float32" }, { "0264", 72, "float64" }, { "0302", 3, "sfixed2" },  { "0304", 5, "sfixed4" },
        { "0308", 9, "sfixed8" },  { "0316", 18, "sfixed16" }, { "0332", 36, "sfixed32" }, { "0402", 3, "ufixed2" }, { "0404", 5, "ufixed4" },
        { "0408", 9, "ufixed8" },  { "0416", 18, "ufixed16" }, { "0432", 36, "ufixed32" }, { "0508", 9, "bool8" }
    };
    size_t i;
    fake_begin("");
    for (i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
        char text[512];
        qnnrt *model = NULL;
        const qnnrt_tensor_info *t;
        snprintf(text, sizeof(text), GRAPH("in x 1 %s 2 3 3 -\n"), types[i].code);
        TEXT_OPENS(text, &model);
        t = qnnrt_get_info(model)->contexts->graphs[0].inputs;
        CHECK_EQ(t->bytes, types[i].bytes);
        CHECK_EQ(t->dtype, strtoul(types[i].code, NULL, 16));
        CHECK(strcmp(qnnrt_dtype_name(t->dtype), types[i].name) == 0);
        CLOSE(model);
    }
}

/* Check that a tensor whose type has no size opens, has no bytes, and is refused at prepare by
   name; a dimension of 0 is refused as before (dimension_of_0_is_refused and the corpus of the
   fuzzer). */
static void dtype_is_not_held(const char *code, unsigned dtype, const char *name, const char *rest)
{
    static const char *const kinds[] = { "in", "out" };
    char text[512], says[256];
    size_t i;
    for (i = 0; i < 2; ++i) {
        qnnrt *model = NULL;
        qnnrt_run *run = NULL;
        const qnnrt_graph_info *g;
        const qnnrt_tensor_info *t;
        snprintf(text, sizeof(text), GRAPH("in first 7 0232 1 1 -\n%s x 1 %s %s\n") "graph good\nin a 1 0232 1 1 -\nout b 2 0232 1 1 -\n", kinds[i],
                 code, rest);
        snprintf(says, sizeof(says), "%s \"x\" has a dtype that this version cannot hold in memory (%s, 0x%04x)", i == 0 ? "input" : "output",
                 name, dtype);
        TEXT_OPENS(text, &model);
        g = qnnrt_get_info(model)->contexts->graphs;
        t = i == 0 ? &g->inputs[1] : &g->outputs[0];
        CHECK(strcmp(t->name, "x") == 0);
        CHECK_EQ(t->dtype, dtype);
        CHECK_EQ(t->count, 0);
        CHECK_EQ(t->bytes, 0);
        CHECK(strcmp(qnnrt_dtype_name(t->dtype), name) == 0);
        CHECK(g->unsupported != NULL && strcmp(g->unsupported, says) == 0);
        PREPARE_FAILS(model, "fwd", QNNRT_E_UNSUPPORTED, "\"fwd\"", says);
        PREPARE_FAILS(model, "0/fwd", QNNRT_E_UNSUPPORTED, "shard.bin", says);
        CHECK(g[1].unsupported == NULL);
        CHECK_EQ(qnnrt_prepare(model, "good", &run, &error), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CLOSE(model);
    }
}

TEST(dtypes_that_are_unknown_open_and_are_refused_at_prepare_with_their_number)
{
    fake_begin("");
    TRY(dtype_is_not_held("9999", 0x9999, "unknown", "1 1 -"));
    TRY(dtype_is_not_held("0009", 0x0009, "unknown", "1 1 -"));
    TRY(dtype_is_not_held("0000", 0x0000, "unknown", "0 -"));
    TRY(dtype_is_not_held("7ffffffe", 0x7FFFFFFE, "unknown", "1 1 -"));
    TRY(dtype_is_not_held("7fffffff", 0x7FFFFFFF, "undefined", "1 1 -"));
    /* All values above the range of the enum become the same number. */
    TRY(dtype_is_not_held("80000000", 0x7FFFFFFF, "undefined", "1 1 -"));
    TRY(dtype_is_not_held("ffffffff", 0x7FFFFFFF, "undefined", "1 1 -"));
    /* The type is checked before its dimensions and its encoding: without a type their numbers
       have no meaning. */
    TRY(dtype_is_not_held("9999", 0x9999, "unknown", "8 4294967295 4294967295 4294967295 4294967295 4294967295 4294967295 4294967295 4294967295 -"));
    TRY(dtype_is_not_held("9999", 0x9999, "unknown", "1 2 s 0 0"));
    TRY(dtype_is_not_held("9999", 0x9999, "unknown", "1 2 a 0 2 1 0 nan 0"));
    /* A value that would cause a read out of bounds is still refused. */
    TEXT_FAILS(GRAPH("in x 1 9999 2 1 4 - nulldims\n"), QNNRT_E_FORMAT, "\"x\"", "no dimensions");
    TEXT_FAILS(GRAPH("in x 1 9999 9 1 1 1 1 1 1 1 1 1 -\n"), QNNRT_E_LIMIT, "\"x\"", "rank 9");
    TEXT_FAILS(GRAPH("in x 1 9999 1 2 a 0 1 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "1 scales", "axis 0 of 2 elements");
}

TEST(dtype_string_opens_and_is_refused_at_prepare_by_name)
{
    fake_begin("");
    TRY(dtype_is_not_held("0608", 0x0608, "string", "1 1 -"));
}

/* An updateable tensor has no memory of ours. */
TEST(dtypes_of_updateable_tensors_do_not_hinder)
{
    static const char *const codes[] = { "9999", "0608", "7fffffff" };
    size_t i;
    fake_begin("");
    for (i = 0; i < 3; ++i) {
        char text[512];
        qnnrt *model = NULL;
        qnnrt_run *run = NULL;
        const qnnrt_graph_info *g;
        snprintf(text, sizeof(text), GRAPH("in a 7 0232 1 1 -\nupd x 1 %s 1 1 -\n"), codes[i]);
        TEXT_OPENS(text, &model);
        g = qnnrt_get_info(model)->contexts->graphs;
        CHECK_EQ(g->updateable_count, 1);
        CHECK_EQ(g->updateables[0].dtype, strtoul(codes[i], NULL, 16));
        CHECK(g->updateables[0].count == 0 && g->updateables[0].bytes == 0);
        CHECK(g->unsupported == NULL);
        CHECK_EQ(qnnrt_prepare(model, NULL, &run, &error), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CLOSE(model);
    }
}

/* ---- encodings ------------------------------------------------------------------------------ */

TEST(scale_that_is_no_scale_is_refused_by_name)
{
    static const char *const scales[] = { "0", "-0", "-1", "nan", "-nan", "inf", "-inf", "1e-39", "1e-45" };
    size_t i;
    fake_begin("");
    for (i = 0; i < sizeof(scales) / sizeof(scales[0]); ++i) {
        char text[512];
        snprintf(text, sizeof(text), GRAPH("in x 1 0416 1 2 s %s 0\n"), scales[i]);
        TEXT_FAILS(text, QNNRT_E_FORMAT, "shard.bin", "graph \"fwd\"", "\"x\"", "ufixed16", "scale");
        snprintf(text, sizeof(text), GRAPH("in x 1 0308 1 2 b 7 %s 0\n"), scales[i]);
        TEXT_FAILS(text, QNNRT_E_FORMAT, "\"x\"", "sfixed8", "scale");
        snprintf(text, sizeof(text), GRAPH("in x 1 0308 1 2 a 0 2 1 0 %s 0\n"), scales[i]);
        TEXT_FAILS(text, QNNRT_E_FORMAT, "\"x\"", "scale");
        snprintf(text, sizeof(text), GRAPH("in x 1 0308 1 2 w 8 0 2 1 0 %s 0\n"), scales[i]);
        TEXT_FAILS(text, QNNRT_E_FORMAT, "\"x\"", "scale");
    }
}

TEST(scales_at_the_edge_of_floats_are_taken)
{
    fake_begin("");
    TEXT_IS_FINE(GRAPH("in x 1 0416 1 2 s 3.4e38 0\n"));
    TEXT_IS_FINE(GRAPH("in x 1 0416 1 2 s 1.2e-38 0\n"));
    TEXT_IS_FINE(GRAPH("in x 1 0416 1 2 s 1 2147483647\nin y 2 0316 1 2 s 1 -2147483648\n"));
}

/* A value that is never used is never an error: some converters leave a scale of 0 on float
   tensors. */
TEST(encoding_on_a_float_type_is_a_log_line_only)
{
    qnnrt *model = NULL;
    fake_begin("");
    TEXT_OPENS(GRAPH("in x 1 0232 1 2 s 0 0\nin y 2 0032 1 2 s nan 5\n"), &model);
    CHECK_STR(log_text, "\"x\" (float32)");
    CHECK_STR(log_text, "\"y\" (int32)");
    CLOSE(model);
}

TEST(fixed_type_without_encoding_is_a_log_line_only)
{
    qnnrt *model = NULL;
    fake_begin("");
    TEXT_OPENS(GRAPH("in x 1 0416 1 2 -\n"), &model);
    CHECK_STR(log_text, "\"x\" (ufixed16): fixed-point type without an encoding");
    CLOSE(model);
}

TEST(bitwidth_over_the_type_is_refused)
{
    fake_begin("");
    TEXT_FAILS(GRAPH("in x 1 0308 1 2 b 9 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "sfixed8", "bitwidth");
    TEXT_FAILS(GRAPH("in x 1 0308 1 2 b 4294967295 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "bitwidth");
    TEXT_FAILS(GRAPH("in x 1 0308 1 2 w 9 0 2 1 0 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "bitwidth");
    TEXT_IS_FINE(GRAPH("in x 1 0308 1 2 b 8 1 0\nin y 2 0308 1 2 b 1 1 0\nin z 3 0308 1 2 b 0 1 0\n"));
}

TEST(axis_out_of_range_is_refused_with_both_numbers)
{
    fake_begin("");
    TEXT_FAILS(GRAPH("in x 1 0308 2 2 3 a 2 3 1 0 1 0 1 0\n"), QNNRT_E_FORMAT, "shard.bin", "graph \"fwd\"", "\"x\"", "axis 2", "2 dimensions");
    TEXT_FAILS(GRAPH("in x 1 0308 2 2 3 a -1 3 1 0 1 0 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "axis -1");
    TEXT_FAILS(GRAPH("in x 1 0308 2 2 3 a -2147483648 3 1 0 1 0 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "axis -2147483648");
    TEXT_FAILS(GRAPH("in x 1 0308 2 2 3 w 8 2147483647 3 1 0 1 0 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "axis 2147483647");
    TEXT_FAILS(GRAPH("in x 1 0308 0 a 0 1 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "axis 0", "0 dimensions");
}

TEST(axis_with_another_count_is_refused_with_both_numbers)
{
    fake_begin("");
    TEXT_FAILS(GRAPH("in x 1 0308 2 2 3 a 1 2 1 0 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "2 scales", "axis 1 of 3 elements");
    TEXT_FAILS(GRAPH("in x 1 0308 2 2 3 a 0 3 1 0 1 0 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "3 scales", "axis 0 of 2 elements");
    TEXT_FAILS(GRAPH("in x 1 0308 2 2 3 w 8 1 1 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "1 scales", "axis 1 of 3 elements");
    TEXT_FAILS(GRAPH("in x 1 0308 2 2 3 a 1 0\n"), QNNRT_E_FORMAT, "\"x\"", "0 scales", "axis 1 of 3 elements");
}

TEST(axis_with_null_scales_is_refused_and_null_offsets_are_zeros)
{
    qnnrt *model = NULL;
    fake_begin("");
    TEXT_FAILS(GRAPH("in x 1 0308 2 2 3 a 1 3 1 0 1 0 1 0 nullscales\n"), QNNRT_E_FORMAT, "\"x\"", "axis 1 of 3 elements");
    TEXT_FAILS(GRAPH("in x 1 0308 2 2 3 w 8 1 3 1 0 1 0 1 0 nullscales\n"), QNNRT_E_FORMAT, "\"x\"", "axis 1 of 3 elements");
    TEXT_OPENS(GRAPH("in x 1 0308 2 2 3 w 8 1 3 1 7 1 7 1 7 nulloffsets\n"), &model);
    CHECK(qnnrt_get_info(model)->contexts->graphs[0].inputs[0].quant.offsets == NULL);
    CLOSE(model);
}

TEST(encoding_numbers_0_to_13_are_kept_and_3_are_understood)
{
    unsigned number;
    fake_begin("");
    for (number = 0; number <= 15; ++number) {
        char text[512];
        qnnrt *model = NULL;
        qnnrt_run *run = NULL;
        float value = 1.0f;
        const qnnrt_quant *quant;
        const char *words = number == 0 ? "s 0.5 1" : number == 1 ? "a 0 1 0.5 1" : number == 2 ? "b 8 0.5 1" : "w 8 0 1 0.5 1";
        if (number < 4) snprintf(text, sizeof(text), GRAPH("in x 1 0408 1 1 %s\n"), words);
        else snprintf(text, sizeof(text), GRAPH("in x 1 0408 1 1 e %u\n"), number < 14 ? number : number == 14 ? 1000u : 0x7FFFFFFEu);
        TEXT_OPENS(text, &model);
        quant = &qnnrt_get_info(model)->contexts->graphs[0].inputs[0].quant;
        CHECK_EQ(quant->encoding, number == 0 || number == 2   ? QNNRT_ENCODING_PER_TENSOR
                                  : number == 1 || number == 3 ? QNNRT_ENCODING_PER_AXIS : QNNRT_ENCODING_OTHER);
        CHECK_EQ(quant->vendor_encoding, number < 14 ? number : number == 14 ? 1000u : 0x7FFFFFFEu);
        /* It runs, whether its values can be read as floats or not. */
        CHECK_EQ(qnnrt_prepare(model, NULL, &run, &error), QNNRT_OK);
        CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, &value, 1), number < 4 ? QNNRT_OK : QNNRT_E_UNSUPPORTED);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CLOSE(model);
    }
}

/* ---- what is reported and not run ----------------------------------------------------------- */

TEST(updateable_tensors_are_reported_and_do_not_hinder)
{
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    const qnnrt_graph_info *g;
    fake_begin("");
    TEXT_OPENS(GRAPH("in x 1 0232 1 1 -\nupd a 2 0316 2 8 16 s 0.5 0\nupd b 3 0216 2 16 8 - type=9\n"), &model);
    g = qnnrt_get_info(model)->contexts->graphs;
    CHECK(g->updateable_count == 2 && g->updateables[0].updateable && g->updateables[1].updateable && !g->inputs[0].updateable);
    CHECK(g->updateables[0].bytes == 256 && g->updateables[1].vendor_type == 9 && g->unsupported == NULL);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &error), QNNRT_OK);
    qnnrt_run_destroy(run);
    CLOSE(model);
}

TEST(optional_tensors_are_reported_and_refused_at_prepare_by_name)
{
    static const char *const texts[] = { GRAPH("in x 1 0232 1 1 -\nin o 2 0232 1 1 - type=11\n"), GRAPH("in x 1 0232 1 1 -\nout o 2 0232 1 1 - type=12\n"),
                                         GRAPH("in x 1 0232 1 1 -\nin o 2 0232 1 1 - type=13\n") };
    size_t i;
    fake_begin("");
    for (i = 0; i < 3; ++i) {
        qnnrt *model = NULL;
        const qnnrt_graph_info *g;
        TEXT_OPENS(texts[i], &model);
        g = qnnrt_get_info(model)->contexts->graphs;
        CHECK(i == 1 ? g->outputs[0].optional : g->inputs[1].optional);
        CHECK_STR(g->unsupported, i == 1 ? "output \"o\" is optional" : "input \"o\" is optional");
        PREPARE_FAILS(model, NULL, QNNRT_E_UNSUPPORTED, "\"o\" is optional", "fwd");
        PREPARE_FAILS(model, "0/fwd", QNNRT_E_UNSUPPORTED, "\"o\" is optional", "fwd");
        CLOSE(model);
    }
}

TEST(dynamic_tensors_are_reported_and_refused_at_prepare_by_name)
{
    qnnrt *model = NULL;
    const qnnrt_graph_info *g;
    fake_begin("tensor=2");
    TEXT_OPENS(GRAPH("in x 1 0232 2 4 8 - dyn=0,0\nin d 2 0232 2 4 8 - dyn=1,0\n"), &model);
    g = qnnrt_get_info(model)->contexts->graphs;
    CHECK(g->inputs[0].dynamic_dims == NULL && g->inputs[1].dynamic_dims != NULL);
    CHECK(g->inputs[1].dynamic_dims[0] != 0 && g->inputs[1].dynamic_dims[1] == 0);
    CHECK_STR(g->unsupported, "input \"d\" has dynamic dimensions");
    PREPARE_FAILS(model, NULL, QNNRT_E_UNSUPPORTED, "\"d\" has dynamic dimensions", "fwd");
    CLOSE(model);
    TEXT_OPENS(GRAPH("in x 1 0232 2 4 8 - dyn=0,0\nout d 2 0232 1 8 - dyn=1\n"), &model);
    PREPARE_FAILS(model, NULL, QNNRT_E_UNSUPPORTED, "output \"d\" has dynamic dimensions", "fwd");
    CLOSE(model);
    /* Version 1 does not have this field, and the bytes there are not read. */
    fake_begin("tensor=1");
    TEXT_OPENS(GRAPH("in d 2 0232 2 4 8 - dyn=1,0\n"), &model);
    CHECK(qnnrt_get_info(model)->contexts->graphs[0].unsupported == NULL);
    CLOSE(model);
}

TEST(one_graph_that_cannot_run_leaves_the_other_callable)
{
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    fake_begin("");
    TEXT_OPENS(GRAPH("in x 1 0232 1 1 -\n") "graph bad\nin o 1 0232 1 1 - type=11\nout y 2 0232 1 1 -\n", &model);
    CHECK_EQ(qnnrt_prepare(model, "fwd", &run, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    PREPARE_FAILS(model, "bad", QNNRT_E_UNSUPPORTED, "\"o\" is optional", "bad");
    CLOSE(model);
}

/* ---- limits --------------------------------------------------------------------------------- */

TEST(limit_file_bytes_holds_at_its_edge)
{
    const char *folder = folder_of("forward_0.bin", ONE, strlen(ONE));
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    fake_begin("");
    for (desc.read = 0; desc.read < 2; ++desc.read) {
        desc.limits.file_bytes = strlen(ONE);
        OPENS(folder, &desc, &model);
        CLOSE(model);
        desc.limits.file_bytes = strlen(ONE) - 1;
        FAILS(folder, &desc, QNNRT_E_LIMIT, "forward_0.bin", "limits.file_bytes");
    }
}

/* "one context binary": this holds in memory, too. */
TEST(limit_file_bytes_holds_for_blocks)
{
    qnnrt_limits limits;
    qnnrt *model = NULL;
    fake_begin("");
    memset(&limits, 0, sizeof(limits));
    limits.file_bytes = strlen(ONE);
    TEXT_OPENS_WITHIN(&limits, ONE, &model);
    CLOSE(model);
    limits.file_bytes = strlen(ONE) - 1;
    TEXT_FAILS_WITHIN(&limits, ONE, QNNRT_E_LIMIT, "shard.bin", "limits.file_bytes");
}

TEST(limit_file_bytes_is_checked_before_the_file_is_read)
{
    const char *folder = folder_of("forward_0.bin", ONE, strlen(ONE));
    qnnrt_desc desc = new_desc();
    char path[2048];
    fake_begin("");
    snprintf(path, sizeof(path), "%s/forward_0.bin", folder);
    if (truncate(path, (off_t)1 << 40) != 0) SKIP("no sparse file of 1 TiB here");
    FAILS(folder, &desc, QNNRT_E_LIMIT, "forward_0.bin", "1099511627776", "limits.file_bytes");
    desc.read = 1;
    FAILS(folder, &desc, QNNRT_E_LIMIT, "forward_0.bin", "1099511627776", "limits.file_bytes");
}

TEST(limit_arena_bytes_holds_at_its_edge)
{
    qnnrt_limits limits;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    static const char text[] = HEAD "graph fwd\nin x 1 0232 1 256 -\nout y 2 0232 1 256 -\n";
    fake_begin("");
    memset(&limits, 0, sizeof(limits));
    limits.arena_bytes = 2048;
    TEXT_OPENS_WITHIN(&limits, text, &model);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &error), QNNRT_OK);
    qnnrt_run_destroy(run);
    CLOSE(model);
    limits.arena_bytes = 2047;
    TEXT_OPENS_WITHIN(&limits, text, &model);
    PREPARE_FAILS(model, NULL, QNNRT_E_LIMIT, "2048 bytes", "limits.arena_bytes (2047)");
    CLOSE(model);
}

TEST(limit_arena_bytes_stops_many_tensors_of_4_gib)
{
    char text[4096];
    qnnrt_limits limits;
    qnnrt *model = NULL;
    unsigned i;
    fake_begin("");
    memset(&limits, 0, sizeof(limits));
    limits.arena_bytes = (uint64_t)64 << 30;
    snprintf(text, sizeof(text), "%s", HEAD "graph fwd\nout y 99 0232 1 1 -\n");
    for (i = 0; i < 17; ++i)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "in x%u %u 0408 2 65535 65537 s 1 0\n", i, i + 1);
    TEXT_OPENS_WITHIN(&limits, text, &model);
    PREPARE_FAILS(model, NULL, QNNRT_E_LIMIT, "limits.arena_bytes", "68719476736");
    CLOSE(model);
}

/* A tensor of 4 GiB - 1 byte exceeds the limit when there is another tensor. */
TEST(limit_arena_bytes_is_4_gib_by_default)
{
    qnnrt *model = NULL;
    fake_begin("");
    TEXT_OPENS(HEAD "graph fwd\nin x 1 0408 2 65535 65537 s 1 0\nout y 2 0232 1 1 -\n", &model);
    PREPARE_FAILS(model, NULL, QNNRT_E_LIMIT, "limits.arena_bytes (4294967296)", "needs 42949673");
    CLOSE(model);
}

TEST(limit_files_holds_at_its_edge)
{
    const char *folder = test_tmpdir();
    qnnrt_desc desc = new_desc();
    qnnrt_file files[3];
    memset(files, 0, sizeof(files));
    qnnrt *model = NULL;
    unsigned i;
    fake_begin("");
    memset(files, 0, sizeof(files));
    CHECK(shards_write(folder, 3));
    for (i = 0; i < 3; ++i) {
        files[i].data = ONE;
        files[i].bytes = strlen(ONE);
    }
    desc.limits.files = 3;
    OPENS(folder, &desc, &model);
    CLOSE(model);
    desc.limits.files = 2;
    FAILS(folder, &desc, QNNRT_E_LIMIT, "3 context binaries", "limits.files (2)");
    desc.files = files;
    desc.file_count = 3;
    FAILS(NULL, &desc, QNNRT_E_LIMIT, "3 context binaries", "limits.files (2)");
    desc.limits.files = 3;
    OPENS(NULL, &desc, &model);
    CLOSE(model);
}

/* Entries of a folder, and entries and places of a plan. */
TEST(limits_entries_and_places_hold_at_their_edges)
{
    const char *folder = test_tmpdir();
    qnnrt_desc desc = new_desc();
    qnnrt_entry_desc entries[5];
    qnnrt_place_desc places[2];
    qnnrt_plan_desc plan_desc;
    qnnrt_plan *plan = NULL;
    qnnrt *model = NULL;
    unsigned i;
    fake_begin("");
    CHECK(shards_write(folder, 2));
    desc.limits.entries = 3;                     /* "." and ".." count, too */
    FAILS(folder, &desc, QNNRT_E_LIMIT, "more than 3 entries", "limits.entries");
    desc.limits.entries = 4;
    desc.limits.places = 1;
    OPENS(folder, &desc, &model);
    memset(entries, 0, sizeof(entries));
    memset(places, 0, sizeof(places));
    memset(&plan_desc, 0, sizeof(plan_desc));
    for (i = 0; i < 5; ++i) entries[i].pipeline = qnnrt_get_info(model)->pipelines[0];
    for (i = 0; i < 2; ++i) {
        places[i].slot = &qnnrt_pipeline_get_info(entries[0].pipeline)->slots[i];
        places[i].caller_io = 1;
    }
    plan_desc.entries = entries;
    plan_desc.entry_count = 5;
    CHECK_EQ(qnnrt_plan_create(&plan_desc, &plan, &error), QNNRT_E_LIMIT);
    CHECK_STR(error.text, "limits.entries (4)");
    plan_desc.entry_count = 4;
    plan_desc.places = places;
    plan_desc.place_count = 2;
    CHECK_EQ(qnnrt_plan_create(&plan_desc, &plan, &error), QNNRT_E_LIMIT);
    CHECK_STR(error.text, "limits.places (1)");
    CHECK(plan == NULL);
    plan_desc.place_count = 1;
    CHECK_EQ(qnnrt_plan_create(&plan_desc, &plan, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CLOSE(model);
}

/* Steps of a pipeline that is made, and what a search for edges or pipelines may compare. */
TEST(limits_steps_and_looks_hold_at_their_edges)
{
    const char *folder = test_tmpdir();
    qnnrt_desc desc = new_desc();
    qnnrt_step_desc steps[3];
    qnnrt_pipeline_desc made;
    qnnrt_pipeline *pipeline = NULL;
    qnnrt *model = NULL;
    unsigned i;
    fake_begin("");
    CHECK(shards_write(folder, 2));
    desc.limits.looks = 3;                      /* 2 graphs in 2 contexts */
    FAILS(folder, &desc, QNNRT_E_LIMIT, "too many to look for pipelines", "limits.looks (3)");
    desc.limits.looks = 1000;
    desc.limits.steps = 2;
    OPENS(folder, &desc, &model);
    memset(steps, 0, sizeof(steps));
    memset(&made, 0, sizeof(made));
    for (i = 0; i < 3; ++i) {
        steps[i].model = model;
        steps[i].context = i % 2;
        steps[i].graph = qnnrt_get_info(model)->contexts[i % 2].graphs[0].name;
    }
    made.steps = steps;
    made.step_count = 3;
    CHECK_EQ(qnnrt_pipeline_make(&made, &pipeline, &error), QNNRT_E_LIMIT);
    CHECK_STR(error.text, "3 steps, more than limits.steps (2)");
    CHECK(pipeline == NULL);
    made.step_count = 2;
    CHECK_EQ(qnnrt_pipeline_make(&made, &pipeline, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_pipeline_destroy(pipeline), QNNRT_OK);
    CLOSE(model);
}

TEST(limit_files_is_256_by_default)
{
    qnnrt_desc desc = new_desc();
    static qnnrt_file files[257];
    qnnrt *model = NULL;
    size_t i;
    fake_begin("");
    for (i = 0; i < 257; ++i) {
        files[i].data = ONE;
        files[i].bytes = strlen(ONE);
    }
    desc.files = files;
    desc.file_count = 257;
    FAILS(NULL, &desc, QNNRT_E_LIMIT, "257 context binaries", "limits.files (256)");
    desc.file_count = 256;
    desc.inspect = 1;
    OPENS(NULL, &desc, &model);
    CLOSE(model);
}

/* "graphs, inputs, outputs and updateables of one model" */
TEST(limit_tensors_counts_all_of_one_model)
{
    static const char text[] = HEAD "graph a\nin x 1 0232 1 1 -\nout y 2 0232 1 1 -\nupd u 3 0232 1 1 -\ngraph b\nin x 1 0232 1 1 -\nout y 2 0232 1 1 -\n";
    qnnrt_limits limits;
    qnnrt *model = NULL;
    qnnrt_file files[2];
    memset(files, 0, sizeof(files));
    qnnrt_desc desc = new_desc();
    fake_begin("");
    memset(&limits, 0, sizeof(limits));
    limits.tensors = 7;
    TEXT_OPENS_WITHIN(&limits, text, &model);
    CLOSE(model);
    limits.tensors = 6;
    TEXT_FAILS_WITHIN(&limits, text, QNNRT_E_LIMIT, "shard.bin", "graph \"b\"", "exceed 6 graphs and tensors", "limits.tensors");
    limits.tensors = 4;
    TEXT_FAILS_WITHIN(&limits, text, QNNRT_E_LIMIT, "shard.bin", "graph \"a\"", "exceed 4 graphs and tensors", "limits.tensors");
    limits.tensors = 1;
    TEXT_FAILS_WITHIN(&limits, text, QNNRT_E_LIMIT, "shard.bin", "2 more would exceed 1 ", "limits.tensors");
    /* The limit is per model: the second context gets what the first one left. */
    memset(files, 0, sizeof(files));
    files[0].path = "first.bin";
    files[1].path = "second.bin";
    files[0].data = files[1].data = text;
    files[0].bytes = files[1].bytes = strlen(text);
    desc.files = files;
    desc.file_count = 2;
    desc.limits.tensors = 14;
    OPENS(NULL, &desc, &model);
    CLOSE(model);
    desc.limits.tensors = 13;
    FAILS(NULL, &desc, QNNRT_E_LIMIT, "second.bin", "graph \"b\"", "exceed 13 graphs and tensors", "limits.tensors");
    desc.limits.tensors = 8;
    FAILS(NULL, &desc, QNNRT_E_LIMIT, "second.bin", "exceed 8 ", "limits.tensors");
    /* The count of the next model starts from zero. */
    desc.limits.tensors = 14;
    OPENS(NULL, &desc, &model);
    CLOSE(model);
}

/* The blob of a graph and the context's metadata are read as far as their layout is known. */
TEST(blobs_of_unknown_versions_and_sizes_are_read_as_far_as_they_are_known)
{
    static const struct { const char *lie; uint64_t spill, io; uint32_t arch; } cases[] = {
        { "", 11, 13, 75 },                   { "lie blob1 2\n", 0, 0, 75 },            { "lie blob1 3\n", 0, 0, 75 },
        { "lie blob2 3\n", 11, 0, 75 },       { "lie blobbytes 111\n", 11, 0, 75 },     { "lie blobbytes 40\n", 11, 0, 75 },
        { "lie blobbytes 39\n", 0, 0, 75 },   { "lie blobbytes 0\n", 0, 0, 75 },        { "lie blobbytes 4\n", 0, 0, 75 },
        { "lie archversion 2\n", 11, 13, 0 }, { "lie archversion 0\n", 11, 13, 0 }
    };
    size_t i;
    fake_begin("");
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        char text[1024];
        qnnrt *model = NULL;
        const qnnrt_context_info *c;
        snprintf(text, sizeof(text), HEAD "arch 75\ngraph fwd\nspill 11\nio 13\n%sin ids 1 0032 2 1 4 -\nout logits 2 0232 2 1 8 -\n", cases[i].lie);
        TEXT_OPENS(text, &model);
        c = qnnrt_get_info(model)->contexts;
        CHECK_EQ(c->graphs[0].spill_fill_bytes, cases[i].spill);
        CHECK_EQ(c->graphs[0].io_bytes, cases[i].io);
        CHECK_EQ(c->dsp_arch, cases[i].arch);
        CLOSE(model);
    }
}

/* ---- files that change ---------------------------------------------------------------------- */

static struct {
    char     path[4096];
    /* Number of locks; the lock at which the file changes, 0: never. */
    unsigned locks, at;
    /* 0: add a byte, 1: change a byte of a comment, 2: change the time. */
    int      how;
} changing;

/* Change the file while the lock is held around a call into the library: when a context is created,
   the file is open and mapped or read. */
static void change_lock(void *user)
{
    int fd;
    (void)user;
    if (++changing.locks != changing.at) return;
    fd = open(changing.path, O_RDWR);
    if (fd < 0) abort();
    if (changing.how == 2) {
        static const struct timespec times[2] = { { 1, 5 }, { 1, 7 } };
        if (futimens(fd, times) != 0) abort();
    } else if (pwrite(fd, "#", 1, changing.how == 0 ? (off_t)strlen(ONE) : 20) != 1) abort();
    close(fd);
}

static void change_unlock(void *user) { (void)user; }

/* Open, and change the file while lock `at` is taken. */
static void change_begin(unsigned at, int how, int read_it, qnnrt_desc *desc)
{
    static const struct timespec times[2] = { { 1000, 1 }, { 1000, 1 } };
    *desc = new_desc();
    desc->backend_desc.hooks.lock = change_lock;
    desc->backend_desc.hooks.unlock = change_unlock;
    desc->read = read_it;
    changing.locks = 0;
    changing.at = at;
    changing.how = how;
    if (!test_write_file(changing.path, ONE, strlen(ONE)) || utimensat(AT_FDCWD, changing.path, times, 0) != 0) abort();
}

TEST(a_file_that_changed_while_it_was_opened_is_refused)
{
    qnnrt_desc desc;
    qnnrt *model = NULL;
    const char *folder = test_tmpdir();
    unsigned at, last;
    int how, read_it;
    snprintf(changing.path, sizeof(changing.path), "%s/forward_0.bin", folder);
    fake_begin("");
    change_begin(0, 0, 0, &desc);
    OPENS(folder, &desc, &model);
    /* The last lock before the close is taken to create the context. */
    last = changing.locks;
    CLOSE(model);
    CHECK(last >= 3);
    for (how = 0; how < 3; ++how)
        for (read_it = 0; read_it < 2; ++read_it)
            for (at = 1; at <= last; ++at) {
                qnnrt_result result;
                change_begin(at, how, read_it, &desc);
                TEST_JUNK(error);
                model = (qnnrt *)&error;
                result = qnnrt_open(folder, &desc, &model, &error);
                if (at == last) {
                    CHECK_EQ(result, QNNRT_E_IO);
                    CHECK(model == NULL);
                    CHECK_STR(error.text, "forward_0.bin");
                    CHECK_STR(error.text, "changed");
                    CHECK_STR(error.hint, "desc.read");
                    CHECK_EQ(qnnrt_open(folder, (change_begin(at, how, read_it, &desc), &desc), &model, NULL), QNNRT_E_IO);
                } else if (result == QNNRT_OK) CHECK_EQ(qnnrt_close(model), QNNRT_OK);
                TRY(nothing_left());
            }
    /* A change after that has no effect. */
    change_begin(last + 1, 1, 0, &desc);
    OPENS(folder, &desc, &model);
    CLOSE(model);
}

/* ---- inspect -------------------------------------------------------------------------------- */

TEST(inspect_makes_no_backend_call_and_prepare_answers_state)
{
    const char *folder = folder_of("forward_0.bin", RICH, strlen(RICH));
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    const char *line;
    fake_begin("");
    desc.inspect = 1;
    desc.backend_desc.path = NULL;
    OPENS(folder, &desc, &model);
    CHECK(qnnrt_get_info(model)->backend == NULL);
    CHECK_EQ(fake_live(), before.handles);
    for (line = fake_trace(); *line != '\0'; line = strchr(line, '\n') + 1) {
        CHECK(strncmp(line, "systemContext", 13) == 0);
        if (strchr(line, '\n') == NULL) break;
    }
    CHECK_STR(fake_trace(), "systemContextGetBinaryInfo");
    CHECK_EQ(qnnrt_get_info(model)->contexts->graph_count, 2);
    PREPARE_FAILS(model, "prefill", QNNRT_E_STATE, "forward_0.bin", "desc.inspect");
    CLOSE(model);
}

TEST(inspect_reads_what_no_library_here_would_load)
{
    static const char *const texts[] = { ONE_WITH("backend 4\nbuild v9.99\ncore 9 9 9\n") "shared 5\n",
                                         ONE_WITH("backend 6\nbuild v9.99\ncore 9 9 9\n") "shared 5\n" };
    size_t i;
    fake_begin("");
    for (i = 0; i < 2; ++i) {
        qnnrt_desc desc = new_desc();
        qnnrt_file file;
        memset(&file, 0, sizeof(file));
        qnnrt *model = NULL;
        memset(&file, 0, sizeof(file));
        file.data = texts[i];
        file.bytes = strlen(texts[i]);
        desc.files = &file;
        desc.file_count = 1;
        desc.inspect = 1;
        OPENS(NULL, &desc, &model);
        CHECK(qnnrt_get_info(model)->contexts->backend_id == (i == 0 ? 4 : 6) && qnnrt_get_info(model)->contexts->core_api.major == 9);
        CHECK_EQ(qnnrt_get_info(model)->contexts->graphs[0].shared_weights_bytes, i == 0 ? 0 : 5);
        CLOSE(model);
    }
}

TEST(inspect_of_damaged_files_fails_like_an_open)
{
    qnnrt_desc desc = new_desc();
    fake_begin("");
    desc.inspect = 1;
    FAILS(folder_of("forward_0.bin", ONE "nonsense\n", strlen(ONE) + 9), &desc, QNNRT_E_FORMAT, "forward_0.bin", "metadata");
    FAILS(folder_of("forward_0.bin", "\177ELF", 4), &desc, QNNRT_E_FORMAT, "forward_0.bin", "4 bytes");
}

/* qnnrt finds without memory that a large graph cannot run. */
TEST(inspect_answers_state_before_memory_is_asked_for)
{
    qnnrt_desc desc = new_desc();
    qnnrt_file file;
    memset(&file, 0, sizeof(file));
    qnnrt *model = NULL;
    fake_begin("");
    memset(&file, 0, sizeof(file));
    file.data = HEAD "graph fwd\nin x 1 0232 1 1 -\nout y 2 0408 2 65535 65537 s 1 0\n";
    file.bytes = strlen((const char *)file.data);
    desc.files = &file;
    desc.file_count = 1;
    desc.inspect = 1;
    desc.limits.arena_bytes = 4096;
    OPENS(NULL, &desc, &model);
    PREPARE_FAILS(model, NULL, QNNRT_E_STATE, "(memory)", "desc.inspect");
    CLOSE(model);
}

/* ---- keep_going ----------------------------------------------------------------------------- */

/* Write three shards; one of them, given by its number, holds `bad`. */
static const char *three_shards(unsigned which, const char *bad)
{
    const char *folder = test_tmpdir();
    unsigned i;
    for (i = 0; i < 3; ++i) {
        char name[32];
        snprintf(name, sizeof(name), "forward_%u.bin", i);
        if (i != which) shard_write(folder, name, i);
        else text_write(folder, name, bad);
    }
    return folder;
}

static const struct { const char *knobs, *bad; qnnrt_result code; const char *says; } bad_shards[] = {
    { "", "too short",                                           QNNRT_E_FORMAT,      "9 bytes" },
    { "", HEAD "nonsense\n",                                     QNNRT_E_FORMAT,      "metadata" },
    { "", ONE_WITH("backend 3\n"),                               QNNRT_E_MISMATCH,    "backend 3" },
    { "", ONE_WITH("build v9.9\n"),                              QNNRT_E_VERSION,     "v9.9" },
    { "", GRAPH("in x 1 0232 1 0 -\n"),                          QNNRT_E_FORMAT,      "dimension of 0" },
#if defined(__x86_64__)
    { "", GRAPH("in x 1 0232 1 1 -\nshared 5\n"),                QNNRT_E_UNSUPPORTED, "shares its weights" },
#endif
    { "", GRAPH("in x 1 0232 9 1 1 1 1 1 1 1 1 1 -\n"),          QNNRT_E_LIMIT,       "rank 9" },
    { "fail=contextCreateFromBinary:0x1389:2", NULL,             QNNRT_E_BACKEND,     "0x1389" },
    { "fail=graphRetrieve:0x1773:2", NULL,                       QNNRT_E_BACKEND,     "0x1773" }
};

/* Files that need 0, 100, 200 and 50 bytes of spill-fill memory. */
TEST(contexts_that_need_spill_fill_memory_share_the_most_of_it)
{
    static const unsigned needs[4] = { 0, 100, 200, 50 };
    const char *folder = test_tmpdir(), *trace;
    unsigned i, round;
    for (round = 0; round < 4; ++round) {
        const unsigned several = round & 1, share = round > 1;
        qnnrt_desc desc = new_desc();
        qnnrt *model = NULL;
        if (share) desc.residency = QNNRT_RESIDENT_CALLER;
        fake_begin("");
        for (i = 0; i < 4; ++i) {
            char name[32], text[1024];
            snprintf(name, sizeof(name), "forward_%u.bin", i);
            snprintf(text, sizeof(text), HEAD "graph fwd\nspill %u\nin h%u %u 0232 2 1 8 -\nout h%u %u 0232 2 1 8 -\n",
                     several || i == 2 ? needs[i] : 0, i, 2 * i + 1, i + 1, 2 * i + 2);
            CHECK(text_write(folder, name, text));
        }
        OPENS(folder, &desc, &model);
        if (share) CHECK_EQ(qnnrt_model_load_shared(model, &error), QNNRT_OK);
        trace = fake_trace();
        for (i = 0; (trace = strstr(trace, "options of binary 0:2,0,")) != NULL; ++i, ++trace) {
            const char *end = strchr(trace, '\n');
            CHECK(end != NULL && strncmp(end - 5, ",c8,0", 5) == 0);
            /* The first one begins the group, the others name it. */
            CHECK_EQ(strncmp(trace, "options of binary 0:2,0,0,0,", 28) == 0, i == 0);
        }
        CHECK_EQ(i, several && share ? 3 : 0);
        CHECK_EQ(qnnrt_get_info(model)->contexts[2].device_bytes, qnnrt_get_info(model)->contexts[2].file_bytes + 200);
        CLOSE(model);
    }
}

TEST(keep_going_loads_the_others_and_says_why_one_failed)
{
    size_t b;
    for (b = 0; b < sizeof(bad_shards) / sizeof(bad_shards[0]); ++b) {
        qnnrt_desc desc = new_desc();
        const qnnrt_context_info *infos;
        const qnnrt_pipeline *pipeline = NULL;
        qnnrt *model = NULL;
        qnnrt_run *run = NULL;
        size_t count, i;
        const char *folder = three_shards(bad_shards[b].bad != NULL ? 1 : 3, bad_shards[b].bad != NULL ? bad_shards[b].bad : "");
        fake_begin(bad_shards[b].knobs);
        /* The counts of fail= restart for each open. */
        if (bad_shards[b].bad != NULL) FAILS(folder, &desc, bad_shards[b].code, "forward_1.bin", bad_shards[b].says);
        fake_begin(bad_shards[b].knobs);
        desc.keep_going = 1;
        OPENS(folder, &desc, &model);
        infos = qnnrt_get_info(model)->contexts;
        count = qnnrt_get_info(model)->context_count;
        CHECK_EQ(count, 3);
        CHECK(infos[0].failure == NULL && infos[2].failure == NULL && infos[0].graph_count == 1 && infos[2].graph_count == 1);
        CHECK(infos[1].failure != NULL && infos[1].graph_count == 0);
        CHECK_EQ(infos[1].failure->code, bad_shards[b].code);
        CHECK_STR(infos[1].failure->text, "forward_1.bin");
        CHECK_STR(infos[1].failure->text, bad_shards[b].says);
        CHECK(text_is_clean(infos[1].failure->text));
        CHECK_STR(log_text, bad_shards[b].says);
        CHECK(strcmp(infos[1].file, "forward_1.bin") == 0 && infos[1].build_id != NULL);
        /* A part of a model must not look like the whole model. */
        CHECK(qnnrt_get_info(model)->pipeline_count > 0);
        for (i = 0; i < qnnrt_get_info(model)->pipeline_count; ++i) {
            CHECK(qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[i])->failure != NULL);
            CHECK_STR(qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[i])->failure->text, "forward_1.bin");
        }
        PREPARE_FAILS(model, "fwd", QNNRT_E_MISMATCH, "forward_1.bin", "wired");
        PREPARE_FAILS(model, NULL, QNNRT_E_MISMATCH, "forward_1.bin", "wired");
        PREPARE_FAILS(model, "1/fwd", QNNRT_E_NOT_FOUND, "1/fwd", "\"fwd\"");
        for (i = 0; i < 3; i += 2) {
            CHECK_EQ(qnnrt_prepare(model, i == 0 ? "0/fwd" : "2/fwd", &run, &error), QNNRT_OK);
            CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
            CHECK(qnnrt_data(run, i == 0 ? "h1" : "h3", NULL) != NULL);
            qnnrt_run_destroy(run);
        }
        CHECK_EQ(qnnrt_pipeline_find(model, "0/fwd", &pipeline, NULL), QNNRT_OK);
        CLOSE(model);
        fake_reset();
        CHECK_EQ(qnnrt_open(folder, &desc, &model, NULL), QNNRT_OK);
        CHECK(qnnrt_get_info(model)->contexts[1].failure != NULL);
        CLOSE(model);
    }
}

TEST(keep_going_with_nothing_bad_is_a_plain_open)
{
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    size_t i;
    fake_begin("");
    desc.keep_going = 1;
    OPENS(three_shards(3, ""), &desc, &model);
    for (i = 0; i < 3; ++i) CHECK(qnnrt_get_info(model)->contexts[i].failure == NULL);
    CHECK_EQ(qnnrt_get_info(model)->context_count, 3);
    CHECK_EQ(qnnrt_prepare(model, "fwd", &run, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CLOSE(model);
}

TEST(keep_going_with_all_bad_answers_what_failed_first)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    desc.keep_going = 1;
    WRITE(folder, "forward_0.bin", ONE_WITH("build v9.9\n"));
    WRITE(folder, "forward_1.bin", "too short");
    FAILS(folder, &desc, QNNRT_E_VERSION, "forward_0.bin", "v9.9");
}

TEST(keep_going_of_files_that_are_missing_keeps_the_error)
{
    qnnrt_desc desc = new_desc();
    qnnrt_file files[2];
    memset(files, 0, sizeof(files));
    qnnrt *model = NULL;
    char path[2048];
    fake_begin("");
    memset(files, 0, sizeof(files));
    snprintf(path, sizeof(path), "%s/gone.bin", test_tmpdir());
    files[0].path = path;
    files[1].data = ONE;
    files[1].bytes = strlen(ONE);
    desc.files = files;
    desc.file_count = 2;
    desc.keep_going = 1;
    OPENS(NULL, &desc, &model);
    CHECK(qnnrt_get_info(model)->contexts[0].failure != NULL && qnnrt_get_info(model)->context_count == 2);
    CHECK_EQ(qnnrt_get_info(model)->contexts[0].failure->code, QNNRT_E_NOT_FOUND);
    CHECK_STR(qnnrt_get_info(model)->contexts[0].failure->text, path);
    CLOSE(model);
}

TEST(keep_going_does_not_fill_a_gap_in_the_numbering)
{
    qnnrt_desc desc = new_desc();
    const char *folder = test_tmpdir();
    fake_begin("");
    desc.keep_going = 1;
    CHECK(shard_write(folder, "forward_0.bin", 0) && shard_write(folder, "forward_2.bin", 2));
    FAILS(folder, &desc, QNNRT_E_FORMAT, "shard 1 is missing");
}

TEST(keep_going_with_inspect_reads_the_others)
{
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    fake_begin("");
    desc.keep_going = desc.inspect = 1;
    OPENS(three_shards(0, HEAD "nonsense\n"), &desc, &model);
    CHECK(qnnrt_get_info(model)->contexts[0].failure != NULL && qnnrt_get_info(model)->contexts[1].failure == NULL && qnnrt_get_info(model)->context_count == 3);
    PREPARE_FAILS(model, "1/fwd", QNNRT_E_STATE, "forward_1.bin", "desc.inspect");
    PREPARE_FAILS(model, "2/fwd", QNNRT_E_STATE, "forward_2.bin", "desc.inspect");
    CLOSE(model);
}

/* ---- stack ---------------------------------------------------------------------------------- */

/* AddressSanitizer makes frames larger. */
#ifdef __SANITIZE_ADDRESS__
#define STACK_MOST (1 << 20)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STACK_MOST (1 << 20)
#endif
#endif
#ifndef STACK_MOST
#define STACK_MOST (16 << 10)
#endif

enum { STACK_BYTES = 1 << 20 };
typedef struct opening { const char *folder; qnnrt_desc desc; qnnrt_result result; qnnrt_error err; } opening;

static void *open_once(void *user)
{
    opening *o = (opening *)user;
    qnnrt *model = NULL;
    o->result = qnnrt_open(o->folder, &o->desc, &model, &o->err);
    if (model != NULL) qnnrt_close(model);
    return NULL;
}

static void *open_program(void *user)
{
    opening *o = (opening *)user;
    qnnrt_manifest_open_desc desc;
    qnnrt_manifest *program = NULL;
    memset(&desc, 0, sizeof(desc));
    desc.model = o->desc;
    o->result = qnnrt_manifest_open(o->folder, &desc, &program, &o->err);
    qnnrt_manifest_close(program);
    return NULL;
}

static void *do_nothing(void *user) { return user; }

/* Count the bytes of stack that a thread has written: its stack is filled with a pattern before. */
static size_t stack_of(void *(*call)(void *), opening *o)
{
    unsigned char *stack = NULL;
    pthread_attr_t attr;
    pthread_t thread;
    size_t clean = 0;
    if (posix_memalign((void **)&stack, 4096, STACK_BYTES) != 0) abort();
    memset(stack, 0xA5, STACK_BYTES);
    pthread_attr_init(&attr);
    if (pthread_attr_setstack(&attr, stack, STACK_BYTES) != 0 || pthread_create(&thread, &attr, call, o) != 0) abort();
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    while (clean < STACK_BYTES && stack[clean] == 0xA5) ++clean;
    free(stack);
    return STACK_BYTES - clean;
}

/* Load the library before, because the stack that the loader needs is not counted. */
TEST(opening_needs_little_stack)
{
    static const struct { const char *knobs, *what; qnnrt_result result; } cases[] = {
        { "",                                                    "three shards",       QNNRT_OK },
        { "log=1,fail=contextCreateFromBinary:0x1389:2",         "a call fails",       QNNRT_E_BACKEND },
        { "",                                                    "no library",         QNNRT_E_LIBRARY },
        { "",                                                    "genie_config.json",  QNNRT_OK },
        { "",                                                    "wrong JSON",         QNNRT_E_FORMAT },
        { "",                                                    "a wrong wiring",     QNNRT_OK },
        { "fail=systemContextGetBinaryInfo:0x753a",              "a damaged binary",   QNNRT_E_FORMAT },
        { "",                                                    "a refused program",  QNNRT_E_UNSUPPORTED },
        { "",                                                    "a program",          QNNRT_OK },
        { "",                                                    "a wrong program",    QNNRT_E_FORMAT },
        { "",                                                    "a wrong pipeline",   QNNRT_E_MISMATCH },
    };
#define PROGRAM_OF(rest) "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"forward_0.bin\", \"backend\": \"npu\"}, " \
                         "{\"file\": \"forward_1.bin\", \"backend\": \"npu\"}], \"constants\": [{\"name\": \"c\", \"file\": \"forward_2.bin\"," \
                         " \"dtype\": \"int8\", \"dims\": [8]}], \"pipelines\": [{\"name\": \"p\", \"steps\": [{\"context\": 0, \"graph\": \"fwd\"}, " \
                         "{\"context\": 1, \"graph\": \"fwd\"}], \"names\": {\"a\": {\"step\": 0, \"input\": \"h0\"}}" rest "}]}}"
    size_t i;
    qnnrt *model = NULL;
    qnnrt_desc first = new_desc();
    static opening o;
    const size_t thread = stack_of(do_nothing, &o);
    fake_begin("");
    OPENS(three_shards(3, ""), &first, &model);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        size_t bytes;
        memset(&o, 0, sizeof(o));
        o.desc = new_desc();
        o.folder = three_shards(3, "");
        if (i == 2) o.desc.backend_desc.path = "libQnnOfNobody.so";
        if (i == 3) WRITE(o.folder, "genie_config.json", "{\"dialog\":{\"ctx-bins\":[\"forward_0.bin\"]}}");
        if (i == 4) WRITE(o.folder, "forward_1_json.json", "{\"info\": [1, 2, {\"a\": }]}");
        if (i == 5) WRITE(o.folder, "forward_1.bin", HEAD "graph fwd\nin other 1 0232 2 1 4 -\nout y 2 0232 2 1 4 -\n");
        if (i == 7 || i == 8) WRITE(o.folder, "qnnrt.json", PROGRAM_OF(""));
        if (i == 9) WRITE(o.folder, "qnnrt.json", PROGRAM_OF(", \"edges\": [{\"from\": [0, \"h1\"], \"to\": [1, \"h1\", 3]}]"));
        if (i == 10) WRITE(o.folder, "qnnrt.json", PROGRAM_OF(", \"edges\": [{\"from\": [0, \"h1\"], \"to\": [1, \"w\"]}]"));
        if (i == 10) WRITE(o.folder, "forward_1.bin", HEAD "graph fwd\nin h1 1 0232 2 1 8 -\nin w 3 0232 2 1 5 -\nout z 2 0232 2 1 4 -\n");
        fake_begin(cases[i].knobs);
        bytes = stack_of(i > 7 ? open_program : open_once, &o) - thread;
        printf("  %s: %lu bytes of stack\n", cases[i].what, (unsigned long)bytes);
        CHECK_EQ(o.result, cases[i].result);
        CHECK(bytes <= STACK_MOST);
    }
    fake_begin("");
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(fake_live(), 0);
}

TEST_MAIN("files")
{
    RUN(folder_missing_is_an_error_with_its_path);
    RUN(folder_that_is_a_file_is_an_io_error);
    RUN(folder_with_an_empty_name_is_an_argument_error);
    RUN(folder_empty_says_what_a_model_folder_holds);
    RUN(folder_without_bin_files_is_like_an_empty_one);
    RUN(folder_with_a_slash_behind_its_name_opens);
    RUN(folder_path_too_long_is_refused);
    RUN(file_under_64_bytes_gives_its_size);
    RUN(block_under_64_bytes_gives_its_size);
    RUN(file_truncated_at_every_byte_opens_or_fails_cleanly);
    RUN(foreign_forward_0_is_an_error_that_says_what_it_looks_like);
    RUN(foreign_kind_leads_the_error);
    RUN(foreign_block_is_an_error_that_says_what_it_looks_like);
    RUN(foreign_short_file_says_what_it_looks_like);
    RUN(foreign_beside_a_good_one_is_skipped_with_a_log_line);
    RUN(foreign_begins_at_64_bytes);
    RUN(short_and_refused_files_beside_a_good_one_are_errors);
    RUN(what_begins_like_a_context_binary_beside_a_good_one_is_an_error);
    RUN(links_to_nothing_beside_a_good_one_are_errors);
    RUN(foreign_only_is_an_error_with_the_count);
    RUN(folder_only_is_an_error_with_the_count);
    RUN(foreign_shard_1_of_1_is_an_error);
    RUN(hostile_file_names_do_not_forge_lines);
    RUN(fifo_named_like_a_shard_does_not_hang);
    RUN(folder_named_like_a_shard_is_an_error);
    RUN(symbolic_links_are_followed_and_loops_are_errors);
    RUN(folders_fifos_and_sockets_beside_a_good_one_are_skipped_with_a_log_line);
    RUN(forward_with_a_gap_names_the_missing_shard);
    RUN(forward_without_0_names_the_missing_shard);
    RUN(forward_0_to_10_are_in_numeric_order);
    RUN(forward_twice_the_same_number_names_both);
    RUN(forward_with_leading_zeros_opens);
    RUN(forward_files_leave_others_out_with_a_log_line);
    RUN(i_of_n_complete_opens_in_order);
    RUN(i_of_n_with_one_missing_names_it);
    RUN(i_of_n_of_two_models_names_one_of_each);
    RUN(i_of_n_with_a_wrong_total_is_refused);
    RUN(i_of_n_from_0_says_where_numbering_begins);
    RUN(i_of_n_twice_the_same_number_names_both);
    RUN(any_names_are_in_natural_order);
    RUN(equal_numbers_are_ordered_by_digits_first);
    RUN(binary_of_another_backend_names_both);
    RUN(binary_that_states_no_backend_opens);
    RUN(binary_newer_by_core_version_names_both_releases);
    RUN(binary_newer_by_build_id_only_names_both_releases);
    RUN(build_ids_that_are_none_are_no_reason_to_refuse);
    RUN(build_id_with_control_characters_is_cleaned_in_errors);
    RUN(weight_shared_htp_binary_is_refused_on_x86_64_before_the_vendor_sees_it);
    RUN(weight_sharing_of_another_backend_is_none_of_ours);
    RUN(htp_facts_are_read_of_htp_binaries_only);
    RUN(executorch_head_is_stepped_over);
    RUN(context_fingerprint_tells_files_apart);
    RUN(executorch_head_may_announce_less_than_follows);
    RUN(executorch_head_that_announces_too_much_is_refused);
    RUN(executorch_head_alone_or_with_under_64_bytes_is_refused_before_the_vendor_sees_it);
    RUN(executorch_head_cut_short_is_refused);
    RUN(executorch_head_before_anything_beside_a_good_one_is_an_error);
    RUN(executorch_head_cut_short_beside_a_good_one_is_an_error);
    RUN(files_and_blocks_mixed_keep_their_order_and_names);
    RUN(files_that_are_missing_are_errors_with_their_path);
    RUN(files_that_are_foreign_are_errors_and_not_skipped);
    RUN(files_without_path_and_data_are_argument_errors);
    RUN(folder_and_files_both_or_neither_are_argument_errors);
    RUN(file_count_beside_a_folder_does_not_matter);
    RUN(metadata_reads_the_same_through_all_struct_versions);
    RUN(metadata_is_what_the_text_says);
    RUN(metadata_outlives_the_block_it_was_read_from);
    RUN(reading_gives_the_same_table_as_mapping);
    RUN(struct_versions_that_are_unknown_are_refused_with_the_number);
    RUN(counts_that_are_absurd_are_refused_before_anything_is_read);
    RUN(arrays_that_are_null_are_refused_with_their_count);
    RUN(no_graph_is_an_error);
    RUN(graph_without_inputs_or_outputs_opens_and_is_refused_at_prepare);
    RUN(duplicate_graph_names_are_refused_by_name);
    RUN(duplicate_tensor_names_are_refused_by_name);
    RUN(duplicate_names_among_many_are_refused_by_name);
    RUN(duplicate_tensor_ids_are_refused_by_name);
    RUN(names_that_are_null_or_empty_are_refused_with_their_place);
    RUN(names_of_1024_bytes_are_taken_and_of_1025_refused);
    RUN(limit_name_bytes_holds_at_its_edge);
    RUN(hostile_names_are_cleaned_in_error_texts);
    RUN(hostile_names_are_cleaned_at_graph_retrieve_and_at_prepare);
    RUN(hostile_names_are_cleaned_in_unsupported_and_in_failure);
    RUN(names_with_percent_slash_and_dots_are_harmless);
    RUN(names_in_utf8_are_kept);
    RUN(names_in_utf8_that_are_cut_stay_utf8);
    RUN(error_text_cut_at_its_end_stays_utf8);
    RUN(rank_0_is_a_scalar);
    RUN(rank_8_is_taken_and_rank_9_needs_the_limit);
    RUN(rank_that_is_absurd_is_refused_before_dims_are_read);
    RUN(dims_that_are_null_are_refused);
    RUN(dimension_0_is_refused_wherever_it_stands);
    RUN(tensor_over_4_gib_opens_and_is_refused_at_prepare_by_name);
    RUN(tensor_of_4_gib_less_1_is_supported);
    RUN(product_past_the_address_space_is_refused_by_name);
    RUN(dtypes_that_are_known_have_their_bytes);
    RUN(dtypes_that_are_unknown_open_and_are_refused_at_prepare_with_their_number);
    RUN(dtype_string_opens_and_is_refused_at_prepare_by_name);
    RUN(dtypes_of_updateable_tensors_do_not_hinder);
    RUN(scale_that_is_no_scale_is_refused_by_name);
    RUN(scales_at_the_edge_of_floats_are_taken);
    RUN(encoding_on_a_float_type_is_a_log_line_only);
    RUN(fixed_type_without_encoding_is_a_log_line_only);
    RUN(bitwidth_over_the_type_is_refused);
    RUN(axis_out_of_range_is_refused_with_both_numbers);
    RUN(axis_with_another_count_is_refused_with_both_numbers);
    RUN(axis_with_null_scales_is_refused_and_null_offsets_are_zeros);
    RUN(encoding_numbers_0_to_13_are_kept_and_3_are_understood);
    RUN(updateable_tensors_are_reported_and_do_not_hinder);
    RUN(optional_tensors_are_reported_and_refused_at_prepare_by_name);
    RUN(dynamic_tensors_are_reported_and_refused_at_prepare_by_name);
    RUN(one_graph_that_cannot_run_leaves_the_other_callable);
    RUN(limit_file_bytes_holds_at_its_edge);
    RUN(limit_file_bytes_holds_for_blocks);
    RUN(limit_file_bytes_is_checked_before_the_file_is_read);
    RUN(limit_arena_bytes_holds_at_its_edge);
    RUN(limit_arena_bytes_stops_many_tensors_of_4_gib);
    RUN(limit_arena_bytes_is_4_gib_by_default);
    RUN(limit_files_holds_at_its_edge);
    RUN(limits_entries_and_places_hold_at_their_edges);
    RUN(limits_steps_and_looks_hold_at_their_edges);
    RUN(limit_files_is_256_by_default);
    RUN(limit_tensors_counts_all_of_one_model);
    RUN(blobs_of_unknown_versions_and_sizes_are_read_as_far_as_they_are_known);
    RUN(a_file_that_changed_while_it_was_opened_is_refused);
    RUN(opening_needs_little_stack);
    RUN(inspect_makes_no_backend_call_and_prepare_answers_state);
    RUN(inspect_reads_what_no_library_here_would_load);
    RUN(inspect_of_damaged_files_fails_like_an_open);
    RUN(inspect_answers_state_before_memory_is_asked_for);
    RUN(contexts_that_need_spill_fill_memory_share_the_most_of_it);
    RUN(keep_going_loads_the_others_and_says_why_one_failed);
    RUN(keep_going_with_nothing_bad_is_a_plain_open);
    RUN(keep_going_with_all_bad_answers_what_failed_first);
    RUN(keep_going_of_files_that_are_missing_keeps_the_error);
    RUN(keep_going_does_not_fill_a_gap_in_the_numbering);
    RUN(keep_going_with_inspect_reads_the_others);
}
