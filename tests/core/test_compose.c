/* test_compose.c - graphs built on the fake backend: which calls are refused, with which text,
   and what the vendor gets

   The fake takes graphs like the genuine libraries and writes them as its own text, so that a
   test can save, open and compare a built context. Its ledger and the allocator of heap.h must
   be empty at the end. */
#include "../../qnnrt.h"
#include "qnnrt_builder.h"
#include "qnnrt_device.h"
#include "qnnrt_profile.h"
#include "test.h"
#include "backend.h"
#include "heap.h"
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static qnnrt_error err;                  /* error of the last call */
static qnnrt_backend *backend;
static const char *(*fake_trace)(void);
static uint64_t live_before;

static struct { int depth, wrong; } lock;         /* hooks of open_backend(): each lock has its unlock */

static void lock_hook(void *user) { lock.wrong += user != &lock || lock.depth != 0; ++lock.depth; }
static void unlock_hook(void *user) { lock.wrong += user != &lock || lock.depth != 1; --lock.depth; }

/* Open a backend with knobs, on the allocator of heap.h. */
static void open_backend(const char *knobs, uint32_t soc_model)
{
    qnnrt_backend_desc desc;
    memset(&desc, 0, sizeof(desc));
    memset(&heap, 0, sizeof(heap));
    TEST_JUNK(err);
    desc.path = TEST_FAKE_LIB;
    desc.soc_model = soc_model;
    desc.hooks.alloc = heap_alloc;
    desc.hooks.free = heap_free;
    desc.hooks.alloc_user = &heap;
    memset(&lock, 0, sizeof(lock));
    desc.hooks.lock = lock_hook;
    desc.hooks.unlock = unlock_hook;
    desc.hooks.lock_user = &lock;
    fake_begin(knobs);
    live_before = fake_live();
    if (fake_trace == NULL) {
        void *library = dlopen(TEST_FAKE_LIB, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) abort();
        fake_symbol(library, "fake_qnn_trace", &fake_trace);
    }
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) printf("%s\n", err.text);
}

/* Return 1 if the close succeeded and nothing was lost. */
static int close_backend(void)
{
    const qnnrt_result result = qnnrt_backend_close(backend);
    if (result == QNNRT_OK && heap.live == 0 && heap.wrong == 0 && fake_live() == live_before && lock.depth == 0 &&
        lock.wrong == 0) return 1;
    printf("closing: %s, %u blocks lost, %u wrong uses, %u handles lost, %d locks held, %d locked twice\n",
           qnnrt_result_name(result), (unsigned)heap.live, (unsigned)heap.wrong, (unsigned)(fake_live() - live_before),
           lock.depth, lock.wrong);
    return 0;
}

static qnnrt_builder *builder_of(const qnnrt_builder_desc *desc)
{
    qnnrt_builder *b = NULL;
    if (qnnrt_builder_create(backend, desc, &b, &err) != QNNRT_OK) printf("%s\n", err.text);
    return b;
}

static void add_graph(qnnrt_builder *b, const char *name)
{
    qnnrt_graph_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.name = name;
    qnnrt_builder_graph(b, &desc);
}

static const float four[4] = { 1, 2, 3, 4 }, ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };

/* Add a float32 tensor of [4]. */
static qnnrt_tensor_desc tensor_desc(const char *name, qnnrt_tensor_kind kind)
{
    qnnrt_tensor_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.name = name;
    desc.kind = kind;
    desc.dtype = QNNRT_DTYPE_F32;
    desc.rank = 1;
    desc.dims[0] = 4;
    if (kind == QNNRT_TENSOR_STATIC) {
        desc.data = four;
        desc.bytes = sizeof(four);
    }
    return desc;
}

static qnnrt_tensor add_tensor(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind)
{
    const qnnrt_tensor_desc desc = tensor_desc(name, kind);
    return qnnrt_builder_tensor(b, &desc);
}

/* Add the node type(in, in2) -> out; in2 may be QNNRT_NO_TENSOR. */
static void add_node(qnnrt_builder *b, const char *name, const char *type, qnnrt_tensor in, qnnrt_tensor in2,
                     qnnrt_tensor out)
{
    qnnrt_tensor inputs[2];
    qnnrt_node_desc desc;
    memset(&desc, 0, sizeof(desc));
    inputs[0] = in;
    inputs[1] = in2;
    desc.name = name;
    desc.type = type;
    desc.inputs = inputs;
    desc.input_count = 2;
    desc.outputs = &out;
    desc.output_count = 1;
    qnnrt_builder_node(b, &desc);
}

/* Build a valid graph: x -> A -> h -> B -> y. */
static void add_right(qnnrt_builder *b, const char *name)
{
    qnnrt_tensor x, h, y;
    add_graph(b, name);
    x = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
    h = add_tensor(b, "h", QNNRT_TENSOR_INNER);
    y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
    add_node(b, "B", "Relu", h, QNNRT_NO_TENSOR, y);
    add_node(b, "A", "Relu", x, QNNRT_NO_TENSOR, h);
}

/* Return the place of a text in the trace, 0 if it is not there. */
static size_t traced(const char *what)
{
    const char *at = strstr(fake_trace(), what);
    return at != NULL ? (size_t)(at - fake_trace()) + 1 : 0;
}

/* ---- what works -------------------------------------------------------------------------------- */

TEST(a_built_model_runs_is_saved_and_opens)
{
    qnnrt_builder *b;
    qnnrt *built, *opened;
    qnnrt_run *run;
    qnnrt_desc desc;
    qnnrt_file file;
    char path[1200], *link;
    size_t count, bytes = 0;
    float y[2][4];
    const qnnrt_context_info *info;
    int i;
    open_backend("", 0);
    b = builder_of(NULL);
    add_right(b, "layer");
    CHECK_EQ(qnnrt_builder_error(b)->code, QNNRT_OK);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    /* B was added first and reads what A writes. */
    CHECK(traced("node A Relu") != 0 && traced("node A Relu") < traced("node B Relu"));
    info = qnnrt_get_info(built)->contexts;
    count = qnnrt_get_info(built)->context_count;
    CHECK_EQ(count, 1);
    CHECK_STR(info->file, "context 0");
    CHECK_EQ(info->backend_id, 6);
    CHECK_EQ(info->soc_model, 57);
    CHECK_STR(info->build_id, "v2.51.0.260929181845");
    CHECK_EQ(info->core_api.minor, 40);
    CHECK(info->backend == backend);
    CHECK_EQ(info->graph_count, 1);
    CHECK_STR(info->graphs[0].name, "layer");
    CHECK_EQ(info->graphs[0].inputs[0].id, 1);
    CHECK_EQ(info->graphs[0].outputs[0].id, 3);

    snprintf(path, sizeof(path), "%s/out.bin", test_tmpdir());
    link = path;
    CHECK_EQ(symlink("/no/such/place", link), 0);      /* replaced, not followed */
    CHECK_EQ(qnnrt_save(built, 0, path, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_save_memory(built, 0, NULL, 0, &bytes, &err), QNNRT_OK);
    CHECK(bytes > 40);

    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    file.path = path;
    desc.backend = backend;
    desc.system_path = TEST_FAKE_LIB;
    desc.files = &file;
    desc.file_count = 1;
    CHECK_EQ(qnnrt_open(NULL, &desc, &opened, &err), QNNRT_OK);
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(qnnrt_prepare(i == 0 ? built : opened, "layer", &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, four, 4), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y[i], 4), QNNRT_OK);
        qnnrt_run_destroy(run);
    }
    CHECK(memcmp(y[0], y[1], sizeof(y[0])) == 0);
    CHECK_EQ(qnnrt_save(opened, 0, path, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "opened, not built");
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(qnnrt_close(opened), QNNRT_OK);
    CHECK(close_backend());
}

TEST(order_is_kept_where_it_can_be)
{
    static const char *const names[] = { "node n3 Relu", "node n0 Relu", "node n1 Relu", "node n2 Add" };
    qnnrt_builder *b;
    qnnrt_tensor x, t[4];
    qnnrt *built;
    size_t i;
    open_backend("", 0);
    b = builder_of(NULL);
    add_graph(b, "g");
    x = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
    for (i = 0; i < 4; ++i) {
        char name[8];
        snprintf(name, sizeof(name), "t%u", (unsigned)i);
        t[i] = add_tensor(b, name, i == 2 ? QNNRT_TENSOR_OUTPUT : QNNRT_TENSOR_INNER);
    }
    add_node(b, "n0", "Relu", t[3], QNNRT_NO_TENSOR, t[0]);      /* waits for n3, which therefore comes first */
    add_node(b, "n1", "Relu", x, QNNRT_NO_TENSOR, t[1]);
    add_node(b, "n2", "Add", t[1], t[0], t[2]);
    add_node(b, "n3", "Relu", x, QNNRT_NO_TENSOR, t[3]);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    for (i = 1; i < 4; ++i) CHECK(traced(names[i - 1]) != 0 && traced(names[i - 1]) < traced(names[i]));
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

TEST(nodes_without_a_name_get_a_free_one)
{
    qnnrt_builder *b;
    qnnrt_tensor x, h, y;
    qnnrt_tensor ends[3];
    qnnrt_node_desc node;
    qnnrt *built;
    open_backend("", 0);
    b = builder_of(NULL);
    add_graph(b, "g");
    x = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
    h = add_tensor(b, "h", QNNRT_TENSOR_INNER);
    y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
    add_node(b, "Relu_1", "Relu", x, QNNRT_NO_TENSOR, h);
    ends[0] = ends[2] = h;
    ends[1] = QNNRT_NO_TENSOR;
    memset(&node, 0, sizeof(node));
    node.type = "Relu";
    node.inputs = ends;
    node.input_count = 3;
    node.outputs = &y;
    node.output_count = 1;
    CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_OK);
    qnnrt_builder_node(b, &node);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    CHECK(traced("node Relu_1 Relu\n") != 0 && traced("node Relu_2 Relu\n") != 0);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

/* Where load_source() takes data from, what it returns, and how it was called. */
typedef struct source {
    const void   *from;
    size_t        bytes;
    qnnrt_result  result;
    const char   *text, *hint;
    const void   *at;                    /* of the last call */
    int           calls, wrong, depth;   /* depth: of the lock of open_backend() */
} source;

static qnnrt_result load_source(void *user, void *data, size_t bytes, qnnrt_error *error)
{
    source *s = (source *)user;
    ++s->calls;
    s->depth = lock.depth;
    s->at = data;
    s->wrong += bytes != s->bytes || (uintptr_t)data % 64 != 0 || error == NULL || error->text[0] != '\0';
    memcpy(data, s->from, bytes);
    if (s->text != NULL) snprintf(error->text, sizeof(error->text), "%s", s->text);
    if (s->hint != NULL) snprintf(error->hint, sizeof(error->hint), "%s", s->hint);
    return s->result;
}

/* Computed by libQnnRef.so: w = code * scale of the row * multiplier of its block of 16. */
static void compute_blocks(int loaded)
{
    source from;
    static const float scales[2] = { 0.5f, 0.25f };
    static const uint8_t multipliers[4] = { 1, 2, 3, 15 };
    signed char codes[2][32];
    uint16_t x[32];
    const uint16_t *y;
    qnnrt_backend_desc backend_desc;
    qnnrt_backend *ref = NULL;
    qnnrt_graph_desc graph;
    qnnrt_tensor_desc t;
    qnnrt_blocks blocks;
    qnnrt_builder *b;
    qnnrt_tensor in, w, out;
    qnnrt *built = NULL;
    qnnrt_run *run = NULL;
    size_t bytes = 0, i, k;
    backend_desc = test_ref_desc();
    memset(&graph, 0, sizeof(graph));
    memset(&blocks, 0, sizeof(blocks));
    CHECK_EQ(qnnrt_backend_open(&backend_desc, &ref, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(ref, NULL, &b, &err), QNNRT_OK);
    graph.name = "g";
    qnnrt_builder_graph(b, &graph);
    memset(&t, 0, sizeof(t));
    t.name = "x";
    t.kind = QNNRT_TENSOR_INPUT;
    t.dtype = QNNRT_DTYPE_U16Q;
    t.rank = 2;
    t.dims[0] = 1;
    t.dims[1] = 32;
    t.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
    t.quant.scale = 1.0f;
    t.quant.offset = -32768;
    in = qnnrt_builder_tensor(b, &t);
    t.name = "y";
    t.kind = QNNRT_TENSOR_OUTPUT;
    t.dims[1] = 2;
    t.quant.scale = 0.25f;
    out = qnnrt_builder_tensor(b, &t);
    blocks.form = QNNRT_BLOCK_EXPANSION;
    blocks.block_axis = 1;
    blocks.block = 16;
    blocks.scales = scales;
    blocks.multipliers = multipliers;
    memset(&t, 0, sizeof(t));
    t.name = "w";
    t.kind = QNNRT_TENSOR_STATIC;
    t.dtype = QNNRT_DTYPE_S8Q;
    t.rank = 2;
    t.dims[0] = 2;
    t.dims[1] = 32;
    t.blocks = &blocks;
    memset(&from, 0, sizeof(from));
    from.from = codes;
    from.bytes = sizeof(codes);
    t.bytes = sizeof(codes);
    if (loaded) {
        t.load = load_source;
        t.load_user = &from;
    } else {
        t.data = codes;
    }
    for (i = 0; i < 2; ++i)
        for (k = 0; k < 32; ++k) codes[i][k] = (signed char)((int)((i * 5 + k * 3) % 15) - 7);
    w = qnnrt_builder_tensor(b, &t);
    memset(&blocks, 0, sizeof(blocks));                 /* copied */
    add_node(b, "fc", "FullyConnected", in, w, out);
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(built != NULL);
    if (built == NULL) return;
    CHECK_EQ(from.calls, loaded);
    CHECK_EQ(from.wrong, 0);
    CHECK_EQ(qnnrt_prepare(built, "g", &run, &err), QNNRT_OK);
    for (k = 0; k < 32; ++k) x[k] = (uint16_t)(32768 + (int)(k % 7) - 3);
    CHECK_EQ(qnnrt_bind(run, "x", x, sizeof(x)), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    y = (const uint16_t *)qnnrt_data(run, "y", &bytes);
    CHECK_EQ(bytes, 4);
    for (i = 0; i < 2; ++i) {
        double sum = 0;
        for (k = 0; k < 32; ++k)
            sum += ((double)x[k] - 32768) * codes[i][k] * scales[i] * multipliers[i * 2 + k / 16];
        CHECK_EQ(y[i], 32768 + (long)(sum * 4));
    }
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(ref), QNNRT_OK);
}

TEST(weights_by_blocks_compute_what_they_say)
{
    TRY(compute_blocks(0));
    TRY(compute_blocks(1));
}

/* ---- data that is loaded by finish --------------------------------------------------------------- */

static qnnrt_tensor_desc matrix(const char *name, qnnrt_tensor_kind kind, uint32_t rows, uint32_t columns)
{
    qnnrt_tensor_desc t;
    memset(&t, 0, sizeof(t));
    t.name = name;
    t.kind = kind;
    t.dtype = QNNRT_DTYPE_F32;
    t.rank = 2;
    t.dims[0] = rows;
    t.dims[1] = columns;
    return t;
}

/* Run y = W2 (W1 x) on libQnnRef.so, with W1 [12, 8] and W2 [4, 12], of a kind, loaded or not. */
static void compute_two_layers(int loaded, qnnrt_tensor_kind kind, float y[4])
{
    float w1[96], w2[48], x[8];
    source from[2];
    qnnrt_backend_desc backend_desc;
    qnnrt_backend *ref = NULL;
    qnnrt_tensor_desc t;
    qnnrt_tensor in, w[2], h, out, ends[2];
    qnnrt_node_desc node;
    qnnrt_builder *b;
    qnnrt *built;
    qnnrt_run *run;
    size_t i;
    for (i = 0; i < 96; ++i) w1[i] = (float)((int)(i * 7 % 31) - 15);
    for (i = 0; i < 48; ++i) w2[i] = (float)((int)(i * 11 % 23) - 11);
    for (i = 0; i < 8; ++i) x[i] = (float)i - 3;
    backend_desc = test_ref_desc();
    memset(from, 0, sizeof(from));
    memset(&node, 0, sizeof(node));
    CHECK_EQ(qnnrt_backend_open(&backend_desc, &ref, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(ref, NULL, &b, &err), QNNRT_OK);
    add_graph(b, "g");
    t = matrix("x", QNNRT_TENSOR_INPUT, 1, 8);
    in = qnnrt_builder_tensor(b, &t);
    from[0].from = w1;
    from[0].bytes = sizeof(w1);
    from[1].from = w2;
    from[1].bytes = sizeof(w2);
    for (i = 0; i < 2; ++i) {
        t = i == 0 ? matrix("w1", QNNRT_TENSOR_STATIC, 12, 8) : matrix("w2", kind, 4, 12);
        if (loaded) {
            t.load = load_source;
            t.load_user = &from[i];
        } else {
            t.data = from[i].from;
            t.bytes = from[i].bytes;
        }
        w[i] = qnnrt_builder_tensor(b, &t);
    }
    t = matrix("h", QNNRT_TENSOR_INNER, 1, 12);
    h = qnnrt_builder_tensor(b, &t);
    t = matrix("y", QNNRT_TENSOR_OUTPUT, 1, 4);
    out = qnnrt_builder_tensor(b, &t);
    ends[0] = in;
    ends[1] = w[0];
    node.type = "FullyConnected";
    node.inputs = ends;
    node.input_count = 2;
    node.outputs = &h;
    node.output_count = 1;
    CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_OK);
    CHECK_EQ(from[0].calls, 0);
    qnnrt_builder_node(b, &node);
    add_node(b, "second", "FullyConnected", h, w[1], out);
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK(built != NULL);
    for (i = 0; i < 2; ++i) {
        CHECK_EQ(from[i].calls, loaded);
        CHECK_EQ(from[i].wrong, 0);
    }
    CHECK(from[0].at == from[1].at);                /* one scratch buffer for both */
    CHECK_EQ(qnnrt_prepare(built, "g", &run, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, 8), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, 4), QNNRT_OK);
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(ref), QNNRT_OK);
}

TEST(loaded_weights_compute_like_given_ones)
{
    float given[4] = { 0 }, loaded[4] = { 0 };
    TRY(compute_two_layers(0, QNNRT_TENSOR_STATIC, given));
    TRY(compute_two_layers(1, QNNRT_TENSOR_STATIC, loaded));
    CHECK(given[0] != 0 && memcmp(given, loaded, sizeof(given)) == 0);
    memset(loaded, 0, sizeof(loaded));
    TRY(compute_two_layers(1, QNNRT_TENSOR_UPDATEABLE, loaded));
    CHECK(memcmp(given, loaded, sizeof(given)) == 0);
}

/* Add x + w = y with a loaded w, and n, which reads w, too. */
static void add_loaded(qnnrt_builder *b, const char *graph, source *from)
{
    qnnrt_tensor_desc t = tensor_desc("w", QNNRT_TENSOR_STATIC);
    qnnrt_tensor x, w, y, z;
    add_graph(b, graph);
    t.data = NULL;
    t.load = load_source;
    t.load_user = from;
    x = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
    w = qnnrt_builder_tensor(b, &t);
    y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
    z = add_tensor(b, "z", QNNRT_TENSOR_OUTPUT);
    add_node(b, "m", "Add", x, w, y);
    add_node(b, "n", "Add", w, x, z);
}

