/* run_doctor.h - a part of qnnrt-run.c: the verb that looks for what keeps a model from running

   ROOMS    >>loaded >>execute >>report_file >>doctor                                            */
#include <pwd.h>
#include <sys/utsname.h>

typedef struct doctor {
    tool        *t;
    findings     f;
    libs         libs;                 /* of all folders that hold some                        */
    device       device;
    uint32_t     arch;                 /* of the device; 0: not known                          */
    const char **models;               /* [model_count] folders of context binaries            */
    size_t       model_count;
    const char  *at;                   /* the library or the folder that a child looks at      */
    char        *loaded;               /* path of the backend library, NULL: none              */
    lib_marks    loaded_marks;         /* its release                                          */
    uint32_t     backend_id;
} doctor;

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
    char *facts = lib_facts(&other), *ours = release_text(&other.marks);
    char *theirs = release_text(&backend->marks);
    if (other.failure != NULL)
        add_finding(f, AREA_BACKEND, FOUND_FAULT, path, other.cure, "%s", other.failure);
    else if (releases_differ(&other.marks, &backend->marks))
        add_finding(f, AREA_BACKEND, other.role == LIB_STUB ? FOUND_FAULT
                    : backend->role == LIB_BACKEND ? FOUND_WARNING : FOUND_NOTE, path, hint,
                    "release %s, and %s has release %s", ours, backend->name, theirs);
    else
        add_finding(f, AREA_BACKEND, FOUND_OK, path, NULL, "%s", facts);
    free(facts);
    free(ours);
    free(theirs);
    free_lib(&other);
}

/* Return the path of the libQnnSystem.so beside a library, NULL: there is none. The caller frees
   it. */
static char *system_beside(const char *library)
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
    char *system = t->set.system != NULL ? cli_text("%s", t->set.system)
                                         : system_beside(backend->path);
    if (system != NULL) check_partner(backend, system, f);
    else if (backend->role == LIB_BACKEND)
        add_finding(f, AREA_BACKEND, FOUND_NOTE, "libQnnSystem.so", NULL,
                    "not beside %s: without it, every context binary needs its JSON",
                    backend->name);
    char *maps = cli_read_file("/proc/self/maps", MOST, &bytes);
    char *last = cli_text("%s", "");
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
    free(last);
    free(maps);
    free(system);
}

static void check_symbols(const char *path, findings *f)
{
    static const char *const names[] = {"QnnInterface_getProviders",
                                        "QnnSystemInterface_getProviders"};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    page p = {NULL, 0, 0};
    for (size_t i = 0; library != NULL && i < sizeof(names) / sizeof(names[0]); ++i)
        if (dlsym(library, names[i]) != NULL)
            page_add(&p, "%s%s", p.used > 0 ? ", " : "", names[i]);
    add_finding(f, AREA_BACKEND, FOUND_OK, "symbols", NULL, "%s", p.used > 0 ? p.data : "none");
    free(p.data);
}

/* Check a backend that could be opened. asked: its path, or a name alone; why: it was chosen. */
static void check_opened(const doctor *d, const qnnrt_backend_info *info, const char *asked,
                         const char *why, findings *f)
{
    lib_file file;
    lib_marks said;
    char id[16];
    read_lib(&file, info->path);
    char *core = version_text(info->core_api), *api = version_text(info->backend_api);
    char *facts = lib_facts(&file);
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
    free(core);
    free(api);
    free(facts);
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
    char *doing = cli_text("loading and starting %s", base_name(path));
    child_stage(f, doing);
    free(doing);
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

/* Check the backend library `path`, NULL: the one that is found. */
static void check_backend(doctor *d, const char *path, uint32_t limit_s)
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
    g.chip = d->device.chip;
    return g;
}

/* Return the library that reads a model if no backend was loaded: beside the one that did not
   start, or where a program looks for it; or NULL. The caller frees it. */
static char *find_reader(const doctor *d, const char *folder)
{
    const char *place = NULL;
    char *found = system_beside(d->t->set.backend);
    if (found != NULL) return found;
    char *binary = cli_first_binary(folder);
    const int ref = binary != NULL && cli_head_of(binary) == CLI_HEAD_REF;
    free(binary);
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
    char *reader = t->set.system == NULL && d->loaded == NULL ? find_reader(d, folder) : NULL;
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
    free(reader);
    return good;
}

