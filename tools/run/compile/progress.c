/* progress.c - how far compile is

   ROOM     >>progress */
#include "run/compile/aten.h"

/* =====================================================================================
   PROGRESS                                                                     >>progress
   One line that changes on a terminal; with --progress lines instead, every other second.
   ===================================================================================== */

void progress_begin(progress *p, const settings *set)
{
    memset(p, 0, sizeof(*p));
    p->lines = set->progress;
    p->begin_ns = cli_now_ns();
}

void progress_build(void *user, const qnnrt_build_progress *at)
{
    progress *p = user;
    const uint64_t now = cli_now_ns();
    const int fills = at->phase == QNNRT_BUILD_FILL;
    if (fills && p->phase == (int)at->phase && p->last_ns != 0 && now - p->last_ns < 100000000)
        return;
    const double seconds = ms(now - p->begin_ns) / 1e3;
    OWNED char *graph = cli_shown(at->graph != NULL ? at->graph : ""), *text = NULL;
    if (fills)
        text = cli_text("graph \"%s\": %lu of %lu nodes, %.1f of %.1f MB, %.1f s", graph,
                        (unsigned long)at->nodes, (unsigned long)at->node_count,
                        (double)at->bytes / 1e6, (double)at->byte_count / 1e6, seconds);
    else
        text = cli_text("graph \"%s\": the library %s it, %.1f s", graph,
                        at->phase == QNNRT_BUILD_FINALIZE ? "compiles" : "has compiled", seconds);
    const int due = !fills || p->last_ns == 0 || p->phase != (int)at->phase ||
                    now - p->last_ns >= 2000000000;
    if (!p->lines) cli_busy(!fills, "%s", text);
    else if (due) fprintf(stderr, CLI_NAME ": %s\n", text);
    if (!p->lines || due) p->last_ns = now;
    p->phase = (int)at->phase;
}
