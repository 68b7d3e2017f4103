/* sources.c - the words of the command line become a folder, or files

   ROOM     >>sources */
#include "run/model/model.h"
#include "qnnrt_cpu_fallback.h"

#include "cli/stages.h"

/* =====================================================================================
   SOURCES                                                                     >>sources
   The folder, or the context binaries with their JSON, that the words name; and one model of them.
   ===================================================================================== */

int is_json_file(const char *path)
{
    const size_t length = strlen(path);
    char head[64];
    size_t bytes = 0;
    if (length > 5 && strcmp(path + length - 5, ".json") == 0) return 1;
    if (cli_is_special(path)) return 0;          /* qnnrt_open() reports the reason */
    const int fd = cli_open(path);
    if (fd < 0) return 0;
    if (cli_read(fd, head, sizeof(head), &bytes) != 0) bytes = 0;
    close(fd);
    size_t at = bytes >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (at < bytes && strchr(" \t\r\n", head[at]) != NULL && head[at] != '\0') ++at;
    return at < bytes && head[at] == '{';
}

/* Return the name of the JSON that belongs to X.bin, or NULL for another name. The caller frees
   it. */
static char *json_sibling(const char *path)
{
    const size_t length = strlen(path);
    if (length <= 4 || strcmp(path + length - 4, ".bin") != 0) return NULL;
    return cli_text("%.*s_json.json", (int)(length - 4), path);
}

/* Find one folder, or files. A binary X.bin and its X_json.json are one context, whether both are
   named or X_json.json only lies beside it. */
static void find_sources(const settings *set, const char *const *words, size_t count, sources *from)
{
    memset(from, 0, sizeof(*from));
    from->files = cli_alloc(count, sizeof(*from->files));
    from->siblings = cli_alloc(count, sizeof(*from->siblings));
    if (count == 1 && cli_is_folder(words[0])) {
        from->folder = words[0];
        return;
    }
    OWNED char *taken = cli_alloc(count, 1);
    for (size_t i = 0; i < count; ++i) {         /* mark JSON whose binary is named, too */
        OWNED char *sibling = json_sibling(words[i]);
        for (size_t k = 0; sibling != NULL && k < count; ++k)
            if (strcmp(words[k], sibling) == 0) taken[k] = 1;
    }
    for (size_t i = 0; i < count; ++i) {
        qnnrt_file *file = &from->files[from->count];
        if (taken[i]) continue;
        if (set->inspect && is_json_file(words[i])) {
            file->json_path = words[i];
        } else {
            char *sibling = json_sibling(words[i]);
            file->path = words[i];
            if (sibling != NULL && access(sibling, F_OK) == 0) {
                file->json_path = from->siblings[from->count] = sibling;
            } else {
                free(sibling);
            }
        }
        ++from->count;
    }
}

static void free_sources(sources *from)
{
    for (size_t i = 0; i < from->count; ++i) free(from->siblings[i]);
    free(from->siblings);
    free(from->files);
}

/* Return the hint for a model that cannot be opened. */
static const char *open_hint(const tool *t, const qnnrt_error *err)
{
    const settings *set = &t->set;
    if (strstr(err->text, "desc.host_functions") != NULL) return HOST_HINT;
    if (strstr(err->text, "desc.backends has the role") != NULL)
        return "Leave out the --backend_so of roles that the model does not have.";
    if (err->code != QNNRT_E_LIBRARY) return cli_hint(err);
    return cli_library_hint(err, set->system, set->inspect
        ? "Name the library with --system_so FILE, or add JSON for every binary."
        : t->backend != NULL ? "Name the library with --system_so FILE."
        : backend_hint(t, "Name libraries with --backend_so ROLE=FILE, and libQnnSystem.so with"
                       " --system_so FILE."));
}

/* Open the host steps of a folder. Return 0 after a message. */
static int open_host(tool *t, const char *folder, qnnrt_manifest_open_desc *desc)
{
    qnnrt_cpu_fallback_desc options = {0};
    qnnrt_error err;
    if (folder == NULL || desc->model.no_manifest) return 1;
    if (qnnrt_cpu_fallback_open(folder, &options, &t->hosts[t->host_count], &err) != QNNRT_OK) {
        fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        return 0;
    }
    desc->host_functions = qnnrt_cpu_fallback_functions(t->hosts[t->host_count++],
                                                        &desc->host_function_count);
    return 1;
}

/* Forget a role of --backend_so that the model does not have. Return a note, which the caller
   frees; NULL: err is about something else. */
static char *leave_role(tool *t, const qnnrt_error *err)
{
    settings *set = &t->set;
    size_t at = 0;
    char *note = cli_leave_role(err, set->roles, &set->role_count, set->backend, &at);
    if (note == NULL) return NULL;
    qnnrt_backend_close(t->roles[at]);
    memmove(&t->roles[at], &t->roles[at + 1], (ROLES_MOST - 1 - at) * sizeof(*t->roles));
    t->roles[ROLES_MOST - 1] = NULL;
    return note;
}

