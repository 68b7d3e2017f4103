/* feed.c - the values that each inference reads

   ROOM     >>feed */
#include "run/io/io.h"
#include "run/model/model.h"
#include "qnnrt_cpu_fallback.h"

#include <sys/stat.h>

#include "cli/stages.h"

/* =====================================================================================
   FEED                                                                            >>feed
   The lists of --input_list, the checks of all files, and the values of one inference.
   ===================================================================================== */

void free_lists(tool *t)
{
    for (size_t i = 0; i < t->list_count; ++i) list_free(&t->lists[i]);
    free(t->lists);
    t->lists = NULL;
    t->list_count = 0;
}

int read_lists(tool *t)
{
    const char *text = t->set.run.lists;
    size_t count = text != NULL;
    qnnrt_error err;
    for (const char *c = text; c != NULL && *c != '\0'; ++c) count += *c == ',';
    t->lists = cli_alloc(count, sizeof(*t->lists));
    for (const char *part = text; t->list_count < count; ++t->list_count) {
        const size_t bytes = strcspn(part, ",");
        OWNED char *path = cli_text("%.*s", (int)bytes, part);
        const int good = strcmp(path, "__") == 0 || list_read(path, &t->lists[t->list_count], &err);
        part += bytes + 1;
        if (good) continue;
        fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        ++t->list_count;
        return 0;
    }
    return 1;
}

/* Find the files of a line for the slots of a pipeline: those of --input for inputs that it does
   not name. Return 0 with an error. */
static int line_files(const tool *t, const job *j, const list_line *line, const char **files,
                      qnnrt_error *err)
{
    const size_t slots = j->info->slot_count;
    OWNED const char **names = cli_alloc(slots, sizeof(*names)), **found = cli_alloc(slots,
                                                                                    sizeof(*found));
    size_t count = 0, at = 0;
    for (size_t i = 0; i < slots; ++i)
        if (j->info->slots[i].role == QNNRT_ROLE_INPUT)
            names[count++] = j->names[i] != NULL ? j->names[i] : j->info->slots[i].tensor->name;
    int good = list_place(j->list, line, names, count, j->info->name, found, err);
    for (size_t i = 0; i < slots && good; ++i) {
        if (j->info->slots[i].role != QNNRT_ROLE_INPUT) continue;
        const char *fixed = j->input_files[i], *others = t->set.input_others;
        if (fixed == others) fixed = NULL;
        files[i] = found[at] != NULL ? found[at] : fixed != NULL ? fixed : others;
        if (found[at] != NULL && fixed != NULL)
            good = value_fail(err, "Name each input once.",
                              "%s, line %lu: input \"%s\" has a file of --input, too",
                              j->list->path, (unsigned long)line->number, names[at]);
        else if (files[i] == NULL && !j->info->slots[i].tensor->optional)
            good = list_lacks(j->list, line, names[at], err);
        ++at;
    }
    return good;
}

/* Give each pipeline its list. */
static void place_lists(tool *t)
{
    if (t->list_count == 0) return;
    if (t->list_count != t->job_count) {
        fail(t, NULL, "Name one list for each pipeline, joined by commas, and __ for one that is to"
             " be skipped; or choose pipelines with --graph.",
             "--input_list has %lu list%s for %lu pipeline%s", (unsigned long)t->list_count,
             cli_plural(t->list_count), (unsigned long)t->job_count, cli_plural(t->job_count));
        return;
    }
    for (size_t i = 0; i < t->job_count; ++i) t->jobs[i].list = &t->lists[i];
}

/* Return what raw files of an input hold. */
static number_form input_form(const tool *t, const job *j, size_t slot)
{
    if (t->set.run.native_inputs != NULL) return j->native_slots[slot] ? FORM_NATIVE : FORM_FLOAT;
    return (number_form)t->set.input_form;
}

/* Return how many lines fill a tensor, if each has an equal part of it along the first axis. */
static uint64_t lines_of(uint64_t bytes, const qnnrt_tensor_info *tensor, number_form form)
{
    const uint64_t whole = form == FORM_FLOAT ? tensor->count * sizeof(float) : tensor->bytes;
    return bytes > 0 && bytes < whole && whole % bytes == 0 && tensor->rank > 0 &&
           tensor->dims[0] % (whole / bytes) == 0 ? whole / bytes : 1;
}

