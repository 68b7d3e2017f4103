/* ctx.c - genuine context binaries on Qualcomm's genuine HTP library

       real_ctx RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   Every folder of DATA_FOLDER/ctx gives the outputs that the vendor's own stack gave, byte for byte,
   however its files are passed and its tensors are bound. qnnrt refuses a library older than a
   file, a foreign library and a damaged file, and gives the reason. */
#include "real.h"
#include "qnnrt_device.h"
#include "qnnrt_manifest.h"
#include "qnnrt_sha256.h"
#include <dlfcn.h>

/* ---- one folder ------------------------------------------------------------------------------- */

enum { OWN, BOUND, ODD, READ, GUARD, BLOCKS, SHARED, MODES };
static const char *const mode_names[MODES] = {
    "memory of the run", "caller's memory", "odd addresses", "desc.read", "mem.guard", "memory blocks",
    "shared memory"
};

typedef struct tensor_file {
    char   name[256];
    void  *data;              /* content of the file */
    size_t bytes;
    int    output;
    unsigned char *block;     /* place of the tensor, `bytes` from `at` on; NULL: in the run */
    unsigned char *at;
} tensor_file;

typedef struct case_files {
    int         count;
    tensor_file tensors[32];
} case_files;

static void files_load(case_files *files, const char *folder)
{
    real_list *list = (real_list *)calloc(1, sizeof *list);
    int i;
    if (list == NULL) abort();
    real_scan(list, folder, ".raw");
    files->count = 0;
    for (i = 0; i < list->count && i < 32; ++i) {
        tensor_file *file = &files->tensors[files->count++];
        const char *name = strrchr(list->path[i], '/') + 1;
        char *end;
        memset(file, 0, sizeof *file);
        snprintf(file->name, sizeof file->name, "%s", name);
        file->name[strlen(file->name) - 4] = '\0';
        end = strstr(file->name, ".expected");
        if (end != NULL && strcmp(end, ".expected") == 0) { *end = '\0'; file->output = 1; }
        file->data = test_read_file(list->path[i], &file->bytes);
    }
    free(list);
}

static void files_free(case_files *files)
{
    int i;
    for (i = 0; i < files->count; ++i) {
        free(files->tensors[i].data);
        free(files->tensors[i].block);
    }
}

/* Check that every input and output of the run has a file. */
static void check_files(qnnrt_run *run, const case_files *files)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    size_t i;
    int slots = 0, t;
    for (i = 0; i < info->slot_count; ++i) slots += info->slots[i].role != QNNRT_ROLE_EDGE;
    CHECK_EQ(slots, files->count);
    for (t = 0; t < files->count; ++t) {
        qnnrt_error err;
        const qnnrt_slot *slot;
        const tensor_file *file = &files->tensors[t];
        REAL_OK(qnnrt_slot_find(qnnrt_run_pipeline(run), file->name,
                                file->output ? QNNRT_ROLE_OUTPUT : QNNRT_ROLE_INPUT, &slot, &err), &err);
        CHECK(file->data != NULL);
        CHECK_EQ(slot->tensor->bytes, file->bytes);
    }
}

/* The one place where the vendor's results differ: a program that calls 2.48, 2.49 or 2.50
   without qnnrt gets the same 16 of 231 values that are 1 code off. 2.47 and 2.51 give the
   values in the file. */
static int vendor_differs(const tensor_file *file, const unsigned char *got)
{
    int release = real_library_release(), differing = 0;
    size_t i;
    if (strcmp(file->name, "product") != 0 || release < 2048 || release > 2050) return 0;
    for (i = 0; i + 1 < file->bytes; i += 2) {
        const unsigned char *want = (const unsigned char *)file->data + i;
        int d = (got[i] | got[i + 1] << 8) - (want[0] | want[1] << 8);
        if (d < -1 || d > 1) return 0;
        differing += d != 0;
    }
    printf("  product: %d values 1 code off, as this release gives without qnnrt too\n", differing);
    return differing <= 16;
}

static void check_outputs(qnnrt_run *run, case_files *files, const char *what)
{
    int t;
    for (t = 0; t < files->count; ++t) {
        tensor_file *file = &files->tensors[t];
        size_t bytes = 0, i;
        const unsigned char *got = (const unsigned char *)qnnrt_data(run, file->name, &bytes);
        CHECK(got != NULL);
        CHECK_EQ(bytes, file->bytes);
        if (file->at != NULL) CHECK(got == file->at);
        for (i = 0; i < bytes && got[i] == ((const unsigned char *)file->data)[i]; ++i) {}
        if (i < bytes && vendor_differs(file, got)) i = bytes;
        if (i < bytes)
            printf("    %s: %s, byte %u of %u: 0x%02x, expected 0x%02x\n", what, file->name, (unsigned)i, (unsigned)bytes,
                   got[i], ((const unsigned char *)file->data)[i]);
        CHECK_EQ(i, bytes);
        for (i = 0; file->block != NULL && i < 64; ++i) CHECK_EQ(file->at[file->bytes + i], 0xC7);
    }
}

