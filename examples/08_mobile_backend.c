/* Build graphs op by op and run them, as the QNN backend of a mobile framework does.

       08_mobile_backend LIBRARY [debug|scale|twice|unknown|unwritten]

   For example, with libQnnRef.so or libQnnHtp.so:

       build/examples/08_mobile_backend build/libQnnRef.so

   Such a framework walks through a network. Operators such as Embedding are tasks of the CPU; a
   whole module, here a feed-forward block, is a task of the NPU: one graph. Its backend looks up a
   pattern for each operator, which adds tensors and nodes. X2X moves a tensor to another backend.
   Here, `block` is what the framework hands over, patterns[] is the backend, the embedding is a
   host step of the pipeline, and X2X is the edge between them, which converts float16 to float32.
   The result is compared with what plain C computes.

   The last argument makes debug turn each inner tensor into an output and print its largest value,
   or makes a mistake: a code without a scale, two tensors of one name, an operator without a
   pattern, an output that no node writes. Each is an error that names it.

   examples/MOBILE.md lists what else a backend of a framework has, and what to call instead. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#include "qnnrt.h"
#include "tools/qnnrt_builder.h"
#include "tools/qnnrt_convert.h"

enum { WORDS = 10, TOKENS = 4, WIDTH = 16, HIDDEN = 32, HEADS = 2 };
#define F32 QNNRT_DTYPE_F32
#define S8  QNNRT_DTYPE_S8Q

/* ---- what the framework has: tensors, and the operators of a module -------------------------- */

static uint16_t table[WORDS * WIDTH];                               /* float16 */
static float  norm[WIDTH], gate[HIDDEN * WIDTH], up[HIDDEN * WIDTH];
static int8_t down[WIDTH * HIDDEN], zeros[WIDTH * 4];               /* zeros: a bias of int32 */

typedef struct tensor {
    const char *name;
    qnnrt_dtype dtype;
    uint32_t    dims[3];            /* 0: the rank is smaller */
    float       scale;              /* of codes: value = code * scale */
    const void *data;               /* of weights */
} tensor;

static tensor tensors[] = {
    { "h",           F32, { TOKENS, WIDTH, 0 },               0, NULL },
    { "norm.weight", F32, { WIDTH, 0, 0 },                    0, norm },
    { "n",           F32, { TOKENS, WIDTH, 0 },               0, NULL },
    { "gate.weight", F32, { HIDDEN, WIDTH, 0 },               0, gate },
    { "gate",        F32, { TOKENS, HIDDEN, 0 },              0, NULL },
    { "silu",        F32, { TOKENS, HIDDEN, 0 },              0, NULL },
    { "up.weight",   F32, { HIDDEN, WIDTH, 0 },               0, up },
    { "up",          F32, { TOKENS, HIDDEN, 0 },              0, NULL },
    { "product",     F32, { TOKENS, HIDDEN, 0 },              0, NULL },
    { "codes",       S8,  { TOKENS, HIDDEN, 0 },              2.5f / 127, NULL },
    { "down.weight", S8,  { WIDTH, HIDDEN, 0 },               1.0f / 512, down },
    { "down.bias",   QNNRT_DTYPE_S32Q, { WIDTH, 0, 0 },       2.5f / 127 / 512, zeros },
    { "down.codes",  S8,  { TOKENS, WIDTH, 0 },               1.0f / 127, NULL },
    { "down",        F32, { TOKENS, WIDTH, 0 },               0, NULL },
    { "sum",         F32, { TOKENS, WIDTH, 0 },               0, NULL },
    { "heads",       F32, { TOKENS, HEADS, WIDTH / HEADS },   0, NULL },
    { "y",           F32, { HEADS, TOKENS, WIDTH / HEADS },   0, NULL },
};
enum { TENSORS = sizeof tensors / sizeof tensors[0], LAST = TENSORS - 1, PRODUCT = 8, DOWN_WEIGHT = 10 };

typedef struct op { const char *type, *inputs[3], *output; } op;

