/* qnnrt_device.h - v0.4.0 - what an app on a device may want beyond qnnrt.h: memory of the kernel

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt.h"
       #define QNNRT_DEVICE_IMPLEMENTATION          #include "qnnrt_device.h"
       #include "qnnrt.h"
       #include "qnnrt_device.h"
   It is a friend of qnnrt.h: where it is implemented, so is qnnrt.h, before it. qnnrt_json.h lies
   beside qnnrt.h. Link with -ldl. Where QNN is not FastRPC's, or libcdsprpc.so
   cannot be loaded, tensors lie in a heap of the kernel:

       qnnrt_prepare_desc desc = {0};
       desc.mem.kind = QNNRT_MEM_PROVIDER;
       desc.mem.provider = qnnrt_device_heap("system");
       if (qnnrt_prepare_with(model, "forward", &desc, &run, &err) != QNNRT_OK) puts(err.text);

   Uses     qnnrt.h, its private names too, and libc.
   Memory   What providers give comes from the kernel; nothing else is allocated.
   Threads  The header creates none. Providers may be used on any thread.
   Globals  Constant tables only. The header prints nothing and never aborts.

   WORDS
       heap          /dev/dma_heap/<name> of the kernel, which gives buffers with a file descriptor
       memfd         an anonymous file in memory; NPUs do not take it, libQnnRef.so does

   BUILD OPTIONS, to define before the header is first included
       QNNRT_DEVICE_API   replaces the storage and export prefix of all functions (default:
                          QNNRT_API)
       The options of qnnrt.h work here too.

   ROOMS (search for the tag)
       >>map >>heap >>memfd >>memory
*/
#ifndef QNNRT_DEVICE_H
#define QNNRT_DEVICE_H

#include "qnnrt.h"

#if QNNRT_VERSION_MAJOR != 0 || QNNRT_VERSION_MINOR != 4
#error "qnnrt_device.h and qnnrt.h are of different versions: take both from one release"
#endif

#ifndef QNNRT_DEVICE_API
#define QNNRT_DEVICE_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Return the provider for a heap of the kernel.
   heap     plain name of a file in /dev/dma_heap, valid as long as the memory (default NULL:
            "system")
   A qnnrt_mem_create() with it returns QNNRT_E_ARG (not a plain name), QNNRT_E_UNSUPPORTED (no such
   heap, no permission, no memory in it), QNNRT_E_MEMORY (it cannot be mapped). */
QNNRT_DEVICE_API qnnrt_mem_provider qnnrt_device_heap(const char *heap);

/* Return the provider for anonymous files. A qnnrt_mem_create() with it returns
   QNNRT_E_UNSUPPORTED (the system has none, or no room), QNNRT_E_MEMORY (it cannot be mapped). */
QNNRT_DEVICE_API qnnrt_mem_provider qnnrt_device_memfd(void);

/* Return the providers for what QNNRT_MEM_SHARED may take after FastRPC's allocator: the heap
   "system", then, for libQnnRef.so only, an anonymous file. */
QNNRT_DEVICE_API qnnrt_mem_provider qnnrt_device_shared(void);

/* Choose memory by a word, for options of programs: "heap" (plain memory), "shared" (FastRPC's
   allocator, else qnnrt_device_shared(), else plain memory), "rpcmem", "dmabuf" (the heap "system")
   or "memfd".
   desc     its kind and provider are set
   Returns  1; or 0 for another word, with desc as it was */
QNNRT_DEVICE_API int qnnrt_device_memory(const char *word, qnnrt_mem_desc *desc);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_DEVICE_H, end of the declarations */

#ifdef QNNRT_DEVICE_IMPLEMENTATION
#ifndef QNNRT_DEVICE__IMPL_ONCE
#define QNNRT_DEVICE__IMPL_ONCE

#ifndef QNNRT__IMPL_ONCE
#error "qnnrt_device.h is implemented where qnnrt.h is: define QNNRT_IMPLEMENTATION, too"
#endif

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   MAP                                                                              >>map
   The address of what a file descriptor stands for.
   Needs: >>err     Knows nothing of: where the descriptor comes from
   ===================================================================================== */

/* Map all of a descriptor; where that fails, close it. */
static qnnrt_result qnnrt_device__map(int fd, size_t bytes, void **data, qnnrt_error *err)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const char *why = at == MAP_FAILED ? strerror(errno) : NULL;
    *data = at;
    if (why == NULL) return QNNRT_OK;
    *data = NULL;
    close(fd);
    return qnnrt__fail(err, QNNRT_E_MEMORY, "cannot map %llu bytes of file descriptor %d: %s",
                       (unsigned long long)bytes, fd, why);
}