static void run_model(qnnrt *model, case_files *files, int mode)
{
    qnnrt_error err;
    qnnrt_run *run;
    const qnnrt_transfer_info *list;
    size_t count, i;
    int t, again;
    long before;
    qnnrt_prepare_desc how;
    memset(&how, 0, sizeof how);
    how.guard = mode == GUARD;
    qnnrt_device_memory("memfd", &how.mem);
    how.mem.kind = mode == SHARED ? QNNRT_MEM_PROVIDER : QNNRT_MEM_HEAP;
    CHECK_EQ(qnnrt_get_info(model)->pipeline_count, 1);
    REAL_OK(qnnrt_prepare_with(model, NULL, &how, &run, &err), &err);
    TRY(check_files(run, files));
    for (t = 0; t < files->count; ++t) {
        tensor_file *file = &files->tensors[t];
        free(file->block);
        file->block = file->at = NULL;
        if (mode != BOUND && mode != ODD) continue;
        file->block = (unsigned char *)malloc(file->bytes + 192);
        CHECK(file->block != NULL);
        memset(file->block, 0xC7, file->bytes + 192);
        file->at = file->block + 64 - ((uintptr_t)file->block & 63) + (mode == ODD ? 1 + 2 * t : 0);
        REAL_OK(qnnrt_bind(run, file->name, file->at, file->bytes), qnnrt_run_error(run));
    }
    /* x86-64 refuses to register memory; the tensors are then plain. */
    REAL_OK(qnnrt_run_transfers(run, &list, &count), qnnrt_run_error(run));
    for (i = 0; i < count && mode == SHARED; ++i) {
        CHECK_EQ(list[i].registered, 0);
        CHECK_STR(list[i].reason, "0x3e8");
    }
    for (again = 0; again < 2; ++again) {
        for (t = 0; t < files->count; ++t) {
            tensor_file *file = &files->tensors[t];
            void *at = qnnrt_data(run, file->name, NULL);
            CHECK(at != NULL);
            if (file->output) memset(at, again ? 0x5A : 0xA5, file->bytes);
            else memcpy(at, file->data, file->bytes);
        }
        before = real_seen.allocations;
        REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
        CHECK_EQ(real_seen.allocations, before);
        TRY(check_outputs(run, files, mode_names[mode]));
    }
    qnnrt_run_destroy(run);
}

/* Read the files of a folder as memory blocks, which may be freed after the open. */
static int blocks_load(const char *folder, qnnrt_file *blocks, int limit)
{
    int count;
    for (count = 0; count < limit; ++count) {
        char name[64], path[1024];
        size_t bytes;
        void *data;
        snprintf(name, sizeof name, "forward_%d.bin", count);
        data = test_read_file(real_join(path, folder, name), &bytes);
        if (data == NULL) break;
        blocks[count].path = NULL;
        blocks[count].data = data;
        blocks[count].bytes = bytes;
    }
    return count;
}

static void blocks_free(qnnrt_file *blocks, int count)
{
    int i;
    for (i = 0; i < count; ++i) {
        memset((void *)(uintptr_t)blocks[i].data, 0xEE, blocks[i].bytes);
        free((void *)(uintptr_t)blocks[i].data);
    }
}

/* Check the result of a library for a file that is newer than itself. */
static void check_refused(const char *folder)
{
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model = (qnnrt *)&desc;
    char path[1024], release[16];
    real_desc(&desc, path);
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_E_VERSION);
    CHECK(model == NULL);
    CHECK_EQ(err.code, QNNRT_E_VERSION);
    CHECK_EQ(err.vendor_code, 0);
    CHECK_STR(err.text, "forward_0.bin");
    CHECK_STR(err.text, "v2.51.0.");                     /* the release that made the file */
    snprintf(release, sizeof release, "v2.%d.", real_library_release() % 1000);
    CHECK_STR(err.text, release);                        /* the release that is installed */
    CHECK_STR(err.text, "libQnnHtp.so");
    CHECK_EQ(real_seen.newer, 0);                        /* the vendor was not called */
    CHECK_EQ(real_seen.errors, 0);
    CHECK_EQ(real_seen.alive, 0);
}

static int folder_release(const char *folder)
{
    const char *at = strstr(folder, "qairt2.");
    return at != NULL ? 2000 + atoi(at + 7) : 2051;
}

static void each_folder(int mode)
{
    static real_list list;
    static case_files files;
    int i, ran = 0, refused = 0;
    long long contexts;
    real_folders(&list, "ctx");
    CHECK(list.count >= 6);
    for (i = 0; i < list.count; ++i) {
        const char *folder = list.path[i];
        qnnrt_desc desc;
        qnnrt_error err;
        qnnrt *model;
        qnnrt_file blocks[8];
        memset(blocks, 0, sizeof(blocks));
        int block_count = 0;
        char path[1024];
        if (folder_release(folder) > real_library_release()) {
            TRY(check_refused(folder));
            ++refused;
            continue;
        }
        files_load(&files, folder);
        real_desc(&desc, path);
        desc.read = mode == READ;
        if (mode == BLOCKS) {
            block_count = blocks_load(folder, blocks, 8);
            desc.files = blocks;
            desc.file_count = (size_t)block_count;
        }
        REAL_OK(qnnrt_open(mode == BLOCKS ? NULL : folder, &desc, &model, &err), &err);
        blocks_free(blocks, block_count);
        CHECK_STR(qnnrt_get_info(model)->system_path, test_arg(0));
        TRY(run_model(model, &files, mode));
        contexts = (long long)qnnrt_get_info(model)->context_count;
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        CHECK_EQ(real_seen.alive, 0);
        /* Each context is asked once, and the library logs two lines. */
        if (mode == SHARED) {
            CHECK_STR(real_seen.first, "QnnMem");
            CHECK_EQ(real_seen.errors, 2 * contexts);
            real_seen.errors = 0;
        }
        CHECK_EQ(real_seen.errors, 0);
        files_free(&files);
        ++ran;
    }
    printf("  %s: %d folders equal, %d newer than the library and refused\n", mode_names[mode], ran, refused);
    CHECK(ran >= 2);
}