qnnrt_manifest *try_sources(tool *t, const char *folder, const char *const *words,
                            size_t count, qnnrt_error *err)
{
    const settings *set = &t->set;
    qnnrt_manifest *model = NULL;
    sources from;
    qnnrt_manifest_open_desc desc = {0};
    qnnrt_manifest_role roles[ROLES_MOST];
    memset(err, 0, sizeof(*err));
    memset(roles, 0, sizeof(roles));
    find_sources(set, words, count, &from);
    desc.model.backend = t->backend;
    desc.model.inspect = set->inspect;
    /* With --inspect it says where to search libQnnSystem.so. */
    if (t->backend == NULL) backend_options(t, &desc.model.backend_desc);
    for (size_t i = 0; i < set->role_count; ++i) {
        roles[i].role = set->roles[i].role;
        roles[i].backend = t->roles[i];
        backend_options(t, &roles[i].desc);
        roles[i].desc.path = set->roles[i].file;
    }
    desc.backends = set->role_count > 0 ? roles : NULL;
    desc.backend_count = set->role_count;
    desc.model.system_path = set->system;
    desc.model.files = from.count != 0 ? from.files : NULL;
    desc.model.file_count = from.count;
    desc.model.metadata = (qnnrt_metadata)set->metadata;
    desc.model.keep_going = set->keep_going;
    desc.model.read = set->read;
    desc.model.context_hooks = qnnrt_profile_hook(t->loading);
    desc.model.residency = set->residency;
    const int swap = set->resident_given && !set->inspect &&
                     set->residency == QNNRT_RESIDENT_CALLER;
    const int share = cli_share(set->share_spill_fill, &desc.model);
    desc.model.no_manifest = set->no_manifest;
    desc.model.progress = cli_progress;
    desc.model.progress_user = &t->set.progress;
    const size_t hosts = t->host_count;
    const char *opened = folder != NULL ? folder : from.folder;
    if (open_host(t, opened, &desc)) qnnrt_manifest_open(opened, &desc, &model, err);
    cli_settle(&model, share, swap, set->resident_bytes, err);
    free_sources(&from);
    while (model == NULL && t->host_count > hosts)
        qnnrt_cpu_fallback_close(t->hosts[--t->host_count]);
    char *note = model == NULL ? leave_role(t, err) : NULL;
    if (note != NULL) {
        const qnnrt_error first = *err;
        model = try_sources(t, folder, words, count, err);
        if (model != NULL) say(t, "note      %s\n", note);
        else *err = first;                       /* the role may be misspelt */
        free(note);
    } else if (model != NULL) {
        step_add_program(model);
    }
    return model;
}

/* Choose the system library that reads a model, for verbs that only look. Return 0 if there is
   none. */
static int choose_reader(tool *t, const char *model)
{
    const char *place = NULL;
    OWNED char *binary = cli_first_binary(model);
    const int ref = binary != NULL && cli_head_of(binary) == CLI_HEAD_REF;
    t->choice.system = cli_find_library(ref ? "libQnnRef.so" : "libQnnSystem.so", &place);
    t->set.system = t->choice.system;
    return t->set.system != NULL;
}

int check_sources(tool *t, const char *folder, const char *const *words, size_t count)
{
    const char *missing = folder != NULL && access(folder, R_OK) != 0 ? folder : NULL;
    for (size_t i = 0; i < count && missing == NULL; ++i)
        if (access(words[i], R_OK) != 0) missing = words[i];
    if (missing != NULL) {
        fail(t, NULL, "Check the name.", "cannot open %s: %s", missing, strerror(errno));
        return 0;
    }
    for (size_t i = 0; count > 1 && i < count; ++i) {
        if (!cli_is_folder(words[i])) continue;
        fail(t, NULL, "Name one folder alone, or files.", "%s is a folder among %lu arguments",
             words[i], (unsigned long)count);
        return 0;
    }
    return 1;
}

int check_output_dir(tool *t)
{
    const char *folder = t->set.output_dir;
    if (folder == NULL || access(folder, F_OK) != 0 || cli_is_folder(folder)) return 1;
    fail(t, NULL, CLI_WRITE_HINT, "cannot write into %s: %s", folder, strerror(ENOTDIR));
    return 0;
}

qnnrt_manifest *open_sources(tool *t, const char *folder, const char *const *words, size_t count)
{
    qnnrt_error err;
    if (!check_sources(t, folder, words, count)) return NULL;
    qnnrt_manifest *model = try_sources(t, folder, words, count, &err);
    /* To look at a model, take the library of a clone if there is no other. */
    if (model == NULL && t->set.inspect && t->set.system == NULL && err.text[0] != '\0' &&
        choose_reader(t, folder != NULL ? folder : words[0]))
        model = try_sources(t, folder, words, count, &err);
    if (model == NULL && err.text[0] != '\0' &&
        !fail_if_foreign(t, folder != NULL ? folder : words[0]))
        fail(t, NULL, open_hint(t, &err), "%s", cli_told(&err));
    return model;
}
