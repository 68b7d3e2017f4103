/* cli_chips.h - a part of cli.h: chips by their names

   ROOM     >>chips                                                                              */
#ifndef CLI_CHIPS_H
#define CLI_CHIPS_H

/* =====================================================================================
   CHIPS                                                                         >>chips
   The vendor's numbers of chips with an NPU, their names, and the generation of the NPU, as public
   projects list them.
   ===================================================================================== */

typedef struct cli_chip {
    uint32_t    model;
    const char *name, *sold;           /* "SM8650", "8 Gen 3"; sold may be ""              */
    uint32_t    arch;                  /* 0: not known here                                */
} cli_chip;

static const cli_chip cli_chips[] = {
    {30, "SM8350", "888", 68}, {36, "SM8450", "8 Gen 1", 69}, {42, "SM8475", "8+ Gen 1", 69},
    {43, "SM8550", "8 Gen 2", 73}, {57, "SM8650", "8 Gen 3", 75}, {69, "SM8750", "8 Elite", 79},
    {87, "SM8850", "8 Elite Gen 5", 81}, {97, "SM8845", "8 Gen 5", 0},
    {68, "SM8635", "8s Gen 3", 0},
    {85, "SM8735", "8s Gen 4", 0}, {35, "SM7325", "778G", 68}, {41, "SM7450", "7 Gen 1", 0},
    {54, "SM7475", "7+ Gen 2", 69}, {64, "SM7550", "7 Gen 3", 0}, {70, "SM7675", "7+ Gen 3", 73},
    {60, "SC8380XP", "X Elite", 73}, {37, "SC8280X", "8cx Gen 3", 68},
    {39, "SA8295", "", 68}, {52, "SA8255", "", 73}, {72, "SA8797", "", 0},
    {66, "QCS8550", "", 73}, {77, "QCS9100", "", 73}, {82, "QCS8300", "", 75},
    {45, "SXR1230P", "", 73}, {46, "SSG2115P", "", 73}, {53, "SXR2230P", "", 69},
    {58, "SSG2125P", "", 73}, {75, "SXR2330P", "", 79}, {95, "SAR2230P", "", 81},
    {96, "SW6100", "", 81}
};
enum { CLI_CHIPS = sizeof(cli_chips) / sizeof(cli_chips[0]) };

/* Return the name of a chip by the vendor's number, or NULL. */
static inline const char *cli_chip_name(uint32_t model)
{
    for (size_t i = 0; i < CLI_CHIPS; ++i)
        if (cli_chips[i].model == model) return cli_chips[i].name;
    return NULL;
}

static inline char cli_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Return 1 if two names are equal without blanks, '-' and '_', in any case, and without
   "Snapdragon" before the first. */
static inline int cli_chip_named(const char *word, const char *name)
{
    static const char brand[] = "snapdragon";
    size_t at = 0;
    while (brand[at] != '\0' && cli_lower(word[at]) == brand[at]) ++at;
    if (brand[at] == '\0') word += at;
    for (;; ++word, ++name) {
        while (*word == ' ' || *word == '-' || *word == '_') ++word;
        while (*name == ' ') ++name;
        if (cli_lower(*word) != cli_lower(*name)) return 0;
        if (*word == '\0') return 1;
    }
}

/* Print the list of chips. */
static inline void cli_print_chips(FILE *out)
{
    fprintf(out, "%6s  %-9s  %-13s  %s\n", "number", "name", "sold as", "NPU");
    for (size_t i = 0; i < CLI_CHIPS; ++i) {
        const cli_chip *chip = &cli_chips[i];
        fprintf(out, "%6lu  %-9s  %-13s  ", (unsigned long)chip->model, chip->name, chip->sold);
        if (chip->arch != 0) fprintf(out, "v%lu\n", (unsigned long)chip->arch);
        else fputs("?\n", out);
    }
}

/* Read --soc_model: a number, or a name. Returns STATUS_OK, or STATUS_USAGE after a message. */
static inline int cli_take_chip(const cli_option *o, const char *value, uint32_t *model)
{
    uint64_t number = 0;
    if (strcmp(value, "help") == 0) return STATUS_OK;         /* cli_answer() prints the list */
    for (size_t i = 0; i < CLI_CHIPS; ++i)
        if (cli_chip_named(value, cli_chips[i].name) ||
            (cli_chips[i].sold[0] != '\0' && cli_chip_named(value, cli_chips[i].sold))) {
            *model = cli_chips[i].model;
            return STATUS_OK;
        }
    if (cli_number(value, 65535, &number) && number > 0) {
        *model = (uint32_t)number;
        return STATUS_OK;
    }
    char *shown = cli_shown(value);
    cli_usage("Run it with --soc_model help for the list.",
              "--%s takes a chip such as SM8650, \"8 Gen 3\" or 57, not \"%s\"", o->name, shown);
    free(shown);
    return STATUS_USAGE;
}

#endif
