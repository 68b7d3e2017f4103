/* tsan.c - qnnrt.h, qnnrt_llm.h and libQnnRef.so from many threads, for `make tsan`

       tsan [ROUNDS]    rounds of each thread, 12 unless given

   Built with -fsanitize=thread, the library too. Every job below runs on several threads, and all
   jobs run at the same time, in one process and on one loaded library:

       shared     prepare, exec and profile runs of one model, on one backend with lock hooks
       plans      plans with two entries, a caller's memory and bound tensors, of the same model
       opening    open and close models on that backend
       backends   open and close backends, each with a model of its own
       building   build a model and save it to memory
       sessions   qnnrt_llm.h: make sessions of one model, decode, save and restore, destroy
       asking     read the tables of the library, and the constants of qnnrt.h
       hostile    make the library log to the callbacks of all backends, from a foreign thread

   Results are compared with those of the slow way: they may show a race that TSan does not find. */
#include "qnnrt_llm.h"
#include "qnnrt_builder.h"
#include "qnnrt_device.h"
#include "qnnrt_profile.h"
#include "qnnrt_explain.h"
#include "ref.h"
#include "life.h"
#include "llm_counter.h"
#include "backend.h"

enum { MOST_THREADS = 32, WORDS = 11, AR = 4, CONTEXT = 24 };

/* ---- what the threads share ---- */

static const char      *folder;              /* holds the files of the model of life.h */
static qnnrt_backend   *shared_backend, *llm_backend;
static qnnrt           *shared_model, *llm_model;
static qnnrt_llm       *llm;
static pthread_mutex_t  vendor_lock = PTHREAD_MUTEX_INITIALIZER;
static int              rounds = 12;
static int              running, mistakes;   /* atomic */
static unsigned         lines, unclean;      /* atomic */

static int failed(const char *job, const char *what)
{
    printf("tsan: %s: %s\n", job, what);
    fflush(stdout);
    __sync_fetch_and_add(&mistakes, 1);
    return 0;
}

static int good(const char *job, const char *call, qnnrt_result result, const char *text)
{
    char line[2400];
    if (result == QNNRT_OK) return 1;
    snprintf(line, sizeof line, "%s: %s: %s", call, qnnrt_result_name(result), text);
    return failed(job, line);
}

static void lock_mutex(void *user) { pthread_mutex_lock((pthread_mutex_t *)user); }
static void unlock_mutex(void *user) { pthread_mutex_unlock((pthread_mutex_t *)user); }

static void log_line(void *user, qnnrt_log_level level, const char *part, uint64_t code, const char *text)
{
    (void)user; (void)code;
    __sync_fetch_and_add(&lines, 1u);
    if (level < QNNRT_LOG_ERROR || level > QNNRT_LOG_DEBUG || part[0] == '\0' || !life_text_clean(text))
        __sync_fetch_and_add(&unclean, 1u);
}

static qnnrt_backend *open_backend(pthread_mutex_t *lock, qnnrt_error *err)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    desc = test_ref_desc();
    desc.log_level = QNNRT_LOG_DEBUG;
    desc.hooks.log = log_line;
    desc.hooks.lock = lock_mutex;
    desc.hooks.unlock = unlock_mutex;
    desc.hooks.lock_user = lock;
    (void)qnnrt_backend_open(&desc, &backend, err);
    return backend;
}

/* The memory of the run is registered. */
static qnnrt_result prepare(qnnrt *model, const char *name, qnnrt_run **run, qnnrt_error *err)
{
    qnnrt_prepare_desc how;
    memset(&how, 0, sizeof how);
    qnnrt_device_memory("memfd", &how.mem);
    return qnnrt_prepare_with(model, name, &how, run, err);
}

static qnnrt *open_model(qnnrt_backend *backend, qnnrt_error *err)
{
    qnnrt_desc desc;
    qnnrt *model = NULL;
    memset(&desc, 0, sizeof desc);
    desc.backend = backend;
    (void)qnnrt_open(folder, &desc, &model, err);
    return model;
}

