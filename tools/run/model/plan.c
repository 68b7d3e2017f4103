/* plan.c - memory plans, and the tables that show pipelines

   ROOM     >>plan */
#include "run/model/model.h"

/* =====================================================================================
   PLAN                                                                           >>plan
   Plan each job's memory, and print its tensors, edges and blocks.
   ===================================================================================== */

int width_of(const char *s)
{
    return cli_width_of(s, strlen(s));
}

/* The cells of a table, and how they are laid out. */
typedef struct grid {
    const char *const *titles;         /* [columns]                                        */
    const char        *right;          /* an 'r' for each column that is aligned there     */
    char            *(*cells)[COLUMNS];
    size_t             rows, columns;
    size_t             first;          /* 1: the first cell has a line of its own          */
    int                widths[COLUMNS];
} grid;

/* Measure the columns. A name of more than 48 columns does not widen its column. Return the width
   of the lines. */
static int grid_measure(grid *g)
{
    int line = g->first != 0 ? 2 : 0, longest = 0;
    for (size_t c = g->first; c < g->columns; ++c) {
        g->widths[c] = width_of(g->titles[c]);
        for (size_t r = 0; r < g->rows; ++r) {
            const int width = width_of(g->cells[r][c]);
            if (width > g->widths[c] && (c != 0 || width <= 48)) g->widths[c] = width;
            if (c == 0 && width > longest) longest = width;
        }
        line += 2 + g->widths[c];
    }
    return g->first == 0 && longest > g->widths[0] ? line + longest - g->widths[0] : line;
}

/* Print one row; the last column is not filled with blanks. */
static void say_row(const tool *t, const grid *g, char *const *cells)
{
    OWNED page line = {NULL, 0, 0};
    if (g->first != 0) say(t, "  %s\n", cells[0]);
    if (g->first != 0) page_text(&line, "  ");
    for (size_t c = g->first; c < g->columns; ++c) {
        const int width = width_of(cells[c]);
        const int pad = g->widths[c] > width ? g->widths[c] - width : 0;
        if (c < strlen(g->right) && g->right[c] == 'r')
            page_add(&line, "  %*s%s", pad, "", cells[c]);
        else page_add(&line, "  %s%*s", cells[c], c + 1 < g->columns ? pad : 0, "");
    }
    say(t, "%s\n", line.data);
}

/* Print a row as its first cell, which is a name or a number with its title, and below that each
   other one with its title. */
static void say_record(const tool *t, const grid *g, char *const *cells)
{
    const int number = g->right[0] == 'r';
    say(t, "  %s%s%s\n", number ? g->titles[0] : "", number ? " " : "", cells[0]);
    for (size_t c = 1; c < g->columns; ++c)
        if (strcmp(cells[c], "-") != 0) say(t, "    %s %s\n", g->titles[c], cells[c]);
}

char *bytes_cell(uint64_t bytes)
{
    char *text = cli_bytes_text(bytes), *unit = strstr(text, "byte");
    if (unit != NULL) memcpy(unit, "B", 2);
    return text;
}

void say_table(const tool *t, const char *const titles[COLUMNS], const char *right,
               char *(*cells)[COLUMNS], size_t rows)
{
    const int most = cli_columns(t->out, CLI_TABLE_WIDTH);
    grid g = {titles, right, cells, rows, 0, 0, {0}};
    while (g.columns < COLUMNS && titles[g.columns] != NULL) ++g.columns;
    int list = 0;
    if (grid_measure(&g) > most) {
        g.first = 1;
        list = grid_measure(&g) > most;
    }
    char *head[COLUMNS];
    for (size_t c = 0; c < g.columns; ++c) head[c] = cli_text("%s", titles[c]);
    if (!list) say_row(t, &g, head);
    for (size_t r = 0; r < rows; ++r)
        if (list) say_record(t, &g, cells[r]);
        else say_row(t, &g, cells[r]);
    for (size_t c = 0; c < g.columns; ++c) {
        free(head[c]);
        for (size_t r = 0; r < rows; ++r) free(cells[r][c]);
    }
}

char *dims_text(const qnnrt_tensor_info *tensor)
{
    char *made = cli_text("%s", tensor->rank == 0 ? "scalar" : "");
    for (uint32_t d = 0; d < tensor->rank; ++d) {
        const int dynamic = tensor->dynamic_dims != NULL && tensor->dynamic_dims[d];
        char *longer = cli_text("%s%s%s%lu", made, d > 0 ? "x" : "", dynamic ? "<=" : "",
                                (unsigned long)tensor->dims[d]);
        free(made);
        made = longer;
    }
    return made;
}

/* Return the fewest digits that mean this float. The caller frees it. */
static char *float_text(float value)
{
    for (int digits = 1; digits < 9; ++digits) {
        char *made = cli_text("%.*g", digits, (double)value);
        if (strtof(made, NULL) == value) return made;
        free(made);
    }
    return cli_text("%.9g", (double)value);
}

