/* list.c - lists of input files, one line for each inference

   ROOM     >>lists */
#include "run/io/io.h"

/* =====================================================================================
   LISTS                                                                          >>lists
   Text files whose lines name the files of the inputs, in their order or as INPUT:=FILE.
   ===================================================================================== */

enum { LIST_BYTES = 1 << 24 };         /* most bytes of a list */

void list_free(input_list *list)
{
    free(list->path);
    free(list->text);
    free(list->words);
    free(list->lines);
    memset(list, 0, sizeof(*list));
}

/* Split a line into words. A comment begins with '#' or '%'. */
static void list_split(input_list *list, char *line, size_t number)
{
    const size_t first = list->word_count;
    if (line[0] == '#' || line[0] == '%') return;
    for (char *word = strtok(line, " \t\r"); word != NULL; word = strtok(NULL, " \t\r")) {
        list->words = cli_grow(list->words, list->word_count, &list->word_room,
                               sizeof(*list->words));
        list->words[list->word_count++] = word;
    }
    if (list->word_count == first) return;
    list->lines = cli_grow(list->lines, list->line_count, &list->line_room, sizeof(*list->lines));
    const list_line made = {number, first, list->word_count - first};
    list->lines[list->line_count++] = made;
}

int list_read(const char *path, input_list *list, qnnrt_error *err)
{
    static const char hint[] = "Name a text file with a line for each sample.";
    size_t bytes = 0, number = 0;
    memset(list, 0, sizeof(*list));
    list->path = cli_text("%s", path);
    list->text = cli_read_file(path, LIST_BYTES, &bytes);
    if (list->text == NULL)
        return value_fail(err, hint, "cannot read %s: %s", path,
                          errno == EFBIG ? "it is too long for a list" : strerror(errno));
    if (memchr(list->text, '\0', bytes) != NULL)
        return value_fail(err, hint, "%s is to be a list of samples, and has binary data", path);
    for (char *line = list->text, *end; line != NULL; line = end) {
        end = strchr(line, '\n');
        if (end != NULL) *end++ = '\0';
        list_split(list, line, ++number);
    }
    if (list->line_count > 0) return 1;
    return value_fail(err, "Write a line for each sample: its files, in the order of the inputs.",
                      "%s has no samples", path);
}

/* Find the input of a word. *file: the part that names the file. Return `count` for a name that no
   input has. */
static size_t list_input(const char *word, const char *const *names, size_t count, size_t *next,
                         const char **file)
{
    const char *mark = strstr(word, ":=");
    size_t at = 0;
    *file = mark != NULL ? mark + 2 : word;
    if (mark == NULL) return (*next)++;
    while (at < count && (strlen(names[at]) != (size_t)(mark - word) ||
                          strncmp(names[at], word, (size_t)(mark - word)) != 0)) ++at;
    return at;
}

int list_place(const input_list *list, const list_line *line, const char *const *names,
               size_t count, const char *graph, const char **files, qnnrt_error *err)
{
    size_t next = 0;
    for (size_t i = 0; i < line->count; ++i) {
        const char *word = list->words[line->first + i], *file = NULL;
        const size_t at = list_input(word, names, count, &next, &file);
        if (at >= count)
            return value_fail(err, "Name the files of the inputs in their order, or as"
                              " INPUT:=FILE.", file == word
                              ? "%s, line %lu: \"%s\" is one file more than graph \"%s\" has inputs"
                              : "%s, line %lu: \"%s\" is no input of graph \"%s\"", list->path,
                              (unsigned long)line->number, word, graph);
        if (files[at] != NULL)
            return value_fail(err, "Give one file for each input.",
                              "%s, line %lu: input \"%s\" has two files", list->path,
                              (unsigned long)line->number, names[at]);
        files[at] = file;
    }
    return 1;
}

int list_lacks(const input_list *list, const list_line *line, const char *name, qnnrt_error *err)
{
    return value_fail(err, "Give one file for each input.",
                      "%s, line %lu: input \"%s\" has no file", list->path,
                      (unsigned long)line->number, name);
}
