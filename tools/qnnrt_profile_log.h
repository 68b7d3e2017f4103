/* qnnrt_profile_log.h - part of qnnrt.h v0.4.0 - write events as a log for the vendor's tools

   It lies beside qnnrt.h, or in tools/ below it, and is never included by itself:
       #define QNNRT_PROFILE_LOG
       #define QNNRT_IMPLEMENTATION                 // in one file
       #include "qnnrt.h"

   ROOMS (search for the tag), below those of qnnrt.h
       >>export
*/
#ifndef QNNRT_PROFILE_LOG_H
#define QNNRT_PROFILE_LOG_H

#ifndef QNNRT_H
#error "include qnnrt.h, with QNNRT_PROFILE_LOG defined; it includes qnnrt_profile_log.h"
#elif QNNRT_VERSION_MAJOR != 0 || QNNRT_VERSION_MINOR != 4
#error "qnnrt_profile_log.h and qnnrt.h must have the same version"
#endif

/* Write the events of the last exec to the log file that the SDK's qnn-profile-viewer reads,
   through libQnnSystem.so of release 2.40 or newer, except 2.44. An existing log is extended;
   that library makes missing folders.
   Returns  as qnnrt_run_events(); QNNRT_E_LIBRARY, QNNRT_E_VERSION (of libQnnSystem.so); QNNRT_E_IO
            (nothing was written) */
QNNRT_API qnnrt_result qnnrt_run_profile_log(qnnrt_run *run, const char *path);

#endif /* QNNRT_PROFILE_LOG_H, end of the declarations */

/* qnnrt.h includes this file again where its own rooms end. */
#if defined(QNNRT__IMPL_ONCE) && !defined(QNNRT__PROFILE_LOG_ONCE)
#define QNNRT__PROFILE_LOG_ONCE

/* =====================================================================================
   EXPORT                                                                       >>export
   Writes the events of a run through libQnnSystem.so as the log of the vendor's viewer.
   Needs: >>os >>err >>mem >>codes >>abi >>system >>backend (its struct) >>profile
          >>wiring (its struct) >>run (its struct) >>public
   Knows nothing of: how events were read
   ===================================================================================== */

/* Write the events of every step. Callers have read them and hold the lock. */
static qnnrt_result qnnrt__export_write(const qnnrt__profile *profile,
                                        const qnnrt__abi_system_calls *calls, const char *path,
                                        qnnrt_error *err)
{
    const char *slash = strrchr(path, '/'), *call = "systemProfileCreateSerializationTarget";
    const char *why;
    const size_t length = slash == NULL || slash == path ? 1 : (size_t)(slash - path);
    char folder[QNNRT__PATH_MAX];
    qnnrt__abi_target target;
    qnnrt__abi_target_config config;
    qnnrt__abi_profile_data data;
    const qnnrt__abi_profile_data *list[1];
    qnnrt__abi_handle handle = NULL;
    qnnrt__abi_code code, freed;
    uint64_t before, after;
    size_t i;
    int missing;
    if (length >= sizeof(folder) || path[strlen(path) - 1] == '/')
        return qnnrt__fail(err, QNNRT_E_ARG, "%.200s is not the path of a file, or is too long",
                           path);
    memcpy(folder, slash == NULL ? "." : path, length);
    folder[length] = '\0';
    memset(&target, 0, sizeof(target));
    memset(&config, 0, sizeof(config));
    target.type = QNNRT__ABI_TARGET_FILE;
    target.name = slash != NULL ? slash + 1 : path;
    target.folder = folder;
    config.type = QNNRT__ABI_TARGET_HEADER;
    config.program = "qnnrt";
    config.version = qnnrt_version();
    config.backend = profile->backend->build_id;
    qnnrt__os_file_head(path, NULL, 0, &before, &missing);
    code = calls->profile_create_target(target, &config, 1, &handle);
    for (i = 0; i < profile->step_count && code == 0 && handle != NULL; ++i) {
        const qnnrt__profile_step *step = &profile->steps[i];
        if (step->backend == NULL) continue;       /* the vendor's viewer knows graphs only */
        memset(&data, 0, sizeof(data));
        data.version = 1;
        data.begin_us = step->begin_ns / 1000;
        data.end_us = step->end_ns / 1000;
        data.method = QNNRT__ABI_METHOD_EXECUTE;
        data.graph = step->graph;
        data.events = step->events;
        data.count = step->count;
        list[0] = &data;
        call = "systemProfileSerializeEventData";
        code = calls->profile_write(handle, list, 1);
    }
    if (code == 0 && handle == NULL) code = QNNRT__ABI_NOT_SUPPORTED;
    freed = handle != NULL ? calls->profile_free_target(handle) : 0;
    if (code == 0 && freed != 0) {
        call = "systemProfileFreeSerializationTarget";
        code = freed;
    }
    if (code != 0) {
        qnnrt__fail(err, QNNRT_E_BACKEND, "cannot write the profile log %.400s", path);
        return qnnrt__codes_explain(err, call, code, -1, 0);
    }
    /* The genuine libraries answer success even when they could not write. */
    why = qnnrt__os_file_head(path, NULL, 0, &after, &missing);
    if (after > before) return QNNRT_OK;
    qnnrt__fail(err, QNNRT_E_IO, "the profile log %.400s was not written: %s", path,
                why != NULL ? why : "it has not grown");
    return qnnrt__hint(err, QNNRT_E_IO, "Give the path of a plain file, in a folder that this"
                       " process may write to.");
}

/* Read the events, open a libQnnSystem.so by the usual rules, and write them. */
static qnnrt_result qnnrt__export(qnnrt__profile *profile, const char *system_path,
                                  const char *path, qnnrt_error *err)
{
    qnnrt__system system;
    const qnnrt__abi_system_calls *calls;
    qnnrt_result result = qnnrt__profile_events(profile, err);
    if (result == QNNRT_OK)
        result = qnnrt__system_open(system_path, profile->backend->path, QNNRT__SYSTEM_OWN_NEVER,
                                    &profile->backend->hooks, &system, err);
    if (result != QNNRT_OK) return result;
    calls = &system.provider->calls;
    if (!qnnrt__system_is_whole(&system) || calls->profile_create_target == NULL ||
        calls->profile_write == NULL || calls->profile_free_target == NULL)
        result = qnnrt__fail(err, QNNRT_E_VERSION,
                             "%s has system interface %u.%u, which cannot write profile logs;"
                             " that of release 2.40 or newer can, but 2.44 cannot", system.path,
                             (unsigned)system.provider->version.major,
                             (unsigned)system.provider->version.minor);
    else {
        qnnrt__hooks_lock(&profile->backend->hooks);
        result = qnnrt__export_write(profile, calls, path, err);
        qnnrt__hooks_unlock(&profile->backend->hooks);
    }
    if (profile->backend->unload) qnnrt__system_close(&system);
    return result;
}

QNNRT_API qnnrt_result qnnrt_run_profile_log(qnnrt_run *run, const char *path)
{
    const char *system_path;
    if (run == NULL) return QNNRT_E_ARG;
    if (path == NULL || path[0] == '\0')
        return qnnrt__fail(&run->error, QNNRT_E_ARG,
                           "qnnrt_run_profile_log: path is NULL or empty");
    system_path = run->pipeline->model->system_path;
    return qnnrt__export(run->profile, system_path[0] != '\0' ? system_path : NULL, path,
                         &run->error);
}

#endif /* QNNRT__PROFILE_LOG_ONCE */

/* Licence and history: at the end of qnnrt.h. */
