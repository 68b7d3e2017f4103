/* run_open.h - a part of qnnrt-run.c: the backend, the model, and the pipelines that --graph names

   ROOMS    >>open >>select                                                                      */

/* =====================================================================================
   OPEN                                                                           >>open
   Opens the backend first, so that its path is known even if the model cannot be opened.
   ===================================================================================== */

enum { NPU = 6 };                      /* qnnrt_context_info.backend_id of HTP */

#define HOST_HINT "Run it with a program that has this function; qnnrt-run has those of the" \
    " folder's host.json alone, so it can only inspect and plan the folder."

#define LOG_HINT "Add --log_level error for the library's messages."

/* Fill the options of the backend. */
static void backend_options(tool *t, qnnrt_backend_desc *desc)
{
    memset(desc, 0, sizeof(*desc));
    desc->path = t->set.backend;
    desc->log_level = t->set.log_level;
    desc->soc_model = t->set.soc_model;
    if (t->set.log_level == QNNRT_LOG_DEFAULT) return;
    desc->hooks.log = cli_log;
    desc->hooks.log_user = &t->set.log_level;
}

/* Return the hint for a backend that cannot be opened: where its name comes from, or another. */
static const char *backend_hint(const tool *t, const char *otherwise)
{
    return t->choice.why != NULL && strcmp(t->choice.why, CLI_NAMED_BY_ENVIRONMENT) == 0
        ? "Correct QNNRT_BACKEND, which names this library, or name one with --backend_so FILE."
        : otherwise;
}

static void fail_backend(tool *t, const qnnrt_error *err)
{
    const char *hint = backend_hint(t, "Name the library with --backend_so FILE, with a slash in"
                                    " FILE: --backend_so ./libQnnHtp.so.");
    fail(t, NULL, err->code != QNNRT_E_LIBRARY ? cli_hint(err)
         : cli_library_hint(err, t->set.backend, hint), "%s", cli_told(err));
}

/* Report that a model was made for another backend than the one that is open. Return 0 if it was
   not. */
static int fail_if_foreign(tool *t, const char *model)
{
    qnnrt_backend *own = NULL;
    qnnrt_backend_desc desc;
    backend_options(t, &desc);
    if (t->set.role_count > 0 || t->set.inspect ||
        (t->backend == NULL && qnnrt_backend_open(&desc, &own, NULL) != QNNRT_OK)) return 0;
    if (t->choice.id == 0) cli_choose_id(&t->choice, model, NULL);
    const qnnrt_backend_info *info = qnnrt_backend_get_info(own != NULL ? own : t->backend);
    const uint32_t made = t->choice.id;
    const int foreign = made != 0 && info->id != made &&
                        strcmp(cli_backend_name(info->id), "unknown") != 0;
    if (foreign) {
        char *hint = cli_text("Name %s with %s%s.", cli_library_name(made),
                              t->backend_option != NULL ? t->backend_option : "--backend_so",
                              t->choice.backend == NULL ? ", or leave --backend_so out"
                              : strcmp(t->choice.why, CLI_NAMED_BY_ENVIRONMENT) == 0
                              ? ", or correct QNNRT_BACKEND" : "");
        fail(t, NULL, hint, "%s was made for %s, and the library %s is for %s", model,
             cli_backend_name(made), info->path, cli_backend_name(info->id));
        free(hint);
    }
    qnnrt_backend_close(own);
    return foreign;
}

static void say_version(const tool *t, const char *before, qnnrt_version_info version)
{
    say(t, "%s%lu.%lu.%lu", before, (unsigned long)version.major, (unsigned long)version.minor,
        (unsigned long)version.patch);
}

/* List the backends of the model, each with its role, "" without one. Return their number. */
static size_t list_backends(const tool *t, qnnrt_backend *list[ROLES_MOST],
                            const char *roles[ROLES_MOST])
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    size_t count = 0;
    for (size_t i = 0; info != NULL && i < info->context_count && count < ROLES_MOST; ++i) {
        const qnnrt_manifest_context *context = &info->contexts[i];
        size_t k = 0;
        while (k < count && strcmp(roles[k], context->role) != 0) ++k;
        if (k < count || context->info->backend == NULL) continue;
        list[count] = context->info->backend;
        roles[count++] = context->role;
    }
    return count;
}

