/* pair.c - two models side by side

   ROOM     >>pair */
#include "run/measure/measure.h"
#include "run/model/model.h"
#include "run/io/io.h"

/* =====================================================================================
   PAIR                                                                             >>pair
   Opens side A and side B, each on a backend of its own, and finds the pipelines and tensors that
   belong together. Both may have the same library, or two releases of it.
   ===================================================================================== */

#define PAIR_HINT "Name two models, or one and another library with --other_backend_so FILE."

static int take_other_backend(void *at, const cli_option *o, const char *value)
{
    pair_settings *set = at;
    return cli_take_backend(o, value, &set->backend, set->roles, &set->role_count);
}

static const cli_option pair_options[] = {
    {.name = "other_backend_so", .value = "[ROLE=]FILE", .kind = CLI_OWN,
     .take = take_other_backend, .own = 1, .repeat = 1, .verbs = VERBS_PAIR, .key = CLI_KEY_NONE,
     .help = "library of side B (default: that of --backend_so, else one that its binaries were "
             "made for)"},
    {.name = "other_system_so", .value = "FILE", .kind = CLI_TEXT, OWN(pair_settings, system),
     .verbs = VERBS_PAIR, .key = CLI_KEY_NONE,
     .help = "libQnnSystem.so of side B (default: the one of --system_so, or with "
             "--other_backend_so the one beside that library)"},
    {.name = "other_soc_model", .value = "CHIP", .kind = CLI_CHIP, OWN(pair_settings, soc_model),
     .verbs = VERBS_PAIR, .key = CLI_KEY_NONE,
     .help = "chip that the device of side B is created for (default: that of side A)"}
};

const cli_table pair_table =
    CLI_TABLE_OF(pair_options, pair_settings, offsetof(settings, pair), NULL);

int pair_differs(const settings *set)
{
    return set->pair->backend != NULL || set->pair->role_count > 0 || set->pair->system != NULL ||
           set->pair->soc_model != 0;
}

int check_pair(const settings *set, const char *verb)
{
    if (set->files.count == 2 || (set->files.count == 1 && pair_differs(set))) return STATUS_OK;
    if (set->files.count == 1) return cli_usage(PAIR_HINT, "%s takes a second model", verb);
    return cli_usage(PAIR_HINT, "%s takes two models, not %lu", verb,
                     (unsigned long)set->files.count);
}

void pair_model(settings *set, const char *const *word)
{
    const int folder = cli_is_folder(*word);
    set->ctx_dir = folder ? *word : NULL;
    set->files.items = (const char **)(uintptr_t)word;
    set->files.count = folder ? 0 : 1;
}

void pair_sides(pairing *p, tool *t)
{
    const char *const *words = t->set.files.items;
    const pair_settings *other = t->set.pair;
    settings *b = &p->other.set;
    p->sides[0] = t;
    p->sides[1] = &p->other;
    p->other.out = t->out;
    p->other.backend_option = "--other_backend_so";
    p->other.given = t->given;
    p->other.given_count = t->given_count;
    *b = t->set;
    pair_model(b, t->set.files.count > 1 ? &words[1] : &words[0]);
    if (other->backend != NULL || other->role_count > 0) {
        b->backend = other->backend;
        memcpy(b->roles, other->roles, sizeof(b->roles));
        b->role_count = other->role_count;
        b->system = NULL;
    } else if (t->choice.backend != NULL) {      /* no option named that of side A */
        b->backend = NULL;
        b->role_count = 0;
        choose_libraries(&p->other, t->set.files.items[t->set.files.count > 1]);
    }
    if (other->system != NULL) b->system = other->system;
    if (other->soc_model != 0) b->soc_model = other->soc_model;
}

/* Return the slot of B with the name of a slot of A: that of the program, the address, or the name
   of the tensor. */