TEST(own_memory)    { TRY(each_folder(OWN)); }
TEST(bound_by_name) { TRY(each_folder(BOUND)); }
TEST(odd_addresses) { TRY(each_folder(ODD)); }
TEST(read)          { TRY(each_folder(READ)); }
TEST(guard)         { TRY(each_folder(GUARD)); }
TEST(memory_blocks) { TRY(each_folder(BLOCKS)); }
TEST(shared_memory) { TRY(each_folder(SHARED)); }

/* ---- three shards ----------------------------------------------------------------------------- */

static unsigned char chain_block[1 << 16];

/* Run the three graphs one by one, each with the output of the one before. */
static void chain_singly(qnnrt *model, const case_files *files, unsigned char hidden[2][4096], size_t hidden_bytes[2],
                         unsigned char *logits)
{
    const unsigned char *from = (const unsigned char *)files->tensors[0].data;
    size_t from_bytes = files->tensors[0].bytes, step, i;
    for (step = 0; step < 3; ++step) {
        const qnnrt_context_info *context = &qnnrt_get_info(model)->contexts[step];
        const qnnrt_pipeline_info *info;
        qnnrt_error err;
        qnnrt_run *run;
        char name[512];
        CHECK_EQ(context->graph_count, 1);
        snprintf(name, sizeof name, "%u/%s", (unsigned)step, context->graphs[0].name);
        REAL_OK(qnnrt_prepare(model, name, &run, &err), &err);
        info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
        CHECK_EQ(info->step_count, 1);
        CHECK_EQ(info->slot_count, 2);
        for (i = 0; i < 2; ++i) {
            if (info->slots[i].role != QNNRT_ROLE_INPUT) continue;
            CHECK_EQ(info->slots[i].tensor->bytes, from_bytes);
            memcpy(qnnrt_data_slot(run, &info->slots[i], NULL), from, from_bytes);
        }
        REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
        for (i = 0; i < 2; ++i) {
            unsigned char *to = step < 2 ? hidden[step] : logits;
            if (info->slots[i].role != QNNRT_ROLE_OUTPUT) continue;
            from_bytes = (size_t)info->slots[i].tensor->bytes;
            CHECK(from_bytes <= 4096);
            memcpy(to, qnnrt_data_slot(run, &info->slots[i], NULL), from_bytes);
            if (step < 2) hidden_bytes[step] = from_bytes;
            from = to;
        }
        qnnrt_run_destroy(run);
    }
}

TEST(chain_of_three)
{
    static case_files files;
    static unsigned char hidden[2][4096], own[2][4096], logits[4096];
    size_t hidden_bytes[2], i, blocks_in = 0;
    char folder[1024], path[1024];
    const qnnrt_pipeline *pipeline;
    const qnnrt_pipeline_info *info;
    const qnnrt_plan_info *sums;
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan_desc;
    qnnrt_mem_desc mem_desc;
    qnnrt_plan *plan;
    qnnrt_mem *mem;
    qnnrt_run *run;
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;

    if (real_library_release() < 2051) {
        TRY(check_refused(real_join(folder, test_arg(1), "ctx/qairt2.51/chain_of_three")));
        return;
    }
    real_join(folder, test_arg(1), "ctx/qairt2.51/chain_of_three");
    files_load(&files, folder);
    CHECK_EQ(files.count, 2);
    CHECK(!files.tensors[0].output && files.tensors[1].output);
    real_desc(&desc, path);
    REAL_OK(qnnrt_open(folder, &desc, &model, &err), &err);
    CHECK_EQ(qnnrt_get_info(model)->pipeline_count, 1);
    REAL_OK(qnnrt_pipeline_find(model, NULL, &pipeline, &err), &err);
    info = qnnrt_pipeline_get_info(pipeline);
    CHECK_EQ(info->step_count, 3);
    CHECK_EQ(info->edge_count, 2);
    CHECK_EQ(info->slot_count, 4);
    CHECK(info->failure == NULL);

    /* Run one pipeline in one block of the caller's memory. */
    memset(&entry, 0, sizeof entry);
    memset(&plan_desc, 0, sizeof plan_desc);
    memset(&mem_desc, 0, sizeof mem_desc);
    entry.pipeline = pipeline;
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    REAL_OK(qnnrt_plan_create(&plan_desc, &plan, &err), &err);
    sums = qnnrt_plan_get_info(plan);
    printf("  arena: peak %llu, bound %llu, naive %llu bytes\n", (unsigned long long)sums->peak,
           (unsigned long long)sums->bound, (unsigned long long)sums->naive);
    CHECK(sums->peak < sums->naive);
    CHECK(sums->peak >= sums->bound);
    CHECK(sums->peak <= sizeof chain_block - 64);
    mem_desc.data = chain_block + 64 - ((uintptr_t)chain_block & 63);
    mem_desc.bytes = (size_t)sums->peak;
    REAL_OK(qnnrt_mem_create(plan, &mem_desc, &mem, &err), &err);
    REAL_OK(qnnrt_run_create(mem, 0, &run, &err), &err);
    for (i = 0; i < info->slot_count; ++i) {
        size_t bytes;
        const unsigned char *at = (const unsigned char *)qnnrt_data_slot(run, &info->slots[i], &bytes);
        CHECK(at >= (unsigned char *)mem_desc.data && at + bytes <= (unsigned char *)mem_desc.data + mem_desc.bytes);
        ++blocks_in;
    }
    CHECK_EQ(blocks_in, 4);

    /* Both ends of an edge are one slot and have one address. */
    for (i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *edge = &info->edges[i];
        char from[300], to[300];
        snprintf(from, sizeof from, "%u/%s", (unsigned)edge->from_step, edge->from->name);
        snprintf(to, sizeof to, "%u/%s", (unsigned)edge->to_step, edge->to->name);
        printf("  edge %s -> %s: %s\n", from, to, edge->reason);
        CHECK_EQ(edge->from_step, i);
        CHECK_EQ(edge->to_step, i + 1);
        CHECK_STR(edge->reason, "the only pair that fits");
        CHECK(strcmp(edge->from->name, edge->to->name) != 0);
        CHECK_EQ(edge->slot->role, QNNRT_ROLE_EDGE);
        CHECK(qnnrt_data(run, from, NULL) != NULL);
        CHECK(qnnrt_data(run, from, NULL) == qnnrt_data(run, to, NULL));
        CHECK(qnnrt_data(run, from, NULL) == qnnrt_data_slot(run, edge->slot, NULL));
    }
    memcpy(qnnrt_data(run, "input_ids", NULL), files.tensors[0].data, files.tensors[0].bytes);
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    TRY(check_outputs(run, &files, "one arena"));

    /* With the edges in our own memory, their values can be read after the run. */
    TRY(chain_singly(model, &files, hidden, hidden_bytes, logits));
    CHECK(memcmp(logits, files.tensors[1].data, files.tensors[1].bytes) == 0);
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(info->edges[i].slot->tensor->bytes, hidden_bytes[i]);
        REAL_OK(qnnrt_bind_output(run, info->edges[i].slot, own[i], sizeof own[i]), qnnrt_run_error(run));
    }
    memset(qnnrt_data(run, "logits", NULL), 0, files.tensors[1].bytes);
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    TRY(check_outputs(run, &files, "edges bound"));
    for (i = 0; i < 2; ++i) CHECK(memcmp(own[i], hidden[i], hidden_bytes[i]) == 0);

    CHECK_EQ(qnnrt_close(model), QNNRT_E_BUSY);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_mem_destroy(mem), QNNRT_OK);
    CHECK_EQ(qnnrt_plan_destroy(plan), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(real_seen.alive, 0);
    files_free(&files);
}