static op block[] = {
    { "RMSNorm",   { "h", "norm.weight", NULL },               "n" },
    { "Linear",    { "n", "gate.weight", NULL },               "gate" },
    { "SiLU",      { "gate", NULL, NULL },                     "silu" },
    { "Linear",    { "n", "up.weight", NULL },                 "up" },
    { "Mul",       { "silu", "up", NULL },                     "product" },
    { "CastType",  { "product", NULL, NULL },                  "codes" },
    { "Linear",    { "codes", "down.weight", "down.bias" },    "down.codes" },
    { "CastType",  { "down.codes", NULL, NULL },               "down" },
    { "Add",       { "h", "down", NULL },                      "sum" },
    { "View",      { "sum", NULL, NULL },                      "heads" },
    { "Transpose", { "heads", NULL, NULL },                    "y" },
};
static int op_count = sizeof block / sizeof block[0];

/* ---- its backend: a pattern for each operator ------------------------------------------------ */

typedef struct graph {
    qnnrt_builder *b;
    qnnrt_tensor   handles[TENSORS];
} graph;

/* Add a tensor. Types of codes need a scale: a missing one is an error, and never 1. */
static qnnrt_tensor add_tensor(qnnrt_builder *b, const tensor *t, qnnrt_tensor_kind kind)
{
    qnnrt_tensor_desc desc = {0};
    size_t count = 1;
    desc.name = t->name;
    desc.kind = kind;
    desc.dtype = t->dtype;
    while (desc.rank < 3 && t->dims[desc.rank] != 0) {
        desc.dims[desc.rank] = t->dims[desc.rank];
        count *= t->dims[desc.rank++];
    }
    if (t->dtype != F32) {
        desc.quant.encoding = QNNRT_ENCODING_PER_TENSOR;
        desc.quant.scale = t->scale;
    }
    desc.data = t->data;
    desc.bytes = t->data == NULL ? 0 : count * (t->dtype == S8 ? 1 : 4);
    return qnnrt_builder_tensor(b, &desc);
}

/* Return the number of a tensor, which is there. */
static int find(const char *name)
{
    int i = 0;
    while (i < LAST && strcmp(tensors[i].name, name) != 0) ++i;
    return i;
}

static void add_node(qnnrt_builder *b, const char *type, const qnnrt_tensor *inputs, size_t count,
                     qnnrt_tensor output, const qnnrt_param_desc *params, size_t param_count)
{
    qnnrt_node_desc desc = {0};
    desc.type = type;
    desc.inputs = inputs;
    desc.input_count = count;
    desc.outputs = &output;
    desc.output_count = 1;
    desc.params = params;
    desc.param_count = param_count;
    qnnrt_builder_node(b, &desc);
}

static void add_rms_norm(qnnrt_builder *b, const qnnrt_tensor *in, size_t count, const tensor *out,
                         qnnrt_tensor output)
{
    static const uint32_t last[1] = { 1 };
    qnnrt_param_desc params[2] = {{0}};
    (void)out;
    params[0].name = "epsilon";
    params[0].dtype = F32;
    params[0].value = 1e-6;
    params[1].name = "axes";
    params[1].dtype = QNNRT_DTYPE_U32;
    params[1].data = last;
    params[1].rank = 1;
    params[1].dims[0] = 1;
    add_node(b, "RmsNorm", in, count, output, params, 2);
}

/* x * sigmoid(x): a pattern may add tensors of its own. */
static void add_silu(qnnrt_builder *b, const qnnrt_tensor *in, size_t count, const tensor *out,
                     qnnrt_tensor output)
{
    tensor inner = *out;
    char name[64];
    qnnrt_tensor both[2];
    snprintf(name, sizeof name, "%s/sigmoid", out->name);
    inner.name = name;
    both[0] = in[0];
    both[1] = add_tensor(b, &inner, QNNRT_TENSOR_INNER);
    add_node(b, "Sigmoid", in, count, both[1], NULL, 0);
    add_node(b, "ElementWiseMultiply", both, 2, output, NULL, 0);
}

static void add_cast(qnnrt_builder *b, const qnnrt_tensor *in, size_t count, const tensor *out,
                     qnnrt_tensor output)
{
    add_node(b, out->dtype == S8 ? "Quantize" : "Dequantize", in, count, output, NULL, 0);
}

