/* ops.c - the operators of libQnnRef.so beside Qualcomm's own libraries, one node at a time

       ops REF_LIBRARY QNN_FOLDER [--oracle FILE] [--golden FILE | --update FILE] [--seeds N] [--only PART]
       ops REF_LIBRARY QNN_FOLDER --sweep N [--seed S] [--only FAMILY]
       ops REF_LIBRARY QNN_FOLDER --broadcast RANK [--only OPERATOR] [--form FORM]
       ops REF_LIBRARY QNN_FOLDER --node "OPERATOR | TYPES | INPUTS | OUTPUTS | PARAMETERS"
       ops --dump FILE [--seeds N] [--only PART]

   Every line of ops_cases.h is an operator in one variant. For each of its types, the public calls of
   compose build a graph of that one node, with shapes and data from a seed, and each library runs it.
   Ref's result is compared with that of every other library, and with that of tests/ref/oracle_ops.py on
   the dumped inputs (--dump, then --oracle), which shares no code with any of them.

   Each library runs in a child process. After a case that ended the process, another child continues
   with the next case: a crash, a refusal and a hang are results, too. Every result outside the
   tolerance must be listed in tools/qnnrt_quirks.h, every line there must still happen, and a case that a
   line applies to must not agree.

   --sweep draws N nodes of each family of ops_sweep.h instead, and lists those that differ from Ref, or fail, or end
   the process, without a line in the table: they become lines.

   tests/golden/ops.txt keeps the printed table. It lists differences as classes, so that it is the
   same in every run. "-" for QNN_FOLDER leaves Qualcomm's libraries out; "-" for REF_LIBRARY compares
   them with Python. */
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "qnnrt_quirks.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the entries of the tables ----------------------------------------------------------------- */

/* Tensors of a case, one token each, in the operator's order, inputs and outputs:

       NAME[dims]        of the case's type; dims are expressions in + - * / (floored) ( ), numbers and
                         letters. A seed gives a to z a size of 1 to 4, A to Z one of 5 to 16
       NAME[dims]:u8     of a type of its own: f32 f16 u8 u16 s8 s16 s32 i32 u32 b8. Or of one that follows
                         the case's: W (weights: s8 beside s8 and 16 bits), U (u8 beside any quantized type)
                         and B (bias: s32 with the scales of inputs 0 and 1 multiplied; of quantized
                         types only)
       ...:s8/0          a scale per index of axis 0. s4 is 4 bits, one per byte, and s4/0 likewise
       ...:x16/0/1       4 bits, a scale per index of axis 0, and a multiplier per 16 along axis 1
       ...:k16/0/1       the same with a scale for each block
       ...{-1,2}         real values in this range, and its encoding. Without it inputs have {-1,1.5}, or
                         {-20,20} for int32, and outputs the encoding of input 0
       ...=(1,2,3)       these values, repeated
       ...#              all values are different
       ...!              static
       ...@[dims]        the graph's input has these dims, and a Reshape makes the operand of it
       -                 an optional input that is left out

   Parameters are NAME=value: 3 is UINT_32, i3 INT_32, 1.5 FLOAT_32, true BOOL_8; [1,2] is a tensor of
   UINT_32, [0,4,1;0,2,1] one of two rows, i[..] one of INT_32. Integers are expressions too. */
typedef struct ops_case {
    const char *op, *variant;
    const char *types;                   /* "f32 f16 u8 u16 i32 b8" */
    const char *in, *out, *params;
    const char *tolerance;               /* "": that of the type. "exact", or "f32:3e-4 u16:4" */
} ops_case;

typedef enum ops_what {                  /* the result of a case on a library */
    OPS_DONE = 0, OPS_REFUSED, OPS_EXEC_FAILED, OPS_CRASHED, OPS_HUNG,
    OPS_DIFFERS                          /* done, but outside the tolerance */
} ops_what;

#include "ops_cases.h"

enum { CASES = sizeof ops_cases / sizeof ops_cases[0], KNOWN = QNNRT_QUIRK_COUNT };

/* Ref is the first; the others are compared with it. */
enum { REF = 0, HTP = 2, BACKENDS = 4, ORACLE = BACKENDS };
static const char *const backend_names[BACKENDS + 1] = { "Ref", "Cpu-2.47", "Htp-2.47", "Htp-2.51", "Python" };
static const char *const backend_files[BACKENDS] = {
    NULL, "2.47/onnxruntime_qnn/libQnnCpu.so", "2.47/onnxruntime_qnn/libQnnHtp.so",
        "2.51/onnxruntime_qnn/libQnnHtp.so"
};

typedef struct ops_type {
    const char *name;
    qnnrt_dtype dtype;
    uint32_t    bytes;
    int         quantized;
    int32_t     low, high;               /* codes of random data */
    double      tolerance;               /* relative to the largest value, or in codes */
    double      oracle;                  /* the same for the values that Python computes in double precision */
} ops_type;

static const ops_type types[] = {
    { "f32", QNNRT_DTYPE_F32,   4, 0, 0, 0,          5e-4, 5e-6 },
    { "f16", QNNRT_DTYPE_F16,   2, 0, 0, 0,          1e-2, 1e-3 },
    { "u8",  QNNRT_DTYPE_U8Q,   1, 1, 0, 255,        2, 1 },
    { "u16", QNNRT_DTYPE_U16Q,  2, 1, 0, 65535,      128, 1 },
    { "s8",  QNNRT_DTYPE_S8Q,   1, 1, -127, 127,     2, 1 },
    { "s16", QNNRT_DTYPE_S16Q,  2, 1, -32767, 32767, 128, 1 },
    { "s32", QNNRT_DTYPE_S32Q,  4, 1, 0, 0,          0, 0 },
    { "i32", QNNRT_DTYPE_I32,   4, 0, 0, 0,          0, 0 },
    { "u32", QNNRT_DTYPE_U32,   4, 0, 0, 0,          0, 0 },
    { "b8",  QNNRT_DTYPE_BOOL8, 1, 0, 0, 1,          0, 0 }
};
enum { TYPES = sizeof types / sizeof types[0] };

enum { RANK = 8, TENSORS = 8, PARAMS = 8, PARAM_VALUES = 64 };

typedef struct ops_tensor {
    char            name[24];
    int             absent;
    const ops_type *type;
    qnnrt_tensor_desc desc;              /* with .data, .quant and .blocks of memory below */
    uint32_t        count;
    double          low, high;           /* range of real values */
    float          *scales;
    uint8_t        *multipliers;
    qnnrt_blocks    blocks;
    unsigned char  *data;                /* NULL: an output */
    char            made_name[32];
    qnnrt_tensor_desc source;            /* what a Reshape makes this tensor of; rank 0: none does */
} ops_tensor;

typedef struct ops_param {
    char             name[32];
    qnnrt_param_desc desc;
    uint32_t         values[PARAM_VALUES];
} ops_param;

/* A case of one type and seed, ready to be built. */
typedef struct ops_graph {
    const ops_case *row;
    const ops_type *type;
    uint64_t        seed;
    ops_tensor      in[TENSORS], out[TENSORS];
    ops_param       params[PARAMS];
    uint32_t        in_count, out_count, param_count;
} ops_graph;

typedef struct ops_result {
    ops_what       what;
    uint32_t       code;
    uint32_t       bytes;
    unsigned char *data;                 /* of all outputs, one after the other */
    char           text[400];            /* the reason for a refusal, in one line */
} ops_result;

typedef struct ops_job {                 /* the work */
    const ops_case *row;
    const ops_type *type;
    uint32_t        seed;
    unsigned        number;              /* among all cases of this number of seeds, with any --only */
    ops_result      results[BACKENDS + 1];
    /* The ratio is difference / tolerance. */
    double          difference[BACKENDS + 1], ratio[BACKENDS + 1];
    int             is_float[BACKENDS + 1], exact[BACKENDS + 1];
    int             known[BACKENDS + 1];                               /* index of qnnrt_quirks, -1: not known */
} ops_job;

static void die(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("ops: ", stdout);
    vprintf(format, list);
    putchar('\n');
    va_end(list);
    exit(2);
}

static void *make(size_t count, size_t size)
{
    void *data = calloc(count > 0 ? count : 1, size);
    if (data == NULL) die("out of memory");
    return data;
}

