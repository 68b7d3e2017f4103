/* run_libs.h - a part of qnnrt-run.c: whether a folder holds the libraries that a device needs

   Nothing is loaded. Files are read, and every offset in them is checked: a library from elsewhere
   may be damaged or hostile.

   ROOMS    >>elf >>marks >>libs >>pairs                                                         */
#include <dirent.h>

typedef enum lib_platform {
    LIB_UNKNOWN = 0, LIB_ANDROID, LIB_LINUX, LIB_X86_64, LIB_HEXAGON, LIB_FOREIGN
} lib_platform;

static const char *const lib_platforms[] = {
    "an unknown platform", "Android arm64", "Linux arm64", "Linux x86-64", "the Hexagon DSP",
    "another machine"};

typedef enum lib_role {
    LIB_OTHER = 0,                     /* of Qualcomm or not                                   */
    LIB_BACKEND, LIB_SYSTEM, LIB_PREPARE, LIB_VENDOR,
    LIB_STUB, LIB_SKEL, LIB_NATIVE,    /* of one NPU generation, .arch                         */
    LIB_RPC,                           /* libcdsprpc.so, which belongs to the device           */
    LIB_CXX                            /* a C++ runtime                                        */
} lib_role;

enum { LIB_STAMP = 12, LIB_STAMPS = 4, LIB_SYMBOL = 64 };

/* What the bytes of a library or of a context binary tell about its origin. */
typedef struct lib_marks {
    int      known;                    /* parts of the release: 0, 3, or 4 with .stamp         */
    unsigned release[3];               /* 2.51.0                                               */
    char     stamp[LIB_STAMP + 1];     /* 260929181845: when it was built                      */
    char     stamps[LIB_STAMPS][LIB_STAMP + 1];      /* [stamp_count] that stand alone         */
    size_t   stamp_count;
    char     symbol[LIB_SYMBOL];       /* qnn_2_51_0_skel_handle_invoke, or ""                 */
    unsigned arch;                     /* of ";arch=75", 0: none                               */
} lib_marks;

typedef struct lib_file {
    char        *name, *path;          /* name: without its folder                             */
    lib_role     role;
    unsigned     arch;                 /* 75 of libQnnHtpV75Skel.so; 0: for every generation   */
    uint64_t     bytes;
    char        *failure;              /* why it is not a library, or NULL                     */
    const char  *cure;                 /* for .failure                                         */
    unsigned     bits;                 /* 32 or 64                                             */
    uint32_t     machine, flags;
    uint64_t     align;                /* the least of its segments; 0: it has none            */
    lib_platform platform;
    lib_marks    marks;
} lib_file;

typedef struct libs {
    tool          *t;
    const char    *folder;
    lib_file      *files;              /* [count], by name                                     */
    size_t         count;
    lib_platform   platform;           /* that the folder is for                               */
    const lib_file *backend;           /* libQnnHtp.so, or NULL                                */
    unsigned char  missing[2][100];    /* [stub or skel][arch]: 1: reported                    */
    size_t         problems, notes;
} libs;

/* =====================================================================================
   ELF                                                                             >>elf
   The machine of a library, what it needs, and whether it is whole.
   ===================================================================================== */

#define LIB_COPY_HINT "Copy the file again, and compare its size with the original."

/* Where fields lie in a file of 32 and of 64 bits. */
typedef struct elf_layout {
    unsigned word, header;
    unsigned phoff, shoff, flags, phentsize, phnum, shentsize, shnum;
    unsigned segment, offset, address, filesz, align;
} elf_layout;

static const elf_layout elf_32 = {4, 52, 28, 32, 36, 42, 44, 46, 48, 32, 4, 8, 16, 28};
static const elf_layout elf_64 = {8, 64, 32, 40, 48, 54, 56, 58, 60, 56, 8, 16, 32, 48};

enum { ELF_LOAD = 1, ELF_DYNAMIC = 2, ELF_NEEDED = 1, ELF_STRTAB = 5, ELF_STRSZ = 10 };
enum { ELF_AARCH64 = 183, ELF_X86_64 = 62, ELF_HEXAGON = 164 };

typedef struct elf_segments {
    const elf_layout *layout;
    unsigned char    *data;            /* [count], as in the file                              */
    unsigned          count;
} elf_segments;

/* Return a number of 2, 4 or 8 bytes. */
static uint64_t elf_number(const unsigned char *at, unsigned bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0) value = value << 8 | at[bytes];
    return value;
}