/* Return 1 if a folder has a file whose name fits; -1: it cannot be read. */
static int has_name(const char *folder, int (*fits)(const char *name))
{
    size_t count = 0;
    char **names = names_in(folder, fits, &count);
    if (names == NULL) return -1;
    free_names(names, count);
    return count > 0;
}

static int is_metadata_name(const char *name)
{
    const size_t length = strlen(name);
    return length > 10 && strcmp(name + length - 10, "_json.json") == 0;
}

/* Check context binaries by their bytes alone, because nothing reads their metadata. */
static void check_by_marks(const doctor *d, const target *g, char **names, const char *bad,
                           size_t count, findings *f)
{
    for (size_t i = 0; i < count; ++i) {
        char *path = cli_text("%s/%s", d->at, names[i]);
        if (!bad[i]) check_marked(g, f, path, names[i]);
        free(path);
    }
    add_finding(f, AREA_MODEL, FOUND_NOTE, "graphs", NULL,
                "not looked at: %s, and there is no JSON", d->t->set.doctor.no_load
                ? "--no_load loads no libQnnSystem.so" : "no libQnnSystem.so was found");
}

/* Open the folder d->at with libQnnSystem.so, or with the JSON alone. Return 0 with an error.
   *no_system: 1: there is no such library, or none is to be loaded. */
static int open_described(doctor *d, int described, int *no_system, qnnrt_error *err)
{
    const settings *set = &d->t->set;
    if (!set->doctor.no_load && open_folder(d, d->at, QNNRT_METADATA_ALL, 1, err)) return 1;
    *no_system = set->doctor.no_load || (err->code == QNNRT_E_LIBRARY && set->system == NULL);
    return *no_system && described && open_folder(d, d->at, QNNRT_METADATA_JSON, 1, err);
}

/* Check the folder d->at. */
static void work_model(void *user, findings *f)
{
    doctor *d = user;
    target g = target_of(d);
    qnnrt_error err = {0};
    size_t count = 0, faults = 0, without = 0, program_bytes = 0;
    int no_system = 0;
    enum { MOST = 1 << 26 };
    const int described = has_name(d->at, is_metadata_name) > 0;
    char **names = names_in(d->at, is_binary_name, &count);
    char *bad = cli_alloc(count, 1);
    char **reported = cli_alloc(count, sizeof(*reported));
    char *manifest = cli_text("%s/qnnrt.json", d->at);
    char *program = cli_read_file(manifest, MOST, &program_bytes);
    for (size_t i = 0; i < count; ++i) {
        char *path = cli_text("%s/%s", d->at, names[i]);
        bad[i] = !check_binary(f, path, names[i]) ||
                 !check_hash(f, path, names[i], program, program_bytes, &without);
        if (bad[i]) reported[faults++] = names[i];
        free(path);
    }
    note_without_hash(f, without, count);
    free(program);
    free(manifest);
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
    free(reported);
    free(bad);
}

/* Count the values of the outputs that are no numbers. */
static uint64_t count_odd(qnnrt_run *run, const qnnrt_pipeline_info *info)
{
    uint64_t odd = 0;
    for (size_t i = 0; i < info->slot_count; ++i) {
        const qnnrt_slot *slot = &info->slots[i];
        float *values = NULL;
        if (slot->role != QNNRT_ROLE_OUTPUT) continue;
        values = cli_alloc(slot->tensor->count, sizeof(*values));
        if (qnnrt_read_f32(run, slot, 0, values, slot->tensor->count) == QNNRT_OK)
            for (uint64_t k = 0; k < slot->tensor->count; ++k) odd += isfinite(values[k]) ? 0 : 1;
        free(values);
    }
    return odd;
}

/* Execute a pipeline once. */
static void execute_once(const tool *t, const qnnrt_pipeline_info *info, findings *f)
{
    qnnrt_run *run = NULL;
    qnnrt_error err;
    char *doing = cli_text("executing %s", info->name);
    child_stage(f, doing);
    free(doing);
    if (qnnrt_manifest_prepare(t->model, info->name, NULL, &run, &err) != QNNRT_OK) {
        add_finding(f, AREA_RUN, FOUND_FAULT, info->name, cli_hint(&err), "%s", cli_told(&err));
        return;
    }
    qnnrt_run_flex(run);
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

/* Load the folder d->at, and execute each of its pipelines that is not a part of another one. */
static void work_run(void *user, findings *f)
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

/* =====================================================================================
   REPORT FILE                                                               >>report_file
   One text for a bug report, and the document for programs.
   ===================================================================================== */

/* Return 1 if a word goes on at this byte. */
static int in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-';
}

