/* fuzz_weights.c - hostile safetensors, alone or as shards with an index, through all of qnnrt_weights.h

   An input is a file, or up to three documents separated by bytes 0x1E, followed by CONTROL bytes. These
   choose which: the file as it is; one header, whose size is put before it and data after it; or an
   index and the headers of "s1" and "s2". They also choose limits, failing allocations and conversions.
   Whatever happens, there must be no crash, no leak, an error text without control characters; and after
   success every weight lies in its file, alone, with bytes that fit its dims, and is found by its name. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_WEIGHTS_IMPLEMENTATION
#include "qnnrt_weights.h"
#define FUZZ_NAME "fuzz_weights"
#include "fuzz.h"
#include <sys/stat.h>
#include <unistd.h>

enum { CONTROL = 8, DOCUMENTS = 3, SEPARATOR = 0x1E, VALUES = 600 };

#include "fuzz_model.h"

/* ---- files ---------------------------------------------------------------------------------- */

static char folder[64];

static void remove_folder(void)
{
    char path[128];
    static const char *const names[] = { "x.safetensors", "s1", "s2", "x.safetensors.index.json" };
    size_t i;
    for (i = 0; i < 4; ++i) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static const char *write_file(const char *name, const unsigned char *data, size_t size, int header)
{
    static char path[128];
    unsigned char bytes[8];
    FILE *file;
    size_t i;
    if (folder[0] == '\0') {
        snprintf(folder, sizeof(folder), "%s/qnnrt-fuzz-%ld", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
        mkdir(folder, 0700);
        atexit(remove_folder);
    }
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    MUST(file != NULL);
    for (i = 0; i < 8; ++i) bytes[i] = (unsigned char)((uint64_t)size >> (8 * i) & 255);
    if (header) MUST(fwrite(bytes, 1, 8, file) == 8);
    if (size > 0) MUST(fwrite(data, 1, size, file) == size);
    for (i = 0; header && i < control[1]; ++i) fputc((int)(i * 37 + control[2]) & 255, file);
    MUST(fclose(file) == 0);
    return path;
}

/* ---- promises ------------------------------------------------------------------------------- */

static void convert(const qnnrt_weight *w)
{
    static const qnnrt_dtype types[] = { QNNRT_DTYPE_F16, QNNRT_DTYPE_BF16, QNNRT_DTYPE_F32, QNNRT_DTYPE_F64, QNNRT_DTYPE_I8, QNNRT_DTYPE_I64,
                                         QNNRT_DTYPE_U64, QNNRT_DTYPE_BOOL8, QNNRT_DTYPE_U2, QNNRT_DTYPE_UNDEFINED };
    static const size_t sizes[] = { 2, 2, 4, 8, 1, 8, 8, 1, 1, 1 };
    const size_t pick = (size_t)chance(sizeof(types) / sizeof(types[0]));
    const uint64_t all = w->rank == 0 ? 1 : w->dims[0], first = chance(all + 1), rows = chance(all - first + 2);
    const uint64_t count = all == 0 ? 0 : w->count / all * rows;
    unsigned char *out;
    qnnrt_weights_loss loss = { 0, 0, 0 };
    qnnrt_error err;
    qnnrt_result result;
    if (count > VALUES * 8) return;
    out = (unsigned char *)malloc((size_t)count * sizes[pick] + 1);
    MUST(out != NULL);
    result = qnnrt_weights_rows(w, first, rows, types[pick], out, (size_t)count * sizes[pick], chance(2) ? &loss : NULL, fresh(&err));
    MUST(result == QNNRT_OK || result == QNNRT_E_UNSUPPORTED || result == QNNRT_E_MISMATCH || (rows > all - first && result == QNNRT_E_ARG));
    (void)good(result, result == QNNRT_OK ? out : NULL, &err);
    MUST(loss.overflowed + loss.flushed + loss.out_of_range <= count);
    free(out);
}

static void check(const qnnrt_weights *weights, const qnnrt_weights_desc *desc)
{
    const qnnrt_weights_info *info = qnnrt_weights_get_info(weights);
    uint64_t bytes = 0, gaps = 0, files = 0;
    size_t i, k, listed = 0;
    uint32_t d, sum = 0;
    MUST(info->count <= desc->tensors && info->metadata_count <= desc->tensors && info->file_count <= desc->files);
    for (i = 0; i < info->file_count; ++i) {
        struct stat facts;
        MUST(stat(info->files[i].path, &facts) == 0 && (uint64_t)facts.st_size == info->files[i].bytes);
        MUST(strncmp(info->files[i].path, folder, strlen(folder)) == 0 && strchr(info->files[i].path + strlen(folder) + 1, '/') == NULL);
        gaps += info->files[i].gap_bytes;
        files += info->files[i].bytes;
        listed += info->files[i].weight_count;
    }
    MUST(listed == info->count && gaps == info->gap_bytes);
    for (i = 0; i < info->count; ++i) {
        const qnnrt_weight *w = &info->weights[i];
        uint64_t count = 1, b;
        MUST(w->name[0] != '\0' && strlen(w->name) <= desc->name_bytes && w->rank <= 8 && w->data != NULL);
        for (d = 0; d < w->rank; ++d) count = w->dims[d] != 0 && count > UINT64_MAX / w->dims[d] ? UINT64_MAX : count * w->dims[d];
        for (d = 0; d < w->rank; ++d) if (w->dims[d] == 0) count = 0;
        MUST(count == w->count);
        MUST(qnnrt_weights_find(weights, w->name) == w && qnnrt_weights_match(weights, w->name) == w);
        for (b = 0; b < w->bytes; ++b) sum += ((const unsigned char *)w->data)[b];
        bytes += w->bytes;
        for (k = 0; k < i && i < 100; ++k) {
            const char *one = (const char *)w->data, *other = (const char *)info->weights[k].data;
            MUST(w->bytes == 0 || info->weights[k].bytes == 0 || one >= other + info->weights[k].bytes || other >= one + w->bytes);
        }
        if (i < 20) convert(w);
    }
    MUST(bytes == info->bytes && bytes + gaps <= files && sum != 0xFFFFFFFFu);
    for (i = 0; i < info->metadata_count; ++i) MUST(info->metadata[i].key != NULL && info->metadata[i].value != NULL && info->metadata[i].file != NULL);
    (void)qnnrt_weights_match(weights, "lm_head.weight");
    (void)qnnrt_weights_match(weights, "model.model.embed_tokens.weight");
}

static void play(const unsigned char *data, size_t size)
{
    qnnrt_weights_desc desc;
    qnnrt_weights *weights = NULL;
    qnnrt_error err;
    const char *path = NULL;
    size_t text, at = 0, end, count = 0;
    if (size < CONTROL) return;
    text = size - CONTROL;
    chance_begin(data + text, CONTROL);
    if (control[0] % 4 == 0) {
        path = write_file("x.safetensors", data, text, 0);
    } else if (control[0] % 4 < 3) {
        path = write_file("x.safetensors", data, text, 1);
    } else {
        static const char *const names[DOCUMENTS] = { "s1", "s2", "x.safetensors.index.json" };
        for (; count < DOCUMENTS; ++count, at = end < text ? end + 1 : text) {
            end = at;
            while (end < text && !(count + 1 < DOCUMENTS && data[end] == SEPARATOR)) ++end;
            path = write_file(names[count], data + at, end - at, count + 1 < DOCUMENTS);
        }
    }
    memset(&desc, 0, sizeof(desc));
    desc.header_bytes = control[3] >= 250 ? 100 : 100000000;
    desc.tensors = control[4] >= 240 ? (uint64_t)(control[4] - 239) : 1000000;
    desc.files = control[5] >= 250 ? 1 : 1024;
    desc.name_bytes = control[5] < 10 ? 4 : 1024;
    desc.hooks.alloc = hook_alloc;
    desc.hooks.free = hook_free;
    desc.hooks.log = hook_log;
    alloc_count = alloc_sum = 0;
    alloc_fail_at = control[7] >= 128 ? (uint64_t)(control[7] & 31) : 0;
    alloc_fail_on = control[7] >> 6 & 1;
    if (GOOD(qnnrt_weights_open(path, &desc, &weights, fresh(&err)), weights, &err)) check(weights, &desc);
    else MUST(err.hint[0] == '\0' || (strchr(err.hint, '\n') == NULL && strlen(err.hint) < sizeof(err.hint)));
    MUST(alloc_sum <= (uint64_t)100 * text + 200000);
    qnnrt_weights_close(weights);
    MUST(alloc_live == 0 && alloc_bytes == 0);
}

FUZZ_TARGET
