/* step.c - what a step is, and where it runs

   ROOM     >>steps */
#include "run/model/model.h"

/* =====================================================================================
   STEPS                                                                           >>steps
   Texts for steps of all kinds. Only a step that is a graph has a model.
   ===================================================================================== */

/* Programs that are open: what they say of contexts holds for their steps. */
static const qnnrt_manifest *step_programs[2];

void step_add_program(const qnnrt_manifest *program)
{
    step_programs[step_programs[0] != NULL] = program;
}

void step_drop_program(const qnnrt_manifest *program)
{
    for (size_t i = 0; i < 2; ++i)
        if (step_programs[i] == program) step_programs[i] = NULL;
}

/* Return what its program says of the context of a graph, NULL for a step of no open program. */
static const qnnrt_manifest_context *step_described(const qnnrt_step_info *step)
{
    for (size_t i = 0; i < 2; ++i) {
        const qnnrt_manifest_info *info = qnnrt_manifest_get_info(step_programs[i]);
        for (size_t k = 0; info != NULL && k < info->context_count; ++k)
            if (info->contexts[k].model == step->model &&
                info->contexts[k].context == step->context) return &info->contexts[k];
    }
    return NULL;
}

qnnrt_manifest_context step_context(const qnnrt_step_info *step)
{
    qnnrt_manifest_context made = {0};
    if (step->kind != QNNRT_STEP_GRAPH) return made;
    const qnnrt_manifest_context *described = step_described(step);
    if (described != NULL) return *described;
    made.role = "";
    made.info = &qnnrt_get_info(step->model)->contexts[step->context];
    made.file = made.info->file;
    return made;
}

size_t step_number(const qnnrt_step_info *step)
{
    const qnnrt_manifest_context *at = step_described(step);
    for (size_t i = 0; i < 2; ++i) {
        const qnnrt_manifest_info *info = qnnrt_manifest_get_info(step_programs[i]);
        if (info != NULL && at >= info->contexts && at < info->contexts + info->context_count)
            return (size_t)(at - info->contexts);
    }
    return step->context;
}

char *step_place(const qnnrt_step_info *step)
{
    const qnnrt_manifest_context context = step_context(step);
    if (context.info == NULL) return cli_text("host");
    const char *name = cli_backend_name(context.info->backend_id);
    if (context.role[0] == '\0') return cli_text("%s", name);
    OWNED char *role = cli_shown(context.role);
    return cli_text("%s (%s)", role, name);
}

int is_elsewhere(const qnnrt_step_info *a, const qnnrt_step_info *b)
{
    OWNED char *x = step_place(a), *y = step_place(b);
    return strcmp(x, y) != 0;
}

size_t *number_backends(const qnnrt_pipeline_info *info, size_t *count)
{
    size_t *numbers = cli_alloc(info->step_count, sizeof(*numbers));
    OWNED const qnnrt_step_info **firsts = cli_alloc(info->step_count, sizeof(*firsts));
    *count = 0;
    for (size_t i = 0; i < info->step_count; ++i) {
        size_t k = 0;
        if (info->steps[i].kind != QNNRT_STEP_GRAPH) continue;
        while (k < *count && is_elsewhere(&info->steps[i], firsts[k])) ++k;
        if (k == *count) firsts[(*count)++] = &info->steps[i];
        numbers[i] = k;
    }
    return numbers;
}

int is_mixed(const qnnrt_pipeline_info *info)
{
    for (size_t i = 0; i < info->step_count; ++i)
        if (info->steps[i].kind != QNNRT_STEP_GRAPH ||
            is_elsewhere(&info->steps[i], &info->steps[0])) return 1;
    return 0;
}

char *step_text(const qnnrt_step_info *step, const char *arrow)
{
    char text[1024], *shown = cli_shown(qnnrt_step_text(step, text, sizeof(text))), *at = NULL;
    for (char *next = shown; (next = strstr(next, " -> ")) != NULL; ++next) at = next;
    if (step->kind != QNNRT_STEP_DERIVED || at == NULL) return shown;
    char *made = cli_text("%.*s %s %s", (int)(at - shown), shown, arrow, at + 4);
    free(shown);
    return made;
}

char *step_file(const qnnrt_step_info *step)
{
    const qnnrt_manifest_context context = step_context(step);
    if (context.info == NULL) return step_text(step, "\xE2\x86\x92");
    const char *slash = strrchr(context.file, '/');
    return cli_shown(slash != NULL ? slash + 1 : context.file);
}

int is_made_up(const char *name)
{
    return strncmp(name, "QNNExecutionProvider", 20) == 0 ||
        strncmp(name, "QNN_main_graph", 14) == 0 || strstr(name, "_QNNExecutionProvider_") != NULL;
}

char *graph_label(const qnnrt_step_info *step)
{
    if (!is_made_up(step->graph->name)) return cli_shown(step->graph->name);
    char *file = step_file(step), *dot = strrchr(file, '.');
    if (dot != NULL && dot != file) *dot = '\0';
    return file;
}

char *pipeline_label(const qnnrt_pipeline_info *info)
{
    const qnnrt_step_info *last = info->steps + info->step_count - (info->step_count > 0);
    if (!is_made_up(info->name) || info->step_count == 0 ||
        info->steps[0].kind != QNNRT_STEP_GRAPH || last->kind != QNNRT_STEP_GRAPH)
        return cli_shown(info->name);
    OWNED char *a = graph_label(&info->steps[0]), *b = graph_label(last);
    return info->step_count == 1 ? cli_text("%s", a)
                                 : cli_text("%s \xE2\x80\xA6 %s", a, b);
}
