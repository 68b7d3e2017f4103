/* test_manifest_roles.c - qnnrt_manifest_open() of a program on several backends

   The model is a chain of four shards on libQnnRef.so: shard i has one graph "step", which computes
   h<i+1> = h<i> * weights<i>, with h0 [1, 8] from the caller. Shards 0 and 2 have the role "npu",
   shards 1 and 3 "cpu". A copy of libQnnRef.so is another library, with rules, a ledger and a trace
   of its own. */
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "qnnrt_device.h"
#include "ref.h"
#include "life.h"
#include "../tools/qnnrt_manifest.h"
#include "backend.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SHARDS = 4, WIDTH = 8, PADDING = 512 };

static char folder[1100], copy_path[1200];
static float weights[SHARDS][WIDTH * WIDTH], start[WIDTH];
static uint64_t sizes[SHARDS];
static qnnrt_error err;
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

/* ---- the model ------------------------------------------------------------------------------- */

static const char *file_of(int shard)
{
    static char path[SHARDS][1200];
    snprintf(path[shard], sizeof(path[shard]), "%s/forward_%d.bin", folder, shard);
    return path[shard];
}

/* Add the graph of a shard. A second output grows with the shard, so that its file does. */
static void shard_graph(qnnrt_builder *b, int shard)
{
    static float padding[SHARDS * PADDING];
    const uint32_t more = (uint32_t)(shard + 1) * PADDING;
    qnnrt_graph_desc desc;
    qnnrt_tensor x, w, y, p;
    char in[16], out[16], extra[16];
    snprintf(in, sizeof(in), "h%d", shard);
    snprintf(out, sizeof(out), "h%d", shard + 1);
    snprintf(extra, sizeof(extra), "extra%d", shard);
    memset(&desc, 0, sizeof(desc));
    desc.name = "step";
    qnnrt_builder_graph(b, &desc);
    x = life_tensor(b, in, QNNRT_TENSOR_INPUT, 1, WIDTH, NULL);
    w = life_tensor(b, "weights", QNNRT_TENSOR_UPDATEABLE, WIDTH, WIDTH, weights[shard]);
    y = life_tensor(b, out, QNNRT_TENSOR_OUTPUT, 1, WIDTH, NULL);
    life_node(b, "project", "MatMul", x, w, y, NULL);
    p = life_tensor(b, "padding", QNNRT_TENSOR_STATIC, 1, more, padding);
    life_node(b, "relu", "Relu", p, QNNRT_NO_TENSOR,
              life_tensor(b, extra, QNNRT_TENSOR_OUTPUT, 1, more, NULL), NULL);
}