/* Take part `part` of `parts` of a file, along the first axis. Return 0 with an error. */
static int feed_part(value_file *file, uint32_t part, uint32_t parts, qnnrt_error *err)
{
    if (parts <= 1) return 1;
    if (file->bytes % parts != 0 || file->count % parts != 0 ||
        (file->rank > 0 && file->dims[0] % parts != 0))
        return value_fail(err, "Write the values of all parts, one after the other.",
                          "it has %lu bytes, which are not %lu equal parts",
                          (unsigned long)file->bytes, (unsigned long)parts);
    file->bytes /= parts;
    file->count /= parts;
    if (file->rank > 0) file->dims[0] /= parts;
    file->data = (const char *)file->data + (size_t)part * file->bytes;
    return 1;
}

/* Take the values of a file for a tensor, and forget them. Return 0 with an error. */
static int feed_try(const char *path, const qnnrt_tensor_info *tensor, number_form form,
                    uint32_t batch, qnnrt_error *err)
{
    const uint64_t floats = tensor->count * sizeof(float);
    OWNED void *values = cli_alloc((size_t)(tensor->bytes > floats ? tensor->bytes : floats), 1);
    value_file file;
    int real = 0;
    const int good = value_open(path, tensor->name, VALUE_BYTES, &file, err) &&
                     feed_part(&file, 0, batch, err) &&
                     value_take(&file, tensor, form, values, &real, err);
    value_close(&file);
    return good;
}

/* Check a file without reading more of it than necessary. Return 0 after a message. */
static int feed_check(tool *t, job *j, size_t slot, const char *path, const list_line *line)
{
    const qnnrt_tensor_info *tensor = j->info->slots[slot].tensor;
    const number_form form = input_form(t, j, slot);
    const uint32_t batch = t->set.run.batch > 1 ? t->set.run.batch : 1;
    struct stat status;
    uint64_t seed = 0;
    qnnrt_error err;
    int good = 1, real = 0;
    if (value_seed(path, &seed)) return 1;
    const int known = stat(path, &status) == 0, fd = known ? cli_open(path) : -1;
    if (fd < 0) good = value_fail(&err, "Check the name.", "%s", strerror(errno));
    if (fd >= 0) close(fd);
    const int plain = good && S_ISREG(status.st_mode) && tensor->dynamic_dims == NULL;
    const int raw = !value_suffix(path, ".npy") && !value_suffix(path, ".safetensors");
    if (plain && raw) {
        const uint64_t bytes = (uint64_t)status.st_size;
        const uint64_t lines = line != NULL && batch == 1 ? lines_of(bytes, tensor, form) : 1;
        good = lines > 1 || value_raw_fits(bytes % batch == 0 ? bytes / batch : bytes, tensor, form,
                                           &real, &err);
    }
    if (good && plain && (!raw || (real && takes_whole_numbers(tensor))))
        good = feed_try(path, tensor, form, batch, &err);
    if (good) return 1;
    if (line != NULL)
        fail(t, j, cli_hint(&err), "%s, line %lu: %s: %s", j->list->path,
             (unsigned long)line->number, path, cli_told(&err));
    else fail(t, j, cli_hint(&err), "%s: %s", path, cli_told(&err));
    return 0;
}

/* Check the files of all inputs. */
static void feed_check_job(tool *t, job *j)
{
    OWNED const char **files = cli_alloc(j->info->slot_count, sizeof(*files));
    qnnrt_error err;
    int good = 1;
    for (size_t i = 0; i < j->info->slot_count; ++i)
        if (j->input_files[i] != NULL) good = feed_check(t, j, i, j->input_files[i], NULL) && good;
    for (size_t k = 0; j->list != NULL && k < j->list->line_count && good; ++k) {
        const list_line *line = &j->list->lines[k];
        good = line_files(t, j, line, files, &err);
        if (!good) fail(t, j, cli_hint(&err), "%s", cli_told(&err));
        for (size_t i = 0; i < j->info->slot_count && good; ++i)
            if (files[i] != NULL && files[i] != j->input_files[i])
                good = feed_check(t, j, i, files[i], line);
    }
}

