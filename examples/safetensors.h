/* safetensors.h - read the float32 tensors of a .safetensors file

       safetensors file;
       char error[SAFETENSORS_ERROR];
       if (!safetensors_read("model.safetensors", &file, error)) { puts(error); return 1; }
       const uint64_t shape[2] = { 256, 128 };
       const float *weights = safetensors_find(&file, "lm_head.weight", 2, shape, error);
       ...
       safetensors_free(&file);

   The file has eight bytes with the size of a JSON text, then that text, then the bytes of the
   tensors. The file may be hostile: each float32 tensor must lie within the file, and its bytes
   must fit its shape. This header needs a little-endian machine and qnnrt_json.h (including
   qnnrt.h is enough). */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qnnrt_json.h"

/* Limits: a larger file is an error. */
enum { SAFETENSORS_RANK = 4, SAFETENSORS_NAME = 128, SAFETENSORS_TENSORS = 8192,
       SAFETENSORS_ERROR = 512 };
#define SAFETENSORS_FILE_BYTES ((uint64_t)1 << 30)

typedef struct safetensors_tensor {
    char         name[SAFETENSORS_NAME];
    const float *values;
    uint32_t     rank;
    uint64_t     shape[SAFETENSORS_RANK];
} safetensors_tensor;

typedef struct safetensors {
    char               *header;                         /* the JSON text */
    float              *values;                         /* the bytes after it */
    safetensors_tensor *tensors;
    size_t              count, room;
} safetensors;

static int safetensors_fail(char *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error, SAFETENSORS_ERROR, format, args);
    va_end(args);
    return 0;
}

/* Read a list of numbers, the first `room` of them into out. Return their count, room + 1 if there
   are more, or -1 if the value is not a list of numbers. */
static int safetensors_numbers(qnnrt_json_reader *r, uint64_t *out, int room)
{
    int count = 0;
    if (qnnrt_json_value(r) != QNNRT_JSON_ARRAY)
        return -1;
    while (qnnrt_json_more(r)) {
        uint64_t number;
        if (!qnnrt_json_value_u64(r, &number))
            return -1;
        if (count < room)
            out[count] = number;
        if (count <= room)
            ++count;
    }
    return r->error == NULL ? count : -1;
}

static int safetensors_add(safetensors *file, const safetensors_tensor *tensor, char *error)
{
    for (size_t i = 0; i < file->count; ++i)
        if (strcmp(file->tensors[i].name, tensor->name) == 0)
            return safetensors_fail(error, "tensor \"%s\" occurs twice", tensor->name);
    if (file->count == SAFETENSORS_TENSORS)
        return safetensors_fail(error, "it has more than %d tensors", SAFETENSORS_TENSORS);
    if (file->count == file->room) {
        size_t room = file->room != 0 ? 2 * file->room : 64;
        void *more = realloc(file->tensors, room * sizeof(safetensors_tensor));
        if (more == NULL)
            return safetensors_fail(error, "out of memory");
        file->tensors = (safetensors_tensor *)more;
        file->room = room;
    }
    file->tensors[file->count++] = *tensor;
    return 1;
}

/* Read {"dtype": "F32", "shape": [256, 128], "data_offsets": [0, 131072]}; skip other dtypes. */
static int safetensors_entry(safetensors *file, qnnrt_json_reader *r, uint64_t body, char *error)
{
    safetensors_tensor tensor = {0};
    uint64_t offsets[2] = {0}, elements = 1;
    int is_float = 0, rank = 0, ends = 0;

    if (r->key.bytes >= SAFETENSORS_NAME)
        return safetensors_fail(error, "a tensor name has %lu bytes, more than %d",
                                (unsigned long)r->key.bytes, SAFETENSORS_NAME - 1);
    qnnrt_json_copy(&r->key, tensor.name);
    if (qnnrt_json_value(r) != QNNRT_JSON_OBJECT)
        return safetensors_fail(error, "\"%s\" is not an object", tensor.name);
    while (qnnrt_json_more(r)) {
        if (qnnrt_json_is(&r->key, "dtype"))
            is_float = qnnrt_json_value(r) == QNNRT_JSON_STRING && qnnrt_json_is(&r->value, "F32");
        else if (qnnrt_json_is(&r->key, "shape"))
            rank = safetensors_numbers(r, tensor.shape, SAFETENSORS_RANK);
        else if (qnnrt_json_is(&r->key, "data_offsets"))
            ends = safetensors_numbers(r, offsets, 2);
        if (rank < 0 || ends < 0)
            return safetensors_fail(error, "\"%s\": expected a list of numbers", tensor.name);
        if (!qnnrt_json_skip(r))
            return 0;  /* the caller reports r->error */
    }
    if (r->error != NULL || !is_float)
        return r->error == NULL;
    if (rank > SAFETENSORS_RANK)
        return safetensors_fail(error, "\"%s\" has more than %d dims", tensor.name,
                                SAFETENSORS_RANK);
    if (ends != 2)
        return safetensors_fail(error, "\"%s\": expected two data_offsets", tensor.name);
    for (int i = 0; i < rank; ++i) {
        if (tensor.shape[i] != 0 && elements > SAFETENSORS_FILE_BYTES / tensor.shape[i])
            return safetensors_fail(error, "\"%s\" has more than 1 GiB", tensor.name);
        elements *= tensor.shape[i];
    }
    if (offsets[0] > offsets[1] || offsets[1] > body || offsets[0] % sizeof(float) != 0 ||
        offsets[1] - offsets[0] != elements * sizeof(float))
        return safetensors_fail(error, "\"%s\": bytes %llu to %llu of %llu do not hold %llu values",
                                tensor.name, (unsigned long long)offsets[0],
                                (unsigned long long)offsets[1], (unsigned long long)body,
                                (unsigned long long)elements);
    tensor.rank = (uint32_t)rank;
    tensor.values = file->values + offsets[0] / sizeof(float);
    return safetensors_add(file, &tensor, error);
}

