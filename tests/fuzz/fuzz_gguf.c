/* fuzz_gguf.c - hostile GGUF: its weights, blocks and metadata, and the model that they describe

   An input is a file, followed by CONTROL bytes that choose limits, failing allocations, conversions and the graph.
   Whatever happens, there must be no crash, no leak, an error text without control characters; and after success every
   weight lies in its file, alone, every text in the header, parts are parts of the whole, and a graph has no findings. */
#include "qnnrt_llm_graph.h"
#define FUZZ_NAME "fuzz_gguf"
#include "fuzz.h"
#include <sys/stat.h>
#include <unistd.h>

enum { CONTROL = 8, VALUES = 2048 };

#include "fuzz_model.h"

static char path[64];

static void remove_file(void) { unlink(path); }

static void write_file(const unsigned char *data, size_t size)
{
    FILE *file;
    if (path[0] == '\0') {
        snprintf(path, sizeof(path), "%s/qnnrt-fuzz-%ld.gguf", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
        atexit(remove_file);
    }
    file = fopen(path, "wb");
    MUST(file != NULL);
    if (size > 0) MUST(fwrite(data, 1, size, file) == size);
    MUST(fclose(file) == 0);
}

/* Convert a weight, and parts of it; after rows were put in another order, too. */
static void convert(qnnrt_weights *weights, const qnnrt_weight *w)
{
    static float whole[VALUES], part[VALUES];
    static uint16_t halves[VALUES];
    static unsigned char raw[VALUES * 8];
    uint64_t first, count;
    qnnrt_error err;
    qnnrt_weights_loss loss = { 0, 0, 0 };
    qnnrt_result result;
    if (w->count > VALUES) return;
    if (chance(2)) {
        result = qnnrt_weights_unpair(weights, w->name, (uint32_t)chance(5), fresh(&err));
        MUST(result == QNNRT_OK || result == QNNRT_E_MISMATCH);
        (void)good(result, result == QNNRT_OK ? w : NULL, &err);
    }
    result = qnnrt_weights_convert(w, QNNRT_DTYPE_F32, whole, (size_t)w->count * 4, &loss, fresh(&err));
    MUST(result == QNNRT_OK || result == QNNRT_E_UNSUPPORTED);
    if (!good(result, result == QNNRT_OK ? w : NULL, &err)) {
        result = qnnrt_weights_convert(w, QNNRT_DTYPE_I64, raw, (size_t)w->count * 8, &loss, fresh(&err));
        MUST(result == QNNRT_OK || result == QNNRT_E_UNSUPPORTED);
        return;
    }
    first = chance(w->count + 1);
    count = chance(w->count - first + 1);
    MUST(qnnrt_weights_part(w, first, count, QNNRT_DTYPE_F32, part, (size_t)count * 4, &loss, fresh(&err)) == QNNRT_OK);
    MUST(count == 0 || memcmp(part, whole + first, (size_t)count * 4) == 0);
    MUST(qnnrt_weights_convert(w, QNNRT_DTYPE_F16, halves, (size_t)w->count * 2, &loss, fresh(&err)) == QNNRT_OK);
    MUST(qnnrt_weights_part(w, first, w->count - first + 1, QNNRT_DTYPE_F32, part, 4, NULL, fresh(&err)) == QNNRT_E_ARG);
}

static void check_values(const qnnrt_weights *weights)
{
    const qnnrt_weights_info *info = qnnrt_weights_get_info(weights);
    size_t i, bytes;
    uint32_t sum = 0;
    for (i = 0; i < info->value_count; ++i) {
        const qnnrt_weights_value *value = &info->values[i];
        const char *text;
        uint64_t at = 0, texts = 0, index;
        int64_t whole = 7;
        double number = 7;
        MUST(value->key[0] != '\0' && qnnrt_weights_get_value(weights, value->key) == value && value->kind != QNNRT_WEIGHTS_LIST);
        MUST(value->list || value->count == 1);
        while (qnnrt_weights_value_next(value, &at, &text, &bytes))
            for (++texts; bytes > 0; --bytes) sum += (unsigned char)text[bytes - 1];
        MUST(texts == (value->kind == QNNRT_WEIGHTS_TEXT ? value->count : 0) && (texts == 0 || at == value->bytes));
        for (index = 0; index < 3; ++index) {
            const int real = qnnrt_weights_value_f64(value, index, &number);
            MUST(real == (index < value->count && value->kind != QNNRT_WEIGHTS_TEXT));
            if (qnnrt_weights_value_i64(value, index, &whole)) MUST(real && (double)whole == number);
        }
    }
    MUST(sum != 1);
}

static void check(qnnrt_weights *weights, const qnnrt_weights_desc *desc)
{
    const qnnrt_weights_info *info = qnnrt_weights_get_info(weights);
    uint64_t bytes = 0;
    size_t i, k;
    uint32_t d, sum = 0;
    MUST(info->count <= desc->tensors && info->value_count <= desc->tensors && info->file_count == 1 && info->metadata_count == 0);
    for (i = 0; i < info->count; ++i) {
        const qnnrt_weight *w = &info->weights[i];
        uint64_t count = 1, b;
        MUST(w->name[0] != '\0' && strlen(w->name) <= desc->name_bytes && w->rank <= 8 && w->data != NULL && w->heads == 0);
        for (d = 0; d < w->rank; ++d) count = w->dims[d] != 0 && count > UINT64_MAX / w->dims[d] ? UINT64_MAX : count * w->dims[d];
        for (d = 0; d < w->rank; ++d) if (w->dims[d] == 0) count = 0;
        MUST(count == w->count && (w->block == 0 || (w->rank > 0 && w->dims[w->rank - 1] % w->block == 0)));
        MUST(qnnrt_weights_find(weights, w->name) == w);
        for (b = 0; b < w->bytes; ++b) sum += ((const unsigned char *)w->data)[b];
        bytes += w->bytes;
        for (k = 0; k < i && i < 100; ++k) {
            const char *one = (const char *)w->data, *other = (const char *)info->weights[k].data;
            MUST(w->bytes == 0 || info->weights[k].bytes == 0 || one >= other + info->weights[k].bytes || other >= one + w->bytes);
        }
    }
    for (i = 0; i < info->count && i < 20; ++i) convert(weights, &info->weights[i]);
    MUST(bytes == info->bytes && bytes + info->gap_bytes <= info->files[0].bytes && sum != 0xFFFFFFFFu);
    check_values(weights);
}

/* Read the model; make one of its graphs. */
static void model(qnnrt_weights *weights)
{
    qnnrt_llm_graph m;
    qnnrt_llm_graph_desc desc;
    qnnrt_error err;
    qnnrt_ir *ir = NULL;
    uint32_t i;
    qnnrt_result result = qnnrt_llm_graph_read_gguf(weights, &m, fresh(&err));
    if (!good(result, result == QNNRT_OK ? &m : NULL, &err)) return;
    MUST(m.gguf && m.layers > 0 && m.layers <= QNNRT_LLM_GRAPH_LAYERS && m.heads > 0 && m.kv_heads > 0 &&
         m.heads % m.kv_heads == 0);
    MUST(m.head_dim > 0 && m.rotary > 0 && m.rotary <= m.head_dim && m.rotary % 2 == 0 && m.vocabulary > 0 &&
         m.eos_count <= QNNRT_LLM_GRAPH_EOS);
    for (i = 0; i < m.eos_count; ++i) MUST(m.eos[i] >= 0 && (uint32_t)m.eos[i] < m.vocabulary);
    MUST(m.bos >= -1 && (m.bos < 0 || (uint32_t)m.bos < m.vocabulary) && m.theta >= 1 && m.epsilon > 0);
    if (m.scaling == QNNRT_LLM_GRAPH_LLAMA3) MUST(m.factor > 0 && m.high_frequency > m.low_frequency &&
                                                  m.original_context > 0);
    if (m.layers > 32) return;
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = hook_alloc;
    desc.hooks.free = hook_free;
    desc.tokens = control[1] % 40;
    desc.context = control[2] < 128 ? control[2] : 0;
    desc.parts = control[3] % 5;
    result = qnnrt_llm_graph_create(&m, &desc, &ir, fresh(&err));
    (void)good(result, ir, &err);
    if (ir != NULL) {
        result = qnnrt_ir_check(ir, NULL, NULL, NULL);
        MUST(result == QNNRT_OK || result == QNNRT_E_MEMORY);
    }
    qnnrt_ir_free(ir);
}

static void play(const unsigned char *data, size_t size)
{
    qnnrt_weights_desc desc;
    qnnrt_weights *weights = NULL;
    qnnrt_error err;
    if (size < CONTROL) return;
    size -= CONTROL;
    chance_begin(data + size, CONTROL);
    write_file(data, size);
    memset(&desc, 0, sizeof(desc));
    desc.header_bytes = control[3] >= 250 ? 100 : 100000000;
    desc.tensors = control[4] >= 240 ? (uint64_t)(control[4] - 239) : 1000000;
    desc.files = 1;
    desc.name_bytes = control[5] < 10 ? 4 : 1024;
    desc.hooks.alloc = hook_alloc;
    desc.hooks.free = hook_free;
    desc.hooks.log = hook_log;
    alloc_count = alloc_sum = 0;
    alloc_fail_at = control[7] >= 128 ? (uint64_t)(control[7] & 31) : 0;
    alloc_fail_on = control[7] >> 6 & 1;
    if (GOOD(qnnrt_weights_open(path, &desc, &weights, fresh(&err)), weights, &err) && size > 4 && memcmp(data, "GGUF", 4) == 0) {
        MUST(alloc_sum <= (uint64_t)100 * size + 200000);
        check(weights, &desc);
        model(weights);
    }
    qnnrt_weights_close(weights);
    MUST(alloc_live == 0 && alloc_bytes == 0);
}

FUZZ_TARGET