int place_feed(tool *t)
{
    const int failed_before = t->failed;
    t->failed = 0;
    for (size_t i = 0; i < t->set.input_count; ++i) place_input(t, &t->set.inputs[i]);
    place_changes(t);
    place_lists(t);
    select_by_text(t, "native_input_tensor_names", t->set.run.native_inputs, QNNRT_ROLE_INPUT);
    select_by_text(t, "set_output_tensors", t->set.run.output_tensors, QNNRT_ROLE_ANY);
    const int placed = !t->failed;
    t->failed |= failed_before;
    return placed;
}

int check_before_loading(tool *t)
{
    qnnrt_error err;
    tool look = *t;
    if (t->set.input_count + t->list_count == 0 || t->set.keep_going || t->set.inspect) return 1;
    look.set.inspect = look.set.run.quiet = 1;
    look.error = look.error_hint = NULL;
    look.model = try_sources(&look, t->set.ctx_dir, t->set.files.items, t->set.files.count, &err);
    if (look.model != NULL && select_jobs(&look) && place_feed(&look))
        for (size_t i = 0; i < look.job_count; ++i)
            if (look.jobs[i].info->failure == NULL) feed_check_job(&look, &look.jobs[i]);
    const int good = !look.failed;
    t->failed = look.failed;
    if (t->error == NULL) {
        t->error = look.error;
        t->error_hint = look.error_hint;
    } else {
        free(look.error);
        free(look.error_hint);
    }
    free_jobs(&look);
    step_drop_program(look.model);
    qnnrt_manifest_close(look.model);
    while (look.host_count > t->host_count) qnnrt_cpu_fallback_close(look.hosts[--look.host_count]);
    t->left = look.left;
    t->left_count = look.left_count;
    t->left_room = look.left_room;
    return good;
}

/* ---- the values of one inference ---- */

/* Join raw files of the lines that follow: each has an equal part of the tensor. Lines after the
   last one count as zeros. Return 0 with an error. */
static int join_lines(const tool *t, const job *j, size_t slot, size_t line, uint64_t lines,
                      value_file *file, qnnrt_error *err)
{
    OWNED const char **files = cli_alloc(j->info->slot_count, sizeof(*files));
    const size_t part = file->bytes;
    char *whole = cli_alloc((size_t)lines, part);
    int good = 1;
    memcpy(whole, file->data, part);
    for (uint64_t i = 1; i < lines && line + i < j->list->line_count && good; ++i) {
        value_file next;
        memset((void *)files, 0, j->info->slot_count * sizeof(*files));
        good = line_files(t, j, &j->list->lines[line + i], files, err);
        if (!good) break;
        good = value_open(files[slot], j->info->slots[slot].tensor->name, VALUE_BYTES, &next, err);
        if (good && (next.dtype != QNNRT_DTYPE_UNDEFINED || next.bytes != part))
            good = value_fail(err, "Write files of one size.",
                              "line %lu: %s has %lu bytes, others have %lu",
                              (unsigned long)j->list->lines[line + i].number, files[slot],
                              (unsigned long)next.bytes, (unsigned long)part);
        if (good) memcpy(whole + i * part, next.data, part);
        value_close(&next);
    }
    free(file->room);
    file->data = file->room = whole;
    file->bytes = part * (size_t)lines;
    return good;
}

