/* run_plan.h - a part of qnnrt-run.c: memory plans, and the tables that show pipelines

   ROOM     >>plan                                                                               */

/* =====================================================================================
   PLAN                                                                           >>plan
   Plan each job's memory, and print its tensors, edges and blocks.
   ===================================================================================== */

/* Most columns of a table. */
enum { COLUMNS = 8 };

static size_t width_of(const char *s)
{
    size_t width = 0;
    for (; *s != '\0'; ++s)
        if (((unsigned char)*s & 0xC0) != 0x80) ++width;
    return width;
}

/* Print a table with columns as wide as their widest cell, and free the cells. titles end with NULL
   or fill all columns; right has an 'r' for each column that is aligned to the right. */
static void say_table(const tool *t, const char *const titles[COLUMNS], const char *right,
                      char *(*cells)[COLUMNS],
                      size_t rows)
{
    size_t widths[COLUMNS], columns = 0;
    while (columns < COLUMNS && titles[columns] != NULL) ++columns;
    for (size_t c = 0; c < columns; ++c) {
        widths[c] = width_of(titles[c]);
        for (size_t r = 0; r < rows; ++r) {
            const size_t width = width_of(cells[r][c]);
            if (width > widths[c] && (c != 0 || width <= 48)) widths[c] = width;
        }
    }
    for (size_t r = 0; r <= rows; ++r) {
        for (size_t c = 0; c < columns; ++c) {
            const char *cell = r == 0 ? titles[c] : cells[r - 1][c];
            const size_t width = width_of(cell);
            const int pad = widths[c] > width ? (int)(widths[c] - width) : 0;
            if (c < strlen(right) && right[c] == 'r') say(t, "  %*s%s", pad, "", cell);
            else say(t, "  %s%*s", cell, c + 1 < columns ? pad : 0, "");
            if (r > 0) free(cells[r - 1][c]);
        }
        say(t, "\n");
    }
}

static char *dims_text(const qnnrt_tensor_info *tensor)
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

static char *encoding_text(const qnnrt_quant *quant)
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

/* Return the name of a buffer of a pipeline, safe to print. The caller frees it. */
static char *buffer_name(const qnnrt_pipeline_info *info, size_t buffer)
{
    const char *name = buffer < info->buffer_count ? info->buffers[buffer].name : NULL;
    return name != NULL ? cli_shown(name) : cli_text("buffer %lu", (unsigned long)buffer);
}

/* Return where a slot lies: its offset, or its buffer and the offset in that. The caller frees
   it. */
static char *offset_text(const job *j, size_t slot)
{
    const qnnrt_place_desc *place = j->places[slot];
    if (j->blocks[slot] != NULL)
        return cli_text("%llu", (unsigned long long)j->blocks[slot]->offset);
    if (place == NULL || place->buffer == QNNRT_BUFFER_CALLER) return cli_text("-");
    char *name = buffer_name(j->info, place->buffer),
        *made = cli_text("%s+%llu", name, (unsigned long long)place->offset);
    free(name);
    return made;
}

static void say_slots(const tool *t, const job *j)
{
    static const char *const titles[COLUMNS] = {"tensor", "role", "dims", "dtype", "encoding",
                                                "bytes", "offset",
                                                "steps"};
    const size_t count = j->info->slot_count;
    char *(*cells)[COLUMNS] = cli_alloc(count, sizeof(*cells));
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_slot_info *slot = &j->info->slots[i];
        const qnnrt_tensor_info *tensor = slot->tensor;
        cells[i][0] = cli_shown(slot->address);
        cells[i][1] = cli_text("%s", qnnrt_role_name(slot->role));
        cells[i][2] = dims_text(tensor);
        cells[i][3] = cli_text("%s", qnnrt_dtype_name(tensor->dtype));
        cells[i][4] = encoding_text(&tensor->quant);
        cells[i][5] = cli_text("%llu", (unsigned long long)tensor->bytes);
        cells[i][6] = offset_text(j, i);
        const unsigned long first = slot->first, last = slot->last;
        cells[i][7] = first == last ? cli_text("%lu", first) : cli_text("%lu-%lu", first, last);
    }
    say_table(t, titles, "     rr", cells, count);
    free(cells);
}

