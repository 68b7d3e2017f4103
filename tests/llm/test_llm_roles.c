/* test_llm_roles.c - the role of each tensor of a language model

   Models are generated as JSON metadata, in every family of names; the role meant for each
   tensor is stored beside it and compared with the role found. Then genuine metadata follows: of
   the sample models here, and with QNNRT_SAMPLES of files by others. */
#define QNNRT_LLM_IMPLEMENTATION
#define QNNRT_LLM__STEP() (++searched)
static unsigned long long searched;         /* steps of searches, while a model is opened */
#include "qnnrt_llm.h"
#include "test.h"
#include "meta.h"

/* An allocator that fails on request and counts the live blocks. */
static struct { uint64_t live, count, fail_at, wrong; } heap;

static void *heap_alloc(void *user, size_t bytes)
{
    unsigned char *base;
    if (user != &heap || bytes == 0) ++heap.wrong;
    if (++heap.count == heap.fail_at) return NULL;
    base = (unsigned char *)malloc(bytes + 16);
    if (base == NULL) abort();
    memset(base, 0xA5, bytes + 16);
    ++heap.live;
    return base + 16;
}

static void heap_free(void *user, void *data)
{
    if (user != &heap || data == NULL) { ++heap.wrong; return; }
    free((unsigned char *)data - 16);
    --heap.live;
}

/* ---- models that are made up -------------------------------------------------------------------- */

enum { SHARDS = 8, GRAPHS = 4, MOST = 600 };

typedef struct want { qnnrt_llm_role role; uint32_t layer, head; } want;

typedef struct part {                       /* one graph of one shard */
    char              name[64];
    qnnrt_tensor_info tensors[MOST];        /* inputs, then outputs */
    uint32_t          dims[MOST][5];
    char              names[MOST][72];
    want              wants[MOST];
    size_t            inputs, outputs;
} part;

static struct {
    part      parts[SHARDS][GRAPHS];
    size_t    shards, graphs;
    meta_text json[SHARDS];
    qnnrt    *model;
    qnnrt_llm *llm;
    qnnrt_llm_desc desc;
    qnnrt_error err;
    char      config[65536];
    qnnrt_llm_role_desc roles[4096];
} m;

/* Add a tensor as the last one of its graph, and return it for changes. scale 0: no encoding. */
static qnnrt_tensor_info *tensor(part *p, int output, want w, uint32_t dtype, double scale, const char *name,
                                 uint32_t rank, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    size_t at = p->inputs + p->outputs;
    qnnrt_tensor_info *t = &p->tensors[at];
    if (at >= MOST || (!output && p->outputs > 0)) abort();
    memset(t, 0, sizeof(*t));
    snprintf(p->names[at], sizeof(p->names[at]), "%s", name);
    p->dims[at][0] = a; p->dims[at][1] = b; p->dims[at][2] = c; p->dims[at][3] = d;
    t->name = p->names[at];
    t->dims = p->dims[at];
    t->rank = rank;
    t->dtype = (qnnrt_dtype)dtype;
    t->id = (uint32_t)at + 1;
    t->vendor_type = output ? 1 : 0;
    t->vendor_version = 1;
    t->quant.vendor_encoding = 0x7FFFFFFF;
    if (scale > 0) {
        t->quant.encoding = QNNRT_ENCODING_PER_TENSOR;
        t->quant.vendor_encoding = 0;
        t->quant.scale = (float)scale;
        t->quant.offset = -128;
    }
    p->wants[at] = w;
    if (output) ++p->outputs; else ++p->inputs;
    return t;
}

static want of(qnnrt_llm_role role, uint32_t layer, uint32_t head)
{
    want w;
    w.role = role; w.layer = layer; w.head = head;
    return w;
}

#define ROLE(name) of(QNNRT_LLM_ROLE_##name, 0, 0)
enum { F32 = 0x0232, F16 = 0x0216, U8 = 0x0408, U16 = 0x0416, I32 = 0x0032 };

enum { HUB, HUB_HEADS, MLLM, ONNX, TORCH_HEADS, TORCH_FUSED };

typedef struct spec {
    int      family;
    uint32_t shards, layers, heads, dim, width, vocabulary;
    uint32_t graphs, ar[GRAPHS], context[GRAPHS];
    /* Type of caches; 0: ufixed8, with an encoding for each. */
    uint32_t cache;
    int      at;                            /* TORCH: names end in @0 instead of _0 */
    int      positions;                     /* 1: an input position_ids instead of cos and sin */
} spec;

static const spec HUB_SPEC = { HUB, 1, 4, 2, 32, 128, 256, 2, { 32, 1, 0, 0 }, { 128, 128, 0, 0 }, 0, 0, 0 };

static int torch(const spec *s) { return s->family >= TORCH_HEADS; }

static double kv_scale(const spec *s, uint32_t layer, uint32_t head, int value)
{
    return s->cache == 0 ? 0.01 * (1 + (double)(layer * 64 + head * 2 + (uint32_t)value)) : 0;
}

static void kv_name(char *out, const spec *s, uint32_t place, uint32_t layer, uint32_t head, int value, int output, uint32_t ordinal)
{
    const char *what = value ? "value" : "key", *k = s->at ? "@0" : "_0";
    uint32_t heads = s->family == TORCH_HEADS ? s->heads : 1;
    uint32_t j = value ? s->layers * heads + layer * heads + head : layer * heads + head;
    char number[16];
    number[0] = '\0';
    if (ordinal > 0) snprintf(number, sizeof(number), "_%u", (unsigned)ordinal);
    switch (s->family) {
    case HUB: snprintf(out, 72, "past_%s_%u_%s", what, (unsigned)layer, output ? "out" : "in"); break;
    case HUB_HEADS: snprintf(out, 72, "past_%s_%u_h%u_%s", what, (unsigned)layer, (unsigned)head, output ? "out" : "in"); break;
    case MLLM: snprintf(out, 72, "%s_%s_%u", output ? "present" : "past", what, (unsigned)layer); break;
    case ONNX:
        if (output) snprintf(out, 72, "present_%u_%s", (unsigned)layer, what);
        else snprintf(out, 72, "past_key_values_%u_%s", (unsigned)layer, what);
        break;
    default:
        if (!output) snprintf(out, 72, "input_%u_args_%u%s", (unsigned)place, (unsigned)j, k);
        else snprintf(out, 72, "output_aten_%s_copy_default%s%s", value ? "view" : "permute", number, k);
    }
}

/* Add the keys or values of one layer in one graph. ONNX graphs return whole caches, in which
   keys are stored like values. */
static void kv(part *p, const spec *s, size_t g, uint32_t layer, int value, int output, uint32_t *place, uint32_t *ordinal)
{
    int per_head = s->family == TORCH_HEADS || s->family == HUB_HEADS;
    uint32_t h, cells = output ? s->family == ONNX ? s->context[g] : s->ar[g] : s->context[g] - s->ar[g];
    uint32_t dtype = s->cache == 0 ? (uint32_t)U8 : s->cache;
    if (cells == 0) return;
    for (h = 0; h < (per_head ? s->heads : 1); ++h) {
        qnnrt_llm_role role = output ? value ? QNNRT_LLM_ROLE_VALUE_OUT : QNNRT_LLM_ROLE_KEY_OUT
                                     : value ? QNNRT_LLM_ROLE_VALUE_IN : QNNRT_LLM_ROLE_KEY_IN;
        uint32_t heads = per_head ? 1 : s->heads;
        uint32_t b = value || s->family == ONNX ? cells : s->dim, c = value || s->family == ONNX ? s->dim : cells;
        char name[72];
        kv_name(name, s, *place, layer, h, value, output, *ordinal);
        if (s->family == HUB || s->family == HUB_HEADS)
            tensor(p, output, of(role, layer, h), dtype, kv_scale(s, layer, h, value), name, 4, heads, 1, b, c);
        else if (s->family == TORCH_HEADS)
            tensor(p, output, of(role, layer, h), dtype, kv_scale(s, layer, h, value), name, 3, 1, b, c, 0);
        else
            tensor(p, output, of(role, layer, h), dtype, kv_scale(s, layer, h, value), name, 4, 1, heads, b, c);
        ++*place;
        ++*ordinal;
    }
}

static void build(const spec *s)
{
    size_t k, g;
    m.shards = s->shards;
    m.graphs = s->graphs;
    for (k = 0; k < m.shards; ++k)
        for (g = 0; g < m.graphs; ++g) {
            part *p = &m.parts[k][g];
            uint32_t ar = s->ar[g], first = (uint32_t)k * s->layers / s->shards, last = ((uint32_t)k + 1) * s->layers / s->shards, l;
            uint32_t place = 0, keys = 0, values = 0, n = s->dim / 2;
            const char *t = s->at ? "@0" : "_0";
            char name[72];
            memset(p, 0, sizeof(*p));
            if (torch(s)) snprintf(p->name, sizeof(p->name), g == 0 ? "prefill_forward" : g == 1 ? "kv_forward" : "forward_%u", (unsigned)g);
            else if (s->shards > 1) snprintf(p->name, sizeof(p->name), "ar%u_cl%u_%u_of_%u", (unsigned)ar, (unsigned)s->context[g], (unsigned)k + 1, (unsigned)s->shards);
            else snprintf(p->name, sizeof(p->name), "ar%u_cl%u", (unsigned)ar, (unsigned)s->context[g]);
            if (k == 0) {
                snprintf(name, sizeof(name), torch(s) ? "input_%u_tokens%s" : "input_ids", (unsigned)place++, t);
                tensor(p, 0, ROLE(TOKENS), I32, 0, name, 2, 1, ar, 0, 0);
                if (torch(s) || s->positions) {
                    snprintf(name, sizeof(name), torch(s) ? "input_%u_input_pos%s" : "position_ids", (unsigned)place++, t);
                    tensor(p, 0, ROLE(POSITIONS), I32, 0, name, 2, 1, ar, 0, 0);
                }
            } else {
                if (torch(s)) snprintf(name, sizeof(name), "input_%u_llama_fallback_default%s", (unsigned)place++, t);
                else snprintf(name, sizeof(name), "_model_layers_%u_Add_1_Add_output_0", (unsigned)first - 1);
                tensor(p, 0, ROLE(HIDDEN), U16, 0.001 * (double)(k + 1), name, 3, 1, ar, s->width, 0);
            }
            if (torch(s) ? k > 0 : !s->positions) {
                if (torch(s)) snprintf(name, sizeof(name), "input_%u_aten_view_copy_default%s", (unsigned)place++, t);
                else snprintf(name, sizeof(name), "position_ids_cos");
                tensor(p, 0, ROLE(ROPE_COS), U16, 0.5, name, 4, 1, 1, ar, n);
                if (torch(s)) snprintf(name, sizeof(name), "input_%u_aten_view_copy_default_1%s", (unsigned)place++, t);
                else snprintf(name, sizeof(name), "position_ids_sin");
                tensor(p, 0, ROLE(ROPE_SIN), U16, 0.5, name, 4, 1, 1, ar, n);
            }
            for (l = first; l < last; ++l) {            /* values before keys, the mask after the first layer */
                kv(p, s, g, l, 1, 0, &place, &values);
                kv(p, s, g, l, 0, 0, &place, &keys);
                if (l > first) continue;
                if (torch(s)) snprintf(name, sizeof(name), "input_%u_atten_mask%s", (unsigned)place++, t);
                else snprintf(name, sizeof(name), s->family == ONNX ? "attention_bias" : "attention_mask");
                tensor(p, 0, ROLE(MASK), U16, 0.001, name, 4, 1, 1, ar, s->context[g]);
            }
            keys = values = 0;
            for (l = first; l < last; ++l) {
                kv(p, s, g, l, 1, 1, &place, &values);
                kv(p, s, g, l, 0, 1, &place, &keys);
            }
            if (k + 1 == m.shards) {
                snprintf(name, sizeof(name), torch(s) ? "output_aten_squeeze_copy_dims%s" : "logits", t);
                tensor(p, 1, ROLE(LOGITS), U16, 0.7, name, 3, 1, ar, s->vocabulary, 0);
            } else {
                if (torch(s)) snprintf(name, sizeof(name), "output_aten_add_tensor_%u%s", 3 + (unsigned)k, t);
                else snprintf(name, sizeof(name), "_model_layers_%u_Add_1_Add_output_0", (unsigned)last - 1);
                tensor(p, 1, ROLE(HIDDEN), U16, 0.001 * (double)(k + 2), name, 3, 1, ar, s->width, 0);
            }
            if (torch(s) && k == 0 && m.shards > 1) {
                snprintf(name, sizeof(name), "output_quantized_decomposed_dequantize_per_tensor_tensor%s", t);
                tensor(p, 1, ROLE(ROPE_COS), U16, 0.5, name, 4, 1, 1, ar, n);
                snprintf(name, sizeof(name), "output_quantized_decomposed_dequantize_per_tensor_tensor_1%s", t);
                tensor(p, 1, ROLE(ROPE_SIN), U16, 0.5, name, 4, 1, 1, ar, n);
            }
        }
}

static void close_all(void)
{
    size_t k;
    if (qnnrt_llm_close(m.llm) != QNNRT_OK || qnnrt_close(m.model) != QNNRT_OK) abort();
    m.llm = NULL;
    m.model = NULL;
    for (k = 0; k < SHARDS; ++k) meta_free(&m.json[k]);
}

/* Begin a test with a model of this kind, and a desc that is zero. */
static void begin(const spec *s)
{
    close_all();
    memset(&m.desc, 0, sizeof(m.desc));
    build(s);
}

