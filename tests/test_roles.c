/* test_roles.c - one model with contexts on several backends

   The model is a chain of four shards on libQnnRef.so: shard i has one graph "step", which computes
   h<i+1> = h<i> * weights<i>, with h0 [1, 8] from the caller. Shards 0 and 2 have the role "npu",
   shards 1 and 3 "cpu". A copy of libQnnRef.so is another library, with rules, a ledger and a trace
   of its own. */
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "swap.h"
#include "qnnrt_profile.h"
#include "ref.h"
#include "life.h"
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

/* Options with the files, their roles and a library for each role. */
typedef struct choice {
    qnnrt_desc         desc;
    qnnrt_file         files[SHARDS];
    qnnrt_backend_role backends[2];
} choice;

static void choose(choice *c)
{
    int i;
    memset(c, 0, sizeof(*c));
    for (i = 0; i < SHARDS; ++i) {
        c->files[i].path = file_of(i);
        c->files[i].role = roles[i];
    }
    c->desc.files = c->files;
    c->desc.file_count = SHARDS;
    c->desc.backends = c->backends;
    c->desc.backend_count = 2;
    c->desc.backend_desc.hooks = life_hooks();
    c->backends[0].role = "npu";
    c->backends[0].desc.path = TEST_REF_LIB;
    c->backends[1].role = "cpu";
    c->backends[1].desc.path = copy_path;
}

static qnnrt_result opens(const choice *c, qnnrt **model)
{
    TEST_JUNK(err);
    return swap_open(NULL, &c->desc, model, &err);
}

#define OPENS(c, model)                                                                            \
    do {                                                                                           \
        if (opens(c, model) != QNNRT_OK) printf("%s\n", err.text);                                 \
        CHECK_EQ(err.code, QNNRT_OK);                                                              \
    } while (0)

/* Open a model that must fail. */
static void fails(const choice *c, qnnrt_result code)
{
    qnnrt *model = (qnnrt *)&err;
    CHECK_EQ(opens(c, &model), code);
    CHECK(model == NULL);
    CHECK(life_text_clean(err.text) && life_text_clean(err.hint) && err.hint[0] != '\0');
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

static qnnrt_run *prepare_of(qnnrt *model, qnnrt_mem_kind kind)
{
    qnnrt_run *run = NULL;
    qnnrt_prepare_desc how;
    memset(&how, 0, sizeof how);
    how.mem.kind = kind;
    how.mem.provider = qnnrt_device_memfd();
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

TEST(each_context_is_on_the_backend_of_its_role)
{
    choice c;
    const qnnrt_info *info;
    qnnrt *model;
    qnnrt_run *run;
    int i;
    begin("", "");
    choose(&c);
    OPENS(&c, &model);
    info = qnnrt_get_info(model);
    CHECK_EQ(info->context_count, SHARDS);
    for (i = 0; i < SHARDS; ++i) {
        CHECK_EQ(strcmp(info->contexts[i].role, roles[i]), 0);
        CHECK(info->contexts[i].backend == info->contexts[i % 2].backend);
        CHECK_EQ(info->contexts[i].resident, 1);
    }
    CHECK(info->backend == info->contexts[0].backend && info->backend != info->contexts[1].backend);
    CHECK_STR(qnnrt_backend_get_info(info->contexts[0].backend)->path, "libQnnRef.so");
    CHECK_STR(qnnrt_backend_get_info(info->contexts[1].backend)->path, "libQnnCopy.so");
    CHECK_STR(info->system_path, "libQnnRef.so");
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    nothing_left();
}

TEST(the_first_role_takes_the_backend_of_the_options)
{
    choice c;
    qnnrt_backend *backend;
    qnnrt *model;
    begin("", "");
    choose(&c);
    c.desc.backends = &c.backends[1];
    c.desc.backend_count = 1;
    c.desc.backend_desc.path = TEST_REF_LIB;
    OPENS(&c, &model);
    CHECK_STR(qnnrt_backend_get_info(qnnrt_get_info(model)->backend)->path, "libQnnRef.so");
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_open(&c.desc.backend_desc, &backend, &err), QNNRT_OK);
    c.desc.backend = backend;
    c.desc.backend_desc.path = NULL;
    OPENS(&c, &model);
    CHECK(qnnrt_get_info(model)->backend == backend);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_E_BUSY);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    /* One backend for two roles is opened once, and used twice. */
    choose(&c);
    c.backends[0].backend = c.backends[1].backend = backend;
    OPENS(&c, &model);
    CHECK(qnnrt_get_info(model)->contexts[1].backend == backend);
    CHECK_EQ(strcmp(qnnrt_get_info(model)->contexts[1].role, "cpu"), 0);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_get_info(model)->contexts[1].creates, 2);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    nothing_left();
}

