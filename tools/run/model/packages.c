/* packages.c - op packages that are named on the command line

   ROOM     >>packages */
#include "run/model/model.h"

/* =====================================================================================
   PACKAGES                                                                     >>packages
   --op_package [ROLE=]PATH:PROVIDER[:TARGET], registered with an opened backend.
   ===================================================================================== */

int package_split(const char *text, op_package *out)
{
    const size_t bytes = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    char *colons[2] = {NULL, NULL};
    size_t count = 0;
    memset(out, 0, sizeof(*out));
    out->text = out->path = cli_text("%s", text);
    if (bytes > 0 && text[bytes] == '=') {
        out->role = out->text;
        out->text[bytes] = '\0';
        out->path += bytes + 1;
    }
    for (char *c = out->path; *c != '\0'; ++c) {
        if (*c != ':') continue;
        if (count < 2) colons[count] = c;
        ++count;
    }
    int good = count == 1 || count == 2;
    for (size_t i = 0; good && i < count; ++i) *colons[i] = '\0';
    good = good && out->path[0] != '\0' && colons[0][1] != '\0' &&
        (count == 1 || colons[1][1] != '\0');
    if (!good) {
        free(out->text);
        out->text = NULL;
        return 0;
    }
    out->provider = colons[0] + 1;
    out->target = count == 2 ? colons[1] + 1 : NULL;
    return 1;
}

int check_packages(const settings *set)
{
    for (size_t i = 0; i < set->packages.count; ++i) {
        op_package package;
        if (!package_split(set->packages.items[i], &package))
            return cli_usage("Write --op_package PATH:PROVIDER, with no colon in PATH.",
                             "--op_package takes [ROLE=]PATH:PROVIDER[:TARGET], not \"%s\"",
                             set->packages.items[i]);
        free(package.text);
    }
    return STATUS_OK;
}

int check_package_roles(const settings *set, const char *const *roles, size_t count,
                        const char *hint)
{
    for (size_t i = 0; i < set->packages.count; ++i) {
        op_package package;
        size_t k = 0;
        if (!package_split(set->packages.items[i], &package)) continue;
        while (package.role != NULL && k < count && strcmp(roles[k], package.role) != 0) ++k;
        const int good = package.role == NULL || k < count;
        free(package.text);
        if (!good)
            return cli_usage(hint, "--op_package %s: no backend has this role",
                             set->packages.items[i]);
    }
    return STATUS_OK;
}

int register_packages(tool *t, qnnrt_backend *backend, const char *role, int first)
{
    for (size_t i = 0; i < t->set.packages.count; ++i) {
        op_package package;
        qnnrt_error err;
        qnnrt_result result = QNNRT_OK;
        if (!package_split(t->set.packages.items[i], &package)) return 0;
        if (package.role == NULL ? first : role != NULL && strcmp(package.role, role) == 0) {
            result = qnnrt_backend_register_ops(backend, package.path, package.provider,
                                                package.target, &err);
            if (result != QNNRT_OK) fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        }
        free(package.text);
        if (result != QNNRT_OK) return 0;
    }
    return 1;
}