/* Show a backend. first: the model has no other before it, and it may have been chosen. */
static void say_backend(const tool *t, const qnnrt_backend *backend, const char *role, int first)
{
    const qnnrt_backend_info *info = qnnrt_backend_get_info(backend);
    char *path = cli_shown(info->path), *provider = cli_shown(info->provider),
        *build = cli_shown(info->build_id);
    say(t, "backend   %s%s%s\n", role, role[0] != '\0' ? ": " : "", path);
    if (first && t->choice.why != NULL) say(t, "          %s\n", t->choice.why);
    say(t, "          provider %s, build %s", provider[0] != '\0' ? provider
        : "(not named)",
        build[0] != '\0' ? build : "(not named)");
    say_version(t, ", core API ", info->core_api);
    say_version(t, ", backend API ", info->backend_api);
    say(t, "\n          opened in %.3f ms\n", ms(info->open_ns));
    free(path);
    free(provider);
    free(build);
}

static const char *model_name(const tool *t)
{
    const settings *set = &t->set;
    return set->ctx_dir != NULL ? set->ctx_dir : set->files.count == 1 ? set->files.items[0]
        : "files given one by one";
}

/* Say what the contexts of an NPU need together, and what one process has there. */
static void say_need(const tool *t)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    uint64_t need = 0;
    int found = 0;
    for (size_t i = 0; i < info->context_count; ++i) {
        if (info->contexts[i].info->backend_id != NPU || info->contexts[i].failure != NULL)
            continue;
        need += info->contexts[i].info->device_bytes;
        found = 1;
    }
    if (!found) return;
    char *bytes = cli_bytes_text(need), *most = cli_bytes_text(QNNRT_DOMAIN_BYTES);
    say(t, "device    about %s; one process has about %s on the NPU\n", bytes, most);
    free(bytes);
    free(most);
}

/* Say what the contexts took. */
static void say_device(const tool *t)
{
    char *text = cli_device_text(t->model);
    say(t, "device    %s\n", text);
    free(text);
}

static void say_contexts(const tool *t)
{
    size_t count = 0;
    const qnnrt_manifest_context *contexts = qnnrt_manifest_get_info(t->model)->contexts;
    count = qnnrt_manifest_get_info(t->model)->context_count;
    const char *system_path = qnnrt_manifest_get_info(t->model)->system_path;
    char *system_shown = cli_shown(system_path[0] != '\0' ? system_path : "(not needed)");
    say(t, "system    %s\n", system_shown);
    free(system_shown);
    char *model_shown = cli_shown(model_name(t));
    say(t, "model     %s, %lu context%s\n", model_shown, (unsigned long)count, cli_plural(count));
    free(model_shown);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_manifest_context *in = &contexts[i];
        const qnnrt_context_info *c = in->info;
        char *file = cli_shown(in->file);
        char *build = cli_shown(c->build_id != NULL ? c->build_id : "");
        char *role = cli_shown(in->role), *bytes = cli_bytes_text(c->file_bytes);
        say(t, "  %lu  %s", (unsigned long)i, file);
        if (c->file_bytes != 0 || in->failure != NULL) say(t, "  %s", bytes);
        else say(t, "  without its binary");
        if (in->failure != NULL) {
            say(t, ", failed\n");
        } else {
            if (in->role[0] != '\0') say(t, ", on %s", role);
            if (build[0] != '\0') say(t, ", made by %s", build);
            if (c->soc_model != 0) say(t, ", SoC %lu", (unsigned long)c->soc_model);
            if (c->dsp_arch != 0) say(t, ", v%lu", (unsigned long)c->dsp_arch);
            say(t, "; metadata %.3f ms", ms(c->metadata_ns));
            if (!t->set.inspect) say(t, ", create %.3f ms", ms(c->create_ns));
            say(t, "\n");
        }
        free(file);
        free(role);
        free(bytes);
        free(build);
    }
    say_need(t);
}

