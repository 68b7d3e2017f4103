/* Checks that ways of running an exported language model do not change its text.

       llm_exact [--quick] FOLDER LIBRARY GOLDEN MODEL [REFERENCE.txt]

   GOLDEN is tests/golden/llm_tokens.txt (numpy, float64), MODEL the part of it to compare with.
   With REFERENCE.txt the expected tokens are those in that file, which is written if it does not
   exist: codes are compared with codes. For every prompt, with both ways of keeping cells:

       in chunks, one by one, after another prompt, rewound into the prompt and into the answer, saved
       and restored (here, and into the other way), copied to another cache, with drafts that are
       partly accepted (chains and trees), two sequences at one time, a shared prompt, holes

   --quick runs only chunks and one by one. Prints what it compared; the last line is "N passed, N
   failed". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qnnrt_llm.h"

enum { PROMPTS = 32, MOST = 128, ANSWER = 16 };

static struct {
    size_t  count;                          /* number of prompts */
    int32_t prompts[PROMPTS][MOST], answers[PROMPTS][ANSWER];
    size_t  lengths[PROMPTS], answer;       /* lengths: of the prompts; answer: of every answer */
} golden;

static unsigned passed, failed;
static int quick;

static void stop(const char *text, const char *what)
{
    fprintf(stderr, "llm_exact: %s%s\n", text, what);
    exit(1);
}

static size_t numbers(char *at, int32_t *out, size_t most)
{
    size_t count = 0;
    char *end;
    for (;;) {
        long n = strtol(at, &end, 10);
        if (end == at) return count;
        if (count == most) stop("too many numbers in a line", "");
        out[count++] = (int32_t)n;
        at = end;
    }
}

/* Read lines "model NAME", then "prompt ..." and "tokens ..." in turns. */
static void read_golden(const char *path, const char *model)
{
    static char line[8192];
    int here = model == NULL;
    FILE *file = fopen(path, "r");
    if (file == NULL) stop("cannot open ", path);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "model ", 6) == 0) here = model != NULL && strcmp(line + 6, model) == 0;
        if (!here) continue;
        if (strncmp(line, "prompt ", 7) == 0) {
            if (golden.count == PROMPTS) stop("too many prompts in ", path);
            golden.lengths[golden.count] = numbers(line + 7, golden.prompts[golden.count], MOST);
        }
        if (strncmp(line, "tokens ", 7) == 0)
            golden.answer = numbers(line + 7, golden.answers[golden.count++], ANSWER);
    }
    fclose(file);
    if (golden.count < 10 || golden.answer < 2) stop("too little in ", path);
}

static void check(int good, const char *what, size_t prompt)
{
    if (good) { ++passed; return; }
    ++failed;
    printf("  wrong: %s, prompt %u of %u tokens\n", what, (unsigned)prompt,
           (unsigned)golden.lengths[prompt]);
}

static void must(qnnrt_result result, const qnnrt_llm_cache *cache)
{
    if (result != QNNRT_OK) stop("", qnnrt_llm_error(cache)->text);
}

/* ---- one cache ---- */

static void give(qnnrt_llm_cache *cache, uint32_t sequence, const int32_t *tokens, size_t count)
{
    qnnrt_llm_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.tokens = tokens;
    batch.count = count;
    batch.sequence = sequence;
    must(qnnrt_llm_decode(cache, &batch), cache);
}

/* Continue after the last computed token, whose logits are in row `last`, and compare. */
static int answers(qnnrt_llm_cache *cache, uint32_t sequence, size_t prompt, size_t last,
                   size_t from)
{
    const int32_t *expected = golden.answers[prompt];
    size_t i;
    for (i = from; i < golden.answer; ++i) {
        int32_t next = qnnrt_llm_argmax(cache, last);
        if (next != expected[i]) return 0;
        if (i + 1 < golden.answer) give(cache, sequence, &next, 1);
        last = 0;
    }
    return 1;
}

static int whole(qnnrt_llm_cache *cache, size_t prompt)
{
    qnnrt_llm_clear(cache);
    give(cache, 0, golden.prompts[prompt], golden.lengths[prompt]);
    return answers(cache, 0, prompt, golden.lengths[prompt] - 1, 0);
}

