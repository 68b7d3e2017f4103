/* fuzz_meta.c - hostile metadata: mutated texts for the fake library, through every call that a model has

   `make fuzz FUZZ=meta` runs it (the fake is a library of its own, with the same sanitizers);
   fuzz.h describes how files are replayed.

   An input is one to four texts as in tests/fake/README, separated by lines "====", followed by CONTROL bytes
   that choose calls, limits and failing allocations. Whatever happens, there must be no crash, no leak, no handle
   left in the fake, an error text without control characters, and after success the promises of the header.     */
#include "../../qnnrt.h"
#define FUZZ_NAME "fuzz_meta"
#include "fuzz.h"
#include <dlfcn.h>

#ifndef TEST_FAKE_LIB
#define TEST_FAKE_LIB "build/fake/libQnnFake.so"
#endif

enum { CONTROL = 16, BLOCKS = 4, NAMES = 64, PAIRS_MOST = 400, VALUES = 512 };

#include "fuzz_model.h"
#include "bind.h"

static int locked;

static void hook_lock(void *user) { (void)user; MUST(!locked); locked = 1; }
static void hook_unlock(void *user) { (void)user; MUST(locked); locked = 0; }

/* ---- the fake ------------------------------------------------------------------------------- */

static void (*fake_stats)(uint64_t *);
static void (*fake_reset)(void);

static void fake_begin(void)
{
    static const char *const ids[2] = { "", ",fail=contextCreateFromBinary:0x1388:2" };
    char knobs[128];
    void *library, *symbol;
    if (fake_stats == NULL) {
        library = dlopen(TEST_FAKE_LIB, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) { fprintf(stderr, "%s\n", dlerror()); exit(2); }
        symbol = dlsym(library, "fake_qnn_stats");
        MUST(symbol != NULL);
        memcpy((void *)&fake_stats, (void *)&symbol, sizeof(symbol));
        symbol = dlsym(library, "fake_qnn_reset");
        MUST(symbol != NULL);
        memcpy((void *)&fake_reset, (void *)&symbol, sizeof(symbol));
    }
    snprintf(knobs, sizeof(knobs), "info=%u,ginfo=%u,tensor=%u%s", control[1] % 3u + 1, control[1] / 3u % 3u + 1,
             control[1] / 9u % 2u + 1, ids[control[1] / 18u % 8u == 7]);
    setenv("QNNFAKE", knobs, 1);
    fake_reset();
}

static void ledger_empty(void)
{
    uint64_t stats[16];
    fake_stats(stats);
    MUST(stats[0] + stats[1] + stats[2] + stats[3] + stats[4] + stats[10] == 0);
    MUST(stats[7] == 0);
    MUST(alloc_live == 0 && alloc_bytes == 0 && !locked);
}

/* The fake returns any count in the text, also one larger than its list. No program can survive a
   vendor library whose list is shorter than its count, so such lines become comments unless the
   number is far above every limit. */
static void defuse(char *text, size_t size)
{
    static const char *const words[2] = { "lie", "rank=" };
    size_t at, w, k;
    for (at = 0; at < size; ++at)
        for (w = 0; w < 2; ++w) {
            size_t length = strlen(words[w]);
            uint64_t number = 0;
            if (size - at < length || memcmp(text + at, words[w], length) != 0) continue;
            k = at + length;
            while (k < size && text[k] != '\n' && (text[k] < '0' || text[k] > '9')) ++k;
            if (k == size || text[k] == '\n') continue;
            while (k < size && text[k] >= '0' && text[k] <= '9' && number < 10000000000u) number = number * 10 + (uint64_t)(text[k++] - '0');
            if (number < 4000000) text[at] = '#';
        }
}

/* ---- promises ------------------------------------------------------------------------------- */

static qnnrt_limits limits;

__extension__ typedef unsigned __int128 wide;      /* products of sizes do not overflow in it */

