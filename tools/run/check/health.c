/* health.c - whether a model is whole, and fits what it is to run on

   doctor_model() looks at the model that a tool has opened; nothing is executed.

   ROOMS     >>origin >>health */
#include "run/check/check.h"
#include "run/model/model.h"
#include "run/show/show.h"

#include <strings.h>
#include <sys/stat.h>

/* =====================================================================================
   ORIGIN                                                                         >>origin
   What a context binary was made by and for, against the libraries and the device.
   ===================================================================================== */

/* Check the release that made a context against that of a library. Return 0 after a fault. */
static int check_release_of(const lib_marks *m, const char *library, findings *f, const char *file,
                            const unsigned *made)
{
    if (m->known == 0 || compare_release(made, m->release) <= 0) return 1;
    OWNED char *release = release_text(m);
    OWNED char *hint = cli_text("Take libraries of release %u.%u or newer, or compile the model"
                                " with %u.%u.", made[0], made[1], m->release[0], m->release[1]);
    add_finding(f, AREA_MODEL, FOUND_FAULT, file, hint, "made by release %u.%u.%u, and %s has the"
                " older release %s", made[0], made[1], made[2], library, release);
    return 0;
}

/* Check the release that made a context; made: NULL: not known. */
static void check_made(const target *g, findings *f, const char *file, const unsigned *made)
{
    const lib_file *backend = g->libs != NULL ? g->libs->backend : NULL;
    if (made == NULL) return;
    if ((backend == NULL || check_release_of(&backend->marks, backend->name, f, file, made)) &&
        (g->backend_id == NPU || g->backend_id == 0))
        check_release_of(&g->marks, g->library, f, file, made);
}

/* Check the NPU generation that a context was compiled for. */
static void check_arch(const target *g, findings *f, const char *file, uint32_t arch)
{
    if (arch == 0) return;
    if (g->libs != NULL && g->arch == 0 && g->libs->platform != LIB_X86_64) {
        findings *all = g->libs->f;
        OWNED char *why = cli_text("%s is compiled for v%lu", file, (unsigned long)arch);
        g->libs->f = f;
        need_both(g->libs, arch, why);
        g->libs->f = all;
    }
    if (g->arch == 0 || arch == g->arch) return;
    OWNED char *hint = cli_text("Compile the model for this device, with --dsp_arch %lu or its"
                                " --soc_model.", (unsigned long)g->arch);
    add_finding(f, AREA_MODEL, arch > g->arch ? FOUND_FAULT : FOUND_WARNING, file, hint,
                "compiled for v%lu, and the device has v%lu%s", (unsigned long)arch,
                (unsigned long)g->arch, arch > g->arch ? "" : "; whether that runs is unproven");
}

/* Check the chip that a context was compiled for, and the VTCM that its graphs ask for. */
static void check_soc(const target *g, findings *f, const char *file,
                      const qnnrt_context_info *c)
{
    static const char hint[] = "Compile the model for this chip, with its --soc_model, and with no"
                               " more --vtcm_mb than it has.";
    const qnnrt_device_chip *chip = g->chip;
    uint64_t vtcm = 0;
    if (chip == NULL) return;
    for (size_t i = 0; i < c->graph_count; ++i)
        if (c->graphs[i].vtcm_bytes > vtcm) vtcm = c->graphs[i].vtcm_bytes;
    if (chip->vtcm_mib != 0 && vtcm > (uint64_t)chip->vtcm_mib << 20)
        add_finding(f, AREA_MODEL, FOUND_FAULT, file, hint, "it asks for %llu bytes of VTCM,"
                    " and %s has %u MiB", (unsigned long long)vtcm, chip->name, chip->vtcm_mib);
    else if (c->soc_model != 0 && chip->model != 0 && c->soc_model != chip->model &&
             c->dsp_arch == chip->arch)
        add_finding(f, AREA_MODEL, FOUND_WARNING, file, hint, "compiled for the chip %s, and"
                    " this one is %s; whether that runs is unproven",
                    cli_chip_name(c->soc_model) != NULL ? cli_chip_name(c->soc_model)
                                                        : "of another number", chip->name);
}

int is_binary_name(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".bin") == 0;
}

