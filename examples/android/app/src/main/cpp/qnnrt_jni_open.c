/* qnnrt_jni_open.c - the functions of Qnnrt.Options and Qnnrt.Model: opening a model, its log and its
   progress, recovery, power, residency

   Java makes an empty model, sets its options one by one, opens it, and closes it, also after a
   failure. C calls Java in two places: progress on the thread that opens, and log on any thread. Java
   catches what a listener of the log throws; what one of the progress throws ends the opening.    */
#include "qnnrt_jni.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __ANDROID__
#include <android/log.h>
#endif

#define JNI(type, name) QNNRT_JNI(Qnnrt, type, name)

enum { MOST_ROLES = 16, MOST_FILES = 256 };

struct jni_model {
    qnnrt_manifest          *manifest;     /* NULL: not open */
    qnnrt_manifest_open_desc desc;
    qnnrt_arena              arena;        /* of texts */
    qnnrt_manifest_role      roles[MOST_ROLES];
    qnnrt_file               files[MOST_FILES];
    struct { void *data; size_t bytes; } maps[MOST_FILES];
    size_t                   role_count, file_count, map_count;
    uint32_t                 profile_level, verify;
    uint64_t                 budget;
    uint32_t                 has_budget;
    qnnrt_profile           *profile;
    jobject                  log;          /* a global reference, or NULL */
    JNIEnv                  *env;          /* during opening */
    jobject                  progress;     /* during opening, or NULL */
};

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

static jni_model *model_of(jlong handle)
{
    return (jni_model *)jni_object(handle);
}

qnnrt_manifest *jni_manifest(jlong model)
{
    return model_of(model)->manifest;
}

/* ---- log and progress ------------------------------------------------------------------------ */

/* Pass a line to the listener of Java. A thread of the vendor becomes one of Java meanwhile; an
   exception that is pending stays pending. */
static void to_java(jobject log, qnnrt_log_level level, const char *part, uint64_t code,
                    const char *text)
{
    JavaVM *vm = jni_java.vm;
    void *address = NULL;
    JNIEnv *env = NULL;
    const int here = (*vm)->GetEnv(vm, &address, JNI_VERSION_1_6) == JNI_OK;
    if (here)
        env = (JNIEnv *)address;
    else if ((*vm)->AttachCurrentThreadAsDaemon(vm, (void *)&env, NULL) != JNI_OK)
        return;                                  /* jni.h of Android has another type for &env */
    jthrowable pending = (*env)->ExceptionOccurred(env);
    if (pending != NULL)
        (*env)->ExceptionClear(env);
    if ((*env)->PushLocalFrame(env, 4) == 0) {
        jbyteArray java_part = jni_array(env, part, strlen(part));
        jbyteArray java_text = java_part != NULL ? jni_array(env, text, strlen(text)) : NULL;
        if (java_text != NULL)
            (*env)->CallStaticVoidMethod(env, jni_java.type, jni_java.logged, log, (jint)level,
                                         java_part, (jlong)code, java_text);
        if ((*env)->ExceptionCheck(env))
            (*env)->ExceptionClear(env);
        (*env)->PopLocalFrame(env, NULL);
    }
    if (pending != NULL) {
        (*env)->Throw(env, pending);
        (*env)->DeleteLocalRef(env, pending);    /* a call may log many lines */
    }
    if (!here)
        (*vm)->DetachCurrentThread(vm);
}

/* A log callback replaces the library's own output in logcat: write its lines there, too. */
static void on_log(void *user, qnnrt_log_level level, const char *part, uint64_t code,
                   const char *text)
{
    const jni_model *m = (const jni_model *)user;       /* NULL: there is none */
    const qnnrt_log_level most = m != NULL ? m->desc.model.backend_desc.log_level
                                           : QNNRT_LOG_DEFAULT;
    if (level > (most != QNNRT_LOG_DEFAULT ? most : QNNRT_LOG_INFO))
        return;
#ifdef __ANDROID__
    static const int priorities[] = { ANDROID_LOG_WARN, ANDROID_LOG_ERROR, ANDROID_LOG_WARN,
                                      ANDROID_LOG_INFO, ANDROID_LOG_VERBOSE, ANDROID_LOG_DEBUG };
    __android_log_write((unsigned)level < 6 ? priorities[level] : ANDROID_LOG_INFO, part, text);
#endif
    if (m != NULL && m->log != NULL)
        to_java(m->log, level, part, code, text);
}