/* Cut sequence 0 to its first `length` tokens of prompt and answer; compute the rest again. */
static int rewound(qnnrt_llm_cache *cache, size_t prompt, size_t length)
{
    const size_t n = golden.lengths[prompt];
    must(qnnrt_llm_sequence_remove(cache, 0, (int32_t)length, -1), cache);
    if (length < n) {
        give(cache, 0, golden.prompts[prompt] + length, n - length);
        return answers(cache, 0, prompt, n - length - 1, 0);
    }
    give(cache, 0, &golden.answers[prompt][length - n], 1);
    return answers(cache, 0, prompt, 0, length - n + 1);
}

/* Decode drafts whose first `good` tokens are right: compute all at once, and accept the right
   ones. */
static int drafted(qnnrt_llm_cache *cache, size_t prompt, size_t good)
{
    const int32_t *expected = golden.answers[prompt];
    int32_t chunk[ANSWER];
    qnnrt_llm_batch batch;
    size_t done, i, n;
    qnnrt_llm_clear(cache);
    give(cache, 0, golden.prompts[prompt], golden.lengths[prompt]);
    for (done = 0; done + 1 < golden.answer; done += n) {
        /* expected[done] is known and not computed yet; then drafts, the last one wrong */
        const size_t left = golden.answer - done, most = qnnrt_llm_cache_get_info(cache).at_once;
        const size_t wish = good + 2 < left ? good + 2 : left, drafts = wish < most ? wish : most;
        for (i = 0; i < drafts; ++i) chunk[i] = expected[done + i];
        if (drafts == good + 2 && drafts > 1) chunk[drafts - 1] = chunk[drafts - 1] == 7 ? 8 : 7;
        memset(&batch, 0, sizeof batch);
        batch.tokens = chunk;
        batch.count = drafts;
        must(qnnrt_llm_eval(cache, &batch), cache);
        for (n = 1; n < drafts && qnnrt_llm_argmax(cache, n - 1) == chunk[n]; ++n) {}
        if (n != (drafts == good + 2 ? drafts - 1 : drafts)) return 0;
        for (i = 0; i < n && done + i + 1 < golden.answer; ++i)
            if (qnnrt_llm_argmax(cache, i) != expected[done + i + 1]) return 0;
        must(qnnrt_llm_accept(cache, NULL, n), cache);
    }
    return 1;
}

/* Decode a tree: two wrong children and the right one, and below each the next right token. */
static int treed(qnnrt_llm_cache *cache, size_t prompt)
{
    static const int32_t parents[7] = { -1, 0, 0, 0, 1, 3, 2 };
    const int32_t *expected = golden.answers[prompt];
    qnnrt_llm_batch batch;
    size_t done;
    qnnrt_llm_clear(cache);
    give(cache, 0, golden.prompts[prompt], golden.lengths[prompt]);
    for (done = 0; done + 3 < golden.answer && qnnrt_llm_cache_get_info(cache).at_once >= 7; done += 3) {
        static const uint32_t kept[3] = { 0, 3, 5 };
        int32_t chunk[7];
        chunk[0] = expected[done];
        chunk[1] = expected[done + 1] == 1 ? 2 : 1;
        chunk[2] = expected[done + 1] == 3 ? 4 : 3;
        chunk[3] = expected[done + 1];
        chunk[4] = chunk[5] = chunk[6] = expected[done + 2];
        memset(&batch, 0, sizeof batch);
        batch.tokens = chunk;
        batch.count = 7;
        batch.parents = parents;
        must(qnnrt_llm_eval(cache, &batch), cache);
        if (qnnrt_llm_argmax(cache, 0) != expected[done + 1] ||
            qnnrt_llm_argmax(cache, 3) != expected[done + 2] ||
            qnnrt_llm_argmax(cache, 5) != expected[done + 3]) return 0;
        must(qnnrt_llm_accept(cache, kept, 3), cache);
    }
    return 1;
}