/* ---- what must be refused ---------------------------------------------------------------------- */

TEST(weight_shared)
{
    char folder[1024], path[1024], system_path[1024];
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;
    real_join(folder, test_arg(1), "llm/bad_weight_shared");
    if (real_library_release() < 2051) {
        TRY(check_refused(folder));
        return;
    }
    real_desc(&desc, path);
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_E_UNSUPPORTED);
    CHECK(model == NULL);
    CHECK_EQ(err.vendor_code, 0);
    CHECK_STR(err.text, "forward_0.bin");
    CHECK_STR(err.text, "shares its weights with other graphs");
    CHECK_STR(err.text, "emulator");
    CHECK_STR(TEST_TOLD(err), "\n  hint: ");
    CHECK_EQ(real_seen.errors, 0);
    CHECK_EQ(real_seen.alive, 0);

    /* Its metadata is valid. */
    desc.inspect = 1;
    desc.system_path = real_library(system_path, "libQnnSystem.so");
    REAL_OK(qnnrt_open(folder, &desc, &model, &err), &err);
    CHECK_EQ(qnnrt_get_info(model)->contexts->graph_count, 2);
    CHECK(qnnrt_get_info(model)->contexts->graphs[0].shared_weights_bytes > 0);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

/* Check that the wiring fails at the first cut and reports both tensors and both facts. */
static void check_mixed(qnnrt *model, const char *prefix)
{
    const qnnrt_pipeline_info *info = NULL;
    const qnnrt_pipeline *found;
    const qnnrt_graph_info *from = NULL, *to = NULL;
    qnnrt_run *run;
    qnnrt_error err;
    size_t i, k;
    for (i = 0; i < qnnrt_get_info(model)->pipeline_count; ++i) {
        info = qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[i]);
        if (strncmp(info->name, prefix, strlen(prefix)) == 0) break;
    }
    CHECK(i < qnnrt_get_info(model)->pipeline_count);
    CHECK(info->failure != NULL);
    CHECK_EQ(qnnrt_pipeline_find(model, info->name, &found, &err), QNNRT_E_MISMATCH);
    printf("  %s\n", err.text);
    CHECK(found == NULL);
    CHECK_STR(err.text, info->failure->text);
    for (k = 0; k < 2; ++k) {
        const qnnrt_context_info *context = &qnnrt_get_info(model)->contexts[k];
        for (i = 0; i < context->graph_count; ++i)
            if (strncmp(context->graphs[i].name, prefix, strlen(prefix)) == 0) *(k == 0 ? &from : &to) = &context->graphs[i];
    }
    CHECK(from != NULL && to != NULL);
    CHECK_EQ(from->output_count, 1);
    CHECK_STR(err.text, from->outputs[0].name);
    CHECK_STR(err.text, qnnrt_dtype_name(from->outputs[0].dtype));       /* float32 */
    for (i = 0; i < to->input_count && strcmp(to->inputs[i].name, from->outputs[0].name) != 0; ++i) {}
    CHECK(i < to->input_count);
    CHECK(to->inputs[i].dtype != from->outputs[0].dtype);
    CHECK_STR(err.text, qnnrt_dtype_name(to->inputs[i].dtype));          /* ufixed16 */
    CHECK_STR(err.text, "of step 0");
    CHECK_STR(err.text, "of step 1");
    CHECK_EQ(qnnrt_prepare(model, info->name, &run, &err), QNNRT_E_MISMATCH);
    CHECK(run == NULL);
    CHECK_STR(err.text, from->outputs[0].name);
}