static void check_tensor(const qnnrt_tensor_info *t)
{
    wide count = 1, bytes;
    uint32_t i, bits = (uint32_t)t->dtype & 0xFF;
    MUST(t->name != NULL && t->name[0] != '\0' && strlen(t->name) <= limits.name_bytes);
    MUST(t->rank <= limits.rank && (t->rank == 0 || t->dims != NULL));
    for (i = 0; i < t->rank; ++i) MUST(t->dims[i] > 0);
    /* A type without a size is reported and never run. */
    if (t->bytes == 0) {
        const char *name = qnnrt_dtype_name(t->dtype);
        MUST(t->count == 0 && (strcmp(name, "unknown") == 0 || strcmp(name, "string") == 0 || strcmp(name, "undefined") == 0));
        return;
    }
    for (i = 0; i < t->rank; ++i) { count *= t->dims[i]; MUST(count <= UINT64_MAX); }
    bits = bits == 0x64 ? 64 : bits == 0x32 ? 32 : bits == 0x16 || bits == 0x26 ? 16 : bits;
    MUST(bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32 || bits == 64);
    bytes = (count * bits + 7) / 8;
    MUST(t->count == (uint64_t)count && t->bytes == (uint64_t)bytes && bytes <= UINT64_MAX / 2);
    if (t->quant.encoding == QNNRT_ENCODING_PER_AXIS) {
        MUST(t->quant.axis >= 0 && (uint32_t)t->quant.axis < t->rank);
        MUST(t->quant.count == t->dims[t->quant.axis] && t->quant.scales != NULL);
    }
}

static int same_facts(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    uint32_t i;
    if (a->dtype != b->dtype || a->rank != b->rank || a->bytes != b->bytes || a->quant.encoding != b->quant.encoding) return 0;
    for (i = 0; i < a->rank; ++i) if (a->dims[i] != b->dims[i]) return 0;
    if (a->quant.encoding == QNNRT_ENCODING_PER_TENSOR)
        return memcmp(&a->quant.scale, &b->quant.scale, sizeof(float)) == 0 && a->quant.offset == b->quant.offset &&
               a->quant.bitwidth == b->quant.bitwidth;
    if (a->quant.encoding != QNNRT_ENCODING_PER_AXIS) return 1;
    if (a->quant.axis != b->quant.axis || a->quant.count != b->quant.count) return 0;
    for (i = 0; i < a->quant.count; ++i)
        if (memcmp(&a->quant.scales[i], &b->quant.scales[i], sizeof(float)) != 0 ||
            (a->quant.offsets != NULL ? a->quant.offsets[i] : 0) != (b->quant.offsets != NULL ? b->quant.offsets[i] : 0)) return 0;
    return 1;
}

static void check_pipeline(const qnnrt_pipeline *p)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(p);
    qnnrt_error err;
    size_t i;
    MUST(info->name != NULL && info->step_count > 0);
    for (i = 0; i < info->step_count; ++i) MUST(info->steps[i].graph != NULL && info->steps[i].model != NULL);
    if (info->failure != NULL) { MUST(info->failure->text[0] != 0); text_clean(info->failure->text, 1); return; }
    for (i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *e = &info->edges[i];
        MUST(e->from_step < e->to_step && e->to_step < info->step_count && e->reason != NULL);
        MUST(same_facts(e->from, e->to));
        MUST(e->slot >= info->slots && e->slot < info->slots + info->slot_count);
        MUST(e->slot->role == QNNRT_ROLE_EDGE && e->slot->tensor == e->from);
        MUST(e->slot->first == e->from_step && e->slot->last >= e->to_step);
    }
    for (i = 0; i < info->slot_count && i < 200; ++i) {
        const qnnrt_slot *s = &info->slots[i];
        const qnnrt_slot *found = (const qnnrt_slot *)p;
        MUST(s->tensor != NULL && s->first <= s->last && s->last < info->step_count && s->address != NULL);
        (void)GOOD(qnnrt_slot_find(p, s->address, s->role, &found, fresh(&err)), found != NULL ? s : NULL, &err);
        MUST(found == s);
    }
}