/* Read the values of an input from its file, or make them of a seed. Return 0 with an error. */
static int read_input(const tool *t, const job *j, const char *path, const qnnrt_slot *slot,
                      const qnnrt_tensor_info *tensor, feed_at *at, void *values, int *real,
                      qnnrt_error *err)
{
    const size_t index = (size_t)(slot - j->info->slots);
    const number_form form = input_form(t, j, index);
    const uint32_t batch = t->set.run.batch > 1 ? t->set.run.batch : 1;
    value_file file;
    uint64_t seed = 0, lines = 1;
    *real = 0;
    if (value_seed(path, &seed)) {
        qnnrt_tensor_info named = *tensor;
        named.name = slot->tensor->name;
        if (value_fill(&named, seed, slot->has_range ? slot->low : 0,
                       slot->has_range ? slot->high : 1, values)) return 1;
        return value_fail(err, "Give it a file.", "\"%s\" has a type without random values: %s",
                          tensor->name, qnnrt_dtype_name(tensor->dtype));
    }
    /* Elements of 8 bytes are the largest, and a head comes before them. */
    const uint64_t most = tensor->count * batch * 8 + 65536;
    int good = value_open(path, slot->tensor->name, most < VALUE_BYTES ? (size_t)most : VALUE_BYTES,
                          &file, err) &&
               feed_part(&file, at->part, batch, err);
    if (good && j->list != NULL && batch == 1 && file.dtype == QNNRT_DTYPE_UNDEFINED &&
        path != j->input_files[index]) {
        lines = lines_of(file.bytes, tensor, form);
        if (lines > 1) good = join_lines(t, j, index, at->line, lines, &file, err);
        if (at->lines == 0) at->lines = lines;
        if (good && at->lines != lines)
            good = value_fail(err, "Write files with equal parts of all inputs.",
                              "\"%s\" takes %llu lines for one inference, and another input %llu",
                              tensor->name, (unsigned long long)lines,
                              (unsigned long long)at->lines);
    }
    good = good && value_take(&file, tensor, form, values, real, err);
    value_close(&file);
    return good;
}

/* Load one input. Return 0 after a message. */
static int load_input(tool *t, job *j, qnnrt_run *run, const qnnrt_slot *slot, const char *path,
                      feed_at *at)
{
    const qnnrt_tensor_info tensor = tensor_now(run, slot);
    const size_t floats = (size_t)tensor.count * sizeof(float);
    OWNED void *values = cli_alloc(tensor.bytes > floats ? (size_t)tensor.bytes : floats, 1);
    qnnrt_error err;
    int real = 0, good = read_input(t, j, path, slot, &tensor, at, values, &real, &err);
    if (!good) fail(t, j, cli_hint(&err), "%s: %s", path, cli_told(&err));
    good = good && put_input(t, j, run, slot, path, &tensor, values, real);
    j->input_floats[slot - j->info->slots] = real;
    return good;
}

int load_line(tool *t, job *j, qnnrt_run *run, feed_at *at)
{
    OWNED const char **files = cli_alloc(j->info->slot_count, sizeof(*files));
    qnnrt_error err;
    int good = 1;
    if (j->list != NULL) good = line_files(t, j, &j->list->lines[at->line], files, &err);
    else memcpy((void *)files, (const void *)j->input_files, j->info->slot_count * sizeof(*files));
    if (!good) fail(t, j, cli_hint(&err), "%s", cli_told(&err));
    for (size_t i = 0; i < j->info->slot_count && good; ++i)
        if (files[i] != NULL) good = load_input(t, j, run, &j->info->slots[i], files[i], at);
    return good;
}

int load_inputs(tool *t, job *j, qnnrt_run *run)
{
    enum { LISTED = 8 };
    size_t zero = 0;
    feed_at at = {0, 0, 1};
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        if (j->info->slots[i].role != QNNRT_ROLE_INPUT) continue;
        if (j->input_files[i] == NULL) j->input_files[i] = t->set.input_others;
        if (j->input_files[i] == NULL) {
            ++zero;
            continue;
        }
        if (!load_input(t, j, run, &j->info->slots[i], j->input_files[i], &at)) return 0;
        OWNED char *name = cli_shown(j->info->slots[i].address);
        say(t, "  input     \"%s\" from %s, %s\n", name, j->input_files[i], j->input_floats[i]
            ? "float32" : "native");
    }
    if (zero == 0 || j->list != NULL) return 1;
    say(t, "  inputs without a file are %s:", t->set.no_zero ? "unfilled" : "zero");
    for (size_t i = 0, listed = 0; i < j->info->slot_count && listed < LISTED; ++i) {
        if (j->info->slots[i].role != QNNRT_ROLE_INPUT || j->input_files[i] != NULL) continue;
        OWNED char *name = cli_shown(j->info->slots[i].address);
        say(t, "%s \"%s\"", listed++ > 0 ? "," : "", name);
    }
    if (zero > LISTED) say(t, " and %lu more", (unsigned long)(zero - LISTED));
    say(t, "\n");
    return 1;
}
