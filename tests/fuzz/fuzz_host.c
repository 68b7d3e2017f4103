/* fuzz_host.c - hostile host.json: read it, and run its steps

   An input is the text of a host.json, followed by CONTROL bytes that choose limits, failing allocations and the values of
   inputs. Whatever happens, there must be no crash, no leak and no text without an end; steps have names of their own, and
   their parts have no findings. A step runs with tensors of exactly its sizes, on the heap. */
#include "qnnrt_cpu_fallback.h"
#define FUZZ_NAME "fuzz_host"
#include "fuzz.h"
#include <sys/stat.h>
#include <unistd.h>

enum { CONTROL = 6, TENSORS = 16, VALUES = 4096 };

#include "fuzz_model.h"

static char folder[64], path[80];

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void put(const unsigned char *data, size_t size)
{
    FILE *file;
    if (folder[0] == '\0') {
        snprintf(folder, sizeof(folder), "%s/qnnrt-fuzz-%ld", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
        snprintf(path, sizeof(path), "%s/host.json", folder);
        mkdir(folder, 0700);
        atexit(remove_folder);
    }
    file = fopen(path, "wb");
    MUST(file != NULL);
    if (size > 0) MUST(fwrite(data, 1, size, file) == size);
    MUST(fclose(file) == 0);
}

/* Describe the tensors of a step, with memory of exactly their sizes. Return 0 if they are too many or too large. */
static int take(const qnnrt_ir *part, int outputs, qnnrt_tensor_info *infos, void **data, uint32_t *count)
{
    qnnrt_cpu_fallback_tensor list[TENSORS];
    const size_t found = qnnrt_cpu_fallback_tensors(part, outputs, list, TENSORS);
    static uint32_t dims[2][TENSORS][QNNRT_IR_RANK];
    size_t i, k;
    uint64_t values = 1;
    *count = 0;
    if (found > TENSORS) return 0;
    for (i = 0; i < found; ++i, values = 1) {
        for (k = 0; k < list[i].rank; ++k) {
            MUST(list[i].dims[k] > 0);
            if (values > VALUES) return 0;
            values *= dims[outputs][i][k] = list[i].dims[k];
        }
        MUST(list[i].rank > 0 && list[i].value->count == values);
        if (values > VALUES) return 0;
        memset(&infos[i], 0, sizeof(infos[i]));
        infos[i].name = list[i].value->name;
        infos[i].dtype = list[i].dtype;
        infos[i].rank = list[i].rank;
        infos[i].dims = dims[outputs][i];
        infos[i].count = values;
        infos[i].bytes = values * qnnrt_ir_dtype_bytes(list[i].dtype);
        data[i] = malloc((size_t)infos[i].bytes);
        MUST(data[i] != NULL);
        *count = (uint32_t)i + 1;
        for (k = 0; k < infos[i].bytes; ++k) ((unsigned char *)data[i])[k] = (unsigned char)(control[3] < 128 ? chance(control[3] + 1) : 0);
    }
    return 1;
}

static void run(const qnnrt_host_step *f, const qnnrt_ir *part)
{
    qnnrt_tensor_info infos[2][TENSORS];
    void *data[2][TENSORS];
    uint32_t count[2] = {0, 0}, i;
    qnnrt_graph_info step;
    qnnrt_result result;
    qnnrt_error err;
    int end;
    if (take(part, 0, infos[0], data[0], &count[0]) && take(part, 1, infos[1], data[1], &count[1])) {
        memset(&step, 0, sizeof(step));
        step.name = f->name;
        step.inputs = infos[0];
        step.input_count = count[0];
        step.outputs = infos[1];
        step.output_count = count[1];
        fresh(&err);
        result = f->exec(f->user, &step, (const void *const *)data[0], data[1], &err);
        good(result, result == QNNRT_OK ? &step : NULL, &err);
    }
    for (end = 0; end < 2; ++end)
        for (i = 0; i < count[end]; ++i) free(data[end][i]);
}

static void play(const unsigned char *data, size_t size)
{
    const qnnrt_host_step *functions;
    qnnrt_cpu_fallback_desc desc;
    qnnrt_cpu_fallback *host = NULL;
    qnnrt_result result;
    qnnrt_error err;
    size_t count = 0, i, k;
    if (size < CONTROL) return;
    chance_begin(data + size - CONTROL, CONTROL);
    put(data, size - CONTROL);
    memset(&desc, 0, sizeof(desc));
    desc.hooks.alloc = hook_alloc;
    desc.hooks.free = hook_free;
    desc.file_bytes = control[1] >= 250 ? control[1] : 0;
    desc.steps = control[2] >= 250 ? control[2] - 249u : 0;
    desc.value_bytes = 1 << 20;
    alloc_count = 0;
    alloc_fail_at = control[0] >= 200 ? control[0] - 199u : 0;
    fresh(&err);
    result = qnnrt_cpu_fallback_open(folder, &desc, &host, &err);
    good(result, host, &err);
    functions = qnnrt_cpu_fallback_functions(host, &count);
    MUST(host != NULL || count == 0);
    for (i = 0; i < count; ++i) {
        const qnnrt_ir *part = qnnrt_cpu_fallback_part(host, i);
        MUST(part != NULL && functions[i].name != NULL && functions[i].name[0] != '\0' && functions[i].exec != NULL);
        for (k = 0; k < i; ++k) MUST(strcmp(functions[k].name, functions[i].name) != 0);
        if (i < 8) run(&functions[i], part);
    }
    qnnrt_cpu_fallback_close(host);
    MUST(alloc_live == 0);
    (void)hook_log;
}

FUZZ_TARGET
