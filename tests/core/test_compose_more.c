/* test_compose_more.c - what programs need that build many graphs, on libQnnRef.so: slots without names, runs without
   memory of their own, data that is read in place, keys, builders that are used again

   Values come from the library; the expected ones are computed here. */
#include "../../qnnrt.h"
#include "qnnrt_builder.h"
#include "test.h"
#include "heap.h"
#include "bind.h"
#include "backend.h"

static qnnrt_error err;
static qnnrt_backend *backend;
static const qnnrt_prepare_desc caller_io = { 1, 0, 0, 0, { 0 } };

static int open_ref(void)
{
    qnnrt_backend_desc desc;
    desc = test_ref_desc();
    memset(&heap, 0, sizeof(heap));
    TEST_JUNK(err);
    desc.hooks.alloc = heap_alloc;
    desc.hooks.free = heap_free;
    desc.hooks.alloc_user = &heap;
    if (qnnrt_backend_open(&desc, &backend, &err) == QNNRT_OK) return 1;
    printf("%s\n", err.text);
    return 0;
}

static int close_ref(void)
{
    const qnnrt_result result = qnnrt_backend_close(backend);
    if (result == QNNRT_OK && heap.live == 0 && heap.wrong == 0) return 1;
    printf("closing: %s, %u blocks lost, %u wrong uses\n", qnnrt_result_name(result), (unsigned)heap.live,
           (unsigned)heap.wrong);
    return 0;
}

static qnnrt_builder *builder(void)
{
    qnnrt_builder *b = NULL;
    if (qnnrt_builder_create(backend, NULL, &b, &err) != QNNRT_OK) printf("%s\n", err.text);
    return b;
}

static void graph(qnnrt_builder *b, const char *name)
{
    qnnrt_graph_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.name = name;
    qnnrt_builder_graph(b, &desc);
}

/* Describe float32 [n]; name may be NULL. */
static qnnrt_tensor_desc vector(const char *name, qnnrt_tensor_kind kind, uint32_t n)
{
    qnnrt_tensor_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.name = name;
    desc.kind = kind;
    desc.dtype = QNNRT_DTYPE_F32;
    desc.rank = 1;
    desc.dims[0] = n;
    return desc;
}

static qnnrt_tensor add(qnnrt_builder *b, const char *name, qnnrt_tensor_kind kind)
{
    const qnnrt_tensor_desc desc = vector(name, kind, 4);
    return qnnrt_builder_tensor(b, &desc);
}

static qnnrt_tensor weight(qnnrt_builder *b, const char *name, const float data[4], int borrow)
{
    qnnrt_tensor_desc desc = vector(name, QNNRT_TENSOR_STATIC, 4);
    desc.data = data;
    desc.bytes = 16;
    desc.borrow = borrow;
    return qnnrt_builder_tensor(b, &desc);
}

static void node(qnnrt_builder *b, const char *type, qnnrt_tensor in, qnnrt_tensor in2, qnnrt_tensor out)
{
    qnnrt_tensor inputs[2];
    qnnrt_node_desc desc;
    memset(&desc, 0, sizeof(desc));
    inputs[0] = in;
    inputs[1] = in2;
    desc.type = type;
    desc.inputs = inputs;
    desc.input_count = 2;
    desc.outputs = &out;
    desc.output_count = 1;
    qnnrt_builder_node(b, &desc);
}

static const float two[4] = { 2, 20, 200, 2000 }, three[4] = { 3, 30, 300, 3000 };

/* p = x + c, q = x * y; names are given or made. */
static void sum_and_product(qnnrt_builder *b, int named, const float *c, int borrow)
{
    qnnrt_tensor x, y, p, q;
    graph(b, "g");
    x = add(b, named ? "x" : NULL, QNNRT_TENSOR_INPUT);
    q = add(b, named ? "q" : NULL, QNNRT_TENSOR_OUTPUT);
    y = add(b, named ? "y" : NULL, QNNRT_TENSOR_INPUT);
    p = add(b, named ? "p" : NULL, QNNRT_TENSOR_OUTPUT);
    node(b, "ElementWiseAdd", x, weight(b, named ? "c" : NULL, c, borrow), p);
    node(b, "ElementWiseMultiply", x, y, q);
}

static const qnnrt_slot *input_of(const qnnrt_pipeline *pipeline, size_t i)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(pipeline);
    return info != NULL && i < info->input_count ? info->inputs[i] : NULL;
}

static const qnnrt_slot *output_of(const qnnrt_pipeline *pipeline, size_t i)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(pipeline);
    return info != NULL && i < info->output_count ? info->outputs[i] : NULL;
}

