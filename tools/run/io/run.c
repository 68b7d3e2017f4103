/* run.c - inferences and outputs of each pipeline

   ROOMS     >>outputs >>run */
#include "run/io/io.h"
#include "run/model/model.h"

#include "cli/stages.h"

/* =====================================================================================
   OUTPUTS                                                                     >>outputs
   Name the files of outputs and write them.
   ===================================================================================== */

/* Return what the file of an output is named after: the program's name for it, or the tensor. */
static const char *file_name(const job *j, size_t slot)
{
    return j->names[slot] != NULL ? j->names[slot] : j->info->slots[slot].tensor->name;
}

/* Return the name of an output in a .safetensors file, which has each name once. */
static const char *output_name(const job *j, size_t slot)
{
    for (size_t i = 0; i < j->info->slot_count; ++i)
        if (i != slot && j->files[i] != NULL && strcmp(file_name(j, i), file_name(j, slot)) == 0)
            return j->info->slots[slot].address;
    return file_name(j, slot);
}

void name_files(tool *t)
{
    const char *ending = t->set.output_file == OUTPUT_NPY ? ".npy" : ".raw";
    OWNED char *native = cli_text("_native%s", ending);
    const char *suffix = t->list_count > 0 && t->set.output_form == FORM_NATIVE ? native : ending;
    OWNED char **folders = cli_alloc(t->job_count, sizeof(*folders));
    for (size_t i = 0; i < t->job_count; ++i) {
        job *j = &t->jobs[i];
        j->folder = folders[i] = safe_name(j->info->name, "", folders, i);
        const size_t slots = j->info->slot_count;
        OWNED char **used = cli_alloc(2 * slots, sizeof(*used));
        for (size_t s = 0; s < slots; ++s)
            if (j->info->slots[s].role == QNNRT_ROLE_OUTPUT || j->written_slots[s])
                j->files[s] = used[s] = safe_name(file_name(j, s), suffix, used, slots);
        /* Choose these names last, so that a tensor x_native keeps its name beside a tensor x. */
        for (size_t s = 0; s < slots && t->set.output_form == FORM_BOTH; ++s)
            if (j->files[s] != NULL)
                j->native_files[s] = used[slots + s] =
                    safe_name(file_name(j, s), native, used, 2 * slots);
    }
}

static void note_file(job *j, uint32_t inference, const qnnrt_slot *slot, number_form form,
                      uint64_t bytes, char *path)
{
    j->written = cli_grow(j->written, j->written_count, &j->written_room, sizeof(*j->written));
    const output_file file = {inference, slot, form, bytes, path};
    j->written[j->written_count++] = file;
}

/* One of the results that an inference gives. */
typedef struct result_at {
    uint32_t number;                   /* of Result_N                                      */
    uint32_t part, parts;              /* along the first axis of the outputs              */
} result_at;

typedef struct output_value {          /* an output that is written                        */
    value_out out;
    uint32_t  dims[VALUE_RANK];
    float    *values;                  /* owned, or NULL                                   */
} output_value;

/* Read an output as float32 values, of all parts of --batch_multiplier. Return 0 after a
   message. */
static int decode_output(tool *t, job *j, qnnrt_run *run, const qnnrt_slot *slot,
                         const qnnrt_tensor_info *tensor, uint32_t batch, float *values)
{
    const char *gathered = j->gathered[slot - j->info->slots];
    const size_t count = (size_t)tensor->count;
    qnnrt_result result = QNNRT_OK;
    if (gathered == NULL) {
        result = qnnrt_read_f32(run, slot, 0, values, count);
        if (result != QNNRT_OK)
            fail(t, j, cli_hint(qnnrt_run_error(run)), "output \"%s\": %s", slot->address,
                 cli_told(qnnrt_run_error(run)));
    }
    for (uint32_t i = 0; gathered != NULL && i < batch && result == QNNRT_OK; ++i) {
        result = qnnrt_decode_f32(tensor, gathered + i * (size_t)tensor->bytes, values + i * count);
        if (result != QNNRT_OK)
            fail(t, j, "Use --output_data_type native.", "output \"%s\": %s", slot->address,
                 qnnrt_result_text(result));
    }
    return result == QNNRT_OK;
}

