/* select.c - the pipelines that the command line names

   ROOM     >>select */
#include "run/model/model.h"
#include "qnnrt_cpu_fallback.h"

#include "cli/stages.h"

/* =====================================================================================
   SELECT                                                                       >>select
   Turns the pipelines that --graph names, or all pipelines, into jobs.
   ===================================================================================== */

void add_job(tool *t, const qnnrt_pipeline *pipeline, const char *asked)
{
    for (size_t i = 0; asked != NULL && i < t->job_count; ++i)      /* each pipeline runs once */
        if (t->jobs[i].pipeline == pipeline) return;
    job *j = &t->jobs[t->job_count++];
    j->pipeline = pipeline;
    j->info = qnnrt_pipeline_get_info(pipeline);
    j->asked = asked;
    OWNED char *name = cli_shown(j->info->name);
    const int renamed = asked != NULL && strcmp(asked, j->info->name) != 0;
    j->title = renamed ? cli_text("\"%s\" (%s)", name, asked) : cli_text("\"%s\"", name);
    const size_t slots = j->info->slot_count;
    j->blocks = cli_alloc(slots, sizeof(*j->blocks));
    j->input_files = cli_alloc(slots, sizeof(*j->input_files));
    j->input_floats = cli_alloc(slots, sizeof(*j->input_floats));
    j->names = cli_alloc(slots, sizeof(*j->names));
    j->places = cli_alloc(slots, sizeof(*j->places));
    for (size_t i = j->info->name_count; i > 0; --i)     /* of several names the first one holds */
        j->names[j->info->names[i - 1].slot - j->info->slots] = j->info->names[i - 1].name;
    for (size_t i = 0; i < j->info->place_count; ++i)
        j->places[j->info->places[i].slot - j->info->slots] = &j->info->places[i];
    j->files = cli_alloc(slots, sizeof(*j->files));
    j->gathered = cli_alloc(slots, sizeof(*j->gathered));
    j->native_slots = cli_alloc(slots, 1);
    j->written_slots = cli_alloc(slots, 1);
    j->native_files = cli_alloc(slots, sizeof(*j->native_files));
}

/* Return a pipeline that is not wired: its job shows its graphs, and fails when it is planned. */
static const qnnrt_pipeline *find_unwired(const tool *t, const char *name)
{
    for (size_t i = 0; i < qnnrt_manifest_get_info(t->model)->pipeline_count; ++i) {
        const qnnrt_pipeline *pipeline = qnnrt_manifest_get_info(t->model)->pipelines[i];
        if (strcmp(qnnrt_pipeline_get_info(pipeline)->name, name) == 0) return pipeline;
    }
    return NULL;
}

/* Leave out a pipeline that is not wired. */
static void leave_pipeline(tool *t, const qnnrt_pipeline_info *info)
{
    OWNED char *name = cli_shown(info->name);
    fail(t, NULL, info->failure->hint[0] != '\0' ? cli_hint(info->failure)
         : "Replace the file that did not load.",
         "pipeline \"%s\" is left out, and its graphs stand alone: %s", name,
         cli_told(info->failure));
    leave_out(t, NULL, info->name, info->failure->text);
}

/* Add each graph that is in none of the jobs, alone. */
static void add_graphs(tool *t)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    OWNED char **taken = cli_alloc(info->context_count, sizeof(*taken));
    for (size_t c = 0; c < info->context_count; ++c)
        taken[c] = cli_alloc(info->contexts[c].info->graph_count, 1);
    for (size_t i = 0; i < t->job_count; ++i)
        for (size_t s = 0; s < t->jobs[i].info->step_count; ++s) {
            const qnnrt_step_info *step = &t->jobs[i].info->steps[s];
            if (step->kind == QNNRT_STEP_GRAPH)
                taken[step_number(step)][step->graph - step_context(step).info->graphs] = 1;
        }
    for (size_t c = 0; c < info->context_count; ++c) {
        for (size_t g = 0; g < info->contexts[c].info->graph_count; ++g) {
            const qnnrt_pipeline *alone = NULL;
            OWNED char *name = cli_text("%lu/%s", (unsigned long)c,
                                        info->contexts[c].info->graphs[g].name);
            if (!taken[c][g] && qnnrt_manifest_find(t->model, name, &alone, NULL) == QNNRT_OK)
                add_job(t, alone, NULL);
        }
        free(taken[c]);
    }
}

/* Add all pipelines. With --keep_going, run and plan leave out what is not wired; then, or if a
   file did not load, they take every other graph alone. */