TEST(a_run_without_memory_of_its_own_takes_that_of_the_caller)
{
    int named;
    for (named = 0; named < 2; ++named) {
        float x[4] = { 1, 2, 3, 4 }, y[4] = { 5, 6, 7, 8 }, p[4] = { 0 }, q[4] = { 0 };
        const qnnrt_pipeline *pipeline;
        qnnrt_builder *b;
        qnnrt *model;
        qnnrt_run *run;
        size_t bytes, i;
        CHECK(open_ref());
        b = builder();
        sum_and_product(b, named, two, 0);
        CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_OK);
        CHECK_EQ(qnnrt_prepare_with(model, "g", &caller_io, &run, &err), QNNRT_OK);
        pipeline = qnnrt_run_pipeline(run);
        CHECK(qnnrt_data_slot(run, input_of(pipeline, 0), &bytes) == NULL);
        CHECK_EQ(qnnrt_run_error(run)->code, QNNRT_E_STATE);
        CHECK_STR(qnnrt_run_error(run)->text, named ? "\"x\" is not bound" : "\"t0\" is not bound");
        CHECK_STR(qnnrt_run_error(run)->hint, "qnnrt_bind()");
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
        CHECK_STR(qnnrt_run_error(run)->text, named ? "\"x\"" : "\"t0\"");
        /* in the order in which they were added */
        CHECK_STR(input_of(pipeline, 0)->tensor->name, named ? "x" : "t0");
        CHECK_STR(input_of(pipeline, 1)->tensor->name, named ? "y" : "t2");
        CHECK_STR(output_of(pipeline, 0)->tensor->name, named ? "q" : "t1");
        CHECK_STR(output_of(pipeline, 1)->tensor->name, named ? "p" : "t3");
        CHECK(input_of(pipeline, 2) == NULL);
        CHECK(output_of(pipeline, SIZE_MAX) == NULL);
        CHECK(input_of(NULL, 0) == NULL && output_of(NULL, 0) == NULL);
        CHECK_EQ(qnnrt_bind_input(run, input_of(pipeline, 0), x, sizeof(x)), QNNRT_OK);
        CHECK_EQ(qnnrt_bind_input(run, input_of(pipeline, 1), y, sizeof(y)), QNNRT_OK);
        CHECK_EQ(qnnrt_bind_output(run, output_of(pipeline, 0), q, sizeof(q)), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
        CHECK_STR(qnnrt_run_error(run)->text, named ? "\"p\"" : "\"t3\"");
        CHECK(strstr(qnnrt_run_error(run)->text, named ? "\"x\"" : "\"t0\"") == NULL);
        CHECK_EQ(qnnrt_bind_output(run, output_of(pipeline, 1), p, sizeof(p)), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        for (i = 0; i < 4; ++i) CHECK(p[i] == x[i] + two[i] && q[i] == x[i] * y[i]);
        /* NULL goes back to memory that it does not have */
        CHECK_EQ(qnnrt_bind_input(run, input_of(pipeline, 1), NULL, 0), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_E_STATE);
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_prepare_with(model, "none", &caller_io, &run, &err), QNNRT_E_NOT_FOUND);
        CHECK_EQ(qnnrt_prepare_with(NULL, "g", &caller_io, &run, &err), QNNRT_E_ARG);
        CHECK_STR(err.text, "qnnrt_prepare");
        CHECK(run == NULL);
        CHECK_EQ(qnnrt_prepare_with(model, "g", &caller_io, NULL, &err), QNNRT_E_ARG);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        CHECK(close_ref());
    }
}

TEST(a_made_name_steps_aside_for_one_that_is_taken)
{
    qnnrt_builder *b;
    qnnrt *model;
    const qnnrt_graph_info *info;
    qnnrt_tensor x, y;
    CHECK(open_ref());
    b = builder();
    graph(b, "g");
    x = add(b, "t1", QNNRT_TENSOR_INPUT);
    y = add(b, NULL, QNNRT_TENSOR_INPUT);
    node(b, "ElementWiseAdd", x, y, add(b, NULL, QNNRT_TENSOR_OUTPUT));
    CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_OK);
    info = &qnnrt_get_info(model)->contexts[0].graphs[0];
    CHECK_STR(info->inputs[1].name, "t2");
    CHECK_STR(info->outputs[0].name, "t3");
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    b = builder();
    graph(b, "g");
    CHECK(add(b, "", QNNRT_TENSOR_INPUT) < 0);
    CHECK_STR(qnnrt_builder_error(b)->text, "a tensor has no name");
    qnnrt_builder_destroy(b);
    CHECK(close_ref());
}

/* The first element of p of a model of sum_and_product() with x = 1. */
static float first_sum(qnnrt *model)
{
    float x[4] = { 1, 1, 1, 1 }, y[4] = { 1, 1, 1, 1 }, p[4] = { -1, -1, -1, -1 }, q[4];
    qnnrt_run *run = NULL;
    const qnnrt_pipeline *pipeline;
    if (qnnrt_prepare_with(model, NULL, &caller_io, &run, &err) != QNNRT_OK) { printf("%s\n", err.text); return -1; }
    pipeline = qnnrt_run_pipeline(run);
    qnnrt_bind_input(run, input_of(pipeline, 0), x, sizeof(x));
    qnnrt_bind_input(run, input_of(pipeline, 1), y, sizeof(y));
    qnnrt_bind_output(run, output_of(pipeline, 0), q, sizeof(q));
    qnnrt_bind_output(run, output_of(pipeline, 1), p, sizeof(p));
    if (qnnrt_exec(run) != QNNRT_OK) printf("%s\n", qnnrt_run_error(run)->text);
    qnnrt_run_destroy(run);
    return p[0];
}

/* That libQnnRef.so makes no copy shows when the data is changed, which is not allowed. */
TEST(data_that_stays_is_read_in_place)
{
    int borrow, aligned;
    for (borrow = 0; borrow <= 2; ++borrow)
        for (aligned = 0; aligned < 2; ++aligned) {
            union { float values[5]; unsigned char bytes[20]; } room;
            unsigned char *data = room.bytes + !aligned;
            float *c = room.values, changed = 7;
            qnnrt_builder *b;
            qnnrt *model;
            size_t bytes = 0;
            CHECK(open_ref());
            b = builder();
            memcpy(data, three, sizeof(three));
            graph(b, "g");
            {
                qnnrt_tensor x = add(b, "x", QNNRT_TENSOR_INPUT), y = add(b, "y", QNNRT_TENSOR_INPUT), w;
                qnnrt_tensor_desc desc = vector("c", QNNRT_TENSOR_STATIC, 4);
                desc.data = data;
                desc.bytes = 16;
                desc.borrow = borrow;
                w = qnnrt_builder_tensor(b, &desc);
                node(b, "ElementWiseMultiply", x, y, add(b, "q", QNNRT_TENSOR_OUTPUT));
                node(b, "ElementWiseAdd", x, w, add(b, "p", QNNRT_TENSOR_OUTPUT));
            }
            if (borrow == QNNRT_BORROW_NONE) memset(c, 0, 20);
            CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_OK);
            CHECK(first_sum(model) == 4);
            memcpy(data, &changed, sizeof(changed));
            /* Data that is not aligned for its type is copied. */
            CHECK(first_sum(model) == (borrow == QNNRT_BORROW_MODEL && aligned ? 8 : 4));
            CHECK_EQ(qnnrt_save_memory(model, 0, NULL, 0, &bytes, &err), QNNRT_OK);
            CHECK(bytes > 64);
            CHECK_EQ(qnnrt_close(model), QNNRT_OK);
            CHECK(close_ref());
        }
}