/* Describe an output: its bytes, or float32 values. Return 0 after a message. */
static int take_output(tool *t, job *j, qnnrt_run *run, const qnnrt_slot *slot, number_form form,
                       const result_at *at, output_value *value)
{
    const qnnrt_tensor_info tensor = tensor_now(run, slot);
    const char *gathered = j->gathered[slot - j->info->slots];
    const uint32_t batch = gathered != NULL ? t->set.run.batch : 1;
    value_out *out = &value->out;
    uint64_t bytes = form == FORM_FLOAT ? tensor.count * sizeof(float) : tensor.bytes;
    out->name = output_name(j, (size_t)(slot - j->info->slots));
    out->dtype = form == FORM_FLOAT ? QNNRT_DTYPE_F32 : tensor.dtype;
    out->rank = tensor.rank < VALUE_RANK ? tensor.rank : VALUE_RANK;
    out->dims = value->dims;
    for (uint32_t i = 0; i < out->rank; ++i) value->dims[i] = tensor.dims[i];
    if (at->parts > 1 && (out->rank == 0 || tensor.dims[0] % at->parts != 0)) {
        fail(t, j, "Write files that fill the inputs.",
             "output \"%s\" cannot be cut into %lu parts for the lines of the list",
             slot->address, (unsigned long)at->parts);
        return 0;
    }
    if (out->rank > 0) value->dims[0] = value->dims[0] * batch / at->parts;
    bytes = bytes * batch / at->parts;
    out->bytes = bytes;
    if (form == FORM_FLOAT) {
        value->values = cli_alloc((size_t)tensor.count * batch, sizeof(*value->values));
        if (!decode_output(t, j, run, slot, &tensor, batch, value->values)) return 0;
        out->data = value->values;
    } else {
        out->data = gathered != NULL ? gathered : qnnrt_data_slot(run, slot, NULL);
    }
    if (out->data == NULL) fail(t, j, NULL, "output \"%s\" has no memory", slot->address);
    else out->data = (const char *)out->data + at->part * (size_t)bytes;
    return out->data != NULL;
}

/* Write all outputs in one form: a file for each, or one .safetensors file. Return 0 after a
   message. */
static int write_form(tool *t, job *j, qnnrt_run *run, const result_at *at, number_form form,
                      const char *folder, char *const *names)
{
    const int one = t->set.output_file == OUTPUT_SAFETENSORS;
    const size_t slots = j->info->slot_count;
    output_value *list = cli_alloc(slots, sizeof(*list));
    value_out *outs = cli_alloc(slots, sizeof(*outs));
    OWNED const qnnrt_slot **from = cli_alloc(slots, sizeof(*from));
    OWNED char *path = cli_text("%s/outputs%s.safetensors", folder,
                                names == j->native_files ? "_native" : "");
    size_t count = 0;
    int good = 1;
    for (size_t i = 0; i < slots && good; ++i) {
        if (names[i] == NULL) continue;
        from[count] = &j->info->slots[i];
        good = take_output(t, j, run, from[count], form, at, &list[count]);
        outs[count] = list[count].out;
        ++count;
        if (one || !good) continue;
        char *name = cli_text("%s/%s", folder, names[i]);
        good = value_write(t, j, name, &outs[--count], 1);
        if (good) note_file(j, at->number, from[count], form, outs[count].bytes, name);
        else free(name);
        free(list[count].values);
        list[count].values = NULL;
    }
    if (one && count > 0 && good) {
        good = value_write(t, j, path, outs, count);
        for (size_t i = 0; i < count && good; ++i)
            note_file(j, at->number, from[i], form, outs[i].bytes, cli_text("%s", path));
    }
    for (size_t i = 0; i < slots; ++i) free(list[i].values);
    free(outs);
    free(list);
    return good;
}

