/* faults.c - faults of libQnnRef.so on demand

   Rules come from the environment variable QNNREF_FAULTS, which both getProviders functions read,
   or from QnnRef_control("faults TEXT", ...). A rule that is not known makes getProviders fail with
   1004 and print a line to stderr; no rule is ignored. Rules are separated by ';' or line ends. F
   is the name of a slot, such as graphExecute; :N means its Nth call since the rules were set,
   without :N every call.

       fail=F[:N]:CODE            the call returns CODE (0x1770, 6000) without effect; calls that
                                  free do free, and a create sets a bogus handle
       null=F[:N]                 the call returns 0 and sets NULL (no ids, no info); graphExecute
                                  computes nothing and leaves the outputs unchanged
       delay=F[:N]:20ms           the call waits first
       slower=F[:N]:5%            the call takes 5 percent longer, and computes meanwhile
       overwrite=graphExecute[:N] the byte after output 0 is changed
       restart=F[:N]              "subsystem restart": the call returns 0x3f3, and so does every
                                  later call on a handle made before, except calls that free. F:
                                  calls of backends, devices, contexts, graphs, tensors, memory
       no_slot=F                  the slot is NULL
       core=2.23  backend_api=1.0  system=1.2   versions; slots that a version lacks are NULL
       build=TEXT  name=TEXT      null for a NULL pointer
       id=6                       backendId of the provider
       providers=0|1|2|null       number of core providers; 2: the first has major 3; null: one, and
                                  a NULL list
       system_providers=...       the same for the system interface
       info=v1|v2|v3  graphs=v1|v2|v3  tensors=v1|v2    struct versions of metadata
       counts=graphs|inputs       a number in metadata is absurd
       pointers=graphs|inputs|name   a list or name in metadata is NULL
       log_thread=hostile         graphExecute and contextCreateFromBinary log hostile lines from
                                  another thread
       log_late=1                 logFree sends such lines after it has freed the log
       spill_fill=N               metadata are those of HTP (backend 6), and every graph needs N
                                  bytes of spill-fill memory
       keep_binary=1              a loaded context keeps reading the caller's bytes; execute
                                  returns 0x1771 when they were changed or unmapped

   To test a missing symbol, use any other library.
   Knows nothing of: how the calls apply the faults */
#include "ref.h"
#include "ref_slots.h"

#include <stdlib.h>
#include <string.h>

enum { RULES = 32, TEXT = 4096 };
enum { FAIL, GIVE_NULL, DELAY, SLOWER, OVERWRITE, RESTART, NO_SLOT };

typedef struct rule { int what, slot; uint64_t nth, code; } rule;

typedef struct rules {
    ref_faults faults;
    rule       list[RULES];
    int        count;
    char       words[TEXT];
} rules;

ref_faults ref_fault;
static rules current;
static uint64_t serial;                  /* serial number of the rules; 0: none were set yet */
static uint64_t counts[REF_SLOTS];
static char  seen[TEXT];                 /* the last value of QNNREF_FAULTS */

static void defaults(rules *r)
{
    static const q_version core = { 2, 40, 0 }, backend = { 0, 1, 0 };
    memset(r, 0, sizeof(*r));
    r->faults.core = core;
    r->faults.backend = backend;
    r->faults.system.major = 0;          /* 0: the version that goes with core */
    r->faults.build = REF_BUILD;
    r->faults.name = REF_PROVIDER;
    r->faults.backend_id = REF_BACKEND_ID;
    r->faults.providers = r->faults.system_providers = 1;
    r->faults.info = r->faults.graph_info = 3;
    r->faults.tensor = 1;
}

static int read_number(const char *word, uint64_t *out)
{
    char *rest = NULL;
    if (word[0] < '0' || word[0] > '9')
        return 0;
    *out = strtoull(word, &rest, word[0] == '0' && (word[1] == 'x' || word[1] == 'X') ? 16 : 10);
    return *rest == '\0';
}

static int read_version(const char *word, q_version *out)
{
    char rest;
    memset(out, 0, sizeof(*out));
    return sscanf(word, "%u.%u.%u%c", &out->major, &out->minor, &out->patch, &rest) == 3
        || sscanf(word, "%u.%u%c", &out->major, &out->minor, &rest) == 2;
}