TEST(each_tensor_is_loaded_once_under_the_lock)
{
    source from;
    qnnrt_builder *b;
    qnnrt *built;
    memset(&from, 0, sizeof(from));
    from.from = four;
    from.bytes = sizeof(four);
    open_backend("", 0);
    b = builder_of(NULL);
    add_loaded(b, "g", &from);
    qnnrt_builder_context(b, NULL);
    add_loaded(b, "g2", &from);
    CHECK_EQ(from.calls, 0);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    CHECK_EQ(from.calls, 2);
    CHECK_EQ(from.depth, 1);
    CHECK_EQ(from.wrong, 0);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

TEST(an_error_of_load_ends_finish)
{
    static const struct { qnnrt_result result; const char *text, *hint; } errors[] = {
        { QNNRT_E_IO, "model.safetensors ends early", "Copy it again." }, { QNNRT_E_MEMORY, NULL, NULL },
        { (qnnrt_result)-999, "own code", NULL }
    };
    source from;
    qnnrt_builder *b;
    qnnrt *built;
    size_t i;
    for (i = 0; i < sizeof(errors) / sizeof(errors[0]); ++i) {
        memset(&from, 0, sizeof(from));
        from.from = four;
        from.bytes = sizeof(four);
        from.result = errors[i].result;
        from.text = errors[i].text;
        from.hint = errors[i].hint;
        open_backend("", 0);
        b = builder_of(NULL);
        add_loaded(b, "g", &from);
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), errors[i].result);
        CHECK_EQ(err.code, errors[i].result);
        CHECK(built == NULL);
        CHECK_STR(err.text, "graph \"g\": ");
        CHECK_STR(err.text, "tensor \"w\": ");
        CHECK_STR(err.text, errors[i].text != NULL ? errors[i].text : "QNNRT_E_MEMORY");
        if (errors[i].hint != NULL) CHECK_STR(err.hint, errors[i].hint);
        CHECK_EQ(from.calls, 1);
        CHECK(traced("Validate") == 0);
        CHECK(close_backend());
    }
}

/* What a builder told while it finished. */
static struct {
    int      calls, wrong, begun, ended, depth;
    size_t   nodes;
    uint64_t bytes;
    char     graphs[64];                 /* the initial letter of each graph that was finalized */
    qnnrt_build_progress last;
} told;

static void tell(void *user, const qnnrt_build_progress *at)
{
    const int began = told.begun > told.ended;
    told.wrong += user != &told || at->graph == NULL || at->nodes < told.nodes || at->bytes < told.bytes ||
                  at->nodes > at->node_count || at->bytes > at->byte_count || lock.depth != 1;
    ++told.calls;
    if (at->phase == QNNRT_BUILD_FILL) told.wrong += began || (at->nodes == told.nodes && at->bytes == told.bytes);
    else told.wrong += at->nodes != told.nodes || at->bytes != told.bytes;
    if (at->phase == QNNRT_BUILD_FINALIZE) { told.wrong += began; told.begun += 1; }
    if (at->phase == QNNRT_BUILD_FINALIZED) {
        told.wrong += !began;
        told.graphs[told.ended++] = at->graph != NULL ? at->graph[0] : '?';
    }
    told.nodes = at->nodes;
    told.bytes = at->bytes;
    told.last = *at;
}

TEST(finish_tells_how_far_it_is)
{
    source from;
    qnnrt_builder_desc desc;
    qnnrt_builder *b;
    qnnrt *built;
    memset(&from, 0, sizeof(from));
    memset(&told, 0, sizeof(told));
    memset(&desc, 0, sizeof(desc));
    from.from = four;
    from.bytes = sizeof(four);
    desc.progress = tell;
    desc.progress_user = &told;
    open_backend("", 0);
    b = builder_of(&desc);
    add_right(b, "a");                   /* 2 nodes */
    add_tensor(b, "w", QNNRT_TENSOR_STATIC);
    add_loaded(b, "b", &from);
    qnnrt_builder_context(b, NULL);
    add_loaded(b, "c", &from);
    CHECK_EQ(told.calls, 0);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    CHECK_EQ(told.wrong, 0);
    CHECK_EQ(told.calls, 6 + 3 + 2 * 3);
    CHECK_EQ(told.last.nodes, 6);
    CHECK_EQ(told.last.node_count, 6);
    CHECK_EQ(told.last.bytes, 48);
    CHECK_EQ(told.last.byte_count, 48);
    CHECK_EQ(told.begun, 3);
    CHECK_EQ(told.ended, 3);
    CHECK_STR(told.graphs, "abc");
    CHECK(qnnrt_builder_failed_node(b) == NULL && qnnrt_builder_failed_graph(b) == NULL);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

/* Set a flag in call number `at` of a builder. */
static struct { int calls, at; volatile int stop; } ending;

static void end_at(void *user, const qnnrt_build_progress *at)
{
    (void)user; (void)at;
    if (++ending.calls == ending.at) ending.stop = 1;
}

/* The flag ends the build at each of the 5 calls: 2 nodes, data of a tensor, before and after it is finalized. */
TEST(finish_ends_when_it_is_told_to)
{
    int at;
    for (at = 1; at <= 6; ++at) {
        qnnrt_builder_desc desc;
        qnnrt_builder *b;
        qnnrt *built = NULL;
        memset(&desc, 0, sizeof(desc));
        desc.progress = end_at;
        desc.stop = &ending.stop;
        ending.calls = ending.stop = 0;
        ending.at = at;
        open_backend("", 0);
        b = builder_of(&desc);
        add_right(b, "a");
        add_tensor(b, "w", QNNRT_TENSOR_STATIC);
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), at <= 5 ? QNNRT_E_CANCELLED : QNNRT_OK);
        if (at <= 5) CHECK_STR(err.text, "graph \"a\": desc.stop ended the build after");
        CHECK_EQ(built == NULL, at <= 5);
        CHECK_EQ(ending.calls, at <= 5 ? at : 5);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
}

/* Hooks that count the bytes that are allocated at a time. */
static struct { size_t now, most, calls; } taken;

static void *take(void *user, size_t bytes)
{
    size_t *data = (size_t *)malloc(bytes + 16);
    (void)user;
    if (data == NULL) return NULL;
    *data = bytes;
    taken.calls += 1;
    taken.now += bytes;
    if (taken.now > taken.most) taken.most = taken.now;
    return (char *)data + 16;
}

static void give(void *user, void *data)
{
    size_t *from = (size_t *)(void *)((char *)data - 16);
    (void)user;
    taken.now -= *from;
    free(from);
}

/* Return how many bytes finish adds at most, with `count` loaded tensors of 1 MiB and one of 3 MiB. */
static size_t finish_takes(int count)
{
    static float ones_of_3_mib[3 << 18];
    source from;
    qnnrt_backend_desc desc;
    qnnrt_backend *own = NULL;
    qnnrt_builder *b = NULL;
    qnnrt *built = NULL;
    size_t before;
    int i;
    memset(&from, 0, sizeof(from));
    memset(&desc, 0, sizeof(desc));
    memset(&taken, 0, sizeof(taken));
    from.from = ones_of_3_mib;
    desc.path = TEST_FAKE_LIB;
    desc.hooks.alloc = take;
    desc.hooks.free = give;
    fake_begin("");
    if (qnnrt_backend_open(&desc, &own, &err) != QNNRT_OK || qnnrt_builder_create(own, NULL, &b, &err) != QNNRT_OK) return 0;
    add_right(b, "g");
    for (i = 0; i <= count; ++i) {
        char name[16];
        qnnrt_tensor_desc t;
        snprintf(name, sizeof(name), "w%d", i);
        t = matrix(name, QNNRT_TENSOR_STATIC, i == 1 ? 3 : 1, 1 << 18);
        t.load = load_source;
        t.load_user = &from;
        qnnrt_builder_tensor(b, &t);
    }
    before = taken.now;
    taken.most = 0;
    if (before > 1 << 20 || qnnrt_builder_finish(b, &built, &err) != QNNRT_OK || from.calls != count + 1) return 0;
    if (taken.now > before + (1 << 20)) return 0;       /* the scratch buffer is free again */
    qnnrt_close(built);
    qnnrt_backend_close(own);
    return taken.now == 0 ? taken.most - before : 0;
}

TEST(one_loaded_tensor_is_in_memory_at_a_time)
{
    const size_t two = finish_takes(2), many = finish_takes(40);
    CHECK(two > 3 << 20 && two < (3 << 20) + (1 << 19));
    CHECK(many > 3 << 20 && many < (3 << 20) + (1 << 19));
}

/* libQnnRef.so checks what needs no data: a loaded weight may have a scale per channel, and loaded
   indices are not read. */
TEST(supports_asks_about_tensors_that_are_not_loaded)
{
    static const float scales[4] = { 1, 2, 3, 4 };
    source from;
    qnnrt_backend *ref = NULL;
    qnnrt_tensor_desc t;
    qnnrt_tensor ends[2], out;
    qnnrt_node_desc node;
    qnnrt_param_desc axis;
    qnnrt_builder *b;
    int kind;
    CHECK_EQ(test_ref_backend(&ref, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(ref, NULL, &b, &err), QNNRT_OK);
    add_graph(b, "g");
    memset(&from, 0, sizeof(from));
    for (kind = 0; kind < 2; ++kind) {
        t = matrix(kind ? "x" : "x2", QNNRT_TENSOR_INPUT, 1, 8);
        t.dtype = QNNRT_DTYPE_U8Q;
        t.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
        t.quant.scale = 1;
        ends[0] = qnnrt_builder_tensor(b, &t);
        t.name = kind ? "y" : "y2";
        t.kind = QNNRT_TENSOR_OUTPUT;
        t.dims[1] = 4;
        out = qnnrt_builder_tensor(b, &t);
        t = matrix(kind ? "w" : "w2", QNNRT_TENSOR_STATIC, 4, 8);
        t.dtype = QNNRT_DTYPE_S8Q;
        t.quant.encoding = QNNRT_ENCODING_PER_AXIS;
        t.quant.count = kind ? 4 : 8;
        t.quant.axis = kind ? 0 : 1;
        t.quant.scales = kind ? scales : ones;
        t.load = load_source;
        t.load_user = &from;
        ends[1] = qnnrt_builder_tensor(b, &t);
        memset(&node, 0, sizeof(node));
        node.type = "FullyConnected";
        node.inputs = ends;
        node.input_count = 2;
        node.outputs = &out;
        node.output_count = 1;
        /* along the inputs, which no library takes */
        CHECK_EQ(qnnrt_builder_supports(b, &node, &err), kind ? QNNRT_OK : QNNRT_E_UNSUPPORTED);
    }
    t = matrix("table", QNNRT_TENSOR_STATIC, 4, 8);
    t.load = load_source;
    t.load_user = &from;
    ends[0] = qnnrt_builder_tensor(b, &t);
    t = tensor_desc("indices", QNNRT_TENSOR_STATIC);
    t.dtype = QNNRT_DTYPE_I32;
    t.data = NULL;
    t.load = load_source;
    t.load_user = &from;
    ends[1] = qnnrt_builder_tensor(b, &t);
    t = matrix("rows", QNNRT_TENSOR_OUTPUT, 4, 8);
    out = qnnrt_builder_tensor(b, &t);
    memset(&axis, 0, sizeof(axis));
    axis.name = "axis";
    axis.dtype = QNNRT_DTYPE_I32;
    node.type = "Gather";
    node.params = &axis;
    node.param_count = 1;
    CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_OK);
    CHECK_EQ(from.calls, 0);
    qnnrt_builder_destroy(b);
    CHECK_EQ(qnnrt_backend_close(ref), QNNRT_OK);
}

