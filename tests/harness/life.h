/* life.h - a whole life through qnnrt.h on libQnnRef.so: build, save, close, open, exec, close

   Included after qnnrt_builder.h and ref.h. life_begin(faults) sets rules of faults.c
   and counts from here; life_run() continues to the first failure and returns where it stopped;
   life_left() names what was left: handles of the library, memory, descriptors, a held lock,
   unclean text.

   The model is two contexts, two graphs each, every kind of parameter:
       shard 0   x [rows, 8] -> MatMul with weights [8, 8] -> Transpose -> hidden [8, rows]
       shard 1   hidden -> Transpose -> ElementWiseAdd of a bias [8] -> Softmax -> y [rows, 8]
   for rows 4 ("prefill") and 1 ("kv"). */
#ifndef LIFE_H
#define LIFE_H

#include <math.h>

enum { LIFE_ROWS = 4, LIFE_WIDTH = 8 };

/* ---- hooks, and what must not be left -------------------------------------------------------- */

static struct {
    char     log[1 << 16];               /* "level part: text\n" each, the vendor's lines too */
    size_t   log_used;
    unsigned lines;
    int      unclean;                    /* 1: a line had a byte or level that is not allowed */
    int      locked, lock_misused;
    int64_t  blocks;                     /* live blocks of the allocator */
    uint64_t fds;
    pthread_mutex_t log_lock;            /* the vendor logs from threads of its own */
} life_watch = { "", 0, 0, 0, 0, 0, 0, 0, PTHREAD_MUTEX_INITIALIZER };

static inline void life_log(void *user, qnnrt_log_level level, const char *part, uint64_t code,
                            const char *text)
{
    (void)user; (void)code;
    pthread_mutex_lock(&life_watch.log_lock);
    ++life_watch.lines;
    if (level < QNNRT_LOG_ERROR || level > QNNRT_LOG_DEBUG || part == NULL || text == NULL)
        life_watch.unclean = 1;
    for (const char *at = text; at != NULL && *at != '\0'; ++at)
        if ((unsigned char)*at < 0x20 || *at == 0x7F) life_watch.unclean = 1;
    if (life_watch.log_used + 4096 > sizeof(life_watch.log)) life_watch.log_used = 0;
    life_watch.log_used += (size_t)snprintf(life_watch.log + life_watch.log_used, 4096,
                                            "%d %s: %.4000s\n", (int)level,
                                            part != NULL ? part : "?", text != NULL ? text : "?");
    pthread_mutex_unlock(&life_watch.log_lock);
}

static inline void *life_alloc(void *user, size_t bytes)
{
    void *data = malloc(bytes);
    (void)user;
    if (data != NULL) { ++life_watch.blocks; memset(data, 0xEE, bytes); }
    return data;
}

static inline void life_free(void *user, void *data)
{
    (void)user;
    --life_watch.blocks;
    free(data);
}

static inline void life_lock(void *user)
{
    (void)user;
    life_watch.lock_misused |= life_watch.locked;
    life_watch.locked = 1;
}

static inline void life_unlock(void *user)
{
    (void)user;
    life_watch.lock_misused |= !life_watch.locked;
    life_watch.locked = 0;
}

static inline qnnrt_hooks life_hooks(void)
{
    qnnrt_hooks hooks;
    memset(&hooks, 0, sizeof(hooks));
    hooks.alloc = life_alloc;
    hooks.free = life_free;
    hooks.log = life_log;
    hooks.lock = life_lock;
    hooks.unlock = life_unlock;
    return hooks;
}

static inline uint64_t life_fds(void)
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) return 0;
    while (readdir(folder) != NULL) ++count;
    closedir(folder);
    return count;
}

static inline void life_begin(const char *faults)
{
    ref_begin(faults);
    life_watch.log_used = 0;
    life_watch.log[0] = '\0';
    life_watch.lines = 0;
    life_watch.unclean = life_watch.locked = life_watch.lock_misused = 0;
    life_watch.blocks = 0;
    life_watch.fds = life_fds();
}

