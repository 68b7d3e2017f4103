/* cli_options.h - a part of cli.h: tables of options and verbs, parsed and printed as help

   ROOMS    >>words >>tables >>help >>parse                                                      */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

/* =====================================================================================
   WORDS                                                                         >>words
   Numbers, words of a list, power presets, and the known word nearest to an unknown one.
   ===================================================================================== */

/* Read a whole number: digits only, at most `most`. */
static inline int cli_number(const char *s, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    if (*s == '\0') return 0;
    for (; *s != '\0'; ++s) {
        const uint64_t digit = (uint64_t)(*s - '0');
        if (*s < '0' || *s > '9' || digit > most || value > (most - digit) / 10) return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return 1;
}

/* Read a number as JSON has it, in every locale; ".5" is allowed too. */
static inline int cli_real(const char *s, double *out)
{
    char whole[64];
    qnnrt_json_text number;
    memset(&number, 0, sizeof(number));
    if (s[0] == '.' && strlen(s) + 2 <= sizeof(whole)) {
        snprintf(whole, sizeof(whole), "0%s", s);
        s = whole;
    }
    number.text = s;
    number.bytes = strlen(s);
    return qnnrt_json_f64(&number, out);
}

/* Return the index of a word in a list that ends with NULL, or -1. */
static inline int cli_word(const char *s, const char *const *words)
{
    for (int i = 0; words[i] != NULL; ++i)
        if (strcmp(s, words[i]) == 0) return i;
    return -1;
}

/* Return "a, b or c" of a list that ends with NULL. The caller frees it. */
static inline char *cli_join(const char *const *words)
{
    char *all = cli_text("%s", words[0]);
    for (size_t i = 1; words[i] != NULL; ++i) {
        char *longer = cli_text("%s%s%s", all, words[i + 1] != NULL ? ", " : " or ", words[i]);
        free(all);
        all = longer;
    }
    return all;
}

enum { CLI_MOST_PRESETS = 32 };

/* Fill the names of the power presets, from the first one that has a name; they end with NULL. */
static inline void cli_presets(const char *names[CLI_MOST_PRESETS])
{
    size_t i = 0;
    while (i + 1 < CLI_MOST_PRESETS) {
        names[i] = qnnrt_power_preset_name((qnnrt_power_preset)(QNNRT_POWER_CUSTOM + 1 + (int)i));
        if (names[i] == NULL) return;
        ++i;
    }
    names[i] = NULL;
}

/* The search for the nearest known word. */
typedef struct cli_near {
    const char *word;                  /* the unknown one                  */
    size_t      bytes;
    const char *best;                  /* NULL: no known word is near      */
    size_t      distance;              /* distance of the best             */
} cli_near;

/* Return how many characters must be added, left out, replaced or swapped with the next one to turn
   the word into `known`; '-' counts as '_'. */
static inline size_t cli_distance(const char *word, size_t bytes, const char *known)
{
    enum { MOST = 40 };
    size_t rows[3][MOST + 1];
    const size_t length = strlen(known);
    if (bytes > MOST || length > MOST) return MOST;
    for (size_t k = 0; k <= length; ++k) rows[0][k] = k;
    for (size_t i = 1; i <= bytes; ++i) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        const char c = word[i - 1] == '-' ? '_' : word[i - 1];
        row[0] = i;
        for (size_t k = 1; k <= length; ++k) {
            size_t least = above[k - 1] + (c != known[k - 1]);
            if (above[k] + 1 < least) least = above[k] + 1;
            if (row[k - 1] + 1 < least) least = row[k - 1] + 1;
            if (i > 1 && k > 1 && c == known[k - 2] && word[i - 2] == known[k - 1] &&
                two_above[k - 2] + 1 < least)
                least = two_above[k - 2] + 1;
            row[k] = least;
        }
    }
    return rows[bytes % 3][length];
}

/* Compare one known word. A word that is cut short counts as one wrong character. */
static inline void cli_near_try(cli_near *near, const char *known)
{
    const size_t most = 1 + near->bytes / 4;
    size_t distance = cli_distance(near->word, near->bytes, known);
    if (distance > 1 && near->bytes > 0 && strncmp(near->word, known, near->bytes) == 0)
        distance = 1;
    if (distance > most || (near->best != NULL && distance >= near->distance)) return;
    near->best = known;
    near->distance = distance;
}

/* =====================================================================================
   TABLES                                                                       >>tables
   The tables of options and verbs that a program accepts.
   ===================================================================================== */

