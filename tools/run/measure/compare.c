/* compare.c - the verb compare

   ROOM     >>compare */
#include "run/measure/measure.h"
#include "run/model/model.h"
#include "run/io/io.h"

#include "cli/stages.h"

/* =====================================================================================
   COMPARE                                                                       >>compare
   The verb: both sides execute with equal inputs.
   ===================================================================================== */

static const cli_option compare_options[] = {
    {.name = "tolerance", .value = "[NAME=]T[:abs|:quantized]", .kind = CLI_LIST,
     OWN(compare_settings, tolerances), .verbs = VERB_COMPARE | VERB_REPLAY, .key = CLI_KEY_NONE,
     .help = TOLERANCE_HELP},
    {.name = "histogram", .kind = CLI_FLAG, OWN(compare_settings, histogram),
     .verbs = VERB_COMPARE | VERB_REPLAY, .key = CLI_KEY_NONE,
     .help = "print how the differences are distributed for every tensor that is not equal "
             "(default: only for those beyond the tolerance)"},
    {.name = "ctx_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(ctx_dir), .verbs = VERB_COMPARE,
     .key = CLI_KEY_NONE,
     .help = "folders of values: the model that wrote them, whose metadata gives raw files types, "
             "dims and encodings by their names; it does not run"},
    {.name = "dtype", .value = "[NAME=]TYPE", .kind = CLI_LIST, OWN(compare_settings, dtypes),
     .verbs = VERB_COMPARE, .key = CLI_KEY_NONE,
     .help = "type of raw files, such as float32 or ufixed16, or of the file NAME alone; repeat "
             "the option for several (default: that of --ctx_dir, else of the same tensor on the "
             "other side)"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_COMPARE | VERB_REPLAY,
     .key = CLI_KEY_NONE, .help = "print the result as JSON instead of tables"}
};

const cli_table compare_table =
    CLI_TABLE_OF(compare_options, compare_settings, offsetof(settings, compare), NULL);

/* Compare the slots that steps wrote, in the order of the steps. */
static void compare_slots(comparison *c, const paired *one, qnnrt_run *const runs[2])
{
    const qnnrt_pipeline_info *info = one->jobs[0]->info;
    for (uint32_t step = 0; step < info->step_count; ++step)
        for (size_t i = 0; i < info->slot_count; ++i) {
            const qnnrt_slot *from = &info->slots[i], *to = one->slots[i];
            if (from->first != step ||
                (from->role != QNNRT_ROLE_OUTPUT && from->role != QNNRT_ROLE_EDGE)) continue;
            if (to == NULL) {
                if (from->role == QNNRT_ROLE_OUTPUT)
                    compare_problem(c, info->name, step, from->address, "only on side A");
                continue;
            }
            const qnnrt_tensor_info a = tensor_now(runs[0], from), b = tensor_now(runs[1], to);
            compare_tensors(c, info->name, step, from->address, &a,
                            qnnrt_data_slot(runs[0], from, NULL), &b,
                            qnnrt_data_slot(runs[1], to, NULL));
        }
    const qnnrt_pipeline_info *other = one->jobs[1]->info;
    for (size_t i = 0; i < other->slot_count; ++i)
        if (other->slots[i].role == QNNRT_ROLE_OUTPUT && !pair_taken(one, &other->slots[i]))
            compare_problem(c, info->name, NO_STEP, other->slots[i].address, "only on side B");
}

/* Note the first step of side A whose outputs are beyond the tolerance. */
static void compare_steps(comparison *c, size_t first, const job *j)
{
    char text[512];
    for (size_t i = first; i < c->count; ++i)
        if (c->rows[i].step != NO_STEP)
            compare_first(c, &c->rows[i], qnnrt_step_text(&j->info->steps[c->rows[i].step], text,
                                                          sizeof(text)));
}

/* Create the contexts of a pipeline on the backend, or free them. Return 0 after a message. */
static int compare_load(tool *t, job *j, int load)
{
    qnnrt_error err;
    int good = t->set.residency == QNNRT_RESIDENT_CALLER;
    if (!good) return 1;                         /* --resident decides */
    for (size_t s = 0; s < j->info->step_count; ++s) {
        const qnnrt_step_info *step = &j->info->steps[s];
        if (step->kind != QNNRT_STEP_GRAPH) continue;
        const qnnrt_manifest_context context = step_context(step);
        if ((load ? qnnrt_context_load : qnnrt_context_unload)(context.model, context.context,
                                                               &err) == QNNRT_OK) continue;
        if (good) fail(t, j, cli_hint(&err), "pipeline %s: %s", j->title, cli_told(&err));
        good = 0;
    }
    return good;
}

/* Execute a side. The contexts of the other one do not exist meanwhile: a device may lack room for
   both, and the emulator cannot have two NPU generations at a time. Return 0 after a message. */
static int compare_exec(tool *t, job *j, qnnrt_run *run)
{
    int good = compare_load(t, j, 1);
    if (good && qnnrt_exec(run) != QNNRT_OK) {
        fail_run(t, j, run);
        good = 0;
    }
    return compare_load(t, j, 0) && good;
}

