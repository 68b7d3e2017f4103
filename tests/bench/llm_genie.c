/* llm_genie.c - Qualcomm's own language-model runtime, libGenie.so, as a peer of bench-llm

       llm_genie LIBGENIE CONFIG.json PROMPT COUNT

   LIBGENIE searches libQnnHtp.so in its own folder, where bench-llm puts the proxy. The calls are
   found with dlsym, so that no vendor file is needed to build this. */
#include "llm_peer.h"

#include <dlfcn.h>
#include <stdint.h>
#include <unistd.h>

typedef int32_t (*config_from_json)(const char *text, const void **config);
typedef int32_t (*dialog_create)(const void *config, const void **dialog);
typedef int32_t (*dialog_limit)(const void *dialog, uint32_t tokens);
typedef void    (*answer)(const char *text, int32_t code, const void *user);
typedef int32_t (*dialog_query)(const void *dialog, const char *text, int32_t code, answer,
                                const void *user);
typedef int32_t (*free_one)(const void *object);

static char   text[1 << 16];
static size_t length;

static void collect(const char *more, int32_t code, const void *user)
{
    size_t bytes = more != NULL ? strlen(more) : 0;
    (void)code; (void)user;
    if (bytes > sizeof text - length) bytes = sizeof text - length;
    if (bytes > 0) memcpy(text + length, more, bytes);
    length += bytes;
}

static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) stop(name, "is not in the library");
    memcpy(function, &symbol, sizeof symbol);
}

int main(int argc, char **argv)
{
    const double begin = now_us();
    static char json[1 << 16];
    const void *config = NULL, *dialog = NULL;
    config_from_json from_json;
    dialog_create create;
    dialog_limit limit;
    dialog_query query;
    free_one dialog_free, config_free;
    double ready, done;
    int32_t code;
    void *library;
    FILE *file;
    if (argc != 5) stop("usage", "llm_genie LIBGENIE CONFIG.json PROMPT COUNT");
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) stop(argv[1], dlerror());
    find(library, "GenieDialogConfig_createFromJson", &from_json);
    find(library, "GenieDialogConfig_free", &config_free);
    find(library, "GenieDialog_create", &create);
    find(library, "GenieDialog_setMaxNumTokens", &limit);
    find(library, "GenieDialog_query", &query);
    find(library, "GenieDialog_free", &dialog_free);
    file = fopen(argv[2], "rb");
    if (file == NULL || fread(json, 1, sizeof json - 1, file) == 0) stop(argv[2], "cannot be read");
    fclose(file);
    if (from_json(json, &config) != 0) stop(argv[2], "is refused");
    if (create(config, &dialog) != 0) stop("GenieDialog_create", "failed");
    if (limit(dialog, (uint32_t)strtoul(argv[4], NULL, 10)) != 0)
        stop("GenieDialog_setMaxNumTokens", "failed");
    ready = now_us();
    code = query(dialog, argv[3], 0, collect, NULL);
    done = now_us();
    if (code < 0) stop("GenieDialog_query", "failed");
    report(ready - begin, done - ready, text, length);
    dialog_free(dialog);
    config_free(config);
    /* Skip destructors: Genie's may run after those of the backend, and crash. */
    _exit(0);
}
