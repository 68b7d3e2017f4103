/* resident.c - contexts that come and go on Qualcomm's genuine HTP library, and recovery

       real_resident RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   Three contexts of one binary, of release 2.47, give the output of its folder with every residency,
   after a recovery, and when several threads load them. The x86-64 libraries refuse to share
   spill-fill memory: the contexts are then created without. */
#include "real.h"
#include "swap.h"
#include "qnnrt_profile.h"
#include <pthread.h>

enum { CONTEXTS = 3 };

static char binary[1024], library[1024];
static unsigned char *input, *wanted;
static size_t input_bytes, wanted_bytes;

/* Describe the model: one file, as several contexts. */
static void describe(qnnrt_desc *desc, qnnrt_file *files, qnnrt_residency residency)
{
    char path[1024];
    int i;
    real_desc(desc, library);
    memset(files, 0, CONTEXTS * sizeof *files);
    real_join(binary, test_arg(1), "ctx/qairt2.47/mlp_u8/forward_0.bin");
    for (i = 0; i < CONTEXTS; ++i) files[i].path = binary;
    desc->files = files;
    desc->file_count = CONTEXTS;
    desc->residency = residency;
    if (wanted != NULL) return;
    input = (unsigned char *)test_read_file(real_join(path, test_arg(1), "ctx/qairt2.47/mlp_u8/x.raw"), &input_bytes);
    wanted = (unsigned char *)test_read_file(real_join(path, test_arg(1), "ctx/qairt2.47/mlp_u8/y.expected.raw"),
                                             &wanted_bytes);
}

/* Execute the graph of each context and compare its output. */
static void execute(qnnrt_run **runs)
{
    int i;
    for (i = 0; i < CONTEXTS; ++i) {
        size_t bytes;
        const unsigned char *y;
        REAL_OK(qnnrt_exec(runs[i]), qnnrt_run_error(runs[i]));
        y = (const unsigned char *)qnnrt_data(runs[i], "y", &bytes);
        CHECK_EQ(bytes, wanted_bytes);
        CHECK(memcmp(y, wanted, bytes) == 0);
        memset(qnnrt_data(runs[i], "y", NULL), 0x55, bytes);
    }
}

static void prepare(qnnrt *model, qnnrt_run **runs)
{
    qnnrt_error err;
    char name[300];
    int i;
    for (i = 0; i < CONTEXTS; ++i) {
        snprintf(name, sizeof name, "%d/%s", i, qnnrt_get_info(model)->contexts[i].graphs[0].name);
        REAL_OK(qnnrt_prepare(model, name, &runs[i], &err), &err);
        REAL_OK(qnnrt_bind(runs[i], "x", input, input_bytes), qnnrt_run_error(runs[i]));
    }
}

static void load_all(qnnrt *model, const qnnrt_desc *desc)
{
    qnnrt_error err;
    size_t i;
    for (i = 0; desc->residency == QNNRT_RESIDENT_CALLER && i < CONTEXTS; ++i)
        REAL_OK(qnnrt_context_load(model, i, &err), &err);
}

static void finish(qnnrt *model, qnnrt_run **runs)
{
    int i;
    for (i = 0; i < CONTEXTS; ++i) qnnrt_run_destroy(runs[i]);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(real_seen.alive, 0);
}

