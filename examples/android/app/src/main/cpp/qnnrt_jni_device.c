/* qnnrt_jni_device.c - the functions of QnnrtDevice.java: what a phone and its libraries are, and
   what a folder is for. Texts are returned as one array, separated by zero bytes. */
#include "qnnrt_jni.h"

#include <stdlib.h>

#define JNI(type, name) QNNRT_JNI(QnnrtDevice, type, name)

/* Return texts in one array, and numbers in another. NULL: an exception is pending. */
static jbyteArray answer(JNIEnv *env, const char *const *texts, size_t text_count,
                         jlongArray facts, const jlong *numbers, jsize number_count)
{
    (*env)->SetLongArrayRegion(env, facts, 0, number_count, numbers);
    return (*env)->ExceptionCheck(env) ? NULL : jni_texts(env, texts, text_count);
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

JNI(jbyteArray, nativeLook)(JNIEnv *env, jclass self, jbyteArray root, jlongArray facts)
{
    qnnrt_device_facts found;
    char *folder = NULL;
    (void)self;
    if (!jni_take_text(env, root, &folder))
        return NULL;
    qnnrt_device_look(folder, &found);
    free(folder);
    const qnnrt_device_chip *chip = found.chip;
    const char *const texts[] = {
        chip != NULL ? chip->name : "", chip != NULL ? chip->sold : "", or_empty(found.node),
        or_empty(found.node_closed), or_empty(found.transport)
    };
    const jlong numbers[] = {
        (jlong)found.soc_id, chip != NULL ? (jlong)chip->arch : 0,
        chip != NULL ? (jlong)chip->vtcm_mib : 0, found.node_unsigned, (jlong)found.memory,
        (jlong)found.memory_free, (jlong)found.page_bytes, chip != NULL ? (jlong)chip->model : 0
    };
    return answer(env, texts, 5, facts, numbers, 8);
}

JNI(jbyteArray, nativeLibrary)(JNIEnv *env, jclass self, jbyteArray path, jlongArray facts)
{
    qnnrt_backend_desc desc = {0};
    qnnrt_backend *backend = NULL;
    qnnrt_error err;
    jbyteArray array = NULL;
    char *name = NULL;
    (void)self;
    if (!jni_take_text(env, path, &name))
        return NULL;
    desc.path = name;
    jni_hooks(&desc.hooks);
    if (qnnrt_backend_open(&desc, &backend, &err) == QNNRT_OK) {
        const qnnrt_backend_info *info = qnnrt_backend_get_info(backend);
        const char *const texts[] = { info->path, info->provider, info->build_id };
        const jlong numbers[] = {
            (jlong)info->id, (jlong)info->core_api.major, (jlong)info->core_api.minor,
            (jlong)info->core_api.patch, info->has_device
        };
        array = answer(env, texts, 3, facts, numbers, 5);
        qnnrt_backend_close(backend);
    } else {
        jni_throw_error(env, &err);
    }
    free(name);
    return array;
}

static jlong vtcm_mib(const qnnrt_graph_info *graph)
{
    return (jlong)((graph->vtcm_bytes + ((1u << 20) - 1)) >> 20);
}

/* Add up what the contexts of a folder say. Return the first one that could be read, or NULL. */
static const qnnrt_manifest_context *sum_up(const qnnrt_manifest_info *info, jlong numbers[5])
{
    const qnnrt_manifest_context *first = NULL;
    for (size_t i = 0; i < info->context_count; ++i) {
        const qnnrt_context_info *c = info->contexts[i].info;
        if (info->contexts[i].failure != NULL)
            continue;
        if (first == NULL) {
            first = &info->contexts[i];
            numbers[0] = (jlong)c->backend_id;
            numbers[2] = (jlong)c->soc_model;
        }
        if ((jlong)c->dsp_arch > numbers[1])
            numbers[1] = (jlong)c->dsp_arch;
        for (size_t g = 0; g < c->graph_count; ++g)
            if (vtcm_mib(&c->graphs[g]) > numbers[3])
                numbers[3] = vtcm_mib(&c->graphs[g]);
        numbers[4] += (jlong)c->device_bytes;
    }
    return first;
}

/* Read the metadata of a folder with a library that knows its format. Parts for other backends may
   stay unread. */
JNI(jbyteArray, nativeFolder)(JNIEnv *env, jclass self, jbyteArray folder, jbyteArray reader,
                              jlongArray facts)
{
    qnnrt_manifest_open_desc desc = {0};
    qnnrt_manifest *model = NULL;
    qnnrt_error err;
    jbyteArray array = NULL;
    char *path = NULL, *library = NULL;
    jlong numbers[5] = {0};
    (void)self;
    if (jni_take_text(env, folder, &path) && jni_take_text(env, reader, &library)) {
        jni_host_functions(&desc);
        jni_hooks(&desc.model.backend_desc.hooks);
        desc.model.system_path = library;
        desc.model.inspect = 1;
        desc.model.keep_going = 1;
        if (qnnrt_manifest_open(path, &desc, &model, &err) == QNNRT_OK) {
            const qnnrt_manifest_info *info = qnnrt_manifest_get_info(model);
            const qnnrt_manifest_context *first = sum_up(info, numbers);
            if (first != NULL)
                array = answer(env, &first->info->build_id, 1, facts, numbers, 5);
            else
                jni_throw_error(env, info->contexts[0].failure);
            qnnrt_manifest_close(model);
        } else {
            jni_throw_error(env, &err);
        }
    }
    free(path);
    free(library);
    return array;
}
