/* test_os.c - rooms >>os and >>err: how files are opened and read, and which characters can be shown.

   The program defines its own open() and read() for every caller in it: they fail with EMFILE or
   EIO, or read less than requested, when a test sets it. */
#include "../../qnnrt.h"
#include "test.h"
#define SYSTEM_OPEN open_or_fail
#include "system.h"
#include "opens.h"
#include <sys/socket.h>
#include <sys/un.h>

static struct {
    int      open_errno;            /* error of every open(), 0: none */
    int      read_errno;            /* error of each read() after the first `read_good`, 0: none */
    unsigned read_good;
    size_t   read_most;             /* bytes that one read() returns, 0: all */
    int      interrupt;             /* this many calls fail with EINTR first */
    /* Number of reads after which the file seems to end, 0: no limit. */
    unsigned cut;
    char     fifo[1100];            /* path that is opened in place of a model's file, "": none */
    unsigned opens, reads;
} os;

static int open_or_fail(int folder, const char *path, int flags, unsigned mode)
{
    ++os.opens;
    if (os.interrupt > 0) { --os.interrupt; errno = EINTR; return -1; }
    if (os.open_errno != 0) { errno = os.open_errno; return -1; }
    if (os.fifo[0] != '\0' && strstr(path, "forward_0") != NULL) path = os.fifo;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

extern ssize_t read(int fd, void *data, size_t bytes)
{
    if (os.interrupt > 0) { --os.interrupt; errno = EINTR; return -1; }
    if (os.read_errno != 0 && os.reads >= os.read_good) { errno = os.read_errno; return -1; }
    if (os.cut > 0 && os.reads >= os.cut) { os.reads = 0; return 0; }
    ++os.reads;
    if (os.read_most != 0 && bytes > os.read_most) bytes = os.read_most;
    return (ssize_t)syscall(SYS_read, fd, data, bytes);
}

/* Make a new file in a folder of its own; return its path. */
static const char *file_of(const char *text)
{
    static char path[2048];
    snprintf(path, sizeof(path), "%s/a.json", test_tmpdir());
    return test_write_file(path, text, strlen(text)) ? path : NULL;
}

static void os_plain(void) { memset(&os, 0, sizeof(os)); }

static void fill(void) { TEST_JUNK(error); }

TEST(file_read_gives_the_size_the_beginning_and_all)
{
    const char *path = file_of("0123456789");
    char text[16];
    uint64_t bytes = 7;
    os_plain();
    fill();
    CHECK_EQ(qnnrt_file_read(path, NULL, 0, &bytes, &error), QNNRT_OK);
    CHECK_EQ(bytes, 10);
    CHECK_EQ(error.code, QNNRT_OK);
    CHECK(error.text[0] == '\0');
    memset(text, '.', sizeof(text));
    CHECK_EQ(qnnrt_file_read(path, text, 4, &bytes, NULL), QNNRT_OK);
    CHECK_EQ(bytes, 10);
    CHECK(memcmp(text, "0123....", 8) == 0);
    CHECK_EQ(qnnrt_file_read(path, text, 10, &bytes, NULL), QNNRT_OK);
    CHECK_EQ(bytes, 10);
    CHECK(memcmp(text, "0123456789......", 16) == 0);
    memset(text, '.', sizeof(text));
    CHECK_EQ(qnnrt_file_read(path, text, sizeof(text), &bytes, NULL), QNNRT_OK);
    CHECK_EQ(bytes, 10);
    CHECK(memcmp(text, "0123456789......", 16) == 0);
}

TEST(file_read_refuses_null)
{
    char text[4];
    uint64_t bytes = 7;
    fill();
    CHECK_EQ(qnnrt_file_read(NULL, text, 4, &bytes, &error), QNNRT_E_ARG);
    CHECK_EQ(error.code, QNNRT_E_ARG);
    CHECK_STR(error.text, "path");
    CHECK_EQ(bytes, 0);
    CHECK_EQ(qnnrt_file_read("a", NULL, 4, &bytes, &error), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_file_read("a", text, 4, NULL, &error), QNNRT_E_ARG);
}

TEST(file_read_tells_a_file_that_is_missing_from_one_that_cannot_be_read)
{
    const char *path = file_of("{}");
    char at[4096];
    uint64_t bytes = 7;
    os_plain();
    snprintf(at, sizeof(at), "%s.b", path);
    fill();
    CHECK_EQ(qnnrt_file_read(at, NULL, 0, &bytes, &error), QNNRT_E_NOT_FOUND);
    CHECK_EQ(error.code, QNNRT_E_NOT_FOUND);
    CHECK_STR(error.text, at);
    CHECK_EQ(bytes, 0);
    snprintf(at, sizeof(at), "%s/b.json", path);      /* a path below a file */
    CHECK_EQ(qnnrt_file_read(at, NULL, 0, &bytes, &error), QNNRT_E_NOT_FOUND);
    memset(at, 'n', sizeof(at) - 1);                  /* a name that is too long for a file */
    at[sizeof(at) - 1] = '\0';
    CHECK_EQ(qnnrt_file_read(at, NULL, 0, &bytes, &error), QNNRT_E_IO);
    CHECK_EQ(os.opens, 0);
}

TEST(file_read_refuses_folders_fifos_sockets_and_devices_without_opening_them)
{
    const char *folder = test_tmpdir();
    struct sockaddr_un name;
    char at[2048];
    uint64_t bytes = 7;
    int fd;
    os_plain();
    CHECK_EQ(qnnrt_file_read(folder, NULL, 0, &bytes, &error), QNNRT_E_IO);
    CHECK_STR(error.text, folder);
    snprintf(at, sizeof(at), "%s/fifo", folder);
    CHECK_EQ(mkfifo(at, 0600), 0);
    CHECK_EQ(qnnrt_file_read(at, NULL, 0, &bytes, &error), QNNRT_E_IO);
    memset(&name, 0, sizeof(name));
    name.sun_family = AF_UNIX;
    snprintf(at, sizeof(at), "%s/socket", folder);
    CHECK(strlen(at) < sizeof(name.sun_path));
    memcpy(name.sun_path, at, strlen(at) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
    CHECK_EQ(qnnrt_file_read(at, NULL, 0, &bytes, &error), QNNRT_E_IO);
    close(fd);
    CHECK_EQ(qnnrt_file_read("/dev/zero", NULL, 0, &bytes, &error), QNNRT_E_IO);
    CHECK_EQ(bytes, 0);
    CHECK_EQ(os.opens, 0);
}

TEST(file_read_survives_short_reads_and_interruptions)
{
    const char *path = file_of("0123456789");
    char text[16];
    uint64_t bytes = 7;
    os_plain();
    os.read_most = 3;
    memset(text, '.', sizeof(text));
    CHECK_EQ(qnnrt_file_read(path, text, sizeof(text), &bytes, NULL), QNNRT_OK);
    CHECK(memcmp(text, "0123456789......", 16) == 0);
    CHECK_EQ(os.reads, 4);
    os_plain();
    os.interrupt = 2;
    CHECK_EQ(qnnrt_file_read(path, text, 10, &bytes, NULL), QNNRT_OK);
    CHECK_EQ(os.opens, 3);
    os_plain();
    os.read_most = 5;
    CHECK_EQ(qnnrt_file_read(path, text, 6, &bytes, NULL), QNNRT_OK);
    CHECK_EQ(os.reads, 2);
}

TEST(file_read_reports_emfile_and_eio_and_gives_the_descriptor_back)
{
    const char *path = file_of("0123456789");
    char text[16];
    uint64_t bytes = 7;
    int fd, next;
    os_plain();
    fd = dup(1);
    close(fd);
    os.open_errno = EMFILE;
    fill();
    CHECK_EQ(qnnrt_file_read(path, text, 10, &bytes, &error), QNNRT_E_IO);
    CHECK_STR(error.text, path);
    CHECK_STR(error.text, strerror(EMFILE));
    CHECK_EQ(bytes, 0);
    os_plain();
    os.read_most = 3;
    os.read_errno = EIO;
    os.read_good = 2;
    fill();
    CHECK_EQ(qnnrt_file_read(path, text, 10, &bytes, &error), QNNRT_E_IO);
    CHECK_STR(error.text, path);
    CHECK_STR(error.text, strerror(EIO));
    CHECK_EQ(os.reads, 2);
    CHECK_EQ(bytes, 0);
    os_plain();
    next = dup(1);
    close(next);
    CHECK_EQ(next, fd);
}

/* ---- models ---------------------------------------------------------------------------------- */

#define ONE "FAKEQNN 1\n# a context binary has at least 64 bytes, and so has this one by this line\n" \
            "graph fwd\nin ids 1 0032 2 1 4 -\nout logits 2 0232 2 1 8 -\n"

/* Make a folder with a binary. */
static const char *folder_of_one(char path[4096])
{
    const char *folder = test_tmpdir();
    snprintf(path, 4096, "%s/forward_0.bin", folder);
    return test_write_file(path, ONE, strlen(ONE)) ? folder : "";
}

/* Opening or reading every file of the model fails: the error names it, and no file stays open. */
TEST(open_reports_emfile_and_eio_with_the_name_of_the_file)
{
    char path[4096], json[4096];
    const char *folder = folder_of_one(path);
    qnnrt_desc desc = new_desc();
    qnnrt_file file;
    qnnrt *model = NULL;
    os_plain();
    fake_begin("");
    OPENS(folder, &desc, &model);                     /* the library is loaded from here on */
    CLOSE(model);
    os.open_errno = EMFILE;
    FAILS(folder, &desc, QNNRT_E_IO, path, strerror(EMFILE));
    os_plain();
    desc.read = 1;
    os.read_errno = EIO;
    FAILS(folder, &desc, QNNRT_E_IO, path, strerror(EIO));
    os_plain();
    /* The first read succeeds, the second fails. */
    os.read_most = 7;
    os.read_errno = EIO;
    os.read_good = 1;
    TEST_JUNK(error);
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &error), QNNRT_E_IO);
    CHECK_STR(error.text, path);
    TRY(nothing_left());
    os_plain();
    snprintf(json, sizeof(json), "%s/forward_0_json.json", folder);
    CHECK(test_write_file(json, "{}", 2));
    memset(&file, 0, sizeof(file));
    file.path = path;
    file.json_path = json;
    desc.files = &file;
    desc.file_count = 1;
    desc.metadata = QNNRT_METADATA_JSON;
    desc.read = 0;
    os.read_errno = EIO;
    FAILS(NULL, &desc, QNNRT_E_IO, json, strerror(EIO));
    os_plain();
}