static int on_progress(void *user, size_t done, size_t count, const char *file)
{
    const jni_model *m = (const jni_model *)user;
    JNIEnv *env = m->env;
    if ((*env)->ExceptionCheck(env))
        return 0;
    jbyteArray name = jni_array(env, file, strlen(file));
    if (name == NULL)
        return 0;
    const jboolean more = (*env)->CallStaticBooleanMethod(
        env, jni_java.type, jni_java.progressed, m->progress, (jint)done, (jint)count, name);
    (*env)->DeleteLocalRef(env, name);
    return more && !(*env)->ExceptionCheck(env);
}

void jni_hooks(qnnrt_hooks *hooks)
{
    hooks->lock = lock;
    hooks->unlock = unlock;
    hooks->lock_user = &vendor_lock;
    hooks->log = on_log;
}

void jni_host_functions(qnnrt_manifest_open_desc *desc)
{
    static const qnnrt_host_step look_up = { .name = "embedding", .exec = qnnrt_llm_embedding };
    desc->host_functions = &look_up;
    desc->host_function_count = 1;
}

/* ---- options --------------------------------------------------------------------------------- */

JNI(jlong, nativeNew)(JNIEnv *env, jclass self, jobject log)
{
    jni_model *m = (jni_model *)calloc(1, sizeof(*m));
    (void)self;
    if (m == NULL) {
        jni_throw_memory(env);
        return 0;
    }
    jni_hooks(&m->desc.model.backend_desc.hooks);
    m->desc.model.backend_desc.hooks.log_user = m;
    if (log != NULL)
        m->log = (*env)->NewGlobalRef(env, log);
    return jni_handle(m);
}

/* Copy a text of Java, which may be NULL, into the model. Return 0 when an exception is pending. */
static int keep_text(JNIEnv *env, jni_model *m, jbyteArray bytes, const char **text)
{
    char *taken;
    *text = NULL;
    if (bytes == NULL)
        return 1;
    if (!jni_take_text(env, bytes, &taken))
        return 0;
    *text = qnnrt_arena_text(&m->arena, taken, strlen(taken));
    free(taken);
    if (*text == NULL)
        jni_throw_memory(env);
    return *text != NULL;
}

/* Options that are numbers, by the names that Qnnrt.java gives them. */
#define AT(name, member) { name, offsetof(jni_model, member), sizeof(((jni_model *)0)->member) }
#define LIMIT(member) AT("limit " #member, desc.model.limits.member)
static const struct { const char *name; size_t offset, bytes; } number_options[] = {
    AT("soc_model", desc.model.backend_desc.soc_model),
    AT("log_level", desc.model.backend_desc.log_level),
    AT("power", desc.model.backend_desc.power),
    AT("metadata", desc.model.metadata),
    AT("keep_going", desc.model.keep_going),
    AT("read", desc.model.read),
    AT("no_manifest", desc.model.no_manifest),
    AT("profile", profile_level),
    AT("verify", verify),
    AT("budget", budget),
    AT("has_budget", has_budget),
    LIMIT(file_bytes), LIMIT(arena_bytes), LIMIT(files), LIMIT(tensors), LIMIT(name_bytes), LIMIT(rank),
    LIMIT(json_bytes), LIMIT(scales), LIMIT(entries), LIMIT(places), LIMIT(steps), LIMIT(looks)
};
#undef AT
#undef LIMIT

JNI(void, nativeNumber)(JNIEnv *env, jclass self, jlong model, jbyteArray name, jlong value)
{
    const size_t count = sizeof(number_options) / sizeof(number_options[0]);
    const uint64_t wide = (uint64_t)value;
    const uint32_t narrow = (uint32_t)wide;
    char *text;
    size_t i = 0;
    (void)self;
    if (!jni_take_text(env, name, &text))
        return;
    while (i < count && strcmp(text, number_options[i].name) != 0)
        ++i;
    free(text);
    if (i == count)
        jni_throw(env, QNNRT_E_NOT_FOUND, 0, "no limit has this name",
                  "Take a name of a field of qnnrt_limits.");
    else if (number_options[i].bytes == sizeof(wide))
        memcpy((char *)model_of(model) + number_options[i].offset, &wide, sizeof(wide));
    else if (wide == narrow)
        memcpy((char *)model_of(model) + number_options[i].offset, &narrow, sizeof(narrow));
    else
        jni_throw(env, QNNRT_E_ARG, 0, "a number of an option has more than 32 bits", "");
}