TEST(the_model_is_built_and_saved)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend;
    qnnrt_builder *b;
    qnnrt *model;
    struct stat facts;
    int i, k;
    for (i = 0; i < SHARDS; ++i)
        for (k = 0; k < WIDTH * WIDTH; ++k)
            weights[i][k] = (float)((i * 5 + k * 3) % 7) * 0.25f - 0.5f;
    for (k = 0; k < WIDTH; ++k) start[k] = (float)k - 2.5f;
    desc = test_ref_desc();
    begin("", "");
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, NULL), QNNRT_OK);
    for (i = 0; i < SHARDS; ++i) {
        qnnrt_context_desc context;
        memset(&context, 0, sizeof(context));
        context.name = "shard";
        qnnrt_builder_context(b, &context);
        shard_graph(b, i);
    }
    if (qnnrt_builder_finish(b, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK_EQ(err.code, QNNRT_OK);
    for (i = 0; i < SHARDS; ++i) {
        CHECK_EQ(qnnrt_save(model, (size_t)i, file_of(i), NULL), QNNRT_OK);
        CHECK_EQ(stat(file_of(i), &facts), 0);
        sizes[i] = (uint64_t)facts.st_size;
    }
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    nothing_left();
}

/* Options with a library for each role, and the program's text. */
typedef struct choice {
    qnnrt_manifest_open_desc desc;
    qnnrt_manifest_role      backends[2];
} choice;

/* Write the program: the roles of the shards, and what follows the contexts. */
static void describe(const char *const *of, const char *rest)
{
    char text[2048], path[1200];
    size_t used = 0;
    int i;
    used += (size_t)snprintf(text, sizeof(text), "{\"program\": {\"version\": 1, \"backends\": [\"%s\"%s%s%s], \"contexts\": [", of[0],
                             strcmp(of[0], of[1]) != 0 ? ", \"" : "", strcmp(of[0], of[1]) != 0 ? of[1] : "",
                             strcmp(of[0], of[1]) != 0 ? "\"" : "");
    for (i = 0; i < SHARDS; ++i)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s{\"file\": \"forward_%d.bin\", \"backend\": \"%s\"}",
                                 i > 0 ? ", " : "", i, of[i]);
    used += (size_t)snprintf(text + used, sizeof(text) - used, "]%s}}", rest);
    snprintf(path, sizeof(path), "%s/qnnrt.json", folder);
    test_write_file(path, text, used);
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
}

/* Return the facts about context i in its model. */
static const qnnrt_context_info *context_of(const qnnrt_manifest *program, int i)
{
    const qnnrt_manifest_context_info *context = &qnnrt_manifest_get_info(program)->contexts[i];
    return &qnnrt_get_info(context->model)->contexts[context->context];
}

/* Compute the model's output. */
static void expect(float *y)
{
    float x[WIDTH];
    int i, k, n;
    memcpy(y, start, sizeof(x));
    for (i = 0; i < SHARDS; ++i) {
        memcpy(x, y, sizeof(x));
        for (n = 0; n < WIDTH; ++n)
            for (k = 0, y[n] = 0; k < WIDTH; ++k) y[n] += x[k] * weights[i][k * WIDTH + n];
    }
}

static qnnrt_run *prepare(qnnrt_manifest *program)
{
    qnnrt_run *run = NULL;
    if (qnnrt_manifest_prepare(program, "step", NULL, &run, &err) != QNNRT_OK) { printf("%s\n", err.text); return NULL; }
    if (qnnrt_write_f32(run, qnnrt_run_slot(run, "h0"), 0, start, WIDTH) == QNNRT_OK) return run;
    qnnrt_run_destroy(run);
    return NULL;
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
            CHECK_EQ(context_of(program, i)->resident, 1);
        }
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

TEST(the_first_role_takes_the_backend_of_the_options)
{
    choice c;
    qnnrt_backend *backend;
    qnnrt_manifest *program;
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
    SAYS("desc.model.backend and desc.backends");
    /* One backend for two roles is opened once, and used twice. */
    choose(&c);
    c.backends[0].backend = c.backends[1].backend = backend;
    OPENS(&c, &program);
    CHECK(context_of(program, 1)->backend == backend);
    CHECK_EQ(strcmp(qnnrt_manifest_get_info(program)->contexts[1].role, "cpu"), 0);
    CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_OK);
    CHECK(context_of(program, 1)->creates >= 2);
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
    SAYS("\"npu\" twice");
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
    used += (size_t)snprintf(text + used, sizeof(text) - used, "]}}");
    snprintf(path, sizeof(path), "%s/qnnrt.json", folder);
    test_write_file(path, text, used);
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
            const qnnrt_manifest_context_info *context = &info->contexts[i];
            CHECK_EQ(strcmp(context->role, roles[i]), 0);
            CHECK_EQ(context->failure != NULL, i % 2 == side);
            CHECK_EQ(context->model != NULL, i % 2 != side);
            if (context->failure == NULL) continue;
            CHECK_EQ(context->failure->code, QNNRT_E_LIBRARY);
            CHECK_STR(context->failure->text, roles[i]);
            CHECK_STR(context->failure->text, "no-such-library.so");
        }
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

TEST(hooks_that_differ_are_refused)
{
    choice c;
    begin("", "");
    choose(&c);
    describe(roles, ", \"pipelines\": [{\"name\": \"all\", \"steps\": [" STEPS "]}]");
    c.backends[1].desc.hooks = life_hooks();
    c.backends[1].desc.hooks.alloc = other_alloc;
    TRY(fails(&c, QNNRT_E_MISMATCH));
    SAYS("\"all\"");
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
    CHECK_EQ(info->pipeline_count, 1);
    for (i = 0; i < SHARDS; ++i) {
        CHECK(context_of(program, i)->backend == NULL);
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
        for (i = 0; i < SHARDS; ++i) CHECK(context_of(program, i)->creates >= (i % 2 == side ? 2u : 1u));
        CHECK_EQ(execute(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
        nothing_left();
    }
    /* One of two may fail and be repeated. */
    begin("", "");
    choose(&c);
    OPENS(&c, &program);
    run = prepare(program);
    CHECK(run != NULL);
    copy_ask("faults fail=backendCreate:1:0x3e8");
    CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_E_BACKEND);
    SAYS("libQnnCopy.so");
    CHECK_EQ(execute(run), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_manifest_recover(program, qnnrt_model_recover, &err), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_manifest_close(program), QNNRT_OK);
    nothing_left();
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
    TRY(fails(&c, QNNRT_E_ARG));
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

TEST_MAIN("manifest_roles")
{
    snprintf(folder, sizeof(folder), "%s", test_tmpdir());
    snprintf(copy_path, sizeof(copy_path), "%s/libQnnCopy.so", test_tmpdir());
    RUN(the_model_is_built_and_saved);
    RUN(each_role_has_a_backend_and_a_model);
    RUN(the_first_role_takes_the_backend_of_the_options);
    RUN(wrong_roles_are_named_errors);
    RUN(a_program_has_at_most_16_roles);
    RUN(a_failure_at_any_step_leaves_nothing_open);
    RUN(with_keep_going_a_role_may_fail);
    RUN(hooks_that_differ_are_refused);
    RUN(inspecting_opens_no_backend);
    RUN(progress_counts_the_files_of_all_models);
    RUN(a_recovery_reaches_all_models);
    RUN(memory_that_runs_out_leaves_nothing_open);
    RUN(arguments_that_are_missing_are_named);
}
