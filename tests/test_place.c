/* test_place.c - plans of many entries: their work, counted in steps, and their groups */
#define _DEFAULT_SOURCE
#include <stdint.h>
static uint64_t place_steps;
#define QNNRT__STEP() (++place_steps)
#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* Open a model with one graph of five tensors, whose metadata the fake reads. */
static qnnrt *model_of(void)
{
    static const char text[] =
        "FAKEQNN 1\ngraph wide\nin a 1 0408 1 1000 -\nin b 2 0408 1 10 -\nin c 3 0408 1 300 -\n"
        "out d 4 0408 1 700 -\nout e 5 0408 1 20 -\n";
    qnnrt_file file;
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;
    memset(&file, 0, sizeof(file));
    memset(&desc, 0, sizeof(desc));
    file.data = text;
    file.bytes = strlen(text);
    desc.files = &file;
    desc.file_count = 1;
    desc.inspect = 1;
    desc.system_path = TEST_FAKE_LIB;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    return model;
}

/* Return the group of entry e of count entries. how: 0 no group, 1 one group, 2 groups of two
   distant entries, 3 ten groups. */
static uint32_t group_of(int how, size_t e, size_t count)
{
    return how == 0 ? 0 : how == 1 ? 7 : how == 2 ? 1000000u - (uint32_t)(e % (count / 2)) : (uint32_t)(e % 10);
}

static uint64_t steps_of(const qnnrt *model, int how, size_t count, qnnrt_plan **plan)
{
    qnnrt_entry_desc *entries = (qnnrt_entry_desc *)calloc(count, sizeof(*entries));
    qnnrt_plan_desc desc;
    qnnrt_error err;
    size_t e;
    memset(&desc, 0, sizeof(desc));
    for (e = 0; e < count; ++e) {
        entries[e].pipeline = qnnrt_get_info(model)->pipelines[0];
        entries[e].group = group_of(how, e, count);
        entries[e].reuse_inputs = e % 3 == 0;
    }
    desc.entries = entries;
    desc.entry_count = count;
    place_steps = 0;
    if (qnnrt_plan_create(&desc, plan, &err) != QNNRT_OK) printf("%s\n", err.text);
    free(entries);
    return place_steps;
}

TEST(planning_takes_its_time_in_proportion_to_entries)
{
    qnnrt *model = model_of();
    int how;
    CHECK(model != NULL);
    for (how = 0; how < 4; ++how) {
        uint64_t few, many;
        qnnrt_plan *plan;
        few = steps_of(model, how, 500, &plan);
        CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
        many = steps_of(model, how, 8000, &plan);
        printf("  groups of kind %d: %llu steps for 500 entries, %llu for 8,000\n", how, (unsigned long long)few,
               (unsigned long long)many);
        CHECK(few > 500 && many < 32 * few);                     /* 16 times as many entries */
        CHECK_EQ(qnnrt_plan_get_info(plan)->block_count, 5 * 8000);
        CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

/* Entries of a group never overlap in time, and scratch of different groups never overlaps in memory. */
TEST(entries_of_a_group_follow_each_other_in_time)
{
    enum { COUNT = 60 };
    qnnrt *model = model_of();
    int how;
    CHECK(model != NULL);
    for (how = 0; how < 4; ++how) {
        const qnnrt_plan_info *info;
        qnnrt_plan *plan;
        size_t i, k;
        steps_of(model, how, COUNT, &plan);
        info = qnnrt_plan_get_info(plan);
        for (i = 0; i < info->block_count; ++i)
            for (k = 0; k < i; ++k) {
                const qnnrt_plan_block *a = &info->blocks[i], *b = &info->blocks[k];
                const uint32_t group = group_of(how, a->entry, COUNT);
                const int together = group != 0 && group == group_of(how, b->entry, COUNT);
                if (a->entry != b->entry && together && !a->kept && !b->kept) {
                    CHECK(a->entry < b->entry ? a->last < b->first : b->last < a->first);
                    continue;
                }
                if (!a->kept && !b->kept && a->entry == b->entry && (a->last < b->first || b->last < a->first)) continue;
                CHECK(a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset);
            }
        CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

TEST_MAIN("place")
{
    RUN(planning_takes_its_time_in_proportion_to_entries);
    RUN(entries_of_a_group_follow_each_other_in_time);
}