TEST(wrong_roles_are_named_errors)
{
    static const char *const far[20] = { "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9",
                                         "r10", "r11", "r12", "r13", "r14", "r15", "r16" };
    qnnrt_file many[17];
    qnnrt *model;
    choice c;
    int i;
    begin("", "");
    choose(&c);
    c.backends[1].role = "gpu";
    TRY(fails(&c, QNNRT_E_ARG));
    SAYS("\"gpu\"");
    SAYS("\"npu\", \"cpu\"");
    c.backends[1].role = "npu";
    CHECK_EQ(opens(&c, &model), QNNRT_E_ARG);
    SAYS("\"npu\" twice");
    c.backends[1].role = NULL;
    CHECK_EQ(opens(&c, &model), QNNRT_E_ARG);
    SAYS("desc.backends[1]");
    c.backends[1].role = "";
    CHECK_EQ(opens(&c, &model), QNNRT_E_ARG);
    SAYS("desc.backends[1]");
    choose(&c);
    c.desc.backends = NULL;
    CHECK_EQ(opens(&c, &model), QNNRT_E_ARG);
    SAYS("desc.backend_count 2");
    choose(&c);
    c.files[2].role = NULL;
    CHECK_EQ(opens(&c, &model), QNNRT_E_ARG);
    SAYS("desc.files[2]");
    c.files[2].role = "";
    CHECK_EQ(opens(&c, &model), QNNRT_E_ARG);
    SAYS("desc.files[2]");
    choose(&c);
    for (i = 0; i < SHARDS; ++i) c.files[i].role = NULL;
    TRY(fails(&c, QNNRT_E_ARG));
    SAYS("\"npu\"");
    SAYS("no roles");
    /* A role that no library serves. */
    choose(&c);
    c.files[1].role = c.files[3].role = "gpu";
    c.desc.backend_count = 1;
    TRY(fails(&c, QNNRT_E_LIBRARY));
    SAYS("\"gpu\"");
    CHECK_STR(err.hint, "desc.backends");
    /* A library that cannot be opened. */
    choose(&c);
    c.backends[1].desc.path = "./no-such-library.so";
    TRY(fails(&c, QNNRT_E_LIBRARY));
    SAYS("\"cpu\"");
    SAYS("no-such-library.so");
    /* More roles than there are uses. */
    memset(many, 0, sizeof(many));
    for (i = 0; i < 17; ++i) {
        many[i].path = file_of(0);
        many[i].role = far[i];
    }
    choose(&c);
    c.desc.files = many;
    c.desc.file_count = 17;
    c.desc.backend_count = 0;
    TRY(fails(&c, QNNRT_E_UNSUPPORTED));
    SAYS("16");
    nothing_left();
}

