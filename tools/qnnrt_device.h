/* qnnrt_device.h - v0.5.0 - what an app on a device may want beyond qnnrt.h

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt.h"
       #define QNNRT_DEVICE_IMPLEMENTATION          #include "qnnrt_device.h"
       #include "qnnrt.h"
       #include "qnnrt_device.h"
   It is a friend of qnnrt.h: both implementations stand in one file, this one after that of
   qnnrt.h, and build options of qnnrt.h, such as QNNRT_STATIC, hold for both.

       qnnrt_device_memory("dmabuf", &prepare.mem);     // for qnnrt_prepare_with()

       power.preset = QNNRT_POWER_BURST;                // the NPU's clocks, for a burst of work
       qnnrt_power_set(qnnrt_get_info(model)->backend, &power, &report, &err);

       desc.residency = QNNRT_RESIDENT_CALLER;          // for a model larger than the memory
       if (qnnrt_open("model_dir", &desc, &model, &err) == QNNRT_OK)
           qnnrt_model_swap(model, budget, &err);

       result = qnnrt_exec(run);                        // the DSP may restart
       code = qnnrt_run_error(run)->vendor_code & 0xFFFF;
       if (result == QNNRT_E_BACKEND && (code == 1007 || code == 1011) &&
           qnnrt_model_recover(model, &err) == QNNRT_OK)
           result = qnnrt_exec(run);                    // inputs and caches are still there

   Graphs can be compiled with dims that change up to a bound, inputs that may be left out, and
   weights that may be replaced. libQnnRef.so has all three, the CPU library (2.47) dims, HTP none:

       qnnrt_set_dims(run, x, dims, 2);                 // at most x->tensor->dims
       qnnrt_omit(run, bias);                           // until it is bound again
       qnnrt_update(model, 0, "decode", "lora_a", data, bytes, &err);
       qnnrt_exec(run);
       now = qnnrt_get_dims(run, y, &rank);             // what the exec wrote

   What this machine is, without a model and without loading a library:

       qnnrt_device_look(NULL, &facts);
       if (facts.chip != NULL) printf("%s, NPU v%u\n", facts.chip->name, facts.chip->arch);

   ROOMS (search for the tag)
       >>look >>memory >>package >>vote >>weight >>group >>swap >>recover >>dynamic
*/
#ifndef QNNRT_DEVICE_H
#define QNNRT_DEVICE_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_device.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------- the machine -- */

/* A chip with an NPU. A number that is not known is 0. */
typedef struct qnnrt_device_chip {
    uint32_t    model;           /* the vendor's, as qnnrt_backend_desc.soc_model */
    const char *name, *sold;     /* "SM8650", "8 Gen 3"; sold may be "" */
    uint32_t    arch;            /* generation of the NPU, such as 75 */
    uint32_t    vtcm_mib;
    uint32_t    ids[4];          /* in /sys/devices/soc0/soc_id, then 0 */
} qnnrt_device_chip;

typedef struct qnnrt_device_facts {
    uint32_t    soc_id;          /* the chip's number in sysfs, 0: none can be read */
    const qnnrt_device_chip *chip;   /* NULL: no chip of the list */
    const char *node;            /* the driver's file in /dev that this process may open, or NULL */
    int         node_unsigned;   /* 1: the DSP takes skels without a signature through it */
    const char *node_closed;     /* the driver's file that it may not open, or NULL */
    const char *transport;       /* folder of libcdsprpc.so, or NULL */
    uint64_t    memory, memory_free;   /* in bytes: of the machine, and that programs can have
                                          now; 0: not known */
    uint32_t    page_bytes;
} qnnrt_device_facts;

/* Return the chips with an NPU, as public projects list them; count receives their number. The
   first of several with one .model is the usual one. */
QNNRT_API const qnnrt_device_chip *qnnrt_device_chips(size_t *count);

/* Tell what this machine is, by its files; nothing is loaded. Android does not show every file to
   apps: an app without .node may reach the NPU all the same. What opens a backend knows.

   root     folder of a copy of a device's files (default NULL: this machine's)
   facts    receives what was found, constant texts
   Threads  any */
QNNRT_API void qnnrt_device_look(const char *root, qnnrt_device_facts *facts);

/* ------------------------------------------------------------------------------------ memory -- */

/* Choose memory by a word: "heap" (plain memory), "rpcmem" (FastRPC's allocator), "dmabuf" (the
   kernel's heap "system"), "memfd" (anonymous files, which libQnnRef.so takes and NPUs do not) or
   "shared" (rpcmem, else dmabuf, else memfd on libQnnRef.so, else plain memory).
   desc     its kind and provider are set, and the result is 1; for another word nothing, and 0 */
QNNRT_API int qnnrt_device_memory(const char *word, qnnrt_mem_desc *desc);

/* A descriptor of the caller, such as a camera's buffer. */
typedef struct qnnrt_device_source {
    int      fd;             /* open until the memory is freed */
    uint64_t offset;         /* where the memory begins, aligned as the plan */
    void    *data;           /* where the caller mapped it (default NULL: it is mapped) */
} qnnrt_device_source;

/* Return a provider, for qnnrt_mem_create() and all that calls it, on any thread: for FastRPC's
   allocator, as QNNRT_MEM_RPCMEM has it; for a heap of the kernel; for one block of a descriptor of
   the caller.

   path     of libcdsprpc.so (default NULL: searched)
   heap     plain name of a file in /dev/dma_heap (default NULL: "system")
   source   as path and heap valid as long as the memory

   Results  of qnnrt_mem_create(): QNNRT_E_ARG (not a plain name; not an open descriptor, fewer
            bytes than the plan needs, or not aligned), QNNRT_E_UNSUPPORTED (no such heap, no
            permission, no memory in it), QNNRT_E_MEMORY (it cannot be mapped) */
QNNRT_API qnnrt_mem_provider qnnrt_device_rpcmem(const char *path);
QNNRT_API qnnrt_mem_provider qnnrt_device_heap(const char *heap);
QNNRT_API qnnrt_mem_provider qnnrt_device_fd(const qnnrt_device_source *source);

/* ------------------------------------------------------------------------------- op packages -- */

/* Register the operators of an op package, before opening a binary or building a graph that uses
   them. They stay until the backend is closed; qnnrt_model_recover() registers them again.

   path      the package's library for this backend
   provider  the function that the package exports as its entry, "MyPackageInterfaceProvider"
   target    HTP: "CPU" for x86-64, "HTP" for a device (default NULL: the library chooses)

   Returns   QNNRT_OK; QNNRT_E_ARG; QNNRT_E_UNSUPPORTED (a backend without op packages);
             QNNRT_E_BACKEND (the text says: no such library, no such function, or registered
             already); QNNRT_E_STATE (a qnnrt_model_recover() failed); QNNRT_E_MEMORY */
QNNRT_API qnnrt_result qnnrt_backend_register_ops(qnnrt_backend *backend, const char *path,
                                                  const char *provider, const char *target,
                                                  qnnrt_error *err);

/* ------------------------------------------------------------------------------------- power -- */

/* Voltage corners by the vendor's numbers: 0x20 lowest, 0x30 SVS2, 0x40 SVS, 0x50 SVS+, 0x60 NOM,
   0x70 NOM+, 0x80 TURBO, 0x90 TURBO+, 0x92 to 0x95 TURBO L2 to L5, 0xA0 highest. */
typedef struct qnnrt_power_corners { uint32_t min, target, max; } qnnrt_power_corners;

#define QNNRT_POWER_ZERO 0xFFFFFFFFu            /* stands for 0 where 0 is the default */

typedef struct qnnrt_power_desc {           /* what is 0 is as the preset has it */
    qnnrt_power_preset  preset;
    int                 dcvs;               /* clocks follow the load: 1 yes, -1 no */
    uint32_t            sleep_latency_us;   /* longest time to wake up */
    qnnrt_power_corners bus, core;
    uint32_t            rpc_latency_us;     /* latency of a call to the DSP */
    uint32_t            rpc_polling_us;     /* time to poll for an answer before sleeping, at most
                                               9999. For the whole process */
} qnnrt_power_desc;

typedef enum qnnrt_power_answer {
    QNNRT_POWER_NOT_ASKED = 0,
    QNNRT_POWER_APPLIED,
    QNNRT_POWER_REFUSED,                    /* vendor_code says why */
    QNNRT_POWER_NOT_AVAILABLE               /* the backend has no such setting, such as CPU */
} qnnrt_power_answer;

typedef struct qnnrt_power_setting {
    const char        *name;                /* "dcvs": clocks, corners and sleep, one vendor call;
                                               "rpc_control_latency"; "rpc_polling_time" */
    qnnrt_power_answer answer;
    uint64_t           vendor_code;
} qnnrt_power_setting;

enum { QNNRT_POWER_SETTINGS = 3 };
typedef struct qnnrt_power_report {
    qnnrt_power_setting settings[QNNRT_POWER_SETTINGS];
} qnnrt_power_report;

/* Vote for a power state: what this process asks for; the system hears other votes, too. Another
   call changes the vote, and the first one that of qnnrt_backend_desc.power; NULL for desc takes it
   back, and so does closing the backend.

   report   receives the answer to each setting; refused and unavailable settings are then not a
            failure of the call. May be NULL; then they are

   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (not available, and report is NULL); QNNRT_E_BACKEND
            (refused, and report is NULL; or the vote could not be taken back); QNNRT_E_STATE (a
            qnnrt_model_recover() failed); QNNRT_E_ARG
   Threads  one call per backend at a time */
QNNRT_API qnnrt_result qnnrt_power_set(qnnrt_backend *backend, const qnnrt_power_desc *desc,
                                       qnnrt_power_report *report, qnnrt_error *err);

/* Return "burst", "sustained_high_performance", ...; NULL for QNNRT_POWER_CUSTOM and for other
   numbers. */
QNNRT_API const char *qnnrt_power_preset_name(qnnrt_power_preset preset);

/* ----------------------------------------------------------------------------------- updates -- */

/* Give a tensor that was compiled as updateable new data, such as the weights of a LoRA adapter. It
   holds from the next exec on, for all runs, as long as the context exists: update again after
   qnnrt_context_load() and qnnrt_model_recover(). qnnrt_save() writes the data of the build.

   context  index into qnnrt_info.contexts
   tensor   one of qnnrt_graph_info.updateables, of vendor_type 6 (UPDATEABLE_STATIC)
   data     its elements in the stored form, row-major; copied
   bytes    of data, exactly qnnrt_tensor_info.bytes

   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND (no such graph, or updateable tensor of it); QNNRT_E_ARG
            (an input or output, or no such context); QNNRT_E_MISMATCH (bytes);
            QNNRT_E_UNSUPPORTED (HTP, which accepts it without effect; an update of an encoding; a
            model of qnnrt_model_swap(), which would lose it); QNNRT_E_STATE (opened with
            desc.inspect; the context could not be opened or is not loaded); QNNRT_E_BACKEND. After
            a failure the old data holds
   Threads  no run of the graph executes meanwhile */
