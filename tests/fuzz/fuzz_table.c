/* fuzz_table.c - hostile JSON: text -> table -> wiring -> plan

   An input is one to four JSON documents, separated by bytes 0x1E, followed by CONTROL bytes that
   choose limits, failing allocations and plans. Whatever happens, there must be no crash, no leak,
   an error text without control characters; and after success the tables keep the promises of the
   header, JSON written from them reads back as the same tables, edges join equal tensors, and plans
   share no byte at one time. */
#define QNNRT_IMPLEMENTATION
#include "../../qnnrt.h"
#include "meta.h"
#define FUZZ_NAME "fuzz_table"
#include "fuzz.h"

enum { CONTROL = 8, DOCUMENTS = 4, PAIRS_MOST = 300, SEPARATOR = 0x1E };

#include "fuzz_model.h"

/* ---- promises ------------------------------------------------------------------------------- */

static qnnrt_limits limits;

static void check_pipeline(const qnnrt_pipeline *p)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(p);
    qnnrt_error err;
    size_t i;
    MUST(info->name != NULL && info->step_count > 0);
    if (info->failure != NULL) { MUST(info->failure->text[0] != 0); text_clean(info->failure->text, 1); return; }
    for (i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *e = &info->edges[i];
        MUST(e->from_step < e->to_step && e->to_step < info->step_count && e->reason != NULL);
        MUST(e->from->dtype == e->to->dtype && e->from->bytes == e->to->bytes && e->from->rank == e->to->rank);
        MUST(e->from->rank == 0 || memcmp(e->from->dims, e->to->dims, e->from->rank * sizeof(uint32_t)) == 0);
        MUST(e->from->quant.encoding == e->to->quant.encoding);
        if (e->from->quant.encoding == QNNRT_ENCODING_PER_TENSOR)
            MUST(meta_bits(e->from->quant.scale) == meta_bits(e->to->quant.scale) && e->from->quant.offset == e->to->quant.offset);
        MUST(e->slot >= info->slots && e->slot < info->slots + info->slot_count);
        MUST(e->slot->role == QNNRT_ROLE_EDGE && e->slot->tensor == e->from);
        MUST(e->slot->first == e->from_step && e->slot->last >= e->to_step);
    }
    for (i = 0; i < info->slot_count && i < 100; ++i) {
        const qnnrt_slot *s = &info->slots[i];
        const qnnrt_slot *found = (const qnnrt_slot *)p;
        MUST(s->tensor != NULL && s->first <= s->last && s->last < info->step_count && s->address != NULL);
        (void)GOOD(qnnrt_slot_find(p, s->address, s->role, &found, fresh(&err)), found != NULL ? s : NULL, &err);
        MUST(found == s);
    }
}

static void check_plan(const qnnrt_plan *plan, const qnnrt_plan_desc *desc)
{
    const qnnrt_plan_info *info = qnnrt_plan_get_info(plan);
    size_t i, k, most = info->block_count < PAIRS_MOST ? info->block_count : (size_t)PAIRS_MOST;
    MUST(info->bound <= info->peak && info->peak <= info->naive && info->peak <= limits.arena_bytes);
    for (i = 0; i < most; ++i) {
        const qnnrt_plan_block *a = &info->blocks[i];
        MUST(a->bytes > 0 && a->offset <= info->peak && a->bytes <= info->peak - a->offset);
        MUST(a->first <= a->last && a->entry < desc->entry_count);
        MUST(a->offset % (desc->align != 0 ? desc->align : 64) == 0);
        MUST((size_t)(a->slot - qnnrt_pipeline_get_info(desc->entries[a->entry].pipeline)->slots) <
             qnnrt_pipeline_get_info(desc->entries[a->entry].pipeline)->slot_count);
        MUST(a->bytes >= a->slot->tensor->bytes);
        for (k = 0; k < i; ++k) {
            const qnnrt_plan_block *b = &info->blocks[k];
            uint32_t ga = desc->entries[a->entry].group, gb = desc->entries[b->entry].group;
            int apart = a->offset >= b->offset + b->bytes || b->offset >= a->offset + a->bytes;
            int one_line = !a->kept && !b->kept && (a->entry == b->entry || (ga == gb && ga != 0));
            MUST(apart || (one_line && (a->last < b->first || b->last < a->first)));
        }
    }
}

