/* test_os_lies.c - room >>os when the system fails: fstat, mmap, readdir, sysconf, and functions
   that are missing; and a heap of the kernel that this machine does not have

   The program defines its own functions of these names for every caller in it; they call the
   system's unless a test changes that. */
#include "../../qnnrt.h"
#include "qnnrt_device.h"
#include "test.h"
#include "opens.h"
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>

#define NEXT ((void *)-1L)                /* RTLD_NEXT, which POSIX does not define */

/* AddressSanitizer calls these itself, before any code of this program may run. */
#if defined(__SANITIZE_ADDRESS__)
#define OWN_CALLS 0
#elif !defined(__has_feature)
#define OWN_CALLS 1
#elif __has_feature(address_sanitizer)
#define OWN_CALLS 0
#else
#define OWN_CALLS 1
#endif

static struct {
    /* Error of each fstat() after the first `fstat_good`, 0: none. */
    int         fstat_errno;
    int         fstat_good;
    int         negative;           /* files have a negative size */
    /* Error of every mmap() of a file (anonymous: of pages), 0: none. */
    int         mmap_errno;
    int         anonymous;
    int         readdir_errno;
    int         no_page_size;
    int         heap;               /* 1: there is a heap; its ioctl() fails with heap_errno, if not 0 */
    int         heap_errno;
    uint64_t    heap_bytes;         /* of the last allocation */
    int         no_clock;           /* clock_gettime() fails */
    const char *symbol;             /* this function fails; dladdr() is `instead` */
    void       *instead;
} lies;

static void truth(void) { memset(&lies, 0, sizeof(lies)); }

static void real_one(const char *name, void *function)
{
    void *found = dlsym(NEXT, name);
    if (found == NULL) abort();
    memcpy(function, (const void *)&found, sizeof(found));
}

extern int fstat(int fd, struct stat *facts)
{
    static int (*real)(int, struct stat *);
    int result;
    if (real == NULL) real_one("fstat", (void *)&real);
    if (lies.fstat_errno != 0 && lies.fstat_good-- <= 0) { errno = lies.fstat_errno; return -1; }
    result = real(fd, facts);
    if (result == 0 && lies.negative) facts->st_size = -1;
    return result;
}

#if OWN_CALLS
/* Under a name of its own, because <time.h> may declare it with other types. */
extern int own_clock(int clock, void *now) __asm__("clock_gettime");
int own_clock(int clock, void *now)
{
    static int (*real)(int, void *);
    if (real == NULL) real_one("clock_gettime", (void *)&real);
    return lies.no_clock ? -1 : real(clock, now);
}

extern int own_dladdr(const void *address, void *facts) __asm__("dladdr");
int own_dladdr(const void *address, void *facts)
{
    static int (*real)(const void *, void *);
    int (*instead)(const void *, void *) = NULL;
    if (real == NULL) real_one("dladdr", (void *)&real);
    if (lies.symbol == NULL || strcmp(lies.symbol, "dladdr") != 0) return real(address, facts);
    memcpy((void *)&instead, (const void *)&lies.instead, sizeof(instead));
    return instead(address, facts);
}

extern ptrdiff_t own_readlink(const char *path, char *out, size_t bytes) __asm__("readlink");
ptrdiff_t own_readlink(const char *path, char *out, size_t bytes)
{
    static ptrdiff_t (*real)(const char *, char *, size_t);
    if (real == NULL) real_one("readlink", (void *)&real);
    return lies.symbol != NULL && strcmp(lies.symbol, "readlink") == 0 ? -1 : real(path, out, bytes);
}

extern int own_ftruncate(int fd, off_t bytes) __asm__("ftruncate");
int own_ftruncate(int fd, off_t bytes)
{
    static int (*real)(int, off_t);
    if (real == NULL) real_one("ftruncate", (void *)&real);
    if (lies.symbol == NULL || strcmp(lies.symbol, "ftruncate") != 0) return real(fd, bytes);
    errno = ENOSYS;
    return -1;
}
#endif

