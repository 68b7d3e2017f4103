/* report.c - the document of --bind_plan_out and --json

   ROOM     >>report */
#include "run/show/show.h"
#include "run/model/model.h"
#include "run/io/io.h"

/* =====================================================================================
   REPORT                                                                       >>report
   Writes the document of --bind_plan_out and --json.
   ===================================================================================== */

void report_backend(const tool *t, json *j, const char *key, const qnnrt_backend *backend,
                    const char *role)
{
    const qnnrt_backend_info *info = qnnrt_backend_get_info(backend);
    if (info == NULL) {
        json_string(j, key, NULL);
        return;
    }
    json_open(j, key, '{', 0);
    if (role != NULL) json_string(j, "role", role);
    json_string(j, "path", info->path);
    json_string(j, "provider", info->provider);
    json_string(j, "build_id", info->build_id);
    json_count(j, "id", info->id);
    json_version(j, "core_api", info->core_api);
    json_version(j, "backend_api", info->backend_api);
    json_count(j, "open_ns", info->open_ns);
    if (role == NULL) report_power(t, j);
    json_close(j);
}

/* Write the backend, that of the first context, and all of a model that has roles. */
static void report_backends(const tool *t, json *j)
{
    qnnrt_backend *list[ROLES_MOST];
    const char *roles[ROLES_MOST];
    const size_t count = list_backends(t, list, roles);
    report_backend(t, j, "backend", t->backend != NULL || t->model == NULL ? t->backend
                   : qnnrt_manifest_get_info(t->model)->backend, NULL);
    if (count == 0 || roles[0][0] == '\0') return;
    json_open(j, "backends", '[', 0);
    for (size_t i = 0; i < count; ++i) report_backend(t, j, NULL, list[i], roles[i]);
    json_close(j);
}

static void report_quant(json *j, const qnnrt_quant *quant)
{
    if (quant->encoding == QNNRT_ENCODING_NONE) {
        json_string(j, "quantization", NULL);
        return;
    }
    json_open(j, "quantization", '{', 1);
    if (quant->encoding == QNNRT_ENCODING_PER_TENSOR) {
        json_string(j, "encoding", "per_tensor");
        json_float(j, "scale", quant->scale);
        json_int(j, "offset", quant->offset);
    } else if (quant->encoding == QNNRT_ENCODING_PER_AXIS) {
        json_string(j, "encoding", "per_axis");
        json_axis(j, quant);
    } else {
        json_string(j, "encoding", "other");
    }
    json_count(j, "vendor_encoding", quant->vendor_encoding);
    json_count(j, "bitwidth", quant->bitwidth);
    json_close(j);
}

static void report_tensors(json *j, const char *key, const qnnrt_tensor_info *tensors, size_t count)
{
    json_open(j, key, '[', 0);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_tensor_info *tensor = &tensors[i];
        json_open(j, NULL, '{', 0);
        json_string(j, "name", tensor->name);
        json_count(j, "id", tensor->id);
        json_string(j, "dtype", qnnrt_dtype_name(tensor->dtype));
        json_open(j, "dims", '[', 1);
        for (uint32_t d = 0; d < tensor->rank; ++d) json_count(j, NULL, tensor->dims[d]);
        json_close(j);
        if (tensor->dynamic_dims != NULL) {
            json_open(j, "dynamic_dims", '[', 1);
            for (uint32_t d = 0; d < tensor->rank; ++d)
                json_bool(j, NULL, tensor->dynamic_dims[d] != 0);
            json_close(j);
        }
        json_count(j, "count", tensor->count);
        json_count(j, "bytes", tensor->bytes);
        report_quant(j, &tensor->quant);
        json_count(j, "vendor_type", tensor->vendor_type);
        json_count(j, "vendor_format", tensor->vendor_format);
        json_bool(j, "optional", tensor->optional);
        json_bool(j, "updateable", tensor->updateable);
        json_close(j);
    }
    json_close(j);
}

