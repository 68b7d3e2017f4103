/* weight_only.c - weights of 8 and 4 bits

   ROOM     >>weight_only */
#include "run/compile/aten.h"

#include <math.h>

/* =====================================================================================
   WEIGHT ONLY                                                              >>weight_only
   --weight_bits, --calibrate and their relatives, and what they did to each weight.
   ===================================================================================== */

/* Below these SNRs of a weight, in dB, a note names it. */
enum { WEIGHT_ONLY_LOW_8 = 30, WEIGHT_ONLY_LOW_4 = 12 };

/* Return true if a name matches a pattern, where * is any text. */
static int weight_only_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *again = name;
    while (*name != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            again = name;
        } else if (*pattern == *name) {
            ++pattern;
            ++name;
        } else if (star != NULL) {
            pattern = star + 1;
            name = ++again;
        } else {
            return 0;
        }
    }
    while (*pattern == '*') ++pattern;
    return *pattern == '\0';
}

int quantizes(const compile_settings *c)
{
    return c->calibrate.count > 0 || c->encodings != NULL;
}

int range_method_of(const char *text, range_method *method, double *percent)
{
    char *end = NULL;
    *method = RANGE_MINMAX;
    *percent = 99.99;
    if (text == NULL || strcmp(text, "minmax") == 0) return 1;
    *method = RANGE_MSE;
    if (strcmp(text, "mse") == 0) return 1;
    *method = RANGE_PERCENTILE;
    if (strncmp(text, "percentile", 10) != 0) return 0;
    if (text[10] == '\0') return 1;
    if (text[10] != ':' || text[11] < '0' || text[11] > '9') return 0;
    *percent = strtod(text + 11, &end);
    return *end == '\0' && *percent > 50 && *percent <= 100;
}

int weight_only_check(const compile_settings *c)
{
    static const char *const names[] = {"--keep_weight", "--weight_emulate", "--weight_method"};
    const int given[] = {c->keep_weights.count > 0, c->weight_emulate,
                         c->weight_method != 0 && !quantizes(c)};
    const int quantized = c->weight_bits == 8 || c->weight_bits == 4;
    if (c->weight_bits != 0 && !quantized && c->weight_bits != 16)
        return cli_usage("Give 8 or 4, or 16 for weights in floating point.",
                         "--weight_bits is %lu", (unsigned long)c->weight_bits);
    if (c->weight_block != 0 && c->weight_bits != 4)
        return cli_usage("Add --weight_bits 4, or leave --weight_block out.",
                         "--weight_block needs weights of 4 bits");
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); ++i)
        if (given[i] && !quantized)
            return cli_usage("Add --weight_bits 8 or --weight_bits 4.",
                             "%s needs quantized weights", names[i]);
    range_method method;
    double percent;
    if (!range_method_of(c->calibrate_method, &method, &percent))
        return cli_usage("Give minmax, percentile, percentile:P with P above 50 and up to 100, or"
                         " mse.", "--calibrate_method is \"%s\"", c->calibrate_method);
    if (c->calibrate_method != NULL && c->calibrate.count == 0)
        return cli_usage("Name a list of samples with --calibrate LIST.",
                         "--calibrate_method needs samples");
    const char *by = c->calibrate.count > 0 ? "--calibrate" : "--encodings";
    if (quantizes(c) && (c->weight_block != 0 || c->weight_emulate))
        return cli_usage("Choose one.", "%s is for float activations, and %s quantizes them",
                         c->weight_block != 0 ? "--weight_block" : "--weight_emulate", by);
    return STATUS_OK;
}

/* Keep a name if it is nearer to a pattern than the one before. */
static void weight_only_near(char **kept, const char *pattern, const char *name)
{
    cli_near near = {pattern, strlen(pattern), NULL, 0};
    if (*kept != NULL) cli_near_try(&near, *kept);
    cli_near_try(&near, name);
    if (near.best != name) return;
    free(*kept);
    *kept = cli_text("%s", name);
}

/* Say how many bits a weight gets: none with --keep_weight. */
static uint32_t weight_only_bits(void *user, const qnnrt_ir_value *value, const char *type,
                                 uint32_t bits)
{
    weight_only_options *a = user;
    const cli_list *keep = &a->t->set.compile->keep_weights;
    const qnnrt_weight *weight = qnnrt_lower_weight_of(value);
    const char *key = value->key != NULL ? value->key : value->name;
    (void)type;
    for (size_t i = 0; i < keep->count; ++i) {
        if (!weight_only_matches(keep->items[i], key) &&
            !weight_only_matches(keep->items[i], value->name) &&
            (weight == NULL || !weight_only_matches(keep->items[i], weight->name))) {
            weight_only_near(&a->near[i], keep->items[i], key);
            continue;
        }
        a->kept[i] += 1;
        bits = 0;
    }
    return bits;
}

void weight_only_desc(weight_only_options *a, tool *t, qnnrt_lower_desc *desc)
{
    const compile_settings *c = t->set.compile;
    desc->weight_method = (qnnrt_lower_method)c->weight_method;
    if (c->weight_bits != 8 && c->weight_bits != 4) return;
    desc->weight_bits = c->weight_bits;
    desc->weight_block = c->weight_block;
    desc->weight_emulate = c->weight_emulate;
    if (c->keep_weights.count == 0) return;
    a->t = t;
    if (a->kept == NULL) {
        a->kept = cli_alloc(c->keep_weights.count, sizeof(*a->kept));
        a->near = cli_alloc(c->keep_weights.count, sizeof(*a->near));
    }
    desc->weight_bits_of = weight_only_bits;
    desc->weight_user = a;
}

