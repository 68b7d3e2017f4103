/* test_device.c - qnnrt_device.h alone: words for memory, and what its providers give

   test_share.c registers what they give, and in test_os_lies.c the system refuses. */
#include "qnnrt_device.h"
#include "test.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static qnnrt_error error;

TEST(words_choose_memory)
{
    static const struct { const char *word; qnnrt_mem_kind kind; const char *name; } words[] = {
        { "heap", QNNRT_MEM_HEAP, NULL }, { "shared", QNNRT_MEM_SHARED, "dmabuf" }, { "rpcmem", QNNRT_MEM_RPCMEM, NULL },
        { "dmabuf", QNNRT_MEM_PROVIDER, "dmabuf" }, { "memfd", QNNRT_MEM_PROVIDER, "memfd" }
    };
    qnnrt_mem_desc desc;
    size_t i;
    memset(&desc, 0, sizeof desc);
    for (i = 0; i < sizeof words / sizeof words[0]; ++i) {
        CHECK_EQ(qnnrt_device_memory(words[i].word, &desc), 1);
        CHECK_EQ(desc.kind, words[i].kind);
        CHECK_EQ(desc.provider.alloc != NULL, words[i].name != NULL);
        CHECK(words[i].name == NULL || strcmp(desc.provider.name, words[i].name) == 0);
    }
    CHECK_EQ(qnnrt_device_memory("ion", &desc), 0);
    CHECK_EQ(desc.kind, QNNRT_MEM_PROVIDER);
    CHECK(strcmp(desc.provider.name, "memfd") == 0);
}

TEST(anonymous_files_hold_what_is_written)
{
    const size_t bytes = ((size_t)1 << 20) + 5;
    qnnrt_mem_desc desc;
    qnnrt_mem_provider provider;
    struct stat facts;
    unsigned char back = 0;
    qnnrt_mem_block block = { ((size_t)1 << 20) + 5, 64, NULL, -1, 0, 0, NULL };
    void *data;
    int fd;
    CHECK_EQ(qnnrt_device_memory("memfd", &desc), 1);
    provider = desc.provider;
    CHECK_EQ(provider.alloc(provider.user, NULL, &block, &error), QNNRT_OK);
    data = block.data;
    fd = block.fd;
    CHECK(data != NULL && fd >= 0);
    CHECK_EQ((uintptr_t)data % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
    CHECK_EQ(fstat(fd, &facts), 0);
    CHECK_EQ((size_t)facts.st_size, bytes);
    ((unsigned char *)data)[bytes - 1] = 0x5A;                       /* the last byte of the file */
    CHECK_EQ(lseek(fd, (off_t)bytes - 1, SEEK_SET), (off_t)bytes - 1);
    CHECK_EQ(read(fd, &back, 1), 1);
    CHECK_EQ(back, 0x5A);
    provider.free(provider.user, &block);
    CHECK_EQ(fstat(fd, &facts), -1);                               /* closed */
    CHECK_EQ(errno, EBADF);
}

TEST(names_of_heaps_are_plain)
{
    static const char *const names[] = { "", ".", "..", ".hidden", "a/b", "../null", "/dev/null" };
    char name[2000];
    qnnrt_mem_provider provider;
    qnnrt_mem_block block = { 4096, 64, NULL, -1, 0, 0, NULL };
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; ++i) {
        provider = qnnrt_device_heap(names[i]);
        TEST_JUNK(error);
        CHECK_EQ(provider.alloc(provider.user, NULL, &block, &error), QNNRT_E_ARG);
        CHECK_EQ(error.code, QNNRT_E_ARG);
        CHECK_STR(error.text, "/dev/dma_heap");
    }
    memset(name, 'h', sizeof name);
    for (i = 0; i < 2; ++i) {                                        /* beyond a path, and the longest */
        name[i == 0 ? sizeof name - 1 : 400] = '\0';
        provider = qnnrt_device_heap(name);
        CHECK_EQ(provider.alloc(provider.user, NULL, &block, &error),
                 i == 0 ? QNNRT_E_ARG : QNNRT_E_UNSUPPORTED);
    }
    CHECK(block.data == NULL);
}

TEST_MAIN("device")
{
    RUN(words_choose_memory);
    RUN(anonymous_files_hold_what_is_written);
    RUN(names_of_heaps_are_plain);
}
