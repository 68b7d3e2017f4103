/* llm_peer.h - shared by the three programs of bench-llm: a clock and the report

   Each prints `key value` lines that tests/bench/bench-llm.py reads: load_us, from the program's first
   line until the first token can be requested; generate_us; rss_kb, hwm_kb and anon_kb of the
   process then; and `text` with the bytes that were generated, in hex. */
#ifndef LLM_PEER_H
#define LLM_PEER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "bench-llm: %s: %s\n", what, why);
    exit(1);
}

static void report_memory(void)
{
    static const struct { const char *field, *key; } wanted[] = {
        { "VmHWM:", "hwm_kb" }, { "VmRSS:", "rss_kb" }, { "RssAnon:", "anon_kb" }
    };
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    if (file == NULL) stop("/proc/self/status", "cannot be read");
    while (fgets(line, sizeof line, file) != NULL) {
        size_t i;
        for (i = 0; i < sizeof wanted / sizeof wanted[0]; ++i)
            if (strncmp(line, wanted[i].field, strlen(wanted[i].field)) == 0)
                printf("%s %ld\n", wanted[i].key, strtol(line + strlen(wanted[i].field), NULL, 10));
    }
    fclose(file);
}

static void report(double load_us, double generate_us, const char *text, size_t bytes)
{
    size_t i;
    printf("load_us %.1f\ngenerate_us %.1f\n", load_us, generate_us);
    report_memory();
    printf("text ");
    for (i = 0; i < bytes; ++i) printf("%02x", (unsigned)(unsigned char)text[i]);
    printf("\n");
    fflush(stdout);
}

#endif /* LLM_PEER_H */
