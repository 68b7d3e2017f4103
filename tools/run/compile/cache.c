/* cache.c - a cache of what compile has written

   ROOM     >>cache */
#include "run/compile/compile.h"
#include "run/model/model.h"

/* =====================================================================================
   CACHE                                                                           >>cache
   The key is made of all that decides about the files: this program, the library, op packages, the
   options, the graphs, and the weights that they read. Options are taken from the command line in
   the order of their table, so that a new option is in the key unless its row says otherwise.
   ===================================================================================== */

/* Names of files. */
typedef struct cache_names { char **items; size_t count, room; } cache_names;

enum { CACHE_SHOWN = 16 };             /* digits of a key that are printed    */

/* Say that the cache is of no use this time: that is no failure. */
static void cache_note(const tool *t, const qnnrt_error *err)
{
    say(t, "note      %s\n", err->text);
    if (err->hint[0] != '\0') say(t, "          %s\n", err->hint);
}

static void cache_add_text(qnnrt_cache_key *key, const char *name, const char *text)
{
    qnnrt_cache_key_add(key, name, text, strlen(text));
}

/* Add the content of a file; of one that the loader finds elsewhere, the path. */
static void cache_add_file(qnnrt_cache_key *key, const char *name, const char *path)
{
    if (access(path, R_OK) == 0) qnnrt_cache_key_file(key, name, path, NULL);
    else cache_add_text(key, name, path);
}

/* Add a library. */
static void cache_add_library(qnnrt_cache_key *key, const qnnrt_backend *backend)
{
    const qnnrt_backend_info *info = qnnrt_backend_get_info(backend);
    const uint32_t versions[6] = {info->core_api.major, info->core_api.minor, info->core_api.patch,
                                  info->backend_api.major, info->backend_api.minor,
                                  info->backend_api.patch};
    cache_add_text(key, "provider", info->provider);
    cache_add_text(key, "build id", info->build_id);
    qnnrt_cache_key_add(key, "versions", versions, sizeof(versions));
    cache_add_file(key, "library", info->path);
}

/* Add the program, the library or those of all roles, and op packages. */
static void cache_add_makers(qnnrt_cache_key *key, const tool *t, const aten *a)
{
    cache_add_text(key, "qnnrt", qnnrt_version());
    cache_add_file(key, "program", "/proc/self/exe");
    if (a == NULL) cache_add_library(key, t->backend);
    for (size_t i = 0; a != NULL && i < a->target.backend_count; ++i) {
        const qnnrt_compile_backend *backend = &a->target.backends[i];
        cache_add_text(key, "role", backend->role);
        if (backend->backend != NULL) cache_add_library(key, backend->backend);
    }
    for (size_t i = 0; i < t->set.packages.count; ++i) {
        op_package package;
        if (!package_split(t->set.packages.items[i], &package)) continue;
        if (package.role != NULL) cache_add_text(key, "role of ops", package.role);
        cache_add_text(key, "provider of ops", package.provider);
        cache_add_text(key, "target of ops", package.target != NULL ? package.target : "");
        cache_add_file(key, "ops", package.path);
        free(package.text);
    }
}

/* Add the options that decide about the files, in the order of the table. Return 0 after filling
   the error. */
static int cache_add_options(qnnrt_cache_key *key, const tool *t, qnnrt_error *err)
{
    const cli_option *last = NULL;
    for (;;) {
        const cli_option *next = NULL;
        for (size_t i = 0; i < t->given_count; ++i) {
            const cli_option *o = t->given[i].option;
            if (o->key != CLI_KEY_NONE && (last == NULL || o > last) && (next == NULL || o < next))
                next = o;
        }
        if (next == NULL) return 1;
        for (size_t i = 0; i < t->given_count; ++i) {
            const char *value = t->given[i].value;
            if (t->given[i].option != next) continue;
            if (next->key == CLI_KEY_VALUE)
                cache_add_text(key, next->name, value != NULL ? value : "");
            else if (qnnrt_cache_key_file(key, next->name, value, err) != QNNRT_OK)
                return 0;
        }
        last = next;
    }
}

/* Add the weights that graphs read: name, type, dims and bytes of each, in the order of their
   files. Return their bytes. */
static uint64_t cache_add_weights(qnnrt_cache_key *key, const aten *a)
{
    uint64_t bytes = 0;
    for (size_t w = 0; w < a->weights_count; ++w) {
        const qnnrt_weights_info *info = qnnrt_weights_get_info(a->weights[w]);
        OWNED char *read = aten_read_weights(a, w);
        for (size_t i = 0; i < info->count; ++i) {
            const qnnrt_weight *weight = &info->weights[i];
            if (!read[i]) continue;
            cache_add_text(key, "weight", weight->name);
            cache_add_text(key, "type", weight->type);
            qnnrt_cache_key_add(key, "dims", weight->dims, weight->rank * sizeof(*weight->dims));
            qnnrt_cache_key_add(key, "data", weight->data, weight->bytes);
            qnnrt_weights_done(a->weights[w], weight);
            bytes += weight->bytes;
        }
    }
    return bytes;
}

