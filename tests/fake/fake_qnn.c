/* fake_qnn.c - a test double of libQnnHtp.so and libQnnSystem.so in one shared object

       cc -std=c99 -D_POSIX_C_SOURCE=200809L -fPIC -shared -o libQnnFake.so tests/fake/fake_qnn.c

   It produces the faults that the genuine libraries do not produce on demand: odd metadata, old
   struct versions, missing functions, calls that fail at their Nth use. It computes nothing: an
   execute fills every output with bytes that follow from the sum of all input bytes, so a test sees
   how tensors are wired.

   The declarations below were written from the ABI notes and not from qnnrt.h: where the two
   disagree, a test fails.

   Binaries  plain text that starts with "FAKEQNN 1"; the grammar is in the README beside this file
   Knobs     environment variable QNNFAKE, read by both getProviders functions; same README
   Target    64-bit, little-endian; single-threaded tests

   Rooms: >>abi >>knobs >>trace >>ledger >>log >>model >>parse >>publish >>profile >>power
          >>backend >>execute >>build >>system >>container >>providers >>stats                 */

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* =====================================================================================
   VENDOR DECLARATIONS                                                             >>abi
   ===================================================================================== */

#define ASSERT(name, cond) typedef char assert_##name[(cond) ? 1 : -1]

typedef uint64_t qerr;                   /* low 16 bits: the code; 0: success */
typedef void (*slot_fn)(void);
typedef void (*log_callback)(const char *format, uint32_t level, uint64_t time, va_list args);

enum { CORE_SLOTS = 72, SYSTEM_SLOTS = 27 };

enum {
    E_NOT_SUPPORTED    = 0x3e8,
    E_MEMORY           = 0x3ea,
    E_BACKEND_ARGUMENT = 0xfa4,
    E_BACKEND_HANDLE   = 0xfab,
    E_CONTEXT_ARGUMENT = 0x1388,
    E_CONTEXT_HANDLE   = 0x138a,
    E_GRAPH_ARGUMENT   = 0x1770,
    E_GRAPH_HANDLE     = 0x1771,
    E_GRAPH_NAME       = 0x1773,
    E_GRAPH_TENSOR     = 0x1774,
    E_VALIDATION       = 0xc26,
    E_PACKAGE_MISSING  = 0xfa5,
    E_PACKAGE_ENTRY    = 0xfa6,
    E_PACKAGE_TWICE    = 0xfa7,
    E_NOT_FINALIZED    = 0x138b,
    E_GET_BINARY       = 0x138f,
    E_LOADED           = 0x3ed,
    E_GRAPH_EMPTY      = 0x1786,
    E_GRAPH_OPEN       = 0x1787,
    E_TENSOR_NAME      = 0x1b5b,
    E_TENSOR_PARAM     = 0x1b5c,
    E_ERROR_HANDLE     = 0x2711,
    E_LOG_ARGUMENT     = 0x2afb,
    E_LOG_HANDLE       = 11004,
    E_PROFILE_HANDLE   = 0x2ee0,
    E_PROFILE_EVENT    = 0x2ee2,
    E_POWER            = 0x32c9,
    E_DEVICE_ARGUMENT  = 1004,
    E_DEVICE_HANDLE    = 14000,
    E_SYSTEM_ARGUMENT  = 0x7531,
    E_MALFORMED        = 0x753a
};

enum { UNDEFINED = 0x7FFFFFFF };         /* the "not given" value of every vendor enum */

struct version { uint32_t major, minor, patch; };
struct api_version { struct version core, backend; };

struct scale_offset { float scale; int32_t offset; };

struct quant {
    uint32_t definition;                 /* 1: there is an encoding, UNDEFINED: there is none */
    uint32_t encoding;
    union {
        struct scale_offset one;                                                      /* 0 */
        struct { int32_t axis; uint32_t count; struct scale_offset *pairs; } axis;    /* 1 */
        struct { uint32_t bits; float scale; int32_t offset; } bw;                    /* 2 */
        struct {
            uint32_t bits;
            int32_t  axis;
            uint32_t count;
            float   *scales;
            int32_t *offsets;            /* NULL means all 0 */
        } bw_axis;                                                                    /* 3 */
        unsigned char raw[32];
    } u;
};

struct tensor {
    uint32_t version;                    /* 1: the struct ends before .dynamic; 2: it is complete */
    struct {
        uint32_t     id;
        const char  *name;
        uint32_t     type, format, dtype;
        struct quant quant;
        uint32_t     rank;
        uint32_t    *dims;
        uint32_t     mem_type;
        void        *data;
        uint32_t     data_size;
        uint8_t     *dynamic;            /* version 2 begins here */
        uint32_t     sparse_type, sparse_elements, sparse_dims;
        uint8_t      is_produced;
    } v;
};

struct param {
    uint32_t    type;                    /* 0: scalar, 1: tensor */
    const char *name;
    union {
        struct { uint32_t dtype; union { float f32; uint32_t u32; uint64_t all; } u; } scalar;
        struct tensor tensor;
    } u;
};

struct op {                              /* by value */
    uint32_t       version;
    const char    *name, *package, *type;
    uint32_t       params_count;
    struct param  *params;
    uint32_t       inputs_count;
    struct tensor *inputs;
    uint32_t       outputs_count;
    struct tensor *outputs;
};

struct config { uint32_t option; union { const uint32_t *custom; uint32_t word; } u; };

struct graph_info {
    uint32_t version;                    /* 1, 2, 3: each appends to the one before */
    struct {
        const char    *name;
        uint32_t       inputs_count;
        struct tensor *inputs;
        uint32_t       outputs_count;
        struct tensor *outputs;
        uint32_t       updateable_count; /* version 2 begins here */
        struct tensor *updateable;
        uint32_t       blob_size;        /* version 3 begins here */
        void          *blob;
        uint32_t       first_op, last_op;
    } v;
};

struct core_info     { uint32_t version; struct { uint32_t id, type; void *extension; } v1; };
struct device_info   { uint32_t version; struct { uint32_t id, type, cores_count;
                                                  struct core_info *cores; void *extension; } v1; };
struct platform_info { uint32_t version; struct { uint32_t count;
                                                  struct device_info *devices; } v1; };

struct binary_info {
    uint32_t version;
    union {
        struct {                         /* 1; version 2 appends platform */
            uint32_t              backend_id;
            const char           *build_id;
            struct version        core, backend;
            const char           *soc_version;
            struct version        hw_version, blob_version;
            uint32_t              hw_blob_size;
            void                 *hw_blob;
            uint64_t              blob_size;
            uint32_t              tensors_count;
            struct tensor        *tensors;
            uint32_t              graphs_count;
            struct graph_info    *graphs;
            struct platform_info *platform;
        } v1;
        struct {                         /* 3; another layout from offset 56 on */
            uint32_t              backend_id;
            const char           *build_id;
            struct version        core, backend;
            const char           *soc_version;
            struct version        blob_version;
            uint64_t              blob_size;
            uint32_t              tensors_count;
            struct tensor        *tensors;
            uint32_t              graphs_count;
            struct graph_info    *graphs;
            struct platform_info *platform;
            uint32_t              metadata_size;
            void                 *metadata;
            uint32_t              soc_model;
        } v3;
    } u;
};

/* Two HTP records follow each other as the blob of a graph: 40 + 72 = 112 bytes. */
struct graph_blob {
    struct { uint32_t version; uint64_t spill; uint32_t vtcm, opt; uint8_t dlbc; uint64_t hvx; } v1;
    struct { uint32_t version; uint64_t native_k, native_v; uint32_t safe_share;
             uint64_t io, opdata, constants, ddr, shared; } v2;
};

struct hw_blob { uint32_t version; struct { uint32_t graph_index; uint64_t spill; } v1; };
struct metadata { uint32_t version, arch; };

struct event { uint32_t type, unit; uint64_t value; const char *name; };
struct extended_event {
    uint32_t version;
    struct {
        uint32_t    type, unit, dtype;
        union { float f; double d; uint64_t u; int32_t i; uint16_t h; int8_t b; } value;
        uint64_t    rest, time;
        const char *name;
    } v1;
};
struct serial_event {                    /* an event in the profile log of the system interface */
    uint32_t kind;
    union { struct event plain; struct extended_event extended; } data;
    struct serial_event *sub;
    uint32_t sub_count;
};
struct serial_data {
    uint32_t version;
    struct { uint64_t begin, end, begin_mem, end_mem; uint32_t method, visibility;
             const char *graph; } header;
    struct serial_event *events;
    uint32_t count;
};
struct serial_target { uint32_t type; const char *name, *folder; };
struct serial_config { uint32_t type; const char *app, *app_version, *backend_version; };

struct power_config { uint32_t option; uint32_t words[16]; };
struct infrastructure {
    uint32_t type;
    qerr (*create)(uint32_t device, uint32_t core, uint32_t *id);
    qerr (*destroy)(uint32_t id);
    qerr (*set)(uint32_t id, const struct power_config *const *configs);
    slot_fn memory;
};

struct core_interface {
    uint32_t           backend_id;
    const char        *name;
    struct api_version api;
    slot_fn            slot[CORE_SLOTS];
};

struct system_interface {
    uint32_t       backend_id;
    const char    *name;
    struct version api;
    slot_fn        slot[SYSTEM_SLOTS];
};

ASSERT(pointer,        sizeof(void *) == 8);
ASSERT(quant,          sizeof(struct quant) == 40);
ASSERT(quant_union,    offsetof(struct quant, u) == 8);
ASSERT(quant_pairs,    offsetof(struct quant, u.axis.pairs) == 16);
ASSERT(quant_scales,   offsetof(struct quant, u.bw_axis.scales) == 24);
ASSERT(quant_offsets,  offsetof(struct quant, u.bw_axis.offsets) == 32);
ASSERT(tensor,         sizeof(struct tensor) == 144);
ASSERT(tensor_id,      offsetof(struct tensor, v.id) == 8);
ASSERT(tensor_name,    offsetof(struct tensor, v.name) == 16);
ASSERT(tensor_type,    offsetof(struct tensor, v.type) == 24);
ASSERT(tensor_dtype,   offsetof(struct tensor, v.dtype) == 32);
ASSERT(tensor_quant,   offsetof(struct tensor, v.quant) == 40);
ASSERT(tensor_rank,    offsetof(struct tensor, v.rank) == 80);
ASSERT(tensor_dims,    offsetof(struct tensor, v.dims) == 88);
ASSERT(tensor_mem,     offsetof(struct tensor, v.mem_type) == 96);
ASSERT(tensor_data,    offsetof(struct tensor, v.data) == 104);
ASSERT(tensor_size,    offsetof(struct tensor, v.data_size) == 112);
ASSERT(tensor_dynamic, offsetof(struct tensor, v.dynamic) == 120);
ASSERT(tensor_sparse,  offsetof(struct tensor, v.sparse_type) == 128);
ASSERT(tensor_made,    offsetof(struct tensor, v.is_produced) == 140);
ASSERT(param,          sizeof(struct param) == 160);
ASSERT(param_value,    offsetof(struct param, u.scalar.u) == 24);
ASSERT(op,             sizeof(struct op) == 80);
ASSERT(op_outputs,     offsetof(struct op, outputs) == 72);
ASSERT(config,         sizeof(struct config) == 16);
ASSERT(graph,          sizeof(struct graph_info) == 88);
ASSERT(graph_upd,      offsetof(struct graph_info, v.updateable_count) == 48);
ASSERT(graph_blob_at,  offsetof(struct graph_info, v.blob_size) == 64);
ASSERT(graph_last_op,  offsetof(struct graph_info, v.last_op) == 84);
ASSERT(blob,           sizeof(struct graph_blob) == 112);
ASSERT(blob_hvx,       offsetof(struct graph_blob, v1.hvx) == 32);
ASSERT(blob_v2,        offsetof(struct graph_blob, v2) == 40);
ASSERT(blob_shared,    offsetof(struct graph_blob, v2.shared) == 40 + 64);
ASSERT(hw,             sizeof(struct hw_blob) == 24);
ASSERT(info,           sizeof(struct binary_info) == 144);
ASSERT(info1_hw,       offsetof(struct binary_info, u.v1.hw_version) == 8 + 48);
ASSERT(info1_hwblob,   offsetof(struct binary_info, u.v1.hw_blob) == 8 + 80);
ASSERT(info1_graphs,   offsetof(struct binary_info, u.v1.graphs) == 8 + 120);
ASSERT(info2_platform, offsetof(struct binary_info, u.v1.platform) == 8 + 128);
ASSERT(info3_blob,     offsetof(struct binary_info, u.v3.blob_size) == 8 + 64);
ASSERT(info3_tensors,  offsetof(struct binary_info, u.v3.tensors) == 8 + 80);
ASSERT(info3_graphs,   offsetof(struct binary_info, u.v3.graphs) == 8 + 96);
ASSERT(info3_metadata, offsetof(struct binary_info, u.v3.metadata) == 8 + 120);
ASSERT(info3_soc,      offsetof(struct binary_info, u.v3.soc_model) == 8 + 128);
ASSERT(device_size,    sizeof(struct device_info) == 40);
ASSERT(core_size,      sizeof(struct core_info) == 24);
ASSERT(core,           sizeof(struct core_interface) == 616);
ASSERT(event,          sizeof(struct event) == 24);
ASSERT(extended,       sizeof(struct extended_event) == 56);
ASSERT(extended_value, offsetof(struct extended_event, v1.value) == 8 + 16);
ASSERT(extended_time,  offsetof(struct extended_event, v1.time) == 8 + 32);
ASSERT(serial_event,   sizeof(struct serial_event) == 80);
ASSERT(serial_sub,     offsetof(struct serial_event, sub) == 64);
ASSERT(serial_data,    sizeof(struct serial_data) == 72);
ASSERT(serial_events,  offsetof(struct serial_data, events) == 56);
ASSERT(serial_target,  sizeof(struct serial_target) == 24);
ASSERT(serial_config,  sizeof(struct serial_config) == 32);
ASSERT(power_config,   sizeof(struct power_config) == 68);
ASSERT(infrastructure, sizeof(struct infrastructure) == 40);
ASSERT(core_table,     offsetof(struct core_interface, slot) == 40);
ASSERT(system_size,    sizeof(struct system_interface) == 248);
ASSERT(system_table,   offsetof(struct system_interface, slot) == 32);