QNNRT_API qnnrt_result qnnrt_update(qnnrt *model, size_t context, const char *graph,
                                    const char *tensor, const void *data, size_t bytes,
                                    qnnrt_error *err);

/* --------------------------------------------------------------------------------- residency -- */

/* Let contexts of a model that was opened with QNNRT_RESIDENT_CALLER come and go: qnnrt_exec()
   creates them when a step needs them, and frees others to make room. With a budget of all shards
   but one, each exec loads one or two of them.

   bytes    most qnnrt_context_info.device_bytes of the contexts that exist at a time; 0: one
            context at a time. Another call changes it, and frees what is beyond it at once; with 0
            it frees all

   Returns  QNNRT_OK; QNNRT_E_LIMIT (a context alone needs more); QNNRT_E_ARG; QNNRT_E_MEMORY
   Threads  nothing may use the model during this call. Runs of several threads need hooks.lock */
QNNRT_API qnnrt_result qnnrt_model_swap(qnnrt *model, uint64_t bytes, qnnrt_error *err);

/* Create all contexts of a model that was opened with QNNRT_RESIDENT_CALLER, so that those of HTP
   share the spill-fill memory that graphs use when the NPU's fast memory is full, if the library
   can: the vendor's REGISTER_MULTI_CONTEXTS. Contexts of a model execute one after the other;
   several threads need hooks.lock for that. From then on the model is as one with
   QNNRT_RESIDENT_ALL. The x86-64 libraries refuse to share, which the log says and which is no
   failure; a device has not proven it.

   Returns  as qnnrt_context_load(). After a failure the contexts that were created stay: call
            again, or close the model
   Threads  nothing may use the model during this call */
QNNRT_API qnnrt_result qnnrt_model_load_shared(qnnrt *model, qnnrt_error *err);

/* ---------------------------------------------------------------------------------- recovery -- */

/* Recover from a restart of the DSP (vendor codes 1007 and 1011; any call can return them). Device,
   backend and all contexts that existed are freed and created again, and op packages registered
   again, for every model that shares this model's backend; errors of freeing are logged. Runs, what
   is bound to them, buffers and KV caches stay as they are: execute again what failed. Profiling is
   off and votes of qnnrt_power_set() are gone: set them again.

   Returns  QNNRT_OK; QNNRT_E_MEMORY; QNNRT_E_BACKEND (the vendor failed again, or refused an op
            package. Until another qnnrt_model_recover() succeeds, what needs the backend returns
            QNNRT_E_STATE; closing works). And, after which nothing was freed: QNNRT_E_UNSUPPORTED
            (a model on the backend was built here); QNNRT_E_STATE (the model was opened with
            desc.inspect, or one on the backend from memory that it had during qnnrt_open() only);
            QNNRT_E_IO (a file was replaced, its fingerprint differs, or cannot be read);
            QNNRT_E_NOT_FOUND (a file is missing); QNNRT_E_BUSY (a builder uses the backend)
   Threads  nothing may use the backend during this call */
QNNRT_API qnnrt_result qnnrt_model_recover(qnnrt *model, qnnrt_error *err);

/* ----------------------------------------------------------------- dims and optional tensors -- */

/* Let dynamic dims and optional tensors of a run change. qnnrt_set_dims() and qnnrt_omit() do it,
   too; qnnrt_exec() of a run with dynamic dims needs one of them.
   Returns  QNNRT_OK, QNNRT_E_MEMORY, QNNRT_E_ARG
   Cost     exec then takes its slower path, some 100 ns per step */
QNNRT_API qnnrt_result qnnrt_run_dynamic(qnnrt_run *run);

/* Leave an optional input or output out of every exec from now on. Binding it takes it in again;
   with NULL, in the run's own memory.
   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND (no such slot); QNNRT_E_ARG (a required tensor)
   Cost     as qnnrt_run_dynamic() */
QNNRT_API qnnrt_result qnnrt_omit(qnnrt_run *run, const qnnrt_slot *slot);

/* Set the dims of a dynamic tensor for every exec from now on. Its elements are packed by these
   dims, at the beginning of its memory; qnnrt_data() returns their bytes.

   dims     [rank]; 1 or more, at most qnnrt_tensor_info.dims, equal to them where they are not
            dynamic. NULL: those of the info again

   Set the inputs. Outputs and edges get theirs from the library, and what is set there is the most
   that an exec may write. The CPU library finds none: it needs exactly the dims that an exec will
   give, as soon as an input is smaller than its bound.
   Returns  QNNRT_OK; QNNRT_E_MISMATCH (the text has both); QNNRT_E_NOT_FOUND (no such slot)
   Cost     on the CPU library a run whose first exec has smaller dims executes each graph twice */
QNNRT_API qnnrt_result qnnrt_set_dims(qnnrt_run *run, const qnnrt_slot *slot, const uint32_t *dims,
                                      uint32_t rank);

/* Return the dims of a tensor now: of an input those that were set; of an output or edge those that
   the last exec wrote. rank (may be NULL) receives their number. Valid until the run is destroyed;
   the values change with qnnrt_set_dims() and qnnrt_exec(). NULL: no such slot. */
QNNRT_API const uint32_t *qnnrt_get_dims(qnnrt_run *run, const qnnrt_slot *slot, uint32_t *rank);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_DEVICE_H, end of the declarations */

#ifdef QNNRT_DEVICE_IMPLEMENTATION
#ifndef QNNRT_DEVICE__IMPL_ONCE
#define QNNRT_DEVICE__IMPL_ONCE

#ifndef QNNRT__IMPL_ONCE
#error "qnnrt_device.h is implemented where qnnrt.h is: define QNNRT_IMPLEMENTATION, too"
#endif

#include <sys/ioctl.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

/* =====================================================================================
   LOOK                                                                            >>look
   The chip, the driver's files and the memory of a machine, by files.
   Sources: numbers of sysfs and names from include/dt-bindings/arm/qcom,ids.h of the Linux kernel
   and from devices; the vendor's numbers, generations and VTCM from the chip tables of ExecuTorch
   (backends/qualcomm/serialization/qc_schema.py) and of LiteRT (soc_table.cc), both by Qualcomm.
   475, 557, 577, 618, 639 and 660 agree with the skel that libQnnHtp.so 2.51 asks for under an
   emulator.
   Needs: >>os     Knows nothing of: backends, models
   ===================================================================================== */

static const qnnrt_device_chip qnnrt__look_chips[] = {
    {30, "SM8350", "888", 68, 4, {439}}, {36, "SM8450", "8 Gen 1", 69, 8, {457, 480, 482}},
    {42, "SM8475", "8+ Gen 1", 69, 8, {530, 531, 540}}, {43, "SM8550", "8 Gen 2", 73, 8, {519}},
    {57, "SM8650", "8 Gen 3", 75, 8, {557, 577}}, {69, "SM8750", "8 Elite", 79, 8, {618, 639}},
    {87, "SM8850", "8 Elite Gen 5", 81, 8, {660}}, {97, "SM8845", "8 Gen 5", 81, 0, {685}},
    {68, "SM8635", "8s Gen 3", 73, 0, {614, 642}}, {85, "SM8735", "8s Gen 4", 0, 0, {0}},
    {35, "SM7325", "778G", 68, 0, {475, 499}}, {41, "SM7450", "7 Gen 1", 0, 0, {0}},
    {54, "SM7475", "7+ Gen 2", 69, 0, {0}}, {64, "SM7550", "7 Gen 3", 0, 0, {0}},
    {70, "SM7675", "7+ Gen 3", 73, 0, {632, 643}}, {60, "SC8380XP", "X Elite", 73, 0, {0}},
    {37, "SC8280X", "8cx Gen 3", 68, 0, {0}}, {39, "SA8295", "", 68, 0, {0}},
    {52, "SA8255", "", 73, 0, {0}}, {72, "SA8797", "", 0, 0, {0}},
    {93, "QCM6490", "", 68, 2, {497}}, {93, "QCS6490", "", 68, 2, {498}},
    {66, "QCS8550", "", 73, 0, {603}}, {0, "QCM8550", "", 73, 0, {604}},
    {77, "QCS9100", "", 73, 8, {667}}, {0, "QCS9075", "", 73, 0, {676}},
    {82, "QCS8300", "", 75, 0, {674}}, {0, "QCS8275", "", 75, 0, {675}},
    {45, "SXR1230P", "", 73, 0, {0}}, {46, "SSG2115P", "", 73, 0, {0}},
    {53, "SXR2230P", "", 69, 0, {0}}, {58, "SSG2125P", "", 73, 0, {0}},
    {75, "SXR2330P", "", 79, 0, {0}}, {95, "SAR2230P", "", 81, 0, {0}},
    {96, "SW6100", "", 81, 0, {0}}
};

QNNRT_API const qnnrt_device_chip *qnnrt_device_chips(size_t *count)
{
    *count = sizeof(qnnrt__look_chips) / sizeof(qnnrt__look_chips[0]);
    return qnnrt__look_chips;
}

/* Read the begin of a file below a root. text is empty if there is none. */
static void qnnrt__look_read(const char *root, const char *name, char *text, size_t room)
{
    char path[4096];
    ssize_t bytes = -1;
    int fd = -1;
    if ((size_t)snprintf(path, sizeof(path), "%s%s", root, name) < sizeof(path))
        do fd = open(path, O_RDONLY | QNNRT__O_CLOEXEC);
        while (fd < 0 && errno == EINTR);
    if (fd >= 0)
        do bytes = read(fd, text, room - 1);
        while (bytes < 0 && errno == EINTR);
    if (fd >= 0) close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
}

/* Return what access() allows of a file: 0 nothing, 1 it exists, 2 it can be read. */
static int qnnrt__look_at(const char *root, const char *name)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof(path), "%s%s", root, name) >= sizeof(path) ||
        access(path, F_OK) != 0) return 0;
    return access(path, R_OK) == 0 ? 2 : 1;
}