TEST(several_contexts_are_wired_as_shards)
{
    qnnrt_builder *b;
    qnnrt_context_desc context;
    qnnrt *built;
    const qnnrt_pipeline *pipeline;
    size_t i;
    open_backend("", 0);
    b = builder_of(NULL);
    for (i = 0; i < 3; ++i) {
        qnnrt_tensor in, out;
        char name[16];
        memset(&context, 0, sizeof(context));
        snprintf(name, sizeof(name), "shard %u", (unsigned)i);
        context.name = name;
        qnnrt_builder_context(b, &context);
        add_graph(b, "decode");
        snprintf(name, sizeof(name), "hidden_%u", (unsigned)i);
        in = add_tensor(b, name, QNNRT_TENSOR_INPUT);
        snprintf(name, sizeof(name), "hidden_%u", (unsigned)i + 1);
        out = add_tensor(b, name, QNNRT_TENSOR_OUTPUT);
        add_node(b, NULL, "Relu", in, QNNRT_NO_TENSOR, out);
        add_right(b, i == 1 ? "other" : "rest");
    }
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    CHECK_STR(qnnrt_get_info(built)->contexts[1].file, "shard 1");
    CHECK_EQ(qnnrt_get_info(built)->context_count, 3);
    CHECK_EQ(qnnrt_pipeline_find(built, "decode", &pipeline, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_pipeline_get_info(pipeline)->step_count, 3);
    CHECK_EQ(qnnrt_pipeline_get_info(pipeline)->edge_count, 2);
    CHECK_EQ(qnnrt_pipeline_find(built, "1/other", &pipeline, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

TEST(parameters_arrive_as_given)
{
    static const uint32_t axes[2] = { 0, 1 };
    static const struct { qnnrt_dtype dtype; double value; const char *line; } scalars[] = {
        { QNNRT_DTYPE_BOOL8, 1, "scalar p 508 1\n" },       { QNNRT_DTYPE_I32, -2, "scalar p 32 fffffffffffffffe\n" },
        { QNNRT_DTYPE_U32, 4294967295.0, "scalar p 132 ffffffff\n" }, { QNNRT_DTYPE_F32, 1, "scalar p 232 3f800000\n" },
        { QNNRT_DTYPE_F32, INFINITY, "scalar p 232 7f800000\n" }, { QNNRT_DTYPE_F64, 0.5, "scalar p 264 3fe0000000000000\n" },
        { QNNRT_DTYPE_I64, -9223372036854775808.0, "scalar p 64 8000000000000000\n" },
        { QNNRT_DTYPE_U8, 255, "scalar p 108 ff\n" },       { QNNRT_DTYPE_I8, -128, "scalar p 8 ffffffffffffff80\n" }
    };
    size_t i, k;
    for (i = 0; i < sizeof(scalars) / sizeof(scalars[0]); ++i) {
        qnnrt_builder *b;
        qnnrt_tensor in[3], out;
        qnnrt_param_desc params[3];
        qnnrt_node_desc node;
        qnnrt *built;
        open_backend("", 0);
        b = builder_of(NULL);
        add_graph(b, "g");
        memset(params, 0, sizeof(params));
        memset(&node, 0, sizeof(node));
        in[0] = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
        /* An input that is left out, before another one. */
        in[1] = QNNRT_NO_TENSOR;
        in[2] = add_tensor(b, "w", QNNRT_TENSOR_STATIC);
        out = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
        params[0].name = "p";
        params[0].dtype = scalars[i].dtype;
        params[0].value = scalars[i].value;
        params[1].name = "axes";
        params[1].dtype = QNNRT_DTYPE_U32;
        params[1].data = axes;
        params[1].rank = 8;
        for (k = 0; k < 8; ++k) params[1].dims[k] = k == 7 ? 2 : 1;
        params[2].name = "w";
        params[2].tensor = in[2];
        node.type = "Op";
        node.inputs = in;
        node.input_count = 3;
        node.outputs = &out;
        node.output_count = 1;
        node.params = params;
        node.param_count = 3;
        qnnrt_builder_node(b, &node);
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
        CHECK(traced(scalars[i].line) != 0);
        CHECK(traced("node Op_0 Op") != 0);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
}

/* Build two shards. The cut has one scale on one side and one scale per channel on the other,
   all equal: the shards are not joined, and the text has both encodings. */
TEST(per_axis_against_per_tensor_is_not_joined)
{
    static const float scales[4] = { 0.5f, 0.5f, 0.5f, 0.5f };
    int axis;                              /* bit i: the cut on side i has an encoding per axis */
    for (axis = 0; axis < 4; ++axis) {
        const int joined = axis == 0 || axis == 3;
        const qnnrt_pipeline *pipeline = NULL;
        qnnrt_builder *b;
        qnnrt *built;
        int i;
        open_backend("", 0);
        b = builder_of(NULL);
        for (i = 0; i < 2; ++i) {
            qnnrt_tensor_desc cut = tensor_desc("cut", i == 0 ? QNNRT_TENSOR_OUTPUT : QNNRT_TENSOR_INPUT);
            qnnrt_tensor tensor, other;
            cut.dtype = QNNRT_DTYPE_S8Q;
            cut.quant.encoding = axis >> i & 1 ? QNNRT_ENCODING_PER_AXIS : QNNRT_ENCODING_PER_TENSOR;
            cut.quant.scale = 0.5f;
            if (axis >> i & 1) {
                cut.quant.count = 4;
                cut.quant.scales = scales;
            }
            qnnrt_builder_context(b, NULL);
            add_graph(b, "decode");
            tensor = qnnrt_builder_tensor(b, &cut);
            other = add_tensor(b, i == 0 ? "x" : "y", i == 0 ? QNNRT_TENSOR_INPUT : QNNRT_TENSOR_OUTPUT);
            add_node(b, NULL, "Relu", i == 0 ? other : tensor, QNNRT_NO_TENSOR, i == 0 ? tensor : other);
        }
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_pipeline_find(built, "decode", &pipeline, &err), joined ? QNNRT_OK : QNNRT_E_MISMATCH);
        CHECK_EQ(pipeline != NULL, joined);
        if (!joined) {
            CHECK_STR(err.text, "\"cut\"");
            CHECK_STR(err.text, "scale 0.5");
            CHECK_STR(err.text, "4 scales");
        }
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
}

TEST(encodings_arrive_as_given)
{
    static const float scales[4] = { 0.5f, 0.25f, 2, 1 };
    static const int32_t offsets[4] = { 0, -1, 2, 3 };
    static const unsigned char codes[4] = { 1, 2, 3, 4 };
    qnnrt_builder *b;
    qnnrt_tensor_desc t;
    qnnrt_tensor in[5], y;
    qnnrt *built;
    size_t bytes, i;
    char *text;
    open_backend("", 0);
    b = builder_of(NULL);
    add_graph(b, "g");
    for (i = 0; i < 5; ++i) {
        char name[8];
        t = tensor_desc(name, QNNRT_TENSOR_INPUT);
        snprintf(name, sizeof(name), "x%u", (unsigned)i);
        t.dtype = QNNRT_DTYPE_S8Q;
        t.quant.encoding = i < 2 ? QNNRT_ENCODING_PER_TENSOR : QNNRT_ENCODING_PER_AXIS;
        t.quant.scale = 0.125f;
        t.quant.offset = -3;
        t.quant.bitwidth = i == 1 || i == 3 ? 4 : i == 4 ? 8 : 0;
        t.quant.count = 4;
        t.quant.scales = scales;
        t.quant.offsets = i == 2 ? NULL : offsets;
        in[i] = qnnrt_builder_tensor(b, &t);
    }
    y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
    add_node(b, "n", "Op", in[0], in[1], y);
    (void)codes;
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_save_memory(built, 0, NULL, 0, &bytes, &err), QNNRT_OK);
    text = (char *)calloc(1, bytes + 1);
    CHECK_EQ(qnnrt_save_memory(built, 0, text, bytes, &bytes, &err), QNNRT_OK);
    CHECK_STR(text, "in x0 1 0308 1 4 s 0.125 -3\n");
    CHECK_STR(text, "in x1 2 0308 1 4 b 4 0.125 -3\n");
    CHECK_STR(text, "in x2 3 0308 1 4 a 0 4 0.5 0 0.25 0 2 0 1 0\n");
    CHECK_STR(text, "in x3 4 0308 1 4 w 4 0 4 0.5 0 0.25 -1 2 2 1 3\n");
    /* 8 bits of an 8-bit type: a plain encoding per axis. */
    CHECK_STR(text, "in x4 5 0308 1 4 a 0 4 0.5 0 0.25 -1 2 2 1 3\n");
    free(text);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

/* ---- what is refused, before the vendor is asked ------------------------------------------------- */

/* Each test gets a builder with graph "g" and tensors x (INPUT), w (STATIC), h (INNER), y
   (OUTPUT), and makes one mistake. If it does not use h and y, the node that completes the graph
   is added. */
static qnnrt_tensor x_, w_, h_, y_;

static void with_tensor(qnnrt_builder *b, qnnrt_tensor_desc t) { qnnrt_builder_tensor(b, &t); }
static void with_param(qnnrt_builder *b, const qnnrt_param_desc *params, size_t count)
{
    qnnrt_node_desc node;
    memset(&node, 0, sizeof(node));
    node.name = "n";
    node.type = "Op";
    node.inputs = &x_;
    node.input_count = 1;
    node.outputs = &h_;
    node.output_count = 1;
    node.params = params;
    node.param_count = count;
    qnnrt_builder_node(b, &node);
}
static void scalar(qnnrt_builder *b, qnnrt_dtype dtype, double value)
{
    qnnrt_param_desc p;
    memset(&p, 0, sizeof(p));
    p.name = "p";
    p.dtype = dtype;
    p.value = value;
    with_param(b, &p, 1);
}

static const float negative[8] = { 1, -1, 1, 1, 1, 1, 1, 1 };
static const uint8_t times_1[4] = { 1, 1, 1, 1 }, times_0[4] = { 1, 1, 0, 1 }, times_16[4] = { 1, 1, 1, 16 };

/* Return a value that the compiler does not know: it warns of numbers that an enum does not have. */
static int number(int value)
{
    return value;
}

/* TENSOR(f, change): f() adds a STATIC tensor "t" after that change of its descriptor. CODED: of
   sfixed8; BLOCKED: of [2, 4], with a valid block encoding k. */
#define TENSOR(name, change) \
    static void name(qnnrt_builder *b) \
    { \
        qnnrt_tensor_desc t = tensor_desc("t", QNNRT_TENSOR_STATIC); \
        change; \
        with_tensor(b, t); \
    }
#define CODED(name, change) TENSOR(name, t.dtype = QNNRT_DTYPE_S8Q; t.bytes = 4; change)
static qnnrt_blocks blocked(qnnrt_tensor_desc *t)
{
    qnnrt_blocks k;
    memset(&k, 0, sizeof(k));
    k.form = QNNRT_BLOCK_EXPANSION;
    k.block_axis = 1;
    k.block = 2;
    k.scales = ones;
    k.multipliers = times_1;
    t->dtype = QNNRT_DTYPE_S8Q;
    t->rank = 2;
    t->dims[0] = 2;
    t->dims[1] = 4;
    t->bytes = 8;
    return k;
}
#define BLOCKED(name, change) TENSOR(name, qnnrt_blocks k = blocked(&t); t.blocks = &k; change)
TENSOR(empty_name, t.name = "")
TENSOR(taken_name, t.name = "x")
TENSOR(no_kind, t.kind = (qnnrt_tensor_kind)0)
TENSOR(wrong_kind, t.kind = (qnnrt_tensor_kind)number(8))
TENSOR(rank_0, t.rank = 0)
TENSOR(rank_9, t.rank = 9)
TENSOR(dim_0, t.rank = 2)
TENSOR(no_dtype, t.dtype = (qnnrt_dtype)0)
TENSOR(text_dtype, t.dtype = QNNRT_DTYPE_STRING)
TENSOR(too_large, t.kind = QNNRT_TENSOR_INNER; t.data = NULL; t.bytes = 0; t.rank = 2; t.dims[0] = 65536; t.dims[1] = 16384)
TENSOR(overflow, t.rank = 3; t.dims[0] = t.dims[1] = t.dims[2] = UINT32_MAX)
TENSOR(no_data, t.data = NULL)
TENSOR(few_bytes, t.bytes = 15)
TENSOR(data_of_input, t.kind = QNNRT_TENSOR_INPUT)
TENSOR(bytes_of_input, t.kind = QNNRT_TENSOR_INPUT; t.data = NULL)
TENSOR(load_and_data, t.load = load_source)
TENSOR(load_bytes, t.load = load_source; t.data = NULL; t.bytes = 15)
TENSOR(load_of_input, t.kind = QNNRT_TENSOR_INPUT; t.load = load_source; t.data = NULL; t.bytes = 0)
TENSOR(load_too_large, t.load = load_source; t.data = NULL; t.bytes = 0; t.rank = 2; t.dims[0] = 65536; t.dims[1] = 16384)
TENSOR(float_with_scale, t.quant.encoding = QNNRT_ENCODING_PER_TENSOR; t.quant.scale = 1)
CODED(no_encoding, (void)0)
CODED(no_encoding_s16, t.dtype = QNNRT_DTYPE_S16Q; t.bytes = 8)
CODED(no_encoding_u16, t.dtype = QNNRT_DTYPE_U16Q; t.bytes = 8)
CODED(no_encoding_of_input, t.kind = QNNRT_TENSOR_INPUT; t.data = NULL; t.bytes = 0)
CODED(no_encoding_of_inner, t.kind = QNNRT_TENSOR_INNER; t.data = NULL; t.bytes = 0)
CODED(scale_0_s16, t.dtype = QNNRT_DTYPE_S16Q; t.bytes = 8; t.quant.encoding = QNNRT_ENCODING_PER_TENSOR)
CODED(other_encoding, t.quant.encoding = QNNRT_ENCODING_OTHER)
CODED(scale_0, t.quant.encoding = QNNRT_ENCODING_PER_TENSOR)
CODED(scale_nan, t.quant.encoding = QNNRT_ENCODING_PER_TENSOR; t.quant.scale = (float)NAN)
CODED(scale_infinite, t.quant.encoding = QNNRT_ENCODING_PER_TENSOR; t.quant.scale = (float)INFINITY)
CODED(bitwidth_9, t.quant.encoding = QNNRT_ENCODING_PER_TENSOR; t.quant.scale = 1; t.quant.bitwidth = 9)
CODED(axis_behind, t.quant.encoding = QNNRT_ENCODING_PER_AXIS; t.quant.axis = 1; t.quant.count = 4; t.quant.scales = four)
CODED(axis_negative, t.quant.encoding = QNNRT_ENCODING_PER_AXIS; t.quant.axis = -1; t.quant.count = 4; t.quant.scales = four)
CODED(axis_count, t.quant.encoding = QNNRT_ENCODING_PER_AXIS; t.quant.count = 3; t.quant.scales = four)
CODED(axis_no_scales, t.quant.encoding = QNNRT_ENCODING_PER_AXIS; t.quant.count = 4)
CODED(axis_scale_negative, t.quant.encoding = QNNRT_ENCODING_PER_AXIS; t.quant.count = 4; t.quant.scales = negative)
BLOCKED(blocks_and_quant, t.quant.encoding = QNNRT_ENCODING_PER_TENSOR; t.quant.scale = 1)
BLOCKED(blocks_form, k.form = (qnnrt_block_form)3)
BLOCKED(blocks_wide, t.dtype = QNNRT_DTYPE_S16Q; t.bytes = 16)
BLOCKED(blocks_axis, k.axis = 2)
BLOCKED(blocks_block_axis, k.block_axis = 0)
BLOCKED(blocks_axis_negative, k.axis = -1)
BLOCKED(blocks_block_axis_negative, k.block_axis = -1)
BLOCKED(blocks_block_axis_behind, k.block_axis = 2)
BLOCKED(blocks_zero, k.block = 0)
BLOCKED(blocks_divide, k.block = 3)
BLOCKED(blocks_no_scales, k.scales = NULL)
BLOCKED(blocks_scale, k.scales = negative)
BLOCKED(blocks_no_multipliers, k.multipliers = NULL)
BLOCKED(blocks_multiplier_0, k.multipliers = times_0)
BLOCKED(blocks_multiplier_16, k.multipliers = times_16)
BLOCKED(blocks_plain_multipliers, k.form = QNNRT_BLOCK_PLAIN)
static const float infinite[4] = { 1, -1, 0, HUGE_VALF }, no_number[4] = { NAN, -1, 0, 1 };
static const signed char code_8[8] = { -8, 7, 0, 8 }, code_9[8] = { -8, 7, 0, 0, 0, 0, 0, -9 };
BLOCKED(blocks_unsigned, t.dtype = QNNRT_DTYPE_U8Q)
BLOCKED(blocks_infinite, k.form = QNNRT_BLOCK_PLAIN; k.multipliers = NULL; k.scales = infinite)
BLOCKED(blocks_nan, k.form = QNNRT_BLOCK_PLAIN; k.multipliers = NULL; k.scales = no_number)
BLOCKED(blocks_code, k.form = QNNRT_BLOCK_PLAIN; k.multipliers = NULL; k.scales = negative; t.data = code_8)
BLOCKED(blocks_expansion_code, t.data = code_9)
TENSOR(blocks_of_floats, qnnrt_blocks k; memset(&k, 0, sizeof(k)); t.blocks = &k)

static void null_tensor(qnnrt_builder *b) { qnnrt_builder_tensor(b, NULL); }
static void null_node(qnnrt_builder *b) { qnnrt_builder_node(b, NULL); }
static void null_graph(qnnrt_builder *b) { qnnrt_builder_graph(b, NULL); }
static void unnamed_graph(qnnrt_builder *b) { add_graph(b, NULL); }
static void same_graph(qnnrt_builder *b) { add_graph(b, "g"); }
static void empty_graph(qnnrt_builder *b) { add_graph(b, "second"); }
static void graph_priority(qnnrt_builder *b)
{
    qnnrt_graph_desc d;
    memset(&d, 0, sizeof(d));
    d.name = "second";
    d.priority = (qnnrt_priority)5;
    qnnrt_builder_graph(b, &d);
}
static void graph_level(qnnrt_builder *b)
{
    qnnrt_graph_desc d;
    memset(&d, 0, sizeof(d));
    d.name = "second";
    d.optimization_level = 4;
    qnnrt_builder_graph(b, &d);
}
static void context_priority(qnnrt_builder *b)
{
    qnnrt_context_desc d;
    memset(&d, 0, sizeof(d));
    d.priority = (qnnrt_priority)7;
    qnnrt_builder_context(b, &d);
}
static void context_without_graph(qnnrt_builder *b) { qnnrt_builder_context(b, NULL); }
static void tensor_of_no_graph(qnnrt_builder *b) { qnnrt_builder_context(b, NULL); add_tensor(b, "t", QNNRT_TENSOR_INPUT); }
static void node_of_no_graph(qnnrt_builder *b) { qnnrt_builder_context(b, NULL); add_node(b, "n", "Op", x_, x_, h_); }
static void no_type(qnnrt_builder *b) { add_node(b, "n", NULL, x_, x_, h_); }
static void empty_node_name(qnnrt_builder *b) { add_node(b, "", "Op", x_, x_, h_); }
static void same_node(qnnrt_builder *b) { add_node(b, "n", "Op", x_, x_, h_); add_node(b, "n", "Op", x_, x_, y_); }
static void negative_handle(qnnrt_builder *b) { add_node(b, "n", "Op", -1, x_, h_); }
static void wild_handle(qnnrt_builder *b) { add_node(b, "n", "Op", x_, 99, h_); }
static void foreign_handle(qnnrt_builder *b) { add_node(b, "m", "Op", x_, x_, y_); add_graph(b, "second"); add_node(b, "n", "Op", x_, x_, h_); }
static void output_left_out(qnnrt_builder *b) { add_node(b, "n", "Op", x_, x_, QNNRT_NO_TENSOR); }
static void output_is_input(qnnrt_builder *b) { add_node(b, "n", "Op", w_, w_, x_); }
static void output_is_static(qnnrt_builder *b) { add_node(b, "n", "Op", x_, x_, w_); }
static void written_twice(qnnrt_builder *b) { add_node(b, "m", "Op", x_, x_, h_); add_node(b, "n", "Op", x_, x_, h_); }
static void outputs(qnnrt_builder *b, const qnnrt_tensor *list, size_t count)
{
    qnnrt_node_desc node;
    memset(&node, 0, sizeof(node));
    node.name = "n";
    node.type = "Op";
    node.inputs = &x_;
    node.input_count = 1;
    node.outputs = list;
    node.output_count = count;
    qnnrt_builder_node(b, &node);
}
static void no_outputs(qnnrt_builder *b) { outputs(b, &h_, 0); }
static void null_outputs(qnnrt_builder *b) { outputs(b, NULL, 1); }
static void one_output_twice(qnnrt_builder *b) { qnnrt_tensor twice[2]; twice[0] = twice[1] = h_; outputs(b, twice, 2); }
static void null_inputs(qnnrt_builder *b)
{
    qnnrt_node_desc node;
    memset(&node, 0, sizeof(node));
    node.name = "n";
    node.type = "Op";
    node.input_count = 2;
    node.outputs = &h_;
    node.output_count = 1;
    qnnrt_builder_node(b, &node);
}
static void many_outputs(qnnrt_builder *b) { outputs(b, (const qnnrt_tensor *)&heap, 1000001); }
static void many_inputs(qnnrt_builder *b)
{
    qnnrt_node_desc node;
    memset(&node, 0, sizeof(node));
    node.name = "n";
    node.type = "Op";
    node.inputs = (const qnnrt_tensor *)&heap;
    node.input_count = 1000001;
    node.outputs = &h_;
    node.output_count = 1;
    qnnrt_builder_node(b, &node);
}
static void null_params(qnnrt_builder *b) { with_param(b, NULL, 1); }
static void unnamed_param(qnnrt_builder *b) { qnnrt_param_desc p; memset(&p, 0, sizeof(p)); with_param(b, &p, 1); }
static void empty_param(qnnrt_builder *b) { qnnrt_param_desc p; memset(&p, 0, sizeof(p)); p.name = ""; with_param(b, &p, 1); }
static void two_params(qnnrt_builder *b)
{
    qnnrt_param_desc p[2];
    memset(p, 0, sizeof(p));
    p[0].name = p[1].name = "p";
    p[0].dtype = p[1].dtype = QNNRT_DTYPE_U32;
    with_param(b, p, 2);
}
static void many_params(qnnrt_builder *b) { with_param(b, (const qnnrt_param_desc *)&heap, SIZE_MAX); }
static void long_param(qnnrt_builder *b)
{
    static char name[1026];
    qnnrt_param_desc p;
    memset(&p, 0, sizeof(p));
    memset(name, 'p', sizeof(name) - 1);
    p.name = name;
    p.dtype = QNNRT_DTYPE_F32;
    with_param(b, &p, 1);
}
static void u32_negative(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_U32, -1); }
static void u32_fraction(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_U32, 1.5); }
static void u32_large(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_U32, 4294967296.0); }
static void i32_large(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_I32, 2147483648.0); }
static void i32_fraction(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_I32, -0.5); }
static void f64_nan(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_F64, NAN); }
static void bool_half(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_BOOL8, 0.5); }
static void packed_scalar(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_U4, 1); }
static void unknown_scalar(qnnrt_builder *b) { scalar(b, (qnnrt_dtype)0x999, 1); }
static void i8_small(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_I8, -129); }
static void u64_large(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_U64, 18446744073709551616.0); }
static void bool_2(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_BOOL8, 2); }
static void f32_large(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_F32, 1e39); }
static void f32_nan(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_F32, NAN); }
static void untyped_scalar(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_UNDEFINED, 1); }
static void half_scalar(qnnrt_builder *b) { scalar(b, QNNRT_DTYPE_F16, 1); }
static void tensor_param(qnnrt_builder *b, qnnrt_param_desc p) { p.name = "p"; with_param(b, &p, 1); }
#define PARAM(name, change) \
    static void name(qnnrt_builder *b) \
    { qnnrt_param_desc p; memset(&p, 0, sizeof(p)); p.dtype = QNNRT_DTYPE_F32; p.data = four; p.rank = 1; p.dims[0] = 4; change; tensor_param(b, p); }
PARAM(param_both, p.tensor = w_)
PARAM(param_rank_alone, p.data = NULL)
PARAM(param_input, p.data = NULL; p.rank = 0; p.tensor = x_)
PARAM(param_foreign, p.data = NULL; p.rank = 0; p.tensor = 77)
static qnnrt_tensor add_load(qnnrt_builder *b)
{
    qnnrt_tensor_desc t = tensor_desc("l", QNNRT_TENSOR_STATIC);
    t.data = NULL;
    t.load = load_source;
    return qnnrt_builder_tensor(b, &t);
}
PARAM(param_loaded, p.data = NULL; p.rank = 0; p.tensor = add_load(b))
PARAM(param_rank_9, p.rank = 9)
PARAM(param_dim_0, p.rank = 2)
PARAM(param_coded, p.dtype = QNNRT_DTYPE_S8Q)
PARAM(param_taken, add_tensor(b, "n/p", QNNRT_TENSOR_INNER))
static void nothing(qnnrt_builder *b) { (void)b; }
static void h_unwritten(qnnrt_builder *b) { add_node(b, "n", "Op", x_, h_, y_); }
static void itself(qnnrt_builder *b) { add_node(b, "n", "Op", x_, h_, h_); add_node(b, "m", "Op", h_, x_, y_); }
static void cycle(qnnrt_builder *b)
{
    const qnnrt_tensor k = add_tensor(b, "k", QNNRT_TENSOR_INNER);
    const qnnrt_tensor l = add_tensor(b, "l", QNNRT_TENSOR_INNER);
    add_node(b, "first", "Op", x_, x_, l);
    add_node(b, "one", "Op", k, l, h_);
    add_node(b, "two", "Op", h_, l, y_);
    add_node(b, "three", "Op", y_, l, k);
}
static void long_cycle(qnnrt_builder *b)
{
    qnnrt_tensor from = add_tensor(b, "t0", QNNRT_TENSOR_INNER), to;
    const qnnrt_tensor first = from;
    char name[24];
    int i;
    for (i = 1; i <= 20; ++i, from = to) {
        snprintf(name, sizeof(name), "t%d", i);
        to = i == 20 ? first : add_tensor(b, name, QNNRT_TENSOR_INNER);
        snprintf(name, sizeof(name), "n%d", i);
        add_node(b, name, "Op", from, x_, to);
    }
    add_node(b, "last", "Op", first, x_, y_);
}
static void cycle_behind(qnnrt_builder *b)      /* the first node only reads from the cycle */
{
    const qnnrt_tensor k = add_tensor(b, "k", QNNRT_TENSOR_INNER);
    add_node(b, "reader", "Op", k, x_, y_);
    add_node(b, "one", "Op", h_, x_, k);
    add_node(b, "two", "Op", k, x_, h_);
}
static void dlc_empty(qnnrt_builder *b) { qnnrt_builder_dlc(b, "", NULL); }
static void dlc_binary(qnnrt_builder *b) { qnnrt_builder_dlc(b, "tests/data/ctx/qairt2.51/mlp_u8/forward_0.bin", NULL); }
static void dlc_null(qnnrt_builder *b) { qnnrt_builder_dlc(b, NULL, NULL); }
static void dlc_absent(qnnrt_builder *b) { qnnrt_builder_dlc(b, "/no/such.dlc", NULL); }
static void dlc_folder(qnnrt_builder *b) { qnnrt_builder_dlc(b, "/", NULL); }
static void dlc_other(qnnrt_builder *b) { qnnrt_builder_dlc(b, TEST_FAKE_LIB, NULL); }

