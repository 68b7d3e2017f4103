/* qnnrt_qnn.h - v0.5.0 - an engine for sessions: QNN, through qnnrt.h and the compiler above it

   In one C or C++ file, with the implementations of all that it includes; qnnrt_engines.h has the
   list and does it in one line:                Everywhere else:
       #define QNNRT_ENGINES_IMPLEMENTATION         #include "qnnrt_engines.h"
       #include "qnnrt_engines.h"
   Link with -ldl -lm.

       const qnnrt_engine *engines[] = { qnnrt_engine_qnn(), NULL };
       qnnrt_session_desc desc = {0};
       desc.engines = engines;
       desc.device = "npu";
       qnnrt_session_create("model_dir", &desc, &session, &err);       // or "graph.json"

   Uses     Public names of the headers that it includes, libc, libdl
   Trust    Folders, graphs and weights may be hostile; no file that they name is followed out of
            their folder. The caller, his options and the libraries that they name are trusted.
   Memory   The session's hooks serve every allocation. A run allocates nothing of ours.
   Threads  The header creates none. Several sessions have several backends; libraries that must
            not be entered by two threads at a time need hooks.lock.
   Globals  Constant tables only. The header prints nothing and never aborts.

   WORDS
       device     "npu": libQnnHtp.so; "cpu": libQnnCpu.so or libQnnRef.so
       folder     context binaries, with or without a program in qnnrt.json; also one binary
       graph      a .json in ATen operators, which is compiled in this process
       code       the stored integer of a quantized tensor

   BUILD OPTIONS, to define before the header is first included
       QNNRT_QNN_API  replaces the storage and export prefix (default: QNNRT_API)
       The options of qnnrt.h work here too: QNNRT_STATIC, QNNRT_API

   MANUAL

   Libraries
       Without options, libQnnHtp.so is the npu, and libQnnCpu.so, else libQnnRef.so, the cpu; each
       is searched as qnnrt.h says, and what is not there is no device. "npu_path" and "cpu_path"
       name them. "library_path" names the only one, and what it is decides its device. A library
       that an option names must open.

   Folders
       The device must be that of the binaries. A program with parts on the CPU, or with host steps,
       runs on the npu only with allow_fallback; info.fallback then lists them. Of several pipelines
       the option "pipeline" names one.

   Graphs
       Weights come from the option "weights", else from the .safetensors of the same name, else
       from the only one in the folder. precision: fp16 is that of the npu, fp32 that of the cpu;
       libQnnRef.so has both; int8 rounds the weights alone. The device computes what it can; with
       allow_fallback the other nodes run on the other library or in qnnrt_ir.h on the host, and
       info.fallback says which and why. Preferences give an operator to a role: "npu", "cpu" or
       "host". optimize_level is that of the npu's compiler, 1 to 3. compile_timeout_ms ends a
       compilation between two calls of the library.

   Settings without effect
       The libraries choose their threads and scratch memory themselves: threads and workspace_bytes
       have no effect here, and info.warnings says so when they are not their defaults.

   Values
       Quantized tensors are float32 and are converted in each run, with native_io they are their
       codes. Values with the storage of the tensor are used in place. An int32 input with a range
       (a table look-up) is checked in each run. Inputs that a folder keeps in a buffer, such as a
       cache, are optional: without a value they are as the last run left them.

   Options
       npu_path, cpu_path, system_path     libraries
       log_level       of the libraries: error, warn, info, verbose, debug
       soc_model       HTP: number of the chip
       memory          heap (default), or shared: memory that the NPU uses in place
       power           a preset of qnnrt_power_set(), such as burst
       of folders:     pipeline; residency: all, one, budget; resident_bytes; metadata: all, system,
                       json
       of graphs:      weights; rope_base, positions: as in qnnrt_lower_desc; rope_plain: 1, as
                       qnnrt_ir_desc.plain_rope; dsp_arch, vtcm_mib, hvx_threads: HTP

   ROOMS (search for the tag)
       >>config >>clock >>options >>library >>roles >>folder >>graph >>made >>save
       >>facts >>binding >>steps >>public
*/
#ifndef QNNRT_QNN_H
#define QNNRT_QNN_H

#include "qnnrt_session.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_qnn.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_QNN_API
#define QNNRT_QNN_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Return the engine "qnn", a constant table. */
QNNRT_QNN_API const qnnrt_engine *qnnrt_engine_qnn(void);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_QNN_H, end of the declarations */

#ifdef QNNRT_QNN_IMPLEMENTATION
#ifndef QNNRT_QNN__IMPL_ONCE
#define QNNRT_QNN__IMPL_ONCE

#include "qnnrt_compile.h"
#include "qnnrt_device.h"
#include "qnnrt_json.h"
#include "qnnrt_profile.h"
#include "qnnrt_manifest.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   Errors, memory and texts, for every room.
   Needs: nothing     Knows nothing of: QNN
   ===================================================================================== */

static qnnrt_result qnnrt_qnn__fail_memory(qnnrt_error *err, uint64_t bytes)
{
    return qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory: %llu bytes were requested",
                           (unsigned long long)bytes);
}

/* Return zeroed memory of an arena; NULL after filling the error. */
static void *qnnrt_qnn__take(qnnrt_arena *arena, uint64_t count, size_t size, qnnrt_error *err)
{
    void *data = qnnrt_arena_get(arena, count, size);
    if (data == NULL) qnnrt_qnn__fail_memory(err, count * size);
    return data;
}

/* Return a text in an arena, NULL when out of memory. */
__attribute__((format(printf, 3, 4)))
static char *qnnrt_qnn__text(qnnrt_arena *arena, qnnrt_error *err, const char *format, ...)
{
    va_list args;
    char *text;
    int bytes;
    va_start(args, format);
    bytes = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = (char *)qnnrt_qnn__take(arena, (uint64_t)(bytes > 0 ? bytes : 0) + 1, 1, err);
    if (text == NULL) return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)bytes + 1, format, args);
    va_end(args);
    return text;
}

/* A text that grows, as a sink for writers of JSON. */
typedef struct qnnrt_qnn__page {
    const qnnrt_hooks *hooks;
    char              *text;
    size_t             used, room;
    int                no_memory;
} qnnrt_qnn__page;

static int qnnrt_qnn__page_add(void *user, const char *text, size_t bytes)
{
    qnnrt_qnn__page *page = (qnnrt_qnn__page *)user;
    if (bytes > SIZE_MAX / 8 - page->used) return 0;
    if (page->used + bytes > page->room) {
        const size_t room = (page->used + bytes) * 2 + 1024;
        char *more = (char *)qnnrt_hooks_alloc(page->hooks, room, 1);
        page->no_memory |= more == NULL;
        if (more == NULL) return 0;
        if (page->used > 0) memcpy(more, page->text, page->used);
        qnnrt_hooks_free(page->hooks, page->text);
        page->text = more;
        page->room = room;
    }
    if (bytes > 0) memcpy(page->text + page->used, text, bytes);
    page->used += bytes;
    return 1;
}

/* =====================================================================================
   CLOCK                                                                          >>clock
   A monotonic clock: -std=c99 hides it in <time.h>, so it is looked up by name.
   Needs: nothing     Knows nothing of: QNN
   ===================================================================================== */

typedef int (*qnnrt_qnn__clock)(int, void *);

static qnnrt_qnn__clock qnnrt_qnn__clock_find(void)
{
    qnnrt_qnn__clock get = NULL;
    void *self = dlopen(NULL, RTLD_NOW);
    void *found = self != NULL ? dlsym(self, "clock_gettime") : NULL;
    memcpy((void *)&get, (const void *)&found, sizeof(get));
    if (self != NULL) dlclose(self);
    return get;
}

/* Return microseconds, 0 without a clock. */
static double qnnrt_qnn__clock_us(qnnrt_qnn__clock get)
{
    struct { long sec, nsec; } now = { 0, 0 };
    if (get == NULL || get(1 /* CLOCK_MONOTONIC */, (void *)&now) != 0) return 0;
    return (double)now.sec * 1e6 + (double)now.nsec / 1e3;
}

/* =====================================================================================
   OPTIONS                                                                      >>options
   The keys that this engine knows, and their values.
   Needs: >>config     Knows nothing of: libraries
   ===================================================================================== */

enum { QNNRT_QNN__OF_LIBRARY = 1, QNNRT_QNN__OF_FOLDER = 2, QNNRT_QNN__OF_GRAPH = 4 };

static const struct { const char *key; int of; } qnnrt_qnn__options[] = {
    { "library_path", QNNRT_QNN__OF_LIBRARY }, { "npu_path", QNNRT_QNN__OF_LIBRARY },
    { "cpu_path", QNNRT_QNN__OF_LIBRARY }, { "system_path", QNNRT_QNN__OF_LIBRARY },
    { "log_level", QNNRT_QNN__OF_LIBRARY }, { "soc_model", QNNRT_QNN__OF_LIBRARY },
    { "memory", QNNRT_QNN__OF_FOLDER | QNNRT_QNN__OF_GRAPH },
    { "power", QNNRT_QNN__OF_FOLDER | QNNRT_QNN__OF_GRAPH },
    { "pipeline", QNNRT_QNN__OF_FOLDER }, { "residency", QNNRT_QNN__OF_FOLDER },
    { "resident_bytes", QNNRT_QNN__OF_FOLDER }, { "metadata", QNNRT_QNN__OF_FOLDER },
    { "weights", QNNRT_QNN__OF_GRAPH }, { "rope_base", QNNRT_QNN__OF_GRAPH },
    { "rope_plain", QNNRT_QNN__OF_GRAPH },
    { "positions", QNNRT_QNN__OF_GRAPH }, { "dsp_arch", QNNRT_QNN__OF_GRAPH },
    { "vtcm_mib", QNNRT_QNN__OF_GRAPH }, { "hvx_threads", QNNRT_QNN__OF_GRAPH }
};

/* Check that all keys are known, and have an effect on `of`; 0: that is not asked. */
static qnnrt_result qnnrt_qnn__options_check(const qnnrt_session_option *options, size_t count,
                                             int of, qnnrt_error *err)
{
    const size_t known = sizeof(qnnrt_qnn__options) / sizeof(qnnrt_qnn__options[0]);
    size_t i, k;
    for (i = 0; i < count; ++i) {
        for (k = 0; k < known && strcmp(qnnrt_qnn__options[k].key, options[i].key) != 0; ++k) {}
        if (k < known && (of == 0 || (qnnrt_qnn__options[k].of & (of | QNNRT_QNN__OF_LIBRARY))))
            continue;
        if (k < known)
            return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "option \"%s\" is for %s",
                                   options[i].key, of == QNNRT_QNN__OF_FOLDER ?
                                   "graphs to compile, and this is a compiled folder" :
                                   "compiled folders, and this is a graph to compile");
        qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "there is no option \"%.200s\"; there are:",
                        options[i].key);
        for (k = 0; k < known; ++k)
            qnnrt_error_add(err, "%s %s", k > 0 ? "," : "", qnnrt_qnn__options[k].key);
        return QNNRT_E_NOT_FOUND;
    }
    return QNNRT_OK;
}

/* Return the value of an option, NULL without it. A later one wins. */
static const char *qnnrt_qnn__option(const qnnrt_session_option *options, size_t count,
                                     const char *key)
{
    while (count-- > 0) if (strcmp(options[count].key, key) == 0) return options[count].value;
    return NULL;
}

/* Read a whole number; the option may be absent. */
static qnnrt_result qnnrt_qnn__option_u64(const qnnrt_session_option *options, size_t count,
                                          const char *key, uint64_t most, uint64_t *out,
                                          qnnrt_error *err)
{
    const char *text = qnnrt_qnn__option(options, count, key), *at = text;
    uint64_t value = 0;
    if (text == NULL) return QNNRT_OK;
    while (*at >= '0' && *at <= '9' && value <= most) {
        if (value > (UINT64_MAX - 9) / 10) { value = UINT64_MAX; break; }
        value = value * 10 + (uint64_t)(*at++ - '0');
    }
    if (at == text || *at != '\0' || value > most)
        return qnnrt_error_set(err, QNNRT_E_ARG, "option \"%s\" is a whole number up to %llu, not "
                               "\"%.100s\"", key, (unsigned long long)most, text);
    *out = value;
    return QNNRT_OK;
}

static qnnrt_result qnnrt_qnn__option_u32(const qnnrt_session_option *options, size_t count,
                                          const char *key, uint32_t *out, qnnrt_error *err)
{
    uint64_t value = *out;
    const qnnrt_result result = qnnrt_qnn__option_u64(options, count, key, UINT32_MAX, &value, err);
    *out = (uint32_t)value;
    return result;
}

/* Read one of several words: *out receives its place in the list, if the option is there. */
static qnnrt_result qnnrt_qnn__option_word(const qnnrt_session_option *options, size_t count,
                                           const char *key, const char *const *words,
                                           uint32_t *out, qnnrt_error *err)
{
    const char *text = qnnrt_qnn__option(options, count, key);
    uint32_t i;
    if (text == NULL) return QNNRT_OK;
    for (i = 0; words[i] != NULL; ++i)
        if (strcmp(words[i], text) == 0) { *out = i; return QNNRT_OK; }
    qnnrt_error_set(err, QNNRT_E_ARG, "option \"%s\" is \"%.100s\", expected one of", key, text);
    for (i = 0; words[i] != NULL; ++i)
        qnnrt_error_add(err, "%s %s", i > 0 ? "," : "", words[i]);
    return QNNRT_E_ARG;
}