static qnnrt_result open_model_with(const qnnrt_hooks *hooks)
{
    static qnnrt_file files[SHARDS];
    static char names[SHARDS][32];
    qnnrt_desc desc;
    qnnrt_result result;
    size_t k, g;
    for (k = 0; k < m.shards; ++k) {
        qnnrt_context_info c;
        qnnrt_graph_info graphs[GRAPHS];
        memset(&c, 0, sizeof(c));
        memset(graphs, 0, sizeof(graphs));
        for (g = 0; g < m.graphs; ++g) {
            graphs[g].name = m.parts[k][g].name;
            graphs[g].inputs = m.parts[k][g].tensors;
            graphs[g].input_count = m.parts[k][g].inputs;
            graphs[g].outputs = graphs[g].inputs + graphs[g].input_count;
            graphs[g].output_count = m.parts[k][g].outputs;
        }
        c.graphs = graphs;
        c.graph_count = m.graphs;
        c.backend_id = 6;
        c.build_id = "v2.51.0.made_up";
        c.core_api.major = 2; c.core_api.minor = 40;
        c.backend_api.major = 5;
        c.blob_version.major = 3;
        c.blob_bytes = 1000 + k;
        meta_free(&m.json[k]);
        meta_write(&m.json[k], &c, META_COMPACT, NULL);
        memset(&files[k], 0, sizeof(files[k]));
        snprintf(names[k], sizeof(names[k]), "shard_%u.json", (unsigned)k);
        files[k].json_path = names[k];
        files[k].json_data = m.json[k].data;
        files[k].json_bytes = m.json[k].used;
    }
    memset(&desc, 0, sizeof(desc));
    desc.inspect = 1;
    desc.metadata = QNNRT_METADATA_JSON;
    desc.files = files;
    desc.file_count = m.shards;
    if (hooks != NULL) desc.backend_desc.hooks = *hooks;
    result = qnnrt_open(NULL, &desc, &m.model, &m.err);
    if (result != QNNRT_OK) printf("    %s\n", m.err.text);
    return result;
}

static qnnrt_result open_roles(void)
{
    qnnrt_llm_close(m.llm);
    TEST_JUNK(m.err);
    return qnnrt_llm_open(m.model, &m.desc, &m.llm, &m.err);
}

/* Check that every tensor has the role that it was made for. */
static void all_as_meant(void)
{
    const qnnrt_llm_info *info = qnnrt_llm_get_info(m.llm);
    size_t g, i, k, graph, at, seen = 0, all = 0;
    for (k = 0; k < m.shards; ++k)
        for (graph = 0; graph < m.graphs; ++graph) all += m.parts[k][graph].inputs + m.parts[k][graph].outputs;
    CHECK_EQ(info->graph_count, m.graphs);
    for (g = 0; g < info->graph_count; ++g)
        for (i = 0; i < info->graphs[g].tensor_count; ++i) {
            const qnnrt_llm_tensor_info *t = &info->graphs[g].tensors[i];
            const part *p = NULL;
            for (graph = 0; graph < m.graphs; ++graph) {
                const qnnrt_pipeline_info *pipeline = qnnrt_pipeline_get_info(m.llm->graphs[g].pipeline);
                if (strcmp(m.parts[t->step][graph].name, pipeline->steps[t->step].graph->name) == 0) p = &m.parts[t->step][graph];
            }
            CHECK(p != NULL);
            for (at = t->output ? p->inputs : 0; at < p->inputs + p->outputs; ++at)
                if (strcmp(p->names[at], t->tensor->name) == 0) break;
            CHECK(at < p->inputs + p->outputs);
            if (t->role != p->wants[at].role || t->layer != p->wants[at].layer || t->head != p->wants[at].head)
                printf("    %s of %s is %s %u %u\n", t->tensor->name, p->name, qnnrt_llm_role_name(t->role), (unsigned)t->layer, (unsigned)t->head);
            CHECK_EQ(t->role, p->wants[at].role);
            CHECK_EQ(t->layer, p->wants[at].layer);
            CHECK_EQ(t->head, p->wants[at].head);
            CHECK(t->reason != NULL && t->reason[0] != '\0');
            ++seen;
        }
    CHECK_EQ(seen, all);
}

/* Check that the slots are those of the intended tensors, and that the cache has the layout of
   `s`. */
static void slots_as_meant(const spec *s)
{
    const qnnrt_llm *llm = m.llm;
    size_t g, k, i;
    int per_head = s->family == TORCH_HEADS || s->family == HUB_HEADS;
    CHECK_EQ(llm->kv_count, s->layers * 2 * (per_head ? s->heads : 1));
    for (g = 0; g < m.graphs; ++g) {
        const qnnrt_llm__graph *graph = &llm->graphs[g];
        const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(graph->pipeline);
        unsigned char used[4096];
        memset(used, 0, sizeof(used));
        CHECK(info->slot_count <= sizeof(used));
        CHECK_EQ(graph->cells, graph->context - graph->ar);
        for (k = 0; k < llm->kv_count; ++k) {
            const qnnrt_llm__kv *kv = &llm->kv[k];
            const qnnrt_llm__ends *ends = &graph->kv[k];
            int value = kv->role == QNNRT_LLM_ROLE_VALUE_IN, whole = s->family == ONNX;
            uint32_t heads = per_head ? 1 : s->heads;
            CHECK_EQ(kv->outer, value || whole ? heads : heads * s->dim);
            CHECK_EQ(kv->inner, value || whole ? s->dim : 1);
            CHECK_EQ(kv->element, s->cache == F32 ? 4 : s->cache == F16 ? 2 : 1);
            CHECK_EQ(ends->out_cells, whole ? graph->context : graph->ar);
            CHECK_EQ(ends->out_first, whole ? graph->context - graph->ar : 0);
            CHECK((ends->in == NULL) == (graph->cells == 0));
            if (ends->in != NULL) {
                CHECK_EQ(ends->in->role, QNNRT_ROLE_INPUT);
                CHECK_EQ(ends->in->tensor->count, (uint64_t)kv->outer * kv->inner * graph->cells);
                CHECK(!used[ends->in - info->slots]++);
            }
            CHECK_EQ(ends->out->role, QNNRT_ROLE_OUTPUT);
            CHECK_EQ(ends->out->tensor->count, (uint64_t)kv->outer * kv->inner * ends->out_cells);
            CHECK(!used[ends->out - info->slots]++);
            if (k > 0) CHECK(kv->layer > kv[-1].layer || (kv->layer == kv[-1].layer && (kv->role > kv[-1].role ||
                             (kv->role == kv[-1].role && kv->head == kv[-1].head + 1))));
        }
        CHECK(graph->logits != NULL && graph->logits->tensor->dims[2] == s->vocabulary);
        CHECK_EQ(graph->inputs[QNNRT_LLM_ROLE_TOKENS].count, 1);
        CHECK(graph->inputs[QNNRT_LLM_ROLE_MASK].count >= 1);
        CHECK_EQ(graph->inputs[QNNRT_LLM_ROLE_HIDDEN].count, 0);
        for (i = 0; i < QNNRT_LLM_ROLE_COUNT; ++i)
            for (k = 0; k < graph->inputs[i].count; ++k) {
                CHECK_EQ(graph->inputs[i].slots[k]->role, QNNRT_ROLE_INPUT);
                CHECK(!used[graph->inputs[i].slots[k] - info->slots]++);
            }
        /* Check that all inputs that the caller must fill are among them. */
        for (i = 0; i < info->slot_count; ++i) if (info->slots[i].role == QNNRT_ROLE_INPUT) CHECK(used[i]);
    }
}

static void works(const spec *s)
{
    const qnnrt_llm_info *info;
    size_t g;
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    if (open_roles() != QNNRT_OK) printf("    %s\n", m.err.text);
    CHECK_EQ(m.err.code, QNNRT_OK);
    TRY(all_as_meant());
    TRY(slots_as_meant(s));
    info = qnnrt_llm_get_info(m.llm);
    CHECK_EQ(info->layers, s->layers);
    CHECK_EQ(info->heads, s->heads);
    CHECK_EQ(info->key_dim, s->dim);
    CHECK_EQ(info->value_dim, s->dim);
    CHECK_EQ(info->vocabulary, s->vocabulary);
    CHECK(info->logits != NULL && info->logits->dtype == QNNRT_DTYPE_U16Q);
    CHECK_EQ(info->cache_dtype, s->cache == 0 ? (uint32_t)U8 : s->cache);
    for (g = 1; g < info->graph_count; ++g)
        CHECK(info->graphs[g].ar > info->graphs[g - 1].ar || info->graphs[g].context > info->graphs[g - 1].context);
    CHECK_EQ(info->ar, info->graphs[info->graph_count - 1].ar);
}

/* Check that the model is refused with this code, and that text or hint have these names and
   values. */
static void fails(int line, qnnrt_result code, const char *a, const char *b)
{
    static char both[sizeof(m.err.text) + sizeof(m.err.hint)];
    qnnrt_result result;
    if (m.model == NULL) CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    result = open_roles();
    if (result != code) printf("    from line %d: %s: %s\n", line, qnnrt_result_name(result), result != QNNRT_OK ? m.err.text : "");
    CHECK_EQ(result, code);
    CHECK_EQ(m.err.code, code);
    CHECK(m.llm == NULL);
    snprintf(both, sizeof(both), "%s\n%s", m.err.text, m.err.hint);
    if (strstr(both, a) == NULL || (b != NULL && strstr(both, b) == NULL)) printf("    from line %d\n", line);
    CHECK_STR(both, a);
    if (b != NULL) CHECK_STR(both, b);
}

#define FAILS(code, a, b) TRY(fails(__LINE__, code, a, b))

/* Return the tensor of a name in a graph. */
static size_t at_name(const part *p, const char *name, int output)
{
    size_t i;
    for (i = output ? p->inputs : 0; i < (output ? p->inputs + p->outputs : p->inputs); ++i)
        if (strcmp(p->names[i], name) == 0) return i;
    printf("no tensor %s\n", name);
    abort();
}

/* Make tensors point into their part. */
static void move_shards(size_t to, size_t from, size_t count)
{
    size_t k, g, i;
    memmove(m.parts[to], m.parts[from], sizeof(m.parts[to]) * count);
    for (k = to; k < to + count; ++k)
        for (g = 0; g < GRAPHS; ++g)
            for (i = 0; i < MOST; ++i) {
                m.parts[k][g].tensors[i].name = m.parts[k][g].names[i];
                m.parts[k][g].tensors[i].dims = m.parts[k][g].dims[i];
            }
}

static void rename_in_all(const char *from, const char *to, int output)
{
    size_t k, g, i;
    for (k = 0; k < m.shards; ++k)
        for (g = 0; g < m.graphs; ++g)
            for (i = 0; i < m.parts[k][g].inputs + m.parts[k][g].outputs; ++i)
                if ((i >= m.parts[k][g].inputs) == output && strcmp(m.parts[k][g].names[i], from) == 0)
                    snprintf(m.parts[k][g].names[i], sizeof(m.parts[k][g].names[i]), "%s", to);
}

/* Remove all names, and give the roles in m.roles: [m.desc.role_count]. */
static void anonymous(void)
{
    size_t k, g, i, n = 0;
    static char names[SHARDS][MOST][32];
    for (k = 0; k < m.shards; ++k)
        for (i = 0; i < m.parts[k][0].inputs + m.parts[k][0].outputs; ++i) {
            const part *p = &m.parts[k][0];
            char old[72];
            snprintf(old, sizeof(old), "%s", p->names[i]);
            snprintf(names[k][i], sizeof(names[k][i]), "%u/x%u", (unsigned)k, (unsigned)i);
            for (g = m.graphs; g-- > 0;) {
                part *q = &m.parts[k][g];
                size_t at = at_name(q, old, i >= p->inputs);
                snprintf(q->names[at], sizeof(q->names[at]), "x%u", (unsigned)i);
            }
            m.roles[n].tensor = names[k][i];
            m.roles[n].role = p->wants[i].role;
            m.roles[n].layer = p->wants[i].layer;
            m.roles[n].head = p->wants[i].head;
            ++n;
        }
    m.desc.roles = m.roles;
    m.desc.role_count = n;
}

/* Write m.roles as the text of a qnnrt.json. */
static void as_config(void)
{
    size_t i, used = (size_t)snprintf(m.config, sizeof(m.config), "{\"other\": [1], \"llm\": {\"roles\": {");
    for (i = 0; i < m.desc.role_count; ++i) {
        const qnnrt_llm_role_desc *r = &m.roles[i];
        used += (size_t)snprintf(m.config + used, sizeof(m.config) - used, "%s\"%s\": \"%s", i > 0 ? ", " : "", r->tensor, qnnrt_llm_role_name(r->role));
        if (qnnrt_llm__layered(r->role)) used += (size_t)snprintf(m.config + used, sizeof(m.config) - used, " %u", (unsigned)r->layer);
        if (r->head > 0) used += (size_t)snprintf(m.config + used, sizeof(m.config) - used, " %u", (unsigned)r->head);
        used += (size_t)snprintf(m.config + used, sizeof(m.config) - used, "\"");
    }
    used += (size_t)snprintf(m.config + used, sizeof(m.config) - used, "}}}");
    if (used >= sizeof(m.config)) abort();
    m.desc.config = m.config;
    m.desc.config_bytes = used;
}

/* ---- families ------------------------------------------------------------------------------------ */

TEST(names_of_the_hub)
{
    spec s = HUB_SPEC;
    begin(&s);
    TRY(works(&s));
    CHECK_STR(qnnrt_llm_get_info(m.llm)->layout, "one tensor per layer, keys transposed");
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->ar, 32);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->context, 128);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->cells, 127);
    CHECK(m.llm->graphs[0].made == NULL);
    s.shards = 4;
    s.layers = 8;
    begin(&s);
    TRY(works(&s));
    /* No pipeline was made anew: wiring by names was right. */
    CHECK(m.llm->graphs[0].made == NULL);
    CHECK_EQ(m.llm->graphs[0].inputs[QNNRT_LLM_ROLE_MASK].count, 1);
    CHECK_EQ(m.llm->graphs[0].inputs[QNNRT_LLM_ROLE_ROPE_COS].count, 1);
    s.family = HUB_HEADS;
    s.shards = 2;
    begin(&s);
    TRY(works(&s));
    CHECK_STR(qnnrt_llm_get_info(m.llm)->layout, "one tensor per head, keys transposed");
}

TEST(names_of_mllm_and_onnx)
{
    spec s = HUB_SPEC;
    s.family = MLLM;
    s.positions = 1;
    begin(&s);
    TRY(works(&s));
    CHECK(qnnrt_llm_get_info(m.llm)->rope.theta == 0);
    CHECK_EQ(m.llm->graphs[0].inputs[QNNRT_LLM_ROLE_POSITIONS].count, 1);
    s.family = ONNX;
    s.cache = F32;
    begin(&s);
    TRY(works(&s));
    CHECK_STR(qnnrt_llm_get_info(m.llm)->layout, "keys like values, the whole cache comes out");
    s.cache = F16;
    s.shards = 2;
    begin(&s);
    TRY(works(&s));
}

