/* check.h - qnnrt-run: what keeps a model from running, for the verb doctor

   Needs:   base cli model show

   UNITS    findings.c: >>findings >>child          elf.c: >>elf >>marks
            libs.c: >>libs >>pairs                  device.c: >>device
            health.c: >>origin >>health             loaded.c: >>loaded
            execute.c: >>execute                    doctor.c: >>report_file >>doctor
            options.c: >>doctor_options */
#ifndef RUN_CHECK_CHECK_H
#define RUN_CHECK_CHECK_H

#include "run/base/base.h"
#include "qnnrt_device.h"

/* ---- settings of verbs ---- */

typedef struct doctor_settings {
    uint32_t    arch, page_size;       /* 0: not given                                     */
    uint32_t    limit_s;               /* of a child; 0: not given                         */
    int         platform;              /* index in platform_words                          */
    int         no_load, run;
    const char *root, *report;
} doctor_settings;

/* ---- findings.c: what was looked at, what was found, and what to do ---- */

typedef enum finding_area {
    AREA_FOLDERS = 0, AREA_LIBRARIES, AREA_DEVICE, AREA_BACKEND, AREA_MODEL, AREA_RUN, AREA_COUNT
} finding_area;

typedef enum finding_level {
    FOUND_OK = 0,
    FOUND_NOTE,                        /* a fact, or a check that could not be made            */
    FOUND_WARNING,                     /* it may be intended, or works elsewhere               */
    FOUND_FAULT,                       /* it keeps the model from running                      */
    FOUND_LEVELS
} finding_level;

extern const char *const finding_areas[];
extern const char *const finding_levels[];

typedef struct finding {
    finding_area  area;
    finding_level level;
    char         *what;                /* that was looked at                                   */
    char         *found;
    char         *fix;                 /* what to do, in one sentence, or ""                   */
} finding;

typedef struct findings {
    finding    *items;                 /* [count]                                              */
    size_t      count, room;
    size_t      levels[FOUND_LEVELS];  /* how many there are of each                           */
    const tool *shown;                 /* prints them; NULL: nobody                            */
    FILE       *pipe;                  /* in a child: where they go instead                    */
    char       *told[3];               /* what a child said besides: see child_tell()          */
} findings;

/* Return a finding as lines. brief: for a screen, with short numbers unless something is wrong. The
   caller frees it. */
char *finding_text(const finding *one, int heading, int brief);

/* Add a finding, and take its texts, which must come from cli_text(). */
void take_finding(findings *f, finding_area area, finding_level level, char *what,
                  char *found, char *fix);

/* Add a finding: what was looked at, what to do (NULL: nothing), and what was found. Names in them
   may be hostile. */
CLI_FORMAT(6, 7)
void add_finding(findings *f, finding_area area, finding_level level, const char *what,
                                  const char *fix, const char *format, ...);

void free_findings(findings *f);

/* Say in a child what it does next: "loading the library". In a parent, do nothing. */
void child_stage(findings *f, const char *doing);

/* Tell three texts to the parent, where findings.told gets them. */
void child_tell(findings *f, const char *first, const char *second, const char *third);

/* Do work in a child, and add its findings. what: the library that it loads. */
void in_child(findings *f, finding_area area, const char *what, uint32_t limit_s,
              void (*work)(void *user, findings *f), void *user);

/* ---- elf.c: what the bytes of a library or of a context binary tell ---- */

typedef enum lib_platform {
    LIB_UNKNOWN = 0, LIB_ANDROID, LIB_LINUX, LIB_X86_64, LIB_HEXAGON, LIB_FOREIGN
} lib_platform;

extern const char *const lib_platforms[];

typedef enum lib_role {
    LIB_OTHER = 0,                     /* of Qualcomm or not                                   */
    LIB_BACKEND, LIB_SYSTEM, LIB_PREPARE, LIB_VENDOR,
    LIB_STUB, LIB_SKEL, LIB_NATIVE,    /* of one NPU generation, .arch                         */
    LIB_RPC,                           /* libcdsprpc.so, which belongs to the device           */
    LIB_CXX                            /* a C++ runtime                                        */
} lib_role;

enum { LIB_STAMP = 12, LIB_STAMPS = 4, LIB_SYMBOL = 64, LIB_BUILD = 32 };

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
    char         build[2 * LIB_BUILD + 1];           /* GNU build id, in hexadecimal, or ""     */
    lib_marks    marks;
} lib_file;

#define LIB_COPY_HINT "Copy the file again, and compare its size with the original."
enum { ELF_AARCH64 = 183, ELF_X86_64 = 62, ELF_HEXAGON = 164 };

#if defined(__aarch64__)
enum { ELF_OURS = ELF_AARCH64 };       /* the machine of this program */
#else
enum { ELF_OURS = ELF_X86_64 };
#endif

/* Return a number of 2, 4 or 8 bytes. */
uint64_t elf_number(const unsigned char *at, unsigned bytes);

/* Read bytes at an offset. Return 0 if the file does not have them. */
int elf_read(int fd, uint64_t file_bytes, uint64_t offset, void *to, size_t bytes);

void lib_fail(lib_file *f, const char *cure, char *failure);

/* Read the header and the segments of an ELF file. f->failure says why that failed. */
void elf_look(lib_file *f, int fd);

/* A file may have more bytes than a disk, because most of them are a hole. A context binary has its
   marks before the weights. */
#define LIB_MOST      ((uint64_t)1 << 30)
#define CONTEXT_MARKS ((uint64_t)64 << 20)

int is_digit(char c);

/* Read a number of at most 4 digits. Return how many there are. */
size_t mark_number(const char *at, const char *end, unsigned *out);

