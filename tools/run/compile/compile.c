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

/* Compile containers, and save the binaries. Return 0 after printing an error. */
static int compile_containers(tool *t, const compile_names *names, const char *path,
                              compile_files *out)
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
        qnnrt_builder_context(builder, &context);
        for (size_t i = 0; i < set->files.count; ++i) {
            qnnrt_graph_desc graph = {0};
            graph.name = names->names[i];
            graph.fp16 = set->compile->graph.fp16;
            graph.optimization_level = set->compile->graph.level;
            graph.vtcm_mib = set->compile->graph.vtcm;
            graph.hvx_threads = set->compile->graph.hvx;
            qnnrt_builder_dlc(builder, set->files.items[i], &graph);
        }
        result = qnnrt_builder_finish(builder, &model, &err);
        cli_busy_end();
    }
    if (result != QNNRT_OK)
        fail(t, NULL, result == QNNRT_E_LIBRARY
             ? cli_library_hint(&err, set->system, "Name the library with --system_so FILE.")
                      : (err.vendor_code & 0xFFFF) == 0x1773
                      ? "Name the graphs with --graph_name N1,N2."
                                                             : cli_hint(&err), "%s",
                 cli_told(&err));
    const int good = result == QNNRT_OK && compile_save(t, model, NULL, path, out);
    if (qnnrt_close(model) != QNNRT_OK)
        fail(t, NULL, LOG_HINT, "closing the built model failed");
    return good;
}

/* Show the new binaries and write their metadata. */
static void compile_show(tool *t, const compile_files *files)
{
    char *library = cli_text("%s", qnnrt_backend_get_info(t->backend)->path);
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
    t->model = open_sources(t, NULL, (const char *const *)files->paths, files->binaries);
    if (t->model != NULL) {
        say_model(t);
        write_dumps(t);
    }
    t->set.backend = NULL;
    if (own) t->set.system = NULL;
    free(library);
}

/* Write --json: the library that compiled, and the files. */
static void compile_document(tool *t, int cached)
{
    OWNED page p = {NULL, 0, 0};
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
}

/* Take the files from the cache, or make them with a->program. Return 0 after printing an error. */
static int compile_make(aten *a, const compile_names *names, const char *path,
                        compile_cache *cache, compile_files *files)
{
    tool *t = a->t;
    const compile_settings *c = t->set.compile;
    const char *plan = c->explain ? "--explain_plan" : c->report != NULL ? "--report"
                       : t->set.svg != NULL ? "--svg" : t->set.dot != NULL ? "--dot"
                       : c->write_encodings != NULL ? "--write_encodings"
                       : c->verify_nodes != 0 ? "--verify_nodes" : NULL;
    cache_begin(cache, t, names, a, path);
    if (!a->target.whole && plan != NULL && cache->cache != NULL)
        say(t, "cache     not read: %s needs the plan\n", plan);
    else if (cache_take(cache, t, files))
        return !a->target.whole || !aten_wants_lowering(&t->set) || program_lower(a);
    if (t->failed || !program_lower(a) || !program_build(a)) return 0;
    const uint64_t begin = cli_now_ns();
    const int good = compile_save(t, NULL, a, path, files);
    aten_spent(a, ATEN_SAVE, begin);
    return good;
}

/* Compile graphs. Return 1 if the files come from the cache. */
static int compile_graphs(aten *a, const compile_names *names, const char *path)
{
    tool *t = a->t;
    compile_cache cache = {0};
    compile_files files = {NULL, 0, 0, 0};
    int made = 0;
    if (target_open(a)) {
        made = encodings_read(a) && calibrate(a) && compile_make(a, names, path, &cache, &files);
        if (made && !cache.hit) compile_clean(t, &files);
        for (size_t i = 0; i < files.count; ++i) say_wrote(t, files.paths[i]);
        const uint64_t begin = cli_now_ns();
        if (made && verify_files(a, files.paths, files.binaries))
            aten_spent(a, ATEN_VERIFY, begin);
        if (made) decoder_tokenizer(a);
        cache_keep(&cache, t, a, &files);
        node_map_write(a, files.paths, files.count);
        if (made) encodings_write(a);
        chart_write(a);
    }
    /* Models of the program hold the backends. */
    qnnrt_compile_free(a->program);
    a->program = NULL;
    if (a->target.whole) {
        if (a->target.backend_count > 0) a->target.backends[0].backend = NULL;
        if (made) compile_show(t, &files);
    } else t->backend = NULL;                    /* it is closed with the others */
    compile_free(&files, 0);
    qnnrt_cache_close(cache.cache);
    return cache.hit;
}