/* Say which binaries the backend has accepted: --validate_binary. */
static void say_valid(const tool *t)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    for (size_t i = 0; i < info->context_count; ++i) {
        const qnnrt_context_info *c = info->contexts[i].info;
        if (info->contexts[i].failure != NULL || c->backend == NULL) continue;
        char *file = cli_shown(info->contexts[i].file);
        char *path = cli_shown(qnnrt_backend_get_info(c->backend)->path);
        say(t, "valid     %s: %s created it in %.3f ms, and has its %lu graph%s\n", file, path,
            ms(c->create_ns), (unsigned long)c->graph_count, cli_plural(c->graph_count));
        free(file);
        free(path);
    }
}

/* ---- the words of the command line become a folder, or files with their JSON ---- */

typedef struct sources {
    const char *folder;                /* NULL: .files are given */
    qnnrt_file *files;
    size_t      count;
    char      **siblings;              /* [count] names of JSON files, or NULL     */
} sources;

/* True if a file is named X.json, or begins with '{' after a byte order mark and blanks; no context
   binary begins so. */
static int is_json_file(const char *path)
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
    char *taken = cli_alloc(count, 1);
    for (size_t i = 0; i < count; ++i) {         /* mark JSON whose binary is named, too */
        char *sibling = json_sibling(words[i]);
        for (size_t k = 0; sibling != NULL && k < count; ++k)
            if (strcmp(words[k], sibling) == 0) taken[k] = 1;
        free(sibling);
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
    free(taken);
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

/* Open a folder, or files. NULL with an error, or with none after a message. */
static qnnrt_manifest *try_sources(tool *t, const char *folder, const char *const *words,
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
    char *binary = cli_first_binary(model);
    const int ref = binary != NULL && cli_head_of(binary) == CLI_HEAD_REF;
    free(binary);
    t->choice.system = cli_find_library(ref ? "libQnnRef.so" : "libQnnSystem.so", &place);
    t->set.system = t->choice.system;
    return t->set.system != NULL;
}

/* Check that a folder, or files, can be read. Return 0 after a message. */
static int check_sources(tool *t, const char *folder, const char *const *words, size_t count)
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

/* Check that --output_dir is a folder, or free to become one. Return 0 after a message. */
static int check_output_dir(tool *t)
{
    const char *folder = t->set.output_dir;
    if (folder == NULL || access(folder, F_OK) != 0 || cli_is_folder(folder)) return 1;
    fail(t, NULL, CLI_WRITE_HINT, "cannot write into %s: %s", folder, strerror(ENOTDIR));
    return 0;
}

/* Open a folder, or files. NULL after a message. */
static qnnrt_manifest *open_sources(tool *t, const char *folder, const char *const *words,
                                    size_t count)
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

/* Return 1 if a model opens its backends itself: a folder may have a program, which says which
   ones. model may be NULL. */
static int opens_backends(const settings *set, const char *model)
{
    if (set->role_count > 0) return 1;
    if (model == NULL) return 0;
    char *path = cli_text("%s/qnnrt.json", model);
    const int there = access(path, F_OK) == 0;
    free(path);
    return there;
}

/* Choose the libraries that no option names, by what the model was made for; and those of the other
   roles of a program. */
static void choose_libraries(tool *t, const char *model)
{
    const int alone = t->set.role_count == 0 && t->set.backend == NULL;
    if (t->set.role_count > 0) return;
    cli_choose(&t->choice, model, &t->set.backend, &t->set.system);
    if (!alone || !opens_backends(&t->set, model)) return;
    tool look = *t;
    qnnrt_error err;
    look.set.inspect = look.set.run.quiet = 1;
    const char *place = NULL;
    char *reader = t->set.system == NULL ? cli_find_library("libQnnSystem.so", &place) : NULL;
    if (reader != NULL) look.set.system = reader;
    look.model = try_sources(&look, model, NULL, 0, &err);
    free(reader);
    if (look.model != NULL)
        cli_choose_roles(&t->choice, look.model, t->set.roles, &t->set.role_count);
    step_drop_program(look.model);
    qnnrt_manifest_close(look.model);
    while (look.host_count > t->host_count) qnnrt_cpu_fallback_close(look.hosts[--look.host_count]);
}

/* Open the backend before the model, so that its path is known if the model cannot be opened. */
static int open_backend(tool *t)
{
    qnnrt_error err;
    qnnrt_backend_desc desc;
    backend_options(t, &desc);
    if (qnnrt_backend_open(&desc, &t->backend, &err) != QNNRT_OK) {
        fail_backend(t, &err);
        return 0;
    }
    say_backend(t, t->backend, "", 1);
    if (!register_packages(t, t->backend, NULL, 1)) return 0;
    return !wants_power(&t->set) || set_power(t, t->backend);
}

/* Open the backends of --backend_so before the model, so that they have their op packages when it
   opens its graphs. Packages without a role are for FILE alone, else for the first role. */
static int open_roles(tool *t)
{
    qnnrt_error err;
    qnnrt_backend_desc desc;
    int good = 1;
    backend_options(t, &desc);
    if (t->set.backend != NULL) {
        if (qnnrt_backend_open(&desc, &t->backend, &err) != QNNRT_OK) {
            fail_backend(t, &err);
            return 0;
        }
        good = register_packages(t, t->backend, NULL, 1);
    }
    for (size_t i = 0; i < t->set.role_count && good; ++i) {
        backend_options(t, &desc);
        desc.path = t->set.roles[i].file;
        good = qnnrt_backend_open(&desc, &t->roles[i], &err) == QNNRT_OK;
        if (!good) fail_backend(t, &err);
        good = good && register_packages(t, t->roles[i], t->set.roles[i].role,
                                         i == 0 && t->set.backend == NULL);
    }
    return good;
}

/* Show the backends that the model opened, and set the power of the NPU, or of the first. */
static int show_backends(tool *t)
{
    qnnrt_backend *list[ROLES_MOST], *npu = NULL;
    const char *roles[ROLES_MOST];
    const size_t count = list_backends(t, list, roles);
    for (size_t i = 0; i < count; ++i) {
        say_backend(t, list[i], roles[i], i == 0);
        if (npu == NULL && qnnrt_backend_get_info(list[i])->id == NPU) npu = list[i];
    }
    if (!wants_power(&t->set) || count == 0) return 1;
    return set_power(t, npu != NULL ? npu : list[0]);
}

static int open_model(tool *t)
{
    const settings *set = &t->set;
    qnnrt_error err;
    /* Packages are registered before a graph with their operators is opened. */
    const int packages = !set->inspect && set->packages.count > 0;
    const int own = !set->inspect && (packages ? set->role_count == 0
                                       : !opens_backends(set, set->ctx_dir));
    /* A wrong name is said before a library is loaded. */
    if (!check_sources(t, set->ctx_dir, set->files.items, set->files.count) ||
        !check_output_dir(t)) return 0;
    if (own && !open_backend(t)) return 0;
    if (packages && !own && !open_roles(t)) return 0;
    if (set->profile != QNNRT_PROFILE_OFF &&
        qnnrt_profile_create((qnnrt_profile_level)set->profile, NULL, &t->loading, &err) !=
            QNNRT_OK) {
        fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        return 0;
    }
    t->model = open_sources(t, set->ctx_dir, set->files.items, set->files.count);
    if (t->model == NULL || (!set->inspect && !own && !show_backends(t))) return 0;
    if (set->command != COMMAND_INSPECT) say_contexts(t);

    size_t count = 0;
    if (set->profile != QNNRT_PROFILE_OFF && !t->sampling) {
        const qnnrt_profile_event *events;
        qnnrt_profile_events(t->loading, &events, &count);
        say_events(t, "of loading", NULL, events, count);
    }
    const qnnrt_manifest_context *contexts = qnnrt_manifest_get_info(t->model)->contexts;
    count = qnnrt_manifest_get_info(t->model)->context_count;
    for (size_t i = 0; i < count; ++i)
        if (contexts[i].failure != NULL) {
            fail(t, NULL, cli_hint(contexts[i].failure), "%s", cli_told(contexts[i].failure));
            leave_out(t, contexts[i].file, NULL, contexts[i].failure->text);
        }
    return 1;
}

/* =====================================================================================
   SELECT                                                                       >>select
   Turns the pipelines that --graph names, or all pipelines, into jobs.
   ===================================================================================== */

static void add_job(tool *t, const qnnrt_pipeline *pipeline, const char *asked)
{
    for (size_t i = 0; asked != NULL && i < t->job_count; ++i)      /* each pipeline runs once */
        if (t->jobs[i].pipeline == pipeline) return;
    job *j = &t->jobs[t->job_count++];
    j->pipeline = pipeline;
    j->info = qnnrt_pipeline_get_info(pipeline);
    j->asked = asked;
    char *name = cli_shown(j->info->name);
    const int renamed = asked != NULL && strcmp(asked, j->info->name) != 0;
    j->title = renamed ? cli_text("\"%s\" (%s)", name, asked) : cli_text("\"%s\"", name);
    free(name);
    const size_t slots = j->info->slot_count;
    j->blocks = cli_alloc(slots, sizeof(*j->blocks));
    j->input_files = cli_alloc(slots, sizeof(*j->input_files));
    j->input_floats = cli_alloc(slots, sizeof(*j->input_floats));
    j->names = cli_alloc(slots, sizeof(*j->names));
    j->places = cli_alloc(slots, sizeof(*j->places));
    for (size_t i = j->info->name_count; i > 0; --i)     /* of several names the first one holds */
        j->names[j->info->names[i - 1].slot - j->info->slots] = j->info->names[i - 1].name;
    for (size_t i = 0; i < j->info->place_count; ++i)
        j->places[j->info->places[i].slot - j->info->slots] = &j->info->places[i];
    j->files = cli_alloc(slots, sizeof(*j->files));
    j->gathered = cli_alloc(slots, sizeof(*j->gathered));
    j->native_slots = cli_alloc(slots, 1);
    j->written_slots = cli_alloc(slots, 1);
    j->native_files = cli_alloc(slots, sizeof(*j->native_files));
}

/* Return a pipeline that is not wired: its job shows its graphs, and fails when it is planned. */
static const qnnrt_pipeline *find_unwired(const tool *t, const char *name)
{
    for (size_t i = 0; i < qnnrt_manifest_get_info(t->model)->pipeline_count; ++i) {
        const qnnrt_pipeline *pipeline = qnnrt_manifest_get_info(t->model)->pipelines[i];
        if (strcmp(qnnrt_pipeline_get_info(pipeline)->name, name) == 0) return pipeline;
    }
    return NULL;
}

/* Leave out a pipeline that is not wired. */
static void leave_pipeline(tool *t, const qnnrt_pipeline_info *info)
{
    char *name = cli_shown(info->name);
    fail(t, NULL, info->failure->hint[0] != '\0' ? cli_hint(info->failure)
         : "Replace the file that did not load.",
         "pipeline \"%s\" is left out, and its graphs stand alone: %s", name,
         cli_told(info->failure));
    leave_out(t, NULL, info->name, info->failure->text);
    free(name);
}

/* Add each graph that is in none of the jobs, alone. */
static void add_graphs(tool *t)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    char **taken = cli_alloc(info->context_count, sizeof(*taken));
    for (size_t c = 0; c < info->context_count; ++c)
        taken[c] = cli_alloc(info->contexts[c].info->graph_count, 1);
    for (size_t i = 0; i < t->job_count; ++i)
        for (size_t s = 0; s < t->jobs[i].info->step_count; ++s) {
            const qnnrt_step_info *step = &t->jobs[i].info->steps[s];
            if (step->kind == QNNRT_STEP_GRAPH)
                taken[step_number(step)][step->graph - step_context(step).info->graphs] = 1;
        }
    for (size_t c = 0; c < info->context_count; ++c) {
        for (size_t g = 0; g < info->contexts[c].info->graph_count; ++g) {
            const qnnrt_pipeline *alone = NULL;
            char *name = cli_text("%lu/%s", (unsigned long)c,
                                  info->contexts[c].info->graphs[g].name);
            if (!taken[c][g] && qnnrt_manifest_find(t->model, name, &alone, NULL) == QNNRT_OK)
                add_job(t, alone, NULL);
            free(name);
        }
        free(taken[c]);
    }
    free(taken);
}