/* =====================================================================================
   KNOBS                                                                         >>knobs
   The settings in QNNFAKE. The text is read again after it changes: the counts of
   fail=function:code:N start again with another text, or with fake_qnn_reset().
   ===================================================================================== */

enum { RULES = 16, KNOB_TEXT = 4096 };

struct rule { const char *function; qerr code; uint64_t nth, seen; };

static struct {
    char           raw[KNOB_TEXT], words[KNOB_TEXT];
    int            loaded;
    struct version core, backend, system;
    const char    *build, *name, *providers, *sysproviders;
    uint32_t       id, info, ginfo, tensor;
    uint32_t       log, lograw, keep, noverify, overrun, devnosup, infra, front, told;
    const char    *events;
    const char    *null[RULES], *zero[RULES];
    struct rule    fail[RULES];
} knobs;

/* Defined in >>providers, where the two tables of functions are. */
static int function_known(const char *name);

static int read_u64(const char *word, int base, uint64_t *out)
{
    char *end = NULL;
    if (word == NULL || word[0] == '\0' || word[0] == '-' || word[0] == '+')
        return 0;
    *out = strtoull(word, &end, base);
    return *end == '\0';
}

static int read_u32(const char *word, int base, uint32_t *out)
{
    uint64_t wide = 0;
    if (!read_u64(word, base, &wide) || wide > UINT32_MAX)
        return 0;
    *out = (uint32_t)wide;
    return 1;
}

static int read_version(const char *word, struct version *out)
{
    memset(out, 0, sizeof(*out));
    return sscanf(word, "%u.%u.%u", &out->major, &out->minor, &out->patch) >= 2;
}

static int add_function(const char *list[RULES], const char *name)
{
    if (!function_known(name))
        return 0;
    for (int i = 0; i < RULES; ++i) {
        if (list[i] == NULL) {
            list[i] = name;
            return 1;
        }
    }
    return 0;
}

/* Split a value of the form function:CODE or function:CODE:N in place. */
static int add_rule(char *value)
{
    char *code = strchr(value, ':');
    char *nth = code != NULL ? strchr(code + 1, ':') : NULL;
    if (code == NULL)
        return 0;
    *code++ = '\0';
    if (nth != NULL)
        *nth++ = '\0';
    for (int i = 0; i < RULES; ++i) {
        struct rule *rule = &knobs.fail[i];
        if (rule->function != NULL)
            continue;
        rule->function = value;
        return function_known(value) && read_u64(code, 0, &rule->code)
            && (nth == NULL || read_u64(nth, 10, &rule->nth));
    }
    return 0;
}

static int set_knob(const char *key, char *value)
{
    const struct { const char *key; uint32_t *number; } numbers[] = {
        { "id", &knobs.id }, { "info", &knobs.info }, { "ginfo", &knobs.ginfo },
        { "tensor", &knobs.tensor }, { "log", &knobs.log }, { "lograw", &knobs.lograw },
        { "keep", &knobs.keep }, { "noverify", &knobs.noverify },
        { "overrun", &knobs.overrun }, { "devnosup", &knobs.devnosup }, { "infra", &knobs.infra },
        { "told", &knobs.told },
        { "front", &knobs.front }
    };
    const struct { const char *key; const char **text; } texts[] = {
        { "build", &knobs.build }, { "name", &knobs.name },
        { "providers", &knobs.providers }, { "sysproviders", &knobs.sysproviders },
        { "events", &knobs.events }
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i)
        if (strcmp(key, numbers[i].key) == 0)
            return read_u32(value, 0, numbers[i].number);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        if (strcmp(key, texts[i].key) == 0) {
            *texts[i].text = value;
            return 1;
        }
    }
    if (strcmp(key, "core") == 0)       return read_version(value, &knobs.core);
    if (strcmp(key, "backendapi") == 0) return read_version(value, &knobs.backend);
    if (strcmp(key, "sysapi") == 0)     return read_version(value, &knobs.system);
    if (strcmp(key, "null") == 0)       return add_function(knobs.null, value);
    if (strcmp(key, "zero") == 0)       return add_function(knobs.zero, value);
    if (strcmp(key, "fail") == 0)       return add_rule(value);
    return 0;
}

/* An unknown knob makes getProviders fail with a message: a test with a typing error must not
   pass. */
static int load_knobs(void)
{
    const char *env = getenv("QNNFAKE");
    char *rest = NULL;
    if (env == NULL)
        env = "";
    if (knobs.loaded && strcmp(env, knobs.raw) == 0)
        return 1;
    memset(&knobs, 0, sizeof(knobs));
    if (strlen(env) >= KNOB_TEXT) {
        fprintf(stderr, "QNNFAKE: longer than %d characters\n", KNOB_TEXT);
        return 0;
    }
    strcpy(knobs.raw, env);
    strcpy(knobs.words, env);
    knobs.core = (struct version){ 2, 40, 0 };
    knobs.backend = (struct version){ 5, 51, 0 };
    knobs.system = (struct version){ 1, 15, 0 };
    knobs.build = "v2.51.0.260929181845";
    knobs.events = "good";
    knobs.name = "FAKE_QTI";
    knobs.providers = knobs.sysproviders = "1";
    knobs.id = 6;
    knobs.info = knobs.ginfo = 3;
    knobs.tensor = 1;
    for (char *word = strtok_r(knobs.words, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        static char one[] = "1";
        char *value = strchr(word, '=');
        if (value != NULL)
            *value++ = '\0';
        if (!set_knob(word, value != NULL ? value : one)) {
            fprintf(stderr, "QNNFAKE: not understood: %s=%s\n", word, value != NULL ? value : "");
            return 0;
        }
    }
    knobs.loaded = 1;
    return 1;
}

static int listed(const char *const list[RULES], const char *name)
{
    for (int i = 0; i < RULES && list[i] != NULL; ++i)
        if (strcmp(list[i], name) == 0)
            return 1;
    return 0;
}

static int zeroed(const char *name)
{
    return listed(knobs.zero, name);
}

/* =====================================================================================
   TRACE AND COUNTS                                                              >>trace
   ===================================================================================== */

enum { TRACE_SIZE = 65536 };

static char   trace_text[TRACE_SIZE];
static size_t trace_used;

static struct {
    uint64_t calls, executes, retrieves, wrong_frees, last_output, profiled;
} counts;

/* When the text is full, drop its older half up to the end of a line. */
static void trace_add(const char *text)
{
    size_t size = strlen(text);
    if (size > TRACE_SIZE / 4)
        size = TRACE_SIZE / 4;
    if (trace_used + size + 1 > TRACE_SIZE) {
        const char *cut = memchr(trace_text + TRACE_SIZE / 2, '\n', trace_used - TRACE_SIZE / 2);
        size_t gone = cut != NULL ? (size_t)(cut + 1 - trace_text) : trace_used;
        trace_used -= gone;
        memmove(trace_text, trace_text + gone, trace_used);
    }
    memcpy(trace_text + trace_used, text, size);
    trace_used += size;
    trace_text[trace_used] = '\0';
}

/* Write a name from a test. Bytes that would end a line or a word become %XX. */
static void trace_name(const char *name)
{
    if (name == NULL) {
        trace_add("(null)");
        return;
    }
    for (; *name != '\0'; ++name) {
        char one[8] = { *name, '\0' };
        unsigned char c = (unsigned char)*name;
        if (c <= ' ' || c >= 127 || c == '%' || c == '=')
            snprintf(one, sizeof(one), "%%%02X", c);
        trace_add(one);
    }
}

/* Return the code that a fail= rule sets for this call of the function, or 0. */
static qerr ask_rules(const char *name)
{
    qerr code = 0;
    for (int i = 0; i < RULES && knobs.fail[i].function != NULL; ++i) {
        struct rule *rule = &knobs.fail[i];
        if (strcmp(rule->function, name) != 0)
            continue;
        ++rule->seen;
        if (code == 0 && (rule->nth == 0 || rule->seen == rule->nth))
            code = rule->code;
    }
    return code;
}

/* Start of every slot: count the call, write the trace, return the code to fail with. */
static qerr enter(const char *name)
{
    trace_add(name);
    trace_add("\n");
    ++counts.calls;
    return ask_rules(name);
}

/* =====================================================================================
   LEDGER                                                                       >>ledger
   Every live handle. A handle is a number that is used once and is never an address: a stale handle
   is recognised, and code that dereferences a handle crashes at once.
   ===================================================================================== */

enum kind { LOG = 1, BACKEND, DEVICE, CONTEXT, SYSTEM_CONTEXT, GRAPH, PROFILE, POWER, TARGET, CONTAINER };

struct model;
struct graph;
static void model_free(struct model *model);

struct object {
    struct object *next, **link;                       /* of all objects, newest first */
    struct object *same;                               /* the next in its list of by_handle */
    enum kind      kind;
    void          *handle;
    struct object *log, *backend, *device, *context;   /* the object it was made with, may be NULL */
    log_callback   callback;                           /* log */
    uint32_t       level;
    struct model  *model;                              /* context; all models, system context */
    const void    *binary;                             /* context, with keep=1 */
    uint64_t       binary_size, checksum;
    int            device_gone;
    struct graph  *graph;                              /* graph, owned by the model */
    struct fake_event *events;                         /* profile: of its last use */
    uint32_t       events_count;
    int            optrace;
    FILE          *file;                               /* target */
    char          *text;                               /* backend: op packages; container: graphs */
};

enum { LISTS = 1024 };

static struct object *live, *by_handle[LISTS];
static uint64_t       serial;

static struct object **list_of(const void *handle)
{
    return &by_handle[((uintptr_t)handle >> 4) % LISTS];
}

/* The value that a failing create leaves in its out parameter: it looks like a handle but is not
   valid. */
static void *const bogus = (void *)(uintptr_t)0xFA4EBADBADBADBAFu;

static struct object *object_new(enum kind kind)
{
    struct object *o = calloc(1, sizeof(*o));
    if (o == NULL)
        return NULL;
    o->kind = kind;
    o->handle = (void *)(uintptr_t)(0xFA4E000000000000u | ++serial << 4 | (unsigned)kind);
    o->next = live;
    o->link = &live;
    if (live != NULL)
        live->link = &o->next;
    live = o;
    o->same = *list_of(o->handle);
    *list_of(o->handle) = o;
    return o;
}

static struct object *object_find(enum kind kind, const void *handle)
{
    for (struct object *o = *list_of(handle); o != NULL; o = o->same)
        if (o->kind == kind && o->handle == handle)
            return o;
    return NULL;
}

static struct object *object_child(enum kind kind, const struct object *parent)
{
    for (struct object *o = live; o != NULL; o = o->next)
        if (o->kind == kind && (o->log == parent || o->backend == parent || o->device == parent
                                || o->context == parent))
            return o;
    return NULL;
}

static struct object *object_kind(enum kind kind)
{
    for (struct object *o = live; o != NULL; o = o->next)
        if (o->kind == kind)
            return o;
    return NULL;
}

/* Freeing a context frees its graphs, and freeing a backend its contexts, as in the genuine
   library. */
static void object_drop(struct object *gone)
{
    struct object *o, **link = list_of(gone->handle);
    while (gone->kind == CONTEXT && (o = object_child(GRAPH, gone)) != NULL)
        object_drop(o);
    while (gone->kind == BACKEND && (o = object_child(CONTEXT, gone)) != NULL)
        object_drop(o);
    for (o = gone->kind == LOG || gone->kind == DEVICE ? live : NULL; o != NULL; o = o->next) {
        if (o->log == gone)
            o->log = NULL;
        if (o->device == gone) {
            o->device = NULL;
            o->device_gone = 1;
        }
    }
    while (*link != gone)
        link = &(*link)->same;
    *link = gone->same;
    *gone->link = gone->next;
    if (gone->next != NULL)
        gone->next->link = gone->link;
    model_free(gone->model);
    free(gone->events);
    if (gone->file != NULL)
        fclose(gone->file);
    free(gone->text);
    free(gone);
}

/* The body of every free function. A fail= rule changes only the code: the object is freed
   anyway. */
static qerr object_free(const char *name, enum kind kind, const void *handle, qerr unknown)
{
    qerr code = enter(name);
    struct object *o = object_find(kind, handle);
    if (o == NULL) {
        ++counts.wrong_frees;
        return code != 0 ? code : unknown;
    }
    if ((kind == LOG && (object_child(BACKEND, o) != NULL || object_child(DEVICE, o) != NULL))
        || ((kind == BACKEND || kind == DEVICE) && object_child(CONTEXT, o) != NULL)
        || (kind == BACKEND && object_child(PROFILE, o) != NULL)
        || (kind == DEVICE && object_kind(POWER) != NULL))
        ++counts.wrong_frees;
    object_drop(o);
    return code;
}

/* =====================================================================================
   LOG                                                                             >>log
   ===================================================================================== */

static void say(const struct object *log, uint32_t level, const char *format, ...)
{
    static uint64_t stamp;
    va_list args;
    if (log == NULL || log->callback == NULL || level > log->level)
        return;
    va_start(args, format);
    log->callback(format, level, ++stamp, args);
    va_end(args);
}

static void say_hostile(const struct object *log)
{
    enum { LENGTH = 5000 };
    static char text[LENGTH + 1];
    const char head[] = "fake: \x1b[2J\x1b[31m raw %n %s %x \r\x07\x08 \xff\xfe end\nsecond line ";
    memset(text, 'A', LENGTH);
    memcpy(text, head, sizeof(head) - 1);
    say(log, 1, "%s\n", text);
}

static qerr log_create(log_callback callback, uint32_t level, void **out)
{
    qerr code = enter("logCreate");
    struct object *o;
    if (knobs.devnosup)
        return E_NOT_SUPPORTED;
    if (out == NULL || level < 1 || level > 5)
        return E_LOG_ARGUMENT;
    *out = code != 0 ? bogus : NULL;
    if (code != 0 || zeroed("logCreate"))
        return code;
    if ((o = object_new(LOG)) == NULL)
        return E_MEMORY;
    o->callback = callback;
    o->level = level;
    *out = o->handle;
    return 0;
}

static qerr log_set_level(void *handle, uint32_t level)
{
    qerr code = enter("logSetLogLevel");
    struct object *o = object_find(LOG, handle);
    if (code != 0)
        return code;
    if (o == NULL)
        return E_LOG_HANDLE;
    if (level < 1 || level > 5)
        return E_LOG_ARGUMENT;
    o->level = level;
    return 0;
}

static qerr log_free(void *handle)
{
    return object_free("logFree", LOG, handle, E_LOG_HANDLE);
}

/* =====================================================================================
   MODEL                                                                         >>model
   One parsed text. All its memory is in one list and is freed with the handle.
   ===================================================================================== */

struct block { struct block *next; uint64_t bytes[]; };

struct tensor_def {
    struct tensor_def *next;
    char              *name;
    uint32_t           id, type, format, dtype, rank, rank_told;
    uint32_t          *dims;
    uint8_t           *dynamic;          /* [rank] or NULL */
    struct quant       quant;
    int                null_name, null_dims;
    /* 1: a node writes it, in a graph that was built by calls. */
    int                written;
};

struct tensor_list {
    struct tensor_def *first, **last;
    uint32_t           count, count_told;
    int                lie, null;        /* lie: count_told is returned; null: no array */
};

struct graph {
    struct graph      *next;
    char              *name;
    int                null_name, has_blob;
    struct tensor_list in, out, upd;
    /* Of a graph that was built by calls: NATIVE, STATIC, NULL. */
    struct tensor_list inner;
    int                built, finalized;
    uint32_t           nodes;
    char              *uncompiled;       /* name of a node of the type "Uncompiled", or NULL */
    struct graph_blob  blob;
    int                lie_blob;
    uint32_t           blob_bytes;
};

struct model {
    struct model      *next;             /* further models of the same system context */
    struct block      *blocks;
    uint32_t           backend_id, soc, arch, graphs_count, graphs_told;
    const char        *build;
    struct version     core, backend, blob;
    int                has_arch, lie_graphs, null_graphs, lie_arch;
    uint32_t           arch_version;
    struct graph      *graphs, **graphs_last;
    struct tensor_list ctx;
    uint64_t           text_size;
    int                line;             /* position of the parser */
    int                built;            /* 1: made by calls, not from a text */
    uint32_t           ids;              /* number of tensor ids that were given out */
};

static void *model_alloc(struct model *model, size_t size)
{
    struct block *block = calloc(1, sizeof(*block) + size);
    if (block == NULL)
        return NULL;
    block->next = model->blocks;
    model->blocks = block;
    return block->bytes;
}

static void *model_array(struct model *model, uint32_t count, size_t size)
{
    return model_alloc(model, (size_t)count * size);
}

static void model_free(struct model *model)
{
    while (model != NULL) {
        struct model *next = model->next;
        while (model->blocks != NULL) {
            struct block *block = model->blocks;
            model->blocks = block->next;
            free(block);
        }
        free(model);
        model = next;
    }
}

/* Return the bits of one element, or 0 for a type without a size. */
static uint32_t dtype_bits(uint32_t dtype)
{
    if (dtype > 0x0508)
        return 0;
    switch (dtype & 0xFF) {
    case 0x02: return 2;
    case 0x04: return 4;
    case 0x08: return 8;
    case 0x16: return 16;
    case 0x26: return 16;                /* bfloat16 */
    case 0x32: return 32;
    case 0x64: return 64;
    default:   return 0;
    }
}

/* Return the bytes of the packed tensor, or UINT64_MAX on overflow. */
static uint64_t tensor_bytes(const struct tensor_def *def)
{
    uint64_t count = 1, bits = dtype_bits(def->dtype);
    for (uint32_t i = 0; i < def->rank; ++i) {
        if (def->dims[i] != 0 && count > UINT32_MAX)
            return UINT64_MAX;
        count *= def->dims[i];
    }
    if (bits == 0 || count > UINT64_MAX / 64 - 1)
        return UINT64_MAX;
    return (count * bits + 7) / 8;
}

/* =====================================================================================
   PARSER                                                                        >>parse
   Functions return 1, or 0 for a line that is not valid (or when memory is out).
   ===================================================================================== */

/* Return the next word of the line, cut out in place, or NULL. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t\r");
    char *end = word + strcspn(word, " \t\r");
    if (*word == '\0')
        return NULL;
    *rest = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return word;
}

static int next_u32(char **rest, uint32_t *out)
{
    return read_u32(next_word(rest), 10, out);
}

static int next_i32(char **rest, int32_t *out)
{
    char *end = NULL, *word = next_word(rest);
    long value = word != NULL ? strtol(word, &end, 10) : 0;
    if (word == NULL || *end != '\0' || value < INT32_MIN || value > INT32_MAX)
        return 0;
    *out = (int32_t)value;
    return 1;
}

static int next_float(char **rest, float *out)
{
    char *end = NULL, *word = next_word(rest);
    if (word == NULL)
        return 0;
    *out = strtof(word, &end);           /* nan and inf are allowed */
    return *end == '\0';
}