/* Return what the first bytes of a file tell against it, or NULL. The caller frees it. */
static char *binary_fault(int fd, uint64_t bytes, const char **hint)
{
    /* Undocumented: these words, then the bytes of metadata, and offset and bytes of the blob. */
    static const unsigned char known[16] = {0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1};
    static const char lfs[] = "version https://git-lfs";
    enum { HEAD = 40 };
    unsigned char head[HEAD] = {0};
    *hint = LIB_COPY_HINT;
    if (bytes == 0) return cli_text("empty");
    if (!elf_read(fd, bytes, 0, head, bytes < HEAD ? (size_t)bytes : HEAD))
        return cli_text("cannot be read");
    if (memcmp(head, lfs, sizeof(lfs) - 1) == 0) {
        *hint = "Run git lfs pull in the repository that the file comes from, and copy it again.";
        return cli_text("a pointer of git-lfs with %llu bytes, not a context binary",
                        (unsigned long long)bytes);
    }
    if (memcmp(head, "\177ELF", 4) == 0) {
        *hint = "Put the context binary there, or give the library its name back.";
        return cli_text("a library, not a context binary");
    }
    const uint64_t blob = elf_number(head + 24, 8), held = elf_number(head + 32, 8);
    if (bytes < HEAD || memcmp(head, known, sizeof(known)) != 0 || held > UINT64_MAX - blob ||
        blob + held <= bytes) return NULL;
    return cli_text("cut short: its head declares %llu bytes, and the file has %llu",
                    (unsigned long long)(blob + held), (unsigned long long)bytes);
}

int check_binary(findings *f, const char *path, const char *name)
{
    struct stat status;
    const char *hint = "Copy the file itself to this place.";
    const int fd = cli_open(path);
    OWNED char *fault = fd < 0 ? cli_text("cannot be opened: %s", strerror(errno))
        : fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ? cli_text("not a file")
        : binary_fault(fd, (uint64_t)status.st_size, &hint);
    if (fd >= 0) close(fd);
    if (fault == NULL) return 1;
    add_finding(f, AREA_MODEL, FOUND_FAULT, name, hint, "%s", fault);
    return 0;
}

int check_hash(findings *f, const char *path, const char *name, const char *program,
               size_t program_bytes, size_t *without)
{
    char expected[HASH_TEXT], found[HASH_TEXT];
    uint64_t bytes = 0;
    if (!hash_expected(program, program_bytes, name, expected)) {
        ++*without;
        return 1;
    }
    OWNED char *doing = cli_text("reading all bytes of %s", name);
    child_stage(f, doing);
    const int whole = sha256_file(path, &bytes, found);
    const int same = whole && strcasecmp(expected, found) == 0;
    if (same)
        add_finding(f, AREA_MODEL, FOUND_OK, name, NULL, "it has the SHA-256 of qnnrt.json");
    else if (whole)
        add_finding(f, AREA_MODEL, FOUND_FAULT, name, "Copy the file again from where it was made,"
                    " or take it and qnnrt.json from one build.",
                    "has the SHA-256 %s, but qnnrt.json expects %s", found, expected);
    else
        add_finding(f, AREA_MODEL, FOUND_FAULT, name, LIB_COPY_HINT, "cannot be read: %s",
                    strerror(errno));
    return same;
}

void note_without_hash(findings *f, size_t without, size_t count)
{
    if (without == 0) return;
    add_finding(f, AREA_MODEL, FOUND_NOTE, "SHA-256", "Write a qnnrt.json with qnnrt-run inspect"
                " DIR --manifest while the files are known to be good.",
                "not compared: there is none in qnnrt.json for %lu of %lu binar%s",
                (unsigned long)without, (unsigned long)count, count == 1 ? "y" : "ies");
}

void check_marked(const target *g, findings *f, const char *path, const char *name)
{
    lib_marks marks;
    struct stat status;
    memset(&marks, 0, sizeof(marks));
    const int fd = cli_open(path);
    if (fd >= 0 && fstat(fd, &status) == 0)
        find_marks(fd, (uint64_t)status.st_size < CONTEXT_MARKS ? (uint64_t)status.st_size
                                                                : CONTEXT_MARKS, &marks);
    if (fd >= 0) close(fd);
    OWNED char *release = marks.known > 0 ? release_text(&marks) : NULL;
    OWNED char *arch = marks.arch != 0 ? cli_text(", for v%u", marks.arch) : cli_text("%s", "");
    add_finding(f, AREA_MODEL, FOUND_OK, name, NULL, "%s%s%s", release != NULL ?
                "made by release " : "its release is not known", release != NULL ? release : "",
                arch);
    check_made(g, f, name, marks.known > 0 ? marks.release : NULL);
    check_arch(g, f, name, marks.arch);
}

/* =====================================================================================
   HEALTH                                                                         >>health
   Contexts, wiring and memory of a model that is open.
   ===================================================================================== */

void marks_of_build(const char *build, lib_marks *m)
{
    const char *text = build != NULL ? build : "";
    memset(m, 0, sizeof(*m));
    text += text[0] == 'v';
    if (mark_release(text, text + strlen(text), m->release) != 0) m->known = 3;
}