static void add_transpose(qnnrt_builder *b, const qnnrt_tensor *in, size_t count, const tensor *out,
                          qnnrt_tensor output)
{
    static const uint32_t order[3] = { 1, 0, 2 };
    qnnrt_param_desc perm = {0};
    (void)out;
    perm.name = "perm";
    perm.dtype = QNNRT_DTYPE_U32;
    perm.data = order;
    perm.rank = 1;
    perm.dims[0] = 3;
    add_node(b, "Transpose", in, count, output, &perm, 1);
}

/* An operator is one node of this type, or what a function adds. */
static const struct pattern {
    const char *op, *node;
    void      (*add)(qnnrt_builder *b, const qnnrt_tensor *in, size_t count, const tensor *out,
                     qnnrt_tensor output);
} patterns[] = {
    { "Add",       "ElementWiseAdd",      NULL },
    { "Mul",       "ElementWiseMultiply", NULL },
    { "Linear",    "FullyConnected",      NULL },
    { "View",      "Reshape",             NULL },
    { "RMSNorm",   NULL,                  add_rms_norm },
    { "SiLU",      NULL,                  add_silu },
    { "CastType",  NULL,                  add_cast },
    { "Transpose", NULL,                  add_transpose },
};
enum { PATTERNS = sizeof patterns / sizeof patterns[0] };

/* Add the graph of a module: its tensors, then a pattern for each operator. Return 0 and err for an
   operator without one; the builder keeps all other errors until qnnrt_builder_finish(). */
static int add_module(graph *g, const char *name, int debug, qnnrt_error *err)
{
    qnnrt_graph_desc desc = {0};
    int i, k;
    desc.name = name;
    qnnrt_builder_graph(g->b, &desc);
    for (i = 0; i < TENSORS; ++i)
        g->handles[i] = add_tensor(g->b, &tensors[i],
                                   tensors[i].data != NULL   ? QNNRT_TENSOR_STATIC
                                   : i == 0                  ? QNNRT_TENSOR_INPUT
                                   : i == LAST || debug      ? QNNRT_TENSOR_OUTPUT
                                                             : QNNRT_TENSOR_INNER);
    for (i = 0; i < op_count; ++i) {
        const struct pattern *p = patterns, *end = patterns + PATTERNS;
        qnnrt_tensor in[3];
        const int out = find(block[i].output);
        size_t count = 0;
        for (k = 0; k < 3 && block[i].inputs[k] != NULL; ++k)
            in[count++] = g->handles[find(block[i].inputs[k])];
        while (p < end && strcmp(p->op, block[i].type) != 0) ++p;
        if (p == end) {
            memset(err, 0, sizeof *err);
            snprintf(err->text, sizeof err->text, "module \"%s\": no pattern for operator %d, %s",
                     name, i, block[i].type);
            return 0;
        }
        if (p->add != NULL) p->add(g->b, in, count, &tensors[out], g->handles[out]);
        else                add_node(g->b, p->node, in, count, g->handles[out], NULL, 0);
    }
    return 1;
}

/* ---- running it ------------------------------------------------------------------------------ */

/* The operator of the CPU: rows of the table. An id outside of it fails the exec. */
static qnnrt_result embed(void *user, const qnnrt_graph_info *step, const void *const *inputs,
                          void *const *outputs, qnnrt_error *err)
{
    const int32_t *ids = (const int32_t *)inputs[0];
    int i;
    (void)user; (void)step;
    for (i = 0; i < TOKENS; ++i) {
        if (ids[i] < 0 || ids[i] >= WORDS) {
            snprintf(err->text, sizeof err->text, "id %d is outside the table", (int)ids[i]);
            return QNNRT_E_ARG;
        }
        memcpy((uint16_t *)outputs[0] + i * WIDTH, table + ids[i] * WIDTH, 2 * WIDTH);
    }
    return QNNRT_OK;
}

static const int32_t ids[TOKENS] = { 3, 1, 4, 1 };

