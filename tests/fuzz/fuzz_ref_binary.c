/* fuzz_ref_binary.c - hostile context binaries of libQnnRef.so, through qnnrt.h

   `make fuzz FUZZ=ref_binary` runs it (libQnnRef.so is built again with the same sanitizers and
   coverage); fuzz.h describes how files are replayed.

   An input is one byte that chooses, then a binary:
       bits 0-1   0: as it is; 1: with the right checksum; 2, 3: and the right sizes in its head
       bit 2      1: only inspected (desc.inspect)
       bits 3-4   struct versions of the metadata, as QnnRef_control sets them
   What opens is prepared and executed. Whatever happens, there must be no crash, no leak, an empty
   ledger, an error that is filled and clean, and consistent metadata. */
#include "../../qnnrt.h"
#define FUZZ_NAME "fuzz_ref_binary"
#include "fuzz.h"
#include <dlfcn.h>
#include "ref_sign.h"

#ifndef TEST_REF_LIB
#define TEST_REF_LIB "build/libQnnRef.so"
#endif

static int (*control)(const char *command, char *answer, size_t bytes);
static uint64_t live;

static void *hook_alloc(void *user, size_t bytes)
{
    void *data = bytes > ((size_t)1 << 28) ? NULL : malloc(bytes);
    (void)user;
    if (data != NULL) { ++live; memset(data, 0xA5, bytes); }
    return data;
}

static void hook_free(void *user, void *data) { (void)user; --live; free(data); }

static void hook_log(void *user, qnnrt_log_level level, const char *part, uint64_t code,
                     const char *text)
{
    (void)user; (void)part; (void)code;
    MUST(level >= QNNRT_LOG_ERROR && level <= QNNRT_LOG_DEBUG);
    for (; *text != '\0'; ++text) MUST((unsigned char)*text >= 0x20 && *text != 0x7F);
}

static void begin(unsigned versions)
{
    static const char *const faults[4] = { "faults ", "faults info=v1;graphs=v1",
                                           "faults info=v2;graphs=v2;tensors=v2",
                                           "faults tensors=v2" };
    if (control == NULL) {
        void *library = dlopen(TEST_REF_LIB, RTLD_NOW | RTLD_LOCAL), *symbol;
        if (library == NULL) { fprintf(stderr, "%s\n", dlerror()); exit(2); }
        symbol = dlsym(library, "QnnRef_control");
        MUST(symbol != NULL);
        memcpy((void *)&control, (void *)&symbol, sizeof(symbol));
    }
    MUST(control(faults[versions], NULL, 0) >= 0);
}

static void error_is_good(const qnnrt_error *err, qnnrt_result result)
{
    MUST(err->code == result && err->text[0] != '\0');
    MUST(memchr(err->text, 0, sizeof(err->text)) != NULL);
    for (const char *at = err->text; *at != '\0'; ++at)
        MUST(((unsigned char)*at >= 0x20 && *at != 0x7F)
             || (*at == '\n' && at[1] == ' ' && at[2] == ' '));
}

/* Check that the metadata is consistent, because callers rely on it. */
static void look(const qnnrt *model)
{
    size_t count = 0, g, i, k;
    const qnnrt_context_info *info = qnnrt_get_info(model)->contexts;
    count = qnnrt_get_info(model)->context_count;
    MUST(count == 1 && info->graph_count > 0);
    for (g = 0; g < info->graph_count; ++g) {
        const qnnrt_graph_info *graph = &info->graphs[g];
        MUST(graph->name != NULL && graph->name[0] != '\0');
        for (i = 0; i < graph->input_count + graph->output_count; ++i) {
            const qnnrt_tensor_info *t = i < graph->input_count
                ? &graph->inputs[i] : &graph->outputs[i - graph->input_count];
            uint64_t elements = 1;
            MUST(t->name != NULL && t->name[0] != '\0' && t->rank <= 8);
            for (k = 0; k < t->rank; ++k) { MUST(t->dims[k] > 0); elements *= t->dims[k]; }
            if (t->bytes != 0) MUST(t->count == elements);
            if (t->quant.encoding == QNNRT_ENCODING_PER_AXIS)
                MUST(t->quant.count == t->dims[t->quant.axis] && t->quant.scales != NULL);
        }
    }
}

static void execute(qnnrt *model)
{
    for (size_t i = 0; i < qnnrt_get_info(model)->pipeline_count; ++i) {
        const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(qnnrt_get_info(model)->pipelines[i]);
        qnnrt_run *run;
        qnnrt_error err;
        qnnrt_result result = qnnrt_prepare(model, info->name, &run, &err);
        if (result != QNNRT_OK) { error_is_good(&err, result); continue; }
        for (size_t slot = 0; slot < info->slot_count; ++slot) {
            size_t size = 0;
            unsigned char *at = (unsigned char *)qnnrt_data_slot(run, &info->slots[slot], &size);
            if (at == NULL) continue;
            if (info->slots[slot].role == QNNRT_ROLE_INPUT)
                for (size_t k = 0; k < size; ++k) at[k] = (unsigned char)(k * 37 + slot);
            MUST(size == info->slots[slot].tensor->bytes);
        }
        result = qnnrt_exec(run);
        if (result != QNNRT_OK) error_is_good(qnnrt_run_error(run), result);
        qnnrt_run_destroy(run);
    }
}

static void play(const unsigned char *data, size_t size)
{
    char ledger[512];
    unsigned char *binary;
    unsigned choice;
    uint64_t value;
    qnnrt_file file;
    qnnrt_desc desc;
    qnnrt *model = NULL;
    qnnrt_error err;
    qnnrt_result result;
    if (size < 1) return;
    choice = *data++;
    if (--size == 0) return;
    begin(choice >> 3 & 3);
    /* The block has exactly this size, so that a read past its end is found. */
    binary = (unsigned char *)malloc(size);
    MUST(binary != NULL);
    memcpy(binary, data, size);
    if ((choice & 2) != 0 && size >= 64) {
        value = size;
        memcpy(binary + 16, &value, 8);
        memcpy(&value, binary + 40, 8);
        if (value <= size) {
            value = size - value;
            memcpy(binary + 48, &value, 8);
        }
    }
    if ((choice & 3) != 0 && size >= 64) ref_sign(binary, size);
    memset(&file, 0, sizeof(file));
    file.data = binary;
    file.bytes = size;
    memset(&desc, 0, sizeof(desc));
    desc.files = &file;
    desc.file_count = 1;
    desc.inspect = (choice & 4) != 0;
    if (desc.inspect) desc.system_path = TEST_REF_LIB;
    else desc.backend_desc.path = TEST_REF_LIB;
    desc.limits.arena_bytes = 1 << 20;
    desc.backend_desc.hooks.alloc = hook_alloc;
    desc.backend_desc.hooks.free = hook_free;
    desc.backend_desc.hooks.log = hook_log;
    memset(&err, 0xFF, sizeof(err));
    result = qnnrt_open(NULL, &desc, &model, &err);
    if (result != QNNRT_OK) {
        error_is_good(&err, result);
        MUST(model == NULL);
    } else {
        look(model);
        if (!desc.inspect) execute(model);
        MUST(qnnrt_close(model) == QNNRT_OK);
    }
    free(binary);
    MUST(live == 0);
    MUST(control("ledger", ledger, sizeof(ledger)) == 0);
}

FUZZ_TARGET