/* =====================================================================================
   LIBRARY                                                                      >>library
   The libraries that can be opened, one for each device.
   Needs: >>config >>clock >>options     Knows nothing of: models
   ===================================================================================== */

enum { QNNRT_QNN__CPU_ID = 3, QNNRT_QNN__HTP_ID = 6, QNNRT_QNN__REF_ID = 0x524546 };
enum { QNNRT_QNN__NPU, QNNRT_QNN__CPU, QNNRT_QNN__DEVICES };

static const char *const qnnrt_qnn__names[QNNRT_QNN__DEVICES] = { "npu", "cpu" };

typedef struct qnnrt_qnn__library {
    qnnrt_hooks      hooks;
    qnnrt_backend   *backends[QNNRT_QNN__DEVICES];     /* NULL: there is no such device */
    const char      *devices[QNNRT_QNN__DEVICES];      /* of those that are there */
    const char      *system_path;
    qnnrt_qnn__clock clock;
    uint32_t         soc_model;
    qnnrt_error      build, missing;                   /* texts; missing: what did not open */
} qnnrt_qnn__library;

static const qnnrt_backend_info *qnnrt_qnn__library_info(const qnnrt_qnn__library *lib, int device)
{
    return qnnrt_backend_get_info(lib->backends[device]);
}

/* Open the library of a device, or with device -1 one that decides which it is. Only a `named` one
   must be there. */
static qnnrt_result qnnrt_qnn__library_one(qnnrt_qnn__library *lib, qnnrt_backend_desc *desc,
                                           int device, const char *path, int named,
                                           qnnrt_error *err)
{
    qnnrt_backend *backend = NULL;
    qnnrt_result result;
    char *line;
    const char *from;
    desc->path = path;
    result = qnnrt_backend_open(desc, &backend, err);
    if (result == QNNRT_OK && device < 0) {
        const uint32_t id = qnnrt_backend_get_info(backend)->id;
        device = id == QNNRT_QNN__HTP_ID ? QNNRT_QNN__NPU :
                 id == QNNRT_QNN__CPU_ID || id == QNNRT_QNN__REF_ID ? QNNRT_QNN__CPU : -1;
        if (device < 0)
            result = qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "\"%.300s\" is a library for "
                                     "backend %lu (%.100s); this engine has npu (6, HTP) and cpu "
                                     "(3, CPU and 5391686, Ref)", path, (unsigned long)id,
                                     qnnrt_backend_get_info(backend)->provider);
        else if (lib->backends[device] != NULL)
            result = qnnrt_error_set(err, QNNRT_E_ARG, "\"%.300s\" and the option \"%s_path\" name "
                                     "two libraries for one device", path,
                                     qnnrt_qnn__names[device]);
        if (result != QNNRT_OK) qnnrt_backend_close(backend);
    }
    if (result == QNNRT_OK) {
        lib->backends[device] = backend;
        return QNNRT_OK;
    }
    if (named || result == QNNRT_E_MEMORY) return result;
    for (from = line = err->text; *from != '\0'; ++from)     /* one line, no two spaces */
        if ((*from != ' ' && *from != '\n') || (line > err->text && line[-1] != ' '))
            *line++ = *from == '\n' ? ' ' : *from;
    *line = '\0';
    qnnrt_error_add(&lib->missing, "%s%s", lib->missing.text[0] != '\0' ? "; " : "", err->text);
    qnnrt_log(&lib->hooks, QNNRT_LOG_INFO, "qnn", 0, "no %s: %.900s", qnnrt_qnn__names[device],
              err->text);
    return QNNRT_OK;
}

static void qnnrt_qnn__close(void *library)
{
    qnnrt_qnn__library *lib = (qnnrt_qnn__library *)library;
    qnnrt_hooks hooks;
    int i;
    if (lib == NULL) return;
    hooks = lib->hooks;
    for (i = 0; i < QNNRT_QNN__DEVICES; ++i) qnnrt_backend_close(lib->backends[i]);
    qnnrt_hooks_free(&hooks, lib);
}

/* Open what the options name, or what can be found. */
static qnnrt_result qnnrt_qnn__library_all(qnnrt_qnn__library *lib, const qnnrt_engine_open *open,
                                           qnnrt_error *err)
{
    static const char *const levels[] = { "default", "error", "warn", "info", "verbose", "debug",
                                          NULL };
    static const char *const keys[] = { "npu_path", "cpu_path" };
    static const char *const usual[][3] = { { "libQnnHtp.so", NULL, NULL },
                                            { "libQnnCpu.so", "libQnnRef.so", NULL } };
    qnnrt_backend_desc desc;
    qnnrt_result result;
    uint32_t level = 0;
    int i, k;
    memset(&desc, 0, sizeof(desc));
    desc.hooks = open->hooks;
    result = qnnrt_qnn__option_word(open->options, open->option_count, "log_level", levels, &level,
                                    err);
    if (result == QNNRT_OK)
        result = qnnrt_qnn__option_u32(open->options, open->option_count, "soc_model",
                                       &lib->soc_model, err);
    desc.log_level = (qnnrt_log_level)level;
    desc.soc_model = lib->soc_model;
    for (i = 0; i < QNNRT_QNN__DEVICES && result == QNNRT_OK; ++i) {
        const char *path = qnnrt_qnn__option(open->options, open->option_count, keys[i]);
        if (path != NULL) result = qnnrt_qnn__library_one(lib, &desc, i, path, 1, err);
    }
    if (open->library_path != NULL && result == QNNRT_OK)
        return qnnrt_qnn__library_one(lib, &desc, -1, open->library_path, 1, err);
    for (i = 0; i < QNNRT_QNN__DEVICES; ++i)
        for (k = 0; usual[i][k] != NULL && result == QNNRT_OK && lib->backends[i] == NULL; ++k)
            result = qnnrt_qnn__library_one(lib, &desc, i, usual[i][k], 0, err);
    return result;
}

static qnnrt_result qnnrt_qnn__open(const qnnrt_engine_open *open, void **library,
                                    qnnrt_engine_library *out, qnnrt_error *err)
{
    qnnrt_qnn__library *lib;
    qnnrt_result result;
    int i;
    *library = NULL;
    memset(out, 0, sizeof(*out));
    result = qnnrt_qnn__options_check(open->options, open->option_count, 0, err);
    if (result != QNNRT_OK) return result;
    lib = (qnnrt_qnn__library *)qnnrt_hooks_alloc(&open->hooks, 1, sizeof(*lib));
    if (lib == NULL) return qnnrt_qnn__fail_memory(err, sizeof(*lib));
    lib->hooks = open->hooks;
    lib->clock = qnnrt_qnn__clock_find();
    lib->system_path = qnnrt_qnn__option(open->options, open->option_count, "system_path");
    result = qnnrt_qnn__library_all(lib, open, err);
    for (i = 0; i < QNNRT_QNN__DEVICES && result == QNNRT_OK; ++i) {
        const qnnrt_backend_info *info = qnnrt_qnn__library_info(lib, i);
        if (info == NULL) continue;
        if (out->device_count == 0) out->path = info->path;
        lib->devices[out->device_count++] = qnnrt_qnn__names[i];
        qnnrt_error_add(&lib->build, "%s%s: %s %s", lib->build.text[0] != '\0' ? "; " : "",
                        qnnrt_qnn__names[i], info->provider, info->build_id);
    }
    if (result == QNNRT_OK && out->device_count == 0)
        result = qnnrt_error_hint(err,
                                  qnnrt_error_set(err, QNNRT_E_LIBRARY, "no library of QNN can be "
                                                  "opened: %s", lib->missing.text),
                                  "Name one with the option library_path.");
    if (result != QNNRT_OK) {
        qnnrt_qnn__close(lib);
        memset(out, 0, sizeof(*out));
        return result;
    }
    out->version = qnnrt_version();
    out->build = lib->build.text;
    out->devices = lib->devices;
    *library = lib;
    return QNNRT_OK;
}

/* What a loaded model consists of. */
typedef struct qnnrt_qnn__tensor {
    const qnnrt_slot *slot;
    int        as_float;                 /* codes outside are float32 */
    int        moves;                    /* has dimensions that may change */
    int        fixed;                    /* the caller fixed them, in its facts */
} qnnrt_qnn__tensor;

typedef struct qnnrt_qnn__model {
    qnnrt_qnn__library *lib;
    qnnrt_arena         arena;
    const qnnrt_engine_load *load;       /* during load alone */
    int                 device;
    qnnrt_mem_kind      memory;
    int                 timed;
    qnnrt              *folder;          /* of one file; NULL: another source */
    qnnrt_manifest     *opened;          /* of a folder; NULL: another source */
    qnnrt_cpu_fallback         *host;
    qnnrt_ir           *ir;              /* from here: of graphs */
    qnnrt_weights      *weights;
    qnnrt_compile      *program;
    qnnrt_pipeline     *made;            /* of the program, to be destroyed */
    qnnrt_conversions  *conversions;     /* of `made` */
    const char         *fallback;
    const char        **warnings;
    size_t              warning_count;
    const char        **saved;
    size_t              saved_count;
    const qnnrt_pipeline *pipeline;
    qnnrt_qnn__tensor  *inputs, *outputs;
    qnnrt_session_tensor *input_facts, *output_facts;
    size_t              input_count, output_count;
} qnnrt_qnn__model;

/* Warn of something; there may be one warning for each preference, and two more. */
static qnnrt_result qnnrt_qnn__load_warn(qnnrt_qnn__model *m, const char *before, const char *what,
                                         const char *after, qnnrt_error *err)
{
    const char *text;
    if (m->warnings == NULL) {
        m->warnings = (const char **)qnnrt_qnn__take(&m->arena, m->load->preference_count + 2,
                                                     sizeof(*m->warnings), err);
        if (m->warnings == NULL) return QNNRT_E_MEMORY;
    }
    text = qnnrt_qnn__text(&m->arena, err, "%s%.200s%s", before, what, after);
    if (text == NULL) return QNNRT_E_MEMORY;
    m->warnings[m->warning_count++] = text;
    return QNNRT_OK;
}

static qnnrt_result qnnrt_qnn__load_word(const qnnrt_qnn__model *m, const char *key,
                                         const char *const *words, uint32_t *out, qnnrt_error *err)
{
    return qnnrt_qnn__option_word(m->load->options, m->load->option_count, key, words, out, err);
}

static const char *qnnrt_qnn__load_option(const qnnrt_qnn__model *m, const char *key)
{
    return qnnrt_qnn__option(m->load->options, m->load->option_count, key);
}

/* =====================================================================================
   ROLES                                                                          >>roles
   The backends that the program of a folder names.
   Needs: >>config >>library     Knows nothing of: pipelines
   ===================================================================================== */

enum { QNNRT_QNN__JSON_MOST = 1 << 26 };

/* Read a file. *text is NULL if it does not exist. The caller frees it. */
static qnnrt_result qnnrt_qnn__read(const qnnrt_hooks *hooks, const char *path, uint64_t most,
                                    char **text, size_t *bytes, qnnrt_error *err)
{
    uint64_t size = 0, again = 0;
    qnnrt_result result = qnnrt_file_read(path, NULL, 0, &size, err);
    *text = NULL;
    *bytes = 0;
    if (result != QNNRT_OK) return result;
    if (size > most)
        return qnnrt_error_set(err, QNNRT_E_LIMIT, "\"%.300s\" has %llu bytes, more than %llu",
                               path, (unsigned long long)size, (unsigned long long)most);
    *text = (char *)qnnrt_hooks_alloc(hooks, size + 1, 1);
    if (*text == NULL) return qnnrt_qnn__fail_memory(err, size + 1);
    result = qnnrt_file_read(path, *text, (size_t)size, &again, err);
    if (result == QNNRT_OK && again != size)
        result = qnnrt_error_set(err, QNNRT_E_IO, "\"%.300s\" changed while it was read", path);
    if (result != QNNRT_OK) {
        qnnrt_hooks_free(hooks, *text);
        *text = NULL;
    }
    *bytes = (size_t)size;
    return result;
}

typedef struct qnnrt_qnn__roles {
    qnnrt_manifest_role list[QNNRT_QNN__DEVICES];
    size_t              count;
} qnnrt_qnn__roles;

/* Take the role of a context. */
static qnnrt_result qnnrt_qnn__roles_add(const qnnrt_qnn__model *m, qnnrt_json_reader *json,
                                         qnnrt_qnn__roles *roles, qnnrt_error *err)
{
    size_t i, k;
    for (i = 0; i < QNNRT_QNN__DEVICES && !qnnrt_json_is(&json->value, qnnrt_qnn__names[i]); ++i) {}
    if (i == QNNRT_QNN__DEVICES)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "the program in qnnrt.json has a file for "
                               "the backend \"%.*s\"; this engine has \"npu\" and \"cpu\"",
                               (int)(json->value.bytes < 100 ? json->value.bytes : 100),
                               json->value.text);
    for (k = 0; k < roles->count && strcmp(roles->list[k].role, qnnrt_qnn__names[i]) != 0; ++k) {}
    if (k < roles->count) return QNNRT_OK;
    if (m->lib->backends[i] == NULL)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_LIBRARY, "the program in qnnrt.json "
                                                "has a file for \"%s\", which has no library: %s",
                                                qnnrt_qnn__names[i], m->lib->missing.text), "%s", i
                                == QNNRT_QNN__NPU ? "Name it with the option npu_path." :
                                "Name it with the option cpu_path.");
    roles->list[k].role = qnnrt_qnn__names[i];
    roles->list[k].backend = m->lib->backends[i];
    roles->count += 1;
    return QNNRT_OK;
}