TEST(names_and_numbers_of_executorch)
{
    spec s = { TORCH_HEADS, 8, 16, 8, 64, 256, 1000, 2, { 32, 1, 0, 0 }, { 512, 512, 0, 0 }, 0, 0, 0 };
    size_t i, e, hidden = 0, angles = 0;
    const qnnrt_pipeline_info *info;
    for (s.at = 0; s.at < 2; ++s.at)
        for (s.family = TORCH_HEADS; s.family <= TORCH_FUSED; ++s.family)
            for (s.shards = 1; s.shards <= 8; s.shards *= 2) {
                begin(&s);
                TRY(works(&s));
                CHECK((m.llm->graphs[0].made != NULL) == (s.shards > 1));
            }
    s.at = 0;
    s.shards = 8;
    s.family = TORCH_HEADS;
    begin(&s);
    TRY(works(&s));
    CHECK_EQ(m.llm->kv_count, 256);
    info = qnnrt_pipeline_get_info(m.llm->graphs[0].pipeline);
    for (e = 0; e < info->edge_count; ++e) {
        hidden += info->edges[e].from_step + 1 == info->edges[e].to_step && strstr(info->edges[e].to->name, "fallback") != NULL;
        angles += info->edges[e].from_step == 0 && strstr(info->edges[e].to->name, "view_copy") != NULL;
    }
    CHECK_EQ(hidden, 7);
    CHECK_EQ(angles, 14);
    CHECK_EQ(info->edge_count, 21);
    /* In shard 0 the mask has another number and so another name: two slots have one role. */
    CHECK_EQ(m.llm->graphs[0].inputs[QNNRT_LLM_ROLE_MASK].count, 2);
    CHECK(qnnrt_llm_get_info(m.llm)->rope.theta == 0);
    /* A shard alone: the roles found by its numbers hold without the others. */
    move_shards(0, 3, 1);
    m.shards = 1;
    qnnrt_llm_close(m.llm);
    m.llm = NULL;
    qnnrt_close(m.model);
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    CHECK_EQ(open_roles(), QNNRT_OK);
    for (i = 0; i < m.llm->kv_count; ++i) CHECK(m.llm->kv[i].layer == 6 || m.llm->kv[i].layer == 7);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->heads, 8);
}

TEST(numbers_of_executorch_that_do_not_add_up)
{
    spec s = { TORCH_HEADS, 2, 4, 2, 16, 64, 100, 2, { 8, 1, 0, 0 }, { 64, 64, 0, 0 }, 0, 0, 0 };
    size_t g;
    begin(&s);
    /* Two inputs have the same number. */
    rename_in_all("input_2_args_8_0", "input_2_args_9_0", 0);
    FAILS(QNNRT_E_MISMATCH, "input_<i>_args_<j>", "see input \"input_");
    begin(&s);
    rename_in_all("input_2_args_8_0", "input_2_args_99_0", 0);
    FAILS(QNNRT_E_MISMATCH, "input_<i>_args_<j>", "see input \"input_");
    begin(&s);
    /* One number of the run of keys is missing. */
    rename_in_all("input_5_args_1_0", "input_99_args_1_0", 0);
    FAILS(QNNRT_E_MISMATCH, "number of heads", NULL);
    begin(&s);
    rename_in_all("input_2_args_8_0", "input_2_args_10_0", 0);        /* two of different layers are swapped */
    rename_in_all("input_7_args_10_0", "input_7_args_8_0", 0);
    FAILS(QNNRT_E_MISMATCH, "input_<i>_args_<j>", "order");
    begin(&s);
    rename_in_all("output_aten_permute_copy_default_3_0", "something_else", 1);
    FAILS(QNNRT_E_MISMATCH, "role table", "key_out");
    begin(&s);
    for (g = 0; g < 2; ++g) {      /* one key fewer: an odd number of caches */
        part *p = &m.parts[0][g];
        size_t at = at_name(p, "input_5_args_1_0", 0);
        snprintf(p->names[at], sizeof(p->names[at]), "input_5_other_0");
    }
    FAILS(QNNRT_E_MISMATCH, " 15 inputs", NULL);
}

/* ---- tables --------------------------------------------------------------------------------------- */

TEST(a_role_table_is_enough)
{
    spec s = { TORCH_HEADS, 4, 8, 2, 16, 64, 100, 2, { 8, 1, 0, 0 }, { 64, 64, 0, 0 }, 0, 0, 0 };
    begin(&s);
    anonymous();
    TRY(works(&s));
    CHECK_STR(qnnrt_llm_get_info(m.llm)->graphs[0].tensors[0].reason, "role table");
    as_config();
    m.desc.roles = NULL;
    m.desc.role_count = 0;
    qnnrt_close(m.model);       /* refused as busy: the model stays open */
    CHECK_EQ(open_roles(), QNNRT_OK);
    TRY(all_as_meant());
    CHECK_STR(qnnrt_llm_get_info(m.llm)->graphs[0].tensors[0].reason, "role table of qnnrt.json");
    s.family = HUB;
    s.cache = F32;      /* floats: encodings do not help */
    begin(&s);
    anonymous();
    TRY(works(&s));
}

TEST(the_table_goes_before_names_and_the_caller_before_the_file)
{
    spec s = HUB_SPEC;
    qnnrt_llm_role_desc role = { "logits", QNNRT_LLM_ROLE_UNUSED, 0, 0 };
    begin(&s);
    m.desc.roles = &role;
    m.desc.role_count = 1;
    m.desc.config = "{\"llm\": {\"roles\": {\"logits\": \"hidden\"}}}";
    m.desc.config_bytes = strlen(m.desc.config);
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->vocabulary, 0);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->graphs[0].tensors[qnnrt_llm_get_info(m.llm)->graphs[0].tensor_count - 1].role, QNNRT_LLM_ROLE_UNUSED);
    /* The caller's table is used, even where an entry of the file is more exact. */
    m.desc.config = "{\"llm\": {\"roles\": {\"0/logits\": \"hidden\"}}}";
    m.desc.config_bytes = strlen(m.desc.config);
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->graphs[0].tensors[qnnrt_llm_get_info(m.llm)->graphs[0].tensor_count - 1].role, QNNRT_LLM_ROLE_UNUSED);
    m.desc.role_count = 0;
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->graphs[0].tensors[qnnrt_llm_get_info(m.llm)->graphs[0].tensor_count - 1].role, QNNRT_LLM_ROLE_HIDDEN);
}

TEST(tables_that_are_wrong)
{
    spec s = HUB_SPEC;
    qnnrt_llm_role_desc roles[2] = { { "nothing", QNNRT_LLM_ROLE_MASK, 0, 0 }, { "logits", QNNRT_LLM_ROLE_LOGITS, 0, 0 } };
    begin(&s);
    m.desc.roles = roles;
    m.desc.role_count = 2;
    FAILS(QNNRT_E_NOT_FOUND, "role table", "input \"nothing\" as mask");
    /* A tensor of this name exists, but it is not an output. */
    roles[0].tensor = "input_ids";
    roles[0].role = QNNRT_LLM_ROLE_KEY_OUT;
    FAILS(QNNRT_E_NOT_FOUND, "output \"input_ids\" as key_out", NULL);
    /* More candidates exist than an error text can list. */
    {
        static char names[200][16];
        unsigned n;
        for (n = 0; n < 200; ++n) {
            snprintf(names[n], sizeof(names[n]), "absent_%u", n);
            memset(&m.roles[n], 0, sizeof(m.roles[n]));
            m.roles[n].tensor = names[n];
            m.roles[n].role = n % 3 == 0 ? QNNRT_LLM_ROLE_HIDDEN : QNNRT_LLM_ROLE_MASK;
        }
        m.desc.roles = m.roles;
        m.desc.role_count = 200;
        FAILS(QNNRT_E_NOT_FOUND, "tensor \"absent_0\" as hidden", " more");
        m.desc.roles = roles;
        m.desc.role_count = 2;
    }
    roles[0].tensor = "7/logits";
    FAILS(QNNRT_E_NOT_FOUND, "7/logits", NULL);
    roles[0].tensor = "logits";
    FAILS(QNNRT_E_ARG, "twice", "logits");
    roles[0].tensor = NULL;
    FAILS(QNNRT_E_ARG, "line 0 of the role table", NULL);
    roles[0].tensor = "logits";
    roles[0].role = QNNRT_LLM_ROLE_UNKNOWN;
    FAILS(QNNRT_E_ARG, "line 0 of the role table", NULL);
    /* One role given twice. */
    roles[0].tensor = "past_key_1_in";
    roles[0].role = QNNRT_LLM_ROLE_KEY_IN;
    m.desc.role_count = 1;
    FAILS(QNNRT_E_MISMATCH, "two tensors have the role key_in of layer 0", "past_key_1_in");
    roles[0].tensor = "position_ids_cos";
    roles[0].role = QNNRT_LLM_ROLE_MASK;
    FAILS(QNNRT_E_MISMATCH, "width", "position_ids_cos");
    roles[0].tensor = "position_ids_cos";
    roles[0].role = QNNRT_LLM_ROLE_ROPE_SIN;
    FAILS(QNNRT_E_MISMATCH, "two tensors have the role rope_sin", "position_ids_cos");
    /* Only one end of a pair is given. */
    roles[0].tensor = "past_key_1_out";
    roles[0].role = QNNRT_LLM_ROLE_UNUSED;
    FAILS(QNNRT_E_NOT_FOUND, "key_out of layer 1", "past_key_1_in");
    memset(&m.desc, 0, sizeof(m.desc));
    rename_in_all("past_key_1_in", "past_key_4294967295_in", 0);
    qnnrt_close(m.model);
    m.model = NULL;
    FAILS(QNNRT_E_NOT_FOUND, "layer 1", NULL);
    rename_in_all("past_key_4294967295_in", "past_key_99999999999999999999_in", 0);
    qnnrt_close(m.model);
    m.model = NULL;
    TRY(works(&s));     /* a number that cannot be a layer, so not a name: the shape decides */
}

/* ---- shapes ---------------------------------------------------------------------------------------- */

TEST(shapes_tell_what_only_one_thing_fits)
{
    spec s = HUB_SPEC;
    size_t g, i;
    char to[32];
    begin(&s);
    for (g = 0; g < 2; ++g)     /* outputs of other names; each cache has an encoding of its own */
        for (i = 0; i < m.parts[0][g].outputs; ++i) {
            part *p = &m.parts[0][g];
            snprintf(p->names[p->inputs + i], 72, "output_%u", (unsigned)i);
        }
    rename_in_all("input_ids", "ids", 0);
    rename_in_all("attention_mask", "causal", 0);
    rename_in_all("position_ids_sin", "freqs_1", 0);
    m.desc.roles = m.roles;
    m.desc.role_count = 1;
    m.roles[0].tensor = "output_8";     /* [1, AR, n]: hidden state or logits */
    m.roles[0].role = QNNRT_LLM_ROLE_LOGITS;
    TRY(works(&s));
    CHECK_STR(qnnrt_llm_get_info(m.llm)->graphs[0].tensors[0].reason, "fits its shape");
    /* The same with caches that have no distinguishing property. */
    s.cache = F32;
    begin(&s);
    for (i = 0; i < 8; ++i) {
        snprintf(to, sizeof(to), "output_%u", (unsigned)i);
        rename_in_all(m.parts[0][0].names[m.parts[0][0].inputs + i], to, 1);
    }
    FAILS(QNNRT_E_MISMATCH, "in qnnrt.json {\"llm\"", "output \"output_0\" of step 0, float32[2,1,32,32]: key_out of layer 0, value_out of layer 0, key_out of layer 1 or 5 more");
    CHECK_STR(m.err.text, "output \"output_7\"");
    /* With both graphs, keys and values differ in shape; with one layer, every role is found. */
    s.layers = 1;
    begin(&s);
    rename_in_all("past_value_0_out", "output_0", 1);
    rename_in_all("past_key_0_out", "output_1", 1);
    TRY(works(&s));
    s.graphs = 1;               /* AR equal to head_dim: one graph alone cannot distinguish them */
    begin(&s);
    rename_in_all("past_value_0_out", "output_0", 1);
    rename_in_all("past_key_0_out", "output_1", 1);
    FAILS(QNNRT_E_MISMATCH, "output \"output_0\"", "key_out of layer 0, value_out of layer 0");
    /* One tensor is missing, and two candidates exist. */
    s = HUB_SPEC;
    begin(&s);
    rename_in_all("past_key_2_out", "output_0", 1);
    for (g = 0; g < 2; ++g) {
        part *p = &m.parts[0][g];
        tensor(p, 1, ROLE(UNUSED), U8, kv_scale(&s, 2, 0, 0), "output_1", 4, 2, 1, 32, s.ar[g]);
    }
    FAILS(QNNRT_E_MISMATCH, "output \"output_0\" of step 0, ufixed8[2,1,32,32] scale 1.28999996 offset -128: key_out of layer 2, which 1 other",
          "output \"output_1\"");
    /* Two integers: tokens and positions look alike. */
    s = HUB_SPEC;
    s.positions = 1;
    begin(&s);
    rename_in_all("input_ids", "a", 0);
    TRY(works(&s));
    begin(&s);
    rename_in_all("input_ids", "a", 0);
    rename_in_all("position_ids", "b", 0);
    FAILS(QNNRT_E_MISMATCH, "input \"a\" of step 0, int32[1,32]: tokens, positions", "input \"b\"");
    /* A tensor that matches no role. */
    begin(&s);
    m.parts[0][1].wants[0] = ROLE(TOKENS);
    rename_in_all("attention_mask", "lora_alpha", 0);
    for (g = 0; g < 2; ++g) m.parts[0][g].dims[at_name(&m.parts[0][g], "lora_alpha", 0)][3] = 5;
    FAILS(QNNRT_E_MISMATCH, "input \"lora_alpha\"", "no role fits");
}

TEST(outputs_that_nothing_misses_are_unused)
{
    spec s = HUB_SPEC;
    size_t g;
    begin(&s);
    for (g = 0; g < 2; ++g) tensor(&m.parts[0][g], 1, ROLE(UNUSED), F32, 0, "entropy", 1, 7, 0, 0, 0);
    TRY(works(&s));
}