static const qnnrt_slot *pair_slot(const job *a, size_t slot, const job *b)
{
    const qnnrt_slot *info = &a->info->slots[slot];
    const char *const names[] = {a->names[slot], info->address, info->tensor->name};
    const qnnrt_slot *found = NULL;
    for (size_t i = 0; i < 3 && found == NULL; ++i)
        if (names[i] != NULL) qnnrt_slot_find(b->pipeline, names[i], info->role, &found, NULL);
    return found;
}

int pair_taken(const paired *p, const qnnrt_slot *slot)
{
    for (size_t i = 0; i < p->jobs[0]->info->slot_count; ++i)
        if (p->slots[i] == slot) return 1;
    return 0;
}

/* If one slot of a role is left on each side, they belong together. */
static void pair_lone_slots(paired *p, qnnrt_role role)
{
    const qnnrt_pipeline_info *a = p->jobs[0]->info, *b = p->jobs[1]->info;
    size_t left[2] = {0, 0}, last[2] = {0, 0};
    for (size_t i = 0; i < a->slot_count; ++i) {
        if (a->slots[i].role != role || p->slots[i] != NULL) continue;
        last[0] = i;
        ++left[0];
    }
    for (size_t i = 0; i < b->slot_count; ++i) {
        if (b->slots[i].role != role || pair_taken(p, &b->slots[i])) continue;
        last[1] = i;
        ++left[1];
    }
    if (left[0] == 1 && left[1] == 1) p->slots[last[0]] = &b->slots[last[1]];
}

static void pair_slots(paired *p)
{
    const job *a = p->jobs[0], *b = p->jobs[1];
    if (a == NULL || b == NULL) return;
    p->slots = cli_alloc(a->info->slot_count, sizeof(*p->slots));
    for (size_t i = 0; i < a->info->slot_count; ++i) {
        const qnnrt_slot *slot = pair_slot(a, i, b);
        if (slot != NULL && !pair_taken(p, slot)) p->slots[i] = slot;
    }
    pair_lone_slots(p, QNNRT_ROLE_INPUT);
    pair_lone_slots(p, QNNRT_ROLE_OUTPUT);
}

/* Pair the jobs of both sides by name. If one is left on each side, they belong together. */
static void pair_jobs(pairing *p)
{
    tool *a = p->sides[0], *b = p->sides[1];
    size_t left[2] = {0, b->job_count}, last = 0;
    OWNED char *taken = cli_alloc(b->job_count, 1);
    p->list = cli_alloc(a->job_count + b->job_count, sizeof(*p->list));
    for (; p->count < a->job_count; ++p->count) {
        paired *one = &p->list[p->count];
        one->jobs[0] = &a->jobs[p->count];
        for (size_t k = 0; k < b->job_count && one->jobs[1] == NULL; ++k) {
            if (taken[k] || strcmp(one->jobs[0]->info->name, b->jobs[k].info->name) != 0) continue;
            one->jobs[1] = &b->jobs[k];
            taken[k] = 1;
            --left[1];
        }
        if (one->jobs[1] != NULL) continue;
        last = p->count;
        ++left[0];
    }
    for (size_t k = 0; k < b->job_count; ++k) {
        if (taken[k]) continue;
        if (left[0] == 1 && left[1] == 1) p->list[last].jobs[1] = &b->jobs[k];
        else p->list[p->count++].jobs[1] = &b->jobs[k];
    }
    for (size_t i = 0; i < p->count; ++i) pair_slots(&p->list[i]);
}

void pair_gather(pairing *p)
{
    tool *a = p->sides[0], *b = p->sides[1];
    cli_free_choice(&b->choice);
    a->failed |= b->failed;
    if (a->error == NULL) a->error = b->error;
    else free(b->error);
    b->error = NULL;
}