static void say_job(const tool *t, const job *j)
{
    const qnnrt_pipeline_info *info = j->info;
    const int mixed = is_mixed(info);
    say(t, "\npipeline %s, %lu step%s\n", j->title, (unsigned long)info->step_count,
        cli_plural(info->step_count));
    for (size_t i = 0; i < info->step_count; ++i) {
        const qnnrt_step_info *step = &info->steps[i];
        const qnnrt_context_info *context = step_context(step);
        char *file = context != NULL ? cli_shown(context->file) : step_text(step, "\xE2\x86\x92");
        char *graph = cli_shown(step->graph->name), *place = step_place(step);
        say(t, "  step %lu  %s", (unsigned long)i, file);
        if (context != NULL) say(t, "  \"%s\"", graph);
        if (context != NULL && mixed) say(t, "  on %s", place);
        say(t, "\n");
        free(file);
        free(graph);
        free(place);
    }
    if (info->failure != NULL) {
        say_error(t, "not wired", info->failure);
        return;
    }
    if (t->set.command == COMMAND_RUN) say_slots(t, j);
    for (size_t i = 0; i < info->slot_count; ++i) {
        if (j->names[i] == NULL) continue;
        const qnnrt_slot_info *slot = &info->slots[i];
        char *name = cli_shown(j->names[i]), *tensor = cli_shown(slot->tensor->name);
        say(t, "  \"%s\" is %s \"%s\" of step %lu\n", name, qnnrt_role_name(slot->role), tensor,
            (unsigned long)slot->first);
        free(name);
        free(tensor);
    }
    for (size_t i = 0; i < info->slot_count; ++i) {
        if (!info->slots[i].has_range) continue;
        char *name = cli_shown(info->slots[i].address);
        say(t, "  \"%s\" takes values from %ld to %ld\n", name, (long)info->slots[i].low,
            (long)info->slots[i].high);
        free(name);
    }
    for (size_t i = 0; i < info->edge_count; ++i) {
        const qnnrt_edge_info *edge = &info->edges[i];
        char *from = cli_shown(edge->from->name), *to = cli_shown(edge->to->name);
        say(t, "  step %lu \"%s\" -> step %lu \"%s\": %s\n", (unsigned long)edge->from_step, from,
            (unsigned long)edge->to_step, to, edge->reason);
        free(from);
        free(to);
    }
    if (j->plan_info != NULL)
        say(t, "  memory    peak %llu bytes, bound %llu, naive %llu, alignment %lu%s\n",
            (unsigned long long)j->plan_info->peak, (unsigned long long)j->plan_info->bound,
            (unsigned long long)j->plan_info->naive, (unsigned long)j->plan_info->align,
            t->set.guard ? "; with --guard every tensor has pages of its own"
            : t->set.per_tensor ? "; with --per_tensor every tensor has a block of its own" : "");
}

static int compare_blocks(const void *a, const void *b)
{
    const qnnrt_plan_block *const *x = a, *const *y = b;
    if ((*x)->offset != (*y)->offset) return (*x)->offset < (*y)->offset ? -1 : 1;
    return ((*x)->first > (*y)->first) - ((*x)->first < (*y)->first);
}

/* Return the blocks of a plan, sorted by offset. The caller frees the list. */
static const qnnrt_plan_block **sorted_blocks(const qnnrt_plan_info *plan)
{
    const qnnrt_plan_block **list = cli_alloc(plan->block_count, sizeof(*list));
    for (size_t i = 0; i < plan->block_count; ++i) list[i] = &plan->blocks[i];
    qsort((void *)list, plan->block_count, sizeof(*list), compare_blocks);
    return list;
}

static const char *block_kind(const qnnrt_plan_block *block)
{
    if (block->entry == QNNRT_NO_ENTRY) return "buffer";
    return qnnrt_role_name(block->slot->role);
}

static char *block_name(const job *j, const qnnrt_plan_block *block)
{
    if (block->entry == QNNRT_NO_ENTRY)
        return buffer_name(j->info, (size_t)(block - j->plan_info->blocks));
    return cli_shown(block->slot->address);
}

static void say_blocks(const tool *t, const job *j)
{
    static const char *const titles[COLUMNS] = {"offset", "bytes", "steps", "kind", "kept",
                                                "tensor", NULL};
    if (j->plan_info == NULL) return;
    const size_t count = j->plan_info->block_count;
    char *(*cells)[COLUMNS] = cli_alloc(count, sizeof(*cells));
    const qnnrt_plan_block **blocks = sorted_blocks(j->plan_info);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_plan_block *block = blocks[i];
        const unsigned long first = block->first, last = block->last;
        cells[i][0] = cli_text("%llu", (unsigned long long)block->offset);
        cells[i][1] = cli_text("%llu", (unsigned long long)block->bytes);
        cells[i][2] = first == last ? cli_text("%lu", first) : cli_text("%lu-%lu", first, last);
        cells[i][3] = cli_text("%s", block_kind(block));
        cells[i][4] = cli_text("%s", block->kept ? "kept" : "-");
        cells[i][5] = block_name(j, block);
    }
    say_table(t, titles, "rr", cells, count);
    free((void *)blocks);
    free(cells);
}

static void plan_job(tool *t, job *j)
{
    if (j->info->failure != NULL) {
        const qnnrt_error *err = j->info->failure;
        fail(t, j, err->hint[0] != '\0' ? err->hint
             : "Run its graphs alone, with --graph CONTEXT/GRAPH.",
             "pipeline %s is not wired: %s", j->title, err->text);
        leave_out(t, NULL, j->info->name, err->text);
        return;
    }
    qnnrt_entry_desc entry = {0};
    qnnrt_plan_desc desc = {0};
    qnnrt_error err;
    entry.pipeline = j->pipeline;
    desc.entries = &entry;
    desc.entry_count = 1;
    desc.buffers = j->info->buffers;
    desc.buffer_count = j->info->buffer_count;
    desc.places = j->info->places;
    desc.place_count = j->info->place_count;
    desc.align = t->set.align;
    desc.per_tensor = t->set.per_tensor;
    const uint64_t begin = now_ns();
    if (qnnrt_plan_create(&desc, &j->plan, &err) != QNNRT_OK) {
        fail(t, j, err.hint, "pipeline %s: %s", j->title, err.text);
        leave_out(t, NULL, j->info->name, err.text);
        return;
    }
    j->prepare_ns = now_ns() - begin;
    j->plan_info = qnnrt_plan_get_info(j->plan);
    for (size_t b = 0; b < j->plan_info->block_count; ++b) {
        const qnnrt_plan_block *block = &j->plan_info->blocks[b];
        if (block->entry == 0) j->blocks[block->slot - j->info->slots] = block;
    }
}
