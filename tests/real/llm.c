/* llm.c - one small language model in one context, in four shards, and in float

       real_llm RELEASE_FOLDER DATA_FOLDER [part of a test's name]

   The same inputs, a fixed pseudo-random pattern in every tensor's own codes, go through w8a16_one
   and w8a16_four, prefill and decode: the largest logit of every row must be the same one. Then the
   text of expected.json is generated. The files are of release 2.51; an older library refuses them. */
#include "real.h"
#include <math.h>

static uint32_t pattern_state;

static uint32_t pattern(void)
{
    pattern_state = pattern_state * 1664525u + 1013904223u;
    return pattern_state >> 12;
}

/* Fill input `tensor` with codes; the same for equal names. */
static void fill(const qnnrt_tensor_info *tensor, void *data)
{
    uint64_t i;
    const char *name;
    pattern_state = 1;
    for (name = tensor->name; *name != '\0'; ++name) pattern_state = pattern_state * 31u + (unsigned char)*name;
    for (i = 0; i < tensor->count; ++i) {
        switch (tensor->dtype) {
        case QNNRT_DTYPE_I32: ((int32_t *)data)[i] = (int32_t)(pattern() % 256u); break;
        case QNNRT_DTYPE_U8Q: ((uint8_t *)data)[i] = (uint8_t)(96u + pattern() % 64u); break;
        case QNNRT_DTYPE_U16Q:
            /* A mask has two values, attend or not; two columns of three attend. Other inputs get
               arbitrary codes. */
            if (strcmp(tensor->name, "attention_mask") == 0) ((uint16_t *)data)[i] = pattern() % 3u == 0 ? 0 : 65535;
            else ((uint16_t *)data)[i] = (uint16_t)pattern();
            break;
        default: ((float *)data)[i] = ((float)(pattern() % 2001u) - 1000.0f) / 1000.0f; break;
        }
    }
}

static int64_t code(const qnnrt_tensor_info *tensor, const void *data, uint64_t i)
{
    if (tensor->dtype == QNNRT_DTYPE_U16Q) return ((const uint16_t *)data)[i];
    if (tensor->dtype == QNNRT_DTYPE_U8Q) return ((const uint8_t *)data)[i];
    return ((const int32_t *)data)[i];
}

/* Return the pipeline whose name begins with `prefix`. */
static const qnnrt_pipeline *find(const qnnrt *model, const char *prefix)
{
    size_t i;
    for (i = 0; i < qnnrt_get_info(model)->pipeline_count; ++i) {
        const qnnrt_pipeline *pipeline = qnnrt_get_info(model)->pipelines[i];
        if (strncmp(qnnrt_pipeline_get_info(pipeline)->name, prefix, strlen(prefix)) == 0) return pipeline;
    }
    return NULL;
}

static void open_model(const char *name, char *path, qnnrt_desc *desc, qnnrt **model)
{
    char folder[1024], part[64];
    qnnrt_error err;
    size_t i;
    snprintf(part, sizeof part, "llm/%s", name);
    real_desc(desc, path);
    REAL_OK(qnnrt_open(real_join(folder, test_arg(1), part), desc, model, &err), &err);
    CHECK_EQ(qnnrt_get_info(*model)->pipeline_count, 2);
    for (i = 0; i < 2; ++i) {
        const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(qnnrt_get_info(*model)->pipelines[i]);
        printf("  %s: pipeline %s, %u steps, %u slots, %u edges%s%s\n", name, info->name, (unsigned)info->step_count,
               (unsigned)info->slot_count, (unsigned)info->edge_count, info->failure != NULL ? ": " : "",
               info->failure != NULL ? info->failure->text : "");
        CHECK(info->failure == NULL);
    }
}

static int same_facts(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0 &&
           a->bytes == b->bytes && a->quant.encoding == b->quant.encoding &&
           memcmp(&a->quant.scale, &b->quant.scale, sizeof a->quant.scale) == 0 && a->quant.offset == b->quant.offset;
}

