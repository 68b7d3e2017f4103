/* Run any model wherever it can run: a folder of context binaries, a graph to compile (.json),
   .onnx or .xml, on the NPU or on the CPU, with whichever engine has a library here.

       09_session MODEL [device=npu|cpu|..] [engine=NAME] [cache=DIR] [fallback=1] [ENGINE.KEY=VALUE]

   For example, after `make run BACKEND=htp`:

       build/examples/09_session tests/data/ctx/qairt2.51/mlp_u8 \
           qnn.npu_path=build/qnn/2.51/onnxruntime_qnn/libQnnHtp.so

   It prints what was chosen and why, the inputs and outputs, and a summary of what one run with
   zeros gives. A real program fills the inputs; the rest stays as it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QNNRT_ENGINES_IMPLEMENTATION
#include "tools/engines/qnnrt_engines.h"

enum { MOST_OPTIONS = 32 };

static int fail(const qnnrt_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    if (err->cause != NULL)
        fprintf(stderr, "likely cause: %s\n", err->cause);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
    return 1;
}

/* Read KEY=VALUE into the description of the session. Return 0 if it is something else. */
static int take(qnnrt_session_desc *desc, qnnrt_session_option *options, char *word)
{
    char *value = strchr(word, '='), *dot = strchr(word, '.');
    if (value == NULL)
        return 0;
    *value++ = '\0';
    if (strcmp(word, "device") == 0) {
        desc->device = value;
    } else if (strcmp(word, "engine") == 0) {
        desc->engine = value;
    } else if (strcmp(word, "cache") == 0) {
        desc->cache_dir = value;
    } else if (strcmp(word, "fallback") == 0) {
        desc->allow_fallback = value[0] == '1';
    } else if (dot != NULL && desc->option_count < MOST_OPTIONS) {
        *dot = '\0';
        options[desc->option_count].engine = word;
        options[desc->option_count].key = dot + 1;
        options[desc->option_count++].value = value;
    } else {
        return 0;
    }
    return 1;
}

static void print_tensors(const char *what, const qnnrt_session_tensor *list, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        printf("%-9s %s: %s [", what, list[i].name, qnnrt_dtype_name(list[i].dtype));
        for (uint32_t k = 0; k < list[i].rank; ++k)
            printf("%s%lld", k > 0 ? ", " : "", (long long)list[i].dims[k]);
        printf("]\n");
    }
}

/* What was chosen, and why everything before it was not. */
static void print_choice(const qnnrt_session_info *info)
{
    printf("%s\n", info->text);
    for (size_t i = 0; i < info->candidate_count; ++i)
        printf("%-9s %s on %s: %s\n", info->candidates[i].taken ? "taken" : "not taken",
               info->candidates[i].engine, info->candidates[i].device, info->candidates[i].reason);
    for (size_t i = 0; i < info->warning_count; ++i)
        printf("warning   %s\n", info->warnings[i]);
    if (info->fallback != NULL)
        printf("fallback  %s\n", info->fallback);
    printf("engine    %s %s\n", info->engine, info->engine_version);
    printf("library   %s\n", info->library);
    printf("cache     %s\n", info->cache);
    print_tensors("input", info->inputs, info->input_count);
    print_tensors("output", info->outputs, info->output_count);
}

static void print_output(const qnnrt_value *value)
{
    printf("%s:", value->name);
    if (value->dtype == QNNRT_DTYPE_F32 && value->bytes > 0) {
        const float *f = (const float *)value->data;
        const size_t count = value->bytes / sizeof(*f);
        size_t best = 0;
        double sum = 0;
        for (size_t i = 0; i < count; ++i) {
            sum += (double)f[i];
            if (f[i] > f[best])
                best = i;
        }
        printf(" %lu values, mean %g, largest %g at %lu\n", (unsigned long)count,
                   sum / (double)count, (double)f[best], (unsigned long)best);
    } else {
        printf(" %lu bytes of %s\n", (unsigned long)value->bytes, qnnrt_dtype_name(value->dtype));
    }
}

/* Run once with zeros. Dimensions that the model leaves open are 1. */
static int run(qnnrt_session *session)
{
    const qnnrt_session_info *info = qnnrt_session_get_info(session);
    qnnrt_value *inputs = (qnnrt_value *)calloc(info->input_count + 1, sizeof(*inputs));
    qnnrt_value *outputs = (qnnrt_value *)calloc(info->output_count + 1, sizeof(*outputs));
    int ok = inputs != NULL && outputs != NULL;
    for (size_t i = 0; i < info->input_count && ok; ++i) {
        const qnnrt_session_tensor *tensor = &info->inputs[i];
        inputs[i].name = tensor->name;
        inputs[i].dtype = tensor->dtype;
        inputs[i].rank = tensor->rank;
        for (uint32_t k = 0; k < tensor->rank; ++k)
            inputs[i].dims[k] = tensor->dims[k] < 0 ? 1 : tensor->dims[k];
        ok = qnnrt_session_bytes(inputs[i].dtype, inputs[i].rank, inputs[i].dims, &inputs[i].bytes);
        inputs[i].data = ok ? calloc(inputs[i].bytes + 1, 1) : NULL;
        ok = inputs[i].data != NULL;
    }
    /* A zero among strings is an empty one. */
    for (size_t i = 0; i < info->input_count && ok; ++i)
        if (inputs[i].dtype == QNNRT_DTYPE_STRING)
            for (size_t k = 0; k < inputs[i].bytes / sizeof(char *); ++k)
                ((const char **)inputs[i].data)[k] = "";
    /* An output without data: the engine finds the memory. */
    for (size_t i = 0; i < info->output_count && ok; ++i)
        outputs[i].name = info->outputs[i].name;
    if (!ok)
        fprintf(stderr, "out of memory\n");
    else if (qnnrt_session_run(session, inputs, info->input_count, outputs, info->output_count)
             != QNNRT_OK)
        ok = !fail(qnnrt_session_error(session));
    for (size_t i = 0; i < info->output_count && ok; ++i)
        print_output(&outputs[i]);
    for (size_t i = 0; i < info->input_count && inputs != NULL; ++i)
        free(inputs[i].data);
    free(inputs);
    free(outputs);
    return ok;
}

int main(int argc, char **argv)
{
    const qnnrt_engine *engines[QNNRT_ENGINES];
    qnnrt_session_option options[MOST_OPTIONS];
    qnnrt_session_desc desc = {0};
    qnnrt_session *session;
    qnnrt_error err;
    int ok = argc > 1 && argv[1][0] != '-';

    desc.engines = qnnrt_engines_default(engines);
    desc.options = options;
    for (int i = 2; i < argc && ok; ++i)
        if (!take(&desc, options, argv[i])) {
            fprintf(stderr, "\"%s\" is no setting: expected one of those below\n", argv[i]);
            ok = 0;
        }
    if (!ok) {
        fprintf(stderr, "usage: 09_session MODEL [device=npu|cpu|..] [engine=NAME] [cache=DIR]"
                        " [fallback=1] [ENGINE.KEY=VALUE]\n");
        return 2;
    }
    if (qnnrt_session_create(argv[1], &desc, &session, &err) != QNNRT_OK)
        return fail(&err);
    print_choice(qnnrt_session_get_info(session));
    ok = run(session);
    qnnrt_session_destroy(session);
    return ok ? 0 : 1;
}