static void play_plan(const qnnrt_pipeline *const *pipelines, size_t count)
{
    qnnrt_entry_desc entries[3];
    qnnrt_plan_desc desc;
    qnnrt_plan *plan = NULL;
    qnnrt_error err;
    size_t i;
    memset(entries, 0, sizeof(entries));
    memset(&desc, 0, sizeof(desc));
    desc.entries = entries;
    desc.entry_count = 1 + (size_t)chance(3);
    for (i = 0; i < desc.entry_count; ++i) {
        entries[i].pipeline = pipelines[chance(count)];
        entries[i].group = (uint32_t)chance(3);
        entries[i].reuse_inputs = (int)chance(2);
    }
    desc.align = chance(3) ? 0 : 1u << chance(13);
    if (!GOOD(qnnrt_plan_create(&desc, &plan, fresh(&err)), plan, &err)) return;
    check_plan(plan, &desc);
    MUST(qnnrt_plan_destroy(plan) == QNNRT_OK);
}

/* Check that JSON written from a table reads back as this table, and that the comparison of the two
   agrees. */
static void check_again(const qnnrt_context_info *c)
{
    qnnrt_desc desc;
    qnnrt_file file;
    qnnrt_error err;
    qnnrt *model = NULL;
    qnnrt__table table;
    meta_text json, one, other;
    uint64_t fail_at = alloc_fail_at;
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    memset(&table, 0, sizeof(table));
    memset(&json, 0, sizeof(json));
    memset(&one, 0, sizeof(one));
    memset(&other, 0, sizeof(other));
    alloc_fail_at = 0;
    meta_write(&json, c, control[1] & 3, NULL);
    meta_put_context(&one, c);
    file.json_data = json.data;
    file.json_bytes = json.used;
    desc.files = &file;
    desc.file_count = 1;
    desc.inspect = 1;
    desc.limits = limits;
    desc.limits.json_bytes = 0;
    desc.backend_desc.hooks.alloc = hook_alloc;
    desc.backend_desc.hooks.free = hook_free;
    MUST(GOOD(qnnrt_open(NULL, &desc, &model, fresh(&err)), model, &err));
    meta_put_context(&other, qnnrt_get_info(model)->contexts);
    MUST(strcmp(one.data, other.data) == 0);
    table.file = "a";
    table.err = &err;
    MUST(qnnrt__compare(&table, c, qnnrt_get_info(model)->contexts, "one", "other") == QNNRT_OK);
    MUST(qnnrt_close(model) == QNNRT_OK);
    meta_free(&json);
    meta_free(&one);
    meta_free(&other);
    alloc_fail_at = fail_at;
}

static void play_model(qnnrt *model)
{
    const qnnrt_pipeline *pipelines[8];
    size_t count = qnnrt_get_info(model)->pipeline_count, wired = 0, contexts, c, g, i;
    const qnnrt_context_info *infos = qnnrt_get_info(model)->contexts;
    contexts = qnnrt_get_info(model)->context_count;
    qnnrt_error err;
    char name[512];
    MUST(contexts > 0 && qnnrt_get_info(model)->backend == NULL && qnnrt_get_info(model)->system_path[0] == '\0');
    for (c = 0; c < contexts; ++c) {
        const char *why = meta_check(&infos[c], &limits);
        if (why != NULL) fprintf(stderr, "fuzz_table: the table has %s\n", why);
        MUST(why == NULL);
        MUST(infos[c].json_file != NULL && !infos[c].from_system);
        if (infos[c].failure != NULL) { text_clean(infos[c].failure->text, 1); continue; }
        MUST(infos[c].from_json);
        check_again(&infos[c]);
        for (g = 0; g < infos[c].graph_count && g < 8; ++g) {
            const qnnrt_graph_info *graph = &infos[c].graphs[g];
            const qnnrt_pipeline *single = NULL;
            if (graph->unsupported != NULL) text_clean(graph->unsupported, 0);
            if (strlen(graph->name) >= 300) continue;
            snprintf(name, sizeof(name), "%u/%s", (unsigned)c, graph->name);
            (void)GOOD(qnnrt_pipeline_find(model, name, &single, fresh(&err)), single, &err);
            if (single != NULL) check_pipeline(single);
        }
    }
    for (i = 0; i < count; ++i) {
        const qnnrt_pipeline *p = qnnrt_get_info(model)->pipelines[i];
        MUST(p != NULL);
        check_pipeline(p);
        if (qnnrt_pipeline_get_info(p)->failure == NULL && wired < 8) pipelines[wired++] = p;
    }
    for (i = 0; i < wired; ++i) play_plan(&pipelines[i], 1);
    if (wired > 1) play_plan(pipelines, wired);
    if (wired > 0) {
        qnnrt_run *run = NULL;      /* nothing runs without a backend */
        MUST(!GOOD(qnnrt_prepare(model, qnnrt_pipeline_get_info(pipelines[0])->name, &run, fresh(&err)), run, &err));
    }
}

