/* text.c - memory that cannot fail, formatted text, names that are safe to show

   ROOM     >>text */
#include "cli/text.h"

/* =====================================================================================
   TEXT                                                                           >>text
   Memory that cannot fail, formatted text, names that are safe to show on a terminal.
   ===================================================================================== */

void *cli_alloc(size_t count, size_t size)
{
    void *data = calloc(count != 0 ? count : 1, size);
    if (data == NULL) {
        fprintf(stderr, "%s: out of memory\n", cli_name);
        exit(STATUS_FAILED);
    }
    return data;
}

void cli_free_owned(void *pointer)
{
    void *data;
    memcpy(&data, pointer, sizeof(data));
    free(data);
}

void *cli_grow(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room) return items;
    *room = *room != 0 ? 2 * *room : 16;
    void *longer = cli_alloc(*room, size);
    if (count != 0) memcpy(longer, items, count * size);
    free(items);
    return longer;
}

char *cli_text_list(const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    const size_t bytes = length > 0 ? (size_t)length + 1 : 1;
    char *text = (char *)cli_alloc(bytes, 1);
    vsnprintf(text, bytes, format, list);
    return text;
}

char *cli_text(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = cli_text_list(format, list);
    va_end(list);
    return text;
}

const char *cli_plural(uint64_t count) { return count == 1 ? "" : "s"; }

char *cli_grouped(uint64_t value)
{
    char digits[24], out[32];
    size_t used = 0;
    const int count = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
    for (int i = 0; i < count; ++i) {
        if (i > 0 && (count - i) % 3 == 0) out[used++] = ',';
        out[used++] = digits[i];
    }
    return cli_text("%.*s", (int)used, out);
}

char *cli_bytes_text(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 10000) {
        OWNED char *number = cli_grouped(bytes);
        return cli_text("%s byte%s", number, cli_plural(bytes));
    }
    for (; value >= 1023.95 && unit < 5; ++unit) value /= 1024;
    return cli_text("%.1f %s", value, units[unit]);
}

char *cli_shown_text(const char *name, int lines)
{
    char *made = (char *)cli_alloc(4 * strlen(name) + 1, 1);
    char *to = made;
    while (*name != '\0') {
        int plain = 0;
        size_t length = qnnrt_utf8_length(name, &plain);
        if (length == 0) length = 1;
        if (*name == '\n') plain = lines == 2 || (lines == 1 && name[1] == ' ' && name[2] == ' ');
        for (size_t i = 0; i < length; ++i, ++name) {
            if (plain) *to++ = *name;
            else to += sprintf(to, "\\x%02X", (unsigned)(unsigned char)*name);
        }
    }
    return made;
}

char *cli_shown(const char *name)
{
    return cli_shown_text(name, 0);
}
