/* capture.c - the verb capture

   A capture is a folder: capture.json, and a file of raw bytes for each tensor of each pipeline.

       { "format": "qnnrt-run.capture", "version": 1, "qnnrt": "0.5.0",
         "backends": [ { "role": "", "id": 6, "name": "HTP", "provider": "...", "build": "..." } ],
         "files": [ { "file": "forward_0.bin", "bytes": 4096, "sha256": "64 digits" } ],
         "pipelines": [ {
             "name": "decode", "error": null, "failed_step": null,
             "steps": [ { "kind": "graph", "context": 0, "graph": "decode", "text": "...",
                          "inputs":  [ { "name": "x", "tensor": 0 } ],
                          "outputs": [ { "name": "y", "tensor": 1 } ] } ],
             "tensors": [ { "name": "x", "role": "input", "dtype": "ufixed8", "dims": [1, 4],
                            "quant": { "scale": 0.5, "offset": -128 },
                            "file": "0_0_x.raw", "bytes": 4, "sha256": "64 digits" } ] } ] }

   kind is graph, host or convert. A tensor has the name of its slot, a step's own name for it may
   be another; "tensor" is an index into "tensors". quant is null for a type without an encoding,
   and has axis, scales and offsets for one per axis; bits are there if only some are used. file is
   null for constants of host steps, and for what was not computed because a step failed. Files
   are plain names in the folder: letters, digits and "._-", the first one no dot.

   ROOMS     >>ports >>capture */
#include "run/measure/measure.h"
#include "run/model/model.h"
#include "run/io/io.h"
#include "qnnrt_sha256.h"

#include <sys/stat.h>

#include "cli/stages.h"

/* =====================================================================================
   PORTS                                                                           >>ports
   Which slot an input or output of a step is, and whether an exec has reached it.
   ===================================================================================== */

/* Return the slot of a tensor of a step. The ends of an edge are found by the edges, because a step
   may have an input and an output of one name. */
static const qnnrt_slot *port_slot(const job *j, size_t step, const char *name, int output)
{
    const qnnrt_pipeline_info *info = j->info;
    const qnnrt_role roles[] = {output ? QNNRT_ROLE_OUTPUT : QNNRT_ROLE_INPUT,
                                QNNRT_ROLE_CONSTANT};
    const qnnrt_slot *found = NULL;
    for (size_t i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *edge = &info->edges[i];
        if ((output ? edge->from_step : edge->to_step) == step &&
            strcmp((output ? edge->from : edge->to)->name, name) == 0) return edge->slot;
    }
    OWNED char *address = cli_text("%lu/%s", (unsigned long)step, name);
    for (size_t i = 0; i < (output ? 1u : 2u) && found == NULL; ++i)
        qnnrt_slot_find(j->pipeline, address, roles[i], &found, NULL);
    return found;
}

/* Return the step that an error of qnnrt_exec() names, NO_STEP if it names none. The text begins
   with: pipeline "NAME": step N. In it, bytes of the name that are not visible are '?', so only the
   length of the name counts. */
static uint32_t failed_step(const job *j, const qnnrt_error *err)
{
    static const char begin[] = "pipeline \"", end[] = "\": step ";
    OWNED char *name = cli_text("%.200s", j->info->name), *digits = NULL;
    const size_t at = strlen(begin) + strlen(name), after = at + strlen(end);
    const char *text = err->text;
    uint64_t number = 0;
    uint32_t step = NO_STEP;
    if (strlen(text) > after && strncmp(text, begin, strlen(begin)) == 0 &&
        strncmp(text + at, end, strlen(end)) == 0) {
        digits = cli_text("%.*s", (int)strspn(text + after, "0123456789"), text + after);
        if (cli_number(digits, j->info->step_count - 1, &number)) step = (uint32_t)number;
    }
    return step;
}

/* True if a tensor is left out by --omit. */
static int is_omitted(const tool *t, const job *j, const qnnrt_slot *slot)
{
    for (size_t i = 0; i < t->set.omits.count; ++i)
        if (change_slot(j, t->set.omits.items[i]) == slot) return 1;
    return 0;
}