static int next_version(char **rest, struct version *out)
{
    return next_u32(rest, &out->major) && next_u32(rest, &out->minor)
        && next_u32(rest, &out->patch);
}

/* Return the next name of the line: %XX is one byte; a single % is the empty name. */
static char *next_name(struct model *model, char **rest)
{
    char *word = next_word(rest), *name, *to;
    if (word == NULL || (name = to = model_alloc(model, strlen(word) + 1)) == NULL)
        return NULL;
    if (strcmp(word, "%") == 0)
        return name;
    while (*word != '\0') {
        char hex[3] = { 0 };
        uint32_t byte = 0;
        if (*word != '%') {
            *to++ = *word++;
            continue;
        }
        hex[0] = word[1];
        hex[1] = word[1] != '\0' ? word[2] : '\0';
        if (hex[1] == '\0' || !read_u32(hex, 16, &byte) || byte == 0)
            return NULL;
        *to++ = (char)(unsigned char)byte;
        word += 3;
    }
    return name;
}

static int parse_encoding(struct model *model, char **rest, struct quant *q)
{
    const char *word = next_word(rest);
    if (word == NULL)
        return 0;
    q->definition = 1;
    if (strcmp(word, "-") == 0) {
        q->definition = q->encoding = UNDEFINED;
        return 1;
    }
    if (strcmp(word, "s") == 0) {
        q->encoding = 0;
        return next_float(rest, &q->u.one.scale) && next_i32(rest, &q->u.one.offset);
    }
    if (strcmp(word, "a") == 0) {
        q->encoding = 1;
        if (!next_i32(rest, &q->u.axis.axis) || !next_u32(rest, &q->u.axis.count)
            || q->u.axis.count > model->text_size)
            return 0;
        q->u.axis.pairs = model_array(model, q->u.axis.count, sizeof(struct scale_offset));
        for (uint32_t i = 0; i < q->u.axis.count; ++i)
            if (q->u.axis.pairs == NULL || !next_float(rest, &q->u.axis.pairs[i].scale)
                || !next_i32(rest, &q->u.axis.pairs[i].offset))
                return 0;
        return 1;
    }
    if (strcmp(word, "b") == 0) {
        q->encoding = 2;
        return next_u32(rest, &q->u.bw.bits) && next_float(rest, &q->u.bw.scale)
            && next_i32(rest, &q->u.bw.offset);
    }
    if (strcmp(word, "w") == 0) {
        q->encoding = 3;
        if (!next_u32(rest, &q->u.bw_axis.bits) || !next_i32(rest, &q->u.bw_axis.axis)
            || !next_u32(rest, &q->u.bw_axis.count) || q->u.bw_axis.count > model->text_size)
            return 0;
        q->u.bw_axis.scales = model_array(model, q->u.bw_axis.count, sizeof(float));
        q->u.bw_axis.offsets = model_array(model, q->u.bw_axis.count, sizeof(int32_t));
        for (uint32_t i = 0; i < q->u.bw_axis.count; ++i)
            if (q->u.bw_axis.scales == NULL || q->u.bw_axis.offsets == NULL
                || !next_float(rest, &q->u.bw_axis.scales[i])
                || !next_i32(rest, &q->u.bw_axis.offsets[i]))
                return 0;
        return 1;
    }
    return strcmp(word, "e") == 0 && next_u32(rest, &q->encoding);
}

static int parse_dynamic(struct model *model, const char *flags, struct tensor_def *def)
{
    if (strlen(flags) + 1 != (size_t)def->rank * 2)
        return 0;
    if ((def->dynamic = model_array(model, def->rank, 1)) == NULL)
        return 0;
    for (uint32_t i = 0; i < def->rank; ++i)
        def->dynamic[i] = (uint8_t)(flags[2 * i] == '1');
    return 1;
}

static int parse_tensor(struct model *model, char **rest, struct tensor_list *list, uint32_t type)
{
    struct tensor_def *def = model_alloc(model, sizeof(*def));
    const char *word;
    if (def == NULL || (def->name = next_name(model, rest)) == NULL || !next_u32(rest, &def->id)
        || !read_u32(next_word(rest), 16, &def->dtype) || !next_u32(rest, &def->rank)
        || def->rank > model->text_size)
        return 0;
    def->type = type;
    def->rank_told = def->rank;
    if ((def->dims = model_array(model, def->rank, sizeof(uint32_t))) == NULL)
        return 0;
    for (uint32_t i = 0; i < def->rank; ++i)
        if (!next_u32(rest, &def->dims[i]))
            return 0;
    if (!parse_encoding(model, rest, &def->quant))
        return 0;
    while ((word = next_word(rest)) != NULL) {
        struct quant *q = &def->quant;
        if (strncmp(word, "type=", 5) == 0 && read_u32(word + 5, 0, &def->type))
            continue;
        if (strncmp(word, "format=", 7) == 0 && read_u32(word + 7, 0, &def->format))
            continue;
        if (strncmp(word, "rank=", 5) == 0 && read_u32(word + 5, 0, &def->rank_told))
            continue;
        if (strncmp(word, "dyn=", 4) == 0 && parse_dynamic(model, word + 4, def))
            continue;
        if (strcmp(word, "nullname") == 0)
            def->null_name = 1;
        else if (strcmp(word, "nulldims") == 0)
            def->null_dims = 1;
        else if (strcmp(word, "nullscales") == 0 && q->encoding == 1)
            q->u.axis.pairs = NULL;
        else if (strcmp(word, "nullscales") == 0 && q->encoding == 3)
            q->u.bw_axis.scales = NULL;
        else if (strcmp(word, "nulloffsets") == 0 && q->encoding == 3)
            q->u.bw_axis.offsets = NULL;
        else
            return 0;
    }
    if (list->last == NULL)
        list->last = &list->first;
    *list->last = def;
    list->last = &def->next;
    ++list->count;
    return 1;
}

static int parse_graph(struct model *model, char **rest, struct graph **out)
{
    struct graph *graph = model_alloc(model, sizeof(*graph));
    const char *word;
    if (graph == NULL || (graph->name = next_name(model, rest)) == NULL)
        return 0;
    if ((word = next_word(rest)) != NULL) {
        if (strcmp(word, "nullname") != 0)
            return 0;
        graph->null_name = 1;
    }
    graph->blob.v1.version = 1;
    graph->blob.v2.version = 2;
    *model->graphs_last = graph;
    model->graphs_last = &graph->next;
    ++model->graphs_count;
    *out = graph;
    return 1;
}

/* Read lie WHAT [N]: the metadata reports N, or NULL, and the true value stays unchanged. */
static int parse_lie(struct model *model, struct graph *graph, char **rest)
{
    const char *what = next_word(rest);
    struct tensor_list *list;
    if (what == NULL)
        return 0;
    if (strcmp(what, "numgraphs") == 0) {
        model->lie_graphs = 1;
        return next_u32(rest, &model->graphs_told);
    }
    if (strcmp(what, "nullgraphs") == 0) {
        model->null_graphs = 1;
        return 1;
    }
    if (strcmp(what, "archversion") == 0) {
        model->lie_arch = 1;
        return next_u32(rest, &model->arch_version);
    }
    if (graph != NULL && strcmp(what, "blob1") == 0)
        return next_u32(rest, &graph->blob.v1.version);
    if (graph != NULL && strcmp(what, "blob2") == 0)
        return next_u32(rest, &graph->blob.v2.version);
    if (graph != NULL && strcmp(what, "blobbytes") == 0) {
        graph->lie_blob = 1;
        return next_u32(rest, &graph->blob_bytes);
    }
    if (strcmp(what, "numctx") == 0 || strcmp(what, "nullctx") == 0)
        list = &model->ctx;
    else if (graph == NULL)
        return 0;
    else if (strcmp(what, "numinputs") == 0 || strcmp(what, "nullinputs") == 0)
        list = &graph->in;
    else if (strcmp(what, "numoutputs") == 0 || strcmp(what, "nulloutputs") == 0)
        list = &graph->out;
    else if (strcmp(what, "numupd") == 0 || strcmp(what, "nullupd") == 0)
        list = &graph->upd;
    else
        return 0;
    if (strncmp(what, "null", 4) == 0) {
        list->null = 1;
        return 1;
    }
    list->lie = 1;
    return next_u32(rest, &list->count_told);
}

/* Read a fact of the graph blob. */
static int parse_fact(struct graph *graph, const char *key, char **rest)
{
    struct graph_blob *b = &graph->blob;
    const struct { const char *key; uint64_t *wide; uint32_t *word; } facts[] = {
        { "spill", &b->v1.spill, NULL },     { "vtcm", NULL, &b->v1.vtcm },
        { "opt", NULL, &b->v1.opt },         { "hvx", &b->v1.hvx, NULL },
        { "io", &b->v2.io, NULL },           { "opdata", &b->v2.opdata, NULL },
        { "const", &b->v2.constants, NULL }, { "ddr", &b->v2.ddr, NULL },
        { "shared", &b->v2.shared, NULL }
    };
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); ++i) {
        if (strcmp(key, facts[i].key) != 0)
            continue;
        graph->has_blob = 1;
        return facts[i].wide != NULL ? read_u64(next_word(rest), 10, facts[i].wide)
                                     : next_u32(rest, facts[i].word);
    }
    return 0;
}

