/* run_run.h - a part of qnnrt-run.c: inputs, inferences and outputs of each pipeline

   ROOMS    >>inputs >>outputs >>run                                                             */

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
        if (equals == NULL || equals == text || equals[1] == '\0')
            return cli_usage("Write --input NAME=FILE.",
                             "--input takes [GRAPH:]NAME=FILE, not \"%s\"",
                             text);
        input_option *input = &set->inputs[set->input_count++];
        input->text = text;
        input->name = cli_text("%.*s", (int)(equals - text), text);
        input->file = equals + 1;
        uint64_t seed = 0;
        if (strncmp(input->file, "random:", 7) == 0 && !value_seed(input->file, &seed))
            return cli_usage("Write --input NAME=random:7.",
                             "--input %s: the seed is not a whole number", text);
    }
    return STATUS_OK;
}

/* Check how --input, --op_package and --dims are written. Returns STATUS_OK, or STATUS_USAGE after
   a message. */
static int check_feed(settings *set)
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
    for (size_t i = 0; i < qnnrt_get_info(t->model)->pipeline_count; ++i)
        if (strcmp(qnnrt_pipeline_get_info(qnnrt_get_info(t->model)->pipelines[i])->name,
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

static void place_input(tool *t, const input_option *input)
{
    const char *name = input->name;
    char *graph = NULL;
    const char *colon = strchr(name, ':');
    if (colon != NULL) {
        graph = cli_text("%.*s", (int)(colon - name), name);
        if (is_pipeline_name(t, graph)) {
            name = colon + 1;
        } else {
            free(graph);
            graph = NULL;
        }
    }

    size_t asked = 0, placed = 0;
    char *reasons = cli_text("%s", "");
    for (size_t i = 0; i < t->job_count; ++i) {
        job *j = &t->jobs[i];
        qnnrt_slot slot = QNNRT_NO_SLOT;
        qnnrt_error err;
        if (graph != NULL && !is_job_name(j, graph)) continue;
        ++asked;
        /* Its failure is reported elsewhere, and it has no slots. */
        if (j->info->failure != NULL) continue;
        if (qnnrt_slot_find(j->pipeline, name, QNNRT_ROLE_INPUT, &slot, &err) != QNNRT_OK) {
            char *longer = cli_text("%s%s%s", reasons, reasons[0] != '\0' ? "; " : "", err.text);
            free(reasons);
            reasons = longer;
            if (is_input_name(j, name)) {
                fail(t, j, err.hint, "--input %s: %s", input->text, err.text);
                ++placed;
            }
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
    else if (placed == 0)
        fail(t, NULL, NULL, "--input %s: %s", input->text, reasons[0] != '\0' ? reasons
             : "no pipeline can run");
    free(reasons);
    free(graph);
}

/* Return the facts of a tensor with the dims that it has now. */
static qnnrt_tensor_info tensor_now(qnnrt_run *run, qnnrt_slot slot)
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

/* Put values into an input: float32, or the bytes of the tensor. Return 0 after a message. */
static int put_input(tool *t, job *j, qnnrt_run *run, qnnrt_slot slot, const char *from,
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
        fail(t, j, qnnrt_run_error(run)->hint, "%s: %s", from, qnnrt_run_error(run)->text);
    return result == QNNRT_OK;
}

/* Read the values of an input from its file, or make them of a seed. Return 0 with an error. */
static int read_input(const tool *t, const char *path, const qnnrt_slot_info *slot,
                      const qnnrt_tensor_info *tensor, void *values, int *real, qnnrt_error *err)
{
    value_file file;
    uint64_t seed = 0;
    *real = 0;
    if (value_seed(path, &seed)) {
        qnnrt_tensor_info named = *tensor;
        named.name = slot->tensor->name;
        if (value_fill(&named, seed, slot->has_range ? slot->low : 0,
                       slot->has_range ? slot->high : 1, values)) return 1;
        return value_fail(err, "Give it a file.", "\"%s\" has a type without random values: %s",
                          tensor->name, qnnrt_dtype_name(tensor->dtype));
    }
    const int good = value_open(path, slot->tensor->name, VALUE_BYTES, &file, err) &&
                     value_take(&file, tensor, (number_form)t->set.input_form, values, real, err);
    value_close(&file);
    return good;
}

static int load_input(tool *t, job *j, qnnrt_run *run, qnnrt_slot slot)
{
    const char *path = j->input_files[slot - j->info->slots];
    const qnnrt_tensor_info tensor = tensor_now(run, slot);
    const size_t floats = (size_t)tensor.count * sizeof(float);
    void *values = cli_alloc(tensor.bytes > floats ? (size_t)tensor.bytes : floats, 1);
    qnnrt_error err;
    int real = 0, good = read_input(t, path, slot, &tensor, values, &real, &err);
    if (!good) fail(t, j, err.hint, "%s: %s", path, err.text);
    good = good && put_input(t, j, run, slot, path, &tensor, values, real);
    j->input_floats[slot - j->info->slots] = real;
    free(values);
    return good;
}

static int load_inputs(tool *t, job *j, qnnrt_run *run)
{
    enum { LISTED = 8 };
    size_t zero = 0;
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        if (j->info->slots[i].role != QNNRT_ROLE_INPUT) continue;
        if (j->input_files[i] == NULL) {
            ++zero;
            continue;
        }
        if (!load_input(t, j, run, &j->info->slots[i])) return 0;
        char *name = cli_shown(j->info->slots[i].address);
        say(t, "  input     \"%s\" from %s, %s\n", name, j->input_files[i], j->input_floats[i]
            ? "float32" : "native");
        free(name);
    }
    if (zero == 0) return 1;
    say(t, "  inputs without a file are %s:", t->set.no_zero ? "unfilled" : "zero");
    for (size_t i = 0, listed = 0; i < j->info->slot_count && listed < LISTED; ++i) {
        if (j->info->slots[i].role != QNNRT_ROLE_INPUT || j->input_files[i] != NULL) continue;
        char *name = cli_shown(j->info->slots[i].address);
        say(t, "%s \"%s\"", listed++ > 0 ? "," : "", name);
        free(name);
    }
    if (zero > LISTED) say(t, " and %lu more", (unsigned long)(zero - LISTED));
    say(t, "\n");
    return 1;
}

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

/* Choose the names of folders and output files before any is written. */
static void name_files(tool *t)
{
    const char *suffix = t->set.output_file == OUTPUT_NPY ? ".npy" : ".raw";
    char *native = cli_text("_native%s", suffix);
    char **folders = cli_alloc(t->job_count, sizeof(*folders));
    for (size_t i = 0; i < t->job_count; ++i) {
        job *j = &t->jobs[i];
        j->folder = folders[i] = safe_name(j->info->name, "", folders, i);
        const size_t slots = j->info->slot_count;
        char **used = cli_alloc(2 * slots, sizeof(*used));
        for (size_t s = 0; s < slots; ++s)
            if (j->info->slots[s].role == QNNRT_ROLE_OUTPUT)
                j->files[s] = used[s] = safe_name(file_name(j, s), suffix, used, slots);
        /* Choose these names last, so that a tensor x_native keeps its name beside a tensor x. */
        for (size_t s = 0; s < slots && t->set.output_form == FORM_BOTH; ++s)
            if (j->files[s] != NULL)
                j->native_files[s] = used[slots + s] =
                    safe_name(file_name(j, s), native, used, 2 * slots);
        free(used);
    }
    free(folders);
    free(native);
}

static void note_file(job *j, uint32_t inference, qnnrt_slot slot, number_form form, uint64_t bytes,
                      char *path)
{
    j->written = cli_grow(j->written, j->written_count, &j->written_room, sizeof(*j->written));
    const output_file file = {inference, slot, form, bytes, path};
    j->written[j->written_count++] = file;
}

/* Describe an output: its bytes, or float32 values, which the caller frees. Return 0 after a
   message. */
static int take_output(tool *t, job *j, qnnrt_run *run, qnnrt_slot slot, number_form form,
                       value_out *out, float **values)
{
    const qnnrt_tensor_info tensor = tensor_now(run, slot);
    out->name = output_name(j, (size_t)(slot - j->info->slots));
    out->dtype = form == FORM_FLOAT ? QNNRT_DTYPE_F32 : tensor.dtype;
    out->rank = tensor.rank;
    out->dims = tensor.dims;
    out->bytes = form == FORM_FLOAT ? tensor.count * sizeof(float) : tensor.bytes;
    *values = form == FORM_FLOAT ? cli_alloc((size_t)tensor.count, sizeof(**values)) : NULL;
    out->data = form == FORM_FLOAT ? *values : qnnrt_data_slot(run, slot, NULL);
    if (form == FORM_FLOAT &&
        qnnrt_read_f32(run, slot, 0, *values, (size_t)tensor.count) != QNNRT_OK) {
        fail(t, j, qnnrt_run_error(run)->hint, "output \"%s\": %s", slot->address,
             qnnrt_run_error(run)->text);
        return 0;
    }
    if (out->data == NULL) fail(t, j, NULL, "output \"%s\" has no memory", slot->address);
    return out->data != NULL;
}

/* Write all outputs in one form: a file for each, or one .safetensors file. Return 0 after a
   message. */
static int write_form(tool *t, job *j, qnnrt_run *run, uint32_t inference, number_form form,
                      const char *folder, char *const *names)
{
    const int one = t->set.output_file == OUTPUT_SAFETENSORS;
    const size_t slots = j->info->slot_count;
    value_out *list = cli_alloc(slots, sizeof(*list));
    float **values = cli_alloc(slots, sizeof(*values));
    qnnrt_slot *from = cli_alloc(slots, sizeof(*from));
    char *path = one ? cli_text("%s/outputs%s.safetensors", folder,
                                names == j->native_files ? "_native" : "") : NULL;
    size_t count = 0;
    int good = 1;
    for (size_t i = 0; i < slots && good; ++i) {
        if (names[i] == NULL) continue;
        from[count] = &j->info->slots[i];
        good = take_output(t, j, run, from[count], form, &list[count], &values[count]);
        ++count;
        if (one || !good) continue;
        char *name = cli_text("%s/%s", folder, names[i]);
        good = value_write(t, j, name, &list[--count], 1);
        if (good) note_file(j, inference, from[count], form, list[count].bytes, name);
        else free(name);
        free(values[count]);
    }
    if (one && count > 0 && good) {
        good = value_write(t, j, path, list, count);
        for (size_t i = 0; i < count && good; ++i)
            note_file(j, inference, from[i], form, list[i].bytes, cli_text("%s", path));
    }
    for (size_t i = 0; i < count; ++i) free(values[i]);
    free(path);
    free((void *)from);
    free(values);
    free(list);
    return good;
}

static int write_outputs(tool *t, job *j, qnnrt_run *run, uint32_t inference)
{
    const settings *set = &t->set;
    if (set->output_dir == NULL) return 1;
    char *folder = set->inferences > 1
                       ? cli_text("%s/Result_%lu/%s", set->output_dir, (unsigned long)inference,
                                  j->folder)
                       : cli_text("%s/%s", set->output_dir, j->folder);
    int good = cli_make_folders(folder);
    if (!good) fail(t, j, CLI_WRITE_HINT, "cannot make the folder %s: %s", folder, strerror(errno));
    /* Write the native files first, because not every type can be converted to float. */
    if (set->output_form == FORM_BOTH)
        good = good && write_form(t, j, run, inference, FORM_NATIVE, folder, j->native_files);
    good = good && write_form(t, j, run, inference,
                              set->output_form == FORM_NATIVE ? FORM_NATIVE : FORM_FLOAT, folder,
                              j->files);
    free(folder);
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

static void min_and_median(const job *j, uint64_t *min, uint64_t *median)
{
    const size_t count = j->exec_count;
    uint64_t *sorted = cli_alloc(count, sizeof(*sorted));
    memcpy(sorted, j->exec_ns, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_ns);
    *min = sorted[0];
    *median = count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
    free(sorted);
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
        char *path = cli_shown(j->written[i].path), *bytes = human_bytes(j->written[i].bytes);
        say(t, "  output    %s, %s, %s\n", path, bytes,
            j->written[i].form == FORM_FLOAT ? "float32" : "native");
        free(path);
        free(bytes);
    }
    if (j->exec_count > 1 && j->written_count > 0)
        say(t, "            and the same for every other inference\n");
}

/* Say what the memory is, and which tensors the device does not use in place. */
static void say_memory(const tool *t, job *j, qnnrt_run *run, const qnnrt_mem_info *mem)
{
    const qnnrt_memory_info *list = NULL;
    size_t count = 0;
    if (qnnrt_run_memory(run, &list, &count) != QNNRT_OK) return;
    j->memory = qnnrt_mem_kind_name(mem->kind);
    j->memory_reason = cli_text("%s", mem->reason);
    j->tensor_count = count;
    for (size_t i = 0; i < count; ++i) j->registered_count += list[i].registered != 0;
    say(t, "  memory    %s, %lu of %lu tensor%s registered with the device%s%s\n", j->memory,
        (unsigned long)j->registered_count, (unsigned long)count, cli_plural(count),
        mem->reason[0] != '\0' ? "; " : "", mem->reason);
    for (size_t i = 0; i < count && mem->kind != QNNRT_MEM_HEAP; ++i)
        if (!list[i].registered)
            say(t, "            %s of step %lu: %s\n", list[i].slot->address,
                (unsigned long)list[i].step, list[i].reason);
}

/* Warn of conversions that lost values, and keep their counts for --json. */
static void take_conversions(const tool *t, job *j, qnnrt_run *run)
{
    const qnnrt_conversion_info *list = NULL;
    size_t count = 0;
    if (qnnrt_run_conversions(run, &list, &count) != QNNRT_OK || count == 0) return;
    j->conversions = cli_alloc(count, sizeof(*j->conversions));
    j->conversion_count = count;
    memcpy(j->conversions, list, count * sizeof(*list));
    for (size_t i = 0; i < count; ++i) {
        if (list[i].lost_ever == 0) continue;
        char *text = step_text(&j->info->steps[list[i].step], "\xE2\x86\x92");
        char *ever = grouped(list[i].lost_ever), *last = grouped(list[i].lost);
        char *message = cli_text("warning: pipeline %s, step %lu (%s): %s value%s did not fit and"
                                 " %s saturated, %s of them in the last inference", j->title,
                                 (unsigned long)list[i].step, text, ever,
                                 cli_plural(list[i].lost_ever),
                                 list[i].lost_ever == 1 ? "was" : "were", last);
        fflush(t->out);
        cli_message(message, "Set \"exact\" in the edge to make it an error.");
        free(text);
        free(ever);
        free(last);
        free(message);
    }
}

/* Make the memory and the run of a planned job. Return 0 after a message; the caller destroys what
   was made in any case. */
static int start_run(tool *t, job *j, qnnrt_mem **mem, qnnrt_run **run)
{
    qnnrt_mem_desc desc = {0};
    qnnrt_error err;
    desc.guard = t->set.guard;
    desc.no_zero = t->set.no_zero;
    desc.kind = (qnnrt_mem_kind)t->set.memory;
    *mem = NULL;
    *run = NULL;
    const uint64_t begin = now_ns();
    if (qnnrt_mem_create(j->plan, &desc, mem, &err) != QNNRT_OK ||
        qnnrt_run_create(*mem, 0, run, &err) != QNNRT_OK) {
        fail(t, j, err.hint, "pipeline %s: %s", j->title, err.text);
        return 0;
    }
    j->prepare_ns += now_ns() - begin;
    if (t->set.guard) guard_begin(j, *run);
    return change_run(t, j, *run);
}

static void run_job(tool *t, job *j)
{
    const settings *set = &t->set;
    qnnrt_mem *mem;
    qnnrt_run *run;
    say(t, "\nrun %s\n", j->title);
    if (!start_run(t, j, &mem, &run) || !load_inputs(t, j, run)) goto done;
    if (qnnrt_run_profile(run, (qnnrt_profile_level)set->profile) != QNNRT_OK) {
        fail_run(t, j, run);
        goto done;
    }

    j->exec_ns = cli_alloc(set->inferences, sizeof(*j->exec_ns));
    for (uint32_t n = 0; n < set->inferences; ++n) {
        const uint64_t start = now_ns();
        const qnnrt_result result = qnnrt_exec(run);
        const uint64_t took = now_ns() - start;
        int good = result == QNNRT_OK;
        if (good) {
            j->exec_ns[j->exec_count++] = took;
            good = write_outputs(t, j, run, n);
            if (set->profile != QNNRT_PROFILE_OFF)
                good = take_events(t, j, run, n, start, took) && good;
        } else {
            ++j->exec_failed;
            fail(t, j, qnnrt_run_error(run)->hint, "pipeline %s, inference %lu: %s", j->title,
                 (unsigned long)n,
                 qnnrt_run_error(run)->text);
        }
        if (!good && !set->keep_going) break;
    }
    say_result(t, j);
    if (j->exec_count > 0) say_changes(t, j, run);
    if (j->exec_count > 0) take_conversions(t, j, run);
    if (set->memory != QNNRT_MEM_HEAP) say_memory(t, j, run, qnnrt_mem_get_info(mem));
    if (set->profile != QNNRT_PROFILE_OFF && j->exec_count > 0 && !t->sampling)
        say_events(t, "of the last inference", j->info, j->events, j->event_count);

done:
    guard_end();
    qnnrt_run_destroy(run);
    qnnrt_mem_destroy(mem);
}

/* Place the inputs and run every pipeline that has a plan. */
static void run_jobs(tool *t)
{
    const int failed_before = t->failed;
    t->failed = 0;
    for (size_t i = 0; i < t->set.input_count; ++i) place_input(t, &t->set.inputs[i]);
    place_changes(t);
    const int inputs_placed = !t->failed;
    t->failed |= failed_before;
    /* A wrong name is wrong usage, even with --keep_going. */
    if (!inputs_placed) return;

    name_files(t);
    begin_profile(t);
    for (size_t i = 0; i < t->job_count && t->set.inferences > 0 &&
         (!t->failed || t->set.keep_going); ++i)
        if (t->jobs[i].plan != NULL) run_job(t, &t->jobs[i]);
    end_profile(t);
}
