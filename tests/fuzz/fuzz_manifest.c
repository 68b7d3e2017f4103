/* fuzz_manifest.c - hostile programs: the text of a qnnrt.json, through qnnrt_manifest_open() and qnnrt_open()

   An input is the text, followed by CONTROL bytes that choose limits, failing allocations and calls. The
   folder has two binaries and a file of constants. Whatever happens, there must be no crash, no leak, no
   handle left in the fake, an error text without control characters; and after success the pipelines keep
   the promises of the header, those that can run run, and the program that is written from them opens as
   the same pipelines: written again, it has the same bytes. A text that qnnrt_open() accepts has no program. */
#include "../../qnnrt.h"
#define FUZZ_NAME "fuzz_manifest"
#include "fuzz.h"
#include "meta.h"
#include "../../tools/qnnrt_manifest.h"
#include "../../tools/run/show/describe.c"
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef TEST_FAKE_LIB
#define TEST_FAKE_LIB "build/fake/libQnnFake.so"
#endif

enum { CONTROL = 8 };

#include "fuzz_model.h"

/* ---- the folder ------------------------------------------------------------------------------ */

#define PAD "# a context binary has at least 64 bytes, and so has this one by this line\n"
#define A "FAKEQNN 1\n" PAD "graph first\nin x 1 0232 2 1 4 -\nin s 4 0408 1 4 s 0.5 -3\nout y 2 0232 2 1 8 -\nout q 3 0408 1 4 s 0.5 -3\n" \
          "graph h\nin x 1 0216 2 1 4 -\nout y 2 0216 2 1 8 -\n"
#define B "FAKEQNN 1\n" PAD "backend 3\ngraph second\nin u 1 0232 2 1 8 -\nin m 3 0232 2 1 2 -\nin q 4 0408 1 4 s 0.5 -3\nout z 2 0232 2 1 3 -\n" \
          "out y 5 0232 2 1 8 -\n"

static char folder[256];
static void (*fake_stats)(uint64_t *);
static void (*fake_reset)(void);

static void put(const char *name, const void *data, size_t bytes)
{
    char path[300];
    FILE *file;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    MUST(file != NULL && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0);
}

static void remove_folder(void)
{
    static const char *const names[] = { "a.bin", "b.bin", "t", "qnnrt.json" };
    char path[300];
    size_t i;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void begin(void)
{
    static const unsigned char table[100] = { 0 };
    if (fake_stats == NULL) {
        void *library = dlopen(TEST_FAKE_LIB, RTLD_NOW | RTLD_LOCAL), *symbol;
        if (library == NULL) { fprintf(stderr, "%s\n", dlerror()); exit(2); }
        symbol = dlsym(library, "fake_qnn_stats");
        MUST(symbol != NULL);
        memcpy((void *)&fake_stats, (void *)&symbol, sizeof(symbol));
        symbol = dlsym(library, "fake_qnn_reset");
        MUST(symbol != NULL);
        memcpy((void *)&fake_reset, (void *)&symbol, sizeof(symbol));
        mkdir("build", 0777);
        mkdir("build/tmp", 0777);
        snprintf(folder, sizeof(folder), "build/tmp/fuzz-manifest-%ld", (long)getpid());
        MUST(mkdir(folder, 0777) == 0);
        atexit(remove_folder);
        put("a.bin", A, sizeof(A) - 1);
        put("b.bin", B, sizeof(B) - 1);
        put("t", table, sizeof(table));
    }
    setenv("QNNFAKE", "noverify=1", 1);
    fake_reset();
}

/* ---- promises -------------------------------------------------------------------------------- */

static void check_pipeline(const qnnrt_pipeline *p)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(p);
    qnnrt_error err;
    size_t i;
    MUST(info->name != NULL && info->name[0] != '\0' && info->step_count > 0 && info->failure == NULL);
    for (i = 0; i < info->step_count; ++i) MUST(info->steps[i].graph != NULL);
    for (i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *e = &info->edges[i];
        MUST(e->from_step < e->to_step && e->to_step < info->step_count && e->reason != NULL);
        MUST(e->from->dtype == e->to->dtype && e->from->bytes == e->to->bytes && e->from->rank == e->to->rank);
        MUST(qnnrt_quant_equal(&e->from->quant, &e->to->quant));
        MUST(e->slot >= info->slots && e->slot < info->slots + info->slot_count);
    }
    for (i = 0; i < info->slot_count && i < 50; ++i) {
        const qnnrt_slot *s = &info->slots[i];
        const qnnrt_slot *found = NULL;
        MUST(s->tensor != NULL && s->first <= s->last && s->last < info->step_count && s->address != NULL);
        (void)GOOD(qnnrt_slot_find(p, s->address, s->role, &found, fresh(&err)), found != NULL ? s : NULL, &err);
        MUST(found == s);
    }
}

