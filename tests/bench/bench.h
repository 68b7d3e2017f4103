/* bench.h - the clock of the benches, and the order of its values

   Before it, include a header that asks for POSIX (qnnrt.h with its implementation, or -D_POSIX_C_SOURCE). */
#ifndef BENCH_H
#define BENCH_H

#include <time.h>

/* Return a moment in nanoseconds. */
static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Order doubles for qsort(). */
static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
