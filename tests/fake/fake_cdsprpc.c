/* fake_cdsprpc.c - a libcdsprpc.so for tests: rpcmem over anonymous files

   With -DOLD it has no rpcmem_alloc2, as in old phones. QNNRT_FAKE_CDSPRPC has rules, read at every
   call: "alloc=N" and "to_fd=N" let the next calls fail, from the Nth on, counted since
   fake_cdsprpc_begin(); "odd=1" gives addresses that are not aligned to a page. The file
   QNNRT_FAKE_CDSPRPC_LOG receives one line per call. A free of what was not allocated aborts. As with
   the phone's, any thread may call. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 64 };
static struct { unsigned char *map, *data; size_t bytes; int fd; } blocks[MOST];
static int allocs, to_fds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Forget counts, and return the number of blocks that are not free. */
int fake_cdsprpc_begin(void);
int fake_cdsprpc_begin(void)
{
    int i, alive = 0;
    allocs = to_fds = 0;
    for (i = 0; i < MOST; ++i) alive += blocks[i].map != NULL;
    return alive;
}

static int rule(const char *name)
{
    const char *rules = getenv("QNNRT_FAKE_CDSPRPC"), *at = rules != NULL ? strstr(rules, name) : NULL;
    return at != NULL ? atoi(at + strlen(name)) : 0;
}

static void say(const char *line)
{
    const char *path = getenv("QNNRT_FAKE_CDSPRPC_LOG");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    if (file == NULL) return;
    fputs(line, file);
    fclose(file);
}

static void *make_locked(const char *name, int heap, uint32_t flags, size_t bytes)
{
    const size_t odd = rule("odd=") != 0 ? 1 : 0, all = bytes + odd;
    char line[200];
    int i = 0, fails;
    ++allocs;
    fails = rule("alloc=") > 0 && allocs >= rule("alloc=");
    snprintf(line, sizeof line, "%s(%d, %u, %zu)%s\n", name, heap, (unsigned)flags, bytes, fails ? " -> NULL" : "");
    say(line);
    while (i < MOST && blocks[i].map != NULL) ++i;
    if (fails || i == MOST) return NULL;
    blocks[i].fd = memfd_create("fake_cdsprpc", MFD_CLOEXEC);
    if (blocks[i].fd < 0 || ftruncate(blocks[i].fd, (off_t)all) != 0) return NULL;
    blocks[i].map = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, blocks[i].fd, 0);
    if (blocks[i].map == MAP_FAILED) {
        blocks[i].map = NULL;
        close(blocks[i].fd);
        return NULL;
    }
    memset(blocks[i].map, 0xA5, all < 4096 ? all : 4096);      /* as the phone: not zeroed */
    blocks[i].bytes = all;
    blocks[i].data = blocks[i].map + odd;
    return blocks[i].data;
}

static void *make(const char *name, int heap, uint32_t flags, size_t bytes)
{
    void *made;
    pthread_mutex_lock(&lock);
    made = make_locked(name, heap, flags, bytes);
    pthread_mutex_unlock(&lock);
    return made;
}

void *rpcmem_alloc(int heap, uint32_t flags, int bytes);
void *rpcmem_alloc(int heap, uint32_t flags, int bytes)
{
    return bytes > 0 ? make("rpcmem_alloc", heap, flags, (size_t)bytes) : NULL;
}

#ifndef OLD
void *rpcmem_alloc2(int heap, uint32_t flags, size_t bytes);
void *rpcmem_alloc2(int heap, uint32_t flags, size_t bytes)
{
    return make("rpcmem_alloc2", heap, flags, bytes);
}
#endif

static int find(const void *data)
{
    int i = 0;
    while (i < MOST && (blocks[i].map == NULL || blocks[i].data != data)) ++i;
    return i;
}

int rpcmem_to_fd(void *data);
int rpcmem_to_fd(void *data)
{
    int i, fails, fd;
    pthread_mutex_lock(&lock);
    i = find(data);
    fails = rule("to_fd=") > 0 && ++to_fds >= rule("to_fd=");
    say(fails ? "rpcmem_to_fd() -> -1\n" : "rpcmem_to_fd()\n");
    fd = i == MOST || fails ? -1 : blocks[i].fd;
    pthread_mutex_unlock(&lock);
    return fd;
}

void rpcmem_free(void *data);
void rpcmem_free(void *data)
{
    int i;
    pthread_mutex_lock(&lock);
    i = find(data);
    say("rpcmem_free()\n");
    if (i == MOST) abort();
    munmap(blocks[i].map, blocks[i].bytes);
    close(blocks[i].fd);
    memset(&blocks[i], 0, sizeof blocks[i]);
    pthread_mutex_unlock(&lock);
}
