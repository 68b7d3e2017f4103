/* arena.c - memory plans as a picture (SVG)

   ROOM     >>arena */
#include "run/draw/draw.h"
#include "run/model/model.h"

/* =====================================================================================
   ARENA                                                                           >>arena
   A memory plan: steps to the right, offsets upwards, a rectangle for each block.
   ===================================================================================== */

enum { PLOT_LEFT = 96, PLOT_WIDTH = 552, PLOT_RIGHT = PLOT_LEFT + PLOT_WIDTH, INSET_HEIGHT = 220,
       LABELS = PLOT_RIGHT + 14, LABEL_WIDTH = PICTURE - LABELS - MARGIN / 2, TICK_COLUMNS = 9 };

/* The part of the arena that a plot shows: offsets from low to high between two y. */
typedef struct window {
    uint64_t low, high;
    double   top, bottom;
} window;

/* Return the height of the plot: more for many blocks. */
static double plot_height(const qnnrt_plan_info *plan)
{
    return plan->block_count <= 24 ? 400 : 560;
}

/* Return the distance of the marks of an axis: a power of two that gives at most `most` + 1. */
static uint64_t tick_of(uint64_t span, uint64_t most)
{
    uint64_t tick = 1;
    while (span / tick > most && tick < UINT64_MAX / 4) tick *= 2;
    return tick;
}

/* Return "1.5 KiB" for a multiple of a tick. All marks of an axis have one unit, in which a tick
   has two decimals at most: so they are exact, and no two are equal. The caller frees it. */
static char *tick_text(uint64_t bytes, uint64_t tick)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    while (unit < 6 && tick >= ((uint64_t)256 << 10 * unit)) ++unit;
    return bytes == 0 ? cli_text("0")
        : cli_text("%.15g %s", (double)bytes / (double)((uint64_t)1 << 10 * unit), units[unit]);
}

static double arena_y(const window *w, uint64_t offset)
{
    const double span = w->high > w->low ? (double)(w->high - w->low) : 1;
    const double part = ((double)offset - (double)w->low) / span;
    return w->bottom - (part < 0 ? 0 : part > 1 ? 1 : part) * (w->bottom - w->top);
}

/* True if a plot shows a part of a block. */
static int in_window(const window *w, const qnnrt_plan_block *block)
{
    return block->offset < w->high && block->offset + block->bytes > w->low;
}

static void draw_block(page *p, const job *j, const qnnrt_plan_block *block, double column,
                       const window *w)
{
    const char *kind = block_kind(block);
    const double x = PLOT_LEFT + column * block->first,
        width = column * (block->last - block->first + 1);
    const double top = arena_y(w, block->offset + block->bytes);
    const double height = arena_y(w, block->offset) - top;
    const double inset = height >= 3 ? 0.5 : 0;
    const char *font = height >= 17 ? "bold" : "tiny";
    const size_t columns = text_columns(font, width - 14);
    OWNED char *name = block_name(j, block), *bytes = cli_bytes_text(block->bytes),
              *exact = cli_grouped(block->bytes);
    OWNED char *offset = cli_grouped(block->offset);
    const char *kept = block->kept ? ", kept between calls" : "";
    /* A block that keeps its content stays in use after its last step. */
    const size_t left = j->info->step_count > block->last + 1u
        ? j->info->step_count - block->last - 1 : 0;
    if (block->kept && left > 0)
        svg_box(p, "rest", x + width, top + inset, column * (double)left - 1, height - 2 * inset,
                0);
    char *style = cli_text("block %s%s", inset > 0 ? "" : "thin ", kind);
    svg_card(p, style, x + 1, top + inset, width - 2 > 0.5 ? width - 2 : 0.5, height - 2 * inset,
             height >= 8 ? 2 : 0);
    free(style);
    title_take(p, cli_text("%s\n%s%s, %s bytes at %s, steps %lu to %lu", name, kind, kept, exact,
                           offset, (unsigned long)block->first, (unsigned long)block->last));
    if (height >= 14 && (columns_in(name) <= columns || columns >= 10)) {
        const int two = height >= 34 && columns_in(bytes) <= columns;
        const double middle = top + height / 2;
        style = cli_text("%s t-%s", font, kind);
        svg_text(p, x + 8, two ? middle - 3 : middle + (height >= 17 ? 4 : 3.5), style, width - 14,
                 name);
        if (two) svg_text(p, x + 8, middle + 12, "meta", width - 14, bytes);
        free(style);
    }
    page_text(p, "</g>\n");
}