/* Execute a pipeline on both sides, and compare. */
static void compare_job(comparison *c, pairing *p, const paired *one)
{
    qnnrt_mem *mems[2] = {NULL, NULL};
    qnnrt_run *runs[2] = {NULL, NULL};
    const size_t first = c->count;
    int good = 1;
    say(c->t, "\ncompare %s with %s\n", one->jobs[0]->title, one->jobs[1]->title);
    for (size_t i = 0; i < 2 && good; ++i)
        good = start_run(p->sides[i], one->jobs[i], &mems[i], &runs[i]);
    good = good && pair_inputs(p, one, runs);
    for (size_t i = 0; i < 2 && good; ++i) {
        cli_busy(1, "side %c is executed", i == 0 ? 'A' : 'B');
        good = compare_exec(p->sides[i], one->jobs[i], runs[i]);
        cli_busy_end();
    }
    if (good) compare_slots(c, one, runs);
    if (good) compare_say(c, first);
    if (good) compare_steps(c, first, one->jobs[0]);
    for (size_t i = 0; i < 2; ++i) {
        qnnrt_run_destroy(runs[i]);
        qnnrt_mem_destroy(mems[i]);
    }
}

static int is_capture(const char *path)
{
    OWNED char *file = cli_text("%s/%s", path, CAPTURE_FILE);
    return access(file, F_OK) == 0;
}

typedef enum operand { OPERAND_MODEL = 0, OPERAND_VALUES, OPERAND_CAPTURE } operand;

/* Find out what the words are: both are of one kind, and options for another kind are wrong.
   Returns STATUS_OK, or another status after a message. */
static int check_operands(tool *t, operand *kind)
{
    static const char *const names[] = {"a model", "values", "a capture"};
    static const char *const executes[] = {
        "backend_so", "soc_model", "input", "input_data_type", "dims", "omit", "resident",
        "share_spill_fill", "op_package", "other_backend_so", "other_system_so", "other_soc_model",
        NULL};
    static const char *const reads[] = {"ctx_dir", "dtype", NULL};
    const cli_list *words = &t->set.files;
    operand kinds[2] = {OPERAND_MODEL, OPERAND_MODEL};
    for (size_t i = 0; i < words->count; ++i) {
        const char *word = words->items[i];
        if (access(word, F_OK) != 0) {
            fail(t, NULL, "Check the name.", "cannot open %s: %s", word, strerror(errno));
            return STATUS_FAILED;
        }
        kinds[i] = is_capture(word) ? OPERAND_CAPTURE
                   : is_values(word) ? OPERAND_VALUES : OPERAND_MODEL;
    }
    *kind = kinds[0];
    for (size_t i = 0; i < t->given_count; ++i) {
        const char *name = t->given[i].option->name;
        if (kinds[0] != OPERAND_MODEL && cli_word(name, executes) >= 0)
            return cli_usage("Leave it out.", "%s is %s, which --%s is not for", words->items[0],
                             names[kinds[0]], name);
        if (kinds[0] != OPERAND_VALUES && cli_word(name, reads) >= 0)
            return cli_usage("Leave it out.", "%s is %s, and --%s is for values",
                             words->items[0], names[kinds[0]], name);
    }
    if (words->count == 2 && kinds[0] == kinds[1]) return STATUS_OK;
    if (words->count == 1 && kinds[0] == OPERAND_MODEL) return STATUS_OK;
    return cli_usage("Name two models, two captures, or two files or folders of values.",
                     "%s is %s, and %s is %s", words->items[0], names[kinds[0]],
                     words->count == 1 ? "it" : words->items[1],
                     words->count == 1 ? "alone" : names[kinds[1]]);
}

/* Compare files of values, or folders of them. */
static void compare_values(comparison *c, const cli_list *words)
{
    tool *t = c->t;
    if (t->set.ctx_dir != NULL) {
        t->set.files.count = 0;
        t->set.inspect = 1;
        t->set.output_form = FORM_BOTH;
        if (!open_model(t) || !select_jobs(t)) return;
        name_files(t);
    }
    compare_folders(c, words->items[0], words->items[1]);
}

/* Compare two models. */
static void compare_models(comparison *c)
{
    pairing p;
    settings *set = &c->t->set;
    set->per_tensor = 1;               /* edges are read after the exec */
    if (!set->resident_given && !set->share_spill_fill) set->residency = QNNRT_RESIDENT_CALLER;
    const int opened = pair_open(&p, c->t);
    for (size_t i = 0; i < 2 && opened; ++i) compare_model(c, i, p.sides[i]);
    for (size_t i = 0; i < p.count && opened; ++i) {
        const paired *one = &p.list[i];
        if (one->jobs[0] != NULL && one->jobs[1] != NULL) compare_job(c, &p, one);
        else compare_problem(c, one->jobs[one->jobs[0] == NULL]->info->name, NO_STEP, "",
                             one->jobs[0] != NULL ? "this pipeline is only on side A"
                                                  : "this pipeline is only on side B");
    }
    pair_close(&p);
}

int verb_compare(void *user)
{
    tool *t = user;
    const cli_list words = t->set.files;
    comparison c;
    operand kind = OPERAND_MODEL;
    int status = check_pair(&t->set, "compare");
    if (status == STATUS_OK) status = check_feed(&t->set);
    if (status == STATUS_OK) status = check_dtypes(&t->set);
    memset(&c, 0, sizeof(c));
    if (status == STATUS_OK) status = compare_begin(&c, t, 0);
    if (status == STATUS_OK) status = check_operands(t, &kind);
    if (status != STATUS_USAGE) {
        for (size_t i = 0; kind != OPERAND_MODEL && status == STATUS_OK && i < 2; ++i)
            compare_side(&c, i, words.items[i], NULL, NULL);
        if (status != STATUS_OK) t->failed = 1;
        else if (kind == OPERAND_MODEL) compare_models(&c);
        else if (kind == OPERAND_CAPTURE) compare_captures(&c, words.items);
        else compare_values(&c, &words);
        status = compare_verdict(&c, "qnnrt-run.compare");
    }
    compare_end(&c);
    return status;
}
