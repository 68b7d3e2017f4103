/* inspect.c - a model's metadata for people and for --json

   ROOMS     >>facts >>inspect */
#include "run/show/show.h"
#include "run/model/model.h"
#include "qnnrt_cpu_fallback.h"

/* =====================================================================================
   FACTS                                                                         >>facts
   Tables of the fields of contexts and graphs. Printing, writing and comparing use the same tables.
   ===================================================================================== */

#define FACT_OF(type, member, label, kind) {#member, label, kind, offsetof(type, member)}

const fact context_facts[] = {
    FACT_OF(qnnrt_context_info, build_id,             "build id",         FACT_TEXT),
    FACT_OF(qnnrt_context_info, backend_id,           "backend id",       FACT_U32),
    FACT_OF(qnnrt_context_info, core_api,             "core API",         FACT_VERSION),
    FACT_OF(qnnrt_context_info, backend_api,          "backend API",      FACT_VERSION),
    FACT_OF(qnnrt_context_info, blob_version,         "blob version",     FACT_VERSION),
    FACT_OF(qnnrt_context_info, blob_bytes,           "blob bytes",       FACT_U64),
    FACT_OF(qnnrt_context_info, soc_model,            "SoC model",        FACT_U32),
    FACT_OF(qnnrt_context_info, dsp_arch,             "NPU generation",   FACT_U32),
    FACT_OF(qnnrt_context_info, context_tensor_count, "context tensors",  FACT_U32)
};

const fact graph_facts[] = {
    FACT_OF(qnnrt_graph_info, spill_fill_bytes,     "spill-fill",         FACT_U64),
    FACT_OF(qnnrt_graph_info, vtcm_bytes,           "VTCM",               FACT_U64),
    FACT_OF(qnnrt_graph_info, const_bytes,          "const",              FACT_U64),
    FACT_OF(qnnrt_graph_info, io_bytes,             "io",                 FACT_U64),
    FACT_OF(qnnrt_graph_info, op_data_bytes,        "op data",            FACT_U64),
    FACT_OF(qnnrt_graph_info, ddr_bytes,            "ddr",                FACT_U64),
    FACT_OF(qnnrt_graph_info, shared_weights_bytes, "shared weights",     FACT_U64),
    FACT_OF(qnnrt_graph_info, native_k_bytes,       "native K channel",   FACT_U64),
    FACT_OF(qnnrt_graph_info, native_v_bytes,       "native V channel",   FACT_U64),
    FACT_OF(qnnrt_graph_info, optimization_level,   "optimisation level", FACT_U32),
    FACT_OF(qnnrt_graph_info, hvx_threads,          "HVX threads",        FACT_U32),
    FACT_OF(qnnrt_graph_info, dlbc,                 "dlbc",               FACT_U32),
    FACT_OF(qnnrt_graph_info, safe_share_io,        "safe share io",      FACT_U32)
};

uint64_t fact_number(const fact *f, const void *base)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (f->kind == FACT_U64) memcpy(&wide, (const char *)base + f->at, sizeof(wide));
    else memcpy(&narrow, (const char *)base + f->at, sizeof(narrow));
    return f->kind == FACT_U64 ? wide : narrow;
}

static const char *fact_string(const fact *f, const void *base)
{
    const char *value = NULL;
    memcpy((void *)&value, (const char *)base + f->at, sizeof(value));
    return value != NULL ? value : "";
}

static qnnrt_version_info fact_version(const fact *f, const void *base)
{
    qnnrt_version_info value;
    memcpy(&value, (const char *)base + f->at, sizeof(value));
    return value;
}

char *fact_text(const fact *f, const void *base)
{
    if (f->kind == FACT_TEXT) return cli_shown(fact_string(f, base));
    if (f->kind == FACT_VERSION) return version_text(fact_version(f, base));
    return cli_text("%llu", (unsigned long long)fact_number(f, base));
}