TEST(every_residency)
{
    static const qnnrt_residency kinds[4] = { QNNRT_RESIDENT_ALL, SWAP_ONE, SWAP_BUDGET,
                                              QNNRT_RESIDENT_CALLER };
    int kind, round;
    if (real_no_device()) SKIP("the library runs nothing here");
    for (kind = 0; kind < 4; ++kind) {
        qnnrt_file files[CONTEXTS];
        qnnrt_run *runs[CONTEXTS];
        const qnnrt_info *info;
        qnnrt_error err;
        qnnrt_desc desc;
        qnnrt *model;
        uint64_t one;
        describe(&desc, files, kinds[kind]);
        if (kinds[kind] == SWAP_BUDGET) swap_bytes = 130000;
        REAL_OK(swap_open(NULL, &desc, &model, &err), &err);
        info = qnnrt_get_info(model);
        one = info->contexts[0].device_bytes;
        CHECK(one >= info->contexts[0].file_bytes && one * 2 < 130000 && one * 3 > 130000);
        TRY(load_all(model, &desc));
        TRY(prepare(model, runs));
        for (round = 0; round < 3; ++round) TRY(execute(runs));
        printf("  peak %llu bytes, of %llu for each context\n", (unsigned long long)info->device_peak,
               (unsigned long long)one);
        if (kinds[kind] == SWAP_ONE) CHECK_EQ(info->device_peak, one);
        if (kinds[kind] == SWAP_BUDGET) CHECK_EQ(info->device_peak, 2 * one);
        if (kinds[kind] == QNNRT_RESIDENT_ALL || kinds[kind] == QNNRT_RESIDENT_CALLER)
            CHECK_EQ(info->device_peak, CONTEXTS * one);
        TRY(finish(model, runs));
    }
}

