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
            return cli_usage("Name each file once.", "--graph_name has more names than there are"
                             " files (%lu)", (unsigned long)set->files.count);
        out->names[count++] = word[0] != '\0' ? word : NULL;
        word = comma;
    }
    return STATUS_OK;
}

/* Check options that depend on each other. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int check_compile(const settings *set)
{
    if (set->files.count == 0)
        return cli_usage("Run qnnrt-run compile --help.",
                         "compile takes .dlc containers, or .json graphs");
    if (set->output_dir == NULL)
        return cli_usage("Name a folder with --output_dir DIR.", "compile needs --output_dir");
    if (set->compile.binary_file != NULL && strchr(set->compile.binary_file, '/') != NULL)
        return cli_usage("Name the folder with --output_dir DIR.",
                         "--binary_file takes a name, not a path: %s", set->compile.binary_file);
    const char *documents[8];
    if (documents_on_stdout(set, documents) > 1)
        return cli_usage("Write one of them to a file.", "%s and %s both write to standard output",
                         documents[0], documents[1]);
    return aten_check(set);
}

/* Return DIR/NAME, without ".bin". The caller frees it. */
static char *compile_path(const settings *set)
{
    const char *name = set->compile.binary_file;
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

/* Make the folder for the files, or only try whether that is possible: then a folder that did not
   exist is removed again, and no signal finds it. *missing receives what cli_missing_folder()
   returns. Return 0 after printing an error. */
static int compile_folder(tool *t, int try_only, char **missing)
{
    const char *path = t->set.output_dir;
    *missing = cli_missing_folder(path);
    cli_hold();
    int good = cli_make_folders(path);
    const char *what = good ? "write into" : "make";
    if (good && access(path, W_OK | X_OK) != 0) good = 0;
    const int why = errno;
    if (*missing != NULL && (try_only || !good)) cli_remove_folders(path, *missing);
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

/* Save the contexts of a built model. Return the list of their paths, or NULL after printing an
   error: then none of the files exists, and a folder that was made for them neither. */
static char **compile_save(tool *t, qnnrt *model, const char *path)
{
    const size_t count = qnnrt_get_info(model)->context_count;
    char **paths = cli_alloc(count + 1, sizeof(*paths)), *missing = NULL;
    qnnrt_error err;
    cli_hold();                                  /* a signal leaves no part of the files */
    int good = compile_folder(t, 0, &missing);
    for (size_t i = 0; i < count && good; ++i) {
        paths[i] = count == 1 ? cli_text("%s.bin", path)
                              : cli_text("%s_%lu_of_%lu.bin", path, (unsigned long)(i + 1),
                                         (unsigned long)count);
        good = qnnrt_save(model, i, paths[i], &err) == QNNRT_OK;
        if (good) continue;
        fail(t, NULL, err.hint, "%s", err.text);
        while (i-- > 0) unlink(paths[i]);
        if (missing != NULL) cli_remove_folders(t->set.output_dir, missing);
        break;
    }
    cli_release();
    free(missing);
    if (!good) compile_free(paths);
    return good ? paths : NULL;
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
        const uint64_t begin = now_ns();
        result = qnnrt_builder_finish(builder, &model, &err);
        progress_end(&shown);
        aten_spent(a, ATEN_BUILD, begin);
        if (a != NULL) aten_loss(a);
    }
    const uint64_t begin = now_ns();
    char **paths = result == QNNRT_OK ? compile_save(t, model, path) : NULL;
    aten_spent(a, ATEN_SAVE, begin);
    if (result != QNNRT_OK)
        fail(t, NULL, result == QNNRT_E_LIBRARY
             ? cli_library_hint(&err, set->system, "Name the library with --system_so FILE.")
                      : (err.vendor_code & 0xFFFF) == 0x1773
                      ? "Name the graphs with --graph_name N1,N2."
                                                             : err.hint, "%s", err.text);
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

static int verb_compile(void *user)
{
    tool *t = user;
    compile_names names = {NULL, NULL};
    aten graphs = {0}, *a = NULL;
    qnnrt_backend_desc desc;
    qnnrt_error err;
    int status = check_compile(&t->set);
    if (status == STATUS_OK) status = compile_split(&t->set, &names);
    if (status == STATUS_OK && aten_is_graph(t->set.files.items[0])) {
        a = &graphs;
        a->t = t;
        a->graph_count = t->set.files.count;
        a->graphs = cli_alloc(a->graph_count, sizeof(*a->graphs));
        for (size_t i = 0; i < a->graph_count; ++i) a->graphs[i].file = t->set.files.items[i];
        status = aten_name(a, names.names);
    }
    char *path = status == STATUS_OK ? compile_path(&t->set) : NULL, *library = NULL;
    char *missing = NULL, **paths = NULL;
    backend_options(t, &desc);
    desc.soc_model = 0;                          /* the builder's descriptor has it */
    if (status != STATUS_OK || (a != NULL && !aten_read(a))) {
    } else if (!compile_folder(t, 1, &missing)) {
    } else if (qnnrt_backend_open(&desc, &t->backend, &err) != QNNRT_OK) {
        fail_backend(t, &err);
    } else {
        library = cli_text("%s", qnnrt_backend_get_info(t->backend)->path);
        say_backend(t, t->backend, "");
        if (a == NULL || aten_lower(a)) paths = compile_build(t, &names, a, path);
        for (size_t i = 0; paths != NULL && paths[i] != NULL; ++i)
            say(t, "wrote     %s\n", paths[i]);
        const uint64_t begin = now_ns();
        if (paths != NULL && a != NULL && verify_files(a, paths)) aten_spent(a, ATEN_VERIFY, begin);
        if (a != NULL) fate_write(a, paths);
        if (a != NULL) chart_write(a);
        if (paths != NULL) compile_show(t, paths, library);
        compile_free(paths);
    }
    aten_free(&graphs);
    free(missing);
    free(library);
    free(path);
    free((void *)names.names);
    free(names.words);
    return status;
}