extern void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (real == NULL) real_one("mmap", (void *)&real);
    if (lies.mmap_errno != 0 && (fd < 0) == lies.anonymous) { errno = lies.mmap_errno; return MAP_FAILED; }
    return real(at, bytes, protection, flags, fd, offset);
}

extern struct dirent *readdir(DIR *folder)
{
    static struct dirent *(*real)(DIR *);
    if (real == NULL) real_one("readdir", (void *)&real);
    if (lies.readdir_errno != 0) { errno = lies.readdir_errno; return NULL; }
    return real(folder);
}

extern long sysconf(int name)
{
    static long (*real)(int);
    if (real == NULL) real_one("sysconf", (void *)&real);
    return lies.no_page_size && name == _SC_PAGESIZE ? -1 : real(name);
}

extern int open(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    va_list arguments;
    unsigned mode;
    va_start(arguments, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    if (real == NULL) real_one("open", (void *)&real);
    if (strncmp(path, "/dev/dma_heap/", 14) != 0) return real(path, flags, mode);
    if (lies.heap && strcmp(path + 14, "system") == 0) return real("/dev/null", flags);
    errno = ENOENT;
    return -1;
}

/* The struct of DMA_HEAP_IOCTL_ALLOC in linux/dma-heap.h. */
typedef struct heap_data { uint64_t bytes; uint32_t fd, fd_flags; uint64_t heap_flags; } heap_data;

extern int ioctl(int fd, unsigned long request, ...)
{
    heap_data *data;
    char path[4096];
    va_list arguments;
    va_start(arguments, request);
    data = va_arg(arguments, heap_data *);
    va_end(arguments);
    if (fd < 0 || request != 0xC0184800u || data->fd != 0 || data->heap_flags != 0 ||
        data->fd_flags != (O_RDWR | 02000000 /* O_CLOEXEC */)) { errno = EINVAL; return -1; }
    if (lies.heap_errno != 0) { errno = lies.heap_errno; return -1; }
    lies.heap_bytes = data->bytes;
    snprintf(path, sizeof(path), "%s/heap", test_tmpdir());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    unlink(path);
    if (fd < 0 || lseek(fd, (off_t)data->bytes - 1, SEEK_SET) < 0 || write(fd, "", 1) != 1) abort();
    data->fd = (uint32_t)fd;
    return 0;
}

#define ONE "FAKEQNN 1\ngraph fwd\nin x 1 0408 2 1 4 s 0.5 -3\nout y 2 0408 2 1 4 s 0.5 -3\n"

static const char *folder_of_one(char path[4096])
{
    const char *folder = test_tmpdir();
    snprintf(path, 4096, "%s/forward_0.bin", folder);
    return test_write_file(path, ONE, strlen(ONE)) ? folder : "";
}

TEST(fstat_that_fails_is_an_io_error)
{
    char path[4096];
    const char *folder = folder_of_one(path);
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    uint64_t bytes = 7;
    truth();
    fake_begin("");
    lies.fstat_errno = EIO;
    CHECK_EQ(qnnrt_file_read(path, NULL, 0, &bytes, &error), QNNRT_E_IO);
    CHECK_STR(error.text, strerror(EIO));
    CHECK_EQ(bytes, 0);
    truth();
    lies.negative = 1;                                /* a real system never does this; it must not become 2^64 */
    CHECK_EQ(qnnrt_file_read(path, NULL, 0, &bytes, &error), QNNRT_OK);
    CHECK_EQ(bytes, 0);
    truth();
    lies.fstat_errno = EIO;
    lies.fstat_good = 1;                              /* the second fstat() fails */
    CHECK_EQ(qnnrt_file_read(path, NULL, 0, &bytes, &error), QNNRT_OK);
    lies.fstat_good = 1;
    TEST_JUNK(error);
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &error), QNNRT_E_IO);
    CHECK(model == NULL);
    CHECK_STR(error.text, "forward_0.bin changed");
    truth();
    TRY(nothing_left());
}