/* Write a program again. */
static void write_program(const qnnrt_manifest *program, meta_text *out)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(program);
    qnnrt_manifest_context *contexts = (qnnrt_manifest_context *)calloc(info->context_count, sizeof(*contexts));
    described_pipeline *pipelines = (described_pipeline *)calloc(info->pipeline_count + 1, sizeof(*pipelines));
    qnnrt_manifest_pipeline *listed = (qnnrt_manifest_pipeline *)calloc(info->pipeline_count + 1, sizeof(*listed));
    qnnrt_manifest_desc desc;
    qnnrt_error err;
    size_t i;
    MUST(contexts != NULL && pipelines != NULL && listed != NULL);
    memset(&desc, 0, sizeof(desc));
    for (i = 0; i < info->context_count; ++i) {
        contexts[i] = info->contexts[i];
        contexts[i].fingerprint = info->contexts[i].info->fingerprint;
        contexts[i].sha256 = NULL;
    }
    for (i = 0; i < info->pipeline_count; ++i) {
        MUST(describe(info, info->pipelines[i], &pipelines[i]));
        listed[i] = pipelines[i].of;
    }
    desc.contexts = contexts;
    desc.context_count = info->context_count;
    desc.constants = info->constants;
    desc.constant_count = info->constant_count;
    desc.pipelines = listed;
    desc.pipeline_count = info->pipeline_count;
    MUST(qnnrt_manifest_write(&desc, meta_add, out, fresh(&err)) == QNNRT_OK);
    for (i = 0; i < info->pipeline_count; ++i) describe_free(&pipelines[i]);
    free(pipelines);
    free(listed);
    free(contexts);
}

/* Write the program, open that, and write it again. */
static void play_again(const qnnrt_manifest *program, const qnnrt_manifest_open_desc *given)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(program);
    qnnrt_manifest_open_desc desc = *given;
    qnnrt_limits none;
    qnnrt_error err;
    qnnrt_manifest *again = NULL;
    meta_text one, two;
    uint64_t fail_at = alloc_fail_at;
    size_t i;
    for (i = 0; i < info->context_count; ++i) if (info->contexts[i].failure != NULL) return;
    for (i = 0; i < info->pipeline_count; ++i) if (qnnrt_pipeline_get_info(info->pipelines[i])->failure != NULL) return;
    if (!info->program) return;
    memset(&one, 0, sizeof(one));
    memset(&two, 0, sizeof(two));
    memset(&none, 0, sizeof(none));
    alloc_fail_at = 0;
    desc.model.limits = none;
    desc.model.limits.rank = given->model.limits.rank;
    desc.model.limits.arena_bytes = given->model.limits.arena_bytes;
    write_program(program, &one);
    put("qnnrt.json", one.data, one.used);
    if (!GOOD(qnnrt_manifest_open(folder, &desc, &again, fresh(&err)), again, &err)) fprintf(stderr, "%s\n%s\n", err.text, one.data);
    MUST(again != NULL);
    write_program(again, &two);
    if (strcmp(one.data, two.data) != 0) fprintf(stderr, "%s\n%s\n", one.data, two.data);
    MUST(strcmp(one.data, two.data) == 0);
    MUST(qnnrt_manifest_close(again) == QNNRT_OK);
    meta_free(&one);
    meta_free(&two);
    alloc_fail_at = fail_at;
}

/* Fill the outputs with what the first input begins with. */
static qnnrt_result host(void *user, const qnnrt_graph_info *step, const void *const *inputs, void *const *outputs, qnnrt_error *err)
{
    size_t i;
    (void)user; (void)err;
    for (i = 0; i < step->output_count; ++i)
        memset(outputs[i], step->input_count > 0 ? *(const unsigned char *)inputs[0] & 0x3F : 1, (size_t)step->outputs[i].bytes);
    return QNNRT_OK;
}