/* Draw the offsets. Where they are too long, they count from the first mark. */
static void draw_offsets(page *p, const window *w, double top)
{
    const uint64_t tick = tick_of(w->high - w->low, 6);
    const uint64_t first = (w->low + tick - 1) / tick * tick;
    OWNED char *last = tick_text(w->high / tick * tick, tick), *exact = cli_grouped(first);
    const uint64_t base = columns_in(last) > TICK_COLUMNS ? first : 0;
    OWNED char *title = base != 0 ? cli_text("after offset %s", exact)
                                  : cli_text("offset in the arena");
    page_text(p, "<g class=\"ticks\">\n");
    for (uint64_t at = first; at <= w->high; at += tick) {
        const double y = arena_y(w, at);
        page_add(p, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", PLOT_LEFT, y, PLOT_RIGHT);
        svg_take(p, PLOT_LEFT - 8, y + 4, "meta end", PLOT_LEFT, tick_text(at - base, tick));
        if (w->high - at < tick) break;
    }
    page_add(p, "</g>\n<text class=\"meta mid\" transform=\"translate(16 %.1f) rotate(-90)\">",
             (top + w->bottom) / 2);
    page_add(p, "%s</text>\n", title);
}

static void draw_axes(page *p, const job *j, double column, const window *w)
{
    const size_t steps = j->info->step_count, every = (size_t)tick_of(steps, PLOT_WIDTH / 34);
    const double top = w->top - 10, bottom = w->bottom;
    draw_offsets(p, w, top);
    page_text(p, "<g class=\"ticks\">\n");
    for (size_t s = 0; s < steps; ++s) {
        const double x = PLOT_LEFT + column * (double)s;
        if (s > 0 && column >= 4)
            page_add(p, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x, top, bottom);
        if (s % every != 0) continue;
        const qnnrt_step_info *step = &j->info->steps[s];
        OWNED char *file = step->kind == QNNRT_STEP_DERIVED ? cli_text("convert") : step_file(step);
        OWNED char *number = cli_text("%lu", (unsigned long)s);
        OWNED char *both = cli_text("%s  %s", number, file);
        const int fits = text_width("meta", both) + 8 < column;
        svg_text(p, x + column / 2, bottom + 17, "meta mid", PLOT_WIDTH, fits ? both : number);
    }
    page_text(p, "</g>\n");
    page_add(p, "<path class=\"axis\" fill=\"none\" d=\"M%d %.1fV%.1fH%d\"/>\n", PLOT_LEFT, top,
             bottom, PLOT_LEFT + PLOT_WIDTH);
    svg_text(p, PLOT_LEFT + PLOT_WIDTH / 2.0, bottom + 35, "meta mid", PLOT_WIDTH,
             "step of the pipeline");
}

/* Draw below each step of a mixed pipeline the colour of its place. */
static void draw_strip(page *p, const qnnrt_pipeline_info *info, double column, double bottom)
{
    size_t backends = 0, *numbers = number_backends(info, &backends);
    for (size_t s = 0; s < info->step_count; ++s) {
        const qnnrt_step_info *step = &info->steps[s];
        OWNED char *text = step_file(step), *place = step_place(step);
        const double inset = column > 3 ? 1 : 0;
        svg_card(p, place_style(step, numbers[s]), PLOT_LEFT + column * (double)s + inset,
                 bottom + 1, column - 2 * inset, 4, 0);
        title_take(p, cli_text("step %lu: %s\n%s", (unsigned long)s, text, place));
        page_text(p, "</g>\n");
    }
    free(numbers);
}

/* Draw peak and bound with their labels at the right; one line if they are equal. Return the y
   below the labels. */
static double draw_limits(page *p, const qnnrt_plan_info *plan, const window *w)
{
    const double peak = arena_y(w, plan->peak), bound = arena_y(w, plan->bound);
    const int equal = plan->peak == plan->bound;
    double end = peak + 19;
    if (!equal)
        page_add(p, "<path class=\"peak\" d=\"M%d %.1fH%d\"/>\n", PLOT_LEFT, peak,
                 PLOT_RIGHT + 8);
    page_add(p, "<path class=\"bound\" d=\"M%d %.1fH%d\"/>\n", PLOT_LEFT, bound,
             PLOT_RIGHT + 8);
    svg_text(p, LABELS, peak + 4, equal ? "head t-bad" : "head", LABEL_WIDTH, equal
             ? "peak = lower bound" : "peak");
    svg_take(p, LABELS, peak + 19, "meta", LABEL_WIDTH, cli_bytes_text(plan->peak));
    if (!equal) {
        const double y = bound > peak + 34 && bound < peak + 60 ? bound : peak + 34;
        svg_text(p, LABELS, y + 4, "head t-bad", LABEL_WIDTH, "lower bound");
        svg_take(p, LABELS, y + 19, "meta", LABEL_WIDTH, cli_bytes_text(plan->bound));
        end = y + 19;
    }
    return end + 18;
}

/* ---- labels at the right, of blocks that are too thin for one ------------------- */

typedef struct thin_label {            /* blocks whose names differ by numbers only         */
    const char *kind;
    char       *key, *name;
    size_t      count;
    uint64_t    bytes;
    double      y;                     /* of the uppermost block                            */
} thin_label;

static int compare_labels(const void *a, const void *b)
{
    const thin_label *x = a, *y = b;
    return x->y != y->y ? (x->y < y->y ? -1 : 1) : strcmp(x->key, y->key);
}

/* Return labels for the blocks of a plot that are lower than a line of text, from top to bottom. */
static thin_label *find_thin(const job *j, const qnnrt_plan_block **blocks, const window *w,
                             size_t *found)
{
    enum { LOWEST = 14 };
    thin_label *labels = NULL;
    size_t count = 0, room = 0;
    for (size_t b = 0; b < j->plan_info->block_count; ++b) {
        const qnnrt_plan_block *block = blocks[b];
        const double top = arena_y(w, block->offset + block->bytes);
        size_t i = 0;
        if (!in_window(w, block) || arena_y(w, block->offset) - top >= LOWEST) continue;
        char *name = block_name(j, block), *key = skeleton(name);
        while (i < count && (strcmp(labels[i].key, key) != 0 ||
                             strcmp(labels[i].kind, block_kind(block)) != 0)) ++i;
        if (i == count) {
            labels = cli_grow(labels, count, &room, sizeof(*labels));
            const thin_label made = {block_kind(block), key, name, 0, 0, top};
            labels[count++] = made;
        } else {
            free(key);
            free(name);
        }
        ++labels[i].count;
        labels[i].bytes += block->bytes;
        if (top < labels[i].y) labels[i].y = top;
    }
    if (count > 1) qsort(labels, count, sizeof(*labels), compare_labels);
    *found = count;
    return labels;
}

static void draw_thin(page *p, const thin_label *label, double y)
{
    OWNED char *bytes = cli_bytes_text(label->bytes), *style = cli_text("tiny t-%s", label->kind);
    const unsigned long times = (unsigned long)label->count;
    const char *name = times > 1 ? label->key : label->name;
    OWNED char *rest = times_text(" ", label->count);
    page_add(p, "<path class=\"lead\" d=\"M%d %.1fL%d %.1f\"/>\n", PLOT_RIGHT + 1, label->y + 0.5,
             PLOT_RIGHT + 11, y);
    page_text(p, "<g>\n");
    title_take(p, cli_text("%s%s\n%lu block%s, %s", name, rest, times, cli_plural(times), bytes));
    svg_take(p, LABELS, y + 3.5, style, LABEL_WIDTH,
             named(name, rest, text_columns(style, LABEL_WIDTH)));
    page_text(p, "</g>\n");
}

/* Draw labels for thin blocks from y downwards, as many as there is room for. */
static void label_thin(page *p, const job *j, const qnnrt_plan_block **blocks, const window *w,
                       double y)
{
    enum { LINE = 13 };
    const size_t most = w->bottom > y ? (size_t)((w->bottom - y) / LINE) + 1 : 0;
    size_t count = 0;
    thin_label *labels = find_thin(j, blocks, w, &count);
    const size_t shown = count <= most ? count : most > 0 ? most - 1 : 0;
    for (size_t i = 0; i < count; ++i) {
        thin_label *label = &labels[i];
        if (i < shown) {
            const double left = w->bottom - (double)(count - i - 1) * LINE;
            if (label->y > y) y = label->y < left ? label->y : left > y ? left : y;
            draw_thin(p, label, y);
            y += LINE;
        }
        free(label->key);
        free(label->name);
    }
    if (shown < count && most > 0)
        svg_take(p, LABELS, y + 3.5, "tiny", LABEL_WIDTH,
                 cli_text("and %lu more", (unsigned long)(count - shown)));
    free(labels);
}

/* Find the offsets of blocks that do not stay between calls. Return 1 if they are a small part of
   an arena, so that they need a plot of their own. */
static int find_moving(const qnnrt_plan_info *plan, window *w)
{
    w->low = UINT64_MAX;
    w->high = 0;
    for (size_t b = 0; b < plan->block_count; ++b) {
        const qnnrt_plan_block *block = &plan->blocks[b];
        if (block->kept) continue;
        if (block->offset < w->low) w->low = block->offset;
        if (block->offset + block->bytes > w->high) w->high = block->offset + block->bytes;
    }
    return w->high > w->low && w->high - w->low < plan->peak / 3;
}

/* Draw the blocks of a plot with its axes. */
static void draw_plot(page *p, const job *j, const qnnrt_plan_block **blocks, const window *w,
                      double labels)
{
    const size_t steps = j->info->step_count;
    const double column = (double)PLOT_WIDTH / (double)(steps != 0 ? steps : 1);
    draw_axes(p, j, column, w);
    if (is_mixed(j->info)) draw_strip(p, j->info, column, w->bottom);
    for (size_t b = 0; b < j->plan_info->block_count; ++b)
        if (in_window(w, blocks[b])) draw_block(p, j, blocks[b], column, w);
    label_thin(p, j, blocks, w, labels);
}

static void draw_legend(page *p, const job *j, legend *at)
{
    static const struct { const char *kind, *label; int kept; } kinds[] = {
        {"input", "input, stays between calls", 1}, {"input", "input", 0},
            {"edge", "edge between steps", 0},
        {"output", "output", 0}, {"buffer", "buffer", 1}
    };
    int rest = 0;                                /* 1: a block stays after its last step */
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); ++k) {
        int there = 0;
        for (size_t b = 0; b < j->plan_info->block_count; ++b) {
            const qnnrt_plan_block *block = &j->plan_info->blocks[b];
            const int kept = block->kept != 0;
            there |= strcmp(block_kind(block), kinds[k].kind) == 0 && kept == kinds[k].kept;
            rest |= kept && block->last + 1u < j->info->step_count;
        }
        if (there) draw_key(p, at, kinds[k].kind, kinds[k].label);
    }
    if (rest) draw_key(p, at, "rest", "kept after its last use");
}

