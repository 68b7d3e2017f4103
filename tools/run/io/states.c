/* states.c - the states of a pipeline: where they begin, and files of them

   ROOM     >>run_states */
#include "run/io/io.h"

/* =====================================================================================
   STATES OF A RUN                                                            >>run_states
   --reset, --state_in and --state_out: see "States" in qnnrt_manifest.h.
   ===================================================================================== */

enum { STATES_BYTES = 1 << 30 };                 /* most bytes of a file */

int states_check(tool *t)
{
    const run_settings *set = &t->set.run;
    const char *option = set->state_in != NULL  ? "--state_in"
                         : set->state_out != NULL ? "--state_out"
                         : set->reset             ? "--reset" : NULL;
    size_t count = 0, with = 0;
    for (size_t i = 0; i < t->job_count; ++i) {
        qnnrt_manifest_states(t->jobs[i].pipeline, &count);
        with += count > 0;
    }
    if (option == NULL || with == 1 || (with > 1 && set->state_in == NULL &&
                                        set->state_out == NULL)) return 1;
    fail(t, NULL, with > 1 ? "Name one with --graph NAME." : "Leave it out.",
         with > 1 ? "%s is for one pipeline, and %lu have states"
                  : "%s is for states, and none of the %lu pipelines has one", option,
         (unsigned long)(with > 1 ? with : t->job_count));
    return 0;
}

int states_begin(tool *t, job *j, qnnrt_run *run)
{
    const char *path = t->set.run.state_in;
    qnnrt_error err;
    size_t bytes = 0, count = 0;
    qnnrt_result result = qnnrt_manifest_reset(run, &err);
    qnnrt_manifest_states(qnnrt_run_pipeline(run), &count);
    if (result == QNNRT_OK && (path == NULL || count == 0)) return 1;
    OWNED char *text = path != NULL ? cli_read_file(path, STATES_BYTES, &bytes) : NULL;
    if (result == QNNRT_OK && text == NULL) {
        fail(t, j, NULL, "--state_in: cannot read %s: %s", path, strerror(errno));
        return 0;
    }
    if (result == QNNRT_OK) result = qnnrt_manifest_restore(run, text, bytes, &err);
    if (result != QNNRT_OK)
        fail(t, j, cli_hint(&err), "%s%s%s", path != NULL ? path : "", path != NULL ? ": " : "",
             cli_told(&err));
    return result == QNNRT_OK;
}

int states_end(tool *t, job *j, qnnrt_run *run)
{
    const char *path = t->set.run.state_out;
    OWNED page text = {NULL, 0, 0};
    qnnrt_error err;
    size_t count = 0;
    qnnrt_manifest_states(qnnrt_run_pipeline(run), &count);
    if (path == NULL || count == 0) return 1;
    int good = qnnrt_manifest_save(run, json_to_page, &text, &err) == QNNRT_OK;
    if (!good) fail(t, j, cli_hint(&err), "--state_out: %s", cli_told(&err));
    else if (!(good = cli_write_file(path, text.data, text.used, 1)))
        fail(t, j, CLI_WRITE_HINT, "cannot write %s: %s", path, strerror(errno));
    else say(t, "  states    %s, %lu value%s\n", path, (unsigned long)count, cli_plural(count));
    return good;
}