/* Write numbers that depend on `round`, execute, compare. */
static int computes(const char *job, qnnrt_run *run, uint32_t rows, int round)
{
    float x[LIFE_ROWS * LIFE_WIDTH];
    double expected[LIFE_ROWS * LIFE_WIDTH];
    const size_t count = (size_t)rows * LIFE_WIDTH;
    size_t i, bytes = 0;
    float *y;
    void *to = qnnrt_data(run, "x", &bytes);
    if (to == NULL || bytes != count * sizeof *x) return failed(job, "x has no memory");
    for (i = 0; i < count; ++i) x[i] = (float)((i + (size_t)round) % 7) * 0.5f - 1.0f;
    memcpy(to, x, bytes);
    if (!good(job, "exec", qnnrt_exec(run), qnnrt_run_error(run)->text)) return 0;
    y = (float *)qnnrt_data(run, "y", &bytes);
    if (y == NULL || bytes != count * sizeof *x) return failed(job, "y has no memory");
    life_expected(x, rows, expected);
    for (i = 0; i < count; ++i)
        if (!(fabs(y[i] - expected[i]) < 1e-5)) return failed(job, "wrong numbers");
    return 1;
}

/* ---- jobs ---- */

static void shared(int round)
{
    qnnrt_run *run = NULL;
    qnnrt_error err;
    const uint32_t rows = round % 2 == 0 ? LIFE_ROWS : 1;
    int i;
    if (!good("shared", "prepare", prepare(shared_model, rows == 1 ? "kv" : "prefill", &run, &err), err.text))
        return;
    for (i = 0; i < 4 && computes("shared", run, rows, round + i); ++i) { }
    if (round % 3 == 0) {
        const qnnrt_profile_event *events;
        size_t count = 0;
        if (good("shared", "profile", qnnrt_run_profile(run, QNNRT_PROFILE_DETAILED), qnnrt_run_error(run)->text)
            && computes("shared", run, rows, round)
            && good("shared", "events", qnnrt_run_events(run, &events, &count), qnnrt_run_error(run)->text)
            && count == 0) failed("shared", "no events");
        (void)qnnrt_run_profile(run, QNNRT_PROFILE_OFF);
    }
    qnnrt_run_destroy(run);
}

static void plans(int round)
{
    qnnrt_entry_desc entries[2];
    qnnrt_plan_desc desc;
    qnnrt_mem_desc memory;
    qnnrt_plan *plan = NULL;
    qnnrt_mem *mem = NULL;
    qnnrt_run *runs[2] = { NULL, NULL };
    qnnrt_error err;
    static const char *const names[2] = { "prefill", "kv" };
    float x[LIFE_ROWS * LIFE_WIDTH];
    void *block = NULL;
    size_t i;
    memset(entries, 0, sizeof entries);
    memset(&desc, 0, sizeof desc);
    memset(&memory, 0, sizeof memory);
    desc.entries = entries;
    desc.entry_count = 2;
    for (i = 0; i < 2; ++i) {
        entries[i].group = 1;
        if (!good("plans", "find", qnnrt_pipeline_find(shared_model, names[i], &entries[i].pipeline, &err), err.text))
            return;
    }
    if (!good("plans", "plan", qnnrt_plan_create(&desc, &plan, &err), err.text)) return;
    if (round % 2 == 0) {
        memory.bytes = (size_t)qnnrt_plan_get_info(plan)->peak;
        if (posix_memalign(&block, 64, memory.bytes) == 0) memory.data = block;
    }
    if (good("plans", "mem", qnnrt_mem_create(plan, &memory, &mem, &err), err.text)) {
        for (i = 0; i < 2; ++i)
            if (good("plans", "run", qnnrt_run_create(mem, i, &runs[i], &err), err.text))
                computes("plans", runs[i], i == 0 ? LIFE_ROWS : 1, round);
        if (runs[0] != NULL) {
            good("plans", "bind", qnnrt_bind(runs[0], "x", x, sizeof x), qnnrt_run_error(runs[0])->text);
            computes("plans", runs[0], LIFE_ROWS, round);
        }
        for (i = 0; i < 2; ++i) qnnrt_run_destroy(runs[i]);
        good("plans", "destroy", qnnrt_mem_destroy(mem), "mem");
    }
    good("plans", "destroy", qnnrt_plan_destroy(plan), "plan");
    free(block);
}

static void open_once(const char *job, qnnrt_backend *backend, int round)
{
    qnnrt_run *run = NULL;
    qnnrt_error err;
    qnnrt *model = open_model(backend, &err);
    if (model == NULL) { failed(job, err.text); return; }
    if (good(job, "prepare", prepare(model, "kv", &run, &err), err.text)) computes(job, run, 1, round);
    qnnrt_run_destroy(run);
    good(job, "close", qnnrt_close(model), "model");
}