TEST(names_of_cuts_may_say_nothing)
{
    spec s = HUB_SPEC;
    size_t k, g;
    s.shards = 4;
    begin(&s);
    for (k = 0; k < 4; ++k)
        for (g = 0; g < 2; ++g) {
            part *p = &m.parts[k][g];
            if (k > 0) snprintf(p->names[0], 72, "h_in");
            if (k < 3) snprintf(p->names[p->inputs + p->outputs - 1], 72, "h_out");
        }
    TRY(works(&s));
    /* Equal names join tensors of different roles: the roles decide. */
    begin(&s);
    for (g = 0; g < 2; ++g) {
        part *p = &m.parts[0][g];
        snprintf(p->names[at_name(p, "past_key_0_out", 1)], 72, "past_key_1_in");
        p = &m.parts[1][g];
        snprintf(p->names[at_name(p, "past_key_1_in", 0)], 72, "k1");
    }
    m.desc.roles = m.roles;
    m.desc.role_count = 2;
    m.roles[0].tensor = "k1";
    m.roles[0].role = QNNRT_LLM_ROLE_KEY_IN;
    m.roles[0].layer = 1;
    m.roles[1].tensor = "past_key_1_in";
    m.roles[1].role = QNNRT_LLM_ROLE_KEY_OUT;
    m.roles[1].layer = 0;
    TRY(works(&s));
}

/* ---- layouts ---------------------------------------------------------------------------------------- */

TEST(the_axis_of_the_cells_is_told_by_other_graphs)
{
    spec s = HUB_SPEC;
    s.dim = 64;             /* AR, cells and head_dim are 64 */
    s.ar[0] = 64;
    begin(&s);
    TRY(works(&s));
    s.graphs = 1;
    begin(&s);
    FAILS(QNNRT_E_MISMATCH, "several axes", "past_key_0_in");
    s.ar[0] = 32;           /* cells are 96 */
    s.dim = 96;
    begin(&s);
    TRY(works(&s));
    s.dim = 32;             /* head_dim is AR */
    begin(&s);
    TRY(works(&s));
}

TEST(graphs_of_several_sizes)
{
    spec s = HUB_SPEC;
    s.graphs = 4;
    s.ar[0] = 32;  s.context[0] = 128;
    s.ar[1] = 1;   s.context[1] = 512;
    s.ar[2] = 1;   s.context[2] = 128;
    s.ar[3] = 128; s.context[3] = 128;      /* this graph reads no cache */
    begin(&s);
    TRY(works(&s));
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->cells, 511);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->context, 512);
    CHECK_EQ(m.llm->graphs[0].context, 128);
    CHECK_EQ(m.llm->graphs[3].cells, 0);
    /* Outputs are in order in a graph without cache inputs. */
    s.family = TORCH_HEADS;
    s.shards = 2;
    begin(&s);
    TRY(works(&s));
    s = HUB_SPEC;
    s.graphs = 1;
    s.ar[0] = s.context[0] = 64;
    begin(&s);
    TRY(works(&s));
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->cells, 0);
    s = HUB_SPEC;
    s.graphs = 3;
    s.ar[2] = 32;
    s.context[2] = 128;
    begin(&s);
    snprintf(m.parts[0][2].name, 64, "again");
    FAILS(QNNRT_E_MISMATCH, " 32 tokens per call", "desc.pipelines");
    {
        static const char *const names[2] = { "again", "ar1_cl128" };
        m.desc.pipelines = names;
        m.desc.pipeline_count = 2;
        CHECK_EQ(open_roles(), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_get_info(m.llm)->graph_count, 2);
        CHECK_STR(qnnrt_llm_get_info(m.llm)->graphs[1].name, "again");
        m.desc.pipeline_count = 1;
        CHECK_EQ(open_roles(), QNNRT_OK);
        CHECK_EQ(qnnrt_llm_get_info(m.llm)->graph_count, 1);
    }
    {
        static const char *const names[2] = { "ar1_cl128", "ar1_cl128" };
        m.desc.pipelines = names;
        m.desc.pipeline_count = 2;
        FAILS(QNNRT_E_ARG, "\"ar1_cl128\" twice", NULL);
    }
    {
        static const char *const names[2] = { "again", "none" };
        m.desc.pipelines = names;
        m.desc.pipeline_count = 2;
        FAILS(QNNRT_E_NOT_FOUND, "\"none\"", "ar1_cl128");
    }
}

TEST(without_a_mask_the_cells_tell_the_context)
{
    spec s = HUB_SPEC;
    size_t g, i;
    s.family = ONNX;
    s.cache = F32;
    begin(&s);
    for (g = 0; g < 2; ++g) {
        part *p = &m.parts[0][g];
        i = at_name(p, "attention_bias", 0);
        p->dims[i][2] = s.ar[g]; p->dims[i][3] = s.dim / 2;
        snprintf(p->names[i], 72, "position_ids_cos2");
        p->wants[i] = ROLE(UNKNOWN);
        p->tensors[i].rank = 4;
    }
    FAILS(QNNRT_E_MISMATCH, "position_ids_cos2", NULL);
    begin(&s);
    for (g = 0; g < 2; ++g) {       /* removed */
        part *p = &m.parts[0][g];
        i = at_name(p, "attention_bias", 0);
        for (; i + 1 < p->inputs + p->outputs; ++i) {
            memcpy(p->names[i], p->names[i + 1], sizeof(p->names[i]));
            memcpy(p->dims[i], p->dims[i + 1], sizeof(p->dims[i]));
            p->tensors[i] = p->tensors[i + 1];
            p->tensors[i].name = p->names[i];
            p->tensors[i].dims = p->dims[i];
            p->wants[i] = p->wants[i + 1];
        }
        p->inputs -= 1;
    }
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    CHECK_EQ(open_roles(), QNNRT_OK);
    TRY(all_as_meant());
    CHECK_EQ(m.llm->graphs[0].context, 128);
    CHECK_EQ(m.llm->graphs[1].context, 128);
    CHECK_EQ(m.llm->graphs[1].cells, 96);
    /* Caches of one graph that differ in cells, without a mask that could decide. */
    i = at_name(&m.parts[0][0], "past_key_values_3_value", 0);
    m.parts[0][0].dims[i][2] = 95;
    i = at_name(&m.parts[0][0], "present_3_value", 1);
    m.parts[0][0].dims[i][2] = 32;
    qnnrt_close(m.model);
    m.model = NULL;
    FAILS(QNNRT_E_MISMATCH, "value_in of layer 3", "past_key_values_3_value");
}

/* A graph takes no cache, although its mask has room for one. */
TEST(graphs_that_lack_a_cache)
{
    spec s = HUB_SPEC;
    size_t k, at;
    char name[64], other[64];
    begin(&s);
    /* Change its cache inputs into outputs, which no other graph needs. */
    for (k = 0; k < 8; ++k) {
        part *p = &m.parts[0][0];
        snprintf(name, sizeof(name), "past_%s_%u_in", k % 2 ? "value" : "key", (unsigned)k / 2);
        at = at_name(p, name, 0);
        for (; at + 1 < p->inputs + p->outputs; ++at) {
            memcpy(p->names[at], p->names[at + 1], sizeof(p->names[at]));
            memcpy(p->dims[at], p->dims[at + 1], sizeof(p->dims[at]));
            p->tensors[at] = p->tensors[at + 1];
            p->tensors[at].name = p->names[at];
            p->tensors[at].dims = p->dims[at];
            p->wants[at] = p->wants[at + 1];
        }
        p->inputs -= 1;
    }
    FAILS(QNNRT_E_NOT_FOUND, "\"ar32_cl128\"", "context 128");
    /* The graph has no room for a cache, and the names of its outputs mean nothing: another
       graph decides. */
    s.ar[0] = s.context[0] = 128;
    begin(&s);
    for (k = 0; k < 8; ++k) {
        snprintf(name, sizeof(name), "past_%s_%u_out", k % 2 ? "value" : "key", (unsigned)k / 2);
        snprintf(other, sizeof(other), "cache_%u", (unsigned)k);
        rename_in_all(name, other, 1);
    }
    TRY(works(&s));
    /* With one encoding for all of them they cannot be distinguished. */
    s.cache = F32;
    begin(&s);
    for (k = 0; k < 8; ++k) {
        snprintf(name, sizeof(name), "past_%s_%u_out", k % 2 ? "value" : "key", (unsigned)k / 2);
        snprintf(other, sizeof(other), "cache_%u", (unsigned)k);
        rename_in_all(name, other, 1);
    }
    FAILS(QNNRT_E_MISMATCH, "output \"cache_0\"", "role table");
}

TEST(layouts_and_types_that_disagree)
{
    spec s = HUB_SPEC;
    part *p;
    size_t at, g;
    begin(&s);
    p = &m.parts[0][1];
    at = at_name(p, "past_key_2_in", 0);
    p->dims[at][3] = 100;
    FAILS(QNNRT_E_MISMATCH, "key_in of layer 2: no axis", "past_key_2_in");
    begin(&s);
    at = at_name(p, "past_key_2_in", 0);                     /* keys of one graph have another layout */
    p->dims[at][2] = 127; p->dims[at][3] = 32;
    at = at_name(p, "past_key_2_out", 1);
    p->dims[at][2] = 1; p->dims[at][3] = 32;
    FAILS(QNNRT_E_MISMATCH, "key_in of layer 2: no axis", "all graphs");
    begin(&s);
    for (g = 0; g < 2; ++g) {
        at = at_name(&m.parts[0][g], "past_value_1_out", 1);
        m.parts[0][g].dims[at][2] = s.context[g] - s.ar[g];
    }
    FAILS(QNNRT_E_UNSUPPORTED, "update in place", "past_value_1");
    begin(&s);
    m.parts[0][0].tensors[at_name(&m.parts[0][0], "past_value_1_out", 1)].dtype = QNNRT_DTYPE_U16Q;
    FAILS(QNNRT_E_MISMATCH, "type", "past_value_1_out");
    begin(&s);
    m.parts[0][1].tensors[at_name(&m.parts[0][1], "past_value_1_out", 1)].quant.scale = 0.125f;
    FAILS(QNNRT_E_MISMATCH, "encodings of one cache", "past_value_1_out");
    begin(&s);
    m.parts[0][1].tensors[at_name(&m.parts[0][1], "past_value_1_in", 0)].quant.offset = 0;
    FAILS(QNNRT_E_MISMATCH, "encodings of one cache", "past_value_1_in");
    s.cache = 0x0264;
    begin(&s);
    FAILS(QNNRT_E_UNSUPPORTED, "elements of 1, 2 or 4 bytes", NULL);
    s.cache = 0x0404;
    begin(&s);
    FAILS(QNNRT_E_UNSUPPORTED, "elements of 1, 2 or 4 bytes", NULL);
    s = HUB_SPEC;
    begin(&s);
    p = &m.parts[0][1];
    snprintf(p->names[at_name(p, "past_key_3_in", 0)], 72, "past_key_4_in");
    snprintf(p->names[at_name(p, "past_key_3_out", 1)], 72, "past_key_4_out");
    FAILS(QNNRT_E_MISMATCH, "graphs disagree: \"ar32_cl128\" has key_in of layer 3, \"ar1_cl128\" lacks", NULL);
    begin(&s);
    p = &m.parts[0][0];  /* the same change in the other graph */
    snprintf(p->names[at_name(p, "past_key_3_in", 0)], 72, "past_key_4_in");
    snprintf(p->names[at_name(p, "past_key_3_out", 1)], 72, "past_key_4_out");
    FAILS(QNNRT_E_MISMATCH, "graphs disagree: \"ar1_cl128\" has key_in of layer 3, \"ar32_cl128\" lacks", NULL);
    begin(&s);
    rename_in_all("past_key_3_in", "past_key_4_in", 0);
    rename_in_all("past_key_3_out", "past_key_4_out", 1);
    FAILS(QNNRT_E_NOT_FOUND, "layer 3 has 0 tensors of keys, but 1 of values", NULL);
    s.family = HUB_HEADS;
    begin(&s);
    rename_in_all("past_key_3_h1_in", "past_key_3_h2_in", 0);
    rename_in_all("past_key_3_h1_out", "past_key_3_h2_out", 1);
    FAILS(QNNRT_E_NOT_FOUND, "layer 3 has keys of head 2, but not of head 1", NULL);
    s = HUB_SPEC;
    begin(&s);
    m.parts[0][0].dims[at_name(&m.parts[0][0], "input_ids", 0)][1] = 16;
    FAILS(QNNRT_E_MISMATCH, "takes 16 tokens per call", "takes 32");
    begin(&s);
    m.parts[0][0].dims[at_name(&m.parts[0][0], "logits", 1)][1] = 1;
    FAILS(QNNRT_E_UNSUPPORTED, "logits of each of 32 tokens", NULL);
    begin(&s);
    for (g = 0; g < 2; ++g) m.parts[0][g].tensors[at_name(&m.parts[0][g], "logits", 1)].dtype = QNNRT_DTYPE_U4Q;
    FAILS(QNNRT_E_UNSUPPORTED, "logits of 8 bits or more", "logits");
    begin(&s);
    m.parts[0][1].dims[at_name(&m.parts[0][1], "logits", 1)][2] = 255;
    FAILS(QNNRT_E_MISMATCH, "graphs disagree on logits", NULL);
    begin(&s);
    for (g = 0; g < 2; ++g) m.parts[0][g].dims[at_name(&m.parts[0][g], "position_ids_cos", 0)][3] = 7;
    FAILS(QNNRT_E_UNSUPPORTED, "rope_cos with 32 angles or half as many", NULL);
    begin(&s);
    for (g = 0; g < 2; ++g) m.parts[0][g].dims[at_name(&m.parts[0][g], "attention_mask", 0)][3] = 8;
    FAILS(QNNRT_E_MISMATCH, "below its 32 tokens per call", NULL);
    begin(&s);
    m.parts[0][0].dims[at_name(&m.parts[0][0], "attention_mask", 0)][1] = 2;
    FAILS(QNNRT_E_UNSUPPORTED, "one row for each token", NULL);
}

/* ---- shards ------------------------------------------------------------------------------------------ */

