/* run_compare.h - a part of qnnrt-run.c: the verb compare

   ROOM     >>compare                                                                            */

/* =====================================================================================
   COMPARE                                                                       >>compare
   The verb: both sides execute with equal inputs.
   ===================================================================================== */

static const cli_option compare_options[] = {
    {.name = "tolerance", .value = "[NAME=]T[:abs|:codes]", .kind = CLI_LIST,
     FIELD(compare.tolerances), .verbs = VERB_COMPARE | VERB_REPLAY, .key = CLI_KEY_NONE,
     .help = TOLERANCE_HELP},
    {.name = "histogram", .kind = CLI_FLAG, FIELD(compare.histogram),
     .verbs = VERB_COMPARE | VERB_REPLAY, .key = CLI_KEY_NONE,
     .help = "print how the differences are distributed for every tensor that is not equal "
             "(default: only for those beyond the tolerance)"},
    {.name = "ctx_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(ctx_dir), .verbs = VERB_COMPARE,
     .key = CLI_KEY_NONE,
     .help = "folders of values: the model that wrote them, whose metadata gives raw files types, "
             "dims and encodings by their names; it does not run"},
    {.name = "dtype", .value = "[NAME=]TYPE", .kind = CLI_LIST, FIELD(compare.dtypes),
     .verbs = VERB_COMPARE, .key = CLI_KEY_NONE,
     .help = "type of raw files, such as float32 or ufixed16, or of the file NAME alone; repeat "
             "the option for several (default: that of --ctx_dir, else of the same tensor on the "
             "other side)"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_COMPARE | VERB_REPLAY,
     .key = CLI_KEY_NONE, .help = "print the result as JSON instead of tables"}
};

/* Compare the slots that steps wrote, in the order of the steps. */
static void compare_slots(comparison *c, const paired *one, qnnrt_run *const runs[2])
{
    const qnnrt_pipeline_info *info = one->jobs[0]->info;
    for (uint32_t step = 0; step < info->step_count; ++step)
        for (size_t i = 0; i < info->slot_count; ++i) {
            const qnnrt_slot from = &info->slots[i], to = one->slots[i];
            if (from->first != step ||
                (from->role != QNNRT_ROLE_OUTPUT && from->role != QNNRT_ROLE_EDGE)) continue;
            if (to == QNNRT_NO_SLOT) {
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
        good = qnnrt_exec(runs[i]) == QNNRT_OK;
        cli_busy_end();
        if (!good) fail_run(p->sides[i], one->jobs[i], runs[i]);
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
    char *file = cli_text("%s/%s", path, CAPTURE_FILE);
    const int there = access(file, F_OK) == 0;
    free(file);
    return there;
}

enum { OPERAND_MODEL = 0, OPERAND_VALUES, OPERAND_CAPTURE };

/* Compare files: values, or captures. Return 0 if the words are models, and -1 after a message. */
static int compare_files(comparison *c, const cli_list *words)
{
    static const char *const names[] = {"a model", "values", "a capture"};
    tool *t = c->t;
    int kinds[2] = {OPERAND_MODEL, OPERAND_MODEL};
    for (size_t i = 0; i < words->count && i < 2; ++i)
        kinds[i] = is_capture(words->items[i]) ? OPERAND_CAPTURE
                   : is_values(words->items[i]) ? OPERAND_VALUES : OPERAND_MODEL;
    if (words->count == 1 || kinds[0] != kinds[1]) {
        if (kinds[0] == OPERAND_MODEL && words->count == 1) return 0;
        fail(t, NULL, "Name two models, two captures, or two files or folders of values.",
             "%s is %s, and %s is %s", words->items[0], names[kinds[0]],
             words->count == 1 ? "it" : words->items[1],
             words->count == 1 ? "alone" : names[kinds[1]]);
        return -1;
    }
    if (kinds[0] == OPERAND_MODEL) return 0;
    for (size_t i = 0; i < 2; ++i) compare_side(c, i, words->items[i], NULL, NULL);
    if (kinds[0] == OPERAND_CAPTURE) {
        compare_captures(c, words->items);
        return 1;
    }
    if (t->set.ctx_dir != NULL) {
        const cli_list kept = t->set.files;
        t->set.files.count = 0;
        t->set.inspect = 1;
        t->set.output_form = FORM_BOTH;
        if (!open_model(t) || !select_jobs(t)) return -1;
        name_files(t);
        t->set.files = kept;
    }
    compare_folders(c, words->items[0], words->items[1]);
    return 1;
}

/* Compare two models. */
static void compare_models(comparison *c)
{
    pairing p;
    c->t->set.per_tensor = 1;          /* edges are read after the exec */
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

static int verb_compare(void *user)
{
    tool *t = user;
    const cli_list words = t->set.files;
    comparison c;
    int status = check_pair(&t->set, "compare");
    if (status == STATUS_OK) status = check_feed(&t->set);
    if (status == STATUS_OK) status = check_dtypes(&t->set);
    if (status != STATUS_OK) return status;
    status = compare_begin(&c, t, 0);
    if (status == STATUS_OK) {
        if (compare_files(&c, &words) == 0) compare_models(&c);
        status = compare_verdict(&c, "qnnrt-run.compare");
    }
    compare_end(&c);
    return status;
}