typedef enum cli_kind {
    CLI_FLAG,                          /* field: int, set to 1                             */
    CLI_TEXT,                          /* field: const char *                              */
    CLI_LIST,                          /* field: cli_list; the option may be repeated      */
    CLI_U32, CLI_U64,                  /* field: uint32_t, uint64_t; from least to most    */
    CLI_REAL,                          /* field: double; from bottom to top                */
    CLI_WORD,                          /* field: int, the index in words                   */
    CLI_POWER,                         /* field: qnnrt_power_preset                        */
    CLI_LEVEL,                         /* field: qnnrt_log_level                           */
    CLI_OWN,                           /* take() reads the value                           */
    CLI_VERSION, CLI_HELP
} cli_kind;

typedef struct cli_list {
    const char **items;                /* [count], words of the command line; free it */
    size_t       count;
} cli_list;

/* What an option is for the key of a cache. */
typedef enum cli_key {
    CLI_KEY_VALUE = 0,                 /* its value decides about the result                   */
    CLI_KEY_FILE,                      /* the content of the file that it names does           */
    CLI_KEY_NONE                       /* the result is the same, or the key has it otherwise  */
} cli_key;

typedef struct cli_option cli_option;
struct cli_option {
    const char *name, *alias;          /* without "--"; alias may be NULL                      */
    const char *value;                 /* as the help shows it; NULL: the option takes none    */
    const char *help;                  /* a sentence without its full stop                     */
    cli_kind    kind;
    unsigned    verbs;                 /* bits of the verbs that list it; 0: all               */
    size_t      field;                 /* offset in the settings                               */
    uint64_t    least, most;
    double      bottom, top;           /* range of a CLI_REAL                                  */
    int         above;                 /* 1: the number must be greater than 0                 */
    int         empty;                 /* 1: the value may be empty                            */
    int         repeat;                /* 1: may be repeated, like a CLI_LIST                  */
    cli_key     key;
    const char *const *words;
    /* Reads the value of a CLI_OWN. Returns STATUS_OK, or STATUS_USAGE after a message. */
    int       (*take)(void *settings, const cli_option *option, const char *value);
};

typedef struct cli_verb {
    const char *name;
    const char *usage;                 /* what follows the name                                */
    const char *summary;               /* one sentence                                         */
    const char *const *examples;       /* what follows the program's name; ends with NULL      */
    const char *notes;                 /* one paragraph for its own help, or NULL              */
    unsigned    lists, takes;          /* bits of the options in its help, and of all it takes */
    int         raw;                   /* 1: all words are operands, also those with "--"      */
    int       (*run)(void *program);   /* returns the exit status                              */
} cli_verb;

typedef struct cli_table {
    const cli_option *options;         /* [count]                                              */
    size_t            count;
} cli_table;

#define CLI_TABLE(options) {options, sizeof(options) / sizeof((options)[0])}

typedef struct cli_program {
    const char       *summary;         /* one sentence                                         */
    const char       *usage;           /* what follows the name of a program without verbs     */
    const char *const *examples;
    const char       *notes;           /* one paragraph, or NULL                               */
    const char       *statuses;        /* one paragraph about the exit status                  */
    const cli_verb   *verbs;           /* [verb_count]; the first one is the default           */
    size_t            verb_count;
    const cli_table  *tables;          /* [table_count]; each part of a program may have one   */
    size_t            table_count;
    int               operands;        /* 1: words that are not options go to .operand_field   */
    size_t            operand_field;   /* offset of a cli_list in the settings                 */
} cli_program;

/* Return the option with an index counted through all tables; NULL after the last one. */
static inline const cli_option *cli_option_at(const cli_program *p, size_t index)
{
    for (size_t i = 0; i < p->table_count; index -= p->tables[i++].count)
        if (index < p->tables[i].count) return &p->tables[i].options[index];
    return NULL;
}

/* =====================================================================================
   HELP                                                                           >>help
   ===================================================================================== */

enum { CLI_WIDTH = 80 };

/* Print a paragraph in lines of at most CLI_WIDTH columns. */
static inline void cli_paragraph(FILE *out, int indent, const char *text)
{
    int column = 0;
    while (*text != '\0') {
        const int length = (int)strcspn(text, " \n");
        if (column > 0 && column + 1 + length > CLI_WIDTH) {
            fputc('\n', out);
            column = 0;
        }
        column += fprintf(out, "%*s%.*s", column == 0 ? indent : 1, "", length, text);
        text += length;
        while (*text == ' ' || *text == '\n') ++text;
    }
    fputc('\n', out);
}

