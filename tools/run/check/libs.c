/* libs.c - whether folders hold the libraries that a device needs

   ROOMS     >>libs >>pairs */
#include "run/check/check.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

/* =====================================================================================
   LIBS                                                                           >>libs
   The files of a folder, and what is wrong with each of them.
   ===================================================================================== */

int role_by_arch(lib_file *f)
{
    static const struct { const char *end; lib_role role; } ends[] = {
        {"Stub.so", LIB_STUB}, {"Skel.so", LIB_SKEL}, {".so", LIB_NATIVE}};
    static const char begin[] = "libQnnHtpV";
    const char *name = f->name;
    if (strncmp(name, begin, sizeof(begin) - 1) != 0) return 0;
    name += sizeof(begin) - 1;
    const size_t digits = mark_number(name, name + strlen(name), &f->arch);
    for (size_t i = 0; digits == 2 && i < sizeof(ends) / sizeof(ends[0]); ++i) {
        if (strcmp(name + digits, ends[i].end) != 0) continue;
        f->role = ends[i].role;
        return 1;
    }
    f->arch = 0;
    return 0;
}

void find_role(lib_file *f)
{
    const char *name = f->name;
    if (role_by_arch(f)) return;
    f->role = strcmp(name, "libQnnHtp.so") == 0 ? LIB_BACKEND
              : strcmp(name, "libQnnSystem.so") == 0 ? LIB_SYSTEM
              : strcmp(name, "libQnnHtpPrepare.so") == 0 ? LIB_PREPARE
              : strncmp(name, "libQnn", 6) == 0 || strncmp(name, "libGenie", 8) == 0 ? LIB_VENDOR
              : strcmp(name, "libcdsprpc.so") == 0 || strcmp(name, "libadsprpc.so") == 0 ? LIB_RPC
              : strncmp(name, "libc++", 6) == 0 || strncmp(name, "libunwind", 9) == 0 ||
                strncmp(name, "libstdc++", 9) == 0 ? LIB_CXX : LIB_OTHER;
}

int is_library_name(const char *name)
{
    const char *end = strstr(name, ".so");
    while (end != NULL && end[3] != '\0' && end[3] != '.') end = strstr(end + 3, ".so");
    return strncmp(name, "lib", 3) == 0 && end != NULL;
}

void look_at_file(lib_file *f)
{
    struct stat status;
    const int fd = cli_open(f->path);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        lib_fail(f, "Copy the file itself to this place.",
                 fd < 0 ? cli_text("cannot be opened: %s", strerror(errno))
                        : cli_text("not a file"));
    } else {
        f->bytes = (uint64_t)status.st_size;
        if (f->bytes > LIB_MOST)
            lib_fail(f, LIB_COPY_HINT, cli_text("%llu bytes: no library is so long",
                                                (unsigned long long)f->bytes));
        else
            elf_look(f, fd);
        if (f->failure == NULL && !find_marks(fd, f->bytes, &f->marks))
            lib_fail(f, LIB_COPY_HINT, cli_text("cannot be read: %s", strerror(errno)));
    }
    if (fd >= 0) close(fd);
}

void free_lib(lib_file *f)
{
    free(f->name);
    free(f->path);
    free(f->failure);
}

static int compare_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; ++i) free(names[i]);
    free(names);
}

char **names_in(const char *folder, int (*fits)(const char *name), size_t *count)
{
    DIR *dir = opendir(folder);
    size_t room = 16;
    *count = 0;
    if (dir == NULL) return NULL;
    char **names = cli_alloc(room, sizeof(*names));
    errno = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL; errno = 0) {
        if (!fits(entry->d_name)) continue;
        names = cli_grow(names, *count, &room, sizeof(*names));
        names[(*count)++] = cli_text("%s", entry->d_name);
    }
    const int why = errno;
    closedir(dir);
    if (why != 0) {
        free_names(names, *count);
        *count = 0;
        errno = why;
        return NULL;
    }
    qsort(names, *count, sizeof(*names), compare_name);
    return names;
}

char *lib_facts(const lib_file *f)
{
    page p = {NULL, 0, 0};
    OWNED char *release = release_text(&f->marks), *bytes = cli_grouped(f->bytes);
    page_text(&p, lib_platforms[f->platform]);
    if (f->machine == ELF_HEXAGON) page_add(&p, " v%x", (unsigned)(f->flags & 0xff));
    else if (f->align >= 1024 && f->platform != LIB_X86_64)
        page_add(&p, ", %llu KB pages", (unsigned long long)(f->align / 1024));
    if (release[0] != '\0') page_add(&p, ", release %s", release);
    if (f->build[0] != '\0') page_add(&p, ", build id %s", f->build);
    page_add(&p, ", %s bytes", bytes);
    return p.data;
}