/* Return the place of `name` in a list with spaces between names, starting at 1, or 0. "*" is any
   name. */
static int listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    int place = 1;
    if (strcmp(list, "*") == 0) return 1;
    for (; *list != '\0'; ++place) {
        size_t word = strcspn(list, " ");
        if (word == length && strncmp(list, name, length) == 0) return place;
        list += word + (list[word] == ' ');
    }
    return 0;
}

static const ops_type *type_find(const char *name, size_t length)
{
    size_t i;
    for (i = 0; i < TYPES; ++i)
        if (strlen(types[i].name) == length && strncmp(types[i].name, name, length) == 0) return &types[i];
    return NULL;
}

/* ---- random numbers, the same everywhere ------------------------------------------------------ */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; ++text) hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    return hash;
}

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static double next_real(uint64_t *state, double low, double high)
{
    return low + (high - low) * ((double)(next(state) >> 11) / 9007199254740992.0);
}

static int64_t next_integer(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(next(state) % (uint64_t)(high - low + 1));
}

/* ---- reading the tables ------------------------------------------------------------------------ */

static void bad(const ops_graph *g, const char *at, const char *text)
{
    die("ops_cases.h: %s %s: %s at \"%s\"", g->row->op, g->row->variant, text, at);
}

static double expression(const ops_graph *g, const char **at);

static double factor(const ops_graph *g, const char **at)
{
    double value;
    char letter = **at;
    if (letter == '(') {
        ++*at;
        value = expression(g, at);
        if (*(*at)++ != ')') bad(g, *at - 1, "')' expected");
    } else if (letter == '-') {
        ++*at;
        value = -factor(g, at);
    } else if (isalpha((unsigned char)letter)) {
        uint64_t state = g->seed * 31u + (unsigned char)letter;
        value = (double)(islower((unsigned char)letter) ? next_integer(&state, 1, 4) : next_integer(&state, 5, 16));
        ++*at;
    } else {
        char *end;
        value = strtod(*at, &end);
        if (end == *at) bad(g, *at, "a number or letter expected");
        *at = end;
    }
    return value;
}

static double term(const ops_graph *g, const char **at)
{
    double value = factor(g, at);
    while (**at == '*' || **at == '/') {
        char operation = *(*at)++;
        double other = factor(g, at);
        value = operation == '*' ? value * other : floor(value / other);
    }
    return value;
}

static double expression(const ops_graph *g, const char **at)
{
    double value = term(g, at);
    while (**at == '+' || **at == '-') {
        char operation = *(*at)++;
        double other = term(g, at);
        value = operation == '+' ? value + other : value - other;
    }
    return value;
}

static void expect(const ops_graph *g, const char **at, char character)
{
    char text[2] = { 0 };
    text[0] = character;
    if (**at != character) bad(g, *at, text);
    ++*at;
}

/* Read "a,B,4" up to the closing bracket. */
static uint32_t dims_read(const ops_graph *g, const char **at, uint32_t dims[RANK])
{
    uint32_t rank = 0;
    expect(g, at, '[');
    for (;;) {
        double value = expression(g, at);
        if (value < 1 || value > 4096 || rank == RANK) bad(g, *at, "a dimension of 1 to 4096 expected");
        dims[rank++] = (uint32_t)value;
        if (**at != ',') break;
        ++*at;
    }
    expect(g, at, ']');
    return rank;
}

/* Choose one scale and offset for a range of real values. Symmetric ranges of 8 and 16 bits get the offset
   that the vendor requires, -128 and -32768. */
static void encode_range(ops_tensor *t)
{
    qnnrt_quant *quant = &t->desc.quant;
    double low = t->low < 0 ? t->low : 0, high = t->high > 0 ? t->high : 0, codes = t->type->high - t->type->low;
    quant->encoding = QNNRT_ENCODING_PER_TENSOR;
    if (t->type->low < 0) {
        double size = -low > high ? -low : high;
        quant->scale = (float)(size / (quant->bitwidth == 4 ? 7 : t->type->high));
        quant->offset = 0;
    } else {
        quant->scale = (float)((high - low) / codes);
        quant->offset = (int32_t)floor(low / (high - low) * codes);
    }
}

/* Choose a scale per index of an axis: different ones, up to that of the range. */
static void encode_axis(const ops_graph *g, ops_tensor *t, uint32_t axis)
{
    qnnrt_quant *quant = &t->desc.quant;
    uint64_t state = hash_text(g->seed, t->name);
    uint32_t i;
    encode_range(t);
    quant->encoding = QNNRT_ENCODING_PER_AXIS;
    quant->axis = (int32_t)axis;
    quant->count = t->desc.dims[axis];
    t->scales = (float *)make(quant->count, sizeof(float));
    for (i = 0; i < quant->count; ++i) t->scales[i] = (float)(quant->scale * next_real(&state, 0.3, 1));
    quant->scales = t->scales;
}

static void encode_blocks(const ops_graph *g, ops_tensor *t, qnnrt_block_form form, uint32_t block, uint32_t axis,
                          uint32_t block_axis)
{
    uint64_t state = hash_text(g->seed, t->name);
    uint32_t channels = t->desc.dims[axis], blocks = channels * (t->desc.dims[block_axis] / block), i;
    uint32_t scale_count = form == QNNRT_BLOCK_EXPANSION ? channels : blocks;
    double size = (t->high > -t->low ? t->high : -t->low) / 7;
    t->scales = (float *)make(scale_count, sizeof(float));
    t->multipliers = (uint8_t *)make(blocks, 1);
    for (i = 0; i < scale_count; ++i)
        t->scales[i] = (float)(size * next_real(&state, 0.3, 1) / (form == QNNRT_BLOCK_EXPANSION ? 15 : 1));
    for (i = 0; form == QNNRT_BLOCK_PLAIN && i < scale_count; ++i)     /* a third negative, a ninth 0, as Q4_0 has */
        t->scales[i] *= i % 9 == 4 ? 0.0f : i % 3 == 1 ? -1.0f : 1.0f;
    for (i = 0; i < blocks; ++i) t->multipliers[i] = (uint8_t)next_integer(&state, 1, 15);
    t->blocks.form = form;
    t->blocks.axis = (int32_t)axis;
    t->blocks.block_axis = (int32_t)block_axis;
    t->blocks.block = block;
    t->blocks.scales = t->scales;
    t->blocks.multipliers = form == QNNRT_BLOCK_EXPANSION ? t->multipliers : NULL;
    t->desc.blocks = &t->blocks;
    t->desc.quant.bitwidth = 4;
}

/* Give a bias of quantized inputs the scale of the sums that it is added to. */
static void encode_bias(const ops_graph *g, ops_tensor *t)
{
    const qnnrt_quant *x = &g->in[0].desc.quant, *w = &g->in[1].desc.quant;
    uint32_t i;
    t->desc.quant.encoding = w->encoding;
    t->desc.quant.scale = x->scale * w->scale;
    if (w->encoding != QNNRT_ENCODING_PER_AXIS) return;
    t->desc.quant.axis = 0;
    t->desc.quant.count = w->count;
    t->scales = (float *)make(w->count, sizeof(float));
    for (i = 0; i < w->count; ++i) t->scales[i] = x->scale * w->scales[i];
    t->desc.quant.scales = t->scales;
}

static float half_to_float(uint16_t half)
{
    int exponent = half >> 10 & 31;
    double size = exponent == 31 ? ((half & 1023) != 0 ? NAN : INFINITY)
                                 : ldexp((half & 1023) + (exponent > 0 ? 1024 : 0),
                                     (exponent > 0 ? exponent : 1) - 25);
    return (float)(half & 0x8000 ? -size : size);
}

static uint16_t half_of(double value)
{
    qnnrt_tensor_info info;
    float real = (float)value;
    uint16_t half = 0;
    memset(&info, 0, sizeof info);
    info.dtype = QNNRT_DTYPE_F16;
    info.count = 1;
    info.bytes = 2;
    if (qnnrt_encode_f32(&info, &real, &half) != QNNRT_OK) die("float16 cannot be encoded");
    return half;
}

