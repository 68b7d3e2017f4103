/* bench_weight_only.c - weights of 16, 8 and 4 bits: bytes, SNR, times and memory of compiling a graph

       bench_weight_only LIBRARY (GRAPH.json WEIGHTS)...

   Each form of each graph, with scales by each method, is compiled in a process of its own. "lower" has the scales, "codes" is what the builder's loads
   take, measured alone, and "library" is what is left of finishing the builder. */
#define _POSIX_C_SOURCE 200809L
#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#define QNNRT_WEIGHTS_IMPLEMENTATION
#define QNNRT_IR_IMPLEMENTATION
#define QNNRT_IR_PASSES_IMPLEMENTATION
#define QNNRT_LOWER_IMPLEMENTATION
#include "qnnrt_lower.h"
#include <sys/wait.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const qnnrt_error *err)
{
    fprintf(stderr, "bench_weight_only: %s\n", err->text);
    exit(1);
}

static unsigned long most_memory(void)
{
    char line[200];
    unsigned long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0) kib = strtoul(line + 6, NULL, 10);
    if (file != NULL) fclose(file);
    return kib;
}

static char *read_text(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    *bytes = 0;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) { perror(path); exit(1); }
    *bytes = (size_t)ftell(file);
    rewind(file);
    text = (char *)malloc(*bytes + 1);
    if (text == NULL || fread(text, 1, *bytes, file) != *bytes) { perror(path); exit(1); }
    fclose(file);
    return text;
}

static void compile(const char *library, const char *graph, const char *checkpoint, uint32_t bits, uint32_t block,
                    qnnrt_lower_method method)
{
    qnnrt_backend_desc open;
    qnnrt_lower_desc desc;
    qnnrt_ir_desc read;
    qnnrt_backend *backend;
    qnnrt_weights *weights;
    qnnrt_lower *lower;
    qnnrt_builder *builder;
    qnnrt_ir *ir;
    qnnrt *model;
    qnnrt_error err;
    const qnnrt_lower_info *info;
    const char *name = strrchr(graph, '/') != NULL ? strrchr(graph, '/') + 1 : graph;
    double begin, lowered, codes = 0, built, least = HUGE_VAL, most = 0;
    size_t bytes, i;
    uint64_t binary = 0;
    char *text = read_text(graph, &bytes), form[40];
    const char *path = "build/bench/small.bin";
    FILE *file;
    memset(&open, 0, sizeof(open));
    memset(&read, 0, sizeof(read));
    memset(&desc, 0, sizeof(desc));
    open.path = library;
    if (qnnrt_backend_open(&open, &backend, &err) != QNNRT_OK) die(&err);
    desc.target = qnnrt_lower_target_of(qnnrt_backend_get_info(backend));
    desc.build_id = qnnrt_backend_get_info(backend)->build_id;
    desc.compute = QNNRT_DTYPE_F16;
    desc.rope_base = 1e6;
    read.plain_rope = 1;
    desc.weight_bits = bits == 16 ? 0 : bits;
    desc.weight_block = block;
    desc.weight_method = method;
    if (qnnrt_ir_read(text, bytes, &read, &ir, &err) != QNNRT_OK || qnnrt_ir_check(ir, NULL, NULL, &err) != QNNRT_OK ||
        qnnrt_weights_open(checkpoint, NULL, &weights, &err) != QNNRT_OK || qnnrt_lower_create(&desc, &lower, &err) != QNNRT_OK ||
        qnnrt_lower_weights(lower, ir, weights, &err) != QNNRT_OK || qnnrt_lower_passes(lower, ir, &err) != QNNRT_OK) die(&err);
    begin = now();
    if (qnnrt_lower_graph(lower, ir, "g", &err) != QNNRT_OK) die(&err);
    lowered = now() - begin;
    if (qnnrt_builder_create(backend, NULL, &builder, &err) != QNNRT_OK || qnnrt_lower_emit(lower, builder, &err) != QNNRT_OK) die(&err);
    begin = now();
    if (qnnrt_builder_finish(builder, &model, &err) != QNNRT_OK) die(&err);
    built = now() - begin;
    if (qnnrt_save(model, 0, path, &err) != QNNRT_OK) die(&err);
    file = fopen(path, "rb");
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) binary = (uint64_t)ftell(file);
    if (file != NULL) fclose(file);
    remove(path);
    snprintf(form, sizeof form, block != 0 ? "W%u/%u" : bits == 16 ? "f16" : "W%u", (unsigned)bits, (unsigned)block);
    if (bits != 16) strcat(form, method == QNNRT_LOWER_MSE ? " mse" : " minmax");
    info = qnnrt_lower_get_info(lower);
    printf("%-24.24s %-12s %8.1f MB", name, form, (double)binary * 1e-6);
    for (i = 0; i < info->weight_only_count; ++i) {
        if (!info->weight_only[i].measured) continue;
        if (info->weight_only[i].snr < least) least = info->weight_only[i].snr;
        if (info->weight_only[i].snr > most) most = info->weight_only[i].snr;
    }
    if (least <= most) printf("  %5.1f to %5.1f dB", least, most);
    else printf("  %17s", "-");
    {
        const unsigned long memory = most_memory();
        for (i = 1; i < info->graphs[0].tensor_count; ++i) {         /* again, for its time */
            const qnnrt_lower_tensor *tensor = &info->graphs[0].tensors[i];
            void *data;
            if (!tensor->used || tensor->kind != QNNRT_TENSOR_STATIC) continue;
            data = malloc((size_t)tensor->bytes);
            begin = now();
            if (qnnrt_lower_static_data(lower, 0, i, data, (size_t)tensor->bytes, &err) != QNNRT_OK) die(&err);
            codes += now() - begin;
            free(data);
        }
        printf("  %6.2f s %6.2f s %6.2f s %6.2f %6lu MiB\n", lowered, codes, built - codes, (lowered + built) / (built - codes),
               memory / 1024);
    }
    qnnrt_close(model);
    qnnrt_lower_free(lower);
    qnnrt_weights_close(weights);
    qnnrt_ir_free(ir);
    free(text);
    qnnrt_backend_close(backend);
}

int main(int argc, char **argv)
{
    static const uint32_t forms[4][2] = { {16, 0}, {8, 0}, {4, 0}, {4, 64} };
    int method;
    int i, status = 0;
    size_t f;
    printf("%-24s %-12s %11s  %17s  %8s %8s %8s %6s %10s\n", "graph", "form", "binary", "SNR of weights", "lower", "codes",
           "library", "ratio", "most");
    for (i = 2; i + 1 < argc; i += 2)
        for (f = 0; f < 4; ++f) for (method = QNNRT_LOWER_MINMAX; method <= (f > 0 ? QNNRT_LOWER_MSE : QNNRT_LOWER_MINMAX); ++method) {
            pid_t pid;
            fflush(stdout);
            pid = fork();
            if (pid == 0) {
                compile(argv[1], argv[i], argv[i + 1], forms[f][0], forms[f][1], (qnnrt_lower_method)method);
                fflush(stdout);
                _exit(0);
            }
            if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) return 1;
        }
    return 0;
}
