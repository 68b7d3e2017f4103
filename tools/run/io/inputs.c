/* inputs.c - what the command line says about inputs, and which tensors are written

   ROOMS     >>inputs >>selections */
#include "run/io/io.h"
#include "run/model/model.h"

/* =====================================================================================
   INPUTS                                                                       >>inputs
   Find the slot of each file, and read the file into it.
   ===================================================================================== */

/* Take "[GRAPH:]NAME=FILE" apart. */
static int check_inputs(settings *set)
{
    set->inputs = cli_alloc(set->input_texts.count, sizeof(*set->inputs));
    for (size_t i = 0; i < set->input_texts.count; ++i) {
        const char *text = set->input_texts.items[i], *equals = strrchr(text, '=');
        uint64_t seed = 0;
        if (equals == NULL && set->input_others == NULL && value_seed(text, &seed)) {
            set->input_others = text;
            continue;
        }
        if (equals != NULL && (equals == text || equals[1] == '\0'))
            return cli_usage("Write --input NAME=FILE.",
                             "--input takes [GRAPH:]NAME=FILE, or FILE for the only input, not"
                             " \"%s\"", text);
        input_option *input = &set->inputs[set->input_count++];
        input->text = text;
        input->name = equals != NULL ? cli_text("%.*s", (int)(equals - text), text) : NULL;
        input->file = equals != NULL ? equals + 1 : text;
        if (strncmp(input->file, "random:", 7) == 0 && !value_seed(input->file, &seed))
            return cli_usage("Write --input NAME=random:7.",
                             "--input %s: the seed is not a whole number", text);
    }
    return STATUS_OK;
}

int check_feed(settings *set)
{
    int status = check_inputs(set);
    if (status == STATUS_OK) status = check_packages(set);
    return status == STATUS_OK ? check_dims(set) : status;
}

static int is_job_name(const job *j, const char *name)
{
    return strcmp(j->info->name, name) == 0 || (j->asked != NULL && strcmp(j->asked, name) == 0);
}

static int is_pipeline_name(const tool *t, const char *name)
{
    for (size_t i = 0; i < qnnrt_manifest_get_info(t->model)->pipeline_count; ++i)
        if (strcmp(qnnrt_pipeline_get_info(qnnrt_manifest_get_info(t->model)->pipelines[i])->name,
                   name) == 0) return 1;
    for (size_t i = 0; i < t->job_count; ++i)
        if (is_job_name(&t->jobs[i], name)) return 1;
    return 0;
}

/* True if an input has this name: a look-up that failed has then found several. */
static int is_input_name(const job *j, const char *name)
{
    for (size_t i = 0; i < j->info->slot_count; ++i)
        if (j->info->slots[i].role == QNNRT_ROLE_INPUT &&
            strcmp(j->info->slots[i].tensor->name, name) == 0) return 1;
    return 0;
}

void place_input(tool *t, const input_option *input)
{
    const char *name = input->name;
    OWNED char *graph = NULL;
    const char *colon = name != NULL ? strchr(name, ':') : NULL;
    if (colon != NULL) {
        graph = cli_text("%.*s", (int)(colon - name), name);
        if (is_pipeline_name(t, graph)) {
            name = colon + 1;
        } else {
            free(graph);
            graph = NULL;
        }
    }

    cli_near near = {name, name != NULL ? strlen(name) : 0, NULL, 0};
    size_t asked = 0, placed = 0;
    OWNED char *reasons = cli_text("%s", "");
    for (size_t i = 0; i < t->job_count; ++i) {
        job *j = &t->jobs[i];
        const qnnrt_slot *slot = NULL;
        qnnrt_error err;
        if (graph != NULL && !is_job_name(j, graph)) continue;
        ++asked;
        /* Its failure is reported elsewhere, and it has no slots. */
        if (j->info->failure != NULL) continue;
        if (qnnrt_slot_find(j->pipeline, name, QNNRT_ROLE_INPUT, &slot, &err) != QNNRT_OK) {
            char *longer = cli_text("%s%s%s", reasons, reasons[0] != '\0' ? "; " : "", err.text);
            free(reasons);
            reasons = longer;
            if (name == NULL) {
                fail(t, j, "Write --input NAME=FILE.", "--input %s: %s", input->text, err.text);
                ++placed;
            } else if (is_input_name(j, name)) {
                fail(t, j, cli_hint(&err), "--input %s: %s", input->text, cli_told(&err));
                ++placed;
            } else near_slots(&near, j, QNNRT_ROLE_INPUT);
            continue;
        }
        ++placed;
        if (j->input_files[slot - j->info->slots] != NULL)
            fail(t, j, "Name each input once.", "--input %s: the input already has the file %s",
                 input->text, j->input_files[slot - j->info->slots]);
        j->input_files[slot - j->info->slots] = input->file;
    }
    if (asked == 0)
        fail(t, NULL, NULL, "--input %s: pipeline \"%s\" is not selected by --graph",
             input->text, graph);
    OWNED char *hint = cli_near_hint(&near);
    if (asked > 0 && placed == 0)
        fail(t, NULL, hint, "--input %s: %s", input->text, reasons[0] != '\0' ? reasons
             : "no pipeline can run");
}

