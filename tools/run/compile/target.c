/* target.c - which libraries compile

   ROOM     >>target */
#include "run/compile/aten.h"
#include "run/model/model.h"
#include "run/show/show.h"

#include "cli/stages.h"

/* =====================================================================================
   TARGET                                                                        >>target
   The library of --backend_so, or those of --backends by role, with pins and op packages.
   ===================================================================================== */

char *target_keep(aten *a, char *text)
{
    compile_target *m = &a->target;
    m->words = cli_grow(m->words, m->word_count, &m->word_room, sizeof(*m->words));
    m->words[m->word_count++] = text;
    return text;
}

/* Return the library of a role: --backend_so ROLE=FILE, or FILE for the first one; NULL: none. */
static const char *target_library(const settings *set, const char *role, int first)
{
    for (size_t i = 0; i < set->role_count; ++i)
        if (strcmp(set->roles[i].role, role) == 0) return set->roles[i].file;
    return first ? set->backend : NULL;
}

/* Return the number of the backend with a role; m->backend_count: none has it. */
static size_t target_of(const compile_target *m, const char *role)
{
    size_t k = 0;
    while (k < m->backend_count && strcmp(m->backends[k].role, role) != 0) ++k;
    return k;
}

/* Read --backends A,B,host. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int target_roles(aten *a)
{
    const settings *set = &a->t->set;
    compile_target *m = &a->target;
    char *word = target_keep(a, cli_text("%s", set->compile->backends));
    m->backends = cli_alloc(ROLES_MOST + 1, sizeof(*m->backends));
    while (word != NULL) {
        char *comma = strchr(word, ',');
        if (comma != NULL) *comma++ = '\0';
        if (word[0] == '\0' || m->backend_count > ROLES_MOST)
            return cli_usage("Write --backends npu,cpu,host.", "--backends takes 1 to %d roles,"
                             " separated by commas", ROLES_MOST);
        if (target_of(m, word) < m->backend_count)
            return cli_usage(NULL, "--backends has the role \"%s\" twice", word);
        if (m->backend_count > 0 && strcmp(m->backends[m->backend_count - 1].role, "host") == 0)
            return cli_usage("Put host at the end.", "--backends has a role after host");
        if (strcmp(word, "host") != 0 && target_library(set, word, m->backend_count == 0) == NULL)
            return cli_usage("Name the library with --backend_so ROLE=FILE.",
                             "--backends has the role \"%s\", which has no library", word);
        m->backends[m->backend_count++].role = word;
        word = comma;
    }
    if (strcmp(m->backends[0].role, "host") == 0 && set->backend != NULL)
        return cli_usage("Leave it out.", "--backend_so names a library, and --backends the host"
                         " alone");
    for (size_t i = 0; i < set->role_count; ++i)
        if (target_of(m, set->roles[i].role) == m->backend_count)
            return cli_usage("Add it to --backends.", "--backend_so names a library for \"%s\","
                             " which is not one of the --backends", set->roles[i].role);
    return STATUS_OK;
}

/* Read --speed ROLE=N,BYTES,NODE,STEP; the last three may be absent. Returns STATUS_OK, or
   STATUS_USAGE after a message. */
static int target_speed(aten *a, const char *text)
{
    compile_target *m = &a->target;
    char *role = target_keep(a, cli_text("%s", text)), *at = strchr(role, '=');
    double numbers[4] = {0, 0, 0, 0};
    if (at != NULL) *at++ = '\0';
    for (size_t i = 0; at != NULL && i < 4; ++i) {
        char *end = NULL;
        numbers[i] = strtod(at, &end);
        if (end == at || !(numbers[i] > 0) || numbers[i] > 1e12) at = NULL;
        else if (*end == '\0') break;
        else at = *end == ',' && i < 3 ? end + 1 : NULL;
    }
    if (at == NULL)
        return cli_usage("Write --speed ROLE=N, such as npu=1000000.",
                         "--speed takes a role and one to four positive numbers, not \"%s\"", text);
    const size_t k = target_of(m, role);
    if (k == m->backend_count)
        return cli_usage("Add it to --backends.", "--speed %s=: no backend has this role", role);
    m->backends[k].speed = numbers[0];
    m->backends[k].bandwidth = numbers[1];
    m->backends[k].per_node = numbers[2];
    m->backends[k].per_step = numbers[3];
    return STATUS_OK;
}

/* Read --pin, or --pin_inputs, which are NODE=ROLE. Returns STATUS_OK, or STATUS_USAGE after a
   message. */
static int target_pin(aten *a, const cli_list *list, const char *option)
{
    compile_target *m = &a->target;
    for (size_t i = 0; i < list->count; ++i) {
        char *node = target_keep(a, cli_text("%s", list->items[i])), *role = strrchr(node, '=');
        if (role == NULL || role == node || role[1] == '\0') {
            OWNED char *hint = cli_text("Write %s NODE=ROLE.", option);
            return cli_usage(hint, "%s takes NODE=ROLE, not \"%s\"", option, node);
        }
        *role++ = '\0';
        if (target_of(m, role) == m->backend_count)
            return cli_usage("Add it to --backends.", "%s %s=%s: no backend has this role", option,
                             node, role);
        m->pins[m->pin_count].node = node;
        m->pins[m->pin_count].with_inputs = list == &a->t->set.compile->pins_inputs;
        m->pins[m->pin_count++].role = role;
    }
    return STATUS_OK;
}

