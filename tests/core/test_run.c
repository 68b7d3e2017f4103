/* test_run.c - rooms >>place and >>run: memory, binding, execution.

   The fake library (tests/fake/README) fills byte k of output j with (sum of all input bytes + j +
   k), so the results of a chain of graphs are known; its trace has the address of every tensor. */
#include "../../qnnrt.h"
#include "qnnrt_profile.h"
#include "test.h"
#include "bind.h"
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

/* ---- the fake ------------------------------------------------------------------------------- */

static void (*fake_stats)(uint64_t *);
static const char *(*fake_trace)(void);
static void (*fake_reset)(void);
static uint64_t (*fake_providers)(void ***list, uint32_t *count);
static uint64_t fake_before;              /* handles of tests that failed before */

static uint64_t fake_live(void)
{
    uint64_t stats[16];
    fake_stats(stats);
    return stats[0] + stats[1] + stats[2] + stats[3] + stats[4] + stats[10] + stats[7];
}

static uint64_t fake_calls(void)
{
    uint64_t stats[16];
    fake_stats(stats);
    return stats[9];
}

static void fake_symbol(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) abort();
    memcpy(function, &symbol, sizeof(symbol));
}

/* Set the knobs of the fake. It reads them when its providers are requested, so they can change
   while a model is open. */
static void fake_knobs(const char *knobs)
{
    void **list;
    uint32_t count;
    setenv("QNNFAKE", knobs, 1);
    fake_providers(&list, &count);
    fake_reset();
}

static void fake_begin(const char *knobs)
{
    if (fake_stats == NULL) {
        void *library = dlopen(TEST_FAKE_LIB, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) { printf("%s\n", dlerror()); abort(); }
        fake_symbol(library, "fake_qnn_stats", &fake_stats);
        fake_symbol(library, "fake_qnn_trace", &fake_trace);
        fake_symbol(library, "fake_qnn_reset", &fake_reset);
        fake_symbol(library, "QnnInterface_getProviders", &fake_providers);
    }
    fake_knobs(knobs);
    fake_before = fake_live();
}

#define LEDGER_EMPTY() CHECK_EQ(fake_live(), fake_before)

/* ---- folders -------------------------------------------------------------------------------- */

static const char *folder_of(const char *const *texts, size_t count)
{
    const char *folder = test_tmpdir();
    char path[1200];
    size_t i;
    for (i = 0; i < count; ++i) {
        snprintf(path, sizeof(path), "%s/forward_%u.bin", folder, (unsigned)i);
        if (!test_write_file(path, texts[i], strlen(texts[i]))) return "";
    }
    return folder;
}

static qnnrt *opened(const char *const *texts, size_t count, qnnrt_desc *extra)
{
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;
    if (extra != NULL) desc = *extra;
    else memset(&desc, 0, sizeof(desc));
    if (desc.backend == NULL && !desc.inspect) desc.backend_desc.path = TEST_FAKE_LIB;
    desc.system_path = TEST_FAKE_LIB;
    if (qnnrt_open(folder_of(texts, count), &desc, &model, &err) != QNNRT_OK) printf("open: %s\n", err.text);
    return model;
}

/* Make prefill and decode over three shards; cos feeds both later ones, mask is read by all,
   each has a cache. */
#define H8  "0408 2 8 4 s 0.5 -128"
#define H1  "0408 2 1 4 s 0.5 -128"
#define M8  "0416 2 8 16 s 0.25 -65535"
#define M1  "0416 2 1 16 s 0.25 -65535"
#define KV  "0408 2 16 8 s 0.125 -128"
#define NEW8 "0408 2 8 8 s 0.125 -128"
#define NEW1 "0408 2 1 8 s 0.125 -128"
static const char shard_0[] =
    "FAKEQNN 1\n"
    "graph prefill\nin tokens 1 0032 1 8 -\nin mask 2 " M8 "\nin k0_in 3 " KV "\n"
    "out hidden 4 " H8 "\nout cos 5 0232 2 8 2 -\nout k0_out 6 " NEW8 "\n"
    "graph decode\nin tokens 11 0032 1 1 -\nin mask 12 " M1 "\nin k0_in 13 " KV "\n"
    "out hidden 14 " H1 "\nout cos 15 0232 2 1 2 -\nout k0_out 16 " NEW1 "\n";
static const char shard_1[] =
    "FAKEQNN 1\n"
    "graph decode\nin hidden 11 " H1 "\nin cos 12 0232 2 1 2 -\nin mask 13 " M1 "\nin k1_in 14 " KV "\n"
    "out h2 15 " H1 "\nout k1_out 16 " NEW1 "\n"
    "graph prefill\nin hidden 1 " H8 "\nin cos 2 0232 2 8 2 -\nin mask 3 " M8 "\nin k1_in 4 " KV "\n"
    "out h2 5 " H8 "\nout k1_out 6 " NEW8 "\n";
static const char shard_2[] =
    "FAKEQNN 1\n"
    "graph prefill\nin h2 1 " H8 "\nin mask 2 " M8 "\nin cos 3 0232 2 8 2 -\nin k2_in 7 " KV "\n"
    "out logits 4 0232 2 8 5 -\nout k2_out 5 " NEW8 "\n"
    "graph decode\nin h2 11 " H1 "\nin mask 12 " M1 "\nin cos 13 0232 2 1 2 -\nin k2_in 17 " KV "\n"
    "out logits 14 0232 2 1 5 -\nout k2_out 15 " NEW1 "\n";
static const char *const llm[3] = { shard_0, shard_1, shard_2 };

static qnnrt *open_llm(void) { return opened(llm, 3, NULL); }

static const qnnrt_pipeline *pipeline_of(qnnrt *model, const char *name)
{
    const qnnrt_pipeline *p = NULL;
    qnnrt_error err;
    if (qnnrt_pipeline_find(model, name, &p, &err) != QNNRT_OK) printf("%s\n", err.text);
    return p;
}

static const qnnrt_slot *slot_of(const qnnrt_pipeline *p, const char *name)
{
    const qnnrt_slot *slot = NULL;
    qnnrt_slot_find(p, name, QNNRT_ROLE_ANY, &slot, NULL);
    return slot;
}

static uint8_t sum_of(const void *data, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    unsigned sum = 0;
    size_t i;
    for (i = 0; i < bytes; ++i) sum += at[i];
    return (uint8_t)sum;
}

/* True if every byte is the one that the fake writes into output j for this sum of inputs. */
static int filled(const void *data, size_t bytes, unsigned sum, unsigned j)
{
    const unsigned char *at = (const unsigned char *)data;
    size_t i;
    for (i = 0; i < bytes; ++i)
        if (at[i] != (unsigned char)(sum + j + i)) return 0;
    return 1;
}

static uint8_t sum_filled(size_t bytes, unsigned sum, unsigned j)
{
    unsigned total = 0;
    size_t i;
    for (i = 0; i < bytes; ++i) total += (sum + j + (unsigned)i) & 0xFF;
    return (uint8_t)total;
}

static unsigned sum_now(qnnrt_run *run, const char *name)
{
    size_t bytes;
    const void *at = qnnrt_data(run, name, &bytes);
    return sum_of(at, bytes);
}

/* Run, then compare every output of prefill (rows 8) or decode (rows 1) with the current inputs.
   Edges have no value after the run, because their memory is reused, so sums are carried along. */
static const char *llm_wrong(qnnrt_run *run, size_t rows)
{
    unsigned mask, cos_, hidden, h2, sum0, sum1, sum2;
    size_t bytes;
    void *at;
    mask = sum_now(run, "mask");
    sum0 = sum_now(run, "tokens") + mask + sum_now(run, "k0_in");
    hidden = sum_filled(rows * 4, sum0, 0);
    cos_ = sum_filled(rows * 8, sum0, 1);
    sum1 = hidden + cos_ + mask + sum_now(run, "k1_in");
    h2 = sum_filled(rows * 4, sum1, 0);
    sum2 = h2 + mask + cos_ + sum_now(run, "k2_in");
    if (qnnrt_exec(run) != QNNRT_OK) return qnnrt_run_error(run)->text;
    at = qnnrt_data(run, "logits", &bytes);
    if (bytes != rows * 20 || !filled(at, bytes, sum2, 0)) return "logits";
    at = qnnrt_data(run, "k0_out", &bytes);
    if (bytes != rows * 8 || !filled(at, bytes, sum0, 2)) return "k0_out";
    at = qnnrt_data(run, "k1_out", &bytes);
    if (!filled(at, bytes, sum1, 1)) return "k1_out";
    at = qnnrt_data(run, "k2_out", &bytes);
    if (!filled(at, bytes, sum2, 1)) return "k2_out";
    return NULL;
}

/* Print the difference, if there is one. */
static int right(const char *wrong)
{
    if (wrong != NULL) printf("%s\n", wrong);
    return wrong == NULL;
}

#define LLM_RIGHT(run, rows) CHECK(right(llm_wrong(run, rows)))

/* Return the address of a tensor from the line of the trace that begins with "graphExecute
   <graph>", from line `nth` on. */
static void *traced(int nth, const char *side, const char *name)
{
    const char *line = fake_trace();
    char key[128];
    void *at = NULL;
    size_t length;
    while (line != NULL && (line = strstr(line, "graphExecute ")) != NULL && nth-- > 0) ++line;
    if (line == NULL) return NULL;
    length = strcspn(line, "\n");
    snprintf(key, sizeof(key), " %s:%s=", side, name);
    line = strstr(line, key);
    if (line == NULL || strcspn(line, "\n") > length) return NULL;
    if (sscanf(line + strlen(key), "%p", &at) != 1) return NULL;
    return at;
}

static qnnrt_plan *planned(const qnnrt_pipeline *const *pipelines, const uint32_t *groups, size_t count, qnnrt_plan_desc *extra)
{
    qnnrt_plan_desc desc;
    qnnrt_entry_desc entries[8];
    qnnrt_plan *plan;
    qnnrt_error err;
    size_t i;
    if (extra != NULL) desc = *extra;
    else memset(&desc, 0, sizeof(desc));
    memset(entries, 0, sizeof(entries));
    for (i = 0; i < count; ++i) {
        entries[i].pipeline = pipelines[i];
        entries[i].group = groups != NULL ? groups[i] : 0;
    }
    desc.entries = entries;
    desc.entry_count = count;
    if (qnnrt_plan_create(&desc, &plan, &err) != QNNRT_OK) printf("plan: %s\n", err.text);
    return plan;
}

static qnnrt_mem *memory_of(qnnrt_plan *plan)
{
    qnnrt_mem *mem;
    qnnrt_error err;
    if (qnnrt_mem_create(plan, NULL, &mem, &err) != QNNRT_OK) printf("mem: %s\n", err.text);
    return mem;
}

static qnnrt_run *run_of(qnnrt_mem *mem, size_t entry)
{
    qnnrt_run *run;
    qnnrt_error err;
    if (qnnrt_run_create(mem, entry, &run, &err) != QNNRT_OK) printf("run: %s\n", err.text);
    return run;
}

/* ---- execution ------------------------------------------------------------------------------ */

