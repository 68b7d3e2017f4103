/* binary.c - a model to bytes and back: the context binary of libQnnRef.so

   FORMAT 1, or 2 when a tensor has dynamic dimensions. Little-endian, without padding except
   where noted; equal models give equal bytes.

       offset  bytes
            0      8  "QNNRTREF"
            8      4  format, 1 or 2       12  4  zero
           16      8  bytes of the file
           24      8  checksum: ref_hash() of everything from offset 32 on
           32      8  bytes of the description
           40      8  offset of the data, the next multiple of 64 after the description
           48      8  bytes of the data    56  8  zero
           64         description, then zeros up to the data, then data: blobs in order, each at
                      a multiple of 64

       description
           text build id; 3 u32 core version; 3 u32 backend version
           u32 count of blobs, each: u64 offset in the data, u64 bytes
           u32 count of graphs, each:
               text name; u32 priority
               u32 count of tensors, each, by ascending id:
                   u32 id; text name; u32 type, format, data type, rank; u32 dimensions[rank]
                   format 2: u32 dynamic dimensions, bit i: the one with index i
                   u32 has encoding: 0, or 1 and:
                       u32 encoding, bits; i32 axis; u32 count; f32 scales[count]
                       u32 has offsets; i32 offsets[count] if so
                       u32 blocks, storage; u16 block scales[count * blocks]
                       u32 sizes[rank] if it is BLOCK
                   u32 1 + index of its blob, 0: none
               u32 count of nodes, each:
                   text name, package, type
                   u32 count of inputs, u32 1 + index of a tensor each, 0: absent
                   u32 count of outputs, the same
                   u32 count of parameters, each:
                       text name; u32 data type; u64 bits; u32 1 + index of a tensor, 0: a scalar
       text      u32 bytes, the bytes, a zero byte
       checksum  h = 0x9E3779B97F4A7C15 ^ bytes; for every 8 bytes, the last ones padded with zeros
                 them: h = (h ^ word) * 0xD6E8FEB86659FD93, h ^= h >> 32

   Nothing is trusted: size, checksum and every count are checked before they are used, and graphs
   are built by the functions that calls build them with, so all their checks hold here too. The
   memory plan is made anew.
   Knows nothing of: handles, the interface */
#include "ref.h"

#include <string.h>

enum { FORMAT = 1, FORMAT_DYNAMIC, HEAD = 64, SUMMED_FROM = 32, TEXT_MOST = REF_NAME_MOST };
static const char magic[8] = { 'Q', 'N', 'N', 'R', 'T', 'R', 'E', 'F' };

/* ---- writing: twice the same walk, the first one only counts -------------------------------- */

typedef struct sink { unsigned char *to; uint64_t used; } sink;

static void put(sink *s, const void *data, uint64_t bytes)
{
    if (s->to != NULL && bytes > 0)
        memcpy(s->to + s->used, data, (size_t)bytes);
    s->used += bytes;
}

static void put_u32(sink *s, uint32_t value) { put(s, &value, 4); }
static void put_u64(sink *s, uint64_t value) { put(s, &value, 8); }

static void put_text(sink *s, const char *text)
{
    const uint32_t bytes = (uint32_t)strlen(text);
    put_u32(s, bytes);
    put(s, text, (uint64_t)bytes + 1);
}

static void put_zeros(sink *s, uint64_t until)
{
    static const unsigned char zeros[REF_ALIGN];
    put(s, zeros, until - s->used);
}

static void put_version(sink *s, const q_version *version)
{
    put_u32(s, version->major);
    put_u32(s, version->minor);
    put_u32(s, version->patch);
}

static void put_encoding(sink *s, const ref_encoding *e, uint32_t rank)
{
    put_u32(s, e->definition == 1);
    if (e->definition != 1)
        return;
    put_u32(s, e->encoding);
    put_u32(s, e->bits);
    put(s, &e->axis, 4);
    put_u32(s, e->count);
    put(s, e->scales, (uint64_t)e->count * 4);
    put_u32(s, e->offsets != NULL);
    if (e->offsets != NULL)
        put(s, e->offsets, (uint64_t)e->count * 4);
    put_u32(s, e->blocks);
    put_u32(s, e->storage);
    put(s, e->block_scales, (uint64_t)e->count * e->blocks * 2);
    if (e->encoding == Q_ENC_BLOCK)
        put(s, e->sizes, (uint64_t)rank * 4);
}