qnnrt_tensor_info tensor_now(qnnrt_run *run, const qnnrt_slot *slot)
{
    qnnrt_tensor_info now = *slot->tensor;
    size_t bytes = 0;
    now.name = slot->address;
    now.dims = qnnrt_get_dims(run, slot, NULL);
    now.count = count_now(run, slot);
    qnnrt_data_slot(run, slot, &bytes);
    now.bytes = bytes;
    return now;
}

int put_input(tool *t, job *j, qnnrt_run *run, const qnnrt_slot *slot, const char *from,
              const qnnrt_tensor_info *tensor, const void *values, int real)
{
    const size_t count = (size_t)tensor->count;
    void *to = qnnrt_data_slot(run, slot, NULL);
    qnnrt_result result = QNNRT_OK;
    if (to == NULL) {
        fail(t, j, NULL, "%s: the input has no memory", from);
        return 0;
    }
    if (real) result = qnnrt_write_f32(run, slot, 0, values, count);
    else if (slot->has_range) result = qnnrt_write_i32(run, slot, 0, values, count);
    else memcpy(to, values, (size_t)tensor->bytes);
    if (result != QNNRT_OK)
        fail(t, j, cli_hint(qnnrt_run_error(run)), "%s: %s", from, cli_told(qnnrt_run_error(run)));
    return result == QNNRT_OK;
}

/* =====================================================================================
   SELECTIONS                                                                >>selections
   Options that name tensors of pipelines: "first:a,b;second:c", or "a,b" for a lone one.
   ===================================================================================== */

/* Return the pipeline with this name, of `bytes`, or NULL. */
static job *selection_job(tool *t, const char *name, size_t bytes)
{
    for (size_t i = 0; i < t->job_count; ++i) {
        const char *own = t->jobs[i].info->name, *asked = t->jobs[i].asked;
        if (strlen(own) == bytes && strncmp(own, name, bytes) == 0) return &t->jobs[i];
        if (asked != NULL && strlen(asked) == bytes && strncmp(asked, name, bytes) == 0)
            return &t->jobs[i];
    }
    return NULL;
}

/* Mark the tensors of one pipeline that a comma-separated list names. */
static void select_tensors(tool *t, job *j, const char *option, char *names, qnnrt_role role,
                           unsigned char *marks)
{
    for (char *name = strtok(names, ","); name != NULL; name = strtok(NULL, ",")) {
        const qnnrt_slot *slot = NULL;
        qnnrt_error err;
        if (j->info->failure != NULL) return;
        if (qnnrt_slot_find(j->pipeline, name, role, &slot, &err) == QNNRT_OK)
            marks[slot - j->info->slots] = 1;
        else {
            cli_near near = {name, strlen(name), NULL, 0};
            near_slots(&near, j, role);
            OWNED char *hint = cli_near_hint(&near);
            fail(t, j, hint != NULL ? hint : role == QNNRT_ROLE_INPUT ? cli_hint(&err)
                 : "Name an output, or a tensor between two steps. A tensor within a graph must be"
                   " made an output when it is compiled.", "--%s: %s", option, cli_told(&err));
        }
    }
}

void select_by_text(tool *t, const char *option, const char *text, qnnrt_role role)
{
    for (const char *part = text; text != NULL && *part != '\0';) {
        const size_t bytes = strcspn(part, ";"), before = strcspn(part, ":");
        job *j = before < bytes ? selection_job(t, part, before) : NULL;
        const char *names = j != NULL ? part + before + 1 : part;
        if (j == NULL && t->job_count == 1) j = &t->jobs[0];
        OWNED char *list = cli_text("%.*s", (int)(part + bytes - names), names);
        if (j == NULL)
            fail(t, NULL, "Write GRAPH:TENSOR,TENSOR;GRAPH:TENSOR.",
                 "--%s: \"%s\" does not begin with one of the %lu pipelines", option, list,
                 (unsigned long)t->job_count);
        else
            select_tensors(t, j, option, list, role,
                           role == QNNRT_ROLE_INPUT ? j->native_slots : j->written_slots);
        part += bytes + (part[bytes] == ';');
    }
}