/* Set the backend of a role; role NULL: of the first context. */
JNI(void, nativeBackend)(JNIEnv *env, jclass self, jlong model, jbyteArray role, jbyteArray path,
                         jbyteArray system)
{
    jni_model *m = model_of(model);
    (void)self;
    if (role == NULL) {
        if (keep_text(env, m, path, &m->desc.model.backend_desc.path))
            keep_text(env, m, system, &m->desc.model.system_path);
        return;
    }
    if (m->role_count == MOST_ROLES) {
        jni_throw(env, QNNRT_E_LIMIT, 0, "more than 16 roles", "");
        return;
    }
    qnnrt_manifest_role *one = &m->roles[m->role_count++];
    if (keep_text(env, m, role, &one->role))
        keep_text(env, m, path, &one->desc.path);
}

/* Map a part of a descriptor, or all from offset on with bytes < 0. Return 0 when an exception is
   pending. */
static int map_file(JNIEnv *env, jni_model *m, qnnrt_file *file, int fd, int64_t offset,
                    int64_t bytes)
{
    static const char keep_open[] = "Keep the descriptor open until the Model is made.";
    const int64_t page = (int64_t)sysconf(_SC_PAGESIZE);
    struct stat facts;
    qnnrt_error err;
    void *data = MAP_FAILED;
    qnnrt_error_clear(&err);
    if (fstat(fd, &facts) != 0) {
        qnnrt_error_set(&err, QNNRT_E_IO, "%s: descriptor %d: %s", file->name, fd, strerror(errno));
        qnnrt_error_hint(&err, QNNRT_E_IO, "%s", keep_open);
    } else if (!S_ISREG(facts.st_mode)) {
        qnnrt_error_set(&err, QNNRT_E_IO, "%s: descriptor %d is not of a regular file", file->name,
                        fd);
        qnnrt_error_hint(&err, QNNRT_E_IO, "Copy what it gives to a file of the app.");
    } else {
        const int64_t size = (int64_t)facts.st_size;
        if (offset >= 0 && offset <= size && bytes < 0)
            bytes = size - offset;
        if (offset < 0 || offset > size || bytes <= 0 || bytes > size - offset) {
            qnnrt_error_set(&err, QNNRT_E_IO, "%s: descriptor %d has %lld bytes, so there are no"
                            " %lld from %lld on", file->name, fd, (long long)size,
                            (long long)bytes, (long long)offset);
            qnnrt_error_hint(&err, QNNRT_E_IO, "Give the place and the size of the binary in the"
                             " file, and check that the file is whole.");
        } else {
            const int64_t lead = offset % page;
            data = mmap(NULL, (size_t)(bytes + lead), PROT_READ, MAP_PRIVATE, fd,
                        (off_t)(offset - lead));
            if (data == MAP_FAILED) {
                qnnrt_error_set(&err, QNNRT_E_IO, "%s: descriptor %d cannot be mapped: %s",
                                file->name, fd, strerror(errno));
                qnnrt_error_hint(&err, QNNRT_E_IO, "Open it for reading.");
            } else {
                m->maps[m->map_count].data = data;
                m->maps[m->map_count++].bytes = (size_t)(bytes + lead);
                file->data = (const char *)data + lead;
                file->bytes = (size_t)bytes;
            }
        }
    }
    if (data == MAP_FAILED)
        jni_throw_error(env, &err);
    return data != MAP_FAILED;
}