/* Decode two texts at the same time; each batch has one token of each. */
static int paired(qnnrt_llm_cache *cache, size_t a, size_t b)
{
    const size_t pair[2] = { a, b };
    int32_t next[2];
    size_t i, k;
    qnnrt_llm_clear(cache);
    for (k = 0; k < 2; ++k) {
        give(cache, (uint32_t)(5 + 40 * k), golden.prompts[pair[k]], golden.lengths[pair[k]]);
        next[k] = qnnrt_llm_argmax(cache, golden.lengths[pair[k]] - 1);
    }
    for (i = 0; i < golden.answer; ++i) {
        uint64_t sequences[2];
        qnnrt_llm_batch batch;
        for (k = 0; k < 2; ++k) if (next[k] != golden.answers[pair[k]][i]) return 0;
        memset(&batch, 0, sizeof batch);
        sequences[0] = (uint64_t)1 << 5;
        sequences[1] = (uint64_t)1 << 45;
        batch.tokens = next;
        batch.count = 2;
        batch.sequences = sequences;
        if (i + 1 == golden.answer) break;
        must(qnnrt_llm_decode(cache, &batch), cache);
        for (k = 0; k < 2; ++k) next[k] = qnnrt_llm_argmax(cache, k);
    }
    return qnnrt_llm_sequence_last(cache, 5) == (int32_t)(golden.lengths[a] + golden.answer - 2) &&
           qnnrt_llm_sequence_first(cache, 45) == 0;
}

/* Compute a prompt once for two sequences; the first continues differently, and is dropped. */
static int shared(qnnrt_llm_cache *cache, size_t prompt)
{
    const size_t n = golden.lengths[prompt];
    const int32_t strange[3] = { 9, 8, 7 };
    int good;
    qnnrt_llm_clear(cache);
    if (n > 1) give(cache, 0, golden.prompts[prompt], n - 1);
    must(qnnrt_llm_sequence_copy(cache, 0, 3, 0, -1), cache);
    give(cache, 0, strange, 3);
    give(cache, 3, &golden.prompts[prompt][n - 1], 1);
    good = answers(cache, 3, prompt, 0, 0);
    must(qnnrt_llm_sequence_keep(cache, 3), cache);
    /* The other tokens leave holes, which the next tokens may take. */
    must(qnnrt_llm_sequence_remove(cache, 3, (int32_t)n, -1), cache);
    give(cache, 3, &golden.answers[prompt][0], 1);
    return good && answers(cache, 3, prompt, 0, 1);
}

/* ---- a folder ---- */

typedef struct way {
    qnnrt_llm_session *session;
    qnnrt_llm_cache   *caches[2];
} way;

static void one_way(way *this_way, way *other, const char *name, int reference)
{
    qnnrt_llm_cache *cache = this_way->caches[0], *second = this_way->caches[1];
    size_t p, i, bytes;
    unsigned before = passed;
    static unsigned char state[1u << 22];
    for (p = 0; p < golden.count; ++p) {
        const size_t n = golden.lengths[p];
        /* The expected tokens come from the first run of this model. */
        if (reference) {
            qnnrt_llm_clear(cache);
            give(cache, 0, golden.prompts[p], n);
            for (i = 0, bytes = n - 1; i < golden.answer; ++i, bytes = 0) {
                golden.answers[p][i] = qnnrt_llm_argmax(cache, bytes);
                give(cache, 0, &golden.answers[p][i], 1);
            }
        }
        check(whole(cache, p), "in chunks", p);
        if (quick) {
            qnnrt_llm_clear(cache);
            for (i = 0; i < n; ++i) give(cache, 0, &golden.prompts[p][i], 1);
            check(answers(cache, 0, p, 0, 0), "one by one", p);
            continue;
        }
        check(rewound(cache, p, n + golden.answer / 2), "rewound into the answer", p);
        check(rewound(cache, p, n / 2), "rewound into the prompt", p);

        qnnrt_llm_clear(cache);
        for (i = 0; i < n; ++i) give(cache, 0, &golden.prompts[p][i], 1);
        check(answers(cache, 0, p, 0, 0), "one by one", p);

        /* Save after the prompt, change the cache, restore. */
        qnnrt_llm_clear(cache);
        give(cache, 0, golden.prompts[p], n);
        if (qnnrt_llm_state_bytes(cache) > sizeof state) stop("a state is larger than expected", "");
        must(qnnrt_llm_state_save(cache, state, sizeof state, &bytes), cache);
        check(bytes == qnnrt_llm_state_bytes(cache), "the size of a state", p);
        must(qnnrt_llm_cache_copy(second, cache), second);
        give(second, 0, golden.answers[p], 1);
        check(answers(second, 0, p, 0, 1), "copied to another cache", p);
        whole(cache, (p + 7) % golden.count);
        must(qnnrt_llm_state_restore(cache, state, bytes), cache);
        give(cache, 0, golden.answers[p], 1);
        check(answers(cache, 0, p, 0, 1), "saved and restored", p);
        must(qnnrt_llm_state_restore(other->caches[0], state, bytes), other->caches[0]);
        give(other->caches[0], 0, golden.answers[p], 1);
        check(answers(other->caches[0], 0, p, 0, 1), "restored into the other way", p);

        check(drafted(cache, p, 0), "drafts, none accepted", p);
        check(drafted(cache, p, 3), "drafts, some accepted", p);
        if (n <= 80) check(treed(cache, p), "a tree of drafts", p);
        if (n <= 33) check(paired(cache, p, p > 0 ? p - 1 : p + 1), "two at one time", p);
        if (n <= 100) check(shared(cache, p), "a shared prompt", p);
    }
    printf("  %s: %u comparisons over %u prompts of 1 to %u tokens\n", name, passed - before,
           (unsigned)golden.count, (unsigned)golden.lengths[golden.count - 1]);
}