/* Return the lowest format that can hold the model. */
static uint32_t format_of(const ref_model *model)
{
    for (int i = 0; i < model->body_count; ++i)
        for (int k = 0; k < model->bodies[i]->value_count; ++k)
            if (model->bodies[i]->values[k]->dynamic != 0)
                return FORMAT_DYNAMIC;
    return FORMAT;
}

static void put_graph(sink *s, const ref_body *body, uint32_t format)
{
    put_text(s, body->name);
    put_u32(s, body->priority);
    put_u32(s, (uint32_t)body->value_count);
    for (int i = 0; i < body->value_count; ++i) {
        const ref_value *value = body->values[i];
        put_u32(s, value->id);
        put_text(s, value->view.name);
        put_u32(s, value->type);
        put_u32(s, value->format);
        put_u32(s, value->view.dtype);
        put_u32(s, value->view.rank);
        put(s, value->most, (uint64_t)value->view.rank * 4);
        if (format == FORMAT_DYNAMIC)
            put_u32(s, value->dynamic);
        put_encoding(s, &value->encoding, value->view.rank);
        put_u32(s, (uint32_t)(value->datum + 1));
    }
    put_u32(s, (uint32_t)body->step_count);
    for (int i = 0; i < body->step_count; ++i) {
        const ref_step *step = body->steps[i];
        put_text(s, step->view.name);
        put_text(s, step->package);
        put_text(s, step->view.op->type);
        put_u32(s, step->view.in_count);
        for (uint32_t k = 0; k < step->view.in_count; ++k)
            put_u32(s, (uint32_t)(step->in[k] + 1));
        put_u32(s, step->view.out_count);
        for (uint32_t k = 0; k < step->view.out_count; ++k)
            put_u32(s, (uint32_t)(step->out[k] + 1));
        put_u32(s, step->view.param_count);
        for (uint32_t k = 0; k < step->view.param_count; ++k) {
            const ref_argument *argument = &step->arguments[k];
            put_text(s, argument->name);
            put_u32(s, argument->dtype);
            put_u64(s, argument->bits);
            put_u32(s, (uint32_t)(argument->value + 1));
        }
    }
}

static void put_description(sink *s, const ref_model *model)
{
    uint64_t at = 0;
    put_text(s, REF_BUILD);
    put_version(s, &ref_fault.core);
    put_version(s, &ref_fault.backend);
    put_u32(s, (uint32_t)model->data_count);
    for (int i = 0; i < model->data_count; ++i) {
        put_u64(s, at);
        put_u64(s, model->data[i].bytes);
        at = ref_rounded(at + model->data[i].bytes);
    }
    put_u32(s, (uint32_t)model->body_count);
    for (int i = 0; i < model->body_count; ++i)
        put_graph(s, model->bodies[i], format_of(model));
}

uint64_t ref_binary_write(const ref_model *model, unsigned char *out)
{
    sink count = { NULL, HEAD }, s;
    uint64_t described, data, end;
    put_description(&count, model);
    described = count.used - HEAD;
    data = end = ref_rounded(count.used);
    for (int i = 0; i < model->data_count; ++i)
        end = data + ref_rounded(end - data) + model->data[i].bytes;
    if (out == NULL)
        return end;
    s.to = out;
    s.used = 0;
    put(&s, magic, sizeof(magic));
    put_u32(&s, format_of(model));
    put_u32(&s, 0);
    put_u64(&s, end);
    put_u64(&s, 0);
    put_u64(&s, described);
    put_u64(&s, data);
    put_u64(&s, end - data);
    put_u64(&s, 0);
    put_description(&s, model);
    put_zeros(&s, data);
    for (int i = 0; i < model->data_count; ++i) {
        put_zeros(&s, data + ref_rounded(s.used - data));
        put(&s, model->data[i].data, model->data[i].bytes);
    }
    s.used = 24;
    put_u64(&s, ref_hash(out + SUMMED_FROM, end - SUMMED_FROM));
    return end;
}

/* ---- reading: what does not fit sets bad, and everything after it reads as zero ------------- */

typedef struct source {
    const unsigned char *at, *end;
    uint32_t    format;
    int         bad;
    ref_arena   arena;                   /* holds arrays until the model has copied them */
} source;

static const void *get(source *s, uint64_t bytes)
{
    const unsigned char *at = s->at;
    if (s->bad || bytes > (uint64_t)(s->end - s->at)) {
        s->bad = 1;
        return NULL;
    }
    s->at += bytes;
    return at;
}

