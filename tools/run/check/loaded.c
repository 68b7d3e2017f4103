/* loaded.c - what a backend library says when it is loaded

   ROOM     >>loaded */
#include "run/check/check.h"
#include "run/model/model.h"

#include <dlfcn.h>

#include "cli/stages.h"

/* =====================================================================================
   LOADED                                                                         >>loaded
   The backend library as it was really loaded, and those that came with it. In a child.
   ===================================================================================== */

/* Read the bytes of a library. The caller says free_lib(). */
static void read_lib(lib_file *f, const char *path)
{
    memset(f, 0, sizeof(*f));
    f->name = cli_text("%s", base_name(path));
    f->path = cli_text("%s", path);
    find_role(f);
    look_at_file(f);
}

/* Return 1 if an error only says that there is no such library anywhere. */
static int is_nowhere(const qnnrt_error *err)
{
    if (err->code != QNNRT_E_LIBRARY) return 0;
    for (const char *line = strchr(err->text, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        const char *end = strchr(line + 1, '\n'), *none = strstr(line, "No such file");
        if (none == NULL || (end != NULL && none > end)) return 0;
    }
    return 1;
}

/* Check a library that belongs to the backend: the facts of its file, and its release. */
static void check_partner(const lib_file *backend, const char *path, findings *f)
{
    static const char hint[] = "Take all libraries from one release, and put its folder first where"
                               " the system searches.";
    lib_file other;
    read_lib(&other, path);
    OWNED char *facts = lib_facts(&other), *ours = release_text(&other.marks);
    OWNED char *theirs = release_text(&backend->marks);
    if (other.failure != NULL)
        add_finding(f, AREA_BACKEND, FOUND_FAULT, path, other.cure, "%s", other.failure);
    else if (releases_differ(&other.marks, &backend->marks))
        add_finding(f, AREA_BACKEND, other.role == LIB_STUB ? FOUND_FAULT
                    : backend->role == LIB_BACKEND ? FOUND_WARNING : FOUND_NOTE, path, hint,
                    "release %s, and %s has release %s", ours, backend->name, theirs);
    else
        add_finding(f, AREA_BACKEND, FOUND_OK, path, NULL, "%s", facts);
    free_lib(&other);
}

char *system_beside(const char *library)
{
    if (library == NULL) return NULL;
    char *path = cli_text("%.*slibQnnSystem.so", (int)(base_name(library) - library), library);
    if (access(path, F_OK) == 0) return path;
    free(path);
    return NULL;
}

/* Check the libraries that came with the backend: libQnnSystem.so, which qnnrt_open() will take,
   and others of the vendor that are in this process now. */
static void check_partners(const tool *t, const lib_file *backend, findings *f)
{
    enum { MOST = 16 << 20 };
    size_t bytes = 0;
    OWNED char *system = t->set.system != NULL ? cli_text("%s", t->set.system)
                                               : system_beside(backend->path);
    if (system != NULL) check_partner(backend, system, f);
    else if (backend->role == LIB_BACKEND)
        add_finding(f, AREA_BACKEND, FOUND_NOTE, "libQnnSystem.so", NULL,
                    "not beside %s: without it, every context binary needs its JSON",
                    backend->name);
    char *maps = cli_read_file("/proc/self/maps", MOST, &bytes);
    OWNED char *last = cli_text("%s", "");
    for (char *line = maps; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n'), *next = end != NULL ? end + 1 : NULL;
        if (end != NULL) *end = '\0';
        char *path = strchr(line, '/');
        lib_file file = {.name = path != NULL ? strrchr(path, '/') + 1 : NULL};
        if (path != NULL && is_library_name(file.name)) find_role(&file);
        /* A file has several lines, one after another. */
        if (file.role != LIB_OTHER && file.role != LIB_CXX && strcmp(path, last) != 0 &&
            !cli_is_same(path, backend->path) && (system == NULL || !cli_is_same(path, system))) {
            check_partner(backend, path, f);
            free(last);
            last = cli_text("%s", path);
        }
        line = next;
    }
    free(maps);
}

static void check_symbols(const char *path, findings *f)
{
    static const char *const names[] = {"QnnInterface_getProviders",
                                        "QnnSystemInterface_getProviders"};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    OWNED page p = {NULL, 0, 0};
    for (size_t i = 0; library != NULL && i < sizeof(names) / sizeof(names[0]); ++i)
        if (dlsym(library, names[i]) != NULL)
            page_add(&p, "%s%s", p.used > 0 ? ", " : "", names[i]);
    add_finding(f, AREA_BACKEND, FOUND_OK, "symbols", NULL, "%s", p.used > 0 ? p.data : "none");
}

/* Check a backend that could be opened. asked: its path, or a name alone; why: it was chosen. */
static void check_opened(const doctor *d, const qnnrt_backend_info *info, const char *asked,
                         const char *why, findings *f)
{
    lib_file file;
    lib_marks said;
    char id[16];
    read_lib(&file, info->path);
    OWNED char *core = version_text(info->core_api), *api = version_text(info->backend_api);
    OWNED char *facts = lib_facts(&file);
    add_finding(f, AREA_BACKEND, FOUND_OK, info->path, NULL, "loaded, %s\n  %s", why, facts);
    if (strchr(asked, '/') != NULL && !cli_is_same(asked, info->path))
        add_finding(f, AREA_BACKEND, FOUND_WARNING, asked,
                    "End programs that replace libraries before they are loaded, such as"
                    " LD_PRELOAD.", "another file was loaded: %s", info->path);
    check_symbols(info->path, f);
    add_finding(f, AREA_BACKEND, FOUND_OK, "provider", NULL,
                "%s, build %s, core API %s, backend API %s, %s",
                info->provider[0] != '\0' ? info->provider : "(not named)",
                info->build_id[0] != '\0' ? info->build_id : "(not named)", core, api,
                info->has_device ? "with a device" : "without a device");
    marks_of_build(info->build_id, &said);
    if (said.known > 0 && file.marks.known > 0 &&
        compare_release(said.release, file.marks.release) != 0)
        add_finding(f, AREA_BACKEND, FOUND_FAULT, info->path, "Take the library from its release"
                    " again.", "it says that it is %s, and its bytes name another release",
                    info->build_id);
    if (file.role != LIB_OTHER && info->id != CLI_ID_REF) check_partners(d->t, &file, f);
    snprintf(id, sizeof(id), "%lu", (unsigned long)info->id);
    child_tell(f, info->path, info->build_id, id);
    free_lib(&file);
}

/* Load the backend library d->at, NULL: the one that the first model is for, and check it. */
static void work_backend(void *user, findings *f)
{
    doctor *d = user;
    cli_choice choice = {0};
    const char *path = d->at, *system = d->t->set.system;
    qnnrt_backend_desc desc;
    qnnrt_backend *backend = NULL;
    qnnrt_error err;
    child_stage(f, "looking for the library that the model is for");
    cli_choose(&choice, d->model_count > 0 ? d->models[0] : NULL, &path, &system);
    OWNED char *doing = cli_text("loading and starting %s", base_name(path));
    child_stage(f, doing);
    backend_options(d->t, &desc);
    desc.path = path;
    if (qnnrt_backend_open(&desc, &backend, &err) == QNNRT_OK) {
        child_stage(f, "looking at what was loaded");
        check_opened(d, qnnrt_backend_get_info(backend), path, choice.why, f);
        child_stage(f, "closing the backend");
        qnnrt_backend_close(backend);
    } else if (strchr(path, '/') == NULL && is_nowhere(&err)) {
        add_finding(f, AREA_BACKEND, FOUND_NOTE, path, NULL,
                    "not loaded: no library is named with --backend_so, and none is beside this"
                    " program or where the system searches");
    } else {
        add_finding(f, AREA_BACKEND, FOUND_FAULT, path, err.code != QNNRT_E_LIBRARY ? cli_hint(&err)
                    : cli_library_hint(&err, path, "Name the library with --backend_so FILE, with"
                                       " a slash in FILE."), "%s", cli_told(&err));
    }
    cli_free_choice(&choice);
}

void check_backend(doctor *d, const char *path, uint32_t limit_s)
{
    uint64_t id = 0;
    d->at = path;
    for (size_t i = 0; i < 3; ++i) {
        free(d->f.told[i]);
        d->f.told[i] = NULL;
    }
    in_child(&d->f, AREA_BACKEND, path != NULL ? path : "libQnnHtp.so", limit_s, work_backend, d);
    if (d->f.told[0] == NULL || !cli_number(d->f.told[2], UINT32_MAX, &id)) return;
    if (d->loaded != NULL && id != NPU) return;          /* of several, that of the NPU counts */
    free(d->loaded);
    d->loaded = cli_text("%s", d->f.told[0]);
    marks_of_build(d->f.told[1], &d->loaded_marks);
    d->backend_id = (uint32_t)id;
}