/* Store a number as element i: a value of float and integer types, a code of quantized types. */
static void put(ops_tensor *t, uint32_t i, double value)
{
    unsigned char *to = t->data + (size_t)i * t->type->bytes;
    if (t->type->dtype == QNNRT_DTYPE_F32) {
        float real = (float)value;
        memcpy(to, &real, 4);
    } else if (t->type->dtype == QNNRT_DTYPE_F16) {
        uint16_t half = half_of(value);
        memcpy(to, &half, 2);
    } else {
        uint32_t bits = (uint32_t)(int64_t)value;       /* little-endian: the low bytes come first */
        memcpy(to, &bits, t->type->bytes);
    }
}

static double get(const ops_type *type, const unsigned char *data, uint32_t i)
{
    const unsigned char *from = data + (size_t)i * type->bytes;
    uint32_t bits = 0;
    float real;
    memcpy(&bits, from, type->bytes);
    switch (type->dtype) {
    case QNNRT_DTYPE_F32: memcpy(&real, from, 4); return (double)real;
    case QNNRT_DTYPE_F16: return (double)half_to_float((uint16_t)bits);
    case QNNRT_DTYPE_S8Q: return (double)(int8_t)bits;
    case QNNRT_DTYPE_S16Q: return (double)(int16_t)bits;
    case QNNRT_DTYPE_S32Q:
    case QNNRT_DTYPE_I32: return (double)(int32_t)bits;
    default: return (double)bits;
    }
}

/* Convert a real number to the number that put() expects. */
static double code_of(const ops_tensor *t, uint32_t i, double real)
{
    const qnnrt_quant *quant = &t->desc.quant;
    double scale = (double)(quant->encoding == QNNRT_ENCODING_PER_AXIS ? quant->scales[i % quant->count]
                                                                         : quant->scale);
    double code;
    if (!t->type->quantized || t->desc.blocks != NULL) return real;
    code = floor(real / scale + 0.5) - quant->offset;
    if (t->type->low == t->type->high) return code;
    return code < t->type->low ? t->type->low : code > t->type->high ? t->type->high : code;
}

static void fill(const ops_graph *g, ops_tensor *t, const char *values, int distinct)
{
    uint64_t state = hash_text(g->seed, t->name) ^ hash_text(0, t->type->name);
    int codes = t->type->quantized && t->type->low != t->type->high;
    double low = codes ? code_of(t, 0, t->low) : t->low, high = codes ? code_of(t, 0, t->high) : t->high;
    uint32_t i, j;
    if (t->desc.quant.bitwidth == 4) { low = -8; high = 7; }
    t->data = (unsigned char *)make(t->count, t->type->bytes);
    if (values != NULL) {
        const char *at = values;
        for (i = 0; i < t->count; ++i) {
            put(t, i, code_of(t, i, expression(g, &at)));
            if (*at == ',') ++at;
            else at = values;
        }
    } else if (distinct) {
        uint32_t *order = (uint32_t *)make(t->count, sizeof *order);
        for (i = 0; i < t->count; ++i) order[i] = i;
        for (i = t->count; i > 1; --i) {
            uint32_t swap = order[i - 1];
            j = (uint32_t)next_integer(&state, 0, (int64_t)i - 1);
            order[i - 1] = order[j];
            order[j] = swap;
        }
        for (i = 0; i < t->count; ++i) {
            double value = low + (high - low) * order[i] / (t->count > 1 ? t->count - 1 : 1);
            put(t, i, codes || t->type->dtype == QNNRT_DTYPE_I32 ? floor(value) : value);
        }
        free(order);
    } else {
        int integers = codes || t->type->dtype == QNNRT_DTYPE_I32 || t->type->dtype == QNNRT_DTYPE_U32 ||
                       t->type->dtype == QNNRT_DTYPE_BOOL8;
        for (i = 0; i < t->count; ++i)
            put(t, i, integers ? (double)next_integer(&state, (int64_t)low, (int64_t)high)
                               : code_of(t, i, next_real(&state, low, high)));
    }
    t->desc.data = t->data;
}

/* Let a Reshape make a tensor of another one, which has its kind and data. */
static void reshaped(ops_tensor *t)
{
    qnnrt_tensor_desc source = t->desc;
    source.rank = t->source.rank;
    memcpy(source.dims, t->source.dims, sizeof source.dims);
    source.name = t->name;
    t->source = source;
    snprintf(t->made_name, sizeof t->made_name, "%s_view", t->name);
    t->desc.name = t->made_name;
    t->desc.kind = QNNRT_TENSOR_INNER;
    t->desc.data = NULL;
    t->desc.bytes = 0;
}

/* Read one token of the columns in and out. */
static void tensor_read(ops_graph *g, ops_tensor *t, const char *at, int output)
{
    const char *values = NULL;
    int distinct = 0, ranged = 0, bias = 0, axis = -1;
    uint32_t block = 0, block_axis = 0, i;
    qnnrt_block_form form = QNNRT_BLOCK_EXPANSION;
    size_t length = strcspn(at, "[");
    memset(t, 0, sizeof *t);
    if (*at == '-') { t->absent = 1; return; }
    snprintf(t->name, sizeof t->name, "%.*s", (int)length, at);
    at += length;
    t->desc.name = t->name;
    t->desc.kind = output ? QNNRT_TENSOR_OUTPUT : QNNRT_TENSOR_INPUT;
    t->type = g->type;
    t->desc.rank = dims_read(g, &at, t->desc.dims);
    for (t->count = 1, i = 0; i < t->desc.rank; ++i) t->count *= t->desc.dims[i];
    while (*at != '\0') {
        char letter = *at++;
        if (letter == '!') t->desc.kind = QNNRT_TENSOR_STATIC;
        else if (letter == '#') distinct = 1;
        else if (letter == '@') t->source.rank = dims_read(g, &at, t->source.dims);
        else if (letter == '{') {
            t->low = expression(g, &at);
            expect(g, &at, ',');
            t->high = expression(g, &at);
            expect(g, &at, '}');
            ranged = 1;
        } else if (letter == '=') {
            expect(g, &at, '(');
            values = at;
            at += strcspn(at, ")");
            expect(g, &at, ')');
        } else if (letter == ':') {
            size_t word = strcspn(at, "/{!#=@");
            if (word == 1 && *at == 'W')
                t->type = g->type->quantized && strcmp(g->type->name, "u8") != 0 ? type_find("s8", 2) : g->type;
            else if (word == 1 && *at == 'U') t->type = g->type->quantized ? type_find("u8", 2) : g->type;
            else if (word == 1 && *at == 'B') {
                bias = g->type->quantized;
                t->type = bias ? type_find("s32", 3) : g->type;
            }
            else if (*at == 'x' || *at == 'k') {
                form = *at == 'x' ? QNNRT_BLOCK_EXPANSION : QNNRT_BLOCK_PLAIN;
                block = (uint32_t)strtoul(at + 1, NULL, 10);
                t->type = type_find("s8", 2);
            } else if (strncmp(at, "s4", 2) == 0 && word == 2) {
                t->desc.quant.bitwidth = 4;
                t->type = type_find("s8", 2);
            } else if ((t->type = type_find(at, word)) == NULL) bad(g, at, "no such type");
            at += word;
            if (*at == '/') { axis = at[1] - '0'; at += 2; }
            if (*at == '/') { block_axis = (uint32_t)(at[1] - '0'); at += 2; }
        } else bad(g, at - 1, "a modifier expected");
    }
    t->desc.dtype = t->type->dtype;
    t->desc.bytes = (size_t)t->count * t->type->bytes;
    if (!ranged) {
        t->low = t->type->dtype == QNNRT_DTYPE_I32 ? -20 : t->type->dtype == QNNRT_DTYPE_F32 || t->type->quantized ||
                 t->type->dtype == QNNRT_DTYPE_F16 ? -1 : 0;
        t->high = t->type->dtype == QNNRT_DTYPE_I32 ? 20 : t->type->dtype == QNNRT_DTYPE_BOOL8 ? 1 : 1.5;
    }
    if (t->type->quantized) {
        if (bias) encode_bias(g, t);
        else if (block > 0) encode_blocks(g, t, form, block, (uint32_t)axis, block_axis);
        else if (axis >= 0) encode_axis(g, t, (uint32_t)axis);
        else if (output && !ranged && g->in[0].type == t->type) t->desc.quant = g->in[0].desc.quant;
        else encode_range(t);
    }
    if (!output) fill(g, t, values, distinct);
    if (t->desc.kind != QNNRT_TENSOR_STATIC) { t->desc.data = NULL; t->desc.bytes = 0; }
    if (t->source.rank > 0) reshaped(t);
}