static uint32_t get_u32(source *s)
{
    uint32_t value = 0;
    const void *at = get(s, 4);
    if (at != NULL)
        memcpy(&value, at, 4);
    return value;
}

static uint64_t get_u64(source *s)
{
    uint64_t value = 0;
    const void *at = get(s, 8);
    if (at != NULL)
        memcpy(&value, at, 8);
    return value;
}

static const char *get_text(source *s)
{
    const uint32_t bytes = get_u32(s);
    const char *at = bytes <= TEXT_MOST ? get(s, (uint64_t)bytes + 1) : NULL;
    if (at == NULL || memchr(at, 0, (size_t)bytes + 1) != at + bytes) {
        s->bad = 1;
        return "";
    }
    return at;
}

/* Copy an array to aligned memory. */
static void *get_array(source *s, uint64_t count, size_t element)
{
    const void *at = count <= UINT32_MAX ? get(s, count * element) : NULL;
    void *copy;
    if (at == NULL) {
        s->bad = 1;
        return NULL;
    }
    copy = ref_arena_alloc(&s->arena, (size_t)count * element);
    if (copy == NULL) {
        s->bad = 1;
        return NULL;
    }
    return memcpy(copy, at, (size_t)count * element);
}

/* Read a count of elements that take at least `least` bytes each. */
static uint32_t get_count(source *s, uint32_t least)
{
    const uint32_t count = get_u32(s);
    if ((uint64_t)count * least > (uint64_t)(s->end - s->at))
        s->bad = 1;
    return s->bad ? 0 : count;
}

static void get_version(source *s, q_version *version)
{
    version->major = get_u32(s);
    version->minor = get_u32(s);
    version->patch = get_u32(s);
}

/* Read the index of a tensor, or REF_NONE where that is allowed. */
static int get_index(source *s, int count, int absent_too)
{
    const uint32_t plus_one = get_u32(s);
    if (plus_one > (uint32_t)count || (plus_one == 0 && !absent_too))
        s->bad = 1;
    return s->bad ? 0 : (int)plus_one - 1;
}

/* Copy the arrays to the model's memory: the encoding of a tensor refers to them. */
static void get_encoding(source *s, ref_encoding *e, uint32_t rank, ref_arena *arena)
{
    source own = *s;
    memset(e, 0, sizeof(*e));
    e->definition = e->encoding = Q_UNDEFINED;
    own.arena = *arena;
    switch (get_u32(&own)) {
    case 0:
        break;
    case 1:
        e->definition = 1;
        e->encoding = get_u32(&own);
        e->bits = get_u32(&own);
        e->axis = (int32_t)get_u32(&own);
        e->count = get_count(&own, 4);
        e->scales = get_array(&own, e->count, sizeof(float));
        switch (get_u32(&own)) {
        case 0: break;
        case 1: e->offsets = get_array(&own, e->count, sizeof(int32_t)); break;
        default: own.bad = 1;
        }
        e->blocks = get_u32(&own);
        e->storage = get_u32(&own);
        if (e->storage > 1 || (e->blocks > 0 && e->encoding != Q_ENC_EXPANSION))
            own.bad = 1;
        e->block_scales = get_array(&own, (uint64_t)e->count * e->blocks, sizeof(uint16_t));
        if (e->encoding == Q_ENC_BLOCK) {
            const void *sizes = get(&own, (uint64_t)rank * 4);
            if (sizes != NULL)
                memcpy(e->sizes, sizes, rank * sizeof(uint32_t));
        }
        break;
    default:
        own.bad = 1;
    }
    *arena = own.arena;
    s->at = own.at;
    s->bad = own.bad;
}