/* Write the facts of a context that only `inspect --json` has. */
static void report_metadata(json *j, const qnnrt_context_info *c)
{
    json_string(j, "json_file", c->json_file);
    json_bool(j, "from_system", c->from_system);
    json_bool(j, "from_json", c->from_json);
    json_open(j, "metadata", '{', 0);
    report_facts(j, context_facts, CONTEXT_FACTS, c);
    json_open(j, "graphs", '[', 0);
    for (size_t g = 0; g < c->graph_count; ++g) {
        const qnnrt_graph_info *graph = &c->graphs[g];
        json_open(j, NULL, '{', 0);
        json_string(j, "name", graph->name);
        json_string(j, "unsupported", graph->unsupported);
        report_facts(j, graph_facts, GRAPH_FACTS, graph);
        report_tensors(j, "inputs", graph->inputs, graph->input_count);
        report_tensors(j, "outputs", graph->outputs, graph->output_count);
        report_tensors(j, "updateables", graph->updateables, graph->updateable_count);
        json_close(j);
    }
    json_close(j);
    json_close(j);
}

static void report_model(const tool *t, json *j)
{
    if (t->model == NULL) {
        json_string(j, "model", NULL);
        return;
    }
    size_t count = 0;
    const qnnrt_manifest_context *contexts = qnnrt_manifest_get_info(t->model)->contexts;
    count = qnnrt_manifest_get_info(t->model)->context_count;
    json_open(j, "model", '{', 0);
    json_string(j, "ctx_dir", t->set.ctx_dir);
    json_string(j, "system", qnnrt_manifest_get_info(t->model)->system_path);
    json_open(j, "contexts", '[', 0);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_manifest_context *in = &contexts[i];
        const qnnrt_context_info *c = in->info;
        json_open(j, NULL, '{', 0);
        json_string(j, "file", in->file);
        json_string(j, "role", in->role);
        json_count(j, "bytes", c->file_bytes);
        json_string(j, "build_id", c->build_id);
        json_count(j, "backend_id", c->backend_id);
        json_count(j, "soc_model", c->soc_model);
        json_count(j, "dsp_arch", c->dsp_arch);
        json_open(j, "graphs", '[', 0);
        for (size_t g = 0; g < c->graph_count; ++g) json_string(j, NULL, c->graphs[g].name);
        json_close(j);
        if (t->set.command == COMMAND_INSPECT) report_metadata(j, c);
        json_count(j, "metadata_ns", c->metadata_ns);
        json_count(j, "create_ns", c->create_ns);
        json_string(j, "failure", in->failure != NULL ? in->failure->text : NULL);
        json_close(j);
    }
    json_close(j);
    if (t->set.profile != QNNRT_PROFILE_OFF) {
        const qnnrt_profile_event *events;
        qnnrt_profile_events(t->loading, &events, &count);
        report_events(j, "context", events, count);
    }
    json_close(j);
}

/* Write what --keep_going left out. */
static void report_left(const tool *t, json *j)
{
    if (!t->set.keep_going) return;
    json_open(j, "left_out", '[', 0);
    for (size_t i = 0; i < t->left_count; ++i) {
        json_open(j, NULL, '{', 1);
        json_string(j, "file", t->left[i].file);
        json_string(j, "pipeline", t->left[i].pipeline);
        json_string(j, "reason", t->left[i].reason);
        json_close(j);
    }
    json_close(j);
}