/* Read pins and --speed. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int target_pins(aten *a)
{
    const compile_settings *c = a->t->set.compile;
    compile_target *m = &a->target;
    m->pins = cli_alloc(c->pins.count + c->pins_inputs.count + 1, sizeof(*m->pins));
    if (c->embedding != 0) {
        m->pins[m->pin_count].node = QNNRT_LLM_GRAPH_LOOK_UP;
        m->pins[m->pin_count++].role = "host";
    }
    if (target_pin(a, &c->pins, "--pin") != STATUS_OK ||
        target_pin(a, &c->pins_inputs, "--pin_inputs") != STATUS_OK)
        return STATUS_USAGE;
    for (size_t i = 0; i < c->speeds.count; ++i) {
        const int result = target_speed(a, c->speeds.items[i]);
        if (result != STATUS_OK) return result;
    }
    return STATUS_OK;
}

/* Check the roles of --op_package. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int target_packages(const aten *a)
{
    const compile_target *m = &a->target;
    const char *roles[ROLES_MOST + 1];
    size_t count = 0;
    for (size_t i = 0; i < m->backend_count; ++i)
        if (strcmp(m->backends[i].role, "host") != 0) roles[count++] = m->backends[i].role;
    return check_package_roles(&a->t->set, roles, count,
                               "Name a role of --backends, except the host.");
}

/* Check what --host_op goes with. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int target_functions(const aten *a)
{
    const compile_settings *c = a->t->set.compile;
    const char *runs = c->verify != 0 ? "--verify" : c->verify_nodes != 0 ? "--verify_nodes"
                       : c->calibrate.count > 0 ? "--calibrate" : NULL;
    if (strcmp(a->target.backends[a->target.backend_count - 1].role, "host") != 0)
        return cli_usage("Add host to --backends.", "--host_op needs the host, which is not one of"
                         " the --backends");
    if (runs == NULL) return STATUS_OK;
    return cli_usage("Leave it out, and compare where the function is: in C or Python.",
                     "%s runs the graph, and qnnrt-run has no function of --host_op", runs);
}

int target_check(aten *a)
{
    const settings *set = &a->t->set;
    const compile_settings *c = set->compile;
    const char *given = set->role_count > 0  ? "--backend_so ROLE=FILE"
                        : c->pins.count > 0   ? "--pin"
                        : c->pins_inputs.count > 0 ? "--pin_inputs"
                        : c->speeds.count > 0 ? "--speed"
                        : c->host_ops.count > 0 ? "--host_op"
                        : c->explain          ? "--explain_plan"
                        : c->no_ask           ? "--no_ask"
                        : c->no_validate      ? "--no_validate"
                        : c->state_policy > 0 ? "--state_policy"
                                              : NULL;
    if (c->backends == NULL && given != NULL)
        return cli_usage("Name the backends with --backends npu,cpu,host.",
                         "%s needs --backends", given);
    a->target.whole = c->backends == NULL;
    if (a->target.whole)
        return check_package_roles(set, NULL, 0, "Write --op_package PATH:PROVIDER.");
    int status = target_roles(a);
    if (status == STATUS_OK && c->embedding != 0 &&
        strcmp(a->target.backends[a->target.backend_count - 1].role, "host") != 0)
        status = cli_usage("Add host to --backends.", "--embedding host needs the host, which is"
                           " not one of the --backends");
    if (status == STATUS_OK && c->host_ops.count > 0) status = target_functions(a);
    if (status == STATUS_OK) status = target_packages(a);
    return status == STATUS_OK ? target_pins(a) : status;
}

int target_map(aten *a)
{
    compile_target *m = &a->target;
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

qnnrt_builder_desc compile_builder(const tool *t)
{
    qnnrt_builder_desc desc = {0};
    desc.soc_model = t->set.soc_model;
    desc.dsp_arch = t->set.compile->graph.arch;
    desc.system_path = t->set.system;
    return desc;
}

int target_open(aten *a)
{
    compile_target *m = &a->target;
    tool *t = a->t;
    if (m->whole) {
        m->backends = cli_alloc(1, sizeof(*m->backends));
        m->backends[m->backend_count++].role = "";
    }
    for (size_t i = 0; i < m->backend_count; ++i) {
        qnnrt_compile_backend *backend = &m->backends[i];
        qnnrt_backend_desc desc;
        qnnrt_error err;
        if (strcmp(backend->role, "host") == 0) continue;
        backend_options(t, &desc);
        desc.soc_model = 0;                      /* the builder's descriptor has it */
        if (!m->whole) desc.path = target_library(&t->set, backend->role, i == 0);
        if (qnnrt_backend_open(&desc, &backend->backend, &err) != QNNRT_OK) {
            fail_backend(t, &err);
            return 0;
        }
        if (i == 0) t->backend = backend->backend;
        backend->builder = compile_builder(t);
        backend->builder.no_validate = t->set.compile->no_validate;
        say_backend(t, backend->backend, backend->role, m->whole);
        if (!register_packages(t, backend->backend, m->whole ? NULL : backend->role, i == 0))
            return 0;
        if (!m->whole) continue;
        backend->role = manifest_role_of(qnnrt_backend_get_info(backend->backend)->id);
        if (backend->role == NULL) backend->role = "npu";
    }
    return 1;
}

int target_is_half(const aten *a, size_t backend)
{
    const compile_settings *c = a->t->set.compile;
    /* HTP computes with float32 tensors as exactly as with float16. */
    return (!c->fp32 && c->graph.fp16) ||
           qnnrt_lower_target_of(qnnrt_backend_get_info(a->target.backends[backend].backend)) ==
               QNNRT_LOWER_HTP;
}

void target_free(compile_target *m)
{
    for (size_t i = 0; i < m->backend_count; ++i) {
        qnnrt_backend_close(m->backends[i].backend);
        free((void *)(uintptr_t)m->backends[i].custom);
    }
    for (size_t i = 0; i < m->word_count; ++i) free(m->words[i]);
    free(m->words);
    free(m->pins);
    free(m->backends);
}