/* Add all pipelines. With --keep_going, run and plan leave out what is not wired; then, or if a
   file did not load, they take every other graph alone. */
static void add_pipelines(tool *t)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    const int whole = !t->set.keep_going || t->set.command == COMMAND_INSPECT;
    for (size_t i = 0; i < info->pipeline_count; ++i) {
        const qnnrt_pipeline_info *pipeline = qnnrt_pipeline_get_info(info->pipelines[i]);
        if (whole || pipeline->failure == NULL) add_job(t, info->pipelines[i], NULL);
        else leave_pipeline(t, pipeline);
    }
    if (!whole && t->left_count > 0) add_graphs(t);
}

/* Compare a misspelt name with those of a pipeline's tensors. */
static void near_slots(cli_near *near, const job *j, qnnrt_role role)
{
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        const qnnrt_slot *slot = &j->info->slots[i];
        if (role != QNNRT_ROLE_ANY && slot->role != role) continue;
        if (j->names[i] != NULL) cli_near_try(near, j->names[i]);
        cli_near_try(near, slot->tensor->name);
        cli_near_try(near, slot->address);
    }
}

static int select_jobs(tool *t)
{
    const settings *set = &t->set;
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    size_t most = info->pipeline_count + set->graphs.count;
    for (size_t i = 0; i < info->context_count; ++i) most += info->contexts[i].info->graph_count;
    t->jobs = cli_alloc(most, sizeof(*t->jobs));
    if (set->graphs.count == 0) add_pipelines(t);
    for (size_t i = 0; i < set->graphs.count; ++i) {
        const qnnrt_pipeline *pipeline = NULL;
        qnnrt_error err;
        if (qnnrt_manifest_find(t->model, set->graphs.items[i], &pipeline, &err) != QNNRT_OK)
            pipeline = find_unwired(t, set->graphs.items[i]);
        if (pipeline != NULL) {
            add_job(t, pipeline, set->graphs.items[i]);
            continue;
        }
        cli_near near = {set->graphs.items[i], strlen(set->graphs.items[i]), NULL, 0};
        for (size_t k = 0; k < info->pipeline_count; ++k)
            cli_near_try(&near, qnnrt_pipeline_get_info(info->pipelines[k])->name);
        char *hint = cli_near_hint(&near);
        fail(t, NULL, hint != NULL ? hint : cli_hint(&err), "--graph: %s", cli_told(&err));
        free(hint);
    }
    if (t->job_count == 0 && !t->failed) fail(t, NULL, NULL, "the model has no graph that can run");
    return t->job_count > 0 && (!t->failed || set->keep_going);
}