/* ---- keys ---------------------------------------------------------------------------------------------------- */

enum { CHANGES = 32 };

static qnnrt_result load_three(void *user, void *data, size_t bytes, qnnrt_error *e)
{
    (void)user; (void)e;
    memcpy(data, three, bytes);
    return QNNRT_OK;
}

/* Build a graph with one thing changed; 0: nothing. Return 0 when there is no such change. */
static int changed_graph(qnnrt_builder *b, int change)
{
    static int users[2];
    static const float scales[4] = { 1, 2, 3, 4 };
    static const uint8_t codes[4] = { 0, 1, 2, 3 };
    static const uint32_t perm[2] = { 1, 0 }, same[2] = { 0, 1 };
    float data[4] = { 3, 30, 300, 3000 };
    qnnrt_context_desc context;
    qnnrt_graph_desc g;
    qnnrt_tensor_desc t;
    qnnrt_tensor x, y, w, z, q, ends[2];
    qnnrt_param_desc param;
    qnnrt_node_desc n;
    memset(&context, 0, sizeof(context));
    memset(&g, 0, sizeof(g));
    memset(&param, 0, sizeof(param));
    memset(&n, 0, sizeof(n));
    if (change == 1) context.weight_sharing = 1;
    if (change == 2) context.priority = QNNRT_PRIORITY_HIGH;
    if (change == -1) context.name = "another";
    qnnrt_builder_context(b, &context);
    g.name = change == 3 ? "h" : "g";
    if (change == 4) g.priority = QNNRT_PRIORITY_LOW;
    if (change == 5) g.vtcm_mib = 4;
    if (change == 6) g.optimization_level = 2;
    if (change == 7) g.hvx_threads = 2;
    if (change == 8) g.fp16 = 1;
    qnnrt_builder_graph(b, &g);
    t = vector(change == 9 ? "xx" : change == 10 ? NULL : "x", QNNRT_TENSOR_INPUT, 4);
    if (change == 11) t.dynamic[0] = 1;
    x = qnnrt_builder_tensor(b, &t);
    t = vector("y", change == 12 ? QNNRT_TENSOR_OPTIONAL_INPUT : QNNRT_TENSOR_INPUT, change == 13 ? 8 : 4);
    y = qnnrt_builder_tensor(b, &t);
    t = vector(change == -2 ? "weight" : change == -3 ? NULL : "w",
               change == 14 ? QNNRT_TENSOR_UPDATEABLE : QNNRT_TENSOR_STATIC, 4);
    if (change == 15) data[3] += 1;
    if (change == 16) data[0] = -data[0];
    if (change != 17 && change != 18) { t.data = data; t.bytes = sizeof(data); }
    else { t.load = load_three; t.load_user = &users[change - 17]; }
    if (change == 19 || change == 20) t.identity = (uint64_t)change;
    w = qnnrt_builder_tensor(b, &t);
    t = vector("q", QNNRT_TENSOR_STATIC, 4);
    t.dtype = change == 21 ? QNNRT_DTYPE_S8Q : QNNRT_DTYPE_U8Q;
    t.data = codes;
    t.bytes = 4;
    t.quant.encoding = change == 22 ? QNNRT_ENCODING_PER_AXIS : QNNRT_ENCODING_PER_TENSOR;
    t.quant.scale = change == 23 ? 0.25f : 0.5f;
    t.quant.offset = change == 24 ? -1 : 0;
    if (change == 25) t.quant.bitwidth = 4;
    if (change == 22) { t.quant.count = 4; t.quant.scales = scales; }
    q = qnnrt_builder_tensor(b, &t);
    t = vector("z", QNNRT_TENSOR_OUTPUT, 4);
    z = qnnrt_builder_tensor(b, &t);
    ends[0] = change == 26 ? y : x;
    ends[1] = change == 26 ? x : y;
    n.name = change == -4 ? "another" : NULL;
    n.type = change == 27 ? "B" : "A";
    n.package = change == 28 ? "p" : NULL;
    n.inputs = ends;
    n.input_count = 2;
    n.outputs = &z;
    n.output_count = 1;
    n.params = &param;
    n.param_count = 1;
    param.name = change == 29 ? "beta" : "alpha";
    param.dtype = change == 30 ? QNNRT_DTYPE_I32 : QNNRT_DTYPE_U32;
    if (change == 31) {
        param.value = 2;
    } else {
        param.data = change == 32 ? same : perm;
        param.rank = 1;
        param.dims[0] = 2;
    }
    qnnrt_builder_node(b, &n);
    (void)w; (void)q;
    return change <= CHANGES;
}

static int key_of(int change, uint64_t key[2])
{
    qnnrt_builder *b = builder();
    int result = changed_graph(b, change);
    if (qnnrt_builder_key(b, key, &err) != QNNRT_OK) {
        printf("change %d: %s\n", change, err.text);
        result = 0;
    }
    qnnrt_builder_destroy(b);
    return result;
}

