/* fuzz_llm_open.c - hostile language models: metadata, qnnrt.json and genie_config.json -> roles

   An input is a qnnrt.json, a genie_config.json and one to four documents of metadata, separated by
   bytes 0x1E, followed by CONTROL bytes that choose failing allocations, role tables and graphs.
   Whatever happens, there must be no crash, no leak, an error text without control characters; and
   a model that opens fulfils what steps rely on: every slot has as many elements as a step writes
   or reads. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_llm.h"
#define FUZZ_NAME "fuzz_llm_open"
#include "fuzz.h"

enum { CONTROL = 8, DOCUMENTS = 6, SEPARATOR = 0x1E };

#include "fuzz_model.h"

static const qnnrt_tensor_info *tensor_of(const qnnrt_llm__graph *graph, const qnnrt_slot *slot)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(graph->pipeline);
    MUST(slot >= info->slots && slot < info->slots + info->slot_count && slot->tensor != NULL);
    return slot->tensor;
}

static void check_inputs(const qnnrt_llm *llm, const qnnrt_llm__graph *graph)
{
    size_t role, i, k;
    for (role = 0; role < QNNRT_LLM_ROLE_COUNT; ++role)
        for (i = 0; i < graph->inputs[role].count; ++i) {
            const qnnrt_tensor_info *t = tensor_of(graph, graph->inputs[role].slots[i]);
            for (k = 0; k < i; ++k) MUST(graph->inputs[role].slots[i] != graph->inputs[role].slots[k]);
            switch (role) {
            case QNNRT_LLM_ROLE_TOKENS: case QNNRT_LLM_ROLE_POSITIONS:
                MUST(t->count == graph->ar);
                break;
            case QNNRT_LLM_ROLE_MASK: case QNNRT_LLM_ROLE_WINDOW_MASK:
                MUST(t->count == (uint64_t)graph->ar * graph->context);
                break;
            case QNNRT_LLM_ROLE_ROPE_COS: case QNNRT_LLM_ROLE_ROPE_SIN:
                MUST(t->rank > 0 && t->dims[t->rank - 1] > 0);
                MUST(t->count == (uint64_t)graph->ar * t->dims[t->rank - 1]);
                MUST(llm->info.rope.theta > 0);
                break;
            case QNNRT_LLM_ROLE_HIDDEN: break;
            default: MUST(role == QNNRT_LLM_ROLE_COUNT);        /* the caller fills no other role */
            }
        }
}

static void check_model(const qnnrt_llm *llm)
{
    const qnnrt_llm_info *info = qnnrt_llm_get_info(llm);
    size_t g, k;
    MUST(info->graph_count > 0 && info->ar > 0 && info->context >= info->ar && info->cells < info->context);
    MUST(info->layout != NULL && info->rope_source != NULL && (info->eos_count == 0 || info->eos != NULL));
    MUST((info->vocabulary == 0) == (info->logits == NULL));
    for (g = 0; g < info->graph_count; ++g) {
        const qnnrt_llm__graph *graph = &llm->graphs[g];
        MUST(graph->ar > 0 && graph->context >= graph->ar && graph->cells == graph->context - graph->ar);
        MUST(g == 0 || graph->ar > graph[-1].ar || (graph->ar == graph[-1].ar && graph->context > graph[-1].context));
        check_inputs(llm, graph);
        if (graph->logits != NULL) {
            const qnnrt_tensor_info *t = tensor_of(graph, graph->logits);
            MUST(t->count == (uint64_t)graph->ar * info->vocabulary);
            MUST(t->bytes == (uint64_t)graph->ar * info->logits_bytes);
        }
        for (k = 0; k < llm->kv_count; ++k) {
            const qnnrt_llm__kv *kv = &llm->kv[k];
            const qnnrt_llm__ends *ends = &graph->kv[k];
            const uint64_t cell = (uint64_t)kv->outer * kv->inner * kv->element;
            MUST((ends->in == NULL) == (graph->cells == 0));
            if (ends->in != NULL) MUST(tensor_of(graph, ends->in)->bytes == cell * graph->cells);
            MUST(ends->out_cells == graph->ar || ends->out_cells == graph->context);
            MUST(ends->out_first + graph->ar == ends->out_cells);
            MUST(tensor_of(graph, ends->out)->bytes == cell * ends->out_cells);
        }
    }
}

static void line(void *user, const char *text)
{
    (void)user;
    text_clean(text, 0);
}

