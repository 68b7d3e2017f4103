/* cli.h - what the command-line programs of qnnrt share: options and help, chips and libraries

   A program describes its options in a table of cli_option and its verbs, if it has any, in a table
   of cli_verb. cli_parse() reads the command line into the program's settings by these tables; the
   same tables print the help and find the nearest known word for an unknown one.

   cli.h is the first header of each unit. One that calls a library includes stages.h, too, as the
   last one.

   Needs:   nothing but headers

   UNITS    options.c: >>words >>tables             help.c: >>help >>manual
            complete.c: >>completion                chips.c: >>chips
            parse.c: >>parse                        device.c: >>device
            libs.c: >>choose */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/text.h"
#include "qnnrt_manifest.h"

/* ---- options.c: words that a program knows, and tables of options and verbs ---- */

/* Read a whole number: digits only, at most `most`. */
int cli_number(const char *s, uint64_t most, uint64_t *out);

/* Read a number as JSON has it, in every locale; ".5" is allowed too. */
int cli_real(const char *s, double *out);

/* Return the index of a word in a list that ends with NULL, or -1. */
int cli_word(const char *s, const char *const *words);

/* Return "a, b or c" of a list that ends with NULL. The caller frees it. */
char *cli_join(const char *const *words);

enum { CLI_MOST_PRESETS = 32 };

/* Fill the names of the power presets, from the first one that has a name; they end with NULL. */
void cli_presets(const char *names[CLI_MOST_PRESETS]);

/* The search for the nearest known word. */
typedef struct cli_near {
    const char *word;                  /* the unknown one                  */
    size_t      bytes;
    const char *best;                  /* NULL: no known word is near      */
    size_t      distance;              /* distance of the best             */
} cli_near;

/* Return how many characters must be added, left out, replaced or swapped with the next one to turn
   the word into `known`; '-' counts as '_'. */
size_t cli_distance(const char *word, size_t bytes, const char *known);

/* Compare one known word. A word that is cut short counts as one wrong character. */
void cli_near_try(cli_near *near, const char *known);

/* Return a hint with the nearest known name, NULL if none has a letter of the word. The caller
   frees it. */
char *cli_near_hint(const cli_near *near);

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
    const char *old;                   /* a former name: it is read, and shown nowhere         */
    const char *value;                 /* as the help shows it; NULL: the option takes none    */
    const char *help;                  /* a sentence without its full stop                     */
    cli_kind    kind;
    unsigned    verbs;                 /* bits of the verbs that list it; 0: all               */
    size_t      field;                 /* offset in the settings                               */
    int         own;                   /* 1: .field is in those of the table                   */
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
    /* Settings of these options alone: [bytes] that cli_parse() makes, a copy of *defaults (NULL:
       zeros). Their address goes to the settings, to the pointer at the offset `own`. */
    size_t            bytes, own;
    const void       *defaults;
} cli_table;

#define CLI_TABLE(options) {options, sizeof(options) / sizeof((options)[0]), 0, 0, NULL}
#define CLI_TABLE_OF(options, type, at, defaults) \
    {options, sizeof(options) / sizeof((options)[0]), sizeof(type), at, defaults}

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
const cli_option *cli_option_at(const cli_program *p, size_t index);

/* ---- help.c: --help and --man, from the tables of a program ---- */

/* Print a paragraph in lines that fit. */
void cli_paragraph(FILE *out, int indent, const char *text);

/* True if a help lists the option: one of these verbs, or of all. */
int cli_is_listed(const cli_option *o, unsigned lists);

/* Print the help of a verb, or of the program for NULL: of its verbs the help only says what they
   are for. */
void cli_help(FILE *out, const cli_program *p, const cli_verb *verb);

/* Print the manual page of the program: all verbs with their options. */
void cli_manual(FILE *out, const cli_program *p);

/* ---- complete.c: --completion, from the tables of a program ---- */

extern const char *const cli_shells[];

/* Print the completion for one of cli_shells. */
void cli_completion(FILE *out, const cli_program *p, const char *shell);

/* ---- chips.c: chips by their names ---- */

/* Return the name of a chip by the vendor's number, or NULL. */
const char *cli_chip_name(uint32_t model);

/* Print the list of chips; two blanks or more are between columns, for tools/phone.sh. */
void cli_print_chips(FILE *out);

/* Read --soc_model: a number, or a name. Returns STATUS_OK, or STATUS_USAGE after a message. */
int cli_take_chip(const cli_option *o, const char *value, uint32_t *model);

/* ---- parse.c: the command line, read by the tables of a program ---- */

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

int cli_wrong_value(const cli_option *o, const char *value, const char *takes);

enum { CLI_ROLES = 16, CLI_ROLE_BYTES = 64 };

typedef struct cli_role {              /* --backend_so ROLE=FILE           */
    char        role[CLI_ROLE_BYTES];
    const char *file;
} cli_role;

/* Read --backend_so: FILE into *file, or ROLE=FILE into roles. What is before '=' is a role only if
   it looks like one, so that a path with a slash before it is a path. */
int cli_take_backend(const cli_option *o, const char *value, const char **file,
                     cli_role roles[CLI_ROLES], size_t *count);

