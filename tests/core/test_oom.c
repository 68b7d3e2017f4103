/* test_oom.c - every allocation fails in turn: a clean QNNRT_E_MEMORY, no leak, no double free.

   A task is a function that uses the library from open to close and returns the result of the first
   call that failed. It runs with an allocator that refuses allocation 1, then 2, 3 ... (once, and
   again from there on) until it passes. The allocator returns memory that is full of 0xA5 and
   aligned to 16 only, keeps a list of live blocks, and checks for writes past a block when it is
   freed. */
#include "../../qnnrt.h"
#include "qnnrt_device.h"
#include "qnnrt_manifest.h"
#include "test.h"
#include "meta.h"
#include "heap.h"

/* ---- the model ------------------------------------------------------------------------------- */

#define H  "0408 2 8 4 s 0.5 -128"
#define M  "0416 2 8 16 s 0.25 -65535"
#define KV "0408 2 16 8 a 1 8 0.5 -128 0.25 -127 0.125 0 1 0 1 0 1 0 1 0 1 -5"
static const char *const shards[3] = {
    "FAKEQNN 1\n"
    "graph prefill_1_of_3\nvtcm 8\nspill 4096\nin tokens 1 0032 1 8 -\nin mask 2 " M "\nin k0_in 3 " KV "\nout hidden 4 " H "\nout cos 5 0232 2 8 2 -\n"
    "graph decode\nin tokens 11 0032 1 1 -\nin mask 12 " M "\nin x 13 0232 1 3 -\nout hidden 14 " H "\n",
    "FAKEQNN 1\n"
    "graph decode\nin hidden 11 " H "\nin mask 12 " M "\nin x 13 0232 1 4 -\nout h2 15 " H "\n"
    "graph prefill_2_of_3\nin hidden 1 " H "\nin cos 2 0232 2 8 2 -\nin mask 3 " M "\nout h2 5 " H "\n",
    "FAKEQNN 1\n"
    "graph prefill_3_of_3\nin h2_in 1 " H "\nin mask 2 " M "\nin cos 3 0232 2 8 2 -\nout logits 4 0232 2 8 5 -\n"
    "graph decode\nin h2 11 " H "\nin mask 12 " M "\nout logits 14 0232 2 1 5 -\n"
    "graph broken\nin a 11 " H "\nout b 14 0232 2 1 5 - dyn=0,1\n"
};

/* Everything that a program can have. */
#define PROGRAM \
    "{\"llm\": {}, \"program\": {\"version\": 1, \"backends\": [\"npu\"], \"contexts\": [{\"file\": \"first.bin\", \"backend\": \"npu\"}]," \
    " \"constants\": [{\"name\": \"c\", \"file\": \"table\", \"offset\": 4, \"dtype\": \"float32\", \"dims\": [4]}," \
    " {\"name\": \"d\", \"file\": \"first.bin\", \"dtype\": \"int8\", \"dims\": []}]," \
    " \"pipelines\": [{\"name\": \"main\", \"steps\": [{\"context\": 0, \"graph\": \"first\"}, {\"host\": \"copy\"," \
    " \"inputs\": [{\"name\": \"h\", \"dtype\": \"float16\", \"dims\": [4]}, {\"name\": \"t\", \"dtype\": \"float32\", \"dims\": [4]}]," \
    " \"outputs\": [{\"name\": \"q\", \"dtype\": \"ufixed8\", \"dims\": [4], \"scale\": 0.5, \"offset\": -3}]}]," \
    " \"edges\": [{\"from\": [0, \"y\"], \"to\": [1, \"h\"], \"convert\": \"values\"}], \"apart\": [[0, \"s\"]]," \
    " \"constants\": [{\"step\": 1, \"input\": \"t\", \"constant\": \"c\"}]," \
    " \"names\": {\"result\": {\"step\": 1, \"output\": \"q\"}, \"image\": {\"step\": 0, \"input\": \"x\"}}," \
    " \"buffers\": [{\"name\": \"state\", \"bytes\": 64, \"slots\": [{\"step\": 0, \"input\": \"s\", \"offset\": 16}]}]}]}}"

static const char *folder, *damaged, *unwired;

