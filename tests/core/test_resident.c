/* test_resident.c - which contexts exist on the backend, and recovery from a restart of the DSP

   The model is a chain of shards on libQnnRef.so: shard i has one graph "step", which computes
   h<i+1> = h<i> * weights<i>, with h0 [1, 8] from the caller. Each file is larger than the one
   before it. */
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "swap.h"
#include "qnnrt_profile.h"
#include "ref.h"
#include "life.h"
#include "backend.h"

#include <math.h>
#include <sys/stat.h>
#include <time.h>

enum { SHARDS = 8, WIDTH = 8, PADDING = 1024 };
#include "shards.h"

/* ---- the model ------------------------------------------------------------------------------- */

TEST(the_model_is_built_and_saved)
{
    ref_begin("");
    shards_save(QNNRT_TENSOR_STATIC);
}

static qnnrt_desc desc_of(qnnrt_residency residency, uint64_t bytes)
{
    qnnrt_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.backend_desc.path = TEST_REF_LIB;
    desc.backend_desc.hooks = life_hooks();
    desc.residency = residency;
    swap_bytes = bytes;
    return desc;
}

#define OPENS(desc, model)                                                                         \
    do {                                                                                           \
        if (swap_open(folder, desc, model, &err) != QNNRT_OK) printf("%s\n", err.text);           \
        CHECK_EQ(err.code, QNNRT_OK);                                                              \
    } while (0)
#define SAYS(words) CHECK_STR(TEST_TOLD(err), words)

static qnnrt_run *prepare_of(qnnrt *model, qnnrt_mem_kind kind)
{
    qnnrt_run *run = NULL;
    qnnrt_prepare_desc how;
    memset(&how, 0, sizeof how);
    qnnrt_device_memory("memfd", &how.mem);
    how.mem.kind = kind;
    if (qnnrt_prepare_with(model, "step", &how, &run, &err) != QNNRT_OK) { printf("%s\n", err.text); return NULL; }
    if (qnnrt_write_f32(run, qnnrt_run_slot(run, "h0"), 0, start, WIDTH) == QNNRT_OK) return run;
    qnnrt_run_destroy(run);
    return NULL;
}

static qnnrt_run *prepare(qnnrt *model)
{
    return prepare_of(model, QNNRT_MEM_HEAP);
}

/* Execute, and compare the output. A failure stays in err. */
static qnnrt_result execute(qnnrt_run *run)
{
    float y[WIDTH], expected[WIDTH];
    qnnrt_result result = qnnrt_exec(run);
    int i;
    if (result == QNNRT_OK)
        result = qnnrt_read_f32(run, qnnrt_run_slot(run, "h8"), 0, y, WIDTH);
    if (result != QNNRT_OK) {
        err = *qnnrt_run_error(run);
        return result;
    }
    expect(expected);
    for (i = 0; i < WIDTH; ++i)
        if (!(fabs(y[i] - expected[i]) <= 1e-5 * (1 + fabs(expected[i])))) return QNNRT_E_MISMATCH;
    return QNNRT_OK;
}

static unsigned creates(const qnnrt *model)
{
    unsigned sum = 0;
    size_t i;
    for (i = 0; i < qnnrt_get_info(model)->context_count; ++i)
        sum += qnnrt_get_info(model)->contexts[i].creates;
    return sum;
}

static uint64_t bytes_of(int first, int count)
{
    uint64_t sum = 0;
    int i;
    for (i = first; i < first + count; ++i) sum += sizes[i];
    return sum;
}

/* ---- contexts that come and go --------------------------------------------------------------- */

TEST(every_residency_gives_the_same_numbers)
{
    int shards;
    for (shards = 0; shards <= SHARDS; ++shards) {
        qnnrt_desc desc = desc_of(shards == 0 ? SWAP_ONE : SWAP_BUDGET,
                                  shards == 0 ? 0 : bytes_of(SHARDS - shards, shards));
        const qnnrt_info *info;
        qnnrt *model;
        qnnrt_run *run;
        int i;
        life_begin("");
        OPENS(&desc, &model);
        info = qnnrt_get_info(model);
        CHECK_EQ(info->device_bytes, 0);
        CHECK_EQ(info->contexts[3].device_bytes, sizes[3]);
        CHECK(info->contexts[3].handle == NULL);
        run = prepare(model);
        CHECK(run != NULL);
        for (i = 0; i < 3; ++i) CHECK_EQ(execute(run), QNNRT_OK);
        printf("note: %d shards: peak %llu of %llu bytes, %u contexts created in 3 executes\n",
               shards, (unsigned long long)info->device_peak,
               (unsigned long long)bytes_of(0, SHARDS), creates(model));
        CHECK(info->device_bytes > 0 && info->device_bytes <= info->device_peak);
        if (shards == 0) {
            CHECK_EQ(info->device_peak, sizes[SHARDS - 1]);
            CHECK_EQ(creates(model), 3 * SHARDS);
            CHECK(info->contexts[SHARDS - 1].handle != NULL);
        } else {
            CHECK(info->device_peak <= swap_bytes);
        }
        if (shards == SHARDS) CHECK_EQ(creates(model), SHARDS);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        NOTHING_LEFT();
    }
}

