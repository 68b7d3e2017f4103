/* fuzz_files.c - hostile files that the tools read: libraries, capture.json, .npy, lists, configurations, cache entries

   The first byte of an input chooses the reader, the rest is the file. Of an entry of a cache, all hashes are made right
   first: what is behind them is read, too. Whatever happens, there must be no crash and no leak, and a reader that refuses
   says why. The replay also plays each file cut at every byte. */
#include "run/check/check.h"
#include "run/io/io.h"
#include "run/measure/measure.h"
#include "qnnrt_cache.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#define FUZZ_NAME "fuzz_files"
#include "fuzz.h"

const char cli_name[] = "fuzz_files";

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static char scratch[] = "/tmp/qnnrt-fuzz-XXXXXX";
static char file_path[64], out_path[64], entry_path[160];
static FILE *nowhere;

static size_t files_in(const char *folder, int remove_them)
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    size_t count = 0;
    MUST(dir != NULL);
    while ((e = readdir(dir)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        ++count;
        if (remove_them) MUST(unlinkat(dirfd(dir), e->d_name, 0) == 0);
    }
    closedir(dir);
    return count;
}

static void end(void)
{
    files_in(out_path, 1);
    rmdir(out_path);
    files_in(scratch, 1);
    rmdir(scratch);
    fclose(nowhere);
}

static void begin(void)
{
    MUST(mkdtemp(scratch) != NULL);
    snprintf(file_path, sizeof(file_path), "%s/config.json", scratch);
    snprintf(out_path, sizeof(out_path), "%s/out", scratch);
    snprintf(entry_path, sizeof(entry_path), "%s/" KEY ".qnnrt", scratch);
    MUST(mkdir(out_path, 0700) == 0);
    nowhere = fopen("/dev/null", "w");
    MUST(nowhere != NULL && atexit(end) == 0);
}