/* Look up names that exist, that nearly exist, and that do not exist. */
static const char *some_name(const qnnrt_pipeline_info *info, char *out, size_t room)
{
    const char *name = "nothing";
    const qnnrt_graph_info *graph;
    size_t at;
    if (info->step_count > 0) {
        graph = info->steps[chance(info->step_count)].graph;
        name = graph->name;
        at = (size_t)chance(graph->input_count + graph->output_count);
        if (at < graph->input_count) name = graph->inputs[at].name;
        else if (at < graph->input_count + graph->output_count) name = graph->outputs[at - graph->input_count].name;
    }
    switch (chance(6)) {
    case 0:  snprintf(out, room, "%u/%s", (unsigned)chance(5), name); break;
    case 1:  snprintf(out, room, "%.*s", (int)chance(8), name); break;
    case 2:  snprintf(out, room, "0%u/%u/%s", (unsigned)chance(3), (unsigned)chance(3), name); break;
    case 3:  snprintf(out, room, "999999999%s/%s", chance(2) ? "9" : "", name); break;
    default: snprintf(out, room, "%s", name); break;
    }
    return out;
}

/* ---- plans and runs ------------------------------------------------------------------------- */

static void check_plan(const qnnrt_plan *plan, const qnnrt_plan_desc *desc)
{
    const qnnrt_plan_info *info = qnnrt_plan_get_info(plan);
    size_t i, k, most = info->block_count < PAIRS_MOST ? info->block_count : (size_t)PAIRS_MOST;
    MUST(info->bound <= info->peak && info->peak <= info->naive && info->peak <= limits.arena_bytes);
    for (i = 0; i < most; ++i) {
        const qnnrt_plan_block *a = &info->blocks[i];
        MUST(a->bytes > 0 && a->offset <= info->peak && a->bytes <= info->peak - a->offset);
        MUST(a->first <= a->last);
        MUST(a->offset % (desc->align != 0 ? desc->align : 64) == 0 || a->entry == SIZE_MAX);
        for (k = 0; k < i; ++k) {
            const qnnrt_plan_block *b = &info->blocks[k];
            uint32_t ga = a->entry != SIZE_MAX ? desc->entries[a->entry].group : 0, gb = b->entry != SIZE_MAX ? desc->entries[b->entry].group : 0;
            int apart = a->offset >= b->offset + b->bytes || b->offset >= a->offset + a->bytes;
            int one_line = !a->kept && !b->kept && (a->entry == b->entry || (ga == gb && ga != 0));
            MUST(apart || (one_line && (a->last < b->first || b->last < a->first)));
        }
    }
}

static uint64_t sum_of(const void *data, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    uint64_t hash = 1469598103934665603u;
    while (bytes-- > 0) hash = (hash ^ *at++) * 1099511628211u;
    return hash;
}

/* Write and read values of one slot, also ranges that do not exist. */
static void play_values(qnnrt_run *run, const qnnrt_slot *slot, const qnnrt_tensor_info *t)
{
    float floats[VALUES];
    int32_t ints[VALUES];
    uint64_t begin = chance(3) ? chance(t->count) : chance(4) ? t->count - chance(3) : UINT64_MAX - chance(3);
    size_t count = (size_t)chance(VALUES), i;
    int inside = begin <= t->count && count <= t->count - begin;
    qnnrt_result results[4];
    if (chance(2) && t->count - begin < VALUES && begin <= t->count) { count = (size_t)(t->count - begin); inside = 1; }
    for (i = 0; i < VALUES; ++i) {
        uint32_t bits = (uint32_t)chance(0x80000000u) << 1 ^ (uint32_t)chance(0x80000000u);
        memcpy(&floats[i], &bits, sizeof(bits));
        ints[i] = (int32_t)bits;
    }
    results[0] = qnnrt_write_f32(run, slot, begin, floats, count);
    results[1] = qnnrt_read_f32(run, slot, begin, floats, count);
    results[2] = qnnrt_write_i32(run, slot, begin, ints, count);
    results[3] = qnnrt_read_i32(run, slot, begin, ints, count);
    for (i = 0; i < 4; ++i) {
        if (!inside) MUST(results[i] == QNNRT_E_MISMATCH);
        else MUST(results[i] == QNNRT_OK || results[i] == QNNRT_E_UNSUPPORTED || results[i] == QNNRT_E_ARG);
        if (results[i] != QNNRT_OK) text_clean(qnnrt_run_error(run)->text, 1);
    }
}