/* Replace a word, or a path, wherever it stands alone. */
static void hide(page *p, const char *word, const char *by)
{
    page made = {NULL, 0, 0};
    const size_t bytes = word != NULL ? strlen(word) : 0;
    if (bytes < 2 || p->data == NULL) return;
    for (const char *at = p->data; *at != '\0';) {
        const int begins = at == p->data || word[0] == '/' || !in_word(at[-1]);
        if (begins && strncmp(at, word, bytes) == 0 && !in_word(at[bytes])) {
            page_text(&made, by);
            at += bytes;
        } else {
            page_bytes(&made, at++, 1);
        }
    }
    free(p->data);
    *p = made;
}

/* Replace the folder of each user by its name in general: /home/USER. */
static void hide_homes(page *p, const char *homes)
{
    for (char *at = p->data; at != NULL && (at = strstr(at, homes)) != NULL;) {
        at += strlen(homes);
        const size_t bytes = strcspn(at, "/ :;,\"'\n");
        char *name = cli_text("%.*s", (int)bytes, at);
        const size_t offset = (size_t)(at - p->data);
        if (strcmp(name, "USER") != 0) hide(p, name, "USER");
        free(name);
        at = p->data + offset;
    }
}

/* Take the home folder and names of users out of a text. */
static void hide_user(page *p)
{
    const struct passwd *user = getpwuid(getuid());
    const char *names[] = {getenv("USER"), getenv("LOGNAME"), user != NULL ? user->pw_name : NULL};
    const char *home = getenv("HOME");
    hide(p, home, "~");
    hide_homes(p, "/home/");
    hide_homes(p, "/Users/");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
        if (names[i] != NULL && strcmp(names[i], "root") != 0) hide(p, names[i], "USER");
}

/* Return "2 faults, 1 warning, 14 checks". The caller frees it. */
static char *sum_text(const findings *f)
{
    return cli_text("%lu fault%s, %lu warning%s, %lu good, %lu note%s",
                    (unsigned long)f->levels[FOUND_FAULT], cli_plural(f->levels[FOUND_FAULT]),
                    (unsigned long)f->levels[FOUND_WARNING], cli_plural(f->levels[FOUND_WARNING]),
                    (unsigned long)f->levels[FOUND_OK],
                    (unsigned long)f->levels[FOUND_NOTE], cli_plural(f->levels[FOUND_NOTE]));
}

/* Write the report: the program, the system, the options, all findings. */
static void write_doctor_report(doctor *d, const char *path)
{
    static const char *const variables[] = {"ADSP_LIBRARY_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD",
                                            "QNNRT_BACKEND", "QNNRT_SYSTEM"};
    page p = {NULL, 0, 0};
    struct utsname system;
    char *sum = sum_text(&d->f);
    page_add(&p, "qnnrt-run doctor, qnnrt %s\n", qnnrt_version());
    if (uname(&system) == 0)
        page_add(&p, "system     %s %s, %s\n", system.sysname, system.release, system.machine);
    for (size_t i = 0; i < d->t->set.files.count; ++i) {
        char *shown = cli_shown(d->t->set.files.items[i]);
        page_add(&p, "folder     %s\n", shown);
        free(shown);
    }
    for (size_t i = 0; i < d->t->given_count; ++i) {
        const cli_given *given = &d->t->given[i];
        char *shown = cli_shown(given->value != NULL ? given->value : "");
        page_add(&p, "option     --%s %s\n", given->option->name, shown);
        free(shown);
    }
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); ++i) {
        const char *value = getenv(variables[i]);
        char *shown = cli_shown(value != NULL ? value : "");
        if (value != NULL) page_add(&p, "%s=%s\n", variables[i], shown);
        free(shown);
    }
    for (size_t i = 0; i < d->f.count; ++i) {
        const int heading = i == 0 || d->f.items[i - 1].area != d->f.items[i].area;
        char *text = finding_text(&d->f.items[i], heading, 0);
        page_add(&p, "%s%s", heading ? "\n" : "", text);
        free(text);
    }
    page_add(&p, "\n%s\n", sum);
    hide_user(&p);
    write_named(d->t, path, &p, 0);
    free(p.data);
    free(sum);
}