static void make_folders(void)
{
    char path[1200];
    size_t i;
    folder = test_tmpdir();
    damaged = test_tmpdir();
    unwired = test_tmpdir();
    for (i = 0; i < 3; ++i) {
        snprintf(path, sizeof(path), "%s/forward_%u.bin", folder, (unsigned)i);
        if (!test_write_file(path, shards[i], strlen(shards[i]))) return;
        snprintf(path, sizeof(path), "%s/forward_%u.bin", damaged, (unsigned)i);
        if (!test_write_file(path, shards[i], i == 1 ? 70 : strlen(shards[i]))) return;
        snprintf(path, sizeof(path), "%s/part%u.bin", unwired, (unsigned)i);
        if (!test_write_file(path, shards[i == 2 ? 0 : i], strlen(shards[i == 2 ? 0 : i]))) return;
    }
    snprintf(path, sizeof(path), "%s/foreign.bin", unwired);
    test_write_file(path, "\177ELF and so on, a file of another kind that is long enough to be looked at .........", 80);
}

static int read_files, guard_pages, keep_going;

static void options(qnnrt_desc *desc)
{
    memset(desc, 0, sizeof(*desc));
    desc->backend_desc.path = desc->system_path = TEST_FAKE_LIB;
    desc->backend_desc.hooks.alloc = heap_alloc;
    desc->backend_desc.hooks.free = heap_free;
    desc->backend_desc.hooks.alloc_user = &heap;
    desc->read = read_files;
    desc->keep_going = keep_going;
}

static const qnnrt_prepare_desc *prepared(void)
{
    static qnnrt_prepare_desc how;
    how.guard = guard_pages;
    return &how;
}

/* Copy the error of a run to the error of the task. */
static qnnrt_result from_run(qnnrt_result result, qnnrt_run *run, qnnrt_error *err)
{
    if (result != QNNRT_OK && err != NULL) *err = *qnnrt_run_error(run);
    return result;
}

/* ---- tasks ------------------------------------------------------------------------------------ */

static qnnrt_result short_way(qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    float logits[40];
    qnnrt_result result, closed;
    options(&desc);
    result = qnnrt_open(folder, &desc, &model, err);
    if (result == QNNRT_OK) result = qnnrt_prepare_with(model, "prefill", prepared(), &run, err);
    if (result == QNNRT_OK) result = from_run(qnnrt_exec(run), run, err);
    if (result == QNNRT_OK) result = from_run(qnnrt_read_f32(run, qnnrt_run_slot(run, "logits"), 0, logits, 40), run, err);
    qnnrt_run_destroy(run);
    closed = qnnrt_close(model);
    return result != QNNRT_OK ? result : closed;
}

/* Run two pipelines in one arena, with a buffer that both use. */
static qnnrt_result long_way(qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt *model = NULL;
    qnnrt_entry_desc entries[2];
    qnnrt_buffer_desc buffer;
    qnnrt_place_desc places[2];
    qnnrt_plan_desc plan_desc;
    qnnrt_mem_desc mem_desc;
    qnnrt_plan *plan = NULL;
    qnnrt_mem *mem = NULL;
    qnnrt_run *runs[2] = { NULL, NULL };
    float logits[40];
    size_t i;
    qnnrt_result result, closed;
    options(&desc);
    memset(entries, 0, sizeof(entries));
    memset(&buffer, 0, sizeof(buffer));
    memset(places, 0, sizeof(places));
    memset(&plan_desc, 0, sizeof(plan_desc));
    memset(&mem_desc, 0, sizeof(mem_desc));
    plan_desc.guard = guard_pages;
    result = qnnrt_open(folder, &desc, &model, err);
    for (i = 0; i < 2 && result == QNNRT_OK; ++i) {
        result = qnnrt_pipeline_find(model, i == 0 ? "prefill" : "decode", &entries[i].pipeline, err);
        entries[i].group = 1;
        places[i].entry = i;
        if (result == QNNRT_OK) result = qnnrt_slot_find(entries[i].pipeline, "mask", QNNRT_ROLE_INPUT, &places[i].slot, err);
    }
    buffer.name = "mask";
    buffer.bytes = 256;
    plan_desc.entries = entries;
    plan_desc.entry_count = 2;
    plan_desc.buffers = &buffer;
    plan_desc.buffer_count = 1;
    plan_desc.places = places;
    plan_desc.place_count = 2;
    if (result == QNNRT_OK) result = qnnrt_plan_create(&plan_desc, &plan, err);
    if (result == QNNRT_OK) result = qnnrt_mem_create(plan, &mem_desc, &mem, err);
    for (i = 0; i < 2 && result == QNNRT_OK; ++i) result = qnnrt_run_create(mem, i, &runs[i], err);
    for (i = 0; i < 2 && result == QNNRT_OK; ++i) {
        size_t bytes, k, zero = 0;
        const unsigned char *tokens = (const unsigned char *)qnnrt_data(runs[i], "tokens", &bytes);
        for (k = 0; k < bytes; ++k) zero += tokens[k] == 0;
        if (zero != bytes) ++heap.wrong;                       /* no byte 0xA5 of the allocator may be visible */
        result = from_run(qnnrt_exec(runs[i]), runs[i], err);
        if (result == QNNRT_OK) result = from_run(qnnrt_read_f32(runs[i], qnnrt_run_slot(runs[i], "logits"), 0, logits, i == 0 ? 40 : 5), runs[i], err);
    }
    qnnrt_run_destroy(runs[1]);
    qnnrt_run_destroy(runs[0]);
    qnnrt_mem_destroy(mem);
    qnnrt_plan_destroy(plan);
    closed = qnnrt_close(model);
    return result != QNNRT_OK ? result : closed;
}

