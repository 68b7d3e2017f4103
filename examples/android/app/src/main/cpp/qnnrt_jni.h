/* qnnrt_jni.h - what the units of libqnnrt_jni.so share: errors, texts, handles

   Each class Qnnrt*.java has its unit qnnrt_jni*.c, Qnnrt.java two: _open.c and _run.c. qnnrt_jni.c has
   the implementation of the headers, and what is declared here.
   A function that throws makes the exception; it is thrown when the C function returns to Java.  */
#ifndef QNNRT_JNI_H
#define QNNRT_JNI_H

#include "qnnrt_device.h"
#include "qnnrt_profile.h"
#include "qnnrt_manifest.h"
#include "qnnrt_sha256.h"
#include "qnnrt_llm.h"

#include <jni.h>
#include <stdint.h>

/* QNNRT_JNI(Qnnrt, void, nativeExec)(...) defines Java_qnnrt_Qnnrt_nativeExec, which
   Qnnrt.nativeExec() calls. */
#define QNNRT_JNI(java, type, name) JNIEXPORT type JNICALL Java_qnnrt_##java##_##name

/* Dims of a tensor: no model opens with more, see qnnrt_limits.rank. */
enum { JNI_MOST_RANK = 32 };

/* What is found when the library is loaded: the virtual machine, Qnnrt.java and its functions that C
   calls. */
struct jni_java {
    JavaVM   *vm;
    jclass    type;
    jmethodID make, progressed, logged;
};
extern struct jni_java jni_java;

/* Throw a QnnrtException: of a text, of an error, of memory. */
void jni_throw(JNIEnv *env, qnnrt_result code, uint64_t vendor_code, const char *text,
               const char *hint);
void jni_throw_error(JNIEnv *env, const qnnrt_error *err);
void jni_throw_memory(JNIEnv *env);

/* Copy bytes into an array of Java. NULL: an OutOfMemoryError is pending. */
jbyteArray jni_array(JNIEnv *env, const char *bytes, size_t count);

/* Copy a text of Java, which may be NULL. Return 0 when an exception is pending. The caller frees
   *text. */
int jni_take_text(JNIEnv *env, jbyteArray bytes, char **text);

/* Set the one lock of all backends, and the log of Android; the functions that host steps call. */
void jni_hooks(qnnrt_hooks *hooks);
void jni_host_functions(qnnrt_manifest_open_desc *desc);

/* An opened Model: the program, and what must live as long. */
typedef struct jni_model jni_model;

/* Return the program of a Model's handle. */
qnnrt_manifest *jni_manifest(jlong model);

/* Write an event: its name, node and unit, with zero bytes between; facts: value, time, depth,
   step. Return NULL after the last one, or when an exception is pending. */
jbyteArray jni_event(JNIEnv *env, const qnnrt_profile_event *events, size_t count, jint index,
                     jdoubleArray facts);

/* Return one text or more as one array, with zero bytes between. NULL: an exception is pending. */
jbyteArray jni_texts(JNIEnv *env, const char *const *texts, size_t count);

/* Return the handle of an object, and the object of a handle. Handles are addresses that only the
   classes of Java see. */
static inline jlong jni_handle(const void *object)
{
    return (jlong)(intptr_t)object;
}

static inline void *jni_object(jlong handle)
{
    return (void *)(intptr_t)handle;
}

#endif