/* Read a property of Android, at most 92 bytes. text stays as it is elsewhere. */
static void qnnrt__look_property(const char *name, char *text)
{
    int (*get)(const char *, char *);
    void *self = dlopen(NULL, RTLD_LAZY);
    void *symbol = self != NULL ? dlsym(self, "__system_property_get") : NULL;
    memcpy(&get, &symbol, sizeof(get));
    if (get != NULL) get(name, text);
    if (self != NULL) dlclose(self);
}

/* Find the chip: libQnnHtp.so reads both files, and the first one decides. Apps that may read none
   have the name of the chip. */
static void qnnrt__look_chip(const char *root, qnnrt_device_facts *facts)
{
    static const char *const files[] = { "/sys/devices/system/soc/soc0/id",
                                         "/sys/devices/soc0/soc_id" };
    char name[128] = "", text[32], *end;
    unsigned long number = 0;
    size_t i, k, count;
    const qnnrt_device_chip *chips = qnnrt_device_chips(&count);
    for (i = 0; i < 2 && facts->soc_id == 0; ++i) {
        qnnrt__look_read(root, files[i], text, sizeof(text));
        number = strtoul(text, &end, 10);
        if (text[0] >= '0' && text[0] <= '9' && number <= UINT32_MAX &&
            (*end == '\0' || *end == '\n' || *end == '\r' || *end == ' '))
            facts->soc_id = (uint32_t)number;
    }
    if (root[0] == '\0') qnnrt__look_property("ro.soc.model", name);
    for (i = 0; i < count && facts->chip == NULL; ++i) {
        for (k = 0; facts->soc_id != 0 && chips[i].ids[k] != 0; ++k)
            if (chips[i].ids[k] == facts->soc_id) facts->chip = &chips[i];
        if (facts->soc_id == 0 && name[0] != '\0' &&
            strncmp(name, chips[i].name, strlen(chips[i].name)) == 0) facts->chip = &chips[i];
    }
}

/* Return the bytes of a line "MemTotal:  3884960 kB" of /proc/meminfo, or 0. */
static uint64_t qnnrt__look_memory(const char *text, const char *line)
{
    const char *at = strstr(text, line);
    return at != NULL ? (uint64_t)strtoull(at + strlen(line), NULL, 10) * 1024 : 0;
}

QNNRT_API void qnnrt_device_look(const char *root, qnnrt_device_facts *facts)
{
    /* Of Android's kernel and of the mainline one. An unsigned process domain needs no signature on
       the skel; the nodes for signed ones are for programs of the system. */
    static const struct { const char *path; int is_unsigned; } nodes[] = {
        { "/dev/fastrpc-cdsp", 1 }, { "/dev/adsprpc-smd", 1 }, { "/dev/cdsprpc-smd", 1 },
        { "/dev/fastrpc-cdsp-secure", 0 }, { "/dev/adsprpc-smd-secure", 0 }
    };
    static const char *const folders[] = {
        "/vendor/lib64", "/system/vendor/lib64", "/system/lib64", "/usr/lib",
        "/usr/lib/aarch64-linux-gnu", "/usr/lib64"
    };
    const long page = sysconf(_SC_PAGESIZE);
    char text[4096];
    size_t i;
    if (root == NULL) root = "";
    memset(facts, 0, sizeof(*facts));
    facts->page_bytes = page > 0 ? (uint32_t)page : 0;
    qnnrt__look_chip(root, facts);
    for (i = 0; i < sizeof(nodes) / sizeof(nodes[0]); ++i) {
        const int found = qnnrt__look_at(root, nodes[i].path);
        if (found == 1 && facts->node_closed == NULL) facts->node_closed = nodes[i].path;
        if (found != 2 || facts->node != NULL) continue;
        facts->node = nodes[i].path;
        facts->node_unsigned = nodes[i].is_unsigned;
    }
    for (i = 0; i < sizeof(folders) / sizeof(folders[0]) && facts->transport == NULL; ++i)
        if (snprintf(text, sizeof(text), "%s/libcdsprpc.so", folders[i]) > 0 &&
            qnnrt__look_at(root, text)) facts->transport = folders[i];
    qnnrt__look_read(root, "/proc/meminfo", text, sizeof(text));
    facts->memory = qnnrt__look_memory(text, "MemTotal:");
    facts->memory_free = qnnrt__look_memory(text, "MemAvailable:");
}

/* =====================================================================================
   MEMORY                                                                        >>memory
   Providers of memory with a file descriptor: heaps of the kernel, anonymous files, and
   descriptors of the caller.
   Source: the kernel's linux/dma-heap.h.
   Needs: >>os >>size >>err >>share >>abi >>backend (its struct)
   Knows nothing of: who uses the memory
   ===================================================================================== */

/* Map a block of its descriptor, or fail because it could not be made (why: the reason, else NULL).
   ours: the descriptor is closed after a failure. block->own: the begin of the map. */
static qnnrt_result qnnrt__memory_map(const char *from, const char *why, int ours,
                                      qnnrt_mem_block *block, qnnrt_error *err)
{
    const size_t lead = (size_t)(block->fd_offset & (qnnrt__os_page_bytes() - 1));
    void *at = MAP_FAILED;
    qnnrt_result result;
    if (why == NULL)
        at = mmap(NULL, block->bytes + lead, PROT_READ | PROT_WRITE, MAP_SHARED, block->fd,
                  (off_t)(block->fd_offset - lead));
    if (at != MAP_FAILED) {
        block->own = at;
        block->data = (unsigned char *)at + lead;
        return QNNRT_OK;
    }
    result = QNNRT__FAIL(err, why != NULL ? QNNRT_E_UNSUPPORTED : QNNRT_E_MEMORY,
                         "cannot %s %llu bytes from %s: %s", why != NULL ? "allocate" : "map",
                         (unsigned long long)block->bytes, from,
                         why != NULL ? why : strerror(errno));
    if (ours && block->fd >= 0) close(block->fd);
    return result;
}

static void qnnrt__memory_unmap(void *user, const qnnrt_mem_block *block)
{
    (void)user;
    if (block->own != NULL)
        munmap(block->own, block->bytes + (size_t)((unsigned char *)block->data -
                                                   (unsigned char *)block->own));
}

static void qnnrt__memory_free(void *user, const qnnrt_mem_block *block)
{
    qnnrt__memory_unmap(user, block);
    close(block->fd);
}

/* Allocate from a heap of the kernel. user: its name, or NULL. */
static qnnrt_result qnnrt__memory_heap(void *user, const qnnrt_backend *backend,
                                       qnnrt_mem_block *block, qnnrt_error *err)
{
    struct { uint64_t bytes; uint32_t fd, fd_flags; uint64_t heap_flags; } wanted;
    const char *name = user != NULL ? (const char *)user : "system", *why = NULL;
    char path[512];
    int heap;
    (void)backend;
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL ||
        (size_t)snprintf(path, sizeof(path), "/dev/dma_heap/%s", name) >= sizeof(path))
        return QNNRT__FAIL(err, QNNRT_E_ARG, "heap \"%.100s\" is not a name in /dev/dma_heap",
                           name);
    do heap = open(path, O_RDONLY | QNNRT__O_CLOEXEC);
    while (heap < 0 && errno == EINTR);
    memset(&wanted, 0, sizeof(wanted));
    wanted.bytes = block->bytes;
    wanted.fd_flags = (uint32_t)(O_RDWR | QNNRT__O_CLOEXEC);
    if (heap < 0 || ioctl(heap, 0xC0184800u /* DMA_HEAP_IOCTL_ALLOC */, (void *)&wanted) != 0)
        why = strerror(errno);
    else block->fd = (int)wanted.fd;
    if (heap >= 0) close(heap);
    return qnnrt__memory_map(path, why, 1, block, err);
}

/* Functions that -std=c99 hides. */
#ifdef __linux__
extern long qnnrt__syscall(long number, ...) QNNRT__OS("syscall");
#endif
extern int qnnrt__ftruncate(int fd, off_t bytes) QNNRT__OS("ftruncate");

/* Make an anonymous file. The kernel has the call since Linux 3.17, Android's libc the function
   since API 30 only.
   user     NULL: for libQnnRef.so only, because NPUs take no such file */
static qnnrt_result qnnrt__memory_memfd(void *user, const qnnrt_backend *backend,
                                        qnnrt_mem_block *block, qnnrt_error *err)
{
    enum { CLOSE_ON_EXEC = 1 };
    const char *why = NULL;
    if (user == NULL &&
        (backend == NULL || backend->info.id != (uint32_t)QNNRT__ABI_BACKEND_REF))
        return QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "anonymous files are for libQnnRef.so");
#ifdef __linux__
    block->fd = (int)qnnrt__syscall(SYS_memfd_create, "qnnrt", (unsigned)CLOSE_ON_EXEC);
#else
    block->fd = -1;
    errno = ENOSYS;
#endif
    if (block->fd < 0 || qnnrt__ftruncate(block->fd, (off_t)block->bytes) != 0)
        why = strerror(errno);
    return qnnrt__memory_map("an anonymous file", why, 1, block, err);
}

/* Take a block of the caller's descriptor. fstat() knows the size of files, and only lseek() that
   of buffers of a heap, which have no position. */
static qnnrt_result qnnrt__memory_source(void *user, const qnnrt_backend *backend,
                                         qnnrt_mem_block *block, qnnrt_error *err)
{
    const qnnrt_device_source *source = (const qnnrt_device_source *)user;
    const uint64_t place = source->offset | (uintptr_t)source->data;
    struct stat facts;
    uint64_t end;
    off_t known;
    char from[40];
    (void)backend;
    snprintf(from, sizeof(from), "file descriptor %d", source->fd);
    if (fstat(source->fd, &facts) != 0)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "%s: %s", from, strerror(errno));
    known = facts.st_size > 0 ? facts.st_size : lseek(source->fd, 0, SEEK_END);
    if (!qnnrt__size_add(source->offset, block->bytes, &end) ||
        (known > 0 && end > (uint64_t)known) || (place & (block->align - 1)) != 0)
        return QNNRT__FAIL(err, QNNRT_E_ARG,
                           "the plan needs %llu bytes aligned to %llu, from offset %llu of %s on,"
                           " which has %lld bytes; offset and address are aligned to %llu",
                           (unsigned long long)block->bytes, (unsigned long long)block->align,
                           (unsigned long long)source->offset, from, (long long)known,
                           (unsigned long long)(place & (~place + 1)));
    block->fd = source->fd;
    block->fd_offset = source->offset;
    block->fd_bytes = known > 0 ? (uint64_t)known : 0;
    block->data = source->data;
    return block->data != NULL ? QNNRT_OK : qnnrt__memory_map(from, NULL, 0, block, err);
}