/* Read the contexts of a program. */
static qnnrt_result qnnrt_qnn__roles_contexts(const qnnrt_qnn__model *m, qnnrt_json_reader *json,
                                              qnnrt_qnn__roles *roles, qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    if (qnnrt_json_value(json) != QNNRT_JSON_ARRAY) return QNNRT_OK;
    while (result == QNNRT_OK && qnnrt_json_more(json)) {
        if (qnnrt_json_value(json) != QNNRT_JSON_OBJECT) return QNNRT_OK;
        while (result == QNNRT_OK && qnnrt_json_more(json)) {
            const int backend = qnnrt_json_is(&json->key, "backend");
            if (!backend) qnnrt_json_skip(json);
            else if (qnnrt_json_value(json) != QNNRT_JSON_STRING) return QNNRT_OK;
            else result = qnnrt_qnn__roles_add(m, json, roles, err);
        }
    }
    return result;
}

/* Find the roles of the contexts in dir/qnnrt.json. What is damaged is left to
   qnnrt_manifest_open(). */
static qnnrt_result qnnrt_qnn__roles_read(const qnnrt_qnn__model *m, const char *dir,
                                          qnnrt_qnn__roles *roles, qnnrt_error *err)
{
    const qnnrt_hooks *hooks = &m->arena.hooks;
    const size_t room = strlen(dir) + sizeof("/qnnrt.json");
    char *path = (char *)qnnrt_hooks_alloc(hooks, room, 1), *text = NULL;
    qnnrt_json_reader json;
    qnnrt_result result;
    size_t bytes;
    memset(roles, 0, sizeof(*roles));
    if (path == NULL) return qnnrt_qnn__fail_memory(err, room);
    snprintf(path, room, "%s/qnnrt.json", dir);
    result = qnnrt_qnn__read(hooks, path, QNNRT_QNN__JSON_MOST, &text, &bytes, err);
    qnnrt_hooks_free(hooks, path);
    if (result == QNNRT_E_MEMORY) return result;
    if (result != QNNRT_OK) return QNNRT_OK;
    qnnrt_json_begin(&json, text, bytes, NULL);
    if (qnnrt_json_value(&json) != QNNRT_JSON_OBJECT) bytes = 0;
    while (bytes > 0 && result == QNNRT_OK && qnnrt_json_more(&json)) {
        if (!qnnrt_json_is(&json.key, "program")) { qnnrt_json_skip(&json); continue; }
        if (qnnrt_json_value(&json) != QNNRT_JSON_OBJECT) break;
        while (result == QNNRT_OK && qnnrt_json_more(&json)) {
            if (qnnrt_json_is(&json.key, "contexts"))
                result = qnnrt_qnn__roles_contexts(m, &json, roles, err);
            else qnnrt_json_skip(&json);
        }
    }
    qnnrt_hooks_free(hooks, text);
    return result;
}

/* =====================================================================================
   FOLDER                                                                        >>folder
   Opens compiled files.
   Needs: >>config >>options >>library >>roles     Knows nothing of: graphs, bindings
   ===================================================================================== */

/* Find out for which backend a file is that did not open, and say so. */
static qnnrt_result qnnrt_qnn__folder_other(const qnnrt_qnn__model *m, const char *dir,
                                            const qnnrt_desc *tried, size_t roles,
                                            qnnrt_result result, qnnrt_error *err)
{
    const uint32_t own = qnnrt_qnn__library_info(m->lib, m->device)->id;
    int i;
    if ((result != QNNRT_E_MISMATCH && result != QNNRT_E_FORMAT) || roles > 0)
        return result;
    for (i = 0; i < QNNRT_QNN__DEVICES; ++i) {
        qnnrt_desc desc = *tried;
        qnnrt *model = NULL;
        uint32_t id;
        if (m->lib->backends[i] == NULL) continue;
        desc.inspect = 1;
        desc.backend = NULL;
        desc.backend_desc.path = qnnrt_qnn__library_info(m->lib, i)->path;
        if (qnnrt_open(dir, &desc, &model, NULL) != QNNRT_OK) continue;
        id = qnnrt_get_info(model)->contexts[0].backend_id;
        if (id != own) {
            const char *name = id == QNNRT_QNN__HTP_ID ? "HTP, the npu" :
                               id == QNNRT_QNN__CPU_ID ? "libQnnCpu.so, a cpu" :
                               id == QNNRT_QNN__REF_ID ? "libQnnRef.so, a cpu" : "another one";
            qnnrt_error_set(err, QNNRT_E_MISMATCH, "\"%.200s\" was compiled for backend %lu (%s), "
                            "and the device \"%s\" is \"%.300s\", backend %lu",
                            qnnrt_get_info(model)->contexts[0].file, (unsigned long)id, name,
                            qnnrt_qnn__names[m->device],
                            qnnrt_qnn__library_info(m->lib, m->device)->path, (unsigned long)own);
            qnnrt_error_hint(err, QNNRT_E_MISMATCH, "%s", id == QNNRT_QNN__HTP_ID ?
                             "Ask for the device npu." : "Ask for the device cpu, and name its "
                             "library with the option cpu_path.");
            result = QNNRT_E_MISMATCH;
        }
        qnnrt_close(model);
        return result;
    }
    return result;
}

/* Let the contexts of a folder come and go. */
static qnnrt_result qnnrt_qnn__folder_swap(const qnnrt_qnn__model *m, uint64_t bytes,
                                           qnnrt_error *err)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(m->opened);
    const size_t count = info != NULL ? info->model_count : 1;
    qnnrt *const *models = info != NULL ? info->models : &m->folder;
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < count && result == QNNRT_OK; ++i)
        result = qnnrt_model_swap(models[i], bytes, err);
    return result;
}

/* Read the options of a folder. *swap: its contexts come and go, within *bytes; 0: one. */
static qnnrt_result qnnrt_qnn__folder_options(qnnrt_qnn__model *m, qnnrt_desc *desc, int *swap,
                                              uint64_t *bytes, qnnrt_error *err)
{
    static const char *const residencies[] = { "all", "one", "budget", NULL };
    static const char *const sources[] = { "all", "system", "json", NULL };
    uint32_t residency = 0, source = 0;
    qnnrt_result result = qnnrt_qnn__load_word(m, "residency", residencies, &residency, err);
    if (result == QNNRT_OK) result = qnnrt_qnn__load_word(m, "metadata", sources, &source, err);
    if (result == QNNRT_OK)
        result = qnnrt_qnn__option_u64(m->load->options, m->load->option_count, "resident_bytes",
                                       UINT64_MAX - 1, bytes, err);
    if (result == QNNRT_OK && (residency == 2) != (*bytes != 0))
        return qnnrt_error_set(err, QNNRT_E_ARG, "option \"resident_bytes\" is %llu; residency"
                               " budget needs a number of bytes, and nothing else takes one",
                               (unsigned long long)*bytes);
    *swap = residency != 0;
    if (*swap) desc->residency = QNNRT_RESIDENT_CALLER;
    desc->metadata = (qnnrt_metadata)source;
    return result;
}

/* Refuse what a compiled folder has no use for. */
static qnnrt_result qnnrt_qnn__folder_check(const qnnrt_engine_load *load, qnnrt_error *err)
{
    const char *what = load->precision != QNNRT_PRECISION_DEFAULT ? "precision" :
                       load->optimize_level >= 0 ? "optimize_level" :
                       load->preference_count > 0 ? "preferences" :
                       load->compile_ms > 0 ? "compile_timeout_ms" : NULL;
    if (what == NULL) return QNNRT_OK;
    return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%s has no effect on a folder: it is compiled "
                           "already", what);
}

/* Open a folder, or one binary, and find its pipeline. */
static qnnrt_result qnnrt_qnn__folder_open(qnnrt_qnn__model *m, const char *path, const char *name,
                                           qnnrt_error *err)
{
    qnnrt_qnn__roles roles;
    qnnrt_cpu_fallback_desc host;
    qnnrt_manifest_open_desc desc;
    qnnrt_file file;
    uint64_t bytes, budget = 0;
    qnnrt_result result;
    int swap = 0;
    const int alone = qnnrt_file_read(path, NULL, 0, &bytes, NULL) == QNNRT_OK;
    memset(&desc, 0, sizeof(desc));
    memset(&file, 0, sizeof(file));
    memset(&host, 0, sizeof(host));
    memset(&roles, 0, sizeof(roles));
    desc.model.backend_desc.hooks = m->arena.hooks;
    desc.model.system_path = m->lib->system_path;
    host.hooks = m->arena.hooks;
    file.path = path;
    result = qnnrt_qnn__folder_options(m, &desc.model, &swap, &budget, err);
    if (result == QNNRT_OK && !alone) result = qnnrt_cpu_fallback_open(path, &host, &m->host, err);
    if (result == QNNRT_OK && !alone) result = qnnrt_qnn__roles_read(m, path, &roles, err);
    if (result != QNNRT_OK) return result;
    desc.backends = roles.count > 0 ? roles.list : NULL;
    desc.backend_count = roles.count;
    if (roles.count == 0) desc.model.backend = m->lib->backends[m->device];
    if (alone) {
        desc.model.files = &file;
        desc.model.file_count = 1;
        result = qnnrt_open(NULL, &desc.model, &m->folder, err);
    } else {
        desc.host_functions = qnnrt_cpu_fallback_functions(m->host, &desc.host_function_count);
        result = qnnrt_manifest_open(path, &desc, &m->opened, err);
    }
    if (result != QNNRT_OK)
        return qnnrt_qnn__folder_other(m, alone ? NULL : path, &desc.model, roles.count, result,
                                       err);
    if (swap) result = qnnrt_qnn__folder_swap(m, budget, err);
    if (result != QNNRT_OK) return result;
    result = alone ? qnnrt_pipeline_find(m->folder, name, &m->pipeline, err)
                   : qnnrt_manifest_find(m->opened, name, &m->pipeline, err);
    if (result != QNNRT_E_ARG && result != QNNRT_E_NOT_FOUND) return result;
    if (err != NULL) err->hint[0] = '\0';
    return qnnrt_error_hint(err, result, "Name one with the option pipeline.");
}

/* Return the device of a step, "host" for what this CPU does. */
static const char *qnnrt_qnn__folder_where(const qnnrt_qnn__model *m, const qnnrt_step_info *step)
{
    int i;
    for (i = 0; i < QNNRT_QNN__DEVICES; ++i)
        if (step->kind == QNNRT_STEP_GRAPH && step->backend == m->lib->backends[i])
            return qnnrt_qnn__names[i];
    return "host";
}

/* Check that the steps of a folder run on the device, and list those that do not. */
static qnnrt_result qnnrt_qnn__folder_steps(qnnrt_qnn__model *m, qnnrt_error *err)
{
    const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(m->pipeline);
    size_t i, own = 0, others = 0;
    qnnrt_error line;
    line.text[0] = '\0';
    for (i = 0; i < p->step_count; ++i) {
        const qnnrt_step_info *step = &p->steps[i];
        const char *where = qnnrt_qnn__folder_where(m, step);
        if (strcmp(where, qnnrt_qnn__names[m->device]) == 0) { own += 1; continue; }
        if (step->kind == QNNRT_STEP_DERIVED) continue;
        if (step->kind == QNNRT_STEP_HOST && m->device == QNNRT_QNN__CPU) continue;
        qnnrt_error_add(&line, "%s\"%.100s\" on %s", others > 0 ? ", " : "", step->graph->name,
                        where);
        others += 1;
    }
    if (own == 0 || (others > 0 && m->device == QNNRT_QNN__CPU))
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_MISMATCH, "%lu of %lu steps were not "
                                                "compiled for \"%s\": %s", (unsigned long)others,
                                                (unsigned long)p->step_count,
                                                qnnrt_qnn__names[m->device], line.text), "%s",
                                m->device == QNNRT_QNN__CPU ? "Ask for the device npu." :
                                "Ask for the device cpu.");
    if (others == 0) return QNNRT_OK;
    if (!m->load->allow_fallback)
        return qnnrt_error_hint(err,
                                qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "%lu of %lu steps do not "
                                                "run on the npu: %s", (unsigned long)others,
                                                (unsigned long)p->step_count, line.text),
                                "Set allow_fallback.");
    m->fallback = qnnrt_qnn__text(&m->arena, err, "%lu of %lu steps: %s", (unsigned long)others,
                                  (unsigned long)p->step_count, line.text);
    return m->fallback != NULL ? QNNRT_OK : QNNRT_E_MEMORY;
}

/* =====================================================================================
   GRAPH                                                                          >>graph
   Reads a graph with its weights, and compiles it.
   Needs: >>config >>clock >>options >>library >>roles     Knows nothing of: bindings, folders
   ===================================================================================== */

enum { QNNRT_QNN__GRAPH_MOST = 1 << 30 };        /* bytes of a graph */
#define QNNRT_QNN__PIPELINE "model"