static void play_model(qnnrt *model, const char *config, size_t config_bytes, const char *folder)
{
    static const char *const names[8] = { "input_ids", "past_key_0_in", "a", "b", "0/a", "1/a", "c", "attention_mask" };
    qnnrt_llm_role_desc roles[4];
    const char *pipelines[2];
    qnnrt_llm_desc desc;
    qnnrt_llm *llm = NULL;
    qnnrt_llm_session *session = NULL;
    qnnrt_error err;
    size_t i;
    memset(&desc, 0, sizeof(desc));
    memset(roles, 0, sizeof(roles));
    desc.folder = folder;
    desc.config = config_bytes > 0 ? config : NULL;
    desc.config_bytes = config_bytes;
    desc.hooks.alloc = hook_alloc;
    desc.hooks.free = hook_free;
    if (control[0] & 1) {
        desc.role_count = 1 + (size_t)chance(4);
        for (i = 0; i < desc.role_count; ++i) {
            roles[i].tensor = names[chance(8)];
            roles[i].role = (qnnrt_llm_role)chance(QNNRT_LLM_ROLE_COUNT + 1);
            roles[i].layer = (uint32_t)(chance(4) ? chance(3) : UINT32_MAX - chance(2));
            roles[i].head = (uint32_t)(chance(4) ? 0 : chance(3));
        }
        desc.roles = roles;
    }
    if (control[0] & 2 && qnnrt_get_info(model)->pipeline_count > 0) {
        desc.pipeline_count = 1 + (size_t)chance(2);
        for (i = 0; i < desc.pipeline_count; ++i)
            pipelines[i] = qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[(size_t)chance(qnnrt_get_info(model)->pipeline_count)])->name;
        desc.pipelines = pipelines;
    }
    desc.window = control[0] & 4 ? 3 : 0;
    alloc_count = 0;
    alloc_fail_at = control[1] >= 128 ? (uint64_t)(control[1] & 63) : 0;
    alloc_fail_on = control[1] >> 6 & 1;
    if (!GOOD(qnnrt_llm_open(model, &desc, &llm, fresh(&err)), llm, &err)) return;
    check_model(llm);
    qnnrt_llm_describe(llm, line, NULL);
    /* A model opened for inspection cannot run: it is refused for all sizes. */
    MUST(!GOOD(qnnrt_llm_session_create(&llm, 1, NULL, &session, fresh(&err)), session, &err));
    MUST(qnnrt_llm_close(llm) == QNNRT_OK);
}

/* Make a folder with this genie_config.json, "": without one. */
static const char *folder_with(const char *text, size_t bytes)
{
    static char folder[64], path[96];
    FILE *file;
    if (bytes == 0) return "";
    if (folder[0] == '\0') {
        snprintf(folder, sizeof(folder), "/tmp/fuzz_llm_open.XXXXXX");
        MUST(mkdtemp(folder) != NULL);
        snprintf(path, sizeof(path), "%s/genie_config.json", folder);
    }
    file = fopen(path, "wb");
    MUST(file != NULL && fwrite(text, 1, bytes, file) == bytes && fclose(file) == 0);
    return folder;
}

static void play(const unsigned char *data, size_t size)
{
    char *texts[DOCUMENTS];
    size_t sizes[DOCUMENTS], count = 0, at = 0, i, text;
    qnnrt_file files[DOCUMENTS];
    qnnrt_desc desc;
    qnnrt_error err;
    qnnrt *model = NULL;
    if (size < CONTROL) return;
    text = size - CONTROL;
    chance_begin(data + text, CONTROL);
    memset(files, 0, sizeof(files));
    memset(&desc, 0, sizeof(desc));
    while (count < DOCUMENTS && (at < text || count < 3)) {
        size_t end = at;
        while (end < text && !(count + 1 < DOCUMENTS && data[end] == SEPARATOR)) ++end;
        if (at > end) at = end;
        /* The copy ends where its memory ends, so that a read past it is found. */
        texts[count] = (char *)malloc(end > at ? end - at : 1);
        MUST(texts[count] != NULL);
        memcpy(texts[count], data + at, end - at);
        sizes[count++] = end - at;
        at = end + 1;
    }
    for (i = 2; i < count; ++i) {
        files[i - 2].json_data = texts[i];
        files[i - 2].json_bytes = sizes[i];
        files[i - 2].json_path = i % 2 == 0 ? "a\x1b[31m.json" : NULL;
    }
    desc.files = files;
    desc.file_count = count - 2;
    desc.inspect = 1;
    desc.metadata = QNNRT_METADATA_JSON;
    desc.keep_going = control[0] >> 3 & 1;
    desc.backend_desc.hooks.alloc = hook_alloc;
    desc.backend_desc.hooks.free = hook_free;
    if (control[0] & 16) desc.backend_desc.hooks.log = hook_log;
    alloc_fail_at = 0;
    if (GOOD(qnnrt_open(NULL, &desc, &model, fresh(&err)), model, &err))
        play_model(model, texts[0], sizes[0], folder_with(texts[1], sizes[1]));
    for (i = 0; i < count; ++i) free(texts[i]);
    MUST(qnnrt_close(model) == QNNRT_OK);
    MUST(alloc_live == 0 && alloc_bytes == 0);
}

FUZZ_TARGET