/* Give both the same inputs and compare every output. */
static void compare(qnnrt *one, qnnrt *four, const char *prefix)
{
    const qnnrt_pipeline *pipelines[2];
    const qnnrt_pipeline_info *info[2];
    qnnrt_error err;
    qnnrt_run *run[2];
    long before;
    size_t i;
    int k, inputs[2] = { 0, 0 }, outputs[2] = { 0, 0 };
    int64_t worst = 0, worst_cache = 0, worst_logit = 0;
    uint64_t differing = 0, values = 0, rows = 0;
    pipelines[0] = find(one, prefix);
    pipelines[1] = find(four, prefix);
    CHECK(pipelines[0] != NULL && pipelines[1] != NULL);
    for (k = 0; k < 2; ++k) {
        info[k] = qnnrt_pipeline_get_info(pipelines[k]);
        REAL_OK(qnnrt_prepare(k == 0 ? one : four, info[k]->name, &run[k], &err), &err);
        for (i = 0; i < info[k]->slot_count; ++i) {
            if (info[k]->slots[i].role == QNNRT_ROLE_OUTPUT) ++outputs[k];
            if (info[k]->slots[i].role != QNNRT_ROLE_INPUT) continue;
            ++inputs[k];
            fill(info[k]->slots[i].tensor, qnnrt_data_slot(run[k], &info[k]->slots[i], NULL));
        }
    }
    CHECK_EQ(info[0]->step_count, 1);
    CHECK_EQ(info[1]->step_count, 4);
    CHECK_EQ(inputs[0], 12);
    CHECK_EQ(inputs[1], 12);         /* inputs with one name and equal facts are one slot */
    CHECK_EQ(outputs[0], 9);
    CHECK_EQ(outputs[1], 9);
    CHECK_EQ(info[1]->edge_count, 3);
    for (i = 0; i < info[1]->edge_count; ++i) {
        const qnnrt_edge_info *edge = &info[1]->edges[i];
        CHECK_EQ(edge->from_step + 1, edge->to_step);
        CHECK_STR(edge->reason, "equal names");
        if (prefix[0] == 'p') printf("  edge %u -> %u, %s: %s\n", (unsigned)edge->from_step, (unsigned)edge->to_step,
                                     edge->from->name, edge->reason);
    }
    before = real_seen.allocations;
    for (k = 0; k < 2; ++k) REAL_OK(qnnrt_exec(run[k]), qnnrt_run_error(run[k]));
    CHECK_EQ(real_seen.allocations, before);

    for (i = 0; i < info[0]->slot_count; ++i) {
        const qnnrt_tensor_info *tensor = info[0]->slots[i].tensor;
        const void *a, *b;
        const qnnrt_slot *other;
        uint64_t v, row, wide;
        int is_logits = strcmp(tensor->name, "logits") == 0;
        if (info[0]->slots[i].role == QNNRT_ROLE_EDGE) continue;
        REAL_OK(qnnrt_slot_find(pipelines[1], tensor->name, info[0]->slots[i].role, &other, &err), &err);
        CHECK(same_facts(tensor, other->tensor));
        a = qnnrt_data_slot(run[0], &info[0]->slots[i], NULL);
        b = qnnrt_data_slot(run[1], other, NULL);
        if (info[0]->slots[i].role == QNNRT_ROLE_INPUT) {
            /* qnnrt_exec() does not change inputs, which are the same for both. */
            CHECK(memcmp(a, b, tensor->bytes) == 0);
            continue;
        }
        for (v = 0; v < tensor->count; ++v) {
            int64_t d = code(tensor, a, v) - code(tensor, b, v);
            int64_t *most = is_logits ? &worst_logit : &worst_cache;
            if (d < 0) d = -d;
            if (d > *most) *most = d;
            differing += d != 0;
        }
        values += tensor->count;
        if (!is_logits) continue;
        wide = tensor->dims[tensor->rank - 1];
        CHECK_EQ(wide, 256);
        for (row = 0; row < tensor->count / wide; ++row, ++rows) {
            uint64_t top[2] = { 0, 0 };
            for (v = 1; v < wide; ++v) {
                if (code(tensor, a, row * wide + v) > code(tensor, a, row * wide + top[0])) top[0] = v;
                if (code(tensor, b, row * wide + v) > code(tensor, b, row * wide + top[1])) top[1] = v;
            }
            CHECK_EQ(top[0], top[1]);
        }
    }
    worst = worst_logit > worst_cache ? worst_logit : worst_cache;
    printf("  %s: %u rows with the same argmax; largest difference %d codes (logits %d, caches %d), %u of %u codes differ\n",
           prefix, (unsigned)rows, (int)worst, (int)worst_logit, (int)worst_cache, (unsigned)differing, (unsigned)values);
    CHECK(rows > 0);
    for (k = 0; k < 2; ++k) qnnrt_run_destroy(run[k]);
}

