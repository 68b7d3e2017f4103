/* llm_ours.c - tools/qnnrt_llm.h as bench-llm measures it

       llm_ours LIBQNNHTP LIBQNNSYSTEM FOLDER PROMPT COUNT

   The loop that the header's first page shows: a batch is decoded, the most probable token is the
   next batch. Tokens are bytes. The program gives no description of the model; the header finds
   names, types and sizes. */
#define QNNRT_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_llm.h"

#include "llm_peer.h"

#include <unistd.h>

enum { MOST_TOKENS = 4096 };

int main(int argc, char **argv)
{
    const double begin = now_us();
    static int32_t tokens[MOST_TOKENS];
    static char text[MOST_TOKENS];
    qnnrt_desc desc = {0};
    qnnrt_llm_desc llm_desc = {0};
    qnnrt_llm_batch batch = {0};
    qnnrt_llm_session *session;
    qnnrt_llm_cache *cache;
    qnnrt_llm *llm;
    qnnrt *model;
    qnnrt_error err;
    double ready, done;
    size_t length, count, i;
    int32_t next;
    if (argc != 6) stop("usage", "llm_ours LIBQNNHTP LIBQNNSYSTEM FOLDER PROMPT COUNT");
    desc.backend_desc.path = argv[1];
    desc.system_path = argv[2];
    llm_desc.folder = argv[3];
    if (qnnrt_open(argv[3], &desc, &model, &err) != QNNRT_OK ||
        qnnrt_llm_open(model, &llm_desc, &llm, &err) != QNNRT_OK ||
        qnnrt_llm_session_create(&llm, 1, NULL, &session, &err) != QNNRT_OK)
        stop(argv[3], err.text);
    cache = qnnrt_llm_cache_get(session, 0, 0);
    ready = now_us();

    length = strlen(argv[4]);
    count = strtoul(argv[5], NULL, 10);
    if (length == 0 || length > MOST_TOKENS || count == 0 || count > MOST_TOKENS)
        stop(argv[4], "is not of a fit length");
    for (i = 0; i < length; ++i) tokens[i] = (unsigned char)argv[4][i];
    batch.tokens = tokens;
    batch.count = length;
    for (i = 0; ; ) {
        if (qnnrt_llm_decode(cache, &batch) != QNNRT_OK)
            stop("qnnrt_llm_decode", qnnrt_llm_error(cache)->text);
        next = qnnrt_llm_argmax(cache, batch.count - 1);
        text[i] = (char)next;
        if (++i == count) break;
        batch.tokens = &next;
        batch.count = 1;
    }
    done = now_us();
    report(ready - begin, done - ready, text, count);
    qnnrt_llm_session_destroy(session);
    qnnrt_llm_close(llm);
    qnnrt_close(model);
    _exit(0);
}