/* Least recently used alone would create every context in every execute. */
TEST(a_budget_of_all_but_one_shard_creates_one_per_execute)
{
    qnnrt_desc desc = desc_of(SWAP_BUDGET, bytes_of(1, SHARDS - 1));
    qnnrt *model;
    qnnrt_run *run;
    unsigned before;
    int i;
    life_begin("");
    OPENS(&desc, &model);
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    before = creates(model);
    CHECK_EQ(before, SHARDS);
    for (i = 0; i < 10; ++i) CHECK_EQ(execute(run), QNNRT_OK);
    CHECK(creates(model) - before <= 11);        /* shards differ in size: one of them makes room twice */
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

/* What another run left behind goes first. */
TEST(contexts_of_another_run_make_room_first)
{
    qnnrt_desc desc = desc_of(SWAP_BUDGET, bytes_of(6, 2));
    qnnrt *model;
    qnnrt_run *first, *second;
    const qnnrt_context_info *contexts;
    int i;
    life_begin("");
    OPENS(&desc, &model);
    contexts = qnnrt_get_info(model)->contexts;
    CHECK_EQ(qnnrt_prepare(model, "0/step", &first, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare(model, "7/step", &second, NULL), QNNRT_OK);
    for (i = 0; i < 4; ++i) CHECK_EQ(qnnrt_exec(first), QNNRT_OK);
    CHECK(contexts[0].handle != NULL && contexts[0].creates == 1);
    for (i = 0; i < 4; ++i) CHECK_EQ(qnnrt_exec(second), QNNRT_OK);
    CHECK(contexts[7].handle != NULL && contexts[7].creates == 1);
    qnnrt_run_destroy(first);
    qnnrt_run_destroy(second);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

/* Of what others left behind, the least recently used goes first. */
TEST(the_least_recently_used_goes_first)
{
    static const int used[4] = { 5, 6, 4, 5 };
    qnnrt_desc desc = desc_of(SWAP_BUDGET, bytes_of(4, 3));
    const qnnrt_context_info *contexts;
    qnnrt *model;
    qnnrt_run *runs[SHARDS];
    char name[16];
    int i;
    life_begin("");
    OPENS(&desc, &model);
    contexts = qnnrt_get_info(model)->contexts;
    for (i = 0; i < SHARDS; ++i) {
        snprintf(name, sizeof(name), "%d/step", i);
        CHECK_EQ(qnnrt_prepare(model, name, &runs[i], NULL), QNNRT_OK);
    }
    for (i = 0; i < 4; ++i) CHECK_EQ(qnnrt_exec(runs[used[i]]), QNNRT_OK);
    CHECK(contexts[4].handle != NULL && contexts[5].handle != NULL && contexts[6].handle != NULL);
    CHECK_EQ(qnnrt_exec(runs[3]), QNNRT_OK);
    CHECK(contexts[4].handle != NULL && contexts[5].handle != NULL && contexts[6].handle == NULL);
    CHECK_EQ(qnnrt_exec(runs[2]), QNNRT_OK);
    CHECK(contexts[4].handle == NULL && contexts[5].handle != NULL && contexts[3].handle != NULL);
    for (i = 0; i < SHARDS; ++i) qnnrt_run_destroy(runs[i]);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(a_budget_smaller_than_a_shard_is_refused_with_both_numbers)
{
    qnnrt_desc desc = desc_of(SWAP_BUDGET, sizes[SHARDS - 1] - 1);
    qnnrt *model;
    char number[32];
    life_begin("");
    CHECK_EQ(swap_open(folder, &desc, &model, &err), QNNRT_E_LIMIT);
    CHECK(model == NULL);
    SAYS("forward_7.bin");
    snprintf(number, sizeof(number), "%llu", (unsigned long long)sizes[SHARDS - 1]);
    SAYS(number);
    snprintf(number, sizeof(number), "%llu", (unsigned long long)sizes[SHARDS - 1] - 1);
    SAYS(number);
    SAYS("\n  hint: ");
    NOTHING_LEFT();
    ++swap_bytes;
    OPENS(&desc, &model);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    desc = desc_of(QNNRT_RESIDENT_ALL, 0);
    OPENS(&desc, &model);
    CHECK_EQ(qnnrt_model_swap(model, 0, &err), QNNRT_E_ARG);
    SAYS("QNNRT_RESIDENT_CALLER");
    CHECK_EQ(qnnrt_model_swap(NULL, 0, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    desc = desc_of((qnnrt_residency)4, 0);
    CHECK_EQ(swap_open(folder, &desc, &model, &err), QNNRT_E_ARG);
    NOTHING_LEFT();
}

static unsigned existing(const qnnrt *model)
{
    unsigned i, count = 0;
    for (i = 0; i < SHARDS; ++i) count += qnnrt_get_info(model)->contexts[i].handle != NULL;
    return count;
}

TEST(a_smaller_budget_frees_at_once)
{
    qnnrt_desc desc = desc_of(SWAP_BUDGET, bytes_of(0, SHARDS));
    qnnrt *model;
    qnnrt_run *run;
    unsigned last;
    life_begin("");
    OPENS(&desc, &model);
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(existing(model), SHARDS);
    last = qnnrt_get_info(model)->contexts[SHARDS - 1].creates;
    CHECK_EQ(qnnrt_model_swap(model, bytes_of(0, SHARDS) - 1, &err), QNNRT_OK);
    CHECK_EQ(existing(model), SHARDS - 1);
    CHECK(qnnrt_get_info(model)->contexts[0].handle == NULL);      /* the least recently used */
    CHECK_EQ(qnnrt_model_swap(model, 0, &err), QNNRT_OK);
    CHECK_EQ(existing(model), 0);
    CHECK_EQ(qnnrt_get_info(model)->device_bytes, 0);
    CHECK_EQ(qnnrt_model_swap(model, UINT64_MAX, &err), QNNRT_OK);
    CHECK_EQ(existing(model), 0);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(existing(model), SHARDS);
    CHECK_EQ(qnnrt_get_info(model)->contexts[SHARDS - 1].creates, last + 1);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(the_first_load_of_each_context_is_profiled)
{
    qnnrt_desc desc = desc_of(SWAP_ONE, 0);
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_profile *loading;
    const qnnrt_profile_event *events;
    size_t count, first, i, seen[SHARDS] = { 0 };
    life_begin("");
    CHECK_EQ(qnnrt_profile_create(QNNRT_PROFILE_BASIC, NULL, &loading, &err), QNNRT_OK);
    desc.context_hooks = qnnrt_profile_hook(loading);
    OPENS(&desc, &model);
    qnnrt_profile_events(loading, &events, &count);
    CHECK_EQ(count, 0);
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_profile_events(loading, &events, &first);
    for (i = 0; i < first; ++i) ++seen[events[i].step];
    for (i = 0; i < SHARDS; ++i) CHECK(seen[i] > 0);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_profile_events(loading, &events, &count);
    CHECK_EQ(count, first);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    qnnrt_profile_destroy(loading);
    NOTHING_LEFT();
}

/* ---- files ----------------------------------------------------------------------------------- */

static unsigned char *read_file(const char *path, size_t *bytes)
{
    uint64_t size = 0;
    unsigned char *data;
    if (qnnrt_file_read(path, NULL, 0, &size, NULL) != QNNRT_OK) return NULL;
    data = (unsigned char *)malloc((size_t)size);
    *bytes = (size_t)size;
    if (data != NULL) qnnrt_file_read(path, data, (size_t)size, &size, NULL);
    return data;
}

static void write_file(const char *path, const unsigned char *data, size_t bytes)
{
    FILE *file;
    remove(path);
    file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK_EQ(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

TEST(a_file_replaced_while_its_shard_is_out_is_named)
{
    size_t bytes = 0, other_bytes = 0;
    unsigned char *data = read_file(file_of(3), &bytes), *other = read_file(file_of(4), &other_bytes);
    int what, reads;
    CHECK(data != NULL && other != NULL);
    for (what = 0; what < 4; ++what)
        for (reads = 0; reads < 2; ++reads) {
            qnnrt_desc desc = desc_of(SWAP_ONE, 0);
            qnnrt *model;
            qnnrt_run *run;
            life_begin("");
            desc.read = reads;
            OPENS(&desc, &model);
            run = prepare(model);
            CHECK(run != NULL);
            CHECK_EQ(execute(run), QNNRT_OK);
            if (what == 0) TRY(write_file(file_of(3), other, other_bytes));
            if (what == 1) {                                     /* same size, other weights */
                data[bytes - 8] ^= 1;
                TRY(write_file(file_of(3), data, bytes));
                data[bytes - 8] ^= 1;
            }
            if (what == 2) TRY(write_file(file_of(3), data, 10));
            if (what == 3) remove(file_of(3));
            CHECK_EQ(execute(run), what < 3 ? QNNRT_E_IO : QNNRT_E_NOT_FOUND);
            SAYS("forward_3.bin");
            SAYS(what < 3 ? "was replaced" : "cannot read");
            CHECK(life_text_clean(err.text) && err.hint[0] != '\0');
            CHECK_EQ(execute(run), what < 3 ? QNNRT_E_IO : QNNRT_E_NOT_FOUND);                  /* it stays so until it is back */
            TRY(write_file(file_of(3), data, bytes));
            CHECK_EQ(execute(run), QNNRT_OK);
            qnnrt_run_destroy(run);
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            NOTHING_LEFT();
        }
    free(data);
    free(other);
}

/* Open the model from memory. */
static void files_in_memory(qnnrt_file *files, qnnrt_desc *desc)
{
    int i;
    memset(files, 0, SHARDS * sizeof(*files));
    for (i = 0; i < SHARDS; ++i) files[i].data = read_file(file_of(i), &files[i].bytes);
    desc->files = files;
    desc->file_count = SHARDS;
}

static void free_files(const qnnrt_file *files)
{
    int i;
    for (i = 0; i < SHARDS; ++i) {
        void *data;
        memcpy(&data, &files[i].data, sizeof(data));
        free(data);
    }
}

TEST(memory_of_the_caller_stays_his_while_shards_come_and_go)
{
    qnnrt_desc desc = desc_of(SWAP_ONE, 0);
    qnnrt_file files[SHARDS];
    qnnrt *model;
    qnnrt_run *run;
    unsigned char *third;
    TRY(files_in_memory(files, &desc));
    life_begin("");
    CHECK_EQ(swap_open(NULL, &desc, &model, &err), QNNRT_OK);
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    memcpy(&third, &files[3].data, sizeof(third));
    third[files[3].bytes - 8] ^= 1;
    CHECK_EQ(execute(run), QNNRT_E_IO);
    SAYS("(memory 3)");
    third[files[3].bytes - 8] ^= 1;
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
    free_files(files);
}

/* ---- the caller decides ---------------------------------------------------------------------- */

TEST(the_caller_loads_and_unloads)
{
    qnnrt_desc desc = desc_of(QNNRT_RESIDENT_CALLER, 0);
    const qnnrt_info *info;
    qnnrt *model;
    qnnrt_run *run;
    size_t i;
    life_begin("");
    OPENS(&desc, &model);
    info = qnnrt_get_info(model);
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_E_STATE);
    SAYS("forward_0.bin");
    SAYS("qnnrt_context_load()");
    for (i = 0; i < SHARDS; ++i) {
        CHECK_EQ(qnnrt_context_load(model, i, &err), QNNRT_OK);
        CHECK(err.code == QNNRT_OK && err.text[0] == '\0');
        CHECK_EQ(qnnrt_context_load(model, i, NULL), QNNRT_OK);
        CHECK_EQ(execute(run), i + 1 < SHARDS ? QNNRT_E_STATE : QNNRT_OK);
    }
    CHECK_EQ(info->device_bytes, bytes_of(0, SHARDS));
    CHECK_EQ(qnnrt_context_unload(model, 2, &err), QNNRT_OK);
    CHECK(err.code == QNNRT_OK && err.text[0] == '\0');
    CHECK_EQ(info->contexts[2].creates, 1);
    CHECK_EQ(qnnrt_context_unload(model, 2, NULL), QNNRT_OK);
    CHECK(info->contexts[2].handle == NULL);
    CHECK_EQ(execute(run), QNNRT_E_STATE);
    SAYS("forward_2.bin");
    CHECK_EQ(qnnrt_context_load(model, 2, NULL), QNNRT_OK);
    CHECK_EQ(info->contexts[2].creates, 2);
    CHECK_EQ(execute(run), QNNRT_OK);                /* with the new handle */
    CHECK_EQ(qnnrt_context_unload(model, 5, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
    CHECK(info->contexts[4].handle != NULL);         /* what was loaded is loaded again */
    CHECK(info->contexts[5].handle == NULL);
    CHECK_EQ(qnnrt_context_load(model, 5, NULL), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(qnnrt_context_load(model, SHARDS, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_context_unload(model, SHARDS, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_context_load(NULL, 0, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_context_unload(NULL, 0, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_model_recover(NULL, &err), QNNRT_E_ARG);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
    desc = desc_of(QNNRT_RESIDENT_ALL, 0);
    OPENS(&desc, &model);
    CHECK_EQ(qnnrt_context_load(model, 0, &err), QNNRT_E_ARG);
    SAYS("QNNRT_RESIDENT_CALLER");
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

typedef struct loader { qnnrt *model; int first; qnnrt_result result; } loader;

static void *load_some(void *user)
{
    loader *l = (loader *)user;
    int i, round;
    for (round = 0; round < 4; ++round)
        for (i = l->first; i < SHARDS && l->result == QNNRT_OK; i += 4) {
            l->result = qnnrt_context_load(l->model, (size_t)i, NULL);
            if (round < 3 && l->result == QNNRT_OK) l->result = qnnrt_context_unload(l->model, (size_t)i, NULL);
        }
    return NULL;
}

TEST(threads_load_contexts_at_the_same_time)
{
    qnnrt_desc desc = desc_of(QNNRT_RESIDENT_CALLER, 0);
    pthread_t threads[4];
    loader loaders[4];
    qnnrt *model;
    qnnrt_run *run;
    int i;
    memset(&desc.backend_desc.hooks, 0, sizeof(desc.backend_desc.hooks));
    ref_begin("");
    OPENS(&desc, &model);
    for (i = 0; i < 4; ++i) {
        loaders[i].model = model;
        loaders[i].first = i;
        loaders[i].result = QNNRT_OK;
        CHECK_EQ(pthread_create(&threads[i], NULL, load_some, &loaders[i]), 0);
    }
    for (i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    for (i = 0; i < 4; ++i) CHECK_EQ(loaders[i].result, QNNRT_OK);
    CHECK_EQ(creates(model), 4 * SHARDS);
    CHECK_EQ(qnnrt_get_info(model)->device_bytes, bytes_of(0, SHARDS));
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(ref_ask("ledger")[0], '\0');
}

/* ---- progress -------------------------------------------------------------------------------- */

typedef struct watcher { size_t calls, stop; int wrong; } watcher;

static int watch(void *user, size_t done, size_t count, const char *file)
{
    watcher *w = (watcher *)user;
    char name[32];
    snprintf(name, sizeof(name), "forward_%d.bin", (int)done);
    if (done == SHARDS) name[0] = '\0';
    w->wrong |= done != w->calls || count != SHARDS || strcmp(file, name) != 0;
    return ++w->calls != w->stop;
}

TEST(progress_is_told_and_can_cancel_at_every_file)
{
    static const char *const rules[] = { "", "id=6; spill_fill=4096" };
    size_t stop, rule;
    for (rule = 0; rule < 2; ++rule)
        for (stop = 0; stop <= SHARDS + 1; ++stop) {
            qnnrt_desc desc = desc_of(QNNRT_RESIDENT_ALL, 0);
            watcher w;
            qnnrt *model;
            memset(&w, 0, sizeof(w));
            w.stop = stop;
            desc.progress = watch;
            desc.progress_user = &w;
            desc.keep_going = stop & 1;                  /* that makes no difference */
            life_begin(rules[rule]);
            CHECK_EQ(swap_open(folder, &desc, &model, &err), stop == 0 ? QNNRT_OK : QNNRT_E_CANCELLED);
            CHECK(!w.wrong);
            CHECK_EQ(w.calls, stop == 0 ? SHARDS + 1 : stop);
            CHECK((model != NULL) == (stop == 0));
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            NOTHING_LEFT();
        }
}

/* ---- spill-fill memory ----------------------------------------------------------------------- */

static unsigned count_of(const char *text, const char *words)
{
    unsigned count = 0;
    for (; (text = strstr(text, words)) != NULL; ++text) ++count;
    return count;
}

/* Open a model; share: its contexts share spill-fill memory. */
static qnnrt_result open_shared(const qnnrt_desc *desc, int share, qnnrt **model)
{
    qnnrt_desc own = *desc;
    qnnrt_result result;
    if (share) own.residency = QNNRT_RESIDENT_CALLER;
    result = swap_open(folder, &own, model, &err);
    if (result != QNNRT_OK || !share) return result;
    result = qnnrt_model_load_shared(*model, &err);
    if (result == QNNRT_OK) return QNNRT_OK;
    if (qnnrt_close(*model) != QNNRT_OK) printf("it does not close\n");
    *model = NULL;
    return result;
}

/* Open the model as one of HTP and return how many contexts were created within a group. */
static unsigned grouped(const char *rules, const qnnrt_desc *desc, int share)
{
    qnnrt *model = NULL;
    qnnrt_run *run;
    unsigned count;
    life_begin(rules);
    ref_ask("trace clear");
    ref_ask("trace on");
    if (open_shared(desc, share, &model) != QNNRT_OK) printf("%s\n", err.text);
    ref_ask("trace off");
    count = count_of(ref_ask("trace"), "spill-fill group of ");
    if (model == NULL) return 1000;
    run = prepare(model);
    if (run == NULL || execute(run) != QNNRT_OK) count = 2000;
    if (qnnrt_model_recover(model, &err) != QNNRT_OK || execute(run) != QNNRT_OK) count = 3000;
    qnnrt_run_destroy(run);
    if (qnnrt_close(model) != QNNRT_OK || life_left() != NULL) count = 4000;
    if (life_left() != NULL) printf("left behind: %s\n", life_left());
    return count;
}

TEST(contexts_share_spill_fill_memory_or_do_without)
{
    qnnrt_desc desc = desc_of(QNNRT_RESIDENT_ALL, 0);
    qnnrt *model;
    CHECK_EQ(grouped("id=6; spill_fill=4096", &desc, 0), 0);
    CHECK_EQ(grouped("id=6; spill_fill=4096", &desc, 1), SHARDS);
    CHECK_STR(ref_ask("trace"), "spill-fill group of NULL with 4096 bytes) -> 0x0 context ");
    CHECK_EQ(count_of(ref_ask("trace"), "group of NULL"), 1);
    CHECK_EQ(count_of(ref_ask("trace"), "with 4096 bytes) -> 0x0"), SHARDS);
    CHECK_EQ(grouped("id=6; spill_fill=4096; fail=contextCreateFromBinary:1:0x1392", &desc, 1), 1);
    CHECK_STR(life_watch.log, "does not share spill-fill memory (0x1392)");
    CHECK_EQ(grouped("id=6; spill_fill=4096; fail=contextCreateFromBinary:1:0x3e8", &desc, 1), 1);
    CHECK_EQ(grouped("id=6; spill_fill=4096; fail=contextCreateFromBinary:3:0x1392", &desc, 1), 3);
    CHECK_EQ(grouped("id=6; spill_fill=4096; fail=contextCreateFromBinary:1:0x138d", &desc, 1), 1);
    CHECK_EQ(grouped("", &desc, 1), 0);
    desc.read = 1;
    CHECK_EQ(grouped("id=6; spill_fill=4096", &desc, 1), SHARDS);
    desc = desc_of(SWAP_ONE, 0);
    CHECK_EQ(grouped("id=6; spill_fill=4096", &desc, 0), 0);
    life_begin("");
    OPENS(&desc, &model);
    CHECK_EQ(qnnrt_model_load_shared(model, &err), QNNRT_E_ARG);
    SAYS("QNNRT_RESIDENT_CALLER");
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(qnnrt_model_load_shared(NULL, &err), QNNRT_E_ARG);
}

TEST(a_group_whose_first_context_fails_begins_with_the_next)
{
    qnnrt_desc desc = desc_of(QNNRT_RESIDENT_CALLER, 0);
    qnnrt *model;
    life_begin("id=6; spill_fill=4096; fail=graphRetrieve:1:0x1770");
    ref_ask("trace clear");
    ref_ask("trace on");
    OPENS(&desc, &model);
    CHECK_EQ(qnnrt_model_load_shared(model, &err), QNNRT_E_BACKEND);
    SAYS("forward_0.bin");
    CHECK(qnnrt_get_info(model)->contexts[0].handle == NULL);
    CHECK_EQ(qnnrt_context_load(model, 1, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_model_load_shared(model, &err), QNNRT_OK);         /* goes on */
    CHECK_EQ(qnnrt_model_load_shared(model, &err), QNNRT_E_ARG);
    ref_ask("trace off");
    CHECK_EQ(count_of(ref_ask("trace"), "group of NULL"), 2);
    CHECK_EQ(count_of(ref_ask("trace"), "with 4096 bytes) -> 0x0"), SHARDS);      /* context 0 has its own */
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
    life_begin("id=6; spill_fill=4096; restart=contextCreateFromBinary:5");      /* not tried again */
    CHECK_EQ(open_shared(&desc, 1, &model), QNNRT_E_BACKEND);
    SAYS("forward_4.bin");
    CHECK_EQ(count_of(life_watch.log, "does not share"), 0);
    NOTHING_LEFT();
    life_begin("id=6; spill_fill=4096; fail=contextCreateFromBinary:5:0x3ea; fail=contextCreateFromBinary:6:0x3ea");
    CHECK_EQ(open_shared(&desc, 1, &model), QNNRT_E_BACKEND);
    SAYS("forward_4.bin");
    NOTHING_LEFT();
}

TEST(more_than_a_process_domain_is_warned_of_with_both_numbers)
{
    qnnrt_desc desc = desc_of(QNNRT_RESIDENT_ALL, 0);
    qnnrt *model;
    char number[32];
    life_begin("id=6; spill_fill=500000000");
    OPENS(&desc, &model);
    snprintf(number, sizeof(number), "%llu",
             (unsigned long long)(bytes_of(0, SHARDS) + 8 * UINT64_C(500000000)));
    CHECK_STR(life_watch.log, number);
    CHECK_STR(life_watch.log, "3600000000");
    CHECK_EQ(qnnrt_get_info(model)->device_bytes, bytes_of(0, SHARDS) + 8 * UINT64_C(500000000));
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
    life_begin("id=6; spill_fill=500000000; fail=contextCreateFromBinary:8:0x3ea;"
               " fail=contextCreateFromBinary:9:0x3ea");
    CHECK_EQ(swap_open(folder, &desc, &model, &err), QNNRT_E_BACKEND);
    SAYS(number);
    NOTHING_LEFT();
}

/* ---- recovery -------------------------------------------------------------------------------- */

static const qnnrt_residency kinds[4] = { QNNRT_RESIDENT_ALL, SWAP_ONE,
                                          SWAP_BUDGET, QNNRT_RESIDENT_CALLER };

static qnnrt_desc desc_of_kind(int kind)
{
    return desc_of(kinds[kind], kinds[kind] == SWAP_BUDGET ? bytes_of(5, 3) : 0);
}

static void load_all(qnnrt *model, qnnrt_residency residency)
{
    size_t i;
    for (i = 0; residency == QNNRT_RESIDENT_CALLER && i < SHARDS; ++i)
        CHECK_EQ(qnnrt_context_load(model, i, NULL), QNNRT_OK);
}

TEST(a_restart_at_any_execute_is_recovered_from)
{
    int kind, nth, locks;
    for (kind = 0; kind < 4; ++kind)
        for (locks = 0; locks < 2; ++locks)
            for (nth = 1; nth <= SHARDS + 1; nth += 2) {
                qnnrt_desc desc = desc_of_kind(kind);
                char rule[64];
                qnnrt *model;
                qnnrt_run *run;
                if (!locks) desc.backend_desc.hooks.lock = desc.backend_desc.hooks.unlock = NULL;
                snprintf(rule, sizeof(rule), "restart=graphExecute:%d", nth);
                life_begin(rule);
                OPENS(&desc, &model);
                TRY(load_all(model, desc.residency));
                run = prepare(model);
                CHECK(run != NULL);
                if (nth > SHARDS) CHECK_EQ(execute(run), QNNRT_OK);
                CHECK_EQ(execute(run), QNNRT_E_BACKEND);
                CHECK_EQ(err.vendor_code, 1011);
                SAYS("qnnrt_model_recover()");
                CHECK_EQ(execute(run), QNNRT_E_BACKEND);         /* it does not crash */
                CHECK_EQ(err.vendor_code, 1011);
                if (qnnrt_model_recover(model, &err) != QNNRT_OK) printf("%s\n", err.text);
                CHECK_EQ(err.code, QNNRT_OK);
                CHECK_EQ(execute(run), QNNRT_OK);                /* with the inputs of before */
                CHECK_EQ(execute(run), QNNRT_OK);
                qnnrt_run_destroy(run);
                CHECK_EQ(qnnrt_close(model), QNNRT_OK);
                NOTHING_LEFT();
            }
}

/* Cases where the restart comes with another call than an execute. */
TEST(a_restart_while_contexts_are_created_or_freed_is_recovered_from)
{
    static const char *const rules[] = { "restart=contextCreateFromBinary:11", "restart=contextFree:3",
                                         "restart=graphRetrieve:12" };
    size_t i;
    for (i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i) {
        qnnrt_desc desc = desc_of(SWAP_ONE, 0);
        qnnrt_result result = QNNRT_OK;
        qnnrt *model;
        qnnrt_run *run;
        int times = 0;
        life_begin(rules[i]);
        OPENS(&desc, &model);
        run = prepare(model);
        CHECK(run != NULL);
        while (result == QNNRT_OK && ++times < 4) result = execute(run);
        CHECK_EQ(result, QNNRT_E_BACKEND);
        CHECK_EQ(err.vendor_code, 1011);
        SAYS("qnnrt_model_recover()");
        CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
        CHECK_EQ(execute(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        NOTHING_LEFT();
    }
}

TEST(a_restart_while_a_model_is_opened_or_closed_leaves_nothing)
{
    qnnrt_desc desc = desc_of(QNNRT_RESIDENT_ALL, 0);
    qnnrt *model;
    qnnrt_run *run;
    life_begin("restart=contextCreateFromBinary:5");
    CHECK_EQ(swap_open(folder, &desc, &model, &err), QNNRT_E_BACKEND);
    CHECK_EQ(err.vendor_code, 1011);
    SAYS("forward_4.bin");
    NOTHING_LEFT();
    OPENS(&desc, &model);                                        /* a second attempt succeeds */
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
    life_begin("restart=contextFree:4");
    OPENS(&desc, &model);
    CHECK_EQ(qnnrt_close(model), QNNRT_E_BACKEND);
    NOTHING_LEFT();
}

/* Each vendor call of a recovery fails once. */
TEST(a_recovery_that_fails_can_be_repeated)
{
    static const char *const calls[] = { "backendCreate", "deviceCreate", "contextCreateFromBinary",
                                         "graphRetrieve" };
    size_t call;
    int nth, kind;
    for (kind = 0; kind < 4; ++kind)
        for (call = 0; call < 4; ++call)
            for (nth = 1; nth <= (call < 2 ? 1 : SHARDS); nth += 3) {
                qnnrt_desc desc = desc_of_kind(kind);
                const int waits = call >= 2 && (kinds[kind] == SWAP_ONE ||
                                                kinds[kind] == SWAP_BUDGET);
                char rule[64];
                qnnrt *model;
                qnnrt_run *run;
                life_begin("");
                OPENS(&desc, &model);
                TRY(load_all(model, desc.residency));
                run = prepare(model);
                CHECK(run != NULL);
                CHECK_EQ(execute(run), QNNRT_OK);
                snprintf(rule, sizeof(rule), "faults fail=%s:%d:0x3f3", calls[call], nth);
                ref_ask(rule);
                CHECK_EQ(qnnrt_model_recover(model, &err), waits ? QNNRT_OK : QNNRT_E_BACKEND);
                if (!waits) {
                    CHECK_EQ(err.vendor_code, 1011);
                    SAYS("qnnrt_model_recover()");
                    CHECK_EQ(execute(run), QNNRT_E_STATE);
                    CHECK(err.hint[0] != '\0');
                    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
                } else {
                    CHECK_EQ(execute(run), QNNRT_E_BACKEND);     /* the steps create them */
                }
                CHECK_EQ(execute(run), QNNRT_OK);
                qnnrt_run_destroy(run);
                CHECK_EQ(qnnrt_close(model), QNNRT_OK);
                NOTHING_LEFT();
            }
}

/* The handles of its graphs are gone. */
TEST(a_run_made_after_a_failed_recovery_does_not_reach_the_library)
{
    static const char *const calls[] = { "backendCreate", "contextCreateFromBinary" };
    size_t call;
    for (call = 0; call < 2; ++call) {
        qnnrt_desc desc = desc_of(QNNRT_RESIDENT_ALL, 0);
        char rule[64];
        qnnrt *model;
        qnnrt_run *run;
        life_begin("");
        OPENS(&desc, &model);
        snprintf(rule, sizeof(rule), "faults fail=%s:1:0x3f3", calls[call]);
        ref_ask(rule);
        CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_E_BACKEND);
        run = prepare(model);
        CHECK(run != NULL);
        CHECK_EQ(execute(run), QNNRT_E_STATE);
        CHECK_STR(err.hint, "qnnrt_model_recover()");
        if (call == 0) {         /* there is no backend that could take a vote, or give one back */
            qnnrt_power_desc power = { QNNRT_POWER_BURST, 0, 0, { 0, 0, 0 }, { 0, 0, 0 }, 0, 0 };
            qnnrt_power_report report;
            qnnrt_backend *backend = qnnrt_get_info(model)->backend;
            CHECK_EQ(qnnrt_power_set(backend, &power, &report, &err), QNNRT_E_STATE);
            CHECK_STR(err.hint, "qnnrt_model_recover()");
            CHECK_EQ(qnnrt_power_set(backend, NULL, NULL, &err), QNNRT_E_STATE);
        }
        CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
        CHECK_EQ(execute(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        NOTHING_LEFT();
    }
}

static unsigned registered(qnnrt_run *run)
{
    const qnnrt_transfer_info *list;
    unsigned sum = 0;
    size_t count, i;
    if (qnnrt_run_transfers(run, &list, &count) != QNNRT_OK) return 0;
    for (i = 0; i < count; ++i) sum += list[i].registered != 0;
    return sum;
}

/* Registrations end with their context, and are made again with it. */
TEST(shared_memory_is_registered_again)
{
    static const char *const rules[] = { "", "restart=graphExecute:14", "restart=memRegister:30",
                                         "restart=memDeRegister:5" };
    size_t rule;
    int kind;
    for (kind = 0; kind < 4; ++kind)
        for (rule = 0; rule < sizeof(rules) / sizeof(rules[0]); ++rule) {
            qnnrt_desc desc = desc_of_kind(kind);
            qnnrt *model;
            qnnrt_run *run;
            int i, failed = 0;
            life_begin("");
            OPENS(&desc, &model);
            TRY(load_all(model, desc.residency));
            run = prepare_of(model, QNNRT_MEM_PROVIDER);
            CHECK(run != NULL);
            CHECK_EQ(execute(run), QNNRT_OK);
            CHECK(registered(run) > 0);
            if (kinds[kind] == QNNRT_RESIDENT_ALL || kinds[kind] == QNNRT_RESIDENT_CALLER)
                CHECK_EQ(registered(run), 3 * SHARDS);
            if (kinds[kind] == QNNRT_RESIDENT_CALLER) {
                CHECK_EQ(qnnrt_context_unload(model, SHARDS - 1, NULL), QNNRT_OK);
                CHECK_EQ(registered(run), 3 * (SHARDS - 1));
                CHECK_EQ(qnnrt_context_load(model, SHARDS - 1, NULL), QNNRT_OK);
                CHECK_EQ(execute(run), QNNRT_OK);
                CHECK_EQ(registered(run), 3 * SHARDS);
            }
            if (rule > 0) {
                char command[64];
                snprintf(command, sizeof(command), "faults %s", rules[rule]);
                ref_ask(command);
            }
            for (i = 0; i < 6; ++i) {
                const qnnrt_result result = execute(run);
                if (result == QNNRT_OK) continue;
                CHECK_EQ(result, QNNRT_E_BACKEND);
                CHECK_EQ(err.vendor_code, 1011);
                CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
                CHECK_EQ(execute(run), QNNRT_OK);
                ++failed;
            }
            CHECK(failed <= 1);
            if (rule == 0) CHECK_EQ(failed, 0);
            if (rule == 1) CHECK_EQ(failed, 1);
            CHECK(registered(run) > 0);
            qnnrt_run_destroy(run);
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            NOTHING_LEFT();
        }
}

TEST(a_model_lost_for_good_is_closed_cleanly)
{
    qnnrt_desc desc = desc_of(QNNRT_RESIDENT_ALL, 0);
    qnnrt *model, *other;
    qnnrt_builder *b;
    qnnrt_run *run;
    life_begin("");
    OPENS(&desc, &model);
    run = prepare(model);
    CHECK(run != NULL);
    ref_ask("faults fail=backendCreate:0x3f3");
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_E_BACKEND);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_E_BACKEND);
    CHECK_EQ(execute(run), QNNRT_E_STATE);
    SAYS("forward_0.bin");
    CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_BASIC), QNNRT_E_STATE);
    CHECK_STR(qnnrt_run_error(run)->hint, "qnnrt_model_recover()");
    desc.backend = qnnrt_get_info(model)->backend;
    CHECK_EQ(swap_open(folder, &desc, &other, &err), QNNRT_E_STATE);
    SAYS("qnnrt_model_recover()");
    CHECK_EQ(qnnrt_builder_create(desc.backend, NULL, &b, &err), QNNRT_E_STATE);
    SAYS("qnnrt_model_recover()");
    CHECK_EQ(qnnrt_backend_register_ops(desc.backend, "x.so", "y", NULL, &err), QNNRT_E_STATE);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

/* While a hook is called, another thread makes a run on the backend: it would wait for ever for a lock
   that the caller of the hook holds. */
static struct { qnnrt *model; int on, calls; volatile int made; } elsewhere;

static void *make_elsewhere(void *user)
{
    qnnrt_run *run = NULL;
    (void)user;
    if (qnnrt_prepare(elsewhere.model, NULL, &run, NULL) == QNNRT_OK) elsewhere.made = 1;
    qnnrt_run_destroy(run);
    return NULL;
}

static void free_elsewhere(void *user, void *data)
{
    life_free(user, data);
    if (elsewhere.on) {
        const struct timespec wait = { 0, 10 * 1000 * 1000 };
        pthread_t thread;
        int i;
        elsewhere.on = elsewhere.made = 0;
        ++elsewhere.calls;
        if (pthread_create(&thread, NULL, make_elsewhere, NULL) != 0) return;
        for (i = 0; i < 1000 && !elsewhere.made; ++i) nanosleep(&wait, NULL);
        if (elsewhere.made) pthread_join(thread, NULL);
        else pthread_detach(thread);
    }
}

TEST(a_recovery_frees_the_profiles_of_runs_without_holding_a_lock)
{
    qnnrt_desc desc = desc_of(QNNRT_RESIDENT_ALL, 0);
    qnnrt *model;
    qnnrt_run *run;
    memset(&elsewhere, 0, sizeof(elsewhere));
    life_begin("restart=graphExecute:2");
    desc.backend_desc.hooks.free = free_elsewhere;
    desc.backend_desc.hooks.lock = NULL;         /* which is held while the library is called */
    desc.backend_desc.hooks.unlock = NULL;
    OPENS(&desc, &model);
    run = prepare(model);
    CHECK(run != NULL);
    elsewhere.model = model;
    CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_E_BACKEND);
    elsewhere.on = 1;
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
    elsewhere.on = 0;
    CHECK_EQ(elsewhere.calls, 1);
    CHECK(elsewhere.made);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(one_recovery_serves_all_models_of_a_backend)
{
    qnnrt_desc desc = desc_of(QNNRT_RESIDENT_ALL, 0);
    qnnrt_backend *backend;
    qnnrt *models[3];
    qnnrt_run *runs[3];
    int i;
    life_begin("restart=graphExecute:20");
    CHECK_EQ(qnnrt_backend_open(&desc.backend_desc, &backend, NULL), QNNRT_OK);
    for (i = 0; i < 3; ++i) {
        desc.backend = backend;
        desc.residency = kinds[i];
        swap_bytes = kinds[i] == SWAP_BUDGET ? bytes_of(5, 3) : 0;
        OPENS(&desc, &models[i]);
        runs[i] = prepare(models[i]);
        CHECK(runs[i] != NULL);
    }
    CHECK_EQ(execute(runs[0]), QNNRT_OK);
    CHECK_EQ(execute(runs[1]), QNNRT_OK);
    CHECK_EQ(execute(runs[2]), QNNRT_E_BACKEND);
    CHECK_EQ(execute(runs[0]), QNNRT_E_BACKEND);
    CHECK_EQ(qnnrt_model_recover(models[1], &err), QNNRT_OK);
    for (i = 0; i < 3; ++i) CHECK_EQ(execute(runs[i]), QNNRT_OK);
    for (i = 0; i < 3; ++i) {
        qnnrt_run_destroy(runs[i]);
        CHECK_EQ(qnnrt_close(models[i]), QNNRT_OK);
    }
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(what_cannot_be_recovered_says_so_and_stays)
{
    qnnrt_desc desc = desc_of(QNNRT_RESIDENT_ALL, 0);
    qnnrt_file files[SHARDS];
    qnnrt_backend *backend;
    qnnrt_builder *b;
    qnnrt *model, *built;
    qnnrt_run *run;
    size_t bytes = 0;
    unsigned char *data = read_file(file_of(2), &bytes);
    CHECK(data != NULL);
    TRY(files_in_memory(files, &desc));
    life_begin("");
    CHECK_EQ(swap_open(NULL, &desc, &model, &err), QNNRT_OK);
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_E_STATE);
    SAYS("(memory 0)");
    SAYS("\n  hint: ");
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
    free_files(files);

    desc = desc_of(QNNRT_RESIDENT_ALL, 0);                       /* a file that is gone */
    OPENS(&desc, &model);
    run = prepare(model);
    CHECK(run != NULL);
    remove(file_of(2));
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_E_NOT_FOUND);
    SAYS("forward_2.bin");
    CHECK_EQ(execute(run), QNNRT_OK);
    TRY(write_file(file_of(2), data, bytes));
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    free(data);

    CHECK_EQ(qnnrt_backend_open(&desc.backend_desc, &backend, NULL), QNNRT_OK);
    desc.backend = backend;
    OPENS(&desc, &model);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_E_BUSY);
    SAYS("1 builders");
    qnnrt_builder_destroy(b);
    CHECK_EQ(life_build(backend, &built, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_E_UNSUPPORTED);
    SAYS("\"front\"");
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    NOTHING_LEFT();

    desc = desc_of(QNNRT_RESIDENT_ALL, 0);
    desc.inspect = 1;
    desc.system_path = TEST_REF_LIB;
    OPENS(&desc, &model);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static long allowed;                     /* allocations that succeed; -1: all */

static void *tight_alloc(void *user, size_t bytes)
{
    if (allowed == 0) return NULL;
    if (allowed > 0) --allowed;
    return life_alloc(user, bytes);
}

/* Call until memory does not run out: the first call may fail, and the second one succeeds. */
#define TIGHT(call)                                                                                \
    do {                                                                                           \
        const qnnrt_result tight_ = (call);                                                        \
        if (tight_ == QNNRT_OK) break;                                                             \
        CHECK_EQ(tight_, QNNRT_E_MEMORY);                                                          \
        CHECK_EQ(allowed, 0);                                                                      \
        allowed = -1;                                                                              \
        failed = 1;                                                                                \
        CHECK_EQ((call), QNNRT_OK);                                                                \
    } while (0)

/* Every allocation fails in turn: while files are read again, registered and recovered. */
TEST(memory_that_runs_out_is_survived)
{
    int kind, failures = 0;
    for (kind = 0; kind < 3; ++kind) {
        int failed = 1;
        long n;
        for (n = 0; failed; ++n) {
            qnnrt_desc desc = desc_of_kind(kind);
            qnnrt_run *run = NULL;
            qnnrt *model;
            life_begin("");
            desc.backend_desc.hooks.alloc = tight_alloc;
            desc.read = 1;
            failed = 0;
            allowed = n;
            TIGHT(swap_open(folder, &desc, &model, &err));
            TIGHT((run = prepare_of(model, QNNRT_MEM_PROVIDER)) != NULL ? QNNRT_OK : QNNRT_E_MEMORY);
            TIGHT(execute(run));
            TIGHT(execute(run));
            TIGHT(qnnrt_model_recover(model, &err));
            TIGHT(execute(run));
            qnnrt_run_destroy(run);
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            NOTHING_LEFT();
            failures += failed;
        }
    }
    printf("note: %d allocations failed\n", failures);
    CHECK(failures > 100);
}

TEST(profiles_and_votes_end_with_a_recovery)
{
    qnnrt_desc desc = desc_of(QNNRT_RESIDENT_ALL, 0);
    const qnnrt_profile_event *events;
    qnnrt_power_desc power;
    size_t count;
    qnnrt *model;
    qnnrt_run *run;
    life_begin("");
    OPENS(&desc, &model);
    memset(&power, 0, sizeof(power));
    power.preset = QNNRT_POWER_BURST;
    CHECK_EQ(qnnrt_power_set(qnnrt_get_info(model)->backend, &power, NULL, &err), QNNRT_OK);
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(run, &events, &count), QNNRT_OK);
    CHECK(count > 0);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(run, &events, &count), QNNRT_E_STATE);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_DETAILED), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_events(run, &events, &count), QNNRT_OK);
    CHECK(count > 0);
    CHECK_EQ(qnnrt_power_set(qnnrt_get_info(model)->backend, &power, NULL, &err), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST(a_profile_works_while_contexts_come_and_go)
{
    qnnrt_desc desc = desc_of(SWAP_ONE, 0);
    const qnnrt_profile_event *events;
    size_t count;
    qnnrt *model;
    qnnrt_run *run;
    int i;
    life_begin("");
    OPENS(&desc, &model);
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_BASIC), QNNRT_OK);
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(execute(run), QNNRT_OK);
        CHECK_EQ(qnnrt_run_events(run, &events, &count), QNNRT_OK);
        CHECK(count >= SHARDS && events[count - 1].step == SHARDS - 1);
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    NOTHING_LEFT();
}

TEST_MAIN("resident")
{
    if (test_getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    snprintf(folder, sizeof(folder), "%s", test_tmpdir());
    RUN(the_model_is_built_and_saved);
    RUN(every_residency_gives_the_same_numbers);
    RUN(a_budget_of_all_but_one_shard_creates_one_per_execute);
    RUN(contexts_of_another_run_make_room_first);
    RUN(the_least_recently_used_goes_first);
    RUN(a_budget_smaller_than_a_shard_is_refused_with_both_numbers);
    RUN(a_smaller_budget_frees_at_once);
    RUN(the_first_load_of_each_context_is_profiled);
    RUN(a_file_replaced_while_its_shard_is_out_is_named);
    RUN(memory_of_the_caller_stays_his_while_shards_come_and_go);
    RUN(the_caller_loads_and_unloads);
    RUN(threads_load_contexts_at_the_same_time);
    RUN(progress_is_told_and_can_cancel_at_every_file);
    RUN(contexts_share_spill_fill_memory_or_do_without);
    RUN(a_group_whose_first_context_fails_begins_with_the_next);
    RUN(more_than_a_process_domain_is_warned_of_with_both_numbers);
    RUN(a_restart_at_any_execute_is_recovered_from);
    RUN(a_restart_while_contexts_are_created_or_freed_is_recovered_from);
    RUN(a_restart_while_a_model_is_opened_or_closed_leaves_nothing);
    RUN(a_recovery_that_fails_can_be_repeated);
    RUN(a_run_made_after_a_failed_recovery_does_not_reach_the_library);
    RUN(shared_memory_is_registered_again);
    RUN(a_model_lost_for_good_is_closed_cleanly);
    RUN(a_recovery_frees_the_profiles_of_runs_without_holding_a_lock);
    RUN(one_recovery_serves_all_models_of_a_backend);
    RUN(what_cannot_be_recovered_says_so_and_stays);
    RUN(memory_that_runs_out_is_survived);
    RUN(profiles_and_votes_end_with_a_recovery);
    RUN(a_profile_works_while_contexts_come_and_go);
}