TEST(recovery)
{
    static const qnnrt_residency kinds[3] = { QNNRT_RESIDENT_ALL, SWAP_ONE, QNNRT_RESIDENT_CALLER };
    int kind, round;
    if (real_no_device()) SKIP("the library runs nothing here");
    for (kind = 0; kind < 3; ++kind) {
        qnnrt_file files[CONTEXTS];
        qnnrt_run *runs[CONTEXTS];
        qnnrt_power_desc power;
        qnnrt_power_report report;
        qnnrt_error err;
        qnnrt_desc desc;
        qnnrt *model;
        describe(&desc, files, kinds[kind]);
        REAL_OK(swap_open(NULL, &desc, &model, &err), &err);
        TRY(load_all(model, &desc));
        TRY(prepare(model, runs));
        memset(&power, 0, sizeof power);
        power.preset = QNNRT_POWER_BURST;
        REAL_OK(qnnrt_power_set(qnnrt_get_info(model)->backend, &power, &report, &err), &err);
        REAL_OK(qnnrt_run_profile(runs[0], QNNRT_PROFILE_BASIC), qnnrt_run_error(runs[0]));
        for (round = 0; round < 3; ++round) {
            TRY(execute(runs));
            REAL_OK(qnnrt_model_recover(model, &err), &err);
        }
        TRY(execute(runs));
        CHECK_EQ(real_seen.errors, 0);
        TRY(finish(model, runs));
    }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void lock(void *user)   { (void)user; pthread_mutex_lock(&mutex); }
static void unlock(void *user) { (void)user; pthread_mutex_unlock(&mutex); }

typedef struct loader { qnnrt *model; size_t context; qnnrt_result result; } loader;

static void *load_often(void *user)
{
    loader *l = (loader *)user;
    int i;
    for (i = 0; i < 5 && l->result == QNNRT_OK; ++i) {
        l->result = qnnrt_context_load(l->model, l->context, NULL);
        if (i < 4 && l->result == QNNRT_OK) l->result = qnnrt_context_unload(l->model, l->context, NULL);
    }
    return NULL;
}

/* Releases 2.47 and 2.48 hang without a lock. */
TEST(threads_load)
{
    const int locked = real_library_release() < 2049;
    qnnrt_file files[CONTEXTS];
    qnnrt_run *runs[CONTEXTS];
    pthread_t threads[CONTEXTS];
    loader loaders[CONTEXTS];
    qnnrt_error err;
    qnnrt_desc desc;
    qnnrt *model;
    size_t i;
    if (real_no_device()) SKIP("the library runs nothing here");
    describe(&desc, files, QNNRT_RESIDENT_CALLER);
    desc.backend_desc.hooks.alloc = NULL;        /* the counters of real.h are for one thread */
    desc.backend_desc.hooks.free = NULL;
    desc.backend_desc.hooks.log = NULL;
    if (locked) {
        desc.backend_desc.hooks.lock = lock;
        desc.backend_desc.hooks.unlock = unlock;
    }
    printf("  %s a lock\n", locked ? "with" : "without");
    REAL_OK(swap_open(NULL, &desc, &model, &err), &err);
    for (i = 0; i < CONTEXTS; ++i) {
        loaders[i].model = model;
        loaders[i].context = i;
        loaders[i].result = QNNRT_OK;
        CHECK_EQ(pthread_create(&threads[i], NULL, load_often, &loaders[i]), 0);
    }
    for (i = 0; i < CONTEXTS; ++i) pthread_join(threads[i], NULL);
    for (i = 0; i < CONTEXTS; ++i) CHECK_EQ(loaders[i].result, QNNRT_OK);
    TRY(prepare(model, runs));
    TRY(execute(runs));
    TRY(finish(model, runs));
}

/* ---- spill-fill memory ----------------------------------------------------------------------- */

static unsigned refusals;

static void count_refusals(void *user, qnnrt_log_level level, const char *room, uint64_t code, const char *text)
{
    (void)user; (void)level; (void)room;
    if (strstr(text, "does not share spill-fill memory") == NULL) return;
    printf("  %s\n", text);
    refusals += (code & 0xFFFF) == 0x1392 || (code & 0xFFFF) == 0x3e8;
}

/* Return the JSON of a shard in which its graphs need spill-fill memory. */
static char *with_spill_fill(int shard)
{
    static const char key[] = "\"spillFillBufferSize\": 0,";
    char path[1024], name[64], *text, *at;
    size_t bytes = 0;
    snprintf(name, sizeof name, "llm/json/w8a16_four_%d.json", shard);
    text = (char *)test_read_file(real_join(path, test_arg(1), name), &bytes);
    if (text == NULL) return NULL;
    text = (char *)realloc(text, bytes + 1);
    text[bytes] = '\0';
    for (at = text; (at = strstr(at, key)) != NULL; ++at) at[strlen(key) - 2] = '9';
    return text;
}

TEST(spill_fill_is_not_shared_here)
{
    static char paths[4][1024];
    qnnrt_file files[4];
    qnnrt_error err;
    qnnrt_desc desc;
    qnnrt *model;
    qnnrt_run *run;
    int i, share;
    if (real_no_device()) SKIP("the library runs nothing here");
    memset(files, 0, sizeof files);
    for (i = 0; i < 4; ++i) {
        char name[64];
        snprintf(name, sizeof name, "llm/w8a16_four/forward_%d.bin", i);
        files[i].path = real_join(paths[i], test_arg(1), name);
        files[i].json_data = with_spill_fill(i);
        CHECK(files[i].json_data != NULL);
        files[i].json_bytes = strlen(files[i].json_data);
    }
    for (share = 0; share < 2; ++share) {
        real_desc(&desc, library);
        desc.backend_desc.hooks.log = count_refusals;
        desc.files = files;
        desc.file_count = 4;
        desc.metadata = QNNRT_METADATA_JSON;
        if (share) desc.residency = QNNRT_RESIDENT_CALLER;
        refusals = 0;
        if (real_library_release() < 2051) {         /* the files are of release 2.51 */
            CHECK_EQ(swap_open(NULL, &desc, &model, &err), QNNRT_E_VERSION);
            CHECK_EQ(refusals, 0);
            continue;
        }
        REAL_OK(swap_open(NULL, &desc, &model, &err), &err);
        if (share) REAL_OK(qnnrt_model_load_shared(model, &err), &err);
        CHECK_EQ(qnnrt_get_info(model)->contexts[0].graphs[0].spill_fill_bytes, 9);
        CHECK_EQ(refusals, share);
        REAL_OK(qnnrt_prepare(model, "token_ar1_cl128", &run, &err), &err);
        REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        CHECK_EQ(real_seen.alive, 0);
    }
    for (i = 0; i < 4; ++i) free((void *)(uintptr_t)files[i].json_data);
}

TEST_MAIN_ARGS("real_resident", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    RUN(every_residency);
    RUN(recovery);
    RUN(threads_load);
    RUN(spill_fill_is_not_shared_here);
    free(input);
    free(wanted);
}