QNNRT_API qnnrt_mem_provider qnnrt_device_rpcmem(const char *path)
{
    const qnnrt_mem_provider provider = { "rpcmem", qnnrt__share_rpcmem, qnnrt__share_rpcmem_free,
                                          (void *)(uintptr_t)path, NULL };
    return provider;
}

QNNRT_API qnnrt_mem_provider qnnrt_device_heap(const char *heap)
{
    const qnnrt_mem_provider provider = { "dmabuf", qnnrt__memory_heap, qnnrt__memory_free,
                                          (void *)(uintptr_t)heap, NULL };
    return provider;
}

QNNRT_API qnnrt_mem_provider qnnrt_device_fd(const qnnrt_device_source *source)
{
    const qnnrt_mem_provider provider = { "fd", qnnrt__memory_source, qnnrt__memory_unmap,
                                          (void *)(uintptr_t)source, NULL };
    return provider;
}

QNNRT_API int qnnrt_device_memory(const char *word, qnnrt_mem_desc *desc)
{
    static const qnnrt_mem_provider none = { NULL, NULL, NULL, NULL, NULL };
    static const qnnrt_mem_provider ref = { "memfd", qnnrt__memory_memfd, qnnrt__memory_free, NULL,
                                            NULL };
    const qnnrt_mem_provider heap = qnnrt_device_heap(NULL);
    const qnnrt_mem_provider memfd = { "memfd", qnnrt__memory_memfd, qnnrt__memory_free,
                                       (void *)(uintptr_t)"any", NULL };
    const struct { const char *word; qnnrt_mem_kind kind; qnnrt_mem_provider provider; } words[] = {
        { "heap", QNNRT_MEM_HEAP, none }, { "rpcmem", QNNRT_MEM_RPCMEM, none },
        { "shared", QNNRT_MEM_SHARED, heap }, { "dmabuf", QNNRT_MEM_PROVIDER, heap },
        { "memfd", QNNRT_MEM_PROVIDER, memfd }
    };
    size_t i = 0;
    while (i < 5 && strcmp(word, words[i].word) != 0) ++i;
    if (i == 5) return 0;
    desc->kind = words[i].kind;
    desc->provider = words[i].provider;
    if (desc->kind == QNNRT_MEM_SHARED) desc->provider.next = &ref;
    return 1;
}

/* =====================================================================================
   OP PACKAGES                                                                 >>package
   Operators of the caller. They are kept with the backend, because a recovery registers them again.
   Needs: >>os >>mem (hooks) >>err >>log >>codes >>abi >>friends >>backend
   Knows nothing of: models, graphs
   ===================================================================================== */

typedef struct qnnrt__package {
    qnnrt__backend_hook hook;
    qnnrt_backend      *backend;
    char               *path, *provider, *target;   /* behind this struct; target may be NULL */
} qnnrt__package;

static void qnnrt__package_closed(void *package)
{
    qnnrt__mem_free(&((qnnrt__package *)package)->backend->hooks, package);
}

/* Register the operators of a hook, if it is an op package. Callers hold the lock. */
static qnnrt_result qnnrt__package_register(const qnnrt__backend_hook *hook, qnnrt_error *err)
{
    const qnnrt__package *package = (const qnnrt__package *)hook->of;
    qnnrt_backend *b;
    qnnrt__abi_code code;
    if (hook->call != qnnrt__package_closed) return QNNRT_OK;
    b = package->backend;
    b->mark = qnnrt__log_mark(b->log_slot);
    code = b->calls->backend_register_op_package(b->backend, package->path, package->provider,
                                                 package->target);
    if (code == 0) return QNNRT_OK;
    QNNRT__FAIL(err, QNNRT_E_BACKEND, "op package %s with entry \"%s\" was refused by %s",
                package->path, package->provider, b->path);
    return qnnrt__codes_explain(err, "backendRegisterOpPackage", code, b->log_slot, b->mark);
}

QNNRT_API qnnrt_result qnnrt_backend_register_ops(qnnrt_backend *backend, const char *path,
                                                  const char *provider, const char *target,
                                                  qnnrt_error *err)
{
    const size_t path_bytes = path != NULL ? strlen(path) + 1 : 0;
    const size_t provider_bytes = provider != NULL ? strlen(provider) + 1 : 0;
    const size_t bytes = path_bytes + provider_bytes + (target != NULL ? strlen(target) + 1 : 0);
    qnnrt__package *package;
    qnnrt_result result;
    qnnrt_error_clear(err);
    if (backend == NULL || path_bytes <= 1 || provider_bytes <= 1)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_backend_register_ops: backend, path or provider"
                           " is NULL or empty");
    /* The loader puts the path on its stack, however long it is. */
    if (path_bytes > QNNRT__PATH_MAX)
        return QNNRT__FAIL(err, QNNRT_E_ARG,
                           "qnnrt_backend_register_ops: the path has %llu bytes, expected at most"
                           " %u; it begins with %.60s", (unsigned long long)path_bytes - 1,
                           (unsigned)QNNRT__PATH_MAX - 1, path);
    if (backend->calls->backend_register_op_package == NULL)
        return QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "%s does not have op packages", backend->path);
    if (backend->backend == NULL) return qnnrt__backend_lost(backend->path, err);
    package = (qnnrt__package *)qnnrt__mem_alloc(&backend->hooks, sizeof(*package) + bytes);
    if (package == NULL) return qnnrt__fail_memory(err, "an op package");
    package->hook.of = package;
    package->hook.call = qnnrt__package_closed;
    package->backend = backend;
    package->path = (char *)memcpy(package + 1, path, path_bytes);
    package->provider = (char *)memcpy(package->path + path_bytes, provider, provider_bytes);
    if (target != NULL) package->target = strcpy(package->provider + provider_bytes, target);
    qnnrt__hooks_lock(&backend->hooks);
    result = qnnrt__package_register(&package->hook, err);
    qnnrt__hooks_unlock(&backend->hooks);
    if (result == QNNRT_OK) qnnrt__backend_list(backend, &backend->kept, &package->hook, 1);
    else qnnrt__mem_free(&backend->hooks, package);
    return result;
}

/* =====================================================================================
   VOTE                                                                            >>vote
   Power beyond one preset: numbers, votes that change, an answer for each setting.
   Needs: >>mem (hooks) >>err >>log >>codes >>abi >>power >>backend
   Knows nothing of: memory of tensors, runs
   ===================================================================================== */

static uint32_t qnnrt__vote_number(uint32_t value)
{
    return value == QNNRT_POWER_ZERO ? 0 : value;
}

/* Fill the vendor's config of one setting: that of the preset, with the numbers of the desc. 0: the
   desc does not ask for it. */
static int qnnrt__vote_config(const qnnrt__power *p, const qnnrt_power_desc *desc, int setting,
                              qnnrt__abi_power_config *to)
{
    const int asked = qnnrt__power_config(p, desc->preset, setting, to);
    qnnrt__abi_dcvs *dcvs = &to->u.dcvs;
    if (setting != QNNRT__POWER_DCVS) {
        const uint32_t us = setting == QNNRT__POWER_LATENCY ? desc->rpc_latency_us
                                                            : desc->rpc_polling_us;
        if (us != 0) to->u.us = qnnrt__vote_number(us);
        return asked || us != 0;
    }
    if (desc->dcvs != 0) {
        dcvs->set_dcvs = 1;
        dcvs->dcvs = desc->dcvs > 0;
    }
    if (desc->sleep_latency_us != 0) {
        dcvs->set_sleep_latency = 1;
        dcvs->sleep_latency_us = qnnrt__vote_number(desc->sleep_latency_us);
    }
    if (desc->bus.max != 0) {
        dcvs->set_bus = 1;
        dcvs->bus_min = desc->bus.min;
        dcvs->bus_target = desc->bus.target;
        dcvs->bus_max = desc->bus.max;
    }
    if (desc->core.max != 0) {
        dcvs->set_core = 1;
        dcvs->core_min = desc->core.min;
        dcvs->core_target = desc->core.target;
        dcvs->core_max = desc->core.max;
    }
    return dcvs->set_dcvs || dcvs->set_sleep_latency || dcvs->set_bus || dcvs->set_core;
}

static qnnrt_result qnnrt__vote_check(const qnnrt_power_desc *desc, qnnrt_error *err)
{
    static const qnnrt_power_desc nothing = { QNNRT_POWER_CUSTOM, 0, 0, { 0, 0, 0 }, { 0, 0, 0 },
                                              0, 0 };
    int i;
    if ((unsigned)desc->preset > (unsigned)QNNRT_POWER_LOW_POWER_SAVER)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_power_set: preset %d, expected 0 to %d",
                           (int)desc->preset, (int)QNNRT_POWER_LOW_POWER_SAVER);
    if (desc->dcvs < -1 || desc->dcvs > 1)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_power_set: dcvs is %d, expected 1, -1 or 0",
                           desc->dcvs);
    if (qnnrt__vote_number(desc->rpc_polling_us) > QNNRT__ABI_POWER_POLLING_MOST)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_power_set: rpc_polling_us is %u; at most %d, or"
                           " QNNRT_POWER_ZERO", (unsigned)desc->rpc_polling_us,
                           (int)QNNRT__ABI_POWER_POLLING_MOST);
    for (i = 0; i < 2; ++i) {
        const qnnrt_power_corners *c = i == 0 ? &desc->bus : &desc->core;
        if ((c->min | c->target | c->max) == 0 ||
            (c->min >= QNNRT__ABI_CORNER_MIN && c->min <= c->target && c->target <= c->max &&
             c->max <= QNNRT__ABI_CORNER_MAX)) continue;
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_power_set: the corners of the %s are 0x%x,"
                           " 0x%x, 0x%x; give all three, ascending, from 0x%x to 0x%x",
                           i == 0 ? "bus" : "core", (unsigned)c->min, (unsigned)c->target,
                           (unsigned)c->max, (unsigned)QNNRT__ABI_CORNER_MIN,
                           (unsigned)QNNRT__ABI_CORNER_MAX);
    }
    if (memcmp(desc, &nothing, sizeof(nothing)) != 0) return QNNRT_OK;
    QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_power_set: the desc asks for nothing");
    return QNNRT__HINT(err, QNNRT_E_ARG,
                       "Set a preset or a number, or pass NULL to take the vote back.");
}

/* Vote for each setting. Without a report, one that is not applied is a failure. Callers hold the
   lock. */