/* Describe what is left after a life. Return NULL if nothing is left. */
static inline const char *life_left(void)
{
    static char text[600];
    const char *ledger = ref_ask("ledger");
    if (ledger[0] != '\0') snprintf(text, sizeof(text), "the ledger has: %.500s", ledger);
    else if (life_watch.blocks != 0)
        snprintf(text, sizeof(text), "%lld blocks of memory", (long long)life_watch.blocks);
    else if (life_fds() != life_watch.fds)
        snprintf(text, sizeof(text), "descriptors: %llu, before %llu",
                 (unsigned long long)life_fds(), (unsigned long long)life_watch.fds);
    else if (life_watch.locked || life_watch.lock_misused)
        snprintf(text, sizeof(text), "the lock was held, taken or given back twice");
    else if (strstr(life_watch.log, "is not a handle of this library") != NULL
             || strstr(life_watch.log, "was freed") != NULL)
        snprintf(text, sizeof(text), "a call on a handle that is none: %.500s", life_watch.log);
    else if (life_watch.unclean)
        snprintf(text, sizeof(text), "a line that was logged has control characters or no level");
    else return NULL;
    return text;
}

#define NOTHING_LEFT()                                                                             \
    do {                                                                                           \
        const char *left_ = life_left();                                                           \
        if (left_ != NULL) printf("left behind: %s\n", left_);                                     \
        CHECK(left_ == NULL);                                                                      \
    } while (0)

/* Return 1 for valid UTF-8 without control characters, except newlines that two spaces follow. */
static inline int life_text_clean(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at != 0) {
        size_t length = at[0] < 0x80 ? 1 : at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2, i;
        if (at[0] == '\n' && (at[1] != ' ' || at[2] != ' ')) return 0;
        if ((at[0] < 0x20 && at[0] != '\n') || at[0] == 0x7F) return 0;
        if (at[0] >= 0x80 && (at[0] < 0xC2 || at[0] > 0xF4)) return 0;
        for (i = 1; i < length; ++i) if ((at[i] & 0xC0) != 0x80) return 0;
        at += length;
    }
    return 1;
}

/* ---- the model ------------------------------------------------------------------------------- */

static float life_weights[LIFE_WIDTH * LIFE_WIDTH], life_bias[LIFE_WIDTH];
static float life_input[LIFE_ROWS * LIFE_WIDTH];

static inline qnnrt_tensor life_tensor(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind,
                                       uint32_t rows, uint32_t columns, const float *data)
{
    qnnrt_tensor_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.name = name;
    desc.kind = kind;
    desc.dtype = QNNRT_DTYPE_F32;
    desc.rank = rows == 0 ? 1 : 2;
    desc.dims[0] = rows == 0 ? columns : rows;
    desc.dims[1] = rows == 0 ? 0 : columns;
    desc.data = data;
    desc.bytes = data != NULL ? (rows == 0 ? 1 : rows) * columns * sizeof(float) : 0;
    return qnnrt_builder_tensor(b, &desc);
}

static inline void life_node(qnnrt_builder *b, const char *name, const char *type,
                             qnnrt_tensor first, qnnrt_tensor second,
                             qnnrt_tensor out, const qnnrt_param_desc *param)
{
    qnnrt_node_desc desc;
    qnnrt_tensor in[2];
    in[0] = first;
    in[1] = second;
    memset(&desc, 0, sizeof(desc));
    desc.name = name;
    desc.type = type;
    desc.inputs = in;
    desc.input_count = second != QNNRT_NO_TENSOR ? 2 : 1;
    desc.outputs = &out;
    desc.output_count = 1;
    desc.params = param;
    desc.param_count = param != NULL;
    qnnrt_builder_node(b, &desc);
}

