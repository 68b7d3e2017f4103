/* qnnrt_jni.c - the functions of Qnnrt.java, and the implementation of qnnrt.h and qnnrt_llm.h

   Java checks what it knows: closed objects, threads, kinds of buffers, nulls. This file checks the
   rest, and turns every qnnrt_error into a QnnrtException. It never calls back into the program:
   Qnnrt.java has the loop that writes a text, so what a listener throws does not pass through C.

   Strings cross the border as arrays of UTF-8, because the strings of JNI have an encoding of their
   own. Handles are addresses that only Qnnrt.java sees.

   Built by CMakeLists.txt for Android, and by tests/jni/test_jni.sh for the desk. Besides libc and libdl
   it needs liblog there.                                                                        */
#define QNNRT_STATIC
#define QNNRT_IMPLEMENTATION
#define QNNRT_DEVICE_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#define QNNRT_MANIFEST_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_device.h"
#include "qnnrt_manifest.h"
#include "qnnrt_llm.h"

#include <jni.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __ANDROID__
#include <android/log.h>
#endif

/* JNI(void, nativeExec)(...) defines Java_qnnrt_Qnnrt_nativeExec, which Qnnrt.nativeExec() calls. */
#define JNI(type, name) JNIEXPORT type JNICALL Java_qnnrt_Qnnrt_##name

typedef struct jni_llm {
    qnnrt_llm            *llm;
    qnnrt_llm_session    *session;
    qnnrt_llm_cache      *cache;
    qnnrt_llm_sampler    *sampler;
    const qnnrt_llm_info *info;
    int32_t              *tokens;      /* [info->ar] of the current step */
    size_t                count;       /* of the last step */
} jni_llm;

/* The class of Qnnrt.java, and its function that makes exceptions; set when the library is loaded. */
static jclass    java_class;
static jmethodID java_make;

/* Several models may be used by several threads, and two releases of the x86-64 emulator compute
   wrong results when two threads are inside at once: one lock for all backends. */
static pthread_mutex_t vendor_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock(void *user)
{
    pthread_mutex_lock((pthread_mutex_t *)user);
}

static void unlock(void *user)
{
    pthread_mutex_unlock((pthread_mutex_t *)user);
}

#ifdef __ANDROID__
/* A log callback replaces the library's own output in logcat: write its lines there. */
static void to_logcat(void *user, qnnrt_log_level level, const char *part, uint64_t code,
                      const char *text)
{
    (void)user;
    (void)code;
    __android_log_write(level == QNNRT_LOG_ERROR ? ANDROID_LOG_ERROR
                        : level == QNNRT_LOG_WARN ? ANDROID_LOG_WARN : ANDROID_LOG_INFO,
                        part, text);
}
#endif

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
    void *env_address = NULL;
    (void)reserved;
    if ((*vm)->GetEnv(vm, &env_address, JNI_VERSION_1_6) != JNI_OK)
        return JNI_ERR;
    JNIEnv *env = (JNIEnv *)env_address;
    jclass found = (*env)->FindClass(env, "qnnrt/Qnnrt");
    if (found == NULL)
        return JNI_ERR;
    java_make = (*env)->GetStaticMethodID(env, found, "make",
                                          "(IJ[B[B)Lqnnrt/QnnrtException;");
    if (java_make == NULL)
        return JNI_ERR;
    java_class = (jclass)(*env)->NewGlobalRef(env, found);
    return java_class != NULL ? JNI_VERSION_1_6 : JNI_ERR;
}

/* ---- errors and texts ------------------------------------------------------------------------ */

/* Return the handle of an object, and the object of a handle. */
static jlong to_handle(const void *object)
{
    return (jlong)(intptr_t)object;
}

static void *to_object(jlong handle)
{
    return (void *)(intptr_t)handle;
}

/* Copy bytes into an array of Java. NULL: an OutOfMemoryError is pending. */
static jbyteArray to_array(JNIEnv *env, const char *bytes, size_t count)
{
    jbyteArray array = (*env)->NewByteArray(env, (jsize)count);
    if (array != NULL)
        (*env)->SetByteArrayRegion(env, array, 0, (jsize)count, (const jbyte *)bytes);
    return array;
}

