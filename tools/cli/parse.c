/* parse.c - the command line, read by the tables of a program

   ROOM     >>parse */
#include "cli/cli.h"

/* =====================================================================================
   PARSE                                                                         >>parse
   ===================================================================================== */

static int cli_takes(const cli_option *o, const cli_verb *verb)
{
    return verb == NULL || o->verbs == 0 || (o->verbs & verb->takes) != 0;
}

static int cli_named(const cli_option *o, const char *word, size_t bytes)
{
    const char *const names[] = {o->name, o->alias, o->old};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
        if (names[i] != NULL && strlen(names[i]) == bytes && strncmp(names[i], word, bytes) == 0)
            return 1;
    return 0;
}

/* Return the first verb whose help lists an option of this name, or NULL. */
static const cli_verb *cli_verb_of(const cli_program *p, const char *name, size_t bytes)
{
    const cli_option *o;
    for (size_t v = 0; v < p->verb_count; ++v)
        for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i)
            if ((o->verbs & p->verbs[v].lists) != 0 && cli_named(o, name, bytes))
                return &p->verbs[v];
    return NULL;
}

/* Report an option that this verb, or the program, does not have. Returns STATUS_USAGE. */
static int cli_unknown_option(const cli_program *p, const cli_verb *verb, const char *word)
{
    const size_t dashes = strncmp(word, "--", 2) == 0 ? 2 : 1, bytes = strcspn(word + dashes, "=");
    const cli_verb *other = dashes == 2 ? cli_verb_of(p, word + 2, bytes) : NULL;
    cli_near near = {word + dashes, bytes, NULL, 0};
    OWNED char *name = cli_text("%.*s", (int)(dashes + bytes), word), *shown = cli_shown(name);
    OWNED char *hint = NULL;
    const cli_option *o;
    for (size_t i = 0; other == NULL && (o = cli_option_at(p, i)) != NULL; ++i) {
        if (!cli_takes(o, verb)) continue;
        cli_near_try(&near, o->name);
        if (o->alias != NULL) cli_near_try(&near, o->alias);
    }
    if (other != NULL) hint = cli_text("Use it with %s %s.", cli_name, other->name);
    else if (near.best != NULL) hint = cli_text("Use --%s.", near.best);
    if (other != NULL) cli_usage(hint, "%s is not an option of %s", shown, verb->name);
    else cli_usage(hint, dashes == 2 ? "unknown option %s" : "unknown option \"%s\"", shown);
    return STATUS_USAGE;
}

/* Report an unknown value of an option whose values are words. Returns STATUS_USAGE. */
static int cli_unknown_word(const cli_option *o, const char *value, const char *const *words,
                            const char *also)
{
    cli_near near = {value, strlen(value), NULL, 0};
    for (size_t i = 0; words[i] != NULL; ++i) cli_near_try(&near, words[i]);
    OWNED char *all = cli_join(words), *shown = cli_shown(value);
    OWNED char *hint = near.best != NULL ? cli_text("Use --%s %s.", o->name, near.best) : NULL;
    cli_usage(hint, "--%s takes %s%s, not \"%s\"", o->name, all, also, shown);
    return STATUS_USAGE;
}

int cli_wrong_value(const cli_option *o, const char *value, const char *takes)
{
    OWNED char *shown = cli_shown(value);
    cli_usage(NULL, "--%s takes %s, not \"%s\"", o->name, takes, shown);
    return STATUS_USAGE;
}

