/* chips.c - chips by their names

   ROOM     >>chips */
#include "cli/cli.h"

/* =====================================================================================
   CHIPS                                                                         >>chips
   Chips with an NPU, as public projects list them, for this program and for tools/phone.sh.
   Sources: numbers of sysfs and names from include/dt-bindings/arm/qcom,ids.h of the Linux kernel
   and from devices; the vendor's numbers, generations and VTCM from the chip tables of ExecuTorch
   (backends/qualcomm/serialization/qc_schema.py) and of LiteRT (soc_table.cc), both by Qualcomm.
   475, 557, 577, 618, 639 and 660 agree with the skel that libQnnHtp.so 2.51 asks for under an
   emulator.
   ===================================================================================== */

/* Of two names with one number, the first is printed. */
static const cli_chip cli_chips[] = {
    {30, "SM8350", "888", 68, 4, {439}}, {36, "SM8450", "8 Gen 1", 69, 8, {457, 480, 482}},
    {42, "SM8475", "8+ Gen 1", 69, 8, {530, 531, 540}}, {43, "SM8550", "8 Gen 2", 73, 8, {519}},
    {57, "SM8650", "8 Gen 3", 75, 8, {557, 577}}, {69, "SM8750", "8 Elite", 79, 8, {618, 639}},
    {87, "SM8850", "8 Elite Gen 5", 81, 8, {660}}, {97, "SM8845", "8 Gen 5", 81, 0, {685}},
    {68, "SM8635", "8s Gen 3", 73, 0, {614, 642}}, {85, "SM8735", "8s Gen 4", 0, 0, {0}},
    {35, "SM7325", "778G", 68, 0, {475, 499}}, {41, "SM7450", "7 Gen 1", 0, 0, {0}},
    {54, "SM7475", "7+ Gen 2", 69, 0, {0}}, {64, "SM7550", "7 Gen 3", 0, 0, {0}},
    {70, "SM7675", "7+ Gen 3", 73, 0, {632, 643}}, {60, "SC8380XP", "X Elite", 73, 0, {0}},
    {37, "SC8280X", "8cx Gen 3", 68, 0, {0}}, {39, "SA8295", "", 68, 0, {0}},
    {52, "SA8255", "", 73, 0, {0}}, {72, "SA8797", "", 0, 0, {0}},
    {93, "QCM6490", "", 68, 2, {497}}, {93, "QCS6490", "", 68, 2, {498}},
    {66, "QCS8550", "", 73, 0, {603}}, {0, "QCM8550", "", 73, 0, {604}},
    {77, "QCS9100", "", 73, 8, {667}}, {0, "QCS9075", "", 73, 0, {676}},
    {82, "QCS8300", "", 75, 0, {674}}, {0, "QCS8275", "", 75, 0, {675}},
    {45, "SXR1230P", "", 73, 0, {0}}, {46, "SSG2115P", "", 73, 0, {0}},
    {53, "SXR2230P", "", 69, 0, {0}}, {58, "SSG2125P", "", 73, 0, {0}},
    {75, "SXR2330P", "", 79, 0, {0}}, {95, "SAR2230P", "", 81, 0, {0}},
    {96, "SW6100", "", 81, 0, {0}}
};
enum { CLI_CHIPS = sizeof(cli_chips) / sizeof(cli_chips[0]) };

const char *cli_chip_name(uint32_t model)
{
    for (size_t i = 0; model != 0 && i < CLI_CHIPS; ++i)
        if (cli_chips[i].model == model) return cli_chips[i].name;
    return NULL;
}

const cli_chip *cli_chip_of_id(unsigned id)
{
    for (size_t i = 0; i < CLI_CHIPS; ++i)
        for (const unsigned *other = cli_chips[i].ids; *other != 0; ++other)
            if (*other == id) return &cli_chips[i];
    return NULL;
}

static char cli_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Return 1 if two names are equal without blanks, '-' and '_', in any case, and without
   "Snapdragon" before the first. */
static int cli_chip_named(const char *word, const char *name)
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

void cli_print_chips(FILE *out)
{
    fprintf(out, "%6s  %-9s  %-13s  %-3s  %s\n", "number", "name", "sold as", "NPU", "soc_id");
    for (size_t i = 0; i < CLI_CHIPS; ++i) {
        const cli_chip *chip = &cli_chips[i];
        if (chip->model != 0) fprintf(out, "%6lu", (unsigned long)chip->model);
        else fprintf(out, "%6s", "-");
        fprintf(out, "  %-9s  %-13s  ", chip->name, chip->sold[0] != '\0' ? chip->sold : "-");
        if (chip->arch != 0) fprintf(out, "v%-2u", chip->arch);
        else fprintf(out, "%-3s", "?");
        for (const unsigned *id = chip->ids; *id != 0; ++id)
            fprintf(out, "%s%u", id == chip->ids ? "  " : " ", *id);
        fputs(chip->ids[0] != 0 ? "\n" : "  -\n", out);
    }
}

int cli_take_chip(const cli_option *o, const char *value, uint32_t *model)
{
    uint64_t number = 0;
    if (strcmp(value, "help") == 0) return STATUS_OK;         /* cli_answer() prints the list */
    for (size_t i = 0; i < CLI_CHIPS; ++i)
        if (cli_chips[i].model != 0 &&
            (cli_chip_named(value, cli_chips[i].name) ||
             (cli_chips[i].sold[0] != '\0' && cli_chip_named(value, cli_chips[i].sold)))) {
            *model = cli_chips[i].model;
            return STATUS_OK;
        }
    if (cli_number(value, 65535, &number) && number > 0) {
        *model = (uint32_t)number;
        return STATUS_OK;
    }
    OWNED char *shown = cli_shown(value);
    cli_usage("Run it with --soc_model help for the list.",
              "--%s takes a chip such as SM8650, \"8 Gen 3\" or 57, not \"%s\"", o->name, shown);
    return STATUS_USAGE;
}
