/* run_mixed.h - a part of qnnrt-run.c: compile graphs for several backends

   ROOMS    >>mixed >>choices                                                                  */

/* =====================================================================================
   MIXED                                                                          >>mixed
   --backends: the backends by role, the program of all graphs, and its folder.
   ===================================================================================== */

static int compile_folder(tool *t, int try_only, char **missing);        /* of >>compile */

typedef struct mixed {
    aten                  *a;
    qnnrt_compile_backend *backends;   /* [backend_count]; NULL: the host                  */
    qnnrt_compile_pin     *pins;       /* [pin_count]                                      */
    size_t                 backend_count, pin_count;
    char                 **words;      /* texts of roles and pins                          */
    size_t                 word_count, word_room;
    qnnrt_compile         *program;
    char                 **paths;      /* of the files that were written                   */
    size_t                 path_count, path_room;
} mixed;

/* Keep a text until the end. */
static char *mixed_keep(mixed *m, char *text)
{
    m->words = cli_grow(m->words, m->word_count, &m->word_room, sizeof(*m->words));
    m->words[m->word_count++] = text;
    return text;
}

/* Return the library of a role: --backend_so ROLE=FILE, or FILE for the first one; NULL: none. */
static const char *mixed_library(const settings *set, const char *role, int first)
{
    for (size_t i = 0; i < set->role_count; ++i)
        if (strcmp(set->roles[i].role, role) == 0) return set->roles[i].file;
    return first ? set->backend : NULL;
}

/* Read --backends A,B,host. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int mixed_roles(mixed *m)
{
    const settings *set = &m->a->t->set;
    char *word = mixed_keep(m, cli_text("%s", set->compile.backends));
    m->backends = cli_alloc(ROLES_MOST + 1, sizeof(*m->backends));
    while (word != NULL) {
        char *comma = strchr(word, ',');
        if (comma != NULL) *comma++ = '\0';
        if (word[0] == '\0' || m->backend_count > ROLES_MOST)
            return cli_usage("Write --backends npu,cpu,host.", "--backends takes 1 to %d roles,"
                             " separated by commas", ROLES_MOST);
        for (size_t i = 0; i < m->backend_count; ++i)
            if (strcmp(m->backends[i].role, word) == 0)
                return cli_usage(NULL, "--backends has the role \"%s\" twice", word);
        if (m->backend_count > 0 && strcmp(m->backends[m->backend_count - 1].role, "host") == 0)
            return cli_usage("Put host at the end.", "--backends has a role after host");
        if (strcmp(word, "host") != 0 && mixed_library(set, word, m->backend_count == 0) == NULL)
            return cli_usage("Name the library with --backend_so ROLE=FILE.",
                             "--backends has the role \"%s\", which has no library", word);
        m->backends[m->backend_count++].role = word;
        word = comma;
    }
    if (strcmp(m->backends[0].role, "host") == 0)
        return cli_usage("Name npu or cpu before it.", "--backends cannot be the host alone");
    for (size_t i = 0; i < set->role_count; ++i) {
        size_t k = 0;
        while (k < m->backend_count && strcmp(m->backends[k].role, set->roles[i].role) != 0) ++k;
        if (k == m->backend_count)
            return cli_usage("Add it to --backends.", "--backend_so names a library for \"%s\","
                             " which is not one of the --backends", set->roles[i].role);
    }
    return STATUS_OK;
}

/* Read --pin NODE=ROLE and --speed ROLE=N. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int mixed_pins(mixed *m)
{
    const compile_settings *c = &m->a->t->set.compile;
    m->pins = cli_alloc(c->pins.count + 1, sizeof(*m->pins));
    if (c->embedding != 0) {
        m->pins[m->pin_count].node = QNNRT_LLM_GRAPH_LOOK_UP;
        m->pins[m->pin_count++].role = "host";
    }
    for (size_t i = 0; i < c->pins.count; ++i) {
        char *node = mixed_keep(m, cli_text("%s", c->pins.items[i])), *role = strrchr(node, '=');
        size_t k = 0;
        if (role == NULL || role == node || role[1] == '\0')
            return cli_usage("Write --pin NODE=ROLE.", "--pin takes NODE=ROLE, not \"%s\"", node);
        *role++ = '\0';
        while (k < m->backend_count && strcmp(m->backends[k].role, role) != 0) ++k;
        if (k == m->backend_count)
            return cli_usage("Add it to --backends.", "--pin %s=%s: no backend has this role", node,
                             role);
        m->pins[m->pin_count].node = node;
        m->pins[m->pin_count++].role = role;
    }
    for (size_t i = 0; i < c->speeds.count; ++i) {
        char *role = mixed_keep(m, cli_text("%s", c->speeds.items[i])), *end = NULL;
        char *number = strchr(role, '=');
        size_t k = 0;
        if (number != NULL) *number++ = '\0';
        const double speed = number != NULL ? strtod(number, &end) : 0;
        if (number == NULL || end == number || *end != '\0' || !(speed > 0) || speed > 1e12)
            return cli_usage("Write --speed ROLE=N, such as npu=1000000.",
                             "--speed takes a role and a positive number, not \"%s\"",
                             c->speeds.items[i]);
        while (k < m->backend_count && strcmp(m->backends[k].role, role) != 0) ++k;
        if (k == m->backend_count)
            return cli_usage("Add it to --backends.", "--speed %s=: no backend has this role",
                             role);
        m->backends[k].speed = speed;
    }
    return STATUS_OK;
}

/* Check the roles of --op_package. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int mixed_packages(const mixed *m)
{
    const char *roles[ROLES_MOST + 1];
    size_t count = 0;
    for (size_t i = 0; i < m->backend_count; ++i)
        if (strcmp(m->backends[i].role, "host") != 0) roles[count++] = m->backends[i].role;
    return check_package_roles(&m->a->t->set, roles, count,
                               "Name a role of --backends, except the host.");
}

/* Check the options of several backends, without --backends that there are none. Returns STATUS_OK,
   or STATUS_USAGE after a message. */