TEST(mmap_that_fails_is_an_io_error_of_a_file_and_missing_memory_of_pages)
{
    char path[4096];
    const char *folder = folder_of_one(path);
    qnnrt_desc desc = new_desc();
    qnnrt_prepare_desc how = { 0 };
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    truth();
    fake_begin("");
    OPENS(folder, &desc, &model);
    CLOSE(model);
    lies.mmap_errno = ENOMEM;                         /* the process has no mappings left */
    FAILS(folder, &desc, QNNRT_E_IO, path, strerror(ENOMEM));
    truth();
    how.guard = 1;
    OPENS(folder, &desc, &model);
    lies.mmap_errno = ENOMEM;
    lies.anonymous = 1;
    CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, &error), QNNRT_E_MEMORY);
    CHECK(run == NULL);
    truth();
    lies.no_page_size = 1;                            /* a page size of 4096 is used instead */
    CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    truth();
    CLOSE(model);
}

/* Count the open descriptors. */
static int descriptors(void)
{
    int fd, count = 0;
    struct stat facts;
    for (fd = 0; fd < 256; ++fd) count += fstat(fd, &facts) == 0;
    return count;
}

TEST(a_heap_of_the_kernel_gives_memory)
{
    char path[4096];
    const char *folder = folder_of_one(path);
    qnnrt_desc desc = new_desc();
    qnnrt_prepare_desc how = { 0 };
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    int i, open_before;
    truth();
    fake_begin("");
    CHECK(qnnrt_device_memory("dmabuf", &how.mem));
    OPENS(folder, &desc, &model);
    open_before = descriptors();
    for (i = 0; i < 20; ++i) {                        /* in a row */
        truth();
        CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, &error), QNNRT_E_UNSUPPORTED);
        CHECK_STR(error.text, "/dev/dma_heap/system");
        CHECK_STR(error.text, strerror(ENOENT));
        CHECK(error.hint[0] != '\0');
        lies.heap = 1;
        lies.heap_errno = ENOMEM;
        CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, &error), QNNRT_E_UNSUPPORTED);
        CHECK_STR(error.text, strerror(ENOMEM));
        lies.heap_errno = 0;
        lies.mmap_errno = ENODEV;
        CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, &error), QNNRT_E_MEMORY);
        CHECK_STR(error.text, strerror(ENODEV));
        CHECK_EQ(descriptors(), open_before);
    }
    lies.mmap_errno = 0;
    CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, &error), QNNRT_OK);
    CHECK_EQ(descriptors(), open_before + 1);
    CHECK(lies.heap_bytes > 64 && lies.heap_bytes < 4096);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(descriptors(), open_before);
    CLOSE(model);
    truth();
}

TEST(shared_memory_passes_over_kinds_that_fail)
{
    char path[4096];
    const char *folder = folder_of_one(path);
    qnnrt_desc desc = new_desc();
    qnnrt_prepare_desc how = { 0 };
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    const qnnrt_transfer_info *list;
    size_t count;
    int step;
    truth();
    fake_begin("");
    CHECK(qnnrt_device_memory("shared", &how.mem));
    OPENS(folder, &desc, &model);
    for (step = 0; step < 3; ++step) {
        lies.heap = step > 0;
        lies.heap_errno = step == 1 ? EPERM : 0;
        CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, &error), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ(qnnrt_run_transfers(run, &list, &count), QNNRT_OK);
        CHECK_EQ(count, 2);
        CHECK_EQ(list[0].registered, 0);
        CHECK_STR(list[0].reason, step < 2 ? "not shared" : "0x3e8");
        qnnrt_run_destroy(run);
    }
    CLOSE(model);
    truth();
}

TEST(readdir_that_fails_is_an_io_error)
{
    char path[4096];
    const char *folder = folder_of_one(path);
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    truth();
    fake_begin("");
    lies.readdir_errno = EIO;
    TEST_JUNK(error);
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &error), QNNRT_E_IO);
    CHECK(model == NULL);
    truth();
    CHECK_STR(error.text, folder);
    CHECK_STR(error.text, strerror(EIO));
    TRY(nothing_left());
}

/* Check that a name without a slash is searched in every place, and that unknown places are left
   out. */