static qnnrt_result made_pipeline(qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt_backend_desc backend_desc;
    qnnrt_backend *backend = NULL;
    qnnrt *models[2] = { NULL, NULL };
    qnnrt_step_desc steps[2];
    qnnrt_edge_desc edge;
    qnnrt_pipeline_desc made;
    qnnrt_pipeline *pipeline = NULL;
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan_desc;
    qnnrt_plan *plan = NULL;
    qnnrt_mem *mem = NULL;
    qnnrt_run *run = NULL;
    const qnnrt_slot *slot;
    size_t i;
    qnnrt_result result, closed;
    options(&desc);
    memset(&backend_desc, 0, sizeof(backend_desc));
    memset(steps, 0, sizeof(steps));
    memset(&edge, 0, sizeof(edge));
    memset(&made, 0, sizeof(made));
    memset(&entry, 0, sizeof(entry));
    memset(&plan_desc, 0, sizeof(plan_desc));
    backend_desc.path = TEST_FAKE_LIB;
    backend_desc.hooks = desc.backend_desc.hooks;
    memset(&desc.backend_desc.hooks, 0, sizeof(desc.backend_desc.hooks));
    desc.backend_desc.path = NULL;
    result = qnnrt_backend_open(&backend_desc, &backend, err);
    desc.backend = backend;
    for (i = 0; i < 2 && result == QNNRT_OK; ++i) {
        result = qnnrt_open(folder, &desc, &models[i], err);
        steps[i].model = models[i];
        steps[i].context = i;
        steps[i].graph = "decode";
    }
    edge.from = edge.to = "hidden";
    edge.to_step = 1;
    made.steps = steps;
    made.step_count = 2;
    made.edges = &edge;
    made.edge_count = 1;
    if (result == QNNRT_OK) result = qnnrt_pipeline_make(&made, &pipeline, err);
    if (result == QNNRT_OK) result = qnnrt_slot_find(pipeline, "1/x", QNNRT_ROLE_INPUT, &slot, err);
    entry.pipeline = pipeline;
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    if (result == QNNRT_OK) result = qnnrt_plan_create(&plan_desc, &plan, err);
    if (result == QNNRT_OK) result = qnnrt_mem_create(plan, NULL, &mem, err);
    if (result == QNNRT_OK) result = qnnrt_run_create(mem, 0, &run, err);
    if (result == QNNRT_OK) result = from_run(qnnrt_exec(run), run, err);
    qnnrt_run_destroy(run);
    qnnrt_mem_destroy(mem);
    qnnrt_plan_destroy(plan);
    qnnrt_pipeline_destroy(pipeline);
    qnnrt_close(models[0]);
    qnnrt_close(models[1]);
    closed = qnnrt_backend_close(backend);
    return result != QNNRT_OK ? result : closed;
}