static int read_providers(const char *word, int *out)
{
    static const char *const words[] = { "0", "1", "2" };
    for (int i = 0; i < 3; ++i)
        if (strcmp(word, words[i]) == 0)
            return *out = i, 1;
    *out = REF_NONE;
    return strcmp(word, "null") == 0;
}

static int read_struct(const char *word, uint32_t most, uint32_t *out)
{
    if (word[0] != 'v' || word[1] < '1' || word[1] > (char)('0' + most) || word[2] != '\0')
        return 0;
    *out = (uint32_t)(word[1] - '0');
    return 1;
}

static int read_lie(const char *word, int known, int *out)
{
    static const char *const words[] = { "graphs", "inputs", "name" };
    for (int i = 0; i < known; ++i)
        if (strcmp(word, words[i]) == 0)
            return *out = i + 1, 1;
    return 0;
}

/* Read F, F:N, F:VALUE or F:N:VALUE. suffix: how VALUE ends ("ms"), NULL: no VALUE. */
static int read_rule(rules *r, int what, char *text, const char *suffix)
{
    char *parts[3] = { text, NULL, NULL };
    int count = 1;
    rule *added = &r->list[r->count];
    if (r->count == RULES)
        return 0;
    for (char *at = text; *at != '\0'; ++at) {
        if (*at != ':')
            continue;
        if (count == 3)
            return 0;
        *at = '\0';
        parts[count++] = at + 1;
    }
    added->what = what;
    added->slot = ref_slot_find(parts[0]);
    added->nth = added->code = 0;
    if (added->slot == REF_NONE || (suffix != NULL && count < 2) || (suffix == NULL && count > 2))
        return 0;
    if (suffix != NULL) {
        char *last = parts[count - 1], *unit = strstr(last, suffix);
        if (suffix[0] != '\0') {
            if (unit == NULL || strcmp(unit, suffix) != 0)
                return 0;
            *unit = '\0';
        }
        if (!read_number(last, &added->code))
            return 0;
        --count;
    }
    if (count == 2 && (!read_number(parts[1], &added->nth) || added->nth == 0))
        return 0;
    ++r->count;
    return 1;
}

/* True if the calls of a slot reach the subsystem, which can restart. */
static int reaches_subsystem(const char *name)
{
    static const char *const kinds[] = { "backend", "device", "context", "graph", "tensor", "mem" };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
            return 1;
    return 0;
}

static int set_one(rules *r, const char *key, char *value)
{
    static const struct { const char *key; int what; const char *suffix; } kinds[] = {
        { "fail", FAIL, "" }, { "null", GIVE_NULL, NULL }, { "delay", DELAY, "ms" },
        { "slower", SLOWER, "%" },
        { "overwrite", OVERWRITE, NULL }, { "restart", RESTART, NULL }, { "no_slot", NO_SLOT, NULL }
    };
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
        if (strcmp(key, kinds[i].key) != 0)
            continue;
        if (!read_rule(r, kinds[i].what, value, kinds[i].suffix))
            return 0;
        if (kinds[i].what == RESTART)    /* read_rule() has cut the value after the name */
            return reaches_subsystem(value);
        if (kinds[i].what == OVERWRITE)
            return r->list[r->count - 1].slot == ref_slot_find("graphExecute");
        return 1;
    }
    if (strcmp(key, "core") == 0)             return read_version(value, &r->faults.core);
    if (strcmp(key, "backend_api") == 0)      return read_version(value, &r->faults.backend);
    if (strcmp(key, "system") == 0)           return read_version(value, &r->faults.system);
    if (strcmp(key, "providers") == 0)        return read_providers(value, &r->faults.providers);
    if (strcmp(key, "system_providers") == 0) return read_providers(value,
                                                                    &r->faults.system_providers);
    if (strcmp(key, "graphs") == 0)           return read_struct(value, 3, &r->faults.graph_info);
    if (strcmp(key, "tensors") == 0)          return read_struct(value, 2, &r->faults.tensor);
    if (strcmp(key, "build") == 0 || strcmp(key, "name") == 0) {
        *(key[0] == 'b' ? &r->faults.build : &r->faults.name) =
            strcmp(value, "null") == 0 ? NULL : value;
        return 1;
    }
    if (strcmp(key, "info") == 0)             return read_struct(value, 3, &r->faults.info);
    if (strcmp(key, "counts") == 0)           return read_lie(value, 2, &r->faults.counts);
    if (strcmp(key, "pointers") == 0)         return read_lie(value, 3, &r->faults.pointers);
    if (strcmp(key, "log_thread") == 0)  return r->faults.log_thread = 1,
        strcmp(value, "hostile") == 0;
    if (strcmp(key, "log_late") == 0)    return r->faults.log_late = 1, strcmp(value, "1") == 0;
    if (strcmp(key, "keep_binary") == 0) return r->faults.keep_binary = 1, strcmp(value, "1") == 0;
    if (strcmp(key, "spill_fill") == 0)  return read_number(value, &r->faults.spill_fill);
    if (strcmp(key, "id") == 0) {
        if (!read_number(value, &number) || number > UINT32_MAX)
            return 0;
        r->faults.backend_id = (uint32_t)number;
        return 1;
    }
    return 0;
}

