/* talk.c - prompts, answers and conversations

   ROOMS     >>write >>room >>talk */
#include "llm/llm.h"
#include "qnnrt_device.h"

#include "cli/stages.h"

/* =====================================================================================
   WRITE                                                                         >>write
   The model reads a prompt and writes an answer.
   ===================================================================================== */

qnnrt_result decode(tool *t, const qnnrt_llm_batch *batch)
{
    const qnnrt_result result = qnnrt_llm_decode(t->cache, batch);
    const uint64_t code = qnnrt_llm_error(t->cache)->vendor_code & 0xFFFF;
    qnnrt_error err;
    if (result != QNNRT_E_BACKEND || (code != DSP_RESTARTED && code != DSP_RESTARTED_FATAL))
        return result;
    warn("the DSP restarted: loading the model again");
    if (qnnrt_manifest_recover(t->model, qnnrt_model_recover, &err) == QNNRT_OK &&
        (t->adapter == NULL || qnnrt_llm_adapter_apply(t->llm, t->adapter, &err) == QNNRT_OK))
        return qnnrt_llm_decode(t->cache, batch);
    warn("%s", err.text);
    return result;
}

/* Let the model read at most as many tokens as one step takes. Return 0 after printing an
   error. */
static int read_step(tool *t, const int32_t *tokens, size_t count)
{
    static const unsigned char all[1] = {1};
    const int dumps = t->dump.file != NULL;
    OWNED unsigned char *wanted = NULL;
    qnnrt_llm_batch batch;
    memset(&batch, 0, sizeof(batch));
    batch.tokens = tokens;
    batch.count = count;
    if (dumps) {
        if (count > 1) wanted = (unsigned char *)cli_alloc(count, 1);
        if (wanted != NULL) memset(wanted, 1, count);
        batch.wanted = wanted != NULL ? wanted : all;
        batch.logits = t->rows;
    }
    const qnnrt_result result = decode(t, &batch);
    if (result != QNNRT_OK) return fail_error(t, qnnrt_llm_error(t->cache));
    for (size_t i = 0; i < count; ++i) {
        add_token(&t->said, tokens[i]);
        qnnrt_llm_sampler_accept(t->sampler, tokens[i]);
    }
    return !dumps || write_rows(t, count);
}

/* Choose the token after row `row` of the last step. Return -1 after a message. */
static int32_t next_token(tool *t, size_t row)
{
    const uint64_t begin = clock_ns(NULL);
    const void *stored = qnnrt_llm_stored_logits(t->cache, row);
    const int32_t token = qnnrt_llm_sample(t->sampler, stored);
    t->sampling += clock_ns(NULL) - begin;
    if (token >= 0) return token;
    if (stored == NULL) fail_error(t, qnnrt_llm_error(t->cache));
    else fail(t, NULL, "the model returned NaN for all logits");
    return -1;
}

/* Read a prompt in steps; Ctrl-C is noticed between them. *last receives the row of the last
   token. */
static int read_prompt(tool *t, const token_list *prompt, size_t *last)
{
    const size_t most = t->info->ar;
    size_t at = 0;
    while (at < prompt->count) {
        const size_t count = prompt->count - at < most ? prompt->count - at : most;
        if (interrupted) return 0;
        if (!read_step(t, prompt->items + at, count)) return 0;
        at += count;
        *last = count - 1;
    }
    return 1;
}

/* Return why the answer ends after so many tokens, or NULL. The last token is not read. */
static const char *stop_reason(const tool *t, uint64_t written)
{
    if (interrupted) return "interrupted";
    if (written >= t->set.max_gen) return "max_gen";
    return t->said.count + 1 >= t->limit ? "seq_len" : NULL;
}

int answer(tool *t, const token_list *prompt, size_t known)
{
    uint64_t written = 0, since = clock_ns(NULL);
    size_t last = 0;
    if (t->inference_begin == 0) t->inference_begin = since;
    t->prompt_tokens += prompt->count - known;
    t->pending = -1;
    t->stopped = t->set.max_gen == 0 ? "max_gen" : NULL;
    if (!read_prompt(t, prompt, &last)) t->stopped = t->failed ? "failed" : "interrupted";
    since = clock_ns(NULL);
    if (t->prompt_end == 0) t->prompt_end = since;
    while (t->stopped == NULL) {
        const int32_t token = next_token(t, last);
        const uint64_t now = clock_ns(NULL);
        if (token < 0) {
            t->stopped = "failed";
            break;
        }
        t->pending = token;
        ++t->generated;
        if (t->first_token == 0) t->first_token = now;
        if (written++ > 0) add_latency(t, now - since);
        since = now;
        if (qnnrt_llm_is_eos(t->llm, token)) {
            t->stopped = "end token";
            break;
        }
        put_token(t, token);
        t->stopped = stop_reason(t, written);
        if (t->stopped != NULL) break;
        if (!read_step(t, &token, 1)) t->stopped = "failed";
        t->pending = -1;
        last = 0;
    }
    t->inference_end = clock_ns(NULL);
    end_line(t);
    if (ferror(t->out)) return fail(t, NULL, "cannot write to standard output");
    return strcmp(t->stopped, "failed") != 0;
}

/* =====================================================================================
   ROOM                                                                           >>room
   A text has a limit; a conversation drops its oldest turns.
   ===================================================================================== */

/* Return the most tokens that the model may have read before it answers. */
static size_t most_read(const tool *t)
{
    const size_t most = (size_t)t->limit - (t->set.max_gen != 0), cells = t->info->cells;
    return most < cells ? most : cells;
}