static qnnrt_result qnnrt__vote_set(qnnrt_backend *b, const qnnrt_power_desc *desc,
                                    qnnrt_power_report *report, qnnrt_error *err)
{
    qnnrt__power *p = &b->power;
    const uint32_t mark = qnnrt__log_mark(b->log_slot);
    const char *call;
    const qnnrt__abi_code made = qnnrt__power_begin(p, b->provider, &call);
    qnnrt_power_setting failed = { NULL, QNNRT_POWER_NOT_ASKED, 0 };
    int i;
    for (i = 0; i < QNNRT_POWER_SETTINGS; ++i) {
        qnnrt_power_setting setting = { qnnrt__power_names[i], QNNRT_POWER_NOT_ASKED, 0 };
        qnnrt__abi_power_config config;
        if (qnnrt__vote_config(p, desc, i, &config)) {
            setting.vendor_code = qnnrt__power_vote(p, &config, made, &b->hooks);
            setting.answer = setting.vendor_code != 0  ? QNNRT_POWER_REFUSED
                             : p->infrastructure != NULL ? QNNRT_POWER_APPLIED
                                                         : QNNRT_POWER_NOT_AVAILABLE;
        }
        if (setting.answer > QNNRT_POWER_APPLIED && failed.name == NULL) failed = setting;
        if (report != NULL) report->settings[i] = setting;
    }
    if (report != NULL || failed.name == NULL) return QNNRT_OK;
    if (failed.answer == QNNRT_POWER_NOT_AVAILABLE)
        return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "cannot set %s: this backend"
                                            " has no power settings", failed.name),
                           "Pass a report; then the call does not fail for this reason.");
    QNNRT__FAIL(err, QNNRT_E_BACKEND, "%s was refused", failed.name);
    return qnnrt__codes_explain(err, call, failed.vendor_code, b->log_slot, mark);
}

QNNRT_API qnnrt_result qnnrt_power_set(qnnrt_backend *backend, const qnnrt_power_desc *desc,
                                       qnnrt_power_report *report, qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    qnnrt_error_clear(err);
    if (report != NULL) memset(report, 0, sizeof(*report));
    if (backend == NULL) return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_power_set: backend is NULL");
    if (desc != NULL) result = qnnrt__vote_check(desc, err);
    if (result != QNNRT_OK) return result;
    if (backend->backend == NULL) return qnnrt__backend_lost(backend->path, err);
    qnnrt__hooks_lock(&backend->hooks);
    if (desc != NULL) {
        result = qnnrt__vote_set(backend, desc, report, err);
    } else {
        const uint32_t mark = qnnrt__log_mark(backend->log_slot);
        const qnnrt__abi_code code = qnnrt__power_release(&backend->power, &backend->hooks);
        if (code != 0) {
            QNNRT__FAIL(err, QNNRT_E_BACKEND, "could not take back the power vote");
            result = qnnrt__codes_explain(err, "destroyPowerConfigId", code, backend->log_slot,
                                          mark);
        }
    }
    qnnrt__hooks_unlock(&backend->hooks);
    return result;
}

QNNRT_API const char *qnnrt_power_preset_name(qnnrt_power_preset preset)
{
    static const char *const names[] = {
        NULL, "burst", "sustained_high_performance", "high_performance", "balanced",
        "low_balanced", "high_power_saver", "power_saver", "low_power_saver"
    };
    return (unsigned)preset < sizeof(names) / sizeof(names[0]) ? names[preset] : NULL;
}

/* =====================================================================================
   TENSORS                                                                       >>weight
   New data for tensors that were compiled as updateable (LoRA).
   Needs: >>mem (hooks) >>err >>log >>codes >>abi >>table >>backend (its struct) >>model >>run
   Knows nothing of: adapters
   ===================================================================================== */

/* Find an updateable tensor of a graph by its name. */
static qnnrt_result qnnrt__update_find(const qnnrt_graph_info *graph, const char *name,
                                       const qnnrt_tensor_info **out, qnnrt_error *err)
{
    int kind = QNNRT__TABLE_KINDS;
    size_t count, i;
    while (kind-- > 0) {
        *out = qnnrt__table_get(graph, (qnnrt__table_kind)kind, &count);
        for (i = 0; i < count && strcmp((*out)->name, name) != 0; ++i) ++*out;
        if (i == count) continue;
        if (kind == QNNRT__TABLE_UPDATEABLES) return QNNRT_OK;
        return QNNRT__FAIL(err, QNNRT_E_ARG, "\"%.160s\" is an %s and not updateable", name,
                           qnnrt__table_noun((qnnrt__table_kind)kind));
    }
    QNNRT__FAIL(err, QNNRT_E_NOT_FOUND, "the metadata lists no updateable tensor \"%.160s\"", name);
    for (i = 0; i < graph->updateable_count && i < 8; ++i)
        qnnrt_error_add(err, "%s \"%.80s\"", i == 0 ? "; it lists" : ",",
                        graph->updateables[i].name);
    if (i < graph->updateable_count) qnnrt_error_add(err, ", ...");
    return QNNRT__HINT(err, QNNRT_E_NOT_FOUND,
                       "Compile the tensor as updateable; qnnrt-run inspect lists those that are.");
}

/* Check that the tensor can take this data here. */
static qnnrt_result qnnrt__update_check(const qnnrt *model, const qnnrt_tensor_info *tensor,
                                        uint64_t bytes, qnnrt_error *err)
{
    const qnnrt_backend *b = model->info.backend;
    const char *why = NULL;
    if (tensor->vendor_type != QNNRT__ABI_UPDATEABLE_STATIC)
        why = " has no data of its own: only its encoding is updateable";
    else if (tensor->bytes == 0 || tensor->bytes > UINT32_MAX)
        why = " has a dtype or size that this version cannot hold in memory";
    else if (tensor->bytes != bytes)
        return QNNRT__FAIL(err, QNNRT_E_MISMATCH, "\"%.160s\" needs %llu bytes, the data has %llu",
                           tensor->name, (unsigned long long)tensor->bytes,
                           (unsigned long long)bytes);
    else if (model->take != NULL) why = ": its context comes and goes, see qnnrt_model_swap()";
    else if (b->info.id == QNNRT__ABI_BACKEND_HTP)
        why = ": HTP accepts new data for a tensor and does not use it (on x86-64; unproven on a"
              " device)";
    else if (b->calls->tensor_update == NULL) why = ": the backend has no updates";
    if (why == NULL) return QNNRT_OK;
    return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "cannot update \"%.160s\"%s",
                                        tensor->name, why),
                       "Compile a context binary for each set of weights.");
}

QNNRT_API qnnrt_result qnnrt_update(qnnrt *model, size_t context, const char *graph,
                                    const char *tensor, const void *data, size_t bytes,
                                    qnnrt_error *err)
{
    const qnnrt_context_info *info;
    const qnnrt_graph_info *of;
    const qnnrt_tensor_info *found = NULL;
    qnnrt_backend *b;
    qnnrt__abi_tensor change;
    const qnnrt__abi_tensor *list = &change;
    qnnrt_result result;
    qnnrt_error_clear(err);
    if (model == NULL || graph == NULL || tensor == NULL || data == NULL)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_update: model, graph, tensor or data is NULL");
    if (context >= model->info.context_count)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "context %llu does not exist, the model has %u",
                           (unsigned long long)context, (unsigned)model->info.context_count);
    info = &model->infos[context];
    if (info->handle == NULL && model->take == NULL) {
        QNNRT__FAIL(err, QNNRT_E_STATE, "%s is not loaded", info->file);
        return QNNRT__HINT(err, QNNRT_E_STATE,
                           info->backend == NULL ? "Open it without desc.inspect."
                                                 : "Call qnnrt_context_load() first, or"
                                                   " qnnrt_model_recover() after a restart of the"
                                                   " DSP.");
    }
    of = qnnrt__model_graph(model, context, graph);
    if (of == NULL)
        return QNNRT__FAIL(err, QNNRT_E_NOT_FOUND, "%s has no graph \"%.160s\"", info->file, graph);
    result = qnnrt__update_find(of, tensor, &found, err);
    if (result == QNNRT_OK) result = qnnrt__update_check(model, found, bytes, err);
    if (result == QNNRT_OK) {
        qnnrt__abi_code code;
        memset(&change, 0, sizeof(change));
        qnnrt__run_tensor(found, &change);
        change.body.buffer.data = data;
        b = model->info.backend;
        qnnrt__hooks_lock(&b->hooks);
        b->mark = qnnrt__log_mark(b->log_slot);
        code = b->calls->tensor_update(qnnrt__model_handle(model, context, of), &list, 1);
        if (code != 0) {
            QNNRT__FAIL(err, QNNRT_E_BACKEND, "the update of \"%.160s\" was refused", tensor);
            result = qnnrt__codes_explain(err, "tensorUpdateGraphTensors", code, b->log_slot,
                                          b->mark);
        }
        qnnrt__hooks_unlock(&b->hooks);
    }
    if (result == QNNRT_OK) return result;
    return qnnrt_error_about(err, result, "%s, graph \"%.160s\": ", info->file, graph);
}

/* =====================================================================================
   GROUP                                                                           >>group
   Spill-fill memory that the contexts of a model share: a hook of their creation, which names
   the context that began the group. That one states the most that any of them needs.
   Needs: >>mem >>err >>log >>abi >>htp >>backend (its struct) >>friends >>model >>resident
          >>open
   Knows nothing of: pipelines, steps, memory of tensors
   ===================================================================================== */

typedef struct qnnrt__group {
    qnnrt_context_hook    hook;
    qnnrt                *model;
    uint64_t              bytes;            /* 0: it does not share */
    size_t                leader;           /* the context that began the group, or has to */
    int                   refused;          /* the library did not create the last one in it */
    const void           *list[2];
    qnnrt__abi_config     config;
    qnnrt__abi_htp_config custom;
} qnnrt__group;

static qnnrt_result qnnrt__group_before(qnnrt_context_hook *hook, qnnrt__creation *creation,
                                        qnnrt_error *err)
{
    qnnrt__group *group = (qnnrt__group *)hook;
    qnnrt__abi_handle first;
    (void)err;
    if (group->bytes == 0 || qnnrt__htp_spill_fill(&group->model->infos[creation->context]) == 0)
        return QNNRT_OK;
    first = group->model->infos[group->leader].handle;
    if (first == NULL) group->leader = creation->context;
    if (creation->context < group->leader) return QNNRT_OK;     /* which is freed before it */
    memset(&group->custom, 0, sizeof(group->custom));
    group->custom.option = QNNRT__ABI_HTP_MULTI_CONTEXTS;
    memcpy(&group->custom.u.words[0], &first, sizeof(first));
    memcpy(&group->custom.u.words[2], &group->bytes, sizeof(group->bytes));
    group->config.u.custom = &group->custom;
    group->list[0] = &group->config;
    creation->configs = group->list;
    return QNNRT_OK;
}