static int parse_line(struct model *model, struct graph **graph, char *line)
{
    char *rest = line, *name;
    const char *key = next_word(&rest);
    int ok;
    if (key == NULL || key[0] == '#')
        return 1;
    if (strcmp(key, "backend") == 0) {
        ok = next_u32(&rest, &model->backend_id);
    } else if (strcmp(key, "build") == 0) {
        ok = (name = next_name(model, &rest)) != NULL;
        if (ok)
            model->build = strcmp(name, "-") == 0 ? "" : strcmp(name, "null") == 0 ? NULL : name;
    } else if (strcmp(key, "core") == 0) {
        ok = next_version(&rest, &model->core);
    } else if (strcmp(key, "backendapi") == 0) {
        ok = next_version(&rest, &model->backend);
    } else if (strcmp(key, "blob") == 0) {
        ok = next_version(&rest, &model->blob);
    } else if (strcmp(key, "soc") == 0) {
        ok = next_u32(&rest, &model->soc);
    } else if (strcmp(key, "arch") == 0) {
        model->has_arch = 1;
        ok = next_u32(&rest, &model->arch);
    } else if (strcmp(key, "graph") == 0) {
        ok = parse_graph(model, &rest, graph);
    } else if (strcmp(key, "ctxtensor") == 0) {
        ok = parse_tensor(model, &rest, &model->ctx, 2);
    } else if (strcmp(key, "lie") == 0) {
        ok = parse_lie(model, *graph, &rest);
    } else if (*graph == NULL) {
        ok = 0;
    } else if (strcmp(key, "in") == 0) {
        ok = parse_tensor(model, &rest, &(*graph)->in, 0);
    } else if (strcmp(key, "out") == 0) {
        ok = parse_tensor(model, &rest, &(*graph)->out, 1);
    } else if (strcmp(key, "upd") == 0) {
        ok = parse_tensor(model, &rest, &(*graph)->upd, 6);
    } else {
        ok = parse_fact(*graph, key, &rest);
    }
    return ok && next_word(&rest) == NULL;
}

/* Parse a text. On failure *bad_line is the number of the line (0: the text is not a model). */
static qerr parse_text(const void *data, uint64_t size, struct model **out, int *bad_line)
{
    static const char head[] = "FAKEQNN 1";
    struct model *model;
    struct graph *graph = NULL;
    char *text, *line, *end;
    locale_t plain, before;
    int ok = 1;

    *out = NULL;
    *bad_line = 0;
    if (size < sizeof(head) - 1 || memcmp(data, head, sizeof(head) - 1) != 0
        || memchr(data, '\0', size) != NULL)
        return E_MALFORMED;
    if ((model = calloc(1, sizeof(*model))) == NULL)
        return E_MEMORY;
    model->graphs_last = &model->graphs;
    model->backend_id = 6;
    model->build = "v2.51.0.260929181845";
    model->core = (struct version){ 2, 40, 0 };
    model->backend = (struct version){ 5, 51, 0 };
    model->blob = (struct version){ 4, 0, 6 };
    model->text_size = size;
    if ((text = model_alloc(model, size + 1)) == NULL) {
        model_free(model);
        return E_MEMORY;
    }
    memcpy(text, data, size);

    /* The host may have set a locale that writes 0.5 as 0,5. */
    plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    for (line = text; ok && line != NULL; line = end) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end++ = '\0';
        if (++model->line > 1)
            ok = parse_line(model, &graph, line);
        else
            ok = line[sizeof(head) - 1 + strspn(line + sizeof(head) - 1, " \t\r")] == '\0';
    }
    if (plain != (locale_t)0) {
        uselocale(before);
        freelocale(plain);
    }
    if (!ok) {
        *bad_line = model->line;
        model_free(model);
        return E_MALFORMED;
    }
    *out = model;
    return 0;
}

/* =====================================================================================
   PUBLISHING                                                                  >>publish
   The parsed text as the vendor's structs. Fields that a struct version does not have are filled
   with 0xA5, so that a test detects code that reads one.
   ===================================================================================== */

static void poison(void *object, size_t from, size_t to)
{
    memset((char *)object + from, 0xA5, to - from);
}

static int publish_tensors(struct model *model, const struct tensor_list *list,
                           uint32_t *count, struct tensor **out)
{
    const struct tensor_def *def = list->first;
    struct tensor *tensors = NULL;
    if (list->count != 0) {
        tensors = model_array(model, list->count, sizeof(*tensors));
        if (tensors == NULL)
            return 0;
    }
    for (uint32_t i = 0; i < list->count; ++i, def = def->next) {
        struct tensor *t = &tensors[i];
        t->version = knobs.tensor;
        t->v.id = def->id;
        t->v.name = def->null_name ? NULL : def->name;
        t->v.type = def->type;
        t->v.format = def->format;
        t->v.dtype = def->dtype;
        t->v.quant = def->quant;
        t->v.rank = def->rank_told;
        t->v.dims = def->null_dims || def->rank == 0 ? NULL : def->dims;
        t->v.dynamic = def->dynamic;
        t->v.sparse_type = UNDEFINED;
        if (knobs.tensor == 1)
            poison(t, offsetof(struct tensor, v.dynamic), sizeof(*t));
    }
    *count = list->lie ? list->count_told : list->count;
    *out = list->null ? NULL : tensors;
    return 1;
}

static int publish_graph(struct model *model, struct graph *graph, struct graph_info *info)
{
    if (!publish_tensors(model, &graph->in, &info->v.inputs_count, &info->v.inputs)
        || !publish_tensors(model, &graph->out, &info->v.outputs_count, &info->v.outputs)
        || !publish_tensors(model, &graph->upd, &info->v.updateable_count, &info->v.updateable))
        return 0;
    info->version = knobs.ginfo;
    info->v.name = graph->null_name ? NULL : graph->name;
    if (graph->has_blob) {
        info->v.blob_size = graph->lie_blob ? graph->blob_bytes : (uint32_t)sizeof(graph->blob);
        if (info->v.blob_size > sizeof(graph->blob)
            || (info->v.blob = model_alloc(model, info->v.blob_size)) == NULL)
            return 0;
        memcpy(info->v.blob, &graph->blob, info->v.blob_size);
    }
    if (knobs.ginfo == 1)
        poison(info, offsetof(struct graph_info, v.updateable_count), sizeof(*info));
    if (knobs.ginfo == 2)
        poison(info, offsetof(struct graph_info, v.blob_size), sizeof(*info));
    return 1;
}

static struct binary_info *publish(struct model *model)
{
    static struct core_info     core     = { 1, { 0, 0, NULL } };
    static struct device_info   device   = { 1, { 0, 0, 1, &core, NULL } };
    static struct platform_info platform = { 1, { 1, &device } };
    struct binary_info *info = model_alloc(model, sizeof(*info));
    struct graph_info *graphs = model_array(model, model->graphs_count, sizeof(*graphs));
    struct graph_info *at = graphs;
    struct tensor *tensors = NULL;
    uint32_t tensors_count = 0, graphs_count = model->graphs_count;

    if (info == NULL || graphs == NULL
        || !publish_tensors(model, &model->ctx, &tensors_count, &tensors))
        return NULL;
    for (struct graph *graph = model->graphs; graph != NULL; graph = graph->next)
        if (!publish_graph(model, graph, at++))
            return NULL;
    if (model->lie_graphs)
        graphs_count = model->graphs_told;
    if (model->null_graphs || model->graphs_count == 0)
        graphs = NULL;

    info->version = knobs.info;
    if (knobs.info == 1 || knobs.info == 2) {
        struct hw_blob *hw = model_alloc(model, sizeof(*hw));
        if (hw == NULL)
            return NULL;
        hw->version = 1;
        hw->v1.spill = model->graphs != NULL ? model->graphs->blob.v1.spill : 0;
        info->u.v1.backend_id = model->backend_id;
        info->u.v1.build_id = model->build;
        info->u.v1.core = model->core;
        info->u.v1.backend = model->backend;
        info->u.v1.soc_version = "";
        info->u.v1.hw_version = (struct version){ 1, 0, 0 };
        info->u.v1.blob_version = model->blob;
        info->u.v1.hw_blob_size = sizeof(*hw);
        info->u.v1.hw_blob = hw;
        info->u.v1.blob_size = model->text_size;
        info->u.v1.tensors_count = tensors_count;
        info->u.v1.tensors = tensors;
        info->u.v1.graphs_count = graphs_count;
        info->u.v1.graphs = graphs;
        info->u.v1.platform = &platform;
        if (knobs.info == 1)
            poison(info, offsetof(struct binary_info, u.v1.platform), sizeof(*info));
        return info;
    }
    info->u.v3.backend_id = model->backend_id;
    info->u.v3.build_id = model->build;
    info->u.v3.core = model->core;
    info->u.v3.backend = model->backend;
    info->u.v3.soc_version = "";
    info->u.v3.blob_version = model->blob;
    info->u.v3.blob_size = model->text_size;
    info->u.v3.tensors_count = tensors_count;
    info->u.v3.tensors = tensors;
    info->u.v3.graphs_count = graphs_count;
    info->u.v3.graphs = graphs;
    info->u.v3.platform = &platform;
    info->u.v3.soc_model = model->soc;
    if (model->has_arch) {
        struct metadata *metadata = model_alloc(model, sizeof(*metadata));
        if (metadata == NULL)
            return NULL;
        metadata->version = model->lie_arch ? model->arch_version : 1;
        metadata->arch = model->arch;
        info->u.v3.metadata_size = sizeof(*metadata);
        info->u.v3.metadata = metadata;
    }
    return info;
}

/* =====================================================================================
   PROFILE                                                                     >>profile
   Events are numbers: the serial of the profile's last use, then the index. A request for events of
   an earlier use fails. The knob events= of QNNFAKE changes the answers.
   ===================================================================================== */

enum { EVENT_NAME = 96, ENDLESS = 0xE0D1E00, BUSH_DEPTH = 6, BUSH_WIDTH = 22 };

struct fake_event {
    uint32_t type, unit, parent;         /* parent: index + 1; 0: none */
    uint64_t value, id;
    char     name[EVENT_NAME];
};

static int events_are(const char *how)
{
    return strcmp(knobs.events, how) == 0;
}

static struct object *profile_find(const void *handle)
{
    return object_find(PROFILE, handle);
}

static qerr profile_create(void *backend, uint32_t level, void **out)
{
    qerr code = enter("profileCreate");
    struct object *o;
    if (out == NULL || object_find(BACKEND, backend) == NULL)
        return code != 0 ? code : E_PROFILE_HANDLE;
    *out = code != 0 ? bogus : NULL;
    if (code != 0 || zeroed("profileCreate"))
        return code;
    if ((o = object_new(PROFILE)) == NULL)
        return E_MEMORY;
    o->backend = object_find(BACKEND, backend);
    o->level = level;
    *out = o->handle;
    return 0;
}

struct profile_config { uint32_t option; union { uint64_t most; uint8_t optrace; } u; };

static qerr profile_set_config(void *handle, const struct profile_config *const *configs)
{
    qerr code = enter("profileSetConfig");
    struct object *o = profile_find(handle);
    if (code != 0)
        return code;
    if (o == NULL || configs == NULL)
        return E_PROFILE_HANDLE;
    for (; *configs != NULL; ++configs) {
        if ((*configs)->option != 2)
            return E_NOT_SUPPORTED;
        o->optrace = (*configs)->u.optrace != 0;
    }
    return 0;
}

static void event_add(struct object *o, uint32_t parent, uint32_t type, uint32_t unit, uint64_t value,
                      const char *before, const char *name, const char *behind)
{
    struct fake_event *e = &o->events[o->events_count++];
    e->type = type;
    e->unit = unit;
    e->value = value;
    e->parent = parent;
    e->id = serial << 16 | o->events_count;
    snprintf(e->name, EVENT_NAME, "%.16s%.40s%.24s", before, name, behind);
}

/* Make the events of a new use of the profile. Their values contain the number of the execute.
   Nodes are named like the graph's outputs. */
static void profile_use(struct object *o, const struct graph *graph)
{
    uint32_t nodes = 0, parent;
    const struct tensor_def *def;
    if (graph != NULL)
        nodes = graph->out.count;
    free(o->events);
    o->events_count = 0;
    o->events = calloc((size_t)nodes + 8, sizeof(*o->events));
    ++serial;
    if (o->events == NULL || events_are("none"))
        return;
    if (graph == NULL) {
        event_add(o, 0, 1004, 1, 7, "", "Accelerator (load binary) time", "");
        event_add(o, 0, 100, 1, 9, "", "QNN (load binary) time", "");
        return;
    }
    event_add(o, 0, 8001, 4, 4, "", "Number of HVX threads used", "");
    if (o->level >= 2) {
        event_add(o, 0, 3003, 3, 1000 * counts.executes, "", "Accelerator (execute) time", " (cycles)");
        parent = o->events_count;
        event_add(o, parent, 404, 3, 10, "", "Input OpId_2", " (cycles)");
        if (events_are("waits"))
            event_add(o, o->events_count, 5001, 3, 4, "", "Wait", " (cycles)");
        for (def = graph->out.first; def != NULL; def = def->next)
            event_add(o, parent, 404, 3, def->id, events_are("cpu") ? "_" : "", def->name,
                      events_are("cpu") || events_are("bare") ? "" : ":OpId_17 (cycles)");
    }
    event_add(o, 0, 400, 1, counts.executes, "", events_are("cpu") ? "GRAPH_EXECUTE" : "QNN (execute) time", "");
}

static const struct fake_event *event_find(uint64_t id)
{
    for (const struct object *o = live; o != NULL; o = o->next)
        for (uint32_t i = 0; o->kind == PROFILE && i < o->events_count; ++i)
            if (o->events[i].id == id)
                return &o->events[i];
    return NULL;
}

/* Return the ids of the events below `parent`, in an array that the next call uses again. */
static const uint64_t *event_ids(const struct object *o, uint32_t parent, uint32_t *count)
{
    static uint64_t ids[256];
    memset(ids, 0xEE, sizeof(ids));
    *count = 0;
    for (uint32_t i = 0; i < o->events_count && *count < 256; ++i)
        if (o->events[i].parent == parent)
            ids[(*count)++] = o->events[i].id;
    return ids;
}

static qerr profile_get_events(void *handle, const uint64_t **events, uint32_t *count)
{
    qerr code = enter("profileGetEvents");
    struct object *o = profile_find(handle);
    static const uint64_t endless[1] = { ENDLESS };
    if (code != 0)
        return code;
    if (o == NULL || events == NULL || count == NULL)
        return E_PROFILE_HANDLE;
    *events = event_ids(o, 0, count);
    if (events_are("endless") || events_are("bush")) {
        *events = endless;
        *count = 1;
    }
    if (events_are("many"))
        *count = 0xFFFFFFFFu;
    if (events_are("nulllist"))
        *events = NULL;
    return 0;
}

