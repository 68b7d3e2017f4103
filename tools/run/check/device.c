/* device.c - whether this device has an NPU that a program can reach

   ROOM     >>device */
#include "run/check/check.h"

#include <dlfcn.h>

/* =====================================================================================
   DEVICE                                                                         >>device
   The chip, the DSP's nodes, its transport, and where it searches skels. Files are read below
   --root, which may be a copy of a device's files. A 64-bit Arm program is taken to run on a
   device; on x86-64 the vendor's library emulates the NPU, and nothing of this matters.
   ===================================================================================== */

#define DEVICE_HINT \
    "Run it on the device, or use the x86-64 library of the same release, which emulates the NPU."

void device_find(device *d, const char *root)
{
    memset(d, 0, sizeof(*d));
    d->root = root != NULL ? root : "";
#if defined(__aarch64__)
    d->present = 1;
#else
    d->present = root != NULL;
#endif
    if (d->present) qnnrt_device_look(d->root, &d->facts);
}

static void check_chip(const device *d, uint32_t arch, findings *f)
{
    const qnnrt_device_chip *chip = d->facts.chip;
    const unsigned id = d->facts.soc_id;
    if (id == 0 && chip == NULL)
        add_finding(f, AREA_DEVICE, FOUND_FAULT, "SoC", DEVICE_HINT,
                    "no number of a chip in /sys/devices/soc0 or /sys/devices/system/soc/soc0");
    else if (chip == NULL)
        add_finding(f, AREA_DEVICE, arch != 0 ? FOUND_NOTE : FOUND_WARNING, "SoC", arch != 0 ? NULL
                    : "Add --dsp_arch N with the generation of its NPU; a chip that is no"
                    " Snapdragon has none.", "chip number %u is not in the table of this program",
                    id);
    else if (arch != 0 && arch != chip->arch)
        add_finding(f, AREA_DEVICE, FOUND_WARNING, "SoC", "Leave out --dsp_arch.",
                    "%s (chip number %u) has NPU v%u, and --dsp_arch says v%lu", chip->name,
                    id, chip->arch, (unsigned long)arch);
    else {
        OWNED char *vtcm = chip->vtcm_mib != 0 ? cli_text("%u MiB", chip->vtcm_mib)
                                                  : cli_text("of unknown size");
        add_finding(f, AREA_DEVICE, FOUND_OK, "SoC", NULL, "%s (chip number %u), NPU v%u, VTCM %s",
                    chip->name, id, chip->arch, vtcm);
    }
}

/* Check the nodes, and which process domains they give. */
static void check_nodes(const device *d, findings *f)
{
    static const char group[] = "Run it as a user that may open the node: see ls -l /dev, and on"
                                " Android the app's SELinux domain.";
    const char *best = d->facts.node, *closed = d->facts.node_closed;
    if (best == NULL && closed != NULL) {
        add_finding(f, AREA_DEVICE, FOUND_FAULT, closed, group, "this user may not open it");
    } else if (best == NULL) {
        add_finding(f, AREA_DEVICE, FOUND_FAULT, "/dev", "Start the device with a kernel that has"
                    " FastRPC, and look for /dev/fastrpc-cdsp or /dev/adsprpc-smd.",
                    "it has no node of the DSP");
    } else {
        add_finding(f, AREA_DEVICE, FOUND_OK, best, NULL, "this user may open it");
        if (d->facts.node_unsigned)
            add_finding(f, AREA_DEVICE, FOUND_OK, "process domain", NULL,
                        "unsigned: skels need no signature");
        else
            add_finding(f, AREA_DEVICE, FOUND_WARNING, "process domain", group,
                        "only a node for signed ones may be opened: skels need a signature");
    }
}

