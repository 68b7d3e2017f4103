/* libs.c - the libraries that a program takes when none is named

   ROOM     >>choose */
#include "cli/cli.h"

#include <dirent.h>

#include "cli/stages.h"

/* =====================================================================================
   CHOOSE                                                                       >>choose
   The backend by the option, by QNNRT_BACKEND, or by what the binaries were made for: beside
   this program, or among the releases that a clone has fetched. The current folder never counts.
   ===================================================================================== */

const char *cli_backend_name(uint32_t id)
{
    return id == CLI_ID_CPU ? "CPU" : id == CLI_ID_GPU ? "GPU" : id == CLI_ID_HTP ? "HTP"
           : id == CLI_ID_REF ? "Ref" : "unknown";
}

const char *cli_library_name(uint32_t id)
{
    return id == CLI_ID_CPU ? "libQnnCpu.so" : id == CLI_ID_GPU ? "libQnnGpu.so"
           : id == CLI_ID_REF ? "libQnnRef.so" : "libQnnHtp.so";
}

cli_head cli_head_of(const char *path)
{
    static const unsigned char vendor[] = {0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1};
    char head[16];
    size_t bytes = 0;
    if (cli_is_special(path)) return CLI_HEAD_OTHER;
    const int fd = cli_open(path);
    if (fd < 0) return CLI_HEAD_OTHER;
    if (cli_read(fd, head, sizeof(head), &bytes) != 0) bytes = 0;
    close(fd);
    if (bytes >= 8 && memcmp(head, "QNNRTREF", 8) == 0) return CLI_HEAD_REF;
    return bytes == sizeof(head) && memcmp(head, vendor, sizeof(head)) == 0 ? CLI_HEAD_VENDOR
                                                                            : CLI_HEAD_OTHER;
}

char *cli_first_binary(const char *model)
{
    char *found = NULL;
    if (!cli_is_folder(model)) return cli_text("%s", model);
    DIR *folder = opendir(model);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        const size_t length = strlen(entry->d_name);
        if (length <= 4 || strcmp(entry->d_name + length - 4, ".bin") != 0) continue;
        if (found != NULL && strcmp(strrchr(found, '/') + 1, entry->d_name) <= 0) continue;
        free(found);
        found = cli_text("%s/%s", model, entry->d_name);
    }
    if (folder != NULL) closedir(folder);
    return found;
}

/* Return the folder of this program, by the kernel's word, or NULL. The caller frees it. */
static char *cli_program_folder(void)
{
    char path[CLI_PATH];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length <= 0 || path[0] != '/') return NULL;
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return cli_text("%s", path);
}

/* Read the name of a release's folder for this machine: 2.51, or 2.51-aarch64. */
static int cli_read_release(const char *name, unsigned *major, unsigned *minor)
{
    int end = 0;
#if defined(__aarch64__)
    return sscanf(name, "%4u.%4u-aarch64%n", major, minor, &end) == 2 && end > 0 &&
           name[end] == '\0';
#else
    return sscanf(name, "%4u.%4u%n", major, minor, &end) == 2 && name[end] == '\0';
#endif
}

/* Return the path of a library in the newest release that a clone has fetched, or NULL. The caller
   frees it. */
static char *cli_fetched(const char *program, const char *name)
{
    char *at = cli_text("%s/qnn", program), *found = NULL;
    unsigned best[2] = {0, 0}, release[2];
    DIR *folder = opendir(at);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (!cli_read_release(entry->d_name, &release[0], &release[1]) ||
            (found != NULL && (release[0] < best[0] ||
                               (release[0] == best[0] && release[1] < best[1])))) continue;
        char *path = cli_text("%s/%s/onnxruntime_qnn/%s", at, entry->d_name, name);
        if (access(path, R_OK) == 0) {
            free(found);
            found = path;
            best[0] = release[0];
            best[1] = release[1];
        } else {
            free(path);
        }
    }
    if (folder != NULL) closedir(folder);
    free(at);
    return found;
}

char *cli_find_library(const char *name, const char **place)
{
    char *program = cli_program_folder(), *found = NULL;
    if (program == NULL) return NULL;
    for (int i = 0; i < 2 && found == NULL; ++i) {
        found = cli_text(i == 0 ? "%s/%s" : "%s/../lib/%s", program, name);
        *place = i == 0 ? "beside this program" : "in the lib folder beside this program's";
        if (access(found, R_OK) == 0) continue;
        free(found);
        found = NULL;
    }
    if (found == NULL) *place = "the newest release in qnn/ beside this program";
    if (found == NULL) found = cli_fetched(program, name);
    free(program);
    return found;
}

