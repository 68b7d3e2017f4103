/* engine_run.c - run a model file through a session, with inputs from TensorProto files

       engine_run [--engine NAME] [--device NAME] [--library FILE] [--precision fp32|fp16|int8]
                  [--fallback] [--cache_dir DIR] [--bound] [--shape NAME=D,D,...] [--option KEY=VALUE]
                  [--output_dir DIR] MODEL [INPUT.pb ...]

   It prints the session, its inputs and outputs, and its warnings; with inputs it runs once (--bound: through a
   binding, three times, into memory of its own where the model fixes the shape), and writes each output to
   DIR/<number>.raw; strings end with a 0 there. Status 0: it ran; 2: an error, whose name is printed. */
#include "qnnrt_session.h"
#include "engines/qnnrt_engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static void failed(const qnnrt_error *err)
{
    printf("error %s %llu: %s\n", qnnrt_result_name(err->code), (unsigned long long)err->vendor_code, err->text);
    if (err->hint[0] != '\0') printf("hint: %s\n", err->hint);
    exit(2);
}

static void usage(const char *why)
{
    fprintf(stderr, "engine_run: %s\n", why);
    exit(1);
}

static void *room(size_t bytes)
{
    void *data = calloc(bytes + 1, 1);
    if (data == NULL) usage("out of memory");
    return data;
}

static unsigned char *slurp(const char *path, size_t *bytes)
{
    unsigned char *data;
    long size;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) usage(path);
    rewind(file);
    data = (unsigned char *)room((size_t)size);
    if (fread(data, 1, (size_t)size, file) != (size_t)size) usage(path);
    fclose(file);
    *bytes = (size_t)size;
    return data;
}

/* ---- TensorProto: dims 1, data_type 2, float_data 4, int32_data 5, string_data 6, int64_data 7,
        raw_data 9, double_data 10, uint64_data 11; inputs go by order, so its name (8) does not count ---- */