/* Add a file: a path, memory, or a part of a descriptor. */
JNI(void, nativeFile)(JNIEnv *env, jclass self, jlong model, jbyteArray name, jobject memory,
                      jint fd, jlong offset, jlong bytes)
{
    jni_model *m = model_of(model);
    (void)self;
    if (m->file_count == MOST_FILES) {
        jni_throw(env, QNNRT_E_LIMIT, 0, "more than 256 files", "");
        return;
    }
    qnnrt_file *file = &m->files[m->file_count];
    if (!keep_text(env, m, name, &file->name))
        return;
    file->path = file->name;
    if (memory != NULL) {
        file->data = (*env)->GetDirectBufferAddress(env, memory);
        file->bytes = (size_t)(*env)->GetDirectBufferCapacity(env, memory);
    } else if (fd >= 0 && !map_file(env, m, file, fd, offset, bytes))
        return;
    ++m->file_count;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Load contexts whose files are memory. The model was opened without them, because only then it may
   load them again when it recovers. */
static qnnrt_result load_all(jni_model *m, qnnrt_error *err)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(m->manifest);
    for (size_t i = 0; i <= info->context_count; ++i) {
        const qnnrt_manifest_context *one = i < info->context_count ? &info->contexts[i] : NULL;
        if (m->progress != NULL && !on_progress(m, i, info->context_count,
                                                one != NULL ? one->file : ""))
            return qnnrt_error_set(err, QNNRT_E_CANCELLED, "the progress ended the opening");
        if (one != NULL && one->model != NULL && one->failure == NULL) {
            const qnnrt_result result = qnnrt_context_load(one->model, one->context, err);
            if (result != QNNRT_OK)
                return result;
        }
    }
    return QNNRT_OK;
}

static qnnrt_result set_budget(jni_model *m, uint64_t bytes, qnnrt_error *err)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(m->manifest);
    qnnrt_result result = QNNRT_OK;
    for (size_t i = 0; i < info->model_count && result == QNNRT_OK; ++i)
        result = qnnrt_model_swap(info->models[i], bytes, err);
    return result;
}

static qnnrt_result open_model(jni_model *m, const char *folder, qnnrt_error *err)
{
    qnnrt_desc *desc = &m->desc.model;
    int memory = 0;                                     /* a file of several may be in memory */
    for (size_t i = 0; i < m->file_count; ++i)
        memory |= m->files[i].data != NULL;
    if (desc->limits.rank > JNI_MOST_RANK)
        return qnnrt_error_set(err, QNNRT_E_LIMIT, "limits.rank is %u, and Qnnrt.java takes %d at most",
                               (unsigned)desc->limits.rank, JNI_MOST_RANK);
    jni_host_functions(&m->desc);
    m->desc.backends = m->role_count > 0 ? m->roles : NULL;
    m->desc.backend_count = m->role_count;
    desc->files = folder == NULL ? m->files : NULL;
    desc->file_count = m->file_count;
    if (m->verify)
        m->desc.sha256 = qnnrt_sha256_text;
    if (m->has_budget || memory)
        desc->residency = QNNRT_RESIDENT_CALLER;
    if (m->progress != NULL && (m->has_budget || !memory)) {
        desc->progress = on_progress;
        desc->progress_user = m;
    }
    if (m->profile_level != 0) {
        const qnnrt_result made = qnnrt_profile_create((qnnrt_profile_level)m->profile_level, NULL,
                                                       &m->profile, err);
        if (made != QNNRT_OK)
            return made;
        desc->context_hooks = qnnrt_profile_hook(m->profile);
    }
    qnnrt_result result = qnnrt_manifest_open(folder, &m->desc, &m->manifest, err);
    if (result == QNNRT_OK && m->has_budget)
        result = set_budget(m, m->budget, err);
    else if (result == QNNRT_OK && memory)
        result = load_all(m, err);
    return result;
}

JNI(void, nativeOpen)(JNIEnv *env, jclass self, jlong model, jbyteArray folder, jobject progress)
{
    jni_model *m = model_of(model);
    char *path = NULL;
    qnnrt_error err;
    (void)self;
    if (!jni_take_text(env, folder, &path))
        return;
    m->env = env;
    m->progress = progress;
    if (open_model(m, path, &err) != QNNRT_OK && !(*env)->ExceptionCheck(env))
        jni_throw_error(env, &err);
    m->env = NULL;
    m->progress = NULL;
    free(path);
}

/* A refusal of the vendor is not an error here: everything else is freed, and nobody can act on
   it. */