void cli_free_choice(cli_choice *c)
{
    free(c->backend);
    free(c->system);
    free(c->why);
    for (size_t i = 0; i < c->role_count; ++i) free(c->roles[i]);
    memset(c, 0, sizeof(*c));
}

/* Read the metadata of a model. Return NULL if no system library can. */
static qnnrt *cli_look(const char *model, const char *system)
{
    qnnrt_desc desc;
    qnnrt_file file;
    qnnrt *found = NULL;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    desc.inspect = 1;
    desc.no_manifest = 1;
    desc.system_path = system;
    file.path = model;
    desc.files = &file;
    desc.file_count = 1;
    if (cli_is_folder(model)) desc.files = NULL;
    if (desc.files == NULL) desc.file_count = 0;
    return qnnrt_open(desc.files == NULL ? model : NULL, &desc, &found, &err) == QNNRT_OK ? found
                                                                                         : NULL;
}

void cli_choose_id(cli_choice *c, const char *model, const char *system)
{
    const char *place = NULL;
    OWNED char *binary = cli_first_binary(model);
    const cli_head head = binary != NULL ? cli_head_of(binary) : CLI_HEAD_OTHER;
    if (head == CLI_HEAD_REF) {
        c->id = CLI_ID_REF;
        return;
    }
    OWNED char *found = system == NULL ? cli_find_library("libQnnSystem.so", &place) : NULL;
    qnnrt *look = cli_look(model, system != NULL ? system : found);
    const qnnrt_info *info = look != NULL ? qnnrt_get_info(look) : NULL;
    for (size_t i = 0; info != NULL && i < info->context_count && c->id == 0; ++i)
        c->id = info->contexts[i].backend_id;
    qnnrt_close(look);
}

void cli_choose_roles(cli_choice *c, const qnnrt_manifest *model,
                      cli_role roles[CLI_ROLES], size_t *count)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(model);
    for (size_t i = 1; i < info->context_count && *count < CLI_ROLES; ++i) {
        const qnnrt_manifest_context *context = &info->contexts[i];
        const char *place = NULL;
        size_t known = 0;
        if (context->role[0] == '\0' || strlen(context->role) >= CLI_ROLE_BYTES ||
            strcmp(context->role, info->contexts[0].role) == 0) continue;
        while (known < *count && strcmp(roles[known].role, context->role) != 0) ++known;
        char *path = known == *count ? cli_find_library(cli_library_name(context->info->backend_id),
                                                        &place) : NULL;
        if (path == NULL) continue;
        c->roles[c->role_count++] = path;
        memset(&roles[*count], 0, sizeof(roles[*count]));
        snprintf(roles[*count].role, CLI_ROLE_BYTES, "%s", context->role);
        roles[(*count)++].file = path;
    }
}

char *cli_leave_role(const qnnrt_error *err, cli_role *roles, size_t *count,
                     const char *backend, size_t *at)
{
    char *note = NULL;
    const int none = strstr(err->text, "all steps are of the host") != NULL;
    for (*at = 0; (none || *count > (backend == NULL)) && *at < *count; ++*at) {
        OWNED char *text = cli_text("\"%s\" is a role that no context has", roles[*at].role);
        if (strstr(err->text, text) != NULL)
            note = cli_text("--backend_so %s=%s is not used: the model has no such role",
                            roles[*at].role, roles[*at].file);
        if (note == NULL) continue;
        memmove(&roles[*at], &roles[*at + 1], (--*count - *at) * sizeof(*roles));
        break;
    }
    return note;
}

void cli_choose(cli_choice *c, const char *model, const char **backend, const char **system)
{
    const char *wanted = getenv("QNNRT_BACKEND"), *reader = getenv("QNNRT_SYSTEM");
    const char *place = NULL;
    if (*system == NULL && reader != NULL && reader[0] != '\0')
        *system = c->system = cli_text("%s", reader);
    const int named = *backend != NULL || (wanted != NULL && wanted[0] != '\0');
    if (model != NULL && !named) cli_choose_id(c, model, *system);
    if (*backend != NULL) {
        c->why = cli_text("named by --backend_so");
    } else if (wanted != NULL && wanted[0] != '\0') {
        *backend = c->backend = cli_text("%s", wanted);
        c->why = cli_text("%s", CLI_NAMED_BY_ENVIRONMENT);
    } else {
        c->backend = cli_find_library(cli_library_name(c->id), &place);
        if (c->backend == NULL) c->backend = cli_text("%s", cli_library_name(c->id));
        c->why = c->id != 0 ? cli_text("%s; the binaries are for %s", place,
                                       cli_backend_name(c->id)) : cli_text("%s", place);
        if (strchr(c->backend, '/') == NULL) {
            free(c->why);
            c->why = cli_text("found by the search for %s", c->backend);
        }
        *backend = c->backend;
    }
}
