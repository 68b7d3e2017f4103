/* options.c - the options of doctor

   ROOM     >>doctor_options */
#include "run/check/check.h"

/* =====================================================================================
   DOCTOR OPTIONS                                                       >>doctor_options
   ===================================================================================== */

static const char *const platform_words[] = {"any", "android", "linux", "x86_64", NULL};

/* An option of this verb alone. */
#define DOCTOR(member) OWN(doctor_settings, member), .verbs = VERB_DOCTOR

static const cli_option doctor_options[] = {
    {.name = "backend_so", .alias = "backend", .value = "[ROLE=]FILE", .kind = CLI_OWN,
     .take = take_backend, .repeat = 1, .verbs = VERB_DOCTOR,
     .help = "backend library to load and look at, in a process of its own (default: "
             CLI_BACKEND_DEFAULT "; none if a folder of libraries is checked: they are only read, "
             "unless one of them is named here)"},
    {.name = "system_so", .alias = "system_library", .value = "FILE", .kind = CLI_TEXT,
     FIELD(system), .verbs = VERB_DOCTOR,
     .help = "libQnnSystem.so of this computer, which reads context binaries (default: the one "
             "beside the backend library, else by the system's search). Without it, their JSON is "
             "read, or else texts in them that the vendor does not document"},
    {.name = "no_load", .kind = CLI_FLAG, DOCTOR(no_load),
     .help = "load no library at all: files are only read"},
    {.name = "run", .kind = CLI_FLAG, DOCTOR(run),
     .help = "execute every pipeline of a model without faults once, with inputs of zeros"},
    {.name = "platform", .value = "any|android|linux|x86_64", .kind = CLI_WORD,
     .words = platform_words, DOCTOR(platform),
     .help = "what the libraries must be made for; linux is arm64 with glibc (default any: that of "
             "libQnnHtp.so)"},
    {.name = "dsp_arch", .value = "N", .kind = CLI_U32, .least = 10, .most = 99, DOCTOR(arch),
     .help = "NPU generation of the device, such as 75: its stub and skel must be there, and those "
             "of other generations are not checked (default: that of this device's chip, if it has "
             "one; else every stub needs its skel)"},
    {.name = "page_size", .value = "BYTES", .kind = CLI_U32, .least = 4096, .most = 65536,
     DOCTOR(page_size),
     .help = "page size of the device, such as 16384 (default: not known)"},
    {.name = "root", .value = "DIR", .kind = CLI_TEXT, DOCTOR(root),
     .help = "look at the device whose /sys, /dev and /vendor are copied below DIR (default: at "
             "this machine, if the program is for Arm)"},
    {.name = "timeout", .value = "SECONDS", .kind = CLI_U32, .least = 1, .most = 86400,
     DOCTOR(limit_s),
     .help = "how long a library may take before it counts as hanging (default 120, and 3600 for "
             "--run)"},
    {.name = "report", .value = "FILE", .kind = CLI_TEXT, DOCTOR(report),
     .help = "also write all of it to a text file for a bug report, without the home folder, names "
             "of users, and weights; names of files and tensors are in it"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_DOCTOR,
     .help = "print the findings as a JSON document instead of text"}
};

const cli_table doctor_table =
    CLI_TABLE_OF(doctor_options, doctor_settings, offsetof(settings, doctor), NULL);