/* A limit of the time to compile. */
typedef struct qnnrt_qnn__limit {
    qnnrt_qnn__clock clock;
    double           end;                /* in us */
    volatile int     stop;
} qnnrt_qnn__limit;

static void qnnrt_qnn__graph_tick(void *user, const qnnrt_build_progress *progress)
{
    qnnrt_qnn__limit *limit = (qnnrt_qnn__limit *)user;
    (void)progress;
    if (qnnrt_qnn__clock_us(limit->clock) >= limit->end) limit->stop = 1;
}

static void qnnrt_qnn__graph_told(void *user, const char *text)
{
    const qnnrt_qnn__model *m = (const qnnrt_qnn__model *)user;
    qnnrt_log(&m->arena.hooks, QNNRT_LOG_WARN, "qnn", 0, "moved: %.900s", text);
}

/* Read and check the graph. */
static qnnrt_result qnnrt_qnn__graph_read(qnnrt_qnn__model *m, qnnrt_error *err)
{
    const char *path = m->load->path;
    qnnrt_ir_desc desc;
    qnnrt_result result;
    char *text = NULL;
    size_t bytes = 0;
    uint32_t plain_rope = 0;
    memset(&desc, 0, sizeof(desc));
    desc.hooks = m->arena.hooks;
    result = qnnrt_qnn__option_u32(m->load->options, m->load->option_count, "rope_plain",
                                   &plain_rope, err);
    if (result != QNNRT_OK) return result;
    desc.plain_rope = plain_rope != 0;
    result = qnnrt_qnn__read(&m->arena.hooks, path, QNNRT_QNN__GRAPH_MOST, &text, &bytes, err);
    if (result != QNNRT_OK) return result;
    result = qnnrt_ir_read(text, bytes, &desc, &m->ir, err);
    qnnrt_hooks_free(&m->arena.hooks, text);
    if (result == QNNRT_OK) result = qnnrt_ir_check(m->ir, NULL, NULL, err);
    if (result != QNNRT_OK) return qnnrt_error_about(err, result, "%s \"%.300s\": ", "cannot read",
                                                     path);
    return QNNRT_OK;
}

/* Find the weights: as the option says, else beside the graph. */
static qnnrt_result qnnrt_qnn__graph_weights(qnnrt_qnn__model *m, qnnrt_error *err)
{
    static const char tail[] = ".safetensors";
    const char *asked = qnnrt_qnn__load_option(m, "weights"), *path = m->load->path;
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t i, stem = dot != NULL && (slash == NULL || dot > slash) ? (size_t)(dot - path)
                                                                   : strlen(path);
    qnnrt_weights_desc desc;
    qnnrt_result result;
    uint64_t bytes;
    char *name;
    for (i = 0; i < m->ir->value_count; ++i) {
        const qnnrt_ir_value *v = m->ir->values[i];
        if (v->origin == QNNRT_IR_WEIGHT && v->users > 0 && v->count > 0) break;
    }
    if (i == m->ir->value_count && asked == NULL) return QNNRT_OK;
    memset(&desc, 0, sizeof(desc));
    desc.hooks = m->arena.hooks;
    if (asked != NULL) return qnnrt_weights_open(asked, &desc, &m->weights, err);
    name = qnnrt_qnn__text(&m->arena, err, "%.*s%s", (int)stem, path, tail);
    if (name == NULL) return QNNRT_E_MEMORY;
    if (qnnrt_file_read(name, NULL, 0, &bytes, NULL) != QNNRT_OK) {
        if (slash != NULL) name[slash - path + (slash == path)] = '\0';
        else memcpy(name, ".", 2);
    }
    result = qnnrt_weights_open(name, &desc, &m->weights, err);
    if (result == QNNRT_E_NOT_FOUND || result == QNNRT_E_MISMATCH) {
        qnnrt_error_about(err, result, "%s \"%.300s\": ", "the graph reads weights, and none are "
                          "beside", path);
        qnnrt_error_hint(err, result, "Name them with the option weights.");
    }
    return result;
}

/* What a program is made with. */
typedef struct qnnrt_qnn__recipe {
    qnnrt_compile_backend backends[QNNRT_QNN__DEVICES + 1];
    qnnrt_compile_pin    *pins;
    qnnrt_compile_desc    desc;
    qnnrt_qnn__limit      limit;
} qnnrt_qnn__recipe;

/* Say how the device computes. */
static qnnrt_result qnnrt_qnn__graph_precision(const qnnrt_qnn__model *m, qnnrt_lower_desc *lower,
                                               qnnrt_error *err)
{
    const qnnrt_backend_info *info = qnnrt_qnn__library_info(m->lib, m->device);
    const qnnrt_lower_target target = qnnrt_lower_target_of(info);
    const qnnrt_precision precision = m->load->precision;
    const char *word = NULL;
    if (precision == QNNRT_PRECISION_INT8) lower->weight_bits = 8;
    if (target == QNNRT_LOWER_REF && precision != QNNRT_PRECISION_DEFAULT)
        lower->compute = precision == QNNRT_PRECISION_FP32 ? QNNRT_DTYPE_F32 : QNNRT_DTYPE_F16;
    if (target == QNNRT_LOWER_HTP && precision == QNNRT_PRECISION_FP32) word = "fp32";
    if (target == QNNRT_LOWER_CPU && precision == QNNRT_PRECISION_FP16) word = "fp16";
    if (word == NULL) return QNNRT_OK;
    return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "precision %s: graphs of floats are compiled "
                           "for %s in %s", word, info->provider, target == QNNRT_LOWER_HTP ?
                           "float16" : "float32");
}

/* Read the options of the compiler. */
static qnnrt_result qnnrt_qnn__graph_options(const qnnrt_qnn__model *m, qnnrt_qnn__recipe *r,
                                             qnnrt_builder_desc *builder, qnnrt_error *err)
{
    const qnnrt_engine_load *load = m->load;
    const int npu = qnnrt_qnn__library_info(m->lib, m->device)->id == QNNRT_QNN__HTP_ID;
    const char *base = qnnrt_qnn__load_option(m, "rope_base");
    qnnrt_lower_desc *lower = &r->desc.lower;
    qnnrt_result result = qnnrt_qnn__graph_precision(m, lower, err);
    static const char *const keys[] = { "positions", "dsp_arch", "vtcm_mib", "hvx_threads" };
    uint32_t *const values[] = { &lower->positions, &builder->dsp_arch, &lower->graph.vtcm_mib,
                                 &lower->graph.hvx_threads };
    size_t i;
    for (i = 0; i < 4 && result == QNNRT_OK; ++i) {
        result = qnnrt_qnn__option_u32(load->options, load->option_count, keys[i], values[i], err);
        if (i > 0 && !npu && qnnrt_qnn__load_option(m, keys[i]) != NULL && result == QNNRT_OK)
            result = qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "option \"%s\" is for HTP, and the "
                                     "device is \"%s\"", keys[i], qnnrt_qnn__names[m->device]);
    }
    if (base != NULL && result == QNNRT_OK) {
        char *end = NULL;
        lower->rope_base = strtod(base, &end);
        if (end == base || *end != '\0' || !(lower->rope_base > 0) || lower->rope_base > 1e30)
            result = qnnrt_error_set(err, QNNRT_E_ARG, "option \"rope_base\" is a positive number, "
                                     "not \"%.100s\"", base);
    }
    if (load->optimize_level >= 0 && result == QNNRT_OK) {
        lower->graph.optimization_level = (uint32_t)load->optimize_level;
        if (!npu || load->optimize_level == 0)
            result = qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "optimize_level %d: the npu has 1 "
                                     "to 3, and the cpu none", load->optimize_level);
    }
    if (load->compile_ms > 0 && result == QNNRT_OK) {
        r->limit.clock = m->lib->clock;
        r->limit.end = qnnrt_qnn__clock_us(m->lib->clock) + load->compile_ms * 1e3;
        builder->progress = qnnrt_qnn__graph_tick;
        builder->progress_user = &r->limit;
        builder->stop = &r->limit.stop;
        if (m->lib->clock == NULL)
            result = qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "compile_timeout_ms: this system "
                                     "has no monotonic clock");
    }
    return result;
}

/* Return true if a preference is for an operator: "linear.default", "aten.linear.default" or
   "linear". */
static int qnnrt_qnn__graph_prefers(const char *key, const char *op)
{
    const size_t length = strlen(key);
    if (strncmp(key, "aten.", 5) == 0) return qnnrt_qnn__graph_prefers(key + 5, op);
    return strncmp(key, op, length) == 0 && (op[length] == '\0' || op[length] == '.');
}

/* Add a backend of a role to the recipe, unless it is there. */
static void qnnrt_qnn__graph_role(const qnnrt_qnn__model *m, qnnrt_qnn__recipe *r, const char *role,
                                  const qnnrt_builder_desc *builder)
{
    qnnrt_compile_backend *at = r->backends + r->desc.backend_count;
    int i;
    for (i = 0; i < QNNRT_QNN__DEVICES && strcmp(role, qnnrt_qnn__names[i]) != 0; ++i) {}
    if (i < QNNRT_QNN__DEVICES && m->lib->backends[i] == NULL) return;
    at->role = role;
    at->backend = i < QNNRT_QNN__DEVICES ? m->lib->backends[i] : NULL;
    at->builder = *builder;
    if (i == QNNRT_QNN__CPU) at->builder.dsp_arch = 0;
    r->desc.backend_count += 1;
}

/* Pin the nodes of operators that a preference gives to a role. */
static qnnrt_result qnnrt_qnn__graph_pins(qnnrt_qnn__model *m, qnnrt_qnn__recipe *r,
                                          qnnrt_error *err)
{
    const qnnrt_engine_load *load = m->load;
    const char **given;                  /* of each node: its role, or NULL */
    size_t i, k, n;
    if (load->preference_count == 0) return QNNRT_OK;
    given = (const char **)qnnrt_qnn__take(&m->arena, m->ir->node_count, sizeof(*given), err);
    r->pins = (qnnrt_compile_pin *)qnnrt_qnn__take(&m->arena, m->ir->node_count, sizeof(*r->pins),
                                                   err);
    if (given == NULL || r->pins == NULL) return QNNRT_E_MEMORY;
    for (i = 0; i < load->preference_count; ++i) {
        const char *key = load->preferences[i].key, *role = load->preferences[i].value;
        for (k = 0; k < r->desc.backend_count && strcmp(r->backends[k].role, role) != 0; ++k) {}
        if (k == r->desc.backend_count) {
            qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "preferences: \"%.200s\" is given to "
                            "\"%.100s\"; here are:", key, role);
            for (k = 0; k < r->desc.backend_count; ++k)
                qnnrt_error_add(err, "%s \"%s\"", k > 0 ? "," : "", r->backends[k].role);
            return qnnrt_error_hint(err, QNNRT_E_UNSUPPORTED, "%s", load->allow_fallback ?
                                    "Name one of them." : "Set allow_fallback, or name the "
                                    "device.");
        }
        for (n = 0; n < m->ir->node_count; ++n) {
            if (!qnnrt_qnn__graph_prefers(key, m->ir->nodes[n]->op)) continue;
            if (given[n] != NULL && given[n] != r->backends[k].role)
                return qnnrt_error_hint(err,
                                        qnnrt_error_set(err, QNNRT_E_UNSUPPORTED,
                                                        "preferences: \"%.200s\" gives node "
                                                        "\"%.200s\" (%.100s) to \"%s\", another "
                                                        "one gives it to \"%s\"", key,
                                                        m->ir->nodes[n]->name, m->ir->nodes[n]->op,
                                                        r->backends[k].role, given[n]),
                                        "Keep one of both.");
            if (given[n] != NULL) continue;
            given[n] = r->backends[k].role;
            r->pins[r->desc.pin_count].node = m->ir->nodes[n]->name;
            r->pins[r->desc.pin_count++].role = r->backends[k].role;
        }
    }
    return QNNRT_OK;
}

/* Warn of preferences for operators that the graph does not have, also when it is not compiled. */
static qnnrt_result qnnrt_qnn__graph_unused(qnnrt_qnn__model *m, qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    size_t i, n;
    for (i = 0; i < m->load->preference_count && result == QNNRT_OK; ++i) {
        const char *key = m->load->preferences[i].key;
        for (n = 0; n < m->ir->node_count; ++n)
            if (qnnrt_qnn__graph_prefers(key, m->ir->nodes[n]->op)) break;
        if (n == m->ir->node_count)
            result = qnnrt_qnn__load_warn(m, "preferences: the graph has no operator \"", key, "\"",
                                          err);
    }
    return result;
}

/* Say which nodes the device does not compute, and why. */
static qnnrt_result qnnrt_qnn__graph_moved(qnnrt_qnn__model *m, qnnrt_error *err)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(m->program);
    const qnnrt_compile_graph *graph = &info->graphs[0];
    const qnnrt_partition_info *plan = graph->partition;
    size_t i, moved = 0;
    qnnrt_error line;
    line.text[0] = '\0';
    for (i = 0; plan != NULL && i < plan->choice_count; ++i) {
        const int32_t b = plan->choices[i].backend;
        const char *why = plan->refusals[i * info->backend_count];
        if (b == 0) continue;
        qnnrt_error_add(&line, "%s\"%.100s\" (%.60s) on %s: %.300s", moved > 0 ? "; " : "",
                        graph->ir->nodes[i]->name, graph->ir->nodes[i]->op,
                        b > 0 ? info->backends[b].role : "host",
                        why != NULL ? why : plan->choices[i].why);
        moved += 1;
    }
    if (moved == 0) return QNNRT_OK;
    m->fallback = qnnrt_qnn__text(&m->arena, err, "%lu of %lu nodes: %s", (unsigned long)moved,
                                  (unsigned long)plan->choice_count, line.text);
    return m->fallback != NULL ? QNNRT_OK : QNNRT_E_MEMORY;
}

