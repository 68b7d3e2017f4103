/* value_files.c - files of values: raw, .npy and .safetensors

   ROOM     >>value_files */
#include "run/io/io.h"

#include <math.h>
#include <strings.h>
#include <sys/stat.h>

/* =====================================================================================
   VALUE FILES                                                              >>value_files
   Files of tensors, known by their names: .npy, .safetensors, and raw bytes in any other. One
   reader and one writer.
   ===================================================================================== */

int value_suffix(const char *path, const char *suffix)
{
    const size_t length = strlen(path), bytes = strlen(suffix);
    return length > bytes && strcasecmp(path + length - bytes, suffix) == 0;
}

int value_fail(qnnrt_error *err, const char *hint, const char *format, ...)
{
    va_list list;
    memset(err, 0, sizeof(*err));
    err->code = QNNRT_E_FORMAT;
    va_start(list, format);
    vsnprintf(err->text, sizeof(err->text), format, list);
    va_end(list);
    snprintf(err->hint, sizeof(err->hint), "%s", hint);
    return 0;
}

/* ---- .npy ---- */

static const struct { const char *word; qnnrt_dtype dtype; } npy_types[] = {
    {"<f4", QNNRT_DTYPE_F32}, {"<f8", QNNRT_DTYPE_F64}, {"<f2", QNNRT_DTYPE_F16},
    {"<i8", QNNRT_DTYPE_I64}, {"<i4", QNNRT_DTYPE_I32}, {"<i2", QNNRT_DTYPE_I16},
    {"|i1", QNNRT_DTYPE_I8}, {"<u8", QNNRT_DTYPE_U64}, {"<u4", QNNRT_DTYPE_U32},
    {"<u2", QNNRT_DTYPE_U16}, {"|u1", QNNRT_DTYPE_U8}, {"|b1", QNNRT_DTYPE_BOOL8}
};
enum { NPY_TYPES = sizeof(npy_types) / sizeof(npy_types[0]) };

const char *npy_read(value_file *file)
{
    const unsigned char *data = (const unsigned char *)file->room;
    char head[1024];
    size_t length, at = 10;
    if (file->bytes < 12 || memcmp(data, "\x93NUMPY", 6) != 0) return "it is no .npy file";
    length = data[8] + 256u * data[9];
    if (data[6] > 1) {
        length += 65536u * data[10] + 16777216u * (size_t)data[11];
        at = 12;
    }
    if (length >= sizeof(head) || length > file->bytes - at)
        return "its head is cut short or too long";
    memcpy(head, data + at, length);
    head[length] = '\0';
    const char *type = strstr(head, "'descr':"), *shape = strstr(head, "'shape':");
    if (type == NULL || shape == NULL) return "its head lacks descr or shape";
    if (strstr(head, "'fortran_order': True") != NULL) return "its order is Fortran's";
    type += 8;
    type += strcspn(type, "'\"\n");
    for (size_t i = 0; *type != '\0' && i < NPY_TYPES; ++i)
        if (strncmp(type + 1, npy_types[i].word, 3) == 0) file->dtype = npy_types[i].dtype;
    if (file->dtype == QNNRT_DTYPE_UNDEFINED)
        return "its type is none of f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 and b1";
    shape += strcspn(shape, "(");
    if (*shape++ != '(') return "its shape is damaged";
    file->count = 1;
    while (*shape != ')') {
        uint64_t dim = 0;
        if (*shape == ' ' || *shape == ',') { ++shape; continue; }
        if (*shape < '0' || *shape > '9' || file->rank == VALUE_RANK) return "its shape is damaged";
        while (*shape >= '0' && *shape <= '9' && dim < VALUE_BYTES)
            dim = 10 * dim + (uint64_t)(*shape++ - '0');
        if (dim >= VALUE_BYTES || (dim != 0 && file->count > VALUE_BYTES / dim))
            return "its shape is too large";
        file->dims[file->rank++] = dim;
        file->count *= dim;
    }
    file->data = file->room + at + length;
    file->bytes -= at + length;
    if (file->count * value_size(file->dtype) != file->bytes)
        return "its size is not that of its shape";
    return NULL;
}