int cli_is_verb(const cli_program *p, const char *word);

/* Report a word that is not a verb, or not the first word. Returns STATUS_USAGE. */
int cli_unknown_verb(const cli_program *p, const char *word, int first);

/* Read the command line into the settings. Return STATUS_USAGE after printing what is wrong with
   it. The caller says cli_free() at the end, after a failure too. */
int cli_parse(const cli_program *p, int argc, char **argv, void *settings, FILE *out,
              cli_parsed *parsed);

/* Free the lists in the settings, and what cli_parse() has allocated. */
void cli_free(const cli_program *p, void *settings, cli_parsed *parsed);

/* ---- device.c: what contexts take on the device, and which of them exist ---- */

#define CLI_RESIDENT_HELP \
    "contexts that exist on the backend at a time: all (default), one, or as many as fit into " \
    "BYTES of the device's memory, estimated from what the files state. A context that is needed " \
    "again is loaded again"

#define CLI_SHARE_HELP \
    "HTP: contexts that need spill-fill memory share one, if all are resident and the library can"

/* Read --resident: all, one or a number of bytes, for cli_settle(). Returns STATUS_OK, or
   STATUS_USAGE after a message. */
int cli_resident(const cli_option *o, const char *value, qnnrt_residency *residency,
                 uint64_t *bytes);

/* Prepare --share_spill_fill: contexts are then created by cli_settle(). Return 1 if they are. */
int cli_share(int asked, qnnrt_desc *desc);

/* Create the contexts of a program that was opened, so that those of a model share spill-fill
   memory; or with swap let those of each model come and go, within so many bytes (0: one). On
   failure it is closed. */
void cli_settle(qnnrt_manifest **model, int share, int swap, uint64_t bytes, qnnrt_error *err);

/* Say which file is loaded next: desc.progress. user: an int, 1: print a line for each, 0: say it
   on a terminal as long as it lasts. */
int cli_progress(void *user, size_t done, size_t count, const char *file);

typedef struct cli_device {
    uint64_t contexts, creates;        /* contexts that could be opened, and how often any of them
                                          was created */
    uint64_t all, peak;                /* bytes of all of them, and the most that existed at a
                                          time */
} cli_device;

/* Add up what the contexts of a model take on the device. */
cli_device cli_device_of(const qnnrt_manifest *model);

/* Return a line about what the contexts took. The caller frees it. */
char *cli_device_text(const qnnrt_manifest *model);

/* ---- libs.c: the libraries that a program takes when none is named ---- */

#define CLI_NAMED_BY_ENVIRONMENT "named by QNNRT_BACKEND"

#define CLI_BACKEND_DEFAULT \
    "QNNRT_BACKEND of the environment, or the library of the backend that the binaries were made " \
    "for: beside this program, in the lib folder beside its own, in the newest release of a " \
    "clone's build/qnn, or by the system's search"

enum { CLI_ID_CPU = 3, CLI_ID_GPU = 4, CLI_ID_HTP = 6, CLI_ID_REF = 0x524546, CLI_PATH = 4096 };

const char *cli_backend_name(uint32_t id);

/* Return the name of the library of a backend; that of HTP if the backend is not known. */
const char *cli_library_name(uint32_t id);

/* What the head of a binary tells. */
typedef enum cli_head { CLI_HEAD_OTHER = 0, CLI_HEAD_REF, CLI_HEAD_VENDOR } cli_head;

cli_head cli_head_of(const char *path);

/* Return the path of a binary of a model: of the file itself, or the first .bin of a folder by
   name. NULL if there is none. The caller frees it. */
char *cli_first_binary(const char *model);

/* Return the path of a library beside this program, in the lib folder beside its own, or in the
   newest release of its clone; NULL if it is in none. *place says which. The caller frees it. */
char *cli_find_library(const char *name, const char **place);

typedef struct cli_choice {
    uint32_t id;                       /* of the backend that the binaries were made for; 0:
                                          not known                                        */
    char    *backend, *system;         /* owned; NULL: not chosen                          */
    char    *why;                      /* owned; NULL: nothing was chosen                  */
    char    *roles[CLI_ROLES];         /* owned: files of roles that were added            */
    size_t   role_count;
} cli_choice;

void cli_free_choice(cli_choice *c);

/* Find what the binaries of a model were made for: c->id. */
void cli_choose_id(cli_choice *c, const char *model, const char *system);

/* Add the libraries of the roles of a model, as far as this program finds them; the first role has
   the backend that was chosen. */
void cli_choose_roles(cli_choice *c, const qnnrt_manifest *model,
                      cli_role roles[CLI_ROLES], size_t *count);

/* Take out the role of --backend_so that a model was refused for: the plan of a compiler may use
   fewer than it was given. Return a note, which the caller frees; NULL: err is about something
   else, or nothing that was named would be left. *at receives its place. */
char *cli_leave_role(const qnnrt_error *err, cli_role *roles, size_t *count,
                     const char *backend, size_t *at);

/* Choose the backend and the system library of a model. *backend and *system: what the options
   name, or NULL; they receive what was chosen, which c owns. */
void cli_choose(cli_choice *c, const char *model, const char **backend, const char **system);

#endif /* CLI_CLI_H */