static void report_slots(json *j, const job *from)
{
    json_open(j, "slots", '[', 0);
    for (size_t i = 0; i < from->info->slot_count; ++i) {
        const qnnrt_slot *slot = &from->info->slots[i];
        const qnnrt_tensor_info *tensor = slot->tensor;
        json_open(j, NULL, '{', 0);
        json_count(j, "slot", i);
        json_string(j, "address", slot->address);
        json_string(j, "name", tensor->name);
        if (from->names[i] != NULL) json_string(j, "called", from->names[i]);
        json_string(j, "role", qnnrt_role_name(slot->role));
        json_string(j, "dtype", qnnrt_dtype_name(tensor->dtype));
        json_open(j, "dims", '[', 1);
        for (uint32_t d = 0; d < tensor->rank; ++d) json_count(j, NULL, tensor->dims[d]);
        json_close(j);
        json_count(j, "count", tensor->count);
        json_count(j, "bytes", tensor->bytes);
        report_quant(j, &tensor->quant);
        if (slot->has_range) {
            json_open(j, "range", '[', 1);
            json_int(j, NULL, slot->low);
            json_int(j, NULL, slot->high);
            json_close(j);
        }
        if (from->blocks[i] != NULL) json_count(j, "offset", from->blocks[i]->offset);
        else json_string(j, "offset", NULL);
        if (from->places[i] != NULL && from->places[i]->buffer < from->info->buffer_count) {
            json_count(j, "buffer", from->places[i]->buffer);
            json_count(j, "buffer_offset", from->places[i]->offset);
        }
        json_bool(j, "kept", from->blocks[i] != NULL && from->blocks[i]->kept);
        json_count(j, "first_step", slot->first);
        json_count(j, "last_step", slot->last);
        json_close(j);
    }
    json_close(j);
}

/* Write the buffers that the program of a folder has for a pipeline. */
static void report_buffers(json *j, const job *from)
{
    if (from->info->buffer_count == 0) return;
    json_open(j, "buffers", '[', 0);
    for (size_t i = 0; i < from->info->buffer_count; ++i) {
        json_open(j, NULL, '{', 1);
        json_string(j, "name", from->info->buffers[i].name);
        json_count(j, "bytes", from->info->buffers[i].bytes);
        if (from->plan_info != NULL)
            json_count(j, "offset", from->plan_info->blocks[i].offset);
        json_close(j);
    }
    json_close(j);
}

static void report_edges(json *j, const qnnrt_pipeline_info *info)
{
    json_open(j, "edges", '[', 0);
    for (size_t i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *edge = &info->edges[i];
        json_open(j, NULL, '{', 1);
        json_count(j, "from_step", edge->from_step);
        json_string(j, "from", edge->from->name);
        json_count(j, "to_step", edge->to_step);
        json_string(j, "to", edge->to->name);
        json_count(j, "slot", (size_t)(edge->slot - info->slots));
        json_string(j, "reason", edge->reason);
        json_close(j);
    }
    json_close(j);
}

/* Write the members that --json has in addition to --bind_plan_out. */
static void report_results(json *j, const job *from)
{
    json_open(j, "inputs", '[', 0);
    for (size_t i = 0; i < from->info->slot_count; ++i) {
        if (from->info->slots[i].role != QNNRT_ROLE_INPUT) continue;
        json_open(j, NULL, '{', 1);
        json_count(j, "slot", i);
        json_string(j, "file", from->input_files[i]);
        json_string(j, "data_type", from->input_files[i] == NULL ? NULL : from->input_floats[i]
                    ? "float" : "native");
        json_close(j);
    }
    json_close(j);
    if (from->memory != NULL) {
        json_open(j, "memory", '{', 1);
        json_string(j, "kind", from->memory);
        json_string(j, "reason", from->memory_reason);
        json_count(j, "tensors", from->tensor_count);
        json_count(j, "registered", from->registered_count);
        json_close(j);
    }
    json_count(j, "prepare_ns", from->prepare_ns);
    json_count(j, "inferences_failed", from->exec_failed);
    if (from->exec_count > 0) {
        uint64_t min = 0, median = 0;
        min_and_median(from, &min, &median);
        json_count(j, "exec_min_ns", min);
        json_count(j, "exec_median_ns", median);
    } else {
        json_string(j, "exec_min_ns", NULL);
        json_string(j, "exec_median_ns", NULL);
    }
    json_open(j, "conversions", '[', 0);
    for (size_t i = 0; i < from->conversion_count; ++i) {
        json_open(j, NULL, '{', 1);
        json_count(j, "step", from->conversions[i].step);
        json_count(j, "lost", from->conversions[i].lost);
        json_count(j, "lost_ever", from->conversions[i].lost_ever);
        json_close(j);
    }
    json_close(j);
    json_open(j, "exec_ns", '[', 1);
    for (size_t i = 0; i < from->exec_count; ++i) json_count(j, NULL, from->exec_ns[i]);
    json_close(j);
    json_open(j, "outputs", '[', 0);
    for (size_t i = 0; i < from->written_count; ++i) {
        const output_file *file = &from->written[i];
        json_open(j, NULL, '{', 1);
        json_count(j, "inference", file->inference);
        json_count(j, "slot", (size_t)(file->slot - from->info->slots));
        json_string(j, "data_type", file->form == FORM_FLOAT ? "float" : "native");
        json_count(j, "bytes", file->bytes);
        json_string(j, "file", file->path);
        json_close(j);
    }
    json_close(j);
    report_digests(j, from);
}