static void write_doctor_json(doctor *d)
{
    page p = {NULL, 0, 0};
    json j;
    json_document(&j, &p, "qnnrt-run.doctor");
    json_count(&j, "faults", d->f.levels[FOUND_FAULT]);
    json_count(&j, "warnings", d->f.levels[FOUND_WARNING]);
    json_open(&j, "findings", '[', 0);
    for (size_t i = 0; i < d->f.count; ++i) {
        const finding *one = &d->f.items[i];
        json_open(&j, NULL, '{', 1);
        json_string(&j, "area", finding_areas[one->area]);
        json_string(&j, "level", finding_levels[one->level]);
        json_string(&j, "what", one->what);
        json_string(&j, "found", one->found);
        json_string(&j, "fix", one->fix);
        json_close(&j);
    }
    json_close(&j);
    json_document_end(&j);
    write_page(d->t, "-", &p, 0);
    free(p.data);
}

/* =====================================================================================
   DOCTOR                                                                         >>doctor
   The checks, in their order.
   ===================================================================================== */

static int is_vendor_name(const char *name)
{
    lib_file f = {.name = (char *)(uintptr_t)name};
    if (!is_library_name(name)) return 0;
    find_role(&f);
    return f.role != LIB_OTHER && f.role != LIB_CXX;
}

static int is_model_name(const char *name)
{
    return is_binary_name(name) || is_metadata_name(name) || strcmp(name, "qnnrt.json") == 0;
}

/* True for what a context binary is compiled from. */
static int is_source_name(const char *name)
{
    const char *end = strrchr(name, '.');
    return end != NULL && (strcmp(end, ".dlc") == 0 || strcmp(end, ".safetensors") == 0 ||
                           strcmp(end, ".onnx") == 0 || strcmp(end, ".gguf") == 0);
}

/* Take a folder by what it holds: libraries, a model, or both. */
static void take_folder(doctor *d, const char *folder)
{
    const int vendor = has_name(folder, is_vendor_name);
    const int model = vendor >= 0 ? has_name(folder, is_model_name) : 0;
    if (vendor < 0 && access(folder, F_OK) == 0 && !cli_is_folder(folder))
        add_finding(&d->f, AREA_FOLDERS, FOUND_FAULT, folder, "Name the folder of the model, or"
                    " look into the file with qnnrt-run extract.", "a file, expected a folder");
    else if (vendor < 0)
        add_finding(&d->f, AREA_FOLDERS, FOUND_FAULT, folder, "Name a folder that exists.",
                    "cannot be opened: %s", strerror(errno));
    else if (!vendor && !model)
        add_finding(&d->f, AREA_FOLDERS, FOUND_FAULT, folder, has_name(folder, is_source_name)
                    ? "Compile the model with qnnrt-run compile, and name the folder that it"
                    " writes." : "Name a folder of context binaries (*.bin), or of Qualcomm's"
                    " libraries.", "it has neither a context binary nor a library of Qualcomm");
    if (vendor > 0) read_libs(&d->libs, folder);
    if (model > 0) d->models[d->model_count++] = folder;
}

static void work_device(void *user, findings *f)
{
    const doctor *d = user;
    child_stage(f, "looking for the transport to the DSP");
    check_device(&d->device, d->t->set.doctor.arch, f);
}

/* Say that the libraries of the folders were only read, and what loads one. */
static void note_unloaded(doctor *d)
{
    const lib_file *backend = NULL;
    for (size_t i = 0; i < d->libs.count && backend == NULL; ++i)
        if (d->libs.files[i].role == LIB_BACKEND && d->libs.files[i].failure == NULL)
            backend = &d->libs.files[i];
    const int ours = backend != NULL && backend->machine == ELF_OURS;
    char *fix = ours ? cli_text("Add --backend_so %s to load it too.", backend->path) : NULL;
    add_finding(&d->f, AREA_BACKEND, FOUND_NOTE, "backend", fix, "%s", backend == NULL || ours
                ? "not loaded: the libraries of a folder are only read"
                : "not loaded: libQnnHtp.so is for another machine than this one");
    free(fix);
}