/* Return "made by v2.51.0.260929181845 for HTP, chip SM8650, NPU v75", and "file 57,344 bytes, VTCM
   4,194,304 bytes, ..." as a second line. The caller frees it. */
static char *context_facts_text(const qnnrt_context_info *c)
{
    page p = {NULL, 0, 0};
    uint64_t vtcm = 0, spill = 0, weights = 0;
    for (size_t i = 0; i < c->graph_count; ++i) {
        const qnnrt_graph_info *graph = &c->graphs[i];
        if (graph->vtcm_bytes > vtcm) vtcm = graph->vtcm_bytes;
        if (graph->spill_fill_bytes > spill) spill = graph->spill_fill_bytes;
        weights += graph->const_bytes + graph->shared_weights_bytes;
    }
    const struct { const char *label; uint64_t value; } sizes[] = {
        {"file", c->file_bytes}, {"VTCM", vtcm}, {"spill-fill", spill}, {"weights", weights}};
    const int made = c->build_id != NULL && c->build_id[0] != '\0';
    page_add(&p, "%s%s for %s", made ? "made by " : "its release is not known;",
             made ? c->build_id : "", cli_backend_name(c->backend_id));
    if (c->soc_model != 0 && cli_chip_name(c->soc_model) != NULL)
        page_add(&p, ", chip %s", cli_chip_name(c->soc_model));
    else if (c->soc_model != 0) page_add(&p, ", chip %lu", (unsigned long)c->soc_model);
    if (c->dsp_arch != 0) page_add(&p, ", NPU v%lu", (unsigned long)c->dsp_arch);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        if (i > 0 && sizes[i].value == 0) continue;
        OWNED char *value = cli_grouped(sizes[i].value);
        page_add(&p, "%s %s %s bytes", i > 0 ? "," : "\n ", sizes[i].label, value);
    }
    return p.data;
}

const char *text_after(const char *text, const char *name)
{
    const size_t bytes = strlen(name);
    return strncmp(text, name, bytes) == 0 && strncmp(text + bytes, ": ", 2) == 0
           ? text + bytes + 2 : text;
}

/* Check one context of a model. */
static void check_context(const target *g, findings *f, const qnnrt_manifest_context *in)
{
    const qnnrt_context_info *c = in->info;
    lib_marks made;
    size_t shared = 0;
    if (in->failure != NULL && in->failure->code == QNNRT_E_NOT_FOUND && g->folder != NULL) {
        OWNED char *path = cli_text("%s/%s", g->folder, in->file);
        check_marked(g, f, path, in->file);
        return;
    }
    if (in->failure != NULL) {
        add_finding(f, AREA_MODEL, FOUND_FAULT, in->file, cli_hint(in->failure), "%s",
                    text_after(cli_told(in->failure), in->file));
        return;
    }
    OWNED char *facts = context_facts_text(c);
    add_finding(f, AREA_MODEL, FOUND_OK, in->file, NULL, "%s", facts);
    if (c->file_bytes == 0 && g->whole) {
        OWNED char *binary = manifest_file(in);
        add_finding(f, AREA_MODEL, FOUND_FAULT, binary, "Copy the context binary to this place.",
                    "missing: there is only %s, which describes it", in->file);
    } else if (c->from_json)
        add_finding(f, AREA_MODEL, c->from_system ? FOUND_OK : FOUND_NOTE, c->json_file, NULL,
                    c->from_system ? "it agrees with %s" : "it was not compared with %s", in->file);
    marks_of_build(c->build_id, &made);
    if (g->backend_id != 0 && in->role[0] == '\0' && c->backend_id != g->backend_id)
        add_finding(f, AREA_MODEL, FOUND_FAULT, in->file,
                    "Name the library that it was made for with --backend_so.",
                    "made for %s, and %s is for %s", cli_backend_name(c->backend_id), g->library,
                    cli_backend_name(g->backend_id));
    else if (c->backend_id == NPU)
        check_made(g, f, in->file, made.known > 0 ? made.release : NULL);
    check_arch(g, f, in->file, c->dsp_arch);
    check_soc(g, f, in->file, c);
    for (size_t i = 0; i < c->graph_count; ++i) {
        const qnnrt_graph_info *graph = &c->graphs[i];
        shared += graph->shared_weights_bytes != 0;
        if (graph->unsupported != NULL)
            add_finding(f, AREA_MODEL, FOUND_FAULT, graph->name, "Compile the graph without it.",
                        "in %s: %s", in->file, graph->unsupported);
    }
    if (shared > 0 && g->emulator && g->backend_id == NPU)
        add_finding(f, AREA_MODEL, FOUND_FAULT, in->file,
                    "Run it on a device, or compile it without weight sharing.",
                    "its graphs share weights, and the x86-64 library cannot load that");
}