TEST(open_survives_short_reads_and_interruptions)
{
    char path[4096];
    const char *folder = folder_of_one(path);
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    os_plain();
    fake_begin("");
    desc.read = 1;
    os.read_most = 5;
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_get_info(model)->contexts->graph_count, 1);
    CHECK_EQ(os.reads, (strlen(ONE) + 4) / 5);
    CLOSE(model);
    os_plain();
    os.interrupt = 3;
    OPENS(folder, &desc, &model);
    CHECK_EQ(os.interrupt, 0);
    CLOSE(model);
}

/* Another process cuts a file short while it is read. */
TEST(a_file_cut_short_while_it_is_read_is_an_io_error)
{
    char path[4096], text[16];
    const char *folder = folder_of_one(path);
    qnnrt_desc desc = new_desc();
    uint64_t bytes = 7;
    os_plain();
    fake_begin("");
    desc.read = 1;
    os.read_most = 5;
    os.cut = 2;
    FAILS(folder, &desc, QNNRT_E_IO, path, "shorter");
    os.cut = 1;
    fill();
    CHECK_EQ(qnnrt_file_read(path, text, sizeof(text), &bytes, &error), QNNRT_E_IO);
    CHECK_STR(error.text, path);
    CHECK_EQ(bytes, 0);
    os_plain();
}