TEST(a_key_counts_what_matters_and_nothing_else)
{
    uint64_t keys[CHANGES + 1][2], key[2];
    int i, k;
    CHECK(open_ref());
    for (i = 0; i <= CHANGES; ++i) {
        CHECK(key_of(i, keys[i]));
        CHECK(key_of(i, key));                               /* the same twice */
        CHECK(key[0] == keys[i][0] && key[1] == keys[i][1]);
        for (k = 0; k < i; ++k)
            if (keys[k][0] == keys[i][0] || keys[k][1] == keys[i][1]) {
                printf("changes %d and %d have one key\n", k, i);
                CHECK(0);
            }
    }
    for (i = -1; i >= -4; --i) {
        CHECK(key_of(i, key));
        if (key[0] != keys[0][0] || key[1] != keys[0][1]) printf("change %d has another key\n", i);
        CHECK(key[0] == keys[0][0] && key[1] == keys[0][1]);
    }
    CHECK(close_ref());
}

/* Single bits of data, and lengths, give different keys; over all of them no half of a key repeats. */
TEST(each_bit_of_data_counts)
{
    enum { BITS = 8 * 40 };
    static uint64_t keys[BITS][2];
    unsigned char data[40];
    size_t bit, k;
    CHECK(open_ref());
    for (bit = 0; bit < BITS; ++bit) {
        qnnrt_builder *b = builder();
        qnnrt_tensor_desc t = vector("w", QNNRT_TENSOR_STATIC, sizeof(data));
        memset(data, 0, sizeof(data));
        data[bit / 8] = (unsigned char)(1u << bit % 8);
        graph(b, "g");
        t.dtype = QNNRT_DTYPE_U8;
        t.data = data;
        t.bytes = sizeof(data);
        t.borrow = QNNRT_BORROW_FINISH;
        qnnrt_builder_tensor(b, &t);
        CHECK_EQ(qnnrt_builder_key(b, keys[bit], &err), QNNRT_OK);
        qnnrt_builder_destroy(b);
        for (k = 0; k < bit; ++k) CHECK(keys[k][0] != keys[bit][0] && keys[k][1] != keys[bit][1]);
    }
    CHECK(close_ref());
}

TEST(a_key_is_refused_where_there_is_none)
{
    uint64_t key[2] = { 1, 1 };
    qnnrt_builder *b;
    qnnrt *model;
    CHECK(open_ref());
    b = builder();
    CHECK_EQ(qnnrt_builder_key(NULL, key, &err), QNNRT_E_ARG);
    CHECK(key[0] == 0 && key[1] == 0);
    CHECK_EQ(qnnrt_builder_key(b, NULL, &err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_builder_key(b, key, &err), QNNRT_OK);
    add(b, "x", QNNRT_TENSOR_INPUT);
    CHECK_EQ(qnnrt_builder_key(b, key, &err), QNNRT_E_STATE);
    CHECK_STR(err.text, "needs a graph");
    CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_E_STATE);
    CHECK_EQ(qnnrt_builder_key(b, key, NULL), QNNRT_E_STATE);
    CHECK(close_ref());
}

/* ---- builders and graphs, one after another -------------------------------------------------------------------- */

TEST(builders_one_after_another_make_the_same)
{
    qnnrt_builder *b;
    qnnrt *model;
    uint64_t first[2], key[2];
    size_t live[2], bytes[2], i;
    int round;
    CHECK(open_ref());
    for (round = 0; round < 5; ++round) {
        b = builder();
        CHECK_EQ(qnnrt_builder_error(b)->code, QNNRT_OK);
        CHECK(qnnrt_builder_failed_node(b) == NULL && qnnrt_builder_failed_graph(b) == NULL);
        CHECK_EQ(qnnrt_backend_close(backend), QNNRT_E_BUSY);
        sum_and_product(b, 1, three, 0);
        CHECK_EQ(qnnrt_builder_key(b, key, &err), QNNRT_OK);
        if (round == 0) memcpy(first, key, sizeof(key));
        CHECK(key[0] == first[0] && key[1] == first[1]);
        if (round == 1) {
            qnnrt_builder_destroy(b);
            CHECK_EQ(qnnrt_builder_error(b)->code, QNNRT_E_STATE);
            continue;
        }
        if (round == 2) {
            add(b, "x", QNNRT_TENSOR_INPUT);                       /* there is one already */
            CHECK_EQ(qnnrt_builder_error(b)->code, QNNRT_E_ARG);
            qnnrt_builder_destroy(b);
            continue;
        }
        CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_OK);
        CHECK(first_sum(model) == 4);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        if (round < 3) continue;
        live[round - 3] = heap.live;
        bytes[round - 3] = 0;
        for (i = 0; i < BLOCKS; ++i)
            if (heap.out[i].base != NULL) bytes[round - 3] += heap.out[i].bytes;
    }
    CHECK_EQ(live[1], live[0] + 1);                                /* a spent builder, as qnnrt_builder_destroy() says */
    CHECK(bytes[1] - bytes[0] <= 200);
    CHECK(close_ref());
}

/* y[rows][4] = x[rows][4] + w[4]. */
static void shifted(qnnrt_builder *b, const char *name, uint32_t rows, const float *data, int borrow)
{
    qnnrt_tensor_desc t = vector("w", QNNRT_TENSOR_STATIC, 4);
    qnnrt_tensor x, w, y;
    graph(b, name);
    t.data = data;
    t.bytes = data != NULL ? 16 : 0;
    if (data == NULL) t.load = load_three;
    t.borrow = borrow;
    w = qnnrt_builder_tensor(b, &t);
    t = vector("x", QNNRT_TENSOR_INPUT, rows);
    t.rank = 2;
    t.dims[1] = 4;
    x = qnnrt_builder_tensor(b, &t);
    t.name = "y";
    t.kind = QNNRT_TENSOR_OUTPUT;
    y = qnnrt_builder_tensor(b, &t);
    node(b, "ElementWiseAdd", x, w, y);
}