TEST(one_against_four)
{
    char path[2][1024];
    qnnrt_desc desc[2];
    qnnrt *one, *four;
    TRY(open_model("w8a16_one", path[0], &desc[0], &one));
    TRY(open_model("w8a16_four", path[1], &desc[1], &four));
    TRY(compare(one, four, "prompt_ar32"));
    TRY(compare(one, four, "token_ar1"));
    CHECK_EQ(qnnrt_close(one), QNNRT_OK);
    CHECK_EQ(qnnrt_close(four), QNNRT_OK);
}

TEST(float_io)
{
    static const char *const prefixes[2] = { "prompt_ar32", "token_ar1" };
    char path[1024];
    qnnrt_desc desc;
    qnnrt *model;
    int k;
    TRY(open_model("f32io_one", path, &desc, &model));
    for (k = 0; k < 2; ++k) {
        const qnnrt_pipeline *pipeline = find(model, prefixes[k]);
        const qnnrt_pipeline_info *info;
        const float *logits;
        float low, high;
        qnnrt_error err;
        qnnrt_run *run;
        size_t i, bytes;
        CHECK(pipeline != NULL);
        info = qnnrt_pipeline_get_info(pipeline);
        REAL_OK(qnnrt_prepare(model, info->name, &run, &err), &err);
        for (i = 0; i < info->slot_count; ++i)
            if (info->slots[i].role == QNNRT_ROLE_INPUT)
                fill(info->slots[i].tensor, qnnrt_data_slot(run, &info->slots[i], NULL));
        REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
        logits = (const float *)qnnrt_data(run, "logits", &bytes);
        CHECK(logits != NULL);
        CHECK_EQ(bytes % (256 * sizeof(float)), 0);
        low = high = logits[0];
        for (i = 0; i < bytes / sizeof(float); ++i) {
            CHECK(logits[i] == logits[i] && logits[i] - logits[i] == 0);     /* neither NaN nor infinite */
            if (logits[i] < low) low = logits[i];
            if (logits[i] > high) high = logits[i];
        }
        printf("  %s: %u logits from %g to %g\n", info->name, (unsigned)(bytes / sizeof(float)), (double)low, (double)high);
        CHECK(low < high);
        qnnrt_run_destroy(run);
    }
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
}

/* ---- greedy text --------------------------------------------------------------------------------
   The caches hold the past in columns 0 .. n-1. The new tokens of a call are the last AR columns of
   the mask; a short last chunk is at their left end. */

enum { CONTEXT = 128, LAYERS = 4, HEADS = 2, DIM = 32, HALF = 16 };

static uint8_t cache_key[LAYERS][HEADS][DIM][CONTEXT], cache_value[LAYERS][HEADS][CONTEXT][DIM];

