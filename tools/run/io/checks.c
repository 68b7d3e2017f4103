/* checks.c - options that exclude or need each other, and what no document may replace

   ROOM     >>checks */
#include "run/io/io.h"
#include "run/model/model.h"

#include <sys/stat.h>

/* =====================================================================================
   CHECKS                                                                       >>checks
   What the options mean together; the words of a command line that make no sense are refused.
   ===================================================================================== */

/* True if the verb only looks at models. */
static int only_looks(const settings *set)
{
    return set->command != COMMAND_RUN || set->inspect;
}

static int check_diff(const settings *set)
{
    if (set->command == COMMAND_PLAN)
        return cli_usage("Use qnnrt-run inspect --diff A B.", "--diff is not an option of plan");
    if (set->ctx_dir != NULL || set->files.count != 2)
        return cli_usage("Use qnnrt-run inspect --diff A B.",
                         "--diff takes two models, each a folder or a file");
    if (set->document_count > 0 || set->json_file != NULL || set->plan_out != NULL ||
        set->dot != NULL || set->svg != NULL)
        return cli_usage("Leave out the options that write documents.",
                         "--diff prints differences and nothing else");
    return STATUS_OK;
}

/* True if both words name one plain file, or are one name of a file that does not exist yet. */
static int is_same_file(const char *a, const char *b)
{
    struct stat status;
    if (stat(a, &status) != 0) return strcmp(a, b) == 0 && strcmp(a, "-") != 0;
    return S_ISREG(status.st_mode) && cli_is_same(a, b);
}

/* Return what a plain file is when no document may take its place: a model or a library. NULL if
   it is nothing of that kind or is not there. */
static const char *precious(const char *path)
{
    unsigned char head[64];
    size_t bytes = 0;
    struct stat status;
    const int plain = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    const int fd = plain ? cli_open(path) : -1;
    if (fd < 0) return NULL;
    if (cli_read(fd, (char *)head, sizeof(head), &bytes) != 0) bytes = 0;
    close(fd);
    if (bytes >= 4 && memcmp(head, "\177ELF", 4) == 0) return "library or program";
    const head_kind kind = head_of((span){head, bytes});
    return kind != HEAD_OTHER ? head_names[kind] : NULL;
}

int check_written(const settings *set, const cli_parsed *parsed)
{
    for (size_t i = 0; i < parsed->given_count; ++i) {
        const char *name = parsed->given[i].option->name, *path = parsed->given[i].value;
        const char *other = NULL, *what = NULL;
        if (path == NULL || !is_document(name)) continue;
        for (size_t k = 0; k < parsed->given_count && other == NULL; ++k) {
            const cli_option *o = parsed->given[k].option;
            const char *value = parsed->given[k].value;
            const char *tail = value != NULL ? strrchr(value, '=') : NULL;
            /* a saved profile may be replaced by the one that was compared with it */
            if (k != i && value != NULL && strstr(o->value, "FILE") != NULL &&
                strcmp(o->name, "against") != 0 &&
                (is_same_file(path, value) || (tail != NULL && is_same_file(path, tail + 1))))
                other = o->name;
        }
        if (other != NULL)
            return cli_usage("Name another file.", "--%s and --%s name one file", name, other);
        for (size_t k = 0; k < set->files.count; ++k)
            if (is_same_file(path, set->files.items[k])) what = "file that this command reads";
        if (what == NULL) what = precious(path);
        if (what == NULL) continue;
        OWNED char *shown = cli_shown(path);
        const int status = cli_usage("Name another file.", "--%s would replace %s, a %s", name,
                                     shown, what);
        return status;
    }
    return STATUS_OK;
}

/* Check options of run that exclude or need each other, and resolve what they mean together. */
static int check_run(settings *set, const cli_parsed *parsed)
{
    static const struct { const char *first, *second; } exclude[] = {
        {"duration", "num_inferences"}, {"use_native_input_files", "native_input_tensor_names"},
        {"use_native_input_files", "input_data_type"},
        {"native_input_tensor_names", "input_data_type"},
        {"use_native_output_files", "output_data_type"}
    }, need[] = {
        {"keep_num_outputs", "output_dir"}, {"set_output_tensors", "output_dir"},
        {"use_native_output_files", "output_dir"}, {"output_data_type", "output_dir"},
        {"output_file_type", "output_dir"}
    };
    for (size_t i = 0; i < sizeof(exclude) / sizeof(exclude[0]); ++i)
        if (is_given(parsed, exclude[i].first) && is_given(parsed, exclude[i].second))
            return cli_usage("Use one of them.", "--%s and --%s exclude each other",
                             exclude[i].first, exclude[i].second);
    for (size_t i = 0; i < sizeof(need) / sizeof(need[0]); ++i)
        if (is_given(parsed, need[i].first) && !is_given(parsed, need[i].second))
            return cli_usage("Add --output_dir DIR.", "--%s has no effect without --%s",
                             need[i].first, need[i].second);
    set->run.inferences_given = is_given(parsed, "num_inferences");
    if (set->run.output_tensors != NULL) set->per_tensor = 1;
    if (set->run.watch && set->profile == QNNRT_PROFILE_OFF) set->profile = QNNRT_PROFILE_BASIC;
    set->output_form %= 3;
    if (set->run.lists == NULL) return STATUS_OK;
    if (!set->run.native_in && !is_given(parsed, "input_data_type")) set->input_form = FORM_FLOAT;
    if (!set->run.native_out && !is_given(parsed, "output_data_type"))
        set->output_form = FORM_FLOAT;
    return STATUS_OK;
}