static inline void cli_help_options(FILE *out, const cli_program *p, unsigned lists)
{
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i) {
        const char *blank = o->value != NULL ? " " : "", *value = o->value != NULL ? o->value : "";
        if (o->verbs != 0 && (o->verbs & lists) == 0) continue;
        fprintf(out, "  --%s%s%s", o->name, blank, value);
        if (o->alias != NULL) fprintf(out, ", --%s%s%s", o->alias, blank, value);
        fputc('\n', out);
        cli_paragraph(out, 8, o->help);
    }
}

static inline void cli_help_usage(FILE *out, const char *verb, const char *usage)
{
    fprintf(out, "  " CLI_NAME "%s%s%s%s\n", verb != NULL ? " " : "", verb != NULL ? verb : "",
            usage[0] != '\0' ? " " : "", usage);
}

static inline void cli_help_examples(FILE *out, const char *const *examples)
{
    for (size_t i = 0; examples != NULL && examples[i] != NULL; ++i)
        fprintf(out, "      " CLI_NAME " %s\n", examples[i]);
}

/* Print the help of a verb, or of the program for NULL: it has all verbs, and the options of the
   first one and of those that share them. */
static inline void cli_help(FILE *out, const cli_program *p, const cli_verb *verb)
{
    cli_paragraph(out, 0, verb != NULL ? verb->summary : p->summary);
    fputc('\n', out);
    if (verb != NULL) {
        cli_help_usage(out, verb->name, verb->usage);
        cli_help_examples(out, verb->examples);
    } else if (p->verb_count == 0) {
        cli_help_usage(out, NULL, p->usage);
        cli_help_examples(out, p->examples);
    }
    for (size_t i = 0; verb == NULL && i < p->verb_count; ++i) {
        const cli_verb *v = &p->verbs[i];
        cli_help_usage(out, v->name, v->usage);
        cli_paragraph(out, 6, v->summary);
        cli_help_examples(out, v->examples);
    }
    const char *notes = verb != NULL ? verb->notes : p->notes;
    if (notes != NULL) {
        fputc('\n', out);
        cli_paragraph(out, 0, notes);
    }
    if (verb == NULL || !verb->raw) {
        fprintf(out, "\nOptions; a value follows as the next word or after '=':\n\n");
        cli_help_options(out, p, verb != NULL ? verb->lists
                                 : p->verb_count != 0 ? p->verbs[0].takes : 0);
    }
    if (p->statuses != NULL) fputc('\n', out);
    if (p->statuses != NULL) cli_paragraph(out, 0, p->statuses);
}

/* =====================================================================================
   PARSE                                                                         >>parse
   ===================================================================================== */

/* An option as it stands on the command line. */
typedef struct cli_given {
    const cli_option *option;
    const char       *value;           /* NULL: it takes none */
} cli_given;

typedef struct cli_parsed {
    const cli_verb *verb;              /* the verb, in a program that has verbs          */
    int             named;             /* 1: the verb stands on the command line         */
    int             answered;          /* 1: --help or --version: there is nothing to do */
    const char     *operand;           /* the first word that is not an option, or NULL  */
    cli_given      *given;             /* [given_count] as on the command line; free it  */
    size_t          given_count;
} cli_parsed;

static inline int cli_takes(const cli_option *o, const cli_verb *verb)
{
    return verb == NULL || o->verbs == 0 || (o->verbs & verb->takes) != 0;
}

static inline int cli_named(const cli_option *o, const char *word, size_t bytes)
{
    return (strlen(o->name) == bytes && strncmp(o->name, word, bytes) == 0) ||
           (o->alias != NULL && strlen(o->alias) == bytes && strncmp(o->alias, word, bytes) == 0);
}

/* Return the first verb whose help lists an option of this name, or NULL. */
static inline const cli_verb *cli_verb_of(const cli_program *p, const char *name, size_t bytes)
{
    const cli_option *o;
    for (size_t v = 0; v < p->verb_count; ++v)
        for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i)
            if ((o->verbs & p->verbs[v].lists) != 0 && cli_named(o, name, bytes))
                return &p->verbs[v];
    return NULL;
}