/* Run one call with `count` tokens at position `at`; *next is the byte that follows. */
static void step(qnnrt_run *run, int ar, const int *tokens, int count, int at, int *next)
{
    static float mask[32 * CONTEXT], cosine[32 * HALF], sine[32 * HALF], logits[32 * 256];
    int32_t ids[32];
    int past = CONTEXT - ar, i, j, h, l;
    char name[64];
    for (i = 0; i < ar; ++i) {
        int position = at + i < CONTEXT ? at + i : CONTEXT - 1;
        ids[i] = i < count ? tokens[i] : 0;
        for (j = 0; j < CONTEXT; ++j) mask[i * CONTEXT + j] = j < at || (j >= past && j <= past + i) ? 0.0f : -50.0f;
        for (j = 0; j < HALF; ++j) {
            double angle = position * pow(10000.0, -(double)j / HALF);
            cosine[i * HALF + j] = (float)cos(angle);
            sine[i * HALF + j] = (float)sin(angle);
        }
    }
    REAL_OK(qnnrt_write_i32(run, qnnrt_run_slot(run, "input_ids"), 0, ids, (size_t)ar), qnnrt_run_error(run));
    REAL_OK(qnnrt_write_f32(run, qnnrt_run_slot(run, "attention_mask"), 0, mask, (size_t)(ar * CONTEXT)), qnnrt_run_error(run));
    REAL_OK(qnnrt_write_f32(run, qnnrt_run_slot(run, "position_ids_cos"), 0, cosine, (size_t)(ar * HALF)), qnnrt_run_error(run));
    REAL_OK(qnnrt_write_f32(run, qnnrt_run_slot(run, "position_ids_sin"), 0, sine, (size_t)(ar * HALF)), qnnrt_run_error(run));
    for (l = 0; l < LAYERS; ++l) {
        uint8_t *key, *value;
        snprintf(name, sizeof name, "past_key_%d_in", l);
        key = (uint8_t *)qnnrt_data(run, name, NULL);
        snprintf(name, sizeof name, "past_value_%d_in", l);
        value = (uint8_t *)qnnrt_data(run, name, NULL);
        CHECK(key != NULL && value != NULL);
        for (h = 0; h < HEADS; ++h) {
            for (j = 0; j < DIM; ++j) memcpy(key + (h * DIM + j) * past, cache_key[l][h][j], (size_t)past);
            memcpy(value + h * past * DIM, cache_value[l][h], (size_t)(past * DIM));
        }
    }
    REAL_OK(qnnrt_exec(run), qnnrt_run_error(run));
    for (l = 0; l < LAYERS; ++l) {
        const uint8_t *key, *value;
        snprintf(name, sizeof name, "past_key_%d_out", l);
        key = (const uint8_t *)qnnrt_data(run, name, NULL);
        snprintf(name, sizeof name, "past_value_%d_out", l);
        value = (const uint8_t *)qnnrt_data(run, name, NULL);
        CHECK(key != NULL && value != NULL);
        for (h = 0; h < HEADS; ++h)
            for (i = 0; i < count; ++i) {
                for (j = 0; j < DIM; ++j) cache_key[l][h][j][at + i] = key[(h * DIM + j) * ar + i];
                memcpy(cache_value[l][h][at + i], value + (h * ar + i) * DIM, DIM);
            }
    }
    REAL_OK(qnnrt_read_f32(run, qnnrt_run_slot(run, "logits"), 0, logits, (size_t)(ar * 256)), qnnrt_run_error(run));
    for (*next = 0, j = 1; j < 256; ++j)
        if (logits[(count - 1) * 256 + j] > logits[(count - 1) * 256 + *next]) *next = j;
}

static void generate(const char *folder, const char *prompt, const char *expected, int length)
{
    qnnrt_run *prefill, *decode;
    qnnrt_error err;
    qnnrt_desc desc;
    qnnrt *model;
    char path[1024], text[65];
    int tokens[32], count = (int)strlen(prompt), at = 0, i, next;
    CHECK(count <= 32 && length <= 64);
    TRY(open_model(folder, path, &desc, &model));
    REAL_OK(qnnrt_prepare(model, qnnrt_pipeline_get_info(find(model, "prompt_ar32"))->name, &prefill, &err), &err);
    REAL_OK(qnnrt_prepare(model, qnnrt_pipeline_get_info(find(model, "token_ar1"))->name, &decode, &err), &err);
    memset(cache_key, 128, sizeof cache_key);
    memset(cache_value, 128, sizeof cache_value);
    for (i = 0; i < count; ++i) tokens[i] = (unsigned char)prompt[i];
    TRY(step(prefill, 32, tokens, count, at, &next));
    at = count;
    for (i = 0; i < length; ++i) {
        text[i] = (char)next;
        if (i + 1 == length) break;
        TRY(step(decode, 1, &next, 1, at, &next));
        ++at;
    }
    text[length] = '\0';
    printf("  %s: \"%s\" -> \"%s\"\n", folder, prompt, text);
    CHECK(strncmp(text, expected, (size_t)length) == 0);
    qnnrt_run_destroy(prefill);
    qnnrt_run_destroy(decode);
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(real_seen.alive, 0);
}