/* Read a document as genie_config.json of a folder without binaries. */
static void play_bins(const char *text, size_t bytes)
{
    qnnrt_json_reader r;
    qnnrt__scan scan;
    qnnrt_error err;
    size_t more;
    memset(&scan, 0, sizeof(scan));
    scan.list = "genie_config.json";
    qnnrt_json_begin(&r, text, bytes, NULL);
    qnnrt_json_value(&r);
    if (qnnrt__folder_bins(&scan, "folder", 5, &r, &more, fresh(&err)) != QNNRT_OK) text_clean(err.text, 1);
    MUST(scan.listed == 0);
}

static void play(const unsigned char *data, size_t size)
{
    qnnrt_file files[DOCUMENTS];
    char *texts[DOCUMENTS];
    size_t count = 0, at = 0, i, text;
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model = NULL;
    if (size < CONTROL) return;
    text = size - CONTROL;
    chance_begin(data + text, CONTROL);
    memset(files, 0, sizeof(files));
    memset(&desc, 0, sizeof(desc));
    while (count < DOCUMENTS && (at < text || count == 0)) {
        size_t end = at;
        while (end < text && !(count + 1 < DOCUMENTS && data[end] == SEPARATOR)) ++end;
        /* The copy ends where its memory ends, so that a read past it is found. */
        texts[count] = (char *)malloc(end > at ? end - at : 1);
        MUST(texts[count] != NULL);
        memcpy(texts[count], data + at, end - at);
        files[count].json_data = texts[count];
        files[count].json_bytes = end - at;
        files[count].json_path = count % 2 == 0 ? "a\x1b[31m.json" : NULL;
        ++count;
        at = end + 1;
    }
    desc.files = files;
    desc.file_count = count;
    desc.inspect = 1;
    desc.metadata = control[0] & 1 ? QNNRT_METADATA_JSON : QNNRT_METADATA_ALL;
    desc.keep_going = control[0] >> 1 & 1;
    desc.limits.rank = control[2] < 40 ? control[2] : 0;
    desc.limits.name_bytes = control[3] < 60 ? control[3] : 0;
    desc.limits.tensors = control[4] < 20 ? control[4] : 0;
    desc.limits.arena_bytes = (uint64_t)1 << (control[5] % 40 + 1);
    desc.limits.json_bytes = control[6] == 7 ? 700 : 0;
    desc.backend_desc.hooks.alloc = hook_alloc;
    desc.backend_desc.hooks.free = hook_free;
    if (control[0] & 4) desc.backend_desc.hooks.log = hook_log;
    limits = desc.limits;
    if (limits.rank == 0) limits.rank = 8;
    if (limits.name_bytes == 0) limits.name_bytes = 1024;
    alloc_count = alloc_sum = 0;
    alloc_fail_at = control[7] >= 128 ? (uint64_t)(control[7] & 63) : 0;
    alloc_fail_on = control[7] >> 6 & 1;
    for (i = 0; i < count; ++i) play_bins(files[i].json_data, files[i].json_bytes);
    if (GOOD(qnnrt_open(NULL, &desc, &model, fresh(&err)), model, &err)) play_model(model);
    else MUST(alloc_sum <= (uint64_t)40 * text + 400000);
    for (i = 0; i < count; ++i) free(texts[i]);
    MUST(qnnrt_close(model) == QNNRT_OK);
    MUST(alloc_live == 0 && alloc_bytes == 0);
}

FUZZ_TARGET