/* Report an option that this verb, or the program, does not have. Returns STATUS_USAGE. */
static inline int cli_unknown_option(const cli_program *p, const cli_verb *verb, const char *word)
{
    const size_t dashes = strncmp(word, "--", 2) == 0 ? 2 : 1, bytes = strcspn(word + dashes, "=");
    const cli_verb *other = dashes == 2 ? cli_verb_of(p, word + 2, bytes) : NULL;
    cli_near near = {word + dashes, bytes, NULL, 0};
    char *name = cli_text("%.*s", (int)(dashes + bytes), word), *shown = cli_shown(name);
    char *hint = NULL;
    const cli_option *o;
    for (size_t i = 0; other == NULL && (o = cli_option_at(p, i)) != NULL; ++i) {
        if (!cli_takes(o, verb)) continue;
        cli_near_try(&near, o->name);
        if (o->alias != NULL) cli_near_try(&near, o->alias);
    }
    if (other != NULL) hint = cli_text("Use it with " CLI_NAME " %s.", other->name);
    else if (near.best != NULL) hint = cli_text("Use --%s.", near.best);
    if (other != NULL) cli_usage(hint, "%s is not an option of %s", shown, verb->name);
    else cli_usage(hint, dashes == 2 ? "unknown option %s" : "unknown option \"%s\"", shown);
    free(name);
    free(shown);
    free(hint);
    return STATUS_USAGE;
}

/* Report an unknown value of an option whose values are words. Returns STATUS_USAGE. */
static inline int cli_unknown_word(const cli_option *o, const char *value, const char *const *words,
                                   const char *also)
{
    cli_near near = {value, strlen(value), NULL, 0};
    for (size_t i = 0; words[i] != NULL; ++i) cli_near_try(&near, words[i]);
    char *all = cli_join(words), *shown = cli_shown(value);
    char *hint = near.best != NULL ? cli_text("Use --%s %s.", o->name, near.best) : NULL;
    cli_usage(hint, "--%s takes %s%s, not \"%s\"", o->name, all, also, shown);
    free(all);
    free(shown);
    free(hint);
    return STATUS_USAGE;
}

static inline int cli_wrong_value(const cli_option *o, const char *value, const char *takes)
{
    char *shown = cli_shown(value);
    cli_usage(NULL, "--%s takes %s, not \"%s\"", o->name, takes, shown);
    free(shown);
    return STATUS_USAGE;
}

enum { CLI_ROLES = 16, CLI_ROLE_BYTES = 64 };

typedef struct cli_role {              /* --backend_so ROLE=FILE           */
    char        role[CLI_ROLE_BYTES];
    const char *file;
} cli_role;

/* Read --backend_so: FILE into *file, or ROLE=FILE into roles. What is before '=' is a role only if
   it looks like one, so that a path with a slash before it is a path. */
static inline int cli_take_backend(const cli_option *o, const char *value, const char **file,
                                   cli_role roles[CLI_ROLES], size_t *count)
{
    const size_t bytes = strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (bytes == 0 || value[bytes] != '=') {
        if (*file != NULL) return cli_usage(NULL, "--%s is given twice", o->name);
        *file = value;
        return STATUS_OK;
    }
    if (bytes >= CLI_ROLE_BYTES)
        return cli_usage(NULL, "--%s: the role has %lu bytes, and at most %d are possible", o->name,
                         (unsigned long)bytes, CLI_ROLE_BYTES - 1);
    if (value[bytes + 1] == '\0')
        return cli_usage("Write --backend_so ROLE=FILE.", "--%s needs a file after \"%s\"", o->name,
                         value);
    for (size_t i = 0; i < *count; ++i)
        if (strncmp(roles[i].role, value, bytes) == 0 && roles[i].role[bytes] == '\0')
            return cli_usage("Name one library for each role.",
                             "--%s has the role \"%s\" twice", o->name, roles[i].role);
    if (*count == CLI_ROLES)
        return cli_usage(NULL, "--%s has more than %d roles", o->name, CLI_ROLES);
    cli_role *role = &roles[(*count)++];
    memset(role, 0, sizeof(*role));
    memcpy(role->role, value, bytes);
    role->file = value + bytes + 1;
    return STATUS_OK;
}