static qerr profile_get_sub_events(uint64_t event, const uint64_t **events, uint32_t *count)
{
    static uint64_t ids[BUSH_DEPTH + 1][BUSH_WIDTH];
    qerr code = enter("profileGetSubEvents");
    if (code != 0)
        return code;
    if (events == NULL || count == NULL)
        return E_PROFILE_EVENT;
    *count = 0;
    if (event >= ENDLESS && event <= ENDLESS + BUSH_DEPTH) {
        const uint64_t depth = event - ENDLESS;
        const int same = events_are("endless");
        for (int i = 0; i < BUSH_WIDTH; ++i)
            ids[depth][i] = same ? event : event + 1;
        *events = ids[depth];
        *count = same ? 1 : depth < BUSH_DEPTH ? BUSH_WIDTH : 0;
        return 0;
    }
    for (const struct object *o = live; o != NULL; o = o->next)
        for (uint32_t i = 0; o->kind == PROFILE && i < o->events_count; ++i)
            if (o->events[i].id == event) {
                *events = event_ids(o, i + 1, count);
                return 0;
            }
    return E_PROFILE_EVENT;
}

static qerr profile_get_event(uint64_t id, struct event *out)
{
    qerr code = enter("profileGetEventData");
    const struct fake_event *e = event_find(id);
    if (code != 0)
        return code;
    if (out == NULL || (e == NULL && id >> 8 != ENDLESS >> 8) || events_are("cpu") || events_are("scalars")
        || events_are("scalars2") || events_are("version"))
        return E_PROFILE_EVENT;
    memset(out, 0, sizeof(*out));
    if (e == NULL)
        return 0;
    out->type = e->type;
    out->unit = e->unit;
    out->value = e->value;
    out->name = events_are("nullnames") ? NULL : e->name;
    return 0;
}

static qerr profile_get_extended_event(uint64_t id, struct extended_event *out)
{
    qerr code = enter("profileGetExtendedEventData");
    const struct fake_event *e = event_find(id);
    if (code != 0)
        return code;
    if (out == NULL || e == NULL)
        return E_PROFILE_EVENT;
    memset(out, 0, sizeof(*out));
    out->version = events_are("version") ? 9 : 1;
    out->v1.type = e->type;
    out->v1.unit = e->unit;
    out->v1.time = 5000 + e->value;
    out->v1.name = events_are("nullnames") ? NULL : e->name;
    out->v1.dtype = 0x0164;
    out->v1.value.u = e->value;
    if (events_are("scalars2"))
        switch (id & 0xFFFF) {
        case 1: out->v1.dtype = 0x0064; out->v1.value.u = (uint64_t)0 - 5000000000u; break;
        case 2: out->v1.dtype = 0x0132; out->v1.value.u = 4294967295u; break;
        case 3: out->v1.dtype = 0x0016; out->v1.value.h = 65534; break;
        case 4: out->v1.dtype = 0x0108; out->v1.value.b = -1; break;
        default: out->v1.dtype = 0x0508; out->v1.value.b = 1; break;
        }
    if (!events_are("scalars"))
        return 0;
    switch (id & 0xFFFF) {               /* a kind of value for each event in turn */
    case 1: out->v1.dtype = 0x0232; out->v1.value.f = 2.5f; break;
    case 2: out->v1.dtype = 0x0264; out->v1.value.d = -0.25; break;
    case 3: out->v1.dtype = 0x0032; out->v1.value.i = -7; break;
    case 4: out->v1.dtype = 0x0116; out->v1.value.h = 65535; break;
    case 5: out->v1.dtype = 0x0008; out->v1.value.b = -3; break;
    default: out->v1.dtype = 0x0608; break;
    }
    return 0;
}

static qerr profile_free(void *handle)
{
    return object_free("profileFree", PROFILE, handle, E_PROFILE_HANDLE);
}

/* =====================================================================================
   POWER                                                                         >>power
   Ids are large numbers, like the genuine ones. The trace records the votes.
   ===================================================================================== */

static struct object *power_find(uint32_t id)
{
    for (struct object *o = live; o != NULL; o = o->next)
        if (o->kind == POWER && o->level == id)
            return o;
    return NULL;
}

static qerr power_create(uint32_t device, uint32_t core, uint32_t *id)
{
    qerr code = enter("createPowerConfigId");
    struct object *o;
    if (code != 0)
        return code;
    if (device != 0 || core != 0 || id == NULL)
        return E_POWER;
    if ((o = object_new(POWER)) == NULL)
        return E_MEMORY;
    *id = o->level = 0xFAE00000u + (uint32_t)serial;
    return 0;
}

static qerr power_destroy(uint32_t id)
{
    qerr code = enter("destroyPowerConfigId");
    struct object *o = power_find(id);
    if (o == NULL) {
        ++counts.wrong_frees;
        return code != 0 ? code : E_POWER;
    }
    object_drop(o);
    return code;
}

static qerr power_set(uint32_t id, const struct power_config *const *configs)
{
    char text[64];
    qerr code;
    trace_add("setPowerConfig");
    for (int i = 0; configs != NULL && configs[i] != NULL; ++i) {
        const struct power_config *c = configs[i];
        snprintf(text, sizeof(text), " %u:", c->option);
        trace_add(text);
        for (int w = c->option == 1; w < (c->option == 1 ? 16 : 1); ++w) {
            snprintf(text, sizeof(text), " %u", c->words[w]);
            trace_add(text);
        }
        if (c->option == 1 && c->words[0] != id)
            return E_POWER;
    }
    trace_add("\n");
    ++counts.calls;
    if ((code = ask_rules("setPowerConfig")) != 0)
        return code;
    return power_find(id) != NULL && configs != NULL ? 0 : E_POWER;
}

static qerr device_get_infrastructure(const struct infrastructure **out)
{
    static struct infrastructure infrastructure = { 0, power_create, power_destroy, power_set, NULL };
    qerr code = enter("deviceGetInfrastructure");
    if (code != 0)
        return code;
    if (knobs.devnosup || out == NULL)
        return E_NOT_SUPPORTED;
    infrastructure.type = knobs.infra;
    infrastructure.set = listed(knobs.null, "setPowerConfig") ? NULL : power_set;
    *out = zeroed("deviceGetInfrastructure") ? NULL : &infrastructure;
    return 0;
}

/* =====================================================================================
   BACKEND, DEVICE, CONTEXT                                                    >>backend
   ===================================================================================== */

static qerr property_has_capability(uint32_t key)
{
    qerr code = enter("propertyHasCapability");
    /* Key 202 asks whether the library can load context binaries. */
    return code != 0 ? code : key == 202 ? 0 : E_NOT_SUPPORTED;
}

/* Create a backend or device, which uses a log. `code` is the result of the call. */
static qerr logged_create(const char *call, qerr code, enum kind kind, void *log, qerr no_log, void **out)
{
    struct object *o;
    *out = code != 0 ? bogus : NULL;
    if (code != 0)
        return code;
    if (log != NULL && object_find(LOG, log) == NULL)
        return no_log;
    if (zeroed(call))
        return 0;
    if ((o = object_new(kind)) == NULL)
        return E_MEMORY;
    o->log = object_find(LOG, log);
    *out = o->handle;
    return 0;
}

static qerr backend_create(void *log, const void *const *config, void **out)
{
    const qerr code = enter("backendCreate");
    (void)config;
    if (out == NULL)
        return E_BACKEND_ARGUMENT;
    return logged_create("backendCreate", code, BACKEND, log, E_BACKEND_ARGUMENT, out);
}

static qerr backend_get_api_version(struct api_version *out)
{
    qerr code = enter("backendGetApiVersion");
    if (code != 0)
        return code;
    if (out == NULL)
        return E_BACKEND_ARGUMENT;
    out->core = knobs.core;
    out->backend = knobs.backend;
    return 0;
}

static qerr backend_get_build_id(const char **out)
{
    qerr code = enter("backendGetBuildId");
    if (code != 0)
        return code;
    if (out == NULL)
        return E_BACKEND_ARGUMENT;
    *out = strcmp(knobs.build, "null") == 0 ? NULL : knobs.build;
    return 0;
}

static qerr backend_free(void *handle)
{
    return object_free("backendFree", BACKEND, handle, E_BACKEND_HANDLE);
}

/* Write one line: the options of a create. words: those of a custom option, after its number. */
static void trace_configs(const char *name, const struct config *const *config, int words)
{
    char text[64];
    trace_add("  options of ");
    trace_name(name);
    for (; config != NULL && *config != NULL; ++config) {
        snprintf(text, sizeof(text), " %u", (*config)->option);
        trace_add(text);
        if ((*config)->option == 0) {
            for (int i = 0; i <= words; ++i) {
                snprintf(text, sizeof(text), "%c%x", i == 0 ? ':' : ',', (*config)->u.custom[i]);
                trace_add(text);
            }
        } else {
            snprintf(text, sizeof(text), "=%u", (*config)->u.word);
            trace_add(text);
        }
    }
    trace_add("\n");
}

static qerr device_create(void *log, const struct config *const *config, void **out)
{
    const qerr code = enter("deviceCreate");
    trace_configs("device", config, 3);
    if (knobs.devnosup)
        return E_NOT_SUPPORTED;
    if (out == NULL)
        return E_DEVICE_ARGUMENT;
    return logged_create("deviceCreate", code, DEVICE, log, E_LOG_HANDLE, out);
}

static qerr device_free(void *handle)
{
    if (knobs.devnosup) {
        enter("deviceFree");
        return E_NOT_SUPPORTED;
    }
    return object_free("deviceFree", DEVICE, handle, E_DEVICE_HANDLE);
}

static qerr device_get_platform_info(void *log, const struct platform_info **out)
{
    qerr code = enter("deviceGetPlatformInfo");
    (void)log;
    (void)out;
    return code != 0 ? code : E_NOT_SUPPORTED;
}

static qerr mem_register(void *context, const void *descriptors, uint32_t count, void **out)
{
    qerr code = enter("memRegister");
    (void)context;
    (void)descriptors;
    (void)count;
    (void)out;
    return code != 0 ? code : E_NOT_SUPPORTED;
}

static qerr mem_deregister(void **handles, uint32_t count)
{
    qerr code = enter("memDeRegister");
    (void)handles;
    (void)count;
    return code != 0 ? code : E_NOT_SUPPORTED;
}

static qerr error_get_message(qerr error, const char **out)
{
    static const struct { unsigned code; const char *text; } texts[] = {
        { 0,                  "QNN_SUCCESS" },
        { E_NOT_SUPPORTED,    "QNN_COMMON_ERROR_NOT_SUPPORTED: fake text for 0x3e8" },
        { E_MEMORY,           "QNN_COMMON_ERROR_MEM_ALLOC: fake text for 0x3ea" },
        { E_BACKEND_ARGUMENT, "QNN_BACKEND_ERROR_INVALID_ARGUMENT: fake text for 0xfa4" },
        { E_BACKEND_HANDLE,   "QNN_BACKEND_ERROR_INVALID_HANDLE: fake text for 0xfab" },
        { E_CONTEXT_ARGUMENT, "QNN_CONTEXT_ERROR_INVALID_ARGUMENT: fake text for 0x1388" },
        { E_CONTEXT_HANDLE,   "QNN_CONTEXT_ERROR_INVALID_HANDLE: fake text for 0x138a" },
        { E_GRAPH_ARGUMENT,   "QNN_GRAPH_ERROR_INVALID_ARGUMENT: fake text for 0x1770" },
        { E_GRAPH_HANDLE,     "QNN_GRAPH_ERROR_INVALID_HANDLE: fake text for 0x1771" },
        { E_GRAPH_NAME,       "QNN_GRAPH_ERROR_INVALID_NAME: fake text for 0x1773" },
        { E_GRAPH_TENSOR,     "QNN_GRAPH_ERROR_INVALID_TENSOR: fake text for 0x1774" }
    };
    qerr code = enter("errorGetMessage");
    if (code != 0 || out == NULL)
        return code != 0 ? code : E_ERROR_HANDLE;
    *out = NULL;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i)
        if (texts[i].code == (error & 0xFFFF))
            *out = texts[i].text;
    return *out != NULL ? 0 : E_ERROR_HANDLE;
}