int read_libs(libs *l, const char *folder)
{
    size_t count = 0;
    char **names = names_in(folder, is_library_name, &count);
    if (names == NULL) {
        add_finding(l->f, AREA_FOLDERS, FOUND_FAULT, folder, "Check the name of the folder.",
                    "cannot be opened: %s", strerror(errno));
        return 0;
    }
    for (size_t i = 0; i < count; ++i) {
        l->files = cli_grow(l->files, l->count, &l->room, sizeof(*l->files));
        lib_file *f = &l->files[l->count++];
        memset(f, 0, sizeof(*f));
        f->name = cli_text("%s", names[i]);
        f->path = cli_text("%s/%s", folder, f->name);
        find_role(f);
        look_at_file(f);
    }
    free_names(names, count);
    return 1;
}

void free_libs(libs *l)
{
    for (size_t i = 0; i < l->count; ++i) free_lib(&l->files[i]);
    free(l->files);
}

static int is_hexagon_role(const lib_file *f)
{
    return f->role == LIB_SKEL || f->role == LIB_NATIVE;
}

/* True for a file of an NPU generation that the device does not have. */
static int is_left_out(const libs *l, const lib_file *f)
{
    return l->arch != 0 && f->arch != 0 && f->arch != l->arch;
}

/* Find libQnnHtp.so, and out which platform the files are for: the one that is asked for, that of
   libQnnHtp.so, or that of the first library for a CPU. */
static void find_platform(libs *l)
{
    for (size_t i = 0; i < l->count; ++i)
        if (l->files[i].failure == NULL && l->files[i].role == LIB_BACKEND)
            l->backend = &l->files[i];
    l->platform = l->asked;
    if (l->platform == LIB_UNKNOWN && l->backend != NULL &&
        l->backend->platform != LIB_HEXAGON && l->backend->platform != LIB_FOREIGN)
        l->platform = l->backend->platform;
    for (size_t i = 0; l->platform == LIB_UNKNOWN && i < l->count; ++i)
        if (l->files[i].failure == NULL && l->files[i].platform < LIB_HEXAGON)
            l->platform = l->files[i].platform;
}

/* Add a finding about a library. */
CLI_FORMAT(5, 6)
static void about_lib(libs *l, finding_level level, const char *name, const char *fix,
                      const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *found = cli_text_list(format, list);
    va_end(list);
    take_finding(l->f, AREA_LIBRARIES, level, cli_text("%s", name), found, cli_text("%s", fix));
}

static const char *platform_hint(lib_platform platform)
{
    return platform == LIB_ANDROID
               ? "Take the file from lib/aarch64-android of the SDK, or from the AAR qnn-runtime."
           : platform == LIB_X86_64 ? "Take the file from lib/x86_64-linux-clang of the SDK."
                                    : "Take the file from the folder lib/aarch64-... of the SDK"
                                      " that fits the board's compiler.";
}

/* Check the machine of a file. Return 0 if it is wrong. The SDK has files for the DSP under other
   names than skels, too. */
static int check_machine(libs *l, const lib_file *f)
{
    if (is_hexagon_role(f)) {
        OWNED char *hint = cli_text("Take the file from lib/hexagon-v%u/unsigned of the SDK.",
                                    f->arch);
        const int machine = f->platform == LIB_HEXAGON && f->bits == 32;
        const int arch = (f->flags & 0xff) == (f->arch / 10 << 4 | f->arch % 10);
        if (!machine)
            about_lib(l, FOUND_FAULT, f->name, hint,
                      "for %s (%u bits), expected a 32-bit file for the Hexagon DSP",
                      lib_platforms[f->platform], f->bits);
        else if (!arch)
            about_lib(l, FOUND_FAULT, f->name, hint, "made for v%x, and its name says v%u",
                      (unsigned)(f->flags & 0xff), f->arch);
        return machine && arch;
    }
    if (f->platform == l->platform || l->platform == LIB_UNKNOWN || f->platform == LIB_UNKNOWN ||
        ((f->role == LIB_OTHER || f->role == LIB_VENDOR) && f->platform == LIB_HEXAGON)) return 1;
    about_lib(l, FOUND_FAULT, f->name, platform_hint(l->platform), "for %s, expected %s%s",
              lib_platforms[f->platform], lib_platforms[l->platform],
              f->platform == LIB_LINUX ? " (it needs glibc's libc.so.6)" : "");
    return 0;
}