static void opening(int round) { open_once("opening", shared_backend, round); }

static void backends(int round)
{
    pthread_mutex_t lock;
    qnnrt_error err;
    qnnrt_backend *backend;
    pthread_mutex_init(&lock, NULL);
    backend = open_backend(&lock, &err);
    if (backend == NULL) failed("backends", err.text);
    else {
        open_once("backends", backend, round);
        good("backends", "close", qnnrt_backend_close(backend), "backend");
    }
    pthread_mutex_destroy(&lock);
}

static void building(int round)
{
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_error err;
    size_t bytes = 0;
    if (!good("building", "build", life_build(shared_backend, &model, &err), err.text)) return;
    if (good("building", "prepare", qnnrt_prepare(model, "kv", &run, &err), err.text))
        computes("building", run, 1, round);
    qnnrt_run_destroy(run);
    good("building", "save", qnnrt_save_memory(model, 0, NULL, 0, &bytes, &err), err.text);
    if (bytes == 0) failed("building", "an empty binary");
    good("building", "close", qnnrt_close(model), "model");
}

/* WORDS tokens, one text; every other round goes through a saved state after the first half. */
static void sessions(int round)
{
    qnnrt_llm_session_desc desc;
    qnnrt_mem_desc mem;
    qnnrt_llm_session *session = NULL;
    qnnrt_llm_cache *cache;
    qnnrt_error err;
    float expected[COUNTER_VOCABULARY], got[COUNTER_VOCABULARY];
    int32_t tokens[WORDS];
    size_t i, half;
    memset(&desc, 0, sizeof desc);
    memset(expected, 0, sizeof expected);
    desc.kv = round % 2 == 0 ? QNNRT_LLM_SMART_MASK : QNNRT_LLM_SHIFT_POINTER;
    desc.mem_kind = round % 4 < 2 ? QNNRT_MEM_PROVIDER : QNNRT_MEM_HEAP;
    qnnrt_device_memory("memfd", &mem);
    desc.mem_provider = mem.provider;
    if (!good("sessions", "create", qnnrt_llm_session_create(&llm, 1, &desc, &session, &err), err.text)) return;
    cache = qnnrt_llm_cache_get(session, 0, 0);
    for (i = 0; i < WORDS; ++i) {
        const float position = (float)i;
        tokens[i] = (int32_t)((i + (size_t)round) % COUNTER_WORDS);
        expected[tokens[i]] += 1;
        expected[COUNTER_WORDS + tokens[i]] += position;
        expected[2 * COUNTER_WORDS + tokens[i]] += position;
        expected[3 * COUNTER_WORDS] += position;
        expected[3 * COUNTER_WORDS + 1] += position * position;
        expected[3 * COUNTER_WORDS + 2] += position * position;
    }
    for (half = 0; half < 2; ++half) {
        qnnrt_llm_batch batch;
        memset(&batch, 0, sizeof batch);
        batch.tokens = tokens + half * (WORDS / 2);
        batch.count = half == 0 ? WORDS / 2 : WORDS - WORDS / 2;
        if (!good("sessions", "decode", qnnrt_llm_decode(cache, &batch), qnnrt_llm_error(cache)->text)) break;
        if (half == 0 && round % 3 == 0) {
            size_t room = qnnrt_llm_state_bytes(cache), bytes = 0;
            void *state = malloc(room);
            if (state == NULL) abort();
            good("sessions", "save", qnnrt_llm_state_save(cache, state, room, &bytes), qnnrt_llm_error(cache)->text);
            qnnrt_llm_clear(cache);
            good("sessions", "restore", qnnrt_llm_state_restore(cache, state, bytes), qnnrt_llm_error(cache)->text);
            free(state);
        }
    }
    if (half == 2 && good("sessions", "logits",
                          qnnrt_llm_logits(cache, WORDS - WORDS / 2 - 1, got), qnnrt_llm_error(cache)->text)
        && memcmp(got, expected, sizeof got) != 0) failed("sessions", "wrong logits");
    qnnrt_llm_session_destroy(session);
}

