/* encodings.c - files of encodings, as AIMET writes them

   ROOMS     >>read_encodings >>write_encodings */
#include "run/compile/aten.h"

#include <math.h>

/* =====================================================================================
   READ ENCODINGS                                                       >>read_encodings
   Version 0.6.1 names each tensor as a key, with a list of encodings, one for each channel:
       {"activation_encodings": {"x": [{"bitwidth": 8, "dtype": "int", "is_symmetric": "False",
        "min": -1.2, "max": 24.3, "offset": -12, "scale": 0.1}]}, "param_encodings": {...}}
   where min and max are enough. Version 1.0.0 has lists:
       {"name": "x", "enc_type": "PER_TENSOR", "dtype": "INT", "bw": 8, "is_sym": false,
        "scale": [0.1], "offset": [-12]}
   In both, q means (q + offset) * scale, with q from 0 to 2^bits - 1. Version 2.0.0 has one
   list, "encodings", and the zero points of ONNX: (q - y_zero_point) * y_scale, where int8 begins
   at -128:
       {"name": "x", "output_dtype": "uint8", "y_scale": 0.1, "y_zero_point": 12}
   ===================================================================================== */

enum { ENCODINGS_BYTES = 1 << 28, ENCODINGS_SCALES = 1 << 20 };      /* most of a file, a tensor */

/* An encoding in work. */
typedef struct encoding_read {
    aten       *a;
    const char *path;
    int         param;                 /* 1: of a weight; 2: of a weight or an activation */
    int         sign;                  /* of "output_dtype": 1: int8, 0: uint8 or none    */
    int         points;                /* 1: .offsets are zero points                     */
    char       *name;
    uint64_t    bits;
    int         symmetric;
    float      *scales;                /* [scale_count]                                   */
    int64_t    *offsets;               /* [offset_count]                                  */
    double     *ends[2];               /* "min" and "max": [end_count], used without scales */
    size_t      scale_count, scale_room, offset_count, offset_room;
    size_t      end_count[2], end_room[2];
    const char *why;                   /* it cannot be used, or NULL                      */
    const char *hint;
} encoding_read;

enum { ENCODING_SCALE = 1, ENCODING_OFFSET, ENCODING_MIN, ENCODING_MAX, ENCODING_BITS,
       ENCODING_SYMMETRIC, ENCODING_NAME, ENCODING_DTYPE, ENCODING_TYPE, ENCODING_OUTPUT,
       ENCODING_BLOCKS };

/* Read a number of a scale, an offset, or an end of a range. */
static void encoding_number(encoding_read *e, const qnnrt_json_text *text, int what)
{
    const int end = what == ENCODING_MAX;
    double number = 0;
    if (e->scale_count > ENCODINGS_SCALES || e->offset_count > ENCODINGS_SCALES ||
        e->end_count[end] > ENCODINGS_SCALES)
        e->why = "it has too many channels";
    if (e->why != NULL) return;
    if (what == ENCODING_MIN || what == ENCODING_MAX) {
        e->ends[end] = cli_grow(e->ends[end], e->end_count[end], &e->end_room[end],
                                sizeof(*e->ends[end]));
        if (!qnnrt_json_f64(text, &number) || !(fabs(number) <= 3e38))
            e->why = "an end of its range is not a number";
        else e->ends[end][e->end_count[end]++] = number;
    } else if (what == ENCODING_SCALE) {
        e->scales = cli_grow(e->scales, e->scale_count, &e->scale_room, sizeof(*e->scales));
        if (!qnnrt_json_f32(text, &e->scales[e->scale_count++]) ||
            !(e->scales[e->scale_count - 1] > 0))
            e->why = "its scale is not a positive number";
    } else {
        e->offsets = cli_grow(e->offsets, e->offset_count, &e->offset_room, sizeof(*e->offsets));
        if (!qnnrt_json_f64(text, &number) || !(fabs(number) <= 65536) || number != floor(number))
            e->why = "its offset is not a whole number of steps";
        else e->offsets[e->offset_count++] = (int64_t)number;
    }
}