void report_facts(json *j, const fact *facts, size_t count, const void *base)
{
    for (size_t i = 0; i < count; ++i) {
        if (facts[i].kind == FACT_TEXT) json_string(j, facts[i].key, fact_string(&facts[i], base));
        else if (facts[i].kind == FACT_VERSION)
            json_version(j, facts[i].key, fact_version(&facts[i], base));
        else json_count(j, facts[i].key, fact_number(&facts[i], base));
    }
}

/* Return where the facts of a context come from. The caller frees it. */
static char *source_text(const qnnrt_manifest_info *model, const qnnrt_context_info *c)
{
    const char *path = model->system_path, *slash = strrchr(path, '/');
    const char *system = slash != NULL ? slash + 1 : path;
    OWNED char *name = cli_shown(c->json_file != NULL ? c->json_file : "JSON");
    if (c->from_system && c->from_json) return cli_text("%s and %s agree", system, name);
    return cli_text("%s", c->from_json ? name : c->from_system ? system : "none");
}

/* =====================================================================================
   INSPECT                                                                     >>inspect
   Prints the metadata for people.
   ===================================================================================== */

static void say_tensors(const tool *t, const qnnrt_graph_info *g)
{
    static const char *const titles[COLUMNS] = {"tensor", "role", "id", "dtype", "dims", "size",
                                                "encoding", NULL};
    const struct { const qnnrt_tensor_info *list; size_t count; const char *role; } lists[] = {
        {g->inputs, g->input_count, "input"},
        {g->outputs, g->output_count, "output"},
        {g->updateables, g->updateable_count, "updateable"}
    };
    const size_t rows = g->input_count + g->output_count + g->updateable_count;
    OWNED char *(*cells)[COLUMNS] = cli_alloc(rows, sizeof(*cells));
    size_t r = 0;
    for (size_t k = 0; k < 3; ++k) {
        for (size_t i = 0; i < lists[k].count; ++i, ++r) {
            const qnnrt_tensor_info *tensor = &lists[k].list[i];
            cells[r][0] = cli_shown(tensor->name);
            cells[r][1] = cli_text("%s%s", tensor->optional ? "optional " : "", lists[k].role);
            cells[r][2] = cli_text("%lu", (unsigned long)tensor->id);
            cells[r][3] = cli_text("%s", qnnrt_dtype_name(tensor->dtype));
            cells[r][4] = dims_text(tensor);
            cells[r][5] = bytes_cell(tensor->bytes);
            cells[r][6] = encoding_text(&tensor->quant);
        }
    }
    say_table(t, titles, "  r  r", cells, rows);
}

/* Print the facts of a graph in lines that are no wider than tables. A fact of 0 is not in the
   file, or not used. */
static void say_sizes(const tool *t, const qnnrt_graph_info *g)
{
    int column = 0;
    for (size_t i = 0; i < GRAPH_FACTS; ++i) {
        const fact *f = &graph_facts[i];
        if (fact_number(f, g) == 0) continue;
        const int sized = strstr(f->key, "_bytes") != NULL;
        OWNED char *value = sized ? cli_bytes_text(fact_number(f, g))
                                  : cli_grouped(fact_number(f, g));
        OWNED char *text = cli_text("%s %s", f->label, value);
        const int next = column > 0 && column + 2 + width_of(text) >= CLI_TABLE_WIDTH;
        const char *before = column == 0 ? "    sizes     " : next ? ",\n              " : ", ";
        say(t, "%s%s", before, text);
        column = (column == 0 || next ? 14 : column + 2) + width_of(text);
    }
    if (column > 0) say(t, "\n");
}

static void say_graph(const tool *t, const qnnrt_graph_info *g)
{
    OWNED char *name = cli_shown(g->name);
    say(t, "  graph \"%s\", %lu input%s, %lu output%s\n", name, (unsigned long)g->input_count,
        cli_plural(g->input_count), (unsigned long)g->output_count, cli_plural(g->output_count));
    say_sizes(t, g);
    if (g->unsupported != NULL) say(t, "    cannot run: %s\n", g->unsupported);
    say_tensors(t, g);
}