/* Read a parameter "name=value". */
static void param_read(const ops_graph *g, ops_param *p, const char *at)
{
    size_t length = strcspn(at, "=");
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%.*s", (int)length, at);
    p->desc.name = p->name;
    at += length;
    expect(g, &at, '=');
    p->desc.dtype = QNNRT_DTYPE_U32;
    if (strcmp(at, "true") == 0 || strcmp(at, "false") == 0) {
        p->desc.dtype = QNNRT_DTYPE_BOOL8;
        p->desc.value = *at == 't';
        return;
    }
    if (at[0] == 'i' && strchr("0123456789-[", at[1]) != NULL) {
        p->desc.dtype = QNNRT_DTYPE_I32;
        ++at;
    }
    if (*at == '[') {
        uint32_t rows = 1, count = 0;
        do {
            ++at;
            if (count == PARAM_VALUES) bad(g, at, "too many values");
            p->values[count++] = (uint32_t)(int32_t)expression(g, &at);
            rows += *at == ';';
        } while (*at == ',' || *at == ';');
        expect(g, &at, ']');
        p->desc.data = p->values;
        p->desc.rank = rows > 1 ? 2 : 1;
        p->desc.dims[0] = rows > 1 ? rows : count;
        p->desc.dims[1] = count / rows;
        return;
    }
    if (strchr(at, '.') != NULL) p->desc.dtype = QNNRT_DTYPE_F32;
    p->desc.value = expression(g, &at);
    if (*at != '\0') bad(g, at, "end of the value expected");
}

/* Split a column at its spaces: read the next token, or return 0. */
static int token(const char **at, char text[256])
{
    size_t length;
    while (**at == ' ') ++*at;
    length = strcspn(*at, " ");
    snprintf(text, 256, "%.*s", (int)length, *at);
    *at += length;
    return length > 0;
}

static void graph_read(const ops_job *job, ops_graph *g)
{
    const char *at;
    char text[256];
    g->row = job->row;
    g->type = job->type;
    g->in_count = g->out_count = g->param_count = 0;
    g->seed = hash_text(hash_text(0xCBF29CE484222325u + job->seed, job->row->op), job->row->variant);
    for (at = job->row->in; token(&at, text); ++g->in_count) {
        if (g->in_count == TENSORS) bad(g, text, "too many inputs");
        tensor_read(g, &g->in[g->in_count], text, 0);
    }
    for (at = job->row->out; token(&at, text); ++g->out_count) {
        if (g->out_count == TENSORS) bad(g, text, "too many outputs");
        tensor_read(g, &g->out[g->out_count], text, 1);
    }
    for (at = job->row->params; token(&at, text); ++g->param_count) {
        if (g->param_count == PARAMS) bad(g, text, "too many parameters");
        param_read(g, &g->params[g->param_count], text);
    }
}

static void graph_free(ops_graph *g)
{
    uint32_t i;
    for (i = 0; i < g->in_count; ++i) {
        free(g->in[i].data);
        free(g->in[i].scales);
        free(g->in[i].multipliers);
    }
    for (i = 0; i < g->out_count; ++i) free(g->out[i].scales);
}

/* ---- one case on one library ------------------------------------------------------------------- */

static void failed(ops_result *result, ops_what what, const qnnrt_error *err)
{
    char *at;
    result->what = what;
    result->code = (uint32_t)err->vendor_code & 0xFFFF;
    snprintf(result->text, sizeof result->text, "%s: %.360s", qnnrt_result_name(err->code), err->text);
    for (at = result->text; *at != '\0'; ++at)
        if (*at == '\n') *at = ' ';
}

/* Declare an input, and the Reshape that makes it, if there is one. */
static qnnrt_tensor input_add(qnnrt_builder *builder, const ops_tensor *t)
{
    qnnrt_tensor source, made;
    qnnrt_node_desc node;
    if (t->absent) return QNNRT_NO_TENSOR;
    if (t->source.rank == 0) return qnnrt_builder_tensor(builder, &t->desc);
    source = qnnrt_builder_tensor(builder, &t->source);
    made = qnnrt_builder_tensor(builder, &t->desc);
    memset(&node, 0, sizeof node);
    node.type = "Reshape";
    node.name = t->made_name;
    node.inputs = &source;
    node.input_count = 1;
    node.outputs = &made;
    node.output_count = 1;
    qnnrt_builder_node(builder, &node);
    return made;
}

/* Return whether the caller gives this input. */
static int given(const ops_tensor *t)
{
    return !t->absent && (t->source.rank > 0 ? t->source.kind : t->desc.kind) == QNNRT_TENSOR_INPUT;
}

static void graph_run(qnnrt_backend *backend, ops_graph *g, ops_result *result)
{
    qnnrt_error err;
    qnnrt_builder *builder = NULL;
    qnnrt *model = NULL;
    qnnrt_run *run = NULL;
    qnnrt_graph_desc graph;
    qnnrt_node_desc node;
    qnnrt_tensor in[TENSORS], out[TENSORS];
    qnnrt_param_desc params[PARAMS];
    uint32_t i, done = 0;
    memset(result, 0, sizeof *result);
    memset(&graph, 0, sizeof graph);
    memset(&node, 0, sizeof node);
    graph.name = "graph";
    if (qnnrt_builder_create(backend, NULL, &builder, &err) != QNNRT_OK) { failed(result, OPS_REFUSED, &err);
        return; }
    qnnrt_builder_graph(builder, &graph);
    for (i = 0; i < g->in_count; ++i) in[i] = input_add(builder, &g->in[i]);
    for (i = 0; i < g->out_count; ++i) {
        out[i] = qnnrt_builder_tensor(builder, &g->out[i].desc);
        result->bytes += g->out[i].count * g->out[i].type->bytes;
    }
    for (i = 0; i < g->param_count; ++i) params[i] = g->params[i].desc;
    node.type = g->row->op;
    node.name = "node";
    node.inputs = in;
    node.input_count = g->in_count;
    node.outputs = out;
    node.output_count = g->out_count;
    node.params = params;
    node.param_count = g->param_count;
    qnnrt_builder_node(builder, &node);
    if (qnnrt_builder_finish(builder, &model, &err) != QNNRT_OK || qnnrt_prepare(model, NULL, &run,
        &err) != QNNRT_OK) {
        failed(result, OPS_REFUSED, &err);
        goto done;
    }
    for (i = 0; i < g->in_count; ++i)
        if (given(&g->in[i]) &&
            qnnrt_bind(run, g->in[i].name, g->in[i].data, (size_t)g->in[i].count * g->in[i].type->bytes) != QNNRT_OK)
            goto failed;
    result->data = (unsigned char *)make(result->bytes, 1);
    for (i = 0; i < g->out_count; ++i) {
        uint32_t bytes = g->out[i].count * g->out[i].type->bytes;
        if (qnnrt_bind(run, g->out[i].name, result->data + done, bytes) != QNNRT_OK) goto failed;
        done += bytes;
    }
    if (qnnrt_exec(run) == QNNRT_OK) goto done;
failed:
    failed(result, OPS_EXEC_FAILED, qnnrt_run_error(run));
done:
    if (result->what != OPS_DONE) result->bytes = 0;
    if (run != NULL) qnnrt_run_destroy(run);
    qnnrt_close(model);
    qnnrt_builder_destroy(builder);
}

/* ---- a library in a child process -------------------------------------------------------------- */

enum { HEAD = offsetof(ops_result, data), SECONDS = 30 };

