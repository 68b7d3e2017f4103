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

void compile_free(char **paths)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; ++i) free(paths[i]);
    free(paths);
}

int compile_replaces(tool *t, int llm)
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
    if (t->set.compile->kv_rows) desc.more = kv_settings;
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

char **compile_save(tool *t, qnnrt *model, const aten *a, const char *path)
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