static void free_jobs(tool *t)
{
    for (size_t i = 0; i < t->job_count; ++i) {
        job *j = &t->jobs[i];
        for (size_t s = 0; s < j->info->slot_count; ++s) {
            free(j->files[s]);
            free(j->native_files[s]);
            free(j->gathered[s]);
        }
        free(j->gathered);
        free(j->digests);
        free(j->native_slots);
        free(j->written_slots);
        for (size_t w = 0; w < j->written_count; ++w) free(j->written[w].path);
        free(j->memory_reason);
        free(j->files);
        free(j->native_files);
        free(j->written);
        free((void *)j->blocks);
        free((void *)j->names);
        free((void *)j->places);
        free((void *)j->input_files);
        free(j->input_floats);
        free(j->folder);
        free(j->title);
        free(j->conversions);
        free(j->exec_ns);
        free(j->samples);
        free_events(j);
        free(j->error);
        qnnrt_plan_destroy(j->plan);
    }
    free(t->jobs);
    t->jobs = NULL;
    t->job_count = 0;
}

static void close_all(tool *t)
{
    free_jobs(t);
    step_drop_program(t->other);
    step_drop_program(t->model);
    qnnrt_manifest_close(t->other);
    const qnnrt_result model = qnnrt_manifest_close(t->model);
    qnnrt_profile_destroy(t->loading);
    if (model != QNNRT_OK)
        fail(t, NULL, LOG_HINT, "closing the model failed: %s", qnnrt_result_name(model));
    for (size_t i = 0; i < t->host_count; ++i) qnnrt_cpu_fallback_close(t->hosts[i]);
    qnnrt_result backend = qnnrt_backend_close(t->backend);
    for (size_t i = 0; i < ROLES_MOST; ++i) {
        const qnnrt_result one = qnnrt_backend_close(t->roles[i]);
        if (backend == QNNRT_OK) backend = one;
    }
    if (backend != QNNRT_OK)
        fail(t, NULL, LOG_HINT, "closing the backend failed: %s", qnnrt_result_name(backend));
}