/* Read numbers in lists, which may be in lists. */
static void encoding_numbers(encoding_read *e, qnnrt_json_reader *r, int what)
{
    const uint32_t depth = r->depth;
    while (r->error == NULL && r->depth >= depth) {
        if (!qnnrt_json_more(r)) continue;
        if (qnnrt_json_value(r) == QNNRT_JSON_NUMBER) encoding_number(e, &r->value, what);
        else if (r->type == QNNRT_JSON_OBJECT) qnnrt_json_skip(r);
        if (r->type != QNNRT_JSON_NUMBER && r->type != QNNRT_JSON_ARRAY && e->why == NULL)
            e->why = "its scales and offsets are not lists of numbers";
    }
}

/* Read "int8", "uint16" and the like. */
static void encoding_output(encoding_read *e, const qnnrt_json_text *text)
{
    static const struct { const char *name; int sign; uint64_t bits; } types[] = {
        {"int4", 1, 4}, {"uint4", 0, 4}, {"int8", 1, 8}, {"uint8", 0, 8}, {"int16", 1, 16},
        {"uint16", 0, 16}, {"int32", 1, 32}, {"uint32", 0, 32},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
        if (!qnnrt_json_is(text, types[i].name)) continue;
        e->sign = types[i].sign;
        e->bits = types[i].bits;
        return;
    }
    e->why = "its output_dtype is not int or uint of 4, 8, 16 or 32 bits";
    e->hint = "Leave tensors of floats out of the file.";
}

/* Read a member of an encoding, whose key was read. Its name is taken with `name`. */
static void encoding_member(encoding_read *e, qnnrt_json_reader *r)
{
    static const struct { const char *key; int what; } keys[] = {
        {"scale", ENCODING_SCALE}, {"offset", ENCODING_OFFSET}, {"bitwidth", ENCODING_BITS},
        {"bw", ENCODING_BITS}, {"is_symmetric", ENCODING_SYMMETRIC},
        {"is_sym", ENCODING_SYMMETRIC}, {"name", ENCODING_NAME}, {"dtype", ENCODING_DTYPE},
        {"enc_type", ENCODING_TYPE}, {"min", ENCODING_MIN}, {"max", ENCODING_MAX},
        {"y_scale", ENCODING_SCALE}, {"y_zero_point", ENCODING_OFFSET},
        {"output_dtype", ENCODING_OUTPUT}, {"block_size", ENCODING_BLOCKS},
        {"per_block_int_scale", ENCODING_BLOCKS},
    };
    int what = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i)
        if (qnnrt_json_is(&r->key, keys[i].key)) what = keys[i].what;
    const qnnrt_json_type type = qnnrt_json_value(r);
    const int text = type == QNNRT_JSON_STRING;
    const int numbers = what >= ENCODING_SCALE && what <= ENCODING_MAX;
    if (numbers && type == QNNRT_JSON_ARRAY) {
        encoding_numbers(e, r, what);
        return;
    }
    if (numbers && type == QNNRT_JSON_NUMBER) {
        encoding_number(e, &r->value, what);
    } else if (what == ENCODING_BITS &&
               (type != QNNRT_JSON_NUMBER || !qnnrt_json_u64(&r->value, &e->bits))) {
        e->why = "its bits are not a number";
    } else if (what == ENCODING_SYMMETRIC) {
        e->symmetric = type == QNNRT_JSON_TRUE ||
                       (text && (qnnrt_json_is(&r->value, "True") ||
                                 qnnrt_json_is(&r->value, "true")));
    } else if (what == ENCODING_NAME && text && e->name == NULL) {
        e->name = cli_alloc(r->value.bytes + 1, 1);
        qnnrt_json_copy(&r->value, e->name);
    } else if (what == ENCODING_DTYPE && text && !qnnrt_json_is(&r->value, "int") &&
               !qnnrt_json_is(&r->value, "INT")) {
        e->why = "it is of floats";
        e->hint = "Leave it out of the file.";
    } else if (what == ENCODING_OUTPUT && text) {
        encoding_output(e, &r->value);
    } else if (what == ENCODING_TYPE && text &&
               (qnnrt_json_is(&r->value, "PER_BLOCK") || qnnrt_json_is(&r->value, "LPBQ"))) {
        what = ENCODING_BLOCKS;
    } else if (what == ENCODING_TYPE && text && !qnnrt_json_is(&r->value, "PER_TENSOR") &&
               !qnnrt_json_is(&r->value, "PER_CHANNEL")) {
        e->why = "its enc_type is none of PER_TENSOR, PER_CHANNEL, PER_BLOCK and LPBQ";
    }
    if (what == ENCODING_BLOCKS && type != QNNRT_JSON_NULL) {
        e->why = "it has scales of blocks, which weights do not have beside quantized activations";
        e->hint = "Leave it out of the file: its scales per channel are computed from the weight.";
    }
    if (type == QNNRT_JSON_ARRAY || type == QNNRT_JSON_OBJECT) qnnrt_json_skip(r);
}