/* Store a value in the settings. Returns STATUS_OK, or STATUS_USAGE after a message. */
static inline int cli_store(const cli_option *o, const char *value, void *settings)
{
    static const char *const levels[] = {"off", "error", "warn", "info", "verbose", "debug", NULL};
    void *field = (char *)settings + o->field;
    char takes[96];
    uint64_t number = 0;
    double real = 0;
    int word;
    switch (o->kind) {
    case CLI_FLAG:
        *(int *)field = 1;
        return STATUS_OK;
    case CLI_TEXT:
        *(const char **)field = value;
        return STATUS_OK;
    case CLI_LIST: {
        cli_list *list = (cli_list *)field;
        list->items[list->count++] = value;
        return STATUS_OK;
    }
    case CLI_U32:
    case CLI_U64:
        if (!cli_number(value, o->most, &number) || number < o->least) {
            snprintf(takes, sizeof(takes), "a number from %llu to %llu",
                     (unsigned long long)o->least, (unsigned long long)o->most);
            return cli_wrong_value(o, value, takes);
        }
        if (o->kind == CLI_U32) *(uint32_t *)field = (uint32_t)number;
        else *(uint64_t *)field = number;
        return STATUS_OK;
    case CLI_REAL:
        if (!cli_real(value, &real) || !(real >= o->bottom && real <= o->top) ||
            (o->above && !(real > 0))) {
            if (o->above) snprintf(takes, sizeof(takes), "a number above 0, up to %g", o->top);
            else snprintf(takes, sizeof(takes), "a number from %g to %g", o->bottom, o->top);
            return cli_wrong_value(o, value, takes);
        }
        *(double *)field = real;
        return STATUS_OK;
    case CLI_WORD:
        word = cli_word(value, o->words);
        if (word < 0) return cli_unknown_word(o, value, o->words, "");
        *(int *)field = word;
        return STATUS_OK;
    case CLI_POWER: {
        const char *presets[CLI_MOST_PRESETS];
        cli_presets(presets);
        word = cli_word(value, presets);
        if (word < 0) return cli_unknown_word(o, value, presets, "");
        *(qnnrt_power_preset *)field = (qnnrt_power_preset)(QNNRT_POWER_CUSTOM + 1 + word);
        return STATUS_OK;
    }
    case CLI_LEVEL:
        word = cli_word(value, levels);
        if (word >= 0) number = (uint64_t)word;
        else if (!cli_number(value, 5, &number))
            return cli_unknown_word(o, value, levels, ", or 0 to 5");
        *(qnnrt_log_level *)field = (qnnrt_log_level)number;
        return STATUS_OK;
    case CLI_OWN:
        return o->take(settings, o, value);
    case CLI_VERSION:
    case CLI_HELP:
        break;                                   /* cli_parse() prints the help */
    }
    return STATUS_OK;
}

/* Give a list room for all words of the command line. */
static inline void cli_make_list(void *settings, size_t field, size_t most)
{
    cli_list *list = (cli_list *)(void *)((char *)settings + field);
    if (list->items == NULL)
        list->items = (const char **)cli_alloc(most, sizeof(*list->items));
}

/* Free a list; several options may share it. */
static inline void cli_free_list(void *settings, size_t field)
{
    cli_list *list = (cli_list *)(void *)((char *)settings + field);
    free((void *)list->items);
    list->items = NULL;
    list->count = 0;
}

/* Read one option and its value. *at: its index in argv, then that of its value. */
static inline int cli_parse_option(const cli_program *p, int argc, char **argv, int *at,
                                   unsigned char *seen, void *settings, FILE *out,
                                   cli_parsed *parsed)
{
    const char *word = argv[*at] + 2;
    const size_t bytes = strcspn(word, "=");
    const char *value = word[bytes] == '=' ? word + bytes + 1 : NULL;
    const cli_option *o;
    size_t index = 0;
    while ((o = cli_option_at(p, index)) != NULL &&
           !(cli_takes(o, parsed->verb) && cli_named(o, word, bytes))) ++index;
    if (o == NULL) return cli_unknown_option(p, parsed->verb, argv[*at]);

    const char *name = strlen(o->name) == bytes ? o->name : o->alias;
    if (o->value == NULL && value != NULL) return cli_usage(NULL, "--%s takes no value", name);
    if (o->value != NULL) {
        if (value == NULL && *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0)
            value = argv[++*at];
        if (value == NULL || (value[0] == '\0' && !o->empty))
            return cli_usage(NULL, "--%s needs a value: --%s %s", name, name, o->value);
        if (seen[index] && o->kind != CLI_LIST && !o->repeat)
            return cli_usage(NULL, "--%s is given twice", o->name);
    }
    seen[index] = 1;
    parsed->given[parsed->given_count].option = o;
    parsed->given[parsed->given_count++].value = value;
    if (o->kind == CLI_HELP) cli_help(out, p, parsed->named ? parsed->verb : NULL);
    if (o->kind == CLI_VERSION) fprintf(out, CLI_NAME " %s\n", qnnrt_version());
    if (o->kind == CLI_HELP || o->kind == CLI_VERSION) parsed->answered = 1;
    return cli_store(o, value, settings);
}