static void asking(int round)
{
    const q_core_provider **core = NULL;
    const q_system_provider **system = NULL;
    uint32_t count = 0;
    char answer[4096];
    int i;
    (void)round;
    for (i = 0; i < 8; ++i) {
        if (ref.get_core(&core, &count) != 0 || count != 1 || core[0]->slots[0] == NULL
            || ref.get_system(&system, &count) != 0 || count != 1 || system[0]->slots[0] == NULL)
            failed("asking", "a table that is not complete");
        if (ref.property((uint32_t)i) == 0xFFFF) failed("asking", "no property");
    }
    if (qnnrt_explain_code(5000) == NULL) failed("asking", "no explanation");
    if (ref.control("counters", answer, sizeof answer) <= 0) failed("asking", "no counters");
}

static void hostile(int round)
{
    q_handle out = NULL;
    int i;
    (void)round;
    for (i = 0; i < 16; ++i)
        if (ref.retrieve((q_handle)(uintptr_t)(0x1000 + i), "\x1b[2J%n\n\xff", &out) == 0)
            failed("hostile", "a graph of no context");
}

static const struct job { void (*call)(int round); int threads; } jobs[] = {
    { shared, 3 }, { plans, 2 }, { opening, 2 }, { backends, 3 }, { building, 1 }, { sessions, 3 }, { asking, 1 },
    { hostile, 2 }
};

/* Every job takes `rounds`; jobs that only disturb continue until the others have finished. */
static void *work(void *user)
{
    const struct job *job = (const struct job *)user;
    const int disturbs = job->call == asking || job->call == hostile;
    int round;
    for (round = 0; round < rounds || (disturbs && __sync_fetch_and_add(&running, 0) > 0); ++round)
        job->call(round);
    if (!disturbs) __sync_fetch_and_sub(&running, 1);
    return NULL;
}

/* ---- before and after ---- */

static void begin(void)
{
    static const counter_graph graphs[2] = {
        { AR, CONTEXT, 0, 0, 0, QNNRT_DTYPE_F32 }, { 1, CONTEXT, 0, 0, 0, QNNRT_DTYPE_F32 }
    };
    static life l;
    qnnrt_error err;
    ref_begin("");
    folder = test_tmpdir();
    life_start(&l, folder);
    life_make(&l);
    if (l.stage[0] != '\0') { printf("tsan: %s: %s\n", l.stage, l.err.text); exit(1); }
    if ((shared_backend = open_backend(&vendor_lock, &err)) == NULL
        || (shared_model = open_model(shared_backend, &err)) == NULL
        || (llm_backend = open_backend(&vendor_lock, &err)) == NULL
        || (llm_model = counter_make(llm_backend, graphs, 2, &err)) == NULL
        || qnnrt_llm_open(llm_model, NULL, &llm, &err) != QNNRT_OK) {
        printf("tsan: %s\n", err.text);
        exit(1);
    }
    ref_begin("log_thread=hostile;log_late=1");
}

static void finish(void)
{
    good("end", "close", qnnrt_llm_close(llm), "llm");
    good("end", "close", qnnrt_close(llm_model), "llm_model");
    good("end", "close", qnnrt_backend_close(llm_backend), "llm_backend");
    good("end", "close", qnnrt_close(shared_model), "shared_model");
    good("end", "close", qnnrt_backend_close(shared_backend), "shared_backend");
}

TEST(threads_share_what_they_may_share)
{
    pthread_t threads[MOST_THREADS];
    size_t i, count = 0;
    int k;
    begin();
    for (i = 0; i < sizeof jobs / sizeof jobs[0]; ++i)
        if (jobs[i].call != asking && jobs[i].call != hostile) running += jobs[i].threads;
    for (i = 0; i < sizeof jobs / sizeof jobs[0]; ++i)
        for (k = 0; k < jobs[i].threads; ++k) {
            void *job = (void *)(uintptr_t)&jobs[i];
            CHECK(count < MOST_THREADS && pthread_create(&threads[count], NULL, work, job) == 0);
            ++count;
        }
    for (i = 0; i < count; ++i) pthread_join(threads[i], NULL);
    finish();
    ref_begin("");
    CHECK_EQ(mistakes, 0);
    CHECK_EQ(unclean, 0);
    CHECK(lines > 0);
    CHECK_STR(ref_ask("ledger"), "");
    CHECK_EQ(strlen(ref_ask("ledger")), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) rounds = atoi(argv[1]);
    test_state.suite = "tsan";
    test_run("threads_share_what_they_may_share", test_case_threads_share_what_they_may_share);
    test_remove_folders();
    printf("%d passed, %d failed\n", test_state.passed, test_state.failed);
    return test_state.failed > 0;
}
