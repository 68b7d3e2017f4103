/* mixed.c - several backends for one program: their libraries, and the folder

   ROOM     >>mixed */
#include "run/compile/compile.h"
#include "run/model/model.h"
#include "run/show/show.h"

#include "cli/stages.h"

/* =====================================================================================
   MIXED                                                                          >>mixed
   --backends: the backends by role, the program of all graphs, and its folder.
   ===================================================================================== */

char *mixed_keep(mixed *m, char *text)
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
    char *word = mixed_keep(m, cli_text("%s", set->compile->backends));
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
    const compile_settings *c = m->a->t->set.compile;
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

int mixed_check(mixed *m)
{
    const settings *set = &m->a->t->set;
    const compile_settings *c = set->compile;
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
    const char *alone = c->shards != 0       ? "--shards"
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

int mixed_map(mixed *m, const aten *a)
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
             a->t->set.compile->op_map, map->names[i], map->roles[i]);
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

void mixed_told(void *user, const char *text)
{
    say(user, "moved     %s\n", text);
}

int mixed_open(mixed *m)
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
        backend->builder.no_validate = t->set.compile->no_validate;
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
    else if (t->set.compile->kv_rows) desc.more = kv_settings;
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

int mixed_save(mixed *m, const char *path)
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