int cli_take_backend(const cli_option *o, const char *value, const char **file,
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

/* Return the settings that an option is for: those of its table, or of the program. */
static void *cli_fields(const cli_program *p, size_t index, void *settings)
{
    size_t i = 0;
    void *own;
    while (index >= p->tables[i]->count) index -= p->tables[i++]->count;
    if (!p->tables[i]->options[index].own) return settings;
    memcpy(&own, (char *)settings + p->tables[i]->own, sizeof(own));
    return own;
}

/* Make the settings of each table that has its own. */
static void cli_make_own(const cli_program *p, void *settings)
{
    for (size_t i = 0; i < p->table_count; ++i) {
        const cli_table *table = p->tables[i];
        if (table->bytes == 0) continue;
        void *own = cli_alloc(1, table->bytes);
        if (table->defaults != NULL) memcpy(own, table->defaults, table->bytes);
        memcpy((char *)settings + table->own, &own, sizeof(own));
    }
}

static void cli_free_own(const cli_program *p, void *settings)
{
    for (size_t i = 0; i < p->table_count; ++i) {
        void *own;
        if (p->tables[i]->bytes == 0) continue;
        memcpy(&own, (char *)settings + p->tables[i]->own, sizeof(own));
        free(own);
    }
}

/* Store a value in the settings. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int cli_store(const cli_option *o, const char *value, void *settings)
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
    case CLI_CHIP:
        return cli_take_chip(o, value, (uint32_t *)field);
    case CLI_OWN:
        return o->take(settings, o, value);
    case CLI_VERSION:
    case CLI_HELP:
    case CLI_MAN:
    case CLI_COMPLETION:
        break;                                   /* cli_answer() has printed it */
    }
    return STATUS_OK;
}

/* Give a list room for all words of the command line. */
static void cli_make_list(void *settings, size_t field, size_t most)
{
    cli_list *list = (cli_list *)(void *)((char *)settings + field);
    if (list->items == NULL)
        list->items = (const char **)cli_alloc(most, sizeof(*list->items));
}

/* Free a list; several options may share it. */
static void cli_free_list(void *settings, size_t field)
{
    cli_list *list = (cli_list *)(void *)((char *)settings + field);
    free((void *)list->items);
    list->items = NULL;
    list->count = 0;
}

/* Do what an option asks that leaves nothing else to do. */
static int cli_answer(const cli_program *p, const cli_option *o, const char *value,
                      FILE *out, cli_parsed *parsed)
{
    if (o->kind == CLI_HELP) cli_help(out, p, parsed->named ? parsed->verb : NULL);
    else if (o->kind == CLI_VERSION) fprintf(out, "%s %s\n", cli_name, qnnrt_version());
    else if (o->kind == CLI_MAN) cli_manual(out, p);
    else if (o->kind == CLI_COMPLETION && cli_word(value, cli_shells) < 0)
        return cli_unknown_word(o, value, cli_shells, "");
    else if (o->kind == CLI_COMPLETION) cli_completion(out, p, value);
    else if (o->kind == CLI_CHIP && strcmp(value, "help") == 0) cli_print_chips(out);
    else return STATUS_OK;
    parsed->answered = 1;
    return STATUS_OK;
}

/* Return the option of the verb with this name, NULL if it has none. index: in all tables. */
static const cli_option *cli_option_of(const cli_program *p, const cli_verb *verb,
                                       const char *word, size_t bytes, size_t *index)
{
    const cli_option *o;
    for (*index = 0; (o = cli_option_at(p, *index)) != NULL; ++*index)
        if (cli_takes(o, verb) && cli_named(o, word, bytes)) return o;
    return NULL;
}

/* Read one option and its value. *at: its index in argv, then that of its value. */
static int cli_parse_option(const cli_program *p, int argc, char **argv, int *at,
                            unsigned char *seen, void *settings, FILE *out,
                            cli_parsed *parsed)
{
    const char *word = argv[*at] + 2;
    const size_t bytes = strcspn(word, "=");
    const char *value = word[bytes] == '=' ? word + bytes + 1 : NULL;
    size_t index = 0;
    const cli_option *o = cli_option_of(p, parsed->verb, word, bytes, &index);
    if (o == NULL) return cli_unknown_option(p, parsed->verb, argv[*at]);

    const char *name = o->alias != NULL && strlen(o->alias) == bytes ? o->alias : o->name;
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
    const int status = cli_answer(p, o, value, out, parsed);
    return status == STATUS_OK ? cli_store(o, value, cli_fields(p, index, settings)) : status;
}