TEST(the_program_of_a_folder_gives_roles)
{
    char text[1024], path[1200];
    int used = 0, i;
    choice c;
    const qnnrt_info *info;
    qnnrt *model;
    qnnrt_run *run;
    begin("", "");
    choose(&c);
    snprintf(path, sizeof(path), "%s/qnnrt.json", folder);
    used = snprintf(text, sizeof(text), "{\"program\": {\"version\": 1, \"backends\": [\"cpu\", \"npu\"], \"contexts\": [");
    for (i = 0; i < SHARDS; ++i)
        used += snprintf(text + used, sizeof(text) - (size_t)used, "%s{\"file\": \"forward_%d.bin\", \"backend\": \"%s\"}",
                         i > 0 ? ", " : "", i, roles[i]);
    used += snprintf(text + used, sizeof(text) - (size_t)used, "]}}");
    test_write_file(path, text, (size_t)used);
    c.desc.files = NULL;
    c.desc.file_count = 0;
    if (swap_open(folder, &c.desc, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK_EQ(err.code, QNNRT_OK);
    info = qnnrt_get_info(model);
    for (i = 0; i < SHARDS; ++i) {
        CHECK_EQ(strcmp(info->contexts[i].role, roles[i]), 0);
        CHECK_STR(qnnrt_backend_get_info(info->contexts[i].backend)->path, i % 2 == 0 ? "libQnnRef.so" : "libQnnCopy.so");
    }
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    /* Without the program, the folder has no roles. */
    c.desc.no_manifest = 1;
    CHECK_EQ(swap_open(folder, &c.desc, &model, &err), QNNRT_E_ARG);
    SAYS("no roles");
    c.desc.backend_count = 0;
    c.desc.backend_desc.path = TEST_REF_LIB;
    CHECK_EQ(swap_open(folder, &c.desc, &model, &err), QNNRT_OK);
    CHECK_EQ(strlen(qnnrt_get_info(model)->contexts[1].role), 0);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    remove(path);
    nothing_left();
}

static void *other_alloc(void *user, size_t bytes) { return life_alloc(user, bytes); }
static void other_lock(void *user) { (void)user; }
static void other_unlock(void *user) { (void)user; }

TEST(hooks_that_differ_are_refused)
{
    choice c;
    qnnrt *model;
    qnnrt_backend *backend;
    begin("", "");
    choose(&c);
    c.backends[1].desc.hooks = life_hooks();
    c.backends[1].desc.hooks.alloc = other_alloc;
    TRY(fails(&c, QNNRT_E_MISMATCH));
    SAYS("\"cpu\"");
    SAYS("libQnnCopy.so");
    SAYS("two allocators");
    /* Each backend with a lock of its own, or one without. */
    c.backends[1].desc.hooks = life_hooks();
    c.backends[1].desc.hooks.lock = other_lock;
    c.backends[1].desc.hooks.unlock = other_unlock;
    OPENS(&c, &model);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    c.desc.residency = SWAP_ONE;
    TRY(fails(&c, QNNRT_E_MISMATCH));
    SAYS("has another lock");
    choose(&c);
    c.backends[1].desc.hooks = life_hooks();
    c.backends[1].desc.hooks.lock = c.backends[1].desc.hooks.unlock = NULL;
    c.desc.backend_desc.hooks.lock = c.desc.backend_desc.hooks.unlock = NULL;
    c.backends[0].desc.hooks = life_hooks();
    TRY(fails(&c, QNNRT_E_MISMATCH));
    SAYS("has a lock");
    /* Open backends bring their hooks, also to the model and to the roles without any. */
    choose(&c);
    c.backends[0].desc.hooks = life_hooks();
    CHECK_EQ(qnnrt_backend_open(&c.backends[0].desc, &backend, &err), QNNRT_OK);
    c.backends[0].backend = backend;
    memset(&c.desc.backend_desc.hooks, 0, sizeof(c.desc.backend_desc.hooks));
    OPENS(&c, &model);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
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
    qnnrt *model;
    qnnrt_run *run, *shared;
    size_t i;
    begin("", "");
    choose(&c);
    memset(own_locks, 0, sizeof(own_locks));
    for (i = 0; i < 2; ++i) {
        c.backends[i].desc.hooks.lock = own_lock;
        c.backends[i].desc.hooks.unlock = own_unlock;
        c.backends[i].desc.hooks.lock_user = &own_locks[i];
    }
    c.desc.residency = QNNRT_RESIDENT_CALLER;
    OPENS(&c, &model);
    CHECK(locks_taken(1, 1));
    CHECK_EQ(qnnrt_context_load(model, 0, &err), QNNRT_OK);
    CHECK(locks_taken(1, 0));
    CHECK_EQ(qnnrt_context_load(model, 1, &err), QNNRT_OK);
    CHECK(locks_taken(0, 1));
    CHECK_EQ(qnnrt_update(model, 1, "step", "weights", weights[1], sizeof(weights[1]), &err), QNNRT_OK);
    CHECK(locks_taken(0, 1));
    CHECK_EQ(qnnrt_prepare(model, "1/step", &run, &err), QNNRT_OK);
    CHECK(locks_taken(0, 0));
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK(locks_taken(0, 1));
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_context_unload(model, 0, &err), QNNRT_OK);
    CHECK(locks_taken(1, 0));
    for (i = 0; i < SHARDS; ++i) CHECK_EQ(qnnrt_context_load(model, i, &err), QNNRT_OK);
    run = prepare(model);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK(locks_taken(1, 1));
    shared = prepare_of(model, QNNRT_MEM_PROVIDER);
    CHECK(shared != NULL);
    CHECK(locks_taken(1, 0));
    qnnrt_run_destroy(shared);        /* its tensors are taken back from the backend that has them */
    CHECK(locks_taken(1, 0));
    copy_ask("faults restart=graphExecute:1");
    CHECK_EQ(execute(run), QNNRT_E_BACKEND);
    CHECK(locks_taken(1, 1));
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
    CHECK(locks_taken(0, 1));
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK(locks_taken(1, 1));
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
    for (i = 0; i < sizeof(calls) / sizeof(*calls); ++i)
        for (side = 0; side < 2; ++side)
            for (keep = 0; keep < 2; ++keep) {
                char rule[64];
                choice c;
                qnnrt *model;
                qnnrt_result result;
                snprintf(rule, sizeof(rule), "fail=%s:0x3ea", calls[i]);
                begin(side == 0 ? rule : "", side == 1 ? rule : "");
                choose(&c);
                c.desc.keep_going = keep;
                result = opens(&c, &model);
                if (!keep) {
                    CHECK(result != QNNRT_OK && model == NULL);
                    CHECK_STR(err.text, i < 2 ? roles[side] : "forward_");
                } else {
                    CHECK_EQ(result, QNNRT_OK);
                    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
                }
                nothing_left();
            }
}

TEST(with_keep_going_a_role_may_fail)
{
    choice c;
    const qnnrt_info *info;
    qnnrt *model;
    qnnrt_run *run;
    int side, i;
    for (side = 0; side < 2; ++side) {
        begin("", "");
        choose(&c);
        c.desc.keep_going = 1;
        c.backends[side].desc.path = "./no-such-library.so";
        OPENS(&c, &model);
        info = qnnrt_get_info(model);
        CHECK_EQ(info->context_count, SHARDS);
        for (i = 0; i < SHARDS; ++i) {
            const qnnrt_context_info *context = &info->contexts[i];
            CHECK_EQ(strcmp(context->role, roles[i]), 0);
            CHECK_EQ(context->failure != NULL, i % 2 == side);
            CHECK_EQ(context->backend != NULL, i % 2 != side);
            if (context->failure == NULL) continue;
            CHECK_EQ(context->failure->code, QNNRT_E_LIBRARY);
            CHECK_STR(context->failure->text, roles[i]);
            CHECK_STR(context->failure->text, "no-such-library.so");
            CHECK_EQ(context->graph_count, 0);
        }
        CHECK(info->backend == info->contexts[1 - side].backend);
        CHECK_EQ(qnnrt_prepare(model, side == 0 ? "1/step" : "2/step", &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        nothing_left();
    }
    /* Without one that opens, there is no model. */
    begin("", "");
    choose(&c);
    c.desc.keep_going = 1;
    c.backends[0].desc.path = c.backends[1].desc.path = "./no-such-library.so";
    TRY(fails(&c, QNNRT_E_LIBRARY));
    SAYS("\"npu\"");
    nothing_left();
}

TEST(three_libraries_serve_one_model)
{
    static const char binary[] = "FAKEQNN 1\nbackend 6\nbuild v2.30\ncore 2 23 0\nbackendapi 5 30 0\n"
                                 "# a context binary has at least 64 bytes\n"
                                 "graph fwd\nin ids 1 0032 2 1 4 -\nout logits 2 0232 2 1 8 -\n";
    qnnrt_backend_role three[3];
    qnnrt_file files[3];
    choice c;
    const qnnrt_info *info;
    qnnrt *model;
    qnnrt_run *run;
    begin("", "");
    choose(&c);
    memcpy(three, c.backends, sizeof(c.backends));
    memset(&three[2], 0, sizeof(three[2]));
    three[2].role = "fake";
    three[2].desc.path = TEST_FAKE_LIB;
    memcpy(files, c.files, sizeof(files));
    memset(&files[2], 0, sizeof(files[2]));
    files[2].role = "fake";
    files[2].path = "fake.bin";
    files[2].data = binary;
    files[2].bytes = sizeof(binary) - 1;
    c.desc.backends = three;
    c.desc.backend_count = 3;
    c.desc.files = files;
    c.desc.file_count = 3;
    c.desc.system_path = TEST_FAKE_LIB;          /* not for those that read their own binaries */
    OPENS(&c, &model);
    info = qnnrt_get_info(model);
    CHECK_STR(qnnrt_backend_get_info(info->contexts[2].backend)->path, "libQnnFake.so");
    CHECK_EQ(info->contexts[2].graph_count, 1);
    CHECK_EQ(qnnrt_prepare(model, "fwd", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    nothing_left();
}

TEST(a_backend_of_a_role_is_shared_by_models)
{
    choice c;
    qnnrt *one, *two;
    qnnrt_run *first, *second;
    begin("", "");
    choose(&c);
    OPENS(&c, &one);
    c.backends[1].backend = qnnrt_get_info(one)->contexts[1].backend;
    OPENS(&c, &two);
    CHECK(qnnrt_get_info(one)->contexts[1].backend == qnnrt_get_info(two)->contexts[3].backend);
    CHECK(qnnrt_get_info(one)->backend != qnnrt_get_info(two)->backend);
    first = prepare(one);
    second = prepare(two);
    CHECK(first != NULL && second != NULL);
    CHECK_EQ(execute(first), QNNRT_OK);
    CHECK_EQ(execute(second), QNNRT_OK);
    qnnrt_run_destroy(first);
    CHECK_EQ(qnnrt_close(one), QNNRT_E_BUSY);
    CHECK_EQ(execute(second), QNNRT_OK);
    qnnrt_run_destroy(second);
    CHECK_EQ(qnnrt_close(two), QNNRT_OK);
    CHECK_EQ(qnnrt_close(one), QNNRT_OK);
    nothing_left();
}

TEST(inspecting_opens_no_backend)
{
    choice c;
    const qnnrt_info *info;
    qnnrt *model;
    int i;
    begin("fail=backendCreate:0x3e8", "fail=backendCreate:0x3e8");
    choose(&c);
    c.desc.inspect = 1;
    OPENS(&c, &model);
    info = qnnrt_get_info(model);
    CHECK(info->backend == NULL);
    for (i = 0; i < SHARDS; ++i) {
        CHECK(info->contexts[i].backend == NULL);
        CHECK_EQ(strcmp(info->contexts[i].role, roles[i]), 0);
        CHECK_EQ(info->contexts[i].graph_count, 1);
        CHECK_EQ(info->contexts[i].from_system, 1);
    }
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    c.backends[1].backend = (qnnrt_backend *)&c;
    CHECK_EQ(opens(&c, &model), QNNRT_E_ARG);
    SAYS("desc.inspect");
    nothing_left();
}

/* libQnnSystem.so, here the fake, cannot read binaries of libQnnRef.so. */
TEST(libraries_of_several_makers_share_a_folder)
{
    const char *dir = test_tmpdir();
    char reference[1200], other[1200], path[1200];
    choice c;
    qnnrt *model;
    int inspect;
    begin("", "");
    choose(&c);
    snprintf(reference, sizeof(reference), "%s/libQnnRef.so", dir);
    snprintf(other, sizeof(other), "%s/libQnnOther.so", dir);
    snprintf(path, sizeof(path), "%s/libQnnSystem.so", dir);
    TRY(copy_file(TEST_REF_LIB, reference));
    TRY(copy_file(TEST_REF_LIB, other));
    TRY(copy_file(TEST_FAKE_LIB, path));
    c.backends[0].desc.path = other;
    c.backends[1].desc.path = reference;
    for (inspect = 0; inspect < 2; ++inspect) {
        c.desc.inspect = inspect;
        OPENS(&c, &model);
        CHECK_EQ(qnnrt_get_info(model)->contexts[1].graph_count, 1);
        CHECK_STR(qnnrt_get_info(model)->system_path, "libQnnOther.so");
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    }
    nothing_left();
}

TEST(memory_of_both_is_shared_with_one)
{
    choice c;
    const qnnrt_transfer_info *list;
    qnnrt *model;
    qnnrt_run *run;
    size_t count, i, registered = 0;
    begin("", "");
    choose(&c);
    OPENS(&c, &model);
    run = prepare_of(model, QNNRT_MEM_PROVIDER);
    CHECK(run != NULL);
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(qnnrt_run_transfers(run, &list, &count), QNNRT_OK);
    for (i = 0; i < count; ++i) {
        registered += list[i].registered != 0;
        CHECK(!list[i].registered || list[i].step % 2 == 0);
        CHECK(list[i].registered || list[i].reason[0] != '\0');
    }
    CHECK(registered > 0);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    nothing_left();
}

/* ---- residency ------------------------------------------------------------------------------- */

static uint64_t bytes_of(int first, int count)
{
    uint64_t sum = 0;
    int i;
    for (i = first; i < first + count; ++i) sum += sizes[i];
    return sum;
}

static unsigned creates(const qnnrt *model)
{
    unsigned sum = 0;
    size_t i;
    for (i = 0; i < SHARDS; ++i) sum += qnnrt_get_info(model)->contexts[i].creates;
    return sum;
}

TEST(contexts_of_all_backends_take_turns)
{
    choice c;
    qnnrt *model;
    qnnrt_run *run;
    int shards, i;
    for (shards = 0; shards <= SHARDS; ++shards) {
        begin("", "");
        choose(&c);
        c.desc.residency = shards == 0 ? SWAP_ONE : SWAP_BUDGET;
        swap_bytes = bytes_of(SHARDS - shards, shards);
        OPENS(&c, &model);
        CHECK_EQ(qnnrt_get_info(model)->device_bytes, 0);
        run = prepare(model);
        CHECK(run != NULL);
        for (i = 0; i < 3; ++i) {
            if (execute(run) != QNNRT_OK) printf("%s\n", err.text);
            CHECK_EQ(err.code, QNNRT_OK);
        }
        if (shards == 0) CHECK_EQ(creates(model), 3 * SHARDS);
        if (shards == 0) CHECK_EQ(qnnrt_get_info(model)->device_peak, sizes[SHARDS - 1]);
        /* A budget of all but one creates at most two per exec, whatever their backends. */
        if (shards == SHARDS - 1) CHECK(creates(model) <= SHARDS + 2 * 2);
        if (shards == SHARDS) CHECK_EQ(creates(model), SHARDS);
        if (shards > 0) CHECK(qnnrt_get_info(model)->device_peak <= swap_bytes);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
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
    qnnrt *model;
    char number[32];
    int both;
    for (both = 0; both < 2; ++both) {
        begin("id=6; spill_fill=4096", both ? "id=6; spill_fill=8192" : "");
        choose(&c);
        c.desc.residency = QNNRT_RESIDENT_CALLER;
        ref_ask("trace clear");
        ref_ask("trace on");
        copy_ask("trace clear");
        copy_ask("trace on");
        OPENS(&c, &model);
        CHECK_EQ(qnnrt_model_load_shared(model, &err), QNNRT_OK);
        CHECK_EQ(count_of(ref_ask("trace"), "group of NULL"), 1);
        CHECK_EQ(count_of(ref_ask("trace"), "with 4096 bytes) -> 0x0"), 2);
        CHECK_EQ(count_of(copy_ask("trace"), "group of NULL"), both ? 1 : 0);
        CHECK_EQ(count_of(copy_ask("trace"), "with 8192 bytes) -> 0x0"), both ? 2 : 0);
        ref_ask("trace off");
        copy_ask("trace off");
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        nothing_left();
    }
    /* Only what is on an NPU counts for the warning. */
    begin("id=6; spill_fill=2000000000", "");
    choose(&c);
    OPENS(&c, &model);
    snprintf(number, sizeof(number), "need about %llu bytes",
             (unsigned long long)(sizes[0] + sizes[2] + UINT64_C(4000000000)));
    CHECK_STR(life_watch.log, number);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    begin("id=6; spill_fill=1700000000", "");
    OPENS(&c, &model);
    CHECK(strstr(life_watch.log, "need about") == NULL);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    nothing_left();
}

TEST(loading_is_profiled_on_both)
{
    choice c;
    const qnnrt_profile_event *events;
    qnnrt_profile *loading;
    qnnrt *model;
    size_t count, i, seen[SHARDS] = { 0 };
    begin("", "");
    choose(&c);
    CHECK_EQ(qnnrt_profile_create(QNNRT_PROFILE_BASIC, NULL, &loading, NULL), QNNRT_OK);
    c.desc.context_hooks = qnnrt_profile_hook(loading, NULL);
    OPENS(&c, &model);
    qnnrt_profile_events(loading, &events, &count);
    for (i = 0; i < count; ++i) ++seen[events[i].step];
    for (i = 0; i < SHARDS; ++i) CHECK(seen[i] > 0);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    qnnrt_profile_destroy(loading);
    nothing_left();
}

TEST(the_caller_loads_and_unloads_on_both)
{
    choice c;
    qnnrt *model;
    qnnrt_run *run;
    size_t i;
    begin("", "");
    choose(&c);
    c.desc.residency = QNNRT_RESIDENT_CALLER;
    OPENS(&c, &model);
    run = prepare(model);
    CHECK(run != NULL);
    for (i = 0; i < SHARDS; ++i) {
        CHECK_EQ(execute(run), QNNRT_E_STATE);
        SAYS(file_of((int)i));
        CHECK_EQ(qnnrt_context_load(model, i, &err), QNNRT_OK);
    }
    CHECK_EQ(execute(run), QNNRT_OK);
    CHECK_EQ(qnnrt_context_unload(model, 1, &err), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_context_load(model, 1, &err), QNNRT_OK);
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    nothing_left();
}

TEST(weights_are_updated_where_their_context_is)
{
    float kept[WIDTH * WIDTH];
    choice c;
    qnnrt *model;
    qnnrt_run *run;
    int i, k;
    begin("", "");
    choose(&c);
    OPENS(&c, &model);
    run = prepare(model);
    CHECK(run != NULL);
    for (i = 0; i < 2; ++i) {
        memcpy(kept, weights[i], sizeof(kept));
        for (k = 0; k < WIDTH * WIDTH; ++k) weights[i][k] = kept[k] + 0.25f;
        CHECK_EQ(execute(run), QNNRT_E_MISMATCH);
        CHECK_EQ(qnnrt_update(model, (size_t)i, "step", "weights", weights[i], sizeof(kept), &err), QNNRT_OK);
        CHECK_EQ(execute(run), QNNRT_OK);
        memcpy(weights[i], kept, sizeof(kept));
        CHECK_EQ(qnnrt_update(model, (size_t)i, "step", "weights", kept, sizeof(kept), &err), QNNRT_OK);
    }
    copy_ask("faults fail=tensorUpdateGraphTensors:0x1770");
    CHECK_EQ(qnnrt_update(model, 1, "step", "weights", kept, sizeof(kept), &err), QNNRT_E_BACKEND);
    SAYS("forward_1.bin");
    CHECK_EQ(qnnrt_update(model, 0, "step", "weights", weights[0], sizeof(kept), &err), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    nothing_left();
}

/* ---- recovery -------------------------------------------------------------------------------- */

TEST(the_backend_that_restarted_is_recovered_alone)
{
    static const qnnrt_residency kinds[] = { QNNRT_RESIDENT_ALL, SWAP_ONE,
                                             SWAP_BUDGET, QNNRT_RESIDENT_CALLER };
    choice c;
    const qnnrt_context_info *contexts;
    qnnrt *model;
    qnnrt_run *run;
    int side, kind;
    size_t i;
    for (side = 0; side < 2; ++side)
        for (kind = 0; kind < 4; ++kind) {
            const char *rule = "restart=graphExecute:2";
            begin(side == 0 ? rule : "", side == 1 ? rule : "");
            choose(&c);
            c.desc.residency = kinds[kind];
            if (kind == 2) swap_bytes = bytes_of(2, 2);
            OPENS(&c, &model);
            contexts = qnnrt_get_info(model)->contexts;
            for (i = 0; i < SHARDS && kind == 3; ++i) CHECK_EQ(qnnrt_context_load(model, i, &err), QNNRT_OK);
            run = prepare(model);
            CHECK(run != NULL);
            CHECK_EQ(execute(run), QNNRT_E_BACKEND);
            CHECK_EQ(err.vendor_code, 1011);
            SAYS(file_of(side + 2));
            CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
            for (i = 0; i < SHARDS && (kind == 0 || kind == 3); ++i)
                CHECK_EQ(contexts[i].creates, (int)i % 2 == side ? 2 : 1);
            if (execute(run) != QNNRT_OK) printf("%s\n", err.text);
            CHECK_EQ(err.code, QNNRT_OK);
            /* Nobody answered that it restarted: all are recovered. */
            CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
            for (i = 0; i < SHARDS && (kind == 0 || kind == 3); ++i)
                CHECK_EQ(contexts[i].creates, (int)i % 2 == side ? 3 : 2);
            CHECK_EQ(execute(run), QNNRT_OK);
            qnnrt_run_destroy(run);
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            nothing_left();
        }
}

TEST(a_recovery_of_one_of_two_may_fail_and_be_repeated)
{
    choice c;
    qnnrt *model;
    qnnrt_run *run;
    begin("", "");
    choose(&c);
    OPENS(&c, &model);
    run = prepare(model);
    CHECK(run != NULL);
    copy_ask("faults fail=backendCreate:1:0x3e8");
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_E_BACKEND);
    SAYS("libQnnCopy.so");
    CHECK_EQ(execute(run), QNNRT_E_STATE);
    CHECK_STR(err.hint, "qnnrt_model_recover()");
    CHECK_EQ(qnnrt_get_info(model)->contexts[0].creates, 2);
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_get_info(model)->contexts[0].creates, 2);     /* it was not lost */
    CHECK_EQ(execute(run), QNNRT_OK);
    /* What hinders one backend hinders all: nothing is freed before all are checked. */
    remove(file_of(3));
    CHECK_EQ(qnnrt_model_recover(model, &err), QNNRT_E_NOT_FOUND);
    SAYS("forward_3.bin");
    CHECK_EQ(execute(run), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
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
    for (n = 0; result == QNNRT_E_MEMORY; ++n) {
        choice c;
        qnnrt *model;
        begin("", "");
        choose(&c);
        c.desc.backend_desc.hooks.alloc = tight_alloc;
        c.desc.read = 1;
        c.desc.keep_going = n % 2 != 0;
        allowed = n;
        result = opens(&c, &model);
        if (result == QNNRT_OK) CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        else CHECK_EQ(result, QNNRT_E_MEMORY);
        nothing_left();
    }
    printf("note: %ld allocations failed\n", n - 1);
    CHECK(n > 5);
}

/* ---- libraries by the names of roles --------------------------------------------------------- */

/* Open the model without naming a library, in a program of its own: libraries are searched beside
   it. Print what happened. */
static void child(void)
{
    choice c;
    qnnrt *model;
    int i;
    snprintf(folder, sizeof(folder), "%s", getenv("QNNRT_ROLES_MODEL"));
    memset(&life_watch.log, 0, 16);
    choose(&c);
    c.desc.backend_count = 0;
    c.desc.inspect = getenv("QNNRT_ROLES_INSPECT") != NULL;
    for (i = 0; i < SHARDS; ++i) c.files[i].role = "cpu";
    if (opens(&c, &model) != QNNRT_OK) printf("%d %s\n", (int)err.code, err.text);
    else {
        const qnnrt_info *info = qnnrt_get_info(model);
        printf("opened %s, system %s\n%s\n", info->backend != NULL
                   ? qnnrt_backend_get_info(info->backend)->path : "nothing", info->system_path,
               life_watch.log);
        qnnrt_close(model);
    }
    fflush(stdout);
    _exit(0);
}

static const char *child_says(const char *program, int inspect)
{
    static char said[8192];
    char command[4096];
    size_t bytes;
    FILE *pipe;
    snprintf(command, sizeof(command), "QNNRT_ROLES_MODEL='%s' %s '%s' 2>&1", folder,
             inspect ? "QNNRT_ROLES_INSPECT=1" : "", program);
    pipe = popen(command, "r");
    if (pipe == NULL) return "";
    bytes = fread(said, 1, sizeof(said) - 1, pipe);
    said[bytes] = '\0';
    pclose(pipe);
    return said;
}

TEST(the_role_cpu_is_served_by_the_first_library_that_is_there)
{
    char program[1200], cpu[1200], reference[1200];
    const char *dir = test_tmpdir(), *said;
    snprintf(program, sizeof(program), "%s/program", dir);
    snprintf(cpu, sizeof(cpu), "%s/libQnnCpu.so", dir);
    snprintf(reference, sizeof(reference), "%s/libQnnRef.so", dir);
    TRY(copy_file("/proc/self/exe", program));
    CHECK_EQ(chmod(program, 0755), 0);
    said = child_says(program, 0);
    CHECK_STR(said, "-5 no library serves the backend role \"cpu\"");
    CHECK_STR(said, "libQnnCpu.so");
    CHECK_STR(said, "libQnnRef.so");
    TRY(copy_file(TEST_REF_LIB, reference));
    said = child_says(program, 0);
    CHECK_STR(said, "/libQnnRef.so, system ");
    CHECK_STR(said, "2 roles: ");
    CHECK_STR(said, "\"cpu\", because libQnnCpu.so cannot be opened");
    said = child_says(program, 1);
    CHECK_STR(said, "opened nothing, system ");
    CHECK_STR(said, "/libQnnRef.so");
    TRY(copy_file(TEST_REF_LIB, cpu));
    said = child_says(program, 0);
    CHECK_STR(said, "/libQnnCpu.so, system ");
    CHECK(strstr(said, "because") == NULL);
    said = child_says(program, 1);
    CHECK_STR(said, "/libQnnCpu.so");
    remove(program);
}

TEST_MAIN("roles")
{
    if (getenv("QNNRT_ROLES_MODEL") != NULL) child();
    snprintf(folder, sizeof(folder), "%s", test_tmpdir());
    snprintf(copy_path, sizeof(copy_path), "%s/libQnnCopy.so", test_tmpdir());
    RUN(the_model_is_built_and_saved);
    RUN(each_context_is_on_the_backend_of_its_role);
    RUN(the_first_role_takes_the_backend_of_the_options);
    RUN(wrong_roles_are_named_errors);
    RUN(the_program_of_a_folder_gives_roles);
    RUN(hooks_that_differ_are_refused);
    RUN(each_call_takes_the_lock_of_its_backend);
    RUN(a_failure_at_any_step_leaves_nothing_open);
    RUN(with_keep_going_a_role_may_fail);
    RUN(three_libraries_serve_one_model);
    RUN(a_backend_of_a_role_is_shared_by_models);
    RUN(inspecting_opens_no_backend);
    RUN(libraries_of_several_makers_share_a_folder);
    RUN(memory_of_both_is_shared_with_one);
    RUN(contexts_of_all_backends_take_turns);
    RUN(spill_fill_memory_is_shared_on_each_backend);
    RUN(loading_is_profiled_on_both);
    RUN(the_caller_loads_and_unloads_on_both);
    RUN(weights_are_updated_where_their_context_is);
    RUN(the_backend_that_restarted_is_recovered_alone);
    RUN(a_recovery_of_one_of_two_may_fail_and_be_repeated);
    RUN(memory_that_runs_out_leaves_nothing_open);
    RUN(the_role_cpu_is_served_by_the_first_library_that_is_there);
}