static uint64_t varint(const unsigned char **at, const unsigned char *end)
{
    uint64_t value = 0;
    int shift = 0;
    for (; *at < end && shift < 64; shift += 7) {
        const unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    usage("a damaged TensorProto");
    return 0;
}

static qnnrt_dtype dtype_of(uint64_t type, size_t *size)
{
    static const struct { qnnrt_dtype dtype; size_t size; } types[17] = {
        { QNNRT_DTYPE_UNDEFINED, 0 }, { QNNRT_DTYPE_F32, 4 }, { QNNRT_DTYPE_U8, 1 }, { QNNRT_DTYPE_I8, 1 },
        { QNNRT_DTYPE_U16, 2 }, { QNNRT_DTYPE_I16, 2 }, { QNNRT_DTYPE_I32, 4 }, { QNNRT_DTYPE_I64, 8 },
        { QNNRT_DTYPE_STRING, sizeof(char *) }, { QNNRT_DTYPE_BOOL8, 1 }, { QNNRT_DTYPE_F16, 2 },
        { QNNRT_DTYPE_F64, 8 }, { QNNRT_DTYPE_U32, 4 }, { QNNRT_DTYPE_U64, 8 }, { QNNRT_DTYPE_UNDEFINED, 0 },
        { QNNRT_DTYPE_UNDEFINED, 0 }, { QNNRT_DTYPE_BF16, 2 }
    };
    if (type > 16 || types[type].size == 0) usage("a TensorProto of a type that is not read");
    *size = types[type].size;
    return types[type].dtype;
}

/* Append an element, the lowest byte first. */
static void put(qnnrt_value *value, size_t size, uint64_t element)
{
    size_t i;
    for (i = 0; i < size; ++i) ((unsigned char *)value->data)[value->bytes++] = (unsigned char)(element >> (8 * i));
}

/* Append an element as it lies in the file. */
static void put_copy(qnnrt_value *value, const unsigned char *from, size_t size)
{
    memcpy((char *)value->data + value->bytes, from, size);
    value->bytes += size;
}

static qnnrt_value tensor(const char *path)
{
    qnnrt_value value;
    size_t bytes, size = 0, all = 1;
    const unsigned char *data = slurp(path, &bytes), *at = data, *end = data + bytes;
    uint32_t i;
    memset(&value, 0, sizeof value);
    value.dtype = QNNRT_DTYPE_UNDEFINED;
    /* The type and the dimensions first, then the elements. */
    for (i = 0; i < 2; ++i) {
        for (at = data; at < end;) {
            const uint64_t tag = varint(&at, end);
            uint64_t number = 0, length = 0;
            const unsigned char *field;
            const unsigned char *stop;
            switch (tag & 7) {
            case 0: number = varint(&at, end); break;
            case 1: length = 8; break;
            case 2: length = varint(&at, end); break;
            case 5: length = 4; break;
            default: usage("a damaged TensorProto");
            }
            if (length > (uint64_t)(end - at)) usage("a TensorProto that is cut short");
            field = at;
            at += length;
            stop = at;
            if (i == 0 && tag == (1 << 3 | 0)) value.dims[value.rank++] = (int64_t)number;
            if (i == 0 && tag == (1 << 3 | 2))
                while (field < stop) value.dims[value.rank++] = (int64_t)varint(&field, stop);
            if (value.rank >= QNNRT_SESSION_RANK) usage("a TensorProto of too many dimensions");
            if (i == 0 && tag == (2 << 3)) value.dtype = dtype_of(number, &size);
            if (i == 0) continue;
            switch (tag >> 3) {
            case 4: case 9: case 10: put_copy(&value, field, (size_t)length); break;
            case 5: case 7: case 11:
                if ((tag & 7) == 0) put(&value, size, number);
                while (field < stop) put(&value, size, varint(&field, stop));
                break;
            case 6: {
                char *text = (char *)room((size_t)length);
                memcpy(text, field, (size_t)length);
                put_copy(&value, (const unsigned char *)(const void *)&text, sizeof text);
                break;
            }
            }
        }
        if (i == 0) {
            uint32_t d;
            if (size == 0) usage("a TensorProto without a type");
            for (d = 0; d < value.rank; ++d) all *= (size_t)value.dims[d];
            value.data = room(all * size + bytes);
        }
    }
    if (value.bytes != all * size) usage("a TensorProto with too much or too little data");
    return value;
}

/* ---- the program ---- */

static void show(const char *what, const qnnrt_session_tensor *list, size_t count)
{
    size_t i;
    uint32_t d;
    for (i = 0; i < count; ++i) {
        printf("%s \"%s\" %s [", what, list[i].name, qnnrt_dtype_name(list[i].dtype));
        for (d = 0; d < list[i].rank; ++d) {
            const char *name = list[i].dim_names != NULL ? list[i].dim_names[d] : "";
            if (name[0] != '\0') printf("%s%s=%lld", d > 0 ? "," : "", name, (long long)list[i].dims[d]);
            else printf("%s%lld", d > 0 ? "," : "", (long long)list[i].dims[d]);
        }
        printf("]%s%s\n", list[i].optional ? " optional" : "", list[i].any_rank ? " any rank" : "");
    }
}

static void save(const char *folder, size_t index, const qnnrt_value *value)
{
    char path[4096];
    FILE *file;
    size_t i;
    uint32_t d;
    printf("result %lu \"%s\" %s", (unsigned long)index, value->name, qnnrt_dtype_name(value->dtype));
    printf(" [");
    for (d = 0; d < value->rank; ++d) printf("%s%lld", d > 0 ? "," : "", (long long)value->dims[d]);
    printf("] %lu\n", (unsigned long)value->bytes);
    if (folder == NULL) return;
    snprintf(path, sizeof path, "%s/%lu.raw", folder, (unsigned long)index);
    file = fopen(path, "wb");
    if (file == NULL) usage(path);
    if (value->dtype == QNNRT_DTYPE_STRING)
        for (i = 0; i < value->bytes / sizeof(char *); ++i) {
            const char *text = ((const char *const *)value->data)[i];
            fwrite(text, 1, strlen(text) + 1, file);
        }
    else if (value->bytes > 0) fwrite(value->data, 1, value->bytes, file);
    if (fclose(file) != 0) usage(path);
}

static void say(void *user, qnnrt_log_level level, const char *part, uint64_t code, const char *text)
{
    (void)user;
    (void)code;
    if (level <= QNNRT_LOG_WARN) printf("log %s: %s\n", part, text);
}

static void bound(qnnrt_session *session, qnnrt_value *inputs, size_t count, qnnrt_value *outputs, size_t out_count)
{
    qnnrt_binding *binding;
    qnnrt_error err;
    size_t i, bytes;
    const qnnrt_session_info *info = qnnrt_session_get_info(session);
    if (qnnrt_binding_create(session, &binding, &err) != QNNRT_OK) failed(&err);
    for (i = 0; i < count; ++i) {
        if (i < info->input_count) inputs[i].name = info->inputs[i].name;
        if (qnnrt_binding_input(binding, &inputs[i]) != QNNRT_OK) failed(qnnrt_session_error(session));
    }
    for (i = 0; i < out_count; ++i) {
        const qnnrt_session_tensor *fact = &info->outputs[i];
        memset(&outputs[i], 0, sizeof outputs[i]);
        outputs[i].name = fact->name;
        if (!fact->any_rank && fact->dtype != QNNRT_DTYPE_STRING &&
            qnnrt_session_bytes(fact->dtype, fact->rank, fact->dims, &bytes)) {
            outputs[i].data = room(bytes);
            outputs[i].bytes = bytes;
            outputs[i].rank = fact->rank;
            memcpy(outputs[i].dims, fact->dims, sizeof outputs[i].dims);
        }
        if (qnnrt_binding_output(binding, &outputs[i]) != QNNRT_OK) failed(qnnrt_session_error(session));
    }
    for (i = 0; i < 3; ++i)
        if (qnnrt_binding_run(binding) != QNNRT_OK) failed(qnnrt_session_error(session));
    for (i = 0; i < out_count; ++i) {
        const void *mine = outputs[i].data;
        if (qnnrt_binding_get(binding, info->outputs[i].name, &outputs[i]) != QNNRT_OK)
            failed(qnnrt_session_error(session));
        if (mine != NULL && outputs[i].data != mine) usage("an output is not where it was placed");
    }
}

int main(int argc, char **argv)
{
    const qnnrt_engine *engines[QNNRT_ENGINES];
    qnnrt_session_option options[MOST];
    qnnrt_session_shape shapes[MOST];
    qnnrt_value inputs[MOST], outputs[MOST];
    qnnrt_session_desc desc;
    qnnrt_session *session;
    qnnrt_error err;
    const qnnrt_session_info *info;
    const char *folder = NULL, *model = NULL;
    size_t count = 0, i;
    int k, with_binding = 0;
    memset(&desc, 0, sizeof desc);
    memset(shapes, 0, sizeof shapes);
    memset(inputs, 0, sizeof inputs);
    memset(outputs, 0, sizeof outputs);
    desc.engines = qnnrt_engines_default(engines);
    desc.engine = "onnxrt";
    desc.device = "cpu";
    desc.options = options;
    desc.shapes = shapes;
    desc.hooks.log = say;
    for (k = 1; k < argc; ++k) {
        const char *word = argv[k];
        char *value = k + 1 < argc ? argv[k + 1] : NULL, *equal;
        if (strncmp(word, "--", 2) != 0) {
            if (model == NULL) model = word;
            else if (count == MOST) usage("too many inputs");
            else inputs[count++] = tensor(word);
            continue;
        }
        if (strcmp(word, "--fallback") == 0) { desc.allow_fallback = 1; continue; }
        if (strcmp(word, "--bound") == 0) { with_binding = 1; continue; }
        if (value == NULL) usage("a value is missing");
        ++k;
        if (strcmp(word, "--engine") == 0) desc.engine = value;
        else if (strcmp(word, "--device") == 0) desc.device = value;
        else if (strcmp(word, "--output_dir") == 0) folder = value;
        else if (strcmp(word, "--cache_dir") == 0) desc.cache_dir = value;
        else if (strcmp(word, "--precision") == 0)
            desc.precision = strcmp(value, "fp32") == 0 ? QNNRT_PRECISION_FP32 :
                             strcmp(value, "fp16") == 0 ? QNNRT_PRECISION_FP16 : QNNRT_PRECISION_INT8;
        else if (desc.option_count == MOST || desc.shape_count == MOST) usage("too many options");
        else if (strcmp(word, "--library") == 0) {
            options[desc.option_count].engine = NULL;
            options[desc.option_count].key = "library_path";
            options[desc.option_count++].value = value;
        } else if (strcmp(word, "--option") == 0 || strcmp(word, "--shape") == 0) {
            equal = strchr(value, '=');
            if (equal == NULL) usage("expected NAME=VALUE");
            *equal++ = '\0';
            if (strcmp(word, "--option") == 0) {
                options[desc.option_count].engine = NULL;
                options[desc.option_count].key = value;
                options[desc.option_count++].value = equal;
            } else {
                qnnrt_session_shape *shape = &shapes[desc.shape_count++];
                shape->name = value;
                for (; *equal != '\0' && shape->rank < QNNRT_SESSION_RANK; equal += *equal == ',')
                    shape->dims[shape->rank++] = strtoll(equal, &equal, 10);
                /* A value that ends with a comma is for a dimension. */
                if (shape->rank == 1 && equal[-1] != ',') shape->rank = 0;
            }
        } else usage(word);
    }
    if (model == NULL) usage("no model");
    if (qnnrt_session_create(model, &desc, &session, &err) != QNNRT_OK) failed(&err);
    info = qnnrt_session_get_info(session);
    printf("%s\nlibrary %s %s\n", info->text, info->engine_version, info->library);
    if (info->fallback != NULL) printf("fallback %s\n", info->fallback);
    printf("cache %s\n", info->cache);
    for (i = 0; i < info->warning_count; ++i) printf("warning %s\n", info->warnings[i]);
    show("input", info->inputs, info->input_count);
    show("output", info->outputs, info->output_count);
    if (info->output_count > MOST) usage("too many outputs");
    if (count > 0 || info->input_count == 0) {
        if (with_binding) bound(session, inputs, count, outputs, info->output_count);
        else if (qnnrt_session_run(session, inputs, count, outputs, info->output_count) != QNNRT_OK)
            failed(qnnrt_session_error(session));
        for (i = 0; i < info->output_count; ++i) save(folder, i, &outputs[i]);
    }
    return 0;   /* the process ends: nothing is freed */
}