TEST(a_chain_of_three_gives_the_known_answer)
{
    qnnrt *model;
    qnnrt_run *run;
    size_t i, bytes;
    unsigned char *at;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_prepare(model, "prefill", &run, NULL), QNNRT_OK);
    LLM_RIGHT(run, 8);
    at = (unsigned char *)qnnrt_data(run, "tokens", &bytes);
    CHECK_EQ(bytes, 32);
    for (i = 0; i < bytes; ++i) at[i] = (unsigned char)(i * 7 + 1);
    at = (unsigned char *)qnnrt_data(run, "k2_in", &bytes);
    CHECK_EQ(bytes, 128);
    for (i = 0; i < bytes; ++i) at[i] = (unsigned char)(i * 5 + 3);
    LLM_RIGHT(run, 8);
    LLM_RIGHT(run, 8);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(an_edge_is_one_address_on_both_sides)
{
    qnnrt *model;
    qnnrt_run *run;
    void *hidden;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_prepare(model, "decode", &run, NULL), QNNRT_OK);
    fake_reset();
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    hidden = traced(0, "out", "hidden");
    CHECK(hidden != NULL);
    CHECK(hidden == traced(1, "in", "hidden"));
    CHECK(hidden == qnnrt_data(run, "hidden", NULL));
    CHECK(traced(1, "out", "h2") == traced(2, "in", "h2"));
    CHECK(traced(0, "out", "cos") == traced(1, "in", "cos"));
    CHECK(traced(0, "out", "cos") == traced(2, "in", "cos"));
    CHECK(traced(0, "in", "mask") != NULL);
    CHECK(traced(0, "in", "mask") == traced(1, "in", "mask"));
    CHECK(traced(0, "in", "mask") == traced(2, "in", "mask"));
    CHECK(traced(2, "out", "logits") == qnnrt_data(run, "logits", NULL));
    {   /* binding an edge moves both of its ends */
        unsigned char block[64];
        CHECK_EQ(qnnrt_bind(run, "cos", block + 1, 63), QNNRT_OK);
        fake_reset();
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK(traced(0, "out", "cos") == block + 1);
        CHECK(traced(1, "in", "cos") == block + 1);
        CHECK(traced(2, "in", "cos") == block + 1);
        CHECK_EQ(qnnrt_bind(run, "cos", NULL, 0), QNNRT_OK);
        LLM_RIGHT(run, 1);
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* ---- plans ---------------------------------------------------------------------------------- */

static int meet(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* Check all that a plan promises, from its info alone, pair by pair. Return NULL, or what is
   wrong. */
static const char *plan_wrong(const qnnrt_plan_info *info, const uint32_t *groups, const uint32_t *aligns)
{
    size_t i, k;
    for (i = 0; i < info->block_count; ++i) {
        const qnnrt_plan_block *a = &info->blocks[i];
        uint64_t align = a->entry == SIZE_MAX ? aligns[1 + i] : aligns[0];
        if (a->offset % align != 0) return "a block is not aligned";
        if (a->offset > info->peak || a->bytes > info->peak - a->offset) return "a block passes the peak";
        if (a->last < a->first) return "a lifetime runs backwards";
        for (k = 0; k < i; ++k) {
            const qnnrt_plan_block *b = &info->blocks[k];
            int may = !a->kept && !b->kept && a->entry != SIZE_MAX && b->entry != SIZE_MAX &&
                      (a->entry == b->entry || (groups[a->entry] != 0 && groups[a->entry] == groups[b->entry])) &&
                      (a->last < b->first || b->last < a->first);
            if (!may && meet(a->offset, a->bytes, b->offset, b->bytes)) return "two blocks overlap";
        }
    }
    if (info->bound > info->peak) return "the bound is above the peak";
    if (info->naive < info->peak) return "the naive sum is below the peak";
    return NULL;
}

/* Check the life of a block: an input lives from the first step on, an output until the last;
   groups follow each other. */
static const char *lifetime_wrong(const qnnrt_plan_block *b, const qnnrt_entry_desc *entries)
{
    const qnnrt_pipeline_info *info;
    const qnnrt_slot *slot;
    uint32_t begin = 0;
    size_t e;
    if (b->entry == SIZE_MAX) return NULL;
    info = qnnrt_pipeline_get_info(entries[b->entry].pipeline);
    slot = b->slot;
    for (e = 0; e < b->entry; ++e)
        if (entries[e].group != 0 && entries[e].group == entries[b->entry].group)
            begin += (uint32_t)qnnrt_pipeline_get_info(entries[e].pipeline)->step_count;
    if (b->first != begin + (slot->role == QNNRT_ROLE_INPUT ? 0 : slot->first)) return "a block begins at another step";
    if (b->last != begin + (slot->role == QNNRT_ROLE_OUTPUT ? (uint32_t)info->step_count - 1 : slot->last)) return "a block ends at another step";
    return b->bytes == slot->tensor->bytes ? NULL : "a block has another size";
}

#define PLAN_RIGHT(plan, groups, aligns) CHECK(right(plan_wrong(qnnrt_plan_get_info(plan), groups, aligns)))

TEST(plans_hold_what_they_promise)
{
    static const uint32_t all_aligns[] = { 0, 1, 64, 128, 4096 };
    static const uint32_t all_groups[][4] = { { 0, 0, 0, 0 }, { 1, 1, 1, 1 }, { 1, 2, 1, 2 }, { 0, 9, 9, 0 }, { 7, 7, 0, 3 } };
    qnnrt *model;
    size_t a, g, b, reuse;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    for (a = 0; a < 5; ++a)
        for (g = 0; g < 5; ++g)
            for (b = 0; b < 4; ++b)
                for (reuse = 0; reuse < 2; ++reuse) {
                    qnnrt_entry_desc entries[4];
                    qnnrt_buffer_desc buffers[2];
                    qnnrt_plan_desc desc;
                    qnnrt_plan *plan, *again;
                    qnnrt_mem *mem;
                    qnnrt_error err;
                    const qnnrt_plan_info *info, *other;
                    uint32_t aligns[3];
                    size_t i;
                    memset(entries, 0, sizeof(entries));
                    memset(buffers, 0, sizeof(buffers));
                    memset(&desc, 0, sizeof(desc));
                    for (i = 0; i < 4; ++i) {
                        entries[i].pipeline = pipeline_of(model, i % 2 == 0 ? "prefill" : "decode");
                        entries[i].group = all_groups[g][i];
                        entries[i].reuse_inputs = (int)reuse;
                    }
                    buffers[0].bytes = 100;
                    buffers[0].align = b == 1 ? 1 : b == 2 ? 4096 : 0;
                    buffers[1].name = "kv";
                    buffers[1].bytes = 999;
                    buffers[1].align = b == 3 ? 256 : 0;
                    desc.entries = entries;
                    desc.entry_count = 4;
                    desc.buffers = buffers;
                    desc.buffer_count = b == 0 ? 0 : 2;
                    desc.align = all_aligns[a];
                    aligns[0] = desc.align != 0 ? desc.align : 64;
                    for (i = 0; i < 2; ++i) aligns[1 + i] = buffers[i].align != 0 ? buffers[i].align : aligns[0];
                    CHECK_EQ(qnnrt_plan_create(&desc, &plan, &err), QNNRT_OK);
                    CHECK_EQ(qnnrt_plan_create(&desc, &again, NULL), QNNRT_OK);
                    info = qnnrt_plan_get_info(plan);
                    other = qnnrt_plan_get_info(again);
                    if (plan_wrong(info, all_groups[g], aligns) != NULL)
                        printf("align %u groups %u buffers %u reuse %u: peak %llu bound %llu naive %llu\n", (unsigned)aligns[0], (unsigned)g,
                               (unsigned)b, (unsigned)reuse, (unsigned long long)info->peak, (unsigned long long)info->bound,
                               (unsigned long long)info->naive);
                    PLAN_RIGHT(plan, all_groups[g], aligns);
                    for (i = 0; i < info->block_count; ++i) CHECK(right(lifetime_wrong(&info->blocks[i], entries)));
                    CHECK_EQ(info->block_count, other->block_count);
                    CHECK_EQ(info->peak, other->peak);
                    for (i = 0; i < info->block_count; ++i) {
                        CHECK_EQ(info->blocks[i].offset, other->blocks[i].offset);
                        CHECK_EQ(info->blocks[i].kept, info->blocks[i].entry == SIZE_MAX ||
                                 (!reuse && info->blocks[i].slot->role ==
                                  QNNRT_ROLE_INPUT));
                    }
                    CHECK_EQ(qnnrt_plan_destroy(again), QNNRT_OK);
                    mem = memory_of(plan);
                    CHECK(mem != NULL);
                    for (i = 0; i < 4; ++i) {
                        qnnrt_run *run = run_of(mem, i);
                        size_t s;
                        CHECK(run != NULL);
                        for (s = 0; s < qnnrt_pipeline_get_info(entries[i].pipeline)->slot_count; ++s)
                            CHECK_EQ((uintptr_t)qnnrt_data_slot(run, &qnnrt_pipeline_get_info(entries[i].pipeline)->slots[s], NULL) % aligns[0], 0);
                        if (!reuse) LLM_RIGHT(run, i % 2 == 0 ? 8 : 1);
                        qnnrt_run_destroy(run);
                    }
                    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
                    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
                }
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* Plan each graph alone: the naive sum is what a plan without sharing needs, gaps included. */
TEST(the_naive_sum_counts_gaps_between_regions)
{
    static const char text[] = "FAKEQNN 1\n# a context binary has at least 64 bytes\ngraph g\nin i 1 0408 1 10 -\nout o 2 0408 1 10 -\n";
    static const char *const texts[1] = { text };
    static const uint32_t groups[4] = { 0, 0, 0, 0 }, aligns[3] = { 64, 4096, 1 };
    const qnnrt_pipeline *four[4];
    qnnrt_buffer_desc buffers[2];
    qnnrt_plan_desc desc;
    qnnrt_plan *plan;
    qnnrt *model;
    fake_begin("");
    model = opened(texts, 1, NULL);
    CHECK(model != NULL);
    four[0] = four[1] = four[2] = four[3] = pipeline_of(model, NULL);
    memset(buffers, 0, sizeof(buffers));
    memset(&desc, 0, sizeof(desc));
    buffers[0].bytes = 100;
    buffers[0].align = 4096;
    buffers[1].bytes = 1;
    buffers[1].align = 1;
    desc.buffers = buffers;
    desc.buffer_count = 2;
    plan = planned(four, groups, 4, &desc);
    CHECK(plan != NULL);
    PLAN_RIGHT(plan, groups, aligns);
    /* Blocks aligned to 64 bytes do not get a region aligned to 4,096. */
    CHECK(qnnrt_plan_get_info(plan)->peak < 4096 + 1024);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(exclusive_groups_share_scratch_and_others_do_not)
{
    static const uint32_t apart[2] = { 0, 0 }, two[2] = { 1, 2 }, one[2] = { 5, 5 };
    const qnnrt_pipeline *both[2];
    qnnrt_plan *plans[3];
    uint64_t peaks[3];
    qnnrt *model;
    size_t i;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    both[0] = both[1] = pipeline_of(model, "prefill");
    for (i = 0; i < 3; ++i) {
        plans[i] = planned(both, i == 0 ? apart : i == 1 ? two : one, 2, NULL);
        CHECK(plans[i] != NULL);
        peaks[i] = qnnrt_plan_get_info(plans[i])->peak;
        CHECK_EQ(qnnrt_plan_destroy(plans[i]), QNNRT_OK);
    }
    CHECK_EQ(peaks[0], peaks[1]);
    CHECK(peaks[2] < peaks[0]);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* Prefill and decode in one group, caches and mask in buffers: an exec of one does not change
   the buffers of the other. */
TEST(buffers_and_kept_inputs_keep_their_content)
{
    static const uint32_t groups[2] = { 1, 1 };
    const qnnrt_pipeline *both[2];
    qnnrt_buffer_desc buffers[2];
    qnnrt_place_desc places[2];
    qnnrt_plan_desc desc;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *prefill, *decode;
    unsigned char *kv, *tokens;
    const qnnrt_buffer_info *held;
    qnnrt *model;
    int i, k;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    both[0] = pipeline_of(model, "prefill");
    both[1] = pipeline_of(model, "decode");
    memset(buffers, 0, sizeof(buffers));
    memset(places, 0, sizeof(places));
    memset(&desc, 0, sizeof(desc));
    buffers[0].name = "kv";
    buffers[0].bytes = 128;
    buffers[1].name = "idle";
    buffers[1].bytes = 333;
    for (i = 0; i < 2; ++i) {
        places[i].entry = (size_t)i;
        places[i].slot = slot_of(both[i], "k0_in");
    }
    desc.buffers = buffers;
    desc.buffer_count = 2;
    desc.places = places;
    desc.place_count = 2;
    plan = planned(both, groups, 2, &desc);
    CHECK(plan != NULL);
    mem = memory_of(plan);
    prefill = run_of(mem, 0);
    decode = run_of(mem, 1);
    CHECK(prefill != NULL && decode != NULL);
    CHECK_EQ(qnnrt_mem_get_info(mem)->buffer_count, 2);
    held = qnnrt_mem_get_info(mem)->buffers;
    kv = (unsigned char *)held[0].data;
    CHECK_EQ(held[0].bytes, 128);
    CHECK_EQ(held[1].bytes, 333);
    CHECK_EQ(qnnrt_plan_get_info(plan)->blocks[0].offset, held[0].offset);
    CHECK(kv == qnnrt_data(prefill, "k0_in", NULL));
    CHECK(kv == qnnrt_data(decode, "k0_in", NULL));
    CHECK_EQ(kv[0], 128);
    CHECK(qnnrt_mem_get_info(NULL) == NULL);
    CHECK_EQ(((unsigned char *)held[1].data)[332], 0);
    tokens = (unsigned char *)qnnrt_data(decode, "tokens", NULL);
    for (i = 0; i < 4; ++i) tokens[i] = (unsigned char)(200 + i);
    for (i = 0; i < 128; ++i) kv[i] = (unsigned char)i;
    memset(held[1].data, 0x3C, 333);
    for (k = 0; k < 5; ++k) {
        LLM_RIGHT(prefill, 8);
        LLM_RIGHT(decode, 1);
        for (i = 0; i < 4; ++i) CHECK_EQ(tokens[i], 200 + i);
        for (i = 0; i < 128; ++i) CHECK_EQ(kv[i], i);
        for (i = 0; i < 333; ++i) CHECK_EQ(((unsigned char *)held[1].data)[i], 0x3C);
    }
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_E_BUSY);
    qnnrt_run_destroy(prefill);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_close(model), QNNRT_E_BUSY);
    qnnrt_run_destroy(decode);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(a_place_is_in_the_buffer_that_it_names)
{
    const qnnrt_pipeline *one[1];
    qnnrt_buffer_desc buffers[3];
    qnnrt_place_desc places[3];
    qnnrt_plan_desc desc;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    qnnrt *model;
    uint32_t i;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    one[0] = pipeline_of(model, "decode");
    memset(buffers, 0, sizeof(buffers));
    memset(places, 0, sizeof(places));
    memset(&desc, 0, sizeof(desc));
    for (i = 0; i < 3; ++i) {
        char name[8];
        buffers[i].bytes = 128 + 64 * i;
        snprintf(name, sizeof(name), "k%u_in", (unsigned)i);
        places[i].slot = slot_of(one[0], name);
        places[i].buffer = 2 - i;
        places[i].offset = 64 * (2 - i);
    }
    desc.buffers = buffers;
    desc.places = places;
    desc.buffer_count = desc.place_count = 3;
    plan = planned(one, NULL, 1, &desc);
    CHECK(plan != NULL);
    mem = memory_of(plan);
    run = run_of(mem, 0);
    CHECK(run != NULL);
    for (i = 0; i < 3; ++i) {
        const qnnrt_buffer_info *held = &qnnrt_mem_get_info(mem)->buffers[2 - i];
        char name[8];
        snprintf(name, sizeof(name), "k%u_in", (unsigned)i);
        CHECK_EQ(held->bytes, 128 + 64 * (2 - i));
        CHECK((unsigned char *)held->data + 64 * (2 - i) == qnnrt_data(run, name, NULL));
    }
    LLM_RIGHT(run, 1);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(memory_of_the_caller_is_checked)
{
    const qnnrt_pipeline *one[1];
    qnnrt_plan_desc desc;
    qnnrt_plan *plan, *guarded;
    qnnrt_mem *mem;
    qnnrt_mem_desc mem_desc;
    qnnrt_error err;
    qnnrt_run *run;
    unsigned char *block, *data;
    char needle[32];
    size_t peak, i;
    qnnrt *model;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    one[0] = pipeline_of(model, "prefill");
    memset(&desc, 0, sizeof(desc));
    desc.align = 128;
    plan = planned(one, NULL, 1, &desc);
    CHECK(plan != NULL);
    peak = (size_t)qnnrt_plan_get_info(plan)->peak;
    block = (unsigned char *)malloc(peak + 384);
    CHECK(block != NULL);
    data = block + 128 - (uintptr_t)block % 128;
    memset(block, 0xEE, peak + 384);
    memset(&mem_desc, 0, sizeof(mem_desc));
    mem_desc.data = data;
    mem_desc.bytes = peak - 1;
    mem = (qnnrt_mem *)&err;
    CHECK_EQ(qnnrt_mem_create(plan, &mem_desc, &mem, &err), QNNRT_E_ARG);
    CHECK(mem == NULL);
    snprintf(needle, sizeof(needle), "%u bytes", (unsigned)peak);
    CHECK_STR(err.text, needle);
    snprintf(needle, sizeof(needle), "%u bytes", (unsigned)peak - 1);
    CHECK_STR(err.text, needle);
    mem_desc.data = data + 64;
    mem_desc.bytes = peak;
    if ((uintptr_t)mem_desc.data % 128 != 0) {
        CHECK_EQ(qnnrt_mem_create(plan, &mem_desc, &mem, &err), QNNRT_E_ARG);
        CHECK_STR(err.text, "128");
        CHECK_STR(err.text, "64");
    }
    mem_desc.data = data;
    desc.guard = 1;
    guarded = planned(one, NULL, 1, &desc);
    CHECK(guarded != NULL);
    CHECK_EQ(qnnrt_mem_create(guarded, &mem_desc, &mem, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_plan_destroy(guarded), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_create(plan, &mem_desc, &mem, &err), QNNRT_OK);
    run = run_of(mem, 0);
    CHECK(run != NULL);
    LLM_RIGHT(run, 8);
    CHECK((unsigned char *)qnnrt_data(run, "logits", NULL) >= data);
    CHECK((unsigned char *)qnnrt_data(run, "logits", NULL) < data + peak);
    for (i = 0; i < 64; ++i) CHECK_EQ(data[peak + i], 0xEE);
    for (i = 0; block + i < data; ++i) CHECK_EQ(block[i], 0xEE);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    free(block);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(wrong_plans_say_what_is_wrong)
{
    qnnrt_entry_desc entry;
    qnnrt_buffer_desc buffer;
    qnnrt_place_desc place, twice[2];
    qnnrt_plan_desc desc;
    qnnrt_plan *plan;
    qnnrt_error err;
    qnnrt *model;
    const qnnrt_pipeline *p;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    p = pipeline_of(model, "decode");
    memset(&entry, 0, sizeof(entry));
    memset(&buffer, 0, sizeof(buffer));
    memset(&place, 0, sizeof(place));
    memset(&desc, 0, sizeof(desc));
#define REFUSED(result, needle) do { plan = (qnnrt_plan *)&err; TEST_JUNK(err); \
    CHECK_EQ(qnnrt_plan_create(&desc, &plan, &err), result); CHECK(plan == NULL); CHECK_EQ(err.code, result); \
    CHECK_STR(err.text, needle); CHECK_EQ(qnnrt_plan_create(&desc, &plan, NULL), result); } while (0)
    REFUSED(QNNRT_E_ARG, "entry");
    desc.entries = &entry;
    REFUSED(QNNRT_E_ARG, "entry");
    desc.entry_count = 1;
    REFUSED(QNNRT_E_ARG, "entry 0");
    entry.pipeline = p;
    desc.align = 3;
    REFUSED(QNNRT_E_ARG, "3");
    desc.align = 0;
    desc.buffer_count = 1;
    REFUSED(QNNRT_E_ARG, "buffers");
    desc.buffers = &buffer;
    buffer.name = "cache";
    REFUSED(QNNRT_E_ARG, "buffer 0 \"cache\"");
    buffer.bytes = 128;
    buffer.align = 48;
    REFUSED(QNNRT_E_ARG, "48");
    buffer.align = 0;
    desc.place_count = 1;
    REFUSED(QNNRT_E_ARG, "places");
    desc.places = &place;
    place.entry = 1;
    REFUSED(QNNRT_E_ARG, "place 0");
    place.entry = 0;
    place.slot = NULL;
    REFUSED(QNNRT_E_ARG, "place 0");
    place.slot = qnnrt_pipeline_get_info(p)->slots + qnnrt_pipeline_get_info(p)->slot_count;
    REFUSED(QNNRT_E_ARG, "place 0");
    place.slot = slot_of(pipeline_of(model, "2/prefill"), "h2");
    REFUSED(QNNRT_E_ARG, "pipeline \"2/prefill\"");
    place.slot = slot_of(p, "k0_in");
    place.buffer = 1;
    REFUSED(QNNRT_E_ARG, "place 0");
    place.buffer = SIZE_MAX - 1;
    REFUSED(QNNRT_E_ARG, "place 0");
    place.buffer = 0;
    place.offset = 1;
    REFUSED(QNNRT_E_ARG, "\"k0_in\" of 128 bytes at offset 1");
    place.offset = UINT64_MAX;
    REFUSED(QNNRT_E_ARG, "place 0");
    place.offset = 0;
    twice[0] = twice[1] = place;
    twice[1].caller_io = 1;
    desc.places = twice;
    desc.place_count = 2;
    REFUSED(QNNRT_E_ARG, "place 1: \"k0_in\" of entry 0");
    desc.place_count = 65537;
    REFUSED(QNNRT_E_LIMIT, "limits.places (65536)");
    desc.places = &place;
    desc.place_count = 1;
    buffer.bytes = 127;
    REFUSED(QNNRT_E_ARG, "127");
    buffer.bytes = UINT64_MAX;
    REFUSED(QNNRT_E_LIMIT, "");
    buffer.bytes = (uint64_t)65 << 30;
    REFUSED(QNNRT_E_LIMIT, "limits.arena_bytes");
    buffer.bytes = 128;
    CHECK_EQ(qnnrt_plan_create(&desc, &plan, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
#undef REFUSED
}

TEST(the_limit_of_an_arena_holds)
{
    qnnrt_desc desc;
    qnnrt_run *run;
    qnnrt_error err;
    qnnrt *model;
    fake_begin("");
    memset(&desc, 0, sizeof(desc));
    desc.limits.arena_bytes = 1024;
    model = opened(llm, 3, &desc);
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_prepare(model, "prefill", &run, &err), QNNRT_E_LIMIT);
    CHECK(run == NULL);
    CHECK_STR(err.text, "1024");
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* ---- places, binding ------------------------------------------------------------------------ */

TEST(a_slot_left_to_the_caller_must_be_bound)
{
    qnnrt_entry_desc entry;
    qnnrt_place_desc place[32];
    qnnrt_plan_desc desc;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    unsigned char block[16];
    qnnrt *model;
    const qnnrt_pipeline *p;
    size_t bytes, i;
    float value;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    p = pipeline_of(model, "decode");
    memset(&entry, 0, sizeof(entry));
    memset(place, 0, sizeof(place));
    memset(&desc, 0, sizeof(desc));
    entry.pipeline = p;
    place[0].slot = slot_of(p, "hidden");
    place[0].caller_io = 1;
    place[0].offset = 12345;
    desc.entries = &entry;
    desc.entry_count = desc.place_count = 1;
    desc.places = place;
    CHECK_EQ(qnnrt_plan_create(&desc, &plan, NULL), QNNRT_OK);
    mem = memory_of(plan);
    run = run_of(mem, 0);
    CHECK(run != NULL);
    CHECK(qnnrt_data(run, "hidden", &bytes) == NULL);
    fake_reset();
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_run_error(run)->code, QNNRT_E_STATE);
    CHECK_STR(qnnrt_run_error(run)->text, "\"hidden\"");
    CHECK_EQ(fake_calls(), 0);
    CHECK_EQ(qnnrt_read_f32(run, slot_of(p, "hidden"), 0, &value, 1), QNNRT_E_STATE);
    CHECK_STR(qnnrt_run_error(run)->hint, "qnnrt_bind()");
    CHECK_EQ(qnnrt_bind(run, "hidden", block, 3), QNNRT_E_MISMATCH);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_bind(run, "hidden", block, 4), QNNRT_OK);
    LLM_RIGHT(run, 1);
    CHECK_EQ(qnnrt_bind(run, "hidden", NULL, 0), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "hidden", NULL, 0), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_bind(run, "hidden", block, 4), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "hidden", block + 1, 4), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);

    /* All slots are bound by the caller: before the last one is bound, exec is refused without a
       call of the library. */
    desc.place_count = qnnrt_pipeline_get_info(p)->slot_count;
    for (i = 0; i < desc.place_count; ++i) {
        place[i].slot = &qnnrt_pipeline_get_info(p)->slots[i];
        place[i].caller_io = 1;
    }
    CHECK_EQ(qnnrt_plan_create(&desc, &plan, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_get_info(plan)->peak, 0);
    CHECK_EQ(qnnrt_plan_get_info(plan)->block_count, 0);
    mem = memory_of(plan);
    run = run_of(mem, 0);
    CHECK(run != NULL);
    fake_reset();
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
    CHECK_EQ(fake_calls(), 0);
    {
        unsigned char *room = (unsigned char *)malloc(desc.place_count * 256);
        CHECK(room != NULL);
        memset(room, 3, desc.place_count * 256);
        for (i = 0; i < desc.place_count; ++i) {
            CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
            CHECK_EQ(bind_slot(run, place[i].slot, room + 256 * i, 256), QNNRT_OK);
        }
        CHECK_EQ(fake_calls(), 0);
        LLM_RIGHT(run, 1);
        qnnrt_run_destroy(run);
        free(room);
    }
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(places_may_overlap)
{
    qnnrt_entry_desc entry;
    qnnrt_buffer_desc buffer;
    qnnrt_place_desc place[3];
    qnnrt_plan_desc desc;
    qnnrt_error err;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    unsigned char *base;
    qnnrt *model;
    const qnnrt_pipeline *p;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    p = pipeline_of(model, "decode");
    memset(&entry, 0, sizeof(entry));
    memset(&buffer, 0, sizeof(buffer));
    memset(place, 0, sizeof(place));
    memset(&desc, 0, sizeof(desc));
    entry.pipeline = p;
    buffer.bytes = 200;
    place[0].slot = slot_of(p, "k0_in");
    place[1].slot = slot_of(p, "k1_in");
    place[1].offset = 71;                /* to 199 */
    /* New rows go after the window, where the next call reads them. */
    place[2].slot = slot_of(p, "k0_out");
    place[2].offset = 192;
    desc.entries = &entry;
    desc.buffers = &buffer;
    desc.places = place;
    desc.entry_count = desc.buffer_count = 1;
    desc.place_count = 3;
    /* step 1 would read what step 0 wrote over its input */
    TEST_JUNK(err);
    CHECK_EQ(qnnrt_plan_create(&desc, &plan, &err), QNNRT_E_ARG);
    CHECK(plan == NULL);
    CHECK_STR(err.text, "place 2: ");
    CHECK_STR(err.text, "writes \"k0_out\" to bytes 192 to 200, over \"k1_in\" at bytes 71 to 199,");
    CHECK_STR(err.text, "still read by step 1 ");
    place[1].offset = 63;
    CHECK_EQ(qnnrt_plan_create(&desc, &plan, NULL), QNNRT_OK);
    mem = memory_of(plan);
    run = run_of(mem, 0);
    CHECK(run != NULL);
    base = (unsigned char *)qnnrt_mem_get_info(mem)->buffers[0].data;
    CHECK(qnnrt_data(run, "k0_in", NULL) == base);
    CHECK(qnnrt_data(run, "k1_in", NULL) == base + 63);
    CHECK(qnnrt_data(run, "k0_out", NULL) == base + 192);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ((uint8_t)(base[193] - base[192]), 1);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* A cache of 16 rows whose window moves one row per call: new rows are written after the window,
   which then includes them. Two sequences live in two buffers and take turns by rebinding. A
   model with copies gives the expected bytes. */
TEST(a_cache_moves_by_its_pointer_and_two_sequences_take_turns)
{
    enum { CALLS = 100, WINDOW = 128, ROW = 8 };
    qnnrt_entry_desc entry;
    qnnrt_buffer_desc buffers[2];
    qnnrt_plan_desc desc;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    const qnnrt_slot *in, *out, *tokens;
    unsigned char naive[2][WINDOW];
    uint64_t offsets[2], at[2] = { 0, 0 };
    qnnrt *model;
    const qnnrt_pipeline *p;
    int call, i;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    p = pipeline_of(model, "decode");
    in = slot_of(p, "k0_in");
    out = slot_of(p, "k0_out");
    tokens = slot_of(p, "tokens");
    memset(&entry, 0, sizeof(entry));
    memset(buffers, 0, sizeof(buffers));
    memset(&desc, 0, sizeof(desc));
    entry.pipeline = p;
    desc.entries = &entry;
    desc.entry_count = 1;
    desc.buffers = buffers;
    desc.buffer_count = 2;
    buffers[0].bytes = buffers[1].bytes = WINDOW + ROW * CALLS;
    CHECK_EQ(qnnrt_plan_create(&desc, &plan, NULL), QNNRT_OK);
    mem = memory_of(plan);
    run = run_of(mem, 0);
    CHECK(run != NULL);
    for (i = 0; i < 2; ++i) offsets[i] = qnnrt_mem_get_info(mem)->buffers[i].offset;
    memset(naive, 0, sizeof(naive));
    for (call = 0; call < CALLS; ++call) {
        int sequence = (call * 7 / 3) % 2;
        int32_t token = call * 1234567;
        unsigned char row[ROW];
        unsigned sum;
        CHECK_EQ(qnnrt_bind_at(run, in, mem, offsets[sequence] + at[sequence]), QNNRT_OK);
        CHECK_EQ(qnnrt_bind_at(run, out, mem, offsets[sequence] + at[sequence] + WINDOW), QNNRT_OK);
        CHECK_EQ(qnnrt_write_i32(run, tokens, 0, &token, 1), QNNRT_OK);
        sum = (unsigned)sum_of(&token, 4) + sum_now(run, "mask") + sum_of(naive[sequence], WINDOW);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        for (i = 0; i < ROW; ++i) row[i] = (unsigned char)(sum + 2 + (unsigned)i);
        CHECK(memcmp(qnnrt_data_slot(run, out, NULL), row, ROW) == 0);
        memmove(naive[sequence], naive[sequence] + ROW, WINDOW - ROW);
        memcpy(naive[sequence] + WINDOW - ROW, row, ROW);
        at[sequence] += ROW;
        CHECK(memcmp((unsigned char *)qnnrt_mem_get_info(mem)->buffers[sequence].data + at[sequence], naive[sequence], WINDOW) == 0);
    }
    CHECK(at[0] > 100 && at[1] > 100);
    {   /* a binding within the buffer moves; any other is refused */
        void *before = qnnrt_data_slot(run, in, NULL);
        const uint64_t begin = qnnrt_mem_get_info(mem)->buffers[0].offset, bytes = qnnrt_mem_get_info(mem)->buffers[0].bytes;
        CHECK_EQ(qnnrt_bind_at(run, in, mem, begin + bytes - WINDOW), QNNRT_OK);
        CHECK(qnnrt_data_slot(run, in, NULL) == (unsigned char *)qnnrt_mem_get_info(mem)->buffers[0].data + bytes - WINDOW);
        CHECK(before != qnnrt_data_slot(run, in, NULL));
        before = qnnrt_data_slot(run, in, NULL);
        CHECK_EQ(qnnrt_bind_at(run, NULL, mem, begin), QNNRT_E_NOT_FOUND);
        CHECK_EQ(qnnrt_bind_at(run, qnnrt_pipeline_get_info(qnnrt_run_pipeline(run))->slots - 1, mem, begin), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_bind_at(run, in, mem, begin + bytes - WINDOW + 1), QNNRT_E_ARG);
        CHECK_STR(qnnrt_run_error(run)->text, "128 bytes");
        CHECK_STR(qnnrt_run_error(run)->text, "within a buffer");
        CHECK_EQ(qnnrt_bind_at(run, in, mem, qnnrt_plan_get_info(plan)->peak), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_bind_at(run, in, mem, UINT64_MAX), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_bind_at(run, in, mem, UINT64_MAX - 64), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_bind_at(run, in, NULL, 0), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_bind_at(NULL, in, mem, 0), QNNRT_E_ARG);
        CHECK(before == qnnrt_data_slot(run, in, NULL));
        CHECK_EQ(qnnrt_bind_input(run, in, NULL, 0), QNNRT_OK);
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(binding_checks_sizes_and_returns_to_own_memory)
{
    qnnrt *model;
    qnnrt_run *run;
    unsigned char block[512];
    void *own;
    const qnnrt_pipeline *p;
    size_t bytes, k;
    qnnrt_step_desc step;
    qnnrt_pipeline_desc made_desc;
    qnnrt_pipeline *made;
    const qnnrt_slot *slots[5];
    memset(&step, 0, sizeof(step));
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_prepare(model, "decode", &run, NULL), QNNRT_OK);
    p = qnnrt_run_pipeline(run);
    CHECK(p == pipeline_of(model, "decode"));
    own = qnnrt_data(run, "k1_in", &bytes);
    CHECK_EQ(bytes, 128);
    memset(block, 1, sizeof(block));
    CHECK_EQ(qnnrt_bind(run, "k1_in", block, 127), QNNRT_E_MISMATCH);
    CHECK_STR(qnnrt_run_error(run)->text, "\"k1_in\"");
    CHECK_STR(qnnrt_run_error(run)->text, "128");
    CHECK_STR(qnnrt_run_error(run)->text, "127");
    CHECK_EQ(qnnrt_bind(run, "k1_in", block, 0), QNNRT_E_MISMATCH);
    CHECK(qnnrt_data(run, "k1_in", NULL) == own);
    CHECK_EQ(qnnrt_bind(run, "k1_in", block, 512), QNNRT_OK);
    CHECK(qnnrt_data(run, "k1_in", &bytes) == block);
    CHECK_EQ(bytes, 128);
    CHECK_EQ(qnnrt_bind(run, "k1_in", block + 3, 200), QNNRT_OK);          /* an odd address */
    LLM_RIGHT(run, 1);
    /* Two inputs may share a buffer. */
    CHECK_EQ(qnnrt_bind(run, "k0_in", block + 3, 200), QNNRT_OK);
    LLM_RIGHT(run, 1);
    CHECK_EQ(qnnrt_bind(run, "logits", block + 301, 20), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "1/k1_in", block, 128), QNNRT_OK);
    LLM_RIGHT(run, 1);
    CHECK_EQ(block[300], 1);
    CHECK_EQ(block[321], 1);
    CHECK_EQ(qnnrt_bind(run, "k1_in", NULL, 999), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(run)->text, "999");
    CHECK(qnnrt_data(run, "k1_in", NULL) == block);
    CHECK_EQ(qnnrt_bind(run, "k1_in", NULL, 0), QNNRT_OK);
    CHECK(qnnrt_data(run, "k1_in", NULL) == own);
    CHECK_EQ(bind_slot(run, slot_of(p, "k0_in"), NULL, 0), QNNRT_OK);
    LLM_RIGHT(run, 1);
    CHECK_EQ(qnnrt_bind(run, "nope", block, 512), QNNRT_E_NOT_FOUND);
    CHECK_STR(qnnrt_run_error(run)->text, "\"nope\"");
    CHECK_STR(qnnrt_run_error(run)->text, "k1_in");
    CHECK_EQ(qnnrt_bind(run, "", block, 512), QNNRT_E_NOT_FOUND);
    CHECK(qnnrt_data(run, "nope", &bytes) == NULL);
    CHECK_EQ(bytes, 0);
    /* An invalid slot; slots of other pipelines, of this model and of one made by hand; the
       number after the last slot. */
    memset(&step, 0, sizeof(step));
    memset(&made_desc, 0, sizeof(made_desc));
    step.model = model;
    step.graph = "decode";
    made_desc.steps = &step;
    made_desc.step_count = 1;
    CHECK_EQ(qnnrt_pipeline_make(&made_desc, &made, NULL), QNNRT_OK);
    slots[0] = NULL;
    slots[1] = slot_of(pipeline_of(model, "prefill"), "k0_in");
    slots[2] = slot_of(pipeline_of(model, "0/decode"), "k0_in");
    slots[3] = slot_of(made, "k0_in");
    slots[4] = qnnrt_pipeline_get_info(p)->slots + qnnrt_pipeline_get_info(p)->slot_count;
    for (k = 0; k < 5; ++k) {
        const qnnrt_result code = k == 0 ? QNNRT_E_NOT_FOUND : QNNRT_E_ARG;
        float f = 0;
        int32_t i = 0;
        /* Sets a text, which the calls below replace. */
        CHECK_EQ(qnnrt_bind(run, "k0_in", block, 0), QNNRT_E_MISMATCH);
        CHECK(qnnrt_data_slot(run, slots[k], &bytes) == NULL);
        CHECK_EQ(bytes, 0);
        CHECK_EQ(qnnrt_run_error(run)->code, code);
        CHECK_EQ(qnnrt_bind_input(run, slots[k], block, 512), code);
        CHECK_STR(qnnrt_run_error(run)->text, "\"decode\"");
        if (k == 1) CHECK_STR(qnnrt_run_error(run)->text, "\"k0_in\" of pipeline \"prefill\"");
        if (k == 2) CHECK_STR(qnnrt_run_error(run)->text, "\"k0_in\" of pipeline \"0/decode\"");
        CHECK_EQ(qnnrt_bind_output(run, slots[k], NULL, 0), code);
        CHECK_EQ(qnnrt_read_f32(run, slots[k], 0, &f, 1), code);
        CHECK_EQ(qnnrt_write_f32(run, slots[k], 0, &f, 1), code);
        CHECK_EQ(qnnrt_read_i32(run, slots[k], 0, &i, 1), code);
        CHECK_EQ(qnnrt_write_i32(run, slots[k], 0, &i, 1), code);
    }
    CHECK_EQ(qnnrt_pipeline_destroy(made), QNNRT_OK);
    LLM_RIGHT(run, 1);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* ---- zero, typed access ---------------------------------------------------------------------- */

static const char zeros[] =
    "FAKEQNN 1\ngraph g\n"
    "in u8 1 0408 1 5 s 0.5 -128\nin u16 2 0416 1 3 s 0.5 -32768\nin s8 3 0308 1 3 s 0.5 7\n"
    "in axis 4 0408 2 2 3 a 1 3 0.5 -1 0.25 -2 0.125 -300\nin f16 5 0216 1 3 -\nin f32 6 0232 1 3 -\n"
    "in i32 7 0032 1 3 -\nin bw 8 0408 1 3 b 4 0.5 -9\nin plain 9 0408 1 3 -\nin u4 10 0404 1 3 s 0.5 -6\n"
    "out o 20 0408 1 4 s 1 0\n";

static int zeros_right(qnnrt_run *run)
{
    static const unsigned char u8[5] = { 128, 128, 128, 128, 128 }, u16[6] = { 0, 128, 0, 128, 0, 128 };
    static const unsigned char s8[3] = { 0xF9, 0xF9, 0xF9 }, axis[6] = { 1, 2, 255, 1, 2, 255 }, none[12] = { 0 };
    static const unsigned char bw[3] = { 9, 9, 9 }, u4[2] = { 0x66, 0x06 };
    return memcmp(qnnrt_data(run, "u8", NULL), u8, 5) == 0 && memcmp(qnnrt_data(run, "u16", NULL), u16, 6) == 0 &&
           memcmp(qnnrt_data(run, "s8", NULL), s8, 3) == 0 && memcmp(qnnrt_data(run, "axis", NULL), axis, 6) == 0 &&
           memcmp(qnnrt_data(run, "f16", NULL), none, 6) == 0 && memcmp(qnnrt_data(run, "f32", NULL), none, 12) == 0 &&
           memcmp(qnnrt_data(run, "i32", NULL), none, 12) == 0 && memcmp(qnnrt_data(run, "bw", NULL), bw, 3) == 0 &&
           memcmp(qnnrt_data(run, "plain", NULL), none, 3) == 0 && memcmp(qnnrt_data(run, "u4", NULL), u4, 2) == 0;
}

TEST(null_is_the_only_input_and_the_only_output)
{
    static const char *const lone[1] = { "FAKEQNN 1\ngraph lone\nin x 1 0232 2 1 2 -\nout y 2 0232 2 1 3 -\n\n\n\n\n\n\n\n\n\n\n\n" };
    static const char *const pair[1] = {
        "FAKEQNN 1\ngraph pair\nin a 1 0232 2 1 2 -\nin b 2 0232 2 1 2 -\nout y 3 0232 2 1 3 -\nout z 4 0232 2 1 3 -\n" };
    static const float values[2] = { 1.5f, -2 };
    qnnrt *model = opened(lone, 1, NULL);
    const qnnrt_pipeline *p = pipeline_of(model, "lone");
    float own[2] = { 3, 4 };
    qnnrt_run *run = NULL;
    const qnnrt_slot *slot;
    qnnrt_error err;
    size_t bytes = 0;
    CHECK_EQ(qnnrt_prepare(model, "lone", &run, &err), QNNRT_OK);
    CHECK(qnnrt_run_slot(run, NULL) != NULL);
    CHECK(qnnrt_run_slot(run, NULL) == qnnrt_run_slot(run, "x"));
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, NULL), 0, values, 2), QNNRT_OK);
    CHECK(memcmp(qnnrt_data(run, "x", NULL), values, sizeof(values)) == 0);
    CHECK_EQ(qnnrt_bind(run, NULL, own, sizeof(own)), QNNRT_OK);
    CHECK(qnnrt_data(run, "x", NULL) == (void *)own);
    CHECK_EQ(qnnrt_bind(run, NULL, own, 7), QNNRT_E_MISMATCH);
    CHECK(qnnrt_data(run, NULL, &bytes) == qnnrt_data(run, "y", NULL));
    CHECK_EQ(bytes, 12);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_slot_find(p, NULL, QNNRT_ROLE_ANY, &slot, &err), QNNRT_OK);
    CHECK(slot == slot_of(p, "x"));
    CHECK_EQ(qnnrt_slot_find(p, NULL, QNNRT_ROLE_OUTPUT, &slot, &err), QNNRT_OK);
    CHECK(slot == slot_of(p, "y"));
    CHECK_EQ(qnnrt_slot_find(p, NULL, QNNRT_ROLE_EDGE, &slot, &err), QNNRT_E_NOT_FOUND);
    CHECK(slot == NULL);
    CHECK_STR(err.text, "pipeline \"lone\" has no edge");
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);

    model = opened(pair, 1, NULL);
    p = pipeline_of(model, "pair");
    CHECK_EQ(qnnrt_prepare(model, "pair", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, NULL, own, sizeof(own)), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(run)->text, "pipeline \"pair\" has 2 inputs, so one must be named: \"a\" \"b\"");
    CHECK_STR(qnnrt_run_error(run)->hint, "Name the input.");
    bytes = 7;
    CHECK(qnnrt_data(run, NULL, &bytes) == NULL);
    CHECK_EQ(bytes, 0);
    CHECK_STR(qnnrt_run_error(run)->text, "2 outputs, so one must be named: \"y\" \"z\"");
    CHECK_EQ(qnnrt_slot_find(p, NULL, QNNRT_ROLE_INPUT, &slot, &err), QNNRT_E_ARG);
    CHECK(slot == NULL);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

TEST(inputs_that_nobody_sets_are_real_zero)
{
    static const char *const texts[1] = { zeros };
    qnnrt_desc desc;
    qnnrt_prepare_desc how;
    int guard, k;
    for (guard = 0; guard < 2; ++guard) {
        qnnrt *model;
        qnnrt_run *run;
        fake_begin("");
        memset(&desc, 0, sizeof(desc));
        memset(&how, 0, sizeof(how));
        how.guard = guard;
        model = opened(texts, 1, &desc);
        CHECK(model != NULL);
        CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, NULL), QNNRT_OK);
        CHECK(zeros_right(run));
        for (k = 0; k < 3; ++k) CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK(zeros_right(run));
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        LEDGER_EMPTY();
    }
}

/* Fill what a hook allocates, so that memory that nobody fills shows. */
static void *dirty_alloc(void *user, size_t bytes)
{
    void *data = malloc(bytes);
    (void)user;
    if (data != NULL) memset(data, 0xA5, bytes);
    return data;
}
static void dirty_free(void *user, void *data) { (void)user; free(data); }

static int filled_with(qnnrt_run *run, const char *name, int byte)
{
    size_t bytes = 0, i;
    const unsigned char *at = (const unsigned char *)qnnrt_data(run, name, &bytes);
    for (i = 0; i < bytes; ++i)
        if (at[i] != byte) return 0;
    return at != NULL && bytes > 0;
}

/* Without no_zero inputs are real zero and the rest zero bytes, whatever the memory held; with it
   the memory holds what it held, and is filled by qnnrt_mem_clear(). */
TEST(memory_is_left_unfilled_where_that_is_asked_for)
{
    static const char *const texts[1] = { zeros };
    static uint64_t block[512];
    qnnrt_desc desc;
    qnnrt_prepare_desc how;
    int guard, no_zero, mine;
    for (no_zero = 0; no_zero < 2; ++no_zero)
        for (guard = 0; guard < 2; ++guard) {
            const int before = guard ? 0 : 0xA5;     /* pages of the system are zero */
            qnnrt *model;
            qnnrt_run *run;
            fake_begin("");
            memset(&desc, 0, sizeof(desc));
            memset(&how, 0, sizeof(how));
            desc.backend_desc.hooks.alloc = dirty_alloc;
            desc.backend_desc.hooks.free = dirty_free;
            how.guard = guard;
            how.mem.no_zero = no_zero;
            model = opened(texts, 1, &desc);
            CHECK(model != NULL);
            CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, NULL), QNNRT_OK);
            CHECK_EQ(zeros_right(run), !no_zero);
            CHECK_EQ(filled_with(run, "u8", no_zero ? before : 128), 1);
            CHECK_EQ(filled_with(run, "o", no_zero ? before : 0), 1);
            CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
            qnnrt_run_destroy(run);
            for (mine = 0; mine < 2 - guard; ++mine) {
                const qnnrt_pipeline *p = pipeline_of(model, NULL);
                qnnrt_plan_desc plan_desc;
                qnnrt_plan *plan;
                qnnrt_mem_desc mem_desc;
                qnnrt_mem *mem;
                memset(&plan_desc, 0, sizeof(plan_desc));
                plan_desc.guard = guard;
                plan = planned(&p, NULL, 1, &plan_desc);
                memset(&mem_desc, 0, sizeof(mem_desc));
                mem_desc.no_zero = no_zero;
                if (mine) {
                    mem_desc.bytes = (size_t)qnnrt_plan_get_info(plan)->peak;
                    CHECK(mem_desc.bytes + 64 <= sizeof(block));
                    mem_desc.data = (unsigned char *)block + (64 - (uintptr_t)block % 64) % 64;
                    memset(mem_desc.data, 0x3C, mem_desc.bytes);
                }
                CHECK_EQ(qnnrt_mem_create(plan, &mem_desc, &mem, NULL), QNNRT_OK);
                run = run_of(mem, 0);
                CHECK_EQ(zeros_right(run), !no_zero);
                CHECK_EQ(filled_with(run, "o", !no_zero ? 0 : mine ? 0x3C : before), 1);
                CHECK_EQ(filled_with(run, "u16", 0x3C), no_zero && mine);
                qnnrt_mem_clear(mem);
                CHECK(zeros_right(run));
                CHECK_EQ(filled_with(run, "o", 0), 1);
                qnnrt_run_destroy(run);
                CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
                CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
            }
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            LEDGER_EMPTY();
        }
}

