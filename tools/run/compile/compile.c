/* compile.c - the verb compile

   ROOM     >>compile */
#include "run/compile/compile.h"
#include "run/model/model.h"
#include "run/show/show.h"

#include <sys/stat.h>

#include "cli/stages.h"

/* =====================================================================================
   COMPILE                                                                     >>compile
   Compiles .dlc containers, or graphs of >>aten, and prints the new binary with the same code as
   any other file.
   ===================================================================================== */

/* Check options that depend on each other. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int check_compile(const settings *set)
{
    int status = check_cache(set);
    if (status == STATUS_OK) status = check_packages(set);
    if (status != STATUS_OK || set->compile->cache_list || set->compile->cache_clear) return status;
    if (set->files.count == 0)
        return cli_usage("Run qnnrt-run compile --help.", "compile takes " COMPILE_SOURCES);
    if (set->output_dir == NULL)
        return cli_usage("Name a folder with --output_dir DIR.", "compile needs --output_dir");
    if (set->compile->binary_file != NULL && strchr(set->compile->binary_file, '/') != NULL)
        return cli_usage("Name the folder with --output_dir DIR.",
                         "--binary_file takes a name, not a path: %s", set->compile->binary_file);
    if (set->document_count > 1)
        return cli_usage("Write one of them to a file.", "%s and %s both write to standard output",
                         set->documents[0], set->documents[1]);
    status = decoder_check(set);
    return status != STATUS_OK || decoder_is_model(set->files.items[0]) ? status : aten_check(set);
}

/* Build the binaries and save them. a: the graphs, or NULL: containers. Return their paths, or NULL
   after printing an error. */
static char **compile_build(tool *t, const compile_names *names, aten *a, const char *path)
{
    const settings *set = &t->set;
    qnnrt_error err;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_builder_desc desc = compile_builder(t);
    qnnrt_context_desc context = {0};
    progress shown;
    progress_begin(&shown, set);
    desc.progress = progress_build;
    desc.progress_user = &shown;
    context.weight_sharing = set->compile->graph.share;
    qnnrt_result result = qnnrt_builder_create(t->backend, &desc, &builder, &err);
    if (result == QNNRT_OK) {
        if (a == NULL) qnnrt_builder_context(builder, &context);
        if (a != NULL && !aten_emit(a, builder)) {
            qnnrt_builder_destroy(builder);
            return NULL;
        }
        for (size_t i = 0; i < set->files.count && a == NULL; ++i) {
            qnnrt_graph_desc graph = {0};
            graph.name = names->names[i];
            graph.fp16 = set->compile->graph.fp16;
            graph.optimization_level = set->compile->graph.level;
            graph.vtcm_mib = set->compile->graph.vtcm;
            graph.hvx_threads = set->compile->graph.hvx;
            qnnrt_builder_dlc(builder, set->files.items[i], &graph);
        }
        const uint64_t begin = cli_now_ns();
        result = qnnrt_builder_finish(builder, &model, &err);
        cli_busy_end();
        aten_spent(a, ATEN_BUILD, begin);
        if (a != NULL) aten_loss(a);
        if (a != NULL && result == QNNRT_OK)
            weight_only_say(t, qnnrt_lower_get_info(a->lower)->weight_only,
                            qnnrt_lower_get_info(a->lower)->weight_only_count, "");
    }
    const uint64_t begin = cli_now_ns();
    char **paths = result == QNNRT_OK ? compile_save(t, model, a, path) : NULL;
    aten_spent(a, ATEN_SAVE, begin);
    if (result != QNNRT_OK)
        fail(t, NULL, result == QNNRT_E_LIBRARY
             ? cli_library_hint(&err, set->system, "Name the library with --system_so FILE.")
                      : (err.vendor_code & 0xFFFF) == 0x1773
                      ? "Name the graphs with --graph_name N1,N2."
                                                             : cli_hint(&err), "%s",
                 cli_told(&err));
    if (qnnrt_close(model) != QNNRT_OK)
        fail(t, NULL, LOG_HINT, "closing the built model failed");
    return paths;
}