int check_model(settings *set, const cli_parsed *parsed)
{
    static const char *const words[] = {"--inspect", "inspect", "plan"};
    const char *word = words[set->command];
    int status = check_feed(set);
    if (status == STATUS_OK) status = check_run(set, parsed);
    if (status != STATUS_OK) return status;
    const char *roles[ROLES_MOST];
    for (size_t i = 0; i < set->role_count; ++i) roles[i] = set->roles[i].role;
    status = check_package_roles(set, roles, set->role_count,
                                 "Name the library of the role with --backend_so ROLE=FILE.");
    if (status == STATUS_OK && set->diff) status = check_diff(set);
    if (status != STATUS_OK) return status;
    if (set->ctx_dir != NULL && set->files.count > 0)
        return cli_usage("Name the model once.",
                         "--ctx_dir excludes --retrieve_context and other files");
    if (set->ctx_dir == NULL && set->files.count == 0)
        return set->command != COMMAND_RUN ? cli_usage(set->command == COMMAND_PLAN
                             ? "Write qnnrt-run plan DIR, or run qnnrt-run plan --help."
                             : "Write qnnrt-run inspect DIR, or run qnnrt-run inspect --help.",
                         "%s takes a folder or files", word)
               : cli_usage("Name a folder of context binaries, or one of them, behind the verb.",
                           "the model is missing: expected a folder, or context binaries");
    if (only_looks(set)) {
        const char *given = set->input_texts.count > 0                 ? "--input"
                            : set->run.lists != NULL                   ? "--input_list"
                            : set->run.duration > 0                    ? "--duration"
                            : set->run.batch > 0                       ? "--batch_multiplier"
                            : set->run.validate                        ? "--validate_binary"
                            : set->run.watch                           ? "--watch"
                            : set->run.reset                           ? "--reset"
                            : set->run.state_in != NULL                ? "--state_in"
                            : set->run.state_out != NULL               ? "--state_out"
                            : set->dims_count > 0                      ? "--dims"
                            : set->omits.count > 0                     ? "--omit"
                            : set->output_dir != NULL                  ? "--output_dir"
                            : set->profile != QNNRT_PROFILE_OFF        ? "--profiling_level"
                            : set->power != QNNRT_POWER_CUSTOM         ? "--perf_profile"
                            : set->resident_given                      ? "--resident"
                            : set->no_zero                             ? "--no_zero"
                                                                       : NULL;
        if (given != NULL)
            return cli_usage("Use it with qnnrt-run run.", "%s runs nothing: it does not take %s",
                             word,
                             given);
    }
    if (set->profile_out != NULL && set->profile == QNNRT_PROFILE_OFF)
        return cli_usage("Add --profiling_level basic, detailed or optrace.",
                         "--profile_out needs --profiling_level");
    if (only_looks(set) || set->diff) set->inspect = 1;
    if (set->inspect) set->inferences = 0;
    if (set->svg == NULL && is_given(parsed, "svg_layout"))
        return cli_usage("Add --svg FILE.", "--svg_layout has no effect without --svg");
    if (set->unified && set->json_file == NULL)
        return cli_usage("Add --json_file FILE.", "--unified needs --json_file");
    if (set->manifest && set->command != COMMAND_INSPECT)
        return cli_usage("Use qnnrt-run inspect DIR --manifest.",
                         "--manifest is an option of inspect");
    if (set->dot != NULL && set->command == COMMAND_PLAN)
        return cli_usage("Use --svg.", "--dot is not an option of plan");
    if (set->document_count > 1)
        return cli_usage("Write one of them to a file.", "%s and %s both write to standard output",
                         set->documents[0], set->documents[1]);
    if (parsed->operand != NULL && set->files.count == 1 && cli_is_folder(set->files.items[0])) {
        set->ctx_dir = set->files.items[0];
        set->files.count = 0;
    }
    return STATUS_OK;
}