/* Compile containers, unless they are in the cache. Return 1 if they were. */
static int compile_dlc(tool *t, const compile_names *names, const char *path)
{
    compile_cache cache = {0};
    compile_files files = {NULL, 0, 0, 0};
    qnnrt_backend_desc desc;
    qnnrt_error err;
    backend_options(t, &desc);
    desc.soc_model = 0;                          /* the builder's descriptor has it */
    if (qnnrt_backend_open(&desc, &t->backend, &err) != QNNRT_OK) {
        fail_backend(t, &err);
        return 0;
    }
    say_backend(t, t->backend, "", 1);
    if (register_packages(t, t->backend, NULL, 1)) {
        cache_begin(&cache, t, names, NULL, path);
        const int made = cache_take(&cache, t, &files) ||
                         (!t->failed && compile_containers(t, names, path, &files));
        for (size_t i = 0; i < files.count; ++i) say_wrote(t, files.paths[i]);
        cache_keep(&cache, t, NULL, &files);
        if (made) compile_show(t, &files);
    }
    compile_free(&files, 0);
    qnnrt_cache_close(cache.cache);
    return cache.hit;
}

/* Say what is to be compiled: *a receives it, NULL for containers. Returns STATUS_OK, or
   STATUS_USAGE after a message. */
static int compile_sources(tool *t, const compile_names *names, aten *graphs, decoder *model,
                           aten **a)
{
    const char *first = t->set.files.items[0];
    int status = STATUS_OK;
    graphs->t = t;
    if (aten_is_graph(first)) {
        *a = graphs;
        graphs->graph_count = t->set.files.count;
        graphs->graphs = cli_alloc(graphs->graph_count, sizeof(*graphs->graphs));
        for (size_t i = 0; i < graphs->graph_count; ++i) {
            aten_graph *g = &graphs->graphs[i];
            g->file = t->set.files.items[i];
            if (!exported_is(g->file)) continue;
            g->folder = g->file;
            g->file = g->own_file = cli_text("%s/" EXPORTED_GRAPH, g->folder);
        }
        status = aten_name(graphs, names->names);
    } else if (decoder_is_model(first)) {
        *a = graphs;
        graphs->decoder = model;
        model->folder = first;
        model->gguf = decoder_is_gguf(first);
    } else if (t->set.compile->backends != NULL) {
        return cli_usage("Leave it out.", "--backends is for .json graphs and folders of language"
                         " models, and %s is neither", first);
    }
    if (status == STATUS_OK && *a != NULL) return target_check(graphs);
    if (status == STATUS_OK)
        status = check_package_roles(&t->set, NULL, 0, "Write --op_package PATH:PROVIDER.");
    if (status == STATUS_OK && t->set.role_count > 0)
        status = cli_usage("Write --backend_so FILE.", "--backend_so has a role, and there is no"
                           " --backends");
    return status;
}

int verb_compile(void *user)
{
    tool *t = user;
    compile_names names = {NULL, NULL};
    aten graphs = {0}, *a = NULL;
    decoder model = {0};
    const compile_settings *set = t->set.compile;
    int status = check_compile(&t->set), cached = 0;
    if (status == STATUS_OK && (set->cache_list || set->cache_clear)) {
        cache_manage(t);
        return STATUS_OK;
    }
    if (status == STATUS_OK) status = compile_split(&t->set, &names);
    if (status == STATUS_OK) status = compile_sources(t, &names, &graphs, &model, &a);
    char *path = status == STATUS_OK ? compile_path(&t->set) : NULL, *missing = NULL;
    const int read = status == STATUS_OK &&
                     (a == NULL || (op_map_read(t, &a->map) && target_map(a) &&
                                    (a->decoder != NULL ? decoder_read(a) : aten_read(a))));
    if (read && compile_folder(t, 1, &missing)) {
        if (a == NULL) cached = compile_alone(t) && compile_dlc(t, &names, path);
        else if (compile_replaces(t, a->decoder != NULL || set->kv_rows))
            cached = compile_graphs(a, &names, path);
    }
    if (t->set.json && status == STATUS_OK) compile_document(t, cached);
    compile_unlock(t);
    aten_free(&graphs);
    decoder_free(&model);
    free(missing);
    free(path);
    free((void *)names.names);
    free(names.words);
    return status;
}