/* Read "2.51.0". Return its length, or 0. */
size_t mark_release(const char *at, const char *end, unsigned release[3]);

/* Read the first `most` bytes of a file, and find their marks. Return 0 on failure, with errno
   set. */
int find_marks(int fd, uint64_t most, lib_marks *m);

/* Return "2.51.0.260929181845", "2.51.0", "built 260929181845" or "". The caller frees it. */
char *release_text(const lib_marks *m);

/* Return -1, 0 or 1 as release a is older than, equal to or newer than b; stamps do not count. */
int compare_release(const unsigned a[3], const unsigned b[3]);

/* True if two files are known to be of different releases. */
int releases_differ(const lib_marks *a, const lib_marks *b);

/* ---- libs.c: whether folders hold the libraries that a device needs ---- */

typedef struct libs {
    findings      *f;
    lib_file      *files;              /* [count] of all folders, by name within each          */
    size_t         count, room;
    lib_platform   asked, platform;    /* that the files are for; asked: LIB_UNKNOWN: not given */
    uint32_t       arch, page_size;    /* of the device; 0: not known                          */
    const lib_file *backend;           /* libQnnHtp.so, or NULL                                */
    unsigned char  missing[2][100];    /* [stub or skel][arch]: 1: reported                    */
} libs;

/* Find the role of "libQnnHtpV75Stub.so" and its like. Return 0 for another name. */
int role_by_arch(lib_file *f);

void find_role(lib_file *f);

/* True for "libx.so" and "libx.so.6". */
int is_library_name(const char *name);

void look_at_file(lib_file *f);

void free_lib(lib_file *f);

void free_names(char **names, size_t count);

/* Return the names in a folder that fit, sorted. NULL: errno says why. */
char **names_in(const char *folder, int (*fits)(const char *name), size_t *count);

/* Return "Android arm64, 16 KB pages, release 2.46.0.260424121129, build id 194f52b7, 3,495,096
   bytes". The caller frees it. */
char *lib_facts(const lib_file *f);

/* Read all libraries of a folder. Return 0 after adding a fault. */
int read_libs(libs *l, const char *folder);

void free_libs(libs *l);

/* Check that the stub and the skel of a generation are there. */
void need_both(libs *l, unsigned arch, const char *why);

/* Check all files that were read. */
void check_libs(libs *l);

/* ---- device.c: whether this device has an NPU that a program can reach ---- */

typedef struct device {
    const char        *root;           /* "" for this machine                                  */
    int                present;        /* 0: there is nothing to check                         */
    qnnrt_device_facts facts;          /* all 0 if it is not present                           */
} device;

void device_find(device *d, const char *root);

/* Check the device. arch: the NPU generation that is asked for, or 0. */
void check_device(const device *d, uint32_t arch, findings *f);

/* ---- health.c: whether a model is whole, and fits what it is to run on ---- */

/* What a model is to run on. What is not known is 0 or NULL. */
typedef struct target {
    libs              *libs;           /* of the folders that are checked                      */
    const char        *library;        /* its name: "libQnnHtp.so"                             */
    lib_marks          marks;          /* its release                                          */
    uint32_t           backend_id;
    int                emulator;       /* 1: the library emulates the NPU                      */
    uint32_t           arch;           /* of the device                                        */
    const qnnrt_device_chip *chip;
    const char        *folder;         /* of a model that no libQnnSystem.so reads: what has no
                                          JSON is checked by its marks                         */
    int                whole;          /* 1: of a folder, where each JSON has its binary       */
} target;

int is_binary_name(const char *name);

/* Look at the first bytes of a context binary. Return 0 after adding a fault. */
int check_binary(findings *f, const char *path, const char *name);

/* Compare all bytes of a context binary with the SHA-256 in qnnrt.json, the text of which may be
   NULL. Return 0 after adding a fault; *without counts files that have none. */
int check_hash(findings *f, const char *path, const char *name, const char *program,
               size_t program_bytes, size_t *without);

/* Say which files of a folder had no SHA-256. */
void note_without_hash(findings *f, size_t without, size_t count);

/* Check a context binary by the marks in its bytes, as far as they go. */
void check_marked(const target *g, findings *f, const char *path, const char *name);

/* Return the backend's release, as its own text has it, as marks. */
void marks_of_build(const char *build, lib_marks *m);

/* Return a text without the name at its beginning, which the finding has already. */
const char *text_after(const char *text, const char *name);

/* Check the model of a tool. reported[count]: names of files whose faults were added before. */
void check_health(const tool *t, const target *g, char *const *reported, size_t count, findings *f);

/* Check the model that the tool has opened, against the backend that it runs on, if it has one. */
void doctor_model(const tool *t, findings *f);

/* ---- loaded.c: what a backend library says when it is loaded ---- */

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

/* Return the path of the libQnnSystem.so beside a library, NULL: there is none. The caller frees
   it. */
char *system_beside(const char *library);

/* Check the backend library `path`, NULL: the one that is found. */
void check_backend(doctor *d, const char *path, uint32_t limit_s);

/* ---- execute.c: whether a model opens and executes, in a process of its own ---- */

/* Return 1 if a folder has a file whose name fits; -1: it cannot be read. */
int has_name(const char *folder, int (*fits)(const char *name));

int is_metadata_name(const char *name);

/* Check the folder d->at. */
void work_model(void *user, findings *f);

/* Load the folder d->at, and execute each of its pipelines that is not a part of another one. */
void work_run(void *user, findings *f);

/* ---- doctor.c: the verb doctor, and the file of its findings ---- */

int verb_doctor(void *user);

/* ---- options.c: the options of doctor ---- */

extern const cli_table doctor_table;

#endif /* RUN_CHECK_CHECK_H */