static void is_nowhere(const char *name)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    memset(&desc, 0, sizeof(desc));
    TEST_JUNK(error);
    desc.path = name;
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, &error), QNNRT_E_LIBRARY);
    CHECK(backend == NULL);
    CHECK_STR(error.text, "libqnnrt-test-absent");
    CHECK(text_is_clean(error.text) && error.hint[0] != '\0');
}

TEST(a_name_too_long_for_a_path_is_nowhere)
{
    char name[6000];
    truth();
    memset(name, 'n', sizeof(name));
    memcpy(name, "libqnnrt-test-absent", 20);
    name[sizeof(name) - 1] = '\0';
    TRY(is_nowhere(name));
}

#if OWN_CALLS
typedef struct dl_facts { const char *file; void *base; const char *symbol; void *address; } dl_facts;

static int dladdr_fails(const void *address, void *facts) { (void)address; (void)facts; return 0; }
static int dladdr_knows_no_file(const void *address, void *facts)
{
    (void)address;
    ((dl_facts *)facts)->file = NULL;
    return 1;
}
static int dladdr_knows_a_name(const void *address, void *facts)
{
    (void)address;
    ((dl_facts *)facts)->file = "a_program";
    return 1;
}
static void lie_about(const char *symbol, int (*instead)(const void *, void *))
{
    truth();
    lies.symbol = symbol;
    memcpy((void *)&lies.instead, (const void *)&instead, sizeof(lies.instead));
}

TEST(places_that_the_system_does_not_tell_are_not_searched)
{
    lie_about("dladdr", dladdr_fails);
    TRY(is_nowhere("libqnnrt-test-absent.so"));
    lie_about("dladdr", dladdr_knows_no_file);
    TRY(is_nowhere("libqnnrt-test-absent.so"));
    lie_about("dladdr", dladdr_knows_a_name);
    TRY(is_nowhere("libqnnrt-test-absent.so"));
    CHECK(strstr(error.text, "a_program") == NULL);
    lie_about("readlink", NULL);
    TRY(is_nowhere("libqnnrt-test-absent.so"));
    truth();
}

/* Old systems have the kernel's call, but not the function. */
TEST(anonymous_files_need_no_memfd_create)
{
    char path[4096];
    const char *folder = folder_of_one(path);
    qnnrt_desc desc = new_desc();
    qnnrt_prepare_desc how = { 0 };
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    int open_before;
    truth();
    fake_begin("");
    CHECK(qnnrt_device_memory("memfd", &how.mem));
    OPENS(folder, &desc, &model);
    open_before = descriptors();
    lie_about("memfd_create", NULL);
    CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, &error), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    lie_about("ftruncate", NULL);
    CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, &error), QNNRT_E_UNSUPPORTED);
    CHECK_STR(error.text, "anonymous file");
    CHECK_EQ(descriptors(), open_before);
    truth();
    CLOSE(model);
}

TEST(without_a_clock_times_are_zero)
{
    char path[4096];
    const char *folder = folder_of_one(path);
    qnnrt_desc desc = new_desc();
    qnnrt *model = NULL;
    fake_begin("");
    lies.no_clock = 1;
    OPENS(folder, &desc, &model);
    CHECK_EQ(qnnrt_get_info(model)->contexts->metadata_ns, 0);
    CHECK_EQ(qnnrt_get_info(model)->contexts->create_ns, 0);
    CLOSE(model);
    truth();
    OPENS(folder, &desc, &model);
    CHECK(qnnrt_get_info(model)->contexts->create_ns > 0);
    CLOSE(model);
}
#endif

TEST_MAIN("os_lies")
{
    RUN(a_name_too_long_for_a_path_is_nowhere);
    RUN(fstat_that_fails_is_an_io_error);
    RUN(mmap_that_fails_is_an_io_error_of_a_file_and_missing_memory_of_pages);
    RUN(readdir_that_fails_is_an_io_error);
    RUN(a_heap_of_the_kernel_gives_memory);
    RUN(shared_memory_passes_over_kinds_that_fail);
#if OWN_CALLS
    RUN(places_that_the_system_does_not_tell_are_not_searched);
    RUN(anonymous_files_need_no_memfd_create);
    RUN(without_a_clock_times_are_zero);
#endif
}