/* Add what the samples of --calibrate have shown. All that a list, its files and the library of
   --calibrate_so decide is in these ranges. */
static void cache_add_ranges(qnnrt_cache_key *key, const aten *a)
{
    if (a->t->set.compile->calibrate.count > 0) cache_add_text(key, "activations", "codes");
    for (size_t i = 0; i < a->encoding_count; ++i) {
        const qnnrt_lower_encoding *e = &a->encodings[i];
        OWNED char *range = cli_text("%.17g %.17g %d", e->low, e->high, e->masked);
        cache_add_text(key, "graph of a range", e->graph != NULL ? e->graph : "");
        cache_add_text(key, e->name, range);
    }
}

/* Write a text of a graph into a key, through a hash. */
static int cache_hash_text(void *user, const char *text, size_t bytes)
{
    qnnrt_cache_hash_add(user, text, bytes);
    return 1;
}

/* Add a graph: the hash of its file, or of what it would be as one. Return 0 after filling the
   error. */
static int cache_add_graph(qnnrt_cache_key *key, const aten *a, const aten_graph *g,
                           qnnrt_error *err)
{
    unsigned char hash[QNNRT_CACHE_HASH];
    qnnrt_json_writer writer;
    qnnrt_cache_hash text;
    cache_add_text(key, "graph", g->name);
    if (a->decoder == NULL && g->onnx == NULL) {
        qnnrt_cache_key_add(key, "hash of file", g->hash, sizeof(g->hash));
        return 1;
    }
    qnnrt_cache_hash_begin(&text);
    qnnrt_json_write_begin(&writer, cache_hash_text, &text, 0);
    if (qnnrt_ir_write(g->read, &writer, err) != QNNRT_OK || !qnnrt_json_write_end(&writer))
        return 0;
    for (size_t i = 0; i < g->read->value_count && g->onnx != NULL; ++i) {
        const qnnrt_ir_value *value = g->read->values[i];
        if (value->origin == QNNRT_IR_WEIGHT && value->data != NULL)
            qnnrt_cache_hash_add(&text, value->data,
                                 value->count * qnnrt_ir_dtype_bytes(value->dtype));
    }
    qnnrt_cache_hash_end(&text, hash);
    qnnrt_cache_key_add(key, "hash of text", hash, sizeof(hash));
    return 1;
}

/* Add what a language model is made of besides its weights: the files of its settings, and the
   table of embeddings if it stays on the host. Return 0 after filling the error. */
static int cache_add_decoder(qnnrt_cache_key *key, const decoder *d, qnnrt_error *err)
{
    OWNED char *path = cli_text("%s/generation_config.json", d->folder);
    qnnrt_result result = QNNRT_OK;
    if (d->gguf) {                               /* graphs have the rest of its metadata */
        qnnrt_json_writer writer;
        OWNED page p = {NULL, 0, 0};
        qnnrt_json_write_begin(&writer, json_to_page, &p, 0);
        qnnrt_llm_graph_settings(&d->model, d->context, &writer);
        qnnrt_json_write_end(&writer);
        qnnrt_cache_key_add(key, "settings", p.data, p.used);
    } else {
        result = qnnrt_cache_key_file(key, "config", d->config, err);
    }
    if (result == QNNRT_OK && access(path, F_OK) == 0)
        result = qnnrt_cache_key_file(key, "generation config", path, err);
    if (d->table != NULL) qnnrt_cache_key_add(key, "table", d->table->data, d->table->bytes);
    return result == QNNRT_OK;
}

