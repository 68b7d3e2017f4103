/* qnnrt_jni.c - what all units of libqnnrt_jni.so share, and the implementation of the headers

   Java checks what it knows: closed objects, threads, kinds of buffers, nulls. C checks the rest, and
   turns every qnnrt_error into a QnnrtException. Errors and texts are here; models are opened by
   qnnrt_jni_open.c, and qnnrt_jni_run.c has runs and their memory.

   Strings cross the border as arrays of UTF-8, because the strings of JNI have an encoding of their
   own.

   Built by CMakeLists.txt for Android, and by tests/jni/test_jni.sh for the desk. Besides libc
   and libdl it needs liblog there.                                                               */
#define QNNRT_IMPLEMENTATION
#define QNNRT_DEVICE_IMPLEMENTATION
#define QNNRT_PROFILE_IMPLEMENTATION
#define QNNRT_SHA256_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#define QNNRT_MANIFEST_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_jni.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JNI(type, name) QNNRT_JNI(Qnnrt, type, name)

struct jni_java jni_java;

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
    jni_java.vm = vm;
    jni_java.make = (*env)->GetStaticMethodID(env, found, "make", "(IJ[B[B)Lqnnrt/QnnrtException;");
    jni_java.progressed = (*env)->GetStaticMethodID(env, found, "progressed",
                                                    "(Ljava/lang/Object;II[B)Z");
    jni_java.logged = (*env)->GetStaticMethodID(env, found, "logged", "(Ljava/lang/Object;I[BJ[B)V");
    if (jni_java.make == NULL || jni_java.progressed == NULL || jni_java.logged == NULL)
        return JNI_ERR;
    jni_java.type = (jclass)(*env)->NewGlobalRef(env, found);
    return jni_java.type != NULL ? JNI_VERSION_1_6 : JNI_ERR;
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
    jobject made = (*env)->CallStaticObjectMethod(env, jni_java.type, jni_java.make, (jint)code,
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

jbyteArray jni_texts(JNIEnv *env, const char *const *texts, size_t count)
{
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < count; ++i)
        bytes += strlen(texts[i]) + 1;
    char *all = (char *)malloc(bytes);
    if (all == NULL) {
        jni_throw_memory(env);
        return NULL;
    }
    for (size_t i = 0; i < count; ++i) {
        memcpy(all + at, texts[i], strlen(texts[i]) + 1);
        at += strlen(texts[i]) + 1;
    }
    jbyteArray array = jni_array(env, all, bytes - 1);
    free(all);
    return array;
}

jbyteArray jni_event(JNIEnv *env, const qnnrt_profile_event *events, size_t count, jint index,
                     jdoubleArray facts)
{
    if ((size_t)index >= count)
        return NULL;
    const qnnrt_profile_event *event = &events[index];
    const jdouble numbers[4] = { event->value, (double)event->time, (double)event->depth,
                                 (double)event->step };
    (*env)->SetDoubleArrayRegion(env, facts, 0, 4, numbers);
    if ((*env)->ExceptionCheck(env))
        return NULL;
    const char *const texts[] = { event->name, event->node, event->unit_name };
    return jni_texts(env, texts, 3);
}

JNI(jbyteArray, nativeVersion)(JNIEnv *env, jclass self)
{
    (void)self;
    return jni_array(env, qnnrt_version(), strlen(qnnrt_version()));
}