/* Make scales of minima and maxima, if there are no scales. */
static void encoding_of_ends(encoding_read *e)
{
    const double most = e->bits > 0 && e->bits <= 16 ? (double)(((uint64_t)1 << e->bits) - 1) : 0;
    const size_t count = e->end_count[0];
    if (e->why != NULL || e->scale_count > 0 || count == 0 || count != e->end_count[1] ||
        e->points || !(most > 0))
        return;
    for (size_t i = 0; i < count && e->why == NULL; ++i) {
        const double low = e->ends[0][i] < 0 ? e->ends[0][i] : 0;
        const double high = e->ends[1][i] > 0 ? e->ends[1][i] : 0;
        const double half = -low > high ? -low : high, steps = (most - 1) / 2;
        const double scale = e->symmetric ? half / steps : (high - low) / most;
        if (!(scale > 1e-37 && scale < 3e38)) {
            e->why = "its range is empty, or too large";
            break;
        }
        e->scales = cli_grow(e->scales, e->scale_count, &e->scale_room, sizeof(*e->scales));
        e->scales[e->scale_count++] = (float)scale;
        if (e->symmetric) continue;
        if (e->offset_count > i) continue;
        e->offsets = cli_grow(e->offsets, e->offset_count, &e->offset_room, sizeof(*e->offsets));
        e->offsets[e->offset_count++] = (int64_t)-floor(-low / scale + 0.5);
    }
}

/* Make offsets of zero points: values are from 0. */
static void encoding_of_points(encoding_read *e)
{
    const int64_t half = e->sign && e->bits > 0 && e->bits <= 16 ? (int64_t)1 << (e->bits - 1) : 0;
    if (!e->points || e->why != NULL) return;
    if (e->offset_count == 0) {
        e->offsets = cli_alloc(e->scale_count + 1, sizeof(*e->offsets));
        e->offset_count = e->scale_count;
    }
    for (size_t i = 0; i < e->offset_count; ++i) e->offsets[i] = -e->offsets[i] - half;
    e->param = e->sign || e->scale_count > 1 ? 2 : 0;
}