static int mixed_check(mixed *m)
{
    const settings *set = &m->a->t->set;
    const compile_settings *c = &set->compile;
    const char *given = set->role_count > 0  ? "--backend_so ROLE=FILE"
                        : c->pins.count > 0   ? "--pin"
                        : c->speeds.count > 0 ? "--speed"
                        : c->explain          ? "--explain_plan"
                        : c->no_ask           ? "--no_ask"
                        : c->no_validate      ? "--no_validate"
                        : c->state_policy > 0 ? "--state_policy"
                                              : NULL;
    if (c->backends == NULL && given != NULL)
        return cli_usage("Name the backends with --backends npu,cpu,host.",
                         "%s needs --backends", given);
    if (c->backends == NULL) return STATUS_OK;
    const char *alone = c->contexts != 0       ? "--contexts"
                        : c->shards != 0       ? "--shards"
                        : c->verify_nodes != 0 ? "--verify_nodes"
                        : c->calibrate_so != NULL ? "--calibrate_so"
                        : c->write_encodings != NULL ? "--write_encodings"
                        : set->svg != NULL     ? "--svg"
                        : set->dot != NULL     ? "--dot"
                                               : NULL;
    if (alone != NULL)
        return cli_usage(set->svg != NULL || set->dot != NULL
                             ? "Leave it out; qnnrt-run inspect draws the folder."
                             : "Leave it out, or compile for one backend.",
                         "%s is for one backend, and --backends names several", alone);
    int status = mixed_roles(m);
    if (status == STATUS_OK && c->embedding != 0 &&
        strcmp(m->backends[m->backend_count - 1].role, "host") != 0)
        status = cli_usage("Add host to --backends.", "--embedding host needs the host, which is"
                           " not one of the --backends");
    if (status == STATUS_OK) status = mixed_packages(m);
    return status == STATUS_OK ? mixed_pins(m) : status;
}

/* Give each backend the rows of --op_map that are for its role or for all. Return 0 after printing
   an error. */
static int mixed_map(mixed *m, const aten *a)
{
    const op_map *map = &a->map;
    for (size_t i = 0; i < map->count; ++i) {
        size_t b = 0;
        while (b < m->backend_count && map->roles[i] != NULL &&
               (strcmp(m->backends[b].role, "host") == 0 ||
                strcmp(m->backends[b].role, map->roles[i]) != 0)) ++b;
        if (b < m->backend_count || map->roles[i] == NULL) continue;
        fail(a->t, NULL, "Name a role of --backends, except the host.",
             "%s: operator \"%s\": no backend has the role \"%s\"",
             a->t->set.compile.op_map, map->names[i], map->roles[i]);
        return 0;
    }
    for (size_t b = 0; b < m->backend_count && map->count > 0; ++b) {
        qnnrt_lower_custom *rows = cli_alloc(map->count, sizeof(*rows));
        m->backends[b].custom = rows;
        for (size_t i = 0; i < map->count; ++i)
            if (map->roles[i] == NULL || strcmp(map->roles[i], m->backends[b].role) == 0)
                rows[m->backends[b].custom_count++] = map->rows[i];
    }
    return 1;
}