/* Return the folder of a result: with a list as qnn-net-run has it. The caller frees it. */
static char *result_folder(const tool *t, const job *j, const result_at *at)
{
    const settings *set = &t->set;
    if (t->list_count > 0)
        return t->list_count > 1
            ? cli_text("%s/%s/Result_%lu", set->output_dir, j->folder, (unsigned long)at->number)
            : cli_text("%s/Result_%lu", set->output_dir, (unsigned long)at->number);
    if (set->inferences > 1 || set->run.duration > 0)
        return cli_text("%s/Result_%lu/%s", set->output_dir, (unsigned long)at->number, j->folder);
    return cli_text("%s/%s", set->output_dir, j->folder);
}

static int write_outputs(tool *t, job *j, qnnrt_run *run, const result_at *at)
{
    const settings *set = &t->set;
    if (set->output_dir == NULL || at->number >= set->run.keep_outputs) return 1;
    OWNED char *folder = result_folder(t, j, at);
    int good = cli_make_folders(folder);
    if (!good) fail(t, j, CLI_WRITE_HINT, "cannot make the folder %s: %s", folder, strerror(errno));
    /* Write the native files first, because not every type can be converted to float. */
    if (set->output_form == FORM_BOTH)
        good = good && write_form(t, j, run, at, FORM_NATIVE, folder, j->native_files);
    good = good && write_form(t, j, run, at,
                              set->output_form == FORM_NATIVE ? FORM_NATIVE : FORM_FLOAT, folder,
                              j->files);
    return good;
}

/* =====================================================================================
   RUN                                                                             >>run
   Run one job: memory, inputs, inferences, outputs.
   ===================================================================================== */