/* True if a graph reads a constant: only graphs are replayed. */
static int read_by_graph(const job *j, const qnnrt_slot *slot)
{
    for (size_t s = slot->first; s <= slot->last && s < j->info->step_count; ++s) {
        const qnnrt_graph_info *graph = j->info->steps[s].graph;
        for (size_t i = 0; j->info->steps[s].kind == QNNRT_STEP_GRAPH && i < graph->input_count;
             ++i)
            if (port_slot(j, s, graph->inputs[i].name, 0) == slot) return 1;
    }
    return 0;
}

/* =====================================================================================
   CAPTURE                                                                       >>capture
   Executes each pipeline once, and writes what its steps read and wrote.
   ===================================================================================== */

static const cli_option capture_options[] = {
    {.name = "output_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(output_dir),
     .verbs = VERB_CAPTURE, .key = CLI_KEY_NONE,
     .help = "folder for the capture; it is created if it does not exist, and refused if it has a "
             "capture"}
};

const cli_table capture_table = CLI_TABLE(capture_options);

typedef struct capture {
    tool  *t;
    char **names;                      /* [count] of the files so far                      */
    size_t count, room;
} capture;

static void capture_quant(json *j, const qnnrt_quant *quant)
{
    const int axis = quant->encoding == QNNRT_ENCODING_PER_AXIS;
    if (!axis && quant->encoding != QNNRT_ENCODING_PER_TENSOR) {
        json_string(j, "quant", NULL);
        return;
    }
    json_open(j, "quant", '{', 1);
    if (quant->bitwidth != 0) json_count(j, "bits", quant->bitwidth);
    if (!axis) {
        json_float(j, "scale", quant->scale);
        json_int(j, "offset", quant->offset);
    } else {
        json_axis(j, quant);
    }
    json_close(j);
}

/* Write a tensor to its file, and its object. data is NULL for what was not computed. Return 0
   after a message. */
static int capture_tensor(capture *c, json *j, job *from, const qnnrt_slot *slot, size_t pipeline,
                          const qnnrt_tensor_info *now, const void *data, size_t bytes)
{
    char hash[HASH_TEXT], *file = NULL;
    int good = 1;
    if (data != NULL) {
        OWNED char *name = cli_text("%lu_%lu_%s", (unsigned long)pipeline,
                                    (unsigned long)(slot - from->info->slots), slot->tensor->name);
        file = safe_name(name, ".raw", c->names, c->count);
        c->names = cli_grow(c->names, c->count, &c->room, sizeof(*c->names));
        c->names[c->count++] = file;
        OWNED char *path = cli_text("%s/%s", c->t->set.output_dir, file);
        good = write_file(c->t, from, path, data, bytes, 1);
        qnnrt_sha256_text(data, bytes, hash);
    }
    json_open(j, NULL, '{', 1);
    json_string(j, "name", slot->address);
    json_string(j, "role", qnnrt_role_name(slot->role));
    json_string(j, "dtype", qnnrt_dtype_name(now->dtype));
    json_open(j, "dims", '[', 1);
    for (uint32_t d = 0; d < now->rank; ++d) json_count(j, NULL, now->dims[d]);
    json_close(j);
    capture_quant(j, &now->quant);
    json_string(j, "file", file);
    if (file != NULL) {
        json_count(j, "bytes", bytes);
        json_string(j, "sha256", hash);
    }
    json_close(j);
    return good;
}

static void capture_ports(const capture *c, json *j, const job *from, size_t step, int output)
{
    const qnnrt_graph_info *graph = from->info->steps[step].graph;
    const size_t count = output ? graph->output_count : graph->input_count;
    json_open(j, output ? "outputs" : "inputs", '[', 0);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_tensor_info *tensor = output ? &graph->outputs[i] : &graph->inputs[i];
        const qnnrt_slot *slot = port_slot(from, step, tensor->name, output);
        if (slot == NULL || is_omitted(c->t, from, slot)) continue;
        json_open(j, NULL, '{', 1);
        json_string(j, "name", tensor->name);
        json_count(j, "tensor", (size_t)(slot - from->info->slots));
        json_close(j);
    }
    json_close(j);
}