TEST(mixed_shards)
{
    char folder[1024], path[1024], system_path[1024], name[300];
    const qnnrt_context_info *context;
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt_run *run;
    qnnrt *model;
    real_join(folder, test_arg(1), "llm/bad_mixed_shards");
    real_desc(&desc, path);
    desc.system_path = real_library(system_path, "libQnnSystem.so");
    desc.inspect = 1;
    REAL_OK(qnnrt_open(folder, &desc, &model, &err), &err);
    TRY(check_mixed(model, "prompt_ar32"));
    TRY(check_mixed(model, "token_ar1"));
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(real_seen.alive, 0);
    if (real_no_device() || real_library_release() < 2051) return;

    /* A failed wiring does not fail the open: its graphs can be called one by one. */
    desc.inspect = 0;
    REAL_OK(qnnrt_open(folder, &desc, &model, &err), &err);
    TRY(check_mixed(model, "prompt_ar32"));
    context = qnnrt_get_info(model)->contexts;
    snprintf(name, sizeof name, "0/%s", context->graphs[0].name);
    REAL_OK(qnnrt_prepare(model, name, &run, &err), &err);
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(real_seen.alive, 0);
}

/* Libraries of another kind. */
TEST(wrong_libraries)
{
    char folder[1024], htp[1024], system_path[1024];
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;
    real_join(folder, test_arg(1), "ctx/qairt2.47/mlp_u8");
    real_desc(&desc, htp);
    desc.backend_desc.path = real_library(system_path, "libQnnSystem.so");
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_E_LIBRARY);
    CHECK(model == NULL);
    printf("  %s\n", err.text);
    CHECK_STR(err.text, "libQnnSystem.so");
    CHECK_STR(err.text, "QnnInterface_getProviders");
    CHECK_EQ(real_seen.alive, 0);

    real_desc(&desc, htp);
    desc.system_path = htp;
    desc.inspect = 1;
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_E_LIBRARY);
    CHECK(model == NULL);
    printf("  %s\n", err.text);
    CHECK_STR(err.text, "libQnnHtp.so");
    CHECK_STR(err.text, "QnnSystemInterface_getProviders");
    CHECK_EQ(real_seen.alive, 0);
    if (real_no_device()) return;

    desc.inspect = 0;
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_E_LIBRARY);
    CHECK(model == NULL);
    CHECK_STR(err.text, "QnnSystemInterface_getProviders");
    CHECK_EQ(real_seen.alive, 0);
}

TEST(another_backends_binary)
{
    char folder[1024], cpu[1024], system_path[1024];
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;
    real_library(cpu, "libQnnCpu.so");
    if (!real_exists(cpu)) real_sibling(cpu, "2.47", "libQnnCpu.so");
    if (!real_exists(cpu)) SKIP("libQnnCpu.so of 2.47 is not there");
    real_join(folder, test_arg(1), "ctx/qairt2.47/mlp_u8");
    real_desc(&desc, system_path);
    desc.backend_desc.path = cpu;
    desc.system_path = real_library(system_path, "libQnnSystem.so");
    CHECK_EQ(qnnrt_open(folder, &desc, &model, &err), QNNRT_E_MISMATCH);
    CHECK(model == NULL);
    CHECK_EQ(err.vendor_code, 0);
    printf("  %s\n", err.text);
    CHECK_STR(err.text, "forward_0.bin");
    CHECK_STR(err.text, "compiled for backend 6");
    CHECK_STR(err.text, "libQnnCpu.so is backend 3");
    CHECK_EQ(real_seen.errors, 0);
    CHECK_EQ(real_seen.alive, 0);
}

/* ---- two releases in one process --------------------------------------------------------------- */

TEST(two_backends)
{
    static case_files files;
    const char *other = real_library_release() == 2051 ? "2.47" : "2.51";
    char folder[1024], path[2][1024];
    qnnrt_desc desc[2];
    qnnrt_error err;
    qnnrt *model[2];
    qnnrt_run *run[2];
    int i, k, t;
    real_desc(&desc[0], path[0]);
    real_desc(&desc[1], path[1]);
    desc[1].backend_desc.path = real_sibling(path[1], other, "libQnnHtp.so");
    if (!real_exists(path[1])) SKIP("no library of a second release lies beside");
    files_load(&files, real_join(folder, test_arg(1), "ctx/qairt2.47/mlp_u8"));
    for (i = 0; i < 2; ++i) {
        const qnnrt_backend_info *info;
        REAL_OK(qnnrt_open(folder, &desc[i], &model[i], &err), &err);
        info = qnnrt_backend_get_info(qnnrt_get_info(model[i])->backend);
        printf("  %s, core %u.%u\n", info->build_id, (unsigned)info->core_api.major, (unsigned)info->core_api.minor);
        CHECK_STR(info->path, i == 0 ? path[0] : path[1]);
        REAL_OK(qnnrt_prepare(model[i], NULL, &run[i], &err), &err);
    }
    CHECK(strcmp(qnnrt_backend_get_info(qnnrt_get_info(model[0])->backend)->build_id,
                 qnnrt_backend_get_info(qnnrt_get_info(model[1])->backend)->build_id) != 0);
    for (k = 0; k < 6; ++k) {
        i = k & 1;
        for (t = 0; t < files.count; ++t) {
            void *at = qnnrt_data(run[i], files.tensors[t].name, NULL);
            if (files.tensors[t].output) memset(at, k, files.tensors[t].bytes);
            else memcpy(at, files.tensors[t].data, files.tensors[t].bytes);
        }
        REAL_OK(qnnrt_exec(run[i]), qnnrt_run_error(run[i]));
        TRY(check_outputs(run[i], &files, i == 0 ? "this release" : other));
    }
    /* The first to open is closed first; the other one still runs. */
    qnnrt_run_destroy(run[0]);
    CHECK_EQ(qnnrt_close(model[0]), QNNRT_OK);
    REAL_OK(qnnrt_exec(run[1]), qnnrt_run_error(run[1]));
    TRY(check_outputs(run[1], &files, other));
    qnnrt_run_destroy(run[1]);
    CHECK_EQ(qnnrt_close(model[1]), QNNRT_OK);
    CHECK_EQ(real_seen.alive, 0);
    files_free(&files);
}