/* Return the first two strings of a case in expected.json, which has no escapes. */
static void read_case(int number, char *prompt, char *text, size_t size)
{
    char path[1024], *json, *at, *end;
    json = (char *)test_read_file(real_join(path, test_arg(1), "llm/expected.json"), NULL);
    CHECK(json != NULL);
    for (at = json; number >= 0; --number) {
        at = strstr(at, "\"prompt\": \"");
        CHECK(at != NULL);
        at += strlen("\"prompt\": \"");
    }
    end = strchr(at, '"');
    CHECK(end != NULL && (size_t)(end - at) < size);
    memcpy(prompt, at, (size_t)(end - at));
    prompt[end - at] = '\0';
    at = strstr(end, "\"text\": \"");
    CHECK(at != NULL);
    at += strlen("\"text\": \"");
    end = strchr(at, '"');
    CHECK(end != NULL && (size_t)(end - at) < size);
    memcpy(text, at, (size_t)(end - at));
    text[end - at] = '\0';
    free(json);
}

TEST(greedy_text)
{
    char prompt[128], text[128];
    int i;
    for (i = 0; i < 3; ++i) {
        TRY(read_case(i, prompt, text, sizeof prompt));
        CHECK_EQ(strlen(text), 64);
        TRY(generate("w8a16_one", prompt, text, i == 0 ? 64 : 16));
        if (i == 0) TRY(generate("w8a16_four", prompt, text, 16));
    }
}

/* An older library refuses each of the files, and the error names the release that made it. */
TEST(refused)
{
    static const char *const names[3] = { "w8a16_one", "w8a16_four", "f32io_one" };
    int i;
    for (i = 0; i < 3; ++i) {
        char folder[1024], path[1024], part[64];
        qnnrt_desc desc;
        qnnrt_error err;
        qnnrt *model;
        snprintf(part, sizeof part, "llm/%s", names[i]);
        real_desc(&desc, path);
        CHECK_EQ(qnnrt_open(real_join(folder, test_arg(1), part), &desc, &model, &err), QNNRT_E_VERSION);
        CHECK_STR(err.text, "v2.51.0.");
        CHECK_EQ(real_seen.errors, 0);
        CHECK_EQ(real_seen.alive, 0);
    }
}

/* Where the library cannot run the model, the wiring can still be inspected. */
TEST(wiring)
{
    char folder[1024], path[1024], system_path[1024];
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model;
    size_t i;
    real_desc(&desc, path);
    desc.system_path = real_library(system_path, "libQnnSystem.so");
    desc.inspect = 1;
    REAL_OK(qnnrt_open(real_join(folder, test_arg(1), "llm/w8a16_four"), &desc, &model, &err), &err);
    CHECK_EQ(qnnrt_get_info(model)->pipeline_count, 2);
    for (i = 0; i < 2; ++i) {
        const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[i]);
        CHECK(info->failure == NULL);
        CHECK_EQ(info->step_count, 4);
        CHECK_EQ(info->edge_count, 3);
    }
    CHECK_EQ(qnnrt_close(model), QNNRT_OK);
    CHECK_EQ(real_seen.alive, 0);
}

TEST_MAIN_ARGS("real_llm", 2, "RELEASE_FOLDER DATA_FOLDER")
{
    RUN(wiring);
    if (real_no_device()) return;
    if (real_library_release() == 0) { printf("libQnnHtp.so does not open\n"); test_state.failed++; return; }
    if (real_library_release() < 2051) {
        RUN(refused);
        return;
    }
    RUN(one_against_four);
    RUN(float_io);
    RUN(greedy_text);
}
