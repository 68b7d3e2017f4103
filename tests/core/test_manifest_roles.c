/* test_manifest_roles.c - qnnrt_manifest_open() of a program on several backends

   The model is a chain of four shards on libQnnRef.so: shard i has one graph "step", which computes
   h<i+1> = h<i> * weights<i>, with h0 [1, 8] from the caller. Shards 0 and 2 have the role "npu",
   shards 1 and 3 "cpu". A copy of libQnnRef.so is another library, with rules, a ledger and a trace
   of its own. */
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "qnnrt_device.h"
#include "qnnrt_profile.h"
#include "ref.h"
#include "life.h"
#include "../../tools/qnnrt_manifest.h"
#include "backend.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SHARDS = 4, WIDTH = 8, PADDING = 512 };
#include "shards.h"

static char copy_path[1200];
static ref_api copy;

static const char *const roles[SHARDS] = { "npu", "cpu", "npu", "cpu" };

#define SAYS(words) CHECK_STR(TEST_TOLD(err), words)

/* ---- the two libraries ----------------------------------------------------------------------- */

static void *copy_symbol(const char *name)
{
    void *symbol = dlsym(copy.library, name);
    if (symbol == NULL) abort();
    return symbol;
}

static const char *copy_ask(const char *command)
{
    static char answer[65536];
    if (copy.control(command, answer, sizeof(answer)) < 0 && answer[0] == '\0') return "(no such command)";
    return answer;
}

static void copy_file(const char *from, const char *to)
{
    size_t bytes;
    void *data = test_read_file(from, &bytes);
    CHECK(data != NULL);
    test_write_file(to, data, bytes);
    free(data);
}

/* Begin with rules for the library of "npu" and for its copy, that of "cpu". */
static void begin(const char *npu, const char *cpu)
{
    char command[1024];
    void *symbol;
    if (copy.library == NULL) {
        copy_file(TEST_REF_LIB, copy_path);
        copy.library = dlopen(copy_path, RTLD_NOW | RTLD_LOCAL);
        if (copy.library == NULL) { printf("%s\n", dlerror()); abort(); }
        symbol = copy_symbol("QnnRef_control");
        memcpy((void *)&copy.control, (const void *)&symbol, sizeof(symbol));
    }
    snprintf(command, sizeof(command), "faults %s", cpu);
    if (copy.control(command, NULL, 0) < 0) abort();
    life_begin(npu);
}

/* Nothing is left of either library, of memory, descriptors and the lock. */
static void nothing_left(void)
{
    const char *ledger = copy_ask("ledger");
    if (ledger[0] != '\0') printf("the copy's ledger has: %.500s\n", ledger);
    CHECK(ledger[0] == '\0');
    NOTHING_LEFT();
}

/* Let the contexts of each role come and go. */
static qnnrt_result swap(qnnrt_manifest *program, uint64_t bytes)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(program);
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < info->model_count && result == QNNRT_OK; ++i)
        result = qnnrt_model_swap(info->models[i], bytes, &err);
    return result;
}

/* ---- the model ------------------------------------------------------------------------------- */

TEST(the_model_is_built_and_saved)
{
    begin("", "");
    shards_save(QNNRT_TENSOR_UPDATEABLE);
    nothing_left();
}

/* Options with a library for each role, and the program's text. */
typedef struct choice {
    qnnrt_manifest_open_desc desc;
    qnnrt_manifest_role      backends[2];
} choice;

static void write_program(const char *text)
{
    char path[1200];
    snprintf(path, sizeof(path), "%s/qnnrt.json", folder);
    test_write_file(path, text, strlen(text));
}

/* Write the program: the roles of the shards, and what follows the contexts. */
static void describe(const char *const *of, const char *rest)
{
    char text[2048];
    size_t used = 0;
    int i;
    used += (size_t)snprintf(text, sizeof(text), "{\"program\": {\"version\": 1, \"backends\": [\"%s\"%s%s%s], \"contexts\": [", of[0],
                             strcmp(of[0], of[1]) != 0 ? ", \"" : "", strcmp(of[0], of[1]) != 0 ? of[1] : "",
                             strcmp(of[0], of[1]) != 0 ? "\"" : "");
    for (i = 0; i < SHARDS; ++i)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s{\"file\": \"forward_%d.bin\", \"backend\": \"%s\"}",
                                 i > 0 ? ", " : "", i, of[i]);
    snprintf(text + used, sizeof(text) - used, "]%s}}", rest);
    write_program(text);
}

static void choose(choice *c)
{
    memset(c, 0, sizeof(*c));
    c->desc.backends = c->backends;
    c->desc.backend_count = 2;
    c->desc.model.backend_desc.hooks = life_hooks();
    c->backends[0].role = "npu";
    c->backends[0].desc.path = TEST_REF_LIB;
    c->backends[1].role = "cpu";
    c->backends[1].desc.path = copy_path;
}

static qnnrt_result opens(const choice *c, qnnrt_manifest **program)
{
    TEST_JUNK(err);
    return qnnrt_manifest_open(folder, &c->desc, program, &err);
}

#define OPENS(c, program)                                                                          \
    do {                                                                                           \
        if (opens(c, program) != QNNRT_OK) printf("%s\n", err.text);                               \
        CHECK_EQ(err.code, QNNRT_OK);                                                              \
    } while (0)

/* Open a program that must fail. */
static void fails(const choice *c, qnnrt_result code)
{
    qnnrt_manifest *program = (qnnrt_manifest *)&err;
    CHECK_EQ(opens(c, &program), code);
    CHECK(program == NULL);
    CHECK(life_text_clean(err.text) && life_text_clean(err.hint));
    CHECK_EQ(err.hint[0] != '\0', code != QNNRT_E_CANCELLED);
}

/* Return the facts about context i in its model. */
static const qnnrt_context_info *context_of(const qnnrt_manifest *program, int i)
{
    const qnnrt_manifest_context *context = &qnnrt_manifest_get_info(program)->contexts[i];
    return &qnnrt_get_info(context->model)->contexts[context->context];
}

/* Load, unload or update context i in its model. */
static qnnrt_result load(const qnnrt_manifest *program, int i)
{
    const qnnrt_manifest_context *context = &qnnrt_manifest_get_info(program)->contexts[i];
    return qnnrt_context_load(context->model, context->context, &err);
}

static qnnrt_result unload(const qnnrt_manifest *program, int i)
{
    const qnnrt_manifest_context *context = &qnnrt_manifest_get_info(program)->contexts[i];
    return qnnrt_context_unload(context->model, context->context, &err);
}

static qnnrt_result update(const qnnrt_manifest *program, int i, const float *values)
{
    const qnnrt_manifest_context *context = &qnnrt_manifest_get_info(program)->contexts[i];
    return qnnrt_update(context->model, context->context, "step", "weights", values, sizeof(weights[i]), &err);
}