static void check_transport(const device *d, findings *f)
{
    static const char hint[] = "Declare <uses-native-library android:name=\"libcdsprpc.so\"/> in an"
                               " app's manifest; elsewhere install the device's FastRPC package.";
    const char *place = d->facts.transport, *why = "no such file in the folders of libraries";
    int found = place != NULL;
    if (d->root[0] == '\0') {          /* what counts is what the system's loader can do */
        void *library = dlopen("libcdsprpc.so", RTLD_NOW | RTLD_LOCAL);
        found = library != NULL;
        if (!found) why = dlerror();
    }
    add_finding(f, AREA_DEVICE, found ? FOUND_OK : FOUND_FAULT, "libcdsprpc.so",
                found ? NULL : hint, "%s%s%s", found ? "the transport to the DSP is there" : why,
                found && place != NULL ? ", in " : "", found && place != NULL ? place : "");
}

/* Return 1 if a folder has a skel: of the generation, or of any for 0. */
static int has_skel(const char *folder, uint32_t arch)
{
    size_t count = 0, fit = 0;
    char **names = names_in(folder, is_library_name, &count);
    for (size_t i = 0; i < count; ++i) {
        lib_file f = {.name = names[i]};
        if (role_by_arch(&f) && f.role == LIB_SKEL && (arch == 0 || f.arch == arch)) ++fit;
    }
    if (names != NULL) free_names(names, count);
    return fit > 0;
}

/* Check ADSP_LIBRARY_PATH: folders that are separated by ';'. */
static void check_skel_path(uint32_t arch, findings *f)
{
    static const char name[] = "ADSP_LIBRARY_PATH";
    const char *value = getenv(name);
    OWNED char *skel = arch != 0 ? cli_text("libQnnHtpV%luSkel.so", (unsigned long)arch)
                                 : cli_text("libQnnHtpVXXSkel.so");
    OWNED char *hint = cli_text("Set it to the folder of %s; separate several folders with ';'.",
                                skel);
    if (value == NULL || value[0] == '\0') {
        add_finding(f, AREA_DEVICE, FOUND_WARNING, name, hint,
                    "not set: the DSP finds only skels in the system's own folders");
    } else if (strchr(value, ':') != NULL && strchr(value, ';') == NULL &&
               !cli_is_folder(value)) {
        add_finding(f, AREA_DEVICE, FOUND_FAULT, name, "Separate its folders with ';'.",
                    "its folders are separated by ':', which the DSP takes as part of a name: %s",
                    value);
    } else {
        int found = 0, missing = 0;
        char *rest = cli_text("%s", value), *at = rest;
        while (at != NULL) {
            char *end = strchr(at, ';');
            if (end != NULL) *end = '\0';
            if (at[0] != '\0' && !cli_is_folder(at)) {
                ++missing;
                add_finding(f, AREA_DEVICE, FOUND_WARNING, name, "Correct the name.",
                            "no folder %s", at);
            } else if (!found && at[0] != '\0' && has_skel(at, arch)) {
                found = 1;
                add_finding(f, AREA_DEVICE, FOUND_OK, name, NULL, "%s is in %s", skel, at);
            }
            at = end != NULL ? end + 1 : NULL;
        }
        if (!found)
            add_finding(f, AREA_DEVICE, FOUND_FAULT, name, hint, "%s is in none of its folders%s",
                        skel, missing > 0 ? " that exist" : "");
        free(rest);
    }
}

void check_device(const device *d, uint32_t arch, findings *f)
{
    const qnnrt_device_chip *chip = d->facts.chip;
    if (!d->present) {
        add_finding(f, AREA_DEVICE, FOUND_NOTE, "NPU", NULL,
                    "not looked for: on this computer, Qualcomm's libraries emulate it");
        return;
    }
    if (d->facts.soc_id == 0 && chip == NULL && d->facts.node == NULL &&
        d->facts.node_closed == NULL && d->facts.transport == NULL) {
        add_finding(f, AREA_DEVICE, FOUND_FAULT, "DSP", DEVICE_HINT,
                    "no DSP: this machine has no chip of Qualcomm in /sys/devices, no node of the"
                    " DSP in /dev, and no libcdsprpc.so");
        return;
    }
    check_chip(d, arch, f);
    check_nodes(d, f);
    check_transport(d, f);
    check_skel_path(arch != 0 ? arch : chip != NULL ? chip->arch : 0, f);
}