static void play_run(qnnrt_run *run, int kept)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    uint64_t before[NAMES];
    void *own[NAMES];
    size_t s, bytes, most = info->slot_count < NAMES ? info->slot_count : (size_t)NAMES, k;
    char name[512];
    qnnrt_result result;
    memset(own, 0, sizeof(own));
    for (s = 0; s < most; ++s) {
        const qnnrt_tensor_info *t = info->slots[s].tensor;
        void *data;
        if (chance(4) == 0) {
            own[s] = malloc((size_t)t->bytes);
            MUST(own[s] != NULL);
            memset(own[s], 0x11, (size_t)t->bytes);
            MUST(bind_slot(run, &info->slots[s], own[s], (size_t)t->bytes - 1) == QNNRT_E_MISMATCH);
            MUST(bind_slot(run, &info->slots[s], own[s], (size_t)t->bytes) == QNNRT_OK);
        }
        data = qnnrt_data_slot(run, &info->slots[s], &bytes);
        if (data == NULL) { MUST(bytes == t->bytes); continue; }
        MUST(bytes == t->bytes);
        if (chance(2)) memset(data, (int)chance(256), bytes);
        play_values(run, &info->slots[s], t);
    }
    for (s = 0; s < 4; ++s) {
        some_name(info, name, sizeof(name));
        if (qnnrt_data(run, name, &bytes) != NULL) MUST(bytes > 0);
        qnnrt_bind(run, name, NULL, 0);
    }
    for (s = 0; s < most; ++s) {
        void *data = qnnrt_data_slot(run, &info->slots[s], &bytes);
        before[s] = data != NULL ? sum_of(data, bytes) : 0;
    }
    result = qnnrt_exec(run);
    if (result != QNNRT_OK) text_clean(qnnrt_run_error(run)->text, 1);
    for (s = 0; s < most && result == QNNRT_OK; ++s) {
        const unsigned char *data = (const unsigned char *)qnnrt_data_slot(run, &info->slots[s], &bytes);
        MUST(data != NULL);
        if (info->slots[s].role == QNNRT_ROLE_INPUT && kept) MUST(sum_of(data, bytes) == before[s]);
        /* The fake writes ascending bytes; another tensor in the same memory would change them. */
        if (info->slots[s].role == QNNRT_ROLE_OUTPUT)
            for (k = 1; k < bytes; ++k) MUST(data[k] == (unsigned char)(data[0] + k));
    }
    for (s = 0; s < most; ++s) {
        if (own[s] != NULL && chance(2)) bind_slot(run, &info->slots[s], NULL, 0);
    }
    qnnrt_run_destroy(run);
    for (s = 0; s < most; ++s) free(own[s]);
}

