/* llm_batch.h - for tests that decode: a batch of these tokens, of sequence 0, at its next positions

   Included after qnnrt_llm.h. */
#ifndef LLM_BATCH_H
#define LLM_BATCH_H

#include <string.h>

static qnnrt_llm_batch llm_batch(const int32_t *tokens, size_t count)
{
    qnnrt_llm_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.tokens = tokens;
    batch.count = count;
    return batch;
}

#endif /* LLM_BATCH_H */