static const struct mistake { const char *what; void (*make)(qnnrt_builder *); qnnrt_result result; const char *words[3]; } mistakes[] = {
#define M(name, result, ...) { #name, name, QNNRT_E_##result, { __VA_ARGS__ } }
    M(empty_name, ARG, "no name"), M(taken_name, ARG, "two tensors are named \"x\""),
    M(no_kind, ARG, "tensor \"t\"", "kind 0"), M(wrong_kind, ARG, "kind 8"), M(rank_0, ARG, "\"t\"", "rank 0", "[1]"), M(rank_9, ARG, "rank 9"),
    M(dim_0, ARG, "\"t\"", "dimension of 0"), M(no_dtype, ARG, "dtype 0x0"), M(text_dtype, ARG, "0x608"), M(too_large, LIMIT, "\"t\"", "4 GiB", "split it"),
    M(overflow, LIMIT, "4 GiB"), M(no_data, ARG, "\"t\"", "needs 16 bytes", "NULL"), M(few_bytes, ARG, "needs 16 bytes", "got 15"),
    M(data_of_input, ARG, "\"t\"", "data", "STATIC"), M(bytes_of_input, ARG, "data", "STATIC"),
    M(load_and_data, ARG, "\"t\"", "both data and load"), M(load_bytes, ARG, "\"t\"", "needs 16 bytes", "got 15"),
    M(load_of_input, ARG, "\"t\"", "STATIC"), M(load_too_large, LIMIT, "\"t\"", "4 GiB"), M(param_loaded, ARG, "\"p\"", "\"l\"", "load"),
    M(float_with_scale, ARG, "\"t\" (float32)", "no encoding"),
    M(no_encoding, ARG, "(sfixed8)", "needs an encoding"), M(no_encoding_s16, ARG, "(sfixed16)", "needs an encoding"), M(no_encoding_u16, ARG, "(ufixed16)", "needs an encoding"),
    M(no_encoding_of_input, ARG, "needs an encoding"), M(no_encoding_of_inner, ARG, "needs an encoding"), M(scale_0_s16, ARG, "(sfixed16)", "scale"), M(other_encoding, ARG, "needs an encoding"), M(scale_0, ARG, "scale"),
    M(scale_nan, ARG, "scale"), M(scale_infinite, ARG, "scale"), M(bitwidth_9, ARG, "bitwidth"), M(axis_behind, ARG, "axis is outside"),
    M(axis_negative, ARG, "axis is outside"), M(axis_count, ARG, "number of scales"), M(axis_no_scales, ARG, "missing"),
    M(axis_scale_negative, ARG, "a scale of the axis"), M(blocks_and_quant, ARG, "both quant and blocks"), M(blocks_form, ARG, "blocks.form"),
    M(blocks_wide, ARG, "one per byte"), M(blocks_axis, ARG, "blocks.axis"), M(blocks_block_axis, ARG, "blocks.block_axis"), M(blocks_axis_negative, ARG, "blocks.axis"),
    M(blocks_block_axis_negative, ARG, "blocks.block_axis"), M(blocks_block_axis_behind, ARG, "blocks.block_axis"), M(blocks_zero, ARG, "does not divide"),
    M(blocks_divide, ARG, "does not divide"), M(blocks_no_scales, ARG, "blocks.scales"), M(blocks_scale, ARG, "not positive"),
    M(blocks_no_multipliers, ARG, "blocks.multipliers"), M(blocks_multiplier_0, ARG, "1 to 15"), M(blocks_multiplier_16, ARG, "1 to 15"),
    M(blocks_unsigned, ARG, "(ufixed8)", "use sfixed8"), M(blocks_infinite, ARG, "not finite"), M(blocks_nan, ARG, "not finite"),
    M(blocks_code, ARG, "\"t\": value 8 of element 3", "-8 to 7"), M(blocks_expansion_code, ARG, "value -9 of element 7", "scale per channel"),
    M(blocks_plain_multipliers, ARG, "EXPANSION"), M(blocks_of_floats, ARG, "no encoding"),
    M(null_tensor, ARG, "desc is NULL"), M(null_node, ARG, "desc is NULL"), M(null_graph, ARG, "desc is NULL"), M(unnamed_graph, ARG, "a graph has no name"),
    M(same_graph, ARG, "context \"context 0\"", "two graphs named \"g\""), M(empty_graph, ARG, "graph \"second\"", "no nodes"),
    M(graph_priority, ARG, "graph \"second\"", "priority 5"), M(graph_level, ARG, "optimization_level 4", "1 to 3"),
    M(context_priority, ARG, "context 1", "priority 7"), M(context_without_graph, ARG, "context \"context 1\"", "no graph"),
    M(tensor_of_no_graph, STATE, "qnnrt_builder_graph"), M(node_of_no_graph, STATE, "qnnrt_builder_graph"),
    M(no_type, ARG, "the type of a node"), M(empty_node_name, ARG, "a node has no name"), M(same_node, ARG, "two nodes are named \"n\""),
    M(negative_handle, ARG, "node \"n\" (Op)", "input 0", "handle -1"), M(wild_handle, ARG, "input 1", "tensor of this graph (handle 99)"),
    M(foreign_handle, ARG, "graph \"second\"", "tensor of this graph (handle "), M(output_left_out, ARG, "output 0", "tensor of this graph (handle 0)"),
    M(output_is_input, ARG, "\"x\"", "an input", "INNER or OUTPUT"), M(output_is_static, ARG, "\"w\"", "STATIC"),
    M(written_twice, ARG, "\"h\"", "written twice", "\"m\""), M(no_outputs, ARG, "no output"), M(null_outputs, ARG, "outputs is NULL"),
    M(one_output_twice, ARG, "\"h\"", "written twice"), M(null_inputs, ARG, "inputs is NULL"), M(null_params, ARG, "params is NULL"),
    M(unnamed_param, ARG, "parameter 0 has no name"), M(two_params, ARG, "two parameters are named \"p\""),
    M(empty_param, ARG, "parameter 0 has no name"),
    M(many_outputs, LIMIT, "1,000,000"), M(many_inputs, LIMIT, "1,000,000"), M(many_params, LIMIT, "1,000 parameters", "counts of the descriptor"), M(long_param, LIMIT, "a parameter has a name of 1025 bytes", "limits.name_bytes"),
    M(u32_negative, ARG, "node \"n\"", "\"p\"", "-1 is "), M(u32_fraction, ARG, "1.5", "uint32"), M(u32_large, ARG, "uint32"),
    M(i32_large, ARG, "int32"), M(i8_small, ARG, "int8"), M(i32_fraction, ARG, "-0.5", "int32"), M(f64_nan, ARG, "float64"),
    M(bool_half, ARG, "0.5", "bool8"), M(packed_scalar, ARG, "uint4"), M(unknown_scalar, ARG, "unknown"), M(u64_large, ARG, "uint64"), M(bool_2, ARG, "bool8"), M(f32_large, ARG, "float32"),
    M(f32_nan, ARG, "float32"), M(untyped_scalar, ARG, "undefined"), M(half_scalar, ARG, "float16"), M(param_both, ARG, "both data and a tensor"),
    M(param_rank_alone, ARG, "rank 1 and no data"), M(param_input, ARG, "\"x\"", "not STATIC"), M(param_foreign, ARG, "parameter \"p\"", "tensor of this graph (handle 77)"),
    M(param_rank_9, ARG, "node \"n\" (Op): tensor", "\"n/p\"", "rank 9"),
    M(param_dim_0, ARG, "node \"n\" (Op): tensor", "\"n/p\"", "dimension of 0"),
    M(param_coded, ARG, "node \"n\" (Op): tensor", "\"n/p\"", "needs an encoding"),
    M(param_taken, ARG, "node \"n\" (Op): two tensors", "two tensors are named \"n/p\""), M(nothing, ARG, "graph \"g\"", "no nodes"),
    M(h_unwritten, ARG, "input 1", "\"h\"", "node \"n\" (Op): no node writes"), M(itself, ARG, "cycle", "\"n\" -> \"n\""),
    M(cycle, ARG, "\"one\" -> \"two\"", "\"two\" -> \"three\"", "\"three\" -> \"one\""),
    M(cycle_behind, ARG, "form a cycle: \"two\" -> \"one\" -> \"two\""),
    M(long_cycle, ARG, "cycle", "\"n2\" -> \"n3\"", "(4 more) -> "), M(dlc_empty, ARG, "NULL or empty"), M(dlc_binary, FORMAT, "a context binary"),
    M(dlc_null, ARG, "NULL or empty"), M(dlc_absent, NOT_FOUND, "/no/such.dlc"), M(dlc_folder, IO, "folder"), M(dlc_other, FORMAT, ".dlc", "ELF")
#undef M
};

TEST(mistakes_are_refused_in_words)
{
    size_t i, k;
    for (i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); ++i) {
        const struct mistake *m = &mistakes[i];
        qnnrt_builder *b;
        qnnrt *built = (qnnrt *)&heap;
        qnnrt_result result;
        open_backend("", 0);
        b = builder_of(NULL);
        add_graph(b, "g");
        x_ = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
        w_ = add_tensor(b, "w", QNNRT_TENSOR_STATIC);
        h_ = add_tensor(b, "h", QNNRT_TENSOR_INNER);
        y_ = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
        if (strncmp(m->what, "null_graph", 10) == 0 || strstr(m->what, "graph") != NULL || strncmp(m->what, "context", 7) == 0)
            if (strcmp(m->what, "tensor_of_no_graph") != 0) add_node(b, "right", "Op", x_, w_, y_);
        m->make(b);
        result = qnnrt_builder_finish(b, &built, &err);
        if (result != m->result || err.code != m->result || built != NULL || traced("contextCreate") || traced("Validate"))
            printf("%s: %s: %s\n", m->what, qnnrt_result_name(result), err.text);
        CHECK_EQ(result, m->result);
        CHECK_EQ(err.code, m->result);
        CHECK(built == NULL);
        CHECK(traced("contextCreate") == 0 && traced("Validate") == 0);      /* the vendor was not called */
        for (k = 0; k < 3 && m->words[k] != NULL; ++k) CHECK_STR(TEST_TOLD(err), m->words[k]);
        CHECK_EQ(strstr(err.text, " more) -> ") != NULL, strcmp(m->what, "long_cycle") == 0);
        CHECK(close_backend());
    }
}

TEST(an_output_must_be_written)
{
    qnnrt_builder *b;
    qnnrt *built;
    open_backend("", 0);
    b = builder_of(NULL);
    add_right(b, "g");
    add_tensor(b, "z", QNNRT_TENSOR_OUTPUT);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "graph \"g\": no node writes OUTPUT tensor \"z\"");
    CHECK(close_backend());
}

TEST(the_first_error_sticks)
{
    qnnrt_builder *b;
    qnnrt_tensor_desc t = tensor_desc("first", QNNRT_TENSOR_INPUT);
    qnnrt_node_desc node;
    qnnrt_context_desc context;
    qnnrt *built;
    open_backend("", 0);
    b = builder_of(NULL);
    add_right(b, "g");
    t.rank = 0;
    CHECK(qnnrt_builder_tensor(b, &t) < 0);
    t.name = "second";
    CHECK(qnnrt_builder_tensor(b, &t) < 0);
    add_graph(b, NULL);
    qnnrt_builder_context(b, NULL);
    qnnrt_builder_dlc(b, NULL, NULL);
    qnnrt_builder_node(b, NULL);
    CHECK_EQ(qnnrt_builder_error(b)->code, QNNRT_E_ARG);
    CHECK_STR(qnnrt_builder_error(b)->text, "\"first\"");
    memset(&node, 0, sizeof(node));
    CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"first\"");
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"first\"");
    /* Two mistakes in one descriptor: the first is reported. */
    memset(&context, 0, sizeof(context));
    context.name = "";
    context.priority = (qnnrt_priority)7;
    b = builder_of(NULL);
    qnnrt_builder_context(b, &context);
    CHECK_STR(qnnrt_builder_error(b)->text, "has no name");
    qnnrt_builder_destroy(b);
    CHECK(close_backend());
}

TEST(a_spent_builder_says_so)
{
    int way;
    for (way = 0; way < 3; ++way) {
        const char *how = way == 2 ? "destroyed" : "finished";
        qnnrt_builder *b;
        qnnrt *built = NULL, *again;
        qnnrt_tensor_desc t = tensor_desc("t", QNNRT_TENSOR_INPUT);
        qnnrt_node_desc node;
        open_backend("", 0);
        b = builder_of(NULL);
        if (way == 0) add_right(b, "g");
        CHECK_EQ(qnnrt_backend_close(backend), QNNRT_E_BUSY);
        if (way == 2) qnnrt_builder_destroy(b);
        else CHECK_EQ(qnnrt_builder_finish(b, &built, &err), way == 0 ? QNNRT_OK : QNNRT_E_ARG);
        CHECK_EQ(qnnrt_builder_finish(b, &again, &err), QNNRT_E_STATE);
        CHECK_STR(err.text, how);
        CHECK_STR(err.hint, "Create another");
        CHECK(again == NULL);
        CHECK_STR(qnnrt_builder_error(b)->text, how);
        CHECK(qnnrt_builder_tensor(b, &t) < 0);
        memset(&node, 0, sizeof(node));
        CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_E_STATE);
        qnnrt_builder_node(b, &node);
        qnnrt_builder_context(b, NULL);
        add_graph(b, "g");
        qnnrt_builder_dlc(b, "x", NULL);
        qnnrt_builder_destroy(b);
        qnnrt_builder_destroy(b);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
}