TEST(a_shard_is_missing)
{
    spec s = HUB_SPEC;
    qnnrt_error error;
    size_t g;
    s.shards = 4;
    s.layers = 8;
    begin(&s);
    move_shards(2, 3, 1);                                    /* shards 1, 2 and 4 are left */
    m.shards = 3;
    FAILS(QNNRT_E_NOT_FOUND, "layers 4 to 5", "shard_2.json");
    begin(&s);
    /* Remove the output for the hidden state. */
    for (g = 0; g < 2; ++g) m.parts[1][g].outputs -= 1;
    FAILS(QNNRT_E_NOT_FOUND, "an output for the hidden state", "shard_1.json");
    begin(&s);
    for (g = 0; g < 2; ++g) snprintf(m.parts[2][g].names[0], 72, "input_ids");
    for (g = 0; g < 2; ++g) { m.parts[2][g].tensors[0].dtype = QNNRT_DTYPE_I32; m.parts[2][g].tensors[0].quant.encoding = QNNRT_ENCODING_NONE;
                              m.parts[2][g].tensors[0].quant.vendor_encoding = 0x7FFFFFFF; m.parts[2][g].tensors[0].rank = 2; }
    FAILS(QNNRT_E_NOT_FOUND, "an input for the hidden state", "shard_2.json");
    /* Without its last or its first shard, a part of a model can be inspected. */
    begin(&s);
    m.shards = 3;
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    CHECK_EQ(open_roles(), QNNRT_OK);
    TRY(all_as_meant());
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->vocabulary, 0);
    CHECK(m.llm->graphs[0].logits == NULL);
    begin(&s);
    move_shards(0, 1, 3);
    m.shards = 3;
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_open(m.model, NULL, &m.llm, &error), QNNRT_OK);
    TRY(all_as_meant());
    CHECK_EQ(m.llm->graphs[0].inputs[QNNRT_LLM_ROLE_HIDDEN].count, 1);
    CHECK_EQ(m.llm->kv[0].layer, 2);
}

TEST(encodings_over_a_cut)
{
    spec s = HUB_SPEC;
    s.shards = 4;
    begin(&s);
    m.parts[1][1].tensors[0].quant.scale = 0.5f;
    m.parts[3][1].tensors[0].quant.scale = 0.5f;
    FAILS(QNNRT_E_MISMATCH, "the cut between steps 0 and 1 (hidden)", "scale 0.5 offset -128");
    s.family = TORCH_HEADS;
    begin(&s);
    m.parts[2][0].tensors[1].quant.offset = 5;
    FAILS(QNNRT_E_MISMATCH, "the cut between steps 0 and 2 (rope_cos)", "offset 5");
}

/* Names that join nothing: the shards' graphs are found by the number of tokens they take. */
TEST(shards_whose_graphs_have_no_common_name)
{
    spec s = HUB_SPEC;
    size_t k, g;
    s.shards = 4;
    begin(&s);
    for (k = 0; k < 4; ++k)
        for (g = 0; g < 2; ++g) snprintf(m.parts[k][g].name, 64, "graph_%c%c", (char)('a' + (k * 7 + g * 3) % 26), (char)('z' - k));
    for (g = 0; g < 1; ++g) {       /* and change the order of the graphs in some shards */
        static part swap;
        memcpy(&swap, &m.parts[2][0], sizeof(swap));
        memcpy(&m.parts[2][0], &m.parts[2][1], sizeof(swap));
        memcpy(&m.parts[2][1], &swap, sizeof(swap));
        for (k = 0; k < MOST; ++k)
            for (g = 0; g < 2; ++g) { m.parts[2][g].tensors[k].name = m.parts[2][g].names[k]; m.parts[2][g].tensors[k].dims = m.parts[2][g].dims[k]; }
    }
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    CHECK_EQ(open_roles(), QNNRT_OK);
    TRY(all_as_meant());
    TRY(slots_as_meant(&s));
    CHECK(m.llm->graphs[0].made != NULL);
    begin(&s);
    for (k = 0; k < 4; ++k) for (g = 0; g < 2; ++g) snprintf(m.parts[k][g].name, 64, "graph_%u%c", (unsigned)(k * 2 + g), (char)('z' - k));
    m.parts[1][0].dims[at_name(&m.parts[1][0], "attention_mask", 0)][2] = 8;
    for (k = 0; k < 4; ++k) m.parts[1][0].dims[k][2] = m.parts[1][0].dims[k][2];
    FAILS(QNNRT_E_MISMATCH, "", NULL);
}

/* A model and a context that is not part of it: no graph joins all contexts. */
TEST(contexts_that_are_no_shards)
{
    static const char *const names[2] = { "ar32_cl128", "ar1_cl128" };
    spec s = HUB_SPEC;
    size_t g;
    s.shards = 3;
    s.layers = 6;
    begin(&s);
    for (g = 0; g < 2; ++g) {
        part *p = &m.parts[2][g];
        while (p->outputs > 1) --p->outputs;
        p->tensors[1] = p->tensors[p->inputs];
        p->inputs = 1;
        snprintf(p->names[0], 72, "pixels");
        snprintf(p->names[1], 72, "features");
        p->tensors[1].name = p->names[1];
        snprintf(p->name, sizeof(p->name), "vision_%u", (unsigned)g);
        /* The other two are "1 of 3" and "2 of 3", which do not name a whole model either. */
        snprintf(m.parts[0][g].name, 64, "%s", names[g]);
        snprintf(m.parts[1][g].name, 64, "%s", names[g]);
        m.parts[1][g].outputs -= 1;
        tensor(&m.parts[1][g], 1, ROLE(LOGITS), U16, 0.7, "logits", 3, 1, s.ar[g], s.vocabulary, 0);
    }
    FAILS(QNNRT_E_MISMATCH, "the graphs of 3 contexts", "desc.pipelines");
    m.desc.pipelines = names;
    m.desc.pipeline_count = 2;
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->layers, 4);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->vocabulary, 256);
}

/* Shards that number their layers from 0 use one name for several tensors. */
TEST(one_name_for_caches_of_several_shards)
{
    spec s = HUB_SPEC;
    size_t k, g, i, n = 0;
    static char names[128][96];
    s.shards = 2;
    s.cache = F32;      /* so that only the step distinguishes them */
    begin(&s);
    for (k = 0; k < 2; ++k)
        for (i = 0; i < m.parts[k][0].inputs + m.parts[k][0].outputs; ++i) {
            want w = m.parts[k][0].wants[i];
            if (!qnnrt_llm__layered(w.role)) continue;
            for (g = 0; g < 2; ++g)
                snprintf(m.parts[k][g].names[i], 72, "past_%s_%u_%s", qnnrt_llm__items_value(w.role) ? "value" : "key",
                         (unsigned)w.layer % 2, i < m.parts[k][0].inputs ? "in" : "out");
            snprintf(names[n], sizeof(names[n]), "%u/%s", (unsigned)k, m.parts[k][0].names[i]);
            m.roles[n].tensor = names[n];
            m.roles[n].role = w.role;
            m.roles[n].layer = w.layer;
            m.roles[n].head = 0;
            ++n;
        }
    FAILS(QNNRT_E_MISMATCH, "two tensors have the role key_in of layer 0", NULL);
    m.desc.roles = m.roles;
    m.desc.role_count = n;
    qnnrt_close(m.model);
    m.model = NULL;
    TRY(works(&s));
}

/* ---- settings ---------------------------------------------------------------------------------------- */

static void config(const char *text)
{
    m.desc.config = text;
    m.desc.config_bytes = strlen(text);
}

TEST(settings_come_from_the_caller_then_genie_then_ours)
{
    static const char own[] = "{\"llm\": {\"rope\": {\"theta\": 500000, \"scaling\": \"llama3\", \"factor\": 32, \"low_frequency\": 1.5,"
                              " \"high_frequency\": 5, \"original_context\": 4096}, \"bos\": 1, \"eos\": [2, 3], \"window\": 64}, \"pinned\": true}";
    static const char genie[] = "{\"dialog\": {\"version\": 1, \"context\": {\"size\": 128, \"bos-token\": 7, \"eos-token\": [8, 9, -1]}, \"engine\": {\"model\":"
                                " {\"positional-encoding\": {\"type\": \"rope\", \"rope-dim\": 16, \"rope-theta\": 20000, \"rope-scaling\": {\"rope-type\": \"llama3\","
                                " \"factor\": 16.0, \"low-freq-factor\": 2, \"high-freq-factor\": 8, \"original-max-position-embeddings\": 2048}}}}}}";
    static const char none[] = "{\"dialog\": {\"context\": {\"bos-token\": -1, \"eos-token\": -1}, \"engine\": [{\"model\": 1}]}}";
    static const char htp[] = "{\"dialog\": {\"engine\": {\"backend\": {\"type\": \"QnnHtp\", \"QnnHtp\": {\"pos-id-dim\": 64, \"rope-theta\": 600000, \"rope-scaling\":"
                              " {\"rope-type\": \"llama3\", \"factor\": 32}}}}}}";
    static const char both[] = "{\"dialog\": {\"engine\": {\"model\": {\"positional-encoding\": {\"rope-theta\": 7}}, \"backend\": {\"QnnHtp\": {\"rope-theta\": 8}}}}}";
    static const char other[] = "{\"dialog\": {\"engine\": {\"model\": {\"positional-encoding\": {\"rope-theta\": 7, \"rope-scaling\": {\"rope-type\": \"qwen2vl-mrope\"}}}}}}";
    spec s = HUB_SPEC;
    const qnnrt_llm_info *info;
    char path[1200];
    const char *folder = test_tmpdir();
    begin(&s);
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    CHECK_EQ(open_roles(), QNNRT_OK);
    info = qnnrt_llm_get_info(m.llm);
    CHECK(info->rope.theta == 10000 && info->rope.scaling == QNNRT_LLM_ROPE_PLAIN && info->rope.factor == 1);
    CHECK_STR(info->rope_source, "the default");
    CHECK_EQ(info->eos_count, 0);
    CHECK_EQ(info->bos, -1);
    CHECK_EQ(info->window, 0);
    m.desc.folder = folder;                                     /* empty */
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK_STR(qnnrt_llm_get_info(m.llm)->rope_source, "the default");
    snprintf(path, sizeof(path), "%s/qnnrt.json", folder);
    CHECK(test_write_file(path, own, strlen(own)));
    CHECK_EQ(open_roles(), QNNRT_OK);
    info = qnnrt_llm_get_info(m.llm);
    CHECK(info->rope.theta == 500000 && info->rope.scaling == QNNRT_LLM_ROPE_LLAMA3 && info->rope.factor == 32);
    CHECK(info->rope.low_frequency == 1.5 && info->rope.high_frequency == 5 && info->rope.original_context == 4096);
    CHECK_STR(info->rope_source, "qnnrt.json");
    CHECK(info->bos == 1 && info->eos_count == 2 && info->window == 64);
    CHECK(qnnrt_llm_is_eos(m.llm, 2) && qnnrt_llm_is_eos(m.llm, 3) && !qnnrt_llm_is_eos(m.llm, 1));
    snprintf(path, sizeof(path), "%s/genie_config.json", folder);
    CHECK(test_write_file(path, genie, strlen(genie)));
    CHECK_EQ(open_roles(), QNNRT_OK);
    info = qnnrt_llm_get_info(m.llm);
    CHECK(info->rope.theta == 20000 && info->rope.scaling == QNNRT_LLM_ROPE_LLAMA3 && info->rope.factor == 16);
    CHECK(info->rope.low_frequency == 2 && info->rope.high_frequency == 8 && info->rope.original_context == 2048);
    CHECK_STR(info->rope_source, "genie_config.json");
    CHECK(info->bos == 7 && info->eos_count == 2 && info->window == 64);
    CHECK(qnnrt_llm_is_eos(m.llm, 8) && qnnrt_llm_is_eos(m.llm, 9) && !qnnrt_llm_is_eos(m.llm, -1));
    m.desc.rope.theta = 5;
    m.desc.rope.scaling = QNNRT_LLM_ROPE_LINEAR;
    {
        static const int32_t eos[1] = { 77 }, bos = 0;
        m.desc.eos = eos;
        m.desc.eos_count = 1;
        m.desc.bos = &bos;
        m.desc.window = 9;
        CHECK_EQ(open_roles(), QNNRT_OK);
        info = qnnrt_llm_get_info(m.llm);
        CHECK(info->rope.theta == 5 && info->rope.scaling == QNNRT_LLM_ROPE_LINEAR && info->rope.factor == 1);
        CHECK_STR(info->rope_source, "the caller");
        CHECK(info->bos == 0 && info->eos_count == 1 && info->eos[0] == 77 && info->eos != eos && info->window == 9);
    }
    /* desc.config replaces only the folder's qnnrt.json. */
    memset(&m.desc, 0, sizeof(m.desc));
    m.desc.folder = folder;
    config("{\"llm\": {\"rope\": {\"theta\": 3}, \"window\": 5, \"eos\": -1}}");
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK_STR(qnnrt_llm_get_info(m.llm)->rope_source, "genie_config.json");
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->window, 5);
    /* -1 means "not set", as in Genie. */
    CHECK(test_write_file(path, none, strlen(none)));
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->bos, -1);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->eos_count, 0);
    CHECK(qnnrt_llm_get_info(m.llm)->rope.theta == 3);
    /* Older files have it with the backend; the model's value goes first. */
    CHECK(test_write_file(path, htp, strlen(htp)));
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK_STR(qnnrt_llm_get_info(m.llm)->rope_source, "genie_config.json");
    CHECK(qnnrt_llm_get_info(m.llm)->rope.theta == 600000 && qnnrt_llm_get_info(m.llm)->rope.scaling == QNNRT_LLM_ROPE_LLAMA3);
    CHECK(qnnrt_llm_get_info(m.llm)->rope.factor == 32 && qnnrt_llm_get_info(m.llm)->rope.high_frequency == 4);
    CHECK(test_write_file(path, both, strlen(both)));
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK(qnnrt_llm_get_info(m.llm)->rope.theta == 7 && qnnrt_llm_get_info(m.llm)->rope.scaling == QNNRT_LLM_ROPE_PLAIN);
    CHECK(test_write_file(path, other, strlen(other)));
    FAILS(QNNRT_E_UNSUPPORTED, "rope-type \"qwen2vl-mrope\"", "genie_config.json");
    CHECK_STR(m.err.hint, "desc.rope");
    m.desc.rope.theta = 6;
    CHECK_EQ(open_roles(), QNNRT_OK);
    m.desc.rope.theta = 0;
    /* Pairs of values stand beside a theta of another source; the caller's go first. */
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->rope.pairs, QNNRT_LLM_ROPE_UNKNOWN);
    CHECK(test_write_file(path, both, strlen(both)));
    config("{\"llm\": {\"rope\": {\"pairs\": \"interleaved\"}}}");
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK(qnnrt_llm_get_info(m.llm)->rope.theta == 7 && qnnrt_llm_get_info(m.llm)->rope.pairs == QNNRT_LLM_ROPE_INTERLEAVED);
    CHECK_STR(qnnrt_llm_get_info(m.llm)->rope_source, "genie_config.json");
    m.desc.rope.pairs = QNNRT_LLM_ROPE_HALF;
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK(qnnrt_llm_get_info(m.llm)->rope.theta == 7 && qnnrt_llm_get_info(m.llm)->rope.pairs == QNNRT_LLM_ROPE_HALF);
    m.desc.rope.pairs = (qnnrt_llm_rope_pairs)3;
    FAILS(QNNRT_E_ARG, "desc.rope.pairs is 3, expected 0 to 2", NULL);
    m.desc.rope.pairs = (qnnrt_llm_rope_pairs)-1;
    FAILS(QNNRT_E_ARG, "desc.rope.pairs is -1", NULL);
    m.desc.rope.pairs = QNNRT_LLM_ROPE_UNKNOWN;
    CHECK(test_write_file(path, "{\"dialog\": {\"context\": {\"bos-token\": []}}}", 42));
    FAILS(QNNRT_E_FORMAT, "genie_config.json: \"bos-token\"", NULL);
    CHECK(test_write_file(path, "{\"dialog\": {", 12));
    FAILS(QNNRT_E_FORMAT, "genie_config.json: byte 12", NULL);
    /* A folder in place of a file. */
    remove(path);
    CHECK(mkdir(path, 0700) == 0);
    FAILS(QNNRT_E_IO, "genie_config.json", NULL);
}