static void mixed_told(void *user, const char *text)
{
    say(user, "moved     %s\n", text);
}

/* Open the backends. Return 0 after printing an error. */
static int mixed_open(mixed *m)
{
    tool *t = m->a->t;
    for (size_t i = 0; i < m->backend_count; ++i) {
        qnnrt_compile_backend *backend = &m->backends[i];
        qnnrt_backend_desc desc;
        qnnrt_error err;
        if (strcmp(backend->role, "host") == 0) continue;
        backend_options(t, &desc);
        desc.soc_model = 0;                      /* the builder's descriptor has it */
        desc.path = mixed_library(&t->set, backend->role, i == 0);
        if (qnnrt_backend_open(&desc, &backend->backend, &err) != QNNRT_OK) {
            fail_backend(t, &err);
            return 0;
        }
        backend->builder = compile_builder(t);
        backend->builder.no_validate = t->set.compile.no_validate;
        say_backend(t, backend->backend, backend->role, 0);
        if (!register_packages(t, backend->backend, backend->role, i == 0)) return 0;
    }
    return 1;
}

/* Name and size of a file that was written. */
static char *mixed_path(mixed *m, char *path)
{
    m->paths = cli_grow(m->paths, m->path_count, &m->path_room, sizeof(*m->paths));
    m->paths[m->path_count++] = path;
    return path;
}

static const char *mixed_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Write a constant of the host to a file. Return 0 after printing an error. */
static int mixed_constant(mixed *m, size_t number, const char *path)
{
    const qnnrt_compile_constant *constant =
        &qnnrt_compile_get_info(m->program)->constants[number];
    void *data = cli_alloc((size_t)constant->bytes, 1);
    qnnrt_error err;
    int good = qnnrt_compile_load(m->program, number, data, &err) == QNNRT_OK;
    if (!good) fail(m->a->t, NULL, cli_hint(&err), "%s", cli_told(&err));
    else if (!(good = cli_write_file(path, data, (size_t)constant->bytes, 0)))
        fail(m->a->t, NULL, CLI_WRITE_HINT, "cannot write %s: %s", path, strerror(errno));
    free(data);
    return good;
}

/* Write the program of the folder. Return 0 after printing an error. */
static int mixed_manifest(mixed *m, const qnnrt_manifest_context *contexts,
                          const qnnrt_manifest_constant *constants)
{
    tool *t = m->a->t;
    const qnnrt_compile_info *info = qnnrt_compile_get_info(m->program);
    qnnrt_manifest_pipeline *pipelines = cli_alloc(info->graph_count, sizeof(*pipelines));
    char *path = cli_text("%s/qnnrt.json", t->set.output_dir);
    qnnrt_manifest_desc desc = {0};
    page p = {NULL, 0, 0};
    qnnrt_error err;
    for (size_t i = 0; i < info->graph_count; ++i) {
        pipelines[i].desc = *info->graphs[i].pipeline;
        pipelines[i].conversions = info->graphs[i].conversions;
    }
    desc.contexts = contexts;
    desc.context_count = info->context_count;
    desc.constants = constants;
    desc.constant_count = info->constant_count;
    desc.pipelines = pipelines;
    desc.pipeline_count = info->graph_count;
    if (m->a->decoder != NULL) desc.more = decoder_settings;
    else if (t->set.compile.kv_rows) desc.more = kv_settings;
    desc.more_user = m->a->decoder != NULL ? (void *)m->a->decoder : (void *)m->a->kv;
    int good = qnnrt_manifest_write(&desc, json_to_page, &p, &err) == QNNRT_OK;
    if (!good) fail(t, NULL, cli_hint(&err), "%s: %s", path, cli_told(&err));
    good = good && write_page(t, path, &p, 1);
    if (good) mixed_path(m, path);
    else free(path);
    free(p.data);
    free(pipelines);
    return good;
}