/* Read bytes at an offset. Return 0 if the file does not have them. */
static int elf_read(int fd, uint64_t file_bytes, uint64_t offset, void *to, size_t bytes)
{
    char *data = to;
    if (offset > file_bytes || bytes > file_bytes - offset) return 0;
    while (bytes > 0) {
        const ssize_t got = pread(fd, data, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        data += got;
        bytes -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 1;
}

static void lib_fail(lib_file *f, const char *cure, char *failure)
{
    f->failure = failure;
    f->cure = cure;
}

/* Return the offset of an address in the file; 0: no segment has it. */
static uint64_t elf_place(const elf_segments *s, uint64_t address)
{
    const elf_layout *l = s->layout;
    for (unsigned i = 0; i < s->count; ++i) {
        const unsigned char *at = s->data + (size_t)i * l->segment;
        const uint64_t first = elf_number(at + l->address, l->word);
        if (elf_number(at, 4) != ELF_LOAD || address < first) continue;
        if (address - first < elf_number(at + l->filesz, l->word))
            return elf_number(at + l->offset, l->word) + (address - first);
    }
    return 0;
}

/* Read the libraries that a file needs, and find out which C library is among them. */
static void elf_needed(lib_file *f, int fd, const elf_segments *s, const unsigned char *dynamic)
{
    enum { MOST = 4096, LONGEST = 32 };
    const elf_layout *l = s->layout;
    const size_t entry = 2 * (size_t)l->word;
    const uint64_t held = elf_number(dynamic + l->filesz, l->word);
    const size_t count = (size_t)(held / entry < MOST ? held / entry : MOST);
    unsigned char *entries = cli_alloc(count, entry);
    uint64_t names_at = 0, names_bytes = 0;
    if (!elf_read(fd, f->bytes, elf_number(dynamic + l->offset, l->word), entries, count * entry)) {
        free(entries);
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        const uint64_t tag = elf_number(entries + i * entry, l->word);
        const uint64_t value = elf_number(entries + i * entry + l->word, l->word);
        if (tag == ELF_STRTAB) names_at = value;
        if (tag == ELF_STRSZ) names_bytes = value;
    }
    const uint64_t names = elf_place(s, names_at);
    for (size_t i = 0; names != 0 && i < count; ++i) {
        const uint64_t at = elf_number(entries + i * entry + l->word, l->word);
        char name[LONGEST + 1] = "";
        if (elf_number(entries + i * entry, l->word) != ELF_NEEDED || at >= names_bytes) continue;
        const uint64_t left = names_bytes - at;
        if (at > UINT64_MAX - names ||
            !elf_read(fd, f->bytes, names + at, name, left < LONGEST ? (size_t)left : LONGEST))
            continue;
        if (strcmp(name, "libc.so.6") == 0) f->platform = LIB_LINUX;
        else if (strcmp(name, "libc.so") == 0 && f->platform == LIB_UNKNOWN)
            f->platform = LIB_ANDROID;
    }
    free(entries);
}

/* Read the segments: their alignment, and whether the file holds all of them. */
static void elf_look_segments(lib_file *f, int fd, const elf_segments *s)
{
    const elf_layout *l = s->layout;
    for (unsigned i = 0; i < s->count; ++i) {
        const unsigned char *at = s->data + (size_t)i * l->segment;
        const uint64_t offset = elf_number(at + l->offset, l->word);
        const uint64_t held = elf_number(at + l->filesz, l->word);
        const uint64_t align = elf_number(at + l->align, l->word);
        if (elf_number(at, 4) != ELF_LOAD) continue;
        if (offset > f->bytes || held > f->bytes - offset) {
            lib_fail(f, LIB_COPY_HINT,
                     cli_text("cut short: a segment of %llu bytes begins at byte %llu, and the file"
                              " has %llu bytes", (unsigned long long)held,
                              (unsigned long long)offset, (unsigned long long)f->bytes));
            return;
        }
        if (f->align == 0 || align < f->align) f->align = align;
    }
    for (unsigned i = 0; i < s->count && f->platform == LIB_UNKNOWN; ++i) {
        const unsigned char *at = s->data + (size_t)i * l->segment;
        if (elf_number(at, 4) != ELF_DYNAMIC) continue;
        elf_needed(f, fd, s, at);
        break;                         /* a library has one; thousands would take hours */
    }
}

/* Read the header and the segments of an ELF file. f->failure says why that failed. */
static void elf_look(lib_file *f, int fd)
{
    static const char lfs[] = "version https://git-lfs";
    unsigned char header[64] = {0};
    const size_t held = f->bytes < sizeof(header) ? (size_t)f->bytes : sizeof(header);
    elf_segments s = {NULL, NULL, 0};
    if (!elf_read(fd, f->bytes, 0, header, held)) {
        lib_fail(f, LIB_COPY_HINT, cli_text("cannot be read"));
        return;
    }
    if (memcmp(header, lfs, sizeof(lfs) - 1) == 0) {
        lib_fail(f, "Run git lfs pull in the repository that the file comes from, and copy it"
                 " again.", cli_text("a pointer of git-lfs with %llu bytes, not a library",
                                     (unsigned long long)f->bytes));
        return;
    }
    if (memcmp(header, "\177ELF", 4) != 0 || (header[4] != 1 && header[4] != 2) || header[5] != 1) {
        lib_fail(f, LIB_COPY_HINT, f->bytes == 0 ? cli_text("empty")
                 : cli_text("not a library: it is no little-endian ELF file"));
        return;
    }
    s.layout = header[4] == 1 ? &elf_32 : &elf_64;
    const elf_layout *l = s.layout;
    if (f->bytes < l->header) {
        lib_fail(f, LIB_COPY_HINT, cli_text("cut short: %llu bytes", (unsigned long long)f->bytes));
        return;
    }
    f->bits = header[4] == 1 ? 32 : 64;
    f->machine = (uint32_t)elf_number(header + 18, 2);
    f->flags = (uint32_t)elf_number(header + l->flags, 4);
    f->platform = f->machine == ELF_X86_64 ? LIB_X86_64
                  : f->machine == ELF_HEXAGON ? LIB_HEXAGON
                  : f->machine == ELF_AARCH64 && f->bits == 64 ? LIB_UNKNOWN : LIB_FOREIGN;

    const uint64_t sections = elf_number(header + l->shoff, l->word);
    const uint64_t sections_bytes = elf_number(header + l->shentsize, 2) *
                                    elf_number(header + l->shnum, 2);
    s.count = (unsigned)elf_number(header + l->phnum, 2);
    if (s.count > 0 && elf_number(header + l->phentsize, 2) != l->segment) {
        lib_fail(f, LIB_COPY_HINT, cli_text("damaged: its program headers have the wrong size"));
        return;
    }
    s.data = cli_alloc(s.count, l->segment);
    if (!elf_read(fd, f->bytes, elf_number(header + l->phoff, l->word), s.data,
                  (size_t)s.count * l->segment))
        lib_fail(f, LIB_COPY_HINT, cli_text("cut short: its program headers are missing"));
    else
        elf_look_segments(f, fd, &s);
    if (f->failure == NULL && sections != 0 &&
        (sections > f->bytes || sections_bytes > f->bytes - sections))
        lib_fail(f, LIB_COPY_HINT,
                 cli_text("cut short: its section headers begin at byte %llu, and the file has %llu"
                          " bytes", (unsigned long long)sections, (unsigned long long)f->bytes));
    free(s.data);
}

/* =====================================================================================
   MARKS                                                                         >>marks
   Texts within a file that tell its release: "v2.51.0.260929181845" in most libraries and in
   context binaries, "AISW_VERSION: 2.51.0" in some, "260929181845" alone in libQnnSystem.so, the
   name of a function in a skel, and ";arch=75" in context binaries. The vendor documents none.
   ===================================================================================== */

enum { MARKS_BLOCK = 1 << 20, MARKS_AHEAD = 64, MARKS_BACK = LIB_SYMBOL };

/* A file may have more bytes than a disk, because most of them are a hole. A context binary has its
   marks before the weights. */
#define LIB_MOST      ((uint64_t)1 << 30)
#define CONTEXT_MARKS ((uint64_t)64 << 20)

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Read a number of at most 4 digits. Return how many there are. */
static size_t mark_number(const char *at, const char *end, unsigned *out)
{
    size_t digits = 0;
    *out = 0;
    while (digits < 5 && at + digits < end && is_digit(at[digits]))
        *out = *out * 10 + (unsigned)(at[digits++] - '0');
    return digits <= 4 ? digits : 0;
}

/* Read "2.51.0". Return its length, or 0. */
static size_t mark_release(const char *at, const char *end, unsigned release[3])
{
    const char *begin = at;
    for (int part = 0; part < 3; ++part) {
        if (part > 0 && (at == end || *at++ != '.')) return 0;
        const size_t digits = mark_number(at, end, &release[part]);
        if (digits == 0) return 0;
        at += digits;
    }
    return (size_t)(at - begin);
}

/* True if these are 12 digits, no more, that are a date and a time. */
static int mark_stamp(const char *at, const char *end)
{
    static const int most[LIB_STAMP / 2] = {99, 12, 31, 23, 59, 59};
    if (end - at < LIB_STAMP || (end - at > LIB_STAMP && is_digit(at[LIB_STAMP]))) return 0;
    for (int i = 0; i < LIB_STAMP / 2; ++i) {
        if (!is_digit(at[2 * i]) || !is_digit(at[2 * i + 1])) return 0;
        const int value = 10 * (at[2 * i] - '0') + (at[2 * i + 1] - '0');
        if (value > most[i] || ((i == 1 || i == 2) && value == 0)) return 0;
    }
    return 1;
}

static void mark_whole_release(lib_marks *m, const char *at, const char *end)
{
    unsigned release[3];
    const size_t length = mark_release(at, end, release);
    if (m->known == 4 || length == 0 || at + length == end || at[length] != '.' ||
        !mark_stamp(at + length + 1, end)) return;
    m->known = 4;
    memcpy(m->release, release, sizeof(release));
    memcpy(m->stamp, at + length + 1, LIB_STAMP);
}

/* Look whether a mark begins, or in the case of the symbol ends, at this place. */
static void mark_look(lib_marks *m, const char *begin, const char *at, const char *end)
{
    static const char version[] = "AISW_VERSION: ", invoke[] = "_skel_handle_invoke";
    static const char arch[] = ";arch=";
    const size_t left = (size_t)(end - at);
    unsigned number = 0;
    switch (*at) {
    case 'v':
        mark_whole_release(m, at + 1, end);
        break;
    case 'A':
        if (m->known == 0 && left > sizeof(version) &&
            memcmp(at, version, sizeof(version) - 1) == 0 &&
            mark_release(at + sizeof(version) - 1, end, m->release) != 0)
            m->known = 3;
        break;
    case '_':
        if (m->symbol[0] == '\0' && left >= sizeof(invoke) &&
            memcmp(at, invoke, sizeof(invoke)) == 0) {
            const char *first = at;
            while (first > begin && (is_digit(first[-1]) || first[-1] == '_' ||
                                     (first[-1] >= 'a' && first[-1] <= 'z'))) --first;
            if (at - first >= 3 && memcmp(first, "qnn", 3) == 0)
                snprintf(m->symbol, sizeof(m->symbol), "%.*s%s", (int)(at - first), first, invoke);
        }
        break;
    case ';':
        if (m->arch == 0 && left > sizeof(arch) && memcmp(at, arch, sizeof(arch) - 1) == 0 &&
            mark_number(at + sizeof(arch) - 1, end, &number) == 2)
            m->arch = number;
        break;
    default:
        if (!is_digit(*at) || (at > begin && (is_digit(at[-1]) || at[-1] == '.')) ||
            m->stamp_count == LIB_STAMPS || !mark_stamp(at, end) || left == LIB_STAMP ||
            at[LIB_STAMP] != '\0') break;
        memcpy(m->stamps[m->stamp_count++], at, LIB_STAMP);
        break;
    }
}

/* Read the first `most` bytes of a file, and find their marks. Return 0 on failure, with errno
   set. */
static int find_marks(int fd, uint64_t most, lib_marks *m)
{
    const size_t room = MARKS_BACK + MARKS_BLOCK + MARKS_AHEAD;
    char *block = cli_alloc(room, 1);
    size_t used = 0, at = 0, got = 0;
    int good = lseek(fd, 0, SEEK_SET) == 0;
    do {
        const size_t keep = at > MARKS_BACK ? at - MARKS_BACK : 0;
        memmove(block, block + keep, used - keep);
        used -= keep;
        at -= keep;
        const size_t wanted = most < room - used ? (size_t)most : room - used;
        good = good && cli_read(fd, block + used, wanted, &got) == 0;
        const int last = !good || got < wanted || got == most;
        used += got;
        most -= got;
        for (; at < used && (last || at + MARKS_AHEAD < used); ++at)
            mark_look(m, block, block + at, block + used);
        if (last) break;
    } while (good);
    free(block);
    return good;
}

/* Return "2.51.0.260929181845", "2.51.0", "built 260929181845" or "". The caller frees it. */
static char *release_text(const lib_marks *m)
{
    if (m->known == 0)
        return m->stamp_count > 0 ? cli_text("built %s", m->stamps[0]) : cli_text("%s", "");
    return cli_text("%u.%u.%u%s%s", m->release[0], m->release[1], m->release[2],
                    m->known == 4 ? "." : "", m->known == 4 ? m->stamp : "");
}

/* Return -1, 0 or 1 as release a is older than, equal to or newer than b; stamps do not count. */
static int compare_release(const unsigned a[3], const unsigned b[3])
{
    for (int i = 0; i < 3; ++i)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* True if two files are known to be of different releases. */
static int releases_differ(const lib_marks *a, const lib_marks *b)
{
    if (a->known > 0 && b->known > 0 && compare_release(a->release, b->release) != 0) return 1;
    if (a->known == 4 && b->known == 4) return strcmp(a->stamp, b->stamp) != 0;
    const lib_marks *whole = a->known == 4 ? a : b, *bare = a->known == 4 ? b : a;
    if (whole->known != 4 || bare->known != 0 || bare->stamp_count == 0) return 0;
    for (size_t i = 0; i < bare->stamp_count; ++i)
        if (strcmp(bare->stamps[i], whole->stamp) == 0) return 0;
    return 1;
}

/* =====================================================================================
   LIBS                                                                           >>libs
   The files of a folder, and what is wrong with each of them.
   ===================================================================================== */

/* Print a finding, a text that is safe to show. hint: what to do. */
static void say_finding(libs *l, int problem, const char *hint, const char *text)
{
    say(l->t, "%s   %s\n  hint: %s\n", problem ? "problem" : "note   ", text, hint);
    if (problem) ++l->problems;
    else ++l->notes;
}

/* Print a finding that may have names of files in it. */
CLI_FORMAT(4, 5)
static void finding(libs *l, int problem, const char *hint, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = cli_text_list(format, list), *shown = cli_shown(text);
    va_end(list);
    say_finding(l, problem, hint, shown);
    free(text);
    free(shown);
}

/* Find the role of "libQnnHtpV75Stub.so" and its like. Return 0 for another name. */
static int role_by_arch(lib_file *f)
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

static void find_role(lib_file *f)
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

/* True for "libx.so" and "libx.so.6". */
static int is_library_name(const char *name)
{
    const char *end = strstr(name, ".so");
    while (end != NULL && end[3] != '\0' && end[3] != '.') end = strstr(end + 3, ".so");
    return strncmp(name, "lib", 3) == 0 && end != NULL;
}

static void look_at_file(lib_file *f)
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

static int compare_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; ++i) free(names[i]);
    free(names);
}

/* Return the names in a folder that fit, sorted. NULL: errno says why. */
static char **names_in(const char *folder, int (*fits)(const char *name), size_t *count)
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

/* Print "libQnnHtp.so  3495096 bytes  Android arm64, 16 KB pages, release 2.46.0.260424121129". */
static void say_lib(const libs *l, const lib_file *f)
{
    char *name = cli_shown(f->name), *release = release_text(&f->marks);
    say(l->t, "  %-28s %10llu bytes", name, (unsigned long long)f->bytes);
    if (f->failure == NULL) {
        say(l->t, "  %s", lib_platforms[f->platform]);
        if (f->machine == ELF_HEXAGON) say(l->t, " v%x", (unsigned)(f->flags & 0xff));
        else if (f->align >= 1024 && f->platform != LIB_X86_64)
            say(l->t, ", %llu KB pages", (unsigned long long)(f->align / 1024));
        if (release[0] != '\0') say(l->t, ", release %s", release);
    }
    say(l->t, "\n");
    free(name);
    free(release);
}

/* Read all libraries of the folder. Return 0 after printing an error. */
static int read_libs(libs *l)
{
    size_t count = 0;
    char **names = names_in(l->folder, is_library_name, &count);
    if (names == NULL) {
        char *shown = cli_shown(l->folder);
        fail(l->t, NULL, "Check the name of the folder.", "cannot open %s: %s", shown,
             strerror(errno));
        free(shown);
        return 0;
    }
    l->files = cli_alloc(count, sizeof(*l->files));
    for (l->count = 0; l->count < count; ++l->count) {
        lib_file *f = &l->files[l->count];
        f->name = cli_text("%s", names[l->count]);
        f->path = cli_text("%s/%s", l->folder, f->name);
        find_role(f);
        look_at_file(f);
        say_lib(l, f);
        if (f->failure == NULL && f->role == LIB_BACKEND) l->backend = f;
    }
    free_names(names, count);
    return 1;
}

static int is_hexagon_role(const lib_file *f)
{
    return f->role == LIB_SKEL || f->role == LIB_NATIVE;
}

/* True for a file of an NPU generation that --dsp_arch leaves out. */
static int is_left_out(const libs *l, const lib_file *f)
{
    const unsigned wanted = l->t->set.libs.arch;
    return wanted != 0 && f->arch != 0 && f->arch != wanted;
}

/* Find out which platform the folder is for: the one that is asked for, that of libQnnHtp.so, or
   that of the first library for a CPU. */
static void find_platform(libs *l)
{
    static const lib_platform asked[] = {LIB_UNKNOWN, LIB_ANDROID, LIB_LINUX, LIB_X86_64};
    l->platform = asked[l->t->set.libs.platform];
    if (l->platform == LIB_UNKNOWN && l->backend != NULL &&
        l->backend->platform != LIB_HEXAGON && l->backend->platform != LIB_FOREIGN)
        l->platform = l->backend->platform;
    for (size_t i = 0; l->platform == LIB_UNKNOWN && i < l->count; ++i)
        if (l->files[i].failure == NULL && l->files[i].platform < LIB_HEXAGON)
            l->platform = l->files[i].platform;
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
    char *hint = NULL;
    if (is_hexagon_role(f)) {
        hint = cli_text("Take the file from lib/hexagon-v%u/unsigned of the SDK.", f->arch);
        if (f->platform != LIB_HEXAGON || f->bits != 32)
            finding(l, 1, hint, "%s: for %s (%u bits), expected a 32-bit file for the Hexagon DSP",
                    f->name, lib_platforms[f->platform], f->bits);
        else if ((f->flags & 0xff) != (f->arch / 10 << 4 | f->arch % 10))
            finding(l, 1, hint, "%s: made for v%x, and its name says v%u", f->name,
                    (unsigned)(f->flags & 0xff), f->arch);
        else {
            free(hint);
            return 1;
        }
        free(hint);
        return 0;
    }
    if (f->platform == l->platform || l->platform == LIB_UNKNOWN || f->platform == LIB_UNKNOWN ||
        ((f->role == LIB_OTHER || f->role == LIB_VENDOR) && f->platform == LIB_HEXAGON)) return 1;
    finding(l, 1, platform_hint(l->platform), "%s: for %s, expected %s%s", f->name,
            lib_platforms[f->platform], lib_platforms[l->platform],
            f->platform == LIB_LINUX ? " (it needs glibc's libc.so.6)" : "");
    return 0;
}

/* Check the alignment of segments against the pages of the device. */
static void check_pages(libs *l, const lib_file *f)
{
    enum { NEW_PAGE = 16384 };
    const uint32_t wanted = l->t->set.libs.page_size;
    if (f->align == 0 || f->machine == ELF_HEXAGON || l->platform == LIB_X86_64) return;
    if (wanted != 0 && f->align < wanted)
        finding(l, 1, "Take libraries of release 2.46 or newer.",
                "%s: its segments are aligned to %llu bytes, and a page of the device has %lu"
                " bytes", f->name, (unsigned long long)f->align, (unsigned long)wanted);
    else if (wanted == 0 && l->platform == LIB_ANDROID && f->align < NEW_PAGE)
        finding(l, 0, "Take libraries of release 2.46 or newer for phones with 16 KB pages.",
                "%s: its segments are aligned to %llu bytes; phones with 16 KB pages refuse it",
                f->name, (unsigned long long)f->align);
}

/* Check the release of a file against that of libQnnHtp.so. */
static void check_release(libs *l, const lib_file *f)
{
    unsigned release[3];
    if (l->backend == NULL || f == l->backend) return;
    char *ours = release_text(&f->marks), *theirs = release_text(&l->backend->marks);
    if (releases_differ(&f->marks, &l->backend->marks))
        finding(l, 1, "Take all libraries from one release.", "%s: release %s, and libQnnHtp.so has"
                " release %s", f->name, ours, theirs);
    else if (sscanf(f->marks.symbol, "qnn_%4u_%4u_%4u_", &release[0], &release[1],
                    &release[2]) == 3 && l->backend->marks.known > 0 &&
             compare_release(release, l->backend->marks.release) != 0)
        finding(l, 1, "Take all libraries from one release.", "%s: its function is %s, and"
                " libQnnHtp.so has release %s", f->name, f->marks.symbol, theirs);
    free(ours);
    free(theirs);
}

/* Check that a file belongs into such a folder. */
static void check_role(libs *l, const lib_file *f)
{
    enum { MOST_SKEL = 64 << 20 };
    const int device = l->platform == LIB_ANDROID || l->platform == LIB_LINUX;
    if (f->role == LIB_RPC && device)
        finding(l, 1, "Remove it: the device has its own.",
                "%s: it belongs to the device, and a copy of another device does not work",
                f->name);
    if (f->role == LIB_CXX && l->platform == LIB_ANDROID)
        finding(l, 0, "Remove it, unless your own code needs it.",
                "%s: Qualcomm's libraries for Android have a C++ runtime inside", f->name);
    if (f->role == LIB_SKEL && f->bytes > MOST_SKEL) {
        char *hint = cli_text("Take the one of lib/hexagon-v%u/unsigned, of about 14 MB.", f->arch);
        finding(l, 0, hint, "%s: %llu MB, so it is the file with symbols for a debugger", f->name,
                (unsigned long long)(f->bytes >> 20));
        free(hint);
    }
}

static void check_files(libs *l)
{
    for (size_t i = 0; i < l->count; ++i) {
        const lib_file *f = &l->files[i];
        if (is_left_out(l, f)) continue;
        if (f->failure != NULL) {
            if (f->role != LIB_OTHER) finding(l, 1, f->cure, "%s: %s", f->name, f->failure);
            continue;
        }
        check_role(l, f);
        if (!check_machine(l, f)) continue;
        check_pages(l, f);
        if (f->role != LIB_OTHER && f->role != LIB_CXX && f->role != LIB_RPC) check_release(l, f);
    }
}

/* =====================================================================================
   PAIRS                                                                         >>pairs
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

static const char *pair_name(lib_role role)
{
    return role == LIB_STUB ? "Stub" : "Skel";
}

/* Check that the stub or skel of a generation is there. why: who needs it. */
static void need_pair(libs *l, lib_role role, unsigned arch, const char *why)
{
    unsigned char other = 0;           /* for a number that no generation has */
    unsigned char *reported = arch < 100 ? &l->missing[role == LIB_SKEL][arch] : &other;
    if (find_lib(l, role, arch) != NULL || *reported) return;
    *reported = 1;
    char *hint = role == LIB_SKEL
        ? cli_text("Add it from lib/hexagon-v%u/unsigned of the same release.", arch)
        : cli_text("Add it from lib/%s of the same release.",
                   l->platform == LIB_LINUX ? "aarch64-oe-linux-..." : "aarch64-android");
    finding(l, 1, hint, "libQnnHtpV%u%s.so is missing: %s", arch, pair_name(role), why);
    free(hint);
}

static void check_pairs(libs *l)
{
    const unsigned wanted = l->t->set.libs.arch;
    size_t pairs = 0;
    if (find_lib(l, LIB_BACKEND, 0) == NULL)
        finding(l, 1, platform_hint(l->platform), "libQnnHtp.so is missing: it is the backend");
    if (find_lib(l, LIB_SYSTEM, 0) == NULL)
        finding(l, 0, platform_hint(l->platform),
                "libQnnSystem.so is missing: without it, every context binary needs its JSON");
    if (l->platform == LIB_X86_64 && wanted == 0) return;
    if (wanted != 0) {
        char *why = cli_text("the device has NPU generation %u", wanted);
        need_pair(l, LIB_STUB, wanted, why);
        need_pair(l, LIB_SKEL, wanted, why);
        free(why);
        return;
    }
    for (size_t i = 0; i < l->count; ++i) {
        const lib_file *f = &l->files[i];
        if (f->role != LIB_STUB && f->role != LIB_SKEL) continue;
        const lib_role other = f->role == LIB_STUB ? LIB_SKEL : LIB_STUB;
        char *why = cli_text("%s is useless without it", f->name);
        need_pair(l, other, f->arch, why);
        free(why);
        ++pairs;
    }
    if (pairs == 0)
        finding(l, 1, "Add libQnnHtpVXXStub.so and libQnnHtpVXXSkel.so for each NPU generation XX.",
                "no stub and no skel: the backend cannot reach the NPU");
}

static int is_binary_name(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".bin") == 0;
}