static qnnrt_run *prepare_of(qnnrt_manifest *program, qnnrt_mem_kind kind)
{
    qnnrt_run *run = NULL;
    qnnrt_prepare_desc how;
    memset(&how, 0, sizeof(how));
    qnnrt_device_memory("memfd", &how.mem);
    how.mem.kind = kind;
    if (qnnrt_manifest_prepare(program, "step", &how, &run, &err) != QNNRT_OK) { printf("%s\n", err.text); return NULL; }
    if (qnnrt_write_f32(run, qnnrt_run_slot(run, "h0"), 0, start, WIDTH) == QNNRT_OK) return run;
    qnnrt_run_destroy(run);
    return NULL;
}

static qnnrt_run *prepare(qnnrt_manifest *program)
{
    return prepare_of(program, QNNRT_MEM_HEAP);
}

/* Execute, and compare the output. A failure stays in err. */
static qnnrt_result execute(qnnrt_run *run)
{
    float y[WIDTH], expected[WIDTH];
    qnnrt_result result = qnnrt_exec(run);
    int i;
    if (result == QNNRT_OK)
        result = qnnrt_read_f32(run, qnnrt_run_slot(run, "h4"), 0, y, WIDTH);
    if (result != QNNRT_OK) {
        err = *qnnrt_run_error(run);
        return result;
    }
    expect(expected);
    for (i = 0; i < WIDTH; ++i)
        if (!(fabs(y[i] - expected[i]) <= 1e-5 * (1 + fabs(expected[i])))) return QNNRT_E_MISMATCH;
    return QNNRT_OK;
}

/* ---- opening and closing --------------------------------------------------------------------- */

#define STEPS "{\"context\": 0, \"graph\": \"step\"}, {\"context\": 1, \"graph\": \"step\"}," \
    " {\"context\": 2, \"graph\": \"step\"}, {\"context\": 3, \"graph\": \"step\"}"

/* The pipeline is described, or joined by the name of the graphs. */
TEST(each_role_has_a_backend_and_a_model)
{
    choice c;
    const qnnrt_manifest_info *info;
    qnnrt_manifest *program;
    qnnrt_run *run, *run2;
    int i, joined;
    for (joined = 0; joined < 2; ++joined) {
        begin("", "");
        choose(&c);
        describe(roles, joined ? "" : ", \"pipelines\": [{\"name\": \"all\", \"steps\": [" STEPS "]}]");
        OPENS(&c, &program);
        info = qnnrt_manifest_get_info(program);
        CHECK_EQ(info->program, 1);
        CHECK_EQ(info->model_count, 2);
        CHECK_EQ(info->context_count, SHARDS);
        for (i = 0; i < SHARDS; ++i) {
            CHECK_EQ(strcmp(info->contexts[i].role, roles[i]), 0);
            CHECK_EQ(info->contexts[i].context, (size_t)i / 2);
            CHECK(info->contexts[i].model == info->models[i % 2]);
            CHECK_STR(qnnrt_backend_get_info(context_of(program, i)->backend)->path, i % 2 == 0 ? "libQnnRef.so" : "libQnnCopy.so");
            CHECK(context_of(program, i)->handle != NULL);
        }
        CHECK(info->backend == context_of(program, 0)->backend && info->backend != context_of(program, 1)->backend);
        CHECK_STR(info->system_path, "libQnnRef.so");
        CHECK_EQ(info->pipeline_count, 1);
        CHECK_EQ(strcmp(qnnrt_pipeline_get_info(info->pipelines[0])->name, joined ? "step" : "all"), 0);
        CHECK_EQ(qnnrt_manifest_prepare(program, "3/step", NULL, &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ(qnnrt_manifest_close(program), QNNRT_E_BUSY);
        /* What nobody used is gone, and what is left can be used until the program is closed again. */
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ(info->pipeline_count, 0);
        CHECK_EQ(qnnrt_manifest_prepare(program, "0/step", NULL, &run2, &err), QNNRT_OK);
        qnnrt_run_destroy(run2);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
        OPENS(&c, &program);
        CHECK_EQ(qnnrt_manifest_prepare(program, "4/step", NULL, &run, &err), QNNRT_E_NOT_FOUND);
        CHECK_EQ(qnnrt_manifest_prepare(program, "absent", NULL, &run, &err), QNNRT_E_NOT_FOUND);
        SAYS(joined ? "\"step\"" : "\"all\"");
        CHECK_EQ(qnnrt_manifest_prepare(program, NULL, NULL, &run, &err), QNNRT_OK);
        qnnrt_run_destroy(run);
        if (joined) {
            run = prepare(program);
            CHECK(run != NULL);
            CHECK_EQ(execute(run), QNNRT_OK);
            CHECK_EQ(execute(run), QNNRT_OK);
            qnnrt_run_destroy(run);
        }
        CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
        nothing_left();
    }
}

/* The program lists the roles in another order than its contexts have them. */
TEST(the_program_of_a_folder_gives_roles)
{
    choice c;
    const qnnrt_manifest_info *info;
    qnnrt_manifest *program;
    qnnrt_run *run;
    int i;
    begin("", "");
    choose(&c);
    write_program("{\"program\": {\"version\": 1, \"backends\": [\"cpu\", \"npu\"], \"contexts\": ["
                  "{\"file\": \"forward_0.bin\", \"backend\": \"npu\"}, {\"file\": \"forward_1.bin\", \"backend\": \"cpu\"},"
                  "{\"file\": \"forward_2.bin\", \"backend\": \"npu\"}, {\"file\": \"forward_3.bin\", \"backend\": \"cpu\"}]}}");
    OPENS(&c, &program);
    info = qnnrt_manifest_get_info(program);
    CHECK(info->models[0] == info->contexts[0].model && info->models[1] == info->contexts[1].model);
    for (i = 0; i < SHARDS; ++i) {
        CHECK_EQ(strcmp(info->contexts[i].role, roles[i]), 0);
        CHECK_STR(info->contexts[i].file, file_of(i) + strlen(folder) + 1);
        CHECK_STR(qnnrt_backend_get_info(context_of(program, i)->backend)->path, i % 2 == 0 ? "libQnnRef.so" : "libQnnCopy.so");
    }
    run = prepare(program);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    nothing_left();
}

TEST(the_first_role_takes_the_backend_of_the_options)
{
    choice c;
    qnnrt_backend *backend;
    qnnrt_manifest *program;
    int i;
    begin("", "");
    choose(&c);
    describe(roles, "");
    c.desc.backends = &c.backends[1];
    c.desc.backend_count = 1;
    c.desc.model.backend_desc.path = TEST_REF_LIB;
    OPENS(&c, &program);
    CHECK_STR(qnnrt_backend_get_info(context_of(program, 0)->backend)->path, "libQnnRef.so");
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_open(&c.desc.model.backend_desc, &backend, &err), QNNRT_OK);
    c.desc.model.backend = backend;
    c.desc.model.backend_desc.path = NULL;
    OPENS(&c, &program);
    CHECK(context_of(program, 0)->backend == backend);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    c.desc.backends = c.backends;
    c.desc.backend_count = 2;
    TRY(fails(&c, QNNRT_E_ARG));
    SAYS("desc.model.backend");
    /* One backend for two roles is opened once, and used twice. */
    choose(&c);
    c.backends[0].backend = c.backends[1].backend = backend;
    OPENS(&c, &program);
    CHECK(context_of(program, 1)->backend == backend);
    CHECK_EQ(strcmp(qnnrt_manifest_get_info(program)->contexts[1].role, "cpu"), 0);
    CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_OK);
    for (i = 0; i < SHARDS; ++i) CHECK_EQ(context_of(program, i)->creates, 2);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    nothing_left();
}