/* Check the alignment of segments against the pages of the device. */
static void check_pages(libs *l, const lib_file *f)
{
    enum { NEW_PAGE = 16384 };
    if (f->align == 0 || f->machine == ELF_HEXAGON || l->platform == LIB_X86_64) return;
    if (l->page_size != 0 && f->align < l->page_size)
        about_lib(l, FOUND_FAULT, f->name, "Take libraries of release 2.46 or newer.",
                  "its segments are aligned to %llu bytes, and a page of the device has %lu bytes",
                  (unsigned long long)f->align, (unsigned long)l->page_size);
    else if (l->page_size == 0 && l->platform == LIB_ANDROID && f->align < NEW_PAGE)
        about_lib(l, FOUND_WARNING, f->name,
                  "Take libraries of release 2.46 or newer for phones with 16 KB pages.",
                  "its segments are aligned to %llu bytes; phones with 16 KB pages refuse it",
                  (unsigned long long)f->align);
}

/* Check the release of a file against that of libQnnHtp.so. */
static void check_release(libs *l, const lib_file *f)
{
    static const char hint[] = "Take all libraries from one release.";
    unsigned release[3];
    if (l->backend == NULL || f == l->backend) return;
    OWNED char *ours = release_text(&f->marks), *theirs = release_text(&l->backend->marks);
    if (releases_differ(&f->marks, &l->backend->marks))
        about_lib(l, FOUND_FAULT, f->name, hint, "release %s, and libQnnHtp.so has release %s",
                  ours, theirs);
    else if (sscanf(f->marks.symbol, "qnn_%4u_%4u_%4u_", &release[0], &release[1],
                    &release[2]) == 3 && l->backend->marks.known > 0 &&
             compare_release(release, l->backend->marks.release) != 0)
        about_lib(l, FOUND_FAULT, f->name, hint,
                  "its function is %s, and libQnnHtp.so has release %s", f->marks.symbol, theirs);
}

/* True for a file among the native libraries of an app: .../lib/arm64-v8a/libx.so, in a project
   (jniLibs), in an AAR (jni), in a package or where it is installed (lib). */
static int is_in_app(const char *path)
{
    static const char *const folders[] = {"lib", "jniLibs", "jni"};
    char here[PATH_MAX] = "";
    const char *parts[3] = {"", "", ""};           /* file, ABI, folder */
    if (path[0] != '/' && getcwd(here, sizeof(here)) == NULL) return 0;
    OWNED char *full = cli_text("%s/%s", here, path);
    for (size_t count = 0; count < 3;) {
        char *slash = strrchr(full, '/');
        if (slash == NULL) return 0;
        *slash = '\0';
        if (slash[1] != '\0' && strcmp(slash + 1, ".") != 0) parts[count++] = slash + 1;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); ++i)
        if (strcmp(parts[2], folders[i]) == 0) return strncmp(parts[1], "arm64", 5) == 0;
    return 0;
}

/* Check that a file belongs into such a folder. */
static void check_role(libs *l, const lib_file *f)
{
    enum { MOST_SKEL = 64 << 20 };
    const int on_device = l->platform == LIB_ANDROID || l->platform == LIB_LINUX;
    if (f->role == LIB_RPC && on_device)
        about_lib(l, FOUND_FAULT, f->name, "Remove it: the device has its own.",
                  "it belongs to the device, and a copy of another device does not work");
    if (f->role == LIB_CXX && l->platform == LIB_ANDROID)
        about_lib(l, FOUND_WARNING, f->name, "Remove it, unless your own code needs it.",
                  "Qualcomm's libraries for Android have a C++ runtime inside");
    if (f->machine == ELF_HEXAGON && is_in_app(f->path))
        about_lib(l, FOUND_WARNING, f->name,
                  "Ship it among the assets, and copy it to a folder of the app: see QnnrtSkels.",
                  "the DSP's files have 32 bits and segments of %llu bytes, and stores refuse them"
                  " in the libraries of an app", (unsigned long long)f->align);
    if (f->role == LIB_SKEL && f->bytes > MOST_SKEL) {
        OWNED char *hint = cli_text("Take the one of lib/hexagon-v%u/unsigned, of about 14 MB.",
                                    f->arch);
        about_lib(l, FOUND_WARNING, f->name, hint,
                  "%llu MB, so it is the file with symbols for a debugger",
                  (unsigned long long)(f->bytes >> 20));
    }
}

