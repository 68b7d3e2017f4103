/* run_progress.h - a part of qnnrt-run.c: how far compile is

   ROOM     >>progress                                                                         */

/* =====================================================================================
   PROGRESS                                                                     >>progress
   One line that changes on a terminal; with --progress lines in any file, every other second.
   ===================================================================================== */

typedef struct progress {
    int      shown, terminal;
    uint64_t begin_ns, last_ns;        /* last_ns: of the last line, 0: none yet          */
    int      phase;                    /* of the last line                                */
} progress;

static void progress_begin(progress *p, const settings *set)
{
    memset(p, 0, sizeof(*p));
    p->terminal = isatty(STDERR_FILENO);
    p->shown = p->terminal || set->progress;
    p->begin_ns = now_ns();
}

/* Remove the line from a terminal. */
static void progress_end(progress *p)
{
    if (p->terminal && p->last_ns != 0) fputs("\r\033[K", stderr);
    p->last_ns = 0;
}

/* Print how far the builder is: qnnrt_builder_desc.progress. */
static void progress_build(void *user, const qnnrt_build_progress *at)
{
    progress *p = user;
    const uint64_t now = now_ns(), pause = p->terminal ? 100000000 : 2000000000;
    const int last = at->phase != QNNRT_BUILD_FILL;
    if (!p->shown || (p->last_ns != 0 && !last && p->phase == (int)at->phase &&
                      now - p->last_ns < pause)) return;
    const double seconds = ms(now - p->begin_ns) / 1e3;
    char *graph = cli_shown(at->graph != NULL ? at->graph : "");
    const char *before = p->terminal ? "\r\033[K" : "", *after = p->terminal ? "" : "\n";
    p->last_ns = now;
    p->phase = (int)at->phase;
    if (at->phase == QNNRT_BUILD_FILL)
        fprintf(stderr, "%s" CLI_NAME ": graph \"%s\": %lu of %lu nodes, %.1f of %.1f MB, %.1f s%s",
                before, graph, (unsigned long)at->nodes, (unsigned long)at->node_count,
                (double)at->bytes / 1e6, (double)at->byte_count / 1e6, seconds, after);
    else
        fprintf(stderr, "%s" CLI_NAME ": graph \"%s\": the library %s it, %.1f s%s", before, graph,
                at->phase == QNNRT_BUILD_FINALIZE ? "compiles" : "has compiled", seconds, after);
    fflush(stderr);
    free(graph);
}