static inline int cli_is_verb(const cli_program *p, const char *word)
{
    for (size_t v = 0; v < p->verb_count; ++v)
        if (strcmp(word, p->verbs[v].name) == 0) return 1;
    return 0;
}

/* Report a word that is not a verb, or not the first word. Returns STATUS_USAGE. */
static inline int cli_unknown_verb(const cli_program *p, const char *word, int first)
{
    cli_near near = {word, strlen(word), NULL, 0};
    const char **names = (const char **)cli_alloc(p->verb_count + 1, sizeof(*names));
    for (size_t v = 0; v < p->verb_count; ++v) {
        names[v] = p->verbs[v].name;
        cli_near_try(&near, names[v]);
    }
    char *shown = cli_shown(word), *all = cli_join(names), *hint = NULL;
    if (first && near.best != NULL) hint = cli_text("Use " CLI_NAME " %s.", near.best);
    if (first) cli_usage(hint, "unknown verb \"%s\": expected %s", shown, all);
    else cli_usage(cli_is_verb(p, word) ? "Write the verb as the first word." : NULL,
                   "unexpected argument \"%s\"", shown);
    free((void *)names);
    free(shown);
    free(all);
    free(hint);
    return STATUS_USAGE;
}

/* Read a word that is not an option. */
static inline int cli_parse_operand(const cli_program *p, const char *word, void *settings,
                                    cli_parsed *parsed)
{
    const int raw = parsed->verb != NULL && parsed->verb->raw;
    if (!raw && (!p->operands || word[0] == '\0' || strcmp(word, "--") == 0)) {
        char *shown = cli_shown(word);
        cli_usage(NULL, "unexpected argument \"%s\"", shown);
        free(shown);
        return STATUS_USAGE;
    }
    cli_list *list = (cli_list *)(void *)((char *)settings + p->operand_field);
    if (parsed->operand == NULL) parsed->operand = word;
    list->items[list->count++] = word;
    return STATUS_OK;
}

/* Read the command line into the settings. Return STATUS_USAGE after printing what is wrong with
   it. The caller says cli_free() at the end, after a failure too. */
static inline int cli_parse(const cli_program *p, int argc, char **argv, void *settings, FILE *out,
                            cli_parsed *parsed)
{
    const cli_option *o;
    size_t option_count = 0;
    while (cli_option_at(p, option_count) != NULL) ++option_count;
    unsigned char *seen = (unsigned char *)cli_alloc(option_count, 1);
    const size_t most = (size_t)argc + 1;
    int status = STATUS_OK, at = 1;
    memset(parsed, 0, sizeof(*parsed));
    parsed->given = (cli_given *)cli_alloc(most, sizeof(*parsed->given));
    if (p->verb_count > 0) parsed->verb = &p->verbs[0];
    for (size_t v = 0; argc > 1 && v < p->verb_count; ++v) {
        if (strcmp(argv[1], p->verbs[v].name) != 0) continue;
        parsed->verb = &p->verbs[v];
        parsed->named = 1;
        at = 2;
    }
    if (p->operands) cli_make_list(settings, p->operand_field, most);
    for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i)
        if (o->kind == CLI_LIST) cli_make_list(settings, o->field, most);
    for (; at < argc && status == STATUS_OK && !parsed->answered; ++at) {
        const char *word = argv[at];
        const int help = argc == 3 && strcmp(word, "--help") == 0;
        const int raw = parsed->verb != NULL && parsed->verb->raw && !help;
        if (!raw && strncmp(word, "--", 2) == 0 && word[2] != '\0')
            status = cli_parse_option(p, argc, argv, &at, seen, settings, out, parsed);
        else if (!raw && word[0] == '-' && word[1] != '\0' && word[1] != '-')
            status = cli_unknown_option(p, parsed->verb, word);
        else
            status = cli_parse_operand(p, word, settings, parsed);
    }
    free(seen);
    return status;
}

/* Free the lists in the settings, and what cli_parse() has allocated. */
static inline void cli_free(const cli_program *p, void *settings, cli_parsed *parsed)
{
    const cli_option *o;
    if (p->operands) cli_free_list(settings, p->operand_field);
    for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i)
        if (o->kind == CLI_LIST) cli_free_list(settings, o->field);
    free(parsed->given);
    parsed->given = NULL;
}

#endif /* CLI_OPTIONS_H */