char *encoding_text(const qnnrt_quant *quant)
{
    char bits[32] = "", *scale = NULL, *made = NULL;
    if (quant->bitwidth != 0)
        snprintf(bits, sizeof(bits), ", %lu bits", (unsigned long)quant->bitwidth);
    switch (quant->encoding) {
    case QNNRT_ENCODING_NONE:
        break;
    case QNNRT_ENCODING_PER_TENSOR:
        scale = float_text(quant->scale);
        made = cli_text("scale %s, offset %ld%s", scale, (long)quant->offset, bits);
        free(scale);
        return made;
    case QNNRT_ENCODING_PER_AXIS:
        return cli_text("axis %ld, %lu scales%s", (long)quant->axis, (unsigned long)quant->count,
                        bits);
    case QNNRT_ENCODING_OTHER:
        return cli_text("vendor's 0x%lx%s", (unsigned long)quant->vendor_encoding, bits);
    }
    return cli_text("-");
}

char *buffer_name(const qnnrt_pipeline_info *info, size_t buffer)
{
    const char *name = buffer < info->buffer_count ? info->buffers[buffer].name : NULL;
    return name != NULL ? cli_shown(name) : cli_text("buffer %lu", (unsigned long)buffer);
}

char *offset_text(const job *j, size_t slot)
{
    const qnnrt_place_desc *place = j->places[slot];
    if (j->blocks[slot] != NULL)
        return cli_text("%llu", (unsigned long long)j->blocks[slot]->offset);
    if (place == NULL || place->caller_io) return cli_text("-");
    OWNED char *name = buffer_name(j->info, place->buffer);
    return cli_text("%s+%llu", name, (unsigned long long)place->offset);
}

static void say_slots(const tool *t, const job *j)
{
    static const char *const titles[COLUMNS] = {"tensor", "role", "dims", "dtype", "encoding",
                                                "size", "offset",
                                                "steps"};
    const size_t count = j->info->slot_count;
    OWNED char *(*cells)[COLUMNS] = cli_alloc(count, sizeof(*cells));
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_slot *slot = &j->info->slots[i];
        const qnnrt_tensor_info *tensor = slot->tensor;
        cells[i][0] = cli_shown(slot->address);
        cells[i][1] = cli_text("%s", qnnrt_role_name(slot->role));
        cells[i][2] = dims_text(tensor);
        cells[i][3] = cli_text("%s", qnnrt_dtype_name(tensor->dtype));
        cells[i][4] = encoding_text(&tensor->quant);
        cells[i][5] = bytes_cell(tensor->bytes);
        cells[i][6] = offset_text(j, i);
        const unsigned long first = slot->first, last = slot->last;
        cells[i][7] = first == last ? cli_text("%lu", first) : cli_text("%lu-%lu", first, last);
    }
    say_table(t, titles, "     rr", cells, count);
}

static void say_peak(const tool *t, const qnnrt_plan_info *plan)
{
    OWNED char *peak = cli_bytes_text(plan->peak), *bound = cli_bytes_text(plan->bound);
    OWNED char *naive = cli_bytes_text(plan->naive);
    say(t, "  memory    peak %s, bound %s, naive %s, alignment %lu%s\n", peak, bound, naive,
        (unsigned long)plan->align,
        t->set.guard ? "; with --guard every tensor has pages of its own"
        : t->set.per_tensor ? "; with --per_tensor every tensor has a block of its own" : "");
}

void say_job(const tool *t, const job *j)
{
    const qnnrt_pipeline_info *info = j->info;
    const int mixed = is_mixed(info);
    say(t, "\npipeline %s, %lu step%s\n", j->title, (unsigned long)info->step_count,
        cli_plural(info->step_count));
    for (size_t i = 0; i < info->step_count; ++i) {
        const qnnrt_step_info *step = &info->steps[i];
        const qnnrt_manifest_context context = step_context(step);
        const int graphs = context.info != NULL;
        OWNED char *file = graphs ? cli_shown(context.file) : step_text(step, "\xE2\x86\x92");
        OWNED char *graph = cli_shown(step->graph->name), *place = step_place(step);
        say(t, "  step %lu  %s", (unsigned long)i, file);
        if (graphs) say(t, "  \"%s\"", graph);
        if (graphs && mixed) say(t, "  on %s", place);
        say(t, "\n");
    }
    if (info->failure != NULL) {
        say_error(t, "not wired", info->failure);
        return;
    }
    if (t->set.command == COMMAND_RUN) say_slots(t, j);
    for (size_t i = 0; i < info->slot_count; ++i) {
        if (j->names[i] == NULL) continue;
        const qnnrt_slot *slot = &info->slots[i];
        OWNED char *name = cli_shown(j->names[i]), *tensor = cli_shown(slot->tensor->name);
        say(t, "  \"%s\" is %s \"%s\" of step %lu\n", name, qnnrt_role_name(slot->role), tensor,
            (unsigned long)slot->first);
    }
    for (size_t i = 0; i < info->slot_count; ++i) {
        if (!info->slots[i].has_range) continue;
        OWNED char *name = cli_shown(info->slots[i].address);
        say(t, "  \"%s\" takes values from %ld to %ld\n", name, (long)info->slots[i].low,
            (long)info->slots[i].high);
    }
    for (size_t i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *edge = &info->edges[i];
        OWNED char *from = cli_shown(edge->from->name), *to = cli_shown(edge->to->name);
        say(t, "  step %lu \"%s\" -> step %lu \"%s\": %s\n", (unsigned long)edge->from_step, from,
            (unsigned long)edge->to_step, to, edge->reason);
    }
    if (j->plan_info != NULL) say_peak(t, j->plan_info);
}