static void capture_steps(const capture *c, json *j, const job *from)
{
    static const char *const kinds[] = {"graph", "host", "convert"};
    char text[1024];
    json_open(j, "steps", '[', 0);
    for (size_t s = 0; s < from->info->step_count; ++s) {
        const qnnrt_step_info *step = &from->info->steps[s];
        json_open(j, NULL, '{', 0);
        json_string(j, "kind", kinds[step->kind]);
        if (step->kind == QNNRT_STEP_GRAPH) json_count(j, "context", step_number(step));
        json_string(j, "graph", step->graph->name);
        json_string(j, "text", qnnrt_step_text(step, text, sizeof(text)));
        capture_ports(c, j, from, s, 0);
        capture_ports(c, j, from, s, 1);
        json_close(j);
    }
    json_close(j);
}

/* Write the tensors of a run: all, or those before the step that failed and its inputs. Return 0
   after a message. */
static int capture_tensors(capture *c, json *j, job *from, qnnrt_run *run, size_t pipeline,
                           uint32_t failed)
{
    int good = 1;
    json_open(j, "tensors", '[', 0);
    for (size_t i = 0; i < from->info->slot_count; ++i) {
        const qnnrt_slot *slot = &from->info->slots[i];
        const int written = slot->role == QNNRT_ROLE_EDGE || slot->role == QNNRT_ROLE_OUTPUT;
        const int there = !is_omitted(c->t, from, slot) && (!written || slot->first < failed);
        const qnnrt_tensor_info now = tensor_now(run, slot);
        size_t bytes = (size_t)slot->tensor->bytes;
        const void *data = NULL;
        if (slot->role != QNNRT_ROLE_CONSTANT)
            data = there ? qnnrt_data_slot(run, slot, &bytes) : NULL;
        else if (read_by_graph(from, slot)) data = slot->constant;
        good = capture_tensor(c, j, from, slot, pipeline, &now, data, bytes) && good;
    }
    json_close(j);
    return good;
}

/* Execute a pipeline and write it. Return 0 after a message. */
static int capture_job(capture *c, json *j, job *from, size_t pipeline)
{
    qnnrt_mem *mem;
    qnnrt_run *run;
    uint32_t failed = NO_STEP;
    int good = 0;
    say(c->t, "\ncapture %s\n", from->title);
    if (!start_run(c->t, from, &mem, &run) || !load_inputs(c->t, from, run)) goto done;
    json_open(j, NULL, '{', 0);
    json_string(j, "name", from->info->name);
    good = 1;
    cli_busy(1, "the pipeline is executed");
    if (qnnrt_exec(run) == QNNRT_OK) {
        json_string(j, "error", NULL);
        json_string(j, "failed_step", NULL);
    } else {
        const qnnrt_error *err = qnnrt_run_error(run);
        failed = failed_step(from, err);
        if (failed == NO_STEP) failed = 0;       /* what no step is named for is not trusted */
        fail_run(c->t, from, run);
        json_string(j, "error", err->text);
        json_count(j, "failed_step", failed);
        say(c->t, "  failed    the inputs of step %lu are captured, and what came before\n",
            (unsigned long)failed);
    }
    capture_steps(c, j, from);
    good = capture_tensors(c, j, from, run, pipeline, failed);
    json_close(j);

done:
    guard_end();
    qnnrt_run_destroy(run);
    qnnrt_mem_destroy(mem);
    return good;
}

static void capture_backends(const tool *t, json *j)
{
    qnnrt_backend *list[ROLES_MOST];
    const char *roles[ROLES_MOST];
    const size_t count = list_backends(t, list, roles);
    json_open(j, "backends", '[', 0);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_backend_info *info = qnnrt_backend_get_info(list[i]);
        json_open(j, NULL, '{', 1);
        json_string(j, "role", roles[i]);
        json_count(j, "id", info->id);
        json_string(j, "name", cli_backend_name(info->id));
        json_string(j, "provider", info->provider);
        json_string(j, "build", info->build_id);
        json_close(j);
    }
    json_close(j);
}

