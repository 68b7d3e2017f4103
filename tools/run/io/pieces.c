/* pieces.c - what was found in files of others that carry context binaries

   The readers look for contexts and note where they are. They write nothing, and open nothing but
   a file that an .onnx names beside it.

   ROOM     >>pieces */
#include "run/io/io.h"

/* =====================================================================================
   PIECES                                                                       >>pieces
   What was found in a file: context binaries, .dlc containers, and what is neither.
   ===================================================================================== */

const char *const head_names[] = {
    "other", "context binary", "context binary of libQnnRef.so",
    "context binary behind ExecuTorch's head", "ExecuTorch program", "ONNX model", "zip archive"};

/* A model of ONNX has no magic number: its first field is the version of the format, 1 to 63, and
   then comes another one of the first fields. */
static int is_onnx(span s)
{
    static const unsigned char next[] = {0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42};
    return s.bytes >= 8 && s.data[0] == 8 && s.data[1] > 0 && s.data[1] < 64 &&
           memchr(next, s.data[2], sizeof(next)) != NULL;
}

head_kind head_of(span s)
{
    static const unsigned char context[] = {0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1};
    static const unsigned char wrapped[] = {0xCD, 0xAB, 0x78, 0x56};
    if (span_begins(s, context, sizeof(context))) return HEAD_CONTEXT;
    if (span_begins(s, "QNNRTREF", 8)) return HEAD_REF;
    if (span_begins(s, wrapped, sizeof(wrapped))) return HEAD_WRAPPED;
    if (span_begins(s, "PK\3\4", 4) || span_begins(s, "PK\5\6", 4)) return HEAD_ZIP;
    if (s.bytes >= 8 && memcmp(s.data + 4, "ET", 2) == 0 && s.data[6] >= '0' && s.data[6] <= '9' &&
        s.data[7] >= '0' && s.data[7] <= '9') return HEAD_PTE;
    return is_onnx(s) ? HEAD_ONNX : HEAD_OTHER;
}

void pieces_problem(pieces *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (p->problem == NULL) p->problem = cli_text_list(format, list);
    va_end(list);
}

carried *pieces_add(pieces *p, char *where, const char *owner, span data)
{
    if (p->count == PIECES_MOST) {
        pieces_problem(p, "it has more than %d pieces", PIECES_MOST);
        free(where);
        return NULL;
    }
    p->list = cli_grow(p->list, p->count, &p->room, sizeof(*p->list));
    carried *added = &p->list[p->count++];
    memset(added, 0, sizeof(*added));
    added->where = where;
    added->owner = cli_text("%s", owner);
    added->data = data;
    added->bytes = data.bytes;
    added->kind = head_of(data);
    return added;
}

void piece_unwrap(carried *p)
{
    static const uint64_t heads[] = {256, 20};
    static const unsigned char zeros[16] = {0};
    uint64_t size = 0;
    span inner;
    if (p->kind != HEAD_WRAPPED) return;
    if (!span_number(p->data, 12, 8, &size)) {
        p->problem = cli_text("it ends within ExecuTorch's head");
        return;
    }
    for (int pass = 0; pass < 2; ++pass)
        for (size_t i = 0; i < 2; ++i) {
            if (!span_cut(p->data, heads[i], size, &inner)) continue;
            const head_kind kind = head_of(inner);
            /* First by what is there, then by what must be there. */
            if (pass == 0 ? kind != HEAD_CONTEXT && kind != HEAD_REF
                          : heads[i] + size != p->data.bytes ||
                            span_begins(inner, zeros, sizeof(zeros))) continue;
            p->data = inner;
            p->bytes = size;
            p->kind = kind == HEAD_REF ? kind : HEAD_CONTEXT;
            return;
        }
    p->problem = cli_text("ExecuTorch's head states %llu bytes, and %llu follow",
                          (unsigned long long)size, (unsigned long long)(p->data.bytes - 20));
}

int piece_is_context(const carried *p)
{
    return p->problem == NULL && (p->kind == HEAD_CONTEXT || p->kind == HEAD_REF);
}

void pieces_free(pieces *p)
{
    for (size_t i = 0; i < p->count; ++i) {
        free(p->list[i].where);
        free(p->list[i].owner);
        free(p->list[i].problem);
        free(p->list[i].stem);
        free(p->list[i].file);
    }
    for (size_t i = 0; i < p->graph_count; ++i) {
        for (size_t k = 0; k < p->graphs[i].count; ++k) free(p->graphs[i].tensors[k].name);
        free(p->graphs[i].tensors);
        free(p->graphs[i].name);
    }
    for (size_t i = 0; i < p->map_count; ++i) span_unmap(p->maps[i]);
    for (size_t i = 0; i < p->owned_count; ++i) free(p->owned[i]);
    free(p->list);
    free(p->graphs);
    free(p->maps);
    free(p->owned);
    free(p->problem);
    memset(p, 0, sizeof(*p));
}
