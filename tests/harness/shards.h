/* shards.h - a model of shards on libQnnRef.so, saved to forward_<i>.bin

   It is a chain: shard i has one graph "step", which computes h<i+1> = h<i> * weights<i>, with h0 [1, WIDTH] from the
   caller. Each file is larger than the one before it. Included after life.h, and after an enum with SHARDS, WIDTH and
   PADDING. */
#ifndef SHARDS_H
#define SHARDS_H

#include <sys/stat.h>

static char folder[1100];
static float weights[SHARDS][WIDTH * WIDTH], start[WIDTH];
static uint64_t sizes[SHARDS];
static qnnrt_error err;

static inline const char *file_of(int shard)
{
    static char path[SHARDS][1200];
    snprintf(path[shard], sizeof(path[shard]), "%s/forward_%d.bin", folder, shard);
    return path[shard];
}

/* Add the graph of a shard. A second output grows with the shard, so that its file does. */
static void shards_graph(qnnrt_builder *b, int shard, qnnrt_tensor_kind of_weights)
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
    w = life_tensor(b, "weights", of_weights, WIDTH, WIDTH, weights[shard]);
    y = life_tensor(b, out, QNNRT_TENSOR_OUTPUT, 1, WIDTH, NULL);
    life_node(b, "project", "MatMul", x, w, y, NULL);
    p = life_tensor(b, "padding", QNNRT_TENSOR_STATIC, 1, more, padding);
    life_node(b, "relu", "Relu", p, QNNRT_NO_TENSOR,
              life_tensor(b, extra, QNNRT_TENSOR_OUTPUT, 1, more, NULL), NULL);
}

/* Build the model, save its shards into the folder, and note their sizes. */
static void shards_save(qnnrt_tensor_kind of_weights)
{
    const qnnrt_backend_desc desc = test_ref_desc();
    qnnrt_backend *backend;
    qnnrt_builder *b;
    qnnrt *model;
    struct stat facts;
    int i, k;
    for (i = 0; i < SHARDS; ++i)
        for (k = 0; k < WIDTH * WIDTH; ++k)
            weights[i][k] = (float)((i * 5 + k * 3) % 7) * 0.25f - 0.5f;
    for (k = 0; k < WIDTH; ++k) start[k] = (float)k - 2.5f;
    CHECK_EQ(qnnrt_backend_open(&desc, &backend, NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_builder_create(backend, NULL, &b, NULL), QNNRT_OK);
    for (i = 0; i < SHARDS; ++i) {
        qnnrt_context_desc context;
        memset(&context, 0, sizeof(context));
        context.name = "shard";
        qnnrt_builder_context(b, &context);
        shards_graph(b, i, of_weights);
    }
    if (qnnrt_builder_finish(b, &model, &err) != QNNRT_OK) printf("%s\n", err.text);
    CHECK_EQ(err.code, QNNRT_OK);
    for (i = 0; i < SHARDS; ++i) {
        CHECK_EQ(qnnrt_save(model, (size_t)i, file_of(i), NULL), QNNRT_OK);
        CHECK_EQ(stat(file_of(i), &facts), 0);
        sizes[i] = (uint64_t)facts.st_size;
    }
    CHECK(sizes[1] > sizes[0]);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(qnnrt_backend_close(backend), QNNRT_OK);
}

/* Compute the model's output. */
static inline void expect(float *y)
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

#endif
