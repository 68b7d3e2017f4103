/* run_manifest.h - a part of qnnrt-run.c: --manifest

   ROOMS    >>manifest                                                                           */

/* =====================================================================================
   MANIFEST                                                                     >>manifest
   Prints the model as a program for the folder's qnnrt.json, see qnnrt_manifest.h.
   ===================================================================================== */

/* Return the role of contexts that were compiled for a backend, or NULL. */
static const char *manifest_role_of(uint32_t backend_id)
{
    switch (backend_id) {
    case 6: return "npu";
    case 3: case 5391686: return "cpu";
    default: return NULL;
    }
}

/* Return the role of a context: that of the folder's program, else by its backend. */
static const char *manifest_role(tool *t, const qnnrt_context_info *c)
{
    const char *role = c->role != NULL && c->role[0] != '\0' ? c->role
                                                             : manifest_role_of(c->backend_id);
    if (role == NULL)
        fail(t, NULL, "Write its role into \"backend\" by hand.",
             "--manifest: %s was compiled for backend %lu, which has no role", c->file,
             (unsigned long)c->backend_id);
    return role;
}

/* Return the file of a context: of JSON alone, the binary that it describes. The caller frees
   it. */
static char *manifest_file(const qnnrt_context_info *c)
{
    const char *tail = strstr(c->file, "_json.json");
    if (c->file_bytes != 0 || tail == NULL) return cli_text("%s", c->file);
    return cli_text("%.*s.bin", (int)(tail - c->file), c->file);
}

static void write_manifest(tool *t)
{
    const qnnrt_info *info = qnnrt_get_info(t->model);
    qnnrt_manifest_context *contexts = cli_alloc(info->context_count, sizeof(*contexts));
    qnnrt_manifest_constant *constants = cli_alloc(info->constant_count, sizeof(*constants));
    const qnnrt_pipeline **wired = cli_alloc(info->pipeline_count, sizeof(*wired));
    char **files = cli_alloc(info->context_count, sizeof(*files));
    qnnrt_manifest_desc desc = {0};
    qnnrt_error err;
    page p = {NULL, 0, 0};
    int complete = 1;
    for (size_t i = 0; i < info->context_count; ++i) {
        files[i] = manifest_file(&info->contexts[i]);
        contexts[i].file = files[i];
        contexts[i].hash = info->contexts[i].fingerprint;
        complete &= info->contexts[i].failure == NULL &&
                    (contexts[i].backend = manifest_role(t, &info->contexts[i])) != NULL;
    }
    for (size_t i = 0; i < info->constant_count; ++i) {
        const qnnrt_constant_info *from = &info->constants[i];
        constants[i].name = from->tensor->name;
        constants[i].file = from->file;
        constants[i].offset = from->offset;
        constants[i].dtype = from->tensor->dtype;
        constants[i].rank = from->tensor->rank;
        constants[i].dims = from->tensor->dims;
        constants[i].data = from->data;
    }
    for (size_t i = 0; i < info->pipeline_count; ++i) {
        const qnnrt_pipeline_info *pipeline = qnnrt_pipeline_get_info(info->pipelines[i]);
        if (pipeline->failure == NULL) wired[desc.wired_count++] = info->pipelines[i];
        else fail(t, NULL, pipeline->failure->hint, "--manifest: pipeline \"%s\" is left out: %s",
                  pipeline->name, pipeline->failure->text);
    }
    desc.contexts = contexts;
    desc.context_count = info->context_count;
    desc.constants = constants;
    desc.constant_count = info->constant_count;
    desc.wired = wired;
    if (complete) {
        if (qnnrt_manifest_write(&desc, json_to_page, &p, &err) != QNNRT_OK)
            fail(t, NULL, err.hint, "--manifest: %s", err.text);
        else write_page(t, "-", &p, 0);
    }
    for (size_t i = 0; i < info->context_count; ++i) free(files[i]);
    free(files);
    free(p.data);
    free(wired);
    free(constants);
    free(contexts);
}
