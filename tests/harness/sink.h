/* sink.h - text in memory, as callback of a qnnrt_json_writer */
#ifndef SINK_H
#define SINK_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct sink { char *text; size_t used, room, most; } sink;       /* most: beyond it writing fails; 0: never */

static inline int sink_write(void *user, const char *text, size_t bytes)
{
    sink *s = (sink *)user;
    if (s->most > 0 && s->used + bytes > s->most) return 0;
    if (s->used + bytes > s->room) {
        s->room = 2 * (s->used + bytes);
        s->text = (char *)realloc(s->text, s->room);
        if (s->text == NULL) abort();
    }
    memcpy(s->text + s->used, text, bytes);
    s->used += bytes;
    return 1;
}

#endif