/* Write the parts that the host computes. Return 0 after printing an error. */
static int mixed_host(mixed *m)
{
    tool *t = m->a->t;
    const qnnrt_compile_info *info = qnnrt_compile_get_info(m->program);
    qnnrt_cpu_fallback_entry *parts;
    size_t count = 0;
    for (size_t i = 0; i < info->graph_count; ++i)
        for (size_t k = 0; k < info->graphs[i].step_count; ++k)
            count += info->graphs[i].steps[k].context == SIZE_MAX;
    if (count == 0) return 1;
    parts = cli_alloc(count, sizeof(*parts));
    count = 0;
    for (size_t i = 0; i < info->graph_count; ++i)
        for (size_t k = 0; k < info->graphs[i].step_count; ++k)
            if (info->graphs[i].steps[k].context == SIZE_MAX) {
                parts[count].name = info->graphs[i].steps[k].name;
                parts[count++].part = info->graphs[i].steps[k].ir;
            }
    char *path = cli_text("%s/host.json", t->set.output_dir);
    page p = {NULL, 0, 0};
    qnnrt_error err;
    int good = qnnrt_cpu_fallback_write(parts, count, json_to_page, &p, &err) == QNNRT_OK;
    if (!good) fail(t, NULL, cli_hint(&err), "%s: %s", path, cli_told(&err));
    good = good && write_page(t, path, &p, 1);
    if (good) mixed_path(m, path);
    else free(path);
    free(p.data);
    free(parts);
    return good;
}

/* Save everything below `path`, the name without ".bin". Return 0 after printing an error: then
   nothing was written. */
static int mixed_save(mixed *m, const char *path)
{
    tool *t = m->a->t;
    const qnnrt_compile_info *info = qnnrt_compile_get_info(m->program);
    qnnrt_manifest_context *contexts = cli_alloc(info->context_count, sizeof(*contexts));
    qnnrt_manifest_constant *constants = cli_alloc(info->constant_count, sizeof(*constants));
    char **hashes = cli_alloc(info->context_count, sizeof(*hashes)), *missing = NULL;
    qnnrt_error err;
    cli_hold();                                  /* a signal leaves no part of the files */
    int good = compile_folder(t, 0, &missing);
    for (size_t i = 0; i < info->context_count && good; ++i) {
        const qnnrt_compile_context *context = &info->contexts[i];
        const char *role = m->backends[context->backend].role;
        char *file = info->context_count == 1
                         ? cli_text("%s.bin", path)
                         : cli_text("%s_%s_%lu.bin", path, role, (unsigned long)context->number);
        good = qnnrt_save(context->model, context->number, file, &err) == QNNRT_OK;
        if (!good) fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        contexts[i].file = mixed_base(file);
        contexts[i].role = role;
        if (good) mixed_path(m, file);
        if (good) contexts[i].sha256 = hashes[i] = hash_context(t, file);
        else free(file);
        good = hashes[i] != NULL;
    }
    for (size_t i = 0; i < info->constant_count && good; ++i) {
        const qnnrt_compile_constant *from = &info->constants[i];
        char *file = cli_text("%s_host_%lu.raw", path, (unsigned long)i);
        good = mixed_constant(m, i, file);
        constants[i].tensor.name = from->name;
        constants[i].file = mixed_base(file);
        constants[i].tensor.dtype = from->dtype;
        constants[i].tensor.rank = from->rank;
        constants[i].tensor.dims = from->dims;
        constants[i].data = from->data;
        if (good) mixed_path(m, file);
        else free(file);
    }
    good = good && mixed_host(m) && mixed_manifest(m, contexts, constants);
    while (!good && m->path_count > 0) {
        unlink(m->paths[--m->path_count]);
        free(m->paths[m->path_count]);
    }
    if (!good && missing != NULL) cli_remove_folders(t->set.output_dir, missing);
    cli_release();
    for (size_t i = 0; i < info->context_count; ++i) free(hashes[i]);
    free(hashes);
    free(missing);
    free(contexts);
    free(constants);
    return good;
}

/* =====================================================================================
   CHOICES                                                                      >>choices
   What --backends decided: steps for everyone, each node with --explain_plan.
   ===================================================================================== */

/* Return the role of a backend of a plan; -1: memory of the host. */
static const char *choice_role(const mixed *m, int32_t backend)
{
    return backend >= 0 ? m->backends[backend].role : "host";
}

