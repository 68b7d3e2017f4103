/* test_place.c - plans of many entries and pipelines of many parts: their work, counted in steps;
   groups of entries, and places that overlap */
#define _DEFAULT_SOURCE
#include <stdint.h>
static uint64_t place_steps;
#define QNNRT__STEP() (++place_steps)
#define QNNRT_CONVERT__STEP() (++place_steps)
#define QNNRT_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_convert.h"
#include "test.h"
#include "converted.h"
#include <stdlib.h>
#include <string.h>

/* Open a model of files in the fake's language; each is a context. */
static qnnrt *model_from(const char *const *texts, size_t count)
{
    qnnrt_file files[4];
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;
    size_t i;
    memset(files, 0, sizeof(files));
    memset(&desc, 0, sizeof(desc));
    for (i = 0; i < count; ++i) {
        files[i].data = texts[i];
        files[i].bytes = strlen(texts[i]);
    }
    desc.files = files;
    desc.file_count = count;
    desc.inspect = 1;
    desc.system_path = TEST_FAKE_LIB;
    if (qnnrt_open(NULL, &desc, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    return model;
}

/* Open a model with one graph of five tensors. */
static qnnrt *model_of(void)
{
    static const char *const text[1] = {
        "FAKEQNN 1\ngraph wide\nin a 1 0408 1 1000 -\nin b 2 0408 1 10 -\nin c 3 0408 1 300 -\n"
        "out d 4 0408 1 700 -\nout e 5 0408 1 20 -\n" };
    return model_from(text, 1);
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

/* ---- places that overlap --------------------------------------------------------------------- */

/* Three steps: mask is read by all, old by step 1, late by step 2; h leads from step 0 to 1 and 2, g
   from 1 to 2; side and new are outputs of steps 0 and 1, y and z of step 2. */
static qnnrt *model_of_three(void)
{
    static const char *const texts[3] = {
        "FAKEQNN 1\ngraph s_1_of_3\nin x 1 0408 1 40 -\nin mask 2 0408 1 16 -\n"
        "out h 3 0408 1 32 -\nout side 4 0408 1 24 -\n",
        "FAKEQNN 1\ngraph s_2_of_3\nin h 1 0408 1 32 -\nin mask 2 0408 1 16 -\nin old 3 0408 1 48 -\n"
        "out g 4 0408 1 20 -\nout new 5 0408 1 48 -\n",
        "FAKEQNN 1\ngraph s_3_of_3\nin h 1 0408 1 32 -\nin g 2 0408 1 20 -\nin mask 3 0408 1 16 -\n"
        "in late 4 0408 1 12 -\nout y 5 0408 1 28 -\nout z 6 0408 1 8 -\n" };
    return model_from(texts, 3);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static const qnnrt_slot *slot_named(const qnnrt_pipeline *pipeline, const char *name)
{
    qnnrt_error err;
    const qnnrt_slot *slot;
    if (qnnrt_slot_find(pipeline, name, QNNRT_ROLE_ANY, &slot, &err) != QNNRT_OK) printf("%s\n", err.text);
    return slot;
}

/* Return 1 if step b->first writes b while a, which was written before or by the same step, is still
   needed. */
static int destroys(const qnnrt_slot *b, const qnnrt_slot *a)
{
    if (b->role == QNNRT_ROLE_INPUT) return 0;
    if (a->role == QNNRT_ROLE_INPUT) return a->last > b->first;
    if (a->first > b->first) return 0;
    return a->first == b->first || a->role == QNNRT_ROLE_OUTPUT || a->last > b->first;
}

TEST(a_step_may_write_over_what_no_later_step_reads)
{
    static const struct { const char *first, *second; int refused; } cases[] = {
        { "x", "h", 0 },          /* step 0 reads x and writes h */
        { "x", "side", 0 },
        { "old", "new", 0 },      /* state: step 1 reads old and writes new over it */
        { "late", "z", 0 },
        { "late", "y", 0 },
        { "x", "mask", 0 },       /* two inputs: views of the same bytes */
        { "old", "late", 0 },
        { "x", "new", 0 },
        { "h", "y", 0 },          /* an edge, and an output of the last step that reads it */
        { "g", "z", 0 },
        { "mask", "y", 0 },
        { "old", "h", 1 },        /* step 0 would write over what step 1 reads */
        { "old", "side", 1 },
        { "late", "new", 1 },
        { "late", "h", 1 },
        { "mask", "g", 1 },
        { "h", "new", 1 },        /* h is read by step 2, too */
        { "h", "g", 1 },
        { "h", "side", 1 },       /* written by one step */
        { "y", "z", 1 },
        { "g", "new", 1 },
        { "side", "y", 1 },       /* two outputs */
        { "side", "g", 1 },
        { "new", "z", 1 }
    };
    qnnrt *model = model_of_three();
    const qnnrt_pipeline *pipeline;
    size_t i;
    CHECK(model != NULL);
    pipeline = qnnrt_get_info(model)->pipelines[0];
    CHECK_EQ(qnnrt_pipeline_get_info(pipeline)->step_count, 3);
    CHECK_EQ(qnnrt_pipeline_get_info(pipeline)->slot_count, 10);
    for (i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
        int k;
        for (k = 0; k < 6; ++k) {
            qnnrt_entry_desc entries[2];
            qnnrt_buffer_desc buffers[2];
            qnnrt_place_desc places[2];
            qnnrt_plan_desc desc;
            qnnrt_error err;
            const qnnrt_slot *first, *second;
            qnnrt_plan *plan;
            char text[64];
            memset(entries, 0, sizeof(entries));
            memset(buffers, 0, sizeof(buffers));
            memset(places, 0, sizeof(places));
            memset(&desc, 0, sizeof(desc));
            entries[0].pipeline = entries[1].pipeline = pipeline;
            buffers[0].bytes = buffers[1].bytes = 200;
            buffers[1].name = "state";
            places[k & 1].slot = slot_named(pipeline, cases[i].first);
            places[!(k & 1)].slot = slot_named(pipeline, cases[i].second);
            places[0].buffer = places[1].buffer = 1;
            /* the second begins at the last byte of the first */
            places[k & 1].offset = 64;
            places[!(k & 1)].offset = 63 + places[k & 1].slot->tensor->bytes;
            /* they touch; they are in two buffers, of two entries */
            if (k == 2) ++places[1].offset;
            if (k == 3) places[0].buffer = 0;
            if (k == 4) places[0].entry = 1;
            desc.entries = entries;
            desc.buffers = buffers;
            desc.places = places;
            desc.entry_count = desc.buffer_count = desc.place_count = 2;
            if (k == 5) places[0].caller_io = 1;
            TEST_JUNK(err);
            CHECK_EQ(qnnrt_plan_create(&desc, &plan, &err), k < 2 && cases[i].refused ? QNNRT_E_ARG : QNNRT_OK);
            if (plan != NULL) {
                CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
                continue;
            }
            /* of two that one step writes, the one whose place is listed later is the one at fault */
            second = places[destroys(places[1].slot, places[0].slot)].slot;
            first = places[second == places[0].slot].slot;
            CHECK(destroys(second, first));
            snprintf(text, sizeof(text), "place %d: in buffer 1 \"state\", step %u (", second == places[1].slot,
                     (unsigned)second->first);
            CHECK_STR(err.text, text);
            snprintf(text, sizeof(text), " writes \"%s\" to bytes ", second->address);
            CHECK_STR(err.text, text);
            snprintf(text, sizeof(text), " over \"%s\" at bytes ", first->address);
            CHECK_STR(err.text, text);
            if (first->role == QNNRT_ROLE_OUTPUT) CHECK_STR(err.text, "which is an output");
            else {
                snprintf(text, sizeof(text), "still read by step %u (", (unsigned)first->last);
                CHECK_STR(err.text, text);
            }
            CHECK_STR(err.hint, "edge");
        }
    }
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

TEST(a_conversion_cannot_write_over_its_input)
{
    static const char *const texts[2] = {
        "FAKEQNN 1\ngraph the_first_one\nin x 1 0232 1 8 -\nout h 2 0232 1 8 -\n",
        "FAKEQNN 1\ngraph the_second_one\nin k 1 0216 1 8 -\nout y 2 0216 1 8 -\n" };
    qnnrt *model = model_from(texts, 2);
    qnnrt_step_desc steps[2];
    qnnrt_edge_desc edge;
    qnnrt_conversion wish;
    qnnrt_pipeline_desc pipeline_desc;
    qnnrt_conversions *conversions;
    qnnrt_pipeline *pipeline;
    qnnrt_error err;
    int k;
    CHECK(model != NULL);
    memset(steps, 0, sizeof(steps));
    memset(&edge, 0, sizeof(edge));
    memset(&pipeline_desc, 0, sizeof(pipeline_desc));
    steps[0].model = steps[1].model = model;
    steps[1].context = 1;
    steps[0].graph = "the_first_one";
    steps[1].graph = "the_second_one";
    edge.from = "h";
    edge.to_step = 1;
    edge.to = "k";
    memset(&wish, 0, sizeof(wish));
    wish.how = QNNRT_CONVERT_VALUES;
    pipeline_desc.steps = steps;
    pipeline_desc.step_count = 2;
    pipeline_desc.edges = &edge;
    pipeline_desc.edge_count = 1;
    CHECK_EQ(converted_make(&pipeline_desc, &wish, NULL, &conversions, &pipeline, &err), QNNRT_OK);
    for (k = 0; k < 4; ++k) {
        qnnrt_entry_desc entry;
        qnnrt_buffer_desc buffer;
        qnnrt_place_desc places[2];
        qnnrt_plan_desc desc;
        qnnrt_plan *plan;
        memset(&entry, 0, sizeof(entry));
        memset(&buffer, 0, sizeof(buffer));
        memset(places, 0, sizeof(places));
        memset(&desc, 0, sizeof(desc));
        entry.pipeline = pipeline;
        buffer.bytes = 64;
        /* the conversion over its input, by 16 bytes or by 4; beside it; and over x, which nobody reads
           any more */
        places[k & 1].slot = slot_named(pipeline, k < 3 ? "h" : "x");
        places[!(k & 1)].slot = slot_named(pipeline, "2/k");
        places[!(k & 1)].offset = k == 1 ? 28 : k == 2 ? 32 : 0;
        desc.entries = &entry;
        desc.buffers = &buffer;
        desc.places = places;
        desc.entry_count = desc.buffer_count = 1;
        desc.place_count = 2;
        CHECK_EQ(qnnrt_plan_create(&desc, &plan, &err), k < 2 ? QNNRT_E_ARG : QNNRT_OK);
        if (k < 2) CHECK_STR(err.text, "step 1 (convert h: float32 -> float16, 16 bytes) writes ");
        if (k < 2) CHECK_STR(err.text, ", over \"h\" at bytes 0 to 32, still read by step 1 (");
        CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_pipeline_destroy(pipeline), QNNRT_OK);
    qnnrt_conversions_free(conversions);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

/* Any places of two entries in two buffers, beside a comparison of each two. */
TEST(overlaps_are_refused_exactly_when_a_value_is_destroyed)
{
    enum { ROUNDS = 20000, SLOTS = 10, PLACES = 2 * SLOTS };
    qnnrt *model = model_of_three();
    const qnnrt_pipeline *pipeline;
    const qnnrt_slot *slots;
    uint32_t state = 1;
    int round, refused = 0;
    CHECK(model != NULL);
    pipeline = qnnrt_get_info(model)->pipelines[0];
    slots = qnnrt_pipeline_get_info(pipeline)->slots;
    for (round = 0; round < ROUNDS; ++round) {
        const uint32_t room = 100 + next_random(&state) % 600;
        qnnrt_entry_desc entries[2];
        qnnrt_buffer_desc buffers[2];
        qnnrt_place_desc places[PLACES];
        qnnrt_plan_desc desc;
        qnnrt_error err;
        qnnrt_plan *plan;
        size_t i, k, e, s;
        int expected = 0;
        memset(entries, 0, sizeof(entries));
        memset(buffers, 0, sizeof(buffers));
        memset(places, 0, sizeof(places));
        memset(&desc, 0, sizeof(desc));
        entries[0].pipeline = entries[1].pipeline = pipeline;
        buffers[0].bytes = buffers[1].bytes = room;
        for (e = 0; e < 2; ++e)
            for (s = 0; s < SLOTS; ++s) {
                qnnrt_place_desc *place = &places[desc.place_count];
                if (next_random(&state) % 2 == 0) continue;
                place->entry = e;
                place->slot = &slots[s];
                place->caller_io = next_random(&state) % 8 == 0;
                place->buffer = place->caller_io ? SIZE_MAX : next_random(&state) % 2;
                place->offset = next_random(&state) % (room - (uint32_t)slots[s].tensor->bytes + 1);
                if (next_random(&state) % 4 == 0) place->offset = place->offset / 16 * 16;
                ++desc.place_count;
            }
        for (i = 0; i < desc.place_count; ++i)
            for (k = 0; k < desc.place_count; ++k) {
                const qnnrt_place_desc *a = &places[i], *b = &places[k];
                expected |= i != k && a->entry == b->entry && a->buffer == b->buffer && a->buffer < 2 &&
                            a->offset < b->offset + b->slot->tensor->bytes &&
                            b->offset < a->offset + a->slot->tensor->bytes && destroys(a->slot, b->slot);
            }
        desc.entries = entries;
        desc.buffers = buffers;
        desc.places = places;
        desc.entry_count = desc.buffer_count = 2;
        CHECK_EQ(qnnrt_plan_create(&desc, &plan, &err), expected ? QNNRT_E_ARG : QNNRT_OK);
        if (plan != NULL) CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
        refused += expected;
    }
    printf("  %d of %d refused\n", refused, (int)ROUNDS);
    CHECK(refused > ROUNDS / 10 && refused < ROUNDS * 9 / 10);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

TEST(overlaps_are_found_in_few_steps)
{
    enum { FEW = 500, MANY = 8000 };
    uint64_t steps[2][3];
    int many, how;
    for (many = 0; many < 2; ++many) {
        const size_t count = many ? MANY : FEW;
        char *text = (char *)malloc(64 + count * 64), *at;
        qnnrt_place_desc *places = (qnnrt_place_desc *)calloc(2 * count, sizeof(*places));
        const char *texts[1];
        qnnrt *model;
        size_t i;
        if (text == NULL || places == NULL) exit(1);
        at = text + sprintf(text, "FAKEQNN 1\ngraph wide\n");
        for (i = 0; i < count; ++i)
            at += sprintf(at, "in a%u %u 0408 1 64 -\n", (unsigned)i, (unsigned)i + 1);
        for (i = 0; i < count; ++i)
            at += sprintf(at, "out b%u %u 0408 1 64 -\n", (unsigned)i, (unsigned)(count + i) + 1);
        texts[0] = text;
        model = model_from(texts, 1);
        CHECK(model != NULL);
        for (how = 0; how < 3; ++how) {
            qnnrt_entry_desc entry;
            qnnrt_buffer_desc buffer;
            qnnrt_plan_desc desc;
            qnnrt_error err;
            qnnrt_plan *plan;
            memset(&entry, 0, sizeof(entry));
            memset(&buffer, 0, sizeof(buffer));
            memset(&desc, 0, sizeof(desc));
            entry.pipeline = qnnrt_get_info(model)->pipelines[0];
            buffer.bytes = 64 * 2 * count;
            for (i = 0; i < 2 * count; ++i) {
                /* each output over its input, far from it, or all inputs at one place */
                places[i].slot = &qnnrt_pipeline_get_info(entry.pipeline)->slots[i];
                places[i].offset = how == 0 ? i % count * 64 : how == 1 ? (2 * count - 1 - i) * 64
                                 : i < count ? 0 : i * 64;
            }
            desc.entries = &entry;
            desc.buffers = &buffer;
            desc.places = places;
            desc.entry_count = desc.buffer_count = 1;
            desc.place_count = 2 * count;
            place_steps = 0;
            CHECK_EQ(qnnrt_plan_create(&desc, &plan, &err), QNNRT_OK);
            steps[many][how] = place_steps;
            CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
            if (many) printf("  kind %d: %llu steps for %d places, %llu for %d\n", how, (unsigned long long)steps[0][how], 2 * FEW,
                             (unsigned long long)steps[1][how], 2 * MANY);
            if (many) CHECK(steps[0][how] > 2 * FEW && steps[1][how] < 32 * steps[0][how]);
        }
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        free(places);
        free(text);
    }
}

/* ---- pipelines of many parts ------------------------------------------------------------------ */

static qnnrt_result nothing(void *user, const qnnrt_graph_info *step, const void *const *inputs, void *const *outputs, qnnrt_error *err)
{
    (void)user; (void)step; (void)inputs; (void)outputs; (void)err;
    return QNNRT_OK;
}

enum { EDGES, CONVERSIONS, APART, CONSTANTS, NAMES, KEEPS, SHARED, GRAPHS, KINDS };

/* Many parts of one kind: tensors of a host step, or steps. */
typedef struct parts {
    char (*texts)[32];
    qnnrt_tensor_info *tensors;
    uint32_t           (*dims)[1];
    qnnrt_host_step    *hosts;
    qnnrt_step_desc    *steps;
    qnnrt_edge_desc    *edges;
    qnnrt_conversion   *wishes;
    qnnrt_use_desc     *uses;
} parts;

static void parts_of(const qnnrt *model, int kind, size_t count, parts *m, qnnrt_pipeline_desc *desc)
{
    static const float zeros[4] = { 0, 0, 0, 0 };
    static const uint32_t four[1] = { 4 };
    static qnnrt_tensor_info out;
    static qnnrt_buffer_desc buffer;
    size_t i;
    memset(desc, 0, sizeof(*desc));
    memset(&out, 0, sizeof(out));
    m->texts = (char (*)[32])calloc(count, sizeof(*m->texts));
    m->tensors = (qnnrt_tensor_info *)calloc(2 * count, sizeof(*m->tensors));
    m->dims = (uint32_t (*)[1])calloc(count, sizeof(*m->dims));
    m->hosts = (qnnrt_host_step *)calloc(count, sizeof(*m->hosts));
    m->steps = (qnnrt_step_desc *)calloc(count + 1, sizeof(*m->steps));
    m->edges = (qnnrt_edge_desc *)calloc(count, sizeof(*m->edges));
    m->wishes = (qnnrt_conversion *)calloc(count, sizeof(*m->wishes));
    m->uses = (qnnrt_use_desc *)calloc(count, sizeof(*m->uses));
    out.name = "end";
    out.dtype = QNNRT_DTYPE_F32;
    out.rank = 1;
    out.dims = four;
    buffer.bytes = 16 * count;
    for (i = 0; i < count; ++i) {
        qnnrt_tensor_info *t = &m->tensors[kind == SHARED ? 2 * i : i];
        snprintf(m->texts[i], sizeof(m->texts[i]), "t%u", (unsigned)i);
        *t = out;
        t->name = kind == SHARED ? "t" : m->texts[i];
        if (kind == CONVERSIONS) {      /* not two of them are equal */
            t->dtype = QNNRT_DTYPE_U16Q;
            t->quant.encoding = QNNRT_ENCODING_PER_TENSOR;
            t->quant.scale = (float)(i + 1);
        }
        m->dims[i][0] = (uint32_t)i + 1;
        if (kind == SHARED) t->dims = m->dims[i];
        m->hosts[i].name = "many";
        m->hosts[i].exec = nothing;
        m->hosts[i].inputs = m->tensors;
        m->hosts[i].input_count = count;
        m->hosts[i].outputs = &out;
        m->hosts[i].output_count = 1;
        m->edges[i].from = "y";
        m->edges[i].to_step = 1;
        m->edges[i].to = m->texts[i];
        m->wishes[i].how = kind == CONVERSIONS ? QNNRT_CONVERT_VALUES : QNNRT_CONVERT_NONE;
        m->uses[i].step = 1;
        m->uses[i].tensor = m->texts[i];
        m->uses[i].apart = kind == APART;
        m->uses[i].constant = kind == CONSTANTS ? zeros : NULL;
        m->uses[i].constant_bytes = sizeof(zeros);
        m->uses[i].name = kind == NAMES ? m->texts[count - 1 - i] : NULL;
        m->uses[i].in_buffer = kind == KEEPS;
        m->uses[i].offset = 16 * i;
        m->steps[i + 1].host = &m->hosts[i];
        if (kind == SHARED) {           /* a chain of steps; each has an input "t" */
            t[1] = out;
            m->hosts[i].inputs = t;
            m->hosts[i].input_count = 2;
            m->edges[i].to = "end";
        }
    }
    m->steps[0].model = model;
    m->steps[0].graph = "g0";
    desc->steps = m->steps;
    desc->step_count = kind == SHARED ? count + 1 : 2;
    if (kind == GRAPHS) {
        desc->step_count = count;
        for (i = 0; i < count; ++i) {
            m->texts[i][0] = 'g';
            m->steps[i].host = NULL;
            m->steps[i].model = model;
            m->steps[i].graph = m->texts[i];
            m->edges[i].from_step = i;
            m->edges[i].to_step = i + 1;
            m->edges[i].to = "x";
        }
    }
    desc->edges = m->edges;
    desc->edge_count = kind == EDGES || kind == CONVERSIONS ? count : kind == GRAPHS ? count - 1 : 1;
    desc->uses = m->uses + (kind == CONSTANTS);
    desc->use_count = kind == CONSTANTS ? count - 1
                      : kind == APART || kind == NAMES || kind == KEEPS ? count : 0;
    desc->buffers = &buffer;
    desc->buffer_count = kind == KEEPS;
}

static void parts_free(parts *m)
{
    free(m->texts); free(m->tensors); free(m->dims); free(m->hosts); free(m->steps);
    free(m->edges); free(m->wishes); free(m->uses);
}

TEST(making_a_pipeline_takes_its_time_in_proportion_to_its_parts)
{
    enum { FEW = 200, MANY = 3200 };
    uint64_t steps[2][KINDS];
    int kind, many;
    for (many = 0; many < 2; ++many) {
        const size_t count = many ? MANY : FEW;
        char *text = (char *)malloc(count * 64 + 64);
        const char *texts[1];
        size_t used = (size_t)snprintf(text, 64, "FAKEQNN 1\n"), i;
        qnnrt *model;
        for (i = 0; i < count; ++i)
            used += (size_t)snprintf(text + used, 64, "graph g%u\nin x 1 0232 1 4 -\nout y 2 0232 1 4 -\n", (unsigned)i);
        texts[0] = text;
        model = model_from(texts, 1);
        CHECK(model != NULL);
        for (kind = 0; kind < KINDS; ++kind) {
            qnnrt_pipeline_desc desc;
            qnnrt_conversions *conversions;
            qnnrt_pipeline *pipeline;
            qnnrt_error err;
            parts m;
            parts_of(model, kind, count, &m, &desc);
            place_steps = 0;
            CHECK_EQ(converted_make(&desc, m.wishes, NULL, &conversions, &pipeline, &err), QNNRT_OK);
            steps[many][kind] = place_steps;
            CHECK_EQ(qnnrt_pipeline_destroy(pipeline), QNNRT_OK);
            qnnrt_conversions_free(conversions);
            parts_free(&m);
            if (many) printf("  kind %d: %llu steps for %d parts, %llu for %d\n", kind, (unsigned long long)steps[0][kind], FEW,
                             (unsigned long long)steps[1][kind], MANY);
            if (many) CHECK(steps[0][kind] >= FEW && steps[1][kind] < 32 * steps[0][kind]);
        }
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        free(text);
    }
}

TEST(the_search_for_pairs_that_fit_is_limited_for_all_steps_together)
{
    enum { STEPS = 6, TENSORS = 2000 };      /* 4 million comparisons for each step */
    static char texts[STEPS][2][TENSORS][16];
    static qnnrt_tensor_info tensors[STEPS][2][TENSORS];
    static const uint32_t four[1] = { 4 };
    static const char *const text[1] = { "FAKEQNN 1\ngraph g\nin x 1 0232 1 4 -\nout y 2 0264 1 4 -\n# and 64 bytes of it\n" };
    qnnrt_host_step hosts[STEPS];
    qnnrt_step_desc steps[STEPS + 1];
    qnnrt_pipeline_desc desc;
    qnnrt_pipeline *pipeline;
    qnnrt_error err;
    qnnrt *model = model_from(text, 1);
    size_t s, side, i;
    CHECK(model != NULL);
    memset(hosts, 0, sizeof(hosts));
    memset(steps, 0, sizeof(steps));
    memset(&desc, 0, sizeof(desc));
    for (s = 0; s < STEPS; ++s) {
        for (side = 0; side < 2; ++side)
            for (i = 0; i < TENSORS; ++i) {      /* the last of each are the only pair that fits */
                qnnrt_tensor_info *t = &tensors[s][side][i];
                snprintf(texts[s][side][i], sizeof(texts[s][side][i]), "%c%u_%u", side ? 'o' : 'i', (unsigned)s, (unsigned)i);
                t->name = texts[s][side][i];
                t->dtype = i + 1 == TENSORS ? QNNRT_DTYPE_F64 : side ? QNNRT_DTYPE_F32 : QNNRT_DTYPE_I32;
                t->rank = 1;
                t->dims = four;
            }
        hosts[s].name = "host";
        hosts[s].exec = nothing;
        hosts[s].inputs = tensors[s][0];
        hosts[s].outputs = tensors[s][1];
        hosts[s].input_count = hosts[s].output_count = TENSORS;
        steps[s + 1].host = &hosts[s];
    }
    steps[0].model = model;
    steps[0].graph = "g";
    desc.steps = steps;
    desc.step_count = 3;
    CHECK_EQ(qnnrt_pipeline_make(&desc, &pipeline, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_pipeline_destroy(pipeline), QNNRT_OK);
    desc.step_count = STEPS + 1;
    place_steps = 0;
    CHECK_EQ(qnnrt_pipeline_make(&desc, &pipeline, &err), QNNRT_E_LIMIT);
    CHECK_STR(err.text, "steps 5 and 6");
    CHECK(place_steps < 30000000);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

TEST_MAIN("place")
{
    RUN(planning_takes_its_time_in_proportion_to_entries);
    RUN(entries_of_a_group_follow_each_other_in_time);
    RUN(a_step_may_write_over_what_no_later_step_reads);
    RUN(a_conversion_cannot_write_over_its_input);
    RUN(overlaps_are_refused_exactly_when_a_value_is_destroyed);
    RUN(overlaps_are_found_in_few_steps);
    RUN(making_a_pipeline_takes_its_time_in_proportion_to_its_parts);
    RUN(the_search_for_pairs_that_fit_is_limited_for_all_steps_together);
}