/* Show the new binaries and write their metadata. */
static void compile_show(tool *t, char **paths, const char *library)
{
    size_t count = 0;
    while (paths[count] != NULL) ++count;
    /* Only libQnnRef.so reads its own binaries; libQnnSystem.so has read the .dlc. */
    const int own = qnnrt_backend_get_info(t->backend)->id == 0x524546;
    t->set.command = COMMAND_INSPECT;
    t->set.inspect = 1;
    t->set.progress = 0;
    t->set.svg = t->set.dot = NULL;              /* they are written */
    t->set.backend = library;                    /* libQnnSystem.so is searched beside it */
    if (own) t->set.system = library;
    t->set.metadata = QNNRT_METADATA_SYSTEM;
    t->set.json_file = t->set.output_dir;
    qnnrt_backend_close(t->backend);
    t->backend = NULL;
    t->model = open_sources(t, NULL, (const char *const *)paths, count);
    if (t->model == NULL) return;
    say_model(t);
    write_dumps(t);
}

/* Write --json: the library that compiled, and the files. */
static void compile_document(tool *t, int cached)
{
    page p = {NULL, 0, 0};
    json j;
    struct stat status;
    json_document(&j, &p, "qnnrt-run.compile");
    json_bool(&j, "ok", !t->failed);
    json_string(&j, "error", t->error);
    report_backend(t, &j, "backend", t->backend, NULL);
    json_bool(&j, "cached", cached);
    json_open(&j, "files", '[', 0);
    for (size_t i = 0; i < t->wrote_count; ++i) {
        json_open(&j, NULL, '{', 1);
        json_string(&j, "file", t->wrote[i]);
        json_count(&j, "bytes", stat(t->wrote[i], &status) == 0 ? (uint64_t)status.st_size : 0);
        json_close(&j);
    }
    json_close(&j);
    json_document_end(&j);
    write_page(t, "-", &p, 0);
    free(p.data);
}

