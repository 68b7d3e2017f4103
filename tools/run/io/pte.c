/* pte.c - context binaries in ExecuTorch's .pte

   ROOM     >>pte */
#include "run/io/io.h"

/* =====================================================================================
   PTE                                                                             >>pte
   ExecuTorch's programs: delegates, whose bytes are in the flatbuffer or in segments behind it.
   Source: schema/program.fbs, schema/extended_header.h and pte-file-format.md of
   pytorch/executorch; qc_binary_info.fbs of its releases of 2024 for the wrapper of that time.
   ===================================================================================== */

/* Fields of the tables, by their numbers in the schema. */
enum { PTE_PLANS = 1, PTE_INLINE = 3, PTE_SEGMENTS = 4, PTE_PLAN_NAME = 0, PTE_PLAN_DELEGATES = 7,
       PTE_DELEGATE_ID = 0, PTE_DELEGATE_DATA = 1, PTE_DATA_PLACE = 0, PTE_DATA_INDEX = 1,
       PTE_SEGMENT_AT = 0, PTE_SEGMENT_BYTES = 1 };

typedef struct pte {
    flat      f;
    span      file, segments;          /* segments: what follows the program                   */
    flat_list inlined, placed;
    size_t    delegates;               /* that were read                                       */
} pte;

/* Find the bytes of a delegate. Return 0 if they are not in the file. */
static int pte_data(pte *p, flat_table reference, uint64_t *key, span *out)
{
    const uint64_t in_segment = flat_field(&p->f, reference, PTE_DATA_PLACE, 1);
    const uint64_t index = flat_field(&p->f, reference, PTE_DATA_INDEX, 4);
    const flat_list list = in_segment ? p->placed : p->inlined;
    *key = index << 1 | (in_segment != 0);
    if (p->f.wrong != NULL || index >= list.count) return 0;
    const flat_table entry = flat_item(&p->f, list, index);
    if (!in_segment) {
        *out = flat_bytes(&p->f, entry, 0);
        return p->f.wrong == NULL;
    }
    const uint64_t at = flat_field(&p->f, entry, PTE_SEGMENT_AT, 8);
    const uint64_t bytes = flat_field(&p->f, entry, PTE_SEGMENT_BYTES, 8);
    return p->f.wrong == NULL && span_cut(p->segments, at, bytes, out);
}

/* Take a context binary out of the flatbuffer that was around it for two months of 2024. */
static void pte_unwrap_2024(carried *p)
{
    flat f;
    const flat_table root = flat_root(&f, p->data);
    const span inner = flat_bytes(&f, root, 1);
    const head_kind kind = head_of(inner);
    if (f.wrong != NULL || (kind != HEAD_CONTEXT && kind != HEAD_REF)) return;
    p->data = inner;
    p->bytes = inner.bytes;
    p->kind = kind;
}

/* Say of a piece of QnnBackend what it is, if it is not a context binary. */
static void pte_judge(carried *p)
{
    static const unsigned char qcir[] = {0xCD, 0xAB, 0x34, 0x12};
    if (p->kind == HEAD_OTHER && !span_begins(p->data, qcir, sizeof(qcir))) pte_unwrap_2024(p);
    piece_unwrap(p);
    if (p->kind == HEAD_ZIP) p->is_dlc = 1;
    else if (span_begins(p->data, qcir, sizeof(qcir)))
        p->problem = cli_text("it is a graph to compile on the device, not a context binary");
    /* The layout is not documented: what the backend owns is taken in any case. */
    else if (p->problem == NULL && p->kind != HEAD_REF) p->kind = HEAD_CONTEXT;
}

/* Read the delegates of a method. seen: [PIECES_MOST] what each piece was read from. */
static void pte_plan(pte *p, pieces *out, flat_table plan, uint64_t *seen)
{
    OWNED char *method = flat_text(&p->f, plan, PTE_PLAN_NAME);
    const flat_list delegates = flat_items(&p->f, plan, PTE_PLAN_DELEGATES, 4);
    for (uint64_t i = 0; i < delegates.count && p->f.wrong == NULL && out->problem == NULL; ++i) {
        const flat_table delegate = flat_item(&p->f, delegates, i);
        OWNED char *owner = flat_text(&p->f, delegate, PTE_DELEGATE_ID);
        const flat_table reference = flat_child(&p->f, delegate, PTE_DELEGATE_DATA);
        span data = {NULL, 0};
        uint64_t key = 0;
        const int good = pte_data(p, reference, &key, &data);
        size_t k = 0;
        while (k < out->count && seen[k] != key) ++k;
        if (++p->delegates > PIECES_MOST) {
            pieces_problem(out, "it has more than %d delegates", PIECES_MOST);
        } else if (p->f.wrong == NULL && k < out->count) {
            char *longer = cli_text("%.*s, %llu of %s", PIECES_TEXT, out->list[k].where,
                                    (unsigned long long)i, method);
            free(out->list[k].where);
            out->list[k].where = longer;
        } else if (p->f.wrong == NULL) {
            if (k < PIECES_MOST) seen[k] = key;
            carried *added = pieces_add(out, cli_text("delegate %llu of method %s",
                                                    (unsigned long long)i, method), owner, data);
            if (added != NULL && !good) added->problem = cli_text("its bytes are not in the file");
            else if (added != NULL && strcmp(owner, "QnnBackend") == 0) pte_judge(added);
            else if (added != NULL) added->kind = HEAD_OTHER;
        }
    }
}

void pte_read(span file, pieces *out)
{
    pte p;
    span program = file;
    uint64_t length, bytes, base;
    memset(&p, 0, sizeof(p));
    p.file = file;
    if (file.bytes >= 32 && memcmp(file.data + 8, "eh", 2) == 0 &&
        span_number(file, 12, 4, &length) && length >= 24) {
        span_number(file, 16, 8, &bytes);
        span_number(file, 24, 8, &base);
        if (!span_cut(file, 0, bytes, &program) || base > file.bytes) {
            pieces_problem(out, "it was cut short: its head states a program of %llu bytes and"
                           " segments from byte %llu, and it has %llu bytes",
                           (unsigned long long)bytes, (unsigned long long)base,
                           (unsigned long long)file.bytes);
            return;
        }
        if (base != 0) span_cut(file, base, file.bytes - base, &p.segments);
    }
    const flat_table root = flat_root(&p.f, program);
    const flat_list plans = flat_items(&p.f, root, PTE_PLANS, 4);
    OWNED uint64_t *seen = cli_alloc(PIECES_MOST, sizeof(*seen));
    p.inlined = flat_items(&p.f, root, PTE_INLINE, 4);
    p.placed = flat_items(&p.f, root, PTE_SEGMENTS, 4);
    for (uint64_t i = 0; i < plans.count && p.f.wrong == NULL && out->problem == NULL; ++i)
        pte_plan(&p, out, flat_item(&p.f, plans, i), seen);
    if (p.f.wrong != NULL)
        pieces_problem(out, "it is damaged at byte %llu: %s", (unsigned long long)p.f.wrong_at,
                       p.f.wrong);
}
