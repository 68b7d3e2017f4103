/* probe.c - what tests/jni/JniTest.java cannot see from Java: the memory that libqnnrt_jni.so
   allocates, addresses, and the reference backend's own accounts

   The library under test is linked with --wrap for the four functions below, so that they count its
   blocks and those of no other library, and fail when the test says so.                         */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <jni.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <time.h>

static long live, made;                /* blocks: not freed yet, and ever allocated */
static long until;                     /* allocations until one fails; 0: none fails */

/* True for the allocation that fails. */
static int fails(void)
{
    return __atomic_load_n(&until, __ATOMIC_RELAXED) > 0 &&
           __atomic_sub_fetch(&until, 1, __ATOMIC_RELAXED) == 0;
}

static void *count(void *data)
{
    if (data != NULL) {
        __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    }
    return data;
}

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t items, size_t bytes);
void *__wrap_realloc(void *data, size_t bytes);
void  __wrap_free(void *data);

JNIEXPORT void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : count(malloc(bytes));
}

JNIEXPORT void *__wrap_calloc(size_t items, size_t bytes)
{
    return fails() ? NULL : count(calloc(items, bytes));
}

JNIEXPORT void *__wrap_realloc(void *data, size_t bytes)
{
    void *moved = fails() ? NULL : realloc(data, bytes);
    return data == NULL ? count(moved) : moved;
}

JNIEXPORT void __wrap_free(void *data)
{
    if (data != NULL)
        __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
    free(data);
}

/* Return the number of blocks that are not freed yet, or of all blocks so far. */
JNIEXPORT jlong JNICALL Java_JniTest_blocks(JNIEnv *env, jclass self, jboolean all)
{
    (void)env;
    (void)self;
    return __atomic_load_n(all ? &made : &live, __ATOMIC_RELAXED);
}

/* Let allocation number `which` from now on fail; 0: none. */
JNIEXPORT void JNICALL Java_JniTest_fail(JNIEnv *env, jclass self, jlong which)
{
    (void)env;
    (void)self;
    __atomic_store_n(&until, (long)which, __ATOMIC_RELAXED);
}

/* Let the files of this thread be opened by a user, whom root's rights do not help. */
JNIEXPORT void JNICALL Java_JniTest_user(JNIEnv *env, jclass self, jint user)
{
    (void)env;
    (void)self;
    setfsuid((uid_t)user);
}

/* Let no file of this process grow beyond so many bytes; below 0: any. Return 0 if that works. */
JNIEXPORT jint JNICALL Java_JniTest_most(JNIEnv *env, jclass self, jlong bytes)
{
    struct rlimit limit;
    (void)env;
    (void)self;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    limit.rlim_cur = bytes < 0 ? limit.rlim_max : (rlim_t)bytes;
    return setrlimit(RLIMIT_FSIZE, &limit);
}

/* Return the address of a direct buffer. */
JNIEXPORT jlong JNICALL Java_JniTest_address(JNIEnv *env, jclass self, jobject buffer)
{
    (void)self;
    return (jlong)(size_t)(*env)->GetDirectBufferAddress(env, buffer);
}

/* Give QnnRef_control() of a loaded libQnnRef.so a command, and return its answer. */
JNIEXPORT jstring JNICALL Java_JniTest_control(JNIEnv *env, jclass self, jstring library,
                                               jstring command)
{
    char path[1024], words[1024], answer[4096] = "no libQnnRef.so is loaded";
    int (*control)(const char *, char *, size_t) = NULL;
    (void)self;
    (*env)->GetStringUTFRegion(env, library, 0, (*env)->GetStringLength(env, library), path);
    path[(*env)->GetStringUTFLength(env, library)] = '\0';
    (*env)->GetStringUTFRegion(env, command, 0, (*env)->GetStringLength(env, command), words);
    words[(*env)->GetStringUTFLength(env, command)] = '\0';
    void *loaded = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    void *symbol = loaded != NULL ? dlsym(loaded, "QnnRef_control") : NULL;
    memcpy(&control, &symbol, sizeof(control));
    if (control != NULL && control(words, answer, sizeof(answer)) < 0)
        return (*env)->NewStringUTF(env, "refused");
    if (loaded != NULL)
        dlclose(loaded);
    return (*env)->NewStringUTF(env, answer);
}

/* Execute a run from C, by the function that Qnnrt.java calls in the loaded libqnnrt_jni.so; return the
   nanoseconds. */
JNIEXPORT jlong JNICALL Java_JniTest_execs(JNIEnv *env, jclass self, jstring library, jlong run,
                                           jint count)
{
    char path[1024];
    struct timespec begin, end;
    void (*exec)(JNIEnv *, jclass, jobject, jlong) = NULL;
    (*env)->GetStringUTFRegion(env, library, 0, (*env)->GetStringLength(env, library), path);
    path[(*env)->GetStringUTFLength(env, library)] = '\0';
    void *loaded = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    void *symbol = loaded != NULL ? dlsym(loaded, "Java_qnnrt_Qnnrt_nativeExec") : NULL;
    if (symbol == NULL)
        return -1;
    memcpy(&exec, &symbol, sizeof(exec));
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (jint i = 0; i < count; ++i)
        exec(env, self, NULL, run);
    clock_gettime(CLOCK_MONOTONIC, &end);
    dlclose(loaded);
    return (jlong)(end.tv_sec - begin.tv_sec) * 1000000000 + (end.tv_nsec - begin.tv_nsec);
}
