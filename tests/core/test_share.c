/* test_share.c - kinds of shared memory, and their registrations on libQnnRef.so

   The calls of libQnnRef.so and of the fake libcdsprpc.so are appended to one file, so that their
   order can be read. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "qnnrt_device.h"
#include "test.h"
#include "ref.h"
#include "life.h"

#ifndef TEST_FAKE_FOLDER
#define TEST_FAKE_FOLDER "build/fake/"
#endif
#define NEW_CDSPRPC "./" TEST_FAKE_FOLDER "libcdsprpc.so"
#define OLD_CDSPRPC "./" TEST_FAKE_FOLDER "old/libcdsprpc.so"

static char folder[1024], log_path[1200];

/* ---- what is shared by the tests ------------------------------------------------------------- */

/* Make the model of life.h once. */
static void make_folder(void)
{
    life l;
    if (folder[0] != '\0') return;
    snprintf(folder, sizeof folder, "%s", test_tmpdir());
    life_start(&l, folder);
    life_make(&l);
    if (l.stage[0] != '\0') {
        printf("cannot make the model: %s: %s\n", l.stage, l.err.text);
        exit(1);
    }
}

static void begin(const char *faults)
{
    make_folder();
    life_begin(faults);
    if (truncate(log_path, 0) != 0 && errno != ENOENT) printf("cannot empty %s\n", log_path);
}

/* What prepare() makes the memory of a run of, from the last open_model() on. */
static qnnrt_mem_kind made_of;

static qnnrt_result prepare(qnnrt *model, const char *name, qnnrt_run **run, qnnrt_error *err)
{
    qnnrt_prepare_desc how;
    memset(&how, 0, sizeof how);
    qnnrt_device_memory("memfd", &how.mem);
    how.mem.kind = made_of;
    return qnnrt_prepare_with(model, name, &how, run, err);
}

static qnnrt *open_model(qnnrt_mem_kind kind)
{
    qnnrt *model;
    qnnrt_error err;
    qnnrt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.backend_desc.path = TEST_REF_LIB;
    desc.backend_desc.hooks = life_hooks();
    made_of = kind;
    if (qnnrt_open(folder, &desc, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    return model;
}

/* Execute with two inputs, and compare the results with those of the slow way. */
static int right(qnnrt_run *run, uint32_t rows)
{
    float x[LIFE_ROWS * LIFE_WIDTH], y[LIFE_ROWS * LIFE_WIDTH];
    double expected[LIFE_ROWS * LIFE_WIDTH];
    const size_t count = (size_t)rows * LIFE_WIDTH;
    size_t i;
    int time;
    for (time = 0; time < 2; ++time) {
        for (i = 0; i < count; ++i) x[i] = time == 0 ? life_input[i] : 1.0f - life_input[i];
        if (qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, count) != QNNRT_OK ||
            qnnrt_exec(run) != QNNRT_OK ||
            qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, count) != QNNRT_OK) {
            printf("%s\n", qnnrt_run_error(run)->text);
            return 0;
        }
        life_expected(x, rows, expected);
        for (i = 0; i < count; ++i)
            if (!(fabs(y[i] - expected[i]) < 1e-5)) return 0;
    }
    return 1;
}

/* Count the registered tensors of a run, and print why others are not. */
static size_t registered(qnnrt_run *run, size_t *all)
{
    const qnnrt_transfer_info *list;
    size_t count, i, sum = 0;
    if (qnnrt_run_transfers(run, &list, &count) != QNNRT_OK) return (size_t)-1;
    for (i = 0; i < count; ++i) {
        sum += list[i].registered != 0;
        if ((list[i].reason[0] == '\0') != (list[i].registered != 0)) return (size_t)-1;
    }
    *all = count;
    return sum;
}

/* Return the reason of a tensor that is not registered, by slot and step. */
static const char *reason_of(qnnrt_run *run, const char *name, uint32_t step)
{
    const qnnrt_transfer_info *list;
    size_t count, i;
    if (qnnrt_run_transfers(run, &list, &count) != QNNRT_OK) return "(no list)";
    for (i = 0; i < count; ++i)
        if (list[i].step == step && strcmp(list[i].slot->tensor->name, name) == 0) return list[i].reason;
    return "(no such tensor)";
}

/* Count the living registrations. */
static int alive(void)
{
    const char *at = ref_ask("ledger");
    int count = 0;
    while ((at = strstr(at, "memory ")) != NULL) { ++count; ++at; }
    return count;
}

/* Count the calls of a name in the trace. */
static int calls(const char *name)
{
    char *text = (char *)test_read_file(log_path, NULL), *at = text;
    int count = 0;
    while (at != NULL && (at = strstr(at, name)) != NULL) { ++count; ++at; }
    free(text);
    return count;
}

static uint64_t copies(void)
{
    unsigned long long count = 0;
    if (sscanf(ref_ask("counters"), "allocations %*u delayed_ms %*u copies %llu", &count) != 1) exit(1);
    return count;
}

/* A plan of both pipelines with two buffers, in which "x" and "y" of prefill may move. */
enum { MOVES = 24, ROOM = LIFE_ROWS * LIFE_WIDTH * 4 };
static qnnrt_plan *plan_with(const qnnrt *model, uint64_t align, int guard)
{
    qnnrt_entry_desc entries[2];
    qnnrt_buffer_desc buffers[2];
    qnnrt_place_desc places[2];
    qnnrt_plan_desc desc;
    qnnrt_plan *plan = NULL;
    qnnrt_error err;
    memset(entries, 0, sizeof entries);
    memset(buffers, 0, sizeof buffers);
    memset(places, 0, sizeof places);
    memset(&desc, 0, sizeof desc);
    entries[0].group = entries[1].group = 1;
    buffers[0].name = "in";
    buffers[1].name = "out";
    buffers[0].bytes = buffers[1].bytes = (uint64_t)MOVES * ROOM;
    places[0].buffer = 0;
    places[1].buffer = 1;
    desc.entries = entries;
    desc.buffers = buffers;
    desc.places = places;
    desc.entry_count = desc.buffer_count = desc.place_count = 2;
    desc.align = (uint32_t)align;
    desc.guard = guard;
    if (qnnrt_pipeline_find(model, "prefill", &entries[0].pipeline, &err) != QNNRT_OK ||
        qnnrt_pipeline_find(model, "kv", &entries[1].pipeline, &err) != QNNRT_OK ||
        qnnrt_slot_find(entries[0].pipeline, "x", QNNRT_ROLE_INPUT, &places[0].slot, &err) != QNNRT_OK ||
        qnnrt_slot_find(entries[0].pipeline, "y", QNNRT_ROLE_OUTPUT, &places[1].slot, &err) != QNNRT_OK ||
        qnnrt_plan_create(&desc, &plan, &err) != QNNRT_OK)
        printf("%s\n", err.text);
    return plan;
}