/* Make the key. a: the graphs, or NULL: containers. Return 0 after filling the error. */
static int cache_key(const tool *t, const compile_names *names, const aten *a, const char *path,
                     char text[QNNRT_CACHE_KEY_BYTES], qnnrt_error *err)
{
    const char *slash = strrchr(path, '/');
    const uint64_t begin = cli_now_ns();
    uint64_t bytes = 0;
    qnnrt_cache_key key;
    qnnrt_cache_key_begin(&key);
    cache_add_makers(&key, t, a);
    if (!cache_add_options(&key, t, err)) return 0;
    cache_add_text(&key, "file name", slash != NULL ? slash + 1 : path);
    for (size_t i = 0; a == NULL && i < t->set.files.count; ++i) {
        cache_add_text(&key, "container", names->names[i] != NULL ? names->names[i] : "");
        if (qnnrt_cache_key_file(&key, "content", t->set.files.items[i], err) != QNNRT_OK) return 0;
    }
    for (size_t i = 0; a != NULL && i < a->graph_count; ++i)
        if (!cache_add_graph(&key, a, &a->graphs[i], err)) return 0;
    if (a != NULL && a->decoder != NULL && !cache_add_decoder(&key, a->decoder, err)) return 0;
    if (a != NULL && t->set.compile->kv_rows) {           /* the tokens of config.json */
        const qnnrt_llm_graph *model = &a->kv->tokens;
        qnnrt_cache_key_add(&key, "bos", &model->bos, sizeof(model->bos));
        qnnrt_cache_key_add(&key, "eos", model->eos, model->eos_count * sizeof(*model->eos));
    }
    if (a != NULL) bytes = cache_add_weights(&key, a);
    if (a != NULL) cache_add_ranges(&key, a);
    qnnrt_cache_key_end(&key, text);
    OWNED char *shown = cli_grouped(bytes);
    say(t, "cache     key %.*s, %s bytes of weights, %.0f ms\n", CACHE_SHOWN, text, shown,
        ms(cli_now_ns() - begin));
    return 1;
}

void cache_begin(compile_cache *c, const tool *t, const compile_names *names, const aten *a,
                 const char *path)
{
    qnnrt_cache_desc desc = {0};
    qnnrt_error err;
    memset(c, 0, sizeof(*c));
    if (t->set.compile->cache == NULL) return;
    desc.limit = t->set.compile->cache_limit << 20;
    int good = qnnrt_cache_open(t->set.compile->cache, &desc, &c->cache, &err) == QNNRT_OK;
    good = good && cache_key(t, names, a, path, c->key, &err);
    if (good) return;
    cache_note(t, &err);
    qnnrt_cache_close(c->cache);
    c->cache = NULL;
}

/* Return true for the name of a binary. */
static int cache_is_binary(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".bin") == 0;
}

/* List the binaries of an entry in the output folder. */
static void cache_paths(const tool *t, const qnnrt_cache_entry *entry, compile_files *out)
{
    out->paths = cli_alloc(entry->file_count + 1, sizeof(*out->paths));
    for (size_t i = 0; i < entry->file_count; ++i)
        if (cache_is_binary(entry->files[i].name))
            out->paths[out->count++] = cli_text("%s/%s", t->set.output_dir, entry->files[i].name);
    out->room = entry->file_count + 1;
    out->binaries = out->count;
}

int cache_take(compile_cache *c, tool *t, compile_files *out)
{
    const qnnrt_cache_entry *entry = NULL;
    const uint64_t begin = cli_now_ns();
    char *missing = NULL;
    qnnrt_error err;
    if (c->cache == NULL) return 0;
    cli_hold();                                  /* a signal leaves no part of the files */
    qnnrt_result result = QNNRT_E_IO;
    if (compile_folder(t, 0, &missing))
        result = qnnrt_cache_get(c->cache, c->key, t->set.output_dir, &entry, &err);
    if (result == QNNRT_OK) cache_paths(t, entry, out);
    else if (missing != NULL) cli_remove_folders(t->set.output_dir, missing);
    if (result != QNNRT_OK) compile_unlock(t);   /* compiling may take long */
    cli_release();
    free(missing);
    if (result == QNNRT_OK) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < entry->file_count; ++i) bytes += entry->files[i].bytes;
        OWNED char *shown = cli_grouped(bytes);
        c->hit = 1;
        say(t, "cache     the files are in entry %.*s: copied %lu, %s bytes, %.0f ms\n",
            CACHE_SHOWN, c->key, (unsigned long)entry->file_count, shown, ms(cli_now_ns() - begin));
        for (size_t i = 0; i < entry->file_count; ++i)
            if (!cache_is_binary(entry->files[i].name))
                say(t, "wrote     %s/%s\n", t->set.output_dir, entry->files[i].name);
    } else if (result == QNNRT_E_FORMAT)
        say(t, "note      %s; compiling again\n", err.text);
    else if (result != QNNRT_E_NOT_FOUND && !t->failed)
        cache_note(t, &err);
    return result == QNNRT_OK;
}

/* Add a name to a list that has none twice. */
static void cache_name(cache_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; ++i) if (strcmp(names->items[i], name) == 0) return;
    names->items = cli_grow(names->items, names->count, &names->room, sizeof(*names->items));
    names->items[names->count++] = cli_text("%s", name);
}