/* Add each node with its candidates, and why it is where it is. */
static void choice_nodes(page *out, const mixed *m, const qnnrt_compile_graph *graph)
{
    const qnnrt_partition_info *plan = graph->partition;
    for (size_t i = 0; i < plan->choice_count; ++i) {
        const qnnrt_partition_choice *choice = &plan->choices[i];
        page p = {NULL, 0, 0};
        page_text(&p, "");
        for (size_t b = 0; b < m->backend_count; ++b)
            if (choice->candidates >> b & 1)
                page_add(&p, "%s%s", p.used > 0 ? "," : "", m->backends[b].role);
        page_add(out, "  %-28s %-34s step %-3lu %-6s of %-14s %s\n", graph->ir->nodes[i]->name,
            graph->ir->nodes[i]->op, (unsigned long)choice->step, choice_role(m, choice->backend),
            p.data, choice->why);
        for (size_t b = 0; b < m->backend_count; ++b) {
            const char *why = plan->refusals[i * m->backend_count + b];
            if (why != NULL) page_add(out, "    not %s: %s\n", m->backends[b].role, why);
        }
        free(p.data);
    }
}

/* Add the plan of a graph, with each node or without. */
static void choice_graph(page *out, const mixed *m, const qnnrt_compile_graph *graph, int nodes)
{
    const qnnrt_partition_info *plan = graph->partition;
    if (plan == NULL) return;
    page_add(out, "\nplan      graph \"%s\": %lu nodes in %lu step%s, %lu transfer%s, %llu bytes\n",
        graph->name, (unsigned long)graph->ir->node_count, (unsigned long)plan->step_count,
        cli_plural(plan->step_count), (unsigned long)plan->transfer_count,
        cli_plural(plan->transfer_count), (unsigned long long)plan->after.bytes);
    page_add(out, "          estimated %.6g us, %.6g of it work; in the order of the nodes: %lu"
             " steps, %.6g us\n", plan->after.cost, plan->after.work,
             (unsigned long)plan->before.steps, plan->before.cost);
    for (size_t i = 0; i < plan->step_count; ++i) {
        const qnnrt_partition_step *step = &plan->steps[i];
        for (size_t k = 0; k < plan->transfer_count; ++k) {
            const qnnrt_partition_transfer *move = &plan->transfers[k];
            if (move->before_step != i) continue;
            page_add(out, "           \"%s\" from %s to %s, %llu bytes\n",
                     graph->ir->values[move->value]->name, choice_role(m, move->from),
                     choice_role(m, move->to), (unsigned long long)move->bytes);
        }
        page_add(out, "  step %-3lu %-6s %lu nodes, \"%s\" to \"%s\"", (unsigned long)i,
            choice_role(m, step->backend), (unsigned long)step->node_count,
            graph->ir->nodes[step->nodes[0]]->name,
            graph->ir->nodes[step->nodes[step->node_count - 1]]->name);
        if (graph->step_count > i && graph->steps[i].op_count > 0)
            page_add(out, ", %lu operators", (unsigned long)graph->steps[i].op_count);
        page_add(out, "\n");
    }
    for (size_t i = 0; i < plan->state_count; ++i)
        page_add(out, "  state    %s: %s: %s\n", choice_role(m, plan->states[i].owner),
            plan->states[i].name, plan->states[i].why);
    if (nodes) choice_nodes(out, m, graph);
}

/* Add the costs, and the plans of all graphs. */
static void choice_all(page *out, const mixed *m, int nodes)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(m->program);
    page_add(out, "\ncosts     a step %g us, a transfer %g us and %g us for a byte; operations in a"
                  " us:", info->costs.per_step, info->costs.per_crossing, info->costs.per_byte);
    for (size_t i = 0; i < info->backend_count; ++i)
        page_add(out, " %s %g", info->backends[i].role, info->backends[i].speed);
    page_text(out, "\n");
    for (size_t i = 0; i < info->graph_count; ++i)
        choice_graph(out, m, &info->graphs[i], nodes);
    if (info->flushed > 0)
        page_add(out, "note      %llu values of weights are 0 in float16\n",
                 (unsigned long long)info->flushed);
    if (info->clamped > 0)
        page_add(out, "note      %llu values of constants are too large for float16 and became its"
                      " largest number\n", (unsigned long long)info->clamped);
}

/* Print what was decided. */
static void choices(const mixed *m)
{
    const qnnrt_compile_info *info = qnnrt_compile_get_info(m->program);
    page p = {NULL, 0, 0};
    choice_all(&p, m, m->a->t->set.compile.explain);
    say(m->a->t, "%s", p.data);
    free(p.data);
    for (size_t i = 0; i < info->backend_count && info->smalls != NULL; ++i) {
        char *on = cli_text(" on %s", info->backends[i].role);
        small_say(m->a->t, info->smalls[i].list, info->smalls[i].count, on);
        free(on);
    }
}

