/* ops.c - operators, what they take, and which library computes them

   ROOM     >>operators */
#include "run/show/show.h"
#include "qnnrt_quirks.h"

#include <strings.h>

/* =====================================================================================
   OPERATORS                                                                 >>operators
   qnnrt-run ops: all operators, or some with their parts; and the one nearest to a word.
   ===================================================================================== */

#define OP_CPU "libQnnCpu.so 2.47"
#define OP_HTP "libQnnHtp.so 2.51"

/* Return the row of an operator; case is ignored. NULL: there is none. */
static const op_row *op_find(const char *name)
{
    for (size_t i = 0; i < OP_ROWS; ++i)
        if (strcasecmp(op_rows[i].name, name) == 0) return &op_rows[i];
    return NULL;
}

/* Return a text in lower case. The caller frees it. */
static char *op_lower(const char *text)
{
    char *lower = cli_text("%s", text);
    for (char *c = lower; *c != '\0'; ++c)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    return lower;
}

const char *op_nearest(const char *word, int parts)
{
    OWNED char *low = op_lower(word);
    const size_t bytes = strlen(low);
    const char *near = NULL, *ends = NULL, *has = NULL;
    size_t least = 1 + bytes / 4;
    for (size_t i = 0; i < OP_ROWS && bytes > 1; ++i) {
        OWNED char *known = op_lower(op_rows[i].name);
        const size_t length = strlen(known), distance = cli_distance(low, bytes, known);
        if (distance < least || (distance == least && near == NULL)) {
            least = distance;
            near = op_rows[i].name;
        }
        if (ends == NULL && length > bytes && strcmp(known + length - bytes, low) == 0)
            ends = op_rows[i].name;
        if (has == NULL && strstr(known, low) != NULL) has = op_rows[i].name;
    }
    return near != NULL || !parts ? near : ends != NULL ? ends : has;
}

/* True if a list that is joined by blanks has a word. */
static int op_listed(const char *list, const char *word)
{
    const size_t bytes = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += bytes)
        if ((at == list || at[-1] == ' ') && (at[bytes] == ' ' || at[bytes] == '\0')) return 1;
    return 0;
}

/* Return what happens to nodes that a line of the table of known faults is about. */
static const char *op_fault(qnnrt_quirk_what what)
{
    switch (what) {
    case QNNRT_QUIRK_REFUSED: return "refused";
    case QNNRT_QUIRK_EXEC_FAILED: return "fails when it runs";
    case QNNRT_QUIRK_CRASHES: return "ends the process";
    case QNNRT_QUIRK_MAY_CRASH: return "may end the process";
    case QNNRT_QUIRK_DIFFERS: return "computed wrong";
    case QNNRT_QUIRK_SOMETIMES: return "sometimes computed wrong";
    case QNNRT_QUIRK_VALUES: return "computed wrong for some values";
    case QNNRT_QUIRK_EXTREMES: return "computed wrong for extreme values";
    }
    return "";
}

/* True if a line is about an operator; those about all operators are left out. */
static int op_is_known(const qnnrt_quirk *known, const op_row *row)
{
    return op_listed(known->ops, row->name);
}

static const char *op_types(const char *types)
{
    return types == NULL ? "not measured" : types[0] == '\0' ? "none" : types;
}

/* Print a part: words that do not fit go to further lines, below the first one. */
static void say_part(tool *t, const char *kind, const op_part *part)
{
    enum { WIDTH = 100 };
    OWNED char *head = cli_text("  %-9s  %-16s ", kind, part->name);
    size_t column = strlen(head);
    say(t, "%s", head);
    for (const char *word = part->text; *word != '\0';) {
        const size_t bytes = strcspn(word, " ");
        if (column + 1 + bytes > WIDTH) {
            say(t, "\n%28s", "");
            column = 28;
        }
        say(t, " %.*s", (int)bytes, word);
        column += 1 + bytes;
        word += bytes + (word[bytes] == ' ');
    }
    say(t, "\n");
}

