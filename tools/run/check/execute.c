/* execute.c - whether a model opens and executes, in a process of its own

   ROOM     >>execute */
#include "run/check/check.h"
#include "run/model/model.h"
#include "qnnrt_cpu_fallback.h"

#include <math.h>

#include "cli/stages.h"

/* =====================================================================================
   EXECUTE                                                                       >>execute
   Reads a folder of context binaries, and with --run executes each pipeline once. In a child.
   ===================================================================================== */

/* Return what the models are to run on. */
static target target_of(doctor *d)
{
    target g = {.whole = 1};
    if (d->libs.count > 0) g.libs = &d->libs;
    if (d->loaded != NULL) {
        g.library = base_name(d->loaded);
        g.marks = d->loaded_marks;
        g.backend_id = d->backend_id;
#if !defined(__aarch64__)
        g.emulator = 1;                /* it is loaded, so it is for this machine */
#endif
    }
    g.arch = d->arch;
    g.chip = d->device.facts.chip;
    return g;
}

/* Return the library that reads a model if no backend was loaded: beside the one that did not
   start, or where a program looks for it; or NULL. The caller frees it. */
static char *find_reader(const doctor *d, const char *folder)
{
    const char *place = NULL;
    char *found = system_beside(d->t->set.backend);
    if (found != NULL) return found;
    OWNED char *binary = cli_first_binary(folder);
    const int ref = binary != NULL && cli_head_of(binary) == CLI_HEAD_REF;
    return cli_find_library(ref ? "libQnnRef.so" : "libQnnSystem.so", &place);
}

/* Open a folder: metadata only, or with the backend. Return 0 with an error. */
static int open_folder(doctor *d, const char *folder, qnnrt_metadata metadata, int inspect,
                       qnnrt_error *err)
{
    tool *t = d->t;
    qnnrt_manifest_open_desc desc = {0};
    qnnrt_manifest_role roles[ROLES_MOST];
    qnnrt_cpu_fallback_desc options = {0};
    memset(roles, 0, sizeof(roles));
    backend_options(t, &desc.model.backend_desc);
    OWNED char *reader = t->set.system == NULL && d->loaded == NULL ? find_reader(d, folder) : NULL;
    desc.model.backend_desc.path = d->loaded;
    for (size_t i = 0; i < t->set.role_count; ++i) {
        roles[i].role = t->set.roles[i].role;
        backend_options(t, &roles[i].desc);
        roles[i].desc.path = t->set.roles[i].file;
    }
    desc.backends = t->set.role_count > 0 ? roles : NULL;
    desc.backend_count = t->set.role_count;
    desc.model.system_path = reader != NULL ? reader : t->set.system;
    desc.model.inspect = inspect;
    desc.model.keep_going = inspect;
    desc.model.metadata = metadata;
    desc.model.read = 1;                     /* a file that is cut short meanwhile is no crash */
    int good = t->host_count > 0 ||
               qnnrt_cpu_fallback_open(folder, &options, &t->hosts[0], err) == QNNRT_OK;
    if (good) {
        t->host_count = 1;
        desc.host_functions = qnnrt_cpu_fallback_functions(t->hosts[0], &desc.host_function_count);
        good = qnnrt_manifest_open(folder, &desc, &t->model, err) == QNNRT_OK;
    }
    return good;
}

int has_name(const char *folder, int (*fits)(const char *name))
{
    size_t count = 0;
    char **names = names_in(folder, fits, &count);
    if (names == NULL) return -1;
    free_names(names, count);
    return count > 0;
}

int is_metadata_name(const char *name)
{
    const size_t length = strlen(name);
    return length > 10 && strcmp(name + length - 10, "_json.json") == 0;
}

/* Check context binaries by their bytes alone, because nothing reads their metadata. */
static void check_by_marks(const doctor *d, const target *g, char **names, const char *bad,
                           size_t count, findings *f)
{
    for (size_t i = 0; i < count; ++i) {
        OWNED char *path = cli_text("%s/%s", d->at, names[i]);
        if (!bad[i]) check_marked(g, f, path, names[i]);
    }
    add_finding(f, AREA_MODEL, FOUND_NOTE, "graphs", NULL,
                "not looked at: %s, and there is no JSON", d->t->set.doctor->no_load
                ? "--no_load loads no libQnnSystem.so" : "no libQnnSystem.so was found");
}

/* Open the folder d->at with libQnnSystem.so, or with the JSON alone. Return 0 with an error.
   *no_system: 1: there is no such library, or none is to be loaded. */
static int open_described(doctor *d, int described, int *no_system, qnnrt_error *err)
{
    const settings *set = &d->t->set;
    if (!set->doctor->no_load && open_folder(d, d->at, QNNRT_METADATA_ALL, 1, err)) return 1;
    *no_system = set->doctor->no_load || (err->code == QNNRT_E_LIBRARY && set->system == NULL);
    return *no_system && described && open_folder(d, d->at, QNNRT_METADATA_JSON, 1, err);
}