/* Compile the graph. */
static qnnrt_result qnnrt_qnn__graph_compile(qnnrt_qnn__model *m, qnnrt_error *err)
{
    qnnrt_qnn__recipe r;
    qnnrt_builder_desc builder;
    qnnrt_result result;
    size_t i;
    memset(&r, 0, sizeof(r));
    memset(&builder, 0, sizeof(builder));
    builder.soc_model = m->lib->soc_model;
    builder.system_path = m->lib->system_path;
    result = qnnrt_qnn__graph_options(m, &r, &builder, err);
    if (result == QNNRT_OK) result = qnnrt_qnn__graph_weights(m, err);
    if (result != QNNRT_OK) return result;
    qnnrt_qnn__graph_role(m, &r, qnnrt_qnn__names[m->device], &builder);
    if (m->load->allow_fallback) {
        if (m->device == QNNRT_QNN__NPU)
            qnnrt_qnn__graph_role(m, &r, qnnrt_qnn__names[QNNRT_QNN__CPU], &builder);
        qnnrt_qnn__graph_role(m, &r, "host", &builder);
    }
    result = qnnrt_qnn__graph_pins(m, &r, err);
    if (result != QNNRT_OK) return result;
    r.desc.hooks = m->arena.hooks;
    r.desc.backends = r.backends;
    r.desc.pins = r.pins;
    /* Work is cheap on the device, moving is cheap: no node leaves for its cost. */
    for (i = 0; i < r.desc.backend_count; ++i)
        r.backends[i].speed = i == 0 ? 1e6 : i == 1 ? 1 : 0.1;
    r.desc.costs.per_step = r.desc.costs.per_crossing = 1e-6;
    r.desc.costs.per_byte = 1e-12;
    r.desc.told = qnnrt_qnn__graph_told;
    r.desc.told_user = m;
    result = qnnrt_compile_create(&r.desc, &m->program, err);
    if (result == QNNRT_OK)
        result = qnnrt_compile_add(m->program, m->ir, m->weights, QNNRT_QNN__PIPELINE, err);
    if (result == QNNRT_OK) result = qnnrt_compile_build(m->program, err);
    if (result == QNNRT_E_CANCELLED)
        return qnnrt_error_set(err, result, "compiling \"%.300s\" took longer than "
                               "compile_timeout_ms, %lu ms", m->load->path,
                               (unsigned long)m->load->compile_ms);
    if (result != QNNRT_OK) return qnnrt_error_about(err, result, "%s \"%.300s\": ",
                                                     "cannot compile", m->load->path);
    return qnnrt_qnn__graph_moved(m, err);
}

/* =====================================================================================
   MADE                                                                            >>made
   Makes a compiled program executable in this process, without files.
   Needs: >>config >>library     Knows nothing of: files
   ===================================================================================== */

/* Write the host steps of the program as text; its text is NULL if there are none. */
static qnnrt_result qnnrt_qnn__made_hosts(qnnrt_qnn__model *m, qnnrt_qnn__page *page,
                                          qnnrt_error *err)
{
    const qnnrt_compile_graph *graph = &qnnrt_compile_get_info(m->program)->graphs[0];
    qnnrt_cpu_fallback_entry *parts;
    qnnrt_result result;
    size_t i, count = 0;
    parts = (qnnrt_cpu_fallback_entry *)qnnrt_qnn__take(&m->arena, graph->step_count,
                                                        sizeof(*parts), err);
    if (parts == NULL) return QNNRT_E_MEMORY;
    for (i = 0; i < graph->step_count; ++i) {
        if (graph->steps[i].context != SIZE_MAX) continue;
        parts[count].name = graph->steps[i].name;
        parts[count++].part = graph->steps[i].ir;
    }
    if (count == 0) return QNNRT_OK;
    result = qnnrt_cpu_fallback_write(parts, count, qnnrt_qnn__page_add, page, err);
    return page->no_memory ? qnnrt_qnn__fail_memory(err, page->used) : result;
}

/* Return the dtype that a host step has for an input. */
static qnnrt_dtype qnnrt_qnn__made_dtype(const qnnrt_host_step *step, const char *input)
{
    size_t i;
    for (i = 0; step != NULL && i < step->input_count; ++i)
        if (strcmp(step->inputs[i].name, input) == 0) return step->inputs[i].dtype;
    return QNNRT_DTYPE_UNDEFINED;
}

/* Load the constants that the pipeline binds. */
static qnnrt_result qnnrt_qnn__made_constants(qnnrt_qnn__model *m, qnnrt_pipeline_desc *desc,
                                              qnnrt_error *err)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(m->program);
    qnnrt_use_desc *list;
    void **data;
    qnnrt_result result = QNNRT_OK;
    size_t i, k;
    list = (qnnrt_use_desc *)qnnrt_qnn__take(&m->arena, desc->use_count, sizeof(*list), err);
    data = (void **)qnnrt_qnn__take(&m->arena, info->constant_count, sizeof(*data), err);
    if (list == NULL || data == NULL) return QNNRT_E_MEMORY;
    for (k = 0; k < info->constant_count && result == QNNRT_OK; ++k) {
        data[k] = qnnrt_qnn__take(&m->arena, info->constants[k].bytes, 1, err);
        if (data[k] == NULL) return QNNRT_E_MEMORY;
        result = qnnrt_compile_load(m->program, k, data[k], err);
    }
    for (i = 0; i < desc->use_count && result == QNNRT_OK; ++i) {
        list[i] = desc->uses[i];
        if (list[i].constant == NULL) continue;
        for (k = 0; k < info->constant_count; ++k)
            if (info->constants[k].data == list[i].constant &&
                info->constants[k].dtype == qnnrt_qnn__made_dtype(desc->steps[list[i].step].host,
                                                                  list[i].tensor)) break;
        if (k == info->constant_count)
            return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "input \"%.200s\" of step %lu has no "
                                   "constant", list[i].tensor, (unsigned long)list[i].step);
        list[i].constant = data[k];
        list[i].constant_bytes = (size_t)info->constants[k].bytes;
    }
    desc->uses = list;
    return result;
}

/* Make the pipeline of the program from its models and functions. */
static qnnrt_result qnnrt_qnn__made_wire(qnnrt_qnn__model *m, qnnrt_error *err)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(m->program);
    qnnrt_pipeline_desc desc = *info->graphs[0].pipeline;
    size_t i, k, count = 0;
    const qnnrt_host_step *functions = qnnrt_cpu_fallback_functions(m->host, &count);
    qnnrt_step_desc *steps;
    qnnrt_host_step *hosts;
    qnnrt_result result;
    steps = (qnnrt_step_desc *)qnnrt_qnn__take(&m->arena, desc.step_count, sizeof(*steps), err);
    hosts = (qnnrt_host_step *)qnnrt_qnn__take(&m->arena, desc.step_count, sizeof(*hosts), err);
    if (steps == NULL || hosts == NULL) return QNNRT_E_MEMORY;
    for (i = 0; i < desc.step_count; ++i) {
        steps[i] = desc.steps[i];
        if (steps[i].host == NULL) {
            steps[i].model = info->contexts[desc.steps[i].context].model;
            steps[i].context = info->contexts[desc.steps[i].context].number;
            continue;
        }
        hosts[i] = *steps[i].host;
        steps[i].host = &hosts[i];
        for (k = 0; k < count && strcmp(functions[k].name, hosts[i].name) != 0; ++k) {}
        if (k == count)
            return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "host step \"%.200s\" has no function",
                                   hosts[i].name);
        hosts[i].exec = functions[k].exec;
        hosts[i].user = functions[k].user;
    }
    result = qnnrt_qnn__made_constants(m, &desc, err);
    desc.steps = steps;
    if (result == QNNRT_OK)
        result = qnnrt_conversions_create(&desc, info->graphs[0].conversions, &m->arena.hooks,
                                          &m->conversions, err);
    if (result == QNNRT_OK)
        result = qnnrt_pipeline_make(qnnrt_conversions_desc(m->conversions), &m->made, err);
    m->pipeline = m->made;
    return result;
}

static qnnrt_result qnnrt_qnn__made_all(qnnrt_qnn__model *m, const qnnrt_qnn__page *hosts,
                                        qnnrt_error *err)
{
    qnnrt_cpu_fallback_desc desc;
    qnnrt_result result = QNNRT_OK;
    memset(&desc, 0, sizeof(desc));
    desc.hooks = m->arena.hooks;
    if (hosts->text != NULL)
        result = qnnrt_cpu_fallback_read(hosts->text, hosts->used, &desc, &m->host, err);
    return result == QNNRT_OK ? qnnrt_qnn__made_wire(m, err) : result;
}

/* =====================================================================================
   SAVE                                                                            >>save
   Writes a compiled program as a folder.
   Needs: >>config >>library >>roles (a file)     Knows nothing of: pipelines
   ===================================================================================== */

#define QNNRT_QNN__NOTE "fallback.txt"           /* what runs elsewhere, and why */

/* Return the path of a new file, whose name is added to those that were saved. */
static const char *qnnrt_qnn__save_name(qnnrt_qnn__model *m, const char *name, qnnrt_error *err)
{
    m->saved[m->saved_count++] = name;
    return qnnrt_qnn__text(&m->arena, err, "%s/%s", m->load->save, name);
}

static qnnrt_result qnnrt_qnn__save_file(qnnrt_qnn__model *m, const char *name, const void *data,
                                         size_t bytes, qnnrt_error *err)
{
    const char *path = qnnrt_qnn__save_name(m, name, err);
    FILE *file;
    int good;
    if (path == NULL) return QNNRT_E_MEMORY;
    file = fopen(path, "wb");
    good = file != NULL && (bytes == 0 || fwrite(data, 1, bytes, file) == bytes);
    if (file != NULL && fclose(file) != 0) good = 0;
    if (good) return QNNRT_OK;
    return qnnrt_error_set(err, QNNRT_E_IO, "cannot write \"%.300s\": %s", path, strerror(errno));
}

/* Write the contexts and constants, and describe them for the program. */
static qnnrt_result qnnrt_qnn__save_parts(qnnrt_qnn__model *m, qnnrt_manifest_context *contexts,
                                          qnnrt_manifest_constant *constants, qnnrt_error *err)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(m->program);
    qnnrt_result result = QNNRT_OK;
    size_t i;
    for (i = 0; i < info->context_count && result == QNNRT_OK; ++i) {
        const qnnrt_compile_context *from = &info->contexts[i];
        const char *path;
        contexts[i].role = info->backends[from->backend].role;
        contexts[i].file = qnnrt_qnn__text(&m->arena, err, "%s_%lu.bin", contexts[i].role,
                                           (unsigned long)from->number);
        if (contexts[i].file == NULL) return QNNRT_E_MEMORY;
        path = qnnrt_qnn__save_name(m, contexts[i].file, err);
        if (path == NULL) return QNNRT_E_MEMORY;
        result = qnnrt_save(from->model, from->number, path, err);
    }
    for (i = 0; i < info->constant_count && result == QNNRT_OK; ++i) {
        const qnnrt_compile_constant *from = &info->constants[i];
        void *data = qnnrt_hooks_alloc(&m->arena.hooks, from->bytes, 1);
        constants[i].tensor.name = from->name;
        constants[i].file = qnnrt_qnn__text(&m->arena, err, "host_%lu.raw", (unsigned long)i);
        constants[i].tensor.dtype = from->dtype;
        constants[i].tensor.rank = from->rank;
        constants[i].tensor.dims = from->dims;
        constants[i].data = from->data;
        if (data == NULL) qnnrt_qnn__fail_memory(err, from->bytes);
        if (data == NULL || constants[i].file == NULL) result = QNNRT_E_MEMORY;
        if (result == QNNRT_OK) result = qnnrt_compile_load(m->program, i, data, err);
        if (result == QNNRT_OK)
            result = qnnrt_qnn__save_file(m, constants[i].file, data, (size_t)from->bytes, err);
        qnnrt_hooks_free(&m->arena.hooks, data);
    }
    return result;
}