/* Throw a QnnrtException. Like every exception of JNI, it is thrown when the C function returns. */
static void throw_text(JNIEnv *env, qnnrt_result code, uint64_t vendor_code, const char *text,
                       const char *hint)
{
    jbyteArray java_text = to_array(env, text, strlen(text));
    jbyteArray java_hint = java_text != NULL ? to_array(env, hint, strlen(hint)) : NULL;
    if (java_hint == NULL)
        return;
    jobject made = (*env)->CallStaticObjectMethod(env, java_class, java_make, (jint)code,
                                                  (jlong)vendor_code, java_text, java_hint);
    if (!(*env)->ExceptionCheck(env) && made != NULL)
        (*env)->Throw(env, (jthrowable)made);
}

static void throw_error(JNIEnv *env, const qnnrt_error *err)
{
    char text[sizeof(err->text) + 256];
    snprintf(text, sizeof(text), "%s%s%s", err->text, err->cause != NULL ? "\n  likely cause: " : "",
             err->cause != NULL ? err->cause : "");
    throw_text(env, err->code, err->vendor_code, text, err->hint);
}

static void throw_memory(JNIEnv *env)
{
    throw_text(env, QNNRT_E_MEMORY, 0, "an allocation failed", "");
}

/* Copy a text of Java, which may be NULL. Return 0 when an exception is pending. The caller frees
   *text. */
static int take_text(JNIEnv *env, jbyteArray bytes, char **text)
{
    *text = NULL;
    if (bytes == NULL)
        return 1;
    const jsize count = (*env)->GetArrayLength(env, bytes);
    *text = (char *)malloc((size_t)count + 1);
    if (*text == NULL) {
        throw_memory(env);
        return 0;
    }
    (*env)->GetByteArrayRegion(env, bytes, 0, count, (jbyte *)*text);
    (*text)[count] = '\0';
    return 1;
}

JNI(jbyteArray, nativeVersion)(JNIEnv *env, jclass self)
{
    (void)self;
    return to_array(env, qnnrt_version(), strlen(qnnrt_version()));
}

/* ---- models ---------------------------------------------------------------------------------- */

JNI(jlong, nativeOpen)(JNIEnv *env, jclass self, jbyteArray folder, jbyteArray backend)
{
    static const qnnrt_host_step look_up = { .name = "embedding", .exec = qnnrt_llm_embedding };
    char *path = NULL, *library = NULL;
    qnnrt_manifest *model = NULL;
    qnnrt_manifest_open_desc desc = {0};
    qnnrt_error err;
    (void)self;
    if (take_text(env, folder, &path) && take_text(env, backend, &library)) {
        desc.host_functions = &look_up;
        desc.host_function_count = 1;
        desc.model.backend_desc.path = library;
        desc.model.backend_desc.hooks.lock = lock;
        desc.model.backend_desc.hooks.unlock = unlock;
        desc.model.backend_desc.hooks.lock_user = &vendor_lock;
#ifdef __ANDROID__
        desc.model.backend_desc.hooks.log = to_logcat;
#endif
        if (qnnrt_manifest_open(path, &desc, &model, &err) != QNNRT_OK)
            throw_error(env, &err);
    }
    free(path);
    free(library);
    return to_handle(model);
}

/* A refusal of the vendor is not an error here: everything else is freed, and nobody can act on
   it. */
JNI(void, nativeClose)(JNIEnv *env, jclass self, jlong model)
{
    (void)self;
    if (qnnrt_manifest_close((qnnrt_manifest *)to_object(model)) == QNNRT_E_BUSY)
        throw_text(env, QNNRT_E_BUSY, 0, "the model is in use by a Run or Llm that is open",
                   "Close every Run and Llm of the model first.");
}

JNI(void, nativeRecover)(JNIEnv *env, jclass self, jlong model)
{
    qnnrt_error err;
    (void)self;
    if (qnnrt_manifest_recover((qnnrt_manifest *)to_object(model), qnnrt_model_recover, &err) !=
        QNNRT_OK)
        throw_error(env, &err);
}