/* A file becomes a FIFO after its check: it is opened without waiting, and refused. */
TEST(a_file_replaced_while_it_is_opened_is_refused)
{
    char path[4096];
    const char *folder = folder_of_one(path);
    qnnrt_desc desc = new_desc();
    uint64_t bytes = 7;
    os_plain();
    fake_begin("");
    snprintf(os.fifo, sizeof(os.fifo), "%s/fifo", test_tmpdir());
    CHECK_EQ(mkfifo(os.fifo, 0600), 0);
    FAILS(folder, &desc, QNNRT_E_IO, path, "replaced");
    fill();
    CHECK_EQ(qnnrt_file_read(path, NULL, 0, &bytes, &error), QNNRT_E_IO);
    CHECK_STR(error.text, "replaced");
    CHECK_EQ(bytes, 0);
    os_plain();
}

/* Write the character of a code as UTF-8 of `length` bytes, which may be too many. */
static void utf8_put(uint32_t code, int length, char out[5])
{
    static const unsigned heads[5] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    int i;
    memset(out, 0, 5);
    for (i = length - 1; i > 0; --i, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(heads[length == 1 ? 0 : length] | code);
}

/* Try every code in every length: only one length is valid. */
TEST(utf8_length_takes_the_shortest_form_of_every_character)
{
    uint32_t code, wrong = 0;
    int length, shown;
    char text[5];
    for (code = 1; code < 0x200000; ++code) {
        const int need = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        const int valid = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
        for (length = need; length <= 4; ++length) {
            utf8_put(code, length, text);
            if (qnnrt_utf8_length(text, NULL) != (valid && length == need ? (size_t)need : 0)) ++wrong;
            if (length > 1) text[length - 1] = 'a';      /* cut short */
            if (length > 1 && qnnrt_utf8_length(text, NULL) != 0) ++wrong;
        }
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(qnnrt_utf8_length("", &shown), 1);
    CHECK_EQ(shown, 0);
    CHECK_EQ(qnnrt_utf8_length("\x80", NULL), 0);
    CHECK_EQ(qnnrt_utf8_length("\xFF", NULL), 0);
}

TEST(utf8_length_tells_what_must_not_reach_a_terminal)
{
    static const uint32_t hidden[][2] = {
        { 0x01, 0x1F }, { 0x7F, 0x9F }, { 0xAD, 0xAD }, { 0x61C, 0x61C }, { 0x180E, 0x180E }, { 0x200B, 0x200F }, { 0x2028, 0x202E },
        { 0x2060, 0x206F }, { 0xFEFF, 0xFEFF }, { 0xFFF9, 0xFFFB }, { 0xE0000, 0xE007F }, { 0xFFFE, 0xFFFF }, { 0xD800, 0xDFFF }, { 0x110000, 0x1FFFFF }
    };
    uint32_t code, wrong = 0;
    size_t i;
    for (code = 1; code < 0x200000; ++code) {
        char text[5];
        int hide = 0, shown = -1;
        for (i = 0; i < sizeof(hidden) / sizeof(hidden[0]); ++i) hide |= code >= hidden[i][0] && code <= hidden[i][1];
        utf8_put(code, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, text);
        qnnrt_utf8_length(text, &shown);
        if (shown != !hide) ++wrong;
    }
    CHECK_EQ(wrong, 0);
}

TEST_MAIN("os")
{
    RUN(utf8_length_takes_the_shortest_form_of_every_character);
    RUN(utf8_length_tells_what_must_not_reach_a_terminal);
    RUN(file_read_gives_the_size_the_beginning_and_all);
    RUN(file_read_refuses_null);
    RUN(file_read_tells_a_file_that_is_missing_from_one_that_cannot_be_read);
    RUN(file_read_refuses_folders_fifos_sockets_and_devices_without_opening_them);
    RUN(file_read_survives_short_reads_and_interruptions);
    RUN(file_read_reports_emfile_and_eio_and_gives_the_descriptor_back);
    RUN(open_reports_emfile_and_eio_with_the_name_of_the_file);
    RUN(open_survives_short_reads_and_interruptions);
    RUN(a_file_cut_short_while_it_is_read_is_an_io_error);
    RUN(a_file_replaced_while_it_is_opened_is_refused);
}
