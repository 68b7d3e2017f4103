/* fuzz.h - shared by all fuzz targets: promises that must hold, and the replay of files

   A target defines FUZZ_NAME, includes this file, defines play() and ends with FUZZ_TARGET:

       #define FUZZ_NAME "fuzz_json"
       #include "fuzz.h"
       static void play(const unsigned char *data, size_t size) { ... MUST(...); ... }
       FUZZ_TARGET

   With libFuzzer (clang -fsanitize=fuzzer) this is a target. With -DFUZZ_REPLAY and any C99 compiler
   it is a program that plays the files given as arguments. Its last line is "N passed, N failed". */
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
static int fuzz_replay(int argc, char **argv, void (*one)(const unsigned char *data, size_t size))
{
    int i, passed = 0, failed = 0;
    for (i = 1; i < argc; ++i) {
        static unsigned char data[1 << 20];
        FILE *file = fopen(argv[i], "rb");
        size_t size = file != NULL ? fread(data, 1, sizeof(data), file) : 0;
        if (file == NULL) { printf(FUZZ_NAME ": cannot read %s\n", argv[i]); ++failed; continue; }
        fclose(file);
        fprintf(stderr, FUZZ_NAME ": %s\n", argv[i]);      /* after a crash, this last line names the file */
        one(data, size);
        ++passed;
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