/* Write the report, of a compilation that failed, too. */
static void choices_report(const mixed *m)
{
    const aten *a = m->a;
    page p = {NULL, 0, 0};
    if (a->t->set.compile.report == NULL || m->program == NULL) return;
    const qnnrt_compile_info *info = qnnrt_compile_get_info(m->program);
    for (size_t i = 0; i < info->backend_count; ++i) {
        const qnnrt_backend_info *backend = info->backends[i].backend == NULL ? NULL
                                    : qnnrt_backend_get_info(info->backends[i].backend);
        if (backend == NULL) page_add(&p, "%s: computes in float32\n", info->backends[i].role);
        else page_add(&p, "%s: %s, build %s\n", info->backends[i].role, backend->provider,
                      backend->build_id);
    }
    choice_all(&p, m, 1);
    if (info->move_count > 0) page_text(&p, "\nmoved\n");
    for (size_t i = 0; i < info->move_count; ++i)
        page_add(&p, "  graph \"%s\": node \"%s\" (%s) away from %s: %s\n", info->moves[i].graph,
                 info->moves[i].node, info->moves[i].op, info->moves[i].role, info->moves[i].why);
    for (size_t i = 0; i < info->backend_count && info->smalls != NULL; ++i) {
        char *on = cli_text(" on %s", info->backends[i].role);
        small_report(&p, info->smalls[i].list, info->smalls[i].count, on);
        free(on);
    }
    fate_end_page(a, &p, m->paths, m->path_count);
}

/* Find out which backends have a context in the program of the folder. */
static void mixed_used(const mixed *m, char used[ROLES_MOST + 1])
{
    enum { MOST = 1 << 26 };
    char *path = cli_text("%s/qnnrt.json", m->a->t->set.output_dir);
    size_t bytes = 0;
    char *text = cli_read_file(path, MOST, &bytes);
    qnnrt_json_reader r;
    memset(used, 0, ROLES_MOST + 1);
    if (text != NULL) qnnrt_json_begin(&r, text, bytes, NULL);
    while (text != NULL) {
        const int string = qnnrt_json_value(&r) == QNNRT_JSON_STRING;
        for (size_t i = 0; string && i < m->backend_count; ++i)
            if (qnnrt_json_is(&r.key, "backend") && qnnrt_json_is(&r.value, m->backends[i].role))
                used[i] = 1;
        while (r.error == NULL && r.depth > 0 && !qnnrt_json_more(&r)) {}
        if (r.error != NULL || r.depth == 0) break;
    }
    free(text);
    free(path);
}

/* Open the folder with the backends that compiled it, and compare all graphs. Return 0 if that is
   not wanted. */
static int mixed_verify(mixed *m)
{
    aten *a = m->a;
    tool *t = a->t;
    const qnnrt_lower_desc lowered = aten_desc(a);
    qnnrt_manifest_role roles[ROLES_MOST];
    char used[ROLES_MOST + 1];
    qnnrt_cpu_fallback *host = NULL;
    qnnrt_manifest_open_desc desc = {0};
    qnnrt_manifest *model = NULL;
    qnnrt_error err;
    int half = lowered.compute == QNNRT_DTYPE_F16;
    if (t->set.compile.verify == 0) return 0;
    memset(roles, 0, sizeof(roles));
    mixed_used(m, used);
    for (size_t i = 0; i < m->backend_count; ++i) {
        qnnrt_backend *backend = m->backends[i].backend;
        if (backend == NULL || !used[i]) continue;       /* it has no step */
        roles[desc.backend_count].role = m->backends[i].role;
        roles[desc.backend_count++].backend = backend;
        half |= qnnrt_lower_target_of(qnnrt_backend_get_info(backend)) == QNNRT_LOWER_HTP;
    }
    desc.backends = roles;
    desc.model.system_path = t->set.system;
    qnnrt_result result = qnnrt_cpu_fallback_open(t->set.output_dir, NULL, &host, &err);
    if (result == QNNRT_OK) {
        desc.host_functions = qnnrt_cpu_fallback_functions(host, &desc.host_function_count);
        result = qnnrt_manifest_open(t->set.output_dir, &desc, &model, &err);
    }
    if (result == QNNRT_OK) result = qnnrt_lower_create(&lowered, &a->lower, &err);
    if (result != QNNRT_OK) fail(t, NULL, cli_hint(&err), "--verify: %s", cli_told(&err));
    for (size_t i = 0; i < a->graph_count && result == QNNRT_OK; ++i)
        verify_graph(a, model, i, half, 1);
    qnnrt_manifest_close(model);
    qnnrt_cpu_fallback_close(host);
    return 1;
}