double draw_arena(page *p, const job *j, double y)
{
    const qnnrt_plan_info *plan = j->plan_info;
    OWNED char *name = pipeline_label(j->info);
    if (plan == NULL) {
        OWNED char *reason = cli_shown_text(j->error != NULL ? j->error : "no plan", 2);
        y = draw_head(p, y, name, "meta t-bad", reason);
        return y + 10.5;
    }
    OWNED char *peak = cli_bytes_text(plan->peak), *bound = cli_bytes_text(plan->bound),
              *naive = cli_bytes_text(plan->naive);
    OWNED char *about = cli_text("memory plan: %lu block%s in %s; lower bound %s, one after another"
                                 " %s", (unsigned long)plan->block_count,
                                 cli_plural(plan->block_count), peak, bound, naive);
    legend at = {MARGIN, draw_head(p, y, name, "meta", about) + 12.5};
    draw_legend(p, j, &at);
    if (is_mixed(j->info)) {
        at.x = MARGIN;
        at.y += 22;
        draw_places(p, j->info, &at);
    }
    window all = {0, plan->peak, at.y + 30, at.y + 30 + plot_height(plan)}, moving = {0, 0, 0, 0};
    OWNED const qnnrt_plan_block **blocks = sorted_blocks(plan);
    const int inset = find_moving(plan, &moving);
    OWNED page limits = {NULL, 0, 0};                  /* over the blocks */
    const double labels = draw_limits(&limits, plan, &all);
    draw_plot(p, j, blocks, &all, labels);
    page_bytes(p, limits.data, limits.used);
    double end = all.bottom;
    if (inset) {                                 /* what moves, below the whole */
        const double top = arena_y(&all, moving.high), low = arena_y(&all, moving.low);
        OWNED char *part = cli_bytes_text(moving.high - moving.low);
        moving.top = all.bottom + 86;
        moving.bottom = moving.top + INSET_HEIGHT;
        if (low - top >= 4)                      /* a thinner one is a line of its blocks */
            page_add(p, "<path class=\"window\" d=\"M%d %.1fH%dV%.1fH%dz\"/>\n", PLOT_LEFT - 3,
                     top - 1, PLOT_RIGHT + 3, low + 1, PLOT_LEFT - 3);
        svg_take(p, MARGIN, all.bottom + 62, "bold", PICTURE - 2 * MARGIN,
                 cli_text("what moves, enlarged: %s", part));
        draw_plot(p, j, blocks, &moving, moving.top);
        end = moving.bottom;
    }
    return end + 44;
}

void write_arena(tool *t)
{
    page body = {NULL, 0, 0};
    double y = MARGIN;
    if (t->set.svg == NULL) return;
    for (size_t i = 0; i < t->job_count; ++i)
        y = draw_arena(&body, &t->jobs[i], i > 0 ? y + 36 : y);
    svg_write(t, t->set.svg, &body, PICTURE, y + MARGIN - 8);
    free(body.data);
}
