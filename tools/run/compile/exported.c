/* exported.c - folders that qnnrt.export() writes, and torch's results in them

   ROOM     >>exported */
#include "run/compile/exported.h"
#include "run/io/io.h"

#include "cli/stages.h"

/* =====================================================================================
   EXPORTED                                                                     >>exported
   A folder with graph.json, weights.safetensors and samples.safetensors: sample inputs of the model
   and what torch computes from them, in tensors such as "0/input/x" and "0/output/y".
   ===================================================================================== */

int exported_is(const char *path)
{
    OWNED char *graph = cli_text("%s/" EXPORTED_GRAPH, path);
    return cli_is_folder(path) && access(graph, F_OK) == 0;
}

char *exported_name(const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') --end;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') --begin;
    const int plain = end > begin && path[begin] != '.' && path[begin] != '/';
    return plain ? cli_text("%.*s", (int)(end - begin), path + begin) : cli_text("graph");
}

/* Return the value of a key in the metadata of the samples, or NULL. */
static const char *exported_fact(const qnnrt_weights *samples, const char *key)
{
    const qnnrt_weights_info *info = qnnrt_weights_get_info(samples);
    for (size_t i = 0; i < info->metadata_count; ++i)
        if (strcmp(info->metadata[i].key, key) == 0) return info->metadata[i].value;
    return NULL;
}

int exported_open(tool *t, const char *folder, exported_samples *s)
{
    qnnrt_error err;
    memset(s, 0, sizeof(*s));
    s->computed_in = "";
    if (folder == NULL) return 1;
    OWNED char *path = cli_text("%s/" EXPORTED_SAMPLES, folder);
    if (access(path, F_OK) != 0) return 1;
    if (qnnrt_weights_open(path, NULL, &s->file, &err) != QNNRT_OK) {
        fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        return 0;
    }
    const qnnrt_weights_info *info = qnnrt_weights_get_info(s->file);
    for (size_t i = 0; i < info->count; ++i) {
        const uint64_t number = strtoul(info->weights[i].name, NULL, 10);
        if (number >= s->count && number < UINT32_MAX) s->count = (uint32_t)number + 1;
        s->inner |= strstr(info->weights[i].name, "/node/") != NULL;
    }
    const char *error = exported_fact(s->file, "float16_error");
    const char *computed_in = exported_fact(s->file, "computed_in");
    if (error != NULL) s->float16_error = strtod(error, NULL);
    if (!(s->float16_error >= 0)) s->float16_error = 0;
    if (computed_in != NULL) s->computed_in = computed_in;
    return 1;
}

void exported_close(exported_samples *s)
{
    qnnrt_weights_close(s->file);
    memset(s, 0, sizeof(*s));
}

/* Convert the elements of a tensor. Return 0 after filling the error. */
static int exported_convert(const qnnrt_weight *tensor, double *out, qnnrt_error *err)
{
    const size_t count = (size_t)tensor->count;
    const int floats = value_is_float(tensor->dtype);
    OWNED int64_t *whole = cli_alloc(floats ? 1 : count, sizeof(*whole));
    void *data = floats ? (void *)out : (void *)whole;
    if (qnnrt_weights_convert(tensor, floats ? QNNRT_DTYPE_F64 : QNNRT_DTYPE_I64, data,
                              count * 8, NULL, err) != QNNRT_OK) return 0;
    for (size_t i = 0; i < count && !floats; ++i) out[i] = (double)whole[i];
    return 1;
}

int exported_get(tool *t, const exported_samples *s, uint32_t number, const char *kind,
                const qnnrt_ir_value *value, double *out)
{
    OWNED char *name = cli_text("%lu/%s/%s", (unsigned long)number, kind, value->name);
    const qnnrt_weight *tensor = qnnrt_weights_find(s->file, name);
    qnnrt_error err;
    if (tensor == NULL) return 0;
    int same = tensor->rank == value->rank && tensor->count == value->count;
    for (uint32_t i = 0; i < value->rank && same; ++i)
        same = tensor->dims[i] == (uint64_t)value->dims[i];
    if (!same) {
        fail(t, NULL, "Export the model again.",
             "%s: \"%s\" has another shape than in the graph", tensor->file, name);
        return -1;
    }
    if (exported_convert(tensor, out, &err)) return 1;
    fail(t, NULL, cli_hint(&err), "%s: %s", tensor->file, cli_told(&err));
    return -1;
}