/* Return what all programs have in common. */
static qnnrt_compile_desc mixed_desc(const mixed *m)
{
    const compile_settings *c = &m->a->t->set.compile;
    qnnrt_compile_desc desc = {0};
    desc.backends = m->backends;
    desc.backend_count = m->backend_count;
    desc.pins = m->pins;
    desc.pin_count = m->pin_count;
    desc.state_error = c->state_policy == 1;
    desc.lower = aten_desc(m->a);
    desc.lower.no_ask = c->no_ask || c->no_validate;
    desc.state_hint = "Keep it on the host with --state_policy host.";
    return desc;
}

/* Return true if a backend computes with codes. */
static int mixed_has_codes(const qnnrt_backend *backend)
{
    return backend != NULL &&
           qnnrt_lower_target_of(qnnrt_backend_get_info(backend)) != QNNRT_LOWER_CPU;
}

/* Calibrate a step of a plan. Return 0 after printing an error. */
static int mixed_calibrate_step(mixed *m, qnnrt_compile *program, size_t graph, size_t step)
{
    aten *a = m->a;
    const compile_settings *set = &a->t->set.compile;
    const qnnrt_compile_graph *whole = &qnnrt_compile_get_info(program)->graphs[graph];
    const size_t backend = whole->steps[step].backend;
    const qnnrt_lower_desc lowered = aten_desc(a);
    const uint64_t begin = cli_now_ns();
    qnnrt_compile_watched watched;
    calibration c = {0};
    qnnrt_error err;
    c.a = a;
    c.g = &a->graphs[graph];
    c.list = set->calibrate.items[set->calibrate.count == 1 ? 0 : graph];
    c.ir = (qnnrt_ir *)(uintptr_t)whole->ir;
    c.name = mixed_keep(m, cli_text("%s", whole->steps[step].name));
    c.half = lowered.compute == QNNRT_DTYPE_F16 ||
             (lowered.compute == (qnnrt_dtype)0 &&
              qnnrt_lower_target_of(qnnrt_backend_get_info(m->backends[backend].backend)) ==
                  QNNRT_LOWER_HTP);
    qnnrt_result result = qnnrt_compile_watch(program, graph, step, &watched, &err);
    if (result == QNNRT_OK) result = qnnrt_prepare(watched.model, c.name, &c.run, &err);
    if (result != QNNRT_OK)
        fail(a->t, NULL, cli_hint(&err), "calibration of graph \"%s\": %s", c.name, cli_told(&err));
    int good = result == QNNRT_OK;
    if (good) {
        c.part = watched.ir;
        c.lower = watched.lower;
        c.fed = cli_alloc(c.part->input_count, sizeof(*c.fed));
        for (size_t i = 0; i < c.part->input_count; ++i)
            c.fed[i] = cli_alloc((size_t)c.part->inputs[i]->count, sizeof(double));
        good = calibrate_run(&c, begin);
        for (size_t i = 0; i < c.part->input_count; ++i) free(c.fed[i]);
        free(c.fed);
    }
    qnnrt_run_destroy(c.run);
    qnnrt_compile_unwatch(&watched);
    return good;
}

/* Plan the graphs in floats, and calibrate the steps of backends that compute with codes. Return 0
   after printing an error. */
static int mixed_calibrate(mixed *m)
{
    aten *a = m->a;
    qnnrt_compile_desc desc = mixed_desc(m);
    qnnrt_ir **graphs = cli_alloc(a->graph_count, sizeof(*graphs));
    qnnrt_compile *program = NULL;
    qnnrt_error err;
    desc.lower.act_bits = 0;
    desc.lower.encodings = NULL;
    desc.lower.encoding_count = 0;
    qnnrt_result result = qnnrt_compile_create(&desc, &program, &err);
    for (size_t i = 0; i < a->graph_count && result == QNNRT_OK; ++i) {
        const aten_graph *g = &a->graphs[i];
        result = qnnrt_ir_read(g->text, g->bytes, NULL, &graphs[i], &err);
        if (result == QNNRT_OK) result = qnnrt_ir_check(graphs[i], NULL, NULL, &err);
        if (result == QNNRT_OK)
            result = qnnrt_compile_add(program, graphs[i], g->weights, g->name, &err);
    }
    if (result == QNNRT_OK) result = qnnrt_compile_plan(program, &err);
    if (result != QNNRT_OK) fail(a->t, NULL, cli_hint(&err), "calibration: %s", cli_told(&err));
    int good = result == QNNRT_OK;
    const qnnrt_compile_info *info = good ? qnnrt_compile_get_info(program) : NULL;
    for (size_t i = 0; good && i < info->graph_count; ++i)
        for (size_t k = 0; k < info->graphs[i].step_count && good; ++k)
            if (mixed_has_codes(m->backends[info->graphs[i].steps[k].backend].backend))
                good = mixed_calibrate_step(m, program, i, k);
    qnnrt_compile_free(program);
    for (size_t i = 0; i < a->graph_count; ++i) qnnrt_ir_free(graphs[i]);
    free(graphs);
    return good;
}