/* Run a graph of shifted() and return 1 if y = x + w. */
static int shifts(qnnrt_run *run, uint32_t rows, const float w[4])
{
    float x[32], y[32];
    size_t i;
    if (run == NULL) return 0;
    for (i = 0; i < rows * 4; ++i) x[i] = (float)i;
    if (qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, rows * 4) != QNNRT_OK || qnnrt_exec(run) != QNNRT_OK ||
        qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, rows * 4) != QNNRT_OK) {
        printf("%s\n", qnnrt_run_error(run)->text);
        return 0;
    }
    for (i = 0; i < rows * 4; ++i) if (y[i] != x[i] + w[i % 4]) return 0;
    return 1;
}

static qnnrt_run *run_of(qnnrt *model, const char *name)
{
    qnnrt_run *run = NULL;
    if (qnnrt_prepare(model, name, &run, &err) != QNNRT_OK) printf("%s\n", err.text);
    return run;
}

TEST(many_graphs_of_one_builder_run_and_are_saved)
{
    enum { GRAPHS = 21 };
    qnnrt_builder *b;
    qnnrt *model, *opened;
    qnnrt_run *runs[GRAPHS];
    const qnnrt_pipeline *pipeline;
    const qnnrt_info *info;
    const qnnrt_context_info *context;
    qnnrt_desc desc;
    qnnrt_file file;
    char name[16], path[1200];
    unsigned i, k;
    CHECK(open_ref());
    b = builder();
    for (i = 0; i < GRAPHS; ++i) {
        snprintf(name, sizeof(name), "g%u", i);
        shifted(b, name, 1 + i % 8, two, QNNRT_BORROW_NONE);
    }
    CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_OK);
    info = qnnrt_get_info(model);
    context = info->contexts;
    CHECK_EQ(context->graph_count, GRAPHS);
    CHECK_EQ(info->pipeline_count, GRAPHS);
    for (i = 0; i < GRAPHS; ++i) {
        snprintf(name, sizeof(name), "0/g%u", i);
        CHECK_STR(context->graphs[i].name, name + 2);
        CHECK_EQ(context->graphs[i].inputs[0].dims[0], 1 + i % 8);
        CHECK_STR(qnnrt_pipeline_get_info(info->pipelines[i])->name, name + 2);
        CHECK_EQ(qnnrt_pipeline_find(model, name, &pipeline, &err), QNNRT_OK);
        CHECK(pipeline == info->pipelines[i]);              /* it is wired once, under both names */
        CHECK_EQ(qnnrt_pipeline_get_info(pipeline)->slot_count, 2);
        CHECK_EQ(qnnrt_pipeline_find(model, name + 2, &pipeline, &err), QNNRT_OK);
        CHECK(pipeline == info->pipelines[i]);
        runs[i] = run_of(model, name + 2);
        for (k = 0; k <= i; ++k) CHECK(shifts(runs[k], 1 + k % 8, two));
    }
    CHECK_EQ(qnnrt_close(model), QNNRT_E_BUSY);
    for (i = 0; i < GRAPHS; ++i) qnnrt_run_destroy(runs[i]);
    snprintf(path, sizeof(path), "%s/all.bin", test_tmpdir());
    CHECK_EQ(qnnrt_save(model, 0, path, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    file.path = path;
    desc.backend = backend;
    desc.files = &file;
    desc.file_count = 1;
    CHECK_EQ(qnnrt_open(NULL, &desc, &opened, &err), QNNRT_OK);
    for (i = 0; i < GRAPHS; ++i) {
        snprintf(name, sizeof(name), "g%u", i);
        runs[0] = run_of(opened, name);
        CHECK(shifts(runs[0], 1 + i % 8, two));
        qnnrt_run_destroy(runs[0]);
    }
    CHECK_EQ(qnnrt_close(opened), QNNRT_OK);
    CHECK(close_ref());
}

/* Each way to lend one array to several graphs of a builder. */
TEST(data_of_several_graphs_is_lent_in_each_way)
{
    static const char *const names[3] = { "g", "h", "later" };
    int way;
    for (way = 0; way < 4; ++way) {
        qnnrt_builder *b;
        qnnrt *model;
        float data[4];
        uint32_t i;
        memcpy(data, three, sizeof(data));
        CHECK(open_ref());
        b = builder();
        for (i = 0; i < 3; ++i) shifted(b, names[i], i + 1, way < 3 ? data : NULL, way < 3 ? way : 0);
        if (way == 0) memset(data, 0, sizeof(data));
        CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_OK);
        if (way == 1) memset(data, 0, sizeof(data));
        for (i = 0; i < 3; ++i) {
            qnnrt_run *run = run_of(model, names[i]);
            CHECK(shifts(run, i + 1, three));
            if (way == 2) {                                  /* in place: the change is not allowed, but shows */
                data[0] = 0;
                CHECK(!shifts(run, i + 1, three));
                data[0] = three[0];
            }
            qnnrt_run_destroy(run);
        }
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        CHECK(close_ref());
    }
}

