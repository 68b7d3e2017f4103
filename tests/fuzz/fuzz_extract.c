/* fuzz_extract.c - hostile files that carry context binaries: read them as qnnrt-run extract does, and unpack all pieces

   An input is a file. Whatever happens, there must be no crash and no leak; a piece lies within the file or was unpacked
   from it, has a name that is safe, and unpacks to as many bytes as it states or says what is wrong. The replay also plays
   each small file cut at every byte, and with every byte changed in two ways. */
#include "run/io/io.h"
#define FUZZ_NAME "fuzz_extract"
#include "fuzz.h"

const char cli_name[] = "fuzz_extract";

typedef struct sum { uint64_t bytes, value; } sum;

static int add_up(void *user, const unsigned char *data, size_t bytes)
{
    sum *s = user;
    size_t i;
    for (i = 0; i < bytes; ++i) s->value += data[i];
    s->bytes += bytes;
    return 1;
}

static int is_owned(const pieces *found, span part)
{
    size_t i;
    for (i = 0; i < found->owned_count; ++i)
        if (part.data >= (const unsigned char *)found->owned[i]) return 1;
    return 0;
}

static void once(const unsigned char *data, size_t size)
{
    extract e;
    size_t i;
    memset(&e, 0, sizeof(e));
    e.path = "folder/a file.zip";
    e.all.data = data;
    e.all.bytes = size;
    e.kind = head_of(e.all);
    if (e.kind == HEAD_WRAPPED) {
        carried *whole = pieces_add(&e.found, cli_text("whole"), "", e.all);
        if (whole != NULL) piece_unwrap(whole);
    }
    container_read(e.all, e.kind, &e.found, 0);
    name_pieces(&e, 1);
    for (i = 0; i < e.found.count; ++i) {
        const carried *p = &e.found.list[i];
        sum s = {0, 0};
        MUST(p->where != NULL && p->owner != NULL);
        MUST(p->problem == NULL || p->file == NULL);
        if (p->file != NULL) {
            MUST(p->file[0] != '\0' && p->file[0] != '.' && strchr(p->file, '/') == NULL);
            MUST(strspn(p->file, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.") == strlen(p->file));
        }
        if (p->data.data != NULL) {
            add_up(&s, p->data.data, (size_t)p->data.bytes);
            MUST(p->data.bytes == p->bytes);
            MUST((p->data.data >= data && p->data.data + p->data.bytes <= data + size) || is_owned(&e.found, p->data));
        } else if (p->packed.packed.data != NULL) {
            uint64_t work = ARCHIVE_WORK(p->bytes);
            const char *wrong = zip_unpack(&p->packed, &work, add_up, &s);
            MUST(s.bytes <= p->bytes);
            MUST(wrong != NULL || s.bytes == p->bytes);
        }
    }
    for (i = 0; i < e.found.graph_count; ++i) MUST(e.found.graphs[i].name != NULL);
    pieces_free(&e.found);
}

/* In memory of exactly this size, so that a byte after the end is found. */
static void exact(const unsigned char *data, size_t size)
{
    unsigned char *copy = malloc(size != 0 ? size : 1);
    MUST(copy != NULL);
    memcpy(copy, data, size);
    once(copy, size);
    free(copy);
}

static void play(const unsigned char *data, size_t size)
{
    exact(data, size);
#ifdef FUZZ_REPLAY
    if (size <= 1024) {
        static const unsigned char masks[] = {0xFF, 0x01};
        unsigned char *copy = malloc(size + 1);
        size_t i, k;
        MUST(copy != NULL);
        for (i = 0; i < size; ++i) exact(data, i);
        for (i = 0; i < size; ++i)
            for (k = 0; k < sizeof(masks); ++k) {
                memcpy(copy, data, size);
                copy[i] ^= masks[k];
                exact(copy, size);
            }
        free(copy);
    }
#endif
}

FUZZ_TARGET