static void say_context(const tool *t, size_t index, const qnnrt_manifest_context *in)
{
    const qnnrt_context_info *c = in->info;
    OWNED char *source = source_text(qnnrt_manifest_get_info(t->model), c);
    OWNED char *file = cli_shown(in->file), *build = cli_shown(c->build_id != NULL ? c->build_id
                                                                                   : "");
    OWNED char *bytes = cli_bytes_text(c->file_bytes), *blob_bytes = cli_bytes_text(c->blob_bytes);
    say(t, "\ncontext %lu  %s", (unsigned long)index, file);
    if (c->file_bytes != 0) say(t, ", %s", bytes);
    else if (in->failure == NULL) say(t, ", without its binary");
    say(t, "\n");
    if (in->failure != NULL) {
        say_error(t, "failed", in->failure);
    } else {
        OWNED char *core = version_text(c->core_api), *api = version_text(c->backend_api);
        OWNED char *role = cli_shown(in->role);
        OWNED char *blob = version_text(c->blob_version);
        const char *soc = cli_chip_name(c->soc_model);
        say(t, "  metadata    %s\n", source);
        say(t, "  build id    %s\n", build[0] != '\0' ? build : "(not stated)");
        say(t, "  backend     %lu (%s), core API %s, backend API %s%s%s\n",
            (unsigned long)c->backend_id, cli_backend_name(c->backend_id), core, api,
            role[0] != '\0' ? ", role " : "", role);
        say(t, "  blob        version %s, %s\n", blob, blob_bytes);
        say(t, "  chip        ");
        if (c->soc_model == 0) say(t, "SoC not stated");
        else say(t, "SoC model %lu%s%s%s", (unsigned long)c->soc_model, soc != NULL ? " (" : "",
                 soc != NULL ? soc : "", soc != NULL ? ")" : "");
        if (c->dsp_arch != 0) say(t, ", NPU v%lu", (unsigned long)c->dsp_arch);
        say(t, "\n");
        if (c->context_tensor_count != 0)
            say(t, "  tensors of the context itself: %lu\n",
                (unsigned long)c->context_tensor_count);
        for (size_t g = 0; g < c->graph_count; ++g) say_graph(t, &c->graphs[g]);
    }
}

/* Say what the host steps of the folder compute: the operators of each, in order. */
static void say_host(const tool *t)
{
    size_t count = 0;
    const qnnrt_host_step *functions =
        qnnrt_cpu_fallback_functions(t->host_count > 0 ? t->hosts[0] : NULL, &count);
    if (count == 0) return;
    say(t, "host      %lu step%s in host.json\n", (unsigned long)count, cli_plural(count));
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_ir *part = qnnrt_cpu_fallback_part(t->hosts[0], i);
        OWNED char *name = cli_shown(functions[i].name);
        say(t, "  %s  %lu node%s:", name, (unsigned long)part->node_count,
            cli_plural(part->node_count));
        for (size_t k = 0; k < part->node_count && k < 8; ++k) {
            OWNED char *op = cli_shown(part->nodes[k]->op);
            say(t, "%s%s", k > 0 ? ", " : " ", op);
        }
        say(t, part->node_count > 8 ? ", ...\n" : "\n");
    }
}

void say_model(const tool *t)
{
    size_t count = 0;
    const qnnrt_manifest_context *contexts = qnnrt_manifest_get_info(t->model)->contexts;
    count = qnnrt_manifest_get_info(t->model)->context_count;
    OWNED char *name = cli_shown(model_name(t));
    const char *path = qnnrt_manifest_get_info(t->model)->system_path;
    OWNED char *system_path = cli_shown(path[0] != '\0' ? path : "(not needed)");
    say(t, "model     %s, %lu context%s\nsystem    %s\n", name, (unsigned long)count,
        cli_plural(count),
        system_path);
    for (size_t i = 0; i < count; ++i) say_context(t, i, &contexts[i]);
    say_host(t);
}
