/* given.c - what the command line gives

   ROOM     >>given */
#include "run/base/base.h"

/* =====================================================================================
   GIVEN                                                                         >>given
   Options that were given, documents for standard output, and values that several verbs take.
   ===================================================================================== */

const char *const memory_words[] = {"heap", "shared", "rpcmem", "dmabuf", "memfd", NULL};

int documents_on_stdout(const settings *set, const char *names[DOCUMENTS])
{
    const struct { const char *name; int wanted; } documents[DOCUMENTS] = {
        {"--json", set->json}, {"--bind_plan_out -", is_stdout(set->plan_out)},
        {"--json_file -", is_stdout(set->json_file)}, {"--dot -", is_stdout(set->dot)},
        {"--svg -", is_stdout(set->svg)}, {"--profile_out -", is_stdout(set->profile_out)},
        {"--manifest", set->manifest}, {"--report -", is_stdout(set->compile.report)},
        {"--svg -", is_stdout(set->profiling.svg)}, {"--save -", is_stdout(set->profiling.save)},
        {"--output -", is_stdout(set->card.output)},
        {"--report -", is_stdout(set->doctor.report)}, {"--csv -", is_stdout(set->bench.csv)}
    };
    int count = 0;
    for (size_t i = 0; i < DOCUMENTS; ++i) {
        if (!documents[i].wanted) continue;
        if (names != NULL) names[count] = documents[i].name;
        ++count;
    }
    return count;
}

int take_backend(void *at, const cli_option *o, const char *value)
{
    settings *set = at;
    return cli_take_backend(o, value, &set->backend, set->roles, &set->role_count);
}

int is_given(const cli_parsed *parsed, const char *name)
{
    for (size_t i = 0; i < parsed->given_count; ++i)
        if (strcmp(parsed->given[i].option->name, name) == 0) return 1;
    return 0;
}
