/* extract.c - the verb extract: takes context binaries out of the files of others

   ROOM     >>extract */
#include "run/io/io.h"

#include <sys/stat.h>

/* =====================================================================================
   EXTRACT                                                                     >>extract
   qnnrt-run extract: lists what a file carries, and writes the context binaries.
   ===================================================================================== */

/* True if a piece is written. */
static int piece_is_taken(const carried *p)
{
    return piece_is_context(p) || (p->problem == NULL && p->is_dlc);
}

void name_pieces(extract *list, size_t count)
{
    OWNED char **used = NULL;
    size_t used_count = 0, room = 0;
    for (size_t e = 0; e < count; ++e) {
        pieces *found = &list[e].found;
        OWNED char *own = stem_of(list[e].path);
        for (size_t i = 0; i < found->count; ++i) {
            carried *p = &found->list[i];
            const char *stem = p->stem != NULL ? p->stem : own;
            size_t before = 0, all = 0;
            if (!piece_is_taken(p)) continue;
            for (size_t k = 0; k < found->count; ++k) {
                const carried *q = &found->list[k];
                if (!piece_is_taken(q) || q->is_dlc != p->is_dlc || q->group != p->group) continue;
                before += k < i;
                ++all;
            }
            OWNED char *base = all > 1 ? cli_text("%s_%lu_of_%lu", stem, (unsigned long)before + 1,
                                                  (unsigned long)all) : cli_text("%s", stem);
            p->file = safe_name(base, p->is_dlc ? ".dlc" : ".bin", used, used_count);
            used = cli_grow(used, used_count, &room, sizeof(*used));
            used[used_count++] = p->file;
        }
    }
}

/* Open and read a file. */
static void extract_open(extract *e, const char *path)
{
    memset(e, 0, sizeof(*e));
    e->path = path;
    e->found.path = path;
    const char *why = cli_is_folder(path) ? "it is a folder" : span_map(path, 1, &e->all);
    if (why != NULL) {
        e->problem = cli_text("cannot read %s: %s", path, why);
        return;
    }
    e->kind = head_of(e->all);
    if (e->kind == HEAD_WRAPPED) {
        carried *added = pieces_add(&e->found, cli_text("the whole file"), "", e->all);
        if (added != NULL) piece_unwrap(added);
    }
    container_read(e->all, e->kind, &e->found, 0);
}

/* Return what a file is. */
static const char *extract_kind(const extract *e)
{
    return e->kind == HEAD_ZIP && e->found.is_dlc ? ".dlc container" : head_names[e->kind];
}

static void say_listing(tool *t, const graph_listing *graph)
{
    OWNED char *title = cli_shown(graph->name);
    say(t, "  graph \"%s\": %llu operators, %llu tensors\n", title,
        (unsigned long long)graph->node_count, (unsigned long long)graph->tensor_count);
    for (int output = 0; output < 2; ++output)
        for (size_t i = 0; i < graph->count; ++i) {
            const graph_tensor *tensor = &graph->tensors[i];
            if (tensor->output != output) continue;
            OWNED page dims = {NULL, 0, 0};
            for (uint32_t d = 0; d < tensor->rank; ++d)
                page_add(&dims, "%s%lu", d > 0 ? "x" : "", (unsigned long)tensor->dims[d]);
            OWNED char *name = cli_shown(tensor->name);
            say(t, "    %-6s %-12s %s  \"%s\"\n", output ? "output" : "input",
                qnnrt_dtype_name((qnnrt_dtype)tensor->dtype), dims.data != NULL ? dims.data : "1",
                name);
        }
}

static void say_piece(tool *t, const carried *p)
{
    OWNED char *bytes = cli_grouped(p->bytes), *where = cli_shown(p->where);
    OWNED char *owner = cli_shown(p->owner);
    OWNED char *problem = p->problem != NULL ? cli_shown(p->problem) : NULL;
    say(t, "  %s%s%s%s: %s bytes, ", where, owner[0] != '\0' ? " (" : "", owner,
        owner[0] != '\0' ? ")" : "", bytes);
    if (problem != NULL) say(t, "not taken: %s\n", problem);
    else if (p->file == NULL) say(t, "not for QNN\n");
    else say(t, "%s %s %s\n", p->is_dlc ? ".dlc container" : head_names[p->kind],
             p->written ? "->" : "as", p->file);
}