/* Keep an encoding that was read, and free what it had. Return 0 after printing an error. */
static int encoding_keep(encoding_read *e)
{
    aten *a = e->a;
    encoding_of_ends(e);
    encoding_of_points(e);
    const int bias = e->param && e->bits == 32;  /* follows from the weight and its input */
    const int64_t half = e->bits > 0 && e->bits <= 16 ? (int64_t)1 << (e->bits - 1) : 0;
    if (bias && e->name != NULL) e->why = NULL;
    else if (e->why != NULL) {}
    else if (e->name == NULL || e->name[0] == '\0') e->why = "it has no name";
    else if (e->scale_count == 0) {
        e->why = "missing scale";
        e->hint = "Add the scale, or leave the tensor out of the file and calibrate the graph.";
    } else if (e->bits != 8 && e->bits != 16 && !(e->param && e->bits == 4)) {
        e->why = e->param ? "its bits are not 4, 8 or 16" : "its bits are not 8 or 16";
    } else if (!e->param && e->scale_count > 1) {
        e->why = "it has several scales, and activations have one";
    } else if (e->offset_count == 0 && !e->symmetric) {
        e->why = "missing offset";
    } else if (e->offset_count > 0 && e->offset_count != e->scale_count) {
        e->why = "it has not as many offsets as scales";
    }
    for (size_t i = 0; i < e->offset_count && e->why == NULL && !bias; ++i) {
        const int64_t offset = e->offsets[i];
        if (offset > 0 || offset <= -2 * half) e->why = "its offset is out of range";
        else if (e->scale_count > 1 && offset != 0 && offset != -half && offset != 1 - half)
            e->why = "its channels are not symmetric";
    }
    if (e->why == NULL) {
        qnnrt_lower_encoding *made;
        a->encodings = cli_grow(a->encodings, a->encoding_count, &a->encoding_room,
                                sizeof(*a->encodings));
        made = &a->encodings[a->encoding_count++];
        memset(made, 0, sizeof(*made));
        made->name = e->name;
        made->bits = (uint32_t)e->bits;
        made->offset = e->offset_count > 0 ? (int32_t)e->offsets[0] : (int32_t)-half;
        if (e->param && e->symmetric && made->offset == 0) made->offset = (int32_t)-half;
        a->encoding_biases += bias != 0;
        if (bias) {
            made->offset = 0;
        } else if (e->scale_count == 1) {
            made->scale = e->scales[0];
        } else {
            made->scales = e->scales;
            made->count = (uint32_t)e->scale_count;
            e->scales = NULL;
        }
        e->name = NULL;
    }
    const int good = e->why == NULL;
    if (!good) {
        OWNED char *name = cli_shown(e->name != NULL ? e->name : "");
        fail(a->t, NULL, e->hint != NULL ? e->hint : "Repair the file of encodings.",
             "%s: encoding of \"%s\": %s", e->path, name, e->why);
    }
    free(e->name);
    free(e->scales);
    free(e->offsets);
    free(e->ends[0]);
    free(e->ends[1]);
    return good;
}

/* Read a section of the file: an object by names, or a list. Return 0 after printing an error, or
   if the reader has one. */
static int encodings_section(aten *a, const char *path, qnnrt_json_reader *r, int param)
{
    const int by_name = qnnrt_json_value(r) == QNNRT_JSON_OBJECT;
    if (!by_name && r->type != QNNRT_JSON_ARRAY) {
        fail(a->t, NULL, "Write it as AIMET does.", "%s: the encodings are no object and no list",
             path);
        return 0;
    }
    while (qnnrt_json_more(r)) {
        encoding_read e = {0};
        e.a = a;
        e.path = path;
        e.param = param;
        e.points = param == 2;
        if (by_name) {
            e.name = cli_alloc(r->key.bytes + 1, 1);
            qnnrt_json_copy(&r->key, e.name);
        }
        const qnnrt_json_type type = qnnrt_json_value(r);
        if (type == QNNRT_JSON_ARRAY) {          /* an object for each channel */
            while (qnnrt_json_more(r)) {
                if (qnnrt_json_value(r) != QNNRT_JSON_OBJECT) {
                    if (e.why == NULL) e.why = "it is no list of objects";
                    if (r->type == QNNRT_JSON_ARRAY) qnnrt_json_skip(r);
                    continue;
                }
                while (qnnrt_json_more(r)) encoding_member(&e, r);
            }
        } else if (type == QNNRT_JSON_OBJECT) {
            while (qnnrt_json_more(r)) encoding_member(&e, r);
        } else {
            e.why = "it is no object";
        }
        if (r->error != NULL) e.why = "the JSON text is damaged";
        if (!encoding_keep(&e)) return 0;
    }
    return 1;
}

