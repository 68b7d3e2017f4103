/* qnnrt_jni_llm.c - the functions of QnnrtLlm.java, over qnnrt_llm.h

   QnnrtLlm.java has the loop that writes a text: a call here is one step of the model.           */
#include "qnnrt_jni.h"

#include <stdlib.h>

#define JNI(type, name) QNNRT_JNI(QnnrtLlm, type, name)

typedef struct jni_llm {
    qnnrt_llm            *llm;
    qnnrt_llm_session    *session;
    qnnrt_llm_cache      *cache;
    qnnrt_llm_sampler    *sampler;
    const qnnrt_llm_info *info;
    int32_t              *tokens;      /* [info->ar] of the current step */
    size_t                count;       /* of the last step */
    int                   stop;        /* atomic: the call that runs is to end */
} jni_llm;

/* Called before each shard of a step. */
static int llm_go_on(void *user, const qnnrt_llm_progress *at)
{
    (void)at;
    return __atomic_load_n(&((jni_llm *)user)->stop, __ATOMIC_RELAXED);
}

static void llm_close(jni_llm *l)
{
    if (l == NULL)
        return;
    qnnrt_llm_sampler_destroy(l->sampler);
    qnnrt_llm_session_destroy(l->session);
    qnnrt_llm_close(l->llm);
    free(l->tokens);
    free(l);
}

/* Open what an Llm needs, in memory of the kind of a word; on failure *l may be half open, and
   llm_close() frees it. */
static qnnrt_result llm_open(const qnnrt_manifest *model, const char *memory, jni_llm *l,
                             qnnrt_error *err)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(model);
    qnnrt_llm_desc desc = {0};
    qnnrt_llm_sampler_desc greedy = {0};
    qnnrt_llm_session_desc how = {0};
    qnnrt_mem_desc chosen = {0};
    if (!qnnrt_device_memory(memory, &chosen))
        return qnnrt_error_set(err, QNNRT_E_ARG, "no memory has the name \"%s\"", memory);
    how.progress = llm_go_on;
    how.progress_user = l;
    how.mem_kind = chosen.kind;
    how.mem_provider = chosen.provider;
    desc.folder = info->folder;
    desc.made = info->pipelines;
    desc.made_count = info->pipeline_count;
    desc.models = info->models;
    desc.model_count = info->model_count;
    qnnrt_result result = qnnrt_llm_open(NULL, &desc, &l->llm, err);
    if (result == QNNRT_OK)
        result = qnnrt_llm_session_create(&l->llm, 1, &how, &l->session, err);
    if (result != QNNRT_OK)
        return result;
    l->info = qnnrt_llm_get_info(l->llm);
    l->cache = qnnrt_llm_cache_get(l->session, 0, 0);
    return qnnrt_llm_sampler_create(l->info->logits, &greedy, &l->sampler, err);
}

JNI(jlong, nativeOpen)(JNIEnv *env, jclass self, jlong model, jbyteArray memory)
{
    jni_llm *l = (jni_llm *)calloc(1, sizeof(*l));
    char *word = NULL;
    qnnrt_error err;
    (void)self;
    if (l == NULL) {
        jni_throw_memory(env);
        return 0;
    }
    if (jni_take_text(env, memory, &word)) {
        if (llm_open(jni_manifest(model), word, l, &err) != QNNRT_OK)
            jni_throw_error(env, &err);
        else if ((l->tokens = (int32_t *)malloc(l->info->ar * sizeof(*l->tokens))) == NULL)
            jni_throw_memory(env);
    }
    free(word);
    if (l->tokens == NULL) {
        llm_close(l);
        l = NULL;
    }
    return jni_handle(l);
}

/* Return what the memory is made of, and why it is not shared. */
JNI(jbyteArray, nativeMemory)(JNIEnv *env, jclass self, jlong llm)
{
    const qnnrt_llm_session_info info =
        qnnrt_llm_session_get_info(((const jni_llm *)jni_object(llm))->session);
    (void)self;
    const char *const texts[] = { info.mem_name, info.mem_reason, "" };
    return jni_texts(env, texts, 3);
}

JNI(void, nativeClose)(JNIEnv *env, jclass self, jlong llm)
{
    (void)env;
    (void)self;
    llm_close((jni_llm *)jni_object(llm));
}

/* facts: vocabulary, tokens per step, tokens of a text, begin token (-1: none). The last token of a
   text is written and not read, so it needs no cell. */