static uint64_t checksum(const void *data, uint64_t size)
{
    const unsigned char *p = data;
    uint64_t hash = 0xcbf29ce484222325u;                       /* FNV-1a */
    for (uint64_t i = 0; i < size; ++i)
        hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

static qerr context_from_binary(void *backend, void *device,
                                const struct config *const *config, const void *binary,
                                uint64_t size, void **out, void *profile)
{
    qerr code = enter("contextCreateFromBinary");
    struct object *b = object_find(BACKEND, backend);
    struct object *log = b != NULL ? b->log : NULL, *o;
    struct model *model = NULL;
    int line = 0;
    if (config != NULL) trace_configs("binary", config, 5);
    if (out != NULL)
        *out = bogus;
    if (knobs.lograw)
        say_hostile(log);
    if (code != 0) {
        if (knobs.log) {
            say(log, 1, "fake: the %s cause %d\n", "first", 42);
            say(log, 1, "fake: %s\n", "a later echo");
        }
        return code;
    }
    if (out == NULL || binary == NULL || size == 0) {
        say(log, 1, "fake: no %s\n", out == NULL ? "place for the handle" : "binary");
        return E_CONTEXT_ARGUMENT;
    }
    if (b == NULL)
        return E_BACKEND_HANDLE;
    if (profile != NULL && profile_find(profile) == NULL)
        return E_PROFILE_HANDLE;
    if (device != NULL && object_find(DEVICE, device) == NULL) {
        say(log, 1, "fake: unknown device handle\n");
        return E_DEVICE_HANDLE;
    }
    if ((code = parse_text(binary, size, &model, &line)) != 0) {
        if (line != 0)
            say(log, 1, "fake: line %d of the binary is not understood\n", line);
        else
            say(log, 1, "fake: the binary does not begin with %s\n", "FAKEQNN 1");
        return code;
    }
    if (zeroed("contextCreateFromBinary") || (o = object_new(CONTEXT)) == NULL) {
        model_free(model);
        *out = NULL;
        return zeroed("contextCreateFromBinary") ? 0 : E_MEMORY;
    }
    o->model = model;
    o->backend = b;
    o->device = object_find(DEVICE, device);
    o->log = log;
    if (knobs.keep) {
        o->binary = binary;
        o->binary_size = size;
        o->checksum = checksum(binary, size);
    }
    if (profile != NULL)
        profile_use(profile_find(profile), NULL);
    *out = o->handle;
    return 0;
}

static qerr context_free(void *handle, void *profile)
{
    (void)profile;
    return object_free("contextFree", CONTEXT, handle, E_CONTEXT_HANDLE);
}

static qerr graph_retrieve(void *context, const char *name, void **out)
{
    qerr code = enter("graphRetrieve");
    struct object *c = object_find(CONTEXT, context), *o;
    struct graph *graph;
    ++counts.retrieves;
    if (out == NULL)
        return code != 0 ? code : E_GRAPH_ARGUMENT;
    *out = code != 0 ? bogus : NULL;
    if (code != 0)
        return code;
    if (c == NULL)
        return E_CONTEXT_HANDLE;
    for (graph = c->model->graphs; graph != NULL; graph = graph->next)
        if (name != NULL && strcmp(graph->name, name) == 0)
            break;
    if (graph == NULL) {
        say(c->log, 1, "fake: no graph \"%s\" in the context\n", name != NULL ? name : "(null)");
        return E_GRAPH_NAME;
    }
    if (zeroed("graphRetrieve"))
        return 0;
    for (o = live; o != NULL; o = o->next)
        if (o->kind == GRAPH && o->graph == graph)
            break;
    if (o == NULL && (o = object_new(GRAPH)) == NULL)
        return E_MEMORY;
    o->context = c;
    o->graph = graph;
    *out = o->handle;
    return 0;
}

/* =====================================================================================
   EXECUTE                                                                     >>execute
   ===================================================================================== */

/* Return the definition with this id and its place in the list, or NULL. `after` and *at are those of
   the call before, or NULL: often tensors are given in order. */
static const struct tensor_def *list_find(const struct tensor_list *list, uint32_t id,
                                          const struct tensor_def *after, uint32_t *at)
{
    const struct tensor_def *def = after != NULL ? after->next : NULL;
    ++*at;
    if (def != NULL && def->id == id)
        return def;
    for (*at = 0, def = list->first; def != NULL && def->id != id; def = def->next)
        ++*at;
    return def;
}

/* Write one line: the graph, then every tensor of the call with its address. */
static void trace_execute(const struct graph *graph, const struct tensor *const given[2],
                          const uint32_t count[2])
{
    static const char *const side[2] = { " in:", " out:" };
    const struct tensor_list *list[2];
    char text[64];
    trace_add("graphExecute ");
    trace_name(graph != NULL ? graph->name : "?");
    if (graph != NULL) {
        list[0] = &graph->in;
        list[1] = &graph->out;
        for (int k = 0; k < 2; ++k) {
            const struct tensor_def *def = NULL;
            for (uint32_t i = 0, at = 0; given[k] != NULL && i < count[k]; ++i) {
                def = list_find(list[k], given[k][i].v.id, def, &at);
                trace_add(side[k]);
                trace_name(def != NULL ? def->name : "?");
                snprintf(text, sizeof(text), "=%p", given[k][i].v.data);
                trace_add(text);
            }
        }
    }
    trace_add("\n");
}

/* Compare an encoding of one scale with that of the metadata; the others may be left out. Return what
   is wrong, or NULL. */
static const char *quant_fault(const struct quant *known, const struct quant *given)
{
    const int one = known->definition == 1 && (known->encoding == 0 || known->encoding == 2);
    if (!one)
        return given->definition == UNDEFINED && given->encoding == UNDEFINED
                   ? NULL : "an encoding that is not of one scale";
    if (given->definition != 1 || given->encoding != known->encoding)
        return "wrong encoding";
    if (known->encoding == 0)
        return memcmp(&given->u.one, &known->u.one, sizeof(known->u.one)) == 0
                   ? NULL : "wrong scale or offset";
    return memcmp(&given->u.bw, &known->u.bw, sizeof(known->u.bw)) == 0
               ? NULL : "wrong bits, scale or offset";
}

/* Return what is wrong with one tensor of an execute, or NULL. */
static const char *tensor_fault(const struct tensor_def *def, const struct tensor *t)
{
    if (t->v.data == NULL)
        return "data is NULL";
    if (t->v.mem_type != 0)
        return "memory type is not RAW";
    if (tensor_bytes(def) == UINT64_MAX)
        return "the metadata gives no size";
    if (knobs.noverify)
        return NULL;
    if (t->v.data_size != tensor_bytes(def))
        return "wrong data size";
    if (t->v.dtype != def->dtype)
        return "wrong data type";
    if (t->v.rank != def->rank_told || t->v.dims == NULL
        || memcmp(t->v.dims, def->dims, def->rank * sizeof(uint32_t)) != 0)
        return "wrong dimensions";
    if (t->v.type != def->type || t->v.format != def->format)
        return "wrong tensor type or format";
    if (t->v.name == NULL || strcmp(t->v.name, def->name) != 0)
        return "wrong name";
    if (t->v.sparse_type != UNDEFINED)
        return "it is sparse";
    return quant_fault(&def->quant, &t->v.quant);
}

/* Fill data[place in the list] from the tensors of the call, each of which must occur once. */
static int bind(const struct object *log, const char *side, const struct tensor_list *list,
                const struct tensor *given, uint32_t count, unsigned char **data)
{
    if (count != list->count || (count != 0 && given == NULL)) {
        say(log, 1, "fake: the graph has %u %ss, the call %u\n", list->count, side,
            given != NULL ? count : 0);
        return 0;
    }
    const struct tensor_def *def = NULL;
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const char *fault;
        if (given[i].version != 1 && given[i].version != 2) {
            say(log, 1, "fake: %s %u has tensor version %u\n", side, i, given[i].version);
            return 0;
        }
        def = list_find(list, given[i].v.id, def, &at);
        fault = def == NULL ? "unknown id" : data[at] != NULL ? "given twice"
                                                              : tensor_fault(def, &given[i]);
        if (fault != NULL) {
            say(log, 1, "fake: %s %u (id %u): %s\n", side, i, given[i].v.id, fault);
            return 0;
        }
        data[at] = given[i].v.data;
    }
    return 1;
}

static void fill_outputs(const struct graph *graph, unsigned char *const *in,
                         unsigned char *const *out)
{
    const struct tensor_def *def;
    uint64_t sum = 0, j = 0;
    for (def = graph->in.first; def != NULL; def = def->next, ++in)
        for (uint64_t k = 0, size = tensor_bytes(def); k < size; ++k)
            sum += (*in)[k];
    for (def = graph->out.first; def != NULL; def = def->next, ++out, ++j) {
        uint64_t size = tensor_bytes(def);
        for (uint64_t k = 0; k < size; ++k)
            (*out)[k] = (unsigned char)((sum + j + k) & 0xFF);
        if (knobs.overrun == 1 && j == 0)
            (*out)[size] = (unsigned char)((*out)[size] ^ 0xFF);
        if (knobs.overrun == 2 && j == 0)        /* change the last byte of the page before */
            (*out)[-1 - (long)((uintptr_t)*out % 4096)] ^= 0xFF;
    }
}

/* Write the number of the knob to every dynamic dimension of the outputs. */
static void tell_dims(struct tensor *outputs, uint32_t count)
{
    for (uint32_t i = 0; knobs.told != 0 && i < count; ++i)
        for (uint32_t d = 0; outputs[i].version == 2 && outputs[i].v.dynamic != NULL
                             && d < outputs[i].v.rank; ++d)
            if (outputs[i].v.dynamic[d] != 0)
                outputs[i].v.dims[d] = knobs.told;
}

static qerr graph_execute(void *handle, const struct tensor *inputs, uint32_t inputs_count,
                          struct tensor *outputs, uint32_t outputs_count, void *profile,
                          void *signal)
{
    struct object *o = object_find(GRAPH, handle), *context = o != NULL ? o->context : NULL;
    const struct tensor *given[2];
    uint32_t count[2];
    unsigned char **data = NULL;
    struct graph *graph = o != NULL ? o->graph : NULL;
    qerr code;
    (void)signal;
    given[0] = inputs;
    given[1] = outputs;
    count[0] = inputs_count;
    count[1] = outputs_count;
    trace_execute(graph, given, count);
    ++counts.calls;
    ++counts.executes;
    counts.profiled += profile != NULL;
    if ((code = ask_rules("graphExecute")) != 0)
        return code;
    if (profile != NULL && profile_find(profile) == NULL)
        return E_PROFILE_HANDLE;
    if (graph == NULL || context->device_gone)
        return E_GRAPH_HANDLE;
    if (graph->built && !graph->finalized)
        return E_GRAPH_OPEN;
    if (context->binary != NULL
        && checksum(context->binary, context->binary_size) != context->checksum) {
        say(context->log, 1, "fake: the binary has changed since it was handed over\n");
        return E_GRAPH_HANDLE;
    }
    data = calloc((size_t)graph->in.count + graph->out.count + 1, sizeof(*data));
    if (data == NULL)
        return E_MEMORY;
    code = E_GRAPH_TENSOR;
    if (bind(context->log, "input", &graph->in, inputs, inputs_count, data)
        && bind(context->log, "output", &graph->out, outputs, outputs_count,
                data + graph->in.count)) {
        counts.last_output = (uint64_t)(uintptr_t)data[graph->in.count];
        fill_outputs(graph, data, data + graph->in.count);
        tell_dims(outputs, outputs_count);
        if (profile != NULL)
            profile_use(profile_find(profile), graph);
        code = 0;
    }
    free(data);
    return code;
}

/* =====================================================================================
   BUILD                                                                         >>build
   Contexts and graphs made by calls; saved, they are a text that the fake can read again.
   An operator of the type "Refused" fails validation.
   ===================================================================================== */

static qerr register_op_package(void *backend, const char *path, const char *provider, const char *target)
{
    qerr code = enter("backendRegisterOpPackage");
    struct object *o = object_find(BACKEND, backend);
    if (path != NULL && provider != NULL) {
        trace_add("package ");
        trace_name(path);
        trace_add(" ");
        trace_name(provider);
        trace_add(" ");
        trace_name(target);
        trace_add("\n");
    }
    if (code != 0)
        return code;
    if (o == NULL || path == NULL || provider == NULL)
        return E_BACKEND_ARGUMENT;
    if (strstr(path, "missing") != NULL)
        return E_PACKAGE_MISSING;
    if (strcmp(provider, "none") == 0)
        return E_PACKAGE_ENTRY;
    if (o->text != NULL && strcmp(o->text, path) == 0)
        return E_PACKAGE_TWICE;
    free(o->text);
    if ((o->text = malloc(strlen(path) + 1)) == NULL)
        return E_MEMORY;
    strcpy(o->text, path);
    return 0;
}

static qerr validate_op(void *backend, struct op op)
{
    qerr code = enter("backendValidateOpConfig");
    struct object *o = object_find(BACKEND, backend);
    if (code != 0)
        return code;
    if (o == NULL)
        return E_BACKEND_HANDLE;
    if (op.version != 1 || op.name == NULL || op.package == NULL || op.type == NULL)
        return E_BACKEND_ARGUMENT;
    if (strcmp(op.type, "Refused") != 0)
        return 0;
    say(o->log, 1, "fake: %s is an operator that is refused", op.name);
    return E_VALIDATION;
}

static qerr context_create(void *backend, void *device, const struct config *const *config, void **out)
{
    qerr code = enter("contextCreate");
    struct object *b = object_find(BACKEND, backend), *o;
    trace_configs("context", config, 3);
    if (out == NULL)
        return E_CONTEXT_ARGUMENT;
    *out = code != 0 ? bogus : NULL;
    if (code != 0 || zeroed("contextCreate"))
        return code;
    if (b == NULL)
        return E_BACKEND_HANDLE;
    if (device != NULL && object_find(DEVICE, device) == NULL)
        return E_DEVICE_HANDLE;
    if ((o = object_new(CONTEXT)) == NULL)
        return E_MEMORY;
    o->backend = b;
    o->device = object_find(DEVICE, device);
    o->log = b->log;
    if ((o->model = calloc(1, sizeof(*o->model))) == NULL) {
        object_drop(o);
        return E_MEMORY;
    }
    o->model->graphs_last = &o->model->graphs;
    o->model->built = 1;
    *out = o->handle;
    return 0;
}

static qerr graph_create(void *context, const char *name, const struct config *const *config, void **out)
{
    qerr code = enter("graphCreate");
    struct object *c = object_find(CONTEXT, context), *o;
    struct graph *graph;
    trace_configs(name, config, 3);
    if (out == NULL)
        return E_GRAPH_ARGUMENT;
    *out = code != 0 ? bogus : NULL;
    if (code != 0 || zeroed("graphCreate"))
        return code;
    if (c == NULL)
        return E_CONTEXT_HANDLE;
    if (!c->model->built || name == NULL || name[0] == '\0')
        return E_GRAPH_NAME;
    for (graph = c->model->graphs; graph != NULL; graph = graph->next)
        if (strcmp(graph->name, name) == 0)
            return E_GRAPH_NAME;
    graph = model_alloc(c->model, sizeof(*graph));
    if (graph == NULL || (graph->name = model_alloc(c->model, strlen(name) + 1)) == NULL
        || (o = object_new(GRAPH)) == NULL)
        return E_MEMORY;
    strcpy(graph->name, name);
    graph->built = 1;
    graph->in.last = &graph->in.first;
    graph->out.last = &graph->out.first;
    graph->inner.last = &graph->inner.first;
    *c->model->graphs_last = graph;
    c->model->graphs_last = &graph->next;
    o->context = c;
    o->graph = graph;
    *out = o->handle;
    return 0;
}

/* Return the definition of a tensor of a built graph, or NULL. */
static struct tensor_def *built_find(struct graph *graph, const char *name, uint32_t id)
{
    struct tensor_list *const lists[] = { &graph->in, &graph->out, &graph->inner };
    for (int k = 0; k < 3; ++k)
        for (struct tensor_def *def = lists[k]->first; def != NULL; def = def->next)
            if (name != NULL ? strcmp(def->name, name) == 0 : def->id == id)
                return def;
    return NULL;
}