TEST(finalizing_is_measured_when_asked)
{
    qnnrt_builder_desc desc;
    qnnrt_builder *b = (qnnrt_builder *)&heap;
    qnnrt_profile *finalizing = NULL;
    int level;
    memset(&desc, 0, sizeof(desc));
    for (level = 0; level <= 2; ++level) {
        qnnrt *built;
        qnnrt_profile_destroy(finalizing);
        CHECK_EQ(qnnrt_profile_create((qnnrt_profile_level)level, NULL, &finalizing, &err), QNNRT_OK);
        desc.context_hooks = qnnrt_profile_hook(finalizing);
        open_backend("", 0);
        b = builder_of(&desc);
        add_right(b, "g");
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
        CHECK_EQ(traced("profileCreate") != 0, level > 0);
        CHECK_EQ(traced("profileGetEvents") != 0, level > 0);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
    open_backend("fail=profileCreate:0x2711", 0);
    b = builder_of(&desc);
    add_right(b, "g");
    {
        qnnrt *built;
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_BACKEND);
        CHECK(built == NULL && err.vendor_code == 0x2711);
    }
    qnnrt_profile_destroy(finalizing);
    CHECK_EQ(qnnrt_profile_create((qnnrt_profile_level)number(77), NULL, &finalizing, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "77");
    CHECK(finalizing == NULL);
    CHECK(close_backend());
}

TEST(null_arguments_are_refused)
{
    qnnrt_builder *b = NULL;
    qnnrt *built = NULL;
    size_t bytes;
    open_backend("", 0);
    CHECK_EQ(qnnrt_builder_create(NULL, NULL, &b, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_builder_finish(NULL, &built, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_builder_supports(NULL, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_builder_error(NULL)->code, QNNRT_E_ARG);
    CHECK(qnnrt_builder_tensor(NULL, NULL) < 0);
    qnnrt_builder_node(NULL, NULL);
    qnnrt_builder_graph(NULL, NULL);
    qnnrt_builder_context(NULL, NULL);
    qnnrt_builder_dlc(NULL, NULL, NULL);
    qnnrt_builder_destroy(NULL);
    b = builder_of(NULL);
    add_right(b, "g");
    CHECK_EQ(qnnrt_builder_supports(b, NULL, NULL), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_builder_finish(b, NULL, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "out is NULL");
    b = builder_of(NULL);
    CHECK_EQ(qnnrt_builder_finish(b, &built, NULL), QNNRT_E_ARG);
    b = builder_of(NULL);
    add_right(b, "g");
    CHECK_EQ(qnnrt_builder_finish(b, &built, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_save(NULL, 0, "x", &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_save(built, 0, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_save(built, 0, "", &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_save(built, 1, "x", &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "context 1 does not exist, the model has 1");
    CHECK_EQ(qnnrt_save_memory(NULL, 0, NULL, 0, &bytes, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_save_memory(built, 0, NULL, 0, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_save_memory(built, 7, NULL, 0, &bytes, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

TEST(limits_hold)
{
    qnnrt_builder_desc desc;
    qnnrt_builder *b;
    qnnrt *built;
    int which;
    for (which = 0; which < 5; ++which) {
        static const char *const words[] = { "limits.tensors", "limits.name_bytes", "limits.files", "limits.tensors",
                                             "more than 4 tensors (limits.tensors)" };
        memset(&desc, 0, sizeof(desc));
        if (which == 0) desc.limits.tensors = 2;
        if (which == 1) desc.limits.name_bytes = 4;
        if (which == 2) desc.limits.files = 1;
        if (which == 3) desc.limits.tensors = 4;      /* exceeded by tensors and graphs together */
        /* Exceeded by inner tensors, which only the builder counts. */
        if (which == 4) desc.limits.tensors = 4;
        open_backend("", 0);
        b = builder_of(&desc);
        if (which == 2) {
            add_right(b, "g");
            qnnrt_builder_context(b, NULL);
        }
        if (which == 3) {
            add_right(b, "a");
            qnnrt_builder_context(b, NULL);
        }
        add_right(b, which == 1 ? "graph" : "g");
        if (which == 4) {
            CHECK_EQ(add_tensor(b, "i", QNNRT_TENSOR_INNER), 4);
            CHECK(add_tensor(b, "j", QNNRT_TENSOR_INNER) < 0);
        }
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_LIMIT);
        CHECK_STR(err.text, words[which]);
        CHECK(close_backend());
    }
}

/* Build a graph with x, h and y: three tensors to record; of the model, the graph with x and y. */
TEST(exactly_the_limits_are_built)
{
    uint32_t contexts, i;
    for (contexts = 1; contexts <= 3; ++contexts) {
        qnnrt_builder_desc desc;
        qnnrt_builder *b;
        qnnrt *built;
        memset(&desc, 0, sizeof(desc));
        desc.limits.tensors = 3 * contexts;
        desc.limits.files = contexts;
        desc.limits.name_bytes = 9;              /* "context 0" */
        open_backend("", 0);
        b = builder_of(&desc);
        for (i = 0; i < contexts; ++i) {
            qnnrt_builder_context(b, NULL);
            add_right(b, "g");
        }
        TEST_JUNK(err);
        if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK) printf("%s\n", err.text);
        CHECK(err.code == QNNRT_OK && err.text[0] == '\0' && err.hint[0] == '\0');
        CHECK(built != NULL);
        if (built != NULL) CHECK_EQ(qnnrt_get_info(built)->context_count, contexts);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
}

/* ---- asking the vendor ---------------------------------------------------------------------------- */

TEST(supports_asks_and_adds_nothing)
{
    static const uint32_t axes[1] = { 0 };
    qnnrt_builder *b;
    qnnrt_tensor in, out;
    qnnrt_node_desc node;
    qnnrt_param_desc param;
    qnnrt *built;
    size_t i;
    open_backend("", 0);
    b = builder_of(NULL);
    add_right(b, "g");
    in = 1;
    out = 3;
    memset(&node, 0, sizeof(node));
    memset(&param, 0, sizeof(param));
    param.name = "axes";
    param.dtype = QNNRT_DTYPE_U32;
    param.data = axes;
    param.rank = 1;
    param.dims[0] = 1;
    node.inputs = &in;
    node.input_count = 1;
    node.outputs = &out;
    node.output_count = 1;
    node.params = &param;
    node.param_count = 1;
    for (i = 0; i < 3; ++i) {
        node.type = "Op";
        CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_OK);
        node.type = "Refused";
        CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_E_UNSUPPORTED);
        CHECK_EQ(err.vendor_code, 0xc26);
        CHECK_STR(err.text, "graph \"g\": node \"Refused_2\" (Refused)");
        CHECK_STR(err.text, "of \"x\" float32[4]");
        CHECK_STR(err.text, "to \"y\" float32[4]");
        CHECK_STR(err.text, "to \"y\" float32[4]\n  with axes (uint32 tensor)");
        /* A line that the vendor logged. */
        CHECK_STR(err.text, "is an operator that is refused");
        node.type = NULL;
        CHECK_EQ(qnnrt_builder_supports(b, &node, NULL), QNNRT_E_ARG);
    }
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    CHECK(traced("axes") == 0);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

/* Which node and graph an error belongs to. The graphs "a" and "b" have the same nodes. */
static void fail_nothing(qnnrt_builder *b) { (void)b; }
static void fail_validation(qnnrt_builder *b) { add_node(b, "bad", "Refused", 4, QNNRT_NO_TENSOR, add_tensor(b, "z", QNNRT_TENSOR_OUTPUT)); }
static void fail_compiling(qnnrt_builder *b) { add_node(b, "bad", "Uncompiled", 4, QNNRT_NO_TENSOR, add_tensor(b, "z", QNNRT_TENSOR_OUTPUT)); }
static void fail_long(qnnrt_builder *b)
{
    char name[1025];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    add_node(b, name, "Refused", 4, QNNRT_NO_TENSOR, add_tensor(b, "z", QNNRT_TENSOR_OUTPUT));
}
static void fail_node(qnnrt_builder *b) { add_node(b, "bad", "Op", 99, 99, 99); add_node(b, "later", "Op", 98, 98, 98); }
static void fail_order(qnnrt_builder *b) { add_node(b, "bad", "Op", add_tensor(b, "i", QNNRT_TENSOR_INNER), 4, add_tensor(b, "z", QNNRT_TENSOR_INNER)); }
static void fail_tensor(qnnrt_builder *b) { add_tensor(b, "x", QNNRT_TENSOR_INPUT); }
static void fail_context(qnnrt_builder *b) { qnnrt_builder_context(b, NULL); add_right(b, "c"); }

TEST(the_failed_node_has_a_name)
{
    static const struct { void (*make)(qnnrt_builder *); const char *knobs, *node, *graph; int early; } cases[] = {
        { fail_nothing, "fail=graphAddNode:0x44c:4", "B", "b", 0 },
        { fail_nothing, "fail=backendValidateOpConfig:0x44c:2", "B", "a", 0 },
        { fail_nothing, "fail=tensorCreateGraphTensor:0x44c:4", NULL, "b", 0 },
        { fail_nothing, "fail=graphFinalize:0x44c:2", NULL, "b", 0 },
        { fail_nothing, "fail=graphCreate:0x44c:1", NULL, "a", 0 },
        { fail_context, "fail=contextCreate:0x44c:2", NULL, NULL, 0 },
        { fail_validation, "", "bad", "b", 0 }, { fail_compiling, "log", "bad", "b", 0 }, { fail_order, "", "bad", "b", 0 },
        { fail_node, "", "bad", "b", 1 }, { fail_tensor, "", NULL, "b", 1 }
    };
    qnnrt_builder *b;
    qnnrt *built;
    size_t i;
    CHECK(qnnrt_builder_failed_node(NULL) == NULL && qnnrt_builder_failed_graph(NULL) == NULL);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        const char *node, *graph;
        int late;
        open_backend(cases[i].knobs[0] == 'f' ? cases[i].knobs : "", 0);
        b = builder_of(NULL);
        add_right(b, "a");
        CHECK(qnnrt_builder_failed_node(b) == NULL && qnnrt_builder_failed_graph(b) == NULL);
        add_right(b, "b");
        cases[i].make(b);
        for (late = !cases[i].early; late < 2; ++late) {
            if (late) {
                CHECK(qnnrt_builder_finish(b, &built, &err) != QNNRT_OK);
                if (cases[i].node != NULL) CHECK_STR(err.text, cases[i].node);
            }
            node = qnnrt_builder_failed_node(b);
            graph = qnnrt_builder_failed_graph(b);
            if ((node == NULL) != (cases[i].node == NULL) || (graph == NULL) != (cases[i].graph == NULL))
                printf("case %u: %s, %s: %s\n", (unsigned)i, node != NULL ? node : "-", graph != NULL ? graph : "-", err.text);
            CHECK((node == NULL) == (cases[i].node == NULL));
            CHECK((graph == NULL) == (cases[i].graph == NULL));
            if (node != NULL) CHECK(strcmp(node, cases[i].node) == 0);
            if (graph != NULL) CHECK(strcmp(graph, cases[i].graph) == 0);
        }
        CHECK(close_backend());
    }
    open_backend("", 0);
    {
        qnnrt_builder_desc desc;
        memset(&desc, 0, sizeof(desc));
        desc.limits.name_bytes = 2000;
        b = builder_of(&desc);
    }
    add_right(b, "a");
    add_right(b, "b");
    fail_long(b);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(strlen(qnnrt_builder_failed_node(b)), 1024);
    CHECK(close_backend());
}

TEST(a_refused_node_stops_the_build)
{
    qnnrt_builder *b;
    qnnrt_tensor x, y;
    qnnrt *built;
    open_backend("", 0);
    b = builder_of(NULL);
    add_graph(b, "g");
    x = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
    y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
    add_node(b, "bad", "Refused", x, QNNRT_NO_TENSOR, y);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_UNSUPPORTED);
    CHECK_STR(err.text, "node \"bad\" (Refused)");
    CHECK(traced("graphAddNode") == 0);
    CHECK(close_backend());
}

/* With no_validate the library is not asked, except by qnnrt_builder_supports(); what would crash it is refused. */
TEST(a_library_need_not_be_asked)
{
    static const char *const knobs[] = { "", "fail=graphAddNode:0x44c" };
    qnnrt_builder_desc desc;
    qnnrt_tensor x, y;
    qnnrt_builder *b;
    qnnrt *built;
    int i;
    memset(&desc, 0, sizeof(desc));
    desc.no_validate = 1;
    for (i = 0; i < 4; ++i) {
        open_backend(i < 2 ? knobs[i] : "id=3", 0);
        if (i == 3) desc.no_validate = 0;
        b = builder_of(&desc);
        add_graph(b, "g");
        x = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
        y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
        add_node(b, "bad", i < 2 ? "Refused" : "Split", x, QNNRT_NO_TENSOR, y);
        built = NULL;
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err),
                 i == 0 ? QNNRT_OK : i == 1 ? QNNRT_E_BACKEND : QNNRT_E_UNSUPPORTED);
        CHECK_EQ(traced("Validate"), 0);
        CHECK_EQ(traced("graphAddNode") != 0, i < 2);
        if (i == 1) CHECK_STR(err.text, "the library refuses it\n");
        if (i > 1) CHECK_STR(err.text, "this node would crash it");
        if (i > 0) CHECK_STR(qnnrt_builder_failed_node(b), "bad");
        qnnrt_close(built);
        CHECK(close_backend());
    }
}

/* Calls that crash the CPU's or the HTP's library are refused by qnnrt. */
/* With many tensors and parameters, the text has the first few. */
TEST(a_refused_node_is_described_in_short)
{
    static const uint32_t list[1] = { 3 };
    /* Without a name, the text has the library's path. */
    static const char *const knobs[] = { "", "name=" };
    size_t which, i;
    for (which = 0; which < 2; ++which) {
        qnnrt_param_desc params[9];
        qnnrt_tensor in[7], out[5];
        qnnrt_node_desc node;
        char name[9][8];
        qnnrt_builder *b;
        open_backend(knobs[which], 0);
        b = builder_of(NULL);
        add_graph(b, "g");
        memset(&node, 0, sizeof(node));
        memset(params, 0, sizeof(params));
        for (i = 0; i < 7; ++i) {
            snprintf(name[0], sizeof(name[0]), "x%u", (unsigned)i);
            in[i] = i == 1 ? QNNRT_NO_TENSOR : add_tensor(b, name[0], QNNRT_TENSOR_INPUT);
        }
        for (i = 0; i < 5; ++i) {
            snprintf(name[0], sizeof(name[0]), "y%u", (unsigned)i);
            out[i] = add_tensor(b, name[0], QNNRT_TENSOR_OUTPUT);
        }
        for (i = 0; i < 9; ++i) {
            snprintf(name[i], sizeof(name[i]), "p%u", (unsigned)i);
            params[i].name = name[i];
            params[i].dtype = QNNRT_DTYPE_U32;
            params[i].data = i % 2 ? list : NULL;
            params[i].rank = params[i].dims[0] = i % 2;
        }
        node.type = "Refused";
        node.name = "bad";
        node.inputs = in;
        node.input_count = 7;
        node.outputs = out;
        node.output_count = 5;
        node.params = params;
        node.param_count = 9;
        CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, which == 0 ? "FAKE_QTI" : "libQnnFake.so");
        CHECK_STR(err.text, "of \"x0\" float32[4], \"bad/no input 1\" none, \"x2\"");
        CHECK_STR(err.text, "\"x5\" float32[4], ...");
        CHECK_STR(err.text, "to \"y0\" float32[4], \"y1\"");
        CHECK_STR(err.text, "with p0 (uint32), p1 (uint32 tensor), p2 (uint32)");
        CHECK_STR(err.text, "p7");
        CHECK(strstr(err.text, "x6") == NULL && strstr(err.text, "y4") == NULL && strstr(err.text, "p8") == NULL);
        qnnrt_builder_destroy(b);
        CHECK(close_backend());
    }
}

/* The CPU library reads the first split index without checking its type. */
TEST(a_split_that_crashes_is_not_asked)
{
    static const uint32_t one[1] = { 1 }, zero[1] = { 0 };
    static const struct { qnnrt_dtype dtype; const uint32_t *data; const char *package; int right; } cases[] = {
        { QNNRT_DTYPE_U32, one, NULL, 1 },  { QNNRT_DTYPE_U32, zero, NULL, 0 }, { QNNRT_DTYPE_I32, one, NULL, 0 },
        { QNNRT_DTYPE_U32, NULL, NULL, 0 }, { QNNRT_DTYPE_U32, zero, "qti.aisw", 0 }, { QNNRT_DTYPE_U32, zero, "my.package", 1 }
    };
    size_t i, inputs;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        for (inputs = 0; inputs < 2; ++inputs) {
            const int right = cases[i].right && (inputs == 1 || cases[i].package != NULL);
            qnnrt_param_desc params[2];
            qnnrt_node_desc node;
            qnnrt_tensor in, out;
            qnnrt_builder *b;
            open_backend("id=3", 0);
            b = builder_of(NULL);
            add_graph(b, "g");
            in = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
            out = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
            memset(&node, 0, sizeof(node));
            memset(params, 0, sizeof(params));
            params[0].name = "axis";
            params[0].dtype = QNNRT_DTYPE_U32;
            params[1].name = "split_index";
            params[1].dtype = cases[i].dtype;
            params[1].data = cases[i].data;
            params[1].rank = params[1].dims[0] = cases[i].data != NULL;
            node.type = "Split";
            node.package = cases[i].package;
            node.inputs = &in;
            node.input_count = inputs;
            node.outputs = &out;
            node.output_count = 1;
            node.params = params;
            node.param_count = 2;
            CHECK_EQ(qnnrt_builder_supports(b, &node, &err), right ? QNNRT_OK : QNNRT_E_UNSUPPORTED);
            CHECK_EQ(traced("Validate") != 0, right);
            if (!cases[i].right) CHECK_STR(err.text, "\"split_index\"");
            else if (!right) CHECK_STR(err.text, "with these types");
            qnnrt_builder_destroy(b);
            CHECK(close_backend());
        }
    }
}

TEST(what_crashes_is_not_asked)
{
    static const uint32_t ok[1] = { 1 }, zero[1] = { 0 };
    static const struct {
        const char *knobs, *type;
        qnnrt_dtype in, out;
        const char *param;
        const uint32_t *data;
        const char *word;
    } cases[] = {
        { "id=3", "Argmax", QNNRT_DTYPE_F16, QNNRT_DTYPE_I32, "axis", NULL, "with these types" },
        { "id=3", "Argmax", QNNRT_DTYPE_F32, QNNRT_DTYPE_I64, "axis", NULL, "with these types" },
        { "id=3", "Argmax", QNNRT_DTYPE_F32, QNNRT_DTYPE_U32, "axis", NULL, NULL },
        { "id=3", "Argmax", QNNRT_DTYPE_F32, QNNRT_DTYPE_U32, "keep_dims", NULL, "\"axis\" is missing" },
        { "id=3", "Argmin", QNNRT_DTYPE_F32, QNNRT_DTYPE_U32, "axis", NULL, NULL },
        { "id=3", "ResizeBilinear", QNNRT_DTYPE_F16, QNNRT_DTYPE_F16, "axis", NULL, "with these types" },
        { "id=3", "ResizeBilinear", QNNRT_DTYPE_F32, QNNRT_DTYPE_F16, "axis", NULL, "with these types" },
        { "id=3", "ResizeBilinear", QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, "axis", NULL, NULL },
        { "id=3", "ResizeNearestNeighbor", QNNRT_DTYPE_F32, QNNRT_DTYPE_F16, "axis", NULL, "with these types" },
        { "id=3", "ResizeNearestNeighbor", QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, "axis", NULL, NULL },
        { "id=3", "Relu", QNNRT_DTYPE_F16, QNNRT_DTYPE_F16, "axis", NULL, NULL },
        { "id=6", "Argmax", QNNRT_DTYPE_F16, QNNRT_DTYPE_I32, "axis", NULL, NULL },
        { "id=3", "StridedSlice", QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, "ranges", ok, NULL },
        { "id=3", "StridedSlice", QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, "range", ok, "\"ranges\" is missing" },
        { "id=3", "Split", QNNRT_DTYPE_F32, QNNRT_DTYPE_F32, "split_index", zero, "\"axis\" is missing" }
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        qnnrt_builder *b;
        qnnrt_tensor_desc t = tensor_desc("x", QNNRT_TENSOR_INPUT);
        qnnrt_node_desc node;
        qnnrt_param_desc param;
        qnnrt_tensor in, out;
        qnnrt_result result;
        open_backend(cases[i].knobs, 0);
        b = builder_of(NULL);
        add_graph(b, "g");
        t.dtype = cases[i].in;
        in = qnnrt_builder_tensor(b, &t);
        t = tensor_desc("y", QNNRT_TENSOR_OUTPUT);
        t.dtype = cases[i].out;
        out = qnnrt_builder_tensor(b, &t);
        memset(&node, 0, sizeof(node));
        memset(&param, 0, sizeof(param));
        param.name = cases[i].param;
        param.dtype = QNNRT_DTYPE_U32;
        param.data = cases[i].data;
        param.rank = cases[i].data != NULL;
        param.dims[0] = param.rank;
        node.type = cases[i].type;
        node.inputs = &in;
        node.input_count = 1;
        node.outputs = &out;
        node.output_count = 1;
        node.params = &param;
        node.param_count = 1;
        result = qnnrt_builder_supports(b, &node, &err);
        if ((result == QNNRT_OK) != (cases[i].word == NULL)) printf("case %u: %s\n", (unsigned)i, err.text);
        CHECK_EQ(result, cases[i].word == NULL ? QNNRT_OK : QNNRT_E_UNSUPPORTED);
        CHECK_EQ(traced("Validate") != 0, cases[i].word == NULL);
        if (cases[i].word != NULL) CHECK_STR(err.text, cases[i].word);
        qnnrt_builder_destroy(b);
        CHECK(close_backend());
    }
}

TEST(weights_that_crash_a_matmul_are_not_asked_for)
{
    static const float scales[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    static signed char codes[16];
    static const struct { const char *knobs, *type; qnnrt_dtype x; int form; const char *word; } cases[] = {
        { "id=6", "MatMul", QNNRT_DTYPE_U8Q, 0, "scale per channel" }, { "id=6", "MatMul", QNNRT_DTYPE_F16, 0, NULL },
        { "id=6", "FullyConnected", QNNRT_DTYPE_U8Q, 0, NULL },        { "id=6", "MatMul", QNNRT_DTYPE_F16, 1, "scale per block" },
        { "id=3", "Conv2d", QNNRT_DTYPE_U8Q, 1, "scale per block" },   { "id=3", "Conv2d", QNNRT_DTYPE_U8Q, 0, NULL }
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        qnnrt_builder *b;
        qnnrt_tensor_desc t = tensor_desc("x", QNNRT_TENSOR_INPUT);
        qnnrt_blocks blocks;
        qnnrt_node_desc node;
        qnnrt_tensor in[2], out;
        qnnrt_result result;
        open_backend(cases[i].knobs, 0);
        b = builder_of(NULL);
        add_graph(b, "g");
        t.dtype = cases[i].x;
        if (t.dtype == QNNRT_DTYPE_U8Q) {
            t.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
            t.quant.scale = 1;
            t.quant.offset = -7;
        }
        in[0] = qnnrt_builder_tensor(b, &t);
        memset(&t, 0, sizeof(t));
        t.name = "w";
        t.kind = QNNRT_TENSOR_STATIC;
        t.dtype = QNNRT_DTYPE_S8Q;
        t.rank = 2;
        t.dims[0] = t.dims[1] = 4;
        t.data = codes;
        t.bytes = 16;
        t.borrow = 1;
        memset(&blocks, 0, sizeof(blocks));
        blocks.form = QNNRT_BLOCK_PLAIN;
        blocks.block_axis = 1;
        blocks.block = 2;
        blocks.scales = scales;
        t.blocks = cases[i].form ? &blocks : NULL;
        if (!cases[i].form) {
            t.quant.encoding = QNNRT_ENCODING_PER_AXIS;
            t.quant.count = 4;
            t.quant.scales = scales;
        }
        in[1] = qnnrt_builder_tensor(b, &t);
        out = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
        memset(&node, 0, sizeof(node));
        node.type = cases[i].type;
        node.inputs = in;
        node.input_count = 2;
        node.outputs = &out;
        node.output_count = 1;
        result = qnnrt_builder_supports(b, &node, &err);
        if ((result == QNNRT_OK) != (cases[i].word == NULL)) printf("case %u: %s\n", (unsigned)i, err.text);
        CHECK_EQ(result, cases[i].word == NULL ? QNNRT_OK : QNNRT_E_UNSUPPORTED);
        CHECK_EQ(traced("Validate") != 0, cases[i].word == NULL);
        if (cases[i].word != NULL && cases[i].knobs[3] == '6') CHECK_STR(err.hint, "Use FullyConnected or Conv2d.");
        if (cases[i].word != NULL && t.dtype == QNNRT_DTYPE_S8Q && cases[i].x == QNNRT_DTYPE_U8Q)
            CHECK_STR(err.text, "\"x\" ufixed8[4] scale 1 offset -7");
        if (cases[i].word != NULL) CHECK_STR(err.text, cases[i].word);
        qnnrt_builder_destroy(b);
        CHECK(close_backend());
    }
}

/* ---- options and devices --------------------------------------------------------------------------- */

static qnnrt *build_with(const qnnrt_builder_desc *desc, const qnnrt_context_desc *context, const qnnrt_graph_desc *graph)
{
    qnnrt_builder *b = builder_of(desc);
    qnnrt *built = NULL;
    qnnrt_tensor x, y;
    qnnrt_builder_context(b, context);
    qnnrt_builder_graph(b, graph);
    x = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
    y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
    add_node(b, NULL, "Op", x, QNNRT_NO_TENSOR, y);
    qnnrt_builder_finish(b, &built, &err);
    return built;
}

TEST(options_go_to_the_htp)
{
    static const char *const knobs[] = { "", "id=3" };
    qnnrt_context_desc context;
    qnnrt_graph_desc graph;
    size_t i;
    memset(&context, 0, sizeof(context));
    memset(&graph, 0, sizeof(graph));
    context.weight_sharing = 1;
    context.priority = QNNRT_PRIORITY_LOW;
    graph.name = "g";
    graph.priority = QNNRT_PRIORITY_HIGH;
    graph.vtcm_mib = 8;
    graph.optimization_level = 3;
    graph.hvx_threads = 4;
    graph.fp16 = 1;
    for (i = 0; i < 2; ++i) {
        qnnrt *built;
        open_backend(knobs[i], 0);
        built = build_with(NULL, &context, &graph);
        CHECK(built != NULL);
        if (i == 0) {
            CHECK(traced("options of context 1=0 0:1,0,1,0\n") != 0);
            CHECK(traced("options of g 3=200 0:1,0,3,40400000 0:2,0,1,0 0:3,0,8,0 0:6,0,4,0\n") != 0);
        } else {
            CHECK(traced("options of context 1=0\n") != 0);
            CHECK(traced("options of g 3=200\n") != 0);
        }
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
    open_backend("fail=graphCreate:0x3ec", 0);
    CHECK(build_with(NULL, &context, &graph) == NULL);
    CHECK_STR(err.text, "graph \"g\": cannot create it with priority, optimization_level, fp16, vtcm_mib, hvx_threads");
    CHECK(close_backend());
    open_backend("fail=contextCreate:0x1392", 0);
    CHECK(build_with(NULL, &context, &graph) == NULL);
    CHECK_STR(err.text, "cannot create context \"context 0\" with priority, weight_sharing");
    CHECK(close_backend());
}

TEST(a_device_of_its_own_where_one_is_needed)
{
    static const struct {
        const char *knobs;
        uint32_t backend_soc, soc, arch;
        const char *options;                 /* of the second device; NULL: only one device */
        uint32_t told;                       /* as the model's soc_model */
    } cases[] = {
#if defined(__x86_64__)
        { "", 0, 0, 0, "options of device 0:0,39,39,0\n", 57 },
        { "", 0, 0, 79, "options of device 0:0,45,45,0 0:1,0,0,4f\n", 69 },
        { "fail=deviceCreate:0x36b1:2", 0, 0, 0, NULL, 0 },
        { "zero=deviceCreate", 0, 0, 0, NULL, 0 },
#endif
        { "", 57, 0, 0, NULL, 57 },
        { "", 57, 57, 0, NULL, 57 },
        { "", 57, 69, 0, "options of device 0:0,45,45,0\n", 69 },
        { "", 57, 0, 73, "options of device 0:0,39,39,0 0:1,0,0,49\n", 57 },
        { "", 0, 0, 99, "options of device 0:1,0,0,63\n", 0 },       /* a generation without known chips */
        { "backendapi=5.43", 57, 0, 73, "options of device 0:0,39,39,0 0:1,0,49,0\n", 57 },
        { "backendapi=5.49", 57, 0, 73, "options of device 0:0,39,39,0 0:1,0,49,0\n", 57 },
        { "id=3", 0, 57, 75, NULL, 0 },
        { "devnosup=1", 0, 0, 0, NULL, 0 }
    };
    qnnrt_graph_desc graph;
    size_t i;
    memset(&graph, 0, sizeof(graph));
    graph.name = "g";
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        qnnrt_builder_desc desc;
        qnnrt *built;
        const char *second;
        memset(&desc, 0, sizeof(desc));
        /* Opening the backend fails before. */
        if (strncmp(cases[i].knobs, "zero", 4) == 0) continue;
        desc.soc_model = cases[i].soc;
        desc.dsp_arch = cases[i].arch;
        open_backend(cases[i].knobs, cases[i].backend_soc);
        built = build_with(&desc, NULL, &graph);
        if (built == NULL) printf("case %u: %s\n", (unsigned)i, err.text);
        CHECK(built != NULL);
        second = strstr(fake_trace(), "options of device");
        second = second != NULL ? strstr(second + 1, "options of device") : NULL;
        if (cases[i].options == NULL) CHECK(second == NULL || strncmp(cases[i].knobs, "fail", 4) == 0);
        else CHECK(second != NULL && strncmp(second, cases[i].options, strlen(cases[i].options)) == 0);
        CHECK_EQ(qnnrt_get_info(built)->contexts->soc_model, cases[i].told);
        CHECK_EQ(qnnrt_get_info(built)->contexts->dsp_arch, cases[i].arch);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
}

/* If the chip was only a guess and the open continues without it, no error is left. */
TEST(a_chip_that_was_guessed_and_is_refused_is_no_error)
{
    qnnrt_tensor x, y;
    qnnrt_node_desc node;
    qnnrt_builder *b;
    open_backend("fail=deviceCreate:0x36b1:2", 0);
    b = builder_of(NULL);
    add_graph(b, "g");
    x = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
    y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
    memset(&node, 0, sizeof(node));
    node.type = "Relu";
    node.inputs = &x;
    node.input_count = 1;
    node.outputs = &y;
    node.output_count = 1;
    CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_OK);
    CHECK(err.code == QNNRT_OK && err.text[0] == '\0' && err.hint[0] == '\0');
    CHECK_EQ(qnnrt_builder_error(b)->code, QNNRT_OK);
    qnnrt_builder_destroy(b);
    CHECK(close_backend());
}

TEST(a_chip_that_was_asked_for_and_is_refused_is_an_error)
{
    qnnrt_graph_desc graph;
    qnnrt_builder_desc desc;
    qnnrt_node_desc node;
    qnnrt_builder *b;
    const qnnrt_tensor x = 1, y = 3;
    qnnrt *built;
    memset(&graph, 0, sizeof(graph));
    memset(&desc, 0, sizeof(desc));
    graph.name = "g";
    desc.soc_model = 200;
    open_backend("fail=deviceCreate:0x36b1:2", 0);
    CHECK(build_with(&desc, NULL, &graph) == NULL);
    CHECK_EQ(err.code, QNNRT_E_BACKEND);
    CHECK_STR(err.text, "soc_model 200");
    CHECK(traced("contextCreate") == 0);
    CHECK(close_backend());
    /* A failed query does not count as an answer: a second query fails as well. */
    open_backend("fail=deviceCreate:0x36b1:2,fail=deviceCreate:0x36b1:3", 0);
    b = builder_of(&desc);
    add_right(b, "g");
    memset(&node, 0, sizeof(node));
    node.type = "Op";
    node.inputs = &x;
    node.input_count = 1;
    node.outputs = &y;
    node.output_count = 1;
    CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_E_BACKEND);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "soc_model 200");
    CHECK(close_backend());
}

/* A builder that is given up frees the device that it was asked with, under the lock. */
TEST(a_device_of_a_builder_that_is_given_up_is_freed)
{
    qnnrt_builder_desc desc;
    qnnrt_node_desc node;
    qnnrt_builder *b;
    qnnrt_tensor x, y;
    memset(&desc, 0, sizeof(desc));
    memset(&node, 0, sizeof(node));
    desc.soc_model = 69;
    open_backend("", 57);
    b = builder_of(&desc);
    add_graph(b, "g");
    x = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
    y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
    node.type = "Relu";
    node.inputs = &x;
    node.outputs = &y;
    node.input_count = node.output_count = 1;
    CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_OK);
    CHECK(fake_live() > live_before);
    qnnrt_builder_destroy(b);
    CHECK_EQ(lock.depth, 0);
    CHECK(close_backend());
}

TEST(a_refused_device_is_not_explained_by_older_lines)
{
    static const char text[] = "FAKEQNN 1\ngraph g\nin x 1 0232 1 4 -\nout y 2 0232 1 4 -\n# 64 bytes or more\n";
    qnnrt_builder_desc builder_desc;
    qnnrt_graph_desc graph;
    qnnrt_desc desc;
    qnnrt_file file;
    qnnrt *model;
    memset(&builder_desc, 0, sizeof(builder_desc));
    memset(&graph, 0, sizeof(graph));
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    graph.name = "g";
    builder_desc.soc_model = 200;
    file.path = "g.bin";
    file.data = text;
    file.bytes = sizeof(text) - 1;
    open_backend("log=1,fail=contextCreateFromBinary:0x1388,fail=deviceCreate:0x36b1:2", 0);
    desc.backend = backend;
    desc.system_path = TEST_FAKE_LIB;
    desc.files = &file;
    desc.file_count = 1;
    CHECK_EQ(qnnrt_open(NULL, &desc, &model, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "first cause 42");
    CHECK(build_with(&builder_desc, NULL, &graph) == NULL);
    CHECK_STR(err.text, "soc_model 200");
    CHECK(strstr(err.text, "first cause 42") == NULL);
    CHECK(close_backend());
}

/* ---- the vendor fails ------------------------------------------------------------------------------- */

/* Run a complete life: two contexts, nodes with parameters, saving, a run. */
static qnnrt_result life(qnnrt_error *error)
{
    static const uint32_t axes[1] = { 0 };
    static const float scales[4] = { 1, 2, 3, 4 };
    static const signed char codes[4] = { 1, 2, 3, 4 };
    static const int32_t offsets[4] = { 0, -1, 0, 1 };
    static const uint8_t multipliers[2] = { 1, 2 };
    static const uint32_t split[2] = { 2, 2 };
    source from;
    qnnrt_backend_desc backend_desc;
    qnnrt_backend *own = NULL;
    qnnrt_builder *b = NULL;
    qnnrt *built = NULL;
    qnnrt_run *run = NULL;
    qnnrt_result result;
    size_t bytes, i;
    char room[2000];
    memset(&from, 0, sizeof(from));
    from.from = codes;
    from.bytes = sizeof(codes);
    memset(&backend_desc, 0, sizeof(backend_desc));
    backend_desc.path = TEST_FAKE_LIB;
    backend_desc.hooks.alloc = heap_alloc;
    backend_desc.hooks.free = heap_free;
    backend_desc.hooks.alloc_user = &heap;
    result = qnnrt_backend_open(&backend_desc, &own, error);
    if (result == QNNRT_OK) result = qnnrt_builder_create(own, NULL, &b, error);
    if (result != QNNRT_OK) {
        qnnrt_backend_close(own);
        return result;
    }
    for (i = 0; i < 2; ++i) {
        qnnrt_param_desc param;
        qnnrt_node_desc node;
        qnnrt_tensor_desc t = tensor_desc("w", QNNRT_TENSOR_STATIC);
        qnnrt_blocks blocks;
        qnnrt_tensor ends[6], y;
        memset(&param, 0, sizeof(param));
        memset(&node, 0, sizeof(node));
        if (i > 0) qnnrt_builder_context(b, NULL);
        add_right(b, i == 0 ? "layer" : "only");
        t.dtype = QNNRT_DTYPE_S8Q;
        t.data = codes;
        t.bytes = 4;
        t.quant.encoding = QNNRT_ENCODING_PER_AXIS;
        t.quant.count = 4;
        t.quant.scales = scales;
        ends[1] = qnnrt_builder_tensor(b, &t);
        ends[0] = add_tensor(b, "z", QNNRT_TENSOR_INPUT);
        ends[2] = QNNRT_NO_TENSOR;
        t.name = "narrow";
        t.quant.bitwidth = 4;
        t.quant.offsets = offsets;
        ends[3] = qnnrt_builder_tensor(b, &t);
        memset(&blocks, 0, sizeof(blocks));
        memset(&t.quant, 0, sizeof(t.quant));
        blocks.form = QNNRT_BLOCK_EXPANSION;
        blocks.block_axis = 1;
        blocks.block = 2;
        blocks.scales = scales;
        blocks.multipliers = multipliers;
        t.name = "expanded";
        t.rank = 2;
        memcpy(t.dims, split, sizeof(split));
        t.blocks = &blocks;
        ends[4] = qnnrt_builder_tensor(b, &t);
        blocks.form = QNNRT_BLOCK_PLAIN;
        blocks.multipliers = NULL;
        t.name = "plain";
        t.data = NULL;
        t.load = load_source;
        t.load_user = &from;
        ends[5] = qnnrt_builder_tensor(b, &t);
        y = add_tensor(b, "v", QNNRT_TENSOR_OUTPUT);
        param.name = "axes";
        param.dtype = QNNRT_DTYPE_U32;
        param.data = axes;
        param.rank = param.dims[0] = 1;
        node.type = "Op";
        node.inputs = ends;
        node.input_count = 6;
        node.outputs = &y;
        node.output_count = 1;
        node.params = &param;
        node.param_count = 1;
        if (i == 0 && qnnrt_builder_error(b)->code == QNNRT_OK) result = qnnrt_builder_supports(b, &node, error);
        if (result != QNNRT_OK) break;
        qnnrt_builder_node(b, &node);
    }
    if (result == QNNRT_OK) result = qnnrt_builder_finish(b, &built, error);
    if (result == QNNRT_OK) result = qnnrt_save_memory(built, 1, room, sizeof(room), &bytes, error);
    if (result == QNNRT_OK) result = qnnrt_save(built, 0, "/dev/null/not/here", error) == QNNRT_E_IO ? QNNRT_OK : error != NULL ? error->code : QNNRT_E_MEMORY;
    if (result == QNNRT_OK) result = qnnrt_prepare(built, "0/layer", &run, error);
    if (result == QNNRT_OK && (result = qnnrt_exec(run)) != QNNRT_OK && error != NULL) *error = *qnnrt_run_error(run);
    qnnrt_run_destroy(run);
    qnnrt_builder_destroy(b);
    {
        const qnnrt_result closed = qnnrt_close(built), ended = qnnrt_backend_close(own);
        if (result == QNNRT_OK && closed != QNNRT_OK) result = closed;
        if (result == QNNRT_OK && ended != QNNRT_OK) result = ended;
    }
    return result;
}

TEST(every_call_that_fails_is_a_clean_error)
{
    static const struct { const char *call; qnnrt_result result; int quiet; } calls[] = {
        { "backendCreate", QNNRT_E_BACKEND, 0 }, { "deviceCreate", QNNRT_E_BACKEND, 0 }, { "contextCreate", QNNRT_E_BACKEND, 0 },
        { "graphCreate", QNNRT_E_BACKEND, 0 }, { "tensorCreateGraphTensor", QNNRT_E_BACKEND, 0 },
        { "backendValidateOpConfig", QNNRT_E_UNSUPPORTED, 0 }, { "graphAddNode", QNNRT_E_BACKEND, 0 }, { "graphFinalize", QNNRT_E_BACKEND, 0 },
        { "contextGetBinarySize", QNNRT_E_BACKEND, 0 }, { "contextGetBinary", QNNRT_E_BACKEND, 0 }, { "graphExecute", QNNRT_E_BACKEND, 0 },
        { "contextFree", QNNRT_E_BACKEND, 1 }, { "deviceFree", QNNRT_E_BACKEND, 1 }, { "backendFree", QNNRT_E_BACKEND, 1 }
    };
    size_t i;
    unsigned n;
    for (i = 0; i < sizeof(calls) / sizeof(calls[0]); ++i) {
        for (n = 1;; ++n) {
            char knobs[100];
            qnnrt_result result;
            snprintf(knobs, sizeof(knobs), "fail=%s:0x44c:%u", calls[i].call, n);
            memset(&heap, 0, sizeof(heap));
            TEST_JUNK(err);
            fake_begin(knobs);
            live_before = fake_live();
            result = life(&err);
            CHECK(heap.live == 0 && heap.wrong == 0);
            CHECK_EQ(fake_live(), live_before);
            if (result == QNNRT_OK && n == 2 && i == 1) continue;      /* the guessed chip: it is optional */
            if (result == QNNRT_OK) break;
            if (result != calls[i].result) printf("%s: %s: %s\n", knobs, qnnrt_result_name(result), err.text);
            CHECK_EQ(result, calls[i].result);
            if (calls[i].quiet) continue;                              /* closing only returns a result */
            CHECK_EQ(err.vendor_code, 0x44c);
            CHECK_STR(err.text, calls[i].call);
        }
        CHECK(n > 1);
    }
}

TEST(success_without_a_handle_or_a_size_is_an_error)
{
    static const struct { const char *knobs, *word; } cases[] = {
        { "zero=contextCreate", "contextCreate (without a handle)" }, { "zero=graphCreate", "graphCreate (without a handle)" },
        { "zero=contextGetBinarySize", "size is 0" }, { "zero=contextGetBinary", "size is 0" }
    };
    size_t i;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        memset(&heap, 0, sizeof(heap));
        fake_begin(cases[i].knobs);
        live_before = fake_live();
        CHECK_EQ(life(&err), QNNRT_E_BACKEND);
        CHECK_STR(err.text, cases[i].word);
        CHECK(heap.live == 0 && heap.wrong == 0 && fake_live() == live_before);
    }
}

TEST(a_backend_that_cannot_build_is_unsupported)
{
    static const char *const slots[] = { "contextCreate", "graphCreate", "tensorCreateGraphTensor", "backendValidateOpConfig",
                                         "graphAddNode", "graphFinalize" };
    size_t i, bytes;
    qnnrt_builder *b;
    qnnrt *built;
    for (i = 0; i < sizeof(slots) / sizeof(slots[0]); ++i) {
        char knobs[64];
        snprintf(knobs, sizeof(knobs), "null=%s", slots[i]);
        open_backend(knobs, 0);
        CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, &err), QNNRT_E_UNSUPPORTED);
        CHECK_STR(err.text, slots[i]);
        CHECK(close_backend());
    }
    open_backend("null=contextGetBinary", 0);
    b = builder_of(NULL);
    add_right(b, "g");
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_save_memory(built, 0, NULL, 0, &bytes, &err), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(qnnrt_save(built, 0, "x", &err), QNNRT_E_UNSUPPORTED);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

/* After finalize, the code for "out of memory" means a missing kernel. */
TEST(finalize_tells_the_real_cause)
{
    qnnrt_builder *b;
    qnnrt *built;
    open_backend("fail=graphFinalize:0x3ea", 0);
    b = builder_of(NULL);
    add_right(b, "layer");
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_BACKEND);
    CHECK_STR(err.text, "graph \"layer\": graphFinalize answered 0x3ea");
    CHECK_STR(TEST_TOLD(err), "no kernel");
    CHECK(strstr(TEST_TOLD(err), "3.6 GB") == NULL);
    CHECK(close_backend());
}

/* ---- saving ------------------------------------------------------------------------------------------ */

TEST(saving_leaves_nothing_half_done)
{
    qnnrt_builder *b;
    qnnrt *built;
    char path[1200], sub[1300], *data;
    const char *folder = test_tmpdir();
    size_t bytes, got, length;
    DIR *dir;
    struct dirent *entry;
    int files = 0;
    open_backend("", 0);
    b = builder_of(NULL);
    add_right(b, "g");
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    snprintf(path, sizeof(path), "%s/no/out.bin", folder);
    CHECK_EQ(qnnrt_save(built, 0, path, &err), QNNRT_E_IO);
    CHECK_STR(err.text, path);
    snprintf(sub, sizeof(sub), "%s/sub", folder);      /* a folder has that name: the rename fails */
    CHECK_EQ(mkdir(sub, 0777), 0);
    snprintf(path, sizeof(path), "%s/sub/x", folder);
    CHECK(test_write_file(path, "x", 1));
    CHECK_EQ(qnnrt_save(built, 0, sub, &err), QNNRT_E_IO);
    CHECK_EQ(qnnrt_save_memory(built, 0, NULL, 0, &bytes, &err), QNNRT_OK);
    data = (char *)malloc(bytes);
    CHECK_EQ(qnnrt_save_memory(built, 0, data, bytes - 1, &got, &err), QNNRT_E_MISMATCH);
    CHECK_EQ(got, bytes);
    CHECK_STR(err.text, "\"context 0\" takes 156 bytes, but the memory has 155");
    CHECK_EQ(qnnrt_save_memory(built, 0, data, bytes, &got, &err), QNNRT_OK);
    CHECK(got > 0 && got <= bytes);
    CHECK(memcmp(data, "FAKEQNN 1\n", 10) == 0);
    free(data);
    snprintf(path, sizeof(path), "%s/good.bin", folder);
    CHECK_EQ(qnnrt_save(built, 0, path, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_save(built, 0, path, NULL), QNNRT_OK);      /* replaces it */
    TEST_JUNK(err);
    CHECK_EQ(qnnrt_save(built, 0, path, &err), QNNRT_OK);
    CHECK(err.code == QNNRT_OK && err.text[0] == '\0' && err.hint[0] == '\0');
    data = (char *)test_read_file(path, &length);
    CHECK_EQ(length, got);
    free(data);
    dir = opendir(folder);
    while ((entry = readdir(dir)) != NULL) files += entry->d_name[0] != '.';
    closedir(dir);
    CHECK_EQ(files, 2);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

/* The name of the temporary file is in use when an earlier process with the same number left its
   file. */
TEST(saving_steps_aside_for_a_file_that_is_there)
{
    static char far[6000];
    const char *folder = test_tmpdir();
    char path[1200], left[1300], *data;
    qnnrt_builder *b;
    qnnrt *built;
    size_t length;
    open_backend("", 0);
    b = builder_of(NULL);
    add_right(b, "g");
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    snprintf(path, sizeof(path), "%s/out.bin", folder);
    snprintf(left, sizeof(left), "%s.%ld-0.part", path, (long)getpid());
    CHECK(test_write_file(left, "left", 4));
    CHECK_EQ(qnnrt_save(built, 0, path, &err), QNNRT_OK);
    data = (char *)test_read_file(left, &length);
    CHECK(length == 4 && memcmp(data, "left", 4) == 0);
    free(data);
    data = (char *)test_read_file(path, &length);
    CHECK(length > 10 && memcmp(data, "FAKEQNN 1\n", 10) == 0);
    free(data);
    memset(far, 'a', sizeof(far) - 1);
    CHECK_EQ(qnnrt_save(built, 0, far, &err), QNNRT_E_IO);
    CHECK_STR(err.text, strerror(ENAMETOOLONG));
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

/* A graph without inputs cannot be run here, so it is not run before it is saved. */
TEST(saving_on_the_cpu_skips_what_cannot_run)
{
    qnnrt_builder *b;
    qnnrt *built;
    qnnrt_tensor x, y, maybe;
    size_t bytes = 0;
    open_backend("id=3", 0);
    b = builder_of(NULL);
    add_graph(b, "g");
    x = add_tensor(b, "x", QNNRT_TENSOR_STATIC);
    maybe = add_tensor(b, "maybe", QNNRT_TENSOR_STATIC);
    y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
    add_node(b, "n", "Op", x, maybe, y);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    CHECK(qnnrt_get_info(built)->contexts[0].graphs[0].unsupported != NULL);
    CHECK(qnnrt_get_info(built)->contexts[0].handle != NULL);
    CHECK_EQ(qnnrt_save_memory(built, 0, NULL, 0, &bytes, &err), QNNRT_OK);
    CHECK(bytes > 0 && err.text[0] == '\0');
    CHECK(traced("graphExecute") == 0);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

/* That library refuses optional tensors: the graph is run without them. */
TEST(saving_on_the_cpu_leaves_optional_tensors_out)
{
    qnnrt_builder *b;
    qnnrt *built;
    qnnrt_tensor x, y, maybe;
    size_t bytes = 0;
    open_backend("id=3", 0);
    b = builder_of(NULL);
    add_graph(b, "g");
    x = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
    maybe = add_tensor(b, "maybe", QNNRT_TENSOR_OPTIONAL_INPUT);
    y = add_tensor(b, "y", QNNRT_TENSOR_OUTPUT);
    add_node(b, "n", "Op", x, maybe, y);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_save_memory(built, 0, NULL, 0, &bytes, &err), QNNRT_OK);
    CHECK(bytes > 0 && err.text[0] == '\0');
    CHECK(traced("graphExecute g in:x") != 0 && traced("in:maybe") == 0);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

/* A write that ends early, as on a full disk: the old file stays whole, and no other file is
   left. */
TEST(saving_to_a_full_disk_keeps_the_old_file)
{
    static const char old[] = "the old file";
    const char *folder = test_tmpdir();
    struct rlimit most, before;
    char path[1200], *data;
    qnnrt_builder *b;
    qnnrt *built;
    qnnrt_result result;
    DIR *dir;
    struct dirent *entry;
    size_t length, files = 0;
    rlim_t room;
    open_backend("", 0);
    b = builder_of(NULL);
    add_right(b, "g");
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
    snprintf(path, sizeof(path), "%s/out.bin", folder);
    CHECK(test_write_file(path, old, sizeof(old)));
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (room = 0; room <= 40; room += 40) {
        void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
        fflush(stdout);
        most = before;
        most.rlim_cur = room;
        if (setrlimit(RLIMIT_FSIZE, &most) != 0) abort();
        result = qnnrt_save(built, 0, path, &err);
        if (setrlimit(RLIMIT_FSIZE, &before) != 0) abort();
        signal(SIGXFSZ, handler);
        CHECK_EQ(result, QNNRT_E_IO);
        CHECK_STR(err.text, path);
        CHECK_STR(err.text, strerror(EFBIG));
        CHECK_STR(err.hint, "has room");
    }
    data = (char *)test_read_file(path, &length);
    CHECK(length == sizeof(old) && memcmp(data, old, sizeof(old)) == 0);
    free(data);
    dir = opendir(folder);
    while ((entry = readdir(dir)) != NULL) files += entry->d_name[0] != '.';
    closedir(dir);
    CHECK_EQ(files, 1);
    CHECK_EQ(qnnrt_save(built, 0, path, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_close(built), QNNRT_OK);
    CHECK(close_backend());
}

/* The CPU library reads the outputs that were last bound: a binary is requested only if all were
   bound. */
TEST(saving_on_the_cpu_runs_each_graph_first)
{
    static char name[2001];
    qnnrt_builder_desc desc;
    int which;
    memset(name, 'g', sizeof(name) - 1);
    for (which = 0; which < 2; ++which) {
        qnnrt_builder *b;
        qnnrt *built;
        size_t bytes = 0;
        memset(&desc, 0, sizeof(desc));
        desc.limits.name_bytes = 2000;
        if (which == 1) desc.limits.arena_bytes = 1;
        open_backend("id=3", 0);
        b = builder_of(&desc);
        add_right(b, name);
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_save_memory(built, 0, NULL, 0, &bytes, &err), which == 0 ? QNNRT_OK : QNNRT_E_LIMIT);
        CHECK_EQ(bytes > 0, which == 0);
        CHECK_EQ(traced("graphExecute") != 0, which == 0);
        CHECK_EQ(traced("contextGetBinarySize") != 0, which == 0);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
}

/* ---- containers ---------------------------------------------------------------------------------------- */

static const char *container(const char *name, const char *text)
{
    static char path[4][1200];
    static int at;
    char *to = path[at++ % 4];
    snprintf(to, sizeof(path[0]), "%s/%s", test_tmpdir(), name);
    return test_write_file(to, text, strlen(text)) ? to : NULL;
}

/* A builder's system library is closed with the backend if that is unloaded, else kept; it also
   serves logs. */
TEST(the_system_library_is_the_one_that_was_named)
{
    size_t bytes = 0, i;
    void *image = test_read_file(TEST_FAKE_LIB, &bytes), *loaded;
    for (i = 0; i < 3; ++i) {
        qnnrt_backend_desc backend_desc;
        qnnrt_builder_desc desc;
        qnnrt_builder *b;
        qnnrt *built = NULL;
        qnnrt_run *run;
        char path[1200], name[1200];
        snprintf(path, sizeof(path), "%s/libSystem%u.so", test_tmpdir(), (unsigned)i);
        CHECK(test_write_file(path, image, bytes));
        memset(&backend_desc, 0, sizeof(backend_desc));
        memset(&desc, 0, sizeof(desc));
        backend_desc.path = TEST_FAKE_LIB;
        backend_desc.unload = i > 0;
        desc.system_path = path;
        fake_begin("");
        CHECK_EQ(qnnrt_backend_open(&backend_desc, &backend, &err), QNNRT_OK);
        b = builder_of(&desc);
        if (i < 2) qnnrt_builder_dlc(b, container("a.dlc", "PK\3\4FAKEDLC a"), NULL);
        else add_right(b, "own");
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
        loaded = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
        CHECK((loaded != NULL) == (i == 0));
        if (loaded != NULL) dlclose(loaded);
        CHECK_EQ(qnnrt_prepare(built, i < 2 ? "a" : "own", &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_run_profile(run, QNNRT_PROFILE_BASIC), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        snprintf(name, sizeof(name), "%s/log%u", test_tmpdir(), (unsigned)i);
        CHECK_EQ(qnnrt_run_profile_log(run, name), QNNRT_OK);
        if (qnnrt_run_error(run)->code != QNNRT_OK) printf("%s\n", qnnrt_run_error(run)->text);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
    }
    free(image);
}

TEST(containers_become_graphs)
{
    /* The struct passed by value has the size that the callee expects. */
    static const char *const knobs[] = { "", "front=75", "front=90", "front=64,core=2.23", "front=75,core=2.99" };
    qnnrt_builder_desc desc;
    qnnrt_graph_desc graph;
    size_t i, count;
    memset(&desc, 0, sizeof(desc));
    memset(&graph, 0, sizeof(graph));
    desc.system_path = TEST_FAKE_LIB;
    for (i = 0; i < sizeof(knobs) / sizeof(knobs[0]); ++i) {
        qnnrt_builder *b;
        qnnrt *built = NULL;
        qnnrt_run *run;
        const qnnrt_context_info *info;
        open_backend(knobs[i], 0);
        b = builder_of(&desc);
        graph.name = "token";
        graph.fp16 = 1;
        qnnrt_builder_dlc(b, container("a.dlc", "PK\3\4FAKEDLC a"), &graph);
        qnnrt_builder_dlc(b, container("bc.dlc", "PK\3\4FAKEDLC b c"), NULL);
        add_right(b, "own");
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_OK);
        info = qnnrt_get_info(built)->contexts;
        count = qnnrt_get_info(built)->context_count;
        CHECK_EQ(count, 1);
        CHECK_EQ(info->graph_count, 4);
        CHECK_STR(info->graphs[0].name, "token");
        CHECK_STR(info->graphs[1].name, "b");
        CHECK_STR(info->graphs[2].name, "c");
        CHECK_STR(info->graphs[3].name, "own");
        CHECK(traced("options of token 0:2,0,1,0\n") != 0);
        CHECK_EQ(qnnrt_prepare(built, "c", &run, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        qnnrt_run_destroy(run);
        CHECK(qnnrt_get_info(built)->system_path[0] != '\0');
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
}

TEST(a_container_of_exactly_the_limit_is_built)
{
    static const char text[] = "PK\3\4FAKEDLC a";
    uint64_t less;
    for (less = 0; less < 2; ++less) {
        qnnrt_builder_desc desc;
        qnnrt_builder *b;
        qnnrt *built;
        memset(&desc, 0, sizeof(desc));
        desc.system_path = TEST_FAKE_LIB;
        desc.limits.file_bytes = sizeof(text) - 1 - less;
        open_backend("", 0);
        b = builder_of(&desc);
        qnnrt_builder_dlc(b, container("a.dlc", text), NULL);
        CHECK_EQ(qnnrt_builder_finish(b, &built, &err), less == 0 ? QNNRT_OK : QNNRT_E_LIMIT);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
}

TEST(bad_containers_are_refused_in_words)
{
    static const struct { const char *knobs, *text, *name; qnnrt_result result; const char *word; } cases[] = {
        { "", "PK\3\4FAKEDLC a b", "one", QNNRT_E_ARG, "several graphs" },
        { "", "PK\3\4FAKEDLC a a", NULL, QNNRT_E_BACKEND, "graphCreate answered" },
        { "", "PK\3\4FAKEDLC", NULL, QNNRT_E_FORMAT, "0 graphs" },
        { "", "PK\3\4something else", NULL, QNNRT_E_FORMAT, "systemDlcCreateFromFile" },
        { "", "{\"a\": 1}", NULL, QNNRT_E_FORMAT, "JSON" },
        { "", "", NULL, QNNRT_E_FORMAT, ".dlc container" },
        { "", "PK\3\4FAKEDLC abcdefghijklm", NULL, QNNRT_E_LIMIT, "25 bytes, more than limits.file_bytes" },
        { "sysapi=1.2", "PK\3\4FAKEDLC a", NULL, QNNRT_E_UNSUPPORTED, "interface 1.2" },
        { "sysapi=1.8", "PK\3\4FAKEDLC a", NULL, QNNRT_E_UNSUPPORTED, "interface 1.8" },
        { "null=systemDlcFree", "PK\3\4FAKEDLC a", NULL, QNNRT_E_UNSUPPORTED, "cannot compose" },
        { "null=systemDlcComposeGraphs", "PK\3\4FAKEDLC a", NULL, QNNRT_E_UNSUPPORTED, "cannot compose" },
        { "null=systemDlcCreateFromFile", "PK\3\4FAKEDLC a", NULL, QNNRT_E_UNSUPPORTED, "cannot compose" },
        { "zero=systemDlcCreateFromFile", "PK\3\4FAKEDLC a", NULL, QNNRT_E_FORMAT, "without a handle" },
        { "zero=systemDlcComposeGraphs", "PK\3\4FAKEDLC a", NULL, QNNRT_E_FORMAT, "1 graphs created, but 0 described" },
        { "fail=systemDlcCreateFromFile:0x7531", "PK\3\4FAKEDLC a", NULL, QNNRT_E_FORMAT, "0x7531" },
        { "fail=systemDlcComposeGraphs:0x7532", "PK\3\4FAKEDLC a", NULL, QNNRT_E_BACKEND, "0x7532" },
        { "fail=graphCreate:0x1773", "PK\3\4FAKEDLC a", NULL, QNNRT_E_BACKEND, "graph \"a\" of " },
        { "fail=graphCreate:0x1773", "PK\3\4FAKEDLC a", NULL, QNNRT_E_BACKEND, "graphCreate answered 0x1773" },
        { "fail=systemDlcCreateFromFile:0x3ea", "PK\3\4FAKEDLC a", NULL, QNNRT_E_FORMAT, "damaged or cut short" },
        { "fail=graphFinalize:0x3ea", "PK\3\4FAKEDLC a", NULL, QNNRT_E_BACKEND, "cannot finalize graph \"a\"" },
        { "fail=systemDlcFree:0x7532", "PK\3\4FAKEDLC a", NULL, QNNRT_OK, NULL }
    };
    qnnrt_builder_desc desc;
    size_t i;
    memset(&desc, 0, sizeof(desc));
    desc.system_path = TEST_FAKE_LIB;
    desc.limits.file_bytes = 24;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        qnnrt_graph_desc graph;
        qnnrt_builder *b;
        qnnrt *built;
        qnnrt_result result;
        memset(&graph, 0, sizeof(graph));
        graph.name = cases[i].name;
        open_backend(cases[i].knobs, 0);
        b = builder_of(&desc);
        qnnrt_builder_dlc(b, container("a.dlc", cases[i].text), &graph);
        result = qnnrt_builder_finish(b, &built, &err);
        if (result != cases[i].result) printf("case %u: %s\n", (unsigned)i, err.text);
        CHECK_EQ(result, cases[i].result);
        if (cases[i].word != NULL) CHECK_STR(TEST_TOLD(err), cases[i].word);
        CHECK_EQ(qnnrt_close(built), QNNRT_OK);
        CHECK(close_backend());
    }
}

/* ---- op packages ----------------------------------------------------------------------------------------- */

TEST(op_packages_are_registered_once)
{
    char path[4097];
    open_backend("", 0);
    CHECK_EQ(qnnrt_backend_register_ops(backend, "libMine.so", "MineInterfaceProvider", NULL, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_register_ops(backend, "libMine.so", "MineInterfaceProvider", "CPU", &err), QNNRT_E_BACKEND);
    CHECK_EQ(err.vendor_code, 0xfa7);
    CHECK_STR(err.text, "libMine.so");
    CHECK_STR(TEST_TOLD(err), "registered already");
    CHECK_EQ(qnnrt_backend_register_ops(backend, "missing.so", "MineInterfaceProvider", NULL, &err), QNNRT_E_BACKEND);
    CHECK_EQ(err.vendor_code, 0xfa5);
    CHECK_STR(TEST_TOLD(err), "path is wrong");
    CHECK_EQ(qnnrt_backend_register_ops(backend, "libMine2.so", "none", NULL, &err), QNNRT_E_BACKEND);
    CHECK_EQ(err.vendor_code, 0xfa6);
    CHECK_STR(err.text, "\"none\"");
    CHECK_EQ(qnnrt_backend_register_ops(NULL, "a", "b", NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_backend_register_ops(backend, NULL, "b", NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_backend_register_ops(backend, "a", "", NULL, &err), QNNRT_E_ARG);
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    CHECK_EQ(qnnrt_backend_register_ops(backend, path, "b", NULL, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "4096 bytes");
    CHECK(close_backend());
    open_backend("null=backendRegisterOpPackage", 0);
    CHECK_EQ(qnnrt_backend_register_ops(backend, "a", "b", NULL, &err), QNNRT_E_UNSUPPORTED);
    CHECK(close_backend());
}

/* Open a model on `backend` from a file that is built first. */
static qnnrt *open_saved(void)
{
    qnnrt_builder *b = builder_of(NULL);
    qnnrt *built = NULL, *opened = NULL;
    qnnrt_desc desc;
    qnnrt_file file;
    char path[1200];
    add_right(b, "layer");
    snprintf(path, sizeof(path), "%s/packages.bin", test_tmpdir());
    if (qnnrt_builder_finish(b, &built, &err) != QNNRT_OK || qnnrt_save(built, 0, path, &err) != QNNRT_OK)
        printf("%s\n", err.text);
    qnnrt_close(built);
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    file.path = path;
    desc.backend = backend;
    desc.system_path = TEST_FAKE_LIB;
    desc.files = &file;
    desc.file_count = 1;
    if (qnnrt_open(NULL, &desc, &opened, &err) != QNNRT_OK) printf("%s\n", err.text);
    return opened;
}

/* Count the lines of the trace that begin with a text. */
static int lines_with(const char *what)
{
    const char *at = fake_trace();
    int count = 0;
    while ((at = strstr(at, what)) != NULL) {
        count += at == fake_trace() || at[-1] == '\n';
        ++at;
    }
    return count;
}

/* In their order, with their texts, which the caller may have freed, and before the contexts. */
TEST(a_recovery_registers_op_packages_again)
{
    char path[32], provider[32], target[32];
    qnnrt *opened;
    size_t first, second;
    open_backend("", 0);
    snprintf(path, sizeof(path), "libOne.so");
    snprintf(provider, sizeof(provider), "OneProvider");
    snprintf(target, sizeof(target), "HTP");
    CHECK_EQ(qnnrt_backend_register_ops(backend, path, provider, target, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_register_ops(backend, "libMissing.so", "none", NULL, &err), QNNRT_E_BACKEND);
    CHECK_EQ(qnnrt_backend_register_ops(backend, "libTwo.so", "TwoProvider", NULL, &err), QNNRT_OK);
    memset(path, 'x', sizeof(path) - 1);
    memset(provider, 'x', sizeof(provider) - 1);
    memset(target, 'x', sizeof(target) - 1);
    opened = open_saved();
    CHECK(opened != NULL);
    CHECK_EQ(lines_with("backendRegisterOpPackage"), 3);
    CHECK_EQ(qnnrt_model_recover(opened, &err), QNNRT_OK);
    CHECK_EQ(lines_with("backendRegisterOpPackage"), 5);
    CHECK_EQ(lines_with("package libOne.so OneProvider HTP"), 2);
    CHECK_EQ(lines_with("package libTwo.so TwoProvider (null)"), 2);
    first = (size_t)(strstr(strstr(fake_trace(), "package libTwo.so"), "package libOne.so") - fake_trace());
    second = (size_t)(strstr(fake_trace() + first, "package libTwo.so") - fake_trace());
    CHECK(strstr(fake_trace() + first, "contextCreateFromBinary") > fake_trace() + second);
    CHECK_EQ(qnnrt_model_recover(opened, &err), QNNRT_OK);
    CHECK_EQ(lines_with("backendRegisterOpPackage"), 7);
    CHECK_EQ(qnnrt_close(opened), QNNRT_OK);
    CHECK(close_backend());
}

TEST(a_recovery_says_which_op_package_fails_and_can_be_repeated)
{
    static const int nth[] = { 3, 4 };           /* registration of the first recovery */
    static const char *const names[] = { "libOne.so", "libTwo.so" };
    size_t i;
    for (i = 0; i < 2; ++i) {
        char rule[64];
        qnnrt *opened;
        snprintf(rule, sizeof(rule), "fail=backendRegisterOpPackage:0xfa7:%d", nth[i]);
        open_backend(rule, 0);
        CHECK_EQ(qnnrt_backend_register_ops(backend, "libOne.so", "OneProvider", NULL, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_backend_register_ops(backend, "libTwo.so", "TwoProvider", NULL, &err), QNNRT_OK);
        opened = open_saved();
        CHECK(opened != NULL);
        CHECK_EQ(qnnrt_model_recover(opened, &err), QNNRT_E_BACKEND);
        CHECK_EQ(err.vendor_code, 0xfa7);
        CHECK_STR(err.text, names[i]);
        CHECK_EQ(qnnrt_backend_register_ops(backend, "libThree.so", "P", NULL, NULL), QNNRT_E_STATE);
        CHECK_EQ(qnnrt_model_recover(opened, &err), QNNRT_OK);
        CHECK_EQ(lines_with("package libOne.so"), 3);
        CHECK_EQ(lines_with("package libTwo.so"), 2 + (int)i);
        CHECK_EQ(qnnrt_close(opened), QNNRT_OK);
        CHECK(close_backend());
    }
}

TEST(an_op_package_without_memory_is_not_registered)
{
    open_backend("", 0);
    heap.fail_at = heap.count + 1;
    CHECK_EQ(qnnrt_backend_register_ops(backend, "libOne.so", "OneProvider", NULL, &err), QNNRT_E_MEMORY);
    heap.fail_at = 0;
    CHECK_EQ(lines_with("backendRegisterOpPackage"), 0);
    CHECK_EQ(qnnrt_backend_register_ops(backend, "libOne.so", "OneProvider", NULL, &err), QNNRT_OK);
    CHECK(close_backend());
}

/* ---- memory and size --------------------------------------------------------------------------------------- */

static qnnrt_result life_of_a_container(qnnrt_error *error)
{
    static const char *path;
    qnnrt_backend_desc backend_desc;
    qnnrt_builder_desc desc;
    qnnrt_backend *own = NULL;
    qnnrt_builder *b = NULL;
    qnnrt *built = NULL;
    qnnrt_result result;
    memset(&backend_desc, 0, sizeof(backend_desc));
    memset(&desc, 0, sizeof(desc));
    if (path == NULL) path = container("life.dlc", "PK\3\4FAKEDLC a b");
    backend_desc.path = desc.system_path = TEST_FAKE_LIB;
    backend_desc.hooks.alloc = heap_alloc;
    backend_desc.hooks.free = heap_free;
    backend_desc.hooks.alloc_user = &heap;
    result = qnnrt_backend_open(&backend_desc, &own, error);
    if (result == QNNRT_OK) result = qnnrt_builder_create(own, &desc, &b, error);
    if (result == QNNRT_OK) {
        qnnrt_builder_dlc(b, path, NULL);
        result = qnnrt_builder_finish(b, &built, error);
    }
    qnnrt_close(built);
    qnnrt_backend_close(own);
    return result;
}

/* So many graphs that each list of the model needs its own block, which may fail alone. In builds with
   AddressSanitizer, or with QNNRT__ASAN, every object has a block of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(QNNRT__ASAN)
enum { MANY = 2 };
#elif !defined(__has_feature)
enum { MANY = 150 };
#elif __has_feature(address_sanitizer)
enum { MANY = 2 };
#else
enum { MANY = 150 };
#endif

static qnnrt_result life_of_many(qnnrt_error *error)
{
    qnnrt_backend_desc backend_desc;
    qnnrt_builder_desc desc;
    qnnrt_backend *own = NULL;
    qnnrt_builder *b = NULL;
    qnnrt *built = NULL;
    qnnrt_result result;
    memset(&backend_desc, 0, sizeof(backend_desc));
    memset(&desc, 0, sizeof(desc));
    desc.limits.files = MANY;
    backend_desc.path = TEST_FAKE_LIB;
    backend_desc.hooks.alloc = heap_alloc;
    backend_desc.hooks.free = heap_free;
    backend_desc.hooks.alloc_user = &heap;
    result = qnnrt_backend_open(&backend_desc, &own, error);
    if (result == QNNRT_OK) result = qnnrt_builder_create(own, &desc, &b, error);
    if (result == QNNRT_OK) {
        unsigned i;
        for (i = 0; i < 2 * MANY; ++i) {            /* contexts of one graph, the last one of many */
            char name[16];
            snprintf(name, sizeof(name), "g%u", i);
            if (i < MANY) qnnrt_builder_context(b, NULL);
            add_right(b, name);
        }
        result = qnnrt_builder_finish(b, &built, error);
    }
    qnnrt_close(built);
    qnnrt_backend_close(own);
    return result;
}

TEST(every_allocation_may_fail)
{
    int on;
    for (on = 0; on < 2; ++on) {
        CHECK(exhaust("a life", life, on, "") > 5);
        CHECK(exhaust("a life on CPU", life, on, "id=3") > 5);      /* where saving creates runs */
        CHECK(exhaust("a container", life_of_a_container, on, "") > 5);
        CHECK(exhaust("many graphs", life_of_many, on, "") > 5);
    }
    without_text = 1;
    CHECK(exhaust("a container", life_of_a_container, 0, "") > 5);
    without_text = 0;
}

/* The upper half of the numbers is taken by nodes with names, so that each node without a name finds
   its number only after all of them. */
TEST(free_names_are_found_in_time)
{
    enum { HALF = 100000 };
    qnnrt_builder *b;
    qnnrt *built;
    qnnrt_tensor x;
    qnnrt_backend_desc desc;
    qnnrt_backend *own;
    size_t i;
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_FAKE_LIB;
    fake_begin("");
    CHECK_EQ(qnnrt_backend_open(&desc, &own, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(own, NULL, &b, &err), QNNRT_OK);
    add_graph(b, "large");
    x = add_tensor(b, "x", QNNRT_TENSOR_INPUT);
    for (i = 0; i < 2 * HALF; ++i) {
        char name[24];
        snprintf(name, sizeof(name), "Op_%u", (unsigned)(HALF + i));
        add_node(b, i < HALF ? name : NULL, "Op", x, QNNRT_NO_TENSOR, add_tensor(b, name, QNNRT_TENSOR_INNER));
    }
    CHECK_EQ(qnnrt_builder_error(b)->code, QNNRT_OK);
    add_node(b, "last", "Op", add_tensor(b, "i", QNNRT_TENSOR_INNER), x, add_tensor(b, "z", QNNRT_TENSOR_INNER));
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "no node writes input 0");
    CHECK_EQ(qnnrt_backend_close(own), QNNRT_OK);
}

/* What is allocated for a question does not depend on the size of the graph. */
TEST(supports_costs_the_same_in_large_graphs)
{
    size_t calls[2], bytes[2], i, large;
    for (large = 0; large < 2; ++large) {
        qnnrt_backend_desc desc;
        qnnrt_backend *own;
        qnnrt_builder *b;
        qnnrt_node_desc node;
        qnnrt_tensor x, y;
        size_t before;
        memset(&desc, 0, sizeof(desc));
        memset(&node, 0, sizeof(node));
        memset(&taken, 0, sizeof(taken));
        desc.path = TEST_FAKE_LIB;
        desc.hooks.alloc = take;
        desc.hooks.free = give;
        fake_begin("");
        CHECK_EQ(qnnrt_backend_open(&desc, &own, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_builder_create(own, NULL, &b, &err), QNNRT_OK);
        add_right(b, "g");
        for (i = 0; large && i < 10000; ++i) {
            char name[24];
            snprintf(name, sizeof(name), "t%u", (unsigned)i);
            add_node(b, NULL, "Op", 1, QNNRT_NO_TENSOR, add_tensor(b, name, QNNRT_TENSOR_INNER));
        }
        x = 1;
        y = 3;
        node.type = "Relu";
        node.inputs = &x;
        node.outputs = &y;
        node.input_count = node.output_count = 1;
        CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_OK);      /* chooses the device */
        before = taken.calls;
        taken.most = taken.now;
        bytes[large] = taken.now;
        CHECK_EQ(qnnrt_builder_supports(b, &node, &err), QNNRT_OK);
        calls[large] = taken.calls - before;
        CHECK_EQ(taken.now, bytes[large]);
        bytes[large] = taken.most - bytes[large];
        qnnrt_builder_destroy(b);
        CHECK_EQ(qnnrt_backend_close(own), QNNRT_OK);
    }
    CHECK(calls[0] > 0 && calls[0] == calls[1]);
    CHECK(bytes[0] > 0 && bytes[1] < bytes[0] + 64);      /* ASan: a name with a longer number */
}

/* 200,000 tensors and nodes in the worst order; the last output is missing, so the vendor is not
   called. With a linear search for each this would take 4 x 10^10 steps, and the runner's limit
   of time would end the program. */
TEST(large_graphs_take_their_time_in_proportion)
{
    enum { NODES = 200000 };
    qnnrt_builder *b;
    qnnrt *built;
    qnnrt_tensor *t = (qnnrt_tensor *)malloc((NODES + 1) * sizeof(*t));
    qnnrt_backend_desc desc;
    qnnrt_backend *own;
    size_t i;
    memset(&desc, 0, sizeof(desc));
    desc.path = TEST_FAKE_LIB;
    fake_begin("");
    CHECK_EQ(qnnrt_backend_open(&desc, &own, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(own, NULL, &b, &err), QNNRT_OK);
    add_graph(b, "large");
    for (i = 0; i <= NODES; ++i) {
        char name[24];
        snprintf(name, sizeof(name), "t%u", (unsigned)i);
        t[i] = add_tensor(b, name, i == 0 ? QNNRT_TENSOR_INPUT : i == NODES ? QNNRT_TENSOR_OUTPUT : QNNRT_TENSOR_INNER);
    }
    for (i = NODES; i-- > 1;) add_node(b, NULL, "Op", t[i - 1], t[0], t[i]);
    add_node(b, "loop", "Op", t[NODES - 1], t[NODES], t[NODES]);
    CHECK_EQ(qnnrt_builder_finish(b, &built, &err), QNNRT_E_ARG);
    CHECK_STR(err.text, "\"loop\" -> \"loop\"");
    free(t);
    CHECK_EQ(qnnrt_backend_close(own), QNNRT_OK);
}

TEST_MAIN("compose")
{
    RUN(a_built_model_runs_is_saved_and_opens);
    RUN(order_is_kept_where_it_can_be);
    RUN(nodes_without_a_name_get_a_free_one);
    RUN(weights_by_blocks_compute_what_they_say);
    RUN(loaded_weights_compute_like_given_ones);
    RUN(each_tensor_is_loaded_once_under_the_lock);
    RUN(an_error_of_load_ends_finish);
    RUN(finish_tells_how_far_it_is);
    RUN(finish_ends_when_it_is_told_to);
    RUN(one_loaded_tensor_is_in_memory_at_a_time);
    RUN(supports_asks_about_tensors_that_are_not_loaded);
    RUN(several_contexts_are_wired_as_shards);
    RUN(parameters_arrive_as_given);
    RUN(per_axis_against_per_tensor_is_not_joined);
    RUN(encodings_arrive_as_given);
    RUN(mistakes_are_refused_in_words);
    RUN(an_output_must_be_written);
    RUN(the_first_error_sticks);
    RUN(a_spent_builder_says_so);
    RUN(finalizing_is_measured_when_asked);
    RUN(null_arguments_are_refused);
    RUN(limits_hold);
    RUN(exactly_the_limits_are_built);
    RUN(supports_asks_and_adds_nothing);
    RUN(the_failed_node_has_a_name);
    RUN(a_refused_node_stops_the_build);
    RUN(a_library_need_not_be_asked);
    RUN(a_refused_node_is_described_in_short);
    RUN(a_split_that_crashes_is_not_asked);
    RUN(what_crashes_is_not_asked);
    RUN(weights_that_crash_a_matmul_are_not_asked_for);
    RUN(options_go_to_the_htp);
    RUN(a_device_of_its_own_where_one_is_needed);
    RUN(a_chip_that_was_guessed_and_is_refused_is_no_error);
    RUN(a_chip_that_was_asked_for_and_is_refused_is_an_error);
    RUN(a_device_of_a_builder_that_is_given_up_is_freed);
    RUN(a_refused_device_is_not_explained_by_older_lines);
    RUN(every_call_that_fails_is_a_clean_error);
    RUN(success_without_a_handle_or_a_size_is_an_error);
    RUN(a_backend_that_cannot_build_is_unsupported);
    RUN(finalize_tells_the_real_cause);
    RUN(saving_leaves_nothing_half_done);
    RUN(saving_steps_aside_for_a_file_that_is_there);
    RUN(saving_on_the_cpu_skips_what_cannot_run);
    RUN(saving_on_the_cpu_leaves_optional_tensors_out);
    RUN(saving_to_a_full_disk_keeps_the_old_file);
    RUN(the_system_library_is_the_one_that_was_named);
    RUN(saving_on_the_cpu_runs_each_graph_first);
    RUN(containers_become_graphs);
    RUN(a_container_of_exactly_the_limit_is_built);
    RUN(bad_containers_are_refused_in_words);
    RUN(op_packages_are_registered_once);
    RUN(a_recovery_registers_op_packages_again);
    RUN(a_recovery_says_which_op_package_fails_and_can_be_repeated);
    RUN(an_op_package_without_memory_is_not_registered);
    RUN(every_allocation_may_fail);
    RUN(free_names_are_found_in_time);
    RUN(supports_costs_the_same_in_large_graphs);
    RUN(large_graphs_take_their_time_in_proportion);
}
