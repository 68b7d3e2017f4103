/* json_check.c - the verdict of qnnrt_json.h on files, for suites of test cases

       json_check FILE...

   One line for each file, "FILE: accept" or "FILE: refuse BYTE: WHY". Exit status 0 when all could be
   read, 2 when no file was given. */
#include "../../qnnrt_json.h"
#include "test.h"

int main(int argc, char **argv)
{
    int i, unread = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: json_check FILE...\n");
        return 2;
    }
    for (i = 1; i < argc; ++i) {
        size_t bytes;
        char *text = (char *)test_read_file(argv[i], &bytes);
        qnnrt_json_reader r;
        if (text == NULL) {
            fprintf(stderr, "json_check: cannot read %s\n", argv[i]);
            unread = 1;
            continue;
        }
        qnnrt_json_begin(&r, text, bytes, NULL);
        if (qnnrt_json_skip(&r) && qnnrt_json_end(&r)) printf("%s: accept\n", argv[i]);
        else printf("%s: refuse %lu: %s\n", argv[i], (unsigned long)r.error_at, r.error);
        free(text);
    }
    return unread;
}