/* Check what the contexts need together on the NPU. */
static void check_need(const qnnrt_manifest_info *info, findings *f)
{
    uint64_t need = 0;
    size_t count = 0;
    for (size_t i = 0; i < info->context_count; ++i) {
        if (info->contexts[i].info->backend_id != NPU || info->contexts[i].failure != NULL)
            continue;
        need += info->contexts[i].info->device_bytes;
        ++count;
    }
    if (count == 0) return;
    const int large = need > QNNRT_DOMAIN_BYTES;
    OWNED char *bytes = cli_grouped(need), *most = cli_grouped(QNNRT_DOMAIN_BYTES);
    add_finding(f, AREA_MODEL, large ? FOUND_WARNING : FOUND_OK, "memory of the NPU", large
                ? "Load contexts in turns with --resident one, or use fewer bits for weights."
                : NULL,
                "%lu context%s need%s about %s bytes; one process has about"
                " %s bytes",
                (unsigned long)count, cli_plural(count), count == 1 ? "s" : "", bytes, most);
}

/* Plan the memory of a pipeline. Return its bytes; 0 after adding a fault. */
static uint64_t plan_bytes(const tool *t, const qnnrt_pipeline *pipeline,
                           const qnnrt_pipeline_info *info, findings *f)
{
    qnnrt_plan *plan = NULL;
    qnnrt_error err;
    uint64_t bytes = 0;
    if (make_plan(t, pipeline, &plan, &err) == QNNRT_OK) bytes = qnnrt_plan_get_info(plan)->peak;
    else add_finding(f, AREA_MODEL, FOUND_FAULT, info->name, cli_hint(&err), "%s", cli_told(&err));
    qnnrt_plan_destroy(plan);
    return bytes;
}

/* Check the wiring, the encodings at each cut, and the arena of a pipeline. */
static void check_pipeline(const tool *t, const qnnrt_pipeline *pipeline, findings *f)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(pipeline);
    size_t unequal = 0;
    if (info->failure != NULL) {
        add_finding(f, AREA_MODEL, FOUND_FAULT, info->name, info->failure->hint[0] != '\0'
                    ? cli_hint(info->failure) : "Take all shards from one compilation.",
                    "not wired: %s", cli_told(info->failure));
        return;
    }
    for (size_t i = 0; i < info->edge_count; ++i)
        unequal += info->edges[i].from->dtype != info->edges[i].to->dtype ||
                   !qnnrt_quant_equal(&info->edges[i].from->quant, &info->edges[i].to->quant);
    const uint64_t peak = plan_bytes(t, pipeline, info, f);
    if (peak == 0) return;
    OWNED char *bytes = cli_grouped(peak);
    add_finding(f, AREA_MODEL, FOUND_OK, info->name, NULL, "%lu step%s, %lu edge%s%s, an arena of"
                " %s bytes", (unsigned long)info->step_count, cli_plural(info->step_count),
                (unsigned long)info->edge_count, cli_plural(info->edge_count),
                info->edge_count == 0 ? "" : unequal > 0 ? ", converted where types differ"
                : " with equal types and encodings", bytes);
}

void check_health(const tool *t, const target *g, char *const *reported, size_t count, findings *f)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    const char *broken = NULL;
    for (size_t i = 0; i < info->context_count; ++i) {
        const qnnrt_manifest_context *c = &info->contexts[i];
        size_t k = 0;
        if (c->failure != NULL) broken = c->file;
        while (k < count && strcmp(reported[k], c->file) != 0) ++k;
        if (c->failure == NULL || k == count) check_context(g, f, c);
    }
    check_need(info, f);
    for (size_t i = 0; i < info->pipeline_count; ++i) {
        const qnnrt_pipeline *one = info->pipelines[i];
        if (broken == NULL || qnnrt_pipeline_get_info(one)->failure == NULL)
            check_pipeline(t, one, f);
    }
    if (broken != NULL)
        add_finding(f, AREA_MODEL, FOUND_NOTE, "wiring", NULL,
                    "not looked at: the graphs of %s are not known", broken);
}

void doctor_model(const tool *t, findings *f)
{
    target g = {0};
    if (t->model == NULL) return;
    g.whole = qnnrt_manifest_get_info(t->model)->folder[0] != '\0';
    const qnnrt_backend *backend = qnnrt_manifest_get_info(t->model)->backend;
    if (backend != NULL) {
        const qnnrt_backend_info *info = qnnrt_backend_get_info(backend);
        const char *slash = strrchr(info->path, '/');
        g.library = slash != NULL ? slash + 1 : info->path;
        g.backend_id = info->id;
        marks_of_build(info->build_id, &g.marks);
    }
    check_health(t, &g, NULL, 0, f);
}