static int write_all(int to, const void *data, size_t bytes)
{
    const char *at = (const char *)data;
    while (bytes > 0) {
        ssize_t n = write(to, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 0;
        at += n;
        bytes -= (size_t)n;
    }
    return 1;
}

static int read_all(int from, void *data, size_t bytes, int *hung)
{
    char *at = (char *)data;
    while (bytes > 0) {
        struct pollfd wait = { 0, POLLIN, 0 };
        ssize_t n;
        wait.fd = from;
        if (poll(&wait, 1, SECONDS * 1000) == 0) { *hung = 1; return 0; }
        n = read(from, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 0;
        at += n;
        bytes -= (size_t)n;
    }
    return 1;
}

/* Run the jobs from `first` on and write for each one: head, text, outputs. Never returns. */
static void child(const char *library, ops_job *jobs, size_t first, size_t count, int to)
{
    static ops_graph g;
    qnnrt_backend_desc desc;
    qnnrt_backend *backend;
    qnnrt_error err;
    ops_result result;
    size_t i;
    memset(&desc, 0, sizeof desc);
    memset(&result, 0, sizeof result);
    desc.path = library;
    desc.log_level = QNNRT_LOG_ERROR;
    /* The device of the backend decides the NPU generation of the emulator; a device that is made later does
       not. Without this, u16 x u16 is refused and 16-bit results are those of generation 68. */
    if (strstr(library, "Htp") != NULL) desc.soc_model = 57;
    if (qnnrt_backend_open(&desc, &backend, &err) != QNNRT_OK) {
        failed(&result, OPS_REFUSED, &err);
        for (i = first; i < count; ++i)
            if (!write_all(to, &result, HEAD) || !write_all(to, result.text, sizeof result.text)) break;
        _exit(1);
    }
    for (i = first; i < count; ++i) {
        graph_read(&jobs[i], &g);
        graph_run(backend, &g, &result);
        if (!write_all(to, &result, HEAD) || !write_all(to, result.text, sizeof result.text) ||
            !write_all(to, result.data, result.bytes)) _exit(1);
        free(result.data);
        graph_free(&g);
    }
    /* Skip the library's destructors, which would wait for its threads. */
    _exit(0);
}

static void backend_run(const char *library, int which, ops_job *jobs, size_t count)
{
    size_t i = 0;
    while (i < count) {
        int ends[2], hung = 0, status = 0;
        pid_t pid;
        fflush(stdout);
        if (pipe(ends) != 0) die("no pipe: %s", strerror(errno));
        pid = fork();
        if (pid < 0) die("no child process: %s", strerror(errno));
        if (pid == 0) {
            close(ends[0]);
            if (getenv("OPS_VERBOSE") == NULL && (freopen("/dev/null", "w", stdout) == NULL ||
                                                  freopen("/dev/null", "w", stderr) == NULL)) _exit(1);
            child(library, jobs, i, count, ends[1]);
        }
        close(ends[1]);
        for (; i < count; ++i) {
            ops_result *result = &jobs[i].results[which];
            memset(result, 0, sizeof *result);
            if (!read_all(ends[0], result, HEAD, &hung) ||
                !read_all(ends[0], result->text, sizeof result->text, &hung)) break;
            result->data = (unsigned char *)make(result->bytes, 1);
            if (!read_all(ends[0], result->data, result->bytes, &hung)) break;
        }
        if (hung) kill(pid, SIGKILL);
        close(ends[0]);
        waitpid(pid, &status, 0);
        if (i < count) {
            ops_result *result = &jobs[i++].results[which];
            memset(result, 0, sizeof *result);
            result->what = hung ? OPS_HUNG : OPS_CRASHED;
            snprintf(result->text, sizeof result->text, "status 0x%x", (unsigned)status);
        }
    }
}

/* ---- results of Python ------------------------------------------------------------------------- */

static void dump_encoding(FILE *file, const ops_tensor *t)
{
    const qnnrt_quant *quant = &t->desc.quant;
    uint32_t i, count;
    if (t->desc.blocks != NULL) {
        count = t->desc.dims[t->blocks.axis] * (t->desc.dims[t->blocks.block_axis] / t->blocks.block);
        fprintf(file, "block:%d:%d:%u", t->blocks.axis, t->blocks.block_axis, t->blocks.block);
        for (i = 0; i < count; ++i)
            fprintf(file, ":%.9g", t->blocks.multipliers == NULL ? (double)t->scales[i] :
                    (double)t->scales[i / (count / t->desc.dims[t->blocks.axis])] * t->multipliers[i]);
    } else if (quant->encoding == QNNRT_ENCODING_PER_AXIS) {
        fprintf(file, "axis:%d", quant->axis);
        for (i = 0; i < quant->count; ++i) fprintf(file, ":%.9g", (double)quant->scales[i]);
    } else if (quant->encoding == QNNRT_ENCODING_PER_TENSOR) {
        fprintf(file, "one:%.9g:%d", (double)quant->scale, quant->offset);
    } else fputs("none", file);
}

static void dump_hex(FILE *file, const unsigned char *data, size_t bytes)
{
    size_t i;
    for (i = 0; i < bytes; ++i) fprintf(file, "%02x", data[i]);
    if (bytes == 0) putc('-', file);
}

static void dump_tensor(FILE *file, const char *what, const ops_tensor *t)
{
    uint32_t i;
    if (t->absent) { fprintf(file, "%s - - - - -\n", what); return; }
    fprintf(file, "%s %s %s ", what, t->name, t->type->name);
    for (i = 0; i < t->desc.rank; ++i) fprintf(file, "%s%u", i > 0 ? "," : "", t->desc.dims[i]);
    putc(' ', file);
    dump_encoding(file, t);
    putc(' ', file);
    dump_hex(file, t->data, t->data == NULL ? 0 : (size_t)t->count * t->type->bytes);
    putc('\n', file);
}

/* Write all cases as text for tests/ref/oracle_ops.py. */
static void dump(const char *path, const ops_job *jobs, size_t count)
{
    static ops_graph g;
    FILE *file = fopen(path, "w");
    size_t n;
    if (file == NULL) die("%s: %s", path, strerror(errno));
    for (n = 0; n < count; ++n) {
        uint32_t i, k;
        graph_read(&jobs[n], &g);
        fprintf(file, "case %u %s %s\n", jobs[n].number, g.row->op, g.row->variant);
        for (i = 0; i < g.in_count; ++i) dump_tensor(file, "in", &g.in[i]);
        for (i = 0; i < g.out_count; ++i) dump_tensor(file, "out", &g.out[i]);
        for (i = 0; i < g.param_count; ++i) {
            const qnnrt_param_desc *p = &g.params[i].desc;
            fprintf(file, "param %s ", p->name);
            if (p->data == NULL) fprintf(file, "%.9g\n", p->value);
            else for (k = 0; k < p->dims[0] * (p->rank > 1 ? p->dims[1] : 1); ++k)
                fprintf(file, "%s%d", k == 0 ? "[" : ",", (int32_t)g.params[i].values[k]);
            if (p->data != NULL) fputs("]\n", file);
        }
        fputs("end\n", file);
        graph_free(&g);
    }
    if (fclose(file) != 0) die("%s: %s", path, strerror(errno));
}

static int hex_digit(int c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; }

/* Read lines "number hex", with the outputs one after the other. Cases without a line were not computed. */
static void oracle_read(const char *path, ops_job *jobs, size_t count)
{
    FILE *file = fopen(path, "r");
    unsigned number;
    size_t n = 0;
    int c;
    if (file == NULL) die("%s: %s", path, strerror(errno));
    while (fscanf(file, "%u", &number) == 1) {
        ops_result ignored, *result = &ignored;
        uint32_t room = 256;
        memset(&ignored, 0, sizeof ignored);
        while (n < count && jobs[n].number < number) ++n;
        if (n < count && jobs[n].number == number) result = &jobs[n].results[ORACLE];
        result->what = OPS_DONE;
        result->data = (unsigned char *)make(room, 1);
        getc(file);
        while ((c = getc(file)) != EOF && c != '\n') {
            if (result->bytes == room) {
                room *= 2;
                if ((result->data = (unsigned char *)realloc(result->data, room)) == NULL) die("out of memory");
            }
            result->data[result->bytes] = (unsigned char)(hex_digit(c) << 4);
            result->data[result->bytes++] |= (unsigned char)hex_digit(getc(file));
        }
        free(ignored.data);
    }
    fclose(file);
}

/* ---- comparing ----------------------------------------------------------------------------------- */

/* Return the tolerance of an output: that of its type, or that in the line of the table. The HTP library
   computes float32 in half precision, even when it only moves data. */
static double tolerance_of(const ops_case *row, const ops_type *type, int which)
{
    char text[256];
    const char *at = row->tolerance;
    if (which >= HTP && which < ORACLE && type->dtype == QNNRT_DTYPE_F32)
        return strcmp(at, "exact") == 0 ? 1e-3 : type_find("f16", 3)->tolerance;
    if (strcmp(at, "exact") == 0) return 0;
    while (which != ORACLE && token(&at, text)) {
        size_t length = strcspn(text, ":");
        if (strlen(type->name) == length && strncmp(type->name, text, length) == 0)
            return strtod(text + length + 1, NULL);
    }
    return which == ORACLE ? type->oracle : type->tolerance;
}

/* Return the distance of `got` from Ref's result, relative to the largest value or in codes. */
static double distance(const ops_type *type, const unsigned char *want, const unsigned char *got, uint32_t count)
{
    int is_float = type->dtype == QNNRT_DTYPE_F32 || type->dtype == QNNRT_DTYPE_F16;
    double largest = 0, worst = 0;
    uint32_t i;
    for (i = 0; i < count; ++i) {
        double a = get(type, want, i), b = get(type, got, i), d = fabs(a - b);
        if (a == b || (isnan(a) && isnan(b))) d = 0;
        else if (isnan(d)) d = INFINITY;
        if (isfinite(a) && fabs(a) > largest) largest = fabs(a);
        if (d > worst) worst = d;
    }
    return is_float && worst > 0 ? (largest > 0 ? worst / largest : INFINITY) : worst;
}

/* The results that others are compared with: ORACLE without Ref. */
static int reference = REF;

static void compare(ops_job *job, int which)
{
    static ops_graph g;
    const ops_result *want = &job->results[reference];
    ops_result *got = &job->results[which];
    uint32_t i, at = 0;
    job->difference[which] = job->ratio[which] = 0;
    job->is_float[which] = job->exact[which] = 0;
    if (which == reference || got->what != OPS_DONE || want->what != OPS_DONE) return;
    if (got->bytes != want->bytes)
        die("%s %s: %u bytes, expected %u", job->row->op, job->row->variant, got->bytes, want->bytes);
    graph_read(job, &g);
    for (i = 0; i < g.out_count; ++i) {
        const ops_type *type = g.out[i].type;
        double tolerance = tolerance_of(job->row, type, which);
        double d = distance(type, want->data + at, got->data + at, g.out[i].count);
        double ratio = d <= 0 ? 0 : tolerance > 0 ? d / tolerance : INFINITY;
        if (i == 0 || ratio > job->ratio[which]) {
            job->difference[which] = d;
            job->ratio[which] = ratio;
            job->is_float[which] = type->dtype == QNNRT_DTYPE_F32 || type->dtype == QNNRT_DTYPE_F16;
            job->exact[which] = tolerance <= 0;
        }
        at += g.out[i].count * type->bytes;
    }
    if (job->ratio[which] > 1) got->what = OPS_DIFFERS;
    graph_free(&g);
}

/* ---- known differences ------------------------------------------------------------------------- */

/* A node as the table of known differences describes it. */
typedef struct ops_node {
    ops_graph                g;
    const qnnrt_tensor_desc *in[TENSORS], *out[TENSORS];
    qnnrt_param_desc         params[PARAMS];
    qnnrt_quirk_node         node;
} ops_node;

static void node_read(const ops_job *job, ops_node *n)
{
    uint32_t i;
    graph_read(job, &n->g);
    for (i = 0; i < n->g.in_count; ++i) n->in[i] = n->g.in[i].absent ? NULL : &n->g.in[i].desc;
    for (i = 0; i < n->g.out_count; ++i) n->out[i] = &n->g.out[i].desc;
    for (i = 0; i < n->g.param_count; ++i) n->params[i] = n->g.params[i].desc;
    n->node.type = job->row->op;
    n->node.inputs = n->in;
    n->node.input_count = n->g.in_count;
    n->node.outputs = n->out;
    n->node.output_count = n->g.out_count;
    n->node.params = n->params;
    n->node.param_count = n->g.param_count;
}

/* Split the name of a library, "Htp-2.51", into backend and release; the latter as the library spells it. */
static void backend_split(int which, char backend[16], char release[24])
{
    size_t length = strcspn(backend_names[which], "-");
    snprintf(backend, 16, "%.*s", (int)length, backend_names[which]);
    *release = '\0';
    if (backend_names[which][length] == '-') snprintf(release, 24, "v%s.0.2609", backend_names[which] + length + 1);
}

/* Find the line that a result is known by, or -1. Lines about extreme values excuse the cases that have
   some: those of ops_cases.h. */
static int known_find(const ops_job *job, int which, int extremes)
{
    static ops_node n;
    const ops_result *result = &job->results[which];
    char backend[16], release[24];
    int i, found = -1;
    backend_split(which, backend, release);
    node_read(job, &n);
    for (i = 0; i < KNOWN && found < 0; ++i) {
        const qnnrt_quirk *k = &qnnrt_quirks[i];
        int same = 0;
        switch (k->what) {
        case QNNRT_QUIRK_REFUSED: same = result->what == OPS_REFUSED && k->code == result->code; break;
        case QNNRT_QUIRK_EXEC_FAILED: same = result->what == OPS_EXEC_FAILED && k->code == result->code; break;
        case QNNRT_QUIRK_CRASHES: same = result->what == OPS_CRASHED; break;
        case QNNRT_QUIRK_SOMETIMES:
        case QNNRT_QUIRK_MAY_CRASH: same = result->what != OPS_REFUSED; break;
        case QNNRT_QUIRK_EXTREMES: same = extremes && result->what == OPS_DIFFERS; break;
        default: same = result->what == OPS_DIFFERS; break;
        }
        if (same && qnnrt_quirk_applies(k, backend, release, &n.node)) found = i;
    }
    graph_free(&n.g);
    return found;
}

/* Find a line that a case contradicts, which agrees, or -1. */
static int known_contradicted(const ops_job *job, int which)
{
    static ops_node n;
    char backend[16], release[24];
    const qnnrt_quirk *known;
    backend_split(which, backend, release);
    node_read(job, &n);
    known = qnnrt_quirk_find(backend, release, &n.node);
    if (known == NULL || known->what == QNNRT_QUIRK_SOMETIMES || known->what == QNNRT_QUIRK_MAY_CRASH ||
        known->what == QNNRT_QUIRK_VALUES)
        known = qnnrt_quirk_refusal(backend, release, &n.node);
    graph_free(&n.g);
    return known != NULL ? (int)(known - qnnrt_quirks) : -1;
}

static void outcome_text(const ops_job *job, int which, char text[64])
{
    static const double steps[] = { 1e-6, 1e-5, 1e-4, 5e-4, 1e-3, 1e-2 };
    const ops_result *result = &job->results[which];
    double d = job->difference[which], bound = 2;
    size_t i = 0;
    /* The kind of failure may depend on the content of memory. */
    if (job->known[which] >= 0 && (qnnrt_quirks[job->known[which]].what == QNNRT_QUIRK_SOMETIMES ||
                                   qnnrt_quirks[job->known[which]].what == QNNRT_QUIRK_MAY_CRASH)) {
        snprintf(text, 64, "wrong");
        return;
    }
    switch (result->what) {
    case OPS_REFUSED:
        if (result->code == 0) snprintf(text, 64, "refused by us");
        else snprintf(text, 64, "refused 0x%x", result->code);
        return;
    case OPS_EXEC_FAILED: snprintf(text, 64, "fails 0x%x", result->code); return;
    case OPS_CRASHED: snprintf(text, 64, "crash"); return;
    case OPS_HUNG: snprintf(text, 64, "hangs"); return;
    case OPS_DIFFERS: snprintf(text, 64, "differs"); return;       /* the distance may depend on the content of memory */
    default: break;
    }
    if (job->is_float[which] && !job->exact[which]) {
        while (i + 1 < sizeof steps / sizeof steps[0] && d > steps[i]) ++i;
        snprintf(text, 64, "<%.0e", steps[i]);
    } else if (d <= 0) snprintf(text, 64, "0");
    else {
        while (bound < d) bound *= 2;
        if (d <= 1) snprintf(text, 64, "1");
        else snprintf(text, 64, "<=%.0f", bound);
    }
}

/* ---- the table ------------------------------------------------------------------------------------ */

typedef struct ops_text { char *data; size_t length, room; } ops_text;

static void say(ops_text *text, const char *format, ...)
{
    va_list list;
    int n;
    if (text->room - text->length < 4096) {
        text->room = text->room * 2 + 65536;
        if ((text->data = (char *)realloc(text->data, text->room)) == NULL) die("out of memory");
    }
    va_start(list, format);
    n = vsnprintf(text->data + text->length, text->room - text->length, format, list);
    va_end(list);
    if (n > 0) text->length += (size_t)n < text->room - text->length ? (size_t)n : text->room - text->length - 1;
}

/* Write one operator in one type on one library: the number of variants that agree, and their largest
   difference. */
static void cell(const ops_job *jobs, size_t count, const char *op, const ops_type *type, int which, char text[64])
{
    const ops_job *worst = NULL, *other = NULL;
    unsigned all = 0, agree = 0, same = 1;
    char outcome[64], first[64] = "";
    size_t i;
    for (i = 0; i < count; ++i) {
        const ops_job *job = &jobs[i];
        if (strcmp(job->row->op, op) != 0 || job->type != type) continue;
        if (which == ORACLE && job->results[which].data == NULL) continue;
        ++all;
        if (job->results[which].what == OPS_DONE) {
            ++agree;
            if (worst == NULL || job->ratio[which] > worst->ratio[which]) worst = job;
            continue;
        }
        outcome_text(job, which, outcome);
        if (other != NULL && strcmp(outcome, first) != 0) same = 0;
        if (other == NULL) memcpy(first, outcome, sizeof first);
        other = job;
    }
    if (all == 0) snprintf(text, 64, ".");
    else if (worst == NULL) snprintf(text, 64, "%s", same ? first : "see below");
    else {
        outcome_text(worst, which, outcome);
        if (agree == all) snprintf(text, 64, "%.60s", outcome);
        else snprintf(text, 64, "%.30s %u/%u", outcome, agree, all);
    }
}

/* Write where one known difference was seen on one library: "operator variant (types), ...", or how often. */
static void where(ops_text *text, const ops_job *jobs, size_t count, int known, int which)
{
    size_t i, column = 0, seen = 0;
    const ops_case *row = NULL;
    char outcome[64], item[128];
    for (i = 0; i < count; ++i) {
        if (jobs[i].known[which] != known || jobs[i].seed != 0) continue;
        if (seen++ == 0) {
            outcome_text(&jobs[i], which, outcome);
            say(text, "    %s, %s:", backend_names[which], outcome);
            column = strlen(backend_names[which]) + strlen(outcome) + 7;
        }
        if (strcmp(qnnrt_quirks[known].ops, "*") == 0) continue;
        if (jobs[i].row == row) snprintf(item, sizeof item, " %s", jobs[i].type->name);
        else snprintf(item, sizeof item, "%s %s %s (%s", row != NULL ? ")," : "", jobs[i].row->op,
            jobs[i].row->variant,
                      jobs[i].type->name);
        if (row != jobs[i].row && column + strlen(item) > 110) {
            say(text, "%s\n       ", row != NULL ? ")," : "");
            if (row != NULL) memmove(item, item + 2, strlen(item + 2) + 1);
            column = 7;
        }
        row = jobs[i].row;
        say(text, "%s", item);
        column += strlen(item);
    }
    if (row != NULL) say(text, ")\n");
    else if (seen > 0) say(text, " %u cases\n", (unsigned)seen);
}

static void table(ops_text *text, const ops_job *jobs, size_t count)
{
    size_t i, k;
    unsigned operators = 0;
    int which;
    say(text, "Operators of libQnnRef.so beside Qualcomm's libraries and Python: largest difference from Ref.\n"
              "Float types: to the largest value. Quantized types: in codes. Others: must be equal.\n"
              "n/m: n of m variants agree, the others are below. .: not computed\n"
              "Htp computes f32 in half precision: within 1e-2, moved data 1e-3. Python: f32 5e-6, f16 1e-3, 1 code.\n\n"
              "%-29s %-4s %-8s %-10s", "operator", "type", "within", backend_names[ORACLE]);
    for (which = 1; which < BACKENDS; ++which)
        say(text, which + 1 < BACKENDS ? " %-15s" : " %s\n", backend_names[which]);
    for (i = 0; i < count; ++i) {
        const ops_job *job = &jobs[i];
        double low = INFINITY, high = 0;
        char line[64];
        for (k = 0; k < i; ++k)
            if (strcmp(jobs[k].row->op, job->row->op) == 0 && jobs[k].type == job->type) break;
        if (k < i) continue;
        for (k = i; k < count; ++k)
            if (strcmp(jobs[k].row->op, job->row->op) == 0 && jobs[k].type == job->type) {
                double tolerance = tolerance_of(jobs[k].row, job->type, 0);
                if (tolerance < low) low = tolerance;
                if (tolerance > high) high = tolerance;
            }
        if (low < high) snprintf(line, sizeof line, "%g-%g", low, high);
        else snprintf(line, sizeof line, "%g", high);
        say(text, "%-29s %-4s %-8s", job->row->op, job->type->name, line);
        cell(jobs, count, job->row->op, job->type, ORACLE, line);
        say(text, " %-10s", line);
        for (which = 1; which < BACKENDS; ++which) {
            cell(jobs, count, job->row->op, job->type, which, line);
            say(text, which + 1 < BACKENDS ? " %-15s" : " %s", line);
        }
        say(text, "\n");
    }
    say(text, "\nKnown differences (tools/qnnrt_quirks.h)\n");
    for (k = 0; k < KNOWN; ++k) {
        if (k == 0 || strcmp(qnnrt_quirks[k].name, qnnrt_quirks[k - 1].name) != 0)
            say(text, "\n%s: %s\n", qnnrt_quirks[k].name, qnnrt_quirks[k].why);
        for (which = 0; which < BACKENDS; ++which) where(text, jobs, count, (int)k, which);
    }
    for (i = 0; i < CASES; ++i) operators += i == 0 || strcmp(ops_cases[i].op, ops_cases[i - 1].op) != 0;
    say(text, "\n%u operators, %u cases\n", operators, (unsigned)count);
}

#include "ops_sweep.h"
#include "ops_broadcast.h"

/* Draw `each` nodes of every family whose name contains `only`. */
static const ops_case *sweep_rows(uint64_t seed, uint32_t each, const char *only, size_t *count)
{
    ops_sweep *draws = (ops_sweep *)make((size_t)each * SWEEP_FAMILIES, sizeof *draws);
    ops_case *rows = (ops_case *)make((size_t)each * SWEEP_FAMILIES, sizeof *rows);
    int family;
    uint32_t i;
    for (*count = 0, family = 0; family < SWEEP_FAMILIES; ++family)
        for (i = 0; i < each && strstr(sweep_families[family].name, only) != NULL; ++i, ++*count)
            sweep_draw_case(&draws[*count], seed, family, i, &rows[*count]);
    return rows;
}

/* Read one node: "operator | types | inputs | outputs | parameters". */
static const ops_case *given_row(char *text)
{
    static ops_case row;
    const char **fields[5];
    int i;
    memset(&row, 0, sizeof row);
    fields[0] = &row.op;
    fields[1] = &row.types;
    fields[2] = &row.in;
    fields[3] = &row.out;
    fields[4] = &row.params;
    row.variant = "given";
    row.tolerance = "";
    for (i = 0; i < 5; ++i) {
        char *end;
        text += strspn(text, " ");
        *fields[i] = text;
        text += strcspn(text, "|");
        for (end = text; end > *fields[i] && end[-1] == ' '; --end) {}
        text += *text != '\0';
        *end = '\0';
    }
    return &row;
}

/* Print the results of drawn nodes that need a line in the table, and those that contradict one; return their
   number. OPS_ALL prints all. strict: the latter count; of all ways of broadcasting, a known fault covers some that are
   right. */
static unsigned sweep_report(ops_job *jobs, size_t count, const int *there, int strict)
{
    unsigned wrong = 0, ran[BACKENDS] = { 0 }, refused[BACKENDS] = { 0 }, differ[BACKENDS] = { 0 };
    int which, line, all = getenv("OPS_ALL") != NULL;
    size_t i;
    for (i = 0; i < count; ++i)
        for (which = 0; which < BACKENDS; ++which) {
            ops_job *job = &jobs[i];
            const ops_case *row = job->row;
            char outcome[64];
            const char *note = "", *name = "";
            if (!there[which]) continue;
            job->known[which] = -1;
            compare(job, which);
            ++ran[which];
            outcome_text(job, which, outcome);
            if (job->results[which].what == OPS_REFUSED) ++refused[which];
            else if (job->results[which].what != OPS_DONE) {
                ++differ[which];
                if ((line = known_find(job, which, 0)) < 0) note = " NEW";
                else name = qnnrt_quirks[line].name;
            } else if (which != reference && job->results[reference].what == OPS_DONE &&
                       (line = known_contradicted(job,
                           which)) >= 0 && qnnrt_quirks[line].what != QNNRT_QUIRK_REFUSED) {
                name = qnnrt_quirks[line].name;
                note = " AGREES";
            }
            wrong += strict ? *note != '\0' : strcmp(note, " NEW") == 0;
            if (all || *note != '\0')
                printf("%s:%s %s %s %s: %s | %s | %s | %s | %.3g %s\n", backend_names[which], note, name, row->op,
                       job->type->name, outcome, row->in, row->out, row->params, job->difference[which],
                       job->results[which].text);
        }
    for (which = 0; which < BACKENDS; ++which)
        if (there[which])
            printf("%s: %u nodes, %u refused, %u wrong\n", backend_names[which], ran[which], refused[which],
                differ[which]);
    return wrong;
}

/* ---- main ------------------------------------------------------------------------------------------ */

static int same_text(const char *path, const char *want)
{
    FILE *file = fopen(path, "r");
    char line[512];
    int number = 0, wrong = 0;
    if (file == NULL) die("%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file) != NULL && wrong < 10) {
        size_t length = strlen(line);
        ++number;
        if (strncmp(line, want, length) != 0) {
            printf("  %s:%d\n  - %s  + %.*s\n", path, number, line, (int)strcspn(want, "\n"), want);
            ++wrong;
        }
        want += strcspn(want, "\n");
        want += *want == '\n';
    }
    if (wrong == 0 && *want != '\0') {
        printf("  %s:%d is missing: %.*s\n", path, number + 1, (int)strcspn(want, "\n"), want);
        ++wrong;
    }
    fclose(file);
    return wrong == 0;
}

int main(int argc, char **argv)
{
    const char *library = NULL, *folder = NULL, *dump_path = NULL, *golden = NULL, *update = NULL, *only = "";
    const char *oracle = getenv("QNNRT_ORACLE");
    const char *form = "";
    char *node = NULL;
    const ops_case *rows = ops_cases;
    uint32_t seeds = 1, seed, sweep = 0, broadcast = 0, first = 1;
    uint64_t hit[KNOWN + 1] = { 0 };
    unsigned passed = 0, wrong = 0, number = 0;
    size_t count = 0, row_count = CASES, i;
    int which, a, there[BACKENDS];
    static ops_job *jobs;          /* static: the leak checker sees at exit that they are in use */
    static ops_text text;

    for (a = 1; a < argc; ++a) {
        const char *value = a + 1 < argc ? argv[a + 1] : NULL;
        if (strncmp(argv[a], "--", 2) != 0) {
            if (library == NULL) library = argv[a];
            else folder = argv[a];
            continue;
        }
        if (value == NULL) die("%s needs a value", argv[a]);
        if (strcmp(argv[a], "--dump") == 0) dump_path = value;
        else if (strcmp(argv[a], "--oracle") == 0) oracle = value;
        else if (strcmp(argv[a], "--golden") == 0) golden = value;
        else if (strcmp(argv[a], "--update") == 0) update = value;
        else if (strcmp(argv[a], "--only") == 0) only = value;
        else if (strcmp(argv[a], "--seeds") == 0) seeds = (uint32_t)strtoul(value, NULL, 10);
        else if (strcmp(argv[a], "--sweep") == 0) sweep = (uint32_t)strtoul(value, NULL, 10);
        else if (strcmp(argv[a], "--broadcast") == 0) broadcast = (uint32_t)strtoul(value, NULL, 10);
        else if (strcmp(argv[a], "--form") == 0) form = value;
        else if (strcmp(argv[a], "--node") == 0) node = argv[a + 1];
        else if (strcmp(argv[a], "--seed") == 0) first = (uint32_t)strtoul(value, NULL, 10);
        else die("unknown option %s", argv[a]);
        ++a;
    }
    if (sweep > 0) rows = sweep_rows(first, sweep, only, &row_count);
    if (broadcast > 0) rows = broadcast_rows(broadcast, only, form, &row_count);
    if (node != NULL) { rows = given_row(node); row_count = 1; }
    sweep += broadcast + (node != NULL);
    jobs = (ops_job *)make(row_count * TYPES * seeds, sizeof *jobs);
    for (i = 0; i < row_count; ++i) {
        const char *at = rows[i].types;
        char name[256];
        while (token(&at, name))
            for (seed = 0; seed < seeds; ++seed, ++number) {
                if (sweep == 0 && strstr(rows[i].op, only) == NULL) continue;
                jobs[count].number = number;
                jobs[count].row = &rows[i];
                jobs[count].seed = seed;
                if ((jobs[count].type = type_find(name, strlen(name))) == NULL) die("ops_cases.h: no type %s", name);
                ++count;
            }
    }
    if (dump_path != NULL) { dump(dump_path, jobs, count); return 0; }
    if (library == NULL || folder == NULL) die("usage: ops REF_LIBRARY QNN_FOLDER [options]");

    if (strcmp(library, "-") == 0) reference = ORACLE;
    for (which = 0; which < BACKENDS; ++which) {
        char path[1024];
        there[which] = which == REF ? reference == REF : strcmp(folder, "-") != 0;
        if (!there[which]) continue;
        if (which == REF) snprintf(path, sizeof path, "%.900s", library);
        else snprintf(path, sizeof path, "%.700s/%s", folder, backend_files[which]);
        backend_run(path, which, jobs, count);
    }
    if (sweep > 0) {
        wrong = sweep_report(jobs, count, there, broadcast == 0);
        printf("%u passed, %u failed\n", (unsigned)count, wrong);
        return wrong > 0;
    }
    if (oracle != NULL) oracle_read(oracle, jobs, count);

    for (i = 0; i < count; ++i)
        for (which = 0; which <= BACKENDS; ++which) {
            ops_job *job = &jobs[i];
            char line[64];
            job->known[which] = -1;
            if (which == ORACLE && job->results[which].data == NULL) continue;
            if (which < BACKENDS && !there[which]) continue;
            compare(job, which);
            if (job->results[which].what == OPS_DONE) {
                int against = which == reference || which == ORACLE ? -1 : known_contradicted(job, which);
                ++passed;
                if (against < 0) continue;
                ++wrong;
                printf("ops: qnnrt_quirks.h: %s: %s %s %s seed %u on %s agrees\n", qnnrt_quirks[against].name,
                       job->row->op, job->row->variant, job->type->name, (unsigned)job->seed, backend_names[which]);
                continue;
            }
            job->known[which] = known_find(job, which, 1);
            if (job->known[which] >= 0) {
                const qnnrt_quirk *known = &qnnrt_quirks[job->known[which]];
                hit[job->known[which]] |= (uint64_t)1 << (listed(known->ops, job->row->op) - 1);
                ++passed;
                continue;
            }
            ++wrong;
            outcome_text(job, which, line);
            printf("ops: %s %s %s seed %u on %s: %s %s\n", job->row->op, job->row->variant, job->type->name,
                   (unsigned)job->seed, backend_names[which], line, job->results[which].text);
        }
    for (i = 0; i < KNOWN && *only == '\0' && there[HTP]; ++i) {
        const char *at = qnnrt_quirks[i].ops;
        char name[256];
        int bit;
        for (bit = 0; token(&at, name); ++bit)
            if ((hit[i] >> bit & 1) == 0) {
                printf("ops: qnnrt_quirks.h: %s: %s does not do so any more\n", qnnrt_quirks[i].name, name);
                ++wrong;
            }
    }
    if (there[HTP]) {
        table(&text, jobs, count);
        fputs(text.data, stdout);
    }
    if (update != NULL) {
        FILE *file = fopen(update, "w");
        if (file == NULL || fputs(text.data, file) == EOF || fclose(file) != 0) die("%s: %s", update,
            strerror(errno));
    }
    if (golden != NULL) {
        if (same_text(golden, text.data)) ++passed;
        else ++wrong;
    }
    printf("%u passed, %u failed\n", passed, wrong);
    return wrong > 0;
}