/* Check one context binary: made[3] is its release, NULL: not known; arch 0: not known. */
static void check_context(libs *l, const char *file, const unsigned *made, unsigned arch)
{
    const unsigned wanted = l->t->set.libs.arch;
    char *name = cli_shown(file);
    say(l->t, "  %-28s", name);
    if (made != NULL) say(l->t, "  made by release %u.%u.%u", made[0], made[1], made[2]);
    else say(l->t, "  its release is not known");
    if (arch != 0) say(l->t, ", for v%u", arch);
    say(l->t, "\n");
    if (made != NULL && l->backend != NULL && l->backend->marks.known > 0 &&
        compare_release(made, l->backend->marks.release) > 0) {
        char *release = release_text(&l->backend->marks);
        char *hint = cli_text("Take libraries of release %u.%u or newer.", made[0], made[1]);
        finding(l, 1, hint, "%s: made by release %u.%u.%u, and libQnnHtp.so has the older release"
                " %s", name, made[0], made[1], made[2], release);
        free(hint);
        free(release);
    }
    if (arch != 0 && wanted == 0 && l->platform != LIB_X86_64) {
        char *why = cli_text("%s is compiled for v%u", name, arch);
        need_pair(l, LIB_STUB, arch, why);
        need_pair(l, LIB_SKEL, arch, why);
        free(why);
    }
    if (arch != 0 && wanted != 0 && arch != wanted) {
        char *hint = cli_text("Compile the model for this device, with --dsp_arch %u or its"
                              " --soc_model.", wanted);
        finding(l, arch > wanted, hint, "%s: compiled for v%u, and the device has v%u%s", name,
                arch, wanted, arch > wanted ? "" : "; whether that runs is unproven");
        free(hint);
    }
    free(name);
}

