/* captured.c - reads what the verb capture wrote

   ROOM     >>captured */
#include "run/measure/measure.h"
#include "qnnrt_sha256.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* =====================================================================================
   CAPTURED                                                                     >>captured
   The folder of a capture, and the files in it. No link is followed, beneath the folder's name.
   ===================================================================================== */

/* Read a regular file of the folder, of at most `most` bytes, or map it; an empty one is read.
   Return NULL, with errno set. */
static char *captured_file(const captured *c, const char *name, uint64_t most, int maps,
                           size_t *bytes)
{
    struct stat status;
    char *data = NULL;
    const int fd = openat(c->dir, name,
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return NULL;
    errno = EINVAL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        errno = EFBIG;
        if (maps && status.st_size > 0 && (uint64_t)status.st_size <= most) {
            *bytes = (size_t)status.st_size;
            data = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
            if (data == MAP_FAILED) data = NULL;
        } else if ((uint64_t)status.st_size <= most) {
            data = cli_alloc((size_t)status.st_size + 1, 1);
            if (cli_read(fd, data, (size_t)status.st_size, bytes) != 0) {
                free(data);
                data = NULL;
            }
        }
    }
    const int why = errno;
    close(fd);
    errno = why;
    return data;
}

/* Give back what captured_file() has mapped. data may be NULL. */
static void captured_drop(char *data, size_t bytes)
{
    if (data != NULL && bytes > 0) munmap(data, bytes);
    else free(data);
}

void captured_close(captured *c)
{
    for (size_t p = 0; p < c->count; ++p) {
        captured_pipeline *pipeline = &c->pipelines[p];
        for (size_t s = 0; s < pipeline->step_count; ++s) {
            captured_step *step = &pipeline->steps[s];
            for (size_t end = 0; end < 2; ++end) {
                for (size_t i = 0; i < step->counts[end]; ++i) free(step->ports[end][i].name);
                free(step->ports[end]);
            }
            free(step->graph);
            free(step->text);
        }
        for (size_t t = 0; t < pipeline->tensor_count; ++t) {
            captured_tensor *tensor = &pipeline->tensors[t];
            captured_drop(tensor->data, (size_t)tensor->info.bytes);
            free(tensor->name);
            free(tensor->file);
            free(tensor->scales);
            free(tensor->offsets);
        }
        free(pipeline->steps);
        free(pipeline->tensors);
        free(pipeline->name);
        free(pipeline->error);
    }
    if (c->dir >= 0) close(c->dir);
    free(c->pipelines);
    free(c->text);
    free(c->backend);
    free(c->build);
    free(c->problem);
}

int captured_open_folder(tool *t, const char *folder, captured *c)
{
    size_t bytes = 0;
    OWNED char *name = cli_shown(folder);
    memset(c, 0, sizeof(*c));
    c->folder = folder;
    c->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->dir >= 0) c->text = captured_file(c, CAPTURE_FILE, CAPTURED_JSON, 0, &bytes);
    if (c->text == NULL) {
        fail(t, NULL, "Name a folder that qnnrt-run capture has written.",
             "cannot read %s/" CAPTURE_FILE ": %s", name, strerror(errno));
    } else {
        qnnrt_json_begin(&c->r, c->text, bytes, NULL);
        captured_read_document(c);
        if (c->problem != NULL)
            fail(t, NULL, "Capture again with this program.", "%s/" CAPTURE_FILE ": %s", name,
                 c->problem);
    }
    return c->text != NULL && c->problem == NULL;
}

const char *captured_data(tool *t, const captured *c, captured_tensor *tensor)
{
    char hash[HASH_TEXT];
    size_t bytes = 0;
    if (tensor->was_read) return tensor->data;
    char *data = captured_file(c, tensor->file, CAPTURED_BYTES, 1, &bytes);
    OWNED char *folder = cli_shown(c->folder);
    tensor->was_read = 1;
    if (data == NULL) {
        fail(t, NULL, errno == ELOOP ? "Put the file itself there: links are not followed."
                                     : "Copy the whole folder of the capture.",
             "cannot read %s/%s: %s", folder, tensor->file, strerror(errno));
    } else if (bytes != tensor->info.bytes) {
        fail(t, NULL, "Copy the whole folder of the capture.", "%s/%s has %llu bytes, not %llu",
             folder, tensor->file, (unsigned long long)bytes,
             (unsigned long long)tensor->info.bytes);
    } else {
        qnnrt_sha256_text(data, bytes, hash);
        if (strcmp(hash, tensor->hash) == 0) tensor->data = data;
        else fail(t, NULL, "Capture again.", "%s/%s has changed since it was captured", folder,
                  tensor->file);
    }
    if (tensor->data == NULL) captured_drop(data, bytes);
    return tensor->data;
}