/* ---- again and again --------------------------------------------------------------------------- */

static long resident_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
    if (file != NULL) fclose(file);
    return kib;
}

TEST(fifty_opens)
{
    static case_files files;
    char folder[1024], path[1024];
    long after[51];
    int i;
    files_load(&files, real_join(folder, test_arg(1), "ctx/qairt2.47/mlp_u8"));
    for (i = 0; i < 50; ++i) {
        qnnrt_desc desc;
        qnnrt_error err;
        qnnrt *model;
        real_desc(&desc, path);
        REAL_OK(qnnrt_open(folder, &desc, &model, &err), &err);
        TRY(run_model(model, &files, OWN));
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        CHECK_EQ(real_seen.alive, 0);
        after[i] = resident_kib();
    }
    printf("  resident after open and close 1, 5, 10, 25, 50: %ld %ld %ld %ld %ld KiB\n", after[0], after[4], after[9],
           after[24], after[49]);
    /* 2.47 itself keeps some megabytes per cycle at first. ASan holds freed memory back. */
    if (!REAL_ASAN) CHECK(after[49] - after[9] < 64 * 1024);
    files_free(&files);
}

/* ---- damage, each case in a child of its own ---------------------------------------------------- */

typedef struct damage {
    char        folder[1024];          /* holds the damaged forward_0.bin */
    const unsigned char *data;         /* bytes of the same file */
    size_t      bytes, whole;
    case_files *files;                 /* inputs and outputs of the undamaged model */
} damage;

enum { SAME = 32, OTHER, NO_PREPARE, NO_EXEC, BAD_ERROR, REFUSED = 48 /* + the number of the result */ };

static int cut_child(void *data)
{
    const damage *d = (const damage *)data;
    unsigned char *pages, *at;
    size_t page = 4096, room = (d->bytes + page - 1) / page * page;
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt_file block;
    memset(&block, 0, sizeof(block));
    qnnrt *model = NULL;
    qnnrt_result result;
    char path[1024];
    int way, least;

    /* Place bytes so that they end where reading is not allowed. */
    pages = (unsigned char *)mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + room, page, PROT_NONE) != 0) return BAD_ERROR;
    at = pages + room - d->bytes;
    memcpy(at, d->data, d->bytes);

    for (way = 0; way < 3; ++way) {
        real_desc(&desc, path);
        desc.read = way == 1;
        if (way == 2) {
            block.path = "forward_0.bin";
            block.data = at;
            block.bytes = d->bytes;
            desc.files = &block;
            desc.file_count = 1;
        }
        result = qnnrt_open(way == 2 ? NULL : d->folder, &desc, &model, &err);
        printf("%u bytes, way %d: %s, %s\n", (unsigned)d->bytes, way, qnnrt_result_name(result), err.text);
        if (result != QNNRT_E_FORMAT || model != NULL || real_seen.alive != 0) return BAD_ERROR;
        if (strstr(err.text, "forward_0.bin") == NULL) return BAD_ERROR;
        /* The text says that the file is too small, or cut short, with both sizes. */
        least = d->bytes < 64;
        if (strstr(err.text, least ? "a context binary has at least" : "it was cut short") == NULL) return BAD_ERROR;
        snprintf(path, sizeof path, "%u bytes", (unsigned)d->bytes);
        if (!least) snprintf(path, sizeof path, "declares %u bytes, but the file has %u", (unsigned)d->whole, (unsigned)d->bytes);
        if (strstr(err.text, path) == NULL) return BAD_ERROR;
    }
    return REFUSED - QNNRT_E_FORMAT;
}