/* Another program writes the settings file: at one of the allocations the file grows or
   disappears. */
static struct { char path[1200]; unsigned at, count; int goes; } moving;

static void *moving_alloc(void *user, size_t bytes)
{
    (void)user;
    if (++moving.count == moving.at) {
        FILE *file = moving.goes ? NULL : fopen(moving.path, "ab");
        if (moving.goes) remove(moving.path);
        if (file != NULL) { putc(' ', file); fclose(file); }
    }
    return malloc(bytes);
}

static void moving_free(void *user, void *data) { (void)user; free(data); }

TEST(settings_that_change_while_they_are_read)
{
    static const char *const names[2] = { "qnnrt.json", "genie_config.json" };
    spec s = HUB_SPEC;
    int i;
    begin(&s);
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    m.desc.hooks.alloc = moving_alloc;
    m.desc.hooks.free = moving_free;
    for (i = 0; i < 4; ++i) {
        unsigned refused = 0;
        m.desc.folder = test_tmpdir();
        snprintf(moving.path, sizeof(moving.path), "%s/%s", m.desc.folder, names[i % 2]);
        moving.goes = i / 2;
        for (moving.at = 1; moving.at < 10; ++moving.at) {
            qnnrt_result result;
            CHECK(test_write_file(moving.path, "{}", 2));
            moving.count = 0;
            result = open_roles();
            CHECK(result == QNNRT_OK || result == QNNRT_E_IO);
            if (result == QNNRT_OK) continue;
            CHECK_STR(m.err.text, names[i % 2]);
            ++refused;
        }
        CHECK_EQ(refused, 1);
    }
}

/* An object that has the name of a settings file but is not a regular file is refused, without
   waiting for a writer. */
TEST(settings_that_are_no_files)
{
    static const char *const names[2] = { "qnnrt.json", "genie_config.json" };
    spec s = HUB_SPEC;
    size_t i;
    begin(&s);
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    for (i = 0; i < 2; ++i) {
        const char *folder = test_tmpdir();
        char path[1200];
        FILE *file;
        m.desc.folder = folder;
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        CHECK(mkfifo(path, 0600) == 0);
        FAILS(QNNRT_E_IO, names[i], NULL);
        remove(path);
        CHECK(symlink(names[i], path) == 0);                   /* a link to itself */
        FAILS(QNNRT_E_IO, names[i], NULL);
        remove(path);
        /* A link to a file that does not exist: no settings. */
        CHECK(symlink("nothing", path) == 0);
        CHECK_EQ(open_roles(), QNNRT_OK);
        remove(path);
        CHECK(test_write_file(path, "", 0));
        FAILS(QNNRT_E_FORMAT, names[i], NULL);
        /* 16 MiB are read; one byte more is refused. */
        file = fopen(path, "wb");
        CHECK(file != NULL);
        for (size_t k = 0; k < 16777216 - 2; ++k) putc(' ', file);
        fputs("{}", file);
        CHECK(fflush(file) == 0);
        CHECK_EQ(open_roles(), QNNRT_OK);
        putc(' ', file);
        CHECK(fclose(file) == 0);
        FAILS(QNNRT_E_LIMIT, names[i], "16777216");
    }
    /* A folder name that is a file has no settings in it: this is an error of the caller. */
    {
        char path[1200];
        snprintf(path, sizeof(path), "%s/file", test_tmpdir());
        CHECK(test_write_file(path, "{}", 2));
        m.desc.folder = path;
        FAILS(QNNRT_E_IO, "file", NULL);
        m.desc.folder = NULL;
    }
}

TEST(settings_that_are_wrong)
{
    static const int32_t wrong = -5;
    static const struct { const char *text, *needle; } cases[] = {
        { "", "byte 0" }, { "[]", "an object" }, { "{\"llm\": 1}", "an object" }, { "{\"llm\": {}} x", "byte 12" },
        { "{\"llm\": {\"rolls\": {}}}", "\"rolls\"" }, { "{\"llm\": {\"rolls\": {}}}", "roles, rope, bos, eos and window in \"llm\"" }, { "{\"llm\": {\"roles\": []}}", "an object" },
        { "{\"llm\": {\"roles\": {\"a\": 1}}}", "expected a role" }, { "{\"llm\": {\"roles\": {\"a\": \"keyin 1\"}}}", "Use tokens, " },
        { "{\"llm\": {\"roles\": {\"a\": \"key_in\"}}}", "unknown role" }, { "{\"llm\": {\"roles\": {\"a\": \"key_in 1 2 3\"}}}", "unknown role" },
        { "{\"llm\": {\"roles\": {\"a\": \"key_in -1\"}}}", "unknown role" }, { "{\"llm\": {\"roles\": {\"a\": \"key_in 4294967296\"}}}", "unknown role" },
        { "{\"llm\": {\"roles\": {\"a\": \"edge\"}}}", "unknown role" }, { "{\"llm\": {\"roles\": {\"a\": \"constant\"}}}", "unknown role" },
        { "{\"llm\": {\"roles\": {\"a\": \"mask 1\"}}}", "unknown role" }, { "{\"llm\": {\"roles\": {\"a\": \"unknown\"}}}", "unknown role" },
        { "{\"llm\": {\"roles\": {\"a\": \"key_in 1 \"}}}", "unknown role" }, { "{\"llm\": {\"roles\": {\"a\": \"mask\\u0000\"}}}", "unknown role" },
        { "{\"llm\": {\"roles\": {\"a\\u0000\": \"mask\"}}}", "NUL" },
        { "{\"llm\": {\"roles\": {\"logits\": \"logits\", \"logits\": \"hidden\"}}}", "of qnnrt.json lists \"logits\" twice" },
        { "{\"llm\": {\"bos\": 2147483648}}", "a token: a whole number" }, { "{\"llm\": {\"0123456789012345678901234567890123456789012345678901234567890123456789012345\": 1}}", "\"0123456789012345678901234567890123456789012345678901234567890123456789\"" },
        { "{\"llm\": {\"roles\": {\"a\": \"mask                                                              \"}}}", "expected a role" },
        { "{\"llm\": {\"rope\": {}}}", "lacks \"theta\"" }, { "{\"llm\": {\"rope\": {\"theta\": 0}}}", "a number above 0" },
        { "{\"llm\": {\"rope\": {\"theta\": 1e999}}}", "a number above 0" }, { "{\"llm\": {\"rope\": {\"theta\": \"1\"}}}", "a number above 0" },
        { "{\"llm\": {\"rope\": {\"theta\": 1, \"scaling\": \"yarn\"}}}", "\"plain\", \"linear\" or \"llama3\"" },
        { "{\"llm\": {\"rope\": {\"theta\": 1, \"base\": 1}}}", "original_context and pairs in \"rope\"" }, { "{\"llm\": {\"rope\": {\"theta\": 1e300}}}", "rope.theta is 1e+300" }, { "{\"llm\": {\"rope\": {\"theta\": 0.5}}}", "rope.theta is 0.5" },
        { "{\"llm\": {\"rope\": {\"theta\": 1, \"theta\": 2}}}", "twice" },
        { "{\"llm\": {\"rope\": {\"pairs\": \"unknown\"}}}", "\"pairs\": expected \"half\" or \"interleaved\"" },
        { "{\"llm\": {\"rope\": {\"pairs\": 1}}}", "expected \"half\" or \"interleaved\"" },
        { "{\"llm\": {\"rope\": {\"pairs\": \"half\", \"factor\": 2}}}", "lacks \"theta\"" },
        { "{\"llm\": {\"rope\": {\"theta\": 1, \"scaling\": \"llama3\", \"low_frequency\": 4}}}", "rope.low_frequency is 4" },
        { "{\"llm\": {\"rope\": {\"theta\": 1, \"original_context\": 1.5}}}", "a whole number" }, { "{\"llm\": {\"bos\": 1.5}}", "a token: a whole number" },
        { "{\"llm\": {\"bos\": -2}}", "a token: a whole number" }, { "{\"llm\": {\"eos\": [1, \"2\"]}}", "a token: a whole number" },
        { "{\"llm\": {\"eos\": [[1]]}}", "a token: a whole number" }, { "{\"llm\": {\"eos\": 2147483648}}", "a token: a whole number" },
        { "{\"llm\": {\"window\": 0}}", "a whole number" }, { "{\"llm\": {\"bos\": 1, \"bos\": 2}}", "twice" },
        { "{\"llm\": {}, \"llm\": {}}", "twice" }, { "{\"llm\": {\"bos\": 1}", "byte" }, { "{\"llm\": {\"bos\": 1,}}", "byte" }
    };
    spec s = HUB_SPEC;
    size_t i;
    begin(&s);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        config(cases[i].text);
        TRY(fails(__LINE__, QNNRT_E_FORMAT, cases[i].needle, "qnnrt.json"));
    }
    config("{\"x\": {\"llm\": 1}, \"llm\": {\"roles\": {\"log\\u0069ts\": \"logits\"}}}");
    CHECK_EQ(open_roles(), QNNRT_OK);
    config("{\"llm\": {\"roles\": {\"absent\": \"mask\"}}}");
    FAILS(QNNRT_E_NOT_FOUND, "\"absent\" as mask, in qnnrt.json", NULL);
    memset(&m.desc, 0, sizeof(m.desc));
    m.desc.rope.theta = -1;
    FAILS(QNNRT_E_ARG, "the caller: rope.theta is -1", NULL);
    m.desc.rope.theta = 0;
    m.desc.rope.scaling = QNNRT_LLM_ROPE_LINEAR;
    FAILS(QNNRT_E_ARG, "desc.rope has no theta", NULL);
    m.desc.rope.scaling = QNNRT_LLM_ROPE_PLAIN;
    m.desc.bos = &wrong;
    FAILS(QNNRT_E_ARG, "desc.bos", NULL);
    m.desc.bos = NULL;
    m.desc.masked = 1;
    FAILS(QNNRT_E_ARG, "a mask above 0", NULL);
}

/* A text cut anywhere, or with any byte changed, is either read or refused. */
TEST(settings_that_are_damaged)
{
    static const char good[] = "{\"llm\": {\"roles\": {\"logits\": \"logits\"}, \"rope\": {\"theta\": 5e5, \"scaling\": \"llama3\"}, \"bos\": 1, \"eos\": [2], \"window\": 4}}";
    char text[sizeof(good)];
    spec s = HUB_SPEC;
    size_t i;
    begin(&s);
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    for (i = 0; i < sizeof(good) - 1; ++i) {
        m.desc.config = good;
        m.desc.config_bytes = i;
        if (i > 0 || m.desc.config != NULL) FAILS(QNNRT_E_FORMAT, "qnnrt.json", NULL);
        memcpy(text, good, sizeof(good));
        text[i] = (char)(text[i] ^ 0x15);
        m.desc.config = text;
        m.desc.config_bytes = sizeof(good) - 1;
        if (open_roles() != QNNRT_OK) CHECK(m.err.text[0] != '\0');
    }
}

/* ---- the rest ------------------------------------------------------------------------------------------ */

TEST(fingerprints_tell_models_apart)
{
    spec s = HUB_SPEC;
    uint64_t first;
    begin(&s);
    TRY(works(&s));
    first = qnnrt_llm_get_info(m.llm)->fingerprint;
    begin(&s);
    TRY(works(&s));
    CHECK(first == qnnrt_llm_get_info(m.llm)->fingerprint);
    begin(&s);
    m.parts[0][0].tensors[at_name(&m.parts[0][0], "past_key_1_in", 0)].quant.scale =
        m.parts[0][0].tensors[at_name(&m.parts[0][0], "past_key_1_out", 1)].quant.scale =
        m.parts[0][1].tensors[at_name(&m.parts[0][1], "past_key_1_in", 0)].quant.scale =
        m.parts[0][1].tensors[at_name(&m.parts[0][1], "past_key_1_out", 1)].quant.scale = 0.125f;
    TRY(works(&s));
    CHECK(first != qnnrt_llm_get_info(m.llm)->fingerprint);
    s.vocabulary += 1;
    begin(&s);
    TRY(works(&s));
    CHECK(first != qnnrt_llm_get_info(m.llm)->fingerprint);
}

static void keep_line(void *user, const char *text)
{
    meta_put((meta_text *)user, "%s\n", text);
}

