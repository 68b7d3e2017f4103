/* page.c - text that grows, files, and JSON documents

   ROOMS     >>page >>json */
#include "run/base/base.h"

#include <math.h>

/* =====================================================================================
   PAGE                                                                           >>page
   Text that grows, and the files that it is written to.
   ===================================================================================== */

void page_bytes(page *p, const char *data, size_t bytes)
{
    if (bytes >= p->room - p->used) {
        const size_t room = 2 * (p->room + bytes) + 256;
        char *longer = cli_alloc(room, 1);
        if (p->used != 0) memcpy(longer, p->data, p->used);
        free(p->data);
        p->data = longer;
        p->room = room;
    }
    memcpy(p->data + p->used, data, bytes);
    p->used += bytes;
    p->data[p->used] = '\0';
}

void page_text(page *p, const char *s)
{
    page_bytes(p, s, strlen(s));
}

void page_add(page *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    OWNED char *made = cli_text_list(format, list);
    va_end(list);
    page_text(p, made);
}

void page_dims(page *p, uint32_t rank, const int64_t *dims)
{
    page_text(p, "[");
    for (uint32_t i = 0; i < rank; ++i)
        page_add(p, "%s%lld", i > 0 ? "," : "", (long long)dims[i]);
    page_text(p, "]");
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

int write_file(tool *t, job *j, const char *path, const void *data, size_t bytes, int replace)
{
    if (cli_write_file(path, data, bytes, replace)) return 1;
    const int why = errno;
    OWNED char *name = cli_shown(path);
    fail(t, j, CLI_WRITE_HINT, "cannot write %s: %s", name, strerror(why));
    return 0;
}

int write_page(tool *t, const char *path, const page *p, int replace)
{
    if (strcmp(path, "-") != 0) return write_file(t, NULL, path, p->data, p->used, replace);
    fwrite(p->data, 1, p->used, t->out);         /* main() checks it for errors */
    return 1;
}

void say_wrote(tool *t, const char *path)
{
    t->wrote = cli_grow(t->wrote, t->wrote_count, &t->wrote_room, sizeof(*t->wrote));
    t->wrote[t->wrote_count++] = cli_text("%s", path);
    OWNED char *name = cli_shown(path);
    say(t, "wrote     %s\n", name);
}

void write_named(tool *t, const char *path, const page *p, int replace)
{
    if (write_page(t, path, p, replace) && !is_stdout(path)) say_wrote(t, path);
}

/* =====================================================================================
   JSON                                                                           >>json
   Members of a document, one call for each. A NULL key: the element of a list.
   ===================================================================================== */

int json_to_page(void *user, const char *data, size_t bytes)
{
    page_bytes(user, data, bytes);
    return 1;
}

void json_key(json *j, const char *key)
{
    if (key != NULL) qnnrt_json_write_key(j, key);
}

void json_open(json *j, const char *key, char bracket, int flat)
{
    json_key(j, key);
    if (bracket == '{') qnnrt_json_write_object(j, flat);
    else qnnrt_json_write_array(j, flat);
}

void json_close(json *j)
{
    qnnrt_json_write_close(j);
}

void json_string(json *j, const char *key, const char *value)
{
    json_key(j, key);
    qnnrt_json_write_string(j, value);
}

void json_count(json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    qnnrt_json_write_u64(j, value);
}

void json_document(json *j, page *p, const char *format)
{
    enum { VERSION = 1 };              /* of all forms; it grows when a member goes or changes */
    qnnrt_json_write_begin(j, json_to_page, p, 2);
    json_open(j, NULL, '{', 0);
    json_string(j, "format", format);
    json_count(j, "version", VERSION);
    json_string(j, "qnnrt", qnnrt_version());
}

int json_document_end(json *j)
{
    json_close(j);
    return qnnrt_json_write_end(j);
}

json *document_begin(document *d, const char *format)
{
    memset(d, 0, sizeof(*d));
    json_document(&d->writer, &d->text, format);
    return &d->writer;
}

void json_bool(json *j, const char *key, int value)
{
    json_key(j, key);
    qnnrt_json_write_bool(j, value);
}

json *document_result(document *d, const char *format, const tool *t, int ok)
{
    json *j = document_begin(d, format);
    json_bool(j, "ok", ok);
    json_string(j, "error", t->error);
    return j;
}

void document_write(document *d, tool *t, const char *path)
{
    json_document_end(&d->writer);
    write_page(t, path, &d->text, 0);
    free(d->text.data);
}

void json_int(json *j, const char *key, int32_t value)
{
    json_key(j, key);
    qnnrt_json_write_i64(j, value);
}

void json_float(json *j, const char *key, float value)
{
    json_key(j, key);
    if (isfinite(value)) qnnrt_json_write_f32(j, value);
    else qnnrt_json_write_null(j);
}

void json_axis(json *j, const qnnrt_quant *quant)
{
    json_int(j, "axis", quant->axis);
    json_open(j, "scales", '[', 1);
    for (uint32_t i = 0; i < quant->count; ++i) json_float(j, NULL, quant->scales[i]);
    json_close(j);
    json_open(j, "offsets", '[', 1);
    for (uint32_t i = 0; i < quant->count; ++i)
        json_int(j, NULL, quant->offsets != NULL ? quant->offsets[i] : 0);
    json_close(j);
}

void json_number(json *j, const char *key, double value)
{
    json_key(j, key);
    if (isfinite(value)) qnnrt_json_write_f64(j, value);
    else qnnrt_json_write_null(j);
}

char *version_text(qnnrt_version_info version)
{
    return cli_text("%lu.%lu.%lu", (unsigned long)version.major, (unsigned long)version.minor,
                (unsigned long)version.patch);
}

void json_version(json *j, const char *key, qnnrt_version_info version)
{
    OWNED char *value = version_text(version);
    json_string(j, key, value);
}