static qnnrt_result qnnrt__group_after(qnnrt_context_hook *hook, const qnnrt__creation *creation,
                                       qnnrt_error *err)
{
    qnnrt__group *group = (qnnrt__group *)hook;
    (void)err;
    group->refused = creation->configs != NULL && !creation->created;
    return QNNRT_OK;
}

/* Return the hook of a model, or NULL. */
static qnnrt__group *qnnrt__group_of(const qnnrt *model)
{
    qnnrt_context_hook *hook = model->context_hooks;
    while (hook != NULL && hook->before != qnnrt__group_before) hook = hook->next;
    return (qnnrt__group *)hook;
}

/* Read a context again and create it, within its group if there is one. If that fails it is tried
   without, whatever the code (0x1392 on x86-64): a group saves memory, and must not cost a model.
   Callers hold the lock. */
static qnnrt_result qnnrt__group_again(qnnrt *model, size_t at, qnnrt_error *err)
{
    qnnrt__group *group = qnnrt__group_of(model);
    qnnrt_backend *b = model->info.backend;
    qnnrt_error own;
    qnnrt_result result;
    uint32_t code;
    if (err == NULL) err = &own;
    result = qnnrt__resident_again(model, at, err);
    if (result != QNNRT_E_BACKEND || group == NULL || !group->refused) return result;
    code = (uint32_t)(err->vendor_code & 0xFFFF);
    if (code == QNNRT__ABI_RESTARTED || code == QNNRT__ABI_RESTARTED_FATAL) return result;
    qnnrt_log(&b->hooks, QNNRT_LOG_INFO, "context", err->vendor_code, "%s does not share"
              " spill-fill memory (0x%x): each context has its own", b->path, (unsigned)code);
    group->bytes = 0;
    qnnrt_error_clear(err);
    return qnnrt__resident_again(model, at, err);
}

QNNRT_API qnnrt_result qnnrt_model_load_shared(qnnrt *model, qnnrt_error *err)
{
    qnnrt_result result = qnnrt__resident_caller(model, 0, "qnnrt_model_load_shared", err);
    qnnrt__group *group;
    size_t several = 0, at;
    if (result != QNNRT_OK) return result;
    group = qnnrt__group_of(model);
    if (group == NULL) {
        group = (qnnrt__group *)qnnrt__arena_alloc(&model->arena, 1, sizeof(*group));
        if (group == NULL) return qnnrt__fail_memory(err, "a group");
        for (at = 0; at < model->info.context_count; ++at) {
            const uint64_t need = qnnrt__htp_spill_fill(&model->infos[at]);
            if (need > 0 && several++ == 0) group->leader = at;
            if (need > group->bytes) group->bytes = need;
        }
        if (several < 2 || !qnnrt__open_is_htp(model->info.backend)) group->bytes = 0;
        group->model = model;
        group->hook.before = qnnrt__group_before;
        group->hook.after = qnnrt__group_after;
        group->hook.next = model->context_hooks;
        model->context_hooks = &group->hook;
    }
    for (at = 0; at < model->info.context_count && result == QNNRT_OK; ++at) {
        if (model->infos[at].failure != NULL || model->infos[at].handle != NULL) continue;
        qnnrt__hooks_lock(&model->arena.hooks);
        result = qnnrt__group_again(model, at, err);
        qnnrt__hooks_unlock(&model->arena.hooks);
        if (result == QNNRT_E_BACKEND) qnnrt__open_explain(model, at, err);
    }
    if (result == QNNRT_OK) model->residency = QNNRT_RESIDENT_ALL;
    return qnnrt__hint_general(err, result);
}

/* =====================================================================================
   SWAP                                                                             >>swap
   Contexts that come and go: creates them when a step needs them, and frees others to make
   room.
   Needs: >>os >>mem >>err >>model >>resident >>group
   Knows nothing of: pipelines, steps, memory of tensors
   ===================================================================================== */

typedef struct qnnrt__swap {                /* of a model */
    uint64_t bytes;                         /* most of the contexts that exist; 0: one context */
    uint64_t used[1];                       /* [context] when a step took it last, ns */
} qnnrt__swap;

/* Choose the context to free next, or return the number of contexts. A pipeline takes its contexts
   in the same order each time, so of those that were taken since its last exec began, the latest is
   needed last; the others go first, the least recently used before the rest. */
static size_t qnnrt__swap_victim(const qnnrt *model, const qnnrt__swap *swap, uint64_t since)
{
    size_t i, best = model->info.context_count;
    for (i = 0; i < model->info.context_count; ++i) {
        const uint64_t used = swap->used[i], other = best > i ? 0 : swap->used[best];
        const int recent = used > since, other_recent = other > since;
        if (model->infos[i].handle == NULL) continue;
        if (best > i || (recent == other_recent ? (used > other) == recent : !recent)) best = i;
    }
    return best;
}

/* Create the context of a step, unless it exists, after making room for it. */
static qnnrt_result qnnrt__swap_take(qnnrt *model, size_t at, uint64_t since, qnnrt_error *err)
{
    qnnrt__swap *swap = (qnnrt__swap *)model->taker;
    const uint64_t need = model->infos[at].device_bytes;
    const uint64_t room = swap->bytes > need ? swap->bytes - need : 0;
    qnnrt_result result = QNNRT_OK;
    if (model->infos[at].handle == NULL) {
        while (model->info.device_bytes > room)
            qnnrt__resident_free(model, qnnrt__swap_victim(model, swap, since));
        result = qnnrt__group_again(model, at, err);
    }
    if (result == QNNRT_OK) swap->used[at] = qnnrt__os_clock_ns();
    return result;
}

QNNRT_API qnnrt_result qnnrt_model_swap(qnnrt *model, uint64_t bytes, qnnrt_error *err)
{
    const qnnrt_result result = qnnrt__resident_caller(model, 1, "qnnrt_model_swap", err);
    qnnrt__swap *swap;
    size_t i;
    if (result != QNNRT_OK) return result;
    for (i = 0; i < model->info.context_count && bytes > 0; ++i) {
        const qnnrt_context_info *info = &model->infos[i];
        if (info->device_bytes <= bytes) continue;
        QNNRT__FAIL(err, QNNRT_E_LIMIT, "%s alone needs %llu bytes on the device, more than the"
                    " budget (%llu)", info->file, (unsigned long long)info->device_bytes,
                    (unsigned long long)bytes);
        return QNNRT__HINT(err, QNNRT_E_LIMIT,
                           "Raise the budget, or split the model into more shards.");
    }
    swap = (qnnrt__swap *)model->taker;
    if (swap == NULL)
        swap = (qnnrt__swap *)qnnrt__arena_alloc(
            &model->arena, 1, sizeof(*swap) + model->info.context_count * sizeof(swap->used[0]));
    if (swap == NULL) return qnnrt__fail_memory(err, "a model");
    model->taker = swap;
    model->take = qnnrt__swap_take;
    swap->bytes = bytes;
    qnnrt__hooks_lock(&model->arena.hooks);
    do {
        i = bytes == 0 || model->info.device_bytes > bytes
                ? qnnrt__swap_victim(model, swap, UINT64_MAX) : model->info.context_count;
        if (i < model->info.context_count) qnnrt__resident_free(model, i);
    } while (i < model->info.context_count);
    qnnrt__hooks_unlock(&model->arena.hooks);
    return QNNRT_OK;
}

/* =====================================================================================
   RECOVER                                                                       >>recover
   Creates all again that a restart of the DSP lost: device and backend, op packages, contexts.
   Needs: >>os >>mem >>err >>log >>power >>friends >>backend >>context (its struct) >>model
          >>resident >>package >>group
   Knows nothing of: pipelines, steps, memory of tensors
   ===================================================================================== */

/* Check that a context can be created again. */
static qnnrt_result qnnrt__recover_check(qnnrt *model, size_t at, qnnrt_error *err)
{
    qnnrt__context *context = &model->contexts[at];
    const char *file = context->info->file;
    qnnrt_result result;
    if (model->made != NULL) {
        QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "a model on this backend was built here"
                    " (\"%.200s\"): it has no file to load again", file);
        return QNNRT__HINT(err, QNNRT_E_UNSUPPORTED, "Close it, or save it and open the file.");
    }
    if (context->info->failure != NULL) return QNNRT_OK;
    if (context->from.data != NULL && model->residency == QNNRT_RESIDENT_ALL) {
        QNNRT__FAIL(err, QNNRT_E_STATE, "%s was loaded from memory that was the model's during"
                    " qnnrt_open() only", file);
        return QNNRT__HINT(err, QNNRT_E_STATE, "Close the model and open it again, or keep the"
                           " memory and set desc.residency.");
    }
    result = qnnrt__context_load(context, &model->ways, err);
    qnnrt__context_release_file(context, &model->arena.hooks);
    return result;
}

/* Create again what the DSP lost of a backend. Those contexts that come and go are created by the
   steps that need them. The log stays, because it is no part of the DSP. Callers hold the lock. */
static qnnrt_result qnnrt__recover(qnnrt_backend *b, qnnrt_error *err)
{
    const qnnrt__backend_hook *hook;
    qnnrt_result result;
    size_t i;
    for (hook = b->models; hook != NULL; hook = hook->next) {
        qnnrt *model = (qnnrt *)hook->of;
        for (i = model->info.context_count; i-- > 0;) {
            model->contexts[i].lost |= model->infos[i].handle != NULL && model->take == NULL;
            qnnrt__resident_free(model, i);
        }
    }
    qnnrt__backend_end(b, 0, "freed after a restart of the DSP");
    b->renewed = 1;
    b->mark = qnnrt__log_mark(b->log_slot);
    result = qnnrt__backend_create(b, b->soc_model, err);
    for (hook = b->kept; hook != NULL && result == QNNRT_OK; hook = hook->next)
        result = qnnrt__package_register(hook, err);
    if (result != QNNRT_OK) {
        qnnrt__backend_end(b, 0, "freed after a recovery that failed");
        return result;
    }
    qnnrt__power_set(&b->power, b->provider, b->preset, &b->hooks);
    for (hook = b->models; hook != NULL; hook = hook->next) {
        qnnrt *model = (qnnrt *)hook->of;
        for (i = 0; i < model->info.context_count && result == QNNRT_OK; ++i)
            if (model->contexts[i].lost) result = qnnrt__group_again(model, i, err);
    }
    return result;
}

