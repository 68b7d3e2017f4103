/* run_compile.h - qnnrt-run compile: .dlc containers become one context binary; a part of qnnrt-run.c

   ROOM     >>compile                                                                          */

/* =====================================================================================
   COMPILE                                                                     >>compile
   Options of its own, because almost none is shared with running and looking; what it made
   is then looked at by the same code as any other file.
   ===================================================================================== */

typedef struct compile_settings {
    const char **dlcs, **names;        /* [count], names[i] NULL: as in the file */
    char        *name_words;           /* the text that names point into */
    size_t       count, name_count;
    const char  *output_dir, *binary_file, *backend, *system;
    uint32_t     soc, arch, vtcm, level, hvx;
    int          fp16, share;
    qnnrt_log_level log_level;
} compile_settings;

typedef struct compile_option {
    const char *name, *value, *help;   /* value NULL: takes none */
    size_t      field;                 /* of compile_settings */
    uint32_t    most;                  /* 0: a text, 1: a flag or a list, else a number up to this */
} compile_option;

static const compile_option compile_options[] = {
    {"graph_name", "N1,N2", "names of the graphs, in the order of the containers (default: as in\nthem); an empty name keeps the "
     "container's: N1,,N3", 0, 1},
    {"output_dir", "DIR", "folder of what is made; created where it is missing", offsetof(compile_settings, output_dir), 0},
    {"binary_file", "NAME", "its name, without .bin (default: that of the first container)",
     offsetof(compile_settings, binary_file), 0},
    {"backend_so", "FILE", "library to compile with, and that will run it (default: libQnnHtp.so\nbeside this program, else by the system's search)", offsetof(compile_settings, backend), 0},
    {"backend", "FILE", "the same, as the SDK's tools call it", offsetof(compile_settings, backend), 0},
    {"system_so", "FILE", "libQnnSystem.so, which reads .dlc (default: the one beside the backend\nlibrary; to be named with libQnnRef.so, which reads none)", offsetof(compile_settings, system), 0},
    {"soc_model", "N", "HTP: chip to compile for, such as 57 for SM8650 (default on x86-64: 57)", offsetof(compile_settings, soc), 65535},
    {"dsp_arch", "N", "HTP: NPU generation, such as 75 (default: that of the chip)", offsetof(compile_settings, arch), 65535},
    {"fp16", NULL, "HTP: compute float32 graphs in half precision", offsetof(compile_settings, fp16), 1},
    {"optimization_level", "N", "HTP: 1 to 3 (default: the library's)", offsetof(compile_settings, level), 3},
    {"vtcm_mib", "N", "HTP: fast memory a graph may use (default: the library's)", offsetof(compile_settings, vtcm), 1024},
    {"hvx_threads", "N", "HTP: vector threads of a graph (default: the library's)", offsetof(compile_settings, hvx), 64},
    {"weight_sharing", NULL, "HTP: store weights that graphs have in common once. Such a file runs\non a device, not on the x86-64 "
     "emulator", offsetof(compile_settings, share), 1},
    {"log_level", "N", "log lines to standard error: 1 errors to 5 everything (default: none)",
     offsetof(compile_settings, log_level), 5},
    {"help", NULL, "print this", 0, 1}
};

enum { COMPILE_OPTIONS = sizeof(compile_options) / sizeof(compile_options[0]) };