int pair_open(pairing *p, tool *t)
{
    memset(p, 0, sizeof(*p));
    pair_sides(p, t);
    pair_model(&t->set, t->set.files.items);
    for (size_t side = 0; side < 2; ++side) {
        tool *one = p->sides[side];
        say(t, "%sside %c\n", side > 0 ? "\n" : "", side == 0 ? 'A' : 'B');
        if (!open_model(one) || !select_jobs(one)) return 0;
        for (size_t i = 0; i < one->job_count; ++i) plan_job(one, &one->jobs[i]);
        if (one->failed) return 0;
    }
    for (size_t i = 0; i < t->set.input_count; ++i) place_input(t, &t->set.inputs[i]);
    place_changes(t);
    pair_jobs(p);
    return !t->failed;
}

void pair_close(pairing *p)
{
    for (size_t i = 0; i < p->count; ++i) free((void *)p->list[i].slots);
    free(p->list);
    close_all(&p->other);
    pair_gather(p);
}

/* Give an input of B the values that it has on A: the same bytes where the tensors are of one type,
   else the same numbers. Return 0 after a message. */
static int pair_copy(pairing *p, const paired *one, qnnrt_run *const runs[2],
                     const qnnrt_slot *from, const qnnrt_slot *to)
{
    const qnnrt_tensor_info *a = from->tensor, *b = to->tensor;
    const size_t count = count_now(runs[0], from);
    const int integers = a->quant.encoding == QNNRT_ENCODING_NONE && (a->dtype & 0xFE00) == 0 &&
                         b->quant.encoding == QNNRT_ENCODING_NONE && (b->dtype & 0xFE00) == 0;
    size_t bytes[2] = {0, 0};
    void *data[2];
    qnnrt_result result = QNNRT_OK;
    for (size_t i = 0; i < 2; ++i)
        data[i] = qnnrt_data_slot(runs[i], i == 0 ? from : to, &bytes[i]);
    if (count != count_now(runs[1], to)) {
        OWNED char *name = cli_shown(from->address);
        fail(p->sides[1], one->jobs[1], NULL, "input \"%s\" has %llu values on side A and %llu on"
             " side B", name, (unsigned long long)count,
             (unsigned long long)count_now(runs[1], to));
        return 0;
    }
    if (a->dtype == b->dtype && qnnrt_quant_equal(&a->quant, &b->quant) && bytes[0] == bytes[1] &&
        data[0] != NULL && data[1] != NULL) {
        memcpy(data[1], data[0], bytes[0]);
        return 1;
    }
    OWNED void *values = cli_alloc(count, 4);
    result = integers ? qnnrt_read_i32(runs[0], from, 0, values, count)
                      : qnnrt_read_f32(runs[0], from, 0, values, count);
    if (result != QNNRT_OK) fail_run(p->sides[0], one->jobs[0], runs[0]);
    else if ((integers ? qnnrt_write_i32(runs[1], to, 0, values, count)
                       : qnnrt_write_f32(runs[1], to, 0, values, count)) != QNNRT_OK) {
        fail_run(p->sides[1], one->jobs[1], runs[1]);
        result = QNNRT_E_ARG;
    }
    return result == QNNRT_OK;
}

int pair_inputs(pairing *p, const paired *one, qnnrt_run *const runs[2])
{
    const qnnrt_pipeline_info *a = one->jobs[0]->info, *b = one->jobs[1]->info;
    if (!load_inputs(p->sides[0], one->jobs[0], runs[0])) return 0;
    for (size_t i = 0; i < a->slot_count; ++i)
        if (a->slots[i].role == QNNRT_ROLE_INPUT && one->slots[i] != NULL &&
            !pair_copy(p, one, runs, &a->slots[i], one->slots[i])) return 0;
    for (size_t i = 0; i < b->slot_count; ++i) {
        if (b->slots[i].role != QNNRT_ROLE_INPUT || pair_taken(one, &b->slots[i])) continue;
        OWNED char *name = cli_shown(b->slots[i].address);
        say(p->sides[0], "  input     \"%s\" of side B alone is zero\n", name);
    }
    return 1;
}