static void safetensors_free(safetensors *file)
{
    free(file->header);
    free(file->values);
    free(file->tensors);
    memset(file, 0, sizeof *file);
}

static int safetensors_parse(safetensors *file, FILE *stream, char *error)
{
    unsigned char size[8];
    uint64_t header = 0, total;
    qnnrt_json_reader r;
    long end;

    if (fseek(stream, 0, SEEK_END) != 0 || (end = ftell(stream)) < 0 ||
        fseek(stream, 0, SEEK_SET) != 0)
        return safetensors_fail(error, "it cannot be read");
    total = (uint64_t)end;
    if (total > SAFETENSORS_FILE_BYTES)
        return safetensors_fail(error, "it has more than 1 GiB");
    if (fread(size, 1, sizeof size, stream) != sizeof size)
        return safetensors_fail(error, "it has less than 8 bytes");
    for (int i = 7; i >= 0; --i)
        header = header << 8 | size[i];
    if (header > total - sizeof size)
        return safetensors_fail(error, "its header needs %llu bytes, the file has %llu",
                                (unsigned long long)header, (unsigned long long)total);
    total -= sizeof size + header;
    file->header = (char *)malloc((size_t)header + 1);
    file->values = (float *)malloc((size_t)total + 1);
    if (file->header == NULL || file->values == NULL)
        return safetensors_fail(error, "out of memory");
    if (fread(file->header, 1, (size_t)header, stream) != header ||
        fread(file->values, 1, (size_t)total, stream) != total)
        return safetensors_fail(error, "it cannot be read to its end");

    qnnrt_json_begin(&r, file->header, (size_t)header, NULL);
    if (qnnrt_json_value(&r) != QNNRT_JSON_OBJECT)
        return safetensors_fail(error, "its header is not a JSON object");
    while (qnnrt_json_more(&r)) {
        int fine = qnnrt_json_is(&r.key, "__metadata__")
                       ? qnnrt_json_skip(&r) : safetensors_entry(file, &r, total, error);
        if (!fine && r.error == NULL)
            return 0;
    }
    if (qnnrt_json_end(&r))
        return 1;
    return safetensors_fail(error, "its header, byte %lu: %s", (unsigned long)r.error_at, r.error);
}

/* Read a file. Return 1, or 0 and a text in error; then there is nothing to free. */
static int safetensors_read(const char *path, safetensors *file, char error[SAFETENSORS_ERROR])
{
    char reason[SAFETENSORS_ERROR] = "it cannot be opened";
    FILE *stream = fopen(path, "rb");
    int fine;
    memset(file, 0, sizeof *file);
    fine = stream != NULL && safetensors_parse(file, stream, reason);
    if (stream != NULL)
        fclose(stream);
    if (fine)
        return 1;
    safetensors_free(file);
    return safetensors_fail(error, "%.200s: %.290s", path, reason);
}

/* Return the values of a tensor that must have this shape, or NULL and a text in error. */
static const float *safetensors_find(const safetensors *file, const char *name, uint32_t rank,
                                     const uint64_t *shape, char error[SAFETENSORS_ERROR])
{
    uint32_t d;
    for (size_t i = 0; i < file->count; ++i) {
        const safetensors_tensor *tensor = &file->tensors[i];
        if (strcmp(tensor->name, name) != 0)
            continue;
        for (d = 0; d < rank && tensor->rank == rank && tensor->shape[d] == shape[d]; ++d) {}
        if (d == rank && tensor->rank == rank)
            return tensor->values;
        safetensors_fail(error, "tensor \"%s\" has another shape than config.json says", name);
        return NULL;
    }
    safetensors_fail(error, "no float32 tensor \"%s\" in the file", name);
    return NULL;
}

#endif
