/* run_compile.h - a part of qnnrt-run.c: compile containers or graphs into one context binary

   ROOM     >>compile                                                                          */

/* =====================================================================================
   COMPILE                                                                     >>compile
   Compiles .dlc containers, or graphs of >>aten, and prints the new binary with the same code as
   any other file.
   ===================================================================================== */

/* The value of --graph_name. */
typedef struct compile_names {
    char        *words;                /* the text of all names, cut into words          */
    const char **names;                /* [number of files], NULL: the default           */
} compile_names;

/* Split "N1,N2". Returns STATUS_OK, or STATUS_USAGE after a message. */
static int compile_split(const settings *set, compile_names *out)
{
    size_t count = 0;
    out->names = cli_alloc(set->files.count, sizeof(*out->names));
    out->words = cli_text("%s", set->compile.names != NULL ? set->compile.names : "");
    for (char *word = out->words; word != NULL;) {
        char *comma = strchr(word, ',');
        if (comma != NULL) *comma++ = '\0';
        if (count == set->files.count)
            return cli_usage("Give one name for each file.", "--graph_name has more names than"
                             " there are files (%lu)", (unsigned long)set->files.count);
        out->names[count++] = word[0] != '\0' ? word : NULL;
        word = comma;
    }
    return STATUS_OK;
}

/* Return DIR/NAME, without ".bin". The caller frees it. */
static char *compile_path(const settings *set)
{
    const char *name = set->compile.binary_file;
    if (name == NULL && decoder_is_model(set->files.items[0])) name = "model";
    if (name == NULL) {
        const char *slash = strrchr(set->files.items[0], '/');
        name = slash != NULL ? slash + 1 : set->files.items[0];
    }
    static const char *const tails[] = {".dlc", ".bin", ".json"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); ++i) {
        const size_t bytes = strlen(tails[i]);
        if (length > bytes && strcasecmp(name + length - bytes, tails[i]) == 0) {
            length -= bytes;
            break;
        }
    }
    const char *slash = set->output_dir[strlen(set->output_dir) - 1] == '/' ? "" : "/";
    return cli_text("%s%s%.*s", set->output_dir, slash, (int)length, name);
}

/* Let other compilations write into the folder. */
static void compile_unlock(tool *t)
{
    if (t->folder > 0) close(t->folder);
    t->folder = 0;
}

/* Lock the folder, so that no two compilations mix their files there: the binary of one beside the
   program of another. wait: 1 waits for the other one. Return 1 if the folder is locked and has its
   name still: only who has locked it removes it. */
static int compile_lock(tool *t, int wait)
{
    struct stat opened, there;
    compile_unlock(t);
    t->folder = open(t->set.output_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Into some folders one may write without reading them. */
    const int unread = t->folder < 0 && errno == EACCES;
    int locked = t->folder > 0 && flock(t->folder, LOCK_EX | LOCK_NB) == 0;
    if (t->folder > 0 && !locked && errno == EWOULDBLOCK) {
        if (!wait) return 0;
        say(t, "wait      for another compilation, which writes into %s\n", t->set.output_dir);
        cli_put_end(t->out);
        while (!locked && cli_signal == 0) {
            locked = flock(t->folder, LOCK_EX) == 0;
            if (!locked && errno != EINTR) break;
        }
    }
    if ((t->folder > 0 || unread) && wait && !locked && cli_signal == 0)
        say(t, "note      %s cannot be locked: %s; let no other compilation write there\n",
            t->set.output_dir, strerror(errno));
    if (unread) return wait && cli_signal == 0;
    return t->folder > 0 && cli_signal == 0 && fstat(t->folder, &opened) == 0 &&
           stat(t->set.output_dir, &there) == 0 && opened.st_ino == there.st_ino &&
           opened.st_dev == there.st_dev;
}

/* Make the folder for the files, and lock it until compile_unlock(); or only try whether it can be
   made: then a folder that did not exist is removed again, and no signal finds it. *missing
   receives what cli_missing_folder() returns. Return 0 after printing an error. */
static int compile_folder(tool *t, int try_only, char **missing)
{
    enum { TRIES = 1000 };                       /* another one may remove it before it is locked */
    const char *path = t->set.output_dir, *what = "make";
    int good = 0, locked = 0, why = 0;
    *missing = cli_missing_folder(path);
    cli_hold();
    for (int i = 0; i < TRIES && !locked; ++i) {
        good = cli_make_folders(path);
        what = good ? "write into" : "make";
        good = good && access(path, W_OK | X_OK) == 0;
        why = errno;
        locked = good && compile_lock(t, !try_only);
        if (good && !locked) why = errno;
        if (cli_signal != 0 || (good ? try_only : why != ENOENT)) break;
    }
    if (cli_signal != 0) why = EINTR;
    good = good && (locked || try_only);
    if (*missing != NULL && (try_only ? locked : !good)) cli_remove_folders(path, *missing);
    if (try_only) compile_unlock(t);
    cli_release();
    if (!good)
        fail(t, NULL, CLI_WRITE_HINT, "cannot %s the folder %s: %s", what, path, strerror(why));
    return good;
}

/* Free a list of paths, which ends with NULL. */
static void compile_free(char **paths)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; ++i) free(paths[i]);
    free(paths);
}