QNNRT_API qnnrt_result qnnrt_model_recover(qnnrt *model, qnnrt_error *err)
{
    const qnnrt__backend_hook *of;
    uint32_t builders;
    qnnrt_result result = QNNRT_OK;
    qnnrt_backend *b;
    size_t i;
    qnnrt_error_clear(err);
    if (model == NULL) return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_model_recover: model is NULL");
    b = model->info.backend;
    if (b == NULL)
        return QNNRT__FAIL(err, QNNRT_E_STATE, "qnnrt_model_recover: the model was opened with"
                           " desc.inspect and has no backend");
    builders = qnnrt__os_load(&b->users);
    for (of = b->models; of != NULL; of = of->next, --builders) {
        qnnrt *each = (qnnrt *)of->of;
        for (i = 0; i < each->info.context_count && result == QNNRT_OK; ++i)
            result = qnnrt__recover_check(each, i, err);
    }
    if (result == QNNRT_OK && builders > 0) {
        QNNRT__FAIL(err, QNNRT_E_BUSY, "%u builders use %s", (unsigned)builders, b->path);
        return QNNRT__HINT(err, QNNRT_E_BUSY, "Finish or destroy them first.");
    }
    if (result != QNNRT_OK) return qnnrt__hint_general(err, result);
    for (of = b->runs; of != NULL; of = of->next) of->call(of->of);
    qnnrt__hooks_lock(&b->hooks);
    result = qnnrt__recover(b, err);
    qnnrt__hooks_unlock(&b->hooks);
    qnnrt_log(&b->hooks, result == QNNRT_OK ? QNNRT_LOG_WARN : QNNRT_LOG_ERROR, "resident", 0,
              "after a restart of the DSP, %s was %s", b->path,
              result == QNNRT_OK ? "recovered" : "not recovered");
    return qnnrt__hint_general(err, result);
}

/* =====================================================================================
   DYNAMIC DIMS                                                                  >>dynamic
   What may change between two executes of a run: the dims of dynamic tensors, and which
   optional tensors take part: a hook of the run, which gives each step its tensors.
   Needs: >>mem >>err >>dtype >>abi >>compare >>backend (its struct) >>friends >>wiring
          >>binding >>run >>access >>exec
   Knows nothing of: memory
   ===================================================================================== */

typedef struct qnnrt__dynamic_slot {
    qnnrt_tensor_info now;              /* its dims, count and bytes: those of the next or last
                                           execute; the library may change dims */
    uint32_t *dims;                     /* [rank] of now. NULL: they are fixed */
    uint32_t *asked;                    /* [rank] after dims: what the caller set, or the bound */
    int       set;                      /* 1: the caller set dims */
    int       required;                 /* 1: a step cannot do without it */
} qnnrt__dynamic_slot;

typedef struct qnnrt__dynamic_step {
    qnnrt__abi_tensor *all[2];          /* [output] all its tensors */
    qnnrt__abi_tensor *rooms[2];        /* [output] for those that take part; NULL: all always do */
    uint32_t           warm;            /* generation of the graph that was executed, with the bound
                                           first; 0: none */
    int                cpu;             /* 1: on libQnnCpu.so, see qnnrt__dynamic_before() */
} qnnrt__dynamic_step;

typedef struct qnnrt__dynamic {
    qnnrt__run_hook            hook;
    qnnrt_run                 *run;
    qnnrt__dynamic_slot       *slots;    /* [slot_count] */
    qnnrt__dynamic_step       *steps;    /* [step_count] */
    const qnnrt__dynamic_step *executes; /* or failed; NULL: none */
} qnnrt__dynamic;

/* Count the elements and bytes of dims within the bound, which cannot overflow. */
static void qnnrt__dynamic_count(qnnrt__dynamic_slot *slot)
{
    qnnrt__dtype_bytes(slot->now.dtype, slot->dims, slot->now.rank, &slot->now.count,
                       &slot->now.bytes);
}

/* Write dims as "[1,5,8]". */
static const char *qnnrt__dynamic_text(const uint32_t *dims, uint32_t rank, char *out, size_t room)
{
    uint32_t i;
    snprintf(out, room, "[");
    for (i = 0; i < rank && i < 32; ++i)
        qnnrt_text_append(out, room, "%s%u", i > 0 ? "," : "", (unsigned)dims[i]);
    qnnrt_text_append(out, room, rank > 32 ? ",...]" : "]");
    return out;
}

/* Return 1 if dims are those of the tensor, or less where it is dynamic. */
static int qnnrt__dynamic_fits(const qnnrt_tensor_info *tensor, const uint32_t *dims)
{
    uint32_t i;
    for (i = 0; i < tensor->rank; ++i)
        if (dims[i] == 0 || dims[i] > tensor->dims[i] ||
            (dims[i] < tensor->dims[i] &&
             (tensor->dynamic_dims == NULL || !tensor->dynamic_dims[i]))) return 0;
    return 1;
}

/* Return the tensors of one side of a step. */
static const qnnrt__end *qnnrt__dynamic_ends(const qnnrt__dynamic *dynamic, size_t step, int output,
                                             size_t *count)
{
    const qnnrt_graph_info *graph = dynamic->run->pipeline->steps[step].graph;
    *count = output ? graph->output_count : graph->input_count;
    return (output ? dynamic->run->pipeline->outputs : dynamic->run->pipeline->inputs)[step];
}

/* Give a step the dims that are set, or with `full` the bound, and those of its tensors that take
   part. Outputs get the dims that the step may write. */
static void qnnrt__dynamic_aim(const qnnrt__dynamic *dynamic, size_t step, int full)
{
    const qnnrt__dynamic_step *of = &dynamic->steps[step];
    qnnrt__step *to = &dynamic->run->steps[step];
    int output;
    for (output = 0; output < 2; ++output) {
        qnnrt__abi_tensor *room = of->rooms[output];
        size_t count, i;
        const qnnrt__end *ends = qnnrt__dynamic_ends(dynamic, step, output, &count);
        uint32_t taken = 0;
        for (i = 0; i < count; ++i) {
            qnnrt__dynamic_slot *slot = &dynamic->slots[ends[i].slot];
            qnnrt__abi_tensor *tensor = &of->all[output][i];
            const uint32_t *bound = ends[i].tensor->dims;
            if (slot->dims != NULL) {
                if (output) memcpy(slot->dims, full ? bound : slot->asked,
                                   slot->now.rank * sizeof(uint32_t));
                qnnrt__dynamic_count(slot);
                tensor->body.dims = full && !output ? bound : slot->dims;
                tensor->body.dynamic_dims = slot->now.dynamic_dims;
                tensor->body.buffer.bytes = (uint32_t)(full ? ends[i].tensor->bytes
                                                            : slot->now.bytes);
            }
            if (room != NULL && !dynamic->run->slots[ends[i].slot].omitted) room[taken++] = *tensor;
        }
        if (room == NULL) continue;
        *(output ? &to->outputs : &to->inputs) = room;
        *(output ? &to->output_count : &to->input_count) = taken;
    }
}

/* Find a dynamic tensor that takes part in a step: an input with fewer elements than its bound, or
   an output whose dims are not set. Return its slot, or NULL. */
static const qnnrt_slot *qnnrt__dynamic_varies(const qnnrt__dynamic *dynamic, size_t step,
                                               int output)
{
    size_t count, i;
    const qnnrt__end *ends = qnnrt__dynamic_ends(dynamic, step, output, &count);
    for (i = 0; i < count; ++i) {
        const qnnrt__dynamic_slot *slot = &dynamic->slots[ends[i].slot];
        if (slot->dims != NULL && !dynamic->run->slots[ends[i].slot].omitted &&
            (output ? !slot->set : slot->now.count < ends[i].tensor->count))
            return &dynamic->run->pipeline->info.slots[ends[i].slot];
    }
    return NULL;
}

/* Before a step: give it its dims. libQnnCpu.so (2.47) takes the dims of outputs from the call, and
   ElementWiseAdd writes beyond its memory when the inputs are smaller than these: so every dynamic
   output needs its dims as soon as a dynamic input is smaller than its bound. And it allocates
   memory for the dims of the first execute of a graph, and writes beyond it when a later one has
   more: so the first execute has the bound. */
static qnnrt_result qnnrt__dynamic_before(qnnrt__run_hook *hook, size_t step,
                                          qnnrt__abi_handle *profile)
{
    qnnrt__dynamic *dynamic = (qnnrt__dynamic *)hook;
    qnnrt_run *run = dynamic->run;
    const qnnrt__step *to = &run->steps[step];
    const qnnrt_slot *below = NULL, *unset;
    (void)profile;
    dynamic->executes = &dynamic->steps[step];
    if (dynamic->executes->cpu) below = qnnrt__dynamic_varies(dynamic, step, 0);
    unset = below != NULL ? qnnrt__dynamic_varies(dynamic, step, 1) : NULL;
    if (unset != NULL) {
        qnnrt__run_fail(run, QNNRT_E_STATE, below, "has fewer elements than its bound, and the dims"
                        " of output \"%.160s\" are not set; the CPU library does not find them",
                        unset->address);
        return QNNRT__HINT(&run->error, QNNRT_E_STATE,
                           "Call qnnrt_set_dims() with the dims that this output will have.");
    }
    if (below != NULL && dynamic->executes->warm != run->generations[step]) {
        qnnrt__abi_code code;
        qnnrt__dynamic_aim(dynamic, step, 1);
        code = to->execute(to->graph, to->inputs, to->input_count, to->outputs, to->output_count,
                           NULL, NULL);
        if (code != 0) return qnnrt__exec_failed(run, to, code);
    }
    qnnrt__dynamic_aim(dynamic, step, 0);
    return QNNRT_OK;
}