/* Return the head of an .npy file. The caller frees its data. */
static page npy_head(qnnrt_dtype dtype, uint32_t rank, const uint32_t *dims)
{
    page p = {NULL, 0, 0};
    OWNED page head = {NULL, 0, 0};
    size_t type = 0;
    while (type < NPY_TYPES && npy_types[type].dtype != dtype) ++type;
    if (type == NPY_TYPES) return p;
    page_add(&head, "{'descr': '%s', 'fortran_order': False, 'shape': (", npy_types[type].word);
    for (uint32_t i = 0; i < rank; ++i)
        page_add(&head, "%s%lu%s", i > 0 ? " " : "", (unsigned long)dims[i],
                 i + 1 < rank || rank == 1 ? "," : "");
    page_text(&head, "), }");
    while ((10 + head.used + 1) % 64 != 0) page_text(&head, " ");
    page_text(&head, "\n");
    const char begin[10] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(head.used & 255),
                            (char)(head.used >> 8)};
    page_bytes(&p, begin, sizeof(begin));
    page_bytes(&p, head.data, head.used);
    return p;
}

/* ---- reading ---- */

void value_close(value_file *file)
{
    free(file->room);
    qnnrt_weights_close(file->weights);
    memset(file, 0, sizeof(*file));
}

int value_find(const qnnrt_weights *weights, const char *name, value_file *file, qnnrt_error *err)
{
    const qnnrt_weights_info *info = qnnrt_weights_get_info(weights);
    const qnnrt_weight *weight = qnnrt_weights_find(weights, name);
    if (weight == NULL && info->count == 1) weight = &info->weights[0];
    if (weight == NULL)
        return value_fail(err, "Name the tensors of the file as the model does.",
                          "it has no tensor \"%s\" among its %lu", name,
                          (unsigned long)info->count);
    if (weight->rank > VALUE_RANK || weight->dtype == QNNRT_DTYPE_UNDEFINED || weight->block != 0)
        return value_fail(err, "Store it as one of F64, F32, F16, BF16, I8 to U64 and BOOL.",
                          "its type \"%s\" cannot be read", weight->type);
    file->dtype = weight->dtype;
    file->rank = weight->rank;
    for (uint32_t i = 0; i < weight->rank; ++i) file->dims[i] = weight->dims[i];
    file->count = weight->count;
    file->data = weight->data;
    file->bytes = (size_t)weight->bytes;
    return 1;
}

static int value_open_weights(const char *path, const char *name, value_file *file,
                              qnnrt_error *err)
{
    return qnnrt_weights_open(path, NULL, &file->weights, err) == QNNRT_OK &&
           value_find(file->weights, name, file, err);
}

int value_open(const char *path, const char *name, size_t most, value_file *file, qnnrt_error *err)
{
    memset(file, 0, sizeof(*file));
    file->dtype = QNNRT_DTYPE_UNDEFINED;
    if (value_suffix(path, ".safetensors")) return value_open_weights(path, name, file, err);
    file->data = file->room = cli_read_file(path, most, &file->bytes);
    if (file->room == NULL) {
        const int why = errno;
        struct stat status;
        if (why == EFBIG && stat(path, &status) == 0 && S_ISREG(status.st_mode))
            return value_fail(err, "Write the values of this tensor alone.",
                              "it has %llu bytes, more than %llu",
                              (unsigned long long)status.st_size, (unsigned long long)most);
        return value_fail(err, "Check the name.", "%s",
                          why == EFBIG ? "it is too long" : strerror(why));
    }
    const char *reason = value_suffix(path, ".npy") ? npy_read(file) : NULL;
    if (reason == NULL) return 1;
    return value_fail(err, "Write it with numpy.save(), in C order and little-endian.", "%s",
                      reason);
}

int value_fits(const value_file *file, uint32_t rank, const uint32_t *dims)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < file->rank; ++i) {
        if (file->dims[i] == 1) continue;
        while (at < rank && dims[at] == 1) ++at;
        if (at == rank || dims[at++] != file->dims[i]) return 0;
    }
    while (at < rank && dims[at] == 1) ++at;
    return at == rank;
}

char *value_dims(const value_file *file)
{
    int64_t shape[VALUE_RANK];
    page p = {NULL, 0, 0};
    for (uint32_t i = 0; i < file->rank; ++i) shape[i] = (int64_t)file->dims[i];
    page_dims(&p, file->rank, shape);
    return p.data;
}

/* True for types of real numbers, which take a float32 file without --input_data_type. */
static int takes_float_file(const qnnrt_tensor_info *tensor)
{
    return tensor->quant.encoding == QNNRT_ENCODING_PER_TENSOR ||
        tensor->quant.encoding == QNNRT_ENCODING_PER_AXIS ||
           tensor->dtype == QNNRT_DTYPE_F16 || tensor->dtype == QNNRT_DTYPE_BF16;
}