JNI(void, nativeClose)(JNIEnv *env, jclass self, jlong model)
{
    jni_model *m = model_of(model);
    (void)self;
    if (qnnrt_manifest_close(m->manifest) == QNNRT_E_BUSY) {
        jni_throw(env, QNNRT_E_BUSY, 0, "the model is in use by a Run or QnnrtLlm that is open",
                  "Close every Run and QnnrtLlm of the model first.");
        return;
    }
    qnnrt_profile_destroy(m->profile);
    for (size_t i = 0; i < m->map_count; ++i)
        munmap(m->maps[i].data, m->maps[i].bytes);
    if (m->log != NULL)
        (*env)->DeleteGlobalRef(env, m->log);
    qnnrt_arena_free(&m->arena);
    free(m);
}

/* ---- open models ----------------------------------------------------------------------------- */

JNI(void, nativeRecover)(JNIEnv *env, jclass self, jlong model)
{
    qnnrt_error err;
    (void)self;
    if (qnnrt_manifest_recover(jni_manifest(model), qnnrt_model_recover, &err) != QNNRT_OK)
        jni_throw_error(env, &err);
}

JNI(void, nativeBudget)(JNIEnv *env, jclass self, jlong model, jlong bytes)
{
    qnnrt_error err;
    (void)self;
    if (set_budget(model_of(model), (uint64_t)bytes, &err) != QNNRT_OK)
        jni_throw_error(env, &err);
}

/* Return the name of pipeline `index`, NULL after the last one. */
JNI(jbyteArray, nativePipeline)(JNIEnv *env, jclass self, jlong model, jint index)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(jni_manifest(model));
    (void)self;
    if ((size_t)index >= info->pipeline_count)
        return NULL;
    const char *name = qnnrt_pipeline_get_info(info->pipelines[index])->name;
    return jni_array(env, name, strlen(name));
}

/* Return file, role and failure of context `index`, NULL after the last one. facts: bytes on the
   device, 1 if it is loaded. */
JNI(jbyteArray, nativeContext)(JNIEnv *env, jclass self, jlong model, jint index, jlongArray facts)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(jni_manifest(model));
    (void)self;
    if ((size_t)index >= info->context_count)
        return NULL;
    const qnnrt_manifest_context *one = &info->contexts[index];
    const jlong numbers[2] = { (jlong)one->info->device_bytes, one->info->handle != NULL };
    (*env)->SetLongArrayRegion(env, facts, 0, 2, numbers);
    if ((*env)->ExceptionCheck(env))
        return NULL;
    const char *const texts[] = { one->file, one->role,
                                  one->failure != NULL ? one->failure->text : "" };
    return jni_texts(env, texts, 3);
}

/* Vote on each backend of the model; level 0: take the votes back. Return lines such as "dcvs:
   applied". */
JNI(jbyteArray, nativePower)(JNIEnv *env, jclass self, jlong model, jint preset)
{
    static const char *const answers[] = { "not asked", "applied", "refused", "not available" };
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(jni_manifest(model));
    qnnrt_power_desc desc = {0};
    char text[2048] = "";
    qnnrt_error err;
    (void)self;
    desc.preset = (qnnrt_power_preset)preset;
    for (size_t i = 0; i < info->model_count; ++i) {
        qnnrt_backend *backend = qnnrt_get_info(info->models[i])->backend;
        qnnrt_power_report report = {0};
        if (qnnrt_power_set(backend, preset != 0 ? &desc : NULL, &report, &err) != QNNRT_OK) {
            jni_throw_error(env, &err);
            return NULL;
        }
        for (size_t k = 0; k < QNNRT_POWER_SETTINGS && preset != 0; ++k)
            qnnrt_text_append(text, sizeof(text), "%s%s: %s", text[0] != '\0' ? "\n" : "",
                              report.settings[k].name, answers[report.settings[k].answer & 3]);
    }
    return jni_array(env, text, strlen(text));
}

JNI(jbyteArray, nativeLoadEvent)(JNIEnv *env, jclass self, jlong model, jint index,
                                 jdoubleArray facts)
{
    const qnnrt_profile_event *events = NULL;
    size_t count = 0;
    (void)self;
    if (model_of(model)->profile != NULL)
        qnnrt_profile_events(model_of(model)->profile, &events, &count);
    return jni_event(env, events, count, index, facts);
}