TEST(wrong_roles_are_named_errors)
{
    static const char *const gpu[SHARDS] = { "npu", "gpu", "npu", "gpu" };
    qnnrt_manifest *program;
    choice c;
    begin("", "");
    describe(roles, "");
    choose(&c);
    c.backends[1].role = "gpu";
    TRY(fails(&c, QNNRT_E_ARG));
    SAYS("\"gpu\"");
    SAYS("\"npu\", \"cpu\"");
    c.backends[1].role = "npu";
    CHECK_EQ(opens(&c, &program), QNNRT_E_ARG);
    SAYS("\"npu\" is there twice");
    c.backends[1].role = NULL;
    CHECK_EQ(opens(&c, &program), QNNRT_E_ARG);
    SAYS("desc.backends[1]");
    c.backends[1].role = "";
    CHECK_EQ(opens(&c, &program), QNNRT_E_ARG);
    SAYS("desc.backends[1]");
    choose(&c);
    c.desc.backends = NULL;
    CHECK_EQ(opens(&c, &program), QNNRT_E_ARG);
    SAYS("NULL with a count");
    /* A role that no library serves. */
    choose(&c);
    describe(gpu, "");
    c.desc.backend_count = 1;
    TRY(fails(&c, QNNRT_E_LIBRARY));
    SAYS("\"gpu\"");
    CHECK_STR(err.hint, "desc.backends");
    /* A library that cannot be opened. */
    choose(&c);
    describe(roles, "");
    c.backends[1].desc.path = "./no-such-library.so";
    TRY(fails(&c, QNNRT_E_LIBRARY));
    SAYS("\"cpu\"");
    SAYS("no-such-library.so");
    /* A folder without a program has no roles. */
    choose(&c);
    c.desc.model.no_manifest = 1;
    TRY(fails(&c, QNNRT_E_ARG));
    SAYS("no roles");
    c.desc.backend_count = 0;
    c.desc.model.backend_desc.path = TEST_REF_LIB;
    OPENS(&c, &program);
    CHECK_EQ(qnnrt_manifest_get_info(program)->program, 0);
    CHECK_EQ(strlen(qnnrt_manifest_get_info(program)->contexts[1].role), 0);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    nothing_left();
}

TEST(a_program_has_at_most_16_roles)
{
    char text[2048], path[1200];
    size_t used = 0;
    choice c;
    int i;
    begin("", "");
    choose(&c);
    c.desc.backend_count = 0;
    used = (size_t)snprintf(text, sizeof(text), "{\"program\": {\"version\": 1, \"backends\": [");
    for (i = 0; i < 17; ++i) used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"r%d\"", i > 0 ? ", " : "", i);
    used += (size_t)snprintf(text + used, sizeof(text) - used, "], \"contexts\": [");
    for (i = 0; i < 17; ++i) {
        snprintf(path, sizeof(path), "%s/copy_%d.bin", folder, i);
        TRY(copy_file(file_of(0), path));
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s{\"file\": \"copy_%d.bin\", \"backend\": \"r%d\"}", i > 0 ? ", " : "", i, i);
    }
    snprintf(text + used, sizeof(text) - used, "]}}");
    write_program(text);
    TRY(fails(&c, QNNRT_E_UNSUPPORTED));
    SAYS("16");
    for (i = 0; i < 17; ++i) {
        snprintf(path, sizeof(path), "%s/copy_%d.bin", folder, i);
        remove(path);
    }
    nothing_left();
}

/* Each call of both libraries that opening makes fails once. */
TEST(a_failure_at_any_step_leaves_nothing_open)
{
    static const char *const calls[] = {
        "backendCreate:1", "deviceCreate:1", "systemContextCreate:1", "systemContextCreate:2",
        "systemContextGetBinaryInfo:2", "contextCreateFromBinary:1", "contextCreateFromBinary:2",
        "graphRetrieve:1", "graphRetrieve:2" };
    size_t i;
    int side, keep;
    describe(roles, ", \"pipelines\": [{\"name\": \"all\", \"steps\": [" STEPS "]}]");
    for (i = 0; i < sizeof(calls) / sizeof(*calls); ++i)
        for (side = 0; side < 2; ++side)
            for (keep = 0; keep < 2; ++keep) {
                char rule[64];
                choice c;
                qnnrt_manifest *program;
                qnnrt_result result;
                snprintf(rule, sizeof(rule), "fail=%s:0x3ea", calls[i]);
                begin(side == 0 ? rule : "", side == 1 ? rule : "");
                choose(&c);
                c.desc.model.keep_going = keep;
                result = opens(&c, &program);
                if (!keep) {
                    CHECK(result != QNNRT_OK && program == NULL);
                    CHECK_STR(err.text, i < 2 ? roles[side] : "forward_");
                } else {
                    CHECK_EQ(result, QNNRT_OK);
                    CHECK_EQ(qnnrt_manifest_get_info(program)->pipeline_count, 0);
                    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
                }
                nothing_left();
            }
}