static int flip_child(void *data)
{
    const damage *d = (const damage *)data;
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt_run *run;
    qnnrt *model;
    qnnrt_result result;
    char path[1024];
    int t, same = 1;
    real_desc(&desc, path);
    result = qnnrt_open(d->folder, &desc, &model, &err);
    if (result != QNNRT_OK) {
        printf("%s: %s\n", qnnrt_result_name(result), err.text);
        return err.text[0] != '\0' && model == NULL && real_seen.alive == 0 ? REFUSED - result : BAD_ERROR;
    }
    if (qnnrt_prepare(model, NULL, &run, &err) != QNNRT_OK) { printf("%s\n", err.text); return NO_PREPARE; }
    for (t = 0; t < d->files->count; ++t) {
        const tensor_file *file = &d->files->tensors[t];
        size_t bytes;
        void *at = qnnrt_data(run, file->name, &bytes);
        if (at == NULL || bytes != file->bytes) return NO_PREPARE;     /* a name or a size was changed */
        if (!file->output) memcpy(at, file->data, bytes);
    }
    if (qnnrt_exec(run) != QNNRT_OK) { printf("%s\n", qnnrt_run_error(run)->text); return NO_EXEC; }
    for (t = 0; t < d->files->count; ++t) {
        const tensor_file *file = &d->files->tensors[t];
        if (file->output && memcmp(qnnrt_data(run, file->name, NULL), file->data, file->bytes) != 0) same = 0;
    }
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    return same ? SAME : OTHER;
}

/* True if a line " #0 0x5512 in qnnrt_open path:line" names a function of ours. The path of the
   program does not count. */
static int frame_is_ours(const char *line)
{
    const char *at = strstr(line, " 0x");
    at = at != NULL ? strchr(at + 1, ' ') : NULL;
    return at != NULL && strncmp(at, " in qnnrt", 9) == 0;
}

/* True if one of the first two frames of a sanitizer's report is ours. */
static int report_is_ours(const char *log)
{
    char *text = (char *)test_read_file(log, NULL), *line, *next;
    int ours = 0, frames = 0;
    for (line = text; line != NULL && frames < 2 && !ours; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) *next++ = '\0';
        /* Only our code is compiled with these checks. */
        if (strstr(line, "runtime error:") != NULL) ours = 1;
        if (strstr(line, "    #0 ") == NULL && strstr(line, "    #1 ") == NULL) continue;
        ++frames;
        if (frame_is_ours(line)) ours = 1;
    }
    free(text);
    return ours;
}

static void show(const char *log)
{
    char *text = (char *)test_read_file(log, NULL);
    printf("%.4000s\n", text != NULL ? text : "(nothing was printed)");
    free(text);
}

static void damage_begin(damage *d, case_files *files, unsigned char **whole)
{
    char folder[1024], path[1024];
    memset(d, 0, sizeof *d);
    real_join(folder, test_arg(1), "ctx/qairt2.47/mlp_u8");
    files_load(files, folder);
    *whole = (unsigned char *)test_read_file(real_join(path, folder, "forward_0.bin"), &d->whole);
    CHECK(*whole != NULL && d->whole > 4096);
    snprintf(d->folder, sizeof d->folder, "%s", test_tmpdir());
    d->files = files;
}

TEST(frames_are_ours_by_function_not_by_path)
{
    CHECK(frame_is_ours("    #0 0x55c1 in qnnrt__table_fill /src/qnnrt.h:7012:9"));
    CHECK(frame_is_ours("    #1 0x55c1 in qnnrt_open (/x/build/asan/real_ctx+0x1f)"));
    CHECK(!frame_is_ours("    #0 0x7f02 in free (/home/u/qnnrt/build/asan/real_ctx+0x1f)"));
    CHECK(!frame_is_ours("    #1 0x7f02  (/home/u/qnnrt/build/qnn/2.51/onnxruntime_qnn/libQnnHtp.so+0x9d)"));
    CHECK(!frame_is_ours("    #1 0x7f02  (/home/made in qnnrt/libQnnHtp.so+0x9d)"));
    CHECK(!frame_is_ours("    #0 malloc in qnnrt"));
}

TEST(cut_short)
{
    static case_files files;
    unsigned char *whole = NULL;
    size_t sizes[64];
    int count = 0, i;
    damage d;
    char bin[1024], log[1024];
    TRY(damage_begin(&d, &files, &whole));
    for (i = 0; i <= 8; ++i) sizes[count++] = (size_t)i;
    for (i = 12; i < 60; i += 4) sizes[count++] = (size_t)i;
    for (i = 63; i <= 65; ++i) sizes[count++] = (size_t)i;
    for (i = 128; i <= 2048; i *= 2) sizes[count++] = (size_t)i;
    for (i = 4095; i <= 4097; ++i) sizes[count++] = (size_t)i;
    for (i = 1; i < 4; ++i) sizes[count++] = d.whole * (size_t)i / 4;
    sizes[count++] = d.whole - 4096;
    sizes[count++] = d.whole - 64;
    sizes[count++] = d.whole - 1;
    real_join(bin, d.folder, "forward_0.bin");
    real_join(log, d.folder, "log.txt");
    for (i = 0; i < count; ++i) {
        int got;
        unlink(bin);
        d.data = whole;
        d.bytes = sizes[i];
        if (!test_write_file(bin, whole, sizes[i])) return;
        got = real_fork(cut_child, &d, 30, log);
        if (got != REFUSED - QNNRT_E_FORMAT) { printf("  cut to %u bytes: %d\n", (unsigned)sizes[i], got); show(log); }
        CHECK_EQ(got, REFUSED - QNNRT_E_FORMAT);
    }
    printf("  %d lengths, each mapped, read and from memory: refused with our reason\n", count);
    free(whole);
    files_free(&files);
}