/* No two tensors of a plan share bytes, in no group, and peak, bound and naive are equal. */
TEST(each_tensor_has_a_block_of_its_own_where_that_is_asked_for)
{
    static const uint32_t all_groups[3][4] = { { 0, 0, 0, 0 }, { 1, 1, 1, 1 }, { 1, 2, 1, 2 } };
    static const uint32_t aligns[3] = { 1, 1, 64 };
    qnnrt *model;
    qnnrt_desc desc;
    size_t g, reuse, with, guard, i, k;
    fake_begin("");
    memset(&desc, 0, sizeof(desc));
    model = opened(llm, 3, &desc);
    CHECK(model != NULL);
    for (g = 0; g < 3; ++g)
        for (reuse = 0; reuse < 2; ++reuse)
            for (with = 0; with < 2; ++with) {
                qnnrt_entry_desc entries[4];
                qnnrt_buffer_desc buffers[2];
                qnnrt_place_desc place;
                qnnrt_plan_desc plan_desc;
                qnnrt_plan *plan, *shared;
                const qnnrt_plan_info *info;
                memset(entries, 0, sizeof(entries));
                memset(buffers, 0, sizeof(buffers));
                memset(&place, 0, sizeof(place));
                memset(&plan_desc, 0, sizeof(plan_desc));
                for (i = 0; i < 4; ++i) {
                    entries[i].pipeline = pipeline_of(model, i % 2 == 0 ? "prefill" : "decode");
                    entries[i].group = all_groups[g][i];
                    entries[i].reuse_inputs = (int)reuse;
                }
                buffers[0].bytes = 300;
                buffers[0].align = 1;
                buffers[1].bytes = 7;
                place.slot = slot_of(entries[0].pipeline, "k2_in");
                plan_desc.entries = entries;
                plan_desc.entry_count = 4;
                plan_desc.buffers = buffers;
                plan_desc.places = &place;
                plan_desc.buffer_count = with ? 2 : 0;
                plan_desc.place_count = with ? 1 : 0;
                CHECK_EQ(qnnrt_plan_create(&plan_desc, &shared, NULL), QNNRT_OK);
                plan_desc.per_tensor = 1;
                CHECK_EQ(qnnrt_plan_create(&plan_desc, &plan, NULL), QNNRT_OK);
                info = qnnrt_plan_get_info(plan);
                PLAN_RIGHT(plan, all_groups[g], aligns);
                CHECK_EQ(info->peak, info->naive);
                CHECK_EQ(info->bound, info->naive);
                CHECK(qnnrt_plan_get_info(shared)->peak < info->peak);
                CHECK_EQ(qnnrt_plan_get_info(shared)->block_count, info->block_count);
                for (i = 0; i < info->block_count; ++i) {
                    const qnnrt_plan_block *a = &info->blocks[i];
                    CHECK(right(lifetime_wrong(a, entries)));
                    CHECK_EQ(a->offset % (i == 0 && with ? 1 : 64), 0);
                    CHECK_EQ(a->kept, a->entry == QNNRT_NO_ENTRY || a->slot->role == QNNRT_ROLE_INPUT);
                    for (k = 0; k < i; ++k)
                        CHECK(!meet(a->offset, a->bytes, info->blocks[k].offset, info->blocks[k].bytes));
                }
                for (guard = 0; guard < 2; ++guard) {
                    qnnrt_mem *mem;
                    if (guard) {
                        CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
                        plan_desc.guard = 1;
                        CHECK_EQ(qnnrt_plan_create(&plan_desc, &plan, NULL), QNNRT_OK);
                    }
                    CHECK_EQ(qnnrt_mem_create(plan, NULL, &mem, NULL), QNNRT_OK);
                    for (i = 0; i < 4; ++i) {
                        qnnrt_run *run = run_of(mem, i);
                        CHECK(run != NULL);
                        LLM_RIGHT(run, i % 2 == 0 ? 8 : 1);
                        qnnrt_run_destroy(run);
                    }
                    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
                }
                CHECK_EQ(qnnrt_plan_destroy(shared), QNNRT_OK);
                CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
            }
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* With per_tensor an edge can be read after an exec: it holds what the step wrote, and shares
   its bytes with no other tensor. Without it tensors share bytes. */
TEST(edges_can_be_read_after_an_exec_with_blocks_of_their_own)
{
    qnnrt_desc desc;
    qnnrt_prepare_desc how;
    int own;
    for (own = 0; own < 2; ++own) {
        const qnnrt_pipeline_info *info;
        qnnrt *model;
        qnnrt_run *run;
        size_t i, k, meetings = 0;
        fake_begin("");
        memset(&desc, 0, sizeof(desc));
        memset(&how, 0, sizeof(how));
        how.per_tensor = own;
        model = opened(llm, 3, &desc);
        CHECK(model != NULL);
        CHECK_EQ(qnnrt_prepare_with(model, "prefill", &how, &run, NULL), QNNRT_OK);
        LLM_RIGHT(run, 8);
        if (own) {
            const unsigned sum0 = sum_now(run, "tokens") + sum_now(run, "mask") + sum_now(run, "k0_in");
            const unsigned sum1 = sum_now(run, "hidden") + sum_now(run, "cos") + sum_now(run, "mask") +
                                  sum_now(run, "k1_in");
            CHECK(filled(qnnrt_data(run, "hidden", NULL), 32, sum0, 0));
            CHECK(filled(qnnrt_data(run, "cos", NULL), 64, sum0, 1));
            CHECK(filled(qnnrt_data(run, "h2", NULL), 32, sum1, 0));
        }
        info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
        for (i = 0; i < info->slot_count; ++i)
            for (k = 0; k < i; ++k) {
                size_t a_bytes, b_bytes;
                const uintptr_t a = (uintptr_t)qnnrt_data_slot(run, &info->slots[i], &a_bytes);
                const uintptr_t b = (uintptr_t)qnnrt_data_slot(run, &info->slots[k], &b_bytes);
                meetings += (size_t)meet(a, a_bytes, b, b_bytes);
            }
        CHECK_EQ(meetings == 0, own);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        LEDGER_EMPTY();
    }
}

TEST(inputs_can_be_recycled)
{
    qnnrt_entry_desc entry;
    qnnrt_plan_desc desc;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    const qnnrt_pipeline_info *info;
    uint64_t peaks[2];
    qnnrt *model;
    size_t s, k, bytes;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    memset(&entry, 0, sizeof(entry));
    memset(&desc, 0, sizeof(desc));
    entry.pipeline = pipeline_of(model, "prefill");
    info = qnnrt_pipeline_get_info(entry.pipeline);
    desc.entries = &entry;
    desc.entry_count = 1;
    for (k = 0; k < 2; ++k) {
        entry.reuse_inputs = (int)k;
        CHECK_EQ(qnnrt_plan_create(&desc, &plan, NULL), QNNRT_OK);
        peaks[k] = qnnrt_plan_get_info(plan)->peak;
        mem = memory_of(plan);
        run = run_of(mem, 0);
        CHECK(run != NULL);
        /* Results are right if all inputs are written before each exec. */
        if (k == 1)
            for (s = 0; s < 3; ++s) {
                size_t i;
                for (i = 0; i < info->slot_count; ++i)
                    if (info->slots[i].role == QNNRT_ROLE_INPUT) {
                        void *at = qnnrt_data_slot(run, &info->slots[i], &bytes);
                        memset(at, (int)(17 * i + s), bytes);
                    }
                LLM_RIGHT(run, 8);
            }
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
        CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    }
    CHECK(peaks[1] < peaks[0]);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* Every dtype by name and by slot. yes: 1 float, 2 int32. Values 1, 0, 2, 1 fit all of them. */
static const struct typed { const char *facts; int yes; } types[] = {
    { "0008 1 4 -", 3 }, { "0016 1 4 -", 3 }, { "0032 1 4 -", 3 }, { "0064 1 4 -", 3 }, { "0108 1 4 -", 3 }, { "0116 1 4 -", 3 },
    { "0132 1 4 -", 3 }, { "0164 1 4 -", 3 }, { "0216 1 4 -", 1 }, { "0226 1 4 -", 1 }, { "0232 1 4 -", 1 }, { "0264 1 4 -", 1 },
    { "0308 1 4 s 0.5 -3", 3 }, { "0316 1 4 s 0.5 -3", 3 }, { "0332 1 4 s 0.5 0", 3 }, { "0408 1 4 s 0.5 -3", 3 },
    { "0416 1 4 s 0.5 -3", 3 }, { "0432 1 4 s 0.5 0", 3 }, { "0304 1 4 s 0.5 -1", 3 }, { "0404 1 4 s 0.5 -3", 3 },
    { "0004 1 4 -", 3 }, { "0104 1 4 -", 3 }, { "0408 1 4 b 4 0.5 -3", 3 }, { "0408 2 2 2 a 0 2 0.5 -3 0.25 -4", 3 },
    { "0308 2 2 2 w 4 1 2 0.5 0 0.5 1", 3 }, { "0204 1 4 -", 0 }, { "0208 1 4 -", 0 }, { "0408 1 4 -", 2 }, { "0408 1 4 e 7", 2 }
};

TEST(typed_access_on_every_dtype)
{
    static const float given[4] = { 1.0f, 0.0f, 2.0f, 1.0f };
    size_t k;
    for (k = 0; k < sizeof(types) / sizeof(types[0]); ++k) {
        char text[512];
        const char *texts[1];
        qnnrt *model;
        qnnrt_run *run;
        const qnnrt_slot *in;
        float values[4], one;
        int32_t codes[4], before[4], code;
        unsigned char kept[64];
        const qnnrt_tensor_info *tensor;
        size_t bytes;
        int f = (types[k].yes & 1) != 0, i = (types[k].yes & 2) != 0;
        qnnrt_result no = QNNRT_E_UNSUPPORTED;
        snprintf(text, sizeof(text), "FAKEQNN 1\n# a context binary has at least 64 bytes\ngraph g\nin x 1 %s\nout y 2 0408 1 4 -\n", types[k].facts);
        texts[0] = text;
        fake_begin("");
        model = opened(texts, 1, NULL);
        CHECK(model != NULL);
        CHECK_EQ(qnnrt_prepare(model, NULL, &run, NULL), QNNRT_OK);
        in = slot_of(qnnrt_run_pipeline(run), "x");
        tensor = in->tensor;
        if (qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, given, 4) != (f ? QNNRT_OK : no)) printf("%s: %s\n", types[k].facts, qnnrt_run_error(run)->text);
        CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, given, 4), f ? QNNRT_OK : no);
        if (!f) CHECK_STR(qnnrt_run_error(run)->text, "\"x\"");
        CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "x"), 0, values, 4), f ? QNNRT_OK : no);
        if (f) CHECK(memcmp(values, given, sizeof(values)) == 0);
        if (f) {   /* a range by slot: values next to it do not change */
            one = 0.5f;
            if (tensor->dtype < 0x0200) one = 2.0f;
            CHECK_EQ(qnnrt_write_f32(run, in, 1, &one, 1), QNNRT_OK);
            CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "x"), 0, values, 4), QNNRT_OK);
            CHECK(values[0] == given[0] && values[1] == one && values[2] == given[2] && values[3] == given[3]);
            values[0] = values[1] = -9.0f;
            CHECK_EQ(qnnrt_read_f32(run, in, 2, values, 2), QNNRT_OK);
            CHECK(values[0] == given[2] && values[1] == given[3]);
        }
        memset(kept, 0xA5, sizeof(kept));
        CHECK_EQ(qnnrt_encode_f32(tensor, given, kept), f ? QNNRT_OK : no);
        /* what is refused is not written */
        for (size_t b = 0; !f && b < sizeof(kept); ++b) CHECK_EQ(kept[b], 0xA5);
        CHECK_EQ(qnnrt_decode_f32(tensor, kept, values), f ? QNNRT_OK : no);
        if (f) {
            CHECK(memcmp(values, given, sizeof(values)) == 0);
            CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, given, 4), QNNRT_OK);
            CHECK(memcmp(kept, qnnrt_data(run, "x", &bytes), (size_t)tensor->bytes) == 0);
            CHECK_EQ(bytes, tensor->bytes);
        }
        CHECK_EQ(qnnrt_read_i32(run, qnnrt_run_slot(run, "x"), 0, before, 4), i ? QNNRT_OK : no);
        codes[0] = 1; codes[1] = 0; codes[2] = 2; codes[3] = 1;
        CHECK_EQ(qnnrt_write_i32(run, qnnrt_run_slot(run, "x"), 0, codes, 4), i ? QNNRT_OK : no);
        if (i) {
            memset(codes, 0xFF, sizeof(codes));
            CHECK_EQ(qnnrt_read_i32(run, qnnrt_run_slot(run, "x"), 0, codes, 4), QNNRT_OK);
            CHECK(codes[0] == 1 && codes[1] == 0 && codes[2] == 2 && codes[3] == 1);
            code = 3;
            CHECK_EQ(qnnrt_write_i32(run, in, 3, &code, 1), QNNRT_OK);
            CHECK_EQ(qnnrt_read_i32(run, in, 2, codes, 2), QNNRT_OK);
            CHECK(codes[0] == 2 && codes[1] == 3);
        }
        /* Counts that reach past the end of the tensor are refused. */
        CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 1, given, 4), QNNRT_E_MISMATCH);
        CHECK_STR(qnnrt_run_error(run)->text, "\"x\" has 4 elements");
        CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "x"), 0, values, 5), QNNRT_E_MISMATCH);
        CHECK_EQ(qnnrt_write_i32(run, qnnrt_run_slot(run, "x"), 5, codes, 0), QNNRT_E_MISMATCH);
        CHECK_EQ(qnnrt_read_i32(run, qnnrt_run_slot(run, "x"), 0, codes, SIZE_MAX), QNNRT_E_MISMATCH);
        CHECK_EQ(qnnrt_write_f32(run, in, 4, given, 1), QNNRT_E_MISMATCH);
        CHECK_EQ(qnnrt_read_f32(run, in, 1, values, 4), QNNRT_E_MISMATCH);
        CHECK_EQ(qnnrt_read_i32(run, in, UINT64_MAX, codes, 2), QNNRT_E_MISMATCH);
        CHECK_EQ(qnnrt_write_i32(run, in, 2, codes, SIZE_MAX), QNNRT_E_MISMATCH);
        if (f) CHECK_EQ(qnnrt_read_f32(run, in, 4, values, 0), QNNRT_OK);
        if (f) CHECK_EQ(qnnrt_write_f32(run, in, 0, NULL, 0), QNNRT_OK);
        CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "nope"), 0, given, 4), QNNRT_E_NOT_FOUND);
        CHECK_STR(qnnrt_run_error(run)->text, "\"nope\"");
        CHECK_EQ(qnnrt_read_i32(run, qnnrt_run_slot(run, "nope"), 0, codes, 4), QNNRT_E_NOT_FOUND);
        CHECK_STR(qnnrt_run_error(run)->text, "\"nope\"");
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        LEDGER_EMPTY();
    }
}