static int copy_quant(struct model *model, struct quant *q)
{
    const struct quant from = *q;
    if (q->definition == 1 && q->encoding == 1) {
        q->u.axis.pairs = model_array(model, q->u.axis.count, sizeof(*q->u.axis.pairs));
        if (q->u.axis.pairs == NULL)
            return 0;
        memcpy(q->u.axis.pairs, from.u.axis.pairs, q->u.axis.count * sizeof(*q->u.axis.pairs));
    }
    if (q->definition == 1 && q->encoding == 3) {
        q->u.bw_axis.scales = model_array(model, q->u.bw_axis.count, sizeof(float));
        q->u.bw_axis.offsets = model_array(model, q->u.bw_axis.count, sizeof(int32_t));
        if (q->u.bw_axis.scales == NULL || q->u.bw_axis.offsets == NULL)
            return 0;
        memcpy(q->u.bw_axis.scales, from.u.bw_axis.scales, q->u.bw_axis.count * sizeof(float));
        if (from.u.bw_axis.offsets != NULL)
            memcpy(q->u.bw_axis.offsets, from.u.bw_axis.offsets, q->u.bw_axis.count * sizeof(int32_t));
    }
    return 1;
}

static qerr tensor_create(void *handle, struct tensor *t)
{
    qerr code = enter("tensorCreateGraphTensor");
    struct object *o = object_find(GRAPH, handle);
    struct model *model = o != NULL ? o->context->model : NULL;
    struct tensor_def *def;
    struct tensor_list *list;
    if (code != 0)
        return code;
    if (o == NULL || !o->graph->built || o->graph->finalized)
        return E_GRAPH_HANDLE;
    if (t == NULL || (t->version != 1 && t->version != 2) || t->v.name == NULL || t->v.dims == NULL)
        return E_TENSOR_PARAM;
    if (built_find(o->graph, t->v.name, 0) != NULL)
        return E_TENSOR_NAME;
    if ((def = model_alloc(model, sizeof(*def))) == NULL
        || (def->name = model_alloc(model, strlen(t->v.name) + 1)) == NULL
        || (def->dims = model_array(model, t->v.rank + 1, sizeof(uint32_t))) == NULL)
        return E_MEMORY;
    strcpy(def->name, t->v.name);
    memcpy(def->dims, t->v.dims, t->v.rank * sizeof(uint32_t));
    def->rank = def->rank_told = t->v.rank;
    def->type = t->v.type;
    def->dtype = t->v.dtype;
    def->quant = t->v.quant;
    if (!copy_quant(model, &def->quant))
        return E_MEMORY;
    if ((def->type == 4) != (t->v.data != NULL)
        || (def->type == 4 && t->v.data_size != tensor_bytes(def)))
        return E_TENSOR_PARAM;
    list = def->type == 0 || def->type == 11 ? &o->graph->in
         : def->type == 1 ? &o->graph->out : &o->graph->inner;
    *list->last = def;
    list->last = &def->next;
    list->count_told = ++list->count;
    def->id = t->v.id = ++model->ids;
    return 0;
}

/* Add a node. It must follow the nodes that write its inputs. */
static qerr graph_add_node(void *handle, struct op op)
{
    qerr code = enter("graphAddNode");
    struct object *o = object_find(GRAPH, handle);
    struct tensor_def *def;
    if (code != 0)
        return code;
    if (o == NULL || !o->graph->built || o->graph->finalized)
        return E_GRAPH_HANDLE;
    trace_add("  node ");
    trace_name(op.name);
    trace_add(" ");
    trace_name(op.type);
    trace_add("\n");
    for (uint32_t i = 0; i < op.inputs_count; ++i) {
        def = built_find(o->graph, NULL, op.inputs[i].v.id);
        if (def == NULL || strcmp(def->name, op.inputs[i].v.name) != 0
            || ((def->type == 3 || def->type == 1) && !def->written)) {
            say(o->context->log, 1, "fake: input %u of node %s is not there yet", i, op.name);
            return E_GRAPH_TENSOR;
        }
    }
    for (uint32_t i = 0; i < op.params_count; ++i) {
        const struct param *param = &op.params[i];
        if (param->type == 1 && ((def = built_find(o->graph, NULL, param->u.tensor.v.id)) == NULL || def->type != 4))
            return E_GRAPH_TENSOR;
        if (param->type == 0) {
            char text[64];
            trace_add("  scalar ");
            trace_name(param->name);
            snprintf(text, sizeof(text), " %x %llx\n", param->u.scalar.dtype,
                     (unsigned long long)param->u.scalar.u.all);
            trace_add(text);
        }
    }
    for (uint32_t i = 0; i < op.outputs_count; ++i) {
        def = built_find(o->graph, NULL, op.outputs[i].v.id);
        if (def == NULL || def->written || (def->type != 3 && def->type != 1))
            return E_GRAPH_TENSOR;
        def->written = 1;
    }
    if (strcmp(op.type, "Uncompiled") == 0) {
        if ((o->graph->uncompiled = model_alloc(o->context->model, strlen(op.name) + 1)) == NULL)
            return E_MEMORY;
        strcpy(o->graph->uncompiled, op.name);
    }
    ++o->graph->nodes;
    return 0;
}

static qerr graph_finalize(void *handle, void *profile, void *signal)
{
    qerr code = enter("graphFinalize");
    struct object *o = object_find(GRAPH, handle);
    (void)profile;
    (void)signal;
    if (code != 0)
        return code;
    if (o == NULL || !o->graph->built || o->graph->finalized)
        return E_GRAPH_HANDLE;
    if (o->graph->nodes == 0)
        return E_GRAPH_EMPTY;
    if (o->graph->uncompiled != NULL) {                  /* as HTP tells it */
        say(o->context->log, 2, "no properties registered for q::\"Uncompiled\"");
        say(o->context->log, 1, "\"%s\" generated: could not create op", o->graph->uncompiled);
        return E_MEMORY;
    }
    o->graph->finalized = 1;
    return 0;
}

/* Text that grows. With data NULL the length is only counted. */
struct text { char *data; uint64_t used; };

static void put(struct text *to, const char *format, ...)
{
    char piece[256];
    va_list args;
    va_start(args, format);
    vsnprintf(piece, sizeof(piece), format, args);
    va_end(args);
    if (to->data != NULL)
        memcpy(to->data + to->used, piece, strlen(piece));
    to->used += strlen(piece);
}

static void put_name(struct text *to, const char *name)
{
    for (; *name != '\0'; ++name)
        put(to, (unsigned char)*name > ' ' && *name != '%' ? "%c" : "%%%02X", (unsigned char)*name);
}

static void put_quant(struct text *to, const struct quant *q)
{
    uint32_t i;
    if (q->definition != 1)
        put(to, " -");
    else if (q->encoding == 0)
        put(to, " s %.9g %d", (double)q->u.one.scale, (int)q->u.one.offset);
    else if (q->encoding == 2)
        put(to, " b %u %.9g %d", q->u.bw.bits, (double)q->u.bw.scale, (int)q->u.bw.offset);
    else if (q->encoding == 1) {
        put(to, " a %d %u", (int)q->u.axis.axis, q->u.axis.count);
        for (i = 0; i < q->u.axis.count; ++i)
            put(to, " %.9g %d", (double)q->u.axis.pairs[i].scale, (int)q->u.axis.pairs[i].offset);
    } else if (q->encoding == 3) {
        put(to, " w %u %d %u", q->u.bw_axis.bits, (int)q->u.bw_axis.axis, q->u.bw_axis.count);
        for (i = 0; i < q->u.bw_axis.count; ++i)
            put(to, " %.9g %d", (double)q->u.bw_axis.scales[i], (int)q->u.bw_axis.offsets[i]);
    } else
        put(to, " e %u", q->encoding);
}

/* Return 0, or the code that says why the context has no binary. */
static qerr render(const struct object *o, struct text *to)
{
    if (o == NULL)
        return E_CONTEXT_HANDLE;
    if (!o->model->built)
        return E_LOADED;
    put(to, "FAKEQNN 1\nbackend %u\nbuild %s\n", knobs.id, knobs.build);
    for (const struct graph *graph = o->model->graphs; graph != NULL; graph = graph->next) {
        const struct tensor_list *const lists[] = { &graph->in, &graph->out };
        if (!graph->finalized)
            return E_NOT_FINALIZED;
        put(to, "graph ");
        put_name(to, graph->name);
        put(to, "\n");
        for (int k = 0; k < 2; ++k) {
            for (const struct tensor_def *def = lists[k]->first; def != NULL; def = def->next) {
                put(to, k == 0 ? "in " : "out ");
                put_name(to, def->name);
                put(to, " %u %04x %u", def->id, def->dtype, def->rank);
                for (uint32_t i = 0; i < def->rank; ++i)
                    put(to, " %u", def->dims[i]);
                put_quant(to, &def->quant);
                if (def->type > 1)
                    put(to, " type=%u", def->type);
                put(to, "\n");
            }
        }
    }
    return 0;
}

static qerr context_get_binary_size(void *handle, uint64_t *size)
{
    qerr code = enter("contextGetBinarySize");
    struct text none = { NULL, 0 };
    if (code == 0)
        code = render(object_find(CONTEXT, handle), &none);
    if (code == 0 && size != NULL && !zeroed("contextGetBinarySize"))
        *size = none.used + 64;          /* more than needed, as in the genuine library */
    return code;
}

static qerr context_get_binary(void *handle, void *binary, uint64_t size, uint64_t *written)
{
    qerr code = enter("contextGetBinary");
    struct text none = { NULL, 0 }, whole = { binary, 0 };
    if (code == 0)
        code = render(object_find(CONTEXT, handle), &none);
    if (code != 0)
        return code;
    if (binary == NULL || written == NULL || size < none.used)
        return E_GET_BINARY;
    if (zeroed("contextGetBinary"))
        return 0;
    render(object_find(CONTEXT, handle), &whole);
    *written = whole.used;
    return 0;
}

/* =====================================================================================
   SYSTEM SIDE                                                                  >>system
   ===================================================================================== */

static qerr system_create(void **out)
{
    qerr code = enter("systemContextCreate");
    struct object *o;
    if (out == NULL)
        return code != 0 ? code : E_SYSTEM_ARGUMENT;
    *out = code != 0 ? bogus : NULL;
    if (code != 0 || zeroed("systemContextCreate"))
        return code;
    if ((o = object_new(SYSTEM_CONTEXT)) == NULL)
        return E_MEMORY;
    *out = o->handle;
    return 0;
}

/* Read the metadata of a binary. Earlier answers of the same handle stay valid until the handle is
   freed. */
static qerr system_read(const char *name, void *handle, const void *binary, uint64_t size,
                        const struct binary_info **out)
{
    qerr code = enter(name);
    struct object *o = object_find(SYSTEM_CONTEXT, handle);
    struct model *model = NULL;
    int line;
    if (code != 0)
        return code;
    if (o == NULL || binary == NULL || size == 0 || out == NULL)
        return E_SYSTEM_ARGUMENT;
    *out = NULL;
    if (zeroed(name))
        return 0;
    if ((code = parse_text(binary, size, &model, &line)) != 0)
        return code;
    model->next = o->model;
    o->model = model;
    *out = publish(model);
    return *out != NULL ? 0 : E_MEMORY;
}

/* The genuine library does not change *info_size. */
static qerr system_get_binary_info(void *handle, void *binary, uint64_t size,
                                   const struct binary_info **out, uint64_t *info_size)
{
    (void)info_size;
    return system_read("systemContextGetBinaryInfo", handle, binary, size, out);
}

static qerr system_get_metadata(void *handle, const void *binary, uint64_t size,
                                const struct binary_info **out)
{
    return system_read("systemContextGetMetaData", handle, binary, size, out);
}

static qerr system_free(void *handle)
{
    return object_free("systemContextFree", SYSTEM_CONTEXT, handle, E_SYSTEM_ARGUMENT);
}

/* A profile log is text here: the head, then a line for each execute and each event. */
static qerr profile_create_target(struct serial_target target, const struct serial_config *configs,
                                  uint32_t count, void **out)
{
    qerr code = enter("systemProfileCreateSerializationTarget");
    char path[1024];
    struct object *o;
    if (code != 0)
        return code;
    /* The genuine library returns success when it cannot write, too. */
    if (events_are("silent"))
        target.folder = "/dev", target.name = "null";
    if (out == NULL || target.type != 1 || target.name == NULL || target.folder == NULL || count != 1
        || configs == NULL || configs[0].type != 1)
        return E_SYSTEM_ARGUMENT;
    *out = NULL;
    if (zeroed("systemProfileCreateSerializationTarget"))
        return 0;
    snprintf(path, sizeof(path), "%.700s/%.300s", target.folder, target.name);
    if ((o = object_new(TARGET)) == NULL)
        return E_MEMORY;
    if ((o->file = fopen(path, "a")) == NULL) {
        object_drop(o);
        return 0x7532;
    }
    fprintf(o->file, "%s %s %s\n", configs[0].app, configs[0].app_version, configs[0].backend_version);
    *out = o->handle;
    return 0;
}

static void serialize(FILE *file, const struct serial_event *events, uint32_t count, int depth)
{
    for (uint32_t i = 0; i < count; ++i) {
        const struct event *e = &events[i].data.plain;
        const struct extended_event *x = &events[i].data.extended;
        if (events[i].kind == 0)
            fprintf(file, "%d plain %u %u %llu %s\n", depth, e->type, e->unit,
                    (unsigned long long)e->value, e->name);
        else
            fprintf(file, "%d extended %u %u %llu %s\n", depth, x->v1.type, x->v1.unit,
                    (unsigned long long)x->v1.value.u, x->v1.name);
        serialize(file, events[i].sub, events[i].sub_count, depth + 1);
    }
}

static qerr profile_serialize(void *handle, const struct serial_data *const *data, uint32_t count)
{
    qerr code = enter("systemProfileSerializeEventData");
    struct object *o = object_find(TARGET, handle);
    if (code != 0)
        return code;
    if (o == NULL || data == NULL)
        return E_SYSTEM_ARGUMENT;
    for (uint32_t i = 0; i < count; ++i) {
        if (data[i]->version != 1)
            return E_SYSTEM_ARGUMENT;
        fprintf(o->file, "execute %s method %u time %d\n", data[i]->header.graph, data[i]->header.method,
                data[i]->header.end >= data[i]->header.begin && data[i]->header.begin > 0);
        serialize(o->file, data[i]->events, data[i]->count, 0);
    }
    return 0;
}