/* Add the files that the program names, as "file" of its contexts and constants. */
static void cache_program_names(const char *text, size_t bytes, cache_names *names)
{
    qnnrt_json_reader r;
    qnnrt_json_begin(&r, text, bytes, NULL);
    for (;;) {
        if (qnnrt_json_value(&r) == QNNRT_JSON_STRING && qnnrt_json_is(&r.key, "file")) {
            OWNED char *name = cli_alloc(r.value.bytes + 1, 1);
            qnnrt_json_copy(&r.value, name);
            cache_name(names, name);
        }
        while (r.error == NULL && r.depth > 0 && !qnnrt_json_more(&r)) {}
        if (r.error != NULL || r.depth == 0) return;
    }
}

void cache_keep(const compile_cache *c, const tool *t, const aten *a, const compile_files *files)
{
    enum { MOST = 1 << 26 };
    cache_names names = {NULL, 0, 0};
    size_t bytes = 0;
    qnnrt_error err;
    if (c->cache == NULL || c->hit || t->failed) return;
    for (size_t i = 0; i < files->count; ++i) {
        const char *slash = strrchr(files->paths[i], '/');
        cache_name(&names, slash != NULL ? slash + 1 : files->paths[i]);
    }
    OWNED char *program = cli_text("%s/qnnrt.json", t->set.output_dir);
    OWNED char *steps = cli_text("%s/host.json", t->set.output_dir);
    OWNED char *text = a != NULL ? cli_read_file(program, MOST, &bytes) : NULL;
    if (text != NULL) {
        cache_program_names(text, bytes, &names);
        if (strstr(text, "\"host\"") != NULL && access(steps, F_OK) == 0)
            cache_name(&names, "host.json");
        cache_name(&names, "qnnrt.json");
    }
    cli_hold();
    if (qnnrt_cache_put(c->cache, c->key, t->set.output_dir,
                        (const char *const *)names.items, names.count, &err) == QNNRT_OK)
        say(t, "cache     new entry %.*s of %lu files\n", CACHE_SHOWN, c->key,
            (unsigned long)names.count);
    else cache_note(t, &err);
    cli_release();
    for (size_t i = 0; i < names.count; ++i) free(names.items[i]);
    free(names.items);
}

/* ---- list and clear ---- */

typedef struct cache_listing { const tool *t; size_t count; uint64_t bytes; } cache_listing;

static void cache_show(void *user, const qnnrt_cache_entry *entry)
{
    cache_listing *list = user;
    char *bytes = cli_grouped(entry->bytes);
    say(list->t, "%.*s %16s bytes ", CACHE_SHOWN, entry->key, bytes);
    for (size_t i = 0; i < entry->file_count; ++i)
        say(list->t, "%s%s", i == 0 ? " " : ", ", entry->files[i].name);
    if (entry->damage != NULL) say(list->t, " damaged: %s", entry->damage);
    say(list->t, "\n");
    free(bytes);
    list->count += 1;
    list->bytes += entry->bytes;
}

void cache_manage(tool *t)
{
    cache_listing list = {t, 0, 0};
    qnnrt_cache_desc desc = {0};
    qnnrt_cache *cache = NULL;
    qnnrt_error err;
    const char *folder = t->set.compile->cache;
    if (!cli_is_folder(folder)) {
        fail(t, NULL, "Name the folder of an earlier --cache.", "there is no cache %s", folder);
        return;
    }
    qnnrt_result result = qnnrt_cache_open(folder, &desc, &cache, &err);
    if (result == QNNRT_OK && t->set.compile->cache_list) {
        result = qnnrt_cache_list(cache, cache_show, &list, &err);
        OWNED char *bytes = cli_grouped(list.bytes);
        if (result == QNNRT_OK)
            say(t, "%lu entr%s, %s bytes, the one unused for longest first\n",
                (unsigned long)list.count, list.count == 1 ? "y" : "ies", bytes);
    }
    if (result == QNNRT_OK && t->set.compile->cache_clear) {
        result = qnnrt_cache_clear(cache, &list.count, &list.bytes, &err);
        OWNED char *bytes = cli_grouped(list.bytes);
        if (result == QNNRT_OK)
            say(t, "removed %lu entr%s, %s bytes\n", (unsigned long)list.count,
                list.count == 1 ? "y" : "ies", bytes);
    }
    if (result != QNNRT_OK) fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
    qnnrt_cache_close(cache);
}

int check_cache(const settings *set)
{
    const compile_settings *c = set->compile;
    const char *given = c->cache_list ? "--cache_list" : c->cache_clear ? "--cache_clear"
                        : c->cache_limit != 0 ? "--cache_limit" : NULL;
    if (given != NULL && c->cache == NULL)
        return cli_usage("Name the folder with --cache DIR.", "%s needs --cache", given);
    if ((c->cache_list || c->cache_clear) && set->files.count > 0)
        return cli_usage("Compile without it.", "%s compiles nothing", given);
    return STATUS_OK;
}