static void nothing(qnnrt_builder *b) { (void)b; }
static void empty_context(qnnrt_builder *b) { qnnrt_builder_context(b, NULL); }
static void taken_graph(qnnrt_builder *b) { shifted(b, "g", 2, two, 0); }
static void static_without_data(qnnrt_builder *b)
{
    qnnrt_tensor_desc t = vector("v", QNNRT_TENSOR_STATIC, 4);
    graph(b, "h");
    qnnrt_builder_tensor(b, &t);
}
static void static_with_bytes_only(qnnrt_builder *b)
{
    qnnrt_tensor_desc t = vector("w", QNNRT_TENSOR_STATIC, 4);
    graph(b, "h");
    t.bytes = 16;
    qnnrt_builder_tensor(b, &t);
}
static void parameter_that_loads(qnnrt_builder *b)
{
    qnnrt_tensor_desc t = vector("w", QNNRT_TENSOR_STATIC, 4);
    qnnrt_param_desc param;
    qnnrt_node_desc n;
    qnnrt_tensor x, y;
    graph(b, "h");
    t.load = load_three;
    memset(&param, 0, sizeof(param));
    memset(&n, 0, sizeof(n));
    param.name = "p";
    param.tensor = qnnrt_builder_tensor(b, &t);
    x = add(b, "x", QNNRT_TENSOR_INPUT);
    y = add(b, "y", QNNRT_TENSOR_OUTPUT);
    n.type = "Relu";
    n.inputs = &x;
    n.outputs = &y;
    n.params = &param;
    n.input_count = n.output_count = n.param_count = 1;
    qnnrt_builder_node(b, &n);
}
static void refused_node(qnnrt_builder *b)
{
    qnnrt_tensor x, y;
    shifted(b, "h", 2, two, 0);
    graph(b, "i");
    x = add(b, "x", QNNRT_TENSOR_INPUT);
    y = add(b, "y", QNNRT_TENSOR_OUTPUT);
    node(b, "NoSuchOperator", x, QNNRT_NO_TENSOR, y);
}

/* Add something wrong to a builder that has graph "g". Neither it nor the model that was built before is the worse. */
static int refused(qnnrt *model, void (*make)(qnnrt_builder *), qnnrt_result code, const char *words)
{
    qnnrt_builder *b = builder();
    qnnrt *out;
    qnnrt_run *run;
    int right;
    if (make != nothing) shifted(b, "g", 1, two, 0);
    make(b);
    if (qnnrt_builder_finish(b, &out, &err) != code || out != NULL || strstr(err.text, words) == NULL) {
        printf("%s: %s, expected \"%s\"\n", qnnrt_result_name(err.code), err.text, words);
        return 0;
    }
    run = run_of(model, "g");
    right = shifts(run, 1, two) && qnnrt_get_info(model)->contexts->graph_count == 1 &&
            qnnrt_get_info(model)->pipeline_count == 1;
    qnnrt_run_destroy(run);
    return right;
}

TEST(wrong_graphs_are_refused_and_change_nothing)
{
    qnnrt_builder *b;
    qnnrt *model;
    CHECK(open_ref());
    b = builder();
    shifted(b, "g", 1, two, 0);
    CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_OK);
    CHECK(refused(model, nothing, QNNRT_E_ARG, "has no graph"));
    CHECK(refused(model, empty_context, QNNRT_E_ARG, "context \"context 1\" has no graph"));
    CHECK(refused(model, taken_graph, QNNRT_E_ARG, "two graphs named \"g\""));
    CHECK(refused(model, static_without_data, QNNRT_E_ARG, "needs 16 bytes"));
    CHECK(refused(model, static_with_bytes_only, QNNRT_E_ARG, "needs 16 bytes"));
    CHECK(refused(model, parameter_that_loads, QNNRT_E_ARG, "has load instead of data"));
    CHECK(refused(model, refused_node, QNNRT_E_UNSUPPORTED, "NoSuchOperator"));
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK(close_ref());
}

/* ---- blocks -------------------------------------------------------------------------------------------------- */

enum { WIDTH = 64, ROWS = 8, BLOCK = 32, IN_ROW = WIDTH / BLOCK };

static signed char codes[ROWS * WIDTH];

static qnnrt_result load_codes(void *user, void *data, size_t bytes, qnnrt_error *e)
{
    (void)user; (void)e;
    memcpy(data, codes, bytes);
    return QNNRT_OK;
}

/* y = W x, with PLAIN blocks of `scales`. */
static qnnrt_builder *in_blocks(const float *scales, int loaded)
{
    qnnrt_builder *b = builder();
    qnnrt_tensor_desc t = vector("x", QNNRT_TENSOR_INPUT, 1);
    qnnrt_tensor x, w, y;
    qnnrt_blocks blocks;
    memset(&blocks, 0, sizeof(blocks));
    blocks.form = QNNRT_BLOCK_PLAIN;
    blocks.block_axis = 1;
    blocks.block = BLOCK;
    blocks.scales = scales;
    graph(b, "g");
    t.dtype = QNNRT_DTYPE_F16;
    t.rank = 2;
    t.dims[1] = WIDTH;
    x = qnnrt_builder_tensor(b, &t);
    t.name = "y";
    t.kind = QNNRT_TENSOR_OUTPUT;
    t.dims[1] = ROWS;
    y = qnnrt_builder_tensor(b, &t);
    t = vector("w", QNNRT_TENSOR_STATIC, ROWS);
    t.dtype = QNNRT_DTYPE_S8Q;
    t.rank = 2;
    t.dims[1] = WIDTH;
    t.blocks = &blocks;
    if (loaded) {
        t.load = load_codes;
    } else {
        t.data = codes;
        t.bytes = sizeof(codes);
    }
    w = qnnrt_builder_tensor(b, &t);
    node(b, "FullyConnected", x, w, y);
    return b;
}

