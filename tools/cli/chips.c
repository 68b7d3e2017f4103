/* chips.c - chips by their names

   ROOM     >>chips */
#include "cli/cli.h"
#include "qnnrt_device.h"

/* =====================================================================================
   CHIPS                                                                         >>chips
   The chips of qnnrt_device.h, by their names, for this program and for tools/phone.sh.
   ===================================================================================== */

const char *cli_chip_name(uint32_t model)
{
    size_t count;
    const qnnrt_device_chip *chips = qnnrt_device_chips(&count);
    for (size_t i = 0; model != 0 && i < count; ++i)
        if (chips[i].model == model) return chips[i].name;
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
    size_t count;
    const qnnrt_device_chip *chips = qnnrt_device_chips(&count);
    fprintf(out, "%6s  %-9s  %-13s  %-3s  %s\n", "number", "name", "sold as", "NPU", "soc_id");
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_device_chip *chip = &chips[i];
        if (chip->model != 0) fprintf(out, "%6lu", (unsigned long)chip->model);
        else fprintf(out, "%6s", "-");
        fprintf(out, "  %-9s  %-13s  ", chip->name, chip->sold[0] != '\0' ? chip->sold : "-");
        if (chip->arch != 0) fprintf(out, "v%-2u", chip->arch);
        else fprintf(out, "%-3s", "?");
        for (const uint32_t *id = chip->ids; *id != 0; ++id)
            fprintf(out, "%s%u", id == chip->ids ? "  " : " ", *id);
        fputs(chip->ids[0] != 0 ? "\n" : "  -\n", out);
    }
}

int cli_take_chip(const cli_option *o, const char *value, uint32_t *model)
{
    uint64_t number = 0;
    size_t count;
    const qnnrt_device_chip *chips = qnnrt_device_chips(&count);
    if (strcmp(value, "help") == 0) return STATUS_OK;         /* cli_answer() prints the list */
    for (size_t i = 0; i < count; ++i)
        if (chips[i].model != 0 &&
            (cli_chip_named(value, chips[i].name) ||
             (chips[i].sold[0] != '\0' && cli_chip_named(value, chips[i].sold)))) {
            *model = chips[i].model;
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