static q_code read_tensors(source *s, ref_body *body, int use, ref_why *why)
{
    ref_model *model = body->model;
    const uint32_t count = get_count(s, 40);
    uint32_t last_id = 0;
    for (uint32_t i = 0; i < count && !s->bad; ++i) {
        uint32_t dims[REF_RANK], id = get_u32(s);
        const void *at;
        ref_value *value;
        ref_made made;
        q_code code;
        memset(&made, 0, sizeof(made));
        made.name = get_text(s);
        made.type = get_u32(s);
        made.format = get_u32(s);
        made.dtype = get_u32(s);
        made.rank = get_u32(s);
        at = made.rank <= REF_RANK ? get(s, (uint64_t)made.rank * 4) : NULL;
        if (at == NULL || id <= last_id || id == UINT32_MAX) {
            s->bad = 1;
            break;
        }
        memcpy(dims, at, made.rank * sizeof(uint32_t));
        made.dims = dims;
        if (s->format == FORMAT_DYNAMIC)
            made.dynamic = get_u32(s);
        get_encoding(s, &made.encoding, made.rank, &model->arena);
        made.datum = get_index(s, model->data_count, 1);
        if (s->bad || ref_type_is_static(made.type) != (made.datum != REF_NONE)) {
            s->bad = 1;
            break;
        }
        model->next_id = last_id = id;
        code = ref_body_tensor(body, &made, &value, why);
        if (code != Q_OK)
            return code;
        if (use == REF_BINARY_TELL)
            value->view.data = NULL;
    }
    return Q_OK;
}

static q_code read_nodes(source *s, ref_body *body, int use, ref_why *why)
{
    const uint32_t count = get_count(s, 27);
    for (uint32_t i = 0; i < count && !s->bad; ++i) {
        ref_plan_step step;
        int *in, *out;
        q_code code;
        memset(&step, 0, sizeof(step));
        step.name = get_text(s);
        step.package = get_text(s);
        step.type = get_text(s);
        step.in_count = get_count(s, 4);
        in = ref_arena_alloc(&s->arena, step.in_count * sizeof(int));
        for (uint32_t k = 0; in != NULL && k < step.in_count; ++k)
            in[k] = get_index(s, body->value_count, 1);
        step.out_count = get_count(s, 4);
        out = ref_arena_alloc(&s->arena, step.out_count * sizeof(int));
        for (uint32_t k = 0; out != NULL && k < step.out_count; ++k)
            out[k] = get_index(s, body->value_count, 0);
        step.argument_count = get_count(s, 21);
        step.arguments = ref_arena_alloc(&s->arena, step.argument_count * sizeof(*step.arguments));
        for (uint32_t k = 0; step.arguments != NULL && k < step.argument_count; ++k) {
            step.arguments[k].name = get_text(s);
            step.arguments[k].dtype = get_u32(s);
            step.arguments[k].bits = get_u64(s);
            step.arguments[k].value = get_index(s, body->value_count, 1);
        }
        if (in == NULL || out == NULL || step.arguments == NULL)
            return ref_refused(why, Q_MEMORY, "no memory");
        step.in = in;
        step.out = out;
        code = s->bad || use == REF_BINARY_TELL ? Q_OK : ref_body_node(body, &step, why);
        ref_arena_free(&s->arena);
        if (code != Q_OK)
            return code;
    }
    return Q_OK;
}

static q_code read_graph(source *s, ref_model *model, int use, ref_why *why)
{
    const char *name = get_text(s);
    const uint32_t priority = get_u32(s);
    ref_body *body;
    q_code code;
    if (s->bad)
        return Q_OK;
    body = ref_model_graph(model, name, why, &code);
    if (body == NULL)
        return code;
    body->priority = priority;
    code = read_tensors(s, body, use, why);
    if (code == Q_OK && !s->bad)
        code = read_nodes(s, body, use, why);
    if (code == Q_OK && !s->bad && use != REF_BINARY_TELL)
        code = ref_body_finalize(body, why);
    return code;
}

static q_code read_description(source *s, ref_model *model, const unsigned char *data,
                               uint64_t bytes, int use, ref_why *why)
{
    const char *build = get_text(s);
    uint64_t expected = 0, end = 0;
    uint32_t count;
    q_code code = Q_OK;
    get_version(s, &model->core);
    get_version(s, &model->backend);
    if (s->bad || strlen(build) >= sizeof(model->build)) {
        s->bad = 1;
        return Q_OK;
    }
    strcpy(model->build, build);
    if (use != REF_BINARY_TELL
        && (model->core.major != ref_fault.core.major
            || model->core.minor > ref_fault.core.minor))
        return ref_refused(why, Q_CONTEXT_ARGUMENT, "the binary was made with core interface %u.%u"
                           " by %s; this library has %u.%u", (unsigned)model->core.major,
                           (unsigned)model->core.minor, build, (unsigned)ref_fault.core.major,
                           (unsigned)ref_fault.core.minor);
    count = get_count(s, 16);
    for (uint32_t i = 0; i < count && !s->bad; ++i) {
        const uint64_t offset = get_u64(s), size = get_u64(s);
        if (s->bad || offset != expected || offset > bytes || size == 0 || size > bytes - offset) {
            s->bad = 1;
            break;
        }
        end = offset + size;
        expected = ref_rounded(end);
        /* A model that is only described needs the sizes of its data, not the data. */
        if (ref_model_datum(model, data + offset, size, 0, use != REF_BINARY_RUN) == REF_NONE)
            return ref_refused(why, Q_MEMORY, "no memory for %llu bytes of data",
                               (unsigned long long)size);
    }
    if (end != bytes)
        s->bad = 1;
    count = get_count(s, 12);
    if (count == 0)
        s->bad = 1;
    for (uint32_t i = 0; i < count && !s->bad && code == Q_OK; ++i)
        code = read_graph(s, model, use, why);
    return code;
}