/* Return the name of pipeline `index`, NULL after the last one. */
JNI(jbyteArray, nativePipeline)(JNIEnv *env, jclass self, jlong model, jint index)
{
    const qnnrt_manifest_info *info =
        qnnrt_manifest_get_info((const qnnrt_manifest *)to_object(model));
    (void)self;
    if ((size_t)index >= info->pipeline_count)
        return NULL;
    const char *name = qnnrt_pipeline_get_info(info->pipelines[index])->name;
    return to_array(env, name, strlen(name));
}

/* ---- runs ------------------------------------------------------------------------------------ */

JNI(jlong, nativePrepare)(JNIEnv *env, jclass self, jlong model, jbyteArray pipeline)
{
    char *name = NULL;
    qnnrt_run *run = NULL;
    qnnrt_error err;
    (void)self;
    if (!take_text(env, pipeline, &name))
        return 0;
    if (qnnrt_manifest_prepare((qnnrt_manifest *)to_object(model), name, NULL, &run, &err) !=
        QNNRT_OK)
        throw_error(env, &err);
    else
        qnnrt_run_dynamic(run);            /* out of memory: exec says so */
    free(name);
    return to_handle(run);
}

JNI(void, nativeDestroy)(JNIEnv *env, jclass self, jlong run)
{
    (void)env;
    (void)self;
    qnnrt_run_destroy((qnnrt_run *)to_object(run));
}

/* Return name, role and text of slot `index`, separated by zero bytes; NULL after the last one.
   facts: slot, bytes, elements, rank, dims. */
JNI(jbyteArray, nativeTensor)(JNIEnv *env, jclass self, jlong run, jint index, jlongArray facts)
{
    const qnnrt_pipeline_info *pipeline =
        qnnrt_pipeline_get_info(qnnrt_run_pipeline((const qnnrt_run *)to_object(run)));
    jlong numbers[4 + 32];
    char text[256];
    (void)self;
    if ((size_t)index >= pipeline->slot_count)
        return NULL;
    const qnnrt_slot *slot = &pipeline->slots[index];
    const qnnrt_tensor_info *tensor = slot->tensor;
    const char *role = qnnrt_role_name(slot->role);
    numbers[0] = to_handle(slot);
    numbers[1] = (jlong)tensor->bytes;
    numbers[2] = (jlong)tensor->count;
    numbers[3] = (jlong)tensor->rank;
    for (uint32_t i = 0; i < tensor->rank; ++i)         /* at most 32, see qnnrt_limits.rank */
        numbers[4 + i] = (jlong)tensor->dims[i];
    (*env)->SetLongArrayRegion(env, facts, 0, (jsize)(4 + tensor->rank), numbers);
    if ((*env)->ExceptionCheck(env))
        return NULL;
    qnnrt_tensor_text(tensor, text, sizeof(text));
    const size_t name_bytes = strlen(slot->address) + 1, role_bytes = strlen(role) + 1;
    const size_t bytes = name_bytes + role_bytes + strlen(text);
    char *all = (char *)malloc(bytes + 1);
    if (all == NULL) {
        throw_memory(env);
        return NULL;
    }
    memcpy(all, slot->address, name_bytes);
    memcpy(all + name_bytes, role, role_bytes);
    memcpy(all + name_bytes + role_bytes, text, strlen(text) + 1);
    jbyteArray array = to_array(env, all, bytes);
    free(all);
    return array;
}

JNI(jlong, nativeSlot)(JNIEnv *env, jclass self, jlong handle, jbyteArray name)
{
    qnnrt_run *run = (qnnrt_run *)to_object(handle);
    char *text = NULL;
    (void)self;
    if (!take_text(env, name, &text))
        return 0;
    const qnnrt_slot *slot = qnnrt_run_slot(run, text);
    free(text);
    if (slot == NULL)
        throw_error(env, qnnrt_run_error(run));
    return to_handle(slot);
}