static qnnrt_result memory_blocks(qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt_file files[3];
    memset(files, 0, sizeof(files));
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    size_t i;
    qnnrt_result result, closed;
    options(&desc);
    memset(files, 0, sizeof(files));
    for (i = 0; i < 3; ++i) {
        files[i].path = i == 1 ? "a name" : NULL;
        files[i].data = shards[i];
        files[i].bytes = strlen(shards[i]);
    }
    desc.files = files;
    desc.file_count = 3;
    result = qnnrt_open(NULL, &desc, &model, err);
    if (result == QNNRT_OK) result = qnnrt_prepare_with(model, "1/prefill_2_of_3", prepared(), &run, err);
    if (result == QNNRT_OK) result = from_run(qnnrt_exec(run), run, err);
    qnnrt_run_destroy(run);
    closed = qnnrt_close(model);
    return result != QNNRT_OK ? result : closed;
}

/* Dynamic dims and an optional input. */
static qnnrt_result dynamic_graph(qnnrt_error *err)
{
    static const char text[] =
        "FAKEQNN 1\n# a context binary has at least 64 bytes\nbackend 77\ngraph g\n"
        "in x 1 0232 2 4 2 - dyn=1,0\nin o 2 0232 1 1 - type=11\nout y 3 0232 2 4 2 - dyn=1,0\n";
    static const uint32_t dims[2] = { 3, 2 };
    qnnrt_desc desc;
    qnnrt_file file;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_result result, closed;
    memset(&file, 0, sizeof(file));
    options(&desc);
    file.data = text;
    file.bytes = strlen(text);
    desc.files = &file;
    desc.file_count = 1;
    result = qnnrt_open(NULL, &desc, &model, err);
    if (result == QNNRT_OK) result = qnnrt_prepare_with(model, NULL, prepared(), &run, err);
    if (result == QNNRT_OK)
        result = from_run(qnnrt_set_dims(run, qnnrt_run_slot(run, "x"), dims, 2), run, err);
    if (result == QNNRT_OK) result = from_run(qnnrt_omit(run, qnnrt_run_slot(run, "o")), run, err);
    if (result == QNNRT_OK) result = from_run(qnnrt_bind(run, "o", NULL, 0), run, err);
    if (result == QNNRT_OK) result = from_run(qnnrt_exec(run), run, err);
    qnnrt_run_destroy(run);
    closed = qnnrt_close(model);
    return result != QNNRT_OK ? result : closed;
}

/* Graphs so wide that every table needs its own block: no allocation is served from an existing
   one. In builds with AddressSanitizer, or with QNNRT__ASAN, every object has a block of its own,
   and graphs need not be wide. */
#if defined(__SANITIZE_ADDRESS__) || defined(QNNRT__ASAN)
enum { TENSORS = 12 };
#elif !defined(__has_feature)
enum { TENSORS = 900 };
#elif __has_feature(address_sanitizer)
enum { TENSORS = 12 };
#else
enum { TENSORS = 900 };
#endif
static char *wide[2];

static void make_wide(void)
{
    static const char *const facts[5] = { "0408 1 4 s 0.5 -3", "0408 5 1 1 1 1 4 s 0.5 -3", "0408 2 2 6 a 1 6 1 0 1 1 1 2 1 3 1 4 1 5", "0232 1 3 -",
                                          "0308 2 6 2 w 4 0 6 1 0 1 1 1 2 1 3 1 4 1 5" };
    size_t s, i, k;
    for (s = 0; s < 2; ++s) {
        size_t used = 0, room = (size_t)TENSORS * 3 * 128 + 256;
        wide[s] = (char *)malloc(room);
        if (wide[s] == NULL) abort();
        used += (size_t)snprintf(wide[s] + used, room - used, "FAKEQNN 1\ngraph g\n");
        for (k = 0; k < 2; ++k)
            for (i = 0; i < TENSORS; ++i)
                used += (size_t)snprintf(wide[s] + used, room - used, "%s t%u_%u %u %s\n", k == 0 ? "in" : "out", (unsigned)(s + k), (unsigned)i,
                                         (unsigned)i + 1, facts[(i * i) % 5]);
        /* One name in two slots: each slot gets an address of its own. */
        for (i = 0; i < TENSORS; ++i)
            used += (size_t)snprintf(wide[s] + used, room - used, "in an_input_of_both_%u %u 0408 1 %u -\n", (unsigned)i, 2000 + (unsigned)i,
                                     4 + (unsigned)s);
    }
}