int encodings_parse(aten *a, const char *path, const char *text, size_t bytes)
{
    static const char *const keys[] = {"activation_encodings", "param_encodings", "encodings"};
    qnnrt_json_limits limits = {ENCODINGS_BYTES, 0};
    qnnrt_json_reader r;
    int good = 1, sections = 0;
    qnnrt_json_begin(&r, text, bytes, &limits);
    if (qnnrt_json_value(&r) == QNNRT_JSON_OBJECT)
        while (good && qnnrt_json_more(&r)) {
            int param = 0;
            while (param < 3 && !qnnrt_json_is(&r.key, keys[param])) ++param;
            if (param < 3) {
                good = encodings_section(a, path, &r, param);
                ++sections;
            } else {
                qnnrt_json_skip(&r);
            }
        }
    if (good && (!qnnrt_json_end(&r) || sections == 0)) {
        fail(a->t, NULL, "Name a file of encodings as AIMET writes it.", r.error != NULL
             ? "%s, byte %lu: %s" : "%s, byte %lu: no activation_encodings, no param_encodings and"
                                    " no encodings", path, (unsigned long)r.error_at, r.error);
        good = 0;
    }
    return good;
}

int encodings_read(aten *a)
{
    const char *path = a->t->set.compile->encodings;
    size_t bytes = 0;
    if (path == NULL) return 1;
    if (a->decoder != NULL) {
        fail(a->t, NULL, "Leave --encodings out.", "graphs that are made of config.json take no"
             " encodings");
        return 0;
    }
    char *text = cli_read_file(path, ENCODINGS_BYTES, &bytes);
    if (text == NULL) {
        fail(a->t, NULL, "Name a file of encodings as AIMET writes it.", "cannot read %s: %s", path,
             strerror(errno));
        return 0;
    }
    const int good = encodings_parse(a, path, text, bytes);
    if (good)
        say(a->t, "encodings of %lu tensors from %s\n", (unsigned long)a->encoding_count, path);
    if (good && a->encoding_biases > 0)
        say(a->t, "note      %lu of them have 32 bits: scales of biases follow from weights and"
                  " inputs, and these are not used\n", (unsigned long)a->encoding_biases);
    free(text);
    return good;
}

/* =====================================================================================
   WRITE ENCODINGS                                                     >>write_encodings
   What a quantized graph got, in the form of version 1.0.0.
   ===================================================================================== */

static int encodings_page(void *user, const char *text, size_t bytes)
{
    page_bytes(user, text, bytes);
    return 1;
}

/* Return under which name a tensor is written, or NULL: it has no encoding of its own. */
static const char *encodings_name(const qnnrt_lower_tensor *t, int param)
{
    const int statics = t->kind == QNNRT_TENSOR_STATIC;
    if (!t->used || statics != param || t->quant.encoding == QNNRT_ENCODING_NONE ||
        (t->dtype != QNNRT_DTYPE_U8Q && t->dtype != QNNRT_DTYPE_U16Q &&
         t->dtype != QNNRT_DTYPE_S8Q))
        return NULL;
    if (t->value == NULL) return statics ? NULL : t->name;
    return t->value->key != NULL ? t->value->key : t->value->name;
}

/* Return true if a tensor of the steps before, or one before it in its own, has a name. steps: what
   became of each, NULL: the host computes it. */
static int encodings_has(const qnnrt_lower_graph_info *const *steps, size_t step, size_t tensor,
                         const char *name, int param)
{
    for (size_t s = 0; s <= step; ++s) {
        const size_t end = s == step ? tensor : steps[s] != NULL ? steps[s]->tensor_count : 0;
        for (size_t i = 1; i < end; ++i) {
            const char *other = encodings_name(&steps[s]->tensors[i], param);
            if (other != NULL && strcmp(other, name) == 0) return 1;
        }
    }
    return 0;
}