static inline void life_graph(qnnrt_builder *b, int shard, const char *name, uint32_t rows)
{
    static const uint32_t order[2] = { 1, 0 };
    qnnrt_param_desc perm, transposed, axis;
    qnnrt_graph_desc desc;
    qnnrt_tensor x, w, m, y;
    memset(&perm, 0, sizeof(perm));
    perm.name = "perm";
    perm.dtype = QNNRT_DTYPE_U32;
    perm.data = order;
    perm.rank = 1;
    perm.dims[0] = 2;
    memset(&transposed, 0, sizeof(transposed));
    transposed.name = "transpose_in1";
    transposed.dtype = QNNRT_DTYPE_BOOL8;
    transposed.value = 1;
    memset(&axis, 0, sizeof(axis));
    axis.name = "axis";
    axis.dtype = QNNRT_DTYPE_U32;
    axis.value = 1;
    memset(&desc, 0, sizeof(desc));
    desc.name = name;
    desc.priority = QNNRT_PRIORITY_HIGH;
    qnnrt_builder_graph(b, &desc);
    if (shard == 0) {
        x = life_tensor(b, "x", QNNRT_TENSOR_INPUT, rows, LIFE_WIDTH, NULL);
        w = life_tensor(b, "weights", QNNRT_TENSOR_STATIC, LIFE_WIDTH, LIFE_WIDTH, life_weights);
        m = life_tensor(b, "product", QNNRT_TENSOR_INNER, rows, LIFE_WIDTH, NULL);
        y = life_tensor(b, "hidden", QNNRT_TENSOR_OUTPUT, LIFE_WIDTH, rows, NULL);
        life_node(b, "project", "MatMul", x, w, m, &transposed);
        life_node(b, "turn", "Transpose", m, QNNRT_NO_TENSOR, y, &perm);
    } else {
        x = life_tensor(b, "hidden", QNNRT_TENSOR_INPUT, LIFE_WIDTH, rows, NULL);
        w = life_tensor(b, "bias", QNNRT_TENSOR_STATIC, 0, LIFE_WIDTH, life_bias);
        m = life_tensor(b, "turned", QNNRT_TENSOR_INNER, rows, LIFE_WIDTH, NULL);
        y = life_tensor(b, "sum", QNNRT_TENSOR_INNER, rows, LIFE_WIDTH, NULL);
        life_node(b, "turn", "Transpose", x, QNNRT_NO_TENSOR, m, &perm);
        life_node(b, "add", "ElementWiseAdd", m, w, y, NULL);
        x = life_tensor(b, "y", QNNRT_TENSOR_OUTPUT, rows, LIFE_WIDTH, NULL);
        life_node(b, "rate", "Softmax", y, QNNRT_NO_TENSOR, x, &axis);
    }
}

static inline qnnrt_result life_build(qnnrt_backend *backend, qnnrt **out, qnnrt_error *err)
{
    qnnrt_builder *b;
    qnnrt_result result;
    int shard;
    *out = NULL;
    result = qnnrt_builder_create(backend, NULL, &b, err);
    if (result != QNNRT_OK) return result;
    for (shard = 0; shard < 2; ++shard) {
        qnnrt_context_desc desc;
        memset(&desc, 0, sizeof(desc));
        desc.name = shard == 0 ? "front" : "back";
        desc.priority = QNNRT_PRIORITY_NORMAL;
        qnnrt_builder_context(b, &desc);
        life_graph(b, shard, "prefill", LIFE_ROWS);
        life_graph(b, shard, "kv", 1);
    }
    return qnnrt_builder_finish(b, out, err);
}

/* Compute the model's output for an input in the slow way. */
static inline void life_expected(const float *x, uint32_t rows, double *y)
{
    for (uint32_t r = 0; r < rows; ++r) {
        double sum = 0, value[LIFE_WIDTH], most = -1e30;
        for (int n = 0; n < LIFE_WIDTH; ++n) {
            value[n] = life_bias[n];
            for (int k = 0; k < LIFE_WIDTH; ++k)
                value[n] += (double)x[r * LIFE_WIDTH + (uint32_t)k] *
                            life_weights[n * LIFE_WIDTH + k];
            most = value[n] > most ? value[n] : most;
        }
        for (int n = 0; n < LIFE_WIDTH; ++n) sum += value[n] = exp(value[n] - most);
        for (int n = 0; n < LIFE_WIDTH; ++n) y[r * LIFE_WIDTH + (uint32_t)n] = value[n] / sum;
    }
}

/* ---- a life ---------------------------------------------------------------------------------- */

typedef struct life {
    const char  *folder;
    const char  *library, *system;       /* backend; NULL: its own system interface */
    int          guard;
    int          go_on;                  /* 1: continue after a context that could not be saved */
    const char  *stage;                  /* where it stopped, "" when it reached the end */
    qnnrt_result result;                 /* result of that stage */
    qnnrt_result closed;                 /* the first result of a close other than QNNRT_OK */
    qnnrt_error  err;
    int          wrong;                  /* 1: all calls succeeded, but the numbers are wrong */
} life;

static inline const char *life_file(const life *l, int shard)
{
    static char path[1200];
    snprintf(path, sizeof(path), "%s/forward_%d.bin", l->folder, shard);
    return path;
}

static inline qnnrt_result life_stop(life *l, const char *stage, qnnrt_result result)
{
    if (result != QNNRT_OK && l->stage[0] == '\0') {
        l->stage = stage;
        l->result = result;
    }
    return result;
}

