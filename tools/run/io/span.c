/* span.c - bytes that are read in place, of a file that may be hostile

   Files come from anywhere: every offset and size in them is checked before it is used.

   ROOM     >>span */
#include "run/io/io.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* =====================================================================================
   SPAN                                                                           >>span
   Bytes that are read in place.
   ===================================================================================== */

int span_cut(span from, uint64_t at, uint64_t bytes, span *out)
{
    if (at > from.bytes || bytes > from.bytes - at) return 0;
    out->data = at > 0 ? from.data + at : from.data;       /* which is NULL if nothing is there */
    out->bytes = bytes;
    return 1;
}

int span_number(span from, uint64_t at, unsigned bytes, uint64_t *out)
{
    span piece;
    *out = 0;
    if (!span_cut(from, at, bytes, &piece)) return 0;
    while (bytes-- > 0) *out = *out << 8 | piece.data[bytes];
    return 1;
}

int span_begins(span s, const void *head, size_t bytes)
{
    return s.bytes >= bytes && memcmp(s.data, head, bytes) == 0;
}

char *span_text(span s)
{
    char *text = cli_alloc((size_t)s.bytes + 1, 1);
    if (s.bytes != 0) memcpy(text, s.data, (size_t)s.bytes);
    return text;
}

const char *span_map(const char *path, int follow, span *out)
{
    struct stat status;
    const char *why = NULL;
    out->data = NULL;
    out->bytes = 0;
    const int fd = follow ? cli_open(path)
        : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
    if (fd < 0) return errno == ELOOP ? "it is a link" : strerror(errno);
    if (fstat(fd, &status) != 0) why = strerror(errno);
    else if (!S_ISREG(status.st_mode)) why = "it is not a file";
    else if ((uint64_t)status.st_size > SIZE_MAX) why = "it is too large for this machine";
    else if (status.st_size > 0) {
        void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            why = strerror(errno);
        } else {
            out->data = data;
            out->bytes = (uint64_t)status.st_size;
        }
    }
    close(fd);
    return why;
}

void span_unmap(span s)
{
    if (s.data != NULL) munmap((void *)(uintptr_t)s.data, (size_t)s.bytes);
}