/* Write the folder that the cache keeps. */
static qnnrt_result qnnrt_qnn__save_all(qnnrt_qnn__model *m, const qnnrt_qnn__page *hosts,
                                        qnnrt_error *err)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(m->program);
    qnnrt_qnn__page page = { NULL, NULL, 0, 0, 0 };
    qnnrt_manifest_desc desc;
    qnnrt_manifest_pipeline pipeline;
    qnnrt_manifest_context *contexts;
    qnnrt_manifest_constant *constants;
    qnnrt_result result;
    contexts = (qnnrt_manifest_context *)qnnrt_qnn__take(&m->arena, info->context_count,
                                                         sizeof(*contexts), err);
    constants = (qnnrt_manifest_constant *)qnnrt_qnn__take(&m->arena, info->constant_count,
                                                           sizeof(*constants), err);
    m->saved = (const char **)qnnrt_qnn__take(&m->arena, info->context_count +
                                              info->constant_count + 3, sizeof(*m->saved), err);
    if (contexts == NULL || constants == NULL || m->saved == NULL) return QNNRT_E_MEMORY;
    result = qnnrt_qnn__save_parts(m, contexts, constants, err);
    memset(&desc, 0, sizeof(desc));
    desc.contexts = contexts;
    desc.context_count = info->context_count;
    desc.constants = constants;
    desc.constant_count = info->constant_count;
    pipeline.desc = *info->graphs[0].pipeline;
    pipeline.conversions = info->graphs[0].conversions;
    pipeline.states = info->graphs[0].states;
    pipeline.state_count = info->graphs[0].state_count;
    desc.pipelines = &pipeline;
    desc.pipeline_count = 1;
    page.hooks = &m->arena.hooks;
    if (result == QNNRT_OK) result = qnnrt_manifest_write(&desc, qnnrt_qnn__page_add, &page, err);
    if (page.no_memory) result = qnnrt_qnn__fail_memory(err, page.used);
    if (result == QNNRT_OK)
        result = qnnrt_qnn__save_file(m, "qnnrt.json", page.text, page.used, err);
    qnnrt_hooks_free(page.hooks, page.text);
    if (result == QNNRT_OK && hosts->text != NULL)
        result = qnnrt_qnn__save_file(m, "host.json", hosts->text, hosts->used, err);
    if (result == QNNRT_OK && m->fallback != NULL)
        result = qnnrt_qnn__save_file(m, QNNRT_QNN__NOTE, m->fallback, strlen(m->fallback), err);
    return result;
}

/* Read what runs elsewhere. */
static qnnrt_result qnnrt_qnn__save_note(qnnrt_qnn__model *m, const char *dir, qnnrt_error *err)
{
    char *path = qnnrt_qnn__text(&m->arena, err, "%s/%s", dir, QNNRT_QNN__NOTE), *text = NULL;
    size_t bytes = 0;
    qnnrt_result result;
    if (path == NULL) return QNNRT_E_MEMORY;
    result = qnnrt_qnn__read(&m->arena.hooks, path, 4096, &text, &bytes, err);
    if (result == QNNRT_OK) {
        m->fallback = qnnrt_qnn__text(&m->arena, err, "%s", text);
        if (m->fallback == NULL) result = QNNRT_E_MEMORY;
    }
    qnnrt_hooks_free(&m->arena.hooks, text);
    return result == QNNRT_E_NOT_FOUND ? QNNRT_OK : result;
}

/* =====================================================================================
   FACTS                                                                          >>facts
   Inputs and outputs of a pipeline, as sessions have them.
   Needs: >>config >>library     Knows nothing of: files, runs
   ===================================================================================== */

/* Return the integer type of codes. */
static qnnrt_dtype qnnrt_qnn__facts_codes(qnnrt_dtype dtype)
{
    const unsigned kind = (unsigned)dtype >> 8, bits = (unsigned)dtype & 0xFF;
    return kind == 3 ? (qnnrt_dtype)bits : kind == 4 ? (qnnrt_dtype)(0x100 | bits) : dtype;
}

/* Return the name of a slot: the user's, else the tensor's. */
static const char *qnnrt_qnn__facts_name(const qnnrt_pipeline_info *p, const qnnrt_slot *slot)
{
    size_t i;
    for (i = 0; i < p->name_count; ++i) if (p->names[i].slot == slot) return p->names[i].name;
    return slot->address;
}

/* Return where the graph that was compiled has a tensor; others come last. */
static size_t qnnrt_qnn__facts_place(const qnnrt_qnn__model *m, const char *name, int output)
{
    const size_t count = m->ir == NULL ? 0 : output ? m->ir->output_count : m->ir->input_count;
    qnnrt_ir_value *const *list = m->ir == NULL ? NULL : output ? m->ir->outputs : m->ir->inputs;
    size_t i;
    for (i = 0; i < count; ++i) {
        const size_t length = strlen(list[i]->name);
        char tail[32];
        if (strncmp(list[i]->name, name, length) != 0) continue;
        snprintf(tail, sizeof tail, ".%lu", (unsigned long)i);
        if (strcmp(name + length, "") == 0 || strcmp(name + length, tail) == 0) return i;
    }
    return count;
}

/* Return true if a slot lives in a buffer, and keeps its content between runs. */
static int qnnrt_qnn__facts_kept(const qnnrt_pipeline_info *p, const qnnrt_slot *slot)
{
    size_t i;
    for (i = 0; i < p->place_count; ++i)
        if (p->places[i].slot == slot && !p->places[i].caller_io) return 1;
    return 0;
}

/* Describe one slot. */
static void qnnrt_qnn__facts_one(const qnnrt_qnn__model *m, const qnnrt_pipeline_info *p,
                                 const qnnrt_slot *slot, int native, qnnrt_qnn__tensor *tensor,
                                 qnnrt_session_tensor *fact)
{
    const qnnrt_tensor_info *info = slot->tensor;
    const int coded = info->quant.encoding == QNNRT_ENCODING_PER_TENSOR ||
                      info->quant.encoding == QNNRT_ENCODING_PER_AXIS;
    uint32_t i;
    (void)m;
    memset(tensor, 0, sizeof(*tensor));
    memset(fact, 0, sizeof(*fact));
    tensor->slot = slot;
    tensor->as_float = coded && !native;
    fact->name = qnnrt_qnn__facts_name(p, slot);
    fact->dtype = tensor->as_float ? QNNRT_DTYPE_F32 : qnnrt_qnn__facts_codes(info->dtype);
    fact->quant = coded && native ? &info->quant : NULL;
    fact->rank = info->rank;
    for (i = 0; i < info->rank && i < QNNRT_SESSION_RANK; ++i) {
        const int any = info->dynamic_dims != NULL && info->dynamic_dims[i] != 0;
        fact->dims[i] = any ? -1 : (int64_t)info->dims[i];
        tensor->moves |= any;
    }
    fact->optional = slot->role == QNNRT_ROLE_INPUT &&
                     (info->optional || qnnrt_qnn__facts_kept(p, slot));
}

/* Return the slots of a role, described and in the order of the graph. */
static qnnrt_result qnnrt_qnn__facts_list(qnnrt_qnn__model *m, qnnrt_role role,
                                          qnnrt_qnn__tensor **tensors, qnnrt_session_tensor **facts,
                                          size_t *count, qnnrt_error *err)
{
    const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(m->pipeline);
    size_t i, k, *places;
    *count = 0;
    for (i = 0; i < p->slot_count; ++i) *count += p->slots[i].role == role;
    *tensors = (qnnrt_qnn__tensor *)qnnrt_qnn__take(&m->arena, *count, sizeof(**tensors), err);
    *facts = (qnnrt_session_tensor *)qnnrt_qnn__take(&m->arena, *count, sizeof(**facts), err);
    places = (size_t *)qnnrt_qnn__take(&m->arena, *count, sizeof(*places), err);
    if (*tensors == NULL || *facts == NULL || places == NULL) return QNNRT_E_MEMORY;
    *count = 0;
    for (i = 0; i < p->slot_count; ++i) {
        const qnnrt_slot *slot = &p->slots[i];
        size_t place;
        if (slot->role != role) continue;
        if (slot->tensor->rank > QNNRT_SESSION_RANK)
            return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "tensor \"%.200s\" has %lu "
                                   "dimensions, and sessions have at most %d", slot->address,
                                   (unsigned long)slot->tensor->rank, (int)QNNRT_SESSION_RANK);
        place = qnnrt_qnn__facts_place(m, qnnrt_qnn__facts_name(p, slot),
                                       role == QNNRT_ROLE_OUTPUT);
        for (k = (*count)++; k > 0 && places[k - 1] > place; --k) {
            places[k] = places[k - 1];
            (*tensors)[k] = (*tensors)[k - 1];
            (*facts)[k] = (*facts)[k - 1];
        }
        places[k] = place;
        qnnrt_qnn__facts_one(m, p, slot, m->load->native_io, &(*tensors)[k], &(*facts)[k]);
    }
    return QNNRT_OK;
}

/* Fix the dimensions of an input as the caller wants them. */
static qnnrt_result qnnrt_qnn__facts_fix(qnnrt_qnn__model *m, const qnnrt_session_shape *shape,
                                         qnnrt_error *err)
{
    qnnrt_session_tensor *fact;
    size_t i;
    uint32_t k;
    for (i = 0; i < m->input_count && strcmp(m->input_facts[i].name, shape->name) != 0; ++i) {}
    if (shape->rank == 0 || i == m->input_count) {
        qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "there is no %s \"%.200s\" to give a shape to; "
                        "inputs are:", shape->rank == 0 ? "dimension" : "input", shape->name);
        for (i = 0; i < m->input_count; ++i)
            qnnrt_error_add(err, "%s %.100s", i > 0 ? "," : "", m->input_facts[i].name);
        return QNNRT_E_NOT_FOUND;
    }
    fact = &m->input_facts[i];
    for (k = 0; k < shape->rank && k < fact->rank; ++k) {
        const int64_t most = m->inputs[i].slot->tensor->dims[k];
        if (fact->dims[k] >= 0 ? shape->dims[k] != most
                               : shape->dims[k] < 1 || shape->dims[k] > most) break;
    }
    if (shape->rank == fact->rank && k == fact->rank) {
        for (k = 0; k < fact->rank; ++k) fact->dims[k] = shape->dims[k];
        m->inputs[i].fixed = 1;
        return QNNRT_OK;
    }
    qnnrt_error_set(err, QNNRT_E_MISMATCH, "input \"%.200s\" cannot be [", fact->name);
    for (k = 0; k < shape->rank; ++k)
        qnnrt_error_add(err, "%s%lld", k > 0 ? "," : "", (long long)shape->dims[k]);
    qnnrt_error_add(err, "], and the model has [");
    for (k = 0; k < fact->rank; ++k)
        qnnrt_error_add(err, "%s%s%lu", k > 0 ? "," : "", fact->dims[k] < 0 ? "<=" : "",
                        (unsigned long)m->inputs[i].slot->tensor->dims[k]);
    qnnrt_error_add(err, "]");
    return QNNRT_E_MISMATCH;
}

static qnnrt_result qnnrt_qnn__facts_all(qnnrt_qnn__model *m, qnnrt_error *err)
{
    qnnrt_result result;
    size_t i;
    result = qnnrt_qnn__facts_list(m, QNNRT_ROLE_INPUT, &m->inputs, &m->input_facts,
                                   &m->input_count, err);
    if (result == QNNRT_OK)
        result = qnnrt_qnn__facts_list(m, QNNRT_ROLE_OUTPUT, &m->outputs, &m->output_facts,
                                       &m->output_count, err);
    for (i = 0; i < m->load->shape_count && result == QNNRT_OK; ++i)
        result = qnnrt_qnn__facts_fix(m, &m->load->shapes[i], err);
    return result;
}

/* =====================================================================================
   BINDING                                                                      >>binding
   A run with memory of its own, and where the caller's values are.
   Needs: >>config >>clock >>library     Knows nothing of: files, graphs
   ===================================================================================== */

/* How a value reaches its tensor, or leaves it. */
typedef enum qnnrt_qnn__way {
    QNNRT_QNN__PLACE,                /* the tensor is there */
    QNNRT_QNN__COPY,                 /* bytes are copied, as many as the dimensions make */
    QNNRT_QNN__FLOATS                /* codes are converted */
} qnnrt_qnn__way;

typedef struct qnnrt_qnn__port {
    qnnrt_qnn__way way;
    int            check;            /* an index, whose range is checked */
    void          *data;             /* the caller's; NULL: none */
    size_t         bytes;
    uint64_t       count;            /* elements */
    float         *values;           /* of an output of floats: our memory for them */
} qnnrt_qnn__port;

typedef struct qnnrt_qnn__binding {
    qnnrt_qnn__model *m;
    qnnrt_arena       arena;
    qnnrt_plan       *plan;
    qnnrt_mem        *mem;
    qnnrt_run        *run;
    qnnrt_qnn__port  *inputs, *outputs;
    int               work;          /* a run is more than qnnrt_exec() */
    int               profiled;
    double            us;            /* of the last run, < 0: not measured */
} qnnrt_qnn__binding;

static qnnrt_result qnnrt_qnn__binding_fail(const qnnrt_qnn__binding *b, qnnrt_result result,
                                            qnnrt_error *err)
{
    if (err != NULL) *err = *qnnrt_run_error(b->run);
    return result;
}

/* Note whether a run has values to move. */
static void qnnrt_qnn__binding_note(qnnrt_qnn__binding *b)
{
    size_t i;
    b->work = b->m->timed;
    for (i = 0; i < b->m->input_count; ++i)
        b->work |= (b->inputs[i].way != QNNRT_QNN__PLACE || b->inputs[i].check) &&
                   b->inputs[i].data != NULL;
    for (i = 0; i < b->m->output_count; ++i)
        b->work |= b->outputs[i].way != QNNRT_QNN__PLACE &&
                   (b->outputs[i].data != NULL || b->outputs[i].values != NULL);
}

static void qnnrt_qnn__binding_destroy(void *binding)
{
    qnnrt_qnn__binding *b = (qnnrt_qnn__binding *)binding;
    qnnrt_hooks hooks;
    if (b == NULL) return;
    hooks = b->arena.hooks;
    qnnrt_run_destroy(b->run);
    qnnrt_mem_destroy(b->mem);
    qnnrt_plan_destroy(b->plan);
    qnnrt_arena_free(&b->arena);
    qnnrt_hooks_free(&hooks, b);
}