/* Two steps, and X2X between them. */
static qnnrt_pipeline *connect(qnnrt *model, const char *module, qnnrt_conversions **conversions,
                               qnnrt_error *err)
{
    static const uint32_t dims[2] = { TOKENS, WIDTH }, id_dims[1] = { TOKENS };
    static qnnrt_tensor_info in, out;
    static qnnrt_host_step host;
    qnnrt_pipeline_desc desc = {0};
    qnnrt_step_desc steps[2] = {{0}};
    qnnrt_edge_desc edge = {0};
    qnnrt_conversion wish = {0};
    qnnrt_pipeline *pipeline = NULL;
    in.name = "ids";
    in.dtype = QNNRT_DTYPE_I32;
    in.rank = 1;
    in.dims = id_dims;
    out.name = "embedding";
    out.dtype = QNNRT_DTYPE_F16;
    out.rank = 2;
    out.dims = dims;
    host.name = "Embedding";
    host.inputs = &in;
    host.outputs = &out;
    host.input_count = host.output_count = 1;
    host.exec = embed;
    steps[0].host = &host;
    steps[1].model = model;
    steps[1].graph = module;
    edge.from = "embedding";
    edge.to_step = 1;
    edge.to = "h";
    wish.how = QNNRT_CONVERT_VALUES;
    desc.name = "network";
    desc.steps = steps;
    desc.step_count = 2;
    desc.edges = &edge;
    desc.edge_count = 1;
    if (qnnrt_conversions_create(&desc, &wish, NULL, conversions, err) == QNNRT_OK)
        qnnrt_pipeline_make(qnnrt_conversions_desc(*conversions), &pipeline, err);
    return pipeline;
}

/* Execute; read y, and with debug every output. */
static int run(const qnnrt_pipeline *pipeline, float *y, qnnrt_error *err)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(pipeline);
    qnnrt_entry_desc entry = {0};
    qnnrt_plan_desc plan_desc = {0};
    qnnrt_plan *plan = NULL;
    qnnrt_mem *mem = NULL;
    qnnrt_run *r = NULL;
    float values[TOKENS * HIDDEN], most;
    char text[256];
    size_t i, k;
    int ok = 0;
    for (i = 0; i < info->step_count; ++i)
        printf("step %u: %s\n", (unsigned)i, qnnrt_step_text(&info->steps[i], text, sizeof text));
    entry.pipeline = pipeline;
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    if (qnnrt_plan_create(&plan_desc, &plan, err) == QNNRT_OK &&
        qnnrt_mem_create(plan, NULL, &mem, err) == QNNRT_OK &&
        qnnrt_run_create(mem, 0, &r, err) == QNNRT_OK) {
        ok = qnnrt_write_i32(r, qnnrt_run_slot(r, "ids"), 0, ids, TOKENS) == QNNRT_OK &&
             qnnrt_exec(r) == QNNRT_OK &&
             qnnrt_read_f32(r, qnnrt_run_slot(r, "y"), 0, y, TOKENS * WIDTH) == QNNRT_OK;
        for (i = 0; ok && i < info->slot_count; ++i) {
            const qnnrt_tensor_info *t = info->slots[i].tensor;
            if (info->slots[i].role != QNNRT_ROLE_OUTPUT || t->count > TOKENS * HIDDEN) continue;
            ok = qnnrt_read_f32(r, &info->slots[i], 0, values, (size_t)t->count) == QNNRT_OK;
            for (most = 0, k = 0; k < t->count; ++k) most = fmaxf(most, fabsf(values[k]));
            printf("%-12s largest value %.3f\n", t->name, (double)most);
        }
        if (!ok) *err = *qnnrt_run_error(r);
    }
    qnnrt_run_destroy(r);
    qnnrt_mem_destroy(mem);
    qnnrt_plan_destroy(plan);
    return ok;
}