JNI(void, nativeFacts)(JNIEnv *env, jclass self, jlong llm, jintArray facts)
{
    const qnnrt_llm_info *info = ((const jni_llm *)jni_object(llm))->info;
    const uint32_t room = info->cells < info->context ? info->cells + 1 : info->context;
    const jint numbers[4] = {(jint)info->vocabulary, (jint)info->ar, (jint)room, (jint)info->bos};
    (void)self;
    (*env)->SetIntArrayRegion(env, facts, 0, 4, numbers);
}

JNI(void, nativeSampling)(JNIEnv *env, jclass self, jlong llm, jfloat temperature, jint top_k,
                             jfloat top_p, jlong seed)
{
    jni_llm *l = (jni_llm *)jni_object(llm);
    qnnrt_llm_sampler_desc how = {0};
    qnnrt_llm_sampler *sampler = NULL;
    qnnrt_error err;
    (void)self;
    how.temperature = temperature;
    how.top_k = (uint32_t)top_k;
    how.top_p = top_p;
    how.seed = (uint64_t)seed;
    if (qnnrt_llm_sampler_create(l->info->logits, &how, &sampler, &err) != QNNRT_OK) {
        jni_throw_error(env, &err);
        return;
    }
    qnnrt_llm_sampler_destroy(l->sampler);
    l->sampler = sampler;
}

JNI(void, nativeClear)(JNIEnv *env, jclass self, jlong llm)
{
    jni_llm *l = (jni_llm *)jni_object(llm);
    (void)env;
    (void)self;
    qnnrt_llm_clear(l->cache);
    qnnrt_llm_sampler_reset(l->sampler);
}

/* Ask the call that runs to end before its next shard, or forget that. Any thread; QnnrtLlm.java
   calls it while the handle is in use. */
JNI(void, nativeStop)(JNIEnv *env, jclass self, jlong llm, jboolean stop)
{
    (void)env;
    (void)self;
    __atomic_store_n(&((jni_llm *)jni_object(llm))->stop, stop ? 1 : 0, __ATOMIC_RELAXED);
}

/* Let the model read tokens, at most as many as one step takes. Return whether it did: not when it
   was stopped. */
JNI(jboolean, nativeDecode)(JNIEnv *env, jclass self, jlong llm, jintArray tokens, jint from,
                            jint count)
{
    jni_llm *l = (jni_llm *)jni_object(llm);
    qnnrt_llm_batch batch = {0};
    (void)self;
    if (count < 1 || (uint32_t)count > l->info->ar) {
        jni_throw(env, QNNRT_E_ARG, 0, "a step takes another number of tokens", "");
        return JNI_FALSE;
    }
    (*env)->GetIntArrayRegion(env, tokens, from, count, (jint *)l->tokens);
    if ((*env)->ExceptionCheck(env))
        return JNI_FALSE;
    batch.tokens = l->tokens;
    batch.count = (size_t)count;
    const qnnrt_result result = qnnrt_llm_decode(l->cache, &batch);
    if (result != QNNRT_OK) {
        if (result != QNNRT_E_CANCELLED)
            jni_throw_error(env, qnnrt_llm_error(l->cache));
        return JNI_FALSE;
    }
    for (jint i = 0; i < count; ++i)
        qnnrt_llm_sampler_accept(l->sampler, l->tokens[i]);
    l->count = (size_t)count;
    return JNI_TRUE;
}

/* Return the token that follows the last one that the model has read. */
JNI(jint, nativeNext)(JNIEnv *env, jclass self, jlong llm)
{
    jni_llm *l = (jni_llm *)jni_object(llm);
    (void)self;
    const void *codes = qnnrt_llm_stored_logits(l->cache, l->count - 1);
    if (codes == NULL) {
        jni_throw_error(env, qnnrt_llm_error(l->cache));
        return -1;
    }
    const int32_t token = qnnrt_llm_sample(l->sampler, codes);
    if (token < 0)
        jni_throw(env, QNNRT_E_BACKEND, 0, "the model returned NaN for all logits", "");
    return (jint)token;
}

JNI(jboolean, nativeIsEos)(JNIEnv *env, jclass self, jlong llm, jint token)
{
    (void)env;
    (void)self;
    return qnnrt_llm_is_eos(((const jni_llm *)jni_object(llm))->llm, (int32_t)token) ? JNI_TRUE
                                                                                  : JNI_FALSE;
}