/* Return the next number of a fixed sequence. */
static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void flip(size_t from, size_t to, int times, uint32_t seed)
{
    static case_files files;
    unsigned char *whole = NULL;
    int same = 0, other = 0, no_prepare = 0, no_exec = 0, crash = 0, hang = 0, reports = 0, i, k;
    int refused[16] = { 0 };
    damage d;
    char bin[1024], log[1024];
    TRY(damage_begin(&d, &files, &whole));
    if (to > d.whole) to = d.whole;
    real_join(bin, d.folder, "forward_0.bin");
    real_join(log, d.folder, "log.txt");
    for (i = 0; i < times; ++i) {
        size_t at = from + next_random(&seed) % (to - from);
        int got, ok = 1;
        whole[at] ^= 0xFF;
        unlink(bin);
        if (!test_write_file(bin, whole, d.whole)) return;
        whole[at] ^= 0xFF;
        got = real_fork(flip_child, &d, 30, log);
        if (got == SAME) ++same;
        else if (got == OTHER) ++other;
        else if (got == NO_PREPARE) ++no_prepare;
        else if (got == NO_EXEC) ++no_exec;
        else if (got == REAL_HANG) ++hang;
        else if (got > REAL_CRASH) { ++crash; printf("  byte %u: the library died of signal %d\n", (unsigned)at, got - REAL_CRASH); }
        else if (got > REFUSED && got < REFUSED + 16) ++refused[got - REFUSED];
        else if (REAL_ASAN && got == 1 && !report_is_ours(log)) ++reports;
        else ok = 0;
        if (!ok) { printf("  byte %u flipped: status %d\n", (unsigned)at, got); show(log); }
        CHECK(ok);
    }
    printf("  %d single bytes flipped in %u..%u: %d same result, %d other result, %d not prepared, %d not executed,"
           " %d vendor crashes, %d hangs, %d sanitizer reports in the vendor's code;", times, (unsigned)from, (unsigned)to,
           same, other, no_prepare, no_exec, crash, hang, reports);
    for (k = 1; k < 16; ++k) if (refused[k] > 0) printf(" %d %s", refused[k], qnnrt_result_name((qnnrt_result)-k));
    printf("\n");
    free(whole);
    files_free(&files);
}

TEST(flipped_head) { TRY(flip(0, 4096, 100, 1)); }
TEST(flipped_any)  { TRY(flip(0, SIZE_MAX, 100, 2)); }

/* With the SHA-256 of the file, as sha256sum prints it, no library gets a byte of a damaged one. */
TEST(flipped_with_a_hash)
{
    static const char hash[] = "b2b1c401ed4685957b7e3eeb23ad6fe9d89a9eb3657b41e7333e37b1666fd547";
    static case_files files;
    unsigned char *whole = NULL;
    char bin[1024], path[1024], text[512];
    uint32_t seed = 2;
    qnnrt_manifest_open_desc desc;
    qnnrt_error err;
    qnnrt_manifest *model;
    damage d;
    int i;
    TRY(damage_begin(&d, &files, &whole));
    real_join(bin, d.folder, "forward_0.bin");
    snprintf(text, sizeof text, "{\"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\":"
             " [{\"file\": \"forward_0.bin\", \"backend\": \"npu\", \"sha256\": \"%s\"}]}}", hash);
    if (!test_write_file(real_join(path, d.folder, "qnnrt.json"), text, strlen(text))) return;
    memset(&desc, 0, sizeof desc);
    real_desc(&desc.model, path);
    desc.model.inspect = 1;
    desc.sha256 = qnnrt_sha256_text;
    for (i = 0; i <= 100; ++i) {
        const size_t at = next_random(&seed) % d.whole;
        if (i < 100) whole[at] ^= 0xFF;
        unlink(bin);
        if (!test_write_file(bin, whole, d.whole)) return;
        if (i < 100) whole[at] ^= 0xFF;
        CHECK_EQ(qnnrt_manifest_open(d.folder, &desc, &model, &err), i < 100 ? QNNRT_E_MISMATCH : QNNRT_OK);
        if (i < 100) CHECK_STR(err.text, hash);
    }
    CHECK_EQ(qnnrt_manifest_close(model), QNNRT_OK);
    free(whole);
    files_free(&files);
}

/* ---- without a device --------------------------------------------------------------------------- */

TEST(no_device)
{
    char folder[1024], path[1024];
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;
    real_desc(&desc, path);
    CHECK_EQ(qnnrt_open(real_join(folder, test_arg(1), "ctx/qairt2.47/mlp_u8"), &desc, &model, &err), QNNRT_E_BACKEND);
    printf("  %s\n", err.text);
    CHECK(model == NULL);
    CHECK_STR(err.text, "libQnnHtp.so");
    CHECK_STR(err.text, "No Snapdragon SOC detected");
    CHECK(err.vendor_code != 0);
    CHECK_EQ(real_seen.alive, 0);
}

TEST_MAIN_ARGS("real_ctx", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    if (real_no_device()) {
        RUN(no_device);
        RUN(mixed_shards);
        RUN(wrong_libraries);
        return;
    }
    if (real_library_release() == 0) { printf("libQnnHtp.so does not open\n"); test_state.failed++; return; }
    RUN(frames_are_ours_by_function_not_by_path);
    RUN(cut_short);          /* children first: see real.h */
    RUN(flipped_head);
    RUN(flipped_any);
    RUN(flipped_with_a_hash);
    RUN(own_memory);
    RUN(bound_by_name);
    RUN(odd_addresses);
    RUN(read);
    RUN(guard);
    RUN(memory_blocks);
    RUN(shared_memory);
    RUN(chain_of_three);
    RUN(weight_shared);
    RUN(mixed_shards);
    RUN(wrong_libraries);
    RUN(another_backends_binary);
    RUN(two_backends);
    RUN(fifty_opens);
}
