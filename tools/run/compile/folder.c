/* folder.c - the folder that compile writes: its lock, names, and program

   ROOM     >>folder */
#include "run/compile/compile.h"
#include "run/show/show.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "cli/stages.h"

/* =====================================================================================
   FOLDER                                                                       >>folder
   Names of files, the lock of the folder, and the program of what was compiled.
   ===================================================================================== */

int compile_split(const settings *set, compile_names *out)
{
    size_t count = 0;
    out->names = cli_alloc(set->files.count, sizeof(*out->names));
    out->words = cli_text("%s", set->compile->names != NULL ? set->compile->names : "");
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

char *compile_path(const settings *set)
{
    const char *name = set->compile->binary_file;
    if (name == NULL && decoder_is_model(set->files.items[0])) name = "model";
    OWNED char *exported = NULL;
    if (name == NULL && exported_is(set->files.items[0]))
        name = exported = exported_name(set->files.items[0]);
    if (name == NULL) {
        const char *slash = strrchr(set->files.items[0], '/');
        name = slash != NULL ? slash + 1 : set->files.items[0];
    }
    static const char *const tails[] = {".dlc", ".bin", ".json", ".onnx"};
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

void compile_unlock(tool *t)
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

int compile_folder(tool *t, int try_only, char **missing)
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

void compile_free(compile_files *out, int remove)
{
    while (out->count > 0) {
        if (remove) unlink(out->paths[out->count - 1]);
        free(out->paths[--out->count]);
    }
    free(out->paths);
    memset(out, 0, sizeof(*out));
}

int compile_replaces(tool *t, int llm)
{
    enum { MOST = 1 << 26 };
    OWNED char *path = cli_text("%s/qnnrt.json", t->set.output_dir);
    size_t bytes = 0;
    OWNED char *text = cli_read_file(path, MOST, &bytes);
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
    return good;
}

int compile_alone(tool *t)
{
    OWNED char *path = cli_text("%s/qnnrt.json", t->set.output_dir);
    if (access(path, F_OK) != 0) return 1;
    fail(t, NULL, "Move it away, or name another folder with --output_dir DIR.",
         "%s says what the folder runs, and .dlc containers become binaries without one", path);
    return 0;
}

void compile_clean(const tool *t, const compile_files *files)
{
    OWNED char *path = cli_text("%s/host.json", t->set.output_dir);
    for (size_t i = 0; i < files->count; ++i)
        if (strcmp(files->paths[i], path) == 0) return;
    unlink(path);
}

/* Keep the path of a file that was written. */
static void compile_wrote(compile_files *out, char *path)
{
    out->paths = cli_grow(out->paths, out->count, &out->room, sizeof(*out->paths));
    out->paths[out->count++] = path;
}

static const char *compile_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Write a text into the folder. Return 0 after printing an error. */
static int compile_text(tool *t, compile_files *out, const char *name, qnnrt_result result,
                        const qnnrt_error *err, const page *text)
{
    char *path = cli_text("%s/%s", t->set.output_dir, name);
    int good = result == QNNRT_OK;
    if (!good) fail(t, NULL, cli_hint(err), "%s: %s", path, cli_told(err));
    good = good && write_page(t, path, text, 1);
    if (good) compile_wrote(out, path);
    else free(path);
    return good;
}

/* Write all constants to one file, and describe them. Return 0 after printing an error. */
static int compile_constants(const aten *a, char *path, qnnrt_manifest_constant *list,
                             compile_files *out)
{
    enum { ALIGN = 64 };
    static const char zeros[ALIGN] = "";
    const qnnrt_compile_info *info = qnnrt_compile_get_info(a->program);
    uint64_t at = 0;
    cli_file file;
    qnnrt_error err = {0};
    errno = 0;
    int good = cli_create(&file, path, 0);
    const int made = good;
    for (size_t i = 0; i < info->constant_count && good; ++i) {
        const qnnrt_compile_constant *from = &info->constants[i];
        const size_t bytes = (size_t)from->bytes, pad = (size_t)(-at % ALIGN);
        OWNED void *data = cli_alloc(bytes, 1);
        list[i].tensor.name = from->name;
        list[i].tensor.dtype = from->dtype;
        list[i].tensor.rank = from->rank;
        list[i].tensor.dims = from->dims;
        list[i].file = compile_base(path);
        list[i].offset = at + pad;
        list[i].data = from->data;
        good = qnnrt_compile_load(a->program, i, data, &err) == QNNRT_OK &&
               fwrite(zeros, 1, pad, file.file) == pad &&
               fwrite(data, 1, bytes, file.file) == bytes;
        at += pad + bytes;
    }
    if (made) good = cli_finish(&file, good);
    if (err.code != QNNRT_OK) fail(a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
    else if (!good)
        fail(a->t, NULL, CLI_WRITE_HINT, "cannot write %s: %s", path, strerror(errno));
    if (good) compile_wrote(out, path);
    else free(path);
    return good;
}

/* Write the program as DIR/qnnrt.json. Return 0 after printing an error. */
static int compile_manifest(const aten *a, const qnnrt_manifest_desc *desc, compile_files *out)
{
    OWNED page p = {NULL, 0, 0};
    qnnrt_error err;
    const qnnrt_result result = qnnrt_manifest_write(desc, json_to_page, &p, &err);
    return compile_text(a->t, out, "qnnrt.json", result, &err, &p);
}

/* Say what a graph keeps between calls. */
static void compile_say_states(tool *t, const qnnrt_compile_graph *graph)
{
    enum { SHOWN = 5 };
    OWNED page p = {NULL, 0, 0};
    if (graph->state_count == 0) return;
    for (size_t i = 0; i < graph->state_count && i < SHOWN; ++i) {
        OWNED char *name = cli_shown(graph->states[i].name);
        page_add(&p, "%s%s", i > 0 ? ", " : "", name);
    }
    say(t, "states    graph \"%s\" keeps %lu value%s between calls: %s%s\n", graph->name,
        (unsigned long)graph->state_count, cli_plural(graph->state_count), p.data,
        graph->state_count > SHOWN ? ", ..." : "");
}

/* Describe the program, and write it. Return 0 after printing an error. */
static int compile_program(const aten *a, qnnrt_manifest_desc *desc, compile_files *out)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(a->program);
    if (a->decoder != NULL && a->target.whole)
        return decoder_program(a, desc, out, compile_manifest);
    qnnrt_manifest_pipeline *pipelines = cli_alloc(info->graph_count, sizeof(*pipelines));
    for (size_t i = 0; i < info->graph_count; ++i) {
        pipelines[i].desc = *info->graphs[i].pipeline;
        if (pipelines[i].desc.edges_only) pipelines[i].conversions = info->graphs[i].conversions;
        pipelines[i].states = info->graphs[i].states;
        pipelines[i].state_count = info->graphs[i].state_count;
        compile_say_states(a->t, &info->graphs[i]);
    }
    desc->pipelines = pipelines;
    desc->pipeline_count = info->graph_count;
    if (a->decoder != NULL) desc->more = decoder_settings;
    else if (a->t->set.compile->kv_rows) desc->more = kv_settings;
    desc->more_user = a->decoder != NULL ? (void *)a->decoder : (void *)a->kv;
    const int good = compile_manifest(a, desc, out);
    free(pipelines);
    return good;
}

/* Write the steps that the host computes. Return 0 after printing an error. */
static int compile_host(const aten *a, compile_files *out)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(a->program);
    size_t count = 0, most = 0;
    for (size_t i = 0; i < info->graph_count; ++i) most += info->graphs[i].step_count;
    OWNED qnnrt_cpu_fallback_entry *parts = cli_alloc(most, sizeof(*parts));
    for (size_t i = 0; i < info->graph_count; ++i)
        for (size_t k = 0; k < info->graphs[i].step_count; ++k)
            if (info->graphs[i].steps[k].context == SIZE_MAX &&
                info->graphs[i].steps[k].function == NULL) {
                parts[count].name = info->graphs[i].steps[k].name;
                parts[count++].part = info->graphs[i].steps[k].ir;
            }
    OWNED page p = {NULL, 0, 0};
    qnnrt_error err;
    int good = 1;
    if (count > 0) {
        const qnnrt_result result = qnnrt_cpu_fallback_write(parts, count, json_to_page, &p, &err);
        good = compile_text(a->t, out, "host.json", result, &err, &p);
    }
    return good;
}

/* Save a context. Return 0 after printing an error. */
static int compile_context(tool *t, qnnrt *model, size_t number, char *file, compile_files *out)
{
    qnnrt_error err;
    const int good = qnnrt_save(model, number, file, &err) == QNNRT_OK;
    if (!good) fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
    if (good) compile_wrote(out, file);
    else free(file);
    out->binaries += good != 0;
    return good;
}

/* Save the program of all graphs. Return 0 after printing an error. */
static int compile_parts(const aten *a, const char *path, compile_files *out)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(a->program);
    const size_t count = info->context_count;
    qnnrt_manifest_context *contexts = cli_alloc(count, sizeof(*contexts));
    qnnrt_manifest_constant *constants = cli_alloc(info->constant_count, sizeof(*constants));
    OWNED char **hashes = cli_alloc(count, sizeof(*hashes));
    qnnrt_manifest_desc desc = {0};
    int good = 1;
    for (size_t i = 0; i < count && good; ++i) {
        const qnnrt_compile_context *context = &info->contexts[i];
        const char *role = a->target.backends[context->backend].role;
        char *file = count == 1 ? cli_text("%s.bin", path)
                     : a->target.whole
                         ? cli_text("%s_%lu_of_%lu.bin", path, (unsigned long)(i + 1),
                                    (unsigned long)count)
                         : cli_text("%s_%s_%lu.bin", path, role, (unsigned long)context->number);
        good = compile_context(a->t, context->model, context->number, file, out);
        if (good) good = (hashes[i] = hash_context(a->t, file)) != NULL;
        contexts[i].file = good ? compile_base(file) : NULL;
        contexts[i].role = role;
        contexts[i].sha256 = hashes[i];
    }
    if (info->constant_count > 0 && good)
        good = compile_constants(a, cli_text("%s_host.raw", path), constants, out);
    desc.contexts = contexts;
    desc.context_count = count;
    desc.constants = constants;
    desc.constant_count = info->constant_count;
    good = good && compile_host(a, out) && compile_program(a, &desc, out);
    for (size_t i = 0; i < count; ++i) free(hashes[i]);
    free(contexts);
    free(constants);
    return good;
}

int compile_save(tool *t, qnnrt *model, const aten *a, const char *path, compile_files *out)
{
    const size_t count = model != NULL ? qnnrt_get_info(model)->context_count : 0;
    char *missing = NULL;
    cli_hold();                                  /* a signal leaves no part of the files */
    int good = compile_folder(t, 0, &missing);
    for (size_t i = 0; i < count && good; ++i)
        good = compile_context(t, model, i, count == 1 ? cli_text("%s.bin", path)
                               : cli_text("%s_%lu_of_%lu.bin", path, (unsigned long)(i + 1),
                                          (unsigned long)count), out);
    good = good && (a == NULL || compile_parts(a, path, out));
    if (!good) compile_free(out, 1);
    if (!good && missing != NULL) cli_remove_folders(t->set.output_dir, missing);
    cli_release();
    free(missing);
    return good;
}