void work_model(void *user, findings *f)
{
    doctor *d = user;
    target g = target_of(d);
    qnnrt_error err = {0};
    size_t count = 0, faults = 0, without = 0, program_bytes = 0;
    int no_system = 0;
    enum { MOST = 1 << 26 };
    const int described = has_name(d->at, is_metadata_name) > 0;
    char **names = names_in(d->at, is_binary_name, &count);
    OWNED char *bad = cli_alloc(count, 1);
    OWNED char **reported = cli_alloc(count, sizeof(*reported));
    OWNED char *manifest = cli_text("%s/qnnrt.json", d->at);
    OWNED char *program = cli_read_file(manifest, MOST, &program_bytes);
    for (size_t i = 0; i < count; ++i) {
        OWNED char *path = cli_text("%s/%s", d->at, names[i]);
        bad[i] = !check_binary(f, path, names[i]) ||
                 !check_hash(f, path, names[i], program, program_bytes, &without);
        if (bad[i]) reported[faults++] = names[i];
    }
    note_without_hash(f, without, count);
    child_stage(f, "reading the model with libQnnSystem.so");
    if (count == 0 || faults < count) {
        const int opened = open_described(d, described || count == 0, &no_system, &err);
        if (no_system) g.folder = d->at;
        if (opened) check_health(d->t, &g, reported, faults, f);
        else if (no_system && !described && count > 0)
            check_by_marks(d, &g, names, bad, count, f);
        else
            add_finding(f, AREA_MODEL, FOUND_FAULT, base_name(d->at), cli_hint(&err), "%s",
                        text_after(cli_told(&err), d->at));
    }
    if (names != NULL) free_names(names, count);
}

/* Count the values of the outputs that are no numbers. */
static uint64_t count_odd(qnnrt_run *run, const qnnrt_pipeline_info *info)
{
    uint64_t odd = 0;
    for (size_t i = 0; i < info->slot_count; ++i) {
        const qnnrt_slot *slot = &info->slots[i];
        if (slot->role != QNNRT_ROLE_OUTPUT) continue;
        OWNED float *values = cli_alloc(slot->tensor->count, sizeof(*values));
        if (qnnrt_read_f32(run, slot, 0, values, slot->tensor->count) == QNNRT_OK)
            for (uint64_t k = 0; k < slot->tensor->count; ++k) odd += isfinite(values[k]) ? 0 : 1;
    }
    return odd;
}

/* Execute a pipeline once. */
static void execute_once(const tool *t, const qnnrt_pipeline_info *info, findings *f)
{
    qnnrt_run *run = NULL;
    qnnrt_error err;
    OWNED char *doing = cli_text("executing %s", info->name);
    child_stage(f, doing);
    if (qnnrt_manifest_prepare(t->model, info->name, NULL, &run, &err) != QNNRT_OK) {
        add_finding(f, AREA_RUN, FOUND_FAULT, info->name, cli_hint(&err), "%s", cli_told(&err));
        return;
    }
    qnnrt_run_dynamic(run);
    const uint64_t begin = cli_now_ns();
    const int good = qnnrt_exec(run) == QNNRT_OK;
    const double took = ms(cli_now_ns() - begin);
    const uint64_t odd = good ? count_odd(run, info) : 0;
    if (!good)
        add_finding(f, AREA_RUN, FOUND_FAULT, info->name, cli_hint(qnnrt_run_error(run)), "%s",
                    cli_told(qnnrt_run_error(run)));
    else if (odd > 0)
        add_finding(f, AREA_RUN, FOUND_WARNING, info->name, "Run it with inputs of your own, and"
                    " look at the outputs.", "executed in %.3f ms with inputs of zeros; %llu values"
                    " of the outputs are infinite or no number", took, (unsigned long long)odd);
    else
        add_finding(f, AREA_RUN, FOUND_OK, info->name, NULL,
                    "executed in %.3f ms with inputs of zeros; all outputs are finite", took);
    qnnrt_run_destroy(run);
}

void work_run(void *user, findings *f)
{
    doctor *d = user;
    qnnrt_error err;
    child_stage(f, "loading the model");
    if (!open_folder(d, d->at, QNNRT_METADATA_ALL, 0, &err)) {
        add_finding(f, AREA_RUN, FOUND_FAULT, base_name(d->at), cli_hint(&err), "%s",
                    cli_told(&err));
        return;
    }
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(d->t->model);
    for (size_t i = 0; i < info->pipeline_count; ++i) {
        const qnnrt_pipeline_info *one = qnnrt_pipeline_get_info(info->pipelines[i]);
        if (one->failure == NULL) execute_once(d->t, one, f);
    }
    child_stage(f, "closing the model");
    qnnrt_manifest_close(d->t->model);
}