static void play_program(qnnrt_manifest *program, int inspect)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(program);
    size_t i;
    for (i = 0; i < info->pipeline_count && i < 8; ++i) {
        const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(info->pipelines[i]);
        const qnnrt_pipeline *found = NULL;
        qnnrt_run *run = NULL;
        qnnrt_error err;
        if (p->failure != NULL) continue;
        check_pipeline(info->pipelines[i]);
        (void)GOOD(qnnrt_manifest_find(program, p->name, &found, fresh(&err)), found, &err);
        if (GOOD(qnnrt_manifest_prepare(program, p->name, NULL, &run, fresh(&err)), run, &err)) {
            MUST(!inspect);
            if (qnnrt_exec(run) != QNNRT_OK) text_clean(qnnrt_run_error(run)->text, 1);
        }
        qnnrt_run_destroy(run);
    }
}

static void play(const unsigned char *data, size_t size)
{
    uint64_t stats[16];
    qnnrt_manifest_role roles[2];
    qnnrt_host_step function;
    qnnrt_manifest_open_desc desc;
    qnnrt_manifest *program = NULL;
    qnnrt *model = NULL;
    qnnrt_error err;
    size_t text;
    if (size < CONTROL) return;
    memset(roles, 0, sizeof(roles));
    memset(&function, 0, sizeof(function));
    function.name = "f";
    function.exec = host;
    text = size - CONTROL;
    chance_begin(data + text, CONTROL);
    begin();
    put("qnnrt.json", data, text);
    memset(&desc, 0, sizeof(desc));
    roles[0].role = "npu";
    roles[1].role = "cpu";
    roles[0].desc.path = roles[1].desc.path = TEST_FAKE_LIB;
    desc.backends = roles;
    desc.backend_count = 2;
    desc.host_functions = &function;
    desc.host_function_count = 1;
    desc.model.inspect = control[0] & 1;
    desc.model.keep_going = control[0] >> 1 & 1;
    if (control[0] & 4) desc.model.backend_desc.hooks.log = hook_log;
    desc.model.read = (int)chance(2);
    desc.model.limits.rank = control[1] < 40 ? control[1] : 0;
    desc.model.limits.name_bytes = control[2] < 30 ? control[2] : 0;
    desc.model.limits.tensors = control[3] < 60 ? control[3] : 0;
    desc.model.limits.files = control[4] < 4 ? control[4] : 0;
    desc.model.limits.json_bytes = control[5] == 7 ? 300 : 0;
    desc.model.limits.arena_bytes = (uint64_t)1 << 24;
    desc.model.backend_desc.path = desc.model.system_path = TEST_FAKE_LIB;
    desc.model.backend_desc.hooks.alloc = hook_alloc;
    desc.model.backend_desc.hooks.free = hook_free;
    alloc_count = alloc_sum = 0;
    alloc_fail_at = control[7] >= 128 ? (uint64_t)(control[7] & 63) : 0;
    alloc_fail_on = control[7] >> 6 & 1;
    if (GOOD(qnnrt_manifest_open(folder, &desc, &program, fresh(&err)), program, &err)) {
        const int described = qnnrt_manifest_get_info(program)->program;
        play_program(program, desc.model.inspect);
        if (size % 4 == 0) play_again(program, &desc);
        put("qnnrt.json", data, text);
        if (GOOD(qnnrt_open(folder, &desc.model, &model, fresh(&err)), model, &err)) MUST(!described);
        else MUST(!described || err.code == QNNRT_E_UNSUPPORTED || err.code == QNNRT_E_MEMORY);
    }
    else MUST(alloc_sum <= (uint64_t)60 * text + 400000);
    MUST(qnnrt_close(model) == QNNRT_OK);
    MUST(qnnrt_manifest_close(program) == QNNRT_OK);
    fake_stats(stats);
    MUST(stats[0] + stats[1] + stats[2] + stats[3] + stats[4] + stats[10] == 0 && stats[7] == 0);
    MUST(alloc_live == 0 && alloc_bytes == 0);
}

FUZZ_TARGET