int cli_is_verb(const cli_program *p, const char *word)
{
    for (size_t v = 0; v < p->verb_count; ++v)
        if (strcmp(word, p->verbs[v].name) == 0) return 1;
    return 0;
}

int cli_unknown_verb(const cli_program *p, const char *word, int first)
{
    cli_near near = {word, strlen(word), NULL, 0};
    OWNED const char **names = (const char **)cli_alloc(p->verb_count + 1, sizeof(*names));
    for (size_t v = 0; v < p->verb_count; ++v) {
        names[v] = p->verbs[v].name;
        cli_near_try(&near, names[v]);
    }
    OWNED char *shown = cli_shown(word), *all = cli_join(names), *hint = NULL;
    if (first && near.best != NULL) hint = cli_text("Use %s %s.", cli_name, near.best);
    if (first) cli_usage(hint, "unknown verb \"%s\": expected %s", shown, all);
    else cli_usage(cli_is_verb(p, word) ? "Write the verb as the first word." : NULL,
                   "unexpected argument \"%s\"", shown);
    return STATUS_USAGE;
}

/* Read a word that is not an option. */
static int cli_parse_operand(const cli_program *p, const char *word, void *settings,
                             cli_parsed *parsed)
{
    const int raw = parsed->verb != NULL && parsed->verb->raw;
    if (!raw && (!p->operands || word[0] == '\0' || strcmp(word, "--") == 0)) {
        OWNED char *shown = cli_shown(word);
        cli_usage(NULL, "unexpected argument \"%s\"", shown);
        return STATUS_USAGE;
    }
    cli_list *list = (cli_list *)(void *)((char *)settings + p->operand_field);
    if (parsed->operand == NULL) parsed->operand = word;
    list->items[list->count++] = word;
    return STATUS_OK;
}

/* True if a word is an operand of a verb that takes pasted lines: it is no option of this verb, or
   does not stand before the line. */
static int cli_is_raw(const cli_program *p, const cli_parsed *parsed, const char *word)
{
    size_t index;
    if (parsed->verb == NULL || !parsed->verb->raw) return 0;
    return parsed->operand != NULL || strncmp(word, "--", 2) != 0 ||
           cli_option_of(p, parsed->verb, word + 2, strcspn(word + 2, "="), &index) == NULL;
}

int cli_parse(const cli_program *p, int argc, char **argv, void *settings, FILE *out,
              cli_parsed *parsed)
{
    const cli_option *o;
    size_t option_count = 0;
    while (cli_option_at(p, option_count) != NULL) ++option_count;
    OWNED unsigned char *seen = (unsigned char *)cli_alloc(option_count, 1);
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
    cli_make_own(p, settings);
    if (p->operands) cli_make_list(settings, p->operand_field, most);
    for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i)
        if (o->kind == CLI_LIST) cli_make_list(cli_fields(p, i, settings), o->field, most);
    for (; at < argc && status == STATUS_OK && !parsed->answered; ++at) {
        const char *word = argv[at];
        const int raw = cli_is_raw(p, parsed, word);
        if (!raw && strncmp(word, "--", 2) == 0 && word[2] != '\0')
            status = cli_parse_option(p, argc, argv, &at, seen, settings, out, parsed);
        else if (!raw && word[0] == '-' && word[1] != '\0' && word[1] != '-')
            status = cli_unknown_option(p, parsed->verb, word);
        else
            status = cli_parse_operand(p, word, settings, parsed);
    }
    return status;
}

void cli_free(const cli_program *p, void *settings, cli_parsed *parsed)
{
    const cli_option *o;
    if (p->operands) cli_free_list(settings, p->operand_field);
    for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i)
        if (o->kind == CLI_LIST) cli_free_list(cli_fields(p, i, settings), o->field);
    cli_free_own(p, settings);
    free(parsed->given);
    parsed->given = NULL;
}