/* Bind a tensor to a direct buffer; with `fill`, copy what the tensor holds into it first. */
JNI(void, nativeBind)(JNIEnv *env, jclass self, jlong handle, jlong slot_handle, jobject memory,
                      jboolean fill)
{
    qnnrt_run *run = (qnnrt_run *)to_object(handle);
    const qnnrt_slot *slot = (const qnnrt_slot *)to_object(slot_handle);
    void *address = (*env)->GetDirectBufferAddress(env, memory);
    const jlong bytes = (*env)->GetDirectBufferCapacity(env, memory);
    (void)self;
    if (address == NULL || bytes < 0) {
        throw_text(env, QNNRT_E_ARG, 0, "the virtual machine gives no address of the buffer", "");
        return;
    }
    if (fill && (uint64_t)bytes >= slot->tensor->bytes) {
        const void *from = qnnrt_data_slot(run, slot, NULL);
        if (from != NULL)
            memcpy(address, from, (size_t)slot->tensor->bytes);
    }
    if ((slot->role == QNNRT_ROLE_INPUT
             ? qnnrt_bind_input(run, slot, address, (size_t)bytes)
             : qnnrt_bind_output(run, slot, address, (size_t)bytes)) != QNNRT_OK)
        throw_error(env, qnnrt_run_error(run));
}

/* Convert between an array of Java and a tensor, without a copy in between: nothing in here waits or
   calls Java. */
static void convert(JNIEnv *env, qnnrt_run *run, const qnnrt_slot *slot, jfloatArray array,
                    int write)
{
    const size_t count = (size_t)(*env)->GetArrayLength(env, array);
    float *values = (float *)(*env)->GetPrimitiveArrayCritical(env, array, NULL);
    if (values == NULL)
        return;                                        /* an OutOfMemoryError is pending */
    const qnnrt_result result = write ? qnnrt_write_f32(run, slot, 0, values, count)
                                      : qnnrt_read_f32(run, slot, 0, values, count);
    (*env)->ReleasePrimitiveArrayCritical(env, array, values, write ? JNI_ABORT : 0);
    if (result != QNNRT_OK)
        throw_error(env, qnnrt_run_error(run));
}

JNI(void, nativeWrite)(JNIEnv *env, jclass self, jobject keep, jlong run, jlong slot,
                       jfloatArray values)
{
    (void)self;
    (void)keep;
    convert(env, (qnnrt_run *)to_object(run), (const qnnrt_slot *)to_object(slot), values, 1);
}

JNI(void, nativeRead)(JNIEnv *env, jclass self, jobject keep, jlong run, jlong slot,
                      jfloatArray values)
{
    (void)self;
    (void)keep;
    convert(env, (qnnrt_run *)to_object(run), (const qnnrt_slot *)to_object(slot), values, 0);
}

JNI(void, nativeExec)(JNIEnv *env, jclass self, jobject keep, jlong handle)
{
    qnnrt_run *run = (qnnrt_run *)to_object(handle);
    (void)self;
    (void)keep;
    if (qnnrt_exec(run) != QNNRT_OK)
        throw_error(env, qnnrt_run_error(run));
}

/* ---- language models ------------------------------------------------------------------------- */

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

/* Open what an Llm needs; on failure *l may be half open, and llm_close() frees it. */
static qnnrt_result llm_open(const qnnrt_manifest *model, jni_llm *l, qnnrt_error *err)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(model);
    qnnrt_llm_desc desc = {0};
    qnnrt_llm_sampler_desc greedy = {0};
    desc.folder = info->folder;
    desc.made = info->pipelines;
    desc.made_count = info->pipeline_count;
    desc.models = info->models;
    desc.model_count = info->model_count;
    qnnrt_result result = qnnrt_llm_open(NULL, &desc, &l->llm, err);
    if (result == QNNRT_OK)
        result = qnnrt_llm_session_create(&l->llm, 1, NULL, &l->session, err);
    if (result != QNNRT_OK)
        return result;
    l->info = qnnrt_llm_get_info(l->llm);
    l->cache = qnnrt_llm_cache_get(l->session, 0, 0);
    return qnnrt_llm_sampler_create(l->info->logits, &greedy, &l->sampler, err);
}

JNI(jlong, nativeLlmOpen)(JNIEnv *env, jclass self, jlong model)
{
    qnnrt_error err;
    jni_llm *l = (jni_llm *)calloc(1, sizeof(*l));
    (void)self;
    if (l == NULL) {
        throw_memory(env);
        return 0;
    }
    if (llm_open((const qnnrt_manifest *)to_object(model), l, &err) != QNNRT_OK) {
        throw_error(env, &err);
    } else {
        l->tokens = (int32_t *)malloc(l->info->ar * sizeof(*l->tokens));
        if (l->tokens != NULL)
            return to_handle(l);
        throw_memory(env);
    }
    llm_close(l);
    return 0;
}

