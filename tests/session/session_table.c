/* session_table.c - run one model through a session, for session_table.py

       session_table MODEL RUNS OUT.raw TYPE:FILE ... KEY=VALUE ...

   TYPE:FILE   raw values of an input, in the order of the model's inputs; TYPE is float32, int32 or int64, and is
               converted to what the input has. Free dimensions of the model take the file's sizes, one of them at most
   KEY=VALUE   device, engine, cache, fallback, precision (fp32, fp16, int8), or an option ENGINE.KEY
   OUT.raw     receives the first output as float32

   Prints one line for each fact: its name, a tab, its value. Times: create_ms, and run_us, the median of RUNS runs of one
   binding whose values stay placed. */
#include "engines/qnnrt_engines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 32 };

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int stop(const qnnrt_error *err)
{
    printf("failed\t%s\n", err->text);
    return 1;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int take(qnnrt_session_desc *desc, qnnrt_session_option *options, char *word)
{
    char *value = strchr(word, '='), *dot = strchr(word, '.');
    if (value == NULL) return 0;
    *value++ = '\0';
    if (strcmp(word, "device") == 0) desc->device = value;
    else if (strcmp(word, "engine") == 0) desc->engine = value;
    else if (strcmp(word, "cache") == 0) desc->cache_dir = value;
    else if (strcmp(word, "fallback") == 0) desc->allow_fallback = value[0] == '1';
    else if (strcmp(word, "precision") == 0)
        desc->precision = strcmp(value, "fp32") == 0 ? QNNRT_PRECISION_FP32 :
                          strcmp(value, "fp16") == 0 ? QNNRT_PRECISION_FP16 : QNNRT_PRECISION_INT8;
    else if (dot != NULL && desc->option_count < MOST) {
        *dot = '\0';
        options[desc->option_count].engine = word;
        options[desc->option_count].key = dot + 1;
        options[desc->option_count++].value = value;
    } else return 0;
    return 1;
}

/* Read a file of values as the dtype of the input. */
static void *read_values(const char *word, qnnrt_dtype to, size_t *count)
{
    const char *path = strchr(word, ':') + 1;
    const size_t from = strncmp(word, "int64:", 6) == 0 ? 8 : 4, size = to == QNNRT_DTYPE_I64 ? 8 : 4;
    FILE *file = fopen(path, "rb");
    char *data;
    size_t i;
    *count = 0;
    if (file == NULL) return NULL;
    fseek(file, 0, SEEK_END);
    *count = (size_t)ftell(file) / from;
    rewind(file);
    data = (char *)calloc(*count + 1, 8);
    if (data == NULL || fread(data, from, *count, file) != *count) exit(1);
    fclose(file);
    for (i = 0; i < *count && from != size; ++i) {       /* from the end if it grows */
        const size_t at = size > from ? *count - 1 - i : i;
        int64_t wide = 0;
        int32_t narrow = 0;
        if (from == 8) memcpy(&wide, data + at * 8, 8);
        else memcpy(&narrow, data + at * 4, 4);
        if (from == 8) narrow = (int32_t)wide;
        else wide = narrow;
        memcpy(data + at * size, size == 8 ? (const void *)&wide : (const void *)&narrow, size);
    }
    return data;
}

int main(int argc, char **argv)
{
    const qnnrt_engine *engines[QNNRT_ENGINES];
    qnnrt_session_option options[MOST];
    qnnrt_session_desc desc;
    qnnrt_session *session = NULL;
    qnnrt_binding *binding = NULL;
    const qnnrt_session_info *info;
    qnnrt_value values[MOST], out;
    qnnrt_error err;
    const char *inputs[MOST];
    size_t input_count = 0, i, k, runs;
    double begin, *times;
    FILE *file;
    memset(&desc, 0, sizeof(desc));
    memset(options, 0, sizeof(options));
    memset(values, 0, sizeof(values));
    desc.engines = qnnrt_engines_default(engines);
    desc.options = options;
    if (argc < 4) return 2;
    runs = (size_t)strtoul(argv[2], NULL, 10);
    for (i = 4; i < (size_t)argc; ++i) {
        const char *colon = strchr(argv[i], ':'), *equal = strchr(argv[i], '=');
        if (colon != NULL && equal == NULL && input_count < MOST) inputs[input_count++] = argv[i];
        else if (!take(&desc, options, argv[i])) return 2;
    }
    begin = now_us();
    if (qnnrt_session_create(argv[1], &desc, &session, &err) != QNNRT_OK) return stop(&err);
    info = qnnrt_session_get_info(session);
    printf("create_ms\t%.3f\nengine\t%s\nversion\t%s\nlibrary\t%s\ndevice\t%s\nfallback\t%s\ncache\t%s\n", (now_us() - begin) / 1e3, info->engine,
           info->engine_version, info->library, info->device, info->fallback != NULL ? info->fallback : "", info->cache);
    if (info->input_count != input_count || input_count > MOST || runs == 0) {
        printf("failed\tthe model has %lu inputs\n", (unsigned long)info->input_count);
        return 1;
    }
    if (qnnrt_binding_create(session, &binding, &err) != QNNRT_OK) return stop(&err);
    for (i = 0; i < input_count; ++i) {
        const qnnrt_session_tensor *tensor = &info->inputs[i];
        size_t count, fixed = 1;
        values[i].name = tensor->name;
        values[i].dtype = tensor->dtype;
        values[i].rank = tensor->rank;
        values[i].data = read_values(inputs[i], tensor->dtype, &count);
        for (k = 0; k < tensor->rank; ++k) fixed *= tensor->dims[k] > 0 ? (size_t)tensor->dims[k] : 1;
        for (k = 0; k < tensor->rank; ++k) values[i].dims[k] = tensor->dims[k] > 0 ? tensor->dims[k] : (int64_t)(count / fixed);
        if (!qnnrt_session_bytes(tensor->dtype, tensor->rank, values[i].dims, &values[i].bytes)) return 1;
        if (qnnrt_binding_input(binding, &values[i]) != QNNRT_OK) return stop(qnnrt_session_error(session));
    }
    times = (double *)calloc(runs, sizeof(*times));
    if (times == NULL || qnnrt_binding_run(binding) != QNNRT_OK) return stop(qnnrt_session_error(session));
    for (i = 0; i < runs; ++i) {
        begin = now_us();
        if (qnnrt_binding_run(binding) != QNNRT_OK) return stop(qnnrt_session_error(session));
        times[i] = now_us() - begin;
    }
    qsort(times, runs, sizeof(*times), ascending);
    printf("run_us\t%.2f\n", times[runs / 2]);
    memset(&out, 0, sizeof(out));
    if (qnnrt_binding_get(binding, info->outputs[0].name, &out) != QNNRT_OK) return stop(qnnrt_session_error(session));
    file = fopen(argv[3], "wb");
    if (file == NULL || out.dtype != QNNRT_DTYPE_F32 || fwrite(out.data, 1, out.bytes, file) != out.bytes) {
        printf("failed\toutput of type 0x%x\n", (unsigned)out.dtype);
        return 1;
    }
    fclose(file);
    qnnrt_binding_destroy(binding);
    for (i = 0; i < input_count; ++i) free(values[i].data);
    free(times);
    return qnnrt_session_destroy(session) == QNNRT_OK ? 0 : 1;
}