/* Check context binaries by the marks in their bytes. */
static void check_marked_contexts(libs *l, const char *folder)
{
    size_t count = 0;
    char **names = names_in(folder, is_binary_name, &count);
    for (size_t i = 0; i < count; ++i) {
        char *path = cli_text("%s/%s", folder, names[i]);
        lib_marks marks;
        struct stat status;
        memset(&marks, 0, sizeof(marks));
        const int fd = cli_open(path);
        if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
            find_marks(fd, (uint64_t)status.st_size < CONTEXT_MARKS ? (uint64_t)status.st_size
                                                                    : CONTEXT_MARKS, &marks))
            check_context(l, names[i], marks.known > 0 ? marks.release : NULL, marks.arch);
        else
            finding(l, 1, LIB_COPY_HINT, "%s: cannot be read", names[i]);
        if (fd >= 0) close(fd);
        free(path);
    }
    if (names == NULL)
        finding(l, 1, "Check the name of the folder.", "--ctx_dir: cannot open %s: %s", folder,
                strerror(errno));
    else if (count == 0)
        finding(l, 1, "Name the folder of the model's context binaries.",
                "--ctx_dir: the folder has no *.bin");
    free_names(names, count);
}

/* Check the model of --ctx_dir: by its metadata, if JSON or --system_so gives it, else by marks. */
static void check_model_of_libs(libs *l)
{
    const settings *set = &l->t->set;
    qnnrt_desc desc = {0};
    qnnrt_error err;
    qnnrt *model = NULL;
    if (set->ctx_dir == NULL) return;
    desc.inspect = 1;
    desc.system_path = set->system;
    desc.metadata = set->system != NULL ? QNNRT_METADATA_ALL : QNNRT_METADATA_JSON;
    say(l->t, "model\n");
    if (qnnrt_open(set->ctx_dir, &desc, &model, &err) != QNNRT_OK) {
        if (set->system == NULL) {
            check_marked_contexts(l, set->ctx_dir);
            return;
        }
        char *text = cli_text("--ctx_dir: %s", err.text);
        say_finding(l, 1, err.hint, text);
        free(text);
        return;
    }
    const qnnrt_info *info = qnnrt_get_info(model);
    for (size_t i = 0; i < info->context_count; ++i) {
        const qnnrt_context_info *c = &info->contexts[i];
        const char *build = c->build_id != NULL ? c->build_id : "";
        unsigned made[3];
        build += build[0] == 'v';
        const int known = mark_release(build, build + strlen(build), made) != 0;
        check_context(l, c->file, known ? made : NULL, c->dsp_arch);
    }
    qnnrt_close(model);
}

static int verb_libs(void *user)
{
    tool *t = user;
    libs l;
    if (t->set.files.count != 1)
        return cli_usage("Write qnnrt-run libs FOLDER.", "libs takes one folder");
    memset(&l, 0, sizeof(l));
    l.t = t;
    l.folder = t->set.files.items[0];
    say(t, "libraries\n");
    if (read_libs(&l)) {
        find_platform(&l);
        check_files(&l);
        check_pairs(&l);
        check_model_of_libs(&l);
        if (l.problems > 0) t->failed = 1;
        say(t, "%lu file%s for %s, %lu problem%s, %lu note%s\n", (unsigned long)l.count,
            cli_plural(l.count), lib_platforms[l.platform], (unsigned long)l.problems,
            cli_plural(l.problems), (unsigned long)l.notes, cli_plural(l.notes));
    }
    for (size_t i = 0; i < l.count; ++i) {
        free(l.files[i].name);
        free(l.files[i].path);
        free(l.files[i].failure);
    }
    free(l.files);
    return STATUS_OK;
}
