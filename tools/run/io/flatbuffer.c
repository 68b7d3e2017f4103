/* flatbuffer.c - tables of FlatBuffers, of a file that may be hostile

   ROOM     >>flatbuffer */
#include "run/io/io.h"

/* =====================================================================================
   FLATBUFFER                                                               >>flatbuffer
   Tables, lists and texts of a flatbuffer. The first fault stops all reading.
   Source: the format's public description (FlatBuffers internals).
   ===================================================================================== */

void flat_fail(flat *f, const char *wrong, uint64_t at)
{
    if (f->wrong != NULL) return;
    f->wrong = wrong;
    f->wrong_at = at;
}

uint64_t flat_number(flat *f, uint64_t at, unsigned bytes)
{
    uint64_t value = 0;
    if (f->wrong == NULL && !span_number(f->all, at, bytes, &value))
        flat_fail(f, "a number is outside", at);
    return value;
}

/* Return where the offset at this place leads. Offsets lead forward, so nothing contains itself; a
   file in which many lead to the same place is refused, because each is read once. */
static uint64_t flat_follow(flat *f, uint64_t at)
{
    const uint64_t offset = flat_number(f, at, 4);
    if (f->wrong == NULL && (offset < 4 || offset > f->all.bytes - at))
        flat_fail(f, "an offset leads outside", at);
    if (f->wrong == NULL && f->left-- == 0)
        flat_fail(f, "it refers to the same data too often", at);
    return f->wrong == NULL ? at + offset : 0;
}

static flat_table flat_table_at(flat *f, uint64_t at)
{
    flat_table table = {0, 0, 0};
    const int64_t back = (int32_t)(uint32_t)flat_number(f, at, 4);
    if (f->wrong != NULL) return table;
    const int64_t fields = (int64_t)at - back;
    if (fields < 0 || (uint64_t)fields > f->all.bytes) {
        flat_fail(f, "the fields of a table are outside", at);
        return table;
    }
    const uint64_t bytes = flat_number(f, (uint64_t)fields, 2);
    if (f->wrong == NULL && (bytes < 4 || bytes % 2 != 0 ||
                             bytes > f->all.bytes - (uint64_t)fields))
        flat_fail(f, "the fields of a table are damaged", (uint64_t)fields);
    if (f->wrong != NULL) return table;
    table.at = at;
    table.fields = (uint64_t)fields;
    table.count = (unsigned)(bytes - 4) / 2;
    return table;
}

flat_table flat_root(flat *f, span all)
{
    f->all = all;
    f->left = all.bytes / 4 + 1;
    f->wrong = NULL;
    f->wrong_at = 0;
    return flat_table_at(f, flat_follow(f, 0));
}

/* Return the place of a field, or 0: it has its default. */
static uint64_t flat_place(flat *f, flat_table t, unsigned field)
{
    if (f->wrong != NULL || t.at == 0 || field >= t.count) return 0;
    const uint64_t offset = flat_number(f, t.fields + 4 + 2 * (uint64_t)field, 2);
    return offset != 0 ? t.at + offset : 0;
}

uint64_t flat_field(flat *f, flat_table t, unsigned field, unsigned bytes)
{
    const uint64_t at = flat_place(f, t, field);
    return at != 0 ? flat_number(f, at, bytes) : 0;
}

flat_table flat_child(flat *f, flat_table t, unsigned field)
{
    const flat_table none = {0, 0, 0};
    const uint64_t at = flat_place(f, t, field);
    return at != 0 ? flat_table_at(f, flat_follow(f, at)) : none;
}

flat_list flat_items(flat *f, flat_table t, unsigned field, unsigned item_bytes)
{
    flat_list list = {0, 0};
    const uint64_t place = flat_place(f, t, field);
    if (place == 0) return list;
    const uint64_t at = flat_follow(f, place), count = flat_number(f, at, 4);
    if (f->wrong == NULL && count > (f->all.bytes - at - 4) / item_bytes)
        flat_fail(f, "a list ends outside", at);
    if (f->wrong != NULL) return list;
    list.at = at + 4;
    list.count = count;
    return list;
}

flat_table flat_item(flat *f, flat_list list, uint64_t i)
{
    return flat_table_at(f, flat_follow(f, list.at + 4 * i));
}

span flat_bytes(flat *f, flat_table t, unsigned field)
{
    span out = {NULL, 0};
    const flat_list list = flat_items(f, t, field, 1);
    if (list.at != 0) span_cut(f->all, list.at, list.count, &out);
    return out;
}

char *flat_text(flat *f, flat_table t, unsigned field)
{
    span text = flat_bytes(f, t, field);
    if (text.bytes > PIECES_TEXT) text.bytes = PIECES_TEXT;
    return span_text(text);
}