static int compare_blocks(const void *a, const void *b)
{
    const qnnrt_plan_block *const *x = a, *const *y = b;
    if ((*x)->offset != (*y)->offset) return (*x)->offset < (*y)->offset ? -1 : 1;
    return ((*x)->first > (*y)->first) - ((*x)->first < (*y)->first);
}

const qnnrt_plan_block **sorted_blocks(const qnnrt_plan_info *plan)
{
    const qnnrt_plan_block **list = cli_alloc(plan->block_count, sizeof(*list));
    for (size_t i = 0; i < plan->block_count; ++i) list[i] = &plan->blocks[i];
    qsort((void *)list, plan->block_count, sizeof(*list), compare_blocks);
    return list;
}

const char *block_kind(const qnnrt_plan_block *block)
{
    if (block->entry == QNNRT_NO_ENTRY) return "buffer";
    return qnnrt_role_name(block->slot->role);
}

char *block_name(const job *j, const qnnrt_plan_block *block)
{
    if (block->entry == QNNRT_NO_ENTRY)
        return buffer_name(j->info, (size_t)(block - j->plan_info->blocks));
    return cli_shown(block->slot->address);
}

void say_blocks(const tool *t, const job *j)
{
    static const char *const titles[COLUMNS] = {"offset", "size", "steps", "kind", "kept",
                                                "tensor", NULL};
    if (j->plan_info == NULL) return;
    const size_t count = j->plan_info->block_count;
    OWNED char *(*cells)[COLUMNS] = cli_alloc(count, sizeof(*cells));
    OWNED const qnnrt_plan_block **blocks = sorted_blocks(j->plan_info);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_plan_block *block = blocks[i];
        const unsigned long first = block->first, last = block->last;
        cells[i][0] = cli_text("%llu", (unsigned long long)block->offset);
        cells[i][1] = bytes_cell(block->bytes);
        cells[i][2] = first == last ? cli_text("%lu", first) : cli_text("%lu-%lu", first, last);
        cells[i][3] = cli_text("%s", block_kind(block));
        cells[i][4] = cli_text("%s", block->kept ? "kept" : "-");
        cells[i][5] = block_name(j, block);
    }
    say_table(t, titles, "rr", cells, count);
}

qnnrt_result make_plan(const tool *t, const qnnrt_pipeline *pipeline, qnnrt_plan **out,
                       qnnrt_error *err)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(pipeline);
    qnnrt_entry_desc entry = {0};
    qnnrt_plan_desc desc = {0};
    entry.pipeline = pipeline;
    desc.entries = &entry;
    desc.entry_count = 1;
    desc.buffers = info->buffers;
    desc.buffer_count = info->buffer_count;
    desc.places = info->places;
    desc.place_count = info->place_count;
    desc.align = t->set.align;
    desc.per_tensor = t->set.per_tensor;
    desc.guard = t->set.guard;
    return qnnrt_plan_create(&desc, out, err);
}

void plan_job(tool *t, job *j)
{
    if (j->info->failure != NULL) {
        const qnnrt_error *err = j->info->failure;
        fail(t, j, err->hint[0] != '\0' ? cli_hint(err)
             : "Run its graphs alone, with --graph CONTEXT/GRAPH.",
             "pipeline %s is not wired: %s", j->title, cli_told(err));
        leave_out(t, NULL, j->info->name, err->text);
        return;
    }
    qnnrt_error err;
    const uint64_t begin = cli_now_ns();
    if (make_plan(t, j->pipeline, &j->plan, &err) != QNNRT_OK) {
        fail(t, j, cli_hint(&err), "pipeline %s: %s", j->title, cli_told(&err));
        leave_out(t, NULL, j->info->name, err.text);
        return;
    }
    j->prepare_ns = cli_now_ns() - begin;
    j->plan_info = qnnrt_plan_get_info(j->plan);
    for (size_t b = 0; b < j->plan_info->block_count; ++b) {
        const qnnrt_plan_block *block = &j->plan_info->blocks[b];
        if (block->entry == 0) j->blocks[block->slot - j->info->slots] = block;
    }
}