static void compile_help(FILE *out)
{
    fputs("Compile .dlc containers into one context binary, and write its metadata as JSON beside it.\n\n"
          "  qnnrt-run compile A.dlc B.dlc ... --output_dir DIR [options]\n"
          "      qnnrt-run compile prompt.dlc token.dlc --graph_name prompt,token --output_dir out --soc_model 57\n"
          "  makes DIR/A.bin with the graphs of all containers, and DIR/A_json.json.\n\n", out);
    for (size_t i = 0; i < COMPILE_OPTIONS; ++i) {
        const compile_option *o = &compile_options[i];
        fprintf(out, "  --%s%s%s\n        ", o->name, o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
        for (const char *c = o->help; *c != '\0'; ++c) {
            fputc(*c, out);
            if (*c == '\n') fputs("        ", out);
        }
        fputc('\n', out);
    }
}

/* "N1,N2" into names. */
static int compile_names(compile_settings *set, const char *list)
{
    set->name_words = text("%s", list);
    for (char *word = set->name_words; word != NULL;) {
        char *comma = strchr(word, ',');
        if (comma != NULL) *comma++ = '\0';
        if (set->name_count == set->count)
            return usage("--graph_name has more names than there are containers (%lu)", (unsigned long)set->count);
        set->names[set->name_count++] = word[0] != '\0' ? word : NULL;
        word = comma;
    }
    return STATUS_OK;
}

/* Returns STATUS_OK, or STATUS_USAGE after a message. *answered: --help was asked for. */
static int compile_parse(tool *t, int count, char **words, compile_settings *set, int *answered)
{
    const char *list = NULL;
    set->dlcs = room_for((size_t)count + 1, sizeof(*set->dlcs));
    set->names = room_for((size_t)count + 1, sizeof(*set->names));
    for (int i = 0; i < count; ++i) {
        const char *word = words[i];
        if (strncmp(word, "--", 2) != 0) {
            set->dlcs[set->count++] = word;
            continue;
        }
        const size_t length = strcspn(word + 2, "=");
        const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
        const compile_option *o = compile_options;
        while (o < compile_options + COMPILE_OPTIONS && (strlen(o->name) != length || strncmp(o->name, word + 2, length) != 0)) ++o;
        if (o == compile_options + COMPILE_OPTIONS) return usage("unknown option %s of compile", word);
        if (o->value == NULL && value != NULL) return usage("--%s takes no value", o->name);
        if (o->value != NULL && value == NULL && i + 1 < count && strncmp(words[i + 1], "--", 2) != 0) value = words[++i];
        if (o->value != NULL && (value == NULL || value[0] == '\0')) return usage("--%s needs a value: --%s %s", o->name, o->name, o->value);
        void *field = (char *)set + o->field;
        uint32_t number = 1;
        if (strcmp(o->name, "help") == 0) {
            compile_help(t->out);
            *answered = 1;
            return STATUS_OK;
        }
        if (strcmp(o->name, "graph_name") == 0) {
            list = value;
        } else if (o->most == 0) {
            memcpy(field, &value, sizeof(value));
        } else {
            if (o->value != NULL && !parse_number(value, 1, o->most, &number))
                return usage("--%s takes a number from 1 to %lu, not \"%s\"", o->name, (unsigned long)o->most, value);
            memcpy(field, &number, sizeof(number));
        }
    }
    if (set->count == 0) return usage("compile takes .dlc containers");
    if (set->output_dir == NULL) return usage("compile needs --output_dir DIR");
    if (set->binary_file != NULL && strchr(set->binary_file, '/') != NULL)
        return usage("--binary_file takes a name, not a path: %s", set->binary_file);
    return list != NULL ? compile_names(set, list) : STATUS_OK;
}

/* DIR/NAME.bin. To be freed. */
static char *compile_path(const compile_settings *set)
{
    const char *name = set->binary_file;
    if (name == NULL) {
        const char *slash = strrchr(set->dlcs[0], '/');
        name = slash != NULL ? slash + 1 : set->dlcs[0];
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
    return text("%s%s%.*s.bin", set->output_dir, slash, (int)length, name);
}

/* Build and save. 0 after a message. */
static int compile_build(tool *t, const compile_settings *set, const char *path)
{
    qnnrt_error err;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_builder_desc desc = {0};
    qnnrt_context_desc context = {0};
    desc.soc_model = set->soc;
    desc.dsp_arch = set->arch;
    desc.system_path = set->system;
    context.weight_sharing = set->share;
    qnnrt_result result = qnnrt_builder_create(t->backend, &desc, &builder, &err);
    if (result == QNNRT_OK) {
        qnnrt_builder_context(builder, &context);
        for (size_t i = 0; i < set->count; ++i) {
            qnnrt_graph_desc graph = {0};
            graph.name = set->names[i];
            graph.fp16 = set->fp16;
            graph.optimization_level = set->level;
            graph.vtcm_mib = set->vtcm;
            graph.hvx_threads = set->hvx;
            qnnrt_builder_dlc(builder, set->dlcs[i], &graph);
        }
        result = qnnrt_builder_finish(builder, &model, &err);
    }
    if (result == QNNRT_OK) result = qnnrt_save(model, 0, path, &err);
    if (result != QNNRT_OK)
        fail(t, NULL, "%s%s%s%s", err.text, HINT(err),
             result == QNNRT_E_LIBRARY              ? "\n  with this tool: --system_so FILE"
             : (err.vendor_code & 0xFFFF) == 0x1773 ? "\n  with this tool: --graph_name N1,N2"
                                                    : "");
    if (qnnrt_close(model) != QNNRT_OK) fail(t, NULL, "closing what was built failed (--log_level 1 shows more)");
    return result == QNNRT_OK;
}

/* Returns the exit status; t->failed counts as well. */
static int compile(tool *t, int count, char **words)
{
    compile_settings set;
    int answered = 0;
    memset(&set, 0, sizeof(set));
    int status = compile_parse(t, count, words, &set, &answered);
    if (status == STATUS_OK && !answered) {
        char *path = compile_path(&set), *name = shown(path);
        qnnrt_error err;
        qnnrt_backend_desc desc = {0};
        desc.path = set.backend;
        desc.log_level = set.log_level;
        if (set.log_level != QNNRT_LOG_DEFAULT) {
            desc.hooks.log = print_log_line;
            desc.hooks.log_user = &set.log_level;
        }
        if (!make_folders(set.output_dir)) {
            fail(t, NULL, "cannot make the folder %s: %s", set.output_dir, strerror(errno));
        } else if (qnnrt_backend_open(&desc, &t->backend, &err) != QNNRT_OK) {
            fail(t, NULL, "%s%s%s%s", err.text, HINT(err), err.code == QNNRT_E_LIBRARY ? "\n  with this tool: --backend_so FILE" : "");
        } else {
            char *library = text("%s", qnnrt_backend_get_info(t->backend)->path);
            /* libQnnRef.so alone reads what it writes; libQnnSystem.so was needed for the .dlc. */
            const int own = qnnrt_backend_get_info(t->backend)->id == 0x524546;
            say_backend(t);
            if (compile_build(t, &set, path)) {
                const char *made = path;
                say(t, "wrote     %s\n", name);
                t->set.command = COMMAND_INSPECT;
                t->set.inspect = 1;
                t->set.backend = library;                /* its folder is where libQnnSystem.so is looked for */
                t->set.system = own ? library : set.system;
                t->set.metadata = QNNRT_METADATA_SYSTEM;
                t->set.json_file = set.output_dir;
                qnnrt_backend_close(t->backend);
                t->backend = NULL;
                t->model = open_sources(t, NULL, &made, 1);
                if (t->model != NULL) {
                    say_model(t);
                    write_dumps(t);
                }
            }
            close_all(t);
            free(library);
        }
        free(path);
        free(name);
    }
    free((void *)set.dlcs);
    free((void *)set.names);
    free(set.name_words);
    return status;
}
