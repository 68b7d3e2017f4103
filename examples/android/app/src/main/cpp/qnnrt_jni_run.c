/* qnnrt_jni_run.c - the functions of Qnnrt.Run and Qnnrt.buffer(): memory that buffers show, runs,
   their tensors, dims and profiles                                                               */
#include "qnnrt_jni.h"

#include <stdlib.h>
#include <string.h>

#define JNI(type, name) QNNRT_JNI(Qnnrt, type, name)

/* ---- memory ---------------------------------------------------------------------------------- */

/* Memory that buffers of Java show. It is freed when nobody holds it: the run that computes in it, and
   each buffer, which Java's collector finds when no view of it is left. */
typedef struct jni_block {
    int                holds;
    uint64_t           bytes;
    unsigned char     *data;
    qnnrt_mem_provider from;       /* without .free: the bytes follow this struct */
    qnnrt_mem_block    given;      /* by the provider */
} jni_block;

static void block_drop(jni_block *block)
{
    if (block == NULL || __atomic_sub_fetch(&block->holds, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (block->from.free != NULL)
        block->from.free(block->from.user, &block->given);
    free(block);
}

/* Make plain memory, aligned to a power of two, with one holder. NULL: there is none. */
static jni_block *block_plain(uint64_t bytes, size_t align)
{
    if (bytes > SIZE_MAX - sizeof(jni_block) - align)
        return NULL;
    jni_block *block = (jni_block *)malloc(sizeof(*block) + align + (size_t)bytes);
    if (block == NULL)
        return NULL;
    memset(block, 0, sizeof(*block));
    block->holds = 1;
    block->bytes = bytes;
    block->data = (unsigned char *)block + sizeof(*block);
    block->data += (~(uintptr_t)block->data + 1) & (align - 1);
    return block;
}

/* Return a buffer over bytes of a block, as one more holder. NULL: an exception is pending. */
static jobject block_view(JNIEnv *env, jni_block *block, void *data, uint64_t bytes)
{
    jobject view = (*env)->NewDirectByteBuffer(env, data, (jlong)bytes);
    if (view != NULL)
        __atomic_add_fetch(&block->holds, 1, __ATOMIC_RELAXED);
    return view;
}

/* Return a buffer with memory of its own, zeroed; handle[0] receives the block. */
JNI(jobject, nativeBuffer)(JNIEnv *env, jclass self, jlong bytes, jlongArray handle)
{
    enum { ALIGN = 64 };                               /* of a plan, by default */
    jni_block *block = block_plain((uint64_t)bytes, ALIGN);
    jobject view = NULL;
    (void)self;
    if (block == NULL) {
        jni_throw_memory(env);
        return NULL;
    }
    const jlong number = jni_handle(block);
    memset(block->data, 0, (size_t)bytes);
    (*env)->SetLongArrayRegion(env, handle, 0, 1, &number);
    view = block_view(env, block, block->data, (uint64_t)bytes);
    block_drop(block);                                 /* the view holds it */
    return view;
}

JNI(void, nativeDrop)(JNIEnv *env, jclass self, jlong block)
{
    (void)env;
    (void)self;
    block_drop((jni_block *)jni_object(block));
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct jni_run {
    qnnrt_plan *plan;
    qnnrt_mem  *mem;
    qnnrt_run  *run;
    jni_block  *block;             /* all memory of the plan */
    const qnnrt_mem_provider *from;    /* while block is made */
    qnnrt_error why;               /* .text: why the memory is not shared, or empty */
} jni_run;

static qnnrt_run *run_of(jlong handle)
{
    return ((jni_run *)jni_object(handle))->run;
}

/* As a provider: memory of r->from, which outlives the run as long as a buffer shows it. */
static qnnrt_result block_alloc(void *user, const qnnrt_backend *backend, qnnrt_mem_block *given,
                                qnnrt_error *err)
{
    jni_run *r = (jni_run *)user;
    jni_block *block = (jni_block *)calloc(1, sizeof(*block));
    if (block == NULL)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "an allocation failed");
    const qnnrt_result result = r->from->alloc(r->from->user, backend, given, err);
    if (result != QNNRT_OK) {
        free(block);
        return result;
    }
    block->holds = 1;
    block->bytes = given->bytes;
    block->data = (unsigned char *)given->data;
    block->from = *r->from;
    block->given = *given;
    r->block = block;
    return QNNRT_OK;
}

static void block_free(void *user, const qnnrt_mem_block *given)
{
    jni_run *r = (jni_run *)user;
    (void)given;
    block_drop(r->block);
    r->block = NULL;
}

static qnnrt_result run_mem_of(jni_run *r, const qnnrt_mem_provider *from, qnnrt_error *err)
{
    const qnnrt_mem_provider held = { from->name, block_alloc, block_free, r, NULL };
    qnnrt_mem_desc desc = {0};
    r->from = from;
    desc.kind = QNNRT_MEM_PROVIDER;
    desc.provider = held;
    return qnnrt_mem_create(r->plan, &desc, &r->mem, err);
}

/* Make the memory of a run: of the kind of a word, or for "shared" of the first kind that works, else
   plain memory, with the reasons in r->why. */
static qnnrt_result run_mem(jni_run *r, const char *word, qnnrt_error *err)
{
    const qnnrt_plan_info *plan = qnnrt_plan_get_info(r->plan);
    const qnnrt_mem_provider *from = NULL;
    qnnrt_mem_provider rpcmem = qnnrt_device_rpcmem(NULL);
    qnnrt_mem_desc chosen = {0};
    if (!qnnrt_device_memory(word, &chosen))
        return qnnrt_error_set(err, QNNRT_E_ARG, "no memory has the name \"%s\"", word);
    if (chosen.kind == QNNRT_MEM_PROVIDER)
        from = &chosen.provider;
    else if (chosen.kind != QNNRT_MEM_HEAP)
        from = &rpcmem;
    if (chosen.kind == QNNRT_MEM_SHARED)
        rpcmem.next = &chosen.provider;
    for (; from != NULL; from = from->next) {
        const qnnrt_result result = run_mem_of(r, from, err);
        if (result == QNNRT_OK || chosen.kind != QNNRT_MEM_SHARED)
            return result;
        qnnrt_error_add(&r->why, "%s%s: %.500s", r->why.text[0] != '\0' ? "; " : "", from->name,
                        err->text);
    }
    memset(&chosen, 0, sizeof(chosen));
    r->block = block_plain(plan->peak, plan->align);
    if (r->block == NULL)
        return qnnrt_error_set(err, QNNRT_E_MEMORY, "an allocation failed");
    chosen.data = r->block->data;
    chosen.bytes = (size_t)plan->peak;
    return qnnrt_mem_create(r->plan, &chosen, &r->mem, err);
}

static void run_destroy(jni_run *r)
{
    if (r == NULL)
        return;
    qnnrt_run_destroy(r->run);
    qnnrt_mem_destroy(r->mem);
    qnnrt_plan_destroy(r->plan);
    block_drop(r->block);
    free(r);
}

static qnnrt_result run_make(qnnrt_manifest *model, const char *name, const char *memory, jni_run *r,
                             qnnrt_error *err)
{
    const qnnrt_pipeline *pipeline = NULL;
    qnnrt_entry_desc entry = {0};
    qnnrt_plan_desc desc = {0};
    qnnrt_result result = qnnrt_manifest_find(model, name, &pipeline, err);
    if (result != QNNRT_OK)
        return result;
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(pipeline);
    entry.pipeline = pipeline;
    desc.entries = &entry;
    desc.entry_count = 1;
    desc.buffers = info->buffers;
    desc.buffer_count = info->buffer_count;
    desc.places = info->places;
    desc.place_count = info->place_count;
    qnnrt_error_clear(&r->why);
    result = qnnrt_plan_create(&desc, &r->plan, err);
    if (result == QNNRT_OK)
        result = run_mem(r, memory, err);
    if (result == QNNRT_OK)
        result = qnnrt_run_create(r->mem, 0, &r->run, err);
    if (result == QNNRT_OK)
        qnnrt_run_dynamic(r->run);         /* out of memory: exec says so */
    return result;
}

JNI(jlong, nativePrepare)(JNIEnv *env, jclass self, jlong model, jbyteArray pipeline,
                          jbyteArray memory)
{
    char *name = NULL, *word = NULL;
    jni_run *r = (jni_run *)calloc(1, sizeof(*r));
    qnnrt_error err;
    int made = 0;
    (void)self;
    if (r == NULL)
        jni_throw_memory(env);
    else if (jni_take_text(env, pipeline, &name) && jni_take_text(env, memory, &word)) {
        made = run_make(jni_manifest(model), name, word, r, &err) == QNNRT_OK;
        if (!made)
            jni_throw_error(env, &err);
    }
    free(name);
    free(word);
    if (!made) {
        run_destroy(r);
        r = NULL;
    }
    return jni_handle(r);
}

JNI(void, nativeDestroy)(JNIEnv *env, jclass self, jlong run)
{
    (void)env;
    (void)self;
    run_destroy((jni_run *)jni_object(run));
}

/* Return what the memory is made of, and why it is not shared. */
JNI(jbyteArray, nativeMemory)(JNIEnv *env, jclass self, jlong run)
{
    const jni_run *r = (const jni_run *)jni_object(run);
    (void)self;
    const char *const texts[] = { qnnrt_mem_get_info(r->mem)->name, r->why.text, "" };
    return jni_texts(env, texts, 3);
}

/* Return a buffer over the memory of a slot, NULL if the run's own memory has no place for its value
   after an exec; block[0] receives what it holds. */
JNI(jobject, nativeView)(JNIEnv *env, jclass self, jlong run, jlong slot_handle, jlongArray block)
{
    jni_run *r = (jni_run *)jni_object(run);
    const qnnrt_slot *slot = (const qnnrt_slot *)jni_object(slot_handle);
    unsigned char *data = (unsigned char *)qnnrt_data_slot(r->run, slot, NULL);
    const uint64_t bytes = slot->tensor->bytes;
    const jlong number = jni_handle(r->block);
    (void)self;
    if (slot->role == QNNRT_ROLE_EDGE || data == NULL || data < r->block->data ||
        bytes > r->block->bytes ||
        (uint64_t)(data - r->block->data) > r->block->bytes - bytes)
        return NULL;
    (*env)->SetLongArrayRegion(env, block, 0, 1, &number);
    return block_view(env, r->block, data, bytes);
}

/* Return why the backend copies a tensor at each exec; NULL: it does not. */
JNI(jbyteArray, nativeCopied)(JNIEnv *env, jclass self, jlong run, jlong slot)
{
    const qnnrt_transfer_info *list = NULL;
    size_t count = 0;
    (void)self;
    if (qnnrt_run_transfers(run_of(run), &list, &count) != QNNRT_OK)
        jni_throw_error(env, qnnrt_run_error(run_of(run)));
    for (size_t i = 0; i < count; ++i)
        if (list[i].slot == (const qnnrt_slot *)jni_object(slot) && !list[i].registered)
            return jni_array(env, list[i].reason, strlen(list[i].reason));
    return NULL;
}

/* Return name, role and text of slot `index`, separated by zero bytes; NULL after the last one.
   facts: slot, bytes, elements, rank, dims. */
JNI(jbyteArray, nativeTensor)(JNIEnv *env, jclass self, jlong run, jint index, jlongArray facts)
{
    const qnnrt_pipeline_info *pipeline =
        qnnrt_pipeline_get_info(qnnrt_run_pipeline(run_of(run)));
    jlong numbers[4 + JNI_MOST_RANK];
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
    for (uint32_t i = 0; i < tensor->rank; ++i)
        numbers[4 + i] = (jlong)tensor->dims[i];
    (*env)->SetLongArrayRegion(env, facts, 0, (jsize)(4 + tensor->rank), numbers);
    if ((*env)->ExceptionCheck(env))
        return NULL;
    qnnrt_tensor_text(tensor, text, sizeof(text));
    const char *const texts[] = { slot->address, role, text };
    return jni_texts(env, texts, 3);
}

JNI(jlong, nativeSlot)(JNIEnv *env, jclass self, jlong handle, jbyteArray name)
{
    qnnrt_run *run = run_of(handle);
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
    qnnrt_run *run = run_of(handle);
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

/* Bind the memory of the run again. */
JNI(void, nativeUnbind)(JNIEnv *env, jclass self, jlong handle, jlong slot_handle)
{
    qnnrt_run *run = run_of(handle);
    const qnnrt_slot *slot = (const qnnrt_slot *)jni_object(slot_handle);
    (void)self;
    if ((slot->role == QNNRT_ROLE_INPUT ? qnnrt_bind_input(run, slot, NULL, 0)
                                        : qnnrt_bind_output(run, slot, NULL, 0)) != QNNRT_OK)
        jni_throw_error(env, qnnrt_run_error(run));
}

/* Convert between `count` values of an array of Java, float[] or int[], and a tensor, without a copy
   in between: nothing in here waits or calls Java. */
static void convert(JNIEnv *env, qnnrt_run *run, const qnnrt_slot *slot, jarray array, jlong begin,
                    int write, int whole)
{
    const size_t count = (size_t)(*env)->GetArrayLength(env, array);
    const uint64_t at = (uint64_t)begin;
    void *values = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
    qnnrt_result result;
    if (values == NULL)
        return;                                        /* an OutOfMemoryError is pending */
    if (whole)
        result = write ? qnnrt_write_i32(run, slot, at, (const int32_t *)values, count)
                       : qnnrt_read_i32(run, slot, at, (int32_t *)values, count);
    else
        result = write ? qnnrt_write_f32(run, slot, at, (const float *)values, count)
                       : qnnrt_read_f32(run, slot, at, (float *)values, count);
    (*env)->ReleasePrimitiveArrayCritical(env, array, values, write ? JNI_ABORT : 0);
    if (result != QNNRT_OK)
        jni_throw_error(env, qnnrt_run_error(run));
}

JNI(void, nativeWrite)(JNIEnv *env, jclass self, jobject keep, jlong run, jlong slot, jlong begin,
                       jobject values, jboolean whole)
{
    (void)self;
    (void)keep;
    convert(env, run_of(run), (const qnnrt_slot *)jni_object(slot), (jarray)values, begin, 1, whole);
}

JNI(void, nativeRead)(JNIEnv *env, jclass self, jobject keep, jlong run, jlong slot, jlong begin,
                      jobject values, jboolean whole)
{
    (void)self;
    (void)keep;
    convert(env, run_of(run), (const qnnrt_slot *)jni_object(slot), (jarray)values, begin, 0, whole);
}

JNI(void, nativeExec)(JNIEnv *env, jclass self, jobject keep, jlong handle)
{
    qnnrt_run *run = run_of(handle);
    (void)self;
    (void)keep;
    if (qnnrt_exec(run) != QNNRT_OK)
        jni_throw_error(env, qnnrt_run_error(run));
}

/* ---- states ---------------------------------------------------------------------------------- */

JNI(void, nativeReset)(JNIEnv *env, jclass self, jlong run)
{
    qnnrt_error err;
    (void)self;
    if (qnnrt_manifest_reset(run_of(run), &err) != QNNRT_OK)
        jni_throw_error(env, &err);
}

/* A file that is written: first its bytes are counted, then it is copied. */
typedef struct jni_saved {
    char  *data;                   /* NULL: count */
    size_t bytes;
} jni_saved;

static int saved_add(void *user, const char *data, size_t bytes)
{
    jni_saved *saved = (jni_saved *)user;
    if (bytes > INT32_MAX - saved->bytes)
        return 0;
    if (saved->data != NULL)
        memcpy(saved->data + saved->bytes, data, bytes);
    saved->bytes += bytes;
    return 1;
}

/* Return the states of a run as a .safetensors file. */
JNI(jbyteArray, nativeSave)(JNIEnv *env, jclass self, jlong run)
{
    jni_saved count = {0}, copy = {0};
    qnnrt_error err;
    jbyteArray array = NULL;
    (void)self;
    qnnrt_result result = qnnrt_manifest_save(run_of(run), saved_add, &count, &err);
    if (result == QNNRT_E_IO) {
        jni_throw(env, QNNRT_E_LIMIT, 0, "the states have 2 GiB or more", "");
        return NULL;
    }
    if (result != QNNRT_OK) {
        jni_throw_error(env, &err);
        return NULL;
    }
    copy.data = (char *)malloc(count.bytes);
    if (copy.data == NULL || qnnrt_manifest_save(run_of(run), saved_add, &copy, &err) != QNNRT_OK)
        jni_throw_memory(env);
    else
        array = jni_array(env, copy.data, copy.bytes);
    free(copy.data);
    return array;
}

JNI(void, nativeRestore)(JNIEnv *env, jclass self, jlong run, jbyteArray saved)
{
    const jsize bytes = (*env)->GetArrayLength(env, saved);
    qnnrt_error err;
    (void)self;
    jbyte *data = (*env)->GetByteArrayElements(env, saved, NULL);
    if (data == NULL)
        return;                                        /* an OutOfMemoryError is pending */
    const qnnrt_result result = qnnrt_manifest_restore(run_of(run), data, (size_t)bytes, &err);
    (*env)->ReleaseByteArrayElements(env, saved, data, JNI_ABORT);
    if (result != QNNRT_OK)
        jni_throw_error(env, &err);
}

/* ---- dims, optional tensors, profile --------------------------------------------------------- */

/* Set the dims of a tensor; NULL: those of its info. Return those that it has now. */
JNI(jintArray, nativeDims)(JNIEnv *env, jclass self, jlong handle, jlong slot_handle, jboolean set,
                           jintArray dims)
{
    qnnrt_run *run = run_of(handle);
    const qnnrt_slot *slot = (const qnnrt_slot *)jni_object(slot_handle);
    const uint32_t *now;
    jint numbers[JNI_MOST_RANK];
    uint32_t wanted[JNI_MOST_RANK], rank = 0;
    (void)self;
    if (dims != NULL) {
        rank = (uint32_t)(*env)->GetArrayLength(env, dims);
        if (rank > JNI_MOST_RANK) {
            jni_throw(env, QNNRT_E_ARG, 0, "more dims than a tensor has", "");
            return NULL;
        }
        (*env)->GetIntArrayRegion(env, dims, 0, (jsize)rank, numbers);
        for (uint32_t i = 0; i < rank; ++i)
            wanted[i] = numbers[i] > 0 ? (uint32_t)numbers[i] : 0;
    }
    if (set && qnnrt_set_dims(run, slot, dims != NULL ? wanted : NULL, rank) != QNNRT_OK) {
        jni_throw_error(env, qnnrt_run_error(run));
        return NULL;
    }
    now = qnnrt_get_dims(run, slot, &rank);
    jintArray result = now != NULL ? (*env)->NewIntArray(env, (jsize)rank) : NULL;
    if (result == NULL)
        return NULL;
    for (uint32_t i = 0; i < rank; ++i)        
        numbers[i] = (jint)now[i];
    (*env)->SetIntArrayRegion(env, result, 0, (jsize)rank, numbers);
    return result;
}

JNI(void, nativeOmit)(JNIEnv *env, jclass self, jlong run, jlong slot)
{
    (void)self;
    if (qnnrt_omit(run_of(run), (const qnnrt_slot *)jni_object(slot)) != QNNRT_OK)
        jni_throw_error(env, qnnrt_run_error(run_of(run)));
}

JNI(void, nativeProfile)(JNIEnv *env, jclass self, jlong run, jint level)
{
    (void)self;
    if (qnnrt_run_profile(run_of(run), (qnnrt_profile_level)level) != QNNRT_OK)
        jni_throw_error(env, qnnrt_run_error(run_of(run)));
}

JNI(jbyteArray, nativeRunEvent)(JNIEnv *env, jclass self, jlong run, jint index, jdoubleArray facts)
{
    const qnnrt_profile_event *events = NULL;
    size_t count = 0;
    (void)self;
    if (qnnrt_run_events(run_of(run), &events, &count) != QNNRT_OK) {
        jni_throw_error(env, qnnrt_run_error(run_of(run)));
        return NULL;
    }
    return jni_event(env, events, count, index, facts);
}