/* Negative scales and 0, as GGUF's Q4_0 has them; each row against plain C, exactly: float16 holds all values. */
TEST(scales_of_blocks_have_any_sign)
{
    static const float some[] = { 0.5f, -0.5f, 0, -0.125f, 2, -0.0f, 1, 0.25f };
    float scales[ROWS * IN_ROW], x[WIDTH], y[ROWS];
    int loaded;
    size_t i, r;
    for (i = 0; i < ROWS * IN_ROW; ++i) scales[i] = some[i * 3 % 8];
    for (i = 0; i < sizeof(codes); ++i) codes[i] = (signed char)((int)(i * 5 % 16) - 8);
    for (i = 0; i < WIDTH; ++i) x[i] = (float)((int)(i % 7) - 3);
    for (loaded = 0; loaded < 2; ++loaded) {
        qnnrt *model;
        qnnrt_run *run;
        CHECK(open_ref());
        if (qnnrt_builder_finish(in_blocks(scales, loaded), &model, &err) != QNNRT_OK) printf("%s\n", err.text);
        CHECK(model != NULL);
        run = run_of(model, "g");
        CHECK_EQ(qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, WIDTH), QNNRT_OK);
        CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
        CHECK_EQ(qnnrt_read_f32(run, qnnrt_run_slot(run, "y"), 0, y, ROWS), QNNRT_OK);
        for (r = 0; r < ROWS; ++r) {
            float sum = 0;
            for (i = 0; i < WIDTH; ++i)
                sum += x[i] * (float)codes[r * WIDTH + i] * scales[r * IN_ROW + i / BLOCK];
            if (y[r] != sum) printf("row %u: %g, expected %g\n", (unsigned)r, (double)y[r], (double)sum);
            CHECK(y[r] == sum);
        }
        qnnrt_run_destroy(run);
        CHECK_EQ(qnnrt_close(model), QNNRT_OK);
        CHECK(close_ref());
    }
}

TEST(values_of_blocks_have_four_bits)
{
    static const int wrong[] = { 8, -9, 127, -128 };
    float scales[ROWS * IN_ROW];
    char words[80];
    qnnrt *model;
    size_t i, at;
    for (i = 0; i < ROWS * IN_ROW; ++i) scales[i] = 1;
    CHECK(open_ref());
    for (i = 0; i < 8; ++i) {
        memset(codes, 0, sizeof(codes));
        at = i % 4 == 0 ? 0 : i % 4 == 1 ? sizeof(codes) - 1 : 72 * i;
        codes[at] = (signed char)wrong[i % 4];
        CHECK_EQ(qnnrt_builder_finish(in_blocks(scales, i >= 4), &model, &err), QNNRT_E_ARG);
        snprintf(words, sizeof(words), "tensor \"w\": value %d of element %u ", wrong[i % 4], (unsigned)at);
        CHECK_STR(err.text, words);
        CHECK_STR(err.hint, "Quantize to 4 bits");
    }
    CHECK(close_ref());
}

/* ---- overlap ------------------------------------------------------------------------------------------------- */

/* Bind the four slots of a model of sum_and_product() to places in one block. */
static qnnrt_result exec_at(qnnrt_run *run, unsigned char *block, const int at[4])
{
    const qnnrt_pipeline *p = qnnrt_run_pipeline(run);
    const qnnrt_slot *slots[4] = { input_of(p, 0), input_of(p, 1), output_of(p, 0),
                                  output_of(p, 1) };
    int i;
    for (i = 0; i < 4; ++i)
        if (bind_slot(run, slots[i], block + at[i], 16) != QNNRT_OK) return QNNRT_E_STATE;
    return qnnrt_exec(run);
}

TEST(memory_that_overlaps_is_refused_by_name)
{
    /* x, y, q, p of 16 bytes each */
    static const struct { int at[4]; const char *first, *second, *common; } cases[] = {
        { { 0, 16, 32, 48 }, NULL, NULL, NULL },
        { { 0, 0, 32, 48 }, NULL, NULL, NULL },                 /* inputs may be one */
        { { 0, 8, 32, 48 }, NULL, NULL, NULL },
        { { 0, 16, 0, 48 }, "input \"x\" (16 bytes", "output \"q\" (16 bytes", "have 16 bytes of memory in common" },
        { { 0, 32, 12, 48 }, "input \"x\"", "output \"q\"", " 4 bytes" },
        { { 12, 32, 0, 48 }, "input \"x\"", "output \"q\"", " 4 bytes" },
        { { 0, 16, 48, 28 }, "input \"y\"", "output \"p\"", " 4 bytes" },
        { { 0, 16, 32, 32 }, "output \"q\"", "output \"p\"", " 16 bytes" },
        { { 0, 16, 32, 44 }, "output \"q\"", "output \"p\"", " 4 bytes" },
        { { 16, 0, 32, 48 }, NULL, NULL, NULL }
    };
    union { float values[16]; unsigned char bytes[64]; } block;
    qnnrt_builder *b;
    qnnrt *model;
    qnnrt_run *run;
    size_t i, k;
    int own;
    CHECK(open_ref());
    b = builder();
    sum_and_product(b, 1, two, 0);
    CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_OK);
    for (own = 0; own < 2; ++own) {
        void *x;
        size_t bytes;
        if (own) run = run_of(model, "g");
        else CHECK_EQ(qnnrt_prepare_with(model, "g", &caller_io, &run, &err), QNNRT_OK);
        for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
            for (k = 0; k < 16; ++k) block.values[k] = 1;
            if (cases[i].first == NULL) {
                CHECK_EQ(exec_at(run, block.bytes, cases[i].at), QNNRT_OK);
                CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
                CHECK(block.values[cases[i].at[3] / 4] == 3);
                continue;
            }
            CHECK_EQ(exec_at(run, block.bytes, cases[i].at), QNNRT_E_ARG);
            CHECK_STR(qnnrt_run_error(run)->text, cases[i].first);
            CHECK_STR(qnnrt_run_error(run)->text, cases[i].second);
            CHECK_STR(qnnrt_run_error(run)->text, cases[i].common);
            CHECK_EQ(qnnrt_exec(run), QNNRT_E_ARG);       /* until it is bound elsewhere */
            for (k = 0; k < 16; ++k) CHECK(block.values[k] == 1);
        }
        /* the run's own memory, of another slot */
        if (own) {
            CHECK_EQ(qnnrt_bind(run, "x", NULL, 0), QNNRT_OK);
            x = qnnrt_data(run, "x", &bytes);
            CHECK_EQ(bytes, 16);
            CHECK_EQ(qnnrt_bind(run, "q", x, bytes), QNNRT_OK);
            CHECK_EQ(qnnrt_exec(run), QNNRT_E_ARG);
            CHECK_STR(qnnrt_run_error(run)->text, "input \"x\"");
            CHECK_EQ(qnnrt_bind(run, "x", block.bytes, 16), QNNRT_OK);
            CHECK_EQ(qnnrt_bind(run, "y", block.bytes, 16), QNNRT_OK);
            CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
            CHECK_EQ(qnnrt_bind(run, "x", NULL, 0), QNNRT_OK);
            CHECK_EQ(qnnrt_exec(run), QNNRT_E_ARG);
        }
        qnnrt_run_destroy(run);
    }
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK(close_ref());
}

