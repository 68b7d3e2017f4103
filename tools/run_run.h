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

/* True for types of real numbers, which take a float32 file without --input_data_type. */
static int takes_float_file(const qnnrt_tensor_info *tensor)
{
    return tensor->quant.encoding == QNNRT_ENCODING_PER_TENSOR ||
        tensor->quant.encoding == QNNRT_ENCODING_PER_AXIS ||
           tensor->dtype == QNNRT_DTYPE_F16 || tensor->dtype == QNNRT_DTYPE_BF16;
}

/* Read at most `most` + 1 bytes of a file. Return NULL after a message. */
static char *read_input(tool *t, job *j, const char *path, size_t most, size_t *bytes)
{
    const int fd = cli_open(path);
    char *data = cli_alloc(most + 1, 1);
    const int good = fd >= 0 && cli_read(fd, data, most + 1, bytes) == 0;
    if (!good) fail(t, j, NULL, "cannot read %s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    if (good) return data;
    free(data);
    return NULL;
}

static int load_input(tool *t, job *j, qnnrt_run *run, qnnrt_slot slot)
{
    const qnnrt_tensor_info *tensor = slot->tensor;
    const char *path = j->input_files[slot - j->info->slots];
    size_t native = 0;
    void *to = qnnrt_data_slot(run, slot, &native);
    const size_t count = count_now(run, slot), floats = count * sizeof(float);
    const size_t most = native > floats ? native : floats;
    int loaded = 0;
    size_t bytes = 0;
    char *data = read_input(t, j, path, most, &bytes);
    if (data == NULL) return 0;

    const int wants_float = t->set.input_form == FORM_FLOAT;
    const int as_float = wants_float ? bytes == floats
                                     : bytes == floats && bytes != native &&
                                     takes_float_file(tensor);
    if (as_float) {
        const float *values = (const float *)(const void *)data;
        loaded = qnnrt_write_f32(run, slot, 0, values, count) == QNNRT_OK;
        if (!loaded)
            fail(t, j, qnnrt_run_error(run)->hint, "%s: %s", path, qnnrt_run_error(run)->text);
        j->input_floats[slot - j->info->slots] = 1;
    } else if (bytes == native && !wants_float) {
        loaded = to != NULL;
        if (!loaded) fail(t, j, NULL, "%s: the input has no memory", path);
        else if (!slot->has_range) memcpy(to, data, native);
        else loaded = qnnrt_write_i32(run, slot, 0, (const int32_t *)(const void *)data, count) ==
                      QNNRT_OK;
        if (to != NULL && !loaded)
            fail(t, j, qnnrt_run_error(run)->hint, "%s: %s", path, qnnrt_run_error(run)->text);
    } else {
        struct stat status;
        char *name = cli_shown(slot->address), *dims = dims_text(tensor);
        unsigned long long found = bytes;
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
            found = (unsigned long long)status.st_size;
        const char *hint = wants_float && bytes == native   ? "Leave out --input_data_type float."
                           : !wants_float && bytes == floats ? "Add --input_data_type float."
                                                             : NULL;
        fail(t, j, hint, "%s has %llu bytes; input \"%s\" (%s %s) takes %llu bytes native or %llu"
             " bytes float32", path, found, name, qnnrt_dtype_name(tensor->dtype), dims,
             (unsigned long long)native, (unsigned long long)floats);
        free(name);
        free(dims);
    }
    free(data);
    return loaded;
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

/* Choose the names of folders and output files before any is written. */
static void name_files(tool *t)
{
    char **folders = cli_alloc(t->job_count, sizeof(*folders));
    for (size_t i = 0; i < t->job_count; ++i) {
        job *j = &t->jobs[i];
        j->folder = folders[i] = safe_name(j->info->name, "", folders, i);
        const size_t slots = j->info->slot_count;
        char **used = cli_alloc(2 * slots, sizeof(*used));
        for (size_t s = 0; s < slots; ++s)
            if (j->info->slots[s].role == QNNRT_ROLE_OUTPUT)
                j->files[s] = used[s] = safe_name(file_name(j, s), ".raw", used, slots);
        /* Choose these names last, so that a tensor x_native keeps its name beside a tensor x. */
        for (size_t s = 0; s < slots && t->set.output_form == FORM_BOTH; ++s)
            if (j->files[s] != NULL)
                j->native_files[s] = used[slots + s] =
                    safe_name(file_name(j, s), "_native.raw", used, 2 * slots);
        free(used);
    }
    free(folders);
}

static void note_file(job *j, uint32_t inference, qnnrt_slot slot, number_form form, uint64_t bytes,
                      char *path)
{
    j->written = cli_grow(j->written, j->written_count, &j->written_room, sizeof(*j->written));
    const output_file file = {inference, slot, form, bytes, path};
    j->written[j->written_count++] = file;
}

static int write_output(tool *t, job *j, qnnrt_run *run, uint32_t inference, qnnrt_slot slot,
                        number_form form,
                        const char *folder, const char *name)
{
    const size_t count = count_now(run, slot);
    float *values = NULL;
    const void *data = NULL;
    size_t bytes = 0;
    int written = 0;
    char *path = cli_text("%s/%s", folder, name);
    if (form == FORM_FLOAT) {
        values = cli_alloc(count, sizeof(*values));
        bytes = count * sizeof(*values);
        if (qnnrt_read_f32(run, slot, 0, values, count) == QNNRT_OK) data = values;
        else fail(t, j, qnnrt_run_error(run)->hint, "%s: %s", path, qnnrt_run_error(run)->text);
    } else {
        data = qnnrt_data_slot(run, slot, &bytes);
        if (data == NULL) fail(t, j, NULL, "%s: the output has no memory", path);
    }
    if (data != NULL) written = write_file(t, j, path, data, bytes, 1);
    if (written) note_file(j, inference, slot, form, bytes, path);
    else free(path);
    free(values);
    return written;
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
    for (size_t i = 0; good && i < j->info->slot_count; ++i) {
        if (j->files[i] == NULL) continue;
        const number_form first = set->output_form == FORM_NATIVE ? FORM_NATIVE : FORM_FLOAT;
        /* Write the native file first, because not every type can be converted to float. */
        if (set->output_form == FORM_BOTH)
            good = write_output(t, j, run, inference, &j->info->slots[i], FORM_NATIVE, folder,
                                j->native_files[i]);
        good = write_output(t, j, run, inference, &j->info->slots[i], first, folder, j->files[i]) &&
            good;
    }
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
        char *path = cli_shown(j->written[i].path);
        say(t, "  output    %s, %llu bytes, %s\n", path, (unsigned long long)j->written[i].bytes,
            j->written[i].form == FORM_FLOAT ? "float32" : "native");
        free(path);
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
    if (set->profile != QNNRT_PROFILE_OFF && j->exec_count > 0)
        say_events(t, "of the last inference", j->info, j->events, j->event_count);

done:
    guard_end();
    qnnrt_run_destroy(run);
    qnnrt_mem_destroy(mem);
}