/* Plan the pipeline alone, with its buffers, and make it executable. */
static qnnrt_result qnnrt_qnn__binding_prepare(qnnrt_qnn__binding *b, qnnrt_error *err)
{
    const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(b->m->pipeline);
    qnnrt_plan_desc plan;
    qnnrt_entry_desc entry;
    qnnrt_mem_desc mem;
    qnnrt_result result;
    memset(&plan, 0, sizeof(plan));
    memset(&entry, 0, sizeof(entry));
    memset(&mem, 0, sizeof(mem));
    entry.pipeline = b->m->pipeline;
    plan.entries = &entry;
    plan.entry_count = 1;
    plan.buffers = p->buffers;
    plan.buffer_count = p->buffer_count;
    plan.places = p->places;
    plan.place_count = p->place_count;
    qnnrt_device_memory("shared", &mem);
    mem.kind = b->m->memory;
    result = qnnrt_plan_create(&plan, &b->plan, err);
    if (result == QNNRT_OK) result = qnnrt_mem_create(b->plan, &mem, &b->mem, err);
    if (result == QNNRT_OK) result = qnnrt_run_create(b->mem, 0, &b->run, err);
    if (result == QNNRT_OK && qnnrt_run_dynamic(b->run) != QNNRT_OK)
        result = qnnrt_error_set(err, QNNRT_E_MEMORY, "out of memory for dims that change");
    return result;
}

/* Set the dimensions of a tensor that may change. */
static qnnrt_result qnnrt_qnn__binding_dims(qnnrt_qnn__binding *b, const qnnrt_qnn__tensor *tensor,
                                            const int64_t *dims, uint32_t rank, uint64_t *count,
                                            qnnrt_error *err)
{
    uint32_t now[QNNRT_SESSION_RANK], i;
    qnnrt_result result;
    *count = 1;
    for (i = 0; i < rank; ++i) {
        if (dims[i] < 1 || dims[i] > (int64_t)tensor->slot->tensor->dims[i])
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "\"%.200s\": dimension %lu is %lld; the "
                                   "model takes 1 to %lu", tensor->slot->address, (unsigned long)i,
                                   (long long)dims[i],
                                   (unsigned long)tensor->slot->tensor->dims[i]);
        now[i] = (uint32_t)dims[i];
        *count *= now[i];
    }
    result = qnnrt_set_dims(b->run, tensor->slot, now, rank);
    return result == QNNRT_OK ? QNNRT_OK : qnnrt_qnn__binding_fail(b, result, err);
}

/* Prepare the inputs and outputs as they are without values. */
static qnnrt_result qnnrt_qnn__binding_ports(qnnrt_qnn__binding *b, qnnrt_error *err)
{
    const qnnrt_qnn__model *m = b->m;
    size_t i;
    b->inputs = (qnnrt_qnn__port *)qnnrt_qnn__take(&b->arena, m->input_count, sizeof(*b->inputs),
                                                   err);
    b->outputs = (qnnrt_qnn__port *)qnnrt_qnn__take(&b->arena, m->output_count,
                                                    sizeof(*b->outputs), err);
    if (b->inputs == NULL || b->outputs == NULL) return QNNRT_E_MEMORY;
    for (i = 0; i < m->input_count; ++i) {
        const qnnrt_qnn__tensor *tensor = &m->inputs[i];
        uint64_t count;
        qnnrt_result result = QNNRT_OK;
        if (tensor->moves && tensor->fixed)
            result = qnnrt_qnn__binding_dims(b, tensor, m->input_facts[i].dims,
                                             m->input_facts[i].rank, &count, err);
        if (result == QNNRT_OK && tensor->slot->tensor->optional &&
            qnnrt_omit(b->run, tensor->slot) != QNNRT_OK)
            result = qnnrt_qnn__binding_fail(b, qnnrt_run_error(b->run)->code, err);
        if (result != QNNRT_OK) return result;
    }
    for (i = 0; i < m->output_count; ++i) {
        const qnnrt_qnn__tensor *tensor = &m->outputs[i];
        b->outputs[i].count = tensor->slot->tensor->count;
        if (!tensor->as_float) continue;
        b->outputs[i].way = QNNRT_QNN__FLOATS;
        b->outputs[i].values = (float *)qnnrt_qnn__take(&b->arena, tensor->slot->tensor->count,
                                                        sizeof(float), err);
        if (b->outputs[i].values == NULL) return QNNRT_E_MEMORY;
    }
    return QNNRT_OK;
}

static qnnrt_result qnnrt_qnn__binding_create(void *model, void **binding, qnnrt_error *err)
{
    qnnrt_qnn__model *m = (qnnrt_qnn__model *)model;
    qnnrt_qnn__binding *b;
    qnnrt_result result;
    *binding = NULL;
    b = (qnnrt_qnn__binding *)qnnrt_hooks_alloc(&m->arena.hooks, 1, sizeof(*b));
    if (b == NULL) return qnnrt_qnn__fail_memory(err, sizeof(*b));
    b->m = m;
    b->arena.hooks = m->arena.hooks;
    b->us = -1;
    result = qnnrt_qnn__binding_prepare(b, err);
    if (result == QNNRT_OK) result = qnnrt_qnn__binding_ports(b, err);
    if (result == QNNRT_OK && m->timed && qnnrt_pipeline_get_info(m->pipeline)->step_count > 1) {
        b->profiled = qnnrt_run_profile(b->run, QNNRT_PROFILE_BASIC) == QNNRT_OK;
        if (!b->profiled)
            qnnrt_log(&m->arena.hooks, QNNRT_LOG_WARN, "qnn", 0, "steps are not timed: %.900s",
                      qnnrt_run_error(b->run)->text);
    }
    if (result != QNNRT_OK) {
        qnnrt_qnn__binding_destroy(b);
        return result;
    }
    qnnrt_qnn__binding_note(b);
    *binding = b;
    return QNNRT_OK;
}

/* Place an input, or take it back. */
static qnnrt_result qnnrt_qnn__binding_input(qnnrt_qnn__binding *b, size_t index,
                                             const qnnrt_value *value, qnnrt_error *err)
{
    const qnnrt_qnn__tensor *tensor = &b->m->inputs[index];
    const qnnrt_tensor_info *info = tensor->slot->tensor;
    qnnrt_qnn__port port, *at = &b->inputs[index];
    uint32_t before[QNNRT_SESSION_RANK], rank = 0;
    const uint32_t *now;
    qnnrt_result result = QNNRT_OK;
    memset(&port, 0, sizeof(port));
    port.count = info->count;
    port.data = value->data;
    port.bytes = value->bytes;
    if (value->data != NULL && tensor->moves) {
        now = qnnrt_get_dims(b->run, tensor->slot, &rank);
        if (now == NULL || rank > QNNRT_SESSION_RANK) rank = 0;
        if (rank > 0) memcpy(before, now, rank * sizeof(*before));
        result = qnnrt_qnn__binding_dims(b, tensor, value->dims, value->rank, &port.count, err);
    }
    if (result != QNNRT_OK) return result;
    port.way = tensor->as_float ? QNNRT_QNN__FLOATS :
               port.count < info->count ? QNNRT_QNN__COPY : QNNRT_QNN__PLACE;
    port.check = tensor->slot->has_range;
    if (value->data != NULL && port.way == QNNRT_QNN__PLACE)
        result = qnnrt_bind_input(b->run, tensor->slot, value->data, value->bytes);
    else result = qnnrt_bind_input(b->run, tensor->slot, NULL, 0);
    if (result == QNNRT_OK && value->data == NULL && info->optional)
        result = qnnrt_omit(b->run, tensor->slot);
    if (result != QNNRT_OK) {
        qnnrt_qnn__binding_fail(b, result, err);
        if (rank > 0) qnnrt_set_dims(b->run, tensor->slot, before, rank);
        return result;
    }
    *at = port;
    return QNNRT_OK;
}

/* Place an output, or give it memory of ours. */
static qnnrt_result qnnrt_qnn__binding_output(qnnrt_qnn__binding *b, size_t index,
                                              const qnnrt_value *value, qnnrt_error *err)
{
    const qnnrt_qnn__tensor *tensor = &b->m->outputs[index];
    qnnrt_qnn__port port = b->outputs[index];
    qnnrt_result result = QNNRT_OK;
    port.count = tensor->slot->tensor->count;
    port.data = value->data;
    port.bytes = value->bytes;
    if (value->data != NULL && tensor->moves && value->rank > 0)
        result = qnnrt_qnn__binding_dims(b, tensor, value->dims, value->rank, &port.count, err);
    if (result != QNNRT_OK) return result;
    port.way = tensor->as_float ? QNNRT_QNN__FLOATS :
               tensor->moves ? QNNRT_QNN__COPY : QNNRT_QNN__PLACE;
    if (port.way == QNNRT_QNN__PLACE) {
        result = qnnrt_bind_output(b->run, tensor->slot, value->data, value->bytes);
        if (result != QNNRT_OK) return qnnrt_qnn__binding_fail(b, result, err);
    }
    b->outputs[index] = port;
    return QNNRT_OK;
}

static qnnrt_result qnnrt_qnn__set(void *binding, int output, size_t index,
                                   const qnnrt_value *value, qnnrt_error *err)
{
    qnnrt_qnn__binding *b = (qnnrt_qnn__binding *)binding;
    const qnnrt_result result = output ? qnnrt_qnn__binding_output(b, index, value, err)
                                       : qnnrt_qnn__binding_input(b, index, value, err);
    qnnrt_qnn__binding_note(b);
    return result;
}

/* Check that indices are rows of the tables that they look up. */
static qnnrt_result qnnrt_qnn__binding_range(const qnnrt_qnn__binding *b, size_t index,
                                             qnnrt_error *err)
{
    const qnnrt_slot *slot = b->m->inputs[index].slot;
    const qnnrt_qnn__port *port = &b->inputs[index];
    uint64_t i;
    for (i = 0; i < port->count; ++i) {
        int32_t value;
        memcpy(&value, (const char *)port->data + (size_t)i * sizeof(value), sizeof(value));
        if (value >= slot->low && value <= slot->high) continue;
        return qnnrt_error_set(err, QNNRT_E_ARG, "input \"%.200s\": element %llu is %ld; the model "
                               "takes %ld to %ld", b->m->input_facts[index].name,
                               (unsigned long long)i, (long)value, (long)slot->low,
                               (long)slot->high);
    }
    return QNNRT_OK;
}

/* Move the inputs to their tensors. */
static qnnrt_result qnnrt_qnn__binding_before(qnnrt_qnn__binding *b, qnnrt_error *err)
{
    size_t i;
    for (i = 0; i < b->m->input_count; ++i) {
        const qnnrt_qnn__port *port = &b->inputs[i];
        const qnnrt_slot *slot = b->m->inputs[i].slot;
        qnnrt_result result = QNNRT_OK;
        if (port->data == NULL) continue;
        if (port->check) result = qnnrt_qnn__binding_range(b, i, err);
        if (result != QNNRT_OK) return result;
        if (port->way == QNNRT_QNN__FLOATS)
            result = qnnrt_write_f32(b->run, slot, 0, (const float *)port->data,
                                     (size_t)port->count);
        else if (port->way == QNNRT_QNN__COPY)
            memcpy(qnnrt_data_slot(b->run, slot, NULL), port->data, port->bytes);
        if (result != QNNRT_OK) return qnnrt_qnn__binding_fail(b, result, err);
    }
    return QNNRT_OK;
}

/* Return how many elements the last run wrote. */
static uint64_t qnnrt_qnn__binding_count(const qnnrt_qnn__binding *b, const qnnrt_slot *slot)
{
    uint32_t rank = 0, i;
    const uint32_t *dims = qnnrt_get_dims(b->run, slot, &rank);
    uint64_t count = 1;
    for (i = 0; i < rank; ++i) count *= dims[i];
    return count;
}

/* Move the outputs from their tensors. */
static qnnrt_result qnnrt_qnn__binding_after(qnnrt_qnn__binding *b, qnnrt_error *err)
{
    size_t i;
    for (i = 0; i < b->m->output_count; ++i) {
        qnnrt_qnn__port *port = &b->outputs[i];
        const qnnrt_slot *slot = b->m->outputs[i].slot;
        const uint64_t count = qnnrt_qnn__binding_count(b, slot);
        size_t bytes = (size_t)count * sizeof(float);
        qnnrt_result result = QNNRT_OK;
        const void *data = port->way == QNNRT_QNN__COPY && port->data != NULL
                               ? qnnrt_data_slot(b->run, slot, &bytes) : NULL;
        if (port->way != QNNRT_QNN__PLACE && port->data != NULL && bytes > port->bytes)
            return qnnrt_error_set(err, QNNRT_E_MISMATCH, "output \"%.200s\" has %llu bytes, and "
                                   "there is room for %llu", b->m->output_facts[i].name,
                                   (unsigned long long)bytes, (unsigned long long)port->bytes);
        if (port->way == QNNRT_QNN__FLOATS)
            result = qnnrt_read_f32(b->run, slot, 0, port->data != NULL ? (float *)port->data
                                                                         : port->values,
                                    (size_t)count);
        else if (data != NULL) memcpy(port->data, data, bytes);
        if (result != QNNRT_OK) return qnnrt_qnn__binding_fail(b, result, err);
    }
    return QNNRT_OK;
}

