/* counted.h - hooks that count their allocations, and fail once: allocation number fail_at, from
   0 */
#ifndef COUNTED_H
#define COUNTED_H

#include <stdlib.h>

/* Allocations so far, the one that fails, and the live ones. */
static long allocations, fail_at, live;

static void *counted_alloc(void *user, size_t bytes)
{
    void *data = allocations++ == fail_at || bytes > 1 << 30 ? NULL : malloc(bytes);
    (void)user;
    if (data != NULL) ++live;
    return data;
}

static void counted_free(void *user, void *data)
{
    (void)user;
    --live;
    free(data);
}

#endif