int prompt_fits(tool *t, size_t count, size_t before)
{
    const size_t most = most_read(t);
    if (count == 0)
        return fail(t, "Write some text first.",
                    "the prompt is empty, and there is no text to continue");
    if (count <= most) return 1;
    return fail(t, "Shorten the prompt.", "the prompt has %lu tokens, and there is room for %lu%s",
                (unsigned long)(count - before), (unsigned long)(most > before ? most - before : 0),
                t->set.max_gen != 0 ? ", because one is for the answer" : "");
}

static void forget(tool *t)
{
    qnnrt_llm_clear(t->cache);
    qnnrt_llm_sampler_reset(t->sampler);
    t->said.count = t->turn_count = 0;
    t->pending = -1;
}

/* Choose how many of the oldest tokens to drop, so that `need` more fit: whole turns, but only the
   beginning of the last turn. The first `first` tokens stay. */
static size_t choose_cut(const tool *t, size_t first, size_t need)
{
    const size_t most = most_read(t), have = t->said.count;
    const size_t keep = most > first + need ? most - first - need : 0;
    for (size_t i = 0; i < t->turn_count; ++i)
        if (t->turns[i] > first && have - t->turns[i] <= keep) return t->turns[i] - first;
    return have - first > keep ? have - first - keep : 0;
}

/* Make room for a prompt and an answer of a quarter of the text: if they do not fit, drop the
   oldest turns. The remaining tokens are put before the prompt and read again, because the model's
   positions begin anew. Return the number of these tokens. */
static size_t make_room(tool *t, token_list *prompt)
{
    const size_t quarter = t->limit / 4, most = most_read(t), bos = t->begun && t->said.count > 0;
    const size_t reserve = t->set.max_gen < quarter ? (size_t)t->set.max_gen : quarter;
    size_t need = prompt->count + (reserve > 0 ? reserve - 1 : 0), turns = 0, dropped = 0;
    if (t->said.count + need <= most) return 0;
    if (need > most - bos) need = most - bos;    /* after a long prompt, the answer is short */
    const size_t cut = choose_cut(t, bos, need);
    token_list all = {NULL, 0, 0};
    for (size_t i = 0; i < t->said.count; ++i)
        if (i < bos || i >= bos + cut) add_token(&all, t->said.items[i]);
    const size_t kept = all.count;
    for (size_t i = 0; i < prompt->count; ++i) add_token(&all, prompt->items[i]);
    /* Keep the turns that stay, at their new places. */
    for (size_t i = 0; i < t->turn_count; ++i) {
        const size_t end = i + 1 < t->turn_count ? t->turns[i + 1] : t->said.count;
        if (t->turns[i] < bos + cut) ++dropped;
        if (end > bos + cut) t->turns[turns++] = t->turns[i] > bos + cut ? t->turns[i] - cut : bos;
    }
    warn("the conversation is full: dropped the oldest %lu of %lu tokens, from %lu of %lu turns",
         (unsigned long)cut, (unsigned long)t->said.count, (unsigned long)dropped,
         (unsigned long)t->turn_count);
    t->turn_count = turns;
    t->said.count = 0;
    qnnrt_llm_clear(t->cache);
    free(prompt->items);
    *prompt = all;
    return kept;
}

/* =====================================================================================
   TALK                                                                           >>talk
   Line by line, in one conversation.
   ===================================================================================== */

/* Make a prompt of a line. Return 0 after printing an error. */
static int take_line(tool *t, const char *line, size_t bytes, token_list *prompt)
{
    prompt->count = 0;
    if (t->pending >= 0) add_token(prompt, t->pending);
    t->begun = t->said.count > 0 ? t->begun : t->bytes && prompt->count == 0 && t->info->bos >= 0;
    if (t->begun && t->said.count == 0) add_token(prompt, t->info->bos);
    return t->bytes ? take_bytes(t, line, bytes, prompt) : take_numbers(t, line, bytes, prompt);
}

static void add_turn(tool *t, size_t begin)
{
    t->turns = (size_t *)cli_grow(t->turns, t->turn_count, &t->turn_room, sizeof(*t->turns));
    t->turns[t->turn_count++] = begin;
}

void talk(tool *t)
{
    const int asks = isatty(STDIN_FILENO);
    char *line = NULL;
    size_t room = 0;
    OWNED token_list prompt = {NULL, 0, 0};
    for (;;) {
        if (asks) fputs("> ", stderr);
        ssize_t bytes = interrupted ? -1 : getline(&line, &room, stdin);
        if (bytes < 0) {
            if (asks) fputc('\n', stderr);
            break;
        }
        if (bytes > 0 && line[bytes - 1] == '\n') line[--bytes] = '\0';
        if (strcmp(line, "/quit") == 0) break;
        if (strcmp(line, "/reset") == 0) {
            forget(t);
            continue;
        }
        const size_t written = t->pending >= 0;
        if (!take_line(t, line, (size_t)bytes, &prompt) || !prompt_fits(t, prompt.count, written)) {
            end_line(t);
            continue;
        }
        size_t known = make_room(t, &prompt);
        if (bytes > 0) add_turn(t, t->said.count + known + written);
        if (!answer(t, &prompt, known + written) || interrupted) break;
    }
    if (interrupted) t->stopped = "interrupted";
    else if (t->stopped == NULL || strcmp(t->stopped, "failed") != 0) t->stopped = "end of input";
    free(line);
}