JNI(void, nativeLlmClose)(JNIEnv *env, jclass self, jlong llm)
{
    (void)env;
    (void)self;
    llm_close((jni_llm *)to_object(llm));
}

/* facts: vocabulary, tokens per step, tokens of a text, begin token (-1: none). The last token of a
   text is written and not read, so it needs no cell. */
JNI(void, nativeLlmFacts)(JNIEnv *env, jclass self, jlong llm, jintArray facts)
{
    const qnnrt_llm_info *info = ((const jni_llm *)to_object(llm))->info;
    const uint32_t room = info->cells < info->context ? info->cells + 1 : info->context;
    const jint numbers[4] = {(jint)info->vocabulary, (jint)info->ar, (jint)room, (jint)info->bos};
    (void)self;
    (*env)->SetIntArrayRegion(env, facts, 0, 4, numbers);
}

JNI(void, nativeLlmSampling)(JNIEnv *env, jclass self, jlong llm, jfloat temperature, jint top_k,
                             jfloat top_p, jlong seed)
{
    jni_llm *l = (jni_llm *)to_object(llm);
    qnnrt_llm_sampler_desc how = {0};
    qnnrt_llm_sampler *sampler = NULL;
    qnnrt_error err;
    (void)self;
    how.temperature = temperature;
    how.top_k = (uint32_t)top_k;
    how.top_p = top_p;
    how.seed = (uint64_t)seed;
    if (qnnrt_llm_sampler_create(l->info->logits, &how, &sampler, &err) != QNNRT_OK) {
        throw_error(env, &err);
        return;
    }
    qnnrt_llm_sampler_destroy(l->sampler);
    l->sampler = sampler;
}

JNI(void, nativeLlmClear)(JNIEnv *env, jclass self, jlong llm)
{
    jni_llm *l = (jni_llm *)to_object(llm);
    (void)env;
    (void)self;
    qnnrt_llm_clear(l->cache);
    qnnrt_llm_sampler_reset(l->sampler);
}

/* Let the model read tokens, at most as many as one step takes. */
JNI(void, nativeLlmDecode)(JNIEnv *env, jclass self, jlong llm, jintArray tokens, jint from,
                           jint count)
{
    jni_llm *l = (jni_llm *)to_object(llm);
    qnnrt_llm_batch batch = {0};
    (void)self;
    if (count < 1 || (uint32_t)count > l->info->ar) {
        throw_text(env, QNNRT_E_ARG, 0, "a step takes another number of tokens", "");
        return;
    }
    (*env)->GetIntArrayRegion(env, tokens, from, count, (jint *)l->tokens);
    if ((*env)->ExceptionCheck(env))
        return;
    batch.tokens = l->tokens;
    batch.count = (size_t)count;
    if (qnnrt_llm_decode(l->cache, &batch) != QNNRT_OK) {
        throw_error(env, qnnrt_llm_error(l->cache));
        return;
    }
    for (jint i = 0; i < count; ++i)
        qnnrt_llm_sampler_accept(l->sampler, l->tokens[i]);
    l->count = (size_t)count;
}

/* Return the token that follows the last one that the model has read. */
JNI(jint, nativeLlmNext)(JNIEnv *env, jclass self, jlong llm)
{
    jni_llm *l = (jni_llm *)to_object(llm);
    (void)self;
    const void *codes = qnnrt_llm_stored_logits(l->cache, l->count - 1);
    if (codes == NULL) {
        throw_error(env, qnnrt_llm_error(l->cache));
        return -1;
    }
    const int32_t token = qnnrt_llm_sample(l->sampler, codes);
    if (token < 0)
        throw_text(env, QNNRT_E_BACKEND, 0, "the model returned NaN for all logits", "");
    return (jint)token;
}

JNI(jboolean, nativeLlmIsEos)(JNIEnv *env, jclass self, jlong llm, jint token)
{
    (void)env;
    (void)self;
    return qnnrt_llm_is_eos(((const jni_llm *)to_object(llm))->llm, (int32_t)token) ? JNI_TRUE
                                                                                  : JNI_FALSE;
}