static void put_file(const char *path, const unsigned char *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    MUST(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void play_library(const unsigned char *data, size_t size)
{
    lib_file f;
    char *release;
    int fd;
    put_file(file_path, data, size);
    fd = open(file_path, O_RDONLY);
    MUST(fd >= 0);
    memset(&f, 0, sizeof(f));
    f.bytes = size;
    elf_look(&f, fd);
    MUST((f.failure != NULL) == (f.cure != NULL) && (f.failure != NULL || f.bits == 32 || f.bits == 64));
    MUST(find_marks(fd, LIB_MOST, &f.marks));
    release = release_text(&f.marks);
    MUST(release != NULL && f.marks.stamp_count <= LIB_STAMPS && !releases_differ(&f.marks, &f.marks));
    free(release);
    free(f.failure);
    close(fd);
}

static void play_capture(const unsigned char *data, size_t size)
{
    captured c;
    char *text = cli_alloc(size + 1, 1);
    size_t p, s, t, side, i;
    memcpy(text, data, size);
    memset(&c, 0, sizeof(c));
    c.dir = -1;
    c.text = text;
    qnnrt_json_begin(&c.r, c.text, size, NULL);
    captured_read_document(&c);
    for (p = 0; p < c.count && c.problem == NULL; ++p) {
        const captured_pipeline *of = &c.pipelines[p];
        MUST(of->name != NULL);
        for (t = 0; t < of->tensor_count; ++t) {
            const captured_tensor *tensor = &of->tensors[t];
            MUST(tensor->name != NULL && tensor->info.rank <= DIMS_MOST && tensor->info.bytes <= CAPTURED_BYTES);
            MUST(tensor->file == NULL || (strchr(tensor->file, '/') == NULL && tensor->file[0] != '.' && tensor->file[0] != '\0'));
        }
        for (s = 0; s < of->step_count; ++s)
            for (side = 0; side < 2; ++side)
                for (i = 0; i < of->steps[s].counts[side]; ++i) MUST(of->steps[s].ports[side][i].tensor < of->tensor_count);
    }
    captured_close(&c);
}

static void play_npy(const unsigned char *data, size_t size)
{
    static const uint32_t dims[2] = {2, 3};
    qnnrt_tensor_info tensor;
    value_file file;
    qnnrt_error err;
    const char *wrong;
    unsigned char out[24];
    int real = 0;
    memset(&file, 0, sizeof(file));
    memset(&tensor, 0, sizeof(tensor));
    file.dtype = QNNRT_DTYPE_UNDEFINED;
    file.room = cli_alloc(size != 0 ? size : 1, 1);
    memcpy(file.room, data, size);
    file.data = file.room;
    file.bytes = size;
    wrong = npy_read(&file);
    if (wrong == NULL) {
        char *text = value_dims(&file);
        MUST(file.rank <= VALUE_RANK && file.count * value_size(file.dtype) == file.bytes);
        MUST((const char *)file.data + file.bytes == file.room + size && text != NULL);
        free(text);
        tensor.name = "x";
        tensor.rank = 2;
        tensor.dims = dims;
        tensor.count = 6;
        tensor.dtype = size % 2 != 0 ? QNNRT_DTYPE_F32 : QNNRT_DTYPE_U8;
        tensor.bytes = size % 2 != 0 ? 24 : 6;
        memset(&err, 0xFF, sizeof(err));
        if (!value_take(&file, &tensor, size % 3 != 0 ? FORM_FLOAT : FORM_NATIVE, out, &real, &err))
            MUST(err.code == QNNRT_E_FORMAT && err.text[0] != '\0');
    }
    value_close(&file);
}

static void play_list(const unsigned char *data, size_t size)
{
    static const char *const names[] = {"x", "mask", "input ids"};
    const char *files[3];
    input_list list;
    qnnrt_error err;
    size_t i, k;
    put_file(file_path, data, size);
    memset(&err, 0xFF, sizeof(err));
    if (!list_read(file_path, &list, &err)) MUST(err.code == QNNRT_E_FORMAT && err.text[0] != '\0');
    for (i = 0; i < list.line_count; ++i) {
        memset(files, 0, sizeof(files));
        if (!list_place(&list, &list.lines[i], names, 3, "g", files, &err)) MUST(err.text[0] != '\0');
        for (k = 0; k < 3; ++k)
            MUST(files[k] == NULL || (files[k] >= list.text && files[k] <= list.text + size));
    }
    list_free(&list);
}

static void play_config(const unsigned char *data, size_t size)
{
    FILE *before = stderr;
    graph_choices graph;
    tool t;
    int good;
    put_file(file_path, data, size);
    memset(&t, 0, sizeof(t));
    t.out = stderr = nowhere;          /* messages, but not those of sanitizers */
    t.set.run.config = file_path;
    memset(&graph, 0, sizeof(graph));
    good = read_config(&t, size % 2 != 0 ? &graph : NULL);
    stderr = before;
    MUST(good == !t.failed);
    free(t.error);
    free(t.error_hint);
}

/* Make the hashes of an entry right, as far as it has places for them. */
static void sign_entry(unsigned char *data, size_t size)
{
    const size_t fixed = 96;
    qnnrt_cache_hash sum;
    uint64_t head = 0;
    size_t at, file;
    int i;
    if (size < fixed + QNNRT_CACHE_HASH) return;
    memcpy(data, "QNNRT CACHE 1\n\0", 16);
    memcpy(data + 16, KEY, 64);
    for (i = 7; i >= 0; --i) head = head << 8 | data[88 + i];
    if (head < fixed || head > size - QNNRT_CACHE_HASH) return;
    file = (size_t)head + QNNRT_CACHE_HASH;
    for (at = fixed; at <= head && head - at >= 8 + QNNRT_CACHE_HASH + 8;) {
        uint64_t bytes = 0, name = 0;
        for (i = 7; i >= 0; --i) {
            bytes = bytes << 8 | data[at + (size_t)i];
            name = name << 8 | data[at + 8 + QNNRT_CACHE_HASH + (size_t)i];
        }
        if (bytes > size - file || name >= head - at - (8 + QNNRT_CACHE_HASH + 8)) break;
        qnnrt_cache_hash_begin(&sum);
        qnnrt_cache_hash_add(&sum, data + file, bytes);
        qnnrt_cache_hash_end(&sum, data + at + 8);
        file += (size_t)bytes;
        at += 8 + QNNRT_CACHE_HASH + 8 + (size_t)name + 1;
    }
    qnnrt_cache_hash_begin(&sum);
    qnnrt_cache_hash_add(&sum, data, head);
    qnnrt_cache_hash_end(&sum, data + head);
}

static void play_entry(const unsigned char *data, size_t size)
{
    const qnnrt_cache_entry *entry = NULL;
    unsigned char *copy = malloc(size + 1);
    qnnrt_cache *cache = NULL;
    qnnrt_error err;
    qnnrt_result result;
    size_t written;
    MUST(copy != NULL);
    memcpy(copy, data, size);
    sign_entry(copy, size);
    put_file(entry_path, copy, size);
    free(copy);
    MUST(qnnrt_cache_open(scratch, NULL, &cache, &err) == QNNRT_OK);
    memset(&err, 0xFF, sizeof(err));
    result = qnnrt_cache_get(cache, KEY, out_path, &entry, &err);
    MUST(result == err.code && (result == QNNRT_OK || err.text[0] != '\0'));
    MUST(result == QNNRT_OK || result == QNNRT_E_FORMAT || result == QNNRT_E_IO);
    written = files_in(out_path, 1);
    MUST(written == (result == QNNRT_OK ? entry->file_count : 0));
    qnnrt_cache_close(cache);
    unlink(entry_path);
}

static void play(const unsigned char *data, size_t size)
{
    static void (*const readers[])(const unsigned char *, size_t) = {play_library, play_capture, play_npy, play_list,
                                                                     play_config, play_entry};
    if (size == 0) return;
    if (nowhere == NULL) begin();
    readers[data[0] % 6](data + 1, size - 1);
#ifdef FUZZ_REPLAY
    for (size_t cut = 1; cut < size && cut <= 2048; ++cut) readers[data[0] % 6](data + 1, cut - 1);
#endif
}

FUZZ_TARGET