/* Make a plan of one to three entries, with buffers and places; its memory; a run of each entry. */
static void play_plan(const qnnrt_pipeline *const *pipelines, size_t count)
{
    qnnrt_entry_desc entries[3];
    qnnrt_buffer_desc buffers[2];
    qnnrt_place_desc places[6];
    qnnrt_plan_desc desc;
    qnnrt_mem_desc mem_desc;
    qnnrt_plan *plan = NULL;
    qnnrt_mem *mem = NULL;
    qnnrt_run *run = NULL;
    qnnrt_error err;
    size_t i;
    int outside = 0;
    memset(entries, 0, sizeof(entries));
    memset(buffers, 0, sizeof(buffers));
    memset(places, 0, sizeof(places));
    memset(&desc, 0, sizeof(desc));
    memset(&mem_desc, 0, sizeof(mem_desc));
    desc.entries = entries;
    desc.entry_count = 1 + (size_t)chance(3);
    for (i = 0; i < desc.entry_count; ++i) {
        entries[i].pipeline = pipelines[chance(count)];
        entries[i].group = (uint32_t)chance(3);
        entries[i].reuse_inputs = control[0] >> 7;
    }
    desc.align = chance(3) ? 0 : 1u << chance(13);
    desc.buffers = buffers;
    desc.buffer_count = (size_t)chance(3);
    for (i = 0; i < desc.buffer_count; ++i) {
        buffers[i].bytes = chance(8) ? 1 + chance(100000) : UINT64_MAX - chance(100);
        buffers[i].align = chance(2) ? 0 : 1u << chance(14);
    }
    desc.places = places;
    desc.place_count = (size_t)chance(7);
    for (i = 0; i < desc.place_count; ++i) {
        places[i].entry = (size_t)chance(desc.entry_count);
        places[i].slot = qnnrt_pipeline_get_info(entries[places[i].entry].pipeline)->slots;
        places[i].slot += chance(qnnrt_pipeline_get_info(entries[places[i].entry].pipeline)->slot_count + 1);
        places[i].caller_io = chance(3) == 0;
        places[i].buffer = places[i].caller_io ? SIZE_MAX : (size_t)chance(desc.buffer_count);
        places[i].offset = chance(4) ? chance(1000) : UINT64_MAX - chance(1000);
        outside |= !places[i].caller_io;
    }
    if (!GOOD(qnnrt_plan_create(&desc, &plan, fresh(&err)), plan, &err)) return;
    check_plan(plan, &desc);
    if (qnnrt_plan_get_info(plan)->block_count < 500 && (control[0] >> 2 & 1)) {
        MUST(qnnrt_plan_destroy(plan) == QNNRT_OK);
        desc.guard = 1;
        if (!GOOD(qnnrt_plan_create(&desc, &plan, fresh(&err)), plan, &err)) return;
    }
    if (GOOD(qnnrt_mem_create(plan, &mem_desc, &mem, fresh(&err)), mem, &err)) {
        MUST(qnnrt_plan_destroy(plan) == QNNRT_E_BUSY);
        for (i = 0; i < desc.buffer_count; ++i) {
            const uint64_t bytes = qnnrt_mem_get_info(mem)->buffers[i].bytes;
            void *data = qnnrt_mem_get_info(mem)->buffers[i].data;
            MUST(data != NULL && bytes == buffers[i].bytes);
            MUST(((uintptr_t)data & ((buffers[i].align != 0 ? buffers[i].align : 1) - 1)) == 0);
            memset(data, 0x77, (size_t)bytes);
        }
        for (i = 0; i < desc.entry_count; ++i) {
            if (!GOOD(qnnrt_run_create(mem, i, &run, fresh(&err)), run, &err)) continue;
            MUST(qnnrt_mem_destroy(mem) == QNNRT_E_BUSY);
            if (outside) qnnrt_run_destroy(run);       /* places may overlap: no promise about content */
            else play_run(run, !entries[i].reuse_inputs);
        }
        MUST(qnnrt_mem_destroy(mem) == QNNRT_OK);
    }
    MUST(qnnrt_plan_destroy(plan) == QNNRT_OK);
}

/* ---- pipelines by hand ---------------------------------------------------------------------- */

static void play_make(qnnrt *model)
{
    qnnrt_step_desc steps[5];
    qnnrt_edge_desc edges[6];
    char names[2][6][512];
    qnnrt_pipeline_desc desc;
    qnnrt_pipeline *p = NULL;
    const qnnrt_pipeline *one[1];
    qnnrt_error err;
    size_t i, contexts;
    const qnnrt_context_info *infos = qnnrt_get_info(model)->contexts;
    memset(steps, 0, sizeof(steps));
    contexts = qnnrt_get_info(model)->context_count;
    qnnrt_step_info step;
    qnnrt_pipeline_info look;
    memset(&desc, 0, sizeof(desc));
    memset(&look, 0, sizeof(look));
    desc.steps = steps;
    desc.step_count = 1 + (size_t)control[10] % 5;
    for (i = 0; i < desc.step_count; ++i) {
        size_t c = (size_t)chance(contexts + (chance(10) == 0));
        steps[i].model = model;
        steps[i].context = c;
        steps[i].graph = c < contexts && infos[c].graph_count > 0 ? infos[c].graphs[chance(infos[c].graph_count)].name : "none";
    }
    desc.edges = edges;
    desc.edge_count = (size_t)(control[11] % 7);
    desc.edges_only = control[0] >> 6 & 1;
    look.steps = &step;
    look.step_count = 1;
    for (i = 0; i < desc.edge_count; ++i) {
        size_t c = (size_t)chance(contexts);
        edges[i].from_step = (size_t)chance(desc.step_count);
        edges[i].to_step = edges[i].from_step + (size_t)chance(3);
        if (infos[c].graph_count == 0) { desc.edge_count = i; break; }
        step.model = model;
        step.context = c;
        step.graph = &infos[c].graphs[chance(infos[c].graph_count)];
        edges[i].from = chance(2) && step.graph->output_count > 0 ? step.graph->outputs[chance(step.graph->output_count)].name
                                                                  : some_name(&look, names[0][i], sizeof(names[0][i]));
        edges[i].to = chance(2) && step.graph->input_count > 0 ? step.graph->inputs[chance(step.graph->input_count)].name
                                                               : some_name(&look, names[1][i], sizeof(names[1][i]));
    }
    if (!GOOD(qnnrt_pipeline_make(&desc, &p, fresh(&err)), p, &err)) return;
    MUST(qnnrt_close(model) == QNNRT_E_BUSY);
    check_pipeline(p);
    one[0] = p;
    play_plan(one, 1);
    MUST(qnnrt_pipeline_destroy(p) == QNNRT_OK);
}

