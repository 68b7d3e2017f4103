/* doctor.c - the verb doctor, and the file of its findings

   ROOMS     >>report_file >>doctor */
#include "run/check/check.h"

#include <pwd.h>
#include <sys/utsname.h>

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
        OWNED char *name = cli_text("%.*s", (int)bytes, at);
        const size_t offset = (size_t)(at - p->data);
        if (strcmp(name, "USER") != 0) hide(p, name, "USER");
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
    OWNED page p = {NULL, 0, 0};
    struct utsname system;
    OWNED char *sum = sum_text(&d->f);
    page_add(&p, "qnnrt-run doctor, qnnrt %s\n", qnnrt_version());
    if (uname(&system) == 0)
        page_add(&p, "system     %s %s, %s\n", system.sysname, system.release, system.machine);
    for (size_t i = 0; i < d->t->set.files.count; ++i) {
        OWNED char *shown = cli_shown(d->t->set.files.items[i]);
        page_add(&p, "folder     %s\n", shown);
    }
    for (size_t i = 0; i < d->t->given_count; ++i) {
        const cli_given *given = &d->t->given[i];
        OWNED char *shown = cli_shown(given->value != NULL ? given->value : "");
        page_add(&p, "option     --%s %s\n", given->option->name, shown);
    }
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); ++i) {
        const char *value = getenv(variables[i]);
        OWNED char *shown = cli_shown(value != NULL ? value : "");
        if (value != NULL) page_add(&p, "%s=%s\n", variables[i], shown);
    }
    for (size_t i = 0; i < d->f.count; ++i) {
        const int heading = i == 0 || d->f.items[i - 1].area != d->f.items[i].area;
        OWNED char *text = finding_text(&d->f.items[i], heading, 0);
        page_add(&p, "%s%s", heading ? "\n" : "", text);
    }
    page_add(&p, "\n%s\n", sum);
    hide_user(&p);
    write_named(d->t, path, &p, 0);
}

static void write_doctor_json(doctor *d)
{
    document out;
    json *j = document_begin(&out, "qnnrt-run.doctor");
    json_count(j, "faults", d->f.levels[FOUND_FAULT]);
    json_count(j, "warnings", d->f.levels[FOUND_WARNING]);
    json_open(j, "findings", '[', 0);
    for (size_t i = 0; i < d->f.count; ++i) {
        const finding *one = &d->f.items[i];
        json_open(j, NULL, '{', 1);
        json_string(j, "area", finding_areas[one->area]);
        json_string(j, "level", finding_levels[one->level]);
        json_string(j, "what", one->what);
        json_string(j, "found", one->found);
        json_string(j, "fix", one->fix);
        json_close(j);
    }
    json_close(j);
    document_write(&out, d->t, "-");
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
    check_device(&d->device, d->t->set.doctor->arch, f);
}

/* Say that the libraries of the folders were only read, and what loads one. */
static void note_unloaded(doctor *d)
{
    const lib_file *backend = NULL;
    for (size_t i = 0; i < d->libs.count && backend == NULL; ++i)
        if (d->libs.files[i].role == LIB_BACKEND && d->libs.files[i].failure == NULL)
            backend = &d->libs.files[i];
    const int ours = backend != NULL && backend->machine == ELF_OURS;
    OWNED char *fix = ours ? cli_text("Add --backend_so %s to load it too.", backend->path) : NULL;
    add_finding(&d->f, AREA_BACKEND, FOUND_NOTE, "backend", fix, "%s", backend == NULL || ours
                ? "not loaded: the libraries of a folder are only read"
                : "not loaded: libQnnHtp.so is for another machine than this one");
}

/* Check each backend that is named, or the one that is found. */
static void check_backends(doctor *d, uint32_t limit_s)
{
    const settings *set = &d->t->set;
    if (set->doctor->no_load) {
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
        if (set->doctor->run && d->f.levels[FOUND_FAULT] == faults)
            in_child(&d->f, AREA_RUN, base_name(d->at),
                     set->doctor->limit_s != 0 ? limit_s : RUN_S, work_run, d);
    }
}

static void examine(doctor *d)
{
    enum { LOOK_S = 120 };
    static const lib_platform platforms[] = {LIB_UNKNOWN, LIB_ANDROID, LIB_LINUX, LIB_X86_64};
    const settings *set = &d->t->set;
    const uint32_t limit_s = set->doctor->limit_s != 0 ? set->doctor->limit_s : LOOK_S;
    device_find(&d->device, set->doctor->root);
    d->arch = set->doctor->arch != 0 ? set->doctor->arch
              : d->device.facts.chip != NULL ? d->device.facts.chip->arch : 0;
    d->libs.f = &d->f;
    d->libs.asked = platforms[set->doctor->platform];
    d->libs.arch = d->arch;
    d->libs.page_size = set->doctor->page_size;
    if (d->libs.page_size == 0 && d->device.present && d->device.root[0] == '\0')
        d->libs.page_size = (uint32_t)sysconf(_SC_PAGESIZE);
    d->models = cli_alloc(set->files.count, sizeof(*d->models));
    for (size_t i = 0; i < set->files.count; ++i) take_folder(d, set->files.items[i]);
    if (d->libs.count > 0) check_libs(&d->libs);
    if (d->device.present && d->device.root[0] == '\0' && !set->doctor->no_load)
        in_child(&d->f, AREA_DEVICE, "libcdsprpc.so", limit_s, work_device, d);
    else
        check_device(&d->device, set->doctor->arch, &d->f);
    check_backends(d, limit_s);
    check_models(d, limit_s);
}

int verb_doctor(void *user)
{
    tool *t = user;
    settings *set = &t->set;
    doctor d;
    if (set->json && is_stdout(set->doctor->report))
        return cli_usage("Write the report to a file.", "--json and --report - both need standard"
                         " output");
    if (set->doctor->run && set->doctor->no_load)
        return cli_usage("Leave out --no_load.", "--run loads libraries, and --no_load forbids it");
    memset(&d, 0, sizeof(d));
    d.t = t;
    d.f.shown = t;
    const char *reader = getenv("QNNRT_SYSTEM");
    if (set->system == NULL && reader != NULL && reader[0] != '\0') set->system = reader;
    examine(&d);
    OWNED char *sum = sum_text(&d.f);
    say(t, "%s\n", sum);
    if (set->doctor->report != NULL) write_doctor_report(&d, set->doctor->report);
    if (set->json) write_doctor_json(&d);
    const int status = d.f.levels[FOUND_FAULT] > 0 ? STATUS_FAILED
                       : d.f.levels[FOUND_WARNING] > 0 ? STATUS_WARNED : STATUS_OK;
    free_findings(&d.f);
    free_libs(&d.libs);
    free(d.loaded);
    free((void *)d.models);
    return status;
}