TEST(describe_tells_all_of_it)
{
    spec s = HUB_SPEC;
    meta_text text = { NULL, 0, 0 };
    int beyond;
    s.family = TORCH_HEADS;
    s.shards = 2;
    begin(&s);
    TRY(works(&s));
    qnnrt_llm_describe(m.llm, keep_line, &text);
    CHECK_STR(text.data, "4 layers, 2 heads of keys and values, head_dim 32, ufixed8, one tensor per head, keys transposed\n");
    CHECK_STR(text.data, "vocabulary 256, logits ufixed16\n");
    CHECK_STR(text.data, "graph \"kv_forward\": 1 tokens per call, context 128\n  step 0: shard_0.json, graph \"kv_forward\"\n");
    CHECK_STR(text.data, "value_in 0 head 1");
    CHECK_STR(text.data, "(named input_<i>_args_<j><k>, <j> of a key)");
    CHECK_STR(text.data, "  cut 0 to 1: \"output_aten_add_tensor_3_0\" is \"input_0_llama_fallback_default_0\" (given)\n");
    CHECK(strstr(text.data, "\n\n") == NULL);
    meta_free(&text);
    qnnrt_llm_describe(NULL, keep_line, &text);
    qnnrt_llm_describe(m.llm, NULL, NULL);
    CHECK(text.data == NULL);
    CHECK_STR(qnnrt_llm_role_name(QNNRT_LLM_ROLE_KEY_IN), "key_in");
    for (beyond = -1; beyond < 100; beyond += 101 - (beyond < 0) * 2)
        CHECK_STR(qnnrt_llm_role_name((qnnrt_llm_role)beyond), "unknown");
}

/* Everything that only some models have: settings, heads of two sizes, a part without logits. */
TEST(describe_tells_what_settings_say)
{
    static char many[4096];
    spec s = HUB_SPEC;
    meta_text text = { NULL, 0, 0 };
    size_t used, g, i;
    begin(&s);
    /* Make values half as wide as keys. */
    for (g = 0; g < 2; ++g)
        for (i = 0; i < m.parts[0][g].inputs + m.parts[0][g].outputs; ++i)
            if (strncmp(m.parts[0][g].names[i], "past_value_", 11) == 0) m.parts[0][g].dims[i][3] = 16;
    used = (size_t)snprintf(many, sizeof(many), "{\"llm\": {\"rope\": {\"theta\": 500000, \"scaling\": \"llama3\", \"factor\": 32,"
                            " \"original_context\": 4096}, \"bos\": 7, \"window\": 96, \"eos\": [5, 6");
    for (i = 100; i < 200; ++i) used += (size_t)snprintf(many + used, sizeof(many) - used, ", %u", (unsigned)i);
    snprintf(many + used, sizeof(many) - used, "]}}");
    config(many);
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    if (open_roles() != QNNRT_OK) printf("    %s\n", m.err.text);
    CHECK(m.llm != NULL);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->value_dim, 16);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->eos_count, 102);
    qnnrt_llm_describe(m.llm, keep_line, &text);
    CHECK_STR(text.data, "head_dim 32");
    CHECK_STR(text.data, "\nhead_dim of values 16\n");
    CHECK_STR(text.data, "\nRoPE theta 500000, llama3, from qnnrt.json\n");
    CHECK_STR(text.data, "\nRoPE factor 32, frequencies 1 to 4, original context 4096\n");
    CHECK_STR(text.data, "\nbos 7\n");
    CHECK_STR(text.data, "\neos 5, 6, 100, 101, ");
    CHECK_STR(text.data, ", ...\n");
    CHECK_STR(text.data, "\nwindow 96\n");
    CHECK_STR(text.data, "\nfingerprint ");
    meta_free(&text);
    config("{\"llm\": {\"eos\": 5}}");
    CHECK_EQ(open_roles(), QNNRT_OK);
    qnnrt_llm_describe(m.llm, keep_line, &text);
    CHECK_STR(text.data, "\nRoPE theta 10000, plain, from the default\neos 5\nfingerprint ");
    meta_free(&text);
    s.shards = 2;
    begin(&s);
    m.shards = 1;
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    CHECK_EQ(open_roles(), QNNRT_OK);
    qnnrt_llm_describe(m.llm, keep_line, &text);
    CHECK_STR(text.data, "2 layers, ");
    CHECK_STR(text.data, "\nno logits: a part of a model\n");
    CHECK_STR(text.data, "\neos none\n");
    meta_free(&text);
    /* The report has no cell layout without keys and values. */
    s = HUB_SPEC;
    s.layers = 0;
    s.ar[0] = s.context[0] = 32;
    s.graphs = 1;
    begin(&s);
    {
        part *p = &m.parts[0][0];
        tensor(p, 1, ROLE(UNUSED), F32, 0, "more", 1, 3, 0, 0, 0);
    }
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    CHECK_EQ(open_roles(), QNNRT_OK);
    qnnrt_llm_describe(m.llm, keep_line, &text);
    CHECK_STR(text.data, "0 layers, 0 heads of keys and values, head_dim 0, no cache\n");
    meta_free(&text);
}

