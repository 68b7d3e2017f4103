/* test_device.c - qnnrt_device.h alone: what a machine is, words for memory, what providers give

   test_share.c registers what they give, and in test_os_lies.c the system refuses. */
#include "qnnrt_device.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Write a file below the root of a copy of a device. */
static void put(const char *root, const char *name, const char *text)
{
    char path[512];
    FILE *file;
    char *at;
    snprintf(path, sizeof path, "%s%s", root, name);
    for (at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        mkdir(path, 0700);
    }
    file = fopen(path, "w");
    CHECK(file != NULL);
    if (file == NULL) return;
    fputs(text, file);
    fclose(file);
}

TEST(a_machine_is_known_by_its_files)
{
    static const struct { const char *id, *soc_id; uint32_t number; const char *name; uint32_t arch; } chips[] = {
        { NULL, "557\n", 557, "SM8650", 75 }, { "618", "557", 618, "SM8750", 79 }, { "text", "519 \n", 519, "SM8550", 73 },
        { "99999", "557", 99999, NULL, 0 }, { "99999999999999999999", "-1", 0, NULL, 0 }, { "", "12x", 0, NULL, 0 }
    };
    char root[64], command[128];
    qnnrt_device_facts facts;
    size_t i, k, count;
    const qnnrt_device_chip *all = qnnrt_device_chips(&count);
    CHECK(count > 20);
    for (i = 0; i < count; ++i) {
        CHECK(all[i].name[0] != '\0' && all[i].sold != NULL && all[i].ids[3] == 0);
        CHECK(all[i].arch == 0 || (all[i].arch >= 66 && all[i].arch < 100));
    }
    for (i = 0; i < sizeof chips / sizeof chips[0]; ++i) {
        snprintf(root, sizeof root, "/tmp/test_device.%ld.%u", (long)getpid(), (unsigned)i);
        mkdir(root, 0700);
        qnnrt_device_look(root, &facts);
        CHECK(facts.soc_id == 0 && facts.chip == NULL && facts.node == NULL && facts.node_closed == NULL);
        CHECK(facts.transport == NULL && facts.memory == 0 && facts.memory_free == 0);
        if (chips[i].id != NULL) put(root, "/sys/devices/system/soc/soc0/id", chips[i].id);
        put(root, "/sys/devices/soc0/soc_id", chips[i].soc_id);
        put(root, "/dev/adsprpc-smd-secure", "");
        put(root, "/system/lib64/libcdsprpc.so", "");
        put(root, "/proc/meminfo", "MemTotal:       11534336 kB\nMemFree: 5 kB\nMemAvailable:    2048 kB\n");
        qnnrt_device_look(root, &facts);
        CHECK_EQ(facts.soc_id, chips[i].number);
        CHECK_EQ(facts.chip != NULL ? facts.chip->arch : 0, chips[i].arch);
        CHECK(chips[i].name == NULL ? facts.chip == NULL : strcmp(facts.chip->name, chips[i].name) == 0);
        CHECK_STR(facts.node, "/dev/adsprpc-smd-secure");
        CHECK_EQ(facts.node_unsigned, 0);
        CHECK_STR(facts.transport, "/system/lib64");
        CHECK_EQ(facts.memory, (uint64_t)11534336 << 10);
        CHECK_EQ(facts.memory_free, (uint64_t)2 << 20);
        put(root, "/dev/cdsprpc-smd", "");
        qnnrt_device_look(root, &facts);
        CHECK_STR(facts.node, "/dev/cdsprpc-smd");
        CHECK_EQ(facts.node_unsigned, 1);
        snprintf(command, sizeof command, "rm -r %s", root);
        CHECK_EQ(system(command), 0);
    }
    qnnrt_device_look(NULL, &facts);                                  /* this machine */
    CHECK(facts.memory > 0 && facts.memory_free <= facts.memory && facts.page_bytes >= 4096);
    memset(command, 'r', sizeof command);
    command[sizeof command - 1] = '\0';
    for (k = 0; k < 2; ++k) {                                         /* roots that are none */
        qnnrt_device_look(k == 0 ? command : "/dev/null", &facts);
        CHECK(facts.soc_id == 0 && facts.memory == 0 && facts.node == NULL);
    }
}

TEST_MAIN("device")
{
    RUN(a_machine_is_known_by_its_files);
    RUN(words_choose_memory);
    RUN(anonymous_files_hold_what_is_written);
    RUN(names_of_heaps_are_plain);
}