int value_raw_fits(uint64_t bytes, const qnnrt_tensor_info *tensor, number_form form,
                   int *real, qnnrt_error *err)
{
    const uint64_t floats = tensor->count * sizeof(float), native = tensor->bytes;
    const int wants_float = form == FORM_FLOAT;
    char facts[512];
    *real = bytes == floats && (wants_float || (bytes != native && takes_float_file(tensor)));
    if (*real || (bytes == native && !wants_float)) return 1;
    value_fail(err, wants_float && bytes == native ? "Leave out --input_data_type float."
                    : !wants_float && bytes == floats ? "Add --input_data_type float."
                                                      : "Write one value for each element.",
               "it has %llu bytes; \"%s\" (%s) takes %llu bytes", (unsigned long long)bytes,
               tensor->name, qnnrt_tensor_text(tensor, facts, sizeof(facts)),
               (unsigned long long)native);
    const size_t used = strlen(err->text);
    if (native != floats)
        snprintf(err->text + used, sizeof(err->text) - used, " native or %llu bytes float32",
                 (unsigned long long)floats);
    return 0;
}

int takes_whole_numbers(const qnnrt_tensor_info *tensor)
{
    return tensor->quant.encoding == QNNRT_ENCODING_NONE && !value_is_float(tensor->dtype) &&
           value_stored(tensor->dtype) == tensor->dtype && value_size(tensor->dtype) != 0;
}

/* Check that float32 values are whole numbers that a tensor can hold. Return 0 with an error. */
static int value_whole(const float *values, const qnnrt_tensor_info *tensor, qnnrt_error *err)
{
    OWNED int64_t *whole = cli_alloc((size_t)tensor->count, sizeof(*whole));
    OWNED void *stored = cli_alloc((size_t)tensor->count, value_size(tensor->dtype));
    uint64_t i = 0, lost = 0;
    for (; i < tensor->count; ++i) {
        const float x = values[i];
        if (!(fabsf(x) < 9e18f) || x != floorf(x)) break;
        whole[i] = (int64_t)x;
    }
    if (i == tensor->count && value_convert_counted(QNNRT_DTYPE_I64, whole, tensor->dtype, stored,
                                                    tensor->count, &lost) && lost > 0)
        value_fail(err, "Write numbers that this type can hold.",
                   "%llu of %llu values do not fit into %s of \"%s\"", (unsigned long long)lost,
                   (unsigned long long)tensor->count, qnnrt_dtype_name(tensor->dtype),
                   tensor->name);
    if (i < tensor->count)
        value_fail(err, !(fabsf(values[i]) >= 1e-30f)
                   ? "Give this file as native: these bytes look like integers."
                   : "Write whole numbers, as float32 or in the tensor's own type.",
                   "as float32, value %llu is %g; \"%s\" (%s) takes whole numbers",
                   (unsigned long long)i, (double)values[i], tensor->name,
                   qnnrt_dtype_name(tensor->dtype));
    return i == tensor->count && lost == 0;
}

int value_take(const value_file *file, const qnnrt_tensor_info *tensor, number_form form,
               void *out, int *real, qnnrt_error *err)
{
    const qnnrt_dtype stored = value_stored(tensor->dtype);
    uint64_t lost = 0;
    if (file->dtype == QNNRT_DTYPE_UNDEFINED) {
        if (!value_raw_fits(file->bytes, tensor, form, real, err)) return 0;
        memcpy(out, file->data, file->bytes);
        return !*real || !takes_whole_numbers(tensor) || value_whole(out, tensor, err);
    }
    if (file->count != tensor->count || !value_fits(file, tensor->rank, tensor->dims)) {
        char *dims = value_dims(file), facts[512];
        value_fail(err, "Write the values with the tensor's shape.",
                   "its shape is %s, %llu values; \"%s\" (%s) takes %llu", dims,
                   (unsigned long long)file->count, tensor->name,
                   qnnrt_tensor_text(tensor, facts, sizeof(facts)),
                   (unsigned long long)tensor->count);
        free(dims);
        return 0;
    }
    const int floats = value_is_float(file->dtype);
    *real = (floats && !value_is_float(stored)) || (form == FORM_FLOAT && stored != tensor->dtype);
    if (floats && *real && stored == tensor->dtype && form != FORM_FLOAT)
        return value_fail(err, "Write the values as integers, or add --input_data_type float.",
                          "it holds %s values; \"%s\" takes %s",
                          qnnrt_dtype_name(file->dtype), tensor->name,
                          qnnrt_dtype_name(tensor->dtype));
    if (*real) {
        OWNED double *wide = cli_alloc((size_t)file->count, sizeof(*wide));
        const int good = value_get(file->dtype, file->data, wide, file->count) &&
                         value_put(QNNRT_DTYPE_F32, wide, out, file->count);
        if (good) return !takes_whole_numbers(tensor) || value_whole(out, tensor, err);
    } else if (floats == value_is_float(stored) && value_size(stored) != 0 &&
               value_convert_counted(file->dtype, file->data, stored, out, file->count, &lost)) {
        if (lost == 0 || floats) return 1;
        return value_fail(err, "Write the values in the tensor's type.",
                          "%llu of %llu values do not fit into %s of \"%s\"",
                          (unsigned long long)lost, (unsigned long long)file->count,
                          qnnrt_dtype_name(tensor->dtype), tensor->name);
    }
    return value_fail(err, "Write the values in the tensor's type.",
                      "it holds %s values; \"%s\" takes %s", qnnrt_dtype_name(file->dtype),
                      tensor->name, qnnrt_dtype_name(tensor->dtype));
}

