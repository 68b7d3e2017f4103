/* perplexity.c - how well a model predicts a text

   ROOM     >>perplexity */
#include "llm/llm.h"

/* =====================================================================================
   PERPLEXITY                                                               >>perplexity
   A text is read in windows as long as a text may be; each begins with an empty memory. The first
   token of a window is not counted, because nothing predicts it.
   ===================================================================================== */

/* Return exp(x) for x <= 0, and log(x) for x >= 1, to 1e-13 or better: this program needs no
   libm. */
static double exp_below(double x)
{
    double sum = 1, term = 1;
    int halvings = 0;
    if (x < -700) return 0;
    for (; x < -0.01; x /= 2) ++halvings;
    for (int i = 1; i < 8; ++i) sum += term *= x / i;
    while (halvings-- > 0) sum *= sum;
    return sum;
}

static double log_above(double x)
{
    double twos = 0;
    for (; x > 1.5; x /= 2) twos += 1;
    const double y = (x - 1) / (x + 1), square = y * y;
    double sum = 0, power = y;
    for (int i = 1; i < 41; i += 2, power *= square) sum += power / i;
    return 2 * sum + twos * 0.69314718055994530942;
}

static double exp_any(double x) { return x <= 0 ? exp_below(x) : 1 / exp_below(-x); }

/* Add what the logits of one token say about the next one. */
static void perplexity_add(perplexity *p, const float *row, uint32_t vocabulary, int32_t next)
{
    uint32_t best = 0;
    double sum = 0;
    for (uint32_t i = 1; i < vocabulary; ++i) if (row[i] > row[best]) best = i;
    for (uint32_t i = 0; i < vocabulary; ++i)
        sum += exp_below((double)row[i] - (double)row[best]);
    p->nats += log_above(sum) + (double)row[best] - (double)row[next];
    p->best += (int32_t)best == next;
    p->counted += 1;
}

/* Read one window in steps. Return 0 after printing an error. */
static int perplexity_window(tool *t, const int32_t *tokens, size_t count, perplexity *p)
{
    const size_t most = t->info->ar;
    unsigned char *wanted = (unsigned char *)cli_alloc(most, 1);
    int good = 1;
    memset(wanted, 1, most);
    qnnrt_llm_clear(t->cache);
    for (size_t at = 0; at < count && good && !interrupted; at += most) {
        qnnrt_llm_batch batch;
        memset(&batch, 0, sizeof(batch));
        batch.tokens = tokens + at;
        batch.count = count - at < most ? count - at : most;
        batch.wanted = wanted;
        batch.logits = t->rows;
        good = decode(t, &batch) == QNNRT_OK;
        if (!good) fail_error(t, qnnrt_llm_error(t->cache));
        for (size_t i = 0; i < batch.count && at + i + 1 < count && good; ++i)
            perplexity_add(p, t->rows + i * t->info->vocabulary, t->info->vocabulary,
                           tokens[at + i + 1]);
        if (good && t->dump.file != NULL) good = write_rows(t, batch.count);
    }
    free(wanted);
    return good && !interrupted;
}

int take_text(tool *t, token_list *list)
{
    size_t bytes = 0;
    OWNED char *data = read_all(t, t->set.perplexity, &bytes);
    if (data == NULL) return 0;
    return t->bytes ? take_bytes(t, data, bytes, list) : take_numbers(t, data, bytes, list);
}

void perplexity_text(tool *t, const token_list *text)
{
    const size_t room = t->limit < t->info->cells ? t->limit : t->info->cells;
    const uint64_t begin = clock_ns(NULL);
    perplexity p = {0, 0, 0};
    size_t windows = 0;
    if (text->count < 2 || room < 2) {
        fail(t, "Give a text of 2 tokens or more.", "--perplexity has nothing to predict");
        return;
    }
    for (size_t at = 0; at < text->count; at += room, ++windows) {
        const size_t left = text->count - at;
        if (!perplexity_window(t, text->items + at, left < room ? left : room, &p)) return;
    }
    const double nats = p.nats / (double)p.counted;
    fprintf(t->out, "perplexity  %.6f\nnats        %.6f a token\ntop-1       %llu of %llu\n"
            "windows     %lu of at most %lu tokens\ntime        %.1f ms\n", exp_any(nats), nats,
            (unsigned long long)p.best, (unsigned long long)p.counted, (unsigned long)windows,
            (unsigned long)room, ms(clock_ns(NULL) - begin));
}