/* Write the encodings of activations, or of weights, of a step. */
static size_t encodings_step(qnnrt_json_writer *j, const qnnrt_lower_graph_info *const *steps,
                             size_t step, int param)
{
    const qnnrt_lower_graph_info *g = steps[step];
    size_t count = 0;
    for (size_t i = 1; g != NULL && i < g->tensor_count; ++i) {
        const qnnrt_lower_tensor *t = &g->tensors[i];
        const char *name = encodings_name(t, param);
        if (name == NULL || encodings_has(steps, step, i, name, param)) continue;
        const int axis = t->quant.encoding == QNNRT_ENCODING_PER_AXIS;
        const int whole = t->dtype == QNNRT_DTYPE_S8Q;           /* signed: symmetric */
        const uint32_t bits = t->dtype == QNNRT_DTYPE_U16Q ? 16
                              : t->quant.bitwidth != 0     ? t->quant.bitwidth : 8;
        const int32_t offset = whole ? -(int32_t)(1u << (bits - 1)) : t->quant.offset;
        qnnrt_json_write_object(j, 1);
        qnnrt_json_write_key(j, "name");
        qnnrt_json_write_string(j, name);
        qnnrt_json_write_key(j, "dtype");
        qnnrt_json_write_string(j, "INT");
        qnnrt_json_write_key(j, "enc_type");
        qnnrt_json_write_string(j, axis ? "PER_CHANNEL" : "PER_TENSOR");
        qnnrt_json_write_key(j, "bw");
        qnnrt_json_write_u64(j, bits);
        qnnrt_json_write_key(j, "is_sym");
        qnnrt_json_write_bool(j, whole);
        qnnrt_json_write_key(j, "scale");
        qnnrt_json_write_array(j, 1);
        for (uint32_t k = 0; k < (axis ? t->quant.count : 1); ++k)
            qnnrt_json_write_f32(j, axis ? t->quant.scales[k] : t->quant.scale);
        qnnrt_json_write_close(j);
        qnnrt_json_write_key(j, "offset");
        qnnrt_json_write_array(j, 1);
        for (uint32_t k = 0; k < (axis ? t->quant.count : 1); ++k)
            qnnrt_json_write_i64(j, offset);
        qnnrt_json_write_close(j);
        qnnrt_json_write_close(j);
        ++count;
    }
    return count;
}

/* Write the encodings of activations, or of weights. The first tensor of a name counts. */
static size_t encodings_list(qnnrt_json_writer *j, const qnnrt_lower_graph_info *const *steps,
                             size_t step_count, int param)
{
    size_t count = 0;
    qnnrt_json_write_key(j, param ? "param_encodings" : "activation_encodings");
    qnnrt_json_write_array(j, 0);
    for (size_t i = 0; i < step_count; ++i) count += encodings_step(j, steps, i, param);
    qnnrt_json_write_close(j);
    return count;
}

int encodings_write(aten *a)
{
    const char *path = a->t->set.compile->write_encodings;
    page p = {NULL, 0, 0};
    qnnrt_json_writer j;
    if (path == NULL) return 1;
    const size_t count = program_steps(a, 0);
    OWNED const qnnrt_lower_graph_info **steps = cli_alloc(count, sizeof(*steps));
    for (size_t i = 0; i < count; ++i) steps[i] = program_step_of(a, 0, i).graph;
    qnnrt_json_write_begin(&j, encodings_page, &p, 2);
    qnnrt_json_write_object(&j, 0);
    qnnrt_json_write_key(&j, "version");
    qnnrt_json_write_string(&j, "1.0.0");
    const size_t tensors = encodings_list(&j, steps, count, 0);
    const size_t weights = encodings_list(&j, steps, count, 1);
    qnnrt_json_write_close(&j);
    int good = qnnrt_json_write_end(&j);
    if (!good) fail(a->t, NULL, NULL, "%s: %s", path, j.error);
    good = good && write_page(a->t, path, &p, 1);
    if (good)
        say(a->t, "wrote     %s: encodings of %lu activations and %lu weights\n", path,
            (unsigned long)tensors, (unsigned long)weights);
    free(p.data);
    return good;
}