static void add_pipelines(tool *t)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    const int whole = !t->set.keep_going || t->set.command == COMMAND_INSPECT;
    for (size_t i = 0; i < info->pipeline_count; ++i) {
        const qnnrt_pipeline_info *pipeline = qnnrt_pipeline_get_info(info->pipelines[i]);
        if (whole || pipeline->failure == NULL) add_job(t, info->pipelines[i], NULL);
        else leave_pipeline(t, pipeline);
    }
    if (!whole && t->left_count > 0) add_graphs(t);
}

void near_slots(cli_near *near, const job *j, qnnrt_role role)
{
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        const qnnrt_slot *slot = &j->info->slots[i];
        if (role != QNNRT_ROLE_ANY && slot->role != role) continue;
        if (j->names[i] != NULL) cli_near_try(near, j->names[i]);
        cli_near_try(near, slot->tensor->name);
        cli_near_try(near, slot->address);
    }
}

int select_jobs(tool *t)
{
    const settings *set = &t->set;
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    size_t most = info->pipeline_count + set->graphs.count;
    for (size_t i = 0; i < info->context_count; ++i) most += info->contexts[i].info->graph_count;
    t->jobs = cli_alloc(most, sizeof(*t->jobs));
    if (set->graphs.count == 0) add_pipelines(t);
    for (size_t i = 0; i < set->graphs.count; ++i) {
        const qnnrt_pipeline *pipeline = NULL;
        qnnrt_error err;
        if (qnnrt_manifest_find(t->model, set->graphs.items[i], &pipeline, &err) != QNNRT_OK)
            pipeline = find_unwired(t, set->graphs.items[i]);
        if (pipeline != NULL) {
            add_job(t, pipeline, set->graphs.items[i]);
            continue;
        }
        cli_near near = {set->graphs.items[i], strlen(set->graphs.items[i]), NULL, 0};
        for (size_t k = 0; k < info->pipeline_count; ++k)
            cli_near_try(&near, qnnrt_pipeline_get_info(info->pipelines[k])->name);
        OWNED char *hint = cli_near_hint(&near);
        fail(t, NULL, hint != NULL ? hint : cli_hint(&err), "--graph: %s", cli_told(&err));
    }
    if (t->job_count == 0 && !t->failed) fail(t, NULL, NULL, "the model has no graph that can run");
    return t->job_count > 0 && (!t->failed || set->keep_going);
}

void free_jobs(tool *t)
{
    for (size_t i = 0; i < t->job_count; ++i) {
        job *j = &t->jobs[i];
        for (size_t s = 0; s < j->info->slot_count; ++s) {
            free(j->files[s]);
            free(j->native_files[s]);
            free(j->gathered[s]);
        }
        free(j->gathered);
        free(j->digests);
        free(j->native_slots);
        free(j->written_slots);
        for (size_t w = 0; w < j->written_count; ++w) free(j->written[w].path);
        free(j->memory_reason);
        free(j->files);
        free(j->native_files);
        free(j->written);
        free((void *)j->blocks);
        free((void *)j->names);
        free((void *)j->places);
        free((void *)j->input_files);
        free(j->input_floats);
        free(j->folder);
        free(j->title);
        free(j->conversions);
        free(j->exec_ns);
        free(j->samples);
        free_events(j);
        free(j->error);
        qnnrt_plan_destroy(j->plan);
    }
    free(t->jobs);
    t->jobs = NULL;
    t->job_count = 0;
}

void close_all(tool *t)
{
    free_jobs(t);
    step_drop_program(t->other);
    step_drop_program(t->model);
    qnnrt_manifest_close(t->other);
    const qnnrt_result model = qnnrt_manifest_close(t->model);
    qnnrt_profile_destroy(t->loading);
    if (model != QNNRT_OK)
        fail(t, NULL, LOG_HINT, "closing the model failed: %s", qnnrt_result_name(model));
    for (size_t i = 0; i < t->host_count; ++i) qnnrt_cpu_fallback_close(t->hosts[i]);
    qnnrt_result backend = qnnrt_backend_close(t->backend);
    for (size_t i = 0; i < ROLES_MOST; ++i) {
        const qnnrt_result one = qnnrt_backend_close(t->roles[i]);
        if (backend == QNNRT_OK) backend = one;
    }
    if (backend != QNNRT_OK)
        fail(t, NULL, LOG_HINT, "closing the backend failed: %s", qnnrt_result_name(backend));
}