/* Set the version of the system interface that goes with a core version. */
static void follow(ref_faults *f)
{
    if (f->system.major != 0)
        return;
    f->system.major = 1;
    f->system.minor = f->core.minor >= 37 ? 12 : f->core.minor >= 32 ? f->core.minor - 25
                    : f->core.minor >= 29 ? 5 : 2;
}

int ref_faults_set(const char *text, char *why, size_t bytes)
{
    static rules next;                   /* used under the lock; too large for a stack */
    char *at;
    defaults(&next);
    if (strlen(text) >= sizeof(next.words)) {
        snprintf(why, bytes, "the text is longer than %u bytes", (unsigned)sizeof(next.words) - 1);
        return 0;
    }
    strcpy(next.words, text);
    for (at = next.words; *at != '\0'; ) {
        char *stop = at + strcspn(at, ";\n"), *value, word[120];
        const int last = *stop == '\0';
        *stop = '\0';
        while (*at == ' ' || *at == '\t')
            ++at;
        for (value = stop; value > at && (value[-1] == ' ' || value[-1] == '\t'); )
            *--value = '\0';
        snprintf(word, sizeof(word), "%.*s", (int)sizeof(word) - 1, at);
        value = strchr(at, '=');
        if (*at != '\0') {
            if (value != NULL)
                *value++ = '\0';
            if (value == NULL || !set_one(&next, at, value)) {
                snprintf(why, bytes, "\"%s\" is not a rule; see tools/refbackend/README.md", word);
                return 0;
            }
        }
        at = last ? stop : stop + 1;
    }
    follow(&next.faults);
    current = next;
    /* Let build and name point into the words of this copy. */
    if (next.faults.build != NULL && next.faults.build >= next.words
        && next.faults.build < next.words + TEXT)
        current.faults.build = current.words + (next.faults.build - next.words);
    if (next.faults.name != NULL && next.faults.name >= next.words
        && next.faults.name < next.words + TEXT)
        current.faults.name = current.words + (next.faults.name - next.words);
    ref_fault = current.faults;
    memset(counts, 0, sizeof(counts));
    ++serial;
    return 1;
}

int ref_faults_environment(void)
{
    const char *text = getenv("QNNREF_FAULTS");
    char why[256];
    int ok;
    if (serial != 0 && (text == NULL || strcmp(text, seen) == 0))
        return 1;
    ok = ref_faults_set(text != NULL ? text : "", why, sizeof(why));
    if (!ok)
        fprintf(stderr, "libQnnRef.so: QNNREF_FAULTS: %s\n", why);
    else
        snprintf(seen, sizeof(seen), "%s", text != NULL ? text : "");
    return ok;
}

uint64_t ref_faults_serial(void) { return serial; }

uint64_t ref_faults_count(int slot) { return ++counts[slot]; }

void ref_faults_ask(int slot, uint64_t nth, ref_wish *wish)
{
    memset(wish, 0, sizeof(*wish));
    for (int i = 0; i < current.count; ++i) {
        const rule *is = &current.list[i];
        if (is->slot != slot || (is->nth != 0 && is->nth != nth && is->what != NO_SLOT))
            continue;
        switch (is->what) {
        case FAIL:      wish->code = is->code; break;
        case GIVE_NULL: wish->null = 1; break;
        case DELAY:     wish->delay_ms = (uint32_t)is->code; break;
        case SLOWER:    wish->slower = (uint32_t)is->code; break;
        case OVERWRITE: wish->overwrite = 1; break;
        case RESTART:   wish->restart = 1; break;
        default:        wish->no_slot = 1; break;
        }
    }
}