/* Write a step: a graph with its context and backend, another step with its text. */
static void report_step(json *j, const qnnrt_step_info *step)
{
    static const char *const kinds[] = {"graph", "host", "convert"};
    const qnnrt_manifest_context context = step_context(step);
    char text[1024];
    json_open(j, NULL, '{', 1);
    if (context.info != NULL) {
        json_count(j, "context", step_number(step));
        json_string(j, "file", context.file);
        json_string(j, "graph", step->graph->name);
        json_string(j, "role", context.role);
        json_string(j, "backend", cli_backend_name(context.info->backend_id));
    } else {
        json_string(j, "text", qnnrt_step_text(step, text, sizeof(text)));
    }
    json_string(j, "kind", kinds[step->kind]);
    json_close(j);
}

static void report(const tool *t, page *p, int results)
{
    json writer;
    json *j = &writer;
    static const char *const formats[] = {"qnnrt-run.run", "qnnrt-run.inspect",
                                          "qnnrt-run.plan"};
    json_document(j, p, results ? formats[t->set.command] : "qnnrt-run.bind_plan");
    if (results) {
        json_bool(j, "ok", !t->failed);
        json_string(j, "error", t->error);
    }
    report_backends(t, j);
    report_model(t, j);
    report_left(t, j);
    json_open(j, "pipelines", '[', 0);
    for (size_t i = 0; i < t->job_count; ++i) {
        const job *from = &t->jobs[i];
        json_open(j, NULL, '{', 0);
        json_string(j, "name", from->info->name);
        json_string(j, "asked", from->asked);
        json_string(j, "failure", from->info->failure != NULL ? from->info->failure->text : NULL);
        if (results) json_string(j, "error", from->error);
        json_open(j, "steps", '[', 0);
        for (size_t s = 0; s < from->info->step_count; ++s) report_step(j, &from->info->steps[s]);
        json_close(j);
        report_slots(j, from);
        report_edges(j, from->info);
        report_buffers(j, from);
        if (from->plan_info != NULL) {
            json_open(j, "plan", '{', 1);
            json_count(j, "peak", from->plan_info->peak);
            json_count(j, "bound", from->plan_info->bound);
            json_count(j, "naive", from->plan_info->naive);
            json_count(j, "align", from->plan_info->align);
            json_close(j);
        } else {
            json_string(j, "plan", NULL);
        }
        if (results) report_results(j, from);
        if (results && t->set.profile != QNNRT_PROFILE_OFF)
            report_events(j, "step", from->events, from->event_count);
        json_close(j);
    }
    json_close(j);
    json_document_end(j);
}

void write_report(tool *t, const char *path, int results)
{
    OWNED page p = {NULL, 0, 0};
    if (path == NULL) return;
    report(t, &p, results);
    write_page(t, path, &p, 0);
}