static void say_op(tool *t, const op_row *row)
{
    static const char kinds[] = "iop";
    static const char *const words[] = {"input", "output", "parameter"};
    say(t, "%s\n", row->name);
    for (size_t k = 0; k < 3; ++k)
        for (size_t i = 0; i < OP_PARTS; ++i)
            if (op_parts[i].kind == kinds[k] && op_listed(op_parts[i].ops, row->name))
                say_part(t, words[k], &op_parts[i]);
    say(t, "  right on   %s: %s\n", OP_CPU, op_types(row->cpu));
    say(t, "             %s: %s\n", OP_HTP, op_types(row->htp));
    say(t, "             libQnnRef.so: yes\n");
    for (size_t i = 0; i < QNNRT_QUIRK_COUNT; ++i) {
        const qnnrt_quirk *known = &qnnrt_quirks[i];
        if (!op_is_known(known, row)) continue;
        OWNED char *text = cli_text("%s on %s, %s: %s. %s", op_fault(known->what), known->backends,
                                    strcmp(known->dtypes, "*") == 0 ? "all types" : known->dtypes,
                                    known->why, known->instead);
        cli_paragraph(t->out, 2, text);
    }
}

static void json_op(json *j, const op_row *row)
{
    static const char *const lists[] = {"inputs", "outputs", "parameters"};
    static const char kinds[] = "iop";
    json_open(j, NULL, '{', 0);
    json_string(j, "name", row->name);
    for (size_t k = 0; k < 3; ++k) {
        json_open(j, lists[k], '[', 0);
        for (size_t i = 0; i < OP_PARTS; ++i) {
            if (op_parts[i].kind != kinds[k] || !op_listed(op_parts[i].ops, row->name)) continue;
            json_open(j, NULL, '{', 1);
            json_string(j, "name", op_parts[i].name);
            json_string(j, "text", op_parts[i].text);
            json_close(j);
        }
        json_close(j);
    }
    json_string(j, "cpu", row->cpu);
    json_string(j, "htp", row->htp);
    json_open(j, "known", '[', 0);
    for (size_t i = 0; i < QNNRT_QUIRK_COUNT; ++i) {
        const qnnrt_quirk *known = &qnnrt_quirks[i];
        if (!op_is_known(known, row)) continue;
        json_open(j, NULL, '{', 0);
        json_string(j, "name", known->name);
        json_string(j, "backends", known->backends);
        json_string(j, "dtypes", known->dtypes);
        json_string(j, "what", op_fault(known->what));
        json_string(j, "why", known->why);
        json_string(j, "instead", known->instead);
        json_close(j);
    }
    json_close(j);
    json_close(j);
}

/* Find the operators of the command line, or all. Returns how many there are. */
static size_t ops_asked(tool *t, const op_row **asked)
{
    const cli_list *words = &t->set.files;
    size_t count = 0;
    for (size_t i = 0; i < OP_ROWS && words->count == 0; ++i) asked[count++] = &op_rows[i];
    for (size_t i = 0; i < words->count; ++i) {
        const op_row *row = op_find(words->items[i]);
        if (row != NULL) {
            asked[count++] = row;
            continue;
        }
        const char *near = op_nearest(words->items[i], 1);
        OWNED char *hint = near != NULL ? cli_text("Run qnnrt-run ops %s.", near)
                                        : cli_text("Run qnnrt-run ops for the list.");
        fail(t, NULL, hint, "\"%s\" is no operator%s%s", words->items[i],
             near != NULL ? "; the nearest is " : "", near != NULL ? near : "");
    }
    return count;
}

int verb_ops(void *user)
{
    tool *t = user;
    OWNED const op_row **asked = cli_alloc(OP_ROWS + t->set.files.count, sizeof(*asked));
    const size_t count = ops_asked(t, asked);
    if (t->set.json) {
        document d;
        json *j = document_result(&d, "qnnrt-run.ops", t, !t->failed);
        json_open(j, "operators", '[', 0);
        for (size_t i = 0; i < count; ++i) json_op(j, asked[i]);
        json_close(j);
        document_write(&d, t, "-");
    } else if (t->set.files.count > 0) {
        for (size_t i = 0; i < count; ++i) say_op(t, asked[i]);
    } else {
        say(t, "%-28s %-30s %s\n", "operator", OP_CPU, OP_HTP);
        for (size_t i = 0; i < count; ++i)
            say(t, "%-28s %-30s %s\n", asked[i]->name, op_types(asked[i]->cpu),
                op_types(asked[i]->htp));
        say(t, "libQnnRef.so computes all of them. Types: f16 and f32 are floats; u8, u16, s8, s16"
            " and s32\nare quantized; i8 to i64, ui8 and ui32 are integers; b8 is bool.\n");
    }
    return STATUS_OK;
}

static const cli_option ops_options[] = {
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_OPS,
     .help = "write the operators to standard output as JSON"}
};

const cli_table ops_table = CLI_TABLE(ops_options);