/* The free of all providers. */
static void qnnrt_device__map_free(void *user, void *data, size_t bytes, int fd)
{
    (void)user;
    munmap(data, bytes);
    if (fd >= 0) close(fd);
}

/* =====================================================================================
   HEAP                                                                            >>heap
   Memory of a heap of the kernel.
   Source: the kernel's linux/dma-heap.h.
   Needs: >>err >>map     Knows nothing of: other kinds of memory
   ===================================================================================== */

enum { QNNRT_DEVICE__CLOEXEC = 02000000 };       /* O_CLOEXEC of Linux, hidden by -std=c99 */

/* Allocate from the heap at a path. Return the descriptor, or -1 with the system's text in *why. */
static int qnnrt_device__heap_take(const char *path, size_t bytes, const char **why)
{
    struct { uint64_t bytes; uint32_t fd, fd_flags; uint64_t heap_flags; } wanted;
    int heap, result;
    *why = NULL;
    do heap = open(path, O_RDONLY | QNNRT_DEVICE__CLOEXEC);
    while (heap < 0 && errno == EINTR);
    if (heap < 0) {
        *why = strerror(errno);
        return -1;
    }
    memset(&wanted, 0, sizeof(wanted));
    wanted.bytes = bytes;
    wanted.fd_flags = (uint32_t)(O_RDWR | QNNRT_DEVICE__CLOEXEC);
    result = ioctl(heap, 0xC0184800u /* DMA_HEAP_IOCTL_ALLOC */, (void *)&wanted);
    if (result != 0) *why = strerror(errno);
    close(heap);
    return result == 0 ? (int)wanted.fd : -1;
}

static qnnrt_result qnnrt_device__heap_alloc(void *user, const qnnrt_backend *backend, size_t bytes,
                                             void **data, int *fd, qnnrt_error *err)
{
    static const char folder[] = "/dev/dma_heap/";
    const char *heap = user != NULL ? (const char *)user : "system", *why;
    char path[512];
    const size_t length = strlen(heap);
    (void)backend;
    if (heap[0] == '\0' || heap[0] == '.' || strchr(heap, '/') != NULL ||
        length >= sizeof(path) - sizeof(folder))
        return qnnrt__fail(err, QNNRT_E_ARG, "heap \"%.100s\" is not a name in /dev/dma_heap",
                           heap);
    memcpy(path, folder, sizeof(folder) - 1);
    memcpy(path + sizeof(folder) - 1, heap, length + 1);
    *fd = qnnrt_device__heap_take(path, bytes, &why);
    if (*fd < 0)
        return qnnrt__fail(err, QNNRT_E_UNSUPPORTED, "cannot allocate %llu bytes from %s: %s",
                           (unsigned long long)bytes, path, why);
    return qnnrt_device__map(*fd, bytes, data, err);
}

QNNRT_DEVICE_API qnnrt_mem_provider qnnrt_device_heap(const char *heap)
{
    qnnrt_mem_provider provider;
    provider.name = "dmabuf";
    provider.alloc = qnnrt_device__heap_alloc;
    provider.free = qnnrt_device__map_free;
    memcpy((void *)&provider.user, (const void *)&heap, sizeof(heap));     /* without its const */
    provider.next = NULL;
    return provider;
}

/* =====================================================================================
   ANONYMOUS FILES                                                                >>memfd
   Functions that old systems lack, or -std=c99 hides, are looked up by name.
   Needs: >>err >>map     Knows nothing of: other kinds of memory
   ===================================================================================== */

/* Copy the address of a function of the running program to `to`. Return 0 if it is missing. */
static int qnnrt_device__memfd_find(const char *symbol, void *to)
{
    void *self = dlopen(NULL, RTLD_NOW), *found = self != NULL ? dlsym(self, symbol) : NULL;
    if (self != NULL) dlclose(self);
    memcpy(to, (const void *)&found, sizeof(found));
    return found != NULL;
}

/* Make an anonymous file. Android has memfd_create() since API 30, and the kernel's call since
   Linux 3.17. Return the descriptor, or -1 with errno. */