/* Two shards: what the second writes may lie over what only the first reads. */
TEST(a_later_step_may_write_over_what_was_read)
{
    float data[12] = { 1, 2, 3, 4 };
    qnnrt_builder *b;
    qnnrt *model;
    qnnrt_run *run;
    int c;
    CHECK(open_ref());
    b = builder();
    for (c = 0; c < 2; ++c) {
        const qnnrt_tensor w = (qnnrt_builder_context(b, NULL), graph(b, "g"), weight(b, "w", two, 0));
        const qnnrt_tensor in = add(b, c == 0 ? "x" : "h", QNNRT_TENSOR_INPUT);
        node(b, "ElementWiseAdd", in, w, add(b, c == 0 ? "h" : "y", QNNRT_TENSOR_OUTPUT));
    }
    CHECK_EQ(qnnrt_builder_finish(b, &model, &err), QNNRT_OK);
    CHECK_EQ(qnnrt_prepare_with(model, "g", &caller_io, &run, &err), QNNRT_OK);
    CHECK(input_of(qnnrt_run_pipeline(run), 1) == NULL);
    CHECK(output_of(qnnrt_run_pipeline(run), 1) == NULL);
    CHECK_EQ(qnnrt_bind(run, "x", data, 16), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "y", data, 16), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK(data[0] == 5 && data[3] == 4004);
    CHECK_EQ(qnnrt_bind(run, "h", data, 16), QNNRT_OK);   /* the edge is written by the step that reads x */
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(run)->text, "edge \"h\"");
    CHECK_EQ(qnnrt_bind(run, "h", data + 4, 16), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_OK);
    CHECK_EQ(qnnrt_bind(run, "y", data + 5, 16), QNNRT_OK);
    CHECK_EQ(qnnrt_exec(run), QNNRT_E_ARG);
    CHECK_STR(qnnrt_run_error(run)->text, "output \"y\"");
    qnnrt_run_destroy(run);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK(close_ref());
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static qnnrt_result life(qnnrt_error *error)
{
    qnnrt_backend_desc desc;
    qnnrt_backend *own = NULL;
    qnnrt_builder *b = NULL;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    uint64_t key[2];
    qnnrt_result result;
    int round;
    desc = test_ref_desc();
    desc.hooks.alloc = heap_alloc;
    desc.hooks.free = heap_free;
    desc.hooks.alloc_user = &heap;
    result = qnnrt_backend_open(&desc, &own, error);
    for (round = 0; round < 2 && result == QNNRT_OK; ++round) {
        result = qnnrt_builder_create(own, NULL, &b, error);
        if (result != QNNRT_OK) break;
        sum_and_product(b, 0, three, QNNRT_BORROW_MODEL);
        shifted(b, "h", 2, two, QNNRT_BORROW_NONE);
        shifted(b, "i", 2, NULL, QNNRT_BORROW_NONE);
        result = qnnrt_builder_key(b, key, error);
        if (result == QNNRT_OK) result = qnnrt_builder_finish(b, &model, error);
        if (result == QNNRT_OK) result = qnnrt_prepare_with(model, "g", &caller_io, &run, error);
        qnnrt_run_destroy(run);
        qnnrt_close(model);
        run = NULL;
        model = NULL;
    }
    qnnrt_builder_destroy(b);
    qnnrt_backend_close(own);
    return result;
}

TEST(every_allocation_may_fail)
{
    int on;
    for (on = 0; on < 2; ++on) {
        CHECK(exhaust("a life", life, on, "") > 5);
    }
    without_text = 1;
    CHECK(exhaust("a life", life, 0, "") > 5);
    without_text = 0;
}

TEST_MAIN("compose_more")
{
    RUN(a_run_without_memory_of_its_own_takes_that_of_the_caller);
    RUN(a_made_name_steps_aside_for_one_that_is_taken);
    RUN(data_that_stays_is_read_in_place);
    RUN(a_key_counts_what_matters_and_nothing_else);
    RUN(each_bit_of_data_counts);
    RUN(a_key_is_refused_where_there_is_none);
    RUN(builders_one_after_another_make_the_same);
    RUN(many_graphs_of_one_builder_run_and_are_saved);
    RUN(data_of_several_graphs_is_lent_in_each_way);
    RUN(wrong_graphs_are_refused_and_change_nothing);
    RUN(scales_of_blocks_have_any_sign);
    RUN(values_of_blocks_have_four_bits);
    RUN(memory_that_overlaps_is_refused_by_name);
    RUN(a_later_step_may_write_over_what_was_read);
    RUN(every_allocation_may_fail);
}
