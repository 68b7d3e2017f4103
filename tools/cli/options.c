/* options.c - words that a program knows, and tables of options and verbs

   ROOMS     >>words >>tables */
#include "cli/cli.h"
#include "qnnrt_device.h"

/* =====================================================================================
   WORDS                                                                         >>words
   Numbers, words of a list, power presets, and the known word nearest to an unknown one.
   ===================================================================================== */

int cli_number(const char *s, uint64_t most, uint64_t *out)
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

int cli_real(const char *s, double *out)
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

int cli_word(const char *s, const char *const *words)
{
    for (int i = 0; words[i] != NULL; ++i)
        if (strcmp(s, words[i]) == 0) return i;
    return -1;
}

char *cli_join(const char *const *words)
{
    char *all = cli_text("%s", words[0]);
    for (size_t i = 1; words[i] != NULL; ++i) {
        char *longer = cli_text("%s%s%s", all, words[i + 1] != NULL ? ", " : " or ", words[i]);
        free(all);
        all = longer;
    }
    return all;
}

void cli_presets(const char *names[CLI_MOST_PRESETS])
{
    size_t i = 0;
    while (i + 1 < CLI_MOST_PRESETS) {
        names[i] = qnnrt_power_preset_name((qnnrt_power_preset)(QNNRT_POWER_CUSTOM + 1 + (int)i));
        if (names[i] == NULL) return;
        ++i;
    }
    names[i] = NULL;
}

size_t cli_distance(const char *word, size_t bytes, const char *known)
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

void cli_near_try(cli_near *near, const char *known)
{
    const size_t most = 1 + near->bytes / 4;
    size_t distance = cli_distance(near->word, near->bytes, known);
    if (distance > 1 && near->bytes > 0 && strncmp(near->word, known, near->bytes) == 0)
        distance = 1;
    if (distance > most || (near->best != NULL && distance >= near->distance)) return;
    near->best = known;
    near->distance = distance;
}

char *cli_near_hint(const cli_near *near)
{
    const int found = near->best != NULL && near->distance < near->bytes;
    OWNED char *shown = found ? cli_shown(near->best) : NULL;
    return shown != NULL ? cli_text("Use \"%s\".", shown) : NULL;
}

/* =====================================================================================
   TABLES                                                                       >>tables
   The tables of options and verbs that a program accepts.
   ===================================================================================== */

const cli_option *cli_option_at(const cli_program *p, size_t index)
{
    for (size_t i = 0; i < p->table_count; index -= p->tables[i++]->count)
        if (index < p->tables[i]->count) return &p->tables[i]->options[index];
    return NULL;
}