static void begin(way *w, qnnrt_llm *llm, qnnrt_llm_kv kv)
{
    qnnrt_llm_session_desc desc;
    qnnrt_error err;
    memset(&desc, 0, sizeof desc);
    desc.kv = kv;
    desc.caches = 2;
    if (qnnrt_llm_session_create(&llm, 1, &desc, &w->session, &err) != QNNRT_OK) stop("", err.text);
    w->caches[0] = qnnrt_llm_cache_get(w->session, 0, 0);
    w->caches[1] = qnnrt_llm_cache_get(w->session, 0, 1);
}

static void write_reference(const char *path)
{
    FILE *file = fopen(path, "w");
    size_t p, i;
    if (file == NULL) stop("cannot write ", path);
    for (p = 0; p < golden.count; ++p) {
        fprintf(file, "prompt");
        for (i = 0; i < golden.lengths[p]; ++i) fprintf(file, " %ld", (long)golden.prompts[p][i]);
        fprintf(file, "\ntokens");
        for (i = 0; i < golden.answer; ++i) fprintf(file, " %ld", (long)golden.answers[p][i]);
        fprintf(file, "\n");
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    qnnrt_desc desc;
    qnnrt_llm_desc llm_desc;
    qnnrt *model;
    qnnrt_llm *llm;
    qnnrt_error err;
    way smart, shift;
    FILE *there;
    int reference = 0;
    if (argc > 1 && strcmp(argv[1], "--quick") == 0) {
        quick = 1;
        --argc;
        ++argv;
    }
    if (argc != 5 && argc != 6) {
        fprintf(stderr, "usage: llm_exact [--quick] FOLDER LIBRARY GOLDEN MODEL [REFERENCE.txt]\n");
        return 2;
    }
    if (argc == 6 && (there = fopen(argv[5], "r")) != NULL) {
        fclose(there);
        read_golden(argv[5], NULL);
    } else {
        read_golden(argv[3], argv[4]);
        reference = argc == 6;
    }
    memset(&desc, 0, sizeof desc);
    memset(&llm_desc, 0, sizeof llm_desc);
    desc.backend_desc.path = argv[2];
    llm_desc.folder = argv[1];
    if (qnnrt_open(argv[1], &desc, &model, &err) != QNNRT_OK) stop("", err.text);
    if (qnnrt_llm_open(model, &llm_desc, &llm, &err) != QNNRT_OK) stop("", err.text);
    begin(&smart, llm, QNNRT_LLM_SMART_MASK);
    begin(&shift, llm, QNNRT_LLM_SHIFT_POINTER);
    one_way(&smart, &shift, "smart mask", reference);
    one_way(&shift, &smart, "shift pointer", 0);
    if (reference) write_reference(argv[5]);
    qnnrt_llm_session_destroy(smart.session);
    qnnrt_llm_session_destroy(shift.session);
    if (qnnrt_llm_close(llm) != QNNRT_OK || qnnrt_close(model) != QNNRT_OK) stop("not all is closed", "");
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
