/* qnnrt_jni.c - the functions of Qnnrt.java, and the implementation of qnnrt.h and qnnrt_llm.h

   Java checks what it knows: closed objects, threads, kinds of buffers, nulls. This file checks the
   rest, and turns every qnnrt_error into a QnnrtException. It never calls back into the program,
   so what a listener throws does not pass through C.

   Strings cross the border as arrays of UTF-8, because the strings of JNI have an encoding of their
   own.

   Built by CMakeLists.txt for Android, and by tests/jni/test_jni.sh for the desk. Besides libc
   and libdl it needs liblog there.                                                               */
#define QNNRT_IMPLEMENTATION
#define QNNRT_DEVICE_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#define QNNRT_MANIFEST_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_jni.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __ANDROID__
#include <android/log.h>
#endif

#define JNI(type, name) QNNRT_JNI(Qnnrt, type, name)

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

/* Copy bytes into an array of Java. NULL: an OutOfMemoryError is pending. */
jbyteArray jni_array(JNIEnv *env, const char *bytes, size_t count)
{
    jbyteArray array = (*env)->NewByteArray(env, (jsize)count);
    if (array != NULL)
        (*env)->SetByteArrayRegion(env, array, 0, (jsize)count, (const jbyte *)bytes);
    return array;
}

/* Throw a QnnrtException. Like every exception of JNI, it is thrown when the C function returns. */
void jni_throw(JNIEnv *env, qnnrt_result code, uint64_t vendor_code, const char *text,
                       const char *hint)
{
    jbyteArray java_text = jni_array(env, text, strlen(text));
    jbyteArray java_hint = java_text != NULL ? jni_array(env, hint, strlen(hint)) : NULL;
    if (java_hint == NULL)
        return;
    jobject made = (*env)->CallStaticObjectMethod(env, java_class, java_make, (jint)code,
                                                  (jlong)vendor_code, java_text, java_hint);
    if (!(*env)->ExceptionCheck(env) && made != NULL)
        (*env)->Throw(env, (jthrowable)made);
}

void jni_throw_error(JNIEnv *env, const qnnrt_error *err)
{
    char text[sizeof(err->text) + 256];
    snprintf(text, sizeof(text), "%s%s%s", err->text, err->cause != NULL ? "\n  likely cause: " : "",
             err->cause != NULL ? err->cause : "");
    jni_throw(env, err->code, err->vendor_code, text, err->hint);
}

void jni_throw_memory(JNIEnv *env)
{
    jni_throw(env, QNNRT_E_MEMORY, 0, "an allocation failed", "");
}

/* Copy a text of Java, which may be NULL. Return 0 when an exception is pending. The caller frees
   *text. */
int jni_take_text(JNIEnv *env, jbyteArray bytes, char **text)
{
    *text = NULL;
    if (bytes == NULL)
        return 1;
    const jsize count = (*env)->GetArrayLength(env, bytes);
    *text = (char *)malloc((size_t)count + 1);
    if (*text == NULL) {
        jni_throw_memory(env);
        return 0;
    }
    (*env)->GetByteArrayRegion(env, bytes, 0, count, (jbyte *)*text);
    (*text)[count] = '\0';
    return 1;
}

JNI(jbyteArray, nativeVersion)(JNIEnv *env, jclass self)
{
    (void)self;
    return jni_array(env, qnnrt_version(), strlen(qnnrt_version()));
}

void jni_hooks(qnnrt_hooks *hooks)
{
    hooks->lock = lock;
    hooks->unlock = unlock;
    hooks->lock_user = &vendor_lock;
#ifdef __ANDROID__
    hooks->log = to_logcat;
#endif
}

void jni_host_functions(qnnrt_manifest_open_desc *desc)
{
    static const qnnrt_host_step look_up = { .name = "embedding", .exec = qnnrt_llm_embedding };
    desc->host_functions = &look_up;
    desc->host_function_count = 1;
}

/* ---- models ---------------------------------------------------------------------------------- */

JNI(jlong, nativeOpen)(JNIEnv *env, jclass self, jbyteArray folder, jbyteArray backend)
{
    char *path = NULL, *library = NULL;
    qnnrt_manifest *model = NULL;
    qnnrt_manifest_open_desc desc = {0};
    qnnrt_error err;
    (void)self;
    if (jni_take_text(env, folder, &path) && jni_take_text(env, backend, &library)) {
        jni_host_functions(&desc);
        desc.model.backend_desc.path = library;
        jni_hooks(&desc.model.backend_desc.hooks);
        if (qnnrt_manifest_open(path, &desc, &model, &err) != QNNRT_OK)
            jni_throw_error(env, &err);
    }
    free(path);
    free(library);
    return jni_handle(model);
}

/* A refusal of the vendor is not an error here: everything else is freed, and nobody can act on
   it. */
JNI(void, nativeClose)(JNIEnv *env, jclass self, jlong model)
{
    (void)self;
    if (qnnrt_manifest_close((qnnrt_manifest *)jni_object(model)) == QNNRT_E_BUSY)
        jni_throw(env, QNNRT_E_BUSY, 0, "the model is in use by a Run or Llm that is open",
                   "Close every Run and Llm of the model first.");
}