static inline void life_closed(life *l, qnnrt_result result)
{
    if (l->closed == QNNRT_OK) l->closed = result;
}

/* Execute twice with different numbers, so that an execute without effect is found. */
static inline void life_exec(life *l, qnnrt *model, const char *name, uint32_t rows)
{
    float x[LIFE_ROWS * LIFE_WIDTH], y[LIFE_ROWS * LIFE_WIDTH];
    double expected[LIFE_ROWS * LIFE_WIDTH];
    const size_t count = (size_t)rows * LIFE_WIDTH;
    qnnrt_run *run = NULL;
    qnnrt_prepare_desc how = { 0 };
    how.guard = l->guard;
    qnnrt_result result = life_stop(l, "prepare", qnnrt_prepare_with(model, name, &how, &run, &l->err));
    if (result != QNNRT_OK) return;
    for (int time = 0; time < 2 && result == QNNRT_OK; ++time) {
        for (size_t i = 0; i < count; ++i) x[i] = time == 0 ? life_input[i] : 1.0f - life_input[i];
        result = life_stop(l, "write", qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, count));
        if (result == QNNRT_OK) result = life_stop(l, "exec", qnnrt_exec(run));
        if (result == QNNRT_OK) result = life_stop(l, "read", qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, count));
        life_expected(x, rows, expected);
        for (size_t i = 0; i < count && result == QNNRT_OK; ++i)
            l->wrong |= !(fabs(y[i] - expected[i]) < 1e-5);
    }
    if (result != QNNRT_OK) l->err = *qnnrt_run_error(run);
    qnnrt_run_destroy(run);
}

static inline void life_open(life *l)
{
    qnnrt *model = NULL;
    qnnrt_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.backend_desc.path = l->library;
    desc.system_path = l->system;
    desc.backend_desc.hooks = life_hooks();
    if (life_stop(l, "open", qnnrt_open(l->folder, &desc, &model, &l->err)) != QNNRT_OK) return;
    life_exec(l, model, "prefill", LIFE_ROWS);
    if (l->stage[0] == '\0') life_exec(l, model, "kv", 1);
    life_closed(l, qnnrt_close(model));
}

static inline void life_make(life *l)
{
    qnnrt_backend *backend = NULL;
    qnnrt_backend_desc desc;
    qnnrt *model = NULL;
    memset(&desc, 0, sizeof(desc));
    desc.path = l->library;
    desc.hooks = life_hooks();
    if (life_stop(l, "backend", qnnrt_backend_open(&desc, &backend, &l->err)) != QNNRT_OK) return;
    if (life_stop(l, "build", life_build(backend, &model, &l->err)) == QNNRT_OK) {
        for (int i = 0; i < 2 && (l->stage[0] == '\0' || l->go_on); ++i)
            life_stop(l, "save", qnnrt_save(model, (size_t)i, life_file(l, i), &l->err));
        life_closed(l, qnnrt_close(model));
    }
    life_closed(l, qnnrt_backend_close(backend));
}

/* Count the files in the folder: no part of a file may be left. */
static inline int life_files(const life *l)
{
    struct dirent *entry;
    int count = 0;
    DIR *folder = opendir(l->folder);
    while (folder != NULL && (entry = readdir(folder)) != NULL) count += entry->d_name[0] != '.';
    if (folder != NULL) closedir(folder);
    return count;
}

static inline void life_start(life *l, const char *folder)
{
    int i;
    for (i = 0; i < LIFE_WIDTH * LIFE_WIDTH; ++i) life_weights[i] = (float)(i % 7) * 0.25f - 0.75f;
    for (i = 0; i < LIFE_WIDTH; ++i) life_bias[i] = (float)i * 0.125f - 0.5f;
    for (i = 0; i < LIFE_ROWS * LIFE_WIDTH; ++i) life_input[i] = (float)(i % 5) - 1.0f;
    memset(l, 0, sizeof(*l));
    l->folder = folder;
    l->library = TEST_REF_LIB;
    l->stage = "";
    memset(&l->err, 0xFF, sizeof(l->err));
}

static inline void life_run(life *l, const char *folder)
{
    life_start(l, folder);
    remove(life_file(l, 0));
    remove(life_file(l, 1));
    life_make(l);
    if (l->stage[0] == '\0') life_open(l);
}

#endif /* LIFE_H */