/* ---- writing ---- */

/* Return the head of a .safetensors file; its data are NULL if a type has no word. The caller frees
   them. */
static page safetensors_head(const value_out *list, size_t count)
{
    static const struct { qnnrt_dtype dtype; const char *word; } types[] = {
        {QNNRT_DTYPE_F32, "F32"}, {QNNRT_DTYPE_F16, "F16"}, {QNNRT_DTYPE_BF16, "BF16"},
        {QNNRT_DTYPE_F64, "F64"}, {QNNRT_DTYPE_I8, "I8"}, {QNNRT_DTYPE_I16, "I16"},
        {QNNRT_DTYPE_I32, "I32"}, {QNNRT_DTYPE_I64, "I64"}, {QNNRT_DTYPE_U8, "U8"},
        {QNNRT_DTYPE_U16, "U16"}, {QNNRT_DTYPE_U32, "U32"}, {QNNRT_DTYPE_U64, "U64"},
        {QNNRT_DTYPE_BOOL8, "BOOL"}
    };
    enum { TYPES = sizeof(types) / sizeof(types[0]) };
    page p = {NULL, 0, 0};
    OWNED page head = {NULL, 0, 0};
    json writer, *j = &writer;
    uint64_t at = 0;
    int good = 1;
    qnnrt_json_write_begin(j, json_to_page, &head, 0);
    json_open(j, NULL, '{', 1);
    for (size_t i = 0; i < count; ++i) {
        size_t type = 0;
        while (type < TYPES && types[type].dtype != value_stored(list[i].dtype)) ++type;
        good = good && type < TYPES && strcmp(list[i].name, "__metadata__") != 0;
        json_open(j, list[i].name, '{', 1);
        json_string(j, "dtype", type < TYPES ? types[type].word : "");
        json_open(j, "shape", '[', 1);
        for (uint32_t k = 0; k < list[i].rank; ++k) json_count(j, NULL, list[i].dims[k]);
        json_close(j);
        json_open(j, "data_offsets", '[', 1);
        json_count(j, NULL, at);
        json_count(j, NULL, at += list[i].bytes);
        json_close(j);
        json_close(j);
    }
    json_close(j);
    good = qnnrt_json_write_end(j) && good;
    while (head.used > 0 && head.data[head.used - 1] == '\n') --head.used;
    while (head.used % 8 != 0) page_text(&head, " ");
    char length[8];
    for (int i = 0; i < 8; ++i) length[i] = (char)((uint64_t)head.used >> 8 * i & 255);
    if (good) page_bytes(&p, length, sizeof(length));
    if (good) page_bytes(&p, head.data, head.used);
    return p;
}

int value_write(tool *t, job *j, const char *path, const value_out *list, size_t count)
{
    OWNED page head = {NULL, 0, 0};
    const int npy = value_suffix(path, ".npy"), safe = value_suffix(path, ".safetensors");
    cli_file f;
    if (npy) head = npy_head(value_stored(list[0].dtype), list[0].rank, list[0].dims);
    if (safe) head = safetensors_head(list, count);
    if ((npy || safe) && head.data == NULL) {
        fail(t, j, "Write it as raw bytes, or as float32.",
             "cannot write %s: \"%s\" has a type or a name that the format lacks", path,
             list[0].name);
        return 0;
    }
    int good = cli_create(&f, path, 1);
    if (good) {
        errno = 0;
        if (head.used > 0) good = fwrite(head.data, 1, head.used, f.file) == head.used;
        for (size_t i = 0; i < count && good; ++i)
            good = fwrite(list[i].data, 1, (size_t)list[i].bytes, f.file) == list[i].bytes;
        good = cli_finish(&f, good);
    }
    if (!good) {
        const int why = errno;
        OWNED char *name = cli_shown(path);
        fail(t, j, CLI_WRITE_HINT, "cannot write %s: %s", name, strerror(why));
    }
    return good;
}