/* Run with values to move, or with a clock. */
static qnnrt_result qnnrt_qnn__binding_work(qnnrt_qnn__binding *b, qnnrt_error *err)
{
    qnnrt_result result = qnnrt_qnn__binding_before(b, err);
    double begin = 0;
    if (result != QNNRT_OK) return result;
    if (b->m->timed) begin = qnnrt_qnn__clock_us(b->m->lib->clock);
    result = qnnrt_exec(b->run);
    if (b->m->timed && b->m->lib->clock != NULL)
        b->us = qnnrt_qnn__clock_us(b->m->lib->clock) - begin;
    if (result != QNNRT_OK) return qnnrt_qnn__binding_fail(b, result, err);
    return qnnrt_qnn__binding_after(b, err);
}

static qnnrt_result qnnrt_qnn__run(void *binding, qnnrt_error *err)
{
    qnnrt_qnn__binding *b = (qnnrt_qnn__binding *)binding;
    qnnrt_result result;
    if (b->work) return qnnrt_qnn__binding_work(b, err);
    result = qnnrt_exec(b->run);
    return result == QNNRT_OK ? QNNRT_OK : qnnrt_qnn__binding_fail(b, result, err);
}

static qnnrt_result qnnrt_qnn__get_output(void *binding, size_t output, qnnrt_value *value,
                                          qnnrt_error *err)
{
    qnnrt_qnn__binding *b = (qnnrt_qnn__binding *)binding;
    const qnnrt_qnn__port *port = &b->outputs[output];
    const qnnrt_slot *slot = b->m->outputs[output].slot;
    uint32_t rank = 0, i;
    const uint32_t *dims = qnnrt_get_dims(b->run, slot, &rank);
    if (dims == NULL && slot->tensor->rank > 0)
        return qnnrt_qnn__binding_fail(b, qnnrt_run_error(b->run)->code, err);
    value->dtype = b->m->output_facts[output].dtype;
    value->rank = rank;
    for (i = 0; i < rank; ++i) value->dims[i] = dims[i];
    value->data = qnnrt_data_slot(b->run, slot, &value->bytes);
    if (port->way == QNNRT_QNN__FLOATS) {
        value->data = port->values;
        value->bytes = (size_t)qnnrt_qnn__binding_count(b, slot) * sizeof(float);
    }
    if (port->data != NULL) value->data = port->data;
    return QNNRT_OK;
}

/* =====================================================================================
   STEPS                                                                          >>steps
   What the last run did, step by step.
   Needs: >>library >>folder (the device of a step) >>binding     Knows nothing of: values
   ===================================================================================== */

/* Return the time of a step by the library's measurements: its longest total in microseconds. */
static double qnnrt_qnn__steps_us(const qnnrt_profile_event *events, size_t count, size_t step)
{
    double us = -1;
    size_t i;
    for (i = 0; i < count; ++i)
        if (events[i].step == step && events[i].node[0] == '\0' &&
            strcmp(events[i].unit_name, "us") == 0 && events[i].value > us) us = events[i].value;
    return us;
}

static size_t qnnrt_qnn__steps(void *binding, qnnrt_dispatch *rows, size_t room)
{
    qnnrt_qnn__binding *b = (qnnrt_qnn__binding *)binding;
    const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(b->m->pipeline);
    const qnnrt_profile_event *events = NULL;
    size_t i, count = 0;
    uint32_t k;
    if (b->profiled && qnnrt_run_events(b->run, &events, &count) != QNNRT_OK) count = 0;
    for (i = 0; i < p->step_count && i < room; ++i) {
        const qnnrt_step_info *step = &p->steps[i];
        const qnnrt_tensor_info *first = step->graph->output_count > 0 ? step->graph->outputs
                                                                       : NULL;
        memset(&rows[i], 0, sizeof(rows[i]));
        rows[i].step = i;
        rows[i].name = step->graph->name;
        rows[i].device = qnnrt_qnn__folder_where(b->m, step);
        rows[i].us = p->step_count == 1 ? b->us : qnnrt_qnn__steps_us(events, count, i);
        if (first == NULL) continue;
        rows[i].dtype = first->dtype;
        rows[i].rank = first->rank;
        if (rows[i].rank > QNNRT_SESSION_RANK) rows[i].rank = QNNRT_SESSION_RANK;
        for (k = 0; k < rows[i].rank; ++k) rows[i].dims[k] = first->dims[k];
    }
    return p->step_count;
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   Loading, and the table.
   Needs: >>config >>options >>library >>folder >>graph >>made >>save >>facts >>binding >>steps
   Knows nothing of: tensors
   ===================================================================================== */

static void qnnrt_qnn__unload(void *model)
{
    qnnrt_qnn__model *m = (qnnrt_qnn__model *)model;
    qnnrt_hooks hooks;
    if (m == NULL) return;
    hooks = m->arena.hooks;
    qnnrt_pipeline_destroy(m->made);
    qnnrt_conversions_free(m->conversions);
    if (qnnrt_close(m->folder) != QNNRT_OK || qnnrt_manifest_close(m->opened) != QNNRT_OK)
        qnnrt_log(&hooks, QNNRT_LOG_ERROR, "qnn", 0, "closing the model failed");
    qnnrt_compile_free(m->program);
    qnnrt_cpu_fallback_close(m->host);
    qnnrt_ir_free(m->ir);
    qnnrt_weights_close(m->weights);
    qnnrt_arena_free(&m->arena);
    qnnrt_hooks_free(&hooks, m);
}

/* Vote for a power state, if that is asked for. */
static qnnrt_result qnnrt_qnn__public_power(const qnnrt_qnn__model *m, qnnrt_error *err)
{
    const char *asked = qnnrt_qnn__load_option(m, "power"), *name;
    qnnrt_power_desc power;
    qnnrt_power_report report;
    qnnrt_result result;
    int i;
    if (asked == NULL) return QNNRT_OK;
    memset(&power, 0, sizeof(power));
    for (i = 1; (name = qnnrt_power_preset_name((qnnrt_power_preset)i)) != NULL; ++i)
        if (strcmp(name, asked) == 0) power.preset = (qnnrt_power_preset)i;
    if (power.preset == QNNRT_POWER_CUSTOM)
        return qnnrt_error_set(err, QNNRT_E_ARG, "option \"power\" is one of burst, "
                               "sustained_high_performance, high_performance, balanced, "
                               "low_balanced, high_power_saver, power_saver, low_power_saver, not "
                               "\"%.100s\"", asked);
    result = qnnrt_power_set(m->lib->backends[m->device], &power, &report, err);
    for (i = 0; result == QNNRT_OK && i < QNNRT_POWER_SETTINGS; ++i)
        if (report.settings[i].answer == QNNRT_POWER_REFUSED ||
            report.settings[i].answer == QNNRT_POWER_NOT_AVAILABLE)
            qnnrt_log(&m->arena.hooks, QNNRT_LOG_WARN, "qnn", 0, "power: %s is %s",
                      report.settings[i].name,
                      report.settings[i].answer == QNNRT_POWER_REFUSED ? "refused"
                        : "not available");
    return result;
}

/* Compile a graph, or open what an earlier load saved of it. */
static qnnrt_result qnnrt_qnn__public_graph(qnnrt_qnn__model *m, qnnrt_error *err)
{
    qnnrt_qnn__page hosts = { NULL, NULL, 0, 0, 0 };
    qnnrt_result result = qnnrt_qnn__graph_read(m, err);
    hosts.hooks = &m->arena.hooks;
    if (result == QNNRT_OK) result = qnnrt_qnn__graph_unused(m, err);
    if (result == QNNRT_OK && m->load->cached != NULL) {
        result = qnnrt_qnn__folder_open(m, m->load->cached, QNNRT_QNN__PIPELINE, err);
        return result == QNNRT_OK ? qnnrt_qnn__save_note(m, m->load->cached, err) : result;
    }
    if (result == QNNRT_OK) result = qnnrt_qnn__graph_compile(m, err);
    if (result == QNNRT_OK) result = qnnrt_qnn__made_hosts(m, &hosts, err);
    if (result == QNNRT_OK && m->load->save != NULL) result = qnnrt_qnn__save_all(m, &hosts, err);
    if (result == QNNRT_OK) result = qnnrt_qnn__made_all(m, &hosts, err);
    qnnrt_hooks_free(&m->arena.hooks, hosts.text);
    return result;
}

/* Load a model of either kind. */
static qnnrt_result qnnrt_qnn__public_load(qnnrt_qnn__model *m, qnnrt_error *err)
{
    static const char *const memories[] = { "heap", "shared", NULL };
    const qnnrt_engine_load *load = m->load;
    const int folder = load->kind == QNNRT_MODEL_FOLDER;
    uint32_t memory = 0;
    qnnrt_result result;
    for (m->device = 0; m->device < QNNRT_QNN__DEVICES; ++m->device)
        if (strcmp(load->device, qnnrt_qnn__names[m->device]) == 0) break;
    if (m->device == QNNRT_QNN__DEVICES || m->lib->backends[m->device] == NULL)
        return qnnrt_error_set(err, QNNRT_E_NOT_FOUND, "there is no device \"%.100s\": %s",
                               load->device, m->lib->missing.text);
    if (load->run_ms > 0)
        return qnnrt_error_set(err, QNNRT_E_UNSUPPORTED, "execution_timeout_ms: a run on QNN "
                               "cannot be ended");
    result = qnnrt_qnn__options_check(load->options, load->option_count,
                                      folder ? QNNRT_QNN__OF_FOLDER : QNNRT_QNN__OF_GRAPH, err);
    if (result == QNNRT_OK) result = qnnrt_qnn__load_word(m, "memory", memories, &memory, err);
    m->memory = (qnnrt_mem_kind)memory;
    if (result == QNNRT_OK) result = qnnrt_qnn__public_power(m, err);
    if (result == QNNRT_OK && folder) result = qnnrt_qnn__folder_check(load, err);
    if (result == QNNRT_OK && folder)
        result = qnnrt_qnn__folder_open(m, load->path, qnnrt_qnn__load_option(m, "pipeline"), err);
    if (result == QNNRT_OK && folder) result = qnnrt_qnn__folder_steps(m, err);
    if (result == QNNRT_OK && !folder) result = qnnrt_qnn__public_graph(m, err);
    if (result == QNNRT_OK) result = qnnrt_qnn__facts_all(m, err);
    if (result == QNNRT_OK && load->threads > 1)
        result = qnnrt_qnn__load_warn(m, "threads", "", " has no effect on QNN", err);
    if (result == QNNRT_OK && load->workspace_bytes != 0 &&
        load->workspace_bytes != (uint64_t)QNNRT_SESSION_WORKSPACE)
        result = qnnrt_qnn__load_warn(m, "workspace_bytes", "", " has no effect on QNN", err);
    return result;
}

static qnnrt_result qnnrt_qnn__load(void *library, const qnnrt_engine_load *load, void **model,
                                    qnnrt_engine_model *out, qnnrt_error *err)
{
    qnnrt_qnn__library *lib = (qnnrt_qnn__library *)library;
    qnnrt_qnn__model *m;
    qnnrt_result result;
    *model = NULL;
    memset(out, 0, sizeof(*out));
    m = (qnnrt_qnn__model *)qnnrt_hooks_alloc(&lib->hooks, 1, sizeof(*m));
    if (m == NULL) return qnnrt_qnn__fail_memory(err, sizeof(*m));
    m->lib = lib;
    m->arena.hooks = lib->hooks;
    m->load = load;
    m->timed = load->timed;
    result = qnnrt_qnn__public_load(m, err);
    m->load = NULL;
    if (result != QNNRT_OK) {
        qnnrt_qnn__unload(m);
        return result;
    }
    if (m->fallback != NULL)
        qnnrt_log(&lib->hooks, QNNRT_LOG_WARN, "qnn", 0, "not on the %s: %.900s",
                  qnnrt_qnn__names[m->device], m->fallback);
    out->inputs = m->input_facts;
    out->input_count = m->input_count;
    out->outputs = m->output_facts;
    out->output_count = m->output_count;
    out->fallback = m->fallback;
    out->warnings = m->warnings;
    out->warning_count = m->warning_count;
    out->saved = m->saved;
    out->saved_count = m->saved_count;
    *model = m;
    return QNNRT_OK;
}

static const qnnrt_engine qnnrt_qnn__engine = {
    QNNRT_ENGINE_VERSION, QNNRT_MODEL_FOLDER | QNNRT_MODEL_GRAPH, "qnn",
    "Qualcomm QNN: compiled folders, and graphs compiled here, on npu and cpu",
    qnnrt_qnn__open, qnnrt_qnn__close, qnnrt_qnn__load, qnnrt_qnn__unload,
    qnnrt_qnn__binding_create, qnnrt_qnn__binding_destroy, qnnrt_qnn__set, qnnrt_qnn__run,
    qnnrt_qnn__get_output, NULL, qnnrt_qnn__steps
};

QNNRT_QNN_API const qnnrt_engine *qnnrt_engine_qnn(void)
{
    return &qnnrt_qnn__engine;
}

#ifdef __cplusplus
}
#endif

#endif /* QNNRT_QNN__IMPL_ONCE */
#endif /* QNNRT_QNN_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.4.0   First version.
   --------------------------------------------------------------------------------------------- */
