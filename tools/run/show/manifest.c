/* manifest.c - --manifest, and the hashes of files

   ROOMS     >>hashes >>manifest */
#include "run/show/show.h"
#include "qnnrt_sha256.h"

/* =====================================================================================
   HASHES                                                                         >>hashes
   The SHA-256 of a file, and the one that a program has for it.
   ===================================================================================== */

int sha256_file(const char *path, uint64_t *bytes, char text[HASH_TEXT])
{
    enum { PIECE = 1 << 20 };
    qnnrt_sha256 sum;
    size_t got = PIECE;
    const int fd = cli_open(path);
    OWNED char *piece = cli_alloc(PIECE, 1);
    int good = fd >= 0;
    *bytes = 0;
    qnnrt_sha256_begin(&sum);
    while (good && got == PIECE) {
        good = cli_read(fd, piece, PIECE, &got) == 0;
        qnnrt_sha256_add(&sum, piece, got);
        *bytes += got;
    }
    const int why = errno;
    if (fd >= 0) close(fd);
    qnnrt_sha256_end(&sum, NULL, text);
    errno = why;
    return good;
}

char *hash_context(tool *t, const char *path)
{
    char *text = cli_alloc(HASH_TEXT, 1);
    uint64_t bytes = 0;
    if (sha256_file(path, &bytes, text)) return text;
    fail(t, NULL, NULL, "cannot read %s: %s", path, strerror(errno));
    free(text);
    return NULL;
}

/* Read an object up to the value of a member. Return 0 if there is none. */
static int hash_member(qnnrt_json_reader *r, const char *key)
{
    if (qnnrt_json_value(r) != QNNRT_JSON_OBJECT) return 0;
    while (qnnrt_json_more(r)) {
        if (qnnrt_json_is(&r->key, key)) return 1;
        qnnrt_json_skip(r);
    }
    return 0;
}

int hash_expected(const char *program, size_t bytes, const char *file, char text[HASH_TEXT])
{
    qnnrt_json_reader r;
    int same = 0;
    if (program == NULL) return 0;
    qnnrt_json_begin(&r, program, bytes, NULL);
    if (!hash_member(&r, "program") || !hash_member(&r, "contexts") ||
        qnnrt_json_value(&r) != QNNRT_JSON_ARRAY) return 0;
    while (!same && qnnrt_json_more(&r)) {
        if (qnnrt_json_value(&r) != QNNRT_JSON_OBJECT) return 0;
        text[0] = '\0';
        while (qnnrt_json_more(&r)) {
            const int is_file = qnnrt_json_is(&r.key, "file");
            if (!is_file && !qnnrt_json_is(&r.key, "sha256")) {
                qnnrt_json_skip(&r);
                continue;
            }
            if (qnnrt_json_value(&r) != QNNRT_JSON_STRING) return 0;
            if (is_file) same = qnnrt_json_is(&r.value, file);
            else snprintf(text, HASH_TEXT, "%.*s", (int)(r.value.bytes < HASH_TEXT ? r.value.bytes
                                                                             : HASH_TEXT),
                          r.value.text);
        }
    }
    return same && text[0] != '\0';
}

/* =====================================================================================
   MANIFEST                                                                     >>manifest
   Prints the model as a program for the folder's qnnrt.json, see qnnrt_manifest.h.
   ===================================================================================== */

const char *manifest_role_of(uint32_t backend_id)
{
    switch (backend_id) {
    case 6: return "npu";
    case 3: case 5391686: return "cpu";
    default: return NULL;
    }
}

/* Return the role of a context: that of the folder's program, else by its backend. */
static const char *manifest_role(tool *t, const qnnrt_manifest_context *c)
{
    const char *role = c->role[0] != '\0' ? c->role : manifest_role_of(c->info->backend_id);
    if (role == NULL)
        fail(t, NULL, "Write its role into \"backend\" by hand.",
             "--manifest: %s was compiled for backend %lu, which has no role", c->file,
             (unsigned long)c->info->backend_id);
    return role;
}

char *manifest_file(const qnnrt_manifest_context *c)
{
    const char *tail = strstr(c->file, "_json.json");
    if (c->info->file_bytes != 0 || tail == NULL) return cli_text("%s", c->file);
    return cli_text("%.*s.bin", (int)(tail - c->file), c->file);
}

char *context_path(const qnnrt_manifest_info *info, const char *file)
{
    return cli_text("%s%s%s", info->folder, info->folder[0] != '\0' ? "/" : "", file);
}

void write_manifest(tool *t)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    qnnrt_manifest_context *contexts = cli_alloc(info->context_count, sizeof(*contexts));
    described_pipeline *pipelines = cli_alloc(info->pipeline_count, sizeof(*pipelines));
    qnnrt_manifest_pipeline *listed = cli_alloc(info->pipeline_count, sizeof(*listed));
    OWNED char **files = cli_alloc(info->context_count, sizeof(*files));
    OWNED char **hashes = cli_alloc(info->context_count, sizeof(*hashes));
    qnnrt_manifest_desc desc = {0};
    qnnrt_error err;
    OWNED page p = {NULL, 0, 0};
    int complete = 1;
    for (size_t i = 0; i < info->context_count; ++i) {
        files[i] = manifest_file(&info->contexts[i]);
        contexts[i].file = files[i];
        contexts[i].fingerprint = info->contexts[i].info->fingerprint;
        if (info->contexts[i].info->file_bytes > 0) {
            OWNED char *path = context_path(info, info->contexts[i].file);
            contexts[i].sha256 = hashes[i] = hash_context(t, path);
            complete &= hashes[i] != NULL;
        }
        complete &= info->contexts[i].failure == NULL &&
                    (contexts[i].role = manifest_role(t, &info->contexts[i])) != NULL;
    }
    for (size_t i = 0; i < info->pipeline_count; ++i) {
        const qnnrt_pipeline_info *pipeline = qnnrt_pipeline_get_info(info->pipelines[i]);
        if (pipeline->failure != NULL)
            fail(t, NULL, cli_hint(pipeline->failure),
                 "--manifest: pipeline \"%s\" is left out: %s", pipeline->name,
                 cli_told(pipeline->failure));
        else if ((complete &= describe(info, info->pipelines[i], &pipelines[i])) != 0)
            listed[desc.pipeline_count++] = pipelines[i].of;
        else fail(t, NULL, NULL, "out of memory");
    }
    desc.contexts = contexts;
    desc.context_count = info->context_count;
    desc.constants = info->constants;
    desc.constant_count = info->constant_count;
    desc.pipelines = listed;
    if (complete) {
        if (qnnrt_manifest_write(&desc, json_to_page, &p, &err) != QNNRT_OK)
            fail(t, NULL, cli_hint(&err), "--manifest: %s", cli_told(&err));
        else write_page(t, "-", &p, 0);
    }
    for (size_t i = 0; i < info->context_count; ++i) {
        free(files[i]);
        free(hashes[i]);
    }
    for (size_t i = 0; i < info->pipeline_count; ++i) describe_free(&pipelines[i]);
    free(pipelines);
    free(listed);
    free(contexts);
}
