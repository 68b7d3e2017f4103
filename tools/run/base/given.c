/* given.c - what the command line gives

   ROOM     >>given */
#include "run/base/base.h"

/* =====================================================================================
   GIVEN                                                                         >>given
   Options that were given, documents for standard output, and values that several verbs take.
   ===================================================================================== */

const char *const memory_words[] = {"heap", "shared", "rpcmem", "dmabuf", "memfd", NULL};

/* The options of documents, as messages call them. file: 1: the option names a file, - for standard
   output; 0: the document goes there in any case. */
static const struct { const char *name, *called; int file; } documents[] = {
    {"json", "--json", 0}, {"bind_plan_out", "--bind_plan_out -", 1},
    {"json_file", "--json_file -", 1}, {"dot", "--dot -", 1}, {"svg", "--svg -", 1},
    {"profile_out", "--profile_out -", 1}, {"manifest", "--manifest", 0},
    {"report", "--report -", 1}, {"save", "--save -", 1}, {"output", "--output -", 1},
    {"csv", "--csv -", 1}
};
enum { DOCUMENTS = sizeof(documents) / sizeof(documents[0]) };

int is_document(const char *name)
{
    for (size_t i = 0; i < DOCUMENTS; ++i)
        if (documents[i].file && strcmp(documents[i].name, name) == 0) return 1;
    return 0;
}

void note_documents(settings *set, const cli_parsed *parsed)
{
    for (size_t d = 0; d < DOCUMENTS; ++d) {
        size_t i = 0;
        while (i < parsed->given_count &&
               strcmp(parsed->given[i].option->name, documents[d].name) != 0) ++i;
        if (i == parsed->given_count) continue;
        if (documents[d].file && !is_stdout(parsed->given[i].value)) continue;
        if (set->document_count < 2) set->documents[set->document_count] = documents[d].called;
        ++set->document_count;
    }
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
