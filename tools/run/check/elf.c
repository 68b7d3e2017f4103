/* elf.c - what the bytes of a library or of a context binary tell

   Nothing is loaded. Files are read, and every offset in them is checked: a library from elsewhere
   may be damaged or hostile.

   ROOMS     >>elf >>marks */
#include "run/check/check.h"

const char *const lib_platforms[] = {
    "an unknown platform", "Android arm64", "Linux arm64", "Linux x86-64", "the Hexagon DSP",
    "another machine"};

/* =====================================================================================
   ELF                                                                             >>elf
   The machine of a library, what it needs, and whether it is whole.
   ===================================================================================== */

/* Where fields lie in a file of 32 and of 64 bits. */
typedef struct elf_layout {
    unsigned word, header;
    unsigned phoff, shoff, flags, phentsize, phnum, shentsize, shnum;
    unsigned segment, offset, address, filesz, align;
} elf_layout;

static const elf_layout elf_32 = {4, 52, 28, 32, 36, 42, 44, 46, 48, 32, 4, 8, 16, 28};
static const elf_layout elf_64 = {8, 64, 32, 40, 48, 54, 56, 58, 60, 56, 8, 16, 32, 48};

enum { ELF_LOAD = 1, ELF_DYNAMIC = 2, ELF_NOTE = 4 };
enum { ELF_NEEDED = 1, ELF_STRTAB = 5, ELF_STRSZ = 10, ELF_BUILD_ID = 3, ELF_MOST_NOTES = 8 };

typedef struct elf_segments {
    const elf_layout *layout;
    unsigned char    *data;            /* [count], as in the file                              */
    unsigned          count;
} elf_segments;

uint64_t elf_number(const unsigned char *at, unsigned bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0) value = value << 8 | at[bytes];
    return value;
}

int elf_read(int fd, uint64_t file_bytes, uint64_t offset, void *to, size_t bytes)
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

void lib_fail(lib_file *f, const char *cure, char *failure)
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
    OWNED unsigned char *entries = cli_alloc(count, entry);
    uint64_t names_at = 0, names_bytes = 0;
    if (!elf_read(fd, f->bytes, elf_number(dynamic + l->offset, l->word), entries, count * entry))
        return;
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
}

/* Read the build id from a segment of notes, if it is among the first ones. */
static void elf_build_id(lib_file *f, int fd, const elf_segments *s, const unsigned char *segment)
{
    enum { MOST = 4096, HEAD = 12, NAME = 4 };
    const elf_layout *l = s->layout;
    const uint64_t held = elf_number(segment + l->filesz, l->word);
    const size_t bytes = held < MOST ? (size_t)held : MOST;
    unsigned char notes[MOST];
    size_t at = 0;
    if (!elf_read(fd, f->bytes, elf_number(segment + l->offset, l->word), notes, bytes)) return;
    while (bytes - at >= HEAD) {
        const uint64_t name = (elf_number(notes + at, 4) + 3) & ~(uint64_t)3;
        const uint64_t value = elf_number(notes + at + 4, 4), whole = (value + 3) & ~(uint64_t)3;
        const uint64_t kind = elf_number(notes + at + 8, 4);
        at += HEAD;
        if (name > bytes - at || value > bytes - at - name) return;
        if (kind == ELF_BUILD_ID && name == NAME && memcmp(notes + at, "GNU", NAME) == 0) {
            for (size_t i = 0; i < value && i < LIB_BUILD; ++i)
                snprintf(f->build + 2 * i, 3, "%02x", (unsigned)notes[at + NAME + i]);
            return;
        }
        if (whole > bytes - at - name) return;
        at += (size_t)(name + whole);
    }
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
    unsigned notes = 0;
    for (unsigned i = 0; i < s->count && f->build[0] == '\0' && notes < ELF_MOST_NOTES; ++i) {
        const unsigned char *at = s->data + (size_t)i * l->segment;
        if (elf_number(at, 4) != ELF_NOTE) continue;
        elf_build_id(f, fd, s, at);
        ++notes;
    }
}

void elf_look(lib_file *f, int fd)
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

int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

size_t mark_number(const char *at, const char *end, unsigned *out)
{
    size_t digits = 0;
    *out = 0;
    while (digits < 5 && at + digits < end && is_digit(at[digits]))
        *out = *out * 10 + (unsigned)(at[digits++] - '0');
    return digits <= 4 ? digits : 0;
}

size_t mark_release(const char *at, const char *end, unsigned release[3])
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

int find_marks(int fd, uint64_t most, lib_marks *m)
{
    const size_t room = MARKS_BACK + MARKS_BLOCK + MARKS_AHEAD;
    OWNED char *block = cli_alloc(room, 1);
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
    return good;
}

char *release_text(const lib_marks *m)
{
    if (m->known == 0)
        return m->stamp_count > 0 ? cli_text("built %s", m->stamps[0]) : cli_text("%s", "");
    return cli_text("%u.%u.%u%s%s", m->release[0], m->release[1], m->release[2],
                    m->known == 4 ? "." : "", m->known == 4 ? m->stamp : "");
}

int compare_release(const unsigned a[3], const unsigned b[3])
{
    for (int i = 0; i < 3; ++i)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

int releases_differ(const lib_marks *a, const lib_marks *b)
{
    if (a->known > 0 && b->known > 0 && compare_release(a->release, b->release) != 0) return 1;
    if (a->known == 4 && b->known == 4) return strcmp(a->stamp, b->stamp) != 0;
    const lib_marks *whole = a->known == 4 ? a : b, *bare = a->known == 4 ? b : a;
    if (whole->known != 4 || bare->known != 0 || bare->stamp_count == 0) return 0;
    for (size_t i = 0; i < bare->stamp_count; ++i)
        if (strcmp(bare->stamps[i], whole->stamp) == 0) return 0;
    return 1;
}