JNI(void, nativeRecover)(JNIEnv *env, jclass self, jlong model)
{
    qnnrt_error err;
    (void)self;
    if (qnnrt_manifest_recover((qnnrt_manifest *)jni_object(model), qnnrt_model_recover, &err) !=
        QNNRT_OK)
        jni_throw_error(env, &err);
}

/* Return the name of pipeline `index`, NULL after the last one. */
JNI(jbyteArray, nativePipeline)(JNIEnv *env, jclass self, jlong model, jint index)
{
    const qnnrt_manifest_info *info =
        qnnrt_manifest_get_info((const qnnrt_manifest *)jni_object(model));
    (void)self;
    if ((size_t)index >= info->pipeline_count)
        return NULL;
    const char *name = qnnrt_pipeline_get_info(info->pipelines[index])->name;
    return jni_array(env, name, strlen(name));
}

/* ---- runs ------------------------------------------------------------------------------------ */

JNI(jlong, nativePrepare)(JNIEnv *env, jclass self, jlong model, jbyteArray pipeline)
{
    char *name = NULL;
    qnnrt_run *run = NULL;
    qnnrt_error err;
    (void)self;
    if (!jni_take_text(env, pipeline, &name))
        return 0;
    if (qnnrt_manifest_prepare((qnnrt_manifest *)jni_object(model), name, NULL, &run, &err) !=
        QNNRT_OK)
        jni_throw_error(env, &err);
    else
        qnnrt_run_dynamic(run);            /* out of memory: exec says so */
    free(name);
    return jni_handle(run);
}

JNI(void, nativeDestroy)(JNIEnv *env, jclass self, jlong run)
{
    (void)env;
    (void)self;
    qnnrt_run_destroy((qnnrt_run *)jni_object(run));
}

/* Return name, role and text of slot `index`, separated by zero bytes; NULL after the last one.
   facts: slot, bytes, elements, rank, dims. */
JNI(jbyteArray, nativeTensor)(JNIEnv *env, jclass self, jlong run, jint index, jlongArray facts)
{
    const qnnrt_pipeline_info *pipeline =
        qnnrt_pipeline_get_info(qnnrt_run_pipeline((const qnnrt_run *)jni_object(run)));
    jlong numbers[4 + 32];
    char text[256];
    (void)self;
    if ((size_t)index >= pipeline->slot_count)
        return NULL;
    const qnnrt_slot *slot = &pipeline->slots[index];
    const qnnrt_tensor_info *tensor = slot->tensor;
    const char *role = qnnrt_role_name(slot->role);
    numbers[0] = jni_handle(slot);
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
        jni_throw_memory(env);
        return NULL;
    }
    memcpy(all, slot->address, name_bytes);
    memcpy(all + name_bytes, role, role_bytes);
    memcpy(all + name_bytes + role_bytes, text, strlen(text) + 1);
    jbyteArray array = jni_array(env, all, bytes);
    free(all);
    return array;
}

JNI(jlong, nativeSlot)(JNIEnv *env, jclass self, jlong handle, jbyteArray name)
{
    qnnrt_run *run = (qnnrt_run *)jni_object(handle);
    char *text = NULL;
    (void)self;
    if (!jni_take_text(env, name, &text))
        return 0;
    const qnnrt_slot *slot = qnnrt_run_slot(run, text);
    free(text);
    if (slot == NULL)
        jni_throw_error(env, qnnrt_run_error(run));
    return jni_handle(slot);
}

/* Bind a tensor to a direct buffer; with `fill`, copy what the tensor holds into it first. */
JNI(void, nativeBind)(JNIEnv *env, jclass self, jlong handle, jlong slot_handle, jobject memory,
                      jboolean fill)
{
    qnnrt_run *run = (qnnrt_run *)jni_object(handle);
    const qnnrt_slot *slot = (const qnnrt_slot *)jni_object(slot_handle);
    void *address = (*env)->GetDirectBufferAddress(env, memory);
    const jlong bytes = (*env)->GetDirectBufferCapacity(env, memory);
    (void)self;
    if (address == NULL || bytes < 0) {
        jni_throw(env, QNNRT_E_ARG, 0, "the virtual machine gives no address of the buffer", "");
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
        jni_throw_error(env, qnnrt_run_error(run));
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
        jni_throw_error(env, qnnrt_run_error(run));
}

JNI(void, nativeWrite)(JNIEnv *env, jclass self, jobject keep, jlong run, jlong slot,
                       jfloatArray values)
{
    (void)self;
    (void)keep;
    convert(env, (qnnrt_run *)jni_object(run), (const qnnrt_slot *)jni_object(slot), values, 1);
}

JNI(void, nativeRead)(JNIEnv *env, jclass self, jobject keep, jlong run, jlong slot,
                      jfloatArray values)
{
    (void)self;
    (void)keep;
    convert(env, (qnnrt_run *)jni_object(run), (const qnnrt_slot *)jni_object(slot), values, 0);
}

JNI(void, nativeExec)(JNIEnv *env, jclass self, jobject keep, jlong handle)
{
    qnnrt_run *run = (qnnrt_run *)jni_object(handle);
    (void)self;
    (void)keep;
    if (qnnrt_exec(run) != QNNRT_OK)
        jni_throw_error(env, qnnrt_run_error(run));
}
