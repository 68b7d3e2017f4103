/* open.c - the backends and the model that the command line names

   ROOM     >>open */
#include "run/model/model.h"
#include "qnnrt_cpu_fallback.h"

#include "cli/stages.h"

/* =====================================================================================
   OPEN                                                                           >>open
   Opens the backends and the model, and prints the files that were loaded.
   ===================================================================================== */

/* Return 1 if a model opens its backends itself: a folder may have a program, which says which
   ones. model may be NULL. */
static int opens_backends(const settings *set, const char *model)
{
    if (set->role_count > 0) return 1;
    if (model == NULL) return 0;
    OWNED char *path = cli_text("%s/qnnrt.json", model);
    return access(path, F_OK) == 0;
}

void choose_libraries(tool *t, const char *model)
{
    const int alone = t->set.role_count == 0 && t->set.backend == NULL;
    if (t->set.role_count > 0) return;
    cli_choose(&t->choice, model, &t->set.backend, &t->set.system);
    if (!alone || !opens_backends(&t->set, model)) return;
    tool look = *t;
    qnnrt_error err;
    look.set.inspect = look.set.run.quiet = 1;
    const char *place = NULL;
    OWNED char *reader = t->set.system == NULL ? cli_find_library("libQnnSystem.so", &place) : NULL;
    if (reader != NULL) look.set.system = reader;
    look.model = try_sources(&look, model, NULL, 0, &err);
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

int open_model(tool *t)
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