/* Write name, size and hash of the files of the model. Return 0 after a message. */
static int capture_files(tool *t, json *j)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    int good = 1;
    json_open(j, "files", '[', 0);
    for (size_t i = 0; i < info->context_count + info->constant_count && good; ++i) {
        const char *file = i < info->context_count
            ? info->contexts[i].file : info->constants[i - info->context_count].file;
        const char *slash = strrchr(file, '/');
        OWNED char *path = context_path(info, file);
        char hash[HASH_TEXT];
        uint64_t bytes = 0;
        good = sha256_file(path, &bytes, hash);
        if (!good) fail(t, NULL, NULL, "cannot read %s: %s", path, strerror(errno));
        if (!good) break;
        json_open(j, NULL, '{', 1);
        json_string(j, "file", slash != NULL ? slash + 1 : file);
        json_count(j, "bytes", bytes);
        json_string(j, "sha256", hash);
        json_close(j);
    }
    json_close(j);
    return good;
}

int capture_plan(tool *t, job *j)
{
    qnnrt_pipeline_info bare;
    const qnnrt_pipeline_info *whole = j->info;
    t->set.per_tensor = 1;
    bare = *whole;
    bare.buffer_count = bare.place_count = 0;
    j->info = &bare;
    plan_job(t, j);
    j->info = whole;
    return j->plan != NULL;
}

/* Check that --output_dir has no capture, which would be lost. Return 0 after a message. */
static int capture_is_new(tool *t)
{
    struct stat old;
    OWNED char *path = cli_text("%s/%s", t->set.output_dir, CAPTURE_FILE);
    const int there = lstat(path, &old) == 0 && S_ISREG(old.st_mode);      /* links are replaced */
    if (there)
        fail(t, NULL, "Name another folder with --output_dir DIR, or remove this one.",
             "%s has a capture already", t->set.output_dir);
    return !there;
}

int verb_capture(void *user)
{
    tool *t = user;
    capture c = {t, NULL, 0, 0};
    page p = {NULL, 0, 0};
    json writer, *j = &writer;
    int status = check_feed(&t->set), good = 1;
    if (status != STATUS_OK) return status;
    if (t->set.files.count != 1)
        return cli_usage("Write qnnrt-run capture DIR --output_dir OUT.",
                         "capture takes one model, not %lu", (unsigned long)t->set.files.count);
    if (t->set.output_dir == NULL)
        return cli_usage("Add --output_dir DIR.", "capture needs a folder to write to");
    if (cli_is_same(t->set.files.items[0], t->set.output_dir))
        return cli_usage("Choose another folder.", "--output_dir is the folder of the model");
    if (!capture_is_new(t)) return STATUS_FAILED;
    pair_model(&t->set, t->set.files.items);
    if (!open_model(t) || !select_jobs(t)) return STATUS_FAILED;
    for (size_t i = 0; i < t->job_count && good; ++i) good = capture_plan(t, &t->jobs[i]);
    for (size_t i = 0; i < t->set.input_count && good; ++i) place_input(t, &t->set.inputs[i]);
    if (good) place_changes(t);
    if (t->failed) return STATUS_FAILED;
    OWNED char *missing = cli_missing_folder(t->set.output_dir);
    if (!cli_make_folders(t->set.output_dir)) {
        fail(t, NULL, CLI_WRITE_HINT, "cannot make the folder %s: %s", t->set.output_dir,
             strerror(errno));
        return STATUS_FAILED;
    }
    OWNED char *path = cli_text("%s/%s", t->set.output_dir, CAPTURE_FILE);
    json_document(j, &p, CAPTURE_FORMAT);
    capture_backends(t, j);
    good = capture_files(t, j);
    if (good) json_open(j, "pipelines", '[', 0);
    for (size_t i = 0; i < t->job_count && good; ++i) good = capture_job(&c, j, &t->jobs[i], i);
    if (good) {
        json_close(j);
        /* Written last: a folder without it is no capture. */
        good = json_document_end(j) && write_file(t, NULL, path, p.data, p.used, 1);
    }
    if (good)
        say(t, "\nwrote     %s, %lu tensor%s\n", path, (unsigned long)c.count,
            cli_plural(c.count));
    for (size_t i = 0; i < c.count; ++i) free(c.names[i]);
    free(c.names);
    if (!good && missing != NULL) cli_remove_folders(t->set.output_dir, missing);
    free(p.data);
    return good && !t->failed ? STATUS_OK : STATUS_FAILED;
}