static qerr profile_free_target(void *handle)
{
    return object_free("systemProfileFreeSerializationTarget", TARGET, handle, E_SYSTEM_ARGUMENT);
}

/* =====================================================================================
   CONTAINER                                                                 >>container
   Here a .dlc is "PK\3\4FAKEDLC" and names of graphs with a blank before each: x -> Copy -> y.
   Composing takes the core interface by value, with the number of slots that the knob front= sets.
   ===================================================================================== */

static qerr dlc_open(void *log, const char *path, void **out)
{
    qerr code = enter("systemDlcCreateFromFile");
    struct object *o;
    FILE *file;
    size_t used;
    (void)log;
    if (out == NULL)
        return E_SYSTEM_ARGUMENT;
    *out = code != 0 ? bogus : NULL;
    if (code != 0 || zeroed("systemDlcCreateFromFile"))
        return code;
    if ((file = fopen(path, "rb")) == NULL)
        return E_SYSTEM_ARGUMENT;
    if ((o = object_new(CONTAINER)) == NULL || (o->text = calloc(1, 4096)) == NULL) {
        fclose(file);
        return E_MEMORY;
    }
    used = fread(o->text, 1, 4095, file);
    fclose(file);
    if (used < 11 || memcmp(o->text, "PK\3\4FAKEDLC", 11) != 0 || (o->model = calloc(1, sizeof(*o->model))) == NULL) {
        object_drop(o);
        return E_MALFORMED;
    }
    *out = o->handle;
    return 0;
}

typedef qerr (*graph_create_fn)(void *, const char *, const struct config *const *, void **);
typedef qerr (*tensor_create_fn)(void *, struct tensor *);
typedef qerr (*add_node_fn)(void *, struct op);

static qerr compose_one(const slot_fn *slots, void *context, struct model *model, const char *name,
                        struct graph_info *info)
{
    static uint32_t dims[1] = { 4 };
    struct tensor *ends = model_array(model, 2, sizeof(*ends));
    char *copy = model_alloc(model, strlen(name) + 1);
    struct op op;
    void *graph = NULL;
    qerr code = ((graph_create_fn)slots[15])(context, name, NULL, &graph);
    if (code != 0)
        return code;
    for (int i = 0; i < 2 && code == 0; ++i) {
        ends[i].version = 1;
        ends[i].v.name = i == 0 ? "x" : "y";
        ends[i].v.type = (uint32_t)i;
        ends[i].v.dtype = 0x232;
        ends[i].v.quant.definition = ends[i].v.quant.encoding = UNDEFINED;
        ends[i].v.rank = 1;
        ends[i].v.dims = dims;
        code = ((tensor_create_fn)slots[24])(graph, &ends[i]);
    }
    memset(&op, 0, sizeof(op));
    op.version = 1;
    op.name = op.type = "Copy";
    op.package = "qti.aisw";
    op.inputs_count = op.outputs_count = 1;
    op.inputs = &ends[0];
    op.outputs = &ends[1];
    if (code == 0)
        code = ((add_node_fn)slots[18])(graph, op);
    strcpy(copy, name);
    info->version = 3;
    info->v.name = copy;
    info->v.inputs_count = info->v.outputs_count = 1;
    info->v.inputs = &ends[0];
    info->v.outputs = &ends[1];
    return code;
}

static qerr compose(void *handle, void *backend, void *context, const slot_fn *slots,
                    struct graph_info **graphs, uint32_t *count)
{
    qerr code = enter("systemDlcComposeGraphs");
    struct object *o = object_find(CONTAINER, handle);
    char *rest = NULL, *word;
    struct graph_info *infos;
    (void)backend;
    if (code != 0)
        return code;
    if (o == NULL || graphs == NULL || count == NULL)
        return E_SYSTEM_ARGUMENT;
    infos = model_array(o->model, 64, sizeof(*infos));
    *count = 0;
    for (word = strtok_r(o->text + 11, " \n", &rest); word != NULL && *count < 64 && code == 0;
         word = strtok_r(NULL, " \n", &rest))
        code = compose_one(slots, context, o->model, word, &infos[(*count)++]);
    if (!zeroed("systemDlcComposeGraphs"))
        *graphs = infos;
    return code;
}

/* The size of the struct depends on the release: 616 bytes in 2.48, another size in other
   releases. */
#define FRONT(slots_) \
    struct front_##slots_ { char head[40]; slot_fn slot[slots_]; }; \
    static qerr compose_##slots_(void *dlc, const void *const *configs, uint32_t configs_count, void *backend, \
                                 void *context, struct front_##slots_ front, uint32_t version, \
                                 struct graph_info **graphs, uint32_t *count) \
    { \
        (void)configs; \
        (void)configs_count; \
        (void)version; \
        return compose(dlc, backend, context, front.slot, graphs, count); \
    }
FRONT(64)
FRONT(72)
FRONT(75)
FRONT(90)

static qerr dlc_free(void *handle)
{
    return object_free("systemDlcFree", CONTAINER, handle, E_SYSTEM_ARGUMENT);
}

/* =====================================================================================
   PROVIDERS                                                                 >>providers
   ===================================================================================== */

struct slot { int index; const char *name; slot_fn fn; };

static const struct slot core_slots[] = {
    {  0, "propertyHasCapability",   (slot_fn)property_has_capability },
    {  1, "backendCreate",           (slot_fn)backend_create },
    {  3, "backendGetApiVersion",    (slot_fn)backend_get_api_version },
    {  4, "backendGetBuildId",       (slot_fn)backend_get_build_id },
    {  5, "backendRegisterOpPackage", (slot_fn)register_op_package },
    {  7, "backendValidateOpConfig", (slot_fn)validate_op },
    {  8, "backendFree",             (slot_fn)backend_free },
    {  9, "contextCreate",           (slot_fn)context_create },
    { 11, "contextGetBinarySize",    (slot_fn)context_get_binary_size },
    { 12, "contextGetBinary",        (slot_fn)context_get_binary },
    { 13, "contextCreateFromBinary", (slot_fn)context_from_binary },
    { 14, "contextFree",             (slot_fn)context_free },
    { 15, "graphCreate",             (slot_fn)graph_create },
    { 18, "graphAddNode",            (slot_fn)graph_add_node },
    { 19, "graphFinalize",           (slot_fn)graph_finalize },
    { 20, "graphRetrieve",           (slot_fn)graph_retrieve },
    { 21, "graphExecute",            (slot_fn)graph_execute },
    { 24, "tensorCreateGraphTensor", (slot_fn)tensor_create },
    { 25, "logCreate",               (slot_fn)log_create },
    { 26, "logSetLogLevel",          (slot_fn)log_set_level },
    { 27, "logFree",                 (slot_fn)log_free },
    { 28, "profileCreate",           (slot_fn)profile_create },
    { 29, "profileSetConfig",        (slot_fn)profile_set_config },
    { 30, "profileGetEvents",        (slot_fn)profile_get_events },
    { 31, "profileGetSubEvents",     (slot_fn)profile_get_sub_events },
    { 32, "profileGetEventData",     (slot_fn)profile_get_event },
    { 33, "profileGetExtendedEventData", (slot_fn)profile_get_extended_event },
    { 34, "profileFree",             (slot_fn)profile_free },
    { 35, "memRegister",             (slot_fn)mem_register },
    { 36, "memDeRegister",           (slot_fn)mem_deregister },
    { 37, "deviceGetPlatformInfo",   (slot_fn)device_get_platform_info },
    { 39, "deviceGetInfrastructure", (slot_fn)device_get_infrastructure },
    { 40, "deviceCreate",            (slot_fn)device_create },
    { 43, "deviceFree",              (slot_fn)device_free },
    { 48, "errorGetMessage",         (slot_fn)error_get_message }
};

static const struct slot system_slots[] = {
    { 0, "systemContextCreate",        (slot_fn)system_create },
    { 1, "systemContextGetBinaryInfo", (slot_fn)system_get_binary_info },
    { 2, "systemContextGetMetaData",   (slot_fn)system_get_metadata },
    { 3, "systemContextFree",          (slot_fn)system_free },
    { 8, "systemDlcCreateFromFile",    (slot_fn)dlc_open },
    { 10, "systemDlcComposeGraphs",    (slot_fn)compose_72 },
    { 12, "systemDlcFree",             (slot_fn)dlc_free },
    { 13, "systemProfileCreateSerializationTarget", (slot_fn)profile_create_target },
    { 14, "systemProfileSerializeEventData",        (slot_fn)profile_serialize },
    { 15, "systemProfileFreeSerializationTarget",   (slot_fn)profile_free_target }
};

enum {
    CORE_COUNT   = sizeof(core_slots) / sizeof(core_slots[0]),
    SYSTEM_COUNT = sizeof(system_slots) / sizeof(system_slots[0])
};

static int function_known(const char *name)
{
    for (int i = 0; i < CORE_COUNT; ++i)
        if (strcmp(core_slots[i].name, name) == 0)
            return 1;
    for (int i = 0; i < SYSTEM_COUNT; ++i)
        if (strcmp(system_slots[i].name, name) == 0)
            return 1;
    return strcmp(name, "createPowerConfigId") == 0 || strcmp(name, "setPowerConfig") == 0
        || strcmp(name, "destroyPowerConfigId") == 0
        || strcmp(name, "QnnInterface_getProviders") == 0
        || strcmp(name, "QnnSystemInterface_getProviders") == 0;
}

static void fill_table(slot_fn *table, const struct slot *slots, int count)
{
    for (int i = 0; i < count; ++i)
        table[slots[i].index] = listed(knobs.null, slots[i].name) ? NULL : slots[i].fn;
}

/* Return the number of providers to report: 0, 1, 2; "null" reports one without a list. */
static uint32_t provider_count(const char *knob)
{
    return strcmp(knob, "0") == 0 ? 0 : strcmp(knob, "2") == 0 ? 2 : 1;
}

qerr QnnInterface_getProviders(const struct core_interface ***list, uint32_t *count);
qerr QnnSystemInterface_getProviders(const struct system_interface ***list, uint32_t *count);
void fake_qnn_stats(uint64_t out[16]);
const char *fake_qnn_trace(void);
void fake_qnn_reset(void);

/* With two providers, the first has an unsupported major version and an empty table. */
qerr QnnInterface_getProviders(const struct core_interface ***list, uint32_t *count)
{
    static struct core_interface providers[2];
    static const struct core_interface *pointers[2];
    struct core_interface *right;
    qerr code;
    if (!load_knobs() || list == NULL || count == NULL)
        return E_NOT_SUPPORTED;
    if ((code = ask_rules("QnnInterface_getProviders")) != 0)
        return code;
    memset(providers, 0, sizeof(providers));
    *count = provider_count(knobs.providers);
    right = &providers[*count == 2];
    providers[0].backend_id = knobs.id;
    providers[0].name = "FAKE_WRONG_MAJOR";
    providers[0].api.core = (struct version){ 3, 0, 0 };
    right->backend_id = knobs.id;
    right->name = strcmp(knobs.name, "null") == 0 ? NULL : knobs.name;
    right->api.core = knobs.core;
    right->api.backend = knobs.backend;
    fill_table(right->slot, core_slots, CORE_COUNT);
    pointers[0] = &providers[0];
    pointers[1] = &providers[1];
    *list = strcmp(knobs.providers, "null") == 0 ? NULL : pointers;
    return 0;
}

qerr QnnSystemInterface_getProviders(const struct system_interface ***list, uint32_t *count)
{
    static struct system_interface providers[2];
    static const struct system_interface *pointers[2];
    struct system_interface *right;
    qerr code;
    if (!load_knobs() || list == NULL || count == NULL)
        return E_NOT_SUPPORTED;
    if ((code = ask_rules("QnnSystemInterface_getProviders")) != 0)
        return code;
    memset(providers, 0, sizeof(providers));
    *count = provider_count(knobs.sysproviders);
    right = &providers[*count == 2];
    providers[0].name = "FAKE_WRONG_MAJOR";
    providers[0].api = (struct version){ 3, 0, 0 };
    right->name = strcmp(knobs.name, "null") == 0 ? NULL : "FAKE_SYSTEM";
    right->api = knobs.system;
    fill_table(right->slot, system_slots, SYSTEM_COUNT);
    if (right->slot[10] != NULL && knobs.front != 0)
        right->slot[10] = knobs.front == 64 ? (slot_fn)compose_64
                        : knobs.front == 75 ? (slot_fn)compose_75 : (slot_fn)compose_90;
    pointers[0] = &providers[0];
    pointers[1] = &providers[1];
    *list = strcmp(knobs.sysproviders, "null") == 0 ? NULL : pointers;
    return 0;
}

/* =====================================================================================
   FOR THE TESTS                                                                 >>stats
   ===================================================================================== */

/* [0..4] live logs, backends, devices, contexts, system contexts; [5] executes; [6] address of
   output 0 of the last good execute; [7] wrong frees; [8] graphRetrieve calls; [9] all calls;
   [10] live profiles, power ids, profile logs and containers; [11] executes with a profile. */
void fake_qnn_stats(uint64_t out[16])
{
    memset(out, 0, 16 * sizeof(out[0]));
    for (const struct object *o = live; o != NULL; o = o->next)
        if (o->kind != GRAPH)
            ++out[o->kind > GRAPH ? 10 : o->kind - LOG];
    out[5] = counts.executes;
    out[6] = counts.last_output;
    out[7] = counts.wrong_frees;
    out[8] = counts.retrieves;
    out[9] = counts.calls;
    out[11] = counts.profiled;
}

/* One line per call since the last reset. When 64 KB are full, the oldest lines go first. */
const char *fake_qnn_trace(void)
{
    return trace_text;
}

/* Clear counts and trace, and restart the counts of the fail= rules. Live handles stay. */
void fake_qnn_reset(void)
{
    memset(&counts, 0, sizeof(counts));
    trace_used = 0;
    trace_text[0] = '\0';
    for (int i = 0; i < RULES; ++i)
        knobs.fail[i].seen = 0;
}