static int compare_ns(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

void min_and_median(const job *j, uint64_t *min, uint64_t *median)
{
    const size_t count = j->exec_count;
    OWNED uint64_t *sorted = cli_alloc(count, sizeof(*sorted));
    memcpy(sorted, j->exec_ns, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_ns);
    *min = sorted[0];
    *median = count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static void say_result(const tool *t, const job *j)
{
    say(t, "  time      prepare %.3f ms", ms(j->prepare_ns));
    if (j->exec_count > 0) {
        uint64_t min = 0, median = 0;
        min_and_median(j, &min, &median);
        say(t, ", exec min %.3f ms, median %.3f ms over %lu inference%s", ms(min), ms(median),
            (unsigned long)j->exec_count, cli_plural(j->exec_count));
    }
    if (j->exec_failed > 0) say(t, ", %lu failed", (unsigned long)j->exec_failed);
    say(t, "\n");
    /* List the files of one inference: paths of the others differ only in Result_<n>. */
    for (size_t i = 0; i < j->written_count &&
         j->written[i].inference == j->written[0].inference; ++i) {
        OWNED char *path = cli_shown(j->written[i].path);
        OWNED char *bytes = cli_bytes_text(j->written[i].bytes);
        say(t, "  output    %s, %s, %s\n", path, bytes,
            j->written[i].form == FORM_FLOAT ? "float32" : "native");
    }
    if (j->exec_count > 1 && j->written_count > 0)
        say(t, "            and the same for every other inference\n");
}

/* Say what the memory is, and which tensors the device does not use in place. */
static void say_memory(const tool *t, job *j, qnnrt_run *run, const qnnrt_mem_info *mem)
{
    const qnnrt_transfer_info *list = NULL;
    size_t count = 0;
    if (qnnrt_run_transfers(run, &list, &count) != QNNRT_OK) return;
    j->memory = mem->name;
    j->memory_reason = cli_text("%s", mem->reason);
    j->tensor_count = count;
    for (size_t i = 0; i < count; ++i) j->registered_count += list[i].registered != 0;
    say(t, "  memory    %s, %lu of %lu tensor%s registered with the device%s%s\n", j->memory,
        (unsigned long)j->registered_count, (unsigned long)count, cli_plural(count),
        mem->reason[0] != '\0' ? "; " : "", mem->reason);
    for (size_t i = 0; i < count && mem->kind != QNNRT_MEM_HEAP; ++i) {
        if (list[i].registered) continue;
        OWNED char *name = cli_shown(list[i].slot->address);
        say(t, "            %s of step %lu: %s\n", name, (unsigned long)list[i].step,
            list[i].reason);
    }
}

/* Warn of conversions that lost values, and keep their counts for --json. */
static void take_conversions(const tool *t, job *j)
{
    lost_values *list = cli_alloc(j->info->step_count, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; i < j->info->step_count; ++i) {
        const qnnrt_converter *converter = qnnrt_convert_of(&j->info->steps[i]);
        if (converter == NULL) continue;
        list[count].step = i;
        list[count].lost = qnnrt_convert_get_info(converter).lost;
        list[count++].lost_ever = qnnrt_convert_get_info(converter).lost_ever;
    }
    j->conversions = list;
    j->conversion_count = count;
    for (size_t i = 0; i < count; ++i) {
        if (list[i].lost_ever == 0) continue;
        OWNED char *text = step_text(&j->info->steps[list[i].step], "\xE2\x86\x92");
        OWNED char *ever = cli_grouped(list[i].lost_ever), *last = cli_grouped(list[i].lost);
        OWNED char *message = cli_text("warning: pipeline %s, step %lu (%s): %s value%s did not fit"
                                       " and %s saturated, %s of them in the last inference",
                                       j->title, (unsigned long)list[i].step, text, ever,
                                       cli_plural(list[i].lost_ever),
                                       list[i].lost_ever == 1 ? "was" : "were", last);
        fflush(t->out);
        cli_message(message, "Set \"exact\" in the edge to make it an error.");
    }
}

int start_run(tool *t, job *j, qnnrt_mem **mem, qnnrt_run **run)
{
    qnnrt_mem_desc desc = {0};
    qnnrt_error err;
    desc.no_zero = t->set.no_zero;
    qnnrt_device_memory(memory_words[t->set.memory], &desc);
    *mem = NULL;
    *run = NULL;
    const uint64_t begin = cli_now_ns();
    if (qnnrt_mem_create(j->plan, &desc, mem, &err) != QNNRT_OK ||
        qnnrt_run_create(*mem, 0, run, &err) != QNNRT_OK) {
        fail(t, j, cli_hint(&err), "pipeline %s: %s", j->title, cli_told(&err));
        return 0;
    }
    qnnrt_run_dynamic(*run);               /* out of memory: exec says so */
    j->prepare_ns += cli_now_ns() - begin;
    if (t->set.guard) guard_begin(j, *run);
    return change_run(t, j, *run) && states_begin(t, j, *run);
}

/* Keep the outputs of part `part` of --batch_multiplier. */
static void gather_outputs(const tool *t, job *j, qnnrt_run *run, uint32_t part)
{
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        size_t bytes = 0;
        const void *data = j->files[i] != NULL ? qnnrt_data_slot(run, &j->info->slots[i], &bytes)
                                               : NULL;
        if (data == NULL) continue;
        if (j->gathered[i] == NULL) j->gathered[i] = cli_alloc(t->set.run.batch, bytes);
        memcpy(j->gathered[i] + part * bytes, data, bytes);
    }
}

/* Execute once, or once for each part of --batch_multiplier. *took: the time of all. Return 0 after
   a message. */
static int run_parts(tool *t, job *j, qnnrt_run *run, uint32_t number, feed_at *at, uint64_t *took)
{
    const uint32_t batch = t->set.run.batch > 1 ? t->set.run.batch : 1;
    *took = 0;
    for (at->part = 0; at->part < batch; ++at->part) {
        if ((j->list != NULL || batch > 1) && !load_line(t, j, run, at)) return 0;
        if (t->set.run.reset && !states_begin(t, j, run)) return 0;
        const uint64_t start = cli_now_ns();
        const qnnrt_result result = qnnrt_exec(run);
        *took += cli_now_ns() - start;
        if (result != QNNRT_OK) {
            ++j->exec_failed;
            fail(t, j, cli_hint(qnnrt_run_error(run)), "pipeline %s, inference %lu: %s", j->title,
                 (unsigned long)number, cli_told(qnnrt_run_error(run)));
            return 0;
        }
        if (batch > 1) gather_outputs(t, j, run, at->part);
    }
    return 1;
}

/* Run one inference and write its results. Return how many lines of the list it took; 0 after a
   message. */
static uint32_t run_once(tool *t, job *j, qnnrt_run *run, uint32_t number)
{
    const size_t lines = j->list != NULL ? j->list->line_count : 1;
    feed_at at = {number % lines, 0, 0};
    const uint64_t start = cli_now_ns();
    uint64_t took = 0;
    if (!run_parts(t, j, run, number, &at, &took)) return 0;
    j->exec_ns = cli_grow(j->exec_ns, j->exec_count, &j->exec_room, sizeof(*j->exec_ns));
    j->exec_ns[j->exec_count++] = took;
    const uint32_t parts = at.lines > 1 ? (uint32_t)at.lines : 1;
    const size_t left = lines - number % lines;
    const uint32_t results = parts < left ? parts : (uint32_t)left;
    int good = 1;
    for (uint32_t i = 0; i < results && good; ++i) {
        const result_at result = {number + i, i, parts};
        good = write_outputs(t, j, run, &result);
    }
    if (t->set.profile != QNNRT_PROFILE_OFF)
        good = take_events(t, j, run, number, start, took) && good;
    show_watch(t, j, 0);
    return good ? results : 0;
}

/* Run all inferences of a job. */
static void run_all(tool *t, job *j, qnnrt_run *run)
{
    const settings *set = &t->set;
    const uint64_t begin = cli_now_ns();
    const int by_list = j->list != NULL && !set->run.inferences_given;
    const uint64_t wanted = by_list ? j->list->line_count : set->inferences;
    cli_busy_begin();
    for (uint32_t n = 0; set->run.duration > 0
             ? n == 0 || (double)(cli_now_ns() - begin) / 1e9 < set->run.duration : n < wanted;) {
        cli_busy(n == 0, "inference %lu of pipeline %s", (unsigned long)n + 1, j->title);
        const uint32_t done = run_once(t, j, run, n);
        if (done == 0 && !set->keep_going) break;
        n += done > 0 ? done : 1;
    }
    cli_busy_end();
}

static void run_job(tool *t, job *j)
{
    const settings *set = &t->set;
    qnnrt_mem *mem = NULL;
    qnnrt_run *run = NULL;
    say(t, "\nrun %s\n", j->title);
    if (j->list != NULL && j->list->path == NULL) {
        say(t, "  skipped by --input_list\n");
        return;
    }
    if (!start_run(t, j, &mem, &run) || !load_inputs(t, j, run)) goto done;
    if (j->list != NULL)
        say(t, "  list      %s, %lu line%s\n", j->list->path, (unsigned long)j->list->line_count,
            cli_plural(j->list->line_count));
    if (qnnrt_run_profile(run, (qnnrt_profile_level)set->profile) != QNNRT_OK) {
        fail_run(t, j, run);
        goto done;
    }

    run_all(t, j, run);
    show_watch(t, j, 1);
    if (j->exec_count > 0) take_digests(j, run);
    say_result(t, j);
    say_digests(t, j);
    if (j->exec_count > 0) say_changes(t, j, run);
    if (j->exec_count > 0) take_conversions(t, j);
    if (j->exec_count > 0) states_end(t, j, run);
    if (set->memory != MEMORY_HEAP) say_memory(t, j, run, qnnrt_mem_get_info(mem));
    if (set->profile != QNNRT_PROFILE_OFF && j->exec_count > 0 && !t->sampling &&
        !set->run.watch)
        say_events(t, "of the last inference", j->info, j->events, j->event_count);

done:
    guard_end();
    qnnrt_run_destroy(run);
    qnnrt_mem_destroy(mem);
}

void run_jobs(tool *t)
{
    /* A wrong name is wrong usage, even with --keep_going. */
    if (!place_feed(t)) return;

    name_files(t);
    begin_profile(t);
    for (size_t i = 0; i < t->job_count && t->set.inferences > 0 &&
         (!t->failed || t->set.keep_going); ++i)
        if (t->jobs[i].plan != NULL) run_job(t, &t->jobs[i]);
    end_profile(t);
}