/* Check that DIR/qnnrt.json, if it exists, has nothing but what is written anew: a program, and
   with llm the settings of a language model. Return 0 after printing an error. */
static int compile_replaces(tool *t, int llm)
{
    enum { MOST = 1 << 26 };
    char *path = cli_text("%s/qnnrt.json", t->set.output_dir);
    size_t bytes = 0;
    char *text = cli_read_file(path, MOST, &bytes);
    qnnrt_json_reader r;
    int good = text == NULL && errno == ENOENT;
    if (text != NULL) {
        qnnrt_json_begin(&r, text, bytes, NULL);
        good = qnnrt_json_value(&r) == QNNRT_JSON_OBJECT;
        while (good && qnnrt_json_more(&r)) {
            good = qnnrt_json_is(&r.key, "program") || (llm && qnnrt_json_is(&r.key, "llm"));
            qnnrt_json_skip(&r);
        }
        good = good && qnnrt_json_end(&r);
    }
    if (!good)
        fail(t, NULL, "Move it away, or name another folder with --output_dir DIR.",
             "compile writes %s, but the one that is there has other parts than a program", path);
    free(text);
    free(path);
    return good;
}

/* Describe a graph as a pipeline: its parts in the contexts of a built model, and the ranges of
   its inputs, as many times as parts read them. */
static qnnrt_pipeline_desc compile_pipeline(const qnnrt_info *model,
                                            const qnnrt_lower_graph_info *graph,
                                            qnnrt_step_desc *steps, qnnrt_use_desc *ranges)
{
    qnnrt_pipeline_desc desc = {0};
    desc.name = graph->name;
    desc.steps = steps;
    desc.uses = ranges;
    for (size_t c = 0; c < model->context_count; ++c) {
        const qnnrt_graph_info *part = model->contexts[c].graphs;
        const qnnrt_graph_info *end = part + model->contexts[c].graph_count;
        while (part < end && strcmp(part->name, graph->name) != 0) ++part;
        if (part == end) continue;
        for (size_t i = 0; i < graph->ir->input_count; ++i) {
            const qnnrt_lower_tensor *tensor = &graph->tensors[graph->inputs[i]];
            for (size_t k = 0; k < part->input_count && tensor->has_range; ++k) {
                if (strcmp(part->inputs[k].name, tensor->name) != 0) continue;
                ranges[desc.use_count].step = desc.step_count;
                ranges[desc.use_count].tensor = tensor->name;
                ranges[desc.use_count].has_range = 1;
                ranges[desc.use_count].low = tensor->low;
                ranges[desc.use_count++].high = tensor->high;
            }
        }
        steps[desc.step_count].context = c;
        steps[desc.step_count++].graph = graph->name;
    }
    return desc;
}

/* Write a program as DIR/qnnrt.json. Return 0 after printing an error. */
static int compile_manifest(const aten *a, const qnnrt_manifest_desc *desc)
{
    tool *t = a->t;
    page p = {NULL, 0, 0};
    char *path = cli_text("%s/qnnrt.json", t->set.output_dir);
    qnnrt_error err;
    int good = qnnrt_manifest_write(desc, json_to_page, &p, &err) == QNNRT_OK;
    if (!good) fail(t, NULL, cli_hint(&err), "%s: %s", path, cli_told(&err));
    good = good && write_page(t, path, &p, 1);
    if (good) say_wrote(t, path);
    free(p.data);
    free(path);
    return good;
}

/* Write DIR/qnnrt.json for graphs whose binaries have these paths. Return 0 after printing an
   error. */