static qnnrt_plan *plan_of(const qnnrt *model, uint64_t align) { return plan_with(model, align, 0); }

/* ---- registrations --------------------------------------------------------------------------- */

TEST(every_tensor_is_registered_and_none_is_left)
{
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    uint64_t before;
    size_t count;
    begin("");
    model = open_model(QNNRT_MEM_PROVIDER);
    CHECK(model != NULL);
    before = copies();
    CHECK_EQ(prepare(model, "prefill", &run, &err), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 4);            /* x, hidden of two contexts, y */
    CHECK_EQ(count, 4);
    CHECK_EQ(alive(), 4);
    CHECK_EQ(calls("memRegister("), 4);
    CHECK(right(run, LIFE_ROWS));
    CHECK_EQ(copies(), before);
    CHECK_EQ(calls("memRegister("), 4);
    qnnrt_run_destroy(run);
    CHECK_EQ(alive(), 0);
    CHECK_EQ(calls("memDeRegister("), 4);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(plain_memory_makes_no_calls_and_says_so)
{
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    size_t count;
    begin("");
    model = open_model(QNNRT_MEM_HEAP);
    CHECK_EQ(prepare(model, "prefill", &run, &err), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 0);
    CHECK_EQ(count, 4);
    CHECK_STR(reason_of(run, "x", 0), "not shared");
    CHECK(right(run, LIFE_ROWS));
    CHECK_EQ(calls("memRegister("), 0);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(runs_share_registrations)
{
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_mem_desc desc;
    qnnrt_run *runs[3];
    qnnrt_error err;
    size_t count;
    int i, before;
    begin("");
    memset(&desc, 0, sizeof desc);
    CHECK(qnnrt_device_memory("memfd", &desc));
    model = open_model(QNNRT_MEM_HEAP);
    plan = plan_of(model, 0);
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_get_info(mem)->kind, QNNRT_MEM_PROVIDER);
    CHECK(strcmp(qnnrt_mem_get_info(mem)->name, "memfd") == 0);
    CHECK(qnnrt_mem_get_info(mem)->fd >= 0);
    CHECK_EQ(qnnrt_mem_get_info(mem)->reason[0], 0);
    CHECK_EQ(alive(), 0);
    for (i = 0; i < 3; ++i) CHECK_EQ(qnnrt_run_create(mem, i == 1 ? 1 : 0, &runs[i], &err), QNNRT_OK);
    CHECK_EQ(alive(), 8);                            /* the third run has those of the first */
    CHECK_EQ(registered(runs[2], &count), 4);
    CHECK(right(runs[0], LIFE_ROWS) && right(runs[1], 1) && right(runs[2], LIFE_ROWS));
    for (i = 0; i < 3; ++i) qnnrt_run_destroy(runs[i]);
    CHECK_EQ(alive(), 8);                            /* they belong to the memory */
    before = calls("memRegister(");
    CHECK_EQ(qnnrt_run_create(mem, 0, &runs[0], &err), QNNRT_OK);
    CHECK_EQ(calls("memRegister("), before);
    CHECK(right(runs[0], LIFE_ROWS));
    qnnrt_run_destroy(runs[0]);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(alive(), 0);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(a_tensor_in_the_callers_memory_is_plain_and_comes_back)
{
    float mine[LIFE_ROWS * LIFE_WIDTH];
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    size_t count;
    begin("");
    model = open_model(QNNRT_MEM_PROVIDER);
    CHECK_EQ(prepare(model, "prefill", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "y", mine, sizeof mine), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 3);
    CHECK_STR(reason_of(run, "y", 1), "caller");
    CHECK(right(run, LIFE_ROWS));
    CHECK_EQ(qnnrt_bind(run, "hidden", mine, sizeof mine), QNNRT_OK);    /* both ends of an edge */
    CHECK_EQ(registered(run, &count), 1);
    CHECK_EQ(qnnrt_bind(run, "y", NULL, 0), QNNRT_OK);
    CHECK(right(run, LIFE_ROWS));
    CHECK_EQ(qnnrt_bind(run, "hidden", NULL, 0), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 4);
    CHECK(right(run, LIFE_ROWS));
    CHECK_EQ(calls("memRegister("), 4);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(moving_tensors_register_sixteen_offsets)
{
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem, *plain;
    qnnrt_mem_desc desc;
    qnnrt_run *run;
    const qnnrt_slot *x, *y;
    qnnrt_error err;
    uint64_t in, out;
    size_t count;
    int i, round;
    begin("");
    memset(&desc, 0, sizeof desc);
    CHECK(qnnrt_device_memory("memfd", &desc));
    model = open_model(QNNRT_MEM_HEAP);
    plan = plan_of(model, 0);
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_create(plan, NULL, &plain, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_run_create(mem, 0, &run, &err), QNNRT_OK);
    x = qnnrt_run_slot(run, "x");
    y = qnnrt_run_slot(run, "y");
    in = qnnrt_mem_get_info(mem)->buffers[0].offset;
    out = qnnrt_mem_get_info(mem)->buffers[1].offset;
    CHECK_EQ(alive(), 4);
    for (round = 0; round < 3; ++round)
        for (i = 0; i < 16; ++i) {
            CHECK_EQ(qnnrt_bind_at(run, x, mem, in + (uint64_t)i * ROOM), QNNRT_OK);
            CHECK_EQ(qnnrt_bind_at(run, y, mem, out + (uint64_t)(15 - i) * ROOM), QNNRT_OK);
            CHECK_EQ(registered(run, &count), 4);
            CHECK(right(run, LIFE_ROWS));
        }
    CHECK_EQ(alive(), 4 + 15 + 15);
    CHECK_EQ(calls("memRegister("), 34);
    /* further offsets are plain, the known ones are not */
    for (i = 16; i < MOVES; ++i) {
        CHECK_EQ(qnnrt_bind_at(run, x, mem, in + (uint64_t)i * ROOM), QNNRT_OK);
        CHECK_EQ(registered(run, &count), 3);
        CHECK_STR(reason_of(run, "x", 0), "16");
        CHECK(right(run, LIFE_ROWS));
    }
    CHECK_EQ(qnnrt_bind_at(run, x, mem, in + ROOM), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 4);
    /* another mem, which is not shared */
    CHECK_EQ(qnnrt_bind_at(run, x, plain, in), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 3);
    CHECK_STR(reason_of(run, "x", 0), "not shared");
    CHECK(right(run, LIFE_ROWS));
    CHECK_EQ(qnnrt_bind_input(run, x, NULL, 0), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 4);
    /* an offset that is no multiple of a float */
    CHECK_EQ(qnnrt_bind_at(run, y, mem, out + 2), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 3);
    CHECK_EQ(calls("memRegister("), 34);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(plain), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

/* A registration has a shape: the bytes where x of prefill lies get another one for x of kv. */
TEST(memory_is_registered_for_each_shape)
{
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_mem_desc desc;
    qnnrt_run *runs[2];
    qnnrt_error err;
    uint64_t in;
    size_t count, bytes;
    int i;
    begin("");
    memset(&desc, 0, sizeof desc);
    CHECK(qnnrt_device_memory("memfd", &desc));
    model = open_model(QNNRT_MEM_HEAP);
    plan = plan_of(model, 0);
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_OK);
    in = qnnrt_mem_get_info(mem)->buffers[0].offset + ROOM;
    for (i = 0; i < 2; ++i) CHECK_EQ(qnnrt_run_create(mem, (uint32_t)i, &runs[i], &err), QNNRT_OK);
    CHECK_EQ(alive(), 8);
    for (i = 0; i < 6; ++i) {
        qnnrt_run *run = runs[i % 2];
        CHECK_EQ(qnnrt_bind_at(run, qnnrt_run_slot(run, "x"), mem, in), QNNRT_OK);
        CHECK(qnnrt_data(run, "x", &bytes) == (char *)qnnrt_mem_get_info(mem)->buffers[0].data + ROOM);
        CHECK_EQ(registered(run, &count), 4);
        CHECK(right(run, i % 2 == 0 ? LIFE_ROWS : 1));
    }
    CHECK_EQ(alive(), 8 + 2);
    CHECK_EQ(calls("memRegister("), 8 + 2);
    for (i = 0; i < 2; ++i) qnnrt_run_destroy(runs[i]);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

/* A mem at the address of one that was destroyed: handles of the old one are void. */
TEST(a_new_mem_never_gets_the_registrations_of_an_old_one)
{
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *own, *mem;
    qnnrt_mem_desc desc;
    qnnrt_run *run;
    qnnrt_error err;
    size_t count;
    int i;
    begin("");
    memset(&desc, 0, sizeof desc);
    CHECK(qnnrt_device_memory("memfd", &desc));
    model = open_model(QNNRT_MEM_HEAP);
    plan = plan_of(model, 0);
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &own, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_run_create(own, 0, &run, &err), QNNRT_OK);
    for (i = 0; i < 5; ++i) {
        CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_bind_at(run, qnnrt_run_slot(run, "x"), mem, qnnrt_mem_get_info(mem)->buffers[0].offset),
                 QNNRT_OK);
        CHECK_EQ(registered(run, &count), 4);
        CHECK(right(run, LIFE_ROWS));
        CHECK_EQ(alive(), 5);
        CHECK_EQ(qnnrt_bind_input(run, qnnrt_run_slot(run, "x"), NULL, 0), QNNRT_OK);
        CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
        CHECK_EQ(alive(), 4);
        CHECK(right(run, LIFE_ROWS));
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(own), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

/* Offsets in memory that was destroyed do not count among the sixteen. */
TEST(spots_in_destroyed_memory_are_used_again)
{
    enum { MEMS = 20 };
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *own, *mems[MEMS];
    qnnrt_mem_desc desc;
    qnnrt_run *run;
    const qnnrt_slot *x;
    qnnrt_error err;
    size_t count;
    int i, round;
    begin("");
    memset(&desc, 0, sizeof desc);
    CHECK(qnnrt_device_memory("memfd", &desc));
    model = open_model(QNNRT_MEM_HEAP);
    plan = plan_of(model, 0);
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &own, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_run_create(own, 0, &run, &err), QNNRT_OK);
    x = qnnrt_run_slot(run, "x");
    /* an offset that is not a multiple of a float */
    CHECK_EQ(qnnrt_bind_at(run, qnnrt_run_slot(run, "y"), own, qnnrt_mem_get_info(own)->buffers[1].offset + 2), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 3);
    CHECK_STR(reason_of(run, "y", 1), "element size");
    CHECK(right(run, LIFE_ROWS));
    CHECK_EQ(qnnrt_bind_output(run, qnnrt_run_slot(run, "y"), NULL, 0), QNNRT_OK);
    for (round = 0; round < 3; ++round) {
        for (i = 0; i < MEMS; ++i) {
            CHECK_EQ(qnnrt_mem_create(plan, &desc, &mems[i], &err), QNNRT_OK);
            CHECK_EQ(qnnrt_bind_at(run, x, mems[i], qnnrt_mem_get_info(mems[i])->buffers[0].offset), QNNRT_OK);
            CHECK_EQ(registered(run, &count), i < 15 ? 4 : 3);
            CHECK(right(run, LIFE_ROWS));
        }
        CHECK_EQ(alive(), 4 + 15);
        CHECK_EQ(qnnrt_bind_input(run, x, NULL, 0), QNNRT_OK);
        CHECK_EQ(registered(run, &count), 4);
        for (i = 0; i < MEMS; ++i) CHECK_EQ(qnnrt_mem_destroy(mems[i]), QNNRT_OK);
        CHECK_EQ(alive(), 4);
        CHECK_EQ(qnnrt_bind_input(run, x, NULL, 0), QNNRT_OK);
        CHECK_EQ(registered(run, &count), 4);
        CHECK(right(run, LIFE_ROWS));
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(own), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(memory_of_another_backend_is_plain)
{
    qnnrt *models[2];
    qnnrt_plan *plans[2];
    qnnrt_mem *mems[2];
    qnnrt_mem_desc desc;
    qnnrt_run *run;
    const qnnrt_slot *x;
    qnnrt_error err;
    size_t count;
    int i;
    begin("");
    memset(&desc, 0, sizeof desc);
    CHECK(qnnrt_device_memory("memfd", &desc));
    for (i = 0; i < 2; ++i) {
        models[i] = open_model(QNNRT_MEM_HEAP);
        plans[i] = plan_of(models[i], 0);
        CHECK_EQ(qnnrt_mem_create(plans[i], &desc, &mems[i], &err), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_run_create(mems[0], 0, &run, &err), QNNRT_OK);
    x = qnnrt_run_slot(run, "x");
    CHECK_EQ(qnnrt_bind_at(run, x, mems[1], qnnrt_mem_get_info(mems[1])->buffers[0].offset), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 3);
    CHECK_STR(reason_of(run, "x", 0), "another backend");
    CHECK(right(run, LIFE_ROWS));
    qnnrt_run_destroy(run);
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(qnnrt_mem_destroy(mems[i]), QNNRT_OK);
        CHECK_EQ(qnnrt_plan_destroy(plans[i]), QNNRT_OK);
        CHECK_EQ(qnnrt_close(models[i]), QNNRT_OK);
    }
    NOTHING_LEFT();
}

/* ---- refusals -------------------------------------------------------------------------------- */

TEST(a_refused_tensor_is_plain_and_the_others_are_not)
{
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    size_t count;
    begin("fail=memRegister:2:0x1f45");
    model = open_model(QNNRT_MEM_PROVIDER);
    CHECK_EQ(prepare(model, "prefill", &run, &err), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 3);
    CHECK_EQ(alive(), 3);
    CHECK_STR(reason_of(run, "hidden", 0), "0x1f45");
    CHECK_STR(reason_of(run, "hidden", 0), "QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE");
    CHECK_STR(life_watch.log, "memRegister answered 0x1f45");
    CHECK(right(run, LIFE_ROWS));
    qnnrt_run_destroy(run);
    CHECK_EQ(prepare(model, "prefill", &run, &err), QNNRT_OK);     /* a second attempt */
    CHECK_EQ(registered(run, &count), 4);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(twenty_refusals_in_a_row_leave_nothing)
{
    static const char *const rules[] = { "fail=memRegister:0x1f43", "null=memRegister", "fail=memRegister:0x3e8",
                                         "no_slot=memRegister", "no_slot=memDeRegister" };
    size_t r, count;
    for (r = 0; r < sizeof rules / sizeof rules[0]; ++r) {
        qnnrt *model;
        qnnrt_run *run;
        qnnrt_error err;
        int i;
        begin(rules[r]);
        model = open_model(QNNRT_MEM_PROVIDER);
        for (i = 0; i < 20; ++i) {
            CHECK_EQ(prepare(model, "prefill", &run, &err), QNNRT_OK);
            CHECK_EQ(registered(run, &count), 0);
            CHECK(reason_of(run, "x", 0)[0] != '\0');
            CHECK(right(run, LIFE_ROWS));
            qnnrt_run_destroy(run);
            if (r != 1) CHECK_EQ(alive(), 0);
        }
        /* "not supported" holds for a context as long as it lives: it is asked once */
        CHECK_EQ(calls("memRegister("), r < 2 ? 80 : r == 2 ? 2 : 0);
        if (r < 2) {
            ref_begin("");
            CHECK_EQ(prepare(model, "prefill", &run, &err), QNNRT_OK);
            CHECK_EQ(registered(run, &count), 4);
            qnnrt_run_destroy(run);
        }
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        NOTHING_LEFT();
    }
}

TEST(a_refused_deregistration_is_logged_and_nothing_stays)
{
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    begin("fail=memDeRegister:0x1f41");
    model = open_model(QNNRT_MEM_PROVIDER);
    CHECK_EQ(prepare(model, "kv", &run, &err), QNNRT_OK);
    CHECK(right(run, 1));
    qnnrt_run_destroy(run);
    CHECK_STR(life_watch.log, "memDeRegister answered 0x1f41");
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

/* Return the n-th allocation that fails, or 0. */
static int64_t alloc_left;
static void *alloc_few(void *user, size_t bytes) { return --alloc_left == 0 ? NULL : life_alloc(user, bytes); }

TEST(every_allocation_may_fail)
{
    int64_t n, fell_back = 0, failed = 0;
    for (n = 1; n < 10000; ++n) {
        qnnrt *model;
        qnnrt_run *run = NULL;
        qnnrt_error err;
        qnnrt_desc desc;
        qnnrt_prepare_desc how;
        qnnrt_result result;
        size_t count;
        int done;
        begin("");
        memset(&desc, 0, sizeof desc);
        memset(&how, 0, sizeof(how));
        desc.backend_desc.path = TEST_REF_LIB;
        desc.backend_desc.hooks = life_hooks();
        desc.backend_desc.hooks.alloc = alloc_few;
        CHECK(qnnrt_device_memory(n % 2 == 0 ? "memfd" : "shared", &how.mem));
        alloc_left = 0;
        CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_OK);
        alloc_left = (n + 1) / 2;
        result = qnnrt_prepare_with(model, "prefill", &how, &run, &err);
        done = alloc_left > 0;
        alloc_left = 0;
        CHECK(result == QNNRT_OK || (result == QNNRT_E_MEMORY && run == NULL));
        if (result == QNNRT_OK) {
            fell_back += registered(run, &count) < 4;
            CHECK(right(run, LIFE_ROWS));
        } else ++failed;
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        NOTHING_LEFT();
        if (done && n % 2 == 0) break;
    }
    printf("  %lld allocations failed: %lld calls failed, %lld tensors stayed plain\n", (long long)(n / 2),
           (long long)failed, (long long)fell_back);
    CHECK(failed > 5 && fell_back >= 4);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static qnnrt_result mem_of(qnnrt_plan *plan, qnnrt_mem_kind kind, const char *library, qnnrt_mem **mem,
                           qnnrt_error *err)
{
    qnnrt_mem_desc desc;
    memset(&desc, 0, sizeof desc);
    TEST_JUNK(*err);
    qnnrt_device_memory(kind == QNNRT_MEM_SHARED ? "shared" : "memfd", &desc);
    desc.kind = kind;
    desc.rpcmem_path = library;
    return qnnrt_mem_create(plan, &desc, mem, err);
}

TEST(rpcmem_is_called_as_the_vendor_says)
{
    static const char *const libraries[] = { NEW_CDSPRPC, OLD_CDSPRPC };
    int which;
    for (which = 0; which < 2; ++which) {
        qnnrt *model;
        qnnrt_plan *plan;
        qnnrt_mem *mem;
        qnnrt_run *run;
        qnnrt_error err;
        char line[200], *text, *at;
        size_t count, i;
        begin("");
        model = open_model(QNNRT_MEM_HEAP);
        plan = plan_of(model, 0);
        if (mem_of(plan, QNNRT_MEM_RPCMEM, libraries[which], &mem, &err) != QNNRT_OK) printf("%s\n", err.text);
        CHECK_EQ(err.code, QNNRT_OK);
        CHECK_EQ(qnnrt_mem_get_info(mem)->kind, QNNRT_MEM_RPCMEM);
        CHECK_EQ(qnnrt_run_create(mem, 0, &run, &err), QNNRT_OK);
        CHECK_EQ(registered(run, &count), 4);
        for (i = 0; i < LIFE_ROWS * LIFE_WIDTH; ++i)                 /* zeroed, although the phone does not */
            CHECK(((const float *)qnnrt_data(run, "x", NULL))[i] == 0);
        CHECK(right(run, LIFE_ROWS));
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
        snprintf(line, sizeof line, "%s(25, 1, %llu)\n", which == 0 ? "rpcmem_alloc2" : "rpcmem_alloc",
                 (unsigned long long)qnnrt_plan_get_info(plan)->peak);
        CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        NOTHING_LEFT();
        /* contexts, memory, registrations, executes, and the reverse */
        at = text = (char *)test_read_file(log_path, NULL);
        CHECK(text != NULL);
        {
            const char *const order[] = { "contextCreateFromBinary(", line, "rpcmem_to_fd()", "memRegister(context",
                                          "1 descriptor: custom 1, offset ", "memRegister(", "memRegister(",
                                          "memRegister(", "graphExecute(", "memDeRegister(", "memDeRegister(",
                                          "memDeRegister(", "memDeRegister(", "rpcmem_free()", "contextFree(",
                                          "contextFree(", "deviceFree(" };
            for (i = 0; i < sizeof order / sizeof order[0]; ++i) {
                char *next = strstr(at, order[i]);
                if (next == NULL) printf("no %s after %.60s in\n%s", order[i], at, text);
                CHECK(next != NULL);
                at = next + 1;
            }
        }
        CHECK(strstr(at, "mem") == NULL);
        free(text);
    }
}

TEST(rpcmem_failures_are_named)
{
    const uint64_t large = (uint64_t)3 << 30;
    qnnrt *model;
    qnnrt_plan *plan, *big;
    qnnrt_mem *mem;
    qnnrt_error err;
    qnnrt_plan_desc desc;
    qnnrt_entry_desc entry;
    qnnrt_buffer_desc buffer;
    char *text, line[80];
    int (*fake_begin)(void) = NULL;
    void *fake = dlopen(NEW_CDSPRPC, RTLD_NOW), *symbol;
    int i;
    CHECK(fake != NULL);
    symbol = dlsym(fake, "fake_cdsprpc_begin");
    memcpy((void *)&fake_begin, (const void *)&symbol, sizeof symbol);
    begin("");
    model = open_model(QNNRT_MEM_HEAP);
    plan = plan_of(model, 0);
    CHECK_EQ(mem_of(plan, QNNRT_MEM_RPCMEM, "libqnnrt_no_such.so", &mem, &err), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "libqnnrt_no_such.so");
    CHECK_STR(err.hint, "QNNRT_MEM_SHARED");
    CHECK(mem == NULL);
    CHECK_EQ(mem_of(plan, QNNRT_MEM_RPCMEM, TEST_REF_LIB, &mem, &err), QNNRT_E_LIBRARY);
    CHECK_STR(err.text, "rpcmem_");
    for (i = 0; i < 20; ++i) {                                   /* in a row */
        setenv("QNNRT_FAKE_CDSPRPC", "alloc=1", 1);
        fake_begin();
        CHECK_EQ(mem_of(plan, QNNRT_MEM_RPCMEM, NEW_CDSPRPC, &mem, &err), QNNRT_E_MEMORY);
        CHECK_STR(err.text, "rpcmem_alloc2");
        setenv("QNNRT_FAKE_CDSPRPC", "to_fd=1", 1);
        fake_begin();
        CHECK_EQ(mem_of(plan, QNNRT_MEM_RPCMEM, NEW_CDSPRPC, &mem, &err), QNNRT_E_BACKEND);
        CHECK_STR(err.text, "rpcmem_to_fd");
        CHECK_EQ(fake_begin(), 0);
        setenv("QNNRT_FAKE_CDSPRPC", "odd=1", 1);
        CHECK_EQ(mem_of(plan, QNNRT_MEM_RPCMEM, NEW_CDSPRPC, &mem, &err), QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, "aligned");
        CHECK_EQ(fake_begin(), 0);
    }
    unsetenv("QNNRT_FAKE_CDSPRPC");
    CHECK_EQ(mem_of(plan, QNNRT_MEM_RPCMEM, NEW_CDSPRPC, &mem, &err), QNNRT_OK);     /* and succeeds */
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(fake_begin(), 0);
    /* more than 2 GiB */
    memset(&desc, 0, sizeof desc);
    memset(&entry, 0, sizeof entry);
    memset(&buffer, 0, sizeof buffer);
    CHECK_EQ(qnnrt_pipeline_find(model, "kv", &entry.pipeline, &err), QNNRT_OK);
    buffer.name = "large";
    buffer.bytes = large;
    desc.entries = &entry;
    desc.buffers = &buffer;
    desc.entry_count = desc.buffer_count = 1;
    CHECK_EQ(qnnrt_plan_create(&desc, &big, &err), QNNRT_OK);
    CHECK_EQ(mem_of(big, QNNRT_MEM_RPCMEM, OLD_CDSPRPC, &mem, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "rpcmem_alloc2");
    CHECK_STR(err.text, "2147483647");
    setenv("QNNRT_FAKE_CDSPRPC", "alloc=1", 1);
    CHECK_EQ(mem_of(big, QNNRT_MEM_RPCMEM, NEW_CDSPRPC, &mem, &err), QNNRT_E_MEMORY);
    unsetenv("QNNRT_FAKE_CDSPRPC");
    text = (char *)test_read_file(log_path, NULL);
    snprintf(line, sizeof line, "rpcmem_alloc2(25, 1, %llu)", (unsigned long long)qnnrt_plan_get_info(big)->peak);
    CHECK(qnnrt_plan_get_info(big)->peak >= large);
    CHECK_STR(text, line);                                       /* not cut to 32 bits */
    free(text);
    CHECK_EQ(qnnrt_plan_destroy(big), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
    dlclose(fake);
}

TEST(shared_memory_takes_what_there_is)
{
    const char *const heap = "/dev/dma_heap/system";
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_mem_desc desc;
    qnnrt_error err;
    begin("");
    model = open_model(QNNRT_MEM_HEAP);
    plan = plan_of(model, 0);
    CHECK_EQ(mem_of(plan, QNNRT_MEM_SHARED, NEW_CDSPRPC, &mem, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_get_info(mem)->kind, QNNRT_MEM_RPCMEM);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    if (access(heap, F_OK) != 0) {
        CHECK_EQ(mem_of(plan, QNNRT_MEM_SHARED, "libqnnrt_no_such.so", &mem, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_mem_get_info(mem)->kind, QNNRT_MEM_PROVIDER);
    CHECK(strcmp(qnnrt_mem_get_info(mem)->name, "memfd") == 0);
        CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
        memset(&desc, 0, sizeof desc);
        CHECK(qnnrt_device_memory("dmabuf", &desc));
        CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, heap);
    }
    /* guard pages and the caller's block cannot be shared */
    memset(&desc, 0, sizeof desc);
    CHECK(qnnrt_device_memory("shared", &desc));
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    plan = plan_with(model, 0, 1);
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_get_info(mem)->kind, QNNRT_MEM_HEAP);
    CHECK_STR(qnnrt_mem_get_info(mem)->reason, "guard");
    CHECK(strchr(qnnrt_mem_get_info(mem)->reason, ';') == NULL);      /* once, not for each kind */
    CHECK_STR(life_watch.log, "guard");
    CHECK_EQ(qnnrt_mem_get_info(mem)->fd, -1);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK(qnnrt_device_memory("memfd", &desc));
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "guard");
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    plan = plan_of(model, 0);
    desc.data = &desc;
    desc.bytes = (size_t)1 << 20;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "memfd");
    memset(&desc, 0, sizeof desc);
    desc.kind = (qnnrt_mem_kind)77;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "77");
    desc.kind = QNNRT_MEM_PROVIDER;
    desc.provider = qnnrt_device_heap("../null");
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "../null");
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

/* A provider that lies: what its alloc answers, and what its free was given. */
typedef struct liar {
    qnnrt_mem_provider real;
    int                no_data, no_fd, fails, odd, allocs, frees;
    const qnnrt_backend *asked;
    void              *data;
    size_t             bytes;
    int                fd;
    qnnrt_mem_block    block;
} liar;

static qnnrt_result liar_alloc(void *user, const qnnrt_backend *backend, qnnrt_mem_block *block, qnnrt_error *error)
{
    liar *l = (liar *)user;
    ++l->allocs;
    l->asked = backend;
    l->data = NULL;
    if (l->fails) return qnnrt_error_set(error, QNNRT_E_IO, "no camera");
    if (l->no_data) { block->fd = 7; return QNNRT_OK; }
    l->bytes = block->bytes;
    l->block = *block;
    ++l->block.bytes;
    if (l->real.alloc(l->real.user, backend, &l->block, error) != QNNRT_OK) return error->code;
    l->data = l->block.data;
    l->fd = l->block.fd;
    block->data = l->odd ? (char *)l->data + 1 : (char *)l->data;
    block->fd = l->no_fd ? -1 : l->fd;
    return QNNRT_OK;
}

static void liar_free(void *user, const qnnrt_mem_block *block)
{
    liar *l = (liar *)user;
    ++l->frees;
    if (block->data != (l->odd ? (char *)l->data + 1 : (char *)l->data) || block->bytes != l->bytes ||
        block->fd != (l->no_fd ? -1 : l->fd))
        l->frees = -99;
    l->real.free(l->real.user, &l->block);
}

TEST(a_callers_provider_is_checked_and_gets_its_memory_back)
{
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_mem_desc desc;
    qnnrt_run *run;
    qnnrt_error err;
    liar l;
    size_t count;
    memset(&l, 0, sizeof l);
    qnnrt_device_memory("memfd", &desc);
    l.real = desc.provider;
    begin("");
    model = open_model(QNNRT_MEM_HEAP);
    plan = plan_of(model, 0);
    memset(&desc, 0, sizeof desc);
    desc.kind = QNNRT_MEM_PROVIDER;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_ARG);    /* there is none */
    CHECK_STR(err.text, "provider.alloc");
    desc.provider.user = &l;
    desc.provider.alloc = liar_alloc;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "provider.free");
    CHECK_EQ(l.allocs, 0);
    desc.provider.free = liar_free;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_OK);
    CHECK(l.asked == qnnrt_get_info(model)->backend);
    CHECK_EQ(qnnrt_mem_get_info(mem)->fd, l.fd);
    CHECK_EQ(qnnrt_mem_get_info(mem)->fd_offset, 0);
    CHECK(strcmp(qnnrt_mem_get_info(mem)->name, "provider") == 0);
    CHECK_EQ(qnnrt_run_create(mem, 0, &run, &err), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 4);
    CHECK(right(run, LIFE_ROWS));
    qnnrt_run_destroy(run);
    CHECK_EQ(l.frees, 0);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(l.frees, 1);
    /* after FastRPC's allocator, and before plain memory */
    desc.kind = QNNRT_MEM_SHARED;
    desc.rpcmem_path = "libqnnrt_no_such.so";
    desc.provider.name = "camera";
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_get_info(mem)->kind, QNNRT_MEM_PROVIDER);
    CHECK(strcmp(qnnrt_mem_get_info(mem)->name, "camera") == 0);
    CHECK_EQ(qnnrt_mem_get_info(mem)->reason[0], 0);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(l.frees, 2);
    l.fails = 1;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_mem_get_info(mem)->kind, QNNRT_MEM_HEAP);
    CHECK_STR(qnnrt_mem_get_info(mem)->reason, "libqnnrt_no_such.so");
    CHECK_STR(qnnrt_mem_get_info(mem)->reason, "; no camera");
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(l.frees, 2);
    /* what it answers */
    desc.kind = QNNRT_MEM_PROVIDER;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_IO);
    CHECK_STR(err.text, "no camera");
    l.fails = 0;
    l.no_data = 1;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_MEMORY);
    CHECK_STR(err.text, "\"camera\" gave no memory");
    CHECK_EQ(l.frees, 2);
    l.no_data = 0;
    l.no_fd = 1;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "descriptor -1");
    CHECK_EQ(l.frees, 3);
    l.no_fd = 0;
    l.odd = 1;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "aligned");
    CHECK_EQ(l.frees, 4);
    CHECK(mem == NULL);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(a_callers_descriptor_begins_at_an_offset)
{
    const long page = sysconf(_SC_PAGESIZE);
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_mem_desc desc;
    qnnrt_device_source source = { 0, 0, NULL };
    qnnrt_run *run;
    qnnrt_error err;
    uint64_t peak, offset;
    char path[1200];
    void *map;
    size_t count;
    int fd, mine;
    begin("");
    snprintf(path, sizeof path, "%s/block", folder);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    model = open_model(QNNRT_MEM_HEAP);
    plan = plan_of(model, 0);
    peak = qnnrt_plan_get_info(plan)->peak;
    offset = (uint64_t)page + 192;
    CHECK_EQ(ftruncate(fd, (off_t)(offset + peak)), 0);
    map = mmap(NULL, (size_t)(offset + peak), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(map != MAP_FAILED);
    memset(map, 0x77, (size_t)(offset + peak));
    for (mine = 0; mine < 2; ++mine) {
        memset(&desc, 0, sizeof desc);
        desc.kind = QNNRT_MEM_PROVIDER;
        desc.provider = qnnrt_device_fd(&source);
        source.fd = fd;
        source.offset = offset;
        source.data = mine ? (unsigned char *)map + offset : NULL;
        if (qnnrt_mem_create(plan, &desc, &mem, &err) != QNNRT_OK) printf("%s\n", err.text);
        CHECK_EQ(err.code, QNNRT_OK);
        CHECK_EQ(qnnrt_mem_get_info(mem)->fd, fd);
        CHECK_EQ(qnnrt_mem_get_info(mem)->fd_offset, offset);
        CHECK_EQ(qnnrt_run_create(mem, 0, &run, &err), QNNRT_OK);
        CHECK_EQ(registered(run, &count), 4);
        CHECK(right(run, LIFE_ROWS));
        /* the caller sees the tensors at their offsets */
        CHECK_EQ(memcmp((unsigned char *)map + offset + qnnrt_mem_get_info(mem)->buffers[1].offset,
                        qnnrt_data(run, "y", NULL), ROOM), 0);
        CHECK_EQ(((unsigned char *)map)[offset - 1], 0x77);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
        CHECK_EQ(alive(), 0);
    }
    source.data = NULL;
    source.offset = offset + 64;                                /* too small by 64 bytes */
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "bytes");
    source.offset = offset + 1;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_ARG);
    source.offset = UINT64_MAX - 63;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_ARG);
    source.offset = 0;
    source.fd = -1;
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_ARG);
    munmap(map, (size_t)(offset + peak));
    close(fd);
    source.fd = fd;                                              /* closed */
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_ARG);
    source.fd = open(path, O_RDONLY);
    CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_E_MEMORY);      /* not writable */
    CHECK_STR(err.text, strerror(EACCES));
    close(source.fd);
    remove(path);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

