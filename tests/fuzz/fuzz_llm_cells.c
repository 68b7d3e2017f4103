/* fuzz_llm_cells.c - the cells, rows and states of qnnrt_llm.h against a naive cache

   The bytes of an input are the moves of a game, see tests/harness/llm_naive.h: a model and two caches, then
   operations on sequences, new tokens, strides that change, states that are saved, damaged (with or
   without a corrected checksum) and restored. After every move both sides must be the same. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_llm.h"
#include "llm_naive.h"
#define FUZZ_NAME "fuzz_llm_cells"
#include "fuzz.h"

static void play(const unsigned char *data, size_t size)
{
    static const unsigned char nothing[1] = { 0 };
    static game g;
    const char *why = game_play(&g, size > 0 ? data : nothing, size, 0, 2000);
    if (why != NULL) fprintf(stderr, "fuzz_llm_cells: %s\n", why);
    MUST(why == NULL);
}

FUZZ_TARGET