/* ---- one input ------------------------------------------------------------------------------ */

static void play_model(qnnrt *model)
{
    const qnnrt_pipeline *pipelines[8];
    size_t count = qnnrt_get_info(model)->pipeline_count, wired = 0, contexts, c, g, i;
    const qnnrt_context_info *infos = qnnrt_get_info(model)->contexts;
    contexts = qnnrt_get_info(model)->context_count;
    qnnrt_error err;
    char name[512];
    MUST(contexts > 0);
    for (c = 0; c < contexts; ++c) {
        MUST(infos[c].file != NULL && infos[c].build_id != NULL);
        if (infos[c].failure != NULL) { MUST(infos[c].graph_count == 0); text_clean(infos[c].failure->text, 1); }
        for (g = 0; g < infos[c].graph_count; ++g) {
            const qnnrt_graph_info *graph = &infos[c].graphs[g];
            MUST(graph->name != NULL && graph->name[0] != '\0' && strlen(graph->name) <= limits.name_bytes);
            for (i = 0; i < graph->input_count; ++i) {
                check_tensor(&graph->inputs[i]);
                MUST(graph->unsupported != NULL || (graph->inputs[i].bytes > 0 && graph->inputs[i].bytes <= UINT32_MAX));
            }
            for (i = 0; i < graph->output_count; ++i) {
                check_tensor(&graph->outputs[i]);
                MUST(graph->unsupported != NULL || (graph->outputs[i].bytes > 0 && graph->outputs[i].bytes <= UINT32_MAX));
            }
            if (graph->unsupported != NULL) text_clean(graph->unsupported, 0);
            for (i = 0; i < graph->updateable_count; ++i) check_tensor(&graph->updateables[i]);
            /* Every graph is found by its name. */
            if (strlen(graph->name) < 300 && g < 8) {
                const qnnrt_pipeline *single = NULL;
                snprintf(name, sizeof(name), "%u/%s", (unsigned)c, graph->name);
                (void)GOOD(qnnrt_pipeline_find(model, name, &single, fresh(&err)), single, &err);
                if (single != NULL) check_pipeline(single);
            }
        }
    }
    for (i = 0; i < count; ++i) {
        const qnnrt_pipeline *p = qnnrt_get_info(model)->pipelines[i], *found = NULL;
        const qnnrt_slot *slot = 0;
        size_t k;
        MUST(p != NULL);
        check_pipeline(p);
        (void)GOOD(qnnrt_pipeline_find(model, qnnrt_pipeline_get_info(p)->name, &found, fresh(&err)), found, &err);
        for (k = 0; k < 6; ++k) {
            qnnrt_role role = (qnnrt_role)chance(5);
            int ok = GOOD(qnnrt_slot_find(p, some_name(qnnrt_pipeline_get_info(p), name, sizeof(name)), role, &slot, fresh(&err)),
                          slot != NULL ? name : NULL, &err);
            if (ok) MUST((size_t)(slot - qnnrt_pipeline_get_info(p)->slots) < qnnrt_pipeline_get_info(p)->slot_count);
            slot = 0;
        }
        if (qnnrt_pipeline_get_info(p)->failure == NULL && wired < 8) pipelines[wired++] = p;
    }
    for (i = 0; i < wired && i < 3; ++i) {
        qnnrt_run *run = NULL;
        qnnrt_prepare_desc how;
        memset(&how, 0, sizeof(how));
        how.guard = control[0] >> 2 & 1;
        how.align = control[2] >> 4 == 0 ? 0 : 1u << (control[2] >> 4);
        if (GOOD(qnnrt_prepare_with(model, qnnrt_pipeline_get_info(pipelines[i])->name, &how, &run, fresh(&err)), run, &err)) {
            MUST(qnnrt_close(model) == QNNRT_E_BUSY);
            play_run(run, 1);
        }
    }
    if (wired > 0) play_plan(pipelines, wired);
    play_make(model);
}

