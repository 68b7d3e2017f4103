/* cli_options.h - a part of cli.h: words that a program knows, and tables of options and verbs

   ROOMS    >>words >>tables                                                                     */
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
        whole[0] = '0';
        memcpy(whole + 1, s, strlen(s) + 1);
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

/* Return a hint with the nearest known name, NULL if none has a letter of the word. The caller
   frees it. */
static inline char *cli_near_hint(const cli_near *near)
{
    const int found = near->best != NULL && near->distance < near->bytes;
    char *shown = found ? cli_shown(near->best) : NULL;
    char *hint = shown != NULL ? cli_text("Use \"%s\".", shown) : NULL;
    free(shown);
    return hint;
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
    CLI_CHIP,                          /* field: uint32_t, the vendor's number of a chip   */
    CLI_OWN,                           /* take() reads the value                           */
    CLI_VERSION, CLI_HELP, CLI_MAN,
    CLI_COMPLETION                     /* value: the name of a shell                       */
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
    /* 1: words are operands, also those with "--", except known options before them. */
    int         raw;
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
    const cli_table *const *tables;    /* [table_count]; each part of a program may have one   */
    size_t            table_count;
    int               operands;        /* 1: words that are not options go to .operand_field   */
    size_t            operand_field;   /* offset of a cli_list in the settings                 */
} cli_program;

/* The options that every program has; they close its last table. */
#define CLI_COMMON \
    {.name = "version", .kind = CLI_VERSION, .help = "print the version"}, \
    {.name = "man", .kind = CLI_MAN, \
     .help = "print the manual page, in the form that man reads: man -l FILE"}, \
    {.name = "completion", .value = "bash|zsh|fish", .kind = CLI_COMPLETION, \
     .help = "print the completion of the words of this program for a shell: " \
             "source <(" CLI_NAME " --completion bash)"}, \
    {.name = "help", .kind = CLI_HELP, .help = "print this help"}

/* Return the option with an index counted through all tables; NULL after the last one. */
static inline const cli_option *cli_option_at(const cli_program *p, size_t index)
{
    for (size_t i = 0; i < p->table_count; index -= p->tables[i++]->count)
        if (index < p->tables[i]->count) return &p->tables[i]->options[index];
    return NULL;
}

#endif /* CLI_OPTIONS_H */