TEST(with_keep_going_a_role_may_fail)
{
    choice c;
    const qnnrt_manifest_info *info;
    qnnrt_manifest *program;
    qnnrt_run *run;
    int side, i;
    describe(roles, "");
    for (side = 0; side < 2; ++side) {
        begin("", "");
        choose(&c);
        c.desc.model.keep_going = 1;
        c.backends[side].desc.path = "./no-such-library.so";
        OPENS(&c, &program);
        info = qnnrt_manifest_get_info(program);
        CHECK_EQ(info->context_count, SHARDS);
        CHECK_EQ(info->model_count, 1);
        for (i = 0; i < SHARDS; ++i) {
            const qnnrt_manifest_context *context = &info->contexts[i];
            CHECK_EQ(strcmp(context->role, roles[i]), 0);
            CHECK_EQ(context->failure != NULL, i % 2 == side);
            CHECK_EQ(context->model != NULL, i % 2 != side);
            if (context->failure == NULL) continue;
            CHECK_EQ(context->failure->code, QNNRT_E_LIBRARY);
            CHECK_STR(context->failure->text, roles[i]);
            CHECK_STR(context->failure->text, "no-such-library.so");
            CHECK_EQ(context->info->graph_count, 0);
        }
        CHECK(info->backend == context_of(program, 1 - side)->backend);
        CHECK_EQ(qnnrt_manifest_prepare(program, side == 0 ? "1/step" : "2/step", NULL, &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_manifest_prepare(program, side == 0 ? "0/step" : "1/step", NULL, &run, &err), QNNRT_E_NOT_FOUND);
        CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
        nothing_left();
    }
    /* Without one that opens, there is no program. */
    begin("", "");
    choose(&c);
    c.desc.model.keep_going = 1;
    c.backends[0].desc.path = c.backends[1].desc.path = "./no-such-library.so";
    TRY(fails(&c, QNNRT_E_LIBRARY));
    SAYS("\"npu\"");
    nothing_left();
}

static void *other_alloc(void *user, size_t bytes) { return life_alloc(user, bytes); }

static void other_lock(void *user) { (void)user; }
static void other_unlock(void *user) { (void)user; }

TEST(hooks_that_differ_are_refused)
{
    choice c;
    qnnrt_backend *backend;
    qnnrt_manifest *program;
    qnnrt_run *run;
    const char *why;
    int lock;
    begin("", "");
    for (lock = 0; lock < 2; ++lock) {
        why = lock ? "one has a lock, the other has none" : "two allocators";
        choose(&c);
        c.backends[1].desc.hooks = life_hooks();
        if (lock) c.desc.model.backend_desc.hooks.lock = c.desc.model.backend_desc.hooks.unlock = NULL;
        else c.backends[1].desc.hooks.alloc = other_alloc;
        describe(roles, ", \"pipelines\": [{\"name\": \"all\", \"steps\": [" STEPS "]}]");
        TRY(fails(&c, QNNRT_E_MISMATCH));
        SAYS("\"all\"");
        SAYS("forward_1.bin");
        SAYS(why);
        /* A pipeline that names would join is left out. */
        describe(roles, "");
        life_watch.log[life_watch.log_used = 0] = '\0';
        OPENS(&c, &program);
        CHECK_STR(life_watch.log, "\"step\" is not wired");
        CHECK_STR(life_watch.log, why);
        CHECK_EQ(qnnrt_manifest_get_info(program)->pipeline_count, 0);
        CHECK_EQ(qnnrt_manifest_prepare(program, "step", NULL, &run, &err), QNNRT_E_NOT_FOUND);
        CHECK_EQ(qnnrt_manifest_prepare(program, "1/step", NULL, &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    }
    /* Each backend has a lock of its own, also when contexts take turns: those of one model do. */
    describe(roles, "");
    choose(&c);
    c.backends[1].desc.hooks = life_hooks();
    c.backends[1].desc.hooks.lock = other_lock;
    c.backends[1].desc.hooks.unlock = other_unlock;
    OPENS(&c, &program);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    c.desc.model.residency = QNNRT_RESIDENT_CALLER;
    OPENS(&c, &program);
    CHECK_EQ(swap(program, 0), QNNRT_OK);
    run = prepare(program);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    /* An open backend keeps its hooks, and the roles without any have those of the options. */
    choose(&c);
    c.backends[0].desc.hooks = life_hooks();
    CHECK_EQ(qnnrt_backend_open(&c.backends[0].desc, &backend, &err), QNNRT_OK);
    c.backends[0].backend = backend;
    OPENS(&c, &program);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    memset(&c.desc.model.backend_desc.hooks, 0, sizeof(c.desc.model.backend_desc.hooks));
    describe(roles, ", \"pipelines\": [{\"name\": \"all\", \"steps\": [" STEPS "]}]");
    TRY(fails(&c, QNNRT_E_MISMATCH));
    SAYS("two allocators");
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    nothing_left();
}

/* A lock of one backend, of two. */
static struct own_lock { int held, misused; unsigned count; } own_locks[2];

static void own_lock(void *user)
{
    struct own_lock *lock = (struct own_lock *)user;
    lock->misused |= own_locks[0].held || own_locks[1].held;
    lock->held = 1;
    ++lock->count;
}

static void own_unlock(void *user)
{
    struct own_lock *lock = (struct own_lock *)user;
    lock->misused |= !lock->held;
    lock->held = 0;
}

/* Return 1 if these locks were taken since the last call, and no lock within another. */
static int locks_taken(int npu, int cpu)
{
    int i, right = 1;
    for (i = 0; i < 2; ++i) {
        right &= (own_locks[i].count > 0) == (i == 0 ? npu : cpu);
        right &= !own_locks[i].held && !own_locks[i].misused;
        own_locks[i].count = 0;
    }
    return right;
}

TEST(each_call_takes_the_lock_of_its_backend)
{
    choice c;
    qnnrt_manifest *program;
    qnnrt_run *run, *shared;
    int i;
    begin("", "");
    choose(&c);
    describe(roles, "");
    memset(own_locks, 0, sizeof(own_locks));
    for (i = 0; i < 2; ++i) {
        c.backends[i].desc.hooks.lock = own_lock;
        c.backends[i].desc.hooks.unlock = own_unlock;
        c.backends[i].desc.hooks.lock_user = &own_locks[i];
    }
    c.desc.model.residency = QNNRT_RESIDENT_CALLER;
    OPENS(&c, &program);
    CHECK(locks_taken(1, 1));
    CHECK_EQ(load(program, 0), QNNRT_OK);
    CHECK(locks_taken(1, 0));
    CHECK_EQ(load(program, 1), QNNRT_OK);
    CHECK(locks_taken(0, 1));
    CHECK_EQ(update(program, 1, weights[1]), QNNRT_OK);
    CHECK(locks_taken(0, 1));
    CHECK_EQ(qnnrt_manifest_prepare(program, "1/step", NULL, &run, &err), QNNRT_OK);
    CHECK(locks_taken(0, 0));
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK(locks_taken(0, 1));
    qnnrt_run_destroy(run);
    CHECK_EQ(unload(program, 0), QNNRT_OK);
    CHECK(locks_taken(1, 0));
    for (i = 0; i < SHARDS; ++i) CHECK_EQ(load(program, i), QNNRT_OK);
    run = prepare(program);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK(locks_taken(1, 1));
    shared = prepare_of(program, QNNRT_MEM_PROVIDER);
    CHECK(shared != NULL);
    CHECK(locks_taken(1, 0));
    qnnrt_run_destroy(shared);        /* its tensors are taken back from the backend that has them */
    CHECK(locks_taken(1, 0));
    copy_ask("faults restart=graphExecute:1");
    CHECK_EQ(execute(run), QNNRT_E_BACKEND);
    CHECK(locks_taken(1, 1));
    CHECK_EQ(qnnrt_model_recover(qnnrt_manifest_get_info(program)->models[1], &err), QNNRT_OK);
    CHECK(locks_taken(0, 1));
    CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_OK);
    CHECK(locks_taken(1, 1));
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    CHECK(locks_taken(1, 1));
    nothing_left();
}

TEST(three_libraries_serve_one_program)
{
    static const char binary[] = "FAKEQNN 1\nbackend 6\nbuild v2.30\ncore 2 23 0\nbackendapi 5 30 0\n"
                                 "# a context binary has at least 64 bytes\n"
                                 "graph fwd\nin ids 1 0032 2 1 4 -\nout logits 2 0232 2 1 8 -\n";
    qnnrt_manifest_role three[3];
    char path[1200];
    choice c;
    const qnnrt_manifest_info *info;
    qnnrt_manifest *program;
    qnnrt_run *run;
    begin("", "");
    choose(&c);
    memcpy(three, c.backends, sizeof(c.backends));
    memset(&three[2], 0, sizeof(three[2]));
    three[2].role = "fake";
    three[2].desc.path = TEST_FAKE_LIB;
    c.desc.backends = three;
    c.desc.backend_count = 3;
    c.desc.model.system_path = TEST_FAKE_LIB;    /* not for those that read their own binaries */
    snprintf(path, sizeof(path), "%s/fake.bin", folder);
    test_write_file(path, binary, sizeof(binary) - 1);
    write_program("{\"program\": {\"version\": 1, \"backends\": [\"npu\", \"cpu\", \"fake\"], \"contexts\": ["
                  "{\"file\": \"forward_0.bin\", \"backend\": \"npu\"}, {\"file\": \"forward_1.bin\", \"backend\": \"cpu\"},"
                  "{\"file\": \"fake.bin\", \"backend\": \"fake\"}]}}");
    OPENS(&c, &program);
    info = qnnrt_manifest_get_info(program);
    CHECK_EQ(info->model_count, 3);
    CHECK_STR(qnnrt_backend_get_info(context_of(program, 2)->backend)->path, "libQnnFake.so");
    CHECK_EQ(context_of(program, 0)->graph_count, 1);
    CHECK_EQ(context_of(program, 2)->graph_count, 1);
    CHECK_EQ(qnnrt_manifest_prepare(program, "fwd", NULL, &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    c.desc.model.inspect = 1;
    OPENS(&c, &program);
    CHECK_EQ(context_of(program, 0)->graph_count, 1);
    CHECK_EQ(context_of(program, 2)->graph_count, 1);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    remove(path);
    nothing_left();
}

TEST(a_backend_of_a_role_is_shared_by_programs)
{
    choice c;
    qnnrt_manifest *one, *two;
    qnnrt_run *first, *second;
    begin("", "");
    choose(&c);
    describe(roles, "");
    OPENS(&c, &one);
    c.backends[1].backend = context_of(one, 1)->backend;
    OPENS(&c, &two);
    CHECK(context_of(one, 1)->backend == context_of(two, 3)->backend);
    CHECK(context_of(one, 0)->backend != context_of(two, 0)->backend);
    first = prepare(one);
    second = prepare(two);
    CHECK(first != NULL && second != NULL);
    CHECK_EQ(execute(first), QNNRT_OK);
    CHECK_EQ(execute(second), QNNRT_OK);
    qnnrt_run_destroy(first);
    CHECK_EQ(qnnrt_manifest_close(one), QNNRT_E_BUSY);
    CHECK_EQ(execute(second), QNNRT_OK);
    qnnrt_run_destroy(second);
    CHECK_EQ(qnnrt_manifest_close(two), QNNRT_OK);
    CHECK_EQ(qnnrt_manifest_close(one), QNNRT_OK);
    nothing_left();
}

TEST(inspecting_opens_no_backend)
{
    choice c;
    const qnnrt_manifest_info *info;
    qnnrt_manifest *program;
    qnnrt_run *run;
    int i;
    begin("fail=backendCreate:0x3e8", "fail=backendCreate:0x3e8");
    choose(&c);
    describe(roles, "");
    c.desc.model.inspect = 1;
    OPENS(&c, &program);
    info = qnnrt_manifest_get_info(program);
    CHECK(info->backend == NULL);
    CHECK_EQ(info->pipeline_count, 1);
    for (i = 0; i < SHARDS; ++i) {
        CHECK(context_of(program, i)->backend == NULL);
        CHECK_EQ(strcmp(info->contexts[i].role, roles[i]), 0);
        CHECK_EQ(context_of(program, i)->graph_count, 1);
        CHECK_EQ(context_of(program, i)->from_system, 1);
    }
    CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_manifest_prepare(program, NULL, NULL, &run, &err), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    c.backends[1].backend = (qnnrt_backend *)&c;
    CHECK_EQ(opens(&c, &program), QNNRT_E_ARG);
    SAYS("inspect");
    nothing_left();
}

/* What progress was told: "0/4 forward_0.bin" and so on. */
static char told[512];
static int  told_most;

static int tell(void *user, size_t done, size_t count, const char *file)
{
    const size_t used = strlen(told);
    (void)user;
    snprintf(told + used, sizeof(told) - used, "%u/%u %s;", (unsigned)done, (unsigned)count, file);
    return --told_most > 0;
}

TEST(progress_counts_the_files_of_all_models)
{
    choice c;
    qnnrt_manifest *program;
    begin("", "");
    choose(&c);
    describe(roles, "");
    c.desc.model.progress = tell;
    told[0] = '\0';
    told_most = 100;
    OPENS(&c, &program);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    CHECK_EQ(strcmp(told, "0/4 forward_0.bin;1/4 forward_2.bin;2/4 forward_1.bin;3/4 forward_3.bin;4/4 ;"), 0);
    for (told_most = 1; told_most <= 5; ++told_most) {
        const int most = told_most;
        c.desc.model.keep_going = most % 2;
        TRY(fails(&c, QNNRT_E_CANCELLED));
        told_most = most;
    }
    nothing_left();
}

/* libQnnSystem.so, here the fake, cannot read binaries of libQnnRef.so. */
TEST(libraries_of_several_makers_share_a_folder)
{
    const char *dir = test_tmpdir();
    char reference[1200], other[1200], path[1200];
    choice c;
    const qnnrt_manifest_info *info;
    qnnrt_manifest *program;
    int inspect;
    begin("", "");
    choose(&c);
    describe(roles, "");
    snprintf(reference, sizeof(reference), "%s/libQnnRef.so", dir);
    snprintf(other, sizeof(other), "%s/libQnnOther.so", dir);
    snprintf(path, sizeof(path), "%s/libQnnSystem.so", dir);
    TRY(copy_file(TEST_REF_LIB, reference));
    TRY(copy_file(TEST_REF_LIB, other));
    TRY(copy_file(TEST_FAKE_LIB, path));
    c.backends[0].desc.path = other;
    c.backends[1].desc.path = reference;
    for (inspect = 0; inspect < 2; ++inspect) {
        c.desc.model.inspect = inspect;
        OPENS(&c, &program);
        info = qnnrt_manifest_get_info(program);
        CHECK_EQ(context_of(program, 0)->graph_count, 1);
        CHECK_EQ(context_of(program, 1)->graph_count, 1);
        CHECK_STR(info->system_path, "libQnnOther.so");
        CHECK_STR(qnnrt_get_info(info->models[1])->system_path, "libQnnRef.so");
        CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    }
    /* Where no library is named for a role, the one of the options reads what is inspected. */
    c.desc.backend_count = 0;
    c.desc.model.system_path = copy_path;
    OPENS(&c, &program);
    info = qnnrt_manifest_get_info(program);
    CHECK_STR(info->system_path, "libQnnCopy.so");
    CHECK_STR(qnnrt_get_info(info->models[1])->system_path, "libQnnCopy.so");
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    nothing_left();
}

TEST(memory_of_both_is_shared_with_one)
{
    choice c;
    const qnnrt_transfer_info *list;
    qnnrt_manifest *program;
    qnnrt_run *run;
    size_t count, i, registered = 0;
    begin("", "");
    choose(&c);
    describe(roles, "");
    OPENS(&c, &program);
    run = prepare_of(program, QNNRT_MEM_PROVIDER);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_transfers(run, &list, &count), QNNRT_OK);
    for (i = 0; i < count; ++i) {
        registered += list[i].registered != 0;
        CHECK(!list[i].registered || list[i].step % 2 == 0);
        CHECK(list[i].registered || list[i].reason[0] != '\0');
    }
    CHECK(registered > 0);
    CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    nothing_left();
}

/* ---- residency ------------------------------------------------------------------------------- */

/* Which contexts exist, and how many bytes they may have, is decided for each role alone. */
TEST(contexts_of_each_backend_take_turns)
{
    static const struct { int shards[2]; unsigned creates[2]; } cases[] = {
        { { 0, 0 }, { 6, 6 } },         /* one at a time: both, three times each */
        { { 3, 3 }, { 6, 6 } },         /* the largest fits, and no two */
        { { 0, 2 }, { 2, 6 } },         /* all of "npu" fit */
        { { 1, 3 }, { 2, 2 } } };       /* all of each fit, but not all of both */
    choice c;
    const qnnrt_manifest_info *info;
    qnnrt_manifest *program;
    qnnrt_run *run;
    size_t at;
    int i;
    describe(roles, "");
    for (at = 0; at < sizeof(cases) / sizeof(*cases); ++at) {
        const int low = cases[at].shards[0], high = cases[at].shards[1];
        const uint64_t bytes = at == 0 ? 0 : low == high ? sizes[low] : sizes[low] + sizes[high];
        begin("", "");
        choose(&c);
        c.desc.model.residency = QNNRT_RESIDENT_CALLER;
        OPENS(&c, &program);
        CHECK_EQ(swap(program, bytes), QNNRT_OK);
        info = qnnrt_manifest_get_info(program);
        for (i = 0; i < 2; ++i) CHECK_EQ(qnnrt_get_info(info->models[i])->device_bytes, 0);
        run = prepare(program);
        CHECK(run != NULL);
        for (i = 0; i < 3; ++i) {
            if (execute(run) != QNNRT_OK) printf("%s\n", err.text);
            CHECK_EQ(err.code, QNNRT_OK);
        }
        for (i = 0; i < 2; ++i) {
            const uint64_t peak = qnnrt_get_info(info->models[i])->device_peak;
            CHECK_EQ(context_of(program, i)->creates + context_of(program, i + 2)->creates, cases[at].creates[i]);
            CHECK_EQ(peak, cases[at].creates[i] == 2 ? sizes[i] + sizes[i + 2] : sizes[i + 2]);
            if (at > 0) CHECK(peak <= bytes);
        }
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
        nothing_left();
    }
}

static unsigned count_of(const char *text, const char *words)
{
    unsigned count = 0;
    for (text = strstr(text, words); text != NULL; text = strstr(text + 1, words)) ++count;
    return count;
}

TEST(spill_fill_memory_is_shared_on_each_backend)
{
    choice c;
    qnnrt_manifest *program;
    char number[32];
    int both, i;
    describe(roles, "");
    for (both = 0; both < 2; ++both) {
        begin("id=6; spill_fill=4096", both ? "id=6; spill_fill=8192" : "");
        choose(&c);
        c.desc.model.residency = QNNRT_RESIDENT_CALLER;
        ref_ask("trace clear");
        ref_ask("trace on");
        copy_ask("trace clear");
        copy_ask("trace on");
        OPENS(&c, &program);
        for (i = 0; i < 2; ++i)
            CHECK_EQ(qnnrt_model_load_shared(qnnrt_manifest_get_info(program)->models[i], &err), QNNRT_OK);
        CHECK_EQ(count_of(ref_ask("trace"), "group of NULL"), 1);
        CHECK_EQ(count_of(ref_ask("trace"), "with 4096 bytes) -> 0x0"), 2);
        CHECK_EQ(count_of(copy_ask("trace"), "group of NULL"), both ? 1 : 0);
        CHECK_EQ(count_of(copy_ask("trace"), "with 8192 bytes) -> 0x0"), both ? 2 : 0);
        ref_ask("trace off");
        copy_ask("trace off");
        CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
        nothing_left();
    }
    /* Only what is on an NPU counts for the warning. */
    begin("id=6; spill_fill=2000000000", "");
    choose(&c);
    OPENS(&c, &program);
    snprintf(number, sizeof(number), "need about %llu bytes",
             (unsigned long long)(sizes[0] + sizes[2] + UINT64_C(4000000000)));
    CHECK_STR(life_watch.log, number);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    begin("id=6; spill_fill=1700000000", "");
    OPENS(&c, &program);
    CHECK(strstr(life_watch.log, "need about") == NULL);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    nothing_left();
}

/* Each model numbers its contexts from 0. */
TEST(loading_is_profiled_on_both)
{
    choice c;
    const qnnrt_profile_event *events;
    qnnrt_profile *loading;
    qnnrt_manifest *program;
    size_t count, i, seen[2][SHARDS] = { { 0 } };
    int joined;
    describe(roles, "");
    for (joined = 0; joined < 2; ++joined) {
        begin("", "");
        choose(&c);
        if (joined) {                    /* the same files as one model, to compare with */
            c.desc.backend_count = 0;
            c.desc.model.no_manifest = 1;
            c.desc.model.backend_desc.path = TEST_REF_LIB;
        }
        CHECK_EQ(qnnrt_profile_create(QNNRT_PROFILE_BASIC, NULL, &loading, NULL), QNNRT_OK);
        c.desc.model.context_hooks = qnnrt_profile_hook(loading);
        OPENS(&c, &program);
        qnnrt_profile_events(loading, &events, &count);
        for (i = 0; i < count; ++i) {
            CHECK(events[i].step < SHARDS);
            ++seen[joined][events[i].step];
        }
        CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
        qnnrt_profile_destroy(loading);
        nothing_left();
    }
    for (i = 0; i < SHARDS; ++i) CHECK(seen[1][i] > 0);
    for (i = 0; i < 2; ++i) CHECK_EQ(seen[0][i], seen[1][2 * i] + seen[1][2 * i + 1]);
    for (i = 2; i < SHARDS; ++i) CHECK_EQ(seen[0][i], 0);
}

TEST(the_caller_loads_and_unloads_on_both)
{
    choice c;
    qnnrt_manifest *program;
    qnnrt_run *run;
    int i;
    begin("", "");
    choose(&c);
    describe(roles, "");
    c.desc.model.residency = QNNRT_RESIDENT_CALLER;
    OPENS(&c, &program);
    run = prepare(program);
    CHECK(run != NULL);
    for (i = 0; i < SHARDS; ++i) {
        CHECK_EQ(execute(run), QNNRT_E_STATE);
        SAYS(file_of(i) + strlen(folder) + 1);
        CHECK_EQ(load(program, i), QNNRT_OK);
    }
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(unload(program, 1), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_E_STATE);
    CHECK_EQ(load(program, 1), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    nothing_left();
}

TEST(weights_are_updated_where_their_context_is)
{
    float kept[WIDTH * WIDTH];
    choice c;
    qnnrt_manifest *program;
    qnnrt_run *run;
    int i, k;
    begin("", "");
    choose(&c);
    describe(roles, "");
    OPENS(&c, &program);
    run = prepare(program);
    CHECK(run != NULL);
    for (i = 0; i < 2; ++i) {
        memcpy(kept, weights[i], sizeof(kept));
        for (k = 0; k < WIDTH * WIDTH; ++k) weights[i][k] = kept[k] + 0.25f;
        CHECK_EQ(execute(run), QNNRT_E_MISMATCH);
        CHECK_EQ(update(program, i, weights[i]), QNNRT_OK);
        CHECK_EQ(execute(run), QNNRT_OK);
        memcpy(weights[i], kept, sizeof(kept));
        CHECK_EQ(update(program, i, kept), QNNRT_OK);
    }
    copy_ask("faults fail=tensorUpdateGraphTensors:0x1770");
    CHECK_EQ(update(program, 1, kept), QNNRT_E_BACKEND);
    SAYS("forward_1.bin");
    CHECK_EQ(update(program, 0, weights[0]), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    nothing_left();
}

/* ---- recovery -------------------------------------------------------------------------------- */

/* One model is recovered alone; a program's backends once each, whichever of them restarted. */
TEST(the_backend_that_restarted_is_recovered)
{
    /* 0: all contexts exist; 1: one at a time; 2: as many as fit; 3: the caller loads them */
    choice c;
    qnnrt_manifest *program;
    qnnrt_run *run;
    int side, kind, i;
    describe(roles, "");
    for (side = 0; side < 2; ++side)
        for (kind = 0; kind < 4; ++kind) {
            const char *rule = "restart=graphExecute:2";
            begin(side == 0 ? rule : "", side == 1 ? rule : "");
            choose(&c);
            c.desc.model.residency = kind == 0 ? QNNRT_RESIDENT_ALL : QNNRT_RESIDENT_CALLER;
            OPENS(&c, &program);
            if (kind == 1 || kind == 2) CHECK_EQ(swap(program, kind == 1 ? 0 : sizes[2] + sizes[3]), QNNRT_OK);
            for (i = 0; i < SHARDS && kind == 3; ++i) CHECK_EQ(load(program, i), QNNRT_OK);
            run = prepare(program);
            CHECK(run != NULL);
            CHECK_EQ(execute(run), QNNRT_E_BACKEND);
            CHECK_EQ(err.vendor_code, 1011);
            SAYS(file_of(side + 2) + strlen(folder) + 1);
            CHECK_EQ(qnnrt_model_recover(qnnrt_manifest_get_info(program)->models[side], &err), QNNRT_OK);
            for (i = 0; i < SHARDS && (kind == 0 || kind == 3); ++i)
                CHECK_EQ(context_of(program, i)->creates, i % 2 == side ? 2 : 1);
            if (execute(run) != QNNRT_OK) printf("%s\n", err.text);
            CHECK_EQ(err.code, QNNRT_OK);
            CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_OK);
            for (i = 0; i < SHARDS && (kind == 0 || kind == 3); ++i)
                CHECK_EQ(context_of(program, i)->creates, i % 2 == side ? 3 : 2);
            CHECK_EQ(execute(run), QNNRT_OK);
            qnnrt_run_destroy(run);
            CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
            nothing_left();
        }
}

TEST(a_recovery_reaches_all_models)
{
    choice c;
    qnnrt_manifest *program;
    qnnrt_run *run;
    int side, i;
    describe(roles, "");
    for (side = 0; side < 2; ++side) {
        const char *rule = "restart=graphExecute:2";
        begin(side == 0 ? rule : "", side == 1 ? rule : "");
        choose(&c);
        OPENS(&c, &program);
        run = prepare(program);
        CHECK(run != NULL);
        CHECK_EQ(execute(run), QNNRT_E_BACKEND);
        CHECK_EQ(err.vendor_code, 1011);
        CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_OK);
        for (i = 0; i < SHARDS; ++i) CHECK_EQ(context_of(program, i)->creates, 2);
        CHECK_EQ(execute(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
        nothing_left();
    }
}

TEST(a_recovery_of_one_of_two_may_fail_and_be_repeated)
{
    choice c;
    qnnrt_manifest *program;
    qnnrt_run *run;
    begin("", "");
    choose(&c);
    describe(roles, "");
    OPENS(&c, &program);
    run = prepare(program);
    CHECK(run != NULL);
    copy_ask("faults fail=backendCreate:1:0x3e8");
    CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_E_BACKEND);
    SAYS("libQnnCopy.so");
    CHECK_EQ(execute(run), QNNRT_E_STATE);
    CHECK_STR(err.hint, "qnnrt_model_recover()");
    CHECK_EQ(context_of(program, 0)->creates, 2);
    CHECK_EQ(context_of(program, 1)->creates, 1);
    CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_OK);
    CHECK_EQ(context_of(program, 0)->creates, 3);
    CHECK_EQ(context_of(program, 1)->creates, 2);
    CHECK_EQ(execute(run), QNNRT_OK);
    /* What hinders one backend leaves it as it is, and those before it are recovered. */
    remove(file_of(3));
    CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_E_NOT_FOUND);
    SAYS("forward_3.bin");
    CHECK_EQ(context_of(program, 0)->creates, 4);
    CHECK_EQ(context_of(program, 1)->creates, 2);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    nothing_left();
    TRY(test_case_the_model_is_built_and_saved());
}

/* ---- memory ---------------------------------------------------------------------------------- */

static long allowed;                     /* allocations that succeed; -1: all */

static void *tight_alloc(void *user, size_t bytes)
{
    if (allowed == 0) return NULL;
    if (allowed > 0) --allowed;
    return life_alloc(user, bytes);
}

TEST(memory_that_runs_out_leaves_nothing_open)
{
    qnnrt_result result = QNNRT_E_MEMORY;
    long n;
    describe(roles, "");
    for (n = 0; result == QNNRT_E_MEMORY; ++n) {
        choice c;
        qnnrt_manifest *program;
        begin("", "");
        choose(&c);
        c.desc.model.backend_desc.hooks.alloc = tight_alloc;
        c.desc.model.read = 1;
        c.desc.model.keep_going = n % 2 != 0;
        allowed = n;
        result = opens(&c, &program);
        if (result == QNNRT_OK) CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
        else CHECK_EQ(result, QNNRT_E_MEMORY);
        nothing_left();
    }
    printf("note: %ld allocations failed\n", n - 1);
    CHECK(n > 5);
}

TEST(arguments_that_are_missing_are_named)
{
    choice c;
    qnnrt_manifest *program = (qnnrt_manifest *)&c;
    qnnrt_file file;
    const qnnrt_pipeline *pipeline;
    qnnrt_run *run = (qnnrt_run *)&c;
    begin("", "");
    CHECK_EQ(qnnrt_manifest_open(NULL, NULL, &program, &err), QNNRT_E_ARG);
    CHECK(program == NULL);
    CHECK_EQ(qnnrt_manifest_open("", NULL, &program, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_manifest_open(folder, NULL, NULL, &err), QNNRT_E_ARG);
    choose(&c);
    memset(&file, 0, sizeof(file));
    c.desc.model.files = &file;
    program = (qnnrt_manifest *)&c;
    CHECK_EQ(opens(&c, &program), QNNRT_E_ARG);
    CHECK(program == NULL);
    SAYS("desc.model.files");
    CHECK_EQ(qnnrt_manifest_find(NULL, NULL, &pipeline, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_manifest_prepare(NULL, NULL, NULL, &run, &err), QNNRT_E_ARG);
    CHECK(run == NULL);
    CHECK_EQ(qnnrt_pipeline_prepare(NULL, NULL, &run, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_manifest_recover(NULL, qnnrt_model_recover, &err), QNNRT_E_ARG);
    CHECK(qnnrt_manifest_get_info(NULL) == NULL);
    CHECK_EQ(qnnrt_manifest_close(NULL), QNNRT_OK);
    nothing_left();
}

/* ---- libraries by the names of roles --------------------------------------------------------- */

/* Open the program without naming a library, in a process of its own: libraries are searched beside
   it. Print what happened. */
static void child(void)
{
    choice c;
    qnnrt_manifest *program;
    snprintf(folder, sizeof(folder), "%s", getenv("QNNRT_ROLES_MODEL"));
    memset(&life_watch.log, 0, 16);
    choose(&c);
    c.desc.backend_count = 0;
    c.desc.model.inspect = getenv("QNNRT_ROLES_INSPECT") != NULL;
    if (opens(&c, &program) != QNNRT_OK) printf("%d %s\n", (int)err.code, err.text);
    else {
        const qnnrt_manifest_info *info = qnnrt_manifest_get_info(program);
        printf("opened %s, system %s\n%s\n", info->backend != NULL
                   ? qnnrt_backend_get_info(info->backend)->path : "nothing", info->system_path,
               life_watch.log);
        qnnrt_manifest_close(program);
    }
    fflush(stdout);
    _exit(0);
}

static const char *child_says(const char *executable, int inspect)
{
    static char said[8192];
    char command[4096];
    size_t bytes;
    FILE *pipe;
    snprintf(command, sizeof(command), "QNNRT_ROLES_MODEL='%s' %s '%s' 2>&1", folder,
             inspect ? "QNNRT_ROLES_INSPECT=1" : "", executable);
    pipe = popen(command, "r");
    if (pipe == NULL) return "";
    bytes = fread(said, 1, sizeof(said) - 1, pipe);
    said[bytes] = '\0';
    pclose(pipe);
    return said;
}

TEST(the_role_cpu_is_served_by_the_first_library_that_is_there)
{
    static const char *const all[SHARDS] = { "cpu", "cpu", "cpu", "cpu" };
    char executable[1200], cpu[1200], reference[1200], system[1200];
    const char *dir = test_tmpdir(), *said;
    snprintf(executable, sizeof(executable), "%s/program", dir);
    snprintf(cpu, sizeof(cpu), "%s/libQnnCpu.so", dir);
    snprintf(reference, sizeof(reference), "%s/libQnnRef.so", dir);
    snprintf(system, sizeof(system), "%s/libQnnSystem.so", dir);
    TRY(copy_file("/proc/self/exe", executable));
    CHECK_EQ(chmod(executable, 0755), 0);
    describe(all, "");
    said = child_says(executable, 0);
    CHECK_STR(said, "-5 no library serves the backend role \"cpu\"");
    CHECK_STR(said, "libQnnCpu.so");
    CHECK_STR(said, "libQnnRef.so");
    TRY(copy_file(TEST_REF_LIB, reference));
    said = child_says(executable, 0);
    CHECK_STR(said, "/libQnnRef.so, system ");
    CHECK_STR(said, "2 manifest: ");
    CHECK_STR(said, "\"cpu\", because libQnnCpu.so cannot be opened");
    said = child_says(executable, 1);
    CHECK_STR(said, "opened nothing, system ");
    CHECK_STR(said, "/libQnnRef.so");
    TRY(copy_file(TEST_REF_LIB, cpu));
    said = child_says(executable, 0);
    CHECK_STR(said, "/libQnnCpu.so, system ");
    CHECK(strstr(said, "because") == NULL);
    said = child_says(executable, 1);
    CHECK_STR(said, "/libQnnCpu.so");
    remove(executable);
}

TEST_MAIN("manifest_roles")
{
    if (getenv("QNNRT_ROLES_MODEL") != NULL) child();
    snprintf(folder, sizeof(folder), "%s", test_tmpdir());
    snprintf(copy_path, sizeof(copy_path), "%s/libQnnCopy.so", test_tmpdir());
    RUN(the_model_is_built_and_saved);
    RUN(each_role_has_a_backend_and_a_model);
    RUN(the_program_of_a_folder_gives_roles);
    RUN(the_first_role_takes_the_backend_of_the_options);
    RUN(wrong_roles_are_named_errors);
    RUN(a_program_has_at_most_16_roles);
    RUN(a_failure_at_any_step_leaves_nothing_open);
    RUN(with_keep_going_a_role_may_fail);
    RUN(hooks_that_differ_are_refused);
    RUN(each_call_takes_the_lock_of_its_backend);
    RUN(three_libraries_serve_one_program);
    RUN(a_backend_of_a_role_is_shared_by_programs);
    RUN(inspecting_opens_no_backend);
    RUN(progress_counts_the_files_of_all_models);
    RUN(libraries_of_several_makers_share_a_folder);
    RUN(memory_of_both_is_shared_with_one);
    RUN(contexts_of_each_backend_take_turns);
    RUN(spill_fill_memory_is_shared_on_each_backend);
    RUN(loading_is_profiled_on_both);
    RUN(the_caller_loads_and_unloads_on_both);
    RUN(weights_are_updated_where_their_context_is);
    RUN(the_backend_that_restarted_is_recovered);
    RUN(a_recovery_reaches_all_models);
    RUN(a_recovery_of_one_of_two_may_fail_and_be_repeated);
    RUN(memory_that_runs_out_leaves_nothing_open);
    RUN(arguments_that_are_missing_are_named);
    RUN(the_role_cpu_is_served_by_the_first_library_that_is_there);
}