int weight_only_kept(tool *t, const weight_only_options *a)
{
    const cli_list *keep = &t->set.compile->keep_weights;
    int good = 1;
    for (size_t i = 0; i < keep->count && a->kept != NULL; ++i) {
        if (a->kept[i] > 0) continue;
        OWNED char *hint = a->near[i] != NULL ? cli_text("Use --keep_weight %s.", a->near[i])
                  : cli_text("Take a name from --report FILE; * stands for any text.");
        fail(t, NULL, hint, "--keep_weight %s is the name of no weight that could be quantized",
             keep->items[i]);
        good = 0;
    }
    return good;
}

void weight_only_free(weight_only_options *a)
{
    for (size_t i = 0; a->near != NULL && i < a->t->set.compile->keep_weights.count; ++i)
        free(a->near[i]);
    free(a->near);
    free(a->kept);
}

void weight_only_report(page *p, const qnnrt_lower_weight_only *list, size_t count, const char *on)
{
    uint64_t before = 0, after = 0;
    if (count == 0) return;
    page_add(p, "\nquantized weights%s: %lu\n  %12s %12s %5s %8s %10s\n", on, (unsigned long)count,
             "float bytes", "bytes", "bits", "SNR dB", "worst");
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_lower_weight_only *s = &list[i];
        int64_t dims[8];
        for (uint32_t k = 0; k < s->rank; ++k) dims[k] = s->dims[k];
        before += s->float_bytes;
        after += s->bytes;
        page_add(p, "  %12llu %12llu ", (unsigned long long)s->float_bytes,
                 (unsigned long long)s->bytes);
        if (s->bits == 0) page_add(p, "%5s", "-");
        else page_add(p, "%5lu", (unsigned long)s->bits);
        if (s->measured) page_add(p, " %8.1f %10.3g ", s->snr, s->worst);
        else page_add(p, " %8s %10s ", "-", "-");
        page_add(p, "%s ", s->name);
        page_dims(p, s->rank, dims);
        page_add(p, " of %s", s->type);
        if (s->block != 0) page_add(p, ", blocks of %lu", (unsigned long)s->block);
        if (s->emulated) page_text(p, ", rounded but stored as it was");
        if (s->why[0] != '\0') page_add(p, ": %s", s->why);
        page_text(p, "\n");
    }
    page_add(p, "  %12llu %12llu in all\n", (unsigned long long)before, (unsigned long long)after);
}

/* Say how many weights stay as they are for a reason that none before had. */
static void weight_only_stay(tool *t, const qnnrt_lower_weight_only *list, size_t length,
                             size_t first, const char *on)
{
    const qnnrt_lower_weight_only *s = &list[first];
    size_t count = 0;
    for (size_t i = 0; i < length; ++i) {
        const qnnrt_lower_weight_only *other = &list[i];
        const int same = other->bits == s->bits && other->emulated == s->emulated &&
                         strcmp(other->why, s->why) == 0 && strcmp(other->type, s->type) == 0;
        if (same && i < first) return;
        count += same != 0;
    }
    const char *what[] = {"stays in floating point", "has one scale per channel",
                          "has rounded values, but its size as before", "stay in floating point",
                          "have one scale per channel",
                          "have rounded values, but their size as before"};
    say(t, "note      %lu weight%s of %s%s %s: %s\n", (unsigned long)count, cli_plural(count),
        s->type, on, what[(count > 1 ? 3 : 0) + (s->emulated ? 2 : s->bits != 0)], s->why);
}

void weight_only_say(tool *t, const qnnrt_lower_weight_only *list, size_t length, const char *on)
{
    const qnnrt_lower_weight_only *low = NULL;
    double least = HUGE_VAL, most = -HUGE_VAL;
    uint64_t before = 0, after = 0;
    size_t count = 0, lows = 0, exact = 0;
    if (length == 0) return;
    for (size_t i = 0; i < length; ++i) {
        const qnnrt_lower_weight_only *s = &list[i];
        if (s->bits == 0) continue;
        count += 1;
        before += s->float_bytes;
        after += s->bytes;
        if (!s->measured) continue;
        exact += s->worst == 0;
        if (s->snr > most) most = s->snr;
        if (s->snr < least) {
            least = s->snr;
            low = s;
        }
        lows += s->snr < (s->bits == 8 ? WEIGHT_ONLY_LOW_8 : WEIGHT_ONLY_LOW_4);
    }
    OWNED char *from = cli_grouped(before), *to = cli_grouped(after);
    say(t, "quantized %lu of %lu weights%s", (unsigned long)count, (unsigned long)length, on);
    if (count > 0) say(t, ": %s bytes became %s", from, to);
    if (low != NULL) say(t, ", SNR %.1f to %.1f dB", least, most);
    if (low == NULL && exact > 0) say(t, ", no value changed");
    say(t, "\n");
    for (size_t i = 0; i < length; ++i)
        if (list[i].why[0] != '\0') weight_only_stay(t, list, length, i, on);
    if (lows > 0)
        say(t, "note      %lu weight%s a low SNR, the lowest is %.1f dB of \"%s\":"
                  " --keep_weight keeps one, --report lists all\n", (unsigned long)lows,
            lows == 1 ? " has" : "s have", low->snr, low->name);
}
