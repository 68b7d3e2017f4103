/* backend.c - backends and contexts: their options, and what is said about them

   ROOM     >>backend */
#include "run/model/model.h"

#include "cli/stages.h"

/* =====================================================================================
   BACKEND                                                                     >>backend
   What all backends are opened with, and what is said about libraries and contexts.
   ===================================================================================== */

void backend_options(tool *t, qnnrt_backend_desc *desc)
{
    memset(desc, 0, sizeof(*desc));
    desc->path = t->set.backend;
    desc->log_level = t->set.log_level;
    desc->soc_model = t->set.soc_model;
    if (t->set.log_level == QNNRT_LOG_DEFAULT) return;
    desc->hooks.log = cli_log;
    desc->hooks.log_user = &t->set.log_level;
}

const char *backend_hint(const tool *t, const char *otherwise)
{
    return t->choice.why != NULL && strcmp(t->choice.why, CLI_NAMED_BY_ENVIRONMENT) == 0
        ? "Correct QNNRT_BACKEND, which names this library, or name one with --backend_so FILE."
        : otherwise;
}

void fail_backend(tool *t, const qnnrt_error *err)
{
    const char *hint = backend_hint(t, "Name the library with --backend_so FILE, with a slash in"
                                    " FILE: --backend_so ./libQnnHtp.so.");
    fail(t, NULL, err->code != QNNRT_E_LIBRARY ? cli_hint(err)
         : cli_library_hint(err, t->set.backend, hint), "%s", cli_told(err));
}

int fail_if_foreign(tool *t, const char *model)
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
        OWNED char *hint = cli_text("Name %s with %s%s.", cli_library_name(made),
                                    t->backend_option != NULL ? t->backend_option : "--backend_so",
                                    t->choice.backend == NULL ? ", or leave --backend_so out"
                                    : strcmp(t->choice.why, CLI_NAMED_BY_ENVIRONMENT) == 0
                                    ? ", or correct QNNRT_BACKEND" : "");
        fail(t, NULL, hint, "%s was made for %s, and the library %s is for %s", model,
             cli_backend_name(made), info->path, cli_backend_name(info->id));
    }
    qnnrt_backend_close(own);
    return foreign;
}

static void say_version(const tool *t, const char *before, qnnrt_version_info version)
{
    say(t, "%s%lu.%lu.%lu", before, (unsigned long)version.major, (unsigned long)version.minor,
        (unsigned long)version.patch);
}

size_t list_backends(const tool *t, qnnrt_backend *list[ROLES_MOST], const char *roles[ROLES_MOST])
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

void say_backend(const tool *t, const qnnrt_backend *backend, const char *role, int first)
{
    const qnnrt_backend_info *info = qnnrt_backend_get_info(backend);
    OWNED char *path = cli_shown(info->path), *provider = cli_shown(info->provider),
              *build = cli_shown(info->build_id);
    say(t, "backend   %s%s%s\n", role, role[0] != '\0' ? ": " : "", path);
    if (first && t->choice.why != NULL) say(t, "          %s\n", t->choice.why);
    say(t, "          provider %s, build %s", provider[0] != '\0' ? provider
        : "(not named)",
        build[0] != '\0' ? build : "(not named)");
    say_version(t, ", core API ", info->core_api);
    say_version(t, ", backend API ", info->backend_api);
    say(t, "\n          opened in %.3f ms\n", ms(info->open_ns));
}

const char *model_name(const tool *t)
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
    OWNED char *bytes = cli_bytes_text(need), *most = cli_bytes_text(QNNRT_DOMAIN_BYTES);
    say(t, "device    about %s; one process has about %s on the NPU\n", bytes, most);
}

void say_device(const tool *t)
{
    OWNED char *text = cli_device_text(t->model);
    say(t, "device    %s\n", text);
}

void say_contexts(const tool *t)
{
    size_t count = 0;
    const qnnrt_manifest_context *contexts = qnnrt_manifest_get_info(t->model)->contexts;
    count = qnnrt_manifest_get_info(t->model)->context_count;
    const char *system_path = qnnrt_manifest_get_info(t->model)->system_path;
    OWNED char *system_shown = cli_shown(system_path[0] != '\0' ? system_path : "(not needed)");
    say(t, "system    %s\n", system_shown);
    OWNED char *model_shown = cli_shown(model_name(t));
    say(t, "model     %s, %lu context%s\n", model_shown, (unsigned long)count, cli_plural(count));
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_manifest_context *in = &contexts[i];
        const qnnrt_context_info *c = in->info;
        OWNED char *file = cli_shown(in->file);
        OWNED char *build = cli_shown(c->build_id != NULL ? c->build_id : "");
        OWNED char *role = cli_shown(in->role), *bytes = cli_bytes_text(c->file_bytes);
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
    }
    say_need(t);
}

void say_valid(const tool *t)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    for (size_t i = 0; i < info->context_count; ++i) {
        const qnnrt_context_info *c = info->contexts[i].info;
        if (info->contexts[i].failure != NULL || c->backend == NULL) continue;
        OWNED char *file = cli_shown(info->contexts[i].file);
        OWNED char *path = cli_shown(qnnrt_backend_get_info(c->backend)->path);
        say(t, "valid     %s: %s created it in %.3f ms, and has its %lu graph%s\n", file, path,
            ms(c->create_ns), (unsigned long)c->graph_count, cli_plural(c->graph_count));
    }
}

/* ---- the words of the command line become a folder, or files with their JSON ---- */