static int compile_program(const aten *a, qnnrt *model, char *const *paths)
{
    tool *t = a->t;
    const qnnrt_info *info = qnnrt_get_info(model);
    const qnnrt_lower_info *lowered = qnnrt_lower_get_info(a->lower);
    const char *role = manifest_role_of(qnnrt_backend_get_info(t->backend)->id);
    qnnrt_manifest_context *contexts = cli_alloc(info->context_count, sizeof(*contexts));
    const size_t graphs = lowered->graph_count, parts = info->context_count;
    qnnrt_manifest_pipeline *pipelines = cli_alloc(graphs, sizeof(*pipelines));
    qnnrt_step_desc *steps = cli_alloc(graphs * parts, sizeof(*steps));
    size_t inputs = 0, used = 0;
    for (size_t i = 0; i < graphs; ++i) inputs += lowered->graphs[i].ir->input_count;
    qnnrt_use_desc *ranges = cli_alloc(inputs * parts, sizeof(*ranges));
    char **hashes = cli_alloc(parts, sizeof(*hashes));
    qnnrt_manifest_desc desc = {0};
    int good = 1;
    for (size_t i = 0; i < parts; ++i) {
        const char *slash = strrchr(paths[i], '/');
        contexts[i].file = slash != NULL ? slash + 1 : paths[i];
        contexts[i].role = role != NULL ? role : "npu";
        contexts[i].sha256 = hashes[i] = hash_context(t, paths[i]);
        good = good && hashes[i] != NULL;
    }
    for (size_t i = 0; i < graphs; ++i) {
        pipelines[i].desc = compile_pipeline(info, &lowered->graphs[i], steps + i * parts,
                                        ranges + used);
        used += pipelines[i].desc.use_count;
    }
    desc.contexts = contexts;
    desc.context_count = parts;
    desc.pipelines = pipelines;
    desc.pipeline_count = graphs;
    if (t->set.compile.kv_rows) desc.more = kv_settings;
    desc.more_user = a->kv;
    if (a->decoder != NULL) desc.pipeline_count = 0;
    good = good && (a->decoder != NULL ? decoder_program(a, &desc, compile_manifest)
                                       : compile_manifest(a, &desc));
    for (size_t i = 0; i < parts; ++i) free(hashes[i]);
    free(hashes);
    free(pipelines);
    free(steps);
    free(ranges);
    free(contexts);
    return good;
}

/* Save the contexts of a built model, and the program of graphs (a: NULL: containers). Return the
   list of their paths, or NULL after printing an error: then none of the files exists, and a folder
   that was made for them neither. */
static char **compile_save(tool *t, qnnrt *model, const aten *a, const char *path)
{
    const size_t count = qnnrt_get_info(model)->context_count;
    char **paths = cli_alloc(count + 1, sizeof(*paths)), *missing = NULL;
    qnnrt_error err;
    cli_hold();                                  /* a signal leaves no part of the files */
    int good = compile_folder(t, 0, &missing);
    size_t saved = 0;
    for (size_t i = 0; i < count && good; ++i) {
        paths[i] = count == 1 ? cli_text("%s.bin", path)
                              : cli_text("%s_%lu_of_%lu.bin", path, (unsigned long)(i + 1),
                                         (unsigned long)count);
        good = qnnrt_save(model, i, paths[i], &err) == QNNRT_OK;
        saved += good != 0;
        if (!good) fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
    }
    if (good && a != NULL) good = compile_program(a, model, paths);
    while (!good && saved > 0) unlink(paths[--saved]);
    if (!good && missing != NULL) cli_remove_folders(t->set.output_dir, missing);
    cli_release();
    free(missing);
    if (!good) compile_free(paths);
    return good ? paths : NULL;
}

#include "run_cache.h"

/* Check options that depend on each other. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int check_compile(const settings *set)
{
    int status = check_cache(set);
    if (status == STATUS_OK) status = check_packages(set);
    if (status != STATUS_OK || set->compile.cache_list || set->compile.cache_clear) return status;
    if (set->files.count == 0)
        return cli_usage("Run qnnrt-run compile --help.", "compile takes " COMPILE_SOURCES);
    if (set->output_dir == NULL)
        return cli_usage("Name a folder with --output_dir DIR.", "compile needs --output_dir");
    if (set->compile.binary_file != NULL && strchr(set->compile.binary_file, '/') != NULL)
        return cli_usage("Name the folder with --output_dir DIR.",
                         "--binary_file takes a name, not a path: %s", set->compile.binary_file);
    const char *documents[DOCUMENTS];
    if (documents_on_stdout(set, documents) > 1)
        return cli_usage("Write one of them to a file.", "%s and %s both write to standard output",
                         documents[0], documents[1]);
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
    context.weight_sharing = set->compile.share;
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
            graph.fp16 = set->compile.fp16;
            graph.optimization_level = set->compile.level;
            graph.vtcm_mib = set->compile.vtcm;
            graph.hvx_threads = set->compile.hvx;
            qnnrt_builder_dlc(builder, set->files.items[i], &graph);
        }
        const uint64_t begin = cli_now_ns();
        result = qnnrt_builder_finish(builder, &model, &err);
        cli_busy_end();
        aten_spent(a, ATEN_BUILD, begin);
        if (a != NULL) aten_loss(a);
        if (a != NULL && result == QNNRT_OK)
            small_say(t, qnnrt_lower_get_info(a->lower)->smalls,
                      qnnrt_lower_get_info(a->lower)->small_count, "");
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

static int verb_compile(void *user)
{
    tool *t = user;
    compile_names names = {NULL, NULL};
    aten graphs = {0}, *a = NULL;
    decoder model = {0};
    compile_cache cache = {0};
    qnnrt_backend_desc desc;
    qnnrt_error err;
    const compile_settings *set = &t->set.compile;
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
    if (status == STATUS_OK && m.a == NULL && t->set.compile.backends != NULL)
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
               (a != NULL && !compile_replaces(t, a->decoder != NULL || t->set.compile.kv_rows))) {
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
        if (a != NULL) fate_write(a, paths);
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