/* Check one file. */
static void check_file(libs *l, const lib_file *f)
{
    const int ours = f->role != LIB_OTHER && f->role != LIB_CXX && f->role != LIB_RPC;
    if (f->failure != NULL) {
        if (f->role != LIB_OTHER)
            about_lib(l, FOUND_FAULT, f->name, f->cure, "%s", f->failure);
        return;
    }
    check_role(l, f);
    if (!check_machine(l, f)) return;
    check_pages(l, f);
    if (ours) check_release(l, f);
}

/* Check all files. The facts of each one come first: as good, unless there is more to say. */
static void check_files(libs *l)
{
    size_t others = 0;
    for (size_t i = 0; i < l->count; ++i) {
        const lib_file *f = &l->files[i];
        findings own = {0};
        findings *all = l->f;
        l->f = &own;
        if (!is_left_out(l, f)) check_file(l, f);
        l->f = all;
        if (f->role == LIB_OTHER && own.count == 0) {
            ++others;
        } else if (f->failure == NULL) {
            OWNED char *facts = lib_facts(f);
            about_lib(l, own.count > 0 || is_left_out(l, f) ? FOUND_NOTE : FOUND_OK, f->name, "",
                      "%s", facts);
        }
        for (size_t k = 0; k < own.count; ++k)
            take_finding(all, own.items[k].area, own.items[k].level, own.items[k].what,
                         own.items[k].found, own.items[k].fix);
        free(own.items);
    }
    if (others > 0)
        about_lib(l, FOUND_NOTE, "others", "", "%lu more librar%s, not of Qualcomm",
                  (unsigned long)others, others == 1 ? "y" : "ies");
}

/* =====================================================================================
   PAIRS                                                                           >>pairs
   What is missing in the folder: for a device, a stub and a skel of its NPU generation, and for a
   model, those of the generation that it was compiled for.
   ===================================================================================== */

static const lib_file *find_lib(const libs *l, lib_role role, unsigned arch)
{
    for (size_t i = 0; i < l->count; ++i)
        if (l->files[i].role == role && (arch == 0 || l->files[i].arch == arch))
            return &l->files[i];
    return NULL;
}

/* Check that the stub or skel of a generation is there. why: who needs it. */
static void need_pair(libs *l, lib_role role, unsigned arch, const char *why)
{
    unsigned char other = 0;           /* for a number that no generation has */
    unsigned char *reported = arch < 100 ? &l->missing[role == LIB_SKEL][arch] : &other;
    if (find_lib(l, role, arch) != NULL || *reported) return;
    *reported = 1;
    OWNED char *hint = role == LIB_SKEL
              ? cli_text("Add it from lib/hexagon-v%u/unsigned of the same release.", arch)
              : cli_text("Add it from lib/%s of the same release.",
                         l->platform == LIB_LINUX ? "aarch64-oe-linux-..." : "aarch64-android");
    OWNED char *name = cli_text("libQnnHtpV%u%s.so", arch, role == LIB_STUB ? "Stub" : "Skel");
    about_lib(l, FOUND_FAULT, name, hint, "missing: %s", why);
}

void need_both(libs *l, unsigned arch, const char *why)
{
    need_pair(l, LIB_STUB, arch, why);
    need_pair(l, LIB_SKEL, arch, why);
}

static void check_pairs(libs *l)
{
    size_t pairs = 0;
    if (find_lib(l, LIB_BACKEND, 0) == NULL)
        about_lib(l, FOUND_FAULT, "libQnnHtp.so", platform_hint(l->platform),
                  "missing: it is the backend");
    if (find_lib(l, LIB_SYSTEM, 0) == NULL)
        about_lib(l, FOUND_WARNING, "libQnnSystem.so", platform_hint(l->platform),
                  "missing: without it, every context binary needs its JSON");
    if (l->platform == LIB_X86_64) return;
    if (l->arch != 0) {
        OWNED char *why = cli_text("the device has NPU generation %lu", (unsigned long)l->arch);
        need_both(l, l->arch, why);
        return;
    }
    for (size_t i = 0; i < l->count; ++i) {
        const lib_file *f = &l->files[i];
        if (f->role != LIB_STUB && f->role != LIB_SKEL) continue;
        OWNED char *why = cli_text("%s is useless without it", f->name);
        need_pair(l, f->role == LIB_STUB ? LIB_SKEL : LIB_STUB, f->arch, why);
        ++pairs;
    }
    if (pairs == 0)
        about_lib(l, FOUND_FAULT, "libQnnHtpVXXStub.so and libQnnHtpVXXSkel.so",
                  "Add both for each NPU generation XX.",
                  "missing for every XX: the backend cannot reach the NPU");
}

void check_libs(libs *l)
{
    find_platform(l);
    check_files(l);
    check_pairs(l);
}