/* Check each backend that is named, or the one that is found. */
static void check_backends(doctor *d, uint32_t limit_s)
{
    const settings *set = &d->t->set;
    if (set->doctor.no_load) {
        add_finding(&d->f, AREA_BACKEND, FOUND_NOTE, "backend", NULL, "not loaded: --no_load");
        return;
    }
    if (set->backend == NULL && set->role_count == 0 && d->libs.count > 0) {
        note_unloaded(d);
        return;
    }
    if (set->backend != NULL || set->role_count == 0) check_backend(d, set->backend, limit_s);
    for (size_t i = 0; i < set->role_count; ++i) check_backend(d, set->roles[i].file, limit_s);
}

/* Look at the models, and execute those without faults if that is wanted. */
static void check_models(doctor *d, uint32_t limit_s)
{
    enum { RUN_S = 3600 };             /* a large model may take long to load */
    const settings *set = &d->t->set;
    for (size_t i = 0; i < d->model_count; ++i) {
        const size_t faults = d->f.levels[FOUND_FAULT];
        d->at = d->models[i];
        in_child(&d->f, AREA_MODEL, base_name(d->at), limit_s, work_model, d);
        if (set->doctor.run && d->f.levels[FOUND_FAULT] == faults)
            in_child(&d->f, AREA_RUN, base_name(d->at),
                     set->doctor.limit_s != 0 ? limit_s : RUN_S, work_run, d);
    }
}

static void examine(doctor *d)
{
    enum { LOOK_S = 120 };
    static const lib_platform platforms[] = {LIB_UNKNOWN, LIB_ANDROID, LIB_LINUX, LIB_X86_64};
    const settings *set = &d->t->set;
    const uint32_t limit_s = set->doctor.limit_s != 0 ? set->doctor.limit_s : LOOK_S;
    device_find(&d->device, set->doctor.root);
    d->arch = set->doctor.arch != 0 ? set->doctor.arch
              : d->device.chip != NULL ? d->device.chip->arch : 0;
    d->libs.f = &d->f;
    d->libs.asked = platforms[set->doctor.platform];
    d->libs.arch = d->arch;
    d->libs.page_size = set->doctor.page_size;
    if (d->libs.page_size == 0 && d->device.present && d->device.root[0] == '\0')
        d->libs.page_size = (uint32_t)sysconf(_SC_PAGESIZE);
    d->models = cli_alloc(set->files.count, sizeof(*d->models));
    for (size_t i = 0; i < set->files.count; ++i) take_folder(d, set->files.items[i]);
    if (d->libs.count > 0) check_libs(&d->libs);
    if (d->device.present && d->device.root[0] == '\0' && !set->doctor.no_load)
        in_child(&d->f, AREA_DEVICE, "libcdsprpc.so", limit_s, work_device, d);
    else
        check_device(&d->device, set->doctor.arch, &d->f);
    check_backends(d, limit_s);
    check_models(d, limit_s);
}

static int verb_doctor(void *user)
{
    tool *t = user;
    settings *set = &t->set;
    doctor d;
    if (set->json && is_stdout(set->doctor.report))
        return cli_usage("Write the report to a file.", "--json and --report - both need standard"
                         " output");
    if (set->doctor.run && set->doctor.no_load)
        return cli_usage("Leave out --no_load.", "--run loads libraries, and --no_load forbids it");
    memset(&d, 0, sizeof(d));
    d.t = t;
    d.f.shown = t;
    const char *reader = getenv("QNNRT_SYSTEM");
    if (set->system == NULL && reader != NULL && reader[0] != '\0') set->system = reader;
    examine(&d);
    char *sum = sum_text(&d.f);
    say(t, "%s\n", sum);
    if (set->doctor.report != NULL) write_doctor_report(&d, set->doctor.report);
    if (set->json) write_doctor_json(&d);
    const int status = d.f.levels[FOUND_FAULT] > 0 ? STATUS_FAILED
                       : d.f.levels[FOUND_WARNING] > 0 ? STATUS_WARNED : STATUS_OK;
    free(sum);
    free_findings(&d.f);
    free_libs(&d.libs);
    free(d.loaded);
    free((void *)d.models);
    return status;
}
