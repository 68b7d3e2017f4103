/* run_packages.h - a part of qnnrt-run.c: op packages that are named on the command line

   ROOM     >>packages                                                                           */

/* =====================================================================================
   PACKAGES                                                                     >>packages
   --op_package PATH:PROVIDER[:TARGET], registered with the opened backend.
   ===================================================================================== */

typedef struct op_package {
    char *path;                        /* begins the text of all three; free it */
    char *provider, *target;           /* target: NULL, the library chooses     */
} op_package;

/* Cut PATH:PROVIDER[:TARGET] at its colons. Return 0 if it is something else; path is NULL then. */
static int package_split(const char *text, op_package *out)
{
    char *colons[2] = {NULL, NULL};
    size_t count = 0;
    memset(out, 0, sizeof(*out));
    char *copy = cli_text("%s", text);
    for (char *c = copy; *c != '\0'; ++c) {
        if (*c != ':') continue;
        if (count < 2) colons[count] = c;
        ++count;
    }
    int good = count == 1 || count == 2;
    for (size_t i = 0; good && i < count; ++i) *colons[i] = '\0';
    good = good && copy[0] != '\0' && colons[0][1] != '\0' &&
        (count == 1 || colons[1][1] != '\0');
    if (!good) {
        free(copy);
        return 0;
    }
    out->path = copy;
    out->provider = colons[0] + 1;
    out->target = count == 2 ? colons[1] + 1 : NULL;
    return 1;
}

/* Check --op_package. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int check_packages(const settings *set)
{
    for (size_t i = 0; i < set->packages.count; ++i) {
        op_package package;
        if (!package_split(set->packages.items[i], &package))
            return cli_usage("Write --op_package PATH:PROVIDER, with no colon in PATH.",
                             "--op_package takes PATH:PROVIDER[:TARGET], not \"%s\"",
                             set->packages.items[i]);
        free(package.path);
    }
    if (set->packages.count > 0 && set->role_count > 0)
        return cli_usage("Name one library with --backend_so FILE.",
                         "--op_package is for one backend, and --backend_so names roles");
    return STATUS_OK;
}

/* Register the packages. Return 0 after printing an error. */
static int register_packages(tool *t)
{
    for (size_t i = 0; i < t->set.packages.count; ++i) {
        op_package package;
        qnnrt_error err;
        if (!package_split(t->set.packages.items[i], &package)) return 0;
        const qnnrt_result result = qnnrt_backend_register_ops(t->backend, package.path,
                                                               package.provider, package.target,
                                                               &err);
        if (result != QNNRT_OK) fail(t, NULL, err.hint, "%s", err.text);
        free(package.path);
        if (result != QNNRT_OK) return 0;
    }
    return 1;
}
