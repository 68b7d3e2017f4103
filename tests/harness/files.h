/* files.h - files of a test, in one folder that is removed at the end

   Needs: test.h                                                                                  */
#ifndef FILES_H
#define FILES_H

#include "test.h"

static inline const char *folder(void)
{
    static const char *made;
    if (made == NULL) made = test_tmpdir();
    return made;
}

/* Return the path of a file, until the call after the next one. */
static inline const char *path_of(const char *name)
{
    static char path[2][1100];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder(), name);
    return path[turn];
}

/* Write a file of bytes; writing over a file waits for the disk on some systems. */
static inline int put_file(const char *name, const void *data, size_t bytes)
{
    remove(path_of(name));
    return test_write_file(path_of(name), data, bytes);
}

#endif /* FILES_H */