/* Take the dims that a step wrote. They are checked, because later steps read that much memory. */
static qnnrt_result qnnrt__dynamic_after(qnnrt__run_hook *hook, size_t step)
{
    qnnrt__dynamic *dynamic = (qnnrt__dynamic *)hook;
    size_t count, i;
    const qnnrt__end *end = qnnrt__dynamic_ends(dynamic, step, 1, &count);
    char given[400], facts[400];
    dynamic->steps[step].warm = dynamic->run->generations[step];
    for (i = 0; i < count; ++i, ++end) {
        qnnrt__dynamic_slot *slot = &dynamic->slots[end->slot];
        const uint64_t room = slot->now.bytes;
        if (slot->dims == NULL || dynamic->run->slots[end->slot].omitted) continue;
        if (qnnrt__dynamic_fits(end->tensor, slot->dims)) {
            qnnrt__dynamic_count(slot);
            if (slot->now.bytes <= room) continue;
        }
        return qnnrt__run_fail(
            dynamic->run, QNNRT_E_BACKEND, &dynamic->run->pipeline->info.slots[end->slot],
            "is %s in memory of %llu bytes, but the library says that it wrote %s",
            qnnrt_tensor_text(end->tensor, facts, sizeof(facts)), (unsigned long long)room,
            qnnrt__dynamic_text(slot->dims, slot->now.rank, given, sizeof(given)));
    }
    dynamic->executes = NULL;
    return QNNRT_OK;
}

/* After a step that failed its outputs have the dims that they may have. libQnnCpu.so (2.47)
   refuses each optional tensor (0x1774). */
static void qnnrt__dynamic_end(qnnrt__run_hook *hook, qnnrt_result result)
{
    qnnrt__dynamic *dynamic = (qnnrt__dynamic *)hook;
    const qnnrt__dynamic_step *failed = dynamic->executes;
    int optional = 0;
    size_t i;
    dynamic->executes = NULL;
    if (failed == NULL) return;
    qnnrt__dynamic_aim(dynamic, (size_t)(failed - dynamic->steps), 0);
    for (i = 0; failed->cpu && i < dynamic->run->pipeline->info.slot_count; ++i)
        optional |= !dynamic->slots[i].required && !dynamic->run->slots[i].omitted;
    if (result != QNNRT_E_BACKEND || !optional) return;
    dynamic->run->error.hint[0] = '\0';
    QNNRT__HINT(&dynamic->run->error, result,
                "Call qnnrt_omit() for the optional tensors: the CPU library takes none.");
}

/* Make what a run needs. Return NULL: out of memory. */
static qnnrt__dynamic *qnnrt__dynamic_make(qnnrt_run *run)
{
    const qnnrt_pipeline *p = run->pipeline;
    qnnrt__arena *arena = &run->arena;
    qnnrt__dynamic *dynamic = (qnnrt__dynamic *)qnnrt__arena_alloc(arena, 1, sizeof(*dynamic));
    size_t i, count;
    if (dynamic == NULL) return NULL;
    dynamic->slots = (qnnrt__dynamic_slot *)qnnrt__arena_alloc(arena, p->info.slot_count,
                                                               sizeof(*dynamic->slots));
    dynamic->steps = (qnnrt__dynamic_step *)qnnrt__arena_alloc(arena, p->info.step_count,
                                                               sizeof(*dynamic->steps));
    if (dynamic->slots == NULL || dynamic->steps == NULL) return NULL;
    dynamic->run = run;
    dynamic->hook.before = qnnrt__dynamic_before;
    dynamic->hook.after = qnnrt__dynamic_after;
    dynamic->hook.end = qnnrt__dynamic_end;
    for (i = 0; i < p->info.step_count; ++i) {
        dynamic->steps[i].all[0] = run->steps[i].inputs;
        dynamic->steps[i].all[1] = run->steps[i].outputs;
        dynamic->steps[i].cpu = p->steps[i].backend != NULL &&
                             p->steps[i].backend->info.id == QNNRT__ABI_BACKEND_CPU;
    }
    for (i = 0; i < p->info.slot_count; ++i) {
        const qnnrt_tensor_info *bound = run->slots[i].now;
        qnnrt__dynamic_slot *slot = &dynamic->slots[i];
        const size_t bytes = bound->rank * sizeof(uint32_t);
        slot->required = p->info.slots[i].role == QNNRT_ROLE_EDGE;
        if (bound->dynamic_dims == NULL) continue;
        slot->dims = (uint32_t *)qnnrt__arena_alloc(arena, 2, bytes);
        if (slot->dims == NULL) return NULL;
        slot->asked = slot->dims + bound->rank;
        memcpy(slot->dims, bound->dims, bytes);
        memcpy(slot->asked, bound->dims, bytes);
        slot->now = *bound;
        slot->now.dims = slot->dims;
        run->slots[i].now = &slot->now;
    }
    for (i = 0; i < p->end_count; ++i) {
        const qnnrt__end *end = &p->ends[i];
        qnnrt__abi_tensor **room = &dynamic->steps[end->step].rooms[end->output != 0];
        dynamic->slots[end->slot].required |= !end->tensor->optional;
        if (!end->tensor->optional || *room != NULL) continue;
        qnnrt__dynamic_ends(dynamic, end->step, end->output != 0, &count);
        *room = (qnnrt__abi_tensor *)qnnrt__arena_alloc(arena, count, sizeof(**room));
        if (*room == NULL) return NULL;
    }
    return dynamic;
}

/* Find what a run has, or make it. *out is NULL when nothing of it can change. */
static qnnrt_result qnnrt__dynamic_of(qnnrt_run *run, qnnrt__dynamic **out)
{
    const qnnrt_pipeline *p = run->pipeline;
    qnnrt__run_hook *hook = run->hooks;
    size_t i = 0;
    while (hook != NULL && hook->before != qnnrt__dynamic_before) hook = hook->next;
    *out = (qnnrt__dynamic *)hook;
    while (i < p->end_count && p->ends[i].tensor->dynamic_dims == NULL &&
           !p->ends[i].tensor->optional) ++i;
    if (hook != NULL || i == p->end_count) return QNNRT_OK;
    *out = qnnrt__dynamic_make(run);
    if (*out == NULL) return qnnrt__fail_memory(qnnrt__run_err(run), "dims that change");
    run->rigid = NULL;
    qnnrt__exec_hook(run, &(*out)->hook);
    return QNNRT_OK;
}

QNNRT_API qnnrt_result qnnrt_run_dynamic(qnnrt_run *run)
{
    qnnrt__dynamic *dynamic;
    return run != NULL ? qnnrt__dynamic_of(run, &dynamic) : QNNRT_E_ARG;
}

/* Find a slot of a run, and what may change of it: NULL, nothing in the run may. */
static qnnrt_result qnnrt__dynamic_find(qnnrt_run *run, const qnnrt_slot *slot,
                                        qnnrt__binding **found, qnnrt__dynamic_slot **of)
{
    qnnrt__dynamic *dynamic;
    qnnrt_result result;
    if (run == NULL) return QNNRT_E_ARG;
    *found = qnnrt__run_find(run, slot);
    if (*found == NULL) return qnnrt__run_fail_slot(run, slot);
    result = qnnrt__dynamic_of(run, &dynamic);
    *of = result == QNNRT_OK && dynamic != NULL ? &dynamic->slots[*found - run->slots] : NULL;
    return result;
}

QNNRT_API qnnrt_result qnnrt_omit(qnnrt_run *run, const qnnrt_slot *slot)
{
    qnnrt__binding *found = NULL;
    qnnrt__dynamic_slot *of = NULL;
    const qnnrt_result result = qnnrt__dynamic_find(run, slot, &found, &of);
    if (result != QNNRT_OK) return result;
    if (of == NULL || of->required) {
        qnnrt__run_fail(run, QNNRT_E_ARG, slot, "is required%s",
                        slot->tensor->optional ? " by another step" : "");
        return QNNRT__HINT(&run->error, QNNRT_E_ARG,
                           "Omit only inputs and outputs with qnnrt_tensor_info.optional.");
    }
    qnnrt__run_omit(run, found, 1);
    return QNNRT_OK;
}

QNNRT_API qnnrt_result qnnrt_set_dims(qnnrt_run *run, const qnnrt_slot *slot, const uint32_t *dims,
                                      uint32_t rank)
{
    const qnnrt_tensor_info *tensor;
    qnnrt__binding *found = NULL;
    qnnrt__dynamic_slot *of = NULL;
    const qnnrt_result result = qnnrt__dynamic_find(run, slot, &found, &of);
    char given[400], facts[400];
    if (result != QNNRT_OK) return result;
    tensor = slot->tensor;
    if (of != NULL && of->dims == NULL) of = NULL;          /* its dims are fixed */
    if (dims != NULL && (rank != tensor->rank || !qnnrt__dynamic_fits(tensor, dims))) {
        qnnrt__run_fail(run, QNNRT_E_MISMATCH, slot, "is %s, but the dims to set are %s",
                        qnnrt_tensor_text(tensor, facts, sizeof(facts)),
                        qnnrt__dynamic_text(dims, rank, given, sizeof(given)));
        return QNNRT__HINT(&run->error, QNNRT_E_MISMATCH, "%s",
                           of != NULL ? "Change only the dims after \"<=\", to at least 1."
                                      : "Compile the graph with dynamic dims to change them.");
    }
    if (of == NULL) return QNNRT_OK;
    memcpy(of->asked, dims != NULL ? dims : tensor->dims, tensor->rank * sizeof(uint32_t));
    memcpy(of->dims, of->asked, tensor->rank * sizeof(uint32_t));
    qnnrt__dynamic_count(of);
    of->set = dims != NULL;
    return QNNRT_OK;
}

QNNRT_API const uint32_t *qnnrt_get_dims(qnnrt_run *run, const qnnrt_slot *slot, uint32_t *rank)
{
    const qnnrt__binding *found = run != NULL ? qnnrt__run_find(run, slot) : NULL;
    if (rank != NULL) *rank = found != NULL ? slot->tensor->rank : 0;
    if (found != NULL) return found->now->dims;
    if (run != NULL) qnnrt__run_fail_slot(run, slot);
    return NULL;
}

#endif /* QNNRT_DEVICE__IMPL_ONCE */
#endif /* QNNRT_DEVICE_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   First version, from qnnrt.h: heaps of the kernel and anonymous files; op packages; power
           beyond one preset; qnnrt_update(); qnnrt_recover() as qnnrt_model_recover(); dynamic dims
           and optional tensors; desc.share_spill_fill as qnnrt_model_load_shared(); budgets of
           contexts as qnnrt_model_swap().
           Added: qnnrt_run_dynamic(), for runs with dynamic dims that set none.
           Added: qnnrt_device_look() and qnnrt_device_chips().
           Changed: qnnrt_model_swap() frees what is beyond a new budget at once.
           API: qnnrt_device_shared() is qnnrt_device_memory("shared", &desc); QNNRT_DEVICE_API is
           QNNRT_API.
   --------------------------------------------------------------------------------------------- */