static int qnnrt_device__memfd_make(void)
{
    enum { CLOSE_ON_EXEC = 1 };
    int (*make)(const char *, unsigned) = NULL;
    if (qnnrt_device__memfd_find("memfd_create", (void *)&make))
        return make("qnnrt", CLOSE_ON_EXEC);
#if defined(__x86_64__) || defined(__aarch64__)
    {
#ifdef __aarch64__
        const long number = 279;
#else
        const long number = 319;
#endif
        long (*call)(long, ...) = NULL;
        if (qnnrt_device__memfd_find("syscall", (void *)&call))
            return (int)call(number, "qnnrt", (unsigned)CLOSE_ON_EXEC);
    }
#endif
    errno = ENOSYS;
    return -1;
}

static qnnrt_result qnnrt_device__memfd_alloc(void *user, const qnnrt_backend *backend,
                                              size_t bytes, void **data, int *fd, qnnrt_error *err)
{
    int (*resize)(int, off_t) = NULL;
    const char *why = NULL;
    (void)user;
    (void)backend;
    *fd = qnnrt_device__memfd_make();
    if (*fd < 0) why = strerror(errno);
    else if (!qnnrt_device__memfd_find("ftruncate", (void *)&resize)) why = strerror(ENOSYS);
    else if (resize(*fd, (off_t)bytes) != 0) why = strerror(errno);
    if (why == NULL) return qnnrt_device__map(*fd, bytes, data, err);
    if (*fd >= 0) close(*fd);
    return qnnrt__fail(err, QNNRT_E_UNSUPPORTED,
                       "cannot make an anonymous file of %llu bytes: %s",
                       (unsigned long long)bytes, why);
}

QNNRT_DEVICE_API qnnrt_mem_provider qnnrt_device_memfd(void)
{
    qnnrt_mem_provider provider;
    provider.name = "memfd";
    provider.alloc = qnnrt_device__memfd_alloc;
    provider.free = qnnrt_device__map_free;
    provider.user = NULL;
    provider.next = NULL;
    return provider;
}

/* =====================================================================================
   MEMORY                                                                        >>memory
   Which kind of memory to take.
   Needs: >>err >>abi >>backend (its struct) >>map >>heap >>memfd
   Knows nothing of: how memory is made
   ===================================================================================== */

/* libQnnRef.so takes any descriptor. */
static qnnrt_result qnnrt_device__memory_ref(void *user, const qnnrt_backend *backend, size_t bytes,
                                             void **data, int *fd, qnnrt_error *err)
{
    if (backend == NULL || backend->info.id != (uint32_t)QNNRT__ABI_BACKEND_REF)
        return qnnrt__fail(err, QNNRT_E_UNSUPPORTED, "anonymous files are for libQnnRef.so");
    return qnnrt_device__memfd_alloc(user, backend, bytes, data, fd, err);
}

QNNRT_DEVICE_API qnnrt_mem_provider qnnrt_device_shared(void)
{
    static const qnnrt_mem_provider ref = {
        "memfd", qnnrt_device__memory_ref, qnnrt_device__map_free, NULL, NULL
    };
    qnnrt_mem_provider provider = qnnrt_device_heap(NULL);
    provider.next = &ref;
    return provider;
}

QNNRT_DEVICE_API int qnnrt_device_memory(const char *word, qnnrt_mem_desc *desc)
{
    const int shared = strcmp(word, "shared") == 0, dmabuf = strcmp(word, "dmabuf") == 0;
    const int memfd = strcmp(word, "memfd") == 0, rpcmem = strcmp(word, "rpcmem") == 0;
    if (!shared && !dmabuf && !memfd && !rpcmem && strcmp(word, "heap") != 0) return 0;
    memset(&desc->provider, 0, sizeof(desc->provider));
    if (shared) desc->provider = qnnrt_device_shared();
    if (dmabuf) desc->provider = qnnrt_device_heap(NULL);
    if (memfd) desc->provider = qnnrt_device_memfd();
    desc->kind = shared ? QNNRT_MEM_SHARED
                 : rpcmem ? QNNRT_MEM_RPCMEM
                 : dmabuf || memfd ? QNNRT_MEM_PROVIDER
                                   : QNNRT_MEM_HEAP;
    return 1;
}

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_DEVICE__IMPL_ONCE */
#endif /* QNNRT_DEVICE_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.4.0   First version: heaps of the kernel and anonymous files, which were in qnnrt.h.
   --------------------------------------------------------------------------------------------- */
