/* run_compile.h - a part of qnnrt-run.c: compile .dlc containers into one context binary

   ROOM     >>compile                                                                          */

/* =====================================================================================
   COMPILE                                                                     >>compile
   Compiles containers, and prints the new binary with the same code as any other file.
   ===================================================================================== */

/* The value of --graph_name. */
typedef struct compile_names {
    char        *words;                /* the text of all names, cut into words          */
    const char **names;                /* [number of containers], NULL: keep the name    */
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
            return cli_usage("Name each container once.",
                             "--graph_name has more names than there are"
                             " containers (%lu)", (unsigned long)set->files.count);
        out->names[count++] = word[0] != '\0' ? word : NULL;
        word = comma;
    }
    return STATUS_OK;
}

/* Check options that depend on each other. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int check_compile(const settings *set)
{
    if (set->files.count == 0)
        return cli_usage("Run qnnrt-run compile --help.", "compile takes .dlc containers");
    if (set->output_dir == NULL)
        return cli_usage("Name a folder with --output_dir DIR.", "compile needs --output_dir");
    if (set->compile.binary_file != NULL && strchr(set->compile.binary_file, '/') != NULL)
        return cli_usage("Name the folder with --output_dir DIR.",
                         "--binary_file takes a name, not a path: %s", set->compile.binary_file);
    return STATUS_OK;
}

/* Return DIR/NAME.bin. The caller frees it. */
static char *compile_path(const settings *set)
{
    const char *name = set->compile.binary_file;
    if (name == NULL) {
        const char *slash = strrchr(set->files.items[0], '/');
        name = slash != NULL ? slash + 1 : set->files.items[0];
    }
    size_t length = strlen(name);
    for (int i = 0; i < 2; ++i) {
        const char *tail = i == 0 ? ".dlc" : ".bin";
        if (length > 4 && strcmp(name + length - 4, tail) == 0) {
            length -= 4;
            break;
        }
    }
    const char *slash = set->output_dir[strlen(set->output_dir) - 1] == '/' ? "" : "/";
    return cli_text("%s%s%.*s.bin", set->output_dir, slash, (int)length, name);
}

/* Build the binary and save it. Return 0 after printing an error. */
static int compile_build(tool *t, const compile_names *names, const char *path)
{
    const settings *set = &t->set;
    qnnrt_error err;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_builder_desc desc = {0};
    qnnrt_context_desc context = {0};
    desc.soc_model = set->soc_model;
    desc.dsp_arch = set->compile.arch;
    desc.system_path = set->system;
    context.weight_sharing = set->compile.share;
    qnnrt_result result = qnnrt_builder_create(t->backend, &desc, &builder, &err);
    if (result == QNNRT_OK) {
        qnnrt_builder_context(builder, &context);
        for (size_t i = 0; i < set->files.count; ++i) {
            qnnrt_graph_desc graph = {0};
            graph.name = names->names[i];
            graph.fp16 = set->compile.fp16;
            graph.optimization_level = set->compile.level;
            graph.vtcm_mib = set->compile.vtcm;
            graph.hvx_threads = set->compile.hvx;
            qnnrt_builder_dlc(builder, set->files.items[i], &graph);
        }
        result = qnnrt_builder_finish(builder, &model, &err);
    }
    cli_hold();                                  /* a signal does not leave half a file */
    if (result == QNNRT_OK) result = qnnrt_save(model, 0, path, &err);
    cli_release();
    if (result != QNNRT_OK)
        fail(t, NULL, result == QNNRT_E_LIBRARY
             ? cli_library_hint(&err, set->system, "Name the library with --system_so FILE.")
                      : (err.vendor_code & 0xFFFF) == 0x1773
                      ? "Name the graphs with --graph_name N1,N2."
                                                             : err.hint, "%s", err.text);
    if (qnnrt_close(model) != QNNRT_OK)
        fail(t, NULL, LOG_HINT, "closing the built model failed");
    return result == QNNRT_OK;
}

/* Show the new binary and write its metadata. */
static void compile_show(tool *t, const char *path, const char *library)
{
    /* Only libQnnRef.so reads its own binaries; libQnnSystem.so has read the .dlc. */
    const int own = qnnrt_backend_get_info(t->backend)->id == 0x524546;
    t->set.command = COMMAND_INSPECT;
    t->set.inspect = 1;
    t->set.backend = library;                    /* libQnnSystem.so is searched beside it */
    if (own) t->set.system = library;
    t->set.metadata = QNNRT_METADATA_SYSTEM;
    t->set.json_file = t->set.output_dir;
    qnnrt_backend_close(t->backend);
    t->backend = NULL;
    t->model = open_sources(t, NULL, &path, 1);
    if (t->model == NULL) return;
    say_model(t);
    write_dumps(t);
}

static int verb_compile(void *user)
{
    tool *t = user;
    compile_names names = {NULL, NULL};
    qnnrt_backend_desc desc;
    qnnrt_error err;
    int status = check_compile(&t->set);
    if (status == STATUS_OK) status = compile_split(&t->set, &names);
    char *path = status == STATUS_OK ? compile_path(&t->set) : NULL, *library = NULL;
    backend_options(t, &desc);
    desc.soc_model = 0;                          /* the builder's descriptor has it */
    if (status != STATUS_OK) {
    } else if (!cli_make_folders(t->set.output_dir)) {
        fail(t, NULL, CLI_WRITE_HINT, "cannot make the folder %s: %s", t->set.output_dir,
             strerror(errno));
    } else if (qnnrt_backend_open(&desc, &t->backend, &err) != QNNRT_OK) {
        fail_backend(t, &err);
    } else {
        library = cli_text("%s", qnnrt_backend_get_info(t->backend)->path);
        say_backend(t, t->backend, "");
        if (compile_build(t, &names, path)) {
            char *name = cli_shown(path);
            say(t, "wrote     %s\n", name);
            free(name);
            compile_show(t, path, library);
        }
    }
    free(library);
    free(path);
    free((void *)names.names);
    free(names.words);
    return status;
}