static void say_extract(tool *t, const extract *e)
{
    OWNED char *bytes = cli_grouped(e->all.bytes), *path = cli_shown(e->path);
    if (e->problem == NULL && (e->found.count > 0 || e->found.graph_count > 0)) {
        say(t, "%s: %s, %s bytes\n", path, extract_kind(e), bytes);
        for (size_t i = 0; i < e->found.count; ++i) say_piece(t, &e->found.list[i]);
        for (size_t i = 0; i < e->found.graph_count; ++i) say_listing(t, &e->found.graphs[i]);
    }
}

static int extract_write(void *user, const unsigned char *data, size_t bytes)
{
    return fwrite(data, 1, bytes, user) == bytes;
}

/* Write a piece. Return 0 after printing an error. */
static int write_piece(tool *t, carried *p)
{
    OWNED char *path = cli_text("%s/%s", t->set.output_dir, p->file);
    uint64_t work = ARCHIVE_WORK(p->bytes);
    cli_file file;
    const char *wrong = NULL;
    errno = 0;
    if (!cli_create(&file, path, 1)) {
        fail(t, NULL, CLI_WRITE_HINT, "cannot write %s: %s", path, strerror(errno));
        return 0;
    }
    if (p->packed.packed.data != NULL) wrong = zip_unpack(&p->packed, &work, extract_write,
                                                          file.file);
    else extract_write(file.file, p->data.data, (size_t)p->data.bytes);
    if (wrong != NULL) {
        cli_finish(&file, 0);
        p->problem = cli_text("%s", wrong);
        fail(t, NULL, "Copy the archive again, and compare its size with the original.", "%s: %s",
             p->where, wrong);
    } else if (!cli_finish(&file, 1)) {
        fail(t, NULL, CLI_WRITE_HINT, "cannot write %s: %s", path, strerror(errno));
    } else {
        p->written = 1;
    }
    return p->written;
}

/* Check that no file would be replaced. Return 0 after printing an error. */
static int extract_is_free(tool *t, const extract *list, size_t count)
{
    struct stat status;
    int is_free = 1;
    for (size_t e = 0; e < count && is_free; ++e)
        for (size_t i = 0; i < list[e].found.count && is_free; ++i) {
            if (list[e].found.list[i].file == NULL) continue;
            OWNED char *path = cli_text("%s/%s", t->set.output_dir, list[e].found.list[i].file);
            is_free = lstat(path, &status) != 0;
            if (!is_free)
                fail(t, NULL, "Name another folder with --output_dir, or remove the file.",
                     "%s exists, and extract replaces nothing", path);
        }
    return is_free;
}

static void write_extracts(tool *t, extract *list, size_t count)
{
    if (!extract_is_free(t, list, count)) return;
    if (!cli_make_folders(t->set.output_dir)) {
        fail(t, NULL, CLI_WRITE_HINT, "cannot make the folder %s: %s", t->set.output_dir,
             strerror(errno));
        return;
    }
    for (size_t e = 0; e < count; ++e)
        for (size_t i = 0; i < list[e].found.count; ++i)
            if (list[e].found.list[i].file != NULL && !write_piece(t, &list[e].found.list[i]))
                return;
}

/* Report what went wrong with a file, or that there is nothing in it. */
static void extract_judge(tool *t, const extract *e)
{
    size_t taken = 0, problems = 0;
    for (size_t i = 0; i < e->found.count; ++i) {
        taken += e->found.list[i].file != NULL;
        problems += e->found.list[i].problem != NULL;
    }
    if (e->problem != NULL) {
        fail(t, NULL, "Check the name, and whether the file may be read.", "%s", e->problem);
    } else if (e->found.problem != NULL) {
        fail(t, NULL, e->found.work == 0 ? "Unpack the archive, and extract from what was in it."
             : "Copy the file again, and compare its size with the original.", "%s: %s",
             e->path, e->found.problem);
    } else if (problems > 0) {
        for (size_t i = 0; i < e->found.count; ++i)
            if (e->found.list[i].problem != NULL)
                fail(t, NULL, NULL, "%s: %s: %s", e->path, e->found.list[i].where,
                     e->found.list[i].problem);
    } else if (e->kind == HEAD_CONTEXT || e->kind == HEAD_REF) {
        fail(t, NULL, "Look at it with qnnrt-run inspect, or run it.",
             "%s is a context binary: there is nothing to take out", e->path);
    } else if (e->all.bytes == 0) {
        fail(t, NULL, "Copy the file again, and compare its size with the original.",
             "%s is empty", e->path);
    } else if (e->kind == HEAD_OTHER) {
        fail(t, NULL, "Give a .pte, an .onnx with EPContext nodes, a .dlc, or an archive that holds"
             " such files.", "%s is nothing that carries context binaries", e->path);
    } else if (taken == 0 && e->found.is_dlc) {
        if (t->set.output_dir != NULL)
            fail(t, NULL, "Compile it: qnnrt-run compile.",
                 "%s holds graphs, and no context binary", e->path);
    } else if (taken == 0) {
        fail(t, NULL, e->kind == HEAD_ONNX ? "Compile it first: ONNX Runtime writes EPContext nodes"
             " with the session option ep.context_enable." : NULL,
             "%s: this %s holds no context binary", e->path, extract_kind(e));
    }
}