/* Find the ranges of activations, if they are to be codes. Return 0 after printing an error. */
static int mixed_ranges(mixed *m)
{
    aten *a = m->a;
    size_t i = 0;
    if (!codes_wanted(&a->t->set.compile)) return 1;
    while (i < m->backend_count && !mixed_has_codes(m->backends[i].backend)) ++i;
    if (i == m->backend_count) {
        fail(a->t, NULL, "Name a library that computes with codes, such as libQnnHtp.so.",
             "none of the --backends computes with activations as codes");
        return 0;
    }
    return encodings_read(a) &&
           (a->t->set.compile.calibrate.count == 0 || mixed_calibrate(m));
}

/* Compile for several backends, and write the folder. Return 0 after printing an error. */
static int mixed_compile(mixed *m, const char *path)
{
    aten *a = m->a;
    tool *t = a->t;
    qnnrt_compile_desc desc;
    progress shown;
    qnnrt_error err;
    int good = 1;
    progress_begin(&shown, &t->set);
    for (size_t i = 0; i < m->backend_count; ++i) {
        m->backends[i].builder.progress = progress_build;
        m->backends[i].builder.progress_user = &shown;
    }
    desc = mixed_desc(m);
    desc.told = mixed_told;
    desc.told_user = t;
    if (qnnrt_compile_create(&desc, &m->program, &err) != QNNRT_OK) {
        fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        return 0;
    }
    for (size_t i = 0; i < a->weights_count; ++i) aten_surplus(a, i);
    for (size_t i = 0; i < a->graph_count; ++i) {
        aten_graph *g = &a->graphs[i];
        const qnnrt_result result = qnnrt_compile_add(m->program, g->ir, g->weights, g->name, &err);
        if (result == QNNRT_E_NOT_FOUND || result == QNNRT_E_MISMATCH) aten_missing(a, g, &err);
        else if (result != QNNRT_OK)
            fail(t, NULL, cli_hint(&err), "%s: %s", g->file, cli_told(&err));
        if (result != QNNRT_OK) good = 0;
    }
    if (!good) return 0;
    const uint64_t begin = cli_now_ns();
    const qnnrt_result result = qnnrt_compile_build(m->program, &err);
    cli_busy_end();
    aten_spent(a, ATEN_BUILD, begin);
    if (result != QNNRT_OK) {
        static const char no_node[] = "no graph has a node \"";
        const char *node = strncmp(err.text, no_node, sizeof(no_node) - 1) == 0
            ? err.text + sizeof(no_node) - 1 : NULL;
        const char *near = node != NULL ? aten_nearest(a, node, strcspn(node, "\"")) : NULL;
        char *hint = near != NULL ? cli_text("Name the node %s.", near)
            : cli_text("%s", node == NULL ? err.hint : "Name a node as the .json file does;"
                                            " --explain_plan without --pin lists them.");
        fail(t, NULL, hint, "%s", cli_told(&err));
        free(hint);
        choices(m);
        return 0;
    }
    choices(m);
    return small_kept(t, &a->small) && mixed_save(m, path);
}

/* Close what mixed_open() and mixed_compile() made. */
static void mixed_free(mixed *m)
{
    qnnrt_compile_free(m->program);
    for (size_t i = 0; i < m->backend_count; ++i) {
        qnnrt_backend_close(m->backends[i].backend);
        free((void *)(uintptr_t)m->backends[i].custom);
    }
    for (size_t i = 0; i < m->path_count; ++i) free(m->paths[i]);
    for (size_t i = 0; i < m->word_count; ++i) free(m->words[i]);
    free(m->paths);
    free(m->words);
    free(m->pins);
    free(m->backends);
}