static qnnrt_result wide_graphs(qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt_file files[2];
    memset(files, 0, sizeof(files));
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_pipeline *pipeline = NULL;
    qnnrt_step_desc steps[2];
    qnnrt_pipeline_desc made;
    size_t i;
    qnnrt_result result, closed;
    options(&desc);
    memset(files, 0, sizeof(files));
    memset(steps, 0, sizeof(steps));
    memset(&made, 0, sizeof(made));
    for (i = 0; i < 2; ++i) {
        files[i].data = wide[i];
        files[i].bytes = strlen(wide[i]);
    }
    desc.files = files;
    desc.file_count = 2;
    result = qnnrt_open(NULL, &desc, &model, err);
    for (i = 0; i < 2; ++i) {
        steps[i].model = model;
        steps[i].context = i;
        steps[i].graph = "g";
    }
    made.steps = steps;
    made.step_count = 2;
    if (result == QNNRT_OK) result = qnnrt_prepare_with(model, NULL, prepared(), &run, err);
    if (result == QNNRT_OK) result = from_run(qnnrt_exec(run), run, err);
    if (result == QNNRT_OK) result = qnnrt_pipeline_make(&made, &pipeline, err);
    qnnrt_run_destroy(run);
    qnnrt_pipeline_destroy(pipeline);
    closed = qnnrt_close(model);
    return result != QNNRT_OK ? result : closed;
}

/* Open a damaged shard with keep_going: the rest runs. */
static qnnrt_result what_is_left(qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_result result, closed;
    options(&desc);
    desc.keep_going = 1;
    result = qnnrt_open(damaged, &desc, &model, err);
    if (result == QNNRT_OK) {
        const qnnrt_info *info = qnnrt_get_info(model);
        if (info->contexts[1].failure == NULL || info->context_count != 3) ++heap.wrong;
        result = qnnrt_prepare_with(model, "2/decode", prepared(), &run, err);
    }
    if (result == QNNRT_OK) result = from_run(qnnrt_exec(run), run, err);
    qnnrt_run_destroy(run);
    closed = qnnrt_close(model);
    return result != QNNRT_OK ? result : closed;
}

/* Open files of any name, one of them foreign, and graphs that cannot be wired. */
static qnnrt_result not_wired(qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_result result, closed;
    options(&desc);
    result = qnnrt_open(unwired, &desc, &model, err);
    if (result == QNNRT_OK) {
        size_t i, failures = 0;
        for (i = 0; i < qnnrt_get_info(model)->pipeline_count; ++i)
            failures += qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[i])->failure != NULL;
        if (failures == 0) ++heap.wrong;
        result = qnnrt_prepare_with(model, "0/decode", prepared(), &run, err);
    }
    qnnrt_run_destroy(run);
    closed = qnnrt_close(model);
    return result != QNNRT_OK ? result : closed;
}

static qnnrt_result inspected(qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt *model = NULL;
    qnnrt_result result, closed;
    options(&desc);
    desc.backend_desc.path = NULL;
    desc.inspect = 1;
    result = qnnrt_open(folder, &desc, &model, err);
    closed = qnnrt_close(model);
    return result != QNNRT_OK ? result : closed;
}

/* ---- metadata as JSON ------------------------------------------------------------------------- */

static const char *with_json, *bundle;       /* the shards and their JSON; the same with genie_config.json */
static char *wide_json[2], *shard_json[3];

static char *json_of(const char *text)
{
    qnnrt_desc desc;
    qnnrt_file file;
    qnnrt *model = NULL;
    meta_text out;
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    memset(&out, 0, sizeof(out));
    file.data = text;
    file.bytes = strlen(text);
    desc.files = &file;
    desc.file_count = 1;
    desc.inspect = 1;
    desc.system_path = TEST_FAKE_LIB;
    if (qnnrt_open(NULL, &desc, &model, NULL) != QNNRT_OK) abort();
    meta_write(&out, qnnrt_get_info(model)->contexts, 0, NULL);
    qnnrt_close(model);
    return out.data;
}