/* The same in plain C, with the values of the codes of down.weight. */
static float largest_difference(const float *y, const float *words)
{
    float n[WIDTH], m[HIDDEN], most = 0;
    int t, i, k;
    for (t = 0; t < TOKENS; ++t) {
        const float *h = words + ids[t] * WIDTH;
        float squares = 0;
        for (i = 0; i < WIDTH; ++i) squares += h[i] * h[i];
        for (i = 0; i < WIDTH; ++i) n[i] = h[i] / sqrtf(squares / WIDTH + 1e-6f) * norm[i];
        for (k = 0; k < HIDDEN; ++k) {
            float g = 0, u = 0;
            for (i = 0; i < WIDTH; ++i) {
                g += n[i] * gate[k * WIDTH + i];
                u += n[i] * up[k * WIDTH + i];
            }
            m[k] = g / (1 + expf(-g)) * u;
        }
        for (i = 0; i < WIDTH; ++i) {
            const int head = i / (WIDTH / HEADS), column = i % (WIDTH / HEADS);
            float sum = h[i];
            for (k = 0; k < HIDDEN; ++k) sum += m[k] * (float)down[i * HIDDEN + k] / 512;
            most = fmaxf(most, fabsf(sum - y[(head * TOKENS + t) * (WIDTH / HEADS) + column]));
        }
    }
    return most;
}

/* Random weights, the same ones each time; words: the table as float32. */
static float next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1;
}

static int fill(float *words)
{
    static const uint32_t dims[2] = { WORDS, WIDTH };
    qnnrt_tensor_info half = {0};
    uint32_t state = 1;
    int i;
    for (i = 0; i < WORDS * WIDTH; ++i) words[i] = next(&state);
    for (i = 0; i < WIDTH; ++i) norm[i] = 1 + 0.1f * next(&state);
    for (i = 0; i < HIDDEN * WIDTH; ++i) {
        gate[i] = 0.4f * next(&state);
        up[i] = 0.4f * next(&state);
        down[i] = (int8_t)(100 * next(&state));
    }
    half.name = "table";
    half.dtype = QNNRT_DTYPE_F16;
    half.rank = 2;
    half.dims = dims;
    half.count = WORDS * WIDTH;
    half.bytes = sizeof table;
    return qnnrt_encode_f32(&half, words, table) == QNNRT_OK;
}

int main(int argc, char **argv)
{
    const char *extra = argc == 3 ? argv[2] : "";
    qnnrt_error err = {0};
    qnnrt_backend_desc backend_desc = {0};
    qnnrt_backend *backend = NULL;
    qnnrt *model = NULL;
    qnnrt_conversions *conversions = NULL;
    qnnrt_pipeline *pipeline = NULL;
    graph g = {0};
    float words[WORDS * WIDTH], y[TOKENS * WIDTH];
    int ok;
    if      (strcmp(extra, "scale") == 0)     tensors[DOWN_WEIGHT].scale = 0;
    else if (strcmp(extra, "twice") == 0)     tensors[PRODUCT].name = "up";
    else if (strcmp(extra, "unknown") == 0)   block[2].type = "Mystery";
    else if (strcmp(extra, "unwritten") == 0) --op_count;
    else if (argc < 2 || argc > 3 || (argc == 3 && strcmp(extra, "debug") != 0)) {
        fprintf(stderr, "usage: 08_mobile_backend LIBRARY [debug|scale|twice|unknown|unwritten]\n");
        return 2;
    }
    backend_desc.path = argv[1];
    ok = fill(words) &&
         qnnrt_backend_open(&backend_desc, &backend, &err) == QNNRT_OK &&
         qnnrt_builder_create(backend, NULL, &g.b, &err) == QNNRT_OK;
    if (ok && !add_module(&g, "block", strcmp(extra, "debug") == 0, &err)) {
        qnnrt_builder_destroy(g.b);
        ok = 0;
    }
    ok = ok && qnnrt_builder_finish(g.b, &model, &err) == QNNRT_OK &&
         (pipeline = connect(model, "block", &conversions, &err)) != NULL &&
         run(pipeline, y, &err);
    if (ok) printf("largest difference from plain C: %.4f\n", (double)largest_difference(y, words));
    qnnrt_pipeline_destroy(pipeline);
    qnnrt_conversions_free(conversions);
    qnnrt_close(model);
    qnnrt_backend_close(backend);
    if (!ok) fprintf(stderr, "%s\n", err.text);
    if (!ok && err.cause != NULL)
        fprintf(stderr, "likely cause: %s\n", err.cause);
    if (!ok && err.hint[0] != '\0') fprintf(stderr, "hint: %s\n", err.hint);
    return ok ? 0 : 1;
}