/* The caller's descriptor keeps what it holds with no_zero, and nothing of it without. */
TEST(shared_memory_is_left_unfilled_where_that_is_asked_for)
{
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_mem_desc desc;
    qnnrt_device_source source = { 0, 0, NULL };
    qnnrt_run *run;
    qnnrt_error err;
    uint64_t peak, i, kept;
    unsigned char *map;
    char path[1200];
    size_t count;
    int fd, no_zero;
    begin("");
    snprintf(path, sizeof path, "%s/block", folder);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    model = open_model(QNNRT_MEM_HEAP);
    plan = plan_of(model, 0);
    peak = qnnrt_plan_get_info(plan)->peak;
    CHECK_EQ(ftruncate(fd, (off_t)peak), 0);
    map = (unsigned char *)mmap(NULL, (size_t)peak, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(map != MAP_FAILED);
    for (no_zero = 0; no_zero < 2; ++no_zero) {
        memset(map, 0x77, (size_t)peak);
        memset(&desc, 0, sizeof desc);
        desc.kind = QNNRT_MEM_PROVIDER;
        desc.provider = qnnrt_device_fd(&source);
        source.fd = fd;
        desc.no_zero = no_zero;
        CHECK_EQ(qnnrt_mem_create(plan, &desc, &mem, &err), QNNRT_OK);
        for (i = kept = 0; i < peak; ++i) kept += map[i] == 0x77;
        CHECK_EQ(kept, no_zero ? peak : 0);
        CHECK_EQ(qnnrt_run_create(mem, 0, &run, &err), QNNRT_OK);
        CHECK_EQ(registered(run, &count), 4);
        CHECK(right(run, LIFE_ROWS));
        qnnrt_mem_clear(mem);
        for (i = 0; i < qnnrt_mem_get_info(mem)->buffers[0].bytes; ++i)
            CHECK_EQ(((unsigned char *)qnnrt_mem_get_info(mem)->buffers[0].data)[i], 0);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
        CHECK_EQ(alive(), 0);
    }
    munmap(map, (size_t)peak);
    close(fd);
    remove(path);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

/* With per_tensor every tensor is registered at an offset of its own. */
TEST(blocks_of_their_own_are_registered)
{
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    qnnrt_desc desc;
    qnnrt_prepare_desc how;
    const qnnrt_pipeline_info *info;
    size_t count, i, k, a_bytes, b_bytes;
    begin("");
    memset(&desc, 0, sizeof desc);
    memset(&how, 0, sizeof(how));
    desc.backend_desc.path = TEST_REF_LIB;
    desc.backend_desc.hooks = life_hooks();
    CHECK(qnnrt_device_memory("memfd", &how.mem));
    how.per_tensor = 1;
    how.mem.no_zero = 1;
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare_with(model, "prefill", &how, &run, &err), QNNRT_OK);
    CHECK_EQ(registered(run, &count), 4);
    info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    CHECK_EQ(info->slot_count, 3);                   /* x, hidden, y */
    for (i = 0; i < info->slot_count; ++i)
        for (k = 0; k < i; ++k) {
            const uintptr_t a = (uintptr_t)qnnrt_data_slot(run, &info->slots[i], &a_bytes);
            const uintptr_t b = (uintptr_t)qnnrt_data_slot(run, &info->slots[k], &b_bytes);
            CHECK(a + a_bytes <= b || b + b_bytes <= a);
        }
    CHECK(right(run, LIFE_ROWS));
    qnnrt_run_destroy(run);
    CHECK_EQ(alive(), 0);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(an_alignment_beyond_a_page_is_kept)
{
    static const qnnrt_mem_kind kinds[] = { QNNRT_MEM_RPCMEM, QNNRT_MEM_PROVIDER };
    qnnrt *model;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    qnnrt_error err;
    size_t i, count;
    begin("");
    model = open_model(QNNRT_MEM_HEAP);
    plan = plan_of(model, (uint64_t)1 << 20);
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(mem_of(plan, kinds[i], NEW_CDSPRPC, &mem, &err), QNNRT_OK);
        CHECK_EQ((uintptr_t)qnnrt_mem_get_info(mem)->buffers[0].data % ((uintptr_t)1 << 20), 0);
        CHECK_EQ(qnnrt_run_create(mem, 0, &run, &err), QNNRT_OK);
        CHECK_EQ(registered(run, &count), 4);
        CHECK(right(run, LIFE_ROWS));
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(wrong_arguments_are_refused)
{
    const qnnrt_transfer_info *list;
    size_t count = 7;
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    begin("");
    model = open_model((qnnrt_mem_kind)-1);
    CHECK_EQ(prepare(model, "kv", &run, &err), QNNRT_E_ARG);
    CHECK(run == NULL);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    model = open_model(QNNRT_MEM_PROVIDER);
    CHECK_EQ(prepare(model, "kv", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_run_transfers(NULL, &list, &count), QNNRT_E_ARG);
    CHECK(list == NULL);
    CHECK_EQ(count, 0);
    CHECK_EQ(qnnrt_run_transfers(run, NULL, &count), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_run_transfers(run, &list, NULL), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(run)->text, "qnnrt_run_transfers");
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST_MAIN("share")
{
    snprintf(log_path, sizeof log_path, "%s/calls", test_tmpdir());
    setenv("QNNREF_TRACE", log_path, 1);
    setenv("QNNRT_FAKE_CDSPRPC_LOG", log_path, 1);
    RUN(every_tensor_is_registered_and_none_is_left);
    RUN(plain_memory_makes_no_calls_and_says_so);
    RUN(runs_share_registrations);
    RUN(a_tensor_in_the_callers_memory_is_plain_and_comes_back);
    RUN(moving_tensors_register_sixteen_offsets);
    RUN(memory_is_registered_for_each_shape);
    RUN(a_new_mem_never_gets_the_registrations_of_an_old_one);
    RUN(spots_in_destroyed_memory_are_used_again);
    RUN(memory_of_another_backend_is_plain);
    RUN(a_refused_tensor_is_plain_and_the_others_are_not);
    RUN(twenty_refusals_in_a_row_leave_nothing);
    RUN(a_refused_deregistration_is_logged_and_nothing_stays);
    RUN(every_allocation_may_fail);
    RUN(rpcmem_is_called_as_the_vendor_says);
    RUN(rpcmem_failures_are_named);
    RUN(shared_memory_takes_what_there_is);
    RUN(a_callers_provider_is_checked_and_gets_its_memory_back);
    RUN(a_callers_descriptor_begins_at_an_offset);
    RUN(shared_memory_is_left_unfilled_where_that_is_asked_for);
    RUN(blocks_of_their_own_are_registered);
    RUN(an_alignment_beyond_a_page_is_kept);
    RUN(wrong_arguments_are_refused);
}