static void make_json(void)
{
    static const char genie[] = "{\"dialog\":{\"ctx-bins\":[\"forward_0.bin\",\"forward_1.bin\",\"forward_2.bin\"]}}";
    char path[1200];
    size_t i, k;
    fake_begin("");
    if (with_json == NULL) {
        with_json = test_tmpdir();
        bundle = test_tmpdir();
        for (i = 0; i < 3; ++i) {
            shard_json[i] = json_of(shards[i]);
            for (k = 0; k < 2; ++k) {
                snprintf(path, sizeof(path), "%s/forward_%u.bin", k == 0 ? with_json : bundle, (unsigned)i);
                test_write_file(path, shards[i], strlen(shards[i]));
                snprintf(path, sizeof(path), "%s/forward_%u_json.json", k == 0 ? with_json : bundle, (unsigned)i);
                test_write_file(path, shard_json[i], strlen(shard_json[i]));
            }
        }
        snprintf(path, sizeof(path), "%s/genie_config.json", bundle);
        test_write_file(path, genie, strlen(genie));
    }
}

static qnnrt_metadata json_source;           /* the source of metadata */
static int            json_system;           /* 0: libQnnSystem.so is missing */
static const char    *json_folder;

/* Open, wire and run with JSON. */
static qnnrt_result run_with_json(qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_result result, closed;
    options(&desc);
    desc.metadata = json_source;
    if (!json_system) desc.system_path = NULL;
    result = qnnrt_open(json_folder, &desc, &model, err);
    if (result == QNNRT_OK && qnnrt_get_info(model)->contexts[0].from_json != (json_source != QNNRT_METADATA_SYSTEM)) ++heap.wrong;
    if (result == QNNRT_OK && qnnrt_get_info(model)->contexts[0].from_system != (json_source != QNNRT_METADATA_JSON && json_system)) ++heap.wrong;
    if (result == QNNRT_OK) result = qnnrt_prepare_with(model, "prefill", prepared(), &run, err);
    if (result == QNNRT_OK) result = from_run(qnnrt_exec(run), run, err);
    qnnrt_run_destroy(run);
    closed = qnnrt_close(model);
    return result != QNNRT_OK ? result : closed;
}

/* Open texts in memory, without a binary. */
static qnnrt_result look_at_json(qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt_file files[3];
    qnnrt *model = NULL;
    size_t i;
    qnnrt_result result, closed;
    options(&desc);
    memset(files, 0, sizeof(files));
    desc.backend_desc.path = desc.system_path = NULL;
    desc.inspect = 1;
    for (i = 0; i < 3; ++i) {
        files[i].json_path = i == 1 ? "a name" : NULL;
        files[i].json_data = shard_json[i];
        files[i].json_bytes = strlen(shard_json[i]);
    }
    desc.files = files;
    desc.file_count = 3;
    result = qnnrt_open(NULL, &desc, &model, err);
    closed = qnnrt_close(model);
    return result != QNNRT_OK ? result : closed;
}

/* Read tables that need blocks of their own, from JSON alone or from both sources. */
static qnnrt_result wide_json_graphs(qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt_file files[2];
    qnnrt *model = NULL;
    size_t i;
    qnnrt_result result, closed;
    options(&desc);
    memset(files, 0, sizeof(files));
    desc.metadata = json_source;
    for (i = 0; i < 2; ++i) {
        files[i].data = wide[i];
        files[i].bytes = strlen(wide[i]);
        files[i].json_data = wide_json[i];
        files[i].json_bytes = strlen(wide_json[i]);
    }
    desc.files = files;
    desc.file_count = 2;
    result = qnnrt_open(NULL, &desc, &model, err);
    closed = qnnrt_close(model);
    return result != QNNRT_OK ? result : closed;
}