/* ---- guard pages ------------------------------------------------------------------------------ */

/* True if a child dies of this access. way 0: write a byte at `at`; 1: exec. */
static int dies(int way, unsigned char *at, qnnrt_run *run)
{
    int status = 0;
    pid_t child;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        /* Sanitizers would print and exit: the test needs a plain signal. */
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        if (way == 0) *(volatile unsigned char *)at = 1;
        else (void)qnnrt_exec(run);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

TEST(guard_pages_catch_one_byte_too_many)
{
    static const char text[] =
        "FAKEQNN 1\ngraph g\nin a 1 0408 1 5 s 0.5 -128\nin b 2 0416 1 3 -\nin c 3 0232 1 4099 -\nin d 4 0064 1 1 -\nin e 5 0404 1 3 -\n"
        "out o 7 0408 1 4097 -\nout p 8 0216 2 3 5 -\n";
    static const char *const texts[1] = { text };
    qnnrt_desc desc;
    qnnrt_prepare_desc how;
    qnnrt *model;
    qnnrt_run *run;
    const qnnrt_pipeline_info *info;
    size_t s;
    fake_begin("");
    memset(&desc, 0, sizeof(desc));
    memset(&how, 0, sizeof(how));
    how.guard = 1;
    model = opened(texts, 1, &desc);
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_prepare_with(model, NULL, &how, &run, NULL), QNNRT_OK);
    info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    for (s = 0; s < info->slot_count; ++s) {
        size_t bytes;
        unsigned char *at = (unsigned char *)qnnrt_data_slot(run, &info->slots[s], &bytes);
        CHECK(at != NULL);
        CHECK_EQ(dies(0, at + bytes - 1, run), 0);
        CHECK_EQ(dies(0, at + bytes, run), 1);
        CHECK_EQ(dies(0, at, run), 0);
    }
    CHECK_EQ(dies(1, NULL, run), 0);
    fake_knobs("overrun=1");
    CHECK_EQ(dies(1, NULL, run), 1);
    fake_knobs("");
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(guard_and_buffers)
{
    static const uint32_t aligns[] = { 0, 1, 128, 4096, 65536, 1048576 };
    qnnrt_entry_desc entry;
    qnnrt_buffer_desc buffer;
    qnnrt_place_desc place;
    qnnrt_plan_desc desc;
    qnnrt_mem_desc mem_desc;
    qnnrt *model;
    size_t k;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    memset(&entry, 0, sizeof(entry));
    memset(&buffer, 0, sizeof(buffer));
    memset(&place, 0, sizeof(place));
    memset(&desc, 0, sizeof(desc));
    memset(&mem_desc, 0, sizeof(mem_desc));
    entry.pipeline = pipeline_of(model, "decode");
    buffer.bytes = 200;
    place.slot = slot_of(entry.pipeline, "k2_in");
    place.offset = 72;
    desc.entries = &entry;
    desc.buffers = &buffer;
    desc.places = &place;
    desc.entry_count = desc.buffer_count = desc.place_count = 1;
    desc.guard = 1;
    for (k = 0; k < sizeof(aligns) / sizeof(aligns[0]); ++k) {
        qnnrt_plan *plan;
        qnnrt_mem *mem;
        qnnrt_run *run;
        qnnrt_error err;
        unsigned char *at;
        buffer.align = aligns[k];
        CHECK_EQ(qnnrt_plan_create(&desc, &plan, NULL), QNNRT_OK);
        CHECK_EQ(qnnrt_mem_create(plan, &mem_desc, &mem, &err), QNNRT_OK);
        run = run_of(mem, 0);
        CHECK(run != NULL);
        at = (unsigned char *)qnnrt_mem_get_info(mem)->buffers[0].data;
        CHECK(qnnrt_data(run, "k2_in", NULL) == at + 72);
        LLM_RIGHT(run, 1);
        CHECK_EQ((uintptr_t)at % (aligns[k] != 0 ? aligns[k] : 64), 0);
        if (aligns[k] == 1) CHECK_EQ(dies(0, at + 200, run), 1);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
        CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* ---- errors of exec, hooks -------------------------------------------------------------------- */

TEST(a_failing_step_is_named_and_the_next_exec_works)
{
    static const char *const files[3] = { "forward_0.bin", "forward_1.bin", "forward_2.bin" };
    qnnrt *model;
    qnnrt_run *run;
    int k;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_prepare(model, "decode", &run, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_run_error(run)->code, QNNRT_OK);
    for (k = 0; k < 3; ++k) {
        char knobs[64], step[16];
        const qnnrt_error *err;
        uint64_t stats[16];
        snprintf(knobs, sizeof(knobs), "fail=graphExecute:0x1b57:%d", k + 1);
        snprintf(step, sizeof(step), "step %d", k);
        fake_knobs(knobs);
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
        err = qnnrt_run_error(run);
        CHECK_EQ(err->code, QNNRT_E_BACKEND);
        CHECK_EQ(err->vendor_code, 0x1b57);
        CHECK_STR(err->text, step);
        CHECK_STR(err->text, files[k]);
        CHECK_STR(err->text, "\"decode\"");
        CHECK_STR(err->text, "graphExecute");
        CHECK_STR(err->text, "0x1b57");
        fake_stats(stats);
        CHECK_EQ(stats[5], k + 1);                   /* later steps are not called */
        fake_knobs("");
        LLM_RIGHT(run, 1);
    }
    fake_knobs("fail=graphExecute:0x1234567800001770");
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
    CHECK_EQ(qnnrt_run_error(run)->vendor_code, 0x1234567800001770);
    CHECK_STR(qnnrt_run_error(run)->text, "QNN_GRAPH_ERROR_INVALID_ARGUMENT");
    fake_knobs("");
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* With keep=1 the fake reads the binary again and logs when it has changed; with lograw=1 it
   logs at open. */
TEST(an_error_has_the_lines_of_its_own_exec_only)
{
    static char text[] = "FAKEQNN 1\n# keep: a context binary has at least 64 bytes\ngraph g\nin a 1 0408 1 5 -\nout o 7 0408 1 4 -\n";
    static char second[] = "FAKEQNN 1\n# keep: a context binary has at least 64 bytes\ngraph g2\nin o 1 0408 1 4 -\nout p 7 0408 1 4 -\n";
    qnnrt_file files[2];
    memset(files, 0, sizeof(files));
    qnnrt_desc desc;
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    int k;
    fake_begin("keep=1,lograw=1");
    memset(files, 0, sizeof(files));
    memset(&desc, 0, sizeof(desc));
    files[0].data = text;
    files[0].bytes = strlen(text);
    files[1].data = second;
    files[1].bytes = strlen(second);
    desc.files = files;
    desc.file_count = 2;
    desc.backend_desc.path = desc.system_path = TEST_FAKE_LIB;
    CHECK_EQ(qnnrt_open(NULL, &desc, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    fake_knobs("fail=graphExecute:0x1b57,keep=1");
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);          /* the error quotes no line of the open */
    CHECK(strstr(qnnrt_run_error(run)->text, "logged") == NULL);
    fake_knobs("keep=1");
    for (k = 0; k < 12; ++k) {                           /* more lines than are kept */
        const char *first;
        second[12] = 'K';
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
        second[12] = 'k';
        first = strstr(qnnrt_run_error(run)->text, "logged");
        CHECK_STR(qnnrt_run_error(run)->text, "the binary has changed");
        CHECK_STR(qnnrt_run_error(run)->text, "step 1");
        CHECK(first != NULL);
        CHECK(strstr(strstr(first, "has changed") + 1, "has changed") == NULL);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

static struct {
    /* Depth of the lock; wrong calls; pairs of lock and unlock. */
    int depth, wrong, pairs;
    size_t trace;                         /* length of the trace at the last unlock                 */
    int outside;                          /* calls of the backend's library without the lock        */
    qnnrt_run *again;                     /* run that the lock hook calls exec on */
    qnnrt_result answer;
    int64_t live, allocations;
} hook;

/* Count the calls in the trace since the last unlock; calls of the system library are not
   counted. */
static void hook_look(void)
{
    const char *at = fake_trace();
    size_t length = strlen(at);
    at += hook.trace <= length ? hook.trace : 0;
    while (*at != '\0') {
        if (strncmp(at, "system", 6) != 0 && ++hook.outside == 1) printf("without the lock: %.*s\n", (int)strcspn(at, "\n"), at);
        at += strcspn(at, "\n");
        if (*at == '\n') ++at;
    }
}

static void hook_lock(void *user)
{
    if (user != &hook || hook.depth != 0) ++hook.wrong;
    hook_look();
    ++hook.depth;
    if (hook.again != NULL) {
        qnnrt_run *run = hook.again;
        hook.again = NULL;
        hook.answer = qnnrt_exec(run);
    }
}

static void hook_unlock(void *user)
{
    if (user != &hook || hook.depth != 1) ++hook.wrong;
    --hook.depth;
    ++hook.pairs;
    hook.trace = strlen(fake_trace());
}

static void *hook_alloc(void *user, size_t bytes)
{
    void *data = malloc(bytes);
    if (user != &hook) ++hook.wrong;
    if (data != NULL) { ++hook.live; ++hook.allocations; }
    return data;
}

static void hook_free(void *user, void *data)
{
    if (user != &hook || data == NULL) ++hook.wrong;
    --hook.live;
    free(data);
}

static void hook_begin(qnnrt_hooks *hooks, int lock)
{
    memset(&hook, 0, sizeof(hook));
    memset(hooks, 0, sizeof(*hooks));
    hooks->alloc = hook_alloc;
    hooks->free = hook_free;
    hooks->alloc_user = &hook;
    if (!lock) return;
    hooks->lock = hook_lock;
    hooks->unlock = hook_unlock;
    hooks->lock_user = &hook;
}

static void trace_again(void) { fake_reset(); hook.trace = 0; }

TEST(lock_and_unlock_stand_around_every_vendor_call)
{
    static const char *const faults[] = { "", "fail=contextCreateFromBinary:0x1388:2", "fail=graphRetrieve:0x1773:3", "fail=graphExecute:0x1b57:2",
                                          "fail=backendCreate:0xfa0", "fail=deviceCreate:0x36b3", "fail=contextFree:0x1388", "fail=deviceFree:0x1388",
                                          "fail=backendFree:0x1388", "fail=logFree:0x1388", "zero=graphRetrieve", "zero=contextCreateFromBinary",
                                          "fail=systemContextGetBinaryInfo:0x753a:2", "fail=systemContextGetMetaData:0x753a:2", "fail=logCreate:0x3e8",
                                          "devnosup=1", "fail=backendGetBuildId:0xfa4" };
    size_t k;
    int keep;
    for (k = 0; k < sizeof(faults) / sizeof(faults[0]); ++k)
        for (keep = 0; keep < 2; ++keep) {
            qnnrt_desc desc;
            qnnrt *model;
            qnnrt_run *run = NULL;
            qnnrt_error err;
            const char *folder = folder_of(llm, 3);
            fake_begin(faults[k]);
            memset(&desc, 0, sizeof(desc));
            hook_begin(&desc.backend_desc.hooks, 1);
            desc.backend_desc.path = desc.system_path = TEST_FAKE_LIB;
            desc.keep_going = keep;
            trace_again();
            if (qnnrt_open(folder, &desc, &model, &err) == QNNRT_OK) {
                if (qnnrt_prepare(model, "decode", &run, &err) == QNNRT_OK) { qnnrt_exec(run); qnnrt_exec(run); }
                qnnrt_run_destroy(run);
                CHECK(hook.pairs > 0);
                qnnrt_close(model);
            }
            hook_look();
            if (hook.outside != 0) printf("%s: %d vendor calls without the lock\n", faults[k], hook.outside);
            CHECK_EQ(hook.outside, 0);
            CHECK_EQ(hook.depth, 0);
            CHECK_EQ(hook.wrong, 0);
            CHECK_EQ(hook.live, 0);
            LEDGER_EMPTY();
        }
}

TEST(exec_within_its_group_answers_busy)
{
    static const uint32_t groups[3] = { 4, 4, 0 };
    const qnnrt_pipeline *three[3];
    qnnrt_desc desc;
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *prefill, *decode, *alone;
    fake_begin("");
    memset(&desc, 0, sizeof(desc));
    hook_begin(&desc.backend_desc.hooks, 1);
    model = opened(llm, 3, &desc);
    CHECK(model != NULL);
    three[0] = pipeline_of(model, "prefill");
    three[1] = three[2] = pipeline_of(model, "decode");
    plan = planned(three, groups, 3, NULL);
    CHECK(plan != NULL);
    mem = memory_of(plan);
    prefill = run_of(mem, 0);
    decode = run_of(mem, 1);
    alone = run_of(mem, 2);
    CHECK(prefill != NULL && decode != NULL && alone != NULL);
    hook.again = decode;
    fake_reset();
    CHECK_EQ(qnnrt_exec(prefill), QNNRT_OK);
    CHECK_EQ(hook.answer, QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_run_error(decode)->code, QNNRT_E_BUSY);
    CHECK_STR(qnnrt_run_error(decode)->text, "\"decode\"");
    CHECK_STR(qnnrt_run_error(decode)->hint, "groups");
    CHECK_EQ(fake_calls(), 3);
    LLM_RIGHT(decode, 1);
    hook.answer = QNNRT_OK;
    hook.again = decode;                                  /* itself */
    CHECK_EQ(qnnrt_exec(decode), QNNRT_OK);
    CHECK_EQ(hook.answer, QNNRT_E_BUSY);
    /* A failing exec releases the group. */
    fake_knobs("fail=graphExecute:0x1b57:2");
    CHECK_EQ(qnnrt_exec(prefill), QNNRT_E_BACKEND);
    CHECK_EQ(hook.depth, 0);
    fake_knobs("");
    LLM_RIGHT(decode, 1);
    LLM_RIGHT(alone, 1);
    LLM_RIGHT(prefill, 8);
    qnnrt_run_destroy(alone);
    qnnrt_run_destroy(prefill);
    qnnrt_run_destroy(decode);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(hook.wrong, 0);
    CHECK_EQ(hook.live, 0);
    LEDGER_EMPTY();
}

static void *exec_there(void *run)
{
    qnnrt_result *result = (qnnrt_result *)malloc(sizeof(*result));
    if (result != NULL) *result = qnnrt_exec((qnnrt_run *)run);
    return result;
}

static struct { qnnrt_run *run; qnnrt_result answer; } thread_hook;

static void thread_lock(void *user)
{
    pthread_t thread;
    void *result = NULL;
    qnnrt_run *run = thread_hook.run;
    (void)user;
    if (run == NULL) return;
    thread_hook.run = NULL;
    if (pthread_create(&thread, NULL, exec_there, run) != 0) return;
    pthread_join(thread, &result);
    if (result != NULL) thread_hook.answer = *(qnnrt_result *)result;
    free(result);
}

static void thread_unlock(void *user) { (void)user; }

TEST(exec_from_another_thread_answers_busy)
{
    static const uint32_t groups[2] = { 1, 1 };
    const qnnrt_pipeline *both[2];
    qnnrt_desc desc;
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *prefill, *decode;
    fake_begin("");
    memset(&desc, 0, sizeof(desc));
    desc.backend_desc.hooks.lock = thread_lock;
    desc.backend_desc.hooks.unlock = thread_unlock;
    model = opened(llm, 3, &desc);
    CHECK(model != NULL);
    both[0] = pipeline_of(model, "prefill");
    both[1] = pipeline_of(model, "decode");
    plan = planned(both, groups, 2, NULL);
    mem = memory_of(plan);
    prefill = run_of(mem, 0);
    decode = run_of(mem, 1);
    CHECK(prefill != NULL && decode != NULL);
    thread_hook.run = decode;
    thread_hook.answer = QNNRT_OK;
    CHECK_EQ(qnnrt_exec(prefill), QNNRT_OK);
    CHECK_EQ(thread_hook.answer, QNNRT_E_BUSY);
    LLM_RIGHT(decode, 1);
    qnnrt_run_destroy(prefill);
    qnnrt_run_destroy(decode);
    qnnrt_mem_destroy(mem);
    qnnrt_plan_destroy(plan);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(exec_and_bind_allocate_nothing_and_call_once_per_step)
{
    static const char *const names[2] = { "prefill", "decode" };
    int lock, k;
    size_t n;
    for (lock = 0; lock < 2; ++lock)
        for (n = 0; n < 2; ++n) {
            qnnrt_desc desc;
            qnnrt *model;
            qnnrt_run *run;
            int64_t allocations;
            uint64_t stats[16];
            unsigned char block[512];
            const qnnrt_slot *slot;
            fake_begin("");
            memset(&desc, 0, sizeof(desc));
            hook_begin(&desc.backend_desc.hooks, lock);
            model = opened(llm, 3, &desc);
            CHECK(model != NULL);
            CHECK_EQ(qnnrt_prepare(model, names[n], &run, NULL), QNNRT_OK);
            slot = slot_of(qnnrt_run_pipeline(run), "k0_in");
            memset(block, 0, sizeof(block));
            allocations = hook.allocations;
            trace_again();
            for (k = 1; k <= 10; ++k) {
                CHECK_EQ(bind_slot(run, slot, block + k, 256), QNNRT_OK);
                CHECK_EQ(qnnrt_bind(run, "k1_in", block, 256), QNNRT_OK);
                CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
                fake_stats(stats);
                CHECK_EQ(stats[5], 3 * k);
                CHECK_EQ(stats[9], 3 * k);
            }
            CHECK_EQ(hook.allocations, allocations);
            CHECK_EQ(bind_slot(run, slot, block, 1), QNNRT_E_MISMATCH);
            fake_knobs("fail=graphExecute:0x1b57");
            CHECK_EQ(qnnrt_exec(run), QNNRT_E_BACKEND);
            CHECK_EQ(hook.allocations, allocations);
            qnnrt_run_destroy(run);
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            CHECK_EQ(hook.live, 0);
            CHECK_EQ(hook.wrong, 0);
            LEDGER_EMPTY();
        }
}

/* ---- refusals, lifetimes ---------------------------------------------------------------------- */

TEST(what_cannot_run_is_refused_at_prepare)
{
    static const struct { const char *tensor, *needle; } cases[] = {
        { "in x 1 0408 2 1 4 - dyn=0,1", "dynamic" }, { "in x 1 0408 2 1 4 - type=11", "optional" },
        { "in x 1 0408 4 65536 65536 1 1 -", "4 GiB" }, { "ctxtensor x 1 0408 1 4 -", "no inputs" }
    };
    size_t k;
    for (k = 0; k < sizeof(cases) / sizeof(cases[0]); ++k) {
        char text[512];
        const char *texts[2];
        qnnrt *model;
        qnnrt_run *run;
        qnnrt_error err;
        const qnnrt_graph_info *graph;
        qnnrt_plan *plan;
        qnnrt_plan_desc desc;
        qnnrt_entry_desc entry;
        snprintf(text, sizeof(text), "FAKEQNN 1\n# a context binary has at least 64 bytes\ngraph g\n%s\nout y 2 0408 1 4 -\n", cases[k].tensor);
        texts[0] = text;
        fake_begin("tensor=2");
        model = opened(texts, 1, NULL);
        CHECK(model != NULL);
        graph = &qnnrt_get_info(model)->contexts[0].graphs[0];
        if (graph->unsupported == NULL) printf("case %u\n", (unsigned)k);
        CHECK_STR(graph->unsupported, cases[k].needle);
        run = (qnnrt_run *)&err;
        CHECK_EQ(qnnrt_prepare(model, NULL, &run, &err), QNNRT_E_UNSUPPORTED);
        CHECK(run == NULL);
        CHECK_STR(err.text, cases[k].needle);
        CHECK_STR(err.text, "\"g\"");
        CHECK_STR(err.text, "forward_0.bin");
        memset(&desc, 0, sizeof(desc));
        memset(&entry, 0, sizeof(entry));
        entry.pipeline = pipeline_of(model, "g");
        desc.entries = &entry;
        desc.entry_count = 1;
        CHECK_EQ(qnnrt_plan_create(&desc, &plan, &err), QNNRT_E_UNSUPPORTED);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        LEDGER_EMPTY();
    }
}

TEST(inspected_models_and_failed_shards_do_not_run)
{
    static const char *const broken[3] = { shard_0, "FAKEQNN 1\nthis is nonsense, and long enough to be read as a binary 0123456789\n", shard_2 };
    qnnrt_desc desc;
    qnnrt *model;
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan_desc;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_step_desc step;
    qnnrt_pipeline_desc made_desc;
    qnnrt_pipeline *made;
    qnnrt_run *run;
    qnnrt_error err;
    memset(&step, 0, sizeof(step));
    fake_begin("");
    memset(&desc, 0, sizeof(desc));
    desc.inspect = 1;
    model = opened(llm, 3, &desc);
    CHECK(model != NULL);
    CHECK(qnnrt_get_info(model)->backend == NULL);
    CHECK_EQ(qnnrt_prepare(model, "decode", &run, &err), QNNRT_E_STATE);
    CHECK(run == NULL);
    CHECK_STR(err.text, "inspect");
    /* The same holds step by step: a plan and its memory need no backend, but a run needs one. */
    memset(&entry, 0, sizeof(entry));
    memset(&plan_desc, 0, sizeof(plan_desc));
    entry.pipeline = qnnrt_get_info(model)->pipelines[0];
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    CHECK_EQ(qnnrt_plan_create(&plan_desc, &plan, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_create(plan, NULL, &mem, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_run_create(mem, 0, &run, &err), QNNRT_E_STATE);
    CHECK(run == NULL);
    CHECK_STR(err.text, "inspect");
    CHECK_EQ(qnnrt_run_create(mem, 1, &run, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    /* The number of steps is checked before the first is read. */
    memset(&step, 0, sizeof(step));
    memset(&made_desc, 0, sizeof(made_desc));
    step.model = model;
    made_desc.steps = &step;
    made_desc.step_count = 65536;
    CHECK_EQ(qnnrt_pipeline_make(&made_desc, &made, &err), QNNRT_E_LIMIT);
    CHECK(made == NULL);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    desc.inspect = 0;
    desc.keep_going = 1;
    model = opened(broken, 3, &desc);
    CHECK(model != NULL);
    CHECK(qnnrt_get_info(model)->contexts[1].failure != NULL);
    CHECK_EQ(qnnrt_get_info(model)->context_count, 3);
    CHECK(qnnrt_prepare(model, "decode", &run, &err) != QNNRT_OK);
    CHECK(run == NULL);
    CHECK_STR(err.text, "forward_1.bin");
    CHECK_EQ(qnnrt_prepare(model, "2/decode", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK(qnnrt_prepare(model, "1/decode", &run, &err) != QNNRT_OK);
    /* It cannot be a step of a new pipeline: the text has the file and why it did not load. */
    memset(&step, 0, sizeof(step));
    memset(&made_desc, 0, sizeof(made_desc));
    step.model = model;
    step.context = 1;
    step.graph = "decode";
    made_desc.steps = &step;
    made_desc.step_count = 1;
    CHECK_EQ(qnnrt_pipeline_make(&made_desc, &made, &err), QNNRT_E_NOT_FOUND);
    CHECK(made == NULL);
    CHECK_STR(err.text, "forward_1.bin");
    CHECK_STR(err.text, "\"decode\"");
    CHECK_STR(err.text, qnnrt_get_info(model)->contexts[1].failure->text);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST(two_runs_of_one_pipeline_do_not_disturb_each_other)
{
    const qnnrt_pipeline *both[2];
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem, *second;
    qnnrt_run *runs[4], *short_a, *short_b;
    qnnrt_error err;
    unsigned char logits[4][20];
    int k, i;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    both[0] = both[1] = pipeline_of(model, "decode");
    plan = planned(both, NULL, 2, NULL);
    mem = memory_of(plan);
    second = memory_of(plan);                            /* one plan may have several memories */
    CHECK_EQ(qnnrt_run_create(mem, 2, &runs[0], &err), QNNRT_E_ARG);
    CHECK(runs[0] == NULL);
    CHECK_STR(err.text, "2");
    CHECK_EQ(qnnrt_run_create(mem, SIZE_MAX, &runs[0], &err), QNNRT_E_ARG);
    for (k = 0; k < 4; ++k) {
        runs[k] = run_of(k < 2 ? mem : second, (size_t)k % 2);
        CHECK(runs[k] != NULL);
    }
    for (k = 0; k < 4; ++k) {
        int32_t token = 1 << (5 * k);
        CHECK_EQ(qnnrt_write_i32(runs[k], qnnrt_run_slot(runs[k], "tokens"), 0, &token, 1), QNNRT_OK);
        CHECK(llm_wrong(runs[k], 1) == NULL);
        memcpy(logits[k], qnnrt_data(runs[k], "logits", NULL), 20);
        for (i = 0; i < k; ++i) {
            CHECK(memcmp(logits[i], qnnrt_data(runs[i], "logits", NULL), 20) == 0);
            CHECK(qnnrt_data(runs[i], "logits", NULL) != qnnrt_data(runs[k], "logits", NULL));
        }
    }
    for (k = 0; k < 4; ++k) qnnrt_run_destroy(runs[k]);
    CHECK_EQ(qnnrt_mem_destroy(second), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, "decode", &short_a, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, "decode", &short_b, NULL), QNNRT_OK);
    LLM_RIGHT(short_a, 1);
    LLM_RIGHT(short_b, 1);
    CHECK_EQ(qnnrt_close(model), QNNRT_E_BUSY);
    qnnrt_run_destroy(short_a);
    CHECK_EQ(qnnrt_close(model), QNNRT_E_BUSY);
    LLM_RIGHT(short_b, 1);
    qnnrt_run_destroy(short_b);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* ---- misuse ----------------------------------------------------------------------------------- */

/* Look up two unknown names, an ambiguous one, and NULL: the text stays until another call
   fails. */
TEST(a_slot_that_was_not_found_keeps_the_text_of_its_look_up)
{
    static const char *const graph = "FAKEQNN 1\ngraph one_of_some_length\nin x 1 0232 2 1 4 -\nout x 2 0232 2 1 4 -\n";
    qnnrt *model = opened(&graph, 1, NULL);
    qnnrt_run *run;
    const qnnrt_slot *slot;
    float values[4] = { 0, 0, 0, 0 };
    int32_t codes[4] = { 0, 0, 0, 0 };
    size_t bytes = 7;
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_prepare(model, NULL, &run, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, NULL, 0, values, 4), QNNRT_E_NOT_FOUND);
    CHECK_STR(qnnrt_run_error(run)->text, "\"one_of_some_length\"");

    slot = qnnrt_run_slot(run, "first");
    CHECK(slot == NULL);
    CHECK_EQ(qnnrt_run_error(run)->code, QNNRT_E_NOT_FOUND);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, slot, 0, values, 4), QNNRT_E_NOT_FOUND);
    CHECK_STR(qnnrt_run_error(run)->text, "\"first\"");
    CHECK_EQ(bind_slot(run, slot, values, sizeof(values)), QNNRT_E_NOT_FOUND);
    CHECK_STR(qnnrt_run_error(run)->text, "\"first\"");
    CHECK(qnnrt_data_slot(run, slot, &bytes) == NULL);
    CHECK_EQ(bytes, 0);
    CHECK_STR(qnnrt_run_error(run)->text, "\"first\"");

    CHECK_EQ(qnnrt_read_i32(run, qnnrt_run_slot(run, "x"), 0, codes, 4), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(run)->text, "output \"x\"");
    CHECK_EQ(qnnrt_write_i32(run, qnnrt_run_slot(run, "second"), 0, codes, 4), QNNRT_E_NOT_FOUND);
    CHECK_STR(qnnrt_run_error(run)->text, "\"second\"");

    /* A call that fails in between replaces the text of the look-up. */
    CHECK_EQ(qnnrt_run_profile(run, (qnnrt_profile_level)7), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_write_i32(run, slot, 0, codes, 4), QNNRT_E_NOT_FOUND);
    CHECK(strstr(qnnrt_run_error(run)->text, "\"second\"") == NULL);
    CHECK(qnnrt_run_slot(NULL, "x") == NULL);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* The state after qnnrt_mem_create(): buffers of zero bytes, inputs at the code of zero. */
TEST(cleared_memory_is_as_it_was_made)
{
    static const char *const graph = "FAKEQNN 1\ngraph fwd\nin x 1 0408 2 1 4 s 0.5 -7\nin z 2 0408 2 1 4 s 0.5 0\nout y 3 0408 2 1 4 s 0.5 -7\n";
    qnnrt *model = opened(&graph, 1, NULL);
    qnnrt_entry_desc entry;
    qnnrt_buffer_desc buffer;
    qnnrt_place_desc place;
    qnnrt_plan_desc plan_desc;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    unsigned char *x, *z, *held;
    int i;
    CHECK(model != NULL);
    memset(&entry, 0, sizeof(entry));
    memset(&buffer, 0, sizeof(buffer));
    memset(&place, 0, sizeof(place));
    memset(&plan_desc, 0, sizeof(plan_desc));
    entry.pipeline = pipeline_of(model, "fwd");
    buffer.bytes = 16;
    place.slot = slot_of(entry.pipeline, "x");
    place.offset = 8;
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    plan_desc.buffers = &buffer;
    plan_desc.buffer_count = 1;
    plan_desc.places = &place;
    plan_desc.place_count = 1;
    CHECK_EQ(qnnrt_plan_create(&plan_desc, &plan, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_create(plan, NULL, &mem, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_run_create(mem, 0, &run, NULL), QNNRT_OK);
    held = (unsigned char *)qnnrt_mem_get_info(mem)->buffers[0].data;
    x = (unsigned char *)qnnrt_data(run, "x", NULL);
    z = (unsigned char *)qnnrt_data(run, "z", NULL);
    CHECK(x == held + 8);
    for (i = 0; i < 3; ++i) {
        static const unsigned char expected[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 0, 0, 0, 0 };
        CHECK(memcmp(held, expected, 16) == 0);
        CHECK(memcmp(z, expected, 4) == 0);
        memset(held, 0xEE, 16);
        memset(z, 0xEE, 4);
        qnnrt_mem_clear(NULL);
        CHECK_EQ(held[0], 0xEE);
        qnnrt_mem_clear(mem);
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

/* The text of a tensor may be cut at any byte; encodings are equal only if every member is. */
TEST(tensors_are_described_and_encodings_compared)
{
    static const float scales[3] = { 0.5f, 0.25f, 2 }, others[3] = { 0.5f, 0.25f, 4 };
    static const int32_t offsets[3] = { 1, 0, -2 }, nothing[3] = { 0, 0, 0 };
    static const uint32_t dims[3] = { 1, 32, 3 };
    static const char full[] = "ufixed16[1,32,3] 3 scales over axis 2, 0.5 offset 1 to 2 offset -2";
    qnnrt_tensor_info t;
    qnnrt_quant a, b;
    char text[128];
    size_t room;
    memset(&t, 0, sizeof(t));
    t.dtype = QNNRT_DTYPE_U16Q;
    t.rank = 3;
    t.dims = dims;
    t.quant.encoding = QNNRT_ENCODING_PER_AXIS;
    t.quant.axis = 2;
    t.quant.count = 3;
    t.quant.scales = scales;
    t.quant.offsets = offsets;
    for (room = 1; room <= sizeof(text); ++room) {
        memset(text, '?', sizeof(text));
        CHECK(qnnrt_tensor_text(&t, text, room) == text);
        CHECK_EQ(strlen(text), room <= sizeof(full) ? room - 1 : sizeof(full) - 1);
        CHECK(memcmp(text, full, strlen(text)) == 0);
        if (room < sizeof(text)) CHECK_EQ(text[sizeof(text) - 1], '?');
    }
    CHECK_EQ(qnnrt_tensor_text(&t, text, 0)[0], 0);
    CHECK_EQ(qnnrt_tensor_text(&t, NULL, 9)[0], 0);
    CHECK_EQ(qnnrt_tensor_text(NULL, text, 9)[0], 0);

    a = b = t.quant;
    CHECK(qnnrt_quant_equal(&a, &a) && qnnrt_quant_equal(&a, &b));
    CHECK(!qnnrt_quant_equal(&a, NULL) && !qnnrt_quant_equal(NULL, &b));
    b.scales = others;
    CHECK(!qnnrt_quant_equal(&a, &b));
    b = a;
    b.offsets = nothing;
    CHECK(!qnnrt_quant_equal(&a, &b));
    a.offsets = NULL;
    CHECK(qnnrt_quant_equal(&a, &b) && qnnrt_quant_equal(&b, &a));
    b.offsets = offsets;
    CHECK(!qnnrt_quant_equal(&a, &b) && !qnnrt_quant_equal(&b, &a));
    b = a;
    b.axis = 1;
    CHECK(!qnnrt_quant_equal(&a, &b));
    b = a;
    b.count = 2;
    CHECK(!qnnrt_quant_equal(&a, &b));
    b = a;
    b.bitwidth = 4;
    CHECK(!qnnrt_quant_equal(&a, &b));
    memset(&a, 0, sizeof(a));
    b = a;
    CHECK(qnnrt_quant_equal(&a, &b));
    b.encoding = QNNRT_ENCODING_PER_TENSOR;
    CHECK(!qnnrt_quant_equal(&a, &b));
    a = b;
    a.scale = 0.0f;
    b.scale = -0.0f;
    /* Scales are compared bit by bit: -0 differs from 0. */
    CHECK(!qnnrt_quant_equal(&a, &b));
    b = a;
    b.offset = 1;
    CHECK(!qnnrt_quant_equal(&a, &b));
    a.encoding = b.encoding = QNNRT_ENCODING_OTHER;
    CHECK(qnnrt_quant_equal(&a, &b));
    b.vendor_encoding = 9;
    CHECK(!qnnrt_quant_equal(&a, &b));
}

TEST(null_is_an_error_or_a_documented_nothing)
{
    qnnrt *model, *none;
    qnnrt_run *run, *other;
    qnnrt_backend *backend;
    qnnrt_plan *plan, *plan2;
    qnnrt_mem *mem, *mem2;
    qnnrt_entry_desc entry;
    qnnrt_plan_desc desc;
    const qnnrt_slot *slot;
    qnnrt_error err;
    const qnnrt_pipeline *p;
    const qnnrt_tensor_info *tensor;
    float values[8];
    int32_t codes[8];
    char code_name[80];
    unsigned char data[64];
    size_t count = 7;
    const int unknown = 9;
    qnnrt_role role;
    fake_begin("");
    model = open_llm();
    CHECK(model != NULL);
    CHECK_EQ(qnnrt_prepare(model, "decode", &run, NULL), QNNRT_OK);
    p = qnnrt_run_pipeline(run);
    slot = slot_of(p, "cos");
    tensor = slot->tensor;

    CHECK_EQ(qnnrt_open(NULL, NULL, &none, NULL), QNNRT_E_ARG);
    CHECK(none == NULL);
    CHECK_EQ(qnnrt_open("x", NULL, NULL, &err), QNNRT_E_ARG);
    CHECK(qnnrt_open("build/there is none", NULL, &none, NULL) != QNNRT_OK);
    CHECK(none == NULL);
    CHECK_EQ(qnnrt_close(NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_open(NULL, NULL, &err), QNNRT_E_ARG);
    /* The result depends on the machine; it must not crash. */
    qnnrt_backend_open(NULL, &backend, NULL);
    CHECK(qnnrt_backend_close(backend) == QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(NULL), QNNRT_OK);
    CHECK(qnnrt_backend_get_info(NULL) == NULL);
    CHECK(qnnrt_get_info(NULL) == NULL);
    CHECK(qnnrt_get_info(model)->contexts != NULL);
    CHECK(qnnrt_pipeline_get_info(NULL) == NULL);
    CHECK_EQ(qnnrt_slot_find(NULL, "cos", QNNRT_ROLE_ANY, &slot, &err), QNNRT_E_ARG);
    CHECK(slot == NULL);
    CHECK(err.text[0] != '\0');
    CHECK_EQ(qnnrt_slot_find(p, NULL, QNNRT_ROLE_ANY, &slot, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_slot_find(p, "cos", QNNRT_ROLE_ANY, NULL, &err), QNNRT_E_ARG);
    memcpy(&role, &unknown, sizeof(role));
    CHECK_EQ(qnnrt_slot_find(p, "cos", role, &slot, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_slot_find(p, "cos", QNNRT_ROLE_ANY, &slot, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_pipeline_destroy(NULL), QNNRT_OK);

    memset(&entry, 0, sizeof(entry));
    memset(&desc, 0, sizeof(desc));
    entry.pipeline = p;
    desc.entries = &entry;
    desc.entry_count = 1;
    CHECK_EQ(qnnrt_plan_create(NULL, &plan, &err), QNNRT_E_ARG);
    CHECK(plan == NULL);
    CHECK_EQ(qnnrt_plan_create(&desc, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_plan_destroy(NULL), QNNRT_OK);
    CHECK(qnnrt_plan_get_info(NULL) == NULL);
    CHECK_EQ(qnnrt_plan_create(&desc, &plan, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_create(&desc, &plan2, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_create(NULL, NULL, &mem, &err), QNNRT_E_ARG);
    CHECK(mem == NULL);
    CHECK_EQ(qnnrt_mem_create(plan, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_mem_create(plan, NULL, &mem, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_create(plan2, NULL, &mem2, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_destroy(NULL), QNNRT_OK);
    CHECK(qnnrt_mem_get_info(NULL) == NULL);
    CHECK_EQ(qnnrt_run_create(NULL, 0, &other, &err), QNNRT_E_ARG);
    CHECK(other == NULL);
    CHECK_EQ(qnnrt_run_create(mem, 0, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_prepare(NULL, "decode", &other, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_prepare(model, "decode", NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_prepare(model, NULL, &other, NULL), QNNRT_E_NOT_FOUND);
    qnnrt_run_destroy(NULL);
    CHECK(qnnrt_run_pipeline(NULL) == NULL);
    CHECK(qnnrt_run_error(NULL) != NULL);
    CHECK(qnnrt_run_error(NULL)->text[0] != '\0');

    CHECK_EQ(qnnrt_bind(NULL, "cos", data, 64), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_bind(run, NULL, data, 64), QNNRT_E_ARG);
    CHECK(qnnrt_run_error(run)->text[0] != '\0');
    CHECK_EQ(QNNRT_CHECK_VERSION(), QNNRT_OK);
    CHECK_EQ(qnnrt_check_version(QNNRT_VERSION_NUMBER + 1, QNNRT__STRUCTS), QNNRT_E_VERSION);
    CHECK_EQ(qnnrt_check_version(QNNRT_VERSION_NUMBER, QNNRT__STRUCTS + sizeof(void *)), QNNRT_E_VERSION);
    CHECK_EQ(qnnrt_bind_input(NULL, slot, data, 64), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_bind_output(NULL, slot, data, 64), QNNRT_E_ARG);
    /* a slot of the other direction */
    CHECK_EQ(qnnrt_bind_output(run, slot_of(qnnrt_run_pipeline(run), "k0_in"), data, 64), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(run)->text, "input \"k0_in\" is of another role");
    CHECK_STR(qnnrt_run_error(run)->hint, "qnnrt_bind_input()");
    CHECK_EQ(qnnrt_bind_input(run, slot_of(qnnrt_run_pipeline(run), "logits"), data, 64), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(run)->hint, "qnnrt_bind_output()");
    CHECK_EQ(qnnrt_bind_at(NULL, slot, mem, 0), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_bind_at(run, slot, NULL, 0), QNNRT_E_ARG);
    /* mem2 has no buffers. */
    CHECK_EQ(qnnrt_bind_at(run, slot, mem2, 0), QNNRT_E_ARG);
    CHECK(qnnrt_data(run, "cos", NULL) != NULL);
    CHECK_EQ(bind_slot(run, slot, NULL, 0), QNNRT_OK);
    count = 7;
    CHECK(qnnrt_data(NULL, "cos", &count) == NULL);
    CHECK_EQ(count, 0);
    CHECK(qnnrt_data(run, NULL, NULL) == NULL);
    CHECK(qnnrt_data_slot(NULL, slot, NULL) == NULL);
    CHECK_EQ(qnnrt_exec(NULL), QNNRT_E_ARG);

    CHECK_EQ(qnnrt_write_f32(NULL, qnnrt_run_slot(NULL, "cos"), 0, values, 2), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, NULL), 0, values, 2), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "cos"), 0, NULL, 2), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_run_error(run)->code, QNNRT_E_ARG);
    CHECK_EQ(qnnrt_read_f32(NULL, qnnrt_run_slot(NULL, "cos"), 0, values, 2), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, NULL), 0, values, 2), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "cos"), 0, NULL, 2), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_write_i32(NULL, qnnrt_run_slot(NULL, "tokens"), 0, codes, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_write_i32(run, qnnrt_run_slot(run, NULL), 0, codes, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_write_i32(run, qnnrt_run_slot(run, "tokens"), 0, NULL, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_read_i32(NULL, qnnrt_run_slot(NULL, "tokens"), 0, codes, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_read_i32(run, qnnrt_run_slot(run, NULL), 0, codes, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_read_i32(run, qnnrt_run_slot(run, "tokens"), 0, NULL, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_write_f32(NULL, slot, 0, values, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_write_f32(run, slot, 0, NULL, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_read_f32(NULL, slot, 0, values, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_read_f32(run, slot, 0, NULL, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_write_i32(NULL, slot, 0, codes, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_write_i32(run, slot, 0, NULL, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_read_i32(NULL, slot, 0, codes, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_read_i32(run, slot, 0, NULL, 1), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_encode_f32(NULL, values, data), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_encode_f32(tensor, NULL, data), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_encode_f32(tensor, values, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_decode_f32(NULL, data, values), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_decode_f32(tensor, NULL, values), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_decode_f32(tensor, data, NULL), QNNRT_E_ARG);
    CHECK_STR(qnnrt_result_name((qnnrt_result)99), "unknown");
    CHECK_STR(qnnrt_dtype_name((qnnrt_dtype)0x9999), "unknown");
    CHECK_STR(qnnrt_vendor_code_name(0, code_name, sizeof code_name), "QNN_SUCCESS");
    LLM_RIGHT(run, 1);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(mem2), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan2), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    LEDGER_EMPTY();
}

TEST_MAIN("run")
{
    RUN(a_chain_of_three_gives_the_known_answer);
    RUN(an_edge_is_one_address_on_both_sides);
    RUN(plans_hold_what_they_promise);
    RUN(the_naive_sum_counts_gaps_between_regions);
    RUN(exclusive_groups_share_scratch_and_others_do_not);
    RUN(buffers_and_kept_inputs_keep_their_content);
    RUN(a_place_is_in_the_buffer_that_it_names);
    RUN(memory_of_the_caller_is_checked);
    RUN(wrong_plans_say_what_is_wrong);
    RUN(the_limit_of_an_arena_holds);
    RUN(a_slot_left_to_the_caller_must_be_bound);
    RUN(places_may_overlap);
    RUN(a_cache_moves_by_its_pointer_and_two_sequences_take_turns);
    RUN(binding_checks_sizes_and_returns_to_own_memory);
    RUN(null_is_the_only_input_and_the_only_output);
    RUN(inputs_that_nobody_sets_are_real_zero);
    RUN(memory_is_left_unfilled_where_that_is_asked_for);
    RUN(each_tensor_has_a_block_of_its_own_where_that_is_asked_for);
    RUN(edges_can_be_read_after_an_exec_with_blocks_of_their_own);
    RUN(inputs_can_be_recycled);
    RUN(typed_access_on_every_dtype);
    RUN(guard_pages_catch_one_byte_too_many);
    RUN(guard_and_buffers);
    RUN(a_failing_step_is_named_and_the_next_exec_works);
    RUN(an_error_has_the_lines_of_its_own_exec_only);
    RUN(lock_and_unlock_stand_around_every_vendor_call);
    RUN(exec_within_its_group_answers_busy);
    RUN(exec_from_another_thread_answers_busy);
    RUN(exec_and_bind_allocate_nothing_and_call_once_per_step);
    RUN(what_cannot_run_is_refused_at_prepare);
    RUN(inspected_models_and_failed_shards_do_not_run);
    RUN(two_runs_of_one_pipeline_do_not_disturb_each_other);
    RUN(a_slot_that_was_not_found_keeps_the_text_of_its_look_up);
    RUN(cleared_memory_is_as_it_was_made);
    RUN(tensors_are_described_and_encodings_compared);
    RUN(null_is_an_error_or_a_documented_nothing);
}