TEST(wrong_arguments)
{
    spec s = HUB_SPEC;
    qnnrt_llm_role_desc role = { "logits", QNNRT_LLM_ROLE_LOGITS, 0, 0 };
    begin(&s);
    CHECK_EQ(open_model_with(NULL), QNNRT_OK);
    CHECK_EQ(qnnrt_llm_open(NULL, NULL, &m.llm, &m.err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_open(m.model, NULL, NULL, &m.err), QNNRT_E_ARG);
    CHECK_EQ(qnnrt_llm_open(m.model, NULL, NULL, NULL), QNNRT_E_ARG);
    m.desc.role_count = 1;
    FAILS(QNNRT_E_ARG, "a count without a list", NULL);
    m.desc.roles = &role;
    m.desc.pipeline_count = 1;
    FAILS(QNNRT_E_ARG, "a count without a list", NULL);
    m.desc.pipeline_count = 0;
    m.desc.hooks.alloc = heap_alloc;
    FAILS(QNNRT_E_ARG, "one of alloc and free", NULL);
    CHECK_EQ(qnnrt_llm_close(NULL), QNNRT_OK);
    CHECK(qnnrt_llm_get_info(NULL) == NULL);
    CHECK_EQ(qnnrt_llm_is_eos(NULL, 1), 0);
    m.desc.hooks.alloc = NULL;
    CHECK_EQ(open_roles(), QNNRT_OK);
    m.llm->sessions = 1;
    CHECK_EQ(qnnrt_llm_close(m.llm), QNNRT_E_BUSY);
    m.llm->sessions = 0;
}

/* Each allocation fails in turn. */
TEST(no_memory)
{
    spec s = HUB_SPEC;
    qnnrt_hooks hooks;
    uint64_t fail;
    qnnrt_result result = QNNRT_E_MEMORY;
    int family;
    memset(&hooks, 0, sizeof(hooks));
    hooks.alloc = heap_alloc;
    hooks.free = heap_free;
    hooks.alloc_user = &heap;
    s.shards = 2;
    for (family = 0; family < 3; ++family) {
        s.family = family == 1 ? TORCH_HEADS : HUB;
        memset(&heap, 0, sizeof(heap));
        begin(&s);
        if (family == 2) { anonymous(); as_config(); m.desc.roles = NULL; m.desc.role_count = 0; m.config[strlen(m.config)] = '\0'; }
        if (family == 0) rename_in_all("attention_mask", "causal", 0);
        m.desc.hooks = hooks;
        CHECK_EQ(open_model_with(&hooks), QNNRT_OK);
        for (fail = 1, result = QNNRT_E_MEMORY; result == QNNRT_E_MEMORY && fail < 2000; ++fail) {
            uint64_t live = heap.live;
            heap.count = 0;
            heap.fail_at = fail;
            result = open_roles();
            heap.fail_at = 0;
            CHECK(result == QNNRT_OK || result == QNNRT_E_MEMORY);
            if (result == QNNRT_E_MEMORY) { CHECK_EQ(heap.live, live); CHECK_STR(m.err.text, "memory"); }
        }
        CHECK_EQ(result, QNNRT_OK);
        CHECK(fail > 40);
        TRY(all_as_meant());
        close_all();
        CHECK_EQ(heap.live, 0);
        CHECK_EQ(heap.wrong, 0);
    }
}

/* A graph of 60,000 tensors whose names have no known meaning, and one whose table has as many
   lines. */
TEST(many_tensors_take_no_long_time)
{
    enum { MANY = 60000 };
    static const char *const kinds[2] = { "graphInputs", "graphOutputs" };
    qnnrt_llm_role_desc *roles = (qnnrt_llm_role_desc *)calloc(MANY, sizeof(*roles));
    char *names = (char *)malloc(MANY * 32);
    meta_text text = { NULL, 0, 0 };
    qnnrt_desc desc;
    qnnrt_file file;
    size_t side, i;
    begin(&HUB_SPEC);
    CHECK(roles != NULL && names != NULL);
    meta_put(&text, "{\"version\":\"QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3\",\"info\":{\"backendId\":6,\"buildId\":\"v2.51.0\",\"coreApiVersion\":\"2.40.0\","
             "\"backendApiVersion\":\"5.51.0\",\"contextBlobVersion\":\"4.0.6\",\"contextBlobSize\":1,\"numContextTensors\":0,\"contextTensors\":[],"
             "\"numGraphs\":1,\"graphs\":[{\"version\":\"QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3\",\"info\":{\"graphName\":\"g\"");
    for (side = 0; side < 2; ++side) {
        meta_put(&text, ",\"num%c%s\":%d,\"%s\":[", 'G', kinds[side] + 1, side == 0 ? 2 : (int)MANY, kinds[side]);
        for (i = 0; i < (side == 0 ? 2u : (size_t)MANY); ++i) {
            char *name = names + i * 32;
            if (side == 0) snprintf(name, 32, "%s", i == 0 ? "input_ids" : "attention_mask");
            else snprintf(name, 32, "output_%u", (unsigned)i);
            meta_put(&text, "%s{\"version\":\"QNN_TENSOR_VERSION_1\",\"info\":{\"id\":%u,\"name\":\"%s\",\"type\":\"QNN_TENSOR_TYPE_APP_%s\","
                     "\"dataFormat\":\"QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER\",\"dataType\":\"QNN_DATATYPE_%s\",\"rank\":2,\"dimensions\":[1,%u],\"quantizeParams\":"
                     "{\"definition\":\"QNN_DEFINITION_UNDEFINED\",\"quantizationEncoding\":\"QNN_QUANTIZATION_ENCODING_UNDEFINED\"}}}",
                     i > 0 ? "," : "", (unsigned)(i + 1 + side * 2), name, side == 0 ? "WRITE" : "READ", side == 0 && i == 0 ? "INT_32" : "FLOAT_32",
                     side == 0 && i == 0 ? 1u : side == 0 ? 8u : 3u + (unsigned)i % 7);
        }
        meta_put(&text, "]");
    }
    meta_put(&text, ",\"numUpdateableTensors\":0,\"updateableTensors\":[]}}]}}");
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    file.json_path = "many.json";
    file.json_data = text.data;
    file.json_bytes = text.used;
    desc.inspect = 1;
    desc.metadata = QNNRT_METADATA_JSON;
    desc.files = &file;
    desc.file_count = 1;
    if (qnnrt_open(NULL, &desc, &m.model, &m.err) != QNNRT_OK) printf("    %s\n", m.err.text);
    CHECK_EQ(m.err.code, QNNRT_OK);
    meta_free(&text);
    searched = 0;
    FAILS(QNNRT_E_MISMATCH, "hidden, logits", "more");
    CHECK(searched < 200 * (unsigned long long)MANY);
    for (i = 0; i < MANY; ++i) {
        roles[i].tensor = names + i * 32;
        roles[i].role = QNNRT_LLM_ROLE_UNUSED;
    }
    m.desc.roles = roles;
    m.desc.role_count = MANY;
    searched = 0;
    CHECK_EQ(open_roles(), QNNRT_OK);
    CHECK(searched < 200 * (unsigned long long)MANY);
    close_all();
    free(roles);
    free(names);
}

static uint32_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

/* Give one tensor of a model another name, shape, type or encoding: a varied one, or that of
   another tensor. */
static void damage(void)
{
    part *p = &m.parts[draw((uint32_t)m.shards)][draw((uint32_t)m.graphs)];
    size_t all = p->inputs + p->outputs, at = draw((uint32_t)all), from = draw((uint32_t)all);
    qnnrt_tensor_info *t = &p->tensors[at];
    uint32_t k = draw(t->rank);
    switch (draw(8)) {
    case 0: if ((at < p->inputs) == (from < p->inputs)) {            /* swap two names */
                char name[72];
                memcpy(name, p->names[at], sizeof(name));
                memcpy(p->names[at], p->names[from], sizeof(name));
                memcpy(p->names[from], name, sizeof(name));
            }
            break;
    case 1: snprintf(p->names[at], 72, "t%u", (unsigned)at); break;
    /* Change one tensor in all graphs. */
    case 2: {
            char old[72], name[72];
            snprintf(old, sizeof(old), "%s", p->names[at]);
            snprintf(name, sizeof(name), "u%u", (unsigned)at);
            rename_in_all(old, name, at >= p->inputs);
            break;
        }
    case 3: p->dims[at][k] = 1 + draw(130); break;
    case 4: memcpy(p->dims[at], p->dims[from], sizeof(p->dims[at])); t->rank = p->tensors[from].rank; break;
    case 5: t->dtype = p->tensors[from].dtype; break;
    case 6: t->quant = p->tensors[from].quant; break;
    default: { uint32_t d = p->dims[at][k], j = draw(t->rank); p->dims[at][k] = p->dims[at][j]; p->dims[at][j] = d; }
    }
}

/* Check what is promised for every model that opens. */
static void holds(void)
{
    const qnnrt_llm *llm = m.llm;
    size_t g, k, i;
    for (g = 0; g < llm->info.graph_count; ++g) {
        const qnnrt_llm__graph *graph = &llm->graphs[g];
        const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(graph->pipeline);
        unsigned char used[4096];
        memset(used, 0, sizeof(used));
        CHECK(info->failure == NULL && info->slot_count <= sizeof(used));
        CHECK(graph->ar > 0 && graph->ar <= graph->context && graph->cells == graph->context - graph->ar);
        for (i = 0; i < info->slot_count; ++i) CHECK(info->slots[i].tensor != NULL);
        for (k = 0; k < llm->kv_count; ++k) {
            uint64_t piece = (uint64_t)llm->kv[k].outer * llm->kv[k].inner;
            const qnnrt_llm__ends *ends = &graph->kv[k];
            CHECK((ends->in == NULL) == (graph->cells == 0));
            if (ends->in != NULL) CHECK(!used[ends->in - info->slots]++ && ends->in->tensor->count == piece * graph->cells);
            CHECK(ends->out_cells == graph->ar || ends->out_cells == graph->context);
            CHECK(!used[ends->out - info->slots]++ && ends->out->tensor->count == piece * ends->out_cells);
            CHECK(ends->out->tensor->bytes == piece * ends->out_cells * llm->kv[k].element);
        }
        for (i = 0; i < QNNRT_LLM_ROLE_COUNT; ++i)
            for (k = 0; k < graph->inputs[i].count; ++k) CHECK(!used[graph->inputs[i].slots[k] - info->slots]++);
        for (i = 0; i < info->slot_count; ++i) if (info->slots[i].role == QNNRT_ROLE_INPUT) CHECK(used[i]);
        for (i = 0; i < llm->info.graphs[g].tensor_count; ++i) {
            const qnnrt_llm_tensor_info *t = &llm->info.graphs[g].tensors[i];
            CHECK(t->role != QNNRT_LLM_ROLE_UNKNOWN && t->reason != NULL && (t->output || t->role != QNNRT_LLM_ROLE_UNUSED));
        }
    }
}

TEST(damaged_models_are_refused_or_hold)
{
    static const spec specs[5] = {
        { HUB, 1, 2, 2, 16, 64, 50, 2, { 8, 1, 0, 0 }, { 32, 32, 0, 0 }, 0, 0, 0 }, { HUB, 3, 3, 2, 8, 64, 50, 2, { 8, 1, 0, 0 }, { 32, 32, 0, 0 }, F32, 0, 0 },
        { MLLM, 1, 2, 1, 16, 64, 50, 1, { 8, 0, 0, 0 }, { 32, 0, 0, 0 }, F16, 0, 1 }, { ONNX, 2, 2, 2, 16, 64, 50, 2, { 8, 1, 0, 0 }, { 32, 32, 0, 0 }, F32, 0, 0 },
        { TORCH_HEADS, 2, 4, 2, 16, 64, 50, 3, { 8, 1, 32, 0 }, { 32, 32, 32, 0 }, 0, 0, 0 }
    };
    uint32_t seed, opened = 0, refused = 0;
    for (seed = 0; seed < TEST_CASES(1500); ++seed) {
        uint32_t times;
        size_t k, g;
        begin(&specs[seed % 5]);
        random_state = seed * 7919u + 1;
        for (times = 1 + draw(3); times > 0; --times) damage();
        {   /* names within a graph must differ: others are not valid metadata */
            qnnrt_error err;
            qnnrt_result result;
            memset(&err, 0, sizeof(err));
            for (k = 0; k < m.shards; ++k)
                for (g = 0; g < m.graphs; ++g) {
                    part *p = &m.parts[k][g];
                    size_t i, j;
                    for (i = 0; i < p->inputs + p->outputs; ++i)
                        for (j = 0; j < i; ++j)
                            if ((i < p->inputs) == (j < p->inputs) && strcmp(p->names[i], p->names[j]) == 0) snprintf(p->names[i], 72, "v%u", (unsigned)i);
                }
            result = open_model_with(NULL);
            if (result != QNNRT_OK) continue;      /* for example, a per-axis encoding that no longer fits */
            result = open_roles();
            if (result == QNNRT_OK) {
                ++opened;
                TRY(holds());
                continue;
            }
            ++refused;
            CHECK(m.llm == NULL && m.err.text[0] != '\0' && m.err.code == result);
            CHECK(result == QNNRT_E_MISMATCH || result == QNNRT_E_NOT_FOUND || result == QNNRT_E_UNSUPPORTED);
        }
    }
    printf("note: %u damaged models refused, %u opened\n", (unsigned)refused, (unsigned)opened);
    CHECK(refused > TEST_CASES(500) && opened > TEST_CASES(50));
}

/* ---- genuine metadata --------------------------------------------------------------------------------- */

static qnnrt_result open_files(const char *const *paths, size_t count)
{
    qnnrt_file files[SHARDS];
    qnnrt_desc desc;
    size_t i;
    close_all();
    memset(&m.desc, 0, sizeof(m.desc));
    memset(files, 0, sizeof(files));
    memset(&desc, 0, sizeof(desc));
    for (i = 0; i < count; ++i) files[i].json_path = paths[i];
    desc.inspect = 1;
    desc.metadata = QNNRT_METADATA_JSON;
    desc.files = files;
    desc.file_count = count;
    if (qnnrt_open(NULL, &desc, &m.model, &m.err) != QNNRT_OK) printf("    %s\n", m.err.text);
    return m.err.code;
}

/* Check that every tensor has a role and is used; `tensors` of each graph. */
static void complete(size_t graphs, size_t tensors, uint32_t layers, uint32_t first_layer)
{
    const qnnrt_llm_info *info;
    size_t g, i;
    if (open_roles() != QNNRT_OK) printf("    %s\n", m.err.text);
    CHECK_EQ(m.err.code, QNNRT_OK);
    info = qnnrt_llm_get_info(m.llm);
    CHECK_EQ(info->graph_count, graphs);
    for (g = 0; g < graphs; ++g) {
        CHECK_EQ(info->graphs[g].tensor_count, tensors);
        for (i = 0; i < tensors; ++i)
            CHECK(info->graphs[g].tensors[i].role != QNNRT_LLM_ROLE_UNKNOWN && info->graphs[g].tensors[i].role != QNNRT_LLM_ROLE_UNUSED);
    }
    CHECK_EQ(info->layers, layers);
    CHECK_EQ(m.llm->kv_count, layers * 2);
    if (layers > 0) CHECK_EQ(m.llm->kv[0].layer, first_layer);
}

#define DATA "tests/data/llm/json/"

TEST(the_sample_models)
{
    static const char *const one = DATA "w8a16_one.json", *const f32 = DATA "f32io_one.json";
    static const char *const four[4] = { DATA "w8a16_four_0.json", DATA "w8a16_four_1.json", DATA "w8a16_four_2.json", DATA "w8a16_four_3.json" };
    static const char *const mixed[4] = { DATA "bad_mixed_0.json", DATA "w8a16_four_1.json", DATA "w8a16_four_2.json", DATA "w8a16_four_3.json" };
    const qnnrt_llm_info *info;
    int k;
    for (k = 0; k < 3; ++k) {
        CHECK_EQ(open_files(k == 0 ? &one : k == 1 ? &f32 : four, k == 2 ? 4 : 1), QNNRT_OK);
        TRY(complete(2, k == 2 ? 30 : 21, 4, 0));
        info = qnnrt_llm_get_info(m.llm);
        CHECK_EQ(info->ar, 32);
        CHECK_EQ(info->context, 128);
        CHECK_EQ(info->cells, 127);
        CHECK_EQ(info->heads, 2);
        CHECK_EQ(info->key_dim, 32);
        CHECK_EQ(info->vocabulary, 256);
        CHECK_EQ(info->cache_dtype, k == 1 ? QNNRT_DTYPE_F32 : QNNRT_DTYPE_U8Q);
        CHECK_STR(info->layout, "one tensor per layer, keys transposed");
        CHECK(m.llm->graphs[0].made == NULL && m.llm->graphs[1].made == NULL);
        CHECK_EQ(m.llm->kv[0].outer, 64);
        CHECK_EQ(m.llm->kv[0].inner, 1);
        CHECK_EQ(m.llm->kv[1].outer, 2);
        CHECK_EQ(m.llm->kv[1].inner, 32);
    }
    CHECK_EQ(open_files(mixed, 4), QNNRT_OK);
    FAILS(QNNRT_E_MISMATCH, "the cut between steps 0 and 1", "_model_embed_tokens_Gather_output_0");
}

static const char *sample(char path[2048], const char *name)
{
    snprintf(path, 2048, "%s/json/%s", test_getenv("QNNRT_SAMPLES"), name);
    return path;
}

TEST(genuine_parts_of_7b)
{
    static char paths[3][2048];
    const char *three[3];
    size_t i;
    if (test_getenv("QNNRT_SAMPLES") == NULL) SKIP("QNNRT_SAMPLES is not set");
    for (i = 0; i < 3; ++i) {
        char name[64];
        snprintf(name, sizeof(name), "ctx_qairt2.45.0_qwen2.5-7b_genie_part%uof6.json", (unsigned)i + 3);
        three[i] = sample(paths[i], name);
        CHECK_EQ(open_files(&three[i], 1), QNNRT_OK);
        TRY(complete(2, 29, 6, (uint32_t)(6 + i * 6)));
        CHECK_EQ(qnnrt_llm_get_info(m.llm)->heads, 4);
        CHECK_EQ(qnnrt_llm_get_info(m.llm)->key_dim, 128);
        CHECK_EQ(qnnrt_llm_get_info(m.llm)->value_dim, 128);
        CHECK_EQ(qnnrt_llm_get_info(m.llm)->ar, 128);
        CHECK_EQ(qnnrt_llm_get_info(m.llm)->cells, 4095);
        CHECK_EQ(m.llm->graphs[1].cells, 3968);
        CHECK_EQ(m.llm->graphs[0].inputs[QNNRT_LLM_ROLE_HIDDEN].count, 1);
    }
    CHECK_EQ(open_files(three, 3), QNNRT_OK);
    TRY(complete(2, 87, 18, 6));
    CHECK_EQ(qnnrt_pipeline_get_info(m.llm->graphs[0].pipeline)->edge_count, 2);
    CHECK_EQ(m.llm->graphs[0].inputs[QNNRT_LLM_ROLE_MASK].count, 1);
    three[1] = three[2];
    CHECK_EQ(open_files(three, 2), QNNRT_OK);
    FAILS(QNNRT_E_NOT_FOUND, "layers 12 to 17", NULL);
}

TEST(genuine_parts_of_14b)
{
    static char paths[2][2048];
    const char *two[2];
    if (test_getenv("QNNRT_SAMPLES") == NULL) SKIP("QNNRT_SAMPLES is not set");
    two[0] = sample(paths[0], "ctx_qairt2.45.40_qwen3-14b_part1of10_int64.json");
    two[1] = sample(paths[1], "ctx_qairt2.45.40_qwen3-14b_part2of10_kv_fp32.json");
    CHECK_EQ(open_files(&two[0], 1), QNNRT_OK);
    TRY(complete(1, 2, 0, 0));
    CHECK_EQ(open_files(&two[1], 1), QNNRT_OK);
    TRY(complete(1, 25, 5, 0));
    CHECK_EQ(m.llm->graphs[0].kv[0].out_cells, 512);
    CHECK_EQ(m.llm->graphs[0].kv[0].out_first, 511);
    CHECK_EQ(open_files(two, 2), QNNRT_OK);
    TRY(complete(1, 27, 5, 0));
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->heads, 8);
    CHECK_EQ(qnnrt_llm_get_info(m.llm)->key_dim, 128);
}

TEST(genuine_part_of_4b)
{
    static char path[2048], names[25][16];
    const char *file;
    size_t i;
    if (test_getenv("QNNRT_SAMPLES") == NULL) SKIP("QNNRT_SAMPLES is not set");
    file = sample(path, "ctx_qairt2.45.0_qwen3-4b_part2_fp32io_aihub.json");
    CHECK_EQ(open_files(&file, 1), QNNRT_OK);
    FAILS(QNNRT_E_MISMATCH, "output \"output_1\" of step 0, float32[1,8,512,128]: key_out of layer 0, value_out of layer 0, key_out of layer 1 or 21 more",
          "output \"output_0\" of step 0, float32[1,1,2560]: hidden, logits");
    CHECK_STR(m.err.text, "output \"output_2\"");
    CHECK_STR(m.err.text, "and ");
    for (i = 0; i < 25; ++i) {
        snprintf(names[i], sizeof(names[i]), "output_%u", (unsigned)i);
        m.roles[i].tensor = names[i];
        m.roles[i].role = i == 0 ? QNNRT_LLM_ROLE_HIDDEN : i % 2 == 1 ? QNNRT_LLM_ROLE_KEY_OUT : QNNRT_LLM_ROLE_VALUE_OUT;
        m.roles[i].layer = i == 0 ? 0 : (uint32_t)(i - 1) / 2;
        m.roles[i].head = 0;
    }
    m.desc.roles = m.roles;
    m.desc.role_count = 25;
    TRY(complete(1, 53, 12, 0));
    CHECK_EQ(m.llm->graphs[0].kv[23].out_cells, 512);
    CHECK_EQ(m.llm->graphs[0].kv[23].out_first, 511);
    CHECK_EQ(m.llm->kv[0].outer, 8);
    CHECK_EQ(m.llm->kv[0].inner, 128);
    CHECK_STR(qnnrt_llm_get_info(m.llm)->layout, "keys like values, the whole cache comes out");
}

TEST_MAIN("llm_roles")
{
    RUN(names_of_the_hub);
    RUN(names_of_mllm_and_onnx);
    RUN(names_and_numbers_of_executorch);
    RUN(numbers_of_executorch_that_do_not_add_up);
    RUN(a_role_table_is_enough);
    RUN(the_table_goes_before_names_and_the_caller_before_the_file);
    RUN(tables_that_are_wrong);
    RUN(shapes_tell_what_only_one_thing_fits);
    RUN(outputs_that_nothing_misses_are_unused);
    RUN(names_of_cuts_may_say_nothing);
    RUN(the_axis_of_the_cells_is_told_by_other_graphs);
    RUN(graphs_of_several_sizes);
    RUN(without_a_mask_the_cells_tell_the_context);
    RUN(graphs_that_lack_a_cache);
    RUN(layouts_and_types_that_disagree);
    RUN(a_shard_is_missing);
    RUN(encodings_over_a_cut);
    RUN(shards_whose_graphs_have_no_common_name);
    RUN(contexts_that_are_no_shards);
    RUN(one_name_for_caches_of_several_shards);
    RUN(settings_come_from_the_caller_then_genie_then_ours);
    RUN(settings_that_change_while_they_are_read);
    RUN(settings_that_are_no_files);
    RUN(settings_that_are_wrong);
    RUN(settings_that_are_damaged);
    RUN(fingerprints_tell_models_apart);
    RUN(describe_tells_all_of_it);
    RUN(describe_tells_what_settings_say);
    RUN(wrong_arguments);
    RUN(no_memory);
    RUN(many_tensors_take_no_long_time);
    RUN(damaged_models_are_refused_or_hold);
    RUN(the_sample_models);
    RUN(genuine_parts_of_7b);
    RUN(genuine_parts_of_14b);
    RUN(genuine_part_of_4b);
    close_all();
}
