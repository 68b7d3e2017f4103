/* fuzz.h - shared by all fuzz targets: promises that must hold, and the replay of files

   A target defines FUZZ_NAME, includes this file, defines play() and ends with FUZZ_TARGET:

       #define FUZZ_NAME "fuzz_json"
       #include "fuzz.h"
       static void play(const unsigned char *data, size_t size) { ... MUST(...); ... }
       FUZZ_TARGET

   With libFuzzer (clang -fsanitize=fuzzer) this is a target. With -DFUZZ_REPLAY and any C99 compiler it is a program that
   plays the files given as arguments: inputs, or files of corpus.py, which hold many. Its last line is "N passed, N failed". */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Print the broken promise and abort, so that libFuzzer keeps the input. */
#define MUST(cond) \
    do { \
        if (!(cond)) { \
            fprintf(stderr, FUZZ_NAME ": line %d: not so: %s\n", __LINE__, #cond); \
            abort(); \
        } \
    } while (0)

#ifdef FUZZ_REPLAY
/* Play one input in a block of its own size, so that ASan sees a read beyond it. */
static void fuzz_one(const char *path, const char *name, const unsigned char *data, size_t size,
                     void (*one)(const unsigned char *data, size_t size))
{
    unsigned char *copy = (unsigned char *)malloc(size > 0 ? size : 1);
    MUST(copy != NULL);
    memcpy(copy, data, size);
    fprintf(stderr, FUZZ_NAME ": %s %s\n", path, name);    /* after a crash, this last line names the input */
    one(copy, size);
    free(copy);
}

/* Play each input of a packed file, or the file itself. Returns how many there were, 0 for a damaged file. */
static int fuzz_file(const char *path, const unsigned char *data, size_t size, void (*one)(const unsigned char *data, size_t size))
{
    static const char magic[] = "qnnrt corpus\n";
    size_t at = sizeof(magic) - 1;
    int count = 0;
    if (size < at || memcmp(data, magic, at) != 0) {
        fuzz_one(path, "", data, size, one);
        return 1;
    }
    for (; at < size; ++count) {
        char name[256];
        unsigned long bytes = 0;
        const unsigned char *end = (const unsigned char *)memchr(data + at, '\n', size - at);
        if (end == NULL || end - (data + at) >= (int)sizeof(name)) return 0;
        memcpy(name, data + at, (size_t)(end - (data + at)));
        name[end - (data + at)] = 0;
        at = (size_t)(end - data) + 1;
        if (strrchr(name, ' ') == NULL) return 0;
        bytes = strtoul(strrchr(name, ' '), NULL, 10);
        if (bytes >= size - at || data[at + bytes] != '\n') return 0;
        *strrchr(name, ' ') = 0;
        fuzz_one(path, name, data + at, bytes, one);
        at += bytes + 1;
    }
    return count;
}

static int fuzz_replay(int argc, char **argv, void (*one)(const unsigned char *data, size_t size))
{
    int i, passed = 0, failed = 0;
    for (i = 1; i < argc; ++i) {
        static unsigned char data[1 << 20];
        FILE *file = fopen(argv[i], "rb");
        size_t size = file != NULL ? fread(data, 1, sizeof(data), file) : 0;
        int count = file != NULL && size < sizeof(data) ? fuzz_file(argv[i], data, size, one) : 0;
        if (file != NULL) fclose(file);
        if (count == 0) printf(FUZZ_NAME ": cannot read %s, or it is damaged\n", argv[i]);
        failed += count == 0;
        passed += count;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
#define FUZZ_TARGET int main(int argc, char **argv) { return fuzz_replay(argc, argv, play); }
#else
#define FUZZ_TARGET \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { play(data, size); return 0; }
#endif

#endif /* FUZZ_H */