static void json_listing(json *j, const graph_listing *graph)
{
    json_open(j, NULL, '{', 0);
    json_string(j, "name", graph->name);
    json_count(j, "operators", graph->node_count);
    json_count(j, "tensors", graph->tensor_count);
    for (int output = 0; output < 2; ++output) {
        json_open(j, output ? "outputs" : "inputs", '[', 0);
        for (size_t i = 0; i < graph->count; ++i) {
            if (graph->tensors[i].output != output) continue;
            json_open(j, NULL, '{', 1);
            json_string(j, "name", graph->tensors[i].name);
            json_string(j, "dtype", qnnrt_dtype_name((qnnrt_dtype)graph->tensors[i].dtype));
            json_open(j, "dims", '[', 1);
            for (uint32_t d = 0; d < graph->tensors[i].rank; ++d)
                json_count(j, NULL, graph->tensors[i].dims[d]);
            json_close(j);
            json_close(j);
        }
        json_close(j);
    }
    json_close(j);
}

/* Write the document of --json. */
static void json_extracts(tool *t, const extract *list, size_t count)
{
    document d;
    json *j = document_result(&d, "qnnrt-run.extract", t, !t->failed);
    json_string(j, "output_dir", t->set.output_dir);
    json_open(j, "files", '[', 0);
    for (size_t e = 0; e < count; ++e) {
        const pieces *found = &list[e].found;
        json_open(j, NULL, '{', 0);
        json_string(j, "path", list[e].path);
        json_string(j, "kind", list[e].problem != NULL ? NULL : extract_kind(&list[e]));
        json_count(j, "bytes", list[e].all.bytes);
        json_string(j, "problem", list[e].problem != NULL ? list[e].problem : found->problem);
        json_open(j, "pieces", '[', 0);
        for (size_t i = 0; i < found->count; ++i) {
            const carried *from = &found->list[i];
            json_open(j, NULL, '{', 1);
            json_string(j, "where", from->where);
            json_string(j, "owner", from->owner[0] != '\0' ? from->owner : NULL);
            json_string(j, "kind", from->is_dlc ? ".dlc container" : head_names[from->kind]);
            json_count(j, "bytes", from->bytes);
            json_string(j, "file", from->file);
            json_bool(j, "written", from->written);
            json_string(j, "problem", from->problem);
            json_close(j);
        }
        json_close(j);
        json_open(j, "graphs", '[', 0);
        for (size_t i = 0; i < found->graph_count; ++i) json_listing(j, &found->graphs[i]);
        json_close(j);
        json_close(j);
    }
    json_close(j);
    document_write(&d, t, "-");
}

int verb_extract(void *user)
{
    tool *t = user;
    const size_t count = t->set.files.count;
    if (count == 0)
        return cli_usage("Write qnnrt-run extract FILE, or run qnnrt-run extract --help.",
                         "extract takes files");
    extract *list = cli_alloc(count, sizeof(*list));
    for (size_t i = 0; i < count; ++i) extract_open(&list[i], t->set.files.items[i]);
    name_pieces(list, count);
    if (t->set.output_dir != NULL) write_extracts(t, list, count);
    for (size_t i = 0; i < count; ++i) {
        say_extract(t, &list[i]);
        extract_judge(t, &list[i]);
    }
    if (t->set.json) json_extracts(t, list, count);
    for (size_t i = 0; i < count; ++i) {
        pieces_free(&list[i].found);
        free(list[i].problem);
        span_unmap(list[i].all);
    }
    free(list);
    return STATUS_OK;
}

static const cli_option extract_options[] = {
    {.name = "output_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(output_dir),
     .verbs = VERB_EXTRACT,
     .help = "write the context binaries into this folder, which is made; a file that exists is "
             "never replaced"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_EXTRACT,
     .help = "write what was found to standard output as JSON"}
};

const cli_table extract_table = CLI_TABLE(extract_options);