int verb_compile(void *user)
{
    tool *t = user;
    compile_names names = {NULL, NULL};
    aten graphs = {0}, *a = NULL;
    decoder model = {0};
    compile_cache cache = {0};
    qnnrt_backend_desc desc;
    qnnrt_error err;
    const compile_settings *set = t->set.compile;
    mixed m = {0};
    int status = check_compile(&t->set);
    if (status == STATUS_OK && (set->cache_list || set->cache_clear)) {
        cache_manage(t);
        return STATUS_OK;
    }
    if (status == STATUS_OK) status = compile_split(&t->set, &names);
    if (status == STATUS_OK && aten_is_graph(t->set.files.items[0])) {
        a = &graphs;
        a->t = t;
        a->graph_count = t->set.files.count;
        a->graphs = cli_alloc(a->graph_count, sizeof(*a->graphs));
        for (size_t i = 0; i < a->graph_count; ++i) a->graphs[i].file = t->set.files.items[i];
        status = aten_name(a, names.names);
        m.a = a;
        if (status == STATUS_OK) status = mixed_check(&m);
    } else if (status == STATUS_OK && decoder_is_model(t->set.files.items[0])) {
        a = &graphs;
        a->t = t;
        a->decoder = &model;
        model.folder = t->set.files.items[0];
        model.gguf = decoder_is_gguf(model.folder);
        m.a = a;
        status = mixed_check(&m);
    }
    if (status == STATUS_OK && m.a == NULL && t->set.compile->backends != NULL)
        status = cli_usage("Leave it out.", "--backends is for .json graphs and folders of language"
                           " models, and %s is neither", t->set.files.items[0]);
    if (status == STATUS_OK && m.backend_count == 0)
        status = check_package_roles(&t->set, NULL, 0, "Write --op_package PATH:PROVIDER.");
    if (status == STATUS_OK && m.a == NULL && t->set.role_count > 0)
        status = cli_usage("Write --backend_so FILE.", "--backend_so has a role, and there is no"
                           " --backends");
    char *path = status == STATUS_OK ? compile_path(&t->set) : NULL, *library = NULL;
    char *missing = NULL, **paths = NULL;
    int cached = 0;
    backend_options(t, &desc);
    desc.soc_model = 0;                          /* the builder's descriptor has it */
    if (status != STATUS_OK ||
        (a != NULL && (!op_map_read(t, &a->map) || !mixed_map(&m, a) ||
                       !(a->decoder != NULL ? decoder_read(a) : aten_read(a))))) {
    } else if (!compile_folder(t, 1, &missing) ||
               (a != NULL && !compile_replaces(t, a->decoder != NULL || t->set.compile->kv_rows))) {
    } else if (m.backend_count > 0) {
        if (mixed_open(&m)) {
            t->backend = m.backends[0].backend;
            if (mixed_ranges(&m)) {
                cache_begin(&cache, t, &names, a, &m, path);
                if (cache.cache != NULL && (set->explain || set->report != NULL))
                    say(t, "cache     not read: %s needs the plan\n",
                        set->explain ? "--explain_plan" : "--report");
                else paths = cache_take(&cache, t);
                cached = paths != NULL;
                const int made = paths == NULL && !t->failed && mixed_compile(&m, path);
                for (size_t i = 0; paths != NULL && paths[i] != NULL; ++i)
                    say_wrote(t, paths[i]);
                for (size_t i = 0; made && i < m.path_count; ++i)
                    say_wrote(t, m.paths[i]);
                const uint64_t begin = cli_now_ns();
                if ((made || paths != NULL) && mixed_verify(&m)) aten_spent(a, ATEN_VERIFY, begin);
                if (made || paths != NULL) decoder_tokenizer(a);
                if (made) {
                    paths = cli_alloc(m.path_count + 1, sizeof(*paths));
                    for (size_t i = 0; i < m.path_count; ++i) paths[i] = cli_text("%s", m.paths[i]);
                    cache_keep(&cache, t, a, paths);
                }
                compile_free(paths);
                choices_report(&m);
            }
            t->backend = NULL;                   /* it is closed with the others */
        }
    } else if (qnnrt_backend_open(&desc, &t->backend, &err) != QNNRT_OK) {
        fail_backend(t, &err);
    } else {
        library = cli_text("%s", qnnrt_backend_get_info(t->backend)->path);
        say_backend(t, t->backend, "", 1);
        if (register_packages(t, t->backend, NULL, 1) &&
            (a == NULL || (encodings_read(a) && calibrate(a)))) {
            cache_begin(&cache, t, &names, a, &m, path);
            paths = cache_take(&cache, t);
            cached = paths != NULL;
            const int lowers = a != NULL && (paths == NULL || aten_wants_lowering(&t->set));
            if (!t->failed && (!lowers || aten_lower(a)) && paths == NULL)
                paths = compile_build(t, &names, a, path);
        }
        for (size_t i = 0; paths != NULL && paths[i] != NULL; ++i)
            say_wrote(t, paths[i]);
        const uint64_t begin = cli_now_ns();
        if (paths != NULL && a != NULL && verify_files(a, paths)) aten_spent(a, ATEN_VERIFY, begin);
        cache_keep(&cache, t, a, paths);
        if (a != NULL && paths != NULL) decoder_tokenizer(a);
        if (a != NULL) node_map_write(a, paths);
        if (a != NULL && paths != NULL) encodings_write(a);
        if (a != NULL) chart_write(a);
        if (paths != NULL) compile_show(t, paths, library);
        compile_free(paths);
    }
    if (t->set.json && status == STATUS_OK) compile_document(t, cached);
    compile_unlock(t);
    qnnrt_cache_close(cache.cache);
    mixed_free(&m);
    aten_free(&graphs);
    decoder_free(&model);
    free(missing);
    free(library);
    free(path);
    free((void *)names.names);
    free(names.words);
    return status;
}