/* Check size, kind, format and checksum. Return 0 on failure, with the reason in why. */
static int head_check(const unsigned char *data, uint64_t bytes, ref_why *why, q_code *code)
{
    static const unsigned char vendor[16] = { 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1 };
    uint32_t format, reserved;
    uint64_t size, sum, described, offset, length;
    *code = Q_CONTEXT_FROM_BINARY;
    if (bytes >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) != 0)
        return ref_refuse(why, "this is not a context binary of libQnnRef.so%s",
                          bytes >= sizeof(vendor) && memcmp(data, vendor, sizeof(vendor)) == 0
                              ? ", but of another backend: open it with the library it was made for"
                              : "");
    if (bytes < HEAD)
        return ref_refuse(why, "%llu bytes are too few for a context binary; its header has %d",
                          (unsigned long long)bytes, (int)HEAD);
    memcpy(&format, data + 8, 4);
    memcpy(&reserved, data + 12, 4);
    memcpy(&size, data + 16, 8);
    memcpy(&sum, data + 24, 8);
    memcpy(&described, data + 32, 8);
    memcpy(&offset, data + 40, 8);
    memcpy(&length, data + 48, 8);
    if (format != FORMAT && format != FORMAT_DYNAMIC) {
        *code = Q_CONTEXT_ARGUMENT;
        return ref_refuse(why, "the binary has format %u; this library reads %d and %d: use a newer"
                          " one", (unsigned)format, (int)FORMAT, (int)FORMAT_DYNAMIC);
    }
    if (size != bytes)
        return ref_refuse(why, "the binary is %s: its header declares %llu bytes, found %llu",
                          bytes < size ? "cut short" : "too long", (unsigned long long)size,
                          (unsigned long long)bytes);
    if (reserved != 0 || sum != ref_hash(data + SUMMED_FROM, bytes - SUMMED_FROM))
        return ref_refuse(why, "the binary is damaged: its checksum does not match");
    if (described > bytes - HEAD || offset != ref_rounded(HEAD + described) || offset > bytes
        || length != bytes - offset)
        return ref_refuse(why,
                          "the binary is damaged: its parts do not add up to %llu bytes",
                          (unsigned long long)bytes);
    return 1;
}

ref_model *ref_binary_read(const void *data, uint64_t bytes, int use, ref_why *why, q_code *code)
{
    const unsigned char *start = data;
    uint64_t described, offset;
    ref_model *model;
    source s;
    if (!head_check(start, bytes, why, code))
        return NULL;
    memset(&s, 0, sizeof(s));
    memcpy(&s.format, start + 8, 4);
    memcpy(&described, start + 32, 8);
    memcpy(&offset, start + 40, 8);
    s.at = start + HEAD;
    s.end = s.at + described;
    model = ref_model_new();
    if (model == NULL) {
        *code = ref_refused(why, Q_MEMORY, "no memory");
        return NULL;
    }
    model->file_bytes = bytes;
    *code = read_description(&s, model, start + offset, bytes - offset, use, why);
    if (*code == Q_OK && (s.bad || s.at != s.end))
        *code = ref_refused(why, Q_CONTEXT_FROM_BINARY,
                            "the binary is damaged: its description is not valid at byte %llu",
                            (unsigned long long)(s.at - start));
    ref_arena_free(&s.arena);
    if (*code == Q_OK)
        return model;
    if (*code != Q_MEMORY && *code != Q_CONTEXT_ARGUMENT)
        *code = Q_CONTEXT_FROM_BINARY;
    ref_model_free(model);
    return NULL;
}