#define EXHAUST(body) \
    do { \
        CHECK(exhaust(#body, body, 0, plain_knobs) > 3); \
        CHECK(exhaust(#body, body, 1, plain_knobs) > 3); \
    } while (0)

/* A wide task, in which most steps to the failing allocation are long. */
#define EXHAUST_WIDE(body) \
    do { \
        if (TENSORS < 100) EXHAUST(body); \
        else { \
            CHECK(exhaust_apart(#body, body, 0, plain_knobs) > 3); \
            CHECK(exhaust_apart(#body, body, 1, plain_knobs) > 3); \
        } \
    } while (0)

static const char *plain_knobs = "";

static void plainly(void) { plain_knobs = ""; read_files = guard_pages = keep_going = without_text = 0; }

static const char *with_program;

static qnnrt_result copy(void *user, const qnnrt_graph_info *step, const void *const *inputs, void *const *outputs, qnnrt_error *err)
{
    (void)user; (void)err;
    memcpy(outputs[0], inputs[1], (size_t)step->outputs[0].bytes);
    return QNNRT_OK;
}

/* Open a folder with a program, and run its pipeline. */
static qnnrt_result programmed(qnnrt_error *err)
{
    qnnrt_host_step function;
    qnnrt_manifest_open_desc desc;
    qnnrt_manifest *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_result result, closed;
    memset(&desc, 0, sizeof(desc));
    options(&desc.model);
    memset(&function, 0, sizeof(function));
    function.name = "copy";
    function.exec = copy;
    desc.host_functions = &function;
    desc.host_function_count = 1;
    result = qnnrt_manifest_open(with_program, &desc, &model, err);
    if (result == QNNRT_OK) result = qnnrt_manifest_prepare(model, NULL, prepared(), &run, err);
    if (result == QNNRT_OK) result = from_run(qnnrt_exec(run), run, err);
    qnnrt_run_destroy(run);
    closed = qnnrt_manifest_close(model);
    return result != QNNRT_OK ? result : closed;
}

static void make_program(void)
{
    static const char first[] = "FAKEQNN 1\n# a context binary has at least 64 bytes, and so has this one by this line\n"
                                "graph first\nin x 1 0232 1 4 -\nin s 2 0232 1 4 -\nout y 3 0232 1 4 -\n";
    char path[1200];
    plainly();
    with_program = test_tmpdir();
    snprintf(path, sizeof(path), "%s/first.bin", with_program);
    test_write_file(path, first, strlen(first));
    snprintf(path, sizeof(path), "%s/table", with_program);
    test_write_file(path, first, 20);
    snprintf(path, sizeof(path), "%s/qnnrt.json", with_program);
    test_write_file(path, PROGRAM, strlen(PROGRAM));
}

TEST(a_program_survives) { make_program(); EXHAUST(programmed); }
TEST(a_program_with_read_survives) { make_program(); read_files = 1; EXHAUST(programmed); }
TEST(a_program_without_a_place_for_the_text_survives) { make_program(); without_text = 1; EXHAUST(programmed); }
TEST(the_short_way_survives) { plainly(); EXHAUST(short_way); }
TEST(the_short_way_with_read_survives) { plainly(); read_files = 1; EXHAUST(short_way); }
TEST(the_short_way_with_keep_going_survives) { plainly(); keep_going = 1; EXHAUST(short_way); }
TEST(the_short_way_with_guard_survives) { plainly(); guard_pages = 1; EXHAUST(short_way); }
TEST(the_short_way_without_a_place_for_the_text_survives) { plainly(); without_text = 1; EXHAUST(short_way); }
TEST(two_pipelines_in_one_arena_survive) { plainly(); EXHAUST(long_way); }
TEST(two_pipelines_with_everything_survive) { plainly(); read_files = guard_pages = keep_going = 1; EXHAUST(long_way); }
TEST(a_made_pipeline_survives) { plainly(); EXHAUST(made_pipeline); }
TEST(memory_blocks_survive) { plainly(); EXHAUST(memory_blocks); }
TEST(a_dynamic_graph_survives) { plainly(); plain_knobs = "id=77,tensor=2,noverify=1,told=2"; EXHAUST(dynamic_graph); }
TEST(wide_graphs_survive)
{
    plainly();
    make_wide();
    EXHAUST_WIDE(wide_graphs);
    free(wide[0]);
    free(wide[1]);
}
TEST(a_damaged_shard_survives) { plainly(); EXHAUST(what_is_left); }
TEST(a_damaged_shard_without_text_survives) { plainly(); without_text = 1; EXHAUST(what_is_left); }
TEST(a_failed_wiring_survives) { plainly(); EXHAUST(not_wired); }
TEST(a_look_without_backend_survives) { plainly(); EXHAUST(inspected); }

static void json_begin(qnnrt_metadata source, int system, int use_bundle)
{
    plainly();
    make_json();
    json_source = source;
    json_system = system;
    if (!system) plain_knobs = "sysproviders=0";       /* a backend without a system interface */
    json_folder = use_bundle ? bundle : with_json;
}

TEST(json_alone_survives) { json_begin(QNNRT_METADATA_JSON, 1, 0); EXHAUST(run_with_json); }
TEST(json_alone_without_a_system_library_survives) { json_begin(QNNRT_METADATA_ALL, 0, 0); EXHAUST(run_with_json); }
TEST(both_sources_survive) { json_begin(QNNRT_METADATA_ALL, 1, 0); EXHAUST(run_with_json); }
TEST(both_sources_without_a_place_for_the_text_survive) { json_begin(QNNRT_METADATA_ALL, 1, 0); without_text = 1; EXHAUST(run_with_json); }
TEST(both_sources_with_keep_going_survive) { json_begin(QNNRT_METADATA_ALL, 1, 0); keep_going = 1; EXHAUST(run_with_json); }
TEST(a_bundle_survives) { json_begin(QNNRT_METADATA_ALL, 1, 1); EXHAUST(run_with_json); }
TEST(a_look_at_json_survives) { json_begin(QNNRT_METADATA_ALL, 1, 0); EXHAUST(look_at_json); }
TEST(wide_json_survives)
{
    size_t i;
    json_begin(QNNRT_METADATA_JSON, 1, 0);
    make_wide();
    for (i = 0; i < 2; ++i) wide_json[i] = json_of(wide[i]);
    EXHAUST_WIDE(wide_json_graphs);
    json_source = QNNRT_METADATA_ALL;
    EXHAUST_WIDE(wide_json_graphs);
    for (i = 0; i < 2; ++i) { free(wide[i]); free(wide_json[i]); }
}

/* Each source of metadata has its own code. */
TEST(old_metadata_survives)
{
    static const char *const knobs[] = { "info=1,ginfo=1", "info=2,ginfo=2,tensor=2", "info=3,ginfo=3,tensor=2", "devnosup=1", "null=systemContextGetMetaData",
                                         "sysapi=1.2" };
    size_t i;
    plainly();
    for (i = 0; i < sizeof(knobs) / sizeof(knobs[0]); ++i) {
        CHECK(exhaust(knobs[i], short_way, 0, knobs[i]) > 3);
        CHECK(exhaust(knobs[i], short_way, 1, knobs[i]) > 3);
    }
}

TEST_MAIN("oom")
{
    test_state.name = "main";
    make_folders();
    RUN(a_program_survives);
    RUN(a_program_with_read_survives);
    RUN(a_program_without_a_place_for_the_text_survives);
    RUN(the_short_way_survives);
    RUN(the_short_way_with_read_survives);
    RUN(the_short_way_with_keep_going_survives);
    RUN(the_short_way_with_guard_survives);
    RUN(the_short_way_without_a_place_for_the_text_survives);
    RUN(two_pipelines_in_one_arena_survive);
    RUN(two_pipelines_with_everything_survive);
    RUN(a_made_pipeline_survives);
    RUN(memory_blocks_survive);
    RUN(a_dynamic_graph_survives);
    RUN(wide_graphs_survive);
    RUN(a_damaged_shard_survives);
    RUN(a_damaged_shard_without_text_survives);
    RUN(a_failed_wiring_survives);
    RUN(a_look_without_backend_survives);
    RUN(json_alone_survives);
    RUN(json_alone_without_a_system_library_survives);
    RUN(both_sources_survive);
    RUN(both_sources_without_a_place_for_the_text_survive);
    RUN(both_sources_with_keep_going_survive);
    RUN(a_bundle_survives);
    RUN(a_look_at_json_survives);
    RUN(wide_json_survives);
    RUN(old_metadata_survives);
    for (test_state.name = "main"; shard_json[0] != NULL; shard_json[0] = NULL) {
        free(shard_json[0]);
        free(shard_json[1]);
        free(shard_json[2]);
    }
}
