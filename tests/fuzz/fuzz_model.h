/* fuzz_model.h - shared by targets that open models: choices, failing allocations, checks of
   results

   Included after qnnrt.h and fuzz.h; the target defines CONTROL, the bytes of an input that choose.            */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

/* ---- choices -------------------------------------------------------------------------------- */

static unsigned char control[CONTROL];
static uint64_t      chance_state;

/* Return a number below `below` from the control bytes, and from a generator after their end. */
static uint64_t chance(uint64_t below)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return below == 0 ? 0 : (chance_state >> 33) % below;
}

static void chance_begin(const unsigned char *bytes, size_t size)
{
    size_t i;
    memset(control, 0, sizeof(control));
    memcpy(control, bytes, size < CONTROL ? size : (size_t)CONTROL);
    chance_state = 1469598103934665603u;
    for (i = 0; i < CONTROL; ++i) chance_state = (chance_state ^ control[i]) * 1099511628211u;
}

/* ---- hooks ---------------------------------------------------------------------------------- */

/* alloc_sum: bytes of all allocations so far. */
static uint64_t alloc_live, alloc_bytes, alloc_sum, alloc_count, alloc_fail_at;
static int      alloc_fail_on;

static void *hook_alloc(void *user, size_t bytes)
{
    uint64_t *block;
    (void)user;
    ++alloc_count;
    if (alloc_fail_at != 0 && (alloc_fail_on ? alloc_count >= alloc_fail_at : alloc_count == alloc_fail_at)) return NULL;
    if (bytes > ((size_t)1 << 28)) return NULL;
    block = (uint64_t *)malloc(bytes + 16);
    if (block == NULL) return NULL;
    block[0] = bytes;
    memset(block + 2, 0xA5, bytes);       /* memory is not zeroed */
    ++alloc_live;
    alloc_bytes += bytes;
    alloc_sum += bytes;
    return block + 2;
}

static void hook_free(void *user, void *data)
{
    uint64_t *block = (uint64_t *)data - 2;
    (void)user;
    --alloc_live;
    alloc_bytes -= block[0];
    free(block);
}

static void text_clean(const char *text, int lines)
{
    for (; *text != '\0'; ++text) MUST(((unsigned char)*text >= 0x20 && *text != 0x7F) || (lines && *text == '\n'));
}

static void hook_log(void *user, qnnrt_log_level level, const char *room, uint64_t code, const char *text)
{
    (void)user; (void)level; (void)code;
    MUST(room != NULL && text != NULL);
    text_clean(text, 0);
}

static qnnrt_error *fresh(qnnrt_error *err)
{
    memset(err, 0x5A, sizeof(*err));
    return err;
}

/* Return 1 for success. A failure must have a text, and *out must be NULL. */
static int good(qnnrt_result result, const void *out, const qnnrt_error *err)
{
    if (err != NULL) {
        MUST(memchr(err->text, 0, sizeof(err->text)) != NULL);
        MUST(err->code == result);
        MUST((result == QNNRT_OK) == (err->text[0] == '\0'));
        text_clean(err->text, 1);
    }
    MUST((result == QNNRT_OK) == (out != NULL));
    MUST(strcmp(qnnrt_result_name(result), "unknown") != 0);
    return result == QNNRT_OK;
}

/* Evaluate the call before *out is read. */
static qnnrt_result answer;
#define GOOD(call, out, err) (answer = (call), good(answer, (out), (err)))

#endif /* FUZZ_MODEL_H */