static void play(const unsigned char *data, size_t size)
{
    qnnrt_file files[BLOCKS];
    memset(files, 0, sizeof(files));
    unsigned char *blocks[BLOCKS];
    size_t count = 0, at = 0, i, text;
    qnnrt_desc desc;
    qnnrt_error err, *to = NULL;
    qnnrt *model = NULL;
    if (size < CONTROL) return;
    text = size - CONTROL;
    chance_begin(data + text, CONTROL);
    fake_begin();
    while (count < BLOCKS && (at < text || count == 0)) {
        size_t end = at;
        while (end < text && !(count + 1 < BLOCKS && text - end >= 6 && memcmp(data + end, "\n====\n", 6) == 0)) ++end;
        blocks[count] = (unsigned char *)malloc(end - at + 1);
        MUST(blocks[count] != NULL);
        memcpy(blocks[count], data + at, end - at);
        defuse((char *)blocks[count], end - at);
        /* The copy ends where its memory ends, so that a read past it is found. */
        files[count].bytes = end - at;
        files[count].data = blocks[count] = (unsigned char *)realloc(blocks[count], end - at > 0 ? end - at : 1);
        files[count].path = count % 2 == 0 ? "a\x1b[31m.bin" : NULL;
        ++count;
        at = end + 6;
    }
    memset(&desc, 0, sizeof(desc));
    desc.files = files;
    desc.file_count = count;
    desc.backend_desc.path = desc.system_path = TEST_FAKE_LIB;
    desc.inspect = control[0] & 1 && control[0] & 2;
    desc.keep_going = control[0] >> 1 & 1;
    desc.backend_desc.log_level = (qnnrt_log_level)(control[2] % 6);
    desc.backend_desc.soc_model = control[9];
    desc.limits.rank = control[3] % 16;
    desc.limits.name_bytes = control[4] < 250 ? control[4] : 0;
    desc.limits.tensors = control[5] < 250 ? control[5] : 0;
    desc.limits.arena_bytes = (uint64_t)1 << (control[6] % 22 + 1);
    desc.limits.files = control[8] % 8 == 7 ? 2 : 0;
    desc.backend_desc.hooks.alloc = hook_alloc;
    desc.backend_desc.hooks.free = hook_free;
    if (control[0] & 32) desc.backend_desc.hooks.log = hook_log;
    if (control[0] & 8) { desc.backend_desc.hooks.lock = hook_lock; desc.backend_desc.hooks.unlock = hook_unlock; }
    limits = desc.limits;
    if (limits.rank == 0) limits.rank = 8;
    if (limits.name_bytes == 0) limits.name_bytes = 1024;
    alloc_count = 0;
    alloc_fail_at = (uint64_t)(control[7] & 127);
    alloc_fail_on = control[7] >> 7;
    if (!(control[0] & 16)) to = fresh(&err);
    if (GOOD(qnnrt_open(NULL, &desc, &model, to), model, to)) play_model(model);
    for (i = 0; i < count; ++i) free(blocks[i]);
    MUST(qnnrt_close(model) == QNNRT_OK);
    ledger_empty();
}

FUZZ_TARGET
